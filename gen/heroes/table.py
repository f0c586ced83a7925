"""The table hero (kernel emitter): a function of one 16-bit value is read from a table of its 65,536 values. A kernel
fills the table by that function, once, on the device.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Dict, Iterable, List, Optional, Tuple

from gen import algebra
from gen.emit import ops
from gen.emit.body import Body
from gen.emit.form import Form
from gen.statements import Return
from gen.emit.values import Access, Touched
from gen.heroes.hero import Choice, Context, Hero, Refused
from gen.heroes.kernel import Argument, CFunction, Grid, Kernel, Report, StepCode, Table, Text
from gen.heroes.loop import HERO as LOOP_HERO
from gen.heroes.loop import guard, thread_map
from gen.heroes.walk import Walk
from gen.hlo import Instruction, array_shape, dtypes
from gen.plan.buffer import Buffer, Role
from gen.plan.buffers import buffers_of, memory_map, reads_of
from gen.plan.digits import strides
from gen.plan.nest import Nest
from gen.plan.partition import EMPTY, compose
from gen.schedule import Device, LoopSchedule

VECTOR = 8  # number of values that are stored at once; the index of a vector's first element is a multiple of it


@dataclass(frozen=True)
class LookUp:
    """The record that templates/kernels/table.j2 prints.

    walk: the loops, as in the loop hero.
    input, output: addresses of a step's values.
    element_input, element_output: addresses of one value, for the step that reaches beyond the array's end.
    store: the C macro that stores a vector.
    """

    walk: Walk
    input: str
    output: str
    element_input: str
    element_output: str
    store: str


class TableHero(Hero[Nest, LoopSchedule]):
    """The loop hero with steps that look up values instead of computing them."""

    name, overwrites = "loop", True
    nest_class = Nest

    def takes(self, nest: Nest, context: Context) -> bool:
        return context.device.wide and _table_source(context.device, nest) is not None

    def schedules(self, nest: Nest, context: Context) -> "Iterable[LoopSchedule]":
        return [schedule for schedule in LOOP_HERO.schedules(nest, context) if schedule.interleaved_pairs]

    def forms(self, nest: Nest, schedule: LoopSchedule, context: Context) -> "Iterable[Form]":
        source = _table_source(context.device, nest)
        assert source is not None
        return [Form(nest.partition, nest.partition.entry, given={source: []})]

    def maps(self, nest: Nest, schedule: LoopSchedule, context: Context) -> "Iterable[str]":
        whole, single = _flats(nest, schedule)
        return algebra.substitute(whole, lane=0, vec=0), single

    def accesses(self, nest: Nest, schedule: LoopSchedule, context: Context) -> "List[Access]":
        (read,), (root,) = buffers_of(nest.partition, nest.partition.entry), nest.partition.roots
        flat = _flats(nest, schedule)[0]
        return [Access(verb, buffer, flat, schedule.step) for verb, buffer in (("read", read), ("write", root.buffer))]

    def grids(self, choice: Choice[Nest, LoopSchedule], context: Context) -> "List[Grid]":
        loop = choice.schedule
        return [Grid(choice.nest.name, replace(loop, table=True, vec=1, lanes=loop.step, interleaved_pairs=False),
                     choice.index, loop.blocks(choice.nest.shape.elements), thread_map(choice.nest, loop))]

    def build(self, choice: Choice[Nest, LoopSchedule], context: Context) -> "List[Kernel]":
        return [_table_kernel(context, choice.nest, choice.schedule, choice.grids[0])]


HERO = TableHero()


def _table_source(device: Device, nest: Nest) -> "Optional[Instruction]":
    """Return the parameter by whose values a table may be indexed: it has 16 bits, and alone determines each element of
    the result. Return None if there is none, or if a table is not faster. Raise Refused if there are too few elements.
    """
    numbers = device.table
    entry = nest.partition.entry
    if len(nest.partition.roots) != 1 or dtypes.storage_bytes(nest.partition.roots[0].shape.dtype) != 2 \
            or nest.partition.roots[0].shape.place \
            or any(e.callee or e.regions or not ops.is_elementwise(e.instruction.opcode) for e in entry.body.entries):
        return None
    sources: Dict[Tuple[Instruction, str], None] = {}
    for read, _ in reads_of(nest.partition, entry):
        source = read.source
        if source.opcode == "iota" or source in nest.partition.cuts or (
                source.opcode == "constant" and len(set(source.literal or [])) > 1) or read.map == EMPTY:
            return None
        if source.opcode == "parameter":
            sources[source, read.map] = None
    cost = sum(ops.row(e.instruction.opcode).cost + 5 * ops.rounds(e.instruction.opcode, e.instruction.shape.dtype)
               for e in entry.body.entries)
    if len(sources) != 1 or cost < numbers.cost:
        return None
    source, index = next(iter(sources))
    if source.shape.kind != "array" or dtypes.storage_bytes(source.shape.dtype) != 2:
        return None
    if nest.shape.elements < numbers.elements:
        raise Refused(f"{nest.shape.elements} elements are fewer than {numbers.elements}")
    unmap, root = algebra.call("shape", "unmap", nest.shape.text), nest.partition.roots[0]
    read_at, written_at = (compose(unmap, compose(m, memory_map(s)))
                           for m, s in ((index, source.shape), (root.map, root.shape)))
    return source if read_at == written_at and _in_vectors(written_at) else None


def _in_vectors(position: str) -> bool:
    """Return true if the elements are contiguous in memory, and the first one is aligned for vectors. position: the map
    from an element's number to its position.
    """
    digits, start, run = strides(position), algebra.evaluate(position, 0), 1
    for size, step in reversed(list(zip(*digits or ()))):
        if size > 1 and step != run:
            return False
        run *= size
    return digits is not None and start is not None and start[0] % VECTOR == 0


def _flats(nest: Nest, loop: LoopSchedule) -> "List[str]":
    """Return two maps to positions in memory: one for whole steps, and one for the single elements of the step that
    reaches beyond the array's end.
    """
    (root,) = nest.partition.roots
    position = compose(root.map, memory_map(root.shape))
    return [compose(thread_map(nest, schedule), position) for schedule in (loop, loop.scalar())]


def _table_kernel(context: Context, nest: Nest, loop: LoopSchedule, grid: Grid) -> Kernel:
    """Return the kernel that looks up a function of one 16-bit value. Another kernel fills the table by that function,
    once, on the device.
    """
    d, helpers, source = context.target, context.helpers, _table_source(context.device, nest)
    assert source is not None
    index_type = grid.index
    partition, root, elements = nest.partition, nest.partition.roots[0], nest.shape.elements
    dtype, value = source.shape.dtype, f"{nest.name}_value"
    x = ("x" if dtype == "f16" else f"{helpers.need('value', dtype)}(x)" if dtype == "bf16"
         else f"({d.register(dtype)})x")
    form = Form(partition, partition.entry,
                given={source: lambda body: [body.declare(source.name, dtype, 1, x, dtype == "f16")]})
    body = Body(d, helpers, form, index_type, context.excess)
    body.region(partition.entry.body)
    u16, space = d.types["u16"], d.pointer
    function = CFunction(value, u16, f"{u16} x", body.text.lines + [Return(f"({u16})({body.final(root)})")])
    (read,), scalar = buffers_of(partition, partition.entry), loop.scalar()
    table = Buffer(Role.TABLE, 0, array_shape("u16", (1 << 16,)), "table")
    flats = _flats(nest, loop)
    whole = algebra.c_text(algebra.substitute(flats[0], lane=0, vec=0), index_type, "added").results[0]
    single = algebra.c_text(flats[1], index_type).results[0]
    prefetches = [[d.prefetch(word, f"{read.pointer} + {whole}", distance, 2)]
                  for word, distance in loop.prefetches()[:1] if distance]
    tail_thread, thread = thread_map(nest, scalar), grid.thread
    inside = guard(tail_thread, scalar.box(elements), index_type, scalar, False) if elements % loop.step else ""
    walk = Walk(d.index[index_type], grid.blocks > 1, loop.threads > 1, loop.chunks, loop.step,
                guard(thread, loop.box(elements), index_type, loop, True), inside, streams=loop.streams,
                burst=loop.burst, prefetch=prefetches)
    look_up = LookUp(walk, f"{read.pointer} + {whole}", f"{root.buffer.pointer} + {whole}",
                     f"{read.pointer}[{single}]", f"{root.buffer.pointer}[{single}]", d.store_word(loop.stream))
    arguments = [Argument(f"{space}{'const ' * read_only}{u16} *", buffer, read_only, d.restrict)
                 for buffer, read_only in ((read, True), (root.buffer, False), (table, True))]
    text = Text("kernels/table", look_up, [function], d.launch_bounds(loop.threads), Table(f"{nest.name}_fill", value))
    return Kernel(grid, nest, arguments, text, Report(
        [Touched("read", read, flats[0]), Touched("write", root.buffer, flats[0])],
        StepCode([], function.lines, [], repeated="for each of the table's 65536 values x, once")))
