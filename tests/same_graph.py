"""Compare computation graphs regardless of names: a function as StableHLO text and as HLO text must have one canonical
text.
"""

from __future__ import annotations

from typing import Any, Dict, List

from gen.hlo.graph import Computation, Instruction, Module, entry_of

# Default values of attributes. An attribute with its default value is the same as an absent attribute.
DEFAULTS = {"feature_group_count": 1, "batch_group_count": 1, "dimensions": ()}
KEPT_TEXT = ("metadata", "to_apply", "condition", "body", "branch_computations", "true_computation", "false_computation")


def canonical(module: Module) -> str:
    """Return the graph as text: the instructions that the result needs, numbered in the order of their first use. The
    text of a called computation follows the instruction that calls it.
    """
    known: Dict[Computation, str] = {}

    def text(of: Computation) -> str:
        if of not in known:
            known[of] = "\n".join(line(instruction, numbers) for instruction, numbers in numbered(of))
        return known[of]

    def line(i: Instruction, numbers: "Dict[Instruction, int]") -> str:
        if i.opcode == "parameter":
            inside = f"number {i.parameter_number}"
        elif i.opcode == "constant":
            inside = str(None if i.literal is None else tuple(i.literal))
        else:
            inside = ", ".join(str(numbers[operand]) for operand in i.operands)
        attributes = {key: value for key, value in i.attributes.items()
                      if key != "raw" and not isinstance(value, Computation) and DEFAULTS.get(key) != value
                      and not (key == "type" and value != "TOTALORDER")}
        raw = {key: value for key, value in i.attributes.get("raw", {}).items() if key not in KEPT_TEXT}
        words = [f"{key}={said(attributes[key])}" for key in sorted(attributes)] + [f"{key}={raw[key]}" for key in sorted(raw)]
        return f"{numbers[i]} = {i.shape.text} {i.opcode}({inside}) {' '.join(words)}" + "".join(
            f" {{{text(called)}}}" for called in i.called)

    return text(entry_of(module))


def said(value: Any) -> str:
    return str(getattr(value, "text", value))


def numbered(computation: Computation) -> "List[Any]":
    """Return a list of pairs (instruction, numbers), one for each instruction that the root needs, operands first.
    `numbers` is the same in all pairs: for each instruction, its position in the list.
    """
    assert computation.root is not None
    numbers: Dict[Instruction, int] = {}
    ordered = []
    stack = [(computation.root, False)]
    while stack:
        instruction, ready = stack.pop()
        if instruction in numbers:
            continue
        if ready:
            numbers[instruction] = len(numbers)
            ordered.append((instruction, numbers))
        else:
            stack.append((instruction, True))
            stack += [(operand, False) for operand in reversed(instruction.operands) if operand not in numbers]
    return ordered


def same(a: Module, b: Module) -> bool:
    return canonical(a) == canonical(b)
