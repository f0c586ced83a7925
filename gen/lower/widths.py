"""Turn bitcasts between types of different widths into shifts and conversions.

The bits of the array stay the same, element after element, low bits first. An element is split as an unsigned integer:
for each part, the integer is shifted right by the part's position, and truncated. Parts are joined by shifts left to
their positions, and by or. A `bitcast` may also change dimensions; the order in memory stays the same. If elements are
split, the operand first becomes one-dimensional. If parts are joined, it first becomes a matrix whose rows are the
parts of one element. At the end, the result gets its own dimensions.
"""

from __future__ import annotations

from typing import List, Tuple

from gen.hlo import Computation, Instruction, Shape, array_shape, memory_bits
from gen.hlo.copy import Added, replaced


def changes(instruction: Instruction) -> bool:
    """Return true if an op is a bitcast between types of different widths."""
    return instruction.opcode in ("bitcast",
                                  "bitcast-convert") and memory_bits(instruction.shape) != memory_bits(
        instruction.operands[0].shape)


def lowered(computation: Computation) -> Computation:
    """Return the computation with bitcasts between types of different widths replaced; the computation itself if it
    has none.
    """
    return replaced(computation, changes, lambda copied, cast, operands: _Steps(copied, cast, "bits").run(operands[0]))


class _Steps(Added):
    def run(self, value: Instruction) -> Instruction:
        of, to = value.shape, self.like.shape
        many = max(memory_bits(of), memory_bits(to)) // min(memory_bits(of), memory_bits(to))
        narrower = memory_bits(to) < memory_bits(of)
        if self.like.opcode == "bitcast":
            of = array_shape(of.dtype, (of.elements,) if narrower else (of.elements // many, many))
            value = self.add("bitcast", of, value)
        dims = (*of.dims, many) if narrower else of.dims[:-1]
        result = self.split(value, dims) if narrower else self.joined(value, dims, many)
        last = array_shape(to.dtype, dims) if self.like.opcode == "bitcast" else to
        result = self.same(result, last, f"u{memory_bits(to)}")
        if self.like.opcode == "bitcast":
            result = self.add("bitcast", to, result)
        if "raw" in self.like.attributes:
            result.attributes["raw"] = self.like.attributes["raw"]
        result.name = self.like.name
        return result

    def same(self, value: Instruction, to: Shape, bits: str) -> Instruction:
        """Truncate an integer of 32 or 64 bits to the integer type `bits`, and return the result's bits as the type of
        `to`.
        """
        if value.shape.dtype != bits:
            value = self.add("convert", to if to.dtype == bits else array_shape(bits, to.dims), value)
        return value if value.shape == to else self.add("copy" if to.dtype == bits else "bitcast-convert", to, value)

    def wide(self, value: Instruction, bits: int) -> Instruction:
        """Return the bits of elements as unsigned integers of 32 or 64 bits."""
        own = f"u{memory_bits(value.shape)}"
        for opcode, dtype in (("bitcast-convert", own), ("convert", f"u{bits}")):
            if value.shape.dtype != dtype:
                value = self.add(opcode, array_shape(dtype, value.shape.dims), value)
        return value

    def number(self, dtype: str, dims: "Tuple[int, ...]", value: int) -> Instruction:
        return self.add("broadcast", array_shape(dtype, dims),
                        self.add("constant", array_shape(dtype, ()), literal=[value]), dimensions=())

    def split(self, value: Instruction, dims: "Tuple[int, ...]") -> Instruction:
        """Split each element into parts, which become a new last dimension."""
        bits = max(32, memory_bits(value.shape))
        shape = array_shape(f"u{bits}", dims)
        whole = self.add("broadcast", shape, self.wide(value, bits), dimensions=tuple(range(len(dims) - 1)))
        shifts = self.add("multiply", shape, self.add("iota", shape, iota_dimension=len(dims) - 1),
                      self.number(f"u{bits}", dims, memory_bits(self.like.shape)))
        return self.add("shift-right-logical", shape, whole, shifts)

    def joined(self, value: Instruction, dims: "Tuple[int, ...]", many: int) -> Instruction:
        """Join the parts along the last dimension: each element is made of `many` adjacent parts."""
        bits, width, of = max(32, memory_bits(self.like.shape)), memory_bits(value.shape), value.shape
        shape = array_shape(f"u{bits}", dims)
        parts: List[Instruction] = []
        for number in range(many):
            box = tuple((0, size, 1) for size in dims) + ((number, number + 1, 1),)
            part = self.add("slice", array_shape(of.dtype, (*dims, 1)), value, slice=box)
            part = self.wide(self.add("reshape", array_shape(of.dtype, dims), part), bits)
            parts.append(self.add("shift-left", shape, part, self.number(f"u{bits}", dims, number * width)) if number
                         else part)
        word = parts[0]
        for part in parts[1:]:
            word = self.add("or", shape, word, part)
        return word
