"""Place buffers in one block of memory; buffers that are not alive together share bytes.

    >>> placement = place([Live("a", 64, 0, 2), Live("b", 32, 1, 3), Live("c", 64, 2, 4)])
    >>> placement.offsets, placement.bytes, placement.bound
    ({'a': 0, 'b': 64, 'c': 0}, 96, 96)

A `Live` is a buffer with its live range, in steps. Two buffers that must share their bytes (a result in place of its
operand, a carry of a loop) are one `Live`, whose range covers both. `place` returns a `Placement`, which depends on the
buffers and their order alone, not on the machine. `gen/program/pictures.py` draws a placement.

`place` first takes the buffers in three fixed orders and puts each buffer into the lowest gap that is large enough. If
the smallest of the three placements is above the lower bound, a branch-and-bound search follows (`_descend`): it builds
placements from offset 0 upwards and abandons a placement once it cannot become smaller than the best known one.
"""

from __future__ import annotations

import bisect
import itertools
import random
import time
from dataclasses import dataclass
from typing import Callable, Dict, Iterator, List, Optional, Sequence, Tuple


@dataclass(frozen=True)
class Live:
    """A buffer that is alive in the steps begin <= step < end. Its offset is a multiple of `alignment`, a power of two;
    if `offset` is given, the buffer is fixed there."""

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
    """Offsets of buffers in a block of memory.

    offsets: the offset of each buffer by its name, in bytes. bytes: the size of the block. bound: a lower bound of that
    size, the largest number of bytes alive in one step; each size is rounded up to the smallest alignment among the
    buffers.
    """

    lives: Tuple[Live, ...]
    offsets: Dict[str, int]
    bytes: int
    bound: int

    @property
    def alignment(self) -> int:
        """Return the alignment of the block: the largest alignment among its buffers."""
        return max((live.alignment for live in self.lives), default=1)


def place(lives: Sequence[Live], effort: Optional[int] = None, seconds: Optional[float] = None) -> Placement:
    """Return a placement of the buffers, whose names must differ.

    effort: the number of times that the search may place a buffer; by default 16 for each buffer, at most 8,000 (at
    most 1 s). seconds: processor time, in seconds, after which the search ends instead; the placement then depends on
    the machine. No search is done if a buffer has a fixed offset.
    """
    lives = tuple(lives)
    if len({live.name for live in lives}) < len(lives):
        raise ValueError("two buffers have one name")
    unit = min((live.alignment for live in lives), default=1)
    sizes = [_up(live.bytes, unit) for live in lives]
    together = _together(lives, sizes)
    bound = _bound(lives, sizes)
    best, height = [0] * len(lives), 0

    def keep_smaller(order: "Sequence[int]") -> None:
        """Put each buffer of the order into the lowest gap; keep the placement if it is the smallest so far."""
        nonlocal best, height
        offsets = _first_fit(order, lives, sizes, together)
        reached = max(offset + size for offset, size in zip(offsets, sizes))
        if not height or reached < height:
            best, height = offsets, reached

    for key in _ORDERS if lives else ():
        if not height or height > bound:
            keep_smaller(sorted(range(len(lives)),
                                key=lambda b: (lives[b].offset is None, key(lives[b], len(together[b])))))
    if height > bound and all(live.offset is None for live in lives):
        buffers = _Buffers([b for b, size in enumerate(sizes) if size], lives, sizes, together)
        spent, end = 0, time.process_time() + (seconds or 0)
        effort = min(16 * len(lives), 8_000) if effort is None else effort
        search = _searched(buffers, lambda: height)
        while height > bound and (time.process_time() < end if seconds is not None else spent < effort):
            tried, order = next(search)
            spent += tried
            if order:
                keep_smaller(order)
    return Placement(lives, {live.name: offset for live, offset in zip(lives, best)}, height, bound)


def _up(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment


# The fixed orders; a sort key is made of a buffer and the number of buffers that are alive together with it.
_ORDERS: "Tuple[Callable[[Live, int], Tuple[int, int]], ...]" = (
    lambda live, together: (live.begin, -live.bytes),
    lambda live, together: (-live.bytes, live.begin - live.end),
    lambda live, together: (-live.bytes * together, live.begin),
)


def _bound(lives: Sequence[Live], sizes: Sequence[int]) -> int:
    """Return a lower bound of the block's size: the largest number of bytes alive in one step, or the largest end of a
    buffer with a fixed offset."""
    events = sorted([(live.begin, size) for live, size in zip(lives, sizes)]
                    + [(live.end, -size) for live, size in zip(lives, sizes)])  # at one step, ends come before begins
    ends = (live.offset + size for live, size in zip(lives, sizes) if live.offset is not None)
    return max(itertools.chain([0], ends, itertools.accumulate(change for _, change in events)))


def _together(lives: Sequence[Live], sizes: Sequence[int]) -> List[List[int]]:
    """Return, for each buffer, the other buffers of at least one byte whose live ranges overlap with its own."""
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
    """Return the offsets when each buffer of the order takes the lowest gap that is large enough. Buffers outside the
    order get offset 0."""
    offsets: List[Optional[int]] = [None] * len(lives)
    for b in order:
        live, size, at = lives[b], sizes[b], 0
        taken = sorted((offset, offset + sizes[other]) for other in together[b]
                       for offset in [offsets[other]] if offset is not None)
        if live.offset is not None:
            at, last = live.offset, live.offset + size
            if at % live.alignment or any(begin < last and at < end for begin, end in taken):
                raise ValueError(f"{live.name} cannot lie at {at}")
        else:
            for begin, end in taken:
                if begin - at >= size:
                    break
                at = max(at, _up(end, live.alignment))
        offsets[b] = at
    return [offset or 0 for offset in offsets]


# ---- the search ------------------------------------------------------------------------------------------------------


class _Buffers:
    """The buffers of at least one byte, numbered, in the form that the search reads. A section stands for a step whose
    set of alive buffers is not contained in the set of another step: a placement that is right in all sections is right
    in all steps.

    numbers: each buffer's number among all buffers. first, last: the sections first <= section < last of each buffer.
    together: the buffers that share a section with each buffer. loads: the bytes alive in each section. alive: the
    buffers alive in each section.
    """

    def __init__(self, numbers: Sequence[int], lives: Sequence[Live], sizes: Sequence[int],
                 together: Sequence[Sequence[int]]) -> None:
        here = {b: n for n, b in enumerate(numbers)}
        ends = sorted({lives[b].end for b in numbers})
        begins = sorted({lives[b].begin for b in numbers})
        # for each end, the last begin before it; duplicates are dropped
        sections = sorted({begins[bisect.bisect_left(begins, end) - 1] for end in ends})
        self.numbers = numbers
        self.sizes = [sizes[b] for b in numbers]
        self.durations = [lives[b].end - lives[b].begin for b in numbers]
        self.first = [bisect.bisect_left(sections, lives[b].begin) for b in numbers]
        self.last = [bisect.bisect_left(sections, lives[b].end) for b in numbers]
        self.together = [[here[other] for other in together[b]] for b in numbers]
        self.alive: List[List[int]] = [[] for _ in sections]
        for b, (first, last) in enumerate(zip(self.first, self.last)):
            for section in range(first, last):
                self.alive[section].append(b)
        self.loads = [sum(self.sizes[b] for b in alive) for alive in self.alive]


def _searched(buffers: _Buffers, height: "Callable[[], int]") -> "Iterator[Tuple[int, Optional[List[int]]]]":
    """Yield the outcome of one descent after another, without end: the number of buffers that the descent tried to
    place, and, if it found a smaller placement, the order of its buffers by offset. height: the size of the smallest
    known placement.

    Ranks are by duration and by area in turn, each times a random factor. Sections that were blamed weigh more in the
    next descents; after 40 descents in a row without success the weights are drawn anew.
    """
    drawn = random.Random(1)
    bound, count = max(buffers.loads), len(buffers.sizes)
    aim, failed, spread = 0, 0, 0.1
    areas = [size * duration for size, duration in zip(buffers.sizes, buffers.durations)]
    turns = [(quantity, [1.0] * len(buffers.loads)) for quantity in (buffers.durations, areas)]
    for quantity, weights in itertools.cycle(turns):
        while True:
            best = height()
            if not failed:
                aim = bound + (best - bound) * 4 // 5
            elif failed % 8 == 0:
                aim = (aim + best) // 2
            if failed % 40 == 39:
                spread = 1.1 - spread
                for _, others in turns:
                    others[:] = [1 + drawn.random() / 5 for _ in others]
            order = sorted(range(count), key=[-x * (1 + spread * drawn.random()) for x in quantity].__getitem__)
            rank = sorted(range(count), key=order.__getitem__)
            blame = [0] * len(weights)
            tried, offsets = _descend(buffers, rank, weights, aim, best, blame)
            if offsets is None:
                yield tried, None
                break
            failed = 0
            yield tried, [buffers.numbers[b] for b in sorted(range(count), key=offsets.__getitem__)]
        failed += 1
        most = max(blame) or 1
        weights[:] = [1 + (weight - 1) * 0.9 + times / most / 10 for weight, times in zip(weights, blame)]


_PLACED = 1 << 62


def _descend(buffers: _Buffers, rank: Sequence[int], weights: Sequence[float], aim: int, best: int,
             blame: List[int]) -> "Tuple[int, Optional[List[int]]]":
    """Return the number of buffers that were tried, and the offsets of a placement smaller than `best`, or None.

    A buffer that is not yet placed has a lowest offset: the top of the placed buffers in its sections. The next buffer
    is the one with the smallest lowest offset; ties are broken by the bytes still to be placed in its sections, times
    the sections' weights, then by rank. A buffer is not tried if it would lie wholly above another buffer that is still
    to be placed.

    A section needs at least the smallest lowest offset of its buffers plus its bytes still to be placed. A buffer is
    passed over, and the section is blamed, if placing the buffer lets a section need more than `aim`. If all buffers
    are passed over, the one whose sections need least is placed, and `aim` becomes that need; the descent ends once the
    need reaches `best`.
    """
    sizes, first, last, alive = buffers.sizes, buffers.first, buffers.last, buffers.alive
    lowest, offsets = [0] * len(sizes), [0] * len(sizes)
    of_lowest, of_first, of_last = lowest.__getitem__, first.__getitem__, last.__getitem__
    left = list(buffers.loads)
    pull = [load * weight for load, weight in zip(left, weights)]
    # the waiting buffers by lowest offset, and these offsets in order; a buffer stays in its list when its lowest
    # offset rises
    waiting, levels = {0: list(range(len(sizes)))}, [0]

    def urgency(b: int) -> "Tuple[float, int]":
        return -max(pull[first[b]:last[b]]), rank[b]

    def candidates() -> "Iterator[int]":
        ceiling = _PLACED
        for level in levels:
            if level >= ceiling:
                return
            waiting[level] = equals = [b for b in waiting[level] if lowest[b] == level]
            if len(equals) > 1:
                equals.sort(key=urgency)
            for b in equals:
                ceiling = min(ceiling, level + sizes[b])
                yield b

    tried = 0
    for _ in sizes:
        least, chosen, above = _PLACED, -1, None  # type: int, int, Optional[List[int]]
        for b in candidates():
            tried += 1
            offset, begin, end = lowest[b], first[b], last[b]
            top, most = offset + sizes[b], max(left[begin:end])
            need = offset + most
            if need <= aim:
                above = [other for other in buffers.together[b] if lowest[other] < top]
                if not above:
                    break
                before = [lowest[other] for other in above]
                for other in above:
                    lowest[other] = top
                lowest[b] = _PLACED
                room, where = aim - top, -1
                for section in itertools.chain(range(min(map(of_first, above)), begin),
                                               range(end, max(map(of_last, above)))):
                    if left[section] > room:
                        height = left[section] + min(map(of_lowest, alive[section]))
                        if height > need:
                            need, where = height, section
                if need <= aim:
                    break
                lowest[b] = offset
                for other, old in zip(above, before):
                    lowest[other] = old
                above = None
                blame[where] += 1
            else:
                blame[left.index(most, begin)] += 1
            if need < least:
                least, chosen = need, b
        else:
            if least >= best:
                return tried, None
            aim, b = least, chosen
            offset, begin, end = lowest[b], first[b], last[b]
            top = offset + sizes[b]
            above = [other for other in buffers.together[b] if lowest[other] < top]
            for other in above:
                lowest[other] = top
        lowest[b], offsets[b] = _PLACED, offset
        left[begin:end] = [load - sizes[b] for load in left[begin:end]]
        pull[begin:end] = [load * weight for load, weight in zip(left[begin:end], weights[begin:end])]
        if above:
            if top not in waiting:
                bisect.insort(levels, top)
            waiting[top] = waiting.get(top, []) + above
        while levels and all(lowest[b] != levels[0] for b in waiting[levels[0]]):
            del waiting[levels.pop(0)]
    return tried, offsets
