"""The meaning of functions of complex numbers. Each is defined by ops on real and imaginary parts, which round.

keep_zero(x, y) is x times y, except that it is a zero if x is zero, even if y is infinite or NaN. |z| is hypot of the
parts of z. The special values, compared with annex G of C11 (tests/kernels/test_complex.py tests them):

  exponential, log, sqrt,  They are as in annex G: infinities, NaN, signed zeros and branch cuts. Where annex G leaves a
  tanh                     sign open, the steps below determine it. XLA differs: exp, log and sqrt of (inf, NaN) and exp
                           of (-inf, NaN) are NaN in both parts there, and sqrt of (-4, -0) is on the other side of the
                           cut.
  sinh, cosh, sine,        They are as in annex G (sine, cosine and tan as functions of iz). Where annex G requires a
  cosine, tan              zero or an infinity next to a NaN, both parts may be NaN.
  divide                   It is as in annex G and XLA. An infinity divided by a finite number is an infinity;
                           divided by an infinity, it is NaN. A finite number divided by an infinity is zero. A number
                           other than zero, divided by zero, is an infinity.
  multiply                 It is computed by parts, as in XLA. Annex G turns a NaN that comes from an infinite operand
                           into an infinity; here, (inf + i inf) (1 + i 0) has the real part NaN.
  power                    C requires no special values. x^0 and 1^y are 1 even if the other number is NaN, and inf to a
                           positive real power is inf, as in XLA. Other values are those of exp(y log x), where XLA may
                           return NaN.
  maximum, minimum         C does not have them. They compare the real parts, and then the imaginary parts. Both parts
                           are NaN if a part of an operand is NaN. (XLA:CPU compares only real parts.)
  abs                      It is infinite if a part is, even if the other part is NaN (in XLA, it is NaN then).
  sign                     C does not have it. The sign of a zero is that zero. (inf, y) gives NaN and 0. If one part is
                           NaN, both parts of the result are NaN, as in XLA.
  all others               C does not have them. The values are those of the steps below.

The next table has, for each function, the maximum error of a kernel in ulps of |result|, and the steps. The error holds
unless the result overflows or underflows, or a step does where that is stated (tests/kernels/test_complex.py measures
it). z and x are a + ib, and y is c + id:

  divide                  8  Smith's steps; before them, parts near overflow and underflow are scaled by powers of two
  exponential            16  e^a (cos b, sin b); in two steps if e^a is infinite
  exponential-minus-one  16  (expm1(a) cos b - 2 sin(b/2)^2, e^a sin b)
  log                    16  (log|z|, atan2(b, a)); log|z| is computed by log1p if the larger part is in [1/2, 3/2], and
                             otherwise by the ratio of the parts
  log-plus-one           16  log of (1 + a, b); if both parts are less than 1/2, the real part is
                             log1p(a (2 + a) + b b) / 2
  sqrt                   16  w = sqrt(m) sqrt((|a| / m + h) / 2) and |b| / 2w, where m is the larger part and h is
                             |z / m|; the cut is along b = 0, a < 0
  rsqrt                  16  the conjugate of sqrt, divided by |z|; rsqrt(0) is (inf, NaN), as in XLA
  cbrt                   16  the real cube root of |z|, at a third of the angle
  sine, cosine           16  (sin a cosh b, cos a sinh b), (cos a cosh b, -sin a sinh b)
  sinh, cosh             16  (sinh a cos b, cosh a sin b), (cosh a cos b, sinh a sin b)
  tanh                   24  (sinh a cosh a, sin b cos b) / (sinh^2 a + cos^2 b); the limit if |a| > 20; tan(a + ib) is
                             tanh(b + ia) with its parts exchanged
  logistic               24  (1 - e + e g, e sin b) / ((1 - e)^2 + 2 e g), where e = exp(-|a|) and g = 2 cos^2(b/2); for
                             negative a, the first term is e (g - 1 + e)
  sign                   16  z / |z|; a zero is itself; NaN if a part is infinite
  power               16 + 4 |y log x|, because the argument and the angle of the exponential are rounded:
                             e^(c l - d t) (cos q, sin q) with (l, t) = log x and q = c t + d l. If d is 0, the first
                             factor is |x|^c. The result is 0 if the first factor is 0, and x^0 is 1 for every x.
  atan2(y, x)            32 (1 + |v / (1 + v^2) / result|) with v = y / x, which is near the poles i and -i:
                             -i log((x + iy) / sqrt(x^2 + y^2)). The real part is half the angle of
                             (|x|^2 - |y|^2, 2 Re(x' y)), where x' is the conjugate of x. If the half angle belongs to
                             the other square root, pi is added or subtracted. The imaginary part is computed by log1p
                             of (|x + iy|^2 - |x - iy|^2) / (the smaller of these two squares). The result is NaN for
                             two zeros.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Callable, Dict, Optional, Tuple, Union

from gen.hlo import Computation, dtypes, Instruction, Shape

NAMES = frozenset(
    """divide exponential exponential-minus-one log log-plus-one sqrt rsqrt cbrt power logistic sine cosine tan sinh cosh
    tanh sign atan2""".split()
)


def computation(opcode: str, name: str, scalar: Shape, count: int) -> Computation:
    """Return a computation on scalars. Its parameters are the real and imaginary parts of the operands, and its results
    are the parts of the function's value. name: the name of its instructions.
    """
    steps = Steps(Computation(opcode), name, scalar)
    x = [steps.op("parameter", scalar) for _ in range(count)]
    for k, parameter in enumerate(x):
        parameter.i.parameter_number = k
    steps.inner.parameters = [parameter.i for parameter in x]
    re, im = function(opcode, (x[0], x[1]), (x[2], x[3]) if count > 2 else None)
    steps.inner.root = steps.op("tuple", scalar, re, im).i
    return steps.inner


class Steps:
    """A computation under construction, on real numbers of one type."""

    def __init__(self, inner: Computation, name: str, scalar: Shape) -> None:
        self.inner, self.name, self.scalar = inner, name, scalar
        self.test = replace(scalar, dtype="pred", text="pred")
        self.numbers: Dict[str, Real] = {}

    def op(self, opcode: str, shape: Shape, *operands: "Operand", **attributes: str) -> "Real":
        return Real(self, self.inner.add(Instruction(self.name, opcode, shape, [self.number(x).i for x in operands],
                                                     dict(attributes))))

    def number(self, x: "Operand") -> "Real":
        if isinstance(x, Real):
            return x
        if str(x) not in self.numbers:
            self.numbers[str(x)] = self.op("constant", self.scalar)
            self.numbers[str(x)].i.literal = [dtypes.encode(x, self.scalar.dtype)]
        return self.numbers[str(x)]


def _function(opcode: str) -> "Callable[..., Real]":
    return lambda x, *others: x.op(opcode, *others)


def _test(direction: str) -> "Callable[[Real, Operand], Real]":
    return lambda x, y: x.compare(direction, y)


class Real:
    """A real number or a predicate in a computation. Each operator adds an op, which rounds its result. An operand that
    is a Python number becomes a constant.
    """

    def __init__(self, steps: Steps, i: Instruction) -> None:
        self.steps, self.i = steps, i

    def op(self, opcode: str, *others: "Operand") -> "Real":
        return self.steps.op(opcode, self.steps.scalar, self, *others)

    __add__, __sub__, __mul__, __truediv__ = map(_function, ("add", "subtract", "multiply", "divide"))
    __neg__, __abs__ = map(_function, ("negate", "abs"))

    def __radd__(self, x: float) -> "Real":
        return self.steps.number(x) + self

    def __rmul__(self, x: float) -> "Real":
        return self.steps.number(x) * self

    # ---- tests ----

    def compare(self, direction: str, y: "Operand", **more: str) -> "Real":
        return self.steps.op("compare", self.steps.test, self, y, direction=direction, **more)

    __lt__, __le__, __gt__, __ge__, equals, differs = map(_test, ("LT", "LE", "GT", "GE", "EQ", "NE"))

    def infinite(self) -> "Real":
        return abs(self).equals(math.inf)

    def finite(self) -> "Real":
        return abs(self) < math.inf

    def nan(self) -> "Real":
        return self.differs(self)

    def __and__(self, other: "Real") -> "Real":
        return self.steps.op("and", self.steps.test, self, other)

    def __or__(self, other: "Real") -> "Real":
        return self.steps.op("or", self.steps.test, self, other)

    def __invert__(self) -> "Real":
        return self.steps.op("not", self.steps.test, self)

    def choose(self, x: "Operand", y: "Operand") -> "Real":
        """Return `x` where this predicate is true, and `y` elsewhere."""
        return self.op("select", x, y)

    def either(self, x: "Tuple[Operand, Operand]", y: "Tuple[Operand, Operand]") -> "Parts":
        return self.choose(x[0], y[0]), self.choose(x[1], y[1])


Operand = Union[Real, float]
Parts = Tuple[Real, Real]


exp, expm1, log, log1p = map(_function, ("exponential", "exponential-minus-one", "log", "log-plus-one"))
sqrt, cbrt, sin, cos, sinh, cosh = map(_function, ("sqrt", "cbrt", "sine", "cosine", "sinh", "cosh"))
atan2, hypot, maximum, minimum, power = map(_function, ("atan2", "hypot", "maximum", "minimum", "power"))


def copysign(x: Operand, of: Real) -> Real:
    """Return the magnitude of `x` with the sign of `of`. A constant `x` must not be negative."""
    size = abs(x) if isinstance(x, Real) else of.steps.number(x)
    return of.compare("LT", 0.0, type="TOTALORDER").choose(-size, size)


def keep_zero(x: Real, y: Real) -> Real:
    zero = x.equals(0) & y.differs(0)
    return zero.choose((y < 0).choose(-x, x), x * y)


def function(opcode: str, x: Parts, y: Optional[Parts] = None) -> Parts:
    """Return the real and imaginary parts of a function's value, given the parts of its operands."""
    a, b = x
    larger, smaller = maximum(abs(a), abs(b)), minimum(abs(a), abs(b))
    if opcode == "divide":
        assert y is not None
        return quotient(x, y)
    if opcode == "exponential":
        e, h, c, s = exp(a), exp(0.5 * a), cos(b), sin(b)
        huge = e.equals(math.inf)
        parts = huge.either((h * c * h, keep_zero(keep_zero(s, h), h)), (e * c, keep_zero(s, e)))
        no_angle = a.infinite() & ~b.finite()
        return no_angle.either((e, e.equals(0).choose(e, math.nan)), parts)
    if opcode == "exponential-minus-one":
        whole, h = function("exponential", x), sin(0.5 * b)
        re = expm1(a) * cos(b) - 2 * (h * h)
        return exp(a).equals(math.inf).choose(whole[0], re), whole[1]
    if opcode == "log":
        near_one = 0.5 * log1p((larger - 1) * (larger + 1) + smaller * smaller)
        ratio = smaller / larger
        logarithm = log(larger) + 0.5 * log1p(ratio * ratio)
        size = ((larger >= 0.5) & (larger <= 1.5)).choose(near_one, logarithm)
        size = larger.equals(0).choose(-math.inf, size)
        return (a.infinite() | b.infinite()).choose(math.inf, size), atan2(b, a)
    if opcode == "log-plus-one":
        size, angle = function("log", (1 + a, b))
        small = 0.5 * log1p(a * (2 + a) + b * b)
        return ((abs(a) < 0.5) & (abs(b) < 0.5)).choose(small, size), angle
    if opcode in ("sqrt", "rsqrt", "sign"):
        u, v = abs(a) / larger, abs(b) / larger
        h, negative = hypot(u, v), a < 0
        root, half = sqrt(larger), sqrt(0.5 * (u + h))
    if opcode == "sqrt":
        w = root * half
        o = abs(b) / (2 * w)
        re, im = negative.choose(o, w), copysign(negative.choose(w, o), b)
        small = b.nan().choose(b, 0)
        of_a = negative.choose(small, math.inf), copysign(negative.choose(math.inf, small), b)
        parts = a.infinite().either(of_a, larger.equals(0).either((0, b), (re, im)))
        return b.infinite().either((math.inf, b), parts)
    if opcode == "rsqrt":
        size = root * h
        w, o = half / size, v / (2 * (half * size))
        re, im = negative.choose(o, w), -copysign(negative.choose(w, o), b)
        parts = larger.equals(0).either((math.inf, math.nan), (re, im))
        return (a.infinite() | b.infinite()).either((0, -copysign(0.0, b)), parts)
    if opcode == "sign":
        h = larger.infinite().choose(1, h)
        return larger.equals(0).either(x, (a / larger / h, b / larger / h))
    if opcode == "cbrt":
        size, angle = hypot(a, b), atan2(b, a) / 3
        g = (size < math.inf).choose(cbrt(size), 2 * cbrt(hypot(0.125 * a, 0.125 * b)))
        return g * cos(angle), keep_zero(sin(angle), g)
    if opcode == "power":
        assert y is not None
        (c, d), (l, t) = y, function("log", x)
        size, real = hypot(a, b), d.equals(0)
        g = (real & (size < math.inf)).choose(power(size, c), exp(c * l - d * t))
        q = c * t + keep_zero(d, l)
        parts = g.equals(0).either((0, 0), (g * cos(q), keep_zero(sin(q), g)))
        one = (c.equals(0) & real) | (a.equals(1) & b.equals(0))
        infinite = a.equals(math.inf) & b.equals(0) & (c > 0) & real
        return one.either((1, 0), infinite.either((math.inf, 0), parts))
    if opcode == "logistic":
        low = -abs(a)
        e, u, h = exp(low), -expm1(low), cos(0.5 * b)
        g = 2 * (h * h)
        below = u * u + 2 * (e * g)
        over = (a < 0).choose(e * (g - u), u + e * g)
        return over / below, e * sin(b) / below
    if opcode == "sine":
        return keep_zero(sin(a), cosh(b)), cos(a) * sinh(b)
    if opcode == "cosine":
        return cos(a) * cosh(b), -keep_zero(sin(a), sinh(b))
    if opcode == "sinh":
        return sinh(a) * cos(b), keep_zero(sin(b), cosh(a))
    if opcode == "cosh":
        return cosh(a) * cos(b), keep_zero(sin(b), sinh(a))
    if opcode == "tan":
        re, im = function("tanh", (b, a))
        return im, re
    if opcode == "tanh":
        s, c, sh, e = sin(b), cos(b), sinh(a), exp(-abs(a))
        below = sh * sh + c * c
        none = a.infinite() & ~b.finite()
        limit = (b.equals(0) | none).choose(copysign(0.0, b), 4 * (s * e * (c * e)))
        inner = b.equals(0).choose(b, s * c / below)
        limit_re = (a.infinite() | b.finite()).choose(copysign(1.0, a), math.nan)
        return (abs(a) > 20).either((limit_re, limit), (sh * cosh(a) / below, inner))
    assert opcode == "atan2" and y is not None
    scale = maximum(larger, maximum(abs(y[0]), abs(y[1])))
    yr, yi, xr, xi = (part / scale for part in (*x, *y))
    pr, pi, qr, qi = xr - yi, xi + yr, xr + yi, xi - yr
    n = xi * yr - xr * yi
    half = 0.5 * atan2(2 * (xr * yr + xi * yi), (xr * xr + xi * xi) - (yr * yr + yi * yi))
    flip = pr * cos(half) + pi * sin(half) < 0
    turn = copysign(math.pi, half.equals(0).choose(-pi, half))
    above = 0.25 * log1p(4 * n / (qr * qr + qi * qi))
    below = 0.25 * log1p(-4 * n / (pr * pr + pi * pi))
    return flip.choose(half - turn, half), (n < 0).choose(below, -above)


def quotient(x: Parts, y: Parts) -> Parts:
    """Return the real and imaginary parts of x / y by Smith's method. Parts are first scaled by powers of two, so that
    no intermediate value overflows or loses digits of the result. If both parts of the result are NaN, they become the
    values of annex G for infinities and zeros.
    """
    (a, b), (c, d) = x, y
    single = a.steps.scalar.dtype == "f32"
    high, low, up = (2.0**126, 2.0**-102, 2.0**47) if single else (2.0**1022, 2.0**-969, 2.0**105)

    def extreme(p: Real, q: Real) -> Parts:
        """Return two predicates. The first is true if `p` or `q` is large, the second if both are small."""
        return (abs(p) >= high) | (abs(q) >= high), (abs(p) <= low) & (abs(q) <= low)

    (large, small), (much, little) = extreme(a, b), extreme(c, d)
    of = large.choose(0.5, small.choose(up, 1))
    by = much.choose(0.5, little.choose(up, 1))
    back = by * large.choose(2.0, small.choose(1 / up, 1))
    near, e, f = (a * of, b * of), c * by, d * by
    steep = abs(e) < abs(f)
    p, q = steep.either((near[1], near[0]), near)
    e, f = steep.either((f, e), (e, f))
    ratio = f / e
    # Compute part * (f / e). If f / e has underflowed to 0, compute f * part / e instead, which need not be 0. If e is
    # infinite, f / e is exactly 0; f * part might overflow then, and is not used.
    none = ratio.equals(0) & e.finite()
    of_p, of_q = (none.choose(f * part / e, part * ratio) for part in (p, q))
    below, over = e + f * ratio, steep.choose(of_p - q, q - of_p)
    parts = (p + of_q) / below * back, over / below * back

    def product(factor: float, u: Real, v: Real, w: Real, z: Real) -> Parts:
        """Return the parts of factor * (u + iv) * (w - iz)."""
        return factor * (u * w + v * z), factor * (v * w - u * z)

    def unit(part: Real) -> Real:
        return part.infinite().choose(copysign(1.0, part), copysign(0.0, part))

    pole = copysign(math.inf, c)
    at_zero = c.equals(0) & d.equals(0) & ~(a.nan() & b.nan())
    of_infinite = (a.infinite() | b.infinite()) & c.finite() & d.finite()
    by_infinite = (c.infinite() | d.infinite()) & a.finite() & b.finite()
    neither = parts[0].nan() & parts[1].nan()
    for when, values in ((at_zero, (pole * a, pole * b)), (of_infinite, product(math.inf, unit(a), unit(b), c, d)),
                         (by_infinite, product(0.0, *near, unit(c), unit(d)))):
        parts = (neither & when).either(values, parts)
    return parts
