"""The loop hero (kernel emitter): every work-item computes steps of the output, in the memory order of the first
result. If the end of the output cuts a step, the kernel computes that step element by element.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple, Type

from gen import algebra, hlo
from gen.emit.body import Body
from gen.emit.form import Form, Rows
from gen.emit.maps import conditions, tested
from gen.statements import Assign, Code, If, Let, Statement
from gen.heroes.hero import Choice, Context, Hero
from gen.heroes.kernel import Grid, Kernel, Report, StepCode, Text, kernel_of
from gen.heroes.walk import Bursts, Walk
from gen.hlo import dtypes
from gen.plan import element_loops
from gen.plan.buffers import buffer_of, memory_map, reads_of, touches
from gen.plan.digits import Interleaving, falling, interleaving, row
from gen.plan.nest import Nest
from gen.plan.partition import EMPTY, Entry, Partition, Region, compose, regions
from gen.plan.update import bound_in
from gen.schedule import LINE, VECTOR_BITS, Device, LoopSchedule, Schedule, candidates, chunks_of, narrowed_walk, \
    reversed_walk
from gen.targets import COMPLEX, TINY


def _widths(nest: Nest) -> Tuple[List[int], int]:
    """Return two values: the bytes of an element, for each result and for each operand that is read contiguously in the
    results' order; and the bytes of all buffers of the nest.
    """
    widths: List[int] = []
    buffers = {root.buffer for root in nest.partition.roots}
    unmap = algebra.call("shape", "unmap", nest.shape.text)
    for root in nest.partition.roots:
        widths.append(dtypes.storage_bytes(root.shape.dtype))
    for read, region in reads_of(nest.partition, nest.partition.entry):
        buffer = buffer_of(nest.partition, read)
        if buffer is None or read.source.opcode != "parameter":
            continue
        shape = buffer.shape
        buffers.add(buffer)
        flat = compose(unmap, compose(read.map, memory_map(shape)))
        if region is nest.partition.entry.body and flat != EMPTY and _mostly_contiguous(flat, nest.shape.elements):
            widths.append(dtypes.storage_bytes(shape.dtype))
    return widths, sum(buffer.shape.bytes for buffer in buffers)


def _along(flat: str, elements: int, run: int) -> "Optional[int]":
    """Return the stride of a map from position to address within groups of `run` successive positions; None if the
    stride is not constant.
    """
    run = min(run, elements)
    split = f"(run)[lane] -> (run * {run} + lane), domain: run in [0, {elements // run - 1}], lane in [0, {run - 1}]"
    return algebra.access(compose(split, flat), "lane")[0].stride


def _mostly_contiguous(flat: str, elements: int) -> bool:
    return _along(flat, elements, 16) == 1


def _lanes(device: Device, nest: Nest) -> int:
    """Return the vector width, in lanes, with which a small number of elements takes the least estimated time. A width
    below the device's must divide the number of elements. The estimate counts one load for a vector of contiguous
    elements, and one load for each lane of any other vector.
    """
    elements, numbers, partition = nest.shape.elements, device.loop_cpu, nest.partition
    if not device.wide or elements > numbers.few_elements or elements == device.lanes:
        return device.lanes
    unmap = algebra.call("shape", "unmap", nest.shape.text)
    ops, reads = 1, []      # type: int, List[Tuple[str, int]]
    for region in regions(partition.entry.body):
        ops += len(region.entries) * _repeats(partition, region)
    for read, region in reads_of(partition, partition.entry):
        buffer = buffer_of(partition, read)
        if buffer and read.map != EMPTY:
            flat = compose(unmap, compose(read.map, memory_map(buffer.shape)))
            reads.append((flat, _repeats(partition, region)))
    one = ops + sum(repeats for _, repeats in reads)

    def time(lanes: int) -> int:
        if elements < lanes:
            return elements * one
        step = ops + sum(repeats * (1 if _along(flat, elements, lanes) in (0, 1) else lanes) for flat, repeats in reads)
        return elements // lanes * step + elements % lanes * one
    fewer = [n for n in (device.lanes // 2, device.lanes // 4) if n >= numbers.least_lanes and elements % n == 0]
    best = min(fewer, key=time, default=device.lanes)
    gain = 1 if elements % device.lanes else numbers.least_gain
    return best if time(best) * gain < time(device.lanes) else device.lanes


def _repeats(partition: Partition, region: Region) -> int:
    """Return how many times the statements of a region (the body of nested loops) run for one element."""
    return math.prod(partition.ranges[name] for name in region.ranges)


def _widened(device: Device, nest: Nest, loop: LoopSchedule) -> LoopSchedule:
    """Return the schedule with wider steps, if indices select contiguous rows of an operand: a step then covers more of
    a row, so that the row's address is computed less often. A step has at most `gathered_bytes` bytes. The rows that
    the indices of later steps select are prefetched.
    """
    elements, unmap = nest.shape.elements, algebra.call("shape", "unmap", nest.shape.text)
    indices = []
    if loop.step != loop.vec * loop.lanes or loop.lanes == 1 or loop.interleaved > 1 or loop.row:
        return loop
    for runtime in bound_in(nest.partition):
        buffer = buffer_of(nest.partition, runtime.read)
        if buffer is None or runtime.read.map == EMPTY:
            return loop
        indices.append(compose(unmap, compose(runtime.read.map, memory_map(buffer.shape))))
    if not any(algebra.info(index).results[0].lo < algebra.info(index).results[0].hi for index in indices):
        return loop
    line = loop.step * dtypes.storage_bytes(nest.partition.roots[0].shape.dtype)
    wider = max(1, device.loop_cpu.gathered_bytes // line)
    while elements % (loop.step * wider) or loop.chunks % wider \
            or any(_along(index, elements, loop.step * wider) != 0 for index in indices):
        wider //= 2
        if not wider:
            return loop
    steps = device.loop_cpu.gathered_prefetch // (line * wider) if loop.stream else 0
    return replace(loop, vec=loop.vec * wider, chunks=loop.chunks // wider, streams=1, burst=0, l2_prefetch=0,
                   l1_prefetch=0, gathered_prefetch_steps=steps)


def _looping(nest: Nest) -> "Optional[Entry]":
    """Return the nest's loop over elements (gen/plan/element_loops.py) if the nest computes nothing else; otherwise
    None.
    """
    entries = nest.partition.entry.body.entries
    alone = len(entries) == 1 and entries[0].instruction.opcode == element_loops.OPCODE
    return entries[0] if alone and entries[0].callee is None else None


def _together(device: Device, nest: Nest, loop: LoopSchedule) -> LoopSchedule:
    """Return the schedule for a nest that is one loop (a `while` for each element). A work-item runs the loops of
    several registers together. The number of registers is limited by those of the processor. If a register has one
    element, the limit is the number of lanes of a vector.
    """
    entry, numbers = _looping(nest), device.loop_cpu
    if not entry or loop.vec > 1 or loop.interleaved > 1 or loop.row or loop.registers_down > 1 or device.lanes == 1:
        return loop
    if loop.lanes == 1:
        few = element_loops.steps(entry.instruction) <= numbers.loop_steps or not loop.blocked
        rows = 1 if few else min(nest.shape.elements, device.lanes)
        return replace(loop, vec=rows, chunks=chunks_of(device, -(-nest.shape.elements // rows), numbers.chunks))
    bytes_ = sum(dtypes.storage_bytes(o.shape.dtype) for o in entry.instruction.operands if o.shape.dims)
    taken, rows = max(1, bytes_ * loop.lanes * 8 // VECTOR_BITS), numbers.loop_rows
    while rows > 1 and (rows * taken > numbers.loop_registers or rows * loop.step > nest.shape.elements):
        rows //= 2
    steps = -(-nest.shape.elements // (loop.step * rows))
    return replace(loop, vec=rows, chunks=chunks_of(device, steps, numbers.chunks), streams=1, burst=0, l2_prefetch=0,
                   l1_prefetch=0)


def thread_map(nest: Nest, loop: LoopSchedule) -> str:
    """Return the map (th_x, bl_x)[..] -> index of the first result. Threads follow the result's memory order, or the
    nested layout that distributes the result.
    """
    if loop.index:
        return loop.index
    return compose(loop.thread_map(nest.shape.elements), algebra.call("shape", "unmap", nest.shape.text))


def guard(thread: str, box: "Dict[str, Tuple[int, int]]", index_type: str, loop: LoopSchedule, whole: bool) -> str:
    """Return the C condition that all elements of a step are inside the output; "" if they always are. whole: false for
    the condition of a single element.
    """
    return " && ".join(conditions(_at_last(thread, loop) if whole else thread, box, index_type))


def is_cut(nest: Nest, loop: LoopSchedule) -> bool:
    """Return true if the output ends in the middle of a step, which is then computed element by element."""
    return bool(tested(_at_last(thread_map(nest, loop), loop), loop.box(nest.shape.elements)))


def _at_last(thread: str, loop: LoopSchedule) -> str:
    """Return the map that gives the last element of each step."""
    last = {"vec": loop.vec - 1}
    if loop.lanes > 1:
        last["lane"] = loop.lanes - 1
    if loop.registers_down > 1:
        last["down"] = loop.registers_down - 1
    return algebra.substitute(thread, **last)


class LoopHero(Hero[Nest, LoopSchedule]):
    """The emitter (hero) that accepts every nest and computes it in the memory order of its first result."""

    name, walks, overwrites, leads = "loop", True, True, True
    nest_class: Type[Nest] = Nest

    def schedules(self, nest: Nest, context: Context) -> "Iterable[LoopSchedule]":
        device, at_index = context.device, nest.reads_first or bool(bound_in(nest.partition))
        plain = not nest.reads_first and not touches(nest, {*dtypes.PACKED, *TINY, *COMPLEX})
        spread = interleaving(nest) if device.lanes > 1 and plain else Interleaving()
        widths, traffic = _widths(nest)
        loops = candidates(device, nest.shape.elements, widths, device.streams(traffic, nest.only_scratch), spread,
                           row(nest) if device.cpu and plain else 0)
        lanes = _lanes(device, nest) if plain else device.lanes
        if lanes < device.lanes:
            loops = [narrowed_walk(device, nest.shape.elements, lanes), *loops]
        packed = _packed(nest)
        if packed:  # elements that share a byte belong to one work-item, because it writes whole bytes
            few = nest.shape.elements < max(packed)
            loops = [LoopSchedule(chunks=nest.shape.elements, blocked=True) if few
                     else replace(loops[-1], vec=max(packed))]
        # only schedules of single elements are possible, because a store may begin at any element
        if touches(nest, COMPLEX) or (nest.reads_first and not device.cpu):
            loops = [replace(loops[-1], signed=device.cpu)]
        products = any(e.instruction.opcode in hlo.CONTRACTIONS for e in nest.partition.entry.body.entries)
        down = falling(nest) if device.wide and plain and not at_index else 0
        # updates in place, products, and reads at run-time indices or in reversed order need contiguous vectors
        if at_index or products or down:
            loops = [loop for loop in loops if not loop.interleaved_pairs]
        if at_index and device.cpu:
            loops = [_widened(device, nest, loop) for loop in loops]
        if device.cpu:
            loops = [_together(device, nest, loop) for loop in loops]
        if down:
            backwards = (reversed_walk(loop, nest.shape.elements, down) for loop in loops)
            loops = [*filter(None, backwards), *loops]
        if context.threads:
            loops = [replace(loop.without_bursts or loop, threads=context.threads) for loop in loops]
        return [_with_bursts(nest, loop) for loop in loops]

    def index_types(self, schedule: LoopSchedule) -> "Sequence[str]":
        return ("int", "uint", "long") if schedule.signed else super().index_types(schedule)

    def forms(self, nest: Nest, schedule: LoopSchedule, context: Context) -> "Iterable[Form]":
        for loop in schedule.variants():
            yield step_form(nest, loop)
            if loop.cut(nest.shape.elements) and loop.step > 1:
                yield step_form(nest, loop.scalar(), whole=False)
            later = _later(nest, loop)
            if later:
                yield step_form(nest, loop, thread=later)

    def maps(self, nest: Nest, schedule: LoopSchedule, context: Context) -> "Iterable[str]":
        """Return the map to the last element of a step, for schedules in which the array may end within a step. The
        guards of this map become C text.
        """
        for loop in schedule.variants():
            if is_cut(nest, loop):
                yield from (_at_last(thread, loop) for thread in (thread_map(nest, loop), _later(nest, loop)) if thread)

    def grids(self, choice: Choice[Nest, LoopSchedule], context: Context) -> "List[Grid]":
        return [walk_grid(choice.nest, choice.schedule, choice.index)]

    def build(self, choice: Choice[Nest, LoopSchedule], context: Context) -> "List[Kernel]":
        return [walk_kernel(context, choice.nest, choice.grids[0])]

    def describe(self, choice: Choice[Nest, LoopSchedule], grid: Grid, context: Context) -> "List[str]":
        assert isinstance(grid.loop, LoopSchedule)
        return [f"position: {grid.loop.thread_map(choice.nest.shape.elements)}"]

    def refusal(self, nest: Nest) -> str:
        return (
            f"results of {nest.shape.dtype} whose layouts differ share a kernel; instead, give them one layout, or make a module of each"
            if _packed(nest)
            else super().refusal(nest)
        )


HERO = LoopHero()


def _with_bursts(nest: Nest, loop: LoopSchedule) -> LoopSchedule:
    """Return the schedule without bursts of prefetches if no read is contiguous; otherwise unchanged."""
    if not loop.burst or step_form(nest, loop).has_prefetches():
        return replace(loop, without_bursts=_with_bursts(nest, loop.without_bursts)) if loop.without_bursts else loop
    return _with_bursts(nest, loop.without_bursts or replace(loop, streams=1, burst=0, l2_prefetch=0, l1_prefetch=0))


def _packed(nest: Nest) -> "List[int]":
    """Return the number of elements in a byte, for each result whose elements share bytes."""
    return [dtypes.per_byte(root.shape.dtype) for root in nest.partition.roots if root.shape.dtype in dtypes.PACKED]


class Gathered(NamedTuple):
    """Statements that prefetch rows of an operand for a later step. The indices of that step select these rows.

    before: statements before a step's registers.
    register: statements for each register of a step.
    """

    before: Sequence[Statement]
    register: Sequence[Statement]


def _later(nest: Nest, loop: LoopSchedule) -> str:
    """Return the map from a thread and its step to an index of a later step: the thread prefetches the rows of that
    index. Return "" if nothing is prefetched.
    """
    elements, distance = nest.shape.elements, loop.gathered_prefetch_steps * loop.step
    if not distance or distance >= elements:
        return ""
    shift = f"(position) -> (position + {distance}), domain: position in [0, {elements - 1 - distance}]"
    return compose(compose(loop.thread_map(elements), shift), algebra.call("shape", "unmap", nest.shape.text))


def _gathered_prefetches(context: Context, nest: Nest, loop: LoopSchedule, index_type: str) -> Gathered:
    """Return the prefetches of the rows that a later step reads. The rows are selected by the indices of that step. If
    a register covers at least a cache line, each register of the current step prefetches its own part of these rows,
    because prefetches that are issued at once wait for one another. Otherwise all are issued before the step.
    """
    elements, thread, d = nest.shape.elements, _later(nest, loop), context.target
    if not thread:
        return Gathered([], [])
    body, out, register = step_body(context, step_form(nest, loop, thread=thread), index_type), Code(), []
    sizes = [dtypes.storage_bytes(row.dtype) for row in body.index_rows]
    by_register = loop.vec > 1 and all(row.bytes == loop.step * size and loop.lanes * size >= LINE
                                       for row, size in zip(body.index_rows, sizes))
    if by_register:
        for k, row in enumerate(body.index_rows):
            out.add(Let(f"{d.pointer}{d.memory(row.dtype)}", f"*later{k}", row.pointer))
            register += [d.prefetch("L2", f"later{k} + vec * {loop.lanes}", line, sizes[k])
                         for line in range(0, loop.lanes * sizes[k], LINE)]
    if body.index_rows:
        with out.nested(If(guard(thread, loop.box(elements), index_type, loop, True))):
            out.add(*body.before.lines)
            for k, (row, size) in enumerate(zip(body.index_rows, sizes)):
                out.add(*([Assign(f"later{k}", row.first)] if by_register else
                          [d.prefetch("L2", row.first, line, size) for line in range(0, row.bytes, LINE)]))
    return Gathered(out.lines, register)


def walk_grid(nest: Nest, loop: LoopSchedule, index_type: str) -> Grid:
    """Return the kernel of a nest with schedule `loop`, with its launch."""
    plain = walk_grid(nest, loop.without_bursts, index_type) if loop.without_bursts else None
    return Grid(nest.name, loop, index_type, loop.blocks(nest.shape.elements), thread_map(nest, loop), plain=plain)


def walk_kernel(context: Context, nest: Nest, grid: Grid) -> Kernel:
    """Return the kernel that computes a nest in steps. Its record is a Walk, or Bursts if the grid has a second
    schedule.
    """
    d, elements = context.target, nest.shape.elements
    loop, index_type = grid.loop, grid.index
    assert isinstance(loop, LoopSchedule)
    thread = grid.thread
    body = step_body(context, step_form(nest, loop), index_type)
    bodies, tail, before_tail, inside = [body], [], [], ""
    if loop.cut(elements) and loop.step > 1:
        scalar = loop.scalar()
        tail_thread = thread_map(nest, scalar)
        bodies.append(step_body(context, step_form(nest, scalar, whole=False), index_type))
        tail, before_tail = bodies[-1].text.lines, bodies[-1].before.lines
        inside = guard(tail_thread, scalar.box(elements), index_type, scalar, False) or "1"
    plain = walk_kernel(context, nest, grid.plain) if grid.plain else None
    whole = guard(thread, loop.box(elements), index_type, loop, True)
    gathered = _gathered_prefetches(context, nest, loop, index_type)
    names = tested(thread, loop.box(elements)) if whole else set()
    group, item = (name in names or any(of.uses(name) for of in bodies) for name in ("bl_x", "th_x"))
    walk = Walk(d.index[index_type], group, item, loop.chunks, loop.step, whole, inside if whole else "", loop.lanes,
                loop.vec, loop.registers_down, loop.streams, loop.burst,
                [body.prefetches[key] for key in sorted(body.prefetches)],
                [*gathered.before, *body.before.lines], [*gathered.register, *body.text.lines], body.after.lines,
                before_tail, tail)
    text = Text("kernels/loop_bursts" if plain else "kernels/loop", Bursts(walk, plain.text.record) if plain else walk,
                attribute=d.launch_bounds(loop.threads))
    kernel = kernel_of(d, context.helpers, context.excess, grid, nest, [nest.partition], text,
                       Report(body.touched, StepCode.of_body(body, loop.vec)))
    return replace(kernel, without_bursts=plain, walk=plain.walk if plain else walk)


def step_form(nest: Nest, loop: LoopSchedule, whole: bool = True, thread: str = "") -> Form:
    """Return the plan of the code of one step of `loop`, in vectors if possible. whole: false for the code of one
    element. thread: the map from a thread and its step to the index; "" stands for `thread_map`.
    """
    return Form(nest.partition, nest.partition.entry, thread or thread_map(nest, loop), loop if whole else Schedule(),
                loop.box(nest.shape.elements), steady=whole, walked=None if loop.index else nest.shape,
                shared=nest.shared, reads_first=nest.reads_first, rows=_rows(nest, loop, whole))


def _rows(nest: Nest, loop: LoopSchedule, whole: bool) -> "Optional[Rows]":
    """Return the registers of a step whose loops over elements run together; None if each register runs its loop alone.
    whole: false for the step that the end of the output cuts, which has `left` elements.
    """
    if not _looping(nest) or loop.vec == 1 or not loop.blocked:
        return None
    return Rows(str(loop.vec), loop.vec) if whole else Rows("left", loop.step)


def step_body(context: Context, form: Form, index_type: str) -> Body:
    """Return the code of a step as its plan (form) says, including the stores of all results."""
    body, partition = Body(context.target, context.helpers, form, index_type, context.excess), form.partition
    body.region(partition.entry.body)
    if form.reads_first:
        for root in partition.roots:
            body.read(partition.root_read(root), partition.entry.body)
            body.bind(partition.starts(root), partition.entry.body)
    elif len(partition.roots) > 1 and not form.interleaves_words:
        # results are read before any is stored, because a store may overwrite the buffer of another result
        for read in map(partition.root_read, partition.roots):
            if buffer_of(partition, read):
                body.read(read, partition.entry.body)
    for root in partition.roots:
        body.store(root)
    return body
