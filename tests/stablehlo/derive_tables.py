"""Derive the coefficients in gen/stablehlo/tables.py: `python3 tests/stablehlo/derive_tables.py >
gen/stablehlo/tables.py`.

A fit is a quotient of two polynomials that equals a function at the Chebyshev nodes of an interval. It is close to
the quotient with the smallest maximum relative error.
"""

from __future__ import annotations

import struct
import sys
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Tuple

from mpmath import mp

mp.dps = 80
TINY = mp.mpf(2) ** -80    # used instead of 0 in formulas that divide by the argument
ROOT = mp.findroot(mp.digamma, 1.4616)


@dataclass(frozen=True)
class Fit:
    """A function on an interval, to be fitted by a quotient of polynomials in x - centre. degrees: of numerator and
    denominator.
    """

    function: Callable[[Any], Any]
    low: Any
    high: Any
    degrees: Tuple[int, int]
    centre: Any = 0

    def coefficients(self) -> "Tuple[List[Any], List[Any]]":
        """Return the coefficients of numerator and denominator, lowest power first. The denominator's first coefficient
        is 1.
        """
        over, under = self.degrees
        count = over + under + 1
        low, high = mp.mpf(self.low), mp.mpf(self.high)
        a, b = mp.matrix(count, count), mp.matrix(count, 1)
        for k in range(count):
            x = (low + high) / 2 + (high - low) / 2 * mp.cos(mp.pi * (2 * k + 1) / (2 * count))
            y, t = self.function(x), x - self.centre
            for j in range(over + 1):
                a[k, j] = t ** j
            for j in range(under):
                a[k, over + 1 + j] = -y * t ** (j + 1)
            b[k] = y
        found = list(mp.lu_solve(a, b))
        return found[:over + 1], [mp.mpf(1), *found[over + 1:]]


def lgamma_factor(x: Any) -> Any:
    """Return log(gamma(x)) / ((x - 1) (x - 2)), which has no zero."""
    if abs((x - 1) * (x - 2)) < TINY:
        return mp.euler if abs(x - 1) < TINY else mp.psi(0, 2)
    return mp.loggamma(x) / ((x - 1) * (x - 2))


def lgamma_rest(u: Any) -> Any:
    """Return the remainder of Stirling's formula for log(gamma(x)), multiplied by x, as a function of u = 1 / x^2."""
    x = 1 / mp.sqrt(u)
    return (mp.loggamma(x) - (x - 0.5) * (mp.log(x) - 1) - mp.log(2 * mp.pi) / 2 + 0.5) * x


def digamma_factor(x: Any) -> Any:
    """Return digamma(x) / (x - ROOT), where ROOT is digamma's root."""
    return mp.digamma(x) / (x - ROOT) if abs(x - ROOT) > TINY else mp.psi(1, ROOT)


def digamma_rest(u: Any) -> Any:
    """Return (log(x) - 1 / (2 x) - digamma(x)) x^2 as a function of u = 1 / x^2."""
    x = 1 / mp.sqrt(u)
    return (mp.log(x) - 1 / (2 * x) - mp.digamma(x)) * x * x


def sine_factor(u: Any) -> Any:
    """Return sin(pi r) / (pi r) as a function of u = r^2."""
    r = mp.sqrt(u)
    return mp.sinpi(r) / (mp.pi * r)


def cotangent_factor(u: Any) -> Any:
    """Return pi r / tan(pi r) / (1 - 4 r^2) as a function of u = r^2."""
    r = mp.sqrt(u)
    return mp.pi * r / mp.tan(mp.pi * r) / (1 - 4 * u)


def erf_factor(u: Any) -> Any:
    """Return erf(x) / x as a function of u = x^2."""
    return mp.erf(mp.sqrt(u)) / mp.sqrt(u)


MIDDLE = 4    # the argument of erfc that `place` maps to 0


def place(x: Any) -> Any:
    """Return (x - 4) / (x + 4), which maps all positive numbers to [-1, 1]."""
    return (mp.mpf(x) - MIDDLE) / (mp.mpf(x) + MIDDLE)


def erfc_factor(t: Any) -> Any:
    """Return erfc(x) e^(x^2) (1 + 2 x) as a function of t = place(x)."""
    x = MIDDLE * (1 + t) / (1 - t)
    return mp.erfc(x) * mp.exp(x * x) * (1 + 2 * x)


def erf_inv_factor(u: Any) -> Any:
    """Return erf^-1(x) / x as a function of u = x^2."""
    return mp.erfinv(mp.sqrt(u)) / mp.sqrt(u)


def erf_inv_tail(w: Any) -> Any:
    """Return erf^-1(x) / sqrt(w) as a function of w = -log(1 - x^2)."""
    rest = -mp.expm1(mp.log1p(-mp.exp(-w)) / 2)     # 1 - x
    z = mp.sqrt(w * 0.8)
    for _ in range(100):    # Halley's iteration for erfc(z) = rest
        step = (mp.erfc(z) - rest) * mp.sqrt(mp.pi) / 2 * mp.exp(z * z)
        step /= 1 - z * step
        z += step
        if abs(step) < mp.mpf(10) ** (5 - mp.dps):
            break
    return z / mp.sqrt(w)


def bessel_factor(x: Any) -> Any:
    """Return I1(x) e^-x / x."""
    return mp.besseli(1, x) * mp.exp(-x) / x


def bessel_tail(v: Any) -> Any:
    """Return I1(x) e^-x sqrt(x) as a function of v = 1 / x."""
    return mp.besseli(1, 1 / v) * mp.exp(-1 / v) / mp.sqrt(v)


QUARTER, EDGE, LEAST_W = 0.25, 0.625, 0.49      # -log(1 - 0.625^2) is 0.495
EIGHTH_SQUARED = mp.mpf(1) / 64
FITS: "Dict[str, Dict[str, Tuple[Fit, ...]]]" = {
    "f32": {
        "LGAMMA": (Fit(lgamma_factor, 0.75, 3, (5, 5), 0.75), Fit(mp.loggamma, 3, 8, (5, 5), 3)),
        "LGAMMA_REST": (Fit(lgamma_rest, TINY, EIGHTH_SQUARED, (2, 0)),),
        "DIGAMMA": (Fit(digamma_factor, 0.5, 3, (5, 4), 0.5), Fit(mp.digamma, 3, 8, (5, 4), 3)),
        "DIGAMMA_REST": (Fit(digamma_rest, TINY, EIGHTH_SQUARED, (2, 0)),),
        "SINE": (Fit(sine_factor, TINY, QUARTER, (5, 0)),),
        "COTANGENT": (Fit(cotangent_factor, TINY, QUARTER - TINY, (2, 2)),),
        "ERF": (Fit(erf_factor, TINY, QUARTER, (5, 0)),),
        "ERFC": (Fit(erfc_factor, place(0.5), place(10.1), (11, 0)),),
        "ERF_INV": (Fit(erf_inv_factor, TINY, EDGE ** 2, (8, 0)),),
        "ERF_INV_TAIL": (Fit(erf_inv_tail, LEAST_W, 5, (4, 4)), Fit(erf_inv_tail, 5, 16.7, (4, 4), 5)),
        "BESSEL_I1": (Fit(bessel_factor, TINY, 3, (5, 5)), Fit(bessel_factor, 3, 8, (5, 5), 3)),
        "BESSEL_I1_TAIL": (Fit(bessel_tail, TINY, mp.mpf(1) / 8, (7, 0)),),
    },
    "f64": {
        "LGAMMA": (Fit(lgamma_factor, 0.75, 3, (10, 9), 0.75), Fit(mp.loggamma, 3, 8, (10, 9), 3)),
        "LGAMMA_REST": (Fit(lgamma_rest, TINY, EIGHTH_SQUARED, (7, 0)),),
        "DIGAMMA": (Fit(digamma_factor, 0.5, 3, (8, 8), 0.5), Fit(mp.digamma, 3, 8, (8, 8), 3)),
        "DIGAMMA_REST": (Fit(digamma_rest, TINY, EIGHTH_SQUARED, (8, 0)),),
        "SINE": (Fit(sine_factor, TINY, QUARTER, (8, 0)),),
        "COTANGENT": (Fit(cotangent_factor, TINY, QUARTER - TINY, (4, 4)),),
        "ERF": (Fit(erf_factor, TINY, QUARTER, (9, 0)),),
        "ERFC": (Fit(erfc_factor, place(0.5), place(27), (23, 0)),),
        "ERF_INV": (Fit(erf_inv_factor, TINY, EDGE ** 2, (17, 0)),),
        "ERF_INV_TAIL": (Fit(erf_inv_tail, LEAST_W, 6, (8, 8)), Fit(erf_inv_tail, 6, 15, (8, 8), 6),
                         Fit(erf_inv_tail, 15, 36.8, (8, 8), 15)),
        "BESSEL_I1": (Fit(bessel_factor, TINY, 3, (10, 9)), Fit(bessel_factor, 3, 8, (10, 9), 3),
                      Fit(bessel_factor, 8, 13, (10, 9), 8), Fit(bessel_factor, 13, 20, (10, 9), 13)),
        "BESSEL_I1_TAIL": (Fit(bessel_tail, TINY, mp.mpf(1) / 20, (12, 0)),),
    },
}


def rounded(x: Any, dtype: str) -> float:
    """Return the number of a type that is nearest to x."""
    return float(x) if dtype == "f64" else struct.unpack("<f", struct.pack("<f", float(x)))[0]


def text(numbers: "List[Any]", dtype: str) -> str:
    """Return a tuple of numbers as Python text, indented by 8 columns."""
    words = [repr(rounded(x, dtype)) if dtype == "f64" else f"{rounded(x, dtype):.9g}" for x in numbers]
    lines, line = [], "("
    for n, word in enumerate(words):
        word += "," if n + 1 < len(words) or n == 0 else ""
        if len(line) + len(word) > 100:
            lines.append(line.rstrip())
            line = " "
        line += word + " "
    return "\n         ".join([*lines, line.rstrip() + ")"])


def euler_maclaurin(count: int) -> "List[Any]":
    """Return the coefficients B(2 j) / (2 j)! of the Euler-Maclaurin formula (B: Bernoulli numbers), for j from 1."""
    return [mp.bernoulli(2 * j) / mp.factorial(2 * j) for j in range(1, count + 1)]


HEAD = '''"""Coefficients for gen/stablehlo/chlo.py. tests/stablehlo/derive_tables.py derives and explains them.

TABLES[type][name] has an entry for each interval: a centre c, and the coefficients of a numerator and a denominator in
powers of x - c, lowest power first.
"""

from __future__ import annotations

from typing import Dict, Tuple

Polynomial = Tuple[float, ...]
Quotients = Tuple[Tuple[float, Polynomial, Polynomial], ...]

TABLES: "Dict[str, Dict[str, Quotients]]" = {'''
MACLAURIN_TERMS = {"f32": 5, "f64": 11}


def main() -> None:
    print(HEAD)
    for dtype, fits in FITS.items():
        print(f'    "{dtype}": {{')
        for name, several in fits.items():
            print(f'      "{name}": (')
            for fit in several:
                over, under = fit.coefficients()
                print(f"        ({float(fit.centre)}, {text(over, dtype)},\n         {text(under, dtype)}),")
            print("      ),")
        print("    },")
    print("}")
    print("# digamma's root as the sum of a high and a low part")
    print('DIGAMMA_ROOT: "Dict[str, Tuple[float, float]]" = {')
    for dtype in FITS:
        high = rounded(ROOT, dtype)
        print(f'    "{dtype}": ({high!r}, {rounded(ROOT - high, dtype)!r}),')
    print("}")
    print("# the Bernoulli numbers B(2j), divided by (2j)!, for j = 1, 2, ..")
    print('EULER_MACLAURIN: "Dict[str, Polynomial]" = {')
    for dtype, count in MACLAURIN_TERMS.items():
        print(f'    "{dtype}":\n        {text(euler_maclaurin(count), dtype)},')
    print("}")


if __name__ == "__main__":
    sys.exit(main())
