"""Run the OpenCL kernels of all heroes, and random rows and scans, in oclgrind: there is no data race, no access out of
bounds, and the results are right.

Small shapes take every path: whole tiles and tiles moved back to fit, several work-groups, reductions in parts with a
second kernel, local memory and barriers on GPU classes. Then every SHARE-th small file of other projects runs (with
SETT_ALL every file). oclgrind interprets the kernels and is slow, so only `ninja test-peer` runs these tests.
"""

from __future__ import annotations

import itertools
import math
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, List, Optional, Sequence, Tuple

import pytest


import test_rows
import test_scan
import test_sort
import test_strips
from drawn import COUNT, SEED, uncached
from gen import hlo, run
from gen.run import cost

pytestmark = pytest.mark.skipif(not shutil.which("oclgrind"), reason="SKIP: no oclgrind")
DEVICES = ("pocl-cpu", "opencl-gpu")
PEER = Path(__file__).resolve().parents[3] / "shared" / "peer"
# oclgrind 21.10 lacks some intrinsics that clang's optimiser uses, and extends vectors of i1 wrongly.
AS_WRITTEN = ("--build-options", "-cl-opt-disable")
SMALL = 20_000    # maximum number of elements in all parameters and results of a file
SHARE = 4


def _list(values: Sequence[int]) -> str:
    return ",".join(map(str, values))


def transpose(dtype: str, dims: Sequence[int], order: Sequence[int], op: str = "copy") -> str:
    source, out = f"{dtype}[{_list(dims)}]", f"{dtype}[{_list([dims[k] for k in order])}]"
    return (f"ENTRY e {{\n  x = {source} parameter(0)\n  t = {out} transpose(x), dimensions={{{_list(order)}}}\n"
            f"  ROOT y = {out} {op}(t)\n}}\n")


def reduce(dtype: str, dims: Sequence[int], gone: Sequence[int], op: str = "add", init: str = "0") -> str:
    out = f"{dtype}[{_list([d for k, d in enumerate(dims) if k not in gone])}]"
    return (f"f {{\n  a = {dtype}[] parameter(0)\n  b = {dtype}[] parameter(1)\n  ROOT c = {dtype}[] {op}(a, b)\n}}\n"
            f"ENTRY e {{\n  x = {dtype}[{_list(dims)}] parameter(0)\n  i = {dtype}[] constant({init})\n"
            f"  ROOT y = {out} reduce(x, i), dimensions={{{_list(gone)}}}, to_apply=f\n}}\n")


SOFTMAX = """max {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT m = f32[] maximum(a, b)
}
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}
ENTRY e {
  x = f32[33,70] parameter(0)
  ninf = f32[] constant(-inf)
  m = f32[33] reduce(x, ninf), dimensions={1}, to_apply=max
  mb = f32[33,70] broadcast(m), dimensions={0}
  d = f32[33,70] subtract(x, mb)
  e = f32[33,70] exponential(d)
  zero = f32[] constant(0)
  s = f32[33] reduce(e, zero), dimensions={1}, to_apply=add
  sb = f32[33,70] broadcast(s), dimensions={0}
  ROOT q = f32[33,70] divide(e, sb)
}
"""

ARGMAX = """pick {
  a = f32[] parameter(0)
  i = s32[] parameter(1)
  b = f32[] parameter(2)
  j = s32[] parameter(3)
  more = pred[] compare(a, b), direction=GT
  same = pred[] compare(a, b), direction=EQ
  before = pred[] compare(i, j), direction=LT
  tie = pred[] and(same, before)
  first = pred[] or(more, tie)
  v = f32[] select(first, a, b)
  n = s32[] select(first, i, j)
  ROOT r = (f32[], s32[]) tuple(v, n)
}
ENTRY e {
  x = f32[37,100] parameter(0)
  n = s32[37,100] iota(), iota_dimension=1
  low = f32[] constant(-inf)
  zero = s32[] constant(0)
  ROOT r = (f32[37], s32[37]) reduce(x, n, low, zero), dimensions={1}, to_apply=pick
}
"""

PACKED = """f {
  a = s4[5,37] parameter(0)
  b = u2[211] parameter(1)
  x = f32[5,37] parameter(2)
  t = s4[37,5] transpose(a), dimensions={1,0}
  n = u2[211] not(b)
  f = f4e2m1fn[5,37] convert(x)
  g = f8e4m3fn[5,37] convert(f)
  ROOT r = (s4[37,5], u2[211], f4e2m1fn[5,37], f8e4m3fn[5,37]) tuple(t, n, f, g)
}
"""
COMPLEX = """f {
  a = c64[33] parameter(0)
  b = c64[33] parameter(1)
  d = c64[33] divide(a, b)
  e = f32[33] abs(d)
  ROOT r = (c64[33], f32[33]) tuple(d, e)
}
"""
ADD = "add {{\n  a = {0}[] parameter(0)\n  b = {0}[] parameter(1)\n  ROOT s = {0}[] add(a, b)\n}}\n"
# One fusion for each op that reads or writes at computed places: at indices from a parameter, in windows, in the
# operands of a concatenation, and where a bitcast-convert splits or joins elements.
OTHERS = {
    "dynamic-slice": "x = f32[40,70] parameter(0)\n  i = s32[] parameter(1)\n  j = s32[] parameter(2)\n"
                     "  ROOT r = f32[9,33] dynamic-slice(x, i, j), dynamic_slice_sizes={9,33}",
    "gather": "x = f32[40,70] parameter(0)\n  i = s32[11,1] parameter(1)\n  ROOT r = f32[11,70] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, "
              "start_index_map={0}, index_vector_dim=1, slice_sizes={1,70}",
    "update": "x = s8[40,70] parameter(0)\n  u = s8[3,50] parameter(1)\n  i = s32[] parameter(2)\n  j = s32[] parameter(3)\n"
              "  ROOT r = s8[40,70] dynamic-update-slice(x, u, i, j)",
    "dot": "a = f32[3,17,20] parameter(0)\n  b = f32[3,20,33] parameter(1)\n  ROOT r = f32[3,17,33] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, "
           "lhs_contracting_dims={2}, rhs_contracting_dims={1}",
    "dot with a bias": "a = f32[100,15] parameter(0)\n  b = f32[15,70] parameter(1)\n  c = f32[70] parameter(2)\n"
                       "  d = f32[100,70] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
                       "  e = f32[100,70] broadcast(c), dimensions={1}\n  ROOT r = f32[100,70] add(d, e)",
    "dot in panels": "a = f64[9,20] parameter(0)\n  b = f64[19,20] parameter(1)\n  ROOT r = f64[9,19] dot(a, b), lhs_contracting_dims={1}, "
                     "rhs_contracting_dims={1}",
    "dot of s8": "a = s8[17,70] parameter(0)\n  b = s8[70,33] parameter(1)\n  ROOT r = s32[17,33] dot(a, b), lhs_contracting_dims={1}, "
                 "rhs_contracting_dims={0}",
    "dot of f16": "a = f16[17,20] parameter(0)\n  b = f16[20,33] parameter(1)\n  ROOT r = f16[17,33] dot(a, b), lhs_contracting_dims={1}, "
                  "rhs_contracting_dims={0}",
    "small dots": "a = f32[70,3,5] parameter(0)\n  b = f32[70,5,3] parameter(1)\n  ROOT r = f32[70,3,3] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, "
                  "lhs_contracting_dims={2}, rhs_contracting_dims={1}",
    "small dots with a bias": "a = f64[37,3,5] parameter(0)\n  b = f64[37,7,5] parameter(1)\n  c = f64[7] parameter(2)\n  d = f64[37,3,7] dot(a, b), lhs_batch_dims={0}, "
                              "rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}\n  e = f64[37,3,7] broadcast(c), dimensions={2}\n"
                              "  ROOT r = f64[37,3,7] add(d, e)",
    "dot of few complex rows": "a = c64[3,20] parameter(0)\n  b = c64[20,33] parameter(1)\n  ROOT r = c64[3,33] dot(a, b), lhs_contracting_dims={1}, "
                               "rhs_contracting_dims={0}",
    "scaled-dot": "a = f8e4m3fn[17,64] parameter(0)\n  b = f4e2m1fn[64,34] parameter(1)\n  s = f8e8m0fnu[17,2] parameter(2)\n  t = f32[4,1] parameter(3)\n"
                  "  ROOT r = f32[17,34] scaled-dot(a, b, s, t), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    "convolution": "a = f32[2,9,10,3] parameter(0)\n  k = f32[3,2,3,5] parameter(1)\n  ROOT r = f32[2,5,11,5] convolution(a, k), "
                   "window={size=3x2 stride=2x1 pad=1_1x1_1}, dim_labels=b01f_01io->b01f",
    "convolution of channels": "a = f32[1,5,6,7] parameter(0)\n  k = f32[3,2,7,20] parameter(1)\n  ROOT r = f32[1,3,5,20] convolution(a, k), "
                               "window={size=3x2}, dim_labels=b01f_01io->b01f",
    "reduce-window": "x = f32[20,33] parameter(0)\n  z = f32[] constant(0)\n  ROOT r = f32[10,33] reduce-window(x, z), "
                     "window={size=3x3 stride=2x1 pad=0_1x1_1}, to_apply=add",
    "select-and-scatter": "x = f32[20,32] parameter(0)\n  y = f32[10,16] parameter(1)\n  z = f32[] constant(0)\n  ROOT r = f32[20,32] "
                          "select-and-scatter(x, y, z), window={size=2x2 stride=2x2}, select=more, scatter=add",
    "concatenate": "a = f32[40,64] parameter(0)\n  b = f32[7,64] parameter(1)\n  c = f32[33,64] parameter(2)\n"
                   "  ROOT r = f32[80,64] concatenate(a, b, c), dimensions={0}",
    "scatter": "x = f32[20,16] parameter(0)\n  i = s32[50,1] parameter(1)\n  u = f32[50,16] parameter(2)\n  ROOT r = f32[20,16] scatter(x, i, u), "
               "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add",
    "sorted scatter": "x = f32[20,5] parameter(0)\n  i = s32[300,1] parameter(1)\n  u = f32[300,5] parameter(2)\n  ROOT r = f32[20,5] scatter(x, i, u), "
                      "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, indices_are_sorted=true, "
                      "to_apply=add",
    "scan of rows": "x = f32[40,300] parameter(0)\n  z = f32[] constant(0)\n  ROOT r = f32[40,300] reduce-window(x, z), "
                    "window={size=1x300 pad=0_0x299_0}, to_apply=add",
    "scan of columns": "x = f32[40,70] parameter(0)\n  z = f32[] constant(0)\n  ROOT r = f32[40,70] reduce-window(x, z), "
                       "window={size=40x1 pad=0_39x0_0}, to_apply=add",
    "window over rows": "x = f32[20,100] parameter(0)\n  z = f32[] constant(0)\n  ROOT r = f32[20,100] reduce-window(x, z), "
                        "window={size=3x5 pad=1_1x2_2}, to_apply=add",
    "fft of rows": "x = f32[5,100] parameter(0)\n  ROOT r = c64[5,51] fft(x), fft_type=RFFT, fft_length={100}",
    "fft of columns": "x = c128[12,5,4] parameter(0)\n  ROOT r = c128[12,5,4] fft(x), fft_type=IFFT, fft_length={12,5,4}",
    "fft of a prime": "x = c64[7,17] parameter(0)\n  ROOT r = c64[7,17] fft(x), fft_type=FFT, fft_length={17}",
    "long fft": "x = c64[4400] parameter(0)\n  ROOT r = c64[4400] fft(x), fft_type=FFT, fft_length={4400}",
    "bits": "x = f32[37] parameter(0)\n  ROOT r = u8[37,4] bitcast-convert(x)",
}
# Results in a parameter's buffer, and results with tiled layouts, whose padding is written too.
ENTRIES = {
    "in place": "HloModule m, input_output_alias={ {}: (0, {}, must-alias) }\nENTRY e {\n  x = f32[40,70] parameter(0)\n  u = f32[3,50] parameter(1)\n"
                "  i = s32[] parameter(2)\n  ROOT r = f32[40,70] dynamic-update-slice(x, u, i, i)\n}\n",
    "to tiles": "ENTRY e {\n  x = f32[19,140] parameter(0)\n  ROOT r = f32[19,140]{1,0:T(8,128)} negate(x)\n}\n",
    "from tiles": "ENTRY e {\n  x = f32[19,140]{1,0:T(8,128)} parameter(0)\n  ROOT r = f32[19,140] copy(x)\n}\n",
}
MORE = "more {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = pred[] compare(a, b), direction=GE\n}\n"
CASES: "List[Tuple[str, str]]" = [
    *((f"transpose {t} {_list(dims)} {_list(order)} {op}", transpose(t, dims, order, op)) for t, dims, order, op in (
        ("f32", (48, 33), (1, 0), "copy"), ("f32", (64, 64), (1, 0), "negate"), ("u16", (70, 40), (1, 0), "copy"),
        ("s8", (70, 66), (1, 0), "copy"), ("s8", (128, 64), (1, 0), "copy"), ("f64", (9, 3, 17), (2, 1, 0), "copy"),
        ("bf16", (3, 40, 64), (0, 2, 1), "negate"), ("bf16", (128, 128), (1, 0), "copy"), ("f32", (5, 6, 32), (1, 0, 2), "copy"))),
    *((f"reduce {t} {_list(dims)} {_list(gone)} {op}", reduce(t, dims, gone, op, init)) for t, dims, gone, op, init in (
        ("f32", (40, 100), (1,), "add", "0"), ("f32", (37, 8), (1,), "add", "1"), ("bf16", (20, 70), (1,), "add", "0"),
        ("f32", (70, 40), (0,), "add", "0"), ("f32", (33, 300), (0,), "maximum", "-inf"), ("s32", (1000, 6), (0,), "add", "0"),
        ("f32", (3, 20, 50), (0, 2), "add", "0"), ("f32", (1, 70000), (1,), "add", "0"), ("pred", (5000,), (0,), "or", "false"),
        ("f64", (3, 500), (1,), "minimum", "inf"), ("f32", (2048, 64), (0,), "add", "0"))),
    *((name, ADD.format("f32") + MORE + f"ENTRY e {{\n  {body}\n}}\n") for name, body in OTHERS.items()),
    *ENTRIES.items(), ("softmax", SOFTMAX), ("argmax", ARGMAX), ("packed", PACKED), ("complex", COMPLEX),
    ("attention", test_strips.by_keys(72, 17)),
]


STREAMED = [transpose("f32", (33, 40), (1, 0)), transpose("u16", (97, 64), (1, 0)), transpose("s8", (130, 70), (1, 0)), transpose("f64", (2, 17, 16), (0, 2, 1)),
            transpose("f32", (6, 5, 32), (1, 0, 2)), transpose("f32", (70, 64), (1, 0)), reduce("f32", (530, 40), (1,)), reduce("bf16", (1040, 17), (1,))]


def grind(built: run.Built, *options: str) -> Tuple[str, str]:
    """Check one fusion in oclgrind. Return what the harness and what oclgrind print."""
    library = run.compile_fusion(built, "opencl", True)
    done = subprocess.run(["oclgrind", "--data-races", "--uniform-writes", *options, str(run.harness("opencl")), "check", "", "1", "1", "300", "900", str(library)],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=900)
    return done.stdout, "\n".join(line for line in done.stderr.splitlines() if line.strip() and not re.match(r"\d+ warnings? generated", line))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("text", [text for _, text in CASES], ids=[name for name, _ in CASES])
def test_no_race_and_no_fault(text: str, device: str, tmp_path: Path) -> None:
    tiled = device == "opencl-gpu" and " dot(" in text    # not optimised: clang's optimiser would turn the vectors of tiled products into 128-bit integers
    clean(text, device, tmp_path, *AS_WRITTEN if tiled else ())


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("module", (test_rows, test_scan), ids=("rows", "scans"))
def test_drawn_rows_and_scans(module: Any, device: str, tmp_path: Path) -> None:
    """If threads of a block share a row, all of them reach each barrier, and each value is written before it is read.
    """
    drawn = (module.Draw(SEED * 5000 + k) for k in itertools.count())
    for draw in itertools.islice((draw for draw in drawn if math.prod(draw.dims) <= 3000), COUNT):
        clean(draw.fusion(), device, tmp_path, *AS_WRITTEN)


@pytest.mark.parametrize("text", STREAMED, ids=map(str, range(len(STREAMED))))
def test_streamed(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fusions with streaming stores, as for data larger than any cache, run in oclgrind without an error."""
    uncached(monkeypatch)
    clean(text, "pocl-cpu", tmp_path)


def clean(text: str, device: str, tmp_path: Path, *options: str) -> None:
    file = tmp_path / "case.hlo"
    file.write_text(text)
    wrong = faults(hlo.fusions(run.load(str(file))), device, tmp_path, *options)
    assert not wrong, wrong


def faults(fusions: "Sequence[hlo.Fusion]", device: str, folder: Path, *options: str) -> str:
    """Return the messages of oclgrind or of the harness about the first fusion that has an error."""
    for number, fusion in enumerate(fusions):
        out, said = grind(run.build(fusion, folder / str(number), "opencl", run.Options(schedule=device)), *options)
        results = [line for line in out.splitlines() if '"result"' in line]
        if said or len(results) != 1 or '"status": "PASS"' not in results[0]:
            return f"{fusion.name}: {said[:4000] or out[-2000:]}"
    return ""


def small(file: Path) -> "Optional[List[hlo.Fusion]]":
    """Return the fusions of a file if they are small enough for oclgrind. Return None for other files and for files that
    gen refuses.
    """
    try:
        fusions = hlo.fusions(run.load(str(file)))
    except hlo.HloError:
        return None
    ends = [leaf.elements for f in fusions for i in [*f.computation.parameters, f.computation.root] for leaf in i.shape.leaves()]  # type: ignore[union-attr]
    return fusions if sum(ends) < SMALL and sum(cost.cost(f).steps for f in fusions) < 10 * SMALL else None


@pytest.mark.parametrize("types", [["f32"], ["s32", "f32"], ["u64"]])
def test_sorts_in_parts(types: "List[str]", tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two work-items sort the ranges of one row, in the row's result or in one scratch buffer."""
    test_sort.narrow(monkeypatch)
    clean("ENTRY e {".join(test_sort.sort(types, [450], 0, test_sort.comparator(types, 1)).rsplit("e {", 1)), "pocl-cpu", tmp_path, *AS_WRITTEN)


@pytest.mark.skipif(not PEER.exists(), reason="SKIP: no ../shared/peer")
@pytest.mark.parametrize("device", DEVICES)
def test_what_others_wrote(device: str, tmp_path: Path) -> None:
    files = sorted(p for folder in ("hlo", "fusions") for p in (PEER / folder).rglob("*.hlo"))
    found = {file: fusions for file, fusions in zip(files, map(small, files)) if fusions}
    every = [*found][::1 if os.environ.get("SETT_ALL") else SHARE]
    wrong = [f"{file.name}: {said}" for file in every for said in [faults(found[file], device, tmp_path / file.stem, *AS_WRITTEN)] if said]
    print(f"{device}: {len(every) - len(wrong)} of {len(every)} clean; {len(files) - len(found)} of {len(files)} files are large or refused")
    assert not wrong, "\n".join(wrong)


def test_faults_are_found(tmp_path: Path) -> None:
    """A kernel in which two work-items store different values to one element is reported, and so is a kernel that reads
    beyond its buffer.
    """
    file = tmp_path / "case.hlo"
    file.write_text(transpose("f32", (32, 32), (1, 0)))
    fusion = hlo.fusions(run.load(str(file)))[0]
    for number, (old, new, said) in enumerate(((r"\(r0 \+ [^)]*\)", "(r0 + vec * 32)", "race"), (r"\(p0 \+ ", "(p0 + 4096 + ", "Invalid read"))):
        built = run.build(fusion, tmp_path / str(number), "opencl", run.Options(schedule="pocl-cpu"))
        header = built.folder / f"{built.name}.h"
        text, count = re.subn(old, new, header.read_text())
        assert count
        header.write_text(text)
        assert said in grind(built)[1]
