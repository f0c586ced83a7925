"""A module as a program: calls of fusions on arrays, loops and branches around them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Dict, Iterator, List, Optional, Sequence, Set, Tuple, Union

from gen.hlo import Fusion, Shape


@dataclass(eq=False)
class Array:
    """An array of a program: a parameter, a result, or a value that one node passes to another. Exactly one node writes
    it, except if it is the state of a loop. name: for people only.
    """

    name: str
    shape: Shape


@dataclass(frozen=True)
class Weight:
    """A large constant: its offset in the block of weights, and its bytes."""

    offset: int
    bytes: bytes


@dataclass(eq=False)
class Call:
    """One call of a fusion.

    operands, results: the arrays of the fusion's parameters and results, with tuples flattened. An operand is None if
        the fusion does not read it.
    kept: some scratch buffers of the fusion are arrays of the program. These arrays, by the buffer's index.
    """

    fusion: Fusion
    operands: List[Optional[Array]]
    results: List[Array]
    kept: Dict[int, Array] = field(default_factory=dict)


@dataclass(eq=False)
class Loop:
    """A while loop. Before each iteration, the nodes of `condition` compute `predicate`. The loop ends when it is 0.

    begins: the arrays from which the state is initialised.
    state: the arrays that carry the state from iteration to iteration. Arrays that no iteration changes, and arrays
        that are never needed, are left out.
    ends: the arrays that an iteration computes as the next state.
    results: the arrays of the state after the loop.
    trips: the number of iterations if it is known. Then `condition` is empty, and `predicate` is not written.
    outside: the reason why no kernel contains the loop.
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
        """Return true if the loop is known to have at most two iterations."""
        return self.trips is not None and self.trips <= 2


@dataclass(eq=False)
class Branch:
    """A conditional.

    selector: the array that selects an arm. If its type is pred, arm 0 is for true and arm 1 for false. Otherwise its
        value is the index of the arm, and the last arm is also for every value out of range.
    ends: for each arm, the arrays that become the results.
    """

    name: str
    selector: Array
    arms: "List[List[Node]]"
    ends: List[List[Array]]
    results: List[Array]


def holds_loop(fusion: Fusion) -> bool:
    """Return true if a kernel of a fusion contains a loop (gen/plan/element_loops.py)."""
    return any(i.opcode == "while" for i in fusion.computation.instructions)


Node = Union[Call, Loop, Branch]


def calls_of(nodes: "Sequence[Node]") -> "Iterator[Call]":
    """Yield all calls, in order, including those inside loops and branches."""
    for node in nodes:
        if isinstance(node, Call):
            yield node
        else:
            for part in parts_of(node):
                yield from calls_of(part)


def all_written(nodes: "Sequence[Node]") -> "Iterator[Array]":
    """Yield the arrays that nodes write, including the nodes inside loops and branches."""
    for node in nodes:
        yield from node.results
        if isinstance(node, Loop):
            yield from (*node.state, node.predicate)
        for part in parts_of(node) if not isinstance(node, Call) else ():
            yield from all_written(part)


def all_trips(nodes: "Sequence[Node]") -> "Iterator[int]":
    """Yield the trip counts of all loops with a known trip count."""
    for node in nodes:
        if isinstance(node, Loop) and node.trips is not None:
            yield node.trips
        for part in parts_of(node) if not isinstance(node, Call) else ():
            yield from all_trips(part)


def parts_of(node: "Union[Loop, Branch]") -> "List[List[Node]]":
    return [node.condition, node.body] if isinstance(node, Loop) else node.arms


@dataclass(eq=False)
class Program:
    """A module as a program.

    name: the name of its files and functions.
    whole: the module as one computation, for the reference and the costs. If the program is one call, it is the called
        fusion itself.
    aliases: the indices of results that may be stored in a parameter's buffer, as the module says, each with the index
        of the parameter.
    traced: true for a program of gen/program/trace.py. Such a program does not write the results of nodes that do not
        run.
    weights: the parameters that are large constants (gen/program/weights.py). The caller passes one pointer for all of
        them.
    prepared: the arrays that NAME_prepare fills and that a run only reads (gen/program/once.py).
    leads: the arrays whose leading dimensions the caller passes, in the order of the arguments (gen/program/leads.py).
    """

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
        """Return the parameters and the prepared arrays. A run writes none of them, except parameters that are updated
        in place.
        """
        return {*self.params, *self.prepared}

    @property
    def donors(self) -> "Dict[Array, Array]":
        """Return, for each result that may be stored in a parameter's buffer, the parameter. Only programs with loops
        or branches have such results. The programs are correct whether or not the caller passes one buffer for both.
        """
        return {} if self.straight else {self.results[n]: self.params[p] for n, p in self.aliases.items()}

    @property
    def plain_params(self) -> List[Array]:
        """Return the parameters that have a pointer of their own."""
        return [array for array in self.params if array not in self.weights]

    @property
    def pointers(self) -> "Dict[Array, Tuple[int, int]]":
        """Return, for each parameter, the index of its pointer and its offset from that pointer. All weights share the
        pointer of the first weight.
        """
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
        """Return true if the program has neither loops nor branches. If results may be stored in parameters' buffers, a
        loop inside a kernel counts as a loop.
        """
        return not (self.aliases and any(map(holds_loop, self.fusions))) and all(
            isinstance(node, Call) for node in self.body)

    @property
    def is_one(self) -> bool:
        """Return true if the program is a single call."""
        return len(self.body) == 1 and isinstance(self.body[0], Call)

    def with_symbols(self) -> "Program":
        """Rename fusions, and return the program. No symbol may begin with another symbol and an underscore, because
        the names of C functions are made from a symbol, an underscore and a suffix.
        """
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
        """Return the fusions that the program calls, each of them once."""
        return list(dict.fromkeys(call.fusion for call in self.calls))
