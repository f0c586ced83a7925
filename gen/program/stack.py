"""The stack that a program in C for small machines needs: its arrays, and room for all other variables.

Each array counts in full, as a compiler need not let arrays share bytes. Other variables count 8 bytes each, for the
one kernel that has most: a compiler without optimisation keeps every variable in memory, other compilers keep most in
registers.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Sequence, get_args

from gen.statements import Declare, Let, Statement
from gen.heroes.kernel import Kernel

VARIABLE = 8       # bytes for a variable, or for a temporary value of a statement
FRAMES = 1024       # bytes for the frames of the program's functions, and of the small functions that kernels call


def stack_bytes(kernels: "Sequence[Kernel]", rooms: int, local: int) -> int:
    """Return an upper bound, in bytes, of the stack that a call takes besides the functions of math.h and string.h.
    rooms: bytes of the arrays that templates declare. local: bytes of the program's own arrays."""
    variables = max((VARIABLE * _count(kernel, False) for kernel in kernels), default=0)
    return -(-(local + rooms + sum(_count(kernel, True) for kernel in kernels) + variables + FRAMES) // 64) * 64


def _count(kernel: Kernel, arrays: bool) -> int:
    seen: "set[int]" = set()
    return sum(_of(part, arrays, seen) for part in (kernel.text.record, kernel.text.functions))


def _of(value: object, arrays: bool, seen: "set[int]") -> int:
    """Return the bytes of the arrays that statements anywhere in a value declare or, if not `arrays`, the number of
    statements."""
    if isinstance(value, (Let, Declare)):
        return 16 * value.count if arrays else 1
    if isinstance(value, str) or value is None or isinstance(value, (int, float)):
        return int(isinstance(value, str) and not arrays)
    if id(value) in seen:
        return 0
    seen.add(id(value))
    if isinstance(value, dict):
        return sum(_of(part, arrays, seen) for part in value.values())
    if isinstance(value, (list, tuple, set, frozenset)):
        return sum(_of(part, arrays, seen) for part in value)
    if is_dataclass(value) and not isinstance(value, type):
        own = 1 if isinstance(value, get_args(Statement)) and not arrays else 0
        return own + sum(_of(getattr(value, field.name), arrays, seen) for field in fields(value))
    return 0
