"""Test kernels of few elements, which occur in the loops of programs: vectors with fewer lanes, comparisons of floats in
vectors, and results in the buffers of operands.
"""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import Dict, List

import pytest

import gen_run
import stated
from drawn import ON_CPUS, agree, in_parts, marked
from gen import hlo, pipeline, run
from gen.program import build

# number of elements -> lanes of the vectors; 0: computed one by one
SIZES = {3: 0, 4: 4, 7: 0, 12: 4, 16: 16, 17: 16, 20: 16, 24: 8, 36: 16, 40: 8, 56: 8, 60: 16, 64: 16, 256: 16, 2004: 16}


def c_text(text: str) -> str:
    """Return the generated C of a module."""
    module = hlo.parse(text, "m.hlo")
    assert hlo.unsupported(module) is None
    return str(pipeline.files(build.program(module), ["c"])[0]["m.c"])


def vectors(text: str) -> str:
    """Return the part of a C file for compilers with vectors."""
    return text.split("/* ---- without vectors", maxsplit=1)[0]


@pytest.mark.parametrize("size, lanes", SIZES.items())
def test_lanes(size: int, lanes: int) -> None:
    """Functions of few elements use vectors whose lanes are all used."""
    text = c_text(f"HloModule m\nENTRY e {{ x = f32[{size}] parameter(0)  ROOT y = f32[{size}] tanh(x) }}\n")
    assert [int(n) for n in re.findall(r"float\d+ v_y = tanh_f32_(\d+)", text)] == [lanes] * (lanes > 0)
    assert ("tanhf(" in vectors(text)) == (lanes == 0 or size % lanes > 0)


@pytest.mark.parametrize("size, lanes", [(4, 16), (8, 8), (12, 4), (5, 16)])
def test_rows_of_lanes(size: int, lanes: int) -> None:
    """A row of 8 or 12 columns of a small product uses vectors whose lanes are all used. For 4 or 5 columns, a vector
    of 16 lanes contains several rows.
    """
    one = f"s64[{size},{size}]"    # f32 products of these sizes are written without loops
    text = vectors(c_text(f"HloModule m\nENTRY e {{ a = {one} parameter(0)  b = {one} parameter(1)\n"
                          f"ROOT c = {one} dot(a, b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}} }}\n"))
    assert {int(n) for n in re.findall(r"\bconst long(\d+) v_", text)} == {lanes}
    assert ("[lane]" in text) == (lanes == 16)


def of_types(size: int) -> "Dict[str, str]":
    """Return fusions on elements of several types, with comparisons in several orders."""
    text = {}
    for dtype in ("f32", "f64", "bf16", "f16", "s8", "s64"):
        one = f"{dtype}[{size}]"
        text[f"{dtype}_{size}"] = f"""HloModule m
ENTRY e {{
  a = {one} parameter(0)  b = {dtype}[{size},3]{{1,0}} parameter(1)  c = pred[{size}] parameter(2)
  column = {dtype}[{size},1] slice(b), slice={{[0:{size}], [1:2]}}  d = {one} reshape(column)
  sum = {one} add(a, d)  chosen = {one} select(c, sum, a)  other = {one} reverse(chosen), dimensions={{0}}
  ROOT all = ({one}, {one}) tuple(chosen, other)
}}
"""
    return text


@in_parts
@pytest.mark.parametrize("target, device", marked(ON_CPUS))
def test_few_elements(target: str, device: str, part: str, tmp_path: Path) -> None:
    agree({name: text for size in (4, 12, 15, 24, 60) for name, text in of_types(size).items()}, target, device, tmp_path,
          part)


def floats(dtype: str) -> "List[int]":
    """Return bit patterns of every kind of float, with both signs."""
    width, mantissa = {"f32": (32, 23), "f64": (64, 52), "bf16": (16, 7)}[dtype]
    infinite = (1 << width - 1) - (1 << mantissa)
    some = [0, 1, 1 << mantissa, infinite >> 1, infinite, infinite + 1, (1 << width - 1) - 1, infinite - 1]
    return [pattern | sign << width - 1 for pattern in some for sign in (0, 1)]


@pytest.mark.parametrize("dtype, code", [("f32", "I"), ("f64", "Q"), ("bf16", "H")])
def test_total_order(dtype: str, code: str, tmp_path: Path) -> None:
    """TOTALORDER compares vectors of floats by their bits: -NaN is lowest, and -0 is below 0."""
    some = floats(dtype)
    pairs, count = [(a, b) for a in some for b in some], len(some) ** 2
    one = f"{dtype}[{count}]"
    module = hlo.parse(f"HloModule m\nENTRY e {{ a = {one} parameter(0)  b = {one} parameter(1)\n"
                       f"ROOT c = pred[{count}] compare(a, b), direction=LT, type=TOTALORDER }}\n", "m.hlo")
    made = stated.built(build.program(module), tmp_path, "c")
    assert "[lane]" not in vectors((tmp_path / "m.c").read_text())
    (tmp_path / "m.in").write_bytes(b"".join(struct.pack(f"<{count}{code}", *side) for side in zip(*pairs)))
    (tmp_path / "results").mkdir()
    assert not stated.ran(stated.compiled([made], tmp_path, "c"), ["m"], "c", tmp_path, tmp_path / "results", run.Options())
    top = 1 << 8 * struct.calcsize(code) - 1

    def key(pattern: int) -> int:
        return -1 - (pattern - top) if pattern >= top else pattern
    wanted = bytes(key(a) < key(b) for a, b in pairs)
    assert (tmp_path / "results" / "m.out").read_bytes() == wanted


@pytest.mark.parametrize("dtype", ["f8e4m3fn", "f8e5m2", "f8e4m3fnuz", "f8e8m0fnu"])
def test_total_order_of_bytes(dtype: str, tmp_path: Path) -> None:
    """The one NaN of a fnuz type is -NaN, the lowest. f8e8m0fnu has no signs: its NaN is the highest."""
    pairs = [(a, b) for a in range(256) for b in range(256)]
    one = f"{dtype}[{len(pairs)}]"
    text = (f"HloModule m\nENTRY e {{ a = {one} parameter(0)  b = {one} parameter(1)\n"
            f"ROOT c = pred[{len(pairs)}] compare(a, b), direction=LT, type=TOTALORDER }}\n")

    def key(code: int) -> int:
        if dtype == "f8e8m0fnu":
            return code
        return -256 if dtype.endswith("fnuz") and code == 128 else 127 - code if code > 127 else code
    (tmp_path / "pairs").mkdir()
    (answer,) = gen_run.run(text, [bytes(side) for side in zip(*pairs)], "c", tmp_path / "pairs")
    assert answer == bytes(key(a) < key(b) for a, b in pairs)
    codes = [code * 37 % 256 for code in range(300)]
    order = (f"HloModule m\nbefore {{ a = {dtype}[] parameter(0)  b = {dtype}[] parameter(1)\n"
             f"ROOT c = pred[] compare(a, b), direction=LT, type=TOTALORDER }}\n"
             f"ENTRY e {{ a = {dtype}[300] parameter(0)  ROOT s = {dtype}[300] sort(a), dimensions={{0}}, to_apply=before }}\n")
    (answer,) = gen_run.run(order, [bytes(codes)], "c", tmp_path)
    assert answer == bytes(sorted(codes, key=key))
    agree({"compared": text, "sorted": order}, "c", "cpu", tmp_path)


FIBONACCI = """HloModule m
body { p = (s32[], s32[20], s32[20], f16[]) parameter(0)  i = s32[] get-tuple-element(p), index=0
  a = s32[20] get-tuple-element(p), index=1  b = s32[20] get-tuple-element(p), index=2  f = f16[] get-tuple-element(p), index=3
  sum = s32[20] add(a, b)  more = s32[20] multiply(a, sum)  g = f16[] tanh(f)  one = s32[] constant(1)  next = s32[] add(i, one)
  ROOT t = (s32[], s32[20], s32[20], f16[]) tuple(next, sum, more, g) }
condition { p = (s32[], s32[20], s32[20], f16[]) parameter(0)  i = s32[] get-tuple-element(p), index=0  n = s32[] constant(5)
  ROOT less = pred[] compare(i, n), direction=LT }
ENTRY e {
  x = s32[20] parameter(0)  y = s32[20] parameter(1)
  zero = s32[] constant(0)  nothing = f16[] constant(0)
  start = (s32[], s32[20], s32[20], f16[]) tuple(zero, x, y, nothing)
  w = (s32[], s32[20], s32[20], f16[]) while(start), condition=condition, body=body
  a = s32[20] get-tuple-element(w), index=1  b = s32[20] get-tuple-element(w), index=2  f = f16[] get-tuple-element(w), index=3
  ROOT all = (s32[20], s32[20], f16[]) tuple(a, b, f)
}
"""


def test_carried_in_place(tmp_path: Path) -> None:
    """Two arrays that one kernel computes from each other, element by element, are updated in the loop without a copy.
    (f16 keeps the loop out of the kernel, because kernels do not round each of its values.)
    """
    made = stated.built(build.program(hlo.parse(FIBONACCI, "m.hlo")), tmp_path, "c")
    body = (tmp_path / "m.c").read_text().split("IN_ORDER;\n", 1)[1].split("}", 1)[0]
    assert "copy" not in body and re.search(r"\((x\d), (x\d), \1, \2, 0\)", body), body
    x, y = [*range(20)], [*range(3, 23)]
    (tmp_path / "m.in").write_bytes(struct.pack("<40i", *x, *y))
    (tmp_path / "results").mkdir()
    assert not stated.ran(stated.compiled([made], tmp_path, "c"), ["m"], "c", tmp_path, tmp_path / "results", run.Options())
    for _ in range(5):
        x, y = [a + b for a, b in zip(x, y)], [a * (a + b) for a, b in zip(x, y)]
    assert struct.unpack("<40ie", (tmp_path / "results" / "m.out").read_bytes()) == (
        *((n + 2 ** 31) % 2 ** 32 - 2 ** 31 for n in [*x, *y]), 0.0)
