"""Scans: a reduce-window in which each window has one element more than the window before it.

JAX prints cumsum, cumprod, cummax, cummin and cumlogsumexp in this form: `window={size=1x4096 pad=0_0x4095_0}`, and
with `pad=0_0x0_4095` in reverse. A result is combiner(previous result, element), for any combiner. In reverse, a result
is combiner(element, next result). HLO allows any grouping, and the order of the elements is preserved.
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
    """The dimension along which a scan goes. reverse: true if the scan begins at the end of the dimension."""

    dimension: int
    reverse: bool


@lru_cache(maxsize=65536)
def prefix(instruction: Instruction) -> Optional[Prefix]:
    """Return the dimension and direction of a scan; None if the instruction is not a scan."""
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

    heroes: the scans, all along the same dimension and in the same direction.
    inputs: computes the operands of the scans at the nest's index.
    epilogue: computes the results from the values of the scans.
    steps: computes the results and the operands; the results are its first roots.
    inits: computes the initial values of the scans.
    outer, size, below: the product of the sizes of the slower dimensions in memory, the size of the scan's dimension,
        and the product of the sizes of the faster dimensions.
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
    """Return the nest as a Scan. heroes: the scans that it computes."""
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
