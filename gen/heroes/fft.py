"""The hero (kernel emitter) of fft: one kernel for each dimension that is transformed, two kernels for a long
dimension. gen/plan/fft.py describes the transform of a row.

A work-item transforms one row at a time. If rows are short or adjacent in memory, it transforms several rows at once,
one in each vector lane. Real and imaginary parts are stored separately. Each stage reads one buffer and writes another;
these two buffers are arrays of the work-item if they are small, else scratch memory. An inverse transform is the
forward transform of numbers whose real and imaginary parts are swapped.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Tuple

from gen import algebra
from gen.emit.form import Form
from gen.emit.maps import INDEX_TYPES
from gen.emit.templates import macro
from gen.heroes.hero import Choice, Context, Hero
from gen.heroes.kernel import Argument, Grid, Kernel, Report, StepCode, Text, arguments
from gen.hlo import Shape, array_shape, dtypes
from gen.plan import fft
from gen.plan.buffer import Buffer
from gen.plan.buffers import strides_of
from gen.plan.whole import Whole
from gen.schedule import LINE, Device, Schedule
from gen.targets import Target


@dataclass(frozen=True)
class Pass:
    """A pass over the elements of the rows that a work-item transforms.

    kind: "load" and "store" copy from and to memory. "stage" is a radix stage. "turn" multiplies by roots of unity and
        transposes, between the transforms of length n1 and n2. The others are for Bluestein's convolution with a fixed
        sequence (gen/plan/fft.py): "times" multiplies by the transform of the sequence. If no table has this transform,
        it is computed first, from the sequence that "fill" writes; "keep" stores it.
    of, to: the buffers that the pass reads and writes, "a" or "b".
    offset: the place of a stage's first root in the table of roots of unity, as an index.
    """

    kind: str
    of: str
    to: str
    stage: Optional[fft.RadixStage] = None
    offset: int = 0


@dataclass(frozen=True)
class Axis:
    """A kernel that transforms all rows along one dimension; a transform has length n.

    source, target: names of the arrays that the kernel reads and writes.
    others: the size of each other dimension and its strides in both arrays. Lanes of a vector are adjacent along the
        last of these dimensions.
    along: strides within a row, in both arrays.
    reads, writes: the numbers that the kernel reads and writes: "complex", "real" or "half" (half a spectrum). If a row
        has 2 n numbers, "pairs" may replace "real": a pair of real numbers is read or written as one complex number.
        "folded" may replace "half": the kernel converts half a spectrum to or from the transform of such pairs.
    swaps: two flags, for reading and for writing: true if real and imaginary parts are swapped.
    late: true if Bluestein's factors (gen/plan/fft.py) are computed at run time and not read from tables.
    lanes: number of rows that are transformed at once.
    turned: if it is not 0, the kernel multiplies each result by w^(index in the row * index of the row), where w is
        `fft.root(1, turned)`.
    whole: length of the transform that this kernel and another kernel compute together; 0 if this kernel is alone.
    """

    source: str
    target: str
    n: int
    others: Tuple[Tuple[int, int, int], ...]
    along: Tuple[int, int]
    part: str
    reads: str
    writes: str
    swaps: Tuple[bool, bool]
    scale: float
    late: bool = False
    lanes: int = 1
    turned: int = 0
    whole: int = 0

    @property
    def m(self) -> int:
        """Return the length of the transforms that compute a row: the row's own length, or the padded length of
        Bluestein's convolution.
        """
        return self.n if fft.is_smooth(self.n) else fft.padded(self.n)

    @property
    def convolved(self) -> bool:
        return self.m != self.n

    @property
    def bytes(self) -> int:
        return dtypes.storage_bytes(self.part)

    @property
    def numbers(self) -> int:
        """Return the number of real numbers in a work-item's buffers."""
        return 4 * self.m * self.lanes + 2 * self.m * self.late

    @property
    def rows(self) -> int:
        return math.prod(size for size, _, _ in self.others)


def rows_of(source: Shape, target: Shape, dimension: int) -> "Tuple[Tuple[int, int, int], ...]":
    """Return (size, stride in `source`, stride in `target`) for each dimension that is not transformed, in the order of
    decreasing strides in `source`. Adjacent dimensions are merged if both arrays allow this.
    """
    of, to = strides_of(source), strides_of(target)
    merged: List[Tuple[int, int, int]] = []
    for d in sorted((d for d in range(source.rank) if d != dimension and source.dims[d] != 1), key=lambda d: -of[d]):
        size = source.dims[d]
        if merged and merged[-1][1:] == (of[d] * size, to[d] * size):
            size *= merged.pop()[0]
        merged.append((size, of[d], to[d]))
    return tuple(merged) or ((1, 0, 0),)


@dataclass(frozen=True)
class FftSchedule:
    """The kernels of an fft.

    axes: the kernels, in order.
    between: the arrays between the kernels, by name.
    """

    axes: Tuple[Axis, ...]
    between: Dict[str, Shape]


@dataclass(frozen=True)
class Roots:
    """The names of the tables of roots of unity that a kernel reads; "" if it does not read a table.

    w: roots for the stages.
    turn: roots for the multiplication between the transforms of length n1 and of length n2.
    high, low: two tables that replace a long `turn`: each root is the product of an entry of `high` and an entry of
        `low`.
    window: number of entries of `low`.
    block: number of adjacent elements that are computed together.
    kernel, chirp: the two tables of Bluestein's algorithm (gen/plan/fft.py). The algorithm convolves with a fixed
        sequence: `kernel` is the transform of this sequence. `chirp` has the chirp factors.
    chirp_high, chirp_low, chirp_window: as high, low and window, for the chirp factors.
    fold: roots that compute half a spectrum from the transform of pairs.
    """

    axis: Axis
    w: str
    turn: str
    high: str
    low: str
    window: int
    block: int
    kernel: str
    chirp: str
    fold: str
    chirp_high: str
    chirp_low: str
    chirp_window: int

    def number(self, value: float) -> str:
        return number(value, self.axis.part)

    def cosine(self, index: int, length: int) -> str:
        """Return the real part of a root of unity, as C text."""
        return self.number(fft.root(index, length).real)

    def sine(self, index: int, length: int) -> str:
        """Return minus the imaginary part of a root of unity, as C text."""
        return self.number(-fft.root(index, length).imag)

    @property
    def half(self) -> str:
        return number(0.5, self.axis.part)


@dataclass(frozen=True)
class FftRecord(Roots):
    """The values that templates/kernels/fft.j2 prints. A unit is the group of rows that a work-item transforms at once.

    real: the type of a number.
    origin: C texts of a unit's start in the array that is read and in the array that is written.
    along, across: in both arrays, the stride within a row and the stride from row to row.
    count: number of rows of the unit, as C text.
    whole: true if all units have the same number of rows.
    group: C text of the unit's index along the last dimension that is not transformed.
    work: the scratch buffer; "" if the work-item has arrays of its own.
    """

    real: str
    wide: str
    source: str
    target: str
    units: int
    chunk: int
    items: int
    origin: Tuple[str, str]
    along: Tuple[int, int]
    across: Tuple[int, int]
    count: str
    whole: bool
    group: str
    first: Sequence[Pass]
    passes: Sequence[Pass]
    split: Tuple[int, int]
    work: str
    scale: str

    @property
    def over(self) -> str:
        """Return 1 / m as C text, where m is the length of the transforms that compute a convolution."""
        return number(1 / self.axis.m, self.axis.part)


class FftHero(Hero[Whole, FftSchedule]):
    """The emitter (hero) that writes the kernels for all dimensions of an fft."""

    name = "fft"
    nest_class = Whole

    def takes(self, nest: Whole, context: Context) -> bool:
        return nest.op.opcode == "fft"

    def schedules(self, nest: Whole, context: Context) -> "Iterable[FftSchedule]":
        return [plan(nest, context.device)]

    def maps(self, nest: Whole, schedule: FftSchedule, context: Context) -> "Iterable[str]":
        return [origin_map(axis.others, axis.lanes, which) for axis in schedule.axes for which in (1, 2)]

    def index_types(self, schedule: FftSchedule) -> "Sequence[str]":
        return index_types(schedule)

    def forms(self, nest: Whole, schedule: FftSchedule, context: Context) -> "Iterable[Form]":
        return []

    def scratch_shapes(self, nest: Whole, schedule: FftSchedule, context: Context) -> "List[Shape]":
        work = max(items(axis, context)[0] * axis.numbers * (not in_own_buffers(axis, context))
                   for axis in schedule.axes)
        return [*schedule.between.values(), *([array_shape(schedule.axes[0].part, (work,))] if work else [])]

    def grids(self, choice: Choice[Whole, FftSchedule], context: Context) -> "List[Grid]":
        grids = []
        for number, axis in enumerate(choice.schedule.axes):
            count = items(axis, context)[0]
            threads = min(context.device.fft.threads, count)
            blocks = -(-count // threads)
            grids.append(Grid(choice.nest.name + (f"_{number}" if number else ""), Schedule(threads=threads),
                              choice.index, blocks, f"(bl_x) -> (bl_x), domain: bl_x in [0, {blocks - 1}]"))
        return grids

    def build(self, choice: Choice[Whole, FftSchedule], context: Context) -> "List[Kernel]":
        nest, plan_ = choice.nest, choice.schedule
        arrays = {"parameter": nest.operands[0], "result": nest.results[0], **dict(zip(plan_.between, choice.scratch))}
        return [axis_kernel(context, grid, choice, axis, (arrays[axis.source], arrays[axis.target]), choice.scratch)
                for grid, axis in zip(choice.grids, plan_.axes)]

    def describe(self, choice: Choice[Whole, FftSchedule], grid: Grid, context: Context) -> "List[str]":
        axis = choice.schedule.axes[choice.grids.index(grid)]
        method = "convolution, transforms of length %d" % axis.m if axis.convolved else "length %d" % axis.m
        radices = [radix for length in halves(axis) for radix in fft.radices(length)] * (1 + axis.convolved)
        return [f"from {axis.source} to {axis.target}: {method} as {' x '.join(map(str, halves(axis)))}, radices "
                + " ".join(map(str, radices))
                + f", {axis.lanes} rows beside each other, {items(axis, context)[1]} turns of a work-item"]


HERO = FftHero()
Divide = Callable[[Axis, Dict[str, Shape]], List[Axis]]


def plan(nest: Whole, device: Device, divided: "Optional[Divide]" = None, longest: int = 0) -> FftSchedule:
    """Return the kernels of an fft. The last dimension is transformed first if the input is real, and last if the
    output is real.

    divided: function that returns the kernels for one dimension; None: work-items transform rows.
    longest: a real row may be transformed as complex numbers, each made of two adjacent numbers of the row. This is the
        maximum number of such pairs; 0: any number.
    """
    of, to, kind = nest.op.operands[0].shape, nest.op.shape, nest.op.attributes["fft_type"]
    lengths = nest.op.attributes["fft_length"]
    first, inverse = of.rank - len(lengths), kind in ("IFFT", "IRFFT")
    order = list(range(first, of.rank))[::-1]
    if kind == "IRFFT":
        order = order[1:] + order[:1]
    part = dtypes.TABLE[to.dtype].part or to.dtype
    axes: List[Axis] = []
    between: Dict[str, Shape] = {}
    now, name = of, "parameter"
    for dimension in order:
        minor = dimension == of.rank - 1
        goal, target = to, "result"
        if kind == "IRFFT" and not minor:
            target = "spectrum"
            goal = between[target] = array_shape(of.dtype, of.dims, of.minor_to_major)
        n = lengths[dimension - first]
        reads = {"RFFT": "real", "IRFFT": "half"}[kind] if minor and kind in ("RFFT", "IRFFT") else "complex"
        writes = {"RFFT": "half", "IRFFT": "real"}[kind] if minor and kind in ("RFFT", "IRFFT") else "complex"
        half = n // 2
        if (reads, writes) != ("complex", "complex") and n % 2 == 0 and half > 1 and fft.is_smooth(half) and (
                2 * (half + 1) * dtypes.storage_bytes(part) <= device.fft.fold_bytes) and half <= (longest or half):
            reads = {"real": "pairs", "half": "folded"}[reads]
            writes = {"real": "pairs", "half": "folded"}[writes]
        along = (strides_of(now)[dimension], strides_of(goal)[dimension])
        axis = Axis(name, target, half if reads in ("pairs", "folded") else n, rows_of(now, goal, dimension), along,
                    part, reads, writes, (inverse, inverse), 1.0 / n if inverse else 1.0)
        axis = replace(axis, late=axis.convolved and 2 * axis.m * axis.bytes > device.fft.kernel_bytes)
        if divided:
            axes += divided(axis, between)
        else:
            axes += _divided(axis, device, between) if n > device.fft.own_length else [axis]
        now, name = goal, target
    return FftSchedule(tuple(axes), between)


def _divided(axis: Axis, device: Device, between: "Dict[str, Shape]") -> "List[Axis]":
    """Return the kernels for one dimension. Several rows are transformed at once if this is faster. A long transform
    becomes two kernels (`columns_and_rows`).
    """
    cpu, numbers = device.cpu, device.fft
    lanes = LINE // axis.bytes if cpu else 1
    size, of, _ = axis.others[-1]
    most = numbers.short_column if of < axis.along[0] else numbers.short_row
    if cpu and size >= lanes // 2 and axis.m <= most and not axis.late:
        fitting = numbers.own_bytes // (4 * axis.m * axis.bytes)
        return [replace(axis, lanes=min(lanes, size, max(fitting, lanes // 2)))]
    short = 4 * axis.m * axis.bytes <= numbers.own_bytes
    if short or axis.convolved or (axis.reads, axis.writes) != ("complex", "complex"):
        return [axis]
    n1, n2 = fft.split(axis.n, LINE // axis.bytes)
    if n2 == 1:
        return [axis]
    most = max(1, numbers.own_bytes // (4 * max(n1, n2) * axis.bytes)) if cpu else 1
    lanes = min(lanes, 1 << most.bit_length() - 1)
    first, second = columns_and_rows(axis, n1, n2, between)
    return [replace(first, lanes=min(lanes, n2)), replace(second, lanes=min(lanes, n1))]


def columns_and_rows(axis: Axis, n1: int, n2: int, between: "Dict[str, Shape]") -> "Tuple[Axis, Axis]":
    """Divide a transform of length n1 * n2 into two kernels, and add the array between them to `between`. The first
    kernel transforms the columns of a matrix of n1 rows and multiplies the results by roots of unity; the second
    transforms rows of n2 of these results.
    """
    middle = array_shape({"f32": "c64", "f64": "c128"}[axis.part], (*(size for size, _, _ in axis.others), axis.n))
    between["middle"] = max(middle, between.get("middle", middle), key=lambda shape: shape.elements)
    steps = strides_of(middle)[:-1]
    along, to = axis.along
    columns = [(size, of, step) for (size, of, _), step in zip(axis.others, steps)] + [(n2, along, n1)]
    rows = [(size, step, to_) for (size, _, to_), step in zip(axis.others, steps)] + [(n1, 1, to)]
    return (replace(axis, target="middle", n=n1, others=tuple(columns), along=(n2 * along, 1), writes="complex",
                    swaps=(axis.swaps[0], False), scale=1.0, turned=axis.n, whole=axis.n),
            replace(axis, source="middle", n=n2, others=tuple(rows), along=(n1, n1 * to), reads="complex",
                    swaps=(False, axis.swaps[1]), whole=axis.n))


def units(axis: Axis) -> int:
    """Return the number of units. A unit is the group of rows that are transformed at once."""
    return math.prod(size for size, _, _ in axis.others[:-1]) * -(-axis.others[-1][0] // axis.lanes)


def in_own_buffers(axis: Axis, context: Context) -> bool:
    """Return true if the buffers of a work-item are small enough to be arrays of its own."""
    return axis.numbers * axis.bytes <= context.device.fft.own_bytes


def items(axis: Axis, context: Context) -> "Tuple[int, int]":
    """Return the number of work-items, and the number of units (groups of rows) that each work-item transforms."""
    numbers = context.device.fft
    most = numbers.items
    if numbers.scratch_bytes and not in_own_buffers(axis, context):
        most = max(1, min(most, numbers.scratch_bytes // (axis.numbers * axis.bytes)))
    chunk = -(-units(axis) // most)
    return -(-units(axis) // chunk), chunk


# ---- a kernel ----

def core(axis: Axis, of: str, pair: "Tuple[int, int]") -> "Tuple[List[Pass], str]":
    """Return the passes of a transform of length m that starts in buffer `of`, and the buffer that has the result."""
    made: List[Pass] = []
    offset = 0

    def add(kind: str, stage: "Optional[fft.RadixStage]" = None) -> None:
        nonlocal of, offset
        to = "b" if of == "a" else "a"
        made.append(Pass(kind, of, to, stage, offset))
        of = to
        offset += 2 * (stage.radix - 1) * stage.blocks if stage and stage.blocks > 1 else 0

    first, second = pair
    for stage in fft.stages(first, second * axis.lanes):
        add("stage", stage)
    if second > 1:
        add("turn")
        for stage in fft.stages(second, first):
            add("stage", stage)
    return made, of


def halves(axis: Axis) -> "Tuple[int, int]":
    """Return the lengths (n1, n2) of the two transforms into which a kernel splits the transform of a row; n2 is 1 if
    the kernel does not split it.
    """
    return fft.split(axis.m, LINE // axis.bytes) if axis.lanes == 1 and not axis.whole else (axis.m, 1)


def axis_kernel(context: Context, grid: Grid, choice: Choice[Whole, FftSchedule], axis: Axis, buffers: "Tuple[Buffer, Buffer]",
                scratch: "List[Buffer]") -> Kernel:
    d, (now, to), pair = context.target, buffers, halves(axis)
    passes, at = core(axis, "a", pair)
    first: List[Pass] = []
    if axis.late:
        first = [Pass("fill", "", "a"), *passes, Pass("keep", at, "")]
    if axis.convolved:
        again, end = core(axis, at, pair)
        passes, at = [*passes, Pass("times", at, at), *again], end
    passes = [Pass("load", "", "a"), *passes, Pass("store", at, "")]
    count, chunk = items(axis, context)
    mine = in_own_buffers(axis, context)
    others = axis.others
    size, fast_of, fast_to = others[-1]
    groups, left = -(-size // axis.lanes), size % axis.lanes
    record = FftRecord(
        **vars(tables(context, grid.name, axis, pair)), real=d.register(axis.part), wide=d.types["u64"],
        source=now.pointer, target=to.pointer, units=units(axis), chunk=chunk, items=count,
        origin=(origin(others, axis.lanes, 1, choice.index), origin(others, axis.lanes, 2, choice.index)),
        along=axis.along, across=(fast_of, fast_to),
        count=(f"(unit % {groups} == {groups - 1} ? {left} : {axis.lanes})" if groups > 1 else f"{left}") if left
        else f"{axis.lanes}", whole=left == 0, group=f"unit % {groups}" if len(others) > 1 else "unit", first=first,
        passes=passes, split=pair, work="" if mine else scratch[-1].pointer,
        scale=number(axis.scale, axis.part) if axis.scale != 1 else "")
    stage = next((each.stage for each in passes if each.stage), None)
    writes = [to, *([] if mine else scratch[-1:])]
    lines = macro("parts/fft.j2", "transform", r=record, f=record.real, p=stage.radix).splitlines() if stage else []
    kernel = Kernel(grid, choice.nest, arguments(d, [] if now == to else [now], writes),
                    Text("kernels/fft", record, attribute=d.launch_bounds(grid.threads)),
                    Report(code=StepCode([], lines, [], repeated="for each transform of the first stage")))
    kernel.arguments = in_parts(d, kernel.arguments, axis.part)
    return kernel


def in_parts(d: Target, of: "List[Argument]", part: str) -> "List[Argument]":
    """Return the arguments with the element types of complex arrays replaced by the type of their real and imaginary
    parts.
    """
    return [replace(argument, type=d.array(part, argument.read_only))
            if dtypes.is_complex(argument.buffer.shape.dtype) else argument for argument in of]


def index_types(schedule: FftSchedule) -> "Sequence[str]":
    """Return the index types that can count real and imaginary parts."""
    most = max(4 * axis.rows * axis.m for axis in schedule.axes)
    return INDEX_TYPES if most < 1 << 31 else INDEX_TYPES[-1:]


def origin(others: "Sequence[Tuple[int, int, int]]", lanes: int, which: int, index_type: str) -> str:
    """Return the position of the first element of a unit (a group of rows), as C text."""
    return algebra.c_text(origin_map(others, lanes, which), index_type).results[0]


def origin_map(others: "Sequence[Tuple[int, int, int]]", lanes: int, which: int) -> str:
    """Return the map from a unit (a group of rows) to the position of its first element. which: 1 for the array that is
    read, 2 for the array that is written.
    """
    sizes = [*(size for size, *_ in others[:-1]), -(-others[-1][0] // lanes)]
    terms, below = [], 1
    for other, size, step in zip(reversed(others), reversed(sizes), [lanes, *[1] * len(others)]):
        terms.append(f"((unit floordiv {below}) mod {size}) * {other[which] * step}")
        below *= size
    return algebra.simplify(f"(unit) -> ({' + '.join(terms)}), domain: unit in [0, {below - 1}]")


def number(value: float, part: str) -> str:
    """Return a constant as C text, rounded to the type `part`."""
    exact = dtypes.decode(dtypes.encode(value, part), part)
    text = f"{exact:.9g}" if part == "f32" else repr(exact)
    return text + ("" if set(text) & set(".en") else ".0") + ("f" if part == "f32" else "")


def tables(context: Context, name: str, axis: Axis, pair: "Tuple[int, int]", by_power: bool = False) -> Roots:
    """Add the tables of roots of unity that a kernel needs, and return their names.

    by_power: the order of a stage's roots in memory. The stage multiplies result j of a butterfly in block q by
        `fft.root(q * j, stage.length)`. True: j is the outer index of the table. False: q is the outer index.
    """
    m, n = axis.m, axis.n
    given: "Dict[str, Any]" = {**{role.name: "" for role in fields(Roots)}, "window": 0, "block": 1, "chirp_window": 0,
                               "axis": axis}

    def table(role: str, values: "Sequence[complex]") -> None:
        given[role] = f"{name}_{role}"
        add_table(context, given[role], axis.part, values)

    def pair_of_tables(prefix: str, length: int) -> None:
        """Add two tables, `low` and `high`; the products of their entries are all roots of unity of this length."""
        given[f"{prefix}window"] = window = 1 << (length.bit_length() + 1) // 2
        table(f"{prefix}low", [fft.root(e, length) for e in range(window)])
        table(f"{prefix}high", [fft.root(e * window, length) for e in range(-(-length // window))])

    roots = []  # type: List[complex]
    for stage in (stage for length in pair for stage in fft.stages(length, 1) if stage.blocks > 1):
        of_blocks = [[fft.root(q * j, stage.length) for j in range(1, stage.radix)] for q in range(stage.blocks)]
        roots += [root for line in (zip(*of_blocks) if by_power else of_blocks) for root in line]
    if roots:
        table("w", roots)
    n1, n2 = pair
    if axis.turned:
        given["block"] = next(size for size in range(16, 0, -1) if n % size == 0)
        pair_of_tables("", axis.turned)
    elif n2 > 1 and 2 * m * axis.bytes <= context.device.fft.turn_bytes:
        table("turn", [fft.root(j * k, m) for j in range(n2) for k in range(n1)])
    elif n2 > 1:
        given["block"] = next(size for size in range(16, 0, -1) if n1 % size == 0)
        pair_of_tables("", m)
    if axis.late:
        pair_of_tables("chirp_", 2 * n)
    if "folded" in (axis.reads, axis.writes):
        table("fold", [fft.root(k, 2 * n) for k in range(n + 1)])
    if axis.convolved and not axis.late:
        table("chirp", [fft.chirp(k, n) for k in range(n)])
        table("kernel", fft.kernel_of_convolution(n, m))
    return Roots(**given)


def add_table(context: Context, name: str, part: str, values: "Sequence[complex]") -> None:
    """Add a table of complex numbers to the file, with real and imaginary parts alternating."""
    texts = [f"{number(value.real, part)}, {number(value.imag, part)}" for value in values]
    lines = [", ".join(texts[at:at + 4]) for at in range(0, len(texts), 4)]
    context.helpers.add_table(name, name, context.target.register(part), lines)
