"""Replace instructions by other ops before a module is divided into fusions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Callable, Dict, List, Optional, Sequence

from gen.hlo import dtypes
from gen.hlo.graph import Computation, Instruction, Module, Shape, array_shape, tuple_shape


class Expander:
    """Adds ops in place of one instruction. Each method returns the op that it adds, row-major unless a shape says
    otherwise."""

    def __init__(self, instruction: Instruction, names: "Dict[str, int]", into: "List[Instruction]",
                 computations: "List[Computation]") -> None:
        self.of, self.names, self.into, self.computations = instruction, names, into, computations

    def add(self, opcode: str, shape: Shape, operands: "Sequence[Instruction]" = (), **attributes: Any) -> Instruction:
        added = Instruction(self._name(), opcode, shape, list(operands), attributes, line=self.of.line,
                            col=self.of.col, computation=self.of.computation)
        self.into.append(added)
        return added

    def _name(self) -> str:
        while True:
            self.names[self.of.name] = self.names.get(self.of.name, 0) + 1
            name = f"{self.of.name}.of{self.names[self.of.name]}"
            if name not in self.names:
                self.names[name] = 0
                return name

    def constant(self, dtype: str, bits: int) -> Instruction:
        """Return the scalar constant with these bits."""
        added = self.add("constant", array_shape(dtype, ()))
        added.literal = [bits & (1 << dtypes.TABLE[dtype].bits) - 1]
        return added

    def splat(self, bits: int, like: Shape) -> Instruction:
        """Return an array whose elements all have the given bits, with the type and the dimensions of another array."""
        return self.broadcast(self.constant(like.dtype, bits), like)

    def broadcast(self, value: Instruction, to: Shape, dimensions: "Sequence[int]" = ()) -> Instruction:
        """Return the value broadcast to a shape, in the shape's layout.

        dimensions: the dimensions of the shape that the value's dimensions become
        """
        if value.shape.dims == to.dims and value.shape.minor_to_major == to.minor_to_major:
            return value
        return self.add("broadcast", array_shape(value.shape.dtype, to.dims, to.minor_to_major), [value],
                        dimensions=tuple(dimensions))

    def op(self, opcode: str, *operands: Instruction) -> Instruction:
        """Return an elementwise op whose result has the type of operand 0."""
        return self.add(opcode, operands[0].shape, operands)

    def convert(self, value: Instruction, dtype: str, opcode: str = "convert") -> Instruction:
        """Return the value converted to a type, or, for opcode bitcast-convert, its bits as that type."""
        of = value.shape
        return value if of.dtype == dtype else self.add(opcode, array_shape(dtype, of.dims, of.minor_to_major), [value])

    def reshape(self, value: Instruction, dims: "Sequence[int]") -> Instruction:
        if value.shape.dims == tuple(dims):
            return value
        return self.add("reshape", array_shape(value.shape.dtype, tuple(dims)), [value])

    def slice(self, value: Instruction, along: int, start: int, limit: int) -> Instruction:
        """Return the elements from start to limit of a dimension."""
        dims = value.shape.dims
        if (start, limit) == (0, dims[along]):
            return value
        bounds = tuple((start, limit, 1) if d == along else (0, size, 1) for d, size in enumerate(dims))
        to = dims[:along] + (limit - start,) + dims[along + 1:]
        return self.add("slice", array_shape(value.shape.dtype, to), [value], slice=bounds)

    def concatenate(self, values: "Sequence[Instruction]", along: int) -> Instruction:
        dims = values[0].shape.dims
        to = dims[:along] + (sum(value.shape.dims[along] for value in values),) + dims[along + 1:]
        return self.add("concatenate", array_shape(values[0].shape.dtype, to), values, dimensions=(along,))

    def interleaved(self, values: "Sequence[Instruction]", along: int) -> Instruction:
        """Return two or four arrays of one shape, stacked along the new dimension `along`. The result is computed by
        selects, not by a concatenate, so that one kernel computes all arrays in the same loop.
        """
        of = values[0].shape
        to = array_shape(of.dtype, of.dims[:along] + (len(values),) + of.dims[along:])
        numbers = self.add("iota", array_shape("u32", to.dims), iota_dimension=along)
        spread = [self.broadcast(value, to, tuple(d for d in range(to.rank) if d != along)) for value in values]
        while len(spread) > 1:
            half = len(spread) // 2
            bit = self.op("and", numbers, self.splat(half, numbers.shape))
            upper = self.add("compare", array_shape("pred", to.dims), [bit, self.splat(0, bit.shape)], direction="NE")
            spread = [self.add("select", to, [upper, high, low]) for low, high in zip(spread[:half], spread[half:])]
        return spread[0]

    def sum(self, value: Instruction, dimensions: "Sequence[int]") -> Instruction:
        """Return the sums of floats over some dimensions."""
        of = array_shape(value.shape.dtype, ())
        to = tuple(size for d, size in enumerate(value.shape.dims) if d not in dimensions)
        adds = self._sum_of(of)
        added = self.add("reduce", array_shape(of.dtype, to), [value, self.constant(of.dtype, 0)],
                         dimensions=tuple(dimensions), to_apply=adds)
        added.called = [adds]
        return added

    def _sum_of(self, of: Shape) -> Computation:
        """Return the computation that adds two scalars."""
        computation = Computation(self._name(), line=self.of.line, col=self.of.col)
        parameters = [Instruction(name, "parameter", of, parameter_number=n, line=self.of.line, col=self.of.col,
                                  computation=computation) for n, name in enumerate(("a", "b"))]
        root = Instruction("sum", "add", of, parameters, line=self.of.line, col=self.of.col, computation=computation)
        for parameter in parameters:
            parameter.users = [root]
        computation.instructions, computation.parameters = [*parameters, root], parameters
        computation.root = root
        self.computations.append(computation)
        return computation

    def laid_out(self, value: Instruction, to: Shape) -> Instruction:
        """Return the value in the layout of a shape."""
        return value if value.shape == to else self.add("copy", to, [value])

    def tuple(self, values: "Sequence[Instruction]") -> Instruction:
        return self.add("tuple", tuple_shape([value.shape for value in values]), values)

    def element(self, value: Instruction, number: int) -> Instruction:
        """Return an element of a tuple."""
        if value.opcode == "tuple":
            return value.operands[number]
        return self.add("get-tuple-element", value.shape.children[number], [value], index=number)


    def call(self, rule: "Rule") -> Instruction:
        """Put the ops that the rule adds into a new computation, and return a call of it. As this one call replaces the
        op, the entry has as many steps as before.
        """
        of = self.of
        computation = Computation(self._name(), line=of.line, col=of.col)
        parameters = [Instruction(f"p{n}", "parameter", operand.shape, parameter_number=n, line=of.line, col=of.col,
                                  computation=computation) for n, operand in enumerate(of.operands)]
        computation.parameters, computation.instructions = parameters, [*parameters]
        inside = replace(of, operands=list(parameters), users=[], computation=computation)
        names = {**self.names, **{parameter.name: 0 for parameter in parameters}}
        computation.root = rule(Expander(inside, names, computation.instructions, self.computations), inside)
        assert computation.root is not None
        computation.count_users()
        self.computations.append(computation)
        added = self.add("call", of.shape, of.operands, to_apply=computation)
        added.called = [computation]
        return added


Rule = Callable[[Expander, Instruction], Optional[Instruction]]


def expand(module: Module, rule: Rule) -> None:
    """Replace each instruction by the rule's result for it; an instruction for which the rule returns None stays."""
    computations: List[Computation] = []
    names = {computation.name: 0 for computation in module.computations}
    for computation in module.computations:
        _expand_computation(computation, rule, names, computations)
        computations.append(computation)
    module.computations = computations


def _expand_computation(computation: Computation, rule: Rule, taken: "Dict[str, int]",
                        computations: "List[Computation]") -> None:
    known: Dict[Instruction, Instruction] = {}
    names = {**taken, **{instruction.name: 0 for instruction in computation.instructions}}
    instructions: List[Instruction] = []
    for instruction in computation.instructions:
        instruction.operands = [known.get(operand, operand) for operand in instruction.operands]
        made = rule(Expander(instruction, names, instructions, computations), instruction)
        if made is None:
            instructions.append(instruction)
        else:
            known[instruction] = made
    if not known:
        return
    taken.update({added.name: 0 for added in computations})
    assert computation.root is not None
    computation.root = known.get(computation.root, computation.root)
    computation.instructions = instructions
    computation.count_users()
