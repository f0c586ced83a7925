"""The strips hero (kernel emitter) on CPUs: a work-item takes a strip of rows (gen/plan/strips.py) through all parts of
the computation, one part after another.

A part stores the values that the next part reads in an array of the work-item, which stays in the caches. Each part is
a function written by its own hero. In every part, the work-items of a strip have successive numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Iterator, List, Tuple

from gen.heroes import contraction_cpu, rows_cpu
from gen.heroes.hero import Choice, Context, Hero, Refused
from gen.heroes.kernel import Grid, Kernel, Report, Text, arguments
from gen.plan.strips import Strips
from gen.schedule import Schedule


@dataclass(frozen=True)
class StripsSchedule(Schedule):
    """The schedule of strips. rows: number of rows of a strip. parts: the schedules of the parts."""

    rows: int = 1
    parts: Tuple[Schedule, ...] = ()

    def text(self) -> str:
        return f"strips of {self.rows} rows: " + ", ".join(f"({part.text()})" for part in self.parts)


@dataclass(frozen=True)
class StripArray:
    """An array through which a part passes a strip's values to the next part: its C type, its name and its number of
    elements.
    """

    type: str
    name: str
    count: int


@dataclass(frozen=True)
class StripPart:
    """A part's kernel, and the number of its work-items for a strip."""

    kernel: Kernel
    items: int


@dataclass(frozen=True)
class StripsRecord:
    """The record that templates/kernels/strips_cpu.j2 prints."""

    arrays: List[StripArray]
    parts: List[StripPart]


class StripsCpuHero(Hero[Strips, StripsSchedule]):
    """The emitter (hero) that writes one kernel for all parts of a Strips nest."""

    name, members, leads = "strips", True, True
    nest_class = Strips

    def takes(self, nest: Strips, context: Context) -> bool:
        if not context.device.wide:
            raise Refused("its parts need vectors, which the device does not have")
        return True

    def choices(self, nest: Strips, context: Context) -> "Iterator[Choice[Strips, StripsSchedule]]":
        parts = [choice for part in nest.parts for choice in context.choose(part, replace(context, threads=1))]
        if not all(choice.hero in (contraction_cpu.HERO, rows_cpu.HERO) and len(choice.grids) == 1
                   and choice.grids[0].blocks % nest.count == 0 for choice in parts):
            raise Refused("a part has no kernel whose work-items are numbered strip by strip")
        schedules = tuple(choice.grids[0].loop for choice in parts)
        lanes = max(schedule.lanes for schedule in schedules)
        yield Choice(self, nest, StripsSchedule(lanes=lanes, rows=nest.rows, parts=schedules), parts[0].index,
                     parts=parts)

    def grids(self, choice: Choice[Strips, StripsSchedule], context: Context) -> "List[Grid]":
        last = choice.parts[-1].grids[0]
        return [Grid(choice.nest.name, choice.schedule, last.index, choice.nest.count, last.thread)]

    def describe(self, choice: Choice[Strips, StripsSchedule], grid: Grid, context: Context) -> "List[str]":
        nest = choice.nest
        between = ", ".join(f"{buffer.pointer} ({buffer.shape.bytes // nest.count} bytes)" for buffer in nest.between)
        return [f"{nest.count} strips of {nest.rows} rows: {', '.join(part.grids[0].name for part in choice.parts)}, one "
                f"after another; of a strip alone, in arrays of the work-item: {between}"]

    def build(self, choice: Choice[Strips, StripsSchedule], context: Context) -> "List[Kernel]":
        nest, d = choice.nest, context.target
        kernels = [kernel for part in choice.parts for kernel in part.kernels(context)]
        # Set `spare`: the C code may then leave coordinates unused. This is needed because addresses in a strip's
        # arrays depend on only some of a part's coordinates.
        for kernel in kernels:
            record = kernel.text.record
            kernel.text.record = replace(record, placing=replace(record.placing, spare=True))
        kernels = kernels if d.last else [kernel.as_function() for kernel in kernels]
        arrays = [StripArray(d.memory(buffer.shape.dtype), buffer.pointer, buffer.shape.elements // nest.count)
                  for buffer in nest.between]
        strips = StripsRecord(arrays, [StripPart(kernel, kernel.blocks // nest.count) for kernel in kernels])
        passed = [a for kernel in kernels for a in kernel.arguments if a.buffer not in nest.between]
        reads, writes = ([a.buffer for a in passed if a.read_only is only] for only in (True, False))
        touched = [access for kernel in kernels for access in kernel.report.touched
                   if access.buffer not in nest.between]
        return [Kernel(choice.grids[0], nest, arguments(d, reads, writes, nest.shared),
                       Text("kernels/strips_cpu", strips, attribute=d.launch_bounds(1)),
                       Report(touched, leads=[name for kernel in kernels for name in kernel.leads]), sections=kernels)]


HERO = StripsCpuHero()
