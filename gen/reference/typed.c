/* The C functions of references and bounds that there are for each type, or for each function: library.py cuts this
   file as library.c, once for each of them. The words in capitals then stand for

     DTYPE, TYPE         s32, int32_t: the type's name in HLO and in C. A function DTYPE_divide is s32_divide there
     UNSIGNED, WIDE      uint32_t, uint32_t: unsigned, of its size and of 32 bits at least
     BITS, TOP_BIT       32, 31: the width, the number of the highest bit
     FUNCTION            exp: a function of double that is monotone

   and #if INTEGER, SIGNED (an integer), PACKED (several elements to a byte), NARROW (such integers), STORED (f16, bf16:
   an element is its bits), TINY (a float of 8 bits or less), SCALE and FNUZ (styles of those), FORMAT (a float with
   fields of mantissa and exponent) and MONOTONE (a function) say what is there. All are macros for a compiler. */

#include "library.c"

#if STORED /* library.c has these */
float DTYPE_to_float(TYPE h);
TYPE DTYPE_from_double(double x);
#endif

/* ---- Integers: LIMIT is 2 to the power of the bits of a magnitude, LEAST and MOST are the ends ---- */

#if INTEGER

static TYPE DTYPE_maximum(TYPE a, TYPE b) { return (TYPE)(a >= b ? a : b); }

static TYPE DTYPE_minimum(TYPE a, TYPE b) { return (TYPE)(a <= b ? a : b); }

static TYPE DTYPE_from_double(double x) {
#if SIGNED
  if (x != x) return 0;
  if (x >= LIMIT) return MOST;
  if (x <= -LIMIT) return LEAST;
#else
  if (!(x > 0.0)) return 0;
  if (x >= LIMIT) return MOST;
#endif
  return (TYPE)x;
}

static TYPE DTYPE_divide(TYPE a, TYPE b) {
  if (b == 0) return (TYPE)-1;
#if SIGNED
  if (b == -1) return (TYPE)(0 - (WIDE)a);
#endif
  return (TYPE)(a / b);
}

static TYPE DTYPE_remainder(TYPE a, TYPE b) {
  if (b == 0) return a;
#if SIGNED
  if (b == -1) return 0;
#endif
  return (TYPE)(a % b);
}

static TYPE DTYPE_power(TYPE x, TYPE n) {
  WIDE base = (WIDE)x, result = 1;
#if SIGNED
  if (n < 0) return x == 1 ? 1 : x == -1 ? (n % 2 == 0 ? 1 : -1) : 0;
#endif
  for (; n > 0; n = (TYPE)(n / 2)) {
    if (n % 2 != 0) result *= base;
    base *= base;
  }
  return (TYPE)result;
}

static TYPE DTYPE_shift_left(TYPE x, TYPE n) {
  if ((UNSIGNED)n >= BITS) return 0;
  return (TYPE)((WIDE)x << (UNSIGNED)n);
}

static TYPE DTYPE_shift_right_logical(TYPE x, TYPE n) {
  WIDE bits = (UNSIGNED)x;
#if NARROW
  bits &= MASK;
#endif
  return (TYPE)((UNSIGNED)n >= BITS ? 0 : bits >> (UNSIGNED)n);
}

static TYPE DTYPE_shift_right_arithmetic(TYPE x, TYPE n) {
  /* ~(~x >> n) for negative x: >> of a negative number is left to the compiler by C */
  const bool negative = (((WIDE)x >> TOP_BIT) & 1u) != 0;
  WIDE bits = (UNSIGNED)(negative ? ~(WIDE)x : (WIDE)x), shifted;
#if NARROW
  bits &= MASK;
#endif
  shifted = (UNSIGNED)n >= BITS ? 0 : bits >> (UNSIGNED)n;
  return (TYPE)(negative ? ~shifted : shifted);
}

static TYPE DTYPE_popcnt(TYPE x) {
  WIDE bits = (UNSIGNED)x;
  int count = 0;
#if NARROW
  bits &= MASK;
#endif
  for (; bits != 0; bits >>= 1) count += (int)(bits & 1u);
  return (TYPE)count;
}

static TYPE DTYPE_clz(TYPE x) {
  WIDE bits = (UNSIGNED)x;
  int count = BITS;
#if NARROW
  bits &= MASK;
#endif
  for (; bits != 0; bits >>= 1) --count;
  return (TYPE)count;
}

#endif

/* ---- Elements of less than a byte: MASK has an element's bits, HALF those but the sign, EACH go into a byte ---- */

#if NARROW

static TYPE DTYPE_wrap(uint64_t x) {
  x &= MASK;
#if SIGNED
  return (TYPE)(x > HALF ? (int)x - WHOLE : (int)x);
#else
  return (TYPE)x;
#endif
}

#endif

#if PACKED

static TYPE DTYPE_unpack(const void *from, int64_t i) {
  const unsigned byte = (unsigned)((const uint8_t *)from)[i / EACH] >> i % EACH * BITS;
#if NARROW
  return DTYPE_wrap(byte);
#else
  return (TYPE)(byte & MASK);
#endif
}

static void DTYPE_pack(void *to, int64_t i, TYPE x) {
  uint8_t *byte = (uint8_t *)to + i / EACH;
  const unsigned place = (unsigned)(i % EACH * BITS);
  *byte = (uint8_t)((i % EACH == 0 ? 0u : *byte) | ((unsigned)x & MASK) << place);
}

#endif
/* ---- Floats of 8 bits and less, by the table of their COUNT VALUES and of the MIDDLES between the finite ones up to
   pattern TOP. From BEYOND on (where TOP is even: after it) is OVER. SIGN is the sign's bit ---- */

#if TINY

static float DTYPE_to_float(uint8_t h) {
  static const float values[COUNT] = {VALUES};
  return values[h];
}

/* to the nearest by the table of middles */
static uint8_t DTYPE_from_double(double x) {
  static const double middles[TOP] = {MIDDLES};
#if SCALE
  int k = 0;
  if (!(x > 0.0) || x >= BEYOND) return (uint8_t)(QUIET_NAN);
  while (k < TOP && x >= middles[k]) ++k;
  return (uint8_t)k;
#else
  const double a = fabs(x);
  const int sign = signbit(x) ? SIGN : 0;
  int k = 0;
  if (x != x) return (uint8_t)(sign | QUIET_NAN);
  if (a > BEYOND || (a == BEYOND && TOP % 2 != 0)) return (uint8_t)(sign | OVER);
  while (k < TOP && (a > middles[k] || (a == middles[k] && k % 2 != 0))) ++k;
#if FNUZ
  if (k == 0) return 0;
#endif
  return (uint8_t)(sign | k);
#endif
}

static range range_round_DTYPE(range r) {
  const double lo = (double)DTYPE_to_float(DTYPE_from_double(r.lo));
  const double hi = (double)DTYPE_to_float(DTYPE_from_double(r.hi));
  if (range_is_point(r)) return range_of(lo, lo);
  return lo != lo || hi != hi ? range_all() : range_of(lo, hi);
}

#endif

/* ---- The bits of floats: of MANTISSA and EXPONENT bits, with BIAS, up to INFINITE; ORDER is int32_t ---- */

#if FORMAT

/* to nearest even with fewer mantissa bits, then with fewer exponent bits */
static TYPE DTYPE_reduce_precision(TYPE value, int exponent_bits, int mantissa_bits) {
  WIDE sign, a;
#if STORED
  UNSIGNED x = value;
#else
  UNSIGNED x;
  memcpy(&x, &value, sizeof x);
#endif
  sign = (WIDE)x >> TOP_BIT << TOP_BIT;
  a = (WIDE)x ^ sign;
  if (a > ((WIDE)INFINITE << MANTISSA)) return value;
  if (mantissa_bits < MANTISSA) {
    const int dropped = MANTISSA - mantissa_bits;
    const WIDE last = (WIDE)1 << dropped;
    a += last / 2 - 1 + (a >> dropped & 1u);
    a &= ~(last - 1);
  }
  if (exponent_bits < EXPONENT && a != 0) {
    const WIDE bias = ((WIDE)1 << (exponent_bits - 1)) - 1;
    if (a >> MANTISSA > BIAS + bias) a = ((WIDE)INFINITE << MANTISSA);
    else if (a >> MANTISSA <= BIAS - bias) a = 0;
  }
  x = (UNSIGNED)(sign | a);
#if STORED
  return x;
#else
  memcpy(&value, &x, sizeof x);
  return value;
#endif
}

static range range_reduce_precision_DTYPE(range r, int exponent_bits, int mantissa_bits) {
#if STORED
  const TYPE lo = DTYPE_reduce_precision(DTYPE_from_double(r.lo), exponent_bits, mantissa_bits);
  const TYPE hi = DTYPE_reduce_precision(DTYPE_from_double(r.hi), exponent_bits, mantissa_bits);
  return range_of((double)DTYPE_to_float(lo), (double)DTYPE_to_float(hi));
#else
  const TYPE lo = DTYPE_reduce_precision((TYPE)r.lo, exponent_bits, mantissa_bits);
  const TYPE hi = DTYPE_reduce_precision((TYPE)r.hi, exponent_bits, mantissa_bits);
  return range_of((double)lo, (double)hi);
#endif
}

#endif

#if FORMAT || TINY

/* a key whose order is TOTALORDER's */
static int64_t DTYPE_total_order(TYPE x) {
#if TINY
  const int8_t s = (int8_t)(x << SHIFT);
#elif STORED
  const ORDER s = (ORDER)x;
#else
  ORDER s;
  memcpy(&s, &x, sizeof s);
#endif
  return s < 0 ? (int64_t)(s ^ ORDER_MAX) : (int64_t)s;
}

#endif

/* ---- Monotone functions of double ---- */

#if MONOTONE

static range range_FUNCTION(range x) {
  const double a = FUNCTION(x.lo), b = range_is_point(x) ? a : FUNCTION(x.hi);
  if (range_is_all(x)) return range_all();
  return range_between(a, b);
}

#endif
