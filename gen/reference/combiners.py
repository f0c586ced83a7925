"""What a combiner does to a running value and an element: of reduce, reduce-window and scatter."""

from __future__ import annotations

from typing import List, Optional, Sequence

from gen.hlo import Computation, Instruction
from gen.reference.elements import value_of
from gen.reference.emitter import Emitter
from gen.reference.intervals import interval_of, interval_of_op
from gen.reference.types import FLOATS, STORAGE
from gen.reference.values import Scalar


def combine_simple(e: Emitter, part: Instruction, total: Scalar, element: Scalar, k: int,
                   behind: bool = False) -> List[str]:
    """The combiner is one op on the total and the element, whichever way round it names them. behind: the element comes
    first."""
    dtype = part.shape.dtype
    first = (through(part.operands[0]).parameter_number == k) != behind
    x = [total, element] if first else [element, total]
    value = value_of(part.opcode, {}, dtype, x)
    if total.interval is None:
        return [f"{total.v} = {value};"]
    kind = "range" if dtype in FLOATS else "irange"
    text = interval_of_op(part.opcode, {}, dtype, x, f"next{k}", False, e.options)
    return [f"const {STORAGE[dtype]} next{k} = {value};", f"const {kind} rnext{k} = {text};", f"{total.v} = next{k};",
            f"{total.interval} = rnext{k};"]


def combine(e: Emitter, computation: Computation, sums: List[Scalar], elements: List[Scalar],
            behind: bool = False) -> List[str]:
    """Any combiner, on all totals and elements together. behind: the elements come first."""
    lines: List[str] = []
    result = e.inline(computation, elements + sums if behind else sums + elements, lines)
    stores: List[str] = []
    for k, (total, new) in enumerate(zip(sums, result)):
        if new.v != total.v:  # through a local: a later one may still read the old total
            lines.append(f"const {STORAGE[total.dtype]} next{k} = {new.v};")
            stores.append(f"{total.v} = next{k};")
            if total.interval is not None:
                lines.append(f"const {'range' if total.dtype in FLOATS else 'irange'} rnext{k} = {interval_of(new)};")
                stores.append(f"{total.interval} = rnext{k};")
    return lines + stores


def introduces(e: Emitter, computation: Computation, dtypes: Sequence[str]) -> bool:
    """Whether a combiner may err though its arguments are exact."""
    trial = Emitter(e.options)  # its text is thrown away
    return any(s.interval is not None for s in trial.inline(computation, [Scalar("x", d) for d in dtypes], []))


def through(i: Instruction) -> Instruction:
    """The value itself, behind copies and tuples that are taken apart again."""
    while i.opcode == "copy" or (i.opcode == "get-tuple-element" and through(i.operands[0]).opcode == "tuple"):
        i = i.operands[0] if i.opcode == "copy" else through(i.operands[0]).operands[int(i.attributes["index"])]
    return i


def combiner_parts(computation: Computation, count: int) -> Optional[List[Instruction]]:
    """The ops of a combiner whose component k is one op of total k and element k alone; None for any other."""
    root = through(computation.root)
    parts = [through(o) for o in root.operands] if root.opcode == "tuple" else [root]
    if len(parts) != count:
        return None
    for k, part in enumerate(parts):
        numbers = sorted(-1 if o.opcode != "parameter" else o.parameter_number for o in map(through, part.operands))
        if part.opcode not in ("add", "multiply", "maximum", "minimum", "and", "or",
                               "xor") or numbers != [k, count + k]:
            return None
    return parts
