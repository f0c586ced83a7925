"""Ops that move elements: the intervals are moved by the same loops as the elements."""

from __future__ import annotations

from dataclasses import replace
from typing import List, Sequence

from gen.bounds.following import Bounds
from gen.bounds.intervals import point_test
from gen.bounds.types import full_range, Known, of_ends
from gen.statements import Assign, If, Statement
from gen.hlo import Instruction, Shape
from gen.reference.computation import OPS
from gen.reference.indexed import index_positions
from gen.reference.loops import indices_of, loops_over, position_of, strides_of
from gen.reference.moves import bitcast as bitcast_values
from gen.reference.types import bits_of, STORAGE, unsigned
from gen.reference.values import Array

# number of operands whose elements are moved; 1 for other opcodes
MOVED = {"pad": 2, "dynamic-update-slice": 2}


def moved(b: Bounds, i: Instruction, x: List[Array], outs: List[Array]) -> None:
    (out,), sources = outs, x if i.opcode == "concatenate" else x[:MOVED.get(i.opcode, 1)]
    indices = x[len(sources):]
    bits = all(b.of(a).bits for a in sources)
    if b.exact(*x):
        b.known[out] = Known(None, bits)
        return
    ranges = OPS[i.opcode](b.e, i, [*map(b.points, sources), *indices])
    assert isinstance(ranges, Array)
    b.known[out] = Known(ranges, bits)
    if not b.exact(*indices):
        b.unknown.append(f"rounding decides an index of {i.name}")
        b.e.steps[-1].lines += unsure(b, i, out, ranges, indices)
        b.e.steps[-1].uses += b.with_ranges(indices)


def unsure(b: Bounds, i: Instruction, out: Array, ranges: Array, indices: Sequence[Array]) -> List[Statement]:
    """Return statements that allow any value in elements whose index is not certain."""
    if i.opcode == "gather":
        a, place = i.attributes, indices_of(out.dims)
        row = [index for d, index in enumerate(place) if d not in a["offset_dims"]]
        read = index_positions(indices[0].dims, a["index_vector_dim"], row, len(a["start_index_map"]))
        test = " || ".join(f"!irange_is_point({b.interval(indices[0], at)})" for at in read)
        at = position_of(place, strides_of(out.dims))
        return loops_over(out.dims, [If(test, [Assign(f"{ranges}[{at}]", full_range(out.dtype))], brief=True)])
    test = " || ".join(f"!irange_is_point({b.interval(index, '0')})" for index in indices if not b.exact(index))
    return [If(test, ranges.each(full_range(out.dtype)))]


def bitcast(b: Bounds, i: Instruction, x: List[Array], outs: List[Array]) -> None:
    """Set the bounds of a bitcast. If the element types differ, an element of the result is exact if all its bits come
    from exact elements. To find these, a mask for each element (all ones if it is exact, else zeros) is moved like the
    elements.
    """
    (out,), (of,) = outs, x
    if out.dtype == of.dtype:
        return moved(b, i, x, outs)
    if b.exact(of) and b.of(of).bits:
        return
    tests = " && ".join(point_test(b.e.call, b.element(of, of.all())))
    known = b.e.array(f"{i.name}_known", unsigned(of.dtype), of.dims)
    lines = known.each(ones(of.dtype, tests))
    b.step(i.operands[0].name, lines, [known], [of])
    operand = replace(i.operands[0], shape=of_bits(i.operands[0].shape), users=[])
    there = bitcast_values(b.e, replace(i, shape=of_bits(i.shape), operands=[operand], users=[]), [known])
    ranges, at = b.ranges(i, out), out.all()
    point = of_ends(b.e.call, out.dtype, f"{out}[{at}]", f"{out}[{at}]")
    b.step(i.name, ranges.each(f"{there}[{at}] == {ones(out.dtype, '1')} ? {point} : {full_range(out.dtype)}"), [ranges],
           [out, there])


def of_bits(shape: Shape) -> Shape:
    return replace(shape, dtype=unsigned(shape.dtype))


def ones(dtype: str, test: str) -> str:
    """Return a C expression: all bits set if the test holds, else 0."""
    return f"({STORAGE[unsigned(dtype)]})({test} ? {(1 << bits_of(dtype)) - 1}u : 0u)"
