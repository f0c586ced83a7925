"""Reduce and reduce-window."""

from __future__ import annotations

from typing import List, NamedTuple, Optional, Tuple

from gen.hlo import Instruction, zero_sign_matters
from gen.reference.combiners import combine, combine_simple, combiner_parts, introduces
from gen.reference.emitter import Emitter
from gen.reference.intervals import interval_of, own_error, rounded_to
from gen.reference.loops import count_of, guarded, indices_of, loops_over, position_of, strides_of, window_index
from gen.reference.types import FLOATS, LARGEST, LEAST_NORMAL, SIGNIFICANT, STORAGE, TINY
from gen.reference.values import Array, Scalar, Value


def reduce(e: Emitter, i: Instruction, x: List[Array]) -> Value:
    half = len(x) // 2
    inputs, inits, computation = x[:half], x[half:], i.attributes["to_apply"]
    dims = inputs[0].dims
    along = prefix(i) if i.opcode == "reduce-window" else None
    if along:
        kept_dims, gone_dims = list(dims), [dims[along[0]]]
        out_indices = indices_of(kept_dims)
        position = [*out_indices]
    elif i.opcode == "reduce-window":
        window = i.attributes["window"]
        kept_dims, gone_dims = list(i.shape.leaves()[0].dims), list(window.size)
        out_indices = indices_of(kept_dims)
        at_element, tests, position = window_index(window, out_indices, indices_of(gone_dims, "r"), dims)
    else:
        gone = set(i.attributes["dimensions"])
        kept = [d for d in range(len(dims)) if d not in gone]
        kept_dims, gone_dims = [dims[d] for d in kept], [dims[d] for d in sorted(gone)]
        out_indices, in_indices = indices_of(kept_dims), indices_of(gone_dims, "r")
        position = ["0"] * len(dims)
        for d, index in list(zip(kept, out_indices)) + list(zip(sorted(gone), in_indices)):
            position[d] = index
    elements = [e.element(a, position_of(position, strides_of(dims))) for a in inputs]
    parts = combiner_parts(computation, half) or [None] * half
    simple = None not in parts
    ways = [reduce_way(e, i, parts[k], inputs[k], inits[k], count_of(gone_dims)) for k in range(half)]
    if not simple and e.options.intervals:
        inexact = any(not a.exact for a in x) or introduces(e, computation, [a.dtype for a in inits + inputs])
        ways = ["ends" if inexact else "exact"] * half
    shapes = i.shape.leaves()
    names = [i.name if half == 1 else f"{i.name}_{k}" for k in range(half)]
    outs = [e.array(names[k], shapes[k], ways[k] == "exact") for k in range(half)]
    for out in outs:
        out.bits = out.dtype not in FLOATS
    count, behind = str(count_of(gone_dims)), along is not None and along[1]
    if along:
        count = f"({count} - {out_indices[along[0]]})" if behind else f"({out_indices[along[0]]} + 1)"
    before, inner, after = reduce_body(e, i, parts if simple else None, ways, inits, elements, outs,
                                       position_of(out_indices, strides_of(kept_dims)), count, behind)
    if along:
        e.step(e.title(i), prefixes(kept_dims, *along, before, inner + after), outs, x)
        return outs[0] if i.shape.kind == "array" else list(outs)
    if i.opcode == "reduce-window":
        inner = guarded(at_element, tests, inner)
    body = before + loops_over(gone_dims, inner, "r") + after
    if not any(size != 1 for size in kept_dims):
        lines = ["{"] + ["  " + line for line in body] + ["}"]
    else:
        lines = loops_over(kept_dims, body)
    e.step(e.title(i), lines, outs, x)
    return outs[0] if i.shape.kind == "array" else list(outs)


def prefix(i: Instruction) -> Optional[Tuple[int, bool]]:
    """The dimension along which each window of a reduce-window is all that comes before its place, and that place (or,
    True, all from it on); None where windows are others."""
    window, dims = i.attributes["window"], i.operands[0].shape.dims
    wide = [d for d in range(len(dims)) if window.size[d] != 1]
    if len(wide) != 1 or window.dilated or any(n != 1 for n in window.stride) or any(window.reversal):
        return None
    d = wide[0]
    if any(window.low[k] or window.high[k] for k in range(len(dims)) if k != d) or window.size[d] < dims[d]:
        return None
    return {(window.size[d] - 1, 0): (d, False),
            (0, window.size[d] - 1): (d, True)}.get((window.low[d], window.high[d]))


def prefixes(dims: List[int], along: int, reverse: bool, before: List[str], step: List[str]) -> List[str]:
    """The loops of a prefix: what is carried goes on along one dimension, inside of all others."""
    name, size = indices_of(dims)[along], dims[along]
    if size == 1:
        return loops_over(dims, [*before, *step])
    upwards, downwards = (f"{name} = 0; {name} < {size}; ++{name}", f"{name} = {size - 1}; {name} >= 0; --{name}")
    head = f"for (int64_t {downwards if reverse else upwards}) {{"
    return loops_over(
        [n if d != along else 1 for d, n in enumerate(dims)], [*before, head, *("  " + line for line in step), "}"]
    )


def reduce_way(e: Emitter, i: Instruction, part: Optional[Instruction], of: Array, init: Array, count: int) -> str:
    """How intervals go through a simple reduction: exact, by its ends, as a sum or product in any order."""
    if not e.options.intervals or part is None:
        return "exact"
    if part.shape.dtype in FLOATS and part.shape.dtype not in TINY and e.options.reassociate and count > 1:
        if part.opcode in ("add", "multiply"):
            return "sum" if part.opcode == "add" else "product"
        if part.opcode in ("maximum", "minimum") and zero_sign_matters(i):
            return "ends"
    own = own_error(part.opcode, {}, part.shape.dtype, [part.shape.dtype] * 2, e.options) and count > 0
    return "ends" if own or not of.exact or not init.exact else "exact"


class LoopLines(NamedTuple):
    """Statements before, in and after the loops over the reduced dimensions."""

    before: List[str]
    inner: List[str]
    after: List[str]


def reduce_body(e: Emitter, i: Instruction, parts: Optional[List[Instruction]], ways: List[str], inits: List[Array],
                elements: List[Scalar], outs: List[Array], at: str, count: str,
                behind: bool = False) -> LoopLines:
    """The statements of a reduce's loops. behind: the total lies behind the element."""
    before: List[str] = []
    inner: List[str] = []
    after: List[str] = []
    sums: List[Scalar] = []
    for k, out in enumerate(outs):
        start = e.element(inits[k], "0")
        before.append(f"{STORAGE[out.dtype]} a{k} = {start.v};")
        if ways[k] == "ends":
            before.append(f"{'range' if out.dtype in FLOATS else 'irange'} ra{k} = {interval_of(start)};")
        if ways[k] in ("sum", "product"):
            state = "{0.0, 0.0, 0.0, false, false, false, false}" if ways[k] == "sum" else \
                "{{1.0, 1.0}, 1.0, 1.0, false, false, false, false}"
            before += [f"range_{ways[k]} ra{k} = {state};"]
            verb = "add" if ways[k] == "sum" else "multiply"
            before.append(f"range_{ways[k]}_{verb}(&ra{k}, {interval_of(start)});")
            inner.append(f"range_{ways[k]}_{verb}(&ra{k}, {interval_of(elements[k])});")
        sums.append(Scalar(f"a{k}", out.dtype, f"ra{k}" if ways[k] == "ends" else None))
    if parts is None:
        inner += combine(e, i.attributes["to_apply"], sums, elements, behind)
    else:
        for k, part in enumerate(parts):
            inner += combine_simple(e, part, sums[k], elements[k], k, behind)
    for k, out in enumerate(outs):
        after.append(f"v_{out.name}[{at}] = a{k};")
        if ways[k] == "exact":
            continue
        r = f"ra{k}"
        if ways[k] in ("sum", "product"):
            r = f"r{k}"
            limits = f"0x1p-{SIGNIFICANT[out.dtype]}, {LARGEST[out.dtype]}" + \
                (f", {LEAST_NORMAL[out.dtype]}" if ways[k] == "product" else ", 0.0")
            total = f"range_{ways[k]}_result(&ra{k}, (double){count}, {limits})"
            after.append(f"const range {r} = {rounded_to(total, out.dtype, f'a{k}', e.options)};")
        elif out.dtype in FLOATS and parts is not None and zero_sign_matters(i):
            after.append(f"ra{k} = range_either_zero(ra{k});")
        after += e.put_interval(out, at, r)
    return LoopLines(before, inner, after)
