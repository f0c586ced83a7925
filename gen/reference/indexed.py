"""Ops that read or write elements at an index that is an operand: dynamic-slice, dynamic-update-slice and gather."""

from __future__ import annotations

from typing import List, Sequence

from gen.statements import Assign, Block, Let, Statement
from gen.hlo import Instruction
from gen.reference.emitter import Emitter, title
from gen.reference.loops import added, Index, indices_of, loops_over, position_of, strides_of
from gen.reference.types import is_signed
from gen.reference.values import Array


def dynamic_slice(e: Emitter, i: Instruction, x: List[Array]) -> Array:
    of, starts = x[0], x[1:]
    out, indices = e.moved(i, of), indices_of(i.shape.dims)
    from_ = position_of(from_starts(indices), strides_of(of.dims))
    line = Assign(f"{out}[{position_of(indices, strides_of(out.dims))}]", f"{of}[{from_}]")
    sizes = [size - window for size, window in zip(of.dims, out.dims)]
    e.step(title(i), [started(e, starts, sizes, loops_over(out.dims, [line]))], [out], x)
    return out


def dynamic_update_slice(e: Emitter, i: Instruction, x: List[Array]) -> Array:
    of, update, starts = x[0], x[1], x[2:]
    out, indices = e.moved(i, of), indices_of(update.dims)
    to = position_of(from_starts(indices), strides_of(out.dims))
    line = Assign(f"{out}[{to}]", f"{update}[{position_of(indices, strides_of(update.dims))}]")
    sizes = [size - window for size, window in zip(out.dims, update.dims)]
    e.step(title(i), [*out.each(f"{of}[{out.all()}]"),
                      started(e, starts, sizes, loops_over(update.dims, [line]))], [out], x)
    return out


def from_starts(indices: Sequence[Index]) -> List[Index]:
    return [added([f"start{d}", index]) for d, index in enumerate(indices)]


def started(e: Emitter, starts: Sequence[Array], last: Sequence[int], lines: Sequence[Statement]) -> Block:
    """Return a block that defines the start of a window along each dimension, followed by `lines`."""
    head = [Let("int64_t", f"start{d}", clamped(e, start, 0, size))
            for d, (start, size) in enumerate(zip(starts, last))]
    return Block([*head, *lines])


def clamped(e: Emitter, of: Array, position: Index, last: int) -> str:
    """Return the C text of an index that is clamped to 0 .. last."""
    return e.call("s64_index" if is_signed(of.dtype) else "u64_index", f"{of}[{position}]", str(last))


def gather(e: Emitter, i: Instruction, x: List[Array]) -> Array:
    of, table, a = x[0], x[1], i.attributes
    out, indices = e.moved(i, of), indices_of(i.shape.dims)
    row = [index for d, index in enumerate(indices) if d not in a["offset_dims"]]
    window = iter(indices[d] for d in a["offset_dims"])
    read = index_positions(table.dims, a["index_vector_dim"], row, len(a["start_index_map"]))
    batching = dict(zip(a.get("operand_batching_dims", ()), a.get("start_indices_batching_dims", ())))
    head, from_ = [], []    # type: List[Statement], List[Index]
    for d, (size, width) in enumerate(zip(of.dims, a["slice_sizes"])):
        terms: List[Index] = []
        if d in a["start_index_map"]:
            at = read[a["start_index_map"].index(d)]
            head.append(Let("int64_t", f"start{d}", clamped(e, table, at, size - width)))
            terms.append(f"start{d}")
        if d in batching:
            terms.append(at_vector(row, a["index_vector_dim"], 0)[batching[d]])
        elif d not in a["collapsed_slice_dims"]:
            terms.append(next(window))
        from_.append(added(terms))
    line = Assign(f"{out}[{position_of(indices, strides_of(out.dims))}]", f"{of}[{position_of(from_, strides_of(of.dims))}]")
    e.step(title(i), loops_over(out.dims, [*head, line]), [out], [of, *([table] if head else [])])
    return out


def at_vector(row: Sequence[Index], vector: int, component: Index) -> List[Index]:
    """Return the index at which an array of indices contains a component of a row. row: the row's index in this array,
    without the dimension `vector`, along which components are stored. If the array has no such dimension, each row is a
    single component.
    """
    return [*row[:vector], component, *row[vector:]]


def index_positions(dims: Sequence[int], vector: int, row: Sequence[Index], components: int) -> List[Index]:
    """Return the positions of the components of a row in an array of indices."""
    return [position_of(at_vector(row, vector, k), strides_of(dims)) for k in range(components)]
