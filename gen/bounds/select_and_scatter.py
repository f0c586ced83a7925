"""Select-and-scatter, in the reference's order. It tracks the element that the comparison selects in each window, and
the others that it may select if values have errors.
"""

from __future__ import annotations

import math
from typing import List

from gen.bounds.following import Bounds
from gen.bounds.types import interval_of, kind_of, Known, Ranged
from gen.statements import Assign, Declare, For, If, Let, Statement
from gen.hlo import Instruction
from gen.reference.library import statements
from gen.reference.loops import loops_over
from gen.reference.select_and_scatter import chosen, selection
from gen.reference.types import FLOATS
from gen.reference.values import Array, Scalar

MOST_COMPARED = 256  # maximum number of elements of a window for which possible selections are tracked


def select_and_scatter(b: Bounds, i: Instruction, x: List[Array], outs: List[Array]) -> None:
    (of, source, init), (out,), s = x, outs, selection(i)
    select, scatter, size = i.attributes["select"], i.attributes["scatter"], math.prod(i.attributes["window"].size)
    vague = not b.exact(of) or b.introduces(select, [of.dtype] * 2)
    b.known[out] = Known(None, out.dtype not in FLOATS)
    if not vague and b.exact(source, init) and not b.introduces(scatter, [of.dtype] * 2):
        return
    if vague and size > MOST_COMPARED:
        b.decided(i, outs, [out.dtype not in FLOATS], False, f"{i.name} compares more than {MOST_COMPARED} elements")
        return
    ranges, at = b.ranges(i, out, out.dtype not in FLOATS), out.all()
    now = b.e.array(f"{i.name}_now", out.dtype, out.dims)
    lines = loops_over((out.count,), [Assign(f"{now}[{at}]", f"{init}[0]"), Assign(f"{ranges}[{at}]", b.interval(init, "0"))])
    start: List[Statement] = [Declare("int64_t", "best", "-1"), Declare(of.kind, "chosen", "0")]
    step = chosen(b.e, i, of)
    sides = [b.element(source, s.source), Ranged(f"{now}[best]", out.dtype, f"{ranges}[best]")]
    end: List[Statement] = []
    if vague:
        start += [Declare("int64_t", "may", count=size), Declare("int64_t", "some", "0")]
        step += maybe_chosen(b, i, of)
        result = b.e.inline(scatter, [Scalar(side.v, side.dtype) for side in sides], end)[0]
        there = Ranged(f"{now}[may[k]]", out.dtype, f"{ranges}[may[k]]")
        maybe: List[Statement] = []
        other = interval_of(b.e.call, b.inline(scatter, [sides[0], there], maybe)[0])
        hull = f"{kind_of(out.dtype)}_hull({there.interval}, now)"
        maybe += [Let(kind_of(out.dtype), "now", other), Assign(str(there.interval), f"some == 1 ? now : {hull}")]
        end.append(For("int64_t", "k", "some", maybe))
    else:
        result = b.inline(scatter, sides, end)[0]
        end.append(Assign(f"{ranges}[best]", interval_of(b.e.call, result)))
    end = [If("best >= 0", [*end, Assign(f"{now}[best]", result.v)])]
    b.step(i.name, lines + s.loops(start, step, end), [now, ranges], x)


def maybe_chosen(b: Bounds, i: Instruction, of: Array) -> List[str]:
    """Return the statements that follow a comparison with the element at `at`. They update `may`, the list of the
    elements of a window that may be selected.
    """
    choosing: List[Statement] = []
    choice = b.inline(i.attributes["select"], [b.element(of, "may[k]"), b.element(of, "at")], choosing)[0]
    return statements("may_be_chosen", compared=choosing, interval=interval_of(b.e.call, choice))
