"""Turn tiled layouts of parameters and results into ops on plain arrays.

A tiled parameter is copied to a plain layout. The copy costs nothing, because its map is composed into the maps of its
readers. A tiled result becomes a one-dimensional array of all positions in its buffer: the op `tile` puts an element
or, like `pad`, a zero of padding at each position. The map of `tile` is the inverse of the layout; padding is outside
its domain. Schedules therefore see one-dimensional arrays that are written at every position, and padding is never
read.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace
from typing import Dict, List, Sequence, Tuple

from gen import algebra
from gen.hlo import (Computation, Instruction, Leaf, Shape, array_shape, distribution, dtypes, layout_map,
                     result_leaves, shape as of_text, tuple_shape)
from gen.schedule import LANES, TILED_ELEMENTS


def plain(shape: Shape) -> Shape:
    """Return the shape without tiles, with the same order of dimensions."""
    if shape.kind == "tuple":
        return tuple_shape([plain(child) for child in shape.children])
    return array_shape(shape.dtype, shape.dims, shape.minor_to_major) if shape.tiled else shape


def positions(shape: Shape) -> int:
    """Return the number of elements, including padding, that fit into the array's buffer."""
    return shape.bytes // dtypes.storage_bytes(shape.dtype) if shape.tiled else shape.elements


@functools.lru_cache(maxsize=None)
def _is_plain(shape: Shape) -> bool:
    return not any(leaf.tiled for leaf in shape.leaves())


def _part(shape: Shape, dims: "Sequence[int]") -> Shape:
    """Return the shape of a box that is cut out of an array. The box has the dimensions `dims`. Its tiles are no larger
    than the array's tiles.
    """
    return of_text(algebra.call("shape", "cut", shape.text, algebra.numbers(dims)))


@dataclass(frozen=True)
class Box:
    """A box of an array that consists of whole tiles.

    start: index of the box's first element.
    dims: dimensions of the box.
    whole: dimensions of the array, including padding.
    """

    start: Tuple[int, ...]
    dims: Tuple[int, ...]
    whole: Tuple[int, ...]

    def place(self, shape: Shape) -> str:
        """Return the map from a position in the box to the position in the array's memory."""
        step = algebra.call("op", "slice", "0", *(
            f"{word}={algebra.numbers(values)}" for word, values in (
                ("out", self.dims), ("in", self.whole), ("start", self.start), ("stride", [1] * len(self.dims)))))
        inside = algebra.compose(algebra.call("shape", "unmap", _part(shape, self.dims).text), step)
        return algebra.compose(inside, algebra.call("shape", "map", _part(shape, self.whole).text))


def _boxes(shape: Shape, parameters: "Sequence[Shape]") -> "List[Box]":
    """Return the boxes into which a result is cut, so that only the last boxes need maps with partial tiles. Cuts are
    at the edges of whole tiles: tiles of the result, and tiles of parameters of the same dimensions.

    The first box contains all whole tiles. Then, for each dimension, a box contains the elements after its whole tiles;
    the box of the minor dimension is last. If elements after the whole tiles of the minor dimension fill vectors
    without padding, these vectors form a separate box. Return an empty list if all tiles are whole, or if the array is
    too small.
    """
    tiles = [algebra.tile(shape.text), *(algebra.tile(p.text) for p in parameters if p.dims == shape.dims)]
    unit = [math.lcm(*tile) for tile in zip(*tiles)]
    whole = tuple(-(-n // tile) * tile for n, tile in zip(shape.dims, tiles[0]))
    inner = tuple(n // tile * tile for n, tile in zip(shape.dims, unit))
    if inner == whole or math.prod(inner) < max(TILED_ELEMENTS, math.prod(whole) // 2):
        return []
    room, exact = _part(shape, whole), _part(shape, inner)
    if positions(exact) != exact.elements or positions(room) != room.elements or positions(room) != positions(shape):
        return []
    boxes = [Box((0,) * shape.rank, inner, whole)]
    dims = list(whole)

    def slab(d: int, start: int, end: int) -> Box:
        return Box(tuple(start if k == d else 0 for k in range(shape.rank)),
                   tuple(end - start if k == d else n for k, n in enumerate(dims)), whole)
    for d in reversed(shape.minor_to_major):
        even = inner[d] + (shape.dims[d] - inner[d]) // LANES * LANES if d == shape.minor_to_major[0] else inner[d]
        vectors = slab(d, inner[d], even)
        if even > inner[d] and positions(_part(shape, vectors.dims)) == math.prod(vectors.dims):
            boxes.append(vectors)
        else:
            even = inner[d]
        if even < whole[d]:
            boxes.append(slab(d, even, whole[d]))
        dims[d] = inner[d]
    return boxes


def lowered(computation: Computation) -> "Tuple[Computation, List[Leaf]]":
    """Return two values: the computation, in which only parameters have tiled layouts, and the arrays that kernels
    write for its results.
    """
    leaves = result_leaves(computation)
    parameters = computation.parameters
    if all(_is_plain(i.shape) for i in computation.instructions):
        return computation, leaves
    copied = Computation(computation.name, line=computation.line, col=computation.col,
                         attributes=computation.attributes)
    known: Dict[Instruction, Instruction] = {}

    def add(name: str, opcode: str, shape: Shape, operands: "List[Instruction]", **attributes: object) -> Instruction:
        return copied.add(Instruction(name, opcode, shape, operands, attributes))

    for instruction in computation.instructions:
        operands, attributes = [known[o] for o in instruction.operands], dict(instruction.attributes)
        given = instruction.opcode == "parameter" or (instruction.opcode == "get-tuple-element"
                                                      and not _is_plain(operands[0].shape))
        if instruction.opcode == "bitcast" and not (_is_plain(instruction.shape)
                                                    and _is_plain(instruction.operands[0].shape)):
            attributes["map"] = layout_map(instruction.shape,
                                           instruction.operands[0].shape) if instruction.shape.elements else ""
        copy = copied.add_copy(instruction, operands, attributes=attributes,
                               shape=instruction.shape if given else plain(instruction.shape))
        if instruction.opcode == "parameter":
            copied.parameters.append(copy)
        if given and copy.shape.kind == "array" and copy.shape.tiled:
            copy = add(f"{instruction.name}.plain", "copy", plain(copy.shape), [copy])
        known[instruction] = copy
    copied.parameters.sort(key=lambda p: p.parameter_number or 0)
    copied.root = known[computation.root] if computation.root else None
    lowered_leaves: List[Leaf] = []
    reduces = any(i.opcode == "reduce" for i in copied.instructions)
    for number, shape, instruction, leaf in leaves:
        value = known[instruction]
        uncut = reduces or not shape.elements or distribution.layout_of(instruction)
        cut = [] if uncut else _boxes(shape, [leaf for p in parameters for leaf in p.shape.leaves()])
        if not shape.bytes or not (shape.tiled or cut):
            lowered_leaves.append(Leaf(number, shape, value, leaf))
            continue
        if value.shape.kind == "tuple":
            while value.shape.kind == "tuple":      # descend the nested tuple to its array number `leaf`
                child = 0
                while leaf >= len(value.shape.children[child].leaves()):
                    leaf -= len(value.shape.children[child].leaves())
                    child += 1
                value = add(f"{value.name}.{child}", "get-tuple-element", value.shape.children[child], [value],
                            index=child)
            if value.shape.tiled:
                value = add(f"{value.name}.plain", "copy", plain(value.shape), [value])
        zero = copied.add(Instruction(f"zero.{number}", "constant", array_shape(shape.dtype, ()), literal=[0]))
        if not cut:
            memory = array_shape(shape.dtype, (positions(shape),))
            lowered_leaves.append(Leaf(number, memory,
                                       add(f"result.{number}", "tile", memory, [value, zero], layout=shape.text), 0))
            continue
        whole = cut[0].whole
        value = add(f"padded.{number}", "pad", array_shape(shape.dtype, whole), [value, zero],
                    padding=tuple((0, p - n, 0) for p, n in zip(whole, shape.dims)))
        for k, box in enumerate(cut):
            part = add(f"part.{number}.{k}", "slice", array_shape(shape.dtype, box.dims), [value],
                       slice=tuple((s, s + n, 1) for s, n in zip(box.start, box.dims)))
            layout = _part(shape, box.dims)
            memory = replace(array_shape(shape.dtype, (positions(layout),)), place=box.place(shape))
            tile = add(f"result.{number}.{k}", "tile", memory, [part, zero], layout=layout.text)
            lowered_leaves.append(Leaf(number, memory, tile, 0))
    return copied, lowered_leaves
