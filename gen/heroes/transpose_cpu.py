"""The transpose hero (kernel emitter) on CPUs: accesses that are contiguous along another dimension than the output's
minor dimension go through register tiles.

The iteration space has one dimension for each digit of the position in the output, a mixed-radix number
(gen/plan/digits.py). A tile is a box: `rows` indices along the dimension in which these accesses are contiguous, and
`lanes` indices along the minor dimension. A source is loaded along its own contiguous dimension and transposed in
registers (gen/emit/register_tiles.py); a result with the other order is transposed back. All values are computed once,
in the output's order.

For large arrays of small elements, the loads of a tile alternate with the stores of the previous tile. If a dimension
is too short for a tile, as in tiled layouts, the next dimensions are added to it. Elements that are adjacent in all
accesses are moved together, as one wider element.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from gen import algebra
from gen.emit.body import Body
from gen.emit.form import Form
from gen.emit.helpers import Helpers
from gen.statements import Statement
from gen.heroes.hero import Choice, Context, Hero
from gen.heroes.kernel import Coordinate, Grid, Kernel, Placing, Report, StepCode, Text, kernel_of, share
from gen.hlo import dtypes
from gen.hlo.opcodes import ELEMENTWISE
from gen.plan.buffers import buffer_of, reads_of, touches
from gen.plan.digits import IterationSpace, interleaving, iteration_space, moves, place, transposed
from gen.plan.nest import Nest
from gen.plan.partition import INLINE, Partition, compose, regions
from gen.schedule import LINE, PIECE, PIECES, Device, Schedule
from gen.targets import COMPLEX, TINY, Target


@dataclass(frozen=True)
class RegisterTileSchedule(Schedule):
    """A register tile: `vec` rows (along the source's contiguous dimension), each of `registers_down` registers of
    `lanes` elements (along the output's contiguous dimension). If registers_down is 2, both cache lines of a row are
    stored one after the other, so that they reach memory as a pair.
    """

    tile: bool = True

    def text(self) -> str:
        words = [super().text(), f"tiles {self.chunks}",
                 f"tile {self.vec} x {self.lanes * self.registers_down} in registers"]
        words += [f"{self.joined} elements joined"] * (self.joined > 1)
        words += [f"loaded in {self.turns} turns while the one before is stored"] * (self.turns > 1)
        words += [f"prefetch {self.row_prefetch} in each row where bursts are off"] * (self.row_prefetch > 0)
        return ", ".join(words + ["streamed"] * self.stream + ["moved as bits"] * self.moves)


def inlined(nest: Nest) -> Nest:
    """Return the nest without functions: a value that is read at several indices is computed at each of them. Memory
    accesses inside functions could not go through a tile.
    """
    of = nest.partition
    return Nest(nest.name, nest.shape, Partition(of.computation, of.roots, nest.name, of.entry.dims, INLINE, of.cuts))


def takes(nest: Nest, context: Context) -> bool:
    """Return true if a nest may use tiles. Tiles cannot hold packed elements, floats of at most 8 bits, or complex
    numbers. A step of the nest must be free to write before it has read everything. The nest must not be distributed
    over GPU threads. The loop hero must not interleave registers for this nest.
    """
    return not (nest.reads_first or (nest.layout and not context.device.cpu)
                or touches(nest,
                           {*dtypes.PACKED, *TINY, *COMPLEX})) and (context.device.lanes == 1
                                                                    or interleaving(nest).registers == 1)


@dataclass(frozen=True)
class Candidate:
    """A loop nest with its functions inlined, the dimensions of its tiles (Frame), and a tile."""

    nest: Nest
    frame: "Frame"
    tile: RegisterTileSchedule


class TransposeCpuHero(Hero[Nest, Candidate]):
    """The emitter (hero) of register tiles. It tries the tiles that fit, best first."""

    name = "transpose"
    nest_class = Nest

    def takes(self, nest: Nest, context: Context) -> bool:
        return context.device.wide and takes(nest, context)

    def schedules(self, nest: Nest, context: Context) -> "Iterable[Candidate]":
        nest = inlined(nest)
        single = iteration_space(nest.partition, nest.shape)
        if single is None:
            return
        moved, cost = moves(nest.partition, single), _cost(nest)
        for joined, space in dict([_joined(single), (1, single)] if moved else [(1, single)]).items():
            digit = transposed(space)
            if digit is not None:
                frame, loads = _frame(context.device, space, digit, joined), _single_loads(nest, space, digit)
                for tile in _tiles(context.device, context.target, frame, moved, nest.only_scratch, cost):
                    if tile.vec * tile.lanes * tile.registers_down * loads > context.device.transpose_cpu.single_loads:
                        return
                    yield Candidate(nest, frame, tile)

    def forms(self, nest: Nest, schedule: Candidate, context: Context) -> "Iterable[Form]":
        return [_step(schedule).form]

    def maps(self, nest: Nest, schedule: Candidate, context: Context) -> "Iterable[str]":
        return [_placing(schedule)[0]]

    def grids(self, choice: Choice[Nest, Candidate], context: Context) -> "List[Grid]":
        tiled = choice.schedule
        return [Grid(tiled.nest.name, tiled.tile, choice.index, _placing(tiled)[1], _step(tiled).form.thread)]

    def build(self, choice: Choice[Nest, Candidate], context: Context) -> "List[Kernel]":
        return [_on_cpu(choice.schedule, choice.grids[0], context)]

    def describe(self, choice: Choice[Nest, Candidate], grid: Grid, context: Context) -> "List[str]":
        return [f"position: {_step(choice.schedule).position}"]


HERO = TransposeCpuHero()


def _single_loads(nest: Nest, space: IterationSpace, digit: int) -> int:
    """Return the number of reads that a tile does lane by lane if all accesses that are contiguous along a dimension
    `digit` are reads in branches, such as those of a concatenate; else 0.
    """
    partition = nest.partition
    reads = [(buffer.pointer, region is partition.entry.body) for function in partition.functions
             for read, region in reads_of(partition, function) for buffer in [buffer_of(partition, read)] if buffer]
    outside = {name for name, is_outside in reads if is_outside}
    if any(a.strides and a.strides[digit] == 1 and a.strides[-1] > 1 and (a.write or a.name in outside)
           for a in space.accesses):
        return 0
    return sum(not is_outside for _, is_outside in reads)


def joins(space: IterationSpace) -> bool:
    """Return true if some elements are adjacent in all accesses, so that several of them are moved as one wider
    element.
    """
    return _joined(space)[0] > 1


def _joined(space: IterationSpace) -> "Tuple[int, IterationSpace]":
    """Return two values: the number of adjacent elements that are moved as one wider element of at most 64 bits, and
    the iteration space of these wider elements. The elements must be adjacent in all accesses.
    """
    size, joined = space.sizes[-1], 1
    while size % (2 * joined) == 0 and all(a.strides and a.strides[-1] == 1 and a.width * joined < 8
                                           and not any(s % (2 * joined) for s in a.strides[:-1])
                                           for a in space.accesses):
        joined *= 2
    # if the adjacent elements fill cache lines, the loop hero is better
    if joined == 1 or len(space.sizes) == 1 or size * space.accesses[0].width >= LINE:
        return 1, space
    rest = (size // joined,) if size > joined else ()

    def strides(of: "Tuple[int, ...]") -> "Tuple[int, ...]":
        return tuple(s // joined for s in of[:-1]) + (1,) * len(rest)
    accesses = tuple(replace(a, width=a.width * joined, strides=strides(a.strides or ())) for a in space.accesses)
    return joined, IterationSpace(space.sizes[:-1] + rest, accesses)


@dataclass(frozen=True)
class Frame:
    """The dimensions of the iteration space that are cut into tiles: those of a tile's rows and those of its lanes,
    fastest first. joined: number of adjacent elements that are moved as one.
    """

    space: IterationSpace
    rows: Tuple[int, ...]
    lanes: Tuple[int, ...]
    joined: int

    @property
    def high(self) -> int:
        return math.prod(self.space.sizes[k] for k in self.rows)

    @property
    def wide(self) -> int:
        return math.prod(self.space.sizes[k] for k in self.lanes)

    def fits(self, rows: int, lanes: int) -> bool:
        """Return true if a tile of this size fits. Tiles need not divide the number of rows or lanes, because the last
        tile is moved back so that it ends with the array. If several dimensions form the rows, let n be the size of the
        first of them. The tile's number of rows must divide n, or n must divide both the tile's number of rows and the
        number of all rows. The same is required of lanes.
        """
        return all(step <= size and (len(run) == 1 or math.gcd(size, step) % self.space.sizes[run[0]] == 0
                                     or self.space.sizes[run[0]] % step == 0)
                   for step, size, run in ((rows, self.high, self.rows), (lanes, self.wide, self.lanes)))

    def outer(self) -> "Dict[int, int]":
        """Return the dimensions that are neither rows nor lanes of tiles, with their sizes."""
        return {k: size for k, size in enumerate(self.space.sizes) if k not in (*self.rows, *self.lanes)}

    def position(self, of: "Dict[int, str]") -> str:
        """Return a position in memory as a map expression. of: for each dimension, its index as a map expression.
        Dimensions that together form the rows (or lanes) have one index, which `of` has for the first of them.
        """
        terms, weights = [], self.space.weights()
        for run in (*((k,) for k in range(len(weights)) if k not in (*self.rows, *self.lanes)), self.rows, self.lanes):
            below = 1
            for k in run:
                part = f"(({of[run[0]]}) floordiv {below}) mod {self.space.sizes[k]}" if len(run) > 1 else of[k]
                terms.append(f"({part}) * {weights[k] * self.joined}")
                below *= self.space.sizes[k]
        return " + ".join(terms)


def _frame(device: Device, space: IterationSpace, digit: int, joined: int) -> Frame:
    """Choose the dimensions of the tiles' rows and lanes. If a dimension is too short for a tile, the next dimensions
    in memory order are added to it.
    """
    minor = len(space.sizes) - 1
    regular = [a.strides for a in space.accesses if a.strides]
    turned = [s for s in regular if s[digit] == 1 and s[-1] > 1]
    runs, straight = [[digit], [minor]], [s for s in regular if s[-1] == 1]
    for run, accesses in zip(runs, (turned, straight)):
        while math.prod(space.sizes[k] for k in run) < device.transpose_cpu.joined:
            size = math.prod(space.sizes[k] for k in run)
            more = next((k for k in range(len(space.sizes)) if k not in runs[0] + runs[1]
                         and all(s[k] == size for s in accesses)), None)
            if more is None or not accesses:
                break
            run.append(more)
    return Frame(space, tuple(runs[0]), tuple(runs[1]), joined)


def _cost(nest: Nest) -> int:
    """Return the approximate number of vector instructions that compute a register of results."""
    return sum(ELEMENTWISE[entry.instruction.opcode].cost for function in nest.partition.functions
               for region in regions(function.body) for entry in region.entries
               if entry.instruction.opcode in ELEMENTWISE)


def _tiles(device: Device, d: Target, frame: Frame, moves: bool, kept: bool,
           cost: int) -> Iterator[RegisterTileSchedule]:
    """Return the tiles that fit, best first. kept: true if other kernels read all results, so that they should stay in
    a cache. cost: approximate number of vector instructions that compute a register of results.
    """
    numbers = device.transpose_cpu
    space, digit = frame.space, frame.rows[0]
    turned = [a for a in space.accesses if a.strides and a.strides[digit] == 1 and a.strides[-1] > 1]
    widths = {a.width for a in space.accesses}
    width = max(a.width for a in turned)
    traffic = sum(a.bytes for a in space.accesses)
    threads = device.group
    shapes = numbers.moved_tiles[width] if moves else numbers.computed_tiles[max(widths)]
    for shape in (*shapes, *(numbers.least_tile,) * (cost <= numbers.least_tile_cost)):
        if shape.streamed and traffic <= device.cache:
            continue
        # rows can be loaded together only if they belong to one array and have one stride
        if shape.pipelined and (len(space.accesses) > 2 or len(turned) > 1 or turned[0].write
                                or space.sizes[frame.lanes[0]] % (PIECE // width) and len(frame.lanes) > 1):
            continue
        lanes, rows, down, load_bytes = shape.lanes, shape.rows, shape.registers_down, shape.load_bytes
        if frame.fits(rows, lanes * down):
            chunks = min(-(-frame.high // rows), max(numbers.run, device.page // width) // rows)
            while chunks > 1 and _items(frame, lanes * down, rows, chunks) < device.unit_items * device.units:
                chunks = -(-chunks // 2)
            line = min(a.width * (rows * lanes if a.strides and a.strides[digit] == lanes else lanes)
                       for a in space.accesses if a.write)
            # a cache line may contain several rows
            stream = device.streams(traffic, kept) and line >= device.line
            items = _items(frame, lanes * down, rows, chunks)
            prefetches = traffic > device.cache and rows * width >= device.line
            yield RegisterTileSchedule(
                threads if items >= device.group_items * threads else 1, chunks, rows, lanes, down, load_bytes, stream,
                moves, frame.joined, row_prefetch=numbers.prefetch if prefetches else 0, page=device.page,
                turns=down * PIECES if shape.pipelined else 1)


def _grid(frame: Frame, lanes: int, rows: int, chunks: int) -> List[Tuple[str, int]]:
    """Return the coordinates of a work-item as (name, size), slowest first: the indices along the dimensions that are
    not cut into tiles, then the number of a part of the rows, then the number of a strip of tiles along lanes.

    Adjacent work-items have adjacent strips of the source's rows, so that together they complete rows of the output. If
    tiles do not divide a dimension, the last tile is moved back. It belongs to the same work-item as the tile that it
    overlaps, so that the order of both tiles' stores is fixed.
    """
    outer = [(f"g{k}", size) for k, size in frame.outer().items()]
    return outer + [("part", -(-(frame.high // rows) // chunks)), ("strip", frame.wide // lanes)]


def _items(frame: Frame, lanes: int, rows: int, chunks: int) -> int:
    return math.prod(count for _, count in _grid(frame, lanes, rows, chunks))


class Origin(NamedTuple):
    """The first index of a tile along a dimension, as a constant times a variable.

    map: this product, as a map expression.
    text: C text of the variable's value, computed from the tile's number. "": the variable is the tile's number.
    last: the variable's value for the last tile.
    """

    map: str
    text: str
    last: int


def _origin(name: str, size: int, step: int) -> Origin:
    """Return the first index of the tiles along a dimension. If tiles do not divide the dimension, the last tile
    overlaps the tile before it.
    """
    unit = math.gcd(size, step)
    quanta, last = step // unit, (size - step) // unit
    return Origin(f"{name} * {unit}", f"{name}_tile < {size // step} ? {name}_tile * {quanta} : {last}" if size % step
                  else "", last)


@dataclass(frozen=True)
class Turns:
    """The order in which the loads of a tile alternate with the stores of the previous tile."""

    count: int
    # number of groups that a turn stores; a group is PIECES rows, and `join` interleaves its loaded registers
    columns: int
    join: str
    register: str  # type of the registers that `join` interleaves
    pieces: int = PIECES


@dataclass(frozen=True)
class TransposeCpuRecord:
    """The record that templates/kernels/transpose_cpu.j2 prints.

    A work-item has these coordinates: its indices along the dimensions that are not cut into tiles; the number of its
    part of the rows; and the number of its strip of tiles along lanes. If the size of a dimension is no multiple of the
    tile's, the last tile is moved back.
    """

    placing: Placing
    counter: str  # the variable that counts tiles along rows: first <= counter < end
    first: str
    end: str
    row: str  # the variable of the tile's first row (class Origin)
    # C text of this variable's value; "" if tiles divide the rows, because the variable then counts tiles itself
    row_origin: str
    lane: str  # the variable of the tile's first lane (class Origin)
    lane_origin: str  # C text of this variable's value; "" if it is the tile's number
    last_strip: int
    lanes: int                      # number of elements of a register
    vec: int  # number of rows of a tile, each of `registers_down` registers
    registers_down: int
    loads: Sequence[Statement]  # statements that precede the code of a tile's registers
    lines: Sequence[Statement]  # statements for one register
    stores: Sequence[Statement]  # statements that follow the code of a tile's registers
    turns: "Optional[Turns]"  # None, unless the loads of a tile alternate with the stores of the previous tile


def _turns(d: Target, helpers: Helpers, frame: Frame, tile: RegisterTileSchedule) -> "Optional[Turns]":
    if tile.turns == 1:
        return None
    width = 8 * frame.space.accesses[0].width
    return Turns(tile.turns, tile.vec // PIECES // tile.turns, helpers.join_pieces(width),
                 d.register(f"u{width}", tile.lanes))


class TileStep(NamedTuple):
    """A tile as a step of the kernel.

    position: the map from the tile's coordinates, and an element of the tile, to the position in memory.
    origins: for each dimension, the field `text` of its `Origin`.
    """

    form: Form
    position: str
    origins: Dict[int, str]


def _step(tiled: Candidate) -> TileStep:
    nest, frame, tile = tiled.nest, tiled.frame, tiled.tile
    digit, minor = frame.rows[0], frame.lanes[0]
    box: "Dict[str, Tuple[int, int]]" = {}
    texts: Dict[int, str] = {}
    origins: Dict[int, str] = {}
    for k, size in sorted({**frame.outer(), digit: frame.high, minor: frame.wide}.items()):
        name, step = f"g{k}", {digit: tile.vec, minor: tile.lanes * tile.registers_down}.get(k, 1)
        text, origin, last = _origin(name, size, step)
        inner = {digit: " + vec", minor: " + lane" + f" + down * {tile.lanes}" * (tile.registers_down > 1)}.get(k, "")
        texts[k], box[name] = f"{text}{inner}", (0, last)
        origins[k] = origin
    names = list(box)
    box.update(vec=(0, tile.vec - 1), **({"down": (0, tile.registers_down - 1)} if tile.registers_down > 1 else {}),
               lane=(0, tile.lanes - 1))
    domain = ", ".join(f"{name} in [{low}, {high}]" for name, (low, high) in box.items())
    position = algebra.simplify(
        f"({', '.join(names)})[{', '.join(v for v in box if v not in names)}] -> ({frame.position(texts)}), domain: {domain}"
    )
    thread = compose(position, algebra.call("shape", "unmap", nest.shape.text))
    form = Form(nest.partition, nest.partition.entry, thread, tile, box, steady=True, strip=f"g{minor}")
    return TileStep(form, position, origins)


def _placing(tiled: Candidate) -> "Tuple[str, int]":
    """Return the map from a work-item's ids to the coordinates of its tiles, and the number of work-groups."""
    frame, tile = tiled.frame, tiled.tile
    return place(_grid(frame, tile.lanes * tile.registers_down, tile.vec, tile.chunks), tile.threads)


def _on_cpu(tiled: Candidate, grid: Grid, context: Context) -> Kernel:
    nest, frame, tile, d, helpers = tiled.nest, tiled.frame, tiled.tile, context.target, context.helpers
    (form, _, origins), digit, minor, index_type = _step(tiled), frame.rows[0], frame.lanes[0], grid.index
    body = Body(d, helpers, form, index_type, context.excess)
    body.region(nest.partition.entry.body)
    for root in nest.partition.roots:
        body.store(root)
    counts = _grid(frame, tile.lanes * tile.registers_down, tile.vec, tile.chunks)
    placing, _ = _placing(tiled)
    placed = algebra.c_text(placing, index_type)
    tiles, parts = -(-frame.high // tile.vec), dict(counts)["part"]
    ragged = bool(origins[minor])
    first, end = share("part", tile.chunks, parts, tiles)
    # A coordinate with a single value does not appear in the map. The coordinates that the tile loops count have
    # variables of their own.
    names_of = {"strip": "strip" if ragged else f"g{minor}"}
    coordinates = [Coordinate(names_of.get(name, name), text) for (name, count), text in zip(counts, placed.results)
                   if count > 1 or name == "part" or (name == "strip" and ragged)]
    ids = {v.name: v.hi > 0 for v in algebra.info(placing).variables}
    record = TransposeCpuRecord(
        Placing(ids.get("bl_x", False), ids.get("th_x", False), coordinates, " && ".join(placed.constraints)),
        f"g{digit}_tile" if origins[digit] else f"g{digit}", first, end, f"g{digit}", origins[digit],
        f"g{minor}", origins[minor], frame.wide // (tile.lanes * tile.registers_down) - 1, tile.lanes,
        tile.vec, tile.registers_down, body.before.lines, body.text.lines, body.after.lines,
        _turns(d, helpers, frame, tile))
    return kernel_of(d, helpers, context.excess, grid, nest, [nest.partition],
                     Text("kernels/transpose_cpu", record, attribute=d.launch_bounds(tile.threads)),
                     Report(body.touched, StepCode.of_body(body, tile.vec)))
