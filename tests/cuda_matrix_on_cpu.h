// cuda_matrix_on_cpu.h - the PTX instructions of matrix products, on the CPU (a part of cuda_on_cpu.h).
//
// Written from the PTX manual's sections on mma, ldmatrix and cp.async, and from nothing else: which lane and register
// holds which element, which bytes each lane reads, and when a copy has arrived. Sums are added in the order of k.
//
// FAULTS, beside those of cuda_on_cpu.h: an address that is not aligned to what is accessed; a copy of a size that does
// not exist. A copy arrives when its thread waits for its group, no sooner: a wait that is missing leaves poison.
#ifndef SETT_CUDA_MATRIX_ON_CPU_H
#define SETT_CUDA_MATRIX_ON_CPU_H

#define SETT_PTX 1 // generated text asks for it: this file has what else would be assembly

// ---- mma ----

// The registers of A and B that each thread of a block brings.
static uint32_t sett_mma_a[SETT_THREADS][4], sett_mma_b[SETT_THREADS][4];

static inline void sett_mma_bring(int line, const void *a, size_t a_bytes, const void *b, size_t b_bytes) {
  memcpy(sett_mma_a[sett.current], a, a_bytes);
  memcpy(sett_mma_b[sett.current], b, b_bytes);
  sett_exchange(line, 0xffffffffu, 0, -1);
}

static inline float sett_mma_bf16(uint32_t bits) {
  bits <<= 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
static inline float sett_mma_f16(uint32_t bits) { return __half2float(__ushort_as_half((unsigned short)bits)); }
static inline int sett_mma_s8(uint32_t bits) { return (int8_t)bits; }
static inline int sett_mma_u8(uint32_t bits) { return (int)(bits & 0xff); }

// D = A B + C of 16 x 8: groupID = lane / 4, threadID_in_group = lane % 4. Accumulator i: row groupID + 8 (i / 2), column
// 2 threadID_in_group + i % 2. `pack` values of A in a register, along k: value i of A has row groupID + 8 where i / pack
// is odd, and k = pack threadID_in_group + i % pack, from i = 2 pack on 4 pack more; value i of B has column groupID and
// k = pack threadID_in_group + i % pack, from i = pack on 4 pack more.
template <int pack, class Sum, class Value>
static void sett_mma_16x8(int line, Sum *d, const uint32_t *a, const uint32_t *b, Value (*value)(uint32_t)) {
  const int lane = sett.current % 32, first = sett.current - lane, width = 32 / pack;
  sett_mma_bring(line, a, 4 * sizeof *a, b, 2 * sizeof *b);
  for (int i = 0; i < 4; ++i) {
    const int row = lane / 4 + 8 * (i / 2), column = lane % 4 * 2 + i % 2;
    Sum sum = d[i];
    for (int k = 0; k < 8 * pack; ++k) {
      const int within = k % (4 * pack) / pack, half = k / (4 * pack);
      const uint32_t of_a = sett_mma_a[first + row % 8 * 4 + within][2 * half + row / 8];
      const uint32_t of_b = sett_mma_b[first + column * 4 + within][half];
      sum += value(of_a >> k % pack * width & (uint32_t)((1u << width) - 1)) *
             value(of_b >> k % pack * width & (uint32_t)((1u << width) - 1));
    }
    d[i] = sum;
  }
  sett_exchange(line, 0xffffffffu, 0, -1); // nobody brings the next registers before all have read these
}
#define sett_ptx_mma_m16n8k16_f32_bf16(d, a, b) sett_mma_16x8<2>(__LINE__, d, a, b, sett_mma_bf16)
#define sett_ptx_mma_m16n8k16_f32_f16(d, a, b) sett_mma_16x8<2>(__LINE__, d, a, b, sett_mma_f16)
#define sett_ptx_mma_m16n8k32_s32_s8(d, a, b) sett_mma_16x8<4>(__LINE__, d, a, b, sett_mma_s8)
#define sett_ptx_mma_m16n8k32_s32_u8(d, a, b) sett_mma_16x8<4>(__LINE__, d, a, b, sett_mma_u8)

// The same of f64, 4 deep: value i of A has row groupID + 8 i and k = threadID_in_group, that of B column groupID and
// k = threadID_in_group. Each product is added by one rounding.
static inline void sett_mma_16x8x4(int line, double *d, const double *a, const double *b) {
  const int lane = sett.current % 32, first = sett.current - lane;
  sett_mma_bring(line, a, 2 * sizeof *a, b, sizeof *b);
  for (int i = 0; i < 4; ++i) {
    const int row = lane / 4 + 8 * (i / 2), column = lane % 4 * 2 + i % 2;
    for (int k = 0; k < 4; ++k) {
      double of_a[2], of_b;
      memcpy(of_a, sett_mma_a[first + row % 8 * 4 + k], sizeof of_a);
      memcpy(&of_b, sett_mma_b[first + column * 4 + k], sizeof of_b);
      d[i] = fma(of_a[row / 8], of_b, d[i]);
    }
  }
  sett_exchange(line, 0xffffffffu, 0, -1);
}
#define sett_ptx_mma_m16n8k4_f64_f64(d, a, b) sett_mma_16x8x4(__LINE__, d, a, b)

// prmt: byte i of the result is the byte that digit i of the selector numbers, those of a first.
static inline uint32_t __byte_perm(uint32_t a, uint32_t b, uint32_t selector) {
  const uint64_t both = (uint64_t)b << 32 | a;
  uint32_t made = 0;
  for (int i = 0; i < 4; ++i) made |= (uint32_t)(both >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
  return made;
}

// ---- ldmatrix ----

// Four matrices of 8 rows of 8 elements of 16 bits. Lane l brings the address of row l % 8 of matrix l / 8. Of each matrix
// a lane gets the elements 2 (l % 4) and 2 (l % 4) + 1 of row l / 4; with .trans those of the transposed matrix.
static inline void sett_ldmatrix(int line, uint32_t *to, const void *row, bool trans) {
  const int lane = sett.current % 32, first = sett.current - lane;
  if ((uintptr_t)row % 16) {
    sett_fail("thread %d: ldmatrix of line %d from %p, which is not a multiple of 16", sett.current, line, row);
    sett_wait();
  }
  const uint64_t address = (uint64_t)(uintptr_t)row;
  memcpy(sett_mma_a[sett.current], &address, sizeof address);
  sett_exchange(line, 0xffffffffu, 0, -1);
  for (int matrix = 0; matrix < 4; ++matrix) {
    to[matrix] = 0;
    for (int e = 0; e < 2; ++e) {
      const int of_row = trans ? lane % 4 * 2 + e : lane / 4, column = trans ? lane / 4 : lane % 4 * 2 + e;
      uint64_t from;
      uint16_t element;
      memcpy(&from, sett_mma_a[first + matrix * 8 + of_row], sizeof from);
      memcpy(&element, (const char *)(uintptr_t)from + 2 * column, sizeof element);
      to[matrix] |= (uint32_t)element << 16 * e;
    }
  }
  sett_exchange(line, 0xffffffffu, 0, -1);
}
#define sett_ptx_ldmatrix_x4(to, row) sett_ldmatrix(__LINE__, to, row, false)
#define sett_ptx_ldmatrix_x4_trans(to, row) sett_ldmatrix(__LINE__, to, row, true)

// ---- cp.async ----

enum { SETT_COPIES = 256 };
struct sett_copy {
  void *to;
  const void *from;
  unsigned bytes, read;
};
// The copies of a thread that have not arrived, and after how many of them each open group ends.
struct sett_thread_copies {
  uint64_t block;
  int copies, groups, group[SETT_COPIES];
  sett_copy copy[SETT_COPIES];
};
static sett_thread_copies sett_copies[SETT_THREADS];

static inline sett_thread_copies &sett_own_copies(void) {
  sett_thread_copies &own = sett_copies[sett.current];
  if (own.block != sett_blocks) own.copies = own.groups = 0;
  own.block = sett_blocks;
  return own;
}

static inline void sett_cp_async(int line, void *to, const void *from, unsigned bytes, unsigned read) {
  auto &own = sett_own_copies();
  if ((bytes != 4 && bytes != 8 && bytes != 16) || read > bytes || (uintptr_t)to % bytes || (uintptr_t)from % bytes ||
      own.copies == SETT_COPIES) {
    sett_fail("thread %d: cp.async of line %d, %u of %u bytes from %p to %p, with %d others under way", sett.current,
              line, read, bytes, from, to, own.copies);
    sett_wait();
  }
  own.copy[own.copies++] = {to, from, bytes, read};
}
static inline void sett_ptx_cp_async_commit_group(void) {
  auto &own = sett_own_copies();
  own.group[own.groups++] = own.copies;
}
// All groups but the last `left` arrive.
static inline void sett_ptx_cp_async_wait_group(int left) {
  auto &own = sett_own_copies();
  const int groups = own.groups - left, copies = groups > 0 ? own.group[groups - 1] : 0;
  if (groups <= 0) return;
  for (int n = 0; n < copies; ++n) {
    const sett_copy &c = own.copy[n];
    memset(c.to, 0, c.bytes);
    memcpy(c.to, c.from, c.read);
  }
  memmove(own.copy, own.copy + copies, sizeof own.copy[0] * (size_t)(own.copies - copies));
  own.copies -= copies;
  for (int n = groups; n < own.groups; ++n) own.group[n - groups] = own.group[n] - copies;
  own.groups -= groups;
}
#define sett_ptx_cp_async(to, from, bytes, read) sett_cp_async(__LINE__, to, from, bytes, read)

#endif
