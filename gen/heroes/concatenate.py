"""The concatenate hero (kernel emitter): each operand is copied by its own loops to its range of the result.

A concatenation becomes one nest for each operand; elementwise ops and a bitcast may follow it. The nest of an operand
writes only the elements of the result that come from this operand, so no thread tests which operand an element belongs
to (`only_side` of gen/plan/partition.py). If the loop hero writes all these nests, one kernel contains them all: each
nest has a range of the kernel's blocks. On a CPU, nests that read the same data and have the same number of blocks run
at the same time: if their loops are equal, each step computes one step of every nest; otherwise their blocks alternate.
Other kernels, for example that of a transposed operand, stay separate.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Iterator, List, Optional, Tuple

from gen.heroes.hero import Choice, Context, Hero
from gen.heroes.kernel import Grid, Kernel, Report, Text, arguments
from gen.heroes.loop import is_cut
from gen.heroes.walk import Walk
from gen.plan.buffers import buffers_of
from gen.plan.concatenation import Concatenate
from gen.schedule import Schedule


@dataclass(frozen=True)
class Sections(Schedule):
    """The schedule of a kernel that contains the loops of several operands ("parts")."""

    schedules: Tuple[Schedule, ...] = ()
    alternate: bool = False
    together: bool = False

    def text(self) -> str:
        turns = " step by step" if self.together else " in turn" if self.alternate else ""
        return f"{len(self.schedules)} parts{turns}: " + ", ".join(f"({section.text()})" for section in self.schedules)


@dataclass(frozen=True)
class WalkRange:
    """The loops of one operand. They run in the blocks `first` to `last` - 1 of the kernel."""

    walk: Walk
    first: int
    last: int


@dataclass(frozen=True)
class ConcatenateRecord:
    """The loops of all operands ("parts") of a kernel.

    together: loops whose step does one step of every part, so that data which parts share is read once.
    alternate: block b belongs to part b mod len(parts), so that blocks which run at the same time find the same operand
        in the cache. If false, each part has a contiguous range of blocks.
    """

    parts: List[WalkRange]
    alternate: bool
    together: Optional[Walk]


class ConcatenateHero(Hero[Concatenate, Optional[Sections]]):
    """Write one kernel for all operands if the loop hero writes each of them; otherwise one kernel for each operand."""

    name = "concatenate"
    nest_class = Concatenate

    def takes(self, nest: Concatenate, context: Context) -> bool:
        return nest.together

    def choices(self, nest: Concatenate, context: Context) -> "Iterator[Choice[Concatenate, Optional[Sections]]]":
        parts = [choice for part in nest.parts for choice in context.choose(part, context)]
        if len(parts) > len(nest.parts) or not all(choice.hero.walks for choice in parts):
            yield Choice(self, nest, None, "", parts=parts)
            return
        threads = max(parts, key=lambda choice: choice.nest.shape.elements).schedule.threads
        settled = replace(context, threads=threads)
        parts = [choice if choice.schedule.threads == threads else context.choose(choice.nest, settled)[0]
                 for choice in parts]
        # A kernel that contains several parts does not prefetch in bursts.
        parts = [replace(choice, schedule=choice.schedule.without_bursts or choice.schedule) for choice in parts]
        loops = tuple(choice.schedule for choice in parts)
        reads = [buffer for part in nest.parts for buffer in buffers_of(part.partition, part.partition.entry)]
        blocks = {choice.schedule.blocks(choice.nest.shape.elements) for choice in parts}
        alternate = context.device.cpu and len(blocks) == 1 and len(set(reads)) < len(reads)
        first, lanes = parts[0], max(parts, key=lambda choice: choice.nest.shape.elements).schedule.lanes
        together = alternate and all(
            (choice.index, loop.chunks, loop.streams, loop.burst)
            == (first.index, first.schedule.chunks, first.schedule.streams, first.schedule.burst)
            and not is_cut(choice.nest, loop) for choice, loop in zip(parts, loops))
        sections = Sections(threads, lanes=lanes, schedules=loops, alternate=alternate, together=together)
        yield Choice(self, nest, sections, first.index, parts=parts)

    def grids(self, choice: Choice[Concatenate, Optional[Sections]], context: Context) -> "List[Grid]":
        """Return the launch. Its blocks are those of all parts, one part after another. If a step does one step of
        every part, the launch has only as many blocks as one part.
        """
        if not choice.schedule:
            return []
        for part in choice.parts:  # `choices` may have replaced the part's schedule, so its grids are computed again
            part.grids = part.hero.grids(part, context)
        grids = [part.grids[0] for part in choice.parts]
        largest = max(choice.parts, key=lambda part: part.nest.shape.elements).grids[0]
        blocks = grids[0].blocks if choice.schedule.together else sum(grid.blocks for grid in grids)
        return [Grid(choice.nest.name, choice.schedule, largest.index, blocks, largest.thread)]

    def build(self, choice: Choice[Concatenate, Optional[Sections]], context: Context) -> "List[Kernel]":
        kernels = [kernel for part in choice.parts for kernel in part.kernels(context)]
        return [_joined(choice, choice.schedule, kernels, context)] if choice.schedule else kernels


HERO = ConcatenateHero()


def _joined(choice: Choice[Concatenate, Optional[Sections]], sections: Sections, kernels: List[Kernel],
            context: Context) -> Kernel:
    """Return one kernel that contains the blocks of the parts' kernels, one part after another."""
    nest = choice.nest
    reads = [buffer for part in nest.parts for buffer in buffers_of(part.partition, part.partition.entry)]
    writes = [root.buffer for part in nest.parts for root in part.partition.roots]
    largest = max(kernels, key=lambda k: k.nest.shape.elements)
    lasts = list(itertools.accumulate(k.blocks for k in kernels))
    parts = [WalkRange(k.walk, last - k.blocks, last) for k, last in zip(kernels, lasts) if k.walk]
    together = _together([part.walk for part in parts]) if sections.together else None
    text = Text("kernels/concatenate", ConcatenateRecord(parts, sections.alternate, together),
                [f for k in kernels for f in k.text.functions], largest.text.attribute)
    return Kernel(choice.grids[0], nest, arguments(context.target, reads, writes), text,
                  Report([a for k in kernels for a in k.report.touched]), sections=kernels)


def _together(walks: List[Walk]) -> Walk:
    """Return the loops of a kernel that copies one step of every part per iteration. Equal prefetches are kept once."""
    prefetch = [list(lines) for lines in dict.fromkeys(tuple(lines) for w in walks for lines in w.prefetch)]
    return replace(walks[0], group=any(w.group for w in walks), item=any(w.item for w in walks), prefetch=prefetch)
