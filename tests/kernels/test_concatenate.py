"""Test concatenations whose rows begin or end within a cache line: rows are assembled in the cache and stored in whole
lines.
"""

from __future__ import annotations

import os
import random
from dataclasses import replace
from pathlib import Path
from typing import List

import pytest

import drawn
from gen import pipeline, run, schedule
from gen.plan import concatenation, nests

SEED, COUNT = int(os.environ.get("SETT_SEED", "1")), int(os.environ.get("SETT_COUNT", "24"))
TYPES = ["s8", "pred", "bf16", "f16", "u16", "f32", "s32", "f64"]


def side_by_side(r: random.Random) -> str:
    """Return a random concatenation of two to four operands, sometimes followed by an op. Each operand is a copy, a
    slice, a conversion, a broadcast or a reversal of a parameter.
    """
    dtype, rows, inner = r.choice(TYPES), r.choice([2, 7, 33, 150]), r.choice([(), (), (3,)])
    widths = [r.choice([1, 2, 3, 5, 13, 31, 64, 65, 77, 130]) for _ in range(r.choice([2, 2, 3, 4]))]
    turned = not inner and r.random() < 0.2    # the arrays are column-major and are concatenated along their first dimension
    lines: List[str] = []
    names: List[str] = []

    def shape(width: int, dtype: str = dtype) -> str:
        return drawn.shape(dtype, (width, rows), (0, 1)) if turned else drawn.plain(dtype, (rows, width, *inner))

    for k, width in enumerate(widths):
        way, of = r.choice(["plain", "plain", "part", "computed", "column", "reversed"]), shape(width)
        along = 0 if turned else 1
        if way == "part":
            bounds = ["[0:%d]" % n for n in ((width, rows) if turned else (rows, width, *inner))]
            bounds[along] = f"[2:{width + 2}]"
            lines += [f"p{k} = {shape(width + 5)} parameter({k})", f"a{k} = {of} slice(p{k}), slice={{{', '.join(bounds)}}}"]
        elif way == "computed" and dtype != "pred":
            lines += [f"p{k} = {shape(width, 's32')} parameter({k})", f"a{k} = {of} convert(p{k})"]
        elif way == "column":
            lines += [f"p{k} = {drawn.plain(dtype, (width,))} parameter({k})", f"a{k} = {of} broadcast(p{k}), dimensions={{{along}}}"]
        elif way == "reversed":
            lines += [f"p{k} = {of} parameter({k})", f"a{k} = {of} reverse(p{k}), dimensions={{{along}}}"]
        else:
            lines += [f"p{k} = {of} parameter({k})", f"a{k} = {of} copy(p{k})"]
        names.append(f"a{k}")
    whole = shape(sum(widths))
    lines.append(f"c = {whole} concatenate({', '.join(names)}), dimensions={{{0 if turned else 1}}}")
    if dtype not in ("pred", "f16") and r.random() < 0.5:
        lines.append(f"d = {whole} negate(c)")
    lines[-1] = f"ROOT {lines[-1]}"
    return "e {\n  " + "\n  ".join(lines) + "\n}\n"


@drawn.in_parts
@pytest.mark.parametrize("target, device", drawn.marked(drawn.ON_CPUS))
def test_drawn_rows(target: str, device: str, part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn.uncached(monkeypatch)
    texts = {f"e{k}": side_by_side(random.Random(SEED * 7919 + k)) for k in range(COUNT)}
    templates = [kernel.text.template for text in texts.values() for kernel in
                 pipeline.target_file(drawn.fusions(text)[0], target, device).kernels]
    assert templates.count("kernels/concatenate_cpu") > COUNT / 2
    drawn.agree(texts, target, device, tmp_path, part)


def joined(shapes: str, whole: str, dimension: int = 1) -> concatenation.Concatenate:
    """Return the loop nest of a concatenation of parameters with these shapes."""
    lines = [f"p{k} = {text} parameter({k})" for k, text in enumerate(shapes.split())]
    (fusion,) = drawn.fusions("e {\n  " + "\n  ".join(lines) + f"\n  ROOT c = {whole} concatenate("
                              + ", ".join(f"p{k}" for k in range(len(lines))) + f"), dimensions={{{dimension}}}\n}}\n")
    (nest,) = nests.planned(fusion).nests
    assert isinstance(nest, concatenation.Concatenate)
    return nest


def test_rows() -> None:
    """If the operands' rows are whole cache lines, or each operand is one contiguous part of the result, the kernel
    stores the operands directly, and the nest's `rows` is None. Otherwise the kernel assembles rows of the result in
    the cache. Then `rows` has the number of rows, their length, and each operand's offset and length in a row.
    """
    assert joined("f32[9,16] f32[9,32]", "f32[9,48]").rows is None
    assert joined("f32[9,3] f32[4,3]", "f32[13,3]", 0).rows is None
    nest = joined("f32[9,2,5] f32[9,1,5] f32[9,4,5]", "f32[9,7,5]")
    assert not nest.together and nest.rows == concatenation.SideBySide(9, 35, (0, 10, 15), (10, 5, 20))
    assert joined("s8[9,70] s8[9,65]", "s8[9,135]").together


# As whole arrays, these operands would be written by another kernel emitter (hero). In a concatenation each is written
# directly to its part of the result.
PADS = """e {
  a = f32[5,5]{1,0} parameter(0)
  b = f32[6,3]{1,0} parameter(1)
  z = f32[] constant(2)
  p = f32[5,9]{1,0} pad(a, z), padding=0_0x0_4
  q = f32[9,9]{1,0} pad(b, z), padding=1_2x5_1
  ROOT c = f32[14,9]{1,0} concatenate(p, q), dimensions={0}
}
"""
# The first operand's kernel uses no vectors and the second's does, so the file must declare vectors.
ONE_WIDE = """e {
  x = u32[3,17]{1,0} parameter(0)
  i = s32[3]{0} parameter(1)
  j = s32[3]{0} parameter(2)
  k = s32[3]{0} parameter(3)
  g = u32[3,17]{1,0} gather(x, i), ROWS
  a = u32[2,17]{1,0} slice(x), slice={[0:3:2], [0:17]}
  b = u32[1,17]{1,0} slice(x), slice={[1:3:2], [0:17]}
  c = u32[3,17]{1,0} concatenate(a, b), dimensions={0}
  s = u32[3,17]{1,0} add(x, g)
  m = u32[3,17]{1,0} minimum(s, c)
  h = u32[3,17]{1,0} gather(m, j), ROWS
  d = u32[3,17]{1,0} subtract(m, h)
  l = u32[3,17]{1,0} gather(d, k), ROWS
  ROOT r = u32[3,17]{1,0} minimum(d, l)
}
""".replace("ROWS", "offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,17}")
LOOKED_UP = """e {
  x = bf16[4105]{0} parameter(0)
  a = bf16[2056]{0} slice(x), slice={[0:2056]}
  b = bf16[2049]{0} slice(x), slice={[2056:4105]}
  c = bf16[2056]{0} exponential(a)
  d = bf16[2056]{0} tanh(c)
  f = bf16[2049]{0} sine(b)
  g = bf16[2049]{0} tanh(f)
  ROOT y = bf16[4105]{0} concatenate(d, g), dimensions={0}
}
"""


@pytest.mark.parametrize("target, device", drawn.marked(drawn.ON_CPUS))
def test_parts_of_other_heroes(target: str, device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of = schedule.DEVICES[device]
    monkeypatch.setitem(schedule.DEVICES, device, replace(of, table=replace(of.table, cost=8, elements=1)))
    misaligned = LOOKED_UP.replace("2056", "2057").replace("4105", "4106")    # the second operand begins inside a vector
    for text, ways in ((LOOKED_UP, ["table", "table"]), (misaligned, ["table", "loop"])):
        templates = [kernel.text.template for kernel in pipeline.target_file(drawn.fusions(text)[0], target, device).kernels]
        assert templates == [f"kernels/{way}" for way in ways]
    drawn.agree({"pads": PADS, "one_wide": ONE_WIDE, "table": LOOKED_UP, "misaligned": misaligned}, target, device, tmp_path)


# The product of a step reads the concatenated rows. Their last 7 elements are no whole vector.
STEPS = """HloModule m
step {
  s = (s32[], f32[3,8], f32[3,5], f32[13,32]) parameter(0)
  k = s32[] get-tuple-element(s), index=0
  h = f32[3,8] get-tuple-element(s), index=1
  x = f32[3,5] get-tuple-element(s), index=2
  w = f32[13,32] get-tuple-element(s), index=3
  one = s32[] constant(1)
  next = s32[] add(k, one)
  both = f32[3,13] concatenate(x, h), dimensions={1}
  sums = f32[3,32] dot(both, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  part = f32[3,8] slice(sums), slice={[0:3], [8:16]}
  y = f32[3,8] tanh(part)
  ROOT t = (s32[], f32[3,8], f32[3,5], f32[13,32]) tuple(next, y, x, w)
}
more {
  s = (s32[], f32[3,8], f32[3,5], f32[13,32]) parameter(0)
  k = s32[] get-tuple-element(s), index=0
  end = s32[] constant(4)
  ROOT less = pred[] compare(k, end), direction=LT
}
ENTRY e {
  zero = s32[] constant(0)
  h = f32[3,8] parameter(0)
  x = f32[3,5] parameter(1)
  w = f32[13,32] parameter(2)
  t = (s32[], f32[3,8], f32[3,5], f32[13,32]) tuple(zero, h, x, w)
  loop = (s32[], f32[3,8], f32[3,5], f32[13,32]) while(t), condition=more, body=step
  ROOT y = f32[3,8] get-tuple-element(loop), index=1
}
"""


def test_rows_that_a_product_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Concatenated elements are copied as words of bits. The product reads them as floats. An optimising compiler must
    not assume that the words and the floats are different memory.
    """
    monkeypatch.setenv("SETT_LEVEL", "-O3")
    (tmp_path / "steps.hlo").write_text(STEPS)
    failed = [result for result in run.check(str(tmp_path / "steps.hlo"), "c", run.Options(rounds=2)) if result.status != "PASS"]
    assert not failed, failed[0].line()


TURNED = """HloModule turned

ENTRY e {
  x = f32[64,32] parameter(0)
  c = f32[64,16] parameter(1)
  a = f32[64,16] slice(x), slice={[0:64], [0:16]}
  b = f32[64,16] slice(x), slice={[0:64], [16:32]}
  l = f32[64,16] multiply(a, c)
  r = f32[64,16] subtract(b, c)
  y = f32[64,32] concatenate(l, r), dimensions={1}
  ROOT t = f32[32,64] transpose(y), dimensions={1,0}
}
"""


@pytest.mark.parametrize("target, device", drawn.marked(drawn.ON_CPUS))
def test_computed_parts_in_another_order(target: str, device: str, tmp_path: Path) -> None:
    """A register tile would load the operands of a concatenate lane by lane, in code that takes gcc seconds per tile.
    Keys of attention with rotary embeddings have this form.
    """
    (fusion,) = drawn.fusions(TURNED)
    assert drawn.written_by(fusion, target, device) == ["window"]
    drawn.agree({"turned": TURNED}, target, device, tmp_path)
