"""The concatenate hero: each operand has a walk of its own, over its own shape, and is written where the concatenation
puts it.

A result that is a concatenation (or elementwise after one, or a bitcast of that) becomes a nest for each operand, whose
results are at the map from the operand to the output. There every index falls on the same side, so no thread tests it
(`_only_side` of gen/plan/partition.py). Kernels of the loop hero are joined to one kernel, with a range of its blocks
for each walk (`Kernel.walk`), or with the steps of all walks side by side where they read the same; others, as of an operand that is transposed, stay kernels of their own.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any, Iterable, List, Optional, Tuple

from gen.heroes.hero import Context, Hero
from gen.heroes.kernel import Kernel, arguments
from gen.heroes.walk import Walk
from gen.plan.buffers import buffers_of
from gen.plan.concatenation import Concatenate
from gen.plan.nest import Nest
from gen.schedule import Schedule


@dataclass(frozen=True)
class Sections(Schedule):
    """The schedule of a kernel whose blocks are those of several walks."""

    each: Tuple[Schedule, ...] = ()
    alternate: bool = False
    together: bool = False

    def text(self) -> str:
        turns = " step by step" if self.together else " in turn" if self.alternate else ""
        return f"{len(self.each)} parts{turns}: " + ", ".join(f"({section.text()})" for section in self.each)


@dataclass(frozen=True)
class Part:
    """A walk that has the kernel's blocks from `first` to before `last`."""

    walk: Walk
    first: int
    last: int


@dataclass(frozen=True)
class Parts:
    """The walks of a kernel. `together`: the walk whose every step is a step of each part, so that what they share is
    read once; `alternate`: block b belongs to part b mod len(parts), so that neighbours in time read the same operand,
    which is in the cache then; else each part has the blocks `first` to `last`."""

    parts: List[Part]
    alternate: bool
    together: Optional[Walk]


class _Hero(Hero):
    """One kernel for all parts where all are walks of the loop hero, else a kernel for each part."""

    name = "concatenate"

    def takes(self, nest: Nest, context: Context) -> bool:
        return isinstance(nest, Concatenate) and nest.together

    def schedules(self, nest: Nest, context: Context) -> "Iterable[Any]":
        return [None]       # the parts' heroes choose

    def kernels(self, nest: Nest, schedule: Any, index_type: str, context: Context) -> "Optional[List[Kernel]]":
        assert isinstance(nest, Concatenate)
        kernels = [k for part in nest.parts for k in context.kernels(part, context)]
        apart = len(kernels) > len(nest.parts) or any(k.walk is None for k in kernels)
        return kernels if apart else [_joined(nest, kernels, context)]


HERO = _Hero()


def _joined(nest: Concatenate, kernels: List[Kernel], context: Context) -> Kernel:
    """One kernel whose blocks are those of the parts' kernels, one after another."""
    threads = max(kernels, key=lambda k: k.nest.shape.elements).threads
    settled = replace(context, threads=threads)
    kernels = [k if k.threads == threads else context.kernels(k.nest, settled)[0] for k in kernels]
    kernels = [k.other or k for k in kernels]     # the kernel that does `walk`
    reads = [buffer for part in nest.parts for buffer in buffers_of(part.partition, part.partition.entry)]
    writes = [root.buffer for part in nest.parts for root in part.partition.roots]
    largest = max(kernels, key=lambda k: k.nest.shape.elements)
    lasts = list(itertools.accumulate(k.blocks for k in kernels))
    parts = [Part(k.walk, last - k.blocks, last) for k, last in zip(kernels, lasts) if k.walk]
    alternate = context.device.cpu and len({k.blocks for k in kernels}) == 1 and len(set(reads)) < len(reads)
    together = _together([part.walk for part in parts]) if alternate else None
    sections = Sections(threads, lanes=largest.loop.lanes, each=tuple(k.loop for k in kernels), alternate=alternate,
                        together=together is not None)
    return Kernel(nest.name, nest, sections, largest.index, lasts[0] if together else lasts[-1],
                  arguments(context.target, reads, writes), [f for k in kernels for f in k.functions],
                  attribute=largest.attribute, thread=largest.thread,
                  accesses=[a for k in kernels for a in k.accesses], template="kernels/concatenate",
                  record=Parts(parts, alternate, together), each=kernels)


def _together(walks: List[Walk]) -> Optional[Walk]:
    """The walk of the steps of all parts, with the prefetches of each once; None where the parts' steps are not equally
    many, or the end may cut them."""
    first = walks[0]
    if any((w.t, w.chunks, w.streams, w.burst) != (first.t, first.chunks, first.streams, first.burst) or w.whole
           or w.inside for w in walks):
        return None
    prefetch = [list(lines) for lines in dict.fromkeys(tuple(lines) for w in walks for lines in w.prefetch)]
    return replace(first, group=any(w.group for w in walks), item=any(w.item for w in walks), prefetch=prefetch)
