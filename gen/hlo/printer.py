"""Print a graph as text that the parser reads back to an equal graph, and compare graphs."""

from __future__ import annotations

from typing import Any, Dict, Iterator, Tuple

from gen.hlo import dtypes
from gen.hlo.graph import Computation, Instruction, Labels, Module, Shape, Window, entry_of, root_of


def _literal_text(of: Shape, bits: "Iterator[int]") -> str:
    """Return the values of a constant as text, in one pair of braces for each dimension. The function calls
    itself only for the elements of tuples.
    """
    if of.kind == "tuple":
        return "(" + ", ".join(_literal_text(child, bits) for child in of.children) + ")"
    values = [next(bits) for _ in range(max(of.elements, 0))]
    if len(values) > 64 and values.count(values[0]) == len(values):
        return dtypes.format_value(values[0], of.dtype)
    items = [dtypes.format_value(value, of.dtype) for value in values]
    for level in range(len(of.dims) - 1, -1, -1):
        outer = 1
        for size in of.dims[:level]:
            outer *= size
        size = of.dims[level]
        items = ["{" + ", ".join(items[k * size:(k + 1) * size]) + "}" for k in range(outer)]
    return items[0]


def _attribute_text(key: str, value: Any) -> str:
    if isinstance(value, Computation):
        return f"{key}=%{value.name}"
    if key == "slice":
        parts = [f"[{start}:{limit}]" if stride == 1 else f"[{start}:{limit}:{stride}]"
                 for start, limit, stride in value]
        return f"slice={{{', '.join(parts)}}}"
    if key == "padding":
        parts = [f"{low}_{high}" if not interior else f"{low}_{high}_{interior}" for low, high, interior in value]
        return f"padding={'x'.join(parts)}"
    if isinstance(value, Window):
        return f"{key}={{{value.text}}}"
    if isinstance(value, Labels):
        return f"{key}={value.text}"
    if isinstance(value, bool):
        return f"{key}={str(value).lower()}"
    if isinstance(value, tuple):
        return f"{key}={{{','.join(map(str, value))}}}"
    return f"{key}={value}"


def print_instruction(instruction: Instruction) -> str:
    """Return an instruction as text, without the word ROOT."""
    if instruction.opcode == "parameter":
        inside = str(instruction.parameter_number)
    elif instruction.opcode == "constant":
        inside = "{...}"
        if instruction.literal is not None:
            inside = _literal_text(instruction.shape, iter(instruction.literal))
    else:
        inside = ", ".join("%" + operand.name for operand in instruction.operands)
    words = [f"%{instruction.name} = {instruction.shape.text} {instruction.opcode}({inside})"]
    for key, value in instruction.attributes.items():
        if key != "raw":
            words.append(_attribute_text(key, value))
    words += [f"{key}={value}" for key, value in instruction.attributes.get("raw", {}).items()]
    return ", ".join(words)


def print_computation(computation: Computation, entry: bool = False) -> str:
    """Return a computation as text."""
    lines = [f"{'ENTRY ' if entry else ''}%{computation.name} {{"]
    for instruction in computation.instructions:
        lines.append(f"  {'ROOT ' if instruction is computation.root else ''}{print_instruction(instruction)}")
    tail = "".join(f", {key}={value}" for key, value in computation.attributes.items())
    return "\n".join(lines) + "\n}" + tail + "\n"


def print_module(module: Module) -> str:
    """Return the module as text that `parse` reads back to an equal graph."""
    parts = []
    if module.name:
        parts.append(f"HloModule {module.name}" + "".join(f", {k}={v}" for k, v in module.attributes.items()) + "\n")
    for computation in module.computations:
        parts.append(print_computation(computation, module.explicit_entry and computation is module.entry))
    return "\n".join(parts)


def _plain_attributes(instruction: Instruction) -> Dict[str, Any]:
    return {key: value.name if isinstance(value, Computation) else value
            for key, value in instruction.attributes.items()}


def instruction_key(instruction: Instruction) -> "Tuple[Any, ...]":
    """Return everything about an instruction but its position, as a comparable value. It refers to other instructions
    and to computations by name.
    """
    return (instruction.name, instruction.opcode, instruction.shape, tuple(o.name for o in instruction.operands),
            _plain_attributes(instruction), tuple(u.name for u in instruction.users),
            tuple(c.name for c in instruction.called), instruction.parameter_number, instruction.literal)


def difference(a: Module, b: Module) -> str:
    """Return the first difference of two graphs in words, or '' if they are equal. Positions and comments are
    ignored."""
    if (a.name, a.attributes, a.explicit_entry) != (b.name, b.attributes, b.explicit_entry):
        return "the module's name, attributes or entry"
    if [c.name for c in a.computations] != [c.name for c in b.computations] or entry_of(a).name != entry_of(b).name:
        return "the computations"
    for first, second in zip(a.computations, b.computations):
        if len(first.instructions) != len(second.instructions) or first.attributes != second.attributes:
            return f"the computation {first.name}"
        if [p.name for p in first.parameters] != [p.name for p in second.parameters]:
            return f"the parameters of {first.name}"
        if root_of(first).name != root_of(second).name:
            return f"the root of {first.name}"
        for x, y in zip(first.instructions, second.instructions):
            if instruction_key(x) != instruction_key(y):
                return f"the instruction {x.name} of {first.name}"
    return ""
