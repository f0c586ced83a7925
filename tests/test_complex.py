"""Complex numbers in generated kernels: arithmetic and functions near what Python's complex numbers say, moves bit by bit.

SETT_SWEEP=1 (`ninja test-peer`) asks for both types on every target.
"""

from __future__ import annotations

import cmath
import math
import os
import random
import struct
import subprocess
import sys
from pathlib import Path
from typing import Callable, Dict, List, Tuple

import pytest

from gen_run import run

ROOT = Path(__file__).resolve().parent.parent
SWEEP = os.environ.get("SETT_SWEEP", "") != ""
PART = {"c64": ("f32", "f", 2.0 ** -23, 30), "c128": ("f64", "d", 2.0 ** -52, 250)}   # part, its code, its unit, sizes that products bear
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
        """Within some ulps of the number's size: cancellation in one part is no error of the number."""
        for k, (x, y) in enumerate(zip(got, wanted)):
            if dtype == "c64" and not (y == 0 or 1e-30 < abs(y) < 1e38):   # overflow and underflow are gen check's matter
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


CASES: "List[Tuple[str, str]]" = [(dtype, target) for dtype in PART for target in ("c", "opencl", "cuda-on-cpu")]


@pytest.mark.parametrize("dtype, target", CASES if SWEEP else [("c64", "opencl"), ("c128", "c")])
def test_complex(dtype: str, target: str, tmp_path: Path) -> None:
    checked(dtype, target, tmp_path)


@pytest.mark.parametrize("line, reason", [
    ("ROOT r = c64[2] tanh(p)", "3:8: expected 'tanh' of real numbers, found c64"),
    ("ROOT r = c64[2] constant({(inf, 0), (0, 0)})", "3:8: expected finite numbers in a constant of c64"),
    ("ROOT r = f32[2] add(p, p)", None)])
def test_refused(line: str, reason: "str | None", tmp_path: Path) -> None:
    (tmp_path / "m.hlo").write_text("f {\n  p = c64[2] parameter(0)\n  " + line + "\n}\n")
    done = subprocess.run([sys.executable, str(ROOT / "gen"), "check", str(tmp_path / "m.hlo"), "--target", "c"], capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.startswith("error: ") and (reason is None or reason in done.stderr), done.stderr
