"""Nests that compute a batch of products of small matrices. A matrix is contiguous in the result. The numbers of its
rows, columns and steps are constants in the generated code. The operands may have any strides within a matrix.
"""

from __future__ import annotations

import math
from typing import List, Optional, Sequence

from gen import algebra
from gen.hlo import Instruction
from gen.plan.nest import Nest
from gen.plan.partition import Partition
from gen.plan.tiled_product import Digit, StridedProduct, in_order, merged, moves, terms_of


class SmallProduct(StridedProduct):
    """A nest of products of small matrices. Each result is row-major. The first operand has the rows, the second the
    columns.
    """

    def begin_map(self, operand: int) -> str:
        """Return the map (batch) -> (position of a matrix's first element in an operand)."""
        return algebra.substitute(self.line_map(operand), group=0, vec=0)

    def result_map(self) -> str:
        """Return the map (batch) -> (position of a matrix's first element in the result)."""
        return algebra.substitute(self.positions(1), row=0, group=0, vec=0)

    def offset_map(self, operand: int, name: str) -> str:
        """Return the map (name) -> (distance in elements), where `name` is row, column or step. It is the distance from
        the operand's element at 0 to its element at this row, column or step.
        """
        digits = {"row": self.rows, "column": self.columns, "step": self.steps}[name]
        return algebra.simplify(f"({name}) -> ({' + '.join(terms_of(name, digits, operand)) or '0'}), "
                                f"domain: {name} in [0, {self.counts[name] - 1}]")

    def row_map(self) -> str:
        """Return the map (row) -> (distance in elements from a matrix's first row in the result)."""
        return algebra.substitute(self.positions(1), batch=0, group=0, vec=0)

    def offsets(self, operand: int, name: str) -> "List[int]":
        """Return a list of the distances that `offset_map` gives, for each row, column or step."""
        of = self.offset_map(operand, name)
        return [value[0] for value in (algebra.evaluate(of, n) for n in range(self.counts[name])) if value]


def small_product(nest: Nest, dot: Instruction, epilogue: Partition, at: str,
                  sides: "Sequence[int]") -> Optional[SmallProduct]:
    """Return the nest of small products. Return None if a stride of an operand is not constant, or if the rows of the
    result are not contiguous.

    at: the map from the position in the result to the product's index.
    sides: for each operand, the number of its rows or columns.
    """
    found = moves(nest, dot, at)
    if found is None or found.conditions:
        return None
    for order in ((0, 1), (1, 0)):
        count, columns = sides[order[0]] * sides[order[1]], sides[order[1]]
        below = [d for d in found.digits if d.position < columns]
        rows = [d for d in found.digits if columns <= d.position < count]
        if _size(below) == columns and _size(rows) == sides[order[0]] and not any(d.strides[order[0]] for d in below) \
                and not any(d.strides[order[1]] for d in rows):
            batch = [d for d in found.digits if d.position >= count]
            return SmallProduct(nest.name, nest.shape, nest.partition, dot, epilogue, in_order(found.buffers, order),
                                in_order(found.first, order), (), merged(batch, order), merged(rows, order),
                                merged(below, order), merged(found.sums, order))
    return None


def _size(digits: "Sequence[Digit]") -> int:
    return math.prod(digit.size for digit in digits)
