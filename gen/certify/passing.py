"""Find the values that a read returns from shared memory, or from an array that an earlier launch wrote.

A read is replaced by the values that the last stores before it may have written to its place, at any of their steps.
For shared memory, the last stores are those with the most barriers before them. For an array between launches, they
are the stores of the launch that wrote to the array last. If that launch is not known to write the whole array, the
stores of the launch before it are added, and so on. A separate proof shows that the place has been written: for shared
memory by enumeration of places, for an array between launches by the proof that all of it is written.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any, Dict, List, Sequence, Set, Tuple

from gen.certify import expressions, terms
from gen.certify.expressions import Expression
from gen.certify.meaning import Store
from gen.certify.terms import Atom, Condition, Term, both, number
from gen.certify.values import Memory

MOST_POINTS = 200_000  # maximum number of places in shared memory that are enumerated
MOST_ALTERNATIVES = 300  # maximum number of stores, or parts of stores, that a read may return


class NotFollowed(Exception):
    """Raised if the stores that a read may return are not found. The text is the reason."""


@dataclass
class Place:
    """The place in the text of a statement that reads values.

    groups: the variables that number the work-group.
    loops: the steps of the loops around the statement.
    path: the conditions under which it is executed.
    """

    groups: "Set[Atom]"
    loops: "Tuple[Term, ...]"
    path: "Sequence[Condition]"


class Passing:
    """Finds the values that a read of memory returns if kernels write this memory.

    stores: for each memory, its stores, each with the number of the launch.
    failed: the launches whose stores are not known, each with the arrays that it accesses.
    of_atom: for each variable that stands for an integer from memory, the integer's expression.
    ends: for a variable that a loop changes, its values before the loop and at the end of a step.
    """

    def __init__(
        self,
        stores: "Dict[Memory, List[Tuple[int, Store]]]",
        failed: "Sequence[Tuple[int, Set[Memory]]]",
        of_atom: "Dict[Atom, Expression]",
        ends: "Dict[Expression, Tuple[Expression, Expression]]",
    ) -> None:
        self.stores, self.failed, self.of_atom, self.ends = stores, failed, of_atom, ends
        self.known: "Dict[Tuple[Expression, Tuple[Term, ...]], List[Tuple[Condition, Expression]]]" = {}
        self.written: "Dict[object, bool]" = {}
        # true if any of several stores may give the value of some read, because it is not known which of them was last
        self.several = False

    def values(self, read: Expression, launch: int, reader: Place) -> "List[Tuple[Condition, Expression]]":
        """Return the values that a read may return, each with the condition under which it is returned. At least one of
        the conditions holds.
        """
        key = read, reader.loops
        if key not in self.known:
            memory = read.parts[0]
            shared = memory.space == "shared"
            found = self._before(read) if shared else self._of_launch(memory, launch)
            self.several |= len(found) > 1
            common = _common(found, reader) if shared else set()
            made: "List[Tuple[Condition, Expression]]" = []
            for store in found:
                made += self._alternatives(read, store, (reader.groups | common) if shared else set())
                if len(made) > MOST_ALTERNATIVES:
                    raise NotFollowed(f"{memory.name}, which many stores write")
            if shared and not self._covered(read, found, reader, common):
                raise NotFollowed(f"{memory.name}, which is not proved written before it is read")
            self.known[key] = made
        return self.known[key]

    def _of_launch(self, memory: Memory, launch: int) -> "List[Store]":
        if any(n < launch and memory in memories for n, memories in self.failed):
            raise NotFollowed(f"{memory.name}, which a kernel writes that is not followed")
        earlier = [(n, store) for n, store in self.stores.get(memory, []) if n < launch]
        if not earlier:
            raise NotFollowed(f"{memory.name}, which no kernel writes")
        found: "List[Store]" = []
        for last in sorted({n for n, _ in earlier}, reverse=True):
            stores = [store for n, store in earlier if n == last]
            found += stores
            if _writes_all(memory, stores):
                break
        return found

    def _before(self, read: Expression) -> "List[Store]":
        """Return the stores to shared memory that may be the last before a read: of the stores with fewer barriers
        before them than the read has, those with the most.
        """
        distances: "List[Tuple[int, Store]]" = []
        for _, store in self.stores.get(read.parts[0], []):
            distance = read.parts[2] - store.phase
            if not distance.is_constant:
                raise NotFollowed(f"{read.parts[0].name}, which is written in a loop with barriers")
            if distance.constant > 0:
                distances.append((distance.constant, store))
        if not distances:
            raise NotFollowed(f"{read.parts[0].name}, which no store before a barrier writes")
        least = min(distance for distance, _ in distances)
        return [store for distance, store in distances if distance == least]

    def _alternatives(self, read: Expression, store: Store, kept: "Set[Atom]") -> "List[Tuple[Condition, Expression]]":
        """Return the parts of a store's value that a read may return, at any step of the store. Each part comes with
        the condition under which the read returns it.
        """
        width = read.size
        if store.value.size % width:
            raise NotFollowed(f"{read.parts[0].name}, of which a read takes parts of two elements")
        copy = Copy(kept, self.of_atom, self.ends)
        offset = copy.term(store.offset)
        path = [copy.condition(expressions.certain(c, {})) for c in store.path]
        made = []
        for first in range(0, store.value.size, width):
            away = offset + number(first) - read.parts[1]
            same = terms.equal(away, terms.ZERO)
            step = math.gcd(0, *(f for _, f in away.parts))
            if same.kind != "false" and (step == 0 or away.constant % step == 0):
                made.append((both(same, *path), copy.expression(expressions.part(store.value, first, width))))
        return made

    def _covered(self, read: Expression, stores: "List[Store]", reader: Place, common: "Set[Atom]") -> bool:
        """Return true if every place that a statement reads was written before. Places are enumerated."""
        known = tuple(sorted({id(store) for store in stores})), read.parts[1], read.size
        if known not in self.written:
            self.written[known] = self._enumerated(read, stores, reader, common | reader.groups)
        return self.written[known]

    def _enumerated(self, read: Expression, stores: "List[Store]", reader: Place, outer: "Set[Atom]") -> bool:
        offset, width = read.parts[1], read.size
        inner = set(offset.free) - outer
        path = [c for c in (expressions.certain(c, {}) for c in reader.path) if c.free]
        own = [c for c in path if c.free <= inner | outer and c.free & inner]
        fixed = set(offset.free) & outer
        for store in stores:
            fixed |= (set(store.offset.free) | terms.all_free(store.path)) & outer
        fixed |= terms.all_free(own) & outer
        given = [c for c in path if c.free and c.free <= fixed]
        ordered = sorted(fixed, key=lambda atom: atom.number)
        points = 1
        for atom in ordered:
            points *= atom.hi - atom.lo + 1
        steps = _size(inner) + sum(_size((set(s.offset.free) | terms.all_free(s.path)) - outer) for s in stores)
        if points * steps > MOST_POINTS or not all(
            atom.known for s in stores for atom in terms.all_free([s.offset, *s.path])
        ):
            return False
        for values in itertools.product(*(range(a.lo, a.hi + 1) for a in ordered)):
            at = dict(zip(ordered, values))
            if not all(terms.holds(c, at) for c in given):
                continue
            written: "Set[int]" = set()
            for store in stores:
                for place in _places(store.offset, store.path, outer, at):
                    written.update(range(place, place + store.value.size))
            for place in _places(offset, own, outer, at):
                if not written.issuperset(range(place, place + width)):
                    return False
        return True


def _common(stores: "List[Store]", reader: Place) -> "Set[Atom]":
    """Return the steps of the loops that contain the reader and all of the stores."""
    count = len(reader.loops)
    for store in stores:
        same = 0
        while same < min(count, len(store.loops)) and store.loops[same] == reader.loops[same]:
            same += 1
        count = same
    return {atom for k in reader.loops[:count] for atom in k.free}


def _size(atoms: "Set[Atom]") -> int:
    total = 1
    for atom in atoms:
        total *= atom.hi - atom.lo + 1
    return total


def _writes_all(memory: Memory, stores: "List[Store]") -> bool:
    """Return true if the stores of a launch are known to write every byte of an array. A variable that occurs only in
    conditions may be a parameter of a template, which has one value in a launch. All bytes must therefore be written
    for each value of such a variable.
    """
    outer: "Set[Atom]" = set()
    points = 0
    for store in stores:
        free = terms.all_free([store.offset, *store.path])
        if not all(atom.known for atom in free):
            continue
        if not terms.all_free(store.path) and _is_dense(store, memory):
            return True
        outer |= free - set(store.offset.free)
        points += _size(free)
    if memory.bytes is None or points * _size(outer) > MOST_POINTS:
        return False
    ordered = sorted(outer, key=lambda atom: atom.number)
    for values in itertools.product(*(range(a.lo, a.hi + 1) for a in ordered)):
        at = dict(zip(ordered, values))
        written: "Set[int]" = set()
        for store in stores:
            if all(atom.known for atom in terms.all_free([store.offset, *store.path])):
                for place in _places(store.offset, store.path, outer, at):
                    written.update(range(place, place + store.value.size))
        if len(written) < memory.bytes:
            return False
    return True


def _is_dense(store: Store, memory: Memory) -> bool:
    """Return true if the offset of a store is a mixed-radix number without gaps, and covers an array."""
    size = store.value.size
    for atom, factor in sorted(store.offset.parts, key=lambda part: part[1]):
        if atom.kind != "var" or atom.lo or factor != size:
            return False
        size *= atom.hi + 1
    return store.offset.constant == 0 and size == memory.bytes


def _places(offset: Term, path: "Sequence[Condition]", outer: "Set[Atom]", at: "Dict[Atom, int]") -> "List[int]":
    """Return the values of a term, for all values of its variables under which the conditions hold. Variables in
    `outer` have the values in `at`.
    """
    ordered = sorted((set(offset.free) | terms.all_free(path)) - outer, key=lambda atom: atom.number)
    found = []
    for values in itertools.product(*(range(a.lo, a.hi + 1) for a in ordered)):
        given = {**at, **dict(zip(ordered, values))}
        if all(terms.holds(c, given) for c in path):
            found.append(terms.evaluate(offset, given))
    return found


class Copy:
    """Copies terms, conditions and expressions to another work-item and other steps: each variable becomes a new one,
    except those in `kept` and a template's parameters.
    """

    def __init__(
        self,
        kept: "Set[Atom]",
        of_atom: "Dict[Atom, Expression]",
        ends: "Dict[Expression, Tuple[Expression, Expression]]",
    ) -> None:
        self.kept, self.of_atom, self.ends = kept, of_atom, ends
        self.atoms: "Dict[Atom, Term]" = {}
        self.known: "Dict[Expression, Expression]" = {}

    def _atom(self, atom: Atom) -> Term:
        if atom not in self.atoms:
            if atom in self.kept or "!" not in atom.name:
                self.atoms[atom] = terms.of(atom)
            else:
                made = terms.variable(atom.name.split("!")[0], atom.lo, atom.hi, atom.known)
                self.atoms[atom] = made
                if atom in self.of_atom:
                    (new,) = made.free
                    self.of_atom[new] = self.expression(self.of_atom[atom])
        return self.atoms[atom]

    def _step(self, atom: Atom) -> Atom:
        (made,) = self._atom(atom).free
        return made

    def _copied(self, of: "Any") -> "Any":
        for atom in sorted(of.free, key=lambda a: a.number):
            by = self._atom(atom)
            if by != terms.of(atom):
                of = terms.substituted(of, atom, by)
        return of

    def term(self, of: Term) -> Term:
        made = self._copied(of)
        assert isinstance(made, Term)
        return made

    def condition(self, of: Condition) -> Condition:
        made = self._copied(of)
        assert isinstance(made, Condition)
        return made

    def expression(self, of: Expression) -> Expression:
        if of not in self.known:
            self.known[of] = self._expression(of)
        return self.known[of]

    def _expression(self, of: Expression) -> Expression:
        kind, parts = of.kind, of.parts
        if kind == "read":
            return expressions.read(parts[0], self.term(parts[1]), of.size, self.term(parts[2]))
        if kind == "index":
            return expressions.index(self.term(parts[0]), of.size)
        if kind == "if":
            a, b = self.expression(parts[1]), self.expression(parts[2])
            if all(atom.known for atom in parts[0].free):
                return expressions.either(self.condition(parts[0]), a, b)
            read = [
                self.expression(self.of_atom[atom]) if atom in self.of_atom else expressions.index(self._atom(atom), 8)
                for atom in sorted(parts[0].free, key=lambda a: a.number)
            ]
            return expressions.apply("choice", of.size, *read, a, b)
        if kind == "fold":
            steps = tuple(self._step(atom) for atom in parts[1])
            return Expression(kind, of.size, self.expression(parts[0]), steps, *map(self.expression, parts[2:]))
        if kind == "carried":
            made = Expression(kind, of.size, (*parts[0], next(terms._numbers)), self._step(parts[1]))
            self.known[of] = made
            if of in self.ends:
                entry, end = self.ends[of]
                self.ends[made] = self.expression(entry), self.expression(end)
            return made
        if kind in ("apply", "part", "join"):
            return Expression(kind, of.size, *(self.expression(p) if isinstance(p, Expression) else p for p in parts))
        return of
