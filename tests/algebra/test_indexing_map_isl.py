"""A second oracle for maps: isl (PyPI: islpy) decides whether a map and its simplified text have the same domain and
values, on boxes too large to enumerate.

The maps here are affine (their divisors are constants), because isl takes no others. A comparison that exceeds isl's
quota is counted and otherwise ignored.
"""

from __future__ import annotations

import ast
import functools
import os
import random
import re
from pathlib import Path
from typing import Callable, Optional, TypeVar

import pytest

from gen import algebra
from test_indexing_map import Map, Step, factor

try:
    import islpy as isl
except ImportError:
    isl = None

pytestmark = pytest.mark.skipif(isl is None, reason="islpy is not installed: expected `pip install islpy`")
PEER = Path(__file__).resolve().parents[3] / "shared" / "peer"
SEED = int(os.environ.get("SETT_SEED", "20264"))
COUNT = int(os.environ.get("SETT_COUNT", "300"))
QUOTA = 3_000_000  # elementary operations of isl that one question may take
CONTEXT = isl and isl.Context()
if CONTEXT:
    CONTEXT.set_max_operations(QUOTA)
T = TypeVar("T")


# ---------------------------------------------------------------- maps in isl's notation

def constant(node: ast.expr) -> Optional[int]:
    if isinstance(node, ast.UnaryOp):
        inner = constant(node.operand)
        return None if inner is None else -inner
    return node.value if isinstance(node, ast.Constant) else None


def isl_expression(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.UnaryOp):
        return f"(-{isl_expression(node.operand)})"
    if isinstance(node, ast.Call):
        return f"{node.func.id}({', '.join(map(isl_expression, node.args))})"
    a, b, k = isl_expression(node.left), isl_expression(node.right), constant(node.right)
    if isinstance(node.op, (ast.Add, ast.Sub)):
        return f"({a} {'+' if isinstance(node.op, ast.Add) else '-'} {b})"
    if isinstance(node.op, ast.Mult):
        if k is None:
            a, k = b, constant(node.left)
        if k is None:
            raise ValueError("not affine")
        return f"({k} * {a})"
    if not k:
        raise ValueError("not affine")
    sign, size = ("", k) if k > 0 else ("-", -k)
    if isinstance(node.op, ast.FloorDiv):
        return f"floor(({sign}{a})/{size})"
    if isinstance(node.op, ast.Mod):  # a remainder has the sign of its divisor
        return f"({sign}(({sign}{a}) mod {size}))"
    return f"(-floor(({'-' if k > 0 else ''}{a})/{size}))"  # ceildiv


def isl_term(text: str) -> str:
    for word, sign in (("floordiv", "//"), ("ceildiv", "@"), ("mod", "%")):
        text = text.replace(word, sign)
    return isl_expression(ast.parse(text, mode="eval").body)


def isl_map(text: str, names: list[str], results: int) -> "isl.Map":
    """Return the map as an isl map. Variables are matched by position."""
    head = f"[{', '.join(names)}]"
    if text == "KNOWN EMPTY":
        return isl.Map(f"{{ {head} -> [{', '.join(['0'] * results)}] : false }}", CONTEXT)
    m = Map(text)
    assert m.names == names
    inside = [f"{lo} <= {n} <= {hi}" for n, (lo, hi) in m.bounds.items()] + [f"{lo} <= {isl_term(e)} <= {hi}" for e, lo, hi in m.constraints]
    return isl.Map(f"{{ {head} -> [{', '.join(map(isl_term, m.results))}] : {' and '.join(inside) or 'true'} }}", CONTEXT)


def ask(question: "Callable[[], T]") -> "Optional[T]":
    """Return isl's answer, or None if the quota is exceeded."""
    CONTEXT.reset_operations()
    try:
        return question()
    except isl.Error as error:
        assert "exceeded" in str(error), error
        return None


class Account:
    """The number of comparisons with each outcome."""

    def __init__(self) -> None:
        self.same = self.empty = self.empty_left = self.late = 0

    def compare(self, text: str, simple: str) -> None:
        """Check that isl finds the two maps equal, unless the quota is exceeded."""
        original = Map(text)

        def answer() -> "tuple[bool, bool]":
            a, b = (isl_map(t, original.names, len(original.results)) for t in (text, simple))
            return a.is_equal(b), a.is_empty()

        equal, empty = ask(answer) or (None, None)
        if equal is None:
            self.late += 1
            return
        assert equal, (text, simple)
        self.same += 1
        self.empty += empty
        self.empty_left += empty and simple != "KNOWN EMPTY"

    def say(self, name: str) -> None:
        print(f"isl, {name}: {self.same} equal, {self.late} took isl too long, {self.empty_left} of {self.empty} empty ones not found")


# ---------------------------------------------------------------- maps with large boxes

def draw_affine(rng: random.Random, names: list[str], depth: int) -> str:
    if depth == 0 or rng.random() < 0.2:
        return rng.choice(names) if rng.random() < 0.9 else str(rng.randint(-50, 50))
    inner = draw_affine(rng, names, depth - 1)
    kind = rng.randrange(9)
    if kind == 8:
        return f"{rng.choice(['min', 'max'])}({inner}, {draw_affine(rng, names, depth - 1)})"
    if kind < 3:
        return f"({inner} {rng.choice('+-')} {draw_affine(rng, names, depth - 1)})"
    if kind < 5:
        return f"({inner} * {rng.choice([-100, -7, -1, 2, 3, 8, 15, 64, 1000])})"
    word = rng.choice(["floordiv", "floordiv", "mod", "mod", "ceildiv"])
    return f"({inner} {word} {rng.choice([-12, -5, 2, 3, 4, 7, 16, 60, 128, 1000])})"


def draw_large(rng: random.Random) -> str:
    names = [f"d{i}" for i in range(rng.randint(1, 3))]
    domain = []
    for name in names:
        lo = rng.choice([0, 0, 0, -1000, 5, -33333])
        domain.append(f"{name} in [{lo}, {lo + rng.choice([3, 99, 1023, 4095, 100_000, 999_999])}]")
    for _ in range(rng.choice([0, 1, 1, 2])):
        if rng.random() < 0.5:  # congruences, some without a solution
            modulus = rng.choice([4, 6, 9, 10, 15, 35, 64])
            lo = rng.randrange(modulus)
            domain.append(f"({rng.choice(names)} * {rng.choice([1, 1, 3])} + {rng.choice(names)}) mod {modulus} in [{lo}, {lo}]")
        else:
            lo = rng.randint(-1000, 1000)
            domain.append(f"{draw_affine(rng, names, 2)} in [{lo}, {lo + rng.choice([0, 100, 5000, 200_000])}]")
    results = [draw_affine(rng, names, rng.randint(1, 3)) for _ in range(rng.randint(1, 2))]
    return f"({', '.join(names)}) -> ({', '.join(results)}), domain: {', '.join(domain)}"


def test_drawn_maps() -> None:
    rng, account = random.Random(SEED), Account()
    for _ in range(COUNT):
        text = draw_large(rng)
        account.compare(text, algebra.simplify(text))
    account.say("drawn maps")
    assert account.same >= COUNT * 9 // 10 and account.empty > COUNT // 50 and account.empty_left * 10 <= account.empty


def test_chains() -> None:
    """Composing reshapes, transposes and reverses of tensors of up to 2^20 elements agrees with isl's own composition.
    """
    rng = random.Random(SEED + 1)
    same = 0
    for _ in range(COUNT // 10):
        here = factor(rng, rng.choice([2**20, 720720, 2**12 * 63, 5**4 * 2**8, 30030 * 16]), rng.randint(2, 4))
        steps = []
        for _ in range(rng.randint(1, 3)):
            steps.append(Step(rng, here, 4))
            here = steps[-1].result
        texts = [step.map(False) for step in reversed(steps)] + [step.map(True) for step in steps[:rng.randint(0, len(steps))]]
        whole = functools.reduce(algebra.compose, texts)

        def answer() -> bool:
            composed = functools.reduce(lambda a, b: a.apply_range(b), [isl_map(t, Map(t).names, len(Map(t).results)) for t in texts])
            return composed.is_equal(isl_map(whole, Map(texts[0]).names, len(Map(whole).results)))

        equal = ask(answer)
        assert equal is not False, (texts, whole)
        same += equal is not None
    print(f"isl, chains: {same} of {COUNT // 10} equal, the others took isl too long")
    assert same >= COUNT // 10 * 9 // 10


def test_peer_rows() -> None:
    if not PEER.exists():
        pytest.skip("no ../shared/peer")
    account = Account()
    for line in (PEER / "random_maps.tsv").read_text().splitlines()[1:]:
        text = line.split("\t")[0]
        if len(text) < 600:
            account.compare(text, algebra.simplify(text))
    account.say("rows of random_maps.tsv")
    assert account.same > 100 and not account.empty_left


def test_questions() -> None:
    """`equal` and `range` agree with isl: the answer and its witness are right, and the interval contains isl's
    extremes.
    """
    rng = random.Random(SEED + 2)
    pairs = asked = exact = decided = 0
    for _ in range(COUNT // 3):
        text = draw_large(rng)
        place = rng.choice(list(re.finditer(r"(?<![d\d])\d+", text)))
        other = text[:place.start()] + str(int(place[0]) + rng.choice([0, 1, 1, 2])) + text[place.end():]
        m = Map(text)

        def answer() -> "tuple[bool, list[tuple[int, int]]]":
            a, b = (isl_map(t, m.names, len(m.results)) for t in (text, other))
            values = a.range()
            return a.is_equal(b), [] if a.is_empty() else [(values.dim_min_val(i).to_python(), values.dim_max_val(i).to_python()) for i in range(len(m.results))]

        same, extremes = ask(answer) or (None, [])
        if same is None:
            continue
        said = algebra.run("map", "equal", text, other)[1]
        pairs += 1
        decided += not said.startswith("not decided")
        assert said.startswith("not decided") or (said == "equal") == same, (text, other, said)
        if said.startswith("different at"):
            point = tuple(map(int, re.findall(r"-?\d+", said)))
            assert m(point) != Map(other)(point), (text, other, said)
        for (lo, hi), (least, most) in zip(algebra.ranges(text) if extremes else (), extremes):
            asked += 1
            exact += (lo, hi) == (least, most)
            assert lo <= least and most <= hi, (text, lo, hi, least, most)
    print(f"isl, questions: {decided} of {pairs} equalities decided, {exact} of {asked} ranges exact, {COUNT // 3 - pairs} took isl too long")
    assert decided * 10 >= pairs * 9 and asked > 20 and exact * 10 >= asked * 9
