"""The rows hero (kernel emitter) on GPUs: one kernel for several passes ("stages") over the same rows
(gen/plan/rows.py), such as the passes of a softmax. The threads of one block hold a row in registers.

`fold` threads share a row, as in the reduction hero (gen/heroes/reduction_gpu.py), whose code is used here; several
short rows share a block. A thread holds its elements, and values computed from them, in registers if several stages
need them. The loops over a thread's steps are unrolled, because registers cannot be indexed at run time. All threads of
a row receive the totals through shared memory, and each thread computes the values that depend on them.

If a row does not fit into registers, each stage becomes a kernel of its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Callable, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from gen import algebra
from gen.emit.body import Body
from gen.emit.form import Form, Given
from gen.statements import Assign, Statement
from gen.emit.values import Value
from gen.heroes import reduction_gpu
from gen.heroes.hero import Choice, Context, Refused
from gen.heroes.kernel import Grid, Kernel, Report, StepCode, Text
from gen.heroes.reduction import Digits
from gen.heroes.reduction_gpu import Accumulator, BlockSchedule, Rest, ThreadSteps, StepUnit
from gen.heroes.rows import (RegisterArray, RowsHero, digits_of, kernel_of_stages, later_values, totals, view,
                             without_excess)
from gen.hlo import Instruction
from gen.plan import buffers
from gen.plan.digits import IterationSpace
from gen.plan.partition import Partition, Read, Root, compose
from gen.plan.rows import Rows, Stage
from gen.schedule import Schedule
from gen.targets import bits


@dataclass(frozen=True)
class RowBlockSchedule(BlockSchedule):
    """The schedule of a block.

    steps: number of steps of a thread.
    held: number of registers in which a thread holds its elements of a row.
    """

    steps: int = 1
    held: int = 0

    def text(self) -> str:
        return (f"threads {self.threads}: {self.rows} rows x {self.fold} to fold, vec {self.vec}, {self.steps} steps, "
                f"{self.held} registers hold a row")


class Candidate(NamedTuple):
    """A schedule of the kernel.

    digits: the digits of the rows.
    block: the schedule of a block.
    held: the parameters whose elements threads hold in registers. Each has the map from the row's index to the
        parameter's index.
    """

    digits: Digits
    block: RowBlockSchedule
    held: Dict[Instruction, str]


class RowsGpuHero(RowsHero[Candidate]):
    """The emitter (hero) that writes all stages (passes over the same rows) as one kernel."""

    def takes(self, nest: Rows, context: Context) -> bool:
        return not context.device.cpu and super().takes(nest, context)

    def schedules(self, nest: Rows, context: Context) -> "Iterable[Candidate]":
        digits, space = digits_of(nest), nest.iteration_space()
        if context.threads:
            return []
        if not digits or not space:
            raise Refused("some access has no stride in the rows")
        held = _held(nest)
        return [Candidate(digits, _block(context, nest, digits, space, held), held)]

    def forms(self, nest: Rows, schedule: Candidate, context: Context) -> "Iterable[Form]":
        return [form for writer in RowsGpuWriter(context, nest, *schedule, "").writers for form in writer.stage_forms()]

    def maps(self, nest: Rows, schedule: Candidate, context: Context) -> "Iterable[str]":
        writer = RowsGpuWriter(context, nest, *schedule, "")
        return [writer.row(), *(index for stage in writer.writers for index in stage.block_maps())]

    def grids(self, choice: Choice[Rows, Candidate], context: Context) -> "List[Grid]":
        writer = RowsGpuWriter(context, choice.nest, *choice.schedule, choice.index)
        (first, *_), block = writer.writers, choice.schedule.block
        return [Grid(choice.nest.name, block, choice.index, first.placement().blocks, first.stage_forms()[0].thread)]

    def build(self, choice: Choice[Rows, Candidate], context: Context) -> "List[Kernel]":
        return [RowsGpuWriter(context, choice.nest, *choice.schedule, choice.index).kernel(choice.grids[0])]

    def describe(self, choice: Choice[Rows, Candidate], grid: Grid, context: Context) -> "List[str]":
        writer = RowsGpuWriter(context, choice.nest, *choice.schedule, choice.index)
        return [*super().describe(choice, grid, context), f"position: {writer.writers[0].placement().map}",
                f"shared: {writer.shared_bytes} bytes of a block"]


HERO = RowsGpuHero()


@dataclass(frozen=True)
class StageRead:
    """A read of a parameter in a stage. in_body: true if the read happens for each element, without a condition."""

    stage: Stage
    index: str
    in_body: bool


def _held(nest: Rows) -> "Dict[Instruction, str]":
    """Return the parameters that several stages read with the same index, each with the map to this index. Threads hold
    these elements in registers.
    """
    readers: Dict[Instruction, List[StageRead]] = {}
    for stage in nest.stages:
        for function in stage.inputs.functions:
            for read, region in buffers.reads_of(stage.inputs, function):
                if read.source.opcode == "parameter" and read.source.shape.kind == "array":
                    in_body = region is stage.inputs.entry.body
                    readers.setdefault(read.source, []).append(StageRead(stage, read.map, in_body))
    return {i: reads[0].index for i, reads in readers.items()
            if len({read.stage for read in reads}) > 1
            and all(read.in_body and read.index == reads[0].index for read in reads)
            and compose(nest.first_of, reads[0].index) != reads[0].index}


def _words(i: Instruction) -> int:
    """Return the number of 32-bit registers that a value needs."""
    return max(1, bits(i.shape.dtype) // 32)


def _block(context: Context, nest: Rows, digits: Digits, space: IterationSpace,
           held: "Dict[Instruction, str]") -> RowBlockSchedule:
    device, minor, sizes = context.device, digits.minor, digits.sizes
    accesses = space.accesses[1:]
    if not digits.kept():
        raise Refused("there is a single row")
    if digits.out[minor] or any(a.strides is None or a.strides[minor] not in (0, 1) for a in accesses):
        raise Refused("rows are not contiguous in every access")
    elements, rows = math.prod(sizes[k] for k in digits.reduced()), math.prod(sizes[k] for k in digits.kept())
    widths = [a.width for a in accesses if a.strides and a.strides[minor] == 1] or [4]
    vec = device.line // min(widths)
    while vec > 1 and (vec * max(widths) > device.step_bytes or sizes[minor] % vec):
        vec //= 2
    in_registers = [*held, *(i for stage in nest.stages for i in stage.kept)]
    units, words = elements // vec, vec * sum(_words(i) for i in in_registers)
    # if a row does not fit into the usual number of registers of a thread, twice as many registers are tried
    for registers in (device.rows_gpu.registers, 2 * device.rows_gpu.registers):
        steps, fold = max(1, registers // max(vec, words)), 2
        while fold < min(units, device.rows_gpu.threads) and (fold * vec * min(widths) < device.coalesced
                                                              or fold * steps < units):
            fold *= 2
        if fold * steps >= units:
            break
    together = max(1, min(rows, device.reduction_gpu.threads // fold))
    values = sum(len(stage.heroes) for stage in nest.stages)
    if fold * steps < units:
        raise Refused(f"a row of {elements} is longer than a block's registers hold")
    if units < 2:
        raise Refused(f"a row of {elements} is a single step")
    shared = values * 8 * (fold * together + together)
    if shared > context.target.shared_bytes:
        raise Refused(f"{shared} bytes of shared memory are more than {context.target.shared_bytes}")
    long = elements * max(widths) > device.reduction_gpu.threads * device.reduction_gpu.loading_bytes
    if rows < device.units // device.rows_gpu.few_rows and long:
        # if each stage is a kernel of its own, reductions can be cut into parts, which use more multiprocessors
        raise Refused(f"{rows} long row{'s' * (rows > 1)}: too few for all processors")
    threads, count = -(-together * fold // device.warp) * device.warp, -(-units // fold)
    return RowBlockSchedule(threads, vec=vec, rows=together, fold=fold, unroll=count, per_part=count, steps=count,
                            held=count * words)


# ---- records for templates/kernels/rows_gpu.j2 ----

@dataclass(frozen=True)
class StageLines:
    """A stage, as C text.

    steps, rest: the steps of a thread.
    combine: combine(slot) returns the C lines of slot = f(slot, other) for all accumulators.
    row_values: the lines that follow the totals and that all threads of a row execute.
    row_writes: the lines that only the first thread of a row executes.
    """

    accumulators: List[Accumulator]
    steps: Optional[ThreadSteps]
    rest: Optional[Rest]
    combine: "Callable[[str], List[Statement]]"
    row_values: Sequence[Statement]
    row_writes: Sequence[Statement]


@dataclass(frozen=True)
class RowsGpuRecord(reduction_gpu.FoldRecord):
    """The record that templates/kernels/rows_gpu.j2 prints.

    row: C text of the index, in the block, of a thread's row.
    rows: number of rows for which the block has threads. In the last block, there may be fewer rows.
    """

    row: str
    rows: int
    values: List[RegisterArray]
    held: List[RegisterArray]
    stages: List[StageLines]


class RowsGpuStageWriter(reduction_gpu.BlockWriter):
    """The writer of one stage (a pass over a row).

    number: number of the stage's first accumulator among the accumulators of all stages.
    slot: C text of the index, in the arrays of registers, of the current element.
    """

    def __init__(self, whole: "RowsGpuWriter", stage: Stage, number: int) -> None:
        super().__init__(whole.context, view(whole.nest, stage), whole.digits, whole.block, whole.index_type)
        self.whole, self.stage, self.number, self.slot = whole, stage, number, ""
        self.held_first = [i for i in whole.held if whole.first_read[i] is stage]

    def name(self, h: int, k: int, of: str = "a") -> str:
        return f"{of}{self.number + h}"

    def form(self, thread: str, box: "Dict[str, Tuple[int, int]]", sweep: Schedule, partition: Partition,
             given: "Optional[Mapping[Instruction, Given]]" = None) -> Form:
        """Return the plan of a piece of code. If it is code for the elements of a row, it reads the row's values and
        the values that earlier stages hold in registers.
        """
        if partition is self.nest.inputs:
            given = self.whole.given(self, self.slot)
        return super().form(thread, box, sweep, partition, given)

    def values(self, body: Body) -> List[Value]:
        values = super().values(body)
        inputs = self.nest.inputs
        for i in self.held_first:
            value = body.read(Read(i, self.whole.held[i]), body.function.body)
            body.text.add(Assign(f"{self.whole.arrays[i].name}[{self.slot}]", value.text))
        for i, root in zip(self.stage.kept, inputs.roots[len(inputs.roots) - len(self.stage.kept):]):
            value = without_excess(self.whole.context, body, body.read(inputs.root_read(root), body.function.body))
            body.text.add(Assign(f"{self.whole.arrays[i].name}[{self.slot}]", value.text))
        return values

    @property
    def sides(self) -> List[Root]:
        return self.stage.writes

    def step_body(self, unit: StepUnit) -> Body:
        vec = self.sweep.vec
        first = f"step * {vec}" if "step" in unit.more else str(self.whole.block.steps * vec - vec)
        self.slot = f"{first} + vec" if vec > 1 else first
        return super().step_body(unit)

    def stage_forms(self) -> "List[Form]":
        """Return the plans of the stage's code."""
        self.placement()
        return [*(self.step_form(unit) for unit in self.units() if unit), self.row_form()]

    def row_form(self) -> Form:
        """Return the plan of the code that computes, from a row's totals, the values and the results that depend on the
        row alone.
        """
        position = self.map(self.out_position(self.kept_at()), self.bounds, ())
        row = compose(position, algebra.call("shape", "unmap", self.nest.shape.text))
        return super().form(row, self.bounds, Schedule(), self.nest.epilogue, self.whole.totals(self))

    def lines(self) -> StageLines:
        steps, rest, _ = self.steps()
        partition, body = self.nest.epilogue, self.body_for(self.row_form())
        body.region(partition.entry.body)
        count = len(self.stage.row_writes)
        for i, root in zip(self.stage.row_values, partition.roots[count:]):
            value = without_excess(self.whole.context, body, body.read(partition.root_read(root), partition.entry.body))
            body.text.add(Assign(self.whole.values[i].name, value.text))
        values = body.text.take()
        for root in partition.roots[:count]:
            body.store(root)
        self.seen += [a for a in body.touched if a not in self.seen]
        accumulators = [self.accumulator(h, k, dtype) for h, k, dtype in self.accumulators]
        return StageLines(accumulators, steps, rest, self.combine, values, body.text.lines)


class RowsGpuWriter:
    """The writer of the kernel.

    arrays: the registers in which a thread holds the elements of a parameter, or of a value that several stages need.
    values: the registers of the values that depend only on the row.
    """

    def __init__(self, context: Context, nest: Rows, digits: Digits, block: RowBlockSchedule, held: "Dict[Instruction, str]",
                 index_type: str) -> None:
        self.context, self.nest, self.digits, self.block, self.held = context, nest, digits, block, held
        self.index_type = index_type
        d, count = context.target, block.steps * block.vec
        self.values = {i: RegisterArray(d.register(i.shape.dtype), f"of_row{n}", 1)
                       for n, i in enumerate(i for stage in nest.stages for i in stage.row_values)}
        self.arrays = {i: RegisterArray(d.register("u16" if i.shape.dtype == "f16" else i.shape.dtype), f"held{n}", count)
                       for n, i in enumerate(held)}
        self.arrays.update({i: RegisterArray(d.register(i.shape.dtype), f"kept{n}", count)
                            for n, i in enumerate(i for stage in nest.stages for i in stage.kept)})
        reads = {stage: {read.source for read, _ in buffers.reads_of(stage.inputs, stage.inputs.entry)}
                 for stage in nest.stages}
        self.first_read = {i: next(stage for stage in nest.stages if i in reads[stage]) for i in held}
        self.writers: "List[RowsGpuStageWriter]" = []
        for stage in nest.stages:
            number = sum(len(before.heroes) for before in nest.stages[:len(self.writers)])
            self.writers.append(RowsGpuStageWriter(self, stage, number))

    def given(self, writer: RowsGpuStageWriter, slot: str) -> "Dict[Instruction, Given]":
        """Return the values that a stage reads from registers instead of memory."""
        of_partition = writer.stage.inputs.given
        given: "Dict[Instruction, Given]" = {i: later_values(self.context, i, array.name)
                                             for i, array in self.values.items() if i in of_partition}
        given.update({i: later_values(self.context, i, f"{array.name}[{slot}]")
                      for i, array in self.arrays.items() if i in of_partition})
        given.update({i: [Value(f"{self.arrays[i].name}[{slot}]", i.shape.dtype, 1, i.shape.dtype == "f16")]
                      for i in self.held if self.first_read[i] is not writer.stage})
        return given

    def totals(self, upto: RowsGpuStageWriter) -> "Dict[Instruction, Given]":
        return totals(self.writers[:self.writers.index(upto) + 1], "t{}")

    def row(self) -> str:
        """Return the map from a thread to the number of its row in the block."""
        block = self.block
        return algebra.simplify(f"(th_x) -> (th_x floordiv {block.fold}), domain: th_x in [0, {block.threads - 1}]")

    @property
    def shared_bytes(self) -> int:
        """Return the bytes of shared memory: the values that threads exchange, and the totals."""
        sizes = sum(self.context.target.register_bits(dtype) // 8 for writer in self.writers
                    for _, _, dtype in writer.accumulators)
        return sizes * (self.writers[0].cells(self.block) + self.block.threads // self.block.fold)

    def kernel(self, grid: Grid) -> Kernel:
        context, nest, block = self.context, self.nest, self.block
        d = context.target
        folded = [writer.folded(grid) for writer in self.writers]
        stages = [writer.lines() for writer in self.writers]
        record = RowsGpuRecord(**folded[0], row=algebra.c_text(self.row(), self.index_type).results[0],
                               rows=block.threads // block.fold, values=list(self.values.values()),
                               held=list(self.arrays.values()), stages=stages)
        seen = list(dict.fromkeys(access for writer in self.writers for access in writer.seen))
        steps = [part.step for stage in stages for part in [stage.steps or stage.rest] if part]
        code = StepCode([], [line for step in steps for line in (*step.before, *step.text, *step.after)], [],
                        repeated="for each step of a thread, stage by stage")
        text = Text("kernels/rows_gpu", record, attribute=d.launch_bounds(block.threads, 1))
        return kernel_of_stages(context, nest, grid, text, Report(seen, code))
