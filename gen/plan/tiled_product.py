"""A nest around a product of two matrices, or of many, in whose operands each digit has one stride: a GPU reads them in
tiles of shared memory.

The positions of the result, in the order of memory, are digits. Along those of the rows only the first operand moves,
along those of the columns only the second, along those of the batch both or none. The digits of the sum are its steps.
Each digit has one stride in each operand: any order of dimensions is a map, not a copy.
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


class Digit(NamedTuple):
    """A digit: the positions of the result, then the elements of each operand, that a step of it is worth."""

    size: int
    position: int
    strides: Tuple[int, int]


@dataclass(eq=False)
class StridedProduct(Nest):
    """A nest around a product in whose operands each digit has one stride.

    dot: the product. epilogue: from its elements to the results (`partition` goes on to compute them itself).

    operands: the one that has the rows, and the one that has the columns. first: the position of the first element in
    each. batch, rows, columns, steps: the digits, major first."""

    dot: Instruction
    epilogue: Partition
    operands: Tuple[Buffer, Buffer]
    first: Tuple[int, int]
    batch: Tuple[Digit, ...]
    rows: Tuple[Digit, ...]
    columns: Tuple[Digit, ...]
    steps: Tuple[Digit, ...]

    @property
    def counts(self) -> "Dict[str, int]":
        """The number of matrices, and of rows, columns and steps in each."""
        return {name: math.prod(digit.size for digit in digits) for name, digits in
                (("batch", self.batch), ("row", self.rows), ("column", self.columns), ("step", self.steps))}

    def lines(self, operand: int) -> "Tuple[Digit, ...]":
        """The digits that the operand has beside the batch and the steps: rows, or columns."""
        return (self.rows, self.columns)[operand]

    def positions(self, vec: int) -> str:
        """(batch, row, group)[vec] -> (position in the result). A group is `vec` neighbouring columns."""
        counts = self.counts
        terms = [*terms_of("batch", self.batch, "position"), *terms_of("row", self.rows, "position"),
                 *terms_of(f"(group * {vec} + vec)", self.columns, "position")]
        return algebra.simplify(
            f"(batch, row, group)[vec] -> ({' + '.join(terms) or '0'}), domain: batch in [0, {counts['batch'] - 1}], "
            f"row in [0, {counts['row'] - 1}], group in [0, {counts['column'] // vec - 1}], vec in [0, {vec - 1}]")

    def line_map(self, operand: int, vec: int = 1) -> str:
        """(batch, group)[vec] -> (position of a line's first element in an operand). A group is `vec` neighbouring
        lines."""
        lines = self.lines(operand)
        terms = [str(self.first[operand]), *terms_of("batch", self.batch, operand),
                 *terms_of(f"(group * {vec} + vec)", lines, operand)]
        groups = math.prod(digit.size for digit in lines) // vec
        return algebra.simplify(
            f"(batch, group)[vec] -> ({' + '.join(terms)}), domain: batch in [0, {self.counts['batch'] - 1}], "
            f"group in [0, {groups - 1}], vec in [0, {vec - 1}]")

    def step_map(self, operand: int, vec: int = 1) -> str:
        """(group)[vec] -> (elements from a line's first one in an operand). A group is `vec` neighbouring steps."""
        terms = terms_of(f"(group * {vec} + vec)", self.steps, operand)
        return algebra.simplify(f"(group)[vec] -> ({' + '.join(terms) or '0'}), domain: "
                                f"group in [0, {self.counts['step'] // vec - 1}], vec in [0, {vec - 1}]")


class TiledProduct(StridedProduct):
    """A nest around a product whose operands a GPU reads in tiles of shared memory."""

    def along_steps(self, operand: int) -> bool:
        """Whether neighbours in an operand's memory are steps, not lines."""
        def least(digits: "Sequence[Digit]") -> int:
            return min((abs(digit.strides[operand]) or 1 << 62 for digit in digits), default=1 << 62)
        return least(self.steps) < least(self.lines(operand))

    def vector(self, operand: int, most: int) -> int:
        """The number of neighbours, at most `most`, that are always read together: they are contiguous, and begin at a
        multiple of their number."""
        vec, along = most, self.along_steps(operand)
        while vec > 1:
            count = self.counts["step"] if along else math.prod(digit.size for digit in self.lines(operand))
            if count % vec == 0:
                line, step = self.line_map(operand, 1 if along else vec), self.step_map(operand, vec if along else 1)
                here, other = (step, line) if along else (line, step)
                access, beside = algebra.access(here, "vec")[0], algebra.access(other, "vec")[0]
                if access.stride == 1 and access.align % vec == 0 and beside.align % vec == 0:
                    return vec
            vec //= 2
        return 1


def terms_of(name: str, digits: "Sequence[Digit]", of: "int | str") -> "List[str]":
    """The terms of a sum: what each digit of a number is worth, in an operand or (of: "position") in the result."""
    terms, below = [], 1
    for digit in reversed(digits):
        worth = digit.position if isinstance(of, str) else digit.strides[of]
        terms.append(f"(({name}) floordiv {below}) mod {digit.size} * {worth}")
        below *= digit.size
    return terms[::-1]


class Moves(NamedTuple):
    """The operands of a product: their buffers, the position of the first element in each, the digits of the result and
    those of the sum, major first."""

    buffers: Tuple[Buffer, Buffer]
    first: Tuple[int, int]
    digits: List[Digit]
    sums: List[Digit]


def moves(nest: Nest, dot: Instruction, at: str) -> Optional[Moves]:
    """Return how the operands move along the digits; None if a stride is not constant. at: the map from the position in
    the result to the product's index."""
    own = Partition(nest.partition.computation, [Root(0, dot.shape, dot, 0, identity(dot.shape.dims))], nest.name,
                    dot.shape.dims, INLINE, nest.partition.cuts)
    (entry,) = (e for e in own.entry.body.entries if e.instruction is dot)
    reads = [own.operand(entry, k, entry.regions[-1]) for k in (0, 1)]
    found = [buffer for buffer in (operand_buffer(own, read) for read in reads) if buffer]
    if len(found) < 2:
        return None
    flats = [compose(read.map, memory_map(buffer.shape)) for read, buffer in zip(reads, found)]
    loops = dict(zip(entry.regions[0].ranges, loop_sizes(dot)))
    sizes = digit_sizes(nest.shape.elements, [at])
    strides, first = [], []
    for flat in flats:
        moved = compose(compose(position(sizes), at), flat)
        if moved == EMPTY or algebra.guards(moved):
            return None
        steps = {v.name: algebra.access(moved, v.name)[0].stride for v in algebra.info(moved).variables}
        start = algebra.evaluate(moved, *[0] * len(steps))
        if None in steps.values() or start is None:
            return None
        strides.append({name: step or 0 for name, step in steps.items()})
        first.append(start[0])
    weights = [math.prod(sizes[k + 1:]) for k in range(len(sizes))]
    digits = [Digit(size, weight, (strides[0][f"g{k}"], strides[1][f"g{k}"]))
              for k, (size, weight) in enumerate(zip(sizes, weights))]
    sums = [Digit(size, 0, (strides[0][name], strides[1][name])) for name, size in loops.items()]
    return Moves((found[0], found[1]), (first[0], first[1]), digits, sums)


def tiled_product(nest: Nest, dot: Instruction, epilogue: Partition, at: str) -> Optional[TiledProduct]:
    """The nest of a product; None where its operands do not move by strides. at: as for `moves`."""
    found = moves(nest, dot, at)
    if found is None:
        return None
    of = [[d for d in found.digits if d.strides[k] and not d.strides[1 - k]] for k in (0, 1)]
    batch = [d for d in found.digits if bool(d.strides[0]) == bool(d.strides[1])]
    if not of[0] or not of[1]:
        return None
    # the columns are the side whose neighbours are nearer to each other in the result
    order = (1, 0) if of[0][-1].position < of[1][-1].position else (0, 1)
    return TiledProduct(nest.name, nest.shape, nest.partition, dot, epilogue, in_order(found.buffers, order),
                        in_order(found.first, order), merged(batch, order), merged(of[order[0]], order),
                        merged(of[order[1]], order), merged(found.sums, order))


T = TypeVar("T")


def in_order(both: "Tuple[T, T]", order: "Tuple[int, int]") -> "Tuple[T, T]":
    return both[order[0]], both[order[1]]


def merged(digits: "Sequence[Digit]", order: "Tuple[int, int]") -> "Tuple[Digit, ...]":
    """The digits, neighbours along which every stride goes on as one; operands in their order."""
    worths = [(digit.size, (digit.position, *in_order(digit.strides, order))) for digit in digits]
    return tuple(Digit(size, worth[0], (worth[1], worth[2])) for size, worth in merged_digits(worths))
