"""Decide how the combiner of a reduce may be applied, and from which values partial results may start. It may be
applied to elements in any order, to contiguous parts in order, or only to one element after another.

A combiner f takes k accumulators and k elements and returns k accumulators. `analyse` divides the k components into
groups that do not read each other's values. For each group, one of three rules applies. The combiner allows what all
groups allow.

1. ONE OP: f(a, x) is add, multiply, maximum, minimum, and, or, xor of a and x, with either operand first.
   On integers and pred these ops are commutative and associative. On floats, another order changes the rounding of a
   sum or a product. It changes a maximum or a minimum only in the payload of a NaN or the sign of a zero (the first of
   two zeros wins, see gen/reference). The error bound of the reference allows these differences if every component is
   one op. Otherwise the bound assumes that sums and products of floats take the elements in order, so kernels must do
   so. Sums of f16 and bf16 are accumulated in f32 and rounded once at the end, so their order is as free as that of f32
   sums.
   Partial results start from init if it is constant and f(init, init) = init, else from the identity:
       add: -0.0 for floats (not 0.0, as 0.0 + -0.0 is 0.0), otherwise 0; multiply: 1; maximum: -inf or the minimum
       integer; minimum: +inf or the maximum integer; and: all bits set; or, xor: 0.
   A NaN is combined like any other value: maximum(-inf, NaN) is NaN.
2. ONLY COMPARISONS: f consists of compare, select, maximum, minimum, clamp, copies, tuples, constants, and ops on pred.
   Then each result is an input or a constant. Which input or constant it is depends only on the order of the values, on
   which of them are NaN, and on the signs of zeros. So a law about n elements is proved by finitely many cases, in
   which values occur in every possible order. The values are all constants, both zeros, NaNs of both signs, and some
   values of each gap: a gap lies between two neighbours among these values, or between one of them and the end of the
   type. All n elements may lie in one gap, so n values are taken from each gap, and n times m values if m components
   are compared with each other. Associativity needs n = 3. If there are more than LIMIT cases, nothing is proved and
   the order is kept. There are three levels of equality. At level 0, values are equal if their bits are equal. At level
   1, all NaNs are equal too. At level 2, -0.0 and 0.0 are equal too; this level is used only if no op after the reduce
   can distinguish them. At levels 1 and 2, f must map equal arguments to equal results. Partial results start from init
   if f(init, init) = init and f(f(init, x), init) = f(init, x) for every x. If init is not constant, this must hold for
   all values of init; the entry of `start` is then None, which stands for init's value.
3. ANY OTHER f is applied to the elements in order, one after another.
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any, Callable, Dict, Hashable, List, NamedTuple, Optional, Sequence, Set, Tuple

from gen.hlo import Instruction, dtypes, zero_sign_matters
from gen.hlo.graph import literal_of, root_of

# maximum number of cases in a proof; a case is one value for each component of an element. f is evaluated for all pairs
# of cases. The results for triples of cases are looked up in the table of these results.
LIMIT = 128

ONE_OP = frozenset("add multiply maximum minimum and or xor".split())
COMPARISONS = frozenset("compare select maximum minimum clamp constant parameter tuple get-tuple-element".split())
PRED: Dict[str, Callable[..., int]] = {
    "add": operator.or_, "or": operator.or_, "maximum": operator.or_, "multiply": operator.and_,
    "and": operator.and_, "minimum": operator.and_, "xor": operator.xor, "not": lambda a: a ^ 1}


@dataclass(frozen=True)
class Combiner:
    """The orders in which a combiner may be applied.

    free: elements may be combined in any order and grouping; floats that are added or multiplied may then differ by
        rounding
    free_but_nan: true if elements may be combined in any order and grouping as long as no element and no init value is
        a NaN
    associative: contiguous parts may be reduced separately, if their results are combined in order
    start: for each component, the bit pattern from which the accumulator of each part may start. In the list, None
        stands for the value of init, if that is not a constant. If the list itself is None, a part must start from its
        first element.
    apply_init: true if the combination of all parts must be combined with init once more
    reason: one line that says why the combiner is free or not
    """

    free: bool
    free_but_nan: bool
    associative: bool
    start: Optional[List[Optional[int]]]
    apply_init: bool
    reason: str

    @property
    def starts_known(self) -> bool:
        """Return true if the start value of each component's partial results is known."""
        return self.start is not None and None not in self.start

    def start_of(self, component: int) -> int:
        """Return the bit pattern from which partial results of a component start. starts_known must be true."""
        pattern = self.start[component] if self.start else None
        assert pattern is not None
        return pattern


def analyse(instruction: Instruction) -> Combiner:
    """Return the orders in which the combiner of a reduce may be applied, given its init values."""
    body = _Body(instruction)
    odd = next((k for k in range(body.half) if body.dtypes[k] != body.dtypes[body.half + k]), None)
    if odd is not None:
        return Combiner(False, False, False, None, True, f"in order: an accumulator is {body.dtypes[odd]}, its element "
                                                         f"{body.dtypes[body.half + odd]}")
    groups = body.groups()
    simple = all(body.one_op(k) for k in range(body.half))
    combiners = [_one_op(body, group[0], simple) if body.one_op(group[0]) and len(group) == 1
                 and (simple or not body.inexact(group[0])) else _compared(body, group) for group in groups]
    starts: Optional[Dict[int, Optional[int]]] = {}
    for group, combiner in zip(groups, combiners):
        starts = None if starts is None or combiner.start is None else {**starts, **dict(zip(group, combiner.start))}
    free, but_nan, associative = (all(getattr(combiner, law) for combiner in combiners)
                                  for law in ("free", "free_but_nan", "associative"))
    reasons = [combiner.reason
               for combiner in sorted(combiners, key=lambda combiner: combiner.free_but_nan + combiner.associative)
               if combiner.free == free]
    if not (but_nan or associative):
        starts = None
    return Combiner(free, but_nan, associative, None if starts is None else [starts[k] for k in range(body.half)],
                    starts is None or any(combiner.apply_init for combiner in combiners),
                    f"any order: {'; '.join(dict.fromkeys(reasons))}" if free else f"in order: {reasons[0]}")


# ---- the computation -----------------------------------------------------------------------------------------------

def _through(i: Instruction) -> Instruction:
    """Return the value that reaches `i` through copies and through get-tuple-element of a tuple."""
    while True:
        if i.opcode == "copy":
            i = i.operands[0]
        elif i.opcode == "get-tuple-element" and _through(i.operands[0]).opcode == "tuple":
            i = _through(i.operands[0]).operands[i.attributes["index"]]
        else:
            return i


class _Body:
    """The combiner of a reduce: the ops of its components, and their values for given arguments."""

    def __init__(self, instruction: Instruction) -> None:
        self.instruction = instruction
        self.half = len(instruction.operands) // 2
        computation = instruction.called[0]
        root = _through(root_of(computation))
        self.roots = [_through(o) for o in root.operands] if root.opcode == "tuple" else [root]
        self.parameters = computation.parameters
        self.dtypes = [p.shape.dtype for p in self.parameters]
        self.inits = [_constant(o) for o in instruction.operands[self.half:]]

    def ops(self, group: Sequence[int]) -> List[Instruction]:
        """Return all ops from which the components in `group` are computed, operands first."""
        done: Dict[int, Instruction] = {}
        waiting = [(self.roots[k], False) for k in reversed(group)]
        while waiting:
            i, ready = waiting.pop()
            if ready:
                done.setdefault(id(i), i)
            elif id(i) not in done:
                waiting.append((i, True))
                waiting += [(_through(o), False) for o in i.operands]
        return list(done.values())

    def groups(self) -> List[List[int]]:
        """Return the groups of components that read each other's values, ordered by first component."""
        groups: List[Set[int]] = []
        for k in range(self.half):
            joined = {k} | {(i.parameter_number or 0) % self.half for i in self.ops([k]) if i.opcode == "parameter"}
            for group in [g for g in groups if g & joined]:
                groups.remove(group)
                joined |= group
            groups.append(joined)
        return sorted(sorted(group) for group in groups)

    def one_op(self, k: int) -> bool:
        """Return true if the combiner computes component k by one op from accumulator k and element k."""
        root = self.roots[k]
        return root.opcode in ONE_OP and sorted(id(_through(o)) for o in root.operands) == sorted(
            id(self.parameters[n]) for n in (k, self.half + k))

    def inexact(self, k: int) -> bool:
        """Return true if the order of elements can change rounding or a zero's sign in component k, which is one op."""
        return dtypes.TABLE[self.dtypes[k]].kind in ("float", "complex")

    def function(self, group: Sequence[int]) -> "Callable[[Tuple[int, ...], Tuple[int, ...]], Tuple[int, ...]]":
        """Return a Python function that evaluates the combiner. Its arguments are the accumulators and the elements of
        the operands in `group`; its results are the new accumulators. All of them are bit patterns.
        """
        steps = [(id(i), _step(i), [id(_through(o)) for o in i.operands]) for i in self.ops(group)
                 if i.opcode != "parameter"]
        sources = [id(self.parameters[k]) for k in group] + [id(self.parameters[self.half + k]) for k in group]
        results = [id(self.roots[k]) for k in group]

        def call(a: Tuple[int, ...], x: Tuple[int, ...]) -> Tuple[int, ...]:
            values = dict(zip(sources, a + x))
            for target, step, operands in steps:
                values[target] = step(*[values[o] for o in operands])
            return tuple(values[r] for r in results)

        return call


class Component(NamedTuple):
    """A value that a reduce or scan computes.

    hero: the index of the reduce or scan in the nest
    number: the index of the value among the results of this reduce or scan
    """

    hero: int
    number: int
    dtype: str


def components(heroes: Sequence[Instruction]) -> List[Component]:
    """Return the results of all heroes (reduces or scans), first all results of the first hero."""
    return [Component(h, k, hero.shape.leaves()[k].dtype) for h, hero in enumerate(heroes)
            for k in range(len(hero.operands) // 2)]


def _constant(i: Instruction) -> Optional[int]:
    """Return the bit pattern of a constant scalar; None for other values."""
    i = _through(i)
    return i.literal[0] if i.opcode == "constant" and i.literal else None


# ---- values: bit patterns ------------------------------------------------------------------------------------------

_decode = lru_cache(maxsize=None)(dtypes.decode)


def _is_float(dtype: str) -> bool:
    return dtypes.TABLE[dtype].kind == "float"


def _total(bits: int, dtype: str) -> int:
    """Return an integer that orders bit patterns by the type's total order; for floats: -NaN, -inf, .., -0, 0, ..,
    inf, NaN.
    """
    if not _is_float(dtype):
        return int(dtypes.decode_real(bits, dtype))
    sign = 1 << (dtypes.TABLE[dtype].bits - 1)
    return sign - 1 - bits if bits & sign else bits


def _pattern(total: int, dtype: str) -> int:
    """Return the bit pattern for which _total returns `total`."""
    size = dtypes.TABLE[dtype].bits
    if _is_float(dtype) and total < 0:
        return (1 << (size - 1)) - 1 - total
    return total & ((1 << size) - 1)


def _step(i: Instruction) -> "Callable[..., int]":
    """Return an op that rule 1 or 2 (see the module's docstring) allows, as a function of bit patterns."""
    opcode, of = i.opcode, i.operands[-1].shape.dtype if i.operands else i.shape.dtype
    if opcode == "constant":
        return lambda: literal_of(i)[0]
    if opcode == "select":
        return lambda p, a, b: a if p else b
    if opcode == "compare":
        decide = getattr(operator, i.attributes["direction"].lower())
        key = _total if i.attributes.get("type") == "TOTALORDER" else _decode
        return lambda a, b: int(decide(key(a, of), key(b, of)))
    if of == "pred" and opcode in PRED:
        return PRED[opcode]
    if opcode in ("maximum", "minimum"):
        return lambda a, b: _extreme(opcode, a, b, of)
    if opcode == "clamp":
        return lambda low, x, high: _extreme("minimum", _extreme("maximum", x, low, of), high, of)
    return lambda a, b: _arithmetic(opcode, a, b, of)


def _extreme(opcode: str, a: int, b: int, dtype: str) -> int:
    x, y = _decode(a, dtype), _decode(b, dtype)
    if x != x or y != y:
        return dtypes.encode(complex(math.nan, math.nan), dtype) if dtypes.is_complex(dtype) else a if x != x else b
    before, after = ((value.real, value.imag) for value in (x, y))
    return a if (before >= after if opcode == "maximum" else before <= after) else b


def _arithmetic(opcode: str, a: int, b: int, dtype: str) -> int:
    if opcode in ("and", "or", "xor"):
        return getattr(operator, opcode + ("_" if opcode != "xor" else ""))(a, b)
    value = (operator.add if opcode == "add" else operator.mul)(_decode(a, dtype), _decode(b, dtype))
    if dtypes.TABLE[dtype].kind in ("sint", "uint"):
        return int(value) & ((1 << dtypes.TABLE[dtype].bits) - 1)
    return dtypes.encode(value, dtype)


def _text(values: Sequence[int], kinds: Sequence[str]) -> str:
    words = ", ".join("nan" if _decode(v, t) != _decode(v, t) else dtypes.format_value(v, t)
                      for v, t in zip(values, kinds))
    return f"({words})" if len(values) > 1 else words


# ---- rule 1 --------------------------------------------------------------------------------------------------------

def identity(opcode: str, dtype: str) -> Optional[int]:
    """Return the bit pattern of an op's identity element, or None. Combined with it, a NaN stays a NaN."""
    kind = dtypes.TABLE[dtype]
    if opcode == "xor" or opcode == "or":
        return 0
    if opcode == "and":
        return (1 << kind.bits) - 1
    if kind.kind == "complex":   # 1 + 0i is no identity, because it changes infinities and signs of zeros
        return dtypes.encode(complex(-0.0, -0.0), dtype) if opcode == "add" else None
    if opcode in ("add", "multiply"):
        return dtypes.encode((-0.0 if kind.kind == "float" else 0) if opcode == "add" else 1, dtype)
    low = opcode == "maximum"
    if kind.kind == "float":
        return dtypes.encode(float("-inf") if low else float("inf"), dtype) if kind.style == "ieee" else None
    return dtypes.encode(dtypes.integer_range(dtype)[0 if low else 1], dtype)


def _one_op(body: _Body, k: int, simple: bool) -> Combiner:
    """Return the combiner of component k, which is one op.

    simple: all other components are one op too
    """
    opcode, dtype, init = body.roots[k].opcode, body.dtypes[k], body.inits[k]
    rounds = body.inexact(k) and opcode in ("add", "multiply")
    assert simple or not rounds
    what = f"{opcode} of {dtype}" + (", up to rounding" if rounds else "")
    if init is not None and _sameness(1, dtype)(_step(body.roots[k])(init, init)) == _sameness(1, dtype)(init):
        return Combiner(True, True, True, [init], False, what)
    start = identity(opcode, dtype)
    return Combiner(True, True, True, None if start is None else [start], True, what)


# ---- rule 2 --------------------------------------------------------------------------------------------------------

def _sameness(level: int, dtype: str) -> "Callable[[int], Hashable]":
    """Return a key function: two bit patterns count as equal if their keys are. At level 0 all bits must be equal; at
    level 1 all NaNs are equal; at level 2 both zeros are equal too.
    """
    if not level or dtypes.TABLE[dtype].kind not in ("float", "complex"):
        return lambda bits: bits

    def key(bits: int) -> Hashable:
        value = _decode(bits, dtype)
        return "nan" if value != value else 0 if level == 2 and value == 0 else bits

    return key


def _why_not(ops: Sequence[Instruction]) -> str:
    """Return the reason why rule 2 does not apply to the ops of a group; "" if it applies."""
    for i in ops:
        of = i.operands[-1].shape.dtype if i.operands else i.shape.dtype
        if of and (dtypes.TABLE[of].kind == "complex" or dtypes.TABLE[of].style not in ("", "ieee")):
            return f"values of {of} with other ops"
        if i.opcode not in COMPARISONS and not (of == "pred" and i.opcode in PRED):
            return f"'{i.opcode}' of {of} with other ops"
    total = any(i.attributes.get("type") == "TOTALORDER" for i in ops)
    if total and any(i.opcode in ("maximum", "minimum", "clamp") and _is_float(i.shape.dtype) for i in ops):
        return "TOTALORDER reads the bits of a NaN that 'maximum' is free to choose"
    return ""


@dataclass
class _Class:
    """Components whose values are compared with each other or copied to each other.

    constants: bit patterns of the constants that they are compared or combined with
    total: true if a comparison has the type TOTALORDER
    """

    dtype: str
    components: int
    constants: Set[int]
    total: bool

    def values(self, elements: int, more: Sequence[int] = ()) -> List[int]:
        """Return the values, as bit patterns, that a proof about `elements` elements tries for their components. They
        include the constants and `more`. There are enough other values that the components occur in every possible
        order, among each other and relative to the constants and `more`.
        """
        bits = dtypes.TABLE[self.dtype].bits
        if self.dtype == "pred":
            return [0, 1]
        fixed = {_total(c, self.dtype) for c in [*self.constants, *more]}
        count = elements * self.components
        # ranges of values: the first value, the last value, and how many values to take from the range
        gaps = [(_total(1 << (bits - 1), self.dtype), _total((1 << (bits - 1)) - 1, self.dtype), count)]
        if _is_float(self.dtype):
            infinity = _total(dtypes.encode(float("inf"), self.dtype), self.dtype)
            nans = count if self.total else 1
            gaps = [(-(1 << (bits - 1)), -infinity - 2, nans), (-infinity - 1, -2, count), (1, infinity, count),
                    (infinity + 1, (1 << (bits - 1)) - 1, nans)]
            fixed |= {-1, 0}
        elif dtypes.TABLE[self.dtype].kind == "uint":
            gaps = [(0, (1 << bits) - 1, count)]
        keys = set(fixed)
        for first, last, many in gaps:
            inside = sorted(c for c in fixed if first <= c <= last)
            for low, high in zip([first - 1, *inside], [*inside, last + 1]):
                room = high - low - 1
                keys |= {low + 1 + room * j // many for j in range(many)} if room > many else set(range(low + 1, high))
        return [_pattern(t, self.dtype) for t in sorted(keys)]


def _classes(body: _Body, group: Sequence[int], ops: Sequence[Instruction]) -> List[_Class]:
    """Return the class of each component of the group (see _Class)."""
    parent: Dict[int, int] = {}

    def find(i: Instruction) -> int:
        at = id(i)
        while parent.setdefault(at, at) != at:
            at = parent[at]
        return at

    def join(values: "Sequence[Instruction]") -> None:
        for value in values[1:]:
            parent[find(value)] = find(values[0])

    for i in ops:
        operands = [_through(o) for o in i.operands]
        if i.opcode == "compare":
            join(operands)
        elif i.opcode in ("select", "maximum", "minimum", "clamp"):
            join([i, *(operands[1:] if i.opcode == "select" else operands)])
    for k in group:
        join([body.parameters[k], body.parameters[body.half + k], body.roots[k]])
    known: Dict[int, _Class] = {}
    for k in group:
        kind = known.setdefault(find(body.roots[k]), _Class(body.dtypes[k], 0, set(), False))
        kind.components += 1
    for i in ops:
        kind = known.get(find(i)) or _Class("", 0, set(), False)
        if i.opcode == "constant":
            kind.constants.add(literal_of(i)[0])
        kind = known.get(find(_through(i.operands[0])), kind) if i.opcode == "compare" else kind
        kind.total |= i.attributes.get("type") == "TOTALORDER"
    return [known[find(body.roots[k])] for k in group]


Point = Tuple[int, ...]


class _Table:
    """The results of the combiner f for all pairs of the given points (a point: one value for each component)."""

    def __init__(self, points: Sequence[Point], f: "Callable[[Point, Point], Point]", kinds: Sequence[str]) -> None:
        self.points, self.f, self.kinds = points, f, kinds
        self.rows = [[f(a, b) for b in points] for a in points]

    def laws(self, level: int) -> Tuple[str, str]:
        """Return two texts: the reason why the combiner is not associative, and the reason why it is not commutative. A
        text is "" if the law holds. `level` says which values count as equal (see _sameness).
        """
        keys = [_sameness(level, t) for t in self.kinds]
        first: Dict[Any, int] = {}
        at: Dict[Point, int] = {}
        for number, point in enumerate(self.points):
            at[point] = first.setdefault(tuple(key(v) for key, v in zip(keys, point)), number)
        try:
            rows = [[at[value] for value in row] for row in self.rows]
        except KeyError:
            return ("a constant is NaN",) * 2
        for point, row in zip(self.points, rows):
            if row != rows[at[point]] or any(value != row[at[b]] for value, b in zip(row, self.points)):
                return ("it can tell NaNs or zeros from each other",) * 2
        few = sorted(set(at.values()))

        def say(n: int) -> str:
            return _text(self.points[n], self.kinds)

        swapped = next((f"f({say(a)}, {say(b)}) is not f({say(b)}, {say(a)})" for a in few for b in few if a < b
                        and rows[a][b] != rows[b][a]), "")
        thirds = [[row[c] for c in few] for row in rows]
        for a in few:
            for b in few:
                left, right = thirds[rows[a][b]], [rows[a][bc] for bc in thirds[b]]
                if left != right:
                    c = next(number for number, x, y in zip(few, left, right) if x != y)
                    return f"f(f(a, b), c) is not f(a, f(b, c)) at {say(a)}, {say(b)}, {say(c)}", swapped
        return "", swapped

    def without_nan(self) -> "_Table":
        return _Table([p for p in self.points if not _has_nan(p, self.kinds)], self.f, self.kinds)


def _has_nan(point: Point, kinds: Sequence[str]) -> bool:
    return any(_decode(v, t) != _decode(v, t) for v, t in zip(point, kinds))


def _compared(body: _Body, group: List[int]) -> Combiner:
    """Return the combiner of a group. Its laws, such as associativity, are proved by enumeration. If that fails,
    elements are combined in order.
    """
    ops = body.ops(group)
    problem = _why_not(ops)
    if problem:
        return Combiner(False, False, False, None, True, problem)
    kinds = [body.dtypes[k] for k in group]
    classes = _classes(body, group, ops)
    values = [component.values(3) for component in classes]
    cases = 1
    for some in values:
        cases *= len(some)
    if cases > LIMIT:
        return Combiner(False, False, False, None, True, f"{cases} cases an element are more than {LIMIT}")
    table = _Table(list(product(*values)), body.function(group), kinds)
    blind = zero_sign_matters(body.instruction)
    levels = (0, 1) if blind else (0, 1, 2)
    laws = [table.laws(level) for level in levels]
    both = [level for level, broken in zip(levels, laws) if not any(broken)]
    parts = [level for level, broken in zip(levels, laws) if not broken[0]]
    free = but_nan = bool(both)
    if not free:
        table_but = table.without_nan()
        both = [level for level in levels if not any(table_but.laws(level))]
        but_nan = bool(both)
    # coarsest level at which the laws hold (rule 2 explains the levels)
    level = (both if free else parts or both or [0])[-1]
    start = _start(body, group, classes, table if free or parts else table_but, level) if but_nan or parts else None
    reason = f"proved by {cases} cases an element"
    if not free:
        reason = next((why for broken in reversed(laws) for why in reversed(broken) if " is not " in why), laws[0][0])
        if blind and not any(table.laws(2)):
            reason = "the sign of a zero depends on the order, and an op after the reduce can tell"
    return Combiner(free, but_nan, bool(parts), start, start is None, reason)


def _start(body: _Body, group: List[int], classes: List[_Class], table: _Table,
           level: int) -> Optional[List[Optional[int]]]:
    """Return the init values as start values if f(f(init, x), init) = f(init, x) and f(init, init) = init, else None.
    """
    keys = [_sameness(level, t) for t in table.kinds]

    def same(a: Point, b: Point) -> bool:
        return all(key(x) == key(y) for key, x, y in zip(keys, a, b))

    nan = any(_has_nan(p, table.kinds) for p in table.points)  # true if the points include NaNs
    inits = [body.inits[k] for k in group]
    known = tuple(v for v in inits if v is not None)
    if len(known) < len(group):
        starts = points = table.points
    elif nan or not _has_nan(known, table.kinds):
        values = [component.values(1, [v for v, other in zip(known, classes) if other is component])
                  for component in classes]
        starts, points = [known], [p for p in product(*values) if nan or not _has_nan(p, table.kinds)]
    else:
        return None
    f = table.f
    fine = all(same(f(i, i), i) and all(same(f(f(i, x), i), f(i, x)) for x in points) for i in starts)
    return list(inits) if fine else None
