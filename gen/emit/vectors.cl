/* The vectors of functions.c in OpenCL C. */

typedef float16 floats;
typedef int16 ints;
typedef uint16 uints;
#define as_floats as_float16
#define as_ints as_int16
#define as_uints as_uint16
#define convert_floats convert_float16
#define convert_ints convert_int16

#define splat_floats(x) ((floats)(x))

/* functions for AVX-512 only, as in vectors.c */
#if defined(__AVX512F__) && defined(__clang__)
#define AVX512 1
typedef float gnu_floats __attribute__((vector_size(64)));
typedef int gnu_ints __attribute__((vector_size(64)));
#define AS_GNU(x) __builtin_astype(x, gnu_floats)
#define AS_FLOATS(x) __builtin_astype(x, floats)
static inline floats pick_floats(floats table, ints index)
{
  return AS_FLOATS(__builtin_ia32_permvarsf512(AS_GNU(table), __builtin_astype(index, gnu_ints)));
}
static inline floats pick_of_two_floats(floats low, floats high, ints index)
{
  return AS_FLOATS(__builtin_ia32_vpermi2varps512(AS_GNU(low), __builtin_astype(index, gnu_ints), AS_GNU(high)));
}
static inline floats scale_floats(floats x, floats n)
{
  return AS_FLOATS(__builtin_ia32_scalefps512_mask(AS_GNU(x), AS_GNU(n), AS_GNU(x), (ushort)0xffff, 4));
}
static inline floats mantissa_floats(floats x)
{
  return AS_FLOATS(__builtin_ia32_getmantps512_mask(AS_GNU(x), 11, AS_GNU(x), (ushort)0xffff, 4));
}
static inline floats significand_floats(floats x)
{
  return AS_FLOATS(__builtin_ia32_getmantps512_mask(AS_GNU(x), 4, AS_GNU(x), (ushort)0xffff, 4));
}
static inline floats exponent_floats(floats x)
{
  return AS_FLOATS(__builtin_ia32_getexpps512_mask(AS_GNU(x), AS_GNU(x), (ushort)0xffff, 4));
}
static inline floats near_rsqrt_floats(floats x)
{
  return AS_FLOATS(__builtin_ia32_rsqrt14ps512_mask(AS_GNU(x), AS_GNU(x), (ushort)0xffff));
}
#if defined(__AVX512DQ__)
static inline floats nearer_floats(floats x, floats y)
{
  return AS_FLOATS(__builtin_ia32_rangeps512_mask(AS_GNU(x), AS_GNU(y), 2, AS_GNU(x), (ushort)0xffff, 4));
}
#endif
static inline int any_above_uints(uints x, uint limit)
{
  return __builtin_ia32_ucmpd512_mask(__builtin_astype(x, gnu_ints), __builtin_astype((uints)(limit), gnu_ints), 6, (ushort)0xffff) != 0;
}
static inline int any_below_floats(floats x, floats y)
{
  return __builtin_ia32_cmpps512_mask(AS_GNU(x), AS_GNU(y), 17, (ushort)0xffff, 4) != 0;
}
#else
#define AVX512 0
#endif

typedef double8 doubles;
typedef long8 longs;
typedef ulong8 ulongs;
#define as_doubles as_double8
#define as_longs as_long8
#define as_ulongs as_ulong8
#define convert_doubles convert_double8

#define splat_doubles(x) ((doubles)(x))

#define low_doubles(x) convert_double8((x).lo)

#define high_doubles(x) convert_double8((x).hi)

#define join_floats(low, high) ((floats)(convert_float8(low), convert_float8(high)))

/* true if any lane of the mask is set; PoCL's `any` tests lane by lane */
#if AVX512
#define any_ints(mask) any_above_uints(as_uints(mask), 0u)
#else
#define any_ints any
#endif

typedef ulong u64;
typedef long s64;

/* `a` where the mask is set, else `b` */
#define choose_floats(mask, a, b) ((mask) ? (a) : (b))

/* the nearest integer, ties to even, if the machine has an instruction for it */
#define ROUNDS 0
#if AVX512
#if __has_builtin(__builtin_elementwise_roundeven)
#undef ROUNDS
#define ROUNDS 1
#define nearest_floats(x) __builtin_elementwise_roundeven(x)
#endif
#endif

/* more_floats is x if x > y, else y; less_floats is x if x < y, else y; so a NaN gives y */
#define more_floats(x, y) ((x) > (y) ? (x) : (y))

#define less_floats(x, y) ((x) < (y) ? (x) : (y))

#define choose_doubles(mask, a, b) ((mask) ? (a) : (b))

#define sqrt_floats sqrt

#define sqrt_doubles sqrt

/* a b + c, rounded once if the machine has an instruction for it */
static inline floats mad_floats(floats a, floats b, floats c)
{
#pragma OPENCL FP_CONTRACT ON
  return a * b + c;
}

static inline doubles mad_doubles(doubles a, doubles b, doubles c)
{
#pragma OPENCL FP_CONTRACT ON
  return a * b + c;
}

#define splat_ints(x) ((ints)(x))

static inline ints mad_ints(ints a, ints b, ints c) { return as_ints(as_uints(a) * as_uints(b) + as_uints(c)); }

/* narrow numbers as floats */
#define widen_bf16(x) as_floats(convert_uint16(x) << 16)

#define widen_s8(x) convert_float16(x)

#define widen_u8(x) convert_float16(x)

/* c plus the sum of four products in each lane: the four u8 of a times the four s8 of b. If PoCL compiles for a
   machine without the instruction, pairs of 16-bit numbers are multiplied, or single numbers. Packaged builds of PoCL
   compile for AVX-512BW at most. */
static inline ints mad_u8_s8(ints a, ints b, ints c)
{
#if AVX512 && defined(__AVX512VNNI__)
  return __builtin_astype(__builtin_ia32_vpdpbusd512(__builtin_astype(c, gnu_ints), __builtin_astype(a, gnu_ints), __builtin_astype(b, gnu_ints)), ints);
#elif AVX512 && defined(__AVX512BW__)
  typedef short shorts __attribute__((ext_vector_type(32)));
  typedef ushort ushorts __attribute__((ext_vector_type(32)));
  typedef short gnu_shorts __attribute__((vector_size(64)));
#define AS_PAIRS(x) __builtin_astype(x, gnu_shorts)
  const shorts x = __builtin_astype(b, shorts);
  const ushorts y = __builtin_astype(a, ushorts);
  const gnu_ints odd = __builtin_ia32_pmaddwd512(AS_PAIRS(y >> 8), AS_PAIRS(x >> 8));
  const gnu_ints even = __builtin_ia32_pmaddwd512(AS_PAIRS(y & (ushort)255), AS_PAIRS(__builtin_astype(__builtin_astype(x, ushorts) << 8, shorts) >> 8));
  return as_ints(as_uints(c) + __builtin_astype(odd, uints) + __builtin_astype(even, uints));
#else
  uints sum = as_uints(c);
  for (uint k = 0; k < 32; k += 8) sum += (as_uints(a) >> k & 255u) * as_uints(as_ints(as_uints(b) << (24u - k)) >> 24);
  return as_ints(sum);
#endif
}

static inline ints mad_s8_u8(ints a, ints b, ints c) { return mad_u8_s8(b, a, c); }

/* `c` plus the sum of four products, for numbers of `a` and `b` that are both s8 or both u8. mad_u8_s8 needs one
   operand of each type, so 128 is added to each s8 of `a`, or subtracted from each u8 of `a`. The caller corrects the
   sum. */
static inline ints mad_s8(ints a, ints b, ints c) { return mad_u8_s8(as_ints(as_uints(a) ^ 0x80808080u), b, c); }
static inline ints mad_u8(ints a, ints b, ints c) { return mad_u8_s8(b, as_ints(as_uints(a) ^ 0x80808080u), c); }

/* c plus the sum of two products of bf16 in each lane of a and b; each addition rounds */
static inline floats mad_bf16(floats a, floats b, floats c)
{
  const uints x = as_uints(a), y = as_uints(b);
  c = mad_floats(as_floats(x & 0xffff0000u), as_floats(y & 0xffff0000u), c);
  return mad_floats(as_floats(x << 16), as_floats(y << 16), c);
}
