"""Inline the fusions, calls and maps of a computation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Dict, List, Optional, Set, Union

from gen.hlo.graph import Computation, HloError, Instruction, Shape, array_shape, root_of
from gen.hlo.opcodes import ELEMENTWISE
from gen.hlo.trips import trips

INLINE_LIMIT = 200000  # largest number of instructions of a fusion after inlining


class Inliner:
    """Copies a computation with its fusions, calls, maps and opt-barriers inlined. The copy also differs in these
    points:

    - copies of tuples, and tuples that are only taken apart again, are gone;
    - a scalar predicate of a select is broadcast, and start indices in an array become scalars;
    - short loops on large arrays are unrolled;
    - a copy op is added where a layout changes at the boundary of a computation.

    launches: true for an entry whose fusions become kernels; then only calls of computations that contain fusions are
        inlined
    """

    def __init__(self, source: Computation, filename: str, launches: bool = False) -> None:
        self.filename, self.launches = filename, launches
        self.source = source
        self.target = Computation(source.name, line=source.line, col=source.col, attributes=dict(source.attributes))
        self.names = {instruction.name for instruction in source.instructions}
        self.counts: Dict[str, int] = {}
        self.inner: Dict[int, Computation] = {}
        self.size = 0

    def run(self) -> Computation:
        root = self._body(self.source, None, None)
        self.target.root = root
        self.target.parameters = [i for i in self.target.instructions if i.opcode == "parameter"]
        self.target.parameters.sort(key=lambda i: i.parameter_number or 0)
        self._sweep(root)
        self.target.count_users()
        return self.target

    def _body(self, body: Computation, arguments: "Optional[List[Instruction]]",
              spread: Optional[Shape]) -> Instruction:
        """Copy the instructions of a computation, and return the copy of its root.

        arguments: the values of its parameters
        spread: the shape of the `map` op that calls the computation, if there is one
        """
        known: Dict[int, Instruction] = {}
        self._count(sum(i.opcode != "parameter" for i in body.instructions), body)
        for instruction in body.instructions:
            operands = [known[id(operand)] for operand in instruction.operands]
            if instruction.opcode == "parameter" and arguments is not None:
                given = arguments[instruction.parameter_number or 0]
                known[id(instruction)] = given if spread else self._laid_out(given, instruction.shape)
            elif self.launches and not launches_fusions(instruction):
                known[id(instruction)] = self._copy(instruction, operands, instruction.shape)
            elif instruction.opcode in ("fusion", "call"):
                given = self._body(instruction.called[0], operands, spread)
                known[id(instruction)] = given if spread else self._laid_out(given, instruction.shape)
            elif instruction.opcode == "while" and spread is None and written_out(instruction):
                state = operands[0]
                for _ in range(trips(instruction) or 0):
                    state = self._laid_out(self._body(instruction.called[1], [state], None), instruction.shape)
                known[id(instruction)] = state
            elif instruction.opcode == "map":
                known[id(instruction)] = self._body(instruction.called[0], operands, instruction.shape)
            elif instruction.opcode == "opt-barrier" or (instruction.opcode == "copy"
                                                         and instruction.shape.kind == "tuple"):
                known[id(instruction)] = operands[0]
            elif instruction.opcode == "get-tuple-element" and operands[0].opcode == "tuple":
                known[id(instruction)] = operands[0].operands[instruction.attributes["index"]]
            elif _of_scalar_bits(instruction):
                known[id(instruction)] = self._scalar_bits(instruction, operands[0], spread)
            elif spread is not None:
                known[id(instruction)] = self._spread(instruction, operands, spread)
            else:
                if _selects_by_scalar(instruction):
                    operands[0] = self._broadcast(operands[0], instruction.shape)
                if _starts_in_array(instruction):
                    operands[-1:] = self._scalars(operands[-1])
                known[id(instruction)] = self._copy(instruction, operands, instruction.shape)
        return known[id(root_of(body))]

    def _count(self, more: int, at: "Union[Computation, Instruction]") -> None:
        self.size += more
        if self.size > INLINE_LIMIT:
            raise HloError(self.filename, at.line, at.col,
                           f"'{self.source.name}' has more than {INLINE_LIMIT} instructions once all it calls is inlined; "
                           "instead, cut the module into several")

    def _laid_out(self, value: Instruction, of: Shape) -> Instruction:
        """Return the value in the layout of `of`, which has the same types and dimensions."""
        if value.shape == of or of.kind == "token":
            return value
        if of.kind == "array":
            return self._add(value, "copy", of, [value])
        parts = value.operands if value.opcode == "tuple" else [self._add(value, "get-tuple-element", child, [value],
                                                                          index=number)
                                                                for number, child in enumerate(value.shape.children)]
        return self._add(value, "tuple", of, [self._laid_out(part, child) for part, child in zip(parts, of.children)])

    def _add(self, like: Instruction, opcode: str, of: Shape, operands: List[Instruction],
             **attributes: Any) -> Instruction:
        """Add an instruction with no counterpart in the text; its position for error messages is that of `like`."""
        self._count(1, like)
        added = Instruction(self._name(like.name), opcode, of, operands, attributes, line=like.line, col=like.col,
                            computation=self.target)
        self.target.instructions.append(added)
        return added

    def _copy(self, instruction: Instruction, operands: List[Instruction], of: Shape) -> Instruction:
        own = instruction.computation is self.source and instruction.name in self.names
        attributes = {key: self._called(value) if isinstance(value, Computation) else value
                      for key, value in instruction.attributes.items()}
        copy = Instruction(instruction.name if own else self._name(instruction.name), instruction.opcode, of, operands,
                           attributes, [], [self._called(computation) for computation in instruction.called],
                           instruction.parameter_number, instruction.literal, instruction.line, instruction.col,
                           self.target, instruction.places)
        self.target.instructions.append(copy)
        return copy

    def _called(self, computation: Computation) -> Computation:
        """Return a copy of the scalar computation that an op applies, with its own calls inlined."""
        if self.launches:
            return computation
        return self.inner.setdefault(id(computation), inlined(computation, self.filename))

    def _spread(self, instruction: Instruction, operands: List[Instruction], to: Shape) -> Instruction:
        """Turn a scalar op inside a map into an op on all elements."""
        of = array_shape(instruction.shape.dtype, to.dims, to.minor_to_major)
        if instruction.opcode != "constant":
            return self._copy(instruction, operands, of)
        return self._broadcast(self._copy(instruction, [], instruction.shape), to)

    def _scalar_bits(self, bitcast: Instruction, value: Instruction, spread: Optional[Shape]) -> Instruction:
        """Replace a scalar's bitcast, as XLA prints it in comparators, by a bitcast-convert. Return the scalar itself
        if the bitcast does not change its type.
        """
        of = bitcast.operands[0].shape
        if bitcast.shape.dtype == of.dtype:
            return value
        converted = replace(bitcast, opcode="bitcast-convert")
        return self._spread(converted, [value], spread) if spread else self._copy(converted, [value], bitcast.shape)

    def _broadcast(self, scalar: Instruction, to: Shape) -> Instruction:
        return self._add(scalar, "broadcast", array_shape(scalar.shape.dtype, to.dims, to.minor_to_major), [scalar],
                         dimensions=())

    def _scalars(self, array: Instruction) -> List[Instruction]:
        """Return the elements of an array of rank 1 as scalars."""
        leaves = []
        for k in range(array.shape.dims[0]):
            leaf = array
            for opcode, dims, attributes in (("slice", (1,), {"slice": ((k, k + 1, 1),)}), ("reshape", (), {})):
                leaf = self._add(array, opcode, array_shape(array.shape.dtype, dims), [leaf], **attributes)
            leaves.append(leaf)
        return leaves

    def _name(self, wanted: str) -> str:
        name = wanted
        while name in self.names:
            self.counts[wanted] = self.counts.get(wanted, 0) + 1
            name = f"{wanted}.in{self.counts[wanted]}"
        self.names.add(name)
        return name

    def _sweep(self, root: Instruction) -> None:
        """Remove unused instructions except parameters."""
        live, stack = {id(root)}, [root]
        while stack:
            for operand in stack.pop().operands:
                if id(operand) not in live:
                    live.add(id(operand))
                    stack.append(operand)
        self.target.instructions = [i for i in self.target.instructions if id(i) in live or i.opcode == "parameter"]


def _selects_by_scalar(instruction: Instruction) -> bool:
    return instruction.opcode == "select" and instruction.operands[0].shape.dims != instruction.shape.dims


def _starts_in_array(instruction: Instruction) -> bool:
    """Return true if a dynamic-slice or dynamic-update-slice has its start indices in one operand."""
    first = {"dynamic-slice": 1, "dynamic-update-slice": 2}.get(instruction.opcode)
    return first is not None and len(instruction.operands) == first + 1 and instruction.operands[first].shape.rank == 1


MOST_TRIPS = 8    # maximum number of iterations of a loop that is unrolled
LEAST_BYTES = 16384    # minimum bytes of the state of a loop that is unrolled
MOST_WRITTEN = 512    # maximum number of instructions of an unrolled loop, over all iterations


def written_out(loop: Instruction) -> bool:
    """Return true if a loop is fully unrolled: it has few, short iterations on large arrays. Fusion then turns it into
    one pass over memory. A loop on small arrays stays a loop.
    """
    count, body = trips(loop), loop.called[1]
    return (count is not None and count <= MOST_TRIPS and count * len(body.instructions) <= MOST_WRITTEN
            and loop.shape.bytes >= LEAST_BYTES
            and all(i.opcode in ELEMENTWISE or i.opcode in _PLAIN for i in _all(body)))


# ops that an unrolled iteration may have besides elementwise ops
_PLAIN = frozenset("""parameter constant iota tuple get-tuple-element broadcast reshape bitcast slice call fusion
    opt-barrier transpose concatenate pad reverse dynamic-slice""".split())


def _all(computation: Computation) -> "List[Instruction]":
    """Return the instructions of a computation and of all that it calls."""
    return [i for own in computation.instructions
            for i in [own, *(inner for called in own.called for inner in _all(called))]]


def launches_fusions(instruction: Instruction) -> bool:
    """Return true if an instruction of an entry calls a computation that contains fusions, directly or through further
    calls.
    """
    waiting = list(instruction.called) if instruction.opcode == "call" else []
    seen: Set[int] = set()
    while waiting:
        computation = waiting.pop()
        if id(computation) not in seen:
            seen.add(id(computation))
            if any(i.opcode == "fusion" for i in computation.instructions):
                return True
            waiting += [called for i in computation.instructions if i.opcode == "call" for called in i.called]
    return False


_INLINED = ("fusion", "call", "map", "opt-barrier")


def _of_scalar_bits(instruction: Instruction) -> bool:
    """Return true for a bitcast from scalar to scalar."""
    return instruction.opcode == "bitcast" and not (instruction.shape.dims or instruction.operands[0].shape.dims)


def _to_inline(instruction: Instruction) -> bool:
    return instruction.opcode in _INLINED or _selects_by_scalar(instruction) or _starts_in_array(instruction) or any(
        i.opcode in _INLINED or _of_scalar_bits(i) for called in instruction.called for i in called.instructions) or (
        _of_scalar_bits(instruction)) or (
        instruction.opcode == "while" and written_out(instruction)) or (
        instruction.opcode == "copy" and instruction.shape.kind == "tuple") or (
        instruction.opcode == "get-tuple-element" and instruction.operands[0].opcode == "tuple")


def inlined(computation: Computation, filename: str = "") -> Computation:
    """Return the computation with nested fusions, calls and maps inlined (see Inliner), or the computation itself if
    nothing changes."""
    if not any(_to_inline(i) for i in computation.instructions):
        return computation
    return Inliner(computation, filename).run()
