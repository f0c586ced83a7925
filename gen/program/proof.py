"""Walk the steps of a program and prove that each read finds the value that it expects.

The walk knows the place of each array, but not how it was chosen. Each write makes a new value, which is a number;
`means` maps an array to its value, `memory` a place to the value stored there. Several paths lead to the head of a
loop, and to the step after a loop or a branch; a place is known there to hold a value only if it holds it on all paths.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from typing import Dict, List, Sequence, Tuple

from gen.program.ir import Array, Program
from gen.program.steps import Launch, Move, Repeat, Step, Switch
from gen.program.storage import Place

Range = Tuple[str, int, int, int]       # buffer, number of the buffer, first byte, end byte (exclusive)


class Misplaced(Exception):
    """A read would find another value than expected: an error of the generator."""


@dataclass
class _State:
    means: Dict[Array, int] = field(default_factory=dict)
    memory: Dict[Range, int] = field(default_factory=dict)


def prove(program: Program, steps: "Sequence[Step]", places: "Dict[Array, Place]") -> None:
    """Raise Misplaced if a read may find another value than expected, or if a prepared array is overwritten. places:
    the place of each array that a step names."""
    walk = _Walk(places)
    state = _State()
    for array in program.params:
        walk.write(state, array)
    state = walk.steps(steps, state)
    for array in program.prepared if program.traced else (*program.results, *program.prepared):
        walk.read(state, array)


def as_one(program: Program, places: "Dict[Array, Place]") -> "Dict[Array, Place]":
    """Return the places when each result that may share a parameter's buffer does so."""
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
        """Store an array's value at its place; values that overlap with it are lost."""
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
                if not step.source.shape.bytes:     # an array of 0 bytes need not have been written
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
            # both sets only shrink; no change means that a fixed point is reached
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
        """Return the state with what all states have in common. An array whose values differ gets a new value, if each
        state stores its value at the array's place."""
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
