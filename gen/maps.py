"""What a kernel's maps prove without running it: reads stay inside their buffers, every result element is written once."""

from __future__ import annotations

import math
from typing import Optional

from gen import algebra, build
from gen.emit import first_leaf, memory_map, reads_of
from gen.hlo import Fusion
from gen.partition import EMPTY, compose
from gen.walk import radix, reach


def check(fusion: Fusion) -> Optional[str]:
    """What is wrong with a fusion's maps, or None."""
    for nest in build.nests(fusion):
        for function in nest.partition.functions:
            for read, _ in reads_of(nest.partition, function):
                if read.source.opcode != "parameter" or read.map == EMPTY:
                    continue
                shape = read.source.shape.leaves()[read.output]
                low, high = algebra.ranges(compose(read.map, memory_map(shape)))[0]
                if (low < 0 or high >= shape.elements) and function is nest.partition.entry:
                    low, high = reach(compose(algebra.call("shape", "unmap", nest.shape.text), compose(read.map, memory_map(shape))))
                if low < 0 or high >= shape.elements:
                    return f"parameter {first_leaf(read.source) + read.output} of {shape.text} is read at [{low}, {high}]"
        wrong = _writes(nest)
        if wrong:
            return wrong
    return None


def _writes(nest: "build.Nest") -> Optional[str]:
    """Each result is written at every position once: the walk's own position counts 0, 1, 2, .. , and its digits have strides in the
    result that are a mixed radix too."""
    unmap = algebra.call("shape", "unmap", nest.shape.text)
    for root in nest.partition.roots:
        position = compose(unmap, compose(root.map, memory_map(root.shape)))
        found = radix(position) if root.shape.elements > 1 else None
        if root.shape.elements > 1 and (found is None or found[0] or math.prod(found[1]) != root.shape.elements):
            return f"result {root.result} of {root.shape.text} is not written once at every position: {position}"
    return None
