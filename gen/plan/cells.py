"""The cells of a convolution's window along one dimension.

A place of the window reads the elements of the base that lie under its own elements, its taps. Padding and the holes of
base dilation are no elements. A cell is some places and some taps, each in even steps, all of which meet an element of
the base; each pair of a place and a tap that does is in one cell.
"""

from __future__ import annotations

import math
from typing import Dict, List, NamedTuple, Tuple

from gen.hlo import Instruction
from gen.schedule import FEW_ROWS, SHORT_SUM


class Cell(NamedTuple):
    """The first place and tap, and how many there are."""

    place: int
    places: int
    tap: int
    taps: int


class Phase(NamedTuple):
    """The places of a window, at an even distance, that have the same taps over elements of a base with holes. They are a
    window over the base without the holes. first, places: the first place, and their number. tap, taps: the first tap and
    their number, `taps_every` taps apart; 0 taps: no element is under them. stride, dilation, low, high: of the
    window."""

    first: int
    places: int
    tap: int
    taps: int
    taps_every: int
    stride: int
    dilation: int
    low: int
    high: int


def phases(convolution: Instruction, k: int) -> "List[Phase]":
    """The phases of dimension k of the window; phase n begins at place n."""
    window, labels = convolution.attributes["window"], convolution.attributes["dim_labels"]
    size, places = convolution.operands[0].shape.dims[labels.lhs[2 + k]], convolution.shape.dims[labels.out[2 + k]]
    stride, dilation, holes, low = window.stride[k], window.dilation[k], window.base_dilation[k], window.low[k]
    every, taps_every = holes // math.gcd(stride, holes), holes // math.gcd(dilation, holes)
    found = []
    for first in range(min(every, places)):
        at = [(tap, (first * stride + tap * dilation - low) // holes) for tap in range(min(taps_every, window.size[k]))
              if (first * stride + tap * dilation - low) % holes == 0]
        tap, begin = at[0] if at else (0, 0)
        taps, count = -(-(window.size[k] - tap) // taps_every) if at else 0, -(-(places - first) // every)
        by, apart = stride * every // holes, dilation * taps_every // holes
        found.append(Phase(first, count, tap, taps, taps_every, by, apart, -begin,
                           (count - 1) * by + (taps - 1) * apart + 1 + begin - size))
    return found


class Along(NamedTuple):
    """The cells of a dimension. every, taps_every: the distance between places, and between taps, of a cell."""

    every: int
    taps_every: int
    cells: Tuple[Cell, ...]


def along(convolution: Instruction, k: int) -> Along:
    """The cells of dimension k of the window: of the taps with the same places, or of the places with the same taps where
    these cells are fewer, or sums would be short. Few places of a long window, as of a gradient of weights, are the rows
    of a tile where its other rows are few: one cell has them all."""
    window, labels = convolution.attributes["window"], convolution.attributes["dim_labels"]
    size = convolution.operands[0].shape.dims[labels.lhs[2 + k]]
    places = convolution.shape.dims[labels.out[2 + k]]
    stride, dilation, holes = window.stride[k], window.dilation[k], window.base_dilation[k]
    every, taps_every = holes // math.gcd(stride, holes), holes // math.gcd(dilation, holes)
    of_tap: Dict[int, List[int]] = {}
    of_place: Dict[int, List[int]] = {}

    def position(place: int, tap: int) -> int:
        return place * stride + tap * dilation - window.low[k]

    # of places that are `every` apart, the first tap that meets no hole, after which each taps_every-th one meets none
    first = [next((tap for tap in range(min(taps_every, window.size[k])) if position(place, tap) % holes == 0),
                  window.size[k]) for place in range(min(every, places))]
    for place in range(places):
        for tap in range(first[place % every], window.size[k], taps_every):
            if 0 <= position(place, tap) // holes < size:
                of_tap.setdefault(tap, []).append(place)
                of_place.setdefault(place, []).append(tap)
    parts = [Cell(of[0], len(of), taps[0], len(taps)) for taps, of in _alike(of_place, every)]
    rows = [Cell(of[0], len(of), taps[0], len(taps)) for of, taps in _alike(of_tap, taps_every)]
    features = convolution.operands[1].shape.dims[labels.rhs[0]]
    together = places < window.size[k] and convolution.shape.dims[labels.out[0]] < FEW_ROWS
    cells = rows if together or features >= SHORT_SUM and len(rows) <= len(parts) else parts
    return Along(every, taps_every, tuple(cells))


def _alike(of: "Dict[int, List[int]]", every: int) -> "List[Tuple[Tuple[int, ...], List[int]]]":
    """The numbers that have the same others, in even steps, in ascending order."""
    alike: "Dict[Tuple[int, Tuple[int, ...]], List[int]]" = {}
    for number, others in sorted(of.items()):
        alike.setdefault((number % every, tuple(others)), []).append(number)
    return [(others, numbers) for (_, others), numbers in alike.items()]
