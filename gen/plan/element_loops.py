"""Turn a loop whose elements are independent into one op. In the op, each element runs a loop of its own, in registers.

The loop is a `while` that carries arrays, and its body reads and writes them at the same index. The variables of an
element are the elements of carried arrays on which its next values depend. A variable is an array and a map to an index
in it. The search for variables begins with the results that are used, and ends when no step reads a new variable. For
example, z[.., 0] and z[.., 1] are two variables of one element. A loop that reads neighbouring elements needs ever more
variables, or computes an element more than once. Such a loop stays a loop of the program.

The condition has one of two forms:
1. It depends only on the element's own variables, such as a counter. All elements then make the same number of steps.
2. It is true if any element continues. It is a `reduce` by `or` of a predicate with one value per element, or `not` of
    a `reduce` by `and`. It may be combined by `and` with a predicate of the first form.

In the second form, the body returns select(predicate, new, old) to keep a finished element unchanged. The predicate of
a finished element stays false, so that the element's own loop may end. A variable that the body does not keep in this
way may be a counter, but not a result.

The predicates depend only on exact ops, so a kernel makes the same steps as the reference. A check bounds the errors of
the other ops (gen/bounds/control.py).

The op is `element-loop`.
operands: the first values of all variables, followed by the values that no step changes.
called: one step on scalars, from the values of the operands to the predicate and the next values of the variables.
results: the last values of the first variables.
held: for each variable, true if a finished element keeps it. In the first form, all variables are kept.
trips: the trip count, if it is known.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import combinations, product
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

from gen import algebra
from gen.hlo import Computation, Instruction, Shape, Value, array_shape, tuple_shape
from gen.hlo.graph import root_of
from gen.hlo.launches import resolved
from gen.hlo.opcodes import ELEMENTWISE
from gen.hlo.trips import trips
from gen.plan.partition import compose, identity, only_side, operand_map, to_scalar

OPCODE = "element-loop"
MOST_VARIABLES = 16     # maximum number of variables of an element, so that they stay in registers
MOST_OPS = 512          # maximum number of ops of a step
LIMITED = 16            # a check adds variables and ops to a loop, to limit its steps: this many more are allowed
MOST_PLACES = 8         # maximum number of elements of one array that are computed for one index of the element loop
MOST_REDUCED = 8        # maximum number of elements that a reduce within a step combines
EXACT = ("pred", "f32", "f64", *(f"{sign}{bits}" for sign in "su" for bits in (8, 16, 32, 64)))
UNKNOWN_STEPS = 16      # assumed trip count of a loop whose trip count is not known


class Refused(Exception):
    """Raised with the reason why a loop stays a loop of the program."""


class Key(NamedTuple):
    """A scalar value of a step. The opcode tells its kind:

    an op: `operands` are the indices of scalars.
    state: a variable; `value` is the index of the carried array among the loop's results, `map` the index in the array.
    outside: a value that no step changes; `value` is the index of a carried array or an instruction, `map` the index in
        it.
    constant: `value` is its bits.
    """

    opcode: str
    dtype: str
    operands: Tuple[int, ...] = ()
    attributes: Tuple[Tuple[str, Any], ...] = ()
    value: Any = None
    map: str = ""


class Result(NamedTuple):
    """An array that an element loop (Walk) computes. dropped: the dimensions of the array that the loop's index space
    does not have. One element of the index space computes all elements of the array along these dimensions.
    """

    leaf: int
    dropped: Tuple[int, ...]


@dataclass
class Walk:
    """A loop that each element of one index space runs for itself. Scalars are numbered by their position in `scalars`.

    shape: the index space.
    leaves: the indices, among the results of the `while`, of the arrays that this loop computes.
    results: these arrays, with their dropped dimensions.
    variables: the numbers of the scalars that change from step to step. First come the elements of the results,
        row-major in the dropped dimensions. Then come the other variables on which these elements depend.
    outside: the numbers of the scalars that no step changes.
    ends: for each variable, the number of the scalar that is its next value.
    held: for each variable, true if a finished element keeps it. In the first form, all variables are kept.
    predicate: the number of the scalar that is true if the element continues.
    """

    shape: Shape
    leaves: List[int]
    results: List[Result] = field(default_factory=list)
    scalars: List[Key] = field(default_factory=list)
    variables: List[int] = field(default_factory=list)
    outside: List[int] = field(default_factory=list)
    ends: List[int] = field(default_factory=list)
    held: List[bool] = field(default_factory=list)
    predicate: int = -1
    given: int = 0      # number of variables that are elements of results

    def dtype(self, scalar: int) -> str:
        return self.scalars[scalar].dtype


def walks(loop: Instruction, spare: int = 0) -> "List[Walk]":
    """Return the element loops (walks) that together compute a while. Raise Refused if element loops cannot compute it.
    spare: added to the maximum number of variables, of ops, and of computed elements of an array.
    """
    shapes, body = loop.shape.leaves(), loop.called[1]
    changing = [n for n in range(len(shapes)) if resolved(root_of(body), n) != Value(body.parameters[0], n)]
    wanted = [n for n in used(loop) if n in changing]
    if not any(shapes[n].elements > 1 for n in wanted):
        raise Refused("no result of it is an array")
    for n in changing:
        if shapes[n].tiled or not shapes[n].elements:
            raise Refused(f"{shapes[n].text} is not a plain array")
    refused: List[Refused] = []
    for spaces in _spaces(loop, wanted):
        try:
            found = [_Walker(loop, Walk(space, leaves), changing, spare).run() for space, leaves in spaces]
            computed = Counter()    # type: Counter[int]
            for walk in found:
                for scalar in walk.variables:
                    computed[walk.scalars[scalar].value] += walk.shape.elements
            if any(shapes[n].dims and count > shapes[n].elements + spare for n, count in computed.items()):
                raise Refused("an element reads elements of others")
            return found
        except Refused as error:
            refused.append(error)
    raise refused[0]


Space = Tuple[Shape, List[int]]     # an index space, and the indices of the results that are computed over it


def _spaces(loop: Instruction, wanted: "Sequence[int]") -> "Iterator[List[Space]]":
    """Yield the ways to divide the results among element loops. If the condition depends on all elements, there is one
    element loop, whose index space is that of the predicate.
    """
    shapes = loop.shape.leaves()
    by_shape: Dict[Tuple[Tuple[int, ...], Tuple[int, ...]], List[int]] = {}
    for n in wanted:
        by_shape.setdefault((shapes[n].dims, shapes[n].minor_to_major), []).append(n)
    asked = asked_of(loop.called[0])
    if asked:
        alike = [n for n in wanted if shapes[n].dims == asked.each.shape.dims]
        yield [(shapes[alike[0]] if alike else array_shape("pred", asked.each.shape.dims), list(wanted))]
        return
    yield [(shapes[leaves[0]], leaves) for leaves in by_shape.values()]
    arrays, scalars = [n for n in wanted if shapes[n].dims], [n for n in wanted if not shapes[n].dims]
    spaces = {shapes[n].dims: shapes[n] for n in arrays}
    for n in arrays:
        for k, size in reversed(list(enumerate(shapes[n].dims))):
            dims = (*shapes[n].dims[:k], *shapes[n].dims[k + 1:])
            if size <= MOST_PLACES and math.prod(dims) > 1:
                spaces.setdefault(dims, array_shape(shapes[n].dtype, dims))
    for space in spaces.values():
        yield [(space, arrays), *[(array_shape("pred", ()), scalars)] * bool(scalars)]


def _dropped(space: "Tuple[int, ...]", dims: "Tuple[int, ...]") -> "Optional[Tuple[int, ...]]":
    """Return the indices of the dimensions of `dims` that must be dropped to leave `space`. If several choices fit,
    return the last dimensions. Return None if no choice fits, or if the dropped dimensions have too many elements.
    """
    ways = combinations(reversed(range(len(dims))), len(dims) - len(space)) if len(dims) >= len(space) else ()
    for way in ways:
        if tuple(size for k, size in enumerate(dims) if k not in way) == space and math.prod(
                dims[k] for k in way) <= MOST_PLACES:
            return tuple(sorted(way))
    return None


def used(loop: Instruction) -> "List[int]":
    """Return the indices of the loop's results that are used. A result is used if an op reads it, or if the loop's
    computation returns it.
    """
    found: Set[int] = set()
    waiting = [(loop, 0)]
    while waiting:
        value, first = waiting.pop()
        last = value.computation is not None and value is value.computation.root
        if last or any(user.opcode != "get-tuple-element" for user in value.users):
            found.update(range(first, first + len(value.shape.leaves())))
        for user in value.users:
            if user.opcode == "get-tuple-element":
                before = sum(len(child.leaves()) for child in value.shape.children[:user.attributes["index"]])
                if user.shape.kind == "tuple":
                    waiting.append((user, first + before))
                elif user.users or user.computation is not None and user is user.computation.root:
                    found.add(first + before)
    return sorted(found)


class _Walker:
    """The search for the variables and the step of one element loop (`walk`)."""

    def __init__(self, loop: Instruction, walk: Walk, changing: "Sequence[int]", spare: int) -> None:
        self.loop, self.walk, self.changing, self.spare = loop, walk, frozenset(changing), spare
        self.condition, self.body = loop.called
        self.own, self.nowhere = identity(walk.shape.dims), to_scalar(walk.shape.dims)
        self.numbers: Dict[Key, int] = {}
        self.known: Dict[Tuple[Value, str], int] = {}
        self.inexact: Set[int] = set()      # numbers of the scalars that ops compute with an error

    def run(self) -> Walk:
        walk, shapes = self.walk, self.loop.shape.leaves()
        for leaf in walk.leaves:
            dropped = _dropped(walk.shape.dims, shapes[leaf].dims)
            if dropped is None:
                raise Refused(f"{shapes[leaf].text} has no element for each of {list(walk.shape.dims)}")
            walk.results.append(Result(leaf, dropped))
            for at in product(*(range(shapes[leaf].dims[k]) for k in dropped)):
                index = self.at(shapes[leaf].dims, dict(zip(dropped, at))) if shapes[leaf].dims else self.nowhere
                self.add(Key("state", shapes[leaf].dtype, (), (), leaf, index))
        walk.given = len(walk.variables)
        asked = asked_of(self.condition)
        parts = []
        if asked:
            own = self.scalar(asked.each, self.own)
            parts.append(self.add(Key("not", "pred", (own,))) if asked.inverted else own)
        parts += [self.scalar(part, self.nowhere) for part in _conjuncts(self.condition)
                  if not asked or part != asked.part]
        walk.predicate = parts[0]
        for part in parts[1:]:
            walk.predicate = self.add(Key("and", "pred", (walk.predicate, part)))
        for scalar in walk.variables:  # the list grows during the loop, because a scalar may need further variables
            key = walk.scalars[scalar]
            walk.ends.append(self.scalar(resolved(root_of(self.body), key.value), key.map))
        # In the first form, all elements finish after the same step, and keep all values.
        walk.held = [not asked] * len(walk.variables)
        if asked:
            self.hold(parts[0])
        self.check_predicate()
        return walk

    def check_predicate(self) -> None:
        """Raise Refused if rounding may change the number of steps. A check knows for whole arrays whether they are
        exact, so all variables of an array count as exact, or none.
        """
        walk = self.walk
        ends: Dict[int, List[int]] = {}
        for variable, end in zip(walk.variables, walk.ends):
            ends.setdefault(walk.scalars[variable].value, []).append(end)
        seen, waiting = set(), [walk.predicate]
        while waiting:
            scalar = waiting.pop()
            key = walk.scalars[scalar]
            if scalar in self.inexact:
                raise Refused(f"the number of steps depends on {key.opcode}, which is not exact")
            if scalar not in seen:
                seen.add(scalar)
                waiting += key.operands
                waiting += ends[key.value] if key.opcode == "state" else []

    def at(self, dims: "Tuple[int, ...]", places: "Dict[int, int]") -> str:
        """Return the map from the element loop's index to the index in an array that has more dimensions. places: the
        constant index along each dimension that the element loop does not have.
        """
        if not places:
            return self.own
        return compose(self.own, algebra.substitute(identity(dims), **{f"i{k}": at for k, at in places.items()}))

    def hold(self, asked: int) -> None:
        """Find the variables that keep their values once an element is finished, which is when its predicate is false.
        The next value of such a variable is the variable itself, or select(predicate, new value, variable). Replace
        this select by the new value. Raise Refused if a result, or a variable on which the predicate depends, is not
        kept. asked: the index of the predicate in `scalars`.
        """
        walk = self.walk
        for n, (variable, end) in enumerate(zip(walk.variables, walk.ends)):
            key = walk.scalars[end]
            walk.held[n] = end == variable or (key.opcode == "select" and key.operands[0] == asked
                                               and key.operands[2] == variable)
            if walk.held[n] and end != variable:
                walk.ends[n] = key.operands[1]
        kept = {variable for variable, held in zip(walk.variables, walk.held) if held}
        if not {*walk.variables[:walk.given], *self.reads(asked)} <= kept:
            raise Refused("a finished element does not keep its values")

    def reads(self, scalar: int) -> Set[int]:
        """Return the variables on which a scalar depends, as indices into `scalars`."""
        return {n for n in _below(self.walk.scalars, [scalar]) if self.walk.scalars[n].opcode == "state"}

    def add(self, key: Key) -> int:
        """Return the index of a scalar in `scalars`. Add the scalar if it is new. Raise Refused if kernels do not
        compute its type exactly, or if the element loop has too many variables or ops.
        """
        walk = self.walk
        if key.opcode == "not" and walk.scalars[key.operands[0]].opcode == "not":
            return walk.scalars[key.operands[0]].operands[0]
        if key not in self.numbers:
            if key.dtype not in EXACT:
                raise Refused(f"{key.dtype} is not computed exactly in a kernel")
            self.numbers[key] = len(walk.scalars)
            walk.scalars.append(key)
            if key.opcode in ("state", "outside"):
                (walk.variables if key.opcode == "state" else walk.outside).append(self.numbers[key])
            if max(len(walk.variables), len(walk.outside)) > MOST_VARIABLES + self.spare:
                raise Refused(f"an element has more than {MOST_VARIABLES} variables")
            if len(walk.scalars) > MOST_OPS + self.spare:
                raise Refused(f"a step has more than {MOST_OPS} ops for an element")
        return self.numbers[key]

    # ---- from arrays to scalars ----

    def scalar(self, value: Value, index: str) -> int:
        """Return the index of the scalar that is an element of the array `value`. index: the map from the index of the
        element loop to the index in the array.
        """
        waiting = [(value, index)]
        while waiting:
            at = waiting[-1]
            if at not in self.known:
                source = self.source(*at)
                needs = [source] if source != at else self.operands(*at)
                missing = [need for need in needs if need not in self.known]
                if missing:
                    waiting += missing
                    continue
                self.known[at] = self.known[source] if source != at else self.computed(
                    *at, [self.known[need] for need in needs])
            waiting.pop()
        return self.known[value, index]

    def source(self, value: Value, index: str) -> "Tuple[Value, str]":
        """Return the array from which an element comes, and the map to its index there. Ops that only move data are
        skipped.
        """
        while True:
            value = resolved(value.producer, value.leaf)
            if not value.shape.dims:
                index = self.nowhere
            side = only_side(value.producer, index) if value.producer.opcode != "get-tuple-element" else None
            if side is None:
                return value, index
            index = compose(index, operand_map(value.producer, side))
            value = Value(value.producer.operands[side])

    def operands(self, value: Value, index: str) -> "List[Tuple[Value, str]]":
        """Return the values that an op reads to compute one element, each with the map to its index. Ops that only move
        data are skipped.
        """
        i = value.producer
        if i.opcode in ("parameter", "iota", "constant"):
            return []
        if i.opcode == "reduce":
            if len(i.operands) > 2 or math.prod(self.reduced(i)) > MOST_REDUCED:
                raise Refused(f"{i.name} combines elements")
            step = compose(index, operand_map(i, 0))
            names = [v.name for v in algebra.info(step).of_kind("range")]
            sizes = [range(v.hi + 1) for v in algebra.info(step).of_kind("range")]
            places = [algebra.substitute(step, **dict(zip(names, at))) if names else step for at in product(*sizes)]
            return [self.source(Value(i.operands[1]), self.nowhere),
                    *(self.source(Value(i.operands[0]), place) for place in places)]
        self.check(i)
        return [self.source(Value(o), compose(index, operand_map(i, k))) for k, o in enumerate(i.operands)]

    @staticmethod
    def reduced(i: Instruction) -> "List[int]":
        return [i.operands[0].shape.dims[k] for k in i.attributes["dimensions"]]

    @staticmethod
    def check(i: Instruction) -> None:
        """Raise Refused for an op that reads the bits of a NaN, or that does not compute element by element."""
        if i.opcode not in ELEMENTWISE:
            raise Refused(f"{i.name} is a {i.opcode}")
        if _has_floats(i) and (i.opcode == "bitcast-convert" or i.attributes.get("type") == "TOTALORDER"):
            raise Refused(f"{i.name} reads the bits of a NaN")
        if any(o.shape.dims not in ((), i.shape.dims) for o in i.operands):
            raise Refused(f"{i.name} depends on several elements")

    def computed(self, value: Value, index: str, x: "List[int]") -> int:
        i, dtype = value.producer, value.shape.dtype
        if i.opcode == "parameter":
            kind = "state" if value.leaf in self.changing else "outside"
            return self.add(Key(kind, dtype, (), (), value.leaf, index))
        if i.opcode == "constant" and len(set(i.literal or [])) == 1:
            return self.add(Key("constant", dtype, value=(i.literal or [])[0]))
        if i.opcode in ("iota", "constant"):
            return self.add(Key("outside", dtype, (), (), i, index))
        if i.opcode != "reduce":
            return self.add_op(i, x)
        total, *elements = x
        for element in elements:
            total = self.combined(i.called[0], [total, element])
        return total

    def combined(self, combiner: Computation, x: "List[int]") -> int:
        """Add the combiner of a reduce, applied to two scalars; return the index of the scalar that it computes."""
        known: Dict[Instruction, int] = {}
        for i in combiner.instructions:
            if i.opcode == "parameter":
                known[i] = x[i.parameter_number or 0]
            elif i.opcode == "constant":
                known[i] = self.add(Key("constant", i.shape.dtype, value=(i.literal or [0])[0]))
            else:
                self.check(i)
                known[i] = self.add_op(i, [known[o] for o in i.operands])
        return known[root_of(combiner)]

    def add_op(self, i: Instruction, x: "Sequence[int]") -> int:
        row = ELEMENTWISE[i.opcode]
        attributes = tuple((name, i.attributes[name]) for name in row.attributes if name in i.attributes)
        scalar = self.add(Key(i.opcode, i.shape.dtype, tuple(x), attributes))
        if (row.ulps or 0) > 0.5 and _has_floats(i):
            self.inexact.add(scalar)
        return scalar


def _has_floats(i: Instruction) -> bool:
    return any(o.shape.dtype in ("f32", "f64") for o in i.operands)


class Asked(NamedTuple):
    """The part of a loop's condition that depends on all elements.

    each: the predicate with one value per element.
    inverted: true if an element continues where the predicate is false.
    part: the scalar that the condition computes from all values of the predicate.
    """

    each: Value
    inverted: bool
    part: Value


def _conjuncts(condition: Computation) -> "List[Value]":
    """Return the predicates that the condition combines by `and`."""
    parts, waiting = [], [Value(root_of(condition))]
    while waiting:
        value = waiting.pop(0)
        value = resolved(value.producer, value.leaf)
        if value.producer.opcode == "and":
            waiting[:0] = map(Value, value.producer.operands)
        else:
            parts.append(value)
    return parts


def asked_of(condition: Computation) -> "Optional[Asked]":
    """Return the part of a loop's condition that combines a predicate of all elements; None if there is no such part.
    """
    return next((asked for asked in map(_asked, _conjuncts(condition)) if asked), None)


def _asked(part: Value) -> "Optional[Asked]":
    i, inverted = part.producer, False
    if i.opcode == "not":
        i, inverted = resolved(i.operands[0], 0).producer, True
    if i.opcode != "reduce" or len(i.operands) != 2 or i.operands[0].shape.dtype != "pred" or i.shape.dims:
        return None
    init, combiner = i.operands[1], root_of(i.called[0])
    plain = sorted(map(id, combiner.operands)) == sorted(map(id, i.called[0].parameters))
    of_any, of_all = ("or", "add", "maximum"), ("and", "multiply", "minimum")
    if not plain or combiner.opcode not in (of_all if inverted else of_any) or (
            init.opcode, init.literal) != ("constant", [int(inverted)]):
        return None
    return Asked(resolved(i.operands[0], 0), inverted, part)


def _below(scalars: "Sequence[Key]", roots: "Sequence[int]") -> "Set[int]":
    """Return the indices of the scalars in `roots` and of all scalars on which these depend."""
    found, waiting = set(), list(roots)
    while waiting:
        n = waiting.pop()
        if n not in found:
            found.add(n)
            waiting += scalars[n].operands
    return found


# ---- replacing a while by element-loop ops ----

def lowered(computation: Computation) -> Computation:
    """Return the computation with an `element-loop` in place of each loop that can become one. Return the computation
    itself if it has no loop.
    """
    if not any(i.opcode == "while" for i in computation.instructions):
        return computation
    copied = replace(computation, instructions=[], parameters=[], root=None)
    known: Dict[Instruction, Instruction] = {}
    leaves: Dict[Value, Instruction] = {}
    for i in computation.instructions:
        if i.opcode == "while":
            leaves.update(_loop(copied, i, known))
            if i.shape.kind == "array":
                known[i] = leaves[Value(i, 0)]
        elif i.opcode == "get-tuple-element" and resolved(i, 0).producer.opcode == "while":
            if resolved(i, 0) in leaves:        # `leaves` has only the results of loops that are used
                known[i] = leaves[resolved(i, 0)]
        elif i is computation.root or i.opcode != "tuple" or any(user.opcode != "while" for user in i.users):
            known[i] = copied.add_copy(i, [known[o] for o in i.operands])
    copied.parameters = [known[parameter] for parameter in computation.parameters]
    copied.root = known[root_of(computation)]
    return copied


def _loop(copied: Computation, loop: Instruction,
          known: "Dict[Instruction, Instruction]") -> "Dict[Value, Instruction]":
    """Add the ops that replace a loop. Return, for each used result of the loop, the op that computes it."""
    def add(name: str, opcode: str, shape: Shape, operands: "List[Instruction]", **attributes: Any) -> Instruction:
        return copied.add(Instruction(f"{loop.name}.{name}", opcode, shape, operands, attributes, line=loop.line,
                                      col=loop.col))

    def first(leaf: int) -> Instruction:
        value = resolved(loop.operands[0], leaf)
        made = known[value.producer]
        return made if made.shape.kind == "array" else add(f"first{leaf}", "get-tuple-element", value.shape, [made],
                                                           index=value.leaf)
    count, results = trips(loop), {}
    for n in used(loop):
        if resolved(root_of(loop.called[1]), n) == Value(loop.called[1].parameters[0], n):
            results[Value(loop, n)] = first(n)      # no step changes this value
    for number, walk in enumerate(walks(loop, LIMITED)):
        dims, order = walk.shape.dims, walk.shape.minor_to_major
        operands: List[Instruction] = []
        for scalar in (*walk.variables, *walk.outside):
            key = walk.scalars[scalar]
            source = first(key.value) if isinstance(key.value, int) else copied.add_copy(
                key.value, key.value.operands, name=f"{loop.name}.{key.value.name}")
            if source.shape.dims and not (key.map == identity(dims) and source.shape.dims == dims):
                source = add(f"at{len(operands)}", "bitcast", array_shape(key.dtype, dims, order), [source],
                             map=key.map)
            operands.append(source)
        shapes = [array_shape(walk.dtype(scalar), dims, order) for scalar in walk.variables[:walk.given]]
        made = add(f"elements{number}", OPCODE, tuple_shape(shapes), operands, trips=count, held=tuple(walk.held))
        made.called = [_step(walk, loop.name)]
        given = iter([add(f"result{number}_{k}", "get-tuple-element", shape, [made], index=k)
                      for k, shape in enumerate(shapes)])
        for leaf, dropped in walk.results:
            whole = loop.shape.leaves()[leaf]
            sizes = [whole.dims[k] for k in dropped]
            parts = [next(given) for _ in range(math.prod(sizes))]
            box = [1 if k in dropped else size for k, size in enumerate(whole.dims)]
            if dropped:
                one = array_shape(whole.dtype, tuple(box), whole.minor_to_major)
                parts = [add(f"part{leaf}_{n}", "reshape", one, [part]) for n, part in enumerate(parts)]
            for k, size in reversed(list(zip(dropped, sizes))):
                box[k] = size
                parts = [add(f"joined{leaf}_{k}_{n}", "concatenate",
                             array_shape(whole.dtype, tuple(box), whole.minor_to_major), parts[n * size:(n + 1) * size],
                             dimensions=(k,)) for n in range(len(parts) // size)]
            (results[Value(loop, leaf)],) = parts
    return results


def _step(walk: Walk, name: str) -> Computation:
    """Return one step as a computation on scalars: the predicate, then the next value of each variable."""
    step = Computation(f"{name}.step")
    known: Dict[int, Instruction] = {}
    roots = [walk.predicate, *walk.ends]
    for number, scalar in enumerate((*walk.variables, *walk.outside)):
        known[scalar] = step.add_parameter(f"x{number}", array_shape(walk.dtype(scalar), ()))
    for n in sorted(_below(walk.scalars, roots)):       # the operands of a scalar have smaller indices than the scalar
        key = walk.scalars[n]
        if key.opcode not in ("state", "outside"):
            known[n] = step.add(Instruction(
                f"t{n}", key.opcode, array_shape(key.dtype, ()), [known[o] for o in key.operands], dict(key.attributes),
                literal=[key.value] if key.opcode == "constant" else None))
    shapes = [known[n].shape for n in roots]
    step.root = step.add(Instruction("next", "tuple", tuple_shape(shapes), [known[n] for n in roots]))
    return step


def refusal(loop: Instruction) -> str:
    """Return the reason why a loop stays a loop of the program; "" if it can run inside a kernel."""
    try:
        walks(loop)
    except Refused as refused:
        return str(refused)
    return ""


def steps(op: Instruction) -> int:
    """Return the trip count of an `element-loop`, or an estimate if it is not known."""
    return estimate(op.attributes["trips"])


def estimate(trip_count: Optional[int]) -> int:
    """Return the trip count, or an estimate if it is None."""
    return UNKNOWN_STEPS if trip_count is None else trip_count
