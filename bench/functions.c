/* Measure the generated vector functions: their errors, compared with functions of double and long double, and their
 * times next to SLEEF and glibc's libmvec. functions.py compiles this file.
 *
 *   functions errors NAME FIRST STEP   the maximum error in ulp. A function of one float is measured on every STEP-th
 *                                      float from bit pattern FIRST on. A function of double, or of two floats, is
 *                                      measured on the same number of random samples, but at most 2^26.
 *   functions time NAME                ns per element: the minimum over many calls on the same 4096 elements
 *
 * A line of the output is `NAME FIGURE ..`; "wrong" means a NaN, an infinity or a sign of zero that C does not allow.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "functions_atan2_f32.h"
#include "functions_cbrt_f32.h"
#include "functions_cos_f32.h"
#include "functions_erf_f32.h"
#include "functions_erf_f64.h"
#include "functions_exp_f32.h"
#include "functions_exp_f64.h"
#include "functions_expm1_f32.h"
#include "functions_log1p_f32.h"
#include "functions_log_f32.h"
#include "functions_log_f64.h"
#include "functions_logistic_f32.h"
#include "functions_pow_f32.h"
#include "functions_rsqrt_f32.h"
#include "functions_rsqrt_f64.h"
#include "functions_sin_f32.h"
#include "functions_tan_f32.h"
#include "functions_tanh_f32.h"
#include "functions_tanh_f64.h"
#ifdef SETT_OTHERS
#include <immintrin.h>
#include <sleef.h>
#endif

enum { COUNT = 4096, DRAWN = 1 << 26 };

typedef int kernel(const void *const *params, void *const *results, void *scratch);
typedef long double wide;

static double logistic(double x) { return 1 / (1 + exp(-x)); }
static double rsqrt(double x) { return 1 / sqrt(x); }
static wide rsqrtl(wide x) { return 1 / sqrtl(x); }

struct function {
  const char *name;
  kernel *run;
  double (*one)(double x);          /* for functions of one float: the exact function in double */
  wide (*more)(wide x);             /* the exact function, for functions of one double */
  wide (*two)(wide x, wide y);      /* the exact function, for functions of two floats */
  double low, high;                 /* the range of arguments for timing */
};

/* functions of float with the range of their arguments for timing; a second argument is in [0, 4] */
#define FLOATS(F) F(exp, -20, 20) F(expm1, -5, 5) F(log, 0, 100) F(log1p, -0.9, 100) F(tanh, -5, 5) F(erf, -4, 4) F(sin, -30, 30) F(cos, -30, 30) \
  F(tan, -30, 30) F(cbrt, -100, 100)
#define OWN_FLOATS(F) F(logistic, -20, 20) F(rsqrt, 0, 100)
#define PAIRS(F) F(pow, 0, 10) F(atan2, -10, 10)
#define DOUBLES(F) F(exp, -20, 20) F(log, 0, 100) F(tanh, -5, 5) F(erf, -6, 6)
#define OWN_DOUBLES(F) F(rsqrt, 0, 100)

/* Kernels are weak symbols, which may be missing: functions.py links only those that its command line names. */
#define PRAGMA(words) _Pragma(#words)
#define WEAK_FLOAT(F, low, high) PRAGMA(weak functions_##F##_f32_c_run)
#define WEAK_DOUBLE(F, low, high) PRAGMA(weak functions_##F##_f64_c_run)
FLOATS(WEAK_FLOAT) OWN_FLOATS(WEAK_FLOAT) PAIRS(WEAK_FLOAT) DOUBLES(WEAK_DOUBLE) OWN_DOUBLES(WEAK_DOUBLE)

static const struct function functions[] = {
#define ONE(F, low, high) {#F "_f32", functions_##F##_f32_c_run, F, 0, 0, low, high},
#define MORE(F, low, high) {#F "_f64", functions_##F##_f64_c_run, 0, F##l, 0, low, high},
#define TWO(F, low, high) {#F "_f32", functions_##F##_f32_c_run, 0, 0, F##l, low, high},
  FLOATS(ONE) OWN_FLOATS(ONE) PAIRS(TWO) DOUBLES(MORE) OWN_DOUBLES(MORE) {0, 0, 0, 0, 0, 0, 0}};

static uint64_t state = 88172645463325252u;

static uint64_t drawn(void)
{
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return state * 2685821657736338717u;
}

static float float_of(uint32_t bits)
{
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static double double_of(uint64_t bits)
{
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* Return the error of `got`, in ulps at the exact value. The type has `digits` significant bits, and exponents from
 * `least` to `most`. Infinity means a wrong result. */
static double error_of(wide got, wide exact, int digits, int least, int most)
{
  if (exact != exact || got != got) return exact != exact && got != got ? 0 : INFINITY;
  if (fabsl(exact) >= ldexpl(2 - ldexpl(1, -digits), most)) return got == copysignl(INFINITY, exact) ? 0 : INFINITY;
  if (isinf(got) || (exact == 0 && (got != 0 || !signbit(got) != !signbit(exact)))) return INFINITY;
  if (exact == 0) return 0;
  int exponent = ilogbl(exact);
  return (double)(fabsl(got - exact) / ldexpl(1, (exponent < least ? least : exponent) - digits + 1));
}

/* Return the error of a float in ulps. The exact value is a double. */
static double error_of_float(float got, double exact)
{
  if (exact != exact || got != got) return exact != exact && got != got ? 0 : INFINITY;
  if (fabs(exact) >= 0x1.ffffffp127) return got == copysign(INFINITY, exact) ? 0 : INFINITY;
  if (isinf(got) || (exact == 0 && (got != 0 || !signbit(got) != !signbit(exact)))) return INFINITY;
  uint64_t bits;
  memcpy(&bits, &exact, sizeof bits);
  int64_t exponent = (int64_t)(bits >> 52 & 2047);
  exponent = exponent < 1023 - 126 ? 1023 - 126 : exponent;
  return fabs(got - exact) * double_of((uint64_t)(2046 - exponent + 23) << 52);
}

static const float corners[] = {0.0f, 1.0f, 2.0f, 3.0f, 0.5f, 1.5f, 0x1p-149f, 0x1p-126f, 0x1p-127f, 0x1.fffffep127f, 0x1p23f, 0x1.fffffep23f, 0x1p24f, 0x1p25f,
                                0x1.fffffep-1f, 0x1.000002p+0f, 127.0f, 128.0f, 149.0f, 150.0f, 151.0f, 0x1p-64f, 0x1p64f, INFINITY, NAN};
enum { CORNERS = 2 * sizeof corners / sizeof *corners };

static float corner(size_t i)
{
  return i < CORNERS / 2 ? corners[i] : -corners[i - CORNERS / 2];
}

/* Draw a pair of floats. Both are special values from a list, or have random bits, or are moderate numbers with a
 * moderate result. */
static void pair(uint64_t number, float *x, float *y)
{
  if (number < CORNERS * CORNERS) {
    *x = corner(number / CORNERS), *y = corner(number % CORNERS);
    return;
  }
  uint64_t bits = drawn();
  *x = float_of((uint32_t)bits), *y = float_of((uint32_t)(bits >> 32));
  *x = *x != *x ? NAN : *x, *y = *y != *y ? NAN : *y;     /* a signalling NaN becomes quiet */
  if (number % 4 == 0) return;
  if (number % 4 == 1) *y = corner(bits % CORNERS);
  if (number % 4 == 2) *x = corner(bits % CORNERS);
  if (number % 4 == 3) {
    *x = fabsf(float_of((uint32_t)(bits & 0x8fffffffu) + 0x38000000u));       /* 2^-15 to 2^17 */
    *y = (float)((double)(int32_t)(bits >> 32) * 0x1p-31 * 160 / (fabs(log2(*x)) + 0x1p-20));
  }
}

static void errors(const struct function *f, uint64_t first, uint64_t step)
{
  static _Alignas(64) float x[COUNT], y[COUNT], r[COUNT];
  static _Alignas(64) double xd[COUNT], rd[COUNT];
  const void *params[] = {f->more ? (void *)xd : (void *)x, y};
  void *results[] = {f->more ? (void *)rd : (void *)r};
  const uint64_t all = (((uint64_t)1 << 32) - first + step - 1) / step, samples = f->one || all < DRAWN ? all : DRAWN;
  double worst = -1, at = 0, with = 0;
  for (uint64_t done = 0; done < samples; done += COUNT) {
    for (uint64_t i = 0; i < COUNT; ++i) {
      const uint64_t number = done + i, bits = first + (number < samples ? number : samples - 1) * step;
      if (f->two) pair(number, &x[i], &y[i]);
      else if (f->one) x[i] = float_of((uint32_t)bits);
      else if (number < CORNERS) xd[i] = corner(number);
      else if (number % 16 == 1) xd[i] = 1600 * ((double)(drawn() >> 11) * 0x1p-53 - 0.5);
      else if (number % 2) xd[i] = f->low + (f->high - f->low) * (double)(drawn() >> 11) * 0x1p-53;
      else xd[i] = double_of(number % 8 ? (drawn() & 0x801fffffffffffffu) + ((drawn() & 0x7f) + 1023 - 100) * 0x10000000000000u : drawn());
    }
    f->run(params, results, 0);
    for (int i = 0; i < COUNT; ++i) {
      const double off = f->one ? error_of_float(r[i], f->one(x[i])) : f->two ? error_of(r[i], f->two(x[i], y[i]), 24, -126, 127)
        : error_of(rd[i], f->more(xd[i]), 53, -1022, 1023);
      if (off > worst) worst = off, at = f->more ? xd[i] : x[i], with = f->two ? y[i] : 0;
    }
  }
  printf(isinf(worst) ? "%s wrong" : "%s %.3f", f->name, worst);
  printf(f->two ? " at %a %a\n" : " at %a\n", at, with);
}

static double now(void)
{
  struct timespec t;
  timespec_get(&t, TIME_UTC);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#define TIMED(name, statement) do { \
    double best = 1e9; \
    for (int round = 0; round < 60; ++round) { \
      const double start = now(); \
      for (int again = 0; again < 20; ++again) { statement; __asm__ volatile("" ::: "memory"); } \
      const double taken = (now() - start) / 20 / COUNT * 1e9; \
      best = taken < best ? taken : best; \
    } \
    printf(" " name " %.2f", best); \
  } while (0)

#ifdef SETT_OTHERS
#define MVEC(F, low, high) __m512 _ZGVeN16v_##F##f(__m512);
#define MVEC2(F, low, high) __m512 _ZGVeN16vv_##F##f(__m512, __m512);
#define MVEC64(F, low, high) __m512d _ZGVeN8v_##F(__m512d);
FLOATS(MVEC) PAIRS(MVEC2) DOUBLES(MVEC64)
#endif

/* Compute the function by libm, and by SLEEF (1.0 ulp) and libmvec (4 ulp) if they are installed. */
static void others(const char *name, const float *x, const float *y, float *r, const double *xd, double *rd)
{
#define LIBM(F, low, high) if (!strcmp(name, #F "_f32")) TIMED("libm", for (int i = 0; i < COUNT; ++i) r[i] = F##f(x[i]));
#define LIBM2(F, low, high) if (!strcmp(name, #F "_f32")) TIMED("libm", for (int i = 0; i < COUNT; ++i) r[i] = F##f(x[i], y[i]));
#define LIBM64(F, low, high) if (!strcmp(name, #F "_f64")) TIMED("libm", for (int i = 0; i < COUNT; ++i) rd[i] = F(xd[i]));
  FLOATS(LIBM) PAIRS(LIBM2) DOUBLES(LIBM64)
#ifdef SETT_OTHERS
#define EACH(lanes, statement) for (int i = 0; i < COUNT; i += lanes) statement
#define IN(x) (*(const __m512 *)(x + i))
#define OUT(r) (*(__m512 *)(r + i))
#define OTHER(F, low, high) if (!strcmp(name, #F "_f32")) { \
    TIMED("SLEEF", EACH(16, OUT(r) = Sleef_##F##f16_u10avx512f(IN(x)))); TIMED("libmvec", EACH(16, OUT(r) = _ZGVeN16v_##F##f(IN(x)))); }
#define OTHER2(F, low, high) if (!strcmp(name, #F "_f32")) { \
    TIMED("SLEEF", EACH(16, OUT(r) = Sleef_##F##f16_u10avx512f(IN(x), IN(y)))); TIMED("libmvec", EACH(16, OUT(r) = _ZGVeN16vv_##F##f(IN(x), IN(y)))); }
#define OTHER64(F, low, high) if (!strcmp(name, #F "_f64")) { \
    TIMED("SLEEF", EACH(8, *(__m512d *)(rd + i) = Sleef_##F##d8_u10avx512f(*(const __m512d *)(xd + i)))); \
    TIMED("libmvec", EACH(8, *(__m512d *)(rd + i) = _ZGVeN8v_##F(*(const __m512d *)(xd + i)))); }
  FLOATS(OTHER) PAIRS(OTHER2) DOUBLES(OTHER64)
#endif
  (void)name, (void)x, (void)y, (void)r, (void)xd, (void)rd;
}

static void times(const struct function *f)
{
  static _Alignas(64) float x[COUNT], y[COUNT], r[COUNT];
  static _Alignas(64) double xd[COUNT], rd[COUNT];
  const void *params[] = {f->more ? (void *)xd : (void *)x, y};
  void *results[] = {f->more ? (void *)rd : (void *)r};
  for (int i = 0; i < COUNT; ++i) {
    xd[i] = f->low + (f->high - f->low) * (double)(drawn() >> 11) * 0x1p-53;
    x[i] = (float)xd[i], y[i] = (float)((double)(drawn() >> 11) * 0x1p-53 * 4);
  }
  printf("%s", f->name);
  TIMED("sett", f->run(params, results, 0));
  others(f->name, x, y, r, xd, rd);
  printf("\n");
}

int main(int count, char **words)
{
  for (const struct function *f = functions; count > 2 && f->name; ++f)
    if (!strcmp(f->name, words[2])) {
      if (!strcmp(words[1], "time")) times(f);
      else errors(f, strtoull(words[3], 0, 0), strtoull(words[4], 0, 0));
      return 0;
    }
  return fprintf(stderr, "functions errors|time NAME [FIRST STEP]\n"), 2;
}
