/* Functions of floats on vectors: one text for GNU C and OpenCL, without fallbacks for compilers and without tables.

   A piece is what stands between two blank lines; gen/emit/functions.py takes those that a kernel needs. `floats` and `doubles` are vectors as wide
   as the machine's, `ints` and `longs` integers as wide as their lanes; vectors.c (GNU C) and vectors.cl (OpenCL) beside this file say what they
   are. mad(a, b, c) is a b + c, rounded once or twice: each function keeps its bound both ways, as products that must be exact are. A comparison
   gives a mask. NaNs go through: no comparison with one holds.

   Coefficients are minimax, rounded one after another to floats with the rest fitted again; each says what it comes near, on which interval, and
   the largest relative error. bench/README.md has the largest error of each function over all floats. */

/* one step of Horner's rule */
static inline floats horner_floats(floats p, floats x, float c)
{
  return mad_floats(p, x, splat_floats(c));
}

static inline floats abs_floats(floats x)
{
  return as_floats(as_uints(x) & 0x7fffffffu);
}

/* |x| with the sign of y; x >= 0 */
static inline floats signed_floats(floats x, floats y)
{
  return as_floats(as_uints(x) | (as_uints(y) & 0x80000000u));
}

/* 2^n, n in [-126, 127] */
static inline floats power_of_two_floats(ints n)
{
  return as_floats(as_uints(n + 127) << 23);
}

/* x - n ln 2 for the nearest whole n; |x| < 2^8 */
static inline floats modulo_ln2_floats(floats x, ints *n)
{
  const floats t = horner_floats(x, splat_floats(1.44269504f), 0x1.8p23f), whole = t - 0x1.8p23f;
  *n = as_ints(as_uints(t) - 0x4b400000u);
  return mad_floats(whole, splat_floats(-1.42860677e-6f), mad_floats(whole, splat_floats(-0x1.62e4p-1f), x));
}

/* e^r, r in [-ln 2 / 2, ln 2 / 2]: 2^-27.8 */
static inline floats exp_near_floats(floats r)
{
  floats p = horner_floats(splat_floats(0x1.6fec5ep-10f), r, 0x1.1257cap-7f);
  p = horner_floats(p, r, 0x1.5553p-5f);
  p = horner_floats(p, r, 0x1.555466p-3f);
  p = horner_floats(p, r, 0.5f);
  p = horner_floats(p, r, 1.0f);
  return horner_floats(p, r, 1.0f);
}

/* e^x, x in [-87, 88] */
static inline floats exp_bounded_floats(floats x)
{
  ints n;
  const floats r = modulo_ln2_floats(x, &n);
  return exp_near_floats(r) * power_of_two_floats(n);
}

/* e^x: what is subnormal is rounded by the last product, as is what is infinite */
static inline floats exp_floats(floats x)
{
  ints n, half;
  x = choose_floats(x > 89.0f, splat_floats(89.0f), choose_floats(x < -104.0f, splat_floats(-104.0f), x));
  const floats r = modulo_ln2_floats(x, &n);
  half = n >> 1;
  return exp_near_floats(r) * power_of_two_floats(half) * power_of_two_floats(n - half);
}

/* e^x - 1 as 2 (2^(n-1) (e^r - 1) + (2^(n-1) - 1/2)); e^r - 1 near 0: 2^-29.3 */
static inline floats expm1_floats(floats x)
{
  ints n;
  const floats y = choose_floats(x > 89.0f, splat_floats(89.0f), choose_floats(x < -20.0f, splat_floats(-20.0f), x));
  const floats r = modulo_ln2_floats(y, &n), scale = power_of_two_floats(n - 1);
  floats p = horner_floats(splat_floats(0x1.986d28p-13f), r, 0x1.6d4046p-10f);
  p = horner_floats(p, r, 0x1.1115ecp-7f);
  p = horner_floats(p, r, 0x1.5554eap-5f);
  p = horner_floats(p, r, 0x1.555554p-3f);
  p = horner_floats(p, r, 0.5f);
  p = mad_floats(p * r, r, r);
  return choose_floats(abs_floats(x) < 0x1p-25f, x, mad_floats(scale, p, scale - 0.5f) * 2.0f);
}

/* log(1 + f) + n ln 2, 1 + f in [sqrt(1/2), sqrt(2)]: 2^-27.2 */
static inline floats log_near_floats(floats f, floats n)
{
  const floats s = f * f;
  floats p = horner_floats(splat_floats(-0x1.393db2p-4f), f, 0x1.057a9cp-3f);
  p = horner_floats(p, f, -0x1.0d7ea8p-3f);
  p = horner_floats(p, f, 0x1.22d592p-3f);
  p = horner_floats(p, f, -0x1.54721cp-3f);
  p = horner_floats(p, f, 0x1.99a036p-3f);
  p = horner_floats(p, f, -0x1.000228p-2f);
  p = horner_floats(p, f, 0x1.555554p-2f);
  p = mad_floats(n, splat_floats(1.42860677e-6f), s * f * p);
  return mad_floats(n, splat_floats(0x1.62e4p-1f), mad_floats(s, splat_floats(-0.5f), p) + f);
}

/* r for 0 < x < infinity, else what a logarithm is there; `pole` is where it is -infinity */
static inline floats log_limits_floats(floats x, float pole, floats r)
{
  r = choose_floats(x < INFINITY, r, x);
  return choose_floats(x > pole, r, choose_floats(x == pole, splat_floats(-INFINITY), splat_floats(NAN)));
}

static inline floats log_floats(floats x)
{
  const ints subnormal = x < 0x1p-126f;
  const uints u = as_uints(choose_floats(subnormal, x * 0x1p23f, x));
  const ints n = as_ints(u - 0x3f3504f3u) >> 23;
  const floats f = as_floats(u - (as_uints(n) << 23)) - 1.0f;
  return log_limits_floats(x, 0.0f, log_near_floats(f, convert_floats(n - (subnormal & 23))));
}

/* log(1 + x): n is 1 + x's, and f = x 2^-n + (2^-n - 1) has but one error */
static inline floats log1p_floats(floats x)
{
  const uints power = (as_uints(1.0f + x) - 0x3f3504f3u) & 0xff800000u;
  const floats scale = as_floats(0x40800000u - power) * 0.25f, f = as_floats(as_uints(x) - power) + (scale - 1.0f);
  const floats r = log_near_floats(f, convert_floats(as_ints(power) >> 23));
  return choose_floats(abs_floats(x) < 0x1p-25f, x, log_limits_floats(x, -1.0f, r));
}

/* 1 / (1 + e^-x) by e^-|x|, which does not overflow */
static inline floats logistic_floats(floats x)
{
  const floats e = exp_floats(-abs_floats(x));
  return choose_floats(x < 0.0f, e, splat_floats(1.0f)) / (1.0f + e);
}

/* below 0.625 x + x^3 p(x^2): 2^-27.7; else 1 - 2 / (e^2x + 1) */
static inline floats tanh_floats(floats x)
{
  const floats a = abs_floats(x), s = x * x;
  floats p = horner_floats(splat_floats(-0x1.750dap-8f), s, 0x1.51f8dep-6f);
  p = horner_floats(p, s, -0x1.b835a4p-5f);
  p = horner_floats(p, s, 0x1.1106f6p-3f);
  p = horner_floats(p, s, -0x1.555532p-2f);
  const floats small = mad_floats(s * p, a, a), e = exp_bounded_floats(choose_floats(a > 10.0f, splat_floats(20.0f), a + a));
  return signed_floats(choose_floats(a > 0.625f, 1.0f - 2.0f / (1.0f + e), small), x);
}

/* below 1 x + x p(x^2): 2^-29.4; else 1 - e^-q(x), where q is near -log(erfc x) below 3.93: 2^-29.8 of erf */
static inline floats erf_floats(floats x)
{
  const floats a = abs_floats(x), s = x * x, b = choose_floats(a > 3.93f, splat_floats(3.93f), a);
  floats p = horner_floats(splat_floats(0x1.4771ecp-14f), s, -0x1.a3515cp-11f);
  p = horner_floats(p, s, 0x1.53f224p-8f);
  p = horner_floats(p, s, -0x1.b7f71ap-6f);
  p = horner_floats(p, s, 0x1.ce2ce6p-4f);
  p = horner_floats(p, s, -0x1.81273ep-2f);
  p = horner_floats(p, s, 0x1.06eba8p-3f);
  floats q = horner_floats(splat_floats(-0x1.86dd06p-13f), b, 0x1.825ac6p-9f);
  q = horner_floats(q, b, -0x1.65cb5ep-6f);
  q = horner_floats(q, b, 0x1.a65334p-4f);
  q = horner_floats(q, b, 0x1.46baeep-1f);
  q = horner_floats(q, b, 0x1.2088eap+0f);
  q = horner_floats(q, b, 0x1.661fd6p-12f);
  return signed_floats(choose_floats(a < 1.0f, mad_floats(p, a, a), 1.0f - exp_bounded_floats(-q)), x);
}
