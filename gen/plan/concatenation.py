"""A concatenation as a nest an operand, each over its own shape and written where the concatenation puts it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import List, Optional, Tuple

from gen import algebra
from gen.hlo import Instruction, Shape, array_shape, dtypes
from gen.plan import plan
from gen.plan.buffers import memory_map
from gen.plan.digits import LINE, strides
from gen.plan.nest import Nest
from gen.plan.partition import Entry, Partition, Read, Root, compose


# One plan is for all devices, so these numbers are no device's.
MOST_OPERANDS = 8
MOST_OPS = 2000      # of all parts: each part computes for itself what it shares with others


@dataclass(eq=False)
class Concatenate(Nest):
    """A nest and the same in parts, one an operand."""

    parts: List[Nest] = field(default_factory=list)

    def written(self, apart: bool) -> "List[Tuple[Shape, Root]]":
        return [(part.shape, root) for part in self.parts
                for root in part.partition.roots] if apart else super().written(apart)


def parted(nest: Nest) -> Nest:
    """The nest with its parts, where there is one result that is made of operands side by side."""
    parts = _parts(nest) if len(nest.partition.roots) == 1 and not nest.layout else None
    if not parts:
        return nest
    return Concatenate(nest.name, nest.shape, nest.partition, parts)


def _parts(nest: Nest) -> "Optional[List[Nest]]":
    (root,), cuts = nest.partition.roots, nest.partition.cuts
    waiting: "List[Tuple[Shape, Root]]" = [(nest.shape, root)]
    parts: List[Nest] = []
    while waiting:
        shape, root = waiting.pop(0)
        name = f"{nest.name}_{len(parts)}"
        part = Nest(name, shape, Partition(nest.partition.computation, [root], name, shape.dims, cuts=cuts))
        hero = _hero(part)
        if hero is None:
            parts.append(part)
            continue
        instruction, back = hero.instruction, algebra.call("map", "inverse", hero.map)
        if back.startswith("no") or len(parts) + len(waiting) + len(instruction.operands) > MOST_OPERANDS:
            return None
        inner = []
        for k, operand in enumerate(instruction.operands):
            if operand.shape.elements:
                of = array_shape(root.shape.dtype, operand.shape.dims, instruction.shape.minor_to_major)
                index = compose(compose(_placed(instruction, k), back), root.map)
                index = algebra.rename(index, *(f"i{d}" for d in range(of.rank)))
                inner.append((of, Root(root.result, root.shape, root.value, root.output, index, root.scratch)))
        waiting = inner + waiting
    ops = sum(function.ops for part in parts for function in part.partition.functions)
    return parts if len(parts) > 1 and ops <= MOST_OPS and all(_together(part) for part in parts) else None


def _hero(nest: Nest) -> Optional[Entry]:
    """The one concatenation whose every element the nest computes where it stands, at the same position of its
    memory."""
    heroes = [e for e in nest.partition.entry.body.entries if e.instruction.opcode == "concatenate"
              and e.callee is None]
    return heroes[0] if len(heroes) == 1 and plan.same_place(Read(heroes[0].instruction, heroes[0].map),
                                                             nest.shape) else None


def _placed(concatenate: Instruction, operand: int) -> str:
    """The map from an operand's index to the concatenation's."""
    dims = [f"in{k}={','.join(map(str, o.shape.dims))}" for k, o in enumerate(concatenate.operands)]
    return algebra.call("op", "concatenate", str(operand), f"out={','.join(map(str, concatenate.shape.dims))}", *dims,
                        f"dimension={concatenate.attributes['dimensions'][0]}", "from=operand")


def _together(nest: Nest) -> bool:
    """Whether what a part writes lies together in the output, or in pieces of whole lines (of bytes: of a line or more;
    other pieces that begin anywhere the loop hero writes as fast); packed elements by whole bytes."""
    (root,) = nest.partition.roots
    flat = compose(algebra.call("shape", "unmap", nest.shape.text), compose(root.map, memory_map(root.shape)))
    digits, width = strides(flat), dtypes.storage_bytes(root.shape.dtype)
    if digits is None:
        return False
    run = 1
    apart: List[int] = []
    for size, step in reversed(list(zip(*digits))):
        if step == run and not apart:
            run *= size
        elif size > 1:
            apart.append(step)
    per = dtypes.per_byte(root.shape.dtype) if root.shape.dtype in dtypes.PACKED else 1
    start = algebra.evaluate(flat, 0)
    assert start is not None
    lines = run * width % LINE == 0 or (width == 1 and run >= LINE)
    return (not apart or lines) and not any(n % per for n in (run, start[0], *apart))
