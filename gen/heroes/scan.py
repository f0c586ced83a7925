"""Functions that the scan heroes of CPUs and GPUs share. They write the carries (the values that pass from element to
element) and the results that are computed from carries.

If a combiner is free (gen/hlo/combiner.py), the elements of a prefix may be combined in any grouping, and sums of f16
and bf16 are carried in f32. Any other combiner takes one element after another, and rounds as the graph says.
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
    """The elements of a step: the map from the step to an element's index, the bounds of the map's variables, and the
    step's schedule.
    """

    thread: str
    box: Box
    schedule: Schedule


# a function that takes the elements of a scan op, updates the carry, and returns the op's results as C texts
Extend = Callable[[Body, int, List[Value]], List[str]]


@dataclass(frozen=True)
class Carry:
    """A value that is passed from element to element.

    id: the suffix of the names of its C variables.
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
    """The schedule of a scan.

    kind: rows, row_lanes (CPUs only), or columns.
    chunks: number of rows, or of groups of 16 rows, of a work-item.
    registers: number of registers of a block of columns.
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
    """The fields that all records of scans have.

    begin: C lines that compute the initial values.
    first, last: C texts of the range of a work-item's rows (or groups of rows): the number of the first one, and the
        number after that of the last one.
    size: number of elements of a row.
    """

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
    edge: the step of an additional register that ends at the last column; None if the columns fill whole registers.
    """

    lanes: int
    blocks: int
    registers: int
    remaining: int
    step: StepCode
    edge: Optional[StepCode]


def whole_bytes(nest: Nest) -> bool:
    """Return true if a nest is a scan. Raise Refused if elements share bytes, because two work-items could write the
    same byte.
    """
    if isinstance(nest, Scan) and touches(nest, dtypes.PACKED):
        raise Refused("some elements share bytes")
    return isinstance(nest, Scan)


def widths(nest: Scan) -> List[int]:
    """Return the widths, in bytes, of the elements that are read and written."""
    buffers = [*buffers_of(nest.partition, nest.partition.entry), *(root.buffer for root in nest.partition.roots)]
    return [dtypes.storage_bytes(buffer.shape.dtype) for buffer in buffers if buffer.shape.dims] or [4]


def free(nest: Scan) -> bool:
    """Return true if prefixes may be computed in parts and then combined. This requires that all combiners are free
    (they may combine elements in any grouping), and that each part can start from a constant.
    """
    return all(laws.free and laws.starts_known for laws in map(combiner.analyse, nest.heroes))


class ScanWriter:
    """The writer of the kernels of a scan.

    free: true if all combiners are free (elements may be combined in any grouping).
    components: the components of all scan ops.
    seen: memory accesses, for `gen explain`.
    """

    def __init__(self, nest: Scan, schedule: ScanSchedule, index_type: str, context: Context) -> None:
        self.nest, self.schedule, self.index_type, self.context = nest, schedule, index_type, context
        self.d, self.helpers, self.excess = context.target, context.helpers, context.excess
        self.free = free(nest)
        self.combiners = [combiner.analyse(hero) for hero in nest.heroes]
        self.components = combiner.components(nest.heroes)
        self.seen: List[Touched] = []

    def types_of(self, h: int) -> List[str]:
        """Return the types of the components of scan op h."""
        return [dtype for hero, _, dtype in self.components if hero == h]

    def id(self, h: int, k: int) -> str:
        return f"{h}_{k}" if len(self.nest.heroes) > 1 else str(k)

    def identity(self, h: int, k: int) -> str:
        """Return the value from which parts start: an identity of the combiner. The combiner must be free
        (gen/hlo/combiner.py).
        """
        return self.d.literal(self.combiners[h].start_of(k), self.types_of(h)[k])

    def begin(self) -> Tuple[List[Statement], List[str]]:
        """Return the C lines that compute the initial values of all scan ops, and C texts of these values."""
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
        """Add the statements that compute f(a, b), for the combiner f of op h, to body.text. Return C texts of the
        results, one for each component.
        """
        values = [Value(text, dtype, lanes) for text, dtype in zip([*a, *b], [*self.types_of(h), *self.types_of(h)])]
        new = (body.with_excess() if self.free else body).scalar(self.nest.heroes[h].called[0], values)
        new = [body.declare("next", v.dtype, v.lanes, self.in_all_lanes(body, v)) for v in new] if len(new) > 1 else new
        return [self.in_all_lanes(body, v) for v in new] if len(new) == 1 else [v.text for v in new]

    def in_all_lanes(self, body: Body, value: Value) -> str:
        return value.text if value.lanes == body.lanes else self.d.splat(value.dtype, body.lanes, value.text)

    def next_prefix(self, body: Body, h: int, before: Sequence[str], x: Sequence[str]) -> List[str]:
        """Return f(carry, element) for the combiner f, as C texts. If the scan runs in reverse, return f(element,
        carry): the order of the elements stays the same.
        """
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
        """Return the plan (form) of a step's code."""
        stores = () if partition is self.nest.inputs else self.nest.partition.roots
        return Form(partition, partition.entry, at.thread, at.schedule, at.box, given=given or {}, stores=stores)

    # ---- plans of code (forms) ----

    def steps_and_partitions(self) -> "List[Tuple[At, Partition]]":
        """Return, for each kind of step, the step's elements and the part of the graph (partition) that the step
        computes.
        """
        return [(at, self.nest.steps) for at in self.columns_at() if at]

    def forms(self) -> "List[Form]":
        inits = self.nest.inits
        return [Form(inits, inits.entry), *(self.form(*of) for of in self.steps_and_partitions())]

    def counts(self) -> "Tuple[List[Tuple[str, int]], int]":
        """Return two values: the coordinates of a work-item as (name, size), without the coordinate that counts rows;
        and the number of rows (or groups of rows).
        """
        count = -(-(self.nest.below // self.schedule.lanes) // self.schedule.registers)
        return [("block", count)] * (count > 1), self.nest.outer

    def placement(self, counts: "List[Tuple[str, int]]", turns: int) -> "Tuple[str, List[str], int]":
        """Return the map from a work-item to its coordinates, the coordinates' names, and the number of work-groups."""
        items = -(-turns // self.schedule.chunks)
        counts = [("chunk", items)] * (items > 1) + counts
        index, blocks = place(counts, self.schedule.threads)
        return index, [name for name, _ in counts], blocks

    def results(self, at: "At", extend: Extend) -> Body:
        """Return the code of a step: it reads elements, updates the carries, and writes results."""
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
        """Return the elements that scan op h combines with its carries in this step, one for each component."""
        first = sum(len(self.types_of(k)) for k in range(h))
        roots = partition.roots[len(partition.roots) - len(self.components):][first:first + len(self.types_of(h))]
        return [body.real(body.without_excess(body.read(partition.root_read(root), body.function.body), "x"))
                for root in roots]

    def grid(self) -> Grid:
        """Return the kernel with its launch."""
        return Grid(self.nest.name, self.schedule, self.index_type, self.placement(*self.counts())[2],
                    self.steps_and_partitions()[0][0].thread)

    def kernel(self, template: str, record: Any, code: StepCode, *partitions: Partition) -> Kernel:
        """Return the kernel. It computes the initial values and the given parts of the graph (partitions)."""
        partitions = (self.nest.inits, *partitions)
        return kernel_of(self.d, self.helpers, self.excess, self.grid(), self.nest, partitions,
                         Text(template, record, attribute=self.d.launch_bounds(self.schedule.threads, 1)),
                         Report(list(self.seen), code))

    def common(self, counts: "List[Tuple[str, int]]", turns: int, lanes: int) -> "Dict[str, Any]":
        """Return the fields of ScanRecord. turns: number of rows, or of groups of rows, that are divided among the
        work-items.
        """
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
        """Return a function that computes the next results of a scan op and stores them in the carries. Each carry is a
        C variable. Its name is the text `of`, then the carry's id, then the text `slot`.
        """
        def extend(body: Body, h: int, x: List[Value]) -> List[str]:
            names = [f"{of}{self.id(h, k)}{slot}" for k in range(len(self.types_of(h)))]
            new = self.next_prefix(body, h, names, [self.in_all_lanes(body, v) for v in x])
            body.text.add(*(Assign(name, text) for name, text in zip(names, new)))
            return new
        return extend

    def columns_at(self) -> "Tuple[At, Optional[At]]":
        """Return two values: the elements of a step in a block of columns, and the elements of an additional register.
        This register ends at the last column, and may overlap the register before it. Its elements are None if the
        columns fill whole registers.
        """
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
