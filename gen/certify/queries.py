"""The questions about a walk's results: bounds, wrap-around, races, barriers, and whether all of a buffer is written.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from math import gcd, prod
from typing import AbstractSet, Callable, Dict, Iterator, List, Optional, Sequence, Set, Tuple

from gen.certify import terms
from gen.certify.smt import Answer, Solvers
from gen.certify.terms import Atom, Condition, Printer, Term
from gen.certify.values import Access, Found, Memory

# The values of variables, by the suffix of the variables' names. In a query about two work-items, there are two copies
# of the variables, with the suffixes "@1" and "@2". Otherwise the suffix is "".
Values = Dict[str, Dict[Atom, int]]
TOGETHER = 12    # maximum number of questions in one query, or of pairs of accesses
MOST_POINTS = 2_000_000      # maximum number of points that are enumerated
FEW_POINTS = 100_000         # maximum number of points of two accesses that are compared, at about 300,000 per second
FEW_PLACES = 250_000         # up to this number of written places, enumeration comes before any query
FEW_VALUES = 1024            # up to this number of values of a variable, a part of an offset is computed for each value
MOST_PLACES = 12_000_000     # maximum number of written places that are enumerated, at 5 million per second or more


@dataclass(frozen=True)
class Failure:
    """A property that is refuted or not proved. kind: refuted or unknown. line, column: the place in the text."""

    kind: str
    question: str
    line: int
    column: int
    values: str = ""

    def text(self, file: str) -> str:
        return f"{file}:{self.line}:{self.column}: {self.question}" + (f": {self.values}" if self.values else "")


@dataclass(frozen=True)
class _Question:
    """The question whether the offset of an access, or an index, can leave a range.

    term, path: the offset or index, and the conditions under which the text reaches it.
    lo, hi: the range.
    """

    term: Term
    path: "Tuple[Condition, ...]"
    lo: int
    hi: int
    text: str
    at: object

    def wrong(self, printer: Printer) -> str:
        """Print the condition that must be impossible."""
        term = printer.term(self.term)
        return f"(or (< {term} {terms._int(self.lo)}) (> {term} {terms._int(self.hi)}))"

    def replay(self, at: Values) -> bool:
        """Return true if this condition holds for the given values."""
        return not self.lo <= terms.evaluate(self.term, at[""]) <= self.hi


@dataclass
class Questions:
    """Asks the questions about one launch."""

    found: Found
    solvers: Solvers
    failures: "List[Failure]"
    waiting: "List[Callable[[], None]]" = field(default_factory=list)

    def all(self) -> None:
        """Ask all questions. A query that the first solver does not decide is repeated at the end, with more time and
        solvers, unless something is refuted by then.
        """
        self.wraps()
        self.bounds()
        self.barriers()
        self.races()
        for ask in self.waiting:
            if any(failure.kind == "refuted" for failure in self.failures):
                return
            ask()

    # ---- one access ----

    def bounds(self) -> None:
        """Ask whether each access lies inside its buffer."""
        asked: "List[_Question]" = []
        for access in _distinct(self.found.accesses):
            memory = access.memory
            if memory.bytes is None:
                self._fail("unknown", f"nobody says how large {memory.name} is", access)
                continue
            word = "written" if access.write else "read"
            asked.append(_Question(access.offset, access.path, 0, memory.bytes // access.unit - access.width,
                                   f"{memory.name} is {word} outside of its {memory.bytes} bytes", access))
        self._each(asked)

    def wraps(self) -> None:
        """Ask whether each index stays in the range of its type."""
        seen: "Set[Tuple[Term, int, int, Tuple[Condition, ...]]]" = set()
        asked: "List[_Question]" = []
        for obligation in self.found.obligations:
            path = _relevant(obligation.path, terms.all_free([obligation.term]))
            key = obligation.term, obligation.lo, obligation.hi, path
            if key in seen:
                continue
            seen.add(key)
            asked.append(_Question(obligation.term, obligation.path, obligation.lo, obligation.hi,
                                   f"an index leaves [{obligation.lo}, {obligation.hi}]", obligation))
        self._each(asked)

    def _each(self, questions: "Sequence[_Question]") -> None:
        """Ask several questions in one query, if their paths have the same conditions. If the query is not proved, ask
        the questions one by one. A question is not asked if interval arithmetic decides it, unless queries are kept.
        """
        by_path: "Dict[Tuple[Condition, ...], List[_Question]]" = {}
        for question in questions:
            if self.solvers.folder is None and terms.within(question.term, question.lo, question.hi, question.path):
                continue
            by_path.setdefault(_relevant(question.path, terms.all_free([question.term])), []).append(question)
        for path, alike in by_path.items():
            for begin in range(0, len(alike), TOGETHER):
                part = alike[begin:begin + TOGETHER]
                if len(part) > 1:
                    printer = Printer()
                    lines = [f"(or {' '.join(question.wrong(printer) for question in part)})", *(printer.condition(c) for c in path)]
                    about = part[0].text + f", or one of {len(part) - 1} others"
                    if self.solvers.ask(printer.lines + [f"(assert {line})" for line in lines], about, True).kind == "proved":
                        continue
                for question in part:
                    printer = Printer()
                    self._ask(printer, [question.wrong(printer)], question.path, [question.term], question.text,
                              question.at, question.replay)

    def barriers(self) -> None:
        """Ask whether each barrier is reached by all work-items of a group or by none."""
        for barrier in self.found.barriers:
            condition = terms.both(*barrier.path)
            if not terms.all_free([condition]) & self.found.varying:
                # no query is needed: the condition is the same for all work-items of a group
                self.solvers.count += 1
                continue
            shared = frozenset(terms.all_free([condition]) - self.found.varying)
            printer = Printer()
            one, two = (printer.condition(condition, copy, shared) for copy in ("@1", "@2"))

            def differs(at: Values, condition: Condition = condition) -> bool:
                return terms.holds(condition, at["@1"]) and not terms.holds(condition, at["@2"])

            self._ask(printer, [one, f"(not {two})"], (), [condition], "a barrier that not all of a group reach", barrier, differs)

    # ---- two work-items ----

    def races(self) -> None:
        """Ask whether two work-items can access the same element. This is allowed if both only read, if both accesses
        are atomic, or if a barrier lies between them.
        """
        by_memory: "Dict[Memory, List[Access]]" = {}
        for access in _distinct(self.found.accesses):
            if access.memory.space in ("global", "shared"):
                first = min([access.memory, *_sharing(access.memory)], key=id)
                whole = first is access.memory and not first.shares
                by_memory.setdefault(first, []).append(access if whole else in_block(access))
        for memory, accesses in by_memory.items():
            apart: "Set[int]" = set()
            if memory.space == "global" and self.found.groups and len(accesses) > TOGETHER \
                    and any(a.write for a in accesses):
                apart = self._in_regions(accesses)
            for n, a in enumerate(accesses):
                others = [b for m, b in enumerate(accesses) if (a.write or b.write) and not (a.atomic and b.atomic)
                          and (m >= n if a.write and b.write else a.write)]
                if memory.space == "global" and self.found.groups:
                    self._races(a, [b for b in others if id(a) not in apart or id(b) not in apart], True)
                if self.found.items:
                    self._races(a, [b for b in others if not (a.phase - b.phase).is_constant
                                    or a.phase.free or a.phase == b.phase], False)

    def _in_regions(self, accesses: "Sequence[Access]") -> "Set[int]":
        """Return the ids of those accesses to an array that are proved to stay in the region of their work-group. The
        regions of two work-groups are proved to have no common element, so these accesses of different work-groups do
        not meet. This takes fewer queries than a question about each pair of accesses.

        A region begins at the part of the offsets that depends only on the work-group. It ends where the region of the
        next work-group begins.
        """
        unit = gcd(*(a.unit for a in accesses))
        offsets = [access.offset.times(access.unit // unit) for access in accesses]
        begins = (Term(tuple((atom, f) for atom, f in offset.parts if atom.free <= self.found.groups), 0)
                  for offset in offsets)
        begin = max(begins, key=lambda term: len(term.parts))
        if not begin.parts:
            return set()
        (group,), name, printer = self.found.groups, accesses[0].memory.name, Printer()
        length = terms.substituted(begin, group, terms.of(group) + terms.ONE) - begin
        one, two = printer.term(begin + length, "@1"), printer.term(begin, "@2")
        first, second = (printer.atom(group, copy, frozenset()) for copy in ("@1", "@2"))
        lines = [f"(< {first} {second})", f"(< {two} {one})"]
        if self.solvers.ask(printer.lines + [f"(assert {line})" for line in lines],
                            f"the regions of two work-groups in {name} overlap", True).kind != "proved":
            return set()
        by_path: "Dict[Tuple[Condition, ...], List[Tuple[Access, Term]]]" = {}
        for access, rest in ((access, offset - begin) for access, offset in zip(accesses, offsets)):
            by_path.setdefault(_relevant(access.path, terms.all_free([rest, length])), []).append((access, rest))
        found: "Set[int]" = set()
        for path, alike in by_path.items():
            for at in range(0, len(alike), TOGETHER):
                waiting = [alike[at:at + TOGETHER]]
                while waiting:
                    part, printer = waiting.pop(), Printer()
                    outside = []
                    for access, rest in part:
                        end = rest + terms.number(access.width * (access.unit // unit)) - length
                        outside.append(f"(< {printer.term(rest)} 0) (< 0 {printer.term(end)})")
                    lines = [f"(or {' '.join(outside)})", *(printer.condition(c) for c in path)]
                    about = f"an access to {name} leaves the region of its work-group"
                    if self.solvers.ask(printer.lines + [f"(assert {line})" for line in lines], about, True).kind == "proved":
                        found |= {id(access) for access, _ in part}
                    elif len(part) > 1:
                        waiting += [[each] for each in part]
        return found

    def _races(self, a: Access, others: "List[Access]", groups: bool) -> None:
        """Ask about an access and several others in one query. If it is not proved, ask about each pair. A pair is not
        asked about if its strides decide it, unless queries are kept.
        """
        who = self.found.groups if groups else self.found.items
        shared = self._shared if groups else self._shared | self.found.groups
        if self.solvers.folder is None:
            others = [b for b in others if not apart_by_strides(a, b, who, shared)]
        for begin in range(0, len(others), TOGETHER):
            part = others[begin:begin + TOGETHER]
            printer, question, line = self._race(a, part, groups)
            if self.solvers.ask(printer.lines + [f"(assert {line})"], question, True).kind != "proved":
                for b in part:
                    atoms = self.found.groups if groups else self.found.items | self.found.groups
                    if apart_by_points(a, b, list(who), shared, not groups) \
                            or peeled(a, b, who, shared, self.solvers) \
                            or a is b and _determined(a, atoms, self.solvers):
                        continue
                    printer, question, line = self._race(a, [b], groups)
                    def meet(at: Values, b: Access = b) -> bool:
                        return self._meet(a, b, at, groups)

                    self._ask(printer, [line], (), [a.offset, b.offset, *a.path, *b.path], question, a, meet)

    def _race(self, a: Access, others: "List[Access]", groups: bool) -> "Tuple[Printer, str, str]":
        """Return a query: its printer, its description, and its condition. The condition holds if an access overlaps
        with one of the others.
        """
        printer, shared = Printer(), self._shared if groups else self._shared | self.found.groups
        lines = [_different(printer, self.found.groups if groups else self.found.items)]
        lines += [printer.condition(c, "@1", shared) for c in a.path]
        words = []
        for b in others:
            parts = [overlap(printer, a, b, shared), *(printer.condition(c, "@2", shared) for c in b.path)]
            if not groups:
                parts.append(f"(= {printer.term(a.phase, '@1', shared)} {printer.term(b.phase, '@2', shared)})")
            words.append(parts[0] if len(parts) == 1 else f"(and {' '.join(parts)})")
        lines.append(words[0] if len(words) == 1 else f"(or {' '.join(words)})")
        touched = f"{'written' if a.write else 'read'} here and {'written' if others[0].write else 'read'} in line " \
                  f"{others[0].at.line}"
        of = "work-groups" if groups else "work-items of a group"
        return printer, f"two {of} meet at an element of {a.memory.name}, {touched}", f"(and {' '.join(lines)})"

    @cached_property
    def _shared(self) -> "frozenset[Atom]":
        """Return the variables whose value is the same for all work-items: template parameters, and values from memory
        that are equal for all work-items.
        """
        given = {atom for access in self.found.accesses for atom in terms.all_free(access.path) if "!" not in atom.name}
        return frozenset(self.found.common | {atom for atom in given if atom.known})

    # ---- asking ----

    def _meet(self, a: Access, b: Access, at: "Values", groups: bool) -> bool:
        """Return true if two accesses touch the same element for given values of the variables. The accesses are those
        of two work-groups, or (groups is false) of two work-items of a group.
        """
        one, two = at["@1"], at["@2"]
        who = self.found.groups if groups else self.found.items
        if all(one.get(atom, atom.lo) == two.get(atom, atom.lo) for atom in who):
            return False
        if not groups and terms.evaluate(a.phase, one) != terms.evaluate(b.phase, two):
            return False
        x, y = a.unit * terms.evaluate(a.offset, one), b.unit * terms.evaluate(b.offset, two)
        return x < y + b.unit * b.width and y < x + a.unit * a.width and all(
            terms.holds(c, values) for access, values in ((a, one), (b, two)) for c in access.path)

    def _ask(self, printer: Printer, lines: "List[str]", path: "Sequence[Condition]", of: "Sequence[object]", question: str,
             at: "object", replay: "Callable[[Values], bool]", quick: bool = True) -> None:
        """Ask a query. A counterexample counts as a refutation under three conditions: it consists of ids, steps, and
        at most one integer of a parameter; all conditions of the path hold for it; and `replay` confirms it.
        """
        conditions = _relevant(path, terms.all_free(of))
        asked = lines + [printer.condition(c) for c in conditions]
        answer = self.solvers.ask(printer.lines + [f"(assert {line})" for line in asked], question, quick)
        if answer.kind == "unknown" and quick:
            self.waiting.append(lambda: self._ask(printer, lines, path, of, question, at, replay, False))
            return
        if answer.kind == "refuted" and len(conditions) < len(path):    # ask again, with all conditions of the path
            conditions = tuple(path)
            asked = lines + [printer.condition(c) for c in conditions]
            answer = self.solvers.ask(printer.lines + [f"(assert {line})" for line in asked], question)
        if answer.kind == "proved":
            return
        if answer.kind == "unknown":
            self._fail("unknown", f"no solver decides that never: {question}", at)
            return
        free = terms.all_free([*of, *conditions])
        text, given = _values(printer, answer, free), _by_copy(printer, answer)
        if not _is_possible({atom for atom in free if not atom.known}, given):
            self._fail("unknown", f"{question} (for a value that the walk does not know)", at, text)
        elif not replay(given) or not all(terms.holds(c, given[""]) for c in conditions):
            self._fail("unknown", f"{question} (but the text's terms do not confirm this counterexample)", at, text)
        else:
            self._fail("refuted", question, at, text)

    def _fail(self, kind: str, question: str, at: "object", values: str = "") -> None:
        token = at.at       # type: ignore[attr-defined]
        self.failures.append(Failure(kind, question, token.line, token.column, values))


def _by_copy(printer: Printer, answer: Answer) -> "Values":
    """Return the values of a counterexample for each copy of the variables. The copy "" is for one work-item, "@1" and
    "@2" are for two. A variable that two work-items share is in both of their copies.
    """
    found: "Values" = {"": {}, "@1": {}, "@2": {}}
    for name, (atom, copy) in printer.variables.items():
        value = answer.values.get(name, atom.lo)
        for of in (copy,) if copy else found:
            found[of].setdefault(atom, value)
        found[copy][atom] = value
    return found


def _is_possible(read: "Set[Atom]", given: Values) -> bool:
    """Return true if some content of memory gives the variables in `read` these values. This is known only if all these
    variables stand for one integer of a parameter, which may have any value. Integers at two places may be impossible,
    because HLO may say that they are sorted or different.
    """
    found: "Set[Tuple[int, int, int]]" = set()
    for atom in read:
        copies = [values for values in given.values() if atom in values]
        if atom.place is None or not copies:
            return False
        memory, offset = atom.place
        if not all(of.known for of in offset.free):
            return False
        found |= {(id(memory), terms.evaluate(offset, values), values[atom]) for values in copies}
    return len(found) <= 1


def _values(printer: Printer, answer: Answer, free: "Set[Atom]") -> str:
    """Return a counterexample as text: the values of the variables."""
    words = []
    for name, (atom, copy) in printer.variables.items():
        if atom in free and name in answer.values:
            words.append(f"{atom.name.split('!')[0]}{copy} = {answer.values[name]}")
    return ", ".join(words)


def _distinct(accesses: "Sequence[Access]") -> "List[Access]":
    seen: "Dict[object, Access]" = {}
    for access in accesses:
        key = (access.memory, access.offset, access.width, access.unit, access.write, access.atomic, access.path,
               access.phase)
        seen.setdefault(key, access)
    return list(seen.values())


def _relevant(path: "Sequence[Condition]", free: "Set[Atom]") -> "Tuple[Condition, ...]":
    """Return the conditions that share variables with `free`, directly or through other conditions. Leaving out the
    others is sound, because fewer conditions prove less.
    """
    chosen: "Set[int]" = set()
    free = set(free)
    while True:
        more = [n for n, c in enumerate(path) if n not in chosen and c.free & free]
        if not more:
            return tuple(c for n, c in enumerate(path) if n in chosen)
        for n in more:
            chosen.add(n)
            free |= path[n].free


def _sharing(memory: Memory) -> "List[Memory]":
    """Return the arrays that share bytes with an array, directly or through others."""
    found, waiting = {id(memory): memory}, [memory]
    while waiting:
        for other in waiting.pop().shares:
            if id(other) not in found:
                found[id(other)] = other
                waiting.append(other)
    return list(found.values())


def in_block(access: Access) -> Access:
    """Return an access with its offset from the beginning of the block of memory that contains the array."""
    base, unit = access.memory.base, access.unit
    if base % unit:
        return replace(access, offset=access.offset.times(unit) + terms.number(base), width=access.width * unit, unit=1)
    return replace(access, offset=access.offset + terms.number(base // unit))


def overlap(printer: Printer, a: Access, b: Access, shared: "frozenset[Atom]", copies: "Tuple[str, str]" = ("@1", "@2")) -> str:
    """Return the condition that two accesses overlap."""
    unit = gcd(a.unit, b.unit)
    sides = []
    for access in (a, b):
        factor = access.unit // unit
        sides.append((access.offset.times(factor), access.width * factor))
    (x, n), (y, m) = sides
    step = gcd(n, m)
    for term in (x, y):
        step = gcd(step, term.constant, *(f for _, f in term.parts))
    if step > 1:    # divide by `step`, which divides all offsets and widths
        x, y = (Term(tuple((at, f // step) for at, f in term.parts), term.constant // step) for term in (x, y))
        n, m = n // step, m // step
    one, two = printer.term(x, copies[0], shared), printer.term(y, copies[1], shared)
    if n == m == 1:
        return f"(= {one} {two})"
    return f"(and (< {one} (+ {two} {m})) (< {two} (+ {one} {n})))"


def apart_by_points(a: Access, b: Access, who: "Sequence[Atom]", shared: "frozenset[Atom]", phases: bool) -> bool:
    """Return true if no element is touched by both accesses with different values of the variables in `who`. The touched
    elements are computed; if they are too many, return false.

    shared: variables that have the same value in both accesses.
    phases: count only accesses with the same number of barriers before them.
    """
    sides = (a,) if b is a else (a, b)
    keys = [of.phase for of in sides] if phases and not (a.phase == b.phase and a.phase.is_constant) else []
    of_side = [terms.all_free([of.offset, *of.path, *keys[n:n + 1]]) for n, of in enumerate(sides)]
    points = max(prod(atom.hi - atom.lo + 1 for atom in atoms) for atoms in of_side)
    if points > FEW_POINTS or not all(atoms.issuperset(who) for atoms in of_side):
        return False
    unit = gcd(a.unit, b.unit)
    same = [terms.of(atom) for atom in shared.intersection(*of_side)]
    touched: "Dict[Tuple[int, ...], Optional[Tuple[int, ...]]]" = {}     # by whom an element is touched in `a`; None: by several
    for n, access in enumerate(sides):
        factor = access.unit // unit
        values = [access.offset.times(factor), *keys[n:n + 1], *same, *map(terms.of, who)]
        for first, *others in terms.each_of(of_side[n], access.path, values):
            key, by = tuple(others[:-len(who)]), tuple(others[-len(who):])
            for at in range(first, first + access.width * factor):
                if n:
                    if touched.get((at, *key), by) != by:
                        return False
                elif touched.setdefault((at, *key), by) != by:
                    if b is a:
                        return False
                    touched[(at, *key)] = None
    return True


# ---- offsets as mixed-radix numbers ----


def apart_by_strides(a: Access, b: Access, who: "AbstractSet[Atom]", shared: "AbstractSet[Atom]") -> bool:
    """Return true if two accesses touch no common element, except with equal values of all variables in `who`. If `who`
    is empty, they touch no common element. Interval arithmetic decides it, without the conditions of the accesses.

    The difference of the offsets is a sum of strides times differences of variables, quotients and remainders. If a
    stride is larger than the rest of the sum can balance, the difference beside it is 0. Then the rest is smaller.

    shared: variables that have the same value in both accesses.
    """
    unit = gcd(a.unit, b.unit)
    factors = a.unit // unit, b.unit // unit
    x, y = (_in_bits(of.offset.times(factor)) for of, factor in zip((a, b), factors))
    of_x, of_y = dict(x.parts), dict(y.parts)
    lo = hi = x.constant - y.constant    # of the difference, without the parts in `strides`
    strides: "Dict[Atom, int]" = {}
    for atom in {**of_x, **of_y}:
        f, g = of_x.get(atom, 0), of_y.get(atom, 0)
        if atom.free <= shared:
            f, g = f - g, 0
        elif f == g:
            strides[atom] = abs(f)
            continue
        for factor in (f, -g):
            ends = factor * atom.lo, factor * atom.hi
            lo, hi = lo + min(ends), hi + max(ends)
    equal = set(shared)
    below, above = -a.width * factors[0], b.width * factors[1]    # the accesses overlap if below < x - y < above
    while True:
        spread = sum(f * (atom.hi - atom.lo) for atom, f in strides.items())
        if lo - spread >= above or hi + spread <= below:
            return True
        for atom, f in strides.items():
            rest = spread - f * (atom.hi - atom.lo)
            if f + lo - rest >= above and hi + rest - f <= below:
                break
        else:
            return bool(who) and all(_is_same(terms.of(atom), 1, equal) for atom in who)
        equal.add(atom)
        del strides[atom]


@lru_cache(4096)    # the offset of an access is compared with those of many others
def _in_bits(term: Term) -> Term:
    """Return an equal term in mixed-radix digits, as `_in_digits` does. But if all parts that depend on only one variable
    are together a sum of multiples of the variable's bits, this sum replaces them. The sum is compared for all values.
    """
    sums = terms.ZERO
    for atom in terms.all_free([term]):
        own = Term(tuple((of, f) for of, f in term.parts if of.free == {atom}), 0)
        if atom.lo or atom.hi & (atom.hi + 1) or atom.hi >= FEW_VALUES or all(of is atom for of, _ in own.parts):
            continue
        values = [terms.evaluate(own, {atom: value}) for value in range(atom.hi + 1)]
        places = [1 << n for n in range(atom.hi.bit_length())]
        if all(of == values[0] + sum(values[place] - values[0] for place in places if value & place)
               for value, of in enumerate(values)):
            term = term - own + terms.number(values[0])
            for place in places:
                sums = sums + terms.modulo(terms.quotient(terms.of(atom), place), 2).times(values[place] - values[0])
    return _in_digits(term) + sums


def _is_same(term: Term, by: int, equal: "AbstractSet[Atom]") -> bool:
    """Return true if term / by, rounded down, is determined by the atoms in `equal`. x / 4 is determined by itself, or
    by x / 4 mod 8 and x / 32.
    """
    whole = terms.quotient(term, by)
    return all(atom in equal or atom.free <= equal for atom, _ in whole.parts) or any(
        atom.kind == "mod" and atom.of[0] == whole and isinstance(atom.of[1], int)
        and _is_same(term, by * atom.of[1], equal) for atom in equal)


def peeled(a: Access, b: Access, who: "Set[Atom]", shared: "frozenset[Atom]", solvers: Solvers) -> bool:
    """Return true if this is proved: if two accesses touch a common element, then each variable in `who` has the same
    value in both accesses. If `who` is empty, the proof is that they touch no common element.

    An offset x is split like a mixed-radix number: x = n F + G, where n is a stride in the offset, and F and G are
    terms. If 0 <= G < n, then x determines F and G. The solver is asked whether 0 <= G < n. F and G are split further.
    In the end, the solver is asked whether all parts can be equal for both accesses although a variable in `who`
    differs.
    """
    unit = gcd(a.unit, b.unit)
    factors = a.unit // unit, b.unit // unit
    x, y = (_in_digits(of.offset.times(factor)) for of, factor in zip((a, b), factors))
    step = gcd(a.width * factors[0], b.width * factors[1])
    for term in (x, y):
        step = gcd(step, term.constant, *(f for _, f in term.parts))
    if x.parts != y.parts or a.width * factors[0] != step or b.width * factors[1] != step:
        return False
    x, y = (Term(tuple((at, f // step) for at, f in term.parts), term.constant // step) for term in (x, y))
    waiting: "List[Tuple[Term, int, int]]" = [(Term(x.parts, 0), x.constant, y.constant)]
    done: "List[Tuple[Term, int, int]]" = []
    equal: "Set[Atom]" = set(shared)
    while waiting:
        form, one, two = waiting.pop()
        form = Term(tuple((atom, f) for atom, f in form.parts if atom not in equal and not atom.free <= equal), 0)
        parts = _peel(form, one, two, a, b, solvers) if len(form.parts) > 1 or one or two else None
        if parts is not None:
            waiting += parts
            continue
        done.append((form, one, two))
        if len(form.parts) == 1 and one == two:
            equal.add(form.parts[0][0])
            waiting += [of for of in done if len(of[0].parts) > 1]
            done = [of for of in done if len(of[0].parts) <= 1]
    if len(done) == 1 and done[0][0].parts == x.parts:
        return False
    printer = Printer()
    lines = [f"(= (+ {printer.term(form, '@1', shared)} {terms._int(one)}) (+ {printer.term(form, '@2', shared)} {terms._int(two)}))"
             for form, one, two in done]
    for access, copy in ((a, "@1"), (b, "@2")):
        lines += [printer.condition(c, copy, shared) for c in access.path]
        for atom in terms.all_free([access.offset]):
            printer.atom(atom, copy, shared)
    lines += [_different(printer, who)] if who else []
    return solvers.ask(printer.lines + [f"(assert {line})" for line in lines],
                       f"two steps have the same digits of an element of {a.memory.name}").kind == "proved"


def _peel(form: Term, one: int, two: int, a: Access, b: Access, solvers: Solvers) -> "Optional[List[Tuple[Term, int, int]]]":
    """Access `a` has the offset `form` + `one`, and access `b` has the offset `form` + `two`. Write both offsets as
    n * F + G with 0 <= G < n. Return (term, constant in `a`, constant in `b`) for F and for G. If G is the same
    constant in both accesses, return only F. Return None if there is no such n.
    """
    for n in sorted({abs(f) for _, f in form.parts if abs(f) > 1}, reverse=True):
        high = Term(tuple((atom, (2 * f + n) // (2 * n)) for atom, f in form.parts if (2 * f + n) // (2 * n)), 0)
        low = form - high.times(n)
        if not high.parts or not (low.parts or one or two):
            continue
        carries = one // n, two // n    # of each constant c, c // n belongs to F, and c % n to G
        rests = one % n, two % n
        if all(_within(low + terms.number(rest), n, access, solvers) for rest, access in zip(rests, (a, b))):
            if low.parts or rests[0] != rests[1]:
                return [(high, *carries), (low, *rests)]
            return [(high, *carries)]
    return None


def _within(term: Term, n: int, access: Access, solvers: Solvers) -> bool:
    """Return true if 0 <= term < n is proved under the conditions of an access."""
    lo, hi = terms.bounds(term)
    if 0 <= lo and hi < n:
        return True
    if not terms.all_free([term]):
        return False
    path = _relevant(access.path, terms.all_free([term]))
    if any(not 0 <= terms.evaluate(term, at) < n and all(terms.holds(c, at) for c in path) for at in _corners(term)):
        return False    # without a query: a solver takes longer to find such a point
    printer = Printer()
    text = printer.term(term)
    lines = [f"(or (< {text} 0) (<= {n} {text}))", *(printer.condition(c) for c in path)]
    return solvers.ask(printer.lines + [f"(assert {line})" for line in lines], f"a digit is not below {n}", True).kind == "proved"


def _corners(term: Term) -> "Iterator[Dict[Atom, int]]":
    """Yield some values of a term's variables: all are minimal or all maximal, except at most one."""
    atoms = sorted(terms.all_free([term]), key=lambda atom: atom.number)
    least, most = {atom: atom.lo for atom in atoms}, {atom: atom.hi for atom in atoms}
    for at, other in ((least, most), (most, least)):
        yield at
        for atom in atoms:
            yield {**at, atom: other[atom]}


def _in_digits(term: Term) -> Term:
    """Return an equal term, rewritten by two rules. First, x mod n becomes x - x / n * n. Second, a variable or a sum
    is split into mixed-radix digits if the term also divides it: if x / 4 occurs, x becomes x / 4 * 4 + x mod 4.
    """
    term = _without_remainders(term)
    for atom, _ in term.parts:
        if atom.kind != "div":
            continue
        inner, divisor = atom.of
        assert isinstance(inner, Term) and isinstance(divisor, int)
        if len(inner.parts) < 2:
            continue
        own, factors = _without_remainders(inner), dict(term.parts)
        for times in sorted({factors.get(each, 0) // f for each, f in own.parts} - {0}, key=abs):
            rest = term - own.times(times)
            if len(rest.parts) < len(term.parts) - 1:
                term = rest + (terms.of(atom).times(divisor) + terms.modulo(inner, divisor)).times(times)
                break
    by_variable: "Dict[Atom, Set[int]]" = {}
    waiting, seen = [atom for atom, _ in term.parts], set()     # type: List[Atom], Set[Atom]
    while waiting:
        atom = waiting.pop()
        if atom in seen:
            continue
        seen.add(atom)
        for of in atom.of:
            if isinstance(of, Term):
                waiting += [inner for inner, _ in of.parts]
        if atom.kind == "div" and isinstance(atom.of[0], Term) and isinstance(atom.of[1], int):
            own = atom.of[0]
            if len(own.parts) == 1 and own.parts[0][1] == 1 and own.constant == 0 and own.parts[0][0].kind == "var":
                by_variable.setdefault(own.parts[0][0], set()).add(atom.of[1])
    for variable, divisors in by_variable.items():
        by = sorted(divisors)
        if any(q % p for p, q in zip(by, by[1:])) or variable.lo < 0:
            continue
        whole = terms.of(variable)
        levels = [whole, *(terms.quotient(whole, p) for p in by)]
        sums = levels[-1:]    # for each quotient in `levels`, the sum of its digits
        for level, step in zip(reversed(levels[:-1]), reversed([q // p for p, q in zip([1, *by], by)])):
            sums.insert(0, sums[0].times(step) + terms.modulo(level, step))
        for level, total in zip(levels, sums):
            factor = next((f for atom, f in term.parts if terms.of(atom) == level), 0)
            if factor and total != level:
                term = term - level.times(factor) + total.times(factor)
    return term


def _without_remainders(term: Term) -> Term:
    """Return an equal term in which x - x / n * n replaces x mod n."""
    while True:
        found = next(((atom, f) for atom, f in term.parts if atom.kind == "mod"), None)
        if found is None:
            return term
        atom, f = found
        inner, by = atom.of
        assert isinstance(inner, Term) and isinstance(by, int)
        whole = terms.quotient(inner, by)
        if len(inner.parts) == 1 and not inner.constant and inner.parts[0][1] == 1 and inner.parts[0][0].kind == "div":
            x, divisor = inner.parts[0][0].of
            assert isinstance(x, Term) and isinstance(divisor, int)
            whole = terms.quotient(x, divisor * by)    # this equals x / divisor / by
        term = term - Term(((atom, f),), 0) + (inner - whole.times(by)).times(f)


def _different(printer: Printer, atoms: "Set[Atom]") -> str:
    parts = []
    for atom in atoms:
        one, two = printer.atom(atom, "@1", frozenset()), printer.atom(atom, "@2", frozenset())
        parts.append(f"(not (= {one} {two}))")
    return parts[0] if len(parts) == 1 else f"(or {' '.join(parts)})"


# ---- all is written ----


def all_written(accesses: "Sequence[Access]", bytes_of: int, solvers: Solvers) -> "Tuple[str, str]":
    """Return ("", "") if each byte of a buffer is proved to be written. Otherwise return refuted or unknown, with the
    reason.

    A write counts only if its place does not depend on values from memory. There are three proofs. First: no two writes
    overlap, and the sum of their bytes is the size of the buffer. Second: for each element, the write that reaches it
    is computed, and the solver checks it. Third: all written places are enumerated, if they are few.
    """
    every = [a for a in map(_certain, _distinct(accesses)) if a.write and not a.atomic]
    writes = [replace(a, path=tuple(_decided(c) for c in a.path)) for a in every]
    writes = [a for a in writes if a.known and all(c.kind != "false" for c in a.path)]
    switches = sorted({atom for a in writes for atom in terms.all_free(a.path) if "!" not in atom.name}, key=lambda a: a.number)
    for values in itertools.product((0, 1), repeat=len(switches)):
        given = dict(zip(switches, values))
        chosen = []
        for access in writes:
            path = []
            for c in access.path:
                if c.free and c.free <= set(switches):
                    if not terms.holds(c, given):
                        break
                else:
                    path.append(c)
            else:
                chosen.append(Access(access.memory, access.offset, access.width, access.unit, True, False, tuple(path),
                                     terms.ZERO, access.at))
        lacks, why = _covered(_distinct(chosen), bytes_of, solvers)
        if why:
            open_ones = any(a.write and not _certain(a).known for a in accesses)
            if lacks and open_ones and not any(a.write and a.atomic for a in accesses):
                left_out = _left_out(every, bytes_of)
                return ("refuted", left_out) if left_out else ("unknown", why)
            return "refuted" if lacks and not open_ones else "unknown", why
    return "", ""


def _certain(access: Access) -> Access:
    """Return an access without the conditions that are facts about unknown values. Facts always hold, so they do not
    decide whether the access happens.
    """
    return replace(access, path=tuple(c for c in access.path if not c.fact or all(atom.known for atom in c.free)))


def _decided(condition: Condition) -> Condition:
    """Return a condition that implies the given one, and that depends only on ids and steps of loops."""
    if all(atom.known for atom in condition.free):
        return condition
    if condition.kind == "and":
        return terms.both(*(_decided(part) for part in condition.of))   # type: ignore[arg-type]
    if condition.kind == "not" and condition.of[0].kind == "and":       # type: ignore[attr-defined]
        parts = condition.of[0].of  # type: ignore[attr-defined]
        return terms.either(*(_decided(terms.negated(part)) for part in parts))
    return terms.FALSE


def _left_out(writes: "Sequence[Access]", bytes_of: int) -> str:
    """Return the reason why an element stays unwritten for some content of the parameters, or "" if none is found.

    Writes may depend on integers in the parameters. A few values are tried, each for all these integers at once. But
    HLO may say that the integers at different places differ. So if there are several places, a value counts only if no
    write that depends on them happens.
    """
    read = {atom for access in writes for atom in terms.all_free([access.offset, *access.path]) if not atom.known}
    if any(atom.place is None for atom in read):
        return ""
    places = {atom.place for atom in read}
    is_one = len(places) == 1 and all(offset.is_constant for _, offset in places)       # type: ignore[misc]
    for value in (-1, 0, 1 << 30):
        if any(not atom.lo <= value <= atom.hi for atom in read):
            continue
        fixed: "List[Access]" = []
        for access in writes:
            offset, path = access.offset, list(access.path)
            for atom in read:
                offset = terms.substituted(offset, atom, terms.number(value))
                path = [terms.substituted(c, atom, terms.number(value)) for c in path]
            atoms = terms.all_free([offset, *path])
            if access.known or is_one:
                fixed.append(replace(access, offset=offset, path=tuple(path)))
            elif prod(atom.hi - atom.lo + 1 for atom in atoms) > MOST_POINTS \
                    or any(True for _ in terms.each(atoms, path, None)):
                break
        else:
            lacks, why = _enumerated(fixed, bytes_of)
            if lacks:
                return f"{why} if the parameter's value is {value}"
    return ""


def _covered(writes: "Sequence[Access]", bytes_of: int, solvers: Solvers) -> "Tuple[bool, str]":
    """Return two values. The first is true if some element is certainly not written. The second is "" if every element
    is proved to be written, else the reason why not.
    """
    if not writes:
        return False, "nothing is written for certain"
    exact = False
    counts = [_count(a.path, terms.all_free([a.offset])) for a in writes]
    if all(count is not None for count in counts):
        total = sum((count or 0) * a.width * a.unit for count, a in zip(counts, writes))
        if total < bytes_of:
            return True, f"{total} of {bytes_of} bytes are written at most"
        if _points(writes) <= FEW_PLACES:
            lacks, why = _enumerated(writes, bytes_of)
            if lacks or not why:
                return lacks, why
        exact = total == bytes_of
        if exact and _apart(writes, solvers, quick=True):
            return False, ""
    if _covers(writes, bytes_of, solvers, quick=True):
        return False, ""
    lacks, why = _enumerated(writes, bytes_of)    # enumerate first, because the next queries may take longer
    if why and not lacks and (_covers(writes, bytes_of, solvers) or exact and _apart(writes, solvers)):
        return False, ""
    return lacks, why


def _apart(writes: "Sequence[Access]", solvers: Solvers, quick: bool = False) -> bool:
    """Return true if no element is written twice, neither by two writes nor by two steps of one write. quick: return
    false if this is not proved in a short time.
    """
    for n, a in enumerate(writes):
        for b in writes[n:]:
            printer, free = Printer(), set()    # type: Printer, Set[Atom]
            lines = [overlap(printer, a, b, frozenset())]
            if a is b:
                free = terms.all_free([a.offset, *a.path])
                if not free:
                    continue
                lines.append(_different(printer, free))
            lines += [printer.condition(c, "@1") for c in a.path] + [printer.condition(c, "@2") for c in b.path]
            if solvers.folder is None and apart_by_strides(a, b, free, frozenset()):
                continue
            asserted, about = [f"(assert {line})" for line in lines], f"an element of {a.memory.name} is written twice"
            answer = solvers.ask(printer.lines + asserted, about, True)
            if answer.kind == "unknown" and not peeled(a, b, free, frozenset(), solvers) and not (a is b and _determined(a, free, solvers)):
                if quick or solvers.ask(printer.lines + asserted, about).kind != "proved":
                    return False
            elif answer.kind == "refuted":
                return False
    return True


def _covers(writes: "Sequence[Access]", bytes_of: int, solvers: Solvers, quick: bool = False) -> bool:
    """Return true if each element is proved to be written by some step of some write. A guess of this step is computed
    from the element: the element's offset is divided by the strides of the ids and steps, in descending order. The
    solver checks that the guessed step exists and writes the element. So a wrong guess proves nothing. quick: return
    false if this is not proved in a short time.
    """
    unit = gcd(*(a.unit for a in writes))
    printer, misses = Printer(), []
    printer.lines.append("(declare-const element Int)")
    for number, access in enumerate(writes):
        text = _step_of(printer, access, access.unit // unit, f"{number}")
        if text:
            misses.append(f"(not {text})")
    if not misses or bytes_of % unit:
        return False
    lines = ["(<= 0 element)", f"(< element {bytes_of // unit})", *misses]
    name = writes[0].memory.name
    return solvers.ask(printer.lines + [f"(assert {line})" for line in lines],
                       f"an element of {name} is left out", quick).kind == "proved"


def reached(read: Access, writes: "Sequence[Tuple[Access, AbstractSet[Atom]]]", solvers: Solvers) -> bool:
    """Return true if each element of a read is proved to be written by some step of some write. The step that writes an
    element is computed from the element, as in `_covers`. Each write comes with the variables that have the same values
    in the read and in the write.
    """
    unit = gcd(read.unit, *(write.unit for write, _ in writes))
    printer, misses = Printer(), []
    printer.lines.append("(declare-const element Int)")
    for number, (write, same) in enumerate(writes):
        text = _step_of(printer, write, write.unit // unit, f"{number}", same)
        if text:
            misses.append(f"(not {text})")
    factor = read.unit // unit
    offset = printer.term(read.offset.times(factor))
    lines = [f"(<= {offset} element)", f"(< element (+ {offset} {read.width * factor}))", *misses,
             *(printer.condition(c) for c in read.path)]
    about = f"an element of {read.memory.name} is read before it is written"
    return bool(misses) and solvers.ask(printer.lines + [f"(assert {line})" for line in lines], about).kind == "proved"


def _step_of(printer: Printer, access: Access, factor: int, name: str, fixed: "AbstractSet[Atom]" = frozenset()) -> str:
    """Compute from `element` the step of an access that may reach it. Return the condition that this step exists and
    reaches the element; "" if no step can be computed. The variables in `fixed` have given values.
    """
    found = _inverse(printer, access, factor, name, fixed)
    if found is None:
        return ""
    rest, sums, path = found
    within = [f"(<= {printer.term(total)} {atom.hi})" for atom, total in sums]
    conditions = [printer.condition(c) for c in path]
    return f"(and (<= 0 {rest}) (< {rest} {access.width * factor}) {' '.join([*within, *conditions])})"


def _determined(access: Access, atoms: "Set[Atom]", solvers: Solvers) -> bool:
    """Return true if it is proved that the element that an access touches determines the values of the variables
    `atoms`: different values touch different elements.
    """
    printer = Printer()
    printer.lines.append("(declare-const element Int)")
    found = _inverse(printer, access, 1, "")
    if found is None:
        return False
    totals = dict(found[1])
    if not atoms <= totals.keys():
        return False
    offset = printer.term(access.offset, "@1")
    differ = [f"(not (= {printer.atom(atom, '@1', frozenset())} {printer.term(totals[atom])}))" for atom in atoms]
    lines = [f"(<= {offset} element)", f"(< element (+ {offset} {access.width}))", f"(or {' '.join(differ)} false)",
             *(printer.condition(c, "@1") for c in access.path)]
    return solvers.ask(printer.lines + [f"(assert {line})" for line in lines],
                       f"an element of {access.memory.name} does not tell the step that touches it").kind == "proved"


def _inverse(
    printer: Printer, access: Access, factor: int, name: str, fixed: "AbstractSet[Atom]" = frozenset()
) -> "Optional[Tuple[str, List[Tuple[Atom, Term]], List[Condition]]]":
    """Add definitions to the query that compute the variables of an access from `element`. The variables in `fixed` are
    not computed. Return three results: `element` minus the offset of the access for these values; the variables with
    their values; and the conditions of the access for these values. Return None if the variables cannot be computed.
    """
    parts: "List[object]" = [access.offset, *access.path]
    digits: "Dict[Atom, int]" = {}
    sums: "List[Tuple[Atom, Term]]" = []
    for atom in sorted(terms.all_free(parts) - fixed, key=lambda a: a.number):
        by, total = [1, *_divisors(parts, atom)], terms.ZERO
        if any(b % a for a, b in zip(by, by[1:])):
            return None
        for at, divisor in enumerate(by):
            most = atom.hi // divisor if at + 1 == len(by) else by[at + 1] // divisor - 1
            digit = terms.variable(f"digit{name}", 0, most, True)
            digits[digit.parts[0][0]] = 0
            total = total + digit.times(divisor)
        sums.append((atom, total))
    offset, path = access.offset, list(access.path)
    for atom, total in sums:
        offset = terms.substituted(offset, atom, total)
        path = [terms.substituted(c, atom, total) for c in path]
    given = Term(tuple((atom, f) for atom, f in offset.parts if atom.free <= fixed), 0)
    offset = offset - given
    if any(atom not in digits for atom, _ in offset.parts):
        return None
    strides = {atom: f * factor for atom, f in offset.parts}
    least = offset.constant * factor + sum(f * a.hi for a, f in strides.items() if f < 0)
    rest = f"(- element {terms._int(least)}{' ' + printer.term(given.times(factor)) if given.parts else ''})"
    for atom in sorted(digits, key=lambda a: -abs(strides.get(a, 0))):
        stride, own = strides.get(atom, 0), f"|{atom.name}|"
        printer.names[atom, ""] = own
        if not stride:
            printer.lines.append(f"(define-fun {own} () Int 0)")
            continue
        fit = f"(div {rest} {abs(stride)})"
        fit = f"(ite (< {fit} 0) 0 (ite (< {fit} {atom.hi}) {fit} {atom.hi}))"
        taken = f"{own[:-1]}.t|"
        printer.lines.append(f"(define-fun {taken} () Int {fit})")
        printer.lines.append(f"(define-fun {own} () Int {taken if stride > 0 else f'(- {atom.hi} {taken})'})")
        printer.lines.append(f"(define-fun {own[:-1]}.r| () Int (- {rest} (* {abs(stride)} {taken})))")
        rest = f"{own[:-1]}.r|"
    return rest, sums, path


def _divisors(parts: "Sequence[object]", atom: Atom) -> "List[int]":
    """Return the numbers by which divisions and remainders divide a variable, in ascending order. For example,
    (4 * i + j) / 32 divides i by 8. The list leaves out 1 and numbers above the variable's maximum.
    """
    found: "Set[int]" = set()
    waiting, seen = list(parts), set()      # type: List[object], Set[int]
    while waiting:
        part = waiting.pop()
        if id(part) in seen or not isinstance(part, (Term, Condition, Atom)) or atom not in part.free:
            continue
        seen.add(id(part))
        if isinstance(part, Term):
            waiting += [of for of, _ in part.parts]
        else:
            waiting += part.of
        if isinstance(part, Atom) and part.kind in ("div", "mod"):
            inner, by = part.of
            assert isinstance(inner, Term) and isinstance(by, int)
            stride = dict(inner.parts).get(atom, 0)
            if stride and by % abs(stride) == 0 and by // abs(stride) <= atom.hi:
                found.add(by // abs(stride))
    return sorted(found - {1})


def _count(path: "Sequence[Condition]", free: "Set[Atom]") -> "Optional[int]":
    """Return the number of values of the variables for which all conditions hold. Return None if there are too many to
    count.
    """
    atoms = set(free) | terms.all_free(path)
    total = 1
    # replace variables by their digits: a condition on one digit then connects fewer variables, so groups are smaller
    for atom in sorted(atoms, key=lambda a: a.number):
        by = [1, *_divisors(path, atom)]
        if len(by) > 1 and not atom.lo and not any(q % p for p, q in zip(by, [*by[1:], atom.hi + 1])):
            digits = [terms.variable("digit", 0, q // p - 1, True) for p, q in zip(by, [*by[1:], atom.hi + 1])]
            whole = terms.ZERO
            for digit, p in zip(digits, by):
                whole = whole + digit.times(p)
            path = [terms.substituted(c, atom, whole) for c in path]
            atoms = atoms - {atom} | terms.all_free(digits)
    while atoms:
        group = {next(iter(atoms))}
        conditions = _relevant(path, group)
        group |= terms.all_free(conditions)
        points = 1
        for atom in group:
            points *= atom.hi - atom.lo + 1
        if conditions:
            interval = _interval(group, conditions)
            if interval is not None:
                total *= interval
                atoms -= group
                continue
            if points > MOST_POINTS:
                return None
            points = sum(1 for _ in terms.each(group, conditions, None))
        total *= points
        atoms -= group
    return total


def _interval(group: "Set[Atom]", conditions: "Sequence[Condition]") -> "Optional[int]":
    """Return the number of values of the variables for which the conditions hold. The variables must be the digits of
    one number x, and each condition must bound a quotient of x: x / n <= c or x / n >= c, rounded down. Return None
    otherwise.
    """
    longest = max((c.of[0] for c in conditions if c.kind == "le"), key=lambda t: len(t.parts), default=None)   # type: ignore[attr-defined]
    if not isinstance(longest, Term) or {atom for atom, _ in longest.parts} != group:
        return None
    lo, hi, place, digits = 0, 1, 1, []     # type: int, int, int, List[Tuple[Atom, int]]
    for atom, factor in sorted(longest.parts, key=lambda p: abs(p[1])):
        if atom.kind != "var" or atom.lo or abs(factor) != place * abs(min(longest.parts, key=lambda p: abs(p[1]))[1]):
            return None
        digits.append((atom, place))
        place *= atom.hi + 1
    hi = place - 1
    for c in conditions:
        if c.kind != "le":
            return None
        term = c.of[0]
        assert isinstance(term, Term)
        inner = dict(term.parts)
        lowest = next((n for n, (atom, _) in enumerate(digits) if atom in inner), None)
        if lowest is None or len(inner) != len(digits) - lowest:
            return None
        scale, unit = inner.get(digits[lowest][0], 0), digits[lowest][1]
        if any(inner.get(atom) != scale * (at // unit) for atom, at in digits[lowest:]):
            return None
        if scale > 0:    # the condition is scale * (x / unit) <= -constant
            hi = min(hi, (-term.constant // scale) * unit + unit - 1)
        else:    # the condition is x / unit >= constant / -scale
            lo = max(lo, -(-term.constant // -scale) * unit)
    return max(0, hi - lo + 1)


def _points(writes: "Sequence[Access]") -> int:
    """Return the number of steps of all writes together, without regard to their conditions."""
    points = 0
    for access in writes:
        size = 1
        for atom in terms.all_free([access.offset, *access.path]):
            size *= atom.hi - atom.lo + 1
        points += size
    return points


def _enumerated(writes: "Sequence[Access]", bytes_of: int) -> "Tuple[bool, str]":
    """Enumerate all places that are written. Return two values, as `_covered` does: true if some element is certainly
    not written; and "" if all elements are written, else the reason why this is not proved.
    """
    unit = gcd(*(a.unit for a in writes), bytes_of)
    written = bytearray(bytes_of // unit) if bytes_of // unit <= 64 * MOST_POINTS else None
    points = _points(writes)
    if written is None or points > MOST_PLACES:
        return False, f"no query decides it, and {points} places in {bytes_of} bytes are too many to enumerate"
    for access in writes:
        offset, path = access.offset.times(access.unit // unit), access.path
        run, free = access.width * (access.unit // unit), terms.all_free([access.offset, *access.path])
        # Write the steps of two variables at once: those of `inner` follow each other without a gap, or overlap;
        # `outer` has a larger stride.
        alone = [(atom, f) for atom, f in offset.parts if atom.kind == "var" and f > 0
                 and all(atom not in other.free for other, _ in offset.parts if other is not atom)
                 and all(atom not in c.free for c in path)]
        inner = max((of for of in alone if of[1] <= run), key=lambda of: of[0].hi - of[0].lo, default=None)
        if inner is not None:
            alone.remove(inner)
            free, run = free - {inner[0]}, run + inner[1] * (inner[0].hi - inner[0].lo)
            offset = terms.substituted(offset, inner[0], terms.number(inner[0].lo))
        outer = max(alone, key=lambda of: of[0].hi - of[0].lo, default=None)
        stride, times = 1, 1
        if outer is not None:
            stride, times = outer[1], outer[0].hi - outer[0].lo + 1
            free, offset = free - {outer[0]}, terms.substituted(offset, outer[0], terms.number(outer[0].lo))
        ones = b"\1" * max(run, times)
        by_place = run < times    # write the first elements of all runs, then the second ones, ..
        for at in terms.each(free, path, offset):
            if at < 0 or at + run + stride * (times - 1) > len(written):    # places outside do not count
                for first in range(at, at + stride * times, stride):
                    lo, hi = max(first, 0), min(first + run, len(written))
                    if lo < hi:
                        written[lo:hi] = ones[:hi - lo]
            elif by_place:
                for first in range(at, at + run):
                    written[first:first + stride * (times - 1) + 1:stride] = ones[:times]
            else:
                for first in range(at, at + stride * times, stride):
                    written[first:first + run] = ones[:run]
    missing = written.find(b"\0")
    return (True, f"element {missing} of {bytes_of // unit} is not written") if missing >= 0 else (False, "")
