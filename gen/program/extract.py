"""Copy a part of a computation to a computation of its own."""

from __future__ import annotations

from typing import Dict, Iterable, List, Optional, Sequence, Set

from gen.hlo import Computation, Instruction, Shape, Value
from gen.hlo.graph import tuple_shape
from gen.hlo.launches import resolved
from gen.hlo.reserved import unique


def extracted(computation: Computation, goals: "Sequence[Value]", reads: "Sequence[Value]") -> Computation:
    """Return a computation that computes `goals` from the values in `reads`, which become its parameters, in order.
    Every op on which the goals depend must be computable from `reads`.
    """
    order = {i: n for n, i in enumerate(computation.instructions)}
    own = Computation(computation.name, line=computation.line, col=computation.col)
    known: Dict[Value, Instruction] = {}
    for value in reads:
        known[value] = own.add_parameter(value.producer.name, value.shape)
    copies: Dict[Instruction, Instruction] = {}

    def operand(of: Instruction) -> Optional[Instruction]:
        """Return the copy of an operand. If the operand is not copied yet, add it to `waiting` and return None."""
        if of.shape.kind == "array":
            value = resolved(of, 0)
            if value in known:
                return known[value]
            if value.producer not in copies:
                waiting.append(value.producer)
                return None
            made = copies[value.producer]
            if made.shape.kind == "tuple":
                made = _taken(own, made, value.leaf, of.name)
            known[value] = made
            return made
        parts = copied(Instruction(of.name, "get-tuple-element", child, [of], {"index": k})
                       for k, child in enumerate(of.shape.children))
        return own.add(Instruction(of.name, "tuple", of.shape, parts)) if parts is not None else None

    def copied(operands: "Iterable[Instruction]") -> "Optional[List[Instruction]]":
        """Return the copies of all operands; None if one of them is not copied yet."""
        copies = [operand(of) for of in operands]
        known = [copy for copy in copies if copy is not None]
        return known if len(known) == len(copies) else None

    waiting = [goal.producer for goal in sorted(goals, key=lambda value: -order[value.producer]) if goal not in known]
    while waiting:
        instruction = waiting[-1]
        if instruction in copies:
            waiting.pop()
            continue
        operands = copied(instruction.operands)
        if operands is not None:
            waiting.pop()
            copies[instruction] = own.add_copy(instruction, operands)
    roots = []
    for goal in goals:
        made = known[goal] if goal in known else copies[goal.producer]
        roots.append(_taken(own, made, goal.leaf, goal.producer.name))
    own.root = roots[0] if len(roots) == 1 else own.add(Instruction(
        "results", "tuple", tuple_shape([root.shape for root in roots]), roots))
    give_names(own)
    return own


def _taken(to: Computation, value: Instruction, leaf: int, name: str) -> Instruction:
    """Return a leaf of a value, which may be a tuple of tuples."""
    while value.shape.kind == "tuple":
        index = 0
        while leaf >= len(value.shape.children[index].leaves()):
            leaf -= len(value.shape.children[index].leaves())
            index += 1
        value = to.add(Instruction(name, "get-tuple-element", value.shape.children[index], [value], {"index": index}))
    return value


def copy_of(source: Shape, to: Shape, name: str = "copy", literal: "Optional[Sequence[int]]" = None) -> Computation:
    """Return a computation that copies an array; if `literal` is given, one that writes this constant."""
    own = Computation(name)
    value = own.add_parameter("from", source) if literal is None else own.add(
        Instruction("from", "constant", source, literal=literal))
    own.root = own.add(Instruction("to", "copy", to, [value]))
    return own


def give_names(computation: Computation) -> None:
    """Rename ops so that no two have the same name."""
    used: Set[str] = set()
    for instruction in computation.instructions:
        instruction.name = unique(instruction.name, used, ".")
