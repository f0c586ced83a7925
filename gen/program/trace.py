"""Make a traced program, whose results include all arrays that its calls read and write. After a run, a check can
compare each call with its reference.

The nodes of a loop or a branch may run several times, or not at all. A body, a condition or an arm therefore begins
with additional nodes. The first one sets a further result, which says that the body, condition or arm has run. The
other nodes copy those arrays from outside that the calls read. An array that is written exactly once needs no copy.
After a run, the copies have the values of the last iteration. A further parameter limits the number of iterations of
each loop, so that a check can see the first and middle iterations as well. A further result says whether the limit has
ended a loop.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Dict, List, Optional, Sequence, Set, Tuple

from gen.hlo import Computation, Fusion, Instruction, Shape, array_shape, tuple_shape
from gen.hlo.graph import root_of
from gen.plan.buffer import Buffer
from gen.program.extract import copy_of
from gen.program.ir import Array, Branch, Call, Loop, Node, Program
from gen.program.limits import is_limited, limited, over as over_of, unlimited
from gen.program.parts import Part, Place


@dataclass(frozen=True)
class Seen:
    """A call, or a part of a call, that a check compares with the reference of a fusion.

    fusion: the fusion whose reference is used.
    operands, results: its arrays in the traced program.
    done: the result that is 1 after the call has run; None for a call that always runs.
    of: the fusion that is called.
    """

    fusion: Fusion
    operands: List[Optional[Array]]
    results: List[Array]
    done: Optional[Array]
    of: Fusion


@dataclass(frozen=True)
class Trace:
    """A traced program.

    seen: the comparisons, in order.
    cut: the result that is 1 if the limit has ended a loop; None if there is no limit.
    """

    program: Program
    seen: List[Seen]
    cut: Optional[Array]


def traced(program: Program, parts: "Dict[Fusion, List[Part]]") -> Trace:
    """Return the traced program. parts: for each fusion that is compared in parts, its parts."""
    return _Tracer(program, parts).run()


class _Tracer:
    def __init__(self, program: Program, parts: "Dict[Fusion, List[Part]]") -> None:
        self.program, self.parts = program, parts
        self.names = {fusion: replace(fusion, name=f"{fusion.name}_traced") for fusion in program.fusions}
        self.helpers: Dict[Tuple[object, ...], Fusion] = {}
        self.results = dict.fromkeys(program.results)
        self.seen: List[Seen] = []
        self.start: List[Node] = []
        self.limit = Array("limit of iterations", array_shape("u32", ()))
        self.cut = Array("cut short", array_shape("pred", ()))
        self.limited: Dict[Fusion, Fusion] = {}

    def run(self) -> Trace:
        params, name = self.program.params, f"{self.program.name}_traced"
        ends = not is_limited(self.program)
        if not ends:
            self.results[self.cut] = None
            self.start.append(Call(self._constant("pred", 0), [], [self.cut]))
        body = self._nodes(self.program.body, {}, None, set())
        more = [] if ends else [self.limit]
        whole = replace(self.program.whole, name=name)
        made = Program(name, [*params, *more], list(self.results), [*self.start, *body], whole, traced=True,
                       weights=self.program.weights, leads=self.program.leads).with_symbols()
        return Trace(made, self.seen, None if ends else self.cut)

    def _nodes(self, nodes: "Sequence[Node]", others: "Dict[Array, Array]", done: Optional[Array],
               changing: Set[Array]) -> List[Node]:
        """Return the traced nodes of a body or an arm.

        others: for each array from outside that has been copied, the copy, which is read instead.
        done: the result that is 1 after the body or arm has run; None if it always runs.
        changing: arrays from outside that are written more than once, or perhaps never.
        """
        made: List[Node] = []
        for node in nodes:
            if isinstance(node, Call) and unlimited(node.fusion):
                made += self._limited(node, others, done)
            elif isinstance(node, Call):
                made.append(self._call(node, others, done))
            elif isinstance(node, Loop):
                made.append(self._loop(node, others, changing))
            else:
                self.results.update(dict.fromkeys(node.results))
                arms = [self._inside(arm, ends, others, changing) for arm, ends in zip(node.arms, node.ends)]
                made.append(Branch(node.name, others.get(node.selector, node.selector), [arm for arm, _ in arms],
                                   [ends for _, ends in arms], node.results))
            if done is not None:
                changing = changing | set(node.results)
        return made

    def _call(self, call: Call, others: "Dict[Array, Array]", done: Optional[Array]) -> Call:
        parts = self.parts.get(call.fusion, [])
        kept = {part.result.number: Array(part.fusion.name, part.result.shape) for part in parts
                if isinstance(part.result, Buffer)}
        operands = [others.get(a, a) if a else None for a in call.operands]
        made = Call(self.names[call.fusion], operands, call.results, kept)
        self.results.update(dict.fromkeys([*made.results, *kept.values()]))
        for part in parts:
            self.seen.append(Seen(part.fusion, _at(part.operands, operands, kept),
                                  _at([part.result], call.results, kept), done, call.fusion))
        if not parts:
            self.seen.append(Seen(call.fusion, operands, call.results, done, call.fusion))
        return made

    def _limited(self, call: Call, others: "Dict[Array, Array]", done: Optional[Array]) -> List[Node]:
        """Return the nodes of a call whose kernel contains a loop that may not end. The loop gets a limit."""
        own = self.limited.setdefault(call.fusion, limited(call.fusion))
        steps = root_of(own.computation).operands[-1]
        counts, over = Array("steps of each", steps.shape), Array("over", array_shape("pred", ()))
        operands = [*(others.get(a, a) if a else None for a in call.operands), self.limit]
        made = Call(replace(own, name=self.names[call.fusion].name), operands, [*call.results, counts])
        self.results.update(dict.fromkeys(made.results))
        self.seen.append(Seen(own, operands, made.results, done, call.fusion))
        return [made, Call(self._fusion(("over", steps.shape), over_of(steps)), [counts, self.limit], [over]),
                self._stopped(over)]

    def _stopped(self, over: Array) -> Branch:
        """Return a branch that sets `cut` if `over` is true: the limit has then ended a loop."""
        stopped: List[Node] = [Call(self._constant("pred", 1), [], [self.cut])]
        return Branch("cut short", over, [stopped, []], [[], []], [])

    def _inside(self, nodes: "Sequence[Node]", ends: "Sequence[Array]", others: "Dict[Array, Array]",
                changing: Set[Array]) -> "Tuple[List[Node], List[Array]]":
        """Return the nodes of a body or an arm, and the arrays that it returns. Nodes are added at its beginning: the
        first one sets a new array, `done`, to true; the others copy the arrays in `changing` that the body or arm
        reads.
        """
        done = Array(f"done {len(self.seen)}", array_shape("pred", ()))
        self.results[done] = None
        self.start.append(Call(self._constant("pred", 0), [], [done]))
        own: Dict[Array, Array] = {}
        copies: List[Node] = [Call(self._constant("pred", 1), [], [done])]
        for array in _read(nodes):
            of = others.get(array, array)
            if array in changing or of in changing:
                own[array] = Array(f"{array.name} seen", array.shape)
                self.results[own[array]] = None
                copies.append(Call(self._fusion(("copy", array.shape), copy_of(array.shape, array.shape)), [of],
                                   [own[array]]))
        inner = {**others, **own}
        made = self._nodes(nodes, inner, done, changing | set(own.values()))
        return [*copies, *made], [inner.get(array, array) for array in ends]

    def _loop(self, loop: Loop, others: "Dict[Array, Array]", changing: Set[Array]) -> Loop:
        """Return the loop with the number of iterations in its state."""
        count, before, after, last = (Array(name, array_shape("u32", ())) for name in (
            "count", "no iterations", "count after", "count at the end"))
        self.start.append(Call(self._constant("u32", 0), [], [before]))
        self.results.update(dict.fromkeys([*loop.results, last]))
        changing = changing | {*loop.state, count}
        condition, (predicate,) = self._inside(loop.condition, [loop.predicate], others, changing) \
            if loop.trips is None else ([], (None,))
        more = Array("more", array_shape("pred", ()))
        over = Array("over", array_shape("pred", ()))
        condition.append(Call(self._fusion(("more", loop.trips), _continuing(loop.trips)),
                              [count, self.limit, *([predicate] if predicate else [])], [more, over]))
        condition.append(self._stopped(over))
        body, ends = self._inside(loop.body, loop.ends, others, changing)
        body.append(Call(self._fusion(("next",), _counting()), [count], [after]))
        begins = [others.get(array, array) for array in loop.begins]
        return Loop(loop.name, [*begins, before], [*loop.state, count], condition, more, body,
                    [*ends, after], [*loop.results, last], None)

    def _constant(self, dtype: str, value: int) -> Fusion:
        computation = Computation("constant")
        _op(computation, "constant", array_shape(dtype, ()), literal=[value])
        return self._fusion(("constant", dtype, value), computation)

    def _fusion(self, key: "Tuple[object, ...]", computation: Computation) -> Fusion:
        if key not in self.helpers:
            self.helpers[key] = Fusion(f"{self.program.name}_trace{len(self.helpers)}", computation, "")
        return self.helpers[key]


def _at(places: "Sequence[Place]", arrays: "Sequence[Optional[Array]]", kept: "Dict[int, Array]") -> List[Any]:
    """Return the arrays at the given places of a call. A place is a scratch buffer, or the index of a parameter or
    result.

    arrays: the arrays of the parameters, or of the results, of the call
    kept: the arrays of the call's scratch buffers, by the buffer's number
    """
    return [kept[place.number] if isinstance(place, Buffer) else arrays[place] for place in places]


def _read(nodes: "Sequence[Node]") -> List[Array]:
    """Return all arrays that some nodes, or the nodes inside them, read and do not write."""
    found: Dict[Array, None] = {}
    for node in nodes:
        if isinstance(node, Call):
            found.update((array, None) for array in node.operands if array)
        elif isinstance(node, Loop):
            found.update(dict.fromkeys([*node.begins, *node.ends, *_read(node.condition), *_read(node.body),
                                        node.predicate]))
        else:
            found.update(dict.fromkeys([node.selector, *(a for ends in node.ends for a in ends),
                                        *(a for arm in node.arms for a in _read(arm))]))
    written = {array for node in nodes for array in node.results}
    return [array for array in found if array not in written]


def _op(to: Computation, opcode: str, of: Shape, *operands: Instruction, literal: "Optional[List[int]]" = None,
        attributes: "Optional[Dict[str, object]]" = None) -> Instruction:
    """Add an op to a computation, and make it the root."""
    name = f"x{len(to.instructions)}"
    to.root = to.add_parameter(name, of) if opcode == "parameter" else to.add(
        Instruction(name, opcode, of, list(operands), attributes or {}, literal=literal))
    return to.root


def _counting() -> Computation:
    """Return a computation that adds 1 to a count."""
    to, of = Computation("next"), array_shape("u32", ())
    _op(to, "add", of, _op(to, "parameter", of), _op(to, "constant", of, literal=[1]))
    return to


def _continuing(trips: Optional[int]) -> Computation:
    """Return a computation of two predicates: the loop continues; only the limit ends the loop.

    A loop continues if the count is below the limit and the loop itself would continue. If the trip count is known, the
    loop itself would continue while the count is below it; otherwise, while the loop's own predicate is true.
    """
    to, number, pred = Computation("more"), array_shape("u32", ()), array_shape("pred", ())
    count, limit = _op(to, "parameter", number), _op(to, "parameter", number)
    below = _op(to, "compare", pred, count, limit, attributes={"direction": "LT"})
    own = _op(to, "parameter", pred) if trips is None else _op(
        to, "compare", pred, count, _op(to, "constant", number, literal=[min(trips, 2 ** 32 - 1)]),
        attributes={"direction": "LT"})
    more, over = _op(to, "and", pred, below, own), _op(to, "and", pred, _op(to, "not", pred, below), own)
    _op(to, "tuple", tuple_shape([pred, pred]), more, over)
    return to
