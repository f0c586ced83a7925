"""Elementwise ops and maps of whole arrays."""

from __future__ import annotations

from typing import List

from gen.hlo import Instruction
from gen.reference.emitter import Emitter, keeps_bits
from gen.reference.loops import count_of, loops_over
from gen.reference.types import FLOATS, STORAGE
from gen.reference.values import Array, Value


def elementwise(e: Emitter, i: Instruction, x: List[Array]) -> Array:
    count = count_of(i.shape.dims)
    positions = ["0" if count == 1 or a.count == 1 else "i" for a in x]  # a scalar choice or clamp bound stands for all
    value, interval = e.op(i, [e.element(a, p) for a, p in zip(x, positions)], "v")
    out = e.array(i.name, i.shape, interval is None)
    out.bits = keeps_bits(i, x)
    at = "0" if count == 1 else "i"
    if interval is None:
        lines = [f"v_{out.name}[{at}] = {value};"]
    else:
        kind = "range" if out.dtype in FLOATS else "irange"
        lines = [f"const {STORAGE[out.dtype]} v = {value};", f"const {kind} r = {interval};",
                 f"v_{out.name}[{at}] = v;"]
        lines += e.put_interval(out, at, "r")
    e.step(e.title(i), loops_over((count,), lines), [out], x)
    return out


def mapped(e: Emitter, i: Instruction, x: List[Array]) -> Value:
    """A map: its computation on scalars, in one loop."""
    lines: List[str] = []
    at = "0" if x[0].count == 1 else "i"
    results = e.inline(i.attributes["to_apply"], [e.element(a, at) for a in x], lines)
    outs = []
    for k, (result, shape) in enumerate(zip(results, i.shape.leaves())):
        out = e.array(i.name if len(results) == 1 else f"{i.name}_{k}", shape, result.interval is None)
        out.bits = result.bits
        lines.append(f"v_{out.name}[{at}] = {result.v};")
        if result.interval is not None:
            lines.append(f"const {'range' if out.dtype in FLOATS else 'irange'} r{k} = {result.interval};")
            lines += e.put_interval(out, at, f"r{k}")
        outs.append(out)
    e.step(e.title(i), loops_over((outs[0].count,), lines), outs, x)
    return outs[0] if i.shape.kind == "array" else list(outs)
