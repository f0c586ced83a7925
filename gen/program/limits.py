"""Limit the iterations of loops inside kernels, for a check. A loop whose trip count is not known might not end on
random inputs.

A limited fusion has two more arrays: the limit as its last parameter, and the number of iterations of each element as
its last result.
"""

from __future__ import annotations

from typing import Dict, Optional

from gen.hlo import Computation, Fusion, Instruction, Shape, array_shape, tuple_shape
from gen.hlo.graph import root_of
from gen.hlo.trips import trips
from gen.plan import element_loops
from gen.program.extract import give_names
from gen.program.ir import Program


def unlimited(fusion: Fusion) -> "Optional[Instruction]":
    """Return a fusion's first loop of unknown trip count; None if there is none."""
    return next((i for i in fusion.computation.instructions if i.opcode == "while" and trips(i) is None), None)


def is_limited(program: Program) -> bool:
    """Return true if a check of the program limits iterations. That is so if the program has loops or branches, or if a
    kernel contains a loop whose trip count is not known.
    """
    return not program.straight or any(unlimited(fusion) for fusion in program.fusions)


def limited(fusion: Fusion) -> Fusion:
    """Return the fusion with a limit on the iterations of its loop."""
    loop, whole = unlimited(fusion), fusion.computation
    assert loop is not None
    made = Computation(whole.name, line=whole.line, col=whole.col)
    known: Dict[Instruction, Instruction] = {}
    limit, steps = Instruction("limit", "parameter", _number(), parameter_number=len(whole.parameters)), loop
    for i in whole.instructions:
        if i is loop:
            own = _limited(made, loop, known[loop.operands[0]], made.add(limit))
            known[i] = own if loop.shape.kind == "tuple" else _element(made, own, 0)
            steps = _element(made, own, len(own.shape.children) - 1)
        elif i is not whole.root or i.opcode != "tuple":
            known[i] = made.add_copy(i, [known[o] for o in i.operands])
    root = root_of(whole)
    results = [known[o] for o in root.operands] if root.opcode == "tuple" else [known[root]]
    made.parameters = [*(known[parameter] for parameter in whole.parameters), limit]
    made.root = _add(made, "tuple", tuple_shape([each.shape for each in [*results, steps]]), *results, steps)
    give_names(made)
    return Fusion(f"{fusion.name}_limited", made, fusion.kind, small=fusion.small)


def _number() -> Shape:
    return array_shape("u32", ())


def _pred() -> Shape:
    return array_shape("pred", ())


def over(steps: Instruction) -> Computation:
    """Return a computation of a predicate. It is true if at least one element has reached the limit. steps: the number
    of iterations of each element.
    """
    to = Computation("over")
    shape = steps.shape
    counts, limit = to.add_parameter("parameter", shape), to.add_parameter("parameter", _number())
    most = _add(to, "broadcast", shape, limit, dimensions=()) if shape.dims else limit
    reached = _add(to, "compare", array_shape("pred", shape.dims), counts, most, direction="GE")
    if shape.dims:
        either = Computation("either")
        _add(either, "or", _pred(), *(either.add_parameter("parameter", _pred()) for _ in (0, 1)))
        none = to.add(Instruction("none", "constant", _pred(), literal=[0]))
        reached = _add(to, "reduce", _pred(), reached, none, dimensions=tuple(range(shape.rank)), to_apply=either)
        reached.called = [either]
    return to


def _limited(to: Computation, loop: Instruction, start: Instruction, limit: Instruction) -> Instruction:
    """Return the loop with three more values in its state: the limit, the loop's number of iterations, and the number
    of iterations of each element.
    """
    condition, body = loop.called
    asked = element_loops.asked_of(condition)
    counts = array_shape("u32", asked.each.shape.dims if asked else ())
    plain = loop.shape.kind != "tuple"     # the state is one array
    shape = tuple_shape([*([loop.shape] if plain else loop.shape.children), _number(), _number(), counts])
    zero = to.add(Instruction("zero", "constant", _number(), literal=[0]))
    zeros = _add(to, "broadcast", counts, zero, dimensions=()) if counts.dims else zero
    leaves = [start] if plain else [_element(to, start, k) for k in range(len(loop.shape.children))]
    state = _add(to, "tuple", shape, *leaves, limit, zero, zeros)
    own = len(leaves)

    def copy(source: Computation, known: "Dict[Instruction, Instruction]", into: Computation,
             parameter: Instruction) -> None:
        for i in source.instructions:
            if i is source.parameters[0]:
                known[i] = _element(into, parameter, 0) if plain else parameter
            else:
                known[i] = into.add_copy(i, [known[o] for o in i.operands])

    more = Computation(condition.name)
    inner: Dict[Instruction, Instruction] = {}
    copy(condition, inner, more, more.add_parameter("parameter", shape))
    below = _add(more, "compare", _pred(), _element(more, more.parameters[0], own + 1),
                 _element(more, more.parameters[0], own), direction="LT")
    more.root = _add(more, "and", _pred(), inner[root_of(condition)], below)
    step, inner = Computation(body.name), {}
    copy(body, inner, step, step.add_parameter("parameter", shape))
    parameter, one = step.parameters[0], step.add(Instruction("one", "constant", _number(), literal=[1]))
    count = _add(step, "add", _number(), _element(step, parameter, own + 1), one)
    steps = count
    if asked:       # each element has its own condition, so the loop counts the iterations of each element
        before = _element(step, parameter, own + 2)
        own_condition: Dict[Instruction, Instruction] = {}
        copy(condition, own_condition, step, parameter)
        goes = own_condition[asked.each.producer]
        if goes.shape.kind == "tuple":
            goes = _element(step, goes, asked.each.leaf)
        if asked.inverted:
            goes = _add(step, "not", goes.shape, goes)
        ones = _add(step, "broadcast", counts, one, dimensions=())
        steps = _add(step, "select", counts, goes, _add(step, "add", counts, before, ones), before)
    end = inner[root_of(body)]
    ends = [end] if plain else [_element(step, end, k) for k in range(own)]
    step.root = _add(step, "tuple", shape, *ends, _element(step, parameter, own), count, steps)
    for computation in (more, step):
        give_names(computation)
    return to.add_copy(loop, [state], shape=shape, called=[more, step],
                       attributes={**loop.attributes, "condition": more, "body": step})


def _add(to: Computation, opcode: str, shape: Shape, *operands: Instruction, **attributes: object) -> Instruction:
    to.root = to.add(Instruction(opcode, opcode, shape, list(operands), dict(attributes)))
    return to.root


def _element(to: Computation, value: Instruction, index: int) -> Instruction:
    if value.opcode == "tuple":
        return value.operands[index]
    return _add(to, "get-tuple-element", value.shape.children[index], value, index=index)
