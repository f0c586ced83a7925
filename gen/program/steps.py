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
    """Several kernels as one launch. One work-item, or one block of threads, runs their groups one after another.
    steps: launches, loops and branches. buffers: the buffers of their arrays."""

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
        """Return a new variable name."""
        return next(self.names)

    def functions(self) -> List[Kernel]:
        """Return the kernels as functions of the file."""
        return [kernel.as_function() for kernel in {kernel.name: kernel for kernel in self.kernels}.values()]


@dataclass(eq=False)
class Launch:
    """A launch of a kernel. arrays: the arrays of its pointers, in order. threads, matrix_threads: see Unit in
    gen/render.py. reads, writes: the arrays that it reads and writes. same: operands that it updates in place, with the
    result that must share each operand's memory. direct: true if the launch is printed in the program's function, not
    in a function of its own. idle: true for a copy of a parameter to a result that may share its buffer; such a launch
    is skipped if both are one buffer."""

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
    """A copy of an array to another one of the same shape. left_out: true if both share a place."""

    source: Array
    to: Array
    left_out: bool = False
    kind = "move"


@dataclass(eq=False)
class Repeat:
    """A loop: its body, and its condition, which writes the predicate, if the trip count is not known."""

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
    """Yield all steps; the steps of bodies and arms follow their loop or branch."""
    for step in steps:
        yield step
        if isinstance(step, (Repeat, Switch)):
            for body in bodies(step):
                yield from all_steps(body)


def deciding(steps: "Sequence[Step]") -> "List[Array]":
    """Return the predicates and selectors that loops and branches read, in the order of the text."""
    return [step.selector if isinstance(step, Switch) else step.predicate for step in all_steps(steps)
            if isinstance(step, Switch) or isinstance(step, Repeat) and step.loop.trips is None]


def leaves(steps: "Sequence[Step]") -> "Iterator[Union[Launch, Move]]":
    """Return all launches and copies, in the order of the text."""
    return (step for step in all_steps(steps) if isinstance(step, (Launch, Move)))


def launches_of(steps: "Sequence[Step]") -> "List[Launch]":
    """Return all launches, in the order of the text."""
    return [step for step in all_steps(steps) if isinstance(step, Launch)]
