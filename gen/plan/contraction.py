"""Nests that multiply in register tiles: a product of two matrices, a batch of such products, or a convolution.

The position of a result in memory is split into mixed-radix digits: first the outer digits, among them the rows, and
last the columns. Columns are computed in units. A unit is a vector of adjacent columns, at most 64 bytes of them. A
result is a sum over further digits, the steps. Each summand is a product of an element of the operand `single` and an
element of the operand `units`. If the machine multiplies groups of narrow numbers, a summand is a product of two groups
of adjacent elements.

`units` is read a whole unit at a time: its elements for adjacent columns are adjacent in memory. `single` is read one
element at a time, because its element is the same for all columns. The exception is a product in which each lane has a
sum of its own; then `single` is read in units too. `units` is the same for all rows. A tile converts narrow numbers of
`units` while it loads them. gen/plan/products.py brings products into this form.

Padding and the holes of base dilation are not stored. A window is therefore divided into cells (gen/plan/cells.py).
Within a cell, both operands move by constant strides. The algebra proves that a cell reads only elements of the base.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from gen import algebra
from gen.hlo import Instruction, Shape, dtypes
from gen.plan.buffer import Buffer
from gen.plan.buffers import has_types, leads_of, memory_map, operand_buffer, reads_of
from gen.plan.cells import Along, Cell, along
from gen.plan.digits import digit_sizes, position
from gen.plan.leads import stride_map, text
from gen.plan.nest import Nest
from gen.plan.partition import EMPTY, INLINE, Entry, Partition, Root, compose, identity, loop_sizes, regions
from gen.plan.plan import TILED
from gen.plan.products import SMALL, WIDENED, Sides, group_count, narrow_type, parts_of_unit
from gen.plan.small_product import small_product
from gen.plan.tiled_product import tiled_product
from gen.schedule import FEW_ROWS, LINE, SHORT_SUM


# types that vectors cannot hold
SCALAR = [name for name, of in dtypes.TABLE.items()
          if name in dtypes.PACKED or of.kind == "complex" or (of.kind == "float" and of.bits <= 8)]


class Digit(NamedTuple):
    """A digit of the result's position, or of the number of a summand (mixed-radix numbers). A step of a digit
    increases it by 1.

    A window has places (its positions along the result) and taps (its elements). A cell contains some places and some
    taps (gen/plan/cells.py).

    size: the number of values of the digit. If the digit counts places or taps, and cells have different numbers of
        these, it is the largest number.
    single, units: the distance in each operand that corresponds to one step.
    strips: the number of strips by which one step moves (gen/plan/strips.py); 0 outside of strips.
    window: the index of the window whose positions (places) or elements (taps) the digit counts; None if there is none.
    each: the number of successive steps of the digit that belong to the same position or element of the window.
    """

    size: int
    single: int
    units: int
    strips: int = 0
    window: Optional[int] = None
    each: int = 1


class Part(NamedTuple):
    """A cell, and the distance in each operand from the beginning of the first cell to the beginning of this cell."""

    cell: Cell
    single: int
    units: int


@dataclass(frozen=True)
class Window:
    """A window along a dimension, divided into several cells.

    digit: the index of the outer digit that counts the window's positions (places).
    every: the distance between neighbouring places that belong to one cell.
    """

    digit: int
    every: int
    parts: Tuple[Part, ...]

    def covers(self, places: int) -> bool:
        """Return true if each position of the window (place) is in exactly one cell."""
        return sorted(part.cell.place + self.every * k for part in self.parts
                      for k in range(part.cell.places)) == list(range(places))


@dataclass(eq=False)
class Contraction(Nest):
    """The nest of a product, in the form that register tiles compute. The top of this file defines columns, units and
    steps.

    dot: the product.
    epilogue: the computation of the results from the elements of the product. `partition` computes the product as well.
    single, units: the operands.
    starts: for each operand, the map from the outer digits, the unit and the lane to a position in the operand. It
        gives the position of the first step, in the first cell of each window.
    wide: None if a unit needs one element of `single`. Otherwise, a unit needs several elements of `single`, and `wide`
        is the distance from these to the elements that the next unit needs.
    part: None, or two numbers. The first is the number of adjacent lanes that share an element of `single`. The second
        is the distance from this element to the element of the next lanes.
    outer: the digits before the columns.
    rows: the index in `outer` of the digit that becomes the rows of a tile, or None. All rows read the same elements of
        `units`.
    lines: the index in `outer` of another digit along which `units` is the same, or None.
    order: the indices in `outer` of the remaining digits, in the order in which work-items take them.
    columns: the number of columns.
    unit: the number of columns in a unit. If the columns are not a multiple of it and there are several units, the last
        unit begins earlier, so that it overlaps the unit before it.
    next_unit, last_unit: the distance in `units` from the first unit to the second, and to the last.
    steps: the digits of the sum, major first.
    group: the number of elements of each operand that one step multiplies for a column. They are adjacent in `single`.
    apart: the distance between neighbouring elements of such a group in `units`. If it is not 1, work-items copy the
        elements of a group to panels, where they are adjacent.
    windows: the windows that are divided into several cells.
    discarded: maps from a position of the result to an integer. If one of the integers is negative, no kernel uses the
        result at this position.
    masked: maps from a position of the result and a step of the sum to an integer. The element of `single` for this
        step is computed from an attention score. If one of the integers is negative, a mask has discarded the score.
        The element is then usually zero.
    """

    dot: Instruction
    epilogue: Partition
    single: Buffer
    units: Buffer
    starts: Tuple[str, str]
    wide: Optional[int]
    part: Optional[Tuple[int, int]]
    outer: Tuple[Digit, ...]
    rows: Optional[int]
    lines: Optional[int]
    order: Tuple[int, ...]
    columns: int
    unit: int
    next_unit: int
    last_unit: int
    steps: Tuple[Digit, ...]
    group: int
    apart: int
    windows: Tuple[Window, ...]
    discarded: Tuple[str, ...] = field(default=(), init=False)
    masked: Tuple[str, ...] = field(default=(), init=False)

    @property
    def sizes(self) -> "List[int]":
        """Return the sizes of the outer digits, followed by the number of columns."""
        return [*(digit.size for digit in self.outer), self.columns]

    @property
    def row(self) -> Digit:
        """Return the outer digit that becomes the rows of a tile, or a digit of size 1 if there is none."""
        return Digit(1, 0, 0) if self.rows is None else self.outer[self.rows]

    @property
    def line(self) -> Digit:
        """Return the outer digit, besides the rows, that does not move the operand `units`. If there is none, return a
        digit of size 1.
        """
        return Digit(1, 0, 0) if self.lines is None else self.outer[self.lines]

    @property
    def covered(self) -> bool:
        """Return true if the cells of each window compute each element of the result exactly once."""
        return all(window.covers(self.outer[window.digit].size // self.outer[window.digit].each)
                   for window in self.windows)

    @property
    def all_units(self) -> int:
        """Return the number of vectors (units) in a row of columns. The last one may be partial."""
        return -(-self.columns // self.unit)

    @property
    def overlap(self) -> int:
        """Return the number of columns that the last two vectors (units) of a row have in common."""
        return -self.columns % self.unit if self.columns > self.unit else 0


def _products(nest: Nest) -> "List[Entry]":
    """Return the products in a nest that are arranged for register tiles."""
    return [entry for function in nest.partition.functions for region in regions(function.body)
            for entry in region.entries if TILED in entry.instruction.attributes and entry.callee is None]


def lost(nest: Nest) -> "List[Instruction]":
    """Return the products that gen/plan/products.py has arranged for tiles, but that this nest does not compute in
    tiles. Such a product may get a kernel of its own. Products that are results of the nest are left out.
    """
    if type(nest) is not Nest:
        return []
    roots = [root.value for root in nest.partition.roots]
    return [entry.instruction for entry in _products(nest) if entry.instruction not in roots]


def tiled(nest: Nest, strip: int = 0) -> Nest:
    """Return the nest as a nest of register tiles or of shared-memory tiles, or as a small product. If a condition does
    not hold, return the nest unchanged. The nest must contain exactly one product that gen/plan/products.py has
    arranged for tiles. The product's operands must move by constant strides. Vectors must be able to hold the types of
    the epilogue.

    strip: the number of elements of a strip, if the product writes or reads strips of an array (gen/plan/strips.py);
    else 0.
    """
    found = _products(nest)
    if type(nest) is not Nest or nest.layout or len(found) != 1 \
            or found[0] not in nest.partition.entry.body.entries:
        return nest
    dot, computation, cuts = found[0].instruction, nest.partition.computation, nest.partition.cuts
    epilogue = Partition(computation, nest.partition.roots, nest.name, nest.partition.entry.dims, INLINE, cuts, [dot])
    epilogue.places = nest.partition.places
    if has_types(epilogue, SCALAR):
        return nest
    reads = {(read.map, region is epilogue.entry.body) for function in epilogue.functions
             for read, region in reads_of(epilogue, function) if read.source is dot}
    if len(reads) != 1 or not next(iter(reads))[1]:
        return nest
    (at, _), = reads
    at_position = compose(algebra.call("shape", "unmap", nest.shape.text), at)
    made: Optional[Nest]
    if dot.attributes[TILED] is None:
        made = tiled_product(nest, dot, epilogue, at_position)
    elif dot.attributes[TILED] == SMALL:
        sides = [math.prod(dot.operands[k].shape.dims[d] for d in Sides.of(dot, k).kept) for k in (0, 1)]
        made = small_product(nest, dot, epilogue, at_position, sides)
    else:
        made = _of(nest, dot, epilogue, at_position, strip)
    nest.loops = "" if made else "in the order of the result its operands do not move by constant strides"
    return made or nest


class _Operands(NamedTuple):
    """The operands of a product, for a range of its columns.

    buffers: the operands' buffers.
    indices: for each operand, the map from the result's index and the variables of the sum to the operand's index.
    loops: the variables of the sum, with their numbers of steps.
    positions: for each operand, the map from the same variables to the position in memory. gen/plan/leads.py says
        what a stride means if the caller gives the leading dimension.
    """

    buffers: Tuple[Buffer, ...]
    indices: Tuple[str, ...]
    loops: Dict[str, int]

    @property
    def positions(self) -> "Tuple[str, ...]":
        return tuple(compose(index, stride_map(buffer.shape)) for index, buffer in zip(self.indices, self.buffers))


def _operands(nest: Nest, dot: Instruction, column: int, start: int, end: int) -> Optional[_Operands]:
    """Return the operands for a range of the product's columns, `start` to `end` - 1. column: the dimension of the
    product that contains the columns. Return None if an operand is not in a buffer, or if tiles do not multiply its
    type.
    """
    dims = dot.shape.dims
    part = tuple(end - start if d == column else size for d, size in enumerate(dims))
    index = compose(identity(part), algebra.call(
        "op", "slice", "0", f"out={algebra.numbers(part)}", f"in={algebra.numbers(dims)}",
        f"start={algebra.numbers([start if d == column else 0 for d in range(len(dims))])}",
        f"stride={algebra.numbers([1] * len(dims))}"))
    own = Partition(nest.partition.computation, [Root(0, dot.shape, dot, 0, index)], nest.name, part, INLINE,
                    nest.partition.cuts)
    own.places = nest.partition.places
    (entry,) = (e for e in own.entry.body.entries if e.instruction is dot)
    reads = [own.operand(entry, k, entry.regions[-1]) for k in (0, 1)]
    buffers = [operand_buffer(own, read) for read in reads]
    found = tuple(buffer for buffer in buffers if buffer)
    if len(found) < 2 or _group(dot, found) is None:
        return None
    return _Operands(found, tuple(read.map for read in reads), dict(zip(entry.regions[0].ranges, loop_sizes(dot))))


def _group(dot: Instruction, operands: "Sequence[Buffer]") -> Optional[int]:
    """Return the number of adjacent elements in a group that one instruction multiplies, or 1 if it multiplies single
    elements. Return None if tiles do not multiply operands of these types.
    """
    sums, types = dot.shape.dtype, [buffer.shape.dtype for buffer in operands]
    of = dot.attributes[TILED]
    if types[1 - of] == sums and types[of] in (sums, *WIDENED.get(sums, ())):
        return 1
    if all(dtype == narrow_type(dtype, sums) for dtype in types):
        return dtypes.storage_bytes(sums) // dtypes.storage_bytes(types[0])
    return None


class _Found(NamedTuple):
    """A window along one dimension, divided into cells. A place is a position of the window, and a tap is an element of
    the window (gen/plan/cells.py).

    along: the cells.
    place: the variable that counts places; "" if one cell contains all places.
    tap: the variable that counts taps.
    """

    along: Along
    place: str
    tap: str


def _windows(dot: Instruction, sizes: "Sequence[int]", at: str, loops: "Sequence[str]") -> "Optional[List[_Found]]":
    """Return the windows of a product. Return None if a window covers no element of the base. If no single cell
    contains all positions (places) of a window, an outer digit must count exactly these places; otherwise return None.
    """
    if dot.opcode != "convolution":
        return []
    found, split = [], compose(position(sizes), at)
    for k, out in enumerate(dot.attributes["dim_labels"].out[2:]):
        of, place = along(dot, k), ""
        if not of.cells:
            return None
        if len(of.cells) > 1 or of.cells[0].places < dot.shape.dims[out]:
            digits = [n for n in range(len(sizes)) if algebra.access(split, f"g{n}")[out].stride != 0]
            if len(digits) != 1 or digits[0] == len(sizes) - 1 or sizes[digits[0]] != dot.shape.dims[out]:
                return None
            place = f"g{digits[0]}"
        found.append(_Found(of, place, loops[k]))
    return found


def _of(nest: Nest, dot: Instruction, epilogue: Partition, at: str, strip: int) -> Optional[Contraction]:
    """Return the product as a contraction, or None if it is not one. at: the map from the result's position to the
    product's index.
    """
    column, of = next(d for d in dot.shape.minor_to_major if dot.shape.dims[d] > 1), dot.attributes[TILED]
    unit, features, groups = LINE // dtypes.storage_bytes(dot.shape.dtype), dot.shape.dims[column], group_count(dot)
    number = _strip_number(nest, dot, column, at, strip) if strip else ""
    split = [at, number] if number else [at]
    each, size = parts_of_unit(groups, features, unit), features // (groups if groups < features else 1)
    size = features if each else size
    if 1 < groups < features and not each:
        split.append(compose(at, f"({', '.join(f'd{d}' for d in range(dot.shape.rank))}) -> "
                                 f"(d{column} floordiv {features // groups}), domain: "
                                 + ", ".join(f"d{d} in [0, {size - 1}]" for d, size in enumerate(dot.shape.dims))))
    sizes = digit_sizes(nest.shape.elements, split)
    if not sizes or sizes[-1] != size or strip and not number:
        return None
    whole = features // unit * unit or features
    main = _operands(nest, dot, column, 0, whole)
    if main is None or sizes[-1] < features and sizes[-1] % unit:
        return None
    moved = None
    # try a product in which each lane multiplies its own element of `single`, so that both operands are read in vectors
    if sizes[-1] == features == unit and len(sizes) > 1 and not each:
        merged = (*sizes[:-2], sizes[-2] * unit)
        moved = _moves(dot, main, merged, at, of, unit, merged[-1])
        if moved and (moved.strides[0]["lane"], moved.strides[0]["unit"]) == (1, 0) and moved.strides[1]["unit"]:
            sizes, whole, features = merged, merged[-1], merged[-1]
        else:
            moved = None
    moved = moved or _moves(dot, main, sizes, at, of, unit, whole, each)
    # If a stride is not constant, split the columns into digits along which positions in `units` have constant strides.
    # Then only the last digit counts columns. If `units` is stored in panels, these are the columns of one panel.
    if moved is None and whole == features:
        begins = algebra.substitute(compose(at, main.positions[of]), **{name: 0 for name in main.loops})
        sizes = digit_sizes(nest.shape.elements, [*split, begins]) or sizes
        moved = _moves(dot, main, sizes, at, of, unit, whole, each) if sizes[-1] % unit == 0 else None
    if moved is None:
        return None
    (single, units), found, group, columns = moved.strides, moved.found, _group(dot, main.buffers) or 1, sizes[-1]
    wide = single["unit"] if group == 1 and single["lane"] == 1 and single["unit"] in (0, unit) else None
    # If there are fewer than two whole vectors of columns, the map has no stride from one vector to the next, and
    # `wide` is 0. The distance in `single` is then the length of a vector.
    if wide == 0 and not units["unit"] and columns > unit:
        wide = unit
    part = None
    if each:
        if group > 1 or single["lane"] or single["part"] <= 0 or units["part"] != each:
            return None
        wide, part = single["unit"], (each, single["part"])
    if units["lane"] not in (1, group) or (single["lane"] or single["unit"]) and wide is None:
        return None
    divided = [n for n, each in enumerate(found) if each.place]
    places, taps = ({found[n][field]: k for k, n in enumerate(divided)} for field in (1, 2))
    counts = {**main.loops, **{each.tap: max(cell.taps for cell in each.along.cells) for each in found}}
    sums = [Digit(size, single[name], units[name], 0, taps.get(name)) for name, size in counts.items()]
    inner = sums.pop() if group > 1 else Digit(1, 1, 1)
    if (inner.size, inner.single) != (group, 1) or units["lane"] != (group if inner.units == 1 else 1):
        return None
    steps = _merged(sorted(sums, key=lambda digit: (-abs(digit.units), -abs(digit.single))))
    joined = _joined(steps)
    steps = joined if len(joined) < len(steps) else _joined(_longest_last(steps))
    strips = _strips(number, sizes)
    if strips is None:
        return None
    outer = _merged([Digit(size, single[f"g{k}"], units[f"g{k}"], strips.get(f"g{k}", 0), places.get(f"g{k}"))
                     for k, size in enumerate(sizes[:-1])])
    outer = _rows_of_places(outer, [found[n].along.every for n in divided])
    windows = [Window(next(d for d, digit in enumerate(outer) if digit.window == k), found[n].along.every,
                      moved.parts[n]) for k, n in enumerate(divided)]
    last_unit = (-(-min(whole, columns) // unit) - 1) * units["unit"]
    if whole < features:
        last = _operands(nest, dot, column, whole, features)
        if last is None or last.buffers != main.buffers:
            return None
        begin, end = (_begin(each, dot, of, found) for each in (main, last))
        if begin is None or end is None:
            return None
        last_unit = end - begin - (unit - columns % unit) * units["lane"]
    shared = [k for k, digit in enumerate(outer) if not digit.units and not digit.strips]
    rows = max(shared, key=lambda k: (outer[k].size, k), default=None)
    lines = max((k for k in shared if k != rows), key=lambda k: (outer[k].size, k), default=None)
    order = sorted((k for k in range(len(outer)) if k not in (rows, lines)), key=lambda k: -outer[k].strips)
    starts = [_start(outer, unit, min(whole, columns), begin, strides, by, buffer.shape)
              for begin, strides, by, buffer in zip(moved.begins, moved.strides, ("single", "units"),
                                                    (main.buffers[1 - of], main.buffers[of]))]
    return Contraction(nest.name, nest.shape, nest.partition, dot, epilogue, main.buffers[1 - of], main.buffers[of],
                       (starts[0], starts[1]), wide, part, outer, rows, lines, tuple(order), columns, unit,
                       units["unit"] or unit * units["lane"], last_unit, steps, group, inner.units, tuple(windows))


def single_position(nest: Nest) -> str:
    """Return the map from a position of the result and the variables of the sum to a position in memory: that of the
    element of `single` that is multiplied. Return "" unless the nest is a single product whose operands are in buffers.
    """
    found = _products(nest)
    if len(found) != 1 or len(nest.partition.roots) > 1:
        return ""
    dot, root = found[0].instruction, nest.partition.roots[0]
    read = _operands(nest, dot, 0, 0, dot.shape.dims[0]) if root.value is dot else None
    if read is None:
        return ""
    index = compose(compose(algebra.call("shape", "unmap", nest.shape.text), root.map), read.indices[1 - dot.attributes[TILED]])
    return compose(index, memory_map(read.buffers[1 - dot.attributes[TILED]].shape.dense))


def _strip_number(nest: Nest, dot: Instruction, column: int, at: str, strip: int) -> str:
    """Return a map to the number of a strip, which is a set of neighbouring rows (gen/plan/strips.py). If the nest
    writes strips, the map is from the result's position to the strip that is written. If it reads the operand `single`
    in strips, the map is from the result's position and the variables of the sum to the strip that is read. Return ""
    if the nest does neither.
    """
    root, of = nest.partition.roots[0], dot.attributes[TILED]
    if root.shape.place:
        index, shape = compose(algebra.call("shape", "unmap", nest.shape.text), root.map), root.shape
    else:
        read = _operands(nest, dot, column, 0, dot.shape.dims[column])
        if read is None or not read.buffers[1 - of].shape.place:
            return ""
        index, shape = compose(at, read.indices[1 - of]), read.buffers[1 - of].shape
    whole = compose(index, memory_map(shape.dense))
    return compose(whole, f"(d0) -> (d0 floordiv {strip}), domain: d0 in [0, {shape.elements - 1}]")


class _Moved(NamedTuple):
    """The positions in the operands of a product, as linear functions of the loop variables.

    found: the windows.
    begins: the positions at which `single` and `units` begin, in the first cell of each window.
    strides: for each operand, its stride along each variable.
    parts: the cells of each window.
    """

    found: List[_Found]
    begins: Tuple[int, int]
    strides: Tuple[Dict[str, int], Dict[str, int]]
    parts: List[Tuple[Part, ...]]


def _moves(dot: Instruction, main: _Operands, sizes: "Sequence[int]", at: str, of: int, unit: int,
           whole: int, part: int = 0) -> Optional[_Moved]:
    """Return the strides of the operands along the digits of the result, the vectors of columns (units), the lanes and
    the steps. Return None if a stride is not constant. part: the number of adjacent lanes that share
    an element of the operand `single`; 0 if all lanes share it.
    """
    found = _windows(dot, sizes, at, list(main.loops))
    if found is None:
        return None
    by_digits = compose(columns_map(sizes, unit, min(whole, sizes[-1]), part), at)
    cells = [each.along.cells[0] for each in found]
    maps = [algebra.call("map", "dims", compose(by_digits, main.positions[k])) for k in (1 - of, of)]
    first = [_affine(flat, found, cells) for flat in maps]
    if first[0] is None or first[1] is None:
        return None
    parts: List[Tuple[Part, ...]] = []
    for n, each in enumerate(found):
        of_window: List[Part] = []
        for cell in each.along.cells:
            here = [_affine(flat, found, [*cells[:n], cell, *cells[n + 1:]]) for flat in maps]
            if here[0] is None or here[1] is None:
                return None
            of_window.append(Part(cell, here[0].begin - first[0].begin, here[1].begin - first[1].begin))
            # A cell with a single window position has no stride, so take the stride from another cell.
            for of_first, of_cell in ((first[0], here[0]), (first[1], here[1])):
                of_first.strides.update((name, of_cell.strides[name]) for name in (each.place, each.tap)
                                        if of_cell.strides.get(name))
        parts.append(tuple(of_window))
    return _Moved(found, (first[0].begin, first[1].begin), (first[0].strides, first[1].strides), parts)


def _strips(number: str, sizes: "Sequence[int]") -> "Optional[Dict[str, int]]":
    """Return, by the name of each outer digit, by how many strips (gen/plan/strips.py) a step of the digit moves.
    Return None if such a number is not constant, or if the strip also depends on the column or on the step of the sum.
    """
    if not number:
        return {}
    flat, outer = compose(position(sizes), number), [f"g{k}" for k in range(len(sizes) - 1)]
    strides = {v.name: algebra.access(flat, v.name)[0].stride for v in algebra.info(flat).variables}
    if None in strides.values() or any(step for name, step in strides.items() if name not in outer):
        return None
    return {name: step or 0 for name, step in strides.items()}


class _Affine(NamedTuple):
    """An affine map: its value where all variables are 0, and its stride along each variable."""

    begin: int
    strides: Dict[str, int]


def _affine(flat: str, found: "Sequence[_Found]", cells: "Sequence[Cell]") -> Optional[_Affine]:
    """Return the map to a position as an affine map. `cells` has one cell of each window; the affine map holds only
    inside these cells. Return None if a stride is not constant, or if a cell reads outside of the base.
    """
    if flat == EMPTY:
        return None
    bounds = {v.name: v.hi for v in algebra.info(flat).variables}
    terms = {name: name for name in bounds}
    for each, cell in zip(found, cells):
        if each.place:
            bounds[each.place] = cell.places - 1
            terms[each.place] = f"{each.place} * {each.along.every} + {cell.place}"
        bounds[each.tap] = cell.taps - 1
        terms[each.tap] = f"{each.tap} * {each.along.taps_every} + {cell.tap}"
    box = ", ".join(f"{name} in [0, {high}]" for name, high in bounds.items())
    within = compose(algebra.simplify(f"({', '.join(terms)}) -> ({', '.join(terms.values())}), domain: {box}"), flat)
    if within == EMPTY or algebra.guards(within) \
            or {v.name: v.hi for v in algebra.info(within).variables} != bounds:
        return None
    begin, steps = algebra.evaluate(within, *[0] * len(bounds)), {
        name: algebra.access(within, name)[0].stride for name in bounds}
    if begin is None or None in steps.values():
        return None
    return _Affine(begin[0], {name: step or 0 for name, step in steps.items()})


def _begin(operands: _Operands, dot: Instruction, of: int, found: "Sequence[_Found]") -> Optional[int]:
    """Return the position of the operand's element that is multiplied for the first result in the first step of the
    sum. If a window has several cells, the element is that of the first position (place) and the first window element
    (tap) of its first cell.
    """
    values = {each.tap: each.along.cells[0].tap for each in found}
    if found:
        values.update((f"i{out}", each.along.cells[0].place)
                      for out, each in zip(dot.attributes["dim_labels"].out[2:], found))
    flat = operands.positions[of]
    begin = algebra.evaluate(flat, *(values.get(v.name, 0) for v in algebra.info(flat).variables))
    return begin[0] if begin else None


def _start(outer: "Sequence[Digit]", unit: int, columns: int, begin: int, strides: "Dict[str, int]", by: str,
           of: Shape) -> str:
    """Return the map (g0, .., unit, lane) -> (position) for an operand, in the first cell of each window. The
    digits that count a window's places have no influence, because the kernel counts places from the beginning of a
    cell.
    """
    names = [f"g{k}" for k in range(len(outer))]
    box = [f"{name} in [0, {digit.size - 1}]" for name, digit in zip(names, outer)]
    box += [f"unit in [0, {-(-columns // unit) - 1}]", f"lane in [0, {min(unit, columns) - 1}]"]
    terms = [f"{name} * {text(getattr(digit, by), of.lead)}" for name, digit in zip(names, outer)
             if digit.window is None]
    terms += [*(f"{name} * {text(strides[name], of.lead)}" for name in ("unit", "lane")), text(begin, of.lead)]
    leads = leads_of([of])
    box += [f"{name} in [{low}, {high}]" for name, (low, high) in leads.items()]
    return algebra.simplify(f"({', '.join([*names, 'unit', 'lane'])}){'{%s}' % ', '.join(leads) if leads else ''} -> "
                            f"({' + '.join(terms)}), domain: {', '.join(box)}")


def columns_map(sizes: "Sequence[int]", unit: int, columns: int, each: int = 0) -> str:
    """Return the map (g0, .., unit, lane) -> (position). The variables g0, .. are the digits of all `sizes` but the
    last. The variable `unit` counts vectors along the columns, and `lane` counts the columns of a vector.

    unit: number of columns of a vector.
    each: if vectors are divided into equal parts, the number of lanes of a part; else 0. The variable `lane` then
        counts the lanes of a part, and a further variable `part` counts the parts.
    """
    names = [f"g{k}" for k in range(len(sizes) - 1)]
    box = [f"{name} in [0, {size - 1}]" for name, size in zip(names, sizes)]
    box += [f"unit in [0, {-(-columns // unit) - 1}]", f"lane in [0, {(each or min(unit, columns)) - 1}]"]
    terms = [*(f"{name} * {math.prod(sizes[k + 1:])}" for k, name in enumerate(names)), f"unit * {unit}", "lane"]
    names += ["unit", "lane"]
    if each:
        names, terms = [*names, "part"], [*terms, f"part * {each}"]
        box.append(f"part in [0, {unit // each - 1}]")
    return algebra.simplify(f"({', '.join(names)}) -> ({' + '.join(terms)}), "
                            f"domain: {', '.join(box)}")


def _merged(digits: "Sequence[Digit]") -> "Tuple[Digit, ...]":
    """Return the digits without digits of size 1. Neighbouring digits are merged if the strides of both operands
    continue from one digit to the next.
    """
    merged: "List[Digit]" = []
    for digit in digits:
        above = merged[-1] if merged else None
        if digit.size == 1:
            continue
        if above and above.window is None and digit.window is None and _goes_on(above, digit):
            merged[-1] = digit._replace(size=above.size * digit.size)
        else:
            merged.append(digit)
    return tuple(merged)


def _rows_of_places(outer: "Tuple[Digit, ...]", every: "Sequence[int]") -> "Tuple[Digit, ...]":
    """Return the outer digits, after at most one merge. A digit that counts the positions of a window (places) is
    merged with the next digit if that is a short digit of rows, and if no digit of rows is longer than the merged one.
    Rows of a tile then run over places. every: for each window, the distance between neighbouring places of a cell.
    """
    for k, (above, below) in enumerate(zip(outer, outer[1:])):
        size = above.size * below.size
        if above.window is not None and every[above.window] == 1 and below.window is None and below.size < FEW_ROWS \
                and not below.units and not below.strips and _goes_on(above, below) \
                and all(digit.size <= size for digit in outer if not digit.units):
            return *outer[:k], below._replace(size=size, window=above.window, each=below.size), *outer[k + 2:]
    return outer


def _goes_on(above: Digit, below: Digit) -> bool:
    return (above.single, above.units, above.strips) == tuple(step * below.size for step in below[1:4])


def _longest_last(steps: "Tuple[Digit, ...]") -> "Tuple[Digit, ...]":
    """Move the longest digit of the sum to the end if the last digit is short, and return all digits. The inner loop of
    a tile runs along the last digit.
    """
    longest = max(steps, key=lambda digit: digit.size, default=None)
    if longest is None or steps[-1].size >= SHORT_SUM or longest.size <= steps[-1].size:
        return steps
    return *(digit for digit in steps if digit is not longest), longest


def _joined(steps: "Tuple[Digit, ...]") -> "Tuple[Digit, ...]":
    """Return the steps, with the last two digits merged if they can be. The digit before the last must count elements
    of a window (taps), and each of its strides must be the last digit's stride times the last digit's size.
    """
    if len(steps) < 2 or steps[-1].window is not None or steps[-2].window is None or not _goes_on(*steps[-2:]):
        return steps
    above, below = steps[-2:]
    return *steps[:-2], below._replace(size=above.size * below.size, window=above.window, each=below.size)
