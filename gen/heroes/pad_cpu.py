"""The pad hero (kernel emitter) on CPUs: each row of the result is filled with the padding value, then the operand's
elements are stored in it.

This hero writes the pads that the window hero does not take: short rows, and interior padding. No element needs a
division or a test. A row consists of one or several contiguous dimensions. It has a few KiB, so that it is still in L1
when the operand's elements are stored.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Dict, Iterable, List, Optional, Sequence, Tuple

from gen import algebra
from gen.emit.body import Body
from gen.emit.form import Form
from gen.emit.maps import conditions, tested
from gen.statements import Assign, Statement
from gen.heroes.hero import Choice, Context, Hero
from gen.heroes.kernel import Coordinate, Grid, Kernel, Report, StepCode, Text, kernel_of
from gen.hlo import Instruction, array_shape, dtypes
from gen.plan.buffers import memory_map, touches
from gen.plan.nest import Nest
from gen.plan.partition import Partition, Root, compose, identity, pad_words
from gen.schedule import Schedule
from gen.targets import COMPLEX, TINY


@dataclass(frozen=True)
class PadSchedule(Schedule):
    """The schedule of a pad. A row consists of the inner dimensions of the result.

    chunks: number of rows of a work-item.
    outer: the result's dimensions that count rows, in the order of memory, outermost first.
    inner: the result's dimensions in a row, in the same order.
    rows, row: the number of rows, and the number of elements in a row.
    """

    outer: Tuple[int, ...] = ()
    inner: Tuple[int, ...] = ()
    rows: int = 1
    row: int = 1

    def text(self) -> str:
        return f"{super().text()}, {self.rows} rows of {self.row}, {self.chunks} a work-item"


@dataclass(frozen=True)
class OperandLoop:
    """A loop over a dimension of the operand: its variable, and the first and last index whose elements are in the
    result.
    """

    name: str
    first: int
    last: int


@dataclass(frozen=True)
class PadCpuRecord:
    """The values that templates/kernels/pad_cpu.j2 prints.

    group: true if there are several work-items.
    chunk, rows, row: number of rows of a work-item, number of all rows, number of elements of a row.
    pointer: pointer to the result.
    begin, value: the statements that compute the padding value, and C text of the value.
    coordinates: the indices of a row, as C variables.
    inside: the condition that the row contains elements of the operand.
    places: the operand's indices for the row, as C variables.
    covered: true if the operand's elements fill the row.
    loops, element: the loops over the operand's elements in a row, and the loops' body.
    """

    group: bool
    chunk: int
    rows: int
    row: int
    pointer: str
    begin: Sequence[Statement]
    value: str
    coordinates: List[Coordinate]
    inside: str
    places: List[Coordinate]
    covered: bool
    loops: List[OperandLoop]
    element: Sequence[Statement]


def _pad_of(nest: Nest) -> "Optional[Instruction]":
    """Return the pad op if the nest computes nothing else and writes all of a dense array; otherwise None."""
    pad, root = nest.only("pad"), nest.partition.roots[0]
    return pad if pad and root.map == nest.partition.entry.index and not root.at and not root.shape.place else None


def _along(pad: Instruction, d: int) -> str:
    """Return the map from the result's index to the operand's index along dimension d of a pad."""
    return algebra.call("op", "pad", "0", f"out={pad.shape.dims[d]}", f"in={pad.operands[0].shape.dims[d]}",
                        *pad_words([pad.attributes["padding"][d]]))


class PadCpuHero(Hero[Nest, PadSchedule]):
    name = "pad"
    nest_class = Nest

    def takes(self, nest: Nest, context: Context) -> bool:
        return context.device.cpu and type(nest) is Nest and not nest.layout and not nest.reads_first \
            and not touches(nest, {*dtypes.PACKED, *COMPLEX, *TINY}) and _pad_of(nest) is not None

    def schedules(self, nest: Nest, context: Context) -> "Iterable[PadSchedule]":
        device, pad, dims = context.device, _pad_of(nest), nest.shape.dims
        order = [d for d in nest.shape.minor_to_major if dims[d] > 1]
        if pad is None or len(order) < 2:
            return []
        if dims[order[0]] % max(device.lanes, 2) == 0 and pad.attributes["padding"][order[0]] == (0, 0, 0):
            return []  # the loop hero is faster here, because each vector has only padding or only operand elements
        size, count = dtypes.storage_bytes(nest.shape.dtype), 1
        while count < len(order) - 1 and math.prod(dims[d] for d in order[:count]) * size < device.pad_cpu.row:
            count += 1
        row = math.prod(dims[d] for d in order[:count])
        rows = nest.shape.elements // row
        chunks = max(1, min(rows // (device.unit_items * device.units), device.part_bytes // (row * size)))
        outer, inner = tuple(order[count:][::-1]), tuple(order[:count][::-1])
        return [PadSchedule(chunks=chunks, outer=outer, inner=inner, rows=rows, row=row)]

    def index_types(self, schedule: PadSchedule) -> "Sequence[str]":
        """Return signed types, because a row of the result may correspond to a negative index of the operand."""
        return "int", "long"

    def forms(self, nest: Nest, schedule: PadSchedule, context: Context) -> "Iterable[Form]":
        return _forms(nest)

    def maps(self, nest: Nest, schedule: PadSchedule, context: Context) -> "Iterable[str]":
        return [_position(nest), _rows_map(nest, schedule), *_backs(nest, schedule).values()]

    def grids(self, choice: Choice[Nest, PadSchedule], context: Context) -> "List[Grid]":
        form, (_, element) = choice.schedule, _forms(choice.nest)
        return [Grid(choice.nest.name, form, choice.index, -(-form.rows // form.chunks), element.function.index)]

    def build(self, choice: Choice[Nest, PadSchedule], context: Context) -> "List[Kernel]":
        return [_kernel(choice.nest, choice.schedule, choice.grids[0], context)]


HERO = PadCpuHero()


def _forms(nest: Nest) -> "List[Form]":
    """Return the plans of two pieces of code: the computation of the padding value, and the load of an operand's
    element.
    """
    pad = _pad_of(nest)
    assert pad is not None
    operand, init = pad.operands
    computation, cuts = nest.partition.computation, nest.partition.cuts
    index = identity(operand.shape.dims)
    values = Partition(computation, [Root(0, operand.shape, operand, 0, index)], nest.name + "_elements",
                       operand.shape.dims, cuts=cuts)
    start = Partition(computation, [Root(0, init.shape, init, 0, identity(()))], nest.name + "_padding", (),
                      cuts=cuts)
    return [Form(start, start.entry), Form(values, values.entry)]


def _place(nest: Nest) -> str:
    """Return the map from the operand's index to the result's index."""
    pad = _pad_of(nest)
    assert pad is not None
    dims = pad.operands[0].shape.dims
    return algebra.rename(
        algebra.call("op", "pad", "0", f"out={algebra.numbers(pad.shape.dims)}", f"in={algebra.numbers(dims)}",
                     *pad_words(pad.attributes["padding"]), "from=operand"), *(f"i{k}" for k in range(len(dims))))


def _position(nest: Nest) -> str:
    """Return the map from the operand's index to the position in the result's memory."""
    return compose(_place(nest), memory_map(nest.partition.roots[0].shape))


def _rows_map(nest: Nest, form: PadSchedule) -> str:
    """Return the map from the number of a row to its coordinates."""
    sizes = tuple(nest.shape.dims[k] for k in form.outer)
    return algebra.rename(algebra.call("shape", "unmap", array_shape("s32", sizes).text), "row")


def _backs(nest: Nest, form: PadSchedule) -> "Dict[int, str]":
    """Return, for each dimension that is not inside a row, the map from the result's index along this dimension to the
    operand's index along it.
    """
    pad, backs = _pad_of(nest), {}
    assert pad is not None
    for k in range(len(pad.operands[0].shape.dims)):
        if k not in form.inner:
            back = algebra.rename(_along(pad, k), f"g{k}")
            # a dimension of size 1 has no coordinate
            backs[k] = back if k in form.outer else algebra.substitute(back, **{f"g{k}": 0})
    return backs


def _kernel(nest: Nest, form: PadSchedule, grid: Grid, context: Context) -> Kernel:
    d, target, forms, index_type = context.target, nest.partition.roots[0], _forms(nest), grid.index
    start, values = (of.partition for of in forms)
    begin, body = (Body(d, context.helpers, of, index_type, context.excess) for of in forms)
    begin.region(start.entry.body)
    value = begin.to_memory(begin.read(start.root_read(start.roots[0]), start.entry.body))
    body.region(values.entry.body)
    element = body.to_memory(body.read(values.root_read(values.roots[0]), values.entry.body))
    place, flat = _place(nest), _position(nest)
    body.accessed("write", target.buffer, flat)
    body.text.add(Assign(f"{target.buffer.pointer}[{body.c(flat)[0]}]", element))
    bounds = {v.name: (v.lo, v.hi) for v in algebra.info(place).variables}
    at_row = algebra.c_text(_rows_map(nest, form), index_type).results
    inside, places, used = [], [], set()
    for k, back in _backs(nest, form).items():
        box = {f"g{k}": (0, nest.shape.dims[k] - 1)}
        inside += conditions(back, box, index_type)
        used |= tested(back, box)
        if body.uses(f"i{k}"):
            places.append(Coordinate(f"i{k}", algebra.c_text(back, index_type).results[0]))
            used |= set(algebra.info(back).results[0].variables)
    loops = [OperandLoop(f"i{k}", *bounds[f"i{k}"]) for k in form.inner]
    record = PadCpuRecord(
        form.rows > form.chunks,
        form.chunks,
        form.rows,
        form.row,
        target.buffer.pointer,
        begin.text.lines,
        value,
        [Coordinate(f"g{k}", text) for k, text in zip(form.outer, at_row) if f"g{k}" in used],
        " && ".join(inside),
        places,
        math.prod(loop.last - loop.first + 1 for loop in loops) == form.row,
        loops,
        body.text.lines,
    )
    return kernel_of(d, context.helpers, context.excess, grid, nest, [start, values],
                     Text("kernels/pad_cpu", record, attribute=d.launch_bounds(1)),
                     Report([*begin.touched, *body.touched],
                            StepCode([], record.element, [], repeated="for each element of the operand")))
