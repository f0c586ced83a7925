"""What a kernel's maps prove without running it: reads stay inside their buffers, every result element is written once."""

from __future__ import annotations

import re
from typing import Optional

from gen import algebra, build
from gen.emit import memory_map
from gen.hlo import Fusion
from gen.partition import EMPTY, compose
from gen.emit import first_leaf, reads_of


def check(fusion: Fusion) -> Optional[str]:
    """What is wrong with a fusion's maps, or None."""
    for nest in build.nests(fusion):
        for function in nest.partition.functions:
            for read, _ in reads_of(nest.partition, function):
                if read.source.opcode != "parameter" or read.map == EMPTY:
                    continue
                shape = read.source.shape.leaves()[read.output]
                low, high = algebra.ranges(compose(read.map, memory_map(shape)))[0]
                if low < 0 or high >= shape.elements:
                    return f"parameter {first_leaf(read.source) + read.output} of {shape.text} is read at [{low}, {high}]"
        wrong = _writes(nest)
        if wrong:
            return wrong
    return None


def _writes(nest: "build.Nest") -> Optional[str]:
    """Each result's position is the walk's own position, which counts 0, 1, 2, .. (a thread map is one number in mixed radix)."""
    unmap = algebra.call("shape", "unmap", nest.shape.text)
    for root in nest.partition.roots:
        position = compose(unmap, compose(root.map, memory_map(root.shape)))
        info = algebra.info(position)
        if not re.fullmatch(re.escape(info.variables[0].name), info.results[0].text) and root.shape.elements > 1:
            return f"result {root.result} of {root.shape.text} is not written once at every position: {position}"
    return None
