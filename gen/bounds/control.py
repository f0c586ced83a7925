"""Loops and branches: the results equal the reference's if the computations that they call are exact."""

from __future__ import annotations

from typing import Callable, List

from gen.bounds.following import Bounds
from gen.hlo import Computation, Instruction
from gen.reference.types import FLOATS
from gen.reference.values import Array


def calling(exact: "Callable[[Computation], bool]", b: Bounds, i: Instruction, x: List[Array], outs: List[Array]) -> None:
    """Set the bounds of a while loop or a conditional. If a computation that it calls may round differently from the
    reference, any value is allowed: the loop's number of iterations may differ.

    exact: returns true if a computation is exact on exact arguments
    """
    b.decided(i, outs, [out.dtype not in FLOATS for out in outs], b.exact(*x) and all(map(exact, i.called)),
              f"rounding may decide a number of steps in {i.name}" if i.opcode == "while" else f"a branch of {i.name} may round")
