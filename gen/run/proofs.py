"""Check kernels by their maps, without running them: reads stay inside their buffers, and every result element is
written exactly once.
"""

from __future__ import annotations

import math
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from gen import algebra
from gen.hlo import Fusion, Shape, result_leaves
from gen.lower import tiled_layouts
from gen.plan.buffer import Buffer, Role
from gen.plan.buffers import buffer_of, memory_map, reads_of
from gen.plan.digits import position, reach, strides
from gen.plan.nest import Nest, divided
from gen.plan.nests import planned
from gen.plan.partition import EMPTY, compose
from gen.plan.scatter import Scatter
from gen.plan.whole import Whole
from gen.schedule import DEVICES


def check(fusion: Fusion) -> Optional[str]:
    """Return the first fault of a fusion's maps, in its plans for CPUs and for GPUs; None if there is no fault."""
    for of in dict.fromkeys(device.plan_class for device in DEVICES.values()):
        kernels = planned(fusion, of).nests
        # a sort or another op on whole arrays (`Whole`) has no maps that describe its accesses
        if any(isinstance(nest, Whole) for nest in kernels):
            continue
        wrong = all_inside(kernels) or written_once(kernels, places(fusion, kernels))
        if wrong:
            return wrong
    return None


def all_inside(kernels: "Sequence[Nest]") -> Optional[str]:
    """Return a fault if a read of a parameter or scratch buffer, or the position of an update, can be outside its
    buffer; else None.
    """
    for nest in (part for some in _levels(kernels) for nest in some for part in (nest, *nest.sides)):
        for partition, function in ((p, f) for p in (nest.partition, *nest.further) for f in p.functions):
            for read, _ in reads_of(partition, function):
                buffer = buffer_of(partition, read)
                if buffer and not _indices_inside(read.map, buffer.shape):
                    return f"{buffer.pointer} of {buffer.shape.text} is read beyond its end: {read.map}"
        if isinstance(nest, Scatter):
            for target in nest.targets:
                if not _indices_inside(nest.place, target.shape):
                    return f"{target.buffer.pointer} of {target.shape.text} is updated beyond its end: {nest.place}"
    return None


def _levels(kernels: "Sequence[Nest]") -> "List[Sequence[Nest]]":
    """Return lists of nests. The first list has the given nests. Each further list is a copy of the list before, in
    which every nest that combines others is replaced by its members.
    """
    levels = [kernels]
    while any(nest.members for nest in levels[-1]):
        levels.append(divided(levels[-1]))
    return levels


def places(fusion: Fusion, kernels: "Sequence[Nest]") -> "Dict[Buffer, int]":
    """Return the size of each result and scratch buffer: its number of elements, including padding."""
    sizes = {Buffer(Role.RESULT, n, shape, ""): tiled_layouts.positions(shape)
             for n, shape, _, _ in result_leaves(fusion.computation) if shape.elements}
    sizes.update({root.buffer: root.shape.elements for nest in kernels for _, root in nest.written_roots(True)
                  if root.scratch and root.shape.elements})
    return sizes


def _indices_inside(index: str, shape: Shape) -> bool:
    """Return true if the algebra proves that each index is inside its dimension.

    Bounds of an index are its own interval and, for each constraint, the constraint's interval plus the range of
    (index - constraint). If the tightest bounds are within the dimension, the index is inside. If they are not, the
    algebra must prove that no point of the domain has an index that is within the bounds but outside the dimension.
    """
    info = algebra.info(index)
    names, domain = ", ".join(v.name for v in info.variables), [f"{v.name} in [{v.lo}, {v.hi}]" for v in info.variables]
    domain += [f"{c.text} in [{c.lo}, {c.hi}]" for c in info.constraints]
    for result, size in zip(info.results, shape.dims):
        intervals = [(result.lo, result.hi)]
        for c in info.constraints:
            distances = algebra.ranges(
                algebra.simplify(f"({names}) -> (({result.text}) - ({c.text})), domain: {', '.join(domain)}")
            )[0]
            intervals += [(c.lo + distances[0], c.hi + distances[1])]
        beyond = [(low, -1) for low in [max(low for low, _ in intervals)] if low < 0] + \
            [(size, high) for high in [min(high for _, high in intervals)] if high >= size]
        for low, high in beyond:
            if (
                algebra.simplify(
                    f"({names}) -> (), domain: {', '.join([*domain, f'{result.text} in [{low}, {high}]'])}"
                )
                != EMPTY
            ):
                return False
    return True


# ---- writes ----

class Piece(NamedTuple):
    """The part of a result that one nest writes.

    shape: the nest's iteration space
    flat: the map from a linear position in the iteration space to a position in the result
    """

    shape: Shape
    flat: str


def written_once(kernels: "Sequence[Nest]", results: "Dict[Buffer, int]") -> Optional[str]:
    """Return a fault unless each position of each result is written by exactly one iteration of one nest.

    The proof splits positions into mixed-radix digits. In these digits the map of every nest is a bijection onto a box,
    the boxes are disjoint, and together they cover all positions. An update at runtime indices must write each of its
    elements once. If such an update is in place, the array that it updates is not checked further.

    results: the size of each result
    """
    in_place = {root.buffer for nest in kernels if nest.aliases for root in nest.partition.roots}
    for nest, root in ((nest, root) for nest in kernels for root in nest.partition.roots if root.at):
        low, high = algebra.ranges(compose(root.at, memory_map(root.shape)))[0]
        starts = {start.name: 0 for start in nest.partition.starts(root)}
        flat = compose(algebra.call("shape", "unmap", nest.shape.text),
                       compose(algebra.substitute(root.at, **starts), memory_map(root.shape)))
        wrong = _exactly([Piece(nest.shape, flat)], root.shape.elements, False)
        if wrong or low < 0 or high >= root.shape.elements:
            return f"the update of result {root.buffer.pointer}: {wrong or f'written at [{low}, {high}] of {root.shape.elements}'}"
    levels = _levels(kernels)
    for nests, in_parts in [*((level, False) for level in levels), (levels[-1], True)]:
        inner = {buffer for nest in nests if not in_parts for buffer in nest.inner}
        pieces: "Dict[Buffer, List[Piece]]" = {buffer: [] for buffer in results if buffer not in in_place | inner}
        for nest in nests:
            for shape, root in nest.written_roots(in_parts):
                if not shape.elements:
                    continue
                part = root.shape.dense
                flat = compose(algebra.call("shape", "unmap", shape.text), compose(root.map, memory_map(part)))
                if root.shape.place:  # check the part by itself, then the map from the part to the whole result
                    wrong = _exactly([Piece(shape, flat)], part.elements)
                    if wrong:
                        return f"a part of result {root.buffer.pointer}: {wrong}"
                    shape, flat = part, root.shape.place
                pieces.setdefault(root.buffer, []).append(Piece(shape, flat))
        for buffer, parts in pieces.items():
            wrong = _exactly(parts, results.get(buffer, 0))
            if wrong:
                return f"result {buffer.pointer}: {wrong}"
    return None


def _steps(sizes: "Sequence[int]", steps: "Sequence[int]") -> "List[int]":
    """Return the strides of the loops of a nest, in ascending order. If the stride of a loop is another loop's stride
    times that loop's trip count, both act like a single loop, and the larger stride is left out.
    """
    joined: "List[int]" = []
    end = -1
    for step, size in sorted((abs(step), size) for size, step in zip(sizes, steps) if size > 1):
        joined += [] if step == end else [step]
        end = step * size
    return joined


def _exactly(pieces: "Sequence[Piece]", room: int, whole: bool = True) -> Optional[str]:
    """Return a fault unless the maps of the pieces together reach each position below `room` exactly once. If `whole`
    is false, return a fault only if a position is reached more than once or is not below `room`.
    """
    digits = [strides(flat) if shape.elements > 1 else ((), ()) for shape, flat in pieces]
    weights = sorted({1, *(step for digit in digits if digit for step in _steps(*digit))})
    if 0 in weights or any(high % low for low, high in zip(weights, weights[1:])) or None in digits:
        weights = [1]
    sizes = [high // low for low, high in zip(weights, weights[1:])] + [-(-room // weights[-1])]
    split = f"(d0) -> ({', '.join(f'(d0 floordiv {w}) mod {n}' for w, n in zip(weights, sizes))}), domain: d0 in [0, {max(0, room - 1)}]"
    boxes: "List[Tuple[Tuple[int, int], ...]]" = []
    for (shape, flat), digit in zip(pieces, digits):
        low, high = reach(flat) if shape.elements > 1 else algebra.ranges(flat)[0]
        if low < 0 or high >= room:
            return f"written at [{low}, {high}] of {room}: {flat}"
        back = algebra.call("map", "inverse",
                            compose(compose(position(digit[0]), flat) if digit and digit[0] else flat, split))
        if back.startswith("no"):
            return f"{back[4:]}: {flat}"
        box = tuple((v.lo, v.hi) for v in algebra.info(back).variables)
        if math.prod(high - low + 1 for low, high in box) != shape.elements:
            return f"not written at every point of the walk: {flat}"
        for earlier, piece in zip(boxes, pieces):
            if all(low <= h and l <= high for (low, high), (l, h) in zip(box, earlier)):
                return f"written twice: {piece.flat} and {flat}"
        boxes.append(box)
    count = sum(math.prod(high - low + 1 for low, high in box) for box in boxes)
    return None if count == room or not whole else f"{count} of {room} positions are written"
