"""Reduces of single elements, as elementwise ops: where the dimensions that a reduce takes away are all 1, its result
is the combiner of init and element."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Dict

from gen.hlo import Computation, Instruction


def single(instruction: Instruction) -> bool:
    """Whether each result of a reduce is made of one element."""
    return instruction.opcode == "reduce" and len(instruction.operands) == 2 and math.prod(
        instruction.operands[0].shape.dims[k] for k in instruction.attributes["dimensions"]) == 1


def lowered(computation: Computation) -> Computation:
    """The computation without such reduces; itself where there are none."""
    if not any(single(i) for i in computation.instructions):
        return computation
    made = Computation(computation.name, line=computation.line, col=computation.col, attributes=computation.attributes)
    known: Dict[Instruction, Instruction] = {}
    for instruction in computation.instructions:
        operands = [known[o] for o in instruction.operands]
        if single(instruction):
            at = {"line": instruction.line, "col": instruction.col, "computation": made}
            init = Instruction(f"{instruction.name}.init", "broadcast", instruction.shape, [operands[1]],
                               {"dimensions": ()}, **at)
            element = Instruction(f"{instruction.name}.element", "reshape", instruction.shape, [operands[0]], {}, **at)
            made.instructions += [init, element]
            known[instruction] = replace(instruction, opcode="map", operands=[init, element], attributes={}, users=[],
                                         computation=made)
        else:
            known[instruction] = replace(instruction, operands=operands, users=[], computation=made)
        made.instructions.append(known[instruction])
    made.parameters = [known[p] for p in computation.parameters]
    made.root = known[computation.root] if computation.root else None
    for instruction in made.instructions:
        for operand in dict.fromkeys(instruction.operands):
            operand.users.append(instruction)
    return made
