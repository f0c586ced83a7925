"""Read the text of an indexing map and evaluate it, independently of the C headers (for tests only)."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Iterator, Optional

ROOT = Path(__file__).resolve().parent.parent
PEER = ROOT.parent / "shared" / "peer"

Index = tuple[int, ...]


def _names(text: Optional[str]) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()] if text else []


def _split(text: str) -> list[str]:
    """Return the parts between the commas that are outside brackets."""
    parts, depth, start = [], 0, 0
    for at, char in enumerate(text):
        depth += (char in "([") - (char in ")]")
        if char == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    return [part.strip() for part in [*parts, text[start:]] if part.strip()]


def _python(text: str) -> str:
    return text.replace("floordiv", "//").replace("mod", "%")


@dataclass
class Map:
    """A map as Python functions. `empty` is true if the text is KNOWN EMPTY."""

    empty: bool
    dims: list[str]
    ranges: list[str]
    bounds: dict[str, tuple[int, int]]
    results: object
    guards: list[tuple[object, int, int]]
    arity: int
    rts: list[str]

    def inside(self, values: dict[str, int]) -> bool:
        if any(not lo <= values[name] <= hi for name, (lo, hi) in self.bounds.items()):
            return False
        return all(lo <= eval(code, {}, values) <= hi for code, lo, hi in self.guards)

    def at(self, dims: Index, runtime: Optional[Callable[[Index, Index], Optional[Index]]] = None) -> Iterator[Index]:
        """Yield the results at one index, one for each value of the range variables. `runtime` returns the values of the
        runtime variables, or None where the map has no point.
        """
        if self.empty:
            return
        boxes = [range(self.bounds[name][0], self.bounds[name][1] + 1) for name in self.ranges]
        for ranges in itertools.product(*boxes):
            values = dict(zip(self.dims + self.ranges, (*dims, *ranges)))
            if self.rts:
                assert runtime is not None
                known = runtime(dims, ranges)
                if known is None:
                    continue
                values.update(zip(self.rts, known))
            if self.inside(values):
                yield eval(self.results, {}, values)


def read(text: str) -> Map:
    """Parse the text of a map, as `sett` prints maps."""
    if text == "KNOWN EMPTY":
        return Map(True, [], [], {}, None, [], 0, [])
    head = re.match(r"\(([^)]*)\)(?:\[([^\]]*)\])?(?:\{([^}]*)\})?\s*->\s*", text)
    assert head, text
    depth, at = 0, head.end()
    while True:
        depth += (text[at] == "(") - (text[at] == ")")
        at += 1
        if depth == 0:
            break
    results = _split(text[head.end() + 1 : at - 1])
    bounds, guards = {}, []
    domain = text[at:].strip()
    assert not domain or domain.startswith(", domain:"), text
    variables = _names(head[1]) + _names(head[2]) + _names(head[3])
    for part in _split(domain[len(", domain:") :]):
        found = re.fullmatch(r"(.*) in \[(-?\d+), (-?\d+)\]", part)
        assert found, part
        lo, hi = int(found[2]), int(found[3])
        if found[1] in variables:
            bounds[found[1]] = (lo, hi)
        else:
            guards.append((compile(_python(found[1]), text, "eval"), lo, hi))
    tuple_text = "(" + "".join(_python(result) + "," for result in results) + ")"
    return Map(False, _names(head[1]), _names(head[2]), bounds, compile(tuple_text, text, "eval"), guards, len(results), _names(head[3]))


def box(dims: Index) -> Iterator[Index]:
    """Yield all indices of an array, row-major."""
    return itertools.product(*(range(d) for d in dims))
