"""Which operand a nest may write its result over: each element is read where it is then written, and nowhere else."""

from __future__ import annotations

from typing import Dict, List, Optional, Set

from gen.hlo import dtypes
from gen.plan.buffer import Buffer
from gen.plan.buffers import buffer_of, memory_map, reads_of
from gen.plan.nest import Nest
from gen.plan.partition import compose


def overwritable(nest: Nest) -> List[Buffer]:
    """The buffers that the nest's one result may lie in, as their maps prove: an element is computed from the one at its
    own position, and stored after all that is computed of it."""
    if type(nest) is not Nest or nest.aliases or nest.layout or nest.sides or len(nest.partition.roots) != 1:
        return []
    (root,), partition = nest.partition.roots, nest.partition
    if root.at or root.shape.dtype in dtypes.PACKED:
        return []
    own: Set[Optional[str]] = {compose(root.map, memory_map(root.shape))}
    positions: Dict[Buffer, Set[Optional[str]]] = {}
    for function in partition.functions:
        for read, _ in reads_of(partition, function):
            buffer = buffer_of(partition, read)
            if buffer:
                at = compose(read.map, memory_map(buffer.shape)) if function is partition.entry else None
                positions.setdefault(buffer, set()).add(at)
    width = dtypes.storage_bytes(root.shape.dtype)
    return [buffer for buffer, at in positions.items() if at == own and buffer.shape.dtype not in dtypes.PACKED
            and dtypes.storage_bytes(buffer.shape.dtype) == width and buffer.shape.bytes == root.shape.bytes]
