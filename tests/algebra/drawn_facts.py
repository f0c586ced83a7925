"""Random facts about maps with symbols. A map and a fact have a text, values computed in Python, and z3's answer to
compare with.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any, Callable, Union

Tree = Union[int, str, "tuple[str, Any, Any]"]
CLASSES = ("linear", "quotients", "products", "choices", "divisors", "mixed")
OPERATORS = {"linear": ["+", "-", "k*"], "quotients": ["+", "-", "k*", "floordiv", "mod", "ceildiv"], "products": ["+", "-", "k*", "*"],
             "choices": ["+", "-", "k*", "min", "max"], "divisors": ["+", "-", "*", "floordiv n", "mod n"],
             "mixed": ["+", "-", "k*", "*", "floordiv", "mod", "ceildiv", "min", "max", "floordiv n", "mod n"]}
SYMBOLS = ("n", "m")


def floor(a: int, b: int) -> int:
    return a // b


VALUES: "dict[str, Callable[[int, int], int]]" = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "floordiv": floor, "mod": lambda a, b: a % b,
    "ceildiv": lambda a, b: -(-a // b), "min": min, "max": max}


def value(tree: Tree, point: "dict[str, int]") -> int:
    """Return the value at a point. Raise ZeroDivisionError if there is no value."""
    if isinstance(tree, int):
        return tree
    if isinstance(tree, str):
        return point[tree]
    return VALUES[tree[0]](value(tree[1], point), value(tree[2], point))


def text(tree: Tree) -> str:
    if isinstance(tree, (int, str)):
        return str(tree) if isinstance(tree, str) or tree >= 0 else f"({tree})"
    if tree[0] in ("min", "max"):
        return f"{tree[0]}({text(tree[1])}, {text(tree[2])})"
    return f"({text(tree[1])} {tree[0]} {text(tree[2])})"


@dataclass
class Fact:
    """The fact `a RELATION b`. RELATION is <=, <, =, >=, > or divides."""
    relation: str
    a: Tree
    b: Tree

    def text(self) -> str:
        return f"{text(self.a)} {self.relation} {text(self.b)}"

    def holds(self, point: "dict[str, int]") -> bool:
        a, b = value(self.a, point), value(self.b, point)
        if self.relation == "divides":
            return b == 0 if a == 0 else b % a == 0
        return {"<=": a <= b, "<": a < b, "=": a == b, ">=": a >= b, ">": a > b}[self.relation]


@dataclass
class Question:
    kind: str
    bounds: "dict[str, tuple[int | None, int | None]]"
    domain: "list[Fact]"
    fact: Fact

    def map_text(self) -> str:
        dims = [name for name in self.bounds if name not in SYMBOLS]
        symbols = [name for name in self.bounds if name in SYMBOLS]
        ends = [f"{name} in [{'-inf' if lo is None else lo}, {'inf' if hi is None else hi}]" for name, (lo, hi) in self.bounds.items()]
        return f"({', '.join(dims)})[{', '.join(symbols)}] -> (), domain: {', '.join(ends + [fact.text() for fact in self.domain])}"

    def inside(self, point: "dict[str, int]") -> bool:
        """Return 1 if the point is in the domain. A constraint without a value (division by 0) puts the point outside.
        """
        for name, (lo, hi) in self.bounds.items():
            if (lo is not None and point[name] < lo) or (hi is not None and point[name] > hi):
                return False
        try:
            return all(fact.holds(point) for fact in self.domain)
        except ZeroDivisionError:
            return False


def draw_tree(rng: random.Random, kind: str, names: "list[str]", depth: int) -> Tree:
    if not depth or rng.random() < 0.15:
        return rng.choice(names) if rng.random() < 0.85 else rng.choice([0, 1, 2, 3, 4, 8, -1])
    op = rng.choice(OPERATORS[kind])
    a = draw_tree(rng, kind, names, depth - 1)
    if op == "k*":
        return ("*", a, rng.choice([2, 3, 4, 8, -1, -2, 16, 5]))
    if op in ("floordiv", "mod", "ceildiv"):
        return (op, a, rng.choice([2, 3, 4, 8, 16, 5, 6]))
    if op in ("floordiv n", "mod n"):
        return (op.split()[0], a, rng.choice([name for name in names if name in SYMBOLS]))
    return (op, a, draw_tree(rng, kind, names, depth - 1))


def draw(rng: random.Random, kind: str, small: bool = False) -> Question:
    """Return a random map and fact. If `small`, every variable has bounds, so that the domain can be enumerated."""
    names = ["d0", "d1"][:rng.randint(1, 2)] + list(SYMBOLS)[:rng.randint(1, 2)]
    bounds: "dict[str, tuple[int | None, int | None]]" = {}
    for name in names:
        if small:
            lo = rng.choice([0, 1, -3]) if name not in SYMBOLS else rng.choice([1, 1, 1, 0, -2])
            bounds[name] = (lo, lo + rng.randint(1, 9))
        elif name in SYMBOLS:
            bounds[name] = rng.choice([(1, None), (1, None), (0, None), (None, None), (1, 1000)])
        else:
            bounds[name] = rng.choice([(0, None), (0, None), (None, None), (0, 63), (-5, 1000)])
    domain = []
    for name in names[:-1]:
        if name not in SYMBOLS and rng.random() < 0.7:
            domain.append(Fact("<", name, rng.choice([s for s in names if s in SYMBOLS])))
    if rng.random() < 0.4:
        domain.append(Fact("divides", rng.choice([2, 4, 8, 3]), rng.choice([s for s in names if s in SYMBOLS])))
    if rng.random() < 0.2:
        domain.append(Fact(rng.choice(["<=", "=", ">="]), draw_tree(rng, kind, names, 1), draw_tree(rng, kind, names, 1)))
    question = Question(kind, bounds, domain, Fact("=", 0, 0))
    relation = rng.choice(["<=", "<", "=", ">=", ">", "divides", "<=", ">="])
    a, b = draw_tree(rng, kind, names, 2), draw_tree(rng, kind, names, 2)
    if relation == "divides":
        a = rng.choice([2, 3, 4, 8]) if rng.random() < 0.7 else rng.choice([s for s in names if s in SYMBOLS])
    elif relation != "=" and rng.random() < 0.7:    # add a constant with which the relation just holds at all drawn points, or just fails
        least = None
        for _ in range(200):
            point = draw_point(rng, question)
            try:
                if question.inside(point):
                    off = (value(b, point) - value(a, point)) * (1 if relation[0] == "<" else -1)
                    least = off if least is None else min(least, off)
            except ZeroDivisionError:
                pass
        if least is not None and abs(least) < 10 ** 6:
            shift = (least - ("=" not in relation) + rng.choice([0, 0, 0, 1])) * (1 if relation[0] == "<" else -1)
            a = ("+", a, shift) if shift else a
    question.fact = Fact(relation, a, b)
    return question


def draw_point(rng: random.Random, question: Question) -> "dict[str, int]":
    point = {}
    for name, (lo, hi) in question.bounds.items():
        lo, hi = -20 if lo is None else lo, (40 if lo is None else lo + 60) if hi is None else hi
        point[name] = rng.choice([lo, hi, rng.randint(lo, hi), rng.randint(lo, min(hi, lo + 9)), 8 * rng.randint(lo // 8, hi // 8)])
    return point


def ask_z3(question: Question, milliseconds: int) -> str:
    """Return z3's answer over all integers: "yes", "no", "unknown", or "undefined" if the fact is nowhere false but
    somewhere has no value.
    """
    import z3
    variables = {name: z3.Int(name) for name in question.bounds}
    defined: "list[Any]" = []

    def term(tree: Tree) -> Any:
        if isinstance(tree, int):
            return z3.IntVal(tree)
        if isinstance(tree, str):
            return variables[tree]
        a, b = term(tree[1]), term(tree[2])
        if tree[0] in ("floordiv", "mod", "ceildiv"):
            if not isinstance(tree[2], int):
                defined.append(b != 0)
            # z3's mod is never negative
            if tree[0] == "ceildiv":
                a = -a
            quotient = a / b if isinstance(tree[2], int) and tree[2] > 0 else z3.If(b > 0, a / b, -a / -b)
            return quotient if tree[0] == "floordiv" else -quotient if tree[0] == "ceildiv" else a - b * quotient
        if tree[0] == "min":
            return z3.If(a <= b, a, b)
        if tree[0] == "max":
            return z3.If(a >= b, a, b)
        return {"+": a + b, "-": a - b, "*": a * b}[tree[0]]

    def formula(fact: Fact) -> Any:
        a, b = term(fact.a), term(fact.b)
        if fact.relation == "divides":
            return b % a == 0 if isinstance(fact.a, int) else z3.If(a == 0, b == 0, b % a == 0)
        return {"<=": a <= b, "<": a < b, "=": a == b, ">=": a >= b, ">": a > b}[fact.relation]

    solver = z3.Solver()
    solver.set("timeout", milliseconds)
    for name, (lo, hi) in question.bounds.items():
        if lo is not None:
            solver.add(variables[name] >= lo)
        if hi is not None:
            solver.add(variables[name] <= hi)
    for fact in question.domain:
        solver.add(formula(fact))
    solver.add(*defined)
    defined.clear()
    holds = formula(question.fact)
    solver.push()
    solver.add(z3.Not(holds), *defined)
    answer = solver.check()
    solver.pop()
    if answer == z3.unsat and defined:
        solver.add(z3.Not(z3.And(*defined)))
        answer = solver.check()
        return "undefined" if answer == z3.sat else "yes" if answer == z3.unsat else "unknown"
    return "yes" if answer == z3.unsat else "no" if answer == z3.sat else "unknown"
