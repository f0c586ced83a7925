"""Large constants of a program. They form one block, the file NAME.weights, to which the caller passes a pointer.
Smaller constants are in the program's text.
"""

from __future__ import annotations

import array
import sys
from dataclasses import dataclass, replace
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

from gen.hlo import Computation, Fusion, Instruction, Shape, dtypes, row_major
from gen.hlo.copy import copied
from gen.hlo.graph import root_of, tuple_shape
from gen.hlo.opcodes import CONTROL
from gen.program.forms import form
from gen.program.ir import Array, Program, Weight
from gen.targets import TARGETS

LARGEST_IN_TEXT = 4096  # maximum number of bytes of a constant in the program's text
ALIGNMENT = max(target.alignment for target in TARGETS.values())     # alignment of each constant in the block, in bytes


def taken_out(program: Program, block: "Optional[Block]" = None) -> Program:
    """Return the program with its large constants as its last parameters. The constants are added to `block`, which may
    have constants of other programs already, or to a new block. Fusions that differ only in these constants become one
    fusion.
    """
    block = block or Block()
    fusions: Dict[object, Fusion] = {}
    made: Dict[Fusion, Tuple[Fusion, List[Array]]] = {}
    for call in program.calls:
        if call.fusion not in made:
            own, arrays = block.without(call.fusion.computation)
            new = call.fusion
            if arrays:
                key = form(own), tuple(new.aliases.items()), new.donated, tuple(new.same.items())
                new = fusions.setdefault(key, replace(new, computation=own))
            made[call.fusion] = new, arrays
    if not any(arrays for _, arrays in made.values()):
        return program
    for call in program.calls:
        call.fusion, arrays = made[call.fusion]
        call.operands = [*call.operands, *arrays]
    program.weights = dict(block.weights)
    whole, _ = block.without(program.whole.computation, list(program.weights))
    one = program.calls[0] if program.is_one else None
    program.whole = replace(program.whole, computation=whole)
    program.params = [*program.params, *program.weights]
    if one and one.operands == program.params and one.results == program.results:
        one.fusion = program.whole
    return program


@dataclass
class _Packed:
    """The bytes of a constant, row-major. literal: the constant's values; they are kept alive, so that Python gives
    their id() to no other object.
    """

    literal: Sequence[int]
    bytes: bytes


class Block:
    """The large constants of one or several programs. weights: for each array in the block, its offset and its bytes.
    """

    def __init__(self) -> None:
        self.weights: Dict[Array, Weight] = {}
        self.packed: Dict[int, _Packed] = {}
        self.known: Dict[Tuple[str, bytes], Array] = {}

    def without(self, computation: Computation,
                arrays: "Optional[List[Array]]" = None) -> "Tuple[Computation, List[Array]]":
        """Return a copy of a computation that reads parameters instead of large constants, and the arrays of these
        parameters. arrays: the arrays of the large constants, or None for those in the computation. Each array becomes
        a parameter, even if the computation does not read it.
        """
        arrays = self._arrays(computation) if arrays is None else arrays
        if not arrays:
            return computation, []
        parameters = {of: Instruction(of.name, "parameter", of.shape,
                                      parameter_number=len(computation.parameters) + n) for n, of in enumerate(arrays)}
        own = copied(computation, lambda into, i, operands: self._read(into, i, operands, parameters))
        for parameter in parameters.values():
            parameter.computation = own
        own.parameters = [*own.parameters, *parameters.values()]
        own.instructions = [*parameters.values(), *own.instructions]
        return own, arrays

    def _arrays(self, computation: Computation) -> "List[Array]":
        """Return the arrays of the large constants in a computation, and in the bodies, conditions and arms in it."""
        return list(dict.fromkeys(array for i in computation.instructions for array in (
            [self._array(i)] if _is_large(i) else self._arrays_within(i))))

    def _arrays_within(self, i: Instruction) -> "List[Array]":
        return [array for called in i.called for array in self._arrays(called)] if i.opcode in CONTROL else []

    def _read(self, into: Computation, i: Instruction, operands: "List[Instruction]",
              read: "Mapping[Array, Instruction]") -> "Optional[Instruction]":
        """Return the instruction that replaces `i`, or None if `i` is unchanged. A large constant is replaced by the
        instruction in `read`. If the body of a loop contains large constants, the new loop has them in its state. If
        the arms of a branch contain large constants, the new branch has them as operands.

        read: for each constant's array, the instruction that reads the constant
        """
        if _is_large(i) and self._array(i) in read:
            of = read[self._array(i)]
            return of if i.shape == of.shape else _added(into, i, "copy", i.shape, [of])
        arrays = [array for array in dict.fromkeys(self._arrays_within(i)) if array in read]
        if not arrays:
            return None
        given = operands if i.opcode == "while" else operands[1:]
        both = [_added(into, i, "tuple", _with(o.shape, arrays), [o, *(read[array] for array in arrays)])
                for o in given]
        called = [self._inner(of, arrays, i.opcode == "while" and of is i.called[1]) for of in i.called]
        to = _with(i.shape, arrays) if i.opcode == "while" else i.shape
        made = into.add_copy(i, [*operands[:len(operands) - len(given)], *both], shape=to, called=called)
        return made if i.opcode != "while" else _added(into, i, "get-tuple-element", i.shape, [made], index=0)

    def _inner(self, computation: Computation, arrays: "List[Array]", hands_on: bool) -> Computation:
        """Return a computation with one parameter: a tuple of the old parameter and the arrays. hands_on: true if its
        result also contains the arrays.
        """
        (old,) = computation.parameters
        whole = replace(old, shape=_with(old.shape, arrays), users=[])
        read = {array: Instruction(array.name, "get-tuple-element", array.shape, [whole], {"index": n})
                for n, array in enumerate(arrays, 1)}

        def put(into: Computation, i: Instruction, operands: "List[Instruction]") -> "Optional[Instruction]":
            if i is not old:
                return self._read(into, i, operands, read)
            for added in (whole, *read.values()):
                into.add(added)
            return _added(into, old, "get-tuple-element", old.shape, [whole], index=0)

        own = copied(computation, put)
        own.parameters = [whole]
        if hands_on:
            root = root_of(own)
            own.root = _added(own, root, "tuple", _with(root.shape, arrays), [root, *read.values()])
        return own

    def _array(self, constant: Instruction) -> Array:
        literal = constant.literal or []
        if id(literal) not in self.packed:
            self.packed[id(literal)] = _Packed(literal, packed(constant.shape.dtype, literal))
        key = row_major(constant.shape).text, self.packed[id(literal)].bytes
        if key not in self.known:
            at = max((weight.offset + len(weight.bytes) for weight in self.weights.values()), default=0)
            self.known[key] = Array(constant.name, row_major(constant.shape))
            self.weights[self.known[key]] = Weight(-(-at // ALIGNMENT) * ALIGNMENT, key[1])
        return self.known[key]


def _with(shape: Shape, arrays: "Sequence[Array]") -> Shape:
    """Return the shape of a tuple whose elements are a value and some arrays."""
    return tuple_shape([shape, *(array.shape for array in arrays)])


def _added(into: Computation, like: Instruction, opcode: str, shape: Shape, operands: "List[Instruction]",
           **attributes: int) -> Instruction:
    return into.add(Instruction(like.name, opcode, shape, operands, dict(attributes), line=like.line, col=like.col))


def _is_large(i: Instruction) -> bool:
    """Return true for a constant that is not printed in the text: it is large, and its elements differ."""
    return i.opcode == "constant" and i.shape.bytes > LARGEST_IN_TEXT and len(set(i.literal or [])) > 1


def block(weights: "Mapping[Array, Weight]") -> bytes:
    """Return the content of NAME.weights."""
    made = bytearray()
    for weight in weights.values():
        made += bytes(weight.offset - len(made)) + weight.bytes
    return bytes(made)


def packed(dtype: str, literal: "Sequence[int]") -> bytes:
    """Return the bytes of elements in memory, given their bit patterns. The bytes are little-endian. In packed types,
    the first element is in the low bits.
    """
    bits = dtypes.TABLE[dtype].bits
    if dtypes.is_complex(dtype):
        return packed(f"u{bits // 2}", [part for pattern in literal for part in dtypes.parts(pattern, dtype)])
    if dtype in dtypes.PACKED:
        elements_per_byte = dtypes.per_byte(dtype)
        return bytes(sum(pattern << bits * n for n, pattern in enumerate(literal[at:at + elements_per_byte]))
                     for at in range(0, len(literal), elements_per_byte))
    made = array.array({1: "B", 2: "H", 4: "I", 8: "Q"}[dtypes.storage_bytes(dtype)], literal)
    if sys.byteorder == "big":
        made.byteswap()
    return made.tobytes()
