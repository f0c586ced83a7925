/* sett_notation.h - v0.5 - layouts in the notations of CuTe, Triton, Mosaic, oneDNN and strided arrays: read, printed, evaluated, combined
   SPDX-License-Identifier: Apache-2.0

WHAT
  Read, print and evaluate layouts in these notations: CuTe, ((2,2),3):((1,6),2), with swizzles, offsets and strides that are coordinates; Triton
  (encodings, and linear layouts over bits); Mosaic GPU (TiledLayout); oneDNN (tags); and strided arrays. The header converts layouts to indexing
  maps, and has the operations of CuTe and of Triton's linear layouts. An operation returns an exact result, a refusal (it is proved that no such layout
  exists, mostly with a witness), or another error; see ERRORS. The header needs no allocator and no library.

INCLUDE
    #include "sett_indexing_map.h"
    #include "sett_notation.h"
  Copy the two files. C11 or C++17, freestanding; by default, all functions are static inline.
  The functions can be compiled once for many files, in C and C++: define SETT_DECLARATIONS before the first sett header of each file, and
  SETT_IMPLEMENTATION in exactly one file. To compile the functions of each header in a file of its own, define SETT_DECLARATIONS in that file, include
  the header, define SETT_IMPLEMENTATION, and include the header again. By default, a shared library does not export the functions. Two static
  libraries that both contain the functions can be linked into one program if at least one defines a SETT_PREFIX of its own in all its files.

OPTIONS
  Those of sett_indexing_map.h.

A FIRST LOOK
    #include <stdio.h>
    #include <string.h>
    #include "sett_indexing_map.h"
    #include "sett_notation.h"
    static unsigned char memory[1 << 18];
    int main(void) {
      sett_map_arena arena = sett_map_arena_make(memory, sizeof memory);
      const char *tile = "(4,2):(8,1)", *all = "(8,8):(8,1)";
      sett_notation a = sett_notation_parse(&arena, all, strlen(all)), b = sett_notation_parse(&arena, tile, strlen(tile));
      sett_notation divided = sett_notation_divide(&arena, &a, &b, SETT_NOTATION_LOGICAL);
      char text[256];
      sett_notation_print(&divided, text, sizeof text);
      puts(text);
      return 0;
    }
  prints
    ((4,2),(4,2)):((1,8),(16,4))

THE MODEL
  shape:stride  Two tuples with the same nesting. A leaf s:d is the function i -> i * d for i in [0, s). A coordinate is a tuple nested like the shape.
                The entries of a tuple are its modes. In a coordinate, an integer may replace a tuple; it is split into the modes of the tuple: the first
                mode is the fastest, and the last mode is not bounded. So a layout is a function on all integers from 0 on. The values of
                ((2,2),3):((1,6),2) are 0,1,6,7,2,3,8,9,4,5,10,11. (4):(1) and 4:1 have different shapes, but are the same function
  d@p           A stride that is a coordinate: the value of the layout is a tuple, and a leaf s:d@p at index i adds i * d to entry (place) p of
                this tuple. (4,8):(1@1,1@0) is (i, j) -> (j, i). 1@0@1 adds to place 0 inside place 1
  S<B,M,S>      A swizzle. The B bits from bit M + S on are XORed into the B bits from bit M on; if S < 0, the B bits from bit M on are XORed into the B bits
                from bit M - S on. abs(S) is at least B. A swizzle acts on offsets in elements. For shared memory, CuTe prints a swizzle of bytes, and
                then a pointer that says how many bits an element has. The parser converts such a swizzle to elements:
                Sw<3,4,3> o smem_ptr[16b](unset) o (8,64):(64,1) is S<3,3,3> o 0 o (8,64):(64,1). The address must be unset or a multiple of
                2^(B + M + abs(S)). A pointer without a swizzle is ignored: ptr[32b](0x7f00) o (4,8):(8,1) is (4,8):(8,1)
  strides       4x8@strides(8,1)+3 is (i, j) -> 8 * i + j + 3, in elements
  size 0        CuTe, strides and tags have arrays without elements: (0,4):(4,1), 0x4@strides(4,1), 0x4@aB16b. Their map is KNOWN EMPTY. Operations that
                divide by a size return ERROR_EMPTY, which is no refusal. Linear layouts, encodings and TiledLayout have no such arrays
  tag           16x20@aB16b is a tag of oneDNN: the outer dimensions, the outermost first, then the blocks, the outermost first. A dimension with blocks is
                a capital letter, and is padded to a multiple of its blocks. Aliases such as nChw16c can be read, and are printed as tags
  TiledLayout   64x8@TiledLayout(tiling=Tiling(tiles=((64, 8), (16, 8), (8, 8), (2,))), warp_dims=(-7,), lane_dims=(-3, -2), vector_dim=-1) is a layout
                of Mosaic GPU. It goes from the index to the owner (register, element, lane, warp), with 4 warps and 32 lanes; here `element` is the
                position in a register, which is a vector. With Replicated(times=4), an element of the array has several owners
  linear        {register = [[0, 1], [8, 0]], lane = [[0, 2]]} -> {dim0 = 16, dim1 = 4} is a linear layout of Triton: the value is the XOR of the bases of
                those input bits that are 1. The bases are listed from the lowest bit on. Except in sett_notation_at and _map, numbers are packed: all
                inputs in one number, and all values in one number, with the first dimension in the lowest bits
  encoding      16x32@#ttg.blocked<{..}>: an attribute of Triton on a shape becomes a linear layout. A distribution over threads goes from
                (register, lane, warp, block) to the index; a layout of shared memory goes from the offset to the index
  not 2^n       If sizes are no powers of two, as in 24x32@#ttg.blocked<{..}>, the layout over threads is that of the next powers of two, here 32x32.
                Registers outside the array hold no element, and the layout is printed as 24x32@#ttg.linear<{..}>. (Triton itself masks such arrays.) With
                these sizes, a layout of shared memory is a failed layout with ERROR_POWER or ERROR_PADDED. For the layout over
                threads, operations on linear layouts return ERROR_KIND, and questions about linear layouts answer as for a layout that is not linear.
                None of these errors is a refusal
  padded        16x32@#ttg.padded_shared<[8:+2] {offset = [[0, 1], ..], block = []}>: the element that a linear layout has at offset i is at
                i + 2 * (i / 8). This sum is not a linear layout, so the layout is kept as a function from the index to the offset. With
                {order = [1, 0], shape = [16, 32]} instead of bases, the linear layout is row-major
  f o c o g     The chain x -> f(c + g(x)), which may have more parts: S<2,0,3> o 0 o (8,8):(8,1). Operations change the innermost layout
  [a;b;_]       A tile: for each mode, the layout (tiler) that an operation applies to it; _ leaves a mode unchanged. A tuple (4,8) is the tile [4:1;8:1]
  affine        MLIR's affine_map<(d0)[s0] -> (d0 + s0)> is the sett_map (d0)[s0] -> (d0 + s0) without bounds. An affine_set<(d0) : (d0 >= 0)> is a
                sett_map without results

FUNCTIONS
  text      sett_notation_parse, _print, _message, _refused; _affine_parse, _affine_print
  ask       sett_notation_size, _cosize, _at, _map
  combine   sett_notation_coalesce, _composition, _complement, _right_inverse, _left_inverse, _divide, _product, _blocked_product, _tile_to_shape,
            _max_common_layout, _nullspace, _recast
  linear    sett_notation_compose, _invert, _invert_and_compose, _linear_product, _divide_by, _quotient, _sublayout, _reshape, _is_zero, _is_injective,
            _is_surjective, _free_masks, _consecutive, _shared
  make      sett_notation_make, _compose_of, _ordered, _identity, _flatten, _get, _select, _group, _shape_div, _index, _coordinate

LAWS (tests/layouts/test_notation.py, tests/layouts/notation_fuzz.c)
  1 print_parse   parse(print(l)) prints the same text.
  2 map           at each point, the results of the map are the numbers in the value of sett_notation_at. If an element of a TiledLayout has several
                  owners, each value of the ranges gives one of them.
  3 composition   composition(a, b) is R with R(c) = a(b(c)) for every coordinate c of b; a refusal means that no shape:stride layout whose shape refines
                  b's has these values. (A shape refines another if it has, for each leaf of the other, this leaf or a tuple of the same size.)
  4 inverses      with right = right_inverse(a) and left = left_inverse(a): a(right(i)) = i for i < size(right), and a(left(a(i))) = a(i). If several
                  layouts obey the law, the result is that of CuTe's C++ and Python.
  5 divide        divide(a, tiler) is the function a composed with (tiler, complement of tiler in the shape of a). In product(a, tiler), mode 0 is a,
                  and each value of mode 1 is 0 or an offset that a does not have.
  6 linear        compose(a, b) is R(x) = b(a(x)). invert_and_compose(a, b) is R with b(R(x)) = a(x). divide_by(a, b) is R with linear_product(b, R) = a. reshape does not
                  change packed inputs and values. For n = consecutive() and j < n, the packed value at n * x + j is the value at n * x, plus j. In an
                  encoding, each element has at least one owner. In shared memory with the layout of sett_notation_shared, a store and a load take
                  the returned numbers of turns (in a turn, each bank serves one word), and no linear layout takes fewer (tests/layouts/test_swizzles.py).
  7 affine        affine_print(affine_parse(t)) equals t in every character, for all t that MLIR prints (tests/algebra/test_affine.py).

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
  The error is part of the layout: error and, if it was parsed, column, counted from 1. An operation with a failed operand returns this operand. An error is a refusal
  (sett_notation_refused returns 1) if it is proved that no such layout exists. Most refusals have a witness: the wanted function has the value `value`
  at the input `witness`, but every layout of the wanted kind would have `other` there. Inputs and values of linear layouts are packed (see `linear`).
    NO_BREAK, NO_SUM   witness is an index of the second layout of a composition
    NO_COVER           (invert_and_compose) the first layout's value at the input witness is no value of the second layout; other is a value of the
                       second layout
    NO_QUOTIENT        (divide_by, quotient) witness is an input at which the product of any quotient with the divisor would have the value other; it
                       is -1 if the names or sizes of the dimensions do not fit
    NO_INVERSE         witness is an input other than 0 whose value is 0; if it is -1, `value` is the value of no input
    NO_RECAST          has no witness
    NO_OVERLAP         (complement) has no witness, and is an exception among the refusals: the rule of sett_notation_complement has no result, but
                       a complement may exist
  ERROR_UNDECIDED and ERROR_INVERSE are no refusals.

LIMITS
  The limits are 64 leaves, 32 nested parentheses, 8 functions in a chain, and 64-bit sizes. If a size and a stride do not divide each other,
  composition visits up to 65536 points.

HISTORY
  0.5  MLIR's affine_map and affine_set.
  0.4  SETT_DECLARATIONS, SETT_IMPLEMENTATION, SETT_PREFIX.
  0.3  left inverses of strides that overlap; strides and tags with sizes of 0; encodings of sizes that are no powers of two.
  0.2  Triton's padded_shared; shared memory between two distributions (sett_notation_shared).
  0.1  CuTe, strides, oneDNN's tags, linear layouts, Triton's encodings, Mosaic's TiledLayout.
*/
#ifndef SETT_NOTATION_H
#define SETT_NOTATION_H

#if !defined(SETT_INDEXING_MAP_H)
#error "include sett_indexing_map.h before sett_notation.h"
#endif

#define SETT_NOTATION_VERSION 500 /* version 0.5.0: 10000 * major + 100 * minor + patch */

/* ---- types ------------------------------------------------------------------------------------------------------ */

/* NO_BREAK and the errors after it are refusals, see ERRORS in the manual. */
#define SETT_NOTATION_ERRORS(X)                                                                                       \
  X(OK, "no error")                                                                                                   \
  X(ERROR_FULL, "the arena is full: expected more memory")                                                            \
  X(ERROR_OVERFLOW, "a value overflows 64 bits: expected smaller numbers")                                            \
  X(ERROR_TEXT, "expected a layout: CuTe's shape:stride, a linear layout {..} -> {..}, or SHAPE@ and #ttg.., a tag, " \
                "or strides(..)")                                                                                     \
  X(ERROR_DEEP, "expected parentheses nested at most 32 deep")                                                        \
  X(ERROR_LEAVES, "expected at most 64 leaves")                                                                       \
  X(ERROR_INTEGER, "expected an integer")                                                                             \
  X(ERROR_TOO_LARGE, "expected an integer that fits in 64 bits, signed")                                              \
  X(ERROR_TUPLE, "expected an integer or '('")                                                                        \
  X(ERROR_SIZE, "expected a size of 0 or more, known now")                                                            \
  X(ERROR_TUPLE_END, "expected ',' or ')'")                                                                           \
  X(ERROR_PLACE, "expected a number from 0 to 63 after @, and at most 4 of them")                                     \
  X(ERROR_CONGRUENT, "expected the nesting of the shape")                                                             \
  X(ERROR_COLON, "expected ':' and the strides")                                                                      \
  X(ERROR_SWIZZLE, "expected a swizzle S<bits, base, shift>")                                                         \
  X(ERROR_SWIZZLE_RANGE, "expected bits and base of 0 or more, a shift of at least as many bits, 62 bits in all")     \
  X(ERROR_POINTER,                                                                                                    \
    "expected a pointer as CuTe prints it, smem_ptr[16b](unset) or ptr[32b](0x7f00), ' o ' and the layout")           \
  X(ERROR_POINTER_SWIZZLE, "expected behind a swizzle of bytes elements of 8 * 2^k bits that it does not split, at "  \
                           "an address that its bits leave alone")                                                    \
  X(ERROR_CHAIN, "expected ' o OFFSET o LAYOUT'")                                                                     \
  X(ERROR_OFFSET, "expected an offset of integers")                                                                   \
  X(ERROR_TILE_END, "expected ';' or ']'")                                                                            \
  X(ERROR_END, "expected the end of the layout")                                                                      \
  X(ERROR_AFFINE, "expected a map with results or constraints that an affine map has: no min, max or xor")            \
  X(ERROR_KIND, "expected a layout of the kind that this operation takes: shape:stride, linear or an encoding")       \
  X(ERROR_COORDINATE, "expected a coordinate of integers, 0 or more, no deeper than the shape")                       \
  X(ERROR_OUTSIDE, "expected a coordinate below the sizes of the layout")                                             \
  X(ERROR_HELD, "expected a register that holds an element of the array")                                             \
  X(ERROR_RANK, "expected a coordinate with a number for each mode")                                                  \
  X(ERROR_MIX, "expected integers, or coordinates of one form, not both in one sum")                                  \
  X(ERROR_NEGATIVE, "expected no negative stride or offset in this operation")                                        \
  X(ERROR_EMPTY, "expected sizes of 1 or more in this operation")                                                     \
  X(ERROR_BASIS, "expected integer strides in this operation")                                                        \
  X(ERROR_MODE, "expected the number of a mode of the layout")                                                        \
  X(ERROR_TILER, "expected no more tilers than modes")                                                                \
  X(ERROR_ORDER, "expected a permutation with a number for each mode")                                                \
  X(ERROR_TARGET, "expected a shape with a size for each mode of the layout")                                         \
  X(ERROR_BITS, "expected two element widths, one of them a multiple of the other")                                   \
  X(ERROR_DIMS, "expected a shape of 1 to 12 sizes, as 16x64@")                                                       \
  X(ERROR_NO_EMPTY, "expected sizes of 1 or more: Triton and Mosaic have no empty arrays")                            \
  X(ERROR_TAG, "expected a tag: a letter for each dimension, then blocks such as 16b of dimensions in capitals")      \
  X(ERROR_NAME, "expected the name of a dimension, another for each")                                                 \
  X(ERROR_EQUAL, "expected '='")                                                                                      \
  X(ERROR_LIST, "expected '['")                                                                                       \
  X(ERROR_LIST_END, "expected ',' or ']'")                                                                            \
  X(ERROR_BRACE, "expected '{'")                                                                                      \
  X(ERROR_ARROW, "expected '->'")                                                                                     \
  X(ERROR_BRACE_END, "expected ',' or '}'")                                                                           \
  X(ERROR_CLOSE, "expected '>'")                                                                                      \
  X(ERROR_POWER, "expected powers of two, up to 2^62 in all")                                                         \
  X(ERROR_BASIS_SIZE, "expected bases of one length, their components below the sizes of the output dimensions")      \
  X(ERROR_ENCODING, "expected an encoding: blocked, nvidia_mma, amd_mfma, amd_wmma, dot_op, slice, linear, "          \
                    "swizzled_shared, amd_rotating_shared, nvmma_shared or padded_shared")                            \
  X(ERROR_PADDED,                                                                                                     \
    "expected [INTERVAL:+PADDING, ..] of powers of two, each interval once, then {order = [..], shape = "             \
    "[..]} of the array, or bases, an offset for each index")                                                         \
  X(ERROR_KEY, "expected a key of this encoding")                                                                     \
  X(ERROR_KEYS, "expected all keys that this encoding needs, with as many numbers as the shape has")                  \
  X(ERROR_TILES, "expected tiles that divide the tile before (the first: the shape) and have no more dimensions, "    \
                 "without leading 1s or tiles that split nothing")                                                    \
  X(ERROR_MOSAIC, "expected TiledLayout(tiling=Tiling(tiles=(..)), warp_dims=(..), lane_dims=(..), vector_dim=-1)")   \
  X(ERROR_MOSAIC_DIMS, "expected different dimensions of the tiled shape, counted from the end, whose sizes and "     \
                       "copies make 4 warps and 32 lanes")                                                            \
  X(ERROR_SAME_DIMS, "expected layouts whose dimensions have the same names and sizes, as the operation needs")       \
  X(ERROR_RESHAPE, "expected sizes whose product is that of the dimensions that they replace")                        \
  X(ERROR_UNDECIDED, "not decided: expected strides that divide, or at most 65536 points to look at")                 \
  X(ERROR_INVERSE, "not decided: expected strides of which each divides the next larger one, and a left inverse by "  \
                   "CuTe's rule where they overlap")                                                                  \
  X(NO_BREAK, "no shape:stride layout has these values: a stride breaks where its size does not divide the mode")     \
  X(NO_SUM, "no shape:stride layout has these values: a digit added to another does not add its stride")              \
  X(NO_OVERLAP, "the strides overlap: CuTe's rule has no complement")                                                 \
  X(NO_INVERSE, "the linear layout has no inverse: its bases depend on each other or miss a value")                   \
  X(NO_COVER, "the second layout does not reach this value of the first")                                             \
  X(NO_QUOTIENT, "the layout is no product with that factor")                                                         \
  X(NO_RECAST, "the layout does not divide into elements of that width")

enum {
#define SETTP_NOTATION_ENUM(name, text) SETT_NOTATION_##name,
  SETT_NOTATION_ERRORS(SETTP_NOTATION_ENUM) SETT_NOTATION_ERROR_COUNT
#undef SETTP_NOTATION_ENUM
};

/* The error of a map that is made from a failed notation is this number plus the notation's error. */
enum { SETT_NOTATION_ERROR_FIRST = 4000 };
enum { SETT_NOTATION_LEAVES = 64, SETT_NOTATION_PLACES = 4, SETT_NOTATION_DEPTH = 32 };

/* A node of a nested CuTe layout or tuple. With rank -1 it is a leaf; otherwise it has `rank` children (modes). A leaf of a tuple has its number in
 * size. */
typedef struct sett_notation_mode {
  int rank;   /* number of modes; -1: a leaf; SETT_NOTATION_SKIP: the _ of a tile */
  int places; /* number of places in a stride (coordinate), for instance 2 for 1@0@1; -1 marks a tuple of tilers */
  /* the places that a stride such as 5@0@1 names, innermost first, as in the text */
  int32_t place[SETT_NOTATION_PLACES];
  int64_t size, stride;
  const struct sett_notation_mode *mode;
} sett_notation_mode;

enum { SETT_NOTATION_LEAF = -1, SETT_NOTATION_SKIP = -2 };

/* A function in a chain: a swizzle or a shape:stride layout. Its argument is offset plus the value of the next function in the chain. */
typedef struct sett_notation_part {
  int swizzle; /* 1: a swizzle with bits, base and shift; 0: a layout */
  int64_t bits, base, shift;
  sett_notation_mode layout, offset;
} sett_notation_part;

enum {
  SETT_NOTATION_TUPLE,
  SETT_NOTATION_CUTE,
  SETT_NOTATION_TILE,
  SETT_NOTATION_STRIDES,
  SETT_NOTATION_ONEDNN,
  SETT_NOTATION_TRITON,
  SETT_NOTATION_MOSAIC,
  SETT_NOTATION_PADDED,
  /* a linear layout that is larger than the array: an input whose index is outside dims holds no element */
  SETT_NOTATION_MASKED
};

enum { SETT_NOTATION_DIMS = 12, SETT_NOTATION_BITS = 62 };

/* A linear layout: the value is the XOR of the bases of those input bits that are 1. A basis is a packed value: the values of all output dimensions,
 * the first in the lowest bits. */
typedef struct sett_notation_linear {
  int ins, outs;
  int in_bits[SETT_NOTATION_DIMS], out_bits[SETT_NOTATION_DIMS];
  char in[SETT_NOTATION_DIMS][16], out[SETT_NOTATION_DIMS][16];
  /* the bases of the bits of the first input dimension, lowest bit first, then those of the next dimension */
  uint64_t basis[SETT_NOTATION_BITS];
} sett_notation_linear;

/* A digit of Mosaic's tiled shape: (index of dim / low) mod size. Multiplied by stride, it is a part of the coordinate that role names. A digit that
 * numbers copies has dim -1. */
enum { SETT_NOTATION_REGISTER, SETT_NOTATION_ELEMENT, SETT_NOTATION_LANE, SETT_NOTATION_WARP, SETT_NOTATION_ROLES };
typedef struct sett_notation_digit {
  int dim, role;
  int64_t low, size, stride;
} sett_notation_digit;

/* Mosaic GPU's TiledLayout: the tiles of the text; then the digits of the tiled shape, the most major first; then the digits of copies. */
enum { SETT_NOTATION_TILES = 12, SETT_NOTATION_DIGITS = 64 };
typedef struct sett_notation_tiled {
  int tiles, tile_rank[SETT_NOTATION_TILES];
  int64_t tile[SETT_NOTATION_TILES][SETT_NOTATION_DIMS];
  int warps, lanes; /* numbers of entries of warp_dim and lane_dim */
  /* warp_dims, lane_dims and vector_dim of the text. A negative number is a dimension of the tiled shape, counted from the end */
  int64_t warp_dim[SETT_NOTATION_DIMS], lane_dim[SETT_NOTATION_DIMS], /* a positive entry: a number of copies */
      vector_dim;                                                     /* always negative */
  int digits;
  sett_notation_digit digit[SETT_NOTATION_DIGITS];
} sett_notation_tiled;

/* Triton's padded_shared. A linear layout maps an index of the array to a number i. The offset is i plus, for every k, pad[k] * (i / interval[k]). */
enum { SETT_NOTATION_PADS = 8 };
typedef struct sett_notation_padded {
  int pads; /* number of intervals, which are in ascending order */
  int64_t interval[SETT_NOTATION_PADS], pad[SETT_NOTATION_PADS];
  const sett_notation_linear *inverse; /* the linear layout that maps an index to i */
} sett_notation_padded;

/* A layout, or an operand that is a tuple or a tile. {0} is the empty tuple. Arrays are in the arena. */
typedef struct sett_notation {
  int kind;
  int error;      /* SETT_NOTATION_OK or an error code */
  int64_t column; /* column of the error in the text, counted from 1; 0 if there was no text */
  /* the witness of a refusal, see ERRORS in the manual; witness is -1 if the refusal has none */
  int64_t witness, value, other;
  sett_notation_mode tuple; /* the modes of a tuple or a tile */
  int parts;                /* number of functions of a CuTe layout; the outermost is the first */
  const sett_notation_part *part;
  int rank; /* number of dimensions of the array, whose sizes stand before @ */
  int64_t dims[SETT_NOTATION_DIMS];
  /* STRIDES: the strides in elements. A tag: the strides of its outer dimensions in elements */
  int64_t strides[SETT_NOTATION_DIMS], offset;
  int order[SETT_NOTATION_DIMS]; /* the outer dimensions of a tag, the outermost first */
  int blocks; /* number of inner blocks of a tag. The next two arrays list them, the outermost block first */
  int block_dim[SETT_NOTATION_DIMS];
  int64_t block_size[SETT_NOTATION_DIMS];
  /* TRITON, MASKED: the layout. PADDED: the layout from the number i (see sett_notation_padded) to the index */
  const sett_notation_linear *linear;
  const sett_notation_tiled *tiled;   /* MOSAIC */
  const sett_notation_padded *padded; /* PADDED */
} sett_notation;

/* ---- prototypes ------------------------------------------------------------------------------------------------- */

/* ---- text ---- */
/* Parse a text in one of these notations:
 *     CuTe:       layouts, tuples and tiles.
 *     strides:    4x8@strides(8,1)+0.
 *     oneDNN:     16x64@aB16b, and aliases such as nChw16c.
 *     Triton:     {register = [[1], [2]], ..} -> {dim0 = 16}; 16x32@#ttg.blocked<{..}> and other encodings. Encodings become linear layouts, except
 *                 padded_shared (see `padded` in the manual). #ttg. may also be written #triton_gpu. or #, as in #blocked.
 *     Mosaic:     64x8@TiledLayout(..). */
SETT_PUBLIC sett_notation sett_notation_parse(sett_map_arena *arena, const char *text, size_t length);
/* Write the canonical text, cut to capacity - 1 bytes, and a zero byte; write nothing if capacity is 0. Return the length of the whole text without the
 * zero byte. The text of a failed layout is the message of its error. */
SETT_PUBLIC size_t sett_notation_print(const sett_notation *layout, char *out, size_t capacity);
SETT_PUBLIC const char *sett_notation_message(int error);
/* Return 1 if the error is a refusal, see ERRORS in the manual. */
SETT_PUBLIC int sett_notation_refused(int error);

/* ---- ask ---- */
/* Return the product of the sizes of the inputs: the number of elements of an array, of coordinates of a CuTe layout or tuple, or of inputs of a linear
 * layout. Return -1 if the layout has failed or the product overflows. */
SETT_PUBLIC int64_t sett_notation_size(const sett_notation *layout);
/* Return the cosize of a CuTe layout: 1 + the sum of (size - 1) * abs(stride) over the leaves of its innermost shape:stride layout, or 0 if a size is
 * 0. Return -1 for other notations, if strides are coordinates, or if the sum overflows. */
SETT_PUBLIC int64_t sett_notation_cosize(const sett_notation *layout);
/* Return the value at a coordinate. The kind of the value is SETT_NOTATION_TUPLE:
 *     CuTe:            an integer, or a tuple with an entry per place if strides are coordinates.
 *     linear layout:   a tuple with an integer for each output dimension; an integer if there is only one. ERROR_HELD: the register holds no element.
 *     TiledLayout:     (register, element, lane, warp); a tuple of such tuples if the element has several owners.
 *     other notations: an integer, the offset.
 * In a coordinate of CuTe, an integer may replace any tuple. It is then split into the modes of the tuple; the first mode is the fastest, and the last
 * mode is not bounded. For other notations, the coordinate has one integer for each input dimension of a linear layout, or each dimension of the array.
 */
SETT_PUBLIC sett_notation sett_notation_at(sett_map_arena *arena, const sett_notation *layout,
                                           const sett_notation *coordinate);
/* Return the layout as an indexing map. Its dimensions are the leaves of a CuTe layout, those of the first mode first; the input dimensions of a linear
 * layout; or else the dimensions of the array. Its results are the integers in the value of sett_notation_at, in the same order. If an element of a
 * TiledLayout has several owners, the results are one owner, and the map has a range for each Replicated(..). The ranges number the owners. */
SETT_PUBLIC sett_map sett_notation_map(sett_map_arena *arena, const sett_notation *layout);

/* ---- CuTe's operations: in the comments, R is the result ---- */
/* Return the layout with the fewest modes that has the same values on [0, size). Beyond size, the result may have other values: (4,1):(1,0) becomes
 * 4:1. `profile` is NULL or a tuple. With a tuple, each mode of the layout at the position of a leaf of `profile` is coalesced separately, and modes
 * beyond `profile` are not changed. */
SETT_PUBLIC sett_notation sett_notation_coalesce(sett_map_arena *arena, const sett_notation *layout,
                                                 const sett_notation *profile);
/* Return R with R(c) = a(b(c)) for every coordinate c of `b`. The shape of R refines that of `b` (see LAWS). The function refuses if no such layout
 * exists, and only then. If a size and a stride do not divide each other, this is found out by visiting the points, for sizes up to 65536; for larger
 * sizes, the error is ERROR_UNDECIDED. In two cases CuTe's C++ does not refuse, but returns a wrong layout. First, for (4,6,8):(2,3,5) o 6:3, CuTe
 * returns (2,3):(6,3), which is wrong at 2. Second, CuTe composes each mode of `b` on its own. This is wrong if, in the sum of the values of these
 * modes, one mode of `a` carries into the next. If `b` is a tile or a tuple of tilers, each mode of `a` is composed with its tiler; _ leaves a mode
 * unchanged, and modes after the last tiler are dropped. If `b` has a swizzle, the result is the chain `a` o 0 o `b`. A mode of size 1 may have any
 * stride, and gets that of CuTe. */
SETT_PUBLIC sett_notation sett_notation_composition(sett_map_arena *arena, const sett_notation *a,
                                                    const sett_notation *b);
/* Return the complement R of `a`. It enumerates offsets that `a` leaves out, in ascending order, and has only offset 0 in common with `a`. `bound`
 * limits the offsets: a tuple, or a layout whose shape is used; NULL means the cosize of `a`. This is CuTe's rule: take the modes of `a`, without
 * those of size 1 or stride 0, in the order of their strides. For each mode, R has a mode of stride u and size floor(stride / u). Here u is size *
 * stride of the mode before; for the first mode, u is 1. Last, R has a mode of stride u and size ceil(bound / u), where u is size * stride of the
 * last mode. If some u does not divide the stride of the next mode, offsets are lost. For (4,2):(1,6) and bound 24 the result is 2:12; then 4, 5, 10,
 * 11, 16, 17, 22 and 23 are no sum of an offset of `a` and an offset of R. If the bound has several sizes, each is divided in turn and rounded up:
 * size s becomes ceil(s / u), then u becomes ceil(u / s) for the next size. So for 3:1, bound 32 gives 11:3, but bound (4,8) gives 16:3. */
SETT_PUBLIC sett_notation sett_notation_complement(sett_map_arena *arena, const sett_notation *a,
                                                   const sett_notation *bound);
/* Return the largest R, by CuTe's rule, with a(R(i)) = i for i < size(R). If the strides of `a` are coordinates, such as 2@1, then R has one mode for
 * each place that the strides name, and a(R(c)) = c for every coordinate c of R. */
SETT_PUBLIC sett_notation sett_notation_right_inverse(sett_map_arena *arena, const sett_notation *a);
/* Return R with a(R(a(i))) = a(i). If `a` is one-to-one, R(a(i)) = i. If several layouts satisfy this law, the result is that of CuTe's rule: take
 * the leaves of `a` in the order of their strides, without strides of 0. R has a leaf (smallest stride):0 and, for each leaf, a leaf of size (next
 * stride) / (its stride); the last leaf keeps its size. The stride of a leaf of R is the product of the sizes before the corresponding leaf of
 * `a`. So 4:0 gives 1:0. Strides may overlap: ((2,4),(3,5)):((4,1),(2,8)) gives (2,2,2,5):(2,8,1,24). ERROR_INVERSE does not prove that no R exists.
 * CuTe's rule may have no result, as for (2,2):(2,3), which has the left inverse (2,3):(1,1). Or its result breaks the law, as (2,3,3):(0,3,1) does
 * for (3,5):(6,2). */
SETT_PUBLIC sett_notation sett_notation_left_inverse(sett_map_arena *arena, const sett_notation *a);
enum { SETT_NOTATION_LOGICAL, SETT_NOTATION_ZIPPED, SETT_NOTATION_TILED, SETT_NOTATION_FLAT };
/* Compose `a` with (tiler, complement of the tiler in the shape of `a`). If the tiler is a layout, the result (LOGICAL) is (tile, rest). If the tiler
 * is a list of layouts such as [4:1;8:1], each mode of `a` is divided by its own layout; modes beyond the list are not divided, and belong to the
 * rests. The forms of the result:
 *     LOGICAL:  (tile, rest) for each mode.
 *     ZIPPED:   ((tiles), (rests)).
 *     TILED:    ((tiles), rest, ..).
 *     FLAT:     (tile, .., rest, ..). */
SETT_PUBLIC sett_notation sett_notation_divide(sett_map_arena *arena, const sett_notation *a,
                                               const sett_notation *tiler, int form);
/* Make one copy of `a` for each input of the tiler. If the tiler is a layout, the result in form LOGICAL is the pair (a, c), in which c gives the
 * offset of each copy. c is the complement of `a`, with the bound size(a) * cosize(tiler), composed with the tiler. If the tiler is a list of
 * layouts, each mode of `a` is multiplied by its own layout of the list. The forms are those of sett_notation_divide, with `a` as the tile and c as
 * the rest. */
SETT_PUBLIC sett_notation sett_notation_product(sett_map_arena *arena, const sett_notation *a,
                                                const sett_notation *tiler, int form);
/* Let (a, c) be the product of `a` and the tiler, as in sett_notation_product. Return the layout whose mode i is (mode i of `a`, mode i of c). If `raked`
 * is set, mode i is (mode i of c, mode i of `a`). The tiler is a layout without swizzle and offset. If `a` or the tiler has fewer modes than the other,
 * modes 1:0 are appended to it first. */
SETT_PUBLIC sett_notation sett_notation_blocked_product(sett_map_arena *arena, const sett_notation *a,
                                                        const sett_notation *tiler, int raked);
/* Return the blocked_product that has enough copies of `a` to cover the shape. `order` has one number per mode; the copies along the mode with the
 * smallest number are the fastest. NULL means that those along the first mode are the fastest. */
SETT_PUBLIC sett_notation sett_notation_tile_to_shape(sett_map_arena *arena, const sett_notation *a,
                                                      const sett_notation *shape, const sett_notation *order);
/* Return R with a(R(i)) = b(R(i)) = i for i < size(R). R is 1:0 if no larger layout was found. */
SETT_PUBLIC sett_notation sett_notation_max_common_layout(sett_map_arena *arena, const sett_notation *a,
                                                          const sett_notation *b);
/* Return R with a(R(i)) = 0. R has the modes of `a` with stride 0; its values are indices of `a`. */
SETT_PUBLIC sett_notation sett_notation_nullspace(sett_map_arena *arena, const sett_notation *a);
/* Return the layout of the same memory in elements of new_bits bits instead of old_bits. Error NO_RECAST: a new element would extend beyond a mode,
 * or a swizzle or an offset would split it. Error ERROR_BITS: neither width divides the other, or the layout has a swizzle and the ratio of the
 * widths is no power of two. */
SETT_PUBLIC sett_notation sett_notation_recast(sett_map_arena *arena, const sett_notation *a, int64_t new_bits,
                                               int64_t old_bits);
/* Return the compact layout of a shape. `order` has one number per mode; the mode with the smallest number is the fastest. NULL means that the first
 * mode is the fastest. */
SETT_PUBLIC sett_notation sett_notation_ordered(sett_map_arena *arena, const sett_notation *shape,
                                                const sett_notation *order);
/* Return the layout of a shape whose values are its own coordinates: (2,(3,4)) gives (2,(3,4)):(1@0,(1@0@1,1@1@1)). */
SETT_PUBLIC sett_notation sett_notation_identity(sett_map_arena *arena, const sett_notation *shape);
/* sett_notation_make returns shape:strides. sett_notation_compose_of returns outer o offset o inner. */
SETT_PUBLIC sett_notation sett_notation_make(sett_map_arena *arena, const sett_notation *shape,
                                             const sett_notation *strides);
SETT_PUBLIC sett_notation sett_notation_compose_of(sett_map_arena *arena, const sett_notation *outer,
                                                   const sett_notation *offset, const sett_notation *inner);
/* Return the quotients of the numbers of two shapes that are nested alike, rounded up. */
SETT_PUBLIC sett_notation sett_notation_shape_div(sett_map_arena *arena, const sett_notation *a,
                                                  const sett_notation *b);
/* sett_notation_index returns the index of a coordinate in a shape, the first mode being the fastest. sett_notation_coordinate returns the
 * coordinate of an index; the last mode of the coordinate is not bounded. */
SETT_PUBLIC sett_notation sett_notation_index(sett_map_arena *arena, const sett_notation *shape,
                                              const sett_notation *coordinate);
SETT_PUBLIC sett_notation sett_notation_coordinate(sett_map_arena *arena, const sett_notation *shape,
                                                   const sett_notation *index);
/* Return `a` without nesting: its modes are the leaves of `a`. */
SETT_PUBLIC sett_notation sett_notation_flatten(sett_map_arena *arena, const sett_notation *a);
/* sett_notation_get returns the mode at `path`, which has `count` entries: path[0] is the number of a mode of `a`, path[1] the number of a mode of that
 * mode, and so on. sett_notation_select returns the layout of the `count` modes whose numbers `chosen` lists, in this order. sett_notation_group returns
 * the layout in which the modes [begin, end) are one mode. Modes are numbered from 0. */
SETT_PUBLIC sett_notation sett_notation_get(sett_map_arena *arena, const sett_notation *a, int count,
                                            const int64_t *path);
SETT_PUBLIC sett_notation sett_notation_select(sett_map_arena *arena, const sett_notation *a, int count,
                                               const int64_t *chosen);
SETT_PUBLIC sett_notation sett_notation_group(sett_map_arena *arena, const sett_notation *a, int64_t begin,
                                              int64_t end);

/* ---- linear layouts: the operations of Triton's LinearLayout.h; in the comments, R is the result ---- */
/* Return R with R(x) = b(a(x)). The output dimensions of `a` have the names of the input dimensions of `b`, in any order, and are not larger. Otherwise,
 * the error is ERROR_SAME_DIMS. */
SETT_PUBLIC sett_notation sett_notation_compose(sett_map_arena *arena, const sett_notation *a, const sett_notation *b);
/* Return R with R(a(x)) = x and a(R(y)) = y. */
SETT_PUBLIC sett_notation sett_notation_invert(sett_map_arena *arena, const sett_notation *a);
/* Return R with b(R(x)) = a(x). Input bits of `b` that no value of `a` needs are 0 in R. The function refuses if some value of `a` is not a
 * value of `b`. The output dimensions of `a` have the names of those of `b`, and are not larger. Otherwise, the error is ERROR_SAME_DIMS. */
SETT_PUBLIC sett_notation sett_notation_invert_and_compose(sett_map_arena *arena, const sett_notation *a,
                                                           const sett_notation *b);
/* Return the layout that has the bits of `b` above those of `a`, in input and output dimensions of the same name. Dimensions that only one of the two
 * has are kept. */
SETT_PUBLIC sett_notation sett_notation_linear_product(sett_map_arena *arena, const sett_notation *a,
                                                       const sett_notation *b);
/* Return R with linear_product(b, R) = `a`; if `right` is 1, return R with linear_product(R, b) = a. */
SETT_PUBLIC sett_notation sett_notation_divide_by(sett_map_arena *arena, const sett_notation *a, const sett_notation *b,
                                                  int right);
/* Remove the input dimension and the output dimension that have this name. The value in the output dimension must be equal to the input in the
 * input dimension, and no other value may depend on this input. Otherwise, the error is NO_QUOTIENT. */
SETT_PUBLIC sett_notation sett_notation_quotient(sett_map_arena *arena, const sett_notation *a, const char *dim);
/* Return the part of `a` that has the dimensions in a text, {in1, in2} -> {out1}. Their order is that of `a`. Bits of the other inputs are 0, and the
 * other output dimensions are dropped. */
SETT_PUBLIC sett_notation sett_notation_sublayout(sett_map_arena *arena, const sett_notation *a, const char *text,
                                                  size_t length);
/* Replace the input dimensions of `a` or, if `outs` is set, its output dimensions. `text` lists the new ones, the lowest first: {in1 = 2, in2 = 8}.
 * The map from packed inputs to packed values stays the same. If `text` is NULL, all dimensions become one, with the name of the first; a layout
 * without dimensions keeps none. */
SETT_PUBLIC sett_notation sett_notation_reshape(sett_map_arena *arena, const sett_notation *a, const char *text,
                                                size_t length, int outs);
/* Three questions about a linear layout; each function returns 1 for a proved yes. After a 0, witness is a packed number:
 *     is_zero:        every value is 0                         witness: an input whose value is not 0.
 *     is_injective:   every value has at most one input        witness: an input other than 0 whose value is 0.
 *     is_surjective:  every value has at least one input       witness: a value without an input.
 * witness is -1 if the answer is 1, or if `a` is no linear layout. */
SETT_PUBLIC int sett_notation_is_zero(const sett_notation *a, int64_t *witness);
SETT_PUBLIC int sett_notation_is_injective(const sett_notation *a, int64_t *witness);
SETT_PUBLIC int sett_notation_is_surjective(const sett_notation *a, int64_t *witness);
/* Write to mask[], for each input dimension, the bits whose basis is 0 or the XOR of earlier bases. No value needs these bits: each value of the
 * layout is also the value of an input in which all of them are 0. mask[] has SETT_NOTATION_DIMS entries. Return the number of input dimensions, or
 * -1 if `a` is no linear layout. */
SETT_PUBLIC int sett_notation_free_masks(const sett_notation *a, int64_t *mask);
/* Return the largest n such that the packed values of n inputs are consecutive: value(n * x + j) = value(n * x) + j for all x and all j < n. n is at
 * most the size of the first input dimension, and of the first output dimension. Return -1 if `a` is no linear layout. */
SETT_PUBLIC int64_t sett_notation_consecutive(const sett_notation *a);

/* A layout of shared memory through which elements move from distribution `store` to distribution `load`: a warp of `store` writes the elements, and a
 * warp of `load` reads them. Both are linear layouts from register, lane and other inputs to the same output dimensions. `bits`, the size of an
 * element, is a power of two up to 128. An access is a vector of up to 16 bytes. sett_notation_shared chooses which registers form a vector. In both
 * distributions, the position of an element inside its vector depends only on bits of the register number, so one thread has all elements of a vector.
 *     store_turns, load_turns:  number of turns that one access of a warp takes, counted from the words that its lanes access in each of 32 banks of
 *                               4 bytes. In one turn, each bank serves one word.
 *     store_least, load_least:  a lower bound on these turns for every layout, because the banks deliver 128 bytes in one turn.
 * The turns are always equal to the lower bounds. The reason: two subspaces of equal dimension over the field with two elements have a common
 * complement. One subspace has the elements that a turn of the store accesses, the other has those of a turn of the load. The low bits of the offset
 * number the 128 bytes of a turn, the higher bits number the points of the complement. */
typedef struct sett_notation_exchange {
  /* {offset = [..], block = []} -> {..}: from the offset to the index; or a failed layout with the error */
  sett_notation layout;
  int64_t width; /* number of elements of one access */
  int64_t store_turns, load_turns, store_least, load_least;
} sett_notation_exchange;
SETT_PUBLIC sett_notation_exchange sett_notation_shared(sett_map_arena *arena, const sett_notation *store,
                                                        const sett_notation *load, int64_t bits);

/* Read MLIR's affine_map<(d0, d1)[s0] -> (d0 + s0, d1 floordiv 4)> or affine_set<(d0)[s0] : (d0 - s0 >= 0, d0 == 0)> as a map. Symbols become ranges.
 * No variable has a bound. A set becomes a map without results that has the constraints of the set. Errors are in map.error and map.column, as
 * SETT_MAP_ERROR_... */
SETT_PUBLIC sett_map sett_notation_affine_parse(sett_map_arena *arena, const char *text, size_t length);
/* Write the results of a map as MLIR prints an affine_map; if `set` is 1, write the domain as MLIR prints an affine_set. Ranges and runtime variables
 * become symbols. A text that MLIR printed and that was parsed here is written back unchanged. If `error` is not NULL, *error is
 * SETT_NOTATION_ERROR_AFFINE or 0. After an error, the text is `error: ` and the message. The length and the end of the text are as in
 * sett_notation_print. */
SETT_PUBLIC size_t sett_notation_affine_print(sett_map_arena *arena, sett_map map, int set, char *out, size_t capacity,
                                              int *error);

#if defined(SETTP_LINK_SEPARATE) && defined(SETT_PREFIX)
/* clang-format off */
#define SETT_NOTATION_FUNCTIONS(X) \
  X(sett_notation_parse) X(sett_notation_print) X(sett_notation_message) X(sett_notation_refused) \
  X(sett_notation_size) X(sett_notation_cosize) X(sett_notation_at) X(sett_notation_map) X(sett_notation_coalesce) \
  X(sett_notation_composition) X(sett_notation_complement) X(sett_notation_right_inverse) \
  X(sett_notation_left_inverse) X(sett_notation_divide) X(sett_notation_product) X(sett_notation_blocked_product) \
  X(sett_notation_tile_to_shape) X(sett_notation_max_common_layout) X(sett_notation_nullspace) \
  X(sett_notation_recast) X(sett_notation_ordered) X(sett_notation_identity) X(sett_notation_make) \
  X(sett_notation_compose_of) X(sett_notation_shape_div) X(sett_notation_index) X(sett_notation_coordinate) \
  X(sett_notation_flatten) X(sett_notation_get) X(sett_notation_select) X(sett_notation_group) \
  X(sett_notation_compose) X(sett_notation_invert) X(sett_notation_invert_and_compose) \
  X(sett_notation_linear_product) X(sett_notation_divide_by) X(sett_notation_quotient) X(sett_notation_sublayout) \
  X(sett_notation_reshape) X(sett_notation_is_zero) X(sett_notation_is_injective) X(sett_notation_is_surjective) \
  X(sett_notation_free_masks) X(sett_notation_consecutive) X(sett_notation_shared) X(sett_notation_affine_parse) \
  X(sett_notation_affine_print)
/* clang-format on */
SETT_NOTATION_FUNCTIONS(SETTP_LINK_RENAME)
#endif

#endif

#if !defined(SETTP_NOTATION_BODIES) && (defined(SETT_IMPLEMENTATION) || !defined(SETTP_LINK_SEPARATE))
#define SETTP_NOTATION_BODIES
#ifdef SETTP_MAP_FEWER_PASSES
#pragma push_macro("SETT_INLINE")
#undef SETT_INLINE
#define SETT_INLINE static __attribute__((__unused__))
#endif
SETTP_MAP_QUICK

/* ---- bodies: trees ---------------------------------------------------------------------------------------------- */

SETT_INLINE sett_notation_mode settp_notation_leaf(int64_t size, int64_t stride) {
  sett_notation_mode mode;
  int i;
  mode.rank = SETT_NOTATION_LEAF;
  mode.places = 0;
  for (i = 0; i < SETT_NOTATION_PLACES; ++i) mode.place[i] = 0;
  mode.size = size;
  mode.stride = stride;
  mode.mode = NULL;
  return mode;
}

SETT_INLINE sett_notation settp_notation_none(int kind) {
#ifdef __cplusplus
  sett_notation layout = {};
#else
  sett_notation layout = {0};
#endif
  layout.kind = kind;
  layout.tuple = settp_notation_leaf(0, 0);
  layout.tuple.rank = 0;
  return layout;
}

SETT_INLINE sett_notation settp_notation_fail(int error) {
  sett_notation layout = settp_notation_none(SETT_NOTATION_TUPLE);
  layout.error = error;
  return layout;
}

/* The state of an operation: the first error, its witness, and the arena. */
typedef struct settp_notation_work {
  sett_map_arena *arena;
  int error;
  int64_t witness, value, other;
} settp_notation_work;

SETT_INLINE settp_notation_work settp_notation_begin(sett_map_arena *arena) {
  settp_notation_work work;
  work.arena = arena;
  work.error = 0;
  work.witness = work.value = work.other = 0;
  return work;
}

SETT_INLINE void settp_notation_stop(settp_notation_work *work, int error) {
  if (!work->error) work->error = error;
}

SETT_INLINE void settp_notation_no(settp_notation_work *work, int error, int64_t witness, int64_t value,
                                   int64_t other) {
  if (work->error) return;
  work->error = error;
  work->witness = witness;
  work->value = value;
  work->other = other;
}

SETT_INLINE sett_notation settp_notation_end(const settp_notation_work *work, sett_notation layout) {
  if (!work->error) return layout;
  layout = settp_notation_fail(work->error);
  layout.witness = work->witness;
  layout.value = work->value;
  layout.other = work->other;
  return layout;
}

SETT_INLINE int64_t settp_notation_add(settp_notation_work *work, int64_t a, int64_t b) {
  int64_t out = 0;
  if (settp_map_add(a, b, &out)) settp_notation_stop(work, SETT_NOTATION_ERROR_OVERFLOW);
  return out;
}

SETT_INLINE int64_t settp_notation_mul(settp_notation_work *work, int64_t a, int64_t b) {
  int64_t out = 0;
  if (settp_map_mul(a, b, &out)) settp_notation_stop(work, SETT_NOTATION_ERROR_OVERFLOW);
  return work->error ? 1 : out;
}

/* Return memory for this number of modes (0 counts as 1), or NULL with an error. */
SETT_INLINE sett_notation_mode *settp_notation_take(settp_notation_work *work, int count) {
  sett_notation_mode *modes;
  if (work->error) return NULL;
  modes = (sett_notation_mode *)settp_map_take(work->arena, (size_t)(count > 0 ? count : 1) * sizeof *modes);
  if (!modes) settp_notation_stop(work, SETT_NOTATION_ERROR_FULL);
  return modes;
}

/* Return a tuple with copies of the modes. */
SETT_INLINE sett_notation_mode settp_notation_tuple(settp_notation_work *work, int rank,
                                                    const sett_notation_mode *modes) {
  sett_notation_mode tuple = settp_notation_leaf(0, 0), *copy = settp_notation_take(work, rank);
  int i;
  tuple.rank = copy ? rank : 0;
  for (i = 0; i < rank && copy; ++i) copy[i] = modes[i];
  tuple.mode = copy;
  return tuple;
}

SETT_INLINE sett_notation_mode settp_notation_pair(settp_notation_work *work, sett_notation_mode a,
                                                   sett_notation_mode b) {
  sett_notation_mode modes[2];
  modes[0] = a;
  modes[1] = b;
  return settp_notation_tuple(work, 2, modes);
}

/* Give a tuple these modes, or no modes if memory ran out. */
SETT_INLINE void settp_notation_fill(sett_notation_mode *tuple, const sett_notation_mode *modes) {
  tuple->mode = modes;
  if (!modes) tuple->rank = 0;
}

/* A leaf counts as a tuple that has itself as its only mode. */
SETT_INLINE int settp_notation_rank(const sett_notation_mode *mode) { return mode->rank < 0 ? 1 : mode->rank; }
SETT_INLINE sett_notation_mode settp_notation_mode_of(const sett_notation_mode *mode, int i) {
  return mode->rank < 0 ? *mode : mode->mode[i];
}

SETT_INLINE int64_t settp_notation_size_of(settp_notation_work *work, const sett_notation_mode *mode) {
  int64_t size = 1;
  int i;
  if (mode->rank < 0) return mode->size;
  for (i = 0; i < mode->rank; ++i) {
    int64_t next = settp_notation_size_of(work, &mode->mode[i]);
    if (next == 0) return 0;
    size = settp_notation_mul(work, size, next);
  }
  return size;
}

SETT_INLINE int settp_notation_same_place(const sett_notation_mode *a, const sett_notation_mode *b) {
  int i;
  if (a->places != b->places) return 0;
  for (i = 0; i < a->places; ++i)
    if (a->place[i] != b->place[i]) return 0;
  return 1;
}

/* The leaves of a tree in order. */
typedef struct settp_notation_flat {
  int count;
  sett_notation_mode leaf[SETT_NOTATION_LEAVES];
} settp_notation_flat;

SETT_INLINE void settp_notation_push(settp_notation_work *work, settp_notation_flat *flat, sett_notation_mode leaf) {
  if (flat->count == SETT_NOTATION_LEAVES) settp_notation_stop(work, SETT_NOTATION_ERROR_LEAVES);
  else flat->leaf[flat->count++] = leaf;
}

SETT_INLINE void settp_notation_collect(settp_notation_work *work, const sett_notation_mode *mode,
                                        settp_notation_flat *flat) {
  int i;
  if (mode->rank < 0) settp_notation_push(work, flat, *mode);
  for (i = 0; i < mode->rank; ++i) settp_notation_collect(work, &mode->mode[i], flat);
}

SETT_INLINE void settp_notation_flatten_to(settp_notation_work *work, const sett_notation_mode *mode,
                                           settp_notation_flat *flat) {
  flat->count = 0;
  settp_notation_collect(work, mode, flat);
}

/* Return a mode made of the leaves. A single leaf is the mode itself; without leaves, the mode is 1:0. */
SETT_INLINE sett_notation_mode settp_notation_unflat(settp_notation_work *work, const settp_notation_flat *flat) {
  if (flat->count == 0) return settp_notation_leaf(1, 0);
  if (flat->count == 1) return flat->leaf[0];
  return settp_notation_tuple(work, flat->count, flat->leaf);
}

/* Return 1 if the strides of `b` continue those of `a`: the size of `a` times its stride is the stride of `b`. */
SETT_INLINE int settp_notation_continues(const sett_notation_mode *a, const sett_notation_mode *b) {
  int64_t product;
  if (a->stride == 0 && b->stride == 0) return 1;
  return settp_notation_same_place(a, b) && !settp_map_mul(a->size, a->stride, &product) && product == b->stride;
}

/* Remove leaves of size 1, and merge adjacent leaves whose strides continue each other. If `beyond` is set, the values at integers beyond the
 * size do not change either. They depend on the stride of the last leaf, so a last leaf of size 1 is not removed. Its size is set to 2; another size
 * would do, too, because callers that set `beyond` use the last leaf without a bound. */
SETT_INLINE void settp_notation_merge(settp_notation_work *work, settp_notation_flat *flat, int beyond) {
  int i, count = 0;
  for (i = 0; i < flat->count; ++i) {
    sett_notation_mode leaf = flat->leaf[i], *last = &flat->leaf[count > 0 ? count - 1 : 0];
    if (leaf.size == 1 && !(beyond && i == flat->count - 1)) continue;
    if (leaf.size == 1) leaf.size = 2;
    if (count > 0 && settp_notation_continues(last, &leaf)) {
      last->size = settp_notation_mul(work, last->size, leaf.size);
      continue;
    }
    flat->leaf[count++] = leaf;
  }
  flat->count = count;
}

SETT_INLINE sett_notation_mode settp_notation_coalesced(settp_notation_work *work, const sett_notation_mode *mode) {
  settp_notation_flat flat;
  settp_notation_flatten_to(work, mode, &flat);
  settp_notation_merge(work, &flat, 0);
  return settp_notation_unflat(work, &flat);
}

/* Return a layout with the same functions in its chain, but another innermost layout. */
SETT_INLINE sett_notation settp_notation_with(settp_notation_work *work, const sett_notation *layout,
                                              sett_notation_mode mode) {
  sett_notation result = *layout;
  sett_notation_part *part = NULL;
  int i, parts = layout->parts > 0 ? layout->parts : 1;
  if (!work->error) part = (sett_notation_part *)settp_map_take(work->arena, (size_t)parts * sizeof *part);
  if (!part) {
    settp_notation_stop(work, SETT_NOTATION_ERROR_FULL);
    return settp_notation_end(work, result);
  }
  for (i = 0; i < layout->parts; ++i) part[i] = layout->part[i];
  part[parts - 1].swizzle = 0;
  part[parts - 1].bits = part[parts - 1].base = part[parts - 1].shift = 0;
  part[parts - 1].layout = mode;
  if (layout->parts == 0) part[0].offset = settp_notation_leaf(0, 0);
  result.kind = SETT_NOTATION_CUTE;
  result.tuple = settp_notation_leaf(0, 0);
  result.parts = parts;
  result.part = part;
  return result;
}

SETT_INLINE sett_notation settp_notation_plain(settp_notation_work *work, sett_notation_mode mode) {
  sett_notation none = settp_notation_none(SETT_NOTATION_CUTE);
  return settp_notation_with(work, &none, mode);
}

SETT_INLINE sett_notation settp_notation_tuple_of(sett_notation_mode mode, int kind) {
  sett_notation layout = settp_notation_none(kind);
  layout.tuple = mode;
  return layout;
}

/* Return the innermost shape:stride layout, or an error if there is none. */
SETT_INLINE sett_notation_mode settp_notation_inner(settp_notation_work *work, const sett_notation *layout) {
  if (layout->error) {
    settp_notation_no(work, layout->error, layout->witness, layout->value, layout->other);
  } else if (layout->kind != SETT_NOTATION_CUTE || layout->parts == 0 || layout->part[layout->parts - 1].swizzle) {
    settp_notation_stop(work, SETT_NOTATION_ERROR_KIND);
  } else {
    return layout->part[layout->parts - 1].layout;
  }
  return settp_notation_leaf(1, 0);
}

/* Return the innermost shape:stride layout, but an error if the layout has a swizzle or an offset. */
SETT_INLINE sett_notation_mode settp_notation_only(settp_notation_work *work, const sett_notation *layout) {
  if (!layout->error && layout->kind == SETT_NOTATION_CUTE && layout->parts > 1)
    settp_notation_stop(work, SETT_NOTATION_ERROR_KIND);
  return settp_notation_inner(work, layout);
}

/* Return the shape of a layout, or a tuple itself. */
SETT_INLINE sett_notation_mode settp_notation_shape(settp_notation_work *work, const sett_notation *layout) {
  if (!layout->error && layout->kind == SETT_NOTATION_TUPLE) return layout->tuple;
  return settp_notation_inner(work, layout);
}

SETT_INLINE int settp_notation_has_empty(const settp_notation_flat *flat) {
  int i;
  for (i = 0; i < flat->count; ++i)
    if (flat->leaf[i].size < 1) return 1;
  return 0;
}

/* ---- bodies: values --------------------------------------------------------------------------------------------- */

/* The functions below compute numbers, or expressions of an indexing map, with the same code. In the second case a number is the handle of an
 * expression. */
typedef struct settp_notation_calc {
  settp_notation_work work;
  int symbolic;
} settp_notation_calc;

SETT_INLINE int64_t settp_notation_constant(settp_notation_calc *calc, int64_t value) {
  return calc->symbolic ? (int64_t)sett_map_constant(calc->work.arena, value) : value;
}

SETT_INLINE int64_t settp_notation_plus(settp_notation_calc *calc, int64_t a, int64_t b) {
  return calc->symbolic ? (int64_t)sett_map_add(calc->work.arena, (sett_expr)a, (sett_expr)b)
                        : settp_notation_add(&calc->work, a, b);
}

enum { SETTP_NOTATION_TIMES, SETTP_NOTATION_QUOTIENT, SETTP_NOTATION_REST };

/* Return a * k, or, for k > 0, a floordiv k or a mod k; `op` selects the operation. */
SETT_INLINE int64_t settp_notation_by(settp_notation_calc *calc, int op, int64_t a, int64_t k) {
  sett_expr by;
  if (!calc->symbolic)
    return op == SETTP_NOTATION_TIMES      ? settp_notation_mul(&calc->work, a, k)
           : op == SETTP_NOTATION_QUOTIENT ? a / k
                                           : a % k;
  by = sett_map_constant(calc->work.arena, k);
  return (int64_t)(op == SETTP_NOTATION_TIMES      ? sett_map_mul(calc->work.arena, (sett_expr)a, by)
                   : op == SETTP_NOTATION_QUOTIENT ? sett_map_floordiv(calc->work.arena, (sett_expr)a, by)
                                                   : sett_map_mod(calc->work.arena, (sett_expr)a, by));
}

/* Apply a swizzle to x: XOR the bits that begin at base + shift into those that begin at base; if shift < 0, the bits that begin at base into those
 * that begin at base - shift. */
SETT_INLINE int64_t settp_notation_swizzled(settp_notation_calc *calc, const sett_notation_part *part, int64_t x) {
  int64_t to = part->shift < 0 ? part->base - part->shift : part->base;
  int64_t from = part->shift < 0 ? part->base : part->base + part->shift, k, result = x;
  if (!calc->symbolic) {
    uint64_t mask = ((uint64_t)1 << part->bits) - 1;
    if (x < 0) settp_notation_stop(&calc->work, SETT_NOTATION_ERROR_NEGATIVE);
    return x < 0 ? 0 : (int64_t)((uint64_t)x ^ (((uint64_t)x >> from & mask) << to));
  }
  for (k = 0; k < part->bits; ++k) { /* for bits u and v, u xor v is (u + v) mod 2 */
    int64_t u = settp_notation_by(calc, SETTP_NOTATION_REST,
                                  settp_notation_by(calc, SETTP_NOTATION_QUOTIENT, x, (int64_t)1 << (to + k)), 2);
    int64_t v = settp_notation_by(calc, SETTP_NOTATION_REST,
                                  settp_notation_by(calc, SETTP_NOTATION_QUOTIENT, x, (int64_t)1 << (from + k)), 2);
    int64_t bit = settp_notation_by(calc, SETTP_NOTATION_REST, settp_notation_plus(calc, u, v), 2);
    bit = settp_notation_plus(calc, bit, settp_notation_by(calc, SETTP_NOTATION_TIMES, u, -1));
    result =
        settp_notation_plus(calc, result, settp_notation_by(calc, SETTP_NOTATION_TIMES, bit, (int64_t)1 << (to + k)));
  }
  return result;
}

/* Return the zero to which the values of a layout are added. If the strides are integers, it is the integer 0. If the strides name places (2@1 is 2 at
 * place 1), it is a coordinate that has all these places, with zeros in them. The function calls itself for each part of the coordinate. `path` lists
 * the places that lead to the part, the outermost first. */
SETT_INLINE sett_notation_mode settp_notation_zero(settp_notation_calc *calc, const settp_notation_flat *flat,
                                                   const int32_t *path, int depth) {
  sett_notation_mode zero = settp_notation_leaf(0, 0), *modes;
  int32_t below[SETT_NOTATION_PLACES];
  int i, j, rank = 0, leaves = 0;
  for (i = 0; i < flat->count; ++i) {
    const sett_notation_mode *leaf = &flat->leaf[i];
    if (leaf->places == 0 && leaf->stride == 0) continue; /* a leaf with stride 0 adds nothing */
    if (leaf->places < depth) continue;
    for (j = 0; j < depth && leaf->place[leaf->places - 1 - j] == path[j]; ++j) {}
    if (j < depth) continue;
    if (leaf->places == depth) ++leaves;
    else if (leaf->place[leaf->places - 1 - depth] >= rank) rank = leaf->place[leaf->places - 1 - depth] + 1;
  }
  zero.size = settp_notation_constant(calc, 0);
  if (rank == 0) return zero;
  if (leaves > 0) settp_notation_stop(&calc->work, SETT_NOTATION_ERROR_MIX);
  modes = settp_notation_take(&calc->work, rank);
  if (!modes) return zero;
  for (j = 0; j < depth; ++j) below[j] = path[j];
  for (i = 0; i < rank; ++i) {
    if (depth < SETT_NOTATION_PLACES) below[depth] = i;
    modes[i] = settp_notation_zero(calc, flat, below, depth + 1);
  }
  zero.rank = rank;
  zero.mode = modes;
  return zero;
}

/* Add the number `what` to a coordinate, at the places that `leaf` names. The coordinate was made by settp_notation_zero, so it may be changed. */
SETT_INLINE void settp_notation_put(settp_notation_calc *calc, sett_notation_mode *value,
                                    const sett_notation_mode *leaf, int64_t what) {
  int i;
  for (i = leaf->places; i-- > 0 && value->rank >= 0;) {
    /* never true: settp_notation_zero made every place that a leaf names */
    if (leaf->place[i] >= value->rank) return;
    value = (sett_notation_mode *)(uintptr_t)&value->mode[leaf->place[i]];
  }
  if (value->rank >= 0) return;
  value->size = settp_notation_plus(calc, value->size, what);
}

SETT_INLINE void settp_notation_walk(settp_notation_calc *calc, const sett_notation_mode *layout,
                                     const sett_notation_mode *coordinate, sett_notation_mode *value) {
  sett_notation_mode digit = settp_notation_leaf(0, 0);
  int i;
  if (calc->work.error) return;
  if (coordinate->rank >= 0) {
    if (layout->rank < 0 && coordinate->rank == 1) { /* a leaf counts as a tuple that has itself as its only mode */
      settp_notation_walk(calc, layout, &coordinate->mode[0], value);
      return;
    }
    if (layout->rank != coordinate->rank)
      settp_notation_stop(&calc->work, layout->rank < 0 ? SETT_NOTATION_ERROR_COORDINATE : SETT_NOTATION_ERROR_RANK);
    for (i = 0; i < layout->rank && !calc->work.error; ++i)
      settp_notation_walk(calc, &layout->mode[i], &coordinate->mode[i], value);
    return;
  }
  if (layout->rank < 0) {
    if (layout->stride != 0)
      settp_notation_put(calc, value, layout,
                         settp_notation_by(calc, SETTP_NOTATION_TIMES, coordinate->size, layout->stride));
    return;
  }
  digit.size = coordinate->size;
  for (i = 0; i < layout->rank; ++i) {
    sett_notation_mode part = digit;
    int64_t size = settp_notation_size_of(&calc->work, &layout->mode[i]);
    if (i < layout->rank - 1) {
      if (size < 1) settp_notation_stop(&calc->work, SETT_NOTATION_ERROR_EMPTY);
      if (calc->work.error) return;
      part.size = settp_notation_by(calc, SETTP_NOTATION_REST, digit.size, size);
      digit.size = settp_notation_by(calc, SETTP_NOTATION_QUOTIENT, digit.size, size);
    }
    settp_notation_walk(calc, &layout->mode[i], &part, value);
  }
}

SETT_INLINE sett_notation_mode settp_notation_sum(settp_notation_calc *calc, const sett_notation_mode *a,
                                                  const sett_notation_mode *b) {
  sett_notation_mode sum = *a, *modes;
  int i;
  if (b->rank < 0 && b->size == 0) return sum; /* `b` is 0, so there is nothing to add */
  if (a->rank != b->rank) {
    settp_notation_stop(&calc->work, SETT_NOTATION_ERROR_MIX);
    return sum;
  }
  if (a->rank < 0) {
    sum.size = settp_notation_plus(calc, a->size, settp_notation_constant(calc, b->size));
    return sum;
  }
  modes = settp_notation_take(&calc->work, a->rank);
  for (i = 0; i < a->rank && modes; ++i) modes[i] = settp_notation_sum(calc, &a->mode[i], &b->mode[i]);
  if (modes) sum.mode = modes;
  return sum;
}

SETT_INLINE void settp_notation_not_negative(settp_notation_work *work, const sett_notation_mode *value, int error) {
  int i;
  if (value->rank == SETT_NOTATION_LEAF && (value->size < 0 || value->places != 0)) settp_notation_stop(work, error);
  if (value->rank == SETT_NOTATION_SKIP) settp_notation_stop(work, error);
  for (i = 0; i < value->rank; ++i) settp_notation_not_negative(work, &value->mode[i], error);
}

SETT_INLINE sett_notation_mode settp_notation_chain(settp_notation_calc *calc, const sett_notation *layout,
                                                    sett_notation_mode value) {
  int i;
  for (i = layout->parts; i-- > 0 && !calc->work.error;) {
    const sett_notation_part *part = &layout->part[i];
    if (i < layout->parts - 1) value = settp_notation_sum(calc, &value, &part->offset);
    if (!calc->symbolic && i < layout->parts - 1)
      settp_notation_not_negative(&calc->work, &value, SETT_NOTATION_ERROR_NEGATIVE);
    if (part->swizzle) {
      if (value.rank >= 0) settp_notation_stop(&calc->work, SETT_NOTATION_ERROR_MIX);
      else value.size = settp_notation_swizzled(calc, part, value.size);
    } else {
      settp_notation_flat flat;
      sett_notation_mode result;
      int32_t path[SETT_NOTATION_PLACES] = {0, 0, 0, 0};
      settp_notation_flatten_to(&calc->work, &part->layout, &flat);
      result = settp_notation_zero(calc, &flat, path, 0);
      settp_notation_walk(calc, &part->layout, &value, &result);
      value = result;
    }
  }
  return value;
}

/* ---- bodies: arrays and linear layouts -------------------------------------------------------------------------- */

/* Return 1 for a linear layout that maps its inputs to the index. */
SETT_INLINE int settp_notation_is_linear(const sett_notation *layout) {
  return layout->kind == SETT_NOTATION_TRITON || layout->kind == SETT_NOTATION_MASKED;
}

/* settp_notation_inputs returns the number of inputs of a layout of an array, or of a linear layout. settp_notation_input returns the size of input
 * i. */
SETT_INLINE int settp_notation_inputs(const sett_notation *layout) {
  return settp_notation_is_linear(layout)        ? layout->linear->ins
         : layout->kind >= SETT_NOTATION_STRIDES ? layout->rank
                                                 : 0;
}
SETT_INLINE int64_t settp_notation_input(const sett_notation *layout, int i) {
  return settp_notation_is_linear(layout) ? (int64_t)1 << layout->linear->in_bits[i] : layout->dims[i];
}

SETT_INLINE int settp_notation_total(int count, const int *bits) {
  int i, total = 0;
  for (i = 0; i < count; ++i) total += bits[i];
  return total;
}

/* Return the packed values of the output dimensions for packed input bits. */
SETT_INLINE uint64_t settp_notation_apply(const sett_notation_linear *linear, uint64_t bits) {
  uint64_t value = 0;
  int i;
  for (i = 0; bits; ++i, bits >>= 1)
    if (bits & 1) value ^= linear->basis[i];
  return value;
}

SETT_INLINE sett_expr settp_notation_linear_result(sett_map_arena *arena, const sett_notation_linear *linear, int shift,
                                                   int bits);

/* Return the offset of an index in padded memory. If the calculation is symbolic, `index` is not read: the index is the map's first variables. */
SETT_INLINE int64_t settp_notation_padded_place(settp_notation_calc *calc, const sett_notation *layout,
                                                const int64_t *index) {
  const sett_notation_padded *padded = layout->padded;
  int64_t number, sum;
  int i, shift = 0;
  if (calc->symbolic) {
    number = (int64_t)settp_notation_linear_result(calc->work.arena, padded->inverse, 0, padded->inverse->out_bits[0]);
  } else {
    uint64_t packed = 0;
    for (i = 0; i < layout->rank; shift += padded->inverse->in_bits[i++]) packed |= (uint64_t)index[i] << shift;
    number = (int64_t)settp_notation_apply(padded->inverse, packed);
  }
  sum = number;
  for (i = 0; i < padded->pads; ++i) {
    int64_t blocks = settp_notation_by(calc, SETTP_NOTATION_QUOTIENT, number, padded->interval[i]);
    sum = settp_notation_plus(calc, sum, settp_notation_by(calc, SETTP_NOTATION_TIMES, blocks, padded->pad[i]));
  }
  return sum;
}

/* Return the offset of an index, as a number or as an expression. The layout has padded intervals, blocks with strides between them, or only strides. */
SETT_INLINE int64_t settp_notation_place(settp_notation_calc *calc, const sett_notation *layout, int64_t *index) {
  int64_t sum = settp_notation_constant(calc, layout->offset), stride = 1;
  int i;
  if (layout->kind == SETT_NOTATION_PADDED) return settp_notation_padded_place(calc, layout, index);
  for (i = layout->blocks; i-- > 0;) {
    int d = layout->block_dim[i];
    int64_t digit = settp_notation_by(calc, SETTP_NOTATION_REST, index[d], layout->block_size[i]);
    sum = settp_notation_plus(calc, sum, settp_notation_by(calc, SETTP_NOTATION_TIMES, digit, stride));
    index[d] = settp_notation_by(calc, SETTP_NOTATION_QUOTIENT, index[d], layout->block_size[i]);
    stride = settp_notation_mul(&calc->work, stride, layout->block_size[i]);
  }
  for (i = 0; i < layout->rank; ++i)
    if (layout->strides[i] != 0)
      sum = settp_notation_plus(calc, sum, settp_notation_by(calc, SETTP_NOTATION_TIMES, index[i], layout->strides[i]));
  return sum;
}

/* Write an owner of the element at an index in Mosaic's layout: its register, the element in the register, its lane and its warp. An element may have
 * several copies. If the calculation is symbolic, variables number the copies, and `copy` is the index of the first such variable. Otherwise `copy`
 * is the number of the copy. */
SETT_INLINE void settp_notation_owner(settp_notation_calc *calc, const sett_notation *layout, const int64_t *index,
                                      int64_t copy, int64_t *owner) {
  int i;
  for (i = 0; i < SETT_NOTATION_ROLES; ++i) owner[i] = settp_notation_constant(calc, 0);
  for (i = 0; i < layout->tiled->digits; ++i) {
    const sett_notation_digit *digit = &layout->tiled->digit[i];
    int64_t value;
    if (digit->dim >= 0) {
      value = index[digit->dim];
      if (digit->low > 1) value = settp_notation_by(calc, SETTP_NOTATION_QUOTIENT, value, digit->low);
      if (digit->low < layout->dims[digit->dim] / digit->size)
        value = settp_notation_by(calc, SETTP_NOTATION_REST, value, digit->size);
    } else if (calc->symbolic) {
      value = (int64_t)sett_map_var(calc->work.arena, (int)copy++);
    } else {
      value = copy % digit->size;
      copy /= digit->size;
    }
    value = settp_notation_by(calc, SETTP_NOTATION_TIMES, value, digit->stride);
    owner[digit->role] = settp_notation_plus(calc, owner[digit->role], value);
  }
}

SETT_INLINE int64_t settp_notation_copies(const sett_notation_tiled *tiled) {
  int64_t copies = 1;
  int i;
  for (i = 0; i < tiled->digits; ++i)
    if (tiled->digit[i].dim < 0) copies *= tiled->digit[i].size;
  return copies;
}

/* Return the owner of an index, or a tuple if it has several. */
SETT_INLINE sett_notation settp_notation_owners_at(settp_notation_calc *calc, const sett_notation *layout,
                                                   const int64_t *index) {
  int64_t copies = settp_notation_copies(layout->tiled), copy, owner[SETT_NOTATION_ROLES];
  sett_notation_mode *owners = settp_notation_take(&calc->work, (int)copies), values[SETT_NOTATION_ROLES], all;
  int i;
  for (copy = 0; copy < copies && owners; ++copy) {
    settp_notation_owner(calc, layout, index, copy, owner);
    for (i = 0; i < SETT_NOTATION_ROLES; ++i) values[i] = settp_notation_leaf(owner[i], 0);
    owners[copy] = settp_notation_tuple(&calc->work, SETT_NOTATION_ROLES, values);
  }
  all = settp_notation_leaf(0, 0);
  all.rank = owners ? (int)copies : 0;
  all.mode = owners;
  return settp_notation_end(&calc->work,
                            settp_notation_tuple_of(owners && copies == 1 ? owners[0] : all, SETT_NOTATION_TUPLE));
}

/* Evaluate a layout at a coordinate with one number per input. If there is only one input, the coordinate may be a number. */
SETT_INLINE sett_notation settp_notation_array_at(sett_map_arena *arena, const sett_notation *layout,
                                                  const sett_notation_mode *coordinate) {
  settp_notation_calc calc;
  int64_t index[SETT_NOTATION_DIMS];
  int i, inputs = settp_notation_inputs(layout), at = 0;
  sett_notation_mode values[SETT_NOTATION_DIMS];
  uint64_t packed = 0;
  calc.work = settp_notation_begin(arena);
  calc.symbolic = 0;
  if (settp_notation_rank(coordinate) != inputs) return settp_notation_fail(SETT_NOTATION_ERROR_RANK);
  for (i = 0; i < inputs; ++i) {
    sett_notation_mode one = settp_notation_mode_of(coordinate, i);
    if (one.rank != SETT_NOTATION_LEAF || one.places != 0 || one.size < 0 ||
        one.size >= settp_notation_input(layout, i))
      return settp_notation_fail(one.rank == SETT_NOTATION_LEAF && one.places == 0 && one.size >= 0
                                     ? SETT_NOTATION_ERROR_OUTSIDE
                                     : SETT_NOTATION_ERROR_COORDINATE);
    index[i] = one.size;
    if (settp_notation_is_linear(layout)) {
      packed |= (uint64_t)one.size << at;
      at += layout->linear->in_bits[i];
    }
  }
  if (layout->kind == SETT_NOTATION_MOSAIC) return settp_notation_owners_at(&calc, layout, index);
  if (!settp_notation_is_linear(layout))
    return settp_notation_end(
        &calc.work, settp_notation_tuple_of(settp_notation_leaf(settp_notation_place(&calc, layout, index), 0),
                                            SETT_NOTATION_TUPLE));
  packed = settp_notation_apply(layout->linear, packed);
  for (i = 0; i < layout->linear->outs; ++i) {
    values[i] = settp_notation_leaf((int64_t)(packed & (((uint64_t)1 << layout->linear->out_bits[i]) - 1)), 0);
    packed >>= layout->linear->out_bits[i];
    if (layout->kind == SETT_NOTATION_MASKED && values[i].size >= layout->dims[i])
      return settp_notation_fail(SETT_NOTATION_ERROR_HELD);
  }
  if (layout->linear->outs == 1) return settp_notation_tuple_of(values[0], SETT_NOTATION_TUPLE);
  return settp_notation_end(
      &calc.work,
      settp_notation_tuple_of(settp_notation_tuple(&calc.work, layout->linear->outs, values), SETT_NOTATION_TUPLE));
}

/* Return the value of an output dimension as an expression. Adjacent input bits that become adjacent output bits are one digit. An output bit that
 * depends on several input bits is their sum modulo 2. */
SETT_INLINE sett_expr settp_notation_linear_result(sett_map_arena *arena, const sett_notation_linear *linear, int shift,
                                                   int bits) {
  sett_expr sum = sett_map_constant(arena, 0), two = sett_map_constant(arena, 2);
  int bit, i, d, at;
  for (bit = 0; bit < bits; ++bit) {
    sett_expr value = sett_map_constant(arena, 0);
    int count = 0, run = 1;
    for (d = at = 0; d < linear->ins; at += linear->in_bits[d++])
      for (i = 0; i < linear->in_bits[d]; ++i) {
        if (!(linear->basis[at + i] >> (shift + bit) & 1)) continue;
        ++count;
        value = sett_map_add(
            arena, value,
            sett_map_mod(arena,
                         sett_map_floordiv(arena, sett_map_var(arena, d), sett_map_constant(arena, (int64_t)1 << i)),
                         two));
      }
    if (count > 1) value = sett_map_mod(arena, value, two);
    if (count == 1)
      for (d = at = 0; d < linear->ins; at += linear->in_bits[d++])
        for (i = 0; i < linear->in_bits[d]; ++i) {
          int j, k, others = 0, total = settp_notation_total(linear->ins, linear->in_bits);
          if (!(linear->basis[at + i] >> (shift + bit) & 1)) continue;
          for (j = 1; bit + j < bits && i + j < linear->in_bits[d] && !others; ++j) {
            for (k = 0; k < total; ++k) others |= (int)(linear->basis[k] >> (shift + bit + j) & 1) != (k == at + i + j);
            if (!others) run = j + 1;
          }
          value = sett_map_floordiv(arena, sett_map_var(arena, d), sett_map_constant(arena, (int64_t)1 << i));
          if (i + run < linear->in_bits[d])
            value = sett_map_mod(arena, value, sett_map_constant(arena, (int64_t)1 << run));
        }
    sum = sett_map_add(arena, sum, sett_map_mul(arena, value, sett_map_constant(arena, (int64_t)1 << bit)));
    bit += run - 1;
  }
  return sum;
}

SETT_INLINE sett_map settp_notation_array_map(sett_map_arena *arena, const sett_notation *layout) {
  settp_notation_calc calc;
  sett_map_variable variables[2 * SETT_NOTATION_DIMS + SETT_NOTATION_DIGITS];
  sett_expr results[SETT_NOTATION_DIMS];
  int64_t index[SETT_NOTATION_DIMS], owner[SETT_NOTATION_ROLES];
  int i, shift = 0, inputs = settp_notation_inputs(layout), outs = 1, copies = 0, count = 0;
  sett_map_constraint held[SETT_NOTATION_DIMS];
  calc.work = settp_notation_begin(arena);
  calc.symbolic = 1;
  for (i = 0; i < inputs; ++i) {
    variables[i].name = settp_notation_is_linear(layout) ? layout->linear->in[i] : NULL;
    variables[i].lo = 0;
    variables[i].hi = settp_notation_input(layout, i) - 1;
    index[i] = (int64_t)sett_map_var(arena, i);
  }
  if (settp_notation_is_linear(layout)) {
    outs = layout->linear->outs;
    for (i = 0; i < outs; shift += layout->linear->out_bits[i++])
      results[i] = settp_notation_linear_result(arena, layout->linear, shift, layout->linear->out_bits[i]);
  } else if (layout->kind == SETT_NOTATION_MOSAIC) {
    settp_notation_owner(&calc, layout, index, inputs, owner);
    for (outs = 0; outs < SETT_NOTATION_ROLES; ++outs) results[outs] = (sett_expr)owner[outs];
    for (i = 0; i < layout->tiled->digits; ++i) {
      if (layout->tiled->digit[i].dim >= 0) continue;
      variables[inputs + copies].name = NULL;
      variables[inputs + copies].lo = 0;
      variables[inputs + copies++].hi = layout->tiled->digit[i].size - 1;
    }
  } else {
    results[0] = (sett_expr)settp_notation_place(&calc, layout, index);
  }
  if (calc.work.error) return sett_map_fail(SETT_NOTATION_ERROR_FIRST + calc.work.error, 0);
  for (i = 0; layout->kind == SETT_NOTATION_MASKED && i < outs; ++i)
    if (layout->dims[i] < (int64_t)1 << layout->linear->out_bits[i]) {
      held[count].expr = results[i];
      held[count].lo = 0;
      held[count++].hi = layout->dims[i] - 1;
    }
  return sett_map_make(arena, inputs, copies, 0, variables, outs, results, count, held);
}

SETT_PUBLIC sett_notation sett_notation_at(sett_map_arena *arena, const sett_notation *layout,
                                           const sett_notation *coordinate) {
  settp_notation_calc calc;
  sett_notation_mode value;
  calc.work = settp_notation_begin(arena);
  calc.symbolic = 0;
  if (layout->error) return *layout;
  if (coordinate->error) return *coordinate;
  if (layout->kind >= SETT_NOTATION_STRIDES && coordinate->kind == SETT_NOTATION_TUPLE)
    return settp_notation_array_at(arena, layout, &coordinate->tuple);
  if (layout->kind != SETT_NOTATION_CUTE || coordinate->kind != SETT_NOTATION_TUPLE)
    return settp_notation_fail(SETT_NOTATION_ERROR_KIND);
  settp_notation_not_negative(&calc.work, &coordinate->tuple, SETT_NOTATION_ERROR_COORDINATE);
  value = settp_notation_chain(&calc, layout, coordinate->tuple);
  return settp_notation_end(&calc.work, settp_notation_tuple_of(value, SETT_NOTATION_TUPLE));
}

/* Return the value of a layout with integer strides at an index, without using memory. `flat` has merged leaves, and its last leaf is not bounded. */
SETT_INLINE int64_t settp_notation_value(settp_notation_work *work, const settp_notation_flat *flat, int64_t index) {
  int64_t sum = 0;
  int i;
  for (i = 0; i < flat->count; ++i) {
    int64_t digit = i == flat->count - 1 ? index : index % flat->leaf[i].size;
    if (flat->leaf[i].stride != 0)
      sum = settp_notation_add(work, sum, settp_notation_mul(work, digit, flat->leaf[i].stride));
    index = i == flat->count - 1 ? 0 : index / flat->leaf[i].size;
  }
  return sum;
}

/* Return a coordinate of this shape whose leaves are the variables *next, *next + 1, .. of a map. */
SETT_INLINE sett_notation_mode settp_notation_variables(settp_notation_calc *calc, const sett_notation_mode *mode,
                                                        int *next) {
  sett_notation_mode result = *mode, *modes;
  int i;
  if (mode->rank < 0) {
    result.size = (int64_t)sett_map_var(calc->work.arena, (*next)++);
    return result;
  }
  modes = settp_notation_take(&calc->work, mode->rank);
  for (i = 0; i < mode->rank && modes; ++i) modes[i] = settp_notation_variables(calc, &mode->mode[i], next);
  settp_notation_fill(&result, modes);
  return result;
}

SETT_PUBLIC sett_map sett_notation_map(sett_map_arena *arena, const sett_notation *layout) {
  settp_notation_calc calc;
  settp_notation_flat flat, values;
  sett_map_variable variables[SETT_NOTATION_LEAVES];
  sett_expr results[SETT_NOTATION_LEAVES];
  sett_notation_mode inner, value;
  int i, next = 0;
  if (!layout->error && layout->kind >= SETT_NOTATION_STRIDES) return settp_notation_array_map(arena, layout);
  calc.work = settp_notation_begin(arena);
  calc.symbolic = 1;
  inner = settp_notation_inner(&calc.work, layout);
  settp_notation_flatten_to(&calc.work, &inner, &flat);
  value = settp_notation_variables(&calc, &inner, &next);
  if (!calc.work.error) value = settp_notation_chain(&calc, layout, value);
  settp_notation_flatten_to(&calc.work, &value, &values);
  if (calc.work.error) return sett_map_fail(SETT_NOTATION_ERROR_FIRST + calc.work.error, 0);
  for (i = 0; i < flat.count; ++i) {
    variables[i].name = NULL;
    variables[i].lo = 0;
    variables[i].hi = flat.leaf[i].size - 1;
  }
  for (i = 0; i < values.count; ++i) results[i] = (sett_expr)values.leaf[i].size;
  return sett_map_make(arena, flat.count, 0, 0, variables, values.count, results, 0, NULL);
}

SETT_PUBLIC int64_t sett_notation_size(const sett_notation *layout) {
  settp_notation_work work = settp_notation_begin(NULL);
  sett_notation_mode mode = settp_notation_leaf(1, 0);
  int i;
  for (i = 0; !layout->error && i < settp_notation_inputs(layout); ++i)
    mode.size = settp_notation_mul(&work, mode.size, settp_notation_input(layout, i));
  if (layout->error || layout->kind < SETT_NOTATION_STRIDES) mode = settp_notation_shape(&work, layout);
  int64_t size = settp_notation_size_of(&work, &mode);
  return work.error ? -1 : size;
}

SETT_PUBLIC int64_t sett_notation_cosize(const sett_notation *layout) {
  settp_notation_work work = settp_notation_begin(NULL);
  sett_notation_mode mode = settp_notation_inner(&work, layout);
  settp_notation_flat flat;
  int64_t cosize = 1;
  int i;
  settp_notation_flatten_to(&work, &mode, &flat);
  if (settp_notation_has_empty(&flat)) return work.error ? -1 : 0;
  for (i = 0; i < flat.count; ++i) {
    int64_t span = settp_notation_mul(&work, flat.leaf[i].size - 1, flat.leaf[i].stride);
    if (flat.leaf[i].places > 0) settp_notation_stop(&work, SETT_NOTATION_ERROR_BASIS);
    cosize = settp_notation_add(&work, cosize, span < 0 ? settp_notation_mul(&work, span, -1) : span);
  }
  return work.error ? -1 : cosize;
}

/* ---- bodies: CuTe's operations ---------------------------------------------------------------------------------- */

SETT_INLINE sett_notation_mode settp_notation_coalesced_by(settp_notation_work *work, const sett_notation_mode *mode,
                                                           const sett_notation_mode *profile) {
  sett_notation_mode modes[SETT_NOTATION_LEAVES];
  int i;
  if (profile->rank < 0 || mode->rank < 0) return settp_notation_coalesced(work, mode);
  if (mode->rank > SETT_NOTATION_LEAVES) settp_notation_stop(work, SETT_NOTATION_ERROR_LEAVES);
  if (profile->rank > mode->rank) settp_notation_stop(work, SETT_NOTATION_ERROR_TILER);
  for (i = 0; i < mode->rank && !work->error; ++i)
    modes[i] = i < profile->rank ? settp_notation_coalesced_by(work, &mode->mode[i], &profile->mode[i]) : mode->mode[i];
  return work->error ? *mode : settp_notation_tuple(work, mode->rank, modes);
}

SETT_PUBLIC sett_notation sett_notation_coalesce(sett_map_arena *arena, const sett_notation *layout,
                                                 const sett_notation *profile) {
  settp_notation_work work = settp_notation_begin(arena);
  sett_notation_mode mode = settp_notation_inner(&work, layout), shape = settp_notation_leaf(1, 0);
  if (profile) shape = settp_notation_shape(&work, profile);
  if (!work.error) mode = settp_notation_coalesced_by(&work, &mode, &shape);
  return settp_notation_end(&work, work.error ? *layout : settp_notation_with(&work, layout, mode));
}

enum { SETTP_NOTATION_POINTS = 1 << 16 };

/* The layout with which a leaf of `b` is composed: `a` itself, or the mode of `a` that the stride of the leaf names. sum[k] is the largest value that
 * digit k of this layout reaches when all leaves of `b` have their largest values. */
typedef struct settp_notation_target {
  int places;
  int32_t place[SETT_NOTATION_PLACES];
  settp_notation_flat flat;
  int64_t sum[SETT_NOTATION_LEAVES];
  int uneven; /* 1 if a leaf of `b` was composed by visiting points, so that sum[] is incomplete */
} settp_notation_target;

enum { SETTP_NOTATION_TARGETS = 8 };

typedef struct settp_notation_composing {
  settp_notation_work *work;
  const sett_notation_mode *a;
  /* the stride of the next leaf of `b` in the domain of `b`: the product of the sizes of the leaves before it */
  int64_t domain;
  int targets;
  settp_notation_target target[SETTP_NOTATION_TARGETS];
} settp_notation_composing;

SETT_INLINE settp_notation_target *settp_notation_aim(settp_notation_composing *self, const sett_notation_mode *leaf) {
  sett_notation_mode mode = *self->a;
  settp_notation_target *target;
  int i, j;
  for (i = 0; i < self->targets; ++i) {
    int least = self->target[i].places < leaf->places ? self->target[i].places : leaf->places;
    for (j = 0; j < least; ++j)
      if (self->target[i].place[self->target[i].places - 1 - j] != leaf->place[leaf->places - 1 - j]) break;
    if (j < least) continue;
    if (self->target[i].places == leaf->places) return &self->target[i];
    /* one leaf names a mode that contains the mode of another leaf */
    settp_notation_stop(self->work, SETT_NOTATION_ERROR_MIX);
    return NULL;
  }
  for (j = leaf->places; j-- > 0;) {
    if (leaf->place[j] >= settp_notation_rank(&mode) || (mode.rank < 0 && leaf->place[j] > 0)) {
      settp_notation_stop(self->work, SETT_NOTATION_ERROR_MODE);
      return NULL;
    }
    mode = settp_notation_mode_of(&mode, leaf->place[j]);
  }
  if (self->targets == SETTP_NOTATION_TARGETS) {
    settp_notation_stop(self->work, SETT_NOTATION_ERROR_LEAVES);
    return NULL;
  }
  target = &self->target[self->targets++];
  target->places = leaf->places;
  for (j = 0; j < SETT_NOTATION_PLACES; ++j) target->place[j] = leaf->place[j];
  target->uneven = 0;
  for (j = 0; j < SETT_NOTATION_LEAVES; ++j) target->sum[j] = 0;
  settp_notation_flatten_to(self->work, &mode, &target->flat);
  if (settp_notation_has_empty(&target->flat)) settp_notation_stop(self->work, SETT_NOTATION_ERROR_EMPTY);
  settp_notation_merge(self->work, &target->flat, 1);
  return target;
}

SETT_INLINE int settp_notation_integer_strides(const settp_notation_flat *flat) {
  int i;
  for (i = 0; i < flat->count; ++i)
    if (flat->leaf[i].places > 0) return 0;
  return 1;
}

/* Find a layout of the function i -> flat(i * step), i < count, by computing its values. Each leaf is as long as possible: value number n is n times
 * the leaf's stride. Its size must divide the number of values that remain. */
SETT_INLINE void settp_notation_factor(settp_notation_work *work, const settp_notation_flat *flat, int64_t count,
                                       int64_t step, settp_notation_flat *digits) {
  int64_t done = 1, i;
  int j;
  digits->count = 0;
  if (!settp_notation_integer_strides(flat) || count > SETTP_NOTATION_POINTS) {
    settp_notation_stop(work, SETT_NOTATION_ERROR_UNDECIDED);
    return;
  }
  settp_notation_mul(work, count, step);
  while (done < count && !work->error) {
    int64_t stride = settp_notation_value(work, flat, done * step), run = 1, value = 0;
    for (; run < count / done; ++run) {
      value = settp_notation_value(work, flat, run * done * step);
      if (work->error || value != settp_notation_mul(work, run, stride)) break;
    }
    if ((count / done) % run != 0)
      settp_notation_no(work, SETT_NOTATION_NO_BREAK, run * done, value, settp_notation_mul(work, run, stride));
    settp_notation_push(work, digits, settp_notation_leaf(run, stride));
    done *= run;
  }
  for (i = 0; i < count && !work->error; ++i) {
    int64_t rest = i, sum = 0, value = settp_notation_value(work, flat, i * step);
    for (j = 0; j < digits->count; rest /= digits->leaf[j].size, ++j)
      sum += rest % digits->leaf[j].size * digits->leaf[j].stride;
    if (value != sum) settp_notation_no(work, SETT_NOTATION_NO_SUM, i, value, sum);
  }
}

/* Return the layout of i -> a(i * step), i < size, for a leaf size:step of `b`. If the strides divide each other, the result is
 * made of successive leaves (digits) of `a`, beginning with the leaf in which `step` lies. It takes every leaf but the last one to its end. No two of
 * them become one leaf of the result, because leaves of `a` that could be merged are merged already. */
SETT_INLINE sett_notation_mode settp_notation_compose_leaf(settp_notation_composing *self,
                                                           const sett_notation_mode *leaf) {
  settp_notation_work *work = self->work;
  settp_notation_target *target = settp_notation_aim(self, leaf);
  settp_notation_flat digits;
  sett_notation_mode digit;
  int64_t rest = leaf->size, step = leaf->stride, done = 1, sum[SETT_NOTATION_LEAVES];
  int i, last;
  if (!target || work->error) return *leaf;
  if (step < 0) settp_notation_stop(work, SETT_NOTATION_ERROR_NEGATIVE);
  if (rest < 1) settp_notation_stop(work, SETT_NOTATION_ERROR_EMPTY);
  if (work->error) return *leaf;
  last = target->flat.count - 1;
  if (step == 0) return settp_notation_leaf(rest, 0);
  if (rest == 1) { /* any stride is correct for a size of 1; take that of CuTe */
    for (i = 0; i < last; ++i) step = (step - 1) / target->flat.leaf[i].size + 1;
    digit = target->flat.leaf[last];
    digit.size = 1;
    digit.stride = settp_notation_mul(work, step, digit.stride);
    return digit;
  }
  digits.count = 0;
  for (i = 0; i <= last; ++i) sum[i] = 0;
  for (i = 0; i <= last && rest > 1; ++i) {
    const sett_notation_mode *mode = &target->flat.leaf[i];
    int64_t take = rest, span;
    if (i < last && step % mode->size == 0) {
      step /= mode->size;
      continue;
    }
    digit = *mode;
    span = settp_notation_mul(work, rest - 1, step);
    if (work->error) return *leaf;
    if (i < last && span >= mode->size) {
      /* step does not divide the size of the mode, so the layout is found by visiting points */
      if (mode->size % step != 0) {
        settp_notation_factor(work, &target->flat, leaf->size, leaf->stride, &digits);
        target->uneven = 1;
        return settp_notation_unflat(work, &digits);
      }
      take = mode->size / step;
      if (rest % take != 0) {
        int64_t index = done * take, place = settp_notation_mul(work, index, leaf->stride), value = 0, other = 0;
        if (settp_notation_integer_strides(&target->flat)) {
          value = settp_notation_value(work, &target->flat, place);
          other = settp_notation_mul(work, take, settp_notation_mul(work, step, mode->stride));
        }
        settp_notation_no(work, SETT_NOTATION_NO_BREAK, index, value, other);
        return *leaf;
      }
    }
    digit.size = take;
    digit.stride = settp_notation_mul(work, mode->stride, step);
    settp_notation_push(work, &digits, digit);
    sum[i] = (take - 1) * step;
    rest /= take;
    done *= take;
    step = 1;
  }
  for (i = 0; i <= last; ++i)
    if (settp_map_add(target->sum[i], sum[i], &target->sum[i])) target->sum[i] = INT64_MAX;
  settp_notation_merge(work, &digits, 0);
  return settp_notation_unflat(work, &digits);
}

SETT_INLINE sett_notation_mode settp_notation_compose_tree(settp_notation_composing *self,
                                                           const sett_notation_mode *b) {
  sett_notation_mode *modes, result = *b;
  int i;
  if (b->rank < 0) {
    int failed = self->work->error;
    result = settp_notation_compose_leaf(self, b);
    if (!failed && self->work->error && settp_map_mul(self->work->witness, self->domain, &self->work->witness))
      self->work->error = SETT_NOTATION_ERROR_OVERFLOW;
    if (b->size > 0) self->domain = settp_notation_mul(self->work, self->domain, b->size);
    return result;
  }
  modes = settp_notation_take(self->work, b->rank);
  for (i = 0; i < b->rank && modes; ++i) modes[i] = settp_notation_compose_tree(self, &b->mode[i]);
  settp_notation_fill(&result, modes);
  return result;
}

/* Each leaf of `b` was composed with `a` on its own. Check that the sum of all leaves is correct, too. This is so if no digit of `a` overflows into the
 * next digit. Otherwise, find a witness: advance along one leaf of `b` after the other until a step carries. */
SETT_INLINE void settp_notation_check_carry(settp_notation_composing *self, const settp_notation_flat *b,
                                            settp_notation_target *target) {
  settp_notation_work *work = self->work;
  int64_t points = 1, step = 1, i, index = 0, place = 0, apart = 0;
  int carries = target->uneven, j, k, of[SETT_NOTATION_LEAVES], count = 0;
  for (j = 0; j < target->flat.count - 1; ++j) carries |= target->sum[j] >= target->flat.leaf[j].size;
  for (j = 0; j < b->count; ++j)
    if (b->leaf[j].places == target->places && b->leaf[j].size > 1 && b->leaf[j].stride > 0) {
      for (k = 0; k < target->places && b->leaf[j].place[k] == target->place[k]; ++k) {}
      if (k == target->places) of[count++] = j;
    }
  if (!carries || count < 2 || work->error) return;
  for (j = 0; j < count; ++j)
    points =
        points > SETTP_NOTATION_POINTS
            ? points
            : points * (b->leaf[of[j]].size > SETTP_NOTATION_POINTS ? SETTP_NOTATION_POINTS + 1 : b->leaf[of[j]].size);
  if (points <= SETTP_NOTATION_POINTS &&
      /* visit all points; the first wrong point is the simplest witness */
      settp_notation_integer_strides(&target->flat)) {
    for (i = 0; i < points && !work->error; ++i) {
      int64_t rest = i;
      place = apart = index = 0;
      for (j = 0; j < count; ++j) {
        int64_t at = settp_notation_mul(work, rest % b->leaf[of[j]].size, b->leaf[of[j]].stride);
        for (k = 0, step = 1; k < of[j]; ++k) step = settp_notation_mul(work, step, b->leaf[k].size);
        index = settp_notation_add(work, index, settp_notation_mul(work, rest % b->leaf[of[j]].size, step));
        place = settp_notation_add(work, place, at);
        apart = settp_notation_add(work, apart, settp_notation_value(work, &target->flat, at));
        rest /= b->leaf[of[j]].size;
      }
      if (work->error) return;
      if (settp_notation_value(work, &target->flat, place) != apart)
        settp_notation_no(work, SETT_NOTATION_NO_SUM, index, settp_notation_value(work, &target->flat, place), apart);
    }
    return;
  }
  if (target->uneven || !settp_notation_integer_strides(&target->flat)) {
    settp_notation_stop(work, SETT_NOTATION_ERROR_UNDECIDED);
    return;
  }
  for (k = 0, step = 1; k < target->flat.count - 1 && target->sum[k] < target->flat.leaf[k].size; ++k)
    step = settp_notation_mul(work, step, target->flat.leaf[k].size);
  /* advance along each leaf of `b` as far as possible in steps that change only digit k, so that no other digit carries */
  for (j = 0; j < count && !work->error; ++j) {
    const sett_notation_mode *leaf = &b->leaf[of[j]];
    int64_t unit, each = 1, have, most, domain = 1;
    int m;
    /* the amount by which digit k grows in `each` steps along the leaf */
    unit = leaf->stride % step == 0 ? leaf->stride / step : 1;
    /* number of steps along the leaf between two changes of digit k */
    if (leaf->stride % step != 0) each = step / leaf->stride;
    /* steps along the leaf change only digits above digit k */
    if (leaf->stride % step == 0 && unit % target->flat.leaf[k].size == 0) continue;
    if (each >= leaf->size) continue; /* steps along the leaf change only digits below digit k */
    have = (place / step) % target->flat.leaf[k].size;
    most = (leaf->size - 1) / each;
    if (most > (target->flat.leaf[k].size - 1) / unit) most = (target->flat.leaf[k].size - 1) / unit;
    if (most > (target->flat.leaf[k].size - have + unit - 1) / unit)
      most = (target->flat.leaf[k].size - have + unit - 1) / unit;
    for (m = 0; m < of[j]; ++m) domain = settp_notation_mul(work, domain, b->leaf[m].size);
    index = settp_notation_add(work, index, settp_notation_mul(work, most * each, domain));
    apart = settp_notation_add(
        work, apart, settp_notation_value(work, &target->flat, settp_notation_mul(work, most * each, leaf->stride)));
    place = settp_notation_add(work, place, settp_notation_mul(work, most * each, leaf->stride));
    if (have + most * unit >= target->flat.leaf[k].size) break;
  }
  if (work->error) return;
  settp_notation_no(work, SETT_NOTATION_NO_SUM, index, settp_notation_value(work, &target->flat, place), apart);
}

SETT_INLINE sett_notation_mode settp_notation_compose(settp_notation_work *work, const sett_notation_mode *a,
                                                      const sett_notation_mode *b) {
  settp_notation_composing *self;
  sett_notation_mode result = *a;
  settp_notation_flat flat;
  int i;
  if (work->error) return result;
  self = (settp_notation_composing *)settp_map_take(work->arena, sizeof *self);
  if (!self) {
    settp_notation_stop(work, SETT_NOTATION_ERROR_FULL);
    return result;
  }
  self->work = work;
  self->a = a;
  self->targets = 0;
  self->domain = 1;
  settp_notation_flatten_to(work, b, &flat);
  result = settp_notation_compose_tree(self, b);
  for (i = 0; i < self->targets && !work->error; ++i) settp_notation_check_carry(self, &flat, &self->target[i]);
  return result;
}

SETT_INLINE int settp_notation_is_tilers(const sett_notation_mode *tiler) {
  return tiler->rank >= 0 && tiler->places == -1;
}

/* Mark a tuple as a tuple of tilers. An integer n in it becomes n:1. */
SETT_INLINE sett_notation_mode settp_notation_tilers(settp_notation_work *work, const sett_notation_mode *tuple) {
  sett_notation_mode result = *tuple, *modes;
  int i;
  if (tuple->rank == SETT_NOTATION_SKIP) return result;
  if (tuple->rank < 0) {
    if (tuple->places > 0) settp_notation_stop(work, SETT_NOTATION_ERROR_KIND);
    return settp_notation_leaf(tuple->size, 1);
  }
  modes = settp_notation_take(work, tuple->rank);
  for (i = 0; i < tuple->rank && modes; ++i) modes[i] = settp_notation_tilers(work, &tuple->mode[i]);
  settp_notation_fill(&result, modes);
  result.places = -1;
  return result;
}

/* Convert a layout, a tile or a tuple to a tiler. A tiler is a layout, or a tuple of tilers, which is marked by places = -1. */
SETT_INLINE sett_notation_mode settp_notation_tiler(settp_notation_work *work, const sett_notation *tiler) {
  if (!tiler->error && tiler->kind == SETT_NOTATION_TILE) return tiler->tuple;
  if (!tiler->error && tiler->kind == SETT_NOTATION_TUPLE) return settp_notation_tilers(work, &tiler->tuple);
  return settp_notation_only(work, tiler);
}

/* Return memory for the modes of `a`, and check that `a` has at least as many modes as the tuple has tilers. */
SETT_INLINE sett_notation_mode *settp_notation_modes(settp_notation_work *work, const sett_notation_mode *a,
                                                     const sett_notation_mode *tiler) {
  if (tiler->rank > settp_notation_rank(a)) settp_notation_stop(work, SETT_NOTATION_ERROR_TILER);
  return settp_notation_take(work, settp_notation_rank(a));
}

SETT_INLINE sett_notation_mode settp_notation_compose_tiler(settp_notation_work *work, const sett_notation_mode *a,
                                                            const sett_notation_mode *tiler) {
  sett_notation_mode result = *tiler, *modes;
  int i;
  if (tiler->rank == SETT_NOTATION_SKIP) return *a;
  if (!settp_notation_is_tilers(tiler)) return settp_notation_compose(work, a, tiler);
  modes = settp_notation_modes(work, a, tiler);
  for (i = 0; i < tiler->rank && modes && !work->error; ++i) {
    sett_notation_mode mode = settp_notation_mode_of(a, i);
    modes[i] = settp_notation_compose_tiler(work, &mode, &tiler->mode[i]);
  }
  settp_notation_fill(&result, modes);
  result.places = 0;
  return result;
}

SETT_PUBLIC sett_notation sett_notation_composition(sett_map_arena *arena, const sett_notation *a,
                                                    const sett_notation *b) {
  settp_notation_work work = settp_notation_begin(arena);
  sett_notation_mode inner, tiler;
  sett_notation result;
  int i;
  if (a->error) return *a;
  if (b->error) return *b;
  if (a->kind == SETT_NOTATION_CUTE && b->kind == SETT_NOTATION_CUTE && b->parts > 0 &&
      (b->parts > 1 || b->part[0].swizzle || a->part[a->parts - 1].swizzle)) {
    sett_notation_part *part =
        (sett_notation_part *)settp_map_take(arena, (size_t)(a->parts + b->parts) * sizeof *part);
    if (!part) return settp_notation_fail(SETT_NOTATION_ERROR_FULL);
    for (i = 0; i < a->parts + b->parts; ++i) part[i] = i < a->parts ? a->part[i] : b->part[i - a->parts];
    part[a->parts - 1].offset = settp_notation_leaf(0, 0);
    result = *a;
    result.parts = a->parts + b->parts;
    result.part = part;
    return result;
  }
  inner = settp_notation_inner(&work, a);
  tiler = settp_notation_tiler(&work, b);
  if (!work.error) inner = settp_notation_compose_tiler(&work, &inner, &tiler);
  return settp_notation_end(&work, work.error ? *a : settp_notation_with(&work, a, inner));
}

/* Append to `gaps` a compact layout whose strides begin at `last`. Its sizes are computed from those of `bound` with a divisor u, which is `last` at
 * first. Each size s in turn gives the size ceil(s / u); then u becomes ceil(u / s). */
SETT_INLINE void settp_notation_rest(settp_notation_work *work, const sett_notation_mode *bound, int64_t last,
                                     settp_notation_flat *gaps) {
  settp_notation_flat flat;
  int64_t divide = last, stride = last;
  int i;
  settp_notation_flatten_to(work, bound, &flat);
  for (i = 0; i < flat.count && !work->error; ++i) {
    int64_t size = flat.leaf[i].size, quotient;
    if (size < 1) settp_notation_stop(work, SETT_NOTATION_ERROR_EMPTY);
    if (work->error) return;
    quotient = (size - 1) / divide + 1;
    divide = (divide - 1) / size + 1;
    settp_notation_push(work, gaps, settp_notation_leaf(quotient, stride));
    if (quotient > 1) stride = settp_notation_mul(work, stride, quotient);
  }
}

SETT_INLINE void settp_notation_sort(settp_notation_flat *flat, int64_t *beside) {
  int i, j;
  for (i = 1; i < flat->count; ++i) {
    sett_notation_mode leaf = flat->leaf[i];
    int64_t other = beside ? beside[i] : 0;
    for (j = i; j > 0 && flat->leaf[j - 1].stride > leaf.stride; --j) {
      flat->leaf[j] = flat->leaf[j - 1];
      if (beside) beside[j] = beside[j - 1];
    }
    flat->leaf[j] = leaf;
    if (beside) beside[j] = other;
  }
}

/* Remove leaves that do not change the value: those with size 1 or stride 0. A negative stride is an error. If `domain` is not NULL, it receives
 * the stride of each remaining leaf in the domain: the product of the sizes of all leaves before it. */
SETT_INLINE void settp_notation_moving(settp_notation_work *work, settp_notation_flat *flat, int64_t *domain) {
  int64_t prefix = 1;
  int i, count = 0;
  for (i = 0; i < flat->count && !work->error; ++i) {
    sett_notation_mode leaf = flat->leaf[i];
    int64_t here = prefix;
    if (leaf.size < 1) settp_notation_stop(work, SETT_NOTATION_ERROR_EMPTY);
    prefix = settp_notation_mul(work, prefix, leaf.size);
    if (leaf.size == 1 || leaf.stride == 0) continue;
    if (leaf.stride < 0) settp_notation_stop(work, SETT_NOTATION_ERROR_NEGATIVE);
    if (domain) domain[count] = here;
    flat->leaf[count++] = leaf;
  }
  flat->count = count;
}

SETT_INLINE sett_notation_mode settp_notation_complement(settp_notation_work *work, const sett_notation_mode *a,
                                                         const sett_notation_mode *bound) {
  settp_notation_flat flat, gaps;
  int64_t used = 1;
  int i;
  settp_notation_flatten_to(work, a, &flat);
  if (!settp_notation_integer_strides(&flat)) settp_notation_stop(work, SETT_NOTATION_ERROR_BASIS);
  settp_notation_moving(work, &flat, NULL);
  settp_notation_sort(&flat, NULL);
  gaps.count = 0;
  for (i = 0; i < flat.count && !work->error; ++i) {
    int64_t gap = flat.leaf[i].stride / used;
    if (gap == 0) settp_notation_no(work, SETT_NOTATION_NO_OVERLAP, -1, 0, 0);
    settp_notation_push(work, &gaps, settp_notation_leaf(gap, used));
    used = settp_notation_mul(work, flat.leaf[i].stride, flat.leaf[i].size);
  }
  if (!work->error) settp_notation_rest(work, bound, used, &gaps);
  settp_notation_merge(work, &gaps, 0);
  return settp_notation_unflat(work, &gaps);
}

SETT_PUBLIC sett_notation sett_notation_complement(sett_map_arena *arena, const sett_notation *a,
                                                   const sett_notation *bound) {
  settp_notation_work work = settp_notation_begin(arena);
  sett_notation_mode inner = settp_notation_only(&work, a), shape = settp_notation_leaf(sett_notation_cosize(a), 0);
  if (bound) shape = settp_notation_shape(&work, bound);
  else if (shape.size < 0) settp_notation_stop(&work, SETT_NOTATION_ERROR_BASIS);
  if (!work.error) inner = settp_notation_complement(&work, &inner, &shape);
  return settp_notation_end(&work, work.error ? *a : settp_notation_plain(&work, inner));
}

/* Return CuTe's right inverse of leaves with integer strides: first the leaf with stride 1, then the leaf whose stride is the product of the sizes
 * so far, and so on until there is none. In the result, leaf i of `flat` has the stride domain[i]. */
SETT_INLINE sett_notation_mode settp_notation_right_inverse_of(settp_notation_work *work,
                                                               const settp_notation_flat *flat, const int64_t *domain) {
  settp_notation_flat result;
  int64_t used = 1;
  int i, found = 1;
  result.count = 0;
  while (found && !work->error) {
    found = 0;
    for (i = 0; i < flat->count && !found; ++i) {
      if (flat->leaf[i].size == 1 || flat->leaf[i].stride != used) continue;
      settp_notation_push(work, &result, settp_notation_leaf(flat->leaf[i].size, domain[i]));
      used = settp_notation_mul(work, used, flat->leaf[i].size);
      found = 1;
    }
  }
  settp_notation_merge(work, &result, 0);
  return settp_notation_unflat(work, &result);
}

/* Return CuTe's left inverse of leaves with integer strides: a layout from an offset to an index of the domain, in which leaf i has the stride
 * domain[i]. The leaves are taken in the order of their strides. For leaves with strides 2 and 12, the leaf of the result for stride 2 has size 6. The
 * result is an inverse if every digit of an offset is less than the size of the leaf that receives it. *open is set to 1 if this is not proved. */
SETT_INLINE sett_notation_mode settp_notation_left_inverse(settp_notation_work *work, settp_notation_flat *flat,
                                                           int64_t *domain, int *open) {
  settp_notation_flat result;
  int64_t below = 0; /* the largest sum of the values of this leaf and of those before it */
  int i;
  settp_notation_sort(flat, domain);
  result.count = 0;
  for (i = 0; i < flat->count && !work->error; ++i) {
    int64_t stride = flat->leaf[i].stride, size = flat->leaf[i].size, digit;
    if (i == 0 && stride > 1) settp_notation_push(work, &result, settp_notation_leaf(stride, 0));
    below = settp_notation_add(work, below, settp_notation_mul(work, size - 1, stride));
    digit = below / stride;
    if (i + 1 < flat->count) {
      int64_t next = flat->leaf[i + 1].stride;
      if (next % stride != 0) settp_notation_stop(work, SETT_NOTATION_ERROR_INVERSE);
      if (below >= next) digit = next / stride - 1;
      size = next / stride;
    }
    *open |= digit >= flat->leaf[i].size;
    settp_notation_push(work, &result, settp_notation_leaf(size, domain[i]));
  }
  settp_notation_merge(work, &result, 0);
  return settp_notation_unflat(work, &result);
}

/* Return the inverse of those leaves whose place begins with `path`, the outermost part first. (A stride such as 2@0@1 names a place.) The result has
 * one mode for each place directly below `path`. A leaf with domain[i] = 0 (of size 1, or without a positive stride) only makes sure that its place has
 * a mode. `open` is as in settp_notation_left_inverse; NULL asks for the right inverse. */
SETT_INLINE sett_notation_mode settp_notation_inverse_of(settp_notation_work *work, const settp_notation_flat *all,
                                                         const int64_t *domain, const int32_t *path, int depth,
                                                         int *open) {
  settp_notation_flat flat;
  sett_notation_mode *modes, result = settp_notation_leaf(1, 0);
  int64_t beside[SETT_NOTATION_LEAVES];
  int32_t below[SETT_NOTATION_PLACES] = {0, 0, 0, 0};
  int i, j, rank = 0;
  flat.count = 0;
  for (i = 0; i < all->count; ++i) {
    const sett_notation_mode *leaf = &all->leaf[i];
    if (leaf->places < depth) continue;
    for (j = 0; j < depth && leaf->place[leaf->places - 1 - j] == path[j]; ++j) {}
    if (j < depth) continue;
    if (leaf->places > depth && leaf->place[leaf->places - 1 - depth] >= rank)
      rank = leaf->place[leaf->places - 1 - depth] + 1;
    if (leaf->places > depth || domain[i] == 0) continue;
    beside[flat.count] = domain[i];
    settp_notation_push(work, &flat, settp_notation_leaf(leaf->size, leaf->stride));
  }
  if (rank == 0 && !open) return settp_notation_right_inverse_of(work, &flat, beside);
  if (rank == 0) return settp_notation_left_inverse(work, &flat, beside, open);
  if (flat.count > 0) settp_notation_stop(work, SETT_NOTATION_ERROR_MIX);
  modes = settp_notation_take(work, rank);
  for (j = 0; j < depth; ++j) below[j] = path[j];
  for (i = 0; i < rank && modes && !work->error; ++i) {
    if (depth < SETT_NOTATION_PLACES) below[depth] = i;
    modes[i] = settp_notation_inverse_of(work, all, domain, below, depth + 1, open);
  }
  result.rank = modes ? rank : 0;
  settp_notation_fill(&result, modes);
  return result;
}

SETT_INLINE int settp_notation_same_value(const sett_notation_mode *a, const sett_notation_mode *b) {
  int i, same = a->rank == b->rank && (a->rank >= 0 || a->size == b->size);
  for (i = 0; i < a->rank && same; ++i) same = settp_notation_same_value(&a->mode[i], &b->mode[i]);
  return same;
}

/* Check that a(inverse(a(i))) = a(i) by visiting all i. */
SETT_INLINE void settp_notation_check_inverse(settp_notation_work *work, const sett_notation_mode *a,
                                              const sett_notation_mode *inverse) {
  sett_notation layout = settp_notation_plain(work, *a), back = settp_notation_plain(work, *inverse);
  sett_map_mark mark = sett_map_arena_mark(work->arena);
  int64_t i, size = settp_notation_size_of(work, a);
  if (size > SETTP_NOTATION_POINTS) settp_notation_stop(work, SETT_NOTATION_ERROR_UNDECIDED);
  for (i = 0; i < size && !work->error; ++i) {
    sett_notation index = settp_notation_tuple_of(settp_notation_leaf(i, 0), SETT_NOTATION_TUPLE), value, again;
    value = sett_notation_at(work->arena, &layout, &index);
    index = sett_notation_at(work->arena, &back, &value);
    again = sett_notation_at(work->arena, &layout, &index);
    if (again.error) settp_notation_stop(work, again.error);
    else if (!settp_notation_same_value(&value.tuple, &again.tuple))
      settp_notation_stop(work, SETT_NOTATION_ERROR_INVERSE);
    sett_map_arena_rewind(work->arena, mark);
  }
}

/* Prepare the leaves of `a` for settp_notation_inverse_of: merge them, and compute their strides in the domain. Leaves that do not change the value
 * are removed, unless they name a place. */
SETT_INLINE void settp_notation_inverse_leaves(settp_notation_work *work, const sett_notation_mode *a,
                                               settp_notation_flat *flat, int64_t *domain, int right) {
  settp_notation_flat all;
  int i;
  settp_notation_flatten_to(work, a, &all);
  *flat = all;
  settp_notation_merge(work, flat, 0);
  for (i = 0; i < flat->count && right; ++i) /* a leaf with a negative stride is no part of a right inverse */
    if (flat->leaf[i].stride < 0) flat->leaf[i].stride = 0;
  settp_notation_moving(work, flat, domain);
  for (i = 0; i < all.count && !work->error; ++i) {
    if (all.leaf[i].places == 0 || (all.leaf[i].size > 1 && all.leaf[i].stride > 0)) continue;
    domain[flat->count] = 0;
    settp_notation_push(work, flat, all.leaf[i]);
  }
}

SETT_INLINE sett_notation_mode settp_notation_right_inverse(settp_notation_work *work, const sett_notation_mode *a) {
  settp_notation_flat flat;
  int64_t domain[SETT_NOTATION_LEAVES];
  int32_t path[SETT_NOTATION_PLACES] = {0, 0, 0, 0};
  settp_notation_inverse_leaves(work, a, &flat, domain, 1);
  if (work->error) return *a;
  return settp_notation_inverse_of(work, &flat, domain, path, 0, NULL);
}

SETT_PUBLIC sett_notation sett_notation_right_inverse(sett_map_arena *arena, const sett_notation *a) {
  settp_notation_work work = settp_notation_begin(arena);
  sett_notation_mode inner = settp_notation_only(&work, a);
  if (!work.error) inner = settp_notation_right_inverse(&work, &inner);
  return settp_notation_end(&work, work.error ? *a : settp_notation_plain(&work, inner));
}

SETT_PUBLIC sett_notation sett_notation_left_inverse(sett_map_arena *arena, const sett_notation *a) {
  settp_notation_work work = settp_notation_begin(arena);
  sett_notation_mode inner = settp_notation_only(&work, a), result = settp_notation_leaf(1, 0);
  settp_notation_flat flat;
  int64_t domain[SETT_NOTATION_LEAVES];
  int32_t path[SETT_NOTATION_PLACES] = {0, 0, 0, 0};
  int open = 0;
  settp_notation_inverse_leaves(&work, &inner, &flat, domain, 0);
  if (!work.error) result = settp_notation_inverse_of(&work, &flat, domain, path, 0, &open);
  if (!work.error && open) settp_notation_check_inverse(&work, &inner, &result);
  return settp_notation_end(&work, work.error ? *a : settp_notation_plain(&work, result));
}

/* Replace each mode that has a tiler by the pair (tile, rest). */
SETT_INLINE sett_notation_mode settp_notation_divide(settp_notation_work *work, const sett_notation_mode *a,
                                                     const sett_notation_mode *tiler) {
  sett_notation_mode result = *a, *modes;
  int i;
  if (work->error) return result;
  if (tiler->rank == SETT_NOTATION_SKIP) return settp_notation_pair(work, *a, settp_notation_leaf(1, 0));
  if (!settp_notation_is_tilers(tiler)) {
    sett_notation_mode shape = settp_notation_coalesced(work, a), both;
    both = settp_notation_pair(work, *tiler, settp_notation_complement(work, tiler, &shape));
    return work->error ? result : settp_notation_compose(work, a, &both);
  }
  modes = settp_notation_modes(work, a, tiler);
  for (i = 0; i < settp_notation_rank(a) && modes && !work->error; ++i) {
    modes[i] = settp_notation_mode_of(a, i);
    if (i < tiler->rank) modes[i] = settp_notation_divide(work, &modes[i], &tiler->mode[i]);
  }
  result.rank = modes ? settp_notation_rank(a) : 0;
  settp_notation_fill(&result, modes);
  return result;
}

SETT_INLINE sett_notation_mode settp_notation_product(settp_notation_work *work, const sett_notation_mode *a,
                                                      const sett_notation_mode *tiler) {
  sett_notation_mode result = *a, *modes;
  int i;
  if (work->error) return result;
  if (tiler->rank == SETT_NOTATION_SKIP) return settp_notation_pair(work, *a, settp_notation_leaf(1, 0));
  if (!settp_notation_is_tilers(tiler)) {
    sett_notation plain = settp_notation_plain(work, *tiler);
    sett_notation_mode bound = settp_notation_leaf(0, 0), rest;
    int64_t cosize = work->error ? 1 : sett_notation_cosize(&plain);
    if (cosize < 0) settp_notation_stop(work, SETT_NOTATION_ERROR_BASIS);
    bound.size = settp_notation_mul(work, settp_notation_size_of(work, a), cosize);
    rest = settp_notation_complement(work, a, &bound);
    if (work->error) return result;
    rest = settp_notation_compose(work, &rest, tiler);
    return settp_notation_pair(work, *a, rest);
  }
  modes = settp_notation_modes(work, a, tiler);
  for (i = 0; i < settp_notation_rank(a) && modes && !work->error; ++i) {
    modes[i] = settp_notation_mode_of(a, i);
    if (i < tiler->rank) modes[i] = settp_notation_product(work, &modes[i], &tiler->mode[i]);
  }
  result.rank = modes ? settp_notation_rank(a) : 0;
  settp_notation_fill(&result, modes);
  return result;
}

/* Turn (tile, rest) for each mode into ((tiles), (rests)). A mode without a tiler belongs to the rests. */
SETT_INLINE void settp_notation_unzip(settp_notation_work *work, const sett_notation_mode *split,
                                      const sett_notation_mode *tiler, sett_notation_mode *tiles,
                                      sett_notation_mode *rests) {
  sett_notation_mode *first, *second;
  int i;
  if (!settp_notation_is_tilers(tiler)) {
    *tiles = split->mode[0];
    *rests = split->mode[1];
    return;
  }
  first = settp_notation_take(work, tiler->rank);
  second = settp_notation_take(work, split->rank);
  for (i = 0; i < split->rank && first && second; ++i) {
    if (i < tiler->rank) settp_notation_unzip(work, &split->mode[i], &tiler->mode[i], &first[i], &second[i]);
    else second[i] = split->mode[i];
  }
  *tiles = *rests = *split;
  tiles->rank = first && second ? tiler->rank : 0;
  rests->rank = first && second ? split->rank : 0;
  tiles->mode = first;
  rests->mode = second;
}

/* Return a tuple of two modes. A mode that is marked as unpacked is replaced by its own modes. */
SETT_INLINE sett_notation_mode settp_notation_join(settp_notation_work *work, const sett_notation_mode *a, int unpack_a,
                                                   const sett_notation_mode *b, int unpack_b) {
  int na = unpack_a ? settp_notation_rank(a) : 1, nb = unpack_b ? settp_notation_rank(b) : 1, i;
  sett_notation_mode result = settp_notation_leaf(0, 0), *modes = settp_notation_take(work, na + nb);
  for (i = 0; i < na + nb && modes; ++i)
    modes[i] = i < na     ? (unpack_a ? settp_notation_mode_of(a, i) : *a)
               : unpack_b ? settp_notation_mode_of(b, i - na)
                          : *b;
  result.rank = modes ? na + nb : 0;
  settp_notation_fill(&result, modes);
  return result;
}

SETT_INLINE sett_notation settp_notation_in_form(settp_notation_work *work, const sett_notation *a,
                                                 sett_notation_mode split, const sett_notation_mode *tiler, int form) {
  sett_notation_mode tiles, rests;
  if (!work->error && form != SETT_NOTATION_LOGICAL) {
    settp_notation_unzip(work, &split, tiler, &tiles, &rests);
    split = settp_notation_join(work, &tiles, form == SETT_NOTATION_FLAT, &rests, form != SETT_NOTATION_ZIPPED);
  }
  return settp_notation_end(work, work->error ? *a : settp_notation_with(work, a, split));
}

SETT_PUBLIC sett_notation sett_notation_divide(sett_map_arena *arena, const sett_notation *a,
                                               const sett_notation *tiler, int form) {
  settp_notation_work work = settp_notation_begin(arena);
  sett_notation_mode inner = settp_notation_inner(&work, a), by = settp_notation_tiler(&work, tiler);
  return settp_notation_in_form(&work, a, settp_notation_divide(&work, &inner, &by), &by, form);
}

SETT_PUBLIC sett_notation sett_notation_product(sett_map_arena *arena, const sett_notation *a,
                                                const sett_notation *tiler, int form) {
  settp_notation_work work = settp_notation_begin(arena);
  sett_notation_mode inner = settp_notation_inner(&work, a), by = settp_notation_tiler(&work, tiler);
  return settp_notation_in_form(&work, a, settp_notation_product(&work, &inner, &by), &by, form);
}

/* Append modes 1:0 until the layout has this rank. */
SETT_INLINE sett_notation_mode settp_notation_padded(settp_notation_work *work, const sett_notation_mode *mode,
                                                     int rank) {
  sett_notation_mode result = settp_notation_leaf(0, 0), *modes = settp_notation_take(work, rank);
  int i;
  for (i = 0; i < rank && modes; ++i)
    modes[i] = i < settp_notation_rank(mode) ? settp_notation_mode_of(mode, i) : settp_notation_leaf(1, 0);
  result.rank = modes ? rank : 0;
  settp_notation_fill(&result, modes);
  return result;
}

SETT_INLINE sett_notation_mode settp_notation_block_product(settp_notation_work *work, const sett_notation_mode *a,
                                                            const sett_notation_mode *tiler, int raked) {
  int i,
      rank = settp_notation_rank(a) > settp_notation_rank(tiler) ? settp_notation_rank(a) : settp_notation_rank(tiler);
  sett_notation_mode both[2], product, *modes;
  both[0] = settp_notation_padded(work, a, rank);
  both[1] = settp_notation_padded(work, tiler, rank);
  product = settp_notation_product(work, &both[0], &both[1]);
  modes = settp_notation_take(work, rank);
  if (work->error) return *a;
  for (i = 0; i < rank; ++i)
    modes[i] = settp_notation_pair(work, product.mode[raked].mode[i], product.mode[!raked].mode[i]);
  product.rank = rank;
  product.mode = modes;
  return product;
}

SETT_PUBLIC sett_notation sett_notation_blocked_product(sett_map_arena *arena, const sett_notation *a,
                                                        const sett_notation *tiler, int raked) {
  settp_notation_work work = settp_notation_begin(arena);
  sett_notation_mode inner = settp_notation_inner(&work, a), by = settp_notation_only(&work, tiler);
  if (!work.error) inner = settp_notation_block_product(&work, &inner, &by, raked);
  return settp_notation_end(&work, work.error ? *a : settp_notation_with(&work, a, inner));
}

/* Return the compact layout with the shape of a mode. Its strides begin at *stride; *stride becomes the stride that a further leaf would have. */
SETT_INLINE sett_notation_mode settp_notation_compact(settp_notation_work *work, const sett_notation_mode *shape,
                                                      int64_t *stride) {
  sett_notation_mode result = settp_notation_leaf(shape->size, *stride), *modes;
  int i;
  if (shape->rank < 0) {
    if (shape->size < 1) settp_notation_stop(work, SETT_NOTATION_ERROR_EMPTY);
    *stride = settp_notation_mul(work, *stride, shape->size);
    if (shape->size == 1) result.stride = 0;
    return result;
  }
  modes = settp_notation_take(work, shape->rank);
  for (i = 0; i < shape->rank && modes; ++i) modes[i] = settp_notation_compact(work, &shape->mode[i], stride);
  result.rank = modes ? shape->rank : 0;
  settp_notation_fill(&result, modes);
  return result;
}

/* The numbers (ranks) in a tree `order`. For each: the number; the part of the shape at the same place; the stride at which this part begins. */
typedef struct settp_notation_ranking {
  int count;
  int64_t rank[SETT_NOTATION_LEAVES], stride[SETT_NOTATION_LEAVES];
  sett_notation_mode shape[SETT_NOTATION_LEAVES];
} settp_notation_ranking;

SETT_INLINE void settp_notation_rank_all(settp_notation_work *work, const sett_notation_mode *shape,
                                         const sett_notation_mode *order, settp_notation_ranking *all) {
  int i;
  if (order->rank < 0) {
    if (all->count == SETT_NOTATION_LEAVES) settp_notation_stop(work, SETT_NOTATION_ERROR_LEAVES);
    if (work->error) return;
    all->rank[all->count] = order->size;
    all->shape[all->count++] = *shape;
    return;
  }
  if (shape->rank != order->rank) settp_notation_stop(work, SETT_NOTATION_ERROR_ORDER);
  for (i = 0; i < order->rank && !work->error; ++i)
    settp_notation_rank_all(work, &shape->mode[i], &order->mode[i], all);
}

SETT_INLINE sett_notation_mode settp_notation_ordered_tree(settp_notation_work *work, const sett_notation_mode *shape,
                                                           const sett_notation_mode *order,
                                                           settp_notation_ranking *all) {
  sett_notation_mode result = *shape, *modes;
  int i;
  if (order->rank < 0) return settp_notation_compact(work, shape, &all->stride[all->count++]);
  modes = settp_notation_take(work, shape->rank);
  for (i = 0; i < shape->rank && modes; ++i)
    modes[i] = settp_notation_ordered_tree(work, &shape->mode[i], &order->mode[i], all);
  result.rank = modes ? shape->rank : 0;
  settp_notation_fill(&result, modes);
  return result;
}

SETT_INLINE sett_notation_mode settp_notation_ordered(settp_notation_work *work, const sett_notation_mode *shape,
                                                      const sett_notation_mode *order) {
  settp_notation_ranking all;
  int64_t stride = 1, before = INT64_MIN;
  int i, j;
  all.count = 0;
  settp_notation_rank_all(work, shape, order, &all);
  for (i = 0; i < all.count && !work->error; ++i) { /* find the smallest rank that is larger than the previous one */
    int next = -1;
    for (j = 0; j < all.count; ++j) {
      if (all.rank[j] > before && (next < 0 || all.rank[j] < all.rank[next])) next = j;
      if (j != i && all.rank[j] == all.rank[i]) settp_notation_stop(work, SETT_NOTATION_ERROR_ORDER);
    }
    if (work->error || next < 0) break;
    all.stride[next] = stride;
    stride = settp_notation_mul(work, stride, settp_notation_size_of(work, &all.shape[next]));
    before = all.rank[next];
  }
  all.count = 0;
  return work->error ? *shape : settp_notation_ordered_tree(work, shape, order, &all);
}

SETT_PUBLIC sett_notation sett_notation_ordered(sett_map_arena *arena, const sett_notation *shape,
                                                const sett_notation *order) {
  settp_notation_work work = settp_notation_begin(arena);
  sett_notation_mode mode = settp_notation_shape(&work, shape), ranks = settp_notation_leaf(0, 0);
  if (order) ranks = settp_notation_shape(&work, order);
  if (!work.error) mode = settp_notation_ordered(&work, &mode, &ranks);
  return settp_notation_end(&work, work.error ? *shape : settp_notation_plain(&work, mode));
}

SETT_PUBLIC sett_notation sett_notation_tile_to_shape(sett_map_arena *arena, const sett_notation *a,
                                                      const sett_notation *shape, const sett_notation *order) {
  settp_notation_work work = settp_notation_begin(arena);
  sett_notation_mode inner = settp_notation_inner(&work, a), target = settp_notation_shape(&work, shape),
                     ranks = settp_notation_leaf(0, 0), *modes;
  int i, rank = settp_notation_rank(&target);
  if (order) ranks = settp_notation_shape(&work, order);
  if (settp_notation_rank(&inner) > rank) settp_notation_stop(&work, SETT_NOTATION_ERROR_TARGET);
  if (order && settp_notation_rank(&ranks) != rank) settp_notation_stop(&work, SETT_NOTATION_ERROR_ORDER);
  modes = settp_notation_take(&work, rank);
  if (!work.error) {
    sett_notation_mode block = settp_notation_padded(&work, &inner, rank), copies = target;
    for (i = 0; i < rank && !work.error; ++i) {
      sett_notation_mode mode = settp_notation_mode_of(&target, i);
      int64_t want = settp_notation_size_of(&work, &mode), have = settp_notation_size_of(&work, &block.mode[i]);
      if (want < 1 || have < 1) settp_notation_stop(&work, SETT_NOTATION_ERROR_EMPTY);
      else modes[i] = settp_notation_leaf((want - 1) / have + 1, 0);
    }
    copies = settp_notation_leaf(0, 0);
    copies.rank = rank;
    copies.mode = modes;
    if (!work.error) copies = settp_notation_ordered(&work, &copies, &ranks);
    if (!work.error) inner = settp_notation_block_product(&work, &block, &copies, 0);
  }
  return settp_notation_end(&work, work.error ? *a : settp_notation_with(&work, a, inner));
}

/* Return the layout n:1 with the largest n such that a(inverse(i)) = i for all i < n. At most 65536 points are tested. If n covers some leaves of
 * `inverse` completely, it is rounded down to a multiple of their size, so that `inverse` composed with n:1 is a layout. */
SETT_INLINE sett_notation_mode settp_notation_agreeing(settp_notation_work *work, const sett_notation_mode *a,
                                                       const sett_notation_mode *inverse) {
  settp_notation_flat flat, back;
  int64_t run = 0, whole = 1, size = settp_notation_size_of(work, inverse);
  int i;
  settp_notation_flatten_to(work, a, &flat);
  settp_notation_flatten_to(work, inverse, &back);
  if (!settp_notation_integer_strides(&flat)) return settp_notation_leaf(1, 0);
  while (run < size && run < SETTP_NOTATION_POINTS && !work->error &&
         settp_notation_value(work, &flat, settp_notation_value(work, &back, run)) == run)
    ++run;
  for (i = 0; i < back.count && run / whole >= back.leaf[i].size; ++i) whole *= back.leaf[i].size;
  return settp_notation_leaf(run > 0 ? run / whole * whole : 1, 1);
}

SETT_PUBLIC sett_notation sett_notation_max_common_layout(sett_map_arena *arena, const sett_notation *a,
                                                          const sett_notation *b) {
  settp_notation_work work = settp_notation_begin(arena);
  sett_notation_mode first = settp_notation_only(&work, a), second = settp_notation_only(&work, b),
                     common = settp_notation_leaf(1, 0);
  if (!work.error) {
    sett_notation_mode inverse = settp_notation_right_inverse(&work, &second);
    settp_notation_work composed = settp_notation_begin(arena);
    common = settp_notation_compose(&composed, &first, &inverse);
    if (!composed.error) common = settp_notation_coalesced(&composed, &common);
    if (!composed.error) common = settp_notation_mode_of(&common, 0);
    if (sett_notation_refused(composed.error)) common = settp_notation_agreeing(&work, &first, &inverse);
    else if (composed.error) work = composed;
    if (common.stride != 1 || common.places > 0 || common.size == 1) common = settp_notation_leaf(1, 0);
    if (!work.error) common = settp_notation_compose(&work, &inverse, &common);
  }
  return settp_notation_end(&work, work.error ? *a : settp_notation_plain(&work, common));
}

SETT_PUBLIC sett_notation sett_notation_nullspace(sett_map_arena *arena, const sett_notation *a) {
  settp_notation_work work = settp_notation_begin(arena);
  sett_notation_mode inner = settp_notation_only(&work, a);
  settp_notation_flat flat, result;
  int64_t domain = 1;
  int i;
  settp_notation_flatten_to(&work, &inner, &flat);
  if (settp_notation_has_empty(&flat)) settp_notation_stop(&work, SETT_NOTATION_ERROR_EMPTY);
  result.count = 0;
  for (i = 0; i < flat.count; ++i) {
    if (flat.leaf[i].size > 1 && flat.leaf[i].stride == 0)
      settp_notation_push(&work, &result, settp_notation_leaf(flat.leaf[i].size, domain));
    domain = settp_notation_mul(&work, domain, flat.leaf[i].size);
  }
  return settp_notation_end(&work,
                            work.error ? *a : settp_notation_plain(&work, settp_notation_unflat(&work, &result)));
}

/* wider: 1 if a new element is `factor` old elements, 0 if an old element is `factor` new elements. */
SETT_INLINE sett_notation_mode settp_notation_recast(settp_notation_work *work, const sett_notation_mode *mode,
                                                     int64_t factor, int wider) {
  sett_notation_mode result = *mode, *modes;
  int64_t step = mode->stride < 0 ? -mode->stride : mode->stride;
  int i;
  if (mode->rank >= 0) {
    modes = settp_notation_take(work, mode->rank);
    for (i = 0; i < mode->rank && modes; ++i) modes[i] = settp_notation_recast(work, &mode->mode[i], factor, wider);
    result.mode = modes;
    return result;
  }
  if (mode->places > 0) settp_notation_stop(work, SETT_NOTATION_ERROR_BASIS);
  if (mode->stride < -INT64_MAX || work->error || step == 0) return result;
  if (!wider) {
    if (step == 1) result.size = settp_notation_mul(work, mode->size, factor);
    else result.stride = settp_notation_mul(work, mode->stride, factor);
  } else if (step % factor == 0) {
    result.stride = mode->stride / factor;
  } else if (mode->size == 1) {
    result.stride = 0;
  } else if (factor % step != 0 || (mode->size % (factor / step) != 0 && (factor / step) % mode->size != 0)) {
    settp_notation_no(work, SETT_NOTATION_NO_RECAST, -1, 0, 0);
    /* one new element consists of factor / step old elements of this mode; a mode with fewer elements is a part of one new element */
  } else {
    result.size = mode->size % (factor / step) == 0 ? mode->size / (factor / step) : 1;
    result.stride = mode->stride < 0 ? -1 : 1;
  }
  return result;
}

SETT_PUBLIC sett_notation sett_notation_recast(sett_map_arena *arena, const sett_notation *a, int64_t new_bits,
                                               int64_t old_bits) {
  settp_notation_work work = settp_notation_begin(arena);
  sett_notation_mode inner = settp_notation_inner(&work, a);
  int wider = new_bits >= old_bits, i;
  int64_t factor, log = 0;
  sett_notation result;
  if (new_bits < 1 || old_bits < 1 || (wider ? new_bits % old_bits : old_bits % new_bits))
    settp_notation_stop(&work, SETT_NOTATION_ERROR_BITS);
  if (work.error) return settp_notation_end(&work, *a);
  factor = wider ? new_bits / old_bits : old_bits / new_bits;
  while (log < 62 && (int64_t)1 << (log + 1) <= factor) ++log;
  inner = settp_notation_recast(&work, &inner, factor, wider);
  result = settp_notation_with(&work, a, inner);
  for (i = 0; i < a->parts - 1 && !work.error; ++i) {
    sett_notation_part *part =
        (sett_notation_part *)(uintptr_t)&result.part[i]; /* this writes to the copy that settp_notation_with made */
    if (!part->swizzle) settp_notation_stop(&work, SETT_NOTATION_ERROR_KIND);
    else if ((int64_t)1 << log != factor) settp_notation_stop(&work, SETT_NOTATION_ERROR_BITS);
    part->base += wider ? -log : log;
    if (part->base < 0 || part->offset.rank >= 0 || (wider && part->offset.size % factor != 0))
      settp_notation_no(&work, SETT_NOTATION_NO_RECAST, -1, 0, 0);
    else part->offset.size = wider ? part->offset.size / factor : settp_notation_mul(&work, part->offset.size, factor);
    if (part->base + part->bits + (part->shift < 0 ? -part->shift : part->shift) > 62)
      settp_notation_stop(&work, SETT_NOTATION_ERROR_SWIZZLE_RANGE);
  }
  return settp_notation_end(&work, result);
}

SETT_INLINE sett_notation_mode settp_notation_identity(settp_notation_work *work, const sett_notation_mode *shape,
                                                       const int32_t *path, int depth) {
  sett_notation_mode result = *shape, *modes;
  int32_t below[SETT_NOTATION_PLACES] = {0, 0, 0, 0};
  int i;
  if (shape->rank < 0) {
    result.stride = 1;
    result.places = depth;
    for (i = 0; i < depth; ++i) result.place[i] = path[depth - 1 - i];
    return result;
  }
  if (depth == SETT_NOTATION_PLACES || shape->rank > 64) settp_notation_stop(work, SETT_NOTATION_ERROR_PLACE);
  modes = settp_notation_take(work, shape->rank);
  for (i = 0; i < depth; ++i) below[i] = path[i];
  for (i = 0; i < shape->rank && modes; ++i) {
    below[depth] = i;
    modes[i] = settp_notation_identity(work, &shape->mode[i], below, depth + 1);
  }
  settp_notation_fill(&result, modes);
  return result;
}

SETT_PUBLIC sett_notation sett_notation_identity(sett_map_arena *arena, const sett_notation *shape) {
  settp_notation_work work = settp_notation_begin(arena);
  sett_notation_mode mode = settp_notation_shape(&work, shape);
  int32_t path[SETT_NOTATION_PLACES] = {0, 0, 0, 0};
  if (!work.error) mode = settp_notation_identity(&work, &mode, path, 0);
  return settp_notation_end(&work, work.error ? *shape : settp_notation_plain(&work, mode));
}

/* settp_notation_tree returns the tree of modes of a tuple or tile, or of the innermost layout of `a`. settp_notation_retree returns `a` with another
 * tree. */
SETT_INLINE sett_notation_mode settp_notation_tree(settp_notation_work *work, const sett_notation *a) {
  return !a->error && (a->kind == SETT_NOTATION_TUPLE || a->kind == SETT_NOTATION_TILE) ? a->tuple
                                                                                        : settp_notation_inner(work, a);
}
SETT_INLINE sett_notation settp_notation_retree(settp_notation_work *work, const sett_notation *a,
                                                sett_notation_mode mode) {
  if (work->error) return settp_notation_end(work, *a);
  if (a->kind == SETT_NOTATION_CUTE) return settp_notation_end(work, settp_notation_with(work, a, mode));
  return settp_notation_end(work, settp_notation_tuple_of(mode, a->kind));
}

SETT_PUBLIC sett_notation sett_notation_flatten(sett_map_arena *arena, const sett_notation *a) {
  settp_notation_work work = settp_notation_begin(arena);
  sett_notation_mode mode = settp_notation_tree(&work, a);
  settp_notation_flat flat;
  settp_notation_flatten_to(&work, &mode, &flat);
  if (mode.rank >= 0 && a->kind != SETT_NOTATION_TILE) mode = settp_notation_tuple(&work, flat.count, flat.leaf);
  return settp_notation_retree(&work, a, mode);
}

SETT_PUBLIC sett_notation sett_notation_get(sett_map_arena *arena, const sett_notation *a, int count,
                                            const int64_t *path) {
  settp_notation_work work = settp_notation_begin(arena);
  sett_notation_mode mode = settp_notation_tree(&work, a);
  int i, is_tile = a->kind == SETT_NOTATION_TILE;
  for (i = 0; i < count && !work.error; ++i) {
    if (mode.rank < 0 || path[i] < 0 || path[i] >= mode.rank) settp_notation_stop(&work, SETT_NOTATION_ERROR_MODE);
    else mode = mode.mode[path[i]];
  }
  if (is_tile && count > 0 && !work.error && mode.rank != SETT_NOTATION_SKIP && !settp_notation_is_tilers(&mode))
    return settp_notation_plain(&work, mode);
  return settp_notation_retree(&work, a, mode);
}

SETT_PUBLIC sett_notation sett_notation_select(sett_map_arena *arena, const sett_notation *a, int count,
                                               const int64_t *chosen) {
  settp_notation_work work = settp_notation_begin(arena);
  sett_notation_mode mode = settp_notation_tree(&work, a), *modes = settp_notation_take(&work, count), result = mode;
  int i;
  if (a->kind == SETT_NOTATION_TILE) settp_notation_stop(&work, SETT_NOTATION_ERROR_KIND);
  for (i = 0; i < count && modes && !work.error; ++i) {
    if (chosen[i] < 0 || chosen[i] >= settp_notation_rank(&mode)) settp_notation_stop(&work, SETT_NOTATION_ERROR_MODE);
    else modes[i] = settp_notation_mode_of(&mode, (int)chosen[i]);
  }
  result.rank = modes ? count : 0;
  result.places = 0;
  settp_notation_fill(&result, modes);
  return settp_notation_retree(&work, a, result);
}

SETT_PUBLIC sett_notation sett_notation_group(sett_map_arena *arena, const sett_notation *a, int64_t begin,
                                              int64_t end) {
  settp_notation_work work = settp_notation_begin(arena);
  sett_notation_mode mode = settp_notation_tree(&work, a), *modes, result = mode;
  int i, rank = settp_notation_rank(&mode), count = 0;
  if (begin < 0 || begin >= end || end > rank) settp_notation_stop(&work, SETT_NOTATION_ERROR_MODE);
  modes = settp_notation_take(&work, rank);
  for (i = 0; i < rank && modes; ++i) {
    sett_notation_mode one = settp_notation_mode_of(&mode, i);
    if (i == begin) one = settp_notation_tuple(&work, (int)(end - begin), mode.rank < 0 ? &mode : &mode.mode[i]);
    if (i <= begin || i >= end) modes[count++] = one;
  }
  result.rank = modes ? count : 0;
  settp_notation_fill(&result, modes);
  return settp_notation_retree(&work, a, result);
}

SETT_INLINE sett_notation_mode settp_notation_congruent(settp_notation_work *work, const sett_notation_mode *shape,
                                                        const sett_notation_mode *stride) {
  sett_notation_mode result = *stride, *modes;
  int i;
  if (shape->rank == SETT_NOTATION_SKIP || (shape->rank < 0 && (shape->size < 0 || shape->places > 0)))
    settp_notation_stop(work, SETT_NOTATION_ERROR_SIZE);
  if (shape->rank != stride->rank) settp_notation_stop(work, SETT_NOTATION_ERROR_CONGRUENT);
  if (work->error) return *shape;
  if (shape->rank < 0) {
    result.size = shape->size;
    result.stride = stride->size;
    return result;
  }
  modes = settp_notation_take(work, shape->rank);
  for (i = 0; i < shape->rank && modes; ++i)
    modes[i] = settp_notation_congruent(work, &shape->mode[i], &stride->mode[i]);
  settp_notation_fill(&result, modes);
  return result;
}

/* Return the modes of a tuple. For other layouts, return an error. */
SETT_INLINE sett_notation_mode settp_notation_numbers(settp_notation_work *work, const sett_notation *a) {
  if (!a->error && a->kind != SETT_NOTATION_TUPLE) settp_notation_stop(work, SETT_NOTATION_ERROR_KIND);
  return settp_notation_shape(work, a);
}

SETT_PUBLIC sett_notation sett_notation_make(sett_map_arena *arena, const sett_notation *shape,
                                             const sett_notation *strides) {
  settp_notation_work work = settp_notation_begin(arena);
  sett_notation_mode sizes = settp_notation_numbers(&work, shape), steps = settp_notation_numbers(&work, strides);
  if (!work.error) sizes = settp_notation_congruent(&work, &sizes, &steps);
  return settp_notation_end(&work, work.error ? *shape : settp_notation_plain(&work, sizes));
}

SETT_INLINE int settp_notation_is_offset(const sett_notation_mode *offset) {
  int i;
  if (offset->rank < 0) return offset->rank == SETT_NOTATION_LEAF && offset->places == 0;
  for (i = 0; i < offset->rank; ++i)
    if (!settp_notation_is_offset(&offset->mode[i])) return 0;
  return 1;
}

SETT_PUBLIC sett_notation sett_notation_compose_of(sett_map_arena *arena, const sett_notation *outer,
                                                   const sett_notation *offset, const sett_notation *inner) {
  settp_notation_work work = settp_notation_begin(arena);
  sett_notation_mode by = settp_notation_numbers(&work, offset);
  sett_notation result = *outer;
  sett_notation_part *part;
  int i;
  if (outer->error) return *outer;
  if (inner->error) return *inner;
  if (outer->kind != SETT_NOTATION_CUTE || inner->kind != SETT_NOTATION_CUTE)
    settp_notation_stop(&work, SETT_NOTATION_ERROR_KIND);
  else if (!settp_notation_is_offset(&by)) settp_notation_stop(&work, SETT_NOTATION_ERROR_OFFSET);
  if (work.error) return settp_notation_end(&work, result);
  part = (sett_notation_part *)settp_map_take(arena, (size_t)(outer->parts + inner->parts) * sizeof *part);
  if (!part) return settp_notation_fail(SETT_NOTATION_ERROR_FULL);
  for (i = 0; i < outer->parts + inner->parts; ++i)
    part[i] = i < outer->parts ? outer->part[i] : inner->part[i - outer->parts];
  part[outer->parts - 1].offset = by;
  result.parts = outer->parts + inner->parts;
  result.part = part;
  return result;
}

SETT_INLINE sett_notation_mode settp_notation_quotients(settp_notation_work *work, const sett_notation_mode *a,
                                                        const sett_notation_mode *b) {
  sett_notation_mode result = *a, *modes;
  int i;
  if (a->rank != b->rank) settp_notation_stop(work, SETT_NOTATION_ERROR_CONGRUENT);
  if (a->rank < 0 && (a->size < 1 || b->size < 1)) settp_notation_stop(work, SETT_NOTATION_ERROR_EMPTY);
  if (work->error) return result;
  if (a->rank < 0) {
    result.size = (a->size - 1) / b->size + 1;
    return result;
  }
  modes = settp_notation_take(work, a->rank);
  for (i = 0; i < a->rank && modes; ++i) modes[i] = settp_notation_quotients(work, &a->mode[i], &b->mode[i]);
  settp_notation_fill(&result, modes);
  return result;
}

SETT_PUBLIC sett_notation sett_notation_shape_div(sett_map_arena *arena, const sett_notation *a,
                                                  const sett_notation *b) {
  settp_notation_work work = settp_notation_begin(arena);
  sett_notation_mode first = settp_notation_numbers(&work, a), second = settp_notation_numbers(&work, b);
  if (!work.error) first = settp_notation_quotients(&work, &first, &second);
  return settp_notation_end(&work, settp_notation_tuple_of(first, SETT_NOTATION_TUPLE));
}

SETT_PUBLIC sett_notation sett_notation_index(sett_map_arena *arena, const sett_notation *shape,
                                              const sett_notation *coordinate) {
  sett_notation layout = sett_notation_ordered(arena, shape, NULL);
  return sett_notation_at(arena, &layout, coordinate);
}

SETT_PUBLIC sett_notation sett_notation_coordinate(sett_map_arena *arena, const sett_notation *shape,
                                                   const sett_notation *index) {
  sett_notation layout = sett_notation_identity(arena, shape);
  return sett_notation_at(arena, &layout, index);
}

/* ---- bodies: text ----------------------------------------------------------------------------------------------- */

SETT_PUBLIC const char *sett_notation_message(int error) {
  switch (error) {
#define SETTP_NOTATION_CASE(name, text) \
  case SETT_NOTATION_##name: return text;
    SETT_NOTATION_ERRORS(SETTP_NOTATION_CASE)
#undef SETTP_NOTATION_CASE
    default: return "unknown error";
  }
}

SETT_PUBLIC int sett_notation_refused(int error) {
  return error >= SETT_NOTATION_NO_BREAK && error < SETT_NOTATION_ERROR_COUNT;
}

typedef struct settp_notation_reader {
  settp_notation_work work;
  const char *text;
  size_t length, at, error_at;
} settp_notation_reader;

SETT_INLINE settp_notation_reader settp_notation_read(sett_map_arena *arena, const char *text, size_t length) {
  settp_notation_reader reader;
  reader.work = settp_notation_begin(arena);
  reader.text = text;
  reader.length = length;
  reader.at = reader.error_at = 0;
  return reader;
}

SETT_INLINE int settp_notation_bad(settp_notation_reader *reader, int error) {
  if (!reader->work.error) {
    reader->work.error = error;
    reader->error_at = reader->at;
  }
  return 0;
}

/* Skip blanks; return the next character, or 0 at the end. */
SETT_INLINE char settp_notation_peek(settp_notation_reader *reader) {
  while (reader->at < reader->length) {
    char c = reader->text[reader->at];
    if (c != ' ' && c != '\t' && c != '\n' && c != '\r') return c;
    ++reader->at;
  }
  return 0;
}

SETT_INLINE int settp_notation_accept(settp_notation_reader *reader, char c) {
  if (reader->work.error || settp_notation_peek(reader) != c) return 0;
  ++reader->at;
  return 1;
}

SETT_INLINE int settp_notation_want(settp_notation_reader *reader, char c, int error) {
  return settp_notation_accept(reader, c) || settp_notation_bad(reader, error);
}

SETT_INLINE int settp_notation_is_name(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Match exactly these characters. If they end with a letter, the next character must not be one of a name. */
SETT_INLINE int settp_notation_word(settp_notation_reader *reader, const char *word) {
  size_t i;
  if (reader->work.error) return 0;
  settp_notation_peek(reader);
  for (i = 0; word[i]; ++i)
    if (reader->at + i >= reader->length || reader->text[reader->at + i] != word[i]) return 0;
  if (i > 0 && settp_notation_is_name(word[i - 1]) && reader->at + i < reader->length &&
      settp_notation_is_name(reader->text[reader->at + i]))
    return 0;
  reader->at += i;
  return 1;
}

SETT_INLINE int settp_notation_integer(settp_notation_reader *reader, int64_t *value) {
  int negative, digits = 0;
  size_t start;
  *value = 0;
  if (reader->work.error) return 0;
  negative = settp_notation_peek(reader) == '-';
  start = reader->at;
  for (reader->at += (size_t)negative; reader->at < reader->length; ++reader->at, ++digits) {
    char c = reader->text[reader->at];
    if (c < '0' || c > '9') break;
    if (*value > (INT64_MAX - (c - '0')) / 10) {
      reader->at = start;
      return settp_notation_bad(reader, SETT_NOTATION_ERROR_TOO_LARGE);
    }
    *value = *value * 10 + (c - '0');
  }
  if (!digits) {
    reader->at = start;
    return settp_notation_bad(reader, SETT_NOTATION_ERROR_INTEGER);
  }
  if (negative) *value = -*value;
  return 1;
}

/* Read 4, 2@1 (2 at place 1), _4 (CuTe's static 4), or _ (all of a mode). The number is stored in size. */
SETT_INLINE sett_notation_mode settp_notation_read_leaf(settp_notation_reader *reader) {
  sett_notation_mode leaf = settp_notation_leaf(0, 0);
  if (settp_notation_accept(reader, '_')) {
    char c = reader->at < reader->length ? reader->text[reader->at] : (char)0;
    if (!((c >= '0' && c <= '9') || c == '-')) {
      leaf.rank = SETT_NOTATION_SKIP;
      return leaf;
    }
  }
  if (!settp_notation_integer(reader, &leaf.size)) {
    if (reader->work.error == SETT_NOTATION_ERROR_INTEGER) reader->work.error = SETT_NOTATION_ERROR_TUPLE;
    return leaf;
  }
  while (settp_notation_accept(reader, '@')) {
    int64_t place;
    size_t start;
    settp_notation_peek(reader);
    start = reader->at;
    settp_notation_integer(reader, &place);
    if (!reader->work.error && (place < 0 || place > 63 || leaf.places == SETT_NOTATION_PLACES)) {
      reader->at = start;
      settp_notation_bad(reader, SETT_NOTATION_ERROR_PLACE);
    }
    if (reader->work.error) return leaf;
    leaf.place[leaf.places++] = (int32_t)place;
  }
  return leaf;
}

SETT_INLINE sett_notation_mode settp_notation_read_tuple(settp_notation_reader *reader, int depth) {
  sett_notation_mode modes[SETT_NOTATION_LEAVES], tuple = settp_notation_leaf(0, 0);
  int count = 0;
  if (!settp_notation_accept(reader, '(')) return settp_notation_read_leaf(reader);
  if (depth == SETT_NOTATION_DEPTH) {
    --reader->at;
    settp_notation_bad(reader, SETT_NOTATION_ERROR_DEEP);
  }
  if (!settp_notation_accept(reader, ')'))
    while (!reader->work.error) {
      if (count == SETT_NOTATION_LEAVES) settp_notation_bad(reader, SETT_NOTATION_ERROR_LEAVES);
      else modes[count++] = settp_notation_read_tuple(reader, depth + 1);
      if (reader->work.error || settp_notation_accept(reader, ')')) break;
      settp_notation_want(reader, ',', SETT_NOTATION_ERROR_TUPLE_END);
    }
  if (reader->work.error) return tuple;
  tuple = settp_notation_tuple(&reader->work, count, modes);
  return tuple;
}

/* Return the layout of a shape and strides. If they do not match, the column of the error is that of the strides. */
SETT_INLINE sett_notation_mode settp_notation_zip(settp_notation_reader *reader, const sett_notation_mode *shape,
                                                  const sett_notation_mode *stride, size_t shape_at, size_t stride_at) {
  sett_notation_mode result = *shape, *modes;
  int i;
  if (reader->work.error) return result;
  if (shape->rank == SETT_NOTATION_SKIP || (shape->rank < 0 && (shape->size < 0 || shape->places > 0))) {
    reader->at = shape_at;
    settp_notation_bad(reader, SETT_NOTATION_ERROR_SIZE);
    return result;
  }
  if (shape->rank != stride->rank) {
    reader->at = stride_at;
    settp_notation_bad(reader, SETT_NOTATION_ERROR_CONGRUENT);
    return result;
  }
  if (shape->rank < 0) {
    result = *stride;
    result.size = shape->size;
    result.stride = stride->size;
    return result;
  }
  modes = settp_notation_take(&reader->work, shape->rank);
  for (i = 0; i < shape->rank && modes; ++i)
    modes[i] = settp_notation_zip(reader, &shape->mode[i], &stride->mode[i], shape_at, stride_at);
  settp_notation_fill(&result, modes);
  return result;
}

/* Read a tuple. If ':' follows, read SHAPE:STRIDE instead, and set *is_layout. */
SETT_INLINE sett_notation_mode settp_notation_read_layout(settp_notation_reader *reader, int *is_layout) {
  sett_notation_mode shape, stride;
  settp_notation_flat flat;
  size_t shape_at, stride_at;
  settp_notation_peek(reader);
  shape_at = reader->at;
  shape = settp_notation_read_tuple(reader, 0);
  *is_layout = settp_notation_accept(reader, ':');
  if (*is_layout) {
    settp_notation_peek(reader);
    stride_at = reader->at;
    stride = settp_notation_read_tuple(reader, 0);
    shape = settp_notation_zip(reader, &shape, &stride, shape_at, stride_at);
  }
  if (!reader->work.error) settp_notation_flatten_to(&reader->work, &shape, &flat);
  if (reader->work.error == SETT_NOTATION_ERROR_LEAVES && reader->error_at == 0) reader->error_at = shape_at;
  return shape;
}

/* Read S<b,m,s>, Sw<..> or Swizzle(b,m,s); return 0 if there is none. */
SETT_INLINE int settp_notation_read_swizzle(settp_notation_reader *reader, sett_notation_part *part) {
  int64_t number[3];
  size_t start;
  int i, round;
  settp_notation_peek(reader);
  start = reader->at;
  round = settp_notation_word(reader, "Swizzle(");
  if (!round && !settp_notation_word(reader, "Sw<") && !settp_notation_word(reader, "S<") &&
      !settp_notation_word(reader, "Swizzle<"))
    return 0;
  for (i = 0; i < 3; ++i) {
    if (i > 0) settp_notation_want(reader, ',', SETT_NOTATION_ERROR_SWIZZLE);
    if (!settp_notation_integer(reader, &number[i])) return 1;
  }
  settp_notation_want(reader, round ? ')' : '>', SETT_NOTATION_ERROR_SWIZZLE);
  if (reader->work.error) return 1;
  if (number[0] < 0 || number[0] > 62 || number[1] < 0 || number[1] > 62 || number[2] < -62 || number[2] > 62 ||
      number[0] > (number[2] < 0 ? -number[2] : number[2]) ||
      number[0] + number[1] + (number[2] < 0 ? -number[2] : number[2]) > 62) {
    reader->at = start;
    settp_notation_bad(reader, SETT_NOTATION_ERROR_SWIZZLE_RANGE);
  }
  part->swizzle = 1;
  part->bits = number[0];
  part->base = number[1];
  part->shift = number[2];
  return 1;
}

SETT_INLINE sett_notation_part settp_notation_no_part(void) {
  sett_notation_part part;
  part.swizzle = 0;
  part.bits = part.base = part.shift = 0;
  part.layout = part.offset = settp_notation_leaf(0, 0);
  return part;
}

enum { SETTP_NOTATION_PARTS = 8 };

/* Return 1 if the text has a pointer here, as CuTe prints the pointer of a tensor. */
SETT_INLINE int settp_notation_is_pointer(const char *text, size_t length, size_t at) {
  static const char *const names[] = {"ptr[", "gmem_ptr[", "smem_ptr[", "rmem_ptr[", "tmem_ptr["};
  size_t i;
  int k;
  for (k = 0; k < 5; ++k) {
    for (i = 0; names[k][i] && at + i < length && text[at + i] == names[k][i]; ++i) {}
    if (!names[k][i]) return 1;
  }
  return 0;
}

/* Read a pointer, smem_ptr[16b](unset) or ptr[32b](0x7f00), and the o after it. Neither is part of the layout. If `part` is not NULL, it is the swizzle
 * before the pointer. This swizzle permutes byte addresses, and is changed to one that permutes elements: in S<B,M,S>, M is lowered by log2 of the
 * bytes of an element. */
SETT_INLINE void settp_notation_read_pointer(settp_notation_reader *reader, sett_notation_part *part) {
  uint64_t address = 0;
  int64_t bits = 0, bytes, low = 0, shift = part ? part->shift < 0 ? -part->shift : part->shift : 0;
  size_t start = reader->at;
  int digit = 0, good;
  while (reader->at < reader->length && reader->text[reader->at++] != '[') {}
  if (!settp_notation_integer(reader, &bits)) return;
  good = bits > 0 && settp_notation_accept(reader, 'b') && settp_notation_accept(reader, ']') &&
         settp_notation_accept(reader, '(');
  if (good && reader->at + 2 < reader->length && reader->text[reader->at] == '0' &&
      reader->text[reader->at + 1] == 'x') {
    size_t first = reader->at += 2;
    for (; reader->at < reader->length && !(address >> 60); ++reader->at, address = address << 4 | (uint64_t)digit) {
      char c = reader->text[reader->at];
      digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
      if (digit < 0) break;
    }
    good = reader->at > first;
  } else if (good) {
    good = settp_notation_word(reader, "unset") || settp_notation_word(reader, "nullptr");
  }
  if (!good || !settp_notation_accept(reader, ')') || !settp_notation_word(reader, "o")) {
    settp_notation_bad(reader, SETT_NOTATION_ERROR_POINTER);
    return;
  }
  if (!part) return;
  for (bytes = 8; bytes < bits && low < 62; bytes *= 2) ++low;
  if (bytes != bits || low > part->base ||
      (part->bits && address & (((uint64_t)1 << (part->bits + part->base + shift)) - 1))) {
    reader->at = start;
    settp_notation_bad(reader, SETT_NOTATION_ERROR_POINTER_SWIZZLE);
    return;
  }
  part->base -= low;
}

/* Read a tuple, a layout, or a chain of layouts and swizzles. */
SETT_INLINE sett_notation settp_notation_read_cute(settp_notation_reader *reader) {
  sett_notation layout = settp_notation_none(SETT_NOTATION_CUTE);
  sett_notation_part part[SETTP_NOTATION_PARTS], *copy;
  int count = 0, is_layout, i;
  while (!reader->work.error) {
    if (count == SETTP_NOTATION_PARTS) {
      settp_notation_bad(reader, SETT_NOTATION_ERROR_LEAVES);
      break;
    }
    part[count] = settp_notation_no_part();
    settp_notation_peek(reader);
    if (count == 0 && settp_notation_is_pointer(reader->text, reader->length, reader->at)) {
      settp_notation_read_pointer(reader, NULL);
      if (reader->work.error) break;
    }
    if (!settp_notation_read_swizzle(reader, &part[count])) {
      part[count].layout = settp_notation_read_layout(reader, &is_layout);
      if (reader->work.error) break;
      if (!is_layout && count == 0 && settp_notation_peek(reader) != 'o')
        return settp_notation_tuple_of(part[0].layout, SETT_NOTATION_TUPLE);
      if (!is_layout) settp_notation_bad(reader, SETT_NOTATION_ERROR_COLON);
    }
    if (!settp_notation_word(reader, "o")) {
      ++count;
      break;
    }
    settp_notation_peek(reader);
    if (part[count].swizzle && settp_notation_is_pointer(reader->text, reader->length, reader->at)) {
      settp_notation_read_pointer(reader, &part[count]);
    } else {
      size_t start = reader->at;
      part[count].offset = settp_notation_read_tuple(reader, 0);
      if (!reader->work.error && !settp_notation_is_offset(&part[count].offset)) {
        reader->at = start;
        settp_notation_bad(reader, SETT_NOTATION_ERROR_OFFSET);
      }
      if (!settp_notation_word(reader, "o")) settp_notation_bad(reader, SETT_NOTATION_ERROR_CHAIN);
    }
    ++count;
  }
  if (reader->work.error) return layout;
  copy = (sett_notation_part *)settp_map_take(reader->work.arena, (size_t)count * sizeof *copy);
  if (!copy) settp_notation_bad(reader, SETT_NOTATION_ERROR_FULL);
  for (i = 0; i < count && copy; ++i) copy[i] = part[i];
  layout.parts = copy ? count : 0;
  layout.part = copy;
  return layout;
}

/* Read [LAYOUT; n:1; _; ..]. */
SETT_INLINE sett_notation settp_notation_read_tile(settp_notation_reader *reader) {
  sett_notation_mode modes[SETT_NOTATION_LEAVES], tile;
  int count = 0, is_layout;
  settp_notation_accept(reader, '[');
  if (!settp_notation_accept(reader, ']'))
    while (!reader->work.error) {
      if (count == SETT_NOTATION_LEAVES) {
        settp_notation_bad(reader, SETT_NOTATION_ERROR_LEAVES);
        break;
      }
      modes[count] = settp_notation_read_layout(reader, &is_layout);
      if (!reader->work.error && !is_layout && modes[count].rank != SETT_NOTATION_SKIP) {
        sett_notation_mode tuple = modes[count];
        modes[count] = settp_notation_tilers(&reader->work, &tuple);
      }
      ++count;
      if (reader->work.error || settp_notation_accept(reader, ']')) break;
      if (!settp_notation_accept(reader, ',')) settp_notation_want(reader, ';', SETT_NOTATION_ERROR_TILE_END);
    }
  tile = settp_notation_tuple(&reader->work, reader->work.error ? 0 : count, modes);
  tile.places = -1;
  return settp_notation_tuple_of(tile, SETT_NOTATION_TILE);
}

/* ---- bodies: the texts of arrays -------------------------------------------------------------------------------- */

/* Read a shape such as 16x64@ and return 1. If there is none, read nothing and return 0. */
SETT_INLINE int settp_notation_read_dims(settp_notation_reader *reader, sett_notation *layout) {
  size_t at = reader->at;
  int good = 1, rank = 0;
  while (good) {
    int64_t value = 0;
    size_t start = at;
    for (; at < reader->length && reader->text[at] >= '0' && reader->text[at] <= '9'; ++at)
      value = value > INT64_MAX / 10 - 1 ? value : value * 10 + (reader->text[at] - '0');
    good = at > start && rank < SETT_NOTATION_DIMS;
    if (good) layout->dims[rank++] = value;
    if (at >= reader->length || reader->text[at] != 'x') break;
    ++at;
  }
  if (at + 1 >= reader->length || reader->text[at] != '@' ||
      (reader->text[at + 1] >= '0' && reader->text[at + 1] <= '9'))
    return 0;
  if (!good) settp_notation_bad(reader, SETT_NOTATION_ERROR_DIMS);
  layout->rank = rank;
  reader->at = at + 1;
  return 1;
}

/* Read a list of integers between these brackets, and return its length. */
SETT_INLINE int settp_notation_read_list(settp_notation_reader *reader, char open, char shut, int64_t *list, int most) {
  int count = 0;
  settp_notation_want(reader, open, SETT_NOTATION_ERROR_LIST);
  if (settp_notation_accept(reader, shut)) return 0;
  while (!reader->work.error) {
    if (count == most) {
      settp_notation_bad(reader, SETT_NOTATION_ERROR_LEAVES);
      break;
    }
    settp_notation_integer(reader, &list[count++]);
    if (reader->work.error || settp_notation_accept(reader, shut)) break;
    settp_notation_want(reader, ',', SETT_NOTATION_ERROR_LIST_END);
  }
  return count;
}

SETT_INLINE void settp_notation_read_strides(settp_notation_reader *reader, sett_notation *layout) {
  int count;
  size_t at = reader->at;
  layout->kind = SETT_NOTATION_STRIDES;
  --reader->at; /* go back to the bracket, so that the caller reads it */
  count = settp_notation_read_list(reader, '(', ')', layout->strides, SETT_NOTATION_DIMS);
  if (!reader->work.error && count != layout->rank) {
    reader->at = at;
    settp_notation_bad(reader, SETT_NOTATION_ERROR_RANK);
  }
  if (settp_notation_accept(reader, '+')) settp_notation_integer(reader, &layout->offset);
  else if (settp_notation_peek(reader) == '-') settp_notation_integer(reader, &layout->offset);
}

/* Return the dimension that a letter of a tag or alias means, or -1. `set` has one bit for each letter that occurs in the text; bit 0 stands for the
 * letter a. */
SETT_INLINE int settp_notation_letter(char letter, uint32_t set) {
  static const char *const orders[] = {"ldnc", "ldigo", "ldio", "ldgo", "tnc", "nt", "x", "ncdhw", "goidhw", "oidhw"};
  int k, i, dim = 0;
  if (set & 1) return letter - 'a';
  for (k = 0; k < 10; ++k) {
    uint32_t known = 0;
    const char *order = orders[k];
    for (i = 0; order[i]; ++i) known |= (uint32_t)1 << (order[i] - 'a');
    if ((set & known) != set || (k < 6 && set != known)) continue;
    for (i = 0; order[i] && order[i] != letter; ++i) dim += (int)(set >> (order[i] - 'a') & 1);
    return order[i] ? dim : -1;
  }
  return -1;
}

SETT_INLINE void settp_notation_read_tag(settp_notation_reader *reader, sett_notation *layout) {
  int64_t inner = 1, stride;
  int rank = 0, i;
  uint32_t set = 0, dims = 0, capital = 0, blocked = 0;
  size_t at, start = reader->at;
  layout->kind = SETT_NOTATION_ONEDNN;
  for (at = start; at < reader->length; ++at) {
    char c = reader->text[at], low = (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    if (low >= 'a' && low <= 'z') set |= (uint32_t)1 << (low - 'a');
  }
  for (at = start; at < reader->length; ++at) {
    char c = reader->text[at], low = (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    int dim;
    reader->at = at;
    if (low < 'a' || low > 'z') break;
    dim = settp_notation_letter(low, set);
    if (dim < 0 || dim >= layout->rank || (dims >> dim & 1)) {
      settp_notation_bad(reader, SETT_NOTATION_ERROR_TAG);
      return;
    }
    dims |= (uint32_t)1 << dim;
    if (c != low) capital |= (uint32_t)1 << dim;
    layout->order[rank++] = dim;
  }
  reader->at = at;
  if (rank != layout->rank) settp_notation_bad(reader, SETT_NOTATION_ERROR_TAG);
  while (!reader->work.error && reader->at < reader->length && reader->text[reader->at] >= '0' &&
         reader->text[reader->at] <= '9') {
    int64_t size;
    int dim;
    size_t here = reader->at;
    settp_notation_integer(reader, &size);
    dim = !reader->work.error && reader->at < reader->length && reader->text[reader->at] >= 'a' &&
                  reader->text[reader->at] <= 'z'
              ? settp_notation_letter(reader->text[reader->at], set)
              : -1;
    if (dim < 0 || dim >= rank || size < 1 || !(capital >> dim & 1) || layout->blocks == SETT_NOTATION_DIMS) {
      reader->at = here;
      settp_notation_bad(reader, SETT_NOTATION_ERROR_TAG);
      return;
    }
    ++reader->at;
    blocked |= (uint32_t)1 << dim;
    layout->block_dim[layout->blocks] = dim;
    layout->block_size[layout->blocks++] = size;
    inner = settp_notation_mul(&reader->work, inner, size);
  }
  if (!reader->work.error && blocked != capital) settp_notation_bad(reader, SETT_NOTATION_ERROR_TAG);
  { /* the only alias whose letters are in another order in oneDNN's table */
    static const char odd[] = "gIOdhw2i8o16i2o";
    for (i = 0; odd[i] && start + (size_t)i < reader->at && reader->text[start + (size_t)i] == odd[i]; ++i) {}
    if (!odd[i] && start + (size_t)i == reader->at && rank == 6) {
      layout->order[1] = 1;
      layout->order[2] = 2;
    }
  }
  stride = inner;
  for (i = rank; i-- > 0 && !reader->work.error;) {
    int64_t block = 1;
    int k;
    for (k = 0; k < layout->blocks; ++k)
      if (layout->block_dim[k] == layout->order[i]) block *= layout->block_size[k];
    layout->strides[layout->order[i]] = stride;
    if (layout->dims[layout->order[i]] > 0) /* sizes of 0 count as 1 */
      stride = settp_notation_mul(&reader->work, stride, (layout->dims[layout->order[i]] - 1) / block + 1);
  }
  if (reader->work.error && !reader->error_at) reader->error_at = start;
}

SETT_INLINE int settp_notation_log(int64_t value) { /* Return the logarithm of a power of two, or -1. */
  int bits = 0;
  while (bits < SETT_NOTATION_BITS && ((int64_t)1 << bits) < value) ++bits;
  return ((int64_t)1 << bits) == value ? bits : -1;
}

/* Read a name of at most 15 characters. */
SETT_INLINE void settp_notation_read_name(settp_notation_reader *reader, char *name) {
  size_t start, i;
  settp_notation_peek(reader);
  start = reader->at;
  while (reader->at < reader->length && settp_notation_is_name(reader->text[reader->at])) ++reader->at;
  if (reader->at == start || reader->at - start > 15) {
    reader->at = start;
    settp_notation_bad(reader, SETT_NOTATION_ERROR_NAME);
  }
  for (i = 0; i < 16; ++i) name[i] = (char)0;
  for (i = start; i < reader->at; ++i) name[i - start] = reader->text[i];
}

SETT_INLINE int settp_notation_name_is(const char *a, const char *b) {
  for (; *a && *a == *b; ++a, ++b) {}
  return *a == *b;
}

/* The bases before they are packed: one number for each output dimension. */
typedef struct settp_notation_bases {
  int count[SETT_NOTATION_DIMS]; /* number of bases of each input dimension */
  int total, dims;
  int64_t basis[SETT_NOTATION_BITS + 1][SETT_NOTATION_DIMS];
} settp_notation_bases;

SETT_INLINE void settp_notation_pack(settp_notation_work *work, sett_notation_linear *linear,
                                     const settp_notation_bases *bases) {
  int i, d, shift;
  if (bases->total > SETT_NOTATION_BITS || settp_notation_total(linear->outs, linear->out_bits) > SETT_NOTATION_BITS)
    settp_notation_stop(work, SETT_NOTATION_ERROR_POWER);
  for (i = 0; i < linear->ins; ++i) linear->in_bits[i] = bases->count[i];
  for (i = 0; i < bases->total && !work->error; ++i) {
    linear->basis[i] = 0;
    for (d = shift = 0; d < linear->outs; shift += linear->out_bits[d++]) {
      if (bases->basis[i][d] < 0 || bases->basis[i][d] >= (int64_t)1 << linear->out_bits[d])
        settp_notation_stop(work, SETT_NOTATION_ERROR_BASIS_SIZE);
      else linear->basis[i] |= (uint64_t)bases->basis[i][d] << shift;
    }
  }
}

SETT_INLINE sett_notation_linear *settp_notation_new_linear(settp_notation_work *work) {
  sett_notation_linear *linear = NULL;
  int i, k;
  if (!work->error) linear = (sett_notation_linear *)settp_map_take(work->arena, sizeof *linear);
  if (!linear) {
    settp_notation_stop(work, SETT_NOTATION_ERROR_FULL);
    return NULL;
  }
  linear->ins = linear->outs = 0;
  for (i = 0; i < SETT_NOTATION_DIMS; ++i) {
    linear->in_bits[i] = linear->out_bits[i] = 0;
    for (k = 0; k < 16; ++k) linear->in[i][k] = linear->out[i][k] = (char)0;
  }
  for (i = 0; i < SETT_NOTATION_BITS; ++i) linear->basis[i] = 0;
  return linear;
}

/* append `number` to the text if it is at least 0 */
SETT_INLINE void settp_notation_name(char *name, const char *text, int number) {
  int i = 0;
  for (; *text; ++text) name[i++] = *text;
  if (number >= 10) name[i++] = (char)('0' + number / 10);
  if (number >= 0) name[i++] = (char)('0' + number % 10);
  name[i] = (char)0;
}

/* Read {name = size, ..}; if `sized` is 0, read {name, ..}. */
SETT_INLINE void settp_notation_read_sizes(settp_notation_reader *reader, int *count, char names[][16], int *bits,
                                           int sized) {
  int i;
  *count = 0;
  settp_notation_want(reader, '{', SETT_NOTATION_ERROR_BRACE);
  if (reader->work.error || settp_notation_accept(reader, '}')) return;
  while (!reader->work.error) {
    int64_t size = 1;
    if (*count == SETT_NOTATION_DIMS) settp_notation_bad(reader, SETT_NOTATION_ERROR_LEAVES);
    else settp_notation_read_name(reader, names[*count]);
    for (i = 0; i < *count && !reader->work.error; ++i)
      if (settp_notation_name_is(names[i], names[*count])) settp_notation_bad(reader, SETT_NOTATION_ERROR_NAME);
    if (sized) settp_notation_want(reader, '=', SETT_NOTATION_ERROR_EQUAL);
    if (sized) settp_notation_integer(reader, &size);
    if (!reader->work.error && settp_notation_log(size) < 0) settp_notation_bad(reader, SETT_NOTATION_ERROR_POWER);
    if (reader->work.error) return;
    bits[(*count)++] = settp_notation_log(size);
    if (settp_notation_accept(reader, '}')) return;
    settp_notation_want(reader, ',', SETT_NOTATION_ERROR_BRACE_END);
  }
}

/* Round the size of dimension d up to a power of two, for a layout that is larger than its array, and mark the layout as such (MASKED). Return the
 * number of bits, or -1 if it exceeds SETT_NOTATION_BITS. */
SETT_INLINE int settp_notation_mask(sett_notation *layout, int d) {
  int bits = 0;
  while (bits < SETT_NOTATION_BITS && (int64_t)1 << bits < layout->dims[d]) ++bits;
  layout->kind = SETT_NOTATION_MASKED;
  return (int64_t)1 << bits < layout->dims[d] ? -1 : bits;
}

/* Read {name = [[..], ..], ..}. If `arrow` is 1, read also -> {name = size, ..}. Otherwise the output dimensions are dim0, dim1, .., with `dims` as
 * their sizes, or the next powers of two. If `arrow` is -1, sizes need not be powers of two. */
SETT_INLINE void settp_notation_read_linear(settp_notation_reader *reader, sett_notation *layout, int arrow) {
  sett_notation_linear *linear = settp_notation_new_linear(&reader->work);
  settp_notation_bases *bases = NULL;
  size_t start;
  int i, d;
  layout->kind = SETT_NOTATION_TRITON;
  layout->linear = linear;
  if (!reader->work.error) bases = (settp_notation_bases *)settp_map_take(reader->work.arena, sizeof *bases);
  if (!bases) settp_notation_bad(reader, SETT_NOTATION_ERROR_FULL);
  settp_notation_peek(reader);
  start = reader->at;
  settp_notation_want(reader, '{', SETT_NOTATION_ERROR_BRACE);
  if (reader->work.error) return;
  bases->total = 0;
  bases->dims = -1;
  if (!settp_notation_accept(reader, '}'))
    while (!reader->work.error) {
      if (linear->ins == SETT_NOTATION_DIMS) settp_notation_bad(reader, SETT_NOTATION_ERROR_LEAVES);
      else settp_notation_read_name(reader, linear->in[linear->ins]);
      for (i = 0; i < linear->ins && !reader->work.error; ++i)
        if (settp_notation_name_is(linear->in[i], linear->in[linear->ins]))
          settp_notation_bad(reader, SETT_NOTATION_ERROR_NAME);
      settp_notation_want(reader, '=', SETT_NOTATION_ERROR_EQUAL);
      settp_notation_want(reader, '[', SETT_NOTATION_ERROR_LIST);
      if (reader->work.error) break;
      bases->count[linear->ins] = 0;
      if (!settp_notation_accept(reader, ']'))
        while (!reader->work.error) {
          size_t here = (settp_notation_peek(reader), reader->at);
          int dims;
          if (bases->total == SETT_NOTATION_BITS) {
            settp_notation_bad(reader, SETT_NOTATION_ERROR_POWER);
            break;
          }
          dims = settp_notation_read_list(reader, '[', ']', bases->basis[bases->total], SETT_NOTATION_DIMS);
          if (bases->dims >= 0 && dims != bases->dims) {
            reader->at = here;
            settp_notation_bad(reader, SETT_NOTATION_ERROR_BASIS_SIZE);
          }
          bases->dims = dims;
          ++bases->total;
          ++bases->count[linear->ins];
          if (reader->work.error || settp_notation_accept(reader, ']')) break;
          settp_notation_want(reader, ',', SETT_NOTATION_ERROR_LIST_END);
        }
      ++linear->ins;
      if (reader->work.error || settp_notation_accept(reader, '}')) break;
      settp_notation_want(reader, ',', SETT_NOTATION_ERROR_BRACE_END);
    }
  if (arrow > 0 && settp_notation_word(reader, "->")) {
    settp_notation_read_sizes(reader, &linear->outs, linear->out, linear->out_bits, 1);
    if (!reader->work.error && bases->dims >= 0 && bases->dims != linear->outs)
      settp_notation_bad(reader, SETT_NOTATION_ERROR_BASIS_SIZE);
  } else if (!reader->work.error) {
    linear->outs = layout->rank > 0 ? layout->rank : bases->dims < 0 ? 0 : bases->dims;
    if (bases->dims >= 0 && bases->dims != linear->outs) settp_notation_bad(reader, SETT_NOTATION_ERROR_BASIS_SIZE);
    for (d = 0; d < linear->outs && !reader->work.error; ++d) {
      settp_notation_name(linear->out[d], "dim", d);
      for (i = 0; i < bases->total && layout->rank == 0; ++i)
        while (linear->out_bits[d] < SETT_NOTATION_BITS && bases->basis[i][d] >> linear->out_bits[d] > 0)
          ++linear->out_bits[d];
      if (layout->rank > 0) linear->out_bits[d] = settp_notation_log(layout->dims[d]);
      if (arrow < 0 && linear->out_bits[d] < 0) linear->out_bits[d] = settp_notation_mask(layout, d);
      if (linear->out_bits[d] < 0) settp_notation_bad(reader, SETT_NOTATION_ERROR_POWER);
    }
  }
  if (reader->work.error) return;
  settp_notation_pack(&reader->work, linear, bases);
  if (reader->work.error) reader->error_at = start;
}

/* ---- bodies: encodings ------------------------------------------------------------------------------------------ */

#define SETTP_NOTATION_KEYS(X)          \
  X(SIZE_PER_THREAD, "sizePerThread")   \
  X(THREADS_PER_WARP, "threadsPerWarp") \
  X(WARPS, "warpsPerCTA")               \
  X(ORDER, "order")                     \
  X(CTAS, "CTAsPerCGA")                 \
  X(CTA_SPLIT, "CTASplitNum")           \
  X(CTA_ORDER, "CTAOrder")              \
  X(MAJOR, "versionMajor")              \
  X(MINOR, "versionMinor")              \
  X(SHAPE, "instrShape")                \
  X(OPERAND, "opIdx")                   \
  X(K_WIDTH, "kWidth")                  \
  X(DIM, "dim")                         \
  X(VERSION, "version")                 \
  X(TRANSPOSED, "isTransposed")         \
  X(TRANSPOSE, "isTranspose")           \
  X(TILES, "tilesPerWarp")              \
  X(BITS, "elementBitWidth")            \
  X(VEC, "vec")                         \
  X(PER_PHASE, "perPhase")              \
  X(MAX_PHASE, "maxPhase")              \
  X(SWIZZLE, "swizzlingByteWidth")      \
  X(SHARED_TRANSPOSED, "transposed")    \
  X(FP4, "fp4Padded")                   \
  X(RANK, "rank")                       \
  X(LEADING, "hasLeadingOffset")

enum {
#define SETTP_NOTATION_KEY(name, text) SETTP_NOTATION_##name,
  SETTP_NOTATION_KEYS(SETTP_NOTATION_KEY) SETTP_NOTATION_KEY_COUNT
#undef SETTP_NOTATION_KEY
};

enum {
  SETTP_NOTATION_BLOCKED,
  SETTP_NOTATION_MMA,
  SETTP_NOTATION_MFMA,
  SETTP_NOTATION_WMMA,
  SETTP_NOTATION_DOT,
  SETTP_NOTATION_SLICE,
  SETTP_NOTATION_SWIZZLED,
  SETTP_NOTATION_ROTATING,
  SETTP_NOTATION_NVMMA
};

enum { SETTP_NOTATION_LIST = 8 };

/* An encoding as it is written: its kind, and the numbers of each key. A missing key has count 0. */
typedef struct settp_notation_encoding {
  int kind;
  int count[SETTP_NOTATION_KEY_COUNT];
  int64_t list[SETTP_NOTATION_KEY_COUNT][SETTP_NOTATION_LIST];
  const struct settp_notation_encoding *parent;
  int blocks; /* number of bases of CGALayout; -1 if the older keys are used instead */
  int64_t block[SETTP_NOTATION_LIST][SETTP_NOTATION_LIST];
} settp_notation_encoding;

SETT_INLINE const char *settp_notation_key(int key) {
  static const char *const names[] = {
#define SETTP_NOTATION_KEY(name, text) text,
      SETTP_NOTATION_KEYS(SETTP_NOTATION_KEY)
#undef SETTP_NOTATION_KEY
  };
  return names[key];
}

/* Read [[0, 1], ..]: one basis for each bit of the block id. The unit of a basis is the part of the array that one block holds. */
SETT_INLINE void settp_notation_read_blocks(settp_notation_reader *reader, settp_notation_encoding *encoding) {
  int i;
  encoding->blocks = 0;
  settp_notation_want(reader, '[', SETT_NOTATION_ERROR_LIST);
  if (settp_notation_accept(reader, ']')) return;
  while (!reader->work.error) {
    int64_t *basis = encoding->block[encoding->blocks];
    if (encoding->blocks == SETTP_NOTATION_LIST) {
      settp_notation_bad(reader, SETT_NOTATION_ERROR_LEAVES);
      break;
    }
    for (i = 0; i < SETTP_NOTATION_LIST; ++i) basis[i] = 0;
    settp_notation_read_list(reader, '[', ']', basis, SETTP_NOTATION_LIST);
    for (i = 0; i < SETTP_NOTATION_LIST; ++i)
      if (basis[i] < 0 || basis[i] > 1 << 20 || (basis[i] > 0 && settp_notation_log(basis[i]) < 0))
        settp_notation_bad(reader, SETT_NOTATION_ERROR_POWER);
    ++encoding->blocks;
    if (reader->work.error || settp_notation_accept(reader, ']')) break;
    settp_notation_want(reader, ',', SETT_NOTATION_ERROR_LIST_END);
  }
}

/* Read the dialect's name: #ttg., an older spelling, or only #. */
SETT_INLINE int settp_notation_dialect(settp_notation_reader *reader) {
  return settp_notation_word(reader, "#ttg.") || settp_notation_word(reader, "#triton_gpu.") ||
         settp_notation_word(reader, "#");
}

/* Read the dialect's name and this word. If the text has something else, read nothing. */
SETT_INLINE int settp_notation_attribute(settp_notation_reader *reader, const char *word) {
  size_t at = reader->at;
  if (settp_notation_dialect(reader) && settp_notation_word(reader, word)) return 1;
  reader->at = at;
  return 0;
}

SETT_INLINE const settp_notation_encoding *settp_notation_read_encoding(settp_notation_reader *reader, int depth) {
  static const char *const names[] = {"blocked",     "nvidia_mma", "amd_mfma",        "amd_wmma",
                                      "dot_op",      "slice",      "swizzled_shared", "amd_rotating_shared",
                                      "nvmma_shared"};
  settp_notation_encoding *encoding = NULL;
  int i;
  if (!reader->work.error) encoding = (settp_notation_encoding *)settp_map_take(reader->work.arena, sizeof *encoding);
  if (!encoding) settp_notation_bad(reader, SETT_NOTATION_ERROR_FULL);
  if (depth > 4) settp_notation_bad(reader, SETT_NOTATION_ERROR_DEEP);
  if (!settp_notation_dialect(reader)) settp_notation_bad(reader, SETT_NOTATION_ERROR_ENCODING);
  for (i = 0; i < 9 && !settp_notation_word(reader, names[i]); ++i) {}
  if (i == 9 && settp_notation_word(reader, "mma")) i = SETTP_NOTATION_MMA;
  if (i == 9 && settp_notation_word(reader, "shared")) i = SETTP_NOTATION_SWIZZLED;
  if (i == 9) settp_notation_bad(reader, SETT_NOTATION_ERROR_ENCODING);
  settp_notation_want(reader, '<', SETT_NOTATION_ERROR_BRACE);
  settp_notation_want(reader, '{', SETT_NOTATION_ERROR_BRACE);
  if (reader->work.error) return NULL;
  encoding->kind = i;
  encoding->parent = NULL;
  encoding->blocks = -1;
  for (i = 0; i < SETTP_NOTATION_KEY_COUNT; ++i) encoding->count[i] = 0;
  while (!reader->work.error) {
    int is_parent = settp_notation_word(reader, "parent"), is_blocks = settp_notation_word(reader, "CGALayout");
    for (i = 0; i < SETTP_NOTATION_KEY_COUNT && !is_parent && !is_blocks &&
                !settp_notation_word(reader, settp_notation_key(i));
         ++i) {}
    if (i == SETTP_NOTATION_KEY_COUNT) settp_notation_bad(reader, SETT_NOTATION_ERROR_KEY);
    settp_notation_want(reader, '=', SETT_NOTATION_ERROR_EQUAL);
    if (reader->work.error) break;
    if (is_parent) {
      encoding->parent = settp_notation_read_encoding(reader, depth + 1);
    } else if (is_blocks) {
      settp_notation_read_blocks(reader, encoding);
    } else if (settp_notation_peek(reader) == '[') {
      encoding->count[i] = settp_notation_read_list(reader, '[', ']', encoding->list[i], SETTP_NOTATION_LIST);
    } else {
      encoding->count[i] = 1;
      if (settp_notation_word(reader, "true")) encoding->list[i][0] = 1;
      else if (settp_notation_word(reader, "false")) encoding->list[i][0] = 0;
      else settp_notation_integer(reader, &encoding->list[i][0]);
    }
    if (reader->work.error || settp_notation_accept(reader, '}')) break;
    settp_notation_want(reader, ',', SETT_NOTATION_ERROR_BRACE_END);
  }
  settp_notation_want(reader, '>', SETT_NOTATION_ERROR_CLOSE);
  return encoding;
}

enum {
  SETTP_NOTATION_REGISTER,
  SETTP_NOTATION_LANE,
  SETTP_NOTATION_WARP,
  SETTP_NOTATION_BLOCK,
  SETTP_NOTATION_IN_DIMS
};

/* The tile of an encoding while it is built: the bases of each input dimension, and the current size of each output dimension. */
typedef struct settp_notation_tiling {
  settp_notation_work *work;
  int rank, count[SETTP_NOTATION_IN_DIMS];
  int64_t size[SETT_NOTATION_DIMS];
  int64_t basis[SETTP_NOTATION_IN_DIMS][SETT_NOTATION_BITS][SETT_NOTATION_DIMS];
} settp_notation_tiling;

/* Append one basis to input dimension `in`: `value` in output dimension `dim`, 0 in all others. */
SETT_INLINE void settp_notation_basis(settp_notation_tiling *tiling, int in, int dim, int64_t value) {
  int d;
  if (tiling->count[in] == SETT_NOTATION_BITS || value < 0)
    settp_notation_stop(tiling->work, SETT_NOTATION_ERROR_POWER);
  if (tiling->work->error) return;
  for (d = 0; d < tiling->rank; ++d) tiling->basis[in][tiling->count[in]][d] = 0;
  tiling->basis[in][tiling->count[in]++][dim] = value;
}

/* Append log2(size) bits to input dimension `in`. They select the next bits of output dimension `dim`; if `copies` is 1, they change no output. */
SETT_INLINE void settp_notation_bits(settp_notation_tiling *tiling, int in, int dim, int64_t size, int copies) {
  int bits = settp_notation_log(size), i;
  if (bits < 0) settp_notation_stop(tiling->work, SETT_NOTATION_ERROR_POWER);
  for (i = 0; i < bits && !tiling->work->error; ++i) {
    settp_notation_basis(tiling, in, dim, copies ? 0 : tiling->size[dim]);
    if (!copies) tiling->size[dim] = settp_notation_mul(tiling->work, tiling->size[dim], 2);
  }
}

SETT_INLINE int64_t settp_notation_entry(const settp_notation_encoding *encoding, int key, int i, int64_t otherwise) {
  return i < encoding->count[key] ? encoding->list[key][i] : otherwise;
}

/* Read the order of the dimensions, the fastest first. A key must contain a permutation. */
SETT_INLINE void settp_notation_order(settp_notation_work *work, const settp_notation_encoding *encoding, int key,
                                      int rank, int *order) {
  uint32_t seen = 0;
  int i;
  for (i = 0; i < rank; ++i) {
    int64_t d = encoding->count[key] == rank ? encoding->list[key][i] : rank - 1 - i;
    if (d < 0 || d >= rank || (seen >> d & 1) || (encoding->count[key] && encoding->count[key] != rank)) {
      settp_notation_stop(work, SETT_NOTATION_ERROR_KEYS);
      order[i] = 0;
      continue;
    }
    seen |= (uint32_t)1 << d;
    order[i] = (int)d;
  }
}

/* Append the bits that follow the tile of an instruction: register bits for the repetitions of the tile, dimension by dimension; then the bits of the
 * warps; then those of the blocks. If there are more warps than the shape needs, the further warps hold copies. `k` is the dimension along which all
 * warps have the same elements, or -1. */
SETT_INLINE void settp_notation_repeat(settp_notation_tiling *tiling, const settp_notation_encoding *encoding,
                                       const int64_t *shape, const int *order, const int *warp_order, int k) {
  settp_notation_work *work = tiling->work;
  /* base: the first bit of the warps in each dimension */
  int64_t cta[SETT_NOTATION_DIMS], base[SETT_NOTATION_DIMS], value;
  int cta_order[SETT_NOTATION_DIMS], i, j, in, d, rank = tiling->rank;
  for (d = 0; d < rank; ++d) {
    int64_t split = settp_notation_entry(encoding, SETTP_NOTATION_CTA_SPLIT, d, 1);
    for (i = 0; i < encoding->blocks && d < SETTP_NOTATION_LIST; ++i)
      if (2 * encoding->block[i][d] > split) split = 2 * encoding->block[i][d];
    if (settp_notation_log(split) < 0) settp_notation_stop(work, SETT_NOTATION_ERROR_POWER);
    cta[d] = work->error || shape[d] < split ? 1 : shape[d] / split;
  }
  for (i = 0; i < rank && !work->error; ++i) {
    int64_t warps, tiles;
    d = order[i];
    warps = d == k ? 1 : settp_notation_entry(encoding, SETTP_NOTATION_WARPS, d, 1);
    tiles = d == k ? 1 : settp_notation_entry(encoding, SETTP_NOTATION_TILES, d, 1);
    if (settp_notation_log(warps) < 0) settp_notation_stop(work, SETT_NOTATION_ERROR_POWER);
    settp_notation_bits(tiling, SETTP_NOTATION_REGISTER, d, tiles, 0);
    base[d] = tiling->size[d];
    tiling->size[d] = settp_notation_mul(work, tiling->size[d], warps);
    while (!work->error && tiling->size[d] < cta[d]) settp_notation_bits(tiling, SETTP_NOTATION_REGISTER, d, 2, 0);
    if (work->error) return;
  }
  for (i = 0; i < rank && !work->error; ++i) { /* the bits of the warp number are above those of its tiles */
    int bits;
    d = warp_order[i];
    bits = settp_notation_log(settp_notation_entry(encoding, SETTP_NOTATION_WARPS, d, 1));
    for (j = 0; j < bits && !work->error; ++j)
      settp_notation_basis(tiling, SETTP_NOTATION_WARP, d,
                           d == k ? 0 : settp_notation_mul(work, base[d], (int64_t)1 << j));
  }
  for (in = 0; in < SETTP_NOTATION_BLOCK; ++in)
    for (i = 0; i < tiling->count[in]; ++i)
      for (d = 0; d < rank; ++d)
        if (tiling->basis[in][i][d] >= cta[d]) tiling->basis[in][i][d] = 0;
  for (j = 0; j < encoding->blocks && !work->error; ++j) {
    int to = -1;
    for (d = 0; d < rank && d < SETTP_NOTATION_LIST; ++d)
      if (encoding->block[j][d] > 0) {
        if (to >= 0) settp_notation_stop(work, SETT_NOTATION_ERROR_KEYS);
        to = d;
      }
    d = to < 0 ? 0 : to;
    value = to < 0 ? 0 : settp_notation_mul(work, cta[d], encoding->block[j][d]);
    settp_notation_basis(tiling, SETTP_NOTATION_BLOCK, d, value < shape[d] ? value : 0);
  }
  if (encoding->blocks >= 0) return;
  settp_notation_order(work, encoding, SETTP_NOTATION_CTA_ORDER, rank, cta_order);
  for (i = 0; i < rank && !work->error; ++i) {
    int64_t split = settp_notation_entry(encoding, SETTP_NOTATION_CTA_SPLIT, cta_order[i], 1),
            all = settp_notation_entry(encoding, SETTP_NOTATION_CTAS, cta_order[i], 1);
    d = cta_order[i];
    if (split > all || settp_notation_log(all) < 0) settp_notation_stop(work, SETT_NOTATION_ERROR_POWER);
    for (j = 0; j < settp_notation_log(all) && !work->error; ++j) {
      value = j < settp_notation_log(split) ? settp_notation_mul(work, cta[d], (int64_t)1 << j) : 0;
      settp_notation_basis(tiling, SETTP_NOTATION_BLOCK, d, value < shape[d] ? value : 0);
    }
  }
}

/* Append the tile of one instruction, and the bits that follow it (settp_notation_repeat). `operand` is NULL for the result of the instruction,
 * otherwise it is an operand. The local variable k is the dimension over which the product sums; for the result it is -1. */
SETT_INLINE void settp_notation_instruction(settp_notation_tiling *tiling, const settp_notation_encoding *encoding,
                                            const settp_notation_encoding *operand, const int64_t *shape) {
  settp_notation_work *work = tiling->work;
  int rank = tiling->rank, row = rank - 2, column = rank - 1, k = -1, order[SETT_NOTATION_DIMS],
      warps[SETT_NOTATION_DIMS], i, other;
  int64_t width = operand ? settp_notation_entry(operand, SETTP_NOTATION_K_WIDTH, 0, 0) : 0,
          index = operand ? settp_notation_entry(operand, SETTP_NOTATION_OPERAND, 0, 0) : 0;
  int64_t version = settp_notation_entry(
              encoding, encoding->kind == SETTP_NOTATION_MMA ? SETTP_NOTATION_MAJOR : SETTP_NOTATION_VERSION, 0, 0),
          m, n;
  int sizes = encoding->count[SETTP_NOTATION_SHAPE],
      batch = sizes > 2 && encoding->kind == SETTP_NOTATION_MMA && version < 3;
  if (rank < 2 || sizes < 2 || encoding->count[SETTP_NOTATION_WARPS] != rank ||
      (operand && (width < 1 || index < 0 || index > 1))) {
    settp_notation_stop(work, SETT_NOTATION_ERROR_KEYS);
    return;
  }
  m = encoding->list[SETTP_NOTATION_SHAPE][batch];
  n = encoding->list[SETTP_NOTATION_SHAPE][batch + 1];
  if (settp_notation_log(m) < 0 || settp_notation_log(n) < 0) settp_notation_stop(work, SETT_NOTATION_ERROR_POWER);
  if (work->error) return;
  if (operand) k = index == 0 ? column : row;
  other = k == row ? column : row; /* the dimension over which the product does not sum */
  for (i = 0; i < rank; ++i) order[i] = warps[i] = rank - 1 - i;
  if (k == row) {
    order[0] = row;
    order[1] = column;
  }
  if (encoding->kind == SETTP_NOTATION_MMA) {
    if (version >= 3) { /* the warps of the first dimension are the fastest */
      warps[0] = row;
      warps[1] = column;
    }
    if (version < 2 || (version >= 3 && k == row)) settp_notation_stop(work, SETT_NOTATION_ERROR_KEYS);
    if (!operand) {
      settp_notation_bits(tiling, SETTP_NOTATION_REGISTER, column, 2, 0);
      settp_notation_bits(tiling, SETTP_NOTATION_LANE, column, 4, 0);
      settp_notation_bits(tiling, SETTP_NOTATION_LANE, row, 8, 0);
      settp_notation_bits(tiling, SETTP_NOTATION_REGISTER, row, m > 8 ? m / 8 : 1, 0);
      settp_notation_bits(tiling, SETTP_NOTATION_REGISTER, column, n > 8 ? n / 8 : 1, 0);
    } else {
      settp_notation_bits(tiling, SETTP_NOTATION_REGISTER, k, width, 0);
      settp_notation_bits(tiling, SETTP_NOTATION_LANE, k, 4, 0);
      settp_notation_bits(tiling, SETTP_NOTATION_LANE, other, 8, 0);
      if (index == 0) settp_notation_bits(tiling, SETTP_NOTATION_REGISTER, other, m > 8 ? m / 8 : 1, 0);
      if (m > 8) settp_notation_bits(tiling, SETTP_NOTATION_REGISTER, k, 2, 0);
    }
  } else if (operand) {
    int64_t lanes = encoding->kind == SETTP_NOTATION_MFMA ? 64 : 32, size = index == 0 ? m : n;
    settp_notation_bits(tiling, SETTP_NOTATION_REGISTER, k, width, 0);
    settp_notation_bits(tiling, SETTP_NOTATION_LANE, other, size, 0);
    settp_notation_bits(tiling, SETTP_NOTATION_LANE, k, size < lanes ? lanes / size : 1,
                        encoding->kind == SETTP_NOTATION_WMMA && version == 1);
  } else {
    int transposed = settp_notation_entry(encoding, SETTP_NOTATION_TRANSPOSED, 0, 0) ||
                     settp_notation_entry(encoding, SETTP_NOTATION_TRANSPOSE, 0, 0);
    /* down: the dimension of the registers, across: that of the lanes */
    int down = transposed ? column : row, across = transposed ? row : column;
    int64_t lanes = encoding->kind == SETTP_NOTATION_MFMA ? 64 : 32, tall = transposed ? n : m,
            wide = transposed ? m : n;
    int64_t rest = wide < lanes ? lanes / wide : 1, group = 4, first;
    if (encoding->kind == SETTP_NOTATION_WMMA) group = version == 1 ? 1 : tall / rest > 0 ? tall / rest : 1;
    else if (settp_notation_entry(encoding, SETTP_NOTATION_BITS, 0, 32) == 64) group = 1;
    first = group;
    if (version == 1 && encoding->kind == SETTP_NOTATION_WMMA) first = 1;
    settp_notation_bits(tiling, SETTP_NOTATION_REGISTER, down, first, 0);
    settp_notation_bits(tiling, SETTP_NOTATION_LANE, across, wide, 0);
    settp_notation_bits(tiling, SETTP_NOTATION_LANE, down, rest, 0);
    settp_notation_bits(tiling, SETTP_NOTATION_REGISTER, down, tall > group * rest ? tall / (group * rest) : 1, 0);
  }
  settp_notation_repeat(tiling, encoding, shape, order, warps, k);
}

SETT_INLINE void settp_notation_blocked(settp_notation_tiling *tiling, const settp_notation_encoding *encoding,
                                        const settp_notation_encoding *operand, const int64_t *shape);

/* Compute the bases of an encoding on a shape. */
SETT_INLINE void settp_notation_distribute(settp_notation_tiling *tiling, const settp_notation_encoding *encoding,
                                           const int64_t *shape, int depth) {
  settp_notation_work *work = tiling->work;
  int i, d, in;
  if (work->error) return;
  if (!encoding || depth > 4) {
    settp_notation_stop(work, SETT_NOTATION_ERROR_KEYS);
    return;
  }
  for (d = 0; d < tiling->rank; ++d) tiling->size[d] = 1;
  for (in = 0; in < SETTP_NOTATION_IN_DIMS; ++in) tiling->count[in] = 0;
  if (encoding->kind == SETTP_NOTATION_SLICE) {
    int64_t longer[SETT_NOTATION_DIMS], gone = settp_notation_entry(encoding, SETTP_NOTATION_DIM, 0, -1);
    int count = 0, rank = tiling->rank;
    if (gone < 0 || gone > rank || rank + 1 > SETT_NOTATION_DIMS) {
      settp_notation_stop(work, SETT_NOTATION_ERROR_KEYS);
      return;
    }
    for (d = 0; d <= rank; ++d) longer[d] = d < gone ? shape[d] : d == gone ? 1 : shape[d - 1];
    tiling->rank = rank + 1;
    settp_notation_distribute(tiling, encoding->parent, longer, depth + 1);
    tiling->rank = rank;
    for (in = 0; in < SETTP_NOTATION_IN_DIMS && !work->error; ++in)
      for (i = 0; i < tiling->count[in]; ++i)
        for (d = (int)gone; d < rank; ++d) tiling->basis[in][i][d] = tiling->basis[in][i][d + 1];
    for (i = 0; i < tiling->count[SETTP_NOTATION_REGISTER] && !work->error;
         ++i) { /* leave out register bits that advanced only along the removed dimension */
      int64_t all = 0;
      for (d = 0; d < rank; ++d) all |= tiling->basis[SETTP_NOTATION_REGISTER][i][d];
      if (all == 0) continue;
      for (d = 0; d < rank; ++d)
        tiling->basis[SETTP_NOTATION_REGISTER][count][d] = tiling->basis[SETTP_NOTATION_REGISTER][i][d];
      ++count;
    }
    tiling->count[SETTP_NOTATION_REGISTER] = count;
    return;
  }
  if (encoding->kind == SETTP_NOTATION_DOT) {
    const settp_notation_encoding *parent = encoding->parent;
    if (!parent || parent->kind > SETTP_NOTATION_WMMA || encoding->count[SETTP_NOTATION_OPERAND] != 1)
      settp_notation_stop(work, SETT_NOTATION_ERROR_KEYS);
    else if (parent->kind == SETTP_NOTATION_BLOCKED) settp_notation_blocked(tiling, parent, encoding, shape);
    else settp_notation_instruction(tiling, parent, encoding, shape);
  } else if (encoding->kind == SETTP_NOTATION_BLOCKED) {
    settp_notation_blocked(tiling, encoding, NULL, shape);
  } else if (encoding->kind <= SETTP_NOTATION_WMMA) {
    settp_notation_instruction(tiling, encoding, NULL, shape);
  } else {
    settp_notation_stop(work, SETT_NOTATION_ERROR_KEYS);
  }
}

/* Compute the bases of registers, lanes and warps of a blocked encoding. The registers of a thread, the lanes and the warps each enumerate a tile,
 * with the dimensions in the encoding's order. For an operand of a product, the dimension of the sum is completely in registers. */
SETT_INLINE void settp_notation_blocked(settp_notation_tiling *tiling, const settp_notation_encoding *encoding,
                                        const settp_notation_encoding *operand, const int64_t *shape) {
  int order[SETT_NOTATION_DIMS], i, rank = tiling->rank, k = -1;
  if (encoding->count[SETTP_NOTATION_SIZE_PER_THREAD] != rank ||
      encoding->count[SETTP_NOTATION_THREADS_PER_WARP] != rank || encoding->count[SETTP_NOTATION_WARPS] != rank)
    settp_notation_stop(tiling->work, SETT_NOTATION_ERROR_KEYS);
  if (operand) k = settp_notation_entry(operand, SETTP_NOTATION_OPERAND, 0, 0) == 0 ? rank - 1 : rank - 2;
  if (operand && rank < 2) settp_notation_stop(tiling->work, SETT_NOTATION_ERROR_KEYS);
  settp_notation_order(tiling->work, encoding, SETTP_NOTATION_ORDER, rank, order);
  for (i = 0; i < rank && !tiling->work->error; ++i)
    settp_notation_bits(tiling, SETTP_NOTATION_REGISTER, order[i],
                        order[i] == k ? shape[k] : encoding->list[SETTP_NOTATION_SIZE_PER_THREAD][order[i]], 0);
  for (i = 0; i < rank && !tiling->work->error; ++i)
    settp_notation_bits(tiling, SETTP_NOTATION_LANE, order[i],
                        encoding->list[SETTP_NOTATION_THREADS_PER_WARP][order[i]], order[i] == k);
  settp_notation_repeat(tiling, encoding, shape, order, order, k);
}

/* Compute the offsets of a swizzled tile in shared memory: in each row, the number of the column is XORed with the phase of the row. */
SETT_INLINE void settp_notation_shared(settp_notation_tiling *tiling, const settp_notation_encoding *encoding,
                                       const int64_t *shape) {
  settp_notation_work *work = tiling->work;
  int order[SETT_NOTATION_DIMS], rank = tiling->rank, i, nvmma = encoding->kind == SETTP_NOTATION_NVMMA,
                                 fp4 = nvmma && settp_notation_entry(encoding, SETTP_NOTATION_FP4, 0, 0);
  int64_t vec = settp_notation_entry(encoding, SETTP_NOTATION_VEC, 0, 0),
          per = settp_notation_entry(encoding, SETTP_NOTATION_PER_PHASE, 0, 0);
  int64_t most = settp_notation_entry(encoding, SETTP_NOTATION_MAX_PHASE, 0, 0), row, at, across, rows = 0,
          tile_rows = INT64_MAX;
  int column;
  for (i = 0; i < rank; ++i) tiling->size[i] = 1;
  for (i = 0; i < SETTP_NOTATION_IN_DIMS; ++i) tiling->count[i] = 0;
  if (nvmma) {
    int64_t width = settp_notation_entry(encoding, SETTP_NOTATION_SWIZZLE, 0, -1),
            bits = settp_notation_entry(encoding, SETTP_NOTATION_BITS, 0, 0);
    if ((width != 0 && width != 32 && width != 64 && width != 128) || bits < 4 || bits > 128 ||
        settp_notation_log(bits) < 0 || rank < 2)
      settp_notation_stop(work, SETT_NOTATION_ERROR_KEYS);
    if (work->error) return;
    vec = 128 / bits;
    per = width ? 128 / width : 1;
    most = width ? width / 16 : 1;
    across = 8 * (width > 16 ? width : 16) / bits;
    if (fp4) {
      across /= 2;
      vec /= 2;
    }
    tile_rows = 8;
    for (i = 0; i < rank; ++i) order[i] = rank - 1 - i;
    if (settp_notation_entry(encoding, SETTP_NOTATION_SHARED_TRANSPOSED, 0, 0))
      for (i = 0; i < rank; ++i) order[i] = i;
  } else {
    settp_notation_order(work, encoding, SETTP_NOTATION_ORDER, rank, order);
    if (vec < 1 || per < 1 || most < 1 || settp_notation_entry(encoding, SETTP_NOTATION_LEADING, 0, 0))
      settp_notation_stop(work, SETT_NOTATION_ERROR_KEYS);
    across = work->error ? 1 : shape[order[0]];
  }
  if (work->error) return;
  column = order[0];
  if (across > shape[column]) across = shape[column];
  for (at = 1; at < across; at *= 2) {
    if (fp4 && at == 8) settp_notation_basis(tiling, SETTP_NOTATION_REGISTER, column, 0);
    settp_notation_basis(tiling, SETTP_NOTATION_REGISTER, column, at);
  }
  for (i = 1, row = 1; i < rank; ++i)
    for (at = 1; at < shape[order[i]] && !work->error; at *= 2, ++rows) {
      int64_t phase = row / per % most;
      if (encoding->kind == SETTP_NOTATION_ROTATING) phase ^= row / per / most % most;
      settp_notation_basis(tiling, SETTP_NOTATION_REGISTER, order[i], at);
      if (!work->error && row < tile_rows && (i == 1 || nvmma) && across > 1) {
        int64_t moved = (int64_t)((uint64_t)vec * (uint64_t)phase % (uint64_t)across);
        tiling->basis[SETTP_NOTATION_REGISTER][tiling->count[SETTP_NOTATION_REGISTER] - 1][column] = moved;
      }
      row *= 2;
    }
  for (at = across; at < shape[column] && !work->error; at *= 2)
    settp_notation_basis(tiling, SETTP_NOTATION_REGISTER, column, at);
}

SETT_INLINE void settp_notation_linearise(settp_notation_reader *reader, sett_notation *layout,
                                          const settp_notation_encoding *encoding) {
  static const char *const names[] = {"register", "lane", "warp", "block"};
  settp_notation_tiling *tiling = NULL;
  settp_notation_bases *bases = NULL;
  sett_notation_linear *linear = settp_notation_new_linear(&reader->work);
  int64_t dims[SETT_NOTATION_DIMS];
  int in, i, d, shared = encoding && encoding->kind >= SETTP_NOTATION_SWIZZLED;
  if (!reader->work.error) tiling = (settp_notation_tiling *)settp_map_take(reader->work.arena, sizeof *tiling);
  if (tiling) bases = (settp_notation_bases *)settp_map_take(reader->work.arena, sizeof *bases);
  if (!bases) settp_notation_stop(&reader->work, SETT_NOTATION_ERROR_FULL);
  layout->kind = SETT_NOTATION_TRITON;
  for (d = 0; d < layout->rank; ++d) {
    int bits = settp_notation_log(layout->dims[d]);
    if (bits < 0 && !shared) bits = settp_notation_mask(layout, d);
    if (bits < 0) settp_notation_stop(&reader->work, SETT_NOTATION_ERROR_POWER);
    linear->out_bits[d] = bits;
    dims[d] = bits < 0 ? 0 : (int64_t)1 << bits;
  }
  if (layout->rank == 0) settp_notation_stop(&reader->work, SETT_NOTATION_ERROR_DIMS);
  if (reader->work.error) return;
  tiling->work = &reader->work;
  tiling->rank = layout->rank;
  if (shared) settp_notation_shared(tiling, encoding, dims);
  else settp_notation_distribute(tiling, encoding, dims, 0);
  if (reader->work.error) return;
  bases->total = 0;
  for (in = 0; in < SETTP_NOTATION_IN_DIMS; ++in) {
    if (shared && (in == SETTP_NOTATION_LANE || in == SETTP_NOTATION_WARP)) continue;
    settp_notation_name(linear->in[linear->ins], shared && in == 0 ? "offset" : names[in], -1);
    bases->count[linear->ins++] = tiling->count[in];
    for (i = 0; i < tiling->count[in]; ++i, ++bases->total) {
      if (bases->total >= SETT_NOTATION_BITS) {
        settp_notation_stop(&reader->work, SETT_NOTATION_ERROR_POWER);
        return;
      }
      for (d = 0; d < layout->rank; ++d) bases->basis[bases->total][d] = tiling->basis[in][i][d];
    }
  }
  linear->outs = layout->rank;
  for (d = 0; d < layout->rank; ++d) settp_notation_name(linear->out[d], "dim", d);
  settp_notation_pack(&reader->work, linear, bases);
  layout->linear = linear;
}

/* ---- bodies: Mosaic's TiledLayout ------------------------------------------------------------------------------- */

/* Read `key =`. The key may be missing. */
SETT_INLINE void settp_notation_read_key(settp_notation_reader *reader, const char *key) {
  if (settp_notation_word(reader, key)) settp_notation_want(reader, '=', SETT_NOTATION_ERROR_EQUAL);
}

/* Read a list such as (-3, Replicated(times=4)) in these brackets; a comma may follow the last entry. Return the number of entries. */
SETT_INLINE int settp_notation_read_dims_list(settp_notation_reader *reader, char open, char shut, int64_t *list) {
  int count = 0;
  settp_notation_want(reader, open, SETT_NOTATION_ERROR_MOSAIC);
  while (!reader->work.error && !settp_notation_accept(reader, shut)) {
    int copies = settp_notation_word(reader, "#mosaic_gpu.Replicated") || settp_notation_word(reader, "Replicated");
    size_t start = (settp_notation_peek(reader), reader->at);
    if (count == SETT_NOTATION_DIMS) {
      settp_notation_bad(reader, SETT_NOTATION_ERROR_LEAVES);
      break;
    }
    if (copies) {
      int angle = settp_notation_accept(reader, '<');
      if (!angle) settp_notation_want(reader, '(', SETT_NOTATION_ERROR_MOSAIC);
      settp_notation_read_key(reader, "times");
      settp_notation_integer(reader, &list[count]);
      settp_notation_want(reader, angle ? '>' : ')', SETT_NOTATION_ERROR_MOSAIC);
    } else {
      settp_notation_integer(reader, &list[count]);
    }
    if (!reader->work.error && (copies ? list[count] < 1 || list[count] > 32 : list[count] >= 0)) {
      reader->at = start;
      settp_notation_bad(reader, SETT_NOTATION_ERROR_MOSAIC_DIMS);
    }
    ++count;
    if (settp_notation_accept(reader, shut)) break;
    settp_notation_want(reader, ',', SETT_NOTATION_ERROR_LIST_END);
  }
  return count;
}

/* Give `role` to the digits of `dims`, which is `warp_dims` or `lane_dims`. A negative entry names a digit; a positive entry n adds a digit of size n,
 * which numbers copies. The last entry is the fastest. Return 1 if the product of the digits' sizes is `number`. Return 0 if it is not, or if an entry
 * is not valid. */
SETT_INLINE int settp_notation_partition(sett_notation_tiled *tiled, int count, const int64_t *dims, int role,
                                         int64_t number) {
  int64_t stride = 1;
  int i, most = tiled->digits;
  for (i = 0; i < tiled->digits; ++i)
    if (tiled->digit[i].dim < 0) most = i < most ? i : most;
  for (i = count; i-- > 0;) {
    sett_notation_digit *digit;
    if (dims[i] > 0) {
      if (tiled->digits == SETT_NOTATION_DIGITS) return 0;
      digit = &tiled->digit[tiled->digits++];
      digit->dim = -1;
      digit->low = 1;
      digit->size = dims[i];
    } else {
      if (dims[i] < -most) return 0;
      digit = &tiled->digit[most + (int)dims[i]];
      if (digit->role >= 0) return 0;
    }
    digit->role = role;
    digit->stride = stride;
    if (digit->size > number / stride) return 0;
    stride *= digit->size;
  }
  return stride == number;
}

/* Compute the digits of a shape with these tiles and roles. Return 0 or an error. */
SETT_INLINE int settp_notation_tile(sett_notation_tiled *tiled, int rank, const int64_t *dims) {
  sett_notation_digit next[SETT_NOTATION_DIGITS];
  int64_t registers = 1;
  int i, k, count = rank;
  for (i = 0; i < rank; ++i) {
    tiled->digit[i].dim = i;
    tiled->digit[i].role = -1;
    tiled->digit[i].low = 1;
    tiled->digit[i].size = dims[i];
    tiled->digit[i].stride = 0;
  }
  for (k = 0; k < tiled->tiles; ++k) {
    int of = tiled->tile_rank[k], splits = k == 0;
    if (of < 1 || of > (k == 0 ? rank : tiled->tile_rank[k - 1]) || count + of > SETT_NOTATION_DIGITS ||
        (k > 0 && of > 1 && tiled->tile[k][0] == 1))
      return SETT_NOTATION_ERROR_TILES;
    for (i = 0; i < of; ++i) {
      sett_notation_digit *digit = &tiled->digit[count - of + i];
      int64_t tile = tiled->tile[k][i];
      if (tile < 1 || digit->size % tile) return SETT_NOTATION_ERROR_TILES;
      splits |= tile < digit->size;
      next[i] = *digit;
      next[i].size = tile;
      digit->low *= tile;
      digit->size /= tile;
    }
    if (!splits) return SETT_NOTATION_ERROR_TILES;
    for (i = 0; i < of; ++i) tiled->digit[count++] = next[i];
  }
  tiled->digits = count;
  if (!settp_notation_partition(tiled, tiled->warps, tiled->warp_dim, SETT_NOTATION_WARP, 4) ||
      !settp_notation_partition(tiled, tiled->lanes, tiled->lane_dim, SETT_NOTATION_LANE, 32) ||
      tiled->vector_dim >= 0 || tiled->vector_dim < -count || tiled->digit[count + (int)tiled->vector_dim].role >= 0)
    return SETT_NOTATION_ERROR_MOSAIC_DIMS;
  tiled->digit[count + (int)tiled->vector_dim].role = SETT_NOTATION_ELEMENT;
  tiled->digit[count + (int)tiled->vector_dim].stride = 1;
  for (i = count; i-- > 0;) {
    if (tiled->digit[i].role >= 0) continue;
    tiled->digit[i].role = SETT_NOTATION_REGISTER;
    tiled->digit[i].stride = registers;
    registers *= tiled->digit[i].size;
  }
  return 0;
}

/* Read what follows the name: Python's spelling in ( ), or MLIR's in < >. */
SETT_INLINE void settp_notation_read_tiled(settp_notation_reader *reader, sett_notation *layout) {
  sett_notation_tiled *tiled = NULL;
  int angle, tiling = 0, error;
  char open, shut;
  size_t start = (settp_notation_peek(reader), reader->at);
  layout->kind = SETT_NOTATION_MOSAIC;
  if (!reader->work.error) tiled = (sett_notation_tiled *)settp_map_take(reader->work.arena, sizeof *tiled);
  layout->tiled = tiled;
  if (!tiled) settp_notation_bad(reader, SETT_NOTATION_ERROR_FULL);
  if (layout->rank == 0) settp_notation_bad(reader, SETT_NOTATION_ERROR_DIMS);
  angle = settp_notation_accept(reader, '<');
  if (!angle) settp_notation_want(reader, '(', SETT_NOTATION_ERROR_MOSAIC);
  if (reader->work.error) return;
  open = angle ? '[' : '(';
  shut = angle ? ']' : ')';
  tiled->tiles = 0;
  settp_notation_read_key(reader, "tiling");
  if (settp_notation_word(reader, "Tiling")) {
    tiling = settp_notation_want(reader, '(', SETT_NOTATION_ERROR_MOSAIC);
    settp_notation_read_key(reader, "tiles");
  }
  settp_notation_want(reader, open, SETT_NOTATION_ERROR_MOSAIC);
  while (!reader->work.error && !settp_notation_accept(reader, shut)) {
    size_t here = (settp_notation_peek(reader), reader->at);
    int rank = 0;
    if (tiled->tiles == SETT_NOTATION_TILES) {
      settp_notation_bad(reader, SETT_NOTATION_ERROR_TILES);
      break;
    }
    settp_notation_want(reader, open, SETT_NOTATION_ERROR_MOSAIC);
    while (!reader->work.error && !settp_notation_accept(reader, shut)) {
      if (rank == SETT_NOTATION_DIMS) settp_notation_bad(reader, SETT_NOTATION_ERROR_LEAVES);
      else settp_notation_integer(reader, &tiled->tile[tiled->tiles][rank++]);
      if (settp_notation_accept(reader, shut)) break;
      settp_notation_want(reader, ',', SETT_NOTATION_ERROR_LIST_END);
    }
    if (!reader->work.error && rank == 0) {
      reader->at = here;
      settp_notation_bad(reader, SETT_NOTATION_ERROR_TILES);
    }
    tiled->tile_rank[tiled->tiles++] = rank;
    if (settp_notation_accept(reader, shut)) break;
    settp_notation_want(reader, ',', SETT_NOTATION_ERROR_LIST_END);
  }
  if (tiling) {
    settp_notation_accept(reader, ',');
    settp_notation_want(reader, ')', SETT_NOTATION_ERROR_MOSAIC);
  }
  settp_notation_want(reader, ',', SETT_NOTATION_ERROR_MOSAIC);
  settp_notation_read_key(reader, "warp_dims");
  tiled->warps = settp_notation_read_dims_list(reader, open, shut, tiled->warp_dim);
  settp_notation_want(reader, ',', SETT_NOTATION_ERROR_MOSAIC);
  settp_notation_read_key(reader, "lane_dims");
  tiled->lanes = settp_notation_read_dims_list(reader, open, shut, tiled->lane_dim);
  settp_notation_want(reader, ',', SETT_NOTATION_ERROR_MOSAIC);
  settp_notation_read_key(reader, "vector_dim");
  settp_notation_integer(reader, &tiled->vector_dim);
  settp_notation_accept(reader, ',');
  settp_notation_want(reader, angle ? '>' : ')', SETT_NOTATION_ERROR_MOSAIC);
  if (reader->work.error) return;
  error = settp_notation_tile(tiled, layout->rank, layout->dims);
  if (!error) return;
  settp_notation_bad(reader, error);
  reader->error_at = start;
}

/* Read [2:+1, 4:+2] {order = [1, 0], shape = [16, 32]}; bases may replace order and shape. */
SETT_INLINE void settp_notation_read_padded(settp_notation_reader *reader, sett_notation *layout) {
  settp_notation_reader ahead;
  sett_notation_padded *padded = NULL;
  sett_notation inverse;
  size_t start = reader->at;
  int64_t size = 1, span;
  int i, k, d, rest = 0;
  if (!reader->work.error) padded = (sett_notation_padded *)settp_map_take(reader->work.arena, sizeof *padded);
  if (!padded) settp_notation_bad(reader, SETT_NOTATION_ERROR_FULL);
  settp_notation_want(reader, '[', SETT_NOTATION_ERROR_PADDED);
  for (k = 0; !reader->work.error; ++k) {
    int64_t interval = 0, pad = 0;
    settp_notation_integer(reader, &interval);
    settp_notation_want(reader, ':', SETT_NOTATION_ERROR_PADDED);
    settp_notation_want(reader, '+', SETT_NOTATION_ERROR_PADDED);
    settp_notation_integer(reader, &pad);
    if (!reader->work.error && (k == SETT_NOTATION_PADS || settp_notation_log(interval) < 0 || interval < 1 ||
                                settp_notation_log(pad) < 0 || pad < 1))
      settp_notation_bad(reader, SETT_NOTATION_ERROR_PADDED);
    if (reader->work.error) return;
    for (i = k; i > 0 && padded->interval[i - 1] >= interval; --i) {
      if (padded->interval[i - 1] == interval) settp_notation_bad(reader, SETT_NOTATION_ERROR_PADDED);
      padded->interval[i] = padded->interval[i - 1];
      padded->pad[i] = padded->pad[i - 1];
    }
    padded->interval[i] = interval;
    padded->pad[i] = pad;
    if (settp_notation_accept(reader, ']')) break;
    settp_notation_want(reader, ',', SETT_NOTATION_ERROR_LIST_END);
  }
  if (reader->work.error) return;
  padded->pads = k + 1;
  ahead = *reader;
  if (settp_notation_accept(&ahead, '{') && settp_notation_word(&ahead, "order")) {
    int64_t order[SETT_NOTATION_DIMS], shape[SETT_NOTATION_DIMS];
    sett_notation_linear *linear = settp_notation_new_linear(&reader->work);
    int ranks[2], at = 0, shift[SETT_NOTATION_DIMS];
    *reader = ahead;
    settp_notation_want(reader, '=', SETT_NOTATION_ERROR_EQUAL);
    ranks[0] = settp_notation_read_list(reader, '[', ']', order, SETT_NOTATION_DIMS);
    settp_notation_want(reader, ',', SETT_NOTATION_ERROR_PADDED);
    if (!settp_notation_word(reader, "shape")) settp_notation_bad(reader, SETT_NOTATION_ERROR_PADDED);
    settp_notation_want(reader, '=', SETT_NOTATION_ERROR_EQUAL);
    ranks[1] = settp_notation_read_list(reader, '[', ']', shape, SETT_NOTATION_DIMS);
    settp_notation_want(reader, '}', SETT_NOTATION_ERROR_BRACE_END);
    if (reader->work.error) return;
    if (ranks[0] != ranks[1] || (layout->rank > 0 && layout->rank != ranks[0]) || ranks[0] == 0) rest = 1;
    for (d = 0; d < ranks[0] && !rest; ++d) {
      int bits = settp_notation_log(shape[d]);
      rest |= bits < 0 || shape[d] < 1 || (layout->rank > 0 && layout->dims[d] != shape[d]);
      linear->out_bits[d] = bits < 0 ? 0 : bits;
      shift[d] = at;
      at += linear->out_bits[d];
      settp_notation_name(linear->out[d], "dim", d);
    }
    rest |= at > SETT_NOTATION_BITS;
    for (i = 0, k = 0; i < ranks[0] && !rest; ++i) {
      rest |= order[i] < 0 || order[i] >= ranks[0] || (k >> order[i] & 1);
      if (!rest) k |= 1 << order[i];
      for (d = 0; !rest && d < linear->out_bits[order[i]]; ++d)
        linear->basis[linear->in_bits[0]++] = (uint64_t)1 << (shift[order[i]] + d);
    }
    linear->ins = 2;
    linear->outs = ranks[0];
    settp_notation_name(linear->in[0], "offset", -1);
    settp_notation_name(linear->in[1], "block", -1);
    layout->kind = SETT_NOTATION_TRITON;
    layout->linear = linear;
  } else {
    settp_notation_read_linear(reader, layout, 0);
    if (reader->work.error) return;
    for (i = 1; i < layout->linear->ins; ++i) rest |= layout->linear->in_bits[i];
    rest |=
        layout->linear->ins < 1 || layout->linear->outs < 1 || !settp_notation_name_is(layout->linear->in[0], "offset");
  }
  settp_notation_want(reader, '>', SETT_NOTATION_ERROR_CLOSE);
  if (reader->work.error) return;
  inverse = *layout;
  if (!rest) inverse = sett_notation_invert(reader->work.arena, layout);
  if (rest || inverse.error) {
    settp_notation_bad(reader, inverse.error == SETT_NOTATION_ERROR_FULL ? inverse.error : SETT_NOTATION_ERROR_PADDED);
    reader->error_at = start;
    return;
  }
  padded->inverse = inverse.linear;
  layout->kind = SETT_NOTATION_PADDED;
  layout->padded = padded;
  layout->rank = layout->linear->outs;
  for (d = 0; d < layout->rank; ++d) {
    layout->dims[d] = (int64_t)1 << layout->linear->out_bits[d];
    size *= layout->dims[d];
  }
  for (i = 0, span = size; i < padded->pads; ++i)
    span = settp_notation_add(&reader->work, span,
                              settp_notation_mul(&reader->work, size / padded->interval[i], padded->pad[i]));
  if (reader->work.error) reader->error_at = start;
}

/* Read a layout after SHAPE@, or a linear layout. */
SETT_INLINE void settp_notation_read_array(settp_notation_reader *reader, sett_notation *layout) {
  char first = settp_notation_peek(reader);
  size_t start = reader->at;
  int i, held, empty = 0;
  if (reader->work.error) return;
  for (i = 0; i < layout->rank; ++i) empty |= layout->dims[i] == 0;
  if (empty && (first == '{' || first == '#' || settp_notation_word(reader, "TiledLayout"))) {
    reader->at = 0;
    settp_notation_bad(reader, SETT_NOTATION_ERROR_NO_EMPTY);
  } else if (first == '{') {
    settp_notation_read_linear(reader, layout, 1);
  } else if (settp_notation_word(reader, "strides(")) {
    settp_notation_read_strides(reader, layout);
  } else if (settp_notation_attribute(reader, "padded_shared<")) {
    settp_notation_read_padded(reader, layout);
  } else if ((held = settp_notation_attribute(reader, "linear<")) ||
             settp_notation_attribute(reader, "shared_linear<")) {
    settp_notation_read_linear(reader, layout, held ? -1 : 0);
    /* an attribute alignment = 16 is read, but does not change the layout */
    if (settp_notation_accept(reader, ',')) {
      int64_t alignment;
      if (!settp_notation_word(reader, "alignment")) settp_notation_bad(reader, SETT_NOTATION_ERROR_KEY);
      settp_notation_want(reader, '=', SETT_NOTATION_ERROR_EQUAL);
      settp_notation_integer(reader, &alignment);
    }
    settp_notation_want(reader, '>', SETT_NOTATION_ERROR_CLOSE);
  } else if (settp_notation_word(reader, "TiledLayout") || settp_notation_word(reader, "#mosaic_gpu.TiledLayout")) {
    settp_notation_read_tiled(reader, layout);
  } else if (first == '#') {
    const settp_notation_encoding *encoding = settp_notation_read_encoding(reader, 0);
    if (reader->work.error) return;
    settp_notation_linearise(reader, layout, encoding);
    if (reader->work.error) reader->error_at = start;
  } else {
    settp_notation_read_tag(reader, layout);
  }
}

SETT_PUBLIC sett_notation sett_notation_parse(sett_map_arena *arena, const char *text, size_t length) {
  settp_notation_reader reader = settp_notation_read(arena, text, length);
  sett_notation layout = settp_notation_none(SETT_NOTATION_TUPLE);
  char first;
  first = settp_notation_peek(&reader);
  if (first >= '0' && first <= '9' && settp_notation_read_dims(&reader, &layout))
    settp_notation_read_array(&reader, &layout);
  else if (first == '{' || first == '#') settp_notation_read_array(&reader, &layout);
  else if (first == '[') layout = settp_notation_read_tile(&reader);
  else if (settp_notation_is_pointer(text, length, reader.at) || first == 'S' || first == '(' || first == '-' ||
           first == '_' || (first >= '0' && first <= '9'))
    layout = settp_notation_read_cute(&reader);
  else settp_notation_bad(&reader, SETT_NOTATION_ERROR_TEXT);
  settp_notation_peek(&reader);
  if (!reader.work.error && reader.at < length) settp_notation_bad(&reader, SETT_NOTATION_ERROR_END);
  if (!reader.work.error) return layout;
  layout = settp_notation_fail(reader.work.error);
  layout.column = (int64_t)reader.error_at + 1;
  return layout;
}

typedef struct settp_notation_writer {
  char *out;
  size_t capacity, length;
} settp_notation_writer;

SETT_INLINE void settp_notation_write(settp_notation_writer *writer, const char *text) {
  for (; *text; ++text, ++writer->length)
    if (writer->length + 1 < writer->capacity) writer->out[writer->length] = *text;
}

SETT_INLINE void settp_notation_write_integer(settp_notation_writer *writer, int64_t value) {
  char digits[24];
  int at = 23;
  uint64_t rest = value < 0 ? (uint64_t)0 - (uint64_t)value : (uint64_t)value;
  digits[at] = 0;
  do digits[--at] = (char)('0' + rest % 10);
  while (rest /= 10);
  if (value < 0) digits[--at] = '-';
  settp_notation_write(writer, digits + at);
}

/* Write a tree of modes. `what` is 0 for the numbers of a tuple or shape, 1 for the strides. */
SETT_INLINE void settp_notation_write_tree(settp_notation_writer *writer, const sett_notation_mode *mode, int what) {
  int i;
  if (mode->rank == SETT_NOTATION_SKIP) settp_notation_write(writer, "_");
  if (mode->rank == SETT_NOTATION_LEAF) {
    settp_notation_write_integer(writer, what == 1 ? mode->stride : mode->size);
    for (i = 0; i < mode->places && what != 0; ++i) {
      settp_notation_write(writer, "@");
      settp_notation_write_integer(writer, mode->place[i]);
    }
  }
  if (mode->rank < 0) return;
  settp_notation_write(writer, "(");
  for (i = 0; i < mode->rank; ++i) {
    if (i) settp_notation_write(writer, ",");
    settp_notation_write_tree(writer, &mode->mode[i], what);
  }
  settp_notation_write(writer, ")");
}

enum { SETTP_NOTATION_SIZES, SETTP_NOTATION_STRIDES, SETTP_NOTATION_NUMBERS };

SETT_INLINE void settp_notation_write_layout(settp_notation_writer *writer, const sett_notation_mode *mode) {
  settp_notation_write_tree(writer, mode, SETTP_NOTATION_SIZES);
  settp_notation_write(writer, ":");
  settp_notation_write_tree(writer, mode, SETTP_NOTATION_STRIDES);
}

SETT_INLINE void settp_notation_write_tile(settp_notation_writer *writer, const sett_notation_mode *mode) {
  int i;
  settp_notation_write(writer, "[");
  for (i = 0; i < mode->rank; ++i) {
    if (i) settp_notation_write(writer, ";");
    if (mode->mode[i].rank == SETT_NOTATION_SKIP) settp_notation_write(writer, "_");
    else if (settp_notation_is_tilers(&mode->mode[i]))
      settp_notation_write_tree(writer, &mode->mode[i], SETTP_NOTATION_SIZES);
    else settp_notation_write_layout(writer, &mode->mode[i]);
  }
  settp_notation_write(writer, "]");
}

/* ---- bodies: the operations of linear layouts ------------------------------------------------------------------- */

SETT_INLINE int settp_notation_find(int count, const char names[][16], const char *name) {
  int i;
  for (i = 0; i < count; ++i)
    if (settp_notation_name_is(names[i], name)) return i;
  return -1;
}

/* Return the position of the first bit of dimension i in a packed value. */
SETT_INLINE int settp_notation_shift(int i, const int *bits) { return settp_notation_total(i, bits); }

SETT_INLINE int settp_notation_both_linear(settp_notation_work *work, const sett_notation *a, const sett_notation *b) {
  if (a->error) settp_notation_no(work, a->error, a->witness, a->value, a->other);
  else if (b->error) settp_notation_no(work, b->error, b->witness, b->value, b->other);
  else if (a->kind != SETT_NOTATION_TRITON || b->kind != SETT_NOTATION_TRITON)
    settp_notation_stop(work, SETT_NOTATION_ERROR_KIND);
  return !work->error;
}

SETT_INLINE sett_notation settp_notation_of_linear(const sett_notation_linear *linear) {
  sett_notation layout = settp_notation_none(SETT_NOTATION_TRITON);
  layout.linear = linear;
  return layout;
}

/* Convert a packed value from one list of dimensions (names, bits) to another. Error SAME_DIMS: a name is missing in the other list, or has fewer
 * bits there. */
SETT_INLINE uint64_t settp_notation_reorder(settp_notation_work *work, uint64_t value, int count,
                                            const char names[][16], const int *bits, int into,
                                            const char into_names[][16], const int *into_bits) {
  uint64_t result = 0;
  int i;
  for (i = 0; i < count; ++i) {
    int to = settp_notation_find(into, into_names, names[i]);
    uint64_t part = value & (((uint64_t)1 << bits[i]) - 1);
    value >>= bits[i];
    if (to < 0 || into_bits[to] < bits[i]) settp_notation_stop(work, SETT_NOTATION_ERROR_SAME_DIMS);
    else result |= part << settp_notation_shift(to, into_bits);
  }
  return result;
}

SETT_INLINE void settp_notation_copy_dims(int *count, char names[][16], int *bits, int from_count,
                                          const char from[][16], const int *from_bits) {
  int i, k;
  *count = from_count;
  for (i = 0; i < from_count; ++i) {
    bits[i] = from_bits[i];
    for (k = 0; k < 16; ++k) names[i][k] = from[i][k];
  }
}

SETT_PUBLIC sett_notation sett_notation_compose(sett_map_arena *arena, const sett_notation *a, const sett_notation *b) {
  settp_notation_work work = settp_notation_begin(arena);
  sett_notation_linear *result = NULL;
  const sett_notation_linear *first, *second;
  int i;
  if (settp_notation_both_linear(&work, a, b)) result = settp_notation_new_linear(&work);
  if (!result) return settp_notation_end(&work, *a);
  first = a->linear;
  second = b->linear;
  settp_notation_copy_dims(&result->ins, result->in, result->in_bits, first->ins, first->in, first->in_bits);
  settp_notation_copy_dims(&result->outs, result->out, result->out_bits, second->outs, second->out, second->out_bits);
  if (first->outs != second->ins) settp_notation_stop(&work, SETT_NOTATION_ERROR_SAME_DIMS);
  for (i = 0; i < settp_notation_total(first->ins, first->in_bits) && !work.error; ++i)
    result->basis[i] =
        settp_notation_apply(second, settp_notation_reorder(&work, first->basis[i], first->outs, first->out,
                                                            first->out_bits, second->ins, second->in, second->in_bits));
  return settp_notation_end(&work, settp_notation_of_linear(result));
}

/* Gaussian elimination over the bases of a linear layout: each value[i] is the XOR of the bases that bits[i] selects. settp_notation_reduce returns the
 * input bits whose bases have the XOR `target`; if there are none, *rest is not 0. If a basis is the XOR of earlier bases, its bit is 0 in the
 * result. */
typedef struct settp_notation_solver {
  int count;
  uint64_t value[SETT_NOTATION_BITS], bits[SETT_NOTATION_BITS];
} settp_notation_solver;

SETT_INLINE uint64_t settp_notation_reduce(const settp_notation_solver *solver, uint64_t target, uint64_t *rest) {
  uint64_t bits = 0;
  int i;
  for (i = 0; i < solver->count; ++i)
    if (target & (solver->value[i] & (~solver->value[i] + 1))) {
      target ^= solver->value[i];
      bits ^= solver->bits[i];
    }
  *rest = target;
  return bits;
}

SETT_INLINE settp_notation_solver settp_notation_solve(const sett_notation_linear *linear) {
  settp_notation_solver solver;
  int i, total = settp_notation_total(linear->ins, linear->in_bits);
  solver.count = 0;
  for (i = 0; i < total; ++i) {
    uint64_t rest, bits = settp_notation_reduce(&solver, linear->basis[i], &rest);
    if (!rest) continue;
    solver.value[solver.count] = rest;
    solver.bits[solver.count++] = bits ^ (uint64_t)1 << i;
  }
  return solver;
}

SETT_PUBLIC sett_notation sett_notation_invert_and_compose(sett_map_arena *arena, const sett_notation *a,
                                                           const sett_notation *b) {
  settp_notation_work work = settp_notation_begin(arena);
  sett_notation_linear *result = NULL;
  const sett_notation_linear *first, *second;
  settp_notation_solver solver;
  int i;
  if (settp_notation_both_linear(&work, a, b)) result = settp_notation_new_linear(&work);
  if (!result) return settp_notation_end(&work, *a);
  first = a->linear;
  second = b->linear;
  if (first->outs != second->outs) settp_notation_stop(&work, SETT_NOTATION_ERROR_SAME_DIMS);
  settp_notation_copy_dims(&result->ins, result->in, result->in_bits, first->ins, first->in, first->in_bits);
  settp_notation_copy_dims(&result->outs, result->out, result->out_bits, second->ins, second->in, second->in_bits);
  solver = settp_notation_solve(second);
  for (i = 0; i < settp_notation_total(first->ins, first->in_bits) && !work.error; ++i) {
    uint64_t rest;
    result->basis[i] =
        settp_notation_reduce(&solver,
                              settp_notation_reorder(&work, first->basis[i], first->outs, first->out, first->out_bits,
                                                     second->outs, second->out, second->out_bits),
                              &rest);
    if (rest)
      settp_notation_no(&work, SETT_NOTATION_NO_COVER, (int64_t)1 << i, (int64_t)first->basis[i],
                        (int64_t)(first->basis[i] ^ rest));
  }
  return settp_notation_end(&work, settp_notation_of_linear(result));
}

SETT_PUBLIC sett_notation sett_notation_invert(sett_map_arena *arena, const sett_notation *a) {
  settp_notation_work work = settp_notation_begin(arena);
  sett_notation_linear *result = NULL;
  settp_notation_solver solver;
  int i, ins, outs;
  if (settp_notation_both_linear(&work, a, a)) result = settp_notation_new_linear(&work);
  if (!result) return settp_notation_end(&work, *a);
  ins = settp_notation_total(a->linear->ins, a->linear->in_bits);
  outs = settp_notation_total(a->linear->outs, a->linear->out_bits);
  settp_notation_copy_dims(&result->ins, result->in, result->in_bits, a->linear->outs, a->linear->out,
                           a->linear->out_bits);
  settp_notation_copy_dims(&result->outs, result->out, result->out_bits, a->linear->ins, a->linear->in,
                           a->linear->in_bits);
  solver = settp_notation_solve(a->linear);
  /* the XOR of these bases is 0, so the input with these bits has the same value as input 0 */
  for (i = 0; i < ins && !work.error; ++i) {
    uint64_t rest, bits = settp_notation_reduce(&solver, a->linear->basis[i], &rest) ^ (uint64_t)1 << i;
    if (bits) settp_notation_no(&work, SETT_NOTATION_NO_INVERSE, (int64_t)bits, 0, (int64_t)bits);
  }
  for (i = 0; i < outs && !work.error; ++i) {
    uint64_t rest;
    result->basis[i] = settp_notation_reduce(&solver, (uint64_t)1 << i, &rest);
    /* no input has this value */
    if (rest) settp_notation_no(&work, SETT_NOTATION_NO_INVERSE, -1, (int64_t)1 << i, 0);
  }
  return settp_notation_end(&work, settp_notation_of_linear(result));
}

/* Append the dimensions of another list (`from`, `from_bits`) to the list names[]. A dimension that is already in the list is not repeated; its
 * numbers of bits are added. */
SETT_INLINE void settp_notation_join_dims(settp_notation_work *work, int *count, char names[][16], int *bits, int more,
                                          const char from[][16], const int *from_bits) {
  int i, k;
  for (i = 0; i < more; ++i) {
    int at = settp_notation_find(*count, (const char(*)[16])names, from[i]);
    if (at < 0 && *count == SETT_NOTATION_DIMS) {
      settp_notation_stop(work, SETT_NOTATION_ERROR_LEAVES);
      return;
    }
    if (at < 0) {
      at = (*count)++;
      bits[at] = 0;
      for (k = 0; k < 16; ++k) names[at][k] = from[i][k];
    }
    bits[at] += from_bits[i];
  }
}

/* Copy the bases of `part` into `result`, which has the dimensions of both. In each dimension, the bits of `part` are above those of `below`
 * (NULL: at the lowest bits). */
SETT_INLINE void settp_notation_place_bits(sett_notation_linear *result, const sett_notation_linear *part,
                                           const sett_notation_linear *below) {
  int i, j, d, at = 0;
  for (i = 0; i < part->ins; ++i) {
    int in = settp_notation_find(result->ins, (const char(*)[16])result->in, part->in[i]),
        low = below ? settp_notation_find(below->ins, below->in, part->in[i]) : -1;
    for (j = 0; j < part->in_bits[i]; ++j, ++at) {
      uint64_t value = part->basis[at], packed = 0;
      for (d = 0; d < part->outs; ++d) {
        int out = settp_notation_find(result->outs, (const char(*)[16])result->out, part->out[d]),
            under = below ? settp_notation_find(below->outs, below->out, part->out[d]) : -1;
        uint64_t bits = value & (((uint64_t)1 << part->out_bits[d]) - 1);
        value >>= part->out_bits[d];
        if (bits)
          packed |= bits << (settp_notation_shift(out, result->out_bits) + (under < 0 ? 0 : below->out_bits[under]));
      }
      result->basis[settp_notation_shift(in, result->in_bits) + j + (low < 0 ? 0 : below->in_bits[low])] = packed;
    }
  }
}

SETT_PUBLIC sett_notation sett_notation_linear_product(sett_map_arena *arena, const sett_notation *a,
                                                       const sett_notation *b) {
  settp_notation_work work = settp_notation_begin(arena);
  sett_notation_linear *result = NULL;
  if (settp_notation_both_linear(&work, a, b)) result = settp_notation_new_linear(&work);
  if (!result) return settp_notation_end(&work, *a);
  settp_notation_join_dims(&work, &result->ins, result->in, result->in_bits, a->linear->ins, a->linear->in,
                           a->linear->in_bits);
  settp_notation_join_dims(&work, &result->ins, result->in, result->in_bits, b->linear->ins, b->linear->in,
                           b->linear->in_bits);
  settp_notation_join_dims(&work, &result->outs, result->out, result->out_bits, a->linear->outs, a->linear->out,
                           a->linear->out_bits);
  settp_notation_join_dims(&work, &result->outs, result->out, result->out_bits, b->linear->outs, b->linear->out,
                           b->linear->out_bits);
  if (settp_notation_total(result->ins, result->in_bits) > SETT_NOTATION_BITS ||
      settp_notation_total(result->outs, result->out_bits) > SETT_NOTATION_BITS)
    settp_notation_stop(&work, SETT_NOTATION_ERROR_POWER);
  if (!work.error) {
    settp_notation_place_bits(result, a->linear, NULL);
    settp_notation_place_bits(result, b->linear, a->linear);
  }
  return settp_notation_end(&work, settp_notation_of_linear(result));
}

SETT_INLINE int settp_notation_same_linear(const sett_notation_linear *a, const sett_notation_linear *b) {
  int i;
  if (a->ins != b->ins || a->outs != b->outs) return 0;
  for (i = 0; i < a->ins; ++i)
    if (a->in_bits[i] != b->in_bits[i] || !settp_notation_name_is(a->in[i], b->in[i])) return 0;
  for (i = 0; i < a->outs; ++i)
    if (a->out_bits[i] != b->out_bits[i] || !settp_notation_name_is(a->out[i], b->out[i])) return 0;
  for (i = 0; i < settp_notation_total(a->ins, a->in_bits); ++i)
    if (a->basis[i] != b->basis[i]) return 0;
  return 1;
}

/* The quotient can only have, in each dimension, the bits of `a` that `b` does not have. Build this layout. It is the quotient if its product with `b`
 * is `a`. */
SETT_PUBLIC sett_notation sett_notation_divide_by(sett_map_arena *arena, const sett_notation *a, const sett_notation *b,
                                                  int right) {
  settp_notation_work work = settp_notation_begin(arena);
  sett_notation_linear *result = NULL;
  const sett_notation_linear *all, *factor;
  sett_notation quotient, product;
  int i, j, d, at = 0;
  if (settp_notation_both_linear(&work, a, b)) result = settp_notation_new_linear(&work);
  if (!result) return settp_notation_end(&work, *a);
  all = a->linear;
  factor = b->linear;
  settp_notation_copy_dims(&result->ins, result->in, result->in_bits, all->ins, all->in, all->in_bits);
  settp_notation_copy_dims(&result->outs, result->out, result->out_bits, all->outs, all->out, all->out_bits);
  for (i = 0; i < factor->ins; ++i) {
    d = settp_notation_find(all->ins, all->in, factor->in[i]);
    if (d < 0 || all->in_bits[d] < factor->in_bits[i]) settp_notation_no(&work, SETT_NOTATION_NO_QUOTIENT, -1, 0, 0);
    else result->in_bits[d] -= factor->in_bits[i];
  }
  for (i = 0; i < factor->outs; ++i) {
    d = settp_notation_find(all->outs, all->out, factor->out[i]);
    if (d < 0 || all->out_bits[d] < factor->out_bits[i]) settp_notation_no(&work, SETT_NOTATION_NO_QUOTIENT, -1, 0, 0);
    else result->out_bits[d] -= factor->out_bits[i];
  }
  for (i = 0; i < result->ins && !work.error; ++i)
    for (j = 0; j < result->in_bits[i]; ++j, ++at) {
      uint64_t value = all->basis[settp_notation_shift(i, all->in_bits) + j +
                                  (right ? 0 : all->in_bits[i] - result->in_bits[i])],
               packed = 0;
      for (d = 0; d < all->outs; ++d) {
        uint64_t bits = value & (((uint64_t)1 << all->out_bits[d]) - 1);
        value >>= all->out_bits[d];
        if (!right) bits >>= all->out_bits[d] - result->out_bits[d];
        bits &= ((uint64_t)1 << result->out_bits[d]) - 1;
        packed |= bits << settp_notation_shift(d, result->out_bits);
      }
      result->basis[at] = packed;
    }
  quotient = settp_notation_of_linear(result);
  if (work.error) return settp_notation_end(&work, quotient);
  product =
      right ? sett_notation_linear_product(arena, &quotient, b) : sett_notation_linear_product(arena, b, &quotient);
  if (product.error) return product;
  { /* write the product with its dimensions in the order of `a` */
    sett_notation_linear *again = settp_notation_new_linear(&work);
    if (again) {
      settp_notation_copy_dims(&again->ins, again->in, again->in_bits, all->ins, all->in, all->in_bits);
      settp_notation_copy_dims(&again->outs, again->out, again->out_bits, all->outs, all->out, all->out_bits);
      settp_notation_place_bits(again, product.linear, NULL);
      for (i = 0; i < settp_notation_total(all->ins, all->in_bits) && !work.error; ++i)
        if (again->basis[i] != all->basis[i])
          settp_notation_no(&work, SETT_NOTATION_NO_QUOTIENT, (int64_t)1 << i, (int64_t)all->basis[i],
                            (int64_t)again->basis[i]);
    }
  }
  return settp_notation_end(&work, quotient);
}

SETT_PUBLIC sett_notation sett_notation_quotient(sett_map_arena *arena, const sett_notation *a, const char *dim) {
  settp_notation_work work = settp_notation_begin(arena);
  sett_notation_linear *result = NULL, *identity = NULL;
  sett_notation factor, divided;
  int in, out, i, k, at = 0;
  if (settp_notation_both_linear(&work, a, a)) result = settp_notation_new_linear(&work);
  if (result) identity = settp_notation_new_linear(&work);
  if (!identity) return settp_notation_end(&work, *a);
  in = settp_notation_find(a->linear->ins, a->linear->in, dim);
  out = settp_notation_find(a->linear->outs, a->linear->out, dim);
  if (in < 0 || out < 0) return settp_notation_fail(SETT_NOTATION_ERROR_NAME);
  if (a->linear->in_bits[in] != a->linear->out_bits[out]) settp_notation_no(&work, SETT_NOTATION_NO_QUOTIENT, -1, 0, 0);
  settp_notation_join_dims(&work, &identity->ins, identity->in, identity->in_bits, 1, &a->linear->in[in],
                           &a->linear->in_bits[in]);
  settp_notation_join_dims(&work, &identity->outs, identity->out, identity->out_bits, 1, &a->linear->out[out],
                           &a->linear->out_bits[out]);
  for (i = 0; i < identity->in_bits[0]; ++i) identity->basis[i] = (uint64_t)1 << i;
  factor = settp_notation_of_linear(identity);
  divided = sett_notation_divide_by(arena, a, &factor, 0);
  if (work.error || divided.error) return settp_notation_end(&work, divided);
  for (i = 0; i < divided.linear->ins; ++i)
    if (i != in) {
      result->in_bits[result->ins] = divided.linear->in_bits[i];
      for (k = 0; k < 16; ++k) result->in[result->ins][k] = divided.linear->in[i][k];
      ++result->ins;
    }
  for (i = 0; i < divided.linear->outs; ++i)
    if (i != out) {
      result->out_bits[result->outs] = divided.linear->out_bits[i];
      for (k = 0; k < 16; ++k) result->out[result->outs][k] = divided.linear->out[i][k];
      ++result->outs;
    }
  for (i = 0; i < settp_notation_total(divided.linear->ins, divided.linear->in_bits); ++i)
    result->basis[at++] = divided.linear->basis[i];
  return settp_notation_of_linear(result);
}

/* Copy the named dimensions in their old order. Return a mask of their bits. */
SETT_INLINE uint64_t settp_notation_take_dims(settp_notation_work *work, int *count, char names[][16], int *bits,
                                              int from_count, const char from[][16], const int *from_bits, int wanted,
                                              const char want[][16]) {
  uint64_t taken = 0;
  int i, k, shift = 0;
  *count = 0;
  for (i = 0; i < wanted; ++i)
    if (settp_notation_find(from_count, from, want[i]) < 0) settp_notation_stop(work, SETT_NOTATION_ERROR_NAME);
  for (i = 0; i < from_count; shift += from_bits[i++]) {
    if (settp_notation_find(wanted, want, from[i]) < 0) continue;
    for (k = 0; k < 16; ++k) names[*count][k] = from[i][k];
    bits[(*count)++] = from_bits[i];
    taken |= (((uint64_t)1 << from_bits[i]) - 1) << shift;
  }
  return taken;
}

/* Return the bits of `value` at the positions where `mask` is 1, packed together without gaps. */
SETT_INLINE uint64_t settp_notation_extract(uint64_t value, uint64_t mask) {
  uint64_t result = 0;
  int at = 0;
  for (; mask; mask >>= 1, value >>= 1)
    if (mask & 1) result |= (value & 1) << at++;
  return result;
}

/* Finish an operation that reads a text: check that the text ends, or return the error with its column. */
SETT_INLINE sett_notation settp_notation_end_text(settp_notation_reader *reader, const sett_notation_linear *linear) {
  sett_notation layout;
  settp_notation_peek(reader);
  if (!reader->work.error && reader->at < reader->length) settp_notation_bad(reader, SETT_NOTATION_ERROR_END);
  layout = settp_notation_end(&reader->work, settp_notation_of_linear(linear));
  if (layout.error) layout.column = (int64_t)reader->error_at + 1;
  return layout;
}

SETT_PUBLIC sett_notation sett_notation_sublayout(sett_map_arena *arena, const sett_notation *a, const char *text,
                                                  size_t length) {
  settp_notation_reader reader = settp_notation_read(arena, text, length);
  sett_notation_linear *result = NULL, *named = NULL;
  sett_notation made;
  uint64_t in_mask, out_mask;
  int i, at = 0;
  if (settp_notation_both_linear(&reader.work, a, a)) result = settp_notation_new_linear(&reader.work);
  if (result) named = settp_notation_new_linear(&reader.work);
  if (!named) return settp_notation_end(&reader.work, *a);
  settp_notation_read_sizes(&reader, &named->ins, named->in, named->in_bits, 0);
  if (!reader.work.error && !settp_notation_word(&reader, "->")) settp_notation_bad(&reader, SETT_NOTATION_ERROR_ARROW);
  if (!reader.work.error) settp_notation_read_sizes(&reader, &named->outs, named->out, named->out_bits, 0);
  made = settp_notation_end_text(&reader, result);
  if (made.error) return made;
  in_mask = settp_notation_take_dims(&reader.work, &result->ins, result->in, result->in_bits, a->linear->ins,
                                     a->linear->in, a->linear->in_bits, named->ins, (const char(*)[16])named->in);
  out_mask = settp_notation_take_dims(&reader.work, &result->outs, result->out, result->out_bits, a->linear->outs,
                                      a->linear->out, a->linear->out_bits, named->outs, (const char(*)[16])named->out);
  for (i = 0; in_mask >> i; ++i)
    if (in_mask >> i & 1) result->basis[at++] = settp_notation_extract(a->linear->basis[i], out_mask);
  return settp_notation_end(&reader.work, made);
}

SETT_PUBLIC sett_notation sett_notation_reshape(sett_map_arena *arena, const sett_notation *a, const char *text,
                                                size_t length, int outs) {
  settp_notation_reader reader = settp_notation_read(arena, text, text ? length : 0);
  sett_notation_linear *result = NULL;
  sett_notation made;
  int total, *count, *bits;
  char(*names)[16];
  if (settp_notation_both_linear(&reader.work, a, a)) result = settp_notation_new_linear(&reader.work);
  if (!result) return settp_notation_end(&reader.work, *a);
  *result = *a->linear;
  count = outs ? &result->outs : &result->ins;
  names = outs ? result->out : result->in;
  bits = outs ? result->out_bits : result->in_bits;
  total = settp_notation_total(*count, bits);
  if (text) {
    settp_notation_read_sizes(&reader, count, names, bits, 1);
  } else if (*count > 0) {
    *count = 1;
    bits[0] = total;
  }
  made = settp_notation_end_text(&reader, result);
  if (!made.error && settp_notation_total(*count, bits) != total)
    return settp_notation_fail(SETT_NOTATION_ERROR_RESHAPE);
  return made;
}

/* Set *witness to -1, and return 1 if `a` is a linear layout. */
SETT_INLINE int settp_notation_asked(const sett_notation *a, int64_t *witness) {
  *witness = -1;
  return !a->error && a->kind == SETT_NOTATION_TRITON;
}

SETT_PUBLIC int sett_notation_is_zero(const sett_notation *a, int64_t *witness) {
  int i;
  if (!settp_notation_asked(a, witness)) return 0;
  for (i = settp_notation_total(a->linear->ins, a->linear->in_bits); i-- > 0;)
    if (a->linear->basis[i]) *witness = (int64_t)1 << i;
  return *witness < 0;
}

SETT_PUBLIC int sett_notation_is_injective(const sett_notation *a, int64_t *witness) {
  settp_notation_solver solver;
  int i;
  if (!settp_notation_asked(a, witness)) return 0;
  solver = settp_notation_solve(a->linear);
  for (i = settp_notation_total(a->linear->ins, a->linear->in_bits); i-- > 0;) {
    uint64_t rest, bits = settp_notation_reduce(&solver, a->linear->basis[i], &rest) ^ (uint64_t)1 << i;
    if (bits) *witness = (int64_t)bits;
  }
  return *witness < 0;
}

SETT_PUBLIC int sett_notation_is_surjective(const sett_notation *a, int64_t *witness) {
  settp_notation_solver solver;
  int i;
  if (!settp_notation_asked(a, witness)) return 0;
  solver = settp_notation_solve(a->linear);
  for (i = settp_notation_total(a->linear->outs, a->linear->out_bits); i-- > 0;) {
    uint64_t rest;
    settp_notation_reduce(&solver, (uint64_t)1 << i, &rest);
    if (rest) *witness = (int64_t)1 << i;
  }
  return *witness < 0;
}

SETT_PUBLIC int sett_notation_free_masks(const sett_notation *a, int64_t *mask) {
  settp_notation_solver solver;
  int i, j, at = 0;
  for (i = 0; i < SETT_NOTATION_DIMS; ++i) mask[i] = 0;
  if (a->error || a->kind != SETT_NOTATION_TRITON) return -1;
  solver = settp_notation_solve(a->linear);
  for (i = 0; i < a->linear->ins; ++i)
    for (j = 0; j < a->linear->in_bits[i]; ++j, ++at) {
      /* the bit is free if its basis is the XOR of bases of earlier bits, because settp_notation_reduce then returns those bits and not this one */
      uint64_t rest;
      if (settp_notation_reduce(&solver, a->linear->basis[at], &rest) != (uint64_t)1 << at) mask[i] |= (int64_t)1 << j;
    }
  return a->linear->ins;
}

/* Add a vector to a span; return 0 if it was in the span. */
SETT_INLINE int settp_notation_span_add(settp_notation_solver *span, uint64_t value) {
  uint64_t rest;
  settp_notation_reduce(span, value, &rest);
  if (!rest || span->count == SETT_NOTATION_BITS) return 0;
  span->value[span->count] = rest;
  span->bits[span->count++] = 0;
  return 1;
}

/* Write the bases of an input dimension as packed values of the output dimensions of another layout. Return their number. */
SETT_INLINE int settp_notation_bases_of(settp_notation_work *work, const sett_notation_linear *linear, const char *name,
                                        const sett_notation_linear *like, uint64_t *basis) {
  int i, j, at = 0;
  for (i = 0; i < linear->ins; at += linear->in_bits[i++]) {
    if (!settp_notation_name_is(linear->in[i], name)) continue;
    for (j = 0; j < linear->in_bits[i]; ++j)
      basis[j] = settp_notation_reorder(work, linear->basis[at + j], linear->outs, linear->out, linear->out_bits,
                                        like->outs, like->out, like->out_bits);
    return linear->in_bits[i];
  }
  return 0;
}

/* Build the span of all bases of a layout, except those of the registers that form a vector. A basis is packed into one number by the dimensions
 * of the layout `like`. */
SETT_INLINE void settp_notation_others(settp_notation_work *work, const sett_notation_linear *linear,
                                       const sett_notation_linear *like, int vectors, const uint64_t *chosen,
                                       settp_notation_solver *span) {
  uint64_t basis[SETT_NOTATION_BITS], taken = 0;
  int i, k, in, count;
  for (in = 0; in < linear->ins; ++in) {
    count = settp_notation_bases_of(work, linear, linear->in[in], like, basis);
    for (i = 0; i < count; ++i) {
      for (k = 0; k < vectors && (basis[i] != chosen[k] || (taken >> k & 1)); ++k) {}
      if (k < vectors && settp_notation_name_is(linear->in[in], "register")) taken |= (uint64_t)1 << k;
      else settp_notation_span_add(span, basis[i]);
    }
  }
}

/* Count the turns that one access of a warp takes, and the minimum for its elements. In a turn, each of 32 banks of shared memory serves one word of
 * 4 bytes. `place` maps the index to the offset. */
SETT_INLINE void settp_notation_turns(const sett_notation_linear *place, int lanes, const uint64_t *lane, int64_t width,
                                      int64_t bits, int64_t *turns, int64_t *least) {
  int64_t wide = width * bits, phase = wide > 32 ? 1024 / wide : 32, first, i, j, w;
  *turns = *least = 0;
  for (first = 0; first < (int64_t)1 << lanes; first += phase) {
    int64_t word[32 * 4], start[32], count = 0, different = 0, most = 0, banks[32];
    for (i = 0; i < 32; ++i) banks[i] = 0;
    for (i = first; i < first + phase && i < (int64_t)1 << lanes; ++i) {
      uint64_t index = 0;
      int64_t at;
      for (j = 0; j < lanes; ++j)
        if (i >> j & 1) index ^= lane[j];
      at = (int64_t)settp_notation_apply(place, index);
      for (j = 0; j < different && start[j] != at; ++j) {}
      if (j < different) continue;
      start[different++] = at;
      for (w = at * bits / 32; w <= (at * bits + wide - 1) / 32; ++w) {
        for (j = 0; j < count && word[j] != w; ++j) {}
        if (j < count) continue;
        word[count++] = w;
        if (++banks[w % 32] > most) most = banks[w % 32];
      }
    }
    *turns += most;
    *least += (different * wide + 1023) / 1024;
  }
}

SETT_PUBLIC sett_notation_exchange sett_notation_shared(sett_map_arena *arena, const sett_notation *store,
                                                        const sett_notation *load, int64_t bits) {
  settp_notation_work work = settp_notation_begin(arena);
  const sett_notation *side[2];
  uint64_t registers[2][SETT_NOTATION_BITS], lanes[2][SETT_NOTATION_BITS], chosen[SETT_NOTATION_BITS];
  settp_notation_solver word, span[2], both, all, others;
  sett_notation_exchange result;
  sett_notation_linear *made = NULL;
  sett_notation inverse;
  int register_count[2], lane_count[2], total = 0, row = 0, vectors = 0, used, i, k, s;
  side[0] = store;
  side[1] = load;
  result.width = 1;
  result.store_turns = result.load_turns = result.store_least = result.load_least = 0;
  result.layout = *store;
  if (settp_notation_both_linear(&work, store, load)) made = settp_notation_new_linear(&work);
  if (made && (bits < 1 || bits > 128 || settp_notation_log(bits) < 0))
    settp_notation_stop(&work, SETT_NOTATION_ERROR_BITS);
  if (made && store->linear->outs != load->linear->outs) settp_notation_stop(&work, SETT_NOTATION_ERROR_SAME_DIMS);
  for (s = 0; s < 2 && made && !work.error; ++s) {
    register_count[s] = settp_notation_bases_of(&work, side[s]->linear, "register", store->linear, registers[s]);
    lane_count[s] = settp_notation_bases_of(&work, side[s]->linear, "lane", store->linear, lanes[s]);
    if (lane_count[s] > 6) settp_notation_stop(&work, SETT_NOTATION_ERROR_POWER);
  }
  if (!made || work.error) {
    result.layout = settp_notation_end(&work, *store);
    return result;
  }
  total = settp_notation_total(store->linear->outs, store->linear->out_bits);
  others.count = 0;
  /* number of low offset bits that select an element within one turn (128 bytes, a word of each bank) */
  while (((int64_t)bits << row) < 1024) ++row;
  for (i = 0; i < register_count[0] && bits << vectors < 128; ++i) {
    for (k = 0; k < register_count[1] && registers[1][k] != registers[0][i]; ++k) {}
    if (k < register_count[1] && registers[0][i]) chosen[vectors++] = registers[0][i];
  }
  /* Shorten the vector until both distributions can use it: no bit outside the vector may change the position of an element inside the vector. */
  for (;; --vectors) {
    settp_notation_others(&work, store->linear, store->linear, vectors, chosen, &others);
    settp_notation_others(&work, load->linear, store->linear, vectors, chosen, &others);
    word.count = 0;
    both = others;
    for (i = 0; i < vectors && settp_notation_span_add(&both, chosen[i]); ++i)
      settp_notation_span_add(&word, chosen[i]);
    if (i == vectors) break;
    others.count = 0;
  }
  result.width <<= vectors;
  used = vectors;
  /* if a word of a bank is larger than a vector, fill the word: first with bits of adjacent lanes, then with any bits */
  for (i = 0; i < lane_count[0] + total && ((int64_t)bits << used) < 32; ++i) {
    uint64_t value = i < lane_count[0] ? lanes[0][i] : (uint64_t)1 << (i - lane_count[0]);
    if (settp_notation_span_add(&word, value)) chosen[used++] = value;
  }
  for (s = 0; s < 2; ++s) { /* store (0), load (1): span of the elements that are accessed in one turn of the banks */
    span[s] = word;
    for (i = 0; i < lane_count[s] && bits * result.width << i < 1024 && i < 5; ++i)
      settp_notation_span_add(&span[s], lanes[s][i]);
  }
  for (s = 0; s < 2; ++s)
    for (i = 0; i < span[1 - s].count && span[s].count < row; ++i)
      settp_notation_span_add(&span[s], span[1 - s].value[i]);
  for (s = 0; s < 2; ++s)
    for (i = 0; i < total && span[s].count < row; ++i) settp_notation_span_add(&span[s], (uint64_t)1 << i);
  /* A complement of both spans. It consists of bits outside both spans, and of elements a XOR b, where only the first span contains a, and only the
   * second contains b. */
  both = span[0];
  for (i = 0; i < span[1].count; ++i) settp_notation_span_add(&both, span[1].value[i]);
  all = word;
  {
    uint64_t above[SETT_NOTATION_BITS], alone[2][SETT_NOTATION_BITS];
    int count = 0, counts[2];
    for (s = 0; s < 2; ++s) {
      settp_notation_solver other = span[1 - s];
      for (i = counts[s] = 0; i < span[s].count; ++i)
        if (settp_notation_span_add(&other, span[s].value[i])) alone[s][counts[s]++] = span[s].value[i];
    }
    for (i = 0; i < counts[0] && i < counts[1]; ++i) above[count++] = alone[0][i] ^ alone[1][i];
    for (i = 0; i < total; ++i)
      if (settp_notation_span_add(&both, (uint64_t)1 << i)) above[count++] = (uint64_t)1 << i;
    for (i = 0; i < count; ++i) settp_notation_span_add(&all, above[i]);
    /* the bits that select a bank: bits of the lanes of the store, then any bits */
    for (i = 0; i < lane_count[0] + total; ++i) {
      uint64_t value = i < lane_count[0] ? lanes[0][i] : (uint64_t)1 << (i - lane_count[0]);
      if (settp_notation_span_add(&all, value)) chosen[used++] = value;
    }
    for (i = 0; i < count && used < SETT_NOTATION_BITS; ++i) chosen[used++] = above[i];
  }
  /* combine all other bases with those of the vector, so that they do not change the position inside the vector */
  for (i = 0; i < total; ++i) {
    both = others;
    for (k = 0; k < vectors; ++k) settp_notation_span_add(&both, chosen[k]);
    if (settp_notation_span_add(&both, (uint64_t)1 << i)) settp_notation_span_add(&others, (uint64_t)1 << i);
  }
  for (i = 0; i < others.count; ++i) others.bits[i] = 0;
  for (i = 0; i < vectors; ++i) {
    uint64_t rest, combined = settp_notation_reduce(&others, chosen[i], &rest);
    others.value[others.count] = rest;
    others.bits[others.count++] = combined ^ (uint64_t)1 << i;
  }
  for (i = vectors; i < used; ++i) {
    uint64_t rest, combined = settp_notation_reduce(&others, chosen[i], &rest);
    for (k = 0; k < vectors; ++k)
      if (combined >> k & 1) chosen[i] ^= chosen[k];
  }
  settp_notation_copy_dims(&made->outs, made->out, made->out_bits, store->linear->outs, store->linear->out,
                           store->linear->out_bits);
  made->ins = 2;
  settp_notation_name(made->in[0], "offset", -1);
  settp_notation_name(made->in[1], "block", -1);
  made->in_bits[0] = total;
  for (i = 0; i < total && i < used; ++i) made->basis[i] = chosen[i];
  result.layout = settp_notation_of_linear(made);
  inverse = sett_notation_invert(arena, &result.layout);
  if (inverse.error) {
    result.layout = inverse;
    return result;
  }
  settp_notation_turns(inverse.linear, lane_count[0], lanes[0], result.width, bits, &result.store_turns,
                       &result.store_least);
  settp_notation_turns(inverse.linear, lane_count[1], lanes[1], result.width, bits, &result.load_turns,
                       &result.load_least);
  return result;
}

SETT_PUBLIC int64_t sett_notation_consecutive(const sett_notation *a) {
  const sett_notation_linear *linear = a->linear;
  uint64_t others = 0;
  int bits = 0, i;
  if (a->error || a->kind != SETT_NOTATION_TRITON) return -1;
  if (linear->ins == 0 || linear->outs == 0) return 1;
  while (bits < linear->in_bits[0] && bits < linear->out_bits[0] && linear->basis[bits] == (uint64_t)1 << bits) ++bits;
  for (i = bits; i < settp_notation_total(linear->ins, linear->in_bits); ++i) others |= linear->basis[i];
  while (others & (((uint64_t)1 << bits) - 1)) --bits;
  return (int64_t)1 << bits;
}

SETT_INLINE void settp_notation_write_list(settp_notation_writer *writer, int count, const int64_t *list) {
  int i;
  for (i = 0; i < count; ++i) {
    if (i) settp_notation_write(writer, ",");
    settp_notation_write_integer(writer, list[i]);
  }
}

SETT_INLINE void settp_notation_write_bases(settp_notation_writer *writer, const sett_notation_linear *linear) {
  int i, j, d, at = 0;
  settp_notation_write(writer, "{");
  for (i = 0; i < linear->ins; ++i) {
    if (i) settp_notation_write(writer, ", ");
    settp_notation_write(writer, linear->in[i]);
    settp_notation_write(writer, " = [");
    for (j = 0; j < linear->in_bits[i]; ++j, ++at) {
      uint64_t value = linear->basis[at];
      settp_notation_write(writer, j ? ", [" : "[");
      for (d = 0; d < linear->outs; ++d) {
        if (d) settp_notation_write(writer, ", ");
        settp_notation_write_integer(writer, (int64_t)(value & (((uint64_t)1 << linear->out_bits[d]) - 1)));
        value >>= linear->out_bits[d];
      }
      settp_notation_write(writer, "]");
    }
    settp_notation_write(writer, "]");
  }
  settp_notation_write(writer, "}");
}

SETT_INLINE void settp_notation_write_linear(settp_notation_writer *writer, const sett_notation_linear *linear) {
  int d;
  settp_notation_write_bases(writer, linear);
  settp_notation_write(writer, " -> {");
  for (d = 0; d < linear->outs; ++d) {
    if (d) settp_notation_write(writer, ", ");
    settp_notation_write(writer, linear->out[d]);
    settp_notation_write(writer, " = ");
    settp_notation_write_integer(writer, (int64_t)1 << linear->out_bits[d]);
  }
  settp_notation_write(writer, "}");
}

/* Write (1, 2), or (1,) for one entry. If `copies` is set, a positive entry n is written as Replicated(times=n). */
SETT_INLINE void settp_notation_write_python(settp_notation_writer *writer, int count, const int64_t *list,
                                             int copies) {
  int i;
  settp_notation_write(writer, "(");
  for (i = 0; i < count; ++i) {
    int copied = copies && list[i] > 0;
    if (i) settp_notation_write(writer, ", ");
    if (copied) settp_notation_write(writer, "Replicated(times=");
    settp_notation_write_integer(writer, list[i]);
    if (copied) settp_notation_write(writer, ")");
  }
  settp_notation_write(writer, count == 1 ? ",)" : ")");
}

SETT_INLINE void settp_notation_write_tiled(settp_notation_writer *writer, const sett_notation_tiled *tiled) {
  int i;
  settp_notation_write(writer, "TiledLayout(tiling=Tiling(tiles=(");
  for (i = 0; i < tiled->tiles; ++i) {
    if (i) settp_notation_write(writer, ", ");
    settp_notation_write_python(writer, tiled->tile_rank[i], tiled->tile[i], 0);
  }
  settp_notation_write(writer, tiled->tiles == 1 ? ",)), warp_dims=" : ")), warp_dims=");
  settp_notation_write_python(writer, tiled->warps, tiled->warp_dim, 1);
  settp_notation_write(writer, ", lane_dims=");
  settp_notation_write_python(writer, tiled->lanes, tiled->lane_dim, 1);
  settp_notation_write(writer, ", vector_dim=");
  settp_notation_write_integer(writer, tiled->vector_dim);
  settp_notation_write(writer, ")");
}

SETT_INLINE void settp_notation_write_array(settp_notation_writer *writer, const sett_notation *layout) {
  uint32_t capital = 0;
  int i;
  char letter[2] = {0, 0};
  if (layout->kind == SETT_NOTATION_TRITON) {
    settp_notation_write_linear(writer, layout->linear);
    return;
  }
  for (i = 0; i < layout->rank; ++i) {
    if (i) settp_notation_write(writer, "x");
    settp_notation_write_integer(writer, layout->dims[i]);
  }
  settp_notation_write(writer, "@");
  if (layout->kind == SETT_NOTATION_MOSAIC) {
    settp_notation_write_tiled(writer, layout->tiled);
    return;
  }
  if (layout->kind == SETT_NOTATION_MASKED) {
    settp_notation_write(writer, "#ttg.linear<");
    settp_notation_write_bases(writer, layout->linear);
    settp_notation_write(writer, ">");
    return;
  }
  if (layout->kind == SETT_NOTATION_PADDED) {
    settp_notation_write(writer, "#ttg.padded_shared<[");
    for (i = 0; i < layout->padded->pads; ++i) {
      if (i) settp_notation_write(writer, ", ");
      settp_notation_write_integer(writer, layout->padded->interval[i]);
      settp_notation_write(writer, ":+");
      settp_notation_write_integer(writer, layout->padded->pad[i]);
    }
    settp_notation_write(writer, "] ");
    settp_notation_write_bases(writer, layout->linear);
    settp_notation_write(writer, ">");
    return;
  }
  if (layout->kind == SETT_NOTATION_STRIDES) {
    settp_notation_write(writer, "strides(");
    settp_notation_write_list(writer, layout->rank, layout->strides);
    settp_notation_write(writer, ")");
    if (layout->offset >= 0) settp_notation_write(writer, "+");
    settp_notation_write_integer(writer, layout->offset);
    return;
  }
  for (i = 0; i < layout->blocks; ++i) capital |= (uint32_t)1 << layout->block_dim[i];
  for (i = 0; i < layout->rank; ++i) {
    letter[0] = (char)((capital >> layout->order[i] & 1 ? 'A' : 'a') + layout->order[i]);
    settp_notation_write(writer, letter);
  }
  for (i = 0; i < layout->blocks; ++i) {
    settp_notation_write_integer(writer, layout->block_size[i]);
    letter[0] = (char)('a' + layout->block_dim[i]);
    settp_notation_write(writer, letter);
  }
}

SETT_PUBLIC size_t sett_notation_print(const sett_notation *layout, char *out, size_t capacity) {
  settp_notation_writer writer;
  int i;
  writer.out = out;
  writer.capacity = capacity;
  writer.length = 0;
  if (layout->error) {
    settp_notation_write(&writer, sett_notation_message(layout->error));
  } else if (layout->kind == SETT_NOTATION_TUPLE) {
    settp_notation_write_tree(&writer, &layout->tuple, SETTP_NOTATION_NUMBERS);
  } else if (layout->kind == SETT_NOTATION_TILE) {
    settp_notation_write_tile(&writer, &layout->tuple);
  }
  if (!layout->error && layout->kind >= SETT_NOTATION_STRIDES) settp_notation_write_array(&writer, layout);
  for (i = 0; i < layout->parts && !layout->error; ++i) {
    const sett_notation_part *part = &layout->part[i];
    if (part->swizzle) {
      settp_notation_write(&writer, "S<");
      settp_notation_write_integer(&writer, part->bits);
      settp_notation_write(&writer, ",");
      settp_notation_write_integer(&writer, part->base);
      settp_notation_write(&writer, ",");
      settp_notation_write_integer(&writer, part->shift);
      settp_notation_write(&writer, ">");
    } else {
      settp_notation_write_layout(&writer, &part->layout);
    }
    if (i == layout->parts - 1) break;
    settp_notation_write(&writer, " o ");
    settp_notation_write_tree(&writer, &part->offset, SETTP_NOTATION_SIZES);
    settp_notation_write(&writer, " o ");
  }
  if (capacity) out[writer.length < capacity ? writer.length : capacity - 1] = 0;
  return writer.length;
}

/* ---- bodies: MLIR's affine maps and sets ------------------------------------------------------------------------ */

/* Return an error if the text has an operation that MLIR's affine expressions do not have, and write the column of the first one, counted from 1.
 * Return 0 if there is none. */
SETT_INLINE int settp_notation_not_affine(const char *text, size_t length, int *column) {
  size_t i = 0, n;
  for (; i < length; i += n ? n : 1) {
    char c = text[i];
    for (n = 0; i + n < length && (settp_map_letter(text[i + n]) || settp_map_digit(text[i + n])); ++n) {}
    *column = (int)i + 1;
    if (settp_map_same("min", text + i, n) || settp_map_same("max", text + i, n))
      return SETT_MAP_ERROR_EXPECTED_OPERAND;
    if (settp_map_same("xor", text + i, n) || c == '%' || c == '^' || c == '/') return SETT_MAP_ERROR_EXPECTED_OPERATOR;
  }
  return 0;
}

SETT_INLINE sett_map settp_notation_affine_body(settp_map_parser *p, int set) {
  size_t commas = 3, i, top;
  sett_map_variable *variable;
  sett_map_constraint *constraint;
  sett_expr *result;
  int v;
  for (i = 0; i < p->length; ++i) commas += p->text[i] == ',';
  variable = (sett_map_variable *)settp_map_take(p->arena, commas * sizeof *variable);
  if (!variable) return sett_map_fail(SETT_MAP_ERROR_FULL, 0);
  p->map.variable = variable;
  if (!settp_map_eat(p, "(")) settp_map_fail(p, SETT_MAP_ERROR_EXPECTED_OPEN, p->at);
  else settp_map_names(p, variable, &p->map.dims, ")");
  if (!p->error && settp_map_eat(p, "[")) settp_map_names(p, variable, &p->map.ranges, "]");
  if (!p->error && !settp_map_eat(p, set ? ":" : "->"))
    settp_map_fail(p, set ? SETT_MAP_ERROR_EXPECTED_COLON : SETT_MAP_ERROR_EXPECTED_ARROW, p->at);
  if (!p->error && !settp_map_eat(p, "(")) settp_map_fail(p, SETT_MAP_ERROR_EXPECTED_RESULTS, p->at);
  if (p->error) return p->map;
  top = p->arena->top;
  result = (sett_expr *)settp_map_take(p->arena, commas * sizeof *result);
  constraint = (sett_map_constraint *)settp_map_take(p->arena, commas * sizeof *constraint);
  if (!result || !constraint || !settp_map_parser_stacks(p)) {
    settp_map_fail(p, SETT_MAP_ERROR_FULL, 0);
    return p->map;
  }
  for (v = 0; v < sett_map_variables(p->map); ++v) {
    variable[v].lo = INT64_MIN;
    variable[v].hi = INT64_MAX;
  }
  while (!p->error && !settp_map_eat(p, ")")) {
    if ((p->map.results || p->map.constraints) && !settp_map_eat(p, ",")) {
      settp_map_fail(p, SETT_MAP_ERROR_EXPECTED_OPERATOR, p->at);
    } else if (set) {
      constraint[p->map.constraints] = settp_map_fact(p);
      if (p->error == SETT_MAP_ERROR_EXPECTED_IN) p->error = SETT_MAP_ERROR_EXPECTED_RELATION;
      p->map.constraints += !p->error;
    } else {
      result[p->map.results++] = settp_map_expression(p);
    }
  }
  if (!p->error && !settp_map_eat(p, ">")) settp_map_fail(p, SETT_MAP_ERROR_EXPECTED_CLOSE, p->at);
  if (!p->error && settp_map_peek(p)) settp_map_fail(p, SETT_MAP_ERROR_EXPECTED_END, p->at);
  if (!p->error && p->no_value) settp_map_fail(p, p->no_value, p->no_value_at);
  if (p->error) return p->map;
  p->map.result = result;
  p->map.constraint = constraint;
  return settp_map_store(p->arena, p->map, top);
}

SETT_PUBLIC sett_map sett_notation_affine_parse(sett_map_arena *arena, const char *text, size_t length) {
  settp_map_parser p = settp_map_parser_make(arena, text, length);
  sett_map_mark mark = sett_map_arena_mark(arena);
  sett_map map;
  int column, set, error;
  if (length > (size_t)SETTP_MAP_TEXT_MAX) return sett_map_fail(SETT_MAP_ERROR_LONG, 0);
  error = settp_notation_not_affine(text, length, &column);
  if (error) return sett_map_fail(error, column);
  set = settp_map_eat_word(&p, "affine_set");
  if ((!set && !settp_map_eat_word(&p, "affine_map")) || !settp_map_eat(&p, "<"))
    return sett_map_fail(SETT_MAP_ERROR_EXPECTED_AFFINE, (int)p.at + 1);
  map = settp_notation_affine_body(&p, set);
  if (p.error) map = sett_map_fail(p.error, (int)p.error_at + 1);
  if (map.kind != SETT_MAP_DEFINED) sett_map_arena_rewind(arena, mark);
  return map;
}

SETT_INLINE void settp_notation_affine_expr(sett_map_arena *arena, const sett_map *map, settp_map_out *out, sett_expr e,
                                            int *error) {
  settp_map_tasks tasks = {NULL, 0, 0, 0};
  size_t keep = arena->top;
  settp_map_task_push(arena, &tasks, NULL, e, 0);
  while (tasks.count && !tasks.error && !*error && out->length < out->most) {
    settp_map_task t = tasks.task[--tasks.count];
    const settp_map_node *n;
    uint32_t a, b;
    int64_t k = 0;
    if (t.text) {
      settp_map_put(out, t.text);
      continue;
    }
    n = settp_map_at(arena, t.expr);
    a = settp_map_a(n);
    b = settp_map_b(n);
    if (n->op >= SETTP_MAP_MIN) {
      *error = SETT_NOTATION_ERROR_AFFINE;
    } else if (n->op == SETTP_MAP_CONST) {
      settp_map_put_int(out, n->value);
    } else if (n->op == SETTP_MAP_VAR) {
      settp_map_put(out, n->value < map->dims ? "d" : "s");
      settp_map_put_int(out, n->value < map->dims ? n->value : n->value - map->dims);
    } else {
      if (t.strong) {
        settp_map_put(out, "(");
        settp_map_task_push(arena, &tasks, ")", 0, 0);
      }
      if (n->op == SETTP_MAP_MUL && settp_map_is_constant(arena, b, &k) && k == -1) {
        settp_map_put(out, "-");
        settp_map_task_push(arena, &tasks, NULL, a, 1);
      } else if (n->op != SETTP_MAP_ADD) {
        settp_map_task_push(arena, &tasks, NULL, b, 1);
        settp_map_task_push(arena, &tasks,
                            n->op == SETTP_MAP_MUL        ? " * "
                            : n->op == SETTP_MAP_MOD      ? " mod "
                            : n->op == SETTP_MAP_FLOORDIV ? " floordiv "
                                                          : " ceildiv ",
                            0, 0);
        settp_map_task_push(arena, &tasks, NULL, a, 1);
      } else { /* a sum: write a minus if the second term is a negative number or has a negative factor */
        const settp_map_node *m = settp_map_at(arena, b);
        uint32_t factor = settp_map_a(m);
        int times = m->op == SETTP_MAP_MUL && settp_map_is_constant(arena, settp_map_b(m), &k);
        if (!times && m->op == SETTP_MAP_CONST) k = m->value;
        if ((times || m->op == SETTP_MAP_CONST) && k < 0 && k > INT64_MIN) {
          if (!times || k < -1) settp_map_task_push(arena, &tasks, NULL, sett_map_constant(arena, -k), 0);
          if (times && k < -1) settp_map_task_push(arena, &tasks, " * ", 0, 0);
          if (times)
            settp_map_task_push(arena, &tasks, NULL, factor,
                                k < -1 || settp_map_at(arena, factor)->op == SETTP_MAP_ADD);
          settp_map_task_push(arena, &tasks, " - ", 0, 0);
        } else {
          settp_map_task_push(arena, &tasks, NULL, b, 0);
          settp_map_task_push(arena, &tasks, " + ", 0, 0);
        }
        settp_map_task_push(arena, &tasks, NULL, a, 0);
      }
    }
  }
  if (!*error && (tasks.error || tasks.count)) *error = SETT_NOTATION_ERROR_FULL;
  arena->top = keep;
}

/* Write lo <= e <= hi as constraints of an affine set. Infinite bounds are left out. */
SETT_INLINE void settp_notation_affine_bounds(sett_map_arena *arena, const sett_map *map, settp_map_out *out,
                                              sett_expr e, int64_t lo, int64_t hi, int *any, int *error) {
  int side;
  for (side = 0; side < 2; ++side) {
    sett_expr f = e;
    if (side ? hi == INT64_MAX || lo == hi : lo == INT64_MIN) continue;
    if (side) /* the constraint e <= hi is written as hi - e >= 0 */
      f = sett_map_add(arena, sett_map_mul(arena, e, sett_map_constant(arena, -1)), sett_map_constant(arena, hi));
    else if (lo)
      f = lo == INT64_MAX ? (sett_expr)SETT_MAP_ERROR_OVERFLOW : sett_map_add(arena, e, sett_map_constant(arena, -lo));
    if (f < SETT_MAP_ERROR_COUNT) {
      *error = f == SETT_MAP_ERROR_FULL ? SETT_NOTATION_ERROR_FULL : SETT_NOTATION_ERROR_OVERFLOW;
      return;
    }
    if ((*any)++) settp_map_put(out, ", ");
    settp_notation_affine_expr(arena, map, out, f, error);
    settp_map_put(out, lo == hi ? " == 0" : " >= 0");
  }
}

SETT_INLINE void settp_notation_affine_names(settp_map_out *out, const char *open, const char *letter, int count,
                                             const char *close) {
  int i;
  settp_map_put(out, open);
  for (i = 0; i < count; ++i) {
    settp_map_put(out, i ? ", " : "");
    settp_map_put(out, letter);
    settp_map_put_int(out, i);
  }
  settp_map_put(out, close);
}

SETT_PUBLIC size_t sett_notation_affine_print(sett_map_arena *arena, sett_map map, int set, char *text, size_t capacity,
                                              int *error) {
  settp_map_out out = settp_map_out_make(text, capacity);
  sett_map_mark mark = sett_map_arena_mark(arena);
  int i, any = 0, wrong = map.kind == SETT_MAP_DEFINED ? 0 : SETT_NOTATION_ERROR_AFFINE;
  settp_map_put(&out, set ? "affine_set<" : "affine_map<");
  settp_notation_affine_names(&out, "(", "d", map.dims, ")");
  if (map.ranges + map.rts) settp_notation_affine_names(&out, "[", "s", map.ranges + map.rts, "]");
  settp_map_put(&out, set ? " : (" : " -> (");
  for (i = 0; i < map.results && !set && !wrong; ++i) {
    if (i) settp_map_put(&out, ", ");
    settp_notation_affine_expr(arena, &map, &out, map.result[i], &wrong);
  }
  for (i = 0; i < sett_map_variables(map) && set && !wrong; ++i)
    settp_notation_affine_bounds(arena, &map, &out, sett_map_var(arena, i), map.variable[i].lo, map.variable[i].hi,
                                 &any, &wrong);
  for (i = 0; i < map.constraints && set && !wrong; ++i)
    settp_notation_affine_bounds(arena, &map, &out, map.constraint[i].expr, map.constraint[i].lo, map.constraint[i].hi,
                                 &any, &wrong);
  settp_map_put(&out, set && !any ? "0 == 0)>" : ")>");
  sett_map_arena_rewind(arena, mark);
  if (wrong) {
    out.length = 0;
    settp_map_put(&out, "error: ");
    settp_map_put(&out, sett_notation_message(wrong));
  }
  if (error) *error = wrong;
  return settp_map_finish(&out);
}

SETTP_MAP_QUICK_END
#ifdef SETTP_MAP_FEWER_PASSES
#pragma pop_macro("SETT_INLINE")
#endif
#endif /* bodies */
