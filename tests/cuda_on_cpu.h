/* cuda_on_cpu.h - the part of CUDA that runs a generated .cu as C++17 on the CPU, and finds faults that a GPU hides.
 *
 * It replaces <cuda_runtime.h> and <cuda_fp16.h>. A launch runs one block after another. The threads of a block are
 * fibres that switch at barriers and at exchanges between lanes. A thread that has ended leaves its stack to the next
 * thread, so that a kernel without barriers is a plain loop over its threads. A launch that a device would refuse is
 * refused. Only one launch runs at a time.
 *
 * Compile with -ffp-contract=off. Then sums, products, quotients and square roots equal CUDA's; other functions are
 * libm's.
 *
 * FAULTS: these end the launch with cudaErrorLaunchFailure and a line on standard error, which is also in
 * `sett_cuda_fault`:
 *   - a barrier, if a thread of the block has ended or waits at a barrier on another source line
 *   - an exchange (shuffle, __syncwarp), if a lane of the mask has ended, waits elsewhere or passes another mask
 *   - a mask without the lane itself, and a value from a lane outside the mask
 *   - an atomic at a misaligned address
 *   - bytes written outside a block of cudaMallocAsync (cudaFreeAsync then returns cudaErrorIllegalAddress)
 * A stack that is too small causes a segmentation fault, and so does an access more than 256 bytes outside a block of
 * cudaMallocAsync.
 *
 * ORDERS: the order of blocks and threads changes from launch to launch: ascending, descending, then shuffled
 * differently each time. If a barrier is missing, the results of one order differ. `sett_cuda_order` = 0, 1, 2.. selects
 * one order for all later launches; with -1 each launch has another.
 *
 * POISON: before each block, shared memory is filled with bytes 0xff (a NaN) or 0x7f alternately. So is memory of
 * cudaMallocAsync.
 *
 * ALIGNMENT: with -fsanitize=alignment an access traps if its address is not aligned to its type.
 *
 * BOUNDS: with -fsanitize=bounds an index outside the type of a shared array traps. With -fsanitize=address shared
 * arrays are plain static arrays with red zones, and are not poisoned, because compilers give no red zones to variables
 * in a section of their own. Blocks of cudaMallocAsync then have red zones, too. Buffers of the caller have the
 * protection that the caller gives them (malloc under ASan, unmapped pages in gen/run/harness/c.c).
 *
 * DYNAMIC: the dynamic shared memory of a launch is SETT_DYNAMIC_SHARED. More than 48 KiB needs cudaFuncSetAttribute
 * first. */
#ifndef SETT_CUDA_ON_CPU_H
#define SETT_CUDA_ON_CPU_H
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <type_traits>
#include <ucontext.h>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#define SETT_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SETT_ASAN 1
#endif
#endif

#if SETT_ASAN
#include <sanitizer/asan_interface.h>
#endif

#define __device__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
#if SETT_ASAN
#define __shared__ static
#else
#define __shared__ static __attribute__((section("sett_shared")))
extern char __start_sett_shared[] __attribute__((weak, visibility("hidden")));
extern char __stop_sett_shared[] __attribute__((weak, visibility("hidden")));
#endif

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

static dim3 blockIdx, threadIdx, blockDim, gridDim;
#ifndef SETT_LANES // threads of a warp: 32, or 64 (hip_on_cpu.h)
#define SETT_LANES 32
#endif
enum { warpSize = SETT_LANES };

// Vectors of 2 and 4, aligned as CUDA's: to their size, at most 16 bytes.
#define SETT_VECTORS(name, type)                                          \
  struct alignas(2 * sizeof(type)) name##2 {                              \
    type x, y;                                                            \
  };                                                                      \
  struct alignas(sizeof(type) < 4 ? 4 * sizeof(type) : 16) name##4 {      \
    type x, y, z, w;                                                      \
  };                                                                      \
  static inline name##2 make_##name##2(type x, type y) { return {x, y}; } \
  static inline name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
SETT_VECTORS(char, signed char)
SETT_VECTORS(uchar, unsigned char)
SETT_VECTORS(short, short)
SETT_VECTORS(ushort, unsigned short)
SETT_VECTORS(int, int)
SETT_VECTORS(uint, unsigned)
SETT_VECTORS(longlong, long long)
SETT_VECTORS(ulonglong, unsigned long long)
SETT_VECTORS(float, float)
SETT_VECTORS(double, double)

// ---- bits ----

template <class To, class From> static inline To sett_bits(From from) {
  static_assert(sizeof(To) == sizeof(From), "the same width");
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}

static inline int __float_as_int(float x) { return sett_bits<int>(x); }
static inline unsigned __float_as_uint(float x) { return sett_bits<unsigned>(x); }
static inline float __int_as_float(int x) { return sett_bits<float>(x); }
static inline float __uint_as_float(unsigned x) { return sett_bits<float>(x); }
static inline long long __double_as_longlong(double x) { return sett_bits<long long>(x); }
static inline double __longlong_as_double(long long x) { return sett_bits<double>(x); }

// ---- arithmetic ----

static inline float __fmul_rn(float a, float b) { return a * b; }
static inline double __dmul_rn(double a, double b) { return a * b; }
static inline float rsqrtf(float x) { return (float)(1 / sqrt((double)x)); }
static inline double rsqrt(double x) { return 1 / sqrt(x); }

#define SETT_EXTREMES(type, least, most)                   \
  static inline type min(type a, type b) { return least; } \
  static inline type max(type a, type b) { return most; }
SETT_EXTREMES(int, a < b ? a : b, a < b ? b : a)
SETT_EXTREMES(unsigned, a < b ? a : b, a < b ? b : a)
SETT_EXTREMES(long, a < b ? a : b, a < b ? b : a)
SETT_EXTREMES(unsigned long, a < b ? a : b, a < b ? b : a)
SETT_EXTREMES(long long, a < b ? a : b, a < b ? b : a)
SETT_EXTREMES(unsigned long long, a < b ? a : b, a < b ? b : a)
SETT_EXTREMES(float, fminf(a, b), fmaxf(a, b))
SETT_EXTREMES(double, fmin(a, b), fmax(a, b))

template <class T> static inline T __ldg(const T *from) { return *from; }

// ---- half ----

// Round once, to nearest even; a NaN becomes the NaN that the device returns.
static inline unsigned short sett_half_bits(double x) {
  const unsigned sign = signbit(x) ? 0x8000u : 0;
  const double size = fabs(x);
  if (x != x) return 0x7fff;
  if (size >= 65520) return (unsigned short)(sign | 0x7c00u);
  const int e = size < 0x1p-14 ? -14 : ilogb(size);
  // if this rounds up to 2048, the sum below rightly has the next exponent
  const unsigned steps = (unsigned)rint(ldexp(size, 10 - e));
  return (unsigned short)(sign | (((unsigned)(e + 14) << 10) + steps));
}

struct __half {
  unsigned short bits;
  __half() = default;
  explicit __half(double x) : bits(sett_half_bits(x)) {}
};

static inline __half __ushort_as_half(unsigned short x) {
  __half half;
  half.bits = x;
  return half;
}

static inline unsigned short __half_as_ushort(__half x) { return x.bits; }
static inline __half __float2half_rn(float x) { return __half((double)x); }

static inline float __half2float(__half x) {
  const unsigned e = x.bits >> 10 & 31, m = x.bits & 0x3ff;
  if (e == 31 && m) return __uint_as_float(0x7fffffffu); // the NaN that the device returns
  const float size = e == 31 ? INFINITY : e ? ldexpf((float)(m + 1024), (int)e - 25) : ldexpf((float)m, -24);
  return x.bits & 0x8000 ? -size : size;
}

// ---- faults, orders ----

typedef int cudaError_t;
typedef struct sett_stream *cudaStream_t;
enum {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorIllegalAddress = 700,
  cudaErrorLaunchFailure = 719
};

extern "C" {
__attribute__((weak)) char sett_cuda_fault[320];
__attribute__((weak)) int sett_cuda_order = -1;
__attribute__((weak)) int sett_cuda_allocations; // number of blocks that are not freed yet
}

static unsigned sett_launches;
static inline int sett_poison(size_t block) { return (sett_launches + block) % 2 ? 0x7f : 0xff; }

// Write the line "WHERE: MESSAGE" to `sett_cuda_fault` and to stderr. `where` names the place in the kernel.
__attribute__((format(printf, 2, 0))) static inline void sett_say(const char *where, const char *format,
                                                                  va_list values) {
  const size_t size = sizeof sett_cuda_fault;
  const int used = snprintf(sett_cuda_fault, size, "%s: ", where);
  if (used > 0 && (size_t)used < size) vsnprintf(sett_cuda_fault + used, size - (size_t)used, format, values);
  fprintf(stderr, "cuda_on_cpu: %s\n", sett_cuda_fault);
}

// ---- the threads of a block ----

enum { SETT_THREADS = 1024, SETT_STACK = 1 << 17, SETT_PAGE = 4096 }; // the lowest page of a stack cannot be touched
enum sett_state { SETT_NEW, SETT_READY, SETT_BARRIER, SETT_EXCHANGE, SETT_DONE };

struct sett_thread {
  sett_state state;
  int fibre, line; // line: the source line of the barrier or exchange where the thread waits
  uint64_t mask;
  int source; // the lane whose value the thread reads; -1: none
  uint64_t value, result;
};

static struct {
  char kernel[64];
  void (*call)(void);
  ucontext_t scheduler, context[SETT_THREADS];
  char *stacks;
  // fibres: the number of fibres; the first `idles` entries of idle[] are the fibres without a thread
  int fibres, idle[SETT_THREADS], idles;
  sett_thread thread[SETT_THREADS];
  int order[SETT_THREADS], threads, at, current, arrived, done; // at: the scheduler's position in the order
  bool failed;
} sett;

static inline void sett_enter(int t) {
  const unsigned n = (unsigned)t;
  sett.current = t;
  threadIdx = dim3(n % blockDim.x, n / blockDim.x % blockDim.y, n / blockDim.x / blockDim.y);
}

static void sett_wait(void) {
  const int fibre = sett.thread[sett.current].fibre;
  swapcontext(&sett.context[fibre], &sett.scheduler);
}

// Run a thread in a fibre. When it has ended, run the next thread in the order in the same fibre, unless that thread
// has already started.
static void sett_fibre(void) {
  for (;;) {
    sett.call();
    sett_thread *self = &sett.thread[sett.current];
    self->state = SETT_DONE;
    ++sett.done;
    if (sett.at + 1 < sett.threads && sett.thread[sett.order[sett.at + 1]].state == SETT_NEW) {
      const int next = sett.order[++sett.at];
      sett.thread[next].fibre = self->fibre;
      sett_enter(next);
      continue;
    }
    sett.idle[sett.idles++] = self->fibre;
    sett_wait();
  }
}

__attribute__((format(printf, 1, 2))) static inline void sett_fail(const char *format, ...) {
  char where[128];
  va_list values;
  snprintf(where, sizeof where, "%.60s, block (%u, %u, %u)", sett.kernel, blockIdx.x, blockIdx.y, blockIdx.z);
  va_start(values, format);
  sett_say(where, format, values);
  va_end(values);
  sett.failed = true;
}

static const char *sett_what(int t, char *text, size_t size) {
  const sett_thread *self = &sett.thread[t];
  if (t >= sett.threads) return "does not exist";
  if (self->state == SETT_DONE) return "has ended";
  if (self->state == SETT_BARRIER) snprintf(text, size, "waits at the barrier of line %d", self->line);
  else
    snprintf(text, size, "waits in the exchange of line %d, mask 0x%llx", self->line, (unsigned long long)self->mask);
  return text;
}

// Return true if threads `t` and `u` of a warp wait in the same exchange.
static inline bool sett_meet(int t, int u) {
  const sett_thread *a = &sett.thread[t], *b = &sett.thread[u];
  return u < sett.threads && b->state == SETT_EXCHANGE && a->line == b->line && a->mask == b->mask;
}

// Report the reason why no thread can continue.
static void sett_stuck(void) {
  char one[96], other[96];
  int t = 0, u;
  while (sett.thread[t].state == SETT_DONE) ++t;
  const sett_thread *self = &sett.thread[t];
  if (self->state == SETT_BARRIER)
    for (u = 0; sett.thread[u].state == SETT_BARRIER;) ++u;
  else
    for (u = t / SETT_LANES * SETT_LANES; !(self->mask >> (u % SETT_LANES) & 1) || sett_meet(t, u);) ++u;
  sett_fail("thread %d %s, thread %d %s", t, sett_what(t, one, sizeof one), u, sett_what(u, other, sizeof other));
}

// The shared memory of a launch and its size in bytes.
static __attribute__((aligned(1024))) unsigned char sett_dynamic[227 * 1024];
static size_t sett_dynamic_bytes;
#define SETT_DYNAMIC_SHARED sett_dynamic

static uint64_t sett_blocks; // number of blocks that have started

static bool sett_block(void) {
  sett.arrived = sett.done = 0;
  ++sett_blocks;
  for (int t = 0; t < sett.threads; ++t) sett.thread[t].state = SETT_NEW;
  for (;;) {
    bool moved = false;
    for (sett.at = 0; sett.at < sett.threads; ++sett.at) {
      const int t = sett.order[sett.at];
      sett_thread *self = &sett.thread[t];
      if (self->state == SETT_NEW) {
        self->fibre = sett.idles ? sett.idle[--sett.idles] : sett.fibres++;
        ucontext_t *made = &sett.context[self->fibre];
        if (!made->uc_stack.ss_sp) {
          char *const stack = sett.stacks + (size_t)self->fibre * SETT_STACK;
          mprotect(stack, SETT_PAGE, PROT_NONE);
          getcontext(made);
          made->uc_stack.ss_sp = stack;
          made->uc_stack.ss_size = SETT_STACK;
          made->uc_link = NULL;
          makecontext(made, sett_fibre, 0);
        }
      } else if (self->state != SETT_READY) continue;
      moved = true;
      sett_enter(t);
      swapcontext(&sett.scheduler, &sett.context[self->fibre]);
      if (sett.failed) return false;
    }
    if (sett.done == sett.threads) return true;
    if (!moved) {
      sett_stuck();
      return false;
    }
  }
}

// ---- barriers and exchanges ----

static inline void sett_barrier(int line) {
  sett_thread *self = &sett.thread[sett.current];
  self->state = SETT_BARRIER;
  self->line = line;
  if (++sett.arrived == sett.threads) {
    for (int t = 0; t < sett.threads; ++t) sett.thread[t].state = SETT_READY;
    for (int t = 1; t < sett.threads && !sett.failed; ++t)
      if (sett.thread[t].line != sett.thread[0].line)
        sett_fail("thread 0 waits at the barrier of line %d, thread %d at that of line %d", sett.thread[0].line, t,
                  sett.thread[t].line);
    sett.arrived = 0;
  }
  sett_wait();
}

// Wait for all lanes of the mask, and return the value of lane `source`. The last lane to arrive distributes the values.
static uint64_t sett_exchange(int line, uint64_t mask, uint64_t value, int source) {
  const int t = sett.current, first = t / SETT_LANES * SETT_LANES;
  sett_thread *self = &sett.thread[t], *lane = &sett.thread[first];
  *self = {SETT_EXCHANGE, self->fibre, line, mask, source, value, 0};
  bool whole = mask >> (t - first) & 1;
  if (!whole)
    sett_fail("thread %d: the mask 0x%llx of line %d does not name its own lane", t, (unsigned long long)mask, line);
  for (int l = 0; l < SETT_LANES && whole; ++l)
    if (mask >> l & 1) whole = sett_meet(t, first + l);
  for (int l = 0; l < SETT_LANES && whole && !sett.failed; ++l)
    if (mask >> l & 1) {
      const int from = lane[l].source;
      if (from >= 0 && !(mask >> from & 1))
        sett_fail("thread %d reads lane %d, which the mask 0x%llx of line %d does not name", first + l, from,
                  (unsigned long long)mask, line);
      else lane[l].result = from < 0 ? 0 : lane[from].value;
    }
  for (int l = 0; l < SETT_LANES && whole; ++l)
    if (mask >> l & 1) lane[l].state = SETT_READY;
  sett_wait();
  return self->result;
}

template <class T>
static T sett_shuffle(int line, uint64_t mask, T value, int width, int (*pick)(int, int, int), int by) {
  static_assert(std::is_arithmetic<T>::value && (sizeof(T) == 4 || sizeof(T) == 8), "CUDA shuffles 32 and 64 bits");
  uint64_t bits = 0;
  if (width < 1 || width > SETT_LANES || (width & (width - 1))) {
    sett_fail("a shuffle among %d lanes in line %d", width, line);
    sett_wait();
  }
  memcpy(&bits, &value, sizeof value);
  bits = sett_exchange(line, mask, bits, pick(sett.current % SETT_LANES, width, by));
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* Return the lane to read. sett_pick wraps `by` around in the group of `width` lanes. The other functions return the
 * calling lane if the wanted lane is outside the group. */
static inline int sett_pick(int lane, int width, int by) { return (lane & -width) | (by & (width - 1)); }
static inline int sett_pick_down(int lane, int width, int by) {
  return by < 0 || lane + by > (lane | (width - 1)) ? lane : lane + by;
}
static inline int sett_pick_xor(int lane, int width, int by) {
  return (lane ^ by) > (lane | (width - 1)) ? lane : lane ^ by;
}

template <class T> static inline T sett_shfl(int line, uint64_t mask, T value, int from, int width = SETT_LANES) {
  return sett_shuffle(line, mask, value, width, sett_pick, from);
}
template <class T>
static inline T sett_shfl_down(int line, uint64_t mask, T value, unsigned by, int width = SETT_LANES) {
  return sett_shuffle(line, mask, value, width, sett_pick_down, (int)by);
}
template <class T> static inline T sett_shfl_xor(int line, uint64_t mask, T value, int by, int width = SETT_LANES) {
  return sett_shuffle(line, mask, value, width, sett_pick_xor, by & (SETT_LANES - 1));
}
struct sett_syncwarp {
  int line;
  void operator()(uint64_t mask = SETT_LANES == 64 ? ~(uint64_t)0 : 0xffffffffu) const {
    sett_exchange(line, mask, 0, -1);
  }
};

#define __syncthreads() sett_barrier(__LINE__)
#define __syncwarp(...) sett_syncwarp{__LINE__}(__VA_ARGS__)
#define __shfl_sync(...) sett_shfl(__LINE__, __VA_ARGS__)
#define __shfl_down_sync(...) sett_shfl_down(__LINE__, __VA_ARGS__)
#define __shfl_xor_sync(...) sett_shfl_xor(__LINE__, __VA_ARGS__)

// ---- atomics: one thread runs at a time, so that each is a plain load and store ----

template <class T> static inline T sett_atomic(const T *at) {
  if ((uintptr_t)at % sizeof *at) {
    sett_fail("thread %d: an atomic of %zu bytes at %p, which is not a multiple of them", sett.current, sizeof *at,
              (const void *)at);
    sett_wait();
  }
  return *at;
}

#define SETT_ATOMIC(name, type, value)         \
  static inline type name(type *at, type by) { \
    const type old = sett_atomic(at);          \
    *at = value;                               \
    return old;                                \
  }
#define SETT_ATOMICS_OF_BITS(type)       \
  SETT_ATOMIC(atomicAnd, type, old &by)  \
  SETT_ATOMIC(atomicOr, type, old | by)  \
  SETT_ATOMIC(atomicXor, type, old ^ by) \
  SETT_ATOMIC(atomicExch, type, by)
#define SETT_ATOMIC_EXTREMES(type)                  \
  SETT_ATOMIC(atomicMin, type, old < by ? old : by) \
  SETT_ATOMIC(atomicMax, type, old < by ? by : old)
#define SETT_ATOMIC_CAS(type)                                      \
  static inline type atomicCAS(type *at, type expected, type by) { \
    const type old = sett_atomic(at);                              \
    if (old == expected) *at = by;                                 \
    return old;                                                    \
  }
SETT_ATOMIC(atomicAdd, int, (int)((unsigned)old + (unsigned)by))
SETT_ATOMIC(atomicAdd, unsigned, old + by)
SETT_ATOMIC(atomicAdd, unsigned long long, old + by)
SETT_ATOMIC(atomicAdd, float, old + by)
SETT_ATOMIC(atomicAdd, double, old + by)
SETT_ATOMIC(atomicExch, float, by)
SETT_ATOMICS_OF_BITS(int)
SETT_ATOMICS_OF_BITS(unsigned)
SETT_ATOMICS_OF_BITS(unsigned long long)
SETT_ATOMIC_EXTREMES(int)
SETT_ATOMIC_EXTREMES(unsigned)
SETT_ATOMIC_EXTREMES(long long)
SETT_ATOMIC_EXTREMES(unsigned long long)
SETT_ATOMIC_CAS(unsigned short)
SETT_ATOMIC_CAS(int)
SETT_ATOMIC_CAS(unsigned)
SETT_ATOMIC_CAS(unsigned long long)
static inline void __threadfence(void) {}

#if SETT_LANES == 32
#include "cuda_matrix_on_cpu.h"
#endif

// ---- launches ----

static inline uint64_t sett_random(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 33;
}

static void sett_put_in_order(int kind, uint64_t *random) {
  for (int i = 0; i < sett.threads; ++i) sett.order[i] = kind == 1 ? sett.threads - 1 - i : i;
  for (int i = sett.threads - 1; kind > 1 && i > 0; --i)
    std::swap(sett.order[i], sett.order[sett_random(random) % (uint64_t)(i + 1)]);
}

static void (*sett_kernel)(void);
static void **sett_arguments;

template <class... T, size_t... I> static void sett_call(void (*kernel)(T...), std::index_sequence<I...>) {
  kernel(*(T *)sett_arguments[I]...);
}
template <class... T> static void sett_call(void) {
  sett_call((void (*)(T...))sett_kernel, std::index_sequence_for<T...>());
}

// The last kernel that may use more than 48 KiB of dynamic shared memory, and its maximum.
static void (*sett_allowed)(void);
static size_t sett_allowed_bytes;

enum { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
template <class... T> static cudaError_t sett_set_attribute(void (*kernel)(T...), int attribute, int bytes) {
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || bytes < 0 || (size_t)bytes > sizeof sett_dynamic)
    return cudaErrorInvalidValue;
  sett_allowed = (void (*)(void))kernel;
  sett_allowed_bytes = (size_t)bytes;
  return cudaSuccess;
}

template <class... T>
static cudaError_t sett_launch(const char *name, void (*kernel)(T...), dim3 grid, dim3 block, void **arguments,
                               size_t shared, cudaStream_t) {
  const uint64_t blocks = (uint64_t)grid.x * grid.y * grid.z, threads = (uint64_t)block.x * block.y * block.z;
  if (!threads || threads > SETT_THREADS || block.z > 64) return cudaErrorInvalidConfiguration;
  if (shared > (sett_allowed == (void (*)(void))kernel ? sett_allowed_bytes : 48 << 10)) return cudaErrorInvalidValue;
  if (!blocks || grid.x > 0x7fffffffu || grid.y > 65535 || grid.z > 65535) return cudaErrorInvalidConfiguration;
  sett_dynamic_bytes = shared;
  const int kind = sett_cuda_order >= 0 ? sett_cuda_order : (int)(sett_launches & 0x7fffffff);
  uint64_t random = (uint64_t)kind;
  const int how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void *stacks = mmap(NULL, (size_t)threads * SETT_STACK, PROT_READ | PROT_WRITE, how, -1, 0);
  if (stacks == MAP_FAILED) return cudaErrorMemoryAllocation;
  sett.stacks = (char *)stacks;
  // "(const void *)name", or "(const void *)(condition ? name<true> : name<false>)"
  if (strchr(name, ')')) name = strchr(name, ')') + 1;
  if (strchr(name, '?')) name = strchr(name, '?') + 2;
  snprintf(sett.kernel, sizeof sett.kernel, "%.*s", (int)strcspn(name, "<"), name);
  sett.call = sett_call<T...>;
  sett.threads = (int)threads;
  sett.fibres = sett.idles = 0;
  sett.failed = false;
  for (int t = 0; t < sett.threads; ++t) sett.context[t].uc_stack.ss_sp = NULL;
  sett_kernel = (void (*)(void))kernel;
  sett_arguments = arguments;
  gridDim = grid;
  blockDim = block;
  const uint64_t shift = kind > 1 ? sett_random(&random) % blocks : 0;
  for (uint64_t n = 0; n < blocks && !sett.failed; ++n) {
    const uint64_t b = kind == 1 ? blocks - 1 - n : (n + shift) % blocks;
    blockIdx = dim3((unsigned)(b % grid.x), (unsigned)(b / grid.x % grid.y), (unsigned)(b / grid.x / grid.y));
#if !SETT_ASAN
    const size_t size = (size_t)(__stop_sett_shared - __start_sett_shared);
    if (size) memset(__start_sett_shared, sett_poison(n), size);
#endif
    memset(sett_dynamic, sett_poison(n), shared);
    if (n == 0 || kind > 1) sett_put_in_order(kind, &random);
    sett_block();
  }
  munmap(stacks, (size_t)threads * SETT_STACK);
  ++sett_launches;
  return sett.failed ? cudaErrorLaunchFailure : cudaSuccess;
}

// The kernel is passed as `(const void *)name`. The macro removes the cast, so that the types of the parameters are known.
#define SETT_UNCAST(type)
#define cudaLaunchKernel(kernel, ...) sett_launch(#kernel, SETT_UNCAST kernel, __VA_ARGS__)
#define cudaFuncSetAttribute(kernel, ...) sett_set_attribute(SETT_UNCAST kernel, __VA_ARGS__)

// ---- memory; the work of a stream is done at once, in program order ----

enum { SETT_GUARD = 256 };
static const uint64_t sett_magic = 0x5e77a110ca7ed000u;

/* The memory of a block, in order of addresses:
 *   - a page without access
 *   - a guard of at least SETT_GUARD bytes, which begins with the block's record
 *   - the data
 *   - a guard of less than SETT_GUARD bytes
 *   - a page without access */
static inline size_t sett_room(size_t bytes) { return (bytes + 2 * SETT_GUARD - 1) / SETT_GUARD * SETT_GUARD; }

static inline size_t sett_pages(size_t bytes) { return (sett_room(bytes) + SETT_PAGE - 1) / SETT_PAGE * SETT_PAGE; }

template <class T> static cudaError_t cudaMallocAsync(T **to, size_t bytes, cudaStream_t) {
  const size_t pages = sett_pages(bytes), room = sett_room(bytes);
  void *const mapped = mmap(NULL, pages + 2 * SETT_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return cudaErrorMemoryAllocation;
  unsigned char *const end = (unsigned char *)mapped + SETT_PAGE + pages, *const head = end - room,
                       *const data = head + SETT_GUARD;
  if (mprotect((unsigned char *)mapped + SETT_PAGE, pages, PROT_READ | PROT_WRITE)) return cudaErrorMemoryAllocation;
  const uint64_t known[2] = {sett_magic, bytes};
  memset(end - pages, 0xa5, pages);
  memset(data, sett_poison(0), bytes);
  memcpy(head, known, sizeof known);
#if SETT_ASAN
  __asan_poison_memory_region(end - pages, pages);
  __asan_unpoison_memory_region(data, bytes);
#endif
  *to = (T *)(void *)data;
  ++sett_cuda_allocations;
  return cudaSuccess;
}

__attribute__((format(printf, 1, 2))) static inline void sett_beside(const char *format, ...) {
  char where[96];
  va_list values;
  snprintf(where, sizeof where, "after %.60s, cudaFreeAsync", *sett.kernel ? sett.kernel : "no kernel");
  va_start(values, format);
  sett_say(where, format, values);
  va_end(values);
}

static inline cudaError_t cudaFreeAsync(void *data, cudaStream_t) {
  unsigned char *const head = (unsigned char *)data - SETT_GUARD;
  uint64_t known[2];
  size_t broken = 0;
  if (!data) return cudaSuccess;
#if SETT_ASAN
  __asan_unpoison_memory_region(head, SETT_GUARD);
#endif
  memcpy(known, head, sizeof known);
  if (known[0] != sett_magic) {
    sett_beside("no memory of cudaMallocAsync, or bytes before it are written");
    return cudaErrorInvalidValue;
  }
  const size_t bytes = (size_t)known[1], pages = sett_pages(bytes), room = sett_room(bytes);
  unsigned char *const end = head + room;
#if SETT_ASAN
  __asan_unpoison_memory_region(end - pages, pages);
#endif
  for (const unsigned char *p = end - pages; p < end; ++p)
    broken += (p < head || p >= head + sizeof known) && (p < head + SETT_GUARD || p >= head + SETT_GUARD + bytes) &&
              *p != 0xa5;
  if (broken) sett_beside("%zu bytes are written beside %zu of cudaMallocAsync", broken, bytes);
  munmap(end - pages - SETT_PAGE, pages + 2 * SETT_PAGE);
  --sett_cuda_allocations;
  return broken ? cudaErrorIllegalAddress : cudaSuccess;
}

enum cudaMemcpyKind { cudaMemcpyDeviceToHost = 2 };

static inline cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind, cudaStream_t) {
  memcpy(to, from, bytes);
  return cudaSuccess;
}

static inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }

#endif
