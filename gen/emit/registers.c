/* Functions of the lanes of a vector. load, store: a vector at any element, in one instruction where the compiler has
   unaligned types; stage: a store to an array of the work-item's own.

   gen/emit/pieces.py cuts the file into pieces and puts words in: T is the type, ELEMENT an element of it in memory of
   BYTES bytes, VECTOR and LANES of those. FLOAT_VECTOR, U32_VECTOR() and U16_VECTOR() have as many lanes. VLOAD, VSTORE,
   .. are OpenCL's words for that count of lanes; CHOOSE, UNEQUAL, BITS_OF and OF_BITS are those of the target. */

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

static inline void stage_T_LANES(VECTOR x, ELEMENT *p)
{
#ifdef __clang__
  typedef ELEMENT any __attribute__((ext_vector_type(LANES), aligned(BYTES)));
  *(any *)p = x;
#else
  VSTORE(x, 0, p);
#endif
}

static inline FLOAT_VECTOR value_T_LANES(U16_VECTOR() x)
{
  ushort t[LANES];
  VSTORE(x, 0, t);
  return VLOAD_HALF(0, (const half *)t);
}

static inline U16_VECTOR() bits_T_LANES(FLOAT_VECTOR x)
{
  ushort t[LANES];
  VSTORE_HALF(x, 0, (half *)t);
  return VLOAD(0, t);
}

#if !HALF
/* to the nearest value of bf16, ties to even; a NaN stays one */
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

/* to the nearest value of bf16, ties to even; a NaN whose lower half is empty stays one */
static inline FLOAT_VECTOR round_plain_T_LANES(FLOAT_VECTOR x)
{
  const U32_VECTOR() u = BITS_OF(x);
  return OF_BITS((u + 0x7fffu + (u >> 16 & 1u)) & 0xffff0000u);
}
