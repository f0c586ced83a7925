"""Walks as records: the steps of work-items, for templates to print."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Sequence

from gen.statements import Statement


@dataclass(frozen=True)
class Walk:
    """A walk as C text, printed by templates/parts/walk.j2.

    t: the type of an index.
    group, item: true if the text uses the number of the work-group, and of the work-item in it.
    chunks: steps of a work-item in each of its `streams`.
    step: elements of a step, which has `registers` rows of `registers_down` registers of `lanes` elements.
    burst: steps whose lines are prefetched together.
    prefetch: for each pointer, the lines of code that prefetch a step's elements; empty for no prefetch.
    whole: the condition that all elements of a step are inside; "" if they always are.
    before, register, after: loads of whole vectors, the computation of register `vec`, stores of whole vectors.
    inside: the condition that element `vec` of a step is inside; "" if the end cuts no step.
    element: its computation.
    before_element: code that precedes the computation of all `left` elements that are inside.
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
    """Two walks of one launch: for processors on which bursts of prefetches pay, and for all others."""

    bursts: Walk
    plain: Walk

    @property
    def group(self) -> bool:
        return self.bursts.group or self.plain.group

    @property
    def item(self) -> bool:
        return self.bursts.item or self.plain.item
