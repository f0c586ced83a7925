"""Large constants of a program. They lie in one block, NAME.weights, which the caller passes; the text has the others."""

from __future__ import annotations

import array
import sys
from dataclasses import dataclass, replace
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

from gen.hlo import Computation, Fusion, Instruction, dtypes, row_major
from gen.hlo.copy import read_from
from gen.program.forms import form
from gen.program.ir import Array, Program, Weight

LARGEST_IN_TEXT = 4096  # bytes of a constant in the text
ALIGNMENT = 512         # bytes, of each constant in the block: OpenCL devices may ask for that of a sub-buffer


def taken_out(program: Program) -> Program:
    """The program with its large constants as parameters, the last ones, in a block of their own. Fusions that differ
    in them alone become one."""
    block = _Block()
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
    if not block.weights:
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
    """A constant's bytes, row-major; literal: its values, which are kept so that their id is theirs alone."""

    literal: Sequence[int]
    bytes: bytes


class _Block:
    """Constants that are taken out. weights: of each array in the block."""

    def __init__(self) -> None:
        self.weights: Dict[Array, Weight] = {}
        self.packed: Dict[int, _Packed] = {}
        self.known: Dict[Tuple[str, bytes], Array] = {}

    def without(self, computation: Computation,
                arrays: "Optional[List[Array]]" = None) -> "Tuple[Computation, List[Array]]":
        """A copy that reads parameters in place of large constants, and the arrays of these. arrays: that have a
        parameter each, also if no constant is theirs; those are taken out that the computation has, by default."""
        large = {i: self._array(i) for i in computation.instructions if _is_large(i)}
        arrays = list(dict.fromkeys(large.values())) if arrays is None else arrays
        large = {i: of for i, of in large.items() if of in arrays}
        if not arrays:
            return computation, []
        parameters = {of: Instruction(of.name, "parameter", of.shape, computation=computation,
                                      parameter_number=len(computation.parameters) + n) for n, of in enumerate(arrays)}
        laid_out = {}
        for constant, of in large.items():
            laid_out[constant] = parameters[of] if constant.shape == of.shape else Instruction(
                constant.name, "copy", constant.shape, [parameters[of]], computation=computation)
        added = [*parameters.values(), *(i for i in laid_out.values() if i.opcode == "copy")]
        own = replace(computation, parameters=[*computation.parameters, *parameters.values()],
                      instructions=[*added, *(i for i in computation.instructions if i not in large)])
        return read_from(own, laid_out), arrays

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


def _is_large(i: Instruction) -> bool:
    """True for a constant that the text has not: it is large, and its elements differ."""
    return i.opcode == "constant" and i.shape.bytes > LARGEST_IN_TEXT and len(set(i.literal or [])) > 1


def block(weights: "Mapping[Array, Weight]") -> bytes:
    """The content of NAME.weights."""
    made = bytearray()
    for weight in weights.values():
        made += bytes(weight.offset - len(made)) + weight.bytes
    return bytes(made)


def packed(dtype: str, literal: "Sequence[int]") -> bytes:
    """Elements by their bit patterns as memory has them: little-endian; what is packed has the first in the low
    bits."""
    bits = dtypes.TABLE[dtype].bits
    if dtypes.is_complex(dtype):
        return packed(f"u{bits // 2}", [part for pattern in literal for part in dtypes.parts(pattern, dtype)])
    if dtype in dtypes.PACKED:
        each = dtypes.per_byte(dtype)
        return bytes(sum(pattern << bits * n for n, pattern in enumerate(literal[at:at + each]))
                     for at in range(0, len(literal), each))
    made = array.array({1: "B", 2: "H", 4: "I", 8: "Q"}[dtypes.storage_bytes(dtype)], literal)
    if sys.byteorder == "big":
        made.byteswap()
    return made.tobytes()
