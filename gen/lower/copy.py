"""A computation with some of its ops replaced."""

from __future__ import annotations

from dataclasses import replace
from typing import Callable, Dict, List

from gen.hlo import Computation, Instruction


def replaced(computation: Computation, changes: "Callable[[Instruction], bool]",
             put: "Callable[[Computation, Instruction, List[Instruction]], Instruction]") -> Computation:
    """A copy in which `put` has added other ops for each that `changes`; the computation itself where none does. put:
    it is given the copy, the op and its operands there, and gives the op's value."""
    if not any(changes(i) for i in computation.instructions):
        return computation
    copied = Computation(computation.name, line=computation.line, col=computation.col,
                         attributes=computation.attributes)
    known: Dict[Instruction, Instruction] = {}
    for instruction in computation.instructions:
        operands = [known[o] for o in instruction.operands]
        if changes(instruction):
            known[instruction] = put(copied, instruction, operands)
        else:
            known[instruction] = replace(instruction, operands=operands, users=[], computation=copied)
            copied.instructions.append(known[instruction])
    copied.parameters = [known[p] for p in computation.parameters]
    copied.root = known[computation.root] if computation.root else None
    for instruction in copied.instructions:
        for operand in dict.fromkeys(instruction.operands):
            operand.users.append(instruction)
    return copied
