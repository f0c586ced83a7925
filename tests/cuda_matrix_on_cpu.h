/* cuda_matrix_on_cpu.h - the PTX instructions of matrix products, on the CPU (included by cuda_on_cpu.h).
 *
 * The only source is the PTX manual, in its sections on mma, ldmatrix, cp.async and wgmma. It defines which lane and register
 * holds which element, which bytes each lane reads, and when a copy has arrived. Sums are added in the order of k.
 *
 * FAULTS, in addition to those of cuda_on_cpu.h:
 *   - an address that is not aligned to the access
 *   - a copy of a size that does not exist
 *   - a wgmma of a thread that has not fenced its copies or its registers
 *   - a wgmma with a descriptor that is outside the launch's shared memory, or of a kind that these kernels do not use
 * A copy arrives only when its thread waits for its group, so a missing wait leaves poison. A wgmma reads and adds when
 * its thread waits for its group. */
#ifndef SETT_CUDA_MATRIX_ON_CPU_H
#define SETT_CUDA_MATRIX_ON_CPU_H

#define SETT_PTX 1 // makes generated code call the functions of this file instead of PTX instructions

// ---- mma ----

// The registers of A and B of each thread of a block.
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

/* D = A B + C of 16 x 8. With g = lane / 4, t = lane % 4 and `pack` values along k in a register:
 *   accumulator i   row g + 8 (i / 2), column 2 t + i % 2
 *   value i of A    row g, or g + 8 if i / pack is odd; k = pack t + i % pack, plus 4 pack if i >= 2 pack
 *   value i of B    column g; k = pack t + i % pack, plus 4 pack if i >= pack */
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
  sett_exchange(line, 0xffffffffu, 0, -1); // each lane reads these registers before any lane stores its next ones
}
#define sett_ptx_mma_m16n8k16_f32_bf16(d, a, b) sett_mma_16x8<2>(__LINE__, d, a, b, sett_mma_bf16)
#define sett_ptx_mma_m16n8k16_f32_f16(d, a, b) sett_mma_16x8<2>(__LINE__, d, a, b, sett_mma_f16)
#define sett_ptx_mma_m16n8k32_s32_s8(d, a, b) sett_mma_16x8<4>(__LINE__, d, a, b, sett_mma_s8)
#define sett_ptx_mma_m16n8k32_s32_u8(d, a, b) sett_mma_16x8<4>(__LINE__, d, a, b, sett_mma_u8)

/* D = A B + C of 16 x 8 for f64, with 4 values of k. g = lane / 4, t = lane % 4: value i of A is in row g + 8 i at
 * k = t, and the value of B is in column g at k = t. Each product is added with one rounding. */
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

// prmt: bytes 0 to 3 are those of a, bytes 4 to 7 those of b. Byte i of the result is the byte that digit i of the
// selector names.
static inline uint32_t __byte_perm(uint32_t a, uint32_t b, uint32_t selector) {
  const uint64_t both = (uint64_t)b << 32 | a;
  uint32_t made = 0;
  for (int i = 0; i < 4; ++i) made |= (uint32_t)(both >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
  return made;
}

// ---- ldmatrix ----

/* Load four matrices of 8 x 8 elements of 16 bits. Lane l passes the address of row l % 8 of matrix l / 8. From each matrix
 * it gets the elements 2 (l % 4) and 2 (l % 4) + 1 of row l / 4; with .trans, of row l / 4 of the transposed matrix. */
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
// The pending copies of a thread. group[n] is the number of pending copies up to the end of group n. Groups that have
// arrived are not counted.
struct sett_thread_copies {
  uint64_t block;
  bool unfenced; // true if copies have arrived that a wgmma would miss without a fence
  bool late;     // true if `unfenced` was true at the last barrier, so that a fence comes too late for other threads
  int copies, groups, group[SETT_COPIES];
  sett_copy copy[SETT_COPIES];
};
static sett_thread_copies sett_copies[SETT_THREADS];

static inline sett_thread_copies &sett_own_copies(void) {
  sett_thread_copies &own = sett_copies[sett.current];
  if (own.block != sett_blocks) own.copies = own.groups = own.unfenced = own.late = 0;
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
// Let the copies of all groups arrive, except the `left` most recent groups.
static inline void sett_ptx_cp_async_wait_group(int left) {
  auto &own = sett_own_copies();
  const int groups = own.groups - left, copies = groups > 0 ? own.group[groups - 1] : 0;
  if (groups <= 0) return;
  for (int n = 0; n < copies; ++n) {
    const sett_copy &c = own.copy[n];
    memset(c.to, 0, c.bytes);
    memcpy(c.to, c.from, c.read);
    own.unfenced = true;
  }
  memmove(own.copy, own.copy + copies, sizeof own.copy[0] * (size_t)(own.copies - copies));
  own.copies -= copies;
  for (int n = groups; n < own.groups; ++n) own.group[n - groups] = own.group[n] - copies;
  own.groups -= groups;
}
#define sett_ptx_cp_async(to, from, bytes, read) sett_cp_async(__LINE__, to, from, bytes, read)
static inline void sett_ptx_fence_proxy_async(void) { sett_own_copies().unfenced = false; }
static inline void sett_barrier_of_copies(int line) {
  auto &own = sett_own_copies();
  own.late = own.unfenced;
  sett_barrier(line);
}
#undef __syncthreads
#define __syncthreads() sett_barrier_of_copies(__LINE__)

// Return true if a wgmma of a thread of the block may miss copies of another thread.
static inline bool sett_late_copies(void) {
  for (unsigned t = 0; t < blockDim.x; ++t)
    if (sett_copies[t].block == sett_blocks && sett_copies[t].late) return true;
  return false;
}

// ---- wgmma ----

enum { SETT_PRODUCTS = 16 };
// A pending product, m64 x n x k16.
struct sett_product {
  float *d;
  uint64_t a, b;
  int n;
  bool a_lines, b_lines;
  float (*value)(uint32_t);
};
struct sett_thread_products {
  uint64_t block;
  bool fenced; // true if the thread has executed a fence since the last wait
  int products, groups, group[SETT_PRODUCTS];
  sett_product product[SETT_PRODUCTS];
};
static sett_thread_products sett_products[SETT_THREADS];

static inline sett_thread_products &sett_own_products(void) {
  sett_thread_products &own = sett_products[sett.current];
  if (own.block != sett_blocks) own.products = own.groups = own.fenced = 0;
  own.block = sett_blocks;
  return own;
}

/* Return an element of the matrix that a descriptor describes, with the swizzle of 128 bytes: bits 7 to 9 of an address
 * are XORed into bits 4 to 6. The bits of a descriptor:
 *   0 to 13    the address, in units of 16 bytes
 *   16 to 29   the leading offset, in units of 16 bytes
 *   32 to 45   the stride offset, in units of 16 bytes
 *   49 to 51   the row offset of the swizzle
 *   62 to 63   the kind of swizzle; 1 means 128 bytes */
static inline float sett_wgmma_element(const sett_product &p, uint64_t descriptor, bool lines, int line, int k) {
  const uint64_t start = (descriptor & 0x3fff) << 4, leading = (descriptor >> 16 & 0x3fff) << 4,
                 stride = (descriptor >> 32 & 0x3fff) << 4;
  uint64_t at = start;
  if (lines) // 128 contiguous bytes are 64 rows of A (or columns of B) at one k; 8 such k are adjacent
    at += (uint64_t)(line % 64 * 2 + k % 8 * 128) + (uint64_t)(line / 64) * leading + (uint64_t)(k / 8) * stride;
  else // 128 contiguous bytes are 64 k of one row of A (or column of B); 8 such rows are adjacent
    at += (uint64_t)(k * 2 + line % 8 * 128) + (uint64_t)(line / 8) * stride;
  at ^= at >> 3 & 0x70;
  if (at + 2 > sett_dynamic_bytes) {
    sett_fail("thread %d: wgmma from byte %d of %d of shared memory", sett.current, (int)at, (int)sett_dynamic_bytes);
    sett_wait();
  }
  uint16_t bits;
  memcpy(&bits, sett_dynamic + at, sizeof bits);
  return p.value(bits);
}

// Accumulator i of lane l of warp w: row 16 w + l / 4 + 8 (i / 2 % 2), column 8 (i / 4) + 2 (l % 4) + i % 2.
static inline void sett_wgmma_add(const sett_product &p) {
  const int thread = sett.current % 128, row = thread / 32 * 16 + thread % 32 / 4;
  for (int i = 0; i < p.n / 2; ++i)
    for (int k = 0; k < 16; ++k)
      p.d[i] += sett_wgmma_element(p, p.a, p.a_lines, row + i / 2 % 2 * 8, k) *
                sett_wgmma_element(p, p.b, p.b_lines, i / 4 * 8 + thread % 4 * 2 + i % 2, k);
}

static inline void sett_wgmma(int line, const sett_product &p) {
  auto &own = sett_own_products();
  sett_exchange(line, 0xffffffffu, 0, -1);
  if (sett_own_copies().unfenced || sett_late_copies() || !own.fenced || own.products == SETT_PRODUCTS ||
      p.a >> 62 != 1 || p.b >> 62 != 1 || (p.a | p.b) >> 49 & 7) {
    sett_fail("thread %d: wgmma of line %d without a fence, or with a descriptor of another kind", sett.current, line);
    sett_wait();
  }
  own.product[own.products++] = p;
}
static inline void sett_ptx_wgmma_fence(void) { sett_own_products().fenced = true; }
static inline void sett_ptx_wgmma_commit_group(void) {
  auto &own = sett_own_products();
  if (own.groups == SETT_PRODUCTS) {
    sett_fail("thread %d: %d groups of wgmma that nobody has waited for", sett.current, own.groups);
    sett_wait();
  }
  own.group[own.groups++] = own.products;
}
// Add the products of all groups, except the `left` most recent groups.
static inline void sett_ptx_wgmma_wait_group(int left) {
  auto &own = sett_own_products();
  const int groups = own.groups - left, products = groups > 0 ? own.group[groups - 1] : 0;
  own.fenced = false;
  if (groups <= 0) return;
  for (int n = 0; n < products; ++n) sett_wgmma_add(own.product[n]);
  memmove(own.product, own.product + products, sizeof own.product[0] * (size_t)(own.products - products));
  own.products -= products;
  for (int n = groups; n < own.groups; ++n) own.group[n - groups] = own.group[n] - products;
  own.groups -= groups;
}
#define SETT_WGMMA(n, value, d, a, b, a_lines, b_lines) \
  sett_wgmma(__LINE__, {d, a, b, n, a_lines != 0, b_lines != 0, value})
#define sett_ptx_wgmma_m64n64k16_f32_bf16(...) SETT_WGMMA(64, sett_mma_bf16, __VA_ARGS__)
#define sett_ptx_wgmma_m64n128k16_f32_bf16(...) SETT_WGMMA(128, sett_mma_bf16, __VA_ARGS__)
#define sett_ptx_wgmma_m64n256k16_f32_bf16(...) SETT_WGMMA(256, sett_mma_bf16, __VA_ARGS__)
#define sett_ptx_wgmma_m64n64k16_f32_f16(...) SETT_WGMMA(64, sett_mma_f16, __VA_ARGS__)
#define sett_ptx_wgmma_m64n128k16_f32_f16(...) SETT_WGMMA(128, sett_mma_f16, __VA_ARGS__)
#define sett_ptx_wgmma_m64n256k16_f32_f16(...) SETT_WGMMA(256, sett_mma_f16, __VA_ARGS__)

#endif
