"""Strides that are leading dimensions which the caller gives at run time.

A position in such an array is row * lead + place, so that each distance in it is times * lead + rest for two numbers,
of which the second is less than the array has elements. Plans and schedules keep both in one number: its digits in a
base that is larger than any array they take. So they add, compare and multiply distances as they do without leading
dimensions, and `text` prints one.
"""

from __future__ import annotations

from typing import Tuple

from gen import algebra
from gen.hlo import Shape
from gen.plan.buffers import memory_map

BASE = 1 << 31


def stride_map(shape: Shape) -> str:
    """Logical index to the position in the buffer, as numbers of that base."""
    return algebra.substitute(memory_map(shape), **{shape.lead: BASE}) if shape.lead else memory_map(shape)


def has_strides(shape: Shape) -> bool:
    """Return true if that base is large enough for an array."""
    return not shape.lead or shape.elements < BASE // 2


def digits(distance: int) -> "Tuple[int, int]":
    """Return the number of leading dimensions in a distance, and the rest."""
    times = (distance + BASE // 2) // BASE
    return times, distance - times * BASE


def text(distance: int, lead: str) -> str:
    """A distance, in C and in maps. lead: the name of the leading dimension ("": the array has none)."""
    times, rest = digits(distance) if lead else (0, distance)
    terms = [lead if times == 1 else f"{lead} * {times}"] * (times != 0) + [str(rest)] * (rest != 0 or times == 0)
    return terms[0] if len(terms) == 1 and times in (0, 1) else f"({' + '.join(terms)})"
