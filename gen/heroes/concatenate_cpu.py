"""The concatenate hero (kernel emitter) on a CPU, for operands whose rows are not whole cache lines.

A work-item assembles a block of the output in L1: for each output row it copies one run of elements from each operand.
Then it stores the block in whole cache lines, because the processor reads a line from memory before it stores a part of
it. Streaming stores bypass the caches if the arrays are large.

The last vector of a run ends where the run ends. It may overlap the vector before it: their common elements are written
twice with equal values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Iterable, List, Sequence, Tuple

from gen import algebra
from gen.emit.body import Body
from gen.emit.form import Form
from gen.statements import Assign, Call, Statement
from gen.emit.values import Touched
from gen.heroes.hero import Choice, Context, Hero
from gen.heroes.kernel import CFunction, Grid, Kernel, Report, StepCode, Text, arguments, function_text
from gen.hlo import dtypes
from gen.plan.buffer import Buffer
from gen.plan.buffers import buffers_of, memory_map, touches
from gen.plan.concatenation import Concatenate, SideBySide
from gen.plan.digits import iteration_space, moves
from gen.plan.nest import Nest
from gen.plan.partition import compose
from gen.schedule import LINE, Device, LoopSchedule, Schedule, chunks_of
from gen.targets import COMPLEX, TINY


@dataclass(frozen=True)
class Staged(Schedule):
    """The schedule of blocks that are assembled in L1.

    chunks: number of blocks of a work-item.
    block: number of elements of a block.
    lanes: number of elements of a cache line.
    """

    block: int = 0

    def text(self) -> str:
        words = [super().text(), f"chunks {self.chunks}", f"rows put together {self.block} elements at a time"]
        return ", ".join(words + ["streamed"] * self.stream)


class ConcatenateCpuHero(Hero[Concatenate, Staged]):
    """The emitter (hero) that assembles the rows of several operands in L1 before it stores them."""

    name = "concatenate"
    nest_class = Concatenate

    def takes(self, nest: Concatenate, context: Context) -> bool:
        return (nest.rows is not None and context.device.wide
                and not touches(nest, {*dtypes.PACKED, *TINY, *COMPLEX}))

    def schedules(self, nest: Concatenate, context: Context) -> "Iterable[Staged]":
        (root,), device = nest.partition.roots, context.device
        reads = [buffer for part in nest.parts for buffer in buffers_of(part.partition, part.partition.entry)]
        width = dtypes.storage_bytes(root.shape.dtype)
        block, elements = device.loop_cpu.staged_bytes // width, nest.shape.elements
        stream = root.shape.bytes + sum(buffer.shape.bytes for buffer in reads) > device.cache
        chunks = chunks_of(device, -(-elements // block), device.loop_cpu.chunks)
        return [Staged(chunks=chunks, lanes=LINE // width, stream=stream, block=block)]

    def forms(self, nest: Concatenate, schedule: Staged, context: Context) -> "Iterable[Form]":
        assert isinstance(nest, Concatenate) and nest.rows
        return [_run_form(part, nest.rows, k, schedule, context.device) for k, part in enumerate(nest.parts)]

    def maps(self, nest: Concatenate, schedule: Staged, context: Context) -> "Iterable[str]":
        assert isinstance(nest, Concatenate) and nest.rows
        return _firsts(nest, schedule)[0], _row_places(nest, nest.rows)

    def grids(self, choice: Choice[Concatenate, Staged], context: Context) -> "List[Grid]":
        nest, staged = choice.nest, choice.schedule
        thread = compose(_position(nest, staged), algebra.call("shape", "unmap", nest.shape.text))
        return [Grid(nest.name, staged, choice.index, _firsts(nest, staged)[1], thread)]

    def build(self, choice: Choice[Concatenate, Staged], context: Context) -> "List[Kernel]":
        nest = choice.nest
        assert isinstance(nest, Concatenate) and nest.rows
        return [_kernel(nest, nest.rows, choice.schedule, choice.grids[0], context)]

    def describe(self, choice: Choice[Concatenate, Staged], grid: Grid, context: Context) -> "List[str]":
        return [f"position: {_position(choice.nest, choice.schedule)}"]


HERO = ConcatenateCpuHero()


@dataclass(frozen=True)
class OperandRun:
    """The code that copies one operand's elements of an output row, its "run". The C text computes `lanes` elements
    from column `at` of row `row` on.

    begin: output column of the run's first element.
    length: number of elements of the run.
    last: index, in the run, of the first element of the last vector.
    prefetch: statements that prefetch later elements.
    lines: the computation of a vector.
    store: the store of a vector to `target`.
    """

    begin: int
    length: int
    lanes: int
    last: int
    prefetch: Sequence[Statement]
    lines: Sequence[Statement]
    store: Statement


@dataclass(frozen=True)
class ConcatenateCpuRecord:
    """The values that templates/kernels/concatenate_cpu.j2 prints.

    group: true if the C text uses the number of the work-group.
    first: C text of the output position of a block's first element, computed from the numbers of the work-item and of
        the block.
    row, column: C texts of that element's row and column, computed from `first`.
    register: the C type of a cache line; `element` is the type of its elements.
    lanes: number of elements of a cache line.
    margin: number of cache lines of extra space before and after the block, which vectors may write.
    """

    group: bool
    first: str
    row: str
    column: str
    chunks: int
    block: int
    elements: int
    pitch: int
    runs: List[OperandRun]
    register: str
    element: str
    pointer: str
    lanes: int
    margin: int
    store: str


def _firsts(nest: Nest, staged: Staged) -> "Tuple[str, int]":
    """Return two values: the map (work-item)[block of the work-item] -> (output position of the block's first element),
    and the number of work-groups.
    """
    item = staged.block * staged.chunks
    blocks = -(-nest.shape.elements // item)
    return algebra.simplify(f"(bl_x)[chunk] -> (bl_x * {item} + chunk * {staged.block}), domain: "
                            f"bl_x in [0, {blocks - 1}], chunk in [0, {staged.chunks - 1}]"), blocks


def _row_places(nest: Nest, rows: SideBySide) -> str:
    """Return the map from a position in the output to its row and its column."""
    return algebra.simplify(f"(first) -> (first floordiv {rows.pitch}, first mod {rows.pitch}), "
                            f"domain: first in [0, {nest.shape.elements - 1}]")


def _position(nest: Nest, staged: Staged) -> str:
    """Return the map from (work-item, block, element of the block) to the position in the output."""
    item, elements = staged.block * staged.chunks, nest.shape.elements
    place = f"bl_x * {item} + chunk * {staged.block} + lane"
    return algebra.simplify(f"(bl_x)[chunk, lane] -> ({place}), domain: bl_x in [0, {_firsts(nest, staged)[1] - 1}], "
                            f"chunk in [0, {staged.chunks - 1}], lane in [0, {staged.block - 1}], "
                            f"{place} in [0, {elements - 1}]")


def _kernel(nest: Concatenate, rows: SideBySide, staged: Staged, grid: Grid, context: Context) -> Kernel:
    d, (root,), index_type = context.target, nest.partition.roots, grid.index
    width, elements = 8 * dtypes.storage_bytes(root.shape.dtype), nest.shape.elements
    firsts, places = _firsts(nest, staged)[0], _row_places(nest, rows)
    runs: List[OperandRun] = []
    accesses: List[Touched] = []
    reads: List[Buffer] = []
    functions: List[CFunction] = []
    for k, part in enumerate(nest.parts):
        run, body = _run(part, rows, k, staged, index_type, context)
        runs.append(run)
        accesses += body.touched
        reads += buffers_of(part.partition, part.partition.entry)
        functions += [function_text(d, context.helpers, part.partition, f, context.excess)
                      for f in reversed(part.partition.functions[1:])]
    row, column = algebra.c_text(places, index_type).results
    context.helpers.vector(f"u{width}", staged.lanes)
    record = ConcatenateCpuRecord(
        "bl_x" in algebra.info(firsts).results[0].variables, algebra.c_text(firsts, index_type).results[0], row,
        column, staged.chunks, staged.block, elements,
        rows.pitch, runs, d.register(f"u{width}", staged.lanes), d.types[f"u{width}"], root.buffer.pointer,
        staged.lanes, -(-max(run.lanes for run in runs) // staged.lanes), d.store_word(staged.stream))
    written = Touched("write", root.buffer, compose(grid.thread, compose(root.map, memory_map(root.shape))))
    return Kernel(grid, nest, arguments(d, reads, [root.buffer]),
                  Text("kernels/concatenate_cpu", record, functions, d.launch_bounds(staged.threads)),
                  Report([*accesses, written],
                         StepCode([], [line for run in runs for line in (*run.lines, run.store)], [],
                                  repeated="for each vector")))


def _run_form(part: Nest, rows: SideBySide, k: int, staged: Staged, device: Device) -> Form:
    """Return the plan of the code that computes one vector of operand k's run."""
    length = rows.runs[k]
    (root,), space = part.partition.roots, iteration_space(part.partition, part.shape)
    moved = (space is not None and moves(part.partition, space) and space.sizes[-1] == length
             and all(a.strides and a.strides[-1] == 1 for a in space.accesses))
    lanes = _lanes(device, staged, length, moved)
    # If an operand's rows are contiguous, the elements to prefetch are contiguous too.
    follows = space is not None and any(not a.write and a.strides and a.strides[-2:] == (length, 1)
                                        for a in space.accesses)
    long = staged.stream and follows and lanes * dtypes.storage_bytes(root.shape.dtype) >= LINE // 2
    loop = LoopSchedule(lanes=lanes, moves=moved and lanes > 1, l2_prefetch=device.loop_cpu.prefetch if long else 0)
    last = length - lanes
    box = {"row": (0, rows.rows - 1), "at": (0, last), "vec": (0, 0), "lane": (0, lanes - 1)}
    thread = algebra.simplify(f"(row, at)[vec, lane] -> (row * {length} + at + lane), domain: "
                              + ", ".join(f"{name} in [{low}, {high}]" for name, (low, high) in box.items()))
    thread = compose(thread, algebra.call("shape", "unmap", part.shape.text))
    return Form(part.partition, part.partition.entry, thread, loop, box)


def _run(part: Nest, rows: SideBySide, k: int, staged: Staged, index_type: str,
         context: Context) -> "Tuple[OperandRun, Body]":
    d, form, (root,) = context.target, _run_form(part, rows, k, staged, context.device), part.partition.roots
    length, lanes = rows.runs[k], form.lanes
    last = length - lanes
    body = Body(d, context.helpers, form, index_type, context.excess)
    body.region(part.partition.entry.body)
    value, width = body.register_bits(root), 8 * dtypes.storage_bytes(root.shape.dtype)
    context.helpers.vector(f"u{width}", lanes)
    if lanes == 1:
        store: Statement = Assign("*target", value)
    elif d.loads_anywhere:
        store = d.scatter(f"u{width}", lanes, value, "target")
    else:
        store = Call(context.helpers.need("stage", f"u{width}", str(lanes)), value, "target")
    prefetch = [line for key in sorted(body.prefetches) for line in body.prefetches[key]]
    lines = [*body.before.lines, *body.text.lines, *body.after.lines]
    return OperandRun(rows.starts[k], length, lanes, last, prefetch, lines, store), body


def _lanes(device: Device, staged: Staged, length: int, moved: bool) -> int:
    """Return the number of elements in a vector. A vector is a cache line if elements are only moved; otherwise it has
    the device's number of lanes. The number is smaller if the run is shorter.
    """
    lanes, least = (staged.lanes, 2) if moved else (device.lanes, device.lanes // 2)
    while lanes > length and lanes > least:
        lanes //= 2
    return lanes if lanes <= length else 1
