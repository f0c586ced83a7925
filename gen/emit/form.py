"""What a body computes, before it has a statement, and what its maps say: how its accesses move along a step, and
whether its guards are the same in all lanes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable, Collection, Dict, List, Mapping, Optional, Tuple, Union

from gen.emit.values import Value
from gen.hlo import Instruction, Shape
from gen.plan.buffer import Buffer
from gen.plan.partition import Function, Partition, compose
from gen.schedule import Schedule

# The values of an instruction, one an output, or the function that computes them in a body.
Given = Union[List[Value], Callable[[Any], List[Value]]]


@dataclass(eq=False)
class Form:
    """One form of a function: through a thread map, scalar or wide.

    thread: the map from a work-item's step to the element ("": the function's own indices); box: the bounds of its
    variables. loop: the schedule of a step. steady: runtime variables that are the same for all of a step are bound
    before it. strip: the variable that counts tiles along the lanes. walked: the shape in whose memory order steps
    follow one another. staged: C text of elements that lie in a shared-memory tile, by pointer and position. given:
    values of instructions that the partition takes as given, or how they are computed when first read. shared: buffers
    that other pointers lead to. stored_lanes: the first lane of a register that is stored and the one after the last, as C
    texts, where not all are.
    """

    partition: Partition
    function: Function
    thread: str = ""
    loop: Schedule = field(default_factory=Schedule)
    box: "Dict[str, Tuple[int, int]]" = field(default_factory=dict)
    steady: bool = False
    strip: str = ""
    walked: "Optional[Shape]" = None
    staged: "Mapping[Tuple[str, str], str]" = field(default_factory=dict)
    given: "Mapping[Instruction, Given]" = field(default_factory=dict)
    shared: "Collection[Buffer]" = ()
    stored_lanes: "Optional[Tuple[str, str]]" = None

    def __post_init__(self) -> None:
        self.lanes = self.loop.lanes
        own = {f"i{k}": (0, size - 1) for k, size in enumerate(self.function.dims)}
        self.box = {**(self.box or own), **{name: (0, size - 1) for name, size in self.partition.ranges.items()}}

    def mapped(self, index: str) -> str:
        return compose(self.thread, index) if self.thread else index
