"""Test the proof that two accesses touch no common element, if it computes all touched elements. It agrees with plain
loops over all pairs of steps.
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
