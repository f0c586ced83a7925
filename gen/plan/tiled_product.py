"""Products that a GPU computes from tiles of its operands in shared memory: a product of two matrices, a batch of such
products, or a convolution.

The position of a result in memory is split into mixed-radix digits. A digit of the rows changes only the address in the
first operand, a digit of the columns only the address in the second, and a digit of the batch changes both or neither.
The sum has digits too, the steps. Each digit has one stride in each operand. Operands may therefore have any order of
dimensions, and none is copied.

The rows of a convolution are the positions of its window. Its steps are the elements of the window and the input
features. Padding is not stored in the base. Conditions say which elements exist; all other elements are zero. A
condition is a sum of strides that must lie in an interval.
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
    """A mixed-radix digit of the result's position, or of the index of a summand. The other fields say by how much
    positions change if the digit grows by 1.

    size: the radix, which is the number of values of the digit.
    position: the change of the position in the result.
    strides: the change of the position in each operand.
    inside: for each `Condition`, the change of its sum.
    """

    size: int
    position: int
    strides: Tuple[int, int]
    inside: Tuple[int, ...] = ()


class Condition(NamedTuple):
    """A condition under which an element of an operand is stored, and is not padding. It is 0 <= sum <= last. The sum
    is an affine function of the digits.

    operand: the index of the operand.
    first: the value of the sum at the first element.
    """

    operand: int
    first: int
    last: int


class Inside(NamedTuple):
    """The index of a condition. The type distinguishes it from the index of an operand, which is an int."""

    number: int


@dataclass(eq=False)
class StridedProduct(Nest):
    """A nest of a product in which each mixed-radix digit (`Digit`) has a constant stride in each operand.

    dot: the product.
    epilogue: computes the results from the elements of the product. `partition` computes the product as well.
    operands: the operand with the rows, then the operand with the columns.
    first: the position of the first element in each operand.
    conditions: the conditions under which elements of the operands are stored, and are not padding.
    batch, rows, columns, steps: the digits of the batch, of the result's rows and columns, and of the sum, major first.
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
        """Return the number of matrices in the batch, and the numbers of rows, columns and steps of a matrix."""
        return {name: math.prod(digit.size for digit in digits) for name, digits in
                (("batch", self.batch), ("row", self.rows), ("column", self.columns), ("step", self.steps))}

    def lines(self, operand: int) -> "Tuple[Digit, ...]":
        """Return the digits that number the lines of an operand: the rows of the first operand, or the columns of the
        second.
        """
        return (self.rows, self.columns)[operand]

    def positions(self, vec: int) -> str:
        """Return the map (batch, row, group)[vec] -> (position in the result). A group is `vec` adjacent columns."""
        counts = self.counts
        terms = [*terms_of("batch", self.batch, "position"), *terms_of("row", self.rows, "position"),
                 *terms_of(f"(group * {vec} + vec)", self.columns, "position")]
        return algebra.simplify(
            f"(batch, row, group)[vec] -> ({' + '.join(terms) or '0'}), domain: batch in [0, {counts['batch'] - 1}], "
            f"row in [0, {counts['row'] - 1}], group in [0, {counts['column'] // vec - 1}], vec in [0, {vec - 1}]")

    def line_map(self, operand: int, vec: int = 1) -> str:
        """Return the map (batch, group)[vec] -> (position of the first element of a line in an operand). A line is a
        row of the first operand or a column of the second. A group is `vec` adjacent lines.
        """
        return self._of_lines(operand, vec, self.first[operand], operand)

    def step_map(self, operand: int, vec: int = 1) -> str:
        """Return the map (group)[vec] -> (distance in elements from the first element of a row or column of an operand
        to its element at a step of the sum). A group is `vec` adjacent steps.
        """
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
    """A nest of a product that a GPU computes in shared-memory tiles."""

    def conditions_of(self, operand: int) -> "List[int]":
        """Return the indices of the conditions that separate an operand's stored elements from padding."""
        return [number for number, condition in enumerate(self.conditions) if condition.operand == operand]

    @property
    def sums(self) -> "List[int | Inside]":
        """Return a key for each sum: 0 and 1 for the positions in the two operands, and an `Inside` for the sum of each
        condition.
        """
        return [0, 1, *map(Inside, range(len(self.conditions)))]

    def inside_line_map(self, number: int, vec: int = 1) -> str:
        """Return the map (batch, group)[vec] -> (sum of a `Condition`, at the first element of a line). A line is a row
        of the first operand or a column of the second. A group is `vec` adjacent lines.
        """
        condition = self.conditions[number]
        return self._of_lines(condition.operand, vec, condition.first, Inside(number))

    def inside_step_map(self, number: int, vec: int = 1) -> str:
        """Return the map (group)[vec] -> (amount that a step of the product adds to the sum of a `Condition`). A group
        is `vec` adjacent steps.
        """
        return self._of_steps(vec, Inside(number))

    def along_steps(self, operand: int) -> bool:
        """Return true if an operand is contiguous along the sum: adjacent elements in memory belong to one line (a row
        of the first operand, or a column of the second), at adjacent steps of the sum.
        """
        def least(digits: "Sequence[Digit]") -> int:
            return min((abs(digit.strides[operand]) or 1 << 62 for digit in digits), default=1 << 62)
        return least(self.steps) < least(self.lines(operand))

    def vector(self, operand: int, most: int) -> int:
        """Return the largest number of elements, at most `most`, that can always be read as one vector. They are
        contiguous and aligned to a vector, and all or none of them are padding.
        """
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
    """Split the index `name` into mixed-radix digits, and return the text of one term for each: the digit times its
    stride.

    of: selects the stride. The index of an operand: the stride in that operand. An `Inside`: the stride in the sum of a
        condition. "position": the stride in the result.
    """
    terms, below = [], 1
    for digit in reversed(digits):
        worth = digit.position if isinstance(of, str) else digit.inside[of.number] if isinstance(of, Inside) \
            else digit.strides[of]
        terms.append(f"(({name}) floordiv {below}) mod {digit.size} * {worth}")
        below *= digit.size
    return terms[::-1]


class Moves(NamedTuple):
    """The operands of a product.

    buffers: the operands' buffers.
    first: the position of the first element in each.
    conditions: the conditions under which elements exist.
    digits: the digits of the result, major first.
    sums: the digits of the sum, major first.
    """

    buffers: Tuple[Buffer, Buffer]
    first: Tuple[int, int]
    conditions: Tuple[Condition, ...]
    digits: List[Digit]
    sums: List[Digit]

    def moved(self, digit: Digit, operand: int) -> bool:
        """Return true if the address in an operand, or one of the operand's conditions, depends on a digit."""
        return digit.strides[operand] != 0 or any(
            worth for worth, condition in zip(digit.inside, self.conditions) if condition.operand == operand)


class Strides(NamedTuple):
    """An affine map: its value where all variables are 0, and its stride along each variable."""

    first: int
    along: Dict[str, int]


def _strides(text: str) -> Optional[Strides]:
    """Return the strides of a map with one result; None if a stride is not constant."""
    names = [variable.name for variable in algebra.info(text).variables]
    steps = {name: algebra.access(text, name)[0].stride for name in names}
    start = algebra.evaluate(text, *[0] * len(names))
    found = {name: step for name, step in steps.items() if step is not None}
    return Strides(start[0], found) if start is not None and len(found) == len(names) else None


def moves(nest: Nest, dot: Instruction, at: str, splits: "Sequence[str]" = ()) -> Optional[Moves]:
    """Return the operands of a product with their strides along each digit; None if a stride is not constant.

    at: the map from the position in the result to the product's index.
    splits: further maps from the position in the result. The position is split into digits at the divisors that occur
        in `at` and in these maps.
    """
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
        # gen/algebra turns a condition on a single variable into bounds of that variable
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
    """Return a product as a nest for shared-memory tiles. Return None if its operands have no constant strides, or if
    it has no rows or no columns. at: the map from the position in the result to the product's index.
    """
    found = moves(nest, dot, at, _groups(dot, at))
    if found is None:
        return None
    moved = [(found.moved(d, 0), found.moved(d, 1)) for d in found.digits]
    of = [[d for d, by in zip(found.digits, moved) if by[k] and not by[1 - k]] for k in (0, 1)]
    batch = [d for d, by in zip(found.digits, moved) if by[0] == by[1]]
    if not of[0] or not of[1]:
        return None
    # the operand whose last digit has the smaller stride in the result has the columns
    order = (1, 0) if of[0][-1].position < of[1][-1].position else (0, 1)
    conditions = tuple(condition._replace(operand=order[condition.operand]) for condition in found.conditions)
    return TiledProduct(nest.name, nest.shape, nest.partition, dot, epilogue, in_order(found.buffers, order),
                        in_order(found.first, order), conditions, merged(batch, order), merged(of[order[0]], order),
                        merged(of[order[1]], order), merged(_steps(dot, found.sums), order))


def _groups(dot: Instruction, at: str) -> "List[str]":
    """Return a list of one map, from the position in a convolution's result to the number of the feature group. The
    list is empty if there is only one group.
    """
    groups = group_count(dot)
    if groups == 1:
        return []
    dims, column = dot.shape.dims, dot.attributes["dim_labels"].out[1]
    box = ", ".join(f"d{d} in [0, {size - 1}]" for d, size in enumerate(dims))
    return [compose(at, f"({', '.join(f'd{d}' for d in range(len(dims)))}) -> (d{column} floordiv "
                        f"{dims[column] // groups}), domain: {box}")]


def _steps(dot: Instruction, sums: "List[Digit]") -> "List[Digit]":
    """Return `sums`, the mixed-radix digits of the index of a summand, major first. For a convolution, they are sorted
    by their strides, so that successive summands are adjacent in an operand.
    """
    if dot.opcode != "convolution":
        return sums
    return sorted(sums, key=lambda d: -min((abs(stride) for stride in d.strides if stride), default=0))


T = TypeVar("T")


def in_order(both: "Tuple[T, T]", order: "Tuple[int, int]") -> "Tuple[T, T]":
    return both[order[0]], both[order[1]]


def merged(digits: "Sequence[Digit]", order: "Tuple[int, int]") -> "Tuple[Digit, ...]":
    """Return the digits, after neighbouring digits are merged wherever the merged digit has constant strides. order:
    the index of the operand that has the rows, and the index of the operand that has the columns.
    """
    worths = [(digit.size, (digit.position, *in_order(digit.strides, order), *digit.inside)) for digit in digits]
    return tuple(Digit(size, worth[0], (worth[1], worth[2]), tuple(worth[3:]))
                 for size, worth in merged_digits(worths))
