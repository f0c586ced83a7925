"""The sizes and the costs of ops on matrices. A matrix is the last two dimensions of an array."""

from __future__ import annotations

import math
from typing import Callable, Dict, NamedTuple

from gen.hlo import Instruction
from gen.hlo.opcodes import TRIDIAGONAL


class Sizes(NamedTuple):
    """The sizes of an op on matrices.

    matrices: the number of matrices.
    rows, columns: the size of a matrix; for a triangular solve, of the right-hand sides.
    more: the number of reflectors, for a product of Householder reflections.
    """

    matrices: int
    rows: int
    columns: int
    more: int = 0


def sizes_of(op: Instruction) -> Sizes:
    shapes = [operand.shape for operand in op.operands]
    of = shapes[-1] if op.opcode == "triangular-solve" else max(shapes, key=lambda shape: shape.rank)
    count, (rows, columns) = math.prod(of.dims[:-2]), of.dims[-2:]
    return Sizes(count, rows, columns, shapes[1].dims[-1] if op.opcode == "householder-product" else 0)


SWEEPS = 8      # typical number of sweeps of Jacobi's method

# for each opcode, the number of multiply-adds for one m by n matrix; k is the number of Householder reflectors
_STEPS: "Dict[str, Callable[[int, int, int], int]]" = {
    "cholesky": lambda m, n, k: n * n * n // 6,
    "triangular-solve": lambda m, n, k: m * n * max(m, n) // 2,     # an estimate: the matrix is m x m or n x n
    "lu": lambda m, n, k: m * n * min(m, n) // 2,
    "qr": lambda m, n, k: m * n * min(m, n),
    "householder-product": lambda m, n, k: 2 * m * n * k,
    **dict.fromkeys(TRIDIAGONAL, lambda m, n, k: m * (4 * n + 4)),
    "eigh": lambda m, n, k: SWEEPS * n * n * n * 3,
    "svd": lambda m, n, k: SWEEPS * min(m, n) ** 2 * max(m, n) * 4,
    # an estimate, between the cost of a factorisation and the cost of eigenvectors
    "lapack": lambda m, n, k: 10 * m * n * min(m, n),
}

def steps_of(op: Instruction) -> int:
    """Return the number of multiply-adds of an op, for all its matrices."""
    sizes = sizes_of(op)
    return sizes.matrices * (sizes.rows + _STEPS[op.opcode](sizes.rows, sizes.columns, sizes.more))
