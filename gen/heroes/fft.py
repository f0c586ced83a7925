"""The hero of fft: a kernel for each dimension that is transformed, and a row of it after the other (gen/plan/fft.py says
how one is).

A work-item transforms a row at a time, or some rows beside each other, lane by lane: rows that are neighbours in memory,
or short ones. Its elements, real and imaginary parts apart, go between two buffers: of the work-item's own where they are
small, else in scratch. An inverse transform is the forward one of numbers whose parts are swapped.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple

from gen import algebra
from gen.emit.maps import INDEX_TYPES
from gen.heroes.hero import Choice, Context, Hero
from gen.heroes.kernel import Kernel, Step, arguments
from gen.hlo import Shape, array_shape, dtypes
from gen.plan import fft
from gen.plan.buffer import Buffer
from gen.plan.nest import Nest
from gen.plan.whole import Whole
from gen.schedule import Schedule
from gen.targets import Target

STACK_BYTES = 32 << 10      # of a work-item's own buffers on a CPU
PRIVATE_BYTES = 1 << 10     # and on a GPU
SCRATCH_BYTES = 64 << 20    # of the buffers of all work-items of a GPU together, at most
TURN_BYTES = 16 << 10       # of a table of all roots between n1 and n2; longer ones are products of two tables'
KERNEL_BYTES = 64 << 10     # of the table of a convolution's kernel, which is computed at run time beyond
CPU_ITEMS, GPU_ITEMS = 32, 4096
GPU_THREADS = 64
SHORT = 128                 # elements of a row below which rows are transformed beside each other


@dataclass(frozen=True)
class Pass:
    """A pass over the elements of the rows: load, stage, turn, times, store, or fill and keep, which compute the kernel
    of a convolution. of, to: the buffers, "a" and "b". offset: of a stage's roots in the table."""

    kind: str
    of: str
    to: str
    stage: Optional[fft.Stage] = None
    offset: int = 0
    lines: Sequence[str] = ()


@dataclass(frozen=True)
class Axis:
    """A kernel: the transform of one dimension. source, target: the shapes that it reads and writes. reads: "complex",
    "real", or "half" a spectrum. writes: likewise. n: the length, m: of the transforms that it is made of."""

    source: Shape
    target: Shape
    dimension: int
    n: int
    inverse: bool
    reads: str
    writes: str
    scale: float
    lanes: int

    @property
    def m(self) -> int:
        return self.n if fft.is_smooth(self.n) else fft.padded(self.n)

    @property
    def convolved(self) -> bool:
        return self.m != self.n

    @property
    def part(self) -> str:
        return dtypes.TABLE[self.source.dtype].part or self.source.dtype

    @property
    def bytes(self) -> int:
        return dtypes.storage_bytes(self.part)

    @property
    def late(self) -> bool:
        """Whether the kernel of a convolution is computed at run time."""
        return self.convolved and 2 * self.m * self.bytes > KERNEL_BYTES

    @property
    def numbers(self) -> int:
        """Of a work-item's buffers."""
        return 4 * self.m * self.lanes + 2 * self.m * self.late

    def others(self) -> "Tuple[List[Tuple[int, int, int]], Tuple[int, int]]":
        """The other dimensions as size, stride of source and of target, the fastest last, neighbours merged; then the two
        strides of the dimension."""
        of, to = strides(self.source), strides(self.target)
        order = sorted((d for d in range(self.source.rank) if d != self.dimension), key=lambda d: -of[d])
        merged: List[Tuple[int, int, int]] = []
        for size, a, b in ((self.source.dims[d], of[d], to[d]) for d in order if self.source.dims[d] != 1):
            if merged and merged[-1][1:] == (a * size, b * size):
                size *= merged.pop()[0]
            merged.append((size, a, b))
        return merged or [(1, 0, 0)], (of[self.dimension], to[self.dimension])


def strides(shape: Shape) -> List[int]:
    """Elements between neighbours along each dimension."""
    index = algebra.call("shape", "map", shape.text)
    return [algebra.evaluate(index, *(int(k == d) for k in range(shape.rank)))[0] if size > 1 else 0
            for d, size in enumerate(shape.dims)]


@dataclass(frozen=True)
class Plan:
    """axes: the kernels in their order. between: the array that half spectra go through before the last, if there is
    one."""

    axes: Tuple[Axis, ...]
    between: Optional[Shape] = None


@dataclass(frozen=True)
class Record:
    """What templates/kernels/fft.j2 prints. real: the type of a number. origin: of a unit of rows in the array that is
    read and in the one that is written; steps: elements from one to the next along the row, and from row to row. count:
    rows of the unit, as C text; whole: whether it is the same for all. work: the scratch buffer, "" where buffers are the
    work-item's own. Names of tables, "" where there is none: w of stages, turn between them, or high and low, whose
    products are the roots (window: entries of low); kernel and chirp of a convolution, or their roots' tables."""

    axis: Axis
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
    first: Sequence[Pass]
    passes: Sequence[Pass]
    split: Tuple[int, int]
    work: str
    scale: str
    w: str = ""
    turn: str = ""
    high: str = ""
    low: str = ""
    window: int = 0
    block: int = 1
    kernel: str = ""
    chirp: str = ""
    chirp_high: str = ""
    chirp_low: str = ""
    chirp_window: int = 0

    def line(self, text: str) -> str:
        """A statement of gen/plan/fft.py `sums`, with its numbers in the type."""
        return re.sub(r"\{([^}]*)\}", lambda match: number(float(match[1]), self.axis.part), text)

    @property
    def over(self) -> str:
        """One over the length of a convolution's transforms."""
        return number(1 / self.axis.m, self.axis.part)


class FftHero(Hero):
    """All dimensions of one fft."""

    name = "fft"

    def takes(self, nest: Nest, context: Context) -> bool:
        return isinstance(nest, Whole) and nest.op.opcode == "fft"

    def schedules(self, nest: Nest, context: Context) -> "Iterable[Any]":
        assert isinstance(nest, Whole)
        return [plan(nest, context.device.cpu)]

    def index_types(self, schedule: Any) -> "Sequence[str]":
        most = max(4 * shape.elements for axis in schedule.axes for shape in (axis.source, axis.target))
        return INDEX_TYPES[:1] if most < 1 << 31 else INDEX_TYPES[-1:]

    def forms(self, nest: Nest, schedule: Any, context: Context) -> "Iterable[Any]":
        return []

    def between(self, nest: Nest, schedule: Any, context: Context) -> "List[Shape]":
        shapes = [schedule.between] if schedule.between else []
        work = max(items(axis, context)[0] * axis.numbers * (not own(axis, context)) for axis in schedule.axes)
        return [*shapes, *([array_shape(schedule.axes[0].part, (work,))] if work else [])]

    def build(self, choice: Choice, context: Context) -> "List[Kernel]":
        nest, scratch = choice.nest, list(choice.scratch)
        assert isinstance(nest, Whole)
        middle = [scratch.pop(0)] if choice.schedule.between else []
        nest.operations = sum(units(axis) * axis.lanes * axis.m * max(1, axis.m.bit_length()) // 2
                              for axis in choice.schedule.axes)
        kernels, now = [], nest.operands[0]
        for number, axis in enumerate(choice.schedule.axes):
            last = number == len(choice.schedule.axes) - 1
            to = nest.results[0] if last or not middle else middle[0]
            name = nest.name + (f"_{number}" if number else "")
            kernels.append(written(context, name, choice, axis, (now, to), scratch))
            now = to
        return kernels

    def describe(self, kernel: Kernel) -> "List[str]":
        axis = kernel.record.axis
        by = "convolution, transforms of length %d" % axis.m if axis.convolved else "length %d" % axis.m
        return [f"dimension {axis.dimension}: {by} as {' x '.join(map(str, kernel.record.split))}, radices "
                + " ".join(str(p.stage.radix) for p in kernel.record.passes if p.stage)
                + f", {axis.lanes} rows beside each other, {kernel.record.chunk} turns of a work-item"]


HERO = FftHero()


def plan(nest: Whole, cpu: bool) -> Plan:
    """The kernels of an fft: the last dimension goes first where it is real before, last where it is real after."""
    of, to, kind = nest.op.operands[0].shape, nest.op.shape, nest.op.attributes["fft_type"]
    lengths = nest.op.attributes["fft_length"]
    first, inverse = of.rank - len(lengths), kind in ("IFFT", "IRFFT")
    spectrum = of if kind == "IRFFT" else to
    order = list(range(first, of.rank))[::-1]
    if kind == "IRFFT":
        order = order[1:] + order[:1]
    axes: List[Axis] = []
    now = of
    between = None
    for number, dimension in enumerate(order):
        minor = dimension == of.rank - 1
        reads, writes = "complex", "complex"
        if minor and kind == "RFFT":
            reads = "real"
        if minor and kind == "IRFFT":
            reads, writes = "half", "real"
        goal = to
        if kind == "IRFFT" and not minor:
            goal = between = array_shape(spectrum.dtype, spectrum.dims, spectrum.minor_to_major)
        n = lengths[dimension - first]
        axis = Axis(now, goal, dimension, n, inverse, reads, writes, 1.0 / n if inverse else 1.0, 1)
        axes.append(_beside(axis) if cpu else axis)
        now = goal
    return Plan(tuple(axes), between)


def _beside(axis: Axis) -> Axis:
    """The axis with rows beside each other, where that is better than one by one."""
    lanes = 64 // axis.bytes
    (size, of, _), (along, _) = axis.others()[0][-1], axis.others()[1]
    near = of < along
    if size >= lanes // 2 and axis.m <= (2048 if near else SHORT) and not axis.late:
        return replace(axis, lanes=min(lanes, size))
    return axis


def units(axis: Axis) -> int:
    """Of rows that are transformed at once."""
    others = axis.others()[0]
    return math.prod(size for size, _, _ in others[:-1]) * -(-others[-1][0] // axis.lanes)


def own(axis: Axis, context: Context) -> bool:
    """Whether a work-item's buffers are its own."""
    return axis.numbers * axis.bytes <= (STACK_BYTES if context.device.cpu else PRIVATE_BYTES)


def items(axis: Axis, context: Context) -> "Tuple[int, int]":
    """Work-items, and the units that each has."""
    most = CPU_ITEMS
    if not context.device.cpu:
        most = GPU_ITEMS if own(axis, context) else max(1, min(GPU_ITEMS, SCRATCH_BYTES // (axis.numbers * axis.bytes)))
    chunk = -(-units(axis) // most)
    return -(-units(axis) // chunk), chunk


# ---- a kernel ----

def core(axis: Axis, of: str, pair: "Tuple[int, int]") -> "Tuple[List[Pass], str]":
    """The passes of a transform of length m, from a buffer on, and the buffer that has the result."""
    made: List[Pass] = []
    offset = 0

    def add(kind: str, stage: "Optional[fft.Stage]" = None) -> None:
        nonlocal of, offset
        to = "b" if of == "a" else "a"
        made.append(Pass(kind, of, to, stage, offset, fft.sums(stage.radix) if stage else ()))
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


def written(context: Context, name: str, choice: Choice, axis: Axis, buffers: "Tuple[Buffer, Buffer]",
            scratch: "List[Buffer]") -> Kernel:
    d, (now, to) = context.target, buffers
    pair = fft.split(axis.m, 64 // axis.bytes) if axis.lanes == 1 else (axis.m, 1)
    passes, at = core(axis, "a", pair)
    first: List[Pass] = []
    if axis.late:
        first = [Pass("fill", "", "a"), *passes, Pass("keep", at, "")]
    if axis.convolved:
        again, end = core(axis, at, pair)
        passes, at = [*passes, Pass("times", at, at), *again], end
    passes = [Pass("load", "", "a"), *passes, Pass("store", at, "")]
    count, chunk = items(axis, context)
    threads = 1 if context.device.cpu else min(GPU_THREADS, count)
    mine = own(axis, context)
    others, along = axis.others()
    size, fast_of, fast_to = others[-1]
    groups, left = -(-size // axis.lanes), size % axis.lanes
    record = Record(
        axis, d.register(axis.part), d.types["u64"], now.pointer, to.pointer, units(axis), chunk, count,
        (origin(others, axis.lanes, 1), origin(others, axis.lanes, 2)), along, (fast_of, fast_to),
        (f"(unit % {groups} == {groups - 1} ? {left} : {axis.lanes})" if groups > 1 else f"{left}") if left
        else f"{axis.lanes}", left == 0, first, passes, pair, "" if mine else scratch[-1].pointer,
        number(axis.scale, axis.part) if axis.scale != 1 else "", **tables(context, name, axis, pair))
    writes = [to, *([] if mine else scratch[-1:])]
    kernel = Kernel(
        name, choice.nest, Schedule(threads=threads), choice.index, -(-count // threads),
        arguments(d, [] if now == to else [now], writes), [], d.launch_bounds(threads),
        f"(bl_x) -> (bl_x), domain: bl_x in [0, {-(-count // threads) - 1}]", template="kernels/fft", record=record,
        code=Step([], [], []))
    for argument, buffer in zip(kernel.arguments, kernel.buffers):
        if dtypes.is_complex(buffer.shape.dtype):
            object.__setattr__(argument, "type", d.array(axis.part, argument.read_only))
    return kernel


def origin(others: "Sequence[Tuple[int, int, int]]", lanes: int, which: int) -> str:
    """The position of the first element of a unit of rows, as C text."""
    size = -(-others[-1][0] // lanes)
    terms = [("unit" if len(others) == 1 else f"unit % {size}", others[-1][which] * lanes)] if size > 1 else []
    below = size
    for number_, other in reversed(list(enumerate(others[:-1]))):
        text = f"unit / {below}" if below > 1 else "unit"
        terms.append((text if number_ == 0 else f"{text} % {other[0]}", other[which]))
        below *= other[0]
    return " + ".join(f"({text}) * {stride}" if " " in text else f"{text} * {stride}" for text, stride in terms) or "0"


def number(value: float, part: str) -> str:
    """A constant, rounded to the type."""
    exact = dtypes.decode(dtypes.encode(value, part), part)
    text = f"{exact:.9g}" if part == "f32" else repr(exact)
    return text + ("" if set(text) & set(".en") else ".0") + ("f" if part == "f32" else "")


def tables(context: Context, name: str, axis: Axis, pair: "Tuple[int, int]") -> "Dict[str, Any]":
    """The tables of roots that a kernel needs, each with its name."""
    m, n, given = axis.m, axis.n, {}    # type: int, int, Dict[str, Any]

    def table(role: str, values: "Sequence[complex]") -> None:
        given[role] = f"{name}_{role}"
        add_table(context, given[role], axis.part, values)

    def pair_of_tables(prefix: str, length: int) -> None:
        """Two tables whose products are all roots of a length."""
        given[f"{prefix}window"] = window = 1 << (length.bit_length() + 1) // 2
        table(f"{prefix}low", [fft.root(e, length) for e in range(window)])
        table(f"{prefix}high", [fft.root(e * window, length) for e in range(-(-length // window))])

    roots = [fft.root(q * j, stage.length) for length in pair for stage in fft.stages(length, 1) if stage.blocks > 1
             for q in range(stage.blocks) for j in range(1, stage.radix)]
    if roots:
        table("w", roots)
    n1, n2 = pair
    if n2 > 1 and 2 * m * axis.bytes <= TURN_BYTES:
        table("turn", [fft.root(j * k, m) for j in range(n2) for k in range(n1)])
    elif n2 > 1:
        given["block"] = next(size for size in range(16, 0, -1) if n1 % size == 0)
        pair_of_tables("", m)
    if axis.late:
        pair_of_tables("chirp_", 2 * n)
    if axis.convolved and not axis.late:
        table("chirp", [fft.chirp(k, n) for k in range(n)])
        table("kernel", fft.kernel_of_convolution(n, m))
    return given


def add_table(context: Context, name: str, part: str, values: "Sequence[complex]") -> None:
    """A table of complex numbers among those of the file, real and imaginary part in turn."""
    d: Target = context.target
    texts = [f"{number(value.real, part)}, {number(value.imag, part)}" for value in values]
    lines = [", ".join(texts[at:at + 4]) for at in range(0, len(texts), 4)]
    body = ",\n".join("  " + line for line in lines)
    context.helpers.tables[name] = (name, f"{d.constant} {d.register(part)} {name}[] = {{\n{body}\n}};\n")
