"""Compare random maps with their simplified texts by isl and z3. The maps are a sample of those that
indexing_map_property_test.c draws, with minima, maxima, products and symbolic divisors.

isl takes only maps with constant divisors in which each product has a constant factor; z3 takes all maps. A
comparison that runs out of time is counted and otherwise ignored. `ninja test-maps` compares more maps (SETT_SEED,
SETT_COUNT).
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
from pathlib import Path
from typing import Any, Optional

import pytest

from gen import algebra
from test_indexing_map import Map
from test_indexing_map_isl import ask, isl, isl_map

try:
    import z3
except ImportError:
    z3 = None

ROOT = Path(__file__).resolve().parents[2]
SEED = os.environ.get("SETT_SEED", "7")
COUNT = int(os.environ.get("SETT_COUNT", "200"))
Z3_MILLISECONDS = 500   # z3's time limit for one map


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> "list[tuple[str, str]]":
    """Return random maps, each with its simplified text."""
    program = tmp_path_factory.mktemp("drawn") / "drawn"
    subprocess.run([os.environ.get("CC", "cc"), "-O0", str(ROOT / "tests/algebra/indexing_map_property_test.c"), "-o", str(program)], check=True)
    texts = subprocess.run([program, "texts", SEED, str(COUNT)], check=True, capture_output=True, text=True).stdout.splitlines()
    assert len(texts) == COUNT
    made = []
    for text in texts:
        try:
            made.append((text, algebra.simplify(text)))
        except algebra.AlgebraError as error:  # the expression has no value at any point
            assert "division by zero" in str(error), (text, error)
    return made


@pytest.mark.skipif(isl is None, reason="islpy is not installed: expected `pip install islpy`")
def test_isl_agrees(drawn: "list[tuple[str, str]]") -> None:
    same = late = 0
    for text, simple in drawn:
        m = Map(text)

        def answer() -> bool:
            return bool(isl_map(text, m.names, len(m.results)).is_equal(isl_map(simple, m.names, len(m.results))))

        try:
            equal = ask(answer)
        except ValueError:  # not affine
            continue
        assert equal is not False, (text, simple)
        same += equal is True
        late += equal is None
    print(f"isl: {same} of {len(drawn)} maps equal what they were, {late} took too long, the others are not affine")
    assert same > COUNT // 3 and late < COUNT // 10


# ---------------------------------------------------------------- z3

class Reader:
    """Read expressions over integer variables. `divisors` collects the divisors of all expressions read since the list
    was last cleared.
    """

    def __init__(self, names: "list[str]"):
        self.variables = {name: z3.Int(name) for name in names}
        self.divisors: "list[Any]" = []

    def read(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Constant):
            return z3.IntVal(node.value)
        if isinstance(node, ast.Name):
            return self.variables[node.id]
        if isinstance(node, ast.UnaryOp):
            return -self.read(node.operand)
        if isinstance(node, ast.Call):
            first, *rest = map(self.read, node.args)
            for part in rest:
                first = z3.If(first <= part if node.func.id == "min" else first >= part, first, part)
            return first
        a, b = self.read(node.left), self.read(node.right)
        if isinstance(node.op, ast.Add):
            return a + b
        if isinstance(node.op, ast.Sub):
            return a - b
        if isinstance(node.op, ast.Mult):
            return a * b
        self.divisors.append(b)
        # SMT-LIB's div rounds down where the divisor is positive
        quotient = z3.If(b > 0, a / b, (-a) / (-b)) if not isinstance(node.op, ast.MatMult) else -z3.If(b > 0, (-a) / b, a / (-b))
        return a - b * quotient if isinstance(node.op, ast.Mod) else quotient

    def text(self, text: str) -> "tuple[Any, Any]":
        """Return z3's term for an expression, and the condition under which the expression has a value: none of its
        divisors is 0.
        """
        self.divisors = []
        for word, sign in (("floordiv", "//"), ("ceildiv", "@"), ("mod", "%")):
            text = text.replace(word, sign)
        value = self.read(ast.parse(text, mode="eval").body)
        return value, z3.And([divisor != 0 for divisor in self.divisors])


def differs(text: str, simple: str) -> Optional[str]:
    """Return, as text, a point where the simplified text differs from the map. Points where the map has no value are
    ignored. The result is "" if there is no such point, and None if z3 cannot decide.
    """
    m, other = Map(text), Map(simple)
    reader = Reader(m.names)

    def meaning(written: Map) -> "tuple[Any, Any, list[Any]]":
        """Return three things: the condition that a point is inside and has values, the condition that it is outside,
        and the values.
        """
        if written.empty:
            return z3.BoolVal(False), z3.BoolVal(True), []
        tests = [z3.And(lo <= reader.variables[name], reader.variables[name] <= hi) for name, (lo, hi) in written.bounds.items()]
        inside, outside = list(tests), [z3.Not(test) for test in tests]
        for expression, lo, hi in written.constraints:
            value, valid = reader.text(expression)
            holds = z3.And(lo <= value, value <= hi)
            inside += [valid, holds]
            outside.append(z3.And(valid, z3.Not(holds)))
        values = []
        for result in written.results:
            value, valid = reader.text(result)
            inside.append(valid)
            values.append(value)
        return z3.And(inside), z3.Or(outside), values

    inside, outside, values = meaning(m)
    inside_too, outside_too, others = meaning(other)
    equal = z3.And([a == b for a, b in zip(values, others)])
    solver = z3.Solver()
    solver.set("timeout", Z3_MILLISECONDS)
    solver.add(z3.Or(z3.And(inside, z3.Not(z3.And(inside_too, equal))), z3.And(outside, z3.Not(outside_too))))
    # all points outside both boxes are outside both maps, so it is enough to search one point beyond each bound
    solver.add([z3.And(lo - 1 <= reader.variables[name], reader.variables[name] <= hi + 1) for name, (lo, hi) in m.bounds.items()])
    answer = solver.check()
    return "" if answer == z3.unsat else str(solver.model()) if answer == z3.sat else None


@pytest.mark.skipif(z3 is None, reason="z3 is not installed: expected `pip install z3-solver`")
def test_z3_agrees(drawn: "list[tuple[str, str]]") -> None:
    same = late = divided = 0
    for text, simple in drawn[:COUNT // 2]:
        point = differs(text, simple)
        assert not point, (text, simple, point)
        same += point == ""
        late += point is None
        divided += point == "" and bool(re.search(r"(floordiv|mod|ceildiv) (\(*d|max)", text))
    print(f"z3: {same} of {len(drawn)} maps equal what they were, {divided} of them with divisors that are expressions, {late} took too long")
    assert same > len(drawn[:COUNT // 2]) // 2 and divided


@pytest.mark.skipif(z3 is None, reason="z3 is not installed: expected `pip install z3-solver`")
def test_z3_finds_differences() -> None:
    """z3 finds a difference if the second text has one wrong value, one wrong point of the domain, or a divisor that may be 0."""
    for text, other in (("(d0, d1) -> (d0 floordiv d1), domain: d0 in [-9, 9], d1 in [-3, 3]", "(d0, d1) -> (d0 ceildiv d1), domain: d0 in [-9, 9], d1 in [-3, 3]"),
                        ("(d0) -> (min(d0, 3)), domain: d0 in [0, 9], d0 mod 2 in [0, 0]", "(d0) -> (min(d0, 3)), domain: d0 in [0, 8]"),
                        ("(d0, d1) -> (d0 * d1), domain: d0 in [0, 9], d1 in [0, 3]", "(d0, d1) -> (d0 * d1 + d0 mod d1 - d0 mod d1), domain: d0 in [0, 9], d1 in [0, 3]")):
        assert differs(text, other), (text, other)
        assert differs(text, text) == ""
