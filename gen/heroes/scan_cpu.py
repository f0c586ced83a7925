"""The scan hero (kernel emitter) on CPUs: each element is read once, and each result written once.

A position in memory is (outer * size + place) * below + column (gen/plan/scan.py), where `place` is the index along the
scanned dimension and `below` the number of columns. The templates are
templates/kernels/scan_cpu_rows.j2 and scan_columns.j2. The kinds of kernels are:
- rows: there is one column (`below` is 1), and the combiner is free (elements may be combined in any grouping). A
  vector of adjacent elements becomes the vector of its prefixes in registers, and is then combined with the carry from
  the previous vector.
- row_lanes: `below` is 1. Each lane has one of 16 rows; elements are transposed in registers after loads and before
  stores.
- columns: each lane has one of 16 adjacent columns, and goes from row to row. If vectors cannot be used, each column
  is in a scalar register.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Iterable, List, Optional, Tuple

from gen.emit.body import Body
from gen.emit.form import Form
from gen.statements import Assign
from gen.emit.values import Value
from gen.heroes import scan
from gen.heroes.hero import Choice, Context, Hero
from gen.heroes.kernel import Grid, Kernel, StepCode, share
from gen.heroes.scan import At, Box, ScanSchedule, ScanRecord, free, whole_bytes, widths
from gen.plan.buffers import buffers_of, touches
from gen.hlo.combiner import identity
from gen.hlo.opcodes import ELEMENTWISE
from gen.plan.partition import Partition
from gen.plan.scan import Scan
from gen.schedule import LANES, Device, Schedule
from gen.targets import COMPLEX, TINY


class ScanCpuHero(Hero[Scan, ScanSchedule]):
    """The emitter (hero) that writes one kernel, for rows or for columns, as the memory order and the combiner allow.
    """

    name = "scan"
    nest_class = Scan

    def takes(self, nest: Scan, context: Context) -> bool:
        return context.device.cpu and whole_bytes(nest)

    def schedules(self, nest: Scan, context: Context) -> "Iterable[ScanSchedule]":
        wide = context.device.wide and not touches(nest, {*COMPLEX, *TINY})
        return [*(_wide(context.device, nest) if wide else []), _columns(context.device, nest, 1)]

    def forms(self, nest: Scan, schedule: ScanSchedule, context: Context) -> "Iterable[Form]":
        return ScanCpuWriter(nest, schedule, "", context).forms()

    def maps(self, nest: Scan, schedule: ScanSchedule, context: Context) -> "Iterable[str]":
        writer = ScanCpuWriter(nest, schedule, "", context)
        return [writer.placement(*writer.counts())[0]]

    def grids(self, choice: Choice[Scan, ScanSchedule], context: Context) -> "List[Grid]":
        return [ScanCpuWriter(choice.nest, choice.schedule, choice.index, context).grid()]

    def build(self, choice: Choice[Scan, ScanSchedule], context: Context) -> "List[Kernel]":
        return [ScanCpuWriter(choice.nest, choice.schedule, choice.index, context).nest_kernel()]


HERO = ScanCpuHero()


def _streams(device: Device, nest: Scan) -> bool:
    """Return true if stores of results bypass the caches, because all arrays together are larger than the cache."""
    return sum(root.shape.bytes for root in nest.partition.roots) + \
        sum(buffer.shape.bytes for buffer in buffers_of(nest.partition, nest.partition.entry)) > device.cache


def _shared(device: Device, rows: int, row_bytes: int) -> "Tuple[int, int]":
    """Return two numbers for rows of `row_bytes` bytes: the rows of a work-item, and the work-items of a group."""
    chunks = max(1, min(rows // (device.unit_items * device.units), device.part_bytes // max(1, row_bytes)))
    return chunks, device.group if -(-rows // chunks) >= device.group_items * device.group else 1


def _wide(device: Device, nest: Scan) -> "Iterable[ScanSchedule]":
    sizes, stream = widths(nest), _streams(device, nest)
    row_bytes = nest.size * max(sizes)
    if nest.below >= LANES:
        yield _columns(device, nest, LANES)
    if nest.below > 1:
        return
    rows: List[ScanSchedule] = []
    if nest.size >= LANES and free(nest):
        vec = max(1, min(device.line // (LANES * min(sizes)), nest.size // LANES))
        chunks, threads = _shared(device, nest.outer, row_bytes)
        rows = [ScanSchedule(threads, chunks, vec, LANES, kind="rows", stream=stream)]
    if _cheap(nest):
        yield from rows
    lanes = LANES if max(sizes) <= 4 else 8
    if nest.size >= lanes and nest.outer >= lanes:
        chunks, threads = _shared(device, nest.outer // lanes, lanes * row_bytes)
        yield ScanSchedule(threads, chunks, lanes, lanes, kind="row_lanes", tile=True, stream=stream)
    yield from rows


def _cheap(nest: Scan) -> bool:
    """Return true if the combiner takes one or two instructions. The kind "rows" is then faster, although it combines
    each register six times, and the kind "row_lanes" only once.
    """
    ops = [i.opcode for hero in nest.heroes for i in hero.called[0].instructions
           if i.opcode not in ("parameter", "tuple")]
    return all(opcode in ("maximum", "minimum") or opcode in ELEMENTWISE and ELEMENTWISE[opcode].operator
               for opcode in ops)


def _columns(device: Device, nest: Scan, lanes: int) -> ScanSchedule:
    """Return the schedule of the kind "columns". A work-item scans a block of columns. If there are few columns, it
    scans the same columns for several outer indices, one after another.
    """
    width = max(widths(nest))
    whole = max(1, nest.below // lanes)
    registers = min(whole, max(1, device.scan_cpu.bytes // (lanes * width)))
    blocks = -(-whole // registers)
    while (registers > 1 and blocks * nest.outer < 2 * device.units
           and registers * lanes * width > device.scan_cpu.least_bytes):
        registers, blocks = -(-registers // 2), -(-whole // -(-registers // 2))
    chunks, threads = _shared(device, nest.outer, nest.size * registers * lanes * width) if blocks == 1 else (1, 1)
    return ScanSchedule(threads, chunks, lanes=lanes, kind="columns", registers=registers, stream=_streams(device, nest))


# ---- records for the templates ----

@dataclass(frozen=True)
class ScanCpuRecord(ScanRecord):
    """The record that templates/kernels/scan_cpu_rows.j2 prints.

    row: C text of the first row of a group of rows ("": the element's code computes it).
    count: number of steps of a row.
    step: code of a step of `vec` registers.
    left: number of elements after the last step.
    rest: code of one of these elements.
    scalar: true if `rest` has its carries in scalars, and all lanes of a register of carries are equal.
    """

    row: str
    count: int
    step: StepCode
    left: int
    rest: Optional[StepCode]
    scalar: bool


# ---- the writer of the records ----

class ScanCpuWriter(scan.ScanWriter):
    """The writer of the kernel of one scan."""

    def nest_kernel(self) -> Kernel:
        if self.schedule.kind == "columns":
            columns = self.columns()
            return self.kernel("kernels/scan_columns", columns, columns.step, self.nest.steps)
        rows = self.rows() if self.schedule.kind == "rows" else self.row_lanes()
        return self.kernel("kernels/scan_cpu_rows", rows, rows.step, self.nest.steps)

    # ---- carries ----

    def prefixes(self, body: Body, h: int, x: List[Value]) -> List[str]:
        """Return the prefixes of a register's lanes, combined with the carry; then combine the carry with the whole
        register. Each of the log2(lanes) steps combines lanes at twice the distance of the step before.
        """
        kinds, names = self.types_of(h), [f"a{self.id(h, k)}" for k in range(len(self.types_of(h)))]
        now = [self.in_all_lanes(body, v) for v in x]
        distance = 1
        while distance < LANES:
            before = [f"{self.shift(dtype, distance)}({text}, {self.d.splat(dtype, LANES, self.filling(h, k))})"
                      for k, (dtype, text) in enumerate(zip(kinds, now))]
            now = self.next_prefix(body, h, before, now)
            distance *= 2
        new = self.next_prefix(body, h, names, now)
        total = [f"{self.last(dtype)}({text})" for dtype, text in zip(kinds, now)]
        grown = self.next_prefix(body, h, names, total)
        body.text.add(*(Assign(name, text) for name, text in zip(names, grown)))
        return new

    def filling(self, h: int, k: int) -> str:
        """Return the identity that fills lanes before the first lane. For sums of floats it is -0.0, not 0.0, because
        LLVM turns shuffles with 0.0 into expand instructions, which take three times as long on Zen 4.
        """
        ops = [i for i in self.nest.heroes[h].called[0].instructions if i.opcode != "parameter"]
        dtype = self.types_of(h)[k]
        start = identity(ops[0].opcode, dtype) if len(ops) == 1 and ops[0].opcode == "add" else None
        return self.identity(h, k) if start is None else self.d.literal(start, dtype)

    def shift(self, dtype: str, distance: int) -> str:
        """Return the name of a function that shifts a register's lanes and fills up with the lanes of a second
        register.
        """
        way = "back" if self.nest.reverse else "on"
        picks = range(distance, LANES + distance) if self.nest.reverse else [*range(LANES, LANES + distance),
                                                                             *range(LANES - distance)]
        return self.helpers.shuffle(f"{way}_{distance}_{self.d.register(dtype, LANES)}", dtype, LANES, picks)

    def last(self, dtype: str) -> str:
        """Return the name of a function that copies a register's last prefix to all lanes."""
        word, lane = ("first", 0) if self.nest.reverse else ("last", LANES - 1)
        return self.helpers.shuffle(f"{word}_{self.d.register(dtype, LANES)}", dtype, LANES, [lane] * LANES, two=False)

    # ---- kinds ----

    def counts(self) -> "Tuple[List[Tuple[str, int]], int]":
        if self.schedule.kind == "columns":
            return super().counts()
        return [], self.nest.outer // (self.schedule.lanes if self.schedule.kind == "row_lanes" else 1)

    def steps_and_partitions(self) -> "List[Tuple[At, Partition]]":
        if self.schedule.kind == "columns":
            return super().steps_and_partitions()
        steps = self.rows_at() if self.schedule.kind == "rows" else self.row_lanes_at()
        return [(at, self.nest.steps) for at in steps if at]

    def rows_at(self) -> "Tuple[At, Optional[At]]":
        """Return the elements of a whole step in a row, and the elements that remain at the end of the row. The latter
        are None if the row is a whole number of steps.
        """
        nest, schedule, row = self.nest, self.schedule, {"row": (0, self.nest.outer - 1)}
        count, left = divmod(nest.size, schedule.step)
        box: Box = {**row, "step": (0, count - 1), "vec": (0, schedule.vec - 1), "lane": (0, LANES - 1)}
        step = At(self.thread(self.position("row", f"step * {schedule.step} + vec * {LANES} + lane", "0"), box,
                              ("vec", "lane")), box, schedule)
        box = {**row, "rest": (0, left - 1)}
        return step, At(self.thread(self.position("row", f"{count * schedule.step} + rest", "0"), box, ()), box,
                        Schedule()) if left else None

    def row_lanes_at(self) -> "Tuple[At, Optional[At]]":
        """Return the elements of a whole step in a group of rows, and the elements that remain at the end of the rows.
        The latter are None if the rows are a whole number of steps.
        """
        nest, schedule, lanes = self.nest, self.schedule, self.schedule.lanes
        whole, moved = divmod(nest.outer, lanes)
        row: Box = {"row": (0, nest.outer - lanes)} if moved else {"block": (0, whole - 1)}
        outer = "row + lane" if moved else f"block * {lanes} + lane"
        count, left = divmod(nest.size, schedule.step // lanes)
        box = {**row, "step": (0, count - 1), "vec": (0, schedule.vec - 1), "lane": (0, lanes - 1)}
        step = At(self.thread(self.position(outer, f"step * {schedule.vec} + vec", "0"), box, ("vec", "lane")), box,
                  schedule)
        if not left:
            return step, None
        box = {**row, "rest": (0, left - 1), "vec": (0, 0), "lane": (0, lanes - 1)}
        return step, At(self.thread(self.position(outer, f"{count * schedule.vec} + rest + vec", "0"), box,
                                    ("vec", "lane")), box, Schedule(lanes=lanes))

    def rows(self) -> ScanCpuRecord:
        nest, schedule, (at, at_rest) = self.nest, self.schedule, self.rows_at()
        common = self.common(*self.counts(), LANES)
        count, left = divmod(nest.size, schedule.step)
        step = StepCode.of_body(self.results(at, self.prefixes), schedule.vec)
        rest = StepCode.of_body(self.results(at_rest, self.carry("", "c")), 1) if at_rest else None
        return ScanCpuRecord(**common, row="", count=count, step=step, left=left, rest=rest, scalar=True)

    def row_lanes(self) -> ScanCpuRecord:
        nest, schedule, lanes = self.nest, self.schedule, self.schedule.lanes
        whole, moved = divmod(nest.outer, lanes)
        common = self.common(*self.counts(), lanes)
        # The last group of rows is moved back so that it ends with the last row. The group before it, with which it
        # shares rows, belongs to the same work-item.
        if moved:
            turns, items = whole + 1, -(-whole // schedule.chunks)
            common["last"] = share("chunk", schedule.chunks, items, turns)[1] if items > 1 else str(turns)
        (at, at_rest), (count, left) = self.row_lanes_at(), divmod(nest.size, schedule.step // lanes)
        step = StepCode.of_body(self.results(at, self.carry("")), schedule.vec)
        rest = StepCode.of_body(self.results(at_rest, self.carry("")), 1) if at_rest else None
        start = f"block < {whole} ? block * {lanes} : {nest.outer - lanes}" if moved else ""
        return ScanCpuRecord(**common, row=start, count=count, step=step, left=left, rest=rest, scalar=False)
