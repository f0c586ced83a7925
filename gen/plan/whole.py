"""Ops that read and write whole arrays in memory: a sort, a factorisation, a Fourier transform. gen/program makes a
fusion of each. The parameters of the fusion are the operands of the op. An operand of a sort may also be an iota that
numbers the elements; then the kernels compute it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import List, Optional

from gen.hlo import Computation, Fusion, Instruction
from gen.hlo.graph import root_of
from gen.hlo.opcodes import MATRIX_OPS, is_whole
from gen.plan import fft
from gen.plan.buffer import Buffer, Role
from gen.plan.matrices import steps_of
from gen.plan.nest import Nest
from gen.plan.partition import Partition
from gen.schedule.devices import (SHORT_SORT_COST, SORT_COST, SortCpuNumbers, TOPK_COST, TOPK_KEPT_COST,
                                  VECTOR_OPERATIONS)


PLACES = ("s32", "u32", "s64", "u64")   # types that can represent the index of any element


@dataclass(eq=False)
class Whole(Nest):
    """The nest of an op on whole arrays. Its partition is empty. The arrays have the layouts of their shapes, without
    tiles and without packed elements.

    op: the instruction. Each operand is a parameter, or an iota that numbers a sort's elements.
    """

    op: Instruction
    operations: int     # approximate total of vector instructions, which determines the number of threads

    @property
    def operands(self) -> List[Buffer]:
        """Return the buffers of the operands that are parameters. Operands that are the same array have the same
        buffer.
        """
        return [Buffer(Role.PARAMETER, operand.parameter_number or 0, operand.shape, operand.name)
                for operand in self.op.operands if operand.opcode == "parameter"]

    @property
    def results(self) -> List[Buffer]:
        """Return the buffer of each result."""
        return [Buffer(Role.RESULT, n, shape, self.op.name) for n, shape in enumerate(self.op.shape.leaves())]


def whole_of(computation: Computation) -> Optional[Instruction]:
    """Return the only op of a computation, if that is an op on whole arrays. Iotas that number the elements of a sort
    do not count as ops. Return None for other computations.
    """
    root = root_of(computation)
    computed = places(root)
    return root if is_whole(root.opcode) and all(
        o.opcode == "parameter" or k in computed and o.opcode == "iota" for k, o in enumerate(root.operands)) else None


def places(op: Instruction) -> List[int]:
    """Return the numbers of those operands of a sort that are iotas of integers along the sorted dimension."""
    return [k for k, operand in enumerate(op.operands) if op.opcode == "sort" and operand.shape.dtype in PLACES
            and _counted(operand) == op.attributes["dimensions"][0]]


def _counted(value: Instruction) -> Optional[int]:
    """Return the dimension along which an iota, or a broadcast of an iota, counts. Return None for other values."""
    if value.opcode == "broadcast":
        inner = _counted(value.operands[0])
        return None if inner is None else int(value.attributes["dimensions"][inner])
    return int(value.attributes["iota_dimension"]) if value.opcode == "iota" else None


def nest(fusion: Fusion, op: Instruction) -> Whole:
    name, shape = f"sett_{fusion.symbol or fusion.name}", op.shape.leaves()[0]
    return Whole(name, shape, Partition(fusion.computation, [], name, shape.dims), op, operations(op))


def operations(op: Instruction) -> int:
    """Return the approximate number of vector instructions of an op, for all its elements."""
    if op.opcode in MATRIX_OPS:
        return steps_of(op) // VECTOR_OPERATIONS
    if op.opcode == "fft":
        return fft.operations(op) // VECTOR_OPERATIONS
    elements = op.operands[0].shape.elements
    if op.opcode == "topk":
        return int(TOPK_COST * elements) + TOPK_KEPT_COST * op.shape.leaves()[0].elements
    numbers, row = SortCpuNumbers(), op.operands[0].shape.dims[op.attributes["dimensions"][0]]
    side_by_side = row <= numbers.network and elements >= numbers.side * row
    return (SHORT_SORT_COST if side_by_side else SORT_COST) * elements
