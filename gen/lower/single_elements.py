"""Turn reduces of single elements into elementwise ops. If all dimensions that a reduce removes have size 1, its result
is the combiner applied to init and the element.
"""

from __future__ import annotations

import math
from typing import List

from gen.hlo import Computation, Instruction
from gen.hlo.copy import replaced


def single(instruction: Instruction) -> bool:
    """Return true if each result of a reduce combines a single element."""
    return instruction.opcode == "reduce" and len(instruction.operands) == 2 and math.prod(
        instruction.operands[0].shape.dims[k] for k in instruction.attributes["dimensions"]) == 1


def lowered(computation: Computation) -> Computation:
    """Return the computation with reduces of single elements replaced; the computation itself if it has none."""
    return replaced(computation, single, _combined)


def _combined(copied: Computation, reduce: Instruction, operands: "List[Instruction]") -> Instruction:
    """Return the combiner applied to init and the element."""
    init = copied.add(Instruction(f"{reduce.name}.init", "broadcast", reduce.shape, [operands[1]], {"dimensions": ()},
                                  line=reduce.line, col=reduce.col))
    element = copied.add(Instruction(f"{reduce.name}.element", "reshape", reduce.shape, [operands[0]], line=reduce.line,
                                     col=reduce.col))
    return copied.add_copy(reduce, [init, element], opcode="map", attributes={})
