"""Which results are walked together, and in which order each.

Results of equally many elements can be written by one kernel, position by position of the first one's memory. Another result may then
be at the same position of its own memory, or where it reads the same element of a parameter as one before it: with transpose(p) beside
log(p), p is read once, and log(p) is written in the other order. Result by result (as they come, or those that turn something first:
what costs less in all) the cheapest is taken of each way to join a kernel that there is, and of a kernel of its own. The cost is bytes
moved, of each buffer once for each order in which it is accessed. Bytes whose neighbours are far apart cost STRIDED times as much, unless a
tile can turn them: that is for one direction only. A further kernel costs LAUNCH.

Where whole lines change places (the minor dimension is kept) the walk is in the order of what is read: a CPU fetches ahead what is
contiguous, and stores of whole lines may go anywhere. So it is where words are read whose parts go to several rows, and where
words are put together of several rows, which are then read side by side.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Dict, List, Optional, Sequence, Tuple

from gen import algebra
from gen.hlo import Computation, Instruction, Shape, dtypes
from gen.plan.buffers import buffer_of, memory_map, reads_of
from gen.plan.digits import Access, Walk, interleaved, meeting, position, transposed, walked
from gen.plan.partition import EMPTY, INLINE, Function, Partition, Root, compose

# One plan is for all devices, so these numbers are no device's: they only say which of two plans moves less.
STRIDED = 8          # bytes moved in place of one whose neighbours are far apart
LINE = 64            # bytes
LAUNCH = 1 << 20     # bytes that could be moved while a kernel is launched
MOST_RESULTS = 16    # more than that are not rearranged

Leaf = Tuple[int, Shape, Instruction, int]      # a result's number and shape, the value that it is, the leaf of the value's shape
Kernel = List[Tuple[Leaf, str]]                 # results, each with the map of the kernel's position to its own
Reads = List[Tuple[str, bool, int, int, str]]   # pointer, whether written, width, bytes, map of a position to the buffer's


def linear(group: "Sequence[Leaf]") -> "Tuple[Shape, List[Root]]":
    """All results at the same position of their memory."""
    space = _space(group)
    return space, [_root(leaf, space, None) for leaf in group]


def arranged(computation: Computation, group: "Sequence[Leaf]", cuts: "Dict[Instruction, int]") -> "List[Tuple[Shape, List[Root]]]":
    """The results of equally many elements as kernels: for each the space of its index, and the results with their maps from it."""
    if len(group) > MOST_RESULTS or group[0][1].elements < 2:
        return [linear(group)]
    reads = {leaf[0]: _reads(computation, leaf, cuts) for leaf in group}
    same = f"(d0) -> (d0), domain: d0 in [0, {group[0][1].elements - 1}]"
    one = [(leaf, same) for leaf in group]
    together = _walk(one, reads)
    if len(group) == 1 or (together and _cost(together) == _least(together)):
        return [_made(one, together, same)]
    turned = {leaf[0]: (found is not None and transposed(found) is not None) for leaf, found in
              ((leaf, _walk([(leaf, same)], reads)) for leaf in group)}
    tried = [_greedy(order, reads, same) for order in (group, sorted(group, key=lambda leaf: not turned[leaf[0]]))]
    _, kernels = min(tried, key=lambda found: found[0])
    kernels.sort(key=lambda kernel: min(leaf[0] for leaf, _ in kernel))
    return [_made(kernel, _walk(kernel, reads), same) for kernel in kernels]


def _made(kernel: Kernel, found: Optional[Walk], same: str) -> "Tuple[Shape, List[Root]]":
    space, order = _space([leaf for leaf, _ in kernel]), _as_read(found) if found else None
    if order:
        space = _flat(space)
    return space, [_root(leaf, space, None if at == same else at, order) for leaf, at in kernel]


def _as_read(found: Walk) -> "Optional[Tuple[str, str]]":
    """Where whole lines change places, or words are taken apart into lines: the digits of a position in the order of what is read, and the walk's position from these (apart,
    because of digits the algebra knows that they do not leave the walk); None where they do not."""
    accesses = [a for a in found.accesses if a.strides and any(a.strides)]
    reads = [a.strides for a in accesses if not a.write and a.strides and all(a.strides)]
    if len(accesses) < len(found.accesses) or not reads:
        return None
    zips = interleaved(found, True) > 1 and all(a.strides[-1] == 1 for a in accesses if a.write and a.strides)
    order, *others = {tuple(sorted(range(len(found.sizes)), key=lambda k: (zips and k == len(found.sizes) - 1, -strides[k]))) for strides in reads}
    if others or order == tuple(range(len(found.sizes))) or any(s <= 0 for strides in reads for s in strides):
        return None
    turned = Walk(tuple(found.sizes[k] for k in order), tuple(replace(a, strides=tuple((a.strides or ())[k] for k in order)) for a in accesses))
    lines = all(a.strides[-1] == 1 and a.width * found.sizes[-1] % LINE == 0 for a in accesses if a.strides)
    if not (lines and all(s * a.width % LINE == 0 for a in accesses if a.write and a.strides for s in a.strides[:-1])) and interleaved(turned, True) == 1:
        return None
    digits, below = {}, 1
    for k in reversed(order):
        digits[k] = f"(d0 floordiv {below}) mod {found.sizes[k]}"
        below *= found.sizes[k]
    return f"(d0) -> ({', '.join(digits[k] for k in sorted(digits))}), domain: d0 in [0, {below - 1}]", position(found.sizes)


def _greedy(group: "Sequence[Leaf]", reads: "Dict[int, Reads]", same: str) -> "Tuple[int, List[Kernel]]":
    """Each result in turn where it costs least: the cost of all, and the kernels."""
    kernels: List[Kernel] = []
    costs: List[int] = []
    for leaf in group:
        ways = [(LAUNCH + _traffic([(leaf, same)], reads), len(kernels), same)]
        for number, kernel in enumerate(kernels):
            ways += [(_traffic([*kernel, (leaf, at)], reads) - costs[number], number, at) for at in _ways(leaf, kernel, reads, same)]
        cost, number, at = min(ways, key=lambda way: (way[0], way[1], way[2] != same))
        if number == len(kernels):
            kernels.append([])
            costs.append(-LAUNCH)
        kernels[number].append((leaf, at))
        costs[number] += cost
    return sum(costs) + LAUNCH * len(kernels), kernels


def _space(group: "Sequence[Leaf]") -> Shape:
    """The first result's shape, or only its positions where shapes differ."""
    first = replace(group[0][1], place="")
    if all((shape.dims, shape.minor_to_major) == (first.dims, first.minor_to_major) for _, shape, _, _ in group):
        return first
    return _flat(first)


def _flat(first: Shape) -> Shape:
    n = first.elements
    return Shape(f"{first.dtype}[{n}]{{0}}", "array", first.dtype, (n,), (0,), n, n * dtypes.storage_bytes(first.dtype))


def _root(leaf: Leaf, space: Shape, at: Optional[str], order: "Optional[Tuple[str, str]]" = None) -> Root:
    """A result and the map to its index: from the same position, or through a map of positions (order: in two steps, before it)."""
    number, shape, instruction, output = leaf
    own, unmap = Function("", space.dims).index, algebra.call("shape", "unmap", shape.text)
    if order:
        digits, walked_at = order
        index = compose(digits, compose(walked_at, compose(at, unmap) if at else unmap))
        return Root(number, shape, instruction, output, compose(own, index))
    if at is None and (shape.dims, shape.minor_to_major) == (space.dims, space.minor_to_major):
        return Root(number, shape, instruction, output, own)
    walked_at = compose(own, memory_map(space))
    return Root(number, shape, instruction, output, compose(compose(walked_at, at) if at else walked_at, unmap))


def _reads(computation: Computation, leaf: Leaf, cuts: "Dict[Instruction, int]") -> Reads:
    """What a result alone reads, and itself, by the position in its memory."""
    number, shape, instruction, output = leaf
    partition = Partition(computation, [Root(number, shape, instruction, output, Function("", shape.dims).index)], "alone", shape.dims, INLINE, cuts)
    unmap, width = algebra.call("shape", "unmap", shape.text), dtypes.storage_bytes(shape.dtype)
    found: Reads = [(f"r{number}", True, width, shape.bytes, compose(unmap, memory_map(shape)))]
    for read, _ in reads_of(partition, partition.entry):
        buffer = buffer_of(partition, read)
        if buffer and buffer.shape.dims:
            width = dtypes.storage_bytes(buffer.shape.dtype)
            flat = compose(unmap, compose(read.map, memory_map(buffer.shape)))
            start = algebra.evaluate(flat, *(v.lo for v in algebra.info(flat).variables)) if flat != EMPTY else None
            # another part of the same buffer is another access
            found.append((f"{buffer.pointer}+{start[0] if start else 0}", False, width, min(buffer.shape.bytes, shape.elements * width), flat))
    return found


def _walk(kernel: Kernel, reads: "Dict[int, Reads]") -> Optional[Walk]:
    space = replace(kernel[0][0][1], place="")
    walked_at = memory_map(space)
    return walked([(*about, compose(walked_at, compose(at, flat))) for leaf, at in kernel for *about, flat in reads[leaf[0]]], space)  # type: ignore[misc]


def _near(access: Access, row: Optional[int]) -> bool:
    return access.strides is not None and (abs(access.strides[-1]) <= 1 or (row is not None and access.strides[row] == 1))


def _cost(found: Walk) -> int:
    row = transposed(found)
    return sum(a.bytes * (1 if _near(a, row) else STRIDED) for a in found.accesses)


def _least(found: Walk) -> int:
    """Each buffer once, in order."""
    return sum({a.name: a.bytes for a in found.accesses}.values())


def _traffic(kernel: Kernel, reads: "Dict[int, Reads]") -> int:
    found = _walk(kernel, reads)
    if found:
        return _cost(found)
    return STRIDED * sum(size for leaf, _ in kernel for _, _, _, size, _ in reads[leaf[0]])   # no walk: no order is known


def _ways(leaf: Leaf, kernel: Kernel, reads: "Dict[int, Reads]", same: str) -> List[str]:
    """Maps of a kernel's position to a result's: the same, and those by which both read the same element of a buffer."""
    found = {same: None}
    for pointer, write, _, _, own in reads[leaf[0]]:
        for other, at in kernel:
            for name, _, _, _, theirs in reads[other[0]]:
                way = meeting(compose(at, theirs), own) if name == pointer and not write and EMPTY not in (own, theirs) else None
                if way is not None:
                    found[way] = None
    return list(found)
