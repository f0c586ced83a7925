"""Test complex numbers in kernels. Arithmetic and functions are close to Python's complex numbers; moves keep every bit.
SETT_SWEEP=1 (`ninja test-peer`) runs both types on every target.
"""

from __future__ import annotations

import cmath
import math
import os
import platform
import random
import shutil
import struct
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple

import pytest

from gen_run import gen, run

ROOT = Path(__file__).resolve().parents[2]
SWEEP = os.environ.get("SETT_SWEEP", "") != ""
PART = {"c64": ("f32", "f", 2.0 ** -23, 30), "c128": ("f64", "d", 2.0 ** -52, 250)}  # for each type: the type of a part, its struct code, its ulp at 1, the largest binary exponent of operands of BINARY
BINARY: Dict[str, Callable[[complex, complex], complex]] = {
    "add": lambda a, b: a + b, "subtract": lambda a, b: a - b, "multiply": lambda a, b: a * b, "divide": lambda a, b: a / b}
UNARY: Dict[str, Callable[[complex], complex]] = {
    "negate": lambda a: -a, "exponential": cmath.exp, "log": cmath.log, "sine": cmath.sin, "cosine": cmath.cos}


def buffer(values: "List[complex]", code: str) -> bytes:
    return struct.pack(f"<{2 * len(values)}{code}", *(x for z in values for x in (z.real, z.imag)))


def numbers(data: bytes, code: str) -> List[complex]:
    flat = struct.unpack(f"<{len(data) // struct.calcsize(code)}{code}", data)
    return [complex(a, b) for a, b in zip(flat[::2], flat[1::2])]


def checked(dtype: str, target: str, folder: Path) -> None:
    part, code, unit, size = PART[dtype]
    rng = random.Random(dtype)

    def single(x: float) -> float:
        return struct.unpack("<" + code, struct.pack("<" + code, x))[0]

    def drawn(count: int, exponents: int) -> List[complex]:
        return [complex(*(single(rng.choice((-1, 1)) * math.ldexp(1 + rng.random(), rng.randint(-exponents, exponents))) for _ in range(2)))
                for _ in range(count)]
    n = 300
    a, b, small = drawn(n, size), drawn(n, size), drawn(n, 2)
    a[:6] = [0, 1j, 1, complex(single(1e30), single(1e30)), complex(single(1e-30), 0), complex(single(3e30), single(-4e30))]
    b[:6] = [1j, 1j, -1, complex(single(1e30), single(1e30)), complex(single(1e-30), single(1e-30)), complex(single(1e30), single(1e25))]
    equal = [x if k % 2 else y for k, (x, y) in enumerate(zip(a, b))]
    lines = [f"  a = {dtype}[{n}] parameter(0)", f"  b = {dtype}[{n}] parameter(1)", f"  s = {dtype}[{n}] parameter(2)", f"  e = {dtype}[{n}] parameter(3)",
             f"  z = {dtype}[] constant((1.5, -2))"]
    results: List[str] = []
    names: List[str] = []

    def result(shape: str, op: str) -> None:
        names.append(f"r{len(names)}")
        results.append(shape)
        lines.append(f"  {names[-1]} = {shape} {op}")
    for op in BINARY:
        result(f"{dtype}[{n}]", f"{op}(a, b)")
    for op in UNARY:
        result(f"{dtype}[{n}]", f"{op}({'a' if op in ('negate', 'log') else 's'})")
    result(f"{part}[{n}]", "abs(a)")
    for op in ("real", "imag"):
        result(f"{part}[{n}]", f"{op}(a)")
    result(f"{dtype}[{n}]", "complex(r11, r10)")
    result(f"pred[{n}]", "compare(a, e), direction=EQ")
    result(f"pred[{n}]", "compare(a, e), direction=NE")
    result(f"{dtype}[{n}]", "select(r13, a, b)")
    result(f"{dtype}[]", "reduce(s, z), dimensions={0}, to_apply=total")
    result(f"{dtype}[{n}]", "reverse(a), dimensions={0}")
    result(f"{dtype}[2,{n // 2}]{{0,1}}", "reshape(a)")
    result(f"{dtype}[{n}]", "convert(r10)")
    text = (f"total {{\n  x = {dtype}[] parameter(0)\n  y = {dtype}[] parameter(1)\n  ROOT t = {dtype}[] add(x, y)\n}}\n"
            "f {\n" + "\n".join(lines) + f"\n  ROOT t = ({', '.join(results)}) tuple({', '.join(names)})\n}}\n")
    answers = run(text, [buffer(x, code) for x in (a, b, small, equal)], target, folder)

    def near(label: str, got: "List[complex]", wanted: "List[complex]", ulps: float) -> None:
        """Check that the error of each number is at most `ulps` units in the last place of its magnitude. So
        cancellation in the real or imaginary part is no error.
        """
        for k, (x, y) in enumerate(zip(got, wanted)):
            if dtype == "c64" and not (y == 0 or 1e-30 < abs(y) < 1e38):  # not compared near overflow and underflow, which `gen check` tests
                continue
            assert x == y or abs(x - y) <= ulps * unit * abs(y), f"{dtype} {target} {label} at {k}: {x}, expected {y}"
    at = iter(answers)
    for op, function in BINARY.items():
        near(op, numbers(next(at), code), [function(x, y) for x, y in zip(a, b)], 4)
    for op, unary in UNARY.items():
        values = a if op in ("negate", "log") else small
        got = numbers(next(at), code)
        if op == "log":
            assert got[0] == complex(-math.inf, 0)
            values, got = values[1:], got[1:]
        near(op, got, [unary(x) for x in values], 16)
    sizes = struct.unpack(f"<{n}{code}", next(at))
    near("abs", list(sizes), [abs(x) for x in a], 4)
    reals, imaginaries = (struct.unpack(f"<{n}{code}", next(at)) for _ in range(2))
    assert list(reals) == [x.real for x in a] and list(imaginaries) == [x.imag for x in a]
    assert next(at) == buffer([complex(x.imag, x.real) for x in a], code)
    assert list(next(at)) == [int(x == y) for x, y in zip(a, equal)]
    assert list(next(at)) == [int(x != y) for x, y in zip(a, equal)]
    assert next(at) == buffer([x if x == y else z for x, y, z in zip(a, equal, b)], code)
    mass = sum(map(abs, small))
    assert abs(numbers(next(at), code)[0] - (sum(small) + 1.5 - 2j)) <= n * unit * mass
    assert next(at) == buffer(a[::-1], code)
    assert next(at) == buffer([a[i * (n // 2) + j] for j in range(n // 2) for i in range(2)], code)
    assert next(at) == buffer([complex(x.real, 0.0) for x in a], code)


# ---- functions, compared with mpmath ----

ULPS = {"exponential": 16, "exponential-minus-one": 16, "log": 16, "log-plus-one": 16, "sqrt": 16, "rsqrt": 16, "cbrt": 16, "sine": 16, "cosine": 16, "sinh": 16,
        "cosh": 16, "tanh": 24, "tan": 24, "logistic": 24, "sign": 16, "power": 16, "atan2": 32}
COUNT = 1000 if SWEEP else 200


def true(op: str, mp: Any) -> "Callable[..., Any]":
    def logarithm(z: Any) -> Any:
        return mp.mpc(mp.log(abs(z)), mp.atan2(z.imag, z.real))    # mpmath's own logarithm ignores signs of zeros

    def root(z: Any) -> Any:
        return mp.mpc(mp.sqrt((abs(z) + z.real) / 2), mp.sqrt((abs(z) - z.real) / 2) * (-1 if z.imag < 0 else 1))
    return {"exponential": mp.exp, "exponential-minus-one": mp.expm1, "log": logarithm, "log-plus-one": lambda z: logarithm(1 + z), "sqrt": root,
            "rsqrt": lambda z: 1 / root(z), "cbrt": lambda z: mp.exp(logarithm(z) / 3), "sine": mp.sin, "cosine": mp.cos, "sinh": mp.sinh, "cosh": mp.cosh,
            "tanh": mp.tanh, "tan": mp.tan, "logistic": lambda z: 1 / (1 + mp.exp(-z)), "sign": lambda z: z / abs(z),
            "power": lambda x, y: mp.exp(y * logarithm(x)),
            "atan2": lambda y, x: -1j * logarithm((x + 1j * y) / root(x * x + y * y))}[op]


def samples(op: str, dtype: str) -> "List[Tuple[complex, ...]]":
    """Return points over many binades, near 0, 1, -1 and i, on the axes and near poles. Points where a result or an
    intermediate value overflows or underflows are left out.
    """
    code, rng = PART[dtype][1], random.Random(op + dtype)

    def single(x: float) -> float:
        return struct.unpack("<" + code, struct.pack("<" + code, x))[0]

    def drawn(low: int, high: int) -> complex:
        z = complex(*(rng.choice((-1, 1)) * math.ldexp(1 + rng.random(), rng.randint(low, high)) for _ in range(2)))
        return complex(*map(single, rng.choice([(z.real, z.imag)] * 4 + [(z.real, 0.0), (0.0, z.imag)])))

    def near(point: complex) -> complex:
        off = drawn(-PART[dtype][3] // 2, -3)
        return complex(single(point.real + off.real), single(point.imag + off.imag))
    wide = op in ("log", "log-plus-one", "sqrt", "rsqrt", "cbrt", "sign")
    size = PART[dtype][3] * 2 if wide else 4
    found: "List[Tuple[complex, ...]]" = []
    for k in range(COUNT):
        z = drawn(-size, size) if k % 2 else near(rng.choice((0, 1, -1, 1j, -1j, math.pi * 0.5, math.pi * 1j, math.pi * 0.5j, 0.6 + 0.8j)))
        if op in ("power", "atan2"):
            found.append((z, drawn(-4, 3) if k % 3 else near(rng.choice((0, 1, 2, -1, 0.5)))))
        else:
            found.append((z,))
    return [x for x in found if all(z != 0 for z in x)]


@pytest.mark.parametrize("dtype, target", [(d, t) for d in PART for t in ("c", "opencl", "cuda-on-cpu")] if SWEEP else [("c64", "opencl"), ("c128", "c")])
def test_functions(dtype: str, target: str, tmp_path: Path) -> None:
    """The error of each function is at most the number of ulps stated in gen/reference/complex_functions.py."""
    mp = pytest.importorskip("mpmath", reason="SKIP: no mpmath").mp
    mp.prec = 300 if dtype == "c64" else 1600
    _, code, unit, _ = PART[dtype]
    drawn = {op: samples(op, dtype) for op in ULPS}
    lines, results, buffers = [], [], []
    for op, arguments in drawn.items():
        for side in zip(*arguments):
            lines.append(f"  p{len(buffers)} = {dtype}[{len(side)}] parameter({len(buffers)})")
            buffers.append(buffer(list(side), code))
        results.append(f"{dtype}[{len(arguments)}]")
        names = [f"p{len(buffers) - len(arguments[0]) + k}" for k in range(len(arguments[0]))]
        lines.append(f"  r{len(results)} = {results[-1]} {op}({', '.join(names)})")
    names = [f"r{k + 1}" for k in range(len(results))]
    answers = run("f {\n" + "\n".join(lines) + f"\n  ROOT t = ({', '.join(results)}) tuple({', '.join(names)})\n}}\n", buffers, target, tmp_path)
    worst: "Dict[str, Tuple[float, Any, Any]]" = {}
    for (op, arguments), answer in zip(drawn.items(), answers):
        function = true(op, mp)
        for x, got in zip(arguments, numbers(answer, code)):
            exact = function(*map(mp.mpc, x))
            if op == "atan2" and abs(mp.re(mp.sqrt(mp.mpc(x[0]) ** 2 + mp.mpc(x[1]) ** 2))) < 1e-3 * abs(mp.mpc(x[0])):
                continue    # near the branch cut, where both roots are right
            if not (exact == 0 or (1e-30 < abs(exact) < 1e38 if dtype == "c64" else 1e-290 < abs(exact) < 1e308)):
                continue
            allowed = float(ULPS[op])
            if op == "power":
                allowed += 4 * float(abs(mp.mpc(x[1]) * mp.log(mp.mpc(x[0]))))
            if op == "atan2":
                v = mp.mpc(x[0]) / mp.mpc(x[1])
                allowed *= 1 + float(abs(v / (1 + v * v) / exact))
            off = float(abs(mp.mpc(got) - exact) / (unit * abs(exact))) / allowed if exact != 0 else 0.0 if got == 0 else math.inf
            if not off <= worst.get(op, (-1.0, None, None))[0]:
                worst[op] = off, x, got
    print(f"{dtype} {target}, largest error as a share of the allowed ulps: " + ", ".join(f"{op} {off:.2f}" for op, (off, _, _) in worst.items()))
    over = {op: found for op, found in worst.items() if not found[0] <= 1}
    assert not over, f"{dtype} {target}: {over}"


# ---- special values: annex G of C11, and gen/reference/complex_functions.py ----

INF, NAN, PI = math.inf, math.nan, math.pi
SPECIAL: "Dict[str, List[Tuple[Tuple[float, ...], Tuple[float, float]]]]" = {
    "multiply": [((INF, INF, 1, 0.0), (NAN, NAN)), ((INF, 1, 2, 3), (INF, INF)), ((-0.0, -0.0, 1, 0.0), (0.0, -0.0)), ((NAN, 1, 1, 1), (NAN, NAN))],
    "divide": [((1, 2, 0.0, 0.0), (INF, INF)), ((1, 2, -0.0, 0.0), (-INF, -INF)), ((0.0, 0.0, 0.0, 0.0), (NAN, NAN)), ((NAN, 1, 0.0, 0.0), (NAN, INF)), ((1, 2, INF, 3), (0.0, 0.0)),
               ((1, 1, INF, NAN), (0.0, 0.0)), ((INF, 1, 1, 1), (INF, -INF)), ((INF, NAN, 1, 1), (INF, -INF)), ((INF, 1, INF, 1), (NAN, NAN)), ((NAN, 1, 1, 1), (NAN, NAN)),
               ((1, NAN, INF, 1), (NAN, NAN)), ((3, -0.0, 1, 0.0), (3, -0.0)), ((2.0 ** -149, 0.0, 2.0 ** -149, 0.0), (1, 0.0)), ((1, -2, 0.0, 1), (-2, -1)),
               ((1.5 * 2.0 ** 127, -1, 2.0 ** 127, 2.0 ** 127), (0.75, -0.75)), ((2.0 ** 126, 2.0 ** -20, 2.0 ** 127, 2.0 ** 127), (0.25, -0.25))],
    "sqrt": [((0.0, 0.0), (0.0, 0.0)), ((-0.0, -0.0), (0.0, -0.0)), ((1, INF), (INF, INF)), ((NAN, -INF), (INF, -INF)), ((-INF, 1), (0.0, INF)),
             ((-INF, -1), (0.0, -INF)), ((INF, 1), (INF, 0.0)), ((INF, -1), (INF, -0.0)), ((INF, NAN), (INF, NAN)), ((NAN, 1), (NAN, NAN)),
             ((-4, 0.0), (0.0, 2)), ((-4, -0.0), (0.0, -2))],
    "rsqrt": [((0.0, 0.0), (INF, NAN)), ((INF, 1), (0.0, -0.0)), ((-INF, -1), (0.0, 0.0)), ((4, 0.0), (0.5, -0.0)), ((-4, 0.0), (0.0, -0.5)), ((-4, -0.0), (0.0, 0.5))],
    "log": [((-0.0, 0.0), (-INF, PI)), ((0.0, -0.0), (-INF, -0.0)), ((1, INF), (INF, PI / 2)), ((-INF, 1), (INF, PI)), ((INF, -1), (INF, -0.0)),
            ((-INF, INF), (INF, 3 * PI / 4)), ((INF, -INF), (INF, -PI / 4)), ((INF, NAN), (INF, NAN)), ((NAN, INF), (INF, NAN)), ((NAN, 1), (NAN, NAN)),
            ((-1, 0.0), (0.0, PI)), ((-1, -0.0), (0.0, -PI)), ((2.0 ** 127, 2.0 ** 127), (127.5 * math.log(2), PI / 4))],
    "log-plus-one": [((-1, 0.0), (-INF, 0.0)), ((0.0, -0.0), (0.0, -0.0)), ((INF, 1), (INF, 0.0)), ((-INF, 1), (INF, PI)), ((NAN, 1), (NAN, NAN))],
    "exponential": [((0.0, -0.0), (1, -0.0)), ((1, INF), (NAN, NAN)), ((INF, 0.0), (INF, 0.0)), ((-INF, 1), (0.0, 0.0)), ((-INF, 2), (-0.0, 0.0)),
                    ((INF, 2), (-INF, INF)), ((NAN, 0.0), (NAN, 0.0)), ((NAN, 1), (NAN, NAN))],
    "exponential-minus-one": [((0.0, -0.0), (0.0, -0.0)), ((INF, 0.0), (INF, 0.0)), ((-INF, 1), (-1, 0.0)), ((NAN, 0.0), (NAN, 0.0)), ((1, INF), (NAN, NAN))],
    "tanh": [((0.0, -0.0), (0.0, -0.0)), ((-0.0, 0.0), (-0.0, 0.0)), ((1, INF), (NAN, NAN)), ((INF, 1), (1, 0.0)), ((INF, 2), (1, -0.0)), ((-INF, INF), (-1, 0.0)),
             ((INF, NAN), (1, 0.0)), ((NAN, 0.0), (NAN, 0.0)), ((NAN, 1), (NAN, NAN)), ((200, INF), (NAN, NAN)), ((-200, NAN), (NAN, NAN)), ((-1000, 1), (-1, 0.0)), ((1e30, -1), (1, -0.0))],
    "tan": [((0.0, INF), (0.0, 1)), ((1, INF), (0.0, 1)), ((2, -INF), (-0.0, -1)), ((INF, 1), (NAN, NAN)), ((-0.0, 0.0), (-0.0, 0.0))],
    "sign": [((0.0, -0.0), (0.0, -0.0)), ((INF, 1), (NAN, 0.0)), ((1, NAN), (NAN, NAN)), ((NAN, 0.0), (NAN, NAN)), ((-0.0, NAN), (NAN, NAN)), ((3, 4), (0.6, 0.8)), ((2.0 ** 127, -2.0 ** 127), (0.5 ** 0.5, -0.5 ** 0.5)),
             ((2.0 ** -149, 2.0 ** -149), (0.5 ** 0.5, 0.5 ** 0.5))],
    "logistic": [((INF, 1), (1, 0.0)), ((-INF, 1), (0.0, 0.0)), ((0.0, -0.0), (0.5, -0.0)), ((-2000, 1), (0.0, 0.0)), ((2000, -1), (1, -0.0)), ((1, INF), (NAN, NAN))],
    "cbrt": [((0.0, 0.0), (0.0, 0.0)), ((8, 0.0), (2, 0.0)), ((-8, 0.0), (1, 3 ** 0.5)), ((-8, -0.0), (1, -3 ** 0.5)), ((INF, 0.0), (INF, 0.0)),
             ((2.0 ** 127, 2.0 ** 127), (2 ** (127.5 / 3) * math.cos(PI / 12), 2 ** (127.5 / 3) * math.sin(PI / 12)))],
    "sine": [((0.0, INF), (0.0, INF)), ((-0.0, 1), (-0.0, math.sinh(1))), ((INF, 1), (NAN, NAN)), ((1, -INF), (INF, -INF))],
    "cosine": [((0.0, INF), (INF, -0.0)), ((0.0, -INF), (INF, 0.0)), ((0.0, -0.0), (1, 0.0)), ((INF, 1), (NAN, NAN)), ((1, INF), (INF, -INF))],
    "sinh": [((INF, 0.0), (INF, 0.0)), ((-INF, -0.0), (-INF, -0.0)), ((0.0, -0.0), (0.0, -0.0)), ((INF, 2), (-INF, INF)), ((1, INF), (NAN, NAN))],
    "cosh": [((INF, 0.0), (INF, 0.0)), ((-INF, 0.0), (INF, -0.0)), ((0.0, 0.0), (1, 0.0)), ((INF, 2), (-INF, INF)), ((1, INF), (NAN, NAN))],
    "power": [((NAN, NAN, 0.0, 0.0), (1, 0.0)), ((0.0, 0.0, 0.0, -0.0), (1, 0.0)), ((0.0, 0.0, 2, 0.0), (0.0, 0.0)), ((0.0, 0.0, 1, 1), (0.0, 0.0)), ((0.0, 0.0, -1, 0.0), (INF, -0.0)),
              ((INF, 0.0, 2, 0.0), (INF, 0.0)), ((INF, 1, -1, 0.0), (0.0, 0.0)), ((2, 0.0, 3, 0.0), (8, 0.0)), ((2, 0.0, NAN, 0.0), (NAN, NAN)),
              *(((1, zero, *y), (1, 0.0)) for zero in (0.0, -0.0) for y in ((INF, 0.0), (NAN, 0.0), (-INF, NAN), (NAN, NAN), (0.0, INF), (3, -2))),
              ((INF, 0.0, INF, 0.0), (INF, 0.0)), ((INF, -0.0, 0.5, 0.0), (INF, 0.0)), ((0.5, 0.0, INF, 0.0), (0.0, 0.0)),
              ((2.0 ** 127, 2.0 ** 127, 0.5, 0.0), (2 ** 63.75 * math.cos(PI / 8), 2 ** 63.75 * math.sin(PI / 8)))],
    "atan2": [((0.0, 0.0, 1, 0.0), (0.0, -0.0)), ((1, 0.0, 0.0, 0.0), (PI / 2, -0.0)), ((-1, 0.0, 0.0, 0.0), (-PI / 2, -0.0)), ((0.0, 0.0, -1, 0.0), (PI, -0.0)),
              ((1, 0.0, -1, 0.0), (3 * PI / 4, -0.0)), ((-1, 0.0, -1, 0.0), (-3 * PI / 4, -0.0)), ((0.0, 0.0, 0.0, 0.0), (NAN, NAN)),
              ((2.0 ** 127, 0.0, 2.0 ** 127, 0.0), (PI / 4, -0.0))],
}


EVERY = [(dtype, target) for dtype in PART for target in ("c", "opencl", "cuda-on-cpu")]


@pytest.mark.parametrize("dtype, target", EVERY if SWEEP else [("c64", "c"), ("c128", "opencl"), ("c64", "cuda-on-cpu")])
def test_special_values(dtype: str, target: str, tmp_path: Path) -> None:
    """Functions are right for infinities, NaN and zeros of both signs. They are right on both sides of branch cuts, and
    for numbers so large or small that a naive formula overflows.
    """
    _, code, unit, _ = PART[dtype]
    lines, results, buffers = [], [], []
    for op, rows in SPECIAL.items():
        names = []
        for k in range(0, len(rows[0][0]), 2):
            names.append(f"p{len(buffers)}")
            lines.append(f"  {names[-1]} = {dtype}[{len(rows)}] parameter({len(buffers)})")
            buffers.append(struct.pack(f"<{2 * len(rows)}{code}", *(part for x, _ in rows for part in x[k:k + 2])))
        lines.append(f"  r{len(results)} = {dtype}[{len(rows)}] {op}({', '.join(names)})")
        results.append(f"{dtype}[{len(rows)}]")
    names = [f"r{k}" for k in range(len(results))]
    answers = run("f {\n" + "\n".join(lines) + f"\n  ROOT t = ({', '.join(results)}) tuple({', '.join(names)})\n}}\n", buffers, target, tmp_path)
    wrong = []
    for (op, rows), answer in zip(SPECIAL.items(), answers):
        for (x, wanted), got in zip(rows, struct.iter_unpack(f"<2{code}", answer)):
            for y, z in zip(wanted, got):
                good = math.isnan(z) if math.isnan(y) else (z == y and math.copysign(1, z) == math.copysign(1, y)) if y in (0.0, INF, -INF) and op != "atan2" else \
                    abs(y - z) <= 16 * unit * max(abs(v) for v in wanted if math.isfinite(v))
                wrong += [] if good else [f"{op}{x}: {got}, expected {wanted}"]
    assert not wrong, "\n".join(wrong)


# Values of a real or imaginary part, all complex numbers with such parts, and all pairs of these numbers.
PARTS = [0.0, -0.0, 1.0, -2.0, INF, -INF, NAN]
GRID = [complex(a, b) for a in PARTS for b in PARTS]
PAIRS = [(x, y) for x in GRID for y in GRID]
ANNEX_G: Dict[str, Callable[[complex], complex]] = {"exponential": cmath.exp, "log": cmath.log, "sqrt": cmath.sqrt, "tanh": cmath.tanh}


def module(dtype: str, ops: "Dict[str, int]") -> str:
    """Return a module that applies each op with one operand to all points of GRID, and each op with two operands to all
    pairs of PAIRS. ops: the number of operands of each op.
    """
    sizes = {1: len(GRID), 2: len(PAIRS)}
    results = [f"{dtype}[{sizes[arity]}]{{0}}" for arity in ops.values()]
    parameters = [f"  g = {dtype}[{sizes[1]}]{{0}} parameter(0)", *(f"  {name} = {dtype}[{sizes[2]}]{{0}} parameter({k})" for k, name in ((1, "x"), (2, "y")))]
    lines = [f"  r{k} = {shape} {op}({'g' if arity == 1 else 'x, y'})" for k, (shape, (op, arity)) in enumerate(zip(results, ops.items()))]
    return "\n".join(["HloModule m", "", "ENTRY e {", *parameters, *lines,
                      f"  ROOT t = ({', '.join(results)}) tuple({', '.join(f'r{k}' for k in range(len(results)))})", "}", ""])


def on_grid(dtype: str, target: str, ops: "Dict[str, int]", folder: Path) -> "Dict[str, List[complex]]":
    code = PART[dtype][1]
    buffers = [buffer(GRID, code), *(buffer([pair[k] for pair in PAIRS], code) for k in (0, 1))]
    return dict(zip(ops, (numbers(answer, code) for answer in run(module(dtype, ops), buffers, target, folder))))


def same(x: float, y: float, signs: bool = True) -> bool:
    if x != x or y != y:
        return x != x and y != y
    return x == y and (not signs or math.copysign(1, x) == math.copysign(1, y)) if y in (0, INF, -INF) else abs(x - y) <= 1e-6 * abs(y)


@pytest.mark.parametrize("dtype, target", EVERY if SWEEP else [("c64", "c"), ("c64", "opencl"), ("c128", "cuda-on-cpu")])
def test_annex_g(dtype: str, target: str, tmp_path: Path) -> None:
    """exp, log, sqrt and tanh equal Python's, which follow the tables in annex G of C11. Quotients obey annex G's rules.
    """
    answers = on_grid(dtype, target, {**{op: 1 for op in ANNEX_G}, "divide": 2}, tmp_path)
    wrong = []
    for op, function in ANNEX_G.items():
        for z, got in zip(GRID, answers[op]):
            try:
                wanted = function(z)
            except ValueError:    # Python raises an error at a pole, and where an infinite argument gives NaN
                continue
            free = not math.isfinite(z.imag) and math.isinf(z.real)    # annex G leaves the signs of these results unspecified
            if not (same(got.real, wanted.real, not free) and same(got.imag, wanted.imag, not free)):
                wrong.append(f"{op}({z}): {got}, expected {wanted}")
    for (x, y), got in zip(PAIRS, answers["divide"]):
        finite = [cmath.isfinite(v) for v in (x, y)]
        if cmath.isinf(x) and finite[1] or y == 0 and any(part == part and part != 0 for part in (x.real, x.imag)):
            good = cmath.isinf(got)
        elif finite[0] and cmath.isinf(y):
            good = got == 0
        elif all(finite) and y != 0:
            good = abs(got - x / y) <= 1e-6 * abs(x / y)
        else:
            good = got.real != got.real and got.imag != got.imag
        wrong += [] if good else [f"{x} / {y}: {got}"]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("dtype, target", EVERY if SWEEP else [("c64", "c"), ("c128", "c"), ("c64", "opencl")])
def test_quotients(dtype: str, target: str, tmp_path: Path) -> None:
    """Quotients over all exponents of a type are within 8 ulps of the quotient's magnitude, unless the quotient itself
    overflows or underflows.
    """
    part, code, unit, _ = PART[dtype]
    least, most = (-149, 127) if part == "f32" else (-1074, 1023)
    rng = random.Random(dtype)

    def single(low: int, high: int) -> float:
        return struct.unpack("<" + code, struct.pack("<" + code, rng.choice((-1, 1)) * math.ldexp(rng.randint(1 << 22, (1 << 23) - 1), rng.randint(low, high) - 22)))[0]

    def drawn() -> complex:
        k = rng.choice((0, 1, 2, 3))
        low, high = ((least, most), (most - 2, most), (least, least + 30), (-4, 4))[k]
        return complex(single(low, high), rng.choice((0.0, single(low, high), single(least, most))))
    pairs = [(drawn(), drawn()) for _ in range(4000)]
    pairs = [(complex(y.imag, y.real) if rng.random() < 0.5 else y, x) for x, y in pairs if x != 0]
    text = (f"f {{\n  a = {dtype}[{len(pairs)}] parameter(0)\n  b = {dtype}[{len(pairs)}] parameter(1)\n"
            f"  ROOT r = {dtype}[{len(pairs)}] divide(a, b)\n}}\n")
    (answer,) = run(text, [buffer([pair[k] for pair in pairs], code) for k in (0, 1)], target, tmp_path)
    compared = 0
    for (x, y), got in zip(pairs, numbers(answer, code)):
        a, b, c, d = map(Fraction, (x.real, x.imag, y.real, y.imag))
        re, im = (a * c + b * d) / (c * c + d * d), (b * c - a * d) / (c * c + d * d)
        size = max(abs(re), abs(im))
        if not Fraction(2) ** (-120 if part == "f32" else -1015) < size < Fraction(2) ** most / 2:
            continue
        compared += 1
        assert cmath.isfinite(got), f"{x} / {y}: {got}, expected {float(re), float(im)}"
        off = max(abs(Fraction(got.real) - re), abs(Fraction(got.imag) - im)) / size / Fraction(unit)
        assert off <= 8, f"{x} / {y}: {got}, {float(off)} ulps from {float(re), float(im)}"
    assert compared > 1000


@pytest.mark.parametrize("dtype, target", EVERY if SWEEP else [("c64", "c"), ("c128", "opencl")])
def test_by_infinity(dtype: str, target: str, tmp_path: Path) -> None:
    """A finite number divided by an infinite number is zero, even if products of their parts overflow."""
    code, most = PART[dtype][1], {"c64": 2.0 ** 127, "c128": 2.0 ** 1023}[dtype]
    parts = [0.0, 1.0, most, -most]
    above = [complex(a, b) for a in parts for b in parts]
    below = [complex(a, b) for a in (*parts, INF, -INF) for b in (*parts, INF, -INF) if math.inf in (abs(a), abs(b))]
    pairs = [(x, y) for x in above for y in below]
    text = (f"f {{\n  a = {dtype}[{len(pairs)}] parameter(0)\n  b = {dtype}[{len(pairs)}] parameter(1)\n"
            f"  ROOT r = {dtype}[{len(pairs)}] divide(a, b)\n}}\n")
    (answer,) = run(text, [buffer([pair[k] for pair in pairs], code) for k in (0, 1)], target, tmp_path)
    wrong = [f"{x} / {y}: {got}" for (x, y), got in zip(pairs, numbers(answer, code)) if got != 0]
    assert not wrong, "\n".join(wrong)
    assert gen("check", tmp_path / "m.hlo", "--target", target).returncode == 0


@pytest.mark.parametrize("dtype", PART)
def test_beside_xla(dtype: str, tmp_path: Path) -> None:
    """Products, quotients, signs and powers of infinities, NaN and zeros equal those of XLA:CPU. Powers that are NaN in
    XLA may differ.
    """
    pytest.importorskip("jax", reason="SKIP: no jax")
    ops = {"sign": 1, "multiply": 2, "divide": 2, "power": 2}
    answers = on_grid(dtype, "c", ops, tmp_path)
    data = b"".join((tmp_path / "in" / f"p{k}.bin").read_bytes() for k in range(3))
    script = ("import sys, jax\njax.config.update('jax_enable_x64', True)\nimport numpy as np, with_xla\n"
              "program, shapes, _ = with_xla.compiled(open(sys.argv[1]).read())\n"
              "given = [jax.device_put(np.array(x)) for x in with_xla.parameters(shapes, sys.argv[2])]\n"
              "for array in program.execute_sharded(given).disassemble_into_single_device_arrays():\n"
              "  sys.stdout.buffer.write(np.asarray(array[0]).tobytes())\n")
    (tmp_path / "xla.bin").write_bytes(data)
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path / "m.hlo"), str(tmp_path / "xla.bin")], capture_output=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "gen" / "run" / "harness")})
    if b"cannot import" in done.stderr or b"has no attribute" in done.stderr:
        pytest.skip("SKIP: another jax")
    assert done.returncode == 0, done.stderr.decode()
    theirs = iter(numbers(done.stdout, PART[dtype][1]))
    wrong = []
    for op, arity in ops.items():
        for operands, got in zip(GRID if arity == 1 else PAIRS, answers[op]):
            wanted = next(theirs)
            nan = op == "power" and wanted.real != wanted.real and wanted.imag != wanted.imag
            signs = op != "power"  # signs of zeros are not compared in powers: XLA loses the sign of the zero in (inf - 0i)^2
            if not nan and not (same(got.real, wanted.real, signs) and same(got.imag, wanted.imag, signs)):
                wrong.append(f"{op}{operands}: {got}, XLA has {wanted}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("dtype", PART)
def test_nvcc(dtype: str, tmp_path: Path) -> None:
    """The CUDA text of every complex function compiles without a warning."""
    if not shutil.which("nvcc"):
        pytest.skip("SKIP: no nvcc")
    lines = [f"  r{k} = {dtype}[64] {op}({'a, b' if op in ('power', 'atan2') else 'a'})" for k, op in enumerate(ULPS)]
    (tmp_path / "m.hlo").write_text("\n".join(["f {", f"  a = {dtype}[64] parameter(0)", f"  b = {dtype}[64] parameter(1)", *lines, "  ROOT t = (" + ", ".join(
        [f"{dtype}[64]"] * len(ULPS)) + ") tuple(" + ", ".join(f"r{k}" for k in range(len(ULPS))) + ")", "}", ""]))
    assert gen("build", tmp_path / "m.hlo", "-o", tmp_path, "--target", "cuda").returncode == 0
    done = subprocess.run(["nvcc", "-arch=sm_80", "-Werror", "all-warnings", "--ptx", "m.cu", "-o", "m.ptx"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and not done.stdout + done.stderr, done.stdout + done.stderr


CASES: "List[Tuple[str, str]]" = [(dtype, target) for dtype in PART for target in ("c", "opencl", "cuda-on-cpu")]


@pytest.mark.parametrize("dtype, target", CASES if SWEEP else [("c64", "opencl"), ("c128", "c")])
def test_complex(dtype: str, target: str, tmp_path: Path) -> None:
    checked(dtype, target, tmp_path)


@pytest.mark.parametrize("dtype, target", [(d, t) for d in PART for t in ("c", "opencl", "cuda-on-cpu")] if SWEEP else [("c64", "cuda-on-cpu"), ("c128", "c")])
def test_scatter(dtype: str, target: str, tmp_path: Path) -> None:
    """Scatters that add, multiply or overwrite equal Python's results. The numbers are small integers, so that sums do
    not depend on the order. Updates out of range are dropped.
    """
    code, rng = PART[dtype][1], random.Random(dtype)
    places, rows = 20, 300
    start, updates = ([complex(rng.randint(-9, 9), rng.randint(-9, 9)) for _ in range(n)] for n in (places, rows))
    many, few = [rng.randint(-2, places + 1) for _ in range(rows)], rng.sample(range(places), 12) + [-1] * (rows - 12)
    sums, products, last = list(start), list(start), list(start)
    for at, once, update in zip(many, few, updates):
        if 0 <= at < places:
            sums[at] += update
        if 0 <= once < places:
            products[once] *= update
            last[once] = update
    text = ""
    for name, op in (("add", "add(a, b)"), ("multiply", "multiply(a, b)"), ("last", "copy(b)")):
        text += f"{name} {{\n  a = {dtype}[] parameter(0)\n  b = {dtype}[] parameter(1)\n  ROOT r = {dtype}[] {op}\n}}\n"
    lines = [f"  x = {dtype}[{places}] parameter(0)", f"  m = s32[{rows},1] parameter(1)", f"  o = s32[{rows},1] parameter(2)", f"  u = {dtype}[{rows}] parameter(3)"]
    for name, at in (("add", "m"), ("multiply", "o"), ("last", "o")):
        lines.append(f"  {name}s = {dtype}[{places}] scatter(x, {at}, u), update_window_dims={{}}, inserted_window_dims={{0}}, "
                     f"scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply={name}")
    text += "f {\n" + "\n".join(lines) + f"\n  ROOT t = ({', '.join([f'{dtype}[{places}]'] * 3)}) tuple(adds, multiplys, lasts)\n}}\n"
    buffers = [buffer(start, code), struct.pack(f"<{rows}i", *many), struct.pack(f"<{rows}i", *few), buffer(updates, code)]
    answers = run(text, buffers, target, tmp_path)
    for wanted, answer in zip((sums, products, last), answers):
        assert numbers(answer, code) == wanted


MOVES = """larger {{
  a = {d}[] parameter(0)
  b = {d}[] parameter(1)
  k = {d}[] constant((-inf, -inf))
  m = {d}[] maximum(a, k)
  ROOT r = {d}[] maximum(m, b)
}}

e {{
  x = {d}[{n}] parameter(0)
  y = {d}[{n}] parameter(1)
  p = pred[8,4] parameter(2)
  b = u8[32] parameter(3)
  w = {f}[{n}] parameter(4)
  o = {d}[40] parameter(5)
  k = {d}[3] constant({{(-inf, nan), (1, 2), (nan, inf)}})
  z = {d}[] constant((-inf, -inf))
  low = {d}[{n}] minimum(x, y)
  high = {d}[{n}] maximum(x, y)
  mid = {d}[{n}] clamp(z, x, y)
  any = {d}[] reduce(y, z), dimensions={{0}}, to_apply=larger
  top = {d}[] reduce(o, z), dimensions={{0}}, to_apply=larger
  same = {d}[{n}] bitcast-convert(x)
  s = s32[8] bitcast-convert(p)
  t = s8[8,4] bitcast-convert(p)
  q = pred[8,4] bitcast-convert(s)
  u = pred[32] bitcast-convert(b)
  re = {f}[{n}] real(w)
  im = {f}[{n}] imag(w)
  h = f16[{n}] convert(w)
  hi = f16[{n}] imag(h)
  ROOT r = ({d}[3], {d}[{n}], {d}[{n}], {d}[{n}], {d}[], {d}[], {d}[{n}], s32[8], s8[8,4], pred[8,4], pred[32], {f}[{n}], {f}[{n}], f16[{n}]) tuple(
    k, low, high, mid, any, top, same, s, t, q, u, re, im, hi)
}}
"""


@pytest.mark.parametrize("dtype, target", EVERY if SWEEP else [("c64", "c"), ("c64", "opencl"), ("c128", "cuda-on-cpu")])
def test_parts_and_bits(dtype: str, target: str, tmp_path: Path) -> None:
    """Constants with parts that are infinities or NaN have the right values. Maximum and minimum compare the real
    parts, then the imaginary parts, and give NaN if a part is NaN. Real and imaginary parts of real arrays, and
    bitcast-converts of pred arrays, are right.
    """
    part, code, _, _ = PART[dtype]
    pairs = PAIRS[::3]
    x, y = ([pair[k] for pair in pairs] for k in (0, 1))
    preds, octets = [int(k % 3 == 0) for k in range(32)], [k * 37 % 256 for k in range(32)]
    reals = [z.real for z in x]
    text = MOVES.format(d=dtype, f=part, n=len(pairs))
    given = [buffer(x, code), buffer(y, code), bytes(preds), bytes(octets), struct.pack(f"<{len(reals)}{code}", *reals),
             buffer([complex(j % 4, j * 7 % 10 * 0.5) for j in range(40)], code)]
    k, low, high, mid, any_, top, bits, s, t, q, u, re, im, hi = run(text, given, target, tmp_path)

    def extreme(a: complex, b: complex, sign: int) -> complex:
        if a != a or b != b:
            return complex(NAN, NAN)
        return a if (sign * a.real, sign * a.imag) >= (sign * b.real, sign * b.imag) else b

    def alike(got: "List[complex]", wanted: "List[complex]") -> bool:
        return all(same(a.real, b.real) and same(a.imag, b.imag) for a, b in zip(got, wanted)) and len(got) == len(wanted)
    assert alike(numbers(k, code), [complex(-INF, NAN), 1 + 2j, complex(NAN, INF)])
    assert alike(numbers(low, code), [extreme(a, b, -1) for a, b in zip(x, y)])
    assert alike(numbers(high, code), [extreme(a, b, 1) for a, b in zip(x, y)])
    assert alike(numbers(mid, code), [extreme(extreme(a, complex(-INF, -INF), 1), b, -1) for a, b in zip(x, y)])
    assert alike(numbers(any_, code), [complex(NAN, NAN)]) and alike(numbers(top, code), [complex(3, 4.5)])
    assert bits == given[0] and s == t == q == bytes(preds) and u == bytes(int(octet != 0) for octet in octets)
    assert re == given[4] and im == bytes(len(im)) and hi == bytes(len(hi))


@pytest.mark.parametrize("target", ["c", "opencl", "cuda-on-cpu"])
def test_parts_of_parts(target: str, tmp_path: Path) -> None:
    """Moves between c128 and pairs of c64 keep every bit, including NaN payloads."""
    rng = random.Random(1)
    data = bytes(rng.randrange(256) for _ in range(16 * 12))
    text = ("e {\n  x = c128[4,3] parameter(0)\n  y = c64[12,2] parameter(1)\n  z = c128[] parameter(2)\n  a = c64[4,3,2] bitcast-convert(x)\n"
            "  b = c128[12] bitcast-convert(y)\n  c = c64[2] bitcast-convert(z)\n"
            "  ROOT r = (c64[4,3,2], c128[12], c64[2]) tuple(a, b, c)\n}\n")
    assert run(text, [data, data, data[:16]], target, tmp_path) == [data, data, data[:16]]


MIXED = """e {
  y = c64[4] parameter(1)
  p = (f32[4], (c64[4], s8[4]), c64[2,2]{0,1}) parameter(0)
  i = s32[] parameter(2)
  u = c64[2] parameter(3)
  last = c64[2,2]{0,1} get-tuple-element(p), index=2
  q = (c64[4], s8[4]) get-tuple-element(p), index=1
  x = c64[4] get-tuple-element(q), index=0
  s = s8[4] get-tuple-element(q), index=1
  f = f32[4] get-tuple-element(p), index=0
  g = f32[4] convert(s)
  c = c64[4] complex(f, g)
  d = c64[4] divide(x, y)
  e = c64[4] subtract(d, c)
  m = c64[4] dynamic-update-slice(e, u, i)
  ROOT r = (c64[4], (c64[2,2]{0,1}, c64[4])) tuple(m, t)
}
"""


@pytest.mark.parametrize("target", ["c", "opencl", "cuda-on-cpu"])
def test_parameters(target: str, tmp_path: Path) -> None:
    """Parameters that appear in any order in the text, and in tuples, reach the kernel and the reference in the right
    order.
    """
    text = MIXED.replace("  ROOT", "  t = (c64[2,2]{0,1}, c64[4]) tuple(last, d)\n  ROOT")
    x, y, last, u = ([complex(k + 1, k - n) for k in range(n)] for n in (4, 5, 4, 2))
    y = y[:4]
    f, s = [0.5, 1.5, -2.0, 8.0], [1, -2, 3, -4]
    given = [struct.pack("<4f", *f), buffer(x, "f"), struct.pack("<4b", *s), buffer(last, "f"), buffer(y, "f"), struct.pack("<i", 1), buffer(u, "f")]
    (tmp_path / "in").mkdir()
    (tmp_path / "m.hlo").write_text(text)
    for name, data in zip(("p0_0", "p0_1_0", "p0_1_1", "p0_2", "p1", "p2", "p3"), given):
        (tmp_path / "in" / f"{name}.bin").write_bytes(data)
    done = gen("run", tmp_path / "m.hlo", "--target", target, "--in", tmp_path / "in", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    m, as_it_was, d = ((tmp_path / "out" / f"r{k}.bin").read_bytes() for k in range(3))
    ratios = [a / b for a, b in zip(x, y)]
    wanted = [a - complex(b, c) for a, b, c in zip(ratios, f, s)]
    wanted[1:3] = u
    assert as_it_was == given[3] and all(abs(a - b) < 1e-5 for a, b in zip(numbers(d, "f") + numbers(m, "f"), ratios + wanted))
    done = gen("check", tmp_path / "m.hlo", "--target", target)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("line, reason", [
    ("ROOT r = c64[2] asinh(p)", "3:8: 'asinh': expected real numbers, found c64"),
    ("ROOT r = c128[1] bitcast(p)", "3:8: 'bitcast': expected c64 as its result's type, found c128[1]{0}"),
    ("ROOT r = f64[2] bitcast-convert(p)", "expected both or none to be complex, found c64 and f64"),
    ("ROOT r = f32[2] add(p, p)", None)])
def test_refused(line: str, reason: "str | None", tmp_path: Path) -> None:
    (tmp_path / "m.hlo").write_text("f {\n  p = c64[2] parameter(0)\n  " + line + "\n}\n")
    done = gen("check", tmp_path / "m.hlo", "--target", "c")
    assert done.returncode == 2 and done.stderr.startswith("error: ") and (reason is None or reason in done.stderr), done.stderr


@pytest.mark.skipif(platform.machine() != "x86_64" or not shutil.which("gcc"), reason="SKIP: no gcc for x86-64")
def test_gcc_vectorises_a_choice(tmp_path: Path) -> None:
    """A loop that chooses between complex numbers by their magnitude has no branches, so gcc vectorises it."""
    (tmp_path / "step.hlo").write_text("""e {
  z = c64[4096] parameter(0)
  c = c64[4096] parameter(1)
  two = f32[] constant(2)
  twos = f32[4096] broadcast(two), dimensions={}
  square = c64[4096] multiply(z, z)
  next = c64[4096] add(square, c)
  size = f32[4096] abs(z)
  near = pred[4096] compare(size, twos), direction=LE
  ROOT r = c64[4096] select(near, next, z)
}
""")
    gen("build", str(tmp_path / "step.hlo"), "-o", str(tmp_path), "--target", "c")
    told = subprocess.run(["gcc", "-std=c11", "-O3", "-fno-math-errno", "-fopt-info-vec", "-c", "step.c", "-o", "step.o"], cwd=tmp_path, check=True,
                          capture_output=True, text=True).stderr
    assert "loop vectorized" in told
