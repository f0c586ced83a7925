"""C text of the conditions under which a point lies in the domain of a map."""

from __future__ import annotations

from typing import Dict, List, Sequence, Set, Tuple

from gen import algebra


INDEX_TYPES = ("uint", "int", "long")


def conditions(index: str, box: "Dict[str, Tuple[int, int]]", index_type: str) -> List[str]:
    """Return the conditions, as C text, under which a point in `box` lies in the domain of a map."""
    tests = []
    for v in algebra.info(index).variables:
        assert v.name in box, f"the box has no bounds of {v.name}: {index}"
        low, high = box[v.name]
        if v.lo > low and v.lo == v.hi:
            tests.append(f"{v.name} == {v.lo}")
            continue
        tests += [f"{v.name} >= {v.lo}"] * (v.lo > low) + [f"{v.name} <= {v.hi}"] * (v.hi < high)
    return tests + list(algebra.c_text(index, index_type).constraints)


def tested(index: str, box: "Dict[str, Tuple[int, int]]") -> "Set[str]":
    """Return the variables in the conditions that `conditions` returns."""
    return {v.name for v in algebra.info(index).variables
            if (v.lo, v.hi) != box[v.name]} | {name for c in algebra.guards(index) for name in c.variables}


def _boxed(index: str, box: "Dict[str, Tuple[int, int]]", result: str = "", guards: "Sequence[algebra.Guard]" = ()) -> str:
    """Return a map with the variables of `index`, the bounds in `box` and the given guards. Its only result is `result`
    ("": it has no result).
    """
    names = [v.name for v in algebra.info(index).variables]
    domain = [f"{name} in [{box[name][0]}, {box[name][1]}]" for name in names]
    domain += [f"{guard.text} in [{guard.lo}, {guard.hi}]" for guard in guards]
    return algebra.simplify(f"({', '.join(names)}) -> ({result}), domain: {', '.join(domain)}")


def narrowed(index: str, box: "Dict[str, Tuple[int, int]]") -> bool:
    """Return true if a variable of a map has tighter bounds than in `box`, and these bounds do not follow from the
    map's guards.
    """
    variables = algebra.info(index).variables
    if all((v.lo, v.hi) == box[v.name] for v in variables):
        return False
    return algebra.info(_boxed(index, box, guards=algebra.guards(index))).variables != variables


def guarded(index: str, box: "Dict[str, Tuple[int, int]]", index_type: str) -> List[str]:
    """Return the conditions of a map's guards as C text, without the conditions of variables' bounds."""
    tests = []
    for guard in algebra.guards(index):
        value = _boxed(index, box, guard.text)
        (text,), (result,) = algebra.c_text(value, index_type, "compared").results, algebra.info(value).results
        if guard.lo == guard.hi:
            tests.append(f"{text} == {guard.lo}")
            continue
        tests += [f"{guard.lo} <= {text}"] * (guard.lo > result.lo) + [f"{text} <= {guard.hi}"] * (guard.hi < result.hi)
    return tests
