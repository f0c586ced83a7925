"""Sort and topk: elements are moved, so results are exact if the operands and the order are."""

from __future__ import annotations

from typing import List

from gen.bounds.following import Bounds
from gen.bounds.types import Ranged
from gen.hlo import Instruction
from gen.reference.types import FLOATS
from gen.reference.values import Array


def sorted_(b: Bounds, i: Instruction, x: List[Array], outs: List[Array]) -> None:
    """Set the bounds of a sort. If rounding may change its order, they allow any element at any place."""
    bits = [number >= len(x) or b.of(x[number]).bits for number in range(len(outs))]    # topk's second result: indices
    b.decided(i, outs, bits, b.exact(*x) and _decided(b, i, x), f"rounding decides an order in {i.name}")


def _decided(b: Bounds, i: Instruction, x: List[Array]) -> bool:
    """Return true if the order follows from exact operands."""
    if i.opcode == "topk":      # by the bits of floats
        return all(b.of(of).bits or of.dtype not in FLOATS for of in x)
    trial = Bounds(b.options)   # its text is discarded
    sides = [Ranged(f"x{k}", of.dtype, None, b.of(of).bits) for of in x for k in (0, 1)]
    return all(result.interval is None for result in trial.inline(i.attributes["to_apply"], sides, []))
