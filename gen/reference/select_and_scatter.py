"""Select-and-scatter: for each window, a comparison selects an element, and the source is combined into the result
there.
"""

from __future__ import annotations

from typing import List, NamedTuple, Sequence

from gen.statements import Assign, Declare, If, Let, Statement
from gen.hlo import Instruction
from gen.reference.emitter import Emitter, title
from gen.reference.library import statements
from gen.reference.loops import guarded, Index, indices_of, loops_over, position_of, strides_of, window_index
from gen.reference.values import Array, Scalar


class Selection(NamedTuple):
    """The loops of a select-and-scatter. They go over the windows, and over the elements of a window that are inside
    the operand.
    """

    places: List[int]
    sizes: List[int]
    before: Sequence[Statement]
    tests: List[str]
    element: Index  # position of an element of the window
    source: Index   # position of the source

    def loops(self, start: Sequence[Statement], step: Sequence[Statement], end: Sequence[Statement]) -> List[Statement]:
        body = guarded(self.before, self.tests, [Let("int64_t", "at", str(self.element)), *step])
        inner = loops_over(self.sizes, body, "r")
        return loops_over(self.places, [*start, *inner, *end])


def selection(i: Instruction) -> Selection:
    window, (of, source) = i.attributes["window"], (operand.shape.dims for operand in i.operands[:2])
    before, tests, at = window_index(window, indices_of(source), indices_of(window.size, "r"), of)
    return Selection(list(source), list(window.size), before, tests, position_of(at, strides_of(of)),
                     position_of(indices_of(source), strides_of(source)))


def chosen(e: Emitter, i: Instruction, of: Array) -> List[str]:
    """Return statements that compare the element at `at` with the best element so far, and keep the better one."""
    compared: List[Statement] = []
    keeps = e.inline(i.attributes["select"], [Scalar("chosen", of.dtype), Scalar("next", of.dtype)], compared)[0]
    return statements("chosen", kind=of.kind, of=str(of), compared=compared, keeps=keeps.v)


def select_and_scatter(e: Emitter, i: Instruction, x: List[Array]) -> Array:
    of, source, init = x
    s, out = selection(i), e.result(i)
    step = chosen(e, i, of)
    end: List[Statement] = []
    sides = [Scalar(f"{source}[{s.source}]", out.dtype), Scalar(f"{out}[best]", out.dtype)]
    result = e.inline(i.attributes["scatter"], sides, end)[0]
    end = [If("best >= 0", [*end, Assign(f"{out}[best]", result.v)])]
    lines = out.each(f"{init}[0]")
    e.step(title(i), lines + s.loops([Declare("int64_t", "best", "-1"), Declare(of.kind, "chosen", "0")], step, end), [out], x)
    return out
