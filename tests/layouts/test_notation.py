"""Test layouts in the notations of other systems through `sett layout ..`. Cases from these systems are compared by the
values of the layouts. Random layouts are compared with a plain model of CuTe that is written from its definition and
shares no code with the headers.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# SETT_COUNT multiplies the number of random layouts; SETT_SEED selects others.
TIMES, SEED = int(os.environ.get("SETT_COUNT", "1")), 1000 * int(os.environ.get("SETT_SEED", "0"))
PEER = ROOT.parent / "shared" / "peer" / "notations"


def answers(verb: str, rows: "list[list[str]]") -> "list[str]":
    """Run `sett layout VERB -` and return one answer for each row."""
    given = "".join("\t".join(row) + "\n" for row in rows)
    words = [str(ROOT / "build" / "sett"), "layout", *([verb] if verb else []), "-"]
    done = subprocess.run(words, input=given, capture_output=True, text=True, timeout=3000)
    assert done.returncode in (0, 2), done.stderr
    said = done.stdout.splitlines()
    assert len(said) == len(rows)
    return said


def one(*words: str) -> "tuple[int, str]":
    done = subprocess.run([str(ROOT / "build" / "sett"), "layout", *words], capture_output=True, text=True, timeout=900)
    return done.returncode, (done.stdout + done.stderr).rstrip("\n")


# ---- a model of CuTe, from the definition
# -------------------------------------------------------------------------------

def tuple_of(text: str):
    """Parse nested tuples of integers. A scaled basis vector such as 2@1 becomes a dictionary {position: 2}."""
    place = {"at": 0}

    def read():
        if text[place["at"]] == "(":
            place["at"] += 1
            items = []
            while text[place["at"]] != ")":
                items.append(read())
                place["at"] += text[place["at"]] == ","
            place["at"] += 1
            return tuple(items)
        found = re.compile(r"-?\d+(?:@\d+)*|_").match(text, place["at"])
        place["at"] = found.end()
        number, *places = found[0].split("@")
        return (number if number == "_" else int(number)) if not places else {tuple(map(int, reversed(places))): int(number)}

    value = read()
    assert place["at"] == len(text), text
    return value


def leaves(tree) -> list:
    return [leaf for item in tree for leaf in leaves(item)] if isinstance(tree, tuple) else [tree]


def product(tree) -> int:
    size = 1
    for leaf in leaves(tree):
        size *= leaf
    return size


def chain_of(text: str) -> list:
    """Parse a composition of functions into [function, offset, function, ..]. A function is ("S", b, m, s) or (shape,
    stride).
    """
    parts = []
    for i, part in enumerate(text.replace(" o ", "\0").replace(" ", "").split("\0")):
        swizzle = re.fullmatch(r"S<(\d+),(\d+),(-?\d+)>", part)
        if i % 2:
            parts.append(tuple_of(part))
        elif swizzle:
            parts.append(("S", *map(int, swizzle.groups())))
        else:
            parts.append(tuple(map(tuple_of, part.split(":"))))
    return parts


def add(a, b):
    if isinstance(a, dict) or isinstance(b, dict):
        total = dict(a) if isinstance(a, dict) else {} if a == 0 else {(): a}
        for key, value in (b if isinstance(b, dict) else {} if b == 0 else {(): b}).items():
            total[key] = total.get(key, 0) + value
        return total
    return a + b


def dot(shape, stride, at):
    """Return the value of shape:stride at a coordinate. If the coordinate is an integer that exceeds the size, the last
    mode takes the whole quotient.
    """
    if isinstance(shape, tuple):
        if isinstance(at, tuple):
            assert len(at) == len(shape)
            parts = at
        else:
            parts = []
            for i, mode in enumerate(shape):
                parts.append(at if i == len(shape) - 1 else at % product(mode))
                at //= max(product(mode), 1)
        total = 0
        for mode, step, part in zip(shape, stride, parts):
            total = add(total, dot(mode, step, part))
        return total
    while isinstance(at, tuple):
        at, = at
    return {key: at * value for key, value in stride.items()} if isinstance(stride, dict) else at * stride


def coordinate_of(places: dict, depth: int = 0):
    """Convert a sum of scaled basis vectors, {position: value}, to a coordinate without trailing zeros."""
    heads = {}
    for key, value in places.items():
        heads.setdefault(key[depth], {})[key] = value
    return tuple(sum(heads[i].values()) if i in heads and all(len(key) == depth + 1 for key in heads[i]) else coordinate_of(heads[i], depth + 1) if i in heads else 0
                 for i in range(max(heads) + 1)) if heads else ()


def model(chain: list, at):
    """Return the value of a composition of functions at a coordinate."""
    for i in range(len(chain) - 1, -1, -2):
        function = chain[i]
        if i + 1 < len(chain):
            offset = chain[i + 1]
            if isinstance(at, dict):
                at = coordinate_of(at)
                at = (*at, *([0] * (len(offset) - len(at)))) if isinstance(offset, tuple) else at
            at = tuple(a + b for a, b in zip(at, offset)) if isinstance(offset, tuple) else at if offset == 0 else at + offset
        if function[0] == "S":
            _, bits, base, shift = function
            from_bit, to_bit = (base + shift, base) if shift >= 0 else (base, base - shift)
            at ^= (at >> from_bit & (1 << bits) - 1) << to_bit
        else:
            at = dot(*function, at)
    return at


def trimmed(value):
    """Return a value without the trailing zeros of its coordinates. The tables of other systems omit these zeros."""
    if isinstance(value, dict):
        value = coordinate_of(value)
    if isinstance(value, (tuple, list)):
        value = [trimmed(part) for part in value]
        while value and value[-1] == 0:
            value.pop()
        value = value or 0
    return value


def values_of(text: str) -> list:
    chain = chain_of(text)
    size = product(chain[-1][0])
    return [size, *(trimmed(model(chain, i)) for i in (range(size) if size <= 4096 else range(0, size, size // 1021)))]


def said_values(text: str) -> list:
    """Return the values that `layout table` printed. Coordinates are in parentheses."""
    return [trimmed(value) for value in tuple_of(f"({text})")] if text else []


# ---- cases from other systems
# -------------------------------------------------------------------------------------------

CUTE = ["cute_core", "cute_dialect", "tensor_layouts", "atoms"]
# Names of operations in the cases, with the verb of `sett` for each.
VERBS = {"layout_at": "at", "swizzle_at": "at", "tv_layout": "", "layout_table": ""}
# Rows whose stated result is wrong or undefined in the original system, with the reason.
WRONG = {"4:-1 left_inverse": "(-1,4):(0,1) has a negative size"}


def peer(files: "list[str]") -> "list[dict]":
    if not PEER.is_dir():
        pytest.skip("no cases of others: ../shared/peer/notations is missing")
    return [row for name in files for row in json.loads((PEER / f"{name}.json").read_text())]


def words_of(row: dict) -> "list[str]":
    words = [",".join(map(str, arg)) if isinstance(arg, list) else str(arg) for arg in row["args"]]
    if row["op"] in ("group_modes",) and len(row["args"]) == 2:
        words = [words[0], *map(str, row["args"][1])]
    return words


def inverts(said: str, text: str) -> bool:
    """Return whether L(R(L(i))) = L(i) for all i: the law of a left inverse R of a layout L that may not be one-to-one.
    """
    layout, inverse = chain_of(text), chain_of(said)
    for i in range(min(product(layout[0][0]), 4096)):
        value = model(layout, i)
        at = coordinate_of(value) if isinstance(value, dict) else value
        at = (*at, *([0] * (len(inverse[0][0]) - len(at)))) if isinstance(at, tuple) else at
        if trimmed(model(layout, model(inverse, at))) != trimmed(value):
            return False
    return True


def is_layout(text) -> bool:
    return isinstance(text, str) and ":" in text and not text.startswith("[")


def test_cute_cases() -> None:
    """Every CuTe case agrees: by its values, or by its text if the case has no table."""
    by_verb: "dict[str, list]" = {}
    for row in peer(CUTE):
        verb = VERBS.get(row["op"], row["op"])
        by_verb.setdefault(verb, []).append(row)
    bad, tables, wrong = [], [], 0
    for verb, rows in by_verb.items():
        for row, said in zip(rows, answers(verb, [words_of(row) for row in rows])):
            if verb == "":
                said = said.split("\t")[1] if said.count("\t") == 2 else said
            refused = said.startswith(("no: ", "error: "))
            if f"{row['args'][0]} {row['op']}".replace("(4):(-1)", "4:-1") in WRONG:
                wrong += refused
            elif row["expect"] == "error" or refused:
                if not (refused and row["expect"] == "error"):
                    bad.append((row["op"], row["args"], row["expect"], said))
            elif row["op"] == "left_inverse" and row["by"] == "property" and is_layout(said) and inverts(said, row["args"][0]):
                pass
            elif "meaning" in row:
                tables.append((row, said))
            elif is_layout(row["expect"]):
                if said != row["expect"] and values_of(said) != values_of(row["expect"]):
                    bad.append((row["op"], row["args"], row["expect"], said))
            elif trimmed(tuple_of(said) if said[0] == "(" and ":" not in said else said) != trimmed(tuple_of(row["expect"]) if row["expect"][0] == "(" and ":" not in row["expect"]
                                                                                                   else row["expect"]):
                bad.append((row["op"], row["args"], row["expect"], said))
    for (row, said), table in zip(tables, answers("table", [[said] for _, said in tables])):
        if said_values(table) != [trimmed(value) for value in row["meaning"]["values"]]:
            bad.append((row["op"], row["args"], row["expect"], said))
    assert not bad, "\n".join(map(str, bad))
    assert wrong == len(WRONG)


# ---- own cases
# ----------------------------------------------------------------------------------------------------------

# verb, words, answer, exit status. The manual of sett_notation_composition names the refusals and values that CuTe's
# C++ or Python gets wrong.
OWN = [
    ("composition", ["(4,6,8):(2,3,5)", "6:3"], "no: ", 1),  # CuTe's C++ gives (2,3):(6,3), whose value at 2 is 3 instead of 7
    ("composition", ["(4,2):(1,10)", "(2,2):(1,3)"], "no: ", 1),  # tensor-layouts gives (2,2):(1,3), whose value at 3 is 4 instead of 10
    ("composition", ["(2,2):(1,1)", "3:1"], "no: ", 1),
    ("composition", ["(4,2,8):(3,12,97)", "3:3"], "3:9", 0),  # pycute refuses this case
    ("composition", ["(5,7):(1,100)", "4:3"], "(2,2):(3,101)", 0),  # CuTe's C++, pycute and tensor-layouts all refuse or are wrong
    ("composition", ["(1048576,1048576):(1,2097152)", "(1048576,2):(1,1048575)"], "no: ", 1),  # decided without visiting every point
    ("composition", ["(1048576,1048576):(1,2097152)", "(524288,2):(1,524288)"], "(524288,2):(1,524288)", 0),
    ("composition", ["4:1", "4:-1"], "error: expected no negative", 2),
    ("complement", ["(4,2):(1,6)", "24"], "2:12", 0),
    ("complement", ["2:1", "(3,4)"], "8:2", 0),
    ("complement", ["(4,2):(1,2)", "24"], "no: ", 1),
    ("right_inverse", ["((2,2),(2,4)):((0,1),(0,2))"], "(2,4):(2,8)", 0),
    ("left_inverse", ["(2,2):(2,3)"], "error: not decided", 2),  # (2,3):(1,1) is a left inverse, so the answer must not be no
    ("right_inverse", ["(4,3,4):(1@1,2@0,1@1)"], "(1,4):(0,1)", 0),
    ("right_inverse", ["(4,2,3):(1@0,4@0,1@1)"], "(8,3):(1,8)", 0),
    ("right_inverse", ["4:-1"], "1:0", 0),
    ("left_inverse", ["4:0"], "1:0", 0),
    ("left_inverse", ["(3,7):(0,0)"], "1:0", 0),
    ("left_inverse", ["((2,4),(3,5)):((4,1),(2,8))"], "(2,2,2,5):(2,8,1,24)", 0),  # the strides overlap
    ("left_inverse", ["(2,5):(8,8)"], "(8,5):(0,2)", 0),
    ("left_inverse", ["(1048576,1048576):(1,1)"], "error: not decided", 2),
    ("left_inverse", ["(3,5):(6,2)"], "error: not decided: expected strides of which each divides", 2),  # CuTe gives (2,3,3):(0,3,1), whose value at 20 is 4
    ("left_inverse", ["(1,2,4):(2@1,1@0,2@0)"], "(8,1):(1,0)", 0),
    ("left_inverse", ["(4,3,4):(1@1,2@0,1@1)"], "((2,3),4):((0,4),12)", 0),
    ("left_inverse", ["(2,3,1):(2@0,2@0,1@1)"], "error: not decided", 2),  # CuTe gives ((2,3),1):((0,2),0), whose value at (6,0) is (0,1)
    ("composition", ["(4,6):(1,8)", "(2,1):(2,4)"], "(2,1):(2,8)", 0),  # as in CuTe, the stride of a size of 1 is kept
    ("composition", ["(1,4,8):(2,32,4)", "(1):(1)"], "(1):(4)", 0),
    ("logical_divide", ["(8,4):(4,1)", "(2,2,1):(4,2,4)"], "((2,2,1),(2,4)):((16,8,1),(4,1))", 0),
    ("logical_product", ["4:1", "(4,3,1):(9,1,1)"], "(4,(4,3,1)):(1,(36,4,4))", 0),
    ("max_common_layout", ["(4,8,2):(2,8,1)", "(6,2,3):(6,1,2)"], "1:0", 0),
    ("max_common_layout", ["(2,3,2):(1,2,7)", "(4,4):(1,4)"], "6:1", 0),
    ("max_common_vector", ["(2,3,2):(1,2,7)", "(4,4):(1,4)"], "6", 0),
    ("complement", ["(2,2):(2,3)"], "no: the strides overlap: CuTe's rule has no complement", 1),
    ("invert", ["{a = [[1], [3], [2]]} -> {x = 8}"], "no: ", 1),
    ("invert", ["{a = [[1]]} -> {x = 4}"], "no: ", 1),
    ("quotient", ["{lane = [[1, 0]], warp = [[0, 1]]} -> {lane = 2, warp = 2}", "warp"], "{lane = [[1]]} -> {lane = 2}", 0),
    ("quotient", ["{lane = [[1, 1]], warp = [[0, 1]]} -> {lane = 2, warp = 2}", "warp"], "no: ", 1),
    ("recast", ["3:2", "16", "4"], "no: ", 1),
    ("table", ["S<2,0,2> o 0 o (4,4):(4,1)"], "0,5,10,15,1,4,11,14,2,7,8,13,3,6,9,12", 0),
    ("table", ["S<2,0,2> o 4 o 4:1"], "5,4,7,6", 0),
    ("table", ["(2,3):(1@1,1@0)"], "(0,0),(0,1),(1,0),(1,1),(2,0),(2,1)", 0),
    ("at", ["((2,2),3):((1,6),2)", "1,2"], "5", 0),
    ("at", ["((2,2),3):((1,6),2)", "(1,1),2"], "11", 0),
    ("at", ["(4,2):(1,9)", "11"], "21", 0),  # the index exceeds the size 8: the last mode takes the whole quotient, 2
    ("at", ["4:9223372036854775807", "2"], "error: a value overflows", 2),
    ("map", ["S<1,0,1> o 0 o 4:1"], "(d0) -> ", 0),
    ("max_common_vector", ["(8,4):(1,8)", "(8,4):(1,16)"], "8", 0),
    ("", ["( 4 , (2, 4)) : (2,(1 ,8))"], "cute\t(4,(2,4)):(2,(1,8))\tsize 32, cosize 32, one-to-one", 0),
    ("", ["(2,2):(1,1)"], "cute\t(2,2):(1,1)\tsize 4, cosize 3, copies", 0),
    ("", ["Sw<3,4,3> o smem_ptr[16b](unset) o (_8,_64):(_64,_1)"], "cute\tS<3,3,3> o 0 o (8,64):(64,1)\t", 0),
    ("", ["Sw<3,4,3> o smem_ptr[32b](0x400) o (_8,_32):(_32,_1)"], "cute\tS<3,2,3> o 0 o (8,32):(32,1)\t", 0),
    ("", ["ptr[32b](0x7f3c00a0) o (4,8):(8,1)"], "cute\t(4,8):(8,1)\t", 0),
    ("", ["smem_ptr[16b](0x10) o Sw<2,0,2> o 0 o (4,4):(4,1)"], "cute\tS<2,0,2> o 0 o (4,4):(4,1)\t", 0),
    ("", ["Sw<3,4,3> o 0 o (_8,_64):(_64,_1)"], "cute\tS<3,4,3> o 0 o (8,64):(64,1)\t", 0),
]
# Malformed texts, each with the error's column and the words about what was expected.
BAD = [("", 1, "a layout"), ("hello", 1, "a layout"), ("(4,8:(1,4)", 5, "',' or ')'"), ("(4,8):(1,(4,2))", 7, "the nesting of the shape"), ("(4,8):(1)", 7, "the nesting of the shape"),
       ("(4,8):(1,4) x", 13, "the end"), ("4:", 3, "an integer or"), ("(4,?):(1,4)", 4, "an integer or"), ("S<4,0,2> o 0 o 4:1", 1, "bits and base"),
       ("S<2,0 o 0", 7, "a swizzle"), ("S<2,0,2> o 4:1", 13, "' o OFFSET"), ("S<2,0,2> o 0 o 4", 17, "':'"), ("99999999999999999999:1", 1, "64 bits"),
       ("ptr[32](0x10) o 4:1", 7, "a pointer as CuTe prints it"), ("gmem_ptr[32b](0x) o 4:1", 17, "a pointer"), ("gmem_ptr[32b](0x10)", 20, "' o ' and the layout"),
       ("Sw<1,0,1> o smem_ptr[16b](unset) o 4:1", 13, "that it does not split"), ("Sw<3,4,3> o smem_ptr[32b](0x440) o 8:1", 13, "bits leave alone"),
       ("Sw<3,4,3> o smem_ptr[24b](unset) o 8:1", 13, "8 * 2^k bits"), ("4:1@99", 5, "a number from 0 to 63"), ("-4:1", 1, "a size"), ("[4:1,(2", 8, "',' or ')'"), ("(" * 40, 33, "nested at most 32 deep"), ("16@aB16b", 5, "a tag"),
       ("4x8@strides(8)", 13, "a number for each"), ("16x32@#ttg.foo<{}>", 12, "an encoding"), ("16x32@#ttg.blocked<{sizes = 1}>", 21, "a key"), ("4x8@ABc", 7, "a tag"),
       ("{lane = [[1],[2]]} -> {dim0 = 3}", 32, "powers of two"), ("{a = [[1]], a = [[2]]}", 14, "another for each"), ("{a = [[1], [2, 3]]}", 12, "one length")]


@pytest.mark.parametrize("verb, words, answer, status", OWN, ids=lambda value: None)
def test_own(verb: str, words: "list[str]", answer: str, status: int) -> None:
    said = one(*([verb] if verb else []), *words)
    assert said[0] == status and (said[1].startswith(answer) if answer[-1] in " \t" or status == 2 else said[1] == answer), said


@pytest.mark.parametrize("text, column, expected", BAD, ids=lambda value: None)
def test_malformed(text: str, column: int, expected: str) -> None:
    status, said = one(text)
    assert status == 2 and said.startswith(f"error: {column}: expected ") and expected in said, said


def draw_shape(rng: random.Random, depth: int, most: int):
    if depth == 0 or rng.random() < 0.5:
        return rng.choice([1, 2, 2, 3, 4, 4, 5, 6, 8])
    return tuple(draw_shape(rng, depth - 1, most) for _ in range(rng.randint(1, most)))


def draw_strides(rng: random.Random, shape, scale: int):
    if isinstance(shape, tuple):
        return tuple(draw_strides(rng, part, scale) for part in shape)
    return rng.choice([0, 1, 1, 2, 3, 4, 6, 8, 12, 16, 5, scale])


def show(tree) -> str:
    return "(" + ",".join(map(show, tree)) + ")" if isinstance(tree, tuple) else str(tree)


def draw_layout(rng: random.Random, depth: int = 2, compact: bool = False) -> str:
    shape = draw_shape(rng, depth, 3)
    if not compact:
        return f"{show(shape)}:{show(draw_strides(rng, shape, rng.randint(0, 40)))}"
    steps, stride = {}, 1
    flat = leaves(shape)
    for i in rng.sample(range(len(flat)), len(flat)):
        steps[i] = stride
        stride *= flat[i] * rng.choice([1, 1, 1, 2])
    order = iter(range(len(flat)))

    def build(part):
        return tuple(map(build, part)) if isinstance(part, tuple) else steps[next(order)]
    return f"{show(shape)}:{show(build(shape))}"


def drawn(count: int, seed: int, size: int = 400, **how) -> "list[str]":
    rng = random.Random(seed)
    found = []
    while len(found) < count:
        text = draw_layout(rng, **how)
        if product(chain_of(text)[0][0]) <= size:
            found.append(text)
    return found


def swizzled(count: int, seed: int) -> "list[str]":
    rng = random.Random(seed)
    plain = drawn(count, seed)
    swizzles = [(bits, rng.randint(0, 3), rng.choice([-1, 1]) * rng.randint(bits, bits + 3)) for bits in (rng.randint(0, 3) for _ in plain)]
    return [f"S<{','.join(map(str, swizzle))}> o {rng.choice([0, 0, 1, 4, 7])} o {text}" for swizzle, text in zip(swizzles, plain)]


@pytest.mark.drawn
def test_drawn_values() -> None:
    """For random layouts, printing a parsed text gives the text again, and `table`, `at` and `map` give the model's
    values.
    """
    texts = drawn(600 * TIMES, 1 + SEED) + swizzled(400 * TIMES, 2 + SEED)
    assert [said.split("\t")[1] for said in answers("", [[text] for text in texts])] == texts
    for text, said in zip(texts, answers("table", [[text] for text in texts])):
        chain = chain_of(text)
        assert said_values(said) == [model(chain, i) for i in range(product(chain[-1][0]))], text
    maps = answers("map", [[text] for text in texts])
    rng = random.Random(3 + SEED)
    points = [[rng.randrange(size) for size in leaves(chain_of(text)[-1][0])] for text in texts]
    given = "".join(f"{said}\t{','.join(map(str, point))}\n" for said, point in zip(maps, points))
    evaluated = subprocess.run([str(ROOT / "build" / "sett"), "map", "eval", "-"], input=given, capture_output=True, text=True, timeout=3000).stdout.splitlines()
    for text, point, said in zip(texts, points, evaluated):
        chain, index, step = chain_of(text), 0, 1
        for digit, size in zip(point, leaves(chain[-1][0])):
            index, step = index + digit * step, step * size
        assert int(said) == model(chain, index), (text, point, said)


def factorisations(size: int) -> "list[tuple[int, ...]]":
    """Return all tuples of factors above 1 whose product is `size`."""
    return [()] if size == 1 else [(first, *rest) for first in range(2, size + 1) if size % first == 0 for rest in factorisations(size // first)]


def exists(value, sizes: "list[int]") -> bool:
    """Return whether some shape:stride layout has these values, where each number of `sizes` may be split into factors.
    All splits are tried.
    """
    points = list(itertools.product(*map(range, sizes)))
    for split in itertools.product(*map(factorisations, sizes)):
        steps = []
        for leaf, factors in enumerate(split):
            unit = 1
            for factor in factors:
                steps.append((leaf, unit, factor, value(tuple(unit if i == leaf else 0 for i in range(len(sizes))))))
                unit *= factor
        if all(value(point) == sum(point[leaf] // unit % factor * stride for leaf, unit, factor, stride in steps) for point in points):
            return True
    return False


@pytest.mark.drawn
def test_drawn_compositions() -> None:
    """A composition has the value a(b(i)) at every i, and its shape refines b's. If a composition is refused, no layout
    has these values, and the value in the refusal's witness is right.
    """
    many = 500 * TIMES
    pairs = list(zip(drawn(many, 5 + SEED, 60) + drawn(many, 6 + SEED, 60, compact=True),
                     drawn(many, 7 + SEED, 16, depth=1) + drawn(many, 8 + SEED, 16, depth=1, compact=True)))
    right = refused = 0
    for (a, b), said in zip(pairs, answers("composition", [list(pair) for pair in pairs])):
        outer, inner = chain_of(a), chain_of(b)
        # if a value of `b` is beyond the size of `a`, CuTe's result depends on how `a` is coalesced, so such pairs are skipped
        want = [model(outer, model(inner, i)) for i in range(product(inner[0][0]))]
        if max((model(inner, i) for i in range(len(want))), default=0) >= product(outer[0][0]):
            continue
        if said.startswith("no: "):
            at, value, _ = map(int, re.findall(r"-?\d+", said.split(": at ")[1]))
            assert want[at] == value, (a, b, said)
            sizes = leaves(inner[0][0])
            numbers = dict(zip(itertools.product(*map(range, reversed(sizes))), want))
            assert not exists(lambda point: numbers[tuple(reversed(point))], sizes), (a, b, said)
            refused += 1
        else:
            got = chain_of(said)
            assert [model(got, i) for i in range(product(got[0][0]))] == want, (a, b, said)
            assert len(leaves(got[0][0])) >= len(leaves(inner[0][0]))
            right += 1
    assert right > 300 and refused > 30


@pytest.mark.drawn
def test_drawn_laws() -> None:
    """Coalesce, complement, inverses, divide and product of random layouts obey their laws, by the model."""
    texts = drawn(300 * TIMES, 11 + SEED, 60) + drawn(300 * TIMES, 12 + SEED, 60, compact=True)
    tilers = drawn(600 * TIMES, 13 + SEED, 12, depth=1, compact=True)
    counts = dict.fromkeys(["coalesce", "complement", "right_inverse", "left_inverse", "logical_divide", "logical_product"], 0)
    for verb in counts:
        rows = [[text, tiler] if verb.startswith("logical") else [text] for text, tiler in zip(texts, tilers)]
        for row, said in zip(rows, answers(verb, rows)):
            layout = chain_of(row[0])
            size = product(layout[0][0])
            values = [model(layout, i) for i in range(size)]
            if said.startswith(("no: ", "error: ")):
                assert verb not in ("coalesce", "right_inverse")
                continue
            counts[verb] += 1
            made = chain_of(said)
            got = [model(made, i) for i in range(product(made[0][0]))]
            if verb == "coalesce":
                assert got == values
            elif verb == "complement":
                assert got == sorted(set(got)) and not (set(got) & set(values)) - {0}
            elif verb == "right_inverse":
                assert [model(layout, i) for i in got] == list(range(len(got)))
            elif verb == "left_inverse":
                assert [model(layout, model(made, value)) for value in values] == values
                assert len(set(values)) < size or [model(made, value) for value in values] == list(range(size))
            elif verb == "logical_divide":
                tiler = chain_of(row[1])
                tile = product(tiler[0][0])
                inside = [model(tiler, i) for i in range(tile)]
                assert all(got[i] == values[inside[i]] for i in range(tile) if inside[i] < size)
                assert set(values) <= set(got) or any(i >= size for i in inside) or size % (max(inside) + 1), (row, said)
            else:
                assert got[:size] == values
                tiler = chain_of(row[1])
                copies = {model(tiler, i) for i in range(product(tiler[0][0]))}
                used, gaps = 1, True  # if a stride is no multiple of `used`, the complement rounds the gap down, and copies may overlap
                for step, extent in sorted((step, extent) for step, extent in zip(leaves(layout[0][1]), leaves(layout[0][0])) if step and extent > 1):
                    gaps, used = gaps and step % used == 0, step * extent
                assert len(got) == size * product(tiler[0][0]), (row, said)
                assert not gaps or len(set(got)) == len(set(values)) * len(copies), (row, said)
    assert min(counts.values()) > 100, counts


def cute_left_inverse(layout: tuple) -> "str | None":
    """Return CuTe's left inverse by its definition: the digits with stride above 0 in the order of strides, each as
    large as the next stride allows. Return None if a stride does not divide the next one.
    """
    digits, unit = [], 1
    for size, stride in zip(leaves(layout[0]), leaves(layout[1])):
        if size > 1 and digits and digits[-1][0] * digits[-1][1] == stride * (digits[-1][1] > 0) and (stride or not digits[-1][0]):
            digits[-1] = (digits[-1][0], digits[-1][1] * size, digits[-1][2])
        elif size > 1:
            digits.append((stride, size, unit))
        unit *= size
    digits = sorted((digit for digit in digits if digit[0]), key=lambda digit: digit[0])
    found, below, last = [], 1, (1, 0)
    for stride, size, unit in digits:
        if stride % below:
            return None
        found.append((stride // below, last[1]))
        below, last = stride, (size, unit)
    found.append(last)
    merged: "list[tuple[int, int]]" = []
    for size, stride in found:
        if size > 1 and merged and merged[-1][0] * merged[-1][1] == stride:
            merged[-1] = (merged[-1][0] * size, merged[-1][1])
        elif size > 1:
            merged.append((size, stride))
    shape, strides = tuple(size for size, _ in merged), tuple(stride for _, stride in merged)
    return "1:0" if not merged else f"{shape[0]}:{strides[0]}" if len(merged) == 1 else f"{show(shape)}:{show(strides)}"


@pytest.mark.drawn
def test_drawn_left_inverses() -> None:
    """`left_inverse` gives CuTe's left inverse if it obeys L(R(L(i))) = L(i), and "not decided" otherwise, also if
    strides overlap.
    """
    rng = random.Random(15 + SEED)
    texts = []
    while len(texts) < 1500 * TIMES:
        shape = tuple(rng.choice([1, 2, 3, 4, 6]) for _ in range(rng.randint(1, 4)))
        steps = [0, 1, 2, 4, 8, 12, 16, 24] if rng.random() < 0.8 else range(12)
        texts.append(f"{show(shape)}:{show(tuple(rng.choice(steps) for _ in shape))}")
    counts = dict.fromkeys(["overlap", "apart", "refused", "no law"], 0)
    for text, said in zip(texts, answers("left_inverse", [[text] for text in texts])):
        layout = chain_of(text)
        want = cute_left_inverse(layout[0])
        if want is None or not inverts(want, text):
            counts["refused" if want is None else "no law"] += 1
            assert said.startswith("error: not decided: expected strides of which each divides"), (text, said)
        else:
            size, moving = product(layout[0][0]), product(tuple(s for s, d in zip(*layout[0]) if d))
            counts["apart" if len({model(layout, i) for i in range(size)}) == moving else "overlap"] += 1
            assert said == want, (text, said, want)
    assert min(counts.values()) > 50, counts


# ---- arrays and linear layouts ------------------------------------------------------------------------------------------------------------------------

def test_onednn_cases() -> None:
    """Every tag in oneDNN's cases has the stated offsets, and every alias means the stated letters."""
    rows = peer(["onednn"])
    tags = [row for row in rows if row["op"] == "onednn_tag"]
    texts = [["x".join(map(str, row["args"][1])) + "@" + row["args"][0]] for row in tags]
    for row, text, said in zip(tags, texts, answers("", texts)):
        assert said.split("\t")[:2] == ["onednn", text[0]]
    for row, said in zip(tags, answers("table", texts)):
        if "meaning" in row:
            assert said_values(said) == row["meaning"]["values"], row["args"]
    aliases = [row for row in rows if row["op"] == "onednn_alias"]
    ranks = ["x".join(["2"] * len(re.match(r"[a-zA-Z]+", row["expect"])[0])) for row in aliases]
    said = answers("", [[f"{rank}@{row['args'][0]}"] for rank, row in zip(ranks, aliases)])
    assert [line.split("\t")[1] for line in said] == [f"{rank}@{row['expect']}" for rank, row in zip(ranks, aliases)]


def test_triton_cases() -> None:
    """Every encoding in Triton's cases has exactly the stated linear layout, as text and as a table."""
    rows = [row for row in peer(["triton_encodings"]) if row["op"] == "to_linear"]
    texts = [["x".join(map(str, row["args"][0])) + "@" + row["args"][1]] for row in rows]
    bad = [(row["name"], row["args"], row["expect"], said) for row, said in zip(rows, answers("", texts)) if said.split("\t")[1:2] != [row["expect"]]]
    assert not bad, "\n".join(map(str, bad))
    small = [i for i, row in enumerate(rows) if "meaning" in row]
    for row, said in zip([rows[i] for i in small], answers("table", [texts[i] for i in small])):
        assert said_values(said) == [trimmed(value if len(value) > 1 else value[0]) for value in row["meaning"]["values"]], row["args"]


# This case of Triton has vec = 8 and perPhase = 2, so row 1 has phase 0, and offset 32 holds (1, 0). But the expected
# text has (1, 2) there: it is the text of vec = 2 and perPhase = 1.
WRONG_DUMPS = ["Larger2DShared#hardware"]


def test_triton_dumps() -> None:
    """`layout dump` reproduces the text that Triton prints for a layout, and `layout product` the text that Triton
    prints for a product.
    """
    rows = [row for row in peer(["triton_encodings"]) if row["op"] in ("dump_layout", "ll_product")]
    for row in rows:
        words = row["args"] if row["op"] == "ll_product" else ["x".join(map(str, row["args"][0])) + "@" + row["args"][1]]
        assert row["op"] == "ll_product" or row["args"][2] == "hardware"
        if row["name"] in WRONG_DUMPS:
            assert re.search(r"^Offset: 32 -> \(1, 0\)$", one("dump", *words)[1], re.M) and "Offset: 32 -> (1, 2)\n" in row["expect"]
            words = [words[0].replace("vec = 8, perPhase = 2", "vec = 2, perPhase = 1")]
        assert one(row["op"].removeprefix("ll_").removesuffix("_layout"), *words) == (0, row["expect"].rstrip("\n")), row["name"]
    assert len(rows) >= 5


def test_no_row_is_left() -> None:
    """No operation in the files of cases is left untested: this file tests all operations on CuTe's and on linear
    layouts, and the operations listed here (mosaic in test_convert.py, optimal_swizzle in test_swizzles.py).
    """
    ran = {"onednn": {"onednn_tag", "onednn_alias"}, "mosaic": {"mosaic_tiled"}, "triton_encodings": {"to_linear", "dump_layout", "ll_product", "optimal_swizzle"}}
    assert not PEER.is_dir() or {path.stem for path in PEER.glob("*.json")} == {*CUTE, "linear_layouts", *ran}
    for name, ops in ran.items():
        assert {row["op"] for row in peer([name])} <= ops


def dims_of(names: "list", sized: bool) -> str:
    """Return the text {a = 2, b = 4} if `sized`, otherwise {a, b}."""
    return "{" + ", ".join(f"{item[0]} = {item[1]}" if sized else item for item in names) + "}"


def test_linear_cases() -> None:
    """Every operation on linear layouts gives exactly the text in the case."""
    bad = []
    rows = peer(["linear_layouts"])
    for row in rows:
        verb, args, expect = row["op"].removeprefix("ll_"), row["args"], row["expect"]
        if verb.startswith("reshape"):
            args = [args[0], dims_of(args[1], True)]
        if verb.startswith("sublayout"):
            args = [args[0], f"{dims_of(args[1], False)} -> {dims_of(args[2], False)}"]
        if verb == "sublayout_is_zero":
            verb, args, expect = "is_zero", [one("sublayout", *args)[1]], "yes" if expect else "no"
        if verb == "free_masks":
            expect = dims_of(list(expect.items()), True)
        status, said = one(verb, *args)
        if (said.split(":")[0] if verb == "is_zero" else said) != str(expect) or status != (expect == "no"):
            bad.append((row["op"], row["args"], row["expect"], said))
    assert len(rows) >= 62 and not bad, "\n".join(map(str, bad))


def draw_linear(rng: random.Random, ins: "list[str]", outs: "dict[str, int]", bits: int) -> "tuple[str, list]":
    """Return a random linear layout with `bits` input bits as text, and its bases."""
    cut = sorted(rng.randint(0, bits) for _ in ins[1:])
    bases = [[rng.randrange(size) for size in outs.values()] for _ in range(bits)]
    spans = zip([0, *cut], [*cut, bits])
    text = ", ".join(f"{name} = {bases[first:last]}" for name, (first, last) in zip(ins, spans))
    return "{" + text + "} -> {" + ", ".join(f"{name} = {size}" for name, size in outs.items()) + "}", bases


def linear_of(text: str) -> "tuple[list, dict[str, int]]":
    """Return the bases of a linear layout in order, and the sizes of its output dimensions."""
    ins, outs = text.split(" -> ")
    return [json.loads(f"[{basis}]") for basis in re.findall(r"\[([-\d, ]+)\]", ins)], {name: int(size) for name, size in re.findall(r"(\w+) = (\d+)", outs)}


def xor(bases: list, bits: int, outs: int) -> tuple:
    value = [0] * outs
    for i, basis in enumerate(bases):
        if bits >> i & 1:
            value = [a ^ b for a, b in zip(value, basis)]
    return tuple(value)


def packed(value: tuple, sizes: "dict[str, int]") -> int:
    total, step = 0, 1
    for part, size in zip(value, sizes.values()):
        total, step = total + part * step, step * size
    return total


@pytest.mark.drawn
def test_drawn_linear() -> None:
    """compose, invert, invert_and_compose, product and divide of random linear layouts obey their laws at every input. If
    one of them is refused, comparing all values shows that no answer exists.
    """
    rng = random.Random(21 + SEED)
    drawn_ = []
    for _ in range(500 * TIMES):
        middle = {"m": rng.choice([1, 2, 4]), "n": rng.choice([2, 4])}
        bits = (middle["m"] * middle["n"]).bit_length() - 1
        drawn_.append((middle, draw_linear(rng, ["a", "b"], middle, rng.randint(0, 4)), draw_linear(rng, ["c", "d"], middle, rng.randint(1, 5)),
                       draw_linear(rng, ["c"], middle, bits)))
    counts = {"yes": 0, "no": 0}
    texts = [[a[0], b[0]] for _, a, b, _ in drawn_]
    for (middle, (_, first), (_, second), _), said in zip(drawn_, answers("invert_and_compose", texts)):
        reached = {xor(second, i, 2) for i in range(1 << len(second))}
        values = [xor(first, i, 2) for i in range(1 << len(first))]
        if said.startswith("no: "):
            at, value, _ = map(int, re.findall(r"-?\d+", said.split(": at ")[1]))
            assert values[at] not in reached and packed(values[at], middle) == value
            counts["no"] += 1
            continue
        made, outs = linear_of(said)
        assert [xor(second, packed(xor(made, i, len(outs)), outs), 2) for i in range(len(values))] == values
        counts["yes"] += 1
    for (middle, _, _, (_, bases)), said in zip(drawn_, answers("invert", [[square[0]] for _, _, _, square in drawn_])):
        values = [packed(xor(bases, i, 2), middle) for i in range(1 << len(bases))]
        if said.startswith("no: "):
            assert len(set(values)) < len(values) and values[int(re.search(r": at (\d+) it is 0,", said)[1])] == 0
            counts["no"] += 1
            continue
        made, _ = linear_of(said)
        assert [xor(made, value, 1)[0] for value in values] == list(range(len(values)))
        counts["yes"] += 1
    products = answers("product", texts)
    for verb, row in (("divide_right", 1), ("divide_left", 0)):
        back = answers(verb, [[said, pair[row]] for said, pair in zip(products, texts)])
        again = answers("product", [[quotient, pair[1]] if row else [pair[0], quotient] for quotient, pair in zip(back, texts)])
        assert again == products
    identity = ["{m = " + str([[1 << k, 0] for k in range(middle["m"].bit_length() - 1)]) + ", n = " + str([[0, 1 << k] for k in range(middle["n"].bit_length() - 1)])
                + "} -> {m = " + str(middle["m"]) + ", n = " + str(middle["n"]) + "}" for middle, *_ in drawn_]
    assert answers("compose", [[pair[0], same] for pair, same in zip(texts, identity)]) == [pair[0] for pair in texts]
    assert min(counts.values()) > 100, counts


def bases_of(text: str) -> "dict[str, list]":
    """Return the bases of each input dimension of a linear layout by name."""
    return {name: json.loads(f"[{bases}]") for name, bases in re.findall(r"(\w+) = \[((?:\[[^][]*\](?:, )?)*)\]", text.split(" -> ")[0])}


def show_linear(bases: "dict[str, list]", outs: "dict[str, int]") -> str:
    return "{" + ", ".join(f"{name} = {part}" for name, part in bases.items()) + "} -> " + dims_of(list(outs.items()), True)


def sized_names(letter: str, bits: int, rng: random.Random) -> "dict[str, int]":
    """Return output dimensions whose sizes have `bits` bits in total."""
    cut = sorted(rng.randint(0, bits) for _ in range(rng.randint(0, 2)))
    return {f"{letter}{i}": 1 << last - first for i, (first, last) in enumerate(zip([0, *cut], [*cut, bits]))}


@pytest.mark.drawn
def test_drawn_linear_dimensions() -> None:
    """After a reshape, the packed values are the same. sublayout keeps the values of some dimensions and has 0
    elsewhere. Every other answer agrees with a visit of all inputs.
    """
    rng = random.Random(22 + SEED)
    rows = []
    for _ in range(600 * TIMES):
        outs = sized_names("o", rng.randint(0, 4), rng)
        total = packed(tuple(size - 1 for size in outs.values()), outs).bit_length()
        names, bits = ["a", "b", "c"][:rng.randint(1, 3)], rng.randint(0, 5)
        text, bases = draw_linear(rng, names, outs, bits)
        if rng.random() < 0.5:  # identity bases, which random bases rarely contain
            size, parts, low = outs["o0"], bases_of(text), iter(range(bits))
            parts = {name: [[1 << i if d == 0 else 0 for d in range(len(outs))] if 1 << i < size and name == "a" else [value & ~rng.randrange(size) for value in basis]
                            for basis, i in zip(part, low)] for name, part in parts.items()}
            text, bases = show_linear(parts, outs), sum(parts.values(), [])
        rows.append((text, bases, outs, total, names, sized_names("i", bits, rng), sized_names("p", total, rng)))
    table = answers("table", [[row[0]] for row in rows])
    values = [[packed(xor(bases, x, len(outs)), outs) for x in range(1 << len(bases))] for _, bases, outs, *_ in rows]
    ins = answers("reshape_ins", [[row[0], dims_of(list(row[5].items()), True)] for row in rows])
    assert answers("table", [[said] for said in ins]) == table
    assert all(re.findall(r"(\w+) = \[", said) == list(row[5]) for row, said in zip(rows, ins))
    assert answers("table", [[said] for said in answers("flatten_ins", [[row[0]] for row in rows])]) == table
    for verb in ("reshape_outs", "flatten_outs"):
        for row, want, said in zip(rows, values, answers(verb, [[row[0], *([dims_of(list(row[6].items()), True)] if verb[0] == "r" else [])] for row in rows])):
            bases, outs = linear_of(said)
            assert list(outs) == (list(row[6]) if verb[0] == "r" else list(row[2])[:1])
            assert [packed(xor(bases, x, len(outs)), outs) for x in range(len(want))] == want, (row[0], said)
    seen = {verb: {"yes": 0, "no": 0} for verb in ("is_zero", "is_injective", "is_surjective")}
    for verb, count in seen.items():
        for row, want, said in zip(rows, values, answers(verb, [[row[0]] for row in rows])):
            right = {"is_zero": not any(want), "is_injective": len(set(want)) == len(want), "is_surjective": len(set(want)) == 1 << row[3]}[verb]
            assert said == "yes" if right else said.startswith("no: "), (verb, row[0], said)
            count["yes" if right else "no"] += 1
            at = list(map(int, re.findall(r"\d+", said)))
            assert right or {"is_zero": lambda: want[at[0]] == at[1] > 0, "is_injective": lambda: at[0] > 0 == want[at[0]], "is_surjective": lambda: at[0] not in want}[verb]()
    for row, want, said in zip(rows, values, answers("free_masks", [[row[0]] for row in rows])):
        free = iter([want[1 << x] in want[:1 << x] for x in range(len(row[1]))])
        masks = {name: sum(1 << i for i, is_free in zip(range(len(part)), free) if is_free) for name, part in bases_of(row[0]).items()}
        assert said == dims_of(list(masks.items()), True), row[0]
    runs = set()
    for row, want, said in zip(rows, values, answers("consecutive", [[row[0]] for row in rows])):
        limit, best = row[2]["o0"], 1
        for size in [1 << k for k in range(1 + len(bases_of(row[0])["a"]))]:
            if all(want[x] % limit + j < limit and want[x + j] == want[x] + j for x in range(0, len(want), size) for j in range(size)):
                best = size
        assert int(said) == best, (row[0], said)
        runs.add(best)
    assert {1, 2, 4} <= runs and min(min(count.values()) for count in seen.values()) > 20, (runs, seen)
    pairs = [(row, [name for name in row[4] if rng.random() < 0.6], [name for name in row[2] if rng.random() < 0.6]) for row in rows]
    for (row, keep, out), said in zip(pairs, answers("sublayout", [[row[0], f"{dims_of(keep, False)} -> {dims_of(out, False)}"] for row, keep, out in pairs])):
        bases = {name: [[basis[d] for d, other in enumerate(row[2]) if other in out] for basis in part] for name, part in bases_of(row[0]).items() if name in keep}
        assert said == show_linear(bases, {name: row[2][name] for name in out}), row[0]
