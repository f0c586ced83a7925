"""Scatter. Kernels may combine the updates of an element in any order. A sum is bounded like the sum of a reduce; an
op that does not depend on the order is exact; for other ops, an element with several updates may have any value.
"""

from __future__ import annotations

from typing import List, Optional, Sequence

from gen.bounds.combiners import combine, combine_part
from gen.bounds.following import Bounds
from gen.bounds.reductions import SUM
from gen.bounds.types import full_range, Known, LARGEST, LEAST_NORMAL, Ranged, SIGNIFICANT
from gen.statements import Assign, Block, Call, Declare, If
from gen.hlo import Instruction, unique_indices, unshared_places, zero_sign_matters
from gen.reference.combiners import combiner_parts, through
from gen.reference.loops import loops_over
from gen.reference.scatter import scattering, Scattering
from gen.reference.types import FLOATS, TINY
from gen.reference.values import Array


def scatter(b: Bounds, i: Instruction, x: List[Array], outs: List[Array]) -> None:
    half, s, combiner = len(outs), scattering(i), i.attributes["to_apply"]
    operands, table, updates, parts = x[:half], x[half], x[half + 1:], combiner_parts(combiner, half)
    takes = through(combiner.root).opcode == "parameter"
    for out, of, update in zip(outs, operands, updates):
        b.known[out] = Known(None, out.dtype not in FLOATS or (takes and b.of(of).bits and b.of(update).bits))
    groups = [[k] for k in range(half)] if parts else [list(range(half))]
    for group in groups:
        part = parts[group[0]] if parts else None
        way = way_of(b, i, part, [of for k in group for of in (operands[k], updates[k])])
        some = [[side[k] for k in group] for side in (operands, updates, outs)]
        if way == "met":
            b.unknown.append(f"updates of one element meet in {i.name}")
        if way == "sum":
            of_sums(b, i, s, table, operands[group[0]], updates[group[0]], outs[group[0]])
        elif way != "exact":
            in_its_order(b, i, s, table, way, group[0], part, *some)
    if not b.exact(table):
        b.unknown.append(f"rounding decides an index of {i.name}")
        for out in outs:
            anywhere(b, i, table, out)


def way_of(b: Bounds, i: Instruction, part: Optional[Instruction], of: Sequence[Array]) -> str:
    """Return the way in which the intervals of the results are computed:

    - "exact": the results have no error.
    - "ends": the op is applied to the ends of the operands' intervals.
    - "sum": the updates are added in any order.
    - "met": an element with several updates may have any value.
    """
    exact, once = b.exact(*of), unshared_places(i) is not None
    if unique_indices(i) and not once:  # the check's indices may repeat although the text promises that they are unique
        return "met"
    if part is not None:
        dtype = part.shape.dtype
        if part.opcode == "add" and dtype in FLOATS and dtype not in TINY:
            return "sum"
        if dtype not in FLOATS or part.opcode in ("maximum", "minimum") and not zero_sign_matters(i):
            return "exact" if exact else "ends"
        return "met"
    err = b.introduces(i.attributes["to_apply"], [p.shape.dtype for p in i.attributes["to_apply"].parameters])
    return "exact" if once and exact and not err else "met"


def of_sums(b: Bounds, i: Instruction, s: Scattering, table: Array, of: Array, update: Array, out: Array) -> None:
    sums = b.e.array(f"{i.name}_sums", "range_sum", out.dims)
    met = b.e.array(f"{i.name}_met", "s32", out.dims)
    ranges, at = b.ranges(i, out, b.of(out).bits), out.all()
    lines = loops_over((out.count,), [Assign(f"{sums}[{at}]", f"(range_sum){SUM}"), Assign(f"{met}[{at}]", "0"),
                                      Call("range_sum_add", f"&{sums}[{at}]", b.interval(of, at))])
    lines += s.loops(table, [Call("range_sum_add", f"&{sums}[at]", b.interval(update, s.update)), Assign(f"{met}[at]", "1", "+=")])
    # an addition may treat the element and the added value as 0 if they are below the smallest normal float
    lost = f"2 * {LEAST_NORMAL['f32']}" if out.dtype == "f32" and b.options.flushes else "0.0"
    total = f"range_sum_result(&{sums}[{at}], {met}[{at}], 0x1p-{SIGNIFICANT[out.dtype]}, {LARGEST[out.dtype]}, {lost})"
    lines += ranges.each(b.intervals.rounded(total, out.dtype, f"{out}[{at}]"))
    b.step(i.name, lines, [sums, met, ranges], [of, table, update, out])


def in_its_order(b: Bounds, i: Instruction, s: Scattering, table: Array, way: str, k: int, part: Optional[Instruction],
                 operands: List[Array], updates: List[Array], outs: List[Array]) -> None:
    """Set the bounds by combining the updates in the order in which the reference combines them.

    way: the result of `way_of`. If it is "met", an element with several updates may have any value.
    part, k: the op that combines result k, if the combiner is one op for each result; otherwise part is None, and the
        combiner computes all results together
    """
    now = [b.e.array(f"{i.name}_now", out.dtype, out.dims) for out in outs]
    met = b.e.array(f"{i.name}_met", "s32", outs[0].dims)
    ranges = [b.ranges(i, out, b.of(out).bits) for out in outs]
    lines = met.each("0")
    for of, copy, out in zip(operands, now, ranges):
        lines += loops_over((of.count,), [Assign(f"{copy}[{of.all()}]", f"{of}[{of.all()}]"),
                                          Assign(f"{out}[{of.all()}]", b.interval(of, of.all()))])
    totals = [Ranged(f"{copy}[at]", copy.dtype, f"{out}[at]") for copy, out in zip(now, ranges)]
    elements = [b.element(update, s.update) for update in updates]
    body = combine_part(b, part, k, totals[0], elements[0]) if part else combine(b, i.attributes["to_apply"], totals,
                                                                                 elements)
    body.append(Assign(f"{met}[at]", "1", "+="))
    body += [If(f"{met}[at] > 1", [Assign(f"{out}[at]", full_range(copy.dtype))], brief=True)
             for out, copy in zip(ranges, now) if way == "met"]
    b.step(i.name, lines + s.loops(table, body), [*now, met, *ranges], [*operands, table, *updates])


def anywhere(b: Bounds, i: Instruction, table: Array, out: Array) -> None:
    """If an index is not certain, allow any value in every element."""
    before, bits = b.points(out), b.of(out).bits
    ranges, at = b.ranges(i, out, bits), out.all()
    test = Assign("unsure", f"unsure || !irange_is_point({b.interval(table, table.all())})")
    lines = [Declare("bool", "unsure", "false"), *loops_over((table.count,), [test]),
             *ranges.each(f"unsure ? {full_range(out.dtype)} : {before}[{at}]")]
    b.step(f"indices of {i.name}", [Block(lines)], [ranges], [table, before])
