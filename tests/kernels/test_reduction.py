"""Property: reductions of any rank, size and type, over any dimensions and with any combiner, agree with the reference,
alone and among other ops, on each class of device. nvcc compiles them without local memory.
"""

from __future__ import annotations

import math
import random
from array import array
from dataclasses import replace
from pathlib import Path
from typing import List, Sequence, Tuple

import pytest

from drawn import BATCH, COUNT, ON, SEED, agree, fusions, in_parts, in_turn, marked, plain, ptx, shape, uncached, written_by
from gen_run import gen
from gen.schedule import DEVICES
from gen.pipeline import target_file

FLOATS = ["f32", "f32", "bf16", "f16", "f64"]
WHOLE = ["s8", "u8", "s16", "s32", "u64"]
DIMS = [1, 2, 3, 4, 5, 8, 16, 17, 31, 32, 33, 64, 100, 128, 1023, 4097]
MOST = 60000

Value = Tuple[str, str, Sequence[int]]   # name, type, dims

# argmax's combiner as JAX writes it: NaNs first, then the larger element, then the smaller index
ARGMAX = """{name} {{
  a = {t}[] parameter(0)
  i = s32[] parameter(1)
  b = {t}[] parameter(2)
  j = s32[] parameter(3)
  above = pred[] compare(a, b), direction=GT
  nan = pred[] compare(a, a), direction=NE
  first = pred[] or(above, nan)
  value = {t}[] select(first, a, b)
  equal = pred[] compare(a, b), direction=EQ
  before = pred[] compare(i, j), direction=LT
  tie = pred[] and(equal, before)
  take = pred[] or(first, tie)
  index = s32[] select(take, i, j)
  ROOT r = ({t}[], s32[]) tuple(value, index)
}}
"""
PAIR = """{name} {{
  a = {t}[] parameter(0)
  c = {t}[] parameter(1)
  b = {t}[] parameter(2)
  d = {t}[] parameter(3)
  low = {t}[] minimum(a, b)
  high = {t}[] maximum(c, d)
  ROOT r = ({t}[], {t}[]) tuple(low, high)
}}
"""
PLAIN = """{name} {{
  a = {t}[] parameter(0)
  b = {t}[] parameter(1)
  ROOT r = {t}[] {op}(a, b)
}}
"""


class Draw:
    """One random fusion around reductions of its parameters."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.lines: List[str] = []
        self.combiners = ""
        self.parameters = self.count = 0
        self.dtype = self.r.choice([*FLOATS, *WHOLE, "pred"])
        while True:
            self.dims = [self.r.choice(DIMS) for _ in range(self.r.choice([1, 2, 2, 3, 3, 4, 5, 6]))]
            if math.prod(self.dims) <= MOST:
                break

    def emit(self, dtype: str, dims: "Sequence[int]", text: str, type_text: str = "") -> Value:
        self.count += 1
        self.lines.append(f"  v{self.count} = {type_text or plain(dtype, dims)} {text}")
        return f"v{self.count}", dtype, dims

    def parameter(self, dtype: str, dims: "Sequence[int]") -> Value:
        order = list(range(len(dims)))[::-1]
        if self.r.random() < 0.3:
            self.r.shuffle(order)
        self.parameters += 1
        return self.emit(dtype, dims, f"parameter({self.parameters - 1})", shape(dtype, dims, order))

    def constant(self, dtype: str, text: str) -> Value:
        if self.r.random() < 0.2:
            return self.parameter(dtype, [])
        return self.emit(dtype, [], f"constant({text})")

    def computed(self, of: Value) -> Value:
        name, dtype, dims = of
        kind = self.r.choice(["", "unary", "operand", "convert"])
        if kind == "unary":
            return self.emit(dtype, dims, f"{'negate' if dtype in FLOATS else 'not'}({name})")
        if kind == "operand":
            other = self.parameter(dtype, dims)
            return self.emit(dtype, dims, f"{'xor' if dtype == 'pred' else 'add'}({name}, {other[0]})")
        if kind == "convert":
            to = "f32" if dtype in ("bf16", "f16") else "s32" if dtype in ("s8", "pred", "u8") else dtype
            return self.emit(to, dims, f"convert({name})") if to != dtype else of
        return of

    def reduce(self, of: Value, gone: "Sequence[int]") -> "List[Value]":
        name, dtype, dims = of
        kept = [d for k, d in enumerate(dims) if k not in gone]
        combiner, at = f"combine{self.count}", "{" + ",".join(map(str, gone)) + "}"
        if dtype != "pred" and self.r.random() < 0.3:
            lowest = {"u8": "0", "u64": "0"}.get(dtype, "-inf" if dtype in FLOATS else "-100")
            inits = [self.constant(dtype, lowest if dtype != "u8" else "0")]
            if self.r.random() < 0.5:
                second, form = self.emit("s32", dims, f"iota(), iota_dimension={self.r.choice(gone)}"), ARGMAX
                inits.append(self.emit("s32", [], "constant(0)"))
            else:
                second, form = self.parameter(dtype, dims), PAIR
                inits.append(self.constant(dtype, lowest))
            self.combiners += form.format(name=combiner, t=dtype)
            both = self.emit("", [], f"reduce({name}, {second[0]}, {inits[0][0]}, {inits[1][0]}), dimensions={at}, to_apply={combiner}",
                             f"({plain(dtype, kept)}, {plain(second[1], kept)})")
            return [self.emit(t, kept, f"get-tuple-element({both[0]}), index={k}") for k, t in enumerate((dtype, second[1]))]
        op = self.r.choice(["and", "or", "xor"] if dtype == "pred" else ["add", "add", "maximum", "minimum"] + ["subtract"] * (self.r.random() < 0.2)
                           + (["multiply", "xor"] if dtype in WHOLE else []))
        init = self.constant(dtype, {"pred": "false"}.get(dtype, self.r.choice(["0", "1"])))
        self.combiners += PLAIN.format(name=combiner, t=dtype, op=op)
        order = list(range(len(kept)))[::-1]
        if self.r.random() < 0.2:
            self.r.shuffle(order)
        return [self.emit(dtype, kept, f"reduce({name}, {init[0]}), dimensions={at}, to_apply={combiner}", shape(dtype, kept, order))]

    def fusion(self) -> str:
        gone = sorted(self.r.sample(range(len(self.dims)), self.r.randint(1, len(self.dims))))
        p = self.parameter(self.dtype, self.dims)
        x = self.computed(p)
        roots = self.reduce(x, gone)
        kinds = self.r.sample(["epilogue", "side", "second", "other", "same"], self.r.choice([0, 0, 1, 2]))
        if "epilogue" in kinds:
            name, dtype, dims = roots[0]
            roots[0] = self.emit(dtype, dims, f"{'abs' if dtype in FLOATS else 'not'}({name})")
        if "side" in kinds:
            roots.append(self.emit(x[1], x[2], f"copy({x[0]})"))
        if "second" in kinds:      # a reduction of another input
            roots += self.reduce(self.computed(self.parameter(self.r.choice(FLOATS), self.dims)), gone)
        if "same" in kinds:        # a reduction by another combiner
            roots += self.reduce(x, gone)
        if "other" in kinds:       # a reduction over other dimensions
            roots += self.reduce(x, sorted(self.r.sample(range(len(self.dims)), self.r.randint(1, len(self.dims)))))
        names, types = ", ".join(n for n, _, _ in roots), ", ".join(self.type_of(n) for n, _, _ in roots)
        last = f"  ROOT all = ({types}) tuple({names})\n"
        return f"HloModule drawn\n\n{self.combiners}\nENTRY e {{\n" + "\n".join(self.lines) + "\n" + last + "}\n"

    def type_of(self, name: str) -> str:
        return next(line.split()[2] for line in self.lines if line.startswith(f"  {name} ="))


@pytest.mark.drawn
@pytest.mark.parametrize("first, target, device", in_turn(range(0, COUNT, BATCH)))
def test_drawn(first: int, target: str, device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random reductions agree with the reference. Every second batch has streaming stores and is cut into parts."""
    if first // BATCH % 2:
        uncached(monkeypatch)
    agree({f"f{k}": Draw(SEED * 1000003 + k).fusion() for k in range(first, min(first + BATCH, COUNT))}, target, device, tmp_path)


# ---- earlier errors ------------------------------------------------------------------------------------------------------


def reduce(dtype: str, dims: "Sequence[int]", gone: "Sequence[int]", op: str = "add") -> str:
    kept = [d for k, d in enumerate(dims) if k not in gone]
    return PLAIN.format(name="c", t=dtype, op=op) + f"e {{\n  p0 = {plain(dtype, dims)} parameter(0)\n  i = {dtype}[] constant(0)\n" \
        f"  ROOT r = {plain(dtype, kept)} reduce(p0, i), dimensions={{{','.join(map(str, gone))}}}, to_apply=c\n}}\n"


def results(kinds: "Sequence[str]", reduces: "Sequence[str]", root: str) -> str:
    """Return a fusion that reduces x f32[33,20,70] and y s32, followed by the given ops."""
    combiners = PLAIN.format(name="add", t="f32", op="add") + PLAIN.format(name="count", t="s32", op="add") + PLAIN.format(name="high", t="f32", op="maximum")
    lines = ["x = f32[33,20,70] parameter(0)", "y = s32[33,20,70] parameter(1)", "z = f32[] constant(0)", "n = s32[] constant(0)"]
    lines += [f"r{k} = {kind} reduce({one}" for k, (kind, one) in enumerate(zip(kinds, reduces))]
    return combiners + "e {\n" + "".join(f"  {line}\n" for line in lines) + f"  {root}\n}}\n"


BOTH = """both {
  a = f32[] parameter(0)
  b = s32[] parameter(1)
  c = f32[] parameter(2)
  d = s32[] parameter(3)
  m = f32[] maximum(a, c)
  n = s32[] add(b, d)
  ROOT t = (f32[], s32[]) tuple(m, n)
}
"""
ADD, COUNT_UP, HIGH = ("x, z), dimensions={2}, to_apply=add", "y, n), dimensions={2}, to_apply=count", "x, z), dimensions={2}, to_apply=high")
FOUND = {  # fusions that once gave wrong results
    "results of one pass in two orders": results(["f32[33,20]{0,1}", "s32[33,20]{1,0}"], [ADD, COUNT_UP], "ROOT t = (f32[33,20]{0,1}, s32[33,20]{1,0}) tuple(r0, r1)"),
    "one reduce in two orders": BOTH + results(["(f32[33,20]{0,1}, s32[33,20]{1,0})"], ["x, y, z, n), dimensions={2}, to_apply=both"],
                                               "ROOT t = (f32[33,20]{0,1}, s32[33,20]{1,0}) tuple(g0, g1)").replace(
        "  ROOT t", "  g0 = f32[33,20]{0,1} get-tuple-element(r0), index=0\n  g1 = s32[33,20]{1,0} get-tuple-element(r0), index=1\n  ROOT t"),
    "two orders, bitcast to one": results(["f32[33,20]{1,0}", "f32[33,20]{0,1}"], [ADD, HIGH], "b0 = f32[20,33] bitcast(r0)\n  b1 = f32[20,33] bitcast(r1)\n"
                                          "  ROOT t = f32[20,33] add(b0, b1)"),
    "parts that do not share out": reduce("s32", [200063], [0]),
}


@pytest.mark.parametrize("target, device", marked(ON))
@in_parts
def test_found(target: str, device: str, part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DEVICES, device, replace(DEVICES[device], part_bytes=16384))
    agree({f"f{k}": text for k, text in enumerate(FOUND.values())}, target, device, tmp_path, part)


def test_rows_in_several_places(tmp_path: Path) -> None:
    """A kernel reads short rows at two places in turn (two streams), and long rows at four places (four streams). If
    the rows cannot be divided equally between the streams, the last blocks overlap.
    """
    rows = {"short": (reduce("f32", [1000, 32], [1]), 2), "pairs": (reduce("bf16", [1000, 512], [1]), 2), "long": (reduce("f32", [1000, 300], [1]), 4)}
    agree({name: text for name, (text, _) in rows.items()}, "opencl", "pocl-cpu", tmp_path)
    for name, (_, places) in rows.items():
        (text,) = (tmp_path / name).glob("*.cl")
        assert f"{places} streams" in text.read_text()


@pytest.mark.parametrize("target, device", [("c", "cpu"), ("opencl", "pocl-cpu")])
def test_rows_of_no_array(target: str, device: str, tmp_path: Path) -> None:
    """If each operand of a reduce is the same in a row, or in all rows, a loop has vectors across short rows."""
    texts = {}
    for size, hero in ((16, "loop"), (50, "loop"), (300, "reduction")):
        lines = ["x = f32[70,33] parameter(0)", f"y = f32[{size}] parameter(1)", f"a = f32[70,33,{size}] broadcast(x), dimensions={{0,1}}",
                 f"b = f32[70,33,{size}] broadcast(y), dimensions={{2}}", f"d = f32[70,33,{size}] subtract(a, b)", "z = f32[] constant(0)",
                 "ROOT r = f32[70,33] reduce(d, z), dimensions={2}, to_apply=c"]
        texts[f"o{size}"] = PLAIN.format(name="c", t="f32", op="maximum") + "e {\n" + "".join(f"  {line}\n" for line in lines) + "}\n"
        (fusion,) = fusions(texts[f"o{size}"])
        assert written_by(fusion, target, device) == [hero]
    agree(texts, target, device, tmp_path)


@pytest.mark.parametrize("target, device", [("c", "cpu"), ("opencl", "pocl-cpu")])
def test_an_index_alone(target: str, device: str, tmp_path: Path) -> None:
    """Compilers do not warn of a kernel for an argmax whose maximum no result needs (tests/conftest.py: -Werror)."""
    texts = {}
    for dims in ([40, 50], [5000], [3000, 8]):
        along, left = (0, dims[1:]) if dims == [3000, 8] else (len(dims) - 1, dims[:-1])
        lines = [f"x = {plain('f32', dims)} parameter(0)", "low = f32[] constant(-inf)", "n = s32[] constant(0)", f"i = {plain('s32', dims)} iota(), iota_dimension={along}",
                 f"r = ({plain('f32', left)}, {plain('s32', left)}) reduce(x, i, low, n), dimensions={{{along}}}, to_apply=best",
                 f"ROOT at = {plain('s32', left)} get-tuple-element(r), index=1"]
        texts[f"i{len(texts)}"] = ARGMAX.format(name="best", t="f32") + "e {\n" + "".join(f"  {line}\n" for line in lines) + "}\n"
        (fusion,) = fusions(texts[f"i{len(texts) - 1}"])
        assert "reduction" in written_by(fusion, target, device)
    agree(texts, target, device, tmp_path)


@pytest.mark.parametrize("target, device", [("c", "cpu"), ("opencl", "pocl-cpu")])
def test_argmax_of_short_rows(target: str, device: str, tmp_path: Path) -> None:
    """An argmax has vectors across short rows, unless its elements are bytes."""
    texts = {}
    for dtype, size, hero in (("f32", 20, "loop"), ("f32", 32, "reduction"), ("s8", 20, "reduction")):
        texts[f"{dtype}_{size}"] = ARGMAX.format(name="c", t=dtype) + f"""e {{
  x = {dtype}[70,{size}] parameter(0)
  i = s32[70,{size}] iota(), iota_dimension=1
  low = {dtype}[] constant({"-inf" if dtype == "f32" else "-128"})
  zero = s32[] constant(0)
  r = ({dtype}[70], s32[70]) reduce(x, i, low, zero), dimensions={{1}}, to_apply=c
  ROOT n = s32[70] get-tuple-element(r), index=1
}}
"""
        (fusion,) = fusions(texts[f"{dtype}_{size}"])
        assert written_by(fusion, target, device) == [hero]
    agree(texts, target, device, tmp_path)


def test_sums_of_rows_that_fill_no_vectors() -> None:
    """The last elements of a row, not the sum, are masked. Else gcc stores the two parts of the sum with AVX2."""
    text = PLAIN.format(name="c", t="f32", op="add") + """e {
  x = f32[70,20] parameter(0)
  z = f32[] constant(0)
  ROOT r = f32[70] reduce(x, z), dimensions={1}, to_apply=c
}
"""
    (fusion,) = fusions(text)
    step = str(target_file(fusion, "c").kernels[0].text.record.rest.step.text)
    assert "whole_float16(a0[0]) + v_kept" in step


@pytest.mark.parametrize("columns", [16, 256, 272, 320, 400])
def test_columns_under_many_rows_are_read_once(columns: int) -> None:
    """In a reduction of many rows to few columns, a step covers all columns, so each work-item reads each of its rows
    once.
    """
    (fusion,) = fusions(reduce("f32", [3000, columns], [0]))
    first = target_file(fusion, "c").kernels[0]
    assert first.blocks == first.loop.parts, first.loop.text()


@pytest.mark.parametrize("target, device", marked([("c", "cpu"), ("opencl", "pocl-cpu")]))
@in_parts
def test_wide_columns_are_read_row_by_row(target: str, device: str, part: str, tmp_path: Path) -> None:
    """If a row of the result has many columns, the accumulators of a work-item fill one page of memory, or several
    pages if there are still enough work-items. Accumulators that do not fit in registers are in memory and are divided
    into groups: the kernel adds 8 rows to one group, then the same rows to the next group. If the blocks do not divide
    the columns, the last block overlaps the block before it.
    """
    texts = {name: reduce(dtype, dims, [1]) for name, dtype, dims in (
        ("whole", "f32", [3, 37, 1024]), ("moved", "f32", [2, 21, 1000]), ("several", "f64", [2, 9, 5003]), ("few", "bf16", [2, 9, 300]),
        ("even", "s32", [2, 48, 512]), ("short", "f32", [2, 15, 512]), ("pages", "f32", [16, 35, 2051]))}
    texts["parts"], texts["digits"] = reduce("f32", [2051, 512], [0]), reduce("f32", [3, 2, 19, 512], [0, 2])
    records = [target_file(fusions(text)[0], target).kernels[0].text.record for text in texts.values()]
    assert {(record.rows > 1, record.rest) for record in records} == {(False, False), (True, False), (True, True)}    # each kind of loop occurs
    assert {record.groups > 1 for record in records} == {False, True}
    agree(texts, target, device, tmp_path, part)


@pytest.mark.parametrize("target", ["c", pytest.param("opencl", marks=pytest.mark.peer)])
def test_same_bits(target: str, tmp_path: Path) -> None:
    """A sum in many parts, on all threads, has the same bits every time."""
    draw = random.Random(SEED)
    (tmp_path / "sum.hlo").write_text(reduce("f32", [1000003], [0]))
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "p0.bin").write_bytes(array("f", (draw.gauss(0, 1) for _ in range(1000003))).tobytes())
    found = set()
    for turn in range(3):
        done = gen("run", tmp_path / "sum.hlo", "--target", target, "--in", tmp_path / "in", "--out", tmp_path / "out")
        if done.returncode == 3:
            pytest.skip(done.stdout + done.stderr)
        assert done.returncode == 0, done.stderr
        found.add((tmp_path / "out" / "r0.bin").read_bytes())
    assert len(found) == 1


# ---- compiled code -------------------------------------------------------------------------------------------------------


COMPILED = {"row": reduce("f32", [512, 4096], [1]), "bf16": reduce("bf16", [512, 1000], [1]), "short": reduce("f32", [4096, 32], [1]),
            "column": reduce("f32", [4096, 512], [0]), "small": reduce("f32", [40960, 16], [0]), "odd": reduce("f16", [1023, 100], [0]),
            "whole": reduce("f32", [1 << 22], [0], "maximum"), "middle": reduce("s8", [16, 100, 64], [1])}


@pytest.mark.peer
def test_compiled(tmp_path: Path) -> None:
    """nvcc prints nothing and uses no local memory. If a warp reduces a row, its lanes combine their values by shuffles.
    """
    for number, (name, text) in enumerate(COMPILED.items()):
        found = ptx(text, ("sm_80", "sm_90")[number % 2], tmp_path)
        if name in ("row", "bf16", "whole", "short"):
            assert "shfl.sync.down" in found, name
        if name in ("row", "bf16", "whole", "column"):
            assert "ld.global.nc.v4" in found, name
