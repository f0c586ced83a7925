"""Find those leaves of the operands of a loop or branch that its wanted results need.

A loop inside a kernel depends on its whole state. Any other loop carries only values that are needed. A value is not
needed if it is used only for the next values of itself, or of other values that are not needed. If the trip count is
known, a counter that only the condition reads is not needed either.
"""

from __future__ import annotations

from typing import Dict, FrozenSet, List, Set, Tuple

from gen import hlo
from gen.hlo import Computation, Instruction, Value
from gen.hlo.graph import root_of
from gen.hlo.launches import resolved
from gen.hlo.trips import trips
from gen.plan import element_loops

Leaves = FrozenSet[int]     # indices of arrays in a flattened tuple


class Needed:
    """Finds the leaves of a computation's parameters that the computation needs. Results are cached."""

    def __init__(self, filename: str) -> None:
        self.filename = filename
        self._known: "Dict[Tuple[int, Leaves], Tuple[Computation, Leaves]]" = {}

    def of_computation(self, computation: Computation, wanted: Leaves) -> Leaves:
        """Return the leaves of the parameters on which the wanted leaves of the result depend."""
        key = id(computation), wanted
        if key not in self._known:
            self._known[key] = computation, self._found(hlo.inlined(computation, self.filename), wanted)
        return self._known[key][1]

    def of_loop(self, loop: Instruction, wanted: Leaves) -> Leaves:
        """Return the leaves of a loop's state on which the wanted leaves of its result depend. If the trip count is not
        known, add the leaves that the condition reads.
        """
        condition, body = loop.called
        needed = wanted | (self.of_computation(condition, frozenset({0})) if trips(loop) is None else frozenset())
        while True:
            more = needed | self.of_computation(body, needed)
            if more == needed:
                return needed
            needed = more

    def operands(self, step: Instruction, wanted: Leaves) -> "List[Leaves]":
        """Return, for each operand of a while or a conditional, the leaves on which the wanted leaves of the result
        depend.
        """
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
