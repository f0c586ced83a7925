"""The transpose hero (kernel emitter) on CPUs for output rows that do not begin at a cache line: streaming stores of
whole lines, merged from successive tiles.

If the length of a row is not a multiple of a 64-byte cache line, most rows begin in the middle of a line. A register of
a tile then covers parts of two lines. It would need two plain stores, where an aligned register needs one streaming
store. In this hero, a work-item has a block of columns (which are rows of the output) and takes tile after tile down
the source. For every column it keeps the last tile's register and merges it with the next tile's register to a whole
line (`line_tile` in gen/emit/register_tiles.py). Elements are only moved.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple

from gen import algebra
from gen.emit import register_tiles
from gen.statements import Call, Declare, Statement
from gen.emit.values import Access, Touched
from gen.heroes import transpose_cpu
from gen.emit.form import Form
from gen.heroes.hero import Choice, Context, Hero
from gen.heroes.kernel import Coordinate, Grid, Kernel, Placing, Report, StepCode, Text, arguments, even_share
from gen.plan.buffer import Buffer
from gen.plan.buffers import buffer_of, memory_map
from gen.plan.digits import IterationSpace, iteration_space, moves, place, transposed
from gen.plan.nest import Nest
from gen.plan.partition import compose
from gen.schedule import Device, Schedule


@dataclass(frozen=True)
class LinesSchedule(Schedule):
    """The schedule of square tiles.

    width: bytes of an element.
    columns: number of columns of a work-item.
    parts: number of work-items that share the rows of a block of columns.
    """

    stream: bool = True
    moves: bool = True
    tile: bool = True
    width: int = 4
    columns: int = 0
    parts: int = 1

    @property
    def side(self) -> int:
        return self.lanes

    def text(self) -> str:
        words = [super().text(), f"tile {self.side} x {self.side} in registers"]
        words += [f"{self.registers_down} down where bursts of prefetches pay"] * (self.registers_down > 1)
        words += [f"lines carried down {self.columns} columns",
                  f"prefetch {self.row_prefetch} in each row where bursts are off"]
        return ", ".join(words + [f"{self.parts} parts"] * (self.parts > 1) + ["streamed, moved as bits"])


@dataclass(frozen=True)
class Candidate:
    """A loop nest with its functions inlined, its iteration space, the dimension that is transposed, and a schedule."""

    nest: Nest
    space: IterationSpace
    digit: int
    lines: LinesSchedule


class TransposeLinesHero(Hero[Nest, Candidate]):
    """The emitter (hero) of transposes that store whole cache lines, each merged from two successive tiles."""

    name = "transpose"
    nest_class = Nest

    def takes(self, nest: Nest, context: Context) -> bool:
        return context.device.wide and transpose_cpu.takes(nest, context)

    def schedules(self, nest: Nest, context: Context) -> "Iterable[Candidate]":
        nest = transpose_cpu.inlined(nest)
        space = iteration_space(nest.partition, nest.shape)
        digit = transposed(space) if space else None
        if space and digit is not None and sum(a.bytes for a in space.accesses) > context.device.cache and not (
                moves(nest.partition, space) and transpose_cpu.joins(space)):
            lines = _lines(context.device, nest, space, digit)
            if lines is not None:
                yield Candidate(nest, space, digit, lines)

    def forms(self, nest: Nest, schedule: Candidate, context: Context) -> "Iterable[Form]":
        return ()  # there is no code for elements: the functions of register tiles move them

    def maps(self, nest: Nest, schedule: Candidate, context: Context) -> "Iterable[str]":
        return TransposeLinesWriter(context, schedule, "").maps()

    def accesses(self, nest: Nest, schedule: Candidate, context: Context) -> "List[Access]":
        return [Access(touched.verb, touched.buffer, touched.position, schedule.lines.side)
                for touched in TransposeLinesWriter(context, schedule, "").flats()]

    def grids(self, choice: Choice[Nest, Candidate], context: Context) -> "List[Grid]":
        writer = TransposeLinesWriter(context, choice.schedule, choice.index)
        thread = compose(writer.position("row", "column", writer.box), writer.index)
        return [Grid(writer.nest.name, writer.form, choice.index, writer.placing()[2], thread)]

    def build(self, choice: Choice[Nest, Candidate], context: Context) -> "List[Kernel]":
        return [TransposeLinesWriter(context, choice.schedule, choice.index).kernel(choice.grids[0])]


HERO = TransposeLinesHero()


def _lines(device: Device, nest: Nest, space: IterationSpace, digit: int) -> "Optional[LinesSchedule]":
    """Return the schedule for a nest that only moves the elements of one array to a result, if some rows of the result
    begin inside a cache line. Return None for other nests, and if tiles do not fit.
    """
    numbers = device.transpose_lines
    reads, writes = [a for a in space.accesses if not a.write], [a for a in space.accesses if a.write]
    if len(reads) != 1 or len(writes) != 1 or reads[0].strides is None or writes[0].strides is None:
        return None
    width, last, (root, *more) = writes[0].width, len(space.sizes) - 1, nest.partition.roots
    if (more or width not in numbers.tiles or reads[0].width != width or nest.partition.entry.body.entries
        or not buffer_of(nest.partition, nest.partition.root_read(root))):
        return None
    square = numbers.tiles[width]
    side = square.side
    if (writes[0].strides[digit] % side == 0 or len(_starts(space, digit, side)) > numbers.starts
        or space.sizes[last] < 2 * side or space.sizes[digit] < side):
        return None
    outer = math.prod(size for k, size in enumerate(space.sizes) if k not in (digit, last))
    columns, strips, wanted = numbers.columns, space.sizes[last] // side, numbers.items * device.units
    while columns > numbers.sides * side and outer * max(1, space.sizes[digit] // columns) < wanted:
        columns //= 2
    parts = max(1, min(strips // numbers.strips, -(-wanted // (outer * max(1, space.sizes[digit] // columns)))))
    return LinesSchedule(vec=side, lanes=side, registers_down=square.tiles_down, load_bytes=square.load_bytes,
                         width=width, columns=columns, parts=parts, row_prefetch=device.transpose_cpu.prefetch)


def _strides(space: IterationSpace, write: bool) -> "Tuple[int, ...]":
    """Return the strides of the only write (write is true) or of the only read."""
    (strides,) = [a.strides for a in space.accesses if a.write == write]
    assert strides is not None, "lines are carried where both have strides"
    return strides


def _starts(space: IterationSpace, digit: int, side: int) -> List[int]:
    """Return the distinct offsets within a cache line at which the matrices of the batch begin, in elements. They are
    relative to the offset of the first matrix. side: number of elements of a cache line.
    """
    strides, starts = _strides(space, True), {0}
    for k, size in enumerate(space.sizes):
        if k not in (digit, len(space.sizes) - 1):
            turn = min(size, side)      # offsets count modulo `side`, so they repeat after `side` matrices
            place = algebra.simplify(f"(start, g) -> ((start + g * {strides[k]}) mod {side}), "
                                     f"domain: start in [0, {side - 1}], g in [0, {turn - 1}]")
            points = [algebra.evaluate(place, start, g) for start in starts for g in range(turn)]
            starts = {point[0] for point in points if point}
    return sorted(starts)


@dataclass(frozen=True)
class TransposeLinesRecord:
    """The record that templates/kernels/transpose_lines_cpu.j2 prints. A work-item does the stages "first", "next" and
    "last". If several work-items share the rows, only the first one does "first", and only the last one does "last".
    The others begin with "again", which loads the tile before their rows and stores nothing.
    """

    placing: Placing
    tiles: str  # C text of the number of tiles side by side in the work-item's columns
    register: str  # C type of a register that is a whole line
    carried: int  # number of registers that are carried from tile to tile
    first: str  # C text of the number of the first tile of stage "next"
    end: str  # C text of 1 + the number of the last tile of stage "next"
    parts: int
    blocks: int                                 # number of blocks of columns

    # true if columns are left over after whole tiles, so that one more tile is moved back to the last columns
    edge: bool
    # The numbers of tiles that a step of stage "next" may have, the larger number first. Processors on which bursts of
    # prefetches are faster use the larger number.
    downs: "Tuple[int, ...]"
    starts: "Tuple[int, ...]"  # the offsets within a cache line at which the matrices of a batch begin

    # step(stage, tiles, edge, start) returns the statements of a step, for matrices that begin at offset `start` of a
    # cache line; None: at any of the offsets.
    step: "Callable[[str, int, bool, Optional[int]], List[Statement]]"


class Function(NamedTuple):
    """A C function, and the first arguments of each call. The further arguments are the same for all functions."""

    name: str
    arguments: Tuple[str, ...] = ()


class TransposeLinesWriter:
    """The writer of the kernel. index_type: "" if only maps are needed."""

    def __init__(self, context: Context, carried: Candidate, index_type: str) -> None:
        self.d, self.helpers, self.index_type = context.target, context.helpers, index_type
        nest, space, digit, form = carried.nest, carried.space, carried.digit, carried.lines
        self.nest, self.space, self.form = nest, space, form
        self.digit, self.last = digit, len(space.sizes) - 1
        (root,) = nest.partition.roots
        read = nest.partition.root_read(root)
        source = buffer_of(nest.partition, read)
        assert source is not None
        self.source, self.target = source, root.buffer
        unmap = algebra.call("shape", "unmap", nest.shape.text)
        self.index = unmap
        self.read, self.write = (compose(unmap, compose(index, memory_map(shape)))
                                 for index, shape in ((read.map, source.shape), (root.map, root.shape)))
        self.columns, self.length = space.sizes[digit], space.sizes[self.last]
        self.pitch, self.stride = _strides(space, True)[digit], _strides(space, False)[self.last]
        self.strips, self.rest = divmod(self.length, form.side)
        self.starts = _starts(space, digit, form.side)

    def position(self, row: str, column: str, more: "Dict[str, int]") -> str:
        """Return the map from a work-item's coordinates, and the variables of `more`, to a position in the nest's
        result. row, column: map expressions of the row and column in the matrix.
        """
        weights, texts, box = self.space.weights(), [], {}
        for k, size in enumerate(self.space.sizes):
            if k in (self.digit, self.last):
                texts.append(f"({column if k == self.digit else row}) * {weights[k]}")
            else:
                texts.append(f"g{k} * {weights[k]}")
                box[f"g{k}"] = size
        box.update(more)
        domain = [f"{name} in [0, {size - 1}]" for name, size in box.items()]
        domain += [f"{column} in [0, {self.columns - 1}]", f"{row} in [0, {self.length - 1}]"]
        return algebra.simplify(f"({', '.join(box)}) -> ({' + '.join(texts)}), domain: {', '.join(domain)}")

    def begin(self, flat: str, row: str, edge: bool) -> str:
        """Return the map from a tile (the work-item's coordinates and the numbers of the tile) to the position of its
        first element in an array. edge: true for the tile that is moved back to the last columns.
        """
        side = self.form.side
        more = {**({} if edge else {"block": self.blocks, "j": self.form.columns // side}), "k": self.strips}
        column = str(self.columns - side) if edge else f"block * {self.form.columns} + j * {side}"
        return compose(self.position(row, column, more), flat)

    def address(self, buffer: Buffer, flat: str, row: str, edge: bool) -> str:
        """Return C text of the address of a tile in a buffer."""
        return f"{buffer.pointer} + ({algebra.c_text(self.begin(flat, row, edge), self.index_type).results[0]})"

    @property
    def blocks(self) -> int:
        """Return the number of blocks of columns. A block has whole tiles; the last block also has the columns that are
        left over.
        """
        return max(1, -(-(self.columns // self.form.side) // (self.form.columns // self.form.side)))

    def first(self, edge: bool) -> int:
        """Return the offset within a cache line at which the rows of the first matrix's tiles begin. The offset is the
        same for all tiles except the tile at the edge.
        """
        begin = self.begin(self.write, "0", edge)
        at = algebra.evaluate(begin, *[0] * len(algebra.info(begin).variables))
        assert at is not None
        return at[0] % self.form.side

    def line(self, part: str, down: int, edge: bool, start: int) -> str:
        """Add the C function (`register_tiles.line_tile`) that stores tiles whose rows begin at offset `start` of a
        cache line. Return its name.
        """
        form = self.form
        name = f"{part}{down}_u{8 * form.width}_{form.side}_{self.pitch}_{self.length}" + f"_from{start}" * bool(start)
        if name not in self.helpers.texts:
            self.helpers.texts[name] = register_tiles.line_tile(self.d, 8 * form.width, form.side, form.side,
                                                                self.pitch, part, self.rest if part == "last" else 0,
                                                                down, name, start)
        return name

    def complete(self, stage: str, down: int, edge: bool, start: "Optional[int]" = None) -> Function:
        """Return the function that stores whole lines and keeps the rest in registers. start: the offset within a cache
        line at which matrices begin. If it is None and there are several offsets, the function's first argument is the
        offset of the work-item's matrix.
        """
        side, first = self.form.side, self.first(False)
        part = "next" if stage == "again" else stage
        variants = {(first + further) % side: self.line(part, down, edge, (self.first(edge) + further) % side)
                    for further in self.starts}
        if len(variants) == 1:
            (start,) = variants
        if start is not None:
            return Function(variants[start])
        # The name contains the kernel's name, because another kernel of the file may have rows of the same length and
        # matrices that begin at other offsets.
        name = f"{self.nest.name}_{part}{down}{'_edge' if edge else ''}"
        if name not in self.helpers.texts:
            self.helpers.texts[name] = register_tiles.by_start(self.d, 8 * self.form.width, side,
                                                               self.d.index[self.index_type], variants, name)
        return Function(name, ("start",))

    def step(self, stage: str, down: int, edge: bool, start: "Optional[int]" = None) -> List[Statement]:
        """Return the statements of a step, which loads tiles, transposes them and stores whole lines. stage: "first",
        "next", "again" or "last" (see `rows`). Stage "again" only loads a tile into registers for the next step,
        because another work-item stores the tile's lines.
        """
        side, register = self.form.side, self.d.register(f"u{8 * self.form.width}", self.form.side)
        load = self.helpers.tile("load", f"u{8 * self.form.width}", side, side, self.index_type, self.form.load_bytes,
                                 distance=self.form.row_prefetch // self.form.width)
        carry = f"carry + {self.form.columns}" if edge else f"carry + j * {side}"
        sources = [self.pointer(self.source, self.read, row, edge, "const ") for row in self.rows(stage, down)]
        if stage == "again":
            return [Call(load, carry, sources[0], str(self.stride))]
        complete = self.complete(stage, down, edge, start)
        target = self.pointer(self.target, self.write, self.target_row(stage), edge)
        return [Declare(register, "x", count=side * down),
                *(Call(load, f"x + {n * side}" if n else "x", source, str(self.stride))
                  for n, source in enumerate(sources)),
                Call(complete.name, *complete.arguments, target, carry, "x")]

    def rows(self, stage: str, down: int) -> List[str]:
        """Return the first source row of each tile of a stage ("first", "next", "again" or "last"), as map expressions.
        """
        side = self.form.side
        if stage == "next":
            return [f"(k + {tile}) * {side}" for tile in range(down)]
        return [{"first": "0", "again": f"(k - 1) * {side}", "last": str(self.length - side)}[stage]]

    def pointer(self, buffer: Buffer, flat: str, row: str, edge: bool, constant: str = "") -> str:
        """Return the address of a tile in a buffer, as a C pointer to unsigned integers of the elements' width."""
        d = self.d
        return f"({constant}{d.pointer}{d.types[f'u{8 * self.form.width}']} *)({self.address(buffer, flat, row, edge)})"

    def placing(self) -> "Tuple[str, List[str], int]":
        """Return the map from a work-item to its coordinates, their names, and the number of work-groups."""
        counts = [(f"g{k}", size) for k, size in enumerate(self.space.sizes) if k not in (self.digit, self.last)]
        counts += [(name, count) for name, count in (("block", self.blocks), ("part", self.form.parts)) if count > 1
                   or name == "block"]
        index, blocks = place(counts, 1)
        return index, [name for name, _ in counts], blocks

    def start(self) -> str:
        """Return the map from a work-item to the offset within a cache line at which its matrix begins; "" if all
        matrices have the same offset.
        """
        if len(self.starts) == 1:
            return ""
        return compose(algebra.substitute(self.begin(self.write, "0", False), block=0, j=0),
                       f"(position) -> (position mod {self.form.side}), "
                       f"domain: position in [0, {self.nest.shape.elements - 1}]")

    def target_row(self, stage: str) -> str:
        """Return the first output column of the lines of a stage ("first", "next" or "last"), as a map expression."""
        side = self.form.side
        return str(self.strips * side - side) if stage == "last" else self.rows(stage, 1)[0]

    def maps(self) -> "Iterator[str]":
        """Yield the maps that become C text."""
        yield self.placing()[0]
        yield from filter(None, [self.start()])
        stages = [("first", 1), ("next", 1), ("next", self.form.registers_down), ("last", 1)]
        for edge in (False, True)[:1 + (self.columns % self.form.side > 0)]:
            for stage, down in stages + [("again", 1)] * (self.form.parts > 1):
                yield from (self.begin(self.read, row, edge) for row in self.rows(stage, down))
                yield self.begin(self.write, self.target_row(stage), edge)

    @property
    def box(self) -> "Dict[str, int]":
        """Return the numbers of rows and of columns of a matrix."""
        return {"row": self.length, "column": self.columns}

    def flats(self) -> "List[Touched]":
        """Return the memory accesses, each with the map to the position in its array."""
        return [Touched(verb, buffer, compose(self.position("row", "column", self.box), flat)) for verb, buffer, flat in
                (("read", self.source, self.read), ("write", self.target, self.write))]

    def kernel(self, grid: Grid) -> Kernel:
        d, form, nest = self.d, self.form, self.nest
        side, parts, whole = form.side, form.parts, self.columns // form.side
        per, edge = form.columns // side, self.columns % side > 0
        placing, counted, _ = self.placing()
        placed = algebra.c_text(placing, self.index_type)
        assert not placed.constraints
        last = whole - (self.blocks - 1) * per
        uneven = self.blocks > 1 and last != per
        tiles = f"(block < {self.blocks - 1} ? {per} : {last})" if uneven else str(last)
        first, end = "1", str(self.strips)
        if parts > 1:
            first, end = even_share("part", parts, self.strips - 1, "k")
            first = f"1 + {first}"
        coordinates, start = [Coordinate(name, at) for name, at in zip(counted, placed.results)
                              if name != "block" or uneven or (edge and self.blocks > 1)], self.start()
        if start:
            coordinates.append(Coordinate("start", algebra.c_text(start, self.index_type).results[0]))
        record = TransposeLinesRecord(
            Placing(any(v.name == "bl_x" and v.hi for v in algebra.info(placing).variables), False, coordinates), tiles,
            d.register(f"u{8 * form.width}", side), form.columns + (side if edge else 0), first,
            end, parts, self.blocks, edge, tuple(dict.fromkeys((form.registers_down, 1))),
            tuple((self.first(False) + further) % side for further in self.starts), self.step)
        # The functions are added before the kernel is printed.
        for stage, down in (("first", 1), *(("next", n) for n in record.downs), ("last", 1)):
            for at_edge in (False, True)[:1 + edge]:
                self.step(stage, down, at_edge)
        lines = self.step("next", 1, False)
        return Kernel(grid, nest, arguments(d, [self.source], [self.target]),
                      Text("kernels/transpose_lines_cpu", record, attribute=d.launch_bounds(1)),
                      Report(self.flats(), StepCode([], lines, [], repeated="for each tile")))
