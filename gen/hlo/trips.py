"""Find the number of iterations of a while loop, if its text determines it. A loop of one iteration is replaced by its
body.
"""

from __future__ import annotations

import json
from typing import Optional

from gen.hlo import dtypes
from gen.hlo.graph import Computation, Instruction, Module

_HOLDS = {"LT": lambda a, b: a < b, "LE": lambda a, b: a <= b, "GT": lambda a, b: a > b, "GE": lambda a, b: a >= b,
          "NE": lambda a, b: a != b}


def without_single_steps(module: Module) -> None:
    """Replace a while loop of one iteration by a call of its body, and a while loop of no iterations by its operand."""
    for loop in (i for computation in module.computations for i in computation.instructions if i.opcode == "while"):
        count = trips(loop)
        if count == 1:
            body = loop.called[1]
            loop.opcode, loop.called, loop.attributes = "call", [body], {"to_apply": body}
        elif count == 0:
            loop.opcode, loop.called, loop.attributes = "opt-barrier", [], {}


def trips(loop: Instruction) -> Optional[int]:
    """Return the number of iterations of a while loop; None if the text does not determine it. The number is taken from
    XLA's annotation. Without an annotation, it is computed from a counter. The body adds a constant to the counter, and
    the condition compares the counter with a constant.
    """
    raw = loop.attributes.get("raw", {})
    try:
        return int(json.loads(raw["backend_config"])["known_trip_count"]["n"])
    except (KeyError, TypeError, ValueError):
        pass
    condition, body = loop.called
    if condition.root is None or condition.root.opcode != "compare":
        return None
    holds, sides = _HOLDS.get(condition.root.attributes.get("direction", "")), condition.root.operands
    counter = _carried(sides[0], condition)
    if holds is None or counter is None:
        return None
    start, step, end = _start(loop, counter), _step(body, counter), _end(loop, body, sides[1], condition)
    if start is None or step is None or end is None:
        return None
    if not holds(start, end):
        return 0
    reach = -(-(end - start) // step) if step else 1    # number of steps until the counter is at or beyond the end
    for count in (reach, reach + 1):
        if count > 0 and not holds(start + count * step, end):
            return count if _fits(start + count * step, sides[0].shape.dtype) else None
    return None


def _carried(value: Instruction, computation: Computation) -> Optional[int]:
    """Return k if a value is get-tuple-element k of the loop's state, else None."""
    if value.opcode != "get-tuple-element" or value.operands[0] not in computation.parameters:
        return None
    number: int = value.attributes["index"]
    return number


def _integer(value: Instruction) -> Optional[int]:
    """Return the integer of a scalar constant."""
    kind = dtypes.TABLE[value.shape.dtype].kind if value.shape.kind == "array" else ""
    if value.opcode != "constant" or value.shape.dims or not value.literal or kind not in ("sint", "uint"):
        return None
    bits = dtypes.TABLE[value.shape.dtype].bits
    return value.literal[0] - (1 << bits if kind == "sint" and value.literal[0] >> bits - 1 else 0)


def _fits(value: int, dtype: str) -> bool:
    """Return true if the integer type can hold a value, which means that the counter did not wrap around."""
    kind, bits = dtypes.TABLE[dtype].kind, dtypes.TABLE[dtype].bits
    return -(1 << bits - 1) <= value < 1 << bits - 1 if kind == "sint" else 0 <= value < 1 << bits


def _start(loop: Instruction, number: int) -> Optional[int]:
    """Return the constant integer that element `number` of the loop's state has before the first iteration, or None."""
    first = loop.operands[0]
    return _integer(first.operands[number]) if first.opcode == "tuple" else None


def _step(body: Computation, number: int) -> Optional[int]:
    """Return the constant that each iteration adds to element `number` of the loop's state, or None."""
    root = body.root
    after = root.operands[number] if root is not None and root.opcode == "tuple" else None
    if after is not None and after.opcode == "subtract" and _carried(after.operands[0], body) == number:
        less = _integer(after.operands[1])
        return None if less is None else -less
    if after is None or after.opcode != "add":
        return 0 if after is not None and _carried(after, body) == number else None
    for value, step in (after.operands, after.operands[::-1]):
        if _carried(value, body) == number:
            return _integer(step)
    return None


def _end(loop: Instruction, body: Computation, side: Instruction, condition: Computation) -> Optional[int]:
    """Return the integer that the counter is compared with; None if it is not known. It is a constant, or an element of
    the state that begins as a constant and never changes.
    """
    number = _carried(side, condition)
    if number is None:
        return _integer(side)
    return _start(loop, number) if _step(body, number) == 0 else None
