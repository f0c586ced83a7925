"""A walk that also finds the value of each store of a kernel, as an expression (expressions.py).

It is the walk of walk.py, in which a value has an expression besides its range. Arrays of a work-item are followed
element by element. Therefore, short loops that change variables or such arrays are walked step by step. Any other loop
is walked once, for an arbitrary step. A floating-point variable that it changes becomes a fold of the values of all
steps (see Expression); everything else that it changes becomes unknown. No semantics are proved for a value with an
unknown part. The verdicts on bounds and races do not use this walk.
"""

from __future__ import annotations

import math
import re
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Dict, Iterator, List, Optional, Sequence, Set, Tuple

from gen.certify import expressions, terms, types
from gen.certify.builtins import _OF_TYPES, _PLAIN
from gen.certify.expressions import Expression
from gen.certify.reader import Node, Reader
from gen.certify.terms import ZERO, Atom, Condition, Term, number
from gen.certify.text import Token, Unknown
from gen.certify.types import Array, Float, Int, Pointer, Record, Type, Vector, Void, size
from gen.certify.values import Address, Cell, Either, Lanes, Memory, Number, Opaque, Value
from gen.certify.walk import Walk, _assigned, _declared, _Exits, _names, _Reference

MOST_TRIPS = 64  # maximum number of steps of a loop that is walked step by step
MOST_CHOICES = 64  # maximum number of elements that an index which is not constant may select

# functions that return the bits of their argument unchanged
_SAME_BITS = re.compile(r"as_\w+|__builtin_astype|__(float|double|half|int|uint|longlong|ushort|short)_as_\w+")
_TAKES_VALUES = re.compile(
    r"(convert|as)_\w+|__builtin_(astype|convertvector|shufflevector|nontemporal_load|nontemporal_store)|shuffle2?"
    r"|select|min|max|clamp|fm(in|ax)f?|vload\w+|vstore\w+|memcpy|__builtin_memcpy|memmove|__ldg|__ldcs|make_\w+"
    r"|isnan|isinf|isfinite"
    r"|signbit|__(half|float|double|int|uint|longlong|ushort)\w*2?(half|float|int|uint)\w*|__brev|__u?mulhi|__umul64hi"
)


@dataclass(frozen=True)
class Store:
    """A store of a kernel. It writes `value` to a memory, from byte `offset` on.

    path, phase: as in Access.
    loops: the steps of the loops around the store.
    """

    memory: Memory
    offset: Term
    value: Expression
    path: "Tuple[Condition, ...]"
    phase: Term
    at: Token
    loops: "Tuple[Term, ...]"


class _Contents(Opaque):
    """The known elements of a work-item's array, by byte offset."""

    def __init__(self, entries: "Dict[int, Expression]") -> None:
        super().__init__(Void())
        object.__setattr__(self, "entries", entries)

    entries: "Dict[int, Expression]"

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


class _OfNumbers(Dict[Any, Any]):
    """The results of functions whose result depends only on numeric arguments. At another call with the same arguments,
    the walk reuses the result. Functions with vectors are not stored here, so each call of them is walked.
    """

    def __setitem__(self, key: "Any", value: "Any") -> None:
        if not any(isinstance(type, Vector) for type in (value, *key[1])):
            super().__setitem__(key, value)


class Meaning(Walk):
    """Walks kernels, and collects their stores with the expressions of the stored values."""

    def __init__(self, reader: Reader, target: str) -> None:
        super().__init__(reader, target)
        self.values_stored: "List[Store]" = []
        self.of_atom: "Dict[Atom, Expression]" = {}
        self.contents: "Dict[Memory, Cell]" = {}
        self.writes: "List[Set[object]]" = []
        self.trips: "Dict[object, int]" = {}  # for each loop, its number of steps if that is a constant
        # the values of variables at the beginning of a step, for the loops that contain the walk's current place
        self.carried: "Dict[object, Expression]" = {}
        # for each value in `carried`: the variable's values before the loop and at the end of a step
        self.ends: "Dict[Expression, Tuple[Expression, Expression]]" = {}
        # for the memory of a result that overwrites a parameter, the memory of this parameter
        self.before: "Dict[Memory, Memory]" = {}
        self.statements = 0  # number of statements walked
        self.most_statements = math.inf  # the walk of a kernel gives up after this number of statements

    def _file(self) -> None:
        self.values_stored, self.of_atom, self.contents, self.writes = [], {}, {}, []
        self.trips, self.carried, self.ends = {}, {}, {}
        self.pure = _OfNumbers()
        super()._file()

    def _statement(self, node: Node) -> _Exits:
        self.statements += 1
        if self.statements > self.most_statements:
            raise Unknown("values take too long to follow", node.at)
        return super()._statement(node)

    @contextmanager
    def _unrecorded(self) -> "Iterator[None]":
        count = len(self.values_stored)
        with super()._unrecorded():
            yield
        del self.values_stored[count:]

    # ---- expressions of values ----

    def _mark(self) -> int:
        return next(terms._numbers)

    def _with(self, result: Value, of: "Any", mark: int) -> Value:
        """Return a value with the expression `of`. The value may contain atoms that stand for unknown integers. Record
        `of` for those that were made after `_mark` returned `mark`, too.
        """
        if isinstance(result, Number):
            assert isinstance(of, Expression)
            for part in (result.term, result.condition, result.bits):
                for atom in part.free if part is not None else ():
                    if not atom.known and atom.number > mark:
                        self.of_atom.setdefault(atom, of)
            return replace(result, of=of)
        if isinstance(result, Lanes):
            return replace(result, of=tuple(of))
        return result

    def _expression(self, value: "Optional[Value]", type: "Optional[Type]" = None) -> Expression:
        """Return the bytes of a value as an expression."""
        if isinstance(value, Number):
            width = size(value.type)
            if value.of is not None:
                return value.of
            if value.term is not None:
                return expressions.index(value.term, width)
            return expressions.lost("a value that a loop changes", width)
        if isinstance(value, Lanes):
            if value.of is not None:
                made = expressions.join(value.of)
                return made if made.size == size(value.type) else expressions.lost("a vector of 3", size(value.type))
            return expressions.lost("a vector that the walk does not follow", size(value.type))
        return expressions.lost("a struct or a pointer", size(type) if type is not None else 1)

    def _lanes(self, value: Value, count: int) -> "Tuple[Expression, ...]":
        if isinstance(value, Lanes):
            if value.of is not None:
                return value.of
            width = size(value.type.element)
            return (expressions.lost("a vector that the walk does not follow", width),) * value.type.lanes
        return (self._expression(value),) * count

    def _typed(self, result: Value, whole: Expression, mark: int) -> Value:
        """Return a number or a vector whose bytes are those of an expression."""
        if isinstance(result, Number):
            return self._with(result, whole, mark)
        if isinstance(result, Lanes):
            width = size(result.type.element)
            return self._with(
                result, [expressions.part(whole, n * width, width) for n in range(result.type.lanes)], mark
            )
        return result

    def _of_value(self, node: Node) -> Value:
        """Return the value of a node that stands for an evaluated argument."""
        return node.parts[0]

    def _of_number(self, node: Node) -> Value:
        result = super()._of_number(node)
        if isinstance(result, Number) and isinstance(result.type, Float):
            return replace(result, of=Expression("number", size(result.type), node.parts[0].rstrip("fFlLhH")))
        return result

    def _of_name(self, node: Node) -> Value:
        result = super()._of_name(node)
        if (
            isinstance(result, Number)
            and isinstance(result.type, Float)
            and result.of is None
            and node.parts[0] in ("INFINITY", "NAN", "HUGE_VALF", "M_PI", "FLT_MAX", "DBL_MAX")
        ):
            return replace(result, of=Expression("number", size(result.type), node.parts[0]))
        return result

    def _applied(self, op: str, type: "types.Scalar", a: Expression, b: Expression) -> Expression:
        """Return the expression of an operation on two numbers of a type."""
        if isinstance(type, Int):
            if op in ("<<", ">>") and b.kind == "index" and b.parts[0].is_constant:
                by = b.parts[0].constant
                if not 0 <= by < type.bits:    # OpenCL takes `by` modulo the width; C does not define it
                    raise Unknown(f"a shift by {by}")
                return expressions.shifted(a, by if op == "<<" else -by, type.signed)
            if a.kind == b.kind == "index":
                x, y = (_in_range(of.parts[0], type) for of in (a, b))
                if op in ("+", "-", "*"):
                    made = x + y if op == "+" else x - y if op == "-" else terms.product(x, y)
                    return expressions.index(made, size(type))
                if op in ("<", ">", "<=", ">=", "==", "!=") and all(
                    type.range[0] <= bound <= type.range[1] for of in (x, y) for bound in terms.bounds(of)
                ):
                    holds = {
                        "<": lambda: terms.less(x, y),
                        ">": lambda: terms.less(y, x),
                        "<=": lambda: terms.at_most(x, y),
                        ">=": lambda: terms.at_most(y, x),
                        "==": lambda: terms.equal(x, y),
                        "!=": lambda: terms.negated(terms.equal(x, y)),
                    }[op]()
                    return expressions.either(holds, expressions.index(terms.ONE, 4), expressions.index(ZERO, 4))
            if op in ("&", "|", "^", "+"):
                return expressions.bitwise(op, a, b)
        width = 4 if op in ("<", ">", "<=", ">=", "==", "!=") else size(type)
        return expressions.apply(op + ("f" if isinstance(type, Float) else "i"), width, a, b)

    def _operated(self, op: str, a: Value, b: Value, at: Token) -> Value:
        mark = self._mark()
        result = super()._operated(op, a, b, at)
        if (
            not isinstance(result, Number)
            or not isinstance(a, Number)
            or not isinstance(b, Number)
            or result.of is not None
        ):
            return result
        if result.term is not None and all(atom.known for atom in result.term.free):
            return result
        kind = a.type if op in ("<<", ">>") else self._usual(a.type, b.type)
        if isinstance(kind, Int) and kind.bits < 32:
            kind = types.INT
        x = self._expression(self._converted(a, kind, at))
        y = self._expression(b if op in ("<<", ">>") else self._converted(b, kind, at))
        made = self._applied(op, kind, x, y)
        if result.condition is not None:
            for side, of in ((a, x), (b, y)):
                for atom in side.bits.free if side.bits is not None else ():
                    if not atom.known:
                        self.of_atom.setdefault(atom, expressions.apply("bits", 4, of))
            for atom in result.condition.free:
                if not atom.known and atom.number > mark:
                    self.of_atom.setdefault(atom, made)
            return result
        return self._with(result, made, mark)

    def _vectors(self, op: str, a: Value, b: Value, at: Token) -> Value:
        mark = self._mark()
        result = super()._vectors(op, a, b, at)
        kind = a.type if isinstance(a, Lanes) else b.type  # type: ignore[union-attr]
        assert isinstance(kind, Vector) and isinstance(result, Lanes)
        one, two = self._converted(a, kind, at), self._converted(b, kind, at)
        width = size(result.type.element)
        made = [
            self._applied(op, kind.element, x, y)
            for x, y in zip(self._lanes(one, kind.lanes), self._lanes(two, kind.lanes))
        ]
        if op in ("<", ">", "<=", ">=", "==", "!="):
            made = [_masked(of, width) for of in made]
        return self._with(result, made, mark)

    def _of_unary(self, node: Node) -> Value:
        op, inner = node.parts
        if op in ("&", "*"):
            return super()._of_unary(node)
        value = self._value(inner)
        mark = self._mark()
        result = super()._of_unary(Node("unary", node.at, op, Node("value", inner.at, value)))
        if isinstance(value, Lanes) and isinstance(result, Lanes):
            width = size(result.type.element)
            return self._with(
                result,
                [
                    expressions.inverted(of) if op == "~" else expressions.apply(op, width, of)
                    for of in self._lanes(value, 1)
                ],
                mark,
            )
        if isinstance(value, Number) and isinstance(result, Number) and op != "!" and result.of is None:
            if result.term is None or not all(atom.known for atom in result.term.free):
                of = (
                    expressions.resized(
                        self._expression(value), size(result.type), getattr(value.type, "signed", False)
                    )
                    if isinstance(value.type, Int)
                    else self._expression(value)
                )
                return self._with(result, of if op == "+" else expressions.apply(op, size(result.type), of), mark)
        return result

    def _condition_of(self, value: Value, at: Token) -> Condition:
        made = super()._condition_of(value, at)
        if isinstance(value, Number) and value.condition is None and value.term is None and made.kind == "open":
            for atom in made.free:
                self.of_atom.setdefault(atom, expressions.apply("truth", 4, self._expression(value)))
        return made

    # ---- conversions ----

    def _scalar(self, of: Expression, source: "types.Scalar", to: "types.Scalar") -> Expression:
        """Return a number converted to another type."""
        if source == to:
            return of
        if isinstance(source, Int) and isinstance(to, Int):
            if to == types.BOOL:
                return expressions.apply("bool", 1, of)
            return expressions.resized(of, size(to), source.signed)
        if of.kind == "number" and isinstance(to, Float):
            return Expression("number", size(to), *of.parts)
        return expressions.apply(f"{source} to {to}", size(to), of)

    def _converted(self, value: Value, type: Type, at: Token) -> Value:
        mark = self._mark()
        result = super()._converted(value, type, at)
        if isinstance(value, Number) and isinstance(result, Number):
            if value.type == result.type and (value.of is not None or result.of is not None):
                return replace(result, of=value.of)
            if (
                value.of is None
                and isinstance(value.type, Int)
                and result.term is not None
                and not any(atom.number > mark for atom in result.term.free)
            ):
                return result
            return self._with(result, self._scalar(self._expression(value), value.type, result.type), mark)
        if isinstance(value, Number) and isinstance(result, Lanes):
            one = super()._converted(value, result.type.element, at)
            assert isinstance(one, Number)
            of = self._scalar(self._expression(value), value.type, one.type)
            return self._with(result, [of] * result.type.lanes, mark)
        if isinstance(value, Lanes) and isinstance(result, (Lanes, Number)) and result is not value:
            whole = self._expression(value)
            if whole.size == size(result.type):
                return self._typed(result, whole, mark)
        return result

    def _convert_lanes(self, value: Lanes, type: Vector, keep: bool = True) -> Lanes:
        mark = self._mark()
        result = super()._convert_lanes(value, type, keep)
        made = [self._scalar(of, value.type.element, type.element) for of in self._lanes(value, 1)]
        if not keep:
            made = [expressions.apply("!", size(type.element), of) for of in self._lanes(value, 1)]
        with_ = self._with(result, made, mark)
        assert isinstance(with_, Lanes)
        return with_

    def _merged(self, condition: Condition, a: "Optional[Value]", b: "Optional[Value]", at: Token) -> "Optional[Value]":
        if isinstance(a, _Contents) or isinstance(b, _Contents):
            return self._merged_contents(condition, a, b)
        mark = self._mark()
        result = super()._merged(condition, a, b, at)
        if condition.kind in ("true", "false") or a is None or b is None or a == b:
            return result
        if isinstance(a, Number) and isinstance(b, Number) and isinstance(result, Number):
            if a.of is None and b.of is None and result.term is not None:
                return result
            return self._with(result, expressions.either(condition, self._expression(a), self._expression(b)), mark)
        if isinstance(a, Lanes) and isinstance(b, Lanes) and isinstance(result, Lanes):
            made = [expressions.either(condition, x, y) for x, y in zip(self._lanes(a, 1), self._lanes(b, 1))]
            return self._with(result, made, mark)
        return result

    def _merged_contents(self, condition: Condition, a: "Any", b: "Any") -> _Contents:
        made: "Dict[int, Expression]" = {}
        one, two = (of.entries if of is not None else {} for of in (a, b))
        if condition.kind in ("true", "false"):
            return _Contents(one if condition.kind == "true" else two)
        for offset, of in one.items():
            other = two.get(offset)
            if other is not None and other.size == of.size:
                made[offset] = expressions.either(condition, of, other)
        return _Contents(made)

    # ---- vectors ----

    def _of_lanes(self, values: "Sequence[Value]", type: Vector, at: Token) -> Lanes:
        mark = self._mark()
        result = super()._of_lanes(values, type, at)
        made: "List[Expression]" = []
        for value in values:
            if isinstance(value, Lanes):
                made += [self._scalar(of, value.type.element, type.element) for of in self._lanes(value, 1)]
            else:
                made.append(self._expression(self._converted(value, type.element, at)))
        width = size(type.element)
        if len(made) == 1 < type.lanes and self.target == "opencl":
            made = [expressions.lost("a vector of one number", width)] * type.lanes
        made += [expressions.index(ZERO, width)] * (type.lanes - len(made))
        with_ = self._with(result, made, mark)
        assert isinstance(with_, Lanes)
        return with_

    def _picked(self, vector: Vector, name: str) -> "Optional[List[int]]":
        """Return the numbers of the lanes that .NAME selects from a vector."""
        half = vector.lanes // 2
        named = {
            "lo": range(half),
            "hi": range(half, vector.lanes),
            "even": range(0, vector.lanes, 2),
            "odd": range(1, vector.lanes, 2),
        }.get(name)
        if named is not None:
            return list(named)
        letters = name[1:] if name[0] in "sS" else name
        return [int(c, 16) if name[0] in "sS" else "xyzw".find(c) for c in letters]

    def _swizzled(self, vector: Vector, value: Value, name: str, at: Token) -> Value:
        mark = self._mark()
        result = super()._swizzled(vector, value, name, at)
        places = self._picked(vector, name)
        lanes = self._lanes(value, 1)
        if places is None or isinstance(result, Number) != (len(places) == 1):
            return result
        return self._with(result, lanes[places[0]] if isinstance(result, Number) else [lanes[p] for p in places], mark)

    def _of_index(self, node: Node) -> Value:
        base, index = node.parts
        mark = self._mark()
        vector = self._vector_base(base)
        if vector is None:
            return super()._of_index(node)
        value, by = self._value(base), self._value(index)
        result = super()._of_index(Node("index", node.at, base, Node("value", index.at, by)))
        lane = self._lane_of(vector, by)
        if lane is None or not isinstance(value, Lanes):
            return result
        return self._with(result, self._lanes(value, 1)[lane], mark)

    @staticmethod
    def _lane_of(vector: Vector, by: Value) -> "Optional[int]":
        if (
            isinstance(by, Number)
            and by.term is not None
            and by.term.is_constant
            and 0 <= by.term.constant < vector.lanes
        ):
            return by.term.constant
        return None

    def _set_lane(self, left: Node, vector: Vector, value: "Optional[Value]", op: str, at: Token) -> Value:
        base, place_of = left.parts[0], left.parts[1]
        with self._unrecorded():
            old = self._load(self._address(base), vector, at)
        lanes = list(self._lanes(old, vector.lanes))
        if left.kind == "index":
            by = self._value(place_of)
            lane = self._lane_of(vector, by)
            places = [lane] if lane is not None else None
            left = Node("index", left.at, base, Node("value", left.at, by))
        else:
            places = self._picked(vector, place_of)
        width = size(vector.element)
        result = super()._set_lane(left, vector, value, op, at)
        if places is None or value is None:
            lanes = [expressions.lost("an element of a vector at a varying index", width)] * vector.lanes
        else:
            new = (
                self._lanes(value, 1)
                if isinstance(value, Lanes)
                else [self._expression(self._converted(value, vector.element, at))]
            )
            new = list(new) * (len(places) if len(new) == 1 else 1)
            for place, of in zip(places, new):
                assert place is not None
                lanes[place] = self._applied(op, vector.element, lanes[place], of) if op else of
        self._put(self._address(base), vector, expressions.join(lanes), at)
        return result

    def _of_choose(self, node: Node) -> Value:
        chooser = self._value(node.parts[0])
        first = Node("value", node.at, chooser)
        if not isinstance(chooser, Lanes):
            return super()._of_choose(Node("choose", node.at, first, node.parts[1], node.parts[2]))
        a, b = self._value(node.parts[1]), self._value(node.parts[2])
        mark = self._mark()
        result = super()._of_choose(Node("choose", node.at, first, *(Node("value", node.at, of) for of in (a, b))))
        assert isinstance(result, Lanes)
        width, count = size(result.type.element), result.type.lanes
        return self._with(
            result,
            [
                _selected(c, x, y, width)
                for c, x, y in zip(self._lanes(chooser, 1), self._lanes(a, count), self._lanes(b, count))
            ],
            mark,
        )

    # ---- memory ----

    def _bytes_at(self, place: Address) -> Term:
        return place.offset.times(place.unit)

    def _load(self, value: Value, type: Type, at: Token, atomic: bool = False) -> Value:
        if isinstance(value, Either):
            return super()._load(value, type, at, atomic)
        mark = self._mark()
        result = super()._load(value, type, at, atomic)
        assert isinstance(value, Address)
        if not isinstance(result, (Number, Lanes)) or isinstance(type, (Array, Pointer)):
            return result
        if value.memory is None:
            assert value.cell is not None
            if value.cell.type == type and value.offset == ZERO or value.cell.value is None:
                return result
            whole, first = self._expression(value.cell.value), self._bytes_at(value)
            if not first.is_constant or not 0 <= first.constant <= whole.size - size(type):
                return result
            return self._typed(result, expressions.part(whole, first.constant, size(type)), mark)
        whole = self._read(value.memory, self._bytes_at(value), size(type))
        if (
            whole.kind == "lost"
            and isinstance(result, Number)
            and result.term is not None
            and all(atom.known for atom in result.term.free)
        ):
            return result
        return self._typed(result, whole, mark)

    def _read(self, memory: Memory, offset: Term, width: int) -> Expression:
        """Return the expression of `width` bytes of a memory, from byte `offset` on."""
        if memory.space == "shared":
            return expressions.read(memory, offset, width, self.phase)
        if memory in self.before:
            return expressions.read(self.before[memory], offset, width)
        if memory.space == "global":
            if self.fixed.get((memory, "written"), True):
                return expressions.lost("a buffer that the kernel reads and writes", width)
            return expressions.read(memory, offset, width)
        cell = self.contents.get(memory)
        if cell is None or cell.value is None:
            return expressions.lost("an array that is read before it is written", width)
        entries = cell.value.entries  # type: ignore[union-attr]
        if offset.is_constant:
            return self._entry(entries, offset.constant, width)
        lo, hi = terms.bounds(offset)
        step = width
        for atom, factor in offset.parts:
            while factor % step:
                step //= 2
        places = (
            [
                at
                for at in range(max(lo, 0), min(hi, (memory.bytes or 0) - width) + 1)
                if (at - offset.constant) % step == 0
            ]
            if hi - lo < 1 << 16
            else []
        )
        if not 0 < len(places) <= MOST_CHOICES:
            return expressions.lost("an array of the work-item at a varying index", width)
        made = self._entry(entries, places[-1], width)
        for at in reversed(places[:-1]):
            made = expressions.either(terms.equal(offset, number(at)), self._entry(entries, at, width), made)
        return made

    @staticmethod
    def _entry(entries: "Dict[int, Expression]", offset: int, width: int) -> Expression:
        found = entries.get(offset)
        if found is not None and found.size == width:
            return found
        parts: "List[Expression]" = []
        at = offset
        while at < offset + width:
            start = next(
                (s for s in range(at, max(at - 256, -1), -1) if s in entries and s + entries[s].size > at), None
            )
            if start is None:
                return expressions.lost("an element of an array that no store writes for certain", width)
            of = entries[start]
            taken = min(start + of.size, offset + width) - at
            parts.append(expressions.part(of, at - start, taken))
            at += taken
        return expressions.join(parts)

    def _store(self, value: Value, type: Type, stored: "Optional[Value]", at: Token) -> None:
        super()._store(value, type, stored, at)
        if isinstance(value, Address) and value.cell is not None and value.cell.type == type and value.offset == ZERO:
            return
        if not isinstance(value, Either) and not isinstance(type, Pointer):
            self._put(value, type, self._expression(stored, type), at)

    def _put(self, place: Value, type: Type, whole: Expression, at: Token) -> None:
        """Set the bytes of a place."""
        if isinstance(place, Either):
            for side, condition in ((place.a, place.condition), (place.b, terms.negated(place.condition))):
                with self._under(condition):
                    self._put(side, type, expressions.lost("a store to one of two places", whole.size), at)
            return
        assert isinstance(place, Address)
        if place.memory is None:
            cell = place.cell
            assert cell is not None
            first = self._bytes_at(place)
            if not isinstance(cell.value, (Number, Lanes)):
                return
            if (
                whole.size < size(cell.type)
                and first.is_constant
                and 0 <= first.constant <= size(cell.type) - whole.size
            ):
                old = self._expression(cell.value)
                whole = expressions.join(
                    [
                        *([expressions.part(old, 0, first.constant)] if first.constant else []),
                        whole,
                        *(
                            [expressions.part(old, first.constant + whole.size, old.size - first.constant - whole.size)]
                            if first.constant + whole.size < old.size
                            else []
                        ),
                    ]
                )
            if size(cell.type) == whole.size:
                self._set(cell, self._typed(cell.value, whole, self._mark()))
            return
        memory, offset = place.memory, self._bytes_at(place)
        if whole.size != size(type):
            whole = expressions.lost("a value of another size", size(type))
        if memory.space in ("global", "shared"):
            self.values_stored.append(
                Store(memory, offset, whole, tuple(self.path), self.phase, at, tuple(self.within))
            )
            return
        for writes in self.writes:
            writes.add(memory.key)
        if not offset.is_constant:
            self._set_contents(memory, {})
            return
        start_at = offset.constant
        last = start_at + whole.size
        entries = dict(self._entries(memory))
        for start in [s for s in range(start_at - 255, last) if s in entries and s + entries[s].size > start_at]:
            of = entries.pop(start)
            if start < start_at:
                entries[start] = expressions.part(of, 0, start_at - start)
            if start + of.size > last:
                entries[last] = expressions.part(of, last - start, start + of.size - last)
        entries[start_at] = whole
        self._set_contents(memory, entries)

    def _entries(self, memory: Memory) -> "Dict[int, Expression]":
        cell = self.contents.get(memory)
        return cell.value.entries if cell is not None and cell.value is not None else {}  # type: ignore[union-attr]

    def _set_contents(self, memory: Memory, entries: "Dict[int, Expression]") -> None:
        cell = self.contents.setdefault(memory, Cell(memory.name, Void(), _Contents({})))
        self._set(cell, _Contents(entries))

    def _touch(self, value: Value, type: Type, write: bool, at: Token, atomic: bool = False) -> None:
        super()._touch(value, type, write, at, atomic)
        if atomic and isinstance(value, Address) and value.memory is not None:
            self._put(value, type, expressions.lost("an atomic operation", size(type)), at)

    def _initialise(self, memory: Memory, type: Type, initial: "Optional[Node]", static: bool) -> None:
        super()._initialise(memory, type, initial, static)
        element: Type = type
        while isinstance(element, Array):
            element = element.element
        if (
            initial is not None
            and initial.kind == "braces"
            and isinstance(type, Record)
            and not any(part.kind == "braces" for part in initial.parts[0])
        ):
            fields = type.fields[:1] if type.union else type.fields
            made: "Dict[int, Expression]" = {}
            with self._unrecorded():
                for (name, of), part in zip(fields, initial.parts[0]):
                    found = type.field(name)
                    if found is not None and isinstance(of, (Int, Float, Vector)):
                        made[found[0]] = self._expression(self._converted(self._value(part), of, part.at))
            self._set_contents(memory, made)
            return
        if initial is None or initial.kind != "braces" or not isinstance(element, (Int, Float, Vector)):
            if initial is not None and initial.kind != "braces":
                with self._unrecorded():
                    source = self._value(initial)
                if isinstance(source, Address) and source.memory is not None and source.offset == ZERO:
                    self._set_contents(memory, dict(self._entries(source.memory)))
            return
        entries: "Dict[int, Expression]" = {}
        width = size(element)

        def fill(node: Node, of: Type, at: int) -> None:
            inner = of.element if isinstance(of, Array) else of
            for n, part in enumerate(node.parts[0]):
                if part.kind == "braces" and isinstance(inner, Array):
                    fill(part, inner, at + n * size(inner))
                else:
                    value = self._converted(self._initial(part, inner), inner, part.at)
                    entries[at + n * size(inner)] = self._expression(value)

        with self._unrecorded():
            if isinstance(type, Array):
                fill(initial, type, 0)
                for at in range(0, size(type), width):
                    entries.setdefault(at, expressions.index(ZERO, width))
        self._set_contents(memory, entries)

    def _of_assign(self, node: Node) -> Value:
        result = super()._of_assign(node)
        if isinstance(result, Opaque) and isinstance(result.type, Record) and not node.parts[0]:
            try:
                with self._unrecorded():
                    to, source = self._address(node.parts[1]), self._address(node.parts[2])
            except (Unknown, AssertionError):
                return result
            if (
                isinstance(to, Address)
                and isinstance(source, Address)
                and to.memory is not None
                and source.memory is not None
                and to.memory.space == source.memory.space == "private"
                and to.offset == source.offset == ZERO
            ):
                self._set_contents(to.memory, dict(self._entries(source.memory)))
        return result

    # ---- loops ----

    def _do_for(self, node: Node) -> _Exits:
        first, condition, step, body = node.parts
        with self._loop_scope():
            if first is not None:
                self._statement(first)
            counted = self._counted(condition, step, body)
            if counted is not None and condition is not None:
                trips = self._trips(condition, *counted, self._changed(condition, step, body))
                if (
                    trips is not None
                    and trips.is_constant
                    and 1 <= trips.constant <= MOST_TRIPS
                    and self._carries(body, counted[0])
                ):
                    exits = self._unrolled(node, MOST_TRIPS + 1)
                    if exits is not None:
                        return exits
            return super()._do_for(Node("for", node.at, None, condition, step, body))

    @staticmethod
    def _changed(condition: Node, step: "Optional[Node]", body: Node) -> "Set[str]":
        return _assigned(body) | _assigned(condition) | (_assigned(step) if step is not None else set())

    def _carries(self, body: Node, variable: Cell) -> bool:
        """Return true if a loop's body uses an array of the work-item, or changes a variable that is declared outside
        of the body.
        """
        own = _declared(body)
        for name in _names(body) - own:
            cell = self._lookup(name)
            if not isinstance(cell, Cell) or cell is variable:
                continue
            if (
                self._is_array(name)
                or cell.memory is None
                and not isinstance(cell.type, Pointer)
                and (name in _assigned(body) or f"{name}[]" in _assigned(body))
            ):
                return True
        return False

    def _is_array(self, name: str) -> bool:
        """Return true if the name is that of an array of the work-item, or of a pointer to one."""
        cell = self._lookup(name)
        if not isinstance(cell, Cell):
            return False
        value = cell.value
        if isinstance(cell, _Reference) or isinstance(cell.type, Pointer):
            while isinstance(value, Either):
                value = value.a
            return isinstance(value, Address) and value.memory is not None and value.memory.space == "private"
        return cell.memory is not None and cell.memory.space == "private"

    def _summed(self, node: Node, counted: "Optional[Tuple[Cell, Term, int]]", facts: "List[Condition]") -> _Exits:
        key = (node.at, self.site, "memories")
        _, condition, step, body = node.parts
        trips = None
        if counted is not None and condition is not None:
            variable, start, by = counted
            trips = self._trips(condition, variable, start, by, self._changed(condition, step, body))
        self.trips[node.at, self.site] = trips.constant if trips is not None and trips.is_constant else 0
        self._forget_arrays(self.fixed.get(key, frozenset()))
        self.writes.append(set())
        exits = super()._summed(node, counted, facts)
        written = frozenset(self.writes.pop()) | self.new_fixed.get(key, frozenset())
        self.new_fixed[key] = written
        self._forget_arrays(written)
        return exits

    def _open(self, cell: Cell, entry: "Optional[Value]", key: "Any") -> None:
        """Set the value of a variable that a loop changes. The first call is before the walk of the body: the variable
        gets its value at the beginning of an arbitrary step. The second call is after it: the variable gets its
        value after the loop, which combines the value before the loop with the values of all steps.
        """
        end = cell.value
        super()._open(cell, entry, key)
        value, trips = cell.value, self.trips.get(key[0], 0)
        if (
            trips < 2
            or not isinstance(value, (Number, Lanes))
            or isinstance(value, Number)
            and not isinstance(value.type, Float)
        ):
            return
        if (key, cell) not in self.carried:
            (atom,) = self.within[-1].free
            whole = Expression("carried", size(value.type), (cell.name, self._mark()), atom)
            self.carried[key, cell] = whole
            self._set(cell, self._typed(value, whole, self._mark()))
            return
        before = self.carried.pop((key, cell))
        atom = before.parts[1]
        if self.new_fixed.get((key[0], "breaks"), True) or atom.hi + 1 != trips or atom.lo:
            return
        self.ends[before] = self._expression(entry, cell.type), self._expression(end, cell.type)
        first, last = (self._lanes(of, 1) if isinstance(of, Lanes) else (self._expression(of),) for of in (entry, end))
        folded = [Expression("fold", a.size, a, (atom,), b) for a, b in zip(first, last)]
        self._set(cell, self._with(value, folded if isinstance(value, Lanes) else folded[0], self._mark()))

    def _forget_arrays(self, keys: "Any") -> None:
        for memory in list(self.contents):
            if memory.key in keys:
                self._set_contents(memory, {})

    # ---- calls ----

    def _of_pure(self, name: str, values: "Sequence[Value]", type: Type) -> Value:
        return self._named(name, values, super()._of_pure(name, values, type))

    def _named(self, name: str, values: "Sequence[Value]", result: Value) -> Value:
        if isinstance(result, Number) and isinstance(result.type, Float) and all(isinstance(v, Number) for v in values):
            return self._with(
                result, expressions.apply(name, size(result.type), *(self._expression(v) for v in values)), 1 << 62
            )
        return result

    def _of_call(self, node: Node) -> Value:
        callee, arguments = node.parts
        name = callee.parts[0] if callee.kind == "name" else ""
        if (
            not name
            or name in self.reader.functions
            or not (name in _PLAIN or name in _OF_TYPES and "cpu" not in name or _TAKES_VALUES.fullmatch(name))
        ):
            return super()._of_call(node)
        values = [None if _is_type(argument) else self._value(argument) for argument in arguments]
        wrapped = [
            argument if value is None else Node("value", argument.at, value)
            for argument, value in zip(arguments, values)
        ]
        mark = self._mark()
        result = super()._of_call(Node("call", node.at, callee, wrapped))
        given = [value for value in values if value is not None]
        if "memcpy" in name or name == "memmove":
            self._copy(given, node.at)
            return result
        if "store" in name and "half" in name:
            self._put_half(given, name, node.at)
            return result
        if isinstance(result, (Number, Lanes)) and result.of is None:
            return self._called_builtin(name, given, result, mark, node.at)
        return result

    def _called_builtin(self, name: str, values: "List[Value]", result: Value, mark: int, at: Token) -> Value:
        if isinstance(result, Number) and result.term is not None and all(atom.known for atom in result.term.free):
            return result
        if _SAME_BITS.fullmatch(name):
            whole = self._expression(values[0])
            fits = whole.size == size(result.type)  # type: ignore[union-attr]
            return self._typed(result, whole, mark) if fits else result
        if "load" in name and "half" in name:
            place = values[-1]
            by = values[-2]
            if not isinstance(place, Address) or place.memory is None or not isinstance(by, Number) or by.term is None:
                return result
            count = result.type.lanes if isinstance(result, Lanes) else 1
            whole = self._read(place.memory, self._bytes_at(place) + by.term.times(2 * count), 2 * count)
            made = [expressions.apply("f16 to f32", 4, expressions.part(whole, 2 * n, 2)) for n in range(count)]
            return self._with(result, made if isinstance(result, Lanes) else made[0], mark)
        wide = next((value for value in values if isinstance(value, Lanes)), None)
        if isinstance(result, Number) and wide is not None and name in ("isnan", "isinf", "isfinite", "signbit"):
            width = size(wide.type.element)
            made = [expressions.apply(name, width, of) for of in self._lanes(wide, 1)]
            return self._with(Lanes(Vector(Int(8 * width, True), wide.type.lanes), -1, 1), made, mark)
        if isinstance(result, Number):
            if name == "select" or wide is not None:
                return result
            return self._with(
                result, expressions.apply(name, size(result.type), *(self._expression(v) for v in values)), mark
            )
        assert isinstance(result, Lanes)
        width, count = size(result.type.element), result.type.lanes
        if "shuffle" in name:
            pool = self._lanes(values[0], 1)
            if name == "__builtin_shufflevector":
                pool = pool + self._lanes(values[1], 1)
                picks = values[2:]
            else:
                return result
            places = [
                v.term.constant for v in picks if isinstance(v, Number) and v.term is not None and v.term.is_constant
            ]
            if len(places) != count:
                return result
            return self._with(
                result, [pool[p] if 0 <= p < len(pool) else expressions.lost("no lane", width) for p in places], mark
            )
        sides = [self._lanes(v, count) for v in values]
        if any(len(side) != count for side in sides):
            return result
        if name == "select":
            return self._with(result, [_selected(c, y, x, width) for x, y, c in zip(*sides)], mark)
        return self._with(
            result, [expressions.apply(name, width, *(side[n] for side in sides)) for n in range(count)], mark
        )

    def _put_half(self, values: "List[Value]", name: str, at: Token) -> None:
        stored, by, place = values[0], values[1], values[2]
        if not isinstance(place, Address) or not isinstance(by, Number) or by.term is None:
            raise Unknown(name, at)
        lanes = self._lanes(stored, 1)
        whole = expressions.join([expressions.apply("f32 to f16", 2, of) for of in lanes])
        count = len(lanes)
        kind: Type = Array(Int(16, False), count)
        moved = replace(place, to=Int(16, False), offset=self._bytes_at(place) + by.term.times(2 * count), unit=1)
        self._put(moved, kind, whole, at)

    def _copy(self, values: "List[Value]", at: Token) -> None:
        """Copy bytes as memcpy does."""
        to, source, count = values
        known = isinstance(count, Number) and count.term is not None and count.term.is_constant
        width = count.term.constant if known else 0  # type: ignore[union-attr]
        if not width or not isinstance(to, Address) or not isinstance(source, Address):
            if isinstance(to, Address) and to.memory is not None and to.memory.space in ("global", "shared"):
                self._put(to, Array(Int(8, False), 1), expressions.lost("a memcpy of a varying number of bytes", 1), at)
            elif isinstance(to, Address) and to.memory is not None:
                self._set_contents(to.memory, {})
            return
        whole: "Optional[Expression]" = None
        if source.memory is not None:
            whole = self._read(source.memory, self._bytes_at(source), width)
        elif source.cell is not None and source.cell.value is not None:
            value = self._expression(source.cell.value)
            whole = expressions.part(value, 0, width) if value.size >= width else None
        if whole is None:
            whole = expressions.lost("a memcpy from a variable without a value", width)
        if to.memory is None and to.cell is not None and to.cell.value is None:
            self._set(to.cell, self._fresh(to.cell.type, True))
        self._put(to, Array(Int(8, False), whole.size), whole, at)


def _in_range(term: Term, type: Int) -> Term:
    """Return a term with the same value modulo 2^bits. A constant above a signed type's maximum becomes negative."""
    if term.is_constant and type.signed and term.constant > type.range[1]:
        return number(term.constant - (1 << type.bits))
    return term


def _masked(of: Expression, width: int) -> Expression:
    """Return a lane of a mask: all bits are set if the comparison `of` holds, else none."""
    if expressions.is_mask(of):
        return expressions.either(of.parts[0], expressions.index(number(-1), width), expressions.index(ZERO, width))
    if of.kind == "index" and of.parts[0].is_constant:
        return expressions.index(number(-1) if of.parts[0].constant else ZERO, width)
    return expressions.apply("mask", width, of)


def _selected(chooser: Expression, a: Expression, b: Expression, width: int) -> Expression:
    """Return a lane of a select: `a` if the lane `chooser` of the mask is set, else `b`."""
    if expressions.is_mask(chooser):
        then, other = (side.parts[0].constant for side in chooser.parts[1:])
        return expressions.either(chooser.parts[0], a if then else b, a if other else b)
    if chooser.kind == "index" and chooser.parts[0].is_constant:
        return a if chooser.parts[0].constant else b
    return expressions.apply("select", width, chooser, a, b)


def _is_type(node: Node) -> bool:
    return node.kind in (
        "basic",
        "named",
        "qualified",
        "pointer",
        "array",
        "sized",
        "struct",
        "union",
        "tag",
        "enum",
        "typeof",
    )
