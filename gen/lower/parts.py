"""Replace real, imag and certain bitcasts and constants of complex numbers, and bitcasts of pred.

The real part of a real number is the number, its imaginary part is zero. A complex constant with infinities or NaN is
built from two constants. A bitcast between complex types of different widths becomes a bitcast of an array of their
parts. A bitcast of pred goes through bytes: a pred is a byte of 0 or 1, and every byte except 0 is true.
"""

from __future__ import annotations

from typing import List, Tuple

from gen.hlo import Computation, Instruction, Shape, array_shape, dtypes
from gen.hlo.copy import Added, replaced


def changes(instruction: Instruction) -> bool:
    """Return true if this file replaces the op, or an op in a computation that the op calls."""
    opcode, to = instruction.opcode, instruction.shape
    if any(map(changes, (step for called in instruction.called for step in called.instructions))):
        return True
    if opcode == "constant":
        return dtypes.is_complex(to.dtype) and any(not _finite(bits, to.dtype) for bits in instruction.literal or [])
    if opcode not in ("real", "imag", "bitcast-convert"):
        return False
    of = instruction.operands[0].shape
    if opcode == "bitcast-convert":
        return of.dtype != to.dtype and (dtypes.is_complex(to.dtype) or "pred" in (of.dtype, to.dtype))
    return not dtypes.is_complex(of.dtype)


def _finite(bits: int, dtype: str) -> bool:
    part = dtypes.TABLE[dtype].part
    return not any(dtypes.is_nan(half, part) or dtypes.is_infinite(half, part) for half in dtypes.parts(bits, dtype))


def lowered(computation: Computation) -> Computation:
    """Return the computation with the ops replaced for which `changes` is true; the computation itself if it has none.
    """
    return replaced(computation, changes, lambda copied, like, operands: _Steps(copied, like, "parts").run(operands))


class _Steps(Added):
    def run(self, operands: "List[Instruction]") -> Instruction:
        opcode, to = self.like.opcode, self.like.shape
        if self.like.called:
            return self.caller(operands)
        if opcode == "constant":
            result = self.constant(to)
        elif opcode == "real":
            result = self.add("copy", to, *operands)
        elif opcode == "imag":
            result = self.add("broadcast", to, self.add("constant", array_shape(to.dtype, ()), literal=[0]),
                              dimensions=())
        else:
            result = self.complex_bits(*operands) if dtypes.is_complex(to.dtype) else self.pred_bits(*operands)
        result.name = self.like.name
        return result

    def caller(self, operands: "List[Instruction]") -> Instruction:
        """Return a copy of the op. The copy calls the lowered versions of the op's computations."""
        known = {id(called): lowered(called) for called in self.like.called}
        attributes = {key: known.get(id(value), value) for key, value in self.like.attributes.items()}
        return self.computation.add_copy(self.like, operands, attributes=attributes,
                                         called=[known[id(called)] for called in self.like.called])

    def constant(self, to: Shape) -> Instruction:
        shape = _as(to, dtypes.TABLE[to.dtype].part)
        pairs = [dtypes.parts(bits, to.dtype) for bits in self.like.literal or []]
        return self.add("complex", to, *(self.add("constant", shape, literal=[pair[k] for pair in pairs])
                                         for k in (0, 1)))

    def pred_bits(self, value: Instruction) -> Instruction:
        """Return a bitcast from or to pred that goes through bytes."""
        of, to = value.shape, self.like.shape
        if of.dtype == "pred":
            value = self.add("convert", to if to.dtype == "u8" else _as(of, "u8"), value)
            return value if to.dtype == "u8" else self.add("bitcast-convert", to, value)
        if of.dtype != "u8":
            value = self.add("bitcast-convert", _as(to, "u8"), value)
        return self.add("convert", to, value)

    def complex_bits(self, value: Instruction) -> Instruction:
        """Return a bitcast from c128 to pairs of c64, or back. The real and imaginary parts are joined along a new last
        dimension, the joined array is bitcast, and its last dimension is divided into real and imaginary parts again.
        """
        of, to = value.shape, self.like.shape
        part, wanted = dtypes.TABLE[of.dtype].part, dtypes.TABLE[to.dtype].part
        columns = array_shape(part, (*of.dims, 1))
        halves = [self.add("reshape", columns, self.add(half, array_shape(part, of.dims), value))
                  for half in ("real", "imag")]
        both = self.add("concatenate", array_shape(part, (*of.dims, 2)), *halves, dimensions=(len(of.dims),))
        bits = self.add("bitcast-convert", array_shape(wanted, (*to.dims, 2)), both)
        return self.add("complex", to, *(self.column(bits, k, _as(to, wanted)) for k in (0, 1)))

    def column(self, value: Instruction, number: int, to: Shape) -> Instruction:
        """Return the elements whose last index is `number`, as an array of shape `to`, without the last dimension."""
        dims: Tuple[int, ...] = value.shape.dims[:-1]
        box = tuple((0, size, 1) for size in dims) + ((number, number + 1, 1),)
        return self.add("reshape", to, self.add("slice", array_shape(value.shape.dtype, (*dims, 1)), value, slice=box))


def _as(of: Shape, dtype: str) -> Shape:
    """Return the shape of a row-major array with the same dimensions and another element type."""
    return array_shape(dtype, of.dims)
