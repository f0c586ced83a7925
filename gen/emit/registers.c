/* Functions of the lanes of a vector.

   gen/emit/pieces.py divides the file into pieces and replaces words. T is the type, ELEMENT an element of it in
   memory, BYTES its bytes, and VECTOR a vector of LANES elements. FLOAT_VECTOR, U32_VECTOR() and U16_VECTOR() have as
   many lanes. VLOAD, VSTORE, .. are the OpenCL functions for that number of lanes. CHOOSE, UNEQUAL, BITS_OF and
   OF_BITS are functions of the target.

   load and store access a vector at the address of any element, in one instruction if the compiler has unaligned
   vector types. fetch and stage load and store a vector of a private array of the work-item. The functions BY_LANES,
   BY_HALVES and BY_PARTS call FUNCTION(..) for each lane, for both halves, or for each part of a register. A half and a
   part have the size of the machine's vectors (VECTOR). A word such as exp replaces BY_LANES, BY_HALVES or BY_PARTS. */

static inline VECTOR load_T_LANES(__global const ELEMENT *p)
{
#ifdef __clang__
  typedef ELEMENT any __attribute__((ext_vector_type(LANES), aligned(BYTES)));
  return *(__global const any *)p;
#else
  return VLOAD(0, p);
#endif
}

static inline void store_T_LANES(VECTOR x, __global ELEMENT *p)
{
#ifdef __clang__
  typedef ELEMENT any __attribute__((ext_vector_type(LANES), aligned(BYTES)));
  *(__global any *)p = x;
#else
  VSTORE(x, 0, p);
#endif
}

static inline VECTOR fetch_T_LANES(const ELEMENT *p)
{
#ifdef __clang__
  typedef ELEMENT any __attribute__((ext_vector_type(LANES), aligned(BYTES)));
  return *(const any *)p;
#else
  return VLOAD(0, p);
#endif
}

static inline void stage_T_LANES(VECTOR x, ELEMENT *p)
{
#ifdef __clang__
  typedef ELEMENT any __attribute__((ext_vector_type(LANES), aligned(BYTES)));
  *(any *)p = x;
#else
  VSTORE(x, 0, p);
#endif
}

/* a b + c, rounded once if the machine has an instruction for it; for integers, the low bits */
static inline VECTOR mad_T_LANES(VECTOR a, VECTOR b, VECTOR c)
{
#if INTEGERS
  return AS_SIGNED(AS_UNSIGNED(a) * AS_UNSIGNED(b) + AS_UNSIGNED(c));
#elif BY_PRAGMA
#pragma OPENCL FP_CONTRACT ON
  return a * b + c;
#else
#if defined(MACHINE)
  return (VECTOR)FUSED((MACHINE_VECTOR)a, (MACHINE_VECTOR)b, (MACHINE_VECTOR)c);
#if NEON
#elif defined(__aarch64__)
  return (VECTOR)NEON_FUSED((NEON_VECTOR)c, (NEON_VECTOR)a, (NEON_VECTOR)b);
#endif
#else
  return a * b + c;
#endif
#endif
}

#if BY_BITS
/* The bits are moved to the fields of a float, and the float is multiplied by 2^112. Infinities and NaN are set by
   their bits. */
#endif
static inline FLOAT_VECTOR value_T_LANES(U16_VECTOR() x)
{
#if BY_BITS
#ifdef __AVX512F__
  return (FLOAT_VECTOR)_mm512_cvtph_ps((__m256i)x);
#else
#ifdef __F16C__
  const union { U16_VECTOR() all; __m128i part[2]; } in = {x};
  union { FLOAT_VECTOR all; __m256 part[2]; } out;
  for (int i = 0; i < 2; ++i) out.part[i] = _mm256_cvtph_ps(in.part[i]);
  return out.all;
#else
  const U32_VECTOR() w = TO_U32(x), a = (w & 0x7fffu) << 13;
  const U32_VECTOR() m = CHOOSE(BELOW(a, SPLAT(0x0f800000u)), BITS_OF(OF_BITS(a) * 0x1p112f), a | 0x7f800000u);
  return OF_BITS(m | (w & 0x8000u) << 16);
#endif
#endif
#else
#if defined(__AVX512F__) && defined(__clang__) && LANES == 16
  typedef short halves __attribute__((vector_size(32)));
  typedef float values __attribute__((vector_size(64)));
  return __builtin_astype(__builtin_ia32_vcvtph2ps512_mask(__builtin_astype(x, halves), __builtin_astype((FLOAT_VECTOR)(0), values), (ushort)0xffff, 4), FLOAT_VECTOR);
#else
  ushort t[LANES];
  VSTORE(x, 0, t);
  return VLOAD_HALF(0, (const half *)t);
#endif
#endif
}

#if BY_BITS
/* Round to the nearest f16, ties to even: below 2^-14 by adding 0.5 to the float, above it by adding to its bits. */
#endif
static inline U16_VECTOR() bits_T_LANES(FLOAT_VECTOR x)
{
#if BY_BITS
#ifdef __AVX512F__
  return (U16_VECTOR())_mm512_cvtps_ph((__m512)x, _MM_FROUND_TO_NEAREST_INT);
#else
#ifdef __F16C__
  const union { FLOAT_VECTOR all; __m256 part[2]; } in = {x};
  union { U16_VECTOR() all; __m128i part[2]; } out;
  for (int i = 0; i < 2; ++i) out.part[i] = _mm256_cvtps_ph(in.part[i], _MM_FROUND_TO_NEAREST_INT);
  return out.all;
#else
  const U32_VECTOR() w = BITS_OF(x), a = w & 0x7fffffffu;
  const U32_VECTOR() m = CHOOSE(BELOW(a, SPLAT(0x38800000u)), BITS_OF(OF_BITS(a) + 0.5f) - 0x3f000000u, CHOOSE(BELOW(a, SPLAT(0x47800000u)), (a - 0x38000000u + 0xfffu + (a >> 13 & 1u)) >> 13, CHOOSE(ABOVE(a, SPLAT(0x7f800000u)), (a >> 13 & 0x3ffu) | 0x7e00u, SPLAT(0x7c00u))));
  return TO_U16(m | (w >> 16 & 0x8000u));
#endif
#endif
#else
#if defined(__AVX512F__) && defined(__clang__) && LANES == 16
  typedef short halves __attribute__((vector_size(32)));
  typedef float values __attribute__((vector_size(64)));
  return __builtin_astype(__builtin_ia32_vcvtps2ph512_mask(__builtin_astype(x, values), 0, __builtin_astype((U16_VECTOR())(0), halves), (ushort)0xffff), U16_VECTOR());
#else
  ushort t[LANES];
  VSTORE_HALF(x, 0, (half *)t);
  return VLOAD(0, t);
#endif
#endif
}

#if !HALF
/* round to the nearest bf16, ties to even; a NaN remains a NaN */
#endif
static inline FLOAT_VECTOR round_T_LANES(FLOAT_VECTOR x)
{
#if HALF
  return value_T_LANES(bits_T_LANES(x));
#else
  const U32_VECTOR() u = BITS_OF(x);
  const U32_VECTOR() r = CHOOSE(UNEQUAL(x, x), u | 0x400000u, u + 0x7fffu + (u >> 16 & 1u));
  return OF_BITS(r & 0xffff0000u);
#endif
}

/* Round to the nearest bf16, ties to even. A NaN whose lower 16 bits are zero remains a NaN. Any other NaN may become
   an infinity or a zero. */
static inline FLOAT_VECTOR round_plain_T_LANES(FLOAT_VECTOR x)
{
  const U32_VECTOR() u = BITS_OF(x);
  return OF_BITS((u + 0x7fffu + (u >> 16 & 1u)) & 0xffff0000u);
}

/* round towards zero, and saturate; NaN gives 0 */
static inline RESULT to_integer_T_TO_LANES(FLOAT_VECTOR x)
{
#if SHORT
  const FLOAT_VECTOR y = LARGER(FLOATS(LEAST), x);
  return WITHIN(SMALLER(FLOATS(MOST), y));
#else
  const FLOAT_VECTOR y = CHOOSE_FLOAT(FLOAT_BELOW(x, FLOATS(BEYOND)), (CHOOSE_FLOAT(AT_LEAST(x, FLOATS(LEAST)), x, (FLOATS(0.0f)))), (FLOATS(0.0f)));
  return CHOOSE_RESULT(AT_LEAST(x, FLOATS(BEYOND)), RESULTS(LAST), (CHOOSE_RESULT(FLOAT_BELOW(x, FLOATS(LEAST)), RESULTS(FIRST), (TO_RESULT(y)))));
#endif
}

/* round towards zero, for values that fit the type; NaN gives 0 */
static inline RESULT to_integer_within_T_TO_LANES(FLOAT_VECTOR x)
{
#ifdef __AVX512F__
  /* for a NaN, the instruction gives -2^31; only its low bits are kept, and they are 0 */
  return (RESULT)NARROWED(_mm512_cvttps_epi32((__m512)x));
#else
  return INTEGERS(CHOOSE_FLOAT(EQUAL(x, x), x, FLOATS(0.0f)));
#endif
}

/* integers that compare like the floats in the total order: -NaN is the lowest, and -0 is below 0 */
static inline ORDER_VECTOR total_order_T_LANES(FLOAT_VECTOR x)
{
  const ORDER_VECTOR b = AS_ORDER(x);
  return b ^ ((b >> LAST_BIT) & FLIP);
}

static inline RESULT_VECTOR BY_LANES_T_LANES(SOURCE_VECTOR x)
{
  SOURCE s[LANES];
  RESULT t[LANES];
  SCATTER(x, s)
  for (int i = 0; i < LANES; ++i) t[i] = FUNCTION(s[i]);
  return GATHER(t);
}

#if PAIR
static inline REGISTER BY_HALVES_T_LANES(REGISTER x, REGISTER *y)
{
  VECTOR low, high;
  const REGISTER all = (REGISTER)(FUNCTION(x.lo, &low), FUNCTION(x.hi, &high));
  *y = (REGISTER)(low, high);
  return all;
}
#elif BINARY
static inline REGISTER BY_HALVES_T_LANES(REGISTER x, REGISTER y)
{
  return (REGISTER)(FUNCTION(x.lo, y.lo), FUNCTION(x.hi, y.hi));
}
#else
static inline REGISTER BY_HALVES_T_LANES(REGISTER x)
{
  return (REGISTER)(FUNCTION(x.lo), FUNCTION(x.hi));
}
#endif

/* always inlined, because gcc -O2 warns about copies of the function that pass a register wider than the machine's */
#if PAIR
__attribute__((always_inline))
static inline REGISTER BY_PARTS_T_LANES(REGISTER x, REGISTER *y)
#elif BINARY
__attribute__((always_inline))
static inline REGISTER BY_PARTS_T_LANES(REGISTER x, REGISTER y)
#else
__attribute__((always_inline))
static inline REGISTER BY_PARTS_T_LANES(REGISTER x)
#endif
{
  enum { PARTS = (sizeof(REGISTER) + sizeof(VECTOR) - 1) / sizeof(VECTOR) };
#if PAIR
  union { REGISTER all; VECTOR part[PARTS]; } x_in = {x}, y_out;
  UNROLL
  for (size_t i = 0; i < PARTS; ++i) x_in.part[i] = FUNCTION(x_in.part[i], &y_out.part[i]);
  *y = y_out.all;
#elif BINARY
  union { REGISTER all; VECTOR part[PARTS]; } x_in = {x}, y_in = {y};
  UNROLL
  for (size_t i = 0; i < PARTS; ++i) x_in.part[i] = FUNCTION(x_in.part[i], y_in.part[i]);
#else
  union { REGISTER all; VECTOR part[PARTS]; } x_in = {x};
  UNROLL
  for (size_t i = 0; i < PARTS; ++i) x_in.part[i] = FUNCTION(x_in.part[i]);
#endif
  return x_in.all;
}
