"""Products, arranged for kernels of register tiles, or of tiles in a GPU's shared memory.

A product's elements are sums of x[b, i, k] y[b, k, j]. The operand that has j, the result's contiguous dimension, is
read in units: 64 bytes of neighbours along j. The other operand's elements are read one by one.

* Both operands are converted to the accumulator's type, the result to its own type. Integers of up to 32 bits are added
  as s32: the low bits of a sum are those of its terms.
* Operands of narrow numbers stay as they are where a machine multiplies groups of them: pairs of bf16, fours of 8 bits.
  A group is of neighbours along the sum; in panels, [.., J / width, K / group, width, group]. Of fours, one operand is
  signed and one is not: where both are signed, or neither is, 128 is added to one of them, or subtracted, and 128 times
  the sums of the other one's rows is subtracted from the result, or added.
* An operand that is computed is stored first: each of its elements is read for many results.
* The operand that has j is stored in panels, [.., J / width, K, width], where its units are not in memory, or where it
  is too large to be read in place. A panel is as many units wide as a tile where that divides J, so that it is copied
  in long pieces. The product reads it back through moves, which maps compose away.
* The other operand is stored with neighbours along the sum side by side, where it is large and they are far apart.
* A product by a vector is a reduce of elementwise products: it is as fast as its matrix is read.
* For a GPU the operands keep their type, and any strides will do: tiles are converted as they are loaded.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import List, NamedTuple, Optional, Sequence, Tuple

from gen import algebra
from gen.hlo import Computation, Instruction, Shape, accumulator, array_shape, dtypes
from gen.hlo.copy import copied
from gen.hlo.expansion import Expander
from gen.plan.buffers import memory_map
from gen.plan.partition import EMPTY, STORED, compose, identity, loop_sizes, moves_only, operand_map
from gen.plan.plan import TILED, stops
from gen.schedule import LINE, Panels, PlanClass, SharedTiles


# The types in which tiles of shared memory add, each with those that it is made from while they are loaded.
TILED_OPERANDS = {"f32": ("bf16", "f16"), "f64": ("f32",), "s32": ("s8", "u8", "s16", "u16")}


@dataclass(frozen=True)
class Sides:
    """The dimensions of a product's operand: of the batch, those that are kept, those that are contracted. Of a
    convolution's base a dimension of the image is kept; its window contracts it too."""

    batch: Tuple[int, ...]
    kept: Tuple[int, ...]
    contracted: Tuple[int, ...]

    @staticmethod
    def of(product: Instruction, operand: int) -> Sides:
        rank = product.operands[operand].shape.rank
        if product.opcode == "convolution":
            labels = product.attributes["dim_labels"]
            # of the base: batch, features, image; of the kernel: features, those of the result, window
            of = (labels.lhs, labels.rhs)[operand]
            contracted = (of[1],) if operand == 0 else (*of[2:], of[0])
            return Sides((), tuple(d for d in range(rank) if d not in contracted), contracted)
        side = ("lhs", "rhs")[operand]
        batch = tuple(product.attributes[f"{side}_batch_dims"])
        contracted = tuple(product.attributes[f"{side}_contracting_dims"])
        return Sides(batch, tuple(d for d in range(rank) if d not in (*batch, *contracted)), contracted)


def arranged(computation: Computation, of: PlanClass) -> Computation:
    """The computation with such products; itself where it has none, or the devices have no such kernels."""
    if not of.panels and not of.shared_tiles or not any(_is_product(i, of) for i in computation.instructions):
        return computation
    names = {i.name: 0 for i in computation.instructions}

    def put(into: Computation, product: Instruction, operands: "List[Instruction]") -> Optional[Instruction]:
        if not _is_product(product, of):
            return None
        x = Expander(product, names, into.instructions, [])
        before = len(into.instructions)
        value = _arranged(x, product, operands, of.panels) if of.panels else \
            _for_gpus(x, product, operands, of.shared_tiles) if of.shared_tiles else None
        for added in into.instructions[before:]:
            added.computation = into
        return value

    return copied(computation, put)


def _arranged(x: Expander, product: Instruction, operands: "Sequence[Instruction]",
              panels: Panels) -> Optional[Instruction]:
    """The product as it is arranged; None where it stays as it is."""
    value = _by_vector(x, product, operands, panels.vector_steps) if product.opcode == "dot" else None
    return value or _in_parts(x, product, operands, panels) or _tiled(x, product, operands, panels)


def _sum_type(product: Instruction) -> str:
    """The type in which a product is added up in tiles; "": in none of theirs."""
    kind = accumulator(product)
    if dtypes.TABLE[kind].kind in ("sint", "uint") and dtypes.TABLE[kind].bits <= 32:
        return "s32"
    return kind if kind in ("f32", "f64") else ""


def _is_product(i: Instruction, of: PlanClass) -> bool:
    if of.shared_tiles:
        return i.opcode == "dot" and _sum_type(i) != "" and i.shape.elements > 0 and math.prod(loop_sizes(i)) > 1
    if i.opcode not in ("dot", "convolution") or not _sum_type(i) or not i.shape.elements:
        return False
    if i.opcode == "convolution" and (i.attributes["batch_group_count"] > 1 or i.attributes["feature_group_count"] > 1
                                      or set(i.attributes["window"].base_dilation) - {1}):
        return False
    return math.prod(loop_sizes(i)) > 1


def _kept_size(dot: Instruction, operand: int) -> int:
    return math.prod(dot.operands[operand].shape.dims[d] for d in Sides.of(dot, operand).kept)


# ---- by a vector ----

def _by_vector(x: Expander, dot: Instruction, operands: "Sequence[Instruction]",
               least: int) -> Optional[Instruction]:
    """A product whose one side is a vector, as a reduce; None where both sides are matrices, or the matrix has fewer
    than `least` elements."""
    sizes = [_kept_size(dot, k) for k in (0, 1)]
    if min(sizes) > 1 or max(sizes) * math.prod(loop_sizes(dot)) < least:
        return None
    kind, m = _sum_type(dot), int(sizes[1] > sizes[0])
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


# ---- long sums ----

def _in_parts(x: Expander, dot: Instruction, operands: "Sequence[Instruction]",
              panels: Panels) -> Optional[Instruction]:
    """A product whose sums are long as the sum of products of parts of these, which are one more dimension of the batch.
    So a long sum has few roundings one after another, and threads share it. None where sums are short, or the parts'
    results are large."""
    if dot.opcode != "dot":
        return None
    sizes, kind = loop_sizes(dot), _sum_type(dot)
    along = max(range(len(sizes)), key=lambda k: sizes[k], default=0)
    most = panels.parts_bytes // (dot.shape.elements * dtypes.storage_bytes(kind))
    count = max((n for n in range(2, min(most, panels.sum_parts) + 1) if sizes[along] % n == 0), default=1)
    if count == 1 or math.prod(sizes) < panels.long_sum:
        return None
    batch, both, attributes, before = len(Sides.of(dot, 0).batch), [], dict(dot.attributes), len(x.into)
    for k, (side, value) in enumerate(zip(("lhs", "rhs"), operands)):
        sides, of = Sides.of(dot, k), value.shape.dims
        d = sides.contracted[along]
        both.append(x.reshape(value, (*of[:d], count, of[d] // count, *of[d + 1:])))
        attributes[f"{side}_batch_dims"] = (*(n + (n > d) for n in sides.batch), d)
        attributes[f"{side}_contracting_dims"] = tuple(n + (n >= d) for n in sides.contracted)
    dims = (*dot.shape.dims[:batch], count, *dot.shape.dims[batch:])
    order = (*(n + (n >= batch) for n in dot.shape.minor_to_major), batch)
    parts = Instruction(dot.name, "dot", array_shape(kind, dims, order), both, attributes, line=dot.line, col=dot.col,
                        computation=dot.computation)
    made = _arranged(x, parts, both, panels)
    if made is None:
        del x.into[before:]
        return None
    return x.laid_out(x.convert(x.sum(made, [batch]), dot.shape.dtype), dot.shape)


# ---- in tiles ----

def _tiled(x: Expander, product: Instruction, operands: "Sequence[Instruction]",
           panels: Panels) -> Optional[Instruction]:
    """The product for register tiles; None where its result's contiguous dimension is of the batch, or too short."""
    found = contiguous(product)
    if found is None:
        return None
    of, j = found
    kind, size = _sum_type(product), product.shape.dims[next(
        d for d in product.shape.minor_to_major if product.shape.dims[d] > 1)]
    unit = LINE // dtypes.storage_bytes(kind)
    width = next((unit * n for n in panels.units if size % (unit * n) == 0), unit)
    rows, steps = product.shape.elements // size, math.prod(loop_sizes(product))
    if product.opcode == "dot":
        rows = _kept_size(product, 1 - of)
    least = panels.least_steps if size >= unit else panels.filled_steps
    if size < unit // 2 or rows * size * steps < least:
        return None
    if product.opcode == "dot" and panels.groups and steps >= 2 * LINE // unit:
        value = _grouped(x, product, operands, of, j, width)
        if value:
            return x.laid_out(x.convert(value, product.shape.dtype), product.shape)
    parts = _parts(product) if product.opcode == "convolution" else []
    if product.opcode == "convolution" and (not parts or len(parts) > panels.parts or of == 0 and (
            size < unit or len(parts) > 1 or product.attributes["window"].stride[_image(product).index(j)] > 1)):
        return None
    both = [x.convert(operand, kind) for operand in operands]
    units, single = both[of], both[1 - of]
    if product.opcode == "convolution" and of == 0:
        units = units if _strides(units, j) else _stored(x, units)
        if not _strides(units, j):
            return None
    else:
        in_place = size >= unit and (steps * size * dtypes.storage_bytes(kind) <= panels.in_place_bytes
                                     or rows <= panels.in_place_rows)
        if not (in_place and _strides(units, j)):
            units = _in_panels(x, units, Sides.of(product, of), j, width)
    apart = product.opcode == "dot" and size >= panels.in_place_columns \
        and not any(_strides(single, k) for k in Sides.of(product, 1 - of).contracted) \
        and single.shape.elements * dtypes.storage_bytes(kind) > panels.in_place_bytes
    if apart or not _strides(single):
        single = _stored(x, single, Sides.of(product, 1 - of).contracted if apart else ())
    both = [units, single] if of == 0 else [single, units]
    shape = array_shape(kind, product.shape.dims, product.shape.minor_to_major)
    if product.opcode == "dot":
        value = x.add("dot", shape, both, **{**product.attributes, TILED: of})
    else:
        value = _joined(x, product, shape, both, of, parts, 0)
    return x.laid_out(x.convert(value, product.shape.dtype), product.shape)


# ---- in groups of narrow numbers ----

def narrow_type(dtype: str, sums: str) -> str:
    """The type in whose groups a machine multiplies numbers of a type, which are added up in type `sums`; "": in none."""
    if sums == "f32":
        return "bf16" if dtype == "bf16" else ""
    of = dtypes.TABLE[dtype]
    return {"sint": "s8", "uint": "u8"}.get(of.kind, "") if sums == "s32" and of.bits <= 8 else ""


def _grouped(x: Expander, dot: Instruction, operands: "Sequence[Instruction]", of: int, j: int,
             width: int) -> Optional[Instruction]:
    """The product in groups; None where an operand's numbers have none."""
    kind = _sum_type(dot)
    types = [narrow_type(operand.shape.dtype, kind) for operand in operands]
    if not all(types):
        return None
    group = 4 // dtypes.storage_bytes(types[0])
    sides = [Sides.of(dot, k) for k in (0, 1)]
    both = [x.convert(operand, narrow) for operand, narrow in zip(operands, types)]
    flipped = types[0] == types[1] != "bf16"
    if flipped:
        both[of] = x.convert(x.op("xor", both[of], x.splat(0x80, both[of].shape)), {"s8": "u8", "u8": "s8"}[types[of]],
                             "bitcast-convert")
    both = [_in_groups(x, value, side, group) for value, side in zip(both, sides)]
    if not _strides(both[1 - of], both[1 - of].shape.rank - 1):
        both[1 - of] = _stored(x, both[1 - of])
    order = (*sides[of].batch, *sides[of].kept)
    batch, count = len(sides[of].batch), len(order)
    grouped = Sides(tuple(range(batch)), tuple(range(batch, count)), (count, count + 1))
    both[of] = _in_panels(x, both[of], grouped, order.index(j), width, group)
    attributes = {**dot.attributes, TILED: of}
    for side, value in zip(("lhs", "rhs"), both):
        attributes[f"{side}_batch_dims"] = tuple(range(batch))
        attributes[f"{side}_contracting_dims"] = (value.shape.rank - 2, value.shape.rank - 1)
    shape = array_shape(kind, dot.shape.dims, dot.shape.minor_to_major)
    value = x.add("dot", shape, both, **attributes)
    if not flipped:
        return value
    rank = both[1 - of].shape.rank
    sums = x.sum(x.convert(both[1 - of], kind), (rank - 2, rank - 1))
    sums = x.op("multiply", sums, x.splat(128, sums.shape))
    first = batch if of == 1 else shape.rank - (rank - 2 - batch)
    spread = x.broadcast(sums, shape, (*range(batch), *range(first, first + rank - 2 - batch)))
    return x.op("subtract" if types[0] == "s8" else "add", value, spread)


def _in_groups(x: Expander, value: Instruction, sides: Sides, group: int) -> Instruction:
    """The value as [batch, kept, K / group, group], filled up with zeros."""
    order = (*sides.batch, *sides.kept, *sides.contracted)
    dims = tuple(value.shape.dims[d] for d in order[:len(order) - len(sides.contracted)])
    steps = math.prod(value.shape.dims[d] for d in sides.contracted)
    flat = x.reshape(_transposed(x, value, order), (*dims, steps))
    flat = _filled(x, flat, len(dims), -steps % group)
    return x.reshape(flat, (*dims, -(-steps // group), group))


def _filled(x: Expander, value: Instruction, along: int, count: int) -> Instruction:
    """The value with `count` zeros more along a dimension."""
    if not count:
        return value
    dims = tuple(size + count * (d == along) for d, size in enumerate(value.shape.dims))
    padding = [(0, count * (d == along), 0) for d in range(len(dims))]
    return x.add("pad", array_shape(value.shape.dtype, dims), [value, x.constant(value.shape.dtype, 0)], padding=padding)


# ---- in tiles of shared memory ----

def _for_gpus(x: Expander, product: Instruction, operands: "Sequence[Instruction]",
              tiles: SharedTiles) -> Optional[Instruction]:
    """The product for tiles of shared memory, by a vector as a reduce; None where it is too small. An operand that is
    computed is stored first; operands of two types are converted."""
    by_vector = _by_vector(x, product, operands, tiles.vector_steps)
    kind, rows = _sum_type(product), [_kept_size(product, k) for k in (0, 1)]
    if by_vector or min(rows) < 2 or product.shape.elements * math.prod(loop_sizes(product)) < tiles.least_steps:
        return by_vector
    types = {operand.shape.dtype for operand in operands}
    own = len(types) == 1 and types <= {kind, *TILED_OPERANDS[kind]}
    both = [operand if own else x.convert(operand, kind) for operand in operands]
    both = [value if _strides(value) else _stored(x, value) for value in both]
    shape = array_shape(kind, product.shape.dims, product.shape.minor_to_major)
    value = x.add("dot", shape, both, **{**product.attributes, TILED: None})
    return x.laid_out(x.convert(value, product.shape.dtype), product.shape)


# ---- convolutions ----

class Stretch(NamedTuple):
    """Places of a window along a dimension at which the same of its elements are inside of the base: the first place
    and the one after the last, the first such element and the one after the last, and where that one lies in the base
    at the first place."""

    start: int
    end: int
    low: int
    high: int
    base: int


def _image(convolution: Instruction) -> "Tuple[int, ...]":
    """The dimensions of a convolution's base that its window goes over."""
    return tuple(convolution.attributes["dim_labels"].lhs[2:])


def _parts(convolution: Instruction) -> "List[Tuple[Stretch, ...]]":
    """The parts of the result in which the same elements of the window are inside of the base, so that none multiplies
    padding; none where a part has no such element."""
    window, labels = convolution.attributes["window"], convolution.attributes["dim_labels"]
    along: "List[List[Stretch]]" = []
    for k, (base, out) in enumerate(zip(_image(convolution), labels.out[2:])):
        size, places = convolution.operands[0].shape.dims[base], convolution.shape.dims[out]
        stride, dilation, found = window.stride[k], window.dilation[k], []    # type: int, int, List[Stretch]
        for place in range(places):
            first = place * stride - window.low[k]
            low = max(0, -(first // dilation))
            high = min(window.size[k], (size - 1 - first) // dilation + 1)
            if low >= high:
                return []
            if found and (found[-1].low, found[-1].high) == (low, high):
                found[-1] = found[-1]._replace(end=place + 1)
            else:
                found.append(Stretch(place, place + 1, low, high, first + low * dilation))
        along.append(found)
    return list(itertools.product(*along))


def _joined(x: Expander, convolution: Instruction, shape: Shape, both: "Sequence[Instruction]", of: int,
            parts: "Sequence[Tuple[Stretch, ...]]", k: int) -> Instruction:
    """The result, of parts that differ from dimension k of the image on."""
    labels = convolution.attributes["dim_labels"]
    if k == len(labels.out) - 2:
        return _part(x, convolution, shape, both, of, parts[0])
    values = [_joined(x, convolution, shape, both, of, [part for part in parts if part[k] == stretch], k + 1)
              for stretch in dict.fromkeys(part[k] for part in parts)]
    if len(values) == 1:
        return values[0]
    along = labels.out[2 + k]
    dims = tuple(sum(value.shape.dims[d] for value in values) if d == along else size
                 for d, size in enumerate(values[0].shape.dims))
    return x.add("concatenate", array_shape(shape.dtype, dims, shape.minor_to_major), values, dimensions=(along,))


def _part(x: Expander, convolution: Instruction, shape: Shape, both: "Sequence[Instruction]", of: int,
          part: "Tuple[Stretch, ...]") -> Instruction:
    """A part of a convolution, as one of a part of the base with a part of the window, without padding."""
    window, labels = convolution.attributes["window"], convolution.attributes["dim_labels"]
    base, kernel = both
    sizes = tuple(stretch.high - stretch.low for stretch in part)
    dims = list(shape.dims)
    for k, stretch in enumerate(part):
        places = stretch.end - stretch.start
        base = x.slice(base, labels.lhs[2 + k], stretch.base, stretch.base + (places - 1) * window.stride[k]
                       + (sizes[k] - 1) * window.dilation[k] + 1)
        first = window.size[k] - stretch.high if window.reversal[k] else stretch.low
        kernel = x.slice(kernel, labels.rhs[2 + k], first, first + sizes[k])
        dims[labels.out[2 + k]] = places
    plain = (0,) * len(sizes)
    attributes = {**convolution.attributes, TILED: of, "window": replace(window, size=sizes, low=plain, high=plain)}
    return x.add("convolution", array_shape(shape.dtype, tuple(dims), shape.minor_to_major), [base, kernel],
                 **attributes)


def _stored(x: Expander, value: Instruction, minor: "Sequence[int]" = ()) -> Instruction:
    """minor: dimensions that are to be the contiguous ones."""
    order = (*minor[::-1], *(d for d in reversed(range(value.shape.rank)) if d not in minor))
    return x.add("copy", array_shape(value.shape.dtype, value.shape.dims, order), [value], **{STORED: True})


def contiguous(product: Instruction) -> "Optional[Tuple[int, int]]":
    """The operand that has the result's contiguous dimension, and that dimension there; None: it is of the batch."""
    at = next((d for d in product.shape.minor_to_major if product.shape.dims[d] > 1), None)
    if at is None:
        return None
    if product.opcode == "convolution":
        labels = product.attributes["dim_labels"]
        number = labels.out.index(at)       # batch, features, image
        return (1, labels.rhs[1]) if number == 1 else None if number == 0 else (0, labels.lhs[number])
    left, right = Sides.of(product, 0), Sides.of(product, 1)
    if at < len(left.batch):
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


def _in_panels(x: Expander, value: Instruction, sides: Sides, j: int, width: int, group: int = 1) -> Instruction:
    """The value as it is read back from panels. The last panel begins where it is whole, so that two panels may
    share columns; fewer columns than a panel has are filled up with zeros. group: size of the last contracted dimension,
    whose elements lie together; 1: none does."""
    dims = value.shape.dims
    others = tuple(d for d in (*sides.batch, *sides.kept) if d != j)
    order = (*others, *sides.contracted, j)
    outer, inner = (tuple(dims[d] for d in some) for some in (others, sides.contracted))
    o, i, size, steps = len(outer), len(inner), dims[j], len(inner) - (group > 1)
    # of panels: outer, panel, steps, column, group
    to_panels = (*range(o), o + i, *range(o, o + steps), o + i + 1, *range(o + steps, o + i))
    from_panels = tuple(to_panels.index(d) for d in range(o + i + 2))
    turned = _transposed(x, value, order)
    turned = _filled(x, turned, o + i, max(width - size, 0))
    whole = max(size // width, 1)

    def panels(start: int, count: int) -> Instruction:
        part = x.slice(turned, o + i, start, start + count * width)
        return _transposed(x, x.reshape(part, (*outer, *inner, count, width)), to_panels)

    parts = [panels(0, whole)] + [panels(size - width, 1)] * (size > width and size % width > 0)
    made = x.concatenate(parts, o) if len(parts) > 1 else parts[0]
    kept = x.add("copy", made.shape, [made], **{STORED: True})

    def columns(start: int, count: int, first: int, end: int) -> Instruction:
        part = _transposed(x, x.slice(kept, o, start, start + count), from_panels)
        return x.slice(x.reshape(part, (*outer, *inner, count * width)), o + i, first, end)

    back = columns(0, whole, 0, min(size, whole * width))
    if len(parts) > 1:
        back = x.concatenate([back, columns(whole, 1, width - size % width, width)], o + i)
    return _transposed(x, back, [order.index(d) for d in range(len(dims))])
