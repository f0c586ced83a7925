/* Functions of complex numbers. gen/reference/complex_functions.py defines each function by ops on real numbers. This
   file implements the same ops a second time, for kernels. Every op rounds.

   gen/emit/pieces.py divides the file into pieces and replaces words: T is the complex type, and REAL is the type of
   its parts. N(x) is a number of type REAL. MUL(a, b) is a product that the compiler does not fuse with a sum; an
   operand with an operator has parentheses of its own. FABS, SQRT, .. are functions of the target language. A
   difference of products is written as a sum. Otherwise gcc 12 takes x * y - z * w next to x * w + z * y for a complex
   product, and fuses the multiplications and additions, whatever its flags are. */

static inline T convert_FROM_T(SOURCE x)
{
#if COMPLEX_SOURCE
  const T z = {(REAL)x.re, (REAL)x.im};
#else
  const T z = {(REAL)x, 0};
#endif
  return z;
}

static inline T complex_T(REAL re, REAL im)
{
  const T z = {re, im};
  return z;
}

static inline PRED equal_T(T a, T b)
{
  return a.re == b.re && a.im == b.im;
}

static inline T add_T(T a, T b)
{
  const T z = {a.re + b.re, a.im + b.im};
  return z;
}

static inline T subtract_T(T a, T b)
{
  const T z = {a.re - b.re, a.im - b.im};
  return z;
}

static inline T multiply_T(T a, T b)
{
  const T z = {MUL(a.re, b.re) + MUL(-a.im, b.im), MUL(a.re, b.im) + MUL(a.im, b.re)};
  return z;
}

/* The operand with the larger real part, and of equal real parts the one with the larger imaginary part. Both parts
   are NaN if any part of an operand is NaN. */
static inline T maximum_T(T a, T b)
{
  const int first = a.re > b.re || (a.re == b.re && a.im >= b.im);
  const int ordered = a.re == a.re && a.im == a.im && b.re == b.re && b.im == b.im;
  const T z = {ordered ? first ? a.re : b.re : QUIET_NAN(), ordered ? first ? a.im : b.im : QUIET_NAN()};
  return z;
}

/* The operand with the smaller real part, and of equal real parts the one with the smaller imaginary part. Both parts
   are NaN if any part of an operand is NaN. */
static inline T minimum_T(T a, T b)
{
  const int first = a.re < b.re || (a.re == b.re && a.im <= b.im);
  const int ordered = a.re == a.re && a.im == a.im && b.re == b.re && b.im == b.im;
  const T z = {ordered ? first ? a.re : b.re : QUIET_NAN(), ordered ? first ? a.im : b.im : QUIET_NAN()};
  return z;
}

static inline T negate_T(T a)
{
  const T z = {-a.re, -a.im};
  return z;
}

/* a or b. A compiler vectorises the choice of each part, but not the choice of a struct. */
static inline T select_T(PRED first, T a, T b)
{
  const T z = {first ? a.re : b.re, first ? a.im : b.im};
  return z;
}

/* infinite if a part is infinite, even if the other part is NaN: an infinite part takes its place. There is no branch,
   so that compilers vectorise the function. */
static inline REAL abs_T(T a)
{
  const REAL re = FABS(a.im) == INFINITY ? a.im : a.re, im = FABS(a.re) == INFINITY ? a.re : a.im;
  return HYPOT(re, im);
}

/* x y, or a zero if x is zero, even if y is infinite or NaN */
static inline REAL keep_zero_T(REAL x, REAL y)
{
  return x == 0 && y != 0 ? (y < 0 ? -x : x) : MUL(x, y);
}

/* With y = a and x = b, the value is -i log((x + i y) / sqrt(x x + y y)). It does not change if x and y are scaled. */
static inline T atan2_T(T a, T b)
{
  const REAL m = FMAX(FMAX(FABS(a.re), FABS(a.im)), FMAX(FABS(b.re), FABS(b.im)));
  const REAL yr = a.re / m, yi = a.im / m, xr = b.re / m, xi = b.im / m;
  const REAL pr = xr - yi, pi = xi + yr, qr = xr + yi, qi = xi - yr; /* p = x + i y, q = x - i y */
  const REAL n = MUL(xi, yr) + MUL(-xr, yi); /* (|p|^2 - |q|^2) / 4 */
  const REAL angle = MUL(N(0.5), ATAN2(MUL(N(2), (MUL(xr, yr) + MUL(xi, yi))),
                                       (MUL(xr, xr) + MUL(xi, xi)) - (MUL(yr, yr) + MUL(yi, yi))));
  /* true if exp(i angle) is the square root opposite to the wanted one */
  const int flip = MUL(pr, COS(angle)) + MUL(pi, SIN(angle)) < 0;
  return complex_T(flip ? angle - COPYSIGN(PI, angle == 0 ? -pi : angle) : angle,
                   n < 0 ? MUL(N(0.25), LOG1P(MUL(N(-4), n) / (MUL(pr, pr) + MUL(pi, pi))))
                         : -(MUL(N(0.25), LOG1P(MUL(N(4), n) / (MUL(qr, qr) + MUL(qi, qi))))));
}

static inline T cbrt_T(T a)
{
  const REAL size = abs_T(a), q = ATAN2(a.im, a.re) / N(3);
  const REAL g = size < INFINITY ? CBRT(size)
                                 : MUL(N(2), CBRT(abs_T(complex_T(MUL(N(0.125), a.re), MUL(N(0.125), a.im)))));
  return complex_T(MUL(g, COS(q)), keep_zero_T(SIN(q), g));
}

static inline T cosh_T(T a)
{
  return complex_T(MUL(COSH(a.re), COS(a.im)), keep_zero_T(SIN(a.im), SINH(a.re)));
}

static inline T cosine_T(T a)
{
  return complex_T(MUL(COS(a.re), COSH(a.im)), -keep_zero_T(SIN(a.re), SINH(a.im)));
}

/* Smith's method on scaled parts; then the values of annex G of C11 for infinities and zeros */
static inline T divide_T(T a, T b)
{
  const int large = FABS(a.re) >= HIGH || FABS(a.im) >= HIGH, small = FABS(a.re) <= LOW && FABS(a.im) <= LOW;
  const int much = FABS(b.re) >= HIGH || FABS(b.im) >= HIGH, little = FABS(b.re) <= LOW && FABS(b.im) <= LOW;
  const REAL sa = large ? N(0.5) : small ? UP : N(1), sb = much ? N(0.5) : little ? UP : N(1);
  const REAL s = MUL(sb, (large ? N(2) : small ? DOWN : N(1)));
  const REAL ar = MUL(a.re, sa), ai = MUL(a.im, sa), br = MUL(b.re, sb), bi = MUL(b.im, sb);
  const int steep = FABS(br) < FABS(bi);
  const REAL p = steep ? ai : ar, q = steep ? ar : ai, x = steep ? bi : br, y = steep ? br : bi, r = y / x;
  const int none = r == 0 && FABS(x) < INFINITY; /* y p and y q might overflow if x is infinite */
  const REAL pr = none ? MUL(y, p) / x : MUL(p, r), qr = none ? MUL(y, q) / x : MUL(q, r);
  const REAL below = x + MUL(y, r);
  REAL re = MUL(((p + qr) / below), s), im = MUL(((steep ? pr - q : q - pr) / below), s);
  if (re == re || im == im) {
  } else if (b.re == 0 && b.im == 0 && (a.re == a.re || a.im == a.im)) {
    re = MUL(COPYSIGN((REAL)INFINITY, b.re), a.re);
    im = MUL(COPYSIGN((REAL)INFINITY, b.re), a.im);
  } else if ((FABS(a.re) == INFINITY || FABS(a.im) == INFINITY) && FABS(b.re) < INFINITY && FABS(b.im) < INFINITY) {
    /* 1 for an infinite part and 0 for a finite part, with the sign of the part */
    const REAL u = COPYSIGN(FABS(a.re) == INFINITY ? N(1) : N(0), a.re);
    const REAL v = COPYSIGN(FABS(a.im) == INFINITY ? N(1) : N(0), a.im);
    re = MUL((REAL)INFINITY, (MUL(u, b.re) + MUL(v, b.im)));
    im = MUL((REAL)INFINITY, (MUL(v, b.re) + MUL(-u, b.im)));
  } else if ((FABS(b.re) == INFINITY || FABS(b.im) == INFINITY) && FABS(a.re) < INFINITY && FABS(a.im) < INFINITY) {
    /* 1 for an infinite part and 0 for a finite part, with the sign of the part */
    const REAL u = COPYSIGN(FABS(b.re) == INFINITY ? N(1) : N(0), b.re);
    const REAL v = COPYSIGN(FABS(b.im) == INFINITY ? N(1) : N(0), b.im);
    re = MUL(N(0), (MUL(ar, u) + MUL(ai, v)));
    im = MUL(N(0), (MUL(ai, u) + MUL(-ar, v)));
  }
  return complex_T(re, im);
}

static inline T exponential_T(T a)
{
  const REAL e = EXP(a.re), c = COS(a.im), s = SIN(a.im);
  if (FABS(a.re) == INFINITY && c != c) /* if a.im is infinite or NaN, the angle is not known */
    return complex_T(e, e == 0 ? e : (REAL)NAN);
  if (e == INFINITY) { /* e^a overflows, but its product with cos b or sin b need not */
    const REAL h = EXP(MUL(N(0.5), a.re));
    return complex_T(MUL((MUL(h, c)), h), keep_zero_T(keep_zero_T(s, h), h));
  }
  return complex_T(MUL(e, c), keep_zero_T(s, e));
}

static inline T exponential_minus_one_T(T a)
{
  const T e = exponential_T(a);
  const REAL h = SIN(MUL(N(0.5), a.im)); /* cos b - 1 = -2 h h */
  if (EXP(a.re) == INFINITY) return e;
  return complex_T(MUL(EXPM1(a.re), COS(a.im)) - MUL(N(2), (MUL(h, h))), e.im);
}

static inline T log_T(T a)
{
  const REAL x = FABS(a.re), y = FABS(a.im), m = x != x || x > y ? x : y;
  const REAL n = x > y ? y : x, angle = ATAN2(a.im, a.re);
  if (x == INFINITY || y == INFINITY) return complex_T((REAL)INFINITY, angle);
  if (m == 0) return complex_T(-(REAL)INFINITY, angle);
  if (m >= N(0.5) && m <= N(1.5)) /* |a| may be close to 1, where its logarithm needs log1p */
    return complex_T(MUL(N(0.5), LOG1P(MUL((m - N(1)), (m + N(1))) + MUL(n, n))), angle);
  const REAL q = n / m;
  return complex_T(LOG(m) + MUL(N(0.5), LOG1P(MUL(q, q))), angle);
}

static inline T log_plus_one_T(T a)
{
  const T l = log_T(complex_T(N(1) + a.re, a.im));
  if (!(FABS(a.re) < N(0.5) && FABS(a.im) < N(0.5))) return l;
  return complex_T(MUL(N(0.5), LOG1P(MUL(a.re, (N(2) + a.re)) + MUL(a.im, a.im))), l.im);
}

static inline T logistic_T(T a)
{
  const REAL x = FABS(a.re), e = EXP(-x), u = -EXPM1(-x), h = COS(MUL(N(0.5), a.im));
  /* g = 1 + cos b; d = |1 + exp(-a)|^2, or |1 + exp(a)|^2 if a is negative */
  const REAL g = MUL(N(2), (MUL(h, h))), d = MUL(u, u) + MUL(N(2), (MUL(e, g)));
  return complex_T((a.re < 0 ? MUL(e, (g - u)) : u + MUL(e, g)) / d, MUL(e, SIN(a.im)) / d);
}

static inline T power_T(T a, T b)
{
  const T l = log_T(a);
  const REAL size = abs_T(a);
  if ((b.re == 0 && b.im == 0) || (a.re == 1 && a.im == 0)) return complex_T(N(1), N(0));
  if (a.re == INFINITY && a.im == 0 && b.re > 0 && b.im == 0) return complex_T((REAL)INFINITY, N(0));
  const REAL g = b.im == 0 && size < INFINITY ? POW(size, b.re) : EXP(MUL(b.re, l.re) - MUL(b.im, l.im));
  const REAL q = MUL(b.re, l.im) + keep_zero_T(b.im, l.re);
  if (g == 0) return complex_T(N(0), N(0));
  return complex_T(MUL(g, COS(q)), keep_zero_T(SIN(q), g));
}

static inline T rsqrt_T(T a)
{
  const REAL x = FABS(a.re), y = FABS(a.im), m = x != x || x > y ? x : y;
  if (x == INFINITY || y == INFINITY) return complex_T(N(0), -COPYSIGN(N(0), a.im));
  if (m == 0) return complex_T((REAL)INFINITY, (REAL)NAN);
  const REAL u = x / m, v = y / m, h = HYPOT(u, v), r = SQRT(MUL(N(0.5), (u + h))), k = SQRT(m);
  const REAL size = MUL(k, h), w = r / size, o = v / (MUL(N(2), (MUL(r, size))));
  return a.re < 0 ? complex_T(o, -COPYSIGN(w, a.im)) : complex_T(w, -COPYSIGN(o, a.im));
}

static inline T sign_T(T a)
{
  const REAL x = FABS(a.re), y = FABS(a.im), m = x != x || x > y ? x : y;
  if (m == 0) return a;
  const REAL u = a.re / m, v = a.im / m, h = m == INFINITY ? N(1) : HYPOT(u, v);
  return complex_T(u / h, v / h);
}

static inline T sine_T(T a)
{
  return complex_T(keep_zero_T(SIN(a.re), COSH(a.im)), MUL(COS(a.re), SINH(a.im)));
}

static inline T sinh_T(T a)
{
  return complex_T(MUL(SINH(a.re), COS(a.im)), keep_zero_T(SIN(a.im), COSH(a.re)));
}

static inline T sqrt_T(T a)
{
  const REAL x = FABS(a.re), y = FABS(a.im), m = x != x || x > y ? x : y;
  if (y == INFINITY) return complex_T(y, a.im);
  if (x == INFINITY) {
    const REAL small = y == y ? 0 : y;
    return a.re > 0 ? complex_T(x, COPYSIGN(small, a.im)) : complex_T(small, COPYSIGN(x, a.im));
  }
  if (m == 0) return complex_T(N(0), a.im);
  const REAL u = x / m, v = y / m, h = HYPOT(u, v), r = SQRT(MUL(N(0.5), (u + h))), k = SQRT(m);
  const REAL w = MUL(k, r), o = y / (MUL(N(2), w));
  return a.re < 0 ? complex_T(o, COPYSIGN(w, a.im)) : complex_T(w, COPYSIGN(o, a.im));
}

static inline T tan_T(T a)
{
  const T r = tanh_T(complex_T(a.im, a.re));
  return complex_T(r.im, r.re);
}

static inline T tanh_T(T a)
{
  const REAL x = FABS(a.re), s = SIN(a.im), c = COS(a.im);
  if (x > N(20)) { /* the real part is 1 to the last bit */
    const REAL e = EXP(-x), im = MUL(N(4), (MUL((MUL(s, e)), (MUL(c, e)))));
    return complex_T(x == INFINITY || s == s ? COPYSIGN(N(1), a.re) : s,
                     a.im == 0 || (x == INFINITY && !(FABS(a.im) < INFINITY)) ? COPYSIGN(N(0), a.im) : im);
  }
  const REAL sh = SINH(a.re), d = MUL(sh, sh) + MUL(c, c);
  return complex_T(MUL(sh, COSH(a.re)) / d, a.im == 0 ? a.im : MUL(s, c) / d);
}
