"""Store values whose rows are reduced in row-major order, so that each row is contiguous.

JAX prints a transpose as a change of the layout: the scores of multi-query attention have the logical order batch,
head, query, key, but the layout of the product that computes them, batch, key, query, head. The layouts of parameters
and results are given. All other layouts are free, and a softmax of rows is fastest if each row is contiguous.
"""

from __future__ import annotations

from typing import Dict, List, Mapping, Optional, Sequence, Set

from gen import algebra
from gen.hlo import Computation, Instruction, array_shape
from gen.hlo.copy import Added, replaced
from gen.hlo.opcodes import ELEMENTWISE
from gen.plan.buffers import memory_map
from gen.plan.partition import EMPTY, STORED, compose, identity, moves_only, operand_map

# the moves that read each element of their operand once
ONE_TO_ONE = ("reshape", "transpose", "copy")
# the ops whose results do not depend on the layouts of their operands
READERS = (*ELEMENTWISE, *ONE_TO_ONE, "reduce", "dot", "broadcast", "slice")


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
        if not (user.opcode in ONE_TO_ONE or user.opcode in ELEMENTWISE and user.shape.dims == path[-1].shape.dims):
            break
        path.append(user)
    return path


def of_contiguous_rows(computation: Computation) -> Computation:
    """Return the computation with other layouts of values that are computed from products, if a reduce combines their
    rows: the elements along their last dimension. These values are then stored in row-major order. Other operands of
    their elementwise ops, such as a bias of attention, are copied if their rows are not contiguous in memory.
    """
    users = users_of(computation)
    found: "Set[Instruction]" = set()
    before: "Set[Instruction]" = set()      # the values between a product and `found`
    for product in computation.instructions:
        if product.opcode == "dot":
            *path, end = chain_of(product, users)
            before.update(path)
            if any(i.opcode == "reduce" and tuple(i.attributes["dimensions"]) == (end.shape.rank - 1,)
                   for i in users.get(end, ())):
                found |= _of_rows(end, computation, users)
    turned = {i for i in found if not (i.shape.tiled or i.shape.dynamic or i.shape.place)
              and i.shape.minor_to_major != tuple(reversed(range(i.shape.rank)))}
    copied = {_beside(operand) for i in found for operand in i.operands
              if operand not in found and operand not in before and i.opcode in ELEMENTWISE} - {None}

    def put(into: Computation, i: Instruction, operands: "List[Instruction]") -> Instruction:
        shape = array_shape(i.shape.dtype, i.shape.dims)
        value = into.add_copy(i, operands, **({"shape": shape} if i in turned else {}))
        if i in copied:
            value = Added(into, i, "rows").add("copy", shape, value)
            value.attributes[STORED] = True
        return value

    return replaced(computation, lambda i: i in turned or i in copied, put)


def _of_rows(value: Instruction, computation: Computation,
             users: "Mapping[Instruction, Sequence[Instruction]]") -> "Set[Instruction]":
    """Return the value and the elementwise ops that read it, directly or through others, if other layouts of them
    change no result.
    """
    seen: "Set[Instruction]" = set()
    waiting = [value]
    while waiting:
        i = waiting.pop()
        if i not in seen and i is not computation.root and i.shape.kind == "array" \
                and all(user.opcode in READERS for user in users.get(i, ())):
            seen.add(i)
            waiting += [user for user in users.get(i, ())
                        if user.opcode in ELEMENTWISE and user.shape.dims == i.shape.dims]
    return seen


def _beside(value: Instruction) -> "Optional[Instruction]":
    """Return the value without the broadcasts and reshapes that follow it, if its rows are not contiguous in memory;
    else None.
    """
    index, base, whole = identity(value.shape.dims), value, value
    while moves_only(base) and base.opcode != "get-tuple-element":
        index, base = compose(index, operand_map(base, 0)), base.operands[0]
        whole = base if base.shape.elements < whole.shape.elements else whole
    last = f"i{value.shape.rank - 1}"
    if index == EMPTY or base.shape.kind != "array" or base.shape.tiled or base.shape.place or not value.shape.dims:
        return None
    flat = compose(index, memory_map(base.shape))
    if last not in (v.name for v in algebra.info(flat).variables):
        return None
    return whole if algebra.access(flat, last)[0].stride not in (0, 1) else None
