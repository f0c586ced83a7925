"""Sort and topk: each row's positions in their order, by merging runs of 1, 2, 4, .. positions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import List, Sequence

from gen.hlo import Instruction
from gen.reference.elements import value_of
from gen.reference.emitter import Emitter, title
from gen.reference.loops import block, indices_of, loops_over, position_of, strides_of
from gen.reference.types import FLOATS
from gen.reference.values import Array, Scalar, Value


@dataclass
class Rows:
    """The rows of operands of some dimensions along one of these. size: elements of a row. step: distance of two
    neighbours. sizes: those of the loops over rows."""

    dims: Sequence[int]
    along: int

    @property
    def size(self) -> int:
        return self.dims[self.along]

    @property
    def sizes(self) -> List[int]:
        return [1 if d == self.along else size for d, size in enumerate(self.dims)]

    def at(self, dims: Sequence[int], place: str) -> str:
        """The position of the element at a place in the row of the loops, in an array of `dims`."""
        index = [place if d == self.along else name for d, name in enumerate(indices_of(self.sizes))]
        return position_of(index, strides_of(dims))


def ordered(order: Array, merged: Array, size: int, before: Sequence[str]) -> List[str]:
    """Statements that make `order` the places of a row's elements, in their order. before: statements that set `later`
    to whether the element at `y` comes before that at `x`, which stood before it."""
    choose = [f"const int32_t x = {order}[a], y = {order}[b];", *before]
    step = ["bool later = a == middle;", *block("if (a < middle && b < end)", choose),
            f"{merged}[t] = {order}[later ? b++ : a++];"]
    merge = ["const int64_t middle = first + width < n ? first + width : n;",
             "const int64_t end = first + 2 * width < n ? first + 2 * width : n;", "int64_t a = first, b = middle;",
             *block("for (int64_t t = first; t < end; ++t)", step)]
    return [f"const int64_t n = {size};", f"for (int64_t t = 0; t < n; ++t) {order}[t] = (int32_t)t;",
            *block("for (int64_t width = 1; width < n; width *= 2)", [
                *block("for (int64_t first = 0; first < n; first += 2 * width)", merge),
                f"memcpy({order}, {merged}, (size_t)n * sizeof(int32_t));"])]


def scratch(e: Emitter, i: Instruction, size: int) -> List[Array]:
    return [e.array(f"{i.name}_{name}", "s32", (size,)) for name in ("order", "merged")]


def sort(e: Emitter, i: Instruction, x: List[Array]) -> Value:
    """The element that stood later comes first only where the comparator says so: equal ones keep their order."""
    rows = Rows(x[0].dims, i.attributes["dimensions"][0])
    outs = [e.array(i.name, shape.dtype, shape.dims) for shape in i.shape.leaves()]
    order, merged = scratch(e, i, rows.size)
    sides = [Scalar(f"{of}[{rows.at(of.dims, name)}]", of.dtype) for of in x for name in ("y", "x")]
    lines: List[str] = []
    (before,) = e.inline(i.attributes["to_apply"], sides, lines)
    lines.append(f"later = {before.v};")
    moved = [f"{out}[{rows.at(out.dims, 't')}] = {of}[{rows.at(of.dims, 'x')}];" for out, of in zip(outs, x)]
    body = [*ordered(order, merged, rows.size, lines),
            *block("for (int64_t t = 0; t < n; ++t)", [f"const int32_t x = {order}[t];", *moved])]
    e.step(title(i), loops_over(rows.sizes, block("", body)) if all(rows.dims) else [], [*outs, order, merged], x)
    return outs[0] if i.shape.kind == "array" else list(outs)


def topk(e: Emitter, i: Instruction, x: List[Array]) -> Value:
    """The first k of a row sorted by value, floats by TOTALORDER: equal ones keep their order."""
    (of,), rows, count = x, Rows(x[0].dims, len(x[0].dims) - 1), i.attributes["k"]
    values, indices = (e.array(i.name, shape.dtype, shape.dims) for shape in i.shape.leaves())
    order, merged = scratch(e, i, rows.size)
    how = {"direction": "GT" if i.attributes.get("largest", True) else "LT",
           **({"type": "TOTALORDER"} if of.dtype in FLOATS else {})}
    sides = [Scalar(f"{of}[{rows.at(of.dims, name)}]", of.dtype) for name in ("y", "x")]
    moved = [f"{values}[{rows.at(values.dims, 't')}] = {of}[{rows.at(of.dims, f'{order}[t]')}];",
             f"{indices}[{rows.at(indices.dims, 't')}] = {order}[t];"]
    body = [*ordered(order, merged, rows.size, [f"later = {value_of(e.call, 'compare', how, 'pred', sides)};"]),
            *block(f"for (int64_t t = 0; t < {count}; ++t)", moved)]
    e.step(title(i), loops_over(rows.sizes, block("", body)) if all(rows.dims) else [],
           [values, indices, order, merged], x)
    return [values, indices]
