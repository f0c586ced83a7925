"""Computations as values that can be compared."""

from __future__ import annotations

from typing import Any

from gen.hlo import Computation, Instruction


def form(computation: Computation) -> Any:
    """Return all that a computation does as a value: two computations with equal values do the same, whatever their
    names."""
    numbers = {instruction: n for n, instruction in enumerate(computation.instructions)}
    assert computation.root is not None
    return (numbers[computation.root], tuple(
        (i.opcode, i.shape.text, tuple(numbers[o] for o in i.operands), _attributes(i), i.parameter_number,
         tuple(i.literal) if i.literal is not None else None, tuple(form(called) for called in i.called))
        for i in computation.instructions))


def _attributes(instruction: Instruction) -> str:
    """Return the attributes that decide what an instruction does. Called computations are compared separately."""
    plain = {key: value for key, value in instruction.attributes.items()
             if key != "raw" and not isinstance(value, Computation)}
    raw = {key: value for key, value in instruction.attributes.get("raw", {}).items()
           if key not in ("metadata", "to_apply", "calls", "select", "scatter", "body", "condition")}
    return repr((sorted(plain.items()), sorted(raw.items())))
