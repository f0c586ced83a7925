"""Divide a fusion of many nests into parts, for a check.

Each part is compared with a reference of its own, which reads the same values as the part. After many steps, a
reference of the whole fusion could not distinguish accumulated rounding errors from a wrong result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Collection, Dict, List, Optional, Set, Tuple, Union

from gen.hlo import Fusion, Instruction, Value, c_identifier, result_leaves
from gen.hlo.launches import resolved
from gen.plan.buffer import Buffer
from gen.plan.nests import Planned
from gen.plan.scatter import Scatter
from gen.program.extract import extracted

MOST_TOGETHER = 4       # a fusion with at most this number of nests is not divided

Place = Union[int, Buffer]


@dataclass(frozen=True)
class Part:
    """A fusion that computes one value of a larger fusion.

    operands: for each parameter of the part, the index of a parameter of the larger fusion, or one of its scratch
        buffers.
    result: the index of a result of the larger fusion, or one of its scratch buffers.
    """

    fusion: Fusion
    operands: List[Place]
    result: Place


def parts_of(fusion: Fusion, plan: Planned) -> List[Part]:
    """Return the parts of a fusion. Return no parts if it has few nests, or if it overwrites parameters."""
    if len(plan.nests) <= MOST_TOGETHER or any(nest.aliases for nest in plan.nests):
        return []
    stored = _stored(fusion, plan)
    places: Dict[Value, Place] = {Value(p, k): 0 for p in fusion.computation.parameters
                                  for k in range(len(p.shape.leaves()))}
    places = {**{value: n for n, value in enumerate(places)}, **stored}
    goals: List[Tuple[Value, Place]] = list(stored.items())
    goals += [(Value(leaf.value, leaf.output), leaf.number) for leaf in result_leaves(fusion.computation)
              if leaf.shape.elements and leaf.shape == leaf.value.shape.leaves()[leaf.output]]
    parts = []
    for n, (goal, to) in enumerate(goals):
        reads = _reads(goal, {value for value in places if not isinstance(to, Buffer) or value != goal})
        name = f"{fusion.name}_{n}_{c_identifier(goal.producer.name)}"
        own = Fusion(name, extracted(fusion.computation, [goal], reads), "", small=fusion.small)
        parts.append(Part(own, [places[value] for value in reads], to))
    return parts


def _stored(fusion: Fusion, plan: Planned) -> Dict[Value, Place]:
    """Return the values of the fusion that scratch buffers still hold after all nests have run, each with its buffer.
    Values that are stored in another layout than the fusion's are left out.
    """
    known = {i.name: i for i in fusion.computation.instructions}
    inner = {buffer for nest in plan.nests for buffer in nest.inner}
    values: Dict[Buffer, Optional[Value]] = {}
    for nest in plan.nests:
        roots = nest.targets if isinstance(nest, Scatter) else [root for _, root in nest.written_roots(False)]
        for root in roots:
            if root.scratch and root.buffer not in inner:
                of = known.get(root.value.name)
                # leave out parameters, because a part can read them without this buffer
                same = of is not None and of.opcode != "parameter" and _shape_at(of, root.output) == root.shape
                values[root.buffer] = Value(of, root.output) if of is not None and same else None
    return {value: buffer for buffer, value in values.items() if value}


def _shape_at(instruction: Instruction, leaf: int) -> object:
    leaves = instruction.shape.leaves()
    return leaves[leaf] if leaf < len(leaves) else None


def _reads(goal: Value, given: Collection[Value]) -> List[Value]:
    """Return the values in `given` on which the goal depends."""
    if goal in given:
        return [goal]
    reads: Dict[Value, None] = {}
    waiting = [goal.producer]
    seen: Set[Instruction] = set()
    while waiting:
        for operand in waiting.pop().operands:
            for leaf in range(len(operand.shape.leaves())):
                value = resolved(operand, leaf)
                if value in given:
                    reads[value] = None
                elif value.producer not in seen:
                    seen.add(value.producer)
                    waiting.append(value.producer)
    return list(reads)
