"""The steps of a program in one target language: launches of kernels, copies, loops and branches."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Dict, Iterator, List, Sequence, Tuple, Union

from gen.heroes.kernel import Argument, Kernel
from gen.plan.buffer import Buffer
from gen.program.ir import Array, Branch, Loop


@dataclass
class Chain:
    """Several kernels that are launched at once. One work-item, or one block of threads, runs them one after another.

    steps: the launches, loops and branches.
    buffers: for each array, its buffer.
    """

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
        """Return the name of a new variable."""
        return next(self.names)

    def functions(self) -> List[Kernel]:
        """Return the kernels as functions of the file, each of them once."""
        return [kernel.as_function() for kernel in {kernel.name: kernel for kernel in self.kernels}.values()]


@dataclass(eq=False)
class Launch:
    """A launch of a kernel.

    arrays: the arrays of the kernel's pointers, in order.
    threads: the maximum number of threads that make the kernel faster on a CPU.
    matrix_threads: that maximum for a CPU with matrix instructions, if the kernel uses these.
    reads, writes: the arrays that the kernel reads and writes.
    same: for each operand that it updates in place, the result. Both must have the same memory.
    copies: the pairs of arrays that it copies, each element to the same position, if it does nothing else.
    direct: true if the code of the launch is in the program's function, and not in a function of its own.
    idle: true if it copies a parameter to a result that may be stored in the parameter's buffer. It is skipped at run
        time if both are the same buffer.
    """

    kernel: "Union[Kernel, Chain]"
    arrays: List[Array]
    threads: int = 1
    reads: Sequence[Array] = ()
    writes: Sequence[Array] = ()
    same: "Dict[Array, Array]" = field(default_factory=dict)
    direct: bool = False
    idle: bool = False
    matrix_threads: int = 1
    copies: "Sequence[Tuple[Array, Array]]" = ()
    kind = "launch"


@dataclass(eq=False)
class Move:
    """A copy of an array to another array of the same shape. left_out: true if both share a place, so that nothing is
    copied.
    """

    source: Array
    to: Array
    left_out: bool = False
    kind = "move"


@dataclass(eq=False)
class Repeat:
    """A loop. condition: the steps that compute the predicate; empty if the trip count is known."""

    loop: Loop
    condition: "List[Step]"
    body: "List[Step]"
    predicate: Array
    kind = "repeat"


@dataclass(eq=False)
class Switch:
    """A conditional. selector: the array that holds the index of the branch to execute; arms: the steps of each branch."""

    branch: Branch
    arms: "List[List[Step]]"
    selector: Array
    kind = "switch"


Step = Union[Launch, Move, Repeat, Switch]


def bodies(step: "Union[Repeat, Switch]") -> "List[List[Step]]":
    return [step.condition, step.body] if isinstance(step, Repeat) else step.arms


def all_steps(steps: "Sequence[Step]") -> "Iterator[Step]":
    """Yield all steps. The steps of a body or an arm follow the loop or branch that contains them."""
    for step in steps:
        yield step
        if isinstance(step, (Repeat, Switch)):
            for body in bodies(step):
                yield from all_steps(body)


def deciding(steps: "Sequence[Step]") -> "List[Array]":
    """Return the predicates of loops and the selectors of branches, in order."""
    return [step.selector if isinstance(step, Switch) else step.predicate for step in all_steps(steps)
            if isinstance(step, Switch) or isinstance(step, Repeat) and step.loop.trips is None]


def leaves(steps: "Sequence[Step]") -> "Iterator[Union[Launch, Move]]":
    """Return all launches and copies, in order, including those inside loops and branches."""
    return (step for step in all_steps(steps) if isinstance(step, (Launch, Move)))


def launches_of(steps: "Sequence[Step]") -> "List[Launch]":
    """Return all launches, in order, including those inside loops and branches."""
    return [step for step in all_steps(steps) if isinstance(step, Launch)]
