"""Functions with typed results for the commands of the library that are about maps."""

from __future__ import annotations

import functools
from typing import NamedTuple, Optional, Sequence

from gen.algebra.library import call


def numbers(values: Sequence[int]) -> str:
    """Return a list of numbers as one argument of a command."""
    return ",".join(map(str, values))


class Variable(NamedTuple):
    kind: str  # "dim", "range" or "rt" (a runtime variable)
    name: str
    lo: int
    hi: int


class Bounded(NamedTuple):
    """An expression of a map, the interval of its values, and the variables in it."""

    lo: int
    hi: int
    text: str
    variables: tuple[str, ...]


class Info(NamedTuple):
    variables: tuple[Variable, ...]
    results: tuple[Bounded, ...]
    constraints: tuple[Bounded, ...]

    def of_kind(self, kind: str) -> tuple[Variable, ...]:
        return tuple(v for v in self.variables if v.kind == kind)


class Access(NamedTuple):
    """The dependence of a result on one variable v: value(v) = value(lo) + stride * (v - lo). lo: the minimum of v.

    stride: None if the result is not such a function of v.
    align: a divisor of value(lo); 0 if value(lo) is always 0.
    """

    stride: Optional[int]
    align: int


class Division(NamedTuple):
    """A quotient or remainder in a map.

    divisor: the divisor; 0 if it is not a positive constant.
    variable: the variable of the dividend, if there is only one and the dividend is computed from it by multiplications
        and divisions by constants; else "".
    period: number of values of this variable after which the remainder repeats and the quotient has risen by a
        constant; 0 if variable is "".
    """

    divisor: int
    variable: str = ""
    period: int = 0

    @property
    def shifts(self) -> bool:
        """Return true if the divisor is a power of two, so that the C text uses a shift or a mask."""
        return self.divisor > 0 and self.divisor & (self.divisor - 1) == 0


class Guard(NamedTuple):
    variables: tuple[str, ...]
    lo: int
    hi: int
    text: str


class CText(NamedTuple):
    """The C expressions of a map. All of them are exact in the index type `type` (uint, int or long)."""

    type: str
    results: tuple[str, ...]
    constraints: tuple[str, ...]


def parse(text: str) -> str:
    return call("map", "parse", text)


def simplify(text: str) -> str:
    return call("map", "simplify", text)


def compose(first: str, second: str) -> str:
    return call("map", "compose", first, second)


def evaluate(text: str, *values: int) -> Optional[tuple[int, ...]]:
    """Return the results of a map at a point (dimensions, ranges, runtime variables), or None if the point is outside
    the domain.
    """
    answer = call("map", "eval", text, ",".join(map(str, values)))
    if answer == "outside":
        return None
    return tuple(int(word) for word in answer.split(",")) if answer else ()


def rename(text: str, *names: str) -> str:
    return call("map", "rename", text, ",".join(names))


def substitute(text: str, **values: int) -> str:
    """Return the map with constants in place of some variables."""
    return call("map", "substitute", text, ",".join(f"{name}={value}" for name, value in values.items()))


def ranges(text: str) -> tuple[tuple[int, int], ...]:
    """Return, for each result of a map, an interval that contains its values."""
    answer = call("map", "range", text)
    return tuple((int(lo), int(hi)) for lo, hi in (word.split(",") for word in answer.split("\t"))) if answer else ()


@functools.lru_cache(maxsize=65536)
def info(text: str) -> Info:
    variables: list[Variable] = []
    facts: dict[str, list[Bounded]] = {"result": [], "constraint": []}
    for line in call("map", "info", text).splitlines():
        word, rest = line.split(" ", 1)
        if word in ("dim", "range", "rt"):
            name, lo, hi = rest.split(" ")
            variables.append(Variable(word, name, int(lo), int(hi)))
        elif word in facts:
            bounds, names, expression = rest.split("\t")
            lo, hi = bounds.split(" ")
            facts[word].append(Bounded(int(lo), int(hi), expression, tuple(names.split(",")) if names else ()))
    return Info(tuple(variables), tuple(facts["result"]), tuple(facts["constraint"]))


def domain(text: str) -> tuple[tuple[Variable, ...], tuple[Bounded, ...]]:
    """Return the variables of a map with their bounds, and its constraints."""
    facts = info(text)
    return facts.variables, facts.constraints


def access(text: str, variable: str) -> tuple[Access, ...]:
    """Return an Access for each result: how it depends on a variable. The stride is 0 if it does not depend on the
    variable.
    """
    answers = []
    for word in call("map", "access", text, variable).split("\t"):
        if word.startswith("stride "):
            _, stride, _, align = word.split(" ")
            answers.append(Access(int(stride), int(align)))
        elif word:
            answers.append(Access(None, 1))
    return tuple(answers)


def divisions(text: str) -> tuple[Division, ...]:
    """Return the quotients and remainders that the results of a map contain."""
    lines = (line.split(" ") for line in call("map", "divisions", text).splitlines())
    return tuple(Division(0 if divisor == "-" else int(divisor), more[0] if more else "", int(more[1]) if more else 0)
                 for divisor, *more in lines)


def guards(text: str) -> tuple[Guard, ...]:
    """Return the constraints of a map that do not follow from the bounds of its variables."""
    answer = []
    for line in call("map", "guards", text).splitlines():
        names, rest = line.split("\t")
        lo, hi, expression = rest.split(" ", 2)
        answer.append(Guard(tuple(n for n in names.split(",") if n), int(lo), int(hi), expression))
    return tuple(answer)


def fits(text: str, type: str) -> bool:
    """Return true if the index type can hold all intermediate values of the map's C text."""
    return type in call("map", "fits", text).split()


def c_text(text: str, type: str = "", place: str = "") -> CText:
    """Return the map as C expressions.

    type: uint, int or long; it must be wide enough.
    place: the context of the results, which decides about parentheses: compared (next to <=), added (after `pointer
        +`), term (of a sum), factor.
    """
    lines = call("map", "c", text, *([type] if type else []), *([place] if place else [])).splitlines()
    results = tuple(line[len("result "):] for line in lines[1:] if line.startswith("result "))
    constraints = tuple(line[len("constraint "):] for line in lines[1:] if line.startswith("constraint "))
    return CText(lines[0], results, constraints)


def inverse(text: str) -> Optional[str]:
    """Return the inverse of a map that is a bijection onto a box, or None for other maps."""
    answer = call("map", "inverse", text)
    return None if answer.startswith("no") else answer


def indexing(opcode: str, operand: int, *words: str) -> tuple[str, tuple[tuple[int, str], ...]]:
    """Return the map from an op's index to an operand's index. Also return, for each runtime variable of this map, the
    number of the operand from which its value is read, and the map to the index in that operand.
    """
    index, _, *lines = call("op", opcode, str(operand), *words).splitlines()
    reads = (line.split(" ", 2) for line in lines)
    return index, tuple((int(number), at) for _, number, at in reads)


def shape(text: str) -> str:
    """Return a shape in canonical form."""
    return call("shape", text).split("\t")[0]


def strides(text: str) -> Optional[tuple[int, ...]]:
    """Return the stride of each dimension of a shape, in bytes; None if elements are not whole bytes at constant
    strides.
    """
    answer = call("shape", "strides", text)
    return None if answer.startswith("no") else _numbers(answer)


def tile(text: str) -> tuple[int, ...]:
    """Return the size of a shape's first tile along each dimension. Return ones if tiles change nothing, combine
    dimensions, or have more dimensions than the array."""
    return _numbers(call("shape", "tile", text))


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(word) for word in text.split(",") if word)
