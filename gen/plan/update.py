"""Nests that write only the updated elements of a dynamic-update-slice.

Such a nest is used if every result of a fusion is a dynamic-update-slice, or a bitcast of one, and all updates have the
same dimensions. The nest updates a parameter in place if three conditions hold. First, the module must allow it
(`Fusion.aliases`, `Fusion.donated`). Second, the operand of the update must be this parameter, with the same positions
in memory. Third, to compute an element, the kernel may read no other element of the parameter.

If one of these conditions does not hold, other kernels first write the operand to the result, and this nest then writes
the update. If the update is more than half of the result, this further pass is not worthwhile, and the result is
computed like any other value.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Dict, List, Optional, Sequence, Tuple

from gen import algebra
from gen.hlo import Computation, Fusion, Instruction, Leaf, array_shape, distribution, dtypes
from gen.plan import plan
from gen.plan.buffer import Buffer
from gen.plan.buffers import buffer_of, buffers_of, memory_map, reads_of
from gen.plan.nest import Nest
from gen.plan.partition import EMPTY, Partition, Root, Runtime, compose, identity, moves_only, update_map


OPCODE = "dynamic-update-slice"


@dataclass(eq=False)
class Update(Nest):
    """A nest that writes updates into arrays.

    aliases: for each result, the parameter whose buffer the update overwrites; empty if the update is not in place.
    kept: the old arrays, which are copied to the results before the update; empty if the update is in place.
    """

    aliases: Dict[Buffer, Buffer]
    kept: List[Leaf]
    why: str            # why the update is not done in place
    reads_first: bool = field(default=True, init=False)


def _dus(instruction: Instruction) -> Optional[Instruction]:
    # a bitcast with a map changes a tiled layout, so it is not skipped
    while instruction.opcode == "bitcast" and moves_only(instruction) and "map" not in instruction.attributes:
        instruction = instruction.operands[0]
    return instruction if instruction.opcode == OPCODE else None


def find(fusion: Fusion, computation: Computation, leaves: "Sequence[Leaf]",
         name: str) -> "Tuple[Optional[Update], str]":
    """Return the nest of a fusion that only updates arrays. Otherwise return None and the reason; the reason is "" if
    the fusion contains no dynamic-update-slice.
    """
    results = [(number, shape, _dus(instruction)) for number, shape, instruction, _ in leaves]
    updates = [dus for _, _, dus in results if dus is not None]
    if not updates:
        return None, "results are written in tiles" * any(i.opcode == "tile" and i.operands[0].opcode == OPCODE
                                                          for _, _, i, _ in leaves)
    if len(updates) < len(results):
        return None, f"result {next(n for n, _, dus in results if dus is None)} is no dynamic-update-slice"
    dims = updates[0].operands[1].shape.dims
    for (number, shape, _), dus in zip(results, updates):
        if dus.operands[1].shape.dims != dims:
            return (
                None,
                f"the update of result {number} is {dus.operands[1].shape.text}, that of result {results[0][0]} {updates[0].operands[1].shape.text}",
            )
        if shape.dtype in dtypes.PACKED:
            return None, f"elements of {shape.dtype} are parts of a byte"
        if shape.place or dus.shape.tiled or not dus.operands[1].shape.elements:
            return None, (f"result {number} is written in tiles" if dus.operands[1].shape.elements
                          else "the update is empty")
    turned = [number for number, shape, instruction, leaf in leaves
              if memory_map(shape) != memory_map(instruction.shape.leaves()[leaf])]
    if turned:
        return None, f"result {turned[0]} has another layout than the value that it is"
    if any(distribution.layout_of(instruction) for _, _, instruction, _ in leaves):
        return None, "a result is distributed by a layout"
    if any(plan.stops(i) for i in computation.instructions):
        return None, "a reduction or a scatter has kernels of its own"
    space = array_shape(updates[0].shape.dtype, dims, updates[0].shape.minor_to_major)
    roots = [_root(number, dus, n) for n, ((number, _, _), dus) in enumerate(zip(results, updates))]
    partition = Partition(computation, roots, name, dims)
    aliases, why = _aliases(fusion, partition, updates)
    kept = [] if aliases else [Leaf(number, dus.shape, dus.operands[0], 0)
                               for (number, _, _), dus in zip(results, updates)]
    if not aliases and 2 * space.elements > updates[0].shape.elements:
        return None, f"{why}, and the update is more than half of the result"
    return Update(name, space, partition, aliases, kept, why), why


def renamed(update: Update, name: str) -> Update:
    """Return the nest with another name, for a fusion that has several kernels."""
    of = update.partition
    return replace(update, name=name, partition=Partition(of.computation, of.roots, name, of.entry.dims))


def _root(number: int, dus: Instruction, group: int) -> Root:
    """Return the Root of an update. It is computed at the update's index, and written at the corresponding index of the
    result.
    """
    update = dus.operands[1]
    index = identity(update.shape.dims)
    at, starts = update_map(dus, f"at{group}_")
    return Root(number, dus.shape, update, 0, index, at=compose(index, at), starts=starts)


def _aliases(fusion: Fusion, partition: Partition,
             updates: "Sequence[Instruction]") -> "Tuple[Dict[Buffer, Buffer], str]":
    """Return for each result the parameter in whose buffer it may be updated. If a result has none, return {} and the
    reason.
    """
    aliases: Dict[Buffer, Buffer] = {}
    for root, dus in zip(partition.roots, updates):
        whole = Partition(partition.computation,
                          [Root(root.result, dus.shape, dus.operands[0], 0, identity(dus.shape.dims))], "",
                          dus.shape.dims)
        read = whole.root_read(whole.roots[0])
        buffer = buffer_of(whole, read)
        if buffer is None or read.source.opcode != "parameter":
            return {}, f"the operand of {dus.name} is no parameter"
        number, own = buffer.number, memory_map(root.shape)
        if buffer.shape.tiled or buffer.shape.bytes != root.shape.bytes or \
                compose(read.map, memory_map(buffer.shape)) != compose(whole.entry.index, own):
            return {}, f"parameter {number} is not at the positions of result {root.result}"
        if fusion.aliases.get(root.result) != number and number not in fusion.donated:
            return {}, f"the module does not let result {root.result} take the buffer of parameter {number}"
        if buffer in aliases.values():
            return {}, f"parameter {number} is updated twice"
        aliases[root.buffer] = buffer
    updated = dict(zip(aliases.values(), partition.roots))
    for function in partition.functions[1:]:
        read_too = sorted(set(updated) & set(buffers_of(partition, function)))
        if read_too:
            return {}, f"parameter {read_too[0].number} is read at several indices"
    for read, _ in reads_of(partition, partition.entry):
        buffer = buffer_of(partition, read)
        if buffer in updated and not _same_element(partition, buffer, read.map, updated[buffer]):
            return {}, f"parameter {buffer.number} is read elsewhere than at the element that is updated"
    return aliases, ""


def _same_element(partition: Partition, buffer: Buffer, index: str, root: Root) -> bool:
    """Return true if a read accesses the element that the root writes. Runtime variables with equal sources count as
    equal.
    """
    known: "Dict[Tuple[object, int], str]" = {}
    for runtime in partition.starts(root):
        if known.setdefault((runtime.read, runtime.last), runtime.name) != runtime.name:
            return False      # two variables have the same source, so it is unclear which of them a read uses
    bound = {runtime.name: known.get((runtime.read, runtime.last)) for runtime in bound_in(partition)}
    read, write = (compose(*pair) for pair in ((index, memory_map(buffer.shape)), (root.at, memory_map(root.shape))))
    if EMPTY in (read, write):
        return False
    names = [bound.get(v.name) or v.name for v in algebra.info(read).variables]
    if len(set(names)) < len(names):
        return False
    a, b = algebra.info(algebra.rename(read, *names)), algebra.info(write)
    return a.results == b.results and set(a.variables) == set(b.variables) and set(a.constraints) == set(b.constraints)


def bound_in(partition: Partition) -> "List[Runtime]":
    """Return the runtime variables of all regions in the kernel's body."""
    waiting = [partition.entry.body]
    runtimes: List[Runtime] = []
    while waiting:
        region = waiting.pop()
        runtimes += region.runtimes
        waiting += [inner for entry in region.entries if entry.callee is None for inner in entry.regions]
    return runtimes
