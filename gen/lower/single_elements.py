"""Reduces of single elements, as elementwise ops: where the dimensions that a reduce takes away are all 1, its result
is the combiner of init and element."""

from __future__ import annotations

import math
from typing import List

from gen.hlo import Computation, Instruction
from gen.hlo.copy import replaced


def single(instruction: Instruction) -> bool:
    """Whether each result of a reduce is made of one element."""
    return instruction.opcode == "reduce" and len(instruction.operands) == 2 and math.prod(
        instruction.operands[0].shape.dims[k] for k in instruction.attributes["dimensions"]) == 1


def lowered(computation: Computation) -> Computation:
    """The computation without such reduces; itself where there are none."""
    return replaced(computation, single, _combined)


def _combined(copied: Computation, reduce: Instruction, operands: "List[Instruction]") -> Instruction:
    """The combiner of init and element."""
    init = copied.add(Instruction(f"{reduce.name}.init", "broadcast", reduce.shape, [operands[1]], {"dimensions": ()},
                                  line=reduce.line, col=reduce.col))
    element = copied.add(Instruction(f"{reduce.name}.element", "reshape", reduce.shape, [operands[0]], line=reduce.line,
                                     col=reduce.col))
    return copied.add_copy(reduce, [init, element], opcode="map", attributes={})
