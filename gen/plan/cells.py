"""Split a convolution's window along one dimension into cells.

A place is a position of the window, and a tap is an element of the window. At a given place, a tap covers an element of
the base, or padding, or a hole that base dilation inserts. A cell is a set of places and a set of taps. The places of a
cell are evenly spaced, and so are its taps. At every place of a cell, every tap of the cell covers an element of the
base. If a tap covers an element at a place, exactly one cell contains both the place and the tap.
"""

from __future__ import annotations

import math
from typing import Dict, List, NamedTuple, Tuple

from gen.hlo import Instruction
from gen.schedule import FEW_ROWS, SHORT_SUM


class Cell(NamedTuple):
    """A cell of the window: a set of its positions (places) and of its elements (taps).

    place, tap: the first place and the first tap.
    places, taps: the numbers of places and taps.
    """

    place: int
    places: int
    tap: int
    taps: int


class Phase(NamedTuple):
    """A set of positions (places) of a window over a base with holes. The places are evenly spaced. At all of them, the
    same elements of the window (taps) are above elements of the base. These places and taps form a window over the base
    without its holes.

    first: the first place.
    places: the number of places.
    tap: the first tap that covers an element.
    taps: the number of taps that cover an element; 0 if there is none.
    taps_every: the distance between these taps.
    stride, dilation, low, high: the stride, dilation and padding of the window over the base without holes.
    """

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
    """Return the phases of the window along dimension k. Phase n begins at window position n."""
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
    """The cells of a window along one dimension. A place is an index of the output; a tap is an index of the window.

    every: the distance between two neighbouring places of a cell
    taps_every: the distance between two neighbouring taps of a cell
    """

    every: int
    taps_every: int
    cells: Tuple[Cell, ...]


def along(convolution: Instruction, k: int) -> Along:
    """Return the cells of the window along dimension k.

    Below, a place is a position of the window, and a tap is an element of the window. There are two ways to form cells:
    1. Taps that cover elements at the same places form a cell.
    2. Places at which the same taps cover elements form a cell.

    The second way is used if it gives fewer cells, or if there are so few input features that sums would be short.
    There is one exception. If the window has more taps than places, and the batch dimension of the result is short, the
    first way is used, because the places then become rows of a tile. A gradient of weights is such a convolution.
    """
    window, labels = convolution.attributes["window"], convolution.attributes["dim_labels"]
    size = convolution.operands[0].shape.dims[labels.lhs[2 + k]]
    places = convolution.shape.dims[labels.out[2 + k]]
    stride, dilation, holes = window.stride[k], window.dilation[k], window.base_dilation[k]
    every, taps_every = holes // math.gcd(stride, holes), holes // math.gcd(dilation, holes)
    of_tap: Dict[int, List[int]] = {}
    of_place: Dict[int, List[int]] = {}

    def position(place: int, tap: int) -> int:
        return place * stride + tap * dilation - window.low[k]

    # For each of the first `every` places, `first` has the first tap that is not over a hole. From this tap on, one of
    # every `taps_every` taps is not over a hole. If all taps are over holes, `first` has the number of taps.
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
    """Group the keys of the dict `of`: two keys are in one group if their values are equal and their remainders mod
    `every` are equal. Return the value and the sorted keys of each group.
    """
    alike: "Dict[Tuple[int, Tuple[int, ...]], List[int]]" = {}
    for number, others in sorted(of.items()):
        alike.setdefault((number % every, tuple(others)), []).append(number)
    return [(others, numbers) for (_, others), numbers in alike.items()]
