"""The sets of programs whose kernels gen certify must prove, each as HLO text or as a file.

The texts of products, rows, scans, sorts, loops and programs are the named cases of the tests in tests/kernels, and
cases that these tests' generators draw from a fixed seed.
"""

from __future__ import annotations

import random
import re
import sys
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple, Union

ROOT = Path(__file__).resolve().parents[2]
PEER = ROOT.parent / "shared" / "peer"
for _folder in (ROOT / "bench", ROOT / "tests" / "kernels", ROOT / "tests", ROOT):
    if str(_folder) not in sys.path:
        sys.path.insert(0, str(_folder))

STABLEHLO = 100     # number of files of ../shared/peer/stablehlo, drawn by SEED
SEED = 1

Programs = Dict[str, Union[str, Path]]      # the HLO text of each program, or its file, by name


def _files(paths: "List[Path]") -> Programs:
    return {path.stem: path for path in sorted(paths)}


def _named(cases: "Dict[str, Tuple[Any, ...]]", before: str = "") -> Programs:
    """Return the texts of cases that are pairs of an HLO text and what a test expects, in either order."""
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
    """Return the programs by names that are file names and identifiers of C."""
    return {re.sub(r"\W+", "_", name): text for name, text in programs_of.items()}
