"""Ops that move elements to and from an index that is read."""

from __future__ import annotations

from typing import List, Sequence, Tuple

from gen.hlo import Instruction
from gen.reference.emitter import Emitter
from gen.reference.loops import indices_of, loops_over, position_of, strides_of
from gen.reference.types import FLOATS, is_signed, key_limits
from gen.reference.values import Array


def dynamic_slice(e: Emitter, i: Instruction, x: List[Array]) -> Array:
    out, of, starts = e.moved(i, x), x[0], x[1:]
    lines = [f"const int64_t start{d} = {clamped(start, '0', of.dims[d] - out.dims[d])};"
             for d, start in enumerate(starts)]
    indices = indices_of(out.dims)
    from_ = [f"start{d}" if index == "0" else f"start{d} + {index}" for d, index in enumerate(indices)]
    body = element_at(e, out, position_of(indices, strides_of(out.dims)), of, position_of(from_, strides_of(of.dims)),
                      [(s, "0") for s in starts])
    e.step(e.title(i), scoped(lines, out.dims, body), [out], x)
    return out


def dynamic_update_slice(e: Emitter, i: Instruction, x: List[Array]) -> Array:
    out, update, starts = e.moved(i, x), x[1], x[2:]
    lines = copy_elements(e, out, x[0])
    head = [f"const int64_t start{d} = {clamped(start, '0', out.dims[d] - update.dims[d])};"
            for d, start in enumerate(starts)]
    indices = indices_of(update.dims)
    to = [f"start{d}" if index == "0" else f"start{d} + {index}" for d, index in enumerate(indices)]
    lines += scoped(head, update.dims, e.move(out, position_of(to, strides_of(out.dims)), update,
                                              position_of(indices, strides_of(update.dims))))
    unsure = unsure_index([(s, "0") for s in starts])
    if unsure:
        e.unknown.append(f"rounding decides an index of {i.name}")
        at = "0" if out.count == 1 else "i"
        lines += [f"if ({unsure}) {{", *("  " + line for line in loops_over((out.count,), anything(e, out, at))), "}"]
    e.step(e.title(i), lines, [out], x)
    return out


def gather(e: Emitter, i: Instruction, x: List[Array]) -> Array:
    out, of, table_, a = e.moved(i, x), x[0], x[1], i.attributes
    vector, sizes = a["index_vector_dim"], a["slice_sizes"]
    indices = indices_of(out.dims)
    row = iter(index for d, index in enumerate(indices) if d not in a["offset_dims"])
    rows = ["" if d == vector else next(row) for d in range(len(table_.dims))]
    window = iter(indices[d] for d in a["offset_dims"])
    batching = dict(zip(a.get("operand_batching_dims", ()), a.get("start_indices_batching_dims", ())))
    head, from_, read = [], [], []
    for d, size in enumerate(of.dims):
        terms = []
        if d in a["start_index_map"]:
            at = position_of([str(a["start_index_map"].index(d)) if k == vector else index
                              for k, index in enumerate(rows)], strides_of(table_.dims))
            head.append(f"const int64_t start{d} = {clamped(table_, at, size - sizes[d])};")
            terms.append(f"start{d}")
            read.append((table_, at))
        if d in batching:
            terms.append(rows[batching[d]])
        elif d not in a["collapsed_slice_dims"]:
            terms.append(next(window))
        from_.append(" + ".join(term for term in terms if term != "0") or "0")
    body = head + element_at(e, out, position_of(indices, strides_of(out.dims)), of,
                             position_of(from_, strides_of(of.dims)), read)
    e.step(e.title(i), loops_over(out.dims, body), [out], x)
    return out


def clamped(of: Array, position: str, last: int) -> str:
    """An index as the op takes it: from 0 to last, whatever its type."""
    return f"{'s' if is_signed(of.dtype) else 'u'}64_index(v_{of.name}[{position}], {last})"


def unsure_index(indices: Sequence[Tuple[Array, str]]) -> str:
    """C text: whether another index may be right too; "" where none may."""
    return " || ".join(f"lo_{of.name}[{at}] != hi_{of.name}[{at}]" for of, at in indices if not of.exact)


def anything(e: Emitter, out: Array, position: str) -> List[str]:
    """Statements that let an element be any value."""
    if out.dtype in FLOATS:
        return e.put_interval(out, position, "range_all()")
    low, high = ("0", "1") if out.dtype == "pred" else key_limits(out.dtype)
    return e.put_interval(out, position, f"irange_of({low}, {high})")


def element_at(e: Emitter, to: Array, to_position: str, of: Array, of_position: str,
               indices: Sequence[Tuple[Array, str]]) -> List[str]:
    """Statements that copy an element which lies at an index that was read."""
    lines, unsure = e.move(to, to_position, of, of_position), unsure_index(indices)
    if unsure:
        e.unknown.append(f"rounding decides an index of {to.name}")
        lines += [f"if ({unsure}) {{", *("  " + line for line in anything(e, to, to_position)), "}"]
    return lines


def copy_elements(e: Emitter, to: Array, of: Array) -> List[str]:
    at = "0" if to.count == 1 else "i"
    return loops_over((to.count,), e.move(to, at, of, at))


def scoped(head: Sequence[str], dims: Sequence[int], body: Sequence[str]) -> List[str]:
    """Definitions and a nest of loops that uses them, in a block of their own."""
    return ["{", *("  " + line for line in [*head, *loops_over(dims, body)]), "}"]
