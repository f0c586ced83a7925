"""The arrays of a fusion's parameters and results, which may be tuples of arrays: its buffers, in order."""

from __future__ import annotations

from typing import List, NamedTuple, Tuple

from gen.hlo.graph import Computation, Fusion, Instruction, Shape


class Leaf(NamedTuple):
    """An array of a result. number: among all arrays of the result. shape: as it is written. value, output: the
    instruction that gives it, and the number of the array in that one's shape."""

    number: int
    shape: Shape
    value: Instruction
    output: int


class Run(NamedTuple):
    """Arrays of an instruction's shape that follow each other: the first one's number, and how many."""

    value: Instruction
    first: int
    leaves: int


def result_leaves(computation: Computation) -> "List[Leaf]":
    """The arrays of the result, through tuples to the instructions that give them."""
    assert computation.root is not None
    given: List[Tuple[Instruction, int]] = []
    waiting = [Run(computation.root, 0, len(computation.root.shape.leaves()))]
    while waiting:
        instruction, first, count = waiting.pop(0)
        if instruction.opcode == "tuple":
            inner = []
            at = 0
            for operand in instruction.operands:
                size = len(operand.shape.leaves())
                low, high = max(first, at), min(first + count, at + size)
                if low < high:
                    inner.append(Run(operand, low - at, high - low))
                at += size
            waiting = inner + waiting
        elif instruction.opcode == "get-tuple-element":
            children = instruction.operands[0].shape.children
            before = sum(len(c.leaves()) for c in children[:instruction.attributes["index"]])
            waiting.insert(0, Run(instruction.operands[0], before + first, count))
        else:
            given += [(instruction, k) for k in range(first, first + count)]
    shapes = computation.root.shape.leaves()
    return [Leaf(number, shape, *producer) for number, (shape, producer) in enumerate(zip(shapes, given))]


def param_leaves(fusion: Fusion) -> List[Shape]:
    return [leaf for p in fusion.computation.parameters for leaf in p.shape.leaves()]


def param_names(fusion: Fusion) -> List[str]:
    """The name of each buffer of param_leaves: that of its parameter in the text; of a tuple NAME_1 for element 1."""
    return [name for p in fusion.computation.parameters for name in leaf_names(p.name, p.shape)]


def leaf_names(name: str, shape: Shape) -> List[str]:
    """A name for each array of a shape: the name itself, with the number of each element in a tuple: NAME_1, NAME_1_0."""
    if shape.kind != "tuple":
        return [name]
    return [inner for n, child in enumerate(shape.children) for inner in leaf_names(f"{name}_{n}", child)]
