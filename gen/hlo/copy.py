"""Copies of computations with some ops replaced."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, Optional

from gen.hlo.graph import Computation, Instruction, Shape

Put = Callable[[Computation, Instruction, List[Instruction]], Instruction]
PutOrNone = Callable[[Computation, Instruction, List[Instruction]], Optional[Instruction]]


def replaced(computation: Computation, changes: "Callable[[Instruction], bool]", put: Put) -> Computation:
    """Return a copy of a computation in which `put` replaces each op for which `changes` is true. If there is no such
    op, return the computation itself. `put` receives the copy, the op, and the op's operands in the copy. It adds ops
    to the copy, and returns the value that replaces the op.
    """
    if not any(changes(i) for i in computation.instructions):
        return computation
    return copied(computation, lambda into, instruction, operands: (
        put(into, instruction, operands) if changes(instruction) else None))


def read_from(computation: Computation, others: "Mapping[Instruction, Instruction]") -> Computation:
    """Return a copy in which some parameters replace others. `others` maps each parameter to the parameter that is read
    instead. The copy keeps all parameters, also those that are no longer read.
    """
    order = [*computation.parameters, *(i for i in computation.instructions if i.opcode != "parameter")]
    return _ordered(computation, order, others, lambda into, instruction, operands: None)


def copied(computation: Computation, put: PutOrNone) -> Computation:
    """Return a copy of a computation. `put` may add ops in place of an instruction and return their value. If it
    returns None, the instruction is copied.
    """
    return _ordered(computation, computation.instructions, {}, put)


def _ordered(computation: Computation, order: "List[Instruction]", others: "Mapping[Instruction, Instruction]",
             put: PutOrNone) -> Computation:
    """Return a copy with the instructions in the given order. `others` maps operands to the operands that replace them.

    put: see `copied`
    """
    copied = Computation(computation.name, line=computation.line, col=computation.col, depth=computation.depth,
                         attributes=computation.attributes)
    known: Dict[Instruction, Instruction] = {}
    for instruction in order:
        operands = [known[others.get(operand, operand)] for operand in instruction.operands]
        value = put(copied, instruction, operands)
        if value is None:
            value = copied.add_copy(instruction, operands)
        known[instruction] = value
    copied.parameters = [known[parameter] for parameter in computation.parameters]
    if computation.root:
        copied.root = known[others.get(computation.root, computation.root)]
    return copied


class Added:
    """Adds ops to a copy in place of one op, `like`.

    word: part of the names of the added ops
    """

    def __init__(self, computation: Computation, like: Instruction, word: str) -> None:
        self.computation, self.like, self.word, self.count = computation, like, word, 0

    def add(self, opcode: str, shape: Shape, *operands: Instruction, literal: "Optional[List[int]]" = None,
            **attributes: Any) -> Instruction:
        self.count += 1
        return self.computation.add(Instruction(
            f"{self.like.name}.{self.word}{self.count}", opcode, shape, list(operands), attributes, literal=literal,
            line=self.like.line, col=self.like.col))
