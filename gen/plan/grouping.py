"""Decide which results share a kernel, and the order of memory in which each kernel computes its results.

One kernel can write several results with equal numbers of elements. It goes through the positions of the first result
in memory. It writes another result at the same position of that result's own memory, or at the position where both
results read the same element of a parameter. For example, a kernel that computes transpose(p) and log(p) reads p once,
and writes log(p) in the order of the transpose.

Results are added one by one. Each joins an existing kernel, in one of these orders, or becomes a kernel of its own,
whichever costs least. This is done twice: in the order of the results, and with transposing results first. The cheaper
outcome is used. The cost is the number of bytes moved. If a buffer is accessed in several orders, its bytes count once
for each order. Bytes that are not contiguous cost STRIDED_COST times as much, except along one dimension (digit), which
a tile can transpose. Each further kernel costs LAUNCH_BYTES.

A kernel that permutes whole cache lines (the minor dimension is unchanged) follows the order of its reads instead. The
CPU then prefetches the contiguous reads by itself, and can store whole lines anywhere. A kernel also follows the order
of its reads if it splits 32-bit words into several rows, or interleaves several rows into such words.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Dict, List, Optional, Sequence, Tuple

from gen import algebra
from gen.hlo import Computation, Instruction, Leaf, Shape, dtypes
from gen.plan.buffers import buffer_of, memory_map, reads_of, scheduled_map
from gen.plan.digits import (IterationSpace, MemoryMap, StridedAccess, interleaved, meeting, position, space_of,
                             transposed)
from gen.plan.partition import EMPTY, INLINE, Partition, Root, compose, identity
from gen.schedule import LAUNCH_BYTES, LINE, STRIDED_COST

MOST_RESULTS = 16    # maximum number of results for which orders are compared; larger groups keep their order

Kernel = List[Tuple[Leaf, str]]  # results, each with the map from the kernel's position to the result's position
# the accesses that compute one result, each with the map from a position in the result to a position in the buffer
Reads = List[MemoryMap]


def linear(group: "Sequence[Leaf]") -> "Tuple[Shape, List[Root]]":
    """Return a kernel that goes through memory in the order of the first result. At each position, it writes the
    elements that all results have at this position of their memory.
    """
    space = _space(group)
    return space, [_root(leaf, space, None) for leaf in group]


def arranged(computation: Computation, group: "Sequence[Leaf]",
             cuts: "Dict[Instruction, int]") -> "List[Tuple[Shape, List[Root]]]":
    """Return the kernels of results with equal numbers of elements. A kernel is the shape of its index space, and a
    Root for each result, with the map from the kernel's index to the result's index.
    """
    if len(group) > MOST_RESULTS or group[0].shape.elements < 2:
        return [linear(group)]
    reads = {leaf.number: _reads(computation, leaf, cuts) for leaf in group}
    same = f"(d0) -> (d0), domain: d0 in [0, {group[0].shape.elements - 1}]"
    single = [(leaf, same) for leaf in group]
    space = _iteration_space(single, reads)
    if len(group) == 1 or (space and _cost(space) == _least(space)):
        return [_rooted(single, space, same)]
    spaces = {leaf.number: _iteration_space([(leaf, same)], reads) for leaf in group}
    turned = {number: space is not None and transposed(space) is not None for number, space in spaces.items()}
    plans = [_greedy(order, reads, same) for order in (group, sorted(group, key=lambda leaf: not turned[leaf.number]))]
    _, kernels = min(plans, key=lambda plan: plan[0])
    kernels.sort(key=lambda kernel: min(leaf[0] for leaf, _ in kernel))
    return [_rooted(kernel, _iteration_space(kernel, reads), same) for kernel in kernels]


def _rooted(kernel: Kernel, space: Optional[IterationSpace], same: str) -> "Tuple[Shape, List[Root]]":
    """Return the shape of a kernel's index space, and a Root for each of its results."""
    shape, order = _space([leaf for leaf, _ in kernel]), _as_read(space) if space else None
    if order:
        shape = _flat(shape)
    return shape, [_root(leaf, shape, None if at == same else at, order) for leaf, at in kernel]


def _as_read(space: IterationSpace) -> "Optional[Tuple[str, str]]":
    """Return two maps for a kernel that follows the order of its reads. The first map goes from a position in this
    order to mixed-radix digits. The second map goes from these digits to the position in the results. Return None if
    the order of the results is as good.

    The order of the reads is better if whole cache lines are permuted, or if words are split into rows of whole cache
    lines. Two maps are returned, rather than their composition, so that gen/algebra knows the bounds of the digits.
    """
    accesses = [a for a in space.accesses if a.strides and any(a.strides)]
    reads = [a.strides for a in accesses if not a.write and a.strides and all(a.strides)]
    if len(accesses) < len(space.accesses) or not reads:
        return None
    zips = interleaved(space, True) > 1 and all(a.strides[-1] == 1 for a in accesses if a.write and a.strides)
    order, *others = {tuple(sorted(range(len(space.sizes)),
                                   key=lambda k: (zips and k == len(space.sizes) - 1, -strides[k])))
                      for strides in reads}
    if others or order == tuple(range(len(space.sizes))) or any(s <= 0 for strides in reads for s in strides):
        return None
    turned = IterationSpace(tuple(space.sizes[k] for k in order),
                            tuple(replace(a, strides=tuple((a.strides or ())[k] for k in order)) for a in accesses))
    lines = all(a.strides[-1] == 1 and a.width * space.sizes[-1] % LINE == 0 for a in accesses if a.strides)
    if not (lines and all(s * a.width % LINE == 0 for a in accesses if a.write and a.strides
                          for s in a.strides[:-1])) and interleaved(turned, True) == 1:
        return None
    digits, below = {}, 1
    for k in reversed(order):
        digits[k] = f"(d0 floordiv {below}) mod {space.sizes[k]}"
        below *= space.sizes[k]
    return f"(d0) -> ({', '.join(digits[k] for k in sorted(digits))}), domain: d0 in [0, {below - 1}]", position(
        space.sizes)


def _greedy(group: "Sequence[Leaf]", reads: "Dict[int, Reads]", same: str) -> "Tuple[int, List[Kernel]]":
    """Return the total cost and the kernels, if each result in turn joins the kernel to which it adds the lowest cost.
    """
    kernels: List[Kernel] = []
    costs: List[int] = []
    for leaf in group:
        ways = [(LAUNCH_BYTES + _traffic([(leaf, same)], reads), len(kernels), same)]
        for number, kernel in enumerate(kernels):
            ways += [(_traffic([*kernel, (leaf, at)], reads) - costs[number], number, at)
                     for at in _ways(leaf, kernel, reads, same)]
        cost, number, at = min(ways, key=lambda way: (way[0], way[1], way[2] != same))
        if number == len(kernels):
            kernels.append([])
            costs.append(-LAUNCH_BYTES)
        kernels[number].append((leaf, at))
        costs[number] += cost
    return sum(costs) + LAUNCH_BYTES * len(kernels), kernels


def _space(group: "Sequence[Leaf]") -> Shape:
    """Return the first result's shape; if the results' shapes differ, a shape of one dimension with as many elements.
    """
    first = group[0].shape.dense
    if all((leaf.shape.dims, leaf.shape.minor_to_major) == (first.dims, first.minor_to_major) for leaf in group):
        return first
    return _flat(first)


def _flat(first: Shape) -> Shape:
    n = first.elements
    return Shape(f"{first.dtype}[{n}]{{0}}", "array", first.dtype, (n,), (0,), n, n * dtypes.storage_bytes(first.dtype))


def _root(leaf: Leaf, space: Shape, at: Optional[str], order: "Optional[Tuple[str, str]]" = None) -> Root:
    """Return the Root with which a kernel over the index space `space` writes a result.

    at: the map from the kernel's position to the result's position; None if they are equal.
    order: the two maps from `_as_read`, which are applied first, if the kernel follows the order of its reads; else
        None.
    """
    number, shape, instruction, output = leaf
    own, unmap = identity(space.dims), algebra.call("shape", "unmap", shape.text)
    if order:
        digits, position_map = order
        index = compose(digits, compose(position_map, compose(at, unmap) if at else unmap))
        return Root(number, shape, instruction, output, compose(own, index))
    if at is None and (shape.dims, shape.minor_to_major) == (space.dims, space.minor_to_major):
        return Root(number, shape, instruction, output, own)
    position_map = compose(own, memory_map(space))
    return Root(number, shape, instruction, output, compose(compose(position_map, at) if at else position_map, unmap))


def _reads(computation: Computation, leaf: Leaf, cuts: "Dict[Instruction, int]") -> Reads:
    """Return the accesses of a kernel that computes only this result. Each access has a map from a position in the
    result's memory to a position in the buffer.
    """
    number, shape, instruction, output = leaf
    partition = Partition(computation, [Root(number, shape, instruction, output, identity(shape.dims))],
                          "alone", shape.dims, INLINE, cuts)
    unmap, width = algebra.call("shape", "unmap", shape.text), dtypes.storage_bytes(shape.dtype)
    own = partition.roots[0].buffer
    reads: Reads = [MemoryMap(own.pointer, True, width, shape.bytes, compose(unmap, scheduled_map(shape)))]
    for read, _ in reads_of(partition, partition.entry):
        buffer = buffer_of(partition, read)
        if buffer and buffer.shape.dims:
            width = dtypes.storage_bytes(buffer.shape.dtype)
            flat = compose(unmap, compose(read.map, scheduled_map(buffer.shape)))
            start = algebra.evaluate(flat, *(v.lo for v in algebra.info(flat).variables)) if flat != EMPTY else None
            # reads of different parts of a buffer count as different accesses
            name = f"{buffer.pointer}+{start[0] if start else 0}"
            reads.append(MemoryMap(name, False, width, min(buffer.shape.bytes, shape.elements * width), flat))
    return reads


def _iteration_space(kernel: Kernel, reads: "Dict[int, Reads]") -> Optional[IterationSpace]:
    shape = kernel[0][0].shape.dense
    position_map = memory_map(shape)
    return space_of([read._replace(map=compose(position_map, compose(at, read.map))) for leaf, at in kernel
                     for read in reads[leaf.number]], shape)


def _contiguous(access: StridedAccess, row: Optional[int]) -> bool:
    """Return true if an access is contiguous, or becomes contiguous through a transpose in a tile. row: the dimension
    (mixed-radix digit) that the tile exchanges with the minor one; None if there is none.
    """
    return access.strides is not None and (abs(access.strides[-1]) <= 1
                                           or (row is not None and access.strides[row] == 1))


def _cost(space: IterationSpace) -> int:
    row = transposed(space)
    return sum(a.bytes * (1 if _contiguous(a, row) else STRIDED_COST) for a in space.accesses)


def _least(space: IterationSpace) -> int:
    """Return the cost of the accesses if each buffer is accessed once, in the order of its memory. This is a lower
    bound.
    """
    return sum({a.name: a.bytes for a in space.accesses}.values())


def _traffic(kernel: Kernel, reads: "Dict[int, Reads]") -> int:
    space = _iteration_space(kernel, reads)
    if space:
        return _cost(space)
    # the maps do not have constant strides, so assume that no access is contiguous
    return STRIDED_COST * sum(read.bytes for leaf, _ in kernel for read in reads[leaf.number])


def _ways(leaf: Leaf, kernel: Kernel, reads: "Dict[int, Reads]", same: str) -> List[str]:
    """Return the maps from a kernel's position to a result's position that are worth trying. They are `same`, and each
    map by which the kernel and the result read the same element of a buffer.
    """
    ways = {same: None}
    for own in reads[leaf.number]:
        for other, at in kernel:
            for read in reads[other.number]:
                if read.name == own.name and not own.write and EMPTY not in (own.map, read.map):
                    way = meeting(compose(at, read.map), own.map)
                    if way is not None:
                        ways[way] = None
    return list(ways)
