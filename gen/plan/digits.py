"""Split the positions that a nest writes into digits along which every access has a constant stride.

The positions are those of the first result in memory: 0, 1, 2, ... The maps of all reads and writes determine the
digits. A transpose f32[64,32] -> f32[32,64], for example, has two digits, of sizes 32 and 64. Neighbouring digits are
merged if the strides of every access continue from one to the next. An access whose stride along a digit is not
constant is irregular. An irregular access reads element by element.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from gen import algebra
from gen.hlo import Shape, dtypes
from gen.plan.buffers import buffer_of, reads_of, scheduled_map
from gen.plan.nest import Nest
from gen.plan.partition import EMPTY, Partition, Root, compose
from gen.schedule import SPREAD_ELEMENTS, SPREAD_ROW, Interleaving

MOST_DIGITS = 12


@dataclass(frozen=True)
class StridedAccess:
    """An access to a buffer.

    name: the buffer's name.
    write: true for a write.
    width: the bytes of an element.
    bytes: the bytes that are read or written in all.
    strides: the distance in elements of one step of each digit; None if the access is irregular.
    """

    name: str
    write: bool
    width: int
    bytes: int
    strides: Optional[Tuple[int, ...]]


class MemoryMap(NamedTuple):
    """An access to a buffer.

    name: the buffer's name.
    write: true for a write.
    width: the bytes of an element.
    bytes: the bytes that are read or written in all.
    map: the map from the index to the position in the buffer.
    """

    name: str
    write: bool
    width: int
    bytes: int
    map: str


@dataclass(frozen=True)
class IterationSpace:
    """The positions that a kernel visits, split into digits, and the kernel's accesses. sizes: the sizes of the digits,
    major first.
    """

    sizes: Tuple[int, ...]
    accesses: Tuple[StridedAccess, ...]

    def weights(self) -> Tuple[int, ...]:
        """Return, for each digit, the number of positions by which one step of the digit moves."""
        return tuple(math.prod(self.sizes[k + 1:]) for k in range(len(self.sizes)))


def _splits(flat: str) -> List[int]:
    """Return the divisors of floor divisions and remainders of the map's first variable."""
    name = algebra.info(flat).variables[0].name
    return [division.period for division in algebra.divisions(flat) if division.variable == name]


def digit_sizes(elements: int, flats: Sequence[str]) -> Tuple[int, ...]:
    """Return the sizes of the digits into which the maps split a position, major first. A divisor in the maps is used
    if it divides `elements` and is a multiple of the smaller divisors that are used.
    """
    chain = [1]
    for split in sorted({s for flat in flats for s in _splits(flat)}):
        if split > chain[-1] and split % chain[-1] == 0 and elements % split == 0:
            chain.append(split)
    if chain[-1] != elements:
        chain.append(elements)
    return tuple(b // a for a, b in zip(chain, chain[1:]))[::-1]


def position(sizes: Sequence[int]) -> str:
    """Return the map from digits to the position: (g0, g1, ..) -> (position)."""
    names = [f"g{k}" for k in range(len(sizes))]
    weights = [math.prod(sizes[k + 1:]) for k in range(len(sizes))]
    total = " + ".join(f"{n} * {w}" for n, w in zip(names, weights)) or "0"
    domain = ", ".join(f"{n} in [0, {s - 1}]" for n, s in zip(names, sizes))
    return f"({', '.join(names)}) -> ({total})" + (f", domain: {domain}" if domain else "")


def iteration_space(partition: Partition, shape: Shape, further: "Sequence[Tuple[str, str]]" = (),
                    writes: "Optional[Sequence[Root]]" = None) -> Optional[IterationSpace]:
    """Return the iteration space of a nest whose positions are those of `shape`; None if a write is irregular.

    further: pairs of a name and a map from the nest's index to a number. Like the position of a write, the number must
    have a constant stride along each digit.
    """
    accesses = [MemoryMap(name, True, 0, 0, flat) for name, flat in further]
    for root in partition.roots if writes is None else writes:
        flat = compose(root.map, scheduled_map(root.shape))
        width = dtypes.storage_bytes(root.shape.dtype)
        accesses.append(MemoryMap(root.buffer.pointer, True, width, root.shape.bytes, flat))
    for read, _ in reads_of(partition, partition.entry):
        buffer = buffer_of(partition, read)
        if buffer and buffer.shape.dims:
            leaf = buffer.shape
            flat = compose(read.map, scheduled_map(leaf))
            accesses.append(MemoryMap(buffer.pointer, False, dtypes.storage_bytes(leaf.dtype), leaf.bytes, flat))
    return space_of(accesses, shape)


def space_of(accesses: "Sequence[MemoryMap]", shape: Shape) -> Optional[IterationSpace]:
    """Return the iteration space of some accesses, whose maps take an index of `shape`; None if a write is irregular.
    """
    unmap = algebra.call("shape", "unmap", shape.text)
    flats = [compose(unmap, access.map) for access in accesses]
    if shape.elements < 2 or any(flat == EMPTY for flat in flats):
        return None
    sizes = digit_sizes(shape.elements, flats)
    if len(sizes) > MOST_DIGITS:
        return None
    split = position(sizes)
    regular: List[StridedAccess] = []
    for (name, write, width, size, _), flat in zip(accesses, flats):
        digits = compose(split, flat)
        steps = [algebra.access(digits, f"g{k}")[0].stride for k in range(len(sizes))]
        strides = None if None in steps or algebra.guards(digits) else tuple(s or 0 for s in steps)
        if write and strides is None:
            return None
        access = StridedAccess(name, write, width, size, strides)
        if access not in regular:
            regular.append(access)
    return _merged(IterationSpace(sizes, tuple(regular)))


def in_words(space: IterationSpace, lines: bool = False) -> bool:
    """Return true if each array stores its rows contiguously, or interleaves n rows in 32-bit words. A word then has
    one element of each of the n rows. n must be 2 or 4, and the length of a row a multiple of 16 elements. lines: true
    if the length must be a multiple of 16 n elements, so that contiguous rows are whole cache lines.
    """
    n = space.sizes[-1]
    return n in (2, 4) and space.sizes[-2] % (16 * n if lines else 16) == 0 and all(
        a.strides is not None and (a.width * n == 4 if a.strides[-2:] == (n, 1) else a.strides[-2] == 1)
        for a in space.accesses)


def interleaved(space: IterationSpace, lines: bool = False) -> int:
    """Return the number n of rows that some arrays interleave and other arrays store one after another. An interleaved
    array contains element 0 of all n rows, then element 1 of all rows, and so on. Return 1 if there are no such rows.

    A third kind of array is allowed: it is only read, and all elements of a row read the same position. lines: see
    `in_words`.
    """
    if len(space.sizes) < 2 or any(not a.strides for a in space.accesses):
        return 1
    n, length = space.sizes[-1], space.sizes[-2]
    words = [a for a in space.accesses if a.strides and a.strides[-2:] == (n, 1)]
    rows = [a for a in space.accesses if a.strides and a.strides[-2] == 1]
    fixed = [a for a in space.accesses if a.strides and a.strides[-2] == 0 and not a.write]
    if not words or not rows or len(words) + len(rows) + len(fixed) < len(space.accesses):
        return 1
    return n if in_words(space, lines) or (n <= SPREAD_ELEMENTS and length >= SPREAD_ROW) else 1


def is_mixed_radix(strides: "Sequence[int]", sizes: "Sequence[int]") -> bool:
    """Return true if digits of these strides and sizes represent each number below the product of the sizes exactly
    once.
    """
    below = 1
    for stride, size in sorted((s, n) for s, n in zip(strides, sizes) if n > 1):
        if stride != below:
            return False
        below *= size
    return True


def block(read: StridedAccess, sizes: "Sequence[int]") -> int:
    """Return the size in bytes of the block of memory that is read along the last digit. Return 0 unless the blocks
    follow one after another in memory.
    """
    strides = read.strides or (0,)
    falling = all(high > low for high, low in zip(strides[:-1], strides[1:-1]))
    return strides[-1] * sizes[-1] * read.width if falling and is_mixed_radix(strides, sizes) else 0


def merged_digits(digits: "Sequence[Tuple[int, Sequence[int]]]") -> "List[Tuple[int, Sequence[int]]]":
    """Merge neighbouring digits if all their strides continue from one to the next, and drop digits of size 1. digits:
    the size of each digit, with its strides.
    """
    merged: "List[Tuple[int, Sequence[int]]]" = []
    for size, strides in digits:
        if size == 1:
            continue
        if merged and all(above == here * size for above, here in zip(merged[-1][1], strides)):
            merged[-1] = merged[-1][0] * size, strides
        else:
            merged.append((size, strides))
    return merged


def _merged(space: IterationSpace) -> IterationSpace:
    """Return the space without digits of size 1. Neighbouring digits are merged if the strides of every access continue
    from one to the next.
    """
    regular = [a.strides for a in space.accesses if a.strides is not None]
    joined = merged_digits([(size, column) for size, *column in zip(space.sizes, *regular)])
    sizes = [size for size, _ in joined]
    merged = iter(zip(*(column for _, column in joined))) if joined else iter([() for _ in regular])
    accesses = tuple(a if a.strides is None else StridedAccess(a.name, a.write, a.width, a.bytes, tuple(next(merged)))
                     for a in space.accesses)
    return IterationSpace(tuple(sizes), accesses)


def reach(flat: str) -> Tuple[int, int]:
    """Return the minimum and the maximum of a map from a position. The position is split into digits first, because the
    bounds of the map of digits are exact.
    """
    sizes = digit_sizes(algebra.info(flat).variables[0].hi + 1, [flat])
    return algebra.ranges(compose(position(sizes), flat))[0]


def strides(flat: str) -> "Optional[Tuple[Tuple[int, ...], Tuple[int, ...]]]":
    """Return the sizes of the digits into which a map splits its only variable, and the stride along each digit. Return
    None if a stride is not constant.
    """
    sizes = digit_sizes(algebra.info(flat).variables[0].hi + 1, [flat])
    digits = compose(position(sizes), flat)
    steps = [algebra.access(digits, f"g{k}")[0].stride for k in range(len(sizes))]
    return None if None in steps or algebra.guards(digits) else (sizes, tuple(s or 0 for s in steps))


class Radix(NamedTuple):
    """A map from positions to values that takes each value from `start` to `start + positions - 1` exactly once. sizes,
    strides: the digits of the position.
    """

    start: int
    sizes: Tuple[int, ...]
    strides: Tuple[int, ...]

    @property
    def positions(self) -> int:
        return math.prod(self.sizes)

    def weights(self) -> List[int]:
        """Return, for each digit, the number of positions by which one step of the digit moves."""
        return [math.prod(self.sizes[k + 1:]) for k in range(len(self.sizes))]


def radix(flat: str) -> "Optional[Radix]":
    """Split the position of a map into digits, and return them as a Radix. Return None if the strides do not prove that
    the map's values are consecutive and distinct.
    """
    info = algebra.info(flat)
    if len(info.variables) != 1 or info.variables[0].lo:
        return None
    sizes = digit_sizes(info.variables[0].hi + 1, [flat])
    digits = compose(position(sizes), flat)
    steps = [algebra.access(digits, f"g{k}")[0].stride for k in range(len(sizes))]
    start, strides = algebra.evaluate(flat, 0), tuple(s or 0 for s in steps)
    if start is None or None in steps or algebra.guards(digits) or not is_mixed_radix(strides, sizes):
        return None
    return Radix(start[0], sizes, strides)


def meeting(flat: str, other: str) -> Optional[str]:
    """Return the map from a position in one kernel to the position in another kernel that accesses the same element.

    Return None if the map is not proved to be a bijection. flat, other: the kernels' maps from position to element.
    """
    here, there = radix(flat), radix(other)
    if here is None or there is None or here.start != there.start or here.positions != there.positions:
        return None
    terms = [f"(((x - {there.start}) floordiv {s}) mod {n}) * {w}"
             for s, n, w in zip(there.strides, there.sizes, there.weights()) if n > 1]
    last = there.start + there.positions - 1
    back = f"(x) -> ({' + '.join(terms) or '0'}), domain: x in [{there.start}, {last}]"
    digits = ", ".join(f"(x floordiv {w}) mod {n}" for n, w in zip(here.sizes, here.weights()))
    split = f"(x) -> ({digits}), domain: x in [0, {here.positions - 1}]"
    return compose(split, compose(compose(position(here.sizes), flat), back))


def place(counts: Sequence[Tuple[str, int]], threads: int) -> Tuple[str, int]:
    """Return two values. The first is the map (th_x, bl_x) -> (n0, n1, ..) from a thread to its coordinates. The second
    is the number of thread blocks. counts: the name and the size of each coordinate.
    """
    items = math.prod(count for _, count in counts)
    blocks = -(-items // threads)
    item, results, weight = f"bl_x * {threads} + th_x", [], items
    for _, count in counts:
        weight //= count
        results.append(f"(({item}) floordiv {weight}) mod {count}")
    return (
        algebra.simplify(
            f"(th_x, bl_x) -> ({', '.join(results)}), domain: th_x in [0, {threads - 1}], bl_x in [0, {blocks - 1}], "
            f"{item} in [0, {items - 1}]"
        ),
        blocks,
    )


def moves(partition: Partition, space: IterationSpace) -> bool:
    """Return true if a nest only moves elements, without computing any."""
    return (
        len({a.width for a in space.accesses}) == 1
        and all(a.strides for a in space.accesses)
        and not partition.entry.body.entries
        and all(buffer_of(partition, partition.root_read(root)) is not None for root in partition.roots)
    )


def interleaving(nest: Nest) -> Interleaving:
    space = iteration_space(nest.partition, nest.shape)
    n = interleaved(space) if space else 1
    if n == 1 or space is None:
        return Interleaving()
    if not in_words(space):
        written = min(a.width for a in space.accesses if a.write)
        return Interleaving(n, 1, moves(nest.partition, space), 0, False, n * space.sizes[-2], written)
    lines = in_words(space, True)
    moved = moves(nest.partition, space) and lines
    if any(a.write and a.strides and a.strides[-1] != 1 for a in space.accesses):
        return Interleaving(n, n if lines else 1, moved)
    return Interleaving(n, 1, moved, max((block(a, space.sizes) for a in space.accesses if not a.write), default=0))


def row(nest: Nest) -> int:
    """Return the length of a row, which is the size of the minor digit. Every access must be contiguous or constant
    along a row, and there must be a written array whose rows do not follow each other in memory. Otherwise return 0.
    """
    space = iteration_space(nest.partition, nest.shape)
    if space is None or len(space.sizes) < 2 or any(a.strides is None or a.strides[-1] not in (0, 1)
                                                    for a in space.accesses):
        return 0
    row = space.sizes[-1]
    return row if any(a.write and a.strides and a.strides[-2] != row for a in space.accesses) else 0


def falling(nest: Nest) -> int:
    """Return the length of a run of positions along which a nest reads memory mostly backwards; 0 if there is none.
    That is, as the position rises, more bytes are read at falling addresses than at rising ones. A run consists of one
    or more minor digits.
    """
    space, run = iteration_space(nest.partition, nest.shape), 1
    reads = [(a.bytes, a.strides) for a in space.accesses if a.strides and not a.write] if space else []
    for k, size in reversed(list(enumerate(space.sizes if space else ()))):
        steps = [(count, (strides[k] > 0) - (strides[k] < 0)) for count, strides in reads]
        if sum(count * sign for count, sign in steps) >= 0:
            break
        run *= size
    return run if run > 1 else 0


def transposed(space: IterationSpace) -> Optional[int]:
    """Return the digit, other than the minor one, along which most bytes are contiguous. Return None if there is none.
    """
    bytes_along: Dict[int, int] = {}
    for access in space.accesses:
        for k, stride in enumerate((access.strides or ())[:-1]):
            if stride == 1 and access.strides and access.strides[-1] > 1:
                bytes_along[k] = bytes_along.get(k, 0) + access.bytes
    return max(bytes_along, key=lambda k: bytes_along[k], default=None)
