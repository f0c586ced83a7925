"""Find operands that a nest may overwrite with its results: the nest reads each element of the operand only when it
computes the result element at the same position.
"""

from __future__ import annotations

from typing import Dict, List, Optional, Set, Tuple

from gen.hlo import dtypes
from gen.plan.buffer import Buffer
from gen.plan.buffers import buffer_of, memory_map, reads_of
from gen.plan.nest import Nest
from gen.plan.partition import compose
from gen.plan.plan import Reduction
from gen.plan.whole import Whole


def overwritable(nest: Nest) -> "List[Tuple[Buffer, Buffer]]":
    """Return pairs of buffers: one that the nest reads, and one of a result that may be stored in its place.

    The maps prove it. To compute the results at an index, the nest reads the first buffer only at the position that it
    then writes. All results at an index are stored after all of them have been computed. For a sort, an operand and the
    result of the same layout are such a pair, if the schedule reads a row before it writes the row.
    """
    if isinstance(nest, Whole):
        return _of_sort(nest)
    roots, partition = nest.partition.roots, nest.partition
    if type(nest) not in (Nest, Reduction) or nest.aliases or nest.layout or nest.sides or any(
            root.at or root.shape.dtype in dtypes.PACKED for root in roots):
        return []
    positions: Dict[Buffer, Set[Optional[str]]] = {}
    for function in partition.functions:
        for read, _ in reads_of(partition, function):
            buffer = buffer_of(partition, read)
            if buffer:
                at = compose(read.map, memory_map(buffer.shape)) if function is partition.entry else None
                positions.setdefault(buffer, set()).add(at)
    written = [(root, {compose(root.map, memory_map(root.shape))}) for root in roots]
    return [(buffer, root.buffer) for buffer, at in positions.items() for root, own in written
            if at == own and buffer.shape.dtype not in dtypes.PACKED and buffer.shape.bytes == root.shape.bytes
            and dtypes.storage_bytes(buffer.shape.dtype) == dtypes.storage_bytes(root.shape.dtype)]


def copied(nest: Nest) -> "List[Tuple[Buffer, Buffer]]":
    """Return the pairs of buffers that a nest copies, each element to the same position, if it does nothing else. If
    both buffers of each pair share memory, the nest's kernel changes nothing.
    """
    if type(nest) is not Nest or nest.members or len(nest.partition.functions) > 1 or nest.partition.entry.body.entries:
        return []
    pairs = overwritable(nest)
    return pairs if {result for _, result in pairs} == {root.buffer for root in nest.partition.roots} else []


def _of_sort(nest: Whole) -> "List[Tuple[Buffer, Buffer]]":
    if nest.op.opcode != "sort":
        return []
    read, results = iter(nest.operands), nest.results
    pairs = [(next(read), result) for operand, result in zip(nest.op.operands, results) if operand.opcode == "parameter"]
    return [(buffer, result) for buffer, result in pairs if nest.operands.count(buffer) == 1
            and memory_map(buffer.shape) == memory_map(result.shape)]
