"""Run whole JAX functions (../shared/peer/jax/ops, programs) and compare with XLA:CPU's results for the same inputs.
`ninja test` runs a sample in C, `ninja test-peer` runs all on each target.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Dict, List

import pytest

import stated
from drawn import device_or_skip
from gen import hlo, run
from gen.hlo import dtypes
from gen.program import build
from gen.program.ir import Program
from gen.run.sources import load

JAX = Path(__file__).resolve().parents[3] / "shared" / "peer" / "jax"
CASES = sorted(path.parent for path in JAX.glob("[op]*/*/about.json"))
TARGETS = os.environ.get("SETT_TARGET", "c,opencl,cuda-on-cpu").split(",")
SAMPLE = """carry_rotate3 cond_nested fori_dynamic scan_weights switch_out_of_range update_own_slice while_in_cond complex_loop random_uniform
    qp_12""".split()
# results that may differ: the filter "ekf" diverges on its input, so it amplifies each rounding error
OTHERWISE = {"ekf": "result"}

pytestmark = pytest.mark.skipif(not CASES, reason="no ../shared/peer/jax")


def values(data: bytes, dtype: str) -> List[Any]:
    """Return an array's elements. A complex number gives two: its real and its imaginary part."""
    of = dtypes.TABLE[dtype].part or dtype
    size = dtypes.storage_bytes(of)
    return [dtypes.decode(int.from_bytes(data[at:at + size], "little"), of) for at in range(0, len(data), size)]


def wrong(got: bytes, wanted: bytes, dtype: str, tolerance: float) -> str:
    """Return a description of how results differ, or "". Integers must be equal. Floats may differ by a fraction of the
    largest value.
    """
    if got == wanted:
        return ""
    if dtypes.TABLE[dtype].kind not in ("float", "complex"):
        return "other values"
    pairs = list(zip(values(got, dtype), values(wanted, dtype)))
    finite = [abs(w) for _, w in pairs if w == w and abs(w) != float("inf")]
    scale = max([*finite, 1e-30])
    for k, (g, w) in enumerate(pairs):
        if not (g == w or g != g and w != w or abs(g - w) <= tolerance * scale):
            return f"element {k}: {g}, not {w}"
    return ""


def compared(case: Path, program: Program, data: bytes) -> str:
    about = json.loads((case / "about.json").read_text())
    tolerance = about["tolerance"]
    for number, array in enumerate(program.results):
        shape = array.shape
        got, data = hlo.relaid(data[:shape.bytes], shape, hlo.row_major(shape)), data[shape.bytes:]
        stated_ = case / f"r{number}.bin"
        if not stated_.exists():
            continue
        wanted, bound = stated_.read_bytes(), tolerance
        if tolerance is None:    # the program is chaotic, so only the first tenth of the results is compared
            part = max(1, shape.elements // 10) * dtypes.storage_bytes(shape.dtype)
            got, wanted, bound = got[:part], wanted[:part], 1e-3
        problem = wrong(got, wanted, shape.dtype, bound)
        if problem:
            return f"result {number} ({shape.text}): {problem}"
    return ""


def check(cases: "List[Path]", target: str, folder: Path, suffix: str = ".hlo") -> Dict[str, str]:
    """Return the errors of cases. The key is the name of a case. suffix: the ending of the text's file name, for HLO or
    StableHLO.
    """
    options = run.Options()
    device_or_skip(target, options)
    programs, builts, bad = {}, [], {}
    for case in cases:
        try:
            program = build.program(load(str(case / f"{case.name}{suffix}")))
        except hlo.HloError as error:
            bad[case.name] = error.message
            continue
        if not all((case / f"p{n}.bin").exists() for n in range(len(program.params))):
            continue    # files that were too large to keep
        given = b"".join(hlo.relaid((case / f"p{n}.bin").read_bytes(), hlo.row_major(array.shape), array.shape)
                         for n, array in enumerate(program.params))
        (folder / f"{program.name}.in").write_bytes(given)
        builts.append(stated.built(program, folder, target))
        programs[program.name] = case, program
    results = folder / "results"
    results.mkdir()
    library = stated.compiled(builts, folder, target)
    failed = stated.ran(library, list(programs), target, folder, results, options)
    for name, (case, program) in programs.items():
        problem = failed.get(name) or compared(case, program, (results / f"{name}.out").read_bytes())
        if problem:
            bad[case.name] = problem
    return bad


def show(bad: Dict[str, str]) -> str:
    return f"{len(bad)} cases\n" + "\n".join(f"{name}: {reason}" for name, reason in bad.items())


def test_sample(tmp_path: Path) -> None:
    bad = check([case for case in CASES if case.name in SAMPLE], "c", tmp_path)
    assert not bad, show(bad)


@pytest.mark.peer
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("part", range(4))
def test_all(target: str, part: int, tmp_path: Path) -> None:
    bad = check(CASES[part::4], target, tmp_path)
    unexpected = {name: reason for name, reason in bad.items() if not (name in OTHERWISE and OTHERWISE[name] in reason)}
    assert not unexpected, show(unexpected)


@pytest.mark.peer
@pytest.mark.parametrize("part", range(4))
def test_texts_of_stablehlo(part: int, tmp_path: Path) -> None:
    bad = check(CASES[part::4], "c", tmp_path, ".mlir")
    unexpected = {name: reason for name, reason in bad.items() if not (name in OTHERWISE and OTHERWISE[name] in reason)}
    assert not unexpected, show(unexpected)
