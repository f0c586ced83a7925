/* Float functions on vectors, as one text for GNU C and OpenCL. No function reads a table from memory; with AVX-512,
   some have tables in registers.

   A piece is the text between two blank lines. gen/emit/functions.py takes the pieces that a kernel uses. `floats` and
   `doubles` are vectors of the machine's width, and `ints` and `longs` are vectors of integers of the same width.
   vectors.c (GNU C) and vectors.cl (OpenCL) define them. A comparison of vectors returns a mask. A vector may be
   combined with a scalar only if the scalar is a positive constant that its type represents exactly; for the x87, gcc
   rejects other scalars. mad(a, b, c) is a b + c, rounded once or twice; the error bound of each function holds for
   both. A NaN operand gives a NaN, because no comparison with a NaN is true.

   Polynomials are minimax approximations. Float coefficients were rounded one after another; after each rounding, the
   remaining coefficients were fitted again. The comments give the error of each polynomial relative to the function
   that it approximates. bench/README.md has the maximum error of each function. */

/* one step of Horner's rule */
static inline floats horner_floats(floats p, floats x, float c) { return mad_floats(p, x, splat_floats(c)); }

/* a NaN whose lower 16 bits are zero, as gen/emit/values.py requires; the NAN of a language may have other bits */
static inline floats nan_floats(void) { return as_floats(as_uints(splat_floats(0.0f)) | 0x7fc00000u); }

static inline floats at_most_floats(floats x, float most) { return less_floats(splat_floats(most), x); }

static inline floats at_least_floats(floats x, float least) { return more_floats(splat_floats(least), x); }

/* x clamped to [-most, most]; for a NaN, a number in this interval */
static inline floats within_floats(floats x, float most) {
#if AVX512 && defined(__AVX512DQ__)
  return nearer_floats(x, splat_floats(most));
#else
  return more_floats(less_floats(x, splat_floats(most)), splat_floats(-most));
#endif
}

static inline floats abs_floats(floats x) { return as_floats(as_uints(x) & 0x7fffffffu); }

/* |x| with the sign of y; x must not be negative */
static inline floats signed_floats(floats x, floats y) { return as_floats(as_uints(x) | (as_uints(y) & 0x80000000u)); }

/* the nearest integer, ties to even; every float of at least 2^23 is an integer */
static inline floats rint_floats(floats x) {
#if ROUNDS
  return nearest_floats(x);
#else
  const floats a = abs_floats(x), sum = a + 0x1p23f;
  return choose_floats(a < 0x1p23f, signed_floats(sum - 0x1p23f, x), x);
#endif
}

/* the nearest integer, ties away from zero */
static inline floats round_floats(floats x) {
  const floats a = abs_floats(x), near = rint_floats(a);
  return signed_floats(choose_floats(a - near == 0.5f, near + 1.0f, near), x);
}

static inline floats floor_floats(floats x) {
  const floats near = rint_floats(x);
  return choose_floats(near > x, near - 1.0f, near);
}

static inline floats ceil_floats(floats x) {
  const floats near = rint_floats(x);
  return choose_floats(near < x, signed_floats(abs_floats(near + 1.0f), x), near);
}

/* Return 2^n for n in [-126, 127]. n may also be such a number plus a multiple of 2^22 (see modulo_ln2_floats). */
static inline floats power_of_two_floats(ints n) { return as_floats(as_uints(n + 127) << 23); }

/* Return x - n ln 2, where n is the integer nearest to x / ln 2; |x| < 2^8. *n is n plus a multiple of 2^22, which
   vanishes when n is shifted into the exponent. */
static inline floats modulo_ln2_floats(floats x, ints *n) {
  const floats t = horner_floats(x, splat_floats(1.44269504f), 0x1.8p23f), whole = t - 0x1.8p23f;
  *n = as_ints(t);
  return mad_floats(whole, splat_floats(-1.42860677e-6f), mad_floats(whole, splat_floats(-0x1.62e4p-1f), x));
}

/* Return e^r for r in [-ln 2 / 2, ln 2 / 2], by a polynomial. Its relative error is at most 2^-27.8. */
static inline floats exp_near_floats(floats r) {
  floats p = horner_floats(splat_floats(0x1.6fec5ep-10f), r, 0x1.1257cap-7f);
  p = horner_floats(p, r, 0x1.5553p-5f);
  p = horner_floats(p, r, 0x1.555466p-3f);
  p = horner_floats(p, r, 0.5f);
  p = horner_floats(p, r, 1.0f);
  return horner_floats(p, r, 1.0f);
}

/* e^x, x in [-87, 88] */
static inline floats exp_bounded_floats(floats x) {
  ints n;
  const floats r = modulo_ln2_floats(x, &n);
  return exp_near_floats(r) * power_of_two_floats(n);
}

/* 2^(n/16) for n in [0, 15]; only the last four bits of n are used */
#if AVX512
static inline floats root_floats(ints n) {
  const floats roots = {0x1p+0f, 0x1.0b5586p+0f, 0x1.172b84p+0f, 0x1.2387a6p+0f, 0x1.306fep+0f, 0x1.3dea64p+0f,
                        0x1.4bfdaep+0f, 0x1.5ab07ep+0f, 0x1.6a09e6p+0f, 0x1.7a1148p+0f, 0x1.8ace54p+0f, 0x1.9c4918p+0f,
                        0x1.ae89fap+0f, 0x1.c199bep+0f, 0x1.d5818ep+0f, 0x1.ea4afap+0f};
  return pick_floats(roots, n);
}
#endif

/* Return p and n with e^x = p 2^floor(n). *n is x / ln 2, rounded to a multiple of 1/16. p is 2^(n - floor(n)) e^r,
   where r = x - n ln 2. If |x| is above 2^17, r is arbitrary, and n decides the result. The relative error of the
   polynomial for e^r is at most 2^-29.2. */
#if AVX512
static inline floats exp_parts_floats(floats x, floats *n) {
  const floats t = horner_floats(x, splat_floats(1.44269504f), 0x1.8p19f), whole = t - 0x1.8p19f;
  const floats rest = mad_floats(whole, splat_floats(-0x1.62e43p-1f), x);
  const floats r = within_floats(mad_floats(whole, splat_floats(0x1.05c61p-29f), rest), 0.125f);
  const floats root = root_floats(as_ints(t));
  floats p = horner_floats(splat_floats(0x1.5556d4p-3f), r, 0x1.000222p-1f);
  p = horner_floats(p, r, 1.0f);
  *n = whole;
  return mad_floats(root * r, p, root);
}
#endif

/* e^x. No instruction has a subnormal operand or result, because processors need 100 times as long for subnormals. If
   the result is subnormal, 2^149 times the result is computed, and 2^23 is added to round it. The low bits of the sum
   are then the result's bits. With AVX-512, branches skip these steps unless some x above -512 has a subnormal result.
   (For x below -512, the processor computes the result 0 without delay.) Without AVX-512, n is added to the exponent
   of e^r. */
static inline floats exp_floats(floats x) {
#if AVX512
  floats n;
  const floats p = exp_parts_floats(x, &n);
  if (any_below_floats(x, splat_floats(-0x1.5d589ep+6f))) {
    const ints subnormal = (x < splat_floats(-0x1.5d589ep+6f)) & (x > splat_floats(-512.0f));
    if (any_ints(subnormal)) {
      const floats y = scale_floats(p, choose_floats(subnormal, at_least_floats(n + 149.0f, -100.0f), n));
      return choose_floats(subnormal, as_floats(as_uints(y + 0x1p23f) - 0x4b000000u), y);
    }
  }
  return scale_floats(p, n);
#else
  ints n;
  const floats r = modulo_ln2_floats(at_least_floats(x, -104.0f), &n);
  const ints subnormal = x < splat_floats(-0x1.5d589ep+6f);
  const floats y = as_floats(as_uints(exp_near_floats(r)) + (as_uints(n + (subnormal & 149)) << 23));
  return choose_floats(x <= 0x1.62e42ep+6f,
                       choose_floats(subnormal, as_floats(as_uints(y + 0x1p23f) - 0x4b000000u), y), x + INFINITY);
#endif
}

/* x / y, for a y by which many x are divided. With AVX-512, the quotients are computed in double if an x or a
   quotient is a subnormal float, because processors need 10 times as long for subnormals. The test for subnormals is
   skipped if no x is below 2^-64. The results are those of a division of floats: doubles have more than twice the
   digits, so that the second rounding does not change a quotient. */
static inline floats quotient_floats(floats x, floats y) {
#if AVX512
  if (any_below_floats(x, splat_floats(0x1p-64f))) {
    const floats least = at_least_floats(abs_floats(y), 1.0f) * 0x1.000002p-126f;
    if (any_ints(as_uints(abs_floats(x)) - 1u < as_uints(least) - 1u))
      return join_floats(low_doubles(x) / low_doubles(y), high_doubles(x) / high_doubles(y));
  }
#endif
  return x / y;
}

/* Return e^x - 1. With x = r + n ln 2, it is computed as 2 (2^(n-1) (e^r - 1) + (2^(n-1) - 1/2)). The relative error of
   the polynomial for e^r - 1 is at most 2^-29.3. */
static inline floats expm1_floats(floats x) {
  ints n;
  const floats y = at_most_floats(at_least_floats(x, -20.0f), 89.0f);
  const floats r = modulo_ln2_floats(y, &n), scale = power_of_two_floats(n - 1);
  floats p = horner_floats(splat_floats(0x1.986d28p-13f), r, 0x1.6d4046p-10f);
  p = horner_floats(p, r, 0x1.1115ecp-7f);
  p = horner_floats(p, r, 0x1.5554eap-5f);
  p = horner_floats(p, r, 0x1.555554p-3f);
  p = horner_floats(p, r, 0.5f);
  p = mad_floats(p * r, r, r);
  return choose_floats(abs_floats(x) < 0x1p-25f, x, mad_floats(scale, p, scale - 0.5f) * 2.0f);
}

/* Return log(1 + f) + n ln 2 for 1 + f in [sqrt(1/2), sqrt(2)]. The relative error of the polynomial for log(1 + f) is
   at most 2^-27.2. */
static inline floats log_near_floats(floats f, floats n) {
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

/* the logarithm for all x: r if pole < x < infinity, x if x is infinity, -infinity if x equals `pole`, NaN otherwise */
static inline floats log_limits_floats(floats x, float pole, floats r) {
  r = choose_floats(x < INFINITY, r, x);
  return choose_floats(x > splat_floats(pole), r,
                       choose_floats(x == splat_floats(pole), splat_floats(-INFINITY), nan_floats()));
}

/* log x. With AVX-512, x = m 2^n and m c = 1 + r, where c is a table's value near 1/m (1 if m is near 1). The result is
   log(1 + r) + log(1/c) + n ln 2. r is in [-1/32, 1/16]; the relative error of the polynomial for log(1 + r) is at most
   2^-28. */
static inline floats log_floats(floats x) {
#if AVX512
  const floats c = {0x1p+0f, 0x1.d41d3ep-1f, 0x1.bacf8cp-1f, 0x1.a41a42p-1f, 0x1.8f9c16p-1f, 0x1.7d03b4p-1f,
                    0x1.6c148p-1f, 0x1.5c987ap-1f, 0x1.4e5f7ep+0f, 0x1.414398p+0f, 0x1.352426p+0f, 0x1.29e368p+0f,
                    0x1.1f72ap+0f, 0x1.15b43ep+0f, 0x1.0c9956p+0f, 0x1p+0f};
  const floats logs = {0.0f, 0x1.6f0d4ap-4f, 0x1.295548p-3f, 0x1.9525a8p-3f, 0x1.fb9196p-3f, 0x1.2e9438p-2f,
                       0x1.5d2234p-2f, 0x1.89a352p-2f, -0x1.117d5ap-2f, -0x1.d11268p-3f, -0x1.824b92p-3f,
                       -0x1.365b36p-3f, -0x1.da93dep-4f, -0x1.4d53a8p-4f, -0x1.898f6p-5f, 0.0f};
  const floats m = mantissa_floats(x), n = exponent_floats(x) - exponent_floats(m);
  const ints i = as_ints(as_uints(m) >> 19);
  const floats r = mad_floats(m, pick_floats(c, i), splat_floats(-1.0f));
  floats p = horner_floats(splat_floats(0x1.81f40ap-3f), r, -0x1.000fecp-2f);
  p = horner_floats(p, r, 0x1.555846p-2f);
  p = horner_floats(p, r, -0.5f);
  return mad_floats(n, splat_floats(0.693147182f), pick_floats(logs, i)) + mad_floats(r * r, p, r);
#else
  const ints subnormal = x < 0x1p-126f;
  const uints u = as_uints(choose_floats(subnormal, x * 0x1p23f, x));
  const ints n = as_ints(u - 0x3f3504f3u) >> 23;
  const floats f = as_floats(u - (as_uints(n) << 23)) - 1.0f;
  return log_limits_floats(x, 0.0f, log_near_floats(f, convert_floats(n - (subnormal & 23))));
#endif
}

/* log(1 + x) = log(1 + f) + n ln 2. n is the exponent of 1 + x, and 1 + f = (1 + x) 2^-n. f is computed as
   x 2^-n + (2^-n - 1), with only one rounding error. */
static inline floats log1p_floats(floats x) {
  const uints power = (as_uints(1.0f + x) - 0x3f3504f3u) & 0xff800000u;
  const floats scale = as_floats(0x40800000u - power) * 0.25f, f = as_floats(as_uints(x) - power) + (scale - 1.0f);
  const floats r = log_near_floats(f, convert_floats(as_ints(power) >> 23));
  return choose_floats(abs_floats(x) < 0x1p-25f, x, log_limits_floats(x, -1.0f, r));
}

/* 1 / (1 + e^-x). It is computed from e^-|x|, which does not overflow. With AVX-512, it is computed as 2^n (p / (1 + p
   2^n)), where e^x = p 2^n. */
static inline floats logistic_floats(floats x) {
#if AVX512
  floats n;
  const floats p = exp_parts_floats(at_most_floats(x, 32.0f), &n);
  return scale_floats(p / (1.0f + scale_floats(p, n)), n);
#else
  const floats e = exp_floats(-abs_floats(x));
  return choose_floats(x < 0.0f, e, splat_floats(1.0f)) / (1.0f + e);
#endif
}

/* Return tanh x. If |x| is below 0.625, it is x + x^3 p(x^2), where p is a polynomial; the relative error of this is at
   most 2^-27.7. Otherwise, it is 1 - 2 / (e^2x + 1). With AVX-512, the exponent and the first two mantissa bits of
   1 + 1.6 |x| select one of 16 polynomials. Their relative error is at most 2^-24.3. */
static inline floats tanh_floats(floats x) {
#if AVX512
  const floats middle = {0x1.9p-1f, 0x1.18p+0f, 0x1.68p+0f, 0x1.b8p+0f, 0x1.18p+1f, 0x1.68p+1f, 0x1.b8p+1f, 0x1.04p+2f,
                         0x1.4p+2f, 0x1.9p+2f, 0x1.ep+2f, 0x1.18p+3f, 0.0f, 0x1.ep-3f, 0x1.9p-2f, 0x1.18p-1f};
  const floats c5 = {-0x1.01c1f4p-4f, -0x1.244f62p-5f, -0x1.f74e22p-8f, 0x1.a010a4p-9f, 0x1.145c6cp-8f, 0x1.c4f0e8p-10f,
                     0x1.1c23d4p-11f, 0x1.4dedfep-13f, 0x1.b472acp-16f, 0x1.1f13dap-19f, 0x1.791644p-23f,
                     0x1.ef41a4p-27f, 0x1.066d5ap-3f, 0x1.453336p-4f, 0x1.a5c28cp-7f, -0x1.4366eep-5f};
  const floats c4 = {0x1.70183ep-4f, 0x1.2e71ecp-7f, -0x1.6d577ep-6f, -0x1.88d2b6p-6f, -0x1.c11fcap-7f, -0x1.2e169p-8f,
                     -0x1.69dbf4p-10f, -0x1.a3ef6p-12f, -0x1.122294p-14f, -0x1.6856e4p-18f, -0x1.d949b2p-22f,
                     -0x1.36cce8p-25f, 0x1.e024dp-11f, 0x1.10b4dp-3f, 0x1.597e04p-3f, 0x1.403e4ep-3f};
  const floats c3 = {0x1.b76e28p-5f, 0x1.c391fep-4f, 0x1.8c9366p-4f, 0x1.0deafep-4f, 0x1.f0eacap-6f, 0x1.321fccp-7f,
                     0x1.661ee4p-9f, 0x1.9cd5dep-11f, 0x1.f9cfe4p-14f, 0x1.4c42dap-17f, 0x1.b463c6p-21f,
                     0x1.1e91aap-24f, -0x1.55637ap-2f, -0x1.0fe088p-2f, -0x1.582d62p-3f, -0x1.063ebp-4f};
  const floats c2 = {-0x1.7f6c7cp-2f, -0x1.2890fep-2f, -0x1.8434b8p-3f, -0x1.cf945p-4f, -0x1.8843fcp-5f, -0x1.d1ddfp-7f,
                     -0x1.0db1e6p-8f, -0x1.35fc14p-10f, -0x1.7b42fp-13f, -0x1.f22f26p-17f, -0x1.4726dap-20f,
                     -0x1.adab22p-24f, 0x1.fad3d8p-21f, -0x1.be6bfcp-3f, -0x1.4826d2p-2f, -0x1.7f86d4p-2f};
  const floats c1 = {0x1.25653p-1f, 0x1.738412p-2f, 0x1.b5cdfp-3f, 0x1.ee5e78p-4f, 0x1.924bc2p-5f, 0x1.d5542p-7f,
                     0x1.0e507cp-8f, 0x1.363e0ap-10f, 0x1.7cdce2p-13f, 0x1.f44088p-17f, 0x1.4882p-20f, 0x1.af7302p-24f,
                     0x1p+0f, 0x1.e4dfb2p-1f, 0x1.b92f98p-1f, 0x1.80eed8p-1f};
  const floats c0 = {0x1.4e8d8ap-1f, 0x1.98b346p-1f, 0x1.c5fce8p-1f, 0x1.e01bd4p-1f, 0x1.f3451ep-1f, 0x1.fc51f4p-1f,
                     0x1.fef168p-1f, 0x1.ffb26ap-1f, 0x1.fff418p-1f, 0x1.ffff06p-1f, 0x1.ffffecp-1f, 0x1.fffffep-1f,
                     0.0f, 0x1.d7665cp-3f, 0x1.7cd312p-2f, 0x1.fe217p-2f};
  const floats b = at_most_floats(abs_floats(x), 9.3f);
  const ints i = as_ints(as_uints(horner_floats(b, splat_floats(1.6f), 1.0f)) >> 21);
  const floats t = b - pick_floats(middle, i);
  floats p = mad_floats(pick_floats(c5, i), t, pick_floats(c4, i));
  p = mad_floats(p, t, pick_floats(c3, i));
  p = mad_floats(p, t, pick_floats(c2, i));
  p = mad_floats(p, t, pick_floats(c1, i));
  p = mad_floats(p, t, pick_floats(c0, i));
  return signed_floats(p, x);
#else
  const floats a = abs_floats(x), s = x * x;
  floats p = horner_floats(splat_floats(-0x1.750dap-8f), s, 0x1.51f8dep-6f);
  p = horner_floats(p, s, -0x1.b835a4p-5f);
  p = horner_floats(p, s, 0x1.1106f6p-3f);
  p = horner_floats(p, s, -0x1.555532p-2f);
  const floats small = mad_floats(s * p, a, a), e = exp_bounded_floats(at_most_floats(a + a, 20.0f));
  return signed_floats(choose_floats(a > 0.625f, 1.0f - 2.0f / (1.0f + e), small), x);
#endif
}

/* Return erf x. If |x| is below 1, it is x + x p(x^2), where p is a polynomial; the relative error of this is at most
   2^-29.4. Otherwise, it is 1 - e^-q(x), where the polynomial q approximates -log(erfc x) for x up to 3.93; the
   relative error of erf is at most 2^-29.8. With AVX-512, the multiple of 1/3.9375 nearest to |x| selects one of 16
   polynomials. Their relative error is at most 2^-23.6. */
static inline floats erf_floats(floats x) {
#if AVX512
  const floats middle = {0.0f, 0x1.04p-2f, 0x1.04p-1f, 0x1.86p-1f, 0x1.04p+0f, 0x1.46p+0f, 0x1.86p+0f, 0x1.c8p+0f,
                         0x1.04p+1f, 0x1.24p+1f, 0x1.46p+1f, 0x1.66p+1f, 0x1.86p+1f, 0x1.a6p+1f, 0x1.c8p+1f,
                         0x1.e8p+1f};
  const floats c5 = {0x1.c6cc3cp-4f, 0x1.473be2p-4f, 0x1.7cdcp-8f, -0x1.bd1378p-5f, -0x1.17743ap-4f, -0x1.6d2218p-5f,
                     -0x1.94856ap-7f, 0x1.0093f4p-7f, 0x1.aa8784p-7f, 0x1.47e772p-7f, 0x1.67bf28p-8f, 0x1.363526p-9f,
                     0x1.b577e8p-11f, 0x1.018508p-12f, 0x1.004658p-14f, 0x1.b2b1f4p-17f};
  const floats c4 = {0x1.1ac632p-12f, 0x1.053bf6p-3f, 0x1.74fccp-3f, 0x1.2cda7p-3f, 0x1.05ed08p-4f, -0x1.682992p-7f,
                     -0x1.76ad9p-5f, -0x1.7f0a68p-5f, -0x1.096e82p-5f, -0x1.1f437cp-6f, -0x1.e10548p-8f,
                     -0x1.61d3e8p-9f, -0x1.ba8de4p-11f, -0x1.da6a76p-13f, -0x1.8e34e8p-15f, -0x1.3c3ae4p-17f};
  const floats c3 = {-0x1.812aeep-2f, -0x1.3a9198p-2f, -0x1.204344p-3f, 0x1.14a39ap-5f, 0x1.23e1d8p-3f, 0x1.556d38p-3f,
                     0x1.13724ep-3f, 0x1.58f5eep-4f, 0x1.68d37cp-5f, 0x1.3e8d2ap-6f, 0x1.c19638p-8f, 0x1.21286p-9f,
                     0x1.41f6aep-11f, 0x1.377358p-13f, 0x1.d8a408p-16f, 0x1.587feap-18f};
  const floats c2 = {0x1.018566p-22f, -0x1.130e44p-2f, -0x1.c5603p-2f, -0x1.ecad38p-2f, -0x1.a25404p-2f,
                     -0x1.22b6eep-2f, -0x1.59af12p-3f, -0x1.58d22cp-4f, -0x1.2f316cp-5f, -0x1.cf6552p-7f,
                     -0x1.1ef63ep-8f, -0x1.4b609cp-10f, -0x1.4efe52p-12f, -0x1.28d5e8p-14f, -0x1.9ed5dp-17f,
                     -0x1.18e306p-19f};
  const floats c1 = {0x1.20dd76p+0f, 0x1.0ed47cp+0f, 0x1.be6874p-1f, 0x1.436686p-1f, 0x1.9be438p-2f, 0x1.c893cap-3f,
                     0x1.c5d048p-4f, 0x1.832986p-5f, 0x1.2a875ap-6f, 0x1.9646e2p-8f, 0x1.c2ba34p-10f, 0x1.da018ep-12f,
                     0x1.b7e96ap-14f, 0x1.684b5ap-16f, 0x1.d218bep-19f, 0x1.26fccp-21f};
  const floats c0 = {0.0f, 0x1.1f31b2p-2f, 0x1.0dff4ep-1f, 0x1.6fef76p-1f, 0x1.b2bb68p-1f, 0x1.db47f4p-1f,
                     0x1.f00614p-1f, 0x1.f9f9bap-1f, 0x1.fdea6ep-1f, 0x1.ff5b9p-1f, 0x1.ffd696p-1f, 0x1.fff5fcp-1f,
                     0x1.fffddap-1f, 0x1.ffff98p-1f, 0x1.fffffp-1f, 0x1.fffffep-1f};
  const floats b = at_most_floats(abs_floats(x), 3.925f);
  const ints i = as_ints(horner_floats(b, splat_floats(3.9375f), 0x1p23f));
  const floats t = b - pick_floats(middle, i);
  floats p = mad_floats(pick_floats(c5, i), t, pick_floats(c4, i));
  p = mad_floats(p, t, pick_floats(c3, i));
  p = mad_floats(p, t, pick_floats(c2, i));
  p = mad_floats(p, t, pick_floats(c1, i));
  p = mad_floats(p, t, pick_floats(c0, i));
  return signed_floats(p, x);
#else
  const floats a = abs_floats(x), s = x * x, b = at_most_floats(a, 3.93f);
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
#endif
}

static inline doubles horner_doubles(doubles p, doubles x, double c) { return mad_doubles(p, x, splat_doubles(c)); }

/* x - n pi/2, where n pi/2 has an absolute error of 2^-86 n */
static inline doubles minus_turns_doubles(doubles x, doubles n) {
  return mad_doubles(n, splat_doubles(-0x1.0b4611a626331p-34), mad_doubles(n, splat_doubles(-0x1.921fb544p+0), x));
}

/* Return a - n pi/2, where n is the integer nearest to a 2/pi, for a float a in [1, infinity). a is multiplied by
   those 96 bits of 2/pi that influence the bits near the binary point of the product. `words` contains 2/pi times 2^30;
   the binary point follows words[1]. */
static inline float modulo_turn_exactly(float a, unsigned *n) {
  const unsigned words[] = {0,           0x28be60dbu, 0x9391054au, 0x7f09d5f4u,
                            0x7d4d3770u, 0x36d8a566u, 0x4f10e410u, 0x7f9458eau};
  union {
    float real;
    unsigned bits;
  } u = {a};
  const unsigned shift = (u.bits >> 23) - 126u, mantissa = ((u.bits & 0x7fffffu) | 0x800000u) << 8,
                 *word = words + (shift >> 5), left = shift & 31u;
  const unsigned high = word[0] << left | (word[1] >> 1) >> (31u - left),
                 middle = word[1] << left | (word[2] >> 1) >> (31u - left);
  const unsigned low = word[2] << left | (word[3] >> 1) >> (31u - left);
  const u64 product = ((u64)(mantissa * high) << 32) + (u64)mantissa * middle + ((u64)mantissa * low >> 32),
            nearest = product + ((u64)1 << 61);
  *n = (unsigned)(nearest >> 62);
  return (float)((double)(s64)(product - (nearest >> 62 << 62)) * 0x1.921fb54442d18p-62);
}

/* Return |x| - n pi/2, where n is the integer nearest to |x| 2/pi or, if |x| is above 2^16, possibly one of its
   neighbours. */
static inline floats modulo_turn_floats(floats x, uints *n) {
  const floats a = abs_floats(x), t = horner_floats(a, splat_floats(0.636619772f), 0x1.8p23f), whole = t - 0x1.8p23f;
  const floats r = join_floats(minus_turns_doubles(low_doubles(a), low_doubles(whole)),
                               minus_turns_doubles(high_doubles(a), high_doubles(whole)));
  union {
    floats all;
    float lane[sizeof(floats) / sizeof(float)];
  } from = {a}, to = {r};
  union {
    uints all;
    unsigned lane[sizeof(floats) / sizeof(float)];
  } turns = {as_uints(t)};
  if (any_ints(a > 0x1p18f))
    for (int i = 0; i < (int)(sizeof(floats) / sizeof(float)); ++i)
      if (from.lane[i] > 0x1p18f && from.lane[i] < INFINITY)
        to.lane[i] = modulo_turn_exactly(from.lane[i], &turns.lane[i]);
  *n = turns.all;
  return to.all;
}

/* Return sin r for |r| <= 0.815, by a polynomial. Its relative error is at most 2^-27.5. */
static inline floats sin_near_floats(floats r) {
  const floats s = r * r;
  const floats p = horner_floats(horner_floats(splat_floats(-0x1.98cc52p-13f), s, 0x1.1105e4p-7f), s, -0x1.555542p-3f);
  return mad_floats(s * p, r, r);
}

/* Return cos r for |r| <= 0.815, by a polynomial. Its relative error is at most 2^-32.3. */
static inline floats cos_near_floats(floats r) {
  const floats s = r * r;
  const floats p = horner_floats(horner_floats(splat_floats(0x1.99861ep-16f), s, -0x1.6c0adcp-10f), s, 0x1.555548p-5f);
  return mad_floats(s * s, p, horner_floats(s, splat_floats(-0.5f), 1.0f));
}

/* sin(|x| + turns pi/2) */
static inline floats sin_turned_floats(floats x, unsigned turns) {
  uints n;
  const floats r = modulo_turn_floats(x, &n);
  n = n + turns;
  const floats y = choose_floats((as_ints(n) & 1) == 1, cos_near_floats(r), sin_near_floats(r));
  return as_floats(as_uints(y) ^ (n & 2u) << 30);
}

static inline floats sin_floats(floats x) {
  return as_floats(as_uints(sin_turned_floats(x, 0u)) ^ (as_uints(x) & 0x80000000u));
}

static inline floats cos_floats(floats x) { return sin_turned_floats(x, 1u); }

/* return sin x, and store cos x in *y */
static inline floats sincos_floats(floats x, floats *y) {
  uints n;
  const floats r = modulo_turn_floats(x, &n), s = sin_near_floats(r), c = cos_near_floats(r);
  const ints odd = (as_ints(n) & 1) == 1;
  *y = as_floats(as_uints(choose_floats(odd, s, c)) ^ ((n + 1u) & 2u) << 30);
  return as_floats(as_uints(choose_floats(odd, c, s)) ^ (n & 2u) << 30 ^ (as_uints(x) & 0x80000000u));
}

/* tan x. With x = r + n pi/2, it is tan r if n is even, and -1 / tan r if n is odd. */
static inline floats tan_floats(floats x) {
  uints n;
  const floats r = modulo_turn_floats(x, &n), s = sin_near_floats(r), c = cos_near_floats(r);
  const ints odd = (as_ints(n) & 1) == 1;
  return as_floats(as_uints(choose_floats(odd, -c, s) / choose_floats(odd, s, c)) ^ (as_uints(x) & 0x80000000u));
}

/* x^(-1/2), by steps that triple the number of correct bits: one step with AVX-512, otherwise two. Without AVX-512,
   subnormal x are first scaled to normal numbers. */
static inline floats rsqrt_floats(floats x) {
#if AVX512
  const floats y = near_rsqrt_floats(x), h = mad_floats(-(x * y), y, splat_floats(1.0f));
  const floats near = mad_floats(y * h, horner_floats(h, splat_floats(0.375f), 0.5f), y);
  return choose_floats(h == h, near, y);
#else
  const ints subnormal = x < 0x1p-126f;
  const floats a = choose_floats(subnormal, x * 0x1p24f, x);
  floats y = as_floats(0x5f375a86u - (as_uints(a) >> 1)), h = 1.0f - a * y * y;
  y = mad_floats(y * h, horner_floats(h, splat_floats(0.375f), 0.5f), y);
  h = 1.0f - a * y * y;
  y = mad_floats(y * h, horner_floats(h, splat_floats(0.375f), 0.5f), y);
  y = choose_floats(subnormal, y * 0x1p12f, y);
  return choose_floats(x > 0.0f, choose_floats(x < INFINITY, y, splat_floats(0.0f)),
                       choose_floats(x == 0.0f, signed_floats(splat_floats(INFINITY), x), nan_floats()));
#endif
}

/* The cube root of x. Two steps compute y = |x|^(-1/3); each step triples the number of correct bits. The root is
   |x| y^2, improved by one Newton step. Subnormal x are first scaled to normal numbers. */
static inline floats cbrt_floats(floats x) {
  const ints subnormal = abs_floats(x) < 0x1p-126f;
  const floats a = choose_floats(subnormal, abs_floats(x) * 0x1p24f, abs_floats(x));
  const ints third = convert_ints(convert_floats(as_ints(a)) * splat_floats(1.0f / 3.0f));
  floats y = as_floats(0x54a2fa8cu - as_uints(third)), h = 1.0f - a * y * y * y;
  y = mad_floats(y * h, horner_floats(h, splat_floats(2.0f / 9.0f), 1.0f / 3.0f), y);
  h = 1.0f - a * y * y * y;
  y = mad_floats(y * h, horner_floats(h, splat_floats(2.0f / 9.0f), 1.0f / 3.0f), y);
  floats root = a * y * y;
  root = mad_floats(a - root * root * root, y * y * splat_floats(1.0f / 3.0f), root);
  root = choose_floats(subnormal, root * 0x1p-8f, root);
  return choose_floats((abs_floats(x) > 0.0f) & (abs_floats(x) < INFINITY), signed_floats(root, x), x);
}

/* Return the angle of the point (x, y). It follows from atan q, where q is the smaller coordinate divided by the
   larger. The relative error of the polynomial for atan q is at most 2^-28.5. */
static inline floats atan2_floats(floats y, floats x) {
  const floats a = abs_floats(x), b = abs_floats(y);
  const ints steep = b > a;
  const floats less = choose_floats(steep, a, b), more = choose_floats(steep, b, a);
  const floats q = choose_floats(more == 0.0f, more, choose_floats(less == INFINITY, splat_floats(1.0f), less / more)),
               s = q * q;
  floats p = horner_floats(splat_floats(-0x1.d4eddap-10f), s, 0x1.64ea3p-7f);
  p = horner_floats(p, s, -0x1.fe19d8p-6f);
  p = horner_floats(p, s, 0x1.da6942p-5f);
  p = horner_floats(p, s, -0x1.5816eep-4f);
  p = horner_floats(p, s, 0x1.c08f5ep-4f);
  p = horner_floats(p, s, -0x1.2420a8p-3f);
  p = horner_floats(p, s, 0x1.9991e4p-3f);
  p = horner_floats(p, s, -0x1.55553ep-2f);
  floats angle = mad_floats(s * p, q, q);
  angle = choose_floats(steep, 0x1.921fb6p+0f - (angle + 0x1.777a5cp-25f), angle);
  angle = choose_floats(as_ints(x) < 0, 0x1.921fb6p+1f - (angle + 0x1.777a5cp-24f), angle);
  return choose_floats((x == x) & (y == y), signed_floats(angle, y), x + y);
}

/* Return log2 a + n for a in [sqrt(1/2), sqrt(2)]. The relative error of the approximation of log2 a is at most
   2^-35.8. */
static inline doubles log2_near_doubles(doubles a, doubles n) {
  const doubles f = a - 1.0;
  doubles p = horner_doubles(splat_doubles(0x1.3ce875cbb09d9p-4), f, -0x1.2488e679df555p-3);
  p = horner_doubles(p, f, 0x1.2871f0bafe31bp-3);
  p = horner_doubles(p, f, -0x1.252f3c9226a4cp-3);
  p = horner_doubles(p, f, 0x1.452916f60ae04p-3);
  p = horner_doubles(p, f, -0x1.71417019cb771p-3);
  p = horner_doubles(p, f, 0x1.a63f44918d579p-3);
  p = horner_doubles(p, f, -0x1.ec72b5a5069b7p-3);
  p = horner_doubles(p, f, 0x1.277651fb5ec52p-2);
  p = horner_doubles(p, f, -0x1.715470976cc64p-2);
  p = horner_doubles(p, f, 0x1.ec709ebb97356p-2);
  p = horner_doubles(p, f, -0x1.715476565d543p-1);
  p = horner_doubles(p, f, 0x1.71547652a1e8fp+0);
  return mad_doubles(p, f, n);
}

/* Return 2^x; the relative error of the polynomial is at most 2^-29. If the result is out of the range of float, it
   becomes 0 or infinity in the conversion to float. */
static inline doubles exp2_double_doubles(doubles x) {
  x = at_most_doubles(at_least_doubles(x, -200.0), 200.0);
  const doubles t = x + 0x1.8p52, f = x - (t - 0x1.8p52);
  doubles p = horner_doubles(splat_doubles(0x1.41d31300f5f19p-13), f, 0x1.5f456c0ec936fp-10);
  p = horner_doubles(p, f, 0x1.3b2dbbfe3ff74p-7);
  p = horner_doubles(p, f, 0x1.c6aed4b4ed644p-5);
  p = horner_doubles(p, f, 0x1.ebfbdadc2771ep-3);
  p = horner_doubles(p, f, 0x1.62e430c7ef9cep-1);
  p = horner_doubles(p, f, 0x1.0000000262159p+0);
  return as_doubles(as_ulongs(p) + (as_ulongs(t) << 52));
}

/* x^y, given r = |x|^y. The function handles HLO's special cases: zeros, ones, infinities, and negative x. If y is an
   odd integer, the result has the sign of x. */
static inline floats pow_limits_floats(floats x, floats y, floats r) {
  const floats part = choose_floats(abs_floats(y) < 0x1p24f, y, splat_floats(0.0f)); /* above 2^24, y is even */
  const ints whole = convert_ints(part);
  const ints fraction = convert_floats(whole) != part;
  r = choose_floats((abs_floats(x) == 1.0f) & (y == y), splat_floats(1.0f), r);
  r = as_floats(as_uints(r) | (as_uints(x) & as_uints(whole & ~fraction) << 31));
  r = choose_floats((x < 0.0f) & (x > -INFINITY) & fraction, nan_floats(), r);
  return choose_floats((y == 0.0f) | (x == 1.0f), splat_floats(1.0f), r);
}

/* x^y as 2^(y log2 |x|), computed in double. With AVX-512, it is computed in pairs of floats: |x| = m 2^n, and m c = 1
   + r for a multiple c of 1/64 near 1/m, so that r is exact and at most 1/32. log2 |x| is high + low, and the result is
   2^whole 2^f with f at most 1/32. The relative error of the polynomial for log2(1 + r) is at most 2^-31.5. The
   relative error of the polynomial for 2^f is at most 2^-29.2. A vector is corrected afterwards only if it has a zero,
   an infinity, a NaN, an overflow or a negative x. */
static inline floats pow_floats(floats x, floats y) {
#if AVX512
  const floats near = {0x1p+0f, 0x1.e8p-1f, 0x1.d8p-1f, 0x1.dp-1f, 0x1.cp-1f, 0x1.b8p-1f, 0x1.a8p-1f, 0x1.ap-1f,
                       0x1.98p-1f, 0x1.88p-1f, 0x1.8p-1f, 0x1.78p-1f, 0x1.7p-1f, 0x1.68p-1f, 0x1.6p-1f, 0x1.58p-1f};
  const floats far = {0x1.5p-1f, 0x1.48p-1f, 0x1.48p-1f, 0x1.4p-1f, 0x1.38p-1f, 0x1.3p-1f, 0x1.3p-1f, 0x1.28p-1f,
                      0x1.2p-1f, 0x1.2p-1f, 0x1.18p-1f, 0x1.1p-1f, 0x1.1p-1f, 0x1.08p-1f, 0x1.08p-1f, 0x1p-1f};
  const floats logs_near = {0.0f, 0x1.1bcp-4f, 0x1.e0cp-4f, 0x1.22ep-3f, 0x1.8a8p-3f, 0x1.bfcp-3f, 0x1.16ap-2f,
                            0x1.32cp-2f, 0x1.4f7p-2f, 0x1.8a9p-2f, 0x1.a9p-2f, 0x1.c82p-2f, 0x1.e7ep-2f, 0x1.0428p-1f,
                            0x1.14c8p-1f, 0x1.25cp-1f};
  const floats logs_far = {0x1.372p-1f, 0x1.48fp-1f, 0x1.48fp-1f, 0x1.5b3p-1f, 0x1.6dep-1f, 0x1.811p-1f, 0x1.811p-1f,
                           0x1.94cp-1f, 0x1.a9p-1f, 0x1.a9p-1f, 0x1.bddp-1f, 0x1.d338p-1f, 0x1.d338p-1f, 0x1.e948p-1f,
                           0x1.e948p-1f, 0x1p+0f};
  const floats rest_near = {0.0f, -0x1.9ab4p-17f, -0x1.ca2e1ap-17f, -0x1.48f554p-17f, 0x1.30158p-16f, 0x1.9eap-17f,
                            -0x1.fd64ep-17f, -0x1.1c8f12p-22f, -0x1.134c4ep-20f, -0x1.9fd502p-16f, -0x1.a39fbep-20f,
                            -0x1.88f4aep-16f, -0x1.40358ep-19f, 0x1.ea5cd4p-16f, -0x1.4f80ccp-16f, 0x1.408c78p-18f};
  const floats rest_far = {0x1.15db84p-16f, -0x1.0e6ce8p-17f, -0x1.0e6ce8p-17f, -0x1.e12f34p-16f, -0x1.eac382p-20f,
                           -0x1.6b9026p-19f, -0x1.6b9026p-19f, 0x1.43a496p-16f, -0x1.a39fbep-19f, -0x1.a39fbep-19f,
                           -0x1.62336ap-17f, 0x1.20a6dep-21f, 0x1.20a6dep-21f, -0x1.69bac8p-16f, -0x1.69bac8p-16f,
                           0.0f};
  const floats m = significand_floats(x);
  const ints i = as_ints(as_uints(m) >> 18);
  const floats r = mad_floats(m, pick_of_two_floats(near, far, i), splat_floats(-1.0f));
  floats p = horner_floats(splat_floats(0x1.27ca9cp-2f), r, -0x1.71a0a8p-2f);
  p = horner_floats(p, r, 0x1.ec7096p-2f);
  p = horner_floats(p, r, -0x1.715474p-1f);
  p = horner_floats(p, r, 0x1.4ae0cp-26f);
  const floats n = exponent_floats(x) + pick_of_two_floats(logs_near, logs_far, i);
  const floats ratio = splat_floats(0x1.715476p+0f), high = mad_floats(r, ratio, n);
  const floats rest = mad_floats(r, ratio, n - high) + pick_of_two_floats(rest_near, rest_far, i);
  const floats low = mad_floats(p, r, rest);
  const floats product = y * high, less = mad_floats(y, low, mad_floats(y, high, -product)), sum = product + less;
  const floats t = sum + 0x1.8p19f, whole = t - 0x1.8p19f, f = (product - whole) + less;
  const floats root = root_floats(as_ints(t));
  floats q = horner_floats(splat_floats(0x1.c6af3cp-5f), f, 0x1.ebfff8p-3f);
  q = horner_floats(q, f, 0x1.62e43p-1f);
  const floats power = scale_floats(mad_floats(root * f, q, root), whole);
  if (any_above_uints(as_uints(signed_floats(abs_floats(sum), x)), 0x43800000u))
    return pow_limits_floats(
        x, y, choose_floats(abs_floats(sum) <= 256.0f, power, scale_floats(splat_floats(1.0f), product)));
  return power;
#else
  const floats a = abs_floats(x);
  const ints subnormal = a < 0x1p-126f;
  const uints u = as_uints(choose_floats(subnormal, a * 0x1p23f, a));
  const ints n = as_ints(u - 0x3f3504f3u) >> 23;
  const floats m = as_floats(u - (as_uints(n) << 23)), power = convert_floats(n - (subnormal & 23));
  /* log2 of 0 is -infinity, and log2 of infinity is infinity */
  const floats limit = choose_floats(a == 0.0f, splat_floats(-INFINITY), a),
               finite = choose_floats((a > 0.0f) & (a < INFINITY), power, limit);
  const doubles low = exp2_double_doubles(low_doubles(y) * log2_near_doubles(low_doubles(m), low_doubles(finite)));
  const doubles high = exp2_double_doubles(high_doubles(y) * log2_near_doubles(high_doubles(m), high_doubles(finite)));
  return pow_limits_floats(x, y, join_floats(low, high));
#endif
}

static inline doubles at_most_doubles(doubles x, double most) {
  return choose_doubles(x > splat_doubles(most), splat_doubles(most), x);
}

static inline doubles at_least_doubles(doubles x, double least) {
  return choose_doubles(x < splat_doubles(least), splat_doubles(least), x);
}

static inline doubles abs_doubles(doubles x) { return as_doubles(as_ulongs(x) & 0x7fffffffffffffffu); }

static inline doubles signed_doubles(doubles x, doubles y) {
  return as_doubles(as_ulongs(x) | (as_ulongs(y) & 0x8000000000000000u));
}

/* 2^n for n in [-1022, 1023]; t is n + 1.5 2^52, whose low bits are those of n */
static inline doubles power_of_two_doubles(doubles t) { return as_doubles((as_ulongs(t) + 1023u) << 52); }

/* Return e^(x - n ln 2), where n is the integer nearest to x / ln 2, for |x| < 2^10. Set *n to n + 1.5 2^52. The
   relative error of the polynomial is at most 2^-55.2. */
static inline doubles exp_near_doubles(doubles x, doubles *n) {
  const doubles t = horner_doubles(x, splat_doubles(0x1.71547652b82fep+0), 0x1.8p52), whole = t - 0x1.8p52;
  const doubles r =
      mad_doubles(whole, splat_doubles(-0x1.a39ef35793c76p-33), mad_doubles(whole, splat_doubles(-0x1.62e42feep-1), x));
  doubles p = horner_doubles(splat_doubles(0x1.8abb3f50f9a4ap-26), r, 0x1.28976e1de1f1bp-22);
  p = horner_doubles(p, r, 0x1.71f4b29a2d4e3p-19);
  p = horner_doubles(p, r, 0x1.a019b394cf005p-16);
  p = horner_doubles(p, r, 0x1.a019f7c4e60b2p-13);
  p = horner_doubles(p, r, 0x1.6c16c17a0121bp-10);
  p = horner_doubles(p, r, 0x1.11111112d2f8ap-7);
  p = horner_doubles(p, r, 0x1.5555555553b07p-5);
  p = horner_doubles(p, r, 0x1.5555555554eb3p-3);
  p = horner_doubles(p, r, 0.5);
  p = horner_doubles(p, r, 1.0);
  *n = t;
  return horner_doubles(p, r, 1.0);
}

/* e^x, x in [-708, 709] */
static inline doubles exp_bounded_doubles(doubles x) {
  doubles n;
  const doubles y = exp_near_doubles(x, &n);
  return y * power_of_two_doubles(n);
}

/* e^x, computed as in exp_floats without AVX-512 */
static inline doubles exp_doubles(doubles x) {
  doubles n;
  const ulongs near = as_ulongs(exp_near_doubles(at_least_doubles(x, -746.0), &n));
  const longs subnormal = x < splat_doubles(-0x1.6232bdd7abcd2p+9);
  const doubles y = as_doubles(near + (as_ulongs(n) << 52) + (as_ulongs(subnormal & 1074) << 52));
  return choose_doubles(
      x <= 0x1.62e42fefa39efp+9,
      choose_doubles(subnormal, as_doubles(as_ulongs(y + 0x1p52) - 0x4330000000000000u), y), x + (double)INFINITY);
}

/* Return log x as log(1 + f) + n ln 2 with 1 + f in [sqrt(1/2), sqrt(2)]. The relative error of the polynomial for
   log(1 + f) is at most 2^-56.4. `e` is the integer n + 1023. With the exponent bits of 2^52, its bits are the double
   n + 1023 + 2^52. */
static inline doubles log_doubles(doubles x) {
  const longs subnormal = x < 0x1p-1022;
  const ulongs u = as_ulongs(choose_doubles(subnormal, x * 0x1p52, x)),
               e = (u - 0x3fe6a09e667f3bcdu + 0x3ff0000000000000u) >> 52;
  const doubles n = as_doubles(e | 0x4330000000000000u) -
                    choose_doubles(subnormal, splat_doubles(0x1p52 + 1023.0 + 52.0), splat_doubles(0x1p52 + 1023.0));
  const doubles f = as_doubles(u - (e << 52) + 0x3ff0000000000000u) - 1.0, s = f * f;
  doubles p = horner_doubles(splat_doubles(0x1.ac7511bd74adfp-6), f, -0x1.ea054f80e881ap-5);
  p = horner_doubles(p, f, 0x1.0a61f758006a4p-4);
  p = horner_doubles(p, f, -0x1.d11fc0900cf16p-5);
  p = horner_doubles(p, f, 0x1.d05a8e4abd8a7p-5);
  p = horner_doubles(p, f, -0x1.fba1c82989000p-5);
  p = horner_doubles(p, f, 0x1.11ccfe19f8063p-4);
  p = horner_doubles(p, f, -0x1.24d74e1cd5345p-4);
  p = horner_doubles(p, f, 0x1.3b0b893b2feeep-4);
  p = horner_doubles(p, f, -0x1.5550ee80e4fe4p-4);
  p = horner_doubles(p, f, 0x1.745d3f1ba05acp-4);
  p = horner_doubles(p, f, -0x1.9999c26ab6c93p-4);
  p = horner_doubles(p, f, 0x1.c71c71e01ab07p-4);
  p = horner_doubles(p, f, -0x1.ffffff2bf9c54p-4);
  p = horner_doubles(p, f, 0x1.24924922a3ddfp-3);
  p = horner_doubles(p, f, -0x1.555555566b32bp-3);
  p = horner_doubles(p, f, 0x1.999999999f756p-3);
  p = horner_doubles(p, f, -0x1.fffffffffef14p-3);
  p = horner_doubles(p, f, 0x1.5555555555533p-2);
  p = mad_doubles(n, splat_doubles(0x1.a39ef35793c76p-33), s * f * p);
  p = mad_doubles(n, splat_doubles(0x1.62e42feep-1), mad_doubles(s, splat_doubles(-0.5), p) + f);
  p = choose_doubles(x < (double)INFINITY, p, x);
  return choose_doubles(x > 0.0, p,
                        choose_doubles(x == 0.0, splat_doubles(-(double)INFINITY), splat_doubles((double)NAN)));
}

/* Return tanh x. If |x| is below 0.625, it is x + x^3 p(x^2), where p is a polynomial; the relative error of this is at
   most 2^-55.8. Otherwise, it is 1 - 2 / (e^2x + 1). */
static inline doubles tanh_doubles(doubles x) {
  const doubles a = abs_doubles(x), s = x * x;
  doubles p = horner_doubles(splat_doubles(-0x1.0da70acc4083fp-16), s, 0x1.4391119f8d757p-14);
  p = horner_doubles(p, s, -0x1.df55722fd3401p-13);
  p = horner_doubles(p, s, 0x1.336611dbff378p-11);
  p = horner_doubles(p, s, -0x1.7d68a301a1346p-10);
  p = horner_doubles(p, s, 0x1.d6cf2809826aap-9);
  p = horner_doubles(p, s, -0x1.226e162bc564ap-7);
  p = horner_doubles(p, s, 0x1.664f477ad875dp-6);
  p = horner_doubles(p, s, -0x1.ba1ba1b5063b7p-5);
  p = horner_doubles(p, s, 0x1.111111110acccp-3);
  p = horner_doubles(p, s, -0x1.55555555554ffp-2);
  const doubles small = mad_doubles(s * p, a, a), e = exp_bounded_doubles(at_most_doubles(a + a, 40.0));
  return signed_doubles(choose_doubles(a > 0.625, 1.0 - 2.0 / (1.0 + e), small), x);
}

/* Return erf x. If |x| is below 1, it is x + x p(x^2), where p is a polynomial; the relative error of this is at most
   2^-56.3. Otherwise, it is 1 - e^-q(x), where the polynomial q approximates -log(erfc x) for x up to 5.95; the
   relative error of erf is at most 2^-56.3. */
static inline doubles erf_doubles(doubles x) {
  const doubles a = abs_doubles(x), s = x * x, b = at_most_doubles(a, 5.95);
  doubles p = horner_doubles(splat_doubles(0x1.0579a69b359dbp-34), s, -0x1.386abe80ea587p-30);
  p = horner_doubles(p, s, 0x1.f7a4112d66977p-27);
  p = horner_doubles(p, s, -0x1.5f1d36a33bed0p-23);
  p = horner_doubles(p, s, 0x1.b9def1995b30ap-20);
  p = horner_doubles(p, s, -0x1.f4d1df38db368p-17);
  p = horner_doubles(p, s, 0x1.f9a321a116d21p-14);
  p = horner_doubles(p, s, -0x1.c02db3d8ecdbdp-11);
  p = horner_doubles(p, s, 0x1.565bcd0db02c7p-8);
  p = horner_doubles(p, s, -0x1.b82ce3128499cp-6);
  p = horner_doubles(p, s, 0x1.ce2f21a042b20p-4);
  p = horner_doubles(p, s, -0x1.812746b0379e6p-2);
  p = horner_doubles(p, s, 0x1.06eba8214db69p-3);
  doubles q = horner_doubles(splat_doubles(-0x1.2770a566cdcf2p-40), b, 0x1.a5dc3681d2e3bp-35);
  q = horner_doubles(q, b, -0x1.19f0881c26816p-30);
  q = horner_doubles(q, b, 0x1.d4345c7ba1c18p-27);
  q = horner_doubles(q, b, -0x1.0df22d4e767eap-23);
  q = horner_doubles(q, b, 0x1.c8a497c546b18p-21);
  q = horner_doubles(q, b, -0x1.226126d5f8974p-18);
  q = horner_doubles(q, b, 0x1.150e13985a3bdp-16);
  q = horner_doubles(q, b, -0x1.79cc0f5f806a3p-15);
  q = horner_doubles(q, b, 0x1.2722a2c10239ep-14);
  q = horner_doubles(q, b, 0x1.780292cb9bb07p-15);
  q = horner_doubles(q, b, -0x1.5028fcdb0f1d4p-11);
  q = horner_doubles(q, b, 0x1.cfbbbec3a1ed0p-10);
  q = horner_doubles(q, b, -0x1.261d6fd36b816p-12);
  q = horner_doubles(q, b, -0x1.3893950a726e9p-6);
  q = horner_doubles(q, b, 0x1.a4da4d83886c5p-4);
  q = horner_doubles(q, b, 0x1.45f42b569fb89p-1);
  q = horner_doubles(q, b, 0x1.20dd562ed08dep+0);
  q = horner_doubles(q, b, 0x1.81ba196677dafp-23);
  return signed_doubles(choose_doubles(a < 1.0, mad_doubles(p, a, a), 1.0 - exp_bounded_doubles(-q)), x);
}

static inline doubles rsqrt_doubles(doubles x) {
  const longs subnormal = x < 0x1p-1022;
  const doubles a = choose_doubles(subnormal, x * 0x1p54, x);
  doubles y = as_doubles(0x5fe6eb50c7b537a9u - (as_ulongs(a) >> 1)), h = 1.0 - a * y * y;
  y = mad_doubles(y * h, horner_doubles(h, splat_doubles(0.375), 0.5), y);
  h = 1.0 - a * y * y;
  y = mad_doubles(y * h, horner_doubles(h, splat_doubles(0.375), 0.5), y);
  h = 1.0 - a * y * y;
  y = mad_doubles(y * h, splat_doubles(0.5), y);
  y = choose_doubles(subnormal, y * 0x1p27, y);
  return choose_doubles(
      x > 0.0, choose_doubles(x < (double)INFINITY, y, splat_doubles(0.0)),
      choose_doubles(x == 0.0, signed_doubles(splat_doubles((double)INFINITY), x), splat_doubles((double)NAN)));
}
