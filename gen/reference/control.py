"""Loops and branches: each computation that they call is a C function of its own, on row-major arrays.

    static int NAME(const void *const *params, void *const *results);

It returns 0, or 1 if there is not enough memory.
"""

from __future__ import annotations

import itertools
from typing import Callable, Dict, FrozenSet, Iterator, List, Optional, Sequence

from gen.statements import Call
from gen.hlo import Computation, Instruction, Shape, c_identifier
from gen.hlo.graph import Value as Leaf, root_of
from gen.hlo.launches import resolved
from gen.hlo.reserved import unique
from gen.reference.assembly import EXHAUSTED, Function, in_one, needed_steps, size_of
from gen.reference.complex_numbers import real_computation
from gen.reference.emitter import Emitter
from gen.reference.library import statements
from gen.reference.values import Argument, Array, Value, leaves_of

# returns the value of a computation's root, given the values of its parameters
Walk = Callable[[Emitter, Computation, Sequence[Value]], Value]
DECLARED = f"static int {EXHAUSTED}; /* memory ran out in a loop or a branch */"


def loop(walk: Walk, e: Emitter, i: Instruction, x: List[Array]) -> Value:
    """Add a while. Its state has two copies: an iteration reads one and writes the other. A value that the body returns
    unchanged remains in the array from before the loop.
    """
    same = handed_on(i.called[1])
    condition, body = function(walk, e, i.called[0]), function(walk, e, i.called[1], same)
    state, after = list(x), []      # type: List[Array], List[Optional[Array]]
    for n, array in enumerate(x):
        if n not in same:
            state[n] = e.array(f"{i.name}_{n}", array.dtype, array.dims)
        after.append(None if n in same else e.array(f"{i.name}_{n}_next", array.dtype, array.dims))
    lines = statements("while", condition=condition, body=body, state=params(state), after=results_of(after),
                       begin=[copied(to, of) for of, to in zip(x, state) if to is not of],
                       next=[copied(to, of) for of, to in zip(after, state) if of])
    e.step(f"{i.name}: while", lines, [*(to for of, to in zip(x, state) if to is not of), *filter(None, after)], x)
    return regrouped(i.shape, iter(state))


def handed_on(body: Computation) -> FrozenSet[int]:
    """Return the indices of the leaves that a body returns unchanged."""
    real = real_computation(body)
    leaves = [Leaf(parameter, n) for parameter in real.parameters for n in range(len(parameter.shape.leaves()))]
    return frozenset(n for n, leaf in enumerate(leaves) if resolved(root_of(real), n) == leaf)


def branch(walk: Walk, e: Emitter, i: Instruction, x: List[Array]) -> Value:
    """Add a conditional."""
    arms = [function(walk, e, called) for called in i.called]
    results = [e.array(f"{i.name}_{n}", leaf.dtype, leaf.dims) for n, leaf in enumerate(i.shape.leaves())]
    selector = x[0]
    # clang warns of a switch by a truth value
    lines = [f"switch ({'(int)!' if selector.dtype == 'pred' else ''}{selector}[0]) {{"]
    for number, (arm, given) in enumerate(zip(arms, arms_of(i, x))):
        lines += statements("case", label="default:" if number == len(arms) - 1 else f"case {number}:", arm=arm,
                            given=params(given), results=results_of(results))
    e.step(f"{i.name}: conditional", [*lines, "}"], results, x)
    return regrouped(i.shape, iter(results))


def arms_of(i: Instruction, x: List[Array]) -> List[List[Array]]:
    """Return the arguments of each arm of a conditional."""
    counts = i.attributes.get("counts") or [len(o.shape.leaves()) for o in i.operands[1:]]
    ends = list(itertools.accumulate(counts, initial=1))
    return [x[begin:end] for begin, end in zip(ends, ends[1:])]


def regrouped(shape: Shape, leaves: "Iterator[Array]") -> Value:
    return next(leaves) if shape.kind == "array" else [regrouped(child, leaves) for child in shape.children]


def copied(to: Array, of: Array) -> Call:
    return Call("memcpy", str(to), str(of), size_of(of))


def params(arrays: "Sequence[Array]") -> str:
    return f"(const void *const[]){{{', '.join(map(str, arrays)) or 'NULL'}}}"


def results_of(arrays: "Sequence[Optional[Array]]") -> str:
    return f"(void *const[]){{{', '.join(str(array or 'NULL') for array in arrays) or 'NULL'}}}"


def function(walk: Walk, e: Emitter, called: Computation, unwritten: FrozenSet[int] = frozenset()) -> str:
    """Return the name of the C function of a computation, and record that the current step calls it. unwritten: the
    indices of the results that the function does not write.
    """
    known, key = e.functions, (called, unwritten)
    if key not in known:
        name = known[key] = unique(f"do_{c_identifier(called.name)}", {*known.values()})
        e.bodies[name] = _text(walk, e, called, name, unwritten)
    name = known[key]
    e.call.texts[EXHAUSTED] = DECLARED
    for needed, text in e.bodies[name].items():
        e.call.texts[needed] = text
    return name


def _text(walk: Walk, e: Emitter, called: Computation, name: str, unwritten: FrozenSet[int]) -> Dict[str, str]:
    """Return the texts of a computation's C function and of the functions that it calls. Callers come last."""
    inner, real = Emitter(), real_computation(called)
    inner.functions, inner.bodies = e.functions, e.bodies
    arguments: List[Value] = []
    number = 0
    for parameter in real.parameters:
        leaves = []
        for leaf in parameter.shape.leaves():
            leaves.append(inner.array(f"{parameter.name}_{number}", leaf.dtype, leaf.dims, Argument("params", number)))
            number += 1
        arguments.append(regrouped(parameter.shape, iter(leaves)))
    results = []
    for number, array in enumerate(leaves_of(walk(inner, real, arguments))):
        if number in unwritten:
            continue
        out = inner.array(f"result_{number}", array.dtype, array.dims, Argument("results", number))
        inner.step(f"result {number}", [copied(out, array)], [out], [array])
        results.append(out)
    steps = needed_steps(inner.steps, results)
    texts = {key: text for step in steps for key, text in step.calls.items()}
    texts[name] = in_one(Function(name, {"params": "const void *const *", "results": "void *const *"}, "static "), steps)
    return texts
