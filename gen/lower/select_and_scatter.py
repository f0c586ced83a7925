"""Split select-and-scatter into two ops: the choice of an element by each window, and the sum of an element's sources.

`window-choice` returns, for each window, the row-major number of the selected element in the window; if the window
covers only padding, it returns the number of elements of a window. `window-scatter` visits, for each element, the
windows that contain it, in the order of their positions, and combines the sources of those windows that selected it.
The elements of a window are thus compared only once. One op would compare them again for each element of the result.
"""

from __future__ import annotations

from typing import List

from gen.hlo import Computation, Instruction, array_shape
from gen.hlo.copy import replaced

CHOICE, SCATTER = "window-choice", "window-scatter"


def lowered(computation: Computation) -> Computation:
    """Return the computation with each select-and-scatter split; the computation itself if it has none."""
    return replaced(computation, lambda i: i.opcode == "select-and-scatter", _parted)


def _parted(copied: Computation, instruction: Instruction, operands: "List[Instruction]") -> Instruction:
    operand, source, init = operands
    window = {"window": instruction.attributes["window"]}
    choice = copied.add(Instruction(
        f"{instruction.name}.choice", CHOICE, array_shape("s32", source.shape.dims, source.shape.minor_to_major),
        [operand], {**window, "select": instruction.attributes["select"]}, line=instruction.line, col=instruction.col))
    return copied.add_copy(instruction, [choice, source, init], opcode=SCATTER,
                           attributes={**window, "scatter": instruction.attributes["scatter"]})
