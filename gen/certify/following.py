"""A walk that records when each store and each read happens.

meaning.py follows a work-item's arrays element by element, and walks the loops that use them step by step. This walk
records each store to an array, and each read of it, with its moment in the program. So it walks each loop only once.
Later, instances.py finds the store that a read returns, for single work-items and steps. In this way values also pass
between work-items, through shared memory and shuffles.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence, Tuple

from gen.certify import expressions, terms, types
from gen.certify.expressions import Expression
from gen.certify.meaning import Meaning, Store
from gen.certify.reader import Node
from gen.certify.terms import ZERO, Atom, Condition, Term, number
from gen.certify.text import Token
from gen.certify.types import Float, Record, Type, size
from gen.certify.values import Address, Cell, Either, Lanes, Memory, Number, Opaque, Value
from gen.certify.walk import Walk, _Exits


# functions that the text defines, and that return one of their arguments
_LARGEST = re.compile(r"(maximum|minimum)_\w+")


@dataclass(frozen=True)
class Moment:
    """A moment in the execution of a kernel by one work-item.

    phase: the number of barriers before it.
    loops: the steps of the loops around it.
    number: its number in the order of the walk.
    item: the work-item.
    launch: the number of the launch.
    """

    phase: Term
    loops: "Tuple[Term, ...]"
    number: int
    item: Term
    launch: int = 0

    def free(self) -> "frozenset[Atom]":
        return frozenset().union(self.item.free, *(step.free for step in self.loops))


@dataclass(frozen=True)
class Ordered(Store):
    """A store with its moment."""

    when: Moment = Moment(ZERO, (), 0, ZERO)


class Following(Meaning):
    """Walks kernels, and collects the stores to all arrays."""

    launch = 0  # the number of the launch whose kernel is walked

    def _file(self) -> None:
        self.counts: "Dict[object, Optional[Term]]" = {}  # for each loop, its number of steps; None if it is not known
        # for each array, the steps of the loops around its declaration
        self.declared: "Dict[Memory, Tuple[Term, ...]]" = {}
        super()._file()

    def _now(self) -> Moment:
        return Moment(self.phase, tuple(self.within), self._mark(), self.item, self.launch)

    # ---- memory ----

    def _read(self, memory: Memory, offset: Term, width: int) -> Expression:
        if memory.space == "global" and memory in self.before:
            return expressions.read(self.before[memory], offset, width)
        if memory.space == "global" and not self.fixed.get((memory, "written"), True) and _is_input(memory):
            return expressions.read(memory, offset, width)
        return expressions.read(memory, offset, width, self._now())  # type: ignore[arg-type]

    def _put(self, place: Value, type: Type, whole: Expression, at: Token) -> None:
        if isinstance(place, Either):
            for side, condition in ((place.a, place.condition), (place.b, terms.negated(place.condition))):
                with self._under(condition):
                    self._put(side, type, whole, at)
            return
        assert isinstance(place, Address)
        if place.memory is None:
            super()._put(place, type, whole, at)
            return
        if whole.size != size(type):
            whole = expressions.lost("a value of another size", size(type))
        self.values_stored.append(
            Ordered(
                place.memory, self._bytes_at(place), whole, tuple(self.path), self.phase, at, tuple(self.within),
                self._now(),
            )
        )

    def _store(self, value: Value, type: Type, stored: "Optional[Value]", at: Token) -> None:
        if isinstance(value, Either):
            for side, condition in ((value.a, value.condition), (value.b, terms.negated(value.condition))):
                with self._under(condition):
                    self._store(side, type, stored, at)
            return
        super()._store(value, type, stored, at)

    def _set_contents(self, memory: Memory, entries: "Dict[int, Expression]") -> None:
        """Record the initial values of an array as stores. An array without initial values gets one store of an
        unknown value.
        """
        at = memory.at
        assert at is not None
        unknown = {0: expressions.lost("an array that the walk does not follow", memory.bytes or 1)}
        for offset, of in sorted((entries or unknown).items()):
            self.values_stored.append(
                Ordered(memory, number(offset), of, tuple(self.path), self.phase, at,
                        tuple(self.within), self._now())
            )

    def _initialise(self, memory: Memory, type: Type, initial: "Optional[Node]", static: bool) -> None:
        self.declared[memory] = tuple(self.within)
        if initial is not None and initial.kind != "braces":
            Walk._initialise(self, memory, type, initial, static)
            with self._unrecorded():
                source = self._value(initial)
            if isinstance(source, Address) and source.memory is not None:
                self._set_contents(memory, {0: self._read(source.memory, self._bytes_at(source), size(type))})
            return
        super()._initialise(memory, type, initial, static)

    def _of_assign(self, node: Node) -> Value:
        result = Walk._of_assign(self, node)
        if isinstance(result, Opaque) and isinstance(result.type, Record) and not node.parts[0]:
            with self._unrecorded():
                to, source = self._address(node.parts[1]), self._address(node.parts[2])
            if isinstance(to, Address) and isinstance(source, Address) and source.memory is not None:
                read = self._read(source.memory, self._bytes_at(source), size(result.type))
                self._put(to, result.type, read, node.at)
        return result

    # ---- loops ----

    def _carries(self, body: Node, variable: Cell) -> bool:
        return False

    def _forget_arrays(self, keys: "Any") -> None:
        """Do nothing. Unlike Meaning, this walk keeps the stores to arrays that a loop changes, because it records the
        moment of each store.
        """

    def _summed(self, node: Node, counted: "Optional[Tuple[Cell, Term, int]]", facts: "List[Condition]") -> _Exits:
        _, condition, step, body = node.parts
        trips = None
        if counted is not None and condition is not None:
            variable, start, by = counted
            trips = self._trips(condition, variable, start, by, self._changed(condition, step, body))
        self.counts[node.at, self.site] = trips
        return super()._summed(node, counted, facts)

    def _open(self, cell: Cell, entry: "Optional[Value]", key: "Any") -> None:
        """Set the value of a variable that a loop changes. The method is called before the walk of the loop's body, and
        again after it. Unlike Meaning, it also follows integers, and loops whose number of steps depends on the
        work-item.
        """
        end, mark = cell.value, self._mark()
        Walk._open(self, cell, entry, key)
        value, trips = cell.value, self.counts.get(key[0])
        if trips is None or not isinstance(value, (Number, Lanes)):
            return
        if (key, cell) not in self.carried:
            (atom,) = self.within[-1].free
            whole = Expression("carried", size(value.type), (cell.name, self._mark()), atom)
            self.carried[key, cell] = whole
            self._set(cell, self._typed(value, whole, mark))
            return
        before = self.carried.pop((key, cell))
        atom = before.parts[1]
        if self.new_fixed.get((key[0], "breaks"), True) or atom.lo:
            return
        one, two = self._expression(entry, cell.type), self._expression(end, cell.type)
        self.ends[before] = one, two
        self._set(cell, self._typed(value, Expression("loop", one.size, one, atom, two, trips), mark))

    # ---- calls ----

    def _named(self, name: str, values: "Sequence[Value]", result: Value) -> Value:
        """Return the result of a call to a function of the text. Each lane that the function computes becomes
        an operation with the function's name. A lane that the function returns unchanged stays as it is.
        """
        if isinstance(result, Lanes) and isinstance(result.type.element, Float) and result.of is not None:
            lanes = {of for value in values if isinstance(value, (Lanes, Number)) for of in self._lanes(value, 1)}
            width = size(result.type.element)
            made = []
            own = [self._lanes(value, len(result.of)) for value in values if isinstance(value, (Lanes, Number))]
            own = [side for side in own if len(side) == len(result.of)]
            for n, of in enumerate(result.of):
                if _LARGEST.fullmatch(name) and len(own) == len(values):
                    made.append(expressions.apply(name, width, *(side[n] for side in own)))
                else:  # keep the arguments, too: evaluation may show that the function returns one of them
                    made.append(of if of.kind != "apply" or of in lanes else expressions.apply(f"call {name}", width, of, *(side[n] for side in own)))
            return self._with(result, made, 1 << 62)
        return super()._named(name, values, result)


    def _of_call(self, node: Node) -> Value:
        callee, arguments = node.parts
        name = callee.parts[0] if callee.kind == "name" else ""
        found = re.fullmatch(r"__shfl(_down|_up|_xor|)(_sync|)", name) if name else None
        if found is None or name in self.reader.functions:
            return super()._of_call(node)
        values = [self._value(argument) for argument in arguments]
        wrapped = [Node("value", argument.at, value) for argument, value in zip(arguments, values)]
        mark = self._mark()
        result = super()._of_call(Node("call", node.at, callee, wrapped))
        given = values[1:] if found[2] else values
        lanes = 32 if self.target == "cuda" else 64
        by, width = given[1], given[2] if len(given) > 2 else Number(types.INT, number(lanes), False)
        if isinstance(result, Number) and isinstance(given[0], Number) and isinstance(by, Number) \
                and isinstance(width, Number) and result.of is None and by.term is not None and width.term is not None \
                and width.term.is_constant and given[0].pointer is None:
            value = self._expression(given[0])
            whole = Expression("shuffle", value.size, value, found[1], by.term, width.term.constant, lanes,
                               tuple(self.path), self._now())
            return self._typed(result, whole, mark)
        return result


def _is_input(memory: Memory) -> bool:
    key = memory.key
    return isinstance(key, tuple) and key[0] in ("params", "table") and not (key[0] == "params" and key[2])
