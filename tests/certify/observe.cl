/* observe.cl - built-in functions of OpenCL C for a kernel that observe.cpp runs on the CPU. */
#define PER_SIZE(DO, ...) DO(__VA_ARGS__, 2) DO(__VA_ARGS__, 4) DO(__VA_ARGS__, 8) DO(__VA_ARGS__, 16)
#define PER_TYPE(DO) DO(char) DO(uchar) DO(short) DO(ushort) DO(int) DO(uint) DO(long) DO(ulong) DO(float) DO(double)
#define OVERLOAD __attribute__((overloadable))

// ---- vload, vstore ----

#define LOAD(T, S, N)                                                \
  OVERLOAD T##N vload##N(size_t at, const S T *from) {               \
    T##N made;                                                       \
    for (int k = 0; k < N; ++k) ((T *)&made)[k] = from[N * at + k]; \
    return made;                                                     \
  }
#define STORE(T, S, N)                                              \
  OVERLOAD void vstore##N(T##N made, size_t at, S T *to) {          \
    for (int k = 0; k < N; ++k) to[N * at + k] = ((T *)&made)[k]; \
  }
#define WORDS(T)                                                                                          \
  PER_SIZE(LOAD, T, __global) PER_SIZE(LOAD, T, __local) PER_SIZE(LOAD, T, __private) PER_SIZE(LOAD, T, __constant) \
  PER_SIZE(STORE, T, __global) PER_SIZE(STORE, T, __local) PER_SIZE(STORE, T, __private)
PER_TYPE(WORDS)

// ---- conversions ----

#define CONVERT(T, S, N) \
  OVERLOAD T##N convert_##T##N(S##N x) { return __builtin_convertvector(x, T##N); }
#define CONVERT_FROM(T, S) \
  OVERLOAD T convert_##T(S x) { return (T)x; } PER_SIZE(CONVERT, T, S)
#define CONVERT_TO(T)                                                                                                      \
  CONVERT_FROM(T, char) CONVERT_FROM(T, uchar) CONVERT_FROM(T, short) CONVERT_FROM(T, ushort) CONVERT_FROM(T, int)         \
  CONVERT_FROM(T, uint) CONVERT_FROM(T, long) CONVERT_FROM(T, ulong) CONVERT_FROM(T, float) CONVERT_FROM(T, double)
PER_TYPE(CONVERT_TO)

// ---- arithmetic: each lane for itself ----

#define UNARY(NAME, T, E, N)                                            \
  OVERLOAD T##N NAME(T##N a) {                                          \
    T##N r;                                                             \
    for (int k = 0; k < N; ++k) { const T x = a[k]; r[k] = E; }        \
    return r;                                                           \
  }
#define BINARY(NAME, T, E, N)                                                          \
  OVERLOAD T##N NAME(T##N a, T##N b) {                                                 \
    T##N r;                                                                            \
    for (int k = 0; k < N; ++k) { const T x = a[k], y = b[k]; r[k] = E; }             \
    return r;                                                                          \
  }
#define TERNARY(NAME, T, E, N)                                                                    \
  OVERLOAD T##N NAME(T##N a, T##N b, T##N c) {                                                    \
    T##N r;                                                                                       \
    for (int k = 0; k < N; ++k) { const T x = a[k], y = b[k], z = c[k]; r[k] = E; }              \
    return r;                                                                                     \
  }
#define ONE(NAME, T, E) OVERLOAD T NAME(T x) { return E; } PER_SIZE(UNARY, NAME, T, E)
#define TWO(NAME, T, E) OVERLOAD T NAME(T x, T y) { return E; } PER_SIZE(BINARY, NAME, T, E)
#define THREE(NAME, T, E) OVERLOAD T NAME(T x, T y, T z) { return E; } PER_SIZE(TERNARY, NAME, T, E)
#define ORDERED(T) \
  TWO(min, T, x < y ? x : y) TWO(max, T, x < y ? y : x) THREE(clamp, T, x < y ? y : x > z ? z : x)
PER_TYPE(ORDERED)

#define LIBM(NAME) \
  float libm_##NAME##f(float) __asm(#NAME "f"); double libm_##NAME(double) __asm(#NAME); \
  ONE(NAME, float, libm_##NAME##f(x)) ONE(NAME, double, libm_##NAME(x))
LIBM(exp) LIBM(exp2) LIBM(expm1) LIBM(log) LIBM(log2) LIBM(log1p) LIBM(sqrt) LIBM(floor) LIBM(ceil) LIBM(rint) LIBM(trunc) LIBM(round)
LIBM(tanh) LIBM(fabs) LIBM(cbrt) LIBM(sin) LIBM(cos) LIBM(tan) LIBM(erf)
#define LIBM2(NAME) \
  float libm_##NAME##f(float, float) __asm(#NAME "f"); double libm_##NAME(double, double) __asm(#NAME); \
  TWO(NAME, float, libm_##NAME##f(x, y)) TWO(NAME, double, libm_##NAME(x, y))
LIBM2(fmin) LIBM2(fmax) LIBM2(pow) LIBM2(atan2) LIBM2(fmod) LIBM2(copysign)
#define LIBM3(NAME) \
  float libm_##NAME##f(float, float, float) __asm(#NAME "f"); double libm_##NAME(double, double, double) __asm(#NAME); \
  THREE(NAME, float, libm_##NAME##f(x, y, z)) THREE(NAME, double, libm_##NAME(x, y, z))
LIBM3(fma)
ONE(rsqrt, float, 1.0f / libm_sqrtf(x))
ONE(rsqrt, double, 1.0 / libm_sqrt(x))
float libm_ldexpf(float, int) __asm("ldexpf");
OVERLOAD float ldexp(float x, int y) { return libm_ldexpf(x, y); }

// ---- tests of lanes, half ----

#define TEST(N) \
  OVERLOAD int any(int##N x) { for (int k = 0; k < N; ++k) if (x[k] < 0) return 1; return 0; } \
  OVERLOAD int all(int##N x) { for (int k = 0; k < N; ++k) if (x[k] >= 0) return 0; return 1; } \
  OVERLOAD int##N isfinite(float##N x) { int##N r; for (int k = 0; k < N; ++k) r[k] = -(__builtin_fabsf(x[k]) <= 3.4028235e38f); return r; } \
  OVERLOAD uint##N abs(int##N x) { uint##N r; for (int k = 0; k < N; ++k) r[k] = x[k] < 0 ? 0u - (uint)x[k] : (uint)x[k]; return r; }
TEST(2) TEST(4) TEST(8) TEST(16)
OVERLOAD int isfinite(float x) { return __builtin_fabsf(x) <= 3.4028235e38f; }
OVERLOAD uint abs(int x) { return x < 0 ? 0u - (uint)x : (uint)x; }

float libm_ldexpf_of_half(float, int) __asm("ldexpf");
static float of_half(ushort x) {
  const uint e = x >> 10 & 31, m = x & 0x3ff;
  const float size = e == 31 ? m ? as_float(0x7fc00000u) : INFINITY : e ? libm_ldexpf_of_half((float)(m + 1024), (int)e - 25) : libm_ldexpf_of_half((float)m, -24);
  return x & 0x8000 ? -size : size;
}
static ushort to_half(float x) { // round to nearest even
  const uint bits = as_uint(x), sign = bits >> 16 & 0x8000u;
  const float size = as_float(bits & 0x7fffffffu);
  if (x != x) return 0x7e00;
  if (size >= 65520.0f) return sign | 0x7c00u;
  const int e = size < 6.103515625e-5f ? -14 : (int)((bits >> 23 & 255u)) - 127;
  const uint steps = (uint)libm_rintf(libm_ldexpf_of_half(size, 10 - e));
  return sign | (((uint)(e + 14) << 10) + steps);
}
#define HALF_LOAD(S) \
  OVERLOAD float vload_half(size_t at, const S half *from) { return of_half(((const S ushort *)from)[at]); }
#define HALF_LOADS(S, N)                                                                              \
  OVERLOAD float##N vload_half##N(size_t at, const S half *from) {                                    \
    float##N r;                                                                                       \
    for (int k = 0; k < N; ++k) r[k] = of_half(((const S ushort *)from)[N * at + k]);                 \
    return r;                                                                                         \
  }
#define HALF_STORE(S) \
  OVERLOAD void vstore_half_rte(float x, size_t at, S half *to) { ((S ushort *)to)[at] = to_half(x); }
#define HALF_STORES(S, N)                                                                             \
  OVERLOAD void vstore_half##N##_rte(float##N x, size_t at, S half *to) {                             \
    for (int k = 0; k < N; ++k) ((S ushort *)to)[N * at + k] = to_half(x[k]);                         \
  }
HALF_LOAD(__global) HALF_LOAD(__private) HALF_STORE(__global) HALF_STORE(__private)
PER_SIZE(HALF_LOADS, __global) PER_SIZE(HALF_LOADS, __private) PER_SIZE(HALF_STORES, __global) PER_SIZE(HALF_STORES, __private)
