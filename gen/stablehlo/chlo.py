"""Replace ops of StableHLO's client dialect (chlo) by ops of HLO.

Each op becomes a formula of elementwise ops, without loops and without tables in memory, so that it is fused into the
kernel around it. Types narrower than f32 are computed in f32 and rounded once. gen/stablehlo/tables.py has the
coefficients.
"""

from __future__ import annotations

import math
from typing import Callable, Dict, List, Optional, Sequence, Tuple, Union

from gen.hlo import dtypes
from gen.hlo.expansion import Expander, expand
from gen.hlo.graph import Instruction, Module, Shape, array_shape
from gen.stablehlo.tables import DIGAMMA_ROOT, EULER_MACLAURIN, TABLES

Number = Union["Real", float]


class Formula:
    """Adds the ops of one formula. Each constant is added only once."""

    def __init__(self, x: Expander) -> None:
        self.x = x
        self.splats: "Dict[Tuple[str, int], Instruction]" = {}

    def splat(self, value: float, like: Shape) -> "Real":
        bits = dtypes.encode(value, like.dtype)
        if (like.dtype, bits) not in self.splats:
            self.splats[like.dtype, bits] = self.x.splat(bits, like)
        return Real(self, self.splats[like.dtype, bits])

    def real(self, value: Instruction) -> "Real":
        return Real(self, value)


class Real:
    """A real array in a formula. Python's operators on it add HLO ops. A Python number acts as a constant array."""

    def __init__(self, formula: Formula, of: Instruction) -> None:
        self.formula, self.of = formula, of

    @property
    def dtype(self) -> str:
        return self.of.shape.dtype

    def number(self, value: Number) -> "Real":
        """Return a number or array as an array of this type."""
        return value if isinstance(value, Real) else self.formula.splat(value, self.of.shape)

    def op(self, opcode: str, *others: Number) -> "Real":
        return Real(self.formula, self.formula.x.op(opcode, self.of, *(self.number(other).of for other in others)))

    def to(self, dtype: str, opcode: str = "convert") -> "Real":
        return Real(self.formula, self.formula.x.convert(self.of, dtype, opcode))

    def __add__(self, other: Number) -> "Real":
        return self.op("add", other)

    def __radd__(self, other: float) -> "Real":
        return self.number(other).op("add", self)

    def __sub__(self, other: Number) -> "Real":
        return self.op("subtract", other)

    def __rsub__(self, other: float) -> "Real":
        return self.number(other).op("subtract", self)

    def __mul__(self, other: Number) -> "Real":
        return self.op("multiply", other)

    def __rmul__(self, other: float) -> "Real":
        return self.number(other).op("multiply", self)

    def __truediv__(self, other: Number) -> "Real":
        return self.op("divide", other)

    def __rtruediv__(self, other: float) -> "Real":
        return self.number(other).op("divide", self)

    def __neg__(self) -> "Real":
        return self.op("negate")

    def __abs__(self) -> "Real":
        return self.op("abs")

    def __and__(self, other: "Real") -> "Real":
        return self.op("and", other)

    def __or__(self, other: "Real") -> "Real":
        return self.op("or", other)

    def __lt__(self, other: Number) -> "Real":
        return self._compared("LT", other)

    def __le__(self, other: Number) -> "Real":
        return self._compared("LE", other)

    def __gt__(self, other: Number) -> "Real":
        return self._compared("GT", other)

    def __ge__(self, other: Number) -> "Real":
        return self._compared("GE", other)

    def equals(self, other: Number) -> "Real":
        return self._compared("EQ", other)

    def differs(self, other: Number) -> "Real":
        return self._compared("NE", other)

    def _compared(self, direction: str, other: Number) -> "Real":
        of = self.of.shape
        to = array_shape("pred", of.dims, of.minor_to_major)
        return Real(self.formula, self.formula.x.add("compare", to, [self.of, self.number(other).of],
                                                     direction=direction))

    def select(self, true: Number, false: Number) -> "Real":
        """Return an array with the elements of `true` where this predicate is true, and those of `false` elsewhere."""
        like = true if isinstance(true, Real) else false
        assert isinstance(like, Real)
        true, false = like.number(true), like.number(false)
        return Real(self.formula, self.formula.x.add("select", true.of.shape, [self.of, true.of, false.of]))

    def is_negative(self) -> "Real":
        """Return a predicate that is true for negative numbers and -0, and false for NaNs."""
        width = dtypes.TABLE[self.dtype].bits
        minus_zero = self.to(f"s{width}", "bitcast-convert").equals(-(1 << width - 1))
        return (self < 0) | (self.equals(0) & minus_zero)

    def polynomial(self, coefficients: "Sequence[Number]") -> "Real":
        """Evaluate a polynomial by Horner's rule.

        coefficients: lowest power first
        """
        value = self.number(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            value = value * self + coefficient
        return value

    def quotient(self, name: str, selected: "Sequence[Real]" = ()) -> "Real":
        """Evaluate a function that the table approximates by one rational function per interval.

        selected: for each interval after the first, a predicate; the interval of the last true predicate is used
        """
        table = TABLES[self.dtype][name]
        assert len(table) == len(selected) + 1, name
        centre, over, under = table[0]
        t = self - centre if centre else self
        parts: "List[List[Number]]" = [[*over], [*under]]
        for where, (centre, over, under) in zip(selected, table[1:]):
            t = where.select(self - centre, t)
            parts = [[where.select(self.number(new), old) for new, old in zip(polynomial, before)]
                     for polynomial, before in zip((over, under), parts)]
        return t.polynomial(parts[0]) / t.polynomial(parts[1]) if len(under) > 1 else t.polynomial(parts[0])


# ---- real functions ----

HALF_LOG_2_PI_LESS_HALF = 0.41893853320467274178


def lgamma(x: Real) -> Real:
    """Return log |gamma(x)|: Stirling's formula for |x| >= 8, the reflection formula for x < 0."""
    z, below = abs(x), x < 0
    small, large = z < 0.75, z >= 8
    w = small.select(z + 1, z)
    further = w >= 3
    ratio = w.quotient("LGAMMA", [further])
    value = further.select(ratio, small.select(z, z - 1) * small.select(z - 1, z - 2) * ratio)
    log, inverse = z.op("log"), 1 / z
    rest = (inverse * inverse).quotient("LGAMMA_REST") * inverse
    value = large.select((z - 0.5) * (log - 1) + (rest + HALF_LOG_2_PI_LESS_HALF), value)
    # reflection formula: |gamma(-z) gamma(z) z sin(pi z)| = pi
    turn = abs(z - z.op("round-nearest-even"))
    sine = turn * (turn * turn).quotient("SINE")
    mirrored = -small.select(sine, z * sine).op("log") - value
    value = below.select(mirrored, small.select(value - log, value))
    return z.equals(math.inf).select(math.inf, value)


def digamma(x: Real) -> Real:
    """Return the derivative of lgamma: the asymptotic series for |x| >= 8, the reflection formula for x < 0."""
    z, below = abs(x), x < 0
    small, large = z < 0.5, z >= 8
    w = small.select(z + 1, z)
    further = w >= 3
    ratio = w.quotient("DIGAMMA", [further])
    high, low = DIGAMMA_ROOT[x.dtype]
    from_root = (z - small.select(z.number(high - 1), high)) - low  # high - 1 has no rounding error
    inverse = 1 / z
    square = inverse * inverse
    series = z.op("log") - 0.5 * inverse - square * square.quotient("DIGAMMA_REST")
    value = large.select(series, further.select(ratio, from_root * ratio))
    # reflection formula: digamma(-z) - digamma(z + 1) = pi cot(pi z)
    turn = z - z.op("round-nearest-even")
    cotangent = (turn * turn).quotient("COTANGENT") * ((1 - 2 * turn) * (1 + 2 * turn)) / turn
    value = below.select(small.select(value, value + inverse) + cotangent, small.select(value - inverse, value))
    return (turn.equals(0) & (x <= 0)).select(math.nan, value)


def exp_of_minus_square(z: Real) -> Real:
    """Return e^(-z^2) for z >= 0, corrected for the rounding error of z^2. To compute this error, z is split into an
    upper and a lower half; the square of the upper half is exact.
    """
    width, lower = {"f32": (32, 12), "f64": (64, 27)}[z.dtype]
    bits = z.to(f"u{width}", "bitcast-convert")
    high = (bits & bits.number((1 << width) - (1 << lower))).to(z.dtype, "bitcast-convert")
    low, square = z - high, z * z
    error = (high * high - square) + (high + z) * low
    power = (-square).op("exponential")
    return power - power * error


def erfc(x: Real) -> Real:
    """Return 1 - erf(x)."""
    z = abs(x)
    small = 1 - x * (x * x).quotient("ERF")
    z = z.op("minimum", {"f32": 10.5, "f64": 28.0}[x.dtype])  # erfc is 0 for larger arguments
    t = (z - 4) / (z + 4)
    tail = exp_of_minus_square(z) * (t.quotient("ERFC") / (1 + 2 * z))
    return (z < 0.5).select(small, (x < 0).select(2 - tail, tail))


def erf_inv(x: Real) -> Real:
    """Return the inverse of erf."""
    z = abs(x)
    centre = x * (x * x).quotient("ERF_INV")
    w = -((1 - z) * (1 + z)).op("log")
    # The intervals of the table end at these values of w = -log(1 - z^2). The code below compares z with the
    # corresponding values of z.
    edges = {"f32": (5.0,), "f64": (6.0, 15.0)}[x.dtype]
    tail = w.op("sqrt") * w.quotient("ERF_INV_TAIL", [z > math.sqrt(-math.expm1(-edge)) for edge in edges])
    tail = z.equals(1).select(math.inf, tail)
    return (z < 0.625).select(centre, (x < 0).select(-tail, tail))


def bessel_i1e(x: Real) -> Real:
    """Return e^-|x| I1(x), where I1 is the modified Bessel function of the first kind."""
    z = abs(x)
    *edges, last = {"f32": (3, 8), "f64": (3, 8, 13, 20)}[x.dtype]
    near = x * z.quotient("BESSEL_I1", [z > edge for edge in edges])
    tail = (1 / z).quotient("BESSEL_I1_TAIL") / z.op("sqrt")
    return (z < last).select(near, (x < 0).select(-tail, tail))


# number of terms that are added one by one; the Euler-Maclaurin formula replaces the other ones
ZETA_TERMS = {"f32": 5, "f64": 10}


def positive_zeta(s: Real, q: Real) -> Real:
    """Return the sum of (q + k)^-s over k >= 0, for s > 1 and q > 0. The first terms are added one by one, and the
    Euler-Maclaurin formula gives the sum of the others.
    """
    def power(k: int, exponent: Real) -> Real:
        """Return (q + k)^exponent, with a first-order correction of the rounding error of q + k."""
        total = q + k
        back = total - q
        lost = (q - (total - back)) + (k - back)
        value = total.op("power", exponent)
        return value + value * (exponent * lost / total)

    terms = [power(k, -s) for k in range(1, ZETA_TERMS[q.dtype])]
    b = q + ZETA_TERMS[q.dtype]
    # multiply twice by the square root of b^-s: b^-s may underflow although the result, near b^(1 - s), does not
    root = power(ZETA_TERMS[q.dtype], s * -0.5)
    square = b * b
    series = s.number(EULER_MACLAURIN[s.dtype][-1])
    for j in reversed(range(1, len(EULER_MACLAURIN[s.dtype]))):
        series = series * ((s + (2 * j - 1)) * (s + 2 * j) / square) + EULER_MACLAURIN[s.dtype][j - 1]
    value = root.equals(0).select(0.0, root * (root * (b / (s - 1) + (0.5 + s / b * series))))
    value = value + sum(terms[-2::-1], terms[-1])
    first = q.op("power", -s)
    return first.equals(math.inf).select(first, value + first)


def zeta(s: Real, q: Real) -> Real:
    """Return Hurwitz' zeta function, the sum of (q + k)^-s over k >= 0. For q < 0 and an integer s it is computed as
    the sum over all integers k, minus the sum over k < 0.
    """
    even, integer = is_integer(s * 0.5), is_integer(s)
    below = q < 0
    right = positive_zeta(s, below.select(1 - q, q))
    r = q - q.op("round-nearest-even")
    up, down, near = positive_zeta(s, 1 + r), positive_zeta(s, 1 - r), abs(r).op("power", -s)
    all_even = near + up + (down - right)
    all_odd = (r < 0).select(-near, near) + up - (down - right)
    value = below.select(integer.select(even.select(all_even, all_odd), math.nan), right)
    value = ((q <= 0) & r.equals(0)).select(even.select(s.number(math.inf), math.nan), value)
    return (s > 1).select(value, s.equals(1).select(s.number(math.inf), math.nan))


def is_integer(x: Real) -> Real:
    return x.op("floor").equals(x)


EXACT_FACTORIALS = 12  # n! is exact in f32 up to this n (12! has 19 significant bits)


def factorial(n: Real) -> Real:
    """Return n! for an integer n >= 0: a product up to 12!, then Stirling's formula, in which a square root avoids
    overflow.
    """
    product = (n >= 2).select(n.number(2), 1)
    for k in range(3, EXACT_FACTORIALS + 1):
        product = product * (n >= k).select(n.number(k), 1)
    z = n + 1
    inverse = 1 / z
    rest = ((inverse * inverse).quotient("LGAMMA_REST") * inverse).op("exponential")
    root = z.op("power", 0.5 * (z - 0.5))
    stirling = root * (-z).op("exponential") * root * (rest * math.sqrt(2 * math.pi))
    return (n > EXACT_FACTORIALS).select(stirling, product)


def polygamma(n: Real, x: Real) -> Real:
    """Return the n-th derivative of digamma."""
    even = is_integer(n * 0.5)
    value = factorial(n) * zeta(n + 1, x)
    value = n.equals(0).select(digamma(x), even.select(-value, value))
    return (is_integer(n) & (n >= 0)).select(value, math.nan)


def wide(rule: "Callable[..., Real]") -> "Callable[[Expander, Instruction], Instruction]":
    """Return a `Rule` that converts the operands to f32, or to f64 if the result is f64, applies `rule` to them, and
    converts the result back.
    """
    def made(x: Expander, i: Instruction) -> Instruction:
        formula = Formula(x)
        dtype = "f64" if i.shape.dtype == "f64" else "f32"
        return rule(*(formula.real(operand).to(dtype) for operand in i.operands)).to(i.shape.dtype).of
    return made


# ---- complex functions ---- The formulas follow W. Kahan, "Branch cuts for complex elementary functions", 1987, and T.
# E. Hull, T. F. Fairgrieve and P. T. P. Tang, "Implementing the complex arcsine and arccosine functions using exception
# handling", 1997. The sign of a zero decides the side of a branch cut.

Complex = Tuple[Real, Real]
LOG_2, HALF_PI = math.log(2), math.pi / 2
# above this limit, squares might overflow, and 1 is negligible compared with a square
HUGE = {"f32": 2.0 ** 60, "f64": 2.0 ** 508}


def with_sign(magnitude: Real, of: Real) -> Real:
    """Return `magnitude`, which is not negative, with the sign of `of`."""
    return of.is_negative().select(-magnitude, magnitude)


def hypotenuse(x: Real, y: Real) -> Real:
    """Return sqrt(x^2 + y^2) for numbers whose squares do not overflow."""
    return (x * x + y * y).op("sqrt")


def arcsine(x: Real, y: Real) -> "Tuple[Real, Real]":
    """Return d and r, for x, y >= 0, such that asin(x + yi) = atan(x / d) + ri and acos(x + yi) = atan(d / x) - ri.

    Let a be half the sum of the distances of x + yi from 1 and from -1. Then d = sqrt(a^2 - x^2) and r = log(a +
    sqrt(a^2 - 1)). Differences are rewritten as sums of positive numbers.
    """
    more, less = x + 1, abs(x - 1)
    far, near = hypotenuse(more, y), less.equals(0).select(y, hypotenuse(less, y))
    a, inside = 0.5 * (far + near), x < 1
    low, high = x.op("minimum", 1), x.op("maximum", 1)
    inverse = 1 / (far + more)
    above_low = y * (y * inverse) + (near + less)  # equals 2 (a - low). (a - low may be subnormal and lose a bit.)
    slope = 0.5 * (inverse + 1 / (near + less))  # equals (a - high) / y^2
    root_low = (above_low * (0.5 * (a + low))).op("sqrt")       # equals sqrt(a^2 - low^2)
    root_high = y * (slope * (a + high)).op("sqrt")
    d = (x > 1).select(root_high, root_low)
    r = inside.select(y * (y * slope), 0.5 * above_low) + inside.select(root_high, root_low)
    huge, infinite, most, ratio = extremes(x, y)
    r = huge.select(ratio * ratio, r).op("log-plus-one")
    r = huge.select((0.5 * r + most.op("log")) + LOG_2, r)
    return huge.select(y, d), infinite.select(math.inf, r)


def extremes(x: Real, y: Real) -> "Tuple[Real, Real, Real, Real]":
    """Return four values, for x, y >= 0: a predicate that x or y is huge, a predicate that x or y is infinite, the
    larger of x and y, and the smaller divided by the larger.
    """
    most = x.op("maximum", y)
    huge = (x > HUGE[x.dtype]) | (y > HUGE[x.dtype])
    return huge, x.equals(math.inf) | y.equals(math.inf), most, x.op("minimum", y) / most


def arctangent(x: Real, y: Real) -> "Tuple[Real, Real]":
    """Return the real and the imaginary part of atanh(x + yi) for x, y >= 0."""
    less = 1 - x
    r = 0.25 * (4 * x / (less * less + y * y)).op("log-plus-one")
    # at x = 1, y * y may underflow to 0
    r = (less.equals(0) & (y < 2.0 ** -60)).select(0.5 * (LOG_2 - y.op("log")), r)
    turn = 0.5 * (y + y).op("atan2", less * (1 + x) - y * y)
    huge, infinite, most, ratio = extremes(x, y)
    r = huge.select(x / most / (1 + ratio * ratio) / most, r)
    return infinite.select(0.0, r), huge.select(HALF_PI, turn)


def asin(x: Real, y: Real) -> Complex:
    d, r = arcsine(abs(x), abs(y))
    return x.op("atan2", d), with_sign(r, y)


def acos(x: Real, y: Real) -> Complex:
    d, r = arcsine(abs(x), abs(y))
    return d.op("atan2", x), with_sign(r, -y)


def acosh(x: Real, y: Real) -> Complex:
    d, r = arcsine(abs(x), abs(y))
    return r, with_sign(d.op("atan2", x), y)


def asinh(x: Real, y: Real) -> Complex:
    d, r = arcsine(abs(y), abs(x))
    return with_sign(r, x), y.op("atan2", d)


def atanh(x: Real, y: Real) -> Complex:
    r, turn = arctangent(abs(x), abs(y))
    return with_sign(r, x), with_sign(turn, y)


def atan(x: Real, y: Real) -> Complex:
    r, turn = arctangent(abs(y), abs(x))
    return with_sign(turn, x), with_sign(r, y)


def complex_square(x: Real, y: Real) -> Complex:
    """Return (x + yi)^2. Its real part is (|x| + |y|)(|x| - |y|), which has a smaller rounding error than x^2 - y^2. If
    |x| = |y|, the real part is |x| - |y|: the sum may be infinite, and infinity times 0 would be NaN.
    """
    difference, half = abs(x) - abs(y), x * y
    return abs(x).equals(abs(y)).select(difference, difference * (abs(x) + abs(y))), half + half


def complex_exponential(x: Real, y: Real) -> Complex:
    """Return e^x cos y and e^x sin y, which may be finite although e^x overflows. If cos y and sin y are NaN, so are
    the results, even for infinite x (as in XLA).
    """
    size, half = x.op("exponential"), (x * 0.5).op("exponential")
    overflows = size.equals(math.inf)

    def part(name: str) -> Real:
        return overflows.select(half * y.op(name) * half, size * y.op(name))

    return part("cosine"), y.equals(0).select(0, part("sine"))


def of_parts(rule: "Callable[[Real, Real], Complex]") -> "Callable[[Expander, Instruction], Instruction]":
    """Return a rule that computes the real and the imaginary part of a complex function."""
    def made(x: Expander, i: Instruction) -> Instruction:
        (operand,) = i.operands
        of, formula = operand.shape, Formula(x)
        part = array_shape(dtypes.TABLE[of.dtype].part, of.dims, of.minor_to_major)
        re, im = rule(*(formula.real(x.add(name, part, [operand])) for name in ("real", "imag")))
        return x.add("complex", i.shape, [re.of, im.of])
    return made


# ---- bits, and ops that HLO has too ----

def next_after(x: Expander, i: Instruction) -> Instruction:
    """Return the number next to a in the direction of b; b if a equals b."""
    formula = Formula(x)
    a, b = map(formula.real, i.operands)
    about = dtypes.TABLE[a.dtype]
    unsigned = f"u{about.bits}"
    bits, top = a.to(unsigned, "bitcast-convert"), 1 << about.bits - 1
    away = (a < 0).equals(b < a)        # true if the magnitude grows
    step = away.select(bits + 1, bits - 1)
    least = (b < 0).select(bits.number(top + 1), bits.number(1))
    if about.style == "fnuz":  # in this type, the bits of -0 are a NaN
        step = step.equals(top).select(bits.number(0), step)
    moved = a.equals(0).select(least, step).to(a.dtype, "bitcast-convert")
    return (a.differs(a) | b.differs(b)).select(a + b, a.equals(b).select(b, moved)).of


def is_infinite(*signs: float) -> "Callable[[Expander, Instruction], Instruction]":
    """Return the rule for a test for infinities: infinities of the given sign, or of both signs if none is given."""
    def made(x: Expander, i: Instruction) -> Instruction:
        value = Formula(x).real(i.operands[0])
        value = value.to("f32") if dtypes.TABLE[value.dtype].bits < 16 else value
        return (value if signs else abs(value)).equals(signs[0] if signs else math.inf).of
    return made


def conjugate(x: Expander, i: Instruction) -> Instruction:
    """Return the complex conjugate; for a real number, the number as a complex one."""
    (operand,) = i.operands
    if not dtypes.is_complex(operand.shape.dtype):
        return x.add("complex", i.shape, [operand, x.splat(0, operand.shape)])
    return of_parts(lambda re, im: (re, -im))(x, i)


def top_k(x: Expander, i: Instruction) -> Instruction:
    return x.add("topk", i.shape, i.operands, k=i.attributes["k"], largest=True)


def arctangent_of(x: Real) -> Real:
    return x.op("atan2", 1)


def square(x: Expander, i: Instruction) -> Instruction:
    """Return a number multiplied by itself."""
    return x.op("multiply", i.operands[0], i.operands[0])


def named(opcode: str) -> "Callable[[Expander, Instruction], Instruction]":
    """Return the rule that replaces a chlo op by HLO's op of the same name."""
    def made(x: Expander, i: Instruction) -> Instruction:
        return x.add(opcode, i.shape, i.operands)
    return made


# a function that adds the HLO ops for a chlo op, and returns the result
Rule = Callable[[Expander, Instruction], Instruction]
# by the op's name: the rule for real (and integer) operands, and the rule for complex ones
REAL: "Dict[str, Rule]" = {
    **{name: named(name) for name in ("acos", "acosh", "asin", "asinh", "atanh", "cosh", "erf", "mulhi", "sinh",
                                      "tan")},
    "atan": wide(arctangent_of), "bessel_i1e": wide(bessel_i1e), "conj": conjugate, "digamma": wide(digamma),
    "erf_inv": wide(erf_inv), "erfc": wide(erfc), "is_inf": is_infinite(), "is_neg_inf": is_infinite(-math.inf),
    "is_pos_inf": is_infinite(math.inf), "lgamma": wide(lgamma), "next_after": next_after,
    "polygamma": wide(polygamma), "square": square, "top_k": top_k, "zeta": wide(zeta)}
COMPLEX: "Dict[str, Rule]" = {
    **{name: of_parts(rule) for name, rule in (("acos", acos), ("acosh", acosh), ("asin", asin), ("asinh", asinh),
                                               ("atan", atan), ("atanh", atanh), ("exponential", complex_exponential),
                                               ("square", complex_square))},
    **{name: named(name) for name in ("cosh", "sinh", "tan")}, "conj": conjugate}


def decomposed(module: Module) -> None:
    """Replace each op of chlo that has a rule by ops of HLO."""
    expand(module, _in_place)


def _in_place(x: Expander, instruction: Instruction) -> "Optional[Instruction]":
    dialect, _, name = instruction.opcode.partition(".")
    if dialect != "chlo":
        return None
    of = instruction.operands[0].shape.dtype if instruction.operands else ""
    rule = (COMPLEX if dtypes.is_complex(of) else REAL).get(name)
    return rule(x, instruction) if rule else None
