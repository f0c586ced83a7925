"""A module as a program: calls of fusions on arrays, loops and branches around them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Dict, Iterator, List, Optional, Sequence, Set, Tuple, Union

from gen.hlo import Fusion, Shape


@dataclass(eq=False)
class Array:
    """An array of a program: a parameter, a result, or a value that one step passes to another. Exactly one step of the
    text writes it, except for the state of a loop. name: shown to people only."""

    name: str
    shape: Shape


@dataclass(frozen=True)
class Weight:
    """A large constant in the block of weights: its offset there and its content."""

    offset: int
    bytes: bytes


@dataclass(eq=False)
class Call:
    """One call of a fusion. operands, results: the arrays of its flattened parameters and results; None for a parameter
    that the fusion does not read. kept: scratch buffers of its nests, by number, that are arrays of the program."""

    fusion: Fusion
    operands: List[Optional[Array]]
    results: List[Array]
    kept: Dict[int, Array] = field(default_factory=dict)


@dataclass(eq=False)
class Loop:
    """A while loop. Before each iteration, `condition` writes `predicate`; the loop ends when the predicate is 0.

    begins: the state before the loop. state: the state before each iteration. ends: the state after each iteration.
    results: the state after the loop. Arrays that no iteration changes, and arrays that nothing else needs, are left
    out of the state. trips: the number of iterations if the text determines it; the condition is then empty, and the
    predicate is not written. outside: the reason why the loop is not inside a kernel.
    """

    name: str
    begins: List[Array]
    state: List[Array]
    condition: "List[Node]"
    predicate: Array
    body: "List[Node]"
    ends: List[Array]
    results: List[Array]
    trips: Optional[int]
    outside: str = ""

    @property
    def is_short(self) -> bool:
        """Return true if the loop is known to run at most twice."""
        return self.trips is not None and self.trips <= 2


@dataclass(eq=False)
class Branch:
    """A conditional. If the selector is a pred, arm 0 is for true and arm 1 for false; else arm n is for selector n,
    and the last arm also for every selector out of range. ends: the arrays that each arm gives, in the order of the
    results."""

    name: str
    selector: Array
    arms: "List[List[Node]]"
    ends: List[List[Array]]
    results: List[Array]


def holds_loop(fusion: Fusion) -> bool:
    """Return true if a kernel of a fusion holds a loop (gen/plan/element_loops.py)."""
    return any(i.opcode == "while" for i in fusion.computation.instructions)


Node = Union[Call, Loop, Branch]


def calls_of(nodes: "Sequence[Node]") -> "Iterator[Call]":
    """Return all calls, in the order of the text."""
    for node in nodes:
        if isinstance(node, Call):
            yield node
        else:
            for part in parts_of(node):
                yield from calls_of(part)


def all_written(nodes: "Sequence[Node]") -> "Iterator[Array]":
    """Return the arrays that nodes write, and those that the nodes inside of them write."""
    for node in nodes:
        yield from node.results
        if isinstance(node, Loop):
            yield from (*node.state, node.predicate)
        for part in parts_of(node) if not isinstance(node, Call) else ():
            yield from all_written(part)


def all_trips(nodes: "Sequence[Node]") -> "Iterator[int]":
    """Return the trip counts of all loops that have a known one."""
    for node in nodes:
        if isinstance(node, Loop) and node.trips is not None:
            yield node.trips
        for part in parts_of(node) if not isinstance(node, Call) else ():
            yield from all_trips(part)


def parts_of(node: "Union[Loop, Branch]") -> "List[List[Node]]":
    return [node.condition, node.body] if isinstance(node, Loop) else node.arms


@dataclass(eq=False)
class Program:
    """A module as a program. name: of its files and functions. whole: the module as one computation, from which the
    reference and the costs are made; for a program of one call it is the fusion itself. aliases: results that may share
    a parameter's buffer, as the module allows, with the parameter's number. traced: true for a program of
    gen/program/trace.py; arrays of steps that are not run are then not written. weights: the parameters that are large
    constants (gen/program/weights.py); the caller passes one pointer for all of them. prepared: arrays that
    NAME_prepare fills and a run only reads (gen/program/once.py), in a program of one language. leads: the arrays whose
    leading dimensions the caller passes, in the order of the arguments (gen/program/leads.py)."""

    name: str
    params: List[Array]
    results: List[Array]
    body: List[Node]
    whole: Fusion
    aliases: Dict[int, int] = field(default_factory=dict)
    traced: bool = False
    weights: Dict[Array, Weight] = field(default_factory=dict)
    prepared: List[Array] = field(default_factory=list)
    leads: List[Array] = field(default_factory=list)

    @property
    def read_only(self) -> "Set[Array]":
        """Return the arrays that a run must not write, except parameters that are updated in place."""
        return {*self.params, *self.prepared}

    @property
    def donors(self) -> "Dict[Array, Array]":
        """Return, for each result that may share a parameter's buffer, the parameter. Only programs with loops or
        branches have such results: they are correct with the same buffer and with different buffers."""
        return {} if self.straight else {self.results[n]: self.params[p] for n, p in self.aliases.items()}

    @property
    def plain_params(self) -> List[Array]:
        """Return the parameters with a pointer of their own."""
        return [array for array in self.params if array not in self.weights]

    @property
    def pointers(self) -> "Dict[Array, Tuple[int, int]]":
        """Return, for each parameter, its pointer's number and its offset there. The block of weights takes the place
        of the first weight."""
        found: Dict[Array, Tuple[int, int]] = {}
        count, block = 0, -1
        for array in self.params:
            if array in self.weights and block < 0:
                count, block = count + 1, count
            found[array] = (block, self.weights[array].offset) if array in self.weights else (count, 0)
            count += array not in self.weights
        return found

    @property
    def calls(self) -> List[Call]:
        return list(calls_of(self.body))

    @property
    def straight(self) -> bool:
        """Return true if the program has neither loops nor branches. If results may share parameters' buffers, a loop
        inside a kernel counts too."""
        return not (self.aliases and any(map(holds_loop, self.fusions))) and all(
            isinstance(node, Call) for node in self.body)

    @property
    def is_one(self) -> bool:
        """Return true if it is one call and nothing else."""
        return len(self.body) == 1 and isinstance(self.body[0], Call)

    def with_symbols(self) -> "Program":
        """Return the program with fusions renamed so that no symbol is another symbol plus an underscore and more: the
        functions of a file are named by a symbol and such a suffix."""
        names = {fusion.name for fusion in self.fusions}

        def continued(name: str) -> bool:
            return any(other.startswith(f"{name}_") for other in names)

        for fusion in self.fusions:
            symbols = (f"{fusion.name}_{'x' * n}" for n in itertools.count(1))
            fusion.symbol = next(symbol for symbol in symbols if symbol not in names and not continued(symbol)) \
                if continued(fusion.name) else ""
        return self

    @property
    def fusions(self) -> List[Fusion]:
        """Return the fusions that the program calls, each once."""
        return list(dict.fromkeys(call.fusion for call in self.calls))
