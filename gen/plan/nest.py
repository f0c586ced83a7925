"""A nest: results that are computed together and become one kernel."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, List, Optional, Sequence, Set, Tuple

from gen.hlo import Instruction, Shape
from gen.plan.buffer import Buffer
from gen.plan.partition import Partition, Root

TOO_LARGE = "the index does not fit 64 bits; instead, cut the arrays into several"


class BuildError(Exception):
    """Something cannot be generated; the message is for the user."""


@dataclass(eq=False)
class Nest:
    """A nest, which becomes one kernel: results with equal numbers of elements, walked together in the memory order
    of the first. Kinds of nests (a reduction, a scatter, ..) are subclasses, which use more of the following fields.

    sides: nests whose results are written in this nest's pass.
    further: further partitions that it reads.
    layout: the nested layout that distributes it on a GPU.
    aliases: results that are parameters' buffers, updated in place, with the parameters.
    reads_first: all reads of a step precede its writes.
    members: nests that become separate kernels if no hero takes this one.
    inner: the scratch buffers between the members, which this nest does not write.
    stored: its results are values that storing.py chose to store.
    loops: the reason, for people, why a product that could be tiled is a loop here.
    """

    name: str
    shape: Shape
    partition: Partition
    sides: "List[Nest]" = field(default_factory=list, init=False)
    members: "List[Nest]" = field(default_factory=list, init=False)
    inner: Set[Buffer] = field(default_factory=set, init=False)
    further: List[Partition] = field(default_factory=list, init=False)
    aliases: Dict[Buffer, Buffer] = field(default_factory=dict, init=False)
    layout: str = field(default="", init=False)
    stored: bool = field(default=False, init=False)
    reads_first: bool = field(default=False, init=False)
    loops: str = field(default="", init=False)

    @property
    def partitions(self) -> "List[Partition]":
        """Return the partitions of its elements: one for each stage, if it has several."""
        return [self.partition, *(self.further if self.members else ())]

    def undivided(self) -> "List[Nest]":
        """Return the nests that become kernels if no hero takes combined nests."""
        return [part for member in self.members for part in member.undivided()] if self.members else [self]

    @property
    def shared(self) -> "Set[Buffer]":
        """Return the buffers that share memory with another one."""
        return {*self.aliases, *self.aliases.values()}

    def written_roots(self, divided: bool) -> "List[Tuple[Shape, Root]]":
        """Return the roots that the nest writes at the positions of a walk, each with the shape that is walked.
        divided: for a hero that takes the parts of the nest one by one."""
        return [(self.shape, root) for root in self.partition.roots if not root.at] + [
            (side.shape, root) for side in self.sides for root in side.partition.roots]

    def only(self, opcode: str) -> Optional[Instruction]:
        """Return the op with this opcode if the nest computes nothing else but scalars; else None."""
        partition = self.partition
        if len(partition.functions) > 1 or len(partition.roots) != 1:
            return None
        read = partition.root_read(partition.roots[0])
        arrays = [entry.instruction for entry in partition.entry.body.entries if entry.instruction.shape.dims]
        plain = read.source.opcode == opcode and arrays == [read.source] and read.source.shape == self.shape
        return read.source if plain and read.map == partition.entry.index else None

    def mapped(self) -> "List[str]":
        """Return the lines that `gen explain` prints about maps outside the partition."""
        return []


def divided(nests: "Sequence[Nest]") -> "List[Nest]":
    """Return the nests, with combined nests replaced by their members."""
    return [part for nest in nests for part in (nest.members or [nest])]
