"""Reduce and reduce-window, combined in the reference's order or in any order."""

from __future__ import annotations

from typing import List

from gen.bounds.combiners import combine, combine_part
from gen.bounds.following import Bounds
from gen.bounds.intervals import own_error
from gen.bounds.types import kind_of, Known, LARGEST, LEAST_NORMAL, Ranged, SIGNIFICANT
from gen.statements import Assign, Call, Declare, Statement
from gen.hlo import Instruction, zero_sign_matters
from gen.reference.combiners import combiner_parts
from gen.reference.loops import count_of
from gen.reference.reductions import Reduction, reduction
from gen.reference.types import FLOATS, TINY
from gen.reference.values import Array

SUM = "{0.0, 0.0, 0.0, false, false, false, false, false}"
PRODUCT = "{{1.0, 1.0}, 1.0, 1.0, false, false, false, false}"


def reduce(b: Bounds, i: Instruction, x: List[Array], outs: List[Array]) -> None:
    half, r, combiner = len(outs), reduction(i), i.attributes["to_apply"]
    inputs, inits, parts = x[:half], x[half:], combiner_parts(combiner, half)
    for out in outs:
        b.known[out] = Known(None, out.dtype not in FLOATS)
    if parts is None:
        if not b.exact(*x) or b.introduces(combiner, [a.dtype for a in inits + inputs]):
            in_its_order(b, i, r, x, outs)
        return
    for k, (part, of, init, out) in enumerate(zip(parts, inputs, inits, outs)):
        way = way_of(b, i, part, of, init, count_of(r.gone))
        if way == "ends":
            one_in_its_order(b, i, r, k, part, of, init, out)
        elif way != "exact":
            in_any_order(b, i, r, way, of, init, out)


def way_of(b: Bounds, i: Instruction, part: Instruction, of: Array, init: Array, count: int) -> str:
    """Return the way in which the intervals are computed if the combiner is one op:

    - "exact": the results have no error.
    - "ends": the op is applied to the ends of the intervals, in the reference's order.
    - "sum", "product": the elements are combined in any order.
    """
    dtype = part.shape.dtype
    if dtype in FLOATS and dtype not in TINY and b.options.reassociate and count > 1:
        if part.opcode in ("add", "multiply"):
            return "sum" if part.opcode == "add" else "product"
        if part.opcode in ("maximum", "minimum") and zero_sign_matters(i):
            return "ends"
    own = own_error(part.opcode, {}, dtype, [dtype] * 2, b.options) and count > 0
    return "ends" if own or not b.exact(of, init) else "exact"


def in_any_order(b: Bounds, i: Instruction, r: Reduction, way: str, of: Array, init: Array, out: Array) -> None:
    ranges, dtype = b.ranges(i, out, False), out.dtype
    verb, state, limit = ("add", SUM, "0.0") if way == "sum" else ("multiply", PRODUCT, LEAST_NORMAL[dtype])
    total = f"range_{way}_result(&total, (double){r.count}, 0x1p-{SIGNIFICANT[dtype]}, {LARGEST[dtype]}, {limit})"
    lines = r.loops([Declare(f"range_{way}", "total", state), Call(f"range_{way}_{verb}", "&total", b.interval(init, "0"))],
                    [Call(f"range_{way}_{verb}", "&total", b.interval(of, r.element))],
                    [Assign(f"{ranges}[{r.result}]", b.intervals.rounded(total, dtype, f"{out}[{r.result}]"))])
    b.step(i.name, lines, [ranges], [of, init, out])


def running(b: Bounds, k: int, init: Array) -> "tuple[Ranged, List[Statement]]":
    """Return an accumulator with its interval, and the lines that declare and initialise both."""
    return Ranged(f"a{k}", init.dtype, f"ra{k}"), [Declare(init.kind, f"a{k}", f"{init}[0]"),
                                                   Declare(kind_of(init.dtype), f"ra{k}", b.interval(init, "0"))]


def one_in_its_order(b: Bounds, i: Instruction, r: Reduction, k: int, part: Instruction, of: Array, init: Array,
                     out: Array) -> None:
    ranges, (total, start) = b.ranges(i, out, out.dtype not in FLOATS), running(b, k, init)
    zero = [Assign(f"ra{k}", f"range_either_zero(ra{k})")] if out.dtype in FLOATS and zero_sign_matters(i) else []
    step = combine_part(b, part, k, total, b.element(of, r.element), r.behind)
    b.step(i.name, r.loops(start, step, [*zero, Assign(f"{ranges}[{r.result}]", f"ra{k}")]), [ranges], [of, init])


def in_its_order(b: Bounds, i: Instruction, r: Reduction, x: List[Array], outs: List[Array]) -> None:
    """Set the bounds for a combiner of any kind. Elements are combined in the order of the reference, and each step of
    the combiner computes all accumulators.
    """
    half = len(outs)
    ranges = [b.ranges(i, out, out.dtype not in FLOATS) for out in outs]
    totals, starts = zip(*(running(b, k, init) for k, init in enumerate(x[half:])))
    step = combine(b, i.attributes["to_apply"], totals, [b.element(of, r.element) for of in x[:half]], r.behind)
    lines = r.loops([line for start in starts for line in start], step,
                    [Assign(f"{out}[{r.result}]", f"ra{k}") for k, out in enumerate(ranges)])
    b.step(i.name, lines, ranges, x)
