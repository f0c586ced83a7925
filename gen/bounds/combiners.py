"""The combiners of reduce, reduce-window and scatter: how they change accumulators and the intervals of accumulators.
"""

from __future__ import annotations

from typing import List, Sequence

from gen.bounds.following import Bounds
from gen.bounds.types import interval_of, kind_of, Ranged
from gen.statements import Assign, Let, Statement
from gen.hlo import Computation, Instruction
from gen.reference.combiners import in_order
from gen.reference.elements import value_of
from gen.reference.types import STORAGE


def combine(b: Bounds, computation: Computation, totals: Sequence[Ranged], elements: Sequence[Ranged],
            behind: bool = False) -> List[Statement]:
    """Return statements that combine all accumulators with the elements.

    behind: true if the combiner takes the elements first, and the accumulators after them
    """
    lines: List[Statement] = []
    results = b.inline(computation, [*elements, *totals] if behind else [*totals, *elements], lines)
    changed = [(total, result) for total, result in zip(totals, results) if result.v != total.v]
    for k, (total, result) in enumerate(changed):
        lines += next_lines(total, k, result.v, interval_of(b.e.call, result))
    return lines + [line for k, (total, _) in enumerate(changed) for line in put_lines(total, k)]


def combine_part(b: Bounds, part: Instruction, k: int, total: Ranged, element: Ranged,
                 behind: bool = False) -> List[Statement]:
    """Return statements that combine accumulator k with an element, if component k of the combiner is one op."""
    x = in_order(part, k, total, element, behind)
    value = value_of(b.e.call, part.opcode, {}, total.dtype, x)
    return [*next_lines(total, k, value, b.intervals.of(part.opcode, {}, total.dtype, x, f"next{k}")),
            *put_lines(total, k)]


def next_lines(total: Ranged, k: int, value: str, interval: str) -> List[Statement]:
    return [Let(STORAGE[total.dtype], f"next{k}", value), Let(kind_of(total.dtype), f"rnext{k}", interval)]


def put_lines(total: Ranged, k: int) -> List[Statement]:
    return [Assign(total.v, f"next{k}"), Assign(str(total.interval), f"rnext{k}")]
