"""Elementwise ops and maps of whole arrays."""

from __future__ import annotations

from typing import List

from gen.statements import Assign, Statement
from gen.hlo import Instruction
from gen.reference.elements import value_of
from gen.reference.emitter import Emitter, title
from gen.reference.loops import loops_over
from gen.reference.values import Array, Scalar, Value


def elementwise(e: Emitter, i: Instruction, x: List[Array]) -> Array:
    # a scalar applies to all elements; it is the predicate of a select, or a bound of a clamp
    operands = [Scalar(f"{a}[{a.all()}]", a.dtype) for a in x]
    value, out = value_of(e.call, i.opcode, i.attributes, i.shape.dtype, operands), e.result(i)
    e.step(title(i), out.each(value), [out], x)
    return out


def mapped(e: Emitter, i: Instruction, x: List[Array]) -> Value:
    """Add a map. Its computation on scalars is written into one loop over the elements."""
    lines: List[Statement] = []
    results = e.inline(i.attributes["to_apply"], [Scalar(f"{a}[{a.all()}]", a.dtype) for a in x], lines)
    outs = [e.array(i.name, shape.dtype, shape.dims) for shape in i.shape.leaves()]
    lines += [Assign(f"{out}[{out.all()}]", result.v) for out, result in zip(outs, results)]
    e.step(title(i), loops_over((outs[0].count,), lines), outs, x)
    return outs[0] if i.shape.kind == "array" else list(outs)
