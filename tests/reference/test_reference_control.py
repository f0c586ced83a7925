"""The bounds of loops and branches equal the bounds of the same computations, written one after the other."""

from __future__ import annotations

import math
import random
import shutil
import struct
from typing import List, Sequence, Tuple

import pytest

from gen import bounds as of_bounds, hlo, reference as ref
from reference_calls import call, compiled, packed

STATE = [("f32", "[3,4]"), ("f32", "[3,4]"), ("f64", "[4]"), ("bf16", "[3]"), ("s32", "[4]"), ("c64", "[2]"), ("u8", "[]")]
SHAPES = [dtype + dims for dtype, dims in STATE]
TUPLE = f"({', '.join(SHAPES)})"
ADD = """add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }
"""


def body(rng: random.Random, name: str) -> str:
    """Return a random computation from the state to a new state. The last leaf, a counter, grows by 1."""
    lines = [f"x{n} = {shape} get-tuple-element(s), index={n}" for n, shape in enumerate(SHAPES)]
    new = [f"x{n}" for n in range(len(SHAPES))]

    def op(n: int, text: str) -> None:
        lines.append(f"y{len(lines)} = {SHAPES[n]} {text}")
        new[n] = f"y{len(lines) - 1}"

    choices: "List[Tuple[int, str]]" = [
        (0, "exponential({0})"), (0, "tanh({0})"), (0, "multiply({0}, {1})"), (0, "subtract({1}, {0})"), (1, "add({0}, {1})"),
        (1, "sine({1})"), (1, "sqrt({1})"), (1, "divide({0}, {1})"), (0, "select({less}, {0}, {1})"), (0, "broadcast({sum}), dimensions={{0}}"),
        (1, "dot({square}, {1}), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}"), (0, "reverse({1}), dimensions={{1}}"),
        (2, "logistic({2})"), (2, "convert({4})"), (2, "add({2}, {2})"), (3, "exponential({3})"), (3, "convert({column})"),
        (4, "add({4}, {4})"), (4, "convert({2})"), (4, "convert({row})"), (5, "multiply({5}, {5})"), (5, "exponential({5})")]
    for n, text in rng.sample(choices, rng.randint(1, 6)):
        for word, shape, made in (("less", "pred[3,4]", "compare({0}, {1}), direction=LT"),
                                  ("sum", "f32[3]", "reduce({1}, zero), dimensions={{1}}, to_apply=add"),
                                  ("square", "f32[3,3]", "dot({0}, {1}), lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}"),
                                  ("column", "f32[3]", "reduce({0}, zero), dimensions={{1}}, to_apply=add"),
                                  ("row", "f32[4]", "reduce({0}, zero), dimensions={{0}}, to_apply=add")):
            if f"{{{word}}}" in text:
                lines += [f"zero{len(lines)} = f32[] constant(0)"]
                lines += [f"{word}{len(lines)} = {shape} {made.format(*new).replace('zero', f'zero{len(lines) - 1}')}"]
                text = text.replace(f"{{{word}}}", f"{word}{len(lines) - 1}")
        op(n, text.format(*new))
    if rng.random() < 0.3:
        new[0], new[1] = new[1], new[0]
    lines += ["one = u8[] constant(1)", f"next = u8[] add(x{len(SHAPES) - 1}, one)"]
    return (f"{name} {{\n  s = {TUPLE} parameter(0)\n  " + "\n  ".join(lines)
            + f"\n  ROOT r = {TUPLE} tuple({', '.join([*new[:-1], 'next'])})\n}}\n")


def module(calls: Sequence[str], parts: str, out: str) -> str:
    """Return a module whose entry puts its parameters into a tuple and makes the calls, each with the result of the one
    before.
    """
    lines = [f"p{n} = {shape} parameter({n})" for n, shape in enumerate(SHAPES)]
    lines += [f"t0 = {TUPLE} tuple({', '.join(f'p{n}' for n in range(len(SHAPES)))})"]
    lines += [f"t{n + 1} = {TUPLE} {made.format(f't{n}')}" for n, made in enumerate(calls)]
    lines += [f"ROOT r = {TUPLE} {out.format(f't{len(calls)}')}"]
    return ADD + parts + "ENTRY e {\n  " + "\n  ".join(lines) + "\n}\n"


def bounds(text: str, data: Sequence[bytes]) -> "Tuple[List[bytes], List[bytes]]":
    """Return the results of the reference and their bounds, as bytes."""
    (fusion,) = hlo.fusions(hlo.parse(text, "t.hlo"))
    of, leaves = fusion.computation, fusion.computation.root.shape.leaves()
    results = call(compiled(ref.reference(of, "t")).t_ref, data, [leaf.bytes for leaf in leaves])
    made = compiled(of_bounds.bound(of, "t", reassociate=False))
    return results, call(made.t_bound, data, [8 * leaf.elements * (1 + (leaf.dtype == "c64")) for leaf in leaves])


def inputs(rng: random.Random, counter: int) -> "List[bytes]":
    data = []
    for dtype, dims in STATE[:-1]:
        count = math.prod(map(int, dims[1:-1].split(",")))
        if dtype == "s32":
            data.append(struct.pack(f"<{count}i", *(rng.randint(-9, 9) for _ in range(count))))
        elif dtype == "bf16":
            data.append(packed([rng.choice([0x3f80, 0x3e99, 0xbf11, 0x4020]) for _ in range(count)], "bf16"))
        else:
            kind, count = ("d", count) if dtype == "f64" else ("f", count * (2 if dtype == "c64" else 1))
            data.append(struct.pack(f"<{count}{kind}", *(rng.uniform(-1.5, 1.5) for _ in range(count))))
    return [*data, bytes([counter])]


def condition(limit: int) -> str:
    return (f"small {{\n  s = {TUPLE} parameter(0)\n  i = u8[] get-tuple-element(s), index={len(SHAPES) - 1}\n"
            f"  n = u8[] constant({limit})\n  ROOT r = pred[] compare(i, n), direction=LT\n}}\n")


@pytest.mark.parametrize("seed", range(12))
def test_a_loop_is_its_iterations(seed: int) -> None:
    rng = random.Random(seed)
    one, times, before = body(rng, "one"), rng.randint(0, 3), rng.randint(0, 1)
    first, data = body(rng, "first"), inputs(rng, 5 - before)
    calls = ["call({}), to_apply=first"] * before
    looped = bounds(module(calls, first + one + condition(5 + times), "while({}), condition=small, body=one"), data)
    assert looped == bounds(module([*calls, *["call({}), to_apply=one"] * times], first + one, "copy({})"), data)


@pytest.mark.parametrize("seed", range(4))
def test_loops_in_loops_and_branches(seed: int) -> None:
    """A loop whose body is a branch by the counter; one arm has a loop."""
    rng = random.Random(100 + seed)
    one, two, last = body(rng, "one"), body(rng, "two"), len(SHAPES) - 1
    inner = (f"inner {{\n  s = {TUPLE} parameter(0)\n  ROOT r = {TUPLE} while(s), condition=small, body=one\n}}\n")
    either = (f"either {{\n  s = {TUPLE} parameter(0)\n  i = u8[] get-tuple-element(s), index={last}\n  n = u8[] constant(2)\n"
              f"  few = pred[] compare(i, n), direction=LT\n  ROOT r = {TUPLE} conditional(few, s, s), true_computation=two, false_computation=inner\n}}\n")
    outer = condition(4).replace("small", "less")
    data = inputs(rng, 0)
    looped = bounds(module([], one + two + condition(4) + outer + inner + either, "while({}), condition=less, body=either"), data)
    assert looped == bounds(module(["call({}), to_apply=two"] * 2 + ["call({}), to_apply=one"] * 2, one + two, "copy({})"), data)


def test_bounds_of_loops_are_finite() -> None:
    """Most values that some iterations compute with errors have bounds that are neither 0 nor infinite."""
    rng = random.Random(5)
    found: "List[float]" = []
    for _ in range(3):
        one = body(rng, "one")
        _, made = bounds(module([], one + condition(3), "while({}), condition=small, body=one"), inputs(rng, 1))
        found += [each for of in made for (each,) in struct.iter_unpack("<d", of)]
    assert sum(0 < each < math.inf for each in found) > len(found) // 4


def test_a_number_of_iterations_that_rounding_may_change() -> None:
    """Leaves that such a loop changes may have any value. Those that it hands on keep their bounds."""
    text = """less { s = (f32[], f32[], s32[2]) parameter(0) x = f32[] get-tuple-element(s), index=0 one = f32[] constant(1)
  ROOT r = pred[] compare(x, one), direction=LT }
more { s = (f32[], f32[], s32[2]) parameter(0) x = f32[] get-tuple-element(s), index=0 y = f32[] get-tuple-element(s), index=1
  n = s32[2] get-tuple-element(s), index=2 z = f32[] exponential(x) ROOT r = (f32[], f32[], s32[2]) tuple(z, y, n) }
ENTRY e { x = f32[] parameter(0) y = f32[] parameter(1) n = s32[2] parameter(2) t = (f32[], f32[], s32[2]) tuple(x, y, n)
  ROOT r = (f32[], f32[], s32[2]) while(t), condition=less, body=more }
"""
    (fusion,) = hlo.fusions(hlo.parse(text, "t.hlo"))
    made = compiled(of_bounds.bound(fusion.computation, "t"))
    answer = call(made.t_bound, [struct.pack("<f", 0.5), struct.pack("<f", 2.0), struct.pack("<2i", 3, 4)], [8, 8, 16])
    assert [struct.unpack(f"<{len(each) // 8}d", each) for each in answer] == [(math.inf,), (0.0,), (0.0, 0.0)]
    assert of_bounds.unknown(fusion.computation) == ["rounding may decide a number of steps in r"]


@pytest.mark.skipif(not shutil.which("clang"), reason="SKIP: no clang")
def test_a_branch_compiles_without_warnings() -> None:
    text = """yes { x = f32[] parameter(0) ROOT r = f32[] negate(x) }
no { ROOT x = f32[] parameter(0) }
ENTRY e { p = pred[] parameter(0) x = f32[] parameter(1)
  ROOT r = f32[] conditional(p, x, x), true_computation=yes, false_computation=no }
"""
    (fusion,) = hlo.fusions(hlo.parse(text, "t.hlo"))
    compiled(of_bounds.bound(fusion.computation, "t"), compiler="clang")
    made = compiled(ref.reference(fusion.computation, "t"), compiler="clang")
    for p, wanted in ((1, -2.0), (0, 2.0)):
        assert call(made.t_ref, [bytes([p]), struct.pack("<f", 2.0)], [4]) == [struct.pack("<f", wanted)]
