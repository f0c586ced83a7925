/* hip_matrix_on_cpu.h - AMD's MFMA instructions, on the CPU (included by hip_on_cpu.h).
 *
 * The only source is the register layouts in the instruction set guides of CDNA 2 and CDNA 3, which define which lane and
 * register holds which element. Sums are added in the order of k.
 *
 * FAULTS, in addition to those of cuda_on_cpu.h: a wavefront whose number of lanes is not 64. */
#ifndef SETT_HIP_MATRIX_ON_CPU_H
#define SETT_HIP_MATRIX_ON_CPU_H

#define SETT_MFMA 1 // makes generated code call the functions of this file instead of MFMA instructions

// The values of A and B of each thread of a block.
template <class Sum> struct sett_mfma_values { static Sum a[SETT_THREADS][4], b[SETT_THREADS][4]; };
template <class Sum> Sum sett_mfma_values<Sum>::a[SETT_THREADS][4];
template <class Sum> Sum sett_mfma_values<Sum>::b[SETT_THREADS][4];

/* D = A B + C, where D has 16 x 16 elements, each a sum of 4 * `count` products. Lane l passes `count` elements of row
 * l % 16 of A, and of column l % 16 of B. They are the factors of products count * (l / 16) to count * (l / 16) +
 * count - 1 of the sum. Register r of D is in column l % 16 and row 4 (l / 16) + r; for f64 (`by_four`), in row 4 r +
 * l / 16. */
template <int count, bool by_four, class Sum, class Value>
static void sett_mfma_16x16(int line, Sum *d, const Value *a, const Value *b, Sum (*value)(Value)) {
  typedef sett_mfma_values<Sum> brought;
  const int lane = sett.current % 64, first = sett.current - lane;
  if (SETT_LANES != 64) {
    sett_fail("thread %d: MFMA of line %d in a wavefront of %d lanes", sett.current, line, (int)SETT_LANES);
    sett_wait();
  }
  for (int e = 0; e < count; ++e) {
    brought::a[sett.current][e] = value(a[e]);
    brought::b[sett.current][e] = value(b[e]);
  }
  sett_exchange(line, ~(uint64_t)0, 0, -1);
  for (int r = 0; r < 4; ++r) {
    const int i = by_four ? 4 * r + lane / 16 : 4 * (lane / 16) + r, j = lane % 16;
    for (int k = 0; k < 4 * count; ++k)
      d[r] += brought::a[first + k / count * 16 + i][k % count] * brought::b[first + k / count * 16 + j][k % count];
  }
  sett_exchange(line, ~(uint64_t)0, 0, -1); // wait until all lanes have read these values, before a lane stores its
                                            // next ones
}
static inline float sett_mfma_bf16(unsigned short bits) {
  const uint32_t high = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &high, sizeof value);
  return value;
}
static inline float sett_mfma_f16(unsigned short bits) { return __half2float(__ushort_as_half(bits)); }
static inline float sett_mfma_f32(float value) { return value; }
static inline double sett_mfma_f64(double value) { return value; }
static inline int sett_mfma_s8(signed char value) { return value; }
#define sett_mfma_f32_16x16x4_f32(d, a, b) sett_mfma_16x16<1, false>(__LINE__, d, a, b, sett_mfma_f32)
#define sett_mfma_f64_16x16x4_f64(d, a, b) sett_mfma_16x16<1, true>(__LINE__, d, a, b, sett_mfma_f64)
#define sett_mfma_f32_16x16x16_bf16(d, a, b) sett_mfma_16x16<4, false>(__LINE__, d, a, b, sett_mfma_bf16)
#define sett_mfma_f32_16x16x16_f16(d, a, b) sett_mfma_16x16<4, false>(__LINE__, d, a, b, sett_mfma_f16)
#define sett_mfma_s32_16x16x16_s8(d, a, b) sett_mfma_16x16<4, false>(__LINE__, d, a, b, sett_mfma_s8)
#endif
