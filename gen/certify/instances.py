"""Evaluate stored values for single work-items and steps, and compare them with HLO's values.

A value of following.py depends on ids, on steps of loops, and on reads of arrays that kernels write. Evaluation
replaces each such read by the value that the last store before it wrote. Only the ids and steps that determine this
store get numbers. The other ids, mostly the number of the work-group, stay variables. The result is an expression over
elements of parameters.

The operands of a sum or product are compared as a multiset, so that each element of the reduced range must occur
exactly once. Everything else is compared as a set of elements.

The addresses of elements may still contain variables. Addresses of the text and of HLO are paired if they are equal at
a few steps. Then a solver proves that the addresses of each pair are equal at all steps.
"""

from __future__ import annotations

import itertools
import math
import random
import re
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Dict, Generator, Iterator, List, Optional, Sequence, Set, Tuple

from gen.certify import expressions, terms
from gen.certify.expressions import Expression
from gen.certify.following import Moment, Ordered
from gen.certify.passing import NotFollowed
from gen.certify.smt import Solvers
from gen.certify.terms import FALSE, TRUE, ZERO, Atom, Condition, Printer, Term, both, number
from gen.certify.values import Memory

MOST_PARTS = 600_000  # maximum number of parts of values that are evaluated for one launch
MOST_SECONDS = 12.0  # maximum processor time of the evaluation of one launch
MOST_STORED = 300_000  # maximum number of stores to one array that are enumerated
SAMPLES = 5  # number of steps at which the addresses of a pair must be equal

Env = Dict[Atom, Term]
Steps = Generator[Tuple[Expression, Env], Expression, Any]

# operations that only round, convert or move a number; and the functions mad_.. of a kernel, which add a product to a
# sum
_SAME_NUMBER = re.compile(r"(call )?(round|value|bits)_\w+|call mad_\w+|.* to .*|convert.*|reduce-precision|extend|bits")
_SUMS = {"+f": "add", "+i": "addi", "+": "addi", "add": "add", "reduce add": "add", "__fadd_rn": "add", "__dadd_rn": "add", "fma": "fma", "fmaf": "fma",
         "mad": "fma", "__fmaf_rn": "fma", "__fma_rn": "fma", "*f": "multiply", "*i": "multiplyi", "multiply": "multiply",
         "reduce multiply": "multiply", "^": "xor", "^i": "xor", "xor": "xor", "reduce xor": "xor"}
_LARGEST = re.compile(r"(call )?_*f?(max|min)(imum)?(_\w+|[fl])?|reduce (maximum|minimum|and|or|choice)"
                      r"|select|mask|truth|~|(<|>|<=|>=|==|!=)f")
ONCE = ("add", "multiply", "xor", "custom")  # reductions whose result depends on how often they read an element


class Needs(Exception):
    """Raised if the evaluation needs a number for a variable."""

    def __init__(self, atom: Atom) -> None:
        super().__init__(atom.name)
        self.atom = atom


@dataclass
class Followed:
    """A launch and its stores.

    stores: the stores, by array.
    groups, items: the variables that number the work-group and the work-item.
    declared: for each array, the steps of the loops around its declaration.
    templates: the variables of the kernel's template parameters.
    problem: the reason why the stores are not known, or "".
    """

    number: int
    stores: "Dict[Memory, List[Ordered]]" = field(default_factory=dict)
    groups: "Set[Atom]" = field(default_factory=set)
    items: "Set[Atom]" = field(default_factory=set)
    declared: "Dict[Memory, Tuple[Term, ...]]" = field(default_factory=dict)
    memories: "Set[Memory]" = field(default_factory=set)
    templates: "Set[Atom]" = field(default_factory=set)
    problem: str = ""


@dataclass(frozen=True)
class _Entry:
    """A store to one granule (see _Table) by one work-item at one step.

    env: the values of ids and steps.
    first: the byte of the stored value at which the granule begins.
    rest: those conditions of the store that are neither true nor false by `env` alone.
    group: 0 if the table has no `by`. A table with a `by` divides the array into parts of `stride` bytes. Then `group`
        is the number of the part that contains the granule, and the writer is work-group 0.
    """

    store: Ordered
    env: "Tuple[Tuple[Atom, int], ...]"
    first: int
    phase: int
    moment: "Tuple[int, ...]"
    item: int
    rest: "Tuple[Condition, ...]"
    group: int = 0


@dataclass
class _Table:
    """The stores to an array, by granule. A granule is a piece of `unit` bytes that each store writes either wholly or
    not at all.

    base: the part of the offsets that remains a sum of variables. It is the same for all stores.
    entries: the stores to each granule. Granules are numbered from the offset `base`.
    """

    unit: int
    base: Term
    entries: "Dict[int, List[_Entry]]"
    # None: the entries are the stores of all work-groups. Otherwise, they are the stores of work-group 0, and this is
    # the variable that numbers the work-groups: work-group g stores to the same places, moved by g * stride bytes.
    by: "Optional[Atom]" = None
    stride: int = 0


class Instances:
    """Evaluates the values of a program's launches."""

    def __init__(
        self,
        launches: "Sequence[Followed]",
        of_atom: "Dict[Atom, Expression]",
        ends: "Dict[Expression, Tuple[Expression, Expression]]",
        solvers: Solvers,
    ) -> None:
        self.launches, self.of_atom, self.ends, self.solvers = launches, of_atom, ends, solvers
        self.frees: "Dict[Expression, Tuple[Atom, ...]]" = {}
        self.memos: "Dict[Tuple[Condition, ...], Dict[object, Expression]]" = {}
        self.assumed: "Tuple[Condition, ...]" = ()
        self.decided: "Dict[object, Condition]" = {}
        self.atoms: "Dict[object, Term]" = {}
        self.sorted: "Dict[Atom, Tuple[Atom, ...]]" = {}
        self.tables: "Dict[object, _Table]" = {}
        self.integers: "Dict[Expression, Term]" = {}
        self.canonical: "Dict[Atom, Expression]" = {}
        self.opens: "Dict[Expression, Condition]" = {}
        self.pieces: "Dict[Tuple[Expression, int, int], Expression]" = {}
        self.opened: "Dict[Condition, Condition]" = {}
        self.parts, self.until = 0, time.thread_time() + MOST_SECONDS

    # ---- variables ----

    def _free(self, of: Expression) -> "Tuple[Atom, ...]":
        """Return the variables that may occur in the evaluation of a value."""
        waiting = [of]
        while waiting:
            each = waiting[-1]
            if each in self.frees:
                waiting.pop()
                continue
            if each.kind == "carried":
                self.frees[each] = self._reachable(each)
                continue
            kids = self._kids(each)
            missing = [kid for kid in kids if kid not in self.frees]
            if missing:
                waiting += missing
                continue
            found = set(self._direct(each))
            for kid in kids:
                found.update(self.frees[kid])
            if each.kind in ("fold", "loop"):
                found -= set(each.parts[1] if each.kind == "fold" else (each.parts[1],))
            self.frees[each] = tuple(sorted(found, key=lambda a: a.number))
        return self.frees[of]

    def _reachable(self, of: Expression) -> "Tuple[Atom, ...]":
        seen, waiting, found = {of}, [of], set()  # type: Set[Expression], List[Expression], Set[Atom]
        while waiting:
            each = waiting.pop()
            found.update(self._direct(each))
            for kid in [*self._kids(each), *self.ends.get(each, ())]:
                if kid not in seen:
                    seen.add(kid)
                    waiting.append(kid)
        return tuple(sorted(found, key=lambda a: a.number))

    def _direct(self, of: Expression) -> "Set[Atom]":
        kind, parts = of.kind, of.parts
        if kind == "read":
            found = set(parts[1].free)
            if isinstance(parts[2], Moment):
                found |= parts[2].free() | self.launches[parts[2].launch].templates
        elif kind in ("index", "if"):
            found = set(parts[0].free)
        elif kind == "carried":
            found = {parts[1]}
        elif kind == "loop":
            found = set(parts[3].free)
        elif kind == "shuffle":
            found = set(parts[2].free) | parts[6].free() | terms.all_free(parts[5]) \
                | self.launches[parts[6].launch].templates
        else:
            found = set()
        return found

    def _kids(self, of: Expression) -> "List[Expression]":
        kind, parts = of.kind, of.parts
        kids = [p for p in parts if isinstance(p, Expression)]
        if kind in ("read", "index", "if", "shuffle", "loop"):
            kids += [self.of_atom[a] for a in sorted(self._direct(of), key=lambda a: a.number) if a in self.of_atom]
        return kids

    def _sorted(self, atom: Atom) -> "Tuple[Atom, ...]":
        if atom not in self.sorted:
            self.sorted[atom] = tuple(sorted(atom.free, key=lambda a: a.number))
        return self.sorted[atom]

    # ---- terms with values ----

    def term(self, of: Term, env: Env) -> Term:
        made, constant = None, of.constant
        for atom, factor in of.parts:
            value = env.get(atom) if atom.kind == "var" else self._atom(atom, env)
            if value is None:
                value = terms.of(atom)
            if not value.parts:
                constant += factor * value.constant
            else:
                made = value.times(factor) if made is None else made + value.times(factor)
        return number(constant) if made is None else Term(made.parts, made.constant + constant)

    def _atom(self, atom: Atom, env: Env) -> Term:
        key = atom, tuple(env.get(a) for a in self._sorted(atom))
        found = self.atoms.get(key)
        if found is None:
            inner: "List[Any]" = [
                self.term(of, env) if isinstance(of, Term)
                else self.condition(of, env) if isinstance(of, Condition) else of
                for of in atom.of
            ]
            if atom.kind in ("and", "or", "xor", "quo") and all(not isinstance(i, Term) or i.is_constant for i in inner):
                a, b = inner[0].constant, inner[1].constant
                found = number({"and": a & b, "or": a | b, "xor": a ^ b}[atom.kind] if atom.kind != "quo"
                               else a // b if b > 0 else 0)
            else:
                make: "Any" = {"div": terms.quotient, "mod": terms.modulo, "mul": terms.product, "quo": terms.quotient_of,
                               "ite": terms.chosen}.get(atom.kind)
                found = make(*inner) if make else terms.bits(atom.kind, *inner)
            self.atoms[key] = found
        return found

    def condition(self, of: Condition, env: Env) -> Condition:
        if of.kind in ("true", "false"):
            return of
        if of.kind == "open":
            return self.opened.get(of, of)
        if of.kind in ("le", "eq"):
            (inner,) = of.of
            assert isinstance(inner, Term)
            return (terms.at_most if of.kind == "le" else terms.equal)(self.term(inner, env), ZERO)
        if of.kind == "not":
            return terms.negated(self.condition(of.of[0], env))  # type: ignore[arg-type]
        found = []
        for part in of.of:
            one = self.condition(part, env)  # type: ignore[arg-type]
            if one.kind == ("false" if of.kind == "and" else "true"):
                return one
            found.append(one)
        return both(*found) if of.kind == "and" else terms.either(*found)

    def _with_integers(self, part: "Any", env: Env) -> "Steps":
        """Evaluate a term or a condition. The integers from memory in it are evaluated, too."""
        unknown = [a for a in part.free if not a.known and a in self.of_atom and a not in env]
        if unknown:
            env, self.opened = dict(env), {}
            opened: "Dict[Condition, Condition]" = {}
            for atom in sorted(unknown, key=lambda a: a.number):
                value = yield self.of_atom[atom], env
                if atom.name.startswith(("float!", "peek!", "open!")):
                    opened[Condition("open", atom)] = self._truth(value)
                else:
                    made = self._integer(value, atom)
                    if made is not None:
                        env[atom] = made
            self.opened = opened
            made_of = self.term(part, env) if isinstance(part, Term) else self.condition(part, env)
            self.opened = {}
            return made_of
        return self.term(part, env) if isinstance(part, Term) else self.condition(part, env)

    def _all_hold(self, conditions: "Sequence[Condition]", env: Env, first: Condition) -> "Steps":
        """Return the condition that `first` and all `conditions` hold. If it depends only on ids and steps, return TRUE
        or FALSE, or raise Needs (see `decide`).
        """
        for condition in conditions:
            first = both(first, (yield from self._with_integers(condition, env)))
        return self.decide(first)

    def _truth(self, value: Expression) -> Condition:
        if value.kind == "index" and value.parts[0].is_constant:
            return TRUE if value.parts[0].constant else FALSE
        if value not in self.opens:
            made = self.opens[value] = terms.open_condition("open")
            (atom,) = made.free
            self.canonical[atom] = value
        return self.opens[value]

    def _integer(self, value: Expression, atom: Atom) -> "Optional[Term]":
        if value.kind == "index":
            term = value.parts[0]
            if term.is_constant and term.constant > atom.hi and atom.lo < 0:
                term = number(term.constant - (1 << 8 * value.size))
            lo, hi = terms.bounds(term)
            if atom.lo <= lo and hi <= atom.hi:
                return term
        if value not in self.integers:
            made = self.integers[value] = terms.variable("integer", atom.lo, atom.hi, False)
            self.canonical[made.parts[0][0]] = value
        return self.integers[value]

    def decide(self, of: Condition) -> Condition:
        """Return TRUE or FALSE if the assumptions decide a condition on ids and steps. Otherwise raise Needs for one
        of its variables. A condition on values from memory is returned as it is.
        """
        if of.kind in ("true", "false") or not all(a.known for a in of.free):
            return of
        key = of, self.assumed
        if key not in self.decided:
            self.decided[key] = of
            if of in self.assumed:
                self.decided[key] = TRUE
            elif terms.negated(of) in self.assumed:
                self.decided[key] = FALSE
            else:
                for side, answer in ((terms.negated(of), TRUE), (of, FALSE)):
                    if self.unsatisfiable([side, *self.assumed], "a condition of a value"):
                        self.decided[key] = answer
                        break
        found = self.decided[key]
        if found is of:
            raise Needs(max(of.free, key=lambda a: a.number))
        return found

    def unsatisfiable(self, parts: "Sequence[Condition]", about: str) -> bool:
        printer = Printer()
        lines = [printer.condition(part) for part in parts]
        return self.solvers.ask(printer.lines + [f"(assert {line})" for line in lines], about).kind == "proved"

    # ---- evaluation ----

    def value(self, of: Expression, env: Env) -> Expression:
        """Return the value of an expression if variables have the values in `env`."""
        memo = self.memos.setdefault(self.assumed, {})
        stack: "List[Tuple[object, Any]]" = []
        result: "Optional[Expression]" = None
        request: "Optional[Tuple[Expression, Env]]" = (of, env)
        while True:
            if request is not None:
                one, at = request
                kind = one.kind
                if kind == "number" or kind == "lost":
                    result, request = one, None
                else:
                    key = one, tuple([at.get(a) for a in self._free(one)])
                    found = memo.get(key)
                    if found is not None:
                        result, request = found, None
                    else:
                        self.parts += 1
                        if self.parts > MOST_PARTS or not self.parts & 255 and time.thread_time() > self.until:
                            raise NotFollowed("values of too many elements")
                        stack.append((key, self._made(one, at)))
                        try:
                            request = next(stack[-1][1])
                        except StopIteration as done:
                            result, request = done.value, None
                            memo[stack.pop()[0]] = done.value
                if request is not None:
                    continue
            if not stack:
                assert result is not None
                return result
            try:
                request = stack[-1][1].send(result)
            except StopIteration as done:
                result, request = done.value, None
                memo[stack.pop()[0]] = done.value

    def _made(self, of: Expression, env: Env) -> "Steps":
        kind, parts, width = of.kind, of.parts, of.size
        if kind == "index":
            term = yield from self._with_integers(parts[0], env)
            return expressions.index(term, width)
        if kind == "read":
            offset = yield from self._with_integers(parts[1], env)
            if not isinstance(parts[2], Moment):
                return expressions.read(parts[0], offset, width)
            return (yield from self._served(parts[0], offset, width, parts[2], env))
        if kind == "apply":
            made = []
            for part in parts[1:]:
                made.append((yield part, env))
            return _applied(parts[0], width, made)
        if kind == "if":
            choice = yield from self._with_integers(parts[0], env)
            choice = self.decide(choice)
            if choice.kind == "true":
                return (yield parts[1], env)
            if choice.kind == "false":
                return (yield parts[2], env)
            a = yield parts[1], env
            b = yield parts[2], env
            return expressions.either(choice, a, b)
        if kind == "part":
            whole = yield parts[0], env
            return self._piece(whole, parts[1], width)
        if kind == "join":
            made = []
            for part in parts:
                made.append((yield part, env))
            return expressions.join(made)
        if kind == "fold":
            return (yield from self._reduced(of, env))
        if kind == "loop":
            first, atom, end, trips = parts
            count = yield from self._with_integers(trips, env)
            if not count.is_constant:
                raise self._need(count, "a loop whose number of steps is not known")
            result = None
            for k in range(count.constant):
                result = yield end, {**env, atom: number(k)}
            return result if result is not None else (yield first, env)
        if kind == "carried":
            step = env.get(parts[1])
            if step is None:
                raise Needs(parts[1])
            if of not in self.ends or not step.is_constant:
                return expressions.lost("a value that a loop changes", width)
            entry, end = self.ends[of]
            if step.constant == 0:
                return (yield entry, {a: v for a, v in env.items() if a is not parts[1]})
            return (yield end, {**env, parts[1]: number(step.constant - 1)})
        if kind == "shuffle":
            return (yield from self._shuffled(of, env))
        raise NotFollowed(f"a value of kind {kind}")

    @staticmethod
    def _need(term: Term, reason: str) -> Exception:
        atom = next((a for a in sorted(term.free, key=lambda a: -a.number) if a.known), None)
        return Needs(atom) if atom is not None else NotFollowed(reason)

    def _piece(self, of: Expression, first: int, width: int) -> Expression:
        key = of, first, width
        if key not in self.pieces:
            self.pieces[key] = expressions.part(of, first, width)
        return self.pieces[key]

    def _reduced(self, of: Expression, env: Env) -> "Steps":
        """Return HLO's reduction as one operation on all of its elements."""
        first, atoms, *elements = of.parts
        start = yield first, env
        made = list(start.parts[1:])
        for steps in itertools.product(*(range(a.lo, a.hi + 1) for a in atoms)):
            at = {**env, **{a: number(k) for a, k in zip(atoms, steps)}}
            found = []
            for element in elements:
                found.append((yield element, at))
            made.append(found[0] if len(found) == 1 else expressions.apply("multiply", of.size, *found))
        return expressions.apply(first.parts[0], of.size, *made)

    def _shuffled(self, of: Expression, env: Env) -> "Steps":
        value, kind, by, width, lanes, path, when = of.parts
        item = self.term(when.item, env)
        by = yield from self._with_integers(by, env)
        for part in (item, by):
            if not part.is_constant:
                raise self._need(part, "a shuffle")
        if width > lanes or width & width - 1 or width < 1:
            return expressions.lost("a shuffle of a width that no warp has", of.size)
        (own,) = when.item.free
        t, away = item.constant, by.constant
        lane = t % lanes
        start = lane - lane % width
        to = {"_down": lane + away, "_up": lane - away, "_xor": lane ^ away, "": start + away % width}[kind]
        if kind == "_down" and to >= start + width or kind == "_up" and to < start or kind == "_xor" and to >= start + width:
            to = lane
        there = {**env, own: number(t - lane + to)}
        if t - lane + to > own.hi:
            return expressions.lost("a lane beyond the last work-item", of.size)
        for condition in path:
            held = yield from self._with_integers(condition, there)
            held = self.decide(held)
            if held.kind != "true":
                return expressions.lost("a lane that may not take part in a shuffle", of.size)
        return (yield value, there)

    # ---- memory ----

    def _served(self, memory: Memory, offset: Term, width: int, when: Moment, env: Env) -> "Steps":
        """Return the value that a read returns from memory that kernels write."""
        if not all(a.known for a in offset.free):
            return expressions.lost(f"{memory.name} at an index that data select", width)
        launch = self.launches[when.launch]
        stores = launch.stores.get(memory, [])
        # the pieces of the read: for each, its first byte in the read, its number of bytes, and its value
        found: "List[Tuple[int, int, Expression]]" = []
        missing = [(0, width)]
        if stores:
            least = len(launch.declared.get(memory, ()))
            for level in range(len(when.loops), least - 1, -1):
                if level < len(when.loops):
                    (step,) = when.loops[level].free
                    if step not in env:
                        raise Needs(step)
                here = [s for s in stores if s.when.loops[:level] == when.loops[:level]]
                if here:
                    table = self._table(memory, here, level, when, env)
                    missing = yield from self._looked_up(table, memory, offset, missing, when, level, env, found)
                if not missing:
                    break
        if missing and memory.space == "global":
            for first, count in missing:
                earlier = yield from self._earlier(memory, offset + number(first), count, when.launch)
                found.append((first, count, earlier))
            missing = []
        if missing:
            return expressions.lost(f"{memory.name}, which is not proved written before it is read", width)
        found.sort(key=lambda piece: piece[0])
        return found[0][2] if len(found) == 1 else expressions.join([value for _, _, value in found])

    def _looked_up(self, table: _Table, memory: Memory, offset: Term, wanted: "List[Tuple[int, int]]", when: Moment, level: int,
                   env: Env, found: "List[Tuple[int, int, Expression]]") -> "Steps":
        """Find the bytes in `wanted` that a store in the table wrote before a moment. Append their values to `found`.
        Return the bytes that no store wrote.
        """
        away = offset - table.base
        if not away.is_constant:
            raise self._need(away, f"{memory.name} at a varying place")
        start, missing = away.constant, []  # type: int, List[Tuple[int, int]]
        phase = self.term(when.phase, env)
        if memory.space != "private" and not phase.is_constant:
            raise self._need(phase, "a number of barriers")
        own = self._moment(when, level, env)
        item = self.term(when.item, env)
        if memory.space != "private" and not item.is_constant:
            raise self._need(item, "a work-item")
        for first, count in wanted:
            at = first
            while at < first + count:
                granule = (start + at) // table.unit
                inside = (start + at) - granule * table.unit
                taken = min(table.unit - inside, first + count - at)
                candidates = self._before(table.entries.get(granule, []), memory.space == "private", phase, own, item)
                if not candidates:
                    missing.append((at, taken))
                    at += taken
                    continue
                # take the following granules together with this one, as long as the same store wrote them last
                entry = candidates[0]
                while at + taken < first + count and not entry.rest:
                    after = table.entries.get((start + at + taken) // table.unit, [])
                    more = self._before(after, memory.space == "private", phase, own, item)
                    if not more or more[0].store is not entry.store or more[0].env != entry.env or more[0].rest:
                        break
                    taken += min(table.unit, first + count - at - taken)
                value = yield from self._of_entries(candidates, inside, taken, env)
                found.append((at, taken, value))
                at += taken
        return missing

    @staticmethod
    def _before(entries: "List[_Entry]", private: bool, phase: Term, own: "Tuple[int, ...]", item: Term) -> "List[_Entry]":
        """Return the stores to a granule that precede a moment, latest first. The list ends with the first store whose
        conditions are known to hold, because that store hides all earlier ones.
        """
        if private:
            known = [e for e in entries if e.moment < own]
            known.sort(key=lambda e: e.moment, reverse=True)
        else:
            known = [e for e in entries if e.phase < phase.constant
                     or e.phase == phase.constant and e.item == item.constant and e.moment < own]
            known.sort(key=lambda e: (e.phase, e.moment), reverse=True)
        for n, entry in enumerate(known):
            if not entry.rest:
                return known[: n + 1]
        return known

    def _of_entries(self, entries: "Sequence[_Entry]", inside: int, width: int, env: Env) -> "Steps":
        """Return the value that a read gets from these stores. They are tried in order: the first store whose
        conditions hold has written the value.
        """
        result: "Optional[Expression]" = None
        chosen: "List[Tuple[Condition, Expression]]" = []
        for entry in entries:
            there = {**env, **{a: number(v) for a, v in entry.env}}
            holds = yield from self._all_hold(entry.rest, there, TRUE)
            if holds.kind == "false":
                continue
            value = yield self._piece(entry.store.value, entry.first + inside, width), there
            chosen.append((holds, value))
            if holds.kind == "true":
                break
        result = expressions.lost("an element that no store writes for certain", width)
        for holds, value in reversed(chosen):
            result = value if holds.kind == "true" else expressions.either(holds, value, result)
        return result

    def _moment(self, when: Moment, level: int, env: "Any") -> "Tuple[int, ...]":
        found: "List[int]" = []
        for step in when.loops[level:]:
            (atom,) = step.free
            value = env.get(atom)
            if value is None:
                raise Needs(atom)
            found += [atom.number, value.constant if isinstance(value, Term) else value]
        return (*found, when.number)

    def _table(self, memory: Memory, stores: "List[Ordered]", level: int, when: Moment, env: Env) -> _Table:
        """Return the table of the stores to an array, at one step of each of the `level` outermost loops. For a private
        array, it has the stores of one work-item; for other arrays, those of all work-items of a work-group.
        """
        fixed: "Set[Atom]" = {a for step in when.loops[:level] for a in step.free}
        launch = self.launches[when.launch]
        fixed |= launch.groups | launch.templates
        if memory.space == "private":
            fixed |= when.item.free
        values = tuple((a, env.get(a)) for a in sorted(fixed, key=lambda a: a.number))
        key = memory, when.launch, level, len(stores), values
        if key not in self.tables:
            self.tables[key] = self._tabled(memory, stores, level, fixed, env, launch)
        return self.tables[key]

    def _tabled(self, memory: Memory, stores: "Sequence[Ordered]", level: int, fixed: "Set[Atom]", env: Env,
                launch: Followed) -> _Table:
        given = {a: env[a] for a in fixed if a in env}
        open_ones = {a for a in fixed if a not in env}
        listed = []
        unit, base = 64, None
        for store in stores:
            offset = self.term(store.offset, given)
            if not all(a.known for a in offset.free):
                raise NotFollowed(f"{memory.name}, which is written at an index that data select")
            symbolic = Term(tuple((a, f) for a, f in offset.parts if a.free & open_ones), 0)
            rest = offset - symbolic
            if any(not a.free <= open_ones for a, _ in symbolic.parts):
                raise self._need(Term(symbolic.parts, 0), f"{memory.name} at a varying place")
            if base is None:
                base = symbolic
            elif base != symbolic:
                raise self._need(base - symbolic, f"{memory.name} at a varying place")
            unit = math.gcd(unit, store.value.size, rest.constant, *(f for _, f in rest.parts))
            listed.append((store, rest))
        entries: "Dict[int, List[_Entry]]" = {}
        count = 0
        for store, rest in listed:
            path = [self.condition(c, given) for c in store.path]
            if any(c.kind == "false" for c in path):
                continue
            phase = self.term(store.when.phase, given)
            atoms = set(rest.free) | {a for step in store.when.loops for a in step.free} | set(phase.free)
            atoms |= {a for a in terms.all_free(path) if a.known}
            if memory.space != "private":
                atoms |= launch.items
            atoms -= fixed
            decided = [c for c in path if c.free <= atoms]
            later = tuple(c for c in path if not c.free <= atoms)
            ordered = sorted(atoms, key=lambda a: a.number)
            count += math.prod(a.hi - a.lo + 1 for a in ordered)
            if count > MOST_STORED:
                raise NotFollowed(f"{memory.name}, which too many steps write")
            if phase.free & open_ones:
                if memory.space != "private":
                    raise self._need(phase, "a number of barriers")
                phase = ZERO
            if memory.space == "private" and phase.free:
                phase = ZERO
            (own,) = store.when.item.free or (None,)
            mine = given[own].constant if own is not None and own in given else 0
            for values, (place, when) in _points(ordered, decided, [rest, phase]):
                at = dict(zip(ordered, values))
                item = at.get(own, mine) if own is not None else 0
                entry = tuple(zip(ordered, values))
                moment = self._moment(store.when, level, {**given, **at})
                for first in range(0, store.value.size, unit):
                    entries.setdefault((place + first) // unit, []).append(
                        _Entry(store, entry, first, when, moment, item, later)
                    )
        return _Table(unit, base or ZERO, entries)

    def _earlier(self, memory: Memory, offset: Term, width: int, launch: int) -> "Steps":
        """Return bytes of an array as the launches before `launch` left them."""
        before = [one for one in self.launches[:launch]
                  if memory in one.stores or one.problem and memory in one.memories]
        if not before:
            return expressions.lost(f"{memory.name}, which no kernel writes", width)
        last = before[-1]
        if last.problem:
            raise NotFollowed(f"{memory.name}, which a kernel writes that is not followed ({last.problem})")
        solved = yield from self._solved(memory, last, offset, width)
        if solved is not None:
            return solved
        key = memory, last.number, "launch"
        if key not in self.tables:
            self.tables[key] = self._of_launch(memory, last)
        table = self.tables[key]
        made: "List[Expression]" = []
        at = 0
        while at < width:
            place = offset + number(at)
            group: "Optional[Term]" = None
            if table.by is not None:
                within = terms.modulo(place, table.stride)
                group = terms.quotient(place, table.stride)
            else:
                within = place
            if not within.is_constant:
                raise self._need(within, f"{memory.name} at a varying place")
            granule = within.constant // table.unit
            inside = within.constant - granule * table.unit
            taken = min(table.unit - inside, width - at)
            chosen: "List[Tuple[Condition, Expression]]" = []
            for entry in sorted(table.entries.get(granule, []), key=lambda e: (e.phase, e.moment), reverse=True):
                there: Env = {a: number(v) for a, v in entry.env}
                holds = TRUE
                if group is not None and table.by is not None:
                    own = group - number(entry.group)
                    there[table.by] = own
                    holds = both(terms.at_most(number(table.by.lo), own), terms.at_most(own, number(table.by.hi)))
                holds = yield from self._all_hold(entry.rest, there, holds)
                if holds.kind == "false":
                    continue
                value = yield self._piece(entry.store.value, entry.first + inside, taken), there
                chosen.append((holds, value))
            if len({value for _, value in chosen}) > 1:
                raise NotFollowed(f"{memory.name}, to one place of which several work-items write")
            if any(holds.kind == "true" for holds, _ in chosen):
                made.append(chosen[0][1])
            else:
                left = yield from self._earlier(memory, place, taken, last.number)
                for holds, value in chosen:     # data decide whether this launch writes
                    left = expressions.either(holds, value, left)
                made.append(left)
            at += taken
        return expressions.join(made)

    def _solved(self, memory: Memory, launch: Followed, offset: Term, width: int) -> "Any":
        """Return the value of `width` bytes at an offset of an array that an earlier launch writes. The offset of each
        store must be a mixed-radix number whose digits are all the ids and steps of the launch. Then the offset
        determines the ids and steps of the store that wrote the bytes. Return None if a store's offset has another
        form.
        """
        chosen: "List[Tuple[Condition, Expression]]" = []
        templates = sorted(launch.templates, key=lambda a: a.number)
        for store in launch.stores[memory]:
            digits = sorted(store.offset.parts, key=lambda part: -part[1])
            own = {a for a, _ in digits}
            atoms = launch.groups | launch.items | {a for step in store.when.loops for a in step.free}
            if any(a.kind != "var" or not a.known or a.lo or f <= 0 for a, f in digits) or atoms - own or own & launch.templates:
                return None
            least = store.value.size
            for a, f in reversed(digits):
                if f < least:
                    return None
                least = f * (a.hi + 1)
            rest, there, holds = offset - number(store.offset.constant), {}, TRUE  # type: Term, Env, Condition
            for a, f in digits:
                there[a] = terms.quotient(rest, f)
                rest = rest - there[a].times(f)
                holds = both(holds, terms.at_most(ZERO, there[a]), terms.at_most(there[a], number(a.hi)))
            if rest.parts:
                (last, f) = digits[-1] if digits else (None, 0)
                rest = terms.modulo(offset - number(store.offset.constant), f) if last is not None else rest
            if not rest.is_constant:
                return None
            if not 0 <= rest.constant <= store.value.size - width:
                if rest.constant >= store.value.size or rest.constant < 0:
                    continue
                return None
            for values in itertools.product((0, 1), repeat=len(templates)):
                at = {**there, **{a: number(v) for a, v in zip(templates, values)}}
                held = yield from self._all_hold(store.path, at, holds)
                if held.kind == "false":
                    continue
                value = yield self._piece(store.value, rest.constant, width), at
                chosen.append((held, value))
        if not chosen or len({value for _, value in chosen}) > 1 or not any(held.kind == "true" for held, _ in chosen):
            return None
        return chosen[0][1]

    def _of_launch(self, memory: Memory, launch: Followed) -> _Table:
        stores = launch.stores[memory]
        by: "Optional[Atom]" = next(iter(launch.groups), None)
        strides = {dict(store.offset.parts).get(by, 0) for store in stores} if by is not None else {0}
        others = {a for store in stores for atom, _ in store.offset.parts if atom is not by for a in atom.free}
        others |= {a for store in stores for a in terms.all_free(store.path) if a.known}
        stride = next(iter(strides))
        if by in others or len(strides) > 1 or stride <= 0:
            by, stride = None, 0
        unit = math.gcd(64, *(store.value.size for store in stores),
                        *(f for store in stores for _, f in store.offset.parts),
                        *(store.offset.constant for store in stores))
        entries: "Dict[int, List[_Entry]]" = {}
        count = 0
        for store in stores:
            offset = store.offset if by is None else store.offset - terms.of(by).times(stride)
            if not all(a.known for a in offset.free):
                raise NotFollowed(f"{memory.name}, which is written at an index that data select")
            atoms = set(offset.free) | {a for step in store.when.loops for a in step.free} | set(store.when.phase.free)
            atoms |= {a for a in terms.all_free(store.path) if a.known} | launch.items | launch.templates
            if by is None:
                atoms |= launch.groups
            atoms.discard(by)
            ordered = sorted(atoms, key=lambda a: a.number)
            count += math.prod(a.hi - a.lo + 1 for a in ordered)
            if count > MOST_STORED:
                raise NotFollowed(f"{memory.name}, which too many steps write")
            decided = [c for c in store.path if c.free <= atoms]
            later = tuple(c for c in store.path if not c.free <= atoms)
            for values, (place, phase) in _points(ordered, decided, [offset, store.when.phase]):
                moment = self._moment(store.when, 0, dict(zip(ordered, values)))
                entry = tuple(zip(ordered, values))
                for first in range(0, store.value.size, unit):
                    byte = place + first
                    group, byte = divmod(byte, stride) if by is not None else (0, byte)
                    entries.setdefault(byte // unit, []).append(
                        _Entry(store, entry, first, phase, moment, 0, later, group))
        return _Table(unit, ZERO, entries, by, stride)


def _points(atoms: "Sequence[Atom]", path: "Sequence[Condition]", of: "Sequence[Term]") -> "Iterator[Tuple[Any, Any]]":
    """Yield all values of `atoms` for which the conditions hold, each with the values of the terms `of`."""
    if not atoms:
        if all(c.kind == "true" for c in path) and all(term.is_constant for term in of):
            yield (), tuple(term.constant for term in of)
            return
    names = {atom: f"v{n}" for n, atom in enumerate(atoms)}
    lines, waiting = ["def each():"], list(path)
    for n in range(len(atoms) + 1):
        for c in [c for c in waiting if c.free <= set(atoms[:n])]:
            waiting.remove(c)
            lines.append(" " * len(lines) + f"if {terms.python(c, names)}:")
        if n < len(atoms):
            lines.append(" " * len(lines) + f"for {names[atoms[n]]} in range({atoms[n].lo}, {atoms[n].hi + 1}):")
    values = "".join(f"{name}, " for name in names.values())
    lines.append(" " * len(lines) + f"yield ({values}), ({''.join(f'{terms.python(term, names)}, ' for term in of)})")
    scope: "Dict[str, Any]" = {}
    exec("\n".join(lines), scope)
    yield from scope["each"]()


def _applied(name: str, width: int, of: "Sequence[Expression]") -> Expression:
    """Return the result of an operation. Integer operations on constants are computed."""
    if name.startswith("call "):
        return of[0] if of[0] in of[1:] else expressions.apply(name, width, of[0])
    if name in ("-", "mask", "!") and of[0].kind == "index" and of[0].parts[0].is_constant:
        value = of[0].parts[0].constant
        return expressions.index(number(-value if name == "-" else int((value != 0) == (name == "mask")) * (-1 if name == "mask" else 1)), width)
    if name == "~" and of[0].kind == "index":
        return expressions.inverted(of[0])
    if name == "extend" and of[0].kind == "index":
        return expressions.resized(of[0], width, True)
    if name == "select" and of[0].kind == "index" and of[0].parts[0].is_constant:
        return of[1] if of[0].parts[0].constant else of[2]
    if len(of) == 2 and name in ("&", "|", "^", "+") and of[0].size == of[1].size:
        return expressions.bitwise(name, *of)
    if name == "truth" and of[0].kind == "index" and of[0].parts[0].is_constant or \
            name == "bool" and of[0] in (expressions.index(ZERO, of[0].size), expressions.index(terms.ONE, of[0].size)):
        return expressions.index(number(int(of[0].parts[0].constant != 0)), width)
    if len(of) == 2 and all(each.kind == "index" and each.parts[0].is_constant for each in of) and of[0].size == of[1].size:
        a, b = (each.parts[0].constant for each in of)
        if name in ("+i", "-i", "*i", "&i", "|i", "^i"):
            made = {"+": a + b, "-": a - b, "*": a * b, "&": a & b, "|": a | b, "^": a ^ b}[name[0]]
            return expressions.index(number(made), width)
        half = 1 << 8 * of[0].size - 1
        # a and b have no sign bit, so signed and unsigned comparisons agree
        if name in ("==i", "!=i") or name in ("<i", ">i", "<=i", ">=i") and a < half and b < half:
            made = {"==": a == b, "!=": a != b, "<": a < b, ">": a > b, "<=": a <= b, ">=": a >= b}[name[:-1]]
            return expressions.index(number(int(made)), width)
    return expressions.apply(name, width, *of)


# ---- comparison ----

Key = Tuple[Any, ...]
# An operation as its name, and a Counter of its operands: an operand is given by the set of elements on which it
# depends. An operation that chooses one of its operands is "choice", and the set of the elements on which any operand
# depends.
Bag = Tuple[str, Any]


class Comparison:
    """Compares values of a text with values of HLO. steps: for some steps, the values of all variables. Addresses are
    paired if they are equal at all of these steps.
    """

    def __init__(self, instances: Instances, steps: "List[Dict[Atom, int]]") -> None:
        self.instances, self.steps = instances, steps
        self.random = random.Random(1)
        self.forms: "Dict[Key, Dict[Term, None]]" = {}
        self.reads: "Dict[Expression, Key]" = {}
        self.items: "Dict[Tuple[Expression, int], frozenset[object]]" = {}
        self.bags: "Dict[Tuple[Expression, int], Bag]" = {}
        self.numbers: "Dict[object, int]" = {}
        self.wanted: "Dict[Expression, List[Bag]]" = {}
        self.lost = ""

    def _key(self, read: Expression) -> Key:
        if read not in self.reads:
            memory, offset = read.parts[0], read.parts[1]
            for atom in offset.free:
                for step in self.steps:
                    if atom not in step:
                        step[atom] = self.random.randint(atom.lo, atom.hi)
            key = id(memory), read.size, tuple(terms.evaluate(offset, step) for step in self.steps)
            self.reads[read] = key
            self.forms.setdefault(key, {})[offset] = None
        return self.reads[read]

    def _atoms(self, part: "Any") -> "List[Expression]":
        """Return the values of the integers from memory that occur in a term or a condition."""
        found = []
        for atom in sorted(part.free, key=lambda a: a.number):
            if atom in self.instances.canonical:
                found.append(self.instances.canonical[atom])
            elif not atom.known:
                self.lost = self.lost or "an integer that the walk does not follow"
        return found

    def of(self, root: Expression, wanted: "List[Bag]", which: int) -> "frozenset[object]":
        """Return the set of the elements on which a value depends.

        wanted: the reductions of HLO's value. If a sum of the text contains all operands of a reduction, the set
            contains the reduction instead of these operands.
        which: a positive number if `root` is a value of the text; it identifies the list `wanted`. If `root` is a value
            of HLO: negative if the value has reductions that must read each element once; 0 if it has none.
        """
        if (root, which) in self.items:
            return self.items[root, which]
        found: "Set[object]" = set()
        waiting, seen = [root], {root}

        def push(*more: Expression) -> None:
            for one in more:
                if one not in seen:
                    seen.add(one)
                    waiting.append(one)

        while waiting:
            each = waiting.pop()
            kind, parts = each.kind, each.parts
            if each is not root and (each, which) in self.items:
                found |= self.items[each, which]
            elif kind == "read":
                if ops_key(parts[0]) != "table":
                    found.add(self._key(each))
                push(*self._atoms(parts[1]))
            elif kind == "index":
                push(*self._atoms(parts[0]))
            elif kind == "if":
                push(*self._atoms(parts[0]), *parts[1:])
            elif kind == "part":
                push(parts[0])
            elif kind == "join":
                push(*parts)
            elif kind == "apply":
                name = parts[0]
                if name == "reduce custom":
                    self.lost = self.lost or "a reduction by a combination of operations"
                op = _SUMS.get(name)
                if op is None and _LARGEST.fullmatch(name) and which:
                    key = self._largest(each, wanted, which)
                    if key:
                        found.add(key)
                    else:
                        push(*parts[1:])
                elif op is None:
                    push(*parts[1:])
                elif which <= 0:
                    if name.startswith("reduce "):
                        found.add(_token(self.bag(each, op, wanted, which)))
                    else:
                        push(*parts[1:])
                else:
                    rest, tokens = self._matched(each, op, wanted, which)
                    found |= tokens
                    push(*rest)
            elif kind == "lost":
                self.lost = self.lost or parts[0]
        made = frozenset(found)
        self.items[root, which] = made
        return made

    def _largest(self, top: Expression, wanted: "List[Bag]", which: int) -> object:
        """Return a key for a choice such as a maximum: the set of the elements among which the operation chooses.
        Return None for an op of HLO that is no reduction, and for a choice of the text if no reduction of HLO chooses
        among the same elements.
        """
        if which < 0 and not top.parts[0].startswith("reduce "):
            return None
        key = "choice", self._united(top, wanted, which)
        return key if which < 0 or any(bag[0] == "choice" and bag[1] == key[1] for bag in wanted) else None

    def _united(self, top: Expression, wanted: "List[Bag]", which: int) -> "frozenset[object]":
        found, waiting, seen = set(), [top], {top}  # type: Set[object], List[Expression], Set[Expression]
        while waiting:
            each = waiting.pop()
            if each.kind == "apply" and _LARGEST.fullmatch(each.parts[0]):
                for kid in each.parts[1:]:
                    if kid not in seen:
                        seen.add(kid)
                        waiting.append(kid)
            else:
                found |= self.of(each, wanted, which)
        return frozenset(found)

    def leaves(self, top: Expression, op: str) -> "List[Expression]":
        """Return the operands of nested operations of one kind: a, b and c for (a + b) + c."""
        found: "List[Expression]" = []
        family = {"fma": "add"}.get(op, op)
        waiting = [top]
        while waiting:
            each = waiting.pop()
            inner = each
            while True:     # look through conversions
                if inner.kind == "apply" and _SAME_NUMBER.fullmatch(inner.parts[0]) and inner.parts[0] not in _SUMS:
                    varying = [p for p in inner.parts[1:] if p.kind not in ("number", "index")]
                    if len(varying) != 1:
                        break
                    inner = varying[0]
                elif inner.kind == "part":
                    inner = inner.parts[0]
                elif inner.kind == "join" and len([p for p in inner.parts if p.kind not in ("number", "index")]) == 1:
                    inner = next(p for p in inner.parts if p.kind not in ("number", "index"))
                else:
                    break
            own = _SUMS.get(inner.parts[0]) if inner.kind == "apply" else None
            if own == "fma" and family == "add" and len(inner.parts) == 4:
                found.append(expressions.apply("product", inner.size, *inner.parts[1:3]))
                waiting.append(inner.parts[3])
            elif own == family:
                waiting += inner.parts[1:]
            else:
                found.append(each)
        return found

    def bag(self, top: Expression, op: str, wanted: "List[Bag]", which: int) -> Bag:
        """Return the operands of nested operations of one kind. Each operand is given by the set of the elements on
        which it depends.
        """
        if (top, which) not in self.bags:
            counted: "Counter[object]" = Counter()
            for leaf in self.leaves(top, op):
                key = self.of(leaf, wanted, which)
                if key:
                    counted[key] += 1
            self.bags[top, which] = {"fma": "add"}.get(op, op), counted
        return self.bags[top, which]

    def _matched(self, top: Expression, op: str, wanted: "List[Bag]", which: int) -> "Tuple[List[Expression], Set[object]]":
        """Find reductions of HLO among the operands of nested operations of a text. Return the remaining operands, and
        the keys of the reductions that were found.
        """
        leaves = self.leaves(top, op)
        family = {"fma": "add", "addi": "add", "multiplyi": "multiply"}.get(op, op)
        tokens: "Set[object]" = set()
        if any(name == family and 0 < sum(counted.values()) <= len(leaves) for name, counted in wanted):
            keys = [self.of(leaf, wanted, which) for leaf in leaves]
            own = Counter(key for key in keys if key)
            for bag in wanted:
                name, counted = bag
                if name == family and all(own[key] >= times for key, times in counted.items()):
                    own -= counted
                    tokens.add(_token(bag))
            rest = []
            for leaf, key in zip(leaves, keys):
                if own[key] > 0:
                    own[key] -= 1
                    rest.append(leaf)
            return rest, tokens
        return leaves, tokens

    def same(self, does: Expression, says: Expression) -> bool:
        """Return true if two values depend on the same elements. Addresses count as equal if they are equal at all
        `steps`.
        """
        if time.thread_time() > self.instances.until:
            raise NotFollowed("values of too many elements")
        wanted = self._wanted(says)
        one = self.of(says, [], -1 if wanted else 0)
        which = self.numbers.setdefault(tuple(_token(bag) for bag in wanted), len(self.numbers) + 1)
        return self.of(does, wanted, which) == one and not self.lost

    def _wanted(self, says: Expression) -> "List[Bag]":
        """Return the reductions in a value of HLO. Return [] if none is a sum, a product or an xor."""
        if says in self.wanted:
            return self.wanted[says]
        bags: "List[Bag]" = []
        choices: "List[Bag]" = []
        waiting, seen = [says], {says}
        while waiting:
            each = waiting.pop()
            kids = [p for p in each.parts if isinstance(p, Expression)] + [
                value for p in each.parts if isinstance(p, (Term, Condition)) for value in self._atoms(p)]
            name = each.parts[0] if each.kind == "apply" else ""
            if name.startswith("reduce ") and name in _SUMS:
                bags.append(self.bag(each, _SUMS[name], [], -1))
                kids = self.leaves(each, _SUMS[name])
            elif name.startswith("reduce ") and _LARGEST.fullmatch(name):
                choices.append(("choice", self._united(each, [], -1)))
            for kid in kids:
                if kid not in seen:
                    seen.add(kid)
                    waiting.append(kid)
        made = sorted(bags, key=lambda bag: -sum(bag[1].values())) + choices if bags else []
        self.wanted[says] = made
        return made

    def different(self) -> "List[Condition]":
        """Return for each pair of addresses the condition that they differ. A proof must show that none can hold."""
        found: "Dict[Condition, None]" = {}
        for forms in self.forms.values():
            first, *others = forms
            for other in others:
                condition = terms.negated(terms.equal(first, other))
                if condition.kind != "false":
                    found[condition] = None
        return list(found)


def _token(bag: Bag) -> object:
    return "reduction", bag[0], bag[1] if bag[0] == "choice" else frozenset(bag[1].items())


def ops_key(memory: Memory) -> str:
    return memory.key[0] if isinstance(memory.key, tuple) else ""


__all__ = ["ONCE", "SAMPLES", "Comparison", "Followed", "Instances", "Needs"]
