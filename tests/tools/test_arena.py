"""gen/program/arena.py: buffers alive together never share a byte, no placement is smaller than the bound, the same buffers give the same offsets."""

from __future__ import annotations

import itertools
import random
from typing import List, Sequence

import pytest

from gen.program.arena import Live, Placement, place


def sound(lives: Sequence[Live], placement: Placement) -> None:
    """Checks a placement pair by pair, and its bound step by step."""
    at = [placement.offsets[live.name] for live in lives]
    assert len(placement.offsets) == len(lives)
    for live, offset in zip(lives, at):
        assert offset >= 0 and offset % live.alignment == 0 and offset + live.bytes <= placement.bytes
        assert live.offset is None or live.offset == offset
    for (a, x), (b, y) in itertools.combinations(zip(lives, at), 2):
        if a.begin < b.end and b.begin < a.end and a.bytes and b.bytes:
            assert x + a.bytes <= y or y + b.bytes <= x, (a, x, b, y)
    steps = {live.begin for live in lives}
    alive = max((sum(live.bytes for live in lives if live.begin <= step < live.end) for step in steps), default=0)
    assert alive <= placement.bound <= placement.bytes


def drawn(rnd: random.Random, count: int, steps: int, most: int, alignments: Sequence[int] = (1,)) -> List[Live]:
    lives = []
    for number in range(count):
        begin = rnd.randrange(steps)
        lives.append(Live(f"b{number}", rnd.randint(0, most), begin, rnd.randint(begin + 1, steps), rnd.choice(alignments)))
    return lives


def smallest(lives: Sequence[Live]) -> int:
    """The least size of all placements: in some order, each buffer lies directly on those before it that live with it, or at 0."""
    best = sum(live.bytes for live in lives)
    for order in itertools.permutations(lives):
        tops: "List[tuple[Live, int]]" = []
        for live in order:
            offset = max((top for other, top in tops if other.begin < live.end and live.begin < other.end), default=0)
            tops.append((live, offset + live.bytes))
        best = min(best, max(top for _, top in tops))
    return best


def test_sound() -> None:
    rnd = random.Random(1)
    for _ in range(300):
        lives = drawn(rnd, rnd.randint(0, 40), rnd.randint(1, 20), rnd.choice([1, 5, 1000]), rnd.choice([(1,), (64,), (1, 4, 64)]))
        placement = place(lives)
        sound(lives, placement)
        assert placement == place(lives)


def test_fixed_places() -> None:
    lives = [Live("a", 64, 0, 9, 16), Live("b", 100, 2, 4, 16, 128), Live("c", 100, 3, 5, 16), Live("d", 60, 0, 3, 16)]
    sound(lives, place(lives))
    with pytest.raises(ValueError, match="cannot lie at 1"):
        place([*lives, Live("x", 16, 1, 3, 8, 120)])
    with pytest.raises(ValueError, match="cannot lie"):
        place([Live("a", 4, 0, 1, 4, 2)])


def test_refused() -> None:
    for wrong in ({"bytes": -1}, {"end": 1}, {"alignment": 3}, {"alignment": 0}):
        with pytest.raises(ValueError):
            Live(**{"name": "a", "bytes": 1, "begin": 1, "end": 2, **wrong})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="one name"):
        place([Live("a", 1, 0, 1), Live("a", 1, 1, 2)])
