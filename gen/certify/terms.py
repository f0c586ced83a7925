"""Integer terms and conditions over the variables of a walk, and their text in SMT-LIB.

A term is a constant plus a sum of multiples of atoms, over the unbounded integers. An atom is a variable, a quotient
rounded down, a product, a choice, or an operation on bits of which only a range is known. No property is decided by
rewriting: sums are collected, and the rest is left to the solvers. `bounds` is interval arithmetic. It decides whether
arithmetic on an integer from memory may wrap around, and proves simple inequalities without a query.
"""

from __future__ import annotations

import itertools
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Set, Tuple

Range = Tuple[int, int]
_numbers = itertools.count()


class Atom:
    """A part of a term.

    kind: var (a variable), div and mod (by a constant), quo (a quotient by a term), mul, ite (if, then, else), and, or,
        xor (bitwise).
    of: its operands.
    known: true if ids and steps of loops determine the value. It is false for a value from memory, and for a value
        that the walk does not follow.
    place: for an integer from a parameter in memory, the parameter and the offset in bytes. Such an integer may have
        any value of its type.
    """

    __slots__ = ("number", "kind", "name", "of", "lo", "hi", "known", "free", "place")

    def __init__(self, kind: str, name: str, of: "Tuple[object, ...]", lo: int, hi: int, known: bool) -> None:
        self.number, self.kind, self.name, self.of = next(_numbers), kind, name, of
        self.lo, self.hi, self.known = lo, hi, known
        self.place: "Optional[Tuple[object, Term]]" = None
        self.free: "frozenset[Atom]" = frozenset([self]) if kind == "var" else frozenset().union(
            *(part.free for part in of if isinstance(part, (Term, Condition))))

    def __hash__(self) -> int:    # a number, not the address, so that sets have the same order in each run
        return self.number

    def __repr__(self) -> str:
        return f"{self.name}"


class Term:
    __slots__ = ("parts", "constant", "_hash")

    def __init__(self, parts: "Tuple[Tuple[Atom, int], ...]", constant: int) -> None:
        self.parts, self.constant = parts, constant
        self._hash = hash((parts, constant))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Term) and self._hash == other._hash and self.constant == other.constant \
            and self.parts == other.parts

    @property
    def free(self) -> "frozenset[Atom]":
        return frozenset().union(*(atom.free for atom, _ in self.parts))

    @property
    def is_constant(self) -> bool:
        return not self.parts

    def __add__(self, other: "Term") -> "Term":
        if not other.parts:
            return Term(self.parts, self.constant + other.constant)
        if not self.parts:
            return Term(other.parts, self.constant + other.constant)
        sums: "Dict[Atom, int]" = dict(self.parts)
        for atom, factor in other.parts:
            sums[atom] = sums.get(atom, 0) + factor
        return Term(tuple(sorted(((a, f) for a, f in sums.items() if f), key=lambda p: p[0].number)),
                    self.constant + other.constant)

    def times(self, factor: int) -> "Term":
        return Term(tuple((a, f * factor) for a, f in self.parts), self.constant * factor) if factor else ZERO

    def __sub__(self, other: "Term") -> "Term":
        return self + other.times(-1)

    def __repr__(self) -> str:
        words = [f"{f}*{a.name}" for a, f in self.parts]
        return " + ".join([*words, str(self.constant)] if self.constant or not words else words)


def number(value: int) -> Term:
    return Term((), value)


ZERO, ONE = number(0), number(1)
_atoms: "Dict[Tuple[object, ...], Atom]" = {}


def of(atom: Atom) -> Term:
    return Term(((atom, 1),), 0)


def variable(name: str, lo: int, hi: int, known: bool) -> Term:
    """Return a new variable in the range lo to hi."""
    return of(Atom("var", f"{name}!{next(_numbers)}", (), lo, hi, known))


def _atom(kind: str, parts: "Tuple[object, ...]", lo: int, hi: int) -> Term:
    key = (kind, *parts)
    if key not in _atoms:
        known = all(a.known for part in parts if isinstance(part, (Term, Condition)) for a in part.free)
        _atoms[key] = Atom(kind, f"{kind}!{next(_numbers)}", parts, lo, hi, known)
    return of(_atoms[key])


def clear() -> None:
    """Forget the atoms other than variables. This is called before each walk."""
    _atoms.clear()


def restart() -> None:
    """Number the atoms of a program from 0. Then its queries do not depend on the programs before it."""
    global _numbers
    clear()
    _numbers = itertools.count()


# ---- conditions ----


_KINDS = ("true", "false", "le", "eq", "not", "and", "or", "open")


class Condition:
    """A condition.

    kind: le (a term is at most 0), eq (a term is 0), not, and, or, true, false, open (nothing is known about it).
    fact: true if the condition always holds where it is part of a path, so that it does not decide about the path.
    """

    __slots__ = ("kind", "of", "free", "fact", "_hash")

    def __init__(self, kind: str, *parts: "object") -> None:
        self.fact = False
        self.kind, self.of = kind, parts
        if kind == "open":
            self.free: "frozenset[Atom]" = frozenset([parts[0]])    # type: ignore[list-item]
        else:
            self.free = frozenset().union(*(part.free for part in parts if isinstance(part, (Term, Condition))))
        self._hash = hash((_KINDS.index(kind), parts))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Condition) and self._hash == other._hash and self.kind == other.kind \
            and self.of == other.of

    def __repr__(self) -> str:
        return f"{self.kind}{self.of}"


TRUE, FALSE = Condition("true"), Condition("false")


def fact(c: Condition) -> Condition:
    """Return a condition that is marked as a fact."""
    made = Condition(c.kind, *c.of)
    made.fact = True
    return made


def open_condition(name: str) -> Condition:
    """Return a new condition about which nothing is known."""
    return Condition("open", Atom("var", f"{name}!{next(_numbers)}", (), 0, 1, False))


def at_most(a: Term, b: Term) -> Condition:
    term = a - b
    if term.is_constant:
        return TRUE if term.constant <= 0 else FALSE
    lo, hi = bounds(term)
    return TRUE if hi <= 0 else FALSE if lo > 0 else Condition("le", term)


def less(a: Term, b: Term) -> Condition:
    return at_most(a + ONE, b)


def equal(a: Term, b: Term) -> Condition:
    term = a - b
    if term.is_constant:
        return TRUE if term.constant == 0 else FALSE
    lo, hi = bounds(term)
    return FALSE if lo > 0 or hi < 0 else Condition("eq", term)


def negated(c: Condition) -> Condition:
    if c.kind == "true":
        return FALSE
    if c.kind == "false":
        return TRUE
    if c.kind == "not":
        return c.of[0]      # type: ignore[return-value]
    if c.kind == "le":
        return Condition("le", c.of[0].times(-1) + ONE)     # type: ignore[attr-defined]
    return Condition("not", c)


def both(*parts: Condition) -> Condition:
    found: "List[Condition]" = []
    for part in parts:
        if part.kind == "false":
            return FALSE
        if part.kind == "and":
            found += part.of    # type: ignore[arg-type]
        elif part.kind != "true":
            found.append(part)
    found = list(dict.fromkeys(found))
    return TRUE if not found else found[0] if len(found) == 1 else Condition("and", *found)


def either(*parts: Condition) -> Condition:
    return negated(both(*(negated(part) for part in parts)))


# ---- terms that are not linear ----

_UNBOUNDED = 1 << 70


def product(a: Term, b: Term) -> Term:
    if a.is_constant:
        return b.times(a.constant)
    if b.is_constant:
        return a.times(b.constant)
    if hash(a) > hash(b):
        a, b = b, a
    (al, ah), (bl, bh) = bounds(a), bounds(b)
    ends = [al * bl, al * bh, ah * bl, ah * bh]
    return _atom("mul", (a, b), min(ends), max(ends))


def quotient(a: Term, by: int) -> Term:
    """Return a / by, rounded down. `by` is positive."""
    if by == 1:
        return a
    if a.is_constant:
        return number(a.constant // by)
    whole, rest = _split(a, by)
    lo, hi = bounds(rest)
    if lo // by == hi // by:
        return whole + number(lo // by)
    lo, hi = bounds(rest)
    return whole + _atom("div", (rest, by), lo // by, hi // by)


def _split(a: Term, by: int) -> "Tuple[Term, Term]":
    """Return terms w and r with a = w * by + r. w contains the multiples of `by`."""
    def times(f: int) -> int:
        return f // by if f >= 0 else -(-f // by)
    whole = Term(tuple((atom, times(f)) for atom, f in a.parts if times(f)), a.constant // by)
    return whole, Term(tuple((atom, f - times(f) * by) for atom, f in a.parts if f % by), a.constant % by)


def quotient_of(a: Term, by: Term) -> Term:
    """Return a / by, rounded down. `by` must be positive wherever the quotient is used."""
    lo, hi = bounds(a)
    return _atom("quo", (a, by), min(lo, 0), max(hi, 0))


def truncated(a: Term, by: int) -> Term:
    """Return a / by, rounded towards zero as in C."""
    if bounds(a)[0] >= 0:
        return quotient(a, by)
    return chosen(at_most(ZERO, a), quotient(a, by), quotient(a.times(-1), by).times(-1))


def remainder(a: Term, by: int) -> Term:
    """Return a % by, with the sign of a as in C."""
    if a.is_constant and a.constant >= 0:
        return number(a.constant % by)
    lo, hi = bounds(a)
    if lo < 0:
        return chosen(at_most(ZERO, a), modulo(a, by), modulo(a.times(-1), by).times(-1))
    return modulo(a, by)


def modulo(a: Term, by: int) -> Term:
    """Return a modulo `by`: a - by * (a / by), with the quotient rounded down."""
    _, rest = _split(a, by)
    lo, hi = bounds(rest)
    if lo // by == hi // by:
        return rest - number(lo // by * by)
    return _atom("mod", (rest, by), 0, by - 1)


def chosen(c: Condition, a: Term, b: Term) -> Term:
    if c.kind == "true" or a == b:
        return a
    if c.kind == "false":
        return b
    (al, ah), (bl, bh) = bounds(a, (c,)), bounds(b, (negated(c),))
    if al > ah:
        return b
    if bl > bh:
        return a
    return _atom("ite", (c, a, b), min(al, bl), max(ah, bh))


def bits(kind: str, a: Term, b: Term, width: int) -> Term:
    """Return the bitwise and, or, xor (`kind`) of two nonnegative numbers of `width` bits. A query represents the
    operands by their bits.
    """
    lo, hi = 0, (1 << width) - 1
    if kind == "and":
        hi = min(bounds(a)[1], bounds(b)[1])
    return _atom(kind, (a, b, width), lo, hi)


def bounds(term: Term, assumed: "Sequence[Condition]" = ()) -> Range:
    """Return an interval that contains the value of a term wherever the conditions in `assumed` hold."""
    lo = hi = term.constant
    for atom, factor in term.parts:
        al, ah = _atom_bounds(atom, assumed)
        lo += factor * (al if factor > 0 else ah)
        hi += factor * (ah if factor > 0 else al)
    for condition in assumed:
        lo, hi = _narrowed(term, condition, lo, hi)
    return lo, hi


def within(term: Term, lo: int, hi: int, assumed: "Sequence[Condition]") -> bool:
    """Return true if interval arithmetic proves lo <= term <= hi wherever the conditions in `assumed` hold."""
    for conditions in ((), assumed):    # most terms do not need the conditions, which take longer
        least, most = bounds(term, conditions)
        if lo <= least and most <= hi:
            return True
    return False


def _atom_bounds(atom: Atom, assumed: "Sequence[Condition]") -> Range:
    if atom.kind == "ite" and assumed and len(assumed) < 6:
        c, a, b = atom.of
        assert isinstance(c, Condition) and isinstance(a, Term) and isinstance(b, Term)
        (al, ah), (bl, bh) = bounds(a, (*assumed, c)), bounds(b, (*assumed, negated(c)))
        if al > ah:
            return bl, bh
        if bl > bh:
            return al, ah
        return min(al, bl), max(ah, bh)
    lo, hi = atom.lo, atom.hi
    if assumed:
        if atom.kind == "div":
            inner, by = atom.of
            assert isinstance(inner, Term) and isinstance(by, int)
            al, ah = bounds(inner, assumed)
            lo, hi = max(lo, al // by), min(hi, ah // by)
        term = of(atom)
        for condition in assumed:
            lo, hi = _narrowed(term, condition, lo, hi)
    return lo, hi


def _narrowed(term: Term, condition: Condition, lo: int, hi: int) -> Range:
    if condition.kind == "and":
        for part in condition.of:
            lo, hi = _narrowed(term, part, lo, hi)      # type: ignore[arg-type]
        return lo, hi
    if condition.kind == "not" and condition.of[0].kind == "and":    # type: ignore[attr-defined]
        sides = [_narrowed(term, negated(part), lo, hi) for part in condition.of[0].of]     # type: ignore[attr-defined]
        sides = [(low, high) for low, high in sides if low <= high]
        return (min(low for low, _ in sides), max(high for _, high in sides)) if sides else (lo, hi)
    if condition.kind not in ("le", "eq"):
        return lo, hi
    limit = condition.of[0]
    assert isinstance(limit, Term)
    if len(limit.parts) != len(term.parts):
        return lo, hi
    less_than, more_than = term - limit, term + limit
    if less_than.is_constant:       # limit <= 0
        hi = min(hi, less_than.constant)
        if condition.kind == "eq":
            lo = max(lo, less_than.constant)
    elif more_than.is_constant:    # the condition is -term + constant <= 0
        lo = max(lo, more_than.constant)
        if condition.kind == "eq":
            hi = min(hi, more_than.constant)
    return lo, hi


def substituted(part: "Any", atom: Atom, by: Term) -> "Any":
    """Return a term or a condition in which a variable is replaced by a term."""
    if isinstance(part, Condition):
        if atom not in part.free or part.kind == "open":
            return part
        inner = [substituted(of, atom, by) for of in part.of]
        return Condition(part.kind, *inner)
    result = number(part.constant)
    for own, factor in part.parts:
        if atom not in own.free:
            result = result + Term(((own, factor),), 0)
        elif own is atom:
            result = result + by.times(factor)
        else:
            inner_of = [substituted(of, atom, by) if isinstance(of, (Term, Condition)) else of for of in own.of]
            made: "Any" = {"div": quotient, "mod": modulo, "mul": product, "quo": quotient_of, "ite": chosen}.get(own.kind)
            term = made(*inner_of) if made else bits(own.kind, *inner_of)
            result = result + term.times(factor)
    return result


# ---- SMT-LIB ----


class Printer:
    """Prints the terms of a query.

    A query may be about two work-items. Then it has two copies of the variables: `copy` is the suffix of their names.
    Variables in `shared` are common to both work-items and have no suffix.
    """

    def __init__(self) -> None:
        self.lines: "List[str]" = []
        self.names: "Dict[Tuple[Atom, str], str]" = {}
        self.variables: "Dict[str, Tuple[Atom, str]]" = {}

    def declare(self, name: str, lo: int, hi: int) -> None:
        self.lines.append(f"(declare-const {name} Int)")
        self.lines.append(f"(assert (<= {_int(lo)} {name} {_int(hi)}))")

    def term(self, term: Term, copy: str = "", shared: "frozenset[Atom]" = frozenset()) -> str:
        words: "List[str]" = []
        for atom, factor in term.parts:
            name = self.atom(atom, copy, shared)
            words.append(name if factor == 1 else f"(* {_int(factor)} {name})")
        if term.constant or not words:
            words.append(_int(term.constant))
        return words[0] if len(words) == 1 else f"(+ {' '.join(words)})"

    def atom(self, atom: Atom, copy: str, shared: "frozenset[Atom]") -> str:
        if copy and atom.free <= shared:
            copy = ""
        key = (atom, copy)
        if key in self.names:
            return self.names[key]
        name = f"|{atom.name}{copy}|" if atom.kind == "var" else f"|{atom.name}{copy}'|"
        if atom.kind == "var":
            self.variables[name] = key
            self.declare(name, atom.lo, atom.hi)
        elif atom.kind == "div":
            inner, by = self.term(atom.of[0], copy, shared), atom.of[1]     # type: ignore[arg-type]
            self.lines.append(f"(declare-const {name} Int)")
            self.lines.append(f"(assert (<= (* {by} {name}) {inner}))")
            self.lines.append(f"(assert (< {inner} (+ (* {by} {name}) {by})))")
        elif atom.kind == "mod":
            a, by = atom.of
            whole = _atom("div", (a, by), *(b // by for b in bounds(a))).parts[0][0]    # type: ignore[operator, arg-type]
            text = f"(- {self.term(a, copy, shared)} (* {by} {self.atom(whole, copy, shared)}))"    # type: ignore[arg-type]
            self.lines.append(f"(define-fun {name} () Int {text})")
        elif atom.kind == "quo":
            a, b = (self.term(part, copy, shared) for part in atom.of)      # type: ignore[arg-type]
            self.lines.append(f"(declare-const {name} Int)")
            self.lines.append(f"(assert (=> (< 0 {b}) (and (<= (* {b} {name}) {a}) (< {a} (+ (* {b} {name}) {b})))))")
        elif atom.kind == "mul":
            a, b = (self.term(part, copy, shared) for part in atom.of)      # type: ignore[arg-type]
            self.lines.append(f"(define-fun {name} () Int (* {a} {b}))")
        elif atom.kind == "ite":
            c, then, other = atom.of
            text = f"(ite {self.condition(c, copy, shared)} " \
                   f"{self.term(then, copy, shared)} {self.term(other, copy, shared)})"     # type: ignore[arg-type]
            self.lines.append(f"(define-fun {name} () Int {text})")
        else:
            self._bits(name, atom, copy, shared)
        self.names[key] = name
        return name

    def _bits(self, name: str, atom: Atom, copy: str, shared: "frozenset[Atom]") -> None:
        """Define the result of a bitwise operation. Each operand is declared as a sum of bits times powers of 2."""
        a, b, width = atom.of
        assert isinstance(width, int)
        op = {"and": "and", "or": "or", "xor": "xor"}[atom.kind]
        sides = []
        for letter, part in (("a", a), ("b", b)):
            names = [f"{name[:-1]}.{letter}{n}|" for n in range(width)]
            self.lines += [f"(declare-const {bit} Bool)" for bit in names]
            total = " ".join(f"(ite {bit} {1 << n} 0)" for n, bit in enumerate(names))
            text = self.term(part, copy, shared)    # type: ignore[arg-type]
            self.lines.append(f"(assert (=> (and (<= 0 {text}) (< {text} {1 << width})) (= {text} (+ {total} 0))))")
            sides.append(names)
        total = " ".join(f"(ite ({op} {x} {y}) {1 << n} 0)" for n, (x, y) in enumerate(zip(*sides)))
        self.lines.append(f"(define-fun {name} () Int (+ {total} 0))")

    def condition(self, c: object, copy: str = "", shared: "frozenset[Atom]" = frozenset()) -> str:
        assert isinstance(c, Condition)
        if c.kind in ("true", "false"):
            return c.kind
        if c.kind == "open":
            return f"(= 1 {self.atom(c.of[0], copy, shared)})"      # type: ignore[arg-type]
        if c.kind in ("le", "eq"):
            op = "<=" if c.kind == "le" else "="
            return f"({op} {self.term(c.of[0], copy, shared)} 0)"   # type: ignore[arg-type]
        inner = " ".join(self.condition(part, copy, shared) for part in c.of)
        return f"({c.kind} {inner})"


def _int(value: int) -> str:
    return str(value) if value >= 0 else f"(- {-value})"


# ---- values of terms for given values of the variables, to check a counterexample ----


def evaluate(term: Term, values: "Mapping[Atom, int]") -> int:
    return term.constant + sum(factor * _atom_value(atom, values) for atom, factor in term.parts)


def _atom_value(atom: Atom, values: "Mapping[Atom, int]") -> int:
    if atom.kind == "var":
        return values.get(atom, atom.lo)
    if atom.kind == "ite":
        c, a, b = atom.of
        return evaluate(a if holds(c, values) else b, values)   # type: ignore[arg-type]
    a = evaluate(atom.of[0], values)    # type: ignore[arg-type]
    if atom.kind in ("div", "mod"):
        by = atom.of[1]
        assert isinstance(by, int)
        return a // by if atom.kind == "div" else a % by
    b = evaluate(atom.of[1], values)    # type: ignore[arg-type]
    if atom.kind == "quo":
        return a // b if b > 0 else 0
    return {"mul": a * b, "and": a & b, "or": a | b, "xor": a ^ b}[atom.kind]


def holds(c: object, values: "Mapping[Atom, int]") -> bool:
    assert isinstance(c, Condition)
    if c.kind in ("true", "false"):
        return c.kind == "true"
    if c.kind == "open":
        return values.get(c.of[0], 0) == 1      # type: ignore[call-overload]
    if c.kind == "le":
        return evaluate(c.of[0], values) <= 0   # type: ignore[arg-type]
    if c.kind == "eq":
        return evaluate(c.of[0], values) == 0   # type: ignore[arg-type]
    if c.kind == "not":
        return not holds(c.of[0], values)
    return (all if c.kind == "and" else any)(holds(part, values) for part in c.of)


def python(part: object, names: "Mapping[Atom, str]") -> str:
    """Return the text of a Python expression that computes a term or a condition. names: the Python names of the
    variables.
    """
    if isinstance(part, Term):
        words = [f"{factor} * {python(atom, names)}" for atom, factor in part.parts]
        return f"({' + '.join([*words, str(part.constant)])})"
    if isinstance(part, Atom):
        if part.kind == "var":
            return names[part]
        if part.kind == "ite":
            c, a, b = part.of
            return f"({python(a, names)} if {python(c, names)} else {python(b, names)})"
        a, b = (python(of, names) if isinstance(of, Term) else str(of) for of in part.of[:2])
        if part.kind == "quo":
            return f"({a} // {b} if {b} > 0 else 0)"
        return f"({a} {({'div': '//', 'mod': '%', 'mul': '*', 'and': '&', 'or': '|', 'xor': '^'})[part.kind]} {b})"
    assert isinstance(part, Condition)
    if part.kind in ("true", "false"):
        return part.kind.capitalize()
    if part.kind == "open":
        return f"({names[part.of[0]]} == 1)"    # type: ignore[index]
    if part.kind in ("le", "eq"):
        return f"({python(part.of[0], names)} {'<=' if part.kind == 'le' else '=='} 0)"
    if part.kind == "not":
        return f"(not {python(part.of[0], names)})"
    return f"({f' {part.kind} '.join(python(of, names) for of in part.of)})"


def each(atoms: "Iterable[Atom]", path: "Sequence[Condition]", value: "Optional[Term]") -> "Iterator[int]":
    """Yield the value of a term for all values of the variables for which the conditions hold. Without a term, yield
    0.
    """
    return _each(atoms, path, lambda names: python(value, names) if value is not None else "0")     # type: ignore[return-value]


def each_of(atoms: "Iterable[Atom]", path: "Sequence[Condition]", values: "Sequence[Term]") -> "Iterator[Tuple[int, ...]]":
    """Yield the values of several terms for all values of the variables for which the conditions hold."""
    return _each(atoms, path, lambda names: f"({' '.join(python(value, names) + ',' for value in values)})")     # type: ignore[return-value]


def _each(atoms: "Iterable[Atom]", path: "Sequence[Condition]", text: "Callable[[Mapping[Atom, str]], str]") -> "Iterator[object]":
    """Yield the value of a Python expression for all values of the variables for which the conditions hold.

    text: returns the expression, given the names of the variables.
    """
    ordered = sorted(atoms, key=lambda atom: atom.number)
    names = {atom: f"v{n}" for n, atom in enumerate(ordered)}
    lines, waiting = ["def each():"], list(path)
    for n in range(len(ordered) + 1):
        ready = [c for c in waiting if c.free <= set(ordered[:n])]
        waiting = [c for c in waiting if c not in ready]
        for c in ready:
            lines.append(" " * len(lines) + f"if {python(c, names)}:")
        if n < len(ordered):
            lines.append(" " * len(lines) + f"for {names[ordered[n]]} in range({ordered[n].lo}, {ordered[n].hi + 1}):")
    lines.append(" " * len(lines) + f"yield {text(names)}")
    scope: "Dict[str, Any]" = {}
    exec("\n".join(lines), scope)
    return scope["each"]()


def all_free(parts: "Iterable[object]") -> "Set[Atom]":
    return {atom for part in parts if isinstance(part, (Term, Condition)) for atom in part.free}


__all__ = ["Atom", "Condition", "FALSE", "ONE", "Printer", "Range", "TRUE", "Term", "ZERO", "all_free", "at_most", "bits",
           "both", "bounds", "chosen", "clear", "each", "each_of", "either", "equal", "evaluate", "fact", "holds", "less", "negated", "number", "of",
           "open_condition", "product", "quotient", "quotient_of", "remainder", "substituted", "truncated", "variable"]
