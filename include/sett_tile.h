/* sett_tile.h - v0.1 - shapes with tiled layouts: f32[170,160]{1,0:T(8,128)}

WHAT
  A tensor's shape says which indices exist; its layout says where each element lies in memory. This header reads and
  prints both in XLA's notation and answers, for plain and for tiled layouts: at which linear position is an element,
  which element is at a position (or is it padding), how many elements and bytes does the array take.

INCLUDE
  Copy this one file. C11 or C++17, freestanding (stddef.h, stdint.h); no allocation, no libc, no globals. Every function
  is static inline.

OPTIONS
  None. The limits at the end are constants of the format of sett_tile_shape.

A FIRST LOOK
    #include <stdio.h>
    #include <string.h>
    #include "sett_tile.h"
    int main(void) {
      const char *text = "f32[3,5]{1,0:T(2,2)}";
      sett_tile_shape shape = sett_tile_parse(text, strlen(text));
      sett_tile_plan plan = sett_tile_prepare(&shape);
      int64_t index[2] = {2, 3};
      printf("%lld\n", (long long)sett_tile_position(&plan, index));
      printf("%lld bytes\n", (long long)sett_tile_bytes(&shape));
      return 0;
    }
  prints
    17
    96 bytes

THE MODEL
  A shape is an element type, a list of dimensions, and a layout. minor_to_major names the dimensions from the one whose
  neighbours are closest in memory to the one whose neighbours are farthest: {1,0} is row-major, {0,1} column-major. Read
  backwards it gives the *physical list*, most major first.
  A tile T(t1,..,tk) rewrites the physical list. It acts on the last k entries (d1..dk): they are replaced by the k counts
  ceil(d/t) followed by the k tile dimensions t, and an index i becomes floor(i/t) and i mod t. Where d is not a multiple
  of t the array is padded. The next tile acts on the list the former tile made, so T(8,128)(2,1) cuts the 8x128 tile, not
  the array. The linear position is the row-major number of the digits in the final list. That is all:
    f32[3,5]{1,0:T(2,2)}   list (3,5) -> (2,3,2,2); index (2,3) -> (1,1,0,1) -> ((1*3+1)*2+0)*2+1 = 17
    f32[4,8]{1,0:T(2,4)(2,1)}   first column of positions 0, 1, 16, 17
  A tile longer than the list finds ones in front of it. A * in a tile multiplies its dimension into the next more minor
  one before the tile acts: f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)} cuts 112 x 110 by 2 x 3. The documents also write *
  as -1, which is read and printed as *.
  L(n) pads the end of the whole array to a multiple of n positions. E(n) gives each element n bits, packed; without it
  an element takes the whole bytes that its type needs (s4: one byte). S(n) is a memory space. SC(dim:i,j,..) splits a
  physical dimension (0 is the most major) before the named indices; bytes are then those of the largest part, and
  positions are not defined. M(n) counts bytes before the array that hold its dynamic sizes; sett_tile_bytes leaves them
  out. A dimension <=n may shrink at run time and is laid out as n; ? has no bound, hence no size.

  Grammar (blanks and comments may stand between tokens; types may be upper case on reading)
    shape  := array | token[] | opaque[] | ( [shape {, shape}] ) | b( array )
    array  := type [ [dim {, dim}] ] [layout]              dim  := n | <=n | ?
    layout := { [d {, d}] [: attributes] }                 a brace that starts otherwise is not part of the shape
    attributes := [D(..)] [T(..)(..)..] [L(n)] [E(n)] [S(n)] [SC(d:n,..)(..)..] [M(n)]      each once, in this order
  D (level kinds of a former sparse notation) is read and forgotten. #( ) *( ) P( ) are errors.
  The canonical print shows minor_to_major for rank 1 and more, and leaves out every default.

FUNCTIONS
  make     sett_tile_make           from a type and dimensions           sett_tile_add_tile     with one more tile
  text     sett_tile_parse          one array, token, opaque or buffer   sett_tile_print        its canonical text
           sett_tile_read, _next    the leaves of any shape, in order    sett_tile_canonical    canonical text of any shape
           sett_tile_error_text     what an error code means             sett_tile_type_name    "f32"
  ask      sett_tile_elements       elements, padding not counted        sett_tile_positions    with padding
           sett_tile_bits           of one element in memory             sett_tile_bytes        of the whole array
           sett_tile_equal          the same shape and layout
  where    sett_tile_prepare        shape -> plan                        sett_tile_physical     the final list
           sett_tile_position       index -> position                    sett_tile_element      position -> index or padding
           sett_tile_plain          no tile, tail, packing or split

LAWS (tests/test_shape.py checks 1 on every shape it knows, 2 to 5 on a thousand random layouts, every position)
  1 print_parse   parse(print(s)) equals s, and print(parse(print(s))) is print(s) to the byte.
  2 inverse       element(position(i)) is i for every index i.
  3 cover         the positions of all indices are distinct, lie in [0, positions), and element answers padding elsewhere.
  4 definition    position(i) is what padding, reshaping and transposing an array by loops gives.
  5 size          elements <= positions, and bytes = ceil(positions * bits / 8).

ERRORS
  A failed parse returns a shape whose error is not 0; column is the byte (from 1) where something else was expected,
  and sett_tile_error_text says what. Functions given a failed shape or plan answer SETT_TILE_UNKNOWN or a plan with the
  same error, so one check at the end of a chain is enough. Sizes that do not fit in 64 bits are errors of the parse.

LIMITS
  rank 24, 4 tiles of 24 dimensions together, 16 split positions, tuples nested 64 deep, 64-bit sizes; each has an error.

HISTORY
  0.1  text, sizes, positions and their inverse for all tiles.
*/
#ifndef SETT_TILE_H
#define SETT_TILE_H

#include <stddef.h>
#include <stdint.h>

#ifndef SETT_INLINE
#define SETT_INLINE static inline
#endif

/* ---- types ------------------------------------------------------------------------------------------------------ */

enum {
  SETT_TILE_MAX_RANK = 24,
  SETT_TILE_MAX_TILES = 4,
  SETT_TILE_MAX_TILE_DIMS = 24,
  SETT_TILE_MAX_SPLITS = 16,
  SETT_TILE_MAX_DEPTH = 64,
  SETT_TILE_MAX_LIST = SETT_TILE_MAX_RANK + 2 * SETT_TILE_MAX_TILE_DIMS
};
enum {
  SETT_TILE_UNKNOWN = -1,   /* as a size or position: there is none */
  SETT_TILE_UNBOUNDED = -1, /* as a dimension: ? */
  SETT_TILE_COMBINE = -1    /* as a tile dimension: * */
};

/* Element types: name in C, name in text, bits that carry information, bits in memory when E is not given. */
#define SETT_TILE_TYPES(X)                                                                                           \
  X(PRED, "pred", 1, 8)                                                                                              \
  X(S1, "s1", 1, 8) X(S2, "s2", 2, 8) X(S4, "s4", 4, 8) X(S8, "s8", 8, 8) X(S16, "s16", 16, 16)                      \
  X(S32, "s32", 32, 32) X(S64, "s64", 64, 64)                                                                        \
  X(U1, "u1", 1, 8) X(U2, "u2", 2, 8) X(U4, "u4", 4, 8) X(U8, "u8", 8, 8) X(U16, "u16", 16, 16)                      \
  X(U32, "u32", 32, 32) X(U64, "u64", 64, 64)                                                                        \
  X(F16, "f16", 16, 16) X(BF16, "bf16", 16, 16) X(F32, "f32", 32, 32) X(F64, "f64", 64, 64)                          \
  X(F8E5M2, "f8e5m2", 8, 8) X(F8E4M3, "f8e4m3", 8, 8) X(F8E4M3FN, "f8e4m3fn", 8, 8)                                  \
  X(F8E4M3B11FNUZ, "f8e4m3b11fnuz", 8, 8) X(F8E3M4, "f8e3m4", 8, 8) X(F8E5M2FNUZ, "f8e5m2fnuz", 8, 8)                \
  X(F8E4M3FNUZ, "f8e4m3fnuz", 8, 8) X(F8E8M0FNU, "f8e8m0fnu", 8, 8)                                                  \
  X(F4E2M1FN, "f4e2m1fn", 4, 8) X(F6E2M3FN, "f6e2m3fn", 6, 8) X(F6E3M2FN, "f6e3m2fn", 6, 8)                          \
  X(C64, "c64", 64, 64) X(C128, "c128", 128, 128)

typedef enum sett_tile_type {
#define SETTP_TILE_ENUM(name, text, width, memory) SETT_TILE_##name,
  SETT_TILE_TYPES(SETTP_TILE_ENUM)
#undef SETTP_TILE_ENUM
  SETT_TILE_TYPE_COUNT
} sett_tile_type;

#define SETT_TILE_ERRORS(X)                                                                                          \
  X(OK, "no error")                                                                                                  \
  X(ERROR_TYPE, "expected an element type (pred, s32, f32, bf16, ..), token[], opaque[], b( or a tuple")             \
  X(ERROR_OPEN, "expected '[' after the element type")                                                               \
  X(ERROR_DIM, "expected a dimension: an integer, <=integer, or ?")                                                  \
  X(ERROR_DIM_END, "expected ',' or ']' after a dimension")                                                          \
  X(ERROR_EMPTY_DIMS, "expected ']': token and opaque have no dimensions")                                           \
  X(ERROR_INTEGER, "expected an integer")                                                                            \
  X(ERROR_TOO_LARGE, "expected an integer that fits in 64 bits, signed")                                             \
  X(ERROR_NEGATIVE, "expected an integer that is not negative")                                                      \
  X(ERROR_RANK, "expected at most 24 dimensions")                                                                    \
  X(ERROR_LAYOUT, "expected a dimension number or ':' after '{'")                                                    \
  X(ERROR_LAYOUT_END, "expected ',', ':' or '}' after a dimension number")                                           \
  X(ERROR_LAYOUT_FEW, "expected minor_to_major to name every dimension of the shape")                                \
  X(ERROR_LAYOUT_MANY, "expected '}' or ':': minor_to_major has more entries than the shape has dimensions")         \
  X(ERROR_LAYOUT_DIM, "expected a dimension number of this shape")                                                   \
  X(ERROR_LAYOUT_TWICE, "expected minor_to_major to name each dimension once")                                       \
  X(ERROR_ATTRIBUTE, "expected '}' or an attribute, each at most once in the order D T L E S SC M")                  \
  X(ERROR_SPARSE, "expected a dense layout: #, * and P are not supported")                                           \
  X(ERROR_PAREN, "expected '('")                                                                                     \
  X(ERROR_CLOSE, "expected ')'")                                                                                     \
  X(ERROR_LEVEL, "expected a level kind D, C, S or H")                                                               \
  X(ERROR_TILE_DIM, "expected a tile dimension: a positive integer or *")                                            \
  X(ERROR_TILE_END, "expected ',' or ')' after a tile dimension")                                                    \
  X(ERROR_TILE_LAST, "expected an integer: * needs a more minor dimension to be combined with")                      \
  X(ERROR_TILES, "expected at most 4 tiles with 24 dimensions together")                                             \
  X(ERROR_TAIL, "expected a positive integer in L()")                                                                \
  X(ERROR_SPACE, "expected a memory space from 0 to 127")                                                            \
  X(ERROR_SPLIT_DIM, "expected a physical dimension of this shape, split only once")                                 \
  X(ERROR_SPLIT_COLON, "expected ':' after the split dimension")                                                     \
  X(ERROR_SPLIT_INDEX, "expected increasing split indices inside the dimension")                                     \
  X(ERROR_SPLITS, "expected at most 16 split indices and 24 split dimensions")                                       \
  X(ERROR_TUPLE, "expected ',' or ')' in a tuple")                                                                   \
  X(ERROR_DEPTH, "expected tuples nested at most 64 deep")                                                           \
  X(ERROR_BUFFER, "expected an array in b()")                                                                        \
  X(ERROR_END, "expected the end of the shape")                                                                      \
  X(ERROR_ONE, "expected one array, not a tuple")                                                                    \
  X(ERROR_COMMENT, "expected the end of the comment")                                                                \
  X(ERROR_SIZE, "expected a number of elements that fits in 64 bits")                                                \
  X(ERROR_BYTES, "expected a size in bytes that fits in 64 bits, padding included")                                  \
  X(ERROR_ARRAY, "expected an array: tokens and opaque values have no elements")                                     \
  X(ERROR_UNBOUNDED, "expected bounded dimensions: ? has no position")                                               \
  X(ERROR_SPLIT, "expected an array that is not split: positions are defined in one memory")

enum {
#define SETTP_TILE_ENUM(name, text) SETT_TILE_##name,
  SETT_TILE_ERRORS(SETTP_TILE_ENUM)
#undef SETTP_TILE_ENUM
  SETT_TILE_ERROR_COUNT
};

enum { SETT_TILE_ARRAY, SETT_TILE_TOKEN, SETT_TILE_OPAQUE, SETT_TILE_BUFFER }; /* kinds of a leaf */

/* A leaf of a shape. All zero: pred[], a scalar. Dimensions are logical, in text order. */
typedef struct sett_tile_shape {
  int64_t error;  /* SETT_TILE_OK, or what went wrong */
  int64_t column; /* of the error, from 1 */
  int32_t kind;   /* SETT_TILE_ARRAY, .. */
  int32_t type;   /* sett_tile_type */
  int32_t rank;
  int32_t tiles;  /* number of tiles */
  int32_t splits; /* number of split dimensions */
  int32_t space;  /* S: memory space */
  int64_t tail;   /* L: positions are padded to a multiple; 0 or 1: not */
  int64_t packed; /* E: bits of an element; 0: whole bytes */
  int64_t prefix; /* M: bytes of dynamic sizes in front */
  uint32_t dynamic; /* bit d: dimension d is <=n or ? */
  int32_t minor_to_major[SETT_TILE_MAX_RANK];
  int64_t dims[SETT_TILE_MAX_RANK];
  int32_t tile_rank[SETT_TILE_MAX_TILES]; /* dimensions of each tile, outermost tile first */
  int64_t tile[SETT_TILE_MAX_TILE_DIMS];  /* the tiles' dimensions one after the other; SETT_TILE_COMBINE: * */
  int32_t split_dim[SETT_TILE_MAX_RANK];  /* physical dimension, 0 the most major */
  int32_t split_count[SETT_TILE_MAX_RANK];
  int64_t split[SETT_TILE_MAX_SPLITS]; /* the splits' indices one after the other */
} sett_tile_shape;

/* The leaves of a shape's text, one after the other. Fields at, depth and item may be read. */
typedef struct sett_tile_reader {
  const char *text;
  int64_t length;
  int64_t at;     /* bytes read so far; after SETT_TILE_END: the shape's length */
  int64_t item;   /* number of the last leaf or opened tuple in the tuple around it */
  int64_t error;  /* SETT_TILE_OK, or what went wrong */
  int64_t column; /* of the error, from 1 */
  int32_t depth;  /* open tuples */
  int32_t state;
  int64_t items[SETT_TILE_MAX_DEPTH + 1];
} sett_tile_reader;

enum { SETT_TILE_FAILED, SETT_TILE_LEAF, SETT_TILE_OPENED, SETT_TILE_CLOSED, SETT_TILE_END }; /* events of _next */

/* What sett_tile_canonical found. */
typedef struct sett_tile_summary {
  int64_t error, column;
  int64_t consumed; /* bytes of the shape in the text */
  int64_t leaves;   /* arrays, buffers, tokens, opaque values */
  int64_t bytes;    /* sum over arrays and buffers; SETT_TILE_UNKNOWN: a token or opaque alone, or an unbounded array */
} sett_tile_summary;

/* A layout prepared for positions: the list before each tile, and the final list (list[tiles]). */
typedef struct sett_tile_plan {
  int64_t error;
  int32_t rank;
  int32_t tiles;
  int32_t minor_to_major[SETT_TILE_MAX_RANK];
  int32_t ones[SETT_TILE_MAX_TILES]; /* ones put in front of the list before the tile acts (counted in length) */
  int32_t tile_rank[SETT_TILE_MAX_TILES];
  int64_t tile[SETT_TILE_MAX_TILE_DIMS];
  int32_t length[SETT_TILE_MAX_TILES + 1];
  int64_t list[SETT_TILE_MAX_TILES + 1][SETT_TILE_MAX_LIST];
  int64_t span;      /* product of the final list */
  int64_t positions; /* span rounded up to the tail */
} sett_tile_plan;

/* ---- prototypes ------------------------------------------------------------------------------------------------- */

/* A plain shape; minor_to_major NULL: row-major. Dimensions may be SETT_TILE_UNBOUNDED. Not checked beyond the rank:
   sett_tile_check does that. */
SETT_INLINE sett_tile_shape sett_tile_make(int type, int rank, const int64_t *dims, const int32_t *minor_to_major);
/* The shape with one more, inner tile. */
SETT_INLINE sett_tile_shape sett_tile_add_tile(sett_tile_shape shape, int rank, const int64_t *tile);
/* The shape, or the error of the first rule it breaks (column 0). Parsed shapes have been checked. */
SETT_INLINE sett_tile_shape sett_tile_check(sett_tile_shape shape);

/* The whole of text as one array, token, opaque or buffer. */
SETT_INLINE sett_tile_shape sett_tile_parse(const char *text, size_t length);
/* Starts reading a shape at the front of text; other text may follow it. */
SETT_INLINE sett_tile_reader sett_tile_read(const char *text, size_t length);
/* The next event; for SETT_TILE_LEAF *shape is filled. After SETT_TILE_END or SETT_TILE_FAILED it stays there. */
SETT_INLINE int sett_tile_next(sett_tile_reader *reader, sett_tile_shape *shape);
/* Writes the canonical text and a NUL, cut to capacity; returns the bytes that the whole text needs without the NUL. */
SETT_INLINE size_t sett_tile_print(const sett_tile_shape *shape, char *out, size_t capacity);
/* The same for any shape at the front of text, tuples too. whole: nothing but blanks may follow. 0 on an error. */
SETT_INLINE size_t sett_tile_canonical(const char *text, size_t length, int whole, char *out, size_t capacity,
                                    sett_tile_summary *summary);
SETT_INLINE const char *sett_tile_error_text(int64_t error);
SETT_INLINE const char *sett_tile_type_name(int type);
/* The type of that name (upper case too), or -1. */
SETT_INLINE int sett_tile_type_find(const char *name, size_t length);

SETT_INLINE int64_t sett_tile_elements(const sett_tile_shape *shape);
SETT_INLINE int64_t sett_tile_positions(const sett_tile_shape *shape);
SETT_INLINE int64_t sett_tile_bits(const sett_tile_shape *shape);
SETT_INLINE int64_t sett_tile_bytes(const sett_tile_shape *shape);
SETT_INLINE int sett_tile_equal(const sett_tile_shape *a, const sett_tile_shape *b);
/* 1 when positions are those of minor_to_major alone and an element is its type's whole bytes. */
SETT_INLINE int sett_tile_plain(const sett_tile_shape *shape);

SETT_INLINE sett_tile_plan sett_tile_prepare(const sett_tile_shape *shape);
/* The final list, most major first; returns its length and points at it. */
SETT_INLINE int sett_tile_physical(const sett_tile_plan *plan, const int64_t **dims);
/* The position of an element, counted in elements; SETT_TILE_UNKNOWN for an index outside. */
SETT_INLINE int64_t sett_tile_position(const sett_tile_plan *plan, const int64_t *index);
/* 1 and the index of the element there; 0: padding; SETT_TILE_UNKNOWN: outside the array's memory. */
SETT_INLINE int sett_tile_element(const sett_tile_plan *plan, int64_t position, int64_t *index);

/* ---- bodies: small things --------------------------------------------------------------------------------------- */

/* a * b for a, b >= 0, or -1 where it does not fit or one is -1 already. */
SETT_INLINE int64_t settp_tile_mul(int64_t a, int64_t b) {
  if (a < 0 || b < 0) return -1;
  if (a == 0 || b == 0) return 0;
  return a > INT64_MAX / b ? -1 : a * b;
}

/* The least multiple of to that is not below a, or -1. */
SETT_INLINE int64_t settp_tile_round(int64_t a, int64_t to) {
  int64_t count;
  if (a <= 0 || to <= 1) return a;
  count = (a - 1) / to + 1;
  return settp_tile_mul(count, to);
}

SETT_INLINE int64_t settp_tile_product(const int64_t *dims, int count) {
  int64_t product = 1;
  int i;
  for (i = 0; i < count; ++i)
    if (dims[i] == 0) return 0;
  for (i = 0; i < count; ++i) product = settp_tile_mul(product, dims[i]);
  return product;
}

SETT_INLINE sett_tile_shape settp_tile_zero(void) {
#ifdef __cplusplus
  sett_tile_shape shape = {};
#else
  sett_tile_shape shape = {0};
#endif
  return shape;
}

SETT_INLINE const char *sett_tile_error_text(int64_t error) {
  switch (error) {
#define SETTP_TILE_CASE(name, text)                                                                                  \
  case SETT_TILE_##name: return text;
    SETT_TILE_ERRORS(SETTP_TILE_CASE)
#undef SETTP_TILE_CASE
    default: return "unknown error";
  }
}

SETT_INLINE const char *sett_tile_type_name(int type) {
  switch (type) {
#define SETTP_TILE_CASE(name, text, width, memory)                                                                   \
  case SETT_TILE_##name: return text;
    SETT_TILE_TYPES(SETTP_TILE_CASE)
#undef SETTP_TILE_CASE
    default: return "?";
  }
}

SETT_INLINE int64_t settp_tile_memory_bits(int type) {
  switch (type) {
#define SETTP_TILE_CASE(name, text, width, memory)                                                                   \
  case SETT_TILE_##name: return memory;
    SETT_TILE_TYPES(SETTP_TILE_CASE)
#undef SETTP_TILE_CASE
    default: return 0;
  }
}

SETT_INLINE char settp_tile_lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

/* 1 when the word of that length is name, which is lower case. */
SETT_INLINE int settp_tile_word_is(const char *word, int64_t length, const char *name) {
  int64_t i;
  for (i = 0; i < length; ++i)
    if (name[i] == 0 || settp_tile_lower(word[i]) != name[i]) return 0;
  return name[length] == 0;
}

SETT_INLINE int sett_tile_type_find(const char *name, size_t length) {
  int type;
  for (type = 0; type < SETT_TILE_TYPE_COUNT; ++type)
    if (settp_tile_word_is(name, (int64_t)length, sett_tile_type_name(type))) return type;
  return -1;
}

/* ---- bodies: make and check ------------------------------------------------------------------------------------- */

SETT_INLINE sett_tile_shape sett_tile_make(int type, int rank, const int64_t *dims, const int32_t *minor_to_major) {
  sett_tile_shape shape = settp_tile_zero();
  int i;
  if (type < 0 || type >= SETT_TILE_TYPE_COUNT) shape.error = SETT_TILE_ERROR_TYPE;
  if (rank < 0 || rank > SETT_TILE_MAX_RANK) shape.error = SETT_TILE_ERROR_RANK;
  if (shape.error) return shape;
  shape.type = type;
  shape.rank = rank;
  for (i = 0; i < rank; ++i) {
    shape.dims[i] = dims[i];
    if (dims[i] == SETT_TILE_UNBOUNDED) shape.dynamic |= (uint32_t)1 << i;
    shape.minor_to_major[i] = minor_to_major ? minor_to_major[i] : rank - 1 - i;
  }
  return shape;
}

SETT_INLINE int settp_tile_dims_used(const sett_tile_shape *shape) {
  int used = 0, i;
  for (i = 0; i < shape->tiles; ++i) used += shape->tile_rank[i];
  return used;
}

SETT_INLINE sett_tile_shape sett_tile_add_tile(sett_tile_shape shape, int rank, const int64_t *tile) {
  int used = settp_tile_dims_used(&shape), i;
  if (shape.error) return shape;
  if (rank < 1 || shape.tiles >= SETT_TILE_MAX_TILES || rank > SETT_TILE_MAX_TILE_DIMS - used) {
    shape.error = SETT_TILE_ERROR_TILES;
    return shape;
  }
  for (i = 0; i < rank; ++i) shape.tile[used + i] = tile[i];
  shape.tile_rank[shape.tiles++] = rank;
  return shape;
}

SETT_INLINE int64_t sett_tile_elements(const sett_tile_shape *shape) {
  if (shape->error || shape->kind == SETT_TILE_TOKEN || shape->kind == SETT_TILE_OPAQUE) return SETT_TILE_UNKNOWN;
  return settp_tile_product(shape->dims, shape->rank);
}

SETT_INLINE int64_t sett_tile_bits(const sett_tile_shape *shape) {
  return shape->packed > 0 ? shape->packed : settp_tile_memory_bits(shape->type);
}

/* The lists for the dimensions given in dims (logical order). */
SETT_INLINE void settp_tile_lists(const sett_tile_shape *shape, const int64_t *dims, sett_tile_plan *plan) {
  int stage, i, tile_at = 0, n = shape->rank;
  plan->rank = n;
  plan->tiles = shape->tiles;
  for (i = 0; i < n; ++i) {
    plan->minor_to_major[i] = shape->minor_to_major[i];
    plan->list[0][i] = dims[shape->minor_to_major[n - 1 - i]];
  }
  for (stage = 0; stage < shape->tiles; ++stage) {
    const int64_t *tile = &shape->tile[tile_at];
    int64_t *from = plan->list[stage], *to = plan->list[stage + 1];
    int k = shape->tile_rank[stage], ones = k > n ? k - n : 0, groups = 0, g = 0;
    int64_t product = 1;
    plan->ones[stage] = ones;
    plan->tile_rank[stage] = k;
    for (i = n; i-- > 0;) from[i + ones] = from[i];
    for (i = 0; i < ones; ++i) from[i] = 1;
    n += ones;
    plan->length[stage] = n;
    for (i = 0; i < k; ++i) {
      plan->tile[tile_at + i] = tile[i];
      groups += tile[i] != SETT_TILE_COMBINE;
    }
    for (i = 0; i < n - k; ++i) to[i] = from[i];
    for (i = 0; i < k; ++i) {
      int64_t d = from[n - k + i];
      product = product == 0 || d == 0 ? 0 : settp_tile_mul(product, d);
      if (tile[i] == SETT_TILE_COMBINE) continue;
      to[n - k + g] = product <= 0 ? product : (product - 1) / tile[i] + 1;
      to[n - k + groups + g] = tile[i];
      product = 1;
      ++g;
    }
    n += 2 * groups - k;
    tile_at += k;
  }
  plan->length[shape->tiles] = n;
  plan->span = settp_tile_product(plan->list[shape->tiles], n);
  plan->positions = settp_tile_round(plan->span, shape->tail);
}

SETT_INLINE sett_tile_plan settp_tile_plan_zero(void) {
#ifdef __cplusplus
  sett_tile_plan plan = {};
#else
  sett_tile_plan plan = {0};
#endif
  plan.span = plan.positions = SETT_TILE_UNKNOWN;
  return plan;
}

/* The dimensions of the largest part of a split array; without splits its own. */
SETT_INLINE void settp_tile_part(const sett_tile_shape *shape, int64_t *dims) {
  int i, j, at = 0;
  for (i = 0; i < shape->rank; ++i) dims[i] = shape->dims[i];
  for (i = 0; i < shape->splits; ++i) {
    int d = shape->minor_to_major[shape->rank - 1 - shape->split_dim[i]];
    int64_t last = 0, largest = 0;
    for (j = 0; j <= shape->split_count[i]; ++j) {
      int64_t next = j < shape->split_count[i] ? shape->split[at + j] : shape->dims[d];
      if (next - last > largest) largest = next - last;
      last = next;
    }
    if (dims[d] > 0) dims[d] = largest;
    at += shape->split_count[i];
  }
}

SETT_INLINE int64_t sett_tile_positions(const sett_tile_shape *shape) {
  sett_tile_plan plan;
  int64_t dims[SETT_TILE_MAX_RANK];
  int i;
  if (shape->error || shape->kind == SETT_TILE_TOKEN || shape->kind == SETT_TILE_OPAQUE) return SETT_TILE_UNKNOWN;
  for (i = 0; i < shape->rank; ++i)
    if (shape->dims[i] < 0) return SETT_TILE_UNKNOWN;
  settp_tile_part(shape, dims);
  plan = settp_tile_plan_zero();
  settp_tile_lists(shape, dims, &plan);
  return plan.positions;
}

SETT_INLINE int64_t sett_tile_bytes(const sett_tile_shape *shape) {
  int64_t positions = sett_tile_positions(shape), bits = sett_tile_bits(shape), whole, rest;
  if (positions <= 0) return positions;
  /* positions = 8 * (positions / 8) + positions % 8, so that bits are never counted in one number */
  whole = settp_tile_mul(positions / 8, bits);
  rest = settp_tile_mul(positions % 8, bits);
  if (whole < 0 || rest < 0) return SETT_TILE_UNKNOWN;
  rest = rest / 8 + (rest % 8 != 0);
  if (whole > INT64_MAX - rest) return SETT_TILE_UNKNOWN;
  return whole + rest;
}

SETT_INLINE sett_tile_shape sett_tile_check(sett_tile_shape shape) {
  int i, j, at = 0, unbounded = 0;
  uint32_t seen = 0;
  if (shape.error || shape.kind == SETT_TILE_TOKEN || shape.kind == SETT_TILE_OPAQUE) return shape;
  for (i = 0; i < shape.rank; ++i) {
    int d = shape.minor_to_major[i];
    if (d < 0 || d >= shape.rank) {
      shape.error = SETT_TILE_ERROR_LAYOUT_DIM;
      return shape;
    }
    if (seen >> d & 1) {
      shape.error = SETT_TILE_ERROR_LAYOUT_TWICE;
      return shape;
    }
    seen |= (uint32_t)1 << d;
    if (shape.dims[i] < 0 && !(shape.dims[i] == SETT_TILE_UNBOUNDED && (shape.dynamic >> i & 1))) {
      shape.error = SETT_TILE_ERROR_DIM;
      return shape;
    }
    unbounded |= shape.dims[i] < 0;
  }
  for (i = 0; i < shape.tiles; ++i) {
    for (j = 0; j < shape.tile_rank[i]; ++j, ++at) {
      int combine = shape.tile[at] == SETT_TILE_COMBINE;
      if (shape.tile[at] <= 0 && !combine) shape.error = SETT_TILE_ERROR_TILE_DIM;
      if (combine && j + 1 == shape.tile_rank[i]) shape.error = SETT_TILE_ERROR_TILE_LAST;
      if (shape.error) return shape;
    }
  }
  if (unbounded) return shape;
  if (sett_tile_elements(&shape) < 0) shape.error = SETT_TILE_ERROR_SIZE;
  else if (sett_tile_bytes(&shape) < 0) shape.error = SETT_TILE_ERROR_BYTES;
  return shape;
}

SETT_INLINE int sett_tile_equal(const sett_tile_shape *a, const sett_tile_shape *b) {
  int i, at = 0;
  if (a->error || b->error) return 0;
  if (a->kind != b->kind || a->type != b->type || a->rank != b->rank || a->tiles != b->tiles) return 0;
  if (a->splits != b->splits || a->space != b->space || a->packed != b->packed || a->prefix != b->prefix) return 0;
  if ((a->tail > 1 ? a->tail : 1) != (b->tail > 1 ? b->tail : 1) || a->dynamic != b->dynamic) return 0;
  for (i = 0; i < a->rank; ++i)
    if (a->dims[i] != b->dims[i] || a->minor_to_major[i] != b->minor_to_major[i]) return 0;
  for (i = 0; i < a->tiles; ++i)
    if (a->tile_rank[i] != b->tile_rank[i]) return 0;
  for (i = 0; i < settp_tile_dims_used(a); ++i)
    if (a->tile[i] != b->tile[i]) return 0;
  for (i = 0; i < a->splits; ++i) {
    if (a->split_dim[i] != b->split_dim[i] || a->split_count[i] != b->split_count[i]) return 0;
    at += a->split_count[i];
  }
  for (i = 0; i < at; ++i)
    if (a->split[i] != b->split[i]) return 0;
  return 1;
}

SETT_INLINE int sett_tile_plain(const sett_tile_shape *shape) {
  return shape->tiles == 0 && shape->tail <= 1 && shape->splits == 0 &&
         sett_tile_bits(shape) == settp_tile_memory_bits(shape->type);
}

/* ---- bodies: reading -------------------------------------------------------------------------------------------- */

typedef struct settp_tile_lexer {
  const char *text;
  int64_t length, at;
  int64_t error, column;
} settp_tile_lexer;

SETT_INLINE int settp_tile_fail(settp_tile_lexer *lexer, int64_t at, int error) {
  if (!lexer->error) {
    lexer->error = error;
    lexer->column = at + 1;
  }
  return 0;
}

SETT_INLINE char settp_tile_char(const settp_tile_lexer *lexer, int64_t at) {
  return at < lexer->length ? lexer->text[at] : (char)0;
}

/* Past blanks and comments. */
SETT_INLINE void settp_tile_blank(settp_tile_lexer *lexer) {
  for (;;) {
    char c = settp_tile_char(lexer, lexer->at);
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      ++lexer->at;
    } else if (c == '/' && settp_tile_char(lexer, lexer->at + 1) == '/') {
      while (lexer->at < lexer->length && lexer->text[lexer->at] != '\n') ++lexer->at;
    } else if (c == '/' && settp_tile_char(lexer, lexer->at + 1) == '*') {
      int64_t start = lexer->at;
      lexer->at += 2;
      while (lexer->at < lexer->length &&
             !(lexer->text[lexer->at] == '*' && settp_tile_char(lexer, lexer->at + 1) == '/'))
        ++lexer->at;
      if (lexer->at >= lexer->length) {
        settp_tile_fail(lexer, start, SETT_TILE_ERROR_COMMENT);
        return;
      }
      lexer->at += 2;
    } else {
      return;
    }
  }
}

/* The next token's first character; it is not taken. */
SETT_INLINE char settp_tile_peek(settp_tile_lexer *lexer) {
  settp_tile_blank(lexer);
  return settp_tile_char(lexer, lexer->at);
}

SETT_INLINE int settp_tile_take(settp_tile_lexer *lexer, char c) {
  if (settp_tile_peek(lexer) != c || lexer->error) return 0;
  ++lexer->at;
  return 1;
}

SETT_INLINE int settp_tile_want(settp_tile_lexer *lexer, char c, int error) {
  return settp_tile_take(lexer, c) || settp_tile_fail(lexer, lexer->at, error);
}

SETT_INLINE int settp_tile_digit(char c) { return c >= '0' && c <= '9'; }

SETT_INLINE int settp_tile_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || settp_tile_digit(c) || c == '_';
}

/* The length of the word (letters, digits, _) at the next token. */
SETT_INLINE int64_t settp_tile_word(settp_tile_lexer *lexer) {
  int64_t end;
  settp_tile_blank(lexer);
  end = lexer->at;
  while (settp_tile_letter(settp_tile_char(lexer, end))) ++end;
  return end - lexer->at;
}

/* An integer that is not negative; error: what to say when there is no digit. */
SETT_INLINE int settp_tile_integer(settp_tile_lexer *lexer, int64_t *value, int error) {
  int64_t start;
  settp_tile_blank(lexer);
  start = lexer->at;
  *value = 0;
  if (lexer->error) return 0;
  if (settp_tile_char(lexer, start) == '-' && settp_tile_digit(settp_tile_char(lexer, start + 1)))
    return settp_tile_fail(lexer, start, error == SETT_TILE_ERROR_INTEGER ? SETT_TILE_ERROR_NEGATIVE : error);
  if (!settp_tile_digit(settp_tile_char(lexer, start))) return settp_tile_fail(lexer, start, error);
  while (settp_tile_digit(settp_tile_char(lexer, lexer->at))) {
    int digit = lexer->text[lexer->at] - '0';
    if (*value > (INT64_MAX - digit) / 10) return settp_tile_fail(lexer, start, SETT_TILE_ERROR_TOO_LARGE);
    *value = *value * 10 + digit;
    ++lexer->at;
  }
  if (settp_tile_letter(settp_tile_char(lexer, lexer->at))) return settp_tile_fail(lexer, start, error);
  return 1;
}

/* '(' integer ')' */
SETT_INLINE int settp_tile_one(settp_tile_lexer *lexer, int64_t *value, int64_t *at) {
  if (!settp_tile_want(lexer, '(', SETT_TILE_ERROR_PAREN)) return 0;
  settp_tile_blank(lexer);
  *at = lexer->at;
  return settp_tile_integer(lexer, value, SETT_TILE_ERROR_INTEGER) &&
         settp_tile_want(lexer, ')', SETT_TILE_ERROR_CLOSE);
}

SETT_INLINE int settp_tile_levels(settp_tile_lexer *lexer) {
  if (!settp_tile_want(lexer, '(', SETT_TILE_ERROR_PAREN)) return 0;
  do {
    char c = settp_tile_peek(lexer);
    if ((c != 'D' && c != 'C' && c != 'S' && c != 'H') || settp_tile_word(lexer) != 1)
      return settp_tile_fail(lexer, lexer->at, SETT_TILE_ERROR_LEVEL);
    ++lexer->at;
    settp_tile_take(lexer, '+');
    settp_tile_take(lexer, '~');
  } while (settp_tile_take(lexer, ','));
  return settp_tile_want(lexer, ')', SETT_TILE_ERROR_CLOSE);
}

SETT_INLINE int settp_tile_read_tiles(settp_tile_lexer *lexer, sett_tile_shape *shape) {
  int used = 0;
  if (settp_tile_peek(lexer) != '(') return settp_tile_fail(lexer, lexer->at, SETT_TILE_ERROR_PAREN);
  while (settp_tile_take(lexer, '(')) {
    int count = 0, combine = 0;
    int64_t last = 0;
    if (shape->tiles == SETT_TILE_MAX_TILES) return settp_tile_fail(lexer, lexer->at - 1, SETT_TILE_ERROR_TILES);
    do {
      int64_t value = SETT_TILE_COMBINE;
      char c = settp_tile_peek(lexer);
      last = lexer->at;
      if (used == SETT_TILE_MAX_TILE_DIMS) return settp_tile_fail(lexer, last, SETT_TILE_ERROR_TILES);
      combine = 1;
      if (c == '*') {
        ++lexer->at;
      } else if (c == '-' && settp_tile_char(lexer, last + 1) == '1' &&
                 !settp_tile_letter(settp_tile_char(lexer, last + 2))) {
        lexer->at += 2;
      } else {
        combine = 0;
        if (!settp_tile_integer(lexer, &value, SETT_TILE_ERROR_TILE_DIM)) return 0;
        if (value == 0) return settp_tile_fail(lexer, last, SETT_TILE_ERROR_TILE_DIM);
      }
      shape->tile[used++] = value;
      ++count;
    } while (settp_tile_take(lexer, ','));
    if (!settp_tile_want(lexer, ')', SETT_TILE_ERROR_TILE_END)) return 0;
    if (combine) return settp_tile_fail(lexer, last, SETT_TILE_ERROR_TILE_LAST);
    shape->tile_rank[shape->tiles++] = count;
  }
  return !lexer->error;
}

SETT_INLINE int settp_tile_read_splits(settp_tile_lexer *lexer, sett_tile_shape *shape) {
  int used = 0, i;
  if (settp_tile_peek(lexer) != '(') return settp_tile_fail(lexer, lexer->at, SETT_TILE_ERROR_PAREN);
  while (settp_tile_take(lexer, '(')) {
    int64_t dim = 0, last = 0, start, size;
    int count = 0;
    settp_tile_blank(lexer);
    start = lexer->at;
    if (!settp_tile_integer(lexer, &dim, SETT_TILE_ERROR_INTEGER)) return 0;
    if (dim >= shape->rank) return settp_tile_fail(lexer, start, SETT_TILE_ERROR_SPLIT_DIM);
    for (i = 0; i < shape->splits; ++i)
      if (shape->split_dim[i] == dim) return settp_tile_fail(lexer, start, SETT_TILE_ERROR_SPLIT_DIM);
    if (!settp_tile_want(lexer, ':', SETT_TILE_ERROR_SPLIT_COLON)) return 0;
    size = shape->dims[shape->minor_to_major[shape->rank - 1 - (int)dim]];
    while (settp_tile_peek(lexer) != ')') {
      int64_t value;
      if (count > 0 && !settp_tile_want(lexer, ',', SETT_TILE_ERROR_CLOSE)) return 0;
      settp_tile_blank(lexer);
      start = lexer->at;
      if (!settp_tile_integer(lexer, &value, SETT_TILE_ERROR_INTEGER)) return 0;
      if (value <= last || (size >= 0 && value >= size))
        return settp_tile_fail(lexer, start, SETT_TILE_ERROR_SPLIT_INDEX);
      if (used == SETT_TILE_MAX_SPLITS) return settp_tile_fail(lexer, start, SETT_TILE_ERROR_SPLITS);
      shape->split[used++] = last = value;
      ++count;
    }
    ++lexer->at;
    shape->split_dim[shape->splits] = (int32_t)dim;
    shape->split_count[shape->splits++] = count;
  }
  return !lexer->error;
}

/* The attributes after ':' up to, not including, the brace. *tiles_at is where tiles stand, for later errors. */
SETT_INLINE int settp_tile_read_attributes(settp_tile_lexer *lexer, sett_tile_shape *shape, int64_t *tiles_at) {
  enum { LEVELS, TILES, TAIL, PACKED, SPACE, SPLITS, PREFIX, NONE };
  int last = -1;
  while (settp_tile_peek(lexer) != '}' && !lexer->error) {
    int64_t start = lexer->at, value = 0, at = 0, length = settp_tile_word(lexer);
    const char *word = lexer->text + start;
    char c = settp_tile_char(lexer, start);
    int which = NONE;
    if (c == '#' || c == '*' || (length == 1 && c == 'P')) return settp_tile_fail(lexer, start, SETT_TILE_ERROR_SPARSE);
    if (length == 1 && c == 'D') which = LEVELS;
    if (length == 1 && c == 'T') which = TILES;
    if (length == 1 && c == 'L') which = TAIL;
    if (length == 1 && c == 'E') which = PACKED;
    if (length == 1 && c == 'S') which = SPACE;
    if (length == 2 && c == 'S' && word[1] == 'C') which = SPLITS;
    if (length == 1 && c == 'M') which = PREFIX;
    if (which == NONE || which <= last) return settp_tile_fail(lexer, start, SETT_TILE_ERROR_ATTRIBUTE);
    last = which;
    lexer->at += length;
    if (which == LEVELS) {
      if (!settp_tile_levels(lexer)) return 0;
    } else if (which == TILES) {
      *tiles_at = start;
      if (!settp_tile_read_tiles(lexer, shape)) return 0;
    } else if (which == SPLITS) {
      if (!settp_tile_read_splits(lexer, shape)) return 0;
    } else {
      if (!settp_tile_one(lexer, &value, &at)) return 0;
      if (which == TAIL && value == 0) return settp_tile_fail(lexer, at, SETT_TILE_ERROR_TAIL);
      if (which == SPACE && value > 127) return settp_tile_fail(lexer, at, SETT_TILE_ERROR_SPACE);
      if (which == TAIL) {
        shape->tail = value == 1 ? 0 : value;
        if (*tiles_at < 0) *tiles_at = at;
      }
      if (which == PACKED) shape->packed = value;
      if (which == SPACE) shape->space = (int32_t)value;
      if (which == PREFIX) shape->prefix = value;
    }
  }
  return !lexer->error;
}

/* A layout, if the next token is its brace. */
SETT_INLINE int settp_tile_read_layout(settp_tile_lexer *lexer, sett_tile_shape *shape, int64_t *tiles_at) {
  settp_tile_lexer ahead = *lexer;
  int count = 0;
  uint32_t seen = 0;
  char c;
  if (!settp_tile_take(&ahead, '{')) return 1;
  c = settp_tile_peek(&ahead);
  if (!settp_tile_digit(c) && c != ':') return 1;
  *lexer = ahead;
  if (c != ':') {
    do {
      int64_t value = 0, start;
      settp_tile_blank(lexer);
      start = lexer->at;
      if (!settp_tile_integer(lexer, &value, SETT_TILE_ERROR_INTEGER)) return 0;
      if (count == shape->rank) return settp_tile_fail(lexer, start, SETT_TILE_ERROR_LAYOUT_MANY);
      if (value >= shape->rank) return settp_tile_fail(lexer, start, SETT_TILE_ERROR_LAYOUT_DIM);
      if (seen >> value & 1) return settp_tile_fail(lexer, start, SETT_TILE_ERROR_LAYOUT_TWICE);
      seen |= (uint32_t)1 << value;
      shape->minor_to_major[count++] = (int32_t)value;
    } while (settp_tile_take(lexer, ','));
  }
  c = settp_tile_peek(lexer);
  if (c != ':' && c != '}') return settp_tile_fail(lexer, lexer->at, SETT_TILE_ERROR_LAYOUT_END);
  if (count < shape->rank) return settp_tile_fail(lexer, lexer->at, SETT_TILE_ERROR_LAYOUT_FEW);
  if (settp_tile_take(lexer, ':') && !settp_tile_read_attributes(lexer, shape, tiles_at)) return 0;
  return settp_tile_want(lexer, '}', SETT_TILE_ERROR_ATTRIBUTE);
}

/* The dimensions after '[' and the ']'. */
SETT_INLINE int settp_tile_read_dims(settp_tile_lexer *lexer, sett_tile_shape *shape) {
  int i;
  if (settp_tile_take(lexer, ']')) return 1;
  do {
    int64_t value = SETT_TILE_UNBOUNDED, start;
    char c = settp_tile_peek(lexer);
    int dynamic = c == '?' || c == '<';
    start = lexer->at;
    if (shape->rank == SETT_TILE_MAX_RANK) return settp_tile_fail(lexer, start, SETT_TILE_ERROR_RANK);
    if (c == '?') {
      ++lexer->at;
    } else {
      if (c == '<') {
        if (settp_tile_char(lexer, start + 1) != '=') return settp_tile_fail(lexer, start, SETT_TILE_ERROR_DIM);
        lexer->at += 2;
      }
      if (!settp_tile_integer(lexer, &value, SETT_TILE_ERROR_DIM)) return 0;
    }
    shape->dims[shape->rank] = value;
    if (dynamic) shape->dynamic |= (uint32_t)1 << shape->rank;
    ++shape->rank;
  } while (settp_tile_take(lexer, ','));
  for (i = 0; i < shape->rank; ++i) shape->minor_to_major[i] = shape->rank - 1 - i;
  return settp_tile_want(lexer, ']', SETT_TILE_ERROR_DIM_END);
}

/* An array, token or opaque. */
SETT_INLINE int settp_tile_read_array(settp_tile_lexer *lexer, sett_tile_shape *shape, int error) {
  int64_t length = settp_tile_word(lexer), start = lexer->at, dims_at, tiles_at = -1;
  const char *word = lexer->text + start;
  *shape = settp_tile_zero();
  if (lexer->error) return 0;
  if (length == 0) return settp_tile_fail(lexer, start, error);
  if (settp_tile_word_is(word, length, "token")) shape->kind = SETT_TILE_TOKEN;
  else if (settp_tile_word_is(word, length, "opaque") || settp_tile_word_is(word, length, "opaque_type"))
    shape->kind = SETT_TILE_OPAQUE;
  else shape->type = sett_tile_type_find(word, (size_t)length);
  if (shape->type < 0) return settp_tile_fail(lexer, start, error);
  if (error == SETT_TILE_ERROR_BUFFER && shape->kind != SETT_TILE_ARRAY) return settp_tile_fail(lexer, start, error);
  lexer->at += length;
  if (!settp_tile_want(lexer, '[', SETT_TILE_ERROR_OPEN)) return 0;
  if (shape->kind != SETT_TILE_ARRAY) return settp_tile_want(lexer, ']', SETT_TILE_ERROR_EMPTY_DIMS);
  settp_tile_blank(lexer);
  dims_at = lexer->at;
  if (!settp_tile_read_dims(lexer, shape) || !settp_tile_read_layout(lexer, shape, &tiles_at)) return 0;
  *shape = sett_tile_check(*shape);
  if (shape->error)
    return settp_tile_fail(lexer, shape->error == SETT_TILE_ERROR_BYTES && tiles_at >= 0 ? tiles_at : dims_at,
                           (int)shape->error);
  return 1;
}

enum { SETTP_TILE_FIRST, SETTP_TILE_WANT, SETTP_TILE_AFTER, SETTP_TILE_DONE }; /* states of a reader */

SETT_INLINE sett_tile_reader sett_tile_read(const char *text, size_t length) {
#ifdef __cplusplus
  sett_tile_reader reader = {};
#else
  sett_tile_reader reader = {0};
#endif
  reader.text = text;
  reader.length = (int64_t)length;
  reader.state = SETTP_TILE_WANT;
  return reader;
}

/* One step of sett_tile_next with a lexer of its own. */
SETT_INLINE int settp_tile_step(sett_tile_reader *reader, settp_tile_lexer *lexer, sett_tile_shape *shape) {
  for (;;) {
    char c;
    if (reader->depth == 0 && reader->state == SETTP_TILE_AFTER) return SETT_TILE_END;
    c = settp_tile_peek(lexer);
    if (lexer->error) return SETT_TILE_FAILED;
    if (c == ')' && reader->state != SETTP_TILE_WANT) {
      ++lexer->at;
      --reader->depth;
      reader->state = SETTP_TILE_AFTER;
      return SETT_TILE_CLOSED;
    }
    if (reader->state == SETTP_TILE_AFTER) {
      if (!settp_tile_want(lexer, ',', SETT_TILE_ERROR_TUPLE)) return SETT_TILE_FAILED;
      reader->state = SETTP_TILE_WANT;
      continue;
    }
    reader->item = reader->items[reader->depth]++;
    if (c == '(') {
      if (reader->depth == SETT_TILE_MAX_DEPTH) {
        settp_tile_fail(lexer, lexer->at, SETT_TILE_ERROR_DEPTH);
        return SETT_TILE_FAILED;
      }
      ++lexer->at;
      reader->items[++reader->depth] = 0;
      reader->state = SETTP_TILE_FIRST;
      return SETT_TILE_OPENED;
    }
    reader->state = SETTP_TILE_AFTER;
    if ((c == 'b' || c == 'B') && settp_tile_word(lexer) == 1) {
      ++lexer->at;
      if (!settp_tile_want(lexer, '(', SETT_TILE_ERROR_PAREN) ||
          !settp_tile_read_array(lexer, shape, SETT_TILE_ERROR_BUFFER) ||
          !settp_tile_want(lexer, ')', SETT_TILE_ERROR_CLOSE))
        return SETT_TILE_FAILED;
      shape->kind = SETT_TILE_BUFFER;
      return SETT_TILE_LEAF;
    }
    return settp_tile_read_array(lexer, shape, SETT_TILE_ERROR_TYPE) ? SETT_TILE_LEAF : SETT_TILE_FAILED;
  }
}

SETT_INLINE int sett_tile_next(sett_tile_reader *reader, sett_tile_shape *shape) {
  settp_tile_lexer lexer;
  int event;
  if (reader->error) return SETT_TILE_FAILED;
  lexer.text = reader->text;
  lexer.length = reader->length;
  lexer.at = reader->at;
  lexer.error = lexer.column = 0;
  event = settp_tile_step(reader, &lexer, shape);
  reader->at = lexer.at;
  reader->error = lexer.error;
  reader->column = lexer.column;
  return event;
}

/* The error of whatever follows a shape that should be alone, or 0. */
SETT_INLINE int64_t settp_tile_trailing(const char *text, int64_t length, int64_t at, int64_t *column) {
  settp_tile_lexer lexer;
  lexer.text = text;
  lexer.length = length;
  lexer.at = at;
  lexer.error = lexer.column = 0;
  if (settp_tile_take(&lexer, '{')) {
    settp_tile_blank(&lexer);
    settp_tile_fail(&lexer, lexer.at, SETT_TILE_ERROR_LAYOUT);
  } else if (lexer.at < length) {
    settp_tile_fail(&lexer, lexer.at, SETT_TILE_ERROR_END);
  }
  *column = lexer.column;
  return lexer.error;
}

SETT_INLINE sett_tile_shape sett_tile_parse(const char *text, size_t length) {
  sett_tile_reader reader = sett_tile_read(text, length);
  sett_tile_shape shape = settp_tile_zero();
  int event = sett_tile_next(&reader, &shape);
  if (event == SETT_TILE_OPENED) {
    reader.error = SETT_TILE_ERROR_ONE;
    reader.column = reader.at;
  }
  if (!reader.error) reader.error = settp_tile_trailing(text, (int64_t)length, reader.at, &reader.column);
  if (reader.error) {
    shape = settp_tile_zero();
    shape.error = reader.error;
    shape.column = reader.column;
  }
  return shape;
}

/* ---- bodies: printing ------------------------------------------------------------------------------------------- */

typedef struct settp_tile_writer {
  char *out;
  size_t capacity, used;
} settp_tile_writer;

SETT_INLINE void settp_tile_put(settp_tile_writer *writer, char c) {
  if (writer->used + 1 < writer->capacity) writer->out[writer->used] = c;
  ++writer->used;
}

SETT_INLINE void settp_tile_puts(settp_tile_writer *writer, const char *text) {
  while (*text) settp_tile_put(writer, *text++);
}

/* A value that is not negative. */
SETT_INLINE void settp_tile_puti(settp_tile_writer *writer, int64_t value) {
  char digits[20];
  int count = 0;
  do {
    digits[count++] = (char)('0' + value % 10);
    value /= 10;
  } while (value > 0);
  while (count > 0) settp_tile_put(writer, digits[--count]);
}

SETT_INLINE void settp_tile_putn(settp_tile_writer *writer, const char *name, int64_t value) {
  settp_tile_puts(writer, name);
  settp_tile_put(writer, '(');
  settp_tile_puti(writer, value);
  settp_tile_put(writer, ')');
}

SETT_INLINE size_t settp_tile_finish(settp_tile_writer *writer) {
  if (writer->capacity > 0) writer->out[writer->used < writer->capacity ? writer->used : writer->capacity - 1] = 0;
  return writer->used;
}

SETT_INLINE void settp_tile_put_tiles(settp_tile_writer *writer, const sett_tile_shape *shape) {
  int i, j, at = 0;
  settp_tile_put(writer, 'T');
  for (i = 0; i < shape->tiles; ++i) {
    settp_tile_put(writer, '(');
    for (j = 0; j < shape->tile_rank[i]; ++j, ++at) {
      if (j) settp_tile_put(writer, ',');
      if (shape->tile[at] == SETT_TILE_COMBINE) settp_tile_put(writer, '*');
      else settp_tile_puti(writer, shape->tile[at]);
    }
    settp_tile_put(writer, ')');
  }
}

SETT_INLINE void settp_tile_put_splits(settp_tile_writer *writer, const sett_tile_shape *shape) {
  int i, j, at = 0;
  settp_tile_puts(writer, "SC");
  for (i = 0; i < shape->splits; ++i) {
    settp_tile_put(writer, '(');
    settp_tile_puti(writer, shape->split_dim[i]);
    settp_tile_put(writer, ':');
    for (j = 0; j < shape->split_count[i]; ++j, ++at) {
      if (j) settp_tile_put(writer, ',');
      settp_tile_puti(writer, shape->split[at]);
    }
    settp_tile_put(writer, ')');
  }
}

SETT_INLINE void settp_tile_put_layout(settp_tile_writer *writer, const sett_tile_shape *shape) {
  int attributes = shape->tiles > 0 || shape->tail > 1 || shape->packed > 0 || shape->space > 0 ||
                   shape->splits > 0 || shape->prefix > 0;
  int i;
  if (shape->rank == 0 && !attributes) return;
  settp_tile_put(writer, '{');
  for (i = 0; i < shape->rank; ++i) {
    if (i) settp_tile_put(writer, ',');
    settp_tile_puti(writer, shape->minor_to_major[i]);
  }
  if (attributes) settp_tile_put(writer, ':');
  if (shape->tiles > 0) settp_tile_put_tiles(writer, shape);
  if (shape->tail > 1) settp_tile_putn(writer, "L", shape->tail);
  if (shape->packed > 0) settp_tile_putn(writer, "E", shape->packed);
  if (shape->space > 0) settp_tile_putn(writer, "S", shape->space);
  if (shape->splits > 0) settp_tile_put_splits(writer, shape);
  if (shape->prefix > 0) settp_tile_putn(writer, "M", shape->prefix);
  settp_tile_put(writer, '}');
}

SETT_INLINE void settp_tile_put_leaf(settp_tile_writer *writer, const sett_tile_shape *shape) {
  int i;
  if (shape->kind == SETT_TILE_TOKEN || shape->kind == SETT_TILE_OPAQUE) {
    settp_tile_puts(writer, shape->kind == SETT_TILE_TOKEN ? "token[]" : "opaque[]");
    return;
  }
  if (shape->kind == SETT_TILE_BUFFER) settp_tile_puts(writer, "b(");
  settp_tile_puts(writer, sett_tile_type_name(shape->type));
  settp_tile_put(writer, '[');
  for (i = 0; i < shape->rank; ++i) {
    if (i) settp_tile_put(writer, ',');
    if (shape->dims[i] < 0) {
      settp_tile_put(writer, '?');
    } else {
      if (shape->dynamic >> i & 1) settp_tile_puts(writer, "<=");
      settp_tile_puti(writer, shape->dims[i]);
    }
  }
  settp_tile_put(writer, ']');
  settp_tile_put_layout(writer, shape);
  if (shape->kind == SETT_TILE_BUFFER) settp_tile_put(writer, ')');
}

SETT_INLINE size_t sett_tile_print(const sett_tile_shape *shape, char *out, size_t capacity) {
  settp_tile_writer writer;
  writer.out = out;
  writer.capacity = capacity;
  writer.used = 0;
  if (!shape->error) settp_tile_put_leaf(&writer, shape);
  return settp_tile_finish(&writer);
}

/* Between two members of a tuple; every fifth member has its number in front. */
SETT_INLINE void settp_tile_put_comma(settp_tile_writer *writer, const sett_tile_reader *reader) {
  if (reader->item == 0) return;
  settp_tile_puts(writer, ", ");
  if (reader->item % 5 != 0) return;
  settp_tile_puts(writer, "/*index=");
  settp_tile_puti(writer, reader->item);
  settp_tile_puts(writer, "*/");
}

SETT_INLINE size_t sett_tile_canonical(const char *text, size_t length, int whole, char *out, size_t capacity,
                                    sett_tile_summary *summary) {
  sett_tile_reader reader = sett_tile_read(text, length);
  sett_tile_shape shape = settp_tile_zero();
  settp_tile_writer writer;
  int event, tuple = 0;
  writer.out = out;
  writer.capacity = capacity;
  writer.used = 0;
  summary->error = summary->column = summary->leaves = summary->bytes = 0;
  while ((event = sett_tile_next(&reader, &shape)) != SETT_TILE_END && event != SETT_TILE_FAILED) {
    if (event == SETT_TILE_CLOSED) {
      settp_tile_put(&writer, ')');
    } else if (event == SETT_TILE_OPENED) {
      tuple = 1;
      settp_tile_put_comma(&writer, &reader);
      settp_tile_put(&writer, '(');
    } else {
      int64_t bytes = sett_tile_bytes(&shape);
      settp_tile_put_comma(&writer, &reader);
      settp_tile_put_leaf(&writer, &shape);
      ++summary->leaves;
      if (tuple && shape.kind != SETT_TILE_ARRAY && shape.kind != SETT_TILE_BUFFER) continue;
      if (bytes < 0 || summary->bytes < 0) {
        summary->bytes = SETT_TILE_UNKNOWN;
      } else if (bytes > INT64_MAX - summary->bytes) {
        reader.error = SETT_TILE_ERROR_BYTES;
        reader.column = reader.at;
        break;
      } else {
        summary->bytes += bytes;
      }
    }
  }
  summary->consumed = reader.at;
  if (!reader.error && whole)
    reader.error = settp_tile_trailing(text, (int64_t)length, reader.at, &reader.column);
  summary->error = reader.error;
  summary->column = reader.column;
  if (reader.error) writer.used = 0;
  return settp_tile_finish(&writer);
}

/* ---- bodies: positions ------------------------------------------------------------------------------------------ */

SETT_INLINE sett_tile_plan sett_tile_prepare(const sett_tile_shape *shape) {
  sett_tile_plan plan = settp_tile_plan_zero();
  int i;
  plan.error = shape->error;
  if (shape->kind == SETT_TILE_TOKEN || shape->kind == SETT_TILE_OPAQUE) plan.error = SETT_TILE_ERROR_ARRAY;
  if (!plan.error && shape->splits > 0) plan.error = SETT_TILE_ERROR_SPLIT;
  for (i = 0; i < shape->rank && !plan.error; ++i)
    if (shape->dims[i] < 0) plan.error = SETT_TILE_ERROR_UNBOUNDED;
  if (plan.error) return plan;
  settp_tile_lists(shape, shape->dims, &plan);
  if (plan.positions < 0) plan.error = SETT_TILE_ERROR_BYTES;
  return plan;
}

SETT_INLINE int sett_tile_physical(const sett_tile_plan *plan, const int64_t **dims) {
  *dims = plan->list[plan->tiles];
  return plan->error ? 0 : plan->length[plan->tiles];
}

SETT_INLINE int64_t sett_tile_position(const sett_tile_plan *plan, const int64_t *index) {
  int64_t digit[SETT_TILE_MAX_LIST], next[SETT_TILE_MAX_LIST], position = 0;
  int i, stage, tile_at = 0, n = plan->rank;
  if (plan->error) return SETT_TILE_UNKNOWN;
  for (i = 0; i < n; ++i) {
    int ones = plan->tiles > 0 ? plan->ones[0] : 0;
    int64_t size = plan->list[0][i + ones], value = index[plan->minor_to_major[n - 1 - i]];
    if (value < 0 || value >= size) return SETT_TILE_UNKNOWN;
    digit[i] = value;
  }
  for (stage = 0; stage < plan->tiles; ++stage) {
    const int64_t *list = plan->list[stage], *tile = &plan->tile[tile_at];
    int k = plan->tile_rank[stage], groups = 0, g = 0, ones = plan->ones[stage];
    int64_t value = 0;
    for (i = n; i-- > 0;) digit[i + ones] = digit[i];
    for (i = 0; i < ones; ++i) digit[i] = 0;
    n = plan->length[stage];
    for (i = 0; i < k; ++i) groups += tile[i] != SETT_TILE_COMBINE;
    for (i = 0; i < n - k; ++i) next[i] = digit[i];
    for (i = 0; i < k; ++i) {
      value = value * list[n - k + i] + digit[n - k + i];
      if (tile[i] == SETT_TILE_COMBINE) continue;
      next[n - k + g] = value / tile[i];
      next[n - k + groups + g] = value % tile[i];
      value = 0;
      ++g;
    }
    n += 2 * groups - k;
    for (i = 0; i < n; ++i) digit[i] = next[i];
    tile_at += k;
  }
  for (i = 0; i < n; ++i) position = position * plan->list[plan->tiles][i] + digit[i];
  return position;
}

SETT_INLINE int sett_tile_element(const sett_tile_plan *plan, int64_t position, int64_t *index) {
  int64_t digit[SETT_TILE_MAX_LIST], next[SETT_TILE_MAX_LIST];
  int i, stage, tile_at = 0, n = plan->length[plan->tiles];
  if (plan->error || position < 0 || position >= plan->positions) return SETT_TILE_UNKNOWN;
  if (position >= plan->span) return 0;
  for (i = n; i-- > 0;) {
    digit[i] = position % plan->list[plan->tiles][i];
    position /= plan->list[plan->tiles][i];
  }
  for (stage = 0; stage < plan->tiles; ++stage) tile_at += plan->tile_rank[stage];
  for (stage = plan->tiles; stage-- > 0;) {
    const int64_t *list = plan->list[stage];
    int k = plan->tile_rank[stage], groups = 0, g;
    int64_t value = 0;
    tile_at -= k;
    n = plan->length[stage];
    for (i = 0; i < k; ++i) groups += plan->tile[tile_at + i] != SETT_TILE_COMBINE;
    g = groups;
    for (i = 0; i < n - k; ++i) next[i] = digit[i];
    for (i = k; i-- > 0;) {
      int64_t tile = plan->tile[tile_at + i], size = list[n - k + i];
      int leads = i == 0 || plan->tile[tile_at + i - 1] != SETT_TILE_COMBINE;
      if (tile != SETT_TILE_COMBINE) {
        --g;
        value = digit[n - k + g] * tile + digit[n - k + groups + g];
      }
      /* a digit is cut off what the more major members of the group share; what is left over is padding */
      if (leads ? value >= size : size == 0) return 0;
      next[n - k + i] = leads ? value : value % size;
      if (!leads) value /= size;
    }
    for (i = 0; i < n; ++i) digit[i] = next[i + plan->ones[stage]];
    n -= plan->ones[stage];
  }
  for (i = 0; i < plan->rank; ++i) index[plan->minor_to_major[plan->rank - 1 - i]] = digit[i];
  return 1;
}

/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#endif
