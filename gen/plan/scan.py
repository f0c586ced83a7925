"""Windows that are prefixes: a reduce-window each of whose windows begins, or ends, at the end of a dimension, so that
each window is its neighbour plus one element.

JAX prints cumsum, cumprod, cummax, cummin and cumlogsumexp in this form: `window={size=1x4096 pad=0_0x4095_0}`, in
reverse `pad=0_0x0_4095`. Forwards, a result is combiner(previous result, element), for any combiner. In reverse it is
combiner(element, next result): HLO leaves the grouping open, and the order of the elements is kept.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import List, Optional

from gen import algebra
from gen.hlo import Instruction
from gen.plan.nest import Nest
from gen.plan.partition import INLINE, Partition, Root, compose


@dataclass(frozen=True)
class Prefix:
    """The dimension along which windows are prefixes. reverse: the windows are suffixes instead."""

    dimension: int
    reverse: bool


@lru_cache(maxsize=65536)
def prefix(instruction: Instruction) -> Optional[Prefix]:
    """Return the prefix of a reduce-window that is a scan, else None."""
    if instruction.opcode != "reduce-window":
        return None
    window, dims = instruction.attributes["window"], instruction.operands[0].shape.dims
    wide = [k for k, size in enumerate(window.size) if size > 1]
    if len(wide) != 1 or instruction.shape.leaves()[0].dims != dims or window.dilated or any(
            n > 1 for n in window.stride) or any(window.reversal):
        return None
    k = wide[0]
    if window.size[k] < dims[k] or any(window.low[n] or window.high[n] for n in range(len(dims)) if n != k):
        return None
    return Prefix(k, window.low[k] == 0) if 0 in (window.low[k], window.high[k]) else None


@dataclass(eq=False)
class Scan(Nest):
    """A nest around scans.

    heroes: the windows of the nest, all with the same `Prefix`.
    inputs: their operands at the nest's index.
    epilogue: the results, from the heroes' values, which are given.
    steps: both, the results first.
    inits: the initial values of the heroes.

    A position in memory is (outer * size + place) * below + column: `place` counts along the dimension, `column`
    counts the elements of the dimensions below it in memory.
    """

    heroes: List[Instruction]
    inputs: Partition
    epilogue: Partition
    steps: Partition
    inits: Partition
    outer: int
    size: int
    below: int
    reverse: bool


def scan(nest: Nest, heroes: List[Instruction]) -> Scan:
    """Return a nest with the partitions that its heroes divide it into."""
    of, leaf = prefix(heroes[0]), heroes[0].shape.leaves()[0]
    assert of is not None
    computation, cuts, index = nest.partition.computation, nest.partition.cuts, nest.partition.entry.index
    if (leaf.dims, leaf.minor_to_major) != (nest.shape.dims, nest.shape.minor_to_major):
        index = compose(compose(index, algebra.call("shape", "map", nest.shape.text)),
                        algebra.call("shape", "unmap", leaf.text))
    operands = [Root(n, o.shape, o, 0, index)
                for n, o in enumerate(o for hero in heroes for o in hero.operands[:len(hero.operands) // 2])]
    inits = [o for hero in heroes for o in hero.operands[len(hero.operands) // 2:]]
    dims, name = nest.partition.entry.dims, nest.name
    inputs = Partition(computation, operands, name + "_inputs", dims, INLINE, cuts)
    epilogue = Partition(computation, nest.partition.roots, name, dims, INLINE, cuts, heroes)
    steps = Partition(computation, [*nest.partition.roots, *operands], name, dims, INLINE, cuts, heroes)
    starts = Partition(computation, [], name + "_inits", (), INLINE, cuts, (), inits)
    below = math.prod(leaf.dims[k] for k in leaf.minor_to_major[:leaf.minor_to_major.index(of.dimension)])
    size = leaf.dims[of.dimension]
    return Scan(name, nest.shape, nest.partition, heroes, inputs, epilogue, steps, starts,
                leaf.elements // (size * below), size, below, of.reverse)
