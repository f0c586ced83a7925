/* The C functions that references call. A piece is the text between two blank lines: one function, with the comment
   right above it. A piece calls no other piece, so helper functions are in the piece of their caller.
   gen/reference/library.py prints the pieces that a reference uses, and a test compiles each piece alone.

   Integers of all widths are computed in 64 bits, signed (s64) or unsigned (u64). `width` is the number of bits of the
   HLO type. The caller truncates the result to this width. The bits of a float are the low bits of a uint64_t. */

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#ifdef __GNUC__ /* not every file uses all functions */
#pragma GCC diagnostic ignored "-Wunused-function"
#endif

/* ---- Floats of 16 bits and less ---- */

static inline float f16_to_float(uint16_t h) {
  const uint32_t sign = (uint32_t)(h & 0x8000u) << 16, exponent = (h >> 10) & 0x1fu, fraction = h & 0x3ffu;
  uint32_t bits;
  float value;
  if (exponent == 0) {
    value = (float)fraction * 0x1p-24f;
    return sign != 0 ? -value : value;
  }
  bits = sign | (exponent == 31 ? 0x7f800000u : (exponent + 112) << 23) | fraction << 13;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static inline uint16_t f16_from_double(double x) {
  const double a = fabs(x);
  uint64_t bits;
  uint32_t sign;
  memcpy(&bits, &x, sizeof bits);
  sign = (uint32_t)(bits >> 48) & 0x8000u;
  if (x != x) return (uint16_t)(sign | 0x7e00u | ((uint32_t)(bits >> 42) & 0x3ffu));
  if (a >= 65520.0) return (uint16_t)(sign | 0x7c00u);
  if (a < 0x1p-14) return (uint16_t)(sign | (uint32_t)rint(a * 0x1p24));
  bits &= 0x7fffffffffffffffu;
  bits += 0x1ffffffffffu + (bits >> 42 & 1u);
  return (uint16_t)(sign | ((uint32_t)(bits >> 42) - (1008u << 10)));
}

static inline float bf16_to_float(uint16_t h) {
  const uint32_t bits = (uint32_t)h << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* The double is first converted to a float whose last bit is set if the conversion is not exact. Rounding this float
   to bf16 gives the same result as rounding the double. */
static inline uint16_t bf16_from_double(double x) {
  float f = (float)x;
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  if (x != x) return (uint16_t)(bits >> 16 | 0x40u);
  if ((double)f != x) {
    if (fabs((double)f) > fabs(x)) bits -= 1;
    bits |= 1u;
  }
  return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

/* Round to the nearest bit pattern. `middles` contains the midpoints between the finite values up to pattern `top`.
   Values above `beyond` become `over`; if `top` is odd, `beyond` itself becomes `over`, too. */
static inline uint8_t small_from_double(double x, const double *middles, int top, double beyond, int sign_bit, int over, int nan,
                                 bool negative_zero) {
  const double a = fabs(x);
  const int sign = signbit(x) ? sign_bit : 0;
  int k = 0;
  if (x != x) return (uint8_t)(sign | nan);
  if (a > beyond || (a == beyond && top % 2 != 0)) return (uint8_t)(sign | over);
  while (k < top && (a > middles[k] || (a == middles[k] && k % 2 != 0))) ++k;
  return (uint8_t)(k == 0 && !negative_zero ? 0 : sign | k);
}

/* round to the nearest power of two; a midpoint is rounded up */
static inline uint8_t scale_from_double(double x, const double *middles, int top, double beyond, int nan) {
  int k = 0;
  if (!(x > 0.0) || x >= beyond) return (uint8_t)nan;
  while (k < top && x >= middles[k]) ++k;
  return (uint8_t)k;
}

/* ---- Bits of floats ---- */

static inline uint64_t f32_bits(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static inline uint64_t f64_bits(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static inline float f32_of_bits(uint64_t bits) {
  const uint32_t low = (uint32_t)bits;
  float x;
  memcpy(&x, &low, sizeof x);
  return x;
}

static inline double f64_of_bits(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* round to fewer mantissa bits, ties to even, and then to the range of fewer exponent bits */
static inline uint64_t reduced_precision(uint64_t x, int width, int mantissa, int exponent_bits, int mantissa_bits) {
  const uint64_t sign = x >> (width - 1) << (width - 1);
  const uint64_t largest_bias = ((uint64_t)1 << (width - 2 - mantissa)) - 1;
  const uint64_t infinity = (2 * largest_bias + 1) << mantissa;
  uint64_t a = x ^ sign;
  if (a > infinity) return x;
  if (mantissa_bits < mantissa) {
    const int dropped = mantissa - mantissa_bits;
    const uint64_t last = (uint64_t)1 << dropped;
    a += last / 2 - 1 + (a >> dropped & 1u);
    a &= ~(last - 1);
  }
  if (exponent_bits < width - 1 - mantissa && a != 0) {
    const uint64_t bias = ((uint64_t)1 << (exponent_bits - 1)) - 1;
    if (a >> mantissa > largest_bias + bias) a = infinity;
    else if (a >> mantissa <= largest_bias - bias) a = 0;
  }
  return sign | a;
}

/* an integer that compares like the float in the order TOTALORDER */
static inline int64_t total_order(uint64_t bits, int width) {
  const uint64_t sign = (uint64_t)1 << (width - 1);
  return (bits & sign) != 0 ? -1 - (int64_t)(bits & (sign - 1)) : (int64_t)bits;
}

/* the same for types of 8 bits whose NaN has the bits of -0: it is -NaN */
static inline int64_t total_order_fnuz(uint64_t bits) {
  return bits == 0x80 ? -129 : bits > 0x80 ? 0x80 - (int64_t)bits : (int64_t)bits;
}

/* ---- Functions of floats ---- */

static inline float f32_maximum(float a, float b) { return a != a ? a : b != b ? b : a >= b ? a : b; }

static inline double f64_maximum(double a, double b) { return a != a ? a : b != b ? b : a >= b ? a : b; }

static inline float f32_minimum(float a, float b) { return a != a ? a : b != b ? b : a <= b ? a : b; }

static inline double f64_minimum(double a, double b) { return a != a ? a : b != b ? b : a <= b ? a : b; }

static inline float f32_sign(float x) { return x > 0 ? 1.0f : x < 0 ? -1.0f : x; }

static inline double f64_sign(double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : x; }

static inline double logistic(double x) { return 1.0 / (1.0 + exp(-x)); }

static inline double inverse_sqrt(double x) { return 1.0 / sqrt(x); }

/* pow, corrected for implementations that return NaN for a signalling NaN where the result is 1 for every other
   value */
static inline double power(double x, double y) { return y == 0.0 || x == 1.0 ? 1.0 : pow(x, y); }

/* hypot, corrected so that it is infinite if a part is infinite, even if the other part is a signalling NaN */
static inline double magnitude(double x, double y) {
  return fabs(x) == INFINITY || fabs(y) == INFINITY ? INFINITY : hypot(x, y);
}

/* ---- Integers ---- */

static inline int64_t s64_maximum(int64_t a, int64_t b) { return a >= b ? a : b; }

static inline uint64_t u64_maximum(uint64_t a, uint64_t b) { return a >= b ? a : b; }

static inline int64_t s64_minimum(int64_t a, int64_t b) { return a <= b ? a : b; }

static inline uint64_t u64_minimum(uint64_t a, uint64_t b) { return a <= b ? a : b; }

static inline int64_t s64_divide(int64_t a, int64_t b) {
  if (b == 0) return -1;
  return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

static inline uint64_t u64_divide(uint64_t a, uint64_t b) { return b == 0 ? UINT64_MAX : a / b; }

static inline int64_t s64_remainder(int64_t a, int64_t b) { return b == 0 ? a : b == -1 ? 0 : a % b; }

static inline uint64_t u64_remainder(uint64_t a, uint64_t b) { return b == 0 ? a : a % b; }

/* Return the 128-bit product of `a` and `b`, shifted right by `bits` and truncated to 64 bits. The loop adds a shifted
   `a` for each bit of `b` that is 1. is_signed: true if `a` and `b` are signed. */
static inline uint64_t upper_product(uint64_t a, uint64_t b, int bits, int is_signed) {
  uint64_t high = 0, low = 0;
  for (int k = 0; k < 64; ++k)
    if ((b >> k & 1) != 0) {
      const uint64_t sum = low + (a << k);
      if (k > 0) high += a >> (64 - k);
      if (sum < low) ++high;
      low = sum;
    }
  if (is_signed && a >> 63 != 0) high -= b;
  if (is_signed && b >> 63 != 0) high -= a;
  return bits == 64 ? high : low >> bits;
}

static inline int64_t s64_power(int64_t x, int64_t n) {
  uint64_t base = (uint64_t)x, result = 1;
  if (n < 0) return x == 1 ? 1 : x == -1 ? (n % 2 == 0 ? 1 : -1) : 0;
  for (; n > 0; n /= 2) {
    if (n % 2 != 0) result *= base;
    base *= base;
  }
  return (int64_t)result;
}

static inline uint64_t u64_power(uint64_t x, uint64_t n) {
  uint64_t result = 1;
  for (; n > 0; n /= 2) {
    if (n % 2 != 0) result *= x;
    x *= x;
  }
  return result;
}

static inline uint64_t shift_left(uint64_t x, uint64_t n, uint64_t width) { return n >= width ? 0 : x << n; }

static inline uint64_t shift_right_logical(uint64_t x, uint64_t n, uint64_t width) {
  return n >= width ? 0 : (x << (64 - width) >> (64 - width)) >> n;
}

/* for negative x, ~(~x >> n), because C does not define >> of a negative number */
static inline uint64_t shift_right_arithmetic(uint64_t x, uint64_t n, uint64_t width) {
  const bool negative = (x >> (width - 1) & 1u) != 0;
  const uint64_t bits = (negative ? ~x : x) << (64 - width) >> (64 - width), shifted = n >= width ? 0 : bits >> n;
  return negative ? ~shifted : shifted;
}

static inline int count_ones(uint64_t x, int width) {
  int count = 0;
  for (x = x << (64 - width); x != 0; x <<= 1) count += (int)(x >> 63);
  return count;
}

static inline int count_leading_zeros(uint64_t x, int width) {
  int count = width;
  for (x = x << (64 - width) >> (64 - width); x != 0; x >>= 1) --count;
  return count;
}

/* the signed number whose bits are the low bits of x */
static inline int64_t s64_of_bits(uint64_t x, int width) {
  const uint64_t sign = (uint64_t)1 << (width - 1);
  return (int64_t)(((x & (2 * sign - 1)) ^ sign) - sign);
}

/* truncate, and saturate; NaN gives 0 */
static inline int64_t s64_from_double(double x, int width) {
  const double limit = ldexp(1.0, width - 1);
  const int64_t most = INT64_MAX >> (64 - width);
  if (x != x) return 0;
  return x >= limit ? most : x <= -limit ? -most - 1 : (int64_t)x;
}

static inline uint64_t u64_from_double(double x, int width) {
  if (!(x > 0.0)) return 0;
  return x >= ldexp(1.0, width) ? UINT64_MAX >> (64 - width) : (uint64_t)x;
}

/* an index, clamped to the interval from 0 to `last` */
static inline int64_t s64_index(int64_t x, int64_t last) { return x < 0 ? 0 : x > last ? last : x; }

static inline int64_t u64_index(uint64_t x, int64_t last) { return x > (uint64_t)last ? last : (int64_t)x; }

/* ---- Elements of less than a byte: the bits of element i ---- */

static inline uint8_t unpack(const uint8_t *from, int64_t i, int width) {
  return (uint8_t)(from[i * width / 8] >> i * width % 8 & ((1 << width) - 1));
}

/* store element i; the bits of the element must be zero before */
static inline void pack(uint8_t *to, int64_t i, int bits, int width) {
  to[i * width / 8] = (uint8_t)(to[i * width / 8] | (bits & ((1 << width) - 1)) << i * width % 8);
}

/* ---- Discrete Fourier transforms ---- */

/* Transform the middle one of three dimensions of complex numbers. Arrays are row-major, and a number is a pair.
   n: the length of a row. `of` contains the first `given` numbers of each row, and `to` receives the first `kept`.
   half: true if the input is half of a spectrum. The other numbers are then conjugates, and a number that is its own
       conjugate is real.
   room: memory for 4 n numbers */
static inline void transform_rows(int64_t outer, int64_t given, int64_t n, int64_t kept, int64_t inner, bool inverse,
                           bool half, const long double *of, long double *to, long double *room);
/* Compute y, the transform of n complex numbers. The smallest prime factor of n is split off again and again; each
   transform of prime length follows the definition.
   x: the numbers, as pairs, at a distance of `step` pairs.
   roots: the powers of the n-th root of unity, at a distance of `apart` pairs.
   t: memory for n numbers */
static inline void dft(int64_t n, const long double *roots, int64_t apart, const long double *x, int64_t step, long double *y,
                long double *t) {
  int64_t p = 2;
  while (p < n && n % p != 0) p = p * p > n ? n : p + 1;
  if (n == 1) p = 1;
  for (int64_t j = 0, m = n / p; j < p; ++j) {
    if (m == 1) t[2 * j] = x[2 * j * step], t[2 * j + 1] = x[2 * j * step + 1];
    else dft(m, roots, apart * p, x + 2 * j * step, step * p, t + 2 * j * m, y + 2 * j * m);
  }
  for (int64_t k = 0, m = n / p; k < n; ++k) {
    long double re = 0.0L, im = 0.0L;
    for (int64_t j = 0; j < p; ++j) {
      const long double *w = roots + 2 * (j * k % n) * apart, *z = t + 2 * (j * m + k % m);
      re += z[0] * w[0] - z[1] * w[1];
      im += z[0] * w[1] + z[1] * w[0];
    }
    y[2 * k] = re;
    y[2 * k + 1] = im;
  }
}
static inline void transform_rows(int64_t outer, int64_t given, int64_t n, int64_t kept, int64_t inner, bool inverse,
                           bool half, const long double *of, long double *to, long double *room) {
  long double *roots = room, *row = room + 2 * n, *there = room + 4 * n;
  for (int64_t k = 0; k < n; ++k) {
    roots[2 * k] = cosl(6.283185307179586476925286766559005768L * (long double)k / n);
    roots[2 * k + 1] = sinl(6.283185307179586476925286766559005768L * (long double)k / n) * (inverse ? 1 : -1);
  }
  for (int64_t o = 0; o < outer && n > 0; ++o)
    for (int64_t i = 0; i < inner; ++i) {
      for (int64_t k = 0; k < n; ++k) {
        const int64_t place = half && k > n / 2 ? n - k : k;
        const long double *z = of + 2 * ((o * given + place) * inner + i);
        row[2 * k] = z[0];
        row[2 * k + 1] = half && 2 * place % n == 0 ? 0.0L : place < k ? -z[1] : z[1];
      }
      dft(n, roots, 1, row, 1, there, room + 6 * n);
      for (int64_t k = 0; k < kept; ++k)
        for (int part = 0; part < 2; ++part)
          to[2 * ((o * kept + k) * inner + i) + part] = inverse ? there[2 * k + part] / n : there[2 * k + part];
    }
}
