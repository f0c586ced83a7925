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

typedef double8 doubles;
typedef long8 longs;
typedef ulong8 ulongs;
#define as_doubles as_double8
#define as_longs as_long8
#define as_ulongs as_ulong8
#define convert_doubles convert_double8
#define splat_doubles(x) ((doubles)(x))

/* a where the mask is set, else b */
#define choose_floats(mask, a, b) ((mask) ? (a) : (b))

#define choose_doubles(mask, a, b) ((mask) ? (a) : (b))

/* a b + c, rounded once where the machine can */
#ifdef FP_FAST_FMAF
#define mad_floats fma
#else
#define mad_floats(a, b, c) ((a) * (b) + (c))
#endif

#ifdef FP_FAST_FMA
#define mad_doubles fma
#else
#define mad_doubles(a, b, c) ((a) * (b) + (c))
#endif
