"""Which cases run if SETT_SHARE is N: about one of N."""

from __future__ import annotations

import os
from typing import Iterable, List, TypeVar

T = TypeVar("T")


def is_kept(number: int) -> bool:
    """Return true if case `number` of a test function runs. Case 0 always runs; of the others, those for which the
    fractional part of the number times the golden ratio is small. Such numbers have no period, so cases with each
    value of each parameter are kept.
    """
    return number * 0.6180339887 % 1 * int(os.environ.get("SETT_SHARE", "1")) < 1


def some(cases: "Iterable[T]") -> "List[T]":
    """Return the cases that run, for a test that has its cases in a loop."""
    return [case for number, case in enumerate(cases) if is_kept(number)]
