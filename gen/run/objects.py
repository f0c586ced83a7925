"""A file's fusions as files in private folders and as shared objects that the harness loads; the harness itself."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from gen import bounds, child, hlo, jobs, manifest as manifests, pipeline
from gen.emit.templates import environment
from gen.hlo import Fusion, dtypes, fill
from gen.program.ir import Call, Program, all_trips
from gen.program.parts import parts_of
from gen.program.limits import is_limited, unlimited
from gen.program.trace import Trace, traced
from gen.program.weights import ALIGNMENT
from gen.run import cost as costs
from gen.run.options import MOST_ROUNDS, Options, runner_of
from gen.schedule import DEVICES, Device, device_for
from gen.suggest import did_you_mean
from gen.targets import RUNNERS, RunError, Runner, c_compiler

ROOT = Path(__file__).resolve().parent.parent.parent
HARNESS = Path(__file__).resolve().parent / "harness"
Manifest = Dict[str, Any]
ITERATIONS = 100000     # of one loop of unknown length, after which a check compares calls alone
LAUNCHED_ITERATIONS = 1000      # the same where each kernel is a launch
ELEMENT_ITERATIONS = 10 ** 7    # the same of a loop inside of a kernel, those of all elements counted
FEWEST_ITERATIONS = 10          # of such a loop at least
CPUS = [name for name, device in DEVICES.items() if device.cpu]


def call(command: Sequence[str], what: str) -> None:
    """Runs a compiler; its diagnostics become the error."""
    done = child.compiler(command)
    if done.status == 0:
        return
    said = done.out + done.err
    for word, missing in (item for runner in RUNNERS.values() for item in runner.missing.items()):
        if re.search(re.escape(word) + r"\b.*(No such file|not found)|cannot find " + re.escape(word), said):
            raise RunError(missing, 3)
    raise RunError(f"{what} does not compile\n{said.strip()[:4000]}", 1)


HARNESS_SOURCES = ("harness.c", "say.c", "data.c", "bench.c", "copies.c", "worker.c")


def harness(target: str) -> Path:
    """The harness that speaks to a target's runtime, compiled into build/ when missing or older than its sources."""
    runner = runner_of(target)
    output = ROOT / "build" / f"harness_{runner.harness_name}"
    sources = [str(HARNESS / name) for name in (*HARNESS_SOURCES, runner.harness_source)]
    newest = max(path.stat().st_mtime_ns for path in HARNESS.iterdir() if path.suffix in (".c", ".h", ".cu"))
    if output.exists() and output.stat().st_mtime_ns >= newest:
        return output
    output.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=output.name, dir=output.parent)
    os.close(handle)
    flags = ["-O3", f"-DPART_ALIGN={ALIGNMENT}"]
    try:
        try:
            call(runner.harness(Path(name), sources, [*flags, "-march=native"]), "the harness")
        except RunError as error:
            if error.status == 3:
                raise
            call(runner.harness(Path(name), sources, flags), "the harness")
        os.chmod(name, 0o755)
        os.replace(name, output)
    finally:
        if os.path.exists(name):
            os.unlink(name)
    return output


BITS_AND_KIND = {
    "pred": (8, "PRED"),
    **{f"s{b}": (b, "SINT") for b in (2, 4, 8, 16, 32, 64)},
    **{f"u{b}": (b, "UINT") for b in (2, 4, 8, 16, 32, 64)},
    **{f"f{b}": (b, "FLOAT") for b in (16, 32, 64)},
    "bf16": (16, "BFLOAT"),
    **{name: (dtypes.TABLE[name].bits, name.upper()) for name in dtypes.TABLE if re.match(r"f[48]", name)},
    "c64": (32, "FLOAT"), "c128": (64, "FLOAT"),
}


@dataclass
class Built:
    """A program's files, as gen build wrote them: its folder and its manifest. source: all of it as one fusion. traced:
    of a program of several calls that is to be checked, the one whose results are those of all calls, from `trace`
    (gen/program/trace.py)."""

    folder: Path
    manifest: Manifest
    source: Any = None
    problem: str = ""  # why there is nothing to run
    library: Optional[Path] = None
    program: Optional[Program] = None
    traced: "Optional[Built]" = None
    trace: Optional[Trace] = None

    @property
    def calls(self) -> "List[Call]":
        return self.program.calls if self.program else []

    @property
    def name(self) -> str:
        return self.manifest["name"]

    @property
    def hero(self) -> str:
        return self.manifest.get("hero", "")

    def count(self, side: str) -> int:
        return len(self.manifest[side])


class Buffer(NamedTuple):
    """A parameter or a result, as gen/run/harness/fusion.h has it: `struct sett_buffer`."""

    bytes: int
    elements: int
    bits: int
    kind: str
    exact: int
    below: int
    distinct: Sequence[int]
    sorted: Sequence[int]
    varies: int
    definite: int
    file: str
    alignment: int


def _buffers(entries: Sequence[Dict[str, Any]], aligned: "Optional[Sequence[int]]" = None) -> List[Buffer]:
    """aligned: the alignment that the pointer to each needs; None: no pointers lead to them."""
    buffers = []
    for entry, alignment in zip(entries, aligned or [0] * len(entries)):
        if entry["dtype"] not in BITS_AND_KIND:
            raise RunError(f"the harness does not know dtype {entry['dtype']}")
        elements = entry["positions"] * (2 if dtypes.is_complex(entry["dtype"]) else 1)     # the parts, one by one
        buffers.append(Buffer(entry["bytes"], elements, *BITS_AND_KIND[entry["dtype"]], int(bool(entry.get("exact"))),
                              entry.get("index_below", 0), entry.get("distinct", [0]), entry.get("sorted", [0]),
                              int("varies" in entry), entry.get("definite", 0), entry.get("file", "0"), alignment))
    return buffers


class ComparedFusion(NamedTuple):
    """A fusion whose calls are compared each by itself. proof: whether a proof stands for its reference."""

    name: str
    results: List[Buffer]
    proof: bool


class ComparedCall(NamedTuple):
    """A call of that, as gen/run/harness/fusion.h has it: `struct sett_call`. read: arrays, as C text."""

    name: str
    proof: bool
    read: List[str]
    written: List[int]
    done: int


@dataclass
class Compared:
    """What a program is compared with: a reference, with a bound, and a proof in place of both; traced: another program,
    `sett_traced`, which has `calls` of `fusions`. limited, cut: as in gen/run/harness/fusion.h."""

    reference: bool = False
    bound: bool = False
    proof: bool = False
    traced: bool = False
    fusions: Sequence[ComparedFusion] = ()
    calls: Sequence[ComparedCall] = ()
    limited: int = 0
    cut: int = 0


def given_params(manifest: Manifest, folder: Path) -> List[Dict[str, Any]]:
    """The parameters of a program that have a pointer, with the block of its weights, which lies in a file."""
    weights, given = manifest.get("weights"), list(manifest["params"])
    if weights:
        given.insert(weights["pointer"], {"bytes": weights["bytes"], "positions": weights["bytes"], "dtype": "u8",
                                          "file": json.dumps(str(weights_file(manifest, folder)))})
    return given


def weights_file(manifest: Manifest, folder: Path) -> Path:
    return (folder / manifest["files"]["weights"]).resolve()


def glue(manifest: Manifest, folder: Path, runner: Runner, entry: str = "sett_entry",
         compared: Compared = Compared()) -> str:
    """The C text that hands a program, whose files are in a folder, to the harness as `entry`."""
    def numbers(key: str) -> List[int]:
        of_result = {alias["result"]: alias["parameter"] for alias in manifest.get(key, ())}
        return [of_result.get(k, -1) for k in range(len(manifest["results"]))]

    aligned = manifest["targets"][runner.target.name].get("alignment", {})
    return environment().get_template("files/harness.c.j2").render(
        head=runner.head, name=manifest["name"], entry=entry,
        params=_buffers(given_params(manifest, folder), aligned.get("params")),
        results=_buffers(manifest["results"], aligned.get("results")), alias=numbers("aliases"),
        may_alias=numbers("may_alias") if "may_alias" in manifest else [], compared=compared, backend=runner.template,
        language=runner.target.name)


def _compared(name: str, sources: Sequence[str], source: Optional[Fusion], by_calls: bool) -> Compared:
    """What a program is compared with, by the files that are linked to it."""
    bound = f"{name}_bound.c" in sources
    return Compared(f"{name}_ref.c" in sources, bound, bool(bound and source and bounds.is_proved(source.computation)),
                    by_calls)


def _compared_calls(built: Built) -> Compared:
    """What a traced program is compared with: each call with its fusion's reference. It has a limit of iterations if it
    has loops or branches: more than its text says that there are."""
    assert built.program and built.trace
    trace, seen = built.trace, built.trace.seen
    place = dict(trace.program.pointers)
    place.update((array, (-1 - n, 0)) for n, array in enumerate(trace.program.results))
    on_gpus = not all(about["device"] in CPUS for about in built.manifest["targets"].values())
    proved = {fusion: bounds.is_proved(fusion.computation) for fusion in dict.fromkeys(each.fusion for each in seen)}
    fusions = [ComparedFusion(fusion.name, _buffers(manifests.results(fusion, built.manifest["excess_precision"],
                                                                      on_gpus)), proof)
               for fusion, proof in proved.items()]
    calls = [ComparedCall(each.fusion.name, proved[each.fusion],
                          [f"{{{place[array][0]}, {place[array][1]}u}}" if array else "{NO_ARRAY, 0}"
                           for array in each.operands], [-1 - place[array][0] for array in each.results],
                          -1 - place[each.done][0] if each.done else -1) for each in seen]
    compared = Compared(fusions=fusions, calls=calls)
    if trace.cut is not None:
        least = ITERATIONS if "c" in built.manifest["targets"] else LAUNCHED_ITERATIONS
        most = max([least, *(trips + 1 for trips in all_trips(built.program.body))])
        elements = max((array.shape.elements for call in built.program.calls if unlimited(call.fusion)
                        for array in call.results), default=0)
        most = min(most, max(FEWEST_ITERATIONS, ELEMENT_ITERATIONS // elements)) if elements else most
        compared.limited, compared.cut = min(most, 2 ** 32 - 1), trace.program.results.index(trace.cut)
    return compared


LONG_SOURCE = 1 << 20  # bytes of C beyond which one long function is optimised less


def _compiled(command: Sequence[str], source: Path, alone: bool = False) -> str:
    """The object of a source. One that stands alone is kept in $SETT_OBJECTS, where that names a folder, for all of the
    same text."""
    output = Path(f"{source}.o")
    kept: Optional[Path] = None
    if alone and os.environ.get("SETT_OBJECTS"):
        kept = Path(os.environ["SETT_OBJECTS"]) / hashlib.sha256(
            "\0".join([*command, source.read_text()]).encode()).hexdigest()
        if kept.exists():
            return str(kept)
    call([*command, "-o", str(output), str(source)], source.name)
    if kept:
        kept.parent.mkdir(parents=True, exist_ok=True)
        os.replace(shutil.copy(output, f"{kept}.{os.getpid()}"), kept)
    return str(output)


@lru_cache(maxsize=None)
def _precompiled(command: Tuple[str, ...], header: str, newest: int) -> Tuple[str, ...]:
    """Arguments that include a header before a source as this command compiles it into build/ when missing or older
    than `newest` or the compiler; none where that cannot be."""
    path = ROOT / "build" / f"precompiled_{hashlib.sha256(' '.join([*command, header]).encode()).hexdigest()[:16]}.h"
    output, language = Path(f"{path}.gch"), "c++-header" if "c++" in command else "c-header"
    try:
        newest = max(newest, Path(shutil.which(command[0]) or "").stat().st_mtime_ns)
        if not output.exists() or output.stat().st_mtime_ns < newest:
            pipeline.write(path, header)
            handle, name = tempfile.mkstemp(prefix=output.name, dir=output.parent)
            os.close(handle)
            if child.compiler([*command, "-x", language, "-o", name, str(path)]).status:
                os.unlink(name)
                return ()
            os.replace(name, output)
    except OSError:     # build/ is not written to
        return ()
    return "-include", str(path)


def compiled_kernels(runner: Runner, folder: Path, name: str, long: bool, device: Device, source: Path,
                     flags: "Sequence[str]" = ()) -> str:
    """The object of the kernels in a source. flags: further ones for the compiler."""
    command = [*runner.compile(folder, name, long, device), *flags]
    header, newest = runner.slow_header(source.read_text())
    if header:
        command += _precompiled(tuple(word for word in command if word not in ("-I", str(folder))), header, newest)
    return _compiled(command, source)


SHORT_SECONDS = 0.03    # of all rounds of a reference and its bound; gcc -O2 takes longer than it would save


def _reference_level(source: Optional[Fusion], rounds: int) -> str:
    """The optimisation level of a fusion's reference and its bound; their values do not depend on it."""
    seconds = costs.cost(source).check_seconds(False) * (abs(rounds) or MOST_ROUNDS) if source else math.inf
    return "-O0" if seconds < SHORT_SECONDS else "-O2"


def _is_comparable(built: Built) -> bool:
    """True if a reference of the whole says what each result must be. Through loops and branches no bound is known, so
    that there it is only where nothing is rounded."""
    return built.program is None or built.program.straight or not any(
        dtypes.TABLE[array.shape.dtype].kind in ("float", "complex")
        for call in built.calls for array in call.results)


def compile_fusion(built: Built, target: str, with_reference: bool = False, rounds: int = 0) -> Path:
    """The shared object of a program, in its folder; with its reference and bound, or those of its calls, where it is to
    be compared with them in `rounds` rounds (0: as many as its size asks for)."""
    name, folder, runner = built.name, built.folder, runner_of(target)
    traced = built.traced if with_reference else None
    fusions = {name: built.source}
    if traced and built.trace:
        fusions.update((each.fusion.name, each.fusion) for each in built.trace.seen)
    sources = [(file, fusion) for of, fusion in fusions.items() for file in (f"{of}_ref.c", f"{of}_bound.c")
               if with_reference and (folder / file).exists() and (of != name or _is_comparable(built))]
    compared = _compared(name, [file for file, _ in sources], built.source, traced is not None)
    glues = {f"{name}_glue_{target}.c": glue(built.manifest, folder, runner, compared=compared)}
    if traced:
        glues[f"{traced.name}_glue_{target}.c"] = glue(traced.manifest, folder, runner, "sett_traced",
                                                       _compared_calls(built))
    for file, text in glues.items():
        (folder / file).write_text(text)
    output = folder / f"{name}_{target}.so"
    command = [c_compiler(), "-std=c11", "-ffp-contract=off", "-fPIC", "-w", "-c"]
    steps: List[Callable[[], str]] = [partial(_compiled, [*command, _reference_level(fusion, rounds)], folder / source,
                                              True) for source, fusion in sources]
    steps += [partial(_compiled, [*command, "-O2", "-I", str(HARNESS), "-I", str(folder)], folder / file)
              for file in glues]
    for header, text in runner.headers().items():
        (folder / header).parent.mkdir(parents=True, exist_ok=True)
        (folder / header).write_text(text)
    for each in [built, *([traced] if traced else [])]:
        kernels = runner.kernels(each.name)
        if kernels:
            long = (folder / kernels).stat().st_size >= LONG_SOURCE
            device = DEVICES[each.manifest["targets"][runner.target.name]["device"]]
            steps.append(partial(compiled_kernels, runner, folder, each.name, long, device, folder / kernels))
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        try:
            with jobs.held():   # a thread that was just started would not be waited for
                answers = pool.map(lambda step: step(), steps)
            objects = list(answers)
        except KeyboardInterrupt:
            child.end_all()
            raise
    call([runner.linker(), "-shared", "-o", str(output), *objects, *runner.libraries,
          *built.manifest.get("libraries", ()), "-lm"], f"{name} for {target}")
    built.library = output
    return output


NO_TEXT = """expected HLO text in UTF-8, found other bytes: JAX prints HLO text by .lower(..).as_text("hlo")"""


def split(file: str) -> "Tuple[str, str]":
    """The path of FILE or FILE#NAME, and the name of a module in it, "" where none is named."""
    path, _, name = file.rpartition("#")
    return (file, "") if not path or Path(file).exists() else (path, name)


def load(file: str, fill_constants: Optional[int] = None) -> hlo.Module:
    """The module of a file, or FILE#NAME of a file with several, that the generator supports. HloError for anything
    else."""
    path, name = split(file)
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text("utf-8-sig")
    except UnicodeDecodeError:
        raise RunError(f"{path}: {NO_TEXT}") from None
    except OSError as error:
        beside = sorted(other.name for other in Path(path).parent.glob("*.hlo"))
        raise RunError(f"{path}: {error.strerror}{did_you_mean(Path(path).name, beside)}") from None
    filename = hlo.STANDARD_INPUT if path == "-" else path
    if name:
        found = [module for module in hlo.modules(text, filename) if module.name == name]
        if not found:
            raise RunError(f"{path}: expected a module '{name}'")
    (module,) = found if name else [hlo.parse(text, filename)]
    if fill_constants is not None:
        fill.fill_constants(module, fill_constants)
    hlo.expanded(module)
    hlo.without_single_steps(module)
    hlo.without_custom_calls(module)
    hlo.with_wide_matrices(module)
    hlo.without_complex_matrices(module)
    unsupported = hlo.unsupported(module) or hlo.misplaced(module)
    if unsupported:
        raise unsupported
    return module


def build(source: pipeline.Source, folder: Path, target: str, options: Options, checked: bool = True) -> Built:
    """gen build of a fusion or a program into a folder of its own. checked: with what a check compares it with."""
    program, runner = pipeline.program_of(source), runner_of(target)
    whole = program.whole
    options.step(f"generate {program.name} ({len(whole.computation.instructions)} ops)")
    folder.mkdir(parents=True, exist_ok=True)

    def written(of: Program) -> Built:
        about = pipeline.build_all(of, str(folder), [runner.target.name], options.schedule, options.excess_precision,
                                   options.most_bytes)
        return Built(folder, about, of.whole, program=of)

    built, flushes = written(program), runner.target.flushes
    if checked:
        of = device_for(runner.target.name, options.schedule).plan_class
        parts = {fusion: parts_of(fusion, plan) for fusion, plan in pipeline.plan_of(program, of).items()}
        if not program.is_one or any(parts.values()) or is_limited(program):
            built.trace = traced(program, parts)
            built.traced = written(built.trace.program)
            for fusion in dict.fromkeys(call.fusion for call in built.trace.seen):
                pipeline.write_all(pipeline.oracle(fusion, options.excess_precision, flushes), str(folder))
        if program.straight:
            pipeline.write_all(pipeline.bound(program, options.excess_precision, flushes), str(folder))
    return built
