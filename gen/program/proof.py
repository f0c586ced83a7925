"""Prove that each read of a program finds the value that it expects.

The proof follows the steps. It knows the place of each array, but not how the places were chosen. Each write creates a
new value, which is a number. `means` maps an array to its value, and `memory` maps a range of bytes to the value that
is stored there. Different paths lead to the beginning of a loop's iteration, and to the step after a loop or a branch.
At these points, a range has a known value only if it has that value on all paths.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from typing import Dict, List, Sequence, Tuple

from gen.program.ir import Array, Program
from gen.program.steps import Launch, Move, Repeat, Step, Switch
from gen.program.storage import Place

Range = Tuple[str, int, int, int]  # kind of buffer, index of the buffer, first byte, and the byte after the last one


class Misplaced(Exception):
    """Raised if a read would find another value than it expects, which is an error of the generator."""


@dataclass
class _State:
    means: Dict[Array, int] = field(default_factory=dict)
    memory: Dict[Range, int] = field(default_factory=dict)


def prove(program: Program, steps: "Sequence[Step]", places: "Dict[Array, Place]") -> None:
    """Raise Misplaced if a read may find another value than it expects, or if an array that NAME_prepare fills is
    overwritten. places: the places of all arrays of the steps.
    """
    walk = _Walk(places)
    state = _State()
    for array in program.params:
        walk.write(state, array)
    state = walk.steps(steps, state)
    for array in program.prepared if program.traced else (*program.results, *program.prepared):
        walk.read(state, array)


def as_one(program: Program, places: "Dict[Array, Place]") -> "Dict[Array, Place]":
    """Return the places of the arrays in a call where each result in `program.donors` has the same buffer as its
    parameter.
    """
    buffers = {program.results.index(result): places[parameter] for result, parameter in program.donors.items()
               if parameter in places}
    return {array: replace(buffers[place.number], offset=place.offset, shape=place.shape)
            if place.buffer == "results" and place.number in buffers else place for array, place in places.items()}


class _Walk:
    def __init__(self, places: "Dict[Array, Place]") -> None:
        self.places, self.values = places, itertools.count()

    def range_of(self, array: Array) -> Range:
        place = self.places[array]
        number = 0 if place.buffer in ("scratch", "state") else place.number
        return place.buffer, number, place.offset, place.offset + max(1, array.shape.bytes)

    def read(self, state: _State, array: Array) -> None:
        if array.shape.bytes and (array not in state.means
                                  or state.memory.get(self.range_of(array)) != state.means[array]):
            raise Misplaced(f"{array.name} is overwritten before it is read")

    def write(self, state: _State, array: Array) -> None:
        state.means[array] = next(self.values)
        self.put(state, array)

    def put(self, state: _State, array: Array) -> None:
        """Store the value of an array in its range of memory. The values in overlapping ranges are lost."""
        of = self.range_of(array)
        for other in [r for r in state.memory if r[:2] == of[:2] and r[2] < of[3] and of[2] < r[3]]:
            del state.memory[other]
        state.memory[of] = state.means[array]

    def steps(self, steps: "Sequence[Step]", state: _State) -> _State:
        for step in steps:
            if isinstance(step, Launch):
                for array in step.reads:
                    self.read(state, array)
                for array in step.writes:
                    self.write(state, array)
            elif isinstance(step, Move):
                self.read(state, step.source)
                if not step.source.shape.bytes:     # an array of 0 bytes may have never been written
                    continue
                state.means[step.to] = state.means[step.source]
                if not step.left_out:
                    self.put(state, step.to)
                self.read(state, step.to)
            elif isinstance(step, Repeat):
                state = self.loop(step, state)
            else:
                state = self.branch(step, state)
        return state

    def loop(self, step: Repeat, state: _State) -> _State:
        head, known = state, (-1, -1)
        while True:
            out = self.steps(step.condition, _State(dict(head.means), dict(head.memory)))
            if step.loop.trips is None:
                self.read(out, step.loop.predicate)
            end = self.steps(step.body, _State(dict(out.means), dict(out.memory)))
            head = self.met([head, end])
            # both dictionaries can only shrink, so equal sizes mean that nothing changes any more
            if (len(head.means), len(head.memory)) == known:
                break
            known = len(head.means), len(head.memory)
        left = self.steps(step.condition, _State(dict(head.means), dict(head.memory)))
        for array, result in zip(step.loop.state, step.loop.results):
            if array in left.means:
                left.means[result] = left.means[array]
        return left

    def branch(self, step: Switch, state: _State) -> _State:
        self.read(state, step.branch.selector)
        return self.met([self.steps(arm, _State(dict(state.means), dict(state.memory))) for arm in step.arms])

    def met(self, states: "List[_State]") -> _State:
        """Return what is known where several paths meet, given the state at the end of each path. If an array has
        different values in the states, it gets a new value, provided that its place contains its value in each state.
        """
        first, others = states[0], states[1:]
        made = _State({}, {of: value for of, value in first.memory.items()
                           if all(state.memory.get(of) == value for state in others)})
        drawn: Dict[Tuple[int, ...], int] = {}
        for array, value in first.means.items():
            if all(state.means.get(array) == value for state in others):
                made.means[array] = value
            elif array in self.places and all(state.means.get(array) == state.memory.get(self.range_of(array), -1)
                                              for state in states):
                made.means[array] = drawn.setdefault(tuple(state.means[array] for state in states), next(self.values))
                made.memory[self.range_of(array)] = made.means[array]
        return made
