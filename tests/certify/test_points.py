"""Test the proofs about accesses that need no solver. They agree with plain loops over all steps, or over all pairs of
steps.
"""

from __future__ import annotations

import itertools
import random
from typing import Dict, List

import pytest

from gen.certify import queries, terms
from gen.certify.terms import Atom, Condition, Term
from gen.certify.text import Token
from gen.certify.values import Access, Memory

CASES = 400


def drawn_term(r: random.Random, variables: "List[Term]") -> Term:
    total = terms.number(r.randrange(4))
    for variable in variables:
        total = total + variable.times(r.randrange(5))
    kind = r.random()
    if kind < 0.3:
        return terms.remainder(total, r.randrange(2, 9))
    return terms.quotient(total, r.randrange(2, 5)) if kind < 0.5 else total


def meets(a: Access, b: Access, who: "List[Atom]", shared: "List[Atom]", phases: bool) -> bool:
    """Return true if two steps touch a common element with different values of `who` and the same values of `shared`."""
    def steps(access: Access) -> "List[Dict[Atom, int]]":
        atoms = list(terms.all_free([access.offset, access.phase, *access.path]))
        each = (dict(zip(atoms, values)) for values in itertools.product(*(range(atom.lo, atom.hi + 1) for atom in atoms)))
        return [at for at in each if all(terms.holds(c, at) for c in access.path)]

    def bytes_of(access: Access, at: "Dict[Atom, int]") -> "set[int]":
        begin = access.unit * terms.evaluate(access.offset, at)
        return set(range(begin, begin + access.unit * access.width))
    return any(bytes_of(a, one) & bytes_of(b, two) for one in steps(a) for two in steps(b)
               if any(one[atom] != two[atom] for atom in who)
               and all(one[atom] == two[atom] for atom in shared if atom in one and atom in two)
               and (not phases or terms.evaluate(a.phase, one) == terms.evaluate(b.phase, two)))


@pytest.mark.parametrize("phases", [False, True])
def test_agrees_with_loops(phases: bool) -> None:
    """For random offsets, widths, conditions and numbers of barriers, the answer is true if and only if plain loops
    find no common element. If an access does not depend on all variables of `who`, the answer is false.
    """
    r, memory, found = random.Random(phases), Memory("m", "global", 4096, 0), []     # type: random.Random, Memory, List[bool]
    for _ in range(CASES):
        group, item = (terms.variable(name, 0, r.randrange(1, 4), True) for name in ("group", "item"))
        same, step = terms.variable("same", 0, 1, True), terms.variable("step", 0, r.randrange(3), True)
        who = [of.parts[0][0] for of in ([group], [item], [group, item])[r.randrange(3)]]
        sides = []
        for write in (True, r.random() < 0.5):
            path: "List[Condition]" = [terms.at_most(item + group.times(r.randrange(2)) + same, terms.number(r.randrange(2, 8)))]
            offset = drawn_term(r, [group, item, same, step]) + drawn_term(r, [group, item])
            phase = step if r.random() < 0.3 else terms.number(r.randrange(2))
            sides.append(Access(memory, offset, r.choice([1, 1, 2, 4]), r.choice([1, 2, 4]), write, False, tuple(path), phase,
                                Token("name", "m", 1, 1)))
        a, b = sides[0], sides[r.random() < 0.6]
        shared = [same.parts[0][0]]
        apart = queries.apart_by_points(a, b, who, frozenset(shared), phases)
        found.append(apart)
        if all(atom in terms.all_free([access.offset, *access.path]) for access in (a, b) for atom in who):
            assert apart != meets(a, b, who, shared, phases), (a, b)
        else:
            assert not apart
    assert CASES // 20 < sum(found) < CASES


def test_many_points_are_not_computed() -> None:
    item = terms.variable("item", 0, queries.FEW_POINTS, True)
    access = Access(Memory("m", "global", 1 << 20, 0), item, 1, 4, True, False, (), terms.ZERO, Token("name", "m", 1, 1))
    assert not queries.apart_by_points(access, access, [item.parts[0][0]], frozenset(), False)


def drawn_digits(r: random.Random, of: Term) -> Term:
    """Return a random sum of multiples of the digits of a variable. Its strides may be too small to tell the digits."""
    total, by, most = terms.ZERO, 1, of.parts[0][0].hi + 1
    while by < most:
        step = r.choice([2, 2, 3, 4, 8])
        total = total + terms.modulo(terms.quotient(of, by), step).times(r.choice([1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64]))
        by *= step
    return total


def test_strides_agree_with_loops() -> None:
    """If strides decide that two accesses are apart, then plain loops find no common element. For offsets in digits, strides
    decide many of these cases.
    """
    r, memory = random.Random(7), Memory("m", "global", 4096, 0)
    found, possible = 0, 0
    for _ in range(CASES):
        group, item = (terms.variable(name, 0, r.choice([1, 2, 3, 5]), True) for name in ("group", "item"))
        same, step = terms.variable("same", 0, 1, True), terms.variable("step", 0, r.randrange(2), True)
        who = [of.parts[0][0] for of in ([], [group], [item], [group, item])[r.randrange(4)]]
        digits = drawn_digits(r, group) + drawn_digits(r, item) + step.times(r.choice([0, 1, 4]))
        sides = []
        for _side in range(2):
            offset = digits + same.times(r.choice([0, 1, 64])) + terms.number(r.choice([0, 0, 1, 128]))
            if r.random() < 0.2:
                offset = drawn_term(r, [group, item, same, step])
            sides.append(Access(memory, offset, r.choice([1, 1, 2]), r.choice([1, 2]), True, False, (), terms.ZERO, Token("name", "m", 1, 1)))
        a, b = sides[0], sides[r.random() < 0.6]
        apart = queries.apart_by_strides(a, b, set(who), {same.parts[0][0]})
        free = terms.all_free([a.offset]) & terms.all_free([b.offset])
        if who and free.issuperset(who):
            meet = meets(a, b, who, [same.parts[0][0]], False)
        else:    # a variable of `who` has any value in one of the accesses
            meet = overlaps(a, b, [same.parts[0][0]])
        assert not (apart and meet), (a, b, who)
        found, possible = found + apart, possible + (not meet)
    assert possible < CASES and found > possible // 2, (found, possible)


def overlaps(a: Access, b: Access, shared: "List[Atom]") -> bool:
    """Return true if some step of an access and some step of another one touch a common element."""
    other = terms.variable("other", 0, 1, True)
    one, two = (queries.replace(of, path=(*of.path, terms.equal(other, terms.number(value)))) for value, of in enumerate((a, b)))
    return meets(one, two, [other.parts[0][0]], shared, False)


def test_bits_of_a_variable() -> None:
    """Strides decide offsets that divide by a number that is no power of two, and remainders of quotients."""
    memory, item, group = Memory("m", "global", 1 << 20, 0), terms.variable("item", 0, 127, True), terms.variable("group", 0, 5000, True)
    for offset in (
        terms.modulo(item + terms.quotient(item, 16).times(4080), 16368),
        terms.modulo(terms.quotient(item, 4), 8).times(4) + terms.modulo(item, 4) + terms.quotient(item, 32).times(64),
    ):
        access = Access(memory, offset, 1, 4, True, False, (), terms.ZERO, Token("name", "m", 1, 1))
        assert queries.apart_by_strides(access, access, {item.parts[0][0]}, set()), offset
        wide = queries.replace(access, width=2)
        assert not queries.apart_by_strides(wide, wide, {item.parts[0][0]}, set()), offset
    nested = terms.quotient(group, 512).times(2048) + terms.modulo(terms.quotient(group, 32), 16) + terms.modulo(group, 32).times(16)
    access = Access(memory, nested, 1, 4, True, False, (), terms.ZERO, Token("name", "m", 1, 1))
    assert queries.apart_by_strides(access, access, {group.parts[0][0]}, set())


def test_ranges_agree_with_loops() -> None:
    """If interval arithmetic decides that a term stays within a range, then plain loops find no value outside of it."""
    r, found = random.Random(8), 0
    for _ in range(CASES):
        variables = [terms.variable("x", 0, r.randrange(1, 6), True) for _ in range(2)]
        term = drawn_term(r, variables) - drawn_term(r, variables[:1])
        path = [terms.at_most(variables[0], terms.number(r.randrange(4)))] if r.random() < 0.5 else []
        lo, hi = r.randrange(-8, 2), r.randrange(4, 30)
        values = list(terms.each(terms.all_free([term, *path]), path, term))
        within = terms.within(term, lo, hi, path)
        assert not within or all(lo <= value <= hi for value in values), (term, path, lo, hi)
        found += within
    assert CASES // 5 < found < CASES


def test_written_places_agree_with_loops() -> None:
    """The enumeration of written places, which writes the steps of two variables at once, finds the first element that
    plain loops leave unwritten.
    """
    r, memory, lacking = random.Random(9), Memory("m", "global", 4096, 0), 0
    for _ in range(CASES):
        variables = [terms.variable("x", r.randrange(2), r.randrange(2, 6), True) for _ in range(3)]
        writes = []
        for _access in range(r.randrange(1, 3)):
            offset = terms.number(r.randrange(-6, 3))
            for variable in variables:
                offset = offset + variable.times(r.choice([0, 1, 2, 3, 6, 12, -1]))
            if r.random() < 0.3:
                offset = offset + terms.quotient(variables[0], 2).times(r.randrange(5))
            path = (terms.at_most(variables[r.randrange(3)], terms.number(r.randrange(1, 5))),) if r.random() < 0.4 else ()
            writes.append(Access(memory, offset, r.choice([1, 1, 2, 4]), r.choice([1, 2]), True, False, path, terms.ZERO, Token("name", "m", 1, 1)))
        size = 2 * r.randrange(3, 30)
        unit = queries.gcd(*(a.unit for a in writes), size)
        written = {place for a in writes for first in terms.each(terms.all_free([a.offset, *a.path]), a.path, a.offset)
                   for place in range(first * (a.unit // unit), (first + a.width) * (a.unit // unit))}
        missing = next((n for n in range(size // unit) if n not in written), None)
        lacks, why = queries._enumerated(writes, size)
        assert lacks == (missing is not None) and (not lacks or f"element {missing} of" in why), (writes, size, why)
        lacking += lacks
    assert CASES // 10 < lacking < CASES * 9 // 10
