"""Execute a kernel symbolically: find the accesses of any work-item, as terms over its ids and the steps of its loops.

A loop is walked once, for an arbitrary step k. The loop's variable is start + step * k; everything else that the loop
changes is unknown. Both sides of an if are walked. The body of a called function is walked at each call.
Floating-point values are opaque.

For an integer from memory, the walk knows only a range. If a sum or product of such integers may leave the range of its
type, its value is unknown. If a sum or product of ids and steps may leave the range, an `Obligation` says that it must
not.

The ranges of arrays' elements, and of variables that loops change (a clamped index, the number of a buffer), are first
assumed. If a walk stores a value outside of an assumed range, the range grows, and the kernel is walked again. When no
walk is needed any more, the ranges hold by induction.
"""

from __future__ import annotations

import struct
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import gcd
from typing import Any, Dict, Iterator, List, Optional, Sequence, Set, Tuple

from gen.certify import terms, types
from gen.certify.builtins import builtin
from gen.certify.reader import Function, Node, Reader
from gen.certify.terms import FALSE, ONE, TRUE, ZERO, Atom, Condition, Term, both, bounds, chosen, negated, number
from gen.certify.text import Token, Unknown
from gen.certify.values import Access, Address, Cell, Either, Found, Lanes, Memory, Number, Obligation, Opaque, \
    Value
from gen.certify.types import INT, LONG, ULONG, Array, Float, Int, Pointer, Record, Type, Vector, Void, least, size

MOST_STEPS = 300_000    # a walk gives up after this number of nodes of the syntax tree
# Maximum number of walks of a kernel. In the second half of them, a range that grows becomes the full range of its
# type.
MOST_TURNS = 12
NO_LIMIT = 1 << 62    # stands for the number of steps of a loop if nothing is known about it
MOST_TRIED = 3    # maximum nesting depth of loops that `_tried` walks on trial
MOST_UNROLLED = 16          # maximum number of steps of an unrolled loop
MOST_ENTRIES = 1024    # maximum number of elements of a constant table among which an index may select
MOST_CHANGES = 16    # maximum number of these elements that differ from the element before them


class _Exits:
    """The conditions under which a statement is left by a break, a continue, or a return."""

    __slots__ = ("breaks", "continues", "returns")

    def __init__(self, breaks: Condition = FALSE, continues: Condition = FALSE, returns: Condition = FALSE) -> None:
        self.breaks, self.continues, self.returns = breaks, continues, returns

    @property
    def any(self) -> Condition:
        return terms.either(self.breaks, self.continues, self.returns)

    def under(self, condition: Condition, other: "_Exits") -> "_Exits":
        def joined(a: Condition, b: Condition) -> Condition:
            return terms.either(both(condition, a), both(negated(condition), b))
        return _Exits(joined(self.breaks, other.breaks), joined(self.continues, other.continues),
                      joined(self.returns, other.returns))

    def then(self, other: "_Exits") -> "_Exits":
        stays = negated(self.any)
        return _Exits(terms.either(self.breaks, both(stays, other.breaks)),
                      terms.either(self.continues, both(stays, other.continues)),
                      terms.either(self.returns, both(stays, other.returns)))


@dataclass
class _Frame:
    """A function that is being walked. returned: its return values, each with the condition for it."""

    scopes: "List[Dict[str, object]]"
    returned: "List[Tuple[Condition, Optional[Value]]]"
    depth: int
    result: Type = field(default_factory=Void)


@dataclass(frozen=True)
class _Stored:
    """A store to a private array. path: the conditions under which it happens."""

    place: Address
    type: Type
    value: "Optional[Value]"
    path: "Tuple[Condition, ...]"


@dataclass(frozen=True)
class _Table:
    """The integers in an array or a struct that nothing changes after its declaration, by their offset in bytes."""

    entries: "Dict[int, Number]"


class Walk:
    """Symbolic execution of the kernels of a file."""

    def __init__(self, reader: Reader, target: str) -> None:
        self.reader, self.target = reader, target
        self.gpu = target in ("cuda", "hip", "opencl")
        # the ranges that are assumed for arrays' elements, and for variables that loops change
        self.ranges: "Dict[object, terms.Range]" = {}
        self.types: "Dict[object, Int]" = {}
        # the ranges of integers in arrays that other launches write
        self.given: "Dict[Tuple[Memory, Int], terms.Range]" = {}
        # what the previous walk has found: loops that break, barriers per step of a loop, buffers that are written
        self.fixed: "Dict[object, Any]" = {}

    # ---- a kernel ----

    def kernel(self, name: str, buffers: "Dict[str, Memory]", blocks: int, threads: int) -> Found:
        """Walk a kernel repeatedly, until the assumed ranges contain all values that the walk finds. Return the results
        of the last walk.

        buffers: the memories of the kernel's pointers, by the pointer's name.
        blocks, threads: the number of work-groups, and the number of work-items in each.
        """
        self.ranges, self.fixed, self.types = {}, {}, {}
        for turn in range(MOST_TURNS):
            terms.clear()
            self.found = Found()
            self.new_fixed: "Dict[object, Any]" = {}
            self.joined: "Dict[object, terms.Range]" = {}
            self.path: "List[Condition]" = []
            self.frames: "List[_Frame]" = []
            self.logs: "List[Dict[Cell, Optional[Value]]]" = []
            self.phase, self.steps, self.order = ZERO, 0, 0
            self.pure: "Dict[object, Type]" = {}
            self.loaded: "Dict[object, Value]" = {}
            # the stores to each private array, in the order of the text
            self.stores: "Dict[object, Tuple[_Stored, ...]]" = {}
            self.tables: "Dict[Memory, _Table]" = {}
            self.active: "Set[Atom]" = set()    # the steps of the loops around the current place
            # for places in private memory: the values that reads return until the next store
            self.recent: "Dict[object, Value]" = {}
            self.trying = 0
            # ids of the syntax trees of reads that are only guesses, because a compare-and-swap checks the value (see
            # `_guesses`)
            self.guesses: "Set[int]" = set()
            self.pointers: "Dict[Memory, Dict[Token, Tuple[Address, Optional[Value]]]]" = {}
            for memory in buffers.values():
                self.new_fixed[memory, "written"] = False
            self.site: "Tuple[object, ...]" = ()
            self.within: "List[Term]" = []    # the steps of the loops around the current statement
            self.group = terms.variable("group", 0, blocks - 1, True) if blocks > 1 else ZERO
            self.item = terms.variable("item", 0, threads - 1, True) if threads > 1 else ZERO
            self.threads = threads
            self.found.groups, self.found.items = set(self.group.free), set(self.item.free)
            self.found.varying = set(self.item.free)
            self.globals: "Dict[str, object]" = {}
            self._file()
            self._call_kernel(self.reader.read(self.reader.functions[name]), buffers)
            grown = [key for key, (lo, hi) in self.ranges.items() if key in self.joined
                     and not (lo <= self.joined[key][0] and self.joined[key][1] <= hi)]
            if not grown and self.new_fixed == self.fixed:
                return self.found
            for key in grown:
                (lo, hi), (low, high) = self.ranges[key], self.joined[key]
                self.ranges[key] = (min(lo, low), max(hi, high)) if turn < MOST_TURNS // 2 else self.types[key].range
            self.fixed = self.new_fixed
        raise Unknown("what loops change, and their barriers, are not found", self.reader.functions[name].at)

    def _file(self) -> None:
        frame = _Frame([self.globals], [], 0)
        self.frames.append(frame)
        for statement in self.reader.globals:
            try:
                self._statement(statement)
            except Unknown:
                for name, *_ in statement.parts[1]:
                    self.globals.pop(name, None)
        self.frames.pop()

    def _call_kernel(self, function: Function, buffers: "Dict[str, Memory]") -> None:
        scope: "Dict[str, object]" = {}
        frame = _Frame([self.globals, scope], [], 1)
        self.frames.append(frame)
        for name, is_type in function.templates:
            if is_type:
                raise Unknown("a kernel for any type", function.at)
            condition = terms.of(Atom("var", f"{name}.{next(terms._numbers)}", (), 0, 1, True))
            scope[name] = Cell(name, types.BOOL, Number(types.BOOL, condition, False))
        for parameter in function.parameters:
            type = self._decayed(self._type(parameter.type))
            if isinstance(type, Pointer):
                if parameter.name not in buffers:
                    raise Unknown(f"nobody says what buffer {parameter.name} is", function.at)
                value: Value = Address(type.to, buffers[parameter.name], ZERO, least(type.to))
            elif parameter.name == "number" and isinstance(type, Int):
                value = Number(type, self.group, False)
            else:
                raise Unknown(f"parameter {parameter.name} is no pointer", function.at)
            scope[parameter.name] = Cell(parameter.name, type, value)
        assert function.body is not None
        self._statement(function.body)
        self.frames.pop()

    # ---- types ----

    def _type(self, node: Node) -> Type:
        kind, parts = node.kind, node.parts
        if kind == "basic":
            found = types.basic(parts[0])
            if found is None:
                raise Unknown(f"unknown type {parts[0]}", node.at)
            return found
        if kind == "named":
            known = self._lookup(parts[0])
            if isinstance(known, (Int, Float, Void, Vector, Pointer, Array, Record)):
                return known
            found = types.basic(parts[0]) if self.reader.vectors else None
            if found is None:
                raise Unknown(f"unknown type {parts[0]}", node.at)
            return found
        if kind == "qualified":
            return self._type(parts[0])
        if kind == "pointer":
            return Pointer(self._type(parts[0]))
        if kind == "array":
            element = self._type(parts[0])
            return Array(element, self._constant(parts[1])) if parts[1] is not None else Pointer(element)
        if kind == "sized":
            element = self._type(parts[0])
            if isinstance(element, Vector):
                element = element.element
            if not isinstance(element, (Int, Float)):
                raise Unknown("a vector of no numbers", node.at)
            count = self._constant(parts[2])
            return Vector(element, count // size(element) if parts[1] == "vector_size" else count)
        if kind in ("struct", "union"):
            record = Record(kind == "union", tuple((name, self._type(of)) for name, of in parts[1]))
            if parts[0]:
                self.frames[-1].scopes[-1].setdefault(parts[0], record)
            return record
        if kind == "tag":
            named = self._lookup(parts[0])
            if not isinstance(named, Record):
                raise Unknown(f"unknown type {parts[0]}", node.at)
            return named
        if kind == "enum":
            at = 0
            for name, value in parts[0]:
                at = self._constant(value) if value is not None else at
                self.frames[-1].scopes[-1][name] = Cell(name, INT, Number(INT, number(at), False))
                at += 1
            return INT
        if kind == "typeof":
            return self._type_of(parts[0])
        raise Unknown(f"type {kind}", node.at)

    def _type_of(self, node: Node) -> Type:
        """Return the type of an expression. Its accesses are not recorded."""
        with self._unrecorded():
            value = self._value(node)
            return Pointer(self._first(value).to) if isinstance(value, (Address, Either)) else value.type

    @contextmanager
    def _unrecorded(self) -> "Iterator[None]":
        """A context in which accesses, obligations and barriers are not recorded. At its end, all variables have their
        old values again.
        """
        kept = self.found.accesses, self.found.obligations, self.found.barriers, self.order
        self.found.accesses, self.found.obligations, self.found.barriers = [], {}, {}
        depth, active, phase = len(self.logs), self.active, self.phase
        self.logs.append({})
        try:
            yield
        finally:
            while len(self.logs) > depth:    # there are several logs if an exception ended the walk inside a branch
                for cell, old in self.logs.pop().items():
                    cell.value = old
            self.active, self.phase = active, phase
            self.found.accesses, self.found.obligations, self.found.barriers, self.order = kept

    def _first(self, value: Value) -> Address:
        while isinstance(value, Either):
            value = value.a
        assert isinstance(value, Address)
        return value

    @staticmethod
    def _decayed(type: Type) -> Type:
        return Pointer(type.element) if isinstance(type, Array) else type

    def _constant(self, node: Node) -> int:
        value = self._value(node)
        if not isinstance(value, Number) or value.term is None or not value.term.is_constant:
            raise Unknown("expected a constant", node.at)
        return value.term.constant

    # ---- names ----

    def _lookup(self, name: str) -> object:
        for scope in reversed(self.frames[-1].scopes):
            if name in scope:
                return scope[name]
        return None

    @contextmanager
    def _scope(self) -> "Iterator[None]":
        self.frames[-1].scopes.append({})
        length = len(self.path)
        try:
            yield
        finally:
            self.frames[-1].scopes.pop()
            del self.path[length:]

    def _set(self, cell: Cell, value: "Optional[Value]") -> None:
        if self.logs and cell not in self.logs[-1]:
            self.logs[-1][cell] = cell.value
        cell.value = value

    @contextmanager
    def _under(self, condition: Condition) -> "Iterator[None]":
        length = len(self.path)
        if condition.kind != "true":
            self.path.append(condition)
        try:
            yield
        finally:
            del self.path[length:]

    # ---- ranges that grow from walk to walk ----

    def _join(self, key: object, lo: int, hi: int) -> None:
        if key in self.joined:
            lo, hi = min(lo, self.joined[key][0]), max(hi, self.joined[key][1])
        self.joined[key] = lo, hi

    def _known(self, key: object, type: "types.Scalar") -> "terms.Range":
        """Return the assumed range of an array's elements, or of a variable that a loop changes."""
        assert isinstance(type, Int)
        self.types[key] = type
        return self.ranges.setdefault(key, (0, 0))

    # ---- values ----

    def _fresh(self, type: Type, varying: bool, span: "Optional[terms.Range]" = None, name: str = "value") -> Value:
        if isinstance(type, Int):
            lo, hi = span or type.range
            term = terms.variable(name, lo, hi, False) if lo < hi else number(lo)
            if varying:
                self.found.varying |= term.free
            return Number(type, term, True)
        if isinstance(type, Float):
            return Number(type, None, True)
        if isinstance(type, Vector):
            if isinstance(type.element, Int):
                return Lanes(type, *(span or type.element.range))
            return Lanes(type)
        if isinstance(type, Pointer):
            raise Unknown("a pointer that is read from memory")
        return Opaque(type)

    def _varies(self, *parts: object) -> bool:
        return bool(terms.all_free([*parts, *self.path]) & self.found.varying)

    def _observed(self, value: Number, at: Token) -> Term:
        """Return the term of an integer that is used where its exact value matters, and not only its residue modulo
        2^bits. If the term is not known to be in the range of the integer's type, an obligation is added.
        """
        assert value.term is not None and isinstance(value.type, Int)
        lo, hi = value.type.range
        if value.term.is_constant and lo <= value.term.constant <= hi:
            return value.term
        if value.data:
            low, high = bounds(value.term)
            if lo <= low and high <= hi:
                return value.term
        self._oblige(value.term, lo, hi, at)
        return value.term

    def _oblige(self, term: Term, lo: int, hi: int, at: Token) -> None:
        self.found.obligations.setdefault(Obligation(term, lo, hi, tuple(self.path), at))

    def _converted(self, value: Value, type: Type, at: Token) -> Value:
        if isinstance(value, Opaque) and isinstance(type, (Int, Float, Vector)) and not isinstance(value.type, Void):
            raise Unknown("a struct becomes a number", at)
        if isinstance(value, Number) and isinstance(type, Int):
            if type == types.BOOL and self._is_condition(value):
                return Number(type, value.term, value.data, value.condition)
            if value.term is None:
                return self._fresh(type, self._varies())
            source = value.type
            if source == type:
                return value
            assert isinstance(source, Int)
            if not source.signed and type.bits > source.bits:
                self._observed(value, at)
            lo, hi = type.range
            low, high = bounds(value.term)
            if not (lo <= low and high <= hi):
                low, high = bounds(value.term, self.path[-5:])
            if lo <= low and high <= hi:
                return Number(type, value.term, value.data, value.condition)
            # the value comes from memory, or the type is narrower than index types, which have at least 32 bits
            if value.data or type.bits < 32:
                return self._fresh(type, self._varies(value.term))
            if type.signed or type.bits < source.bits:
                self._oblige(value.term, lo, hi, at)
            return Number(type, value.term, value.data)
        if isinstance(value, Number) and isinstance(type, Float):
            return value if value.type == type else Number(type, None, True)
        if isinstance(value, Number) and isinstance(type, Vector):
            element = self._converted(value, type.element, at)
            return self._splat(element, type)
        if isinstance(value, Lanes) and isinstance(type, Vector):
            return self._cast_lanes(value, type)
        if isinstance(value, (Address, Either)) and isinstance(type, Pointer):
            return self._cast_pointer(value, type.to, at)
        if isinstance(value, Number) and isinstance(type, Pointer):
            if value.pointer is not None:
                return self._cast_pointer(value.pointer, type.to, at)
            raise Unknown("an integer becomes a pointer", at)
        if isinstance(value, (Address, Either)) and isinstance(type, Int):
            made = self._fresh(type, True)
            if isinstance(value, Address) and type.bits == 64:
                return replace(made, pointer=value)   # type: ignore[arg-type]
            return made
        if isinstance(type, Void):
            return Opaque(type)
        if isinstance(value, Opaque) and isinstance(type, (Record, Array)):
            return value if value.type == type else Opaque(type)
        if isinstance(value, Lanes) and isinstance(type, (Int, Float)):    # a vector that is reinterpreted as a number
            return self._fresh(type, self._varies())
        raise Unknown(f"a conversion to {type}", at)

    @staticmethod
    def _is_condition(value: Number) -> bool:
        return value.condition is not None

    def _splat(self, value: Value, type: Vector) -> Lanes:
        assert isinstance(value, Number)
        if isinstance(type.element, Int) and value.term is not None:
            lo, hi = bounds(value.term)
            low, high = type.element.range
            if low <= lo and hi <= high:
                return Lanes(type, lo, hi)
        made = self._fresh(type, True)
        assert isinstance(made, Lanes)
        return made

    def _cast_lanes(self, value: Lanes, type: Vector) -> Lanes:
        if value.type == type:
            return value
        if isinstance(value.type.element, Int) and isinstance(type.element, Int) \
                and value.type.element.bits == type.element.bits \
                and 0 <= value.lo and value.hi <= type.element.range[1]:
            return Lanes(type, value.lo, value.hi)
        made = self._fresh(type, True)
        assert isinstance(made, Lanes)
        return made

    def _convert_lanes(self, value: Lanes, type: Vector, keep: bool = True) -> Lanes:
        """Return a vector whose elements are converted to another type."""
        if isinstance(value.type.element, Int) and isinstance(type.element, Int) and keep:
            lo, hi = type.element.range
            if lo <= value.lo and value.hi <= hi:
                return Lanes(type, value.lo, value.hi)
        made = self._fresh(type, True)
        assert isinstance(made, Lanes)
        return made

    def _cast_pointer(self, value: Value, to: Type, at: Token) -> Value:
        if isinstance(value, Either):
            return Either(value.condition, self._cast_pointer(value.a, to, at), self._cast_pointer(value.b, to, at))
        assert isinstance(value, Address)
        if isinstance(to, Void):
            return value
        return replace(value, to=to)

    def _moved(self, value: Value, by: Term, at: Token) -> Value:
        """Return a pointer moved by `by` elements of the type that it points to."""
        if isinstance(value, Either):
            return Either(value.condition, self._moved(value.a, by, at), self._moved(value.b, by, at))
        assert isinstance(value, Address)
        if value.memory is None:
            if by.is_constant and by.constant == 0:
                return value
            return replace(value, offset=value.offset.times(value.unit) + by.times(size(value.to)), unit=1)
        width = size(value.to)
        if width % value.unit == 0:
            return replace(value, offset=value.offset + by.times(width // value.unit))
        if value.unit % width == 0:
            return replace(value, offset=value.offset.times(value.unit // width) + by, unit=width)
        return replace(value, offset=value.offset.times(value.unit) + by.times(width), unit=1)

    # ---- memory ----

    def _inside(self, value: Address, type: Type, at: Token) -> None:
        """Add the obligation that an access through a pointer to a variable stays inside of this variable."""
        assert value.cell is not None
        if size(type) > size(value.cell.type):
            raise Unknown("an access beside a variable", at)
        if value.offset != ZERO:
            self._oblige(value.offset.times(value.unit), 0, size(value.cell.type) - size(type), at)

    def _touch(self, value: Value, type: Type, write: bool, at: Token, atomic: bool = False) -> None:
        if isinstance(value, Either):
            with self._under(value.condition):
                self._touch(value.a, type, write, at, atomic)
            with self._under(negated(value.condition)):
                self._touch(value.b, type, write, at, atomic)
            return
        assert isinstance(value, Address)
        if value.memory is None:
            assert value.cell is not None
            self._inside(value, type, at)
            if write:
                self._set(value.cell, self._fresh(value.cell.type, True))
            return
        if write and value.memory.space == "global":
            self.found.stored[value.memory] = None      # unknown, unless `_store` sets the range afterwards
            for memory in (value.memory, *value.memory.shares):
                self.new_fixed[memory, "written"] = True
        if write and value.memory.space == "private":
            self._counted_store(value.memory, 1)
            self.new_fixed[value.memory.key, "changed"] = True
            self._forget(value.memory)
        width, offset, unit = size(type), value.offset, value.unit
        if width % unit:
            offset, unit = offset.times(unit // least(type)) if unit % least(type) == 0 else offset.times(unit), \
                least(type) if unit % least(type) == 0 else 1
        self.order += 1
        self.found.accesses.append(Access(value.memory, offset, width // unit, unit, write, atomic, tuple(self.path),
                                          self.phase, at, self.order, tuple(self.within)))

    def _load(self, value: Value, type: Type, at: Token, atomic: bool = False) -> Value:
        if isinstance(value, Either):
            with self._under(value.condition):
                a = self._load(value.a, type, at, atomic)
            with self._under(negated(value.condition)):
                b = self._load(value.b, type, at, atomic)
            merged = self._merged(value.condition, a, b, at)
            assert merged is not None
            return merged
        assert isinstance(value, Address)
        if value.memory is None:
            assert value.cell is not None
            self._inside(value, type, at)
            if value.cell.value is None or value.offset != ZERO:
                return self._fresh(type, True)
            return self._converted(value.cell.value, type, at) if value.cell.type == type else self._fresh(type, True)
        if isinstance(type, Array):
            return replace(value, to=type.element)
        self._touch(value, type, False, at, atomic)
        if isinstance(type, Pointer):
            return self._kept_pointer(value, at)
        element = type.element if isinstance(type, Vector) else type
        span = None
        if isinstance(element, Int) and value.memory.space != "global":
            span = self._known((value.memory.key, element), element)
        elif isinstance(element, Int):
            span = self.given.get((value.memory, element))
        place = value.memory, value.offset.times(value.unit), type
        if isinstance(type, Int) and value.memory.space == "private":
            kept = self._looked_up(value.memory, value.offset.times(value.unit), type) or self._kept_number(value, type)
            if kept is not None:
                return kept
        if isinstance(type, Record):
            return self._struct(value, type)
        if value.memory.space == "private" and isinstance(type, (Int, Float)) and type.bits == 32:
            if place not in self.recent:
                if isinstance(type, Int):
                    known = self._known((value.memory.key, type), type)
                    self.recent[place] = self._fresh(type, True, known, value.memory.name)
                else:
                    bits = terms.variable("bits", 0, (1 << 32) - 1, False)
                    self.found.varying |= bits.free
                    self.recent[place] = Number(type, None, True, bits=bits)
            return self.recent[place]
        varies = self._varies(value.offset) or value.memory.space == "private"
        if value.memory.space == "global" and isinstance(type, Int) and not self.fixed.get((value.memory, "written"), True):
            # the kernel never writes this buffer, so two reads at the same offset return the same value
            key = value.memory, value.offset, value.unit, type
            if key not in self.loaded:
                self.loaded[key] = self._fresh(type, varies, span, value.memory.name)
                if type.bits >= 32 and isinstance(value.memory.key, tuple) and value.memory.key[0] == "params":
                    for atom in terms.all_free([self.loaded[key].term]):     # type: ignore[union-attr]
                        atom.place = value.memory, value.offset.times(value.unit)
                if value.offset.is_constant:
                    self.found.common |= terms.all_free([self.loaded[key].term])    # type: ignore[union-attr]
            return self.loaded[key]
        return self._fresh(type, varies, span, value.memory.name)

    def _forget(self, memory: "Optional[Memory]" = None) -> None:
        """Forget the known values of private memory: those of one array, or of all arrays if `memory` is None."""
        self.recent = {key: value for key, value in self.recent.items()
                       if memory is not None and key[0] is not memory}    # type: ignore[index]

    def _counted_store(self, memory: Memory, count: int) -> None:
        self.new_fixed[memory.key, "stores"] = self.new_fixed.get((memory.key, "stores"), 0) + count

    def _kept_number(self, place: Address, type: Int) -> "Optional[Number]":
        """Return the integer at a place of a private array if it is known, else None. It is known under three
        conditions. (1) Each store to the array writes element n * k + c at step k of a loop. All stores have the same
        n, and each has its own c < n. (2) The loop of the store that writes the place has ended. (3) The stored integer
        depends only on ids, on k, and on steps of loops that have not ended.
        """
        assert place.memory is not None
        stores = self.stores.get(place.memory.key, ())
        if not stores or self.fixed.get((place.memory.key, "stores")) != len(stores):
            return None
        stride = stores[0].place.offset.parts[0][1] if stores[0].place.offset.parts else 0
        if len({stored.place.offset.constant for stored in stores}) < len(stores):
            return None
        for stored in stores:
            to = stored.place
            if to.memory is not place.memory or stored.type != type or to.unit != place.unit \
                    or len(to.offset.parts) != 1 or to.offset.parts[0][1] != stride \
                    or not 0 <= to.offset.constant < stride:
                return None
        column = place.offset.constant % stride
        found = next((stored for stored in stores if stored.place.offset.constant == column), None)
        index = terms.quotient(place.offset, stride)
        if found is None or any(factor % stride for _, factor in place.offset.parts):
            return None
        (step, _), value = found.place.offset.parts[0], found.value
        alive = self.active | self.found.groups | self.found.items
        if not isinstance(value, Number) or value.term is None or value.type != type or step in self.active \
                or step.kind != "var" or step.lo or (step.hi + 1) * stride * place.unit != place.memory.bytes:
            return None
        if not set(found.path) <= set(self.path) or not value.term.free - {step} <= alive:
            return None
        return Number(type, terms.substituted(value.term, step, index), value.data)

    def _looked_up(self, memory: Memory, offset: Term, type: Int) -> "Optional[Number]":
        """Return the integer at a byte offset of an array or a struct. It is a choice between the integers in the table
        that the offset may select. Return None if the table lacks one of these, or if more than MOST_CHANGES of these
        differ from their predecessor.
        """
        table = self.tables.get(memory)
        if table is None or self.fixed.get((memory.key, "changed")):
            return None
        if offset.is_constant:
            found = table.entries.get(offset.constant)
            return found if found is not None and found.type == type else None
        stride = gcd(*(factor for _, factor in offset.parts))
        first = offset.constant % stride
        index = terms.quotient(offset, stride)    # the offset is stride * index + first
        lo, hi = bounds(index)
        lo, hi = max(lo, 0), min(hi, ((memory.bytes or 0) - size(type) - first) // stride)
        if not lo <= hi < lo + MOST_ENTRIES:
            return None
        numbers = [table.entries.get(stride * at + first) for at in range(lo, hi + 1)]
        held = [each for each in numbers if each is not None and each.type == type and each.term is not None]
        changes = [at for at in range(1, len(held)) if held[at].term != held[at - 1].term]
        if len(held) < len(numbers) or len(changes) > MOST_CHANGES:
            return None
        result = held[-1].term
        for at in reversed(changes):
            before = held[at - 1].term
            assert before is not None and result is not None
            result = chosen(terms.at_most(index, number(lo + at - 1)), before, result)
        return Number(type, result, any(each.data for each in held) or not all(atom.known for atom in index.free))

    def _struct(self, place: Address, type: Record) -> Opaque:
        """Return the value of a struct in memory."""
        fields: "List[Tuple[int, Number]]" = []
        if place.memory is not None and not type.union:
            for name, of in type.fields:
                found = type.field(name)
                if isinstance(of, Int) and found is not None:
                    held = self._looked_up(place.memory, place.offset.times(place.unit) + number(found[0]), of)
                    fields += [(found[0], held)] if held is not None else []
        return Opaque(type, tuple(fields))

    def _kept_pointer(self, place: Address, at: Token) -> Value:
        """Return the pointer that an array of pointers has at `place`. Raise Unknown unless the array has exactly one
        store, either at this place, or at an index that runs over the whole array.
        """
        assert place.memory is not None
        stores = list(self.pointers.get(place.memory, {}).values())
        if len(stores) == 1:
            to, stored = stores[0]
            if to.unit == place.unit and isinstance(stored, Address):
                if to.offset == place.offset:
                    return stored
                if len(to.offset.parts) == 1 and to.offset.parts[0][0].kind == "var" and to.offset.parts[0][1] == 1:
                    step = to.offset.parts[0][0]
                    if (step.hi + 1) * to.unit == place.memory.bytes and to.offset.constant == 0:
                        return replace(stored, offset=terms.substituted(stored.offset, step, place.offset))
        raise Unknown("a pointer in memory", at)

    def _store(self, value: Value, type: Type, stored: "Optional[Value]", at: Token) -> None:
        if isinstance(value, Either):
            with self._under(value.condition):
                self._store(value.a, type, stored, at)
            with self._under(negated(value.condition)):
                self._store(value.b, type, stored, at)
            return
        assert isinstance(value, Address)
        if value.memory is None:
            assert value.cell is not None
            self._inside(value, type, at)
            same = value.cell.type == type and stored is not None and value.offset == ZERO
            self._set(value.cell, stored if same else self._fresh(value.cell.type, True))
            return
        before = self.found.stored.get(value.memory, ()) if value.memory.space == "global" else None
        self._touch(value, type, True, at)
        if before is not None:
            self._stored_global(value.memory, type, stored, before)
        if value.memory.space == "private":
            self.stores[value.memory.key] = (*self.stores.get(value.memory.key, ()),
                                             _Stored(value, type, stored, tuple(self.path)))
        if isinstance(type, Pointer):
            self.pointers.setdefault(value.memory, {})[at] = value, stored
        element = type.element if isinstance(type, Vector) else type
        self._remember(value.memory, element, stored)

    def _stored_global(self, memory: Memory, type: Type, stored: "Optional[Value]", before: "Any") -> None:
        """Extend the range of the integers that the kernel stores to an array in global memory. before: the range so
        far; () before the first store.
        """
        element = type.element if isinstance(type, Vector) else type
        if isinstance(stored, Number) and stored.term is not None:
            lo, hi = bounds(stored.term)
        elif isinstance(stored, Lanes) and stored.type.element == element:
            lo, hi = stored.lo, stored.hi
        else:
            return
        if isinstance(element, Int) and element.range[0] <= lo and hi <= element.range[1] \
                and (not before or before[0] == element):
            self.found.stored[memory] = (element, min(lo, before[1]) if before else lo,
                                         max(hi, before[2]) if before else hi)

    def _remember(self, memory: Memory, element: Type, stored: "Optional[Value]") -> None:
        """Extend the range of an array's elements by a stored value. For reads of the array as integers of
        another type, the range becomes the full range of that type.
        """
        if memory.space == "global":
            return
        if isinstance(element, Int) and isinstance(stored, Number) and stored.term is not None:
            lo, hi = bounds(stored.term)
            low, high = element.range
            self._join((memory.key, element), *((lo, hi) if low <= lo and hi <= high else (low, high)))
        elif isinstance(element, Int) and isinstance(stored, Lanes) and stored.type.element == element:
            self._join((memory.key, element), stored.lo, stored.hi)
        elif isinstance(element, Int):
            self._join((memory.key, element), *element.range)
        for other in (Int(bits, signed) for bits in (8, 16, 32, 64) for signed in (False, True)):
            if other != element:
                self._join((memory.key, other), *other.range)

    # ---- merging ----

    def _merged(self, condition: Condition, a: "Optional[Value]", b: "Optional[Value]", at: Token) -> "Optional[Value]":
        if condition.kind == "true" or b is None or a == b:
            return a
        if condition.kind == "false" or a is None:
            return b
        if isinstance(a, Number) and isinstance(b, Number):
            if a.term is None or b.term is None:
                return Number(a.type, None, True) if isinstance(a.type, Float) else self._fresh(a.type, True)
            data = a.data or b.data or not all(atom.known for atom in condition.free)
            return Number(a.type, chosen(condition, a.term, b.term), data)
        if isinstance(a, Lanes) and isinstance(b, Lanes):
            return Lanes(a.type, min(a.lo, b.lo), max(a.hi, b.hi))
        if isinstance(a, (Address, Either)) and isinstance(b, (Address, Either)):
            if isinstance(a, Address) and isinstance(b, Address) and (a.memory, a.unit, a.to, a.cell) == \
                    (b.memory, b.unit, b.to, b.cell):
                return replace(a, offset=chosen(condition, a.offset, b.offset))
            return Either(condition, a, b)
        if isinstance(a, Opaque):
            return Opaque(a.type) if a.fields else a
        raise Unknown("values of two kinds meet", at)

    def _branches(self, condition: Condition, then: "Any", other: "Any", at: Token) -> "Tuple[Any, Any]":
        """Walk the two sides of a branch, and merge the values of variables after it."""
        results: "List[Any]" = []
        written: "List[Dict[Cell, Optional[Value]]]" = []
        phases: "List[Term]" = []
        before, recent, kept = self.phase, self.recent, []
        for side, what in ((condition, then), (negated(condition), other)):
            self.logs.append({})
            self.phase, self.recent = before, dict(recent)
            with self._under(side):
                results.append(what() if side.kind != "false" else None)
            log = self.logs.pop()
            written.append({cell: cell.value for cell in log})
            phases.append(self.phase)
            kept.append(self.recent)
            for cell, old in log.items():
                cell.value = old
        self.phase = chosen(condition, phases[0], phases[1])
        self.recent = {key: value for key, value in recent.items() if all(of.get(key) is value for of in kept)}
        for cell in {**written[0], **written[1]}:
            one, two = (side_of.get(cell, cell.value) for side_of in written)
            self._set(cell, self._merged(condition, one, two, at))
        return results[0], results[1]

    # ---- statements ----

    def _statement(self, node: Node) -> _Exits:
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise Unknown("the kernel is too long for the walk", node.at)
        method = getattr(self, f"_do_{node.kind}", None)
        if method is None:
            raise Unknown(f"statement {node.kind}", node.at)
        return method(node)

    def _do_block(self, node: Node) -> _Exits:
        exits = _Exits()
        self.guesses |= _guesses(node)
        with self._scope():
            for statement in node.parts[0]:
                left = self._statement(statement)
                if left.any.kind != "false":
                    exits = exits.then(left)
                    stays = negated(left.any)
                    if stays.kind == "false":
                        break
                    if stays.kind != "true":
                        self.path.append(stays)
        return exits

    def _do_expression(self, node: Node) -> _Exits:
        self._value(node.parts[0])
        return _Exits()

    def _do_typedef(self, node: Node) -> _Exits:
        for name, type, _, _ in node.parts[1]:
            self.frames[-1].scopes[-1][name] = self._type(type)
        return _Exits()

    def _do_declare(self, node: Node) -> _Exits:
        base = node.parts[0]
        space = base.parts[1] if base.kind == "qualified" else ""
        static, const = (base.kind == "qualified" and base.parts[part] for part in (2, 4))
        if not node.parts[1]:
            self._type(base)
        for name, type_node, initial, reference in node.parts[1]:
            type = self._type(type_node)
            if isinstance(type, Pointer) and type_node.kind == "array" and initial is not None:
                type = Array(type.to, len(initial.parts[0]))
            scope = self.frames[-1].scopes[-1]
            if reference:
                raise Unknown("a reference as a variable", node.at)
            if isinstance(type, (Array, Record)):
                where = "shared" if space == "shared" else "private"
                key = (name, node.at, self.site)
                memory = Memory(name, where, size(type), key, node.at)
                scope[name] = Cell(name, type, None, memory, key)
                self._initialise(memory, type, initial, static)
                if initial is not None and (const or space == "constant" or not static and scope is not self.globals):
                    self._tabulate(memory, type, initial)
                continue
            value: "Optional[Value]" = None
            if initial is not None:
                value = self._converted(self._initial(initial, type), type, node.at)
            if space == "shared":
                memory = Memory(name, "shared", size(type), (name, node.at, self.site), node.at)
                scope[name] = Cell(name, type, None, memory)
                continue
            scope[name] = Cell(name, type, value, None, (name, node.at, self.site))
        return _Exits()

    def _initial(self, node: Node, type: Type) -> Value:
        if node.kind != "braces":
            return self._value(node)
        values = [self._value(of) for of in node.parts[0]]
        if isinstance(type, Vector):
            return self._of_lanes(values, type, node.at)
        if len(values) == 1:
            return values[0]
        return Opaque(type)

    def _union(self, memory: Memory, type: Record, value: Value) -> None:
        """Record the bits of the value that initialises a union: a read of the union as a float or as an unsigned
        integer returns them.
        """
        if isinstance(value, Number) and value.bits is not None and all(size(of) == 4 for _, of in type.fields):
            for of, held in ((value.type, value), (types.UINT, Number(types.UINT, value.bits, True))):
                self.recent[memory, ZERO, of] = held

    def _initialise(self, memory: Memory, type: Type, initial: "Optional[Node]", static: bool) -> None:
        element: Type = type
        while isinstance(element, Array):
            element = element.element
        if initial is not None or static:
            self._counted_store(memory, 2)
        if initial is None:
            if static:
                self._remember(memory, element, Number(element, ZERO, False) if isinstance(element, Int) else None)
            return
        if initial.kind != "braces":
            value = self._value(initial)
            if isinstance(value, Address) and isinstance(type, Record):
                self._touch(value, type, False, initial.at)
            self._open_elements(memory)
            if isinstance(value, Opaque) and value.type == type and value.fields:
                self.tables[memory] = _Table(dict(value.fields))
            return
        waiting, count = list(initial.parts[0]), 0
        held: "Optional[Value]" = None
        while waiting:
            node = waiting.pop()
            if node.kind == "braces":
                waiting += node.parts[0]
                continue
            count += 1
            held = value = self._value(node)
            if isinstance(type, Array):
                self._remember(memory, element, value)
        if isinstance(type, Array) and isinstance(element, Int):
            # the elements without an initial value are 0
            self._remember(memory, element, Number(element, ZERO, False))
        if not isinstance(type, Array):
            self._open_elements(memory)
        if isinstance(type, Record) and type.union and count == 1 and held is not None:
            self._union(memory, type, held)

    def _tabulate(self, memory: Memory, type: Type, initial: Node) -> None:
        """Record the integers that initialise an array or a struct, if all initial values are constants."""
        entries: "Dict[int, Number]" = {}

        def fill(of: Type, node: "Optional[Node]", at: int) -> None:
            if isinstance(of, Array):
                parts = [(of.element, n * size(of.element)) for n in range(of.length)]
            elif isinstance(of, Record) and not of.union:
                parts = [(inner, offset) for name, _ in of.fields for offset, inner in [of.field(name) or (0, Void())]]
            elif isinstance(of, Int):
                value = self._value(node) if node is not None else Number(of, ZERO, False)
                value = self._converted(value, of, initial.at)
                if not isinstance(value, Number) or value.term is None or not value.term.is_constant:
                    raise Unknown("an initial value that is no constant", initial.at)
                # an integer beyond the signed type's range may be the bits of a float: it is data, not an index
                entries[at] = Number(of, value.term, value.term.constant >> of.bits - 1 > 0)
                return
            else:
                return
            if len(parts) > MOST_ENTRIES or node is not None and (
                    node.kind != "braces" or len(node.parts[0]) > len(parts)):
                raise Unknown("an initial value of another form", initial.at)
            given = node.parts[0] if node is not None else []
            for n, (inner, offset) in enumerate(parts):
                fill(inner, given[n] if n < len(given) else None, at + offset)

        try:
            with self._unrecorded():
                fill(type, initial, 0)
        except Unknown:
            return
        if entries:
            self.tables[memory] = _Table(entries)

    def _spoil(self, memory: Memory) -> None:
        """Forget what is known about the array's elements: from here on, they may have any value."""
        self.new_fixed[memory.key, "changed"] = True
        self._open_elements(memory)

    def _open_elements(self, memory: Memory) -> None:
        """Extend the range of the array's elements to the full range of the type, for each integer type by which they
        may be read.
        """
        self._counted_store(memory, 2)
        self._forget(memory)
        for of in (Int(bits, signed) for bits in (8, 16, 32, 64) for signed in (False, True)):
            self._join((memory.key, of), *of.range)

    def _do_if(self, node: Node) -> _Exits:
        condition = self._truth(node.parts[0])
        then, other = self._branches(condition, lambda: self._statement(node.parts[1]),
                                     lambda: self._statement(node.parts[2]) if node.parts[2] else _Exits(), node.at)
        return (then or _Exits()).under(condition, other or _Exits())

    def _do_break(self, node: Node) -> _Exits:
        return _Exits(breaks=TRUE)

    def _do_continue(self, node: Node) -> _Exits:
        return _Exits(continues=TRUE)

    def _do_return(self, node: Node) -> _Exits:
        frame = self.frames[-1]
        value = None
        if node.parts[0] is not None:
            value = self._value(node.parts[0])
            if not isinstance(frame.result, Void):
                value = self._converted(value, frame.result, node.at)
        frame.returned.append((both(*self.path[frame.depth:]), value))
        return _Exits(returns=TRUE)

    # ---- loops ----

    def _do_do(self, node: Node) -> _Exits:
        """Walk a do loop. The first step is walked alone, and the further steps as a while loop."""
        body, condition = node.parts
        exits = self._statement(body)
        again = Node("for", node.at, None, condition, None, body)
        with self._under(negated(terms.either(exits.breaks, exits.returns))):
            then = self._do_for(again)
        return _Exits(returns=terms.either(exits.returns, then.returns))

    def _do_for(self, node: Node) -> _Exits:
        first, condition, step, body = node.parts
        with self._loop_scope():
            if first is not None:
                self._statement(first)
            counted = self._counted(condition, step, body)
            if counted is None and not self._is_long(node):
                exits = self._unrolled(node)
                if exits is not None:
                    return exits
            facts: "List[Condition]" = []
            exits = self._summed(node, counted, facts)
        self.path += [terms.fact(condition) for condition in facts if condition.kind != "true"]
        return exits

    @contextmanager
    def _loop_scope(self) -> "Iterator[None]":
        self.frames[-1].scopes.append({})
        try:
            yield
        finally:
            self.frames[-1].scopes.pop()

    def _counted(self, condition: "Optional[Node]", step: "Optional[Node]", body: Node) -> "Optional[Tuple[Cell, Term, int]]":
        """Return the variable of a loop, its start and its step, if its values are an arithmetic progression.
        Otherwise return None.
        """
        if condition is None or step is None:
            return None
        for part in step.parts[0] if step.kind == "comma" else [step]:
            if part.kind == "after":
                op, name, by = part.parts[0], part.parts[1], None
            elif part.kind == "assign" and part.parts[0] in ("+", "-"):
                op, name, by = part.parts
            else:
                continue
            if name.kind != "name":
                continue
            cell = self._lookup(name.parts[0])
            if not isinstance(cell, Cell) or not isinstance(cell.value, Number) or cell.value.term is None:
                continue
            amount = 1
            if by is not None:
                try:
                    amount = self._constant(by)
                except Unknown:
                    continue
            limits = [c for c in self._conjuncts(condition) if c.kind == "binary" and c.parts[0] in ("<", "<=", ">", ">=")
                      and (name.parts[0] in _names(c.parts[1])) and name.parts[0] not in _names(c.parts[2])]
            if limits and amount and name.parts[0] not in _assigned(body):
                return cell, cell.value.term, amount if op == "+" else -amount
        return None

    def _conjuncts(self, node: Node) -> "List[Node]":
        while node.kind == "group":
            node = node.parts[0]
        if node.kind == "binary" and node.parts[0] == "&&":
            return self._conjuncts(node.parts[1]) + self._conjuncts(node.parts[2])
        return [node]

    def _unrolled(self, node: Node, most: int = MOST_UNROLLED) -> "Optional[_Exits]":
        """Walk a loop step by step, as long as its condition is a constant. Return None if that is not possible: the
        condition varies, the body may return or may break, or there are more than `most` steps.
        """
        _, condition, step, body = node.parts
        if condition is None or self._peek(condition).kind not in ("true", "false"):
            return None
        for _ in range(most):
            value = self._truth(condition)
            if value.kind == "false":
                return _Exits()
            if value.kind != "true":
                return None
            exits = self._statement(body)
            if exits.returns.kind != "false" or exits.breaks.kind not in ("false", "true"):
                return None
            if exits.breaks.kind == "true":
                return _Exits()
            if step is not None:
                self._value(step)
        return None

    def _peek(self, node: Node) -> Condition:
        """Return the value of a condition. Its accesses are not recorded."""
        try:
            with self._unrecorded():
                return self._truth(node)
        except Unknown:
            return terms.open_condition("peek")

    def _loop_cells(self, node: Node) -> "Tuple[Set[str], List[Cell]]":
        """Return the names to which a loop assigns. Also return the cells of those that are variables in registers:
        they have no memory.
        """
        changed: "Set[str]" = set().union(*(_assigned(part) for part in node.parts[1:] if part is not None))
        return changed, list(dict.fromkeys(
            cell for name in sorted(changed) for cell in [self._lookup(name.removesuffix("[]"))]
            if isinstance(cell, Cell) and cell.memory is None and not isinstance(cell, _Reference)
            and not (name.endswith("[]") and isinstance(cell.type, Pointer))))

    def _is_long(self, node: Node) -> bool:
        """Return true if a loop counts by a constant, and its number of steps either varies or exceeds MOST_UNROLLED.
        """
        _, condition, step, body = node.parts
        changed, cells = self._loop_cells(node)
        inductive = self._inductive(body, step, changed)
        moves = {cell: (cell.value, by) for cell in cells for by in [self._moves(cell, inductive)]
                 if by is not None and cell.value}
        counts = self._counts(condition, moves, changed) if condition is not None else None
        trips = self._trips(condition, *counts, changed) if counts is not None else None
        return trips is not None and (not trips.is_constant or trips.constant > MOST_UNROLLED)

    def _summed(self, node: Node, counted: "Optional[Tuple[Cell, Term, int]]", facts: "List[Condition]") -> _Exits:
        """Walk a loop once, for an arbitrary step k. Afterwards, each variable has its value after the loop."""
        _, condition, step, body = node.parts
        key = (node.at, self.site)
        trips, k = None, None
        changed, cells = self._loop_cells(node)
        inductive = self._inductive(body, step, changed)
        entry: "Dict[Cell, Optional[Value]]" = {cell: cell.value for cell in cells}
        moves: "Dict[Cell, Tuple[Value, Term]]" = {}
        for cell in cells:
            moved = self._moves(cell, inductive) if counted is None or cell is not counted[0] else None
            if moved is not None:
                moves[cell] = cell.value, moved     # type: ignore[assignment]
        open_ones = [cell for cell in cells if cell not in moves and (counted is None or cell is not counted[0])]
        moves.update(self._tried(node, open_ones, cells))
        cycles = {cell: of for cell in open_ones if cell not in moves for of in [self._cycle(cell, body, step)]
                  if of is not None}
        if counted is None and condition is not None:
            counted = self._counts(condition, moves, changed)
        variable = None
        if counted is not None:
            variable, start, by = counted
            moves.pop(variable, None)
            trips = self._trips(condition, variable, start, by, changed)
            most = trips.constant if trips is not None and trips.is_constant else None
            if most is not None and most <= 0:
                # the condition is evaluated once even without a step: its arithmetic is checked, too
                self._truth(condition)
                return _Exits()
            if most == 1:
                self._truth(condition)
                exits = self._statement(body)
                if step is not None:
                    self._value(step)
                if exits.breaks.kind == exits.returns.kind == "false":
                    self._truth(condition)
                return _Exits(returns=exits.returns)
            most = most if most is not None else self._most_trips(condition, variable, start, by, changed)
            k = terms.variable(f"{variable.name}", 0, most - 1, most < NO_LIMIT)
        else:
            k = terms.variable("turn", 0, 1 << 62, False)
        self.within.append(k)
        breaks_before = self.fixed.get((key, "breaks"), True) if _has(body, ("break", "return")) else False
        per_step = self.fixed.get((key, "barriers"), ZERO)
        phase = self.phase
        if not isinstance(per_step, Term):
            per_step = ZERO
        self.phase = phase + terms.product(per_step, k)
        length = len(self.path)
        self._forget()
        if breaks_before:
            self.path.append(terms.open_condition("continues"))

        def at_step(count: Term, value: "Optional[Number]") -> None:
            if variable is not None and value is not None:
                assert counted is not None
                self._set(variable, Number(value.type, counted[1] + count.times(counted[2]), value.data))
            for cell in cells:
                if cell is variable:
                    continue
                if cell in moves:
                    self._set(cell, self._advanced(moves[cell][0], terms.product(moves[cell][1], count), body.at))
                elif cell in cycles:
                    at, length = cycles[cell]
                    assert at.term is not None
                    self._set(cell, Number(at.type, terms.modulo(at.term + count, length), False))
                else:
                    self._open(cell, entry[cell], (key, cell.name, "cell"))

        own = variable.value if variable is not None else None
        assert own is None or isinstance(own, Number)
        at_step(k, own)
        if condition is not None:
            continues = self._truth(condition)
            if continues.kind != "true":
                self.path.append(continues)
        outer = self.active
        self.active = self.active | k.free
        exits = self._statement(body)
        self.active = outer
        stays = negated(terms.either(exits.breaks, exits.returns))
        self.new_fixed[key, "breaks"] = self.new_fixed.get((key, "breaks"), False) or stays.kind != "true"
        if step is not None:
            with self._under(stays):
                self._value(step)
        for cell in cells:
            if cell is not variable and cell not in moves and cell not in cycles:
                self._joined_cell((key, cell.name, "cell"), cell.value)
        gained = self.phase - (phase + terms.product(per_step, k))
        if gained.free & set(k.free) or not gained.is_constant:
            raise Unknown("barriers in a loop whose number differs between steps", node.at)
        self.new_fixed[key, "barriers"] = gained
        self.within.pop()
        del self.path[length:]
        # after the loop
        self._forget()
        if trips is not None and trips.is_constant and not breaks_before:
            total = trips
        elif trips is not None and not breaks_before:
            total = chosen(terms.at_most(trips, ZERO), ZERO, trips)
        else:
            hi = bounds(k)[1]
            # conditions other than limits decide when the loop ends, so the number of steps is unknown
            total = terms.variable("steps", 0, hi + 1, not breaks_before and counted is not None and trips is not None)
            if counted is not None and condition is not None:
                for part in self._conjuncts(condition):
                    most_of = self._trips_of(part, *counted, changed)
                    if most_of is not None:
                        facts.append(terms.at_most(total, chosen(terms.at_most(most_of, ZERO), ZERO, most_of)))
            if self._varies(k) or any(self._varies(c) for c in [*self.path]) or trips is None or self._varies(trips):
                self.found.varying |= total.free
        at_step(total, own)
        if trips is not None and not breaks_before:
            # the loop evaluates its condition once more when it ends: that arithmetic is checked, too
            self._truth(condition)
        if trips is None and condition is not None and not breaks_before:
            with self._under(TRUE):
                ends = self._peek(condition)
            facts.append(negated(ends))
        self.phase = phase + terms.product(per_step, total)
        returned = exits.returns
        if returned.kind != "false":
            returned = terms.open_condition("returned")
        return _Exits(returns=returned)

    def _counts(self, condition: Node, moves: "Dict[Cell, Tuple[Value, Term]]",
                changed: "Set[str]") -> "Optional[Tuple[Cell, Term, int]]":
        """Return a variable, its first value, and the constant that each step adds to it, if the loop's condition
        limits this variable. Return None if there is no such variable.
        """
        for cell, (value, by) in moves.items():
            if isinstance(value, Number) and value.term is not None and by.is_constant and by.constant:
                if self._trips(condition, cell, value.term, by.constant, changed) is not None:
                    return cell, value.term, by.constant
        return None

    def _cycle(self, cell: Cell, body: Node, step: "Optional[Node]") -> "Optional[Tuple[Number, int]]":
        """Return a variable's first value and n, if each step of the loop replaces the value by (value + 1) % n.
        Otherwise return None.
        """
        value = cell.value
        parts = [s.parts[0] for s in (body.parts[0] if body.kind == "block" else [body]) if s.kind == "expression"]
        if step is not None:
            parts += step.parts[0] if step.kind == "comma" else [step]
        counts = _assignments(body) + (_assignments(step) if step is not None else [])
        if not isinstance(value, Number) or value.term is None or value.data or counts.count(cell.name) != 1 \
                or _has(body, ("continue", "break", "return")) or self._lookup(cell.name) is not cell:
            return None
        for part in parts:
            if part.kind != "assign" or _plain(part.parts[1]).kind != "name" or _plain(part.parts[1]).parts[0] != cell.name:
                continue
            length = _cycle_of(part, cell.name)
            lo, hi = bounds(value.term)
            if length is not None and 0 <= lo and hi < length:
                return value, length
        return None

    def _trips(self, condition: Node, variable: Cell, start: Term, by: int, changed: "Set[str]") -> "Optional[Term]":
        """Return the number of steps of a loop if its condition compares the variable with loop-invariant limits only.
        Otherwise return None.
        """
        parts = [self._trips_of(part, variable, start, by, changed) for part in self._conjuncts(condition)]
        found = parts[0]
        for part in parts[1:]:
            found = chosen(terms.at_most(found, part), found, part) if found is not None and part is not None else None
        return found

    def _trips_of(self, part: Node, variable: Cell, start: Term, by: int, changed: "Set[str]") -> "Optional[Term]":
        limit = self._limit(part, variable, changed)
        if limit is None:
            return None
        op, end = limit
        distance = {"<": end - start, "<=": end - start + ONE, ">": start - end, ">=": start - end + ONE}[op]
        if (by > 0) != (op in ("<", "<=")):
            return None
        return terms.quotient(distance + number(abs(by) - 1), abs(by))

    def _limit(self, node: Node, variable: Cell, changed: "Set[str]") -> "Optional[Tuple[str, Term]]":
        """Return the comparison operator and the limit in a condition on the loop's variable: < and n for i < n. Return
        None if the loop may change the limit.
        """
        op, left, right = node.parts if node.kind == "binary" else ("", None, None)
        if op not in ("<", "<=", ">", ">=") or _names(node) & (changed - {variable.name}):
            return None
        with self._unrecorded():
            a, b = self._value(left), self._value(right)
        own = variable.value
        if not (isinstance(a, Number) and isinstance(b, Number) and isinstance(own, Number)) or a.term is None or \
                b.term is None or own.term is None:
            return None
        lasting = terms.all_free([value.term for value in self.loaded.values() if isinstance(value, Number)])
        if any(not atom.known and atom not in lasting for atom in b.term.free) and _has(right, ("index", "unary", "call", "member")):
            return None
        shift = a.term - own.term    # the left side is v + shift; v + shift <= b means v <= b - shift
        if not shift.is_constant:
            return None
        return op, b.term - shift

    def _most_trips(self, condition: Node, variable: Cell, start: Term, by: int, changed: "Set[str]") -> int:
        most = NO_LIMIT
        for part in self._conjuncts(condition):
            limit = self._limit(part, variable, changed)
            if limit is None or (by > 0) != (limit[0] in ("<", "<=")):
                continue
            op, end = limit
            distance = end - start if by > 0 else start - end
            most = min(most, max(1, -(-(bounds(distance)[1] + (op in ("<=", ">="))) // abs(by))))
        return most

    def _inductive(self, body: Node, step: "Optional[Node]", changed: "Set[str]") -> "Dict[str, Tuple[str, Node]]":
        """Return the variables that a loop changes by a single statement x += e or x -= e with a loop-invariant e. The
        result maps the name of a variable to the operator and e.
        """
        found: "Dict[str, Tuple[str, Node]]" = {}
        top = list(body.parts[0]) if body.kind == "block" else [body]
        parts = [s.parts[0] for s in top if s.kind == "expression"]
        if _has(body, ("continue", "break", "return")):
            parts = []
        if step is not None:
            parts += step.parts[0] if step.kind == "comma" else [step]
        counts = _assignments(body) + (_assignments(step) if step is not None else [])
        for part in parts:
            for one in part.parts[0] if part.kind == "comma" else [part]:
                if one.kind == "assign" and one.parts[0] in ("+", "-") and one.parts[1].kind == "name":
                    name, by = one.parts[1].parts[0], one.parts[2]
                elif one.kind == "after" and one.parts[1].kind == "name":
                    name, by = one.parts[1].parts[0], Node("number", one.at, "1")
                else:
                    continue
                declared = _declared(body)
                if counts.count(name) == 1 and not _names(by) & (changed | declared) and not _has(by, ("call", "index")):
                    found[name] = one.parts[0], by
        return found

    def _moves(self, cell: Cell, inductive: "Dict[str, Tuple[str, Node]]") -> "Optional[Term]":
        """Return the amount that each step of a loop adds to a variable. Return None if it is not known."""
        if cell.name not in inductive or not isinstance(cell.value, (Number, Address, Either)):
            return None
        if self._lookup(cell.name) is not cell:
            return None
        op, node = inductive[cell.name]
        by = self._value(node)
        if not isinstance(by, Number) or by.term is None:
            return None
        if isinstance(cell.value, Number) and (cell.value.term is None or cell.value.data or by.data):
            return None
        return by.term if op == "+" else by.term.times(-1)

    def _tried(self, node: Node, open_ones: "Sequence[Cell]", cells: "Sequence[Cell]") -> "Dict[Cell, Tuple[Value, Term]]":
        """Return the variables to which each step of a loop adds the same amount, with their values before the loop
        and the amounts. An inner loop may do the addition. To find the amounts, the body is walked on trial: all
        variables that the loop changes have arbitrary values, and nothing is recorded.
        """
        _, condition, step, body = node.parts
        tried = [cell for cell in open_ones if self._lookup(cell.name) is cell and cell.name in _assigned_inside(body)
                 and (isinstance(cell.value, Address) and cell.value.memory is not None
                      or isinstance(cell.value, Number) and cell.value.term is not None and not cell.value.data)]
        if not tried or _has(body, ("continue", "return")) or _breaks(body) or self.trying == MOST_TRIED:
            return {}
        known = (dict(self.joined), dict(self.new_fixed), self.phase, self.pointers, self.loaded, len(self.path),
                 dict(self.stores))
        newest = terms.variable("newest", 0, 1, True).parts[0][0].number
        markers: "Dict[Cell, Tuple[Value, Term]]" = {}
        self.logs.append({})
        self.pointers, self.loaded = {}, {}
        self._forget()
        self.trying += 1
        found: "Dict[Cell, Tuple[Value, Term]]" = {}
        try:
            with self._unrecorded():
                for cell in cells:
                    if cell in tried:
                        value = cell.value
                        assert isinstance(value, (Number, Address))
                        lo, hi = value.type.range if isinstance(value, Number) and isinstance(value.type, Int) else \
                            (-(1 << 62), 1 << 62)
                        mark = terms.variable("before", lo, hi, True)
                        markers[cell] = value, mark
                        self._set(cell, replace(value, term=mark, condition=None) if isinstance(value, Number)
                                  else replace(value, offset=value.offset + mark))
                    else:
                        self._set(cell, None if isinstance(cell.type, Pointer) else self._fresh(cell.type, True))
                with self._under(terms.open_condition("tried")):
                    self._statement(body)
                    if step is not None:
                        self._value(step)
                for cell, (value, mark) in markers.items():
                    after, amount = cell.value, None
                    if isinstance(value, Number) and isinstance(after, Number) and after.term is not None:
                        amount = after.term - mark
                    elif isinstance(value, Address) and isinstance(after, Address) and after.memory is value.memory \
                            and after.unit == value.unit:
                        amount = after.offset - value.offset - mark
                    if amount is not None and all(atom.number < newest for atom in amount.free):
                        found[cell] = value, amount
        except Unknown:
            pass
        finally:
            for cell, old in self.logs.pop().items():
                cell.value = old
            self.trying -= 1
            self.joined, self.new_fixed, self.phase, self.pointers, self.loaded, length, self.stores = known
            self._forget()
            del self.path[length:]
        return found

    def _advanced(self, value: Value, by: Term, at: Token) -> Value:
        if isinstance(value, Number):
            assert value.term is not None
            return Number(value.type, value.term + by, value.data)
        return self._moved(value, by, at)

    def _open(self, cell: Cell, entry: "Optional[Value]", key: object) -> None:
        """Give a variable that a loop changes an unknown value in its assumed range."""
        if isinstance(cell.type, Pointer):
            self._set(cell, None)
            return
        self._joined_cell(key, entry)
        element = cell.type.element if isinstance(cell.type, Vector) else cell.type
        span = self._known(key, element) if isinstance(element, Int) else None
        self._set(cell, self._fresh(cell.type, True, span, cell.name))

    def _joined_cell(self, key: object, value: "Optional[Value]") -> None:
        if isinstance(value, Number) and value.term is not None:
            self._join(key, *bounds(value.term))
        elif isinstance(value, Lanes) and isinstance(value.type.element, Int):
            self._join(key, value.lo, value.hi)

    # ---- expressions ----

    def _truth(self, node: Node) -> Condition:
        return self._condition_of(self._value(node), node.at)

    def _condition_of(self, value: Value, at: Token) -> Condition:
        if isinstance(value, Number):
            if value.condition is not None:
                return value.condition
            if value.term is not None:
                return negated(terms.equal(self._observed(value, at), ZERO))
        made = terms.open_condition("float")
        self.found.varying |= made.free
        return made

    def _value(self, node: Node) -> Value:
        self.steps += 1
        method = getattr(self, f"_of_{node.kind}", None)
        if method is None:
            raise Unknown(f"{node.kind} in an expression", node.at)
        return method(node)

    def _of_group(self, node: Node) -> Value:
        return self._value(node.parts[0])

    def _of_comma(self, node: Node) -> Value:
        for part in node.parts[0][:-1]:
            self._value(part)
        return self._value(node.parts[0][-1])

    def _of_string(self, node: Node) -> Value:
        raise Unknown("a string", node.at)

    def _of_number(self, node: Node) -> Value:
        text = node.parts[0]
        plain = text.rstrip("uUlL")
        hexadecimal = plain[:2].lower() == "0x"
        if any(c in plain for c in ("p", "P", ".")) or not hexadecimal and any(c in plain for c in "eEfFhH"):
            kind = Float(32 if plain[-1] in "fF" else 16 if plain[-1] in "hH" else 64)
            return Number(kind, None, True, bits=_float_bits(plain[:-1]) if kind.bits == 32 else None)
        value = int(plain, 0) if hexadecimal or plain in ("0",) or not plain.startswith("0") else int(plain, 8)
        words = text[len(plain):].lower()
        for type in (INT, types.UINT, LONG, ULONG):
            if ("u" in words and type.signed) or ("l" in words and type.bits < 64):
                continue
            if not type.signed and "u" not in words and not hexadecimal:
                continue
            if value <= type.range[1]:
                return Number(type, number(value), False)
        raise Unknown(f"number {text}", node.at)

    def _of_name(self, node: Node) -> Value:
        name = node.parts[0]
        found = self._lookup(name)
        if isinstance(found, _Reference):
            assert found.value is not None
            if isinstance(found.type, (Array, Record)):
                return self._cast_pointer(found.value, found.type.element, node.at) \
                    if isinstance(found.type, Array) else Opaque(found.type)
            return self._load(found.value, found.type, node.at)
        if isinstance(found, Cell):
            if found.memory is not None:
                if isinstance(found.type, Array):
                    return Address(found.type.element, found.memory, ZERO, least(found.type.element))
                if isinstance(found.type, Record):
                    return self._struct(Address(found.type, found.memory, ZERO, least(found.type)), found.type)
                return self._load(Address(found.type, found.memory, ZERO, least(found.type)), found.type, node.at)
            if found.value is None:
                if isinstance(found.type, Pointer):
                    raise Unknown(f"pointer {name} is open here", node.at)
                return self._fresh(found.type, True, None, name)
            return found.value
        if name == "INFINITY":
            return Number(Float(32), None, True, bits=number(_INFINITE))
        if name in ("NAN", "HUGE_VALF", "M_PI"):
            return Number(Float(32), None, True)
        if name in ("true", "false"):
            return Number(types.BOOL, number(int(name == "true")), False)
        if name == "warpSize":
            return Number(INT, number(32 if self.target == "cuda" else 64), False)
        if name == "CLK_LOCAL_MEM_FENCE" or name == "CLK_GLOBAL_MEM_FENCE":
            return Number(INT, number(1), False)
        if name == "FLT_MAX" or name == "DBL_MAX":
            return Number(Float(32), None, True)
        raise Unknown(f"unknown name {name}", node.at)

    def _of_braces(self, node: Node) -> Value:
        raise Unknown("braces", node.at)

    def _of_sizeof(self, node: Node) -> Value:
        type = self._type(node.parts[0]) if node.parts[0] is not None else self._lvalue_type(node.parts[1])
        return Number(ULONG, number(size(type)), False)

    def _lvalue_type(self, node: Node) -> Type:
        while node.kind == "group":
            node = node.parts[0]
        if node.kind == "name":
            cell = self._lookup(node.parts[0])
            if isinstance(cell, Cell):
                return cell.type
        return self._type_of(node)

    def _of_literal(self, node: Node) -> Value:
        """Return the value of a literal such as (float4)(a, b, c, d), (float4){..} or T{..}."""
        type = self._type(node.parts[0])
        values = [self._initial(of, type) if of.kind == "braces" else self._value(of) for of in node.parts[1]]
        if isinstance(type, Vector):
            return self._of_lanes(values, type, node.at)
        if isinstance(type, (Record,)):
            return Opaque(type)
        if isinstance(type, Array):
            memory = Memory("literal", "private", size(type), (node.at, self.site, "literal"), node.at)
            for value in values:
                self._remember(memory, type.element, value)
            return Address(type.element, memory, ZERO, least(type.element))
        if len(values) == 1:
            return self._converted(values[0], type, node.at)
        raise Unknown("a literal of many parts", node.at)

    def _of_lanes(self, values: "Sequence[Value]", type: Vector, at: Token) -> Value:
        lo, hi = None, None
        count = 0
        for value in values:
            if isinstance(value, Lanes):
                count += value.type.lanes
                made = self._convert_lanes(value, Vector(type.element, value.type.lanes))
                low, high = made.lo, made.hi
            else:
                count += 1
                one = self._splat(self._converted(value, type.element, at), type)
                low, high = one.lo, one.hi
            lo, hi = low if lo is None else min(lo, low), high if hi is None else max(hi, high)
        if count > type.lanes:
            raise Unknown("too many parts for a vector", at)
        if count < type.lanes and count != 1 or lo is None or hi is None:    # the remaining elements are 0
            lo, hi = min(lo or 0, 0), max(hi or 0, 0)
        elif count == 1 < type.lanes:
            lo, hi = min(lo, 0), max(hi, 0)
        return Lanes(type, lo, hi)

    def _of_cast(self, node: Node) -> Value:
        type = self._type(node.parts[0])
        value = self._value(node.parts[1])
        if isinstance(value, Lanes) and isinstance(type, Vector) and size(value.type) != size(type):
            raise Unknown("a vector becomes one of another size", node.at)
        return self._converted(value, type, node.at)

    def _of_choose(self, node: Node) -> Value:
        chooser = self._value(node.parts[0])
        if isinstance(chooser, Lanes):
            a, b = self._value(node.parts[1]), self._value(node.parts[2])
            if isinstance(a, Lanes) and isinstance(b, Lanes):
                return Lanes(a.type, min(a.lo, b.lo), max(a.hi, b.hi))
            kind = a if isinstance(a, Lanes) else b
            if isinstance(kind, Lanes):
                return self._convert_lanes(kind, kind.type, False)
            raise Unknown("a choice by a vector", node.at)
        condition = self._condition_of(chooser, node.at)
        then, other = self._branches(condition, lambda: self._value(node.parts[1]),
                                     lambda: self._value(node.parts[2]), node.at)
        if then is None or other is None:
            found = then if other is None else other
            if isinstance(found, Number):
                return found
            return found
        if isinstance(then, Number) and isinstance(other, Number):
            type = self._usual(then.type, other.type)
            then, other = self._converted(then, type, node.at), self._converted(other, type, node.at)
        elif isinstance(then, Lanes) != isinstance(other, Lanes) and not isinstance(then, Opaque):
            wide = then.type if isinstance(then, Lanes) else other.type
            then, other = self._converted(then, wide, node.at), self._converted(other, wide, node.at)
        merged = self._merged(condition, then, other, node.at)
        assert merged is not None
        return merged

    @staticmethod
    def _usual(a: "types.Scalar", b: "types.Scalar") -> "types.Scalar":
        """Return the type in which C computes an operation on two numbers (the usual arithmetic conversions)."""
        if isinstance(a, Float) or isinstance(b, Float):
            return max((t for t in (a, b) if isinstance(t, Float)), key=lambda t: t.bits)
        a, b = (INT if t.bits < 32 else t for t in (a, b))
        if a.bits != b.bits:
            return a if a.bits > b.bits else b
        return a if not a.signed else b

    def _of_unary(self, node: Node) -> Value:
        op, inner = node.parts
        if op == "&":
            return self._address(inner)
        if op == "*":
            pointer = self._value(inner)
            if not isinstance(pointer, (Address, Either)):
                raise Unknown("* of no pointer", node.at)
            return self._load(pointer, self._first(pointer).to, node.at, id(node) in self.guesses)
        value = self._value(inner)
        if op == "!":
            if isinstance(value, Lanes):
                return self._convert_lanes(value, value.type, False)
            return self._truth_value(negated(self._condition_of(value, node.at)))
        if isinstance(value, Lanes):
            return self._fresh(value.type, True)
        if isinstance(value, Opaque):
            return value
        if not isinstance(value, Number):
            raise Unknown(f"{op} of a pointer", node.at)
        if isinstance(value.type, Float):
            return Number(value.type, None, True)
        value = self._promoted(value, node.at)
        if op == "+":
            return value
        assert value.term is not None and isinstance(value.type, Int)
        if op == "-":
            return self._arithmetic(value.type, value.term.times(-1), value.data, node.at)
        if value.type.signed or value.term.is_constant:
            result = value.term.times(-1) - ONE
            if not value.type.signed:
                result = number(result.constant % (1 << value.type.bits))
            return Number(value.type, result, value.data)
        return self._fresh(value.type, self._varies(value.term))

    def _promoted(self, value: Number, at: Token) -> Number:
        if isinstance(value.type, Int) and value.type.bits < 32:
            made = self._converted(value, INT, at)
            assert isinstance(made, Number)
            return made
        return value

    def _truth_value(self, condition: Condition) -> Number:
        known = all(atom.known for atom in condition.free)
        return Number(INT, chosen(condition, ONE, ZERO), not known, condition)

    def _arithmetic(self, type: Int, term: Term, data: bool, at: Token) -> Number:
        """Return a number with the value of a sum or product.

        If the operation is signed, an obligation says that the value stays in the range of its type. But if the value
        depends on data from memory, and may leave this range, the result is an unknown number.
        """
        lo, hi = type.range
        if term.is_constant and lo <= term.constant <= hi:
            return Number(type, term, data)
        if data:
            low, high = bounds(term, self.path[-5:])
            if lo <= low and high <= hi:
                return Number(type, term, True)
            made = self._fresh(type, self._varies(term))
            assert isinstance(made, Number)
            return made
        if type.signed:
            self._oblige(term, lo, hi, at)
        return Number(type, term, False)

    def _of_binary(self, node: Node) -> Value:
        op = node.parts[0]
        if op in ("&&", "||"):
            a = self._condition_of(self._value(node.parts[1]), node.at)
            skip = FALSE if op == "&&" else TRUE
            if a.kind == skip.kind:
                return self._truth_value(a)
            side = a if op == "&&" else negated(a)
            _, b = self._branches(negated(side), lambda: None, lambda: self._truth(node.parts[2]), node.at)
            return self._truth_value(both(a, b) if op == "&&" else terms.either(a, b))
        return self._operated(op, self._value(node.parts[1]), self._value(node.parts[2]), node.at)

    def _operated(self, op: str, a: Value, b: Value, at: Token) -> Value:
        if isinstance(a, (Address, Either)) or isinstance(b, (Address, Either)):
            return self._pointers(op, a, b, at)
        if isinstance(a, Lanes) or isinstance(b, Lanes):
            return self._vectors(op, a, b, at)
        if isinstance(a, Opaque) or isinstance(b, Opaque):
            return a if isinstance(a, Opaque) else b
        compares = op in ("<", ">", "<=", ">=", "==", "!=")
        if isinstance(a.type, Float) or isinstance(b.type, Float):
            if compares:
                made = _compared(op, a, b) or terms.open_condition("float")
                self.found.varying |= made.free
                return self._truth_value(made)
            return Number(self._usual(a.type, b.type), None, True)
        if op in ("<<", ">>"):
            a, b = self._promoted(a, at), self._promoted(b, at)
            return self._shifted(op, a, b, at)
        type = self._usual(a.type, b.type)
        assert isinstance(type, Int)
        one, two = self._converted(a, type, at), self._converted(b, type, at)
        assert isinstance(one, Number) and isinstance(two, Number) and one.term is not None and two.term is not None
        data = one.data or two.data
        if op in ("+", "-"):
            return self._arithmetic(type, one.term + two.term if op == "+" else one.term - two.term, data, at)
        if op == "*":
            return self._arithmetic(type, terms.product(one.term, two.term), data, at)
        if op == "&":
            for x, mask in ((one.term, two.term), (two.term, one.term)):
                if not data and mask.is_constant and mask.constant >= 0 and not mask.constant & mask.constant + 1:
                    # only the low bits matter, so x may be outside of the range of its type
                    return Number(type, terms.modulo(x, mask.constant + 1), False)
        x, y = self._observed(one, at), self._observed(two, at)
        if compares:
            condition = {"<": lambda: terms.less(x, y), ">": lambda: terms.less(y, x), "<=": lambda: terms.at_most(x, y),
                         ">=": lambda: terms.at_most(y, x), "==": lambda: terms.equal(x, y),
                         "!=": lambda: negated(terms.equal(x, y))}[op]()
            return self._truth_value(condition)
        if op in ("/", "%"):
            if y.is_constant and y.constant > 0:
                return Number(type, terms.truncated(x, y.constant) if op == "/" else terms.remainder(x, y.constant), data)
            if data:
                return self._fresh(type, self._varies(x, y))
            self._oblige(y, 1, type.range[1], at)
            self._oblige(x, 0, type.range[1], at)
            whole = terms.quotient_of(x, y)
            return Number(type, whole if op == "/" else x - terms.product(whole, y), data)
        return self._bitwise(op, type, x, y, data, at)

    def _bitwise(self, op: str, type: Int, x: Term, y: Term, data: bool, at: Token) -> Number:
        word = {"&": "and", "|": "or", "^": "xor"}[op]
        if x.is_constant and y.is_constant:
            a, b = x.constant, y.constant
            return Number(type, number({"&": a & b, "|": a | b, "^": a ^ b}[op]), data)
        if x.is_constant:
            x, y = y, x
        lo, hi = bounds(x)
        if y.is_constant and lo >= 0:
            mask = y.constant
            if op == "&" and mask >= 0 and mask & mask + 1 == 0:
                return Number(type, terms.remainder(x, mask + 1), data)
            if mask == 0 and op in ("|", "^"):
                return Number(type, x, data)
        if data or lo < 0 or bounds(y)[0] < 0:
            span = None
            if op == "&" and y.is_constant and y.constant >= 0:
                span = (0, y.constant)
            elif op == "&" and bounds(y)[0] >= 0:
                span = (0, bounds(y)[1])
            elif op != "&" and lo >= 0 and bounds(y)[0] >= 0:
                span = (0, (1 << max(hi, bounds(y)[1]).bit_length()) - 1)
            made = self._fresh(type, self._varies(x, y), span)
            assert isinstance(made, Number)
            return made
        width = max(hi, bounds(y)[1]).bit_length()
        if width > 32:
            raise Unknown("bits of a large index", at)
        return Number(type, terms.bits(word, x, y, max(width, 1)), data)

    def _shifted(self, op: str, a: Number, b: Number, at: Token) -> Value:
        assert a.term is not None and b.term is not None and isinstance(a.type, Int)
        if not b.term.is_constant:
            if not a.data and not b.data:
                lo, hi = bounds(b.term)
                if op == "<<" and a.term.is_constant and 0 <= lo and hi < 32:     # 1 << x
                    result = number(a.term.constant << hi)
                    for amount in range(hi - 1, lo - 1, -1):
                        result = chosen(terms.equal(b.term, number(amount)), number(a.term.constant << amount), result)
                    return self._arithmetic(a.type, result, False, at)
                if 0 <= lo and hi < 64 and hi - lo <= 8:
                    amounts = [Number(b.type, number(amount), False) for amount in range(lo, hi + 1)]
                    parts = [self._shifted(op, a, amount, at) for amount in amounts]
                    result_of: "Value" = parts[-1]
                    for amount, part in zip(range(hi - 1, lo - 1, -1), reversed(parts[:-1])):
                        merged = self._merged(terms.equal(b.term, number(amount)), part, result_of, at)
                        assert merged is not None
                        result_of = merged
                    return result_of
            return self._fresh(a.type, self._varies(a.term, b.term))
        by = b.term.constant
        if not 0 <= by < a.type.bits:
            raise Unknown(f"a shift by {by}", at)
        if op == ">>":
            return Number(a.type, terms.quotient(self._observed(a, at), 1 << by), a.data)
        return self._arithmetic(a.type, a.term.times(1 << by), a.data, at)

    def _vectors(self, op: str, a: Value, b: Value, at: Token) -> Value:
        kind = a.type if isinstance(a, Lanes) else b.type       # type: ignore[union-attr]
        assert isinstance(kind, Vector)
        if op in ("<", ">", "<=", ">=", "==", "!="):
            return Lanes(Vector(Int(8 * size(kind.element), True), kind.lanes), -1, 0)
        one, two = self._converted(a, kind, at), self._converted(b, kind, at)
        assert isinstance(one, Lanes) and isinstance(two, Lanes)
        if isinstance(kind.element, Int):
            lo, hi = kind.element.range
            if op == "&" and max(one.lo, two.lo) >= 0:
                return Lanes(kind, 0, min(of.hi for of in (one, two) if of.lo >= 0))
            if op in ("|", "^") and min(one.lo, two.lo) >= 0:
                return Lanes(kind, 0, (1 << max(one.hi, two.hi).bit_length()) - 1)
            if op in ("+", "-", "*"):
                ends = [x + y if op == "+" else x - y if op == "-" else x * y for x in (one.lo, one.hi)
                        for y in (two.lo, two.hi)]
                if lo <= min(ends) and max(ends) <= hi:
                    return Lanes(kind, min(ends), max(ends))
            if op in ("/", "%", ">>") and two.lo == two.hi and two.lo >= 0 and one.lo >= 0 and (two.lo or op == ">>"):
                by = two.lo if op != ">>" else 1 << min(two.lo, 64)
                return Lanes(kind, one.lo // by, one.hi // by) if op != "%" else Lanes(kind, 0, min(one.hi, by - 1))
        return self._fresh(kind, True)

    def _pointers(self, op: str, a: Value, b: Value, at: Token) -> Value:
        if op in ("+", "-"):
            if isinstance(b, (Address, Either)) and not isinstance(a, (Address, Either)) and op == "+":
                a, b = b, a
            if isinstance(b, Number) and b.term is not None:
                index = self._observed(b, at)
                return self._moved(a, index if op == "+" else index.times(-1), at)
        if isinstance(a, Address) and isinstance(b, Address) and a.memory is b.memory and a.memory is not None:
            unit = min(a.unit, b.unit)
            x, y = a.offset.times(a.unit // unit), b.offset.times(b.unit // unit)
            if op == "-" and size(a.to) == unit:
                return Number(LONG, x - y, False)
            if op in ("<", ">", "<=", ">=", "==", "!="):
                return self._truth_value({
                    "<": lambda: terms.less(x, y), ">": lambda: terms.less(y, x), "<=": lambda: terms.at_most(x, y),
                    ">=": lambda: terms.at_most(y, x), "==": lambda: terms.equal(x, y),
                    "!=": lambda: negated(terms.equal(x, y))}[op]())
        raise Unknown(f"{op} of pointers", at)

    # ---- places ----

    def _address(self, node: Node) -> Value:
        """Return the pointer to the place that an expression names."""
        while node.kind == "group":
            node = node.parts[0]
        kind = node.kind
        if kind == "name":
            cell = self._lookup(node.parts[0])
            if not isinstance(cell, Cell):
                raise Unknown(f"unknown name {node.parts[0]}", node.at)
            if cell.memory is not None:
                return Address(cell.type, cell.memory, ZERO, least(cell.type))
            if isinstance(cell, _Reference):
                assert cell.value is not None
                return cell.value
            return Address(cell.type, None, ZERO, 1, cell)
        if kind == "unary" and node.parts[0] == "*":
            return self._value(node.parts[1])
        if kind == "index":
            base, index = node.parts
            value = self._place_or_value(base)
            by = self._value(index)
            if not isinstance(by, Number) or by.term is None:
                raise Unknown("an index that is no integer", node.at)
            if isinstance(value, (Address, Either)):
                first = self._first(value)
                term = self._observed(by, node.at)
                if isinstance(first.to, Array):    # an array in a struct, or a row of an array
                    self._oblige(term, 0, first.to.length - 1, node.at)
                    return self._moved(self._cast_pointer(value, first.to.element, node.at), term, node.at)
                return self._moved(value, term, node.at)
            raise Unknown("an index of no array", node.at)
        if kind == "member":
            base, name = node.parts
            inner = self._address(base)
            first = self._first(inner)
            if isinstance(first.to, Record):
                found = first.to.field(name)
                if found is None:
                    raise Unknown(f"no field {name}", node.at)
                offset, type = found
                if first.memory is None:
                    raise Unknown("a field of a value", node.at)
                moved = self._moved(self._cast_pointer(inner, types.Int(8, False), node.at), number(offset), node.at)
                return self._cast_pointer(moved, type, node.at)
            raise Unknown(f"the place of .{name}", node.at)
        if kind == "cast" or kind == "call":
            return self._value(node)
        raise Unknown(f"the place of {kind}", node.at)

    def _place_or_value(self, node: Node) -> Value:
        """Return the place of an array that is going to be indexed. For any other expression, return its value."""
        while node.kind == "group":
            node = node.parts[0]
        if node.kind in ("member",) or node.kind == "index" and self._is_nested(node):
            place = self._address(node)
            first = self._first(place)
            if isinstance(first.to, Array):
                return place
            return self._load(place, first.to, node.at)
        if node.kind == "name":
            cell = self._lookup(node.parts[0])
            if isinstance(cell, Cell) and cell.memory is not None and isinstance(cell.type, Array):
                return Address(cell.type, cell.memory, ZERO, least(cell.type))
        return self._value(node)

    def _is_nested(self, node: Node) -> bool:
        """Return true if an indexed expression is a row of an array, so that another index may follow. It is false for
        an element of a vector.
        """
        try:
            with self._unrecorded():
                return isinstance(self._first(self._address(node)).to, Array)
        except (Unknown, AssertionError):
            return False

    def _of_index(self, node: Node) -> Value:
        base, index = node.parts
        lanes = self._vector_base(base)
        if lanes is not None:
            value = self._value(base)
            assert isinstance(value, Lanes)
            self._lane_index(lanes, index)
            return self._fresh(lanes.element, True, (value.lo, value.hi) if isinstance(lanes.element, Int) else None)
        place = self._address(node)
        type = self._first(place).to
        if isinstance(type, Array):
            return self._cast_pointer(place, type.element, node.at)
        if isinstance(type, Record):
            self._touch(place, type, False, node.at)
            return self._struct(place, type) if isinstance(place, Address) else Opaque(type)
        return self._load(place, type, node.at)

    def _lane_index(self, type: Vector, index: Node) -> None:
        by = self._value(index)
        if not isinstance(by, Number) or by.term is None:
            raise Unknown("an index that is no integer", index.at)
        self._oblige(self._observed(by, index.at), 0, type.lanes - 1, index.at)

    def _vector_base(self, node: Node) -> "Optional[Vector]":
        """Return the type of the expression before an index if it is a vector, else None."""
        while node.kind == "group":
            node = node.parts[0]
        if node.kind == "name":
            cell = self._lookup(node.parts[0])
            return cell.type if isinstance(cell, Cell) and isinstance(cell.type, Vector) else None
        try:
            type = self._quiet_type(node)
        except Unknown:
            return None
        return type if isinstance(type, Vector) else None

    def _quiet_type(self, node: Node) -> "Optional[Type]":
        try:
            with self._unrecorded():
                if node.kind in ("member", "index"):
                    return self._first(self._address(node)).to
                value = self._value(node) if node.kind in ("call", "cast", "binary", "unary") else None
                return value.type if isinstance(value, Lanes) else None
        except AssertionError:
            return None

    def _of_member(self, node: Node) -> Value:
        base, name = node.parts
        vector = self._vector_base(base)
        if vector is not None:
            return self._swizzled(vector, self._value(base), name, node.at)
        if base.kind == "name" and base.parts[0] in ("blockIdx", "threadIdx", "blockDim", "gridDim"):
            return self._id(base.parts[0], name, node.at)
        value = None
        if base.kind not in ("name", "member", "index", "unary", "group"):
            value = self._value(base)
        if value is None:
            try:
                place = self._address(node)
                type = self._first(place).to
                if isinstance(type, Array):
                    return self._cast_pointer(place, type.element, node.at)
                return self._load(place, type, node.at)
            except Unknown as error:
                if error.message != "a field of a value":
                    raise
                value = self._value(base)
        if isinstance(value, Opaque) and isinstance(value.type, Record):
            found = value.type.field(name)
            if found is not None:
                return self._fresh(found[1], True)
        if isinstance(value, Lanes):
            return self._swizzled(value.type, value, name, node.at)
        raise Unknown(f"member {name}", node.at)

    def _swizzled(self, vector: Vector, value: Value, name: str, at: Token) -> Value:
        assert isinstance(value, Lanes)
        count = {"lo": vector.lanes // 2, "hi": vector.lanes // 2, "even": vector.lanes // 2, "odd": vector.lanes // 2}.get(name)
        if count is None:
            letters = name[1:] if name[0] in "sS" else name
            count = len(letters)
            places = [int(c, 16) if name[0] in "sS" else "xyzw".find(c) for c in letters]
            if any(not 0 <= place < vector.lanes for place in places):
                raise Unknown(f".{name} of {vector.lanes} elements", at)
        span = (value.lo, value.hi) if isinstance(vector.element, Int) else None
        return self._fresh(Vector(vector.element, count) if count > 1 else vector.element, True, span)

    def _id(self, word: str, axis: str, at: Token) -> Value:
        if axis != "x":
            raise Unknown(f"{word}.{axis}", at)
        if word == "blockDim":
            return Number(types.UINT, number(self.threads), False)
        if word == "gridDim":
            raise Unknown("gridDim", at)
        return Number(types.UINT, self.group if word == "blockIdx" else self.item, False)

    def _of_after(self, node: Node) -> Value:
        before = self._value(node.parts[1])
        self._of_assign(Node("assign", node.at, node.parts[0], node.parts[1], Node("number", node.at, "1")))
        return before

    def _of_assign(self, node: Node) -> Value:
        op, left, right = node.parts
        while left.kind == "group":
            left = left.parts[0]
        value = self._value(right) if right.kind != "braces" else None
        # assign to an element of a vector
        if left.kind in ("index", "member"):
            vector = self._vector_base(left.parts[0])
            if vector is not None:
                return self._set_lane(left, vector, value, op, node.at)
        place = self._address(left)
        type = self._first(place).to
        if op:
            old = self._load(place, type, node.at)
            assert value is not None
            value = self._operated(op, old, value, node.at)
        assert value is not None
        if isinstance(value, Opaque) and isinstance(type, Record) and right.kind in ("name", "index", "member", "unary"):
            try:
                source = self._address(right)
                if self._first(source).memory is not None:
                    self._touch(source, type, False, node.at)
            except Unknown:
                pass
        value = self._converted(value, type, node.at)
        self._store(place, type, value, node.at)
        return value

    def _set_lane(self, left: Node, vector: Vector, value: "Optional[Value]", op: str, at: Token) -> Value:
        base = left.parts[0]
        if left.kind == "index":
            self._lane_index(vector, left.parts[1])
        place = self._address(base)
        old = self._load(place, vector, at)
        assert isinstance(old, Lanes) and value is not None
        new = old
        if isinstance(vector.element, Int):
            stored = self._fresh(vector, True) if op or isinstance(value, Lanes) else self._splat(
                self._converted(value, vector.element, at), vector)
            assert isinstance(stored, Lanes)
            new = Lanes(vector, min(old.lo, stored.lo), max(old.hi, stored.hi))
        self._store(place, vector, new, at)
        return value

    # ---- calls ----

    def _of_instance(self, node: Node) -> Value:
        raise Unknown(f"template {node.parts[0]} without a call", node.at)

    def _of_call(self, node: Node) -> Value:
        callee, arguments = node.parts
        if callee.kind == "group":
            callee = callee.parts[0]
        if callee.kind not in ("name", "instance"):
            raise Unknown("a call of no name", node.at)
        name = callee.parts[0]
        if name in self.reader.functions:
            return self._called(self.reader.read(self.reader.functions[name]), callee, arguments, node.at)
        return builtin(self, name, arguments, node.at)

    def _called(self, function: Function, callee: Node, arguments: "List[Node]", at: Token) -> Value:
        if len(self.frames) > 40:
            raise Unknown("calls are nested too deeply", at)
        values: "List[Value]" = []
        for parameter, argument in zip(function.parameters, arguments):
            if parameter.reference:
                values.append(self._address(argument))
            else:
                values.append(self._value(argument))
        scope: "Dict[str, object]" = {}
        self._bind_templates(function, callee, values, scope, at)
        frame = _Frame([self.globals, scope], [], len(self.path))
        if len(arguments) < len(function.parameters):
            for parameter in function.parameters[len(arguments):]:
                if parameter.default is None:
                    raise Unknown(f"{function.name} lacks an argument", at)
                values.append(self._value(parameter.default))
        if len(arguments) > len(function.parameters):
            raise Unknown(f"{function.name} has too many arguments", at)
        self.frames.append(frame)
        site = self.site
        try:
            assert function.result is not None and function.body is not None
            frame.result = self._type(function.result)
            opaque = [value.type for value in values
                      if isinstance(value, Lanes) or isinstance(value, Number) and value.data]
            key = (function.name, tuple(opaque)) if opaque and len(opaque) == len(values) else None
            if key is not None and key in self.pure and isinstance(frame.result, (Float, Vector)) and not (
                    isinstance(frame.result, Vector) and isinstance(frame.result.element, Int)):
                return self._of_pure(function.name, values, frame.result)
            self.site = (*site, at)
            for parameter, value in zip(function.parameters, values):
                type = self._decayed(self._type(parameter.type))
                if parameter.reference:
                    address = self._first(value)
                    if isinstance(value, Either):
                        raise Unknown("a reference to one of two", at)
                    inner = self._type(parameter.type)
                    if address.memory is None:
                        scope[parameter.name] = address.cell
                    else:
                        scope[parameter.name] = _Reference(parameter.name, inner, value)
                    continue
                if isinstance(type, Record):
                    memory = Memory(parameter.name, "private", size(type), (parameter.name, self.site), at)
                    self._open_elements(memory)
                    if isinstance(value, Opaque) and value.type == type and value.fields:
                        self.tables[memory] = _Table(dict(value.fields))
                    scope[parameter.name] = Cell(parameter.name, type, None, memory)
                    continue
                cell = Cell(parameter.name, type, self._converted(value, type, at), None, (parameter.name, self.site))
                scope[parameter.name] = cell
            length = len(self.path)
            self._statement(function.body)
            del self.path[length:]
            result = self._returned(frame, at)
            if key is not None:
                self.pure[key] = frame.result
                if isinstance(result, (Number, Lanes)):
                    result = self._named(function.name, values, result)
            return result
        finally:
            self.frames.pop()
            self.site = site

    def _of_pure(self, name: str, values: "Sequence[Value]", type: Type) -> Value:
        """Return an unknown value for a repeated call of a function that depends only on its arguments. The function's
        body is not walked again.
        """
        return self._fresh(type, True)

    def _named(self, name: str, values: "Sequence[Value]", result: Value) -> Value:
        """Return the value of a call of a function that depends only on its arguments. This is `result`, which comes
        from the walk through the function; subclasses add an expression to it.
        """
        return result

    def _returned(self, frame: _Frame, at: Token) -> Value:
        if isinstance(frame.result, Void):
            return Opaque(Void())
        result: "Optional[Value]" = None
        for condition, value in reversed(frame.returned):
            result = value if result is None else self._merged(condition, value, result, at)
        if result is None:
            raise Unknown("a function without a value", at)
        return result

    def _bind_templates(self, function: Function, callee: Node, values: "List[Value]", scope: "Dict[str, object]",
                        at: Token) -> None:
        """Bind the parameters of a template to the arguments in the call's angle brackets. A type that is not given
        there is deduced from the types of the call's arguments.
        """
        given = list(callee.parts[1]) if callee.kind == "instance" else []
        for number_of, (name, is_type) in enumerate(function.templates):
            if number_of < len(given):
                scope[name] = self._type(given[number_of]) if is_type else Cell(
                    name, INT, self._value(given[number_of]))
                continue
            for parameter, value in zip(function.parameters, values):
                if is_type and name not in scope and name in _type_names(parameter.type):
                    found = self._deduced(parameter.type, value, name, parameter.reference)
                    if found is not None:
                        scope[name] = found
            if name not in scope:
                raise Unknown(f"template parameter {name}", at)

    def _deduced(self, node: Node, value: Value, name: str, reference: bool) -> "Optional[Type]":
        while node.kind == "qualified":
            node = node.parts[0]
        if node.kind == "pointer":
            inner = node.parts[0]
            while inner.kind == "qualified":
                inner = inner.parts[0]
            if inner.kind == "named" and inner.parts[0] == name and isinstance(value, (Address, Either)):
                return self._first(value).to
            return None
        if node.kind == "named" and node.parts[0] == name:
            if reference or isinstance(value, (Address, Either)):
                return self._first(value).to
            return value.type
        return None


class _Reference(Cell):
    """A C++ reference: another name for a place in memory."""

    def __init__(self, name: str, type: Type, place: Value) -> None:
        super().__init__(name, type, place)


# ---- names in a tree ----

_caches: "Dict[str, Dict[int, Tuple[Node, Any]]]" = {}


def restart() -> None:
    """Forget the results that are cached for syntax trees. This is called between texts."""
    _caches.clear()


def _cached(name: str, node: Node, make: "Any") -> "Any":
    cache = _caches.setdefault(name, {})
    if id(node) not in cache:
        cache[id(node)] = node, make()
    return cache[id(node)][1]


def _children(node: Node) -> "Iterator[Node]":
    waiting: "List[object]" = list(node.parts)
    while waiting:
        part = waiting.pop()
        if isinstance(part, Node):
            yield part
        elif isinstance(part, (list, tuple)):
            waiting += part


def _all(node: Node) -> "Iterator[Node]":
    waiting = [node]
    while waiting:
        one = waiting.pop()
        yield one
        waiting += _children(one)


def _names(node: Node) -> "Set[str]":
    return _cached("names", node, lambda: {n.parts[0] for n in _all(node) if n.kind == "name"})


def _assignments(node: Node) -> "List[str]":
    """Return the names that a tree assigns to, passes by reference, or takes the address of. A name occurs once for
    each of these places in the tree. NAME[] stands for a part of NAME: an element of a vector, or the target of a
    pointer.
    """
    def of_node(one: Node) -> "List[str]":
        found = []
        target = one.parts[1] if one.kind in ("assign", "after") else \
            one.parts[1] if one.kind == "unary" and one.parts[0] == "&" else None
        part = ""
        while target is not None and target.kind in ("group", "index", "member"):
            part = part if target.kind == "group" else "[]"
            target = target.parts[0]
        if target is not None and target.kind == "name":
            found.append(target.parts[0] + part)
        if one.kind == "call":    # arguments that the called function takes by reference
            for argument in one.parts[1]:
                inner = argument
                while inner.kind in ("group", "index", "member"):
                    inner = inner.parts[0]
                if inner.kind == "name" and one.parts[0].kind in ("name", "instance") and (
                        one.parts[0].kind == "instance" or one.parts[0].parts[0].startswith("load_word")):
                    found.append(inner.parts[0])
        return found

    def made() -> "List[str]":
        found = of_node(node)
        own: "Set[str]" = set()    # names that this block or loop declares
        for one in [part for part in node.parts if isinstance(part, Node)] if node.kind == "for" else reversed(list(_children(node))):
            found += [name for name in _assignments(one) if name.removesuffix("[]") not in own]
            if node.kind in ("block", "for") and one.kind == "declare":
                own |= {name for name, *_ in one.parts[1]}
        return found
    return _cached("assignments", node, made)


def _plain(node: "Any") -> "Any":
    while isinstance(node, Node) and node.kind == "group":
        node = node.parts[0]
    return node


_INFINITE = 0x7f800000


def _float_bits(text: str) -> "Optional[Term]":
    """Return the bits of a 32-bit floating-point literal."""
    try:
        value = float.fromhex(text) if text[:2].lower() == "0x" else float(text)
        return number(struct.unpack("<I", struct.pack("<f", value))[0])
    except (ValueError, OverflowError):
        return None


def _compared(op: str, a: Number, b: Number) -> "Optional[Condition]":
    """Return the condition x > c or x < c for a float x and a positive constant c, as a condition on the bits of x.
    Return None for other comparisons. The bits of nonnegative floats are in the order of the floats. Above them
    come infinity, then NaNs, then negative floats.
    """
    if op in ("<", ">") and a.bits is not None and a.bits.is_constant:
        op, a, b = "<" if op == ">" else ">", b, a
    if op not in ("<", ">") or a.type != Float(32) or b.type != Float(32) or a.bits is None or b.bits is None:
        return None
    if a.bits.is_constant or not b.bits.is_constant or not 0 < b.bits.constant <= _INFINITE:
        return None
    if op == ">":
        return both(terms.less(b.bits, a.bits), terms.at_most(a.bits, number(_INFINITE)))
    sign = number(1 << 31)
    negative = both(terms.at_most(sign + ONE, a.bits), terms.at_most(a.bits, sign + number(_INFINITE)))
    return terms.either(terms.less(a.bits, b.bits), terms.equal(a.bits, sign), negative)


def _cycle_of(assignment: Node, name: str) -> "Optional[int]":
    """Return n if an assignment counts modulo n: x = x + 1 < n ? x + 1 : 0, x = (x + 1) % n, x ^= 1, or x = 1 - x.
    Otherwise return None.
    """
    op, _, right = assignment.parts
    right = _plain(right)

    def is_number(node: Node, text: str) -> bool:
        return node.kind == "number" and node.parts[0].rstrip("uUlL") == text

    def is_next(node: Node) -> bool:
        node = _plain(node)
        return node.kind == "binary" and node.parts[0] == "+" and _plain(node.parts[1]).parts == (name,) \
            and is_number(_plain(node.parts[2]), "1")

    def value(node: Node) -> "Optional[int]":
        node = _plain(node)
        return int(node.parts[0].rstrip("uUlL")) if node.kind == "number" and node.parts[0].rstrip("uUlL").isdigit() else None

    if op == "^" and is_number(right, "1"):
        return 2
    if op:
        return None
    if right.kind == "binary" and right.parts[0] == "-" and is_number(_plain(right.parts[1]), "1") \
            and _plain(right.parts[2]).parts == (name,):
        return 2
    if right.kind == "binary" and right.parts[0] == "%" and is_next(right.parts[1]):
        return value(right.parts[2])
    if right.kind == "choose":
        test, then, other = (_plain(of) for of in right.parts)
        if test.kind == "binary" and test.parts[0] == "<" and is_next(test.parts[1]) and is_next(then) and is_number(other, "0"):
            return value(test.parts[2])
    return None


def _guesses(block: Node) -> "Set[int]":
    """Return the ids of those reads in a block whose value is only a first guess for a loop around a compare-and-swap:

        T seen = *word, was;
        do { was = seen; ..; seen = atomicCAS(word, was, ..); } while (seen != was);

    The read of *word may be stale. The loop repeats until `was` is the value that atomicCAS has found in memory.
    """
    def made() -> "Set[int]":
        found: "Set[int]" = set()
        for first, loop in zip(block.parts[0], block.parts[0][1:]):
            if first.kind != "declare" or loop.kind != "do" or loop.parts[0].kind != "block" or not loop.parts[0].parts[0]:
                continue
            body, last = loop.parts[0].parts[0], loop.parts[0].parts[0][-1]
            for seen, _, initial, _ in first.parts[1]:
                read, test = _plain(initial), _plain(loop.parts[1])
                if not isinstance(read, Node) or read.kind != "unary" or read.parts[0] != "*" or _plain(read.parts[1]).kind != "name":
                    continue
                word = _plain(read.parts[1]).parts[0]
                swap, keep = (_plain(of.parts[0]) if of.kind == "expression" else of for of in (last, body[0]))
                if test.kind != "binary" or test.parts[0] != "!=" or {keep.kind, swap.kind} != {"assign"}:
                    continue
                call, was = _plain(swap.parts[2]), _plain(keep.parts[1])
                names = [_plain(of).parts[0] for of in call.parts[1][:2] if _plain(of).kind == "name"] if call.kind == "call" else []
                if was.kind == "name" and names == [word, was.parts[0]] and call.parts[0].kind == "name" and \
                        call.parts[0].parts[0] == "atomicCAS" and not keep.parts[0] and not swap.parts[0] and \
                        [_plain(of).parts for of in (keep.parts[2], swap.parts[1])] == [(seen,), (seen,)] and \
                        {tuple(_plain(of).parts) for of in test.parts[1:]} == {(seen,), (was.parts[0],)} and \
                        sorted(_assignments(loop.parts[0]).count(name) for name in (seen, was.parts[0])) == [1, 1] and \
                        not {word, f"{word}[]"} & _assigned(loop.parts[0]):
                    found.add(id(read))
        return found
    return _cached("guesses", block, made)


def _assigned_inside(node: Node) -> "Set[str]":
    """Return the names to which the loops and branches inside a tree assign."""
    return _cached("inside", node, lambda: {name for one in _all(node) if one.kind in ("for", "do", "if")
                                            for name in _assigned(one)})


def _breaks(node: Node) -> bool:
    """Return true if this tree, the body of a loop, contains a break that leaves the loop."""
    return _cached("breaks", node, lambda: node.kind == "break" or node.kind not in ("for", "do", "switch")
                   and any(_breaks(one) for one in _children(node)))


def _assigned(node: Node) -> "Set[str]":
    return set(_assignments(node))


def _declared(node: Node) -> "Set[str]":
    return {name for one in _all(node) if one.kind == "declare" for name, *_ in one.parts[1]}


def _has(node: Node, kinds: "Sequence[str]") -> bool:
    return _cached("has" + ",".join(kinds), node, lambda: any(one.kind in kinds for one in _all(node)))


def _type_names(node: Node) -> "Set[str]":
    return {one.parts[0] for one in _all(node) if one.kind == "named"}

