"""Reduce and reduce-window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import List, Optional, Sequence, Tuple

from gen.statements import Assign, Declare, For, Statement
from gen.hlo import Instruction
from gen.reference.combiners import combine
from gen.reference.emitter import Emitter, title
from gen.reference.loops import (count_of, guarded, Index, indices_of, loops_over, position_of, strides_of,
                                 window_index)
from gen.reference.values import Array, Scalar, Value


@dataclass
class Reduction:
    """The loops of a reduce or a reduce-window. kept: the sizes of the result's dimensions. gone: the sizes of the
    loops over the combined elements.
    """

    kept: List[int]
    gone: List[int]
    element: Index  # position of an element in the operand
    result: Index   # position of the result
    count: str      # C text of the maximum number of elements that are combined into one result
    # for a window: the statements before an element, and the conditions under which it is inside the base
    before: Sequence[Statement] = ()
    tests: Sequence[str] = ()
    # For a reduce-window that is a scan (each window begins, or ends, at an end of the dimension): the dimension, and
    # true if the scan goes backwards. Otherwise None.
    along: Optional[Tuple[int, bool]] = None

    @property
    def behind(self) -> bool:
        """Return true if the accumulator is the second argument of the combiner."""
        return self.along is not None and self.along[1]

    def loops(self, start: Sequence[Statement], step: Sequence[Statement], end: Sequence[Statement]) -> List[Statement]:
        if self.along:
            return self.carried(start, [*step, *end])
        inner = loops_over(self.gone, guarded(self.before, self.tests, step), "r")
        return loops_over(self.kept, [*start, *inner, *end])

    def carried(self, start: Sequence[Statement], step: Sequence[Statement]) -> List[Statement]:
        """Return loops of a scan. The innermost loop goes along the scan's dimension. `start` initialises the
        accumulator before this loop, and `step` updates it for each element.
        """
        assert self.along is not None
        d, name, size = self.along[0], indices_of(self.kept)[self.along[0]], self.kept[self.along[0]]
        if size == 1:
            return loops_over(self.kept, [*start, *step])
        return loops_over([n if k != d else 1 for k, n in enumerate(self.kept)],
                          [*start, For("int64_t", str(name), str(size), list(step), falling=self.behind)])


def reduction(i: Instruction) -> Reduction:
    dims = i.operands[0].shape.dims
    if i.opcode == "reduce":
        gone = i.attributes["dimensions"]
        kept = [d for d in range(len(dims)) if d not in gone]
        kept_dims, gone_dims = [dims[d] for d in kept], [dims[d] for d in sorted(gone)]
        position: List[Index] = [0] * len(dims)
        for d, index in [*zip(kept, indices_of(kept_dims)), *zip(sorted(gone), indices_of(gone_dims, "r"))]:
            position[d] = index
        return Reduction(kept_dims, gone_dims, position_of(position, strides_of(dims)),
                         position_of(indices_of(kept_dims), strides_of(kept_dims)), str(count_of(gone_dims)))
    window, along = i.attributes["window"], prefix(i)
    places = list(dims) if along else list(i.shape.leaves()[0].dims)
    indices = indices_of(places)
    at = position_of(indices, strides_of(places))
    if along:
        size, index = dims[along[0]], indices[along[0]]
        return Reduction(places, [size], at, at, f"({size} - {index})" if along[1] else f"({index} + 1)", along=along)
    before, tests, position = window_index(window, indices, indices_of(window.size, "r"), dims)
    return Reduction(places, list(window.size), position_of(position, strides_of(dims)), at,
                     str(count_of(window.size)), before, tests)


def prefix(i: Instruction) -> Optional[Tuple[int, bool]]:
    """If a reduce-window is a scan, return its dimension, and true if the scan goes backwards. Otherwise return None.
    """
    window, dims = i.attributes["window"], i.operands[0].shape.dims
    wide = [d for d in range(len(dims)) if window.size[d] != 1]
    if len(wide) != 1 or window.dilated or any(n != 1 for n in window.stride) or any(window.reversal):
        return None
    d = wide[0]
    if any(window.low[k] or window.high[k] for k in range(len(dims)) if k != d) or window.size[d] < dims[d]:
        return None
    return {(window.size[d] - 1, 0): (d, False),
            (0, window.size[d] - 1): (d, True)}.get((window.low[d], window.high[d]))


def reduce(e: Emitter, i: Instruction, x: List[Array]) -> Value:
    half, r = len(x) // 2, reduction(i)
    outs = [e.array(i.name, shape.dtype, shape.dims) for shape in i.shape.leaves()]
    totals = [Scalar(f"a{k}", out.dtype) for k, out in enumerate(outs)]
    elements = [Scalar(f"{of}[{r.element}]", of.dtype) for of in x[:half]]
    lines = r.loops([Declare(out.kind, f"a{k}", f"{init}[0]") for k, (out, init) in enumerate(zip(outs, x[half:]))],
                    combine(e, i.attributes["to_apply"], totals, elements, r.behind),
                    [Assign(f"{out}[{r.result}]", f"a{k}") for k, out in enumerate(outs)])
    e.step(title(i), lines, outs, x)
    return outs[0] if i.shape.kind == "array" else list(outs)
