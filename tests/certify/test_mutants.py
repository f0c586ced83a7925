"""Test both judgements of mutants: a run on the CPU reports each fault, and gen certify refutes each fault."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Dict, Iterator

import pytest

from gen.certify import missing
from tests.certify.mutants import FAULTS, changed, drawn, wrong
from tests.certify.observed import Seen, observed, prepared

TOOLS = [tool for tool in ("clang", "clang++", "ld.lld") if shutil.which(tool) is None]
pytestmark = [pytest.mark.skipif(bool(TOOLS), reason=f"SKIP: no {', '.join(TOOLS)}"), pytest.mark.whole]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Path]":
    made = tmp_path_factory.mktemp("observed")
    prepared(made)
    yield made


def seen(folder: Path, target: str, text: str, baseline: Path, in_place: bool = False) -> Seen:
    launch = {"kernel": "k", "blocks": 4, "threads": 1 if target == "c" else 16, "arguments": [
        {"name": name, "buffer": buffer, "number": 0, "offset": 0, "bytes": 256}
        for name, buffer in (("p0", "params"), ("r0", "results"))]}
    manifest: "Dict[str, Any]" = {"aliases": [{"result": 0, "parameter": 0}] * in_place,
                                  "targets": {target: {"launches": [launch]}}}
    found = observed(folder, text, "", launch, manifest, target, baseline)
    assert found is not None, text
    return found


CUDA = """#include <cuda_runtime.h>
static __global__ void k(const float *__restrict__ p0, float *__restrict__ r0) {{
  const unsigned g = blockIdx.x, t = threadIdx.x;
  __shared__ float tile[16];
  {}
}}
"""
OPENCL = """__kernel void k(__global const float *p0, __global float *r0) {{
  const uint g = get_group_id(0), t = get_local_id(0);
  __local float tile[16];
  {}
}}
"""
C = "#include <stddef.h>\nstatic void k(const float *p0, float *r0, size_t number) {{\n" \
    "  const unsigned g = (unsigned)number;\n  {}\n}}\n"
BARRIER = {"cuda": "__syncthreads();", "opencl": "barrier(CLK_LOCAL_MEM_FENCE);"}
TILE = "tile[t] = p0[g * 16 + t]; {} r0[g * 16 + t] = tile[15 - t];"
MOVE = "for (unsigned t = 0; t < 16; ++t) r0[g * 16 + t] = p0[g * 16 + t];"


@pytest.mark.parametrize("target", ["cuda", "opencl"])
@pytest.mark.parametrize("was, now, change", [
    ("tile[15 - t]", "tile[15 - t]", "nothing"),
    ("15 - t", "t", "elements"),
    ("15 - t", "16 - t", "outside"),
    ("p0[g * 16", "p0[g * 17", "outside"),
    ("p0[g * 16 + t]", "p0[g * 16 + t - 1]", "outside"),
    ("r0[g * 16", "r0[g * 15", "race"),
    ("r0[g * 16 + t]", "r0[g * 16 + t / 2]", "race"),
    ("BARRIER", "", "race"),
    ("BARRIER", "BARRIER if (t < 8) BARRIER", "barrier"),
    ("r0[g", "if (t < 15) r0[g", "unwritten"),
    ("tile[t] =", "if (t < 15) tile[t] =", "uninitialised"),
    ("tile[15 - t];", "tile[15 - t] + 1;", "values"),
    ("p0[g * 16 + t]", "p0[(g * 16 + t - 64) % 64]", "wraps"),
    ("BARRIER", "BARRIER while (p0[0] == p0[0] || p0[0] != p0[0]) ;", "endless"),
])
def test_a_run_finds_each_fault(folder: Path, target: str, was: str, now: str, change: str, tmp_path: Path) -> None:
    """A run of a small kernel with a change reports the fault that the change causes."""
    text = {"cuda": CUDA, "opencl": OPENCL}[target]
    before = seen(folder, target, text.format(TILE.format(BARRIER[target])), tmp_path / "baseline")
    assert changed(before, before) == "nothing"
    assert was in TILE.format("BARRIER")
    body = TILE.format("BARRIER").replace(was, now, 1).replace("BARRIER", BARRIER[target])
    after = seen(folder, target, text.format(body), tmp_path / "baseline")
    assert changed(before, after) == change, after


@pytest.mark.parametrize("was, now, change", [
    ("p0[g * 16 + t]", "p0[g * 16 + t]", "nothing"), ("t < 16", "t <= 16", "race"), ("t < 16", "t < 15", "unwritten"),
    ("g * 16 + t];", "g * 16 + t + 1];", "outside"),
    ("for", "float x[4]; x[g + 1] = 1; for", "outside"),
    ("for", "float x[4]; float *y = x + 2; y[g] = 1; for", "outside"),
    ("p0[g * 16 + t]", "p0[g * 16 + t / (g % 2)]", "division"),
])
def test_a_run_of_c_finds_each_fault(folder: Path, was: str, now: str, change: str, tmp_path: Path) -> None:
    before = seen(folder, "c", C.format(MOVE), tmp_path / "baseline")
    after = seen(folder, "c", C.format(MOVE.replace(was, now, 1)), tmp_path / "baseline")
    assert was in MOVE and changed(before, after) == change, after


def test_a_run_finds_a_read_of_an_overwritten_element(folder: Path, tmp_path: Path) -> None:
    before = seen(folder, "c", C.format(MOVE), tmp_path / "baseline", True)
    text = C.format(MOVE.replace("= p0[g * 16 + t]", "= p0[g * 16 + t - t % 2]"))
    after = seen(folder, "c", text, tmp_path / "baseline", True)
    assert (changed(before, before), changed(before, after)) == ("nothing", "overwritten")


@pytest.mark.skipif(bool(missing()), reason=missing())
def test_mutants_with_a_fault_are_refuted() -> None:
    """Of drawn mutants of small kernels, each mutant with a fault is refuted, and no other mutant is refuted."""
    found = list(drawn(7, 15, ("column_max_bf16", "moves_u16", "triangle_f32")))
    assert sum(judged.change in FAULTS for judged in found) == 15
    assert not [(judged, wrong(judged)) for judged in found if wrong(judged)]
