"""Property: products in register tiles agree with the reference. This covers all dimension numbers and layouts, batches
in any dimension, sizes from 1 to 70, ops before and after the product, sums of many products, and operands that are
read in place or from panels.

Convolutions agree too: windows of any size, stride, dilation and padding, dilated inputs, groups, and features in any
dimension.
"""

from __future__ import annotations

import itertools
import math
import platform
import random
import re
import shutil
import subprocess
from array import array
from dataclasses import replace
from pathlib import Path
from typing import Dict, List

import pytest

from drawn import BATCH, COUNT, ON_CPUS, SEED, agree, decided, fusions, in_parts, in_turn, marked, plain, shape, written_by
from gen_run import gen
from gen import run, schedule
from gen.heroes.contraction_cpu import ContractionSchedule, _chunk, counts
from gen.heroes.small_products_cpu import SmallProductsSchedule
from gen.hlo import Fusion
from gen.pipeline import target_file
from gen.plan import contraction, nests
from gen.plan.buffer import Role
from gen.plan.cells import along
from gen.plan.partition import EMPTY
from gen.plan.small_product import SmallProduct
from gen.schedule import DEVICES, Panels
from gen.targets import c_compiler
from shares import some

SIZES = [1, 2, 3, 5, 7, 8, 9, 12, 15, 16, 17, 23, 24, 31, 32, 33, 47, 48, 49, 64, 65, 70]
SMALL = [2, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16]
MOST = 200000        # maximum number of multiplications in a random product


# types of the two operands and of the result
FLOATS = [("f32", "f32", "f32")] * 3 + [("f64", "f64", "f64"), ("f32", "f32", "bf16"), ("f32", "f32", "f16")]
NUMBERS = [(a, b, "s32") for a in ("s8", "u8") for b in ("s8", "u8")] + [
    ("bf16", "bf16", "f32"), ("bf16", "bf16", "bf16"), ("f16", "f16", "f32"), ("bf16", "f32", "f32"), ("s32", "s32", "s32"),
    ("u32", "u32", "u32"), ("s16", "s8", "s32"), ("s8", "s8", "s8"), ("s8", "s4", "s32"), ("u4", "u8", "s32"), ("u8", "u8", "u32")]


class Draw:
    """One random product, with what is computed before and after it."""

    def __init__(self, seed: int, types: "List[tuple[str, str, str]]" = FLOATS, small: bool = False) -> None:
        self.r = r = random.Random(seed)
        *kinds, result = r.choice(types)
        self.dtype = ""
        self.batch, self.m, self.n, self.k = self.sizes(small)
        self.lines: List[str] = []
        operands = []
        for side, kept, self.dtype in zip(("lhs", "rhs"), (self.m, self.n), kinds):
            operands.append(self.operand(side, kept))
        self.dims = [*self.batch, *operands[0][2], *operands[1][2]]
        words = ", ".join([word for _, word, _ in operands])
        product = self.of(self.dims, result)
        self.lines.append(f"  d = {product} dot({operands[0][0]}, {operands[1][0]}), {words}")
        self.after("d", result)

    def sizes(self, small: bool) -> "List[List[int]]":
        """Return the sizes of the batch dimensions, of the left operand's other dimensions, of the right operand's
        other dimensions, and of the summed dimensions. If `small`, most products are written without loops.
        """
        r = self.r
        while True:
            counts = [r.choice([0, 0, 0, 1, 2]), r.choice([0, 1, 1, 1, 1, 2]), r.choice([0, 1, 1, 1, 1, 2]), r.choice([1, 1, 1, 2])]
            drawn = [[r.choice(SIZES) for _ in range(count)] for count in counts]
            if small:
                drawn = [[r.choice(SIZES) for _ in range(r.choice([1, 1, 2]))], *([r.choice(SMALL)] for _ in range(3))]
            if (MOST // 800 if small else MOST // 50) <= math.prod(itertools.chain(*drawn)) <= MOST:
                return drawn

    def of(self, dims: "List[int]", kind: str = "") -> str:
        order = list(range(len(dims)))[::-1]
        if self.r.random() < 0.25:
            self.r.shuffle(order)
        return shape(kind or self.dtype, dims, order)

    def operand(self, side: str, kept: "List[int]") -> "tuple[str, str, List[int]]":
        """Add an operand, whose dimensions are in random order. Return its name, its dimension numbers, and the sizes
        that it gives the result.
        """
        labels = [("b", k) for k in range(len(self.batch))] + [("x", k) for k in range(len(kept))] \
            + [("k", k) for k in range(len(self.k))]
        if self.r.random() < 0.6:
            self.r.shuffle(labels)
        size = {"b": self.batch, "x": kept, "k": self.k}
        dims, number = [size[kind][k] for kind, k in labels], len(self.lines)
        name = f"{side}{number}"
        before, t = self.r.choice(["", "", "", "negate", "convert", "transpose", "slice", "broadcast"]), self.dtype
        if before == "convert" and t == "f32":
            self.lines += [f"  {name}p = {self.of(dims, 'bf16')} parameter({self.parameters()})",
                           f"  {name} = {self.of(dims)} convert({name}p)"]
        elif before == "negate":
            self.lines += [f"  {name}p = {self.of(dims)} parameter({self.parameters()})",
                           f"  {name} = {self.of(dims)} negate({name}p)"]
        elif before == "transpose":
            order = self.r.sample(range(len(dims)), len(dims))
            self.lines += [f"  {name}p = {self.of([dims[order.index(d)] for d in range(len(dims))])} "
                           f"parameter({self.parameters()})",
                           f"  {name} = {self.of(dims)} transpose({name}p), dimensions={{"
                           f"{','.join(map(str, order))}}}"]
        elif before == "slice":
            starts = [self.r.choice([0, 1, 2]) for _ in dims]
            bounds = ", ".join(f"[{s}:{s + n}]" for s, n in zip(starts, dims))
            self.lines += [f"  {name}p = {self.of([s + n + 1 for s, n in zip(starts, dims)])} "
                           f"parameter({self.parameters()})",
                           f"  {name} = {self.of(dims)} slice({name}p), slice={{{bounds}}}"]
        elif before == "broadcast":
            some = sorted(self.r.sample(range(len(dims)), len(dims) - 1))
            self.lines += [f"  {name}p = {self.of([dims[d] for d in some])} parameter({self.parameters()})",
                           f"  {name} = {self.of(dims)} broadcast({name}p), dimensions={{{','.join(map(str, some))}}}"]
        else:
            self.lines.append(f"  {name} = {self.of(dims)} parameter({self.parameters()})")
        places = {kind: [labels.index((kind, k)) for k in range(len(size[kind]))] for kind in "bk"}
        words = [f"{side}_{what}_dims={{{','.join(map(str, places[kind]))}}}"
                 for what, kind in (("batch", "b"), ("contracting", "k")) if places[kind]]
        return name, ", ".join(words), [kept[k] for kind, k in labels if kind == "x"]

    def parameters(self) -> int:
        return sum(" parameter(" in line for line in self.lines)

    def after(self, value: str, kind: str) -> None:
        """Add ops after the product."""
        r, last = self.r, value
        for number in range(r.choice([0, 0, 1, 2])):
            name = f"e{number}"
            what = r.choice(["bias", "residual", "transpose", *(["relu", "convert", "exponential"] if kind[0] != "c" else [])])
            if what == "bias" and self.dims:
                d = r.randrange(len(self.dims))
                self.lines += [f"  b{name} = {kind}[{self.dims[d]}]{{0}} parameter({self.parameters()})",
                               f"  s{name} = {plain(kind, self.dims)} broadcast(b{name}), dimensions={{{d}}}",
                               f"  {name} = {plain(kind, self.dims)} add({last}, s{name})"]
            elif what == "residual":
                self.lines += [f"  x{name} = {self.of(self.dims, kind)} parameter({self.parameters()})",
                               f"  {name} = {plain(kind, self.dims)} subtract({last}, x{name})"]
            elif what == "convert":
                to = r.choice(["bf16", "f32", "s32", "f64", "f8e5m2", "s4"])
                self.lines.append(f"  {name} = {plain(to, self.dims)} convert({last})")
                kind = to
            elif what == "transpose" and self.dims:
                order = r.sample(range(len(self.dims)), len(self.dims))
                self.dims = [self.dims[d] for d in order]
                self.lines.append(f"  {name} = {plain(kind, self.dims)} transpose({last}), dimensions={{"
                                  f"{','.join(map(str, order))}}}")
            else:
                self.lines.append(f"  {name} = {plain(kind, self.dims)} maximum({last}, {last})")
            last = name
        if last == value and r.random() < 0.3:
            self.lines.append(f"  n = {plain(kind, self.dims)} negate({last})")
            self.lines.append(f"  ROOT t = ({plain(kind, self.dims)}, {plain(kind, self.dims)}) tuple(n, {last})")
            # `d` is now a result too, so it gets the layout of the results
            self.lines = [line.replace("  d = " + line.split(" ")[4], f"  d = {plain(kind, self.dims)}")
                          if line.startswith("  d = ") else line for line in self.lines]
        else:
            self.lines[-1] = "  ROOT " + self.lines[-1].lstrip()

    def text(self) -> str:
        return "HloModule e\n\nENTRY e {\n" + "\n".join(self.lines) + "\n}\n"


class FewRows(Draw):
    """A product with few rows, or few columns. The larger operand may be of a narrow type."""

    def sizes(self, small: bool) -> "List[List[int]]":
        r = self.r
        few = r.choice([[1], [2], [2, 2], [3], [4], [1, 5]])
        many = r.choice([[r.choice([9, 20, 33])], [3, 5], [16]])
        steps = r.choice([[16 * r.randint(16, 24)], [3, 16 * r.randint(6, 8)], [16 * r.randint(6, 8), 3]])
        return [r.choice([[], [], [2]]), *r.choice([[few, many], [many, few]]), steps]


# types of a convolution's operands and of its result
ALIKE = [(t, t) for t in ("f32", "f32", "f64", "s32")]


def convolution(seed: int, types: "List[tuple[str, str]]" = ALIKE) -> str:
    """Return a random convolution: without groups, or with groups of features or of batches, some with one feature per
    group.
    """
    r = random.Random(seed)
    t, result = r.choice(types)
    while True:
        rank = r.choice([1, 2, 2, 2, 3])
        image, size = ([r.choice(of) for _ in range(rank)] for of in ([1, 3, 4, 5, 8, 14, 18, 21, 40], [1, 2, 3, 4]))
        stride, dilation, holes = ([r.choice(of) for _ in range(rank)] for of in ([1, 1, 2, 3], [1, 1, 1, 2, 3],
                                                                                  [1, 1, 1, 2, 3]))
        low, high = ([r.choice([0, 0, 1, 3, -1]) for _ in range(rank)] for _ in range(2))
        out = [((n - 1) * h + a + b - (k - 1) * d) // s + 1
               for n, a, b, k, d, h, s in zip(image, low, high, size, dilation, holes, stride)]
        batch, features, results = r.choice([1, 2, 3]), r.choice([1, 3, 8, 17, 33]), r.choice([4, 8, 16, 17, 33, 40, 64])
        kind, groups = r.choice(["", "", "", "feature", "batch"]), r.choice([2, 3])
        if kind:
            way = r.random()
            groups, results = (results, results) if way < 0.4 else (groups, groups * r.choice([5, 16, 24, 32])) if way < 0.7 else \
                r.choice([(8, 16), (16, 32), (4, 16), (8, 32), (4, 32), (6, 48)])    # a vector of columns contains several of the convolution's groups
            features *= groups if kind == "feature" else 1
            batch *= groups if kind == "batch" else 1
        else:
            groups = 1
        inputs = features // groups if kind == "feature" else features
        if min(out) > 0 and math.prod([*out, *size, batch, features, results]) <= 3 * MOST * groups:
            break
    space, batches = "".join(map(str, range(rank))), batch // groups if kind == "batch" else batch
    order = r.choice(["last", "first", "neither"])
    if order == "last":
        labels = f"b{space}f_{space}io->b{space}f"
        x, w, y = [batch, *image, features], [*size, inputs, results], [batches, *out, results]
    elif order == "first":
        labels = f"bf{space}_oi{space}->bf{space}"
        x, w, y = [batch, features, *image], [results, inputs, *size], [batches, results, *out]
    else:
        labels = f"f{space}b_i{space}o->{space}bf"
        x, w, y = [features, *image, batch], [inputs, *size, results], [*out, batches, results]

    def word(name: str, values: "List[int]") -> str:
        return f" {name}={'x'.join(map(str, values))}"
    window = word("size", size) + word("stride", stride) + word("lhs_dilate", holes) + word("rhs_dilate", dilation)
    window += " pad=" + "x".join(f"{a}_{b}" for a, b in zip(low, high))
    if r.random() < 0.2:
        window += word("rhs_reversal", [r.choice([0, 1]) for _ in range(rank)])
    grouped = f", {kind}_group_count={groups}" if kind else ""
    lines = [f"  x = {plain(t, x)} parameter(0)", f"  w = {plain(t, w)} parameter(1)",
             f"  c = {plain(result, y)} convolution(x, w), window={{{window.strip()}}}, dim_labels={labels}{grouped}"]
    if r.random() < 0.5:
        lines.append(f"  n = {plain(result, y)} maximum(c, c)")
    lines[-1] = "  ROOT " + lines[-1].lstrip()
    return "HloModule e\n\nENTRY e {\n" + "\n".join(lines) + "\n}\n"


def drawn(first: int, count: int, types: "List[tuple[str, str, str]]" = FLOATS, small: bool = False) -> "Dict[str, str]":
    return {f"e{seed}": Draw(seed, types, small).text().replace("HloModule e", f"HloModule e{seed}") for seed in range(first, first + count)}


def tiled(fusion: Fusion) -> "List[contraction.Contraction]":
    return [nest for nest in nests.planned(fusion, DEVICES["cpu"].plan_class).nests
            if isinstance(nest, contraction.Contraction)]


def small(monkeypatch: pytest.MonkeyPatch, panels: Panels, **others: object) -> None:
    """Set the schedules to blocks of few rows and columns and to short sums, so that small products take every path.
    `others` sets further numbers of the schedule.
    """
    for name in ("cpu", "pocl-cpu"):
        device = DEVICES[name]
        numbers = replace(device.contraction_cpu, rows=48, chunk=8, few_rows={1: 2, 3: 3}, packed_rows=48, packed_units=4,
                          packed_chunk=8, packed_least_rows=0, packed_short_rows=0, packed_least_steps=1, matrix_chunk=20, matrix_block=(20, 3), long_matrix_block=(40, 5),
                          long_matrix_array=(23, 2), few_steps=16, kept_bytes=1 << 10, **others)     # type: ignore[arg-type]
        monkeypatch.setitem(schedule.DEVICES, name, replace(device, panels=panels, contraction_cpu=numbers))


PRODUCTS = in_turn(range(SEED * 1000, SEED * 1000 + COUNT * BATCH, BATCH))
# The cases of PRODUCTS for CPUs. `ninja test` runs one of them, in C. `ninja test-whole` runs all of them, `ninja
# test-peer` about a quarter of the others.
BLOCKS = [param if param.values[1] == "c" else pytest.param(*param.values, marks=[*param.marks, pytest.mark.peer])
          for param in PRODUCTS if param.values[1:] in ON_CPUS]


@pytest.mark.parametrize("first, target, device", PRODUCTS)
def test_drawn(first: int, target: str, device: str, tmp_path: Path) -> None:
    agree(drawn(first, BATCH), target, device, tmp_path)


@pytest.mark.parametrize("first, target, device", BLOCKS)
def test_small_matrices(first: int, target: str, device: str, tmp_path: Path) -> None:
    """Batches of small matrices agree with the reference, in any layouts. Most are written without loops."""
    texts = drawn(first + 800, 2 * BATCH, [*FLOATS, ("s32", "s32", "s32"), ("bf16", "f32", "f32")], True)
    loops = [grid.loop for text in texts.values() for fusion in fusions(text) for _, grid in decided(fusion, target, device)]
    assert sum(isinstance(loop, SmallProductsSchedule) for loop in loops) > len(texts) // 3
    agree(texts, target, device, tmp_path)


@pytest.mark.parametrize("first, target, device", BLOCKS)
def test_parts_of_complex_numbers(first: int, target: str, device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Products of complex numbers agree with the reference if one operand is read in place as an array of real and
    imaginary parts. The schedule for few rows is forced.
    """
    of = DEVICES[device]
    assert of.panels
    monkeypatch.setitem(schedule.DEVICES, device, replace(of, panels=of.panels._replace(complex_least=1 << 30, least_steps=1)))
    texts = drawn(first + 900, BATCH, [(t, t, t) for t in ("c64", "c128")])
    assert any(buffer.parts for text in texts.values() for fusion in fusions(text)
               for nest in nests.planned(fusion, schedule.DEVICES[device].plan_class).nests
               if isinstance(nest, contraction.Contraction) for buffer in (nest.single, nest.units))
    agree(texts, target, device, tmp_path)


@pytest.mark.parametrize("first, target, device", PRODUCTS)
def test_complex(first: int, target: str, device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Products of complex numbers agree with the reference, also with few rows, where the schedule computes with real
    and imaginary parts.
    """
    of = DEVICES[device]
    if of.panels:
        monkeypatch.setitem(schedule.DEVICES, device, replace(of, panels=of.panels._replace(complex_least=1)))
    agree(drawn(first + 600, BATCH, [(t, t, t) for t in ("c64", "c128")]), target, device, tmp_path)


def test_partial_sums_of_complex_products_may_overflow(tmp_path: Path) -> None:
    """A sum has the terms -inf and two large finite terms, whose sum overflows. A kernel that adds the finite terms
    first gives NaN, so the reference must not demand a value.
    """
    agree({"e7622": """HloModule e7622

ENTRY e {
  lhs0p = c64[12,47]{1,0} parameter(0)
  lhs0 = c64[12,47,8]{2,1,0} broadcast(lhs0p), dimensions={0,1}
  rhs2 = c64[12,16,8]{1,0,2} parameter(1)
  d = c64[12,47,16]{2,1,0} dot(lhs0, rhs2), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={2}
  xe0 = c64[12,47,16]{0,1,2} parameter(2)
  ROOT e0 = c64[12,47,16]{2,1,0} subtract(d, xe0)
}
"""}, "c", "cpu", tmp_path)


def test_whole_and_other_sums_of_complex_products(tmp_path: Path) -> None:
    """In the real part, one accumulator adds products of integers and products of fractions. Its sum is rounded,
    although a sum of the integer products alone would be exact.
    """
    agree({"whole": """HloModule whole

ENTRY e {
  a = u8[20,128] parameter(0)
  b = f32[20,128] parameter(1)
  c = u8[128,24] parameter(2)
  d = f32[128,24] parameter(3)
  af = f32[20,128] convert(a)
  cf = f32[128,24] convert(c)
  t = f32[20,128] tanh(b)
  u = f32[128,24] tanh(d)
  x = c64[20,128] complex(af, t)
  y = c64[128,24] complex(cf, u)
  ROOT z = c64[20,24] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
"""}, "c", "cpu", tmp_path)


def compile_for(machine: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile kernels with the flags `machine` instead of -march=native. Skip if the compiler does not know them."""
    compiler, *words = c_compiler(), *machine.split()
    if platform.machine() != "x86_64" or subprocess.run([compiler, *words, "-fsyntax-only", "-x", "c", "/dev/null"],
                                                        capture_output=True).returncode:
        pytest.skip(f"SKIP: no compiler for {machine}")
    other = folder / "other-cc"
    other.write_text(f'#!/bin/sh\ncase " $* " in *" -march=native "*) set -- "$@" {machine};; esac\nexec {compiler} "$@"\n')
    other.chmod(0o755)
    monkeypatch.setenv("CC", str(other))


# flags for machines with different instructions
NO_AMX = "-march=native -mno-amx-tile"
GROUPS = ("bf16", "s8", "u8")    # types of which one instruction adds up a group of products
MACHINES = ["-march=x86-64", "-march=x86-64-v2", "-march=x86-64-v3", NO_AMX]
if "avx512bw" in Path("/proc/cpuinfo").read_text():
    MACHINES.append("-march=x86-64-v4")


@pytest.mark.parametrize("machine", ["", *(pytest.param(machine, marks=pytest.mark.peer) for machine in MACHINES)])
@pytest.mark.parametrize("groups", [GROUPS, pytest.param((), marks=pytest.mark.peer)])
def test_numbers(machine: str, groups: "tuple[str, ...]", tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Products of integers are exact with the instructions of each machine."""
    if machine:
        compile_for(machine, tmp_path, monkeypatch)
    small(monkeypatch, Panels(1, 1, 1, 0, 0, in_place_columns=1, groups=groups))
    agree(drawn(SEED * 1000 + 300, 2 * BATCH, NUMBERS), "c", "cpu", tmp_path)


@pytest.mark.skipif(platform.machine() != "x86_64" or "fma" not in Path("/proc/cpuinfo").read_text(), reason="SKIP: no FMA")
@pytest.mark.parametrize("compiler, flags", [("gcc", "-O3"), *(pytest.param(*case, marks=pytest.mark.peer) for case in (
    ("gcc", "-O0"), ("gcc", "-O2 -fPIC -masm=intel"), ("clang", "-O0"), ("clang", "-O3"), ("clang", "-O2 -masm=intel")))])
def test_loops_in_assembler_text(compiler: str, flags: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The loops of tiles in assembler text agree with the reference, whatever the compiler's options and its dialect of
    assembler: with fewer rows than a tile, fewer steps than the loop takes at once, and steps in several runs.
    """
    if not shutil.which(compiler):
        pytest.skip(f"SKIP: no {compiler}")
    monkeypatch.setenv("CC", compiler)
    compile_for(f"-march=x86-64-v3 {flags}", tmp_path, monkeypatch)
    sizes = ((3, 64, 2, "f32"), (5, 64, 3, "f64"), (6, 48, 4, "f32"), (50, 100, 37, "f32"), (23, 40, 70, "f64"), (97, 192, 515, "f32"), (97, 96, 515, "f64"))
    texts = {f"e{n}": dot(f"{t}[{rows},{steps}]{{1,0}}", f"{t}[{steps},{columns}]{{1,0}}", f"{t}[{rows},{columns}]{{1,0}}", ROWS).replace(
        "HloModule e", f"HloModule e{n}") for n, (rows, columns, steps, t) in enumerate(sizes)}
    texts["window"] = """HloModule window

ENTRY e {
  x = f32[1,9,11,20]{3,2,1,0} parameter(0)
  w = f32[3,3,20,64]{3,2,1,0} parameter(1)
  ROOT y = f32[1,9,11,64]{3,2,1,0} convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
}
"""
    panels = Panels(1, 1, 1, 0, 0, in_place_columns=1, dot_rows=0)
    monkeypatch.setitem(schedule.DEVICES, "cpu", replace(DEVICES["cpu"], panels=panels))
    loops = [target_file(fusion, "c", "cpu").text for text in texts.values() for fusion in fusions(text)]
    assert sum("FMA_TILE_ROWS(UNITS)" in text for text in loops) > len(loops) // 2
    agree(texts, "c", "cpu", tmp_path)
    small(monkeypatch, panels)
    agree(texts, "c", "cpu", tmp_path)


def of_groups(seed: int) -> str:
    """Return a random product of bf16 numbers or 8-bit integers. Each row of the right operand is contiguous."""
    r = random.Random(seed)
    kinds = r.choice([("bf16", "bf16", "f32"), ("s8", "s8", "s32"), ("u8", "s8", "s32"), ("s8", "u8", "s32"), ("u8", "u8", "s32")])
    group, batch = 2 if kinds[0] == "bf16" else 4, r.choice([[], [], [r.randint(2, 3)]])
    m, n, k = r.choice([1, 2, 7, 31, 32, 33, 50, 97]), r.choice([16, 17, 33, 48, 80, 100, 129, 160]), group * r.choice([1, 3, 8, 17, 33, 40])
    at = len(batch)
    left, right = ([m, k], at + 1) if r.random() < 0.7 else ([k, m], at), [k, n]
    shapes = [plain(kinds[0], [*batch, *left[0]]), plain(kinds[1], [*batch, *right]), plain(kinds[2], [*batch, m, n])]
    words = f"lhs_contracting_dims={{{left[1]}}}, rhs_contracting_dims={{{at}}}" + ", lhs_batch_dims={0}, rhs_batch_dims={0}" * at
    more = [f"  r = {shapes[2]} add(d, d)"] * (r.random() < 0.3)
    return dot(*shapes, words, *more).replace("HloModule e", f"HloModule e{seed}")


@pytest.mark.parametrize("machine", ["", NO_AMX, *(pytest.param(machine, marks=pytest.mark.peer) for machine in MACHINES if machine != NO_AMX)])
def test_panels_of_groups(machine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In products of narrow numbers, the numbers that one instruction multiplies (a group) are not adjacent in memory.
    A work-item first copies them next to each other, and the results agree with the reference. The cases have sums in
    several chunks, blocks of columns, and a last vector of columns that overlaps the vector before it.
    """
    if machine:
        compile_for(machine, tmp_path, monkeypatch)
    small(monkeypatch, Panels(1, 1, 1, 0, 0, few_narrow_rows=0, in_place_columns=1, groups=GROUPS, group_units=(4, 3, 2), item_rows=1 << 20,
                              turned_share=1 << 20), panel_of_groups=(5, 7), line_steps=18, wide_groups=6)
    texts = {f"e{seed}": of_groups(seed) for seed in range(SEED * 1000, SEED * 1000 + 4 * BATCH)}
    apart = [nest.apart for text in texts.values() for fusion in fusions(text) for nest in nests.planned(
        fusion, schedule.DEVICES["cpu"].plan_class).nests if isinstance(nest, contraction.Contraction)]
    assert sum(step > 1 for step in apart) > len(texts) // 2, apart
    agree(texts, "c", "cpu", tmp_path)


@pytest.mark.peer
@pytest.mark.skipif(not shutil.which("clang"), reason="SKIP: no clang")
def test_matrix_instructions_of_clang(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Products use matrix instructions (AMX) with clang, too. (clang's macros for AMX have other names than gcc's.)"""
    texts = {name: dot(f"{t}[33,70]{{1,0}}", f"{t}[70,40]{{1,0}}", f"{result}[33,40]{{1,0}}", ROWS).replace(
        "HloModule e", f"HloModule {name}") for name, t, result in (("floats", "bf16", "f32"), ("bytes", "s8", "s32"))}
    for (name, text), word in zip(texts.items(), ("tdpbf16ps", "tdpbssd")):
        (tmp_path / f"{name}.hlo").write_text(text)
        assert gen("build", str(tmp_path / f"{name}.hlo"), "-o", str(tmp_path), "--target", "c").returncode == 0
        made = subprocess.run(["clang", "-std=c11", "-O1", "-march=sapphirerapids", "--target=x86_64-linux-gnu", "-S", "-o", "-",
                               str(tmp_path / f"{name}.c")], capture_output=True, text=True, check=True)
        assert word in made.stdout
    monkeypatch.setenv("CC", "clang")
    agree(texts, "c", "cpu", tmp_path)


@in_parts
@pytest.mark.parametrize("target, device", marked(ON_CPUS))
def test_truth_values(target: str, device: str, part: str, tmp_path: Path) -> None:
    """Products of truth values, such as a step of a reachability, are computed in register tiles."""
    texts = {f"t{m}_{n}_{k}_{steps}": dot(f"pred[{m},{k}]{{{order}}}", f"pred[{k},{n}]{{1,0}}", f"pred[{m},{n}]{{1,0}}", ROWS).replace(
        "HloModule e", f"HloModule t{m}_{n}_{k}_{steps}") for (m, n, k), (steps, order) in itertools.product(
            [(40, 70, 33), (9, 16, 256), (4, 130, 512)], enumerate(["1,0", "0,1"]))}
    texts["window"] = """HloModule window

ENTRY e {
  a = pred[2,9,10,5]{3,2,1,0} parameter(0)
  b = pred[3,3,5,32]{3,2,1,0} parameter(1)
  ROOT d = pred[2,9,10,32]{3,2,1,0} convolution(a, b), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
}
"""
    assert all("contraction" in written_by(fusion, "c", "cpu") for text in texts.values() for fusion in fusions(text))
    agree(texts, target, device, tmp_path, part)


@pytest.mark.peer
@pytest.mark.parametrize("machine", MACHINES)
def test_small_matrices_by_other_instructions(machine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compile_for(machine, tmp_path, monkeypatch)
    agree(drawn(SEED * 1000 + 900, 2 * BATCH, FLOATS, True), "c", "cpu", tmp_path)


@pytest.mark.peer
@pytest.mark.parametrize("groups", [GROUPS, ()])
def test_numbers_in_opencl(groups: "tuple[str, ...]", tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small(monkeypatch, Panels(1, 1, 1, 0, 0, in_place_columns=1, groups=groups))
    agree(drawn(SEED * 1000 + 300, 2 * BATCH, NUMBERS), "opencl", "pocl-cpu", tmp_path)


@pytest.mark.parametrize("machine", ["", NO_AMX])
def test_products_of_least_numbers(machine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Products of subnormal bf16 numbers are within the bound, although the instructions for bf16 flush subnormal
    operands to zero.
    """
    if machine:
        compile_for(machine, tmp_path, monkeypatch)
    agree({"least": dot("bf16[40,50]{1,0}", "bf16[50,64]{1,0}", "bf16[50,64]{1,0}", "", "  s = bf16[] constant(1e-39)",
                        "  t = bf16[50,64]{1,0} broadcast(s), dimensions={}", "  x = bf16[50,64]{1,0} multiply(b, t)",
                        f"  y = f32[40,64]{{1,0}} dot(a, x), {ROWS}").replace(
                            "  d = bf16[50,64]{1,0} dot(a, b), \n", "").replace("HloModule e", "HloModule least")}, "c", "cpu", tmp_path)


@pytest.mark.parametrize("target, device", marked(ON_CPUS))
@pytest.mark.parametrize("left, right", [("s8", "s8"), ("s8", "u8"), ("u8", "s8"), ("u8", "u8"), ("s32", "s32")])
def test_extreme_integers(left: str, right: str, target: str, device: str, tmp_path: Path) -> None:
    """Products of the smallest and the largest integers are exact, although sums of pairs do not fit in 16 bits."""
    def ends(name: str, kind: str, dims: str) -> "List[str]":
        of = {"s8": (-128, 127), "u8": (0, 255), "s32": (-2**31, 2**31 - 1)}[kind]
        return [f"  {name}i = s32[{dims}]{{1,0}} parameter({'ab'.index(name)})", f"  {name}z = s32[] constant(0)",
                f"  {name}zs = s32[{dims}]{{1,0}} broadcast({name}z), dimensions={{}}",
                f"  {name}c = pred[{dims}]{{1,0}} compare({name}i, {name}zs), direction=LT",
                *(line for end, value in zip("lm", of) for line in (
                    f"  {name}{end} = {kind}[] constant({value})",
                    f"  {name}{end}s = {kind}[{dims}]{{1,0}} broadcast({name}{end}), dimensions={{}}")),
                f"  {name} = {kind}[{dims}]{{1,0}} select({name}c, {name}ls, {name}ms)"]
    lines = [*ends("a", left, "20,70"), *ends("b", right, "70,40"), f"  ROOT d = s32[20,40]{{1,0}} dot(a, b), {ROWS}"]
    agree({"ends": "HloModule ends\n\nENTRY e {\n" + "\n".join(lines) + "\n}\n"}, target, device, tmp_path)


@pytest.mark.parametrize("first, target, device", BLOCKS)
def test_small_blocks_in_panels(first: int, target: str, device: str, tmp_path: Path,
                                monkeypatch: pytest.MonkeyPatch) -> None:
    small(monkeypatch, Panels(1, 1, 1, 0, 0, in_place_columns=1, small_steps=0))
    agree(drawn(first + 500, BATCH), target, device, tmp_path)


def of_rows(seed: int) -> str:
    """Return a random product of matrices with contiguous rows, sometimes with an addition after it."""
    r = random.Random(seed)
    t, batch = r.choice(["f32", "f32", "f64", "s32"]), r.choice([[], [], [3]])
    m, n, k = (r.randint(least, 70) for least in (1, 33, 1))
    words = f"lhs_contracting_dims={{{1 + len(batch)}}}, rhs_contracting_dims={{{len(batch)}}}"
    words += ", lhs_batch_dims={0}, rhs_batch_dims={0}" if batch else ""
    text = dot(plain(t, [*batch, m, k]), plain(t, [*batch, k, n]), plain(t, [*batch, m, n]), words)
    return text if r.random() < 0.5 else text.replace("ROOT d =", "d =").replace(
        "\n}", f"\n  ROOT twice = {plain(t, [*batch, m, n])} add(d, d)\n}}")


@pytest.mark.peer
@pytest.mark.parametrize("target, device", marked(ON_CPUS))
def test_panels_of_their_own(target: str, device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # skinny={}: otherwise operands of up to 64 rows would be read in place, not from panels (packed copies)
    small(monkeypatch, Panels(1, 1, 1, 0, 0, dot_rows=1 << 30, units=(1,)), skinny={})
    texts = {f"r{seed}": of_rows(seed).replace("HloModule e", f"HloModule r{seed}") for seed in range(2 * COUNT)}
    schedules = [grid.loop for text in texts.values() for fusion in fusions(text)
                 for choice, grid in decided(fusion, target, device) if (grid.written_by or choice.hero.name) == "contraction"]
    assert sum(isinstance(of, ContractionSchedule) and of.packed for of in schedules) > len(texts) // 2
    agree(texts, target, device, tmp_path)


@pytest.mark.parametrize("first, target, device", BLOCKS)
def test_small_blocks_in_place(first: int, target: str, device: str, tmp_path: Path,
                               monkeypatch: pytest.MonkeyPatch) -> None:
    small(monkeypatch, Panels(1, 1, 1, 1 << 30, 0, long_sum=48, sum_parts=4))
    agree(drawn(first + 700, BATCH), target, device, tmp_path)


def few_rows(seed: int, sums: bool) -> str:
    """Return a product of few rows. If `sums`, its lanes must have separate sums; otherwise its tiles must convert
    narrow types. The product is drawn from the first seed, from `seed` on, that gives such a product.
    """
    types = [("f32", "f32", "f32"), ("f64", "f64", "f64")] if sums else [
        (a, b, c) for a, b in itertools.product(("f32", "bf16", "s8", "u8"), repeat=2) for c in ("f32", "bf16")]
    for each in itertools.count(seed):
        text = FewRows(each, types).text()
        (fusion,) = fusions(text)
        if any((nest.wide == 0 and nest.next_unit != nest.unit) if sums else nest.units.shape.dtype != nest.dot.shape.dtype
               for nest in tiled(fusion)):
            return text
    raise AssertionError


def all_few_rows(first: int, count: int) -> "Dict[str, str]":
    return {f"e{n}": few_rows(1000 * (first + n), n % 2 == 0).replace("HloModule e", f"HloModule e{n}") for n in range(count)}


class Turned(Draw):
    """A product of narrow types. Both operands are contiguous along the summed dimension; one usually has more rows."""

    def sizes(self, small: bool) -> "List[List[int]]":
        r = self.r
        few = [[r.randint(1, 70)], [r.choice([2, 3, 15, 16, 17])], [2, r.randint(2, 20)]]
        return [r.choice([[], [], [2]]), *r.sample([r.choice(few), [r.randint(1, 70)]], 2), [4 * r.randint(1, 40)]]

    def operand(self, side: str, kept: "List[int]") -> "tuple[str, str, List[int]]":
        dims, name, batch = [*self.batch, *kept, *self.k], f"{side}{len(self.lines)}", range(len(self.batch))
        self.lines.append(f"  {name} = {plain(self.dtype, dims)} parameter({self.parameters()})")
        words = [f"{side}_batch_dims={{{','.join(map(str, batch))}}}"] * len(self.batch)
        return name, ", ".join([*words, f"{side}_contracting_dims={{{len(dims) - 1}}}"]), kept


def turned(seed: int) -> str:
    """Return a product of which the operand with more rows is read in place. Seeds from 1000 * seed on are tried until
    one gives such a product.
    """
    types = [of for of in NUMBERS if of[0] in GROUPS and of[1] in GROUPS]
    for each in range(1000 * seed, 1000 * seed + 100):
        text = Turned(each, types).text()
        (fusion,) = fusions(text)
        if any(nest.group > 1 and nest.single.role is Role.PARAMETER and nest.row.size >= nest.columns for nest in tiled(fusion)):
            return text.replace("HloModule e", f"HloModule e{seed}")
    raise AssertionError


@pytest.mark.parametrize("first, target, device", BLOCKS)
def test_turned(first: int, target: str, device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a matrix of a narrow type is read in place, the other operand is copied into panels and the result is
    transposed. Such products agree with the reference.
    """
    small(monkeypatch, Panels(1, 1, 1, groups=GROUPS, group_units=(4, 3, 2), turned_rows=2))
    agree({f"e{seed}": turned(seed) for seed in range(first + 1000, first + 1000 + BATCH)}, target, device, tmp_path)


@pytest.mark.parametrize("first, target, device", BLOCKS)
def test_few_rows(first: int, target: str, device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A product of few rows reads the matrix in place if the matrix is contiguous along the summed dimension, or if its
    type is narrow. Such products agree with the reference.
    """
    small(monkeypatch, Panels(1, 1, 1, 0))
    agree(all_few_rows(first, BATCH), target, device, tmp_path)


@pytest.mark.peer
@pytest.mark.parametrize("machine", MACHINES)
def test_few_rows_on(machine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compile_for(machine, tmp_path, monkeypatch)
    small(monkeypatch, Panels(1, 1, 1, 0))
    agree(all_few_rows(SEED * 1000 + 400, 3 * BATCH), "c", "cpu", tmp_path)


@pytest.mark.parametrize("first, target, device", BLOCKS)
def test_convolutions(first: int, target: str, device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small(monkeypatch, Panels(1, 1, 1, 1 << 14))
    agree({f"c{seed}": convolution(seed).replace("HloModule e", f"HloModule c{seed}")
           for seed in range(first, first + BATCH)}, target, device, tmp_path)


def dot(a: str, b: str, d: str, words: str, *more: str) -> str:
    lines = [f"  a = {a} parameter(0)", f"  b = {b} parameter(1)", f"  d = {d} dot(a, b), {words}", *more]
    lines[-1] = lines[-1].replace("  ", "  ROOT ", 1)
    return "HloModule e\n\nENTRY e {\n" + "\n".join(lines) + "\n}\n"


ROWS = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
TURNED = "lhs_contracting_dims={1}, rhs_contracting_dims={1}"
BATCHED = "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}"


def of_read(a: str, b: str, read: str, d: str, words: str = BATCHED) -> str:
    """Return a product, by default of a batch of small matrices, whose second operand is read through the op `read`."""
    return dot(a, b, d, words).replace("  ROOT d =", f"  s = {read}\n  ROOT d =").replace("dot(a, b)", "dot(a, s)")


def as_dot(seed: int) -> str:
    """Return a random convolution that is equivalent to a dot: in each dimension of the image, the window has one
    element or one position.
    """
    r = random.Random(seed)
    rank, t = r.choice([1, 2, 2, 3]), r.choice(["f32", "f32", "f64", "s32"])
    batch, features, results = r.choice([1, 2, 3]), r.choice([1, 3, 8, 17]), r.choice([4, 8, 16, 17, 33, 40])
    image, size, out, words = [], [], [], []
    for _ in range(rank):
        count, step, rest, kept = r.choice([1, 2, 3, 5, 8, 14]), r.choice([1, 1, 2, 3]), r.choice([0, 0, 1, 2]), r.random() < 0.7
        rest = min(rest, step - 1) if kept else 0
        image.append((count - 1) * step + 1 + rest)
        size.append(1 if kept else count)
        out.append(count if kept else 1)
        words.append((step if kept else r.choice([1, 4]), 1 if kept or count == 1 else step))

    def labelled(letters: str, sizes: "List[int]") -> "tuple[str, str, List[int]]":
        of = [*letters, *map(str, range(rank))]
        order = [*range(rank + 2)]
        r.shuffle(order)
        minor = [*range(rank + 2)][::-1]
        if r.random() < 0.3:
            r.shuffle(minor)
        dims = [sizes[d] for d in order]
        return "".join(of[d] for d in order), f"{t}[{','.join(map(str, dims))}]{{{','.join(map(str, minor))}}}", dims

    x, x_shape, _ = labelled("bf", [batch, features, *image])
    w, w_shape, _ = labelled("io", [features, results, *size])
    y, y_shape, dims = labelled("bf", [batch, results, *out])
    window = " ".join(f"{name}={'x'.join(map(str, of))}" for name, of in (
        ("size", size), ("stride", [stride for stride, _ in words]), ("rhs_dilate", [dilation for _, dilation in words])))
    if r.random() < 0.2:    # a convolution with a reversed window is not turned into a dot
        window += f" rhs_reversal={'x'.join(r.choice('01') for _ in range(rank))}"
    lines = [f"  x = {x_shape} parameter(0)", f"  w = {w_shape} parameter(1)",
             f"  c = {y_shape} convolution(x, w), window={{{window}}}, dim_labels={x}_{w}->{y}"]
    if r.random() < 0.5:
        lines.append(f"  n = {plain(t, dims)} maximum(c, c)")
    lines[-1] = "  ROOT " + lines[-1].lstrip()
    return "HloModule e\n\nENTRY e {\n" + "\n".join(lines) + "\n}\n"


@pytest.mark.parametrize("first, target, device", PRODUCTS)
def test_convolutions_that_are_dots(first: int, target: str, device: str, tmp_path: Path) -> None:
    texts = {f"d{seed}": as_dot(seed).replace("HloModule e", f"HloModule d{seed}") for seed in range(first, first + BATCH)}
    agree(texts, target, device, tmp_path)


def gradient(seed: int) -> str:
    """Return a random convolution that sums over the images, like the gradient of weights."""
    r = random.Random(seed)
    images, size, stride, window = r.choice([2, 3, 4, 6]), r.choice([5, 8, 11]), r.choice([1, 1, 2]), r.choice([2, 3, 4])
    inputs, outputs, low, t = r.choice([3, 8, 17]), r.choice([16, 32, 33, 48, 64]), r.choice([0, 1]), r.choice(["f32", "f32", "f64", "s32"])
    depthwise = r.random() < 0.3
    inputs = outputs if depthwise else inputs
    out = (size + 2 * low - window) // stride + 1
    rest = window - (size + 2 * low - (out - 1) * stride)
    x, y, labels = r.choice([([images, size, size, inputs], [images, out, out, outputs], "f01b_i01o->01bf"),
                             ([images, inputs, size, size], [images, outputs, out, out], "fb01_io01->bf01"),
                             ([size, images, inputs, size], [outputs, out, out, images], "0fb1_o01i->b0f1")])
    sizes = {"b": 1 if depthwise else inputs, "f": outputs, "0": window, "1": window}
    grouped = f", batch_group_count={outputs}" if depthwise else ""
    y_shape = plain(t, [sizes[letter] for letter in labels.split("->")[1]])
    lines = [f"  x = {plain(t, x)} parameter(0)", f"  y = {plain(t, y)} parameter(1)",
             f"  c = {y_shape} convolution(x, y), window={{size={out}x{out} pad={low}_{low + rest}x{low}_{low + rest} "
             f"rhs_dilate={stride}x{stride}}}, dim_labels={labels}{grouped}"]
    if r.random() < 0.5:
        lines.append(f"  n = {y_shape} negate(c)")
    lines[-1] = "  ROOT " + lines[-1].lstrip()
    return "HloModule e\n\nENTRY e {\n" + "\n".join(lines) + "\n}\n"


@pytest.mark.parametrize("first, target, device", BLOCKS)
def test_parts_of_images(first: int, target: str, device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small(monkeypatch, Panels(1, 1, 1, 1 << 14, images_bytes=1, images_share=1))
    texts = {f"g{seed}": gradient(seed).replace("HloModule e", f"HloModule g{seed}") for seed in range(first, first + BATCH)}
    agree(texts, target, device, tmp_path)


def few_features(r: random.Random) -> str:
    """Return a random convolution with groups of few features. A vector of columns usually contains several groups."""
    t, kind, inputs, each = r.choice(["f32", "f32", "f64", "s32"]), r.choice(["feature", "batch"]), r.choice([1, 2, 3, 4, 8]), r.choice([2, 4, 8])
    groups, size, window, low = 16 // each * r.choice([1, 2, 3, 5]), r.choice([3, 5, 9]), r.choice([1, 2, 3]), r.choice([0, 1, 1])
    batch, stride, out_features = r.choice([1, 2]), r.choice([1, 2]), groups * each
    out = (size + 2 * low - window) // stride + 1
    x = [batch, size, size, groups * inputs] if kind == "feature" else [batch * groups, size, size, inputs]
    labels = r.choice(["b01f_01io->b01f", "b01f_01io->b01f", "bf01_oi01->bf01"])
    if labels[1] == "f":
        x, w, y = [x[0], x[3], size, size], [out_features, inputs, window, window], [batch, out_features, out, out]
    else:
        w, y = [window, window, inputs, out_features], [batch, out, out, out_features]
    lines = [f"  x = {plain(t, x)} parameter(0)", f"  w = {plain(t, w)} parameter(1)",
             f"  c = {plain(t, y)} convolution(x, w), window={{size={window}x{window} pad={low}_{low}x{low}_{low} stride={stride}x{stride}}}, "
             f"dim_labels={labels}, {kind}_group_count={groups}"]
    if r.random() < 0.5:
        lines.append(f"  n = {plain(t, y)} negate(c)")
    lines[-1] = "  ROOT " + lines[-1].lstrip()
    return "HloModule e\n\nENTRY e {\n" + "\n".join(lines) + "\n}\n"


def vectors_of_groups(text: str) -> "List[contraction.Contraction]":
    """Return the products whose vectors of columns contain several groups."""
    return [nest for fusion in fusions(text) for nest in tiled(fusion) if nest.part]


def all_few_features(first: int, count: int) -> "Dict[str, str]":
    """Return `count` random convolutions with groups of few features. Every fourth is any such convolution; in each of
    the others, a vector of columns contains several groups.
    """
    texts = {}
    for seed in range(first, first + count):
        draws = map(few_features, itertools.repeat(random.Random(seed)))
        text = next(text for text in draws if seed % BATCH == 0 or vectors_of_groups(text))
        texts[f"s{seed}"] = text.replace("HloModule e", f"HloModule s{seed}")
    return texts


@pytest.mark.parametrize("first, target, device", BLOCKS)
def test_groups_of_few_features(first: int, target: str, device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small(monkeypatch, Panels(1, 1, 1, 1 << 14))
    texts = all_few_features(first, BATCH)
    assert sum(len(vectors_of_groups(text)) for text in texts.values()) > len(texts) // 2
    agree(texts, target, device, tmp_path)


@pytest.mark.parametrize("machine", [pytest.param(machine, marks=pytest.mark.peer) for machine in MACHINES])
def test_groups_of_few_features_on(machine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compile_for(machine, tmp_path, monkeypatch)
    small(monkeypatch, Panels(1, 1, 1, 1 << 14))
    agree(all_few_features(SEED * 1000 + 600, 2 * BATCH), "c", "cpu", tmp_path)


def few_results(seed: int) -> str:
    """Return a random product with a small result and a long sum, whose operands usually have the summed dimension
    first.
    """
    r = random.Random(seed)
    t, m, n, k = r.choice(["f32", "f32", "f64", "s32"]), r.choice([17, 24, 33, 64, 70]), r.choice([16, 24, 40, 48, 64, 70]), r.choice([24, 40, 63, 64])
    words = "lhs_contracting_dims={0}, rhs_contracting_dims={0}" if r.random() < 0.7 else ROWS
    a = [k, m] if words[-2] == "0" and words != ROWS else [m, k]
    text = dot(plain(t, a), plain(t, [k, n]), plain(t, [m, n]), words)
    return text if r.random() < 0.5 else text.replace("ROOT d =", "d =").replace("\n}", f"\n  ROOT twice = {plain(t, [m, n])} add(d, d)\n}}")


@pytest.mark.parametrize("first, target, device", BLOCKS)
@pytest.mark.parametrize("bytes_", [0, 1 << 20])
def test_few_results_of_long_sums(first: int, target: str, device: str, bytes_: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small results of long sums agree with the reference if the sum is cut into parts, if blocks are whole rows (with
    or without a separate panel), and if the result is transposed.
    """
    small(monkeypatch, Panels(1, 1, 1, 0, 0, dot_rows=1 << 30, near_bytes=bytes_, part_steps=8, many_products=1, turned_result=0, whole_units=1.0))
    for name in ("cpu", "pocl-cpu"):
        numbers = replace(schedule.DEVICES[name].contraction_cpu, row_items=2, row_sets=1 if bytes_ else 64)
        monkeypatch.setitem(schedule.DEVICES, name, replace(schedule.DEVICES[name], contraction_cpu=numbers))
    texts = {f"f{seed}": few_results(seed).replace("HloModule e", f"HloModule f{seed}") for seed in range(first, first + BATCH)}
    assert any(len(nest.outer) > 1 for text in texts.values() for fusion in fusions(text) for nest in tiled(fusion))
    agree(texts, target, device, tmp_path)


@pytest.mark.parametrize("target, device", [pytest.param("c", "cpu"), pytest.param("opencl", "pocl-cpu", marks=pytest.mark.peer)])
def test_few_rows_whose_units_share_columns(target: str, device: str, tmp_path: Path) -> None:
    """Products of few rows agree with the reference if their sums are short and the last two units share columns of the
    result. Such a sum is not cut into chunks, because both units would add to the shared columns.
    """
    texts = {f"r{rows}_{steps}": dot(f"f32[{rows},{steps}]{{1,0}}", f"f32[{steps},1000]{{1,0}}", f"f32[{rows},1000]{{1,0}}", ROWS)
             .replace("HloModule e", f"HloModule r{rows}_{steps}") for rows in (2, 3, 5, 8) for steps in (9, 24, 32)}
    for text in texts.values():
        for _, grid in [of for fusion in fusions(text) for of in decided(fusion, target, device)]:
            assert isinstance(grid.loop, ContractionSchedule) and grid.loop.ahead and grid.loop.to, text
    agree(texts, target, device, tmp_path)


@pytest.mark.parametrize("target, device", [pytest.param("c", "cpu"), pytest.param("opencl", "pocl-cpu", marks=pytest.mark.peer)])
def test_few_rows_by_a_transposed_matrix(target: str, device: str, tmp_path: Path) -> None:
    """Products of few rows by a transposed matrix agree with the reference if the last tiles have fewer rows and columns
    than the others, if the last chunk has fewer steps, and with several dimensions along the sum.
    """
    texts = {}
    for rows, columns, steps, dtype in ((2, 67, 4096, "f32"), (3, 67, 4096, "f32"), (5, 1030, 560, "f32"), (7, 5, 8192, "f32"),
                                        (8, 1030, 1040, "f32"), (12, 259, 4112, "f32"), (17, 257, 4112, "f32"), (5, 515, 1000, "f64")):
        name = f"t{rows}_{columns}_{steps}"
        texts[name] = dot(f"{dtype}[{rows},{steps}]{{1,0}}", f"{dtype}[{columns},{steps}]{{1,0}}", f"{dtype}[{rows},{columns}]{{1,0}}",
                          TURNED).replace("HloModule e", f"HloModule {name}")
    texts["two"] = dot("f32[5,7,160]{2,1,0}", "f32[530,7,160]{2,1,0}", "f32[5,530]{1,0}",
                       "lhs_contracting_dims={1,2}, rhs_contracting_dims={1,2}").replace("HloModule e", "HloModule two")
    for rows, columns, steps in ((7, 67, 8192), (24, 70, 1168), (25, 5, 4112)):    # the sum goes along rows that are not adjacent
        name = f"apart{rows}"
        texts[name] = dot(f"f32[3,{rows},{steps}]{{2,1,0}}", f"f32[3,{columns},{steps}]{{2,1,0}}", f"f32[{rows},{columns}]{{1,0}}",
                          "lhs_contracting_dims={0,2}, rhs_contracting_dims={0,2}").replace("HloModule e", f"HloModule {name}")
    texts = dict(some(texts.items()))
    for text in texts.values():
        (fusion,) = fusions(text)
        assert "dots_tile_" in target_file(fusion, target, device).text, text
    agree(texts, target, device, tmp_path)


@pytest.mark.peer
@pytest.mark.skipif(platform.machine() != "x86_64" or not shutil.which("gcc"), reason="SKIP: no gcc for x86-64")
@pytest.mark.parametrize("dtype, m, n, k, words", [
    ("f32", 333, 333, 333, ROWS), ("f64", 200, 200, 200, ROWS), ("bf16", 256, 256, 256, ROWS), ("f32", 8, 4096, 4096, TURNED), ("f32", 17, 1000, 1000, TURNED),
    ("bf16", 16, 4096, 4096, TURNED)])
def test_sums_stay_in_registers(dtype: str, m: int, n: int, k: int, words: str, tmp_path: Path) -> None:
    """gcc for AVX2 stores no sum inside the inner loop of a tile. If it does, the next step waits for the stored sum."""
    b = f"{n},{k}" if words == TURNED else f"{k},{n}"
    text = dot(f"{dtype}[{m},{k}]{{1,0}}", f"{dtype}[{b}]{{1,0}}", f"{dtype}[{m},{n}]{{1,0}}", words)
    (tmp_path / "e.hlo").write_text(text)
    assert gen("build", str(tmp_path / "e.hlo"), "-o", str(tmp_path), "--target", "c").returncode == 0
    made = subprocess.run(["gcc", "-std=c11", "-O3", "-march=haswell", "-fno-math-errno", "-w", "-S", "-o", "-", str(tmp_path / "e.c")],
                          capture_output=True, text=True, check=True).stdout.splitlines()
    begins, loops = {}, []
    for at, line in enumerate(made):
        if match := re.match(r"(\.L\d+):", line):
            begins[match[1]] = at
        elif (match := re.match(r"\s+j\w+\s+(\.L\d+)$", line)) and match[1] in begins:
            loops.append(made[begins[match[1]]:at])
    inner = [loop for loop in loops if sum("vfmadd" in line for line in loop) >= 8 and not any(re.match(r"\.L\d+:", line) for line in loop[1:])]
    assert inner
    for loop in inner:
        assert not [line for line in loop if re.search(r"vmov\w+\s+%ymm\d+, .*\(%r[sb]p", line)], "\n".join(loop)


@pytest.mark.parametrize("target, device", [pytest.param("c", "cpu"), pytest.param("opencl", "pocl-cpu", marks=pytest.mark.peer)])
def test_panels_of_groups_of_units(target: str, device: str, tmp_path: Path) -> None:
    """Products whose work-items copy groups of units to panels agree with the reference if the last group has fewer
    units, if the last two units share columns, if the last tiles have fewer rows, if the last chunk has fewer steps, and
    with several dimensions along the sum.
    """
    texts = {}
    for rows, columns, steps, dtype in ((13, 1030, 300, "f32"), (16, 1168, 256, "f32"), (17, 517, 1000, "f32"), (31, 2064, 333, "f32"),
                                        (64, 272, 300, "f32"), (70, 1030, 300, "f32"), (97, 400, 1111, "f32"), (200, 272, 260, "f32"),
                                        (19, 515, 300, "f64"), (99, 267, 300, "f64")):
        name = f"g{rows}_{columns}_{steps}"
        texts[name] = dot(f"{dtype}[{rows},{steps}]{{1,0}}", f"{dtype}[{steps},{columns}]{{1,0}}", f"{dtype}[{rows},{columns}]{{1,0}}",
                          ROWS).replace("HloModule e", f"HloModule {name}")
    for rows in (20, 75):
        texts[f"two{rows}"] = dot(f"f32[3,{rows},300]{{2,1,0}}", "f32[3,300,1030]{2,1,0}", f"f32[{rows},1030]{{1,0}}",
                                  "lhs_contracting_dims={0,2}, rhs_contracting_dims={0,1}").replace("HloModule e", f"HloModule two{rows}")
    texts = dict(some(texts.items()))
    for text in texts.values():
        (fusion,) = fusions(text)
        assert "_units(fetched" in target_file(fusion, target, device).text, text
    agree(texts, target, device, tmp_path)


@pytest.mark.parametrize("target, device", [pytest.param("c", "cpu"), pytest.param("opencl", "pocl-cpu", marks=pytest.mark.peer)])
def test_many_rows_by_few_columns(target: str, device: str, tmp_path: Path) -> None:
    """Products of many rows by a matrix of few columns, such as points by a rotation, are batches of small products,
    and agree with the reference. The first operand has the rows or the columns; several dimensions are rows, columns,
    or summed over; an epilogue follows; the number of rows is odd, or a prime, so that each small product has one row.
    """
    added = ("  p = f32[3] parameter(2)", "  c = f32[770,3] broadcast(p), dimensions={1}", "  r = f32[770,3] add(d, c)")
    cases = {
        "points": dot("f32[999,3]{1,0}", "f32[3,3]{1,0}", "f32[999,3]{1,0}", ROWS),
        "prime": dot("f32[997,3]{1,0}", "f32[3,3]{1,0}", "f32[997,3]{1,0}", ROWS),
        "prime_second": dot("f64[3,9]{1,0}", "f64[127,9]{1,0}", "f64[3,127]{0,1}", TURNED),
        "prime_bytes": dot("s8[211,4]{1,0}", "s8[4,8]{1,0}", "s32[211,8]{1,0}", ROWS),
        "prime_long": dot("f32[5,600]{1,0}", "f32[600,6]{1,0}", "f32[5,6]{1,0}", ROWS),
        "turned": dot("f32[770,3]{1,0}", "f32[3,3]{1,0}", "f32[770,3]{1,0}", TURNED),
        "moved": dot("f32[770,3]{1,0}", "f32[3,3]{1,0}", "f32[770,3]{1,0}", ROWS, *added),
        "pixels": dot("f32[20,35,3]{2,1,0}", "f32[3,3]{1,0}", "f32[20,35,3]{2,1,0}", "lhs_contracting_dims={2}, rhs_contracting_dims={0}"),
        "planes": dot("f32[3,20,35]{2,1,0}", "f32[3,4]{1,0}", "f32[20,35,4]{2,1,0}", "lhs_contracting_dims={0}, rhs_contracting_dims={0}"),
        "second": dot("f32[5,8]{1,0}", "f32[768,8]{1,0}", "f32[5,768]{0,1}", TURNED),
        "sums": dot("f32[600,3,4]{2,1,0}", "f32[3,2,4]{2,1,0}", "f32[600,2]{1,0}", "lhs_contracting_dims={1,2}, rhs_contracting_dims={0,2}"),
        "columns": dot("f32[600,5]{1,0}", "f32[5,2,3]{2,1,0}", "f32[600,2,3]{2,1,0}", ROWS), "long": dot(
            "f32[660,100]{1,0}", "f32[100,7]{1,0}", "f32[660,7]{1,0}", ROWS), "eight": dot("f32[200,9]{1,0}", "f32[9,8]{1,0}", "f32[200,8]{1,0}", ROWS),
        "doubles": dot("f64[770,4]{1,0}", "f64[4,3]{1,0}", "f64[770,3]{1,0}", ROWS), "bytes": dot("s8[770,4]{1,0}", "s8[4,3]{1,0}", "s32[770,3]{1,0}", ROWS),
        "narrow": dot("bf16[770,6]{1,0}", "bf16[6,5]{1,0}", "bf16[770,5]{1,0}", ROWS)}
    texts = {name: text.replace("HloModule e", f"HloModule {name}") for name, text in cases.items()}
    for name, text in texts.items():
        assert any(isinstance(nest, SmallProduct) for fusion in fusions(text)
                   for nest in nests.planned(fusion, schedule.DEVICES[device].plan_class).nests), name
    agree(texts, target, device, tmp_path)


def test_chunks_without_remaining_steps() -> None:
    """All chunks have equally many steps, a multiple of the unrolled steps, if this needs few more chunks."""
    for size, most, unrolled, steps in ((128, 128, 4, 128), (1000, 128, 4, 100), (1000, 128, 2, 100), (2000, 128, 4, 100), (3000, 128, 2, 120),
                                        (333, 128, 4, 111), (125, 128, 2, 125), (500, 256, 4, 250), (300, 256, 2, 150), (300, 256, 4, 100),
                                        (1001, 32, 4, 32), (7, 8, 4, 7)):
        assert _chunk(size, most, unrolled) == steps, (size, most, unrolled)
    for size in range(1, 600):
        for most in (8, 32, 128):
            steps = _chunk(size, most, 4)
            assert 1 <= steps <= most and -(-size // steps) <= 1.5 * -(-size // most)


@pytest.mark.parametrize("target, device", [pytest.param("c", "cpu"), pytest.param("opencl", "pocl-cpu", marks=pytest.mark.peer)])
def test_depthwise_rows_of_less_than_two_units(target: str, device: str, tmp_path: Path) -> None:
    """A depthwise convolution agrees with the reference if a row has a whole vector of columns and a second vector that
    overlaps it; both are read in place from the convolution's base (its input).
    """
    texts = {}
    for t, features in (("f32", 17), ("f32", 31), ("f64", 9)):
        for kind, base, out, labels in (("feature", [4, 20, features], 4, "b0f_0io->b0f"), ("batch", [features, 20, 4], 1, "b0f_0io->b0f"),
                                        ("batch", [4, 20, features], 1, "f0b_0io->b0f")):
            taps, inputs, name = 16, base[-1 if labels[0] == "b" else 0] if kind == "batch" else 1, f"{kind}{labels[0]}_{t}_{features}"
            lines = [f"  x = {plain(t, base)} parameter(0)", f"  w = {plain(t, [taps, inputs, features])} parameter(1)",
                     f"  ROOT c = {plain(t, [out, 20, features])} convolution(x, w), window={{size={taps} pad=7_8}}, dim_labels={labels}, "
                     f"{kind}_group_count={features}"]
            texts[name] = f"HloModule {name}\n\nENTRY e {{\n" + "\n".join(lines) + "\n}\n"
    found = [nest for text in texts.values() for fusion in fusions(text) for nest in tiled(fusion)]
    assert len(found) == len(texts) and all(nest.wide == nest.unit and nest.overlap for nest in found)
    agree(texts, target, device, tmp_path)


def test_a_long_row_of_sums_of_one_term(tmp_path: Path) -> None:
    """If the second element of a window is always in the padding, each sum has one term, and no loop is needed."""
    text = """HloModule one_term

ENTRY e {
  x = f32[1,4,1]{2,1,0} parameter(0)
  w = f32[2,1,70000]{2,1,0} parameter(1)
  ROOT c = f32[1,4,70000]{2,1,0} convolution(x, w), window={size=2 rhs_dilate=5 pad=0_5}, dim_labels=b0f_0io->b0f
}
"""
    (fusion,) = fusions(text)
    (nest,) = tiled(fusion)
    assert not nest.steps
    agree({"one_term": text}, "c", "cpu", tmp_path)


def test_large_images_are_summed_in_parts() -> None:
    """In the gradient of weights, the sum over images is cut into one part per image if the images have many more bytes
    than the weights.
    """
    for images, size, groups in ((2, 56, 2), (2, 14, 1), (3, 56, 3)):
        (fusion,) = fusions(f"""HloModule e

ENTRY e {{
  x = f32[{images},{size},{size},64]{{3,2,1,0}} parameter(0)
  y = f32[{images},{size},{size},64]{{3,2,1,0}} parameter(1)
  ROOT c = f32[3,3,64,64]{{3,2,1,0}} convolution(x, y), window={{size={size}x{size} pad=1_1x1_1}}, dim_labels=f01b_i01o->01bf
}}
""")
        (nest,) = tiled(fusion)
        assert nest.dot.attributes.get("feature_group_count", 1) == groups and nest.units.pointer == "p1", (images, size)


def test_pixels_are_one_dimension() -> None:
    """A convolution with a window of one element becomes a dot, in which the pixels of an image are one dimension."""
    for labels, x, w, y, columns in (("bf01_oi01->bf01", "2,12,20,18", "30,12,1,1", "2,30,20,18", 360),
                                     ("b01f_01io->b01f", "2,20,18,12", "1,1,12,30", "2,20,18,30", 30)):
        (fusion,) = fusions(f"HloModule e\n\nENTRY e {{\n  x = f32[{x}]{{3,2,1,0}} parameter(0)\n  w = f32[{w}]{{3,2,1,0}} parameter(1)\n"
                            f"  ROOT c = f32[{y}]{{3,2,1,0}} convolution(x, w), window={{size=1x1}}, dim_labels={labels}\n}}\n")
        (nest,) = tiled(fusion)
        assert nest.columns == columns and not nest.windows and nest.dot.opcode == "dot"
    for labels, x, w, y, stride, opcode in (("bf01_io01->bf01", "2,12,7,7", "12,400,1,1", "2,400,7,7", 1, "convolution"),   # few pixels compared with the features, so the rows of the product are features
                                            ("bf01_oi01->bf01", "2,12,40,36", "30,12,1,1", "2,30,20,18", 2, "dot")):     # with a stride, the pixels are copied side by side first
        (fusion,) = fusions(f"HloModule e\n\nENTRY e {{\n  x = f32[{x}]{{3,2,1,0}} parameter(0)\n  w = f32[{w}]{{3,2,1,0}} parameter(1)\n"
                            f"  ROOT c = f32[{y}]{{3,2,1,0}} convolution(x, w), window={{size=1x1 stride={stride}x{stride}}}, dim_labels={labels}\n}}\n")
        assert [nest.dot.opcode for nest in tiled(fusion)] == [opcode]


CONVOLUTION = """HloModule e

ENTRY e {{
  x = f32[2,{0}]{{3,2,1,0}} parameter(0)
  w = f32[3,3,12,20]{{3,2,1,0}} parameter(1)
  ROOT c = f32[2,{1}]{{3,2,1,0}} convolution(x, w), window={{{2}}}, dim_labels=b01f_01io->b01f
}}
"""


def of_taps(x: str, w: str, c: str, words: str, *more: str) -> str:
    """Return a convolution with few output features."""
    return dot(x, w, c, words, *more).replace("dot(", "convolution(")


# For each case: the heroes (kernel emitters) that write the kernels of a product, and its HLO text.
NAMED: "Dict[str, tuple[List[str], str]]" = {
    "in_place": (["contraction"], dot("f32[40,50]{1,0}", "f32[50,64]{1,0}", "f32[40,64]{1,0}", ROWS)),
    "cut_columns": (["contraction"], dot("f32[40,50]{1,0}", "f32[50,70]{1,0}", "f32[40,70]{1,0}", ROWS)),
    "few_columns": (["loop", "contraction"], dot("f32[40,50]{1,0}", "f32[50,10]{1,0}", "f32[40,10]{1,0}", ROWS)),
    "of_rows": (["transpose", "contraction"], dot("f32[40,50]{1,0}", "f32[64,50]{1,0}", "f32[40,64]{1,0}", TURNED)),
    "columns_of_a": (["contraction"], dot("f32[50,40]{1,0}", "f32[50,64]{1,0}", "f32[40,64]{1,0}",
                                          "lhs_contracting_dims={0}, rhs_contracting_dims={0}")),
    "result_by_columns": (["transpose", "transpose", "contraction"],
                          dot("f32[40,50]{1,0}", "f32[50,64]{1,0}", "f32[40,64]{0,1}", ROWS)),
    "batched": (["contraction"], dot("f64[5,9,12]{2,1,0}", "f64[5,12,16]{2,1,0}", "f64[5,9,16]{2,1,0}", BATCHED)),
    "skinny": (["contraction"], dot("f32[3,70]{1,0}", "f32[70,700]{1,0}", "f32[3,700]{1,0}", ROWS)),
    "skinny_in_two_pieces": (["contraction"], dot("f32[12,300]{1,0}", "f32[300,1101]{1,0}", "f32[12,1101]{1,0}", ROWS)),
    "complex": (["concatenate", "loop", "contraction", "loop"], dot("c64[40,50]{1,0}", "c64[50,64]{1,0}", "c64[40,64]{1,0}", ROWS)),
    "complex_outer": (["loop"], dot("c64[64]{0}", "c64[64]{0}", "c64[64,64]{1,0}", "lhs_contracting_dims={}, rhs_contracting_dims={}")),
    "complex_of_few_rows": (["concatenate", "contraction", "loop"], dot("c128[7,50]{1,0}", "c128[50,64]{1,0}", "c128[7,64]{1,0}", ROWS)),
    "complex_of_one_row": (["concatenate", "contraction", "loop"], dot("c64[50]{0}", "c64[50,64]{1,0}", "c64[64]{0}", "lhs_contracting_dims={0}, rhs_contracting_dims={0}")),
    "complex_of_few_columns": (["loop", "contraction", "loop"], dot("c64[64,50]{1,0}", "c64[50,4]{1,0}", "c64[64,4]{1,0}", ROWS)),
    "complex_by_columns": (["loop", "contraction", "loop"], dot("c64[4,50]{1,0}", "c64[50,64]{0,1}", "c64[4,64]{0,1}", ROWS)),
    "complex_batch": (["concatenate", "contraction", "loop"], dot("c64[5,3,20]{2,1,0}", "c64[5,20,31]{2,1,0}", "c64[5,3,31]{2,1,0}", BATCHED)),
    "complex_twice": (["concatenate", "contraction", "loop"], dot("c64[3,50]{1,0}", "c64[50,64]{1,0}", "c64[3,64]{1,0}", ROWS,
                                                                 "  s = c64[3,64]{1,0} slice(b), slice={[0:3],[0:64]}", "  t = c64[3,64]{1,0} add(d, s)")),
    "skinny_of_f64": (["contraction"], dot("f64[15,260]{1,0}", "f64[260,530]{1,0}", "f64[15,530]{1,0}", ROWS)),
    "in_panels_of_its_own": (["contraction"], dot("f32[200,300]{1,0}", "f32[300,301]{1,0}", "f32[200,301]{1,0}", ROWS)),
    "many_steps": (["contraction"], dot("f32[9,3000]{1,0}", "f32[3000,49]{1,0}", "f32[9,49]{1,0}", ROWS)),
    "long_sum": (["contraction", "reduction"], dot("f32[9,20000]{1,0}", "f32[20000,49]{1,0}", "f32[9,49]{1,0}", ROWS)),
    "few_rows_along_the_sum": (["loop", "contraction", "reduction"], dot(
        "f32[4,512]{1,0}", "f32[144,512]{1,0}", "f32[4,144]{1,0}", TURNED)),
    "few_rows_along_the_sum_of_bf16": (["loop", "contraction", "reduction"], dot(
        "bf16[3,160]{1,0}", "bf16[43,160]{1,0}", "bf16[3,43]{1,0}", TURNED)),
    "few_rows_along_the_sum_of_one_row": (["loop", "contraction", "reduction"], of_read(
        "f32[3,128]{1,0}", "f32[128]{0}", "f32[20,128]{1,0} broadcast(b), dimensions={1}", "f32[3,20]{1,0}", TURNED)),
    "few_rows_of_bf16": (["loop", "contraction"], dot("bf16[3,50]{1,0}", "bf16[50,70]{1,0}", "f32[3,70]{1,0}", ROWS)),
    "few_rows_of_s8": (["contraction"], dot("f32[2,50]{1,0}", "s8[50,70]{1,0}", "f32[2,70]{1,0}", ROWS)),
    "few_columns_of_u8": (["contraction"], dot("u8[50,70]{0,1}", "f32[70,3]{1,0}", "f32[50,3]{0,1}", ROWS)),
    "along_the_batch": (["loop"], dot("f32[320,6,6]{0,2,1}", "f32[320,6,6]{0,2,1}", "f32[320,6,6]{0,2,1}", BATCHED)),
    "small_turned_to_the_batch": (["contraction", "transpose"], dot(
        "f32[320,6,6]{2,1,0}", "f32[320,6,6]{2,1,0}", "f32[320,6,6]{0,2,1}", BATCHED)),
    "small_matrices": (["contraction"], dot("f32[320,6,6]{2,1,0}", "f32[320,6,6]{2,1,0}", "f32[320,6,6]{2,1,0}", BATCHED)),
    "few_small_matrices": (["contraction"], dot("f32[5,3,4]{2,1,0}", "f32[5,4,7]{2,1,0}", "f32[5,3,7]{2,1,0}", BATCHED)),
    "small_by_columns": (["contraction"], dot("f64[77,5,3]{2,1,0}", "f64[77,4,5]{2,1,0}", "f64[77,3,4]{1,2,0}",
                                              "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={1}, rhs_contracting_dims={2}")),
    "small_apart": (["loop", "contraction"], dot("f32[320,6,6]{2,1,0}", "f32[320,6,6]{0,2,1}", "f32[320,6,6]{2,1,0}", BATCHED)),
    "small_of_a_slice": (["contraction"], of_read("f32[40,3,4]{2,1,0}", "f32[40,5,7]{2,1,0}", "f32[40,4,3]{2,1,0} slice(b), slice={[0:40],[1:5],[4:7]}",
                                                  "f32[40,3,3]{2,1,0}")),
    "small_of_one": (["contraction"], of_read("f32[40,3,4]{2,1,0}", "f32[4,5]{1,0}", "f32[40,4,5]{2,1,0} broadcast(b), dimensions={1,2}",
                                              "f32[40,3,5]{2,1,0}")),
    "small_backwards": (["contraction"], of_read("f32[40,3,4]{2,1,0}", "f32[40,4,5]{2,1,0}", "f32[40,4,5]{2,1,0} reverse(b), dimensions={1}",
                                                 "f32[40,3,5]{2,1,0}")),
    "small_of_many_steps": (["contraction"], dot("f32[30,3,100]{2,1,0}", "f32[30,100,5]{2,1,0}", "f32[30,3,5]{2,1,0}", BATCHED)),
    "small_of_s32": (["contraction"], dot("s32[33,7,3]{2,1,0}", "s32[33,3,15]{2,1,0}", "s32[33,7,15]{2,1,0}", BATCHED)),
    "small_epilogue": (["contraction"], dot(
        "f32[321,3,3]{2,1,0}", "f32[321,3,3]{2,1,0}", "f32[321,3,3]{2,1,0}", BATCHED, "  c = f32[3]{0} parameter(2)",
        "  k = f32[321,3,3]{2,1,0} broadcast(c), dimensions={2}", "  s = f32[321,3,3]{2,1,0} add(d, k)",
        "  u = bf16[321,3,3]{2,1,0} convert(s)")),
    "many": (["contraction"], dot("f32[1027,4,16]{2,1,0}", "f32[1027,16,32]{2,1,0}", "f32[1027,4,32]{2,1,0}", BATCHED)),
    "by_vector": (["reduction"], dot("f32[40,50]{1,0}", "f32[50]{0}", "f32[40]{0}", ROWS)),
    "vector_by": (["reduction"], dot("f32[50]{0}", "f32[50,64]{1,0}", "f32[64]{0}",
                                     "lhs_contracting_dims={0}, rhs_contracting_dims={0}")),
    "two": (["contraction", "contraction"], dot(
        "f32[40,50]{1,0}", "f32[50,64]{1,0}", "f32[40,64]{1,0}", ROWS, "  c = f32[40,30]{1,0} parameter(2)",
        "  f = f32[30,64]{1,0} parameter(3)", f"  g = f32[40,64]{{1,0}} dot(c, f), {ROWS}",
        "  s = f32[40,64]{1,0} add(d, g)")),
    "two_results": (["contraction", "contraction"], dot(
        "f32[40,50]{1,0}", "f32[50,64]{1,0}", "f32[40,64]{1,0}", ROWS, "  c = f32[40,30]{1,0} parameter(2)",
        "  f = f32[30,64]{1,0} parameter(3)", f"  g = f32[40,64]{{1,0}} dot(c, f), {ROWS}",
        "  t = (f32[40,64]{1,0}, f32[40,64]{1,0}) tuple(d, g)")),
    "cut_columns_in_panels": (["concatenate", "contraction"], dot(
        "f32[387,300]{1,0}", "f32[300,273]{1,0}", "f32[387,273]{1,0}", ROWS)),
    "chain": (["contraction", "contraction"], dot(
        "f32[40,50]{1,0}", "f32[50,64]{1,0}", "f32[40,64]{1,0}", ROWS, "  c = f32[64,48]{1,0} parameter(2)",
        f"  g = f32[40,48]{{1,0}} dot(d, c), {ROWS}")),
    "epilogue": (["contraction"], dot(
        "f32[40,50]{1,0}", "f32[50,64]{1,0}", "f32[40,64]{1,0}", ROWS, "  c = f32[64]{0} parameter(2)",
        "  k = f32[40,64]{1,0} broadcast(c), dimensions={1}", "  s = f32[40,64]{1,0} add(d, k)",
        "  t = f32[40,64]{1,0} tanh(s)", "  u = bf16[40,64]{1,0} convert(t)")),
    **{f"epilogue_{kind}": (["contraction", "loop"], dot(
        "f32[40,50]{1,0}", "f32[50,64]{1,0}", "f32[40,64]{1,0}", ROWS, f"  f = {kind}[40,64]{{1,0}} convert(d)"))
       for kind in ("f8e4m3fn", "s4", "c64")},
    "rows_of_pixels": (["contraction"], dot("f32[20,30]{1,0}", "f32[20,50,3]{2,1,0}", "f32[30,50,3]{2,1,0}",
                                            "lhs_contracting_dims={0}, rhs_contracting_dims={0}")),
    "rows_of_pixels_of_a_batch": (["contraction"], dot(
        "f64[20,2,5,1,3]{4,3,2,1,0}", "f64[2,20,30]{2,1,0}", "f64[2,5,1,3,30]{3,2,1,4,0}",
        "lhs_batch_dims={1}, rhs_batch_dims={0}, lhs_contracting_dims={0}, rhs_contracting_dims={1}")),
    "rows_of_computed_pixels": (["concatenate", "contraction"], of_read(
        "f32[20,30]{1,0}", "f32[20,20,3]{2,1,0}", "f32[20,20,3]{2,1,0} negate(b)", "f32[30,20,3]{2,1,0}",
        "lhs_contracting_dims={0}, rhs_contracting_dims={0}")),
    "channels_between_pixels": (["contraction", "transpose"], dot(
        "f32[50,30]{1,0}", "f32[9,50,3]{2,1,0}", "f32[30,9,3]{2,1,0}", "lhs_contracting_dims={0}, rhs_contracting_dims={1}")),
    "of_bf16": (["loop", "contraction"], dot("bf16[40,50]{1,0}", "bf16[50,64]{1,0}", "bf16[40,64]{1,0}", ROWS)),
    "of_f16": (["loop", "loop", "contraction"], dot("f16[40,50]{1,0}", "f16[50,64]{1,0}", "f16[40,64]{1,0}", ROWS)),
    "of_s32": (["contraction"], dot("s32[40,50]{1,0}", "s32[50,64]{1,0}", "s32[40,64]{1,0}", ROWS)),
    "of_s8_s8": (["loop", "contraction"], dot("s8[40,52]{1,0}", "s8[52,64]{1,0}", "s32[40,64]{1,0}", ROWS)),
    "of_u8_s8": (["loop", "contraction"], dot("u8[40,52]{1,0}", "s8[52,64]{1,0}", "s32[40,64]{1,0}", ROWS)),
    "of_s8_u8": (["loop", "contraction"], dot("s8[40,52]{1,0}", "u8[52,64]{1,0}", "s32[40,64]{1,0}", ROWS)),
    "of_u8_u8": (["loop", "contraction"], dot("u8[40,52]{1,0}", "u8[52,64]{1,0}", "s32[40,64]{1,0}", ROWS)),
    "convolution": (["contraction"], CONVOLUTION.format("10,11,12", "8,9,20", "size=3x3")),
    "padded": (["contraction"], CONVOLUTION.format("10,11,12", "10,11,20", "size=3x3 pad=1_1x1_1")),
    "padding_alone": (["loop"], CONVOLUTION.format("0,11,12", "4,11,20", "size=3x3 pad=3_3x1_1")),
    "by_taps": (["transpose", "contraction", "loop"], of_taps(
        "f32[1,12,16,16]{3,2,1,0}", "f32[3,3,16,1]{3,2,1,0}", "f32[1,12,16,1]{3,2,1,0}", "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f")),
    "by_taps_of_rows": (["contraction", "loop"], of_taps(
        "f32[2,16,12,20]{3,2,1,0}", "f32[3,16,3,2]{3,2,1,0}", "f32[2,3,12,19]{3,2,1,0}", "window={size=3x2 pad=1_1x1_-1 rhs_reversal=1x0}, dim_labels=bf01_oi01->bf01")),
    "by_taps_with_strides": (["transpose", "contraction", "loop", "loop"], of_taps(
        "f32[2,20,16,16]{3,2,1,0}", "f32[3,3,16,2]{3,2,1,0}", "f32[2,10,16,2]{3,2,1,0}",
        "window={size=3x3 stride=2x1 pad=0_1x2_2 rhs_dilate=1x2}, dim_labels=b01f_01io->b01f")),
    "by_taps_with_holes": (["transpose", "contraction", "loop", "loop"], of_taps(
        "s32[2,9,8,16]{3,2,1,0}", "s32[4,4,16,3]{3,2,1,0}", "s32[2,18,16,3]{3,2,1,0}",
        "window={size=4x4 pad=2_2x2_2 lhs_dilate=2x2}, dim_labels=b01f_01io->b01f")),
    "by_taps_in_the_padding": (["contraction", "pad"], of_taps(
        "f32[1,32,20,3]{3,2,1,0}", "f32[1,32,1,5]{3,2,1,0}", "f32[1,1,20,5]{3,2,1,0}", "window={size=1x5 pad=0_0x9_9 rhs_dilate=1x4}, dim_labels=bf01_oi01->bf01")),
    "by_taps_of_one_feature": (["window"], of_taps(
        "f32[1,1,60,61]{3,2,1,0}", "f32[1,1,3,3]{3,2,1,0}", "f32[1,1,60,61]{3,2,1,0}", "window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01")),
    "by_pixels_of_one_row": (["contraction"], of_taps(
        "f32[2,1,40,41]{3,2,1,0}", "f32[1,1,7,7]{3,2,1,0}", "f32[2,1,34,35]{3,2,1,0}", "window={size=7x7}, dim_labels=bf01_oi01->bf01",
        "  n = f32[2,1,34,35]{3,2,1,0} negate(d)")),
    "by_rows_of_the_image": (["contraction"], CONVOLUTION.format("12,20,20", "20,18,18", "size=3x3").replace(
        "3,3,12,20", "20,12,3,3").replace("b01f_01io->b01f", "bf01_oi01->bf01")),
    "by_rows_of_a_padded_image": (["contraction"], CONVOLUTION.format("12,20,20", "20,7,18", "size=3x3 stride=3x1 pad=2_0x0_0").replace(
        "3,3,12,20", "20,12,3,3").replace("b01f_01io->b01f", "bf01_oi01->bf01")),
    "in_tiles_of_memory": (["contraction", "loop"], dot(
        "f32[40,50]{1,0:T(8,128)}", "f32[50,64]{1,0:T(8,128)}", "f32[40,64]{1,0:T(8,128)}", ROWS)),
    "small": (["contraction"], dot("f32[4,4]{1,0}", "f32[4,4]{1,0}", "f32[4,4]{1,0}", ROWS)),
    "small_by_rows": (["contraction"], dot("f32[9,4,6]{2,1,0}", "f32[9,8,6]{2,1,0}", "f32[9,4,8]{2,1,0}",
                                           "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}")),
    "of_one_term": (["window"], dot("f32[9,40]{1,0}", "f32[9,70]{1,0}", "f32[9,40,70]{2,1,0}",
                                    "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={}, rhs_contracting_dims={}")),
    "of_one_term_each": (["window"], dot("bf16[1,40]{1,0}", "f32[70,1]{1,0}", "f32[40,70]{1,0}", "lhs_contracting_dims={0}, rhs_contracting_dims={1}")),
    "least": (["loop"], dot("f32[2,2]{1,0}", "f32[2,2]{1,0}", "f32[2,2]{1,0}", ROWS)),
}


@pytest.mark.parametrize("name", NAMED)
def test_who_writes_it(name: str) -> None:
    """The kernels of each product are written by the stated heroes (kernel emitters, gen/heroes). OpenCL has the same
    heroes, except that separate kernels first convert bf16 operands; C multiplies bf16 in pairs. In C no separate
    kernel packs narrow numbers: each work-item copies them itself.
    """
    heroes, text = NAMED[name]
    (fusion,) = fusions(text)
    for target, device in (("c", "cpu"), ("opencl", "pocl-cpu")):
        kernels = decided(fusion, target, device)
        converted = target == "opencl" and name == "of_bf16"
        own = target == "c" and name.startswith(("of_bf16", "of_s8", "of_u8"))
        assert written_by(fusion, target, device) == (["loop", "loop", "contraction"] if converted else heroes[-1:] if own else heroes)
        assert EMPTY not in [grid.thread for _, grid in kernels]


@pytest.mark.parametrize("lasting, heroes", [((), ["contraction"]), ((1,), ["loop", "contraction"]), ((0,), ["loop", "contraction"])])
def test_panels_of_weights(lasting: "tuple[int, ...]", heroes: "list[str]") -> None:
    """If an operand of a narrow type is the same for many launches, a separate kernel copies it into panels (a copy in
    the order in which tiles read).
    """
    (fusion,) = fusions(dot("bf16[64,512]{1,0}", "bf16[512,1024]{1,0}", "f32[64,1024]{1,0}", ROWS))
    fusion.lasting = frozenset(lasting)
    assert written_by(fusion, "c", "cpu") == heroes


# Products that become plain loops instead of tiles. The key is the reason that `explain` prints.
LOOPS = {
    "1 columns of complex numbers do not fill vectors": ("c64[40,50]{1,0}", "c64[50,1]{1,0}", "c64[40,1]{1,0}", ROWS),
    "512 multiplications of complex numbers; tiles need at least 1024": ("c64[8,8]{1,0}", "c64[8,8]{1,0}", "c64[8,8]{1,0}", ROWS),
    "tiles do not add s64": ("s64[40,50]{1,0}", "s64[50,64]{1,0}", "s64[40,64]{1,0}", ROWS),
    "neighbours in its result are of the batch": ("f32[320,6,6]{0,2,1}", "f32[320,6,6]{0,2,1}", "f32[320,6,6]{0,2,1}", BATCHED),
    "rows of 7 columns; tiles need at least 8": ("f32[10,1500]{1,0}", "f32[1500,7]{1,0}", "f32[10,7]{1,0}", ROWS),
    "2430 multiplications in rows of 9 columns; tiles need at least 8192": ("f32[30,9]{1,0}", "f32[9,9]{1,0}", "f32[30,9]{1,0}", ROWS),
}
# the windows begin alternately at elements of the dilated base and between them
UNEVEN = """HloModule e

ENTRY e {
  x = f32[2,4,21,17]{3,2,1,0} parameter(0)
  w = f32[3,1,17,8]{3,2,1,0} parameter(1)
  d = f32[2,1,14,8]{3,2,1,0} convolution(x, w), window={size=3x1 stride=3x3 lhs_dilate=3x2 rhs_dilate=3x1 pad=-1_-1x1_-1}, dim_labels=b01f_01io->b01f
  ROOT n = f32[2,1,14,8]{3,2,1,0} maximum(d, d)
}
"""


@pytest.mark.parametrize("why", LOOPS)
def test_explain_says_why_a_product_is_a_loop(why: str, tmp_path: Path) -> None:
    (tmp_path / "e.hlo").write_text(dot(*LOOPS[why]))
    done = gen("explain", tmp_path / "e.hlo", "--stage", "schedule", "--target", "c")
    assert done.returncode == 0 and f"  product d: a loop, {why}\n" in done.stdout, done.stdout + done.stderr


def test_explain_says_where_tiles_do_not_move_evenly(tmp_path: Path) -> None:
    (tmp_path / "e.hlo").write_text(UNEVEN)
    done = gen("explain", tmp_path / "e.hlo", "--stage", "schedule", "--target", "c")
    assert re.search(r"product d\S*: a loop, in the order of the result its operands do not move by constant strides\n", done.stdout), done.stdout
    (tmp_path / "tiles.hlo").write_text(NAMED["in_place"][1])
    assert "a loop" not in gen("explain", tmp_path / "tiles.hlo", "--stage", "schedule", "--target", "c").stdout


def test_few_rows_of_a_large_operand() -> None:
    """For few rows, a large operand is read in place, in tiles with all rows or half of them. A small operand, or an
    operand for more rows, is copied into panels.
    """
    for m, k, tile in ((8, 300, 3), (12, 300, 2), (15, 300, 3), (12, 60, 0), (17, 300, 2), (64, 300, 3), (65, 300, 0)):
        (fusion,) = fusions(dot(f"f32[{m},{k}]{{1,0}}", f"f32[{k},1100]{{1,0}}", f"f32[{m},1100]{{1,0}}", ROWS))
        ((_, grid),) = decided(fusion, "c", "cpu")
        assert isinstance(grid.loop, ContractionSchedule) and grid.loop.tile_units == tile, (m, k, grid.loop)
        assert grid.loop.packed == (m > 64)
    for m, n in itertools.product((*range(1, 18), 48, 49), (144, 256, 288, 448, 1024)):    # a block is at least as wide as a tile
        (fusion,) = fusions(dot(f"f32[{m},1024]{{1,0}}", f"f32[1024,{n}]{{1,0}}", f"f32[{m},{n}]{{1,0}}", ROWS))
        for _, grid in decided(fusion, "c", "cpu"):
            loop = grid.loop
            if isinstance(loop, ContractionSchedule) and loop.tile_units:
                assert loop.units - (loop.long_blocks < loop.unit_blocks) >= loop.tile_units, (m, n, loop)


@pytest.mark.parametrize("target, device", [("c", "cpu"), ("opencl", "pocl-cpu")])
def test_values_of_rows_of_a_large_operand(target: str, device: str, tmp_path: Path) -> None:
    """Products of few rows by a large operand agree with the reference: with 0, 1 or 5 rows left after whole tiles,
    with two vectors of columns that overlap, and in batches.
    """
    texts = {f"rows_{m}": dot(f"f32[{m},300]{{1,0}}", f"f32[300,{n}]{{1,0}}", f"f32[{m},{n}]{{1,0}}", ROWS)
             for m, n in ((17, 250), (24, 256), (49, 250), (64, 1050))}
    texts["batch"] = dot("f64[2,19,260]{2,1,0}", "f64[2,260,150]{2,1,0}", "f64[2,19,150]{2,1,0}",
                         "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}")
    for name, text in texts.items():
        (fusion,) = fusions(text, name)
        loop = decided(fusion, target, device)[-1][1].loop
        assert isinstance(loop, ContractionSchedule) and loop.ahead, name    # the operand is read in place
    agree(texts, target, device, tmp_path)


FAR = """HloModule e

ENTRY e {{
  x = f32[2,7,7,{0}]{{3,2,1,0}} parameter(0)
  w = f32[3,3,{0},{0}]{{3,2,1,0}} parameter(1)
  ROOT c = f32[2,7,7,{0}]{{3,2,1,0}} convolution(x, w), window={{size=3x3 pad=1_1x1_1}}, dim_labels=b01f_01io->b01f
}}
"""


def test_images_share_columns_that_the_cache_does_not_hold() -> None:
    """If a convolution's weights do not fit in the cache, work-items of two images with the same columns follow one
    another, and tiles prefetch the next chunk of the weights for these columns. If the weights fit, neither is done.
    """
    for features, far in ((512, 128 * 512), (64, 0)):
        (fusion,) = fusions(FAR.format(features))
        file = target_file(fusion, "c", "cpu")
        loop = file.kernels[-1].loop
        assert isinstance(loop, ContractionSchedule) and (loop.far, loop.tile_units) == (far, 0)
        assert ("unit_block = bl_x >> 1;" in file.text) == (features == 512)
    (fusion,) = fusions(dot("f32[600,300]{1,0}", "f32[300,800]{1,0}", "f32[600,800]{1,0}", ROWS))
    loop = decided(fusion, "c", "cpu")[-1][1].loop
    assert isinstance(loop, ContractionSchedule) and loop.far == 0    # no prefetch: many rows read the copied columns (the panel), and the panel fits in a core's L2


@pytest.mark.parametrize("target, device", [("c", "cpu"), ("opencl", "pocl-cpu")])
def test_tiles_share_the_lines_of_the_next_chunk(target: str, device: str, tmp_path: Path) -> None:
    """A tile prefetches one cache line of the next chunk (part of the sum) every few steps: every fourth step, or more
    often if a block has few tiles. The prefetched lines are adjacent in panels (copies in the order of reading), but
    not in operands that are read in place.
    """
    def product(m: int, k: int) -> str:
        return dot(f"f32[{m},{k}]{{1,0}}", f"f32[{k},128]{{1,0}}", f"f32[{m},128]{{1,0}}", ROWS)

    texts = {"whole": product(480, 1032), "two": product(400, 1029), "apart": FAR.format(144)}
    for name, every in (("whole", 4), ("two", 2), ("apart", 2)):
        (fusion,) = fusions(texts[name], name)
        file = target_file(fusion, target, device)
        loop = file.kernels[-1].loop
        assert isinstance(loop, ContractionSchedule) and loop.far, name
        assert (loop.every, f"far_in_{'steps' if name == 'apart' else 'lines'}(number++" in file.text) == (every, True), name
    agree(texts, target, device, tmp_path)


@pytest.mark.parametrize("target, device", [("c", "cpu"), ("opencl", "pocl-cpu")])
def test_results_follow_the_sums_of_a_tile(target: str, device: str) -> None:
    """If one chunk contains the whole sum, ops after the product are computed tile by tile. If the sum has several
    chunks, these ops are computed from the totals of a block, which are in memory.
    """
    after = ["  z = f32[] constant(0)", "  zs = f32[70,96]{1,0} broadcast(z), dimensions={}", "  r = f32[70,96]{1,0} maximum(d, zs)"]
    for k, more, by_tile, by_block in ((64, after, True, False), (1000, after, False, True), (64, [], False, False)):
        (fusion,) = fusions(dot(f"f32[70,{k}]{{1,0}}", f"f32[{k},96]{{1,0}}", "f32[70,96]{1,0}", ROWS, *more))
        text = target_file(fusion, target, device).text
        assert ("_results(const float *from" in text, "the results, from the sums in total" in text) == (by_tile, by_block), k


def test_tiles_go_through_the_longest_digit() -> None:
    """If a convolution's weights have the order [features, window], they are copied into panels in this order. Tiles
    run along the longest summed dimension, the input features.
    """
    (fusion,) = fusions(CONVOLUTION.format("10,11,40", "8,9,70", "size=3x3").replace("3,3,12,20", "70,40,3,3").replace(
        "b01f_01io", "b01f_oi01"))
    (nest,) = tiled(fusion)
    assert nest.steps[-1].size == 40 and nest.steps[-1].units == 9 * nest.steps[-1].single * nest.unit, nest.steps


def test_cells() -> None:
    """A convolution's positions and window elements are divided into cells. Each pair (position, window element) that
    reads an element of the base is in exactly one cell, and pairs that read padding are in none.
    """
    r = random.Random(SEED)
    for _ in range(100):
        size, window, stride, dilation, holes = (r.randint(1, 7) for _ in range(5))
        low, high, features = r.randint(-3, 7), r.randint(-3, 7), r.choice((1, 64))
        places = ((size - 1) * holes + 1 + low + high - (window - 1) * dilation - 1) // stride + 1
        if places < 1 or size < 1 - low or size < 1 - high:
            continue
        (fusion,) = fusions(f"""HloModule e

ENTRY e {{
  x = f32[1,{features},{size}]{{2,1,0}} parameter(0)
  w = f32[1,{features},{window}]{{2,1,0}} parameter(1)
  ROOT c = f32[1,1,{places}]{{2,1,0}} convolution(x, w), window={{size={window} stride={stride} pad={low}_{high} lhs_dilate={holes} rhs_dilate={dilation}}}, dim_labels=bf0_oi0->bf0
}}
""")
        convolution = next(i for i in fusion.computation.instructions if i.opcode == "convolution")
        of = along(convolution, 0)
        found = sorted((cell.place + of.every * n, cell.tap + of.taps_every * m) for cell in of.cells for n in range(cell.places) for m in range(cell.taps))
        assert found == [(place, tap) for place in range(places) for tap in range(window)
                         if (at := place * stride + tap * dilation - low) % holes == 0 and 0 <= at // holes < size]


def test_work_items_go_along_rows() -> None:
    """If the sum is short or the operand with the rows is large, the next work-item has the next block of columns. Then
    a work-item's number has the batch as its most major digit, then the block of rows, then the block of columns.
    Otherwise the next work-item has the next block of rows. A block has few rows if it stores to many pages, or if ops
    follow the product.
    """
    for batch, m, k, n, negated, rows, digits in (
            ([], 500, 16, 1024, False, 6, ["row_block", "unit_block"]), ([], 500, 16, 960, False, 84, ["row_block", "unit_block"]),
            ([], 500, 16, 960, True, 6, ["row_block", "unit_block"]), ([], 500, 256, 1024, False, 84, ["g1", "row_block"]),
            ([], 300, 64, 4096, True, 150, ["row_block", "unit_block"]),    # each work-item packs its operand itself
            ([], 1100, 256, 1024, False, 96, ["row_block", "g1"]), ([3], 500, 16, 1024, False, 6, ["g0", "row_block", "unit_block"])):
        shapes = [plain("f32", [*batch, *of]) for of in ((m, k), (k, n), (m, n))]
        text = dot(*shapes, f"lhs_contracting_dims={{{1 + len(batch)}}}, rhs_contracting_dims={{{len(batch)}}}"
                   + ", lhs_batch_dims={0}, rhs_batch_dims={0}" * len(batch))
        if negated:
            text = text.replace("ROOT d =", "d =").replace("\n}", f"\n  ROOT r = {shapes[2]} negate(d)\n}}")
        (fusion,) = fusions(text)
        choice, grid = decided(fusion, "c", "cpu")[-1]
        assert isinstance(grid.loop, ContractionSchedule) and isinstance(choice.nest, contraction.Contraction)
        found = [name for name, size in counts(choice.nest, grid.loop) if size > 1]
        assert (grid.loop.rows, found) == (rows, digits), (m, k, n, grid.loop, found)


def test_many_work_items_are_in_groups() -> None:
    """Many work-items are grouped: in OpenCL one function call computes a group of 16."""
    (fusion,) = fusions(NAMED["many"][1])
    for target, device, blocks, threads in (("c", "cpu", 1027, 1), ("opencl", "pocl-cpu", 65, 16)):
        ((_, grid),) = decided(fusion, target, device)
        assert (grid.blocks, grid.threads) == (blocks, threads)


@in_parts
@pytest.mark.parametrize("target, device", marked(ON_CPUS))
def test_named(target: str, device: str, part: str, tmp_path: Path) -> None:
    agree({name: text.replace("HloModule e", f"HloModule {name}") for name, (_, text) in NAMED.items()}, target, device,
          tmp_path, part)


def test_padding_alone_reads_nothing() -> None:
    """The kernel of a convolution that computes with nothing but padding has no argument besides its result."""
    (fusion,) = fusions(NAMED["padding_alone"][1])
    for target, device in (("c", "cpu"), ("opencl", "pocl-cpu"), ("cuda", "sm_80")):
        (kernel,) = target_file(fusion, target, device).kernels
        assert [argument.buffer.pointer for argument in kernel.arguments] == ["r0"], target


def test_a_long_sum_is_a_tree(tmp_path: Path) -> None:
    """Long sums are added as a tree, so the error stays small. In plain order, 2^19 terms of 0.1 in f32 would be off by
    about 1 %.
    """
    count = 1 << 19
    (tmp_path / "e.hlo").write_text(dot(f"f32[2,{count}]{{1,0}}", f"f32[{count},16]{{1,0}}", "f32[2,16]{1,0}", ROWS))
    for name, value, columns in (("p0", 1.0, 2), ("p1", 0.1, 16)):
        (tmp_path / f"{name}.bin").write_bytes(array("f", [value] * (columns * count)).tobytes())
    done = gen("run", tmp_path / "e.hlo", "--target", "c", "--in", tmp_path, "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    exact = array("f", [0.1])[0] * count
    sums = array("f", (tmp_path / "r0.bin").read_bytes())
    assert len(sums) == 32 and max(abs(x - exact) / exact for x in sums) < 4e-6


def test_a_lost_product_is_found(tmp_path: Path) -> None:
    """`gen check` finds a kernel that leaves out some products of a long sum. In floats this may stay below the allowed
    rounding error, so the check also uses integers, whose sums are exact.
    """
    (fusion,) = fusions(dot("f32[2,16000]{1,0}", "f32[16000,16]{1,0}", "f32[2,16]{1,0}", ROWS))
    built = run.build(fusion, tmp_path, "c", run.Options())
    assert [result.status for result in run.check_built([built], "c", run.Options())] == ["PASS"]
    kernel = tmp_path / "e.c"
    text = kernel.read_text()
    assert "const size_t count = " in text
    kernel.write_text(re.sub(r"(const size_t count = )(.*);", r"\1(\2) - (k0 >= 15700);", text))
    (result,) = run.check_built([built], "c", run.Options())
    assert result.status == "FAIL", result


@pytest.mark.parametrize("refused", [False, True])
def test_tiles_of_the_processor(refused: bool, tmp_path: Path) -> None:
    """The kernel asks Linux for permission to use the AMX tile registers. If Linux refuses, results are right, too."""
    (fusion,) = fusions(dot("bf16[50,70]{1,0}", "bf16[70,90]{1,0}", "f32[50,90]{1,0}", ROWS))
    built = run.build(fusion, tmp_path, "c", run.Options())
    kernel, asked = tmp_path / "e.c", "long answer = 158;"
    made = kernel.read_text()
    assert made.count(asked) == 1 and "_tile_dpbf16ps(" in made
    if refused:    # a system call that does not return 0, as if Linux refused
        kernel.write_text(made.replace(asked, "long answer = 39;"))
    assert [result.status for result in run.check_built([built], "c", run.Options())] == ["PASS"]


@pytest.mark.parametrize("most", [1, 2, 3, 4])
@pytest.mark.parametrize("t", ["bf16", "f32"])
def test_units_that_share_columns_are_in_one_block(t: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two vectors of columns that overlap are computed by one block. In two blocks, two work-items would store to the
    same columns at the same time: the bits of NaNs could differ, and matrix instructions, which add to a result in
    two steps, could lose a part.
    """
    device = DEVICES["cpu"]
    numbers = replace(device.contraction_cpu, matrix_block=(20, most), units=most, whole_units=1, few_rows={1: 2})
    monkeypatch.setitem(schedule.DEVICES, "cpu", replace(device, contraction_cpu=numbers))
    for columns in (33, 47, 72, 100):
        (fusion,) = fusions(dot(f"{t}[20,50]{{1,0}}", f"{t}[50,{columns}]{{1,0}}", f"f32[20,{columns}]{{1,0}}", ROWS))
        *_, kernel = target_file(fusion, "c", "cpu").kernels
        loop, nest = kernel.loop, kernel.nest
        assert isinstance(loop, ContractionSchedule) and isinstance(nest, contraction.Contraction) and nest.overlap
        assert loop.units - (loop.long_blocks < loop.unit_blocks) >= 2, loop
        assert bool(kernel.text.record.words.matrix) == (t == "bf16")


@pytest.mark.parametrize("b, d", [("c64[2048,3,1]{2,1,0}", "c64[3,1,1]{2,1,0}"), ("c64[2048,3]{1,0}", "c64[3,1]{1,0}")])
def test_complex_numbers_beside_a_batch(b: str, d: str, tmp_path: Path) -> None:
    """Batches of complex products agree with the reference if an operand has only one dimension besides the batch and
    summed dimensions, and this dimension has size 1.
    """
    text = dot("c64[2048,3,1]{2,1,0}", b, d, "lhs_batch_dims={1}, rhs_batch_dims={1}, lhs_contracting_dims={0}, rhs_contracting_dims={0}")
    agree({"e": text}, "c", "cpu", tmp_path)


@pytest.mark.parametrize("bytes_", [0, 1 << 30])
def test_no_place_is_read_beyond_an_operand(bytes_: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last vector that is read from a row ends at the end of the operand."""
    small(monkeypatch, Panels(1, 1, 1, bytes_, 0))
    for columns in (16, 17, 31, 33, 70):
        (fusion,) = fusions(dot("f32[26,30]{1,0}", f"f32[30,{columns}]{{1,0}}", f"f32[26,{columns}]{{1,0}}", ROWS))
        (nest,) = tiled(fusion)
        last = nest.last_unit + sum((digit.size - 1) * digit.units for digit in (*nest.outer, *nest.steps)) + nest.unit
        assert last <= nest.units.shape.elements


@pytest.mark.parametrize("inputs, each", [(1, 2), (2, 2), (1, 4), (4, 4), (8, 8), (3, 8)])
def test_parts_of_a_unit_end_with_the_base(inputs: int, each: int) -> None:
    """If a vector of columns contains several feature groups, the last element that the kernel reads is the last
    element of the convolution's base (its input).
    """
    features = 64 // each * inputs
    (fusion,) = fusions(CONVOLUTION.format(f"10,11,{features}", "8,9,64", "size=3x3").replace("3,3,12,20", f"3,3,{inputs},64").replace(
        "b01f_01io->b01f", f"b01f_01io->b01f, feature_group_count={64 // each}").replace("2,10,11", "2,10,11"))
    (nest,) = tiled(fusion)
    assert nest.part == (each, inputs) and nest.wide == 16 // each * inputs
    last = sum((digit.size - 1) * digit.single for digit in (*nest.outer, *nest.steps)) + (nest.all_units - 1) * nest.wide + (16 // each - 1) * inputs
    assert last == nest.single.shape.elements - 1


@pytest.mark.parametrize("dims", ["", "[40,7,5]{2,1,0} slice(b), slice={[0:40],[1:5],[0:5]}", "[40,4,9]{2,1,0} slice(b), slice={[0:40],[0:4],[4:9]}",
                                  "[40,4,5]{2,1,0} reverse(b), dimensions={1}", "[40,5,4]{2,1,0} transpose(b), dimensions={0,2,1}"])
def test_no_place_is_read_beyond_small_matrices(dims: str) -> None:
    """A vector that is wider than a row of a small matrix ends inside the matrix."""
    of = f"f32{dims.split(' ')[0]}" if dims else "f32[40,4,5]{2,1,0}"
    text = of_read("f32[40,3,4]{2,1,0}", of, f"f32[40,4,5]{{2,1,0}} {dims.split(' ', 1)[1]}", "f32[40,3,5]{2,1,0}") if dims \
        else dot("f32[40,3,4]{2,1,0}", of, "f32[40,3,5]{2,1,0}", BATCHED)
    (fusion,) = fusions(text)
    (nest,) = nests.planned(fusion, DEVICES["cpu"].plan_class).nests
    assert isinstance(nest, SmallProduct)
    (kernel,) = target_file(fusion, "c", "cpu").kernels
    r, steps, columns = kernel.text.record, nest.offsets(1, "step"), nest.offsets(1, "column")
    assert bool(r.gathered) == ("transpose" in dims or "reverse" in dims)
    if r.gathered:
        read = {step + column for step in steps for column in columns}
    else:
        begins = [step - r.overlap.behind * (k >= r.overlap.whole) for k, step in enumerate(steps)]
        read = {begin + lane for begin in begins for lane in range(r.width)}
    inside = {step + column for step in steps for column in columns}
    assert min(inside) <= min(read) and max(read) <= max(inside)
