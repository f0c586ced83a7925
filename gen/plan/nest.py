"""A kernel to be: results that are computed together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, List, Optional, Sequence, Set, Tuple

from gen.hlo import Instruction, Shape
from gen.plan.buffer import Buffer
from gen.plan.partition import Partition, Root

TOO_LARGE = "the index does not fit 64 bits; instead, cut the arrays into several"


class BuildError(Exception):
    """What cannot be generated: a message for the user."""


@dataclass(eq=False)
class Nest:
    """One kernel to be: results of equally many elements, walked together in the memory order of the first. Kinds of
    nests (a reduction, a scatter, ..) are subclasses, with more in the following than nothing.

    sides: nests whose results are written in this one's pass. further: partitions of what else it reads. layout: the
    nested layout that distributes it on a GPU. aliases: results that are parameters' buffers, updated in place, with
    the parameters. reads_first: all of a step is read before anything of it is written. members: nests that are kernels
    of their own where no hero takes this one; inner: the scratch buffers between them, which this one does not write.
    stored: its results are values that storing.py chose to store. loops: why a product that is arranged for tiles is a
    loop here, for people."""

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
        """Those of its elements: of each stage, where it has several."""
        return [self.partition, *(self.further if self.members else ())]

    def undivided(self) -> "List[Nest]":
        """The nests that are kernels where no hero takes those that are made of others."""
        return [part for member in self.members for part in member.undivided()] if self.members else [self]

    @property
    def shared(self) -> "Set[Buffer]":
        """The buffers that are one with another one."""
        return {*self.aliases, *self.aliases.values()}

    def written_roots(self, divided: bool) -> "List[Tuple[Shape, Root]]":
        """What the nest writes at the positions of a walk, and what it walks then. divided: as a hero does that
        takes the parts of the nest one by one."""
        return [(self.shape, root) for root in self.partition.roots if not root.at] + [
            (side.shape, root) for side in self.sides for root in side.partition.roots]

    def only(self, opcode: str) -> Optional[Instruction]:
        """The op of this opcode that the nest is, and nothing else but scalars; None where it is more."""
        partition = self.partition
        if len(partition.functions) > 1 or len(partition.roots) != 1:
            return None
        read = partition.root_read(partition.roots[0])
        arrays = [entry.instruction for entry in partition.entry.body.entries if entry.instruction.shape.dims]
        plain = read.source.opcode == opcode and arrays == [read.source] and read.source.shape == self.shape
        return read.source if plain and read.map == partition.entry.index else None

    def mapped(self) -> "List[str]":
        """Lines for people about maps beside those of its partition."""
        return []


def divided(nests: "Sequence[Nest]") -> "List[Nest]":
    """The nests, those that are made of others as these."""
    return [part for nest in nests for part in (nest.members or [nest])]
