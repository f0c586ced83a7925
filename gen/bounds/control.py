"""Loops and branches.

If rounding cannot decide the number of iterations or the branch, a kernel calls the same computations as the reference.
Then the intervals are those of these computations. Each is a C function with the arguments of the reference's function
(gen/reference/control.py), which also reads and writes intervals: behind the leaves (the arrays of the parameters or
results), `params` and `results` have an array of intervals for each leaf that is not exact.

A leaf of a loop's state is exact if it is exact before the loop and after each iteration. A kernel that contains a loop
or a branch does not reorder sums.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Callable, FrozenSet, List, Sequence

from gen.bounds.following import Bounds, Called
from gen.bounds.types import kind_of, Known
from gen.hlo import c_identifier, Computation, Instruction
from gen.hlo.reserved import unique
from gen.reference.assembly import EXHAUSTED, Function, in_one, needed_steps
from gen.reference.complex_numbers import real_computation
from gen.reference.computation import walk as values
from gen.reference.control import arms_of, copied, DECLARED, function, handed_on, params, regrouped, results_of
from gen.reference.library import statements
from gen.reference.types import FLOATS
from gen.reference.values import Argument, Array, leaves_of, Value

# returns the value of a computation's root, given the values of its parameters
Walk = Callable[[Bounds, Computation, Sequence[Value]], Value]


def loop(walk: Walk, b: Bounds, i: Instruction, x: List[Array], outs: List[Array]) -> None:
    """Set the bounds of a while. If its condition is not exact, the leaves that iterations change may have any value."""
    same = handed_on(i.called[1])
    before: FrozenSet[int] = frozenset()
    wide = frozenset(n for n, array in enumerate(x) if not b.exact(array))
    while True:
        body = _called(walk, b, i.called[1], wide)
        before, wide = wide, wide | {n for n, result in enumerate(body.results)
                                     if n not in same and not body.bounds.exact(result)}
        if wide == before:
            break
    changed = [n for n in range(len(x)) if n not in same]
    condition = _called(walk, b, i.called[0], wide)
    if not condition.bounds.exact(*condition.results):
        b.decided(i, [outs[n] for n in changed], [outs[n].dtype not in FLOATS for n in changed], False,
                  f"rounding may decide a number of steps in {i.name}")
        return
    b.unknown += body.bounds.unknown
    for n in changed:
        b.known[outs[n]] = Known(None, outs[n].dtype not in FLOATS)
    varied = sorted(wide - same)
    if not varied:
        return
    starts = {n: b.points(x[n]) for n in sorted(wide)}
    ends = {n: b.ranges(i, outs[n], outs[n].dtype not in FLOATS) if n in varied else starts[n] for n in sorted(wide)}
    state = [array if n in same else b.e.array(f"{i.name}_{n}", array.dtype, array.dims) for n, array in enumerate(x)]
    after = [None if n in same else b.e.array(f"{i.name}_{n}_next", array.dtype, array.dims)
             for n, array in enumerate(x)]
    later = [b.e.array(f"{i.name}_{n}_next", kind_of(x[n].dtype), x[n].dims) for n in varied]
    pairs = [*zip(x, state), *((starts[n], ends[n]) for n in varied)]
    turned = [*zip(after, state), *zip(later, (ends[n] for n in varied))]
    lines = statements("while", condition=function(values, b.e, i.called[0]),
                       body=_function(b, i.called[1], body, changed, varied),
                       state=params([*state, *ends.values()]), after=results_of([*after, *later]),
                       begin=[copied(to, of) for of, to in pairs if to is not of],
                       next=[copied(to, of) for of, to in turned if of])
    made = [*(to for of, to in pairs if to is not of), *filter(None, after), *later]
    b.step(i.name, lines, made, [*x, *starts.values()])


def branch(walk: Walk, b: Bounds, i: Instruction, x: List[Array], outs: List[Array]) -> None:
    """Set the bounds of a conditional. If the index of the branch is not exact, the results may have any value."""
    if not b.exact(x[0]):
        b.decided(i, outs, [out.dtype not in FLOATS for out in outs], False,
                  f"rounding may decide the branch of {i.name}")
        return
    given, arms, wides = arms_of(i, x), [], []
    for called, arrays in zip(i.called, given):
        wides.append(frozenset(n for n, array in enumerate(arrays) if not b.exact(array)))
        arms.append(_called(walk, b, called, wides[-1]))
        b.unknown += arms[-1].bounds.unknown
    varied = [n for n in range(len(outs)) if not all(arm.bounds.exact(arm.results[n]) for arm in arms)]
    for out in outs:
        b.known[out] = Known(None, out.dtype not in FLOATS)
    if not varied:
        return
    starts = [[b.points(arrays[n]) for n in sorted(wide)] for arrays, wide in zip(given, wides)]
    ranges = [b.ranges(i, outs[n], outs[n].dtype not in FLOATS) for n in varied]
    lines = [f"switch ({'(int)!' if x[0].dtype == 'pred' else ''}{x[0]}[0]) {{"]
    for number, (called, arm, arrays, wide, before) in enumerate(zip(i.called, arms, given, wides, starts)):
        lines += statements("case", label="default:" if number == len(arms) - 1 else f"case {number}:",
                            arm=_function(b, called, arm, [], varied), given=params([*arrays, *before]),
                            results=results_of([*[None] * len(outs), *ranges]))
    b.step(i.name, [*lines, "}"], ranges, [*x, *(array for before in starts for array in before)])


def _called(walk: Walk, b: Bounds, called: Computation, wide: FrozenSet[int]) -> Called:
    """Return the bound of a computation. wide: the indices of the leaves of its parameters that have intervals."""
    key = called, wide
    if key not in b.called:
        inner, real = Bounds(replace(b.options, reassociate=False)), real_computation(called)
        inner.called, inner.e.functions, inner.e.bodies = b.called, b.e.functions, b.e.bodies
        leaves = [(parameter.name, leaf) for parameter in real.parameters for leaf in parameter.shape.leaves()]
        arrays = [inner.e.array(f"{name}_{n}", leaf.dtype, leaf.dims, Argument("params", n))
                  for n, (name, leaf) in enumerate(leaves)]
        for number, n in enumerate(sorted(wide), len(arrays)):
            of, given = arrays[n], Argument("params", number)
            inner.known[of] = Known(inner.e.array(of.name, kind_of(of.dtype), of.dims, given))
        rest = iter(arrays)
        results = leaves_of(walk(inner, real, [regrouped(parameter.shape, rest) for parameter in real.parameters]))
        b.called[key] = Called(inner, results)
    return b.called[key]


def _function(b: Bounds, called: Computation, of: Called, changed: List[int], varied: List[int]) -> str:
    """Return the name of a computation's C function with intervals, and record that the current step calls it. The
    function writes the results in `changed`, and behind them the intervals of those in `varied`.
    """
    name, inner = unique(f"bound_{c_identifier(called.name)}", {*b.e.bodies}), of.bounds
    points = {n: inner.points(of.results[n]) for n in varied}
    written = []
    for number, array in [*((n, of.results[n]) for n in changed), *enumerate(points.values(), len(of.results))]:
        out = inner.e.array(f"result_{number}", array.dtype, array.dims, Argument("results", number))
        inner.e.step(f"result {number}", [copied(out, array)], [out], [array])
        written.append(out)
    steps = needed_steps(inner.e.steps, written)
    texts = {key: text for step in steps for key, text in step.calls.items()}
    texts[name] = in_one(Function(name, {"params": "const void *const *", "results": "void *const *"}, "static "), steps)
    b.e.bodies[name] = texts
    b.e.call.texts.update({EXHAUSTED: DECLARED, **texts})
    return name
