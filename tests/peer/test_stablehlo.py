"""Run the operator tests of JAX and of StableHLO's interpreter (../shared/peer/stablehlo): kernels get the stated inputs
and must give the stated results.

One process runs all cases of a target. Only the operators in REFUSED may be refused. `ninja test-peer` runs a sample
(the shortest case of each opcode), `ninja test-stablehlo` runs all. SETT_TARGET names targets, separated by commas.
"""

from __future__ import annotations

import csv
import math
import os
import re
import struct
from collections import Counter
from dataclasses import dataclass
from itertools import product
from operator import mul
from pathlib import Path
from typing import Any, Dict, Iterable, List, Sequence, Set, Tuple

import pytest

import stated
from same_graph import canonical
from drawn import device_or_skip
from gen import hlo, run, stablehlo
from gen.hlo import dtypes
from gen.program import build as programs

ROOT = Path(__file__).resolve().parent.parent.parent
PEER = ROOT.parent / "shared" / "peer" / "stablehlo"
TARGETS = os.environ.get("SETT_TARGET", "c,opencl,cuda-on-cpu,hip-on-cpu").split(",")
pytestmark = pytest.mark.skipif(not PEER.exists(), reason="SKIP: no ../shared/peer/stablehlo")

# Operators that are refused so far, with the number of cases that need each.
REFUSED: "Dict[str, int]" = {}

# Errors that the comparison "close" allows, relative for values above 1. Terms of a sum may be added in any order.
CLOSE = {"bf16": 2**-6, "f16": 2**-9, "f32": 1e-5, "f64": 1e-12, "c64": 1e-5, "c128": 1e-12}

# Cases whose stated result is not compared, with the reason.
OTHERWISE = {
    "interpret_constant_op_test_f8_e8m0fnu": "a copy whose stated result is not its input",
    "interpret_reduce_precision_op_test_f64_zero_mantissa_bits": "of a NaN without mantissa bits: XLA's NaN, not infinity",
}


@dataclass
class Case:
    """A row of index.tsv: how its results are compared, and its module."""

    name: str
    compare: List[str]
    module: Any


def rows() -> "List[Tuple[str, List[str]]]":
    with (PEER / "index.tsv").open() as file:
        return [(row["name"], row["compare"].split()) for row in csv.DictReader(file, delimiter="\t")]


def read(names: "Iterable[Tuple[str, List[str]]]", suffix: str = ".hlo") -> "Tuple[List[Case], Dict[str, str]]":
    """Return the cases that the generator accepts, and for each refused case the operator. suffix: the ending of the
    texts' file names.
    """
    cases, refused = [], {}
    for name, compare in names:
        try:
            cases.append(Case(name, compare, run.load(str(PEER / f"{name}{suffix}"))))
        except hlo.HloError as error:
            operator = re.search(r":\d+:\d+: '?([\w-]+)", str(error))
            refused[name] = operator[1] if operator else str(error)
    return cases, refused


def sample() -> List[Tuple[str, List[str]]]:
    """Return a sample of the rows: those whose module has an opcode that no shorter module has."""
    seen: Set[str] = set()
    chosen = []
    for name, compare in sorted(rows(), key=lambda row: (PEER / f"{row[0]}.hlo").stat().st_size):
        new = set(re.findall(r"[\]})] ([a-z][a-z0-9-]*)\(", (PEER / f"{name}.hlo").read_text())) - seen
        if new:
            chosen.append((name, compare))
            seen |= new
    return chosen


def of_other_graphs(names: "Sequence[Tuple[str, List[str]]]") -> "List[Tuple[str, List[str]]]":
    """Return the rows whose StableHLO text gives another graph than their HLO text."""
    return [(name, compare) for name, compare in names
            if canonical(stablehlo.parse((PEER / f"{name}.mlir").read_text(), name)) != canonical(hlo.read(str(PEER / f"{name}.hlo")))]


# ---- comparison ----


def row_major(data: bytes, shape: Any) -> bytes:
    """Convert an array's bytes from the order of its layout to row-major order."""
    if list(shape.minor_to_major) == list(reversed(range(len(shape.dims)))):
        return data
    width, stride, strides = dtypes.storage_bytes(shape.dtype), 1, [0] * len(shape.dims)
    for d in shape.minor_to_major:
        strides[d], stride = stride, stride * shape.dims[d]
    places = (sum(map(mul, index, strides)) for index in product(*map(range, shape.dims)))
    return b"".join(data[width * place:width * (place + 1)] for place in places)


def floats(data: bytes, dtype: str) -> List[float]:
    """Return floats as Python numbers; complex numbers give two numbers each."""
    part = dtypes.TABLE[dtype].part or dtype
    if part == "bf16":
        data = b"".join(b"\0\0" + data[at:at + 2] for at in range(0, len(data), 2))
    code = {"f16": "e", "bf16": "f", "f32": "f", "f64": "d"}[part]
    return list(struct.unpack(f"<{len(data) // struct.calcsize(code)}{code}", data))


def near(got: float, wanted: float, size: float, dtype: str, compare: str) -> bool:
    """Return whether a value is near enough to the expected value. size: the absolute value of the number, or of the
    complex number that the value is a part of. All NaNs are equal.
    """
    if got == wanted or got != got or wanted != wanted:
        return got == wanted or (got != got and wanted != wanted)
    if compare == "exact" or math.isinf(got) or math.isinf(wanted):
        return False
    if compare == "close":
        return abs(got - wanted) <= CLOSE[dtype] * max(1.0, size)
    assert compare.endswith("_ulp"), compare
    digits, least = {"f16": (11, -24), "bf16": (8, -133), "f32": (24, -149), "f64": (53, -1074)}[
        dtypes.TABLE[dtype].part or dtype]
    return abs(got - wanted) <= int(compare[0]) * math.ldexp(1, max(math.frexp(size)[1] - digits, least))


def wrong(got: bytes, wanted: bytes, dtype: str, compare: str) -> str:
    """Return a description of the elements in which two arrays differ, or ""."""
    if got == wanted:
        return ""
    if dtype not in CLOSE:
        return f"{got[:64].hex()} instead of {wanted[:64].hex()}"
    a, b = floats(got, dtype), floats(wanted, dtype)
    per = 2 if dtypes.is_complex(dtype) else 1
    sizes = [math.hypot(*b[at - at % per:at - at % per + per]) for at in range(len(b))]
    bad = [(x, y) for x, y, size in zip(a, b, sizes) if not near(x, y, size, dtype, compare)]
    return f"{len(bad)} of {len(a)} values, as {bad[0][0]!r} instead of {bad[0][1]!r}" if bad else ""


def compared(case: Case, results: Path) -> str:
    """Return a description of what is wrong in a case's results, or ""."""
    got, wanted = (results / f"{case.name}.out").read_bytes(), (PEER / f"{case.name}.out").read_bytes()
    shapes = [leaf for value in hlo.module_results(case.module) for leaf in value.shape.leaves()]
    for number, (shape, compare) in enumerate(zip(shapes, case.compare)):
        size = shape.bytes
        problem = wrong(row_major(got[:size], shape), wanted[:size], shape.dtype, compare)
        if problem:
            return f"result {number} ({shape.text}, {compare}): {problem}"
        got, wanted = got[size:], wanted[size:]
    return "" if not got and not wanted else "the results have other sizes"


def check(cases: Sequence[Case], target: str, folder: Path) -> Dict[str, str]:
    """Run the cases on a target and return the errors."""
    options = run.Options()
    device_or_skip(target, options)
    results = folder / "results"
    results.mkdir()
    built = []
    for case in cases:
        built.append(stated.built(programs.program(case.module), folder, target))
    library = stated.compiled(built, folder, target)
    failed = stated.ran(library, [case.name for case in cases], target, PEER, results, options)
    return {**failed, **{case.name: problem for case in cases if case.name not in failed
                         for problem in [compared(case, results)] if problem}}


def show(failed: Dict[str, str]) -> str:
    return f"{len(failed)} cases\n" + "\n".join(f"{name}: {reason}" for name, reason in failed.items())


@pytest.mark.parametrize("target", TARGETS)
def test_sample(target: str, tmp_path: Path) -> None:
    cases, refused = read(sample())
    assert set(refused.values()) <= set(REFUSED), refused
    failed = check(cases, target, tmp_path)
    assert failed.keys() <= OTHERWISE.keys(), show(failed)


def test_sample_of_texts(tmp_path: Path) -> None:
    """Every eighth StableHLO text whose graph differs from that of its HLO text gives the stated results in C."""
    rows_of = of_other_graphs(rows())[::8]
    assert len(rows_of) > 20
    cases, refused = read(rows_of, ".mlir")
    assert not refused
    failed = check(cases, "c", tmp_path)
    assert failed.keys() <= OTHERWISE.keys(), show(failed)


@pytest.mark.whole
def test_all_texts(tmp_path: Path) -> None:
    cases, refused = read(of_other_graphs(rows()), ".mlir")
    assert not refused
    failed = check(cases, "c", tmp_path)
    assert failed.keys() <= OTHERWISE.keys(), show(failed)


@pytest.mark.whole
@pytest.mark.parametrize("target", TARGETS)
def test_all(target: str, tmp_path: Path) -> None:
    cases, _ = read(rows())
    failed = check(cases, target, tmp_path)
    assert failed.keys() == OTHERWISE.keys(), show(failed)


@pytest.mark.peer
def test_refused() -> None:
    """No case is refused for an operator outside REFUSED, and no operator there is refused more often than stated."""
    _, refused = read(rows())
    assert Counter(refused.values()) == REFUSED, refused
