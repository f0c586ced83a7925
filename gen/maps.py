"""What a kernel's maps prove without running it: reads stay inside their buffers, every result element is written once."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Dict, Optional

from gen import algebra, build, tiled
from gen.emit import first_leaf, memory_map, reads_of
from gen.hlo import Fusion, Shape
from gen.partition import EMPTY, compose
from gen.walk import radix, reach, spread, strides


def check(fusion: Fusion) -> Optional[str]:
    """What is wrong with a fusion's maps, or None."""
    for nest in build.nests(fusion):
        for function in nest.partition.functions:
            for read, _ in reads_of(nest.partition, function):
                if read.source.opcode != "parameter" or read.map == EMPTY:
                    continue
                shape = read.source.shape.leaves()[read.output]
                low, high = algebra.ranges(compose(read.map, memory_map(shape)))[0]
                room = tiled.positions(shape)
                if (low < 0 or high >= room) and function is nest.partition.entry:
                    low, high = reach(compose(algebra.call("shape", "unmap", nest.shape.text), compose(read.map, memory_map(shape))))
                if (low < 0 or high >= room) and not _indices_inside(read.map, shape):
                    return f"parameter {first_leaf(read.source) + read.output} of {shape.text} is read at [{low}, {high}]"
        wrong = _writes(nest)
        if wrong:
            return wrong
    return _parts(fusion)


def _indices_inside(index: str, shape: Shape) -> bool:
    """Whether each index lies in its dimension: its interval does, or that of a constraint that it is a constant away from, or the map is
    empty where it does not."""
    info = algebra.info(index)
    names, domain = ", ".join(v.name for v in info.variables), [f"{v.name} in [{v.lo}, {v.hi}]" for v in info.variables]
    domain += [f"{c.text} in [{c.lo}, {c.hi}]" for c in info.constraints]
    for result, size in zip(info.results, shape.dims):
        found = [(result.lo, result.hi)]
        for c in info.constraints:
            apart = algebra.ranges(algebra.simplify(f"({names}) -> (({result.text}) - ({c.text})), domain: {', '.join(domain)}"))[0]
            found += [(c.lo + apart[0], c.hi + apart[1])]
        beyond = [(low, -1) for low in [max(low for low, _ in found)] if low < 0] + \
            [(size, high) for high in [min(high for _, high in found)] if high >= size]
        for low, high in beyond:
            if algebra.simplify(f"({names}) -> (), domain: {', '.join([*domain, f'{result.text} in [{low}, {high}]'])}") != EMPTY:
                return False
    return True


def _parts(fusion: Fusion) -> Optional[str]:
    """What is written in parts: each at as many places as it has elements, inside of the buffer, all together at every one."""
    parts: Dict[int, int] = {}
    leaves = build.result_leaves(fusion.computation)
    for nest in build.nests(fusion):
        for root in nest.partition.roots:
            if not root.shape.place:
                continue
            room = tiled.positions(leaves[root.result][0])
            parts[root.result] = parts.get(root.result, 0) + root.shape.elements
            low, high = reach(root.shape.place)
            found = strides(root.shape.place)
            if low < 0 or high >= room or found is None or not spread(*found):
                return f"a part of result {root.result} is not written once at every position: {root.shape.place}"
    missing = [n for n, count in parts.items() if count != tiled.positions(leaves[n][0])]
    return f"result {missing[0]} is not written everywhere" if missing else None


def _writes(nest: "build.Nest") -> Optional[str]:
    """Each result, or part of one, is written at every position once: the walk's own position counts 0, 1, 2, .. , and its digits have
    strides in the result that are a mixed radix too."""
    unmap = algebra.call("shape", "unmap", nest.shape.text)
    for root in nest.partition.roots:
        if root.at:
            flat = compose(root.at, memory_map(root.shape))
            low, high = algebra.ranges(flat)[0]
            strides_ = [algebra.access(flat, f"i{k}")[0].stride for k in range(len(nest.shape.dims))]
            if low < 0 or high >= root.shape.elements or None in strides_ or not spread(nest.shape.dims, strides_):  # type: ignore[arg-type]
                return f"the update of result {root.result} is not written once at each of its positions: {flat}"
            continue
        if root.shape.place:
            root = replace(root, shape=replace(root.shape, place=""))
        position = compose(unmap, compose(root.map, memory_map(root.shape)))
        found = radix(position) if root.shape.elements > 1 else None
        if root.shape.elements > 1 and (found is None or found[0] or math.prod(found[1]) != root.shape.elements):
            return f"result {root.result} of {root.shape.text} is not written once at every position: {position}"
    return None
