"""The window hero (kernel emitter) on CPUs: pooling, its gradient, blurs and stencils, computed row by row of the
result.

The result's dimensions are separate loops, so that reads need neither / nor %, and successive windows of a row read
memory in order. Along the minor dimension, vectors cover the columns in which no element of a window is beyond a
border, as the guards of the maps prove. Single elements cover the columns before and after the vectors.

If the rows of a large result do not begin at cache lines, the vectors are aligned to the lines, so that they can be
streamed. This is done only if the vectors need no guard.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple

from gen import algebra, hlo
from gen.emit.body import Body
from gen.emit.form import Form
from gen.emit.values import Touched
from gen.heroes.hero import Choice, Context, Hero
from gen.heroes.kernel import Grid, Kernel, Placing, Report, StepCode, Text, kernel_of, share
from gen.hlo import dtypes
from gen.plan.buffers import buffer_of, buffers_of, memory_map, reads_of, touches
from gen.plan.digits import place
from gen.plan.nest import Nest
from gen.plan.partition import EMPTY, INLINE, Partition, compose, regions
from gen.schedule import Schedule
from gen.targets import COMPLEX, TINY

WINDOWS = ("reduce-window", "window-choice", "window-scatter")
Box = Dict[str, Tuple[int, int]]


@dataclass(frozen=True)
class WindowSchedule(Schedule):
    """The schedule of a window op.

    sizes: sizes of the result's dimensions in memory, major first.
    chunks: number of rows of a work-item.
    inside: (first, end) of the columns at which no window reaches beyond a border.
    lines: true if vectors are whole cache lines of the result, so that their first column depends on the row.
    """

    sizes: Tuple[int, ...] = ()
    inside: Tuple[int, int] = (0, 0)
    lines: bool = False

    def text(self) -> str:
        words = [f"rows of {self.sizes[-1]}", super().text(), f"{self.chunks} rows a work-item",
                 f"vectors of {self.lanes} in columns {self.inside[0]} to {self.inside[1] - 1}"]
        return ", ".join(words + ["in whole lines"] * self.lines + ["streamed"] * self.stream)


MOST_OPS = 256  # maximum number of ops, because the code is printed three times: before, between and after the borders


class WindowCpuHero(Hero[Nest, WindowSchedule]):
    """The emitter (hero) that writes one kernel, in which a work-item computes several rows."""

    name = "window"
    nest_class = Nest

    def takes(self, nest: Nest, context: Context) -> bool:
        if not context.device.wide:
            return False
        if type(nest) is not Nest or nest.layout or nest.reads_first:
            return False
        opcodes = [entry.instruction.opcode
                   for f in nest.partition.functions for region in regions(f.body) for entry in region.entries]
        return len(opcodes) <= MOST_OPS and not hlo.CONTRACTIONS & set(opcodes) \
            and not touches(nest, {*dtypes.PACKED, *COMPLEX, *TINY}) \
            and not any(root.at for root in nest.partition.roots)

    def schedules(self, nest: Nest, context: Context) -> "Iterable[WindowSchedule]":
        device, lanes = context.device, context.device.lanes
        order = nest.shape.minor_to_major[::-1]
        sizes = tuple(nest.shape.dims[k] for k in order if nest.shape.dims[k] > 1)
        if len(sizes) < 2 or sizes[-1] < 2 * lanes:
            return []
        partition = inlined(nest)
        inside = _inside(nest, partition, sizes)
        if inside is None or inside[1] - inside[0] < 2 * lanes or not _gains(nest, partition, sizes, inside, lanes):
            return []
        rows, outer = sizes[-2], math.prod(sizes[:-2])
        row_bytes = sizes[-1] * dtypes.storage_bytes(nest.shape.dtype)
        chunks = max(1, min(rows, rows * outer // (device.unit_items * device.units), device.part_bytes // row_bytes))
        reads = buffers_of(partition, partition.entry)
        traffic = sum(root.shape.bytes for root in partition.roots) + sum(buffer.shape.bytes for buffer in reads)
        plain = WindowSchedule(chunks=chunks, lanes=lanes, sizes=sizes, inside=inside, stream=traffic > device.cache)
        written = min(dtypes.storage_bytes(root.shape.dtype) for root in partition.roots)
        lines = (plain.stream and sizes[-1] % lanes != 0 and inside[1] - inside[0] >= 4 * lanes
                 and lanes * written >= device.line)
        by_lines = replace(plain, lines=True)
        # vectors are not aligned to cache lines if elements must be computed one by one, because of a guard or a gather
        lines = lines and not _row_forms(nest, by_lines).step.names(context.target, "lane")
        return [by_lines] * lines + [plain]

    def index_types(self, schedule: WindowSchedule) -> "Sequence[str]":
        """Return the index types, a signed type first. Compilers know that signed sums do not wrap, and turn adjacent
        reads into one address with displacements.
        """
        return "int", "uint", "long"

    def forms(self, nest: Nest, schedule: WindowSchedule, context: Context) -> "Iterable[Form]":
        row = _row_forms(nest, schedule)
        return [row.step, *row.edges, *([row.element] if row.element else [])]

    def maps(self, nest: Nest, schedule: WindowSchedule, context: Context) -> "Iterable[str]":
        return [_placing(schedule)[0], *([_row_forms(nest, schedule).ends] if schedule.lines else [])]

    def grids(self, choice: Choice[Nest, WindowSchedule], context: Context) -> "List[Grid]":
        schedule, step = choice.schedule, _row_forms(choice.nest, choice.schedule).step
        return [Grid(choice.nest.name, schedule, choice.index, _placing(schedule)[1], step.thread)]

    def build(self, choice: Choice[Nest, WindowSchedule], context: Context) -> "List[Kernel]":
        return [_kernel(choice.nest, choice.schedule, choice.grids[0], context)]


HERO = WindowCpuHero()


def inlined(nest: Nest) -> Partition:
    """Return the nest's part of the graph (partition), with all functions inlined into the entry function. Otherwise
    the kernel would call a function once per vector lane.
    """
    of = nest.partition
    if len(of.functions) == 1:
        return of
    return Partition(of.computation, of.roots, nest.name, of.entry.dims, INLINE, of.cuts)


def _thread(nest: Nest, sizes: "Tuple[int, ...]", column: str, box: Box, ranges: "Tuple[str, ...]" = ()) -> str:
    """Return the map to the result's index. The variables g0, g1, .. are a row's coordinates; the expression `column`
    is the index in the row.
    """
    weights = [math.prod(sizes[k + 1:]) for k in range(len(sizes))]
    position = " + ".join([*(f"g{k} * {w}" for k, w in enumerate(weights[:-1])), column])
    names = [name for name in box if name not in ranges]
    head = f"({', '.join(names)})" + (f"[{', '.join(ranges)}]" if ranges else "")
    domain = ", ".join(f"{name} in [{low}, {high}]" for name, (low, high) in box.items())
    return compose(algebra.simplify(f"{head} -> ({position}), domain: {domain}"),
                   algebra.call("shape", "unmap", nest.shape.text))


class Vectors(NamedTuple):
    """The vectors that are aligned in the result's memory and lie inside a row.

    thread: the map from a row's coordinates g0, g1, .., the index of a vector in the row, and a lane to the result's
        index.
    box: the bounds of the variables of `thread`.
    ends: the map from a row's coordinates to four numbers. The first two are the number of the row's first vector, and
        of the vector after its last one. The third is the number of columns before the first vector. The fourth is for
        the unaligned vector that covers the row's last columns: its first lane that no aligned vector covers.
    """

    thread: str
    box: Box
    ends: str


def _vectors(nest: Nest, sizes: "Tuple[int, ...]", inside: "Tuple[int, int]", lanes: int) -> Vectors:
    outer, (low, high) = _outer(sizes), inside
    names = list(outer)
    row = " + ".join(f"g{k} * {math.prod(sizes[k + 1:])}" for k in range(len(names)))
    column = f"step * {lanes} + vec + lane - ({row})"
    box: Box = {**outer, "step": (0, math.prod(sizes) // lanes - 1), "vec": (0, 0), "lane": (0, lanes - 1)}

    def domain(of: Box) -> str:
        return ", ".join(f"{name} in [{first}, {last}]" for name, (first, last) in of.items())
    place = algebra.simplify(
        f"({', '.join([*names, 'step'])})[vec, lane] -> ({', '.join([*names, column])}), domain: {domain(box)}, {column} in [{low}, {high - 1}]"
    )
    thread = compose(place, _thread(nest, sizes, "column", {**outer, "column": (0, sizes[-1] - 1)}))
    results = [f"({row} + {low + lanes - 1}) floordiv {lanes}", f"({row} + {high}) floordiv {lanes}"]
    results += [f"({results[0]}) * {lanes} - ({row} + {low})", f"({results[1]}) * {lanes} - ({row} + {high - lanes})"]
    ends = f"({', '.join(names)}) -> ({', '.join(results)}), domain: {domain(outer)}"
    return Vectors(thread, box, algebra.simplify(ends))


def _outer(sizes: "Tuple[int, ...]") -> Box:
    return {f"g{k}": (0, size - 1) for k, size in enumerate(sizes[:-1])}


def _inside(nest: Nest, partition: Partition, sizes: "Tuple[int, ...]") -> "Optional[Tuple[int, int]]":
    """Return a range of columns, (first, end), in which all guards that depend on the column hold for every value of
    the other variables. Return None if a guard does not change linearly with the column.
    """
    box: Box = {**_outer(sizes), "column": (0, sizes[-1] - 1)}
    thread, low, high = _thread(nest, sizes, "column", box), 0, sizes[-1] - 1
    for region in regions(partition.entry.body):
        index = compose(thread, region.map) if region.map else EMPTY
        if index == EMPTY:
            continue
        variables = algebra.info(index).variables
        for variable in variables:
            if variable.name == "column":
                low, high = max(low, variable.lo), min(high, variable.hi)
        domain = ", ".join(f"{v.name} in [{v.lo}, {v.hi}]" for v in variables)
        names = ", ".join(v.name for v in variables)
        for guard in algebra.guards(index):
            if "column" not in guard.variables:
                continue
            step = algebra.access(f"({names}) -> ({guard.text}), domain: {domain}", "column")[0].stride
            if not step:
                return None
            rest = algebra.simplify(f"({names}) -> ({guard.text} - column * {step}), domain: {domain}")
            others = algebra.ranges(rest)[0]
            least, most = guard.lo - others[0], guard.hi - others[1]  # bounds of column * step
            least, most = (least, most) if step > 0 else (-most, -least)
            low, high = max(low, -(-least // abs(step))), min(high, most // abs(step))
    return low, high + 1


def _gains(nest: Nest, partition: Partition, sizes: "Tuple[int, ...]", inside: "Tuple[int, int]", lanes: int) -> bool:
    """Return true if this hero, which writes row by row, is faster than the loop hero. It is faster if there are
    windows, or columns at a border. If rows are whole vectors, it is also faster if `_bordered` is true. Otherwise, it
    is also faster if every read of a row is contiguous or of one element, and successive rows of some operand are not
    contiguous.
    """
    opcodes = {entry.instruction.opcode for region in regions(partition.entry.body) for entry in region.entries}
    if opcodes.intersection(WINDOWS) or inside != (0, sizes[-1]):
        return True
    if sizes[-1] % lanes == 0:
        return _bordered(nest, partition, sizes)
    unmap, strided = algebra.call("shape", "unmap", nest.shape.text), False
    for read, _ in reads_of(partition, partition.entry):
        buffer = buffer_of(partition, read)
        flat = compose(unmap, compose(read.map, memory_map(buffer.shape))) if buffer else EMPTY
        if flat == EMPTY or not buffer or not buffer.shape.dims:
            continue
        domain = f"row in [0, {math.prod(sizes[:-1]) - 1}], column in [0, {sizes[-1] - 1}]"
        rows = compose(f"(row, column) -> (row * {sizes[-1]} + column), domain: {domain}", flat)
        along, whole = (algebra.access(of, name)[0].stride
                        for of, name in ((rows, "column"), (flat, algebra.info(flat).variables[0].name)))
        if along not in (0, 1):
            return False
        strided |= along == 1 and whole != 1
    return strided


def _bordered(nest: Nest, partition: Partition, sizes: "Tuple[int, ...]") -> bool:
    """Return true if the outer coordinates of a row decide whether its windows reach beyond a border. The loop hero
    would need divisions for these coordinates in each vector.
    """
    thread = _thread(nest, sizes, "column", {**_outer(sizes), "column": (0, sizes[-1] - 1)})
    maps = [compose(thread, region.map) for region in regions(partition.entry.body) if region.map]
    outer = _outer(sizes)
    return any((v.lo, v.hi) != outer[v.name] for index in maps if index != EMPTY
               for v in algebra.info(index).variables if v.name in outer)


# ---- the record for the template ----

@dataclass(frozen=True)
class WindowCpuRecord:
    """The record that templates/kernels/window_cpu.j2 prints.

    row: the coordinate that counts rows.
    first, last: C texts of the number of a work-item's first row, and of the row after its last one.
    begin, end: C texts of the number of a row's first vector, and of the vector after its last one. Vectors begin at
        cache lines if rows do.
    edges: single vectors for the columns before the first vector and after the last one. An edge overlaps these
        vectors. If stores bypass the caches, an edge stores only the elements that no other vector stores, because
        mixing both kinds of stores in a cache line is slow.
    elements: the ranges of columns (first, end) that are computed one by one.
    """

    placing: Placing
    row: str
    first: str
    last: str
    begin: str
    end: str
    step: StepCode
    edges: List[StepCode]
    elements: "List[Tuple[int, int]]"
    element: Optional[StepCode]


class RowForms(NamedTuple):
    """The forms (plans of C code) of a row: its vectors, the vectors at its edges, and its other columns (None: there
    are none).

    begin, end: C texts of the number of the first vector, and of the vector after the last one.
    ends: the map that gives `begin` and `end` if vectors are aligned to cache lines (see `Vectors`); "" if both are
        constants.
    """

    step: Form
    edges: List[Form]
    element: Optional[Form]
    begin: str
    end: str
    ends: str


def _row_forms(nest: Nest, schedule: WindowSchedule, index_type: str = "") -> RowForms:
    """Return the forms (plans of C code) of a row: of its vectors, of its edges and of single elements. index_type: the
    C type of an index. If it is "", C texts are left out.
    """
    sizes, lanes, (low, high), partition = schedule.sizes, schedule.lanes, schedule.inside, inlined(nest)
    outer, ends = _outer(sizes), ""

    def of(thread: str, box: Box, wide: bool, stored: "Optional[Tuple[str, str]]" = None) -> Form:
        step = Schedule(lanes=lanes, stream=schedule.stream) if wide else Schedule()
        return Form(partition, partition.entry, thread, step, box, stored_lanes=stored)

    def at_column(column: str, box: Box, wide: bool, stored: "Optional[Tuple[str, str]]" = None) -> Form:
        box = {**outer, **box, **({"vec": (0, 0), "lane": (0, lanes - 1)} if wide else {})}
        at, ranges = (f"{column} + vec + lane", ("vec", "lane")) if wide else (column, ())
        return of(_thread(nest, sizes, at, box, ranges), box, wide, stored)

    columns: "List[Tuple[int, Optional[Tuple[str, str]]]]" = []
    if schedule.lines:
        thread, box, ends = _vectors(nest, sizes, schedule.inside, lanes)
        step = of(thread, box, True)
        begin, end, before, behind = algebra.c_text(ends, index_type).results if index_type else [""] * 4
        # The parentheses are needed because & binds less tightly than <.
        columns += [(low, ("0", f"({before})")), (high - lanes, (behind, str(lanes)))]
    else:
        first = -(-low // lanes) * lanes  # the first column of the vectors, a multiple of `lanes`
        count = (high - first) // lanes
        step = at_column(f"{first} + step * {lanes}", {"step": (0, count - 1)}, True)
        overhang, whole = (high - first) % lanes, schedule.stream and sizes[-1] % lanes == 0
        columns += [(low, ("0", str(first - low)) if whole else None)] * (first > low)
        columns += [(high - lanes, (str(lanes - overhang), str(lanes)) if whole else None)] * (overhang > 0)
        begin, end = "0", str(count)
    edges = [at_column(str(column), {}, True, stored) for column, stored in columns]
    element = at_column("column", {"column": (0, sizes[-1] - 1)}, False) if low or high < sizes[-1] else None
    return RowForms(step, edges, element, begin, end, ends)


def _placing(schedule: WindowSchedule) -> "Tuple[str, int]":
    """Return the map from a work-item to its coordinates, and the number of work-groups."""
    return place(_counts(schedule), 1)


def _counts(schedule: WindowSchedule) -> "List[Tuple[str, int]]":
    sizes, chunks = schedule.sizes, -(-schedule.sizes[-2] // schedule.chunks)
    return [(f"g{k}", size) for k, size in enumerate(sizes[:-2])] + [("chunk", chunks)] * (chunks > 1)


def _kernel(nest: Nest, schedule: WindowSchedule, grid: Grid, context: Context) -> Kernel:
    index_type = grid.index
    d, sizes, partition, (low, high) = context.target, schedule.sizes, inlined(nest), schedule.inside
    chunks, rows = -(-sizes[-2] // schedule.chunks), sizes[-2]
    forms = _row_forms(nest, schedule, index_type)
    seen: List[Touched] = []

    def body_for(form: Form) -> Body:
        body = Body(d, context.helpers, form, index_type, context.excess)
        body.region(partition.entry.body)
        for root in partition.roots:
            body.store(root)
        seen.extend(access for access in body.touched if access not in seen)
        return body

    step, edges = body_for(forms.step), [body_for(edge) for edge in forms.edges]
    elements = [(begin, end) for begin, end in ((0, low), (high, sizes[-1])) if begin < end]
    element = body_for(forms.element) if forms.element else None
    name = f"g{len(sizes) - 2}"
    begin, end = ("0", str(rows)) if chunks == 1 else share("chunk", schedule.chunks, chunks, rows)
    record = WindowCpuRecord(
        Placing.of(_counts(schedule), 1, index_type)[0],
        name,
        begin,
        end,
        forms.begin,
        forms.end,
        StepCode.of_body(step, 1),
        [StepCode.of_body(edge, 1) for edge in edges],
        elements,
        StepCode.of_body(element, 1) if element else None,
    )
    return kernel_of(d, context.helpers, context.excess, grid, nest, [partition],
                     Text("kernels/window_cpu", record, attribute=d.launch_bounds(1)),
                     Report(seen, StepCode.of_body(step, 1)))
