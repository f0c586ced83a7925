"""Property: windows and stencils whose rows are computed in vectors agree with the reference: pooling, its gradient, and
sums of slices and pads. This covers any stride, padding and dilation, ranks 1 to 5, every type, borders, and rows
that are not whole vectors.
"""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import List, Sequence

import pytest

from drawn import BATCH, COUNT, ON, ON_CPUS, SEED, agree, decided, fusions, in_parts, in_turn, marked, plain, shape, uncached, written_by
from gen.statements import printed
from gen.pipeline import target_file
from test_reduction import PLAIN

DTYPES = ["f32", "f32", "bf16", "f16", "f64", "s8", "u16", "s32", "s64"]
MINOR = [32, 33, 40, 47, 64, 70, 100, 128, 257]
OUTER = [1, 2, 3, 4, 5, 7, 9, 12, 20]
MOST = 12000
SELECT = """{name} {{
  a = {t}[] parameter(0)
  b = {t}[] parameter(1)
  ROOT c = pred[] compare(a, b), direction={direction}
}}
"""


class Draw:
    """One random fusion of windows over a parameter."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.dtype = self.r.choice(DTYPES)
        while True:
            self.dims = [self.r.choice(OUTER) for _ in range(self.r.choice([0, 1, 1, 2, 2, 3, 4]))] + [self.r.choice(MINOR)]
            if math.prod(self.dims) <= MOST:
                break
        order = list(range(len(self.dims)))[::-1]
        if self.r.random() < 0.2:
            self.r.shuffle(order)
        self.lines = [f"  x = {shape(self.dtype, self.dims, order)} parameter(0)", f"  z = {self.dtype}[] constant({self.r.choice([0, 1])})"]
        self.source = "x"
        if self.r.random() < 0.3:
            self.lines.append(f"  n = {plain(self.dtype, self.dims)} {'negate' if self.dtype != 'u16' else 'not'}(x)")
            self.source = "n"

    def window(self, sizes: "List[int]", overlaps: bool) -> "tuple[str, List[int]]":
        """Return a window's text, and the dims of the result."""
        words, out = [], []
        for n, size in zip(self.dims, sizes):
            stride, dilation, base = self.r.choice([1, 1, 2, 3]), 1, 1
            if overlaps and self.r.random() < 0.15:
                dilation, base = self.r.choice([1, 2]), self.r.choice([1, 2])
            low, high = (self.r.choice([0, 0, size // 2, size - 1]) for _ in range(2))
            reach, padded = (size - 1) * dilation + 1, (n - 1) * base + 1 + low + high
            if padded < reach:
                size, stride, low, high, dilation, base, reach, padded = 1, 1, 0, 0, 1, 1, 1, n
            words.append((size, stride, f"{low}_{high}", base, dilation))
            out.append((padded - reach) // stride + 1)
        names = ("size", "stride", "pad", "lhs_dilate", "rhs_dilate") if overlaps else ("size", "stride", "pad")
        return f"window={{{' '.join(name + '=' + 'x'.join(str(word[k]) for word in words) for k, name in enumerate(names))}}}", out

    def fusion(self) -> str:
        kind, t = self.r.choice(["reduce", "reduce", "scatter", "slices", "pads"]), self.dtype
        head, dims = "", self.dims
        if kind == "reduce":
            op = self.r.choice(["add", "maximum", "minimum"])
            sizes = [self.r.choice([1, 2, 3, 5]) for _ in dims]
            window, out = self.window(sizes, True)
            head = PLAIN.format(name="f", t=t, op=op)
            self.lines.append(f"  w = {plain(t, out)} reduce-window({self.source}, z), {window}, to_apply=f")
        elif kind == "scatter":
            window, places = self.window([self.r.choice([1, 2, 3]) if len(dims) < 4 else self.r.choice([1, 1, 2]) for _ in dims], False)
            head = PLAIN.format(name="f", t=t, op=self.r.choice(["add", "maximum"])) + SELECT.format(name="s", t=t, direction=self.r.choice(["GE", "LE", "GT"]))
            self.lines.append(f"  g = {plain(t, places)} parameter(1)")
            self.lines.append(f"  w = {plain(t, dims)} select-and-scatter({self.source}, g, z), {window}, select=s, scatter=f")
            out = dims
        else:
            out = [max(1, n - self.r.choice([0, 0, 1, 2, 4])) for n in dims] if kind == "slices" else dims
            found: "List[str]" = []
            for k in range(self.r.randint(2, 5)):
                if kind == "slices":
                    starts = [self.r.randint(0, n - m) for n, m in zip(dims, out)]
                    words = ", ".join(f"[{a}:{a + m}]" for a, m in zip(starts, out))
                    self.lines.append(f"  p{k} = {plain(t, out)} slice({self.source}), slice={{{words}}}")
                else:
                    moved = [self.r.randint(-2, 2) if n > 4 else 0 for n in dims]
                    words = "x".join(f"{m}_{-m}" for m in moved)
                    self.lines.append(f"  p{k} = {plain(t, out)} pad({self.source}, z), padding={words}")
                found.append(f"p{k}")
            total = found[0]
            for k, one in enumerate(found[1:]):
                self.lines.append(f"  a{k} = {plain(t, out)} {self.r.choice(['add', 'subtract', 'maximum'])}({total}, {one})")
                total = f"a{k}"
            self.lines.append(f"  w = {plain(t, out)} copy({total})")
        tail = self.r.choice(["", "", "sum"])
        self.lines.append(f"  ROOT r = {plain(t, out)} {'add(w, w)' if tail else 'copy(w)'}")
        return head + "ENTRY e {\n" + "\n".join(self.lines) + "\n}\n"


@pytest.mark.parametrize("streamed", [False, True], ids=["cached", "streamed"])
@pytest.mark.drawn
@pytest.mark.parametrize("batch, target, device", in_turn(range(-(-COUNT // BATCH))))
def test_agrees(target: str, device: str, batch: int, streamed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if streamed:
        uncached(monkeypatch)
    seeds = range(SEED * 1000 + batch * BATCH, SEED * 1000 + min(COUNT, (batch + 1) * BATCH))
    agree({f"n{seed}": Draw(seed).fusion() for seed in seeds}, target, device, tmp_path)


@pytest.mark.parametrize("target, device", marked(ON_CPUS))
@in_parts
def test_elements_a_few_apart(target: str, device: str, part: str, tmp_path: Path) -> None:
    """Elements of a register that are 2 to 4 apart in memory are picked from whole vectors, up to the last element of an
    array, for every width.
    """
    texts = {}
    for number, (dtype, step, first) in enumerate([("f32", 2, 1), ("f32", 3, 0), ("bf16", 2, 0), ("f16", 2, 3), ("f64", 2, 0), ("u8", 3, 2), ("pred", 2, 0), ("s8", 5, 0)]):
        size = 7 * (47 * step + first + 1)
        out = f"{dtype}[{-(-(size - first) // step)}]"
        texts[f"slice{number}"] = f"e {{\n  x = {dtype}[{size}] parameter(0)\n  ROOT s = {out} slice(x), slice={{[{first}:{size}:{step}]}}\n}}\n"
    for dtype, step, combine in (("f32", 2, "maximum"), ("bf16", 2, "add"), ("s8", 3, "minimum"), ("u16", 4, "add")):
        texts[f"pool_{dtype}"] = f"c {{\n  a = {dtype}[] parameter(0)\n  b = {dtype}[] parameter(1)\n  ROOT r = {dtype}[] {combine}(a, b)\n}}\n" \
            f"e {{\n  x = {dtype}[3,5,{40 * step + 3}] parameter(0)\n  z = {dtype}[] constant(1)\n" \
            f"  ROOT r = {dtype}[3,2,42] reduce-window(x, z), window={{size=1x3x3 stride=1x2x{step} pad=0_0x0_0x0_{step}}}, to_apply=c\n}}\n"
    for name, text in texts.items():
        made = target_file(fusions(text, name)[0], target, device)
        assert ("_each" in made.text) == (name != "slice7"), name
    agree(texts, target, device, tmp_path, part)


@pytest.mark.parametrize("target, device", marked(ON_CPUS))
@in_parts
def test_elements_in_reverse(target: str, device: str, part: str, tmp_path: Path) -> None:
    """A register whose elements go backwards in memory is one vector, reversed. The results agree with the reference
    for elements of every width, also at the first element of an array.
    """
    texts = {}
    for number, dtype in enumerate(["f32", "bf16", "f16", "f64", "u8", "pred", "s32"]):
        shape = plain(dtype, [3, 5, 64])
        texts[f"turn{number}"] = f"e {{\n  x = {shape} parameter(0)\n  ROOT r = {shape} reverse(x), dimensions={{2}}\n}}\n"
    texts["both"] = "e {\n  x = f32[6,192] parameter(0)\n  y = f32[6,192] reverse(x), dimensions={0,1}\n  ROOT r = f32[6,192] subtract(x, y)\n}\n"
    for name, text in texts.items():
        made = target_file(fusions(text, name)[0], target, device)
        assert "_backwards" in made.text, name
    texts["odd"] = "e {\n  x = f32[7,37] parameter(0)\n  ROOT r = f32[7,37] reverse(x), dimensions={1}\n}\n"
    agree(texts, target, device, tmp_path, part)


@pytest.mark.parametrize("target, device", marked(ON_CPUS))
@in_parts
def test_whole_lines_of_odd_rows(target: str, device: str, part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors are aligned to cache lines even if the rows of the result are not, also in batches. They are not aligned
    for short rows, for vectors smaller than a line, and for windows that reach beyond a border.
    """
    uncached(monkeypatch)
    texts = {}
    for number, (dtype, dims) in enumerate([("f32", [9, 108]), ("bf16", [5, 81]), ("f64", [3, 7, 73]), ("u8", [11, 257]), ("f16", [2, 3, 2, 99]), ("f32", [6, 60]), ("s32", [3, 3, 104])]):
        out = [*dims[:-1], dims[-1] - 4]
        first, second = (", ".join([*(f"[0:{n}]" for n in dims[:-1]), f"[{k}:{out[-1] + k}]"]) for k in (1, 4))
        texts[f"blur{number}"] = f"e {{\n  x = {plain(dtype, dims)} parameter(0)\n  a = {plain(dtype, out)} slice(x), slice={{{first}}}\n" \
            f"  b = {plain(dtype, out)} slice(x), slice={{{second}}}\n  ROOT r = {plain(dtype, out)} add(a, b)\n}}\n"
    texts["pool"] = "c {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT r = f32[] maximum(a, b)\n}\n" \
        "e {\n  x = f32[2,7,101] parameter(0)\n  z = f32[] constant(-inf)\n" \
        "  ROOT r = f32[2,7,101] reduce-window(x, z), window={size=1x3x3 pad=0_0x1_1x1_1}, to_apply=c\n}\n"
    for name, text in texts.items():
        (kernel,) = target_file(fusions(text, name)[0], target, device).kernels
        whole = name in ("blur0", "blur2", "blur6")
        assert kernel.hero == "window" and ("in whole lines" in kernel.loop.text()) == ("STREAM" in " ".join(printed(kernel.report.code.text))) == whole, name
        edges = [" ".join(printed(edge.text)) for edge in kernel.text.record.edges]    # edges are stored lane by lane, so that they store no element that a whole line stores
        assert edges and all(("++lane) r0[" in edge) == whole for edge in edges), (name, edges)
    agree(texts, target, device, tmp_path, part)


@pytest.mark.parametrize("target, device", marked(ON_CPUS))
def test_rows_that_look_up(target: str, device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that look up table entries element by element are not aligned to cache lines."""
    uncached(monkeypatch)
    table = ", ".join(str(k * k % 97) for k in range(127))
    text = f"""HloModule m
ENTRY e {{
  x = s32[8,127]{{1,0}} parameter(0)
  y = s32[8]{{0}} parameter(1)
  b = s32[8,127]{{1,0}} broadcast(y), dimensions={{0}}
  s = s32[8,127]{{1,0}} add(x, b)
  z = s32[127]{{0}} parameter(2)
  c = s32[8,127]{{1,0}} broadcast(z), dimensions={{1}}
  u = s32[8,127]{{1,0}} add(s, c)
  t = s32[127]{{0}} constant({{{table}}})
  d = s32[8,127]{{1,0}} broadcast(t), dimensions={{1}}
  ROOT r = s32[8,127]{{1,0}} add(u, d)
}}
"""
    (fusion,) = fusions(text)
    assert written_by(fusion, target, device) == ["window"]
    agree({"table": text}, target, device, tmp_path)


@pytest.mark.parametrize("target, device", marked(ON_CPUS))
def test_borders_of_whole_rows(target: str, device: str, tmp_path: Path) -> None:
    """A pad along dimensions other than the minor one tests for the border once per row. The code for a row has no
    division.
    """
    texts = {f"pad_{t}": f"e {{\n  x = {t}[2,5,6,{n}] parameter(0)\n  z = {t}[] constant(1)\n"
             f"  ROOT r = {t}[2,7,9,{n}] pad(x, z), padding=0_0x1_1x0_3x0_0\n}}\n" for t, n in (("f32", 64), ("bf16", 32), ("u8", 48))}
    for name, text in texts.items():
        (kernel,) = target_file(fusions(text, name)[0], target, device).kernels
        assert kernel.hero == "window" and not any(c in " ".join(printed(kernel.report.code.text)) for c in "/%"), name
    agree(texts, target, device, tmp_path)


@pytest.mark.parametrize("dims, window, inside", [
    ((8, 100), "size=1x9 pad=0_0x4_4", (4, 96)), ((8, 100), "size=3x9 pad=1_1x0_8", (0, 92)), ((8, 100), "size=1x3 stride=1x2 pad=0_0x1_1", (1, 50)),
    ((8, 100), "size=3x1 pad=1_1x0_0", (0, 100)), ((4, 5, 64), "size=1x3x3 pad=0_0x1_1x1_1", (1, 63))])
def test_columns_without_a_border(dims: "Sequence[int]", window: str, inside: "Sequence[int]") -> None:
    """Columns where no window reaches beyond the row are computed in vectors. Their code has no test on the column."""
    text = PLAIN.format(name="f", t="f32", op="add") + (f"ENTRY e {{\n  x = {plain('f32', dims)} parameter(0)\n  z = f32[] constant(0)\n"
                                                       f"  ROOT r = f32[{{out}}] reduce-window(x, z), window={{{{{window}}}}}, to_apply=f\n}}\n").replace("{{", "{").replace("}}", "}")
    out = [*dims[:-1], 50 if "stride" in window else dims[-1]]
    (fusion,) = fusions(text.replace("{out}", ",".join(map(str, out))))
    (kernel,) = target_file(fusion, "c", "cpu").kernels
    assert kernel.hero == "window" and kernel.loop.inside == inside
    assert not any("step" in line for line in printed(kernel.text.record.step.text) if line.strip().startswith("if "))


def _gradient(t: str, base: str, places: str, window: str, direction: str = "GE", combine: str = "add",
              order: str = "", init: str = "") -> str:
    """Return a select-and-scatter whose source is computed. init: an op on a parameter that gives the initial value."""
    given = f"  y = s32[] parameter(2)\n  z = {t}[] convert(y)\n" if init else f"  z = {t}[] parameter(2)\n"
    return PLAIN.format(name="f", t=t, op=combine) + SELECT.format(name="s", t=t, direction=direction) + f"""ENTRY e {{
  x = {t}[{base}]{order} parameter(0)
  g = {t}[{places}] parameter(1)
  d = {t}[{places}] add(g, g)
{given}  ROOT r = {t}[{base}]{order} select-and-scatter(x, d, z), window={{{window}}}, select=s, scatter=f
}}
"""


GRADIENTS = {
    "overlap": _gradient("f32", "70,129", "35,64", "size=3x3 stride=2x2 pad=1_0x0_0"),
    "apart": _gradient("bf16", "5,67,66", "5,33,33", "size=1x2x2 stride=1x2x2"),
    "bytes": _gradient("s8", "131,50", "44,17", "size=3x3 stride=3x3 pad=1_0x0_1", "LE", "maximum"),
    "cut": _gradient("f64", "65,40", "31,19", "size=3x3 stride=2x2 pad=-2_0x0_-1", "GT"),
    "columns": _gradient("f32", "60,90", "30,45", "size=2x2 stride=2x2", order="{0,1}"),
    "line": _gradient("f16", "5000", "2499", "size=3 stride=2", init="convert"),
    "last": _gradient("s32", "9,200", "5,100", "size=3x2 stride=2x2 pad=1_1x0_0", "NE", "subtract"),
    "border": _gradient("f32", "40,40", "22,22", "size=2x2 stride=2x2 pad=2_2x2_2"),    # windows without elements
}


@pytest.mark.parametrize("target, device", marked(ON))
@in_parts
def test_windows_select_along_rows(target: str, device: str, part: str, tmp_path: Path) -> None:
    """On CPUs, a select-and-scatter along the contiguous dimension combines the selected elements window by window. The
    results agree with the reference for ties, NaNs, windows without elements, and windows that reach into the rows of
    two work-items.
    """
    for name, source in GRADIENTS.items():
        (fusion,) = fusions(source)
        heroes = written_by(fusion, target.replace("-on-cpu", ""), device)
        assert (heroes[-1] == "window-scatter") == ("cpu" in device), (name, heroes)
    agree(GRADIENTS, target, device, tmp_path, part)


def _pad(t: str, base: str, padding: str, out: str, order: str = "", computed: bool = False) -> str:
    middle = f"  y = {t}[{base}]{order} add(x, x)\n" if computed else ""
    return f"ENTRY e {{\n  x = {t}[{base}]{order} parameter(0)\n  z = {t}[] parameter(1)\n{middle}" \
        f"  ROOT r = {t}[{out}]{order} pad({'y' if computed else 'x'}, z), padding={padding}\n}}\n"


PADS = {
    "all": _pad("f32", "3,7,50,4", "0_0x0_-1x-2_-2x-1_-1_3", "3,6,46,11"),
    "channels": _pad("bf16", "40,31,3", "0_0x0_0x0_1", "40,31,4"),
    "between": _pad("s8", "50,60", "1_2_2x-1_3_1", "151,121", computed=True),
    "outer": _pad("f64", "9,5,33", "-2_1_4x2_0x0_-30", "40,7,3"),
    "columns": _pad("f32", "17,30", "0_0_1x3_3", "33,36", "{0,1}"),
    "one": _pad("u16", "1,300,2", "0_0x1_1x0_0_1", "1,302,3"),
    "none": _pad("f32", "2,300,5", "-3_4x0_0x0_0", "3,300,5"),    # the negative padding removes all elements of the operand
    "rows": _pad("f16", "30,10,13", "2_2x0_0x0_0", "34,10,13"),    # some rows are all padding, others have none
}


@pytest.mark.parametrize("target, device", marked(ON))
@in_parts
def test_pads_between_elements(target: str, device: str, part: str, tmp_path: Path) -> None:
    """Padding between elements, before and after them, and negative padding agree with the reference, for short rows
    and in every dimension.
    """
    for name, source in PADS.items():
        (fusion,) = fusions(source)
        heroes = written_by(fusion, target.replace("-on-cpu", ""), device)
        assert (heroes == ["pad"]) == ("cpu" in device and name != "none"), (name, heroes)
    agree(PADS, target, device, tmp_path, part)


def _pool(t: str, op: str, base: str, out: str, window: str, order: str = "", init: str = "parameter(1)") -> str:
    return PLAIN.format(name="f", t=t, op=op) + f"""ENTRY e {{
  x = {t}[{base}]{order} parameter(0)
  z = {t}[] {init}
  ROOT r = {t}[{out}]{order} reduce-window(x, z), window={{{window}}}, to_apply=f
}}
"""


POOLS = {
    "blocks": _pool("f32", "add", "300,320", "9,10", "size=32x32 stride=32x32"),    # 12 rows are in no window
    "batch": _pool("bf16", "add", "9,80,96", "9,10,12", "size=1x8x8 stride=1x8x8", init="constant(3)"),
    "overlap": _pool("bf16", "maximum", "260,300", "258,300", "size=5x7 pad=1_1x3_3"),
    "dilated": _pool("s8", "add", "2,200,200", "2,195,199", "size=1x4x9 pad=0_0x0_1x4_3 rhs_dilate=1x2x1"),
    "columns": _pool("f32", "minimum", "320,300", "40,60", "size=8x5 stride=8x5", "{0,1}"),
    "strides": _pool("f64", "multiply", "256,260", "85,52", "size=3x9 stride=3x5 pad=0_0x1_3", init="constant(1)"),
    "holes": _pool("s32", "maximum", "130,600", "258,99", "size=3x12 stride=1x6 pad=1_0x0_0 lhs_dilate=2x1"),
}


@pytest.mark.parametrize("target, device", marked(ON))
@in_parts
def test_windows_of_outer_dimensions_first(target: str, device: str, part: str, tmp_path: Path) -> None:
    """A large window is computed in two kernels: first its outer dimensions, then the contiguous one. The initial value
    counts once, and padding and dilation work in either dimension.
    """
    for name, source in POOLS.items():
        (fusion,) = fusions(source)
        assert len(decided(fusion, target.replace("-on-cpu", ""), device)) >= 2, name
    agree(POOLS, target, device, tmp_path, part)


@pytest.mark.parametrize("source", [
    _pool("f32", "subtract", "300,320", "9,10", "size=32x32 stride=32x32"),      # one kernel, because the order of subtractions must not change
    _pool("f32", "add", "300,320", "150,160", "size=2x2 stride=2x2"),    # elements are picked from whole vectors
    _pool("f32", "add", "96,100,64", "95,99,64", "size=2x2x1"),    # whole registers along the minor dimension
    _pool("f32", "add", "64,64", "2,2", "size=32x32 stride=32x32"),              # small
])
def test_windows_at_once(source: str) -> None:
    (fusion,) = fusions(source)
    assert len(decided(fusion, "c", "cpu")) == 1
