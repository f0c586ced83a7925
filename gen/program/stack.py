"""Estimate the stack that a C program for small machines needs: its arrays, and room for all other variables.

All arrays are added up, because a compiler may give each of them memory of its own. Other variables count 8 bytes each;
only those of the kernel with the most variables are counted. A compiler that does not optimise keeps every variable in
memory; other compilers keep most of them in registers.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Sequence, get_args

from gen.statements import Declare, Let, Statement
from gen.heroes.kernel import Kernel

VARIABLE = 8       # bytes that are counted for a variable, or for a temporary value in a statement
FRAMES = 1024       # bytes of the stack frames of the program's functions and of the small functions that kernels call


def stack_bytes(kernels: "Sequence[Kernel]", rooms: int, local: int) -> int:
    """Return an upper bound of the stack in bytes that a call of the program needs, without the functions of math.h and
    string.h.

    rooms: the bytes of the arrays that templates declare.
    local: the bytes of the arrays that are variables of the program's function.
    """
    variables = max((VARIABLE * _count(kernel, False) for kernel in kernels), default=0)
    return -(-(local + rooms + sum(_count(kernel, True) for kernel in kernels) + variables + FRAMES) // 64) * 64


def _count(kernel: Kernel, arrays: bool) -> int:
    seen: "set[int]" = set()
    return sum(_of(part, arrays, seen) for part in (kernel.text.record, kernel.text.functions))


def _of(value: object, arrays: bool, seen: "set[int]") -> int:
    """Return the number of bytes of the arrays that statements declare or, if `arrays` is false, the number of
    statements. value: an object whose fields contain the statements, at any depth.
    """
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
