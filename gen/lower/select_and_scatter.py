"""Split select-and-scatter into two ops: the element that each window selects, and the sum that an element receives
from the windows that selected it.

`window-choice` gives the row-major number of the selected element within its window, or the number of elements of a
window if the window lies in padding alone. `window-scatter` visits, for each element, the windows that contain it, in
the order of their positions, and combines the sources of those that selected it. Each window is thus compared once, not
once for each of its elements.
"""

from __future__ import annotations

from typing import List

from gen.hlo import Computation, Instruction, array_shape
from gen.hlo.copy import replaced

CHOICE, SCATTER = "window-choice", "window-scatter"


def lowered(computation: Computation) -> Computation:
    """Return the computation without select-and-scatter, or the computation itself if it has none."""
    return replaced(computation, lambda i: i.opcode == "select-and-scatter", _parted)


def _parted(copied: Computation, instruction: Instruction, operands: "List[Instruction]") -> Instruction:
    operand, source, init = operands
    window = {"window": instruction.attributes["window"]}
    choice = copied.add(Instruction(
        f"{instruction.name}.choice", CHOICE, array_shape("s32", source.shape.dims, source.shape.minor_to_major),
        [operand], {**window, "select": instruction.attributes["select"]}, line=instruction.line, col=instruction.col))
    return copied.add_copy(instruction, [choice, source, init], opcode=SCATTER,
                           attributes={**window, "scatter": instruction.attributes["scatter"]})
