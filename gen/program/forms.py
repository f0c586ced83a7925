"""Represent what a computation does as a value, so that computations can be compared."""

from __future__ import annotations

from typing import Any

from gen.hlo import Computation, Instruction


def form(computation: Computation) -> Any:
    """Return a value that represents what a computation computes. Two computations with equal values compute the same
    results, whatever names they use.
    """
    numbers = {instruction: n for n, instruction in enumerate(computation.instructions)}
    assert computation.root is not None
    return (numbers[computation.root], tuple(
        (i.opcode, i.shape.text, tuple(numbers[o] for o in i.operands), _attributes(i), i.parameter_number,
         tuple(i.literal) if i.literal is not None else None, tuple(form(called) for called in i.called))
        for i in computation.instructions))


def _attributes(instruction: Instruction) -> str:
    """Return the attributes on which the result of an instruction depends, except for the computations that it calls.
    """
    plain = {key: value for key, value in instruction.attributes.items()
             if key != "raw" and not isinstance(value, Computation)}
    raw = {key: value for key, value in instruction.attributes.get("raw", {}).items()
           if key not in ("metadata", "to_apply", "calls", "select", "scatter", "body", "condition")}
    return repr((sorted(plain.items()), sorted(raw.items())))
