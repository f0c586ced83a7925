"""Property: transposes of any rank, permutation, size and type agree with the reference, alone and among other ops, on
each class of device. Other tests check which results share a kernel, the proof that each element is written once, and
the number of bank conflicts.
"""

from __future__ import annotations

import math
import random
import re
from pathlib import Path
from typing import Dict, List, Optional, Tuple

import pytest

from drawn import BATCH, COUNT, ON_CPUS, SEED, agree, decided, fusions, in_parts, in_turn, marked, ptx, shape, uncached
from gen import pipeline
from gen.plan import nests
from gen.heroes import transpose_gpu
from gen.plan import grouping
from gen.run import proofs
from gen.schedule import DEVICES

DTYPES = ["pred", "s8", "u16", "bf16", "f16", "f32", "f64", "s32", "u64"]
FLOATS = ["bf16", "f16", "f32", "f64"]
DIMS = [1, 2, 3, 4, 6, 8, 16, 17, 31, 32, 33, 64, 100, 128, 257, 1023, 4097]
MOST = 40000


class Draw:
    """One random fusion around transposes of its parameters."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.dtype = self.r.choice(DTYPES)
        rank = self.r.choice([2, 2, 3, 3, 3, 4, 4, 5, 6])
        while True:
            self.dims = [self.r.choice(DIMS) for _ in range(rank)]
            if 2 <= math.prod(self.dims) <= MOST:
                break
        self.lines: List[str] = []
        self.parameters = 0
        self.count = 0

    def emit(self, dtype: str, dims: "List[int]", text: str, layout: "Optional[List[int]]" = None) -> Tuple[str, str, List[int]]:
        name, order = f"v{self.count}", layout if layout is not None else list(range(len(dims)))[::-1]
        self.count += 1
        self.lines.append(f"  {name} = {shape(dtype, dims, order)} {text}")
        return name, dtype, dims

    def parameter(self, dtype: str, dims: "List[int]") -> Tuple[str, str, List[int]]:
        """Return a parameter, sometimes with another layout."""
        order = list(range(len(dims)))[::-1]
        if self.r.random() < 0.25:
            self.r.shuffle(order)
        self.parameters += 1
        return self.emit(dtype, dims, f"parameter({self.parameters - 1})", order)

    def transposed(self, of: "Tuple[str, str, List[int]]", order: "List[int]") -> "Tuple[str, str, List[int]]":
        name, dtype, dims = of
        return self.emit(dtype, [dims[k] for k in order], f"transpose({name}), dimensions={{{','.join(map(str, order))}}}")

    def unary(self, of: "Tuple[str, str, List[int]]") -> "Tuple[str, str, List[int]]":
        """Return a value computed from another, without rounding if the type is exact."""
        name, dtype, dims = of
        if dtype == "pred":
            return self.emit(dtype, dims, f"not({name})")
        kind = self.r.choice(["negate", "abs", "convert", "floor"])
        if kind == "convert":
            to = self.r.choice([t for t in DTYPES if t != dtype])
            return self.emit(to, dims, f"convert({name})")
        return self.emit(dtype, dims, f"{kind if dtype in FLOATS else 'not'}({name})")

    def binary(self, a: "Tuple[str, str, List[int]]", b: "Tuple[str, str, List[int]]") -> "Tuple[str, str, List[int]]":
        return self.emit(a[1], a[2], f"{'xor' if a[1] == 'pred' else self.r.choice(['add', 'maximum', 'subtract'])}({a[0]}, {b[0]})")

    def fusion(self) -> str:
        order = list(range(len(self.dims)))
        self.r.shuffle(order)
        p = self.parameter(self.dtype, self.dims)
        t = self.transposed(self.unary(p) if self.r.random() < 0.3 else p, order)
        kinds = self.r.sample(["epilogue", "operand", "side", "second", "reshaped", "other", "broadcast"], self.r.randint(0, 3))
        roots = [t]
        if "epilogue" in kinds:
            roots[0] = t = self.unary(t)
        if "operand" in kinds:
            roots[0] = t = self.binary(t, self.parameter(t[1], t[2]))
        if "broadcast" in kinds:
            k = self.r.randrange(len(t[2]))
            row = self.parameter(t[1], [t[2][k]])
            roots[0] = t = self.binary(t, self.emit(t[1], t[2], f"broadcast({row[0]}), dimensions={{{k}}}"))
        if "side" in kinds:    # a result that is not transposed
            roots.append(self.unary(p))
        if "second" in kinds:    # another transpose with the same permutation
            roots.append(self.transposed(self.parameter(self.r.choice(DTYPES), self.dims), order))
        if "other" in kinds:          # another transpose with another permutation
            further = list(order)
            self.r.shuffle(further)
            roots.append(self.transposed(p, further))
        if "reshaped" in kinds:
            roots.append(self.emit(t[1], [math.prod(t[2])], f"reshape({t[0]})"))
        self.r.shuffle(roots)
        names, shapes = [n for n, _, _ in roots], [shape(d, s, list(range(len(s)))[::-1]) for _, d, s in roots]
        if len(roots) > 1:
            self.lines.append(f"  ROOT all = ({', '.join(shapes)}) tuple({', '.join(names)})")
        else:
            self.lines = [line.replace("  ", "  ROOT ", 1) if line.startswith(f"  {names[0]} =") else line for line in self.lines]
        return "HloModule drawn\n\nENTRY e {\n" + "\n".join(self.lines) + "\n}\n"


def transpose(dtype: str, dims: "List[int]", order: "List[int]") -> str:
    return f"e {{\n  p0 = {dtype}[{','.join(map(str, dims))}] parameter(0)\n" \
        f"  ROOT t = {dtype}[{','.join(str(dims[k]) for k in order)}] transpose(p0), dimensions={{{','.join(map(str, order))}}}\n}}\n"


@pytest.mark.drawn
@pytest.mark.parametrize("first, target, device", in_turn(range(0, COUNT, BATCH)))
def test_drawn(first: int, target: str, device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random transposes agree with the reference. In every second batch the fusion is split into kernels as if a launch
    cost nothing, with streaming stores.
    """
    if first // BATCH % 2:
        uncached(monkeypatch)
        monkeypatch.setattr(grouping, "LAUNCH_BYTES", 0)
    agree({f"f{k}": Draw(SEED * 1000003 + k).fusion() for k in range(first, min(first + BATCH, COUNT))}, target, device, tmp_path)


@pytest.mark.parametrize("target, device", marked(ON_CPUS))
def test_repeated_rows(target: str, device: str, tmp_path: Path) -> None:
    """A transposed matrix in which each row is repeated agrees with the reference. If a vector contains two rows, its
    elements are read one by one.
    """
    agree({f"{dtype}_{size}": f"HloModule e\n\nENTRY e {{\n  x = {dtype}[15,{size}]{{0,1}} parameter(0)\n"
           f"  ROOT y = {dtype}[15,4,{size}]{{2,1,0}} broadcast(x), dimensions={{0,2}}\n}}\n"
           for dtype in ("f32", "bf16", "f64", "u8") for size in (2, 4, 16)}, target, device, tmp_path)


@pytest.mark.parametrize("target, device", marked(ON_CPUS))
@in_parts
def test_lines(target: str, device: str, part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that begin inside a cache line are written in whole lines: for each element width, with columns left over, in
    batches (whose matrices begin at several positions in a line) and in parts.
    """
    uncached(monkeypatch)
    texts = {}
    for number, (dtype, dims, order) in enumerate([("f32", [33, 17], [1, 0]), ("f32", [1023, 40], [1, 0]), ("f64", [2, 17, 16], [0, 2, 1]), ("f32", [3, 47, 528], [0, 2, 1]),
                                                   ("bf16", [97, 64], [1, 0]), ("u16", [641, 33], [1, 0]), ("s8", [130, 200], [1, 0]), ("pred", [2, 129, 128], [0, 2, 1]), ("f32", [5, 35, 49], [0, 2, 1]), ("f32", [2, 3, 35, 41], [0, 1, 3, 2]),
                                                   ("u16", [3, 65, 70], [0, 2, 1]), ("s8", [2, 131, 137], [0, 2, 1]), ("f64", [7, 19, 21], [0, 2, 1])]):
        texts[f"f{number}"] = text = transpose(dtype, dims, order)
        (made,) = pipeline.target_file(fusions(text)[0], target, device).kernels
        assert made.text.template == "kernels/transpose_lines_cpu", text
    agree(texts, target, device, tmp_path, part)


@pytest.mark.peer
@pytest.mark.parametrize("target, device", marked(ON_CPUS))
@pytest.mark.parametrize("first, second", [((2, 65), (5, 65)), ((5, 65), (5, 67))])
def test_lines_of_two_kernels(first: "Tuple[int, int]", second: "Tuple[int, int]", target: str, device: str, tmp_path: Path,
                              monkeypatch: pytest.MonkeyPatch) -> None:
    """One file has two kernels with rows of equal length, whose matrices begin or end at different positions in a cache
    line.
    """
    uncached(monkeypatch)
    (b, c), (d, e) = first, second
    text = f"""e {{
  p0 = f32[{b},33,{c}] parameter(0)
  p1 = f32[{d},33,{e}] parameter(1)
  x = f32[{b},{c},33] transpose(p0), dimensions={{0,2,1}}
  y = f32[{d},{e},33] transpose(p1), dimensions={{0,2,1}}
  ROOT r = (f32[{b},{c},33], f32[{d},{e},33]) tuple(x, y)
}}
"""
    made = pipeline.target_file(fusions(text)[0], target, device).kernels
    assert [kernel.text.template for kernel in made] == ["kernels/transpose_lines_cpu"] * 2
    agree({"f": text}, target, device, tmp_path)


OVERLAP = """e {
  p0 = f32[100,11,120] parameter(0)
  p1 = f32[120,11,100] parameter(1)
  t = f32[120,11,100] transpose(p0), dimensions={2,1,0}
  ROOT y = f32[120,11,100] add(t, p1)
}
"""


def channels(source: str, result: str, dims: "List[int]", order: "List[int]", weighted: int = -1) -> str:
    """Return a transpose. It converts if the types differ. If `weighted` is not negative, it multiplies by weights, one
    for each index of dimension `weighted` of the result.
    """
    out = [dims[k] for k in order]
    lines = [f"p0 = {shape(source, dims, range(len(dims))[::-1])} parameter(0)",
             f"t = {shape(source, out, range(len(out))[::-1])} transpose(p0), dimensions={{{','.join(map(str, order))}}}"]
    if source != result:
        lines.append(f"c = {shape(result, out, range(len(out))[::-1])} convert(t)")
    if weighted >= 0:
        lines += [f"p1 = {result}[{out[weighted]}]{{0}} parameter(1)",
                  f"w = {shape(result, out, range(len(out))[::-1])} broadcast(p1), dimensions={{{weighted}}}",
                  f"m = {shape(result, out, range(len(out))[::-1])} multiply({lines[-1].split()[0]}, w)"]
    lines[-1] = "ROOT " + lines[-1]
    return "HloModule drawn\n\nENTRY e {\n" + "".join(f"  {line}\n" for line in lines) + "}\n"


@pytest.mark.parametrize("first, target, device", in_turn(range(0, 16, BATCH)))
def test_few_neighbours(first: int, target: str, device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Transposes that move a minor dimension of 2 to 8 elements to the front, or back, agree with the reference: for
    every width, for rows that fill registers or end inside one, with conversions, and with a weight per channel.
    """
    uncached(monkeypatch)
    first_of, last_of = [0, 2, 1], [0, 2, 1]
    cases = [("f32", "f32", [2, 640, 3], first_of, -1), ("f32", "f32", [2, 3, 640], last_of, -1), ("u8", "u8", [1, 1600, 3], first_of, -1),
             ("u8", "f32", [3, 519, 3], first_of, 1), ("f32", "u8", [2, 3, 515], last_of, -1), ("bf16", "bf16", [2, 1031, 3], first_of, 1),
             ("bf16", "bf16", [1300, 5], [1, 0], -1), ("f64", "f64", [2, 7, 333], last_of, -1), ("pred", "pred", [6, 2049], [1, 0], -1),
             ("f16", "f32", [2, 400, 4], first_of, -1), ("f32", "bf16", [2, 3, 1100], last_of, 2), ("s8", "s32", [1280, 2], [1, 0], -1),
             ("u64", "u64", [640, 3], [1, 0], -1), ("f32", "f32", [515, 8], [1, 0], -1), ("u16", "u16", [2, 3, 17, 19], [0, 2, 3, 1], -1),
             ("u8", "u8", [4, 1999], [1, 0], -1)]
    texts = {f"f{k}": channels(*cases[k]) for k in range(first, first + BATCH)}
    for k, text in enumerate(texts.values(), first):
        if DEVICES[device].cpu and DEVICES[device].lanes > 1:
            ((_, made),) = decided(fusions(text)[0], target, device)
            few = min(cases[k][2][1:] if len(cases[k][2]) > 2 else cases[k][2])
            assert made.loop.interleaved_rows == few, text
    agree(texts, target, device, tmp_path)


@pytest.mark.parametrize("target, device", marked(ON_CPUS))
def test_few_neighbours_whose_places_are_no_single_stride(target: str, device: str, tmp_path: Path) -> None:
    """Transposes that interleave 2 or 3 rows agree with the reference if rows end inside a step and the result has four
    dimensions. Elements are then stored one by one, in their own type.
    """
    cases = [("f32", [8, 13, 2, 130]), ("f32", [8, 13, 3, 131]), ("f64", [8, 13, 2, 129]), ("f16", [8, 13, 2, 130])]
    texts = {f"f{k}": channels(t, t, dims, [0, 1, 3, 2]).replace("HloModule drawn", f"HloModule f{k}") for k, (t, dims) in enumerate(cases)}
    agree(texts, target, device, tmp_path)


@pytest.mark.parametrize("target, device", marked(ON_CPUS))
def test_registers_of_two_widths_in_one_file(target: str, device: str, tmp_path: Path) -> None:
    """One file interleaves rows in registers of one cache line (rows that are only moved) and of two lines (rows that
    are computed).
    """
    agree({"two": """HloModule two

ENTRY e {
  x = f64[8,680] parameter(0)
  y = f64[8,640] parameter(1)
  a = f64[680,8] transpose(x), dimensions={1,0}
  n = f64[8,640] negate(y)
  b = f64[640,8] transpose(n), dimensions={1,0}
  ROOT t = (f64[680,8], f64[640,8]) tuple(a, b)
}
"""}, target, device, tmp_path)


def test_overlap() -> None:
    """If a tile is moved back so that it ends with the array, it rewrites only elements of the same work-item. So the
    bits of NaNs do not depend on timing.
    """
    text = pipeline.target_file(fusions(OVERLAP)[0], "c", "cpu").text
    assert re.search(r"for \(uint32_t g2_tile = strip; g2_tile <= strip \+ \(strip == 2\); \+\+g2_tile\)", text)


# ---- results that share a kernel
# ---------------------------------------------------------------------------------------


SIDE = """e {
  p0 = f32[64,48] parameter(0)
  t = f32[48,64] transpose(p0), dimensions={1,0}
  l = f32[64,48] negate(p0)
  ROOT r = (f32[48,64], f32[64,48]) tuple(t, l)
}
"""
APART = """e {
  p0 = f32[512,16,640] parameter(0)
  p1 = f32[640,512,16] parameter(1)
  a = f32[640,16,512] transpose(p0), dimensions={2,1,0}
  b = f32[640,16,512] transpose(p1), dimensions={0,2,1}
  ROOT r = (f32[640,16,512], f32[640,16,512]) tuple(a, b)
}
"""


def test_side_results() -> None:
    """If one result transposes a parameter and another result does not, one kernel computes both and reads the
    parameter once.
    """
    (fusion,) = fusions(SIDE)
    (nest,) = nests.planned(fusion).nests
    assert len(nest.partition.roots) == 2
    made = pipeline.target_file(fusion, "opencl", "opencl-gpu").kernels
    assert [access.words for access in made[0].report.touched] == ["load p0", "store r1", "read p0", "write r0", "write r1"]
    assert proofs.check(fusion) is None


def test_orders_apart() -> None:
    """One tile cannot transpose two operands that are contiguous along different dimensions of the result. If an
    additional kernel costs less than reads with large strides, the second operand gets its own kernel.
    """
    (fusion,) = fusions(APART)
    made = pipeline.target_file(fusion, "cuda", "sm_80").kernels
    assert [k.hero for k in made] == ["transpose", "transpose"] and made[0].name.endswith("_part0")
    small = APART.replace("512", "4").replace("640", "8")
    assert len(nests.planned(fusions(small)[0]).nests) == 1


# ---- banks ---------------------------------------------------------------------------------------------------------


def test_conflicts() -> None:
    """The conflict degree is right where it is known: columns of 32 words, padded columns, rotated rows, 8- and 16-byte
    words, and bytes of one word.
    """
    def count(text: str, word: int) -> int:
        return transpose_gpu.conflicts(DEVICES["sm_80"], f"(th_x) -> ({text}), domain: th_x in [0, 31]", word, 32, [()])
    assert [count(text, 4) for text in ("th_x", "th_x * 32", "th_x * 33", "th_x * 2", "th_x * 48", "0")] == [1, 32, 1, 2, 16, 1]
    assert count("th_x * 32 + (th_x + 5) mod 32", 4) == 1
    assert [count(text, 8) for text in ("th_x", "th_x * 32", "th_x * 33", "th_x * 2")] == [1, 16, 1, 2]
    assert [count(text, 16) for text in ("th_x", "th_x * 8", "th_x * 9")] == [1, 8, 1]
    assert [count(text, 1) for text in ("th_x", "th_x * 128", "th_x * 132")] == [1, 32, 1]


@pytest.mark.parametrize("dtype, size, pitch", [("f32", 4096, "33 words of 4 bytes:"), ("f32", 4097, "33 words of 4 bytes:"),
                                                ("bf16", 4096, "33 words of 4 bytes, rotated by 4 more words after each 8 lanes:"), ("bf16", 4097, "66 words of 2 bytes:"),
                                                ("s8", 4096, "33 words of 4 bytes, rotated by 4 more words after each 16 lanes:"), ("f64", 4096, "32 words of 8 bytes, rotated by 1 more words after each 2 lanes:")])
def test_tiles(dtype: str, size: int, pitch: str) -> None:
    """Tiles have no bank conflicts. `explain` prints the degree that a tile without padding would have."""
    ((_, made),) = decided(fusions(transpose(dtype, [size, size], [1, 0]))[0], "cuda", "sm_90")
    assert re.search(rf"tile_p0 in rows of {pitch} 1-way \(rows of \d+: \d+-way\)", made.loop.text()), made.loop.text()


# ---- compiled code -------------------------------------------------------------------------------------------------------


COMPILED: "Dict[str, str]" = {
    "f32": transpose("f32", [256, 256], [1, 0]), "bf16": transpose("bf16", [64, 192, 128], [0, 2, 1]), "s8": transpose("s8", [256, 384], [1, 0]),
    "f64": transpose("f64", [40, 7, 66], [2, 1, 0]), "odd": transpose("u16", [33, 5, 101], [2, 0, 1]), "minor": transpose("f32", [80, 60, 2], [1, 0, 2]),
    "side": SIDE}


@pytest.mark.peer
def test_compiled(tmp_path: Path) -> None:
    """nvcc prints nothing, uses no local memory, and moves 16 bytes at once if the maps prove that this is possible."""
    for number, (name, text) in enumerate(COMPILED.items()):
        found = ptx(text, ("sm_80", "sm_90")[number % 2], tmp_path)
        assert "bar.sync" in found and ".shared" in found, name
        if name in ("f32", "bf16", "s8", "f64", "side"):
            assert re.search(r"ld\.global(\.nc)?\.v[24]", found) and re.search(r"st\.global\.v[24]", found), name
