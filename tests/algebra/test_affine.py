"""Test MLIR's affine_map and affine_set. A text that MLIR prints is printed back unchanged and evaluates to MLIR's
values. Other texts are refused with the column of the error.
"""

from __future__ import annotations

import itertools
import os
import random
import re
import subprocess
from pathlib import Path
from typing import Any, Union

import pytest

ROOT = Path(__file__).resolve().parents[2]
SEED = int(os.environ.get("SETT_SEED", "43"))
COUNT = int(os.environ.get("SETT_COUNT", "400"))
Tree = Union[int, str, "tuple[str, Any, Any]"]


def answers(verb: str, lines: "list[str]") -> "list[str]":
    done = subprocess.run([ROOT / "build" / "sett", "map", verb, "-"], input="".join(line + "\n" for line in lines), capture_output=True, text=True, timeout=120)
    assert not done.stderr and len(done.stdout.splitlines()) == len(lines)
    return done.stdout.splitlines()


PRINTED = [
    "affine_map<() -> ()>", "affine_map<() -> (0)>", "affine_map<()[s0] -> (s0)>", "affine_map<(d0) -> (d0)>", "affine_map<(d0, d1) -> (d1, d0)>",
    "affine_map<(d0, d1)[s0] -> (d0 + d1 + s0)>", "affine_map<(d0) -> (-d0)>", "affine_map<(d0) -> (-d0 + 5)>", "affine_map<(d0) -> (d0 - 1)>",
    "affine_map<(d0) -> (d0 * 128)>", "affine_map<(d0, d1) -> (d0 * 16 + d1)>", "affine_map<(d0) -> (d0 floordiv 4, d0 mod 4)>", "affine_map<(d0) -> (d0 ceildiv 8)>",
    "affine_map<(d0) -> ((d0 + 1) * 2)>", "affine_map<(d0, d1) -> ((d0 * 2 + d1) floordiv 3)>", "affine_map<(d0) -> ((d0 floordiv 2) mod 8)>",
    "affine_map<(d0) -> (-(d0 floordiv 2))>", "affine_map<(d0, d1) -> (d0 - d1)>", "affine_map<(d0, d1) -> (d0 - d1 * 4)>", "affine_map<(d0, d1) -> (d0 - (d1 + 2))>",
    "affine_map<(d0, d1) -> (d0 - d1 floordiv 2)>", "affine_map<(d0, d1) -> (d0 - (d1 floordiv 2) * 3)>", "affine_map<(d0, d1) -> (-d0 - d1)>",
    "affine_map<(d0)[s0, s1] -> (d0 * s0 + s1)>", "affine_map<(d0)[s0] -> (d0 floordiv s0, d0 mod s0, d0 ceildiv s0)>", "affine_map<(d0)[s0] -> ((d0 * s0) floordiv 4)>",
    "affine_map<(d0)[s0, s1] -> ((d0 * s0) * s1)>", "affine_map<(d0) -> (-(d0 * 3 + 1))>", "affine_map<(d0) -> (d0 * -2)>", "affine_map<(d0) -> (-9223372036854775808)>",
    "affine_map<(d0) -> (d0 - 9223372036854775807)>", "affine_set<(d0) : (d0 >= 0)>", "affine_set<(d0)[s0] : (d0 - s0 >= 0, d0 == 0)>",
    "affine_set<(d0)[s0] : (d0 >= 0, -d0 + s0 - 1 >= 0)>", "affine_set<(d0) : (0 == 0)>", "affine_set<() : (1 == 0)>", "affine_set<(d0) : (d0 mod 4 == 0, d0 - 8 >= 0)>",
    "affine_set<(d0, d1) : (d0 - d1 * 4 == 0, -d1 + 10 >= 0)>",
]


def test_what_mlir_prints() -> None:
    assert answers("parse", PRINTED) == PRINTED


@pytest.mark.parametrize("read, printed", [
    ("affine_map<(i, j)[N] -> (i + N, j)>", "affine_map<(d0, d1)[s0] -> (d0 + s0, d1)>"),
    (" affine_map < ( d0 ) -> ( 2 * d0 ) > ", "affine_map<(d0) -> (d0 * 2)>"),
    ("affine_map<(d0) -> (1 + 2 + d0 + 0)>", "affine_map<(d0) -> (d0 + 3)>"),
    ("affine_set<(d0)[s0] : (d0 <= s0, d0 >= 1, d0 == s0)>", "affine_set<(d0)[s0] : (s0 - d0 >= 0, d0 - 1 >= 0, s0 - d0 == 0)>"),
    ("affine_set<(d0) : ()>", "affine_set<(d0) : (0 == 0)>"),
])
def test_read(read: str, printed: str) -> None:
    assert answers("parse", [read, printed]) == [printed, printed]


def test_operations() -> None:
    """The commands of `sett map` take affine maps and answer with affine maps. `sett map mlir` converts a map to MLIR's
    notation and back.
    """
    sett = [ROOT / "build" / "sett", "map"]
    for words, said in [
            (["simplify", "affine_map<(d0) -> ((d0 * 6 + 3) floordiv 2)>"], "affine_map<(d0) -> (d0 * 3 + 1)>"),
            (["compose", "affine_map<(d0) -> (d0 floordiv 8, d0 mod 8)>", "affine_map<(d0, d1) -> (d0 * 8 + d1)>"], "affine_map<(d0) -> (d0)>"),
            (["eval", "affine_map<(d0)[s0] -> (d0 floordiv s0, d0 ceildiv s0)>", "-7,2"], "-4,-3"),
            (["equal", "affine_map<(d0) -> (d0 mod 4)>", "affine_map<(d0) -> (d0 - (d0 floordiv 4) * 4)>"], "equal"),
            (["proves", "affine_set<(d0)[s0] : (d0 >= 0, -d0 + s0 - 1 >= 0, s0 mod 8 == 0)>", "d0 floordiv 8 < s0 floordiv 8"], "yes"),
            (["mlir", "(d0)[n] -> (d0 * 2 + n), domain: d0 in [0, inf], n in [1, 9], d0 < n"],
             "affine_map<(d0)[s0] -> (d0 * 2 + s0)>\taffine_set<(d0)[s0] : (d0 >= 0, s0 - 1 >= 0, -s0 + 9 >= 0, s0 - d0 - 1 >= 0)>"),
            (["mlir", "affine_set<(d0)[s0] : (d0 >= 0, d0 - s0 >= 0, -d0 + 9 >= 0)>"],
             None)]:
        done = subprocess.run([*sett, *words], capture_output=True, text=True)
        if said is None:
            assert re.fullmatch(r"\(d0\)\[s0\] -> \(\), domain: d0 in \[0, inf\], s0 in \[-inf, inf\], .*", done.stdout.strip()), done.stdout
        else:
            assert (done.stdout.rstrip("\n"), done.stderr) == (said, "")


@pytest.mark.parametrize("text, column", [
    ("affine_map", 11), ("affine_mop<(d0) -> (d0)>", 1), ("affine_map<d0 -> (d0)>", 12), ("affine_map<(d0) : (d0)>", 17), ("affine_map<(d0) -> d0>", 20),
    ("affine_map<(d0) -> (d0>", 23), ("affine_map<(d0) -> (d0)", 24), ("affine_map<(d0) -> (d0)> x", 26), ("affine_map<(d0) -> (d1)>", 21),
    ("affine_map<(d0, d0) -> (d0)>", 17), ("affine_map<(d0) -> (min(d0, 3))>", 21), ("affine_map<(d0) -> (d0 % 2)>", 24), ("affine_map<(d0) -> (d0 xor 2)>", 24),
    ("affine_map<(d0) -> (d0, )>", 25), ("affine_map<(d0) -> (d0 mod 0)>", 24), ("affine_map<(d0) -> (99999999999999999999)>", 21),
    ("affine_set<(d0) -> (d0)>", 17), ("affine_set<(d0) : (d0)>", 22), ("affine_set<(d0) : (d0 >= )>", 26), ("affine_set<(d0) : (d0 >= 0 d0 >= 0)>", 28),
])
def test_errors(text: str, column: int) -> None:
    done = subprocess.run([ROOT / "build" / "sett", "map", "parse", text], capture_output=True, text=True)
    assert done.returncode == 2 and re.match(rf"error: {column}: ", done.stderr), done.stderr


# ---- random expressions, printed by the rules in the description of MLIR's AsmPrinter ----

def draw(rng: random.Random, depth: int, symbols: bool) -> Tree:
    """Return an expression tree in the form that MLIR's builders leave: constants on the right, and no operation on constants that the builders would fold."""
    leaf = rng.choice(["d0", "d1", "s0"] if not symbols else ["s0", "s1"])
    if depth == 0 or rng.random() < 0.15:
        return leaf
    a, op = draw(rng, depth - 1, symbols), rng.choice(["+", "+c", "-", "*", "*s", "floordiv", "mod", "ceildiv", "div s"])
    if op == "+":
        b = draw(rng, depth - 1, symbols)
        return a if isinstance(a, tuple) and isinstance(a[2], int) and a[0] == "+" or isinstance(b, tuple) and b[0] == "+" else ("+", a, b)
    if op == "-":
        b = draw(rng, depth - 1, symbols)
        if isinstance(a, tuple) and isinstance(a[2], int) and a[0] == "+" or isinstance(b, tuple) and b[0] == "*" and isinstance(b[2], int):
            return a
        return ("+", a, ("*", b, -1))
    if op == "+c":
        return a if isinstance(a, tuple) and a[0] == "+" and isinstance(a[2], int) else ("+", a, rng.choice([1, -1, 7, -128]))
    if op == "*":
        return a if isinstance(a, tuple) and a[0] == "*" and isinstance(a[2], int) else ("*", a, rng.choice([2, -1, -3, 64]))
    if op in ("*s", "div s"):
        return (rng.choice(["floordiv", "mod", "ceildiv"]) if op == "div s" else "*", a, "s1" if symbols else "s0")
    return (op, a, rng.choice([2, 3, 8]))


def printed(tree: Tree, strong: bool = False) -> str:
    if not isinstance(tree, tuple):
        return str(tree)
    op, a, b = tree
    if op != "+":
        text = f"-{printed(a, True)}" if (op, b) == ("*", -1) else f"{printed(a, True)} {op} {printed(b, True)}"
    elif isinstance(b, tuple) and b[0] == "*" and b[2] == -1:
        text = f"{printed(a)} - {printed(b[1], isinstance(b[1], tuple) and b[1][0] == '+')}"
    elif isinstance(b, tuple) and b[0] == "*" and isinstance(b[2], int) and b[2] < -1:
        text = f"{printed(a)} - {printed(b[1], True)} * {-b[2]}"
    elif isinstance(b, int) and b < 0:
        text = f"{printed(a)} - {-b}"
    else:
        text = f"{printed(a)} + {printed(b)}"
    return f"({text})" if strong else text


def value(tree: Tree, point: "dict[str, int]") -> int:
    if not isinstance(tree, tuple):
        return tree if isinstance(tree, int) else point[tree]
    a, b = value(tree[1], point), value(tree[2], point)
    return {"+": lambda: a + b, "*": lambda: a * b, "floordiv": lambda: a // b, "mod": lambda: a % b, "ceildiv": lambda: -(-a // b)}[tree[0]]()


@pytest.mark.drawn
def test_drawn() -> None:
    """Random maps and sets are printed back unchanged, and evaluate to the values of their text."""
    rng = random.Random(f"affine {SEED}")
    trees = [[draw(rng, 3, False) for _ in range(rng.randint(1, 3))] for _ in range(COUNT)]
    texts = [f"affine_map<(d0, d1)[s0] -> ({', '.join(map(printed, results))})>" for results in trees]
    assert answers("parse", texts) == texts
    sets = [f"affine_set<(d0, d1)[s0] : ({', '.join(printed(tree) + rng.choice([' >= 0', ' == 0']) for tree in results)})>" for results in trees]
    assert answers("parse", sets) == sets
    lines, wanted = [], []
    for results, text in zip(trees, texts):
        point = {"d0": rng.randint(-9, 9), "d1": rng.randint(-9, 9), "s0": rng.randint(1, 9)}
        lines.append(f"{text}\t{','.join(map(str, point.values()))}")
        wanted.append(",".join(str(value(tree, point)) for tree in results))
    assert answers("eval", lines) == wanted


@pytest.mark.drawn
def test_simplified() -> None:
    """A simplified affine map is an affine map with the same values, and a second simplify does not change it."""
    rng = random.Random(f"affine simplify {SEED}")
    trees = [draw(rng, 3, False) for _ in range(COUNT)]
    simple = answers("simplify", [f"affine_map<(d0, d1)[s0] -> ({printed(tree)})>" for tree in trees])
    assert all(text.startswith("affine_map<(d0, d1)[s0] -> (") for text in simple) and answers("parse", simple) == simple
    points = list(itertools.product([-7, 0, 3, 8], [-1, 5], [1, 2, 8]))
    said = answers("eval", [f"{text}\t{','.join(map(str, point))}" for text in simple for point in points])
    wanted = [str(value(tree, dict(zip(("d0", "d1", "s0"), point)))) for tree in trees for point in points]
    assert said == wanted
