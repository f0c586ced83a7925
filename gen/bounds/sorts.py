"""Sort and topk: elements are moved, so that they are exact where the operands and the order are."""

from __future__ import annotations

from typing import List

from gen.bounds.following import Bounds
from gen.bounds.types import full_range, Known, Ranged
from gen.hlo import Instruction
from gen.reference.loops import loops_over
from gen.reference.types import FLOATS
from gen.reference.values import Array


def sorted_(b: Bounds, i: Instruction, x: List[Array], outs: List[Array]) -> None:
    """The bounds of a sort. If rounding may decide its order, they allow any element at any place."""
    sure = b.exact(*x) and _decided(b, i, x)
    for number, out in enumerate(outs):
        bits = number >= len(x) or b.of(x[number]).bits     # topk's second result: indices
        if sure:
            b.known[out] = Known(None, bits)
        else:
            ranges = b.ranges(i, out, bits)
            b.step(i.name, loops_over((out.count,), [f"{ranges}[{out.all()}] = {full_range(out.dtype)};"]), [ranges], [])
    if not sure:
        b.unknown.append(f"rounding decides an order in {i.name}")


def _decided(b: Bounds, i: Instruction, x: List[Array]) -> bool:
    """True if the order follows from exact operands."""
    if i.opcode == "topk":      # by the bits of floats
        return all(b.of(of).bits or of.dtype not in FLOATS for of in x)
    trial = Bounds(b.options)   # its text is thrown away
    sides = [Ranged(f"x{k}", of.dtype, None, b.of(of).bits) for of in x for k in (0, 1)]
    return all(result.interval is None for result in trial.inline(i.attributes["to_apply"], sides, []))
