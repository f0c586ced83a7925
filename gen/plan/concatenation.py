"""Split a concatenation into one nest per operand. Each nest has the operand's shape, and writes the operand's elements
to their positions in the result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import List, NamedTuple, Optional, Tuple

from gen import algebra
from gen.hlo import Instruction, Shape, array_shape, dtypes
from gen.plan import plan
from gen.plan.buffers import memory_map
from gen.plan.digits import strides
from gen.plan.nest import Nest
from gen.plan.partition import Entry, Partition, Read, Root, compose
from gen.schedule import LINE

MOST_OPERANDS = 8
# maximum number of ops of all parts together; a value that several parts use is computed in each part
MOST_OPS = 2000


class SideBySide(NamedTuple):
    """Parts of a concatenation that lie next to each other in each row of the output. A row has `pitch` elements, and
    row follows row. In each row, part k fills `runs[k]` elements from column `starts[k]` on. These elements are
    contiguous in the part as well.
    """

    rows: int
    pitch: int
    starts: Tuple[int, ...]
    runs: Tuple[int, ...]


@dataclass(eq=False)
class Concatenate(Nest):
    """A concatenation as one nest, and as one nest for each operand (`parts`).

    together: true if a loop of its own can write each part efficiently (`_Piece.together`).
    rows: the columns that each part fills in the rows of the output, if some parts do not fill whole cache lines; else
        None.
    """

    parts: List[Nest]
    together: bool
    rows: Optional[SideBySide]

    def written_roots(self, divided: bool) -> "List[Tuple[Shape, Root]]":
        return [(part.shape, root) for part in self.parts
                for root in part.partition.roots] if divided else super().written_roots(divided)


def with_parts(nest: Nest, rows: bool) -> Nest:
    """Return a nest whose only result is a concatenation as `Concatenate`, if a loop over each operand writes its part
    efficiently. Return any other nest unchanged. rows: if true, also return a `Concatenate` if these loops are not
    efficient, but all operands together fill the rows of the output.
    """
    body = nest.partition.entry.body
    if len(nest.partition.roots) != 1 or nest.layout or not any(entry.instruction.opcode == "concatenate"
                                                                for entry in body.entries):
        return nest
    parts = _parts(nest) or []
    pieces = [piece for piece in map(_piece, parts) if piece]
    if not parts or len(pieces) < len(parts):
        return nest
    together = all(piece.together for piece in pieces)
    filled = None if all(piece.lines for piece in pieces) else _side_by_side(pieces)
    return Concatenate(nest.name, nest.shape, nest.partition, parts, together,
                       filled) if together or (rows and filled) else nest


def _parts(nest: Nest) -> "Optional[List[Nest]]":
    (root,), cuts = nest.partition.roots, nest.partition.cuts
    waiting: "List[Tuple[Shape, Root]]" = [(nest.shape, root)]
    parts: List[Nest] = []
    while waiting:
        shape, root = waiting.pop(0)
        name = f"{nest.name}_{len(parts)}"
        part = Nest(name, shape, Partition(nest.partition.computation, [root], name, shape.dims, cuts=cuts))
        hero = _hero(part)
        if hero is None:
            parts.append(part)
            continue
        instruction, back = hero.instruction, algebra.inverse(hero.map)
        if back is None or len(parts) + len(waiting) + len(instruction.operands) > MOST_OPERANDS:
            return None
        inner = []
        for k, operand in enumerate(instruction.operands):
            if operand.shape.elements:
                of = array_shape(root.shape.dtype, operand.shape.dims, instruction.shape.minor_to_major)
                index = compose(compose(_placed(instruction, k), back), root.map)
                index = algebra.rename(index, *(f"i{d}" for d in range(of.rank)))
                inner.append((of, Root(root.result, root.shape, root.value, root.output, index, root.scratch)))
        waiting = inner + waiting
    ops = sum(function.ops for part in parts for function in part.partition.functions)
    return parts if len(parts) > 1 and ops <= MOST_OPS else None


def _hero(nest: Nest) -> Optional[Entry]:
    """Return the only concatenation of a nest; None if there is none, or more than one. Also return None unless element
    p of the result, counted in memory order, reads exactly element p of the concatenation, for each p.
    """
    heroes = [e for e in nest.partition.entry.body.entries if e.instruction.opcode == "concatenate"
              and e.callee is None]
    return heroes[0] if len(heroes) == 1 and plan.same_place(Read(heroes[0].instruction, heroes[0].map),
                                                             nest.shape) else None


def _placed(concatenate: Instruction, operand: int) -> str:
    """Return the map from an operand's index to the concatenation's index."""
    dims = [f"in{k}={','.join(map(str, o.shape.dims))}" for k, o in enumerate(concatenate.operands)]
    return algebra.call("op", "concatenate", str(operand), f"out={','.join(map(str, concatenate.shape.dims))}", *dims,
                        f"dimension={concatenate.attributes['dimensions'][0]}", "from=operand")


class _Piece(NamedTuple):
    """The elements of the output that one part writes: runs of `run` contiguous elements. The first run begins at
    `start`.

    even: true if there are `rows` runs, and each begins `pitch` elements after the run before it.
    lines: true if there is only one run, or if every run fills whole cache lines.
    together: true if a loop over the part writes it efficiently: `lines` is true, or elements are bytes and a run is at
        least a cache line long.
    """

    start: int
    rows: int
    run: int
    pitch: int
    even: bool
    lines: bool
    together: bool


def _piece(nest: Nest) -> Optional[_Piece]:
    """Return the elements that a part's nest writes, as runs. Return None if the strides are not constant, or if a run
    of packed elements begins or ends within a byte.
    """
    (root,) = nest.partition.roots
    flat = compose(algebra.call("shape", "unmap", nest.shape.text), compose(root.map, memory_map(root.shape)))
    digits, width = strides(flat), dtypes.storage_bytes(root.shape.dtype)
    if digits is None:
        return None
    run, rows, even = 1, 1, True
    pitches: List[int] = []
    for size, step in reversed(list(zip(*digits))):
        if step == run and not pitches:
            run *= size
        elif size > 1:
            even = even and (not pitches or step == pitches[0] * rows)
            rows *= size
            pitches.append(step)
    per = dtypes.per_byte(root.shape.dtype) if root.shape.dtype in dtypes.PACKED else 1
    start = algebra.evaluate(flat, 0)
    assert start is not None
    if any(n % per for n in (run, start[0], *pitches)):
        return None
    lines = not pitches or run * width % LINE == 0
    return _Piece(start[0], rows, run, pitches[0] if pitches else 0, even, lines, lines or (width == 1 and run >= LINE))


def _side_by_side(pieces: List[_Piece]) -> Optional[SideBySide]:
    """Return the columns of each part, if the parts together fill rows of the output without gaps; else None."""
    first, end = pieces[0], 0
    for piece in pieces:
        if (piece.rows, piece.pitch, piece.start, piece.even) != (first.rows, first.pitch, end, True):
            return None
        end += piece.run
    return SideBySide(first.rows, end, tuple(p.start for p in pieces),
                      tuple(p.run for p in pieces)) if first.rows > 1 and end == first.pitch else None
