"""Places buffers in one block of memory: buffers that are not alive together share bytes.

    >>> placement = place([Live("a", 64, 0, 2), Live("b", 32, 1, 3), Live("c", 64, 2, 4)])
    >>> placement.offsets, placement.bytes, placement.bound
    ({'a': 0, 'b': 64, 'c': 0}, 96, 96)

`Live` is a buffer with the steps in which it is needed. Buffers that are one (a result in place of its operand, a carry
of a loop) are one `Live`, whose range covers all of theirs. `place` returns a `Placement`; the same buffers in the same
order give the same placement on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Dict, List, Optional, Sequence, Tuple


@dataclass(frozen=True)
class Live:
    """A buffer that is alive in the steps begin <= step < end, at a multiple of alignment (a power of two). Where an
    offset is given, the buffer lies there."""

    name: str
    bytes: int
    begin: int
    end: int
    alignment: int = 1
    offset: Optional[int] = None

    def __post_init__(self) -> None:
        if self.bytes < 0 or self.end <= self.begin or self.alignment < 1 or self.alignment & (self.alignment - 1):
            raise ValueError(f"no buffer: {self}")


@dataclass(frozen=True)
class Placement:
    """Where each buffer lies in a block of memory.

    offsets: by name, in bytes. bytes: the size of the block. bound: no placement is smaller: the most bytes that are
    alive in one step, each size rounded up to the least alignment."""

    lives: Tuple[Live, ...]
    offsets: Dict[str, int]
    bytes: int
    bound: int

    @property
    def alignment(self) -> int:
        """The alignment that the block needs."""
        return max((live.alignment for live in self.lives), default=1)


def place(lives: Sequence[Live]) -> Placement:
    """A placement of the buffers, whose names differ."""
    lives = tuple(lives)
    if len({live.name for live in lives}) < len(lives):
        raise ValueError("two buffers have one name")
    unit = min((live.alignment for live in lives), default=1)
    sizes = [-(-live.bytes // unit) * unit for live in lives]
    bound = _bound(lives, sizes)
    together = _together(lives, sizes)
    best: Tuple[int, List[int]] = (0, [])
    for key in _ORDERS:
        order = sorted(range(len(lives)), key=lambda b: (lives[b].offset is None, key(lives[b], len(together[b])), b))
        offsets = _first_fit(order, lives, sizes, together)
        size = max((offset + size for offset, size in zip(offsets, sizes)), default=0)
        if not best[1] or size < best[0]:
            best = size, offsets
        if size == bound:
            break
    return Placement(lives, {live.name: offset for live, offset in zip(lives, best[1])}, best[0], bound)


# Buffers are placed in these orders; each key is of a buffer and the number of buffers alive together with it.
_ORDERS: "Tuple[Callable[[Live, int], float], ...]" = (
    lambda live, together: live.begin,
    lambda live, together: -live.bytes,
    lambda live, together: -live.bytes * together,
    lambda live, together: live.begin - live.end,
    lambda live, together: -live.bytes * (live.end - live.begin),
)


def _bound(lives: Sequence[Live], sizes: Sequence[int]) -> int:
    """The most bytes alive in one step, and the end of each buffer with a fixed place."""
    events = sorted([(live.begin, size) for live, size in zip(lives, sizes)]
                    + [(live.end, -size) for live, size in zip(lives, sizes)])
    most = max((live.offset + size for live, size in zip(lives, sizes) if live.offset is not None), default=0)
    alive = 0
    for _, change in events:  # at the same step ends come first
        alive += change
        most = max(most, alive)
    return most


def _together(lives: Sequence[Live], sizes: Sequence[int]) -> List[List[int]]:
    """For each buffer those with bytes that are alive in one of its steps, but itself."""
    together: List[List[int]] = [[] for _ in lives]
    alive: List[int] = []
    for b in sorted((b for b, size in enumerate(sizes) if size), key=lambda b: lives[b].begin):
        alive = [other for other in alive if lives[other].end > lives[b].begin]
        for other in alive:
            together[other].append(b)
        together[b] += alive
        alive.append(b)
    return together


def _first_fit(order: Sequence[int], lives: Sequence[Live], sizes: Sequence[int],
               together: Sequence[Sequence[int]]) -> List[int]:
    """Offsets where each buffer in turn takes the lowest gap that it fits in."""
    offsets = [-1] * len(lives)
    for b in order:
        live, size, at = lives[b], sizes[b], 0
        taken = sorted((offsets[other], offsets[other] + sizes[other]) for other in together[b] if offsets[other] >= 0)
        if live.offset is not None:
            last = live.offset + size
            if live.offset % live.alignment or any(begin < last and live.offset < end for begin, end in taken):
                raise ValueError(f"{live.name} cannot lie at {live.offset}")
            offsets[b] = live.offset
            continue
        for begin, end in taken:
            if begin - at >= size:
                break
            if end > at:
                at = -(-end // live.alignment) * live.alignment
        offsets[b] = at
    return offsets
