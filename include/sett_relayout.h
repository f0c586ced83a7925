/* sett_relayout.h - v0.2 - moving an array from one layout to another: rows to tiles, tiles to rows, any to any
   SPDX-License-Identifier: Apache-2.0

WHAT
  Copy an array between two buffers with different layouts. Both layouts are shapes of sett_tile.h with the same element type
  and the same dimensions. (To convert elements on the way, use the iterators of sett_tile.h.) The work is divided into
  independent pieces for threads, elements are moved in vector registers, and large arrays are written with streaming stores.

INCLUDE
    #include "sett_tile.h"
    #include "sett_relayout.h"
  C11 or C++17, freestanding, host only. By default, every function is static inline. Nothing is allocated. Vectors need gcc 12
  or clang; other compilers get plain loops.
  The functions can be compiled once for many files, in C and C++: define SETT_DECLARATIONS before the first sett header of each file, and
  SETT_IMPLEMENTATION in exactly one file. To compile the functions of each header in a file of its own, define SETT_DECLARATIONS in that file, include
  the header, define SETT_IMPLEMENTATION, and include the header again. By default, a shared library does not export the functions. Two static
  libraries that both contain the functions can be linked into one program if at least one defines a SETT_PREFIX of its own in all its files.

OPTIONS (defined before the include)
  Those of sett_tile.h.
  SETT_RELAYOUT_STREAM   minimum bytes of a destination that is written with streaming stores (default: 4 MiB)
  SETT_RELAYOUT_PIECE    approximate bytes of a piece, a multiple of 8 (default: 64 KiB). A destination of more than 256 such
                         pieces has larger pieces (up to 16 times as large)
  SETT_RELAYOUT_STEP     minimum bytes of each contiguous stretch of a piece, in both buffers, if the layouts have such
                         stretches (default: 1 KiB). Pieces become large enough for this minimum: a transpose of
                         u8[1024,1024] is a single piece of 1 MiB.
                         To share a small array among threads, define a smaller SETT_RELAYOUT_PIECE and a smaller
                         SETT_RELAYOUT_STEP
  SETT_RELAYOUT_SCALAR   if defined, no vectors are used

A FIRST LOOK
    #include <stdio.h>
    #include "sett_tile.h"
    #include "sett_relayout.h"
    int main(void) {
      static sett_relayout_plan plan;
      sett_tile_shape from = sett_tile_parse("u8[3,5]{1,0}", 12), to = sett_tile_parse("u8[3,5]{1,0:T(2,2)}", 19);
      char rows[] = "abcdefghijklmno", tiles[25] = "", padding = '.';
      if (sett_relayout_prepare(&plan, &from, &to, &padding)) return 1;
      sett_relayout_run(&plan, rows, tiles, 0, plan.pieces);
      puts(tiles);
      return 0;
    }
  prints
    abfgcdhie.j.kl..mn..o...

THE MODEL
  The plan is 34 KB of caller-owned memory. sett_relayout_prepare writes it once, and sett_relayout_run only reads it. The work
  consists of plan.pieces independent pieces. Threads can copy ranges of pieces in any order and at the same time, because no
  two pieces write the same byte (but they may write the same cache line). One call of sett_relayout_run with many pieces costs
  less than many calls.
  The last argument of sett_relayout_prepare, `fill`, points to an element in the memory format of the destination (a packed
  element: the low bits of one byte). The element is copied into the plan, and then to every padding position of the
  destination. If `fill` is NULL, padding keeps its bytes. The bits of the last byte that belong to no position keep their
  values. Padding of the source is not copied.
  Source and destination must not overlap. Their addresses are those of the arrays, behind the bytes of dynamic sizes that
  M(n) in a shape puts in front; these bytes are not copied. Any alignment is correct; multiples of 64 bytes are fastest.
  Packed elements (E(n) in a shape) of 1, 2 and 4 bits are moved as bits. If an element has more bits in the destination than
  in the source, it is sign-extended (s1, s2, s4) or zero-extended (all other types). If it has fewer bits, it loses its high
  bits; the bits of its type always fit. Elements of more than 8 bits must have the same number of whole bytes on both sides.

HOW
  A position is the sum of digit * stride over the digits of all indices, each in a mixed radix (see PLANS in sett_tile.h). The
  digits of both layouts are refined to common digits: a dimension cut by 8 in one layout and by 2 in the other has the digits
  i mod 2, (i mod 8) / 2 and i / 8. This gives loops with constant strides on both sides. If the size of a dimension is no
  multiple of a digit's block (the number of indices from one value of the digit to the next), the dimension is cut into whole
  blocks and a smaller rest. If digits do not divide each other (tiles of 6 and of 4), they become one digit without a stride:
  the offset of each of its values is computed by divisions. If a layout has no digits, or if both layouts combine the same
  dimensions by * in different ways, one position is moved after another, with divisions.

  A loop that is contiguous on both sides is copied as a run. If different loops are contiguous in the two layouts, rows are
  interleaved or split ((2,1) and (4,1) tiles), or square blocks are transposed in registers. Squares of 8- and 16-bit
  elements are collected in a buffer and written as whole cache lines if vectors have 64 bytes, plan.bursts is 0 (see below),
  and either the destination is large or rows of the source use the same sets of the L1 cache. The other loops have the order
  of the source, the loop with the smallest stride innermost.

  Large destinations (at least SETT_RELAYOUT_STREAM bytes) are written with streaming stores, in whole cache lines;
  sett_relayout_run ends with the memory fence that these stores need. The order of the accesses depends on the processor:
  it is the order that was fastest in measurements. On Intel processors, several rows are read or written by turns: a burst of
  256 bytes to 2 KiB of one row, then a burst of the next row. On other processors, reads have the order of the source, and the
  rows and squares that are read next are prefetched. After sett_relayout_prepare, a caller may set plan.streams (1: streaming
  stores) and plan.bursts (1: rows by turns, in bursts) to 0 or 1.

FUNCTIONS
  sett_relayout_prepare   two layouts -> plan
  sett_relayout_run       copies a range of pieces
  sett_relayout_message   the text of an error

LAWS (tests/layouts/relayout_test.c makes random pairs of layouts and compares with plain loops over the definition of a layout)
  1 moved    the element with index i has the same value in the destination as in the source.
  2 rest     every padding position of the destination has the value of `fill`, or is unchanged if `fill` is NULL; nothing outside
             the destination is written.
  3 pieces   ranges that together are the pieces 0 .. plan.pieces - 1 give the same destination, in any order.

ANSWERS (in all sett headers)
  If a question may stay undecided, its answer is a record with the fields yes and no. yes is 1 only if yes is proved; no is
  1 only if no is proved. If both are 0, the question is not decided or an input had failed, and the field reason or error
  says why. A function that answers with an int returns 1 for a proved yes and 0 otherwise; an error is in a field or an
  output parameter (sett_map_fits returns it as a negative number). A size, place or index that does not exist is -1. A
  function that returns an error code returns 0 if there is no error. Output parameters are always written; without a value,
  they become -1 or 0. In a list, the field `count` is the number of entries.

ARGUMENTS (in all sett headers)
  Passed by value: numbers, handles (sett_expr), maps (sett_map), short lists and marks (sett_analysis_list,
  sett_nested_counts, sett_map_mark), and device plans, which are kernel arguments. All other records are passed by a pointer
  to const and returned by value. A pointer to non-const points to caller-owned memory that the function writes. An error is
  an int; 0 means no error. sett_<module>_message(error) returns its text, which is a constant string.

ERRORS
  sett_relayout_prepare returns plan->error: 0, one of SETT_RELAYOUT_ERROR_.., or an error of sett_tile_prepare. After an error,
  the plan has no pieces, and sett_relayout_run writes nothing. sett_relayout_message returns the text of each of these errors.

LIMITS
  Arrays have less than 2^60 bytes. Elements have 1, 2, 4 or a multiple of 8 bits, and at most 1024 bits (128 if `fill` is not
  NULL). The limits of sett_tile.h also hold.

HISTORY
  0.2  SETT_DECLARATIONS, SETT_IMPLEMENTATION, SETT_PREFIX.
  0.1  a header of its own; it was a part of sett_tile.h 0.2.
*/
#ifndef SETT_RELAYOUT_H
#define SETT_RELAYOUT_H

#define SETT_RELAYOUT_VERSION 200 /* version 0.2.0: 10000 * major + 100 * minor + patch */

#ifndef SETT_TILE_H
#error "include sett_tile.h before sett_relayout.h"
#endif

#ifndef SETT_RELAYOUT_STREAM
#define SETT_RELAYOUT_STREAM ((int64_t)4 << 20)
#endif
#ifndef SETT_RELAYOUT_PIECE
#define SETT_RELAYOUT_PIECE ((int64_t)64 << 10)
#endif
#ifndef SETT_RELAYOUT_STEP
#define SETT_RELAYOUT_STEP ((int64_t)1 << 10)
#endif

/* ---- types ------------------------------------------------------------------------------------------------------ */

#define SETT_RELAYOUT_ERRORS(X)                                                                               \
  X(ERROR_TYPES, "expected two arrays of the same element type; sett_tile_iterate serves conversions")        \
  X(ERROR_DIMS, "expected two arrays with the same dimensions")                                               \
  X(ERROR_BITS, "expected elements of 1, 2 or 4 bits or whole bytes")                                         \
  X(ERROR_WIDTHS, "expected elements of the same size, or of at most a byte and at least their type's width") \
  X(ERROR_LARGE, "expected arrays of less than 2^60 bytes")

enum {
  SETTP_RELAYOUT_FIRST = 999, /* error codes begin at 1000; those of sett_tile.h are smaller */
#define SETTP_RELAYOUT_ENUM(name, text) SETT_RELAYOUT_##name,
  SETT_RELAYOUT_ERRORS(SETTP_RELAYOUT_ENUM)
#undef SETTP_RELAYOUT_ENUM
};

enum {
  SETTP_RELAYOUT_LEAVES = SETT_TILE_MAX_LIST,
  SETTP_RELAYOUT_OPS = SETT_TILE_MAX_TILES + 1,
  SETTP_RELAYOUT_EDGES = 24,  /* maximum number of digits of a dimension, in both layouts together */
  SETTP_RELAYOUT_LEVELS = 96, /* maximum number of common digits of all dimensions */
  SETTP_RELAYOUT_LOOPS = SETTP_RELAYOUT_LEVELS + 4,
  SETTP_RELAYOUT_CHOSEN = 8,
  /* if several rows are read in turn: number of bytes that are read from a row before the next row is read */
  SETTP_RELAYOUT_BURST = 1024,
  /* if rows are interleaved: number of bytes that are read from a row before the next row is read */
  SETTP_RELAYOUT_ZIPPED = 256,
  /* if several rows are written in turn: number of bytes that are written to a row before the next row is written */
  SETTP_RELAYOUT_WRITE = 2048,
  SETTP_RELAYOUT_BLOCK = 8192,
  SETTP_RELAYOUT_PAGE = 4096,
  /* if two interleaved rows are at least this many bytes apart, each row is prefetched separately, 8 * ROW_DISTANCE bytes ahead */
  SETTP_RELAYOUT_APART = 16384,
  SETTP_RELAYOUT_ROW_DISTANCE = 256, /* prefetch distance in bytes in each row of a square */
  /* prefetch distance, in bytes beyond those read so far, if interleaved rows are read in the order of the source */
  SETTP_RELAYOUT_ORDER_DISTANCE = 65536
};

/* A leaf is a dimension of the array in memory, after all tiles are applied. Its value is computed from the index of an axis: first a division, then a
 * remainder, for each of `ops` steps. If axis is -1, the value is 0. */
typedef struct settp_relayout_leaf {
  int64_t size, stride; /* number of values, including padding, and stride in elements */
  int64_t count;        /* values below `count` occur in the array; larger ones are padding */
  int32_t axis, ops;
  int64_t div[SETTP_RELAYOUT_OPS], mod[SETTP_RELAYOUT_OPS]; /* a `mod` of 0 means that no remainder is taken */
} settp_relayout_leaf;

typedef struct settp_relayout_side {
  /* regular: 1 if each leaf has one division and one remainder, and padding is only at the end of an axis */
  int32_t leaves, regular;
  settp_relayout_leaf leaf[SETTP_RELAYOUT_LEAVES];
} settp_relayout_side;

/* An axis: a dimension, or the dimensions that a * combines. Its common digits are level[first] .. level[first + levels - 1]. */
typedef struct settp_relayout_axis {
  int64_t size;
  int64_t padded; /* in a regular destination: the size of the axis with its padding */
  int32_t first, levels;
} settp_relayout_axis;

/* A level: a digit of an axis that both layouts have. One step of the digit is `block` indices. */
typedef struct settp_relayout_level {
  int64_t block;
  int64_t from, to;  /* strides of the digit in both layouts */
  int32_t irregular; /* 1: the digit has no strides, so offsets are computed */
} settp_relayout_level;

/* A plan: what sett_relayout_prepare has found for two layouts. It contains no pointers. Callers may read error and pieces, and may set streams and
 * bursts (see HOW in the manual); the other fields are private. */
typedef struct sett_relayout_plan {
  int error;
  int64_t pieces;
  int32_t streams; /* 1: use streaming stores */
  int32_t bursts;  /* 1: several rows take turns, each turn is a burst; 0: reads have the order of the source */
  int32_t fills;
  int32_t walks; /* 1: positions are moved one at a time */
  int32_t axes, signed_elements;
  int32_t chosen, choice[SETTP_RELAYOUT_CHOSEN]; /* the leaves of the destination whose values identify a piece */
  /* A piece covers this number of values of the last chosen leaf. If positions are moved one at a time, a piece has this number of positions. */
  int64_t chunk;
  int64_t from_bits, to_bits;
  int64_t span, positions; /* the span and the number of positions of the destination, as in sett_tile_plan */
  unsigned char fill[16];
  settp_relayout_axis axis[SETT_TILE_MAX_RANK];
  settp_relayout_level level[SETTP_RELAYOUT_LEVELS];
  settp_relayout_side from, to;
  sett_tile_plan from_plan, to_plan;
} sett_relayout_plan;

/* ---- prototypes ------------------------------------------------------------------------------------------------- */

/* Make a plan: write *plan and return plan->error. fill is NULL or points to the element for padding, see THE MODEL in the manual. */
SETT_PUBLIC int sett_relayout_prepare(sett_relayout_plan *plan, const sett_tile_shape *from, const sett_tile_shape *to,
                                      const void *fill);
/* Copy pieces first to last - 1. Do nothing if the plan has an error, if first is negative, or if last is more than plan->pieces. */
SETT_PUBLIC void sett_relayout_run(const sett_relayout_plan *plan, const void *source, void *destination, int64_t first,
                                   int64_t last);
/* Return the text of an error of this header or of sett_tile.h. */
SETT_PUBLIC const char *sett_relayout_message(int error);

#if defined(SETTP_LINK_SEPARATE) && defined(SETT_PREFIX)
/* clang-format off */
#define SETT_RELAYOUT_FUNCTIONS(X) \
  X(sett_relayout_prepare) X(sett_relayout_run) X(sett_relayout_message)
/* clang-format on */
SETT_RELAYOUT_FUNCTIONS(SETTP_LINK_RENAME)
#endif
#endif

#if !defined(SETTP_RELAYOUT_BODIES) && (defined(SETT_IMPLEMENTATION) || !defined(SETTP_LINK_SEPARATE))
#define SETTP_RELAYOUT_BODIES

/* ---- bodies: vectors --------------------------------------------------------------------------------------------- */

/* SETTP_RELAYOUT_WIDE is the number of bytes of a vector; 0 means that no vectors are used. */
#if defined(SETT_RELAYOUT_SCALAR) || defined(__CUDACC__) || \
    !(defined(__clang__) || (defined(__GNUC__) && __GNUC__ >= 12))
#define SETTP_RELAYOUT_WIDE 0
/* without SSE2, functions cannot return vectors */
#elif (defined(__i386__) || defined(__x86_64__)) && !defined(__SSE2__)
#define SETTP_RELAYOUT_WIDE 0
#elif defined(__AVX512BW__)
#define SETTP_RELAYOUT_WIDE 64
#elif defined(__AVX2__)
#define SETTP_RELAYOUT_WIDE 32
#else
#define SETTP_RELAYOUT_WIDE 16
#endif

/* Only gcc gets the hint to unroll a loop. clang unrolls without it, and warns if it cannot follow a hint; gcc warns if it does not optimise. */
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__) && defined(__OPTIMIZE__)
#define SETTP_RELAYOUT_UNROLL _Pragma("GCC unroll 64")
#else
#define SETTP_RELAYOUT_UNROLL
#endif
#if defined(__clang__)
#define SETTP_RELAYOUT_ROLLED _Pragma("clang loop unroll(disable)")
#elif defined(__GNUC__) && !defined(__CUDACC__) && defined(__OPTIMIZE__)
#define SETTP_RELAYOUT_ROLLED _Pragma("GCC unroll 1")
#else
#define SETTP_RELAYOUT_ROLLED
#endif
#if defined(__GNUC__)
#define SETTP_RELAYOUT_INLINE SETT_INLINE __attribute__((__always_inline__))
#else
#define SETTP_RELAYOUT_INLINE SETT_INLINE
#endif

enum { SETTP_RELAYOUT_LINE = 64 };

SETTP_RELAYOUT_INLINE void settp_relayout_bytes(unsigned char *to, const unsigned char *from, int64_t bytes) {
#if defined(__GNUC__)
  __builtin_memcpy(to, from, (size_t)bytes);
#else
  int64_t i;
  for (i = 0; i < bytes; ++i) to[i] = from[i];
#endif
}

SETTP_RELAYOUT_INLINE int settp_relayout_aligned(const unsigned char *at) {
  return ((uintptr_t)at & (SETTP_RELAYOUT_LINE - 1)) == 0;
}

/* SETTP_RELAYOUT_PASTn stores a vector of n bytes with a streaming store, if the compiler has one. The address `to` must be a multiple of n. */
#if SETTP_RELAYOUT_WIDE
typedef long long settp_relayout_past16 __attribute__((__vector_size__(16), __may_alias__));
typedef long long settp_relayout_past32 __attribute__((__vector_size__(32), __may_alias__));
typedef long long settp_relayout_past64 __attribute__((__vector_size__(64), __may_alias__));
#define SETTP_RELAYOUT_AS(n, to) ((settp_relayout_past##n *)(void *)(to))
#if defined(__clang__)
#define SETTP_RELAYOUT_PAST(n, to, vector) \
  __builtin_nontemporal_store((settp_relayout_past##n)(vector), SETTP_RELAYOUT_AS(n, to))
#define SETTP_RELAYOUT_PAST16(to, vector) SETTP_RELAYOUT_PAST(16, to, vector)
#define SETTP_RELAYOUT_PAST32(to, vector) SETTP_RELAYOUT_PAST(32, to, vector)
#define SETTP_RELAYOUT_PAST64(to, vector) SETTP_RELAYOUT_PAST(64, to, vector)
#elif defined(__SSE2__)
#define SETTP_RELAYOUT_PAST16(to, vector) \
  __builtin_ia32_movntdq(SETTP_RELAYOUT_AS(16, to), (settp_relayout_past16)(vector))
#define SETTP_RELAYOUT_PAST32(to, vector) \
  __builtin_ia32_movntdq256(SETTP_RELAYOUT_AS(32, to), (settp_relayout_past32)(vector))
#define SETTP_RELAYOUT_PAST64(to, vector) \
  __builtin_ia32_movntdq512(SETTP_RELAYOUT_AS(64, to), (settp_relayout_past64)(vector))
#else
#define SETTP_RELAYOUT_PAST16(to, vector) __builtin_memcpy(to, &(vector), 16)
#endif
#if SETTP_RELAYOUT_WIDE == 64
#define SETTP_RELAYOUT_PAST_WIDE SETTP_RELAYOUT_PAST64
typedef settp_relayout_past64 settp_relayout_wide;
#elif SETTP_RELAYOUT_WIDE == 32
#define SETTP_RELAYOUT_PAST_WIDE SETTP_RELAYOUT_PAST32
typedef settp_relayout_past32 settp_relayout_wide;
#else
#define SETTP_RELAYOUT_PAST_WIDE SETTP_RELAYOUT_PAST16
typedef settp_relayout_past16 settp_relayout_wide;
#endif
#endif

/* Store a cache line of 64 bytes with streaming stores. `to` must be aligned. */
SETTP_RELAYOUT_INLINE void settp_relayout_stream(unsigned char *to, const unsigned char *from) {
#if SETTP_RELAYOUT_WIDE
  settp_relayout_wide line[SETTP_RELAYOUT_LINE / SETTP_RELAYOUT_WIDE];
  int i;
  __builtin_memcpy(line, from, SETTP_RELAYOUT_LINE);
  SETTP_RELAYOUT_UNROLL
  for (i = 0; i < SETTP_RELAYOUT_LINE / SETTP_RELAYOUT_WIDE; ++i)
    SETTP_RELAYOUT_PAST_WIDE(to + i * SETTP_RELAYOUT_WIDE, line[i]);
#else
  settp_relayout_bytes(to, from, SETTP_RELAYOUT_LINE);
#endif
}

SETTP_RELAYOUT_INLINE void settp_relayout_fence(void) {
#if SETTP_RELAYOUT_WIDE && defined(__SSE2__)
  __builtin_ia32_sfence();
#endif
}

/* Prefetch a number of bytes. */
SETTP_RELAYOUT_INLINE void settp_relayout_prefetch(const unsigned char *from, int64_t bytes) {
#if defined(__GNUC__)
  int64_t i;
  for (i = 0; i < bytes; i += SETTP_RELAYOUT_LINE) __builtin_prefetch(from + i, 0, 2);
#else
  (void)from;
  (void)bytes;
#endif
}

/* Prefetch a number of bytes that is known at compile time: one instruction per cache line without a loop, so that more lines are in flight. */
SETTP_RELAYOUT_INLINE void settp_relayout_ask_known(const unsigned char *from, int64_t bytes) {
#if defined(__GNUC__)
  int64_t i;
  SETTP_RELAYOUT_UNROLL
  for (i = 0; i < bytes; i += SETTP_RELAYOUT_LINE) __builtin_prefetch(from + i, 0, 2);
#else
  (void)from;
  (void)bytes;
#endif
}

SETTP_RELAYOUT_INLINE void settp_relayout_prefetch_rows(const unsigned char *from, int64_t row, int64_t rows,
                                                        int64_t bytes) {
  int64_t i;
  for (i = 0; i < rows; ++i) settp_relayout_prefetch(from + i * row, bytes);
}

/* Prefetch 512 bytes, divided evenly among `rows` rows. */
SETTP_RELAYOUT_INLINE void settp_relayout_prefetch_512(const unsigned char *from, int64_t row, int rows) {
  int i;
  SETTP_RELAYOUT_UNROLL
  for (i = 0; i < rows; ++i) settp_relayout_ask_known(from + i * row, 512 / rows);
}

/* Copy whole cache lines with streaming stores. */
SETTP_RELAYOUT_INLINE void settp_relayout_lines(unsigned char *to, const unsigned char *from, int64_t bytes) {
  int64_t i;
  SETTP_RELAYOUT_UNROLL
  for (i = 0; i < bytes; i += SETTP_RELAYOUT_LINE) settp_relayout_stream(to + i, from + i);
}

SETTP_RELAYOUT_INLINE void settp_relayout_copy(unsigned char *to, const unsigned char *from, int64_t bytes,
                                               int streams) {
  int64_t i = 0;
  if (streams && bytes >= SETTP_RELAYOUT_LINE) {
    int64_t head = (int64_t)(-(uintptr_t)to & (SETTP_RELAYOUT_LINE - 1));
    if (head) settp_relayout_bytes(to, from, head);
    for (i = head; i + SETTP_RELAYOUT_LINE <= bytes; i += SETTP_RELAYOUT_LINE) settp_relayout_stream(to + i, from + i);
  } else {
    for (; i + SETTP_RELAYOUT_LINE <= bytes; i += SETTP_RELAYOUT_LINE)
      settp_relayout_bytes(to + i, from + i, SETTP_RELAYOUT_LINE);
  }
  if (i < bytes) settp_relayout_bytes(to + i, from + i, bytes - i);
}

#if SETTP_RELAYOUT_WIDE

/* Lists of constants. ZIPk(i, n) is i, i + n, i + 1, i + 1 + n, .., with 2 * k entries; the other lists are i, i + 2, i + 4, .. */
#define SETTP_RELAYOUT_ZIP1(i, n) (i), (i) + (n)
#define SETTP_RELAYOUT_ZIP2(i, n) SETTP_RELAYOUT_ZIP1(i, n), SETTP_RELAYOUT_ZIP1((i) + 1, n)
#define SETTP_RELAYOUT_ZIP4(i, n) SETTP_RELAYOUT_ZIP2(i, n), SETTP_RELAYOUT_ZIP2((i) + 2, n)
#define SETTP_RELAYOUT_ZIP8(i, n) SETTP_RELAYOUT_ZIP4(i, n), SETTP_RELAYOUT_ZIP4((i) + 4, n)
#define SETTP_RELAYOUT_ZIP16(i, n) SETTP_RELAYOUT_ZIP8(i, n), SETTP_RELAYOUT_ZIP8((i) + 8, n)
#define SETTP_RELAYOUT_ZIP32(i, n) SETTP_RELAYOUT_ZIP16(i, n), SETTP_RELAYOUT_ZIP16((i) + 16, n)
#define SETTP_RELAYOUT_TWO2(i) (i), (i) + 2
#define SETTP_RELAYOUT_TWO4(i) SETTP_RELAYOUT_TWO2(i), SETTP_RELAYOUT_TWO2((i) + 4)
#define SETTP_RELAYOUT_TWO8(i) SETTP_RELAYOUT_TWO4(i), SETTP_RELAYOUT_TWO4((i) + 8)
#define SETTP_RELAYOUT_TWO16(i) SETTP_RELAYOUT_TWO8(i), SETTP_RELAYOUT_TWO8((i) + 16)
#define SETTP_RELAYOUT_TWO32(i) SETTP_RELAYOUT_TWO16(i), SETTP_RELAYOUT_TWO16((i) + 32)
#define SETTP_RELAYOUT_TWO64(i) SETTP_RELAYOUT_TWO32(i), SETTP_RELAYOUT_TWO32((i) + 64)
#define SETTP_RELAYOUT_SHUFFLE(...) __builtin_shufflevector(__VA_ARGS__)

/* Vectors of `wide` bytes with `lanes` (2 * half) elements of a type: loads, stores and four ways to interleave vectors a and b:
 *     lower(a, b)   a0 b0 a1 b1 ..
 *     upper(a, b)   the same with the upper halves of a and b
 *     even(a, b)    a0 a2 .. b0 b2 ..
 *     odd(a, b)     a1 a3 .. b1 b3 .. */
#define SETTP_RELAYOUT_VECTOR(name, type, wide, lanes, half)                                                          \
  typedef type settp_relayout_##name __attribute__((__vector_size__(wide)));                                          \
  SETTP_RELAYOUT_INLINE settp_relayout_##name settp_relayout_load_##name(const unsigned char *from) {                 \
    settp_relayout_##name value;                                                                                      \
    __builtin_memcpy(&value, from, wide);                                                                             \
    return value;                                                                                                     \
  }                                                                                                                   \
  SETTP_RELAYOUT_INLINE void settp_relayout_plain_##name(unsigned char *to, settp_relayout_##name value) {            \
    __builtin_memcpy(to, &value, wide);                                                                               \
  }                                                                                                                   \
  SETTP_RELAYOUT_INLINE void settp_relayout_put_##name(unsigned char *to, settp_relayout_##name value, int streams) { \
    if (streams) SETTP_RELAYOUT_PAST##wide(to, value);                                                                \
    else settp_relayout_plain_##name(to, value);                                                                      \
  }                                                                                                                   \
  SETTP_RELAYOUT_INLINE settp_relayout_##name settp_relayout_lower_##name(settp_relayout_##name a,                    \
                                                                          settp_relayout_##name b) {                  \
    return SETTP_RELAYOUT_SHUFFLE(a, b, SETTP_RELAYOUT_ZIP##half(0, lanes));                                          \
  }                                                                                                                   \
  SETTP_RELAYOUT_INLINE settp_relayout_##name settp_relayout_upper_##name(settp_relayout_##name a,                    \
                                                                          settp_relayout_##name b) {                  \
    return SETTP_RELAYOUT_SHUFFLE(a, b, SETTP_RELAYOUT_ZIP##half(half, lanes));                                       \
  }                                                                                                                   \
  SETTP_RELAYOUT_INLINE settp_relayout_##name settp_relayout_even_##name(settp_relayout_##name a,                     \
                                                                         settp_relayout_##name b) {                   \
    return SETTP_RELAYOUT_SHUFFLE(a, b, SETTP_RELAYOUT_TWO##lanes(0));                                                \
  }                                                                                                                   \
  SETTP_RELAYOUT_INLINE settp_relayout_##name settp_relayout_odd_##name(settp_relayout_##name a,                      \
                                                                        settp_relayout_##name b) {                    \
    return SETTP_RELAYOUT_SHUFFLE(a, b, SETTP_RELAYOUT_TWO##lanes(1));                                                \
  }

/* Interleave z rows of n elements into one run, or split a run into z rows. Rows are `row` bytes apart, and n is at least `lanes`. There is one
 * round for each factor 2 of z. A round cuts each group of z vectors in two halves and interleaves the halves; to split a run, the rounds do the
 * reverse. If lanes does not divide n, the last step overlaps the step before it. */
#define SETTP_RELAYOUT_ZIP(name, lanes, wide)                                                                                                    \
  /* interleave m vectors: m / z adjacent vectors of each of the z rows */                                                                       \
  SETTP_RELAYOUT_INLINE void settp_relayout_zip_m_##name(unsigned char *to, const unsigned char *from, int64_t row,                              \
                                                         int m, int z, int rounds, int streams) {                                                \
    settp_relayout_##name a[8], b[8];                                                                                                            \
    const int side = m / z;                                                                                                                      \
    int i, k, round;                                                                                                                             \
    SETTP_RELAYOUT_UNROLL                                                                                                                        \
    for (i = 0; i < m; ++i)                                                                                                                      \
      a[i % side * z + i / side] = settp_relayout_load_##name(from + i / side * row + i % side * wide);                                          \
    SETTP_RELAYOUT_UNROLL                                                                                                                        \
    for (round = 0; round < rounds; ++round) {                                                                                                   \
      SETTP_RELAYOUT_UNROLL                                                                                                                      \
      for (k = 0; k < m; k += z) {                                                                                                               \
        SETTP_RELAYOUT_UNROLL                                                                                                                    \
        for (i = 0; i < z / 2; ++i) {                                                                                                            \
          b[k + 2 * i] = settp_relayout_lower_##name(a[k + i], a[k + i + z / 2]);                                                                \
          b[k + 2 * i + 1] = settp_relayout_upper_##name(a[k + i], a[k + i + z / 2]);                                                            \
        }                                                                                                                                        \
      }                                                                                                                                          \
      SETTP_RELAYOUT_UNROLL                                                                                                                      \
      for (i = 0; i < m; ++i) a[i] = b[i];                                                                                                       \
    }                                                                                                                                            \
    SETTP_RELAYOUT_UNROLL                                                                                                                        \
    for (i = 0; i < m; ++i) settp_relayout_put_##name(to + i * wide, a[i], streams);                                                             \
  }                                                                                                                                              \
  SETTP_RELAYOUT_INLINE void settp_relayout_unzip_m_##name(unsigned char *to, const unsigned char *from, int64_t row,                            \
                                                           int m, int z, int rounds, int streams) {                                              \
    settp_relayout_##name a[8], b[8];                                                                                                            \
    const int side = m / z;                                                                                                                      \
    int i, k, round;                                                                                                                             \
    SETTP_RELAYOUT_UNROLL                                                                                                                        \
    for (i = 0; i < m; ++i) a[i] = settp_relayout_load_##name(from + i * wide);                                                                  \
    SETTP_RELAYOUT_UNROLL                                                                                                                        \
    for (round = 0; round < rounds; ++round) {                                                                                                   \
      SETTP_RELAYOUT_UNROLL                                                                                                                      \
      for (k = 0; k < m; k += z) {                                                                                                               \
        SETTP_RELAYOUT_UNROLL                                                                                                                    \
        for (i = 0; i < z / 2; ++i) {                                                                                                            \
          b[k + i] = settp_relayout_even_##name(a[k + 2 * i], a[k + 2 * i + 1]);                                                                 \
          b[k + i + z / 2] = settp_relayout_odd_##name(a[k + 2 * i], a[k + 2 * i + 1]);                                                          \
        }                                                                                                                                        \
      }                                                                                                                                          \
      SETTP_RELAYOUT_UNROLL                                                                                                                      \
      for (i = 0; i < m; ++i) a[i] = b[i];                                                                                                       \
    }                                                                                                                                            \
    SETTP_RELAYOUT_UNROLL                                                                                                                        \
    for (i = 0; i < m; ++i)                                                                                                                      \
      settp_relayout_put_##name(to + i / side * row + i % side * wide, a[i % side * z + i / side], streams);                                     \
  }                                                                                                                                              \
  /* move 512 bytes with streaming stores. In bursts, all accesses of one row follow each other; otherwise the rows alternate in a short loop */ \
  SETTP_RELAYOUT_INLINE void settp_relayout_zip_512_##name(unsigned char *to, const unsigned char *from, int64_t row,                            \
                                                           int z, int rounds, int bursts) {                                                      \
    int64_t j;                                                                                                                                   \
    if (bursts) {                                                                                                                                \
      SETTP_RELAYOUT_UNROLL                                                                                                                      \
      for (j = 0; j < 512; j += 8 * wide) settp_relayout_zip_m_##name(to + j, from + j / z, row, 8, z, rounds, 1);                               \
    } else {                                                                                                                                     \
      SETTP_RELAYOUT_ROLLED                                                                                                                      \
      for (j = 0; j < 512; j += z * wide) settp_relayout_zip_m_##name(to + j, from + j / z, row, z, z, rounds, 1);                               \
    }                                                                                                                                            \
  }                                                                                                                                              \
  SETTP_RELAYOUT_INLINE void settp_relayout_unzip_512_##name(unsigned char *to, const unsigned char *from,                                       \
                                                             int64_t row, int z, int rounds, int bursts) {                                       \
    int64_t j;                                                                                                                                   \
    if (bursts) {                                                                                                                                \
      SETTP_RELAYOUT_UNROLL                                                                                                                      \
      for (j = 0; j < 512; j += 8 * wide) settp_relayout_unzip_m_##name(to + j / z, from + j, row, 8, z, rounds, 1);                             \
    } else {                                                                                                                                     \
      SETTP_RELAYOUT_ROLLED                                                                                                                      \
      for (j = 0; j < 512; j += z * wide) settp_relayout_unzip_m_##name(to + j / z, from + j, row, z, z, rounds, 1);                             \
    }                                                                                                                                            \
  }                                                                                                                                              \
  SETTP_RELAYOUT_INLINE void settp_relayout_zip_##name(unsigned char *to, const unsigned char *from, int64_t row,                                \
                                                       int64_t n, int z, int rounds, int streams) {                                              \
    const int64_t element = wide / lanes;                                                                                                        \
    int64_t j;                                                                                                                                   \
    for (j = 0; j + lanes <= n; j += lanes)                                                                                                      \
      settp_relayout_zip_m_##name(to + z * j * element, from + j * element, row, z, z, rounds, streams);                                         \
    if (j < n)                                                                                                                                   \
      settp_relayout_zip_m_##name(to + z * (n - lanes) * element, from + (n - lanes) * element, row, z, z, rounds, 0);                           \
  }                                                                                                                                              \
  SETTP_RELAYOUT_INLINE void settp_relayout_unzip_##name(unsigned char *to, const unsigned char *from, int64_t row,                              \
                                                         int64_t n, int z, int rounds, int streams) {                                            \
    const int64_t element = wide / lanes;                                                                                                        \
    int64_t j;                                                                                                                                   \
    for (j = 0; j + lanes <= n; j += lanes)                                                                                                      \
      settp_relayout_unzip_m_##name(to + j * element, from + z * j * element, row, z, z, rounds, streams);                                       \
    if (j < n)                                                                                                                                   \
      settp_relayout_unzip_m_##name(to + (n - lanes) * element, from + z * (n - lanes) * element, row, z, z, rounds,                             \
                                    0);                                                                                                          \
  }

/* Transpose squares of n x n elements. Either one square fills n whole vectors, or each 16-byte part of n vectors holds a square; then the squares in
 * all parts are transposed at once. The result is n rows of the destination, one vector each. */
#define SETTP_RELAYOUT_TILE(tile, name, n, rounds, get, low, high)                                                \
  SETT_INLINE void settp_relayout_##tile(unsigned char *to, const unsigned char *from, const int64_t *source_row, \
                                         const int64_t *row, int64_t ahead, int streams) {                        \
    settp_relayout_##name a[n], b[n];                                                                             \
    int i, round;                                                                                                 \
    SETTP_RELAYOUT_UNROLL                                                                                         \
    for (i = 0; i < n; ++i) {                                                                                     \
      if (ahead) settp_relayout_prefetch(from + source_row[i] + ahead, 1);                                        \
      a[i] = get(from, source_row + i, n);                                                                        \
    }                                                                                                             \
    SETTP_RELAYOUT_UNROLL                                                                                         \
    for (round = 0; round < rounds; ++round) {                                                                    \
      SETTP_RELAYOUT_UNROLL                                                                                       \
      for (i = 0; i < n / 2; ++i) {                                                                               \
        b[2 * i] = low(a[i], a[i + n / 2]);                                                                       \
        b[2 * i + 1] = high(a[i], a[i + n / 2]);                                                                  \
      }                                                                                                           \
      SETTP_RELAYOUT_UNROLL                                                                                       \
      for (i = 0; i < n; ++i) a[i] = b[i];                                                                        \
    }                                                                                                             \
    if (streams) {                                                                                                \
      SETTP_RELAYOUT_UNROLL                                                                                       \
      for (i = 0; i < n; ++i) settp_relayout_put_##name(to + row[i], a[i], 1);                                    \
    } else {                                                                                                      \
      SETTP_RELAYOUT_UNROLL                                                                                       \
      for (i = 0; i < n; ++i) settp_relayout_plain_##name(to + row[i], a[i]);                                     \
    }                                                                                                             \
  }

#define SETTP_RELAYOUT_WHOLE_u32(from, row, n) settp_relayout_load_u32(from + *(row))
#define SETTP_RELAYOUT_WHOLE_u64(from, row, n) settp_relayout_load_u64(from + *(row))

#if SETTP_RELAYOUT_WIDE == 64
SETTP_RELAYOUT_VECTOR(u8, uint8_t, 64, 64, 32)
SETTP_RELAYOUT_VECTOR(u16, uint16_t, 64, 32, 16)
SETTP_RELAYOUT_VECTOR(u32, uint32_t, 64, 16, 8)
SETTP_RELAYOUT_VECTOR(u64, uint64_t, 64, 8, 4)
#define SETTP_RELAYOUT_LOW_u8(a, b)                                                                                  \
  SETTP_RELAYOUT_SHUFFLE(a, b, SETTP_RELAYOUT_ZIP8(0, 64), SETTP_RELAYOUT_ZIP8(16, 64), SETTP_RELAYOUT_ZIP8(32, 64), \
                         SETTP_RELAYOUT_ZIP8(48, 64))
#define SETTP_RELAYOUT_HIGH_u8(a, b)                                                                                 \
  SETTP_RELAYOUT_SHUFFLE(a, b, SETTP_RELAYOUT_ZIP8(8, 64), SETTP_RELAYOUT_ZIP8(24, 64), SETTP_RELAYOUT_ZIP8(40, 64), \
                         SETTP_RELAYOUT_ZIP8(56, 64))
#define SETTP_RELAYOUT_LOW_u16(a, b)                                                                                \
  SETTP_RELAYOUT_SHUFFLE(a, b, SETTP_RELAYOUT_ZIP4(0, 32), SETTP_RELAYOUT_ZIP4(8, 32), SETTP_RELAYOUT_ZIP4(16, 32), \
                         SETTP_RELAYOUT_ZIP4(24, 32))
#define SETTP_RELAYOUT_HIGH_u16(a, b)                                                                                \
  SETTP_RELAYOUT_SHUFFLE(a, b, SETTP_RELAYOUT_ZIP4(4, 32), SETTP_RELAYOUT_ZIP4(12, 32), SETTP_RELAYOUT_ZIP4(20, 32), \
                         SETTP_RELAYOUT_ZIP4(28, 32))
#elif SETTP_RELAYOUT_WIDE == 32
SETTP_RELAYOUT_VECTOR(u8, uint8_t, 32, 32, 16)
SETTP_RELAYOUT_VECTOR(u16, uint16_t, 32, 16, 8)
SETTP_RELAYOUT_VECTOR(u32, uint32_t, 32, 8, 4)
SETTP_RELAYOUT_VECTOR(u64, uint64_t, 32, 4, 2)
#define SETTP_RELAYOUT_LOW_u8(a, b) \
  SETTP_RELAYOUT_SHUFFLE(a, b, SETTP_RELAYOUT_ZIP8(0, 32), SETTP_RELAYOUT_ZIP8(16, 32))
#define SETTP_RELAYOUT_HIGH_u8(a, b) \
  SETTP_RELAYOUT_SHUFFLE(a, b, SETTP_RELAYOUT_ZIP8(8, 32), SETTP_RELAYOUT_ZIP8(24, 32))
#define SETTP_RELAYOUT_LOW_u16(a, b) \
  SETTP_RELAYOUT_SHUFFLE(a, b, SETTP_RELAYOUT_ZIP4(0, 16), SETTP_RELAYOUT_ZIP4(8, 16))
#define SETTP_RELAYOUT_HIGH_u16(a, b) \
  SETTP_RELAYOUT_SHUFFLE(a, b, SETTP_RELAYOUT_ZIP4(4, 16), SETTP_RELAYOUT_ZIP4(12, 16))
#else
SETTP_RELAYOUT_VECTOR(u8, uint8_t, 16, 16, 8)
SETTP_RELAYOUT_VECTOR(u16, uint16_t, 16, 8, 4)
SETTP_RELAYOUT_VECTOR(u32, uint32_t, 16, 4, 2)
SETTP_RELAYOUT_VECTOR(u64, uint64_t, 16, 2, 1)
#endif

#if SETTP_RELAYOUT_WIDE > 16
/* Load four or two parts of 16 bytes, n rows apart, as one vector. */
typedef uint64_t settp_relayout_2x64 __attribute__((__vector_size__(16)));
SETTP_RELAYOUT_INLINE settp_relayout_2x64 settp_relayout_piece(const unsigned char *from) {
  settp_relayout_2x64 value;
  __builtin_memcpy(&value, from, 16);
  return value;
}
SETTP_RELAYOUT_INLINE settp_relayout_u64 settp_relayout_gather(const unsigned char *from, const int64_t *row, int n) {
  typedef uint64_t settp_relayout_4x64 __attribute__((__vector_size__(32)));
  settp_relayout_4x64 a =
      __builtin_shufflevector(settp_relayout_piece(from + row[0]), settp_relayout_piece(from + row[n]), 0, 1, 2, 3);
#if SETTP_RELAYOUT_WIDE == 32
  return a;
#else
  settp_relayout_4x64 b = __builtin_shufflevector(settp_relayout_piece(from + row[2 * n]),
                                                  settp_relayout_piece(from + row[3 * n]), 0, 1, 2, 3);
  return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7);
#endif
}
#define SETTP_RELAYOUT_GATHER_u8(from, row, n) (settp_relayout_u8) settp_relayout_gather(from, row, n)
#define SETTP_RELAYOUT_GATHER_u16(from, row, n) (settp_relayout_u16) settp_relayout_gather(from, row, n)
SETTP_RELAYOUT_TILE(tile_u8, u8, 16, 4, SETTP_RELAYOUT_GATHER_u8, SETTP_RELAYOUT_LOW_u8, SETTP_RELAYOUT_HIGH_u8)
SETTP_RELAYOUT_TILE(tile_u16, u16, 8, 3, SETTP_RELAYOUT_GATHER_u16, SETTP_RELAYOUT_LOW_u16, SETTP_RELAYOUT_HIGH_u16)
#if SETTP_RELAYOUT_WIDE == 64
/* Transpose a block of 4 * n x 4 * n elements, whose rows are whole cache lines. Each row of the source is read once into a buffer. Then four blocks,
 * each 16 bytes wide, are transposed from the buffer. */
#define SETTP_RELAYOUT_LINES(name, n)                                                                         \
  SETT_INLINE void settp_relayout_square_##name(unsigned char *to, const unsigned char *from,                 \
                                                const int64_t *source_row, const int64_t *row, int64_t ahead, \
                                                int streams) {                                                \
    settp_relayout_u64 line[4 * n];                                                                           \
    int64_t at[4 * n];                                                                                        \
    int i;                                                                                                    \
    SETTP_RELAYOUT_UNROLL                                                                                     \
    for (i = 0; i < 4 * n; ++i) {                                                                             \
      if (ahead) settp_relayout_prefetch(from + source_row[i] + ahead, 1);                                    \
      line[i] = settp_relayout_load_u64(from + source_row[i]);                                                \
    }                                                                                                         \
    for (i = 0; i < 4 * n; ++i) at[i] = i * SETTP_RELAYOUT_LINE;                                              \
    for (i = 0; i < 4; ++i)                                                                                   \
      settp_relayout_tile_##name(to, (const unsigned char *)line + i * 16, at, row + i * n, 0, streams);      \
  }
SETTP_RELAYOUT_LINES(u8, 16)
SETTP_RELAYOUT_LINES(u16, 8)
#endif
SETTP_RELAYOUT_TILE(tile_u32, u32, (SETTP_RELAYOUT_WIDE / 4), (SETTP_RELAYOUT_WIDE == 64 ? 4 : 3),
                    SETTP_RELAYOUT_WHOLE_u32, settp_relayout_lower_u32, settp_relayout_upper_u32)
SETTP_RELAYOUT_TILE(tile_u64, u64, (SETTP_RELAYOUT_WIDE / 8), (SETTP_RELAYOUT_WIDE == 64 ? 3 : 2),
                    SETTP_RELAYOUT_WHOLE_u64, settp_relayout_lower_u64, settp_relayout_upper_u64)
#endif
/* Squares with 16-byte rows, for rows that are too short for longer vectors. */
SETTP_RELAYOUT_VECTOR(n8, uint8_t, 16, 16, 8)
SETTP_RELAYOUT_VECTOR(n16, uint16_t, 16, 8, 4)
SETTP_RELAYOUT_VECTOR(n32, uint32_t, 16, 4, 2)
SETTP_RELAYOUT_VECTOR(n64, uint64_t, 16, 2, 1)
#define SETTP_RELAYOUT_NARROW_n8(from, row, n) settp_relayout_load_n8(from + *(row))
#define SETTP_RELAYOUT_NARROW_n16(from, row, n) settp_relayout_load_n16(from + *(row))
#define SETTP_RELAYOUT_NARROW_n32(from, row, n) settp_relayout_load_n32(from + *(row))
#define SETTP_RELAYOUT_NARROW_n64(from, row, n) settp_relayout_load_n64(from + *(row))
SETTP_RELAYOUT_TILE(tile_n8, n8, 16, 4, SETTP_RELAYOUT_NARROW_n8, settp_relayout_lower_n8, settp_relayout_upper_n8)
SETTP_RELAYOUT_TILE(tile_n16, n16, 8, 3, SETTP_RELAYOUT_NARROW_n16, settp_relayout_lower_n16, settp_relayout_upper_n16)
SETTP_RELAYOUT_TILE(tile_n32, n32, 4, 2, SETTP_RELAYOUT_NARROW_n32, settp_relayout_lower_n32, settp_relayout_upper_n32)
SETTP_RELAYOUT_TILE(tile_n64, n64, 2, 1, SETTP_RELAYOUT_NARROW_n64, settp_relayout_lower_n64, settp_relayout_upper_n64)
SETTP_RELAYOUT_ZIP(u8, SETTP_RELAYOUT_WIDE, SETTP_RELAYOUT_WIDE)
SETTP_RELAYOUT_ZIP(u16, (SETTP_RELAYOUT_WIDE / 2), SETTP_RELAYOUT_WIDE)
SETTP_RELAYOUT_ZIP(u32, (SETTP_RELAYOUT_WIDE / 4), SETTP_RELAYOUT_WIDE)
SETTP_RELAYOUT_ZIP(u64, (SETTP_RELAYOUT_WIDE / 8), SETTP_RELAYOUT_WIDE)
#endif

/* ---- bodies: the radix systems ----------------------------------------------------------------------------------- */

SETT_PUBLIC const char *sett_relayout_message(int error) {
  switch (error) {
#define SETTP_RELAYOUT_CASE(name, text) \
  case SETT_RELAYOUT_##name: return text;
    SETT_RELAYOUT_ERRORS(SETTP_RELAYOUT_CASE)
#undef SETTP_RELAYOUT_CASE
    default: return sett_tile_message(error);
  }
}

SETT_INLINE int64_t settp_relayout_gcd(int64_t a, int64_t b) {
  while (b) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/* Return the least common multiple of `a` and `b`, or `limit` if it is larger. */
SETT_INLINE int64_t settp_relayout_lcm(int64_t a, int64_t b, int64_t limit) {
  int64_t part = a / settp_relayout_gcd(a, b);
  return part > limit / b ? limit : part * b;
}

/* Replace a leaf by leaf / t or by leaf % t, and change its size. */
SETT_INLINE settp_relayout_leaf settp_relayout_quotient(settp_relayout_leaf leaf, int64_t t) {
  int k = leaf.ops - 1;
  leaf.size = leaf.size == 0 ? 0 : (leaf.size - 1) / t + 1;
  if (leaf.axis < 0 || t >= leaf.count) {
    leaf.axis = -1;
    leaf.count = 1;
    return leaf;
  }
  if (leaf.mod[k] == 0 || leaf.mod[k] % t == 0) {
    leaf.div[k] *= t; /* cannot overflow: it is less than the size of the axis, because t < count */
    leaf.mod[k] /= t;
  } else {
    leaf.div[++k] = t;
    leaf.mod[k] = 0;
    ++leaf.ops;
  }
  leaf.count = (leaf.count - 1) / t + 1;
  return leaf;
}

SETT_INLINE settp_relayout_leaf settp_relayout_remainder(settp_relayout_leaf leaf, int64_t t) {
  int k = leaf.ops - 1;
  leaf.size = t;
  if (leaf.axis < 0 || t >= leaf.count) return leaf;
  if (leaf.mod[k] == 0 || leaf.mod[k] % t == 0) {
    leaf.mod[k] = t;
  } else {
    leaf.div[++k] = 1;
    leaf.mod[k] = t;
    ++leaf.ops;
  }
  leaf.count = t;
  if (t == 1) leaf.axis = -1;
  return leaf;
}

/* Join two leaves: *low becomes high * (size of low) + low. Return 0 if one division and one remainder cannot compute the result from the index of an
 * axis. */
SETT_INLINE int settp_relayout_join(settp_relayout_leaf high, settp_relayout_leaf *low) {
  int64_t size = high.size * low->size;
  if (high.count > 1 && low->axis < 0) {
    if (low->size != 1) return 0;
    *low = high;
  } else if (high.count > 1) {
    if (high.axis != low->axis || high.ops != 1 || low->ops != 1 || low->mod[0] == 0 || low->size != low->mod[0] ||
        high.div[0] != low->div[0] * low->mod[0])
      return 0;
    low->mod[0] *= high.mod[0];
    low->count = high.count * low->size;
  }
  low->size = size;
  return 1;
}

/* Apply the tiles of a shape to the list of leaves (dimensions in memory) in `side`. Before the call, it has the dimensions in memory without tiles.
 * A tile may combine dimensions by *; return 0 if settp_relayout_join cannot join their leaves. */
SETT_INLINE int settp_relayout_tiles(const sett_tile_shape *shape, settp_relayout_side *side) {
  settp_relayout_leaf group[SETT_TILE_MAX_TILE_DIMS];
  int stage, i, n = side->leaves, tile_at = 0;
  int64_t stride = 1;
  for (stage = 0; stage < shape->tiles; ++stage) {
    const int64_t *tile = &shape->tile[tile_at];
    int k = shape->tile_rank[stage], groups = 0, joins = 0;
    for (; n < k; ++n) {
      for (i = n; i > 0; --i) side->leaf[i] = side->leaf[i - 1];
      side->leaf[0].size = side->leaf[0].count = 1;
      side->leaf[0].axis = -1;
    }
    for (i = 0; i < k; ++i) {
      settp_relayout_leaf leaf = side->leaf[n - k + i];
      if (joins && !settp_relayout_join(group[groups], &leaf)) return 0;
      group[groups] = leaf;
      joins = tile[i] == SETT_TILE_COMBINE;
      groups += !joins;
    }
    for (i = 0, groups = 0; i < k; ++i) groups += tile[i] != SETT_TILE_COMBINE;
    for (i = 0, joins = 0; i < k; ++i) {
      if (tile[i] == SETT_TILE_COMBINE) continue;
      side->leaf[n - k + joins] = settp_relayout_quotient(group[joins], tile[i]);
      side->leaf[n - k + groups + joins] = settp_relayout_remainder(group[joins], tile[i]);
      ++joins;
    }
    n += 2 * groups - k;
    tile_at += k;
  }
  side->leaves = n;
  side->regular = 1;
  for (i = n; i-- > 0;) {
    settp_relayout_leaf *leaf = &side->leaf[i];
    if (leaf->count <= 1) leaf->axis = -1;
    leaf->stride = stride;
    stride *= leaf->size;
    if (leaf->axis < 0 ? leaf->size > 1 : leaf->ops > 1 || (leaf->mod[0] && leaf->mod[0] < leaf->size))
      side->regular = 0;
  }
  return 1;
}

/* Find the next group of two or more dimensions that the first tile combines by *, and write it to `dims`: the most major dimension first, without
 * dimensions of size 1. The search starts at entry *at of the tile, and moves *at past the group. Return the number of dimensions, or 0 if there is
 * no further group. */
SETT_INLINE int settp_relayout_group(const sett_tile_shape *shape, int *at, int *dims) {
  int count = 0, k = shape->tiles > 0 ? shape->tile_rank[0] : 0;
  while (*at < k) {
    int physical = shape->rank - k + *at, combine = shape->tile[*at] == SETT_TILE_COMBINE;
    if (physical >= 0) {
      int d = shape->minor_to_major[shape->rank - 1 - physical];
      if (shape->dims[d] != 1) dims[count++] = d;
    }
    ++*at;
    if (!combine) {
      if (count > 1) return count;
      count = 0;
    }
  }
  return 0;
}

/* Return 1 if the list `part` is a contiguous part of the list `whole`. */
SETT_INLINE int settp_relayout_within(const int *part, int parts, const int *whole, int wholes) {
  int start, i;
  for (start = 0; start + parts <= wholes; ++start) {
    for (i = 0; i < parts && part[i] == whole[start + i];) ++i;
    if (i == parts) return 1;
  }
  return 0;
}

/* Find the axes: dimensions, or groups of dimensions that a layout merges. List the dimensions of each layout as leaves, in memory order and without
 * tiles. Return 0 if the two layouts combine dimensions in different ways. */
SETT_INLINE int settp_relayout_axes(sett_relayout_plan *plan, const sett_tile_shape *from, const sett_tile_shape *to) {
  int members[SETT_TILE_MAX_RANK][SETT_TILE_MAX_RANK], count[SETT_TILE_MAX_RANK], dims[SETT_TILE_MAX_RANK];
  int axis_of[SETT_TILE_MAX_RANK], side, d, i, n, groups = 0, at;
  for (d = 0; d < from->rank; ++d) axis_of[d] = -1;
  for (side = 0; side < 2; ++side) {
    at = 0;
    while ((n = settp_relayout_group(side ? to : from, &at, dims)) > 0) {
      int other = -1, fresh = 0;
      for (i = 0; i < n; ++i) {
        if (axis_of[dims[i]] < 0) fresh = 1;
        else if (other >= 0 && axis_of[dims[i]] != other) return 0;
        else other = axis_of[dims[i]];
      }
      if (other >= 0 && settp_relayout_within(dims, n, members[other], count[other])) continue;
      if (other >= 0 && !(fresh && settp_relayout_within(members[other], count[other], dims, n))) return 0;
      if (other < 0) other = groups++;
      count[other] = n;
      for (i = 0; i < n; ++i) {
        members[other][i] = dims[i];
        axis_of[dims[i]] = other;
      }
    }
  }
  for (d = 0; d < from->rank; ++d) {
    if (axis_of[d] >= 0 || from->dims[d] == 1) continue;
    members[groups][0] = d;
    count[groups] = 1;
    axis_of[d] = groups++;
  }
  plan->axes = groups;
  for (side = 0; side < 2; ++side) {
    const sett_tile_shape *shape = side ? to : from;
    settp_relayout_side *list = side ? &plan->to : &plan->from;
    list->leaves = shape->rank;
    for (d = 0; d < shape->rank; ++d) {
      int dim = shape->minor_to_major[shape->rank - 1 - d], axis = axis_of[dim];
      settp_relayout_leaf *leaf = &list->leaf[d];
      leaf->size = leaf->count = shape->dims[dim];
      leaf->axis = axis;
      leaf->ops = 1;
      leaf->div[0] = 1;
      leaf->mod[0] = 0;
      if (axis < 0) continue;
      for (i = count[axis]; members[axis][--i] != dim;) leaf->div[0] *= shape->dims[members[axis][i]];
      if (i > 0) leaf->mod[0] = shape->dims[dim];
    }
  }
  for (i = 0; i < groups; ++i) {
    plan->axis[i].size = 1;
    for (d = 0; d < count[i]; ++d) plan->axis[i].size *= from->dims[members[i][d]];
  }
  return 1;
}

/* Return the sum of index * stride over the leaves of one axis, for a value of the axis. */
SETT_INLINE int64_t settp_relayout_offset(const settp_relayout_side *side, int axis, int64_t index) {
  int64_t offset = 0;
  int i, k;
  for (i = 0; i < side->leaves; ++i) {
    const settp_relayout_leaf *leaf = &side->leaf[i];
    int64_t value = index;
    if (leaf->axis != axis) continue;
    for (k = 0; k < leaf->ops; ++k) {
      value /= leaf->div[k];
      if (leaf->mod[k]) value %= leaf->mod[k];
    }
    offset += value * leaf->stride;
  }
  return offset;
}

/* Insert `value` into the ascending list edge[0 .. *count - 1]. Return 0 if the list is full. */
SETT_INLINE int settp_relayout_edge(int64_t *edge, int *count, int64_t value) {
  int i = *count, j;
  while (i > 0 && edge[i - 1] > value) --i;
  if (i > 0 && edge[i - 1] == value) return 1;
  if (*count == SETTP_RELAYOUT_EDGES) return 0;
  for (j = (*count)++; j > i; --j) edge[j] = edge[j - 1];
  edge[i] = value;
  return 1;
}

/* Write the weights of the digits of an axis in both layouts, in ascending order: the number of indices that one step of a digit covers. Weights that
 * are not below the size of the axis are left out. Return the number of weights, or 0 if there are too many. */
SETT_INLINE int settp_relayout_edges(const sett_relayout_plan *plan, int axis, int64_t *edge) {
  int side, i, k, count = 0;
  int64_t size = plan->axis[axis].size;
  settp_relayout_edge(edge, &count, 1);
  for (side = 0; side < 2; ++side) {
    const settp_relayout_side *list = side ? &plan->to : &plan->from;
    for (i = 0; i < list->leaves; ++i) {
      const settp_relayout_leaf *leaf = &list->leaf[i];
      int64_t scale = 1;
      if (leaf->axis != axis) continue;
      for (k = 0; k < leaf->ops; ++k) {
        if (scale > (size - 1) / leaf->div[k]) break;
        scale *= leaf->div[k];
        if (!settp_relayout_edge(edge, &count, scale)) return 0;
        if (leaf->mod[k] && scale <= (size - 1) / leaf->mod[k] &&
            !settp_relayout_edge(edge, &count, scale * leaf->mod[k]))
          return 0;
      }
    }
  }
  return count;
}

/* Find the common digits of all axes. A common digit begins at a weight c if every weight in the list divides c or is a multiple of c. Between two
 * neighbours in the list, the candidates for c are the least common multiple of the weights below and the greatest common divisor of those above, if
 * the first divides the second. */
SETT_INLINE int settp_relayout_levels(sett_relayout_plan *plan) {
  int64_t edge[SETTP_RELAYOUT_EDGES], above[SETTP_RELAYOUT_EDGES + 1], below, block[2];
  int axis, i, j, edges, used = 0;
  for (axis = 0; axis < plan->axes; ++axis) {
    settp_relayout_axis *a = &plan->axis[axis];
    int64_t limit = a->size;
    a->first = used;
    if (a->size <= 1) edges = 1, edge[0] = 1;
    else if ((edges = settp_relayout_edges(plan, axis, edge)) == 0) return 0;
    above[edges] = 0; /* 0 is a multiple of every number, so it limits nothing */
    for (i = edges; i-- > 0;) above[i] = settp_relayout_gcd(edge[i], above[i + 1]);
    for (i = 0, below = 1; i < edges; ++i) {
      below = settp_relayout_lcm(below, edge[i], limit);
      if (below >= limit && limit > 1) break;
      if (above[i + 1] % below) continue;
      block[0] = below;
      block[1] = above[i + 1];
      for (j = 0; j < (block[1] > below ? 2 : 1); ++j) {
        settp_relayout_level *level = &plan->level[used];
        if (used == SETTP_RELAYOUT_LEVELS) return 0;
        if (used > a->first && level[-1].block == block[j]) continue;
        level->block = block[j];
        level->from = settp_relayout_offset(&plan->from, axis, block[j]);
        level->to = settp_relayout_offset(&plan->to, axis, block[j]);
        level->irregular = 0;
        ++used;
      }
    }
    a->levels = used - a->first;
    for (i = a->first; i < used; ++i)
      for (j = 0; j < edges; ++j)
        if (edge[j] > plan->level[i].block && (i + 1 == used || edge[j] < plan->level[i + 1].block))
          plan->level[i].irregular = 1;
  }
  return 1;
}

/* Choose how many successive values of a leaf of the destination make up a piece, and return this number. In both layouts, a piece should cover at
 * least `want` elements of memory. So the shorter one of a level's two strides counts. Take the smallest level whose stride is at least `want`; a
 * piece is one step of this level. If no stride is that long, take the level with the longest stride; a piece is the smallest number of its steps
 * that covers `want` elements. *step receives the stride, or 0 if the leaf has no level. */
SETT_INLINE int64_t settp_relayout_chunk(const sett_relayout_plan *plan, const settp_relayout_leaf *leaf, int64_t want,
                                         int64_t *step) {
  const settp_relayout_axis *axis = &plan->axis[leaf->axis];
  int64_t chunk = 1;
  int i;
  *step = 0;
  for (i = axis->first; i < axis->first + axis->levels && *step < want; ++i) {
    int64_t block = plan->level[i].block, other = plan->level[i].from;
    int64_t own = block % leaf->div[0] ? 0 : block / leaf->div[0] * leaf->stride;
    if (other > own) other = own;
    if (other <= *step || block / leaf->div[0] >= leaf->size) continue;
    chunk = block / leaf->div[0];
    *step = other;
  }
  return *step >= want || *step == 0 ? chunk : chunk * ((want - 1) / *step + 1);
}

/* Choose the leaves (dimensions in memory) of the destination whose values identify a piece. Until a piece is small enough, take the leaf that has
 * the longest steps in both layouts. The leaves of an axis are taken from the most major on, so that a piece is one interval of the axis. */
SETT_INLINE void settp_relayout_pieces(sett_relayout_plan *plan) {
  int64_t
      /* for each axis, the divisor of the leaf that was taken last (0: none yet); the next leaf of the axis must have this number as its div * mod */
      end[SETT_TILE_MAX_RANK];
  int64_t bytes = plan->span / 8 * plan->to_bits + plan->span % 8 * plan->to_bits / 8, least = bytes / 256;
  unsigned char out[SETTP_RELAYOUT_LEAVES];
  int i;
  if (least < SETT_RELAYOUT_PIECE) least = SETT_RELAYOUT_PIECE;
  if (least > 16 * SETT_RELAYOUT_PIECE) least = 16 * SETT_RELAYOUT_PIECE;
  for (i = 0; i < SETT_TILE_MAX_RANK; ++i) end[i] = 0;
  for (i = 0; i < SETTP_RELAYOUT_LEAVES; ++i) out[i] = 0;
  plan->chosen = 0;
  plan->chunk = 1;
  plan->pieces = 1;
  while (plan->chosen < SETTP_RELAYOUT_CHOSEN && plan->chunk == 1 && bytes > 2 * least) {
    int64_t best_step = 0, best_chunk = 1, chunk, step;
    int best = -1;
    const settp_relayout_leaf *leaf;
    for (i = 0; i < plan->to.leaves; ++i) {
      leaf = &plan->to.leaf[i];
      if (out[i] || leaf->axis < 0 || leaf->ops != 1 || leaf->size < 2) continue;
      if (leaf->mod[0] ? leaf->mod[0] != leaf->size || leaf->div[0] * leaf->mod[0] != end[leaf->axis]
                       : end[leaf->axis] != 0)
        continue;
      if (leaf->stride % 8 * plan->to_bits % 8) continue;
      chunk = settp_relayout_chunk(plan, leaf, SETT_RELAYOUT_STEP * 8 / plan->to_bits, &step);
      if (best >= 0 && step <= best_step) continue;
      best = i;
      best_step = step;
      best_chunk = chunk;
    }
    if (best < 0) return;
    leaf = &plan->to.leaf[best];
    out[best] = 1;
    chunk = best_chunk;
    if (bytes / leaf->size < least) {
      /* round count up to a multiple of `whole`: of best_chunk or, if count has at least one page, of the number of values in a page */
      int64_t count = least / (bytes / leaf->size + 1) + 1, page = SETTP_RELAYOUT_PAGE * 8 / plan->to_bits,
              whole = best_chunk;
      if (best_step && page % best_step == 0 && page / best_step <= count / best_chunk) whole *= page / best_step;
      chunk = (count - 1) / whole * whole + whole;
    }
    if (chunk >= leaf->size) continue;
    plan->choice[plan->chosen++] = best;
    plan->chunk = chunk;
    plan->pieces *= (leaf->size - 1) / chunk + 1;
    end[leaf->axis] = leaf->div[0];
    bytes /= leaf->size;
  }
}

SETT_INLINE int settp_relayout_check(const sett_tile_shape *from, const sett_tile_shape *to) {
  int64_t from_bits = sett_tile_bits(from), to_bits = sett_tile_bits(to), width = 0;
  int i;
  if (from->type != to->type) return SETT_RELAYOUT_ERROR_TYPES;
  if (from->rank != to->rank) return SETT_RELAYOUT_ERROR_DIMS;
  for (i = 0; i < from->rank; ++i)
    if (from->dims[i] != to->dims[i]) return SETT_RELAYOUT_ERROR_DIMS;
  for (i = 0; i < 2; ++i) {
    int64_t bits = i ? to_bits : from_bits;
    if (bits <= 0 || (bits % 8 && bits != 1 && bits != 2 && bits != 4)) return SETT_RELAYOUT_ERROR_BITS;
    if (bits > 1024) return SETT_RELAYOUT_ERROR_BITS;
  }
  switch (from->type) {
#define SETTP_RELAYOUT_CASE(name, text, bits, memory) \
  case SETT_TILE_##name: width = bits; break;
    SETT_TILE_TYPES(SETTP_RELAYOUT_CASE)
#undef SETTP_RELAYOUT_CASE
    default: break;
  }
  if (from_bits != to_bits && (from_bits > 8 || to_bits > 8 || from_bits < width || to_bits < width))
    return SETT_RELAYOUT_ERROR_WIDTHS;
  if (sett_tile_bytes(from) >> 60 || sett_tile_bytes(to) >> 60) return SETT_RELAYOUT_ERROR_LARGE;
  return SETT_TILE_OK;
}

/* Return 1 on an Intel processor. */
SETT_INLINE int settp_relayout_intel(void) {
#if defined(__GNUC__) && !defined(__CUDACC__) && (defined(__x86_64__) || defined(__i386__))
  unsigned a = 0, b, c = 0, d;
  __asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
  return b == 0x756e6547 && d == 0x49656e69 && c == 0x6c65746e; /* "GenuineIntel" */
#else
  return 0;
#endif
}

SETT_PUBLIC int sett_relayout_prepare(sett_relayout_plan *plan, const sett_tile_shape *from, const sett_tile_shape *to,
                                      const void *fill) {
  int64_t bytes;
  int i;
  plan->pieces = 0;
  plan->streams = plan->bursts = plan->fills = plan->walks = 0;
  plan->from_plan = sett_tile_prepare(from);
  plan->to_plan = sett_tile_prepare(to);
  plan->error = plan->from_plan.error ? plan->from_plan.error : plan->to_plan.error;
  if (!plan->error) plan->error = settp_relayout_check(from, to);
  if (plan->error) return plan->error;
  plan->from_bits = sett_tile_bits(from);
  plan->to_bits = sett_tile_bits(to);
  bytes = plan->to_bits < 8 ? 1 : plan->to_bits / 8;
  plan->fills = fill != NULL;
  if (fill && bytes > 16) return plan->error = SETT_RELAYOUT_ERROR_BITS;
  for (i = 0; i < 16; ++i) plan->fill[i] = fill && i < bytes ? ((const unsigned char *)fill)[i] : 0;
  plan->span = plan->to_plan.span;
  plan->positions = plan->to_plan.positions;
  plan->streams = sett_tile_bytes(to) >= SETT_RELAYOUT_STREAM;
  plan->bursts = plan->streams && settp_relayout_intel();
  plan->signed_elements = from->type == SETT_TILE_S1 || from->type == SETT_TILE_S2 || from->type == SETT_TILE_S4;
  if (plan->positions == 0) return plan->error;
  plan->walks = !settp_relayout_axes(plan, from, to) || !settp_relayout_tiles(from, &plan->from) ||
                !settp_relayout_tiles(to, &plan->to) || !settp_relayout_levels(plan);
  if (plan->walks) {
    plan->chunk = SETT_RELAYOUT_PIECE;
    plan->pieces = (plan->positions - 1) / plan->chunk + 1;
    return plan->error;
  }
  for (i = 0; i < plan->axes; ++i) plan->axis[i].padded = 0;
  for (i = 0; i < plan->to.leaves; ++i) {
    const settp_relayout_leaf *leaf = &plan->to.leaf[i];
    if (leaf->axis >= 0 && leaf->mod[0] == 0) plan->axis[leaf->axis].padded = leaf->div[0] * leaf->size;
  }
  settp_relayout_pieces(plan);
  return plan->error;
}

/* ---- bodies: elements and bits ----------------------------------------------------------------------------------- */

/* Return up to 8 bits, from bit `at` on. */
SETTP_RELAYOUT_INLINE unsigned settp_relayout_get(const unsigned char *from, int64_t at, int bits) {
  int shift = (int)(at & 7);
  unsigned value = (unsigned)from[at >> 3] >> shift;
  if (shift + bits > 8) value |= (unsigned)from[(at >> 3) + 1] << (8 - shift);
  return value & ((1u << bits) - 1);
}

/* Write bits from bit `at` on; all of them must be in one byte. */
SETTP_RELAYOUT_INLINE void settp_relayout_set(unsigned char *to, int64_t at, int bits, unsigned value) {
  int shift = (int)(at & 7);
  unsigned mask = ((1u << bits) - 1) << shift;
  to[at >> 3] = (unsigned char)((to[at >> 3] & ~mask) | (value << shift & mask));
}

SETT_INLINE void settp_relayout_bits(unsigned char *to, int64_t to_at, const unsigned char *from, int64_t from_at,
                                     int64_t bits) {
  while (bits > 0 && (to_at & 7)) {
    int part = (int)(8 - (to_at & 7));
    if (part > bits) part = (int)bits;
    settp_relayout_set(to, to_at, part, settp_relayout_get(from, from_at, part));
    to_at += part;
    from_at += part;
    bits -= part;
  }
  if (bits >= 8) {
    const unsigned char *low = from + (from_at >> 3);
    unsigned char *out = to + (to_at >> 3);
    int64_t i, bytes = bits >> 3;
    int shift = (int)(from_at & 7);
    if (shift == 0) settp_relayout_copy(out, low, bytes, 0);
    else
      for (i = 0; i < bytes; ++i)
        out[i] = (unsigned char)((unsigned)low[i] >> shift | (unsigned)low[i + 1] << (8 - shift));
    to_at += 8 * bytes;
    from_at += 8 * bytes;
    bits &= 7;
  }
  if (bits > 0) settp_relayout_set(to, to_at, (int)bits, settp_relayout_get(from, from_at, (int)bits));
}

/* Move an element of at most one byte. It is extended or truncated if the sizes differ. */
SETTP_RELAYOUT_INLINE void settp_relayout_element(const sett_relayout_plan *plan, unsigned char *to, int64_t to_at,
                                                  const unsigned char *from, int64_t from_at) {
  int width = (int)plan->from_bits;
  unsigned value = settp_relayout_get(from, from_at, width);
  if (plan->signed_elements && plan->to_bits > width && value >> (width - 1)) value |= ~0u << width;
  settp_relayout_set(to, to_at, (int)plan->to_bits, value);
}

SETT_INLINE void settp_relayout_fill(const sett_relayout_plan *plan, unsigned char *to, int64_t at, int64_t count) {
  int64_t bits = plan->to_bits, i, j, element = bits / 8, bytes = 0;
  if (bits < 8) {
    int64_t bit = at * bits, rest = count * bits;
    unsigned value = plan->fill[0] & ((1u << bits) - 1);
    for (; rest > 0 && (bit & 7); bit += bits, rest -= bits) settp_relayout_set(to, bit, (int)bits, value);
    for (j = bits; j < 8; j *= 2) value |= value << j;
    for (i = 0; i < rest >> 3; ++i) to[(bit >> 3) + i] = (unsigned char)value;
    bit += rest & ~(int64_t)7;
    for (rest &= 7; rest > 0; bit += bits, rest -= bits) settp_relayout_set(to, bit, (int)bits, value);
    return;
  }
  to += at * element;
  count *= element;
  if (64 % element == 0 && count >= 64) {
    /* two cache lines of fill values, so that a whole line may begin at any byte of the first one */
    unsigned char line[128];
    int64_t head = plan->streams ? (int64_t)(-(uintptr_t)to & 63) : 0;
    for (i = 0; i < 128; ++i) line[i] = plan->fill[i % element];
    settp_relayout_bytes(to, line, head);
    for (bytes = head; bytes + 64 <= count; bytes += 64) {
      if (plan->streams) settp_relayout_stream(to + bytes, line + head % element);
      else settp_relayout_bytes(to + bytes, line, 64);
    }
  }
  for (; bytes < count; ++bytes) to[bytes] = plan->fill[bytes % element];
}

/* Copy n elements of e bytes. Strides are in bytes. */
SETTP_RELAYOUT_INLINE void settp_relayout_scatter(unsigned char *to, const unsigned char *from, int64_t n,
                                                  int64_t to_step, int64_t from_step, int64_t e) {
  int64_t i;
  switch (e) {
    case 1:
      for (i = 0; i < n; ++i) to[i * to_step] = from[i * from_step];
      break;
    case 2:
      for (i = 0; i < n; ++i) settp_relayout_bytes(to + i * to_step, from + i * from_step, 2);
      break;
    case 4:
      for (i = 0; i < n; ++i) settp_relayout_bytes(to + i * to_step, from + i * from_step, 4);
      break;
    case 8:
      for (i = 0; i < n; ++i) settp_relayout_bytes(to + i * to_step, from + i * from_step, 8);
      break;
    case 16:
      for (i = 0; i < n; ++i) settp_relayout_bytes(to + i * to_step, from + i * from_step, 16);
      break;
    default:
      for (i = 0; i < n; ++i) settp_relayout_bytes(to + i * to_step, from + i * from_step, e);
      break;
  }
}

/* ---- bodies: a box of loops -------------------------------------------------------------------------------------- */

typedef struct settp_relayout_loop {
  int64_t n, from, to;        /* number of steps; strides, at first in elements, later in bytes or bits */
  int64_t from_back, to_back; /* subtracted from the offset of the last step, which then overlaps the step before it */
  int64_t block,
      /* if axis >= 0, the loop has no stride. The offset of step i is then offset(start + i * block) - offset(start) on this axis */
      start;
  int32_t axis;
} settp_relayout_loop;

enum {
  SETTP_RELAYOUT_COPY,    /* n bytes */
  SETTP_RELAYOUT_SCATTER, /* n elements of e bytes are copied; `from` and `to` are their strides */
  SETTP_RELAYOUT_ZIPS,    /* z rows of n elements are interleaved into one run; rows are `from` apart */
  SETTP_RELAYOUT_UNZIPS,  /* one run is split into z rows of n elements, `to` apart */
  SETTP_RELAYOUT_TILES,   /* squares are transposed in registers */
  SETTP_RELAYOUT_SQUARES, /* squares of whole cache lines are transposed through a buffer */
  SETTP_RELAYOUT_NARROW,  /* squares with 16-byte rows are transposed */
  SETTP_RELAYOUT_BITS,    /* n bits */
  SETTP_RELAYOUT_EACHES,  /* n elements of at most one byte; strides are in bits */
  SETTP_RELAYOUT_FILL     /* n elements are set to the fill value */
};

typedef struct settp_relayout_job {
  const sett_relayout_plan *plan;
  const unsigned char *source;
  unsigned char *destination;
  int64_t from, to;           /* offsets of the first element of the box */
  int64_t from_unit, to_unit; /* size of an element, in bytes or bits; used by loops with computed offsets */
  int64_t n, from_step, to_step, e;
  /* number of contiguous bytes of a unit (what one step of the innermost loop moves) in the source and in the destination */
  int64_t from_run, to_run;
  int64_t unit;     /* number of bytes of a unit of copies and zips */
  int64_t distance; /* prefetch distance in bytes in each row of a unit; 0 means no prefetch */
  /* prefetch distance in bytes of the first unit, if prefetches follow the order of the source */
  int64_t order_distance;
  /* 1: after the last units of the second loop, the prefetch goes on with the first units of the third loop's next step */
  int wraps;
  int prefetches; /* number of addresses that are prefetched for a unit of copies and zips: 1, or one per row */
  int kind, z, streams, loops;
  settp_relayout_loop inner[3], loop[SETTP_RELAYOUT_LOOPS];
  int64_t source_row[64], row[64];
} settp_relayout_job;

SETT_INLINE void settp_relayout_drop(settp_relayout_job *job, int at) {
  for (--job->loops; at < job->loops; ++at) job->loop[at] = job->loop[at + 1];
}

/* Remove loops of one step, and merge loops whose strides continue each other. */
SETT_INLINE void settp_relayout_merge(settp_relayout_job *job) {
  int i, j;
  for (i = job->loops; i-- > 0;)
    if (job->loop[i].n == 1) settp_relayout_drop(job, i);
  for (i = 0; i < job->loops; ++i) {
    settp_relayout_loop *low = &job->loop[i];
    for (j = 0; j < job->loops; ++j) {
      const settp_relayout_loop *high = &job->loop[j];
      if (i == j || low->axis >= 0 || high->axis >= 0) continue;
      if (high->from != low->n * low->from || high->to != low->n * low->to) continue;
      low->n *= high->n;
      settp_relayout_drop(job, j);
      i = -1;
      break;
    }
  }
}

/* If elements of 1, 2 or 4 bits always move as whole bytes, change the job to one of bytes. */
SETT_INLINE int settp_relayout_as_bytes(settp_relayout_job *job) {
  int64_t in_byte = 8 / job->plan->to_bits;
  int i, run = -1;
  if (job->plan->from_bits != job->plan->to_bits || job->from % in_byte || job->to % in_byte) return 0;
  for (i = 0; i < job->loops; ++i) {
    const settp_relayout_loop *loop = &job->loop[i];
    if (loop->axis >= 0) return 0;
    if (loop->from == 1 && loop->to == 1 && loop->n % in_byte == 0) run = i;
    else if (loop->from % in_byte || loop->to % in_byte) return 0;
  }
  if (run < 0) return 0;
  for (i = 0; i < job->loops; ++i) {
    settp_relayout_loop *loop = &job->loop[i];
    if (i == run) loop->n /= in_byte;
    else loop->from /= in_byte, loop->to /= in_byte;
  }
  job->from /= in_byte;
  job->to /= in_byte;
  return 1;
}

SETT_INLINE void settp_relayout_scale(settp_relayout_job *job, int64_t from, int64_t to) {
  int i;
  for (i = 0; i < job->loops; ++i) {
    job->loop[i].from *= from;
    job->loop[i].to *= to;
  }
  job->from *= from;
  job->to *= to;
  job->from_unit = from;
  job->to_unit = to;
}

/* Return the index of the loop with these strides; -1 as a stride matches any. Return -1 if there is none. */
SETT_INLINE int settp_relayout_find(const settp_relayout_job *job, int64_t from, int64_t to) {
  int i;
  for (i = 0; i < job->loops; ++i) {
    const settp_relayout_loop *loop = &job->loop[i];
    if (loop->axis < 0 && !loop->to_back && !loop->from_back && (from < 0 || loop->from == from) &&
        (to < 0 || loop->to == to))
      return i;
  }
  return -1;
}

/* Take `want` contiguous elements of the source (of the destination, if `by_to` is set) out of the loops, and write their offsets in the other buffer
 * to offset[]. If `want` does not divide the loops evenly, the last step overlaps the step before it. Return 0 if fewer than `want` elements are
 * contiguous. */
SETT_INLINE int settp_relayout_take(settp_relayout_job *job, int by_to, int64_t want, int64_t *offset) {
  int64_t have = 1, i, k;
  offset[0] = 0;
  while (have < want) {
    int at = settp_relayout_find(job, by_to ? -1 : job->e * have, by_to ? job->e * have : -1);
    settp_relayout_loop *loop = &job->loop[at < 0 ? 0 : at];
    int64_t part = want / have, step;
    if (at < 0) return 0;
    if (loop->n < part) part = loop->n;
    if (want % (have * part)) return 0;
    step = by_to ? loop->from : loop->to;
    for (i = 1; i < part; ++i)
      for (k = 0; k < have; ++k) offset[i * have + k] = offset[k] + i * step;
    have *= part;
    if (loop->n == part) {
      settp_relayout_drop(job, at);
    } else {
      int64_t count = (loop->n - 1) / part + 1, over = count * part - loop->n;
      loop->from_back = over * loop->from;
      loop->to_back = over * loop->to;
      loop->n = count;
      loop->from *= part;
      loop->to *= part;
    }
  }
  return 1;
}

SETT_INLINE int settp_relayout_squares(settp_relayout_job *job, int kind, int64_t rows, int64_t width) {
  settp_relayout_job saved = *job;
  int64_t i;
  if (settp_relayout_take(job, 0, width, job->row) && settp_relayout_take(job, 1, rows, job->source_row)) {
    job->kind = kind;
    if (rows * job->e != SETTP_RELAYOUT_LINE) job->streams = 0;
    for (i = 0; i < width; ++i)
      if (job->row[i] % SETTP_RELAYOUT_LINE) job->streams = 0;
    return 1;
  }
  *job = saved;
  return 0;
}

/* Return 1 if cache lines that are one step apart use so few sets of an L1 cache (64 sets, 8 or 12 ways) that they evict each other. A loop that
 * reads a quarter of each line then misses four times per line. */
SETT_INLINE int settp_relayout_crowded(int64_t step, int64_t rows) {
  return step % SETTP_RELAYOUT_LINE == 0 && settp_relayout_gcd(step / SETTP_RELAYOUT_LINE, 64) * rows > 12 * 64;
}

/* Choose the kind of moves for a job of whole bytes. */
SETT_INLINE void settp_relayout_choose(settp_relayout_job *job) {
  int i, run = settp_relayout_find(job, job->e, job->e), a, even = 1;
  if (run >= 0) {
    int64_t bytes = job->loop[run].n * job->e;
    settp_relayout_drop(job, run);
    if (bytes != 2 && bytes != 4 && bytes != 8 && bytes != 16) {
      job->kind = SETTP_RELAYOUT_COPY;
      job->n = job->unit = job->from_run = job->to_run = bytes;
      for (i = 0; i < job->loops; ++i) even &= job->loop[i].to % SETTP_RELAYOUT_LINE == 0;
      job->streams &= bytes >= 256 || (even && bytes % SETTP_RELAYOUT_LINE == 0);
      return;
    }
    job->e = bytes;
  }
  a = settp_relayout_find(job, job->e, -1);
#if SETTP_RELAYOUT_WIDE
  int b = settp_relayout_find(job, -1, job->e);
  if (a >= 0 && b >= 0 && a != b && job->e <= 8 && (job->e & (job->e - 1)) == 0) {
    const settp_relayout_loop *la = &job->loop[a], *lb = &job->loop[b];
    int64_t lanes = SETTP_RELAYOUT_WIDE / job->e;
    int zips = (lb->n == 2 || lb->n == 4 || lb->n == 8) && la->to == lb->n * job->e && la->n >= lanes;
    int unzips = (la->n == 2 || la->n == 4 || la->n == 8) && lb->from == la->n * job->e && lb->n >= lanes;
    if (zips || unzips) {
      job->kind = zips ? SETTP_RELAYOUT_ZIPS : SETTP_RELAYOUT_UNZIPS;
      job->z = (int)(zips ? lb->n : la->n);
      job->n = zips ? la->n : lb->n;
      job->unit = job->z * job->n * job->e;
      job->from_run = job->n * job->e * (zips ? 1 : job->z);
      job->to_run = job->n * job->e * (zips ? job->z : 1);
      job->from_step = lb->from;
      job->to_step = la->to;
      job->streams &= zips || la->to % SETTP_RELAYOUT_LINE == 0;
      settp_relayout_drop(job, a > b ? a : b);
      settp_relayout_drop(job, a > b ? b : a);
      return;
    }
#if SETTP_RELAYOUT_WIDE == 64
    if (job->e <= 2 && !job->plan->bursts && (job->streams || settp_relayout_crowded(lb->from, lanes))) {
      settp_relayout_job before = *job;
      if (settp_relayout_squares(job, SETTP_RELAYOUT_SQUARES, lanes, lanes) && job->streams == before.streams) return;
      *job = before;
    }
#endif
#if SETTP_RELAYOUT_WIDE > 16
    if (settp_relayout_squares(job, SETTP_RELAYOUT_TILES, lanes, job->e <= 2 ? 16 / job->e : lanes)) return;
#endif
    if (settp_relayout_squares(job, SETTP_RELAYOUT_NARROW, 16 / job->e, 16 / job->e)) return;
  }
#endif
  job->kind = SETTP_RELAYOUT_SCATTER;
  job->n = 1;
  job->from_step = job->to_step = 0;
  if (a < 0)
    for (i = 0; i < job->loops; ++i)
      if (job->loop[i].axis < 0 && (a < 0 || job->loop[i].from < job->loop[a].from)) a = i;
  if (a >= 0) {
    job->n = job->loop[a].n;
    job->from_step = job->loop[a].from;
    job->to_step = job->loop[a].to;
    settp_relayout_drop(job, a);
  }
}

/* settp_relayout_units_NAME moves all units of the inner loops; a unit is what one step of the innermost loop moves. `to` and `from` are the
 * addresses of a unit, `ahead` is the address to prefetch. Each kind of move has its own function, in which `prefetching` is a constant, so that
 * addresses stay in registers. One function for all kinds of moves reached only 0.9 of the speed. */
#define SETTP_RELAYOUT_UNITS(name, prefetching, action)                                                    \
  SETT_INLINE void settp_relayout_units_##name(const settp_relayout_job *job, const unsigned char *source, \
                                               unsigned char *destination, int streams) {                  \
    const settp_relayout_loop low = job->inner[0], high = job->inner[1], top = job->inner[2];              \
    const int64_t n = job->n, row = job->kind == SETTP_RELAYOUT_UNZIPS ? job->to_step : job->from_step;    \
    const int64_t prefetches = job->prefetches, part = prefetches ? job->unit / prefetches : 0,            \
                  stretch = low.n * job->unit;                                                             \
    const int64_t ahead_low = job->order_distance ? job->unit : low.from;                                  \
    const int64_t ahead_high = job->order_distance && high.from < stretch ? stretch : high.from;           \
    const int64_t width = high.n * high.from, next = job->wraps && top.n > 1 ? top.from - width : 0;       \
    const unsigned char *ahead_of_all = source + job->order_distance + job->distance;                      \
    int64_t i, j, k;                                                                                       \
    (void)streams, (void)n, (void)row, (void)part, (void)next;                                             \
    for (k = 0; k < top.n; ++k, source += top.from, destination += top.to, ahead_of_all += top.from)       \
      for (j = 0; j < high.n; ++j)                                                                         \
        for (i = 0; i < low.n; ++i) {                                                                      \
          const unsigned char *from = source + j * high.from + i * low.from;                               \
          const unsigned char *ahead = ahead_of_all + j * ahead_high + i * ahead_low;                      \
          unsigned char *to = destination + j * high.to + i * low.to;                                      \
          prefetching;                                                                                     \
          action;                                                                                          \
        }                                                                                                  \
  }
/* Rows of 512 bytes, which most tiles have; the length is known at compile time. */
SETTP_RELAYOUT_UNITS(lines_512, settp_relayout_prefetch(ahead, 0), settp_relayout_lines(to, from, 512))
SETTP_RELAYOUT_UNITS(prefetched_512, settp_relayout_prefetch_512(ahead, 0, 1), settp_relayout_lines(to, from, 512))
SETTP_RELAYOUT_UNITS(lines, settp_relayout_prefetch(ahead, part), settp_relayout_lines(to, from, n))
SETTP_RELAYOUT_UNITS(copy, settp_relayout_prefetch(ahead, part), settp_relayout_copy(to, from, n, job->streams))
SETTP_RELAYOUT_UNITS(scatter, settp_relayout_prefetch(ahead, 0),
                     settp_relayout_scatter(to, from, n, job->to_step, job->from_step, job->e))
#if SETTP_RELAYOUT_WIDE
#define SETTP_RELAYOUT_UNITS_Z(name, z, rounds)                                                      \
  SETTP_RELAYOUT_UNITS(zip_##z##_##name, settp_relayout_prefetch_rows(ahead, row, prefetches, part), \
                       settp_relayout_zip_##name(to, from, row, n, z, rounds, streams))              \
  SETTP_RELAYOUT_UNITS(unzip_##z##_##name, settp_relayout_prefetch(ahead, part),                     \
                       settp_relayout_unzip_##name(to, from, row, n, z, rounds, streams))
#define SETTP_RELAYOUT_UNITS_512(name, z, rounds)                                                        \
  SETTP_RELAYOUT_UNITS(zip_512_##z##_##name, settp_relayout_prefetch_512(ahead, row, z),                 \
                       settp_relayout_zip_512_##name(to, from, row, z, rounds, 1))                       \
  SETTP_RELAYOUT_UNITS(unzip_512_##z##_##name, settp_relayout_prefetch_512(ahead, 0, 1),                 \
                       settp_relayout_unzip_512_##name(to, from, row, z, rounds, 1))                     \
  SETTP_RELAYOUT_UNITS(zip_short_##z##_##name, if (prefetches) settp_relayout_prefetch_512(ahead, 0, 1), \
                       settp_relayout_zip_512_##name(to, from, row, z, rounds, 0))                       \
  SETTP_RELAYOUT_UNITS(unzip_short_##z##_##name, settp_relayout_prefetch(ahead, 0),                      \
                       settp_relayout_unzip_512_##name(to, from, row, z, rounds, 0))
#define SETTP_RELAYOUT_UNITS_ZIP(name) \
  SETTP_RELAYOUT_UNITS_Z(name, 2, 1)   \
  SETTP_RELAYOUT_UNITS_Z(name, 4, 2)   \
  SETTP_RELAYOUT_UNITS_Z(name, 8, 3)   \
  SETTP_RELAYOUT_UNITS_512(name, 2, 1) \
  SETTP_RELAYOUT_UNITS_512(name, 4, 2)
SETTP_RELAYOUT_UNITS_ZIP(u8)
SETTP_RELAYOUT_UNITS_ZIP(u16)
SETTP_RELAYOUT_UNITS_ZIP(u32)
SETTP_RELAYOUT_UNITS_ZIP(u64)
#define SETTP_RELAYOUT_UNITS_TILE(name)                                                                          \
  SETTP_RELAYOUT_UNITS(name, settp_relayout_prefetch(ahead, 0),                                                  \
                       settp_relayout_##name(to, from, job->source_row, job->row,                                \
                                             job->distance + (j * high.from + job->distance < width ? 0 : next), \
                                             streams))
SETTP_RELAYOUT_UNITS_TILE(tile_n8)
SETTP_RELAYOUT_UNITS_TILE(tile_n16)
SETTP_RELAYOUT_UNITS_TILE(tile_n32)
SETTP_RELAYOUT_UNITS_TILE(tile_n64)
#if SETTP_RELAYOUT_WIDE > 16
SETTP_RELAYOUT_UNITS_TILE(tile_u8)
SETTP_RELAYOUT_UNITS_TILE(tile_u16)
SETTP_RELAYOUT_UNITS_TILE(tile_u32)
SETTP_RELAYOUT_UNITS_TILE(tile_u64)
#endif
#if SETTP_RELAYOUT_WIDE == 64
SETTP_RELAYOUT_UNITS_TILE(square_u8)
SETTP_RELAYOUT_UNITS_TILE(square_u16)
#endif

/* Select a function by the size of an element and the number of rows. */
#define SETTP_RELAYOUT_BY_SIZE(which, type) \
  (job->e == 1 ? which(type##8) : job->e == 2 ? which(type##16) : job->e == 4 ? which(type##32) : which(type##64))
#define SETTP_RELAYOUT_2_OR_4(action, name) \
  (job->z == 2 ? settp_relayout_units_##action##_2_##name : settp_relayout_units_##action##_4_##name)
#define SETTP_RELAYOUT_BY_ROWS(action, name)                                                             \
  (job->z > 4                                                ? settp_relayout_units_##action##_8_##name  \
   : !streams || job->unit != 512                            ? SETTP_RELAYOUT_2_OR_4(action, name)       \
   : job->distance || (job->plan->bursts && job->prefetches) ? SETTP_RELAYOUT_2_OR_4(action##_512, name) \
                                                             : SETTP_RELAYOUT_2_OR_4(action##_short, name))
#define SETTP_RELAYOUT_WHICH_ZIP(name) SETTP_RELAYOUT_BY_ROWS(zip, name)
#define SETTP_RELAYOUT_WHICH_UNZIP(name) SETTP_RELAYOUT_BY_ROWS(unzip, name)
#define SETTP_RELAYOUT_WHICH_TILE(name) settp_relayout_units_tile_##name
#endif

/* Move units of the kinds whose offsets are in bits or in elements. */
SETT_INLINE void settp_relayout_odd_units(const settp_relayout_job *job, int64_t from_at, int64_t to_at) {
  const sett_relayout_plan *plan = job->plan;
  int64_t i, j, k, l;
  /* the same three loops as in settp_relayout_units_NAME */
  for (l = 0; l < job->inner[2].n; ++l, from_at += job->inner[2].from, to_at += job->inner[2].to)
    for (j = 0; j < job->inner[1].n; ++j)
      for (i = 0; i < job->inner[0].n; ++i) {
        int64_t from = from_at + j * job->inner[1].from + i * job->inner[0].from;
        int64_t to = to_at + j * job->inner[1].to + i * job->inner[0].to;
        if (job->kind == SETTP_RELAYOUT_FILL) settp_relayout_fill(plan, job->destination, to, job->n);
        else if (job->kind == SETTP_RELAYOUT_BITS) settp_relayout_bits(job->destination, to, job->source, from, job->n);
        else
          for (k = 0; k < job->n; ++k)
            settp_relayout_element(plan, job->destination, to + k * job->to_step, job->source,
                                   from + k * job->from_step);
      }
}

/* Move all units of the inner loops. A unit is what one step of the innermost loop moves. */
SETT_INLINE void settp_relayout_units(const settp_relayout_job *job, int64_t from_at, int64_t to_at) {
  void (*units)(const settp_relayout_job *, const unsigned char *, unsigned char *, int) = settp_relayout_units_scatter;
  unsigned char *destination;
  int streams, i;
  if (job->kind == SETTP_RELAYOUT_BITS || job->kind == SETTP_RELAYOUT_EACHES || job->kind == SETTP_RELAYOUT_FILL) {
    settp_relayout_odd_units(job, from_at, to_at);
    return;
  }
  destination = job->destination + to_at;
  streams = job->streams && settp_relayout_aligned(destination);
  for (i = 0; i < 3; ++i) streams &= job->inner[i].to % SETTP_RELAYOUT_LINE == 0;
  if (job->kind == SETTP_RELAYOUT_COPY) {
    units = !streams || job->n % SETTP_RELAYOUT_LINE ? settp_relayout_units_copy
            : job->n == 512 && job->prefetches       ? settp_relayout_units_prefetched_512
            : job->n == 512                          ? settp_relayout_units_lines_512
                                                     : settp_relayout_units_lines;
#if SETTP_RELAYOUT_WIDE
  } else if (job->kind == SETTP_RELAYOUT_ZIPS) {
    units = SETTP_RELAYOUT_BY_SIZE(SETTP_RELAYOUT_WHICH_ZIP, u);
  } else if (job->kind == SETTP_RELAYOUT_UNZIPS) {
    units = SETTP_RELAYOUT_BY_SIZE(SETTP_RELAYOUT_WHICH_UNZIP, u);
  } else if (job->kind == SETTP_RELAYOUT_NARROW) {
    units = SETTP_RELAYOUT_BY_SIZE(SETTP_RELAYOUT_WHICH_TILE, n);
#if SETTP_RELAYOUT_WIDE > 16
  } else if (job->kind == SETTP_RELAYOUT_TILES) {
    units = SETTP_RELAYOUT_BY_SIZE(SETTP_RELAYOUT_WHICH_TILE, u);
#endif
#if SETTP_RELAYOUT_WIDE == 64
  } else if (job->kind == SETTP_RELAYOUT_SQUARES) {
    units = job->e == 1 ? settp_relayout_units_square_u8 : settp_relayout_units_square_u16;
#endif
#endif
  }
  units(job, job->source + from_at, destination, streams);
}

/* Split a loop into an inner loop of n steps, which becomes loop `at`, and an outer loop, which becomes the last one. */
SETT_INLINE void settp_relayout_split(settp_relayout_job *job, int at, int64_t n) {
  settp_relayout_loop *inner = &job->loop[at], *outer = &job->loop[job->loops];
  int64_t over;
  if (inner->n <= n || job->loops == SETTP_RELAYOUT_LOOPS) return;
  *outer = *inner;
  outer->n = (inner->n - 1) / n + 1;
  over = outer->n * n - inner->n;
  inner->n = n;
  outer->from *= n;
  outer->to *= n;
  outer->from_back = over * inner->from;
  outer->to_back = over * inner->to;
  ++job->loops;
}

/* Sort the loops from `first` on by stride, the shortest innermost. */
SETT_INLINE void settp_relayout_sort(settp_relayout_job *job, int first, int by_to) {
  int i, j;
  for (i = first + 1; i < job->loops; ++i)
    for (j = i; j > first; --j) {
      settp_relayout_loop *a = &job->loop[j - 1], *b = &job->loop[j], swap = *a;
      if (by_to ? a->to <= b->to : a->from <= b->from) break;
      *a = *b;
      *b = swap;
    }
}

SETT_INLINE void settp_relayout_swap(settp_relayout_job *job, int i, int j) {
  settp_relayout_loop swap = job->loop[i];
  job->loop[i] = job->loop[j];
  job->loop[j] = swap;
}

/* Order the loops of a job. By default, they have the order of the source. Other orders need a loop along which adjacent units are adjacent in the
 * source, and another loop along which they are adjacent in the destination. With bursts, the innermost loop is a burst of the longer of these two
 * loops; a block of the shorter one follows, then all other loops. The next burst is prefetched. Without bursts, only interleaved rows are prefetched:
 * row by row, or in the order of the source. */
SETT_INLINE void settp_relayout_order(settp_relayout_job *job) {
  int from, to, loops = job->loops, reads;
  int64_t wide, high;
  settp_relayout_sort(job, 0, 0);
  from = settp_relayout_find(job, job->from_run, -1);
  to = settp_relayout_find(job, -1, job->to_run);
  job->distance = job->order_distance = 0;
  job->prefetches = 0;
  if (from < 0 || to < 0 || from == to) return;
  if (!job->plan->bursts) {
    if (!job->streams || job->kind != SETTP_RELAYOUT_ZIPS || from != 0) return;
    if (job->z == 2 && job->from_step >= SETTP_RELAYOUT_APART) {
      job->distance = 8 * SETTP_RELAYOUT_ROW_DISTANCE;
      job->prefetches = job->z;
    } else if (job->from_step * job->z <= SETTP_RELAYOUT_ORDER_DISTANCE) {
      job->order_distance = SETTP_RELAYOUT_ORDER_DISTANCE;
      job->prefetches = 1;
    }
    return;
  }
  reads = job->loop[from].n >= job->loop[to].n; /* 1: the longer loop is contiguous in the source */
  wide = !reads ? SETTP_RELAYOUT_WRITE / job->to_run
                : (job->kind == SETTP_RELAYOUT_ZIPS ? SETTP_RELAYOUT_ZIPPED : SETTP_RELAYOUT_BURST) / job->from_run;
  high = SETTP_RELAYOUT_BLOCK / (reads ? job->to_run : job->from_run);
  settp_relayout_swap(job, 0, reads ? from : to);
  if ((reads ? to : from) == 0) settp_relayout_swap(job, 1, reads ? from : to);
  else settp_relayout_swap(job, 1, reads ? to : from);
  settp_relayout_split(job, 0, wide > 1 ? wide : 1);
  if (job->loops > loops && job->streams) {
    const settp_relayout_loop *low = &job->loop[0], *rest = &job->loop[1], *next = &job->loop[loops];
    int stretch = next->from == low->n * low->from && low->from == rest->n * rest->from && rest->from == job->from_run;
    if (stretch) job->order_distance = next->from; /* the units of this loop are contiguous in the source */
    else job->distance = next->from;
    job->prefetches = !stretch && job->kind == SETTP_RELAYOUT_ZIPS ? job->z : 1;
  }
  settp_relayout_split(job, 1, high > 1 ? high : 1);
  settp_relayout_sort(job, 2, 0);
  if (job->loop[0].n == 1) settp_relayout_drop(job, 0);
}

/* Order the loops of squares. By default, loops have the order of the source, the short strides innermost. If the array is large, or rows of the
 * source are at least a page apart, the innermost loop visits a group of squares that are adjacent in the destination. A group has two squares. If
 * squares have whole cache lines, a group has more squares: it reads 128 rows of the source.
 *
 * In large arrays, squares are prefetched. If rows are at least a page apart, the prefetch runs ahead in each row. Otherwise, the next group is
 * prefetched. With bursts nothing is prefetched, because each row is read a page at a time. */
SETT_INLINE void settp_relayout_order_squares(settp_relayout_job *job) {
  int squares = job->kind == SETTP_RELAYOUT_SQUARES, tiles = squares || job->kind == SETTP_RELAYOUT_TILES;
  int large = job->plan->streams, loops = job->loops;
  int pages = tiles && job->source_row[1] - job->source_row[0] >= SETTP_RELAYOUT_PAGE;
  int at = tiles && (large || pages) ? settp_relayout_find(job, -1, SETTP_RELAYOUT_LINE) : -1;
  job->distance = job->order_distance = job->prefetches = job->wraps = 0;
  if (at >= 0) {
    settp_relayout_split(job, at, squares ? 2 * job->e : 2);
    if (large && !job->plan->bursts) {
      if (pages) {
        job->distance = SETTP_RELAYOUT_ROW_DISTANCE;
        job->wraps = job->loops > loops;
      } else if (job->loops > loops) {
        job->distance = job->loop[loops].from;
      }
    }
    settp_relayout_swap(job, 0, at);
  }
  settp_relayout_sort(job, at >= 0, 0);
}

/* Move everything: visit all steps of the outer loops, and move the units of the three innermost loops at each step. */
SETT_INLINE void settp_relayout_walk(settp_relayout_job *job, int by_to) {
  int64_t index[SETTP_RELAYOUT_LOOPS], from_off[SETTP_RELAYOUT_LOOPS], to_off[SETTP_RELAYOUT_LOOPS];
  int64_t from = job->from, to = job->to;
  const sett_relayout_plan *plan = job->plan;
  int i, loops = job->loops;
  for (i = 0; i < 3; ++i) {
    const settp_relayout_loop *loop = &job->loop[0];
    job->inner[i].n = 1;
    job->inner[i].from = job->inner[i].to = 0;
    if (loops == 0 || loop->axis >= 0 || loop->from_back || loop->to_back) continue;
    job->inner[i] = *loop;
    settp_relayout_drop(job, 0);
    --loops;
  }
  for (i = 0; i < loops; ++i) index[i] = from_off[i] = to_off[i] = 0;
  for (;;) {
    settp_relayout_units(job, from, to);
    for (i = 0; i < loops; ++i) {
      const settp_relayout_loop *loop = &job->loop[i];
      from -= from_off[i];
      to -= to_off[i];
      if (++index[i] == loop->n) {
        index[i] = from_off[i] = to_off[i] = 0;
        continue;
      }
      if (loop->axis >= 0) {
        int64_t at = loop->start + index[i] * loop->block;
        if (!by_to)
          from_off[i] = job->from_unit * (settp_relayout_offset(&plan->from, loop->axis, at) -
                                          settp_relayout_offset(&plan->from, loop->axis, loop->start));
        to_off[i] = job->to_unit * (settp_relayout_offset(&plan->to, loop->axis, at) -
                                    settp_relayout_offset(&plan->to, loop->axis, loop->start));
      } else {
        int last = index[i] + 1 == loop->n;
        from_off[i] += loop->from - (last ? loop->from_back : 0);
        to_off[i] += loop->to - (last ? loop->to_back : 0);
      }
      from += from_off[i];
      to += to_off[i];
      break;
    }
    if (i == loops) return;
  }
}

SETT_INLINE void settp_relayout_move(settp_relayout_job *job) {
  const sett_relayout_plan *plan = job->plan;
  int run;
  settp_relayout_merge(job);
  job->streams = plan->streams;
  job->e = plan->to_bits / 8;
  if ((plan->from_bits < 8 || plan->to_bits < 8)) {
    if (settp_relayout_as_bytes(job)) {
      job->e = 1;
      settp_relayout_scale(job, 1, 1);
      settp_relayout_choose(job);
    } else {
      int i;
      run = settp_relayout_find(job, 1, 1);
      settp_relayout_scale(job, plan->from_bits, plan->to_bits);
      job->kind = run >= 0 && plan->from_bits == plan->to_bits ? SETTP_RELAYOUT_BITS : SETTP_RELAYOUT_EACHES;
      for (i = 0; run < 0 && i < job->loops; ++i)
        if (job->loop[i].axis < 0) run = i;
      job->n = 1;
      job->from_step = job->to_step = 0;
      if (run >= 0) {
        job->n = job->kind == SETTP_RELAYOUT_BITS ? job->loop[run].n * plan->to_bits : job->loop[run].n;
        job->from_step = job->loop[run].from;
        job->to_step = job->loop[run].to;
        settp_relayout_drop(job, run);
      }
    }
  } else {
    settp_relayout_scale(job, job->e, job->e);
    settp_relayout_choose(job);
  }
  if (job->kind == SETTP_RELAYOUT_COPY || job->kind == SETTP_RELAYOUT_ZIPS || job->kind == SETTP_RELAYOUT_UNZIPS) {
    settp_relayout_order(job);
  } else {
    settp_relayout_order_squares(job);
  }
  settp_relayout_walk(job, 0);
}

SETT_INLINE void settp_relayout_pad(settp_relayout_job *job) {
  int i, run;
  /* the source is not read: the fill value is only written, so only the strides of the destination matter */
  for (i = 0; i < job->loops; ++i) job->loop[i].from = job->loop[i].to;
  settp_relayout_merge(job);
  run = settp_relayout_find(job, -1, 1);
  job->kind = SETTP_RELAYOUT_FILL;
  job->n = run >= 0 ? job->loop[run].n : 1;
  job->from_unit = job->to_unit = 1;
  if (run >= 0) settp_relayout_drop(job, run);
  settp_relayout_sort(job, 0, 1);
  settp_relayout_walk(job, 1);
}

/* ---- bodies: pieces ---------------------------------------------------------------------------------------------- */

/* Find the longest part of an axis that begins at `start`, ends at `end` or before, and consists of whole blocks of one level. Return the level,
 * counted from the axis's first one, and write the number of blocks to *count. */
SETT_INLINE int settp_relayout_stretch(const sett_relayout_plan *plan, int axis, int64_t start, int64_t end,
                                       int64_t *count) {
  const settp_relayout_level *level = &plan->level[plan->axis[axis].first];
  int k = 0, levels = plan->axis[axis].levels;
  while (k + 1 < levels && start % level[k + 1].block == 0 && end - start >= level[k + 1].block) ++k;
  if (k + 1 < levels) {
    int64_t next = level[k + 1].block - start % level[k + 1].block;
    if (next < end - start) end = start + next;
  }
  *count = (end - start) / level[k].block;
  return k;
}

/* Move the box of indices low[axis] to high[axis] - 1. It is cut into boxes of whole blocks. */
SETT_INLINE void settp_relayout_box(settp_relayout_job *job, const int64_t *low, const int64_t *high, int fills) {
  const sett_relayout_plan *plan = job->plan;
  int64_t start[SETT_TILE_MAX_RANK], count[SETT_TILE_MAX_RANK];
  int level[SETT_TILE_MAX_RANK], axis, k;
  for (axis = 0; axis < plan->axes; ++axis) {
    if (low[axis] >= high[axis]) return;
    start[axis] = low[axis];
    level[axis] = settp_relayout_stretch(plan, axis, start[axis], high[axis], &count[axis]);
  }
  for (;;) {
    job->loops = 0;
    job->from = job->to = 0;
    for (axis = 0; axis < plan->axes; ++axis) {
      const settp_relayout_level *levels = &plan->level[plan->axis[axis].first];
      if (!fills) job->from += settp_relayout_offset(&plan->from, axis, start[axis]);
      job->to += settp_relayout_offset(&plan->to, axis, start[axis]);
      for (k = 0; k <= level[axis]; ++k) {
        settp_relayout_loop *loop = &job->loop[job->loops++];
        loop->n = k < level[axis] ? levels[k + 1].block / levels[k].block : count[axis];
        loop->from = levels[k].from;
        loop->to = levels[k].to;
        loop->from_back = loop->to_back = 0;
        loop->axis = levels[k].irregular ? axis : -1;
        loop->block = levels[k].block;
        loop->start = start[axis];
      }
    }
    if (fills) settp_relayout_pad(job);
    else settp_relayout_move(job);
    for (axis = plan->axes; axis-- > 0;) {
      start[axis] += count[axis] * plan->level[plan->axis[axis].first + level[axis]].block;
      if (start[axis] >= high[axis]) start[axis] = low[axis];
      level[axis] = settp_relayout_stretch(plan, axis, start[axis], high[axis], &count[axis]);
      if (start[axis] != low[axis]) break;
    }
    if (axis < 0) return;
  }
}

/* Compute which values the leaves of the destination have in a piece: the first value and the number of values. */
SETT_INLINE void settp_relayout_values(const sett_relayout_plan *plan, int64_t piece, int64_t *first, int64_t *count) {
  int i;
  for (i = 0; i < plan->to.leaves; ++i) {
    first[i] = 0;
    count[i] = plan->to.leaf[i].size;
  }
  for (i = plan->chosen; i-- > 0;) {
    int leaf = plan->choice[i];
    int64_t chunk = i + 1 == plan->chosen ? plan->chunk : 1, size = count[leaf], pieces = (size - 1) / chunk + 1;
    first[leaf] = piece % pieces * chunk;
    count[leaf] = size - first[leaf] < chunk ? size - first[leaf] : chunk;
    piece /= pieces;
  }
}

/* Write the fill value to all positions of a piece. */
SETT_INLINE void settp_relayout_flood(settp_relayout_job *job, const int64_t *first, const int64_t *count) {
  const sett_relayout_plan *plan = job->plan;
  int i;
  job->loops = 0;
  job->from = job->to = 0;
  for (i = 0; i < plan->to.leaves; ++i) {
    settp_relayout_loop *loop = &job->loop[job->loops++];
    loop->n = count[i];
    loop->to = plan->to.leaf[i].stride;
    loop->from_back = loop->to_back = 0;
    loop->axis = -1;
    job->to += first[i] * loop->to;
  }
  settp_relayout_pad(job);
}

SETT_INLINE void settp_relayout_piece_of(settp_relayout_job *job, int64_t piece) {
  const sett_relayout_plan *plan = job->plan;
  int64_t first[SETTP_RELAYOUT_LEAVES], count[SETTP_RELAYOUT_LEAVES];
  int64_t low[SETT_TILE_MAX_RANK], high[SETT_TILE_MAX_RANK], all[SETT_TILE_MAX_RANK];
  int i, axis;
  settp_relayout_values(plan, piece, first, count);
  for (axis = 0; axis < plan->axes; ++axis) {
    low[axis] = 0;
    all[axis] = plan->axis[axis].padded > plan->axis[axis].size ? plan->axis[axis].padded : plan->axis[axis].size;
  }
  for (i = 0; i < plan->chosen; ++i) { /* the leaves of an axis come in order, the most major first */
    const settp_relayout_leaf *leaf = &plan->to.leaf[plan->choice[i]];
    low[leaf->axis] += first[plan->choice[i]] * leaf->div[0];
    all[leaf->axis] = low[leaf->axis] + count[plan->choice[i]] * leaf->div[0];
  }
  if (plan->fills && !plan->to.regular) settp_relayout_flood(job, first, count);
  for (axis = 0; axis < plan->axes; ++axis)
    high[axis] = all[axis] < plan->axis[axis].size ? all[axis] : plan->axis[axis].size;
  settp_relayout_box(job, low, high, 0);
  for (axis = 0; plan->fills && plan->to.regular && axis < plan->axes; ++axis) {
    /* this box: the axes before this one are inside the array, this axis is beyond its end, and the axes after it have all values */
    int64_t from = low[axis], end = high[axis];
    low[axis] = from > plan->axis[axis].size ? from : plan->axis[axis].size;
    for (i = axis; i < plan->axes; ++i) high[i] = all[i];
    settp_relayout_box(job, low, high, 1);
    low[axis] = from;
    high[axis] = end;
  }
  if (plan->fills && piece + 1 == plan->pieces && plan->positions > plan->span)
    settp_relayout_fill(plan, job->destination, plan->span, plan->positions - plan->span);
}

/* Move one position after another, for layouts without common digits. */
SETT_INLINE void settp_relayout_slowly(settp_relayout_job *job, int64_t piece) {
  const sett_relayout_plan *plan = job->plan;
  int64_t index[SETT_TILE_MAX_RANK], p = piece * plan->chunk, end = p + plan->chunk;
  if (end > plan->positions) end = plan->positions;
  for (; p < end; ++p) {
    int64_t q;
    if (!sett_tile_element(&plan->to_plan, p, index)) {
      if (plan->fills) settp_relayout_fill(plan, job->destination, p, 1);
      continue;
    }
    q = sett_tile_position(&plan->from_plan, index);
    if (plan->to_bits < 8 || plan->from_bits < 8)
      settp_relayout_element(plan, job->destination, p * plan->to_bits, job->source, q * plan->from_bits);
    else
      settp_relayout_scatter(job->destination + p * (plan->to_bits / 8), job->source + q * (plan->from_bits / 8), 1, 0,
                             0, plan->to_bits / 8);
  }
}

SETT_PUBLIC void sett_relayout_run(const sett_relayout_plan *plan, const void *source, void *destination, int64_t first,
                                   int64_t last) {
  settp_relayout_job job;
  if (plan->error || first < 0 || last > plan->pieces) return;
  job.plan = plan;
  job.source = (const unsigned char *)source;
  job.destination = (unsigned char *)destination;
  job.distance = job.order_distance = 0;
  job.prefetches = job.wraps = 0;
  job.unit = 0;
  for (; first < last; ++first) {
    if (plan->walks) settp_relayout_slowly(&job, first);
    else settp_relayout_piece_of(&job, first);
  }
  if (plan->streams) settp_relayout_fence();
}
#endif /* bodies */
