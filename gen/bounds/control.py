"""While loops: the results equal the reference's if each iteration is exact."""

from __future__ import annotations

from typing import Callable, List

from gen.bounds.following import Bounds
from gen.hlo import Computation, Instruction
from gen.reference.types import FLOATS
from gen.reference.values import Array


def loop(exact: "Callable[[Computation], bool]", b: Bounds, i: Instruction, x: List[Array], outs: List[Array]) -> None:
    """Set the bounds of a while loop. If an iteration may round differently from the reference, the number of iterations
    may differ, so any value is allowed.

    exact: returns true if a computation is exact on exact arguments
    """
    b.decided(i, outs, [out.dtype not in FLOATS for out in outs], b.exact(*x) and all(map(exact, i.called)),
              f"rounding may decide a number of steps in {i.name}")
