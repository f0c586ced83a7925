"""List the arrays of a fusion's parameters and results, which may be tuples. Each array is one buffer."""

from __future__ import annotations

from typing import List, NamedTuple, Tuple

from gen.hlo.graph import Computation, Fusion, Instruction, Shape


class Leaf(NamedTuple):
    """An array of a fusion's result.

    number: its index among all arrays of the result
    shape: its shape in the text
    value: the instruction that computes it
    output: the index of the array in that instruction's result
    """

    number: int
    shape: Shape
    value: Instruction
    output: int


class Run(NamedTuple):
    """Consecutive arrays of an instruction's shape.

    first: index of the first array
    leaves: number of arrays
    """

    value: Instruction
    first: int
    leaves: int


def result_leaves(computation: Computation) -> "List[Leaf]":
    """Return the arrays of the result. The field `value` is the instruction that computes the array, and never a tuple
    or a get-tuple-element of one.
    """
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
    """Return the name of each buffer of param_leaves: its parameter's name in the text; NAME_1 for element 1 of a
    tuple."""
    return [name for p in fusion.computation.parameters for name in leaf_names(p.name, p.shape)]


def leaf_names(name: str, shape: Shape) -> List[str]:
    """Return a name for each array of a shape: the name itself, or NAME_1, NAME_1_0 for elements of tuples."""
    if shape.kind != "tuple":
        return [name]
    return [inner for n, child in enumerate(shape.children) for inner in leaf_names(f"{name}_{n}", child)]
