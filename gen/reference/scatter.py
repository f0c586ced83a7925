"""Scatter: updates are combined into elements whose indices are an operand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import List, Sequence, Tuple

from gen.statements import Let, Statement
from gen.hlo import Instruction
from gen.reference.combiners import combine
from gen.reference.emitter import Emitter, reachable, title
from gen.reference.indexed import at_vector, index_positions
from gen.reference.loops import added, guarded, Index, indices_of, loops, position_of, strides_of
from gen.reference.values import Array, Scalar, Value


@dataclass
class Scattering:
    """The loops of a scatter.

    dims: the sizes of the updates' dimensions.
    in_order: these dimensions in the order of the loops: first those of the scatter's indices, then those of the
        window.
    start: for each dimension that has a start index, the position from which the index is read, and the largest index
        with which the whole window is inside.
    """

    dims: Sequence[int]
    in_order: Sequence[int]
    start: List[Tuple[int, Index, int]]     # dimension, position of its index, largest index
    update: Index   # position of the update
    to: Index       # position of the element

    def loops(self, table: Array, body: Sequence[Statement]) -> List[Statement]:
        """Return loops over the rows of the indices and over the elements of a window. `at` is the position of the
        element in the result.
        """
        if any(last < 0 for _, _, last in self.start):     # no window fits
            return []
        body = [Let("int64_t", "at", str(self.to)), *body]
        inside = [f"start{d} >= 0 && start{d} <= {last}" for d, _, last in self.start]
        body = guarded([Let("int64_t", f"start{d}", f"(int64_t){table}[{at}]") for d, at, _ in self.start], inside, body)
        indices = indices_of(self.dims)
        return loops([indices[d] for d in self.in_order], [self.dims[d] for d in self.in_order], body)


def scattering(i: Instruction) -> Scattering:
    a, half = i.attributes, len(i.operands) // 2
    of, table, dims = (i.operands[k].shape.dims for k in (0, half, half + 1))
    in_window, components = a["update_window_dims"], a["scatter_dims_to_operand_dims"]
    indices = indices_of(dims)
    window = iter((indices[d], dims[d]) for d in in_window)
    row = [index for d, index in enumerate(indices) if d not in in_window]
    read = index_positions(table, a["index_vector_dim"], row, len(components))
    batching = dict(zip(a.get("input_batching_dims", ()), a.get("scatter_indices_batching_dims", ())))
    start, to = [], []      # type: List[Tuple[int, Index, int]], List[Index]
    for d, size in enumerate(of):
        terms, width = [], 1    # type: List[Index], int
        if d in batching:
            terms.append(at_vector(row, a["index_vector_dim"], 0)[batching[d]])
        elif d not in a["inserted_window_dims"]:
            index, width = next(window)
            terms.append(index)
        if d in components:
            start.append((d, read[components.index(d)], size - width))
            terms.append(f"start{d}")
        to.append(added(terms))
    in_order = [*(d for d in range(len(dims)) if d not in in_window), *in_window]
    return Scattering(dims, in_order, start, position_of(indices, strides_of(dims)), position_of(to, strides_of(of)))


def scatter(e: Emitter, i: Instruction, x: List[Array]) -> Value:
    half, s, combiner = len(x) // 2, scattering(i), i.attributes["to_apply"]
    operands, table, updates = x[:half], x[half], x[half + 1:]
    outs = [e.array(i.name, shape.dtype, shape.dims) for shape in i.shape.leaves()]
    lines: List[Statement] = []
    for out, of in zip(outs, operands):
        lines += out.each(f"{of}[{of.all()}]")
    body = combine(e, combiner, [Scalar(f"{out}[at]", out.dtype) for out in outs],
                   [Scalar(f"{update}[{s.update}]", update.dtype) for update in updates])
    inner = s.loops(table, body) if body else []
    live = reachable(combiner)
    read = [update for update, given in zip(updates, combiner.parameters[half:]) if id(given) in live]
    uses = [*operands, *([table] if s.start else []), *read] if inner else operands
    e.step(title(i), lines + inner, outs, uses)
    return outs[0] if i.shape.kind == "array" else list(outs)
