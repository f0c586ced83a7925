"""The transpose hero (kernel emitter) on GPUs: a block of threads moves a tile through shared memory.

The iteration space has one dimension for each digit of the position in the first result, a mixed-radix number
(gen/plan/digits.py). A tile is a box: `rows` indices along the dimensions in which transposed accesses are contiguous,
and `lanes` indices along the dimensions in which the first result is contiguous. Barriers separate three phases; in
each phase, adjacent threads access adjacent addresses:
- load: buffers that are contiguous along rows are read in their own order and stored to shared memory.
- take: adjacent threads take adjacent lanes. They read transposed elements from shared memory, read all other elements
  directly from their buffers, compute, and store results.
- store: results that are contiguous along rows are read from shared memory and written in their own order.

A 32-bit word of a tile contains elements of one or two bytes from `pack` rows. A thread has `pack` rows of such words,
and transposes blocks of pack x pack elements in its registers. If reads and writes have the same short minor dimension,
its `unit` elements are moved together. In shared memory, the distance between a tile's lanes, and the rotation of their
words, are chosen by counting bank conflicts at the addresses that the maps give.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

from gen import algebra
from gen.emit.body import Body
from gen.emit.form import Form
from gen.emit.helpers import Helpers
from gen.emit.maps import conditions
from gen.statements import Assign, Statement
from gen.emit.values import Access, Touched
from gen.heroes import transpose_cpu
from gen.heroes.hero import Choice, Context, Hero
from gen.heroes.kernel import Coordinate, Grid, Kernel, Placing, Report, StepCode, Text, kernel_of
from gen.hlo import dtypes
from gen.plan.buffer import Buffer
from gen.plan.buffers import buffer_of, memory_map, reads_of
from gen.plan.digits import IterationSpace, iteration_space, position
from gen.plan.nest import Nest
from gen.plan.partition import compose
from gen.schedule import Device, Schedule
from gen.targets import Target


@dataclass(frozen=True)
class DigitAccess:
    """A buffer that the kernel reads or writes, with its strides along the dimensions of the iteration space.

    maps: the map from the kernel's index to the position in the buffer. There are several if the nest has accesses
        whose maps differ but give equal positions.
    """

    buffer: Buffer
    write: bool
    strides: Optional[Tuple[int, ...]]
    maps: Tuple[str, ...]

    @property
    def index(self) -> str:
        return self.maps[0]

    @property
    def dtype(self) -> str:
        return self.buffer.shape.dtype

    @property
    def bytes(self) -> int:
        return self.buffer.shape.bytes

    @property
    def width(self) -> int:
        return dtypes.storage_bytes(self.dtype)


@dataclass(frozen=True)
class SharedTileSchedule(Schedule):
    """A tile of rows x lanes x unit elements; a thread has `vec` elements of each of `pack` rows. notes: text for `gen
    explain` about the layout of the tile in shared-memory banks.
    """

    rows: int = 1
    lanes_: int = 1
    pack: int = 1
    unit: int = 1
    notes: Tuple[str, ...] = ()

    def text(self) -> str:
        words = [super().text(), f"tile {self.rows} x {self.lanes_}" + (f" x {self.unit}" if self.unit > 1 else ""),
                 f"vec {self.vec}"]
        return ", ".join(words + [f"{self.pack} rows a word"] * (self.pack > 1) + list(self.notes))


@dataclass(frozen=True)
class StagedAccess:
    """An access that goes through a tile in shared memory.

    word: bytes of a word in shared memory.
    vec: number of elements that a thread moves between tile and memory at once.
    pitch: number of words from one lane of the tile to the next.
    turn: after each `turn[0]` lanes, the words are rotated by `turn[1]` more words.
    """

    access: DigitAccess
    name: str
    word: int
    vec: int
    pitch: int = 0
    turn: Tuple[int, int] = (1, 0)

    @property
    def held(self) -> int:
        """Return the number of elements in a word."""
        return self.word // self.access.width


@dataclass(frozen=True)
class Frame:
    """The dimensions of the iteration space.

    sizes: the size of each dimension.
    rows, lanes: the dimensions along a tile's rows and along its lanes, fastest first.
    unit: number of elements that are moved together.
    """

    sizes: Tuple[int, ...]
    rows: Tuple[int, ...]
    lanes: Tuple[int, ...]
    unit: int

    @property
    def high(self) -> int:
        return math.prod(self.sizes[k] for k in self.rows)

    @property
    def wide(self) -> int:
        return math.prod(self.sizes[k] for k in self.lanes)

    @property
    def outer(self) -> "List[int]":
        """Return the dimensions that are not inside tiles. Blocks have different indices along them."""
        inside = {*self.rows, *self.lanes, *([len(self.sizes) - 1] if self.unit > 1 else [])}
        return [k for k in range(len(self.sizes)) if k not in inside]

    def counts(self, tile: SharedTileSchedule) -> "List[Tuple[str, int]]":
        """Return the coordinates of a block as (name, size), slowest first."""
        tiles = [("row_tile", -(-self.high // tile.rows)), ("lane_tile", -(-self.wide // tile.lanes_))]
        return [(f"g{k}", self.sizes[k]) for k in self.outer] + [(name, count) for name, count in tiles if count > 1]

    def position(self, tile: SharedTileSchedule) -> str:
        """Return the map (g.., row_tile, lane_tile, r, l, e) -> (position in the first result's memory): tile
        coordinates, then row, lane and element in the tile.
        """
        weights = [math.prod(self.sizes[k + 1:]) for k in range(len(self.sizes))]
        counts = dict(self.counts(tile))
        row = f"(row_tile * {tile.rows} + r)" if "row_tile" in counts else "r"
        lane = f"(lane_tile * {tile.lanes_} + l)" if "lane_tile" in counts else "l"
        terms, below = [f"g{k} * {weights[k]}" for k in self.outer], 1
        for k in self.rows:
            terms.append(f"(({row} floordiv {below}) mod {self.sizes[k]}) * {weights[k]}")
            below *= self.sizes[k]
        terms += [f"{lane} * {weights[self.lanes[0]]}", "e"]
        box = {**counts, "r": tile.rows, "l": tile.lanes_, "e": self.unit}
        domain = [f"{name} in [0, {size - 1}]" for name, size in box.items()]
        domain += [f"{row} in [0, {self.high - 1}]", f"{lane} in [0, {self.wide - 1}]"]
        return algebra.simplify(f"({', '.join(box)}) -> ({' + '.join(terms)}), domain: {', '.join(domain)}")


# ---- accesses through tiles ----

def _accesses(nest: Nest, space: IterationSpace) -> List[DigitAccess]:
    """Return the accesses without repetition: all writes, and the reads that are outside of loops and guards."""
    partition, unmap = nest.partition, algebra.call("shape", "unmap", nest.shape.text)
    split = position(space.sizes)
    accesses: Dict[Tuple[Buffer, str], DigitAccess] = {}

    def add(buffer: Buffer, index: str, write: bool) -> None:
        digits = compose(split, compose(unmap, index))
        steps = [algebra.access(digits, f"g{k}")[0].stride for k in range(len(space.sizes))]
        strides = None if None in steps or algebra.guards(digits) else tuple(s or 0 for s in steps)
        maps = accesses[buffer, digits].maps if (buffer, digits) in accesses else ()
        accesses[buffer, digits] = DigitAccess(buffer, write, strides, (*maps, index))
    for read, region in reads_of(partition, partition.entry):
        buffer = buffer_of(partition, read)
        if buffer and buffer.shape.dims and region is partition.entry.body:
            add(buffer, compose(read.map, memory_map(buffer.shape)), False)
    for root in partition.roots:
        add(root.buffer, compose(root.map, memory_map(root.shape)), True)
    return list(accesses.values())


def _frame(device: Device, space: IterationSpace, accesses: Sequence[DigitAccess]) -> "Optional[Tuple[Frame, List[DigitAccess]]]":
    """Choose the dimensions of the tiles' rows and lanes, and return them with the accesses that are contiguous along
    rows; None if there are no such accesses.
    """
    last = len(space.sizes) - 1
    units = [1, space.sizes[-1]] if last and space.sizes[-1] * max(a.width for a in accesses) <= device.line else [1]
    for unit in units:
        lane = last if unit == 1 else last - 1
        along: Dict[int, List[DigitAccess]] = {}
        for access in accesses:
            for k, stride in enumerate((access.strides or ())[:lane]):
                if access.strides and stride == unit and access.strides[lane] > unit and (
                        unit == 1 or access.strides[last] == 1):
                    along.setdefault(k, []).append(access)
        if along:
            row = max(along, key=lambda k: sum(a.bytes for a in along[k]))
            return Frame(space.sizes, *_runs(device, space.sizes, row, lane, unit, along[row]), unit), along[row]
    return None


def _runs(device: Device, sizes: Sequence[int], row: int, lane: int, unit: int,
          staged: Sequence[DigitAccess]) -> "Tuple[Tuple[int, ...], Tuple[int, ...]]":
    """Return the dimensions of rows and of lanes. If a dimension is short, or would leave much of its last tile empty,
    the dimensions that continue it in memory are added.
    """
    runs, line = {"rows": [row], "lanes": [lane]}, max(device.transpose_gpu.banks,
                                                       device.coalesced // min(a.width for a in staged) // unit)

    def size(run: str) -> int:
        return math.prod(sizes[k] for k in runs[run])

    def following(run: str) -> Optional[int]:
        used = {*runs["rows"], *runs["lanes"], len(sizes) - 1}
        if size(run) % line == 0 or size(run) >= device.transpose_gpu.run_lines * line:
            return None
        if run == "lanes":
            return runs["lanes"][-1] - 1 if runs["lanes"][-1] - 1 not in used and runs["lanes"][-1] else None
        return next((k for k in range(len(sizes)) if k not in used
                     and all((a.strides or ())[k] == unit * size(run) for a in staged)), None)
    while True:
        for run in sorted(runs, key=size):
            digit = following(run)
            if digit is not None:
                runs[run].append(digit)
                break
        else:
            return tuple(runs["rows"]), tuple(runs["lanes"])


# ---- tile sizes ----

def _extent(size: int, most: int, quantum: int) -> int:
    """Return the size of a tile's side, a whole number of vectors. If there are few tiles along this side, they have
    equal sizes.
    """
    if size >= 3 * most:
        return max(1, most // quantum) * quantum
    part = -(-size // -(-size // most))
    return min(size, -(-part // quantum) * quantum)


def _power(n: int, most: int) -> int:
    """Return the largest power of two, at most `most`, that divides n."""
    return min(most, n & -n)


def _tiles(device: Device, frame: Frame, staged: Sequence[DigitAccess],
           others: Sequence[DigitAccess]) -> Iterator[SharedTileSchedule]:
    """Yield tiles, best first: first those with words of several rows, then wide accesses, then large tiles."""
    numbers = device.transpose_gpu
    small = min(a.width for a in staged)
    widths = [a.width for a in others] or [a.width for a in staged]
    for pack in [numbers.bank // small, 1] if small < numbers.bank and frame.unit == 1 else [1]:
        full = numbers.tile_side
        for side in (full * pack if pack > 1 else full * min(2, max(1, numbers.bank // small)), full, full // 2):
            if pack > 1 and side < full * pack:
                continue
            rows, lanes = min(side, frame.high), min(side, frame.wide)
            rows, lanes = max(rows, side * side // lanes), max(lanes, side * side // rows)
            rows = _extent(frame.high, rows, _power(frame.high, max(1, device.line // small // frame.unit)))
            lanes = _extent(frame.wide, lanes, _power(frame.wide, max(1, device.line // min(widths) // frame.unit)))
            vec = device.line // min(widths)
            while vec * max(widths) > device.step_bytes:
                vec //= 2
            while vec >= pack:
                if rows % pack == 0 and frame.high % pack == 0 \
                        and _has_vectors(vec, lanes, frame.wide, rows, frame.high, pack, frame.unit):
                    accesses = rows // pack * lanes * frame.unit // vec
                    threads = min(numbers.threads, -(-accesses // numbers.tile_threads) * numbers.tile_threads)
                    yield SharedTileSchedule(threads, vec=vec, rows=rows, lanes_=lanes, pack=pack, unit=frame.unit)
                vec //= 2


def _has_vectors(vec: int, side: int, size: int, other: int, others: int, pack: int, unit: int) -> bool:
    """Return true if no vector crosses the border of a tile or of the array. A vector may continue in the next row (or
    lane) only if a tile contains whole rows (or lanes).
    """
    if side * unit % vec == 0 and size * unit % vec == 0:
        return True
    return side == size and pack == 1 and side * other * unit % vec == 0 and side * others * unit % vec == 0


# ---- maps ----

class Local(NamedTuple):
    """The elements that a thread copies or computes in one of the kernel's three phases.

    element: the map expressions "r, l, e" of an element: its row, its lane, and its number among the elements of the
        same row and lane, which are moved together.
    counts: for each variable in these expressions, the number of its values.
    bound: the constraint that excludes threads without an element; "" if each thread always has one.
    """

    element: str
    counts: Dict[str, int]
    bound: str


def _local(tile: SharedTileSchedule, vec: int, along: str) -> Local:
    """Return the elements of a thread in one of the kernel's phases. along: "rows" or "lanes", the direction in which
    adjacent threads have adjacent elements.
    """
    by_lanes = along == "lanes"
    high = tile.rows // tile.pack if by_lanes else tile.rows
    units = high * tile.lanes_ * tile.unit // vec
    passes = -(-units // tile.threads)
    box = {"th_x": tile.threads, **({"pass": passes} if passes > 1 else {}),
           **({"row": tile.pack} if by_lanes and tile.pack > 1 else {}), "vec": vec}
    thread = f"pass * {tile.threads} + th_x" if passes > 1 else "th_x"
    cell = f"((({thread}) * {vec} + vec) floordiv {tile.unit})"
    fast = tile.lanes_ if by_lanes else high
    here = [f"({cell} floordiv {fast})",
            f"({cell} mod {fast})"] if by_lanes else [f"({cell} mod {fast})", f"({cell} floordiv {fast})"]
    if by_lanes and tile.pack > 1:
        here[0] = f"{here[0]} * {tile.pack} + row"
    bound = f", {thread} in [0, {units - 1}]" if units < passes * tile.threads else ""
    return Local(f"{here[0]}, {here[1]}, (({thread}) * {vec} + vec) mod {tile.unit}", box, bound)


def _box(frame: Frame, tile: SharedTileSchedule, vec: int, along: str) -> "Dict[str, Tuple[int, int]]":
    counts = dict(frame.counts(tile))
    return {name: (0, size - 1) for name, size in {**counts, **_local(tile, vec, along).counts}.items()}


def _in_tile(tile: SharedTileSchedule, vec: int, along: str) -> str:
    """Return the map (th_x)[(pass, row,) vec] -> (r, l, e) from a thread to the row, the lane and the element in the
    tile.
    """
    local = _local(tile, vec, along)
    names = [name for name in local.counts if name != "th_x"]
    domain = ", ".join(f"{name} in [0, {size - 1}]" for name, size in local.counts.items())
    return algebra.simplify(f"(th_x)[{', '.join(names)}] -> ({local.element}), domain: {domain}{local.bound}")


def _in_output(frame: Frame, tile: SharedTileSchedule, vec: int, along: str) -> str:
    """Return the map (g.., row_tile, lane_tile, th_x)[(pass, row,) vec] -> (position in the first result's memory)."""
    local, counts = _local(tile, vec, along), dict(frame.counts(tile))
    inner = [name for name in local.counts if name != "th_x"]
    domain = ", ".join(f"{name} in [0, {size - 1}]" for name, size in {**counts, **local.counts}.items())
    here = f"({', '.join([*counts, 'th_x'])})[{', '.join(inner)}] -> ({', '.join([*counts, local.element])}), domain: {domain}{local.bound}"
    return compose(algebra.simplify(here), frame.position(tile))


def _address(tile: SharedTileSchedule, stage: StagedAccess) -> str:
    """Return the map (r, l, e) -> (word in shared memory) from a row, a lane and an element in the tile."""
    pack = stage.held if tile.unit == 1 else 1
    count, words = tile.rows // pack, max(1, tile.unit // stage.held)
    word = (f"(r floordiv {pack})" if not stage.turn[1]
            else f"((r floordiv {pack} + (l floordiv {stage.turn[0]}) * {stage.turn[1]}) mod {count})")
    inside = f"e floordiv {stage.held}" if tile.unit > 1 else "0"
    return algebra.simplify(
        f"(r, l, e) -> (l * {stage.pitch} + {word} * {words} + {inside}), domain: r in [0, {tile.rows - 1}], "
        f"l in [0, {tile.lanes_ - 1}], e in [0, {tile.unit - 1}]"
    )


# ---- banks ----

def conflicts(device: Device, address: str, word: int, threads: int, at: "Sequence[Sequence[int]]") -> int:
    """Return the largest number of words that a warp accesses at once in one bank; 1 means no conflicts. The first two
    warps and the last warp of a block are counted. Words of 8 bytes are accessed by half a warp at once, words of 16
    bytes by a quarter of a warp.

    address: a map (th_x)[..] to words of `word` bytes.
    at: the combinations of values of the map's other variables for which accesses are counted.
    """
    numbers = device.transpose_gpu
    worst, together = 1, numbers.banks * numbers.bank // max(word, numbers.bank)
    warps = {0, numbers.banks, (threads - 1) // numbers.banks * numbers.banks}
    for first in (warp + part for warp in warps for part in range(0, numbers.banks, together)):
        for rest in at:
            banks: Dict[int, Set[int]] = {}
            for lane in range(together):
                element = algebra.evaluate(address, first + lane, *rest) if first + lane < threads else None
                if element is not None:
                    start = element[0] * word // numbers.bank
                    for k in range(start, start + max(1, word // numbers.bank)):
                        banks.setdefault(k % numbers.banks, set()).add(k)
            worst = max(worst, *(len(words) for words in banks.values())) if banks else worst
    return worst


def _degree(device: Device, tile: SharedTileSchedule, stage: StagedAccess) -> int:
    """Return the maximum of `conflicts` over the two phases of the kernel that access a tile."""
    degree = 1
    for vec, along, held in ((stage.vec, "rows", stage.held), (tile.vec, "lanes", stage.held if tile.unit > 1 else 1)):
        local = _in_tile(tile, vec, along)
        names = [v.name for v in algebra.info(local).of_kind("range")]
        at = [[k if name == "vec" else 0 for name in names] for k in sorted({0, (vec - 1) // held * held})]
        degree = max(degree, conflicts(device, compose(local, _address(tile, stage)), stage.word, tile.threads, at))
    return degree


def _in_banks(device: Device, tile: SharedTileSchedule, stage: StagedAccess) -> "Tuple[StagedAccess, str]":
    """Choose the layout of a tile in banks: plain, padded by at least one bank after the words of each lane, rotated,
    or both. Return the first layout without conflicts, else the layout with the fewest. If the widest accesses have
    conflicts in all layouts, accesses of half the width are tried too.
    """
    tried: "List[Tuple[int, StagedAccess]]" = []
    for vec in (stage.vec, stage.vec // 2) if stage.vec * stage.access.width == 16 and stage.vec > stage.held else (
            stage.vec,):
        pack = stage.held if tile.unit == 1 else 1
        count = tile.rows // pack
        plain = count * max(1, tile.unit // stage.held)
        padded, lanes = plain + max(1, device.transpose_gpu.bank // stage.word), max(1, tile.vec // tile.unit)
        turns = [(lanes, turn) for turn in (4, 2, 1) if turn < count]
        for pitch, turn in ((plain, (1, 0)), (padded, (1, 0)),
                            *((pitch, turn) for turn in turns for pitch in (plain, padded))):
            form = replace(stage, vec=vec, pitch=pitch, turn=turn)
            tried.append((_degree(device, tile, form), form))
            if tried[-1][0] == 1:
                break
        if tried[-1][0] == 1:
            break
    degree, form = min(tried, key=lambda x: x[0])
    turned = f", rotated by {form.turn[1]} more words after each {form.turn[0]} lanes" if form.turn[1] else ""
    words = f"{form.name} in rows of {form.pitch} words of {form.word} bytes{turned}"
    return form, f"{words}: {degree}-way" + (f" (rows of {tried[0][1].pitch}: {tried[0][0]}-way)"
                                             if degree < tried[0][0] else "")


# ---- the kernel ----

@dataclass(frozen=True)
class Candidate:
    """A nest with its functions inlined, the dimensions of its tiles, a tile, and the accesses through the tile."""

    nest: Nest
    frame: Frame
    tile: SharedTileSchedule
    stages: List[StagedAccess]


class TransposeGpuHero(Hero[Nest, Candidate]):
    """The emitter (hero) of tiles that go through shared memory."""

    name = "transpose"
    nest_class = Nest

    def takes(self, nest: Nest, context: Context) -> bool:
        return not context.device.cpu and transpose_cpu.takes(nest, context)

    def schedules(self, nest: Nest, context: Context) -> "Iterable[Candidate]":
        nest = transpose_cpu.inlined(nest)
        space = iteration_space(nest.partition, nest.shape)
        accesses = _accesses(nest, space) if space else []
        framed = _frame(context.device, space, accesses) if space else None
        if framed is None:
            return
        frame, staged = framed
        others = [a for a in accesses if a not in staged and a.strides and a.strides[frame.lanes[0]] == frame.unit]
        for tile in _tiles(context.device, frame, staged, others):
            stages = _stages(context.device, frame, tile, nest, staged, others)
            if stages is None:
                continue
            laid = [_in_banks(context.device, tile, stage) for stage in stages]
            stages, tile = [stage for stage, _ in laid], replace(tile, notes=tuple(note for _, note in laid))
            if sum(stage.pitch * tile.lanes_ * stage.word for stage in stages) <= context.target.shared_bytes:
                yield Candidate(nest, frame, tile, stages)

    def forms(self, nest: Nest, schedule: Candidate, context: Context) -> "Iterable[Form]":
        thread = _thread(schedule)
        staged = {(stage.access.buffer.pointer, compose(thread, index)): "" for stage in schedule.stages
                  for index in stage.access.maps}
        return [_form(schedule, staged)]

    def maps(self, nest: Nest, schedule: Candidate, context: Context) -> "Iterable[str]":
        frame, tile = schedule.frame, schedule.tile
        in_tile, in_output = _in_tile(tile, tile.vec, "lanes"), _in_output(frame, tile, tile.vec, "lanes")
        yield _at_last(in_output, tile.vec, tile, _box(frame, tile, tile.vec, "lanes"))
        for stage in schedule.stages:
            rows, address = _in_output(frame, tile, stage.vec, "rows"), _address(tile, stage)
            yield _at_last(rows, stage.vec, tile, _box(frame, tile, stage.vec, "rows"))
            yield algebra.substitute(_flat(frame, tile, schedule.nest, stage.access, stage.vec, "rows"), vec=0)
            yield from _cells(compose(_in_tile(tile, stage.vec, "rows"), address), stage.vec, stage.held)
            local = compose(in_tile, address)
            yield from [local] if stage.held == 1 else _held_cells(local, tile, stage)
        yield from [placing for placing in [_placing(frame.counts(tile))] if placing]

    def accesses(self, nest: Nest, schedule: Candidate, context: Context) -> "List[Access]":
        """Return the memory accesses of the load and store phases, then those of the phase between them."""
        along = [Access("write" if stage.access.write else "read", stage.access.buffer,
                        _flat(schedule.frame, schedule.tile, schedule.nest, stage.access, stage.vec, "rows"), stage.vec)
                 for stage in schedule.stages]
        return [*along, *super().accesses(nest, schedule, context)]

    def grids(self, choice: Choice[Nest, Candidate], context: Context) -> "List[Grid]":
        tiled = choice.schedule
        blocks = math.prod(count for _, count in tiled.frame.counts(tiled.tile))
        return [Grid(tiled.nest.name, tiled.tile, choice.index, blocks, _thread(tiled))]

    def build(self, choice: Choice[Nest, Candidate], context: Context) -> "List[Kernel]":
        return [TransposeGpuWriter(context.target, context.helpers, choice.schedule, choice.index,
                                   context.excess).kernel(choice.grids[0])]

    def describe(self, choice: Choice[Nest, Candidate], grid: Grid, context: Context) -> "List[str]":
        tiled = choice.schedule
        return [f"position: {_in_output(tiled.frame, tiled.tile, tiled.tile.vec, 'lanes')}"]


HERO = TransposeGpuHero()


def _flat(frame: Frame, tile: SharedTileSchedule, nest: Nest, access: DigitAccess, vec: int, along: str) -> str:
    """Return the map from a thread and its step to the position in the access's buffer. `along` selects the phase."""
    return compose(compose(_in_output(frame, tile, vec, along), algebra.call("shape", "unmap", nest.shape.text)),
                   access.index)


def _aligned(flat: str, width: int, vec: int, size: int) -> bool:
    """Return true if `vec` elements are contiguous and aligned to words of `size` bytes."""
    access = algebra.access(flat, "vec")[0]
    return vec == 1 or (access.stride == 1 and access.align * width % size == 0)


def _stages(device: Device, frame: Frame, tile: SharedTileSchedule, nest: Nest, staged: Sequence[DigitAccess],
            others: Sequence[DigitAccess]) -> "Optional[List[StagedAccess]]":
    """Return the accesses that go through shared memory; None if the tile's vectors are not aligned."""
    for access in others:
        if not _aligned(_flat(frame, tile, nest, access, tile.vec, "lanes"), access.width, tile.vec,
                        min(device.line, tile.vec * access.width)):
            return None
    stages = []
    for access in staged:
        width = access.width
        held = min(tile.pack, max(1, device.transpose_gpu.bank // width)) if frame.unit == 1 else _power(
            math.gcd(frame.unit, tile.vec), device.line // width)
        vec = device.line // width
        while vec > held and not (vec % held == 0
                                  and _has_vectors(vec, tile.rows, frame.high, tile.lanes_, frame.wide, 1, frame.unit)
                                  and _aligned(_flat(frame, tile, nest, access, vec, "rows"), width, vec, vec * width)):
            vec //= 2
        vec = max(vec, held)
        while vec > 1 and not _aligned(_flat(frame, tile, nest, access, vec, "rows"), width, vec, vec * width):
            if frame.unit == 1:
                return None
            held = vec = vec // 2
        stages.append(StagedAccess(access, f"tile_{access.buffer.pointer}", held * width, vec))
    return [replace(s, name=f"{s.name}_{k}") if any(o.name == s.name for o in stages[:k]) else s
            for k, s in enumerate(stages)]


# ---- records for templates/kernels/transpose_gpu.j2 ----

@dataclass(frozen=True)
class SharedTile:
    """An array in shared memory."""

    name: str
    type: str
    words: int


@dataclass(frozen=True)
class Copy:
    """A copy between a buffer and a tile, in `passes` passes. In each pass, a thread copies one vector of the buffer,
    which is one or several words of the tile.

    name: name of the union that holds the vector, if it is several words.
    guard: condition that the vector is inside the array.
    move: statement that loads or stores the vector.
    type: type of the vector.
    word: type of a word.
    cells: C texts of the indices of the words in the tile.
    """

    tile: str
    name: str
    passes: int
    guard: str
    move: Statement
    type: str
    word: str
    cells: List[str]


@dataclass(frozen=True)
class Held:
    """The words of a tile that a thread holds in registers while it computes. A union allows access by words and by
    `elements` elements. write: true if the words are stored to the tile after the computation; false if they are loaded
    before it.
    """

    tile: str
    name: str
    word: str
    element: str
    elements: int
    cells: List[str]
    write: bool


@dataclass(frozen=True)
class TransposeGpuRecord:
    """The record that templates/kernels/transpose_gpu.j2 prints.

    loads, stores: the copies between memory and shared memory, before and after the computation.
    passes: number of passes of the computation.
    guard: the condition that a thread computes something in a pass.
    pack: number of rows that a thread computes in a step.
    """

    placing: Placing
    tiles: List[SharedTile]
    loads: List[Copy]
    stores: List[Copy]
    passes: int
    guard: str
    held: List[Held]
    pack: int
    step: StepCode


def _thread(tiled: Candidate) -> str:
    """Return the map from a thread and its step, in the phase that computes, to the result's index."""
    return compose(_in_output(tiled.frame, tiled.tile, tiled.tile.vec, "lanes"),
                   algebra.call("shape", "unmap", tiled.nest.shape.text))


def _form(tiled: Candidate, staged: "Dict[Tuple[str, str], str]") -> Form:
    partition, tile = tiled.nest.partition, tiled.tile
    return Form(partition, partition.entry, _thread(tiled), tile, _box(tiled.frame, tile, tile.vec, "lanes"),
                staged=staged)


def _at_last(index: str, vec: int, tile: SharedTileSchedule, box: "Dict[str, Tuple[int, int]]") -> str:
    """Return the map `index`, restricted to the last element of each vector."""
    return algebra.substitute(index, vec=vec - 1, **({"row": tile.pack - 1} if "row" in box else {}))


def _cells(address: str, vec: int, held: int) -> "List[str]":
    """Return, for each word of a vector, the map from a thread to the position of this word in the tile."""
    return [algebra.substitute(address, vec=k) for k in range(0, vec, held)]


def _held_cells(address: str, tile: SharedTileSchedule, stage: StagedAccess) -> "List[str]":
    """Return, for each word that a thread holds in registers, the map from the thread to the word's position in the
    tile.
    """
    per = 1 if tile.unit == 1 else stage.held
    return [algebra.substitute(address, vec=vec, **({"row": row} if tile.pack > 1 else {}))
            for vec in range(0, tile.vec, per) for row in range(0, tile.pack, stage.held // per)]


def _placing(counts: "Sequence[Tuple[str, int]]") -> str:
    """Return the map from a block to the coordinates of its tile; "" if there is only one tile."""
    blocks = weight = math.prod(count for _, count in counts)
    results = []
    for _, count in counts:
        weight //= count
        results.append(f"(bl_x floordiv {weight}) mod {count}")
    return algebra.simplify(
        f"(bl_x) -> ({', '.join(results)}), domain: bl_x in [0, {blocks - 1}]") if counts else ""


@dataclass
class TransposeGpuWriter:
    """The writer of the kernel."""

    d: Target
    helpers: Helpers
    tiled: Candidate
    index_type: str
    excess: bool
    flats: "List[Touched]" = field(default_factory=list)

    def __post_init__(self) -> None:
        self.nest, self.frame, self.tile = self.tiled.nest, self.tiled.frame, self.tiled.tile
        self.stages = self.tiled.stages

    def c(self, index: str, place: str = "", **known: int) -> str:
        index = algebra.substitute(index, **known) if known else index
        return algebra.c_text(index, self.index_type, place).results[0]

    def element(self, stage: StagedAccess) -> str:
        return self.d.memory(stage.access.dtype)

    def word(self, size: int) -> str:
        return {16: "uint4", 8: self.d.types["u64"], 4: self.d.types["u32"], 2: self.d.types["u16"],
                1: self.d.types["u8"]}[size]

    def held(self, stage: StagedAccess) -> str:
        """Return the C type of a tile's words."""
        return self.element(stage) if stage.held == 1 else self.word(stage.word)

    def guard(self, index: str, box: "Dict[str, Tuple[int, int]]", vec: int) -> str:
        """Return the condition that a vector is inside the array: its last element is inside."""
        return " && ".join(conditions(_at_last(index, vec, self.tile, box), box, self.index_type))

    def along_rows(self, stage: StagedAccess) -> Copy:
        """Return the copy between a buffer and its tile."""
        access, tile, vec, size = stage.access, self.tile, stage.vec, stage.vec * stage.access.width
        flat = _flat(self.frame, tile, self.nest, access, vec, "rows")
        self.flats.append(Touched("store" if access.write else "load", access.buffer, flat, size if vec > 1 else 0))
        address = compose(_in_tile(tile, vec, "rows"), _address(tile, stage))
        box = _box(self.frame, tile, vec, "rows")
        kind = self.element(stage) if vec == 1 else self.word(size)
        pointer, at, name = access.buffer.pointer, self.c(flat, vec=0), f"w_{stage.name[5:]}"
        cells = [self.c(cell) for cell in _cells(address, vec, stage.held)]
        whole, element = f"{stage.name}[{cells[0]}]" if len(cells) == 1 else f"{name}.all", f"{pointer}[{at}]"
        move: Statement = Assign(element, whole) if access.write else Assign(whole, element)
        if vec > 1:
            by_word = self.d.word_store if access.write else self.d.word_load
            move = by_word(whole, kind, f"{pointer} + {self.c(flat, 'added' if self.d.wide else 'factor', vec=0)}")
        return Copy(stage.name, name, box.get("pass", (0, 0))[1] + 1,
                    self.guard(_in_output(self.frame, tile, vec, "rows"), box, vec), move, kind, self.held(stage),
                    cells)

    def holds(self, local: str, thread: str) -> "Tuple[List[Held], Dict[Tuple[str, str], str]]":
        """Return two values: the words of tiles that a thread holds in registers, and a dict. For each access through a
        tile, the key is the buffer's pointer and the map of the access, and the value is the element as C text.
        """
        tile, held = self.tile, []
        staged: Dict[Tuple[str, str], str] = {}
        for stage in self.stages:
            address = compose(local, _address(tile, stage))
            if stage.held == 1:
                where = f"{stage.name}[{self.c(address)}]"
            else:
                name, cells = f"t_{stage.name[5:]}", [self.c(cell) for cell in _held_cells(address, tile, stage)]
                held.append(Held(stage.name, name, self.held(stage), self.element(stage), tile.vec * tile.pack, cells,
                                 stage.access.write))
                where = f"{name}.at[{f'vec * {tile.pack} + row' if tile.pack > 1 else 'vec'}]"
            for index in stage.access.maps:
                staged[stage.access.buffer.pointer, compose(thread, index)] = where
        return held, staged

    def kernel(self, grid: Grid) -> Kernel:
        d, nest, tile, frame = self.d, self.nest, self.tile, self.frame
        partition = nest.partition
        loads = [self.along_rows(s) for s in self.stages if not s.access.write]
        stores = [self.along_rows(s) for s in self.stages if s.access.write]
        position_map = _in_output(frame, tile, tile.vec, "lanes")
        thread, box = grid.thread, _box(frame, tile, tile.vec, "lanes")
        held, staged = self.holds(_in_tile(tile, tile.vec, "lanes"), thread)
        body = Body(d, self.helpers, _form(self.tiled, staged), self.index_type, self.excess)
        body.region(partition.entry.body)
        for root in partition.roots:
            body.store(root)
        counts = frame.counts(tile)
        coordinates = []
        if counts:
            place = _placing(counts)
            coordinates = [Coordinate(name, text)
                           for (name, _), text in zip(counts, algebra.c_text(place, self.index_type).results)]
        tiles = [SharedTile(s.name, self.held(s), s.pitch * tile.lanes_) for s in self.stages]
        record = TransposeGpuRecord(
            Placing(grid.blocks > 1, True, coordinates), tiles, loads, stores, box.get("pass", (0, 0))[1] + 1,
            self.guard(position_map, box, tile.vec), held, tile.pack, StepCode.of_body(body, tile.vec))
        return kernel_of(d, self.helpers, self.excess, grid, nest, [partition],
                         Text("kernels/transpose_gpu", record, attribute=d.launch_bounds(tile.threads)),
                         Report(self.flats + body.touched, record.step))
