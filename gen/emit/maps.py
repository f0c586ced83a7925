"""Maps as C text: the conditions under which a point lies in a map's domain, and the variables that they name."""

from __future__ import annotations

from typing import Dict, List, Set, Tuple

from gen import algebra


INDEX_TYPES = ("uint", "int", "long")


def conditions(index: str, box: "Dict[str, Tuple[int, int]]", index_type: str) -> List[str]:
    """What a point of a box must satisfy to lie in a map's domain, as C texts."""
    tests = []
    for v in algebra.info(index).variables:
        low, high = box[v.name]
        if v.lo > low and v.lo == v.hi:
            tests.append(f"{v.name} == {v.lo}")
            continue
        tests += [f"{v.name} >= {v.lo}"] * (v.lo > low) + [f"{v.name} <= {v.hi}"] * (v.hi < high)
    return tests + list(algebra.c_text(index, index_type).constraints)


def tested(index: str, box: "Dict[str, Tuple[int, int]]") -> "Set[str]":
    """The variables that those conditions name."""
    return {v.name for v in algebra.info(index).variables
            if (v.lo, v.hi) != box[v.name]} | {name for c in algebra.guards(index) for name in c.variables}
