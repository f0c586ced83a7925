/* Functions of one number.

   gen/emit/pieces.py divides the file into pieces and replaces words. T is the type of the number, TYPE the type of
   its registers, WIDTH its number of bits, MASK a mask of these bits, and SPARE the number of unused bits of its
   byte. TO is another type, and RESULT the type of its registers. For integers: UNSIGNED and SIGNED_TYPE have the
   width of an element; WIDE is the unsigned type, of 32 or 64 bits, in which the arithmetic is done; NUMBER(x) is the
   bits of x without sign extension. For floats of at most 8 bits: TOP is all bits but the sign; DROP is the number of
   bits of a float's mantissa that the type lacks; UNIT is the value of the type's lowest bit. BITS_OF and OF_BITS
   convert a register of floats to an unsigned integer (RAW) with the same bits, and back. BITS, VALUE and ROUND call
   the functions of these names for the type. */

static inline TYPE maximum_T(TYPE a, TYPE b)
{
#if FLOAT
  return a >= b || a != a ? a : b;
#else
  return a >= b ? a : b;
#endif
}

static inline TYPE minimum_T(TYPE a, TYPE b)
{
#if FLOAT
  return a <= b || a != a ? a : b;
#else
  return a <= b ? a : b;
#endif
}

static inline TYPE sign_T(TYPE a)
{
#if FLOAT
  return a == 0 || a != a ? a : COPYSIGN(N(1), a);
#else
  return (TYPE)((a > 0) - (a < 0));
#endif
}

#if FLOAT
/* a signalling NaN gives 1 too */
#endif
static inline TYPE power_T(TYPE a, TYPE b)
{
#if FLOAT
  return b == 0 || a == 1 ? 1 : POW(a, b);
#else
  WIDE r = 1, x = (WIDE)a;
#if SIGNED
  if (b < 0) return a == 1 ? 1 : a == -1 ? (b & 1 ? (TYPE)-1 : (TYPE)1) : 0;
#endif
  for (UNSIGNED n = (UNSIGNED)b; n != 0; n >>= 1) {
    if (n & 1) r *= x;
    x *= x;
  }
  return (TYPE)r;
#endif
}

#if FLOAT
/* Return the exact remainder of a / b, with the sign of a. It is computed by a long division of the significands. */
#endif
static inline TYPE remainder_T(TYPE a, TYPE b)
{
#if FLOAT
  const double x = fabs(a), y = fabs(b);
  if (!(x < INFINITY) || !(y > 0)) return NAN;
  if (x < y) return a;
  const int n = ilogb(y), low = n < -1022 ? -1022 : n;
  const ulong divisor = (ulong)ldexp(y, 52 - low);
  int e = ilogb(x);
  e = e < -1022 ? -1022 : e;
  ulong rest = (ulong)ldexp(ldexp(x, -e), 52);
  for (; e > low; --e) rest = (rest % divisor) << 1;
  return copysign(ldexp((double)(rest % divisor), low - 52), a);
#else
  if (b == 0) return a;
#if SIGNED
  if (b == -1) return 0;
#endif
  return (TYPE)(a % b);
#endif
}

/* x / 0 is the number with all bits set */
static inline TYPE divide_T(TYPE a, TYPE b)
{
  if (b == 0) return (TYPE)-1;
#if SIGNED
  if (b == -1) return (TYPE)(0 - (WIDE)a);
#endif
  return (TYPE)(a / b);
}

static inline TYPE shift_left_T(TYPE a, TYPE b)
{
  return (UNSIGNED)b < WIDTH ? (TYPE)((WIDE)a << b) : (TYPE)0;
}

static inline TYPE shift_right_logical_T(TYPE a, TYPE b)
{
  return (UNSIGNED)b < WIDTH ? (TYPE)(NUMBER(a) >> b) : (TYPE)0;
}

static inline TYPE shift_right_arithmetic_T(TYPE a, TYPE b)
{
#if SPARE_UNSIGNED
  return (TYPE)(((SIGNED_TYPE)(a << SPARE) >> SPARE) >> ((UNSIGNED)b < WIDTH ? (UNSIGNED)b : LAST_BIT));
#else
  return (TYPE)(((SIGNED_TYPE)a) >> ((UNSIGNED)b < WIDTH ? (UNSIGNED)b : LAST_BIT));
#endif
}

static inline TYPE abs_T(TYPE a)
{
  return a < 0 ? (TYPE)(0 - (WIDE)a) : a;
}

/* the upper half of the bits of a product; for 64 bits, it is computed from products of halves */
static inline TYPE mulhi_T(TYPE a, TYPE b)
{
#if LONG
  const U64 x = (U64)a, y = (U64)b, mask = 0xffffffffu, x0 = x & mask, x1 = x >> 32, y0 = y & mask, y1 = y >> 32;
  const U64 middle = x1 * y0 + (x0 * y0 >> 32);
  const U64 high = x1 * y1 + (middle >> 32) + ((x0 * y1 + (middle & mask)) >> 32);
#if SIGNED
  return (TYPE)(high - (a < 0 ? y : 0) - (b < 0 ? x : 0));
#else
  return high;
#endif
#elif SIGNED
  return (TYPE)((S64)a * b >> WIDTH);
#else
  return (TYPE)((U64)a * b >> WIDTH);
#endif
}

static inline TYPE popcnt_T(TYPE a)
{
  int n = 0;
  for (UNSIGNED x = NUMBER(a); x != 0; x &= x - 1) ++n;
  return (TYPE)n;
}

static inline TYPE count_leading_zeros_T(TYPE a)
{
  int n = 0;
  for (UNSIGNED x = NUMBER(a); n < WIDTH && !(x >> LAST_BIT); x <<= 1) ++n;
  return (TYPE)n;
}

static inline TYPE wrap_T(TYPE x)
{
#if SIGNED
  return (TYPE)((TYPE)((U32)x << SPARE) >> SPARE);
#else
  return (TYPE)(x & MASK);
#endif
}

static inline TYPE packed_load_T_INDEX(POINTER(const U8 *p), AT i)
{
#if FLOAT
  return VALUE((U8)(p[i / PER_BYTE] >> (WIDTH * (int)(i % PER_BYTE)) & MASK));
#else
  return wrap_T((TYPE)(p[i / PER_BYTE] >> (WIDTH * (int)(i % PER_BYTE)) & MASK));
#endif
}

/* Store the bits of x at position i % PER_BYTE of a byte. Only this work-item writes the byte, in ascending order of
   positions: the store at position 0 overwrites the whole byte. */
static inline void packed_store_T_INDEX(POINTER(U8 *p), AT i, U8 x)
{
  const U8 bits = (U8)((x & MASK) << (WIDTH * (int)(i % PER_BYTE)));
  p[i / PER_BYTE] = i % PER_BYTE == 0 ? bits : (U8)(p[i / PER_BYTE] | bits);
}

static inline float value_bf16(U16 x)
{
  return OF_BITS((U32)x << 16);
}

static inline U16 bits_bf16(float x)
{
  return (U16)(BITS_OF(x) >> 16);
}

/* round to the nearest bf16, ties to even; a NaN remains a NaN */
static inline float round_bf16(float x)
{
  U32 u = BITS_OF(x);
  u = x != x ? u | 0x400000u : u + 0x7fffu + (u >> 16 & 1u);
  return OF_BITS(u & 0xffff0000u);
}

#if HALF_BY_BITS
/* The bits are moved to the fields of a float, and the float is multiplied by 2^112. Infinities and NaN are set by
   their bits. */
#endif
static inline float value_f16(U16 x)
{
#if HALF_BY_BITS
  const U32 w = x, a = (w & 0x7fffu) << 13;
  const U32 m = a < 0x0f800000u ? BITS_OF(OF_BITS(a) * 0x1p112f) : a | 0x7f800000u;
  return OF_BITS(m | (w & 0x8000u) << 16);
#else
  return HALF_VALUE(x);
#endif
}

#if HALF_BY_BITS
/* Round to the nearest f16, ties to even: below 2^-14 by adding 0.5 to the float, above it by adding to its bits. */
#endif
static inline U16 bits_f16(float x)
{
#if HALF_BY_BITS
  const U32 w = BITS_OF(x), a = w & 0x7fffffffu;
  const U32 m = a < 0x38800000u ? BITS_OF(OF_BITS(a) + 0.5f) - 0x3f000000u : (a < 0x47800000u ? (a - 0x38000000u + 0xfffu + (a >> 13 & 1u)) >> 13 : (a > 0x7f800000u ? (a >> 13 & 0x3ffu) | 0x7e00u : 0x7c00u));
  return (U16)(m | (w >> 16 & 0x8000u));
#elif HALF_STORED
  U16 u;
  vstore_half_rte(x, 0, (half *)&u);
  return u;
#else
  return HALF_BITS(x);
#endif
}

static inline float round_T(float x)
{
  return value_T(bits_T(x));
}

#if SCALE
/* 2^(x - 127); the bit pattern 255 is NaN */
#endif
static inline float value_T(U8 x)
{
#if SCALE
  return OF_BITS(x == 255 ? 0x7fc00000u : x == 0 ? 0x400000u : (U32)x << 23);
#else
  const U32 a = x & TOP;
#if IEEE
  const U32 u = a >= INFINITE ? 0x7f800000u | (a - INFINITE) << DROP : a < LEAST_NORMAL ? BITS_OF((float)a * UNIT)
#elif FN
  const U32 u = a == TOP ? 0x7fc00000u : a < LEAST_NORMAL ? BITS_OF((float)a * UNIT)
#elif FNUZ
  const U32 u = x == MINUS_ZERO ? 0x7fc00000u : a < LEAST_NORMAL ? BITS_OF((float)a * UNIT)
#else
  const U32 u = a < LEAST_NORMAL ? BITS_OF((float)a * UNIT)
#endif
    : (a << DROP) + REBIAS;
#if FNUZ
  return OF_BITS(x == MINUS_ZERO ? u : u | (U32)(x >> LAST_BIT) << 31);
#else
  return OF_BITS(u | (U32)(x >> LAST_BIT) << 31);
#endif
#endif
}

#if SCALE
/* the nearest power of two, rounded up from the midpoint; NaN for values that are not positive or are too large */
#elif IEEE
/* round to the nearest value, ties to even; infinity above the largest value */
#elif FN
/* round to the nearest value, ties to even; NaN above the largest value */
#elif FNUZ
/* round to the nearest value, ties to even; NaN above the largest value; -0 becomes 0 */
#else
/* round to the nearest value, ties to even; the largest value if the number is above it; -0 for NaN */
#endif
static inline U8 bits_T(float x)
{
#if SCALE
  const U32 u = BITS_OF(x);
  if (u == 0u || u >= 0x7f000000u + 0x400000u) return 255;
  return (U8)(u < 0x800000u ? (u >= 0x600000u ? 1u : 0u) : (u >> 23) + (u >> 22 & 1u));
#else
  const U32 u = BITS_OF(x), a = u & 0x7fffffffu;
  U32 r = a < NORMAL_FLOAT ? (U32)RINT(OF_BITS(a) * UNITS)
    : (a - REBIAS + BELOW_HALF + (a >> DROP & 1u)) >> DROP;
#if IEEE
  r = a > 0x7f800000u ? INFINITE | ((a >> DROP & PAYLOAD) ? (a >> DROP & PAYLOAD) : QUIET) : r > LARGEST ? INFINITE : r;
#elif FN
  r = a > 0x7f800000u ? TOP : r > LARGEST ? TOP : r;
#elif !FNUZ
  r = r > LARGEST ? LARGEST : r;
#endif
#if FNUZ
  return (U8)(a > 0x7f800000u || r > LARGEST ? SIGN : r == 0u ? 0u : r | u >> 31 << LAST_BIT);
#elif FINITE
  return (U8)(a > 0x7f800000u ? SIGN : r | u >> 31 << LAST_BIT);
#else
  return (U8)(r | u >> 31 << LAST_BIT);
#endif
#endif
}

#if ODD
/* The double is first converted to a float, whose last bit is set if the conversion is not exact. Rounding that float
   then gives the same result as rounding the double. */
#endif
static inline float narrow_T(double x)
{
#if HALF_STORED
  U16 u;
  vstore_half_rte(x, 0, (half *)&u);
  return VALUE(u);
#elif HALF_WORDS
  return HALF_NARROWED(x);
#else
  float f = (float)x;
  U32 u = BITS_OF(f);
  if ((double)f != x && x == x && (u & 1u) == 0u) u += ((double)f < x) == (f > 0 || (f == 0 && x > 0)) ? 1u : 0xffffffffu;
  return ROUND(OF_BITS(u));
#endif
}

/* round towards zero, and saturate; NaN gives 0 */
static inline RESULT to_integer_T_TO(TYPE x)
{
  return x != x ? (RESULT)0 : x <= LEAST ? FIRST : x >= BEYOND ? LAST : (RESULT)x;
}

/* an integer that compares like the float in the total order: -NaN is the lowest, and -0 is below 0 */
static inline ORDER total_order_T(HELD x)
{
#if SCALE
  return (ORDER)BITS(x) - 128;
#else
#if TINY
#if SPARE
  ORDER b = (ORDER)(S8)(BITS(x) << SPARE);
#else
  ORDER b = (ORDER)(S8)(BITS(x));
#endif
#elif HALF
  ORDER b = (ORDER)(S16)x;
#elif SMALL
  ORDER b = (ORDER)(S16)BITS(x);
#else
  ORDER b = AS_ORDER(x);
#endif
#if FNUZ
  /* the only NaN has the bits of -0 */
  return b < 0 && b > -128 ? (b ^ FLIP) + 1 : b;
#else
  return b < 0 ? b ^ FLIP : b;
#endif
#endif
}

/* Round to m mantissa bits, ties to even. A value that is too large for e exponent bits becomes infinity, and a value
   below the smallest normal number becomes zero. */
static inline TYPE reduce_precision_T(TYPE x, int e, int m)
{
  RAW b = BITS_OF(x), sign = b >> TOP_BIT << TOP_BIT;
  int drop = m < OWN_MANTISSA ? MANTISSA - m : 0, top = MANTISSA;
  RAW largest = (RAW)(BIAS + ((RAW)1 << (e - 1)) - 1), least = (RAW)(BIAS - (((RAW)1 << (e - 1)) - 1) + 1);
  if (x != x) return x;
#if HALF
  if (drop > 0 && (b ^ sign) < 0x38800000u) {
    float c = OF_BITS((RAW)(136 - m) << 23 | 0x400000u), r = OF_BITS(b ^ sign) + c - c;
    b = BITS_OF(r) | sign;
    drop = 0;
  }
#endif
  if (drop > 0) b = (b + ((((RAW)1 << (drop - 1)) - 1) + (b >> drop & 1))) >> drop << drop;
  b ^= sign;
  if (((RAW)1 << (e - 1)) - 1 < OWN_BIAS && b >> top > largest) b = (RAW)EXPONENTS << top;
  if (((RAW)1 << (e - 1)) - 1 < OWN_BIAS && b >> top < least) b = 0;
  return OF_BITS(b | sign);
}
