"""Products of floats, arranged for kernels of register tiles.

A product's elements are sums of x[b, i, k] y[b, k, j]. The operand that has j, the result's contiguous dimension, is
read in units: 64 bytes of neighbours along j. The other operand's elements are read one by one.

* Both operands are converted to the accumulator's type, the result to its own type.
* An operand that is computed is stored first: each of its elements is read for many results.
* The operand that has j is stored in panels, [.., J / unit, K, unit], where its units are not in memory, or where it is
  too large to be read in place. The product reads it back through moves, which maps compose away.
* A product by a vector is a reduce of elementwise products: it is as fast as its matrix is read.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import List, Optional, Sequence, Tuple

from gen import algebra
from gen.hlo import Computation, Instruction, accumulator, array_shape, dtypes
from gen.hlo.copy import copied
from gen.hlo.expansion import Expander
from gen.plan.buffers import memory_map
from gen.plan.partition import EMPTY, STORED, compose, identity, moves_only, operand_map
from gen.plan.plan import TILED, stops
from gen.schedule import LINE, Panels


@dataclass(frozen=True)
class Sides:
    """The dimensions of a dot's operand: of the batch, those that are kept, those that are contracted."""

    batch: Tuple[int, ...]
    kept: Tuple[int, ...]
    contracted: Tuple[int, ...]

    @staticmethod
    def of(dot: Instruction, operand: int) -> Sides:
        side, rank = ("lhs", "rhs")[operand], dot.operands[operand].shape.rank
        batch = tuple(dot.attributes[f"{side}_batch_dims"])
        contracted = tuple(dot.attributes[f"{side}_contracting_dims"])
        return Sides(batch, tuple(d for d in range(rank) if d not in (*batch, *contracted)), contracted)


def arranged(computation: Computation, panels: Panels) -> Computation:
    """The computation with such products; itself where it has none."""
    if not any(_is_product(i) for i in computation.instructions):
        return computation
    names = {i.name: 0 for i in computation.instructions}

    def put(into: Computation, dot: Instruction, operands: "List[Instruction]") -> Optional[Instruction]:
        if not _is_product(dot):
            return None
        x = Expander(dot, names, into.instructions, [])
        before = len(into.instructions)
        value = _by_vector(x, dot, operands) or _tiled(x, dot, operands, panels)
        for added in into.instructions[before:]:
            added.computation = into
        return value

    return copied(computation, put)


def _is_product(dot: Instruction) -> bool:
    return dot.opcode == "dot" and accumulator(dot) in ("f32", "f64") and math.prod(
        dot.operands[0].shape.dims[d] for d in Sides.of(dot, 0).contracted) > 1 and dot.shape.elements > 0


def _kept_size(dot: Instruction, operand: int) -> int:
    return math.prod(dot.operands[operand].shape.dims[d] for d in Sides.of(dot, operand).kept)


# ---- by a vector ----

def _by_vector(x: Expander, dot: Instruction, operands: "Sequence[Instruction]") -> Optional[Instruction]:
    """A product whose one side is a vector, as a reduce; None where both sides are matrices."""
    sizes = [_kept_size(dot, k) for k in (0, 1)]
    if min(sizes) > 1:
        return None
    kind, m = accumulator(dot), int(sizes[1] > sizes[0])
    matrix, vector = (Sides.of(dot, k) for k in (m, 1 - m))
    x_matrix, x_vector = (x.convert(operands[k], kind) for k in (m, 1 - m))
    dims = x_matrix.shape.dims
    along = (*matrix.batch, *matrix.contracted)         # of the matrix, in the order of the vector's own
    order = (*vector.batch, *vector.contracted)
    turned = _transposed(x, x_vector, (*order, *vector.kept))
    flat = x.reshape(turned, tuple(dims[d] for d in along))
    # a broadcast's dimensions increase
    by_place = sorted(range(len(along)), key=lambda k: along[k])
    flat = _transposed(x, flat, by_place)
    spread = x.broadcast(flat, x_matrix.shape, sorted(along))
    total = x.sum(x.op("multiply", x_matrix, spread), matrix.contracted)
    left = [d for d in range(len(dims)) if d not in matrix.contracted]
    total = _transposed(x, total, [left.index(d) for d in (*matrix.batch, *matrix.kept)])
    total = x.reshape(total, dot.shape.dims)
    return x.laid_out(x.convert(total, dot.shape.dtype), dot.shape)


def _transposed(x: Expander, value: Instruction, order: "Sequence[int]") -> Instruction:
    """The value with dimension order[k] as dimension k."""
    if list(order) == list(range(value.shape.rank)):
        return value
    to = array_shape(value.shape.dtype, tuple(value.shape.dims[d] for d in order))
    return x.add("transpose", to, [value], dimensions=tuple(order))


# ---- in tiles ----

def _tiled(x: Expander, dot: Instruction, operands: "Sequence[Instruction]", panels: Panels) -> Optional[Instruction]:
    """The product for register tiles; None where its result's contiguous dimension is of the batch, or too short."""
    found = contiguous(dot)
    if found is None:
        return None
    of, j = found
    kind, sides = accumulator(dot), Sides.of(dot, of)
    unit = LINE // dtypes.storage_bytes(kind)
    other, size, rows = 1 - of, dot.operands[of].shape.dims[j], _kept_size(dot, 1 - of)
    least = panels.least_steps if size >= unit else panels.filled_steps
    if size < unit // 2 or rows * size * _length(dot) < least:
        return None
    units, single = (x.convert(operands[k], kind) for k in (of, other))
    bytes_ = math.prod(units.shape.dims[d] for d in (*sides.contracted, j)) * dtypes.storage_bytes(kind)
    in_place = size >= unit and (bytes_ <= panels.in_place_bytes or rows <= panels.in_place_rows)
    if not (in_place and _strides(units, j)):
        units = _in_panels(x, units, sides, j, unit)
    if not _strides(single):
        single = x.add("copy", array_shape(kind, single.shape.dims), [single], **{STORED: True})
    to = array_shape(kind, dot.shape.dims, dot.shape.minor_to_major)
    product = x.add("dot", to, [units, single] if of == 0 else [single, units],
                    **{**dot.attributes, TILED: of})
    return x.laid_out(x.convert(product, dot.shape.dtype), dot.shape)


def _length(dot: Instruction) -> int:
    return math.prod(dot.operands[0].shape.dims[d] for d in Sides.of(dot, 0).contracted)


def contiguous(dot: Instruction) -> "Optional[Tuple[int, int]]":
    """The operand that has the result's contiguous dimension, and that dimension there; None: it is of the batch."""
    at = next((d for d in dot.shape.minor_to_major if dot.shape.dims[d] > 1), None)
    left, right = Sides.of(dot, 0), Sides.of(dot, 1)
    if at is None or at < len(left.batch):
        return None
    at -= len(left.batch)
    return (0, left.kept[at]) if at < len(left.kept) else (1, right.kept[at - len(left.kept)])


def _strides(value: Instruction, contiguous: "Optional[int]" = None) -> bool:
    """Whether a value is in memory, at a constant stride along each dimension, which is 1 along one of them."""
    index, of = identity(value.shape.dims), value
    while moves_only(of) and of.opcode != "get-tuple-element" and not of.attributes.get(STORED):
        index, of = compose(index, operand_map(of, 0)), of.operands[0]
    if index == EMPTY or of.shape.kind != "array" or not (
            of.opcode == "parameter" or stops(of)):
        return False
    flat = compose(index, memory_map(of.shape))
    if flat == EMPTY or algebra.guards(flat):
        return False
    steps = {v.name: algebra.access(flat, v.name)[0].stride for v in algebra.info(flat).variables}
    return None not in steps.values() and (contiguous is None or steps.get(f"i{contiguous}") == 1)


def _in_panels(x: Expander, value: Instruction, sides: Sides, j: int, unit: int) -> Instruction:
    """The value as it is read back from panels. The last panel begins where it has whole units, so that two panels may
    share columns; fewer columns than a unit are filled up with zeros."""
    dims, dtype = value.shape.dims, value.shape.dtype
    others = tuple(d for d in (*sides.batch, *sides.kept) if d != j)
    order = (*others, *sides.contracted, j)
    outer, inner = (tuple(dims[d] for d in some) for some in (others, sides.contracted))
    o, i, size = len(outer), len(inner), dims[j]
    to_panels = (*range(o), o + i, *range(o, o + i), o + i + 1)
    from_panels = (*range(o), *range(o + 1, o + 1 + i), o, o + i + 1)
    turned = _transposed(x, value, order)
    if size < unit:
        padding = [(0, unit - size if d == j else 0, 0) for d in order]
        turned = x.add("pad", array_shape(dtype, (*outer, *inner, unit)), [turned, x.constant(dtype, 0)],
                       padding=padding)
    whole = max(size // unit, 1)

    def panels(start: int, count: int) -> Instruction:
        part = x.slice(turned, o + i, start, start + count * unit)
        return _transposed(x, x.reshape(part, (*outer, *inner, count, unit)), to_panels)

    parts = [panels(0, whole)] + [panels(size - unit, 1)] * (size > unit and size % unit > 0)
    made = x.concatenate(parts, o) if len(parts) > 1 else parts[0]
    kept = x.add("copy", made.shape, [made], **{STORED: True})

    def columns(start: int, count: int, first: int, end: int) -> Instruction:
        part = _transposed(x, x.slice(kept, o, start, start + count), from_panels)
        return x.slice(x.reshape(part, (*outer, *inner, count * unit)), o + i, first, end)

    back = columns(0, whole, 0, min(size, whole * unit))
    if len(parts) > 1:
        back = x.concatenate([back, columns(whole, 1, unit - size % unit, unit)], o + i)
    return _transposed(x, back, [order.index(d) for d in range(len(dims))])
