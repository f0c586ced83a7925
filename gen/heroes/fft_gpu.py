"""The hero (kernel emitter) of fft on GPUs: a block of threads transforms one or several rows of a dimension in shared
memory.

A stage of radix p (gen/plan/fft.py) is a step of the block: each thread transforms p numbers at a time in registers.
The first step reads from memory, the last step writes to memory. Between two steps, the numbers are exchanged in shared
memory, with real and imaginary parts in two arrays. Adjacent threads access adjacent elements in memory, of one row or
of adjacent rows, so that reads and writes are coalesced. The number of bank conflicts decides how the shared arrays are
padded.

Two kernels transform a row that does not fit into shared memory (`columns_and_rows`). If that is not possible either, a
single thread transforms each row (gen/heroes/fft.py), which is slow.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple

from gen import algebra
from gen.emit.form import Form
from gen.emit.templates import macro
from gen.heroes.fft import (Axis, FftSchedule, Roots, columns_and_rows, in_parts, index_types, number, origin,
                            origin_map, plan, tables)
from gen.heroes.hero import Choice, Context, Hero, Refused
from gen.heroes.kernel import Grid, Kernel, Report, StepCode, Text, arguments
from gen.hlo import Shape, dtypes
from gen.plan import fft
from gen.plan.buffer import Buffer
from gen.plan.whole import Whole
from gen.schedule import Schedule


@dataclass(frozen=True)
class FftBlocks(Schedule):
    """The schedule of a block.

    rows: number of rows that the block transforms.
    elements: number of elements of a row in shared memory.
    """

    rows: int = 1
    elements: int = 1

    def text(self) -> str:
        return f"{super().text()}, {self.rows} rows of {self.elements} a block"


@dataclass(frozen=True)
class SharedLayout:
    """The layout of numbers in shared memory: row after row or, if `across`, element after element (element 0 of all
    rows, then element 1 of all rows). Padding of `extra` unused positions follows every `every` positions; every = 0:
    no padding.
    """

    rows: int
    elements: int
    across: bool = False
    every: int = 0
    extra: int = 0

    def place(self, row: str, element: str) -> str:
        """Return the position of an element in shared memory, as a map expression."""
        plain = f"({element}) * {self.rows} + {row}" if self.across else f"{row} * {self.elements} + {element}"
        return f"{plain} + (({plain}) floordiv {self.every}) * {self.extra}" if self.every else plain

    @property
    def room(self) -> int:
        """Return the number of positions, including padding."""
        last = self.rows * self.elements - 1
        return last + 1 + (last // self.every * self.extra if self.every else 0)


@dataclass(frozen=True)
class Butterflies:
    """The butterflies of a stage. A butterfly is a transform of `radix` numbers; a row has `count` butterflies.

    turns: number of butterflies that a thread computes, one after another.
    across: true if adjacent threads work on different rows.
    """

    stage: fft.RadixStage
    schedule: FftBlocks
    across: bool

    @property
    def count(self) -> int:
        return self.schedule.elements // self.stage.radix

    @property
    def total(self) -> int:
        return self.schedule.rows * self.count

    @property
    def turns(self) -> int:
        return -(-self.total // self.schedule.threads)

    def own(self, butterfly: str) -> "Tuple[str, str]":
        """Return a butterfly's row and its number in the row, as map expressions. butterfly: the butterfly's number in
        the block.
        """
        by = self.schedule.rows if self.across else self.count
        high, low = f"({butterfly}) floordiv {by}", f"({butterfly}) mod {by}"
        return (low, high) if self.across else (high, low)

    def reads(self, butterfly: str, j: "int | str") -> str:
        """Return the element of the row that a butterfly reads as its j-th number, as a map expression."""
        return f"{butterfly} + {j} * {self.count}"

    def writes(self, butterfly: str, j: "int | str") -> str:
        s = self.stage.stride
        return f"(({butterfly}) floordiv {s}) * {s * self.stage.radix} + ({butterfly}) mod {s} + {j} * {s}"

    def access(self, layout: SharedLayout, writes: bool) -> str:
        """Return the map (t)[turn, j] -> (position in shared memory): the j-th number that thread t reads or writes for
        its butterfly number `turn`.
        """
        all_ = f"t + turn * {self.schedule.threads}"
        row, butterfly = self.own(all_)
        element = (self.writes if writes else self.reads)(butterfly, "j")
        return (f"(t)[turn, j] -> ({layout.place(row, element)}), domain: t in [0, {self.schedule.threads - 1}], "
                f"turn in [0, {self.turns - 1}], j in [0, {self.stage.radix - 1}], {all_} in [0, {self.total - 1}]")


@dataclass(frozen=True)
class Step:
    """A stage of a kernel, as C texts.

    turns: number of butterflies that a thread computes, one after another.
    guard: the condition that butterfly `work` exists; "" if it always does.
    row, butterfly: a butterfly's row and its index in the row, computed from `work`, its index in the block.
    reads, writes: positions in shared memory of the numbers that a butterfly reads and writes; empty if they are in
        memory.
    before, after: indices in the row of the elements that a butterfly reads and writes.
    roots: positions, in the table of roots of unity, of the factors of all results but the first; empty if these
        factors are 1.
    kernel: positions, in the table `kernel` of `Roots` (gen/heroes/fft.py), of the factors of the results; empty if the
        results are not multiplied by this table.
    """

    radix: int
    turns: int
    guard: str
    row: str
    butterfly: str
    reads: "Tuple[str, ...]"
    writes: "Tuple[str, ...]"
    before: "Tuple[str, ...]"
    after: "Tuple[str, ...]"
    roots: "Tuple[str, ...]"
    kernel: "Tuple[str, ...]"


@dataclass(frozen=True)
class Fold:
    """The step that computes half a spectrum of 2 n real numbers from the transform of n pairs of them.

    turns, guard, row: as in Step.
    element: the index j of an element in the row, computed from `work`.
    near, far: positions in shared memory of the row's elements j and n - j.
    """

    turns: int
    guard: str
    row: str
    element: str
    near: str
    far: str


@dataclass(frozen=True)
class FftBlockRecord(Roots):
    """The values that templates/kernels/fft_gpu.j2 prints.

    real: the type of a number.
    rows: number of rows of a block.
    row_guard: the condition that a row exists; "" if all rows do.
    first: C text of the block's first row ("": 0).
    starts: C texts of the start of row `unit` in the array that is read and in the array that is written.
    part: if two kernels do a transform, C text of the row's number among the `parts` rows of this transform.
    parts: the number of these rows.
    room: number of positions in shared memory.
    """

    real: str
    wide: str
    source: str
    target: str
    threads: int
    rows: int
    row_guard: str
    first: str
    starts: "Tuple[str, str]"
    part: str
    parts: int
    room: int
    steps: "Sequence[Step]"
    fold_step: "Optional[Fold]"
    scale: str


class FftGpuHero(Hero[Whole, FftSchedule]):
    """The emitter (hero) that writes the kernels for all dimensions of an fft; blocks of threads transform the rows."""

    name = "fft"
    nest_class = Whole

    def takes(self, nest: Whole, context: Context) -> bool:
        return nest.op.opcode == "fft" and not context.device.cpu

    def schedules(self, nest: Whole, context: Context) -> "Iterable[FftSchedule]":
        part = dtypes.TABLE[nest.op.shape.dtype].part or nest.op.shape.dtype
        most = longest(context, part)
        yield plan(nest, context.device, lambda axis, between: divided(axis, between, most), most)

    def index_types(self, schedule: FftSchedule) -> "Sequence[str]":
        return index_types(schedule)

    def forms(self, nest: Whole, schedule: FftSchedule, context: Context) -> "Iterable[Form]":
        return []

    def maps(self, nest: Whole, schedule: FftSchedule, context: Context) -> "Iterable[str]":
        found = [origin_map(axis.others, 1, which) for axis in schedule.axes for which in (1, 2)]

        def kept(text: str, place: str) -> str:
            found.append(text)
            return ""

        for axis in schedule.axes:
            blocks = blocks_of(axis, context)
            between = [exchange for _, _, exchange in exchanges(axis, blocks, context)]
            steps_of(axis, blocks, between, kept)
            if axis.writes == "folded":
                fold_of(axis, blocks, between[-1], kept)
        return found

    def scratch_shapes(self, nest: Whole, schedule: FftSchedule, context: Context) -> "List[Shape]":
        return [*schedule.between.values()]

    def grids(self, choice: Choice[Whole, FftSchedule], context: Context) -> "List[Grid]":
        grids = []
        for number_, axis in enumerate(choice.schedule.axes):
            schedule = blocks_of(axis, context)
            blocks = -(-axis.rows // schedule.rows)
            grids.append(Grid(choice.nest.name + (f"_{number_}" if number_ else ""), schedule, choice.index, blocks,
                              f"(bl_x) -> (bl_x * {schedule.rows}), domain: bl_x in [0, {blocks - 1}]"))
        return grids

    def build(self, choice: Choice[Whole, FftSchedule], context: Context) -> "List[Kernel]":
        nest, plan_ = choice.nest, choice.schedule
        arrays = {"parameter": nest.operands[0], "result": nest.results[0], **dict(zip(plan_.between, choice.scratch))}
        return [block_kernel(context, grid, choice, axis, arrays[axis.source], arrays[axis.target])
                for grid, axis in zip(choice.grids, plan_.axes)]

    def describe(self, choice: Choice[Whole, FftSchedule], grid: Grid, context: Context) -> "List[str]":
        axis = choice.schedule.axes[choice.grids.index(grid)]
        assert isinstance(grid.loop, FftBlocks)
        method = f"convolution, transforms of length {axis.m}" if axis.convolved else f"length {axis.m}"
        radices = [stage.radix for stage in stages(axis)] * (1 + axis.convolved)
        lines = [f"from {axis.source} to {axis.target}: {method}, radices {' '.join(map(str, radices))}, "
                 f"{grid.loop.rows} rows of a block"]
        for before, after, exchange in exchanges(axis, grid.loop, context):
            padded = f", {exchange.extra} more after each {exchange.every}" if exchange.every else ""
            turns = [turns_of(each.access(exchange, each is before), axis.part) for each in (before, after) if each]
            lines.append(f"shared memory between radices {before.stage.radix} and "
                         f"{after.stage.radix if after else 'the end'}: {exchange.room} numbers{padded}: "
                         f"{sum(t for t, _ in turns)} turns of banks, {sum(n for _, n in turns)} without conflicts")
        return lines


HERO = FftGpuHero()


def longest(context: Context, part: str) -> int:
    """Return the maximum length of a row that fits into shared memory, without padding."""
    return context.target.shared_bytes // (2 * dtypes.storage_bytes(part))


def divided(axis: Axis, between: "Dict[str, Shape]", most: int) -> "List[Axis]":
    """Return one kernel for this dimension, or two if a row does not fit into shared memory. Raise Refused if even the
    rows of two kernels do not fit.
    """
    if axis.m <= most:
        return [axis]
    if axis.convolved:
        raise Refused(f"a convolution of {axis.m} elements, at most {most} fit shared memory")
    pairs = ((n, axis.n // n) for n in range(2, most + 1) if axis.n % n == 0 and axis.n // n <= most)
    found = min(pairs, key=lambda pair: (max(pair), pair), default=None)
    if not found:
        raise Refused(f"no two factors of {axis.n} are at most {most}, which fit shared memory")
    return list(columns_and_rows(axis, *found, between))


def is_across(axis: Axis, side: int) -> bool:
    """Return true if adjacent elements of an array are in different rows. side: 0 for the array that is read, 1 for the
    array that is written.
    """
    return axis.rows > 1 and axis.others[-1][1 + side] < axis.along[side]


def blocks_of(axis: Axis, context: Context) -> FftBlocks:
    """Return the numbers of rows and threads of a block. A block has enough rows to give work to its threads and, if
    adjacent rows are adjacent in memory, to fill whole cache lines. If that leaves too few blocks for the device, a
    block has fewer rows; adjacent rows then fill at least a sector of a cache line.
    """
    device, pair = context.device, 2 * axis.bytes
    numbers = device.fft_gpu
    fitting = max(1, min(numbers.rows_bytes, context.target.shared_bytes) // (pair * axis.m))
    rows, least = max(1, min(fitting, numbers.block_elements // axis.m)), 1
    if is_across(axis, 0) or is_across(axis, 1):
        rows, least = max(rows, min(fitting, device.coalesced // pair)), numbers.sector // pair
    while rows > least and -(-axis.rows // rows) < device.units:
        rows = -(-rows // 2)
    rows = min(rows, axis.rows)
    wanted = -(-rows * axis.m // numbers.elements)
    threads = min(numbers.threads, -(-wanted // device.warp) * device.warp)
    return FftBlocks(threads=threads, rows=rows, elements=axis.m)


# ---- shared memory ----

def stages(axis: Axis) -> "List[fft.RadixStage]":
    return fft.stages(axis.m, 1) or [fft.RadixStage(1, 1, 1)]


def butterflies(axis: Axis, schedule: FftBlocks) -> "List[Butterflies]":
    """Return the butterflies of each step; a convolution has the steps of two transforms. Adjacent threads have
    adjacent elements of the array that is read (in the first step) or written (in the last step). In the other steps
    they have adjacent rows if both arrays have adjacent rows, else adjacent elements of a row.
    """
    of = stages(axis) * (1 + axis.convolved)
    is_folded = axis.writes == "folded"
    both = is_across(axis, 0) and is_across(axis, 1)
    return [Butterflies(stage, schedule, is_across(axis, 0) if number_ == 0 else
                        is_across(axis, 1) if number_ == len(of) - 1 and not is_folded else both)
            for number_, stage in enumerate(of)]


def exchanges(axis: Axis, schedule: FftBlocks,
              context: Context) -> "Iterator[Tuple[Butterflies, Optional[Butterflies], SharedLayout]]":
    """Yield each pair of adjacent steps, with the layout of shared memory between them. None as the second step of the
    last pair stands for the fold (class Fold).
    """
    steps: "List[Optional[Butterflies]]" = [*butterflies(axis, schedule), *([None] if axis.writes == "folded" else [])]
    most = context.target.shared_bytes // (2 * axis.bytes)
    for before, after in zip(steps, steps[1:]):
        assert before
        yield before, after, layout(before, after, axis.part, most)


def layout(before: Butterflies, after: "Optional[Butterflies]", part: str, most: int) -> SharedLayout:
    """Return the layout between two steps that needs the fewest bank turns (accesses that a bank serves one after
    another). A layout with padding has at most `most` positions.
    """
    rows, elements, stage = before.schedule.rows, before.schedule.elements, before.stage
    plain = SharedLayout(rows, elements, before.across and (after is None or after.across))
    width = stage.stride * stage.radix
    forms = [plain, *(replace(plain, every=every, extra=extra)
                      for every in dict.fromkeys((32, width, 4 * width, elements)) if every > 1
                      for extra in dict.fromkeys((1, stage.stride, 2, 4, 8, 16)) if extra < every)]
    best, least = plain, 0
    for form in (form for form in forms if form is plain or form.room <= most):
        asked = [turns_of(each.access(form, each is before), part) for each in (before, after) if each]
        turns = sum(turns for turns, _ in asked)
        if form is plain or turns < least:
            best, least = form, turns
        if turns == sum(fewest for _, fewest in asked):
            break
    return best


def turns_of(access: str, part: str) -> "Tuple[int, int]":
    """Return the number of bank turns that the accesses of a map take, and the number without bank conflicts. In one
    bank turn, each bank serves at most one access.
    """
    answer = algebra.call("banks", access, part)
    if answer.startswith("no: "):
        found = re.search(r"(\d+) turns? instead of (\d+)", answer)
    else:
        found = re.search(r"\((\d+)()", answer)
    assert found, answer
    return int(found[1]), int(found[2] or found[1])


# ---- a kernel ----

def block_kernel(context: Context, grid: Grid, choice: Choice[Whole, FftSchedule], axis: Axis, now: Buffer,
                 to: Buffer) -> Kernel:
    d, schedule = context.target, grid.loop
    assert isinstance(schedule, FftBlocks)
    index, others, rows = choice.index, axis.others, schedule.rows
    between = [exchange for _, _, exchange in exchanges(axis, schedule, context)]
    steps = steps_of(axis, schedule, between, written(index))
    spread = axis.rows > rows
    unit = ("first + row" if spread else "row") if rows > 1 else "first" if spread else "0"
    record = FftBlockRecord(
        **vars(tables(context, grid.name, axis, (axis.m, 1), by_power=True)), real=d.register(axis.part),
        wide=d.types["u64"], source=now.pointer, target=to.pointer,
        threads=schedule.threads, rows=rows, row_guard=f"unit < {axis.rows}" if axis.rows % rows else "",
        first=f"bl_x * {rows}" if rows > 1 and spread else "bl_x" if spread else "",
        starts=(origin(others, 1, 1, index), origin(others, 1, 2, index)),
        part=unit if len(others) == 1 else f"unit % {others[-1][0]}", parts=others[-1][0],
        room=max((form.room for form in between), default=0), steps=steps,
        fold_step=fold_of(axis, schedule, between[-1], written(index)) if axis.writes == "folded" else None,
        scale=number(axis.scale, axis.part) if axis.scale != 1 else "")
    lines = macro("parts/fft.j2", "transform", r=record, f=record.real, p=steps[0].radix).splitlines()
    kernel = Kernel(grid, choice.nest, arguments(d, [] if now == to else [now], [to]),
                    Text("kernels/fft_gpu", record, attribute=d.launch_bounds(schedule.threads)),
                    Report(code=StepCode([], lines, [], repeated="for each butterfly of the first stage")))
    kernel.arguments = in_parts(d, kernel.arguments, axis.part)
    return kernel


# A function that prints a map with one result as C text. The second argument is "factor" if the text becomes a factor
# of a product, else "".
Write = Callable[[str, str], str]


def written(index: str) -> Write:
    return lambda text, place: algebra.c_text(text, index, place).results[0]


def steps_of(axis: Axis, schedule: FftBlocks, between: "Sequence[SharedLayout]", write: Write) -> "List[Step]":
    every, made, offset, once = butterflies(axis, schedule), [], 0, len(stages(axis))
    for number_, each in enumerate(every):
        stage = each.stage
        domain = f"row in [0, {schedule.rows - 1}], butterfly in [0, {each.count - 1}]"

        def text(expression: str, place: str = "") -> str:
            return write(f"(row, butterfly) -> ({expression}), domain: {domain}", place)

        def places(form: SharedLayout, of: "Sequence[str]") -> "Tuple[str, ...]":
            return tuple(text(form.place("row", element)) for element in of)

        numbers = [[side("butterfly", j) for j in range(stage.radix)] for side in (each.reads, each.writes)]
        last = number_ == len(every) - 1
        row, butterfly = own_texts(each, write)
        if number_ % once == 0:
            offset = 0
        made.append(Step(
            stage.radix, each.turns, guard(each), row, butterfly,
            places(between[number_ - 1], numbers[0]) if number_ else (),
            places(between[number_], numbers[1]) if number_ < len(between) else (),
            tuple(text(element, "factor") for element in numbers[0]),
            tuple(text(element, "factor") for element in numbers[1]),
            tuple(text(f"(butterfly floordiv {stage.stride} + {offset + power * stage.blocks}) * 2")
                  for power in range(stage.radix - 1)) if stage.blocks > 1 else (),
            tuple(text(f"({element}) * 2") for element in numbers[1]) if number_ == once - 1 and not last else ()))
        offset += (stage.radix - 1) * stage.blocks if stage.blocks > 1 else 0
    return made


def own_texts(each: Butterflies, write: Write) -> "Tuple[str, str]":
    """Return C texts of a butterfly's row and of its number in the row, computed from `work`; "" if there is only one
    row, or only one butterfly in a row.
    """
    texts = [write(f"(work) -> ({own}), domain: work in [0, {each.total - 1}]", "") for own in each.own("work")]
    return texts[0] if each.schedule.rows > 1 else "", texts[1] if each.count > 1 else ""


def guard(each: Butterflies) -> str:
    """Return the condition that butterfly `work` exists; "" if it always does."""
    return f"work < {each.total}" if each.turns * each.schedule.threads > each.total else ""


def fold_of(axis: Axis, schedule: FftBlocks, form: SharedLayout, write: Write) -> Fold:
    n = axis.n
    each = Butterflies(fft.RadixStage(1, n, 1), schedule, is_across(axis, 1))
    near, far = (write(f"(row, j) -> ({form.place('row', element)}), domain: row in [0, {schedule.rows - 1}], "
                       f"j in [{lowest}, {n - 1}]", "") for element, lowest in (("j", 0), (f"({n} - j)", 1)))
    return Fold(each.turns, guard(each), *own_texts(each, write), near, far)
