"""Strides that contain a leading dimension that the caller gives at run time.

A position in an array with such a dimension is row * lead + column. A distance between positions is therefore
m * lead + rest, where m and rest are known numbers, and rest is less than the size of the array in elements. Plans and
schedules represent a distance as the single number m * BASE + rest, where BASE is larger than any such array. They add,
compare and multiply distances as usual, and `text` prints them.
"""

from __future__ import annotations

from typing import Tuple

from gen import algebra
from gen.hlo import Shape
from gen.plan.buffers import memory_map

BASE = 1 << 31


def stride_map(shape: Shape) -> str:
    """Return the map from a logical index to the position in the buffer, with the number BASE as the leading dimension.
    """
    return algebra.substitute(memory_map(shape), **{shape.lead: BASE}) if shape.lead else memory_map(shape)


def has_strides(shape: Shape) -> bool:
    """Return true if m * BASE + rest can represent every distance in the array: the array has no leading dimension that
    the caller gives, or fewer than BASE / 2 elements.
    """
    return not shape.lead or shape.elements < BASE // 2


def digits(distance: int) -> "Tuple[int, int]":
    """Return two numbers (m, rest) such that the distance is m * (leading dimension) + rest."""
    times = (distance + BASE // 2) // BASE
    return times, distance - times * BASE


def text(distance: int, lead: str) -> str:
    """Return a distance as text for C and for maps. lead: the name of the leading dimension, or "" if the array has
    none.
    """
    times, rest = digits(distance) if lead else (0, distance)
    terms = [lead if times == 1 else f"{lead} * {times}"] * (times != 0) + [str(rest)] * (rest != 0 or times == 0)
    return terms[0] if len(terms) == 1 and times in (0, 1) else f"({' + '.join(terms)})"
