"""The steps of a program in one language: launches of kernels, copies, and loops and branches around them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Dict, Iterator, List, Sequence, Union

from gen.heroes.kernel import Argument, Kernel
from gen.plan.buffer import Buffer
from gen.program.ir import Array, Branch, Loop


@dataclass
class Chain:
    """Several kernels as one launch of one work-item, or of one block of threads, which does their groups one after
    another. steps: launches, loops and branches; buffers: of their arrays."""

    name: str
    kernels: List[Kernel]
    arguments: List[Argument]
    steps: "List[Step]"
    buffers: "Dict[Array, Buffer]"
    attribute: str
    threads: int = 1
    names: "Iterator[str]" = field(default_factory=lambda: map("decided_{}".format, itertools.count()))
    blocks = 1
    leads = ()
    dynamic_bytes = 0
    table = None

    @property
    def chooses_words(self) -> bool:
        return any(argument.word for argument in self.arguments)

    def pointer(self, array: Array) -> str:
        return self.buffers[array].pointer

    def next_name(self) -> str:
        """The name of a further variable."""
        return next(self.names)

    def functions(self) -> List[Kernel]:
        """The kernels as functions of the file."""
        return [kernel.as_function() for kernel in {kernel.name: kernel for kernel in self.kernels}.values()]


@dataclass(eq=False)
class Launch:
    """A kernel on arrays: those of its pointers, in order. threads, matrix_threads: as in gen/render.py, Unit. reads, writes: the arrays
    that it reads and writes. same: operands that it updates, each with the result that must lie over it. direct: it is
    done in the program's function, not in a function of its own. idle: it copies a parameter to the result that may be
    its buffer, and is left out where both are one."""

    kernel: "Union[Kernel, Chain]"
    arrays: List[Array]
    threads: int = 1
    reads: Sequence[Array] = ()
    writes: Sequence[Array] = ()
    same: "Dict[Array, Array]" = field(default_factory=dict)
    direct: bool = False
    idle: bool = False
    matrix_threads: int = 1
    kind = "launch"


@dataclass(eq=False)
class Move:
    """An array that is copied to another one, of the same shape; left_out: both lie in one place."""

    source: Array
    to: Array
    left_out: bool = False
    kind = "move"


@dataclass(eq=False)
class Repeat:
    """A loop: its condition, which gives the predicate, where the number of its iterations is not known; its body."""

    loop: Loop
    condition: "List[Step]"
    body: "List[Step]"
    predicate: Array
    kind = "repeat"


@dataclass(eq=False)
class Switch:
    """A branch."""

    branch: Branch
    arms: "List[List[Step]]"
    selector: Array
    kind = "switch"


Step = Union[Launch, Move, Repeat, Switch]


def bodies(step: "Union[Repeat, Switch]") -> "List[List[Step]]":
    return [step.condition, step.body] if isinstance(step, Repeat) else step.arms


def all_steps(steps: "Sequence[Step]") -> "Iterator[Step]":
    """All steps, those of bodies and arms after their loop or branch."""
    for step in steps:
        yield step
        if isinstance(step, (Repeat, Switch)):
            for body in bodies(step):
                yield from all_steps(body)


def deciding(steps: "Sequence[Step]") -> "List[Array]":
    """The predicates and selectors that loops and branches read, in the order of the text."""
    return [step.selector if isinstance(step, Switch) else step.predicate for step in all_steps(steps)
            if isinstance(step, Switch) or isinstance(step, Repeat) and step.loop.trips is None]


def leaves(steps: "Sequence[Step]") -> "Iterator[Union[Launch, Move]]":
    """All launches and copies, in the order of the text."""
    return (step for step in all_steps(steps) if isinstance(step, (Launch, Move)))


def launches_of(steps: "Sequence[Step]") -> "List[Launch]":
    """All launches, in the order of the text."""
    return [step for step in all_steps(steps) if isinstance(step, Launch)]
