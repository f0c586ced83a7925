"""Find the arrays that a loop or a branch needs for the wanted parts of its result.

A loop inside a kernel needs all of its state. In other loops, a value of the state is not carried if it is read only by
itself and by other values that are not carried. A counter that only the condition reads is not carried if the trip
count is known.
"""

from __future__ import annotations

from typing import Dict, FrozenSet, List, Set, Tuple

from gen import hlo
from gen.hlo import Computation, Instruction, Value
from gen.hlo.graph import root_of
from gen.hlo.launches import resolved
from gen.hlo.trips import trips
from gen.plan import element_loops

Leaves = FrozenSet[int]     # numbers of arrays of a flattened tuple


class Needed:
    """Caches the answers for the computations of a module."""

    def __init__(self, filename: str) -> None:
        self.filename = filename
        self._known: "Dict[Tuple[int, Leaves], Tuple[Computation, Leaves]]" = {}

    def of_computation(self, computation: Computation, wanted: Leaves) -> Leaves:
        """Return the leaves of the parameters that the wanted leaves of the result depend on."""
        key = id(computation), wanted
        if key not in self._known:
            self._known[key] = computation, self._found(hlo.inlined(computation, self.filename), wanted)
        return self._known[key][1]

    def of_loop(self, loop: Instruction, wanted: Leaves) -> Leaves:
        """Return the leaves of a loop's state that the wanted leaves of its result depend on, and those that the
        condition reads if the trip count is not known."""
        condition, body = loop.called
        needed = wanted | (self.of_computation(condition, frozenset({0})) if trips(loop) is None else frozenset())
        while True:
            more = needed | self.of_computation(body, needed)
            if more == needed:
                return needed
            needed = more

    def operands(self, step: Instruction, wanted: Leaves) -> "List[Leaves]":
        """Return, for each operand of a while or a conditional, the leaves that the wanted leaves of the result depend
        on."""
        if step.opcode == "while":
            return [self.of_loop(step, wanted)]
        return [frozenset({0}), *(self.of_computation(arm, wanted) for arm in step.called)]

    def _found(self, computation: Computation, wanted: Leaves) -> Leaves:
        first: Dict[Instruction, int] = {}
        for parameter in computation.parameters:
            first[parameter] = sum(len(p.shape.leaves()) for p in first)
        waiting = [resolved(root_of(computation), leaf) for leaf in sorted(wanted)]
        seen: Set[Value] = set()
        while waiting:
            value = waiting.pop()
            step = value.producer
            if value in seen:
                continue
            seen.add(value)
            if step.opcode == "conditional" or step.opcode == "while" and element_loops.refusal(step):
                leaves = self.operands(step, frozenset({value.leaf}))
            else:
                leaves = [frozenset(range(len(o.shape.leaves()))) for o in step.operands]
            waiting += [resolved(o, leaf) for o, some in zip(step.operands, leaves) for leaf in sorted(some)]
        return frozenset(first[v.producer] + v.leaf for v in seen if v.producer in first)
