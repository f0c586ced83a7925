"""A nest: results that are computed together and become one kernel."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, List, Optional, Sequence, Set, Tuple

from gen.hlo import Instruction, Shape
from gen.plan.buffer import Buffer, Role
from gen.plan.partition import Partition, Root

TOO_LARGE = "the index does not fit 64 bits; instead, cut the arrays into several"


class BuildError(Exception):
    """Raised if something cannot be generated. The message is for the user."""


@dataclass(eq=False)
class Nest:
    """The plan of one kernel. It computes results with equal numbers of elements, in the memory order of the first
    result. Subclasses are the kinds of nests, such as a reduction or a scatter; they use more of the following fields.

    sides: nests whose results are written by the same pass over this nest's input.
    further: partitions that the nest computes besides `partition`.
    layout: the nested layout that distributes the results over the threads of a GPU.
    aliases: results that are stored in a parameter's buffer, each with the parameter.
    reads_first: true if a step makes all its reads before its first write.
    members: the nests that this nest combines. They become kernels of their own if no module of
        gen/heroes makes a kernel of this nest.
    inner: the scratch buffers that only pass values between members. This nest does not write them.
    stored: true if the results are values that gen/plan/storing.py decided to store.
    loops: the reason why a product that could be tiled is computed by loops, for `gen explain`.
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
        """Return the partitions that compute the nest's elements. There are several if the nest has several stages."""
        return [self.partition, *(self.further if self.members else ())]

    @property
    def only_scratch(self) -> bool:
        """Return true if other kernels read all results, and the program returns none of them."""
        return all(root.buffer.role is Role.SCRATCH for root in self.partition.roots)

    def undivided(self) -> "List[Nest]":
        """Return the nests that become kernels if no module of gen/heroes makes one kernel of this nest. They are its
        members, or the members of these, down to nests without members. A nest without members is returned itself.
        """
        return [part for member in self.members for part in member.undivided()] if self.members else [self]

    @property
    def shared(self) -> "Set[Buffer]":
        """Return the buffers of results that are stored in a parameter's buffer, and the buffers of these parameters.
        """
        return {*self.aliases, *self.aliases.values()}

    def written_roots(self, divided: bool) -> "List[Tuple[Shape, Root]]":
        """Return the results that the nest writes, each with the index space over which the nest computes it. Results
        that are written at indices read at run time are left out. divided: true if the kernel computes the parts
        of the nest one after another, each over an index space of its own.
        """
        return [(self.shape, root) for root in self.partition.roots if not root.at] + [
            (side.shape, root) for side in self.sides for root in side.partition.roots]

    def only(self, opcode: str) -> Optional[Instruction]:
        """Return the only op on arrays in the nest, if it is the result and has this opcode. Return None otherwise."""
        partition = self.partition
        if len(partition.functions) > 1 or len(partition.roots) != 1:
            return None
        read = partition.root_read(partition.roots[0])
        arrays = [entry.instruction for entry in partition.entry.body.entries if entry.instruction.shape.dims]
        plain = read.source.opcode == opcode and arrays == [read.source] and read.source.shape == self.shape
        return read.source if plain and read.map == partition.entry.index else None

    def mapped(self) -> "List[str]":
        """Return the lines that `gen explain` prints about those maps of the nest that are not in its partition."""
        return []


def divided(nests: "Sequence[Nest]") -> "List[Nest]":
    """Return the nests. A nest that combines others is replaced by its members."""
    return [part for nest in nests for part in (nest.members or [nest])]
