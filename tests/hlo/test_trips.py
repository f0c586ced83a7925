"""Test `trips`, the number of iterations of a loop. The tests compare it with a loop that counts its iterations."""

from __future__ import annotations

import operator
import struct
from pathlib import Path

import pytest

from gen import hlo
from gen_run import run
from gen.hlo.trips import trips

LOOP = """body {{
  p = ({type}[], {type}[], f32[4]) parameter(0)
  i = {type}[] get-tuple-element(p), index=0
  n = {type}[] get-tuple-element(p), index=1
  x = f32[4] get-tuple-element(p), index=2
  step = {type}[] constant({step})
  j = {type}[] add({added})
  ROOT r = ({type}[], {type}[], f32[4]) tuple(j, n, x)
}}
more {{
  p = ({type}[], {type}[], f32[4]) parameter(0)
  i = {type}[] get-tuple-element(p), index=0
  n = {type}[] get-tuple-element(p), index=1
  c = {type}[] constant({end})
  ROOT q = pred[] compare(i, {side}), direction={direction}
}}
ENTRY e {{
  x = f32[4] parameter(0)
  i = {type}[] constant({start})
  n = {type}[] constant({end})
  t = ({type}[], {type}[], f32[4]) tuple(i, n, x)
  ROOT w = ({type}[], {type}[], f32[4]) while(t), condition=more, body=body
}}
"""
HOLDS = {"LT": operator.lt, "LE": operator.le, "GT": operator.gt, "GE": operator.ge, "NE": operator.ne, "EQ": operator.eq}


def counted(type: str, start: int, end: int, step: int, direction: str) -> "int | None":
    """Return the number of iterations until the condition fails. Return None if the counter leaves its type's range, or
    after 500 iterations.
    """
    low, high = (0, 256) if type == "u8" else (-128, 128)
    for count in range(500):
        if not HOLDS[direction](start, end):
            return count
        start += step
        if not low <= start < high:
            return None
    return None


def loop(text: str) -> hlo.Instruction:
    return next(i for i in hlo.parse(text, "m.hlo").entry.instructions if i.opcode == "while")


@pytest.mark.parametrize("direction", ["LT", "LE", "GT", "GE", "NE"])
@pytest.mark.parametrize("type", ["s8", "u8"])
def test_trips(type: str, direction: str) -> None:
    """The number of iterations is right for all starts, ends and steps in a small range, and at the ends of the type.
    """
    known = 0
    values = [0, 2, 7, 126, 127] + ([255] if type == "u8" else [-128, -1])
    for start in values:
        for end in values:
            for step in (1, 3, 100) if type == "u8" else (1, 3, -1, -2):
                text = LOOP.format(type=type, start=start, end=end, step=step, direction=direction, side="c", added="i, step")
                found = trips(loop(text))
                assert found == counted(type, start, end, step, direction), (start, end, step)
                known += found is not None
    assert known > 30


@pytest.mark.parametrize("side, added, wanted", [("c", "i, step", 4), ("n", "i, step", 4), ("c", "step, i", 4), ("c", "i, i", None), ("c", "n, step", None)])
def test_where_it_stands(side: str, added: str, wanted: "int | None") -> None:
    """The counter may be compared with a constant or with a value that the loop does not change. In the add, the counter
    is either operand, and the other operand is a constant.
    """
    assert trips(loop(LOOP.format(type="s32", start=0, end=7, step=2, direction="LT", side=side, added=added))) == wanted


@pytest.mark.parametrize("taken, direction, wanted", [("i, step", "GT", 3), ("i, step", "NE", None), ("step, i", "GT", None), ("i, i", "GT", None)])
def test_counts_down(taken: str, direction: str, wanted: "int | None") -> None:
    """A counter may subtract a constant (JAX writes `i - 2`). A constant minus the counter is no counter."""
    text = LOOP.format(type="s32", start=7, end=2, step=2, direction=direction, side="c", added="i, step").replace("add(i, step)", f"subtract({taken})")
    assert trips(loop(text)) == wanted


def test_noted_and_unknown() -> None:
    """The number of iterations in XLA's backend_config takes precedence. If the start is a parameter, or the condition
    is EQ, no number is stated.
    """
    text = LOOP.format(type="s32", start=0, end=7, step=1, direction="LT", side="c", added="i, step")
    noted = text.replace("body=body", 'body=body, backend_config={"known_trip_count":{"n":"5"},"other":1}')
    assert (trips(loop(text)), trips(loop(noted))) == (7, 5)
    assert trips(loop(text.replace("i = s32[] constant(0)", "i = s32[] parameter(1)"))) is None
    assert trips(loop(text.replace("direction=LT", "direction=EQ"))) is None


ONCE = """outer {{
  p = (s32[], s32[3]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = s32[3] get-tuple-element(p), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  zero = s32[] constant(0)
  t = (s32[], s32[3]) tuple(zero, x)
  w = (s32[], s32[3]) while(t), condition=below, body=inner
  y = s32[3] get-tuple-element(w), index=1
  n = s32[3] negate(y)
  ROOT r = (s32[], s32[3]) tuple(j, n)
}}
ENTRY e {{
  x = s32[3] parameter(0)
  i = s32[] constant({start})
  t = (s32[], s32[3]) tuple(i, x)
  w = (s32[], s32[3]) while(t), condition=below, body=outer
  ROOT y = s32[3] get-tuple-element(w), index=1
}}
"""
INNER = """inner {
  p = (s32[], s32[3]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = s32[3] get-tuple-element(p), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  y = s32[3] add(x, x)
  ROOT r = (s32[], s32[3]) tuple(j, y)
}
below {
  p = (s32[], s32[3]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  end = s32[] constant(1)
  ROOT q = pred[] compare(i, end), direction=LT
}
"""


@pytest.mark.parametrize("start, wanted", [(0, [-2, -4, -14]), (1, [1, 2, 7])])
def test_one_step_is_the_body(start: int, wanted: "list[int]", tmp_path: Path) -> None:
    """A loop of one iteration, with another loop inside, becomes a kernel that returns the values after this iteration.
    A loop of no iterations returns its input.
    """
    text = INNER + ONCE.format(start=start)
    assert run(text, [struct.pack("<3i", 1, 2, 7)], "c", tmp_path) == [struct.pack("<3i", *wanted)]
