"""Compute counters, such as the 64-bit counters of random numbers, in 32 bits if only their low bits are read.

A counted value is computed from iotas and constants alone, by ops whose low result bits depend only on the low bits of
their operands. Its conversion to 32 bits therefore equals the result of the same ops in 32 bits. If a counted value is
shifted right by at least the bit length of its maximum, the result is zero.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Dict, List, Optional

from gen.hlo import Computation, Instruction, Shape, array_shape, dtypes
from gen.hlo.copy import replaced

_MOVES = ("broadcast", "reshape", "transpose", "slice")
_ARITHMETIC = ("add", "subtract", "multiply", "and", "or", "xor")


def lowered(computation: Computation) -> Computation:
    """Return the computation with conversions and shifts of counted values replaced; the computation itself if it has
    none.
    """
    if not any(i.opcode == "iota" for i in computation.instructions):
        return computation
    counted = _Counted(computation)
    return replaced(computation, counted.changes, counted.narrowed)


class _Counted:
    """The counted values of a computation: values that are computed from iotas and constants alone. most: the maximum
    of each value; None if it is not known.
    """

    def __init__(self, computation: Computation) -> None:
        self.instructions = computation.instructions
        self.most: Dict[Instruction, Optional[int]] = {}
        for i in self.instructions:
            if self._counts(i):
                most = self._largest(i)
                fits = most is not None and most < 1 << dtypes.TABLE[i.shape.dtype].bits
                self.most[i] = most if fits else None

    def _counts(self, i: Instruction) -> bool:
        if i.shape.dtype not in ("s32", "u32", "s64", "u64"):
            return False
        if i.opcode in ("iota", "constant"):
            return i.opcode == "iota" or i.literal is not None
        known = i.opcode in (*_MOVES, *_ARITHMETIC) or self.vanishes(i)
        return known and all(operand in self.most for operand in i.operands)

    def _largest(self, i: Instruction) -> Optional[int]:
        """Return the maximum of a counted value (computed from iotas and constants alone), before the value wraps
        around to the width of its type. Return None if the maximum is not known.
        """
        if i.shape.dtype[0] == "s":
            return None
        if i.opcode == "iota":
            return max(0, i.shape.dims[i.attributes["iota_dimension"]] - 1)
        if i.opcode == "constant":
            return max(i.literal or [0])
        if i.opcode in _MOVES:
            return self.most[i.operands[0]]
        if i.opcode in ("add", "multiply"):
            a, b = (self.most[operand] for operand in i.operands)
            return None if a is None or b is None else a + b if i.opcode == "add" else a * b
        return 0 if self.vanishes(i) else None

    def vanishes(self, i: Instruction) -> bool:
        """Return true if the op shifts a counted value right by so many bits that the result is zero."""
        if i.opcode != "shift-right-logical":
            return False
        most, distance = self.most.get(i.operands[0]), i.operands[1]
        while distance.opcode == "broadcast":
            distance = distance.operands[0]
        return most is not None and distance.opcode == "constant" and bool(distance.literal) \
            and min(distance.literal or [0]) >= most.bit_length()

    def changes(self, i: Instruction) -> bool:
        narrows = i.opcode == "convert" and i.shape.dtype in ("s32", "u32") and i.operands[0] in self.most \
            and i.operands[0].shape.dtype in ("s64", "u64")
        return narrows or self.vanishes(i)

    def narrowed(self, copied: Computation, like: Instruction, operands: "List[Instruction]") -> Instruction:
        """Return the replacement of a conversion or a shift of a counted value (computed from iotas and constants
        alone).
        """
        dtype = like.shape.dtype
        known: Dict[Instruction, Instruction] = {}

        def shape(i: Instruction) -> Shape:
            return array_shape(dtype, i.shape.dims, i.shape.minor_to_major)

        def add(added: Instruction) -> Instruction:
            added.name, added.users = f"{like.name}.counted{len(known)}", []
            return copied.add(added)

        def zeros(i: Instruction) -> Instruction:
            scalar = replace(i, opcode="constant", shape=array_shape(dtype, ()), operands=[], attributes={},
                             literal=[0])
            return add(replace(i, opcode="broadcast", shape=shape(i), operands=[add(scalar)],
                               attributes={"dimensions": ()}))

        def narrow(i: Instruction) -> Instruction:
            if self.vanishes(i):
                return zeros(i)
            literal = i.literal and [value & (1 << dtypes.TABLE[dtype].bits) - 1 for value in i.literal]
            return add(replace(i, shape=shape(i), literal=literal,
                               operands=[known[operand] for operand in i.operands]))
        if like.opcode != "convert":
            result = zeros(like)
        else:
            for i in self._below(like.operands[0]):
                known[i] = narrow(i)
            result = known[like.operands[0]]
        result.name = like.name
        return result

    def _below(self, value: Instruction) -> "List[Instruction]":
        """Return the values from which `value` is computed, operands first; the last one is `value` itself."""
        found, waiting = set(), [value]
        while waiting:
            i = waiting.pop()
            if i not in found:
                found.add(i)
                waiting += () if self.vanishes(i) else i.operands
        return [i for i in self.instructions if i in found]
