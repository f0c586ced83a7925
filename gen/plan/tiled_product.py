"""A nest around a product of matrices, a batch of these, or a convolution, in whose operands each digit has a constant
stride: a GPU reads the operands in tiles of shared memory.

The positions of the result, in the order of memory, are digits. Along the digits of the rows only the address in the
first operand changes, along those of the columns only that in the second, along those of the batch both or none. The
digits of the sum are its steps. Each digit has one stride in each operand, so any order of dimensions is a map, not a
copy.

The rows of a convolution are the places of its window; its steps are the elements of the window and the input features.
Padding is not part of the base: conditions, which are sums of strides too, say which elements exist. All other elements
are zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple, TypeVar

from gen import algebra
from gen.hlo import Instruction
from gen.plan.buffer import Buffer
from gen.plan.buffers import memory_map, operand_buffer
from gen.plan.digits import digit_sizes, merged_digits, position
from gen.plan.nest import Nest
from gen.plan.partition import EMPTY, INLINE, Partition, Root, compose, identity, loop_sizes
from gen.plan.products import group_count


class Digit(NamedTuple):
    """A digit. position: the positions of the result per step. strides: the elements of each operand per step. inside:
    the amount per step in each condition of the nest."""

    size: int
    position: int
    strides: Tuple[int, int]
    inside: Tuple[int, ...] = ()


class Condition(NamedTuple):
    """A condition for the existence of an operand's element: a sum that starts at `first` is in [0, last]."""

    operand: int
    first: int
    last: int


class Inside(NamedTuple):
    """The number of a condition, in place of the number of an operand."""

    number: int


@dataclass(eq=False)
class StridedProduct(Nest):
    """A nest around a product in whose operands each digit has a constant stride.

    dot: the product.
    epilogue: the computation of the results from the product's elements (`partition` computes the product itself).
    operands: first the operand that has the rows, then the operand that has the columns.
    first: position of the first element in each operand.
    conditions: conditions for the existence of the operands' elements.
    batch, rows, columns, steps: the digits, major first.
    """

    dot: Instruction
    epilogue: Partition
    operands: Tuple[Buffer, Buffer]
    first: Tuple[int, int]
    conditions: Tuple[Condition, ...]
    batch: Tuple[Digit, ...]
    rows: Tuple[Digit, ...]
    columns: Tuple[Digit, ...]
    steps: Tuple[Digit, ...]

    @property
    def counts(self) -> "Dict[str, int]":
        """Return the number of matrices, and the numbers of rows, columns and steps in each."""
        return {name: math.prod(digit.size for digit in digits) for name, digits in
                (("batch", self.batch), ("row", self.rows), ("column", self.columns), ("step", self.steps))}

    def lines(self, operand: int) -> "Tuple[Digit, ...]":
        """Return an operand's own digits: the digits of the rows for the first operand, of the columns for the
        second.
        """
        return (self.rows, self.columns)[operand]

    def positions(self, vec: int) -> str:
        """Return the map (batch, row, group)[vec] -> (position in the result). A group is `vec` neighbouring
        columns."""
        counts = self.counts
        terms = [*terms_of("batch", self.batch, "position"), *terms_of("row", self.rows, "position"),
                 *terms_of(f"(group * {vec} + vec)", self.columns, "position")]
        return algebra.simplify(
            f"(batch, row, group)[vec] -> ({' + '.join(terms) or '0'}), domain: batch in [0, {counts['batch'] - 1}], "
            f"row in [0, {counts['row'] - 1}], group in [0, {counts['column'] // vec - 1}], vec in [0, {vec - 1}]")

    def line_map(self, operand: int, vec: int = 1) -> str:
        """Return the map (batch, group)[vec] -> (position of a line's first element in an operand). A group is `vec`
        neighbouring lines."""
        return self._of_lines(operand, vec, self.first[operand], operand)

    def step_map(self, operand: int, vec: int = 1) -> str:
        """Return the map (group)[vec] -> (distance in elements from a line's first element in an operand). A group is
        `vec` neighbouring steps."""
        return self._of_steps(vec, operand)

    def _of_lines(self, operand: int, vec: int, first: int, of: "int | Inside") -> str:
        lines = self.lines(operand)
        terms = [str(first), *terms_of("batch", self.batch, of), *terms_of(f"(group * {vec} + vec)", lines, of)]
        groups = math.prod(digit.size for digit in lines) // vec
        return algebra.simplify(
            f"(batch, group)[vec] -> ({' + '.join(terms)}), domain: batch in [0, {self.counts['batch'] - 1}], "
            f"group in [0, {groups - 1}], vec in [0, {vec - 1}]")

    def _of_steps(self, vec: int, of: "int | Inside") -> str:
        terms = terms_of(f"(group * {vec} + vec)", self.steps, of)
        return algebra.simplify(f"(group)[vec] -> ({' + '.join(terms) or '0'}), domain: "
                                f"group in [0, {self.counts['step'] // vec - 1}], vec in [0, {vec - 1}]")


class TiledProduct(StridedProduct):
    """A nest around a product whose operands a GPU reads in tiles of shared memory."""

    def conditions_of(self, operand: int) -> "List[int]":
        """Return the numbers of the conditions of an operand."""
        return [number for number, condition in enumerate(self.conditions) if condition.operand == operand]

    @property
    def sums(self) -> "List[int | Inside]":
        """Return all sums of strides: the operands' positions, and the conditions."""
        return [0, 1, *map(Inside, range(len(self.conditions)))]

    def inside_line_map(self, number: int, vec: int = 1) -> str:
        """Return the map (batch, group)[vec] -> (a condition's sum at a line's first element). A group is `vec`
        neighbouring lines."""
        condition = self.conditions[number]
        return self._of_lines(condition.operand, vec, condition.first, Inside(number))

    def inside_step_map(self, number: int, vec: int = 1) -> str:
        """Return the map (group)[vec] -> (the steps' contribution to a condition's sum). A group is `vec` neighbouring
        steps."""
        return self._of_steps(vec, Inside(number))

    def along_steps(self, operand: int) -> bool:
        """Return true if neighbours in an operand's memory are steps, not lines."""
        def least(digits: "Sequence[Digit]") -> int:
            return min((abs(digit.strides[operand]) or 1 << 62 for digit in digits), default=1 << 62)
        return least(self.steps) < least(self.lines(operand))

    def vector(self, operand: int, most: int) -> int:
        """Return the largest number of neighbours, at most `most`, that are always read together: they are contiguous
        and aligned to their number."""
        vec, along = most, self.along_steps(operand)
        while vec > 1:
            count = self.counts["step"] if along else math.prod(digit.size for digit in self.lines(operand))
            if count % vec == 0:
                line, step = self.line_map(operand, 1 if along else vec), self.step_map(operand, vec if along else 1)
                here, other = (step, line) if along else (line, step)
                access, beside = algebra.access(here, "vec")[0], algebra.access(other, "vec")[0]
                inside = [self.inside_step_map(n, vec) if along else self.inside_line_map(n, vec)
                          for n in self.conditions_of(operand)]
                if access.stride == 1 and access.align % vec == 0 and beside.align % vec == 0 \
                        and all(algebra.access(of, "vec")[0].stride == 0 for of in inside):
                    return vec
            vec //= 2
        return 1


def terms_of(name: str, digits: "Sequence[Digit]", of: "int | str | Inside") -> "List[str]":
    """Return the terms of a sum: the amount of each digit of a number in an operand, in a condition, or (of:
    "position") in the result."""
    terms, below = [], 1
    for digit in reversed(digits):
        worth = digit.position if isinstance(of, str) else digit.inside[of.number] if isinstance(of, Inside) \
            else digit.strides[of]
        terms.append(f"(({name}) floordiv {below}) mod {digit.size} * {worth}")
        below *= digit.size
    return terms[::-1]


class Moves(NamedTuple):
    """The operands of a product: their buffers, the position of the first element in each, the conditions for the
    existence of elements, and the digits of the result and of the sum, major first."""

    buffers: Tuple[Buffer, Buffer]
    first: Tuple[int, int]
    conditions: Tuple[Condition, ...]
    digits: List[Digit]
    sums: List[Digit]

    def moved(self, digit: Digit, operand: int) -> bool:
        """Return true if the address in an operand, or one of the operand's conditions, changes along a digit."""
        return digit.strides[operand] != 0 or any(
            worth for worth, condition in zip(digit.inside, self.conditions) if condition.operand == operand)


class Strides(NamedTuple):
    """A sum: its value at the first element, and its stride along each variable."""

    first: int
    along: Dict[str, int]


def _strides(text: str) -> Optional[Strides]:
    """Return the strides of a map's only result; None if one is not constant."""
    names = [variable.name for variable in algebra.info(text).variables]
    steps = {name: algebra.access(text, name)[0].stride for name in names}
    start = algebra.evaluate(text, *[0] * len(names))
    found = {name: step for name, step in steps.items() if step is not None}
    return Strides(start[0], found) if start is not None and len(found) == len(names) else None


def moves(nest: Nest, dot: Instruction, at: str, splits: "Sequence[str]" = ()) -> Optional[Moves]:
    """Return the strides of the operands along the digits; None if a stride is not constant. at: the map from the
    position in the result to the product's index. splits: further maps from the position that determine where it is
    split into digits."""
    own = Partition(nest.partition.computation, [Root(0, dot.shape, dot, 0, identity(dot.shape.dims))], nest.name,
                    dot.shape.dims, INLINE, nest.partition.cuts)
    (entry,) = (e for e in own.entry.body.entries if e.instruction is dot)
    reads = [own.operand(entry, k, entry.regions[-1]) for k in (0, 1)]
    found = [buffer for buffer in (operand_buffer(own, read) for read in reads) if buffer]
    if len(found) < 2:
        return None
    flats = [compose(read.map, memory_map(buffer.shape)) for read, buffer in zip(reads, found)]
    loops = dict(zip(entry.regions[0].ranges, loop_sizes(dot)))
    sizes = digit_sizes(nest.shape.elements, [at, *splits])
    sums, inside, conditions = [], [], []
    for k, flat in enumerate(flats):
        moved = compose(compose(position(sizes), at), flat)
        if moved == EMPTY:
            return None
        facts = algebra.info(moved)
        counts = {**{f"g{n}": size for n, size in enumerate(sizes)}, **loops}
        if any(v.name not in counts for v in facts.variables):
            return None
        box = f"({', '.join(v.name for v in facts.variables)}) -> ({{}}), domain: " + ", ".join(
            f"{v.name} in [0, {counts[v.name] - 1}]" for v in facts.variables)
        sums.append(_strides(box.format(facts.results[0].text)))
        # a guard of one variable becomes the variable's interval
        within = [(guard.text, guard.lo, guard.hi) for guard in algebra.guards(moved)]
        within += [(v.name, v.lo, v.hi) for v in facts.variables if (v.lo, v.hi) != (0, counts[v.name] - 1)]
        for text, low, high in within:
            inside.append(_strides(box.format(f"{text} - {low}")))
            conditions.append(Condition(k, inside[-1].first if inside[-1] else 0, high - low))
    (left, right), bounded = sums, [of for of in inside if of]
    if left is None or right is None or len(bounded) < len(inside):
        return None

    def digit(name: str, size: int, weight: int) -> Digit:
        return Digit(size, weight, (left.along.get(name, 0), right.along.get(name, 0)),
                     tuple(of.along.get(name, 0) for of in bounded))
    weights = [math.prod(sizes[k + 1:]) for k in range(len(sizes))]
    digits = [digit(f"g{k}", size, weight) for k, (size, weight) in enumerate(zip(sizes, weights))]
    return Moves((found[0], found[1]), (left.first, right.first), tuple(conditions), digits,
                 [digit(name, size, 0) for name, size in loops.items()])


def tiled_product(nest: Nest, dot: Instruction, epilogue: Partition, at: str) -> Optional[TiledProduct]:
    """Return the nest of a product; None if its operands have no constant strides. at: see `moves`."""
    found = moves(nest, dot, at, _groups(dot, at))
    if found is None:
        return None
    moved = [(found.moved(d, 0), found.moved(d, 1)) for d in found.digits]
    of = [[d for d, by in zip(found.digits, moved) if by[k] and not by[1 - k]] for k in (0, 1)]
    batch = [d for d, by in zip(found.digits, moved) if by[0] == by[1]]
    if not of[0] or not of[1]:
        return None
    # the columns are the side whose neighbours are nearer to each other in the result
    order = (1, 0) if of[0][-1].position < of[1][-1].position else (0, 1)
    conditions = tuple(condition._replace(operand=order[condition.operand]) for condition in found.conditions)
    return TiledProduct(nest.name, nest.shape, nest.partition, dot, epilogue, in_order(found.buffers, order),
                        in_order(found.first, order), conditions, merged(batch, order), merged(of[order[0]], order),
                        merged(of[order[1]], order), merged(_steps(dot, found.sums), order))


def _groups(dot: Instruction, at: str) -> "List[str]":
    """Return a list of the map from the position to the group of a convolution's features. The list is empty if there
    is only one group.
    """
    groups = group_count(dot)
    if groups == 1:
        return []
    dims, column = dot.shape.dims, dot.attributes["dim_labels"].out[1]
    box = ", ".join(f"d{d} in [0, {size - 1}]" for d, size in enumerate(dims))
    return [compose(at, f"({', '.join(f'd{d}' for d in range(len(dims)))}) -> (d{column} floordiv "
                        f"{dims[column] // groups}), domain: {box}")]


def _steps(dot: Instruction, sums: "List[Digit]") -> "List[Digit]":
    """Return the digits of the sum, major first. Those of a window and of features are ordered so that neighbours in an
    operand's memory are neighbours in the sum."""
    if dot.opcode != "convolution":
        return sums
    return sorted(sums, key=lambda d: -min((abs(stride) for stride in d.strides if stride), default=0))


T = TypeVar("T")


def in_order(both: "Tuple[T, T]", order: "Tuple[int, int]") -> "Tuple[T, T]":
    return both[order[0]], both[order[1]]


def merged(digits: "Sequence[Digit]", order: "Tuple[int, int]") -> "Tuple[Digit, ...]":
    """Return the digits with neighbours merged along which every stride continues. order: of the operands in the
    result."""
    worths = [(digit.size, (digit.position, *in_order(digit.strides, order), *digit.inside)) for digit in digits]
    return tuple(Digit(size, worth[0], (worth[1], worth[2]), tuple(worth[3:]))
                 for size, worth in merged_digits(worths))
