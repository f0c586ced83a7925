"""python3 -m gen VERB: HLO text in, verified kernels out. The verbs only read arguments; the work is in the modules."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import List, Optional

sys.path.insert(0, str(Path(__file__).resolve().parent.parent)) if __package__ in (None, "") else None

from gen import algebra, explain, hlo, pipeline, run  # noqa: E402
from gen.run import bench, layouts, proofs  # noqa: E402
from gen.plan.nest import BuildError  # noqa: E402
from gen.schedule import DEVICES  # noqa: E402
from gen.targets import RUNNERS, TARGETS  # noqa: E402

BENCH_TARGETS = [name for name, runner in RUNNERS.items() if runner.timed]
CHECK_TARGETS = list(RUNNERS)


class Usage(argparse.ArgumentParser):
    """Faults in the arguments in the form of all other faults."""

    def error(self, message: str) -> None:  # type: ignore[override]
        self.exit(2, f"error: {message}\n{self.format_usage()}")


def seed(text: str) -> int:
    """A seed of the harness: 64 bits without a sign."""
    value = int(text)
    if not 0 <= value < 1 << 64:
        raise ValueError(text)
    return value


def targets(text: str) -> List[str]:
    """Targets with commas between."""
    names = [t for t in text.split(",") if t]
    if not names or not set(names) <= set(TARGETS):
        raise ValueError(text)
    return names


def arguments() -> argparse.ArgumentParser:
    top = Usage(prog="gen", description="HLO text in, verified CUDA, OpenCL and C kernels out.")
    verbs = top.add_subparsers(dest="verb", required=True, metavar="build|check|run|explain|bench", parser_class=Usage)

    def verb(name: str, text: str) -> argparse.ArgumentParser:
        return verbs.add_parser(name, help=text, description=text)

    def shared(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--device", default="", help=f"class of device to generate for: {', '.join(DEVICES)}")
        parser.add_argument("--fill-constants", type=seed, metavar="N",
                         help="draw values, from seed N, for constants that the text leaves out, constant({...}): for tests and timing")
        parser.add_argument("--excess-precision", action="store_true", help="keep f16 and bf16 as f32 between ops")

    parser = verb("build", "write the kernels, C API, reference and manifest of every fusion of a file")
    parser.add_argument("file")
    parser.add_argument("-o", dest="out", required=True, metavar="DIR")
    parser.add_argument("--target", default=",".join(TARGETS), type=targets, metavar="T,..", help=f"of {', '.join(TARGETS)}; several with commas (default: all)")
    parser.add_argument("--dump", metavar="DIR", help="write every stage that explain prints to a file of its own: FILE.0_parse.hlo, FILE.1_partition.txt, ..")
    shared(parser)
    parser = verb("check", "run the kernels of a file on seeded inputs beside the scalar reference")
    parser.add_argument("file")
    parser.add_argument("--target", default="opencl", choices=CHECK_TARGETS)
    parser.add_argument("--seed", type=seed, default=1)
    shared(parser)
    parser = verb("run", "run a file's fusions on raw buffers p0.bin, p1.bin, .. to r0.bin, r1.bin, ..")
    parser.add_argument("file")
    parser.add_argument("--target", default="opencl", choices=CHECK_TARGETS)
    parser.add_argument("--in", dest="in_dir", required=True, metavar="DIR")
    parser.add_argument("--out", dest="out_dir", required=True, metavar="DIR")
    shared(parser)
    parser = verb("explain", "every stage from the text to the kernel")
    parser.add_argument("file")
    parser.add_argument("--stage", choices=explain.STAGES)
    parser.add_argument("--target", default=",".join(TARGETS), type=targets, metavar="T,..", help=f"of {', '.join(TARGETS)} (default: all)")
    shared(parser)
    parser = verb("bench", "time, bytes, GB/s and the share of the copy: of files, or of the copies between layouts")
    parser.add_argument("files", nargs="*", metavar="FILE")
    parser.add_argument("--layouts", nargs="+", metavar=("SHAPE", "LAYOUT"),
                     help="instead of files: f32[4096,4096] {1,0} {0,1} .., copies between every pair, reads by rows, columns and tiles in each")
    parser.add_argument("--html", metavar="F", help="the page of --layouts (default: beside the JSON, else build/layouts.html)")
    parser.add_argument("--target", default="opencl", choices=BENCH_TARGETS)
    parser.add_argument("--json", metavar="F")
    parser.add_argument("--rounds", type=int, default=60, help="timed turns at most (default 60)")
    parser.add_argument("--spread", type=float, default=2, metavar="PERCENT",
                     help="turns end when the share is known so well: half of its 95%% interval (default 2)")
    parser.add_argument("--no-libraries", action="store_true", help="leave OpenBLAS, oneDNN, NumPy and XLA:CPU out")
    parser.add_argument("--no-check", action="store_true", help="leave the comparison with the reference out")
    shared(parser)
    return top


def options(given: argparse.Namespace) -> run.Options:
    if given.device and given.device not in DEVICES:
        raise run.RunError(f"--device {given.device}: expected one of {', '.join(DEVICES)}")
    return run.Options(seed=getattr(given, "seed", 1), schedule=given.device or None, excess_precision=given.excess_precision,
                       fill_constants=given.fill_constants,
                       check_maps=proofs.check, say=lambda text: print(f"note: {text}", file=sys.stderr, flush=True))


def do_build(given: argparse.Namespace) -> int:
    asked = options(given)
    module = run.load(given.file, asked.fill_constants)
    with tempfile.TemporaryDirectory(prefix="sett_build_") as work:
        names: List[str] = []
        for fusion in hlo.fusions(module):
            texts, _ = pipeline.files(fusion, given.target, asked.schedule, asked.excess_precision)
            for name, text in texts.items():
                (Path(work) / name).write_text(text)
                names.append(name)
        depfile = f"{hlo.c_identifier(Path(given.file).stem)}.d"
        sources = " ".join(str(p).replace(" ", "\\ ") for p in [Path(given.file), *pipeline.sources()])
        # One target, as compilers write it: Ninja and CMake refuse a depfile that names a file which the rule does not.
        first = str(Path(given.out) / names[0]).replace(" ", "\\ ")
        (Path(work) / depfile).write_text(f"{first}: {sources}\n")
        dumped = Path(work) / "dump"
        dumped.mkdir()
        if given.dump:
            for number, (stage, text) in enumerate(explain.stages(module, given.target, asked).items()):
                (dumped / f"{hlo.c_identifier(Path(given.file).stem)}.{number}_{stage}.{'hlo' if stage == 'parse' else 'txt'}").write_text(text)
        publish(Path(work), [*names, depfile], Path(given.out))
        if given.dump:
            publish(dumped, sorted(p.name for p in dumped.iterdir()), Path(given.dump))
    return 0


def publish(source: Path, names: "List[str]", target: Path) -> None:
    """Files into a folder, each whole or not at all, untouched where they are the same."""
    target.mkdir(parents=True, exist_ok=True)
    for name in names:
        pipeline.write(target / name, (source / name).read_text())


def do_check(given: argparse.Namespace) -> int:
    try:
        results = run.check(given.file, given.target, options(given))
    except run.RunError as error:
        if error.status != 3:
            raise
        print(f"SKIP {given.file} {given.target} 0/0 -: {error.message}")
        return 3
    for result in results:
        print(result.line())
    print(run.file_line(given.file, given.target, results))
    return run.EXIT_STATUS[run.overall_status(results)]


def do_run(given: argparse.Namespace) -> int:
    run.run(given.file, given.target, given.in_dir, given.out_dir, options(given))
    return 0


def do_explain(given: argparse.Namespace) -> int:
    stages = explain.stages(run.load(given.file, given.fill_constants), given.target, options(given))
    if given.stage:
        print(stages[given.stage], end="")
    else:
        print("\n".join(f"==== {stage} ====\n{text}" for stage, text in stages.items()), end="")
    return 0


def do_bench(given: argparse.Namespace) -> int:
    if given.rounds < 1:
        raise run.RunError("--rounds: expected 1 or more")
    if bool(given.files) == bool(given.layouts) or (given.html and not given.layouts):
        raise run.RunError("expected files to time, or --layouts SHAPE LAYOUT .. (with --html F)")
    asked = bench.BenchOptions(rounds=given.rounds, spread=given.spread / 100, with_check=not given.no_check,
                               with_libraries=not given.no_libraries, run=options(given))
    if given.layouts is not None:
        return bench_layouts(given, asked)
    report = bench.bench(given.files, given.target, asked)
    print(bench.table(report))
    if given.json:
        bench.write_json(report, given.json)
    return 0 if report.status() == "PASS" else 1


def bench_layouts(given: argparse.Namespace, asked: bench.BenchOptions) -> int:
    data, page = layouts.places(given.json, given.html)
    try:
        matrix = layouts.measure(given.layouts, given.target, asked, progress)
    finally:
        progress("")
    layouts.write(matrix, data, page)
    print(layouts.table(matrix))
    print("wrote", " and ".join(os.path.relpath(path) for path in (page, data) if path))
    return 0 if matrix.report.status() == "PASS" else 1


def progress(text: str) -> None:
    """One line that changes, for who sits before a terminal."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


VERBS = {"build": do_build, "check": do_check, "run": do_run, "explain": do_explain, "bench": do_bench}


def main(words: Optional[List[str]] = None) -> int:
    sys.setrecursionlimit(10000)
    given = arguments().parse_args(words)
    try:
        return VERBS[given.verb](given)
    except hlo.HloError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except run.RunError as error:
        print(f"error: {error.message}", file=sys.stderr)
        return error.status
    except BuildError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except algebra.AlgebraError as error:
        print(error, file=sys.stderr)
        return 2
    except BrokenPipeError:     # who read has what it wanted
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        print(f"error: {error.filename or ''}: {error.strerror}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
