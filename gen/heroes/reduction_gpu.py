"""The reduction hero (kernel emitter) on GPUs: the threads of a block read adjacent elements, and fold (combine) their
values.

The position in the input is a mixed-radix number, whose digits are either kept or reduced (gen/plan/digits.py). A
"unit" is a vector of adjacent elements if the minor digit is reduced, else a row. A block's threads form a box
[rows][fold][across]:
- across: number of threads on adjacent columns, if the minor digit is kept; each thread has a vector of columns. If the
  minor digit is reduced but too short to fill a cache line, these threads are along the lowest kept digit instead.
- fold: number of threads that share one result. Of the units to reduce, a thread takes every `fold`-th, so that in each
  step the threads of a block access adjacent memory.
- rows: number of further results, if the block has enough threads.

A thread folds its own elements into accumulators. Then the lanes of a warp are folded by shuffles, and the warps of a
block through shared memory. OpenCL 1.2 has no shuffles; there, all threads fold in halves through shared memory. The
first of the threads that share a result has the total.

If there are too few results for all multiprocessors, the units to reduce are cut into parts. Partial results go to a
scratch buffer [part][result], and a second kernel of the same form combines them.

Every order is fixed and there are no atomics, so the same input gives the same bits. All threads reach all barriers and
shuffles; threads without a result have the start value. gen/heroes/reduction.py says what happens if the result depends
on the order of NaNs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple, TypeVar

from gen import algebra
from gen.emit.body import Body
from gen.emit.form import Form
from gen.emit.maps import conditions
from gen.statements import Assign, Statement
from gen.heroes import reduction
from gen.heroes.hero import Choice, Context, Hero
from gen.heroes.kernel import Coordinate, Grid, Kernel, Placing, StepCode
from gen.heroes.reduction import Digits
from gen.hlo import Shape, dtypes
from gen.plan.buffer import Buffer, Role
from gen.plan.buffers import buffer_of, buffers_of, memory_map, reads_of
from gen.plan.digits import IterationSpace
from gen.plan.partition import Partition, compose
from gen.plan.plan import Reduction
from gen.schedule import Device, Schedule
from gen.targets import FLOATS


Box = Dict[str, Tuple[int, int]]


@dataclass(frozen=True)
class BlockSchedule(Schedule):
    """The schedule of a block, whose threads form a box [rows][fold][across].

    across: number of threads along adjacent results. Adjacent results lie along dimension `digit` of the input (None: 1
        thread).
    fold: number of threads that share one result.
    rows: number of further results.
    slots: number of accumulators of a thread for each value.
    unroll: number of steps whose loads may be issued together. In a step, each thread reduces a vector or a row.
    parts, per_part: number of parts into which the steps are cut, and steps of a part.
    """

    rows: int = 1
    fold: int = 1
    across: int = 1
    digit: Optional[int] = None
    slots: int = 1
    unroll: int = 1
    parts: int = 1
    per_part: int = 1

    @property
    def even(self) -> bool:
        """Return true if `fold` and `across` are powers of two. The threads that share results then fill whole warps,
        or a warp contains several complete groups of them.
        """
        return all(n & (n - 1) == 0 for n in (self.fold, self.across))

    def text(self) -> str:
        words = [f"{super().text()}: {self.rows} rows x {self.fold} to fold x {self.across} across", f"vec {self.vec}"]
        return ", ".join(words + [f"{self.parts} parts, combined by a second kernel"] * (self.parts > 1))


# ---- numbers ----

def _digit_units(digits: Digits, vec: int) -> "Dict[int, int]":
    """Return the number of units to reduce along each reduced dimension. A unit is a vector in the minor dimension, and
    a single index in any other dimension.
    """
    return {k: digits.sizes[k] // (vec if k == digits.minor else 1) for k in digits.reduced()}


def _pow2(n: int) -> int:
    """Return the largest power of two that is at most n."""
    return 1 << (max(1, n).bit_length() - 1)


def _across(wide: int, most: int) -> int:
    """Divide `wide` units equally among at most `most` threads. Return the number of these threads, rounded up to a
    power of two unless this makes more than a quarter of the threads idle.
    """
    part = -(-wide // -(-wide // most))
    even = 1 << (part - 1).bit_length()
    return even if 4 * part >= 3 * even else part


def _block(device: Device, digits: Digits, widths: Sequence[int], values: int, most_vec: int, threads: int,
           first: bool) -> BlockSchedule:
    """Return the schedule of a block.

    widths: bytes of an element, for each array that is contiguous along the minor digit.
    values: number of accumulators for each result.
    first: true for the kernel that reads the inputs; false for the second kernel, which reads few numbers from a cache.
    """
    numbers = device.reduction_gpu
    minor, sizes, kept = digits.minor, digits.sizes, digits.kept()
    column = bool(digits.out[minor])
    vec = min(most_vec, device.line // min(widths)) if widths else 1
    while vec > 1 and (vec * max(widths) > device.step_bytes or sizes[minor] % vec
                       or (column and vec * values > numbers.values)):
        vec //= 2
    width, over = max(widths, default=4), _digit_units(digits, vec)
    units, digit = math.prod(over.values()), minor if column else None
    if (not column and kept and len(over) > 1 and kept[-1] == minor - 1 and 4 * sizes[minor] * width <= device.coalesced
        and 4 * over[minor] <= units):
        digit = minor - 1
    wide = 1 if digit is None else sizes[digit] // (vec if column else 1)
    rows = math.prod(sizes[k] for k in kept if k != digit)
    across = _across(wide, numbers.column_threads if first else max(1, numbers.sector // (vec * width)))
    most = _pow2(threads // across) if across & (across - 1) == 0 else threads // across
    fold = most if units // numbers.thread_steps >= most else _pow2(units // numbers.thread_steps)
    if across == 1:
        fold = min(most,
                   max(fold, min(max(1, device.coalesced // (vec * width)),
                                 1 << (-(-units * vec * width // numbers.thread_bytes) - 1).bit_length())))
        while fold > 1 and 3 * -(-units // fold) * fold > 4 * units:   # at most a quarter of the threads is idle
            fold //= 2
    while 2 * fold <= min(most, units) and rows * wide * fold < numbers.unit_threads * device.units:
        fold *= 2
    across = _across(wide, max(across, threads // fold)) if first else across
    columns, together = -(-wide // across), max(1, min(rows, threads // (fold * across)))
    used = -(-together * fold * across // device.warp) * device.warp
    blocks, steps, parts, per = -(-rows // together) * columns, units // fold, 1, 1
    loads = max(1, numbers.loading_bytes // (vec * width))  # steps whose loads are in flight at the same time

    # with fewer steps, one kernel takes less time than two
    if first and blocks < numbers.unit_blocks * device.units and steps >= numbers.part_loads * loads:
        per = -(-steps // (loads * -(-numbers.part_blocks * device.units // blocks))) * loads
        parts = -(-steps // per)
    slots = vec if column else min(vec, numbers.thread_results)
    return BlockSchedule(used, vec=vec, rows=together, fold=fold, across=across, digit=digit, slots=slots, unroll=loads,
                         parts=parts, per_part=per)


def _widths(digits: Digits, space: IterationSpace) -> List[int]:
    return [a.width for a in space.accesses if a.width and a.strides and a.strides[digits.minor] == 1]


def _as_read(nest: Reduction) -> Reduction:
    """Return the nest with its index order changed to the order in which most of its memory accesses are contiguous.
    The results do not depend on the order.
    """
    dims, partition = nest.space.dims, nest.inputs
    moved: Dict[Tuple[int, ...], int] = {}
    heroes = sum(len(hero.operands) // 2 for hero in nest.heroes)
    reads = [(buffer.shape, read.map) for read, _ in reads_of(partition, partition.entry)
             for buffer in [buffer_of(partition, read)] if buffer]
    for shape, index in reads + [(root.shape, root.map) for root in partition.roots[heroes:]]:
        strides = [algebra.access(compose(index, memory_map(shape)), f"i{k}")[0].stride
                   for k in range(len(dims))] if shape.dims else []
        if strides and all(stride for stride, size in zip(strides, dims) if size > 1):
            own = list(nest.space.minor_to_major)
            order = tuple(sorted(own, key=lambda k: abs(strides[k] or 0) if dims[k] > 1 else 0))
            moved[order] = moved.get(order, 0) + shape.bytes
    order = max(moved, key=lambda o: moved[o], default=())
    if not order or [k for k in order if dims[k] > 1] == [k for k in nest.space.minor_to_major if dims[k] > 1]:
        return nest
    text = algebra.shape(f"{nest.space.dtype}[{algebra.numbers(dims)}]{{{algebra.numbers(order)}}}")
    return replace(nest, space=replace(nest.space, text=text, minor_to_major=order))


T = TypeVar("T")


class Candidate(NamedTuple):
    """A nest in the chosen index order, the digits of the position in its input (a mixed-radix number), and its
    accesses along these digits.
    """

    nest: Reduction
    digits: Digits
    space: IterationSpace


class ReductionGpuHero(Hero[Reduction, Candidate]):
    """A kernel in which each block computes some results. If the steps are cut into parts, each block computes one part
    of some results, and a second kernel combines the parts.
    """

    name, sides, leads = "reduction", True, True
    nest_class = Reduction

    def takes(self, nest: Reduction, context: Context) -> bool:
        return not context.device.cpu and not nest.layout and reduction.plain(nest)

    def schedules(self, nest: Reduction, context: Context) -> "Iterable[Candidate]":
        nest = _as_read(nest)
        digits, accesses = reduction.digits_of(nest)
        return [Candidate(nest, digits, accesses)] if digits.reduced() else []

    def forms(self, nest: Reduction, schedule: Candidate, context: Context) -> "Iterable[Form]":
        return _writer(context, schedule).forms()

    def maps(self, nest: Reduction, schedule: Candidate, context: Context) -> "Iterable[str]":
        return _writer(context, schedule).maps()

    def scratch_shapes(self, nest: Reduction, schedule: Candidate, context: Context) -> "List[Shape]":
        writer = _writer(context, schedule)
        return writer.parts(writer.sweep.parts) if writer.sweep.parts > 1 else []

    def grids(self, choice: Choice[Reduction, Candidate], context: Context) -> "List[Grid]":
        return _writer(context, choice.schedule, choice.index).grids()

    def build(self, choice: Choice[Reduction, Candidate], context: Context) -> "List[Kernel]":
        return _writer(context, choice.schedule, choice.index).kernels(choice.scratch, choice.grids)

    def describe(self, choice: Choice[Reduction, Candidate], grid: Grid, context: Context) -> "List[str]":
        positions = _writer(context, choice.schedule, choice.index).positions()
        return [f"position: {positions[choice.grids.index(grid)]}"]


HERO = ReductionGpuHero()


def _writer(context: Context, candidate: Candidate, index_type: str = "") -> "ReductionGpuWriter":
    """Return the writer of the kernels for a candidate: a nest, its digits and its accesses. index_type: "" if the
    writer is used only to collect maps and plans of code (forms).
    """
    digits = candidate.digits
    return ReductionGpuWriter(context, candidate.nest, digits, _widths(digits, candidate.space), index_type)


def _needed(index: str, box: Box, index_type: str) -> str:
    """Return, as C text, the conditions under which a point of `box` is in a map's domain. A variable's bounds are left
    out if the other conditions imply them.
    """
    info = algebra.info(index)
    bounds = ", ".join(f"{v.name} in [{box[v.name][0]}, {box[v.name][1]}]" for v in info.variables)
    rest = "".join(f", {c.text} in [{c.lo}, {c.hi}]" for c in info.constraints)
    again = algebra.info(
        algebra.simplify(f"({', '.join(v.name for v in info.variables)}) -> (), domain: {bounds}{rest}")
    )
    same = [(v.lo, v.hi) for v in again.variables] == [(v.lo, v.hi) for v in info.variables]
    return " && ".join(algebra.c_text(index, index_type).constraints if same else conditions(index, box, index_type))


# ---- the record for templates/kernels/reduction_gpu.j2 ----

@dataclass(frozen=True)
class Accumulator:
    """A value that a thread accumulates, in one or several slots.

    shared: the name of its array in shared memory.
    other: the C variable for the value of another slot or thread.
    """

    name: str
    dtype: str
    type: str
    start: str
    shared: str
    other: str


@dataclass(frozen=True)
class Cell:
    """The positions of a thread's values in shared memory, as C texts.

    at: the position for slot `vec`.
    first: the position for the first slot.
    guard: the condition that the thread has a value in shared memory; "" if all threads have.
    """

    at: str
    first: str
    guard: str = ""


@dataclass(frozen=True)
class ThreadSteps:
    """The steps that all threads of a block do.

    count: number of steps.
    unroll: number of steps whose loads may be issued together.
    step: the code of a step.
    """

    count: int
    unroll: int
    step: StepCode


@dataclass(frozen=True)
class Rest:
    """The last step. Only the threads for which `guard` is true do it."""

    guard: str
    step: StepCode


@dataclass(frozen=True)
class FoldRecord:
    """The values that templates print for a block whose threads share results.

    guard: the condition that a thread has a result; "" if all threads have.
    fold: number of threads that share a result.
    warps: number of warps that share a result.
    shuffles: true if the lanes of a warp are folded by shuffles; false if all threads fold in halves through shared
        memory.
    width: number of adjacent lanes of a warp over which shuffles fold.
    cells: for each slot, the number of values in shared memory; 0: none. A slot is one of the accumulators that a
        thread has for a value.
    own: where a thread stores its values in shared memory.
    others: where a thread reads the values that it folds into its own.
    """

    placing: Placing
    guard: str
    fold: int
    shuffles: bool
    width: int
    cells: int
    own: Optional[Cell]
    others: Optional[Cell]
    warps: int


@dataclass(frozen=True)
class ReductionGpuRecord(FoldRecord):
    """The record that templates/kernels/reduction_gpu.j2 prints. A thread may have several accumulators of one value,
    its "slots".

    held: number of slots while elements are accumulated.
    slots: number of slots that become results: `held`, or 1 if all slots are folded into the first slot.
    slot: C text of a slot's index.
    watched: true if the bits of `odd` record the results for which a NaN was found.
    parts, per_part: number of parts into which the steps are cut, and number of steps of a part.
    across: difference between the numbers of successive threads that share a result.
    results: the code that computes the result of each slot from its total.
    again: code that computes a result again, in the order of the elements, if a NaN was found.
    combine: combine(slot) returns the C lines of slot = f(slot, other), for all accumulators.
    """

    accumulators: List[Accumulator]
    held: int
    slots: int
    slot: str
    watched: bool
    parts: int
    per_part: int
    steps: Optional[ThreadSteps]
    rest: Optional[Rest]
    across: int
    results: StepCode
    again: Optional[StepCode]
    combine: "Callable[[str], List[Statement]]"


class BlockPlace(NamedTuple):
    """The results of a thread.

    map: (th_x, bl_x) -> coordinates.
    coordinates: the coordinates that have more than one value.
    condition: C text that is true if the thread has results.
    """

    map: str
    coordinates: List[Coordinate]
    condition: str


class ThreadPlacement(NamedTuple):
    """The results and the elements that each thread has.

    map: the map from a thread's ids to its coordinates.
    names: the names of the coordinates.
    box: the bounds of the ids.
    share: the map from a thread's id to its number among the threads that share its result.
    blocks: number of blocks of the launch.
    """

    map: str
    names: List[str]
    box: Box
    share: str
    blocks: int


class StepUnit(NamedTuple):
    """The vector or row that a thread reduces in a step.

    text: the index of the vector or row, as a map expression.
    more: the bounds of the expression's variables.
    """

    text: str
    more: Box


class OwnSteps(NamedTuple):
    """The steps in which a thread accumulates elements, before threads exchange values.

    steps: the steps that every thread of a block does.
    rest: a last step that only some threads do.
    body: the code of `steps`, or of `rest` if `steps` is None.
    """

    steps: Optional[ThreadSteps]
    rest: Optional[Rest]
    body: Body


class BlockWriter(reduction.ReductionWriter):
    """The writer of a block's work: the steps of each thread, and the exchange of totals.

    source: the scratch buffers that the second kernel reads (empty: the kernel reads the inputs).
    slots: number of results of a thread.
    """

    sweep: BlockSchedule

    def __init__(self, context: Context, nest: Reduction, digits: Digits, block: BlockSchedule,
                 index_type: str) -> None:
        super().__init__(context, nest, digits, block, index_type)
        self.device = context.device
        self.source: List[Buffer] = []
        self.slots = 1

    # ---- numbers ----

    def shuffles(self, block: BlockSchedule) -> bool:
        return self.d.has_shuffles and block.even and block.fold > 1

    def cells(self, block: BlockSchedule) -> int:
        """Return how many values a block has in shared memory for each slot (an accumulator of a thread): 0 if the
        elements of a result stay within a thread or a warp; one for each thread if there are no shuffles; else one for
        each of the first `across` lanes of every warp.
        """
        if block.fold == 1:
            return 0
        if not self.shuffles(block):
            return block.threads
        warp = self.device.warp
        return block.threads // warp * min(warp, block.across) if block.fold * block.across > warp else 0

    def accumulator(self, h: int, k: int, dtype: str) -> Accumulator:
        return Accumulator(self.name(h, k), dtype, self.d.register(dtype), self.start(h, k), self.name(h, k, "shared"),
                           self.name(h, k, "other"))

    # ---- positions of threads ----

    def placement(self) -> ThreadPlacement:
        """Return, as maps, which results and which elements each thread has. Set `bounds` to the bounds of the thread's
        coordinates.
        """
        block, digits, kept = self.sweep, self.digits, [k for k in self.digits.kept() if k != self.sweep.digit]
        rows, wide = math.prod(digits.sizes[k] for k in kept), self.wide()
        across, down = -(-wide // block.across), -(-rows // block.rows)
        blocks, group = block.parts * down * across, block.fold * block.across
        row = f"(((bl_x floordiv {across}) mod {down}) * {block.rows} + th_x floordiv {group})"
        column = f"((bl_x mod {across}) * {block.across} + th_x mod {block.across})"
        texts, weight = {}, rows
        for k in kept:
            weight //= digits.sizes[k]
            texts[f"g{k}"] = f"({row} floordiv {weight}) mod {digits.sizes[k]}"
        if block.digit is not None:
            texts["column"] = column
        if block.parts > 1:
            texts["part"] = f"bl_x floordiv {down * across}"
        box = {"th_x": (0, block.threads - 1), "bl_x": (0, blocks - 1)}
        domain = [f"{name} in [{low}, {high}]" for name, (low, high) in box.items()] + [
            f"{row} in [0, {rows - 1}]", f"{column} in [0, {wide - 1}]", f"th_x in [0, {block.rows * group - 1}]"]
        place = algebra.simplify(f"(th_x, bl_x) -> ({', '.join(texts.values())}), domain: {', '.join(domain)}")
        self.bounds: Box = {f"g{k}": (0, digits.sizes[k] - 1) for k in kept}
        if block.digit is not None:
            self.bounds["column"] = (0, wide - 1)
        if block.parts > 1:
            self.bounds["part"] = (0, block.parts - 1)
        share = algebra.simplify(
            f"(th_x) -> ((th_x floordiv {block.across}) mod {block.fold}), domain: th_x in [0, {block.rows * group - 1}]"
        )
        return ThreadPlacement(place, list(texts), box, share, blocks)

    def place(self) -> BlockPlace:
        """Return the coordinates of a thread's results, as C text."""
        place, names, box, share, _ = self.placement()
        values = [*zip(names, algebra.c_text(place, self.index_type).results),
                  ("f", algebra.c_text(share, self.index_type).results[0])]
        sizes = {**{name: high for name, (_, high) in self.bounds.items()}, "f": self.sweep.fold - 1}
        return BlockPlace(place, [Coordinate(name, text) for name, text in values if sizes[name]],
                          _needed(place, box, self.index_type))

    def wide(self) -> int:
        """Return the number of vectors (or elements) along the dimension that `across` counts; 1 if there is no such
        dimension.
        """
        digit = self.sweep.digit
        return 1 if digit is None else self.digits.sizes[digit] // (self.sweep.vec if digit == self.digits.minor else 1)

    def kept_at(self) -> "Dict[int, str]":
        """Return the index in each kept dimension, as a map expression."""
        block, minor = self.sweep, self.digits.minor
        along = f"column * {block.vec} + vec" if block.digit == minor and block.vec > 1 else "column"
        return {k: along if k == block.digit else f"g{k}" for k in self.digits.kept()}

    # ---- a thread's own steps ----

    def units(self) -> "Tuple[Optional[StepUnit], Optional[StepUnit]]":
        """Return the vector (or row) that a thread reduces in a step. The first value is for the steps that every
        thread of a block does, the second for the last step, which only some threads do. A value is None if there is no
        such step.
        """
        block = self.sweep
        count, left = divmod(math.prod(_digit_units(self.digits, block.vec).values()), block.fold)
        share = "f" if block.fold > 1 else "0"
        return (StepUnit(f"step * {block.fold} + {share}", {"step": (0, count - 1), "f": (0, block.fold - 1)})
                if count else None, StepUnit(f"{count * block.fold} + f", {"f": (0, left - 1)}) if left else None)

    def steps(self) -> OwnSteps:
        """Return the steps in which a thread accumulates elements, before threads exchange values."""
        block, (unit, short), steps, rest, body = self.sweep, self.units(), None, None, None
        if unit:
            body = self.step_body(unit)
            steps = ThreadSteps(unit.more["step"][1] + 1, block.unroll, StepCode.of_body(body, block.vec))
        if short:
            left, last = self.step_body(short), f"part == {block.parts - 1} && " if block.parts > 1 else ""
            rest = Rest(f"{last}f < {short.more['f'][1] + 1}", StepCode.of_body(left, block.vec))
            body = body or left
        assert body
        return OwnSteps(steps, rest, body)

    def step_form(self, unit: StepUnit) -> Form:
        """Return the plan of a step's code."""
        block, digits = self.sweep, self.digits
        box = {**self.bounds, **unit.more, "vec": (0, block.vec - 1)}
        over, at = _digit_units(digits, block.vec), self.kept_at()
        below = math.prod(over.values())
        for k, size in over.items():
            below //= size
            at[k] = f"((({unit.text}) floordiv {below}) mod {size})" + (
                f" * {block.vec} + vec" if k == digits.minor and block.vec > 1 else "")
        position = " + ".join(f"({at[k]}) * {digits.weights[k]}" for k in sorted(at))
        ranges = [name for name in ("step", "vec") if name in box]
        if self.source:
            return self.form(self.map(position, box, ranges), box, block, self.nest.epilogue)
        return self.form(self.thread(position, box, ranges), box, block, self.nest.inputs)

    def step_body(self, unit: StepUnit) -> Body:
        """Return the code of a step."""
        block, body = self.sweep, self.body_for(self.step_form(unit))
        slot = "0" if block.slots == 1 else "vec" if block.slots == block.vec else f"vec % {block.slots}"
        if self.source:
            values = [body.load_flat(buffer, body.thread, body.function.body) for buffer in self.source]
            if self.watched:
                body.text.add(Assign("odd", self.in_slot(values.pop().text), "|="))
            self.seen += [a for a in body.touched if a not in self.seen]
        else:
            values = self.values(body)
            for value, (h, _, dtype) in zip(values, self.accumulators):
                if h in self.watched and dtype in FLOATS:
                    body.text.add(Assign("odd", self.in_slot(f"({value.text} != {value.text})"), "|="))
        self.merge(body, slot, [v.text for v in values])
        return body

    def in_slot(self, text: str) -> str:
        """Return the C text of a NaN flag, shifted left to the bit of slot `vec`. It is not shifted if a thread has one
        slot.
        """
        return f"{text} << vec" if self.slots > 1 else text

    def merge(self, body: Body, slot: str, others: Sequence[str]) -> None:
        """Add the statements of a[slot] = f(a[slot], others) to the body."""
        for h in range(len(self.nest.heroes)):
            mine = [n for n, (hero, _, _) in enumerate(self.accumulators) if hero == h]
            old = [f"{self.name(h, k)}[{slot}]" for k in range(len(mine))]
            new = self.combined(body, h, old, [others[n] for n in mine], 1)
            body.text.add(*(Assign(a, b) for a, b in zip(old, new)))

    def combine(self, slot: str) -> List[Statement]:
        """Return the C lines of a[slot] = f(a[slot], other)."""
        body = self.plain()
        self.merge(body, slot, [self.name(h, k, "other") for h, k, _ in self.accumulators])
        return body.text.lines

    # ---- shared memory ----

    def cell_maps(self) -> "List[Tuple[str, Box]]":
        """Return two maps to positions in shared memory. A thread stores its value of a slot at the first position. At
        the second, it reads another thread's value, and folds that value into its own. Return no map if threads do not
        exchange values through shared memory.
        """
        block, warp = self.sweep, self.device.warp
        if not self.cells(block):
            return []
        if not self.shuffles(block):
            return [self.cell_map("th_x"),
                    self.cell_map(f"th_x + apart * {block.across}", "", {"apart": (0, block.fold // 2)})]
        lanes, group, warps = min(warp, block.across), block.fold * block.across, self.warps()
        return [self.cell_map(f"th_x floordiv {warp} * {lanes} + th_x mod {warp}", f", th_x mod {warp} in [0, {lanes - 1}]"),
                self.cell_map(f"((th_x floordiv {group}) * {warps} + warp) * {block.across} + th_x mod {group}",
                              f", th_x mod {group} in [0, {block.across - 1}]", {"warp": (0, warps - 1)})]

    def warps(self) -> int:
        """Return the number of warps that share a result and exchange values through shared memory."""
        block = self.sweep
        if not self.cells(block) or not self.shuffles(block):
            return 1
        return block.fold * block.across // max(self.device.warp, block.across)

    def folded(self, grid: Grid) -> Dict[str, Any]:
        """Return the fields of a FoldRecord."""
        _, coordinates, guard = self.place()
        own, others = [self.cell(*of) for of in self.cell_maps()] or (None, None)
        return {"placing": Placing(grid.blocks > 1, True, coordinates), "guard": guard, "fold": self.sweep.fold,
                "shuffles": self.shuffles(self.sweep), "cells": self.cells(self.sweep), "own": own, "others": others,
                "width": min(self.device.warp, self.sweep.fold * self.sweep.across), "warps": self.warps()}

    def cell_map(self, text: str, domain: str = "", more: "Optional[Box]" = None) -> "Tuple[str, Box]":
        """Return a map to positions in shared memory, and the bounds of its variables. The variables are the thread,
        those in `more`, and `vec`, the number of a slot (an accumulator of a thread). text: a map expression for the
        position among the values of one slot.
        """
        box = {"th_x": (0, self.sweep.threads - 1), **(more or {}), "vec": (0, self.slots - 1)}
        bounds = ", ".join(f"{name} in [{low}, {high}]" for name, (low, high) in box.items())
        names = ", ".join(name for name in box if name != "vec")
        return algebra.simplify(
            f"({names})[vec] -> (vec * {self.cells(self.sweep)} + {text}), domain: {bounds}{domain}"), box

    def cell(self, cell: str, box: Box) -> Cell:
        at, first = (algebra.c_text(index, self.index_type).results[0]
                     for index in (cell, algebra.substitute(cell, vec=0)))
        return Cell(at, first, _needed(cell, box, self.index_type))

    # ---- plans of code (forms) and maps ----

    def result_place(self) -> "Tuple[str, Box]":
        """Return the positions of a thread's results as a map expression, and the bounds of its variables."""
        return self.out_position(self.kept_at()), {**self.bounds,
                                                   **({"vec": (0, self.slots - 1)} if self.slots > 1 else {})}

    def block_forms(self) -> "List[Form]":
        """Return the forms (plans of code) of one kernel: those of its steps, then those of the stores of results."""
        self.slots = self.sweep.slots if self.sweep.digit == self.digits.minor else 1
        self.placement()
        steps = [self.step_form(unit) for unit in self.units() if unit]
        if self.source:  # the second kernel reads the totals of parts from scratch buffers
            empty = Partition(self.nest.epilogue.computation, [], "", self.nest.epilogue.entry.dims)
            steps = [self.form(form.thread, form.box, form.loop, empty) for form in steps]
        return steps + self.stored_forms(*self.result_place(), Schedule(vec=self.slots))

    def block_maps(self) -> "List[str]":
        """Return the maps of one kernel that become C text and do not belong to a plan of code (form)."""
        self.slots = self.sweep.slots if self.sweep.digit == self.digits.minor else 1
        placed = self.placement()
        return [placed.map, placed.share, *(cell for cell, _ in self.cell_maps())]


class ReductionGpuWriter(BlockWriter):
    """The writer of a reduction's kernels. A second kernel, if there is one, combines the totals of parts in scratch
    buffers.
    """

    def __init__(self, context: Context, nest: Reduction, digits: Digits, widths: Sequence[int],
                 index_type: str) -> None:
        super().__init__(context, nest, digits, BlockSchedule(), index_type)
        self.sweep = self.fitting(digits, widths, True)

    def fitting(self, digits: Digits, widths: Sequence[int], first: bool) -> BlockSchedule:
        """Return the schedule with the largest block whose values fit into shared memory."""
        sizes = [self.d.register_bits(dtype) // 8 for _, _, dtype in self.accumulators] + [4] * bool(self.watched)
        for vec in (16, 4, 2, 1):
            for threads in (self.device.reduction_gpu.threads, self.device.reduction_gpu.least_threads):
                block = _block(self.device, digits, widths, len(sizes), vec, threads, first)
                if self.cells(block) * (block.slots if digits.out[digits.minor]
                                        else 1) * sum(sizes) <= self.d.shared_bytes:
                    return block
        raise AssertionError("the least threads fit")

    def forms(self) -> "List[Form]":
        return list(self._of_each_kernel(self.block_forms))

    def maps(self) -> "List[str]":
        return self._of_each_kernel(self.block_maps)

    def positions(self) -> "List[str]":
        """Return, for each kernel, the map from a thread to its results."""
        return self._of_each_kernel(lambda: [self.placement().map])

    def grids(self) -> "List[Grid]":
        """Return the kernels with their launches."""
        def grid() -> "List[Grid]":
            thread, block = self.block_forms()[0].thread, self.sweep
            return [Grid(self.nest.name + "_parts" * bool(self.source), block, self.index_type, self.placement().blocks,
                         thread)]
        return self._of_each_kernel(grid)

    def _of_each_kernel(self, of_kernel: "Callable[[], List[T]]") -> "List[T]":
        """Call the function for the first kernel and, if there are parts, for the second kernel; return both results
        together.
        """
        parts = self.sweep.parts
        if parts == 1:
            return of_kernel()
        self.partial = [Buffer(Role.SCRATCH, k, shape, "x") for k, shape in enumerate(self.parts(parts))]
        of_first = of_kernel()
        self.fold_parts()
        return of_first + of_kernel()

    def fold_parts(self) -> None:
        """Switch the writer to the second kernel, which combines parts."""
        parts = self.sweep.parts
        self.source, self.partial, self.seen = self.partial, [], []
        self.digits = Digits((parts, self.results), (self.results, 1),
                             (0, 1)) if self.results > 1 else Digits((parts,), (1,), (0,))
        self.sweep = self.fitting(self.digits, [dtypes.storage_bytes(buffer.shape.dtype) for buffer in self.source],
                                  False)

    def kernels(self, between: "List[Buffer]", grids: "List[Grid]") -> List[Kernel]:
        """Return the kernels. between: the scratch buffers for the totals of parts."""
        nest = self.nest
        reads, writes = buffers_of(nest.inputs, nest.inputs.entry), [root.buffer for root in self.sides]
        results = [root.buffer for root in nest.epilogue.roots]
        if not between:
            both = [*reads, *self.read_for_results()]
            return [self.block_kernel(grids[0], both, [*writes, *results], [nest.inputs, *self.results_of()])]
        self.partial = between
        first = self.block_kernel(grids[0], reads, [*writes, *between], [nest.inputs])
        self.fold_parts()
        return [first, self.block_kernel(grids[1], [*between, *self.read_for_results()], results, self.results_of())]

    def block_kernel(self, grid: Grid, reads: "Sequence[Buffer]", writes: "Sequence[Buffer]",
                     partitions: Sequence[Partition]) -> Kernel:
        """Return one kernel. In it, each thread does its steps, then the threads combine (fold) their values."""
        block, digits = self.sweep, self.digits
        self.slots = block.slots if block.digit == digits.minor else 1
        slot = "vec" if self.slots > 1 else "0"
        folded = self.folded(grid)
        steps, rest, body = self.steps()
        totals = [[f"{self.name(h, k)}[{slot}]" for k in range(len(self.types_of(h)))]
                  for h in range(len(self.nest.heroes))]
        where, box = self.result_place()
        results = StepCode.of_body(self.store_totals(where, box, Schedule(vec=self.slots), totals,
                                                     "odd >> vec & 1" if self.slots > 1 else "odd"), self.slots)
        again = StepCode.of_body(self.in_order(where, box), 1) if self.watched and not self.partial else None
        kernel = self.kernel(grid, reads, writes, partitions)
        kernel.report.code = StepCode.of_body(body, block.vec)
        kernel.text.template = "kernels/reduction_gpu"
        kernel.text.record = ReductionGpuRecord(
            **folded, accumulators=[self.accumulator(h, k, dtype) for h, k, dtype in self.accumulators],
            held=block.slots, slots=self.slots, slot=slot, watched=bool(self.watched), parts=block.parts,
            per_part=block.per_part, steps=steps, rest=rest, across=block.across, results=results, again=again,
            combine=self.combine)
        return kernel
