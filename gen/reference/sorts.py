"""Sort and topk. They compute the sorted order of the positions in each row, by merging runs of 1, 2, 4, .. positions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import List, Sequence

from gen.statements import Assign, Block, Let, Statement
from gen.hlo import Instruction
from gen.reference.elements import value_of
from gen.reference.emitter import Emitter, title
from gen.reference.library import statements
from gen.reference.loops import Index, indices_of, loops_over, position_of, strides_of
from gen.reference.types import FLOATS
from gen.reference.values import Array, Scalar, Value


@dataclass
class Rows:
    """The rows of an operand along one dimension. size: the number of elements in a row. sizes: the sizes of the loops
    over rows.
    """

    dims: Sequence[int]
    along: int

    @property
    def size(self) -> int:
        return self.dims[self.along]

    @property
    def sizes(self) -> List[int]:
        return [1 if d == self.along else size for d, size in enumerate(self.dims)]

    def at(self, dims: Sequence[int], place: str) -> Index:
        """Return the position of an element of the current row in an array with the dimensions `dims`. place: the
        element's index in the row.
        """
        index: List[Index] = [place if d == self.along else name for d, name in enumerate(indices_of(self.sizes))]
        return position_of(index, strides_of(dims))


def ordered(rows: Rows, order: Array, merged: Array, before: Sequence[Statement], count: "int | str",
            moved: Sequence[Statement]) -> List[Statement]:
    """Return statements that sort each row by a merge sort. `order` receives the indices of the row's elements in
    sorted order. The statements `moved` then run once for each t from 0 to `count` - 1.
    """
    lines = statements("merge_sort", size=rows.size, order=str(order), merged=str(merged), before=before, count=count,
                       moved=moved)
    return loops_over(rows.sizes, [Block([*lines])]) if all(rows.dims) else []


def scratch(e: Emitter, i: Instruction, size: int) -> List[Array]:
    return [e.array(f"{i.name}_{name}", "s32", (size,)) for name in ("order", "merged")]


def sort(e: Emitter, i: Instruction, x: List[Array]) -> Value:
    """Add a stable sort. A later element moves before an earlier element only if the comparator returns true for them.
    """
    rows = Rows(x[0].dims, i.attributes["dimensions"][0])
    outs = [e.array(i.name, shape.dtype, shape.dims) for shape in i.shape.leaves()]
    order, merged = scratch(e, i, rows.size)
    sides = [Scalar(f"{of}[{rows.at(of.dims, name)}]", of.dtype) for of in x for name in ("y", "x")]
    lines: List[Statement] = []
    (before,) = e.inline(i.attributes["to_apply"], sides, lines)
    lines.append(Assign("later", before.v))
    moved = [Assign(f"{out}[{rows.at(out.dims, 't')}]", f"{of}[{rows.at(of.dims, 'x')}]") for out, of in zip(outs, x)]
    e.step(title(i), ordered(rows, order, merged, lines, "n", [Let("int32_t", "x", f"{order}[t]"), *moved]),
           [*outs, order, merged], x)
    return outs[0] if i.shape.kind == "array" else list(outs)


def topk(e: Emitter, i: Instruction, x: List[Array]) -> Value:
    """Add a topk: the first k elements of each row after a stable sort by value. Floats are ordered by TOTALORDER."""
    (of,), rows, count = x, Rows(x[0].dims, len(x[0].dims) - 1), i.attributes["k"]
    values, indices = (e.array(i.name, shape.dtype, shape.dims) for shape in i.shape.leaves())
    order, merged = scratch(e, i, rows.size)
    how = {"direction": "GT" if i.attributes.get("largest", True) else "LT",
           **({"type": "TOTALORDER"} if of.dtype in FLOATS else {})}
    sides = [Scalar(f"{of}[{rows.at(of.dims, name)}]", of.dtype) for name in ("y", "x")]
    moved = [Assign(f"{values}[{rows.at(values.dims, 't')}]", f"{of}[{rows.at(of.dims, f'{order}[t]')}]"),
             Assign(f"{indices}[{rows.at(indices.dims, 't')}]", f"{order}[t]")]
    later = Assign("later", value_of(e.call, "compare", how, "pred", sides))
    e.step(title(i), ordered(rows, order, merged, [later], count, moved), [values, indices, order, merged], x)
    return [values, indices]
