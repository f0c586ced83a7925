"""Loops over arrays, and the positions of their elements. Strides are computed from dims and minor_to_major, and
positions in tiles from the layout's text.

This file shares nothing with the index algebra of the generator, because the generator's kernels are checked against
it.
"""

from __future__ import annotations

import re
from typing import List, NamedTuple, Optional, Sequence, Tuple, Union

from gen.statements import Block, For, If, Let, printed, Statement
from gen.hlo import Shape


class Sum(str):
    """C text with a binary operator. It needs parentheses if it becomes a factor."""


Index = Union[int, str]     # an index along one dimension: a constant, or C text


def strides_of(dims: Sequence[int], minor_to_major: Optional[Sequence[int]] = None) -> List[int]:
    """Return the strides of an array's dimensions, in elements. The array is row-major if no order is given."""
    result, step = [0] * len(dims), 1
    for d in (range(len(dims) - 1, -1, -1) if minor_to_major is None else minor_to_major):
        result[d] = step
        step *= max(1, dims[d])
    return result


def count_of(dims: Sequence[int]) -> int:
    total = 1
    for size in dims:
        total *= size
    return total


def is_row_major(shape: Shape) -> bool:
    """Return true if the elements are row-major in memory. Dimensions of size 1 have no influence."""
    kept = [d for d in shape.minor_to_major if shape.dims[d] != 1]
    return not shape.tiled and (kept == sorted(kept, reverse=True) or shape.elements == 0)


def tiles_of(shape: Shape) -> List[List[int]]:
    """Return the tiles of a layout, read from its text. 0 stands for `*`, a dimension that is merged with the next one.
    """
    tiles = re.search(r":[^}]*?T((?:\([^()]*\))+)", shape.text)
    return [[0 if n == "*" else int(n) for n in tile.split(",")]
            for tile in re.findall(r"\(([^()]*)\)", tiles[1])] if tiles else []


def place_in_tiles(shape: Shape, indices: Sequence[Index]) -> Tuple[Index, List[int]]:
    """Return the position of an index in memory, as C text, and the sizes of the physical dimensions. A tile applies to
    the last dimensions, major first. Each of them is divided by the tile's size; the quotients come first, then the
    remainders. A * merges a dimension with the next one.
    """
    order = list(reversed(shape.minor_to_major))
    sizes, digits = [shape.dims[d] for d in order], [indices[d] for d in order]
    for tile in tiles_of(shape):
        front = [1] * (len(tile) - len(sizes))
        sizes, digits = front + sizes, [*(0 for _ in front), *digits]
        first = len(sizes) - len(tile)
        outer: List[Tuple[int, Index]] = []
        inner: List[Tuple[int, Index]] = []
        size, digit = 1, 0      # type: int, Index
        for tile_size, s, x in zip(tile, sizes[first:], digits[first:]):
            size, digit = size * s, position_of([digit, x], [s, 1])
            if tile_size:
                outer.append((-(-size // tile_size), 0 if size <= tile_size else Sum(f"({digit}) / {tile_size}")))
                inner.append((tile_size, 0 if tile_size == 1 else digit if size <= tile_size
                              else Sum(f"({digit}) % {tile_size}")))
                size, digit = 1, 0
        sizes = [*sizes[:first], *(size for size, _ in outer + inner)]
        digits = [*digits[:first], *(digit for _, digit in outer + inner)]
    return position_of(digits, strides_of(sizes)), sizes


def place_of(shape: Shape, indices: Sequence[Index]) -> Index:
    """Return the position of an index in memory, as C text."""
    return place_in_tiles(shape, indices)[0] if shape.tiled \
        else position_of(indices, strides_of(shape.dims, shape.minor_to_major))


def room_of(shape: Shape) -> int:
    """Return the number of elements for which an array's memory has room, including padding."""
    tail = re.search(r"L\((\d+)\)", shape.text)
    count = count_of(place_in_tiles(shape, indices_of(shape.dims))[1])
    return -(-count // int(tail[1])) * int(tail[1]) if tail else count


def position_of(indices: Sequence[Index], strides: Sequence[int]) -> Index:
    """Return the sum of index * stride over all dimensions, as C text."""
    return added([index if stride == 1 else Sum(f"({index}) * {stride}" if isinstance(index, Sum)
                                                else f"{index} * {stride}")
                  for index, stride in zip(indices, strides) if index != 0 and stride != 0])


def added(terms: Sequence[Index]) -> Index:
    """Return the sum of some terms as C text. Terms that are 0 are left out."""
    terms = [term for term in terms if term != 0]
    return Sum(" + ".join(map(str, terms))) if len(terms) > 1 else terms[0] if terms else 0


def affine(index: Index, factor: int, offset: int) -> Index:
    """Return factor * index + offset as C text. The index is a loop variable or 0."""
    if index == 0:
        return offset
    if factor == -1:
        return Sum(f"{offset} - {index}")
    if factor == 1 and not offset:
        return index
    text = index if factor == 1 else f"{index} * {factor}"
    return Sum(text if not offset else f"{text} {'+' if offset > 0 else '-'} {abs(offset)}")


def indices_of(dims: Sequence[int], prefix: str = "i") -> List[Index]:
    """Return the variables of the loops over an array. The index along a dimension of size 1 is 0."""
    if len(dims) == 1 and prefix == "i":
        return [0 if dims[0] == 1 else "i"]
    return [0 if size == 1 else f"{prefix}{d}" for d, size in enumerate(dims)]


def loops(indices: Sequence[Index], sizes: Sequence[int], body: Sequence[Statement]) -> List[Statement]:
    """Return statements in nested loops, one for each index, outermost first. A dimension of size 1 needs no loop. The
    statements have a scope of their own even without loops.
    """
    lines, looped = list(body), False
    for index, size in reversed(list(zip(indices, sizes))):
        if size != 1:
            lines, looped = [For("int64_t", str(index), str(size), lines, below=True)], True
    return lines if looped or len(printed(lines)) < 2 else [Block(lines)]


def loops_over(dims: Sequence[int], body: Sequence[Statement], prefix: str = "i") -> List[Statement]:
    """Return statements in nested loops over an array. `indices_of` returns the variables of these loops."""
    return loops(indices_of(dims, prefix), dims, body)


class WindowIndex(NamedTuple):
    """The element of the base that a window reads.

    before: statements that define the index.
    tests: the conditions under which the index is inside the base.
    at: the index.
    """

    before: List[Let]
    tests: List[str]
    at: List[Index]


def window_index(window: object, places: Sequence[Index], within: Sequence[Index], base: Sequence[int]) -> WindowIndex:
    """Return the element of the base that a window reads. places: the index of the result. within: the index within the
    window. base: the sizes of the base.
    """
    before, tests, at = [], [], []     # type: List[Let], List[str], List[Index]
    lists = (getattr(window, name) for name in ("stride", "dilation", "low", "base_dilation"))
    for k, (stride, dilation, low, holes) in enumerate(zip(*lists)):
        before.append(Let("int64_t", f"p{k}", f"{places[k]} * {stride} + {within[k]} * {dilation} - ({low})"))
        tests += [f"p{k} >= 0"] + [f"p{k} % {holes} == 0"] * (holes > 1) + [f"p{k} / {holes} < {base[k]}"]
        at.append(Sum(f"p{k} / {holes}") if holes > 1 else f"p{k}")
    return WindowIndex(before, tests, at)


def guarded(before: Sequence[Statement], tests: Sequence[str], body: Sequence[Statement]) -> List[Statement]:
    return [*before, If(" && ".join(tests), list(body))] if tests else list(body)
