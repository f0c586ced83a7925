"""Sums of products. Float products may be added in any order, fused or not; the bound is computed from their sums in
double. Sums of integers are computed on intervals.
"""

from __future__ import annotations

from typing import List, Optional, Sequence, Tuple

from gen.bounds.following import Bounds
from gen.bounds.types import kind_of, LARGEST, Known, LEAST, LEAST_NORMAL, of_key, Ranged, SIGNIFICANT
from gen.statements import Assign, Declare, Let, Statement
from gen.hlo import Instruction
from gen.reference.elements import value_of
from gen.reference.loops import count_of, Index, loops_over, position_of, strides_of
from gen.reference.products import accumulator_of, blocks, factor_places, Products, products
from gen.reference.types import FLOATS, STORAGE, to_double
from gen.reference.values import Array, Scalar


def contract(b: Bounds, i: Instruction, x: List[Array], outs: List[Array]) -> None:
    (out,), kind, p = outs, accumulator_of(i), products(i)
    b.known[out] = Known(None, out.dtype not in FLOATS)
    if count_of(p.sizes) == 0 or (kind not in FLOATS and b.exact(*x)):
        return
    scales = x[2:] or (None, None)
    ranges = b.ranges(i, out, out.dtype not in FLOATS)
    (of_floats if kind in FLOATS else of_integers)(b, i, kind, p, x, scales, out, ranges)


def of_floats(b: Bounds, i: Instruction, kind: str, p: Products, x: Sequence[Array],
              scales: Sequence[Optional[Array]], out: Array, ranges: Array) -> None:
    """Set the bounds of sums of float products. The C variables are:

    sum: the sum of the products of the intervals' midpoints
    mass: the sum of the products of the largest magnitudes
    core: the sum of the magnitudes of the midpoints' products
    flushed: the effect of bf16 instructions that flush subnormal factors and sums to zero
    """
    sides, flushes = [], x[0].dtype == x[1].dtype == "bf16"
    for k in (0, 1):
        exact = b.exact(*(a for a in (x[k], scales[k]) if a))
        arrays = [b.e.array(f"{i.name}_{name}{k}", "f64", [x[k].dims[d] for d in p.orders[k]])
                  for name in (["middle"] if exact else ["middle", "most"])]
        to, lines, factor = factors(b, x[k], scales[k], p.orders[k], kind)
        values = [to_double(b.e.call, kind, factor.v)] if exact else [f"range_middle({factor.interval})",
                                                                     f"range_most({factor.interval})"]
        lines += [Assign(f"{array}[{to}]", value) for array, value in zip(arrays, values)]
        b.step(f"operand {k} of {i.name}", loops_over(arrays[0].dims, lines), arrays,
               [a for a in (x[k], scales[k]) if a])
        sides.append(arrays)
    (first, second), exact = ([f"{array}[{at}]" for array in side] for side, at in zip(sides, p.at)), \
        all(len(side) == 1 for side in sides)
    start: List[Statement] = [Declare("double", "sum", "0.0"), Declare("double", "mass", "0.0")]
    step: List[Statement] = [Let("double", "p", f"{first[0]} * {second[0]}"), Assign("sum", "p", "+=")]
    if exact:
        # Exact factors give every kernel the same NaNs and infinities, so `mass` leaves out products with a factor that
        # is NaN or infinite. It includes overflowing products of finite factors: a kernel may round them to infinity
        # before it adds them.
        slack, whole = "0.0", "!fraction"
        start.append(Declare("bool", "fraction", "false"))
        step.append(Assign("fraction", "fraction || p != rint(p)"))
        finite = f"fabs({first[0]}) < INFINITY && fabs({second[0]}) < INFINITY"
        step.append(Assign("mass", f"{finite} ? fabs(p) : 0.0", "+="))
    else:
        slack, whole, most = "mass - core", "false", [side[1] if len(side) > 1 else f"fabs({side[0]})" for side in (first, second)]
        start.append(Declare("double", "core", "0.0"))
        step += [Assign("mass", f"{most[0]} * {most[1]}", "+="), Assign("core", "fabs(p)", "+=")]
    if flushes:
        of_most = [side[-1] if len(side) > 1 else f"fabs({side[0]})" for side in (first, second)]
        start.append(Declare("double", "flushed", "0.0"))
        step += [Assign("flushed", f"range_flushed({one[0]}, {most}, {other})", "+=")
                 for one, most, other in ((first, *of_most), (second, *of_most[::-1]))]
    # A kernel may add the terms of `sums` results into a single sum. The code below sees only one result's terms, so no
    # sum counts as exact, and each result must stay below the type's largest number divided by `sums`.
    sums = int(i.attributes.get("sums", 1))
    whole = whole if sums == 1 else "false"
    terms = count_of(p.sizes) * sums
    limits = f"0x1p-{SIGNIFICANT[kind]}, {(LEAST_NORMAL if flushes else LEAST)[kind]}, {LARGEST[kind]}{f' / {sums}.0' * (sums > 1)}"
    total = f"range_of_products(sum, mass, {slack}, {'flushed' if flushes else '0.0'}, {whole}, {terms}.0, {limits})"
    end = [Assign(f"{ranges}[{p.result}]", b.intervals.rounded(total, out.dtype, f"{out}[{p.result}]"))]
    b.step(i.name, p.loops(start, step, end), [ranges], [*(array for side in sides for array in side), out])


def of_integers(b: Bounds, i: Instruction, kind: str, p: Products, x: Sequence[Array],
                scales: Sequence[Optional[Array]], out: Array, ranges: Array) -> None:
    sides = []
    for k in (0, 1):
        sides.append(b.e.array(f"{i.name}_factor{k}", kind_of(kind), [x[k].dims[d] for d in p.orders[k]]))
        to, lines, factor = factors(b, x[k], scales[k], p.orders[k], kind)
        value = b.intervals.of("convert", {}, kind, [factor], factor.v)
        lines.append(Assign(f"{sides[k]}[{to}]", value))
        b.step(f"operand {k} of {i.name}", loops_over(sides[k].dims, lines), [sides[k]],
               [a for a in (x[k], scales[k]) if a])

    def combined(opcode: str, names: Sequence[str]) -> str:
        """Return the interval of an op on intervals. If all operands are points, the result is a point too."""
        ends = [Scalar(of_key(kind, f"{name}.lo"), kind) for name in names]
        return b.intervals.of(opcode, {}, kind, [Ranged("", kind, name) for name in names],
                              f"({value_of(b.e.call, opcode, {}, kind, ends)})")

    step: List[Statement] = [Let("irange", name, f"{side}[{at}]") for name, side, at in zip("ab", sides, p.at)]
    step += [Let("irange", "p", combined("multiply", "ab")), Assign("t", combined("add", "tp"))]
    b.step(i.name, p.loops([Declare("irange", "t", "irange_of(0, 0)")], step, [Assign(f"{ranges}[{p.result}]", "t")]), [ranges], sides)


def factors(b: Bounds, x: Array, scale: Optional[Array], order: List[int],
            kind: str) -> "Tuple[Index, List[Statement], Ranged]":
    """Return, for any factor of the products: its index, the statements that compute it, and its value."""
    to, of = factor_places(order, x.dims)
    lines: List[Statement] = []
    factor = converted(b, x, of, kind, "x", lines)
    if scale:
        scaling = converted(b, scale, blocks(of, x.dims, scale.dims), kind, "scale", lines)
        lines.append(Let(STORAGE[kind], "v", value_of(b.e.call, "multiply", {}, kind, [factor, scaling])))
        interval = None
        if factor.interval or scaling.interval:
            lines.append(Let(kind_of(kind), "r_v", b.intervals.of("multiply", {}, kind, [factor, scaling], "v")))
            interval = "r_v"
        factor = Ranged("v", kind, interval)
    return to, lines, factor


def converted(b: Bounds, x: Array, where: Sequence[Index], kind: str, name: str, lines: List[Statement]) -> Ranged:
    """Append statements that convert an element to the accumulator's type; return the local variable `name`."""
    element = b.element(x, position_of(where, strides_of(x.dims)))
    lines.append(Let(STORAGE[kind], name, value_of(b.e.call, "convert", {}, kind, [element])))
    if element.interval is None:
        return Ranged(name, kind)
    lines.append(Let(kind_of(kind), f"r_{name}", b.intervals.of("convert", {}, kind, [element], name)))
    return Ranged(name, kind, f"r_{name}")
