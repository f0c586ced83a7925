"""A nest around a product of two matrices, or of many.

The positions of the result, in the order of memory, are digits: those of the outer loops, the rows, and the columns,
which are the minor digit. An element of the result is the sum, over the digits of the steps, of an element of `single`
and one of `units`, or of groups of neighbours. Along the columns `single` does not move, and neighbours in a unit of
`units` are neighbours in memory. Along the rows `units` does not move. gen/plan/products.py arranges products so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from gen import algebra
from gen.hlo import Instruction, dtypes
from gen.plan.buffer import Buffer
from gen.plan.buffers import buffer_of, memory_map, reads_of, touches
from gen.plan.digits import digit_sizes, merged_digits, position
from gen.plan.nest import Nest
from gen.plan.partition import EMPTY, INLINE, Entry, Partition, Root, compose, identity, loop_sizes, regions
from gen.plan.plan import TILED
from gen.plan.products import narrow_type
from gen.plan.tiled_product import tiled_product
from gen.schedule import LINE


# types that no vector holds
SCALAR = [name for name, of in dtypes.TABLE.items()
          if name in dtypes.PACKED or of.kind == "complex" or (of.kind == "float" and of.bits <= 8)]


class Digit(NamedTuple):
    """A digit, and the elements that a step of it is worth in each operand. strips: the strips that it is worth, where
    the nest is a part of strips (gen/plan/strips.py)."""

    size: int
    single: int
    units: int
    strips: int = 0


@dataclass(eq=False)
class Contraction(Nest):
    """dot: the product. epilogue: from its elements to the results (`partition` goes on to compute them itself).

    single, units: the operands; starts: the maps from the digits of the result, a unit and a lane to the position in
    each at the first step. outer: the digits before the columns; rows: the number of that one of them whose elements
    share units, None where there is none. order: the numbers of the others, as work-items go through them. columns:
    elements of the minor digit; unit: elements of a unit. Where columns are no whole units, the last unit shares some
    with the unit before it, if there is one. next_unit, last_unit: from the first unit to the second and to the last
    one in memory. steps: the digits of the sum, major first. group: elements that each operand has for a step and a
    column, which are neighbours in memory."""

    dot: Instruction
    epilogue: Partition
    single: Buffer
    units: Buffer
    starts: Tuple[str, str]
    outer: Tuple[Digit, ...]
    rows: Optional[int]
    order: Tuple[int, ...]
    columns: int
    unit: int
    next_unit: int
    last_unit: int
    steps: Tuple[Digit, ...]
    group: int

    @property
    def sizes(self) -> "List[int]":
        """Of the digits of the result, major first."""
        return [*(digit.size for digit in self.outer), self.columns]

    @property
    def row(self) -> Digit:
        """The digit of the rows; of one element where there is none."""
        return Digit(1, 0, 0) if self.rows is None else self.outer[self.rows]

    @property
    def all_units(self) -> int:
        """Units of a row; one that is not whole counts."""
        return -(-self.columns // self.unit)

    @property
    def overlap(self) -> int:
        """Columns that the last unit shares with the one before it."""
        return -self.columns % self.unit if self.columns > self.unit else 0


def _products(nest: Nest) -> "List[Entry]":
    """The products in a nest that are arranged for register tiles."""
    return [entry for function in nest.partition.functions for region in regions(function.body)
            for entry in region.entries if TILED in entry.instruction.attributes and entry.callee is None]


def lost(nest: Nest) -> "List[Instruction]":
    """The products in a nest that are no register tiles there, and no results, so that kernels of their own may be."""
    if type(nest) is not Nest:
        return []
    roots = [root.value for root in nest.partition.roots]
    return [entry.instruction for entry in _products(nest) if entry.instruction not in roots]


def tiled(nest: Nest, strip: int = 0) -> Nest:
    """The nest as one around its product that is arranged for tiles; itself where it has none, or more, its
    maps are not sums of strides, or what follows from the product has a type that vectors do not hold. strip: elements
    of a strip of what the nest leaves for another one, or reads of another one (gen/plan/strips.py)."""
    found = _products(nest)
    if type(nest) is not Nest or nest.layout or len(found) != 1 \
            or found[0] not in nest.partition.entry.body.entries or touches(nest, SCALAR):
        return nest
    dot, computation, cuts = found[0].instruction, nest.partition.computation, nest.partition.cuts
    epilogue = Partition(computation, nest.partition.roots, nest.name, nest.partition.entry.dims, INLINE, cuts, [dot])
    epilogue.places = nest.partition.places
    reads = {(read.map, region is epilogue.entry.body) for function in epilogue.functions
             for read, region in reads_of(epilogue, function) if read.source is dot}
    if len(reads) != 1 or not next(iter(reads))[1]:
        return nest
    (at, _), = reads
    at_position = compose(algebra.call("shape", "unmap", nest.shape.text), at)
    if dot.attributes[TILED] is None:
        return tiled_product(nest, dot, epilogue, at_position) or nest
    return _of(nest, dot, epilogue, at_position, strip) or nest


class _Operands(NamedTuple):
    """The operands' buffers, and the maps from an index of some of the product's columns and from the loops over the
    sum to the indices in these."""

    buffers: Tuple[Buffer, ...]
    indices: Tuple[str, ...]
    loops: Dict[str, int]

    @property
    def positions(self) -> "Tuple[str, ...]":
        return tuple(compose(index, memory_map(buffer.shape)) for index, buffer in zip(self.indices, self.buffers))


def _operands(nest: Nest, dot: Instruction, column: int, start: int, end: int) -> Optional[_Operands]:
    """Of the columns from `start` to before `end` of the product's dimension `column`; None where an operand is not in
    a buffer of its type."""
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
    buffers = [buffer_of(own, read) for read in reads]
    found = tuple(buffer for buffer in buffers if buffer)
    if len(found) < 2 or _group(dot, found) is None:
        return None
    return _Operands(found, tuple(read.map for read in reads), dict(zip(entry.regions[0].ranges, loop_sizes(dot))))


def _group(dot: Instruction, operands: "Sequence[Buffer]") -> Optional[int]:
    """The elements of a group of the operands; None where they are not in a type of the tiles."""
    sums, types = dot.shape.dtype, [buffer.shape.dtype for buffer in operands]
    if all(dtype == sums for dtype in types):
        return 1
    narrow = [dtype == narrow_type(dtype, sums) for dtype in types]
    # of 8 bits, one operand is signed
    if all(narrow) and (types[0] == types[1]) == (sums == "f32"):
        return dtypes.storage_bytes(sums) // dtypes.storage_bytes(types[0])
    return None


def _of(nest: Nest, dot: Instruction, epilogue: Partition, at: str, strip: int) -> Optional[Contraction]:
    """at: the map from the position to the product's index."""
    column, of = next(d for d in dot.shape.minor_to_major if dot.shape.dims[d] > 1), dot.attributes[TILED]
    number = _strip_number(nest, dot, column, at, strip) if strip else ""
    unit = LINE // dtypes.storage_bytes(dot.shape.dtype)
    split = [at, number] if number else [at]
    sizes = digit_sizes(nest.shape.elements, split)
    if not sizes or sizes[-1] != dot.shape.dims[column] or strip and not number:
        return None
    columns = sizes[-1]
    whole = columns // unit * unit or columns
    main = _operands(nest, dot, column, 0, whole)
    if main is None:
        return None
    moved = _moves(main, compose(columns_map(sizes, unit, whole), at), of)
    if moved is None and whole == columns:      # columns of one panel
        begins = algebra.substitute(compose(at, main.positions[of]), **{name: 0 for name in main.loops})
        sizes = digit_sizes(nest.shape.elements, [*split, begins]) or sizes
        columns = whole = sizes[-1]
        moved = _moves(main, compose(columns_map(sizes, unit, whole), at), of) if columns % unit == 0 else None
    if moved is None:
        return None
    single, units = moved
    group = _group(dot, main.buffers) or 1
    sums = [Digit(size, single[name], units[name]) for name, size in main.loops.items()]
    if group > 1 and sums.pop() != Digit(group, 1, 1):
        return None
    if units["lane"] != group or single["lane"] or single["unit"]:
        return None
    strips = {f"g{k}": algebra.access(compose(position(sizes), number), f"g{k}")[0].stride if number else 0
              for k in range(len(sizes))}
    if None in strips.values() or strips[f"g{len(sizes) - 1}"]:
        return None
    outer = _merged([Digit(size, single[f"g{k}"], units[f"g{k}"], strips[f"g{k}"] or 0)
                     for k, size in enumerate(sizes[:-1])])
    by_digits = compose(columns_map([*(digit.size for digit in outer), columns], unit, whole), at)
    starts = [algebra.substitute(compose(by_digits, main.positions[k]), **{name: 0 for name in main.loops})
              for k in (1 - of, of)]
    last_unit = (whole // unit - 1) * units["unit"]
    if whole < columns:
        last = _operands(nest, dot, column, whole, columns)
        if last is None or last.buffers != main.buffers:
            return None
        first, end = (algebra.evaluate(of_.positions[of], *[0] * len(algebra.info(of_.positions[of]).variables))
                      for of_ in (main, last))
        if first is None or end is None:
            return None
        last_unit = end[0] - first[0] - (unit - columns % unit) * group
    along = [k for k, digit in enumerate(outer) if not digit.units and not digit.strips]
    rows = max(along, key=lambda k: outer[k].size, default=None)
    order = sorted((k for k in range(len(outer)) if k != rows), key=lambda k: -outer[k].strips)
    return Contraction(nest.name, nest.shape, nest.partition, dot, epilogue, main.buffers[1 - of], main.buffers[of],
                       (starts[0], starts[1]), outer, rows, tuple(order), columns, unit, units["unit"] or unit * group,
                       last_unit, _merged(sums), group)


def _strip_number(nest: Nest, dot: Instruction, column: int, at: str, strip: int) -> str:
    """The map from the position, and from the loops over the sum, to the strip that it is in; "": there is none."""
    root, of = nest.partition.roots[0], dot.attributes[TILED]
    if root.shape.place:
        index, shape = compose(algebra.call("shape", "unmap", nest.shape.text), root.map), root.shape
    else:
        read = _operands(nest, dot, column, 0, dot.shape.dims[column])
        if read is None or not read.buffers[1 - of].shape.place:
            return ""
        index, shape = compose(at, read.indices[1 - of]), read.buffers[1 - of].shape
    whole = compose(index, memory_map(replace(shape, place="")))
    return compose(whole, f"(d0) -> (d0 floordiv {strip}), domain: d0 in [0, {shape.elements - 1}]")


def _moves(main: _Operands, by_digits: str, of: int) -> "Optional[Tuple[Dict[str, int], Dict[str, int]]]":
    """The elements that a step of each digit, of a unit and of a lane is worth in `single` and in `units`; None where
    one is not even."""
    found: "List[Dict[str, int]]" = []
    for k in (1 - of, of):
        flat = compose(by_digits, main.positions[k])
        names = [v.name for v in algebra.info(flat).variables] if flat != EMPTY else []
        steps = {name: algebra.access(flat, name)[0].stride for name in names}
        if not names or None in steps.values() or algebra.guards(flat):
            return None
        found.append({name: step or 0 for name, step in steps.items()})
    return found[0], found[1]


def columns_map(sizes: "Sequence[int]", unit: int, columns: int) -> str:
    """(g0, .., unit, lane) -> (position): the first columns of the minor digit, in units."""
    names = [f"g{k}" for k in range(len(sizes) - 1)]
    box = [f"{name} in [0, {size - 1}]" for name, size in zip(names, sizes)]
    box += [f"unit in [0, {-(-columns // unit) - 1}]", f"lane in [0, {min(unit, columns) - 1}]"]
    terms = [*(f"{name} * {math.prod(sizes[k + 1:])}" for k, name in enumerate(names)), f"unit * {unit}", "lane"]
    return algebra.simplify(f"({', '.join([*names, 'unit', 'lane'])}) -> ({' + '.join(terms)}), "
                            f"domain: {', '.join(box)}")


def _merged(digits: "Sequence[Digit]") -> "Tuple[Digit, ...]":
    of_strides = [(digit.size, (digit.single, digit.units, digit.strips)) for digit in digits]
    return tuple(Digit(size, *strides) for size, strides in merged_digits(of_strides))
