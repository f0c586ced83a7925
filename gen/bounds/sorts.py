"""Sort and topk only move elements: results are exact if the operands and the comparisons are exact."""

from __future__ import annotations

from typing import List

from gen.bounds.following import Bounds
from gen.bounds.types import Ranged
from gen.hlo import Instruction
from gen.reference.types import FLOATS
from gen.reference.values import Array


def sorted_(b: Bounds, i: Instruction, x: List[Array], outs: List[Array]) -> None:
    """Set the bounds of a sort or topk. If rounding may change the order, each element may have any value."""
    # topk's second result holds indices
    bits = [number >= len(x) or b.of(x[number]).bits for number in range(len(outs))]
    b.decided(i, outs, bits, b.exact(*x) and _decided(b, i, x), f"rounding decides an order in {i.name}")


def _decided(b: Bounds, i: Instruction, x: List[Array]) -> bool:
    """Return true if exact operands determine the order."""
    if i.opcode == "topk":  # topk compares the bits of floats
        return all(b.of(of).bits or of.dtype not in FLOATS for of in x)
    trial = Bounds(b.options)  # this object serves only to find out whether the comparison is exact
    sides = [Ranged(f"x{k}", of.dtype, None, b.of(of).bits) for of in x for k in (0, 1)]
    return all(result.interval is None for result in trial.inline(i.attributes["to_apply"], sides, []))
