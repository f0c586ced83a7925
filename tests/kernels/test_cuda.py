"""Test the CUDA text: run it on the CPU next to the scalar reference (tests/cuda_on_cpu.h), and compile it with nvcc if
that is installed.

No GPU takes part. Every op of every type, the small kernels of the catalogue (tests/kernels/*.hlo) and loops with
16-byte accesses are run. nvcc compiles the same ops and a dozen kernels of the catalogue.
"""

from __future__ import annotations

import atexit
import ctypes
import json
import math
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from functools import lru_cache
from pathlib import Path
from typing import Dict, List, Sequence, Tuple

import pytest

from gen import bounds, hlo, pipeline, run
from gen.hlo import dtypes
from gen.lower import tiled_layouts
from gen.targets.cuda import TARGET as CUDA
from shares import some

ROOT = Path(__file__).resolve().parents[2]
CATALOGUE = ROOT / "tests" / "kernels"
INTEGERS = ["s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"]
FLOATS = ["f16", "bf16", "f32", "f64"]
TYPES = ["pred", *INTEGERS, *FLOATS]
FOLDER = Path(tempfile.mkdtemp(prefix="sett_cuda_"))
atexit.register(shutil.rmtree, FOLDER, True)

# ---- fusions -------------------------------------------------------------------------------------------------------

FLOAT_UNARY = """abs negate sign floor ceil round-nearest-even round-nearest-afz sqrt rsqrt cbrt exponential exponential-minus-one log
    log-plus-one tanh logistic sine cosine tan""".split()
FLOAT_BINARY = "add subtract multiply divide remainder maximum minimum power atan2".split()
INTEGER_UNARY = "abs negate sign not popcnt count-leading-zeros".split()
INTEGER_BINARY = """add subtract multiply divide remainder maximum minimum power and or xor mulhi shift-left shift-right-arithmetic
    shift-right-logical""".split()
PRED_BINARY = "add multiply maximum minimum and or xor".split()
DIRECTIONS = "EQ NE LT LE GT GE".split()


def bits(dtype: str) -> int:
    return 8 * dtypes.storage_bytes(dtype)


def constants(t: str) -> str:
    """Return an array literal with six edge values of a type."""
    if t == "pred":
        return "{true, false, false, true, true, false}"
    if t in FLOATS:
        quiet = {"f16": "0x201", "bf16": "0x43", "f32": "0x400123", "f64": "0x8000000000123"}[t]
        return "{1, -0.5, inf, -inf, nan, -nan(%s)}" % quiet
    low, high = (-(1 << (bits(t) - 1)), (1 << (bits(t) - 1)) - 1) if t.startswith("s") else (0, (1 << bits(t)) - 1)
    return "{%d, %d, 0, 1, %d, 7}" % (low, high, high // 2)


def ops(t: str) -> str:
    """Return a fusion with every op on type t, one result per op."""
    shape, lines, results = f"{t}[6,40]", [], []

    def result(expression: str, of: str = shape) -> str:
        name = f"r{len(results)}"
        lines.append(f"  {name} = {of} {expression}")
        results.append((name, of))
        return name

    unary, binary = (FLOAT_UNARY, FLOAT_BINARY) if t in FLOATS else (["not"], PRED_BINARY) if t == "pred" else (INTEGER_UNARY, INTEGER_BINARY)
    for op in unary:
        if op in ("abs", "sign") and t.startswith("u"):  # XLA has no abs and no sign of unsigned integers
            continue
        result(f"{op}(x)")
    for op in binary:
        result(f"{op}(x, y)")
    for direction in DIRECTIONS:
        result(f"compare(x, y), direction={direction}", "pred[6,40]")
    for to in TYPES:
        result("convert(x)", f"{to}[6,40]")
    for to in TYPES:
        if bits(to) == bits(t) and "pred" not in (t, to):
            result("bitcast-convert(x)", f"{to}[6,40]")
    if t in FLOATS:
        result("compare(x, y), direction=LT, type=TOTALORDER", "pred[6,40]")
    if t in FLOATS:
        result("is-finite(x)", "pred[6,40]")
        for exponent, mantissa in ((4, 5), (5, 10), (8, 2), (11, 52)):
            result(f"reduce-precision(x), exponent_bits={exponent}, mantissa_bits={mantissa}")
    result("select(p, x, y)")
    result("clamp(y, x, z)")
    result("copy(x)")
    result("map(x, y), dimensions={0,1}, to_apply=mapped")
    if t != "pred":
        result("iota(), iota_dimension=1")
    result("broadcast(few), dimensions={0}")
    result("broadcast(one), dimensions={}")
    result("transpose(x), dimensions={1,0}", f"{t}[40,6]")
    result("reshape(x)", f"{t}[4,60]")
    result("reverse(x), dimensions={1}")
    result("slice(x), slice={[1:6:2], [3:40]}", f"{t}[3,37]")
    result("pad(x, one), padding=1_0_1x-2_3", f"{t}[12,41]")
    result("concatenate(x, y, x), dimensions={1}", f"{t}[6,120]")
    result("reduce(x, one), dimensions={1}, to_apply=combined", f"{t}[6]")
    result("reduce(x, y, one, one), dimensions={0}, to_apply=largest", f"({t}[40], {t}[40])")
    whole = "(" + ", ".join(of for _, of in results) + ")"
    both = "or" if t == "pred" else "add"
    return f"""HloModule ops_{t}
mapped {{
  a = {t}[] parameter(0)
  b = {t}[] parameter(1)
  c = {t}[] {both}(a, b)
  ROOT d = {t}[] minimum(c, a)
}}
combined {{
  a = {t}[] parameter(0)
  b = {t}[] parameter(1)
  ROOT c = {t}[] {both}(a, b)
}}
largest {{
  a = {t}[] parameter(0)
  i = {t}[] parameter(1)
  b = {t}[] parameter(2)
  j = {t}[] parameter(3)
  less = pred[] compare(a, b), direction=LT
  c = {t}[] select(less, b, a)
  k = {t}[] select(less, j, i)
  ROOT r = ({t}[], {t}[]) tuple(c, k)
}}
ENTRY every {{
  x = {shape} parameter(0)
  y = {shape} parameter(1)
  z = {shape} parameter(2)
  p = pred[6,40] parameter(3)
  one = {t}[] constant({'true' if t == 'pred' else 1})
  few = {t}[6] constant({constants(t)})
{chr(10).join(lines)}
  ROOT all = {whole} tuple({", ".join(name for name, _ in results)})
}}
"""


def walk(t: str, elements: int) -> str:
    """Return a kernel on `elements` elements, enough for 16-byte accesses. If the number is odd, the last step is
    partial.
    """
    shape = f"{t}[{elements}]"
    return (f"ENTRY walk {{\n  x = {shape} parameter(0)\n  y = {shape} parameter(1)\n  s = {shape} {'xor' if t == 'pred' else 'add'}(x, y)\n"
            f"  n = pred[{elements}] compare(x, y), direction=LT\n  ROOT r = ({shape}, pred[{elements}]) tuple(s, n)\n}}\n")


def extremes(t: str, dims: "Sequence[int]", along: int) -> str:
    """Return a reduction along one dimension: the sum, and the largest element with its first index (a NaN counts as
    largest, as in JAX's argmax).
    """
    shape, kept = f"{t}[{','.join(map(str, dims))}]", ",".join(str(d) for k, d in enumerate(dims) if k != along)
    return f"""add {{
  a = {t}[] parameter(0)
  b = {t}[] parameter(1)
  ROOT c = {t}[] add(a, b)
}}
first {{
  a = {t}[] parameter(0)
  i = s32[] parameter(1)
  b = {t}[] parameter(2)
  j = s32[] parameter(3)
  above = pred[] compare(a, b), direction=GT
  nan = pred[] compare(a, {'a), direction=NE' if t in FLOATS else 'b), direction=GT'}
  left = pred[] or(above, nan)
  same = pred[] compare(a, b), direction=EQ
  before = pred[] compare(i, j), direction=LT
  tie = pred[] and(same, before)
  keep = pred[] or(left, tie)
  c = {t}[] select(left, a, b)
  k = s32[] select(keep, i, j)
  ROOT r = ({t}[], s32[]) tuple(c, k)
}}
ENTRY extremes {{
  x = {shape} parameter(0)
  n = s32{shape[len(t):]} iota(), iota_dimension={along}
  zero = {t}[] constant(0)
  low = {t}[] constant({'-inf' if t in FLOATS else -1 << (bits(t) - 1)})
  none = s32[] constant(0)
  s = {t}[{kept}] reduce(x, zero), dimensions={{{along}}}, to_apply=add
  m = ({t}[{kept}], s32[{kept}]) reduce(x, n, low, none), dimensions={{{along}}}, to_apply=first
  ROOT r = ({t}[{kept}], ({t}[{kept}], s32[{kept}])) tuple(s, m)
}}
"""


def chain(t: str) -> str:
    """Return a * b + c and similar chains, in which a fused multiply-add or a missing rounding would change the result.
    """
    s = f"{t}[4000]"
    return (f"ENTRY chain {{\n  a = {s} parameter(0)\n  b = {s} parameter(1)\n  c = {s} parameter(2)\n  p = {s} multiply(a, b)\n"
            f"  q = {s} add(p, c)\n  u = {s} subtract(c, p)\n  v = {s} divide(q, u)\n  ROOT w = {s} subtract(v, p)\n}}\n")


# ---- compiled for the CPU, and run ---------------------------------------------------------------------------------


def compiler(*names: str) -> str:
    found = next((name for name in names if name and shutil.which(name)), None)
    assert found, f"none of {', '.join(filter(None, names))}"
    return found


def call(command: "Sequence[str]", cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[:6000]}"
    return done.stdout


def written(text: str, stem: str, excess: bool = False, device: str = "sm_80") -> "Tuple[Path, List[hlo.Fusion]]":
    """Write the CUDA files of every fusion of a module. Return the folder and the fusions."""
    module = hlo.parse(text, f"{stem}.hlo")
    problem = hlo.unsupported(module)
    assert problem is None, problem
    folder = Path(tempfile.mkdtemp(prefix=f"{stem}_", dir=FOLDER))
    fusions = hlo.fusions(module)
    for fusion in fusions:
        pipeline.build_all(fusion, str(folder), ["cuda"], device, excess)
        bound = pipeline.oracle(fusion, excess, False).bound
        assert bound
        (folder / f"{fusion.name}_bound.c").write_text(bound.text)
    return folder, fusions


# Trap an index beyond an array of known size, and an access at an address that is misaligned for its type.
TRAPS = ["-fsanitize=bounds,alignment", "-fsanitize-undefined-trap-on-error"]


def on_cpu(folder: Path, name: str, level: str = "-O0") -> ctypes.CDLL:
    """Compile the kernels, their launches, the reference and its bound into one library."""
    for header in ("cuda_runtime.h", "cuda_fp16.h"):
        (folder / header).write_text('#include "cuda_on_cpu.h"\n')
    common = [level, "-ffp-contract=off", "-fPIC", "-I", ".", "-I", str(ROOT / "tests"), "-c"]
    cxx = compiler(os.environ.get("CXX", ""), "g++", "clang++", "c++")
    call([cxx, "-x", "c++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas", *TRAPS, *common, f"{name}.cu", "-o",
          "cuda.o"], folder)
    c = compiler(os.environ.get("CC", ""), "cc", "gcc", "clang")
    for source in ("ref", "bound"):
        call([c, "-std=c11", "-w", *common, f"{name}_{source}.c", "-o", f"{source}.o"], folder)
    call([cxx, "-shared", "cuda.o", "ref.o", "bound.o", "-o", f"{name}.so", "-lm"], folder)
    return ctypes.CDLL(str(folder / f"{name}.so"))


def special(t: str) -> "List[int]":
    """Return bit patterns that are difficult for the type."""
    width = bits(t)
    if t == "pred":
        return [0, 1]
    if t not in FLOATS:
        return [v & ((1 << width) - 1) for v in (0, 1, 2, 3, 7, width - 1, width, width + 1, -1, -2, -3, 1 << (width - 1), (1 << (width - 1)) - 1,
                                                  -(1 << (width - 2)))]
    values = [0.0, 1.0, 0.5, 1.5, 2.5, 3.0, 127.5, 128.0, 255.5, 32768.0, 65519.0, 65520.0, 2.0 ** 31, 2.0 ** 32, 2.0 ** 63, 2.0 ** 64, 1e-40, 5e-8,
              2.0 ** -24, 2.0 ** -25, 2.0 ** -14, 1.00390625, 1.0048828125, 3.0e38, 1e5, float("inf"), 88.7, 104.0, 1e-8, 1e300, 0.25, 10.0]
    for half in (2.0 ** -8, 2.0 ** -11):    # near a tie of bf16 or f16, so that rounding twice gives another result
        values += [1 + half + 2.0 ** -40, 1 + 3 * half - 2.0 ** -40]
    patterns = [dtypes.encode(v, t) for v in values] + [dtypes.quiet_nan(t)]
    return patterns + [p | 1 << (width - 1) for p in patterns]


def inputs(t: str, elements: int, draw: random.Random) -> bytes:
    """Return a parameter's bytes: a mixture of special patterns, plain numbers and random bits."""
    size, edges = dtypes.storage_bytes(t), special(t)
    if t == "pred":
        return bytes(draw.choices((0, 1), k=elements))
    few = min(elements, 19997)  # the values repeat after a prime number of elements, so that elements at a constant stride differ
    made = bytearray()
    for _ in range(few):
        kind = draw.random()
        if kind < 0.3:
            pattern = draw.choice(edges)
        elif kind < 0.7:
            pattern = dtypes.encode(draw.uniform(-4, 4), t) if t in FLOATS else draw.randrange(-20, 20) & ((1 << bits(t)) - 1)
        else:
            pattern = draw.getrandbits(bits(t))
            if t in FLOATS and dtypes.is_nan(pattern, t):  # arithmetic may make a signalling NaN quiet, a move may not
                pattern = dtypes.quiet_nan(t)
        made += pattern.to_bytes(size, "little")
    return bytes((made * (elements // max(1, few) + 1))[:elements * size])


GUARD = 64


class Buffer:
    """Bytes at an address aligned to 64, between two guard bands."""

    def __init__(self, size: int, data: "bytes | None" = None) -> None:
        self.size = size
        self._whole = ctypes.create_string_buffer(b"\xa5" * (size + 3 * GUARD), size + 3 * GUARD)
        start = ctypes.addressof(self._whole)
        self.address = (start + 2 * GUARD - 1) // GUARD * GUARD
        if data is not None:
            ctypes.memmove(self.address, data, size)

    def bytes(self) -> bytes:
        return ctypes.string_at(self.address, self.size)

    def guarded(self) -> bool:
        return ctypes.string_at(self.address - GUARD, GUARD) == ctypes.string_at(self.address + self.size, GUARD) == b"\xa5" * GUARD


def fault(library: ctypes.CDLL) -> str:
    """Return the message of the fault that cuda_on_cpu.h found."""
    return ctypes.string_at(ctypes.addressof(ctypes.c_char.in_dll(library, "sett_cuda_fault"))).decode()


def pointers(buffers: "Sequence[Buffer]") -> "ctypes.Array[ctypes.c_void_p]":
    return (ctypes.c_void_p * max(1, len(buffers)))(*(b.address for b in buffers))


def differs(got: int, want: int, t: str, limit: float, bitwise: bool) -> bool:
    """Return whether two results differ by more than the bound allows."""
    if got == want or limit == float("inf"):
        return False
    if bitwise:
        return True
    if t in FLOATS and (dtypes.is_nan(got, t) or dtypes.is_nan(want, t)):
        return not (dtypes.is_nan(got, t) and dtypes.is_nan(want, t))
    return not abs(dtypes.decode(got, t) - dtypes.decode(want, t)) <= limit * (1 + 1e-15)


def compare(text: str, stem: str, excess: bool = False, level: str = "-O0") -> int:
    """Run the fusions of a module through the CUDA text and through the reference. Return the number of elements
    compared.
    """
    folder, fusions = written(text, stem, excess)
    count = 0
    for fusion in fusions:
        library = on_cpu(folder, fusion.name, level)
        draw = random.Random(f"{stem}{fusion.name}")
        params = [Buffer(leaf.bytes, inputs(leaf.dtype, tiled_layouts.positions(leaf), draw)) for leaf in hlo.param_leaves(fusion)]
        leaves = [leaf.shape for leaf in hlo.result_leaves(fusion.computation)]
        given = [b.bytes() for b in params]
        want, limits = ([Buffer(tiled_layouts.positions(leaf) * 8 if wide else leaf.bytes) for leaf in leaves] for wide in (False, True))
        got: List[Buffer] = []
        assert getattr(library, f"{fusion.name}_ref")(pointers(params), pointers(want)) == 0
        assert getattr(library, f"{fusion.name}_bound")(pointers(params), pointers(limits)) == 0
        aliases = {alias["result"]: alias["parameter"] for alias in json.loads((folder / f"{fusion.name}.json").read_text())["aliases"]}
        for order in range(3):
            turned = [Buffer(leaf.bytes, given[aliases[k]] if k in aliases else None) for k, leaf in enumerate(leaves)]
            got = turned if not order else got
            passed = [next((turned[k] for k, n in aliases.items() if n == number), of) for number, of in enumerate(params)]
            ctypes.c_int.in_dll(library, "sett_cuda_order").value = order
            scratch = Buffer(json.loads((folder / f"{fusion.name}.json").read_text())["targets"]["cuda"]["scratch_bytes"])
            error = getattr(library, f"{fusion.name}_cuda")(pointers(passed), pointers(turned), ctypes.c_void_p(scratch.address), None)
            assert error == 0, f"{fusion.name}: error {error}, {fault(library)}"
            inside = all(b.guarded() for b in [*params, *turned, scratch]) and given == [b.bytes() for b in params]
            assert inside, f"{fusion.name} wrote outside of its results"
            assert [b.bytes() for b in turned] == [b.bytes() for b in got], f"{fusion.name} depends on the order of threads, in {folder}"
        for number, (leaf, bitwise) in enumerate(zip(leaves, bounds.bitwise(fusion.computation))):
            count += leaf.elements
            a, b = got[number].bytes(), want[number].bytes()
            if a == b:
                continue
            size = dtypes.storage_bytes(leaf.dtype)
            bound = (ctypes.c_double * tiled_layouts.positions(leaf)).from_address(limits[number].address)
            for k in range(tiled_layouts.positions(leaf)):
                x, y = (int.from_bytes(v[k * size:k * size + size], "little") for v in (a, b))
                assert not differs(x, y, leaf.dtype, bound[k], bitwise), (
                    f"{fusion.name}: result {number} ({leaf.text}) at {k}: {x:#x} ({dtypes.decode(x, leaf.dtype)}), reference {y:#x} "
                    f"({dtypes.decode(y, leaf.dtype)}), bound {bound[k]}, in {folder}")
    return count


def test_every_op_on_cpu() -> None:
    """Each op of each type agrees with the reference at the edges of its domain."""
    for t in some(TYPES):
        assert compare(ops(t), f"ops_{t}") > 6000


def test_chains_on_cpu() -> None:
    """Chains of operations are not contracted into fused multiply-adds, and each step is rounded. If f16 and bf16
    values are kept in f32 (excess precision), results stay within their bound.
    """
    for t in FLOATS:
        assert compare(chain(t), f"chain_{t}") == 4000
    for t in ("f16", "bf16"):
        assert compare(chain(t), f"wide_{t}", excess=True) == 4000


def test_walks_on_cpu() -> None:
    """Elementwise loops agree with the reference: they have 16-byte accesses, a partial last step, and operands of
    different widths.
    """
    for t, elements in (("f32", 1 << 18), ("bf16", (1 << 19) + 3), ("f64", (1 << 18) + 1), ("s8", 1 << 20)):
        folder, fusions = written(walk(t, elements), f"walk_{t}")
        assert "uint4 word[" in (folder / f"{fusions[0].name}.cu").read_text(), t
        assert compare(walk(t, elements), f"walk_{t}", level="-O2") == 2 * elements


def test_parts_on_cpu() -> None:
    """Reductions that several blocks share agree with the reference: whole rows, rows of any length, columns, and
    columns that leave some threads idle.
    """
    for t, dims, along in (("f32", (70000,), 0), ("f32", (2, 50001), 1), ("bf16", (20000, 8), 0), ("s32", (9000, 21), 0), ("s16", (3, 30000, 2), 1)):
        folder, fusions = written(extremes(t, dims, along), f"parts_{t}_{len(dims)}")
        assert "_parts(" in (folder / f"{fusions[0].name}.cu").read_text(), (t, dims)
        assert compare(extremes(t, dims, along), f"parts_{t}", level="-O1") == 3 * math.prod(dims) // dims[along]


def catalogue() -> "List[Path]":
    """Return the kernels of the catalogue whose buffers are small enough to compare here."""
    return [path for path in sorted(CATALOGUE.glob("*.hlo"))
            if all(leaf.elements <= 1 << 16 for f in hlo.fusions(hlo.read(str(path)))
                   for leaf in [*hlo.param_leaves(f), *(leaf.shape for leaf in hlo.result_leaves(f.computation))])]


def test_catalogue_on_cpu() -> None:
    names = [path.stem for path in catalogue()]
    assert len(names) >= 12, names
    for path in some(catalogue()):
        assert compare(path.read_text(), path.stem) > 0


def test_launch_errors_on_cpu() -> None:
    """A launch that a device refuses returns the device's error code."""
    folder, fusions = written(chain("f32"), "refused")
    file = folder / f"{fusions[0].name}.cu"
    file.write_text(re.sub(r"dim3\(\d+\), arguments", "dim3(2048), arguments", file.read_text()))
    library = on_cpu(folder, fusions[0].name)
    params, results = [Buffer(16000, bytes(16000)) for _ in range(3)], [Buffer(16000)]
    assert getattr(library, f"{fusions[0].name}_cuda")(pointers(params), pointers(results), None, None) == 9
    assert results[0].bytes() == b"\xa5" * 16000


# ---- the emulation of CUDA itself: correct kernels pass, and each kind of fault is found
# -------------------------------

MACHINE = """#include <cuda_runtime.h>
#define KERNEL(name, blocks, threads, ...)                                                                              \\
  extern "C" __global__ void name(const int *in, int *out) __VA_ARGS__                                                  \\
  extern "C" int go_##name(const int *in, int *out)                                                                     \\
  {                                                                                                                     \\
    void *arguments[] = { &in, &out };                                                                                  \\
    return cudaLaunchKernel((const void *)name, blocks, threads, arguments, 0, (cudaStream_t)0);                        \\
  }
#define T (int)threadIdx.x
#define ALL 0xffffffffu

// 70x90 to 90x70, tiles of 32x32, all edges cut.
#define TURN(barrier)                                                                                                   \\
  {                                                                                                                     \\
    __shared__ int tile[32][33];                                                                                        \\
    const int column = (int)blockIdx.x * 32 + T, row = (int)blockIdx.y * 32;                                            \\
    for (int i = (int)threadIdx.y; i < 32; i += 8)                                                                      \\
      if (row + i < 70 && column < 90) tile[i][T] = in[(row + i) * 90 + column];                                        \\
    barrier;                                                                                                            \\
    for (int i = (int)threadIdx.y; i < 32; i += 8)                                                                      \\
      if (row + T < 70 && (int)blockIdx.x * 32 + i < 90) out[((int)blockIdx.x * 32 + i) * 70 + row + T] = tile[T][i];   \\
  }
KERNEL(turned, dim3(3, 3), dim3(32, 8), TURN(__syncthreads()))
KERNEL(turned_at_once, dim3(3, 3), dim3(32, 8), TURN())

// Sums of 9 rows of 1000: lanes, then warps.
#define SUM(barrier)                                                                                                    \\
  {                                                                                                                     \\
    __shared__ int part[8];                                                                                             \\
    int sum = 0;                                                                                                        \\
    for (int i = T; i < 1000; i += 256) sum += in[(int)blockIdx.x * 1000 + i];                                          \\
    for (int by = 16; by; by /= 2) sum += __shfl_down_sync(ALL, sum, (unsigned)by);                                     \\
    if (T % 32 == 0) part[T / 32] = sum;                                                                                \\
    barrier;                                                                                                            \\
    if (T < 8) {                                                                                                        \\
      sum = part[T];                                                                                                    \\
      for (int by = 4; by; by /= 2) sum += __shfl_xor_sync(0xffu, sum, by);                                             \\
      if (T == 0) out[blockIdx.x] = sum;                                                                                \\
    }                                                                                                                   \\
  }
KERNEL(summed, dim3(9), dim3(256), SUM(__syncthreads()))
KERNEL(summed_at_once, dim3(9), dim3(256), SUM())

// Rows of 64 turned around one after another through the same shared array.
#define AGAIN(barrier)                                                                                                  \\
  {                                                                                                                     \\
    __shared__ int row[64];                                                                                             \\
    for (int i = 0; i < 5; ++i) {                                                                                       \\
      row[T] = in[i * 64 + T];                                                                                          \\
      __syncthreads();                                                                                                  \\
      out[i * 64 + T] = row[63 - T];                                                                                    \\
      barrier;                                                                                                          \\
    }                                                                                                                   \\
  }
KERNEL(again, dim3(1), dim3(64), AGAIN(__syncthreads()))
KERNEL(again_at_once, dim3(1), dim3(64), AGAIN())

// Neighbours within a warp.
#define NEXT(barrier)                                                                                                   \\
  {                                                                                                                     \\
    __shared__ int row[64];                                                                                             \\
    row[T] = in[T];                                                                                                     \\
    barrier;                                                                                                            \\
    out[T] = row[T ^ 1];                                                                                                \\
  }
KERNEL(next, dim3(1), dim3(64), NEXT(__syncwarp()))
KERNEL(next_at_once, dim3(1), dim3(64), NEXT())

KERNEL(stale, dim3(6), dim3(32), { __shared__ int row[32]; if (T) row[T] = in[T]; __syncthreads(); out[blockIdx.x * 32 + threadIdx.x] = row[T]; })
KERNEL(some_end, dim3(2), dim3(64), { if (T >= 40) return; __syncthreads(); out[T] = in[T]; })
static __device__ void at_two_sites(const int *in, int *out)   // a macro's argument is all on one line
{
  if (T < 32) {
    __syncthreads();
  }
  else {
    out[T] = in[T];
    __syncthreads();
  }
}
KERNEL(two_sites, dim3(1), dim3(64), { at_two_sites(in, out); })
KERNEL(more_often, dim3(1), dim3(64), { for (int i = 0; i < 2 + T / 60; ++i) __syncthreads(); out[T] = in[T]; })
KERNEL(lane_ended, dim3(1), dim3(32), { if (T == 7) return; out[T] = __shfl_xor_sync(ALL, in[T], 1); })
KERNEL(lane_elsewhere, dim3(1), dim3(32), {
  if (T == 9) __syncthreads();
  out[T] = __shfl_xor_sync(ALL, in[T], 1);
})
static __device__ int at_other(const int *in)
{
  if (T % 2) return __shfl_down_sync(ALL, in[T], 2u);
  return __shfl_down_sync(ALL, in[T], 2u);
}
KERNEL(lane_at_other, dim3(1), dim3(32), { out[T] = at_other(in); })
KERNEL(lane_never_was, dim3(1), dim3(48), { out[T] = __shfl_down_sync(ALL, in[T], 1u); })
KERNEL(other_masks, dim3(1), dim3(32), { out[T] = __shfl_xor_sync(T < 16 ? ALL : 0xffff0001u, in[T], 1); })
KERNEL(not_own, dim3(1), dim3(32), { out[T] = __shfl_xor_sync(0xfffeu, in[T], 1); })
KERNEL(not_named, dim3(1), dim3(32), { if (T < 16) out[T] = __shfl_down_sync(0xffffu, in[T], 4u); })
KERNEL(warp_ended, dim3(1), dim3(32), { if (T < 8) return; __syncwarp(); out[T] = in[T]; })
KERNEL(odd_width, dim3(1), dim3(32), { out[T] = __shfl_sync(ALL, in[T], 0, 12); })
KERNEL(halves, dim3(1), dim3(32), {   // two masks at one place
  const unsigned half = T < 16 ? 0xffffu : 0xffff0000u;
  out[T] = __shfl_xor_sync(half, in[T], 15);
})
KERNEL(deep, dim3(1), dim3(2), { volatile int much[60000]; for (int i = 0; i < 60000; ++i) much[i] = in[0]; __syncthreads(); out[T] = much[T]; })
KERNEL(beyond, dim3(1), dim3(32), {
  __shared__ int row[32];
  __shared__ int other[32];
  other[T] = 0;
  row[T + in[0]] = T;
  __syncthreads();
  out[T] = row[T] + other[T];
})
KERNEL(fast, dim3(20), dim3(256), { for (int i = 0; i < 20; ++i) __syncthreads(); out[T] = in[T]; })

extern "C" __global__ void first_stage(const int *in, int *part) { part[blockIdx.x] = in[blockIdx.x] + in[blockIdx.x + 8]; }
extern "C" __global__ void last_stage(const int *part, int *out, int count) { for (int i = 0; i < count; ++i) out[i] = part[i] * part[7 - i]; }
static int stages(const int *in, int *out, size_t room, int read)
{
  int *part = NULL;
  cudaStream_t stream = (cudaStream_t)0;
  int error = cudaMallocAsync(&part, room * sizeof *part, stream);
  void *first[] = { &in, &part }, *last[] = { &part, &out, &read };
  if (!error) error = cudaLaunchKernel((const void *)first_stage, dim3(8), dim3(1), first, 0, stream);
  if (!error) error = cudaLaunchKernel((const void *)last_stage, dim3(1), dim3(1), last, 0, stream);
  const int freed = cudaFreeAsync(part, stream);
  return error ? error : freed;
}
extern "C" int go_stages(const int *in, int *out) { return stages(in, out, 8, 8); }
extern "C" int go_stages_small(const int *in, int *out) { return stages(in, out, 7, 8); }
extern "C" int go_stages_long(const int *in, int *out) { return stages(in, out, 9, 9); }

// Every exchange of every type, at widths 32, 8 and 1: lanes' numbers and where they came from.
template <class V> static __device__ void lanes(const int *in, int *out)
{
  const V own = (V)in[T] * (sizeof(V) == 8 ? (V)4294967296ll : (V)1);
  const V back = sizeof(V) == 8 ? (V)4294967296ll : (V)1;
  for (int w = 0; w < 3; ++w) {
    const int width = w == 0 ? 32 : w == 1 ? 8 : 1;
    *out++ = (int)(__shfl_sync(ALL, own, 5 * T + 3, width) / back);
    *out++ = (int)(__shfl_down_sync(ALL, own, 3, width) / back);
    *out++ = (int)(__shfl_xor_sync(ALL, own, 9, width) / back);
  }
}
KERNEL(exchanges, dim3(1), dim3(32), {
  lanes<int>(in, out + T * 54);
  lanes<unsigned>(in, out + T * 54 + 9);
  lanes<float>(in, out + T * 54 + 18);
  lanes<long long>(in, out + T * 54 + 27);
  lanes<unsigned long long>(in, out + T * 54 + 36);
  lanes<double>(in, out + T * 54 + 45);
})
// Every atomic of every type, by 64 threads at one place each, and the sum of what 64 additions found.
template <class V> static __device__ void atomics(const int *in, V *at, int *out)
{
  const int start[9] = { 0x100000, 0x10ffff, 0, 0, 200, 0, 0, 0, 0 };
  if (T < 9) at[T] = (V)start[T];
  __syncthreads();
  atomicOr(at, (V)1 << T % 16);
  atomicAnd(at + 1, ~((V)1 << T % 16));
  atomicXor(at + 2, (V)1 << T % 24);
  atomicExch(at + 3, (V)in[76]);
  atomicMin(at + 4, (V)(100 - T));
  atomicMax(at + 5, (V)(100 + T));
  V old = at[6], seen;
  while ((seen = atomicCAS(at + 6, old, (V)(old + 5))) != old) old = seen;
  atomicAdd(at + 8, atomicAdd(at + 7, (V)1));
  __syncthreads();
  if (T < 9) out[T] = (int)at[T];
}
static __device__ void other_atomics(long long *s, float *f, double *d, unsigned short *h, int *out)
{
  if (T == 0) s[0] = s[1] = 0, f[0] = f[1] = 0, *d = 0, *h = 0;
  __syncthreads();
  atomicMin(s, -((long long)T << 40));
  atomicMax(s + 1, (long long)T << 40);
  atomicAdd(f, 0.5f);
  atomicExch(f + 1, 9.f);
  atomicAdd(d, 0.25);
  unsigned short old = *h, seen;
  while ((seen = atomicCAS(h, old, (unsigned short)(old + 5))) != old) old = seen;
  __threadfence();
  __syncthreads();
  if (T == 0) out[0] = (int)(s[0] >> 40), out[1] = (int)(s[1] >> 40), out[2] = (int)f[0], out[3] = (int)f[1], out[4] = (int)*d, out[5] = *h;
}
KERNEL(atomics_all, dim3(2), dim3(64), {
  __shared__ int i[9];
  __shared__ unsigned u[9];
  __shared__ unsigned long long l[9];
  __shared__ long long s[2];
  __shared__ float f[2];
  __shared__ double d;
  __shared__ unsigned short h;
  atomics(in, i, out);
  atomics(in, u, out + 9);
  atomics(in, l, out + 18);
  other_atomics(s, f, &d, &h, out + 27);
})
KERNEL(odd_atomic, dim3(1), dim3(32), { __shared__ int row[40]; atomicAdd((int *)((char *)row + T), in[T]); out[T] = row[T]; })
KERNEL(words, dim3(1), dim3(32), {
  const uint2 pair = make_uint2((unsigned)__ldg(in + T), 7u);
  const uint4 four = make_uint4(pair.x, pair.y, (unsigned)max(T, 9), (unsigned)min(T, 9));
  out[T] = (int)(four.x + 100 * four.y + 1000 * four.z + 100000 * four.w) + (int)max(1.5f, 2.5f) + (int)min(-1.0, 4.0);
})

#ifdef PROGRAM
int main(int count, char **words)
{
  static int in[9000], out[9000];
  for (int i = 0; i < 9000; ++i) in[i] = i + 1;
  const char kind = count < 2 ? 0 : words[1][0];
  return kind == 't' ? go_turned(in, out) : kind == 's' ? go_summed(in, out) : kind == 'd' ? go_deep(in, out) : go_beyond(in, out);
}
#endif
"""
IN = list(range(1, 9001))


def machine_text(on_cpu: bool = True) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="machine_", dir=FOLDER))
    if on_cpu:
        (folder / "cuda_runtime.h").write_text('#include "cuda_on_cpu.h"\n')
    (folder / "machine.cu").write_text(MACHINE)
    return folder


CXX17 = ["-x", "c++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-I", ".", "-I", str(ROOT / "tests")]


@lru_cache(maxsize=None)
def machine(cxx: str) -> ctypes.CDLL:
    folder = machine_text()
    call([cxx, *CXX17, "-O2" if cxx == compilers()[0] else "-O0", "-fPIC", "-shared", "machine.cu", "-o", "machine.so"], folder)
    return ctypes.CDLL(str(folder / "machine.so"))


def go(library: ctypes.CDLL, name: str, order: int, count: int) -> "Tuple[int, List[int]]":
    """Launch a kernel of the library. Return the error code and the first results."""
    ctypes.c_int.in_dll(library, "sett_cuda_order").value = order
    given, out = (ctypes.c_int * len(IN))(*IN), (ctypes.c_int * len(IN))(*([-99] * len(IN)))
    return getattr(library, f"go_{name}")(given, out), list(out)[:count]


def compilers() -> "List[str]":
    return [name for name in ("g++", "clang++") if shutil.which(name)] or [compiler("c++")]


def picked(lane: int, width: int, kind: int) -> int:
    """Return the lane whose value a shuffle in the kernel `lanes` must return, according to CUDA's documentation."""
    group = lane - lane % width
    if kind == 0:
        return group + (5 * lane + 3) % width
    to = lane + 3 if kind == 1 else lane ^ 9
    return to if to < group + width else lane


RIGHT = {
    "turned": [IN[row * 90 + column] for column in range(90) for row in range(70)],
    "summed": [sum(IN[row * 1000:row * 1000 + 1000]) for row in range(9)],
    "again": [IN[i * 64 + 63 - t] for i in range(5) for t in range(64)],
    "next": [IN[t ^ 1] for t in range(64)],
    "halves": [IN[t ^ 15] for t in range(32)],
    "stages": [(IN[i] + IN[i + 8]) * (IN[7 - i] + IN[15 - i]) for i in range(8)],
    "exchanges": [IN[picked(lane, width, kind)] for lane in range(32) for _ in range(6) for width in (32, 8, 1) for kind in range(3)],
    "words": [IN[t] + 700 + 1000 * max(t, 9) + 100000 * min(t, 9) + 2 - 1 for t in range(32)],
    "fast": IN[:256],
    "atomics_all": [0x10ffff, 0x100000, 0xffff, 77, 37, 163, 320, 64, 2016] * 3 + [-63, 63, 32, 9, 16, 320],
}


def test_machine() -> None:
    """In the emulation, barriers, exchanges between lanes and memory behave as CUDA says, whatever the order in which
    threads run.
    """
    for cxx in compilers():
        library = machine(cxx)
        for name, want in RIGHT.items():
            for order in range(5):
                assert go(library, name, order, len(want)) == (0, want), (cxx, name, order, fault(library))
        assert ctypes.c_int.in_dll(library, "sett_cuda_allocations").value == 0


def test_missing_barriers() -> None:
    """If a necessary barrier is removed from a kernel, some order of the threads gives wrong results, so the emulation
    finds each such fault.
    """
    library = machine(compilers()[0])
    for name in ("turned", "summed", "again", "next"):
        found = [go(library, f"{name}_at_once", order, len(RIGHT[name])) for order in range(3)]
        assert [error for error, _ in found] == [0] * 3 and any(values != RIGHT[name] for _, values in found), name


def test_shared_memory_is_poisoned() -> None:
    """If a kernel reads shared memory that no thread of the block has written, it gets poison, not values of an earlier
    block. Two different poison values occur.
    """
    library = machine(compilers()[0])
    _, values = go(library, "stale", 0, 6 * 32)
    assert {values[k * 32] for k in range(6)} == {-1, 0x7f7f7f7f} and values[1:32] == IN[1:32]


FAULTS = {
    "some_end": ["thread 0 waits at the barrier", "thread 40 has ended", "some_end, block ("],
    "two_sites": ["thread 0 waits at the barrier", "thread 32 at that"],
    "more_often": ["thread 60 waits at the barrier", "thread 0 has ended"],
    "lane_ended": ["thread 0 waits in the exchange", "thread 7 has ended"],
    "lane_elsewhere": ["thread 9 waits at the barrier"],
    "lane_at_other": ["thread 0 waits in the exchange", "thread 1 waits in the exchange"],
    "lane_never_was": ["thread 48 does not exist"],
    "other_masks": ["thread 16 waits in the exchange", "mask 0xffff0001"],
    "not_own": ["the mask 0xfffe", "does not name its own lane"],
    "not_named": ["thread 12 reads lane 16", "does not name"],
    "warp_ended": ["thread 8 waits in the exchange", "thread 0 has ended"],
    "odd_width": ["12 lanes"],
    "odd_atomic": ["an atomic of 4 bytes at"],
    "stages_small": ["cudaFreeAsync: 4 bytes are written beside 28"],
}


def test_faults() -> None:
    """Each fault ends the launch with an error and a message that names the place in the kernel. The next launch is not
    affected.
    """
    for cxx in compilers():
        library = machine(cxx)
        for name, words in FAULTS.items():
            for order in range(3):
                error, _ = go(library, name, order, 0)
                text = fault(library)
                assert error in (700, 719) and all(word in text for word in words), (cxx, name, order, error, text)
                assert go(library, "summed", order, 9) == (0, RIGHT["summed"]), name


def test_scratch_is_poisoned() -> None:
    """If the first launch leaves scratch memory unwritten, the second launch reads an implausible value there."""
    library = machine(compilers()[0])
    error, values = go(library, "stages_long", 0, 9)
    assert error == 0 and values[:8] == RIGHT["stages"] and values[8] not in (0, -99)


def test_bounds_of_shared_memory() -> None:
    """An index beyond a shared array is found: -fsanitize=bounds traps it, or ASan reports the red zone behind the
    array. Correct code passes both. A stack that is too small gives a segmentation fault.
    """
    for cxx in compilers():
        for flags in (TRAPS, ["-fsanitize=address"]):
            folder = machine_text()
            call([cxx, *CXX17, "-O1", "-g", "-DPROGRAM", *flags, "machine.cu", "-o", "program"], folder)
            for name, wrong in (("turned", False), ("summed", False), ("beyond", True), *([("deep", False)] if flags == TRAPS else [])):
                done = subprocess.run([str(folder / "program"), name], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                if not wrong:
                    assert done.returncode == (-signal.SIGSEGV if name == "deep" else 0), (cxx, flags, name, done)
                elif flags == TRAPS:
                    assert done.returncode == -signal.SIGILL, (cxx, done)
                else:
                    assert done.returncode not in (0, 719) and "global-buffer-overflow" in done.stderr, (cxx, done)


def test_check_on_cpu() -> None:
    """`gen check --target cuda-on-cpu` uses the emulation through the harness. Without the folder tests/ next to gen/ it
    prints SKIP.
    """
    def check(root: Path) -> "Tuple[int, str]":
        done = subprocess.run([sys.executable, str(root / "gen"), "check", str(CATALOGUE / "layouts_f32.hlo"), "--target", "cuda-on-cpu"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        return done.returncode, done.stdout.splitlines()[-1]

    status, line = check(ROOT)
    assert status == 0 and line.startswith("PASS") and " cuda-on-cpu 1/1 " in line, line
    alone = Path(tempfile.mkdtemp(prefix="alone_", dir=FOLDER))
    for name in ("gen", "templates", "include"):
        shutil.copytree(ROOT / name, alone / name)
    (alone / "build").mkdir()
    shutil.copy2(ROOT / "build" / "libsett.so", alone / "build")    # otherwise gen would compile this library, which takes 20 s
    status, line = check(alone)
    assert status == 3 and line.startswith("SKIP") and "no tests/cuda_on_cpu.h" in line, line
    (alone / "tests").mkdir()
    shutil.copy(ROOT / "tests" / "cuda_matrix_on_cpu.h", alone / "tests")
    text = (ROOT / "tests" / "cuda_on_cpu.h").read_text()
    (alone / "tests" / "cuda_on_cpu.h").write_text(text.replace("    sett_block();\n", '    sett_fail("a planted fault");\n'))
    status, line = check(alone)
    assert status == 1 and line.startswith("FAIL") and "block (0, 0, 0): a planted fault" in line, line


# ---- faults planted in the generated text
# ------------------------------------------------------------------------------

TURNED = """ENTRY turned {
  x = f32[70,52] parameter(0)
  t = f32[52,70] transpose(x), dimensions={1,0}
  ROOT n = f32[52,70] negate(t)
}
"""
SUMMED = """add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}
ENTRY summed {
  x = f32[3,5000] parameter(0)
  z = f32[] constant(0)
  s = f32[3] reduce(x, z), dimensions={1}, to_apply=add
  w = f32[3,5000] broadcast(s), dimensions={0}
  ROOT r = f32[3,5000] divide(x, w)
}
"""
# For each fault: the fusion, the pattern that is replaced (first match) and its replacement, the message of `gen
# check`, the message of ASan.
PLANTS: "Dict[str, Tuple[str, str, str, str, str]]" = {
    "as it is": (SUMMED, "", "", "", "0"),
    "barrier gone, tile": (TURNED, r"__syncthreads\(\);", "", r"result 0, element \d+ \[\d+,\d+\]", ""),
    "barrier gone, sum": (SUMMED, r"__syncthreads\(\);", "", r"result 0, element \d+ \[\d+,\d+\]", ""),
    "barrier for some, tile": (TURNED, r"__syncthreads\(\);", "if (th_x < 96) __syncthreads();",
                               r"thread \d+ (waits at the barrier of line \d+|has ended), thread \d+ (has ended|waits at the barrier of line)", "719"),
    "barrier for some, sum": (SUMMED, r"__syncthreads\(\);", "if (bl_x != 1 || th_x % 64) __syncthreads();",
                              r"block \(1, 0, 0\): thread \d+ .*waits at the barrier of line \d+, thread \d+ has ended", "719"),
    "two barriers": (SUMMED, r"__syncthreads\(\);", "if (th_x < 96)\n    __syncthreads();\n  else\n    __syncthreads();",
                     r"thread 0 waits at the barrier of line \d+, thread 96 at that of line \d+", "719"),
    "shared, written beyond": (TURNED, r"(tile_p0\[)(.*\] = )", r"\g<1>560 + \2", "^illegal instruction", "global-buffer-overflow"),
    "shared, read beyond": (SUMMED, r"shared0\[warp", "shared0[warp + 1", "^illegal instruction", "global-buffer-overflow"),
    "global, read far beyond": (TURNED, r"p0 \+ \(", "p0 + (70 * 52 + ", "^segmentation fault: read at byte \\d+ of parameter 0, which has 14560", "heap-buffer-overflow"),
    "global, read for nothing": (TURNED, r"  __syncthreads", "  if (bl_x == 0) (void)*(const volatile float *)(p0 + 70 * 52);\n  __syncthreads", "", "heap-buffer-overflow"),
    "global, read before": (TURNED, r"p0 \+ \(", "p0 - 4 + (", r"result 0, element \d+", "heap-buffer-overflow"),
    "words at any address": (TURNED, r"aligned \? (\w+<true>) : \w+<false>", r"aligned ? \1 : \1", "^illegal instruction", ""),
    "global, written beyond": (TURNED, r"r0 \+ \(", "r0 + (2 + ", "^wrote past the end of result 0", "heap-buffer-overflow"),
    "scratch, written beyond": (SUMMED, r"q0\[g0\] = ", "q0[g0 + 1] = ", "^wrote past the end of scratch 0", "heap-buffer-overflow"),
    "scratch, read far beyond": (SUMMED, r"= q0\[", "= q0[400 + ", "^segmentation fault|^result 0", "heap-buffer-overflow|SEGV"),
}


def planted(name: str, folder: Path) -> "run.Built":
    """Build a fusion with one fault planted in its CUDA text."""
    text, pattern, fault_text, _, _ = PLANTS[name]
    (fusion,) = hlo.fusions(hlo.parse(text, "planted.hlo"))
    built = run.build(fusion, folder, "cuda-on-cpu", run.Options(schedule="sm_80"))
    if pattern:
        right = (folder / "planted.cu").read_text()
        wrong, count = re.subn(pattern, fault_text, right, count=1)
        assert count == 1 and wrong != right, f"{pattern} is not in the generated text"
        (folder / "planted.cu").write_text(wrong)
    return built


def checked(built: "run.Built") -> "run.CheckResult":
    (result,) = run.check_built([built], "cuda-on-cpu", run.Options(rounds=6))
    return result


MAIN = """#include <stdio.h>
#include <stdlib.h>
#include <string.h>
extern "C" int planted_cuda(const void *const *params, void *const *results, void *scratch, void *stream);
extern "C" int sett_cuda_order;
int main()
{
  int error = 0;
  for (sett_cuda_order = 0; sett_cuda_order < 3 && !error; ++sett_cuda_order) {
    void *in, *out, *scratch;
    if (posix_memalign(&in, 64, IN) || posix_memalign(&out, 64, OUT) || posix_memalign(&scratch, 64, SCRATCH + !SCRATCH)) return 1;
    for (size_t i = 0; i < IN / sizeof(float); ++i) ((float *)in)[i] = (float)(i % 97) + 1;
    error = planted_cuda((const void *const *)&in, &out, scratch, NULL);
    free(scratch);
    free(in);
    free(out);
  }
  printf("%d\\n", error);
  return error != 0;
}
"""


def sanitized(built: "run.Built") -> str:
    """Run a fusion with buffers of exactly the needed size under ASan. Return ASan's message, or the error code."""
    for header in ("cuda_runtime.h", "cuda_fp16.h"):
        (built.folder / header).write_text('#include "cuda_on_cpu.h"\n')
    (built.folder / "main.cc").write_text(MAIN)
    sizes = [f"-D{word}={built.manifest[side][0]['bytes']}" for word, side in (("IN", "params"), ("OUT", "results"))]
    sizes.append(f"-DSCRATCH={built.manifest['targets']['cuda']['scratch_bytes']}")
    call([compilers()[0], "-std=c++17", "-w", "-O1", "-g", "-fsanitize=address", "-I", ".", "-I", str(ROOT / "tests"), *sizes, "main.cc", "-x", "c++",
          "planted.cu", "-o", "program"], built.folder)
    done = subprocess.run([str(built.folder / "program")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=900)
    found = re.search(r"AddressSanitizer: (\S+)", done.stderr)
    return found[1] if found else done.stdout.strip()


def find_planted(names: "Sequence[str]") -> None:
    for name in names:
        built, (said, sanitizer) = planted(name, Path(tempfile.mkdtemp(prefix="planted_", dir=FOLDER))), PLANTS[name][3:]
        found = sanitized(built) if sanitizer else ""
        assert not sanitizer or re.fullmatch(sanitizer, found), f"{name}: {found}"
        if said or sanitizer == "0":
            result = checked(built)
            right = result.status == "FAIL" and re.search(said, result.reason) if said else result.status == "PASS"
            assert right, f"{name}: {result.line()}"


def test_planted_faults() -> None:
    """`gen check` or ASan finds each fault that is planted in a kernel. The unchanged text passes both."""
    find_planted(["as it is", "barrier gone, tile", "barrier for some, sum", "shared, written beyond", "global, read for nothing"])


def test_all_planted_faults() -> None:
    for name in ("tile", "sum"):
        assert "__shared__" in (planted(f"barrier gone, {name}", Path(tempfile.mkdtemp(dir=FOLDER))).folder / "planted.cu").read_text()
    for text in (TURNED, SUMMED):
        PLANTS["as it is"] = (text, *PLANTS["as it is"][1:])
        find_planted(["as it is"])
    find_planted(list(PLANTS))


def test_speed_of_fibres() -> None:
    """The emulation switches between threads at least 100,000 times per second of processor time (usually millions of
    times).
    """
    library = machine(compilers()[0])
    start = time.process_time()
    assert go(library, "fast", 0, 256) == (0, RIGHT["fast"])
    assert 20 * 256 * 21 / (time.process_time() - start) > 100_000


# ---- compiled by nvcc ----------------------------------------------------------------------------------------------


def ptx(folder: Path, name: str, device: str) -> str:
    output = call(["nvcc", "-std=c++17", f"-arch={device}", "--ptx", "-Werror", "all-warnings", "-Xcompiler", "-Wall,-Wextra", f"{name}.cu",
                   "-o", f"{name}.ptx"], folder)
    assert not output.strip(), output
    return (folder / f"{name}.ptx").read_text()


def skip_without_nvcc() -> None:
    if not shutil.which("nvcc"):
        pytest.skip("no nvcc")


def test_every_op_compiles() -> None:
    skip_without_nvcc()
    for t in some(TYPES):
        folder, fusions = written(ops(t), f"ops_{t}")
        for fusion in fusions:
            ptx(folder, fusion.name, "sm_90" if t in ("bf16", "s64") else "sm_80")


def test_machine_compiles() -> None:
    """The test kernels of the emulation compile as CUDA."""
    skip_without_nvcc()
    ptx(machine_text(False), "machine", "sm_80")


VECTORS = {"add_f32": True, "add_bf16": True, "gelu_bf16": True, "log_transpose_add": False, "slice_pad_add": False, "softmax_f32": False,
           "weights_f64": False, "moves_u16": False, "convert_chain": False, "scalar_s64": False, "concatenate_bf16": False,
           "layouts_f32": False}


def test_catalogue_compiles() -> None:
    """The catalogue compiles without a warning and without local memory. It uses 16-byte accesses where rows are long
    and aligned.
    """
    skip_without_nvcc()
    for number, (name, wide) in enumerate(VECTORS.items()):
        device = "sm_90" if number % 4 == 0 else "sm_80"
        folder, fusions = written((CATALOGUE / f"{name}.hlo").read_text(), name, device=device)
        for fusion in fusions:
            text = ptx(folder, fusion.name, device)
            assert ".local" not in text, name
            if wide:
                assert re.search(r"ld\.global(\.nc)?\S*\.v4\.\w32", text) and re.search(r"st\.global\S*\.v4\.\w32", text), name


def test_no_contraction() -> None:
    """By default, nvcc fuses multiplications with additions. In the PTX of the generated text nothing is fused, and
    quotients are rounded correctly.
    """
    skip_without_nvcc()
    for t in FLOATS:
        folder, fusions = written(chain(t), f"chain_{t}")
        text = ptx(folder, fusions[0].name, "sm_80")
        assert "fma" not in text and "div.rn.f" in text and "div.full" not in text, t


def test_constant_text() -> None:
    """Infinities and NaNs are constant expressions in C, so that tables may contain them."""
    for pattern, t, text in ((0x7F800000, "f32", "INFINITY"), (0xFC00, "f16", "(-INFINITY)"), (0x7FC0, "bf16", "NAN"),
                             (0x7FF0 << 48, "f64", "(double)INFINITY"), (0xFFF8 << 48 | 5, "f64", '(-__builtin_nan("0x5"))'),
                             (1 << 31, "s32", "(-2147483647 - 1)"), (1 << 63, "s64", "(-9223372036854775807ll - 1)"),
                             ((1 << 64) - 1, "u64", "18446744073709551615ull"), (1, "f32", "1e-45f")):
        assert CUDA.literal(pattern, t) == text, (pattern, t, CUDA.literal(pattern, t))
