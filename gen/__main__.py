"""python3 -m gen VERB: generate kernels from HLO text, check them and time them. This module reads the arguments; other
modules do the work.
"""

from __future__ import annotations

import gc
import signal
import sys

if __name__ == "__main__":
    # collect garbage less often: it took a third of the run time, and there are few reference cycles
    gc.set_threshold(100_000, 10, 10)
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)    # until the modules are imported, Ctrl-C simply ends the process

import argparse
import os
import re
from contextlib import closing
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Callable, Dict, List, NoReturn, Optional, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent)) if __package__ in (None, "") else None
if __name__ == "__main__" and find_spec("jinja2") is None:
    sys.stderr.write("error: Python's package jinja2 is missing: python3 -m pip install jinja2\n")
    sys.exit(3)

from gen import algebra, certify, explain, from_jax, hlo, jobs, pipeline, run
from gen.run import bench, cost, layouts, proofs, roofline
from gen.from_jax import example, wrap
from gen.hlo.reserved import program_name
from gen.plan.nest import BuildError
from gen.program import build as programs
from gen.program.weights import Block
from gen.schedule import DEFAULT, DEVICES, EMBEDDED
from gen.suggest import did_you_mean
from gen.targets import RUNNERS, TARGETS
from gen.terminal import PROGRESS, Unwritable, opened, put

BENCH_TARGETS = [name for name, runner in RUNNERS.items() if runner.timed]
CHECK_TARGETS = list(RUNNERS)
FILES = ("a file of HLO text (FILE#NAME: one of the modules in it), a file of StableHLO text or bytecode, a JAX "
         "function (model.py:step), a folder (its .hlo and .mlir files), or - for standard input; files are processed "
         "in the given order")
EXAMPLES = """examples:
  python3 -m gen build tests/kernels/gelu_bf16.hlo -o build/gelu       kernels in CUDA, HIP, OpenCL and C, with a header
  python3 -m gen build model.py:step -o build/step --target c          a JAX function, with a main.c that calls it
  python3 -m gen build tests/kernels -o build/all --target c --jobs 2  a folder, two files at a time
  python3 -m gen check tests/kernels/gelu_bf16.hlo --target c          compare with the scalar reference
  python3 -m gen explain tests/kernels/gelu_bf16.hlo --stage schedule  the order in which the kernel accesses memory
  python3 -m gen certify tests/kernels/gelu_bf16.hlo                   proofs from the text of each kernel
  python3 -m gen bench bench/add_f32.hlo --html build/bench.html       times, and the roofline as a page

exit status: 0 success, 1 a wrong result, 2 bad input, 3 a missing tool or device, 130 after Ctrl-C.
With several files, it is the smallest status other than 0 of a file.
gen/manual.md is the reference; gen/errors.md shows each error with what to do instead. NO_COLOR=1 turns colours off."""


class Usage(argparse.ArgumentParser):
    """An argument parser that reports errors in the form of all other errors. For an unknown option, it suggests the
    most similar one.
    """

    def __init__(self, **words: Any) -> None:
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False, **words)

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"error: {message}\n{self.format_usage()}")

    def parse_known_args(self, args=None, namespace=None):  # type: ignore[no-untyped-def]
        known, left = super().parse_known_args(args, namespace)
        for word in left:
            if word.startswith("-"):
                name = word.split("=")[0]
                self.error(f"unknown option {name}{did_you_mean(name, self._option_string_actions)}")
            self.error(f"expected no further argument, found '{word}'")
        return known, left


def one_of(what: str, names: "List[str]") -> "Callable[[str], str]":
    """Return a parser of an argument that must be one of `names`. what: the noun for a name in the error messages."""
    def parsed(text: str) -> str:
        if text not in names:
            raise argparse.ArgumentTypeError(
                f"unknown {what} '{text}'{did_you_mean(text, names) or ','} expected one of {', '.join(names)}")
        return text
    return parsed


def seed(text: str) -> int:
    """Parse a seed of the harness, an unsigned 64-bit number."""
    if not text.isdecimal() or int(text) >= 1 << 64:
        raise argparse.ArgumentTypeError(f"expected a number from 0 to 2^64 - 1, found '{text}'")
    return int(text)


MOST_SECONDS = 1000000


def count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number, 1 or more, found '{text}'")
    return int(text)


def seconds(text: str) -> int:
    """Parse a time limit that the system's clocks and counters can represent."""
    if not text.isdecimal() or not 1 <= int(text) <= MOST_SECONDS:
        raise argparse.ArgumentTypeError(f"expected a whole number of seconds, 1 to {MOST_SECONDS}, found '{text}'")
    return int(text)


def dims(text: str) -> "Tuple[str, Tuple[int, ...]]":
    """Parse 0=8x128, the sizes of the dimensions of parameter 0, or b=8, the size that the symbol b stands for."""
    match = re.fullmatch(r"([A-Za-z0-9_]+)=([0-9]{1,18}(?:x[0-9]{1,18})*)", text)
    if match is None or (len(match[2].split("x")) > 1 and not match[1].isdecimal()):
        raise argparse.ArgumentTypeError(f"expected ARGUMENT=SIZExSIZE.. or SYMBOL=SIZE, like 0=8x128 or b=8, found '{text}'")
    return match[1], tuple(map(int, match[2].split("x")))


def targets(text: str) -> List[str]:
    """Parse a comma-separated list of targets."""
    return [one_of("target", list(TARGETS))(name) for name in text.split(",") if name or text in ("", ",")]


def names_of(text: str) -> List[str]:
    """Parse a comma-separated list of names."""
    return [name for name in text.split(",") if name or text in ("", ",")]


def version() -> str:
    """Return the version of the headers, which is also the version of the generator."""
    found = re.search(r"#define SETT_VERSION (\d+)", (pipeline.ROOT / "include/sett.h").read_text())
    assert found
    number = int(found[1])
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"


def arguments() -> argparse.ArgumentParser:
    top = Usage(
        prog="gen",
        description="Generate kernels in CUDA, HIP, OpenCL and C from HLO text, StableHLO text or a JAX function, and "
                    "check, prove or time them.",
        epilog=EXAMPLES,
    )
    top.add_argument("--version", action="version", version=f"gen of sett {version()}")
    verbs = top.add_subparsers(dest="verb", required=True, metavar="build|check|run|explain|certify|bench", parser_class=Usage)

    def verb(name: str, text: str) -> argparse.ArgumentParser:
        return verbs.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")

    def shared(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--device", type=one_of("device", list(DEVICES)), metavar="D",
                            help=f"choose kernels for this class of device: {', '.join(DEVICES)}")
        parser.add_argument(
            "--fill-constants",
            type=seed,
            metavar="N",
            help="for tests and timing: draw the constants that the text leaves out, constant({...}), from seed N",
        )
        parser.add_argument("--dims", type=dims, action="append", default=[], metavar="NAME=N",
                            help="0=8x128: the sizes of argument 0, if StableHLO text leaves them open, or if a JAX "
                            "function has no default for it (it is then f32); b=8: the value of the symbol b of "
                            "StableHLO text")
        parser.add_argument("--excess-precision", action="store_true",
                            help="keep values of f16 and bf16 in f32 between ops, as XLA may")
        parser.add_argument("--lead", action="extend", type=names_of, metavar="NAME,..", default=[],
                            help="matrices whose leading dimension the caller gives at run time, as in BLAS: "
                            "parameters and results, by their names in the header; a single result is called result")
        parser.add_argument("--profile", type=one_of("profile", [EMBEDDED]), metavar="P",
                            help=f"{EMBEDDED}: C11 for small machines, without vectors or threads; implies --target c")
        parser.add_argument(
            "--most-bytes",
            type=count,
            metavar="N",
            help="with --profile: refuse a function that needs more than N bytes of scratch and stack together "
            f"(default: {DEVICES[EMBEDDED].most_bytes})",
        )

    def target(parser: argparse.ArgumentParser, names: "List[str]") -> None:
        parser.add_argument("--target", type=one_of("target", names), metavar="T",
                            help=f"one of {', '.join(names)} (default: opencl)")

    def limit(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--limit", type=seconds, metavar="SECONDS",
                            help="stop a launch that takes more processor time, summed over its threads "
                            f"(default: {run.LAUNCH_SECONDS} for each core, or ten times the expected time if that is "
                            "longer)")

    def apart(parser: argparse.ArgumentParser, what: str) -> None:
        parser.add_argument("--apart", action="store_true", help=f"{what} each fusion of a module separately")

    def several(parser: argparse.ArgumentParser, number: int) -> None:
        parser.add_argument("files", nargs="+", metavar="FILE", help=FILES)
        parser.add_argument("--jobs", type=count, default=number, metavar="N",
                            help=f"process N files at the same time; the output does not change (default: {number})")

    parser = verb("build", "write kernels, a function that calls them, a C header, the scalar reference and a manifest")
    several(parser, os.cpu_count() or 1)
    apart(parser, "write")
    parser.add_argument("-o", dest="out", required=True, metavar="DIR", help="write the files to this folder")
    parser.add_argument("--target", type=targets, metavar="T,..",
                        help=f"targets, separated by commas: {', '.join(TARGETS)} (default: all)")
    parser.add_argument("--wrap", type=one_of("wrapper", ["jax"]), metavar="W",
                        help="jax: also write NAME_jax.py and NAME_jax.c (for --target cuda NAME_jax_cuda.c), through "
                        "which JAX calls the function")
    parser.add_argument(
        "--dump",
        metavar="DIR",
        help="also write each stage that explain prints to a file in DIR: FILE.0_parse.hlo, FILE.1_partition.txt, ..",
    )
    shared(parser)
    parser = verb("check", "run kernels on seeded inputs and compare the results with those of the scalar reference")
    several(parser, 1)
    target(parser, CHECK_TARGETS)
    limit(parser)
    parser.add_argument("--seed", type=seed, default=1, metavar="N", help="draw the inputs from this seed (default: 1)")
    shared(parser)
    parser = verb("run", "read raw buffers p0.bin, p1.bin, .., run the kernels of a file, and write r0.bin, r1.bin and "
                         "so on")
    parser.add_argument("file", metavar="FILE",
                        help="a file of HLO text, StableHLO text or bytecode, a JAX function (model.py:step), or - for "
                        "standard input")
    target(parser, CHECK_TARGETS)
    parser.add_argument("--in", dest="in_dir", required=True, metavar="DIR",
                        help="the folder with p0.bin, p1.bin, ..; a tuple parameter is in p0_0.bin, p0_1.bin, ..")
    parser.add_argument("--out", dest="out_dir", required=True, metavar="DIR",
                        help="write r0.bin, r1.bin, .. to this folder")
    limit(parser)
    parser.add_argument("--row-major", action="store_true",
                        help="all .bin files are row-major arrays, as in NumPy, even if FILE states other layouts")
    shared(parser)
    parser = verb("explain", "print the result of every stage, from the parsed graph to the kernel")
    several(parser, os.cpu_count() or 1)
    parser.add_argument("--stage", type=one_of("stage", list(explain.STAGES)), metavar="S",
                        help=f"one of {', '.join(explain.STAGES)} (default: all)")
    parser.add_argument("--target", type=targets, metavar="T,..",
                        help=f"targets, separated by commas: {', '.join(TARGETS)} (default: all)")
    parser.add_argument("--svg", type=Path, metavar="F",
                        help="with --stage arena, one FILE and one target: also write the picture to F, as SVG")
    shared(parser)
    parser = verb("certify", "prove with SMT solvers: no access out of bounds, no race, every result written")
    several(parser, 1)
    parser.add_argument("--target", type=targets, metavar="T,..",
                        help=f"targets, separated by commas: {', '.join(TARGETS)} (default: all)")
    parser.add_argument("--smt", metavar="DIR", help="keep each query to the solvers in this folder, as SMT-LIB text")
    shared(parser)
    parser = verb("bench", "time kernels, copies of the same size, and libraries; or time copies between layouts")
    parser.add_argument("files", nargs="*", metavar="FILE", help=FILES)
    parser.add_argument(
        "--layouts",
        nargs="+",
        metavar=("SHAPE", "LAYOUT"),
        help="instead of files, time copies of an array between each pair of layouts, and reads of each layout by "
        "rows, columns and tiles; for example: f32[4096,4096] {1,0} {0,1}",
    )
    parser.add_argument(
        "--html",
        metavar="F",
        help="write a page to F: the roofline of the files, or the matrix of --layouts (default with --layouts: "
        "beside the file of --json, else build/layouts.html)",
    )
    target(parser, BENCH_TARGETS)
    limit(parser)
    apart(parser, "time")
    parser.add_argument("--json", metavar="F", help="write all figures to F, as JSON")
    parser.add_argument("--rounds", type=count, default=60, metavar="N", help="time at most N turns (default 60)")
    parser.add_argument("--spread", type=float, default=2, metavar="PERCENT",
                     help="stop when the throughput relative to the copy is known within PERCENT: half of its 95%% "
                     "confidence interval (default 2)")
    parser.add_argument("--no-libraries", action="store_true", help="do not time OpenBLAS, oneDNN, NumPy and XLA:CPU")
    parser.add_argument("--no-check", action="store_true", help="do not compare results with the reference")
    shared(parser)
    return top


def options(given: argparse.Namespace) -> run.Options:
    return run.Options(seed=getattr(given, "seed", 1), schedule=given.device, excess_precision=given.excess_precision,
                       fill_constants=given.fill_constants, sizes=dict(given.dims), row_major=getattr(given, "row_major", False),
                       limit=getattr(given, "limit", None), most_bytes=given.most_bytes, leads=given.lead,
                       check_maps=proofs.check, say=PROGRESS.note, step=PROGRESS.step)


# ---- several files ----


def inputs(words: "List[str]", together: bool = False) -> List[str]:
    """Return the files that the arguments name. A folder stands for its files in the order of their names. together:
    true if several functions of a Python file are one input.
    """
    files: List[str] = []
    for word in words:
        if not os.path.isdir(word):
            files += modules_of(word, together)
            continue
        inside = in_folder(Path(word))
        if not inside:
            raise run.RunError(f"{word}: expected .hlo or .mlir files in this folder, found none: name the files")
        files += [module for file in inside for module in modules_of(file, together)]
    if files.count("-") > 1:
        raise run.RunError("-: expected standard input once")
    return files


def in_folder(folder: Path) -> List[str]:
    """Return the .hlo files of a folder, and its .mlir files except those for which there is a .hlo file of the same
    name.
    """
    found = {path.stem: path for suffix in reversed(run.SUFFIXES) for path in folder.glob("*" + suffix) if path.is_file()}
    return sorted(map(str, found.values()))


def modules_of(file: str, together: bool) -> List[str]:
    """Return the inputs in a file: FILE#NAME for each module if there are several, or FILE.py:NAME for each function if
    the verb takes one function at a time. Otherwise, return the file itself. A pipe can be read only once, so it is
    not read here.
    """
    functions = from_jax.split_functions(file)
    if functions and not together:
        return [f"{functions.path}:{name}" for name in functions.names]
    try:
        names = hlo.module_names(Path(file).read_text("utf-8-sig")) if Path(file).is_file() else []
    except (OSError, UnicodeDecodeError):
        return [file]
    return [f"{file}#{name}" for name in dict.fromkeys(names)] if len(names) > 1 else [file]


Work = Callable[[argparse.Namespace, str], Tuple[int, Any]]


def over_files(work: Work, given: argparse.Namespace,
               then: "Callable[[str, Any], Any]" = lambda file, value: None) -> int:
    """Call work(given, file) for each file that the parsed arguments `given` name. For each value that `work` returns,
    call then(file, value). An error in a file is printed, and the remaining files are still processed.
    """
    files = inputs(given.files, given.verb == "build")
    algebra.build()     # build the library before worker processes start, so that only one process builds it

    def announce(done: int, file: str) -> None:
        if len(files) > 1:
            PROGRESS.before = (f"{given.verb} {done + 1}/{len(files)}: " if given.jobs == 1
                               else f"{given.verb} {done}/{len(files)} done: ")
            PROGRESS.step(file)

    statuses = []
    try:
        of_file = partial(report_faults, work, given)
        with closing(jobs.parallel(of_file, files, given.jobs, announce)) as answers:
            for file, answer in zip(files, answers):
                if answer.out or answer.err:
                    PROGRESS.end()
                put(answer.out, sys.stdout)
                put(answer.err, sys.stderr)
                status = answer.status
                if answer.value is not None:
                    status = max(status, report_faults(lambda: (0, then(file, answer.value)))[0])
                statuses.append(status)
    finally:
        PROGRESS.before = ""
        PROGRESS.end()
    if len(files) > 1 and given.verb == "check":
        counts = [(statuses.count(0), "PASS"), (statuses.count(1), "FAIL"), (statuses.count(3), "SKIP"),
                  (statuses.count(2), "not read")]
        put(f"{len(files)} files: {', '.join(f'{number} {word}' for number, word in counts if number)}\n", sys.stdout)
    return jobs.overall(statuses)


def report_faults(work: "Callable[..., Tuple[int, Any]]", *given: Any) -> "Tuple[int, Any]":
    """Return the result of `work`. If it raises an error, print the error and return its exit status."""
    try:
        return work(*given)
    except (hlo.HloError, BuildError) as error:
        return _said(str(error), 2), None
    except algebra.AlgebraError as error:
        return _said(str(error).removeprefix("error: "), 2), None
    except run.RunError as error:
        return _said(error.message, error.status), None
    except BrokenPipeError:
        raise
    except OSError as error:
        return _said(": ".join(str(part) for part in (error.filename, error.strerror) if part) or str(error), 2), None


def _said(message: str, status: int) -> int:
    PROGRESS.end()
    put(f"error: {message}\n", sys.stderr)
    return status


# ---- the verbs ----

Texts = pipeline.Texts


def do_build(given: argparse.Namespace) -> int:
    written: Dict[str, str] = {}    # for each written file, the input from which it was made

    def then(file: str, texts: "Tuple[Texts, Texts]") -> None:
        for name in (name for names in texts for name in names):
            if written.setdefault(name, file) != file:
                raise run.RunError(
                    f"{file}: writes {name}, as {written[name]} does: build them into separate folders"
                )
        publish(texts[0], Path(given.out))
        if given.dump:
            publish(texts[1], Path(given.dump))

    return over_files(build, given, then)


def build(given: argparse.Namespace, file: str) -> "Tuple[int, Tuple[Texts, Texts]]":
    """Return the files of a module's program or of each of its fusions, with a depfile, and the files of --dump. For
    functions of a Python file, return the files of each function, and main.c.
    """
    settings = options(given)
    settings.step(f"{file}: read")
    functions, path = [], run.split(file)[0]    # type: List[from_jax.Lowered], str
    named = from_jax.split_functions(file)
    if named:
        functions, path = from_jax.lowered(file, settings.sizes, example="c" in given.target), named.path
    modules = [run.of_function(function, file, settings.fill_constants) for function in functions] or [
        run.load(file, settings.fill_constants, settings.sizes)]
    texts, stages, abouts = {}, {}, []      # type: Texts, Texts, List[Dict[str, Any]]
    if len(modules) > 1 and given.target == ["c"] and not given.apart and not given.profile:
        block = Block()
        several = [pipeline.with_leads(programs.program(module, block), settings.leads) for module in modules]
        texts, abouts = pipeline.library(several, program_name(Path(path).stem), settings.schedule,
                                         settings.excess_precision)
        for about in abouts:
            note_warnings(file, about)
    for module in modules:
        if len(abouts) < len(modules):
            abouts.append(build_module(given, file, module, settings, texts))
        if given.dump:
            found = explain.stages(module, given.target, settings)
            stages.update((f"{hlo.stem(module)}.{number}_{stage}.{'hlo' if stage == 'parse' else 'txt'}", text)
                          for number, (stage, text) in enumerate(found.items()))
    first = next(iter(texts))
    if functions and "c" in given.target and not given.apart:
        shown = [(about, function.example) for about, function in zip(abouts, functions)]
        texts.update(example.files(shown, path))
        PROGRESS.note(f"{file}: {example.command(shown)} compares with JAX's results")
    if given.wrap:
        for n, about in enumerate(abouts):
            texts.update(wrap.files(about, file, functions[n] if functions else None))
    for function in functions:
        if function.left_out:
            PROGRESS.note(f"{file}: {function.name} does not use {', '.join(function.left_out)}: left out")
    read = dict.fromkeys(os.path.relpath(of) for function in functions for of in function.files)
    read = {path: None, **read} if file != "-" else {}
    stem = Path(path).stem if len(modules) > 1 else hlo.stem(modules[0])
    texts[f"{stem}.d"] = depfile(Path(given.out) / first, [*map(Path, read), *pipeline.sources()])
    return 0, (texts, stages)


def build_module(given: argparse.Namespace, file: str, module: hlo.Module, settings: run.Options,
                 texts: Texts) -> "Dict[str, Any]":
    """Add the generated files of a module's programs to `texts`, and return the manifest of the last program."""
    stem = hlo.stem(module)
    if stem != hlo.plain_stem(module):
        PROGRESS.end()
        put(f"note: {file}: written as {stem}, a name that C leaves free\n", sys.stderr)
    layouts = hlo.layout_note(module)
    if layouts:
        PROGRESS.end()
        put(f"note: {file}: {layouts}: the header says where each element is\n", sys.stderr)
    about: Dict[str, Any] = {}
    sources = programs.programs(module, given.apart)
    if given.lead and given.apart:
        raise run.RunError("expected no --apart beside --lead: it names arrays of the program")
    for number, source in enumerate(sources, 1):
        source = pipeline.with_leads(source, settings.leads)
        settings.step(f"{file}: generate {source.name}" + (f", {number} of {len(sources)}" if len(sources) > 1 else ""))
        written, about = pipeline.files(source, given.target, settings.schedule, settings.excess_precision,
                                        settings.most_bytes)
        texts.update(written)
        note_warnings(file, about)
    return about


def note_warnings(file: str, about: "Dict[str, Any]") -> None:
    for said in (pipeline.recomputed(about), *pipeline.unused_aliases(about)):
        if said:
            PROGRESS.note(f"{file}: {said}")


def depfile(target: Path, sources: "List[Path]") -> str:
    """Return a depfile with a single target, as compilers write it: Ninja and CMake reject a target that their rule
    does not declare. Like the depfiles of gcc -MP, it has an empty rule for each source, so that Make continues if a
    later version of sett no longer has that source.
    """
    names = [str(path).replace(" ", "\\ ") for path in (target, *sources)]
    return f"{names[0]}: {' '.join(names[1:])}\n" + "".join(f"{name}:\n" for name in names[1:])


def publish(texts: Texts, folder: Path) -> None:
    """Write files into a folder. Each is written completely or not at all. A file whose content is unchanged is not
    written.
    """
    run.make_folder(folder)
    for name, text in texts.items():
        pipeline.write(folder / name, text)


def do_check(given: argparse.Namespace) -> int:
    return over_files(check, given)


def check(given: argparse.Namespace, file: str) -> "Tuple[int, None]":
    settings = options(given)
    settings.memory = cost.machine_memory() // 3 // given.jobs
    try:
        results = run.check(file, given.target, settings)
    except run.RunError as error:
        if error.status != 3:
            raise
        lines = [f"SKIP {file} {given.target} 0/0 -: {error.message}"]
        status = 3
    else:
        lines = [*(result.line() for result in run.of_fusions(results)), run.file_line(file, given.target, results)]
        status = run.EXIT_STATUS[run.overall_status(results)]
    PROGRESS.end()
    put("".join(f"{line}\n" for line in lines), sys.stdout)
    return status, None


def do_run(given: argparse.Namespace) -> int:
    try:
        run.run(given.file, given.target, given.in_dir, given.out_dir, options(given))
    finally:
        PROGRESS.end()
    return 0


def do_explain(given: argparse.Namespace) -> int:
    if given.svg and (given.stage != "arena" or len(given.target) > 1 or len(inputs(given.files)) > 1):
        raise run.RunError("expected --stage arena, one FILE and one --target beside --svg")
    return over_files(explained, given)


def explained(given: argparse.Namespace, file: str) -> "Tuple[int, None]":
    module = run.load(file, given.fill_constants, dict(given.dims))
    stages = explain.stages(module, given.target, options(given), [given.stage] if given.stage else explain.STAGES)
    if given.svg:
        pipeline.write(given.svg, explain.arena_svg(module, given.target[0], options(given)))
    text = stages[given.stage] if given.stage else "\n".join(f"==== {stage} ====\n{text}"
                                                             for stage, text in stages.items())
    PROGRESS.end()
    put((f"#### {file} ####\n" if len(inputs(given.files)) > 1 else "") + text, sys.stdout)
    return 0, None


def do_certify(given: argparse.Namespace) -> int:
    return over_files(certified, given)


def certified(given: argparse.Namespace, file: str) -> "Tuple[int, None]":
    """Print, for each kernel of a file, what the SMT solvers have proved about its text (gen/certify)."""
    settings = options(given)
    missing = certify.missing()
    if missing:
        raise run.RunError(f"SKIP {file}: {missing}", 3)
    if given.smt:
        run.make_folder(Path(given.smt))
    module = run.load(file, given.fill_constants, settings.sizes)
    verdicts: List[certify.Verdict] = []
    for source in programs.programs(module, False):
        settings.step(f"{file}: generate {source.name}")
        texts, about = pipeline.files(pipeline.with_leads(source, settings.leads), given.target, settings.schedule,
                                      settings.excess_precision, settings.most_bytes)
        settings.step(f"{file}: certify {source.name}")
        written = {name: text for name, text in texts.items() if isinstance(text, str)}
        verdicts += certify.certify(written, about, given.target, Path(given.smt) if given.smt else None,
                                    source.whole.computation)
    PROGRESS.end()
    put("".join(f"{verdict.line()}\n" for verdict in verdicts), sys.stdout)
    return int(any(verdict.kind != "PROVED" for verdict in verdicts)), None


def do_bench(given: argparse.Namespace) -> int:
    if bool(given.files) == bool(given.layouts):
        raise run.RunError("expected files to time, or --layouts SHAPE LAYOUT ..")
    settings = bench.BenchOptions(rounds=given.rounds, spread=given.spread / 100, with_check=not given.no_check,
                               with_libraries=not given.no_libraries, run=options(given))
    if given.layouts is not None:
        return bench_layouts(given, settings)
    data, page = (Path(path).absolute() if path else None for path in (given.json, given.html))
    bench.writable(data, page)
    try:
        report = bench.bench(inputs(given.files), given.target, settings, given.apart)
    finally:
        PROGRESS.end()
    put(f"{bench.table(report)}\n", sys.stdout)
    if data:
        bench.write_json(report, str(data))
    if page:
        pipeline.write(page, roofline.as_html(report))
        put(f"wrote {os.path.relpath(page)}\n", sys.stdout)
    return 0 if report.status() == "PASS" else 1


def bench_layouts(given: argparse.Namespace, settings: bench.BenchOptions) -> int:
    data, page = layouts.places(given.json, given.html)
    try:
        matrix = layouts.measure(given.layouts, given.target, settings, PROGRESS.step)
    finally:
        PROGRESS.end()
    layouts.write(matrix, data, page)
    put(f"{layouts.table(matrix)}\n", sys.stdout)
    put(f"wrote {' and '.join(os.path.relpath(path) for path in (page, data) if path)}\n", sys.stdout)
    return 0 if matrix.report.status() == "PASS" else 1


VERBS = {"build": do_build, "check": do_check, "run": do_run, "explain": do_explain, "certify": do_certify, "bench": do_bench}


def unused_device(given: argparse.Namespace) -> str:
    """Return a warning if no target uses the language of --device; "" if one does, or if there is no --device."""
    names = given.target if isinstance(given.target, list) else [given.target]
    languages = {RUNNERS[name].target.name for name in names}
    if not given.device or DEVICES[given.device].language in languages:
        return ""
    instead = ", ".join(f"{language} is scheduled for {DEFAULT[language]}" for language in sorted(languages))
    return f"--device {given.device} is of {DEVICES[given.device].language} and not used: {instead}"


def wrong_profile(given: argparse.Namespace) -> str:
    """Return an error message if arguments exclude each other. Otherwise set the device and the target as --profile
    says, or a missing target to its default, and return "".
    """
    several = given.verb in ("build", "explain", "certify")
    if given.profile and (given.device or given.target not in (None, "c", ["c"])):
        return f"expected no --device, and no other --target than c, beside --profile {given.profile}"
    if given.most_bytes and not given.profile:
        return "expected --profile beside --most-bytes"
    if getattr(given, "wrap", None) and (given.profile or given.apart or not wrap.TARGETS.keys() & (given.target or ["c"])):
        return f"expected --target c or cuda, no --apart and no --profile beside --wrap {given.wrap}"
    if getattr(given, "wrap", None) and given.lead:
        return f"expected no --lead beside --wrap {given.wrap}: the rows of its buffers lie one after the other"
    if given.profile:
        given.device, given.target = given.profile, ["c"] if several else "c"
    given.target = given.target or (list(TARGETS) if several else "opencl")
    return ""


def main(words: Optional[List[str]] = None) -> int:
    sys.setrecursionlimit(10000)
    PROGRESS.begin()
    words = sys.argv[1:] if words is None else words
    parser = arguments()
    if not words:
        parser.error(f"expected a verb, one of {', '.join(VERBS)}")
    if words[0] == "help":  # help VERB means VERB --help
        words = [*(words[1:2] or []), "--help"]
    if not words[0].startswith("-") and words[0] not in VERBS:
        parser.error(
            f"unknown verb '{words[0]}'{did_you_mean(words[0], VERBS) or ','} expected one of {', '.join(VERBS)}"
        )
    given = parser.parse_args(words)
    wrong = wrong_profile(given)
    if wrong:
        parser.error(wrong)
    if unused_device(given):
        PROGRESS.note(unused_device(given))
    try:
        return report_faults(lambda: (VERBS[given.verb](given), None))[0]
    except BrokenPipeError:     # the reader of standard output has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Unwritable as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _said(f"standard output cannot be written: {error}", 2)


def stoppable() -> int:
    """Run main as a program. After a signal such as Ctrl-C, its exit status is 128 plus the number of the signal."""
    opened()
    jobs.stoppable()
    try:
        return main()
    except jobs.Stopped as stopped:
        PROGRESS.end()
        return 128 + stopped.number


if __name__ == "__main__":
    sys.exit(stoppable())
