"""The scan hero on CPUs: each element is read once, and each result written once.

A position in memory is (outer * size + place) * below + column (gen/plan/scan.py). Its kernels are
templates/kernels/scan_cpu_*.j2:

  rows       below is 1, and the combiner is free: a vector of neighbours becomes its own prefixes in registers, with
             what is carried from the vector before
  row_lanes  below is 1: a lane for each of 16 rows, whose elements are transposed in registers after loads and before
             stores
  columns    a lane for each of 16 neighbouring columns, one after another down the rows; or one element a register,
             where no vector fits
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Iterable, List, Optional, Tuple

from gen import algebra
from gen.emit import register_tiles
from gen.emit.body import Body
from gen.emit.values import Value
from gen.heroes import scan
from gen.heroes.hero import Context, Hero
from gen.heroes.kernel import Coordinate, Kernel, Step
from gen.heroes.scan import Box, Carry, free, whole_bytes
from gen.hlo import dtypes
from gen.hlo.opcodes import ELEMENTWISE
from gen.plan.buffers import buffers_of, touches
from gen.plan.digits import place
from gen.plan.nest import Nest
from gen.plan.scan import Scan
from gen.schedule import LANES, Device, Schedule
from gen.targets import COMPLEX, TINY


@dataclass(frozen=True)
class Prefixes(Schedule):
    """kind: rows, row_lanes, columns. chunks: rows (or 16 rows) of a work-item; registers: of a block of columns."""

    kind: str = "columns"
    registers: int = 1

    def text(self) -> str:
        words = [f"scan of {self.kind}", super().text(), f"{self.chunks} rows a work-item"]
        words += [f"{self.vec} x {self.lanes} elements a step"] if self.kind != "columns" else [f"{self.registers} registers of {self.lanes} columns"]
        return ", ".join(words + ["streamed"] * self.stream)


class _Hero(Hero):
    """One kernel, of the kind that the memory order and the combiner allow."""

    name = "scan"

    def takes(self, nest: Nest, context: Context) -> bool:
        return context.device.cpu and whole_bytes(nest)

    def schedules(self, nest: Nest, context: Context) -> "Iterable[Any]":
        assert isinstance(nest, Scan)
        wide = context.target.wide and context.device.lanes > 1 and not touches(nest, {*COMPLEX, *TINY})
        return [*(_wide(context.device, nest) if wide else []), _columns(context.device, nest, 1)]

    def kernels(self, nest: Nest, schedule: Any, index_type: str, context: Context) -> "Optional[List[Kernel]]":
        assert isinstance(nest, Scan)
        return [Emitter(nest, schedule, index_type, context).written()]


HERO = _Hero()


def _widths(nest: Scan) -> List[int]:
    reads = buffers_of(nest.partition, nest.partition.entry)
    return [dtypes.storage_bytes(shape.dtype)
            for shape in [*reads.values(), *(root.shape for root in nest.partition.roots)] if shape.dims] or [4]


def _streams(device: Device, nest: Scan) -> bool:
    """Whether results go past the caches."""
    return sum(root.shape.bytes for root in nest.partition.roots) + \
        sum(shape.bytes for shape in buffers_of(nest.partition, nest.partition.entry).values()) > device.cache


def _shared(device: Device, rows: int, each: int) -> "Tuple[int, int]":
    """The rows of a work-item and the work-items of a group, for rows of `each` bytes."""
    chunks = max(1, min(rows // (device.unit_items * device.units), device.part_bytes // max(1, each)))
    return chunks, device.group if -(-rows // chunks) >= device.group_items * device.group else 1


def _wide(device: Device, nest: Scan) -> "Iterable[Prefixes]":
    widths, stream = _widths(nest), _streams(device, nest)
    each = nest.size * max(widths)
    if nest.below >= LANES:
        yield _columns(device, nest, LANES)
    if nest.below > 1:
        return
    rows: List[Prefixes] = []
    if nest.size >= LANES and free(nest):
        vec = max(1, min(64 // (LANES * min(widths)), nest.size // LANES))
        chunks, threads = _shared(device, nest.outer, each)
        rows = [Prefixes(threads, chunks, vec, LANES, kind="rows", stream=stream)]
    if _cheap(nest):
        yield from rows
    lanes = LANES if max(widths) <= 4 else 8
    if nest.size >= lanes and nest.outer >= lanes:
        chunks, threads = _shared(device, nest.outer // lanes, lanes * each)
        yield Prefixes(threads, chunks, lanes, lanes, kind="row_lanes", tile=True, stream=stream)
    yield from rows


def _cheap(nest: Scan) -> bool:
    """Whether combiners are an instruction each: a register of neighbours takes six of them, a lane for each row
    one."""
    ops = [i.opcode for hero in nest.heroes for i in hero.called[0].instructions
           if i.opcode not in ("parameter", "tuple")]
    return all(opcode in ELEMENTWISE and ELEMENTWISE[opcode].operator for opcode in ops)


def _columns(device: Device, nest: Scan, lanes: int) -> Prefixes:
    """A block of columns is walked down; where there are few columns, a work-item has several outer positions, one
    after another."""
    width = max(_widths(nest))
    whole = max(1, nest.below // lanes)
    registers = min(whole, max(1, device.scan_bytes // (lanes * width)))
    blocks = -(-whole // registers)
    while registers > 1 and blocks * nest.outer < 2 * device.units and registers * lanes * width > 512:
        registers, blocks = -(-registers // 2), -(-whole // -(-registers // 2))
    chunks, threads = _shared(device, nest.outer, nest.size * registers * lanes * width) if blocks == 1 else (1, 1)
    return Prefixes(threads, chunks, lanes=lanes, kind="columns", registers=registers, stream=_streams(device, nest))


# ---- what the templates are handed ----

@dataclass(frozen=True)
class Record:
    """What all have. group, item: whether the place needs the numbers of work-group and work-item; guard: whether a
    work-item is needed ("": all are).
    begin: lines that compute what is started from. first, last: a work-item's rows, or blocks of rows, as C text. size:
    elements of a row."""

    group: bool
    item: bool
    guard: str
    coordinates: List[Coordinate]
    begin: List[str]
    carries: List[Carry]
    first: str
    last: str
    size: int
    reverse: bool


@dataclass(frozen=True)
class Rows(Record):
    """templates/kernels/scan_cpu_rows.j2. row: the text of a block's first row ("": the element's code has it). count:
    steps of a row; step: of `vec` registers; left: elements that are in no step, rest: the code for one of them, which
    carries a scalar where `scalar`: what all lanes of the register have."""

    row: str
    count: int
    step: Step
    left: int
    rest: Optional[Step]
    scalar: bool


@dataclass(frozen=True)
class Columns(Record):
    """templates/kernels/scan_cpu_columns.j2. lanes: columns of a register. registers: of a block, the last one of which
    has `remaining`, and the columns that are left over: one more register, that ends with the columns (edge)."""

    lanes: int
    blocks: int
    registers: int
    remaining: int
    step: Step
    edge: Optional[Step]


# ---- how they are filled ----

class Emitter(scan.Emitter):
    """The kernel of one nest."""

    schedule: Prefixes

    def written(self) -> Kernel:
        kind = self.schedule.kind
        record, blocks = {"rows": self.rows, "row_lanes": self.row_lanes, "columns": self.columns}[kind]()
        kernel = self.kernel(blocks, self.schedule.threads)
        kernel.template, kernel.record = f"kernels/scan_cpu_{'columns' if kind == 'columns' else 'rows'}", record
        kernel.code = record.step
        return kernel

    def common(self, counts: "List[Tuple[str, int]]", turns: int, lanes: int) -> "Tuple[Dict[str, Any], int]":
        """The fields of Record, and the number of work-groups. turns: rows, or blocks of rows, that the work-items
        share."""
        chunks, threads = self.schedule.chunks, self.schedule.threads
        items = -(-turns // chunks)
        counts = [("chunk", items)] * (items > 1) + counts
        at, blocks = place(counts, threads)
        c = algebra.c_text(at, self.index_type)
        begin, starts = self.begin()
        if self.free:
            starts = [self.identity(h, k) if not self.combiners[h].apply_init else text
                      for (h, k, _), text in zip(self.components, starts)]
        first, last = (f"chunk * {chunks}", f"chunk * {chunks} + {chunks}") if items > 1 else ("0", str(turns))
        if items > 1 and turns % chunks:
            last = f"(chunk < {items - 1} ? {last} : {turns})"
        return {"group": blocks > 1, "item": threads > 1, "guard": " && ".join(c.constraints),
                "coordinates": [Coordinate(name, text) for (name, _), text in zip(counts, c.results)], "begin": begin,
                "carries": self.carries(starts, lanes), "first": first, "last": last, "size": self.nest.size,
                "reverse": self.nest.reverse}, blocks

    # ---- what is carried ----

    def carry(self, slot: str, of: str = "a") -> scan.Extend:
        """What is carried is the result before: of{id}slot."""
        def extend(body: Body, h: int, x: List[Value]) -> List[str]:
            names = [f"{of}{self.id(h, k)}{slot}" for k in range(len(self.of(h)))]
            new = self.extended(body, h, names, [self.widened(body, v) for v in x])
            body.text.add(*(f"{name} = {text};" for name, text in zip(names, new)))
            return new
        return extend

    def prefixes(self, body: Body, h: int, x: List[Value]) -> List[str]:
        """The prefixes of a register's lanes by doubling; then with what is carried, which grows by the whole
        register."""
        kinds, names = self.of(h), [f"a{self.id(h, k)}" for k in range(len(self.of(h)))]
        now = [self.widened(body, v) for v in x]
        distance = 1
        while distance < LANES:
            before = [f"{self.shift(dtype, distance)}({text}, {self.d.splat(dtype, LANES, self.identity(h, k))})"
                      for k, (dtype, text) in enumerate(zip(kinds, now))]
            now = self.extended(body, h, before, now)
            distance *= 2
        new = self.extended(body, h, names, now)
        total = [f"{self.last(dtype)}({text})" for dtype, text in zip(kinds, now)]
        grown = self.extended(body, h, names, total)
        body.text.add(*(f"{name} = {text};" for name, text in zip(names, grown)))
        return new

    def _shuffle(self, name: str, dtype: str, picks: List[int], two: bool) -> str:
        """A function that picks lanes of one register, or of two."""
        kind = self.d.register(dtype, LANES)
        name = f"{name}_{kind}"
        a, b = ("a, ", "b") if two else ("a, ", "a")
        names = f"{kind} a, {kind} b" if two else f"{kind} a"
        element, lanes = self.d.register(dtype), LANES * (1 + two)
        self.helpers.texts.setdefault("tiles", register_tiles.PRELUDE)
        self.helpers.texts.setdefault(name, (
            f"{self.d.function} {kind} {name}({names})\n{{\n#if SHUFFLES\n  return __builtin_shufflevector({a}{b}, {', '.join(map(str, picks))});\n#else\n"
            f"  const int pick[{LANES}] = {{{', '.join(map(str, picks))}}};\n"
            f"  {element} x[{lanes}], y[{LANES}];\n  {self.d.scatter(dtype, LANES, 'a', 'x')}\n"
            + (f"  {self.d.scatter(dtype, LANES, 'b', f'(x + {LANES})')}\n" if two else "") +
            f"  for (int i = 0; i < {LANES}; ++i) y[i] = x[pick[i]];\n  return {self.d.gather(dtype, LANES, 'y')};\n#endif\n}}\n"))
        return name

    def shift(self, dtype: str, distance: int) -> str:
        """A function that moves a register's lanes on, and fills up with a second register's."""
        if self.nest.reverse:
            return self._shuffle(f"back_{distance}", dtype, [*range(distance, LANES), *range(LANES, LANES + distance)],
                                 True)
        return self._shuffle(f"on_{distance}", dtype, [*range(LANES, LANES + distance), *range(LANES - distance)], True)

    def last(self, dtype: str) -> str:
        """A function that gives a register's last prefix in all lanes."""
        return self._shuffle("first" if self.nest.reverse else "last", dtype,
                             [0 if self.nest.reverse else LANES - 1] * LANES, False)

    # ---- kinds ----

    def rows(self) -> "Tuple[Rows, int]":
        nest, schedule = self.nest, self.schedule
        common, blocks = self.common([], nest.outer, LANES)
        row: Box = {"row": (0, nest.outer - 1)}
        count, left = divmod(nest.size, schedule.step)
        box = {**row, "step": (0, count - 1), "vec": (0, schedule.vec - 1), "lane": (0, LANES - 1)}
        thread = self.thread(self.position("row", f"step * {schedule.step} + vec * {LANES} + lane", "0"), box,
                             ("vec", "lane"))
        step = Step.of(self.results(thread, box, schedule, self.prefixes), schedule.vec)
        rest = None
        if left:
            box = {**row, "rest": (0, left - 1)}
            rest = Step.of(self.results(self.thread(self.position("row", f"{count * schedule.step} + rest", "0"), box,
                                                    ()), box, Schedule(), self.carry("", "c")), 1)
        return Rows(**common, row="", count=count, step=step, left=left, rest=rest, scalar=True), blocks

    def row_lanes(self) -> "Tuple[Rows, int]":
        nest, schedule, lanes = self.nest, self.schedule, self.schedule.lanes
        whole, moved = divmod(nest.outer, lanes)
        common, blocks = self.common([], whole, lanes)
        if moved:       # a last turn for what is left, moved back onto the one before, of the same work-item
            common["last"] = f"(chunk < {-(-whole // schedule.chunks) - 1} ? {common['last']} : {whole + 1})" if common["coordinates"] else str(whole + 1)
        row: Box = {"row": (0, nest.outer - lanes)} if moved else {"block": (0, whole - 1)}
        outer = "row + lane" if moved else f"block * {lanes} + lane"
        count, left = divmod(nest.size, schedule.step // lanes)
        box = {**row, "step": (0, count - 1), "vec": (0, schedule.vec - 1), "lane": (0, lanes - 1)}
        thread = self.thread(self.position(outer, f"step * {schedule.vec} + vec", "0"), box, ("vec", "lane"))
        step = Step.of(self.results(thread, box, schedule, self.carry("")), schedule.vec)
        rest = None
        if left:
            box = {**row, "rest": (0, left - 1), "vec": (0, 0), "lane": (0, lanes - 1)}
            thread = self.thread(self.position(outer, f"{count * schedule.vec} + rest + vec", "0"), box,
                                 ("vec", "lane"))
            rest = Step.of(self.results(thread, box, Schedule(lanes=lanes), self.carry("")), 1)
        start = f"block < {whole} ? block * {lanes} : {nest.outer - lanes}" if moved else ""
        return Rows(**common, row=start, count=count, step=step, left=left, rest=rest, scalar=False), blocks

    def columns(self) -> "Tuple[Columns, int]":
        nest, schedule, lanes = self.nest, self.schedule, self.schedule.lanes
        whole, left = divmod(nest.below, lanes)
        count = -(-whole // schedule.registers)
        common, blocks = self.common([("block", count)] * (count > 1), nest.outer, lanes)
        ranges, row = ("vec", "lane") if lanes > 1 else (), {"row": (0, nest.outer - 1), "place": (0, nest.size - 1)}
        box: Box = {**row, **({"block": (0, count - 1)} if count > 1 else {}), "vec": (0, schedule.registers - 1)}
        column = f"vec * {lanes}" + (f" + block * {schedule.registers * lanes}" if count > 1 else "")
        if lanes > 1:
            box, column = {**box, "lane": (0, lanes - 1)}, f"{column} + lane"
        step = Step.of(self.results(self.thread(self.position("row", "place", column), box, ranges), box,
                                    Schedule(lanes=lanes, stream=schedule.stream), self.carry("[vec]")),
                       schedule.registers)
        edge = None
        if left:
            box = {**row, "vec": (0, 0), "lane": (0, lanes - 1)}
            edge = Step.of(self.results(self.thread(self.position("row", "place", f"{nest.below - lanes} + vec + lane"),
                                                    box, ranges), box, Schedule(lanes=lanes), self.carry("", "e")), 1)
        return Columns(**common, lanes=lanes, blocks=count, registers=schedule.registers,
                       remaining=whole - (count - 1) * schedule.registers, step=step, edge=edge), blocks
