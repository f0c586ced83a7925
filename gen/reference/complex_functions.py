"""What functions of complex numbers mean: real ops on the parts, each of which rounds.

keep_zero(x, y) is x y, and a zero where x is zero though y be infinite or NaN. |z| is hypot. The special values of
annex G of C11 are these (tests/kernels/test_complex.py holds them):

  exponential, log, sqrt,  as annex G: infinities, NaN, signed zeros, branch cuts. Where it leaves a sign open, it is
  tanh                     what the steps below give. XLA differs: exp, log and sqrt of (inf, NaN) are NaN in both
                           parts, exp of (-inf, NaN) too, and sqrt of (-4, -0) is on the other side of the cut
  sinh, cosh, sine,        as annex G for iz where C has sinh and cosh of z; where annex G wants a zero or an infinity
  cosine, tan              beside a NaN, both parts may be NaN
  divide                   as annex G, and as XLA: an infinity by a finite number is an infinity, by an infinity NaN; a
                           finite number by an infinity is zero; a number that is no zero, by zero, is an infinity
  multiply                 by parts, as XLA: annex G turns a NaN beside an infinite operand into an infinity, this does
                           not: (inf + i inf) (1 + i 0) has a real part of NaN
  power                    C asks for none. x^0 and 1^y are 1 though the other be NaN, inf to a positive real power is
                           inf, as XLA's; else those of exp(y log x), where XLA may give NaN
  maximum, minimum         C has none. By the real, then by the imaginary part; NaN in both parts where a part of
                           either operand is NaN. (XLA:CPU compares real parts alone)
  abs                      infinite where a part is, though the other be NaN (XLA: NaN)
  sign                     C has none. A zero is itself; (inf, y) has the parts NaN and 0; NaN in one part is NaN in
                           both: as XLA
  the others               C has none: what the steps below give

Away from overflow and underflow of the result, and of the steps where that is said, the error of a kernel
is at most so many ulps of |result| (tests/kernels/test_complex.py measures it):

  divide                  8  Smith's steps, after powers of two have brought parts near overflow and underflow away
                             from it
  exponential            16  e^a (cos b, sin b); in two steps where e^a is infinite
  exponential-minus-one  16  (expm1(a) cos b - 2 sin(b/2)^2, e^a sin b)
  log                    16  (log|z|, atan2(b, a)); log|z| by log1p where the larger part is in [1/2, 3/2], else by the
                         ratio of the parts
  log-plus-one           16  as log of (1 + a, b); the real part log1p(a (2 + a) + b b) / 2 where both parts are less
                         than 1/2
  sqrt                   16  with m the larger part, h = |z / m|: w = sqrt(m) sqrt((|a| / m + h) / 2) and |b| / 2w; a
                         cut along b = 0, a < 0
  rsqrt                  16  sqrt's conjugate by |z|; rsqrt(0) is (inf, NaN), as XLA's
  cbrt                   16  the real root of |z|, a third of the angle
  sine, cosine           16  (sin a cosh b, cos a sinh b), (cos a cosh b, -sin a sinh b)
  sinh, cosh             16  (sinh a cos b, cosh a sin b), (cosh a cos b, sinh a sin b)
  tanh                   24  (sinh a cosh a, sin b cos b) / (sinh^2 a + cos^2 b); beyond |a| = 20 the limit; tan(a + ib)
                         is tanh(b + ia) with its parts exchanged
  logistic               24  with e = exp(-|a|), g = 2 cos^2(b/2): (1 - e + e g, e sin b) / ((1 - e)^2 + 2 e g), e (g -
                         1 + e) in the first for negative a
  sign                   16  z / |z|; a zero itself; NaN where a part is infinite
  power               16 + 4 |y log x|, the exponential's argument and angle being rounded: e^(c l - d t) (cos q, sin
                             q), q = c t + d l, of (l, t) = log x, with |x|^c in place of the first where d is 0; x^0 is
                             1, for every x; 0 where the first is 0
  atan2(y, x)            32 (1 + |v / (1 + v^2) / result|) of v = y / x, which is near its poles i and -i: -i log((x +
                             iy) / sqrt(x^2 + y^2)): half the angle of (|x|^2 - |y|^2, 2 Re(x' y)), plus or minus pi for
                             the other root; the imaginary part by log1p of (|x + iy|^2 - |x - iy|^2) / the smaller of
                             both; NaN for two zeros
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Dict, Optional, Tuple, Union

from gen.hlo import Computation, dtypes, Instruction, Shape

Parts = Tuple[Instruction, Instruction]
Number = Union[Instruction, float]      # a number is a constant of the part's type
NAMES = frozenset(
    """divide exponential exponential-minus-one log log-plus-one sqrt rsqrt cbrt power logistic sine cosine tan sinh cosh
    tanh sign atan2""".split()
)
TESTS = ("compare", "and", "or", "not")     # ops whose results are pred


def computation(opcode: str, name: str, scalar: Shape, count: int) -> Computation:
    """A function on scalars: of the parts of its operands, the parts of its value. name: of its instructions."""
    r = Real(Computation(opcode), name, scalar)
    for k in range(count):
        r.inner.parameters.append(r.op("parameter"))
        r.inner.parameters[-1].parameter_number = k
    x = r.inner.parameters
    r.inner.root = r.op("tuple", *function(opcode, r, (x[0], x[1]), (x[2], x[3]) if count > 2 else None))
    return r.inner


class Real:
    """Real ops, which a computation takes in."""

    def __init__(self, inner: Computation, name: str, scalar: Shape) -> None:
        self.inner, self.name, self.scalar = inner, name, scalar
        self.numbers: Dict[str, Instruction] = {}

    def op(self, opcode: str, *operands: Instruction, **attributes: str) -> Instruction:
        shape = replace(self.scalar, dtype="pred", text="pred") if opcode in TESTS else self.scalar
        i = Instruction(self.name, opcode, shape, list(operands), dict(attributes), computation=self.inner)
        self.inner.instructions.append(i)
        return i

    def number(self, x: Number) -> Instruction:
        if isinstance(x, Instruction):
            return x
        if str(x) not in self.numbers:
            self.numbers[str(x)] = self.op("constant")
            self.numbers[str(x)].literal = [dtypes.encode(x, self.scalar.dtype)]
        return self.numbers[str(x)]

    def add(self, x: Instruction, y: Instruction) -> Instruction:
        return self.op("add", x, y)

    def subtract(self, x: Instruction, y: Instruction) -> Instruction:
        return self.op("subtract", x, y)

    def times(self, x: Number, y: Instruction) -> Instruction:
        return self.op("multiply", self.number(x), y)

    def over(self, x: Instruction, y: Instruction) -> Instruction:
        return self.op("divide", x, y)

    def is_(self, direction: str, x: Instruction, y: float, **more: str) -> Instruction:
        """A comparison with a number."""
        return self.op("compare", x, self.number(y), direction=direction, **more)

    def infinite(self, x: Instruction) -> Instruction:
        return self.is_("EQ", self.op("abs", x), math.inf)

    def finite(self, x: Instruction) -> Instruction:
        return self.is_("LT", self.op("abs", x), math.inf)

    def nan(self, x: Instruction) -> Instruction:
        return self.op("compare", x, x, direction="NE")

    def any(self, *tests: Instruction) -> Instruction:
        return tests[0] if len(tests) == 1 else self.op("or", tests[0], self.any(*tests[1:]))

    def all(self, *tests: Instruction) -> Instruction:
        return tests[0] if len(tests) == 1 else self.op("and", tests[0], self.all(*tests[1:]))

    def choose(self, test: Instruction, x: Number, y: Number) -> Instruction:
        return self.op("select", test, self.number(x), self.number(y))

    def either(self, test: Instruction, x: Tuple[Number, Number], y: Tuple[Number, Number]) -> Parts:
        return self.choose(test, x[0], y[0]), self.choose(test, x[1], y[1])

    def squares(self, x: Instruction, y: Instruction) -> Instruction:
        return self.add(self.times(x, x), self.times(y, y))

    def copysign(self, x: Number, of: Instruction) -> Instruction:
        """x without a sign, with the sign of another."""
        size = self.op("abs", x) if isinstance(x, Instruction) else self.number(x)
        return self.choose(self.is_("LT", of, 0.0, type="TOTALORDER"), self.op("negate", size), size)

    def keep_zero(self, x: Instruction, y: Instruction) -> Instruction:
        zero = self.all(self.is_("EQ", x, 0), self.is_("NE", y, 0))
        return self.choose(zero, self.choose(self.is_("LT", y, 0), self.op("negate", x), x), self.times(x, y))


def function(opcode: str, r: Real, x: Parts, y: Optional[Parts] = None) -> Parts:
    """The parts of a function's value, of the parts of its operands."""
    a, b = x
    op, number, times = r.op, r.number, r.times
    larger, smaller = op("maximum", op("abs", a), op("abs", b)), op("minimum", op("abs", a), op("abs", b))
    if opcode == "divide":
        assert y is not None
        return quotient(r, x, y)
    if opcode == "exponential":
        e, h, c, s = op("exponential", a), op("exponential", times(0.5, a)), op("cosine", b), op("sine", b)
        huge = r.is_("EQ", e, math.inf)
        parts = (r.choose(huge, times(times(h, c), h), times(e, c)),
                 r.choose(huge, r.keep_zero(r.keep_zero(s, h), h), r.keep_zero(s, e)))
        no_angle = r.all(r.infinite(a), r.op("not", r.finite(b)))
        of_no_angle = (e, r.choose(r.is_("EQ", e, 0), e, math.nan))
        return r.either(no_angle, of_no_angle, parts)
    if opcode == "exponential-minus-one":
        whole, h = function("exponential", r, x), op("sine", times(0.5, b))
        re = r.subtract(times(op("exponential-minus-one", a), op("cosine", b)), times(2, times(h, h)))
        return (r.choose(r.is_("EQ", op("exponential", a), math.inf), whole[0], re), whole[1])
    if opcode == "log":
        beyond = times(r.subtract(larger, number(1)), r.add(larger, number(1)))
        near_one = times(0.5, op("log-plus-one", r.add(beyond, times(smaller, smaller))))
        ratio = r.over(smaller, larger)
        apart = r.add(op("log", larger), times(0.5, op("log-plus-one", times(ratio, ratio))))
        size = r.choose(r.all(r.is_("GE", larger, 0.5), r.is_("LE", larger, 1.5)), near_one, apart)
        size = r.choose(r.is_("EQ", larger, 0), -math.inf, size)
        return (r.choose(r.any(r.infinite(a), r.infinite(b)), math.inf, size), op("atan2", b, a))
    if opcode == "log-plus-one":
        size, angle = function("log", r, (r.add(number(1), a), b))
        small = times(0.5, op("log-plus-one", r.add(times(a, r.add(number(2), a)), times(b, b))))
        return (r.choose(r.all(r.is_("LT", op("abs", a), 0.5), r.is_("LT", op("abs", b), 0.5)), small, size), angle)
    if opcode in ("sqrt", "rsqrt", "sign"):
        u, v = r.over(op("abs", a), larger), r.over(op("abs", b), larger)
        h, negative = op("hypot", u, v), r.is_("LT", a, 0)
        root, half = op("sqrt", larger), op("sqrt", times(0.5, r.add(u, h)))
    if opcode == "sqrt":
        w = times(root, half)
        o = r.over(op("abs", b), times(2, w))
        re, im = r.choose(negative, o, w), r.copysign(r.choose(negative, w, o), b)
        re, im = r.either(r.is_("EQ", larger, 0), (0, b), (re, im))
        small = r.choose(r.nan(b), b, 0)
        of_a = (r.choose(negative, small, math.inf), r.copysign(r.choose(negative, math.inf, small), b))
        re, im = r.either(r.infinite(a), of_a, (re, im))
        return (r.choose(r.infinite(b), math.inf, re), r.choose(r.infinite(b), b, im))
    if opcode == "rsqrt":
        size = times(root, h)
        w, o = r.over(half, size), r.over(v, times(2, times(half, size)))
        re, im = r.choose(negative, o, w), op("negate", r.copysign(r.choose(negative, w, o), b))
        re, im = r.either(r.is_("EQ", larger, 0), (math.inf, math.nan), (re, im))
        infinite = r.any(r.infinite(a), r.infinite(b))
        return (r.choose(infinite, 0, re), r.choose(infinite, op("negate", r.copysign(0.0, b)), im))
    if opcode == "sign":
        h = r.choose(r.infinite(larger), 1, h)
        return r.either(r.is_("EQ", larger, 0), x, (r.over(r.over(a, larger), h), r.over(r.over(b, larger), h)))
    if opcode == "cbrt":
        size, angle = op("hypot", a, b), r.over(op("atan2", b, a), number(3))
        eighth = op("cbrt", op("hypot", times(0.125, a), times(0.125, b)))
        g = r.choose(r.is_("LT", size, math.inf), op("cbrt", size), times(2, eighth))
        return (times(g, op("cosine", angle)), r.keep_zero(op("sine", angle), g))
    if opcode == "power":
        assert y is not None
        (c, d), (l, t) = y, function("log", r, x)
        size, real = op("hypot", a, b), r.is_("EQ", d, 0)
        g = r.choose(r.all(real, r.is_("LT", size, math.inf)), op("power", size, c),
                     op("exponential", r.subtract(times(c, l), times(d, t))))
        q = r.add(times(c, t), r.keep_zero(d, l))
        re, im = times(g, op("cosine", q)), r.keep_zero(op("sine", q), g)
        re, im = r.either(r.is_("EQ", g, 0), (0, 0), (re, im))
        one = r.any(r.all(r.is_("EQ", c, 0), real), r.all(r.is_("EQ", a, 1), r.is_("EQ", b, 0)))
        infinite = r.all(r.is_("EQ", a, math.inf), r.is_("EQ", b, 0), r.is_("GT", c, 0), real)
        re, im = r.choose(infinite, math.inf, re), r.choose(infinite, 0, im)
        return (r.choose(one, 1, re), r.choose(one, 0, im))
    if opcode == "logistic":
        low = op("negate", op("abs", a))
        e, u, h = op("exponential", low), op("negate", op("exponential-minus-one", low)), op("cosine", times(0.5, b))
        g = times(2, times(h, h))
        below = r.add(times(u, u), times(2, times(e, g)))
        over = r.choose(r.is_("LT", a, 0), times(e, r.subtract(g, u)), r.add(u, times(e, g)))
        return (r.over(over, below), r.over(times(e, op("sine", b)), below))
    if opcode == "sine":
        return (r.keep_zero(op("sine", a), op("cosh", b)), times(op("cosine", a), op("sinh", b)))
    if opcode == "cosine":
        return (times(op("cosine", a), op("cosh", b)), op("negate", r.keep_zero(op("sine", a), op("sinh", b))))
    if opcode in ("sinh", "cosh"):
        other = "cosh" if opcode == "sinh" else "sinh"
        return (times(op(opcode, a), op("cosine", b)), r.keep_zero(op("sine", b), op(other, a)))
    if opcode == "tan":
        re, im = function("tanh", r, (b, a))
        return (im, re)
    if opcode == "tanh":
        s, c, sh, e = op("sine", b), op("cosine", b), op("sinh", a), op("exponential", op("negate", op("abs", a)))
        below = r.add(times(sh, sh), times(c, c))
        limit = times(4, times(times(s, e), times(c, e)))
        none = r.all(r.infinite(a), r.op("not", r.finite(b)))
        limit = r.choose(r.any(r.is_("EQ", b, 0), none), r.copysign(0.0, b), limit)
        inner = r.choose(r.is_("EQ", b, 0), b, r.over(times(s, c), below))
        large = r.is_("GT", op("abs", a), 20)
        limit_re = r.choose(r.any(r.infinite(a), r.finite(b)), r.copysign(1.0, a), math.nan)
        return (r.choose(large, limit_re, r.over(times(sh, op("cosh", a)), below)), r.choose(large, limit, inner))
    assert opcode == "atan2" and y is not None
    scale = op("maximum", larger, op("maximum", *(op("abs", part) for part in y)))
    (yr, yi), (xr, xi) = ((r.over(p, scale), r.over(q, scale)) for p, q in (x, y))
    pr, pi, qr, qi = r.subtract(xr, yi), r.add(xi, yr), r.add(xr, yi), r.subtract(xi, yr)
    n = r.subtract(times(xi, yr), times(xr, yi))
    half = times(0.5, op("atan2", times(2, r.add(times(xr, yr), times(xi, yi))),
                         r.subtract(r.squares(xr, xi), r.squares(yr, yi))))
    flip = r.is_("LT", r.add(times(pr, op("cosine", half)), times(pi, op("sine", half))), 0)
    turn = r.copysign(math.pi, r.choose(r.is_("EQ", half, 0), op("negate", pi), half))
    above = times(0.25, op("log-plus-one", r.over(times(4, n), r.squares(qr, qi))))
    below = times(0.25, op("log-plus-one", r.over(times(-4, n), r.squares(pr, pi))))
    return (r.choose(flip, r.subtract(half, turn), half), r.choose(r.is_("LT", n, 0), below, op("negate", above)))


def quotient(r: Real, x: Parts, y: Parts) -> Parts:
    """The parts of x / y: Smith's steps on parts scaled by powers of two, so that none overflows, or loses what the
    result needs; then annex G's values of infinities and zeros, where both parts are NaN."""
    (a, b), (c, d) = x, y
    op, times = r.op, r.times
    high, low, up = (2.0**126, 2.0**-102, 2.0**47) if r.scalar.dtype == "f32" else (2.0**1022, 2.0**-969, 2.0**105)

    def extreme(p: Instruction, q: Instruction) -> Parts:
        """Tests: a part is large; both parts are small."""
        sizes = op("abs", p), op("abs", q)
        return (r.any(*(r.is_("GE", size, high) for size in sizes)),
                r.all(*(r.is_("LE", size, low) for size in sizes)))

    (large, small), (much, little) = extreme(a, b), extreme(c, d)
    of = r.choose(large, 0.5, r.choose(small, up, 1))
    by = r.choose(much, 0.5, r.choose(little, up, 1))
    back = times(by, r.choose(large, 2.0, r.choose(small, 1 / up, 1)))
    near, e, f = (times(a, of), times(b, of)), times(c, by), times(d, by)
    steep = r.op("compare", op("abs", e), op("abs", f), direction="LT")
    p, q = r.choose(steep, near[1], near[0]), r.choose(steep, near[0], near[1])
    e, f = r.choose(steep, f, e), r.choose(steep, e, f)
    ratio = r.over(f, e)
    none = r.all(r.is_("EQ", ratio, 0), r.finite(e))  # f part may overflow where e is infinite
    of_p, of_q = (r.choose(none, r.over(times(f, part), e), times(part, ratio)) for part in (p, q))
    below, over = r.add(e, times(f, ratio)), r.choose(steep, r.subtract(of_p, q), r.subtract(q, of_p))
    parts = times(r.over(r.add(p, of_q), below), back), times(r.over(over, below), back)

    def product(factor: float, u: Instruction, v: Instruction, w: Instruction, z: Instruction) -> Parts:
        """A factor times (u + iv) (w - iz)."""
        return (times(factor, r.add(times(u, w), times(v, z))), times(factor, r.subtract(times(v, w), times(u, z))))

    def unit(part: Instruction) -> Instruction:
        return r.choose(r.infinite(part), r.copysign(1.0, part), r.copysign(0.0, part))

    pole = r.copysign(math.inf, c)
    at_zero = r.all(r.is_("EQ", c, 0), r.is_("EQ", d, 0), r.op("not", r.all(r.nan(a), r.nan(b))))
    of_infinite = r.all(r.any(r.infinite(a), r.infinite(b)), r.finite(c), r.finite(d))
    by_infinite = r.all(r.any(r.infinite(c), r.infinite(d)), r.finite(a), r.finite(b))
    neither = r.all(r.nan(parts[0]), r.nan(parts[1]))
    for when, values in ((at_zero, (times(pole, a), times(pole, b))),
                         (of_infinite, product(math.inf, unit(a), unit(b), c, d)),
                         (by_infinite, product(0.0, *near, unit(c), unit(d)))):
        parts = r.either(r.all(neither, when), values, parts)
    return parts
