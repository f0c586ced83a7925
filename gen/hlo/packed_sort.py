"""Sorts and topks of packed elements as those of whole bytes, because a sort moves single elements."""

from __future__ import annotations

from gen.hlo import dtypes
from gen.hlo.expansion import Expander
from gen.hlo.graph import Computation, Instruction, Shape, array_shape, tuple_shape

# the types of whole bytes that represent every element of a packed type, in the same order
WIDER = {"s2": "s8", "u2": "u8", "s4": "s8", "u4": "u8", "f4e2m1fn": "f16"}


def is_packed_sort(instruction: Instruction) -> bool:
    """Return true if an op is a sort or a topk of packed arrays without tiles."""
    shapes = [*(operand.shape for operand in instruction.operands), *instruction.shape.leaves()]
    return (instruction.opcode in ("sort", "topk") and any(shape.dtype in dtypes.PACKED for shape in shapes)
            and not any(shape.tiled for shape in shapes))


def packed_sort(x: Expander, instruction: Instruction) -> Instruction:
    """Return the result of a sort or a topk, computed from wider elements and converted back."""
    for comparator in instruction.called:
        _widen(comparator)
    to = instruction.shape
    shape = tuple_shape([_wider(of) for of in to.children]) if to.kind == "tuple" else _wider(to)
    operands = [x.convert(of, WIDER.get(of.shape.dtype, of.shape.dtype)) for of in instruction.operands]
    wide = x.add(instruction.opcode, shape, operands, **instruction.attributes)
    wide.called = instruction.called
    if to.kind != "tuple":
        return x.laid_out(x.convert(wide, to.dtype), to)
    return x.tuple([x.laid_out(x.convert(x.element(wide, n), of.dtype), of) for n, of in enumerate(to.children)])


def _wider(of: Shape) -> Shape:
    return array_shape(WIDER[of.dtype], of.dims, of.minor_to_major) if of.dtype in WIDER else of


def _widen(comparator: Computation) -> None:
    """Give the parameters of a comparator wider types. Comparisons of two parameters read the wider elements, other ops
    read them converted to the packed type.
    """
    wide = {packed: Instruction(f"{packed.name}.wide", "parameter", _wider(packed.shape), line=packed.line,
                                col=packed.col, parameter_number=packed.parameter_number, computation=comparator)
            for packed in comparator.parameters if packed.shape.dtype in WIDER}
    for i in comparator.instructions:
        if i.opcode == "compare" and all(operand in wide for operand in i.operands):
            i.operands = [wide[operand] for operand in i.operands]
    for packed, parameter in wide.items():
        packed.opcode, packed.operands, packed.parameter_number = "convert", [parameter], None
    read = {operand for i in comparator.instructions for operand in i.operands}
    comparator.parameters = [wide.get(parameter, parameter) for parameter in comparator.parameters]
    comparator.instructions = [*comparator.parameters,
                               *(i for i in comparator.instructions if i.opcode != "parameter"
                                 and (i not in wide or i in read))]
    comparator.count_users()
