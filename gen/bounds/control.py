"""Loops: their results are what the reference gives where each step is exact."""

from __future__ import annotations

from typing import Callable, List

from gen.bounds.following import Bounds
from gen.hlo import Computation, Instruction
from gen.reference.types import FLOATS
from gen.reference.values import Array


def loop(exact: "Callable[[Computation], bool]", b: Bounds, i: Instruction, x: List[Array], outs: List[Array]) -> None:
    """The bounds of a while. exact: whether a computation is, of exact arguments. Where some step rounds otherwise than
    the reference, another number of steps may follow: any value is allowed."""
    b.decided(i, outs, [out.dtype not in FLOATS for out in outs], b.exact(*x) and all(map(exact, i.called)),
              f"rounding may decide a number of steps in {i.name}")
