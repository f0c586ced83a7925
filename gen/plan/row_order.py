"""Store values whose rows are reduced in the order of these rows.

JAX prints a transpose as a change of the layout: the scores of multi-query attention have the logical order batch,
head, query, key, but the layout of the product that computes them, batch, key, query, head. The layouts of parameters
and results are given. All other layouts are free, and a softmax of rows is fastest if each row is contiguous.
"""

from __future__ import annotations

from typing import Dict, List, Mapping, Sequence, Set

from gen.hlo import Computation, Instruction, array_shape
from gen.hlo.copy import replaced
from gen.hlo.opcodes import ELEMENTWISE

MOVES = ("reshape", "transpose", "copy")
# the ops whose results do not depend on the layouts of their operands
READERS = (*ELEMENTWISE, *MOVES, "reduce", "dot", "broadcast", "slice")


def users_of(computation: Computation) -> "Dict[Instruction, List[Instruction]]":
    users: "Dict[Instruction, List[Instruction]]" = {}
    for i in computation.instructions:
        for operand in dict.fromkeys(i.operands):
            users.setdefault(operand, []).append(i)
    return users


def chain_of(value: Instruction, users: "Mapping[Instruction, Sequence[Instruction]]") -> "List[Instruction]":
    """Return the value, followed by the elementwise ops and moves of which each is the only user of the one before."""
    path = [value]
    while len(users.get(path[-1], ())) == 1:
        (user,) = users[path[-1]]
        if not (user.opcode in MOVES or user.opcode in ELEMENTWISE and user.shape.dims == path[-1].shape.dims):
            break
        path.append(user)
    return path


def of_contiguous_rows(computation: Computation) -> Computation:
    """Return the computation with other layouts of values that are computed from products, if a reduce combines their
    rows: the elements along their last dimension. These values are then stored in row-major order.
    """
    users = users_of(computation)
    found: "Set[Instruction]" = set()
    for product in computation.instructions:
        if product.opcode == "dot":
            end = chain_of(product, users)[-1]
            if any(i.opcode == "reduce" and tuple(i.attributes["dimensions"]) == (end.shape.rank - 1,)
                   for i in users.get(end, ())):
                found |= _free(end, computation, users)
    return replaced(computation, found.__contains__, lambda into, i, operands: into.add_copy(
        i, operands, shape=array_shape(i.shape.dtype, i.shape.dims)))


def _free(value: Instruction, computation: Computation,
          users: "Mapping[Instruction, Sequence[Instruction]]") -> "Set[Instruction]":
    """Return the value and the elementwise ops that read it, directly or through others, if they are not in row-major
    order, and if another layout of them changes no result.
    """
    seen: "Set[Instruction]" = set()
    waiting = [value]
    while waiting:
        i = waiting.pop()
        if i not in seen and i is not computation.root and all(user.opcode in READERS for user in users.get(i, ())):
            seen.add(i)
            waiting += [user for user in users.get(i, ())
                        if user.opcode in ELEMENTWISE and user.shape.dims == i.shape.dims]
    return {i for i in seen if i.shape.kind == "array" and not (i.shape.tiled or i.shape.dynamic or i.shape.place)
            and i.shape.minor_to_major != tuple(reversed(range(i.shape.rank)))}
