"""The concatenate hero: each operand has a walk of its own, over its own shape, and is written where the concatenation puts it.

A result that is a concatenation (or elementwise after one, or a bitcast of that) becomes a nest an operand, whose results are at
the map from the operand to the output. There an index falls on one side always, so no thread asks which (`_only_side` of
gen/plan/partition.py). Walks of the loop hero share a kernel, a range of its blocks each; others (an operand that is transposed) are
kernels of their own.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any, Dict, Iterable, List, Optional, Tuple

from gen import heroes
from gen.heroes.hero import Context, Hero
from gen.heroes.kernel import Kernel, arguments
from gen.heroes.loop import Walk
from gen.hlo import Shape
from gen.plan.buffers import buffers_of
from gen.plan.concatenation import Concatenate
from gen.plan.nest import Nest
from gen.schedule import Schedule


@dataclass(frozen=True)
class Sections(Schedule):
    """Of a kernel whose blocks are several walks'."""

    each: Tuple[Schedule, ...] = ()

    def text(self) -> str:
        return f"{len(self.each)} parts: " + ", ".join(f"({section.text()})" for section in self.each)


@dataclass(frozen=True)
class Part:
    """A walk that has the kernel's blocks from `first` to before `last`."""

    walk: Walk
    first: int
    last: int


class _Hero(Hero):
    """One kernel where the parts' kernels can share theirs, else one a part."""

    name = "concatenate"

    def takes(self, nest: Nest, context: Context) -> bool:
        return isinstance(nest, Concatenate)

    def schedules(self, nest: Nest, context: Context) -> "Iterable[Any]":
        return [None]       # the parts' heroes choose

    def kernels(self, nest: Nest, schedule: Any, index_type: str, context: Context) -> "Optional[List[Kernel]]":
        assert isinstance(nest, Concatenate)
        parts = [k for part in nest.parts for k in heroes.kernels(part, context)]
        return parts if len(parts) > len(nest.parts) or not all(k.joins for k in parts) else [_joined(nest, parts, context)]


HERO = _Hero()


def _joined(nest: Concatenate, joined: List[Kernel], context: Context) -> Kernel:
    """The parts' kernels as ranges of one kernel's blocks."""
    threads = max(joined, key=lambda k: k.nest.shape.elements).threads
    settled = replace(context, threads=threads)
    joined = [k if k.threads == threads else heroes.kernels(k.nest, settled)[0] for k in joined]
    joined = [k.other or k for k in joined]     # one walk a part
    reads: Dict[str, Shape] = {}
    writes: Dict[str, Shape] = {}
    for part in nest.parts:
        reads.update(buffers_of(part.partition, part.partition.entry))
        writes.update({root.pointer: root.shape for root in part.partition.roots})
    largest = max(joined, key=lambda k: k.nest.shape.elements)
    lasts = list(itertools.accumulate(k.blocks for k in joined))
    parts = [Part(k.record, last - k.blocks, last) for k, last in zip(joined, lasts)]
    return Kernel(nest.name, nest, Sections(threads, lanes=largest.loop.lanes, each=tuple(k.loop for k in joined)), largest.index, lasts[-1],
                  ", ".join(arguments(context.target, reads, writes)), [f for k in joined for f in k.functions], attribute=largest.attribute,
                  thread=largest.thread, pointers=[*reads, *sorted(writes)], accesses=[a for k in joined for a in k.accesses],
                  template="kernels/concatenate", record=parts, each=joined)
