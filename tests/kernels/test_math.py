"""Measure the functions of generated kernels in ulp against mpmath (skipped if mpmath is not installed). Samples are
dense near zeros, poles, limits and powers of two. The limits are ULPS in gen/bounds. SETT_SWEEP=1 (`ninja test-peer`)
takes more samples, prints the largest error of each function, and measures every target and type.
"""

from __future__ import annotations

import math
import os
import random
import struct
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple

import pytest

from gen_run import run
from gen.bounds import LIBM_ULPS, ULPS

ROOT = Path(__file__).resolve().parents[2]
SWEEP = os.environ.get("SETT_SWEEP", "") != ""
SAMPLES = 4000 if SWEEP else 250
CODES = {"f32": ("f", "I", 24, -126, 127), "f64": ("d", "Q", 53, -1022, 1023)}

# op -> the ends of its domain, and the points that are difficult
POINTS: Dict[str, Tuple[float, float, Tuple[float, ...]]] = {
    "exponential": (-745, 709, (0.0,)), "exponential-minus-one": (-60, 709, (0.0,)), "log": (0, math.inf, (1.0, 2.0)),
    "log-plus-one": (-1, math.inf, (0.0, -1.0)), "tanh": (-30, 30, (0.0,)), "logistic": (-700, 700, (0.0,)),
    "sine": (-1e6, 1e6, (0.0, math.pi, 2 * math.pi, math.pi / 2)), "cosine": (-1e6, 1e6, (math.pi / 2, 3 * math.pi / 2)),
    "tan": (-1e6, 1e6, (0.0, math.pi, math.pi / 2)), "cbrt": (-math.inf, math.inf, (1.0, 8.0)), "rsqrt": (0, math.inf, (1.0, 4.0)),
    "erf": (-6, 6, (0.0, 1.0)), "sinh": (-710, 710, (0.0, 1.0)), "cosh": (-710, 710, (0.0,)), "asin": (-1, 1, (0.0, 0.5, 1.0)),
    "acos": (-1, 1, (0.0, 0.5, 1.0)), "asinh": (-math.inf, math.inf, (0.0, 1.0)), "acosh": (1, math.inf, (1.0, 2.0)),
    "atanh": (-1, 1, (0.0, 0.5, 1.0))}


LEAST_LOGISTIC = {"f32": -88.0, "f64": -709.0}    # for smaller x, exp(-x) overflows, so logistic gives 0 instead of a subnormal number (gen/bounds)


def rounded(x: float, dtype: str) -> float:
    try:
        return struct.unpack("<" + CODES[dtype][0], struct.pack("<" + CODES[dtype][0], x))[0]
    except OverflowError:
        return math.inf


def samples(op: str, dtype: str) -> List[float]:
    """Return points spread over the domain and over its powers of two, and ever closer to the difficult points."""
    low, high, hard = POINTS[op]
    low = LEAST_LOGISTIC[dtype] if op == "logistic" else low
    rng, least = random.Random(op + dtype), CODES[dtype][3]
    top = {"f32": 88.0, "f64": 709.0}[dtype]
    found: List[float] = []
    for k in range(SAMPLES):
        size = math.ldexp(1 + rng.random(), rng.randint(least // 2, 30 if math.isinf(high) else max(0, math.frexp(high)[1] - 1)))
        near = hard[k % len(hard)] + rng.choice((-1, 1)) * math.ldexp(rng.random(), -rng.randint(1, CODES[dtype][2]))
        found += [rng.uniform(max(low, -top), min(high, top)), size, -size, near, -near]
    return [x for x in (rounded(x, dtype) for x in found) if low <= x <= high and math.isfinite(x)]


def true(op: str, mp: Any) -> "Callable[..., Any]":
    one = mp.mpf(1)
    return {"exponential": mp.exp, "exponential-minus-one": mp.expm1, "log": mp.log, "log-plus-one": mp.log1p, "tanh": mp.tanh,
            "logistic": lambda x: one / (one + mp.exp(-x)), "sine": mp.sin, "cosine": mp.cos, "tan": mp.tan,
            "cbrt": lambda x: mp.cbrt(abs(x)) * (1 if x >= 0 else -1), "rsqrt": lambda x: one / mp.sqrt(x), "erf": mp.erf, "sinh": mp.sinh,
            "cosh": mp.cosh, "asin": mp.asin, "acos": mp.acos, "asinh": mp.asinh, "acosh": mp.acosh, "atanh": mp.atanh,
            "atan2": mp.atan2, "power": mp.power}[op]


def error(got: float, exact: Any, dtype: str, mp: Any) -> float:
    """Return the distance of `got` from the exact value, in ulps of the type. If the exact value exceeds the type's
    largest number, the distance is 0 for an infinity, and infinite for any other `got`.
    """
    _, _, digits, least, most = CODES[dtype]
    if mp.isinf(exact) or abs(exact) >= mp.ldexp(2 - mp.ldexp(1, -digits), most):
        return 0.0 if math.isinf(got) else math.inf
    if not math.isfinite(got):
        return math.inf
    exponent = max(mp.frexp(exact)[1] - 1 if exact else least, least)
    return float(abs(mp.mpf(got) - exact) / mp.ldexp(1, exponent - digits + 1))


@pytest.mark.parametrize("dtype, target", [(d, t) for d in CODES for t in ("c", "opencl", "cuda-on-cpu")] if SWEEP else
                         [("f32", "opencl"), ("f64", "c")])
def test_ulps(dtype: str, target: str, tmp_path: Path) -> None:
    mpmath = pytest.importorskip("mpmath", reason="SKIP: no mpmath")
    mp, code = mpmath.mp, CODES[dtype][0]
    mp.prec = 120
    inputs: List[List[float]] = [samples(op, dtype) for op in POINTS]
    rng = random.Random(7)
    pairs = [(rounded(rng.choice((-1, 1)) * math.ldexp(1 + rng.random(), rng.randint(-30, 30)), dtype),
              rounded(rng.choice((-1, 1)) * math.ldexp(1 + rng.random(), rng.randint(-30, 30)), dtype)) for _ in range(4 * SAMPLES)]
    powers = [(abs(a), rounded(b * 2.0 ** -20, dtype)) for a, b in pairs]
    lines, results = [], []
    columns = [*inputs, [a for a, _ in pairs], [b for _, b in pairs], [a for a, _ in powers], [b for _, b in powers]]
    for k, column in enumerate(columns):
        lines.append(f"  p{k} = {dtype}[{len(column)}] parameter({k})")
    n = len(POINTS)
    ops = [(op, f"{op}(p{k})", [(x,) for x in inputs[k]]) for k, op in enumerate(POINTS)]
    ops += [("atan2", f"atan2(p{n}, p{n + 1})", pairs), ("power", f"power(p{n + 2}, p{n + 3})", powers)]
    for k, (_, text, arguments) in enumerate(ops):
        lines.append(f"  r{k} = {dtype}[{len(arguments)}] {text}")
        results.append(f"{dtype}[{len(arguments)}]")
    text = "f {\n" + "\n".join(lines) + f"\n  ROOT t = ({', '.join(results)}) tuple({', '.join(f'r{k}' for k in range(len(ops)))})\n}}\n"
    made = run(text, [struct.pack(f"<{len(column)}{code}", *column) for column in columns], target, tmp_path)
    worst: Dict[str, Tuple[float, Tuple[float, ...]]] = {}
    for k, (op, _, arguments) in enumerate(ops):
        got = struct.unpack(f"<{len(arguments)}{code}", made[k])
        function = true(op, mp)
        for x, y in zip(arguments, got):
            try:
                exact = function(*map(mp.mpf, x))
            except (ZeroDivisionError, ValueError):     # at a pole the function is infinite
                exact = mp.inf
            off = error(y, exact, dtype, mp)
            if off > worst.get(op, (-1.0, ()))[0]:
                worst[op] = off, x
    print(f"{dtype} {target}, largest error in ulp: " + ", ".join(f"{op} {off:.2f}" for op, (off, _) in worst.items()))
    slack = LIBM_ULPS if dtype == "f64" else 0.0
    over = {op: found for op, found in worst.items() if not found[0] <= ULPS[op] + slack + 0.5}
    assert not over, f"{dtype} {target}: {over}"
