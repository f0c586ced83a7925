"""The reduction hero (kernel emitter) on CPUs: one pass over the input in memory order, with many partial accumulators.

The position in the input is a mixed-radix number, whose digits are either kept or reduced (gen/plan/digits.py). The
kernels are templates/kernels/reduction_cpu_*.j2:
- rows: the minor digit is reduced. A work-item computes 16 adjacent results at a time. It folds each of their
  contiguous rows into a few vector accumulators, then the vectors of the 16 rows into one vector of results. Up to four
  such groups of rows, far apart in memory, are computed at the same time.
- short_rows: as rows, for rows of 2, 4 or 8 elements. The rows of 16 results are 2, 4 or 8 vectors.
- columns: the minor digit is kept. A work-item computes a block of adjacent columns, with a vector accumulator for each
  16 columns.
- flat: few results. The minor reduced digit is read as one stream of vectors. If the minor digit is kept (a few
  columns), the stream contains it too, and each lane always belongs to the same column. At the end, lanes are folded in
  pairs.
- parts: the second kernel. If there are too few results for all threads, the reduced digit is cut into parts. Partial
  results go to a scratch buffer [part][result], and this kernel combines them in the order of the parts.

Every order is fixed, so the same input gives the same bits. gen/heroes/reduction.py has what CPUs and GPUs share, such
as the handling of NaNs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Tuple, Union

from gen.emit.body import Body
from gen.emit.form import Form
from gen.statements import Assign, Call, Statement, weight
from gen.emit.values import Value
from gen.heroes import reduction
from gen.heroes.hero import Choice, Context, Hero, Refused
from gen.heroes.kernel import Grid, Kernel, Placing, StepCode, Text, piece_end, share
from gen.heroes.reduction import Digits, digits_of, plain
from gen.hlo import Shape, dtypes
from gen.plan.buffer import Buffer, Role
from gen.plan.buffers import buffers_of
from gen.plan.digits import IterationSpace, place as placed_at
from gen.plan.partition import Partition
from gen.plan.plan import Reduction
from gen.schedule import LANES, UNROLLED_STATEMENTS, Device, Schedule
from gen.targets import FLOATS


@dataclass(frozen=True)
class SweepSchedule(Schedule):
    """The schedule of a reduction.

    kind: rows (for short rows, too), columns, flat, or parts (the second kernel).
    rows: number of results that a work-item computes at the same time.
    parts: number of parts into which a reduced digit is cut.
    per_part: number of steps of that digit in a part.
    streams: number of equal pieces into which a part (or the list of groups of rows) is cut. The pieces are read at the
        same time, in turns.
    chunks: number of groups of rows that a work-item computes one after another.
    blocked: true if a work-item has a block of the columns, false if it has all columns.
    burst: number of cache lines that are prefetched together.
    rows_together: in a block of columns, the number of rows that are folded into one group of accumulators before the
        next group.
    simple: true if the reduction is one sum of floats. Its steps have so few instructions that they need no prefetches
        on processors whose hardware prefetchers are enough for a copy.
    """

    lanes: int = LANES
    kind: str = "flat"
    rows: int = 1
    parts: int = 1
    per_part: int = 1
    blocked: bool = False
    burst: int = 0
    rows_together: int = 1
    simple: bool = False

    def prefetches(self) -> "List[Tuple[str, int]]":
        return [("SUM_" * self.simple + level, distance) for level, distance in super().prefetches()]

    @property
    def registers(self) -> int:
        """Return the number of vector accumulators."""
        return self.vec * self.streams

    @property
    def span(self) -> int:
        """Return the number of elements of one step, in all streams together."""
        return self.registers * self.lanes

    def text(self) -> str:
        words = [self.kind, super().text(), f"{self.registers} accumulators of {self.lanes}"]
        words += [f"{self.streams} streams"] if self.streams > 1 else []
        words += [f"{self.rows} rows folded together, {self.chunks} times"] if self.rows > 1 else []
        words += [f"{self.rows_together} rows together"] if self.rows_together > 1 else []
        words += [f"{self.parts} parts, combined by a second kernel"] if self.parts > 1 else []
        return ", ".join(words + ["pairs interleaved"] * self.interleaved_pairs)


Candidate = Tuple[Digits, SweepSchedule]


class ReductionCpuHero(Hero[Reduction, Candidate]):
    """One pass over the input, and a second kernel that combines the parts if the input is cut into parts."""

    name, sides, leads = "reduction", True, True
    nest_class = Reduction

    def takes(self, nest: Reduction, context: Context) -> bool:
        if not context.device.cpu or not plain(nest):
            return False
        if not context.device.wide:
            raise Refused("the device has no vectors")
        return True

    def schedules(self, nest: Reduction, context: Context) -> "Iterable[Candidate]":
        digits, accesses = digits_of(nest)
        return [(digits, _sweep(context.device, nest, digits, accesses))] if digits.reduced() else []

    def forms(self, nest: Reduction, schedule: Candidate, context: Context) -> "Iterable[Form]":
        return collected_forms(FormCollector(context, nest, *schedule, "")).forms

    def maps(self, nest: Reduction, schedule: Candidate, context: Context) -> "Iterable[str]":
        return collected_forms(FormCollector(context, nest, *schedule, "")).maps

    def scratch_shapes(self, nest: Reduction, schedule: Candidate, context: Context) -> "List[Shape]":
        (digits, sweep), parts = schedule, schedule[1].parts
        return ReductionCpuWriter(context, nest, digits, sweep, "").parts(parts) if parts > 1 else []

    def grids(self, choice: Choice[Reduction, Candidate], context: Context) -> "List[Grid]":
        return collected_forms(FormCollector(context, choice.nest, *choice.schedule, choice.index)).grids

    def build(self, choice: Choice[Reduction, Candidate], context: Context) -> "List[Kernel]":
        return ReductionCpuWriter(context, choice.nest, *choice.schedule, choice.index).kernels(choice.scratch)


HERO = ReductionCpuHero()


def _sweep(device: Device, nest: Reduction, digits: Digits, accesses: IterationSpace) -> SweepSchedule:
    numbers = device.reduction_cpu
    sizes, out, minor = digits.sizes, digits.out, digits.minor
    reads = [a for a in accesses.accesses if not a.write and a.strides]
    width = max([dtypes.storage_bytes(hero.operands[0].shape.dtype) for hero in nest.heroes] + [a.width for a in reads])
    threads = device.group
    results = math.prod(sizes[k] for k in digits.kept())
    paired = {a.width for a in accesses.accesses if a.name != "out"} == {2} and all(
        h.operands[k].shape.dtype == "bf16" for h in nest.heroes for k in range(len(h.operands) // 2))

    def parts(items: int, steps: int, bytes_a_step: int, least: int, unit_items: int = device.unit_items,
              together: int = 1) -> Tuple[int, int]:
        """Return (number of parts, steps of a part). There are enough parts to keep all threads busy, but no part is
        too small to be worth a work-item. The steps of a part are a multiple of `together`.
        """
        wanted = max(1, min(-(-unit_items * device.units // items), steps * bytes_a_step // device.part_bytes,
                            steps // least))
        per = -(-steps // (wanted * together)) * together
        return -(-steps // per), min(per, steps)

    if not out[minor]:
        size = sizes[minor]
        row = next((k for k in digits.kept() if out[k] == 1), None)
        if row is not None and sizes[row] >= LANES:
            many = sum(len(hero.operands) // 2 for hero in nest.heroes) * max(1, width // 4)
            many += many > 1  # one more accumulator for the flags of NaNs
            if size <= numbers.outer_row * many and _is_outer(accesses, minor, row):
                raise Refused(f"no array has rows of {size}: each operand is the same in a row, or in all rows")
            if size < numbers.index_row and any(len(hero.operands) > 2 for hero in nest.heroes) and width > 1:
                raise Refused(f"vectors across rows combine the values and indices of rows of {size} faster")
            blocks, outer = sizes[row] // LANES, results // sizes[row]
            streams = numbers.streams if size * width > numbers.short_row else numbers.streams // 2
            streams = (
                streams
                if size >= LANES
                and blocks * outer >= numbers.stream_blocks * numbers.streams * device.units
                and blocks >= numbers.streams
                else 1
            )
            if size >= LANES:
                paired = paired and size >= 2 * LANES
                vec = 2 if paired else min(numbers.row_vectors, size // LANES // 2 * 2 or 1)
                while vec > (2 if paired else 1) and vec * streams * many > numbers.column_registers:
                    vec //= 2
            elif size in (2, 4, 8) and digits.weights[row] == size:
                vec, paired = size, False
            else:
                raise Refused(f"a row of {size} is shorter than {LANES}, and not 2, 4 or 8")
            data = LANES * width * math.prod(sizes[k] for k in digits.reduced())
            per_stream = blocks // streams
            shares = per_stream * outer // (device.unit_items * device.units)
            chunks = max(1, min(per_stream, device.part_bytes // data, shares))
            if data * blocks * outer < numbers.flat_parts * device.part_bytes or streams > 1 or size < LANES:
                items = -(-per_stream // chunks) * outer
                return SweepSchedule(threads if items >= device.group_items * threads else 1, chunks, vec,
                                     interleaved_pairs=paired, streams=streams, l2_prefetch=numbers.prefetch,
                                     burst=numbers.prefetch_burst, kind="rows", rows=LANES, simple=_is_sum(nest))
        lane = size
        below = 1
    elif sizes[minor] >= LANES and not _periodic(device, digits):
        size = sizes[minor]
        if out[minor] != 1:
            raise Refused("columns are not contiguous in the result")
        cut = max(digits.reduced(), key=lambda k: sizes[k])
        inner = math.prod(sizes[k] for k in digits.reduced()) // sizes[cut]

        def cut_in(registers: int) -> Tuple[int, int, int]:
            """Return three numbers for blocks of `registers` accumulators: the number of work-items if rows are not cut
            into parts, the number of parts, and the number of steps of a part.
            """
            items = -(-size // (registers * LANES)) * results // size
            together = numbers.column_rows if registers > numbers.column_registers and inner == 1 else 1
            return items, *parts(items, sizes[cut], inner * registers * LANES * width, numbers.part_rows,
                                 numbers.column_items, together)

        registers = size // LANES
        if size > LANES * numbers.column_registers:
            widths = [dtypes.storage_bytes(hero.operands[k].shape.dtype)
                      for hero in nest.heroes for k in range(len(hero.operands) // 2)]
            widths += [4] * (len(widths) > 1)  # 4 bytes for the flags of NaNs
            most = max(numbers.column_registers, numbers.column_bytes // (LANES * sum(widths)))
            while most * LANES * width > device.page:
                items, count, _ = cut_in(_column_block(device, most, size))
                if items * count >= numbers.column_items * device.units:
                    break
                most //= 2
            registers = _column_block(device, most, size)
        items, count, per = cut_in(registers)
        in_memory = registers > numbers.column_registers
        together = numbers.column_rows if in_memory and sizes[digits.reduced()[-1]] >= 2 * numbers.column_rows else 1
        return SweepSchedule(
            threads if items * count >= device.group_items * threads else 1,
            vec=registers,
            kind="columns",
            parts=count,
            per_part=per,
            blocked=size > LANES * numbers.column_registers,
            burst=numbers.prefetch_burst,
            l2_prefetch=digits.weights[digits.reduced()[-1] if together > 1 else cut]
            * width
            * max(together, numbers.column_prefetch // (registers * LANES * width)),
            rows_together=together,
        )
    if out[minor]:
        below = sizes[minor]
        if minor == 0 or out[minor] != 1 or out[minor - 1]:
            raise Refused(f"rows of {below} columns do not follow each other")
        lane = sizes[minor] * sizes[minor - 1]
    period = below // math.gcd(below, LANES)
    paired = paired and below == 1
    streams = numbers.streams if period == 1 and lane >= numbers.stream_vectors * LANES else 1
    vec = 2 if paired else period if streams > 1 else period * max(1, numbers.row_vectors // period)
    steps = lane // (vec * LANES * streams)
    if steps == 0:
        raise Refused(f"{lane} contiguous elements are fewer than {vec * LANES * streams}")
    inner = math.prod(sizes[k] for k in digits.reduced()) * below // lane
    count, per = parts(results // below, steps, vec * LANES * streams * width * inner, numbers.part_steps)
    # all parts have the same number of steps; the remaining steps are done element by element after the last part
    if streams > 1 and count * per != steps:
        per = steps // count
    return SweepSchedule(vec=vec, interleaved_pairs=paired, streams=streams, l2_prefetch=numbers.prefetch,
                         burst=numbers.prefetch_burst, parts=count, per_part=per, simple=_is_sum(nest))


def _is_outer(accesses: IterationSpace, along: int, row: int) -> bool:
    """Return true if no operand depends on both the digit `along` and the digit `row`, and if elements for neighbouring
    rows are contiguous.
    """
    reads = [a.strides for a in accesses.accesses if not a.write]
    return all(of is not None and (of[row] == 0 or of[row] == 1 and of[along] == 0) for of in reads)


def _is_sum(nest: Reduction) -> bool:
    """Return true if the nest is one sum of floats."""
    return len(nest.heroes) == 1 and are_sums(nest)


def are_sums(nest: Reduction) -> bool:
    """Return true if all reduce ops of the nest are sums of floats."""
    roots = [hero.attributes["to_apply"].root for hero in nest.heroes]
    return all(root.opcode == "add" and root.shape.dtype in FLOATS
               and all(o.opcode == "parameter" for o in root.operands) for root in roots)


def _column_block(device: Device, most: int, size: int) -> int:
    """Return the number of accumulators in a block of columns, at most `most`, for which the fewest blocks cover all
    columns.
    """
    def covered(count: int) -> int:
        return -(-size // (count * LANES))
    least = device.reduction_cpu.column_registers // 2
    return min(range(least, min(most, size // LANES) + 1), key=lambda n: (covered(n), n))


def _periodic(device: Device, digits: Digits) -> bool:
    """Return true if vectors that cover several rows are faster. This is so if there are fewer than 16 columns, or if
    there are many rows and a few vectors cover a whole number of rows.
    """
    numbers = device.reduction_cpu
    minor = digits.minor
    below = digits.sizes[minor]
    period = below // math.gcd(below, LANES)
    least = numbers.period_vectors * LANES * max(numbers.row_vectors, period)
    return below < LANES or (minor > 0 and not digits.out[minor - 1] and period <= numbers.column_period
                             and digits.sizes[minor - 1] * below >= least)


# ---- records for the templates ----

@dataclass(frozen=True)
class Accumulator:
    """A result's accumulator, as C text.

    id: the end of its variables' names. It is the number of the op's result, as in a0 and t0. If there are several
        reduce ops, the number of the op precedes it, as in a1_0.
    type: type of a register.
    element: type of a lane.
    start: the initial value of a register.
    even, odd: C functions that return the even and the odd lanes of two registers ("": lanes are not folded in pairs).
    parts: type of the accumulators that the steps of a row change. If it is not `type`, it has the parts of a register.
    """

    id: str
    dtype: str
    type: str
    element: str
    start: str
    even: str = ""
    odd: str = ""
    parts: str = ""

    def whole(self, text: str) -> str:
        """Return the C text of the register whose parts are `text`."""
        return text if self.parts == self.type else f"whole_{self.type}({text})"

    def cut(self, text: str) -> str:
        """Return the C text of the parts of the register `text`."""
        return text if self.parts == self.type else f"parts_of_{self.type}({text})"


@dataclass(frozen=True)
class Flags:
    """Registers whose lanes record that a NaN was found. The register nan_a belongs to the accumulators a0, a1, ..

    type: the type of such a register.
    clear: its value if there was no NaN.
    """

    type: str
    clear: str


@dataclass(frozen=True)
class Reduce:
    """A reduce op. combine(into, a, b, lanes): the C lines of into = f(a, b), for values of `lanes` lanes. A {} in a
    name stands for the id of each accumulator. combine(.., parts=True): into, a and b have type `parts`.
    """

    accumulators: List[Accumulator]
    combine: "Callable[..., List[Statement]]"


@dataclass(frozen=True)
class Digit:
    """A loop over a reduced dimension of the iteration space: its variable, first index and end, as C texts."""

    name: str
    first: str
    last: str


@dataclass(frozen=True)
class Blocks:
    """The groups of adjacent results that a work-item computes: the groups `first` to `last` - 1.

    start: C text of the first result of a group. If it is not "", the last group is moved back so that it ends at the
        last result, and may overlap the group before it. If it is "", groups do not overlap, and the code of an element
        computes the first result itself.
    number: C text of the index of the current group, which differs between streams. "": `start` does not need it.
    """

    first: str
    last: str
    start: str
    number: str


@dataclass(frozen=True)
class RowSteps:
    """The steps along a row, from `first` to `last` - 1.

    prefetches: C lines for each step.
    burst: number of steps whose prefetches are done together (0: each step does its own). Bursts end before
        `burst_end`.
    step: a[..] = f(a[..], element).
    """

    first: str
    last: str
    prefetches: List[str]
    burst: int
    burst_end: str
    step: StepCode


@dataclass(frozen=True)
class Rest:
    """The elements of a row after its last whole step, read as adjacent vectors. The last vector ends where the row
    ends. If the vectors have more lanes than there are elements, the first vector overlaps the last whole step. The
    mask `inside` then excludes the elements that this step has already folded.

    numbers: C text of the index of each lane of register `vec`, counted over the lanes of all these vectors; "" if no
        vector overlaps a step.
    skipped: number of elements that the first vector shares with the last whole step.
    """

    numbers: str
    skipped: int
    step: StepCode


@dataclass(frozen=True)
class ScalarRest:
    """The elements after the last whole step. They are read one by one.

    count: the number of these elements.
    part: number of the part that has such elements, as C text ("": there is only one part).
    """

    count: int
    part: str
    step: StepCode


@dataclass(frozen=True)
class Results:
    """The step that computes results from totals.

    again: code that computes the results again in the order of the elements, if the condition `when` says that a NaN
        was found (None: NaNs do not matter).
    lanes: number of lanes of a register.
    nan: the register of flags.
    """

    step: StepCode
    again: Optional[StepCode]
    lanes: int
    nan: str
    when: str


@dataclass(frozen=True)
class ReductionCpuRecord:
    """The fields that all records of CPU reductions have.

    registers: number of registers of each accumulator.
    flags: the registers that record NaNs; None if NaNs do not matter.
    """

    placing: Placing
    lanes: int
    reduces: List[Reduce]
    flags: Optional[Flags]
    registers: int

    @property
    def accumulators(self) -> List[Accumulator]:
        return [accumulator for reduce in self.reduces for accumulator in reduce.accumulators]


@dataclass(frozen=True)
class RowsRecord(ReductionCpuRecord):
    """The record that templates/kernels/reduction_cpu_rows.j2 prints. Several streams, which are groups of rows far
    apart in memory, are computed at the same time.

    streams: number of streams.
    vec: number of registers of each stream, as C text.
    sums: the value of the constant SUMS: the number of registers of each stream, as C text ("": `vec` is a number).
    first: C text of the index of a stream's first register.
    stream: C text of the stream's index.
    total: C text of the index of a row's total among the totals of all streams.
    halves: the numbers of registers that remain after each folding of pairs of registers.
    """

    blocks: Blocks
    digits: List[Digit]
    streams: int
    vec: str
    sums: str
    first: str
    stream: str
    total: str
    steps: RowSteps
    rest: Optional[Rest]
    halves: List[int]
    results: Results


@dataclass(frozen=True)
class ShortRowsRecord(ReductionCpuRecord):
    """The record that templates/kernels/reduction_cpu_short_rows.j2 prints."""

    blocks: Blocks
    digits: List[Digit]
    step: StepCode
    halves: List[int]
    results: Results


@dataclass(frozen=True)
class ColumnsRecord(ReductionCpuRecord):
    """The record that templates/kernels/reduction_cpu_columns.j2 prints.

    groups: number of groups of `step.vec` accumulators; if there are several, the accumulators are in memory.
    rows: number of rows that are folded into one group before the next group.
    unrolled: true if the loop over these rows is unrolled.
    rest: true if the number of rows may not be a multiple of `rows`.
    blocks: the work-item's blocks of columns; None if all columns are one block.
    edge: the step of an additional register that ends at the last column; None if registers divide the columns.
    """

    groups: int
    rows: int
    unrolled: bool
    rest: bool
    blocks: Optional[Blocks]
    digits: List[Digit]
    prefetches: List[str]
    step: StepCode
    results: Results
    edge: Optional[StepCode]
    edge_results: Optional[Results]


@dataclass(frozen=True)
class FlatRecord(ReductionCpuRecord):
    """The record that templates/kernels/reduction_cpu_flat.j2 prints.

    columns: number of adjacent results.
    column: the C variable that counts these results; "0" if there is only one.
    turn: number of steps in a partial sum; partial sums keep rounding errors small. 0: all steps are one sum.
    first, last: C texts of the index of the first step and of the index after the last step.
    whole: true if the number of steps is a multiple of `turn`.
    """

    digits: List[Digit]
    streams: int
    turn: int
    whole: bool
    first: str
    last: str
    steps: RowSteps
    rest: Optional[ScalarRest]
    columns: int
    column: str
    results: Results


@dataclass(frozen=True)
class PartsRecord(ReductionCpuRecord):
    """The record that templates/kernels/reduction_cpu_parts.j2 prints. step: t[0] = f(t[0], the part's total)."""

    parts: int
    step: StepCode
    results: Results


# ---- the writer of the records ----

class ReductionCpuWriter(reduction.ReductionWriter):
    """The writer of the kernels of one reduction."""

    sweep: SweepSchedule

    def __init__(self, context: Context, nest: Reduction, digits: Digits, sweep: SweepSchedule,
                 index_type: str) -> None:
        super().__init__(context, nest, digits, sweep, index_type)
        self.device = context.device
        self.at: Dict[int, str] = {}  # for each digit of the position in the input, its value as a map expression
        self.box: Dict[str, Tuple[int, int]] = {}  # for each variable in the expressions of `at`, its bounds
        self.blocks: Optional[Blocks] = None

    # ---- positions ----

    def coordinates(self, block: str = "block") -> "List[Tuple[str, int]]":
        """Return the name and size of each coordinate of a work-item. The coordinates are the digits of the work-item's
        number. block: the variable that counts a work-item's blocks.
        """
        digits, sweep = self.digits, self.sweep
        counts: List[Tuple[str, int]] = []
        special = self.special()
        for k in digits.kept():
            if k == special:
                continue
            if digits.sizes[k] > 1:
                counts.append((f"g{k}", digits.sizes[k]))
            self.at[k], self.box[f"g{k}"] = f"g{k}", (0, digits.sizes[k] - 1)
        if special is not None:
            size = digits.sizes[special]
            if sweep.kind == "rows" or sweep.blocked:
                counts.append(("chunk", self.in_blocks(special, size,
                                                       sweep.rows if sweep.kind == "rows" else sweep.step, block)))
            else:
                self.at[special] = "0"
        if sweep.parts > 1:
            counts.append(("part", sweep.parts))
            self.box["part"] = (0, sweep.parts - 1)
        return counts

    def in_blocks(self, digit: int, size: int, width: int, block: str) -> int:
        """Divide a dimension of `size` elements into blocks of `width`. Return the number of work-items that share the
        blocks.
        """
        sweep, streams = self.sweep, self.sweep.streams
        whole = max(1, size // width)
        per_stream, moved = whole // streams, size % (width * streams) != 0
        turns, items, number = per_stream + moved, -(-per_stream // sweep.chunks), block
        if streams > 1:
            self.box["stream"] = (0, streams - 1)
            number = (
                f"{block} + stream * {per_stream}"
                if not moved
                else f"({block} < {per_stream} ? {block} + stream * {per_stream} : {streams * per_stream} + stream)"
            )
        start = ""
        if moved:  # the last block overlaps the block before it; the same work-item computes both blocks
            self.at[digit], self.box["first"] = "first", (0, size - width)
            name = "block_of_stream" if streams > 1 else block
            start = f"{name} < {whole} ? {name} * {width} : {size - width}"
        else:
            self.at[digit], self.box[block] = f"({number}) * {width}", (0, per_stream - 1)
        self.blocks = Blocks(*share("chunk", sweep.chunks, items, turns), start,
                             number if start and streams > 1 else "")
        return items

    def special(self) -> Optional[int]:
        """Return the kept (not reduced) dimension that is divided into blocks; None if there is none."""
        digits, sweep = self.digits, self.sweep
        if sweep.kind == "rows":
            return next(k for k in digits.kept() if digits.out[k] == 1)
        return digits.minor if digits.out[digits.minor] else None

    def loops(self, skip: Sequence[int] = (), cut: Optional[int] = None) -> List[Digit]:
        """Return the loops over the reduced dimensions except those in `skip`. The loop over dimension `cut` covers one
        part.
        """
        loops = []
        for k in self.digits.reduced():
            if k in skip:
                continue
            size = self.digits.sizes[k]
            part = self.part_of(size) if k == cut and self.sweep.parts > 1 else ("0", str(size))
            loops.append(Digit(f"g{k}", *part))
            self.at[k], self.box[f"g{k}"] = f"g{k}", (0, size - 1)
        return loops

    def part_of(self, size: int) -> Tuple[str, str]:
        return share("part", self.sweep.per_part, self.sweep.parts, size)

    def position(self, inner: str) -> str:
        """Return the position in the input, as a map expression. It is the sum of `inner` and, for each digit in `at`,
        the digit times its stride.
        """
        parts = [f"({text}) * {self.digits.weights[k]}" for k, text in self.at.items()]
        return " + ".join(parts + [inner])

    # ---- the kernels ----

    def kernels(self, between: "Sequence[Buffer]") -> List[Kernel]:
        """Return the kernels. between: the scratch buffers for the totals of parts."""
        sweep, self.partial = self.sweep, list(between)
        counts = self.coordinates()
        common, blocks = self.common(counts, sweep.threads, LANES, sweep.registers)
        short = sweep.kind == "rows" and self.digits.sizes[self.digits.minor] < LANES
        kind = "short_rows" if short else sweep.kind
        records: "Dict[str, Callable[[Dict[str, Any]], Union[RowsRecord, ShortRowsRecord, ColumnsRecord, FlatRecord]]]" = {
            "rows": self.rows, "short_rows": self.short_rows, "columns": self.columns, "flat": self.flat}
        record = records[kind](common)
        reads = buffers_of(self.nest.inputs, self.nest.inputs.entry)
        writes = [root.buffer for root in self.sides]
        if sweep.parts == 1:
            reads += self.read_for_results()
            writes += [root.buffer for root in self.nest.epilogue.roots]
        else:
            writes += self.partial
        partitions = [self.nest.inputs] + self.results_of() * (sweep.parts == 1)
        grid = Grid(self.nest.name, sweep, self.index_type, blocks, self.of_thread)
        first = self.kernel(grid, reads, writes, partitions)
        first.text.template, first.text.record = f"kernels/reduction_cpu_{kind}", record
        first.report.code = record.steps.step if isinstance(record, (RowsRecord, FlatRecord)) else record.step
        return [first, self.parts_kernel()] if sweep.parts > 1 else [first]

    def common(self, counts: "List[Tuple[str, int]]", threads: int, lanes: int,
               registers: int) -> "Tuple[Dict[str, Any], int]":
        """Return the fields of ReductionCpuRecord, and the number of work-groups."""
        placing, blocks = Placing.of(counts, threads, self.index_type)
        pairs = self.sweep.kind == "rows" and lanes > 1
        reduces = [Reduce([self.accumulator(h, k, lanes, pairs) for k in range(len(self.types_of(h)))],
                          partial(self.combine, h)) for h in range(len(self.nest.heroes))]
        flags = Flags(self.d.register("s32", lanes), self.d.splat("s32", lanes, "0") if lanes > 1
                      else "0") if self.watched else None
        return {"placing": placing, "lanes": lanes, "reduces": reduces, "flags": flags, "registers": registers}, blocks

    def accumulator(self, h: int, k: int, lanes: int, pairs: bool) -> Accumulator:
        dtype, start = self.types_of(h)[k], self.start(h, k)
        even, odd = (self.shuffle(which, dtype) if pairs else "" for which in (0, 1))
        kind = self.d.register(dtype, lanes)
        if self.in_parts(kind):
            self.helpers.need_parts(kind)
        return Accumulator(self.name(h, k, ""), dtype, kind, self.d.register(dtype),
                           self.d.splat(dtype, lanes, start) if lanes > 1 else start, even, odd,
                           f"parts_{kind}" if self.in_parts(kind) else kind)

    def in_parts(self, kind: str) -> bool:
        """Return true if the steps of a row change parts of accumulators. kind: type of a register.

        In C, an accumulator of a sum is divided into the two parts that fit the vectors of AVX. gcc keeps the parts in
        registers, but stores a wider vector after each step, in pieces of 16 bytes (f32[4096,4096], AVX2: 1.2 times as
        fast in parts).
        """
        return self.sweep.kind == "rows" and self.sweep.simple and self.d.declares_vectors \
            and self.digits.sizes[self.digits.minor] >= LANES and kind == self.d.register("f32", LANES)

    @property
    def row_registers(self) -> str:
        """Return the number of accumulators of a row, as C text. If several streams are read, accumulators in parts are
        twice as many registers with AVX2, so rows have half as many accumulators there.
        """
        kind = self.d.register("f32", LANES)
        halved = self.sweep.registers > self.device.reduction_cpu.part_registers and self.sweep.vec % 2 == 0
        if not halved or not self.in_parts(kind):
            return str(self.sweep.vec)
        return "SUMS" if self.d.register(self.accumulators[0][2], LANES) == kind else str(self.sweep.vec)

    def combine(self, h: int, into: str, a: str, b: str, lanes: int = LANES, parts: bool = False) -> List[Statement]:
        """Return the C lines of into = f(a, b). A {} in a text stands for the id of each accumulator of reduce op h.
        parts: true if into, a and b are accumulators that the steps of a row change.
        """
        body, of = self.plain(lanes), [self.accumulator(h, k, lanes, False) for k in range(len(self.types_of(h)))]
        before, x = ([each.whole(text) if parts else text for each in of for text in (side.format(each.id),)]
                     for side in (a, b))
        texts = self.combined(body, h, before, x, lanes)
        return body.text.lines + [Assign(into.format(each.id), each.cut(text) if parts else text)
                                  for each, text in zip(of, texts)]

    def fold_step(self, body: Body, slot: str, count: int, inside: str = "", of: str = "a") -> StepCode:
        """Return the step a[slot] = f(a[slot], element) for `count` registers. inside: C text of the lanes to fold ("":
        all).
        """
        values = self.values(body)
        lanes = body.lanes
        texts = [v.text if v.lanes == lanes else self.d.splat(v.dtype, lanes, v.text) for v in values]
        for text, (h, _, dtype) in zip(texts, self.accumulators):
            if h in self.watched and dtype in FLOATS:
                differs = self.d.compared(dtype, lanes, text, "!=", text)
                flags = self.d.convert("s32", lanes, differs) if lanes > 1 and dtype == "f64" else differs
                body.text.add(Assign(f"nan_{of}[{slot}]", flags, "|="))
        for h in range(len(self.nest.heroes)):
            own = [n for n, (hero, _, _) in enumerate(self.accumulators) if hero == h]
            kinds = [self.accumulator(h, k, lanes, False) for k in range(len(own))]
            targets = [f"{self.name(h, k, of)}[{slot}]" for k in range(len(own))]
            old, x = [kind.whole(target) for kind, target in zip(kinds, targets)], [texts[n] for n in own]

            def selected(kind: Accumulator, a: str, b: str, inside: str = inside) -> str:
                """Return C text of a in the lanes to fold, and of b in the other lanes."""
                kept = self.kept_as(kind.dtype)
                return body.apply("select", {}, kept, ["pred", kept, kept], [Value(inside, "pred", lanes), *(
                    Value(text, kept, lanes) for text in (a, b))], "kept").text

            # The start value of an accumulator may be folded several times. gcc does not divide the result of a select
            # into parts without a copy in memory (sums of rows of 20 with AVX2: 5.5 times as long).
            in_parts = [kind.parts != kind.type for kind in kinds]
            if inside:
                x = [selected(kind, text, kind.start) if cut else text for kind, text, cut in zip(kinds, x, in_parts)]
            new = self.combined(body, h, old, x, lanes)
            for kind, target, text, before, cut in zip(kinds, targets, new, old, in_parts):
                body.text.add(Assign(target, kind.cut(selected(kind, text, before) if inside and not cut else text)))
        return StepCode.of_body(body, count)

    # ---- records of the kinds of kernels ----

    def rows(self, common: "Dict[str, Any]") -> RowsRecord:
        """Return the record of the kind "rows". The kernel folds each of 16 rows into a few vectors, and these into one
        vector. Then it folds the vectors of the 16 rows into one vector of 16 results.
        """
        sweep, digits, row = self.sweep, self.digits, self.special()
        size, step, vec = digits.sizes[digits.minor], sweep.step, self.row_registers
        assert row is not None and self.blocks
        before = dict(self.at)
        self.at[row] = f"{before[row]} + row"
        self.box["row"] = (0, LANES - 1)
        loops = self.loops([digits.minor])
        steps, rest = self.steps("0", str(size // step), size // step, size // step), self.rest(size % step, size)
        self.at = before
        first, stream, total = (f"stream * {vec}", "stream",
                                f"stream * {LANES} + row") if sweep.streams > 1 else ("0", "0", "row")
        sums = f"SHUFFLES == 32 ? {sweep.vec // 2} : {sweep.vec}" if vec == "SUMS" else ""
        return RowsRecord(**common, blocks=self.blocks, digits=loops, streams=sweep.streams, vec=vec, sums=sums,
                          first=first, stream=stream, total=total, steps=steps, rest=rest, halves=_halves(LANES),
                          results=self.wide_results("t", 1, f"({self.at[row]}) * 1 + lane", row))

    def short_rows(self, common: "Dict[str, Any]") -> ShortRowsRecord:
        """Return the record of the kind "short_rows". The kernel loads 16 rows of 2, 4 or 8 elements as 2, 4 or 8
        vectors. The elements of a row are adjacent lanes, which the kernel folds in pairs.
        """
        sweep, row = self.sweep, self.special()
        assert row is not None and self.blocks
        before = dict(self.at)
        loops = self.loops([self.digits.minor])
        box = {**self.box, "vec": (0, sweep.vec - 1), "lane": (0, LANES - 1)}
        body = self.body(self.thread(self.position(f"vec * {LANES} + lane"), box, ("vec", "lane")), box, sweep,
                         self.nest.inputs)
        step = self.fold_step(body, "vec", sweep.vec)
        self.at = before
        return ShortRowsRecord(**common, blocks=self.blocks, digits=loops, step=step, halves=_halves(sweep.vec),
                               results=self.wide_results("t", 1, f"({self.at[row]}) * 1 + lane", row))

    def steps(self, first: str, last: str, count: int, known: int, base: str = "") -> RowSteps:
        """Return the loop over the whole steps along the minor dimension.

        count: number of steps; if several streams are read in turns, number of steps of each stream.
        known: a number that divides the number of steps from `first` to `last` (0: unknown).
        """
        sweep = self.sweep
        inner = "lane * 2 + vec" if sweep.interleaved_pairs else f"vec * {LANES} + lane"
        box = {**self.box, "step": (0, max(0, count - 1)), "vec": (0, sweep.vec - 1), "lane": (0, LANES - 1)}
        slot = "vec" if sweep.vec > 1 else "0"
        if sweep.streams > 1:
            box["stream"] = (0, sweep.streams - 1)
            inner += f" + stream * {count * sweep.step}" if sweep.kind == "flat" else ""
            slot = f"stream * {sweep.vec} + vec" if sweep.vec > 1 else "stream"
            slot = "stream * SUMS + vec % SUMS" if self.row_registers == "SUMS" else slot
        body = self.body(self.thread(self.position(f"{base}step * {sweep.step} + {inner}"), box, ("vec", "lane")), box,
                         sweep, self.nest.inputs)
        step = self.fold_step(body, slot, sweep.vec)
        prefetches = self.prefetches_of(body)
        burst = max(1, sweep.burst // max(1, len(prefetches)))
        if not prefetches or count <= burst:
            burst = 0
        even = bool(burst) and known > 0 and known % burst == 0
        return RowSteps(first, last, prefetches, burst, piece_end("burst", burst, last, even), step)

    def rest(self, rest: int, size: int) -> Optional[Rest]:
        """Return the code for the last `rest` elements of a row of `size` elements, which fill no step (class Rest);
        None if there are no such elements.
        """
        if not rest:
            return None
        count, sweep = -(-rest // LANES), self.sweep
        box = {**self.box, "vec": (0, count - 1), "lane": (0, LANES - 1)}
        start, skipped = size - count * LANES, count * LANES - rest
        body = self.body(self.thread(self.position(f"{start} + vec * {LANES} + lane"), box, ("vec", "lane")), box,
                         Schedule(vec=count, lanes=LANES), self.nest.inputs)
        numbers = self.numbers(count) if skipped else ""
        vec = self.row_registers
        slot = f"vec % {vec}" if count > (1 if vec == "SUMS" else sweep.vec) else "vec" if count > 1 else "0"
        slot = f"stream * {vec} + {slot}" if sweep.streams > 1 else slot
        return Rest(numbers, skipped, self.fold_step(body, slot, count, "inside" if skipped else ""))

    def numbers(self, count: int) -> str:
        """Return C text: the indices of the elements in register `vec` of `count` adjacent registers."""
        of_registers = f" + {self.d.splat('s32', LANES, f'(int)vec * {LANES}')}" if count > 1 else ""
        return f"{self.helpers.numbers(LANES)}()" + of_registers

    def columns(self, common: "Dict[str, Any]") -> ColumnsRecord:
        """Return the record of the kind "columns". The kernel has a vector accumulator for every 16 columns. If all
        columns are one block, and their number is no multiple of 16, an additional vector ends at the last column and
        overlaps the vector before it.
        """
        sweep, digits, minor = self.sweep, self.digits, self.digits.minor
        size = digits.sizes[minor]
        before = dict(self.at)
        cut_digit = max(digits.reduced(), key=lambda k: digits.sizes[k])
        loops = self.loops(cut=cut_digit)
        vec = sweep.vec if sweep.vec <= self.device.reduction_cpu.column_registers else 1
        groups, box = sweep.vec // vec, {**self.box, "vec": (0, vec - 1), "lane": (0, LANES - 1)}
        group = ""
        if groups > 1:
            box["group"], group = (0, groups - 1), f"group * {vec * LANES} + "
        body = self.body(self.thread(self.position(f"{group}vec * {LANES} + lane"), box, ("vec", "lane")), box,
                         replace(sweep, vec=vec), self.nest.inputs)
        slot = "vec" if vec > 1 else "0"
        slot = f"group * {vec} + {slot}" if groups > 1 else slot
        step, edge, edge_results = self.fold_step(body, slot, vec), None, None
        cut = not self.blocks and size % LANES != 0
        if cut:
            box = {**self.box, "vec": (0, 0), "lane": (0, LANES - 1)}
            last = self.body(self.thread(self.position(f"{size - LANES} + vec + lane"), box, ("vec", "lane")), box,
                             Schedule(lanes=LANES), self.nest.inputs)
            edge = self.fold_step(last, "0", 1, of="e")
        self.at = before
        results = self.wide_results("a", vec, f"{self.at[minor]} + {group}vec * {LANES} + lane", minor, groups)
        if cut:
            edge_results = self.wide_results("e", 1, f"{size - LANES} + vec + lane", minor)
        rows, inner = sweep.rows_together, digits.reduced()[-1]
        whole = digits.sizes[inner] % rows == 0 and (
            inner != cut_digit or sweep.parts == 1 or sweep.per_part % rows == 0)
        return ColumnsRecord(**common, groups=groups, rows=rows, rest=not whole, blocks=self.blocks, digits=loops,
                             unrolled=weight(step.before) + weight(step.text) <= UNROLLED_STATEMENTS,
                             prefetches=self.prefetches_of(body), step=step, results=results, edge=edge,
                             edge_results=edge_results)

    def flat(self, common: "Dict[str, Any]") -> FlatRecord:
        """Return the record of the kind "flat", for few results. The kernel reads the input as one stream of vectors,
        and folds the lanes of the accumulators in pairs at the end.
        """
        sweep, digits, minor = self.sweep, self.digits, self.digits.minor
        columns = digits.sizes[minor] if digits.out[minor] else 1
        lane = minor - 1 if digits.out[minor] else minor
        size, span = digits.sizes[lane] * columns, sweep.span
        count = sweep.parts * sweep.per_part if sweep.streams > 1 else size // span
        before = {k: text for k, text in self.at.items() if k != minor}
        self.at = dict(before)
        loops = self.loops([lane])
        first, last, base, of_part, of_last = "0", str(count), "", count, count
        if sweep.streams > 1:
            count, of_part, of_last, last = sweep.per_part, sweep.per_part, sweep.per_part, str(sweep.per_part)
            base = f"part * {sweep.per_part * span} + " if sweep.parts > 1 else ""
        elif sweep.parts > 1:
            (first, last), of_part = self.part_of(count), sweep.per_part
            of_last = count - (sweep.parts - 1) * of_part
        turn = self.device.reduction_cpu.turn_steps
        turn = turn if are_sums(self.nest) and of_part >= 2 * turn else 0
        whole = turn > 0 and of_part % turn == 0 and of_last % turn == 0
        known = turn if whole else 0 if turn or sweep.parts > 1 and sweep.streams == 1 else count
        steps = self.steps("turn" if turn else first, "end" if turn else last, count, known, base)
        count = sweep.parts * sweep.per_part if sweep.streams > 1 else count
        rest, left = None, size - count * span
        if left:
            box = {**self.box, "rest": (0, left - 1)}
            body = self.body(self.thread(self.position(f"{count * span} + rest"), box, ()), box, Schedule(),
                             self.nest.inputs)
            rest = ScalarRest(left, str(sweep.parts - 1) if sweep.parts > 1 else "",
                              self.fold_step(body, "rest" if left <= span else f"rest % {span}", 1, of="x"))
        # called here so that the file gets the helper functions that the template's call of `combine` needs
        for h in range(len(self.nest.heroes)):
            self.combine(h, "t{}", "t{}", "x{}[at]", 1)
        self.at = {k: text for k, text in before.items() if digits.out[k]}
        if digits.out[minor]:
            self.at[minor] = "column" if columns > 1 else "0"
        if columns > 1:
            self.box["column"] = (0, columns - 1)
        box = {n: b for n, b in self.box.items() if n in self.at.values() or n == "part"}
        results = self.finish(self.out_position(self.at), box, Schedule(), "t{}", "nan_t")
        return FlatRecord(**common, digits=loops, streams=sweep.streams, turn=turn, whole=whole, first=first, last=last,
                          steps=steps, rest=rest, columns=columns, column="column" if columns > 1 else "0", results=results)

    def shuffle(self, which: int, dtype: str) -> str:
        """Return the name of a function of two vectors that returns their even lanes (which = 0) or odd lanes (1), in
        order.
        """
        name = f"{('even', 'odd')[which]}_{self.kept_as(dtype)}"
        return self.helpers.shuffle(name, dtype, LANES, range(which, 2 * LANES, 2), lane=f"2 * i + {which}")

    # ---- results ----

    def wide_results(self, of: str, count: int, inner: str, digit: int, groups: int = 1) -> Results:
        """Return the step that computes a group of `count` vectors of results, adjacent along dimension `digit`. If
        there are several groups (`groups`), the C variable `group` says which one the step computes.
        """
        at = {k: text for k, text in self.at.items() if self.digits.out[k] and k != digit}
        position = self.out_position({**at, digit: "0"}, f"({inner}) * {self.digits.out[digit]}")
        box = {**{n: b for n, b in self.box.items() if n in ("block", "first", "part", "stream") or n in at.values()},
               "vec": (0, count - 1), "lane": (0, LANES - 1)}
        slot = "vec" if count > 1 else "0"
        if groups > 1:
            box["group"], slot = (0, groups - 1), f"group * {count} + {slot}"
        slot = f"[{slot}]"
        return self.finish(position, box, Schedule(vec=count, lanes=LANES), f"{of}{{}}{slot}", f"nan_{of}{slot}")

    def finish(self, position: str, box: "Dict[str, Tuple[int, int]]", schedule: Schedule, total: str,
               nan: str) -> Results:
        """Return the step that stores the totals, or the results computed from the totals.

        total: C text of a total, with {} for the accumulator's id.
        nan: C text that is not 0 if a NaN was found.
        """
        totals = [[total.format(self.name(h, k, "")) for k in range(len(self.types_of(h)))]
                  for h in range(len(self.nest.heroes))]
        body = self.store_totals(position, box, schedule, totals, nan)
        if total.startswith("t") and not self.partial:  # no other code reads these totals
            body.text.add(*(Call("(void)", totals[h][k]) for h, k in self.unread()))
        step = StepCode.of_body(body, schedule.vec)
        again = None
        if self.watched and not self.partial:
            again = StepCode.of_body(self.in_order(position, box, ("vec", "lane") if schedule.lanes > 1 else ()), 1)
        # in kind "rows", all lanes of a register belong to the same result
        when = (" | ".join(f"odd[{n}]" for n in range(LANES)) if self.sweep.kind == "rows" else "odd[lane]"
                if schedule.lanes > 1 else nan)
        return Results(step, again, schedule.lanes, nan, when)

    def prefetches_of(self, body: Body) -> List[str]:
        """Return the lines that prefetch elements for a step. Small buffers stay in L2 and are not prefetched."""
        small = {buffer.pointer for buffer in buffers_of(self.nest.inputs, self.nest.inputs.entry)
                 if buffer.shape.bytes <= self.device.reduction_cpu.kept_bytes}
        return [line for key in sorted(body.prefetches) if key[1] not in small for line in body.prefetches[key]]

    # ---- the second kernel ----

    def part(self, flat: str, box: "Dict[str, Tuple[int, int]]", sweep: Schedule, buffers: "Sequence[Buffer]") -> StepCode:
        """Return the step that folds one part into the totals."""
        body = self.body(flat, box, sweep, self.nest.epilogue)
        values = [body.load_flat(buffer, flat, body.function.body) for buffer in buffers]
        if self.watched:
            body.text.add(Assign("nan_t[0]", values[-1].text, "|="))
        for h in range(len(self.nest.heroes)):
            own = [n for n, (hero, _, _) in enumerate(self.accumulators) if hero == h]
            old = [f"{self.name(h, k, 't')}[0]" for k in range(len(own))]
            new = self.combined(body, h, old, [values[n].text for n in own], sweep.lanes)
            body.text.add(*(Assign(a, b) for a, b in zip(old, new)))
        return StepCode.of_body(body, 1)

    def parts_kernel(self) -> Kernel:
        """Return the kernel that combines the parts of every result in order."""
        least = self.device.reduction_cpu.fold_vectors * LANES
        lanes = LANES if self.results % LANES == 0 and self.results >= least else 1
        items = self.results // lanes
        threads = self.device.group if items >= self.device.least_groups * self.device.group else 1
        buffers, self.partial, self.seen, self.of_thread = self.partial, [], [], ""
        common, blocks = self.common([("item", items)] if items > 1 else [], threads, lanes, 1)
        box = {"item": (0, items - 1), "part": (0, self.sweep.parts - 1),
               **({"vec": (0, 0), "lane": (0, lanes - 1)} if lanes > 1 else {})}
        inner, ranges = (f"item * {lanes} + vec + lane", ("vec", "lane")) if lanes > 1 else ("item", ())
        sweep = SweepSchedule(threads, lanes=lanes, kind="parts")
        flat = self.map(f"part * {self.results} + {inner}", box, ranges)
        step = self.part(flat, box, sweep, buffers)
        del box["part"]
        results = self.finish(inner, box, sweep, "t{}[0]", "nan_t[0]")
        grid = Grid(self.nest.name + "_parts", sweep, self.index_type, blocks, self.of_thread, written_by=HERO.name)
        kernel = self.kernel(grid, [*buffers, *self.read_for_results()],
                             [root.buffer for root in self.nest.epilogue.roots], self.results_of())
        kernel.text.template = "kernels/reduction_cpu_parts"
        kernel.text.record = PartsRecord(**common, parts=self.sweep.parts, step=step, results=results)
        kernel.report.code = step
        return kernel


NOTHING = StepCode([], [], [])


class FormCollector(ReductionCpuWriter):
    """A writer that only collects what the kernels need, and writes no statements.

    forms: the plans of the kernels' code.
    maps: further maps that become C text.
    grids: the kernels with their launches.
    """

    @cached_property
    def forms(self) -> List[Form]:
        return []

    @cached_property
    def maps(self) -> List[str]:
        return []

    @cached_property
    def grids(self) -> List[Grid]:
        return []

    def body_for(self, form: Form) -> Any:
        self.forms.append(form)
        return form

    def common(self, counts: "List[Tuple[str, int]]", threads: int, lanes: int,
               registers: int) -> "Tuple[Dict[str, Any], int]":
        place, blocks = placed_at(counts, threads)
        self.maps.append(place)
        return {"placing": Placing(False, False, []), "lanes": lanes, "reduces": [], "flags": None,
                "registers": registers}, blocks

    def fold_step(self, body: Body, slot: str, count: int, inside: str = "", of: str = "a") -> StepCode:
        return NOTHING

    def combine(self, h: int, into: str, a: str, b: str, lanes: int = LANES, parts: bool = False) -> List[Statement]:
        return []

    def numbers(self, count: int) -> str:
        return ""

    def shuffle(self, which: int, dtype: str) -> str:
        return ""

    def prefetches_of(self, body: Body) -> List[str]:
        return []

    def finish(self, position: str, box: "Dict[str, Tuple[int, int]]", schedule: Schedule, total: str,
               nan: str) -> Results:
        self.forms.extend(self.stored_forms(position, box, schedule))
        return Results(NOTHING, None, schedule.lanes, nan, nan)

    def part(self, flat: str, box: "Dict[str, Tuple[int, int]]", sweep: Schedule, buffers: "Sequence[Buffer]") -> StepCode:
        empty = Partition(self.nest.epilogue.computation, [], "", self.nest.epilogue.entry.dims)
        self.forms.append(self.form(flat, box, sweep, empty))
        return NOTHING

    def kernel(self, grid: Grid, reads: "Sequence[Buffer]", writes: "Sequence[Buffer]",
               partitions: Sequence[Partition]) -> Kernel:
        self.grids.append(grid)
        return Kernel(grid, self.nest, [], Text("", None))


def collected_forms(writer: FormCollector) -> FormCollector:
    """Let the writer plan all kernels, and return the writer. It has then collected the kernels' plans of code (forms),
    maps and launches.
    """
    parts = writer.sweep.parts
    writer.kernels([Buffer(Role.SCRATCH, k, shape, "x") for k, shape in enumerate(writer.parts(parts))]
                   if parts > 1 else [])
    return writer


def _halves(count: int) -> List[int]:
    """Return the numbers of registers that remain after each folding of pairs: a half, a quarter, .., one."""
    return [count >> n for n in range(1, count.bit_length())]
