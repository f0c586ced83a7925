"""Evaluate integers that are known at generation time: results of ops on constants and on sizes of arrays."""

from __future__ import annotations

import operator
from typing import Callable, Dict, List, Optional, Sequence

from gen.hlo import dtypes
from gen.hlo.graph import Instruction

MOST = 256  # maximum number of elements of an array that is evaluated

_PAIRS: "Dict[str, Callable[[int, int], int]]" = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "maximum": max, "minimum": min,
    "and": operator.and_, "or": operator.or_, "xor": operator.xor}
_COMPARISONS = {"EQ": operator.eq, "NE": operator.ne, "LT": operator.lt, "LE": operator.le, "GT": operator.gt,
                "GE": operator.ge}
_MOVES = ("reshape", "convert", "copy", "opt-barrier", "call", "get-tuple-element")


def values_of(instruction: Instruction) -> "Optional[List[int]]":
    """Return the elements of an integer array in row-major order; None if they depend on values that are known at
    runtime only.
    """
    found: Dict[Instruction, Optional[List[int]]] = {}
    stack = [instruction]
    while stack:
        of = stack[-1]
        if of in found:
            stack.pop()
            continue
        sources = _sources(of) if _foldable(of) else []
        waiting = [source for source in sources if source not in found]
        if waiting:
            stack += waiting
            continue
        found[of] = _folded(of, [found[source] for source in sources]) if _foldable(of) else None
        stack.pop()
    return found[instruction]


def _sources(of: Instruction) -> "Sequence[Instruction]":
    """Return the instructions that determine an instruction's value. For a call, this is the root of the called
    function.
    """
    if of.opcode == "get-tuple-element":
        (whole,) = of.operands
        root = whole.called[0].root if whole.opcode == "call" else whole
        return [root.operands[of.attributes["index"]]] if root is not None and root.opcode == "tuple" else []
    if of.opcode == "call":
        root = of.called[0].root
        return [root] if root is not None else []
    return of.operands


def _foldable(of: Instruction) -> bool:
    shape = of.shape
    return (shape.kind == "array" and not shape.dynamic and shape.elements <= MOST
            and dtypes.TABLE[shape.dtype].kind in ("sint", "uint", "pred"))


def _number(bits: int, dtype: str) -> int:
    row = dtypes.TABLE[dtype]
    return bits - (1 << row.bits) if row.kind == "sint" and bits >> row.bits - 1 else bits


def _wrapped(value: int, dtype: str) -> int:
    return _number(value & (1 << dtypes.TABLE[dtype].bits) - 1, dtype)


def _folded(of: Instruction, operands: "List[Optional[List[int]]]") -> Optional[List[int]]:
    dtype, opcode = of.shape.dtype, of.opcode
    if opcode == "constant" and of.literal is not None:
        return [_number(bits, dtype) for bits in of.literal]
    if opcode == "iota" and of.shape.rank == 1:
        return list(range(of.shape.elements))
    if not operands or any(values is None for values in operands):
        return None
    given: List[List[int]] = [values for values in operands if values is not None]
    if opcode in _PAIRS:
        return [_wrapped(_PAIRS[opcode](a, b), dtype) for a, b in zip(*given)]
    if opcode in ("divide", "remainder"):
        return _divided(opcode, given, dtype)
    if opcode == "compare":
        return [int(_COMPARISONS[of.attributes["direction"]](a, b)) for a, b in zip(*given)]
    if opcode in _MOVES:
        return [_wrapped(value, dtype) for value in given[0]]
    if opcode == "concatenate" and of.attributes["dimensions"] == (0,):
        return [value for values in given for value in values]
    if opcode == "slice" and of.shape.rank == 1:
        ((start, limit, stride),) = of.attributes["slice"]
        return given[0][start:limit:stride]
    return _other(of, given)


def _divided(opcode: str, given: "List[List[int]]", dtype: str) -> Optional[List[int]]:
    """Return quotients rounded towards zero, and the remainders."""
    if 0 in given[1]:
        return None
    quotients = [abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) for a, b in zip(*given)]
    if opcode == "divide":
        return [_wrapped(quotient, dtype) for quotient in quotients]
    return [a - b * quotient for a, b, quotient in zip(*given, quotients)]


def _other(of: Instruction, given: "List[List[int]]") -> Optional[List[int]]:
    opcode = of.opcode
    if opcode == "broadcast" and not of.operands[0].shape.dims:
        return given[0] * of.shape.elements
    if opcode == "select":
        choice = given[0] if len(given[0]) == of.shape.elements else given[0] * of.shape.elements
        return [a if chosen else b for chosen, a, b in zip(choice, given[1], given[2])]
    if opcode == "clamp":
        low, high = ([values[0]] * of.shape.elements if len(values) == 1 else values for values in (given[0], given[2]))
        return [min(max(a, value), b) for a, value, b in zip(low, given[1], high)]
    if opcode == "negate":
        return [_wrapped(-value, of.shape.dtype) for value in given[0]]
    if opcode == "not":
        return [1 - value if of.shape.dtype == "pred" else ~value for value in given[0]]
    if opcode == "sign":
        return [(value > 0) - (value < 0) for value in given[0]]
    return None

