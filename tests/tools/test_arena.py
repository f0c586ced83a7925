"""Test the memory planner gen/program/arena.py: buffers that are live at the same time never share a byte, no placement
is smaller than the lower bound, and equal buffers get equal offsets.
"""

from __future__ import annotations

import doctest
import itertools
import random
import statistics
import xml.dom.minidom
from pathlib import Path
from typing import List, Sequence

import pytest

from bench.arena import read
from gen.program import arena, pictures
from gen.program.arena import Live, Placement, place

PEER = Path(__file__).resolve().parents[3] / "shared" / "peer" / "minimalloc"


MOST_FILLED = 1.08


def sound(lives: Sequence[Live], placement: Placement) -> None:
    """Check that two buffers that are live at the same time share no byte. Check that the lower bound is at least the
    total size of the buffers that are live at any step.
    """
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
    """Return the smallest size of a placement, by trying all orders. Each buffer is placed directly above the earlier
    buffers that are live with it, or at 0.
    """
    best = sum(live.bytes for live in lives)
    for order in itertools.permutations(lives):
        tops: "List[tuple[Live, int]]" = []
        for live in order:
            offset = max((top for other, top in tops if other.begin < live.end and live.begin < other.end), default=0)
            tops.append((live, offset + live.bytes))
        best = min(best, max(top for _, top in tops))
    return best


@pytest.mark.parametrize("count", [100, pytest.param(300, marks=pytest.mark.peer)])
def test_sound(count: int) -> None:
    rnd = random.Random(count)
    for _ in range(count):
        lives = drawn(rnd, rnd.randint(0, 40), rnd.randint(1, 20), rnd.choice([1, 5, 1000]), rnd.choice([(1,), (64,), (1, 4, 64)]))
        placement = place(lives)
        sound(lives, placement)
        assert placement == place(lives)


def test_tiny() -> None:
    """For few buffers the planner finds the smallest placement."""
    rnd = random.Random(2)
    for _ in range(150):
        lives = drawn(rnd, rnd.randint(1, 6), rnd.randint(2, 6), rnd.choice([3, 10, 100]))
        placement = place(lives, effort=400)
        sound(lives, placement)
        assert placement.bytes == smallest(lives)


def cut(rnd: random.Random, count: int, steps: int, size: int) -> List[Live]:
    """Return buffers that fill a block of memory completely at every step."""
    pieces = [(0, steps, 0, size)]
    while len(pieces) < count:
        piece = max(rnd.sample(pieces, min(3, len(pieces))), key=lambda p: (p[1] - p[0]) * (p[3] - p[2]))
        begin, end, low, high = piece
        if (rnd.random() < 0.5 and end - begin > 1) or high - low < 2:
            at = rnd.randint(begin + 1, end - 1)
            parts = [(begin, at, low, high), (at, end, low, high)]
        else:
            at = rnd.randint(low + 1, high - 1)
            parts = [(begin, end, low, at), (begin, end, at, high)]
        pieces.remove(piece)
        pieces += parts
    rnd.shuffle(pieces)
    return [Live(f"b{number}", high - low, begin, end) for number, (begin, end, low, high) in enumerate(pieces)]


def test_filled() -> None:
    """If buffers can fill a block of memory without a free byte, the search finds placements that are nearly as small
    as the block. The simple placements from which the search starts are larger.
    """
    rnd = random.Random(3)
    ratios, firsts = [], []
    for count in (20, 40, 80, 160, 320):
        lives = cut(rnd, count, 60, 1 << 16)
        first, placement = place(lives, effort=0), place(lives)
        sound(lives, first)
        sound(lives, placement)
        assert placement.bound == 1 << 16 and placement.bytes <= first.bytes
        assert placement == place(lives)
        firsts.append(first.bytes / first.bound)
        ratios.append(placement.bytes / placement.bound)
    assert statistics.mean(ratios) < MOST_FILLED < statistics.mean(firsts), (firsts, ratios)


@pytest.mark.peer
def test_deep() -> None:
    """Thousands of buffers can be placed, many of them with long live ranges."""
    rnd = random.Random(4)
    lives = [Live(f"b{n}", rnd.randint(1, 1000), n, n + rnd.choice([2, 3, 9, 300]), 16) for n in range(2500)]
    placement = place(lives, effort=3000)
    assert placement.bytes <= 1.2 * placement.bound
    sound(lives[:600], place(lives[:600]))


@pytest.mark.peer
def test_minimalloc() -> None:
    """On hard inputs, with one second of search for each, placements are on average at most 10 % larger than the lower
    bound.
    """
    files = sorted(PEER.glob("*.csv"))
    if not files:
        pytest.skip("SKIP: no ../shared/peer/minimalloc")
    ratios = []
    for file in files:
        lives = read(file)
        placement = place(lives, seconds=1)
        sound(lives, placement)
        ratios.append(placement.bytes / placement.bound)
    assert len(ratios) == 11 and statistics.mean(ratios) <= 1.10, ratios


def test_pictures() -> None:
    assert doctest.testmod(arena).failed == doctest.testmod(pictures, extraglobs={"place": place}).failed == 0
    assert pictures.drawn(place([])) == ["0 bytes for 0 buffers; at least 0 are needed"]
    rnd = random.Random(5)
    for count in (1, 3, 12, 60, 400):
        lives = [*drawn(rnd, count, count, 1000), Live("<&>", 5000, 0, count)]
        placement = place(lives, effort=100)
        lines = pictures.drawn(placement)
        assert len(lines) <= 40 and max(map(len, lines)) <= 100
        assert any("[<&> " in line for line in lines)
        assert str(placement.bytes) in lines[-1] and str(placement.bound) in lines[-1]
        root = xml.dom.minidom.parseString(pictures.svg(placement)).documentElement
        assert root and len(root.getElementsByTagName("title")) == sum(live.bytes > 0 for live in lives)


def test_fixed_places() -> None:
    lives = [Live("a", 64, 0, 9, 16), Live("b", 100, 2, 4, 16, 128), Live("c", 100, 3, 5, 16), Live("d", 60, 0, 3, 16)]
    sound(lives, place(lives))
    with pytest.raises(ValueError, match="cannot lie at 1"):
        place([*lives, Live("x", 16, 1, 3, 8, 120)])
    with pytest.raises(ValueError, match="cannot lie"):
        place([Live("a", 4, 0, 1, 4, 2)])
    assert place([Live("a", 0, 0, 1, 4, 8)]).offsets == {"a": 8}


def test_refused() -> None:
    for wrong in ({"bytes": -1}, {"end": 1}, {"alignment": 3}, {"alignment": 0}):
        with pytest.raises(ValueError):
            Live(**{"name": "a", "bytes": 1, "begin": 1, "end": 2, **wrong})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="one name"):
        place([Live("a", 1, 0, 1), Live("a", 1, 1, 2)])
