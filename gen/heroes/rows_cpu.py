"""The rows hero (kernel emitter) on CPUs: one kernel for several passes ("stages") over the same rows
(gen/plan/rows.py), such as the passes of a softmax. Each row goes through all stages before the next row.

Rows are contiguous along the minor dimension, which is reduced. A stage folds each row into a few vector accumulators
with the methods of the reduction hero (gen/heroes/reduction_cpu.py). Later stages use its totals, and values that are
computed from the totals once for each row. The first stage reads a row from memory, later stages read it from the
caches. Values that later stages need for each element are kept in an array on the work-item's stack. While later stages
compute, they prefetch the next rows, so that memory accesses overlap with computation.

The kernel has one of two forms:
- block: 16 short rows at a time. Each stage folds row after row, then the 16 vectors of accumulators into one vector of
  totals. Values that depend only on the row are computed as vectors of 16 rows.
- single: one row at a time. Its accumulators are folded into one number.

A stage may also compute totals over the rows, one total for each column. A work-item has accumulators for all columns
in L1, and stores them as one part. A second kernel combines the parts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Type

from gen import algebra
from gen.emit.body import Body
from gen.emit.form import Form, Given
from gen.statements import Assign, Declare, For, If, Statement
from gen.emit.values import Value
from gen.heroes import reduction_cpu
from gen.heroes.hero import Choice, Context, Refused
from gen.heroes.kernel import Grid, Kernel, Placing, Report, StepCode, Text
from gen.heroes.reduction import Digits, digits_of as digits_of_reduction
from gen.heroes.reduction_cpu import Accumulator, Blocks, Digit, Reduce, Rest, RowSteps, SweepSchedule
from gen.heroes.rows import (RegisterArray, RowsHero, digits_of, kernel_of_stages, later_values, reads_of, totals, view,
                             without_excess, writes_of)
from gen.hlo import Instruction, Shape, array_shape, dtypes
from gen.hlo.opcodes import ELEMENTWISE
from gen.plan.buffer import Buffer, Role
from gen.plan.buffers import buffers_of, reads_of as operands_of
from gen.plan.digits import IterationSpace, place as placed_at
from gen.plan.partition import Partition, Read, Root, compose
from gen.plan.plan import Reduction
from gen.plan.rows import Rows, Stage
from gen.schedule import LANES, Device, Schedule


@dataclass(frozen=True)
class RowSweepSchedule(SweepSchedule):
    """The schedule of the stages.

    kept: number of registers of an array that keeps one value for all elements of a row. 0: no values are kept.
    columns: number of registers of the accumulators of a reduction over the rows. 0: there is no such reduction.
    distances: for each buffer that is read, the prefetch distance in bytes, which is the distance from a row (or group
        of 16 rows) to the next.
    """

    kept: int = 0
    columns: int = 0
    distances: "Tuple[Tuple[str, int], ...]" = ()

    def text(self) -> str:
        words = [f"threads {self.threads}", f"{self.rows} rows together" if self.rows > 1 else "a row at a time",
                 f"{self.chunks} times", f"{self.vec} accumulators of {self.lanes}"]
        words += [f"{self.kept} registers of each kept value"] if self.kept else []
        words += [f"{self.columns} accumulators of columns, combined by a second kernel"] if self.columns else []
        words += [word for word, on in (("pairs interleaved", self.interleaved_pairs), ("streamed", self.stream)) if on]
        return ", ".join(words)


Candidate = Tuple[Digits, RowSweepSchedule]


class RowsCpuHero(RowsHero[Candidate]):
    """The emitter (hero) that writes one kernel for all stages (passes over the same rows), and a second kernel that
    combines the parts of columns.
    """

    columns = True

    def takes(self, nest: Rows, context: Context) -> bool:
        if not context.device.cpu or not super().takes(nest, context):
            return False
        if not context.device.wide:
            raise Refused("the device has no vectors")
        return True

    def schedules(self, nest: Rows, context: Context) -> "Iterable[Candidate]":
        digits, space = digits_of(nest), nest.iteration_space()
        if not digits or not space:
            raise Refused("some access has no stride in the rows")
        return [(digits, _sweep(context.device, nest, digits, space))]

    def forms(self, nest: Rows, schedule: Candidate, context: Context) -> "Iterable[Form]":
        return RowsFormCollector(context, nest, *schedule, "").collect().forms

    def maps(self, nest: Rows, schedule: Candidate, context: Context) -> "Iterable[str]":
        return RowsFormCollector(context, nest, *schedule, "").collect().maps

    def scratch_shapes(self, nest: Rows, schedule: Candidate, context: Context) -> "List[Shape]":
        return RowsCpuWriter(context, nest, *schedule, "").scratch_shapes()

    def grids(self, choice: Choice[Rows, Candidate], context: Context) -> "List[Grid]":
        return RowsFormCollector(context, choice.nest, *choice.schedule, choice.index).collect().grids

    def describe(self, choice: Choice[Rows, Candidate], grid: Grid, context: Context) -> "List[str]":
        return super().describe(choice, grid, context) if grid is choice.grids[0] else []

    def build(self, choice: Choice[Rows, Candidate], context: Context) -> "List[Kernel]":
        return RowsCpuWriter(context, choice.nest, *choice.schedule, choice.index).kernels(choice.scratch)


HERO = RowsCpuHero()


def _sweep(device: Device, nest: Rows, digits: Digits, space: IterationSpace) -> RowSweepSchedule:
    numbers = device.rows_cpu
    sizes, out, minor = digits.sizes, digits.out, digits.minor
    size, reads = sizes[minor], list(space.accesses[1 + len(nest.columns):])
    columns = [a.strides for a in space.accesses[1:1 + len(nest.columns)]]
    if not digits.kept():
        raise Refused("there is a single row")
    if out[minor] or any(a.strides is None or a.strides[minor] not in (0, 1) for a in reads):
        raise Refused("rows are not contiguous in every access")
    if any(steps is None or steps[minor] != 1 or any(steps[k] for k in digits.kept()) for steps in columns):
        raise Refused("totals of columns are not laid out like the rows")
    if size < LANES:
        raise Refused(f"a row of {size} is shorter than {LANES}")
    elements, rows = math.prod(sizes[k] for k in digits.reduced()), math.prod(sizes[k] for k in digits.kept())
    row = next(k for k in digits.kept() if out[k] == 1)
    read = {a.name: a for a in reads if not a.write and a.strides and any(a.strides[k] for k in digits.reduced())}
    by_row = {a.name: a for a in read.values() if a.strides and any(a.strides[k] for k in digits.kept())}
    of_row, shared = (sum(a.width for a in some.values()) * elements
                      for some in (by_row, {name: a for name, a in read.items() if name not in by_row}))
    along = {a.name for a in reads if a.strides and a.strides[minor]}
    small = {buffer.shape.dtype for buffer in reads_of(nest) | writes_of(nest) if buffer.pointer in along} == {"bf16"}
    paired = small and size >= 2 * LANES
    vec = 2 if paired else min(device.reduction_cpu.row_vectors, size // LANES // 2 * 2 or 1)
    steps = elements // size * (size // (vec * LANES))
    left = -(-(size % (vec * LANES)) // LANES) * (elements // size)
    kept, width = steps * vec + left, 4 * max([1, *(dtypes.storage_bytes(i.shape.dtype) // 4 for s in nest.stages
                                                    for i in s.kept)])
    count = sum(len(stage.kept) for stage in nest.stages)
    keeps = count * kept * LANES * width
    together = LANES if sizes[row] >= LANES and LANES * (of_row + keeps) <= numbers.block else 1
    # overlapping groups of rows would count some rows twice in the totals of columns
    together = 1 if columns and sizes[row] % together else together
    of_totals, of_passes = (sum(map(of, nest.stages)) for of in (lambda stage: _cost_of(stage.totals), _cost))
    if columns and together == 1 and of_totals > numbers.totals_share * of_passes * elements / LANES:
        raise Refused(f"the totals of a row of {elements} elements take {of_totals} instructions, and not in vectors")
    totals = kept * LANES * sum(4 * max(1, dtypes.storage_bytes(hero.shape.dtype) // 4) for stage in nest.stages
                                for hero in stage.columns)
    if of_row + shared + keeps + totals > numbers.held_bytes:
        raise Refused(f"a row of {of_row + shared + keeps + totals} bytes is longer than {numbers.held_bytes}")
    if together * keeps + totals > numbers.kept_bytes:
        raise Refused(f"{together * keeps + totals} bytes that stages keep are more than {numbers.kept_bytes}")
    if rows < 2 * device.units and of_row > numbers.block:
        raise Refused(f"{rows} long row{'s' * (rows > 1)}: too few for all cores")
    blocks = sizes[row] // together
    outer = rows // sizes[row]
    shares = blocks * outer // (device.unit_items * device.units)
    if nest.strip:
        if not _goes_by_strips(digits, row, elements, nest.strip):
            raise Refused("the rows of a strip are not neighbours")
        chunks = blocks
    elif columns:
        chunks = min(blocks, max(-(-device.reduction_cpu.part_rows // together), shares))
    else:
        chunks = max(1, min(blocks, device.part_bytes // max(1, together * of_row), shares))
    traffic, parts = sum(a.bytes for a in reads), -(-blocks // chunks) * outer
    few = parts < 2 * device.units and of_row > numbers.block
    if columns and (few or parts * device.reduction_cpu.part_rows > rows + device.reduction_cpu.part_rows):
        raise Refused(f"the columns of {rows} rows in {parts} parts")
    return RowSweepSchedule(
        1,
        chunks,
        vec,
        interleaved_pairs=paired,
        kind="rows",
        rows=together,
        stream=traffic > device.cache and not nest.strip,
        kept=kept if count else 0,
        columns=kept if columns else 0,
        distances=tuple(
            (a.name, (a.strides or ())[row] * together * a.width)
            for a in by_row.values()
            if a.strides and a.strides[row] > 0 and not nest.strip
        ),
    )


def _goes_by_strips(digits: Digits, row: int, elements: int, strip: int) -> bool:
    """Return true if each strip of rows (gen/plan/strips.py) consists of all rows of some work-items. A kernel
    multiplies and then reduces the rows of a strip. row: the digit along which a work-item has rows. elements: the
    number of elements of a row.
    """
    parts = list(zip(digits.weights, digits.sizes))
    return (all(weight >= strip or weight * size <= strip for weight, size in parts)
            and all(digits.weights[k] >= elements for k in digits.kept()) and digits.weights[row] < strip)


def _cost(stage: Stage) -> int:
    """Return the estimated number of instructions of a stage (a pass over a row) for one register of elements."""
    return _cost_of(stage.inputs) + len(stage.heroes) + len(stage.columns)


def _cost_of(partition: Partition) -> int:
    ops = [entry.instruction.opcode for entry in partition.entry.body.entries]
    return sum(ELEMENTWISE[op].cost for op in ops if op in ELEMENTWISE)


# ---- records for the template ----

@dataclass(frozen=True)
class ColumnTotals:
    """The accumulators of a reduction over the rows, one for each column: an array c of `count` registers.

    start: the initial value of each register.
    steps, step: number of steps of a row, and the C lines that store a step's accumulators.
    rest: the C lines that store the accumulators of the elements after the last step.
    """

    type: str
    name: str
    count: int
    start: str
    steps: int
    step: StepCode
    rest: Optional[StepCode]


@dataclass(frozen=True)
class StageLines:
    """A stage, as C text.

    reduces: the reduce ops, with the accumulators a0, a1, ..
    digits: loops around the steps of a row.
    count: the number of steps.
    turn: number of steps in a partial sum; partial sums keep rounding errors small. 0: all steps are one sum.
    row_step: the code that follows the totals, for one row or for 16 rows as a vector.
    """

    reduces: List[Reduce]
    digits: List[Digit]
    count: int
    turn: int
    steps: RowSteps
    rest: Optional[Rest]
    row_step: StepCode
    lanes: int = LANES
    flags = None

    @property
    def accumulators(self) -> "List[Accumulator]":
        return [accumulator for reduce in self.reduces for accumulator in reduce.accumulators]


@dataclass(frozen=True)
class RowsCpuRecord:
    """The record that templates/kernels/rows_cpu.j2 prints.

    rows: number of rows that go through the stages together, 16 or 1.
    vec: number of registers of an accumulator.
    values: arrays of the values that stages compute once for each row.
    late: None, unless the last stage of a row runs together with the second to last stage of the next row. Then: arrays
        of the values that the last stage needs of the previous row.
    kept: arrays of values that later stages need for each element.
    columns: accumulators of each reduction over the rows.
    digits: loops around the registers of a row.
    halves: the numbers of registers that remain after each folding of pairs of registers.
    """

    placing: Placing
    blocks: Blocks
    rows: int
    vec: int
    values: List[RegisterArray]
    late: Optional[List[RegisterArray]]
    kept: List[RegisterArray]
    columns: List[ColumnTotals]
    digits: List[Digit]
    stages: List[StageLines]
    halves: List[int]


class RowsCpuStageWriter(reduction_cpu.ReductionCpuWriter):
    """The writer of one stage (a pass over a row).

    number: number of the stage's first accumulator among the accumulators of all stages.
    whole: the writer of all stages.
    """

    def __init__(self, whole: "RowsCpuWriter", stage: Stage, number: int) -> None:
        context = whole.context
        self.whole, self.stage, self.number, self.slot, self.column = whole, stage, number, "", ""
        self.prefetched: "Dict[str, List[str]]" = {}        # prefetch statements, by the pointer of the buffer
        self.late = False  # true for the last stage, if it runs together with the second to last stage of the next row

        # Statements for the previous row. They read the kept values of that row, so they come before the statements
        # that store the kept values of the current row in the same array.
        self.before_kept: "List[Statement]" = []
        super().__init__(context, view(whole.nest, stage), whole.digits, whole.sweep, whole.index_type)

    def name(self, h: int, k: int, of: str = "a") -> str:
        return f"{of}{self.number + h}"

    def form(self, thread: str, box: "Dict[str, Tuple[int, int]]", sweep: Schedule, partition: Partition,
             given: "Optional[Mapping[Instruction, Given]]" = None) -> Form:
        """Return the plan of a piece of code. If the code computes the inputs of the stage, it reads values of the row,
        and values that earlier stages kept.
        """
        if partition is self.nest.inputs:
            given = {i: values for i, values in {**self.whole.of_row(self.late),
                                                 **self.whole.kept_at(self.slot)}.items() if i in partition.given}
        return super().form(thread, box, sweep, partition, given)

    def values(self, body: Body) -> List[Value]:
        kept, columns, inputs = self.stage.kept, self.stage.columns, self.nest.inputs
        values = super().values(body)
        first = len(inputs.roots) - len(kept) - len(columns)
        for hero, root in zip(columns, inputs.roots[first:]):
            self.whole.columns[hero].add(body, inputs.root_read(root), self.column)
        for instruction, root in zip(kept, inputs.roots[first + len(columns):]):
            read = body.read(self.nest.inputs.root_read(root), body.function.body)
            value = without_excess(self.whole.context, body, read)
            if instruction is kept[0]:
                body.text.add(*self.before_kept)
            body.text.add(Assign(f"{self.whole.kept[instruction].name}[{self.slot}]", body.splat(value)))
        return values

    @property
    def sides(self) -> List[Root]:
        return self.stage.writes

    def fold_step(self, body: Body, slot: str, count: int, inside: str = "", of: str = "a") -> StepCode:
        step = super().fold_step(body, slot, count, inside, of)
        self.prefetched.update((key[1], lines) for key, lines in body.prefetches.items())
        return step

    def lines(
        self, coordinates: "Dict[int, str]", box: "Dict[str, Tuple[int, int]]", prefetch: int, prefetches: "List[str]",
        row_before: "Optional[StageLines]" = None,
    ) -> StageLines:
        """Return the stage's C lines.

        prefetch: the prefetch distance in bytes. If it is not 0, the stage's prefetch statements are added to
            `prefetched`.
        prefetches: prefetch statements that the steps execute.
        row_before: the code of the last stage for the previous row, if the steps of this stage contain it.
        """
        digits, sweep, together = self.digits, self.sweep, self.sweep.rows
        self.at, self.box = dict(coordinates), dict(box)
        row = self.special()
        assert row is not None
        if together > 1:
            self.at[row] = f"({coordinates[row]}) + row"
            self.box["row"] = (0, together - 1)
        loops = self.loops([digits.minor])
        size, step = digits.sizes[digits.minor], sweep.step
        count = size // step
        # number of registers of a row along the minor dimension
        registers = count * sweep.vec + -(-(size % step) // LANES)
        run, weight = [], registers
        for k in reversed([k for k in digits.reduced() if k != digits.minor]):
            run.append(f"g{k} * {weight}")
            weight *= digits.sizes[k]
        of_columns = "".join(f"{text} + " for text in run)
        before = f"{of_columns}row * {weight} + " if together > 1 else of_columns
        step_slot = f"step * {sweep.vec} + vec" if sweep.vec > 1 else "step"
        self.slot, self.column = before + step_slot, of_columns + step_slot
        self.sweep = replace(sweep, l2_prefetch=prefetch, burst=1)
        turn = self.device.rows_cpu.turn_steps
        turn = turn if self.stage.heroes and reduction_cpu.are_sums(self.nest) and count >= 2 * turn else 0
        self.before_kept = self.whole.of_row_before(row_before.steps.step) if row_before else []
        known = count if not turn else turn if count % turn == 0 else 0
        steps = self.steps("turn" if turn else "0", "end" if turn else str(count), count, known)
        self.sweep = sweep
        steps = replace(steps, prefetches=prefetches, burst=1 if prefetches else 0)
        rest_slot = f"{count * sweep.vec}" + (" + vec" if size % step > LANES else "")
        self.slot, self.column = before + rest_slot, of_columns + rest_slot
        self.before_kept = self.whole.of_row_before(row_before.rest.step) if row_before and row_before.rest else []
        rest = self.rest(size % step, size)
        reduces = [Reduce([self.accumulator(h, 0, LANES, True)], partial(self.combine, h))
                   for h in range(len(self.nest.heroes))]
        self.at = dict(coordinates)
        return StageLines(reduces, loops, count, turn, steps, rest, self.row_step(row, box))

    def row_form(self, row: int, box: "Dict[str, Tuple[int, int]]") -> Form:
        """Return the plan of the code that computes, from a row's totals, the values and the results that depend on the
        row alone.
        """
        wide = self.sweep.rows > 1
        at = {k: text for k, text in self.at.items() if self.digits.out[k] and k != row}
        inner = f"({self.at[row]})" + (" + lane" if wide else "")
        box = {**box, **({"vec": (0, 0), "lane": (0, LANES - 1)} if wide else {})}
        position = self.map(self.out_position({**at, row: "0"}, inner), box, ("vec", "lane") if wide else ())
        return super().form(compose(position, algebra.call("shape", "unmap", self.nest.shape.text)), box,
                            Schedule(lanes=LANES if wide else 1), self.nest.epilogue, self.whole.totals(self))

    def row_step(self, row: int, box: "Dict[str, Tuple[int, int]]") -> StepCode:
        """Return the code that computes, from a row's totals, the values and the results that depend on the row alone.
        """
        wide, partition, body = self.sweep.rows > 1, self.nest.epilogue, self.body_for(self.row_form(row, box))
        body.region(partition.entry.body)
        roots = partition.roots
        for root in roots[:len(self.stage.row_writes)]:
            body.store(root)
        for instruction, root in zip(self.stage.row_values, roots[len(self.stage.row_writes):]):
            value = without_excess(self.whole.context, body, body.read(partition.root_read(root), partition.entry.body))
            name = self.whole.values[instruction].name
            body.text.add(self.d.scatter(value.dtype, LANES, body.splat(value), name) if wide
                          else Assign(f"{name}[0]", value.text))
        self.seen += [a for a in body.touched if a not in self.seen]
        return StepCode.of_body(body, 1)


class _Columns:
    """A reduction over the rows, with one total for each column. number: the number of its first accumulator among
    those of all such reductions.
    """

    def __init__(
        self, whole: "RowsCpuWriter", nest: Reduction, hero: Instruction, number: int, strides: "Sequence[int]"
    ) -> None:
        self.whole, self.hero, self.number, self.strides = whole, hero, number, strides
        self.h = nest.heroes.index(hero)
        self.column_writer = whole.column_writer(nest)
        self.dtype = self.column_writer.kept_as(hero.shape.dtype)

    def add(self, body: Body, read: Read, slot: str) -> None:
        """Add the statements that fold an element into accumulator `slot`."""
        value = body.real(body.without_excess(body.read(read, body.function.body), "x"))
        new = self.column_writer.combined(body, self.h, [f"c{self.number}[{slot}]"], [body.splat(value)], LANES)
        body.text.add(Assign(f"c{self.number}[{slot}]", new[0]))

    def lines(self, part: str, box: "Dict[str, Tuple[int, int]]", buffer: Buffer) -> ColumnTotals:
        """Return the C lines that declare the accumulators and store them in a buffer. part: the work-item's index, as
        a map expression.
        """
        digits, sweep, d = self.whole.digits, self.whole.sweep, self.whole.context.target
        size, vec, run = digits.sizes[digits.minor], sweep.vec, []
        count = size // sweep.step
        registers = count * vec + -(-(size % sweep.step) // LANES)
        at = f"({part}) * {self.column_writer.results}"
        inner: "Dict[str, Tuple[int, int]]" = {}
        weight = registers
        for k in reversed([k for k in digits.reduced() if k != digits.minor]):
            run.append(f"g{k} * {weight}")
            at += f" + g{k} * {self.strides[k]}"
            inner[f"g{k}"] = (0, digits.sizes[k] - 1)
            weight *= digits.sizes[k]
        before = "".join(f"{text} + " for text in run)
        place = f"lane * {vec} + vec" if sweep.interleaved_pairs else f"vec * {LANES} + lane"
        steps = {**box, **inner, "step": (0, max(0, count - 1))}
        step = self.store_step(f"{at} + step * {sweep.step} + {place}", steps, vec, f"{before}step * {vec}", buffer,
                           sweep.interleaved_pairs)
        left, rest = -(-(size % sweep.step) // LANES), None
        if left:
            rest = self.store_step(f"{at} + {size - left * LANES} + vec * {LANES} + lane", {**box, **inner}, left,
                                   f"{before}{count * vec}", buffer)
        start = d.splat(self.dtype, LANES, self.column_writer.start(self.h, 0))
        return ColumnTotals(d.register(self.dtype, LANES), f"c{self.number}", weight, start, count, step, rest)

    def form(self, position: str, box: "Dict[str, Tuple[int, int]]", vec: int, by_lane: bool) -> Form:
        """Return the plan of the code that stores accumulators at a position. by_lane: true to store lane by lane."""
        of = self.column_writer.nest.epilogue
        empty = Partition(of.computation, [], "", of.entry.dims)
        thread = self.column_writer.map(position, box, () if by_lane else ("vec", "lane"))
        return Form(empty, empty.entry, thread, Schedule(vec=vec, lanes=LANES), box)

    def store_step(self, position: str, box: "Dict[str, Tuple[int, int]]", vec: int, slot: str, buffer: Buffer,
                   by_lane: bool = False) -> StepCode:
        """Return a step that stores `vec` accumulators, beginning with `slot`. by_lane: true if the lanes are not
        contiguous in memory.
        """
        column_writer, d = self.column_writer, self.whole.context.target
        slot += " + vec" if vec > 1 else ""
        box = {**box, "vec": (0, vec - 1), "lane": (0, LANES - 1)}
        form = self.form(position, box, vec, by_lane)
        body = column_writer.body_for(form)
        if by_lane:
            text = algebra.c_text(form.thread, self.whole.index_type).results[0]
            body.text.add(
                Declare(d.register(self.dtype), "x", count=LANES),
                d.scatter(self.dtype, LANES, f"c{self.number}[{slot}]", "x"),
                For(column_writer.t, "lane", str(LANES), [Assign(f"{buffer.pointer}[{text}]", "x[lane]")], brief=True),
            )
        else:
            body.store_wide(Value(f"c{self.number}[{slot}]", self.dtype, LANES), buffer.pointer, self.dtype, form.thread)
        return StepCode.of_body(body, vec)


def _by_columns(nest: Reduction, parts: int) -> "Tuple[Digits, SweepSchedule]":
    """Return the digits of the input, and the schedule, for a reduction over the rows in `parts` parts."""
    return digits_of_reduction(nest)[0], SweepSchedule(kind="columns", parts=parts)


class RowsCpuWriter:
    """The writer of the kernel of all stages (passes over the same rows), and of the kernels that combine parts of
    columns.

    writers: the writers of the stages.
    values: the arrays of values that are computed once for each row.
    kept: the arrays of values that later stages need for each element.
    columns: for each reduce op over the rows, its writer.
    """

    of_columns: "Type[_Columns]" = _Columns

    def __init__(self, context: Context, nest: Rows, digits: Digits, sweep: RowSweepSchedule, index_type: str) -> None:
        self.context, self.nest, self.digits, self.sweep, self.index_type = context, nest, digits, sweep, index_type
        d = context.target
        self.values = {i: RegisterArray(d.register(i.shape.leaves()[0].dtype), f"of_row{n}", sweep.rows)
                       for n, i in enumerate(i for stage in nest.stages for i in stage.row_values)}
        self.kept = {i: RegisterArray(d.register(i.shape.dtype, LANES), f"kept{n}", sweep.kept * sweep.rows)
                     for n, i in enumerate(i for stage in nest.stages for i in stage.kept)}
        space = nest.iteration_space()
        accesses = space.accesses[1:] if space else []
        self.columns: "Dict[Instruction, _Columns]" = {}
        for member, access in zip(nest.columns, accesses):
            for hero in member.heroes:
                self.columns[hero] = self.of_columns(self, member, hero, len(self.columns), access.strides or ())
        self.writers: "List[RowsCpuStageWriter]" = []
        for stage in nest.stages:
            self.writers.append(self.stage_writer(stage, sum(len(before.heroes)
                                                             for before in nest.stages[: len(self.writers)])))

    def stage_writer(self, stage: Stage, number: int) -> RowsCpuStageWriter:
        """Return the writer of a stage (a pass over a row). number: number of the stage's first accumulator among those
        of all stages.
        """
        return RowsCpuStageWriter(self, stage, number)

    def of_row(self, late: bool = False) -> "Dict[Instruction, Given]":
        row, word = "row" if self.sweep.rows > 1 else "0", "late_" if late else ""
        return {i: later_values(self.context, i, f"{word}{array.name}[{row}]") for i, array in self.values.items()}

    def kept_at(self, slot: str) -> "Dict[Instruction, Given]":
        return {i: later_values(self.context, i, f"{array.name}[{slot}]", LANES) for i, array in self.kept.items()}

    def totals(self, upto: RowsCpuStageWriter) -> "Dict[Instruction, Given]":
        """Return the totals of stage `upto` and of the stages before it."""
        return totals(self.writers[:self.writers.index(upto) + 1], "t{}[0]" if self.sweep.rows > 1 else "t{}")

    def column_writer(self, nest: Reduction, parts: int = 1) -> reduction_cpu.ReductionCpuWriter:
        """Return the writer of a reduction over the rows that is cut into `parts` parts."""
        return reduction_cpu.ReductionCpuWriter(self.context, nest, *_by_columns(nest, parts), self.index_type)

    def late(self) -> bool:
        """Return true if the last stage of a row can run together with the second to last stage of the next row. The
        streaming stores of the last stage then overlap with the other stage's computation.

        The last stage must store whole registers. It may read only the values that the second to last stage kept for
        the same row and position, and memory that is the same for all rows.
        """
        *before, last = self.nest.stages
        blocks = self.writers[0].blocks
        given, read = set(last.inputs.given), {buffer.pointer for buffer in buffers_of(last.inputs, last.inputs.entry)}
        return bool(
            self.sweep.chunks > 1
            and blocks
            and not blocks.start
            and last.writes
            and not (last.heroes or last.columns or last.row_writes)
            and given & set(before[-1].kept)
            and not given & {i for stage in before[:-1] for i in stage.kept}
            and not read & {pointer for pointer, _ in self.sweep.distances}
            and not RowsFormCollector(self.context, self.nest, self.digits, self.sweep, "").beyond_registers()
        )

    def lines(
        self, at: "Dict[int, str]", box: "Dict[str, Tuple[int, int]]", prefetches: "List[str]"
    ) -> "List[StageLines]":
        """Return the C lines of all stages (passes over the same rows)."""
        *before, last = self.writers
        row_before = self.row_before() if self.late() else None
        last.late = row_before is not None
        cuts, stages = [*self.shares(len(prefetches), last.late), len(prefetches)], []
        for n, writer in enumerate(before if row_before else self.writers):
            own = prefetches[cuts[n]:cuts[n + 1]]
            stages.append(writer.lines(at, box, 0, own, row_before if row_before and writer is before[-1] else None))
        return stages + ([row_before] if row_before else [])

    def row_before(self) -> StageLines:
        """Return the C lines of the last stage for the previous row."""
        last = self.writers[-1]
        last.late, last.at, last.box = True, {}, {}
        last.coordinates("before")
        return last.lines(last.at, last.box, 0, [])

    def of_row_before(self, step: StepCode) -> "List[Statement]":
        """Return the statements of a step for the previous row, executed only if there is a previous row."""
        blocks = self.writers[0].blocks
        assert blocks
        return [If(f"block > {blocks.first}", [*step.text])]

    def needed(self) -> "List[RegisterArray]":
        """Return the arrays of the row's values that the last stage reads."""
        last = self.nest.stages[-1].inputs
        sources = {read.source for read, _ in operands_of(last, last.entry)}
        return [value for i, value in self.values.items() if i in sources]

    def shares(self, count: int, late: bool) -> "List[int]":
        """Divide `count` prefetch statements among the stages, and return the bounds: stage k executes the statements
        bounds[k] to bounds[k + 1] - 1.

        If there are later stages, the first stage prefetches nothing, because it waits for memory itself. A later stage
        that writes no rows takes as many prefetches as its computation hides. The stages that write rows keep memory
        busy, so they share only the remaining prefetches. late: true if the last stage runs together with the second to
        last stage of the next row. The last stage then has no prefetches.
        """
        later = self.nest.stages[1:len(self.nest.stages) - late]
        if not later:
            return [0, count, count]
        room = [0 if stage.writes else self.sweep.vec * _cost(stage) // self.context.device.rows_cpu.prefetch_cost
                for stage in later]
        rest = count - sum(room)
        if rest >= 0:
            takers = [n for n, stage in enumerate(later) if stage.writes] or list(range(len(later)))
            for k, n in enumerate(takers):
                room[n] += rest * (k + 1) // len(takers) - rest * k // len(takers)
        return [0, *(count * sum(room[:n]) // max(1, sum(room)) for n in range(len(later) + 1))]

    def grid(self, groups: int) -> Grid:
        """Return the kernel of all stages (passes over the same rows), with its launch."""
        return Grid(self.nest.name, self.sweep, self.index_type, groups, self.writers[0].of_thread)

    def scratch_shapes(self) -> "List[Shape]":
        """Return the shapes of the scratch buffers for the partial totals of the columns."""
        parts = math.prod(size for _, size in self.writers[0].coordinates())
        return [array_shape(self.columns[hero].dtype, (parts, self.column_writer(member, parts).results))
                for member in self.nest.columns for hero in member.heroes]

    def kernels(self, between: "List[Buffer]") -> "List[Kernel]":
        """Return the kernels. between: the scratch buffers for the partial totals of the columns."""
        d, nest, sweep = self.context.target, self.nest, self.sweep
        first = self.writers[0]
        counts = first.coordinates()
        placing, groups = Placing.of(counts, sweep.threads, self.index_type)
        at, box = dict(first.at), dict(first.box)
        of_buffer: "Dict[str, List[str]]" = {}
        for writer in self.writers:
            for pointer, distance in sweep.distances:
                writer.lines(at, box, distance, [])
                of_buffer.update({pointer: writer.prefetched[pointer]} if pointer in writer.prefetched else {})
        prefetches = [line for lines in of_buffer.values() for line in lines]
        stages = self.lines(at, box, prefetches)
        partial: "List[Buffer]" = []
        columns: "List[ColumnTotals]" = []
        seconds, part, parts = [], "0", 1
        for name, size in counts:
            part, parts = f"({part}) * {size} + {name}", parts * size
        for member in nest.columns:
            column_writer = self.column_writer(member, parts)
            for hero in member.heroes:
                of, buffer = self.columns[hero], between[len(columns)]
                column_writer.partial.append(buffer)
                columns.append(of.lines(part, {name: (0, size - 1) for name, size in counts}, buffer))
            partial += column_writer.partial
            seconds.append(column_writer.parts_kernel())
        seen = list(dict.fromkeys(access for writer in self.writers for access in writer.seen))
        assert first.blocks
        record = RowsCpuRecord(
            placing,
            first.blocks,
            sweep.rows,
            sweep.vec,
            list(self.values.values()),
            self.needed() if self.writers[-1].late else None,
            list(self.kept.values()),
            columns,
            first.loops([self.digits.minor]) if columns else [],
            stages,
            reduction_cpu._halves(LANES),
        )
        steps = [stage.steps.step for stage in stages]
        code = StepCode([], [line for step in steps for line in (*step.before, *step.text, *step.after)], [],
                        repeated="for each step of a row, stage by stage")
        text = Text("kernels/rows_cpu", record, attribute=d.launch_bounds(sweep.threads))
        return [kernel_of_stages(self.context, nest, self.grid(groups), text, Report(seen, code), partial), *seconds]


# ---- plans of code (forms) and maps ----

class StageFormCollector(reduction_cpu.FormCollector, RowsCpuStageWriter):
    """A writer of one stage (a pass over a row) that only collects the plans (forms) of its code."""

    def row_step(self, row: int, box: "Dict[str, Tuple[int, int]]") -> StepCode:
        self.forms.append(self.row_form(row, box))
        return reduction_cpu.NOTHING


class ColumnsFormCollector(_Columns):
    """A writer of a reduction over the rows that only collects the plans (forms) of its code."""

    def store_step(self, position: str, box: "Dict[str, Tuple[int, int]]", vec: int, slot: str, buffer: Buffer,
                   by_lane: bool = False) -> StepCode:
        assert isinstance(self.whole, RowsFormCollector)
        box = {**box, "vec": (0, vec - 1), "lane": (0, LANES - 1)}
        self.whole.forms.append(self.form(position, box, vec, by_lane))
        return reduction_cpu.NOTHING


class RowsFormCollector(RowsCpuWriter):
    """A writer of all stages (passes over the same rows) that only collects what the kernels need, and writes no
    statements.

    forms: the plans of the kernels' code.
    maps: further maps that become C text.
    grids: the kernels with their launches.
    """

    of_columns = ColumnsFormCollector

    def __init__(self, context: Context, nest: Rows, digits: Digits, sweep: RowSweepSchedule, index_type: str) -> None:
        self.stages: "List[StageFormCollector]" = []
        super().__init__(context, nest, digits, sweep, index_type)
        self.forms: "List[Form]" = []
        self.maps: "List[str]" = []
        self.grids: "List[Grid]" = []

    def stage_writer(self, stage: Stage, number: int) -> StageFormCollector:
        self.stages.append(StageFormCollector(self, stage, number))
        return self.stages[-1]

    def column_writer(self, nest: Reduction, parts: int = 1) -> reduction_cpu.FormCollector:
        return reduction_cpu.FormCollector(self.context, nest, *_by_columns(nest, parts), self.index_type)

    def collect(self) -> "RowsFormCollector":
        first = self.writers[0]
        counts, part, parts = first.coordinates(), "0", 1
        place, groups = placed_at(counts, self.sweep.threads)
        self.maps.append(place)
        at, box = dict(first.at), dict(first.box)
        for writer in self.writers:
            writer.lines(at, box, 0, [])
        if self.late():
            self.row_before()
        for name, size in counts:
            part, parts = f"({part}) * {size} + {name}", parts * size
        writers = []
        for member in self.nest.columns:
            column_writer = self.column_writer(member, parts)
            for hero in member.heroes:
                column_writer.partial.append(Buffer(Role.SCRATCH, 0, array_shape(self.columns[hero].dtype, (1,)), "x"))
                self.columns[hero].lines(part, {name: (0, size - 1) for name, size in counts},
                                         column_writer.partial[-1])
            column_writer.parts_kernel()
            writers.append(column_writer)
        self.grids = [self.grid(groups), *(grid for of in writers for grid in of.grids)]
        for of in [*self.stages, *writers]:
            self.forms += of.forms
            self.maps += of.maps
        return self

    def beyond_registers(self) -> bool:
        """Return true if the last stage has a load or a store that is not a whole register."""
        last = self.stages[-1]
        last.late, last.at, last.box = True, {}, {}
        last.coordinates("before")
        last.lines(last.at, last.box, 0, [])
        return any(form.beyond_registers() for form in last.forms)
