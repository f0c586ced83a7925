"""Test chlo's ops, which become formulas of HLO ops: their kernels are compared with mpmath and NumPy (tests are skipped
if these are missing), and the coefficients of the formulas with the functions that they approximate.
"""

from __future__ import annotations

import cmath
import math
import random
import re
import struct
from pathlib import Path
from typing import Any, Callable, Dict, List, Sequence, Tuple

import pytest

from gen import hlo
from gen.hlo import dtypes
from gen.hlo.graph import Computation, Instruction, Module, Shape, array_shape, tuple_shape
from gen.stablehlo import chlo
from gen.stablehlo.tables import TABLES
from gen_run import run

PEERS = Path(__file__).resolve().parents[3] / "shared" / "peer" / "stablehlo"
CODES = {"f32": "f", "f64": "d", "c64": "f", "c128": "d", "f16": "e", "pred": "?", "s32": "i", "u32": "I"}
# number of significant bits, exponent of the smallest positive number, exponent of the largest number
FORMATS = {"f32": (24, -149, 127), "f64": (53, -1074, 1023), "f16": (11, -24, 15), "bf16": (8, -133, 127)}
Call = Tuple[str, Sequence[Tuple[str, Sequence[Any]]], str, Dict[str, Any]]


def packed(values: "Sequence[Any]", dtype: str) -> bytes:
    size = dtypes.storage_bytes(dtype)
    return b"".join(dtypes.encode(value, dtype).to_bytes(size, "little") for value in values)


def unpacked(data: bytes, dtype: str) -> "List[Any]":
    size = dtypes.storage_bytes(dtype)
    return [dtypes.decode(int.from_bytes(data[k:k + size], "little"), dtype) for k in range(0, len(data), size)]


def calls(several: "Sequence[Call]", folder: Path, target: str = "c") -> "List[List[Any]]":
    """Run chlo ops as one module and return their results. A call is (name, operands as types and values, result type,
    attributes).
    """
    main = Computation("main")
    found, data = [], []
    for name, operands, to, attributes in several:
        made = []
        for dtype, values in operands:
            made.append(main.add_parameter(f"p{len(data)}", array_shape(dtype, (len(values),))))
            data.append(packed(values, dtype))
        shape = array_shape(to, made[0].shape.dims)
        found.append(main.add(Instruction(f"r{len(found)}", f"chlo.{name}", shape, made, attributes)))
    main.root = main.add(Instruction("t", "tuple", tuple_shape([i.shape for i in found]), found))
    text = decomposed(main)
    return [unpacked(result, call[2]) for call, result in zip(several, run(text, data, target, folder))]


def decomposed(main: Computation) -> str:
    """Return the text of a module after its chlo ops were replaced by HLO ops. Check that the reader accepts this text.
    """
    module = Module("m", [main], main, "m.mlir", True)
    chlo.decomposed(module)
    text = hlo.print_module(module)
    assert "chlo." not in text and hlo.unsupported(hlo.parse(text, "m.hlo")) is None
    return text


def rounded(x: float, dtype: str) -> float:
    value = dtypes.decode(dtypes.encode(x, dtype), dtype)
    assert isinstance(value, (int, float))
    return float(value)


def error(got: float, exact: Any, dtype: str, mp: Any) -> float:
    """Return the distance of `got` from the exact value, in ulps of the type. If the exact value is beyond the type's
    largest number, the distance is 0 for the infinity of the same sign, and infinite for any other `got`.
    """
    digits, least, most = FORMATS[dtype]
    if mp.isnan(exact):
        return 0.0 if math.isnan(got) else math.inf
    if mp.isinf(exact) or abs(exact) >= mp.ldexp(2 - mp.ldexp(1, -digits), most):
        return 0.0 if math.isinf(got) and (got > 0) == (exact > 0) else math.inf
    if not math.isfinite(got):
        return math.inf
    last = max(mp.frexp(exact)[1] - digits, least) if exact else least
    return float(abs(mp.mpf(got) - exact) / mp.ldexp(1, last))


# ---- real functions ----

def exact_functions(mp: Any) -> "Dict[str, Callable[..., Any]]":
    inf, nan = mp.inf, mp.nan

    def whole(x: Any) -> bool:
        return bool(x == mp.floor(x))

    def lgamma(x: Any) -> Any:
        if abs(x) < mp.mpf(10) ** -30:
            return -mp.log(abs(x)) if x else inf
        if x > 0:
            return mp.loggamma(x)
        return inf if whole(x) else mp.log(mp.pi / abs(x * mp.sinpi(x))) - mp.loggamma(-x)

    def digamma(x: Any) -> Any:
        if x <= 0 and whole(x):
            return nan
        if abs(x) < mp.mpf(10) ** -30:
            return -1 / x
        return mp.digamma(x) if x > 0 else mp.digamma(1 - x) - mp.pi * mp.cospi(x) / mp.sinpi(x)

    def erf_inv(x: Any) -> Any:
        if abs(x) >= 1:
            return nan if abs(x) > 1 else x * inf
        return x * mp.sqrt(mp.pi) / 2 if abs(x) < mp.mpf(10) ** -25 else mp.erfinv(x)

    def bessel_i1e(x: Any) -> Any:
        z = abs(x)
        if z < mp.mpf(10) ** -25:
            return x / 2
        if z < 1000:
            return mp.besseli(1, x) * mp.exp(-z)
        total = term = mp.mpf(1)
        for k in range(1, 20):
            term *= ((2 * k - 1) ** 2 - 4) / (8 * k * z)
            total += term
        return mp.sign(x) * total / mp.sqrt(2 * mp.pi * z)

    def zeta(s: Any, q: Any) -> Any:
        if s <= 1 or (q <= 0 and (whole(q) or not whole(s))):
            return inf if s == 1 or (s > 1 and whole(s / 2) and whole(q)) else nan
        terms = 30 + int(max(0, mp.ceil(-q)))
        b = q + terms
        total = sum((q + k) ** -s for k in range(terms)) + b ** -s * (b / (s - 1) + 0.5)
        factor = b ** -s * s / b
        for j in range(1, 30):
            total += mp.bernoulli(2 * j) / mp.factorial(2 * j) * factor
            factor *= (s + 2 * j - 1) * (s + 2 * j) / b / b
        return total

    def polygamma(n: Any, x: Any) -> Any:
        if n < 0 or not whole(n):
            return nan
        return digamma(x) if n == 0 else (-1) ** (int(n) + 1) * mp.factorial(int(n)) * zeta(n + 1, x)

    return {"lgamma": lgamma, "digamma": digamma, "erfc": mp.erfc, "erf_inv": erf_inv, "bessel_i1e": bessel_i1e,
            "zeta": zeta, "polygamma": polygamma, "atan": mp.atan, "erf": mp.erf, "tan": mp.tan, "sinh": mp.sinh,
            "square": lambda x: x * x, "acos": lambda x: mp.acos(x) if abs(x) <= 1 else nan}


# op -> the ends of the interval of arguments, and the arguments near which the function is difficult
POINTS: "Dict[str, Tuple[float, float, Tuple[float, ...]]]" = {
    "lgamma": (-50, math.inf, (0, 1, 2, 0.75, 3, 8)), "digamma": (-50, math.inf, (0, 1.4616321449683623, 0.5, 3, 8)),
    "erfc": (-7, 28, (0, 0.5)), "erf_inv": (-1, 1, (0, 1, -1, 0.625, 0.998)),
    "bessel_i1e": (-700, math.inf, (0, 3, 8, 20)), "atan": (-math.inf, math.inf, (0, 1)), "tan": (-20, 20, (0,)),
    "erf": (-5, 5, (0,)), "sinh": (-80, 80, (0,)), "square": (-100, 100, (0,)), "acos": (-1, 1, (0, 1, -1))}
SPECIAL = (0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, math.inf, -math.inf, math.nan, 1e-320, -1e-320, 1e-40, 3e38)
ULPS = 4.5    # maximum error for f32 and f64
OWN = ("lgamma", "digamma", "erfc", "erf_inv", "bessel_i1e")


def samples(op: str, dtype: str, count: int) -> "List[float]":
    """Return points spread over the interval and over powers of two, and ever closer to the difficult points."""
    low, high, hard = POINTS[op]
    rng, (digits, least, most) = random.Random(op + dtype), FORMATS[dtype]
    found: List[float] = []
    for k in range(count):
        size = math.ldexp(1 + rng.random(), rng.randint(least, most - 1 if math.isinf(high) else 4))
        near = hard[k % len(hard)] + rng.choice((-1, 1)) * math.ldexp(rng.random(), -rng.randint(1, digits))
        found += [rng.uniform(max(low, -30), min(high, 30)), size, -size, near]
    return [x for x in (rounded(x, dtype) for x in found) if low <= x <= high and math.isfinite(x)]


def slack(op: str, x: Any, exact: Any, mp: Any) -> float:
    """Return the absolute error that is allowed near zeros of lgamma and digamma at negative x, in ulps of 1. It is 0
    for other functions and other x.
    """
    if op == "lgamma" and x < 0:
        return 4 + 2 * float(abs(mp.loggamma(-x))) if mp.isfinite(exact) else 0
    if op == "digamma" and mp.isfinite(exact) and x < 0:
        return 4 + 8 * float(abs(mp.digamma(1 - x)))
    return 0


@pytest.mark.parametrize("dtype", ["f32", pytest.param("f64", marks=pytest.mark.peer)])
def test_real_functions(dtype: str, tmp_path: Path) -> None:
    mpmath = pytest.importorskip("mpmath", reason="SKIP: no mpmath")
    mp = mpmath.mp
    mp.dps = 50
    functions = exact_functions(mp)
    inputs = {op: samples(op, dtype, 60) + [rounded(x, dtype) for x in (1.0, 0.5)] for op in OWN}
    made = calls([(op, [(dtype, xs)], dtype, {}) for op, xs in inputs.items()], tmp_path)
    one = mp.ldexp(1, 1 - FORMATS[dtype][0])
    for (op, xs), results in zip(inputs.items(), made):
        for x, got in zip(xs, results):
            exact = functions[op](mp.mpf(x))
            off = error(got, exact, dtype, mp)
            near = mp.isfinite(exact) and math.isfinite(got) and abs(got - exact) <= slack(op, x, exact, mp) * one
            assert off <= ULPS or near, f"{dtype} {op}({x!r}) = {got!r}, {off} ulps from {mp.nstr(exact, 20)}"


@pytest.mark.parametrize("dtype", ["f32", pytest.param("f64", marks=pytest.mark.peer)])
def test_zeta_and_polygamma(dtype: str, tmp_path: Path) -> None:
    mpmath = pytest.importorskip("mpmath", reason="SKIP: no mpmath")
    mp = mpmath.mp
    mp.dps = 50
    functions, rng = exact_functions(mp), random.Random(dtype)
    ss = [rng.choice((rng.uniform(1, 4), 1 + 2.0 ** -rng.randint(1, 12), float(rng.randint(2, 9)))) for _ in range(60)]
    qs = [rng.choice((rng.uniform(0, 3), math.ldexp(1, rng.randint(-9, 20)), rng.uniform(0, 100))) for _ in ss]
    ns = [float(rng.choice((0, 1, 2, 3, 5, 12, 13, 20))) for _ in range(60)]
    xs = [rng.uniform(0.1, 9) for _ in ns]
    ss += [2, 4, 3, 2, 3, 2.5, 1, 0.5, 2]
    qs += [-0.25, -20.3, -7.2, -3, -3, -0.5, 2, 2, 0]
    ns += [1, 2, -1, 0.5, 0, 2, 1]
    xs += [-20.3, -0.25, 2, 2, -0.5, -2, -2]
    ss, qs, ns, xs = ([rounded(x, dtype) for x in column] for column in (ss, qs, ns, xs))
    made = calls([("zeta", [(dtype, ss), (dtype, qs)], dtype, {}), ("polygamma", [(dtype, ns), (dtype, xs)], dtype, {})],
                 tmp_path)
    for op, a, b, results in (("zeta", ss, qs, made[0]), ("polygamma", ns, xs, made[1])):
        for x, y, got in zip(a, b, results):
            exact = functions[op](mp.mpf(x), mp.mpf(y))
            off = error(got, exact, dtype, mp)
            near = x == 0 and y < 0 and abs(got - exact) <= mp.ldexp(40, 1 - FORMATS[dtype][0])    # near digamma's zeros only the absolute error is small
            assert off <= ULPS or near, f"{dtype} {op}({x!r}, {y!r}) = {got!r}, {off} ulps from {mp.nstr(exact, 20)}"


@pytest.mark.parametrize("dtype", ["f16", pytest.param("bf16", marks=pytest.mark.peer)])
def test_narrow_types(dtype: str, tmp_path: Path) -> None:
    """Results of narrow types are rounded once, from f32. The error exceeds half an ulp only if f32 cannot distinguish
    the value from the midpoint of two numbers.
    """
    mpmath = pytest.importorskip("mpmath", reason="SKIP: no mpmath")
    mp = mpmath.mp
    mp.dps = 40
    functions = exact_functions(mp)
    ops = (*OWN, "atan")
    inputs = {op: [x for x in samples(op, dtype, 20) if x > -5] for op in ops}
    made = calls([(op, [(dtype, xs)], dtype, {}) for op, xs in inputs.items()], tmp_path)
    for (op, xs), results in zip(inputs.items(), made):
        for x, got in zip(xs, results):
            off = error(got, functions[op](mp.mpf(x)), dtype, mp)
            assert off <= 0.51, f"{dtype} {op}({x!r}) = {got!r}, {off} ulps"


def test_special_values(tmp_path: Path) -> None:
    """At poles and infinities the values equal those of JAX's functions. A zero has the sign of the argument."""
    inf, nan = math.inf, math.nan
    table: "Dict[str, List[Tuple[float, float]]]" = {
        "lgamma": [(0.0, inf), (-0.0, inf), (-1, inf), (-2, inf), (inf, inf), (-inf, inf), (nan, nan), (-1e300, inf)],
        "digamma": [(0.0, nan), (-0.0, nan), (-1, nan), (inf, inf), (-inf, nan), (nan, nan), (1e-320, -inf)],
        "erfc": [(inf, 0.0), (-inf, 2.0), (nan, nan), (0.0, 1.0), (-0.0, 1.0), (100.0, 0.0)],
        "erf_inv": [(1, inf), (-1, -inf), (2, nan), (-inf, nan), (nan, nan), (0.0, 0.0), (-0.0, -0.0)],
        "bessel_i1e": [(0.0, 0.0), (-0.0, -0.0), (inf, 0.0), (-inf, -0.0), (nan, nan)],
        "atan": [(inf, math.atan(inf)), (-inf, -math.atan(inf)), (0.0, 0.0), (-0.0, -0.0), (nan, nan)]}
    made = calls([(op, [("f64", [x for x, _ in rows])], "f64", {}) for op, rows in table.items()], tmp_path)
    for (op, rows), results in zip(table.items(), made):
        for (x, wanted), got in zip(rows, results):
            assert same(got, wanted), f"{op}({x}) = {got}, not {wanted}"


def same(a: float, b: float) -> bool:
    return (math.isnan(a) and math.isnan(b)) or (a == b and math.copysign(1, a) == math.copysign(1, b))


# ---- complex functions ----

COMPLEX = ("acos", "acosh", "asin", "asinh", "atan", "atanh")


def complex_samples(dtype: str, count: int) -> "List[complex]":
    digits, least, most = FORMATS[dtype]
    rng = random.Random(dtype)

    def part() -> float:
        size = rng.choice((rng.uniform(0, 3), math.ldexp(1 + rng.random(), rng.randint(least, most - 1)),
                           math.ldexp(1 + rng.random(), rng.randint(-digits, 20)), 0.0, 1.0, math.ldexp(1, least),
                           1 + rng.choice((-1, 1)) * math.ldexp(rng.random(), -rng.randint(1, digits))))
        return rounded(rng.choice((-1, 1)) * size, dtype)

    on_circle = (cmath.rect(1, rng.uniform(-4, 4)) for _ in range(count // 8))
    return [complex(part(), part()) for _ in range(count)] + [complex(rounded(z.real, dtype), rounded(z.imag, dtype))
                                                              for z in on_circle]


@pytest.mark.parametrize("dtype, part", [("c64", "f32"), pytest.param("c128", "f64", marks=pytest.mark.peer)])
def test_complex_functions(dtype: str, part: str, tmp_path: Path) -> None:
    """Complex functions are accurate over the whole plane, also on branch cuts, where the sign of a zero selects the
    side.
    """
    mpmath = pytest.importorskip("mpmath", reason="SKIP: no mpmath")
    mp = mpmath.mp
    zs = [z for z in complex_samples(part, 80) if sorted(map(abs, (z.real, z.imag))) != [0, 1]]     # test_poles
    made = calls([(op, [(dtype, zs)], dtype, {}) for op in COMPLEX], tmp_path)
    with mp.workdps(700 if part == "f64" else 100):
        beside = mp.mpf(10) ** (10 - mp.dps)
        for op, results in zip(COMPLEX, made):
            for z, got in zip(zs, results):
                x, y = (mp.mpf(v) if v else math.copysign(1, v) * beside for v in (z.real, z.imag))
                exact = getattr(mp, op)(mp.mpc(x, y))
                offs = [error(a, b if abs(b) > beside * 1000 else mp.mpf(0), part, mp)
                        for a, b in ((got.real, exact.real), (got.imag, exact.imag))]
                assert max(offs) <= 4, f"{op}({z}) = {got}, {offs} ulps from {mp.nstr(exact, 20)}"


def test_complex_special_values(tmp_path: Path) -> None:
    """For zeros, infinities and NaNs the values and signs equal those of Python's cmath, which follows annex G of C99.
    """
    values = (0.0, -0.0, 1.0, -1.0, 2.0, -3.0, math.inf, -math.inf)
    zs = [complex(x, y) for x in values for y in values if abs(x) != 1 or y]
    made = calls([(op, [("c128", zs)], "c128", {}) for op in COMPLEX], tmp_path)
    for op, results in zip(COMPLEX, made):
        for z, got in zip(zs, results):
            if op == "atan" and not z.real and abs(z.imag) == 1:
                continue        # atan has poles at i and -i
            wanted = getattr(cmath, op)(z)
            for a, b in ((got.real, wanted.real), (got.imag, wanted.imag)):
                assert math.copysign(1, a) == math.copysign(1, b), f"{op}({z}) = {got}, not {wanted}"
                assert a == b or math.isclose(a, b, rel_tol=1e-15), f"{op}({z}) = {got}, not {wanted}"


def test_poles(tmp_path: Path) -> None:
    zs = [complex(1, 0.0), complex(-1, -0.0)]
    ((a, b), (c, d)) = calls([("atanh", [("c128", zs)], "c128", {}),
                              ("atan", [("c64", [z.imag + 1j * z.real for z in zs])], "c64", {})], tmp_path)
    assert (a.real, b.real) == (math.inf, -math.inf) and a.imag == 0 and math.copysign(1, b.imag) == -1
    assert (c.imag, d.imag) == (math.inf, -math.inf)


def test_square(tmp_path: Path) -> None:
    inf, nan = math.inf, math.nan
    zs = [1 + 1j, 3 + 4j, complex(1e308, -1e308), complex(inf, 1), complex(1, inf), complex(inf, inf), complex(nan, 1),
          complex(1 + 2.0 ** -30, 1), complex(1e200, 1e-200)]
    wanted = [2j, -7 + 24j, complex(0, -inf), complex(inf, inf), complex(-inf, inf), complex(nan, inf), complex(nan, nan),
              complex(2.0 ** -29 * (1 + 2.0 ** -31), 2 + 2.0 ** -29), complex(inf, 2)]
    (results, reals) = calls([("square", [("c128", zs)], "c128", {}), ("square", [("f64", [3.0, -inf])], "f64", {})],
                             tmp_path)
    for z, got, right in zip(zs, results, wanted):
        assert same(got.real, right.real) and same(got.imag, right.imag), f"{z}^2 = {got}"
    assert reals == [9.0, inf]


# ---- next_after, and ops that HLO has too ----

@pytest.mark.parametrize("dtype", ["f32", "f8e4m3fnuz", *(
    pytest.param(dtype, marks=pytest.mark.peer) for dtype in ("f64", "f16", "bf16", "f8e4m3fn", "f8e5m2"))])
def test_next_after(dtype: str, tmp_path: Path) -> None:
    """The result is the next number in the order of values, which the test finds by stepping through the bit patterns.
    """
    about = dtypes.TABLE[dtype]
    top = dtypes.largest_finite(dtype) + (about.style == "ieee")
    rng, negative = random.Random(3), 1 << about.bits - 1
    pairs = [(rng.choice((0, negative)) + rng.randint(0, top), rng.choice((0, negative)) + rng.randint(0, top))
             for _ in range(200)] + [(a, b) for a in (0, negative, 1, negative + 1, top) for b in (0, negative, 1, top)]

    def key(bits: int) -> int:
        return negative - bits if bits >= negative else bits

    def value(bits: int) -> float:
        return float(dtypes.decode_real(bits, dtype))

    pairs = [(a, b) for a, b in pairs if about.style != "fnuz" or negative not in (a, b)]
    xs, ys = [value(a) for a, _ in pairs] + [math.nan, 1.0], [value(b) for _, b in pairs] + [1.0, math.nan]
    (made,) = calls([("next_after", [(dtype, xs), (dtype, ys)], dtype, {})], tmp_path)
    assert all(map(math.isnan, made[-2:]))
    for (a, b), got in zip(pairs, made):
        step = key(a) + (1 if value(b) > value(a) else -1)
        wanted = value(b) if value(a) == value(b) else value(step) if step > 0 else -value(-step)
        if wanted == 0 and value(a) != value(b):    # a zero that follows `a` has the sign of `a`
            wanted = 0.0 if about.style == "fnuz" else math.copysign(0.0, value(a))
        assert same(got, wanted), f"{dtype}: from {value(a)} to {value(b)}: {got}, not {wanted}"


def test_tests_and_parts(tmp_path: Path) -> None:
    xs = [math.inf, -math.inf, math.nan, 1.0]
    z = [complex(1, -2), complex(-0.0, 0.0)]
    made = calls([("is_inf", [("f32", xs)], "pred", {}), ("is_pos_inf", [("f16", xs)], "pred", {}),
                  ("is_neg_inf", [("f64", xs)], "pred", {}), ("is_inf", [("f8e4m3fn", [448.0, math.nan])], "pred", {}),
                  ("conj", [("c64", z)], "c64", {}), ("conj", [("f32", [2.0])], "c64", {}),
                  ("mulhi", [("u32", [1 << 31, 7])] * 2, "u32", {})], tmp_path)
    assert made[:4] == [[True, True, False, False], [True, False, False, False], [False, True, False, False],
                        [False, False]]
    assert made[4] == [complex(1, 2), complex(0, 0)] and math.copysign(1, made[4][1].imag) == -1
    assert made[5:] == [[2 + 0j], [1 << 30, 0]]


def test_top_k(tmp_path: Path) -> None:
    main = Computation("main")
    operand = main.add_parameter("p", array_shape("f32", (2, 4)))
    shape: Shape = tuple_shape([array_shape("f32", (2, 2)), array_shape("s32", (2, 2))])
    main.root = main.add(Instruction("r", "chlo.top_k", shape, [operand], {"k": 2}))
    values, places = run(decomposed(main), [struct.pack("<8f", 1, 4, 4, 2, -1, -2, -3, 0)], "c", tmp_path)
    assert struct.unpack("<4f", values) == (4, 4, 0, -1) and struct.unpack("<4i", places) == (1, 2, 3, 0)


@pytest.mark.parametrize("dtype", ["f32", "f16", "f8e5m2"])
def test_what_hlo_has(dtype: str, tmp_path: Path) -> None:
    """A chlo op that is also an op of HLO becomes the op of HLO, with conversions if necessary."""
    for name in ("acos", "acosh", "asin", "asinh", "atanh", "cosh", "erf", "sinh", "tan", "square"):
        main = Computation("main")
        operand = main.add_parameter("p", array_shape(dtype, (4,)))
        main.root = main.add(Instruction("r", f"chlo.{name}", operand.shape, [operand]))
        assert f" {'multiply' if name == 'square' else name}(" in decomposed(main)


# ---- coefficients ----

@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_tables(dtype: str) -> None:
    """Each quotient of polynomials is close to its function, although its coefficients are rounded."""
    pytest.importorskip("mpmath", reason="SKIP: no mpmath")
    from derive_tables import FITS, mp

    assert list(FITS[dtype]) == list(TABLES[dtype])
    for name, fits in FITS[dtype].items():
        assert len(fits) == len(TABLES[dtype][name])
        for fit, (centre, over, under) in zip(fits, TABLES[dtype][name]):
            assert centre == fit.centre and (len(over), len(under)) == (fit.degrees[0] + 1, fit.degrees[1] + 1)
            for k in range(1, 24):
                x = fit.low + (mp.mpf(fit.high) - fit.low) * k / 24
                over_value, under_value = (sum(mp.mpf(c) * (x - centre) ** j for j, c in enumerate(polynomial))
                                           for polynomial in (over, under))
                off = abs(over_value / under_value / fit.function(x) - 1)
                assert off < mp.ldexp(1.5, -FORMATS[dtype][0]), f"{dtype} {name} at {x}: {mp.nstr(off, 3)}"


@pytest.mark.peer
def test_tables_are_derived(capsys: "pytest.CaptureFixture[str]") -> None:
    pytest.importorskip("mpmath", reason="SKIP: no mpmath")
    import derive_tables

    derive_tables.main()
    assert capsys.readouterr().out == Path(str(chlo.__file__)).with_name("tables.py").read_text()


# ---- results stated by other projects ----

NAMES = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64", "c64": "complex64",
         "c128": "complex128"}
# allowed errors, relative for values above 1; see tests/peer/test_stablehlo.py
CLOSE = {"bf16": 2**-6, "f16": 2**-9, "f32": 1e-5, "f64": 1e-12, "c64": 1e-5, "c128": 1e-12}


@pytest.mark.peer
@pytest.mark.parametrize("dtype", list(NAMES))
def test_stated_results(dtype: str, tmp_path: Path) -> None:
    """Elementwise chlo ops in StableHLO's own tests give the stated results."""
    several: List[Call] = []
    wanted = []
    for path in sorted(PEERS.glob("*.mlir")):
        text = path.read_text()
        ops = re.findall(r"= (\w+)\.(\w+) ", text)
        if f"_{NAMES[dtype]}" not in path.stem or len(ops) != 1 or ops[0][0] != "chlo" or ops[0][1] == "top_k":
            continue
        if not path.with_suffix(".in").exists():
            continue
        results = unpacked(path.with_suffix(".out").read_bytes(), dtype)
        values = unpacked(path.with_suffix(".in").read_bytes(), dtype)
        operands = [(dtype, values[k:k + len(results)]) for k in range(0, len(values), len(results))]
        several.append((ops[0][1], operands, dtype, {}))
        wanted.append((path.stem, results))
    if not several:
        pytest.skip("SKIP: no ../shared/peer/stablehlo")
    for (name, rights), results in zip(wanted, calls(several, tmp_path)):
        for a, b in zip(results, rights):
            near = a == b or (a != a and b != b) or abs(a - b) <= CLOSE[dtype] * max(1.0, abs(b))
            assert near, f"{name}: {a}, not {b}"


@pytest.mark.peer
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_beside_jax(dtype: str, tmp_path: Path) -> None:
    """The largest error of a function does not exceed JAX's, unless both are below the limit of `test_real_functions`.
    """
    mpmath = pytest.importorskip("mpmath", reason="SKIP: no mpmath")
    jax = pytest.importorskip("jax", reason="SKIP: no jax")
    np = pytest.importorskip("numpy", reason="SKIP: no numpy")
    mp = mpmath.mp
    mp.dps = 50
    functions = exact_functions(mp)
    inputs = {op: [x for x in samples(op, dtype, 100) if abs(x) > 1e-30] for op in OWN}    # without subnormals, which JAX flushes to 0
    made = calls([(op, [(dtype, xs)], dtype, {}) for op, xs in inputs.items()], tmp_path)
    with jax.enable_x64(True):
        for (op, xs), results in zip(inputs.items(), made):
            theirs = getattr(jax.lax, op)(np.array(xs, NAMES[dtype])).tolist()
            exact = [functions[op](mp.mpf(x)) for x in xs]
            worst, their_worst = (max(error(got, right, dtype, mp) for got, right in zip(values, exact)
                                      if abs(right) >= mp.ldexp(1, -100)) for values in (results, theirs))
            print(f"{dtype} {op}: at most {worst:.2f} ulps, JAX {their_worst:.2f}")
            assert worst <= max(ULPS, their_worst)
