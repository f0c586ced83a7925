"""Which arrays a loop or a branch needs: what the wanted parts of its result are computed from.

A loop inside of a kernel needs all of its state. An element of another loop's tuple that nothing reads but itself, or
others of the kind, is not carried; nor is a counter that only the condition reads, where the number of iterations is
known.
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
    """Answers for the computations of a module, each found once."""

    def __init__(self, filename: str) -> None:
        self.filename = filename
        self._known: "Dict[Tuple[int, Leaves], Tuple[Computation, Leaves]]" = {}

    def of_computation(self, computation: Computation, wanted: Leaves) -> Leaves:
        """The leaves of the parameters that these leaves of the result are computed from."""
        key = id(computation), wanted
        if key not in self._known:
            self._known[key] = computation, self._found(hlo.inlined(computation, self.filename), wanted)
        return self._known[key][1]

    def of_loop(self, loop: Instruction, wanted: Leaves) -> Leaves:
        """The leaves of a while's state that these leaves of its result are computed from, with all that the condition
        reads where that has to be asked."""
        condition, body = loop.called
        needed = wanted | (self.of_computation(condition, frozenset({0})) if trips(loop) is None else frozenset())
        while True:
            more = needed | self.of_computation(body, needed)
            if more == needed:
                return needed
            needed = more

    def operands(self, step: Instruction, wanted: Leaves) -> "List[Leaves]":
        """Of each operand of a while or a conditional the leaves that these leaves of the result are computed from."""
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
