/* The vectors of functions.c in GNU C. */

/* vectors of the machine's width */
#if defined(__AVX512F__)
#define WIDTH 64
#elif defined(__AVX__)
#define WIDTH 32
#else
#define WIDTH 16
#endif
typedef float floats __attribute__((vector_size(WIDTH), may_alias));
typedef int32_t ints __attribute__((vector_size(WIDTH), may_alias));
typedef uint32_t uints __attribute__((vector_size(WIDTH), may_alias));
typedef double doubles __attribute__((vector_size(WIDTH), may_alias));
typedef int64_t longs __attribute__((vector_size(WIDTH), may_alias));
typedef uint64_t ulongs __attribute__((vector_size(WIDTH), may_alias));
#define as_floats(x) ((floats)(x))
#define as_ints(x) ((ints)(x))
#define as_uints(x) ((uints)(x))
#define as_doubles(x) ((doubles)(x))
#define as_longs(x) ((longs)(x))
#define as_ulongs(x) ((ulongs)(x))
#define convert_floats(x) __builtin_convertvector(x, floats)
#define convert_ints(x) __builtin_convertvector(x, ints)
#define convert_doubles(x) __builtin_convertvector(x, doubles)

typedef uint64_t u64;
typedef int64_t s64;

/* Functions for AVX-512 only.
   pick_floats: entries of a table of 16 floats, selected by the last four bits of each index.
   pick_of_two_floats: entries of two such tables, selected by the last five bits of each index.
   scale_floats: x 2^floor(n), rounded once.
   mantissa_floats: m for x = m 2^e with m in [3/4, 3/2); NaN for negative x.
   significand_floats, exponent_floats: m and n for |x| = m 2^n with m in [1, 2); n is -infinity for 0.
   near_rsqrt_floats: x^(-1/2) with a relative error of 2^-14; infinity with the sign of x for zeros; NaN for negative
       x.
   nearer_floats: the operand that is nearer to 0, with the sign of x; y if x is NaN.
   any_above_uints: true if any integer is above a limit.
   any_below_floats: true if any element of x is below that of y. */
#if defined(__AVX512F__)
#define AVX512 1
static inline floats pick_floats(floats table, ints index) {
  return (floats)_mm512_permutexvar_ps((__m512i)index, (__m512)table);
}
static inline floats pick_of_two_floats(floats low, floats high, ints index) {
  return (floats)_mm512_permutex2var_ps((__m512)low, (__m512i)index, (__m512)high);
}
static inline floats scale_floats(floats x, floats n) { return (floats)_mm512_scalef_ps((__m512)x, (__m512)n); }
static inline floats mantissa_floats(floats x) {
  return (floats)_mm512_getmant_ps((__m512)x, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_nan);
}
static inline floats significand_floats(floats x) {
  return (floats)_mm512_getmant_ps((__m512)x, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_zero);
}
static inline floats exponent_floats(floats x) { return (floats)_mm512_getexp_ps((__m512)x); }
static inline floats near_rsqrt_floats(floats x) { return (floats)_mm512_rsqrt14_ps((__m512)x); }
#if defined(__AVX512DQ__)
static inline floats nearer_floats(floats x, floats y) { return (floats)_mm512_range_ps((__m512)x, (__m512)y, 2); }
#endif
static inline int any_above_uints(uints x, uint32_t limit) {
  return _mm512_cmpgt_epu32_mask((__m512i)x, _mm512_set1_epi32((int)limit)) != 0;
}
static inline int any_below_floats(floats x, floats y) {
  return _mm512_cmp_ps_mask((__m512)x, (__m512)y, _CMP_LT_OQ) != 0;
}
#else
#define AVX512 0
#endif

/* convert half of the lanes to doubles, and two vectors of doubles back to floats */
typedef float half_floats __attribute__((vector_size(WIDTH / 2), may_alias));
union halves {
  floats all;
  half_floats half[2];
};

static inline doubles low_doubles(floats x) {
#if defined(__AVX512F__)
  return (doubles)_mm512_cvtps_pd(_mm512_castps512_ps256((__m512)x));
#else
  const union halves u = {x};
  return convert_doubles(u.half[0]);
#endif
}

static inline doubles high_doubles(floats x) {
#if defined(__AVX512F__)
  return (doubles)_mm512_cvtps_pd((__m256)_mm512_extractf64x4_pd((__m512d)x, 1));
#else
  const union halves u = {x};
  return convert_doubles(u.half[1]);
#endif
}

static inline floats join_floats(doubles low, doubles high) {
#if defined(__AVX512F__)
  const __m512d first = _mm512_castpd256_pd512((__m256d)_mm512_cvtpd_ps((__m512d)low));
  return (floats)_mm512_insertf64x4(first, (__m256d)_mm512_cvtpd_ps((__m512d)high), 1);
#else
  union halves u;
  u.half[0] = __builtin_convertvector(low, half_floats);
  u.half[1] = __builtin_convertvector(high, half_floats);
  return u.all;
#endif
}

/* true if any mask is set */
static inline int any_ints(ints mask) {
#if AVX512
  return any_above_uints(as_uints(mask), 0);
#else
  uint64_t part[WIDTH / 8], any = 0;
  memcpy(part, &mask, sizeof part);
  for (int i = 0; i < WIDTH / 8; ++i) any |= part[i];
  return any != 0;
#endif
}

/* computed from the bits, because a scalar float may have excess precision */
static inline floats splat_floats(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return as_floats(bits + (uints){0});
}

static inline doubles splat_doubles(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return as_doubles(bits + (ulongs){0});
}

/* `a` where the mask is set, else `b` */
static inline floats choose_floats(ints mask, floats a, floats b) {
  return as_floats((as_ints(a) & mask) | (as_ints(b) & ~mask));
}

static inline doubles choose_doubles(longs mask, doubles a, doubles b) {
  return as_doubles((as_longs(a) & mask) | (as_longs(b) & ~mask));
}

/* the nearest integer, ties to even, if the machine has an instruction for it */
#if defined(__AVX512F__)
#define ROUNDS 1
static inline floats nearest_floats(floats x) {
  return (floats)_mm512_roundscale_ps((__m512)x, _MM_FROUND_TO_NEAREST_INT);
}
#elif defined(__AVX__)
#define ROUNDS 1
static inline floats nearest_floats(floats x) { return (floats)_mm256_round_ps((__m256)x, _MM_FROUND_TO_NEAREST_INT); }
#elif defined(__SSE4_1__)
#define ROUNDS 1
static inline floats nearest_floats(floats x) { return (floats)_mm_round_ps((__m128)x, _MM_FROUND_TO_NEAREST_INT); }
#elif defined(__aarch64__)
#define ROUNDS 1
static inline floats nearest_floats(floats x) { return (floats)vrndnq_f32((float32x4_t)x); }
#else
#define ROUNDS 0
#endif

/* more_floats returns x if x > y, else y; less_floats returns x if x < y, else y; so a NaN gives y */
static inline floats more_floats(floats x, floats y) {
#if defined(__AVX512F__)
  return (floats)_mm512_max_ps((__m512)x, (__m512)y);
#elif defined(__AVX__)
  return (floats)_mm256_max_ps((__m256)x, (__m256)y);
#elif defined(__SSE2__)
  return (floats)_mm_max_ps((__m128)x, (__m128)y);
#else
  return choose_floats(x > y, x, y);
#endif
}

static inline floats less_floats(floats x, floats y) {
#if defined(__AVX512F__)
  return (floats)_mm512_min_ps((__m512)x, (__m512)y);
#elif defined(__AVX__)
  return (floats)_mm256_min_ps((__m256)x, (__m256)y);
#elif defined(__SSE2__)
  return (floats)_mm_min_ps((__m128)x, (__m128)y);
#else
  return choose_floats(x < y, x, y);
#endif
}

/* The maximum as in HLO: NaN if an operand is NaN. The AVX-512 instruction takes a mask, and copies y to lanes in which
   y is NaN. If a selection followed the maximum instead, gcc 12 would need two more instructions. */
static inline floats maximum_floats(floats x, floats y) {
#if defined(__AVX512F__)
  return (floats)_mm512_mask_max_ps((__m512)y, _mm512_cmp_ps_mask((__m512)y, (__m512)y, _CMP_ORD_Q), (__m512)y,
                                    (__m512)x);
#else
  return choose_floats(y == y, more_floats(y, x), y);
#endif
}

static inline floats minimum_floats(floats x, floats y) {
#if defined(__AVX512F__)
  return (floats)_mm512_mask_min_ps((__m512)y, _mm512_cmp_ps_mask((__m512)y, (__m512)y, _CMP_ORD_Q), (__m512)y,
                                    (__m512)x);
#else
  return choose_floats(y == y, less_floats(y, x), y);
#endif
}

static inline floats sqrt_floats(floats x) {
#if defined(__AVX512F__)
  return (floats)_mm512_sqrt_ps((__m512)x);
#elif defined(__AVX__)
  return (floats)_mm256_sqrt_ps((__m256)x);
#elif defined(__SSE2__)
  return (floats)_mm_sqrt_ps((__m128)x);
#elif defined(__aarch64__)
  return (floats)vsqrtq_f32((float32x4_t)x);
#else
  for (int i = 0; i < WIDTH / 4; ++i) x[i] = sqrtf(x[i]);
  return x;
#endif
}

static inline doubles sqrt_doubles(doubles x) {
#if defined(__AVX512F__)
  return (doubles)_mm512_sqrt_pd((__m512d)x);
#elif defined(__AVX__)
  return (doubles)_mm256_sqrt_pd((__m256d)x);
#elif defined(__SSE2__)
  return (doubles)_mm_sqrt_pd((__m128d)x);
#elif defined(__aarch64__)
  return (doubles)vsqrtq_f64((float64x2_t)x);
#else
  for (int i = 0; i < WIDTH / 8; ++i) x[i] = sqrt(x[i]);
  return x;
#endif
}

/* a b + c, rounded once if the machine has an instruction for it. For AVX2 it is assembler text, because gcc 12 otherwise moves sums between registers
 * and stores them. */
static inline floats mad_floats(floats a, floats b, floats c) {
#if defined(__AVX512F__)
  return (floats)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__FMA__)
  __asm__("vfmadd231ps {%2, %1, %0|%0, %1, %2}" : "+x"(c) : "x"(a), "x"(b));
  return c;
#elif defined(__aarch64__)
  return (floats)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
  return a * b + c;
#endif
}

static inline doubles mad_doubles(doubles a, doubles b, doubles c) {
#if defined(__AVX512F__)
  return (doubles)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(__FMA__)
  __asm__("vfmadd231pd {%2, %1, %0|%0, %1, %2}" : "+x"(c) : "x"(a), "x"(b));
  return c;
#elif defined(__aarch64__)
  return (doubles)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
#else
  return a * b + c;
#endif
}

static inline ints splat_ints(int32_t x) { return x + (ints){0}; }

static inline ints mad_ints(ints a, ints b, ints c) { return as_ints(as_uints(a) * as_uints(b) + as_uints(c)); }

/* Load narrow numbers from any address, as floats. gcc 12 converts bytes to 32 bits lane by lane unless they are
   converted in two steps. */
static inline floats widen_bf16(const uint16_t *from) {
  typedef uint16_t narrow __attribute__((vector_size(WIDTH / 2), aligned(2), may_alias));
  return as_floats(__builtin_convertvector(*(const narrow *)from, uints) << 16);
}

static inline floats widen_s8(const int8_t *from) {
  typedef int8_t narrow __attribute__((vector_size(WIDTH / 4), aligned(1), may_alias));
  typedef int16_t wider __attribute__((vector_size(WIDTH / 2)));
  return convert_floats(convert_ints(__builtin_convertvector(*(const narrow *)from, wider)));
}

static inline floats widen_u8(const uint8_t *from) {
  typedef uint8_t narrow __attribute__((vector_size(WIDTH / 4), aligned(1), may_alias));
  typedef uint16_t wider __attribute__((vector_size(WIDTH / 2)));
  return convert_floats(convert_ints(__builtin_convertvector(*(const narrow *)from, wider)));
}

/* 1 if the compiler supports matrix tiles (AMX), tiles of bf16, and tiles of 8-bit integers. gcc defines the first
   macro of each line, and clang the second. */
#if defined(__x86_64__) && defined(__linux__) && (defined(__AMX_TILE__) || defined(__AMXTILE__))
#define TILES 1
#else
#define TILES 0
#endif
#if TILES && (defined(__AMX_BF16__) || defined(__AMXBF16__))
#define TILES_BF16 1
#else
#define TILES_BF16 0
#endif
#if TILES && (defined(__AMX_INT8__) || defined(__AMXINT8__))
#define TILES_INT8 1
#else
#define TILES_INT8 0
#endif

/* true if Linux allows this process to use matrix tiles (arch_prctl, ARCH_REQ_XCOMP_PERM) */
static inline int allows_tiles(void) {
#if TILES
  long answer = 158;
  __asm__ volatile ("syscall" : "+a"(answer) : "D"(0x1023L), "S"(18L) : "rcx", "r11", "memory");
  return answer == 0;
#else
  return 0;
#endif
}

/* the same 4 bytes in each lane, from any address */
static inline ints splat_group(const void *from) {
  int32_t x;
  memcpy(&x, from, sizeof x);
  return x + (ints){0};
}

/* `c` plus the sum of four products in each lane: the four u8 of `a` times the four s8 of `b`. A processor without an
   instruction for this sum multiplies pairs of 16-bit numbers, or one number after another. */
static inline ints mad_u8_s8(ints a, ints b, ints c) {
#if defined(__AVX512VNNI__) && defined(__AVX512F__)
  return (ints)_mm512_dpbusd_epi32((__m512i)c, (__m512i)a, (__m512i)b);
#elif defined(__AVXVNNI__) && defined(__AVX__) && !defined(__AVX512F__)
  return (ints)_mm256_dpbusd_avx_epi32((__m256i)c, (__m256i)a, (__m256i)b);
#elif defined(__AVX512BW__)
  const __m512i odd = _mm512_madd_epi16(_mm512_srli_epi16((__m512i)a, 8), _mm512_srai_epi16((__m512i)b, 8));
  const __m512i even = _mm512_madd_epi16(_mm512_and_si512((__m512i)a, _mm512_set1_epi16(255)),
                                         _mm512_srai_epi16(_mm512_slli_epi16((__m512i)b, 8), 8));
  return as_ints(as_uints(c) + as_uints(odd) + as_uints(even));
#elif defined(__AVX2__) && !defined(__AVX512F__)
  const __m256i odd = _mm256_madd_epi16(_mm256_srli_epi16((__m256i)a, 8), _mm256_srai_epi16((__m256i)b, 8));
  const __m256i even = _mm256_madd_epi16(_mm256_and_si256((__m256i)a, _mm256_set1_epi16(255)),
                                         _mm256_srai_epi16(_mm256_slli_epi16((__m256i)b, 8), 8));
  return as_ints(as_uints(c) + as_uints(odd) + as_uints(even));
#elif defined(__SSE2__) && !defined(__AVX__)
  const __m128i odd = _mm_madd_epi16(_mm_srli_epi16((__m128i)a, 8), _mm_srai_epi16((__m128i)b, 8));
  const __m128i even = _mm_madd_epi16(_mm_and_si128((__m128i)a, _mm_set1_epi16(255)),
                                      _mm_srai_epi16(_mm_slli_epi16((__m128i)b, 8), 8));
  return as_ints(as_uints(c) + as_uints(odd) + as_uints(even));
#else
  uints sum = as_uints(c);
  for (int k = 0; k < 32; k += 8) sum += (as_uints(a) >> k & 255) * as_uints(as_ints(as_uints(b) << (24 - k)) >> 24);
  return as_ints(sum);
#endif
}

static inline ints mad_s8_u8(ints a, ints b, ints c) { return mad_u8_s8(b, a, c); }

/* `c` plus the sum of four products, for numbers of `a` and `b` that are both s8 or both u8. mad_u8_s8 needs one
   operand of each type, so 128 is added to each s8 of `a`, or subtracted from each u8 of `a`. The caller corrects the
   sum. */
static inline ints mad_s8(ints a, ints b, ints c) { return mad_u8_s8(as_ints(as_uints(a) ^ 0x80808080u), b, c); }
static inline ints mad_u8(ints a, ints b, ints c) { return mad_u8_s8(b, as_ints(as_uints(a) ^ 0x80808080u), c); }

/* `c` plus the sum of two products of bf16 in each lane of `a` and `b`. Each addition rounds. The instruction treats
   subnormal numbers as zeros. On processors with AMX, it takes four times as long as a multiply-add. */
static inline floats mad_bf16(floats a, floats b, floats c) {
#if defined(__AVX512BF16__) && defined(__AVX512F__) && !TILES
  return (floats)_mm512_dpbf16_ps((__m512)c, (__m512bh)a, (__m512bh)b);
#else
  const uints x = as_uints(a), y = as_uints(b);
  c = mad_floats(as_floats(x & 0xffff0000), as_floats(y & 0xffff0000), c);
  return mad_floats(as_floats(x << 16), as_floats(y << 16), c);
#endif
}
