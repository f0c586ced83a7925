"""Prove the kernels of sets of programs:
    python3 tests/certify/sets.py [SET ..] [--jobs N] [--semantics] [--lines F]

Each kernel must be proved, except those in not_proved.tsv. The programs are HLO files and texts. The sets products,
rows, scans, sorts, loops and programs consist of texts: the named cases of the tests in tests/kernels, and cases that
the generators of these tests draw from a fixed seed.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import sys
import tempfile
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Tuple, Union

ROOT = Path(__file__).resolve().parents[2]
PEER = ROOT.parent / "shared" / "peer"
for _folder in (ROOT / "bench", ROOT / "tests" / "kernels", ROOT / "tests", ROOT):
    if str(_folder) not in sys.path:
        sys.path.insert(0, str(_folder))

from gen import algebra, hlo, jobs, pipeline, run
from gen.certify import certify, missing
from gen.plan.nest import BuildError
from gen.program import build

STABLEHLO = 100    # number of files that are drawn from ../shared/peer/stablehlo
SEED = 1

OTHERS = ("fusions", "hlo", "stablehlo")    # sets from other projects; gen may refuse programs of these sets
Programs = Dict[str, Union[str, Path]]    # by name: the HLO text of a program, or its file


def _files(paths: "List[Path]") -> Programs:
    return {path.stem: path for path in sorted(paths)}


def _named(cases: "Dict[str, Tuple[Any, ...]]", before: str = "") -> Programs:
    """Return the HLO texts of cases. A case consists of an HLO text and the result that a test expects, in either
    order.
    """
    return {f"{before}{name}": next(of for of in case if isinstance(of, str) and "ENTRY" in of) for name, case in cases.items()}


def products() -> Programs:
    import test_contraction as cpu
    import test_contraction_gpu as gpu
    found: Programs = {**_named(cpu.NAMED), **_named(gpu.NAMED, "gpu_"), **_named(gpu.CONVOLUTIONS, "conv_")}
    for number in range(8):
        found[f"drawn_{number}"] = cpu.Draw(number).text()
        found[f"numbers_{number}"] = cpu.Draw(100 + number, cpu.NUMBERS).text()
        found[f"small_{number}"] = cpu.Draw(200 + number, small=True).text()
        found[f"few_rows_{number}"] = cpu.FewRows(300 + number).text()
        found[f"drawn_conv_{number}"] = cpu.convolution(400 + number)
        found[f"gpu_conv_{number}"] = cpu.convolution(500 + number, gpu.CONVOLVED)
    return found


def rows() -> Programs:
    import test_rows as of
    found: Programs = {}
    for before, cases in (("taken", of.TAKEN), ("columns", of.COLUMNS), ("late", of.LATE), ("gpu", of.GPU_TAKEN), ("apart", of.APART)):
        found.update(_named(cases, f"{before} "))
    return {**found, **{f"drawn {number}": of.Draw(SEED * 1000003 + number).fusion() for number in range(8)}}


def scans() -> Programs:
    import test_scan as of
    return {f"drawn {number}": of.Draw(SEED * 1000 + number).fusion() for number in range(24)}


def sorts() -> Programs:
    import test_sort as of
    draw = random.Random(SEED)
    return {**of.FORMS, **{f"drawn {number}": of.random_sort(draw) for number in range(8)}}


def loops() -> Programs:
    import test_loops as of
    found: Programs = {name: f"{of.COMPUTATIONS}ENTRY e {{\n  {body}\n}}\n" for name, body in of.FIXED.items()}
    for number in range(8):
        found[f"drawn {number}"] = of.Loops(SEED * 9176201 + number).fusion().text()
    return found


def programs() -> Programs:
    import test_program as of
    found: Programs = {name: of.module(entry) for name, entry in of.ENTRIES.items()}
    found.update({f"drawn {number}": of.drawn_module(number) for number in range(8)})
    found["in a loop"] = of.LOOPED
    return {**found, **_files(list((ROOT / "tests" / "hlo").glob("*.hlo")))}


def stablehlo() -> Programs:
    files = sorted((PEER / "stablehlo").glob("*.hlo"))
    return _files(random.Random(SEED).sample(files, min(STABLEHLO, len(files))))


SETS: "Dict[str, Callable[[], Programs]]" = {
    "fixtures": lambda: _files(list((ROOT / "tests" / "kernels").glob("*.hlo"))),
    "bench": lambda: _files(list((ROOT / "bench").glob("*.hlo"))),
    "products": products, "rows": rows, "scans": scans, "sorts": sorts, "loops": loops, "programs": programs,
    "fusions": lambda: _files(list((PEER / "fusions").glob("*.hlo"))),
    "hlo": lambda: {str(path.relative_to(PEER / "hlo").with_suffix("")): path for path in sorted((PEER / "hlo").rglob("*.hlo"))},
    "stablehlo": stablehlo,
}


def names(programs_of: Programs) -> "Dict[str, Union[str, Path]]":
    """Return the programs with their names changed to C identifiers."""
    return {re.sub(r"\W+", "_", name): text for name, text in programs_of.items()}


# ---- proofs ----

TARGETS = ("opencl", "cuda", "c")
LISTED = ROOT / "tests" / "certify" / "not_proved.tsv"
Key = Tuple[str, str, str, str]     # the names of a set, of a program in it, of a target, and of a kernel


@dataclass(frozen=True)
class Item:
    """A program of a set. semantics: true if its semantics are to be proved, too."""

    set: str
    name: str
    text: "Union[str, Path]"
    semantics: bool


@dataclass
class Row:
    """The verdict on a launch. semantics: true if its semantics are proved."""

    key: Key
    kind: str
    line: str
    semantics: bool


def listed() -> "Dict[Key, str]":
    """Return the kernels that are known not to be proved, each with the reason."""
    found: "Dict[Key, str]" = {}
    for line in LISTED.read_text().splitlines():
        if line and not line.startswith("#"):
            of, program, target, kernel, reason = line.split("\t")
            found[of, program, target, kernel] = reason
    return found


def proved(item: Item) -> "Tuple[int, Union[Tuple[float, List[Row]], str]]":
    """Return 0, and the processor time in seconds with the verdicts on the launches. If gen refuses the program, return
    2 and the reason.
    """
    try:
        return 0, _proved(item)
    except (hlo.HloError, BuildError, run.RunError) as error:
        return 2, str(error)


def _proved(item: Item) -> "Tuple[float, List[Row]]":
    start, rows = time.process_time(), []
    with tempfile.TemporaryDirectory() as folder:
        path = item.text if isinstance(item.text, Path) else Path(folder) / f"{item.name}.hlo"
        if isinstance(item.text, str):
            path.write_text(item.text)
        module = run.load(str(path), None, {})
    for source in build.programs(module, False):
        texts, about = pipeline.files(source, list(TARGETS), None, False, None)
        written = {name: text for name, text in texts.items() if isinstance(text, str)}
        for verdict in certify(written, about, TARGETS, None, source.whole.computation if item.semantics else None):
            rows.append(Row((item.set, item.name, verdict.target, verdict.kernel), verdict.kind, verdict.line(),
                            verdict.meant is not None and verdict.meant.kind == "proved"))
    return time.process_time() - start, rows


def judged(row: Row, known: "Mapping[Key, str]") -> str:
    """Return the reason why a verdict is a failure of the test, or "". It is a failure if the kernel is proved but
    listed in not_proved.tsv, or not proved and not listed. A kernel that is listed because of a solver's time may
    also be proved.
    """
    reason = known.get(row.key)
    if row.kind == "PROVED":
        return "" if reason is None or reason.startswith("a solver's time") else "is proved, but listed"
    return "" if row.kind == "UNKNOWN" and reason is not None else "is not proved, and not listed"


def main() -> int:
    parser = argparse.ArgumentParser(description="Prove the kernels of sets of programs; print a table.")
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"of {', '.join(SETS)} (default: all)")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--semantics", nargs="*", default=[], metavar="SET", choices=list(SETS), help="ask about the semantics of these sets too")
    parser.add_argument("--sample", type=int, metavar="N", help="only N programs of each set, drawn by a fixed seed")
    parser.add_argument("--lines", type=Path, metavar="F", help="append the line of each kernel to F")
    given = parser.parse_args()
    if missing():
        print(f"SKIP certificates: {missing()}")
        return 0
    sys.setrecursionlimit(10000)
    algebra.build()
    items: "List[Item]" = []
    for name in given.sets or SETS:
        of = sorted(names(SETS[name]()).items())
        if not of:
            print(f"SKIP {name}: no files in {PEER}")
        if given.sample is not None and given.sample < len(of):
            of = random.Random(SEED).sample(of, given.sample)
        items += [Item(name, program, text, name in given.semantics) for program, text in of]
    random.Random(SEED).shuffle(items)    # mix the sets, so that long programs of one set are not all last
    known, wrong = listed(), 0
    counts: "Counter[Tuple[str, str, str]]" = Counter()
    seconds: "Counter[str]" = Counter()
    with closing(jobs.parallel(proved, items, given.jobs)) as answers, open(given.lines or os.devnull, "a", encoding="utf-8") as lines:
        for item, answer in zip(items, answers):
            if not isinstance(answer.value, tuple):
                refused = answer.status == 2 and item.set in OTHERS
                wrong += not refused
                print(f"{'SKIP' if refused else 'FAIL'} {item.set} {item.name}: {answer.value or answer.err.strip() or 'no answer'}", flush=True)
                continue
            spent, rows = answer.value
            seconds[item.set] += spent
            for row in rows:
                target = row.key[2].split()[0]
                counts[item.set, target, row.kind] += 1
                counts[item.set, target, "semantics"] += row.semantics
                lines.write(f"{item.set}\t{item.name}\t{row.line}\n")
                fault = judged(row, known)
                if fault:
                    wrong += 1
                    print(f"FAIL {item.set} {item.name}: {fault}: {row.line}", flush=True)
            lines.write(f"# {item.set} {item.name} {spent:.2f} s\n")
            lines.flush()
    print("set\ttarget\tproved\tunknown\trefuted" + "\tsemantics proved" * bool(given.semantics) + "\tprocessor seconds of the set")
    for name in dict.fromkeys(item.set for item in sorted(items, key=lambda item: list(SETS).index(item.set))):
        for target in TARGETS:
            row_of = [counts[name, target, kind] for kind in ("PROVED", "UNKNOWN", "REFUTED", *["semantics"] * bool(given.semantics))]
            print(name, target, *row_of, *[f"{seconds[name]:.0f}"] * (target == TARGETS[0]), sep="\t")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
