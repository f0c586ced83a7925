"""C statements that combine accumulators with elements, for reduce, reduce-window and scatter."""

from __future__ import annotations

from typing import List, Optional, Sequence

from gen.statements import Assign, Let, Statement
from gen.hlo import Computation, Instruction
from gen.hlo.graph import root_of
from gen.reference.elements import value_of
from gen.reference.emitter import Emitter, number_of
from gen.reference.types import STORAGE
from gen.reference.values import Scalar


def combine(e: Emitter, computation: Computation, totals: Sequence[Scalar], elements: Sequence[Scalar],
            behind: bool = False) -> List[Statement]:
    """Return statements that combine all accumulators with elements. behind: true if the elements are the combiner's
    first arguments, and the accumulators come after them.
    """
    parts = combiner_parts(computation, len(totals))
    if parts:
        sides = [in_order(part, k, totals[k], elements[k], behind) for k, part in enumerate(parts)]
        return [Assign(total.v, value_of(e.call, part.opcode, {}, total.dtype, x))
                for part, total, x in zip(parts, totals, sides)]
    lines: List[Statement] = []
    results = e.inline(computation, [*elements, *totals] if behind else [*totals, *elements], lines)
    changed = [(total, result) for total, result in zip(totals, results) if result.v != total.v]
    # store the results in local variables first, because a later assignment may still read an old accumulator
    lines += [Let(STORAGE[total.dtype], f"next{k}", result.v) for k, (total, result) in enumerate(changed)]
    return lines + [Assign(total.v, f"next{k}") for k, (total, _) in enumerate(changed)]


def in_order(part: Instruction, k: int, total: Scalar, element: Scalar, behind: bool) -> List[Scalar]:
    """Return an accumulator and an element in the order in which the only op of a combiner takes them."""
    first = (through(part.operands[0]).parameter_number == k) != behind
    return [total, element] if first else [element, total]


def through(i: Instruction) -> Instruction:
    """Return the value that an instruction passes on unchanged. It may pass through copies, and through tuples from
    which an element is taken.
    """
    while i.opcode == "copy" or (i.opcode == "get-tuple-element" and through(i.operands[0]).opcode == "tuple"):
        i = i.operands[0] if i.opcode == "copy" else through(i.operands[0]).operands[int(i.attributes["index"])]
    return i


def combiner_parts(computation: Computation, count: int) -> Optional[List[Instruction]]:
    """Return the op of each result of a combiner, if one op computes result k from accumulator k and element k. Return
    None for any other combiner.
    """
    root = through(root_of(computation))
    parts = [through(o) for o in root.operands] if root.opcode == "tuple" else [root]
    if len(parts) != count:
        return None
    for k, part in enumerate(parts):
        numbers = sorted(-1 if o.opcode != "parameter" else number_of(o) for o in map(through, part.operands))
        if part.opcode not in ("add", "multiply", "maximum", "minimum", "and", "or",
                               "xor") or numbers != [k, count + k]:
            return None
    return parts
