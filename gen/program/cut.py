"""Divide a module that has loops, branches or ops on whole arrays into the nodes of a program.

A loop, a branch or an op on whole arrays is a step. The ops between two steps form one fusion, a segment, which
computes all values that later steps or segments read. A value that costs almost nothing to compute, such as a constant
or a move, is not passed on. Each segment that reads it computes it.
"""

from __future__ import annotations

from typing import Callable, Collection, Dict, FrozenSet, List, Optional, Sequence, Set, Tuple

from gen import hlo
from gen.hlo import Computation, Fusion, Instruction, Shape, Value, array_shape
from gen.hlo.graph import root_of
from gen.hlo.launches import is_step, resolved
from gen.hlo.trips import trips
from gen.plan import element_loops
from gen.plan.partition import moves_only
from gen.plan.whole import places
from gen.program.extract import copy_of, extracted, give_names
from gen.program.ir import Array, Branch, Call, Loop, Node, parts_of
from gen.program.needed import Needed


class Cutter:
    """Divides computations. named: returns the fusion that computes the results of a computation; equal computations
    get the same fusion.
    """

    def __init__(self, filename: str, named: "Callable[[Computation, str, Dict[int, int]], Fusion]") -> None:
        self.filename, self.named, self.needed = filename, named, Needed(filename)

    def nodes(self, computation: Computation, given: "Sequence[Optional[Array]]", inner: bool,
              wanted: "Optional[Collection[int]]" = None) -> "Tuple[List[Node], List[Array]]":
        """Return the nodes of a computation, and the arrays of the wanted leaves of its result.

        given: the arrays of the computation's parameters; None for a parameter that is not read.
        inner: true for a body, a condition or an arm; false for the whole program.
        wanted: the indices of the leaves; None for all leaves.
        """
        return _Cut(self, hlo.inlined(computation, self.filename), given, inner).run(wanted)

    def copied(self, array: Array, shape: Shape) -> "Tuple[List[Node], Array]":
        """Return a call that copies an array to the layout of `shape`, and the copy. If the array has that layout,
        return no call and the array itself.
        """
        if array.shape == shape:
            return [], array
        made = Array(array.name, shape)
        return [Call(self.named(copy_of(array.shape, shape), "copy", {}), [array], [made])], made


class _Cut:
    """The division of one computation.

    steps: the computation's steps, in order.
    levels: for each op, the number of steps that must run before it.
    read: the values that are read, among the parameters and the results of steps.
    """

    def __init__(self, cutter: Cutter, computation: Computation, given: "Sequence[Optional[Array]]",
                 inner: bool) -> None:
        self.cutter, self.computation = cutter, computation
        self.arrays: Dict[Value, Array] = {}
        leaves = [Value(p, leaf) for p in computation.parameters for leaf in range(len(p.shape.leaves()))]
        self.arrays.update((leaf, array) for leaf, array in zip(leaves, given) if array)
        self.read: Set[Value] = set()
        self.steps: List[Instruction] = []
        self.made: Set[Instruction] = set()
        self.refused: Dict[Instruction, str] = {}    # the reason why a loop is not inside a kernel; "" if it is
        self.inner = inner
        self.levels: Dict[Instruction, int] = {}
        self.light: Set[Instruction] = set()
        self.order = {i: n for n, i in enumerate(computation.instructions)}
        self._sort()

    def _sort(self) -> None:
        for i in self.computation.instructions:
            if i.opcode == "while":
                self.refused[i] = element_loops.refusal(i)
            if is_step(i) or self._updates(i):
                self.steps.append(i)
                self.made.add(i)
                self.levels[i] = len(self.steps)
                continue
            self.levels[i] = max((self.levels[o] for o in i.operands), default=0)
            if i.opcode in ("constant", "iota") or moves_only(i) and i.shape.kind == "array":
                self.light.add(i)

    def _is_call(self, step: Instruction) -> bool:
        """Return true if an op becomes a call of one fusion. This fusion may also contain cheap ops around the op.
        Examples are an update of a slice, and a loop inside a kernel.
        """
        return not is_step(step) or self.refused.get(step) == ""

    def _updates(self, instruction: Instruction) -> bool:
        """Return true if an op can update a slice of an array in place, because the array is in memory that the program
        may overwrite. Such an array is the result of a step, or a parameter of a body, a condition or an arm.
        """
        if instruction.opcode != "dynamic-update-slice":
            return False
        of = resolved(instruction.operands[0], 0)
        return self._given(of) and (self.inner or of.producer.opcode != "parameter")

    def run(self, wanted: "Optional[Collection[int]]") -> "Tuple[List[Node], List[Array]]":
        root = root_of(self.computation)
        leaves = range(len(root.shape.leaves())) if wanted is None else sorted(wanted)
        results = [resolved(root, leaf) for leaf in leaves]
        goals: List[Dict[Value, None]] = [{} for _ in range(len(self.steps) + 1)]

        def want(value: Value, at: int) -> None:
            """Ensure that an array contains a value before segment `at`. If the value has no array of its own, let a
            segment compute it.
            """
            if self._given(value):
                self.read.add(value)
            else:
                goals[at if value.producer in self.light else self.levels[value.producer]][value] = None

        for value in results:
            want(value, len(self.steps))
        reads: Dict[int, Dict[Value, None]] = {}
        own: Dict[Instruction, List[Value]] = {}  # for each step that is one fusion, the values that it returns
        own_reads: Dict[Instruction, Dict[Value, None]] = {}
        for at in range(len(self.steps), -1, -1):
            step = self.steps[at] if at < len(self.steps) else None
            if step and self._wanted(step):     # all ops that may read the step's result have been visited
                if self._is_call(step):
                    own[step] = [Value(step, n) for n in (element_loops.used(step) if step.opcode == "while" else (0,))]
                    own_reads[step] = self._reads(dict.fromkeys(own[step]), at + 1, want)
                else:
                    for value in self._operands(step, self._needed(step)):
                        want(value, at)
            reads[at] = self._reads(goals[at], at, want)
        nodes: List[Node] = []
        for at in range(len(self.steps) + 1):
            if goals[at]:
                nodes.append(self._segment(list(goals[at]), list(reads[at])))
            if at < len(self.steps):
                step = self.steps[at]
                if step in own:
                    nodes.append(self._segment(own[step], list(own_reads[step])))
                elif self._wanted(step):
                    nodes += self._step(step)
        return nodes, [self.arrays[value] for value in results]

    def _given(self, value: Value) -> bool:
        """Return true if a value already has an array of its own: it is a parameter, or the result of a step."""
        return value.producer.opcode == "parameter" or value.producer in self.made

    def _wanted(self, step: Instruction) -> "FrozenSet[int]":
        """Return the leaves of a step's result that are read."""
        return frozenset(leaf for leaf in range(len(step.shape.leaves())) if Value(step, leaf) in self.read)

    def _needed(self, step: Instruction) -> "List[FrozenSet[int]]":
        """Return, for each operand of a step, the leaves on which the wanted leaves of the step's result depend."""
        if step.opcode in ("while", "conditional"):
            return self.cutter.needed.operands(step, self._wanted(step))
        computed = places(step)
        return [frozenset() if k in computed else frozenset(range(len(operand.shape.leaves())))
                for k, operand in enumerate(step.operands)]

    def _operands(self, instruction: Instruction, leaves: "Optional[List[FrozenSet[int]]]" = None) -> List[Value]:
        """Return the values of an op's operands. leaves: for each operand, the leaves to return; None for all leaves.
        """
        return [resolved(operand, leaf) for n, operand in enumerate(instruction.operands)
                for leaf, shape in enumerate(operand.shape.leaves())
                if shape.kind == "array" and (leaves is None or leaf in leaves[n])]

    def _reads(self, goals: "Dict[Value, None]", at: int, want: "Callable[[Value, int], None]") -> "Dict[Value, None]":
        """Return the values that a segment reads. `want` is called for each value that an earlier segment computes."""
        reads: Dict[Value, None] = {}
        waiting, seen = [value.producer for value in goals], set()     # type: List[Instruction], Set[Instruction]
        while waiting:
            instruction = waiting.pop()
            if instruction in seen:
                continue
            seen.add(instruction)
            for value in self._operands(instruction):
                if self._given(value):
                    reads[value] = None
                    self.read.add(value)
                elif value.producer in self.light or self.levels[value.producer] == at:
                    waiting.append(value.producer)
                else:
                    reads[value] = None
                    want(value, at)
        return dict(sorted(((v, None) for v in reads), key=lambda item: (self.order[item[0].producer], item[0].leaf)))

    def _segment(self, goals: "List[Value]", reads: "List[Value]") -> Call:
        """Return the call that computes `goals` from `reads`. The result of an update may be written over its operand.
        """
        last = goals[0].producer
        update = last in self.made and last.opcode != "while"
        aliases = {0: reads.index(resolved(last.operands[0], 0))} if update else {}
        results = [Array(goal.producer.name, goal.shape) for goal in goals]
        self.arrays.update(zip(goals, results))
        fusion = self.cutter.named(extracted(self.computation, goals, reads), self.computation.name, aliases)
        return Call(fusion, [self.arrays[value] for value in reads], results)

    def _step(self, step: Instruction) -> "List[Node]":
        if step.opcode == "while":
            return self._loop(step)
        if step.opcode == "conditional":
            return self._branch(step)
        results = [Array(step.name, shape) for shape in step.shape.leaves()]
        self.arrays.update((Value(step, n), array) for n, array in enumerate(results))
        own = Computation(step.name, line=step.line, col=step.col)
        computed, along = places(step), {"iota_dimension": step.attributes.get("dimensions", (0,))[0]}
        operands = [own.add(Instruction(o.name, "iota", o.shape, [], dict(along))) if k in computed
                    else own.add_parameter(o.name, o.shape) for k, o in enumerate(step.operands)]
        own.root = own.add_copy(step, operands)
        give_names(own)
        fusion = self.cutter.named(own, step.name, {})
        return [Call(fusion, [self.arrays[resolved(o, leaf)] for k, o in enumerate(step.operands)
                              for leaf in range(len(o.shape.leaves())) if k not in computed], results)]

    def _loop(self, step: Instruction) -> "List[Node]":
        """Return a loop and the copies around it. The state has the layout of the body's parameter: if the loop's
        operand or result has another layout, the copies are outside of the loop.
        """
        condition, body = step.called
        (needed,), count = self._needed(step), trips(step)
        leaves, named, of = sorted(needed), _named_leaves(body), body.parameters[0].shape.leaves()
        shapes = [of[leaf] for leaf in leaves]
        before, inits = self._laid_out([self.arrays[resolved(step.operands[0], leaf)] for leaf in leaves], shapes)
        state = {leaf: Array(named[leaf], of[leaf]) for leaf in leaves}
        results = {leaf: Array(step.name, of[leaf]) for leaf in leaves}
        self.arrays.update((Value(step, leaf), array) for leaf, array in results.items())
        asked: "Tuple[List[Node], List[Array]]" = [], [Array("known", array_shape("pred", ()))]
        if count is None:
            asked = self._called(condition, state, frozenset({0}))
        nodes, ends = self._called(body, state, needed)
        after, ends = self._laid_out(ends, shapes)
        loop = Loop(step.name, inits, list(state.values()), asked[0], asked[1][0], [*nodes, *after], ends,
                    list(results.values()), count, self.refused.get(step, ""))
        self.arrays.update((value, array) for value, array in _without_invariants(loop, self.arrays).items())
        read = [Value(step, leaf) for leaf in sorted(self._wanted(step))]
        behind, arrays = self._laid_out([self.arrays[value] for value in read], [value.shape for value in read])
        self.arrays.update(zip(read, arrays))
        return [*before, loop, *behind]

    def _branch(self, step: Instruction) -> "List[Node]":
        wanted, (_, *needed) = self._wanted(step), self._needed(step)
        shapes = [shape for leaf, shape in enumerate(step.shape.leaves()) if leaf in wanted]
        results = [Array(step.name, shape) for shape in shapes]
        self.arrays.update((Value(step, leaf), array) for leaf, array in zip(sorted(wanted), results))
        arms, ends = [], []
        for computation, operand, read in zip(step.called, step.operands[1:], needed):
            given = {leaf: self.arrays[resolved(operand, leaf)] for leaf in sorted(read)}
            nodes, last = self._called(computation, given, wanted)
            after, last = self._laid_out(last, shapes)
            arms.append([*nodes, *after])
            ends.append(last)
        return [Branch(step.name, self.arrays[resolved(step.operands[0], 0)], arms, ends, results)]

    def _called(self, computation: Computation, given: "Dict[int, Array]",
                wanted: "FrozenSet[int]") -> "Tuple[List[Node], List[Array]]":
        """Return the nodes of a computation that a loop or a branch calls (a body, a condition or an arm), and the
        arrays that hold the wanted leaves of its result. given: the array of each leaf of the parameters that is
        needed.
        """
        shapes = [leaf for p in computation.parameters for leaf in p.shape.leaves()]
        before, arrays = self._laid_out(list(given.values()), [shapes[leaf] for leaf in given])
        laid = dict(zip(given, arrays))
        nodes, results = self.cutter.nodes(computation, [laid.get(leaf) for leaf in range(len(shapes))], True, wanted)
        return [*before, *nodes], results

    def _laid_out(self, arrays: "List[Array]", shapes: "Sequence[Shape]") -> "Tuple[List[Node], List[Array]]":
        nodes: List[Node] = []
        made = []
        for array, shape in zip(arrays, shapes):
            copies, to = self.cutter.copied(array, shape)
            nodes += copies
            made.append(to)
        return nodes, made


def _named_leaves(body: Computation) -> List[str]:
    """Return a name for each leaf of a body's parameter. It is the name of the op that reads the leaf."""
    parameter = body.parameters[0]
    names: Dict[int, str] = {}
    for user in parameter.users:
        if user.opcode == "get-tuple-element" and user.shape.kind == "array":
            before = sum(len(child.leaves()) for child in parameter.shape.children[:user.attributes["index"]])
            names.setdefault(before, user.name)
    return [names.get(n, f"{parameter.name}_{n}") for n in range(len(parameter.shape.leaves()))]


def _without_invariants(loop: Loop, arrays: "Dict[Value, Array]") -> "Dict[Value, Array]":
    """If no iteration changes an array in a loop's state, remove the array from the state. The body then reads the
    array from before the loop. That array also replaces the loop's result, which is removed too. Return, for each value
    in `arrays` whose array is such a result, the array from before the loop.
    """
    same: Dict[Array, Array] = {}
    while True:
        found = {state: begin for begin, state, end in zip(loop.begins, loop.state, loop.ends)
                 if state not in same and same.get(end, end) in (state, begin)}
        if not found:
            break
        same.update(found)
    if not same:
        return {}
    kept = [n for n, state in enumerate(loop.state) if state not in same]
    after = {result: same[state] for result, state in zip(loop.results, loop.state) if state in same}
    substitute([loop], same)
    loop.begins, loop.state, loop.ends, loop.results = (
        [of[n] for n in kept] for of in (loop.begins, loop.state, [same.get(e, e) for e in loop.ends], loop.results))
    return {value: after[array] for value, array in arrays.items() if array in after}


def substitute(nodes: "Sequence[Node]", others: "Dict[Array, Array]") -> None:
    """Replace the arrays that nodes read. others: for each array to be replaced, the array in its place."""
    for node in nodes:
        if isinstance(node, Call):
            node.operands = [others.get(array, array) if array else None for array in node.operands]
        elif isinstance(node, Loop):
            node.begins = [others.get(a, a) for a in node.begins]
            node.ends = [others.get(a, a) for a in node.ends]
            node.predicate = others.get(node.predicate, node.predicate)
        else:
            node.selector = others.get(node.selector, node.selector)
            node.ends = [[others.get(a, a) for a in ends] for ends in node.ends]
        if not isinstance(node, Call):
            for part in parts_of(node):
                substitute(part, others)
