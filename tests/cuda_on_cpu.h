// cuda_on_cpu.h - enough of CUDA to run a generated .cu as C++17 on the CPU: a launch is loops over blocks and threads.
//
// It stands in for <cuda_runtime.h> and <cuda_fp16.h>. Threads run one after another, so kernels may not wait for each other
// (no barriers, shared memory or shuffles). Compile with -ffp-contract=off: then + - * / and square roots are CUDA's own;
// other functions are libm's. A launch that a device would refuse is refused here.
#ifndef SETT_CUDA_ON_CPU_H
#define SETT_CUDA_ON_CPU_H
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <utility>

#define __device__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(threads)

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};

static thread_local dim3 blockIdx, threadIdx, blockDim, gridDim;

// ---- bits ----

template <class To, class From> static inline To sett_bits(From from)
{
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

// ---- half ----

struct __half {
  unsigned short bits;
};

static inline __half __ushort_as_half(unsigned short x) { return {x}; }
static inline unsigned short __half_as_ushort(__half x) { return x.bits; }

// One rounding, to nearest even; a NaN becomes the device's one.
static inline __half __double2half(double x)
{
  const unsigned sign = signbit(x) ? 0x8000u : 0;
  const double size = fabs(x);
  if (x != x) return {0x7fff};
  if (size >= 65520) return {(unsigned short)(sign | 0x7c00u)};
  const int e = size < 0x1p-14 ? -14 : ilogb(size);
  const unsigned steps = (unsigned)rint(ldexp(size, 10 - e)); // 2048 of them carry into the exponent
  return {(unsigned short)(sign | (((unsigned)(e + 14) << 10) + steps))};
}

static inline __half __float2half_rn(float x) { return __double2half((double)x); }

static inline float __half2float(__half x)
{
  const unsigned e = x.bits >> 10 & 31, m = x.bits & 0x3ff;
  if (e == 31 && m) return __uint_as_float(0x7fffffffu); // the device's one
  const float size = e == 31 ? INFINITY : e ? ldexpf((float)(m + 1024), (int)e - 25) : ldexpf((float)m, -24);
  return x.bits & 0x8000 ? -size : size;
}

// ---- launches ----

typedef int cudaError_t;
typedef struct sett_stream *cudaStream_t;
enum { cudaSuccess = 0, cudaErrorInvalidConfiguration = 9 };

template <class... T, size_t... I>
static void sett_call(void (*kernel)(T...), void **arguments, std::index_sequence<I...>)
{
  (void)arguments;
  kernel(*(T *)arguments[I]...);
}

template <class... T>
static cudaError_t sett_launch(void (*kernel)(T...), dim3 grid, dim3 block, void **arguments, size_t, cudaStream_t)
{
  const unsigned threads = block.x * block.y * block.z;
  if (!threads || threads > 1024 || !grid.x || grid.x > 0x7fffffffu || !grid.y || grid.y > 65535 || !grid.z || grid.z > 65535)
    return cudaErrorInvalidConfiguration;
  gridDim = grid;
  blockDim = block;
  for (unsigned b = 0; b < grid.x * grid.y * grid.z; ++b)
    for (unsigned t = 0; t < threads; ++t) {
      blockIdx = dim3(b % grid.x, b / grid.x % grid.y, b / grid.x / grid.y);
      threadIdx = dim3(t % block.x, t / block.x % block.y, t / block.x / block.y);
      sett_call(kernel, arguments, std::index_sequence_for<T...>());
    }
  return cudaSuccess;
}

// The kernel is passed as `(const void *)name`; the cast goes away, so that its parameters' types are known.
#define SETT_UNCAST(type)
#define cudaLaunchKernel(kernel, ...) sett_launch(SETT_UNCAST kernel, __VA_ARGS__)

#endif
