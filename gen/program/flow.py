"""Decide which arrays of a program with loops and branches share a place in memory, and which copies remain.

The state of a loop is stored in the same arrays for all iterations. The program copies to them before the loop and at
the end of the body. At the end of each arm of a branch, it copies to the branch's results. A copy is left out if its
source and its target can share a place. They cannot if a step writes one of them while the other is needed
(`Interference`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Callable, Dict, List, Mapping, Sequence, Set, Tuple

from gen.heroes.kernel import Kernel
from gen.hlo import Shape
from gen.program.ir import Array, Call, Loop, Node, Program
from gen.program.storage import overwritten
from gen.program.steps import Launch, Move, Repeat, Step, Switch, bodies, launches_of, leaves


def steps_of(nodes: "Sequence[Node]", launched: "Callable[[Call], List[Launch]]") -> List[Step]:
    """Return the steps of a program, with all copies. launched: returns the launches of a call."""
    steps: List[Step] = []
    for node in nodes:
        if isinstance(node, Call) and is_copy(node):
            (source,), (to,) = node.operands, node.results
            assert source is not None
            steps.append(Move(source, to))
        elif isinstance(node, Call):
            steps += launched(node)
        elif isinstance(node, Loop):
            steps += [Move(begin, state) for begin, state in zip(node.begins, node.state)]
            condition = steps_of(node.condition, launched) if node.trips is None else []
            body = [*steps_of(node.body, launched), *_together(node.ends, node.state)]
            steps.append(Repeat(node, condition, body, node.predicate))
        else:
            steps.append(Switch(node, [
                [*steps_of(arm, launched), *(Move(end, result) for end, result in zip(ends, node.results))]
                for arm, ends in zip(node.arms, node.ends)], node.selector))
    return steps


def is_copy(call: Call) -> bool:
    """Return true if a call only copies an array."""
    root = call.fusion.computation.root
    return root is not None and root.opcode == "copy" and root.operands[0].opcode == "parameter" and (
        root.shape == root.operands[0].shape) and not call.fusion.aliases


def _together(sources: "Sequence[Array]", targets: "Sequence[Array]") -> List[Step]:
    """Return copies that behave as if all of them were made at the same time. They are ordered so that no copy
    overwrites an array that a later copy reads.
    """
    waiting = [(source, to) for source, to in zip(sources, targets) if source is not to]
    moves: List[Step] = []
    while waiting:
        read = {source for source, _ in waiting}
        free = [(source, to) for source, to in waiting if to not in read]
        if not free:        # these copies form a cycle, so save one of the arrays first
            source, to = waiting.pop(0)
            aside = Array(f"{to.name} before", to.shape)
            moves.append(Move(to, aside))
            waiting = [(aside if other is to else other, target) for other, target in waiting] + [(source, to)]
            continue
        moves += [Move(source, to) for source, to in free]
        waiting = [pair for pair in waiting if pair not in free]
    return moves


@dataclass
class Places:
    """The places of arrays in memory.

    owners: for an array that shares a place, another array at the same place. Following `owners` to its end leads to
        the array that represents all arrays at this place.
    spans: for each place, the indices of the first and the last step that use it.
    """

    owners: Dict[Array, Array] = field(default_factory=dict)
    spans: Dict[Array, Tuple[int, int]] = field(default_factory=dict)

    def owner(self, array: Array) -> Array:
        """Return the array that represents all arrays at the same place in memory."""
        while array in self.owners:
            array = self.owners[array]
        return array


def placed(program: Program, steps: "List[Step]", local_bytes: int) -> Places:
    """Assign arrays to places. Copies that are not needed are marked in `steps`. If a step updates an array that is
    needed later, a copy of the array is inserted before the step.

    local_bytes: arrays of at most this size should become local variables. A copy of such an array to a result of the
    program therefore remains.
    """
    _keep_updated(program, steps)
    while True:
        interference, places = Interference(program, steps), Places()
        _results_in_state(steps, places)
        join = _Joiner(program, interference, places).join
        every = list(leaves(steps))
        unshared = next(((step, operand) for step in every if isinstance(step, Launch)
                      for operand, result in step.same.items() if not join(result, operand)), None)
        if unshared is None:
            break
        _put_aside(steps, *unshared)
    for step in every:
        if isinstance(step, Move) and not (step.to in program.results and step.to.shape.bytes <= local_bytes):
            join(step.to, step.source)
    for step in every:
        if isinstance(step, Launch):
            for operand, result in overwritten(step):
                join(result, operand)
    for step in every:
        if isinstance(step, Move):
            step.left_out = places.owner(step.source) is places.owner(step.to)
    places.spans = _spans(steps, places, Interference(program, steps))
    return places


@dataclass
class _Joiner:
    """Lets two arrays share a place, if the program stays correct."""

    program: Program
    interference: "Interference"
    places: Places

    def __post_init__(self) -> None:
        self.read_only = self.program.read_only
        self.fixed = {*self.read_only, *self.program.results}
        self.donors = self.program.donors

    def join(self, a: Array, b: Array) -> bool:
        """Let two arrays share a place if possible. Return true if they share a place now."""
        first, second = self.places.owner(a), self.places.owner(b)
        if first is second:
            return True
        if first in self.fixed and second in self.fixed or not {first, second}.isdisjoint(self.read_only):
            return False
        if (first.shape.bytes, first.shape.dtype) != (second.shape.bytes, second.shape.dtype) or (
                self.interference.meet(first, second)):
            return False
        donor = self.donors.get(first) or self.donors.get(second)
        if donor and (self.interference.meet(donor, first) or self.interference.meet(donor, second)):
            # the result may be stored in the parameter's buffer, so it must not be written while the parameter is
            # needed
            return False
        if second in self.fixed:
            first, second = second, first
        self.interference.join(first, second)
        self.places.owners[second] = first
        return True


def _results_in_state(steps: "Sequence[Step]", places: Places) -> None:
    for step in steps:
        if isinstance(step, Repeat):
            for state, result in zip(step.loop.state, step.loop.results):
                places.owners[state] = result
        if isinstance(step, (Repeat, Switch)):
            for body in bodies(step):
                _results_in_state(body, places)


def _keep_updated(program: Program, steps: "List[Step]") -> None:
    """Insert a copy before each launch that would update an array in place although the array is read-only or needed
    later.
    """
    live, read_only = Interference(program, steps).after, program.read_only
    for launch in launches_of(steps):
        for operand, result in list(launch.same.items()):
            if operand in read_only or operand in live[launch] or _reads_beside(launch, operand) or (
                    operand in program.results and result in program.results):
                _put_aside(steps, launch, operand)


def _reads_beside(launch: Launch, operand: Array) -> "Set[int]":
    """Return the indices of the arguments through which a launch reads `operand`, besides the one through which it
    updates `operand` in place. An element that is read there may have been overwritten already.
    """
    assert isinstance(launch.kernel, Kernel)
    updated = {(of.role, of.number) for of in launch.kernel.nest.aliases.values()}
    return {n for n, (array, of) in enumerate(zip(launch.arrays, launch.kernel.buffers))
            if array is operand and (of.role, of.number) not in updated}


def _put_aside(steps: "List[Step]", launch: Launch, operand: Array) -> None:
    """Insert a copy of the operand, and let the launch update the copy."""
    aside, beside = Array(f"copy of {operand.name}", operand.shape), _reads_beside(launch, operand)
    _insert(steps, launch, Move(operand, aside))
    launch.same = {aside if array is operand else array: result for array, result in launch.same.items()}
    launch.arrays = [aside if array is operand and n not in beside else array for n, array in enumerate(launch.arrays)]
    launch.reads = [*(array for array in launch.reads if array is not operand), aside, *([operand] if beside else ())]


def _insert(steps: "List[Step]", before: Step, step: Step) -> bool:
    if before in steps:
        steps.insert(steps.index(before), step)
        return True
    return any(_insert(body, before, step) for other in steps if isinstance(other, (Repeat, Switch))
               for body in bodies(other))


class Interference:
    """The pairs of arrays that cannot share a place, because a step writes one of them while the other is needed.
    after: for each launch and copy, the arrays that are needed after it.
    """

    def __init__(self, program: Program, steps: "Sequence[Step]") -> None:
        self.after: "Dict[Step, Set[Array]]" = {}
        self.with_: Dict[Array, Set[Array]] = {}
        self.results: Dict[Array, Array] = {}      # for each result of a loop, its array in the loop's state
        self._find(steps)
        self.before = self._steps(steps, {self._of(result) for result in program.results})

    def _find(self, steps: "Sequence[Step]") -> None:
        for step in steps:
            if isinstance(step, Repeat):
                self.results.update(zip(step.loop.results, step.loop.state))
            if isinstance(step, (Repeat, Switch)):
                for body in bodies(step):
                    self._find(body)

    def _of(self, array: Array) -> Array:
        return self.results.get(array, array)

    def _steps(self, steps: "Sequence[Step]", live: Set[Array]) -> Set[Array]:
        """Return the arrays that are live before the steps: those whose values are still needed there. live: the arrays
        that are live after the steps.
        """
        for step in reversed(steps):
            if isinstance(step, Repeat):
                live = self._repeat(step, live)
            elif isinstance(step, Switch):
                live = set().union(*(self._steps(arm, live) for arm in step.arms)) | {
                    self._of(step.selector)}
            elif isinstance(step, Move):
                source, to = self._of(step.source), self._of(step.to)
                self.after[step] = live
                self._edges(to, live - {source})
                live = (live - {to}) | {source}
            else:
                writes, reads = [self._of(a) for a in step.writes], [self._of(a) for a in step.reads]
                self.after[step] = live
                pairs = {(self._of(o), self._of(r)) for o, r in [*overwritten(step), *step.same.items()]}
                for write in writes:
                    self._edges(write, live)
                    self._edges(write, set(writes))
                    self._edges(write, {read for read in reads if (read, write) not in pairs})
                live = (live - set(writes)) | set(reads)
        return live

    def _repeat(self, step: Repeat, after: Set[Array]) -> Set[Array]:
        ends = set(after)
        while True:
            before = self._steps(step.condition, self._steps(step.body, set(ends)) | after | (
                set() if step.loop.trips is not None else {self._of(step.predicate)}))
            if before <= ends:
                return before | after
            ends |= before

    def _edges(self, array: Array, others: Set[Array]) -> None:
        for other in others:
            if other is not array:
                self.with_.setdefault(array, set()).add(other)
                self.with_.setdefault(other, set()).add(array)

    def meet(self, a: Array, b: Array) -> bool:
        return self._of(b) in self.with_.get(self._of(a), ())

    def join(self, a: Array, b: Array) -> None:
        """Treat array `b` as the same array as `a` from now on."""
        a, b = self._of(a), self._of(b)
        for other in self.with_.pop(b, set()):
            self.with_[other].discard(b)
            self._edges(a, {other})
        self.results[b] = a
        for array, to in self.results.items():
            if to is b:
                self.results[array] = a


def _spans(steps: "Sequence[Step]", places: Places, live: Interference) -> Dict[Array, Tuple[int, int]]:
    """Return, for each place, the indices of the first and the last launch or copy during which it is in use."""
    spans: Dict[Array, Tuple[int, int]] = {}
    numbers = {step: n for n, step in enumerate(leaves(steps))}

    def use(array: Array, at: int) -> None:
        owner = places.owner(array)
        first, last = spans.get(owner, (at, at))
        spans[owner] = (min(first, at), max(last, at))

    for step, n in numbers.items():
        for array in ((step.source, step.to) if isinstance(step, Move) else step.arrays):
            use(array, n)
    for step, n in numbers.items():  # iterate over a dictionary and not a set, to keep the order of the steps
        for array in live.after[step]:
            use(array, n)
    return spans


def final(steps: "Sequence[Step]", places: Places, donors: "Mapping[Array, Array]",
          copied: "Callable[[Move, Shape], List[Launch]]") -> "List[Step]":
    """Return the final steps: each copy is replaced by launches that make it, and each array by the array that
    represents all arrays in the same memory. Kernel arguments that point to the same memory lose `restrict`. Launches
    that would copy memory to itself are left out.

    donors: for each result that may be stored in a parameter's buffer, the parameter.
    copied: returns the launches that make a copy, for arrays of a given shape.
    """
    made: List[Step] = []
    for step in steps:
        if isinstance(step, Launch):
            if step.copies and all(places.owner(source) is places.owner(to) for source, to in step.copies):
                continue        # it would copy memory to itself
            launch = replace(step, arrays=[places.owner(array) for array in step.arrays])
            _share(launch, donors)
            made.append(launch)
        elif isinstance(step, Repeat):
            body = final(step.body, places, donors, copied)
            if body or step.loop.trips is None:     # leave out a loop with an empty body and a known trip count
                made.append(replace(step, condition=final(step.condition, places, donors, copied), body=body,
                                    predicate=places.owner(step.predicate)))
        elif isinstance(step, Switch):
            arms = [final(arm, places, donors, copied) for arm in step.arms]
            if any(arms):
                made.append(replace(step, arms=arms, selector=places.owner(step.selector)))
        elif not step.left_out:
            source, to = places.owner(step.source), places.owner(step.to)
            launches = copied(Move(source, to), step.to.shape)
            for launch in launches:
                launch.idle = source is donors.get(to)
                _share(launch, donors)
            made += launches
    return made


def all_arrays(steps: "Sequence[Step]") -> "Set[Array]":
    """Return all arrays that the steps read or write."""
    found: Set[Array] = set()
    for step in steps:
        if isinstance(step, Launch):
            found.update((*step.reads, *step.writes))
        elif isinstance(step, Move):
            found.update((step.source, step.to))
        else:
            found.update((*step.loop.state, *step.loop.results, step.predicate) if isinstance(step, Repeat)
                         else (*step.branch.results, step.selector))
            for body in bodies(step):
                found |= all_arrays(body)
    return found


def _share(launch: Launch, donors: "Mapping[Array, Array]") -> None:
    """Remove `restrict` from pointers that point, or may point, to the same place."""
    written = {array for array, argument in zip(launch.arrays, launch.kernel.arguments) if not argument.read_only}
    shared = {array for array in written if launch.arrays.count(array) > 1}
    for array in written:
        if donors.get(array) in launch.arrays:
            shared |= {array, donors[array]}
    launch.kernel.arguments = [replace(argument, restrict="") if array in shared else argument
                               for array, argument in zip(launch.arrays, launch.kernel.arguments)]
