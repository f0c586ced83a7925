"""The loops of a kernel that goes over an array in steps, as records that templates print."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Sequence

from gen.statements import Statement


@dataclass(frozen=True)
class Walk:
    """The loop over a work-item's steps, as C text, printed by templates/parts/walk.j2.

    t: the type of an index.
    group, item: true if the text uses the number of the work-group, and of the work-item in its group.
    chunks: number of steps of a work-item in each of its `streams`.
    step: number of elements of a step. A step has `registers` rows of `registers_down` registers of `lanes` elements.
    burst: number of steps whose cache lines are prefetched together.
    prefetch: for each pointer, the lines of code that prefetch a step's elements; empty: no prefetch.
    whole: the condition that all elements of a step are inside the array; "" if they always are.
    before, register, after: loads of whole vectors, computation of register `vec`, stores of whole vectors.
    inside: the condition that element `vec` of a step is inside the array; "" if the end of the array cuts no step.
    element: the computation of element `vec`.
    before_element: code that precedes the computation of the `left` elements of a cut step.
    """

    t: str
    group: bool
    item: bool
    chunks: int
    step: int
    whole: str
    inside: str
    lanes: int = 1
    registers: int = 1
    registers_down: int = 1
    streams: int = 1
    burst: int = 0
    prefetch: "Sequence[Sequence[Statement]]" = field(default_factory=list)
    before: Sequence[Statement] = field(default_factory=list)
    register: Sequence[Statement] = field(default_factory=list)
    after: Sequence[Statement] = field(default_factory=list)
    before_element: Sequence[Statement] = field(default_factory=list)
    element: Sequence[Statement] = field(default_factory=list)


@dataclass(frozen=True)
class Bursts:
    """Two versions of the same loop: for processors on which bursts of prefetches are faster, and for all others."""

    bursts: Walk
    plain: Walk

    @property
    def group(self) -> bool:
        return self.bursts.group or self.plain.group

    @property
    def item(self) -> bool:
        return self.bursts.item or self.plain.item
