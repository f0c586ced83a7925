"""Place buffers in one block of memory. Buffers that are not alive in the same step may share bytes.

    >>> placement = place([Live("a", 64, 0, 2), Live("b", 32, 1, 3), Live("c", 64, 2, 4)])
    >>> placement.offsets, placement.bytes, placement.bound
    ({'a': 0, 'b': 64, 'c': 0}, 96, 96)

A `Live` is a buffer with its live range, in steps. Buffers that must have the same bytes, such as an operand and the
result that overwrites it, are passed as one `Live`, whose range covers them all. `place` returns a `Placement`. It
depends only on the buffers and their order, not on the machine. `gen/program/pictures.py` draws a placement.

`place` first puts each buffer into the lowest gap that is large enough, for three fixed orders of the buffers. If the
smallest of these placements is larger than the lower bound, a branch-and-bound search follows (`_descend`). It builds
placements from offset 0 upwards, and abandons one as soon as it cannot become smaller than the best known placement.
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
    """A buffer that is alive in the steps begin <= step < end. Its offset is a multiple of `alignment`, a power of two.
    If `offset` is given, the buffer must be placed there.
    """

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
    """The offsets of buffers in a block of memory, in bytes.

    offsets: the offset of each buffer, by its name.
    bytes: the size of the block.
    bound: a lower bound of that size. It is the largest number of bytes that are alive in one step, where each buffer's
        size is rounded up to the smallest alignment of all buffers.
    """

    lives: Tuple[Live, ...]
    offsets: Dict[str, int]
    bytes: int
    bound: int

    @property
    def alignment(self) -> int:
        """Return the alignment that the block needs: the largest alignment of its buffers."""
        return max((live.alignment for live in self.lives), default=1)


def place(lives: Sequence[Live], effort: Optional[int] = None, seconds: Optional[float] = None) -> Placement:
    """Return a placement of buffers with different names. The search is left out if a buffer has a fixed offset.

    effort: the number of times that the search may place a buffer. The default is 16 per buffer, but at most 8,000,
        which takes at most 1 s.
    seconds: the processor time in seconds after which the search ends instead. The placement then depends on the
        machine.
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
        """Put each buffer into the lowest gap, in the given order. Keep the placement if it is the smallest so far."""
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


# The sort keys of the fixed orders. A key is computed from a buffer and the number of buffers that are alive with it.
_ORDERS: "Tuple[Callable[[Live, int], Tuple[int, int]], ...]" = (
    lambda live, together: (live.begin, -live.bytes),
    lambda live, together: (-live.bytes, live.begin - live.end),
    lambda live, together: (-live.bytes * together, live.begin),
)


def _bound(lives: Sequence[Live], sizes: Sequence[int]) -> int:
    """Return a lower bound of the block's size. It is the larger of two numbers: the largest number of bytes that are
    alive in one step, and the largest end of a buffer with a fixed offset.
    """
    events = sorted([(live.begin, size) for live, size in zip(lives, sizes)]
                    # at the same step, ends come before begins
                    + [(live.end, -size) for live, size in zip(lives, sizes)])
    ends = (live.offset + size for live, size in zip(lives, sizes) if live.offset is not None)
    return max(itertools.chain([0], ends, itertools.accumulate(change for _, change in events)))


def _together(lives: Sequence[Live], sizes: Sequence[int]) -> List[List[int]]:
    """Return, for each buffer, the other buffers that are alive in at least one of its steps. Buffers of 0 bytes are
    left out.
    """
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
    """Put each buffer into the lowest gap that is large enough, in the given order, and return all offsets. A buffer
    that is not in the order gets offset 0.
    """
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
    """The input of the search: the buffers of at least one byte, renumbered, and the sections. A section represents
    steps. Steps whose buffers are all alive in another step need no section of their own. A placement without overlaps
    in any section has none in any step.

    numbers: for each buffer, its index among all buffers.
    first, last: for each buffer, its sections first <= section < last.
    together: for each buffer, the buffers that share a section with it.
    loads: for each section, the number of bytes that are alive in it.
    alive: for each section, the buffers that are alive in it.
    """

    def __init__(self, numbers: Sequence[int], lives: Sequence[Live], sizes: Sequence[int],
                 together: Sequence[Sequence[int]]) -> None:
        here = {b: n for n, b in enumerate(numbers)}
        ends = sorted({lives[b].end for b in numbers})
        begins = sorted({lives[b].begin for b in numbers})
        # For each end of a buffer, the last step before it in which a buffer begins. All buffers that are alive in some
        # other step are also alive together in one of these steps.
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
    """Yield the result of one descent after another, without end. A result is a pair. The first part is the number of
    times that the descent tried to place a buffer. The second part is the order of the buffers by offset if the
    placement is smaller than all previous ones, else None. height: returns the size of the smallest known placement.

    The rank of a buffer is its position in an order by duration or by area (duration * size), longest or largest first.
    The two orders alternate, and each duration or area is multiplied by a random factor. If a descent could not place a
    buffer because a section was too full, that section gets a larger weight in the next descents. After 40 descents
    without success, the weights are drawn again.
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
    """Build a placement from offset 0 upwards. Return the number of times that a buffer was tried, and the offsets if
    the placement is smaller than `best`, else None.

    A buffer that is not placed yet is waiting. Its lowest offset is the largest end of the placed buffers in its
    sections. The waiting buffer with the smallest lowest offset is placed next. Ties are broken by the largest value
    of weight * waiting bytes among the buffer's sections, and then by the lowest rank. A buffer is not tried if all
    of it would be above another waiting buffer.

    The need of a section is the smallest lowest offset of its waiting buffers, plus all bytes that wait in it. If a
    buffer would raise the need of a section above `aim`, the buffer is passed over and the section is blamed. If all
    buffers are passed over, the one that leads to the smallest need is placed, and `aim` becomes that need. The descent
    ends when the need reaches `best`.
    """
    sizes, first, last, alive = buffers.sizes, buffers.first, buffers.last, buffers.alive
    lowest, offsets = [0] * len(sizes), [0] * len(sizes)
    of_lowest, of_first, of_last = lowest.__getitem__, first.__getitem__, last.__getitem__
    left = list(buffers.loads)
    pull = [load * weight for load, weight in zip(left, weights)]
    # `waiting`: for an offset, the unplaced buffers that can be placed there, but not lower. `levels`: these offsets in
    # ascending order. If the lowest possible offset of a buffer has risen, the list of the old offset may still contain
    # the buffer.
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
