"""Launches that are moved so that they run only once. A launch is moved in front of a loop if the loop does not change
what the launch reads. It is moved into NAME_prepare if it reads only weights.

A launch in front of a loop also runs if the loop has no iterations. That wastes at most the work of one iteration. Its
results occupy memory during the whole loop. A launch is not moved if the loop is known to have at most two iterations,
or if the launch writes much more than it reads, as a broadcast does. It is not moved either if an iteration overwrites
its results or copies them to the state, because a further copy would cost the time that is saved.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Callable, Collection, Iterator, List, Sequence, Set, Tuple

from gen.program.ir import Array, Call, Loop, Node, Program, all_written, parts_of
from gen.program.steps import Launch, Move, Repeat, Step, Switch, all_steps, leaves

# A launch is not moved if it writes more than this number of bytes for each byte that it reads. A conversion writes up
# to 4.
GROWTH = 4
SMALL_BYTES = 4096      # a launch that writes at most this number of bytes may be moved in any case


def with_lasting(program: Program) -> Program:
    """Mark the fusions' parameters that keep their values for many launches: weights, and arrays that a loop does not
    change. Return the program. A launch that reads only marked parameters is moved out of its loop, or into
    NAME_prepare.
    """
    def mark(nodes: "Sequence[Node]", lasts: "Callable[[Array], bool]") -> None:
        for node in nodes:
            if isinstance(node, Call):
                node.fusion.lasting |= {n for n, array in enumerate(node.operands) if array and lasts(array)}
                continue
            inside = {*all_written([node])}
            moves = isinstance(node, Loop) and not node.is_short
            for part in parts_of(node):
                mark(part, lambda array: moves and array not in inside)

    mark(program.body, lambda array: array in program.weights)
    return program


def before_loops(steps: "Sequence[Step]", stays: "Callable[[Repeat], bool]") -> "List[Step]":
    """Return the steps. A launch inside a loop is moved in front of the loop if no iteration changes what the launch
    reads. stays: true for a loop from which nothing is moved.
    """
    made: List[Step] = []
    for step in steps:
        if isinstance(step, Switch):
            step = replace(step, arms=[before_loops(arm, stays) for arm in step.arms])
        elif isinstance(step, Repeat) and not stays(step):
            step = replace(step, condition=before_loops(step.condition, stays), body=before_loops(step.body, stays))
            if not step.loop.is_short:
                moved = _unchanging(step)
                made += moved
                step = replace(step, condition=[s for s in step.condition if s not in moved],
                               body=[s for s in step.body if s not in moved])
        made.append(step)
    return made


def _unchanging(loop: Repeat) -> "List[Launch]":
    """Return, in order, the launches of a loop that compute the same values in each iteration."""
    changed = {array for step in all_steps([loop]) for array in _written(step)}
    candidates = _alone([loop], {loop.predicate, *loop.loop.ends})
    moved: List[Launch] = []
    for step in (*loop.condition, *loop.body):
        if isinstance(step, Launch) and step in candidates and changed.isdisjoint(step.reads):
            moved.append(step)
            changed.difference_update(step.writes)
    return moved


def prepared(program: Program, steps: "Sequence[Step]",
             shared: "Collection[Array]" = ()) -> "Tuple[Program, List[Launch], List[Step]]":
    """Return three values: the program, with its list of arrays that NAME_prepare fills; the launches that fill them;
    and the other steps. shared: arrays that share memory with others, so that NAME_prepare must not fill them.
    """
    candidates, known = _alone(steps, {*program.results, *shared}), {*program.weights}
    once: List[Launch] = []
    for step in steps:
        if isinstance(step, Launch) and step in candidates and step.reads and known.issuperset(step.reads):
            once.append(replace(step, threads=1))
            known.update(step.writes)
    done = {array for launch in once for array in launch.writes}
    left = [step for step in steps if not done.intersection(_written(step))]
    read = {array for step in all_steps(left) for array in _read(step)}
    return replace(program, prepared=[array for launch in once for array in launch.writes if array in read]), once, left


def _alone(steps: "Sequence[Step]", others: "Set[Array]") -> "Set[Launch]":
    """Return the launches that may be moved. No other step may write a result of such a launch, no step may copy a
    result, and no result may be in `others`.
    """
    counts = Counter(array for step in all_steps(steps) for array in _written(step))
    fixed = {*others, *(array for step in leaves(steps) for array in (
        [step.source] if isinstance(step, Move) else step.same))}
    return {step for step in leaves(steps) if isinstance(step, Launch) and not step.same
            and all(counts[array] == 1 and array not in fixed for array in step.writes) and _keeps_size(step)}


def _keeps_size(launch: Launch) -> bool:
    """Return true if a launch writes few bytes, in total or for each byte that it reads."""
    written, read = (sum(array.shape.bytes for array in arrays) for arrays in (launch.writes, launch.reads))
    return written <= max(SMALL_BYTES, GROWTH * read)


def _read(step: Step) -> "Sequence[Array]":
    """Return the arrays that a step itself reads. Steps inside a loop or a branch do not count."""
    if isinstance(step, (Launch, Move)):
        return step.reads if isinstance(step, Launch) else [step.source]
    return [step.predicate if isinstance(step, Repeat) else step.selector]


def _written(step: Step) -> "Iterator[Array]":
    """Yield the arrays that a step itself writes. Steps inside a loop or a branch do not count."""
    if isinstance(step, Launch):
        yield from step.writes
    elif isinstance(step, Move):
        yield step.to
    elif isinstance(step, Repeat):
        yield from (*step.loop.state, *step.loop.results)
    else:
        yield from step.branch.results
