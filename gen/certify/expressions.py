"""Expressions of values: for each byte of a value, the elements in memory from which it is computed.

An expression is a tree whose leaves are reads of memory, indices and constants. It stands for the bytes of a value,
and has a size in bytes. Operations that only move bytes are followed exactly: loads of wide words, unions, shifts by
whole bytes, masks of bytes. So for each byte of a result, it is known which read it comes from, and which byte it is
there. Arithmetic is not interpreted: an expression records the operation and its operands.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Set, Tuple

from gen.certify import terms
from gen.certify.terms import ZERO, Atom, Condition, Term, number

MOST_NODES = 40_000  # maximum number of distinct parts of an expression that `Reads` visits


class Expression:
    """A value of `size` bytes. For each kind, the types of the parts and their meaning:

    read        Memory, Term, Term: bytes of a memory. The terms are the byte offset, and the number of barriers before
                the read.
    index       Term: an integer that ids and steps determine, modulo 2^(8 * size)
    number      str: a floating-point constant, as the text writes it
    apply       str, Expression ..: an operation, and its operands
    if          Condition, Expression, Expression: the first value if the condition holds, else the second
    part        Expression, int: bytes of another value, from this byte on
    join        Expression ..: the concatenation of values, the lowest bytes first
    carried     object, Atom: the value that a variable has at the beginning of a step of a loop. The object is the
                variable, the atom is the step.
    fold        Expression, (Atom ..), Expression ..: the result of a loop or reduction. Its start is the first value.
                It then combines the other values, for all values of the atoms in their ranges. Nothing is known about
                how it combines them.
    lost        str: a value that the walk does not follow. The text is the reason.

    following.py makes two more kinds, loop and shuffle. Its reads have a Moment instead of the number of barriers.
    """

    __slots__ = ("kind", "parts", "size")
    kind: str
    size: int
    parts: "Tuple[Any, ...]"
    _known: "Dict[Tuple[Any, ...], Expression]" = {}

    def __new__(cls, kind: str, size: int, *parts: "Any") -> "Expression":
        """Return the expression with these parts. Equal expressions are the same object."""
        key = kind, size, parts
        if key not in cls._known:
            made = cls._known[key] = super().__new__(cls)
            made.kind, made.size, made.parts = key
        return cls._known[key]

    @classmethod
    def clear(cls) -> None:
        """Forget all expressions. This is called between programs."""
        cls._known.clear()

    def __repr__(self) -> str:
        inner = ", ".join(map(repr, self.parts))
        return f"{self.kind}{self.size}({inner})"


def lost(reason: str, size: int) -> Expression:
    return Expression("lost", size, reason)


def index(term: Term, size: int) -> Expression:
    if term.is_constant:
        term = number(term.constant % (1 << 8 * size))
    return Expression("index", size, term)


def read(memory: object, offset: Term, size: int, phase: Term = ZERO) -> Expression:
    return Expression("read", size, memory, offset, phase)


def apply(name: str, size: int, *of: Expression) -> Expression:
    return Expression("apply", size, name, *of)


def either(condition: Condition, a: Expression, b: Expression) -> Expression:
    """Return the value that is `a` if the condition holds, and `b` otherwise."""
    if a == b or condition.kind == "true":
        return a
    if condition.kind == "false":
        return b
    if a.size != b.size:
        return lost("values of two sizes", max(a.size, b.size))
    return Expression("if", a.size, condition, a, b)


# ---- bytes ----

_Byte = Tuple[Any, ...]


def _bytes(of: Expression) -> "List[_Byte]":
    kind, parts = of.kind, of.parts
    if kind == "read":
        return [("read", parts[0], parts[1] + number(n), parts[2]) for n in range(of.size)]
    if kind == "index" and parts[0].is_constant:
        return [("byte", parts[0].constant >> 8 * n & 255) for n in range(of.size)]
    if kind == "part":
        return [("part", parts[0], parts[1] + n) for n in range(of.size)]
    if kind == "join":
        return [byte for part in parts for byte in _bytes(part)]
    return [("part", of, n) for n in range(of.size)]


def _joined(bytes_of: "Sequence[_Byte]") -> Expression:
    """Return the value with these bytes. Adjacent bytes of the same value become one part."""
    groups: "List[List[_Byte]]" = []
    for byte in bytes_of:
        if groups and _follows(groups[-1][-1], byte):
            groups[-1].append(byte)
        else:
            groups.append([byte])
    made: "List[Expression]" = []
    for group in groups:
        first, size = group[0], len(group)
        if first[0] == "read":
            made.append(read(first[1], first[2], size, first[3]))
        elif first[0] == "byte":
            made.append(index(number(sum(byte[1] << 8 * n for n, byte in enumerate(group))), size))
        elif first[2] == 0 and size == first[1].size:
            made.append(first[1])
        else:
            made.append(_part(first[1], first[2], size))
    return made[0] if len(made) == 1 else Expression("join", len(bytes_of), *made)


def _follows(a: _Byte, b: _Byte) -> bool:
    if a[0] != b[0]:
        return False
    if a[0] == "read":
        return a[1] is b[1] and a[3] == b[3] and b[2] - a[2] == terms.ONE
    return a[0] == "byte" or a[1] == b[1] and b[2] == a[2] + 1


def _part(of: Expression, first: int, size: int) -> Expression:
    if of.kind == "if":
        condition, a, b = of.parts
        return either(condition, part(a, first, size), part(b, first, size))
    if of.kind == "lost":
        return lost(of.parts[0], size)
    if of.kind == "index" and first == 0:
        return index(of.parts[0], size)
    return Expression("part", size, of, first)


def part(of: Expression, first: int, size: int) -> Expression:
    """Return `size` bytes of a value, from byte `first` on."""
    if first == 0 and size == of.size:
        return of
    if first + size > of.size:
        return lost("bytes beside a value", size)
    return _joined(_bytes(of)[first : first + size])


def join(parts: "Sequence[Expression]") -> Expression:
    """Return the concatenation of the bytes of values. The first value has the lowest bytes."""
    return _joined([byte for of in parts for byte in _bytes(of)])


def resized(of: Expression, size: int, signed: bool) -> Expression:
    """Return an integer converted to a size. signed: true if the integer's own type is signed, so that the sign is
    extended.
    """
    if size == of.size:
        return of
    if of.kind == "lost":
        return lost(of.parts[0], size)
    if of.kind == "index" and size < of.size:
        return index(of.parts[0], size)
    if size < of.size:
        return part(of, 0, size)
    if of.kind == "if":
        return either(of.parts[0], resized(of.parts[1], size, signed), resized(of.parts[2], size, signed))
    if signed:
        if of.kind == "index" and of.parts[0].is_constant:
            value = of.parts[0].constant
            return index(number(value - (1 << 8 * of.size) if value >> 8 * of.size - 1 else value), size)
        return apply("extend", size, of)
    return _joined(_bytes(of) + [("byte", 0)] * (size - of.size))


def shifted(of: Expression, by: int, signed: bool) -> Expression:
    """Return a value shifted by `by` bits: to the left if `by` is positive, else to the right. signed: a right shift
    copies the sign bit.
    """
    if by == 0:
        return of
    if by % 8 == 0 and (by > 0 or not signed):
        own, zeros = _bytes(of), [("byte", 0)] * (abs(by) // 8)
        return _joined((zeros + own)[: of.size] if by > 0 else (own + zeros)[-of.size :])
    return apply("<<" if by > 0 else ">>", of.size, of, index(number(abs(by)), 4))


def bitwise(op: str, a: Expression, b: Expression) -> Expression:
    """Return a & b, a | b or a ^ b; "+" is a sum of numbers that have no common bit. If each byte of the result is a
    constant or a byte of an operand, the result consists of these bytes.
    """
    if a.size != b.size or "lost" in (a.kind, b.kind):
        return apply(op, a.size, a, b)
    if a.kind == "if" and b.kind == "if" and a.parts[0] == b.parts[0]:
        return either(a.parts[0], bitwise(op, a.parts[1], b.parts[1]), bitwise(op, a.parts[2], b.parts[2]))
    for mask, other in ((a, b), (b, a)):
        if is_mask(mask):
            return either(mask.parts[0], bitwise(op, mask.parts[1], other), bitwise(op, mask.parts[2], other))
    made: "List[_Byte]" = []
    for x, y in zip(_bytes(a), _bytes(b)):
        if y[0] != "byte":
            x, y = y, x
        if y[0] != "byte":
            return apply(op, a.size, a, b)
        if op == "&" and y[1] in (0, 255):
            made.append(x if y[1] else ("byte", 0))
        elif op in ("|", "^", "+") and y[1] == 0:
            made.append(x)
        elif x[0] == "byte" and op in ("&", "|", "^"):
            made.append(("byte", x[1] & y[1] if op == "&" else x[1] | y[1] if op == "|" else x[1] ^ y[1]))
        else:
            return apply(op, a.size, a, b)
    return _joined(made)


def is_mask(of: Expression) -> bool:
    """Return true if the value is a choice between two integer constants."""
    return of.kind == "if" and all(side.kind == "index" and side.parts[0].is_constant for side in of.parts[1:])


def inverted(of: Expression) -> Expression:
    """Return the value with all bits inverted."""
    if is_mask(of):
        return either(of.parts[0], inverted(of.parts[1]), inverted(of.parts[2]))
    if of.kind == "index" and of.parts[0].is_constant:
        return index(number(~of.parts[0].constant), of.size)
    return apply("~", of.size, of)


# ---- what an expression reads ----


class Reads:
    """Collects the reads in expressions. Each comes with the condition under which the value depends on it.

    of_atom: for each variable that stands for an integer from memory, the integer's expression.
    lost: the reason why reads may be missing, or "".
    rough: true if some reads may not influence the value, because a mask of bits or of lanes hides them.
    passed: a function of a read. If kernels write the memory, it returns the values that the read may return, each with
        its condition. For other memory it returns None.
    ends: for a variable that a loop changes, its values before the loop and at the end of a step.
    """

    def __init__(
        self,
        of_atom: "Dict[Atom, Expression]",
        passed: "Any" = None,
        ends: "Optional[Dict[Expression, Tuple[Expression, Expression]]]" = None,
    ) -> None:
        self.of_atom, self.passed, self.ends = of_atom, passed, ends or {}
        self.found: "Dict[Tuple[Expression, Condition, Bound], None]" = {}
        self.lost, self.rough = "", False
        self.seen: "Set[Tuple[Expression, Condition, Bound]]" = set()

    def add(self, of: Expression, under: Condition = terms.TRUE) -> None:
        waiting: "List[Tuple[Expression, Condition, Bound]]" = [(of, under, ())]
        while waiting:
            each, condition, bound = waiting.pop()
            if (each, condition, bound) in self.seen:
                continue
            self.seen.add((each, condition, bound))
            if len(self.seen) > MOST_NODES:
                self.lost = self.lost or "a value of too many parts"
                return
            kind, parts = each.kind, each.parts

            def wait(*of: Expression, under: Condition = condition, bound: Bound = bound) -> None:
                waiting.extend((one, under, bound) for one in of)

            if kind == "read":
                values = self.passed(each) if self.passed is not None else None
                if values is None:
                    self.found[each, condition, bound] = None
                elif bound:
                    self.lost = self.lost or "a reduction of values that pass through memory"
                else:
                    for way, value in values:
                        wait(value, under=terms.both(condition, way))
                wait(*self._integers(parts[1]))
            elif kind == "index":
                wait(*self._integers(parts[0]))
            elif kind == "apply":
                self.rough |= (
                    parts[0] == "select"
                    and parts[1].kind == "apply"
                    and parts[1].parts[0] in ("mask", "~")
                    or parts[0] in ("&", "|", "^")
                    and any(p.kind == "apply" and p.parts[0] in ("mask", "~") for p in parts[1:])
                )
                wait(*parts[1:])
            elif kind == "if":
                choice, a, b = parts
                wait(*self._integers(choice))
                for side, other, holds in ((a, b, choice), (b, a, terms.negated(choice))):
                    # one alternative is an operation on the other alternative's value. This value is read in either
                    # case. The operation's other operands are read only if the operation is chosen
                    if side.kind == "apply" and other in side.parts:
                        wait(other)
                        rest = [part for part in side.parts[1:] if part is not other]
                        wait(*rest, under=terms.both(condition, certain(holds, self.of_atom)))
                        break
                else:
                    wait(a, under=terms.both(condition, certain(choice, self.of_atom)))
                    wait(b, under=terms.both(condition, certain(terms.negated(choice), self.of_atom)))
            elif kind == "part":
                wait(parts[0])
            elif kind == "join":
                wait(*parts)
            elif kind == "fold":
                wait(parts[0])
                wait(*parts[2:], bound=(*bound, *parts[1]))
            elif kind == "carried":
                if parts[1] in bound and each in self.ends:
                    wait(*self.ends[each])
                else:
                    self.lost = self.lost or "a value that a loop changes"
            elif kind == "lost":
                self.lost = self.lost or parts[0]

    def _integers(self, of: "Any") -> "List[Expression]":
        """Return the values of the integers from memory that occur in a term or a condition."""
        found = []
        for atom in sorted(of.free, key=lambda a: a.number):
            if atom in self.of_atom:
                found.append(self.of_atom[atom])
            elif not atom.known:
                self.lost = self.lost or "an integer that the walk does not follow"
        return found


Bound = Tuple[Atom, ...]  # the loop variables of the reductions that contain a read, the outermost first


def is_decided(atom: Atom, of_atom: "Dict[Atom, Expression]") -> bool:
    """Return true for a variable that is determined by ids and steps, or that is an integer in memory."""
    return atom.known or atom in of_atom and of_atom[atom].kind == "read"


def certain(condition: Condition, of_atom: "Dict[Atom, Expression]") -> Condition:
    """Return the parts of a condition, joined by `and`, that depend only on ids, steps of loops and integers in memory.
    The condition implies them.
    """
    if all(is_decided(atom, of_atom) for atom in condition.free):
        return condition
    if condition.kind == "and":
        return terms.both(*(certain(part, of_atom) for part in condition.of))  # type: ignore[arg-type]
    return terms.TRUE


__all__ = [
    "Expression",
    "Reads",
    "apply",
    "bitwise",
    "certain",
    "either",
    "index",
    "inverted",
    "is_decided",
    "is_mask",
    "join",
    "lost",
    "part",
    "read",
    "resized",
    "shifted",
]
