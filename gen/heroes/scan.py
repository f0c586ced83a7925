"""The common part of the scans of CPUs and GPUs: carries from element to element, and the results computed from them.

If a combiner is free (gen/hlo/combiner.py), parts of a prefix are combined in any grouping, and sums of f16 and bf16
are carried in f32. Any other combiner takes the elements one after another, and rounds as the graph says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from gen import algebra
from gen.emit.body import Body
from gen.emit.maps import conditions
from gen.emit.form import Form, Given
from gen.statements import Assign, Statement
from gen.emit.values import Touched, Value
from gen.heroes.hero import Context, Refused
from gen.heroes.kernel import Coordinate, Grid, Kernel, Placing, Report, StepCode, Text, kernel_of, share
from gen.hlo import Instruction, combiner, dtypes
from gen.plan.buffers import buffers_of, touches
from gen.plan.digits import place
from gen.plan.nest import Nest
from gen.plan.partition import Partition, compose
from gen.plan.scan import Scan
from gen.schedule import Schedule
from gen.targets import SMALL

Box = Dict[str, Tuple[int, int]]


class At(NamedTuple):
    """The place of a step: the map to the index of an element, the bounds of its variables, and the step's counts."""

    thread: str
    box: Box
    schedule: Schedule


# takes a hero's elements; returns its results as texts, after updating the carry
Extend = Callable[[Body, int, List[Value]], List[str]]


@dataclass(frozen=True)
class Carry:
    """A value carried from element to element.

    id: the end of its name.
    type: type of a register.
    element: type of a lane.
    start: the initial value of a lane.
    """

    id: str
    dtype: str
    type: str
    element: str
    start: str


@dataclass(frozen=True)
class ScanSchedule(Schedule):
    """The schedule of a scan. kind: rows, row_lanes (CPUs only), or columns. chunks: number of rows (or blocks of 16
    rows) of a work-item. registers: number of registers of a block of columns.
    """

    kind: str = "columns"
    registers: int = 1

    def text(self) -> str:
        words = [f"scan of {self.kind}", super().text(), f"{self.chunks} rows a work-item"]
        words.append(f"{self.registers} registers of {self.lanes} columns" if self.kind == "columns" else
                     f"{self.vec} x {self.lanes} elements a step")
        return ", ".join(words + ["streamed"] * self.stream)


@dataclass(frozen=True)
class ScanRecord:
    """The common fields. begin: lines that compute the initial values. first, last: a work-item's rows, or blocks of
    rows, as C text. size: elements of a row."""

    placing: Placing
    begin: Sequence[Statement]
    carries: List[Carry]
    first: str
    last: str
    size: int
    reverse: bool


@dataclass(frozen=True)
class ScanColumnsRecord(ScanRecord):
    """The record that templates/kernels/scan_columns.j2 prints.

    lanes: number of columns in a register.
    blocks, registers: number of blocks of columns, and number of registers of a block; the last block has `remaining`
        registers.
    edge: the step of one more register, which ends with the columns, if columns are left over.
    """

    lanes: int
    blocks: int
    registers: int
    remaining: int
    step: StepCode
    edge: Optional[StepCode]


def whole_bytes(nest: Nest) -> bool:
    """Return true if a nest is a scan. Raise Refused if its elements share bytes, as several work-items could write one
    byte."""
    if isinstance(nest, Scan) and touches(nest, dtypes.PACKED):
        raise Refused("some elements share bytes")
    return isinstance(nest, Scan)


def widths(nest: Scan) -> List[int]:
    """Return the bytes of the elements that are read and written."""
    buffers = [*buffers_of(nest.partition, nest.partition.entry), *(root.buffer for root in nest.partition.roots)]
    return [dtypes.storage_bytes(buffer.shape.dtype) for buffer in buffers if buffer.shape.dims] or [4]


def free(nest: Scan) -> bool:
    """Return true if prefixes may be combined from parts, starting from known values."""
    return all(laws.free and laws.starts_known for laws in map(combiner.analyse, nest.heroes))


class ScanWriter:
    """Writes the kernels of a nest. free: true if its combiners are free. components: the components of all heroes.
    seen: accesses, for `gen explain`.
    """

    def __init__(self, nest: Scan, schedule: ScanSchedule, index_type: str, context: Context) -> None:
        self.nest, self.schedule, self.index_type, self.context = nest, schedule, index_type, context
        self.d, self.helpers, self.excess = context.target, context.helpers, context.excess
        self.free = free(nest)
        self.combiners = [combiner.analyse(hero) for hero in nest.heroes]
        self.components = combiner.components(nest.heroes)
        self.seen: List[Touched] = []

    def types_of(self, h: int) -> List[str]:
        """Return the types of a hero's components."""
        return [dtype for hero, _, dtype in self.components if hero == h]

    def id(self, h: int, k: int) -> str:
        return f"{h}_{k}" if len(self.nest.heroes) > 1 else str(k)

    def identity(self, h: int, k: int) -> str:
        """Return the value that may precede the first element of any part, for free combiners."""
        return self.d.literal(self.combiners[h].start_of(k), self.types_of(h)[k])

    def begin(self) -> Tuple[List[Statement], List[str]]:
        """Return the lines that compute the heroes' initial values, and the values' texts."""
        partition = self.nest.inits
        body = Body(self.d, self.helpers, Form(partition, partition.entry), self.index_type, self.excess)
        body.region(partition.entry.body)
        values = [body.real(body.without_excess(body.read(partition.scalar_read(init), partition.entry.body), "init"))
                  for init in partition.scalars]
        return body.text.lines, [value.text for value in values]

    def carries(self, starts: Sequence[str], lanes: int) -> List[Carry]:
        return [Carry(self.id(h, k), dtype, self.d.register(dtype, lanes), self.d.register(dtype), start)
                for (h, k, dtype), start in zip(self.components, starts)]

    def combined(self, body: Body, h: int, a: Sequence[str], b: Sequence[str], lanes: int) -> List[str]:
        """Return texts of f(a, b), one for each component, after adding the statements that compute them to
        body.text."""
        values = [Value(text, dtype, lanes) for text, dtype in zip([*a, *b], [*self.types_of(h), *self.types_of(h)])]
        new = (body.with_excess() if self.free else body).scalar(self.nest.heroes[h].called[0], values)
        new = [body.declare("next", v.dtype, v.lanes, self.in_all_lanes(body, v)) for v in new] if len(new) > 1 else new
        return [self.in_all_lanes(body, v) for v in new] if len(new) == 1 else [v.text for v in new]

    def in_all_lanes(self, body: Body, value: Value) -> str:
        return value.text if value.lanes == body.lanes else self.d.splat(value.dtype, body.lanes, value.text)

    def next_prefix(self, body: Body, h: int, before: Sequence[str], x: Sequence[str]) -> List[str]:
        """Return f(carry, element). In reverse it is f(element, carry), which keeps the order of the elements."""
        return self.combined(body, h, x, before,
                             body.lanes) if self.nest.reverse else self.combined(body, h, before, x, body.lanes)

    def position(self, outer: str, place: str, column: str) -> str:
        return f"(({outer}) * {self.nest.size} + {place}) * {self.nest.below} + {column}"

    def thread(self, position: str, box: Box, ranges: Sequence[str], where: str = "") -> str:
        names = [n for n in box if n not in ranges]
        head = f"({', '.join(names)})" + (f"[{', '.join(ranges)}]" if ranges else "")
        bounds = [f"{n} in [{low}, {high}]" for n, (low, high) in box.items()]
        domain = ", ".join([*bounds, where] if where else bounds)
        return compose(algebra.simplify(f"{head} -> ({position})" + (f", domain: {domain}" if domain else "")),
                       algebra.call("shape", "unmap", self.nest.shape.text))

    def body(self, thread: str, box: Box, schedule: Schedule, partition: Partition,
             given: "Optional[Mapping[Instruction, Given]]" = None) -> Body:
        return Body(self.d, self.helpers, self.form(At(thread, box, schedule), partition, given), self.index_type,
                    self.excess)

    def form(self, at: "At", partition: Partition, given: "Optional[Mapping[Instruction, Given]]" = None) -> Form:
        """Return the form of a step."""
        stores = () if partition is self.nest.inputs else self.nest.partition.roots
        return Form(partition, partition.entry, at.thread, at.schedule, at.box, given=given or {}, stores=stores)

    # ---- forms, before the first statement ----

    def steps_and_partitions(self) -> "List[Tuple[At, Partition]]":
        """Return the places of the steps, and the partitions that they compute."""
        return [(at, self.nest.steps) for at in self.columns_at() if at]

    def forms(self) -> "List[Form]":
        inits = self.nest.inits
        return [Form(inits, inits.entry), *(self.form(*of) for of in self.steps_and_partitions())]

    def counts(self) -> "Tuple[List[Tuple[str, int]], int]":
        """Return the counts in a work-item's number besides rows (or blocks of rows), and the number of rows (or
        blocks).
        """
        count = -(-(self.nest.below // self.schedule.lanes) // self.schedule.registers)
        return [("block", count)] * (count > 1), self.nest.outer

    def placement(self, counts: "List[Tuple[str, int]]", turns: int) -> "Tuple[str, List[str], int]":
        """Return the map from a work-item to its coordinates, their names, and the number of work-groups."""
        items = -(-turns // self.schedule.chunks)
        counts = [("chunk", items)] * (items > 1) + counts
        index, blocks = place(counts, self.schedule.threads)
        return index, [name for name, _ in counts], blocks

    def results(self, at: "At", extend: Extend) -> Body:
        """Return the body of a step: it reads elements, updates the carries, and writes results."""
        partition = self.nest.steps

        def of_hero(h: int) -> Given:
            return lambda body: self._values(body, h, extend)
        body = self.body(*at, partition,
                         {hero: of_hero(h) for h, hero in enumerate(self.nest.heroes)})
        body.region(partition.entry.body)
        for root in self.nest.partition.roots:
            body.store(root)
        self.seen += [a for a in body.touched if a not in self.seen]
        return body

    def _values(self, body: Body, h: int, extend: Extend) -> List[Value]:
        kinds = self.types_of(h)
        values = [Value(text, dtype, body.lanes, rounded=not self.free or dtype not in SMALL)
                  for text, dtype in zip(extend(body, h, self.elements(body, h, self.nest.steps)), kinds)]
        return [v if self.excess else body.without_excess(v, "scan") for v in values]

    def elements(self, body: Body, h: int, partition: Partition) -> List[Value]:
        """Return a hero's elements at the step."""
        first = sum(len(self.types_of(k)) for k in range(h))
        roots = partition.roots[len(partition.roots) - len(self.components):][first:first + len(self.types_of(h))]
        return [body.real(body.without_excess(body.read(partition.root_read(root), body.function.body), "x"))
                for root in roots]

    def grid(self) -> Grid:
        """Return the kernel with its launch."""
        return Grid(self.nest.name, self.schedule, self.index_type, self.placement(*self.counts())[2],
                    self.steps_and_partitions()[0][0].thread)

    def kernel(self, template: str, record: Any, code: StepCode, *partitions: Partition) -> Kernel:
        """Return the kernel, which evaluates these partitions and the initial values."""
        partitions = (self.nest.inits, *partitions)
        return kernel_of(self.d, self.helpers, self.excess, self.grid(), self.nest, partitions,
                         Text(template, record, attribute=self.d.launch_bounds(self.schedule.threads, 1)),
                         Report(list(self.seen), code))

    def common(self, counts: "List[Tuple[str, int]]", turns: int, lanes: int) -> "Dict[str, Any]":
        """Return the fields of ScanRecord. turns: rows, or blocks of rows, that the work-items share."""
        chunks, threads = self.schedule.chunks, self.schedule.threads
        items, (at, names, blocks) = -(-turns // chunks), self.placement(counts, turns)
        c = algebra.c_text(at, self.index_type)
        begin, starts = self.begin()
        if self.free:
            starts = [self.identity(h, k) if not self.combiners[h].apply_init else text
                      for (h, k, _), text in zip(self.components, starts)]
        first, last = share("chunk", chunks, items, turns) if items > 1 else ("0", str(turns))
        box = {"th_x": (0, threads - 1), "bl_x": (0, blocks - 1)}
        placing = Placing(blocks > 1, threads > 1, [*map(Coordinate, names, c.results)],
                          " && ".join(conditions(at, box, self.index_type)))
        return {"placing": placing, "begin": begin, "carries": self.carries(starts, lanes), "first": first,
                "last": last, "size": self.nest.size, "reverse": self.nest.reverse}

    def carry(self, slot: str, of: str = "a") -> Extend:
        """Return the function whose carry is the previous result, of{id}slot."""
        def extend(body: Body, h: int, x: List[Value]) -> List[str]:
            names = [f"{of}{self.id(h, k)}{slot}" for k in range(len(self.types_of(h)))]
            new = self.next_prefix(body, h, names, [self.in_all_lanes(body, v) for v in x])
            body.text.add(*(Assign(name, text) for name, text in zip(names, new)))
            return new
        return extend

    def columns_at(self) -> "Tuple[At, Optional[At]]":
        """Return the place of the steps of a block of columns, and that of the register that ends with the columns if
        some are left over."""
        nest, schedule, lanes = self.nest, self.schedule, self.schedule.lanes
        counts, _ = self.counts()
        ranges, row = ("vec", "lane") if lanes > 1 else (), {"row": (0, nest.outer - 1), "place": (0, nest.size - 1)}
        box: Box = {**row, **{name: (0, count - 1) for name, count in counts}, "vec": (0, schedule.registers - 1)}
        column = f"vec * {lanes}" + (f" + block * {schedule.registers * lanes}" if counts else "")
        if lanes > 1:
            box, column = {**box, "lane": (0, lanes - 1)}, f"{column} + lane"
        step = At(self.thread(self.position("row", "place", column), box, ranges), box,
                  Schedule(lanes=lanes, stream=schedule.stream))
        if nest.below % lanes == 0:
            return step, None
        box = {**row, "vec": (0, 0), "lane": (0, lanes - 1)}
        return step, At(self.thread(self.position("row", "place", f"{nest.below - lanes} + vec + lane"), box, ranges),
                        box, Schedule(lanes=lanes))

    def columns(self) -> ScanColumnsRecord:
        nest, schedule, lanes = self.nest, self.schedule, self.schedule.lanes
        whole, count = nest.below // lanes, -(-(nest.below // lanes) // schedule.registers)
        common = self.common(*self.counts(), lanes)
        at, at_edge = self.columns_at()
        step = StepCode.of_body(self.results(at, self.carry("[vec]")), schedule.registers)
        edge = StepCode.of_body(self.results(at_edge, self.carry("", "e")), 1) if at_edge else None
        return ScanColumnsRecord(**common, lanes=lanes, blocks=count, registers=schedule.registers,
                                 remaining=whole - (count - 1) * schedule.registers, step=step, edge=edge)
