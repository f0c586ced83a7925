/* sett.h - v0.8 - all sett headers, and functions that join them: a layout as an indexing map, layouts of any notation compared and converted
   SPDX-License-Identifier: Apache-2.0

WHAT
  This header includes every sett header and converts between their types. A tiled layout is a map from logical indices to a
  linear position; this header returns that map and its inverse, so that layouts compose with all other maps. It also compares
  and converts layouts in any notation.

INCLUDE
  Copy all sett headers into one folder. C11 or C++17, freestanding.
  The functions can be compiled once for many files, in C and C++: define SETT_DECLARATIONS before the first sett header of each file, and
  SETT_IMPLEMENTATION in exactly one file. To compile the functions of each header in a file of its own, define SETT_DECLARATIONS in that file, include
  the header, define SETT_IMPLEMENTATION, and include the header again. By default, a shared library does not export the functions. Two static
  libraries that both contain the functions can be linked into one program if at least one defines a SETT_PREFIX of its own in all its files.

OPTIONS
  The options are those of the other headers.
  SETT_JOINED   this header does not include the other headers; the file must include all of them before it. If the functions are
                divided among files, the file with the functions of this header must define SETT_JOINED and also contain the functions
                of sett_notation.h and sett_move.h

A FIRST LOOK
    #include <stdio.h>
    #include "sett.h"
    static unsigned char memory[1 << 16];
    int main(void) {
      sett_map_arena arena = sett_map_arena_make(memory, sizeof memory);
      sett_tile_shape shape = sett_tile_parse("f32[3,5]{0,1}", 13);
      char text[256];
      sett_map_print(&arena, sett_layout_map(&arena, &shape), text, sizeof text);
      puts(text);
      return 0;
    }
  prints
    (d0, d1) -> (d1 * 3 + d0), domain: d0 in [0, 2], d1 in [0, 4]

THE MODEL
  sett_layout_map        (d0, .., dn) -> (position): from logical indices to positions; a tile splits an index into a quotient and a remainder
      f32[3,5]{1,0:T(2,2)}   (d0, d1) -> ((d0 floordiv 2) * 12 + (d1 floordiv 2) * 4 + (d0 mod 2) * 2 + d1 mod 2), ...
  sett_layout_unmap      (d0) -> (i0, .., in): from positions to logical indices; constraints exclude padding
      f32[3,5]{0,1}          (d0) -> (d0 mod 3, d0 floordiv 3), domain: d0 in [0, 14]
  Both maps follow the definition of tiles literally. sett_map_simplify simplifies them.
  sett_layout_order      from logical indices to indices in memory order (the most major first), or back. Without tiles, this is a
                         transpose. With tiles, there is no index in memory order, and the linear position is used instead
  sett_layout_physical   turns a map of sett_indexing_analysis.h between logical indices into a map between places in memory: linear
                         positions, or indices in memory order. A map from output to operand then says from which places of the
                         operand each place of the output is computed. All questions about maps (coalescing, banks, reads, tiles, the
                         image) can be asked about it
      f32[4,6]{0,1} transpose(f32[6,4]{1,0:T(2,2)}), dimensions={1,0}
        linear positions       (d0) -> ((d0 floordiv 8) * 8 + ((d0 mod 4) floordiv 2) * 4 + ((d0 mod 8) floordiv 4) * 2 + d0 mod 2)

  sett_nested_map        (subgroup, thread)[b0.., o0.., e0..] -> (d0, ..): the index of the element in each slot. A slot is a place in a thread's
                         registers; its digits are batch, outer and element (sett_nested_layout.h). The caller gives the numbers of subgroups
                         and threads, or 0 for one period. Ids that differ by a multiple of the period hold the same elements
      S[2] B[1] O[1] T[4] E[2], strides [1], [1]   (subgroup, thread)[b0, o0, e0] -> (subgroup * 8 + thread * 2 + e0), ...
  sett_nested_unmap      (d0, ..) -> (subgroup, thread, slot): the owner with the smallest ids. Elements without an owner are outside the
                         domain
  sett_nested_from_map   the nested layout of a map that has the form of sett_nested_map. The layout is computed from a few values of the
                         map. Then sett_nested_map of the result is compared with the given map. If they differ, the error is
                         SETT_NESTED_ERROR_MAP. If the comparison is undecided, or the map has more than 65536 subgroups or threads, the
                         error is SETT_NESTED_ERROR_MAP_SIZE
  sett_nested_address    the linear position, in a tiled layout, of the element in each slot: sett_nested_map composed with
                         sett_layout_map. If the nested layout has more elements than the array, those outside the array are outside the domain

  sett_any               a layout in any of the notations. Two layouts are the same if they are the same function: from the logical
                         index to an offset (CuTe, strides, oneDNN, XLA, Triton's shared memory), or from the owner to the logical
                         index (Triton, Mosaic, IREE). The direction in which sett_notation.h keeps a layout does not matter. The
                         examples are two layouts and the answer of sett_any_same; a no shows an index, and the offset in each layout
      f32[70,300]{1,0:T(8,128)}             70x300@AB8a128b                        yes
      f32[64,64]{1,0:T(32,32)(16,16)}       f32[64,64]{1,0:T(32,32)}               no: at (0,16): 256, 16
  sett_any_convert       the same function in another notation, or a no, with values that no layout in that notation can have
      f32[64,64]{1,0:T(32,32)(16,16)}       to CuTe      ((16,2,2),(16,2,2)):((16,512,2048),(1,256,1024)), to oneDNN AB2a2b16a16b
      {dim0 = [[1], [3]]} -> {offset = 4}   to CuTe      S<1,0,1> o 0 o 4:1
      2x17x3x3@aBcd16b                      to CuTe      no: the digits do not divide the size of their dimension: ..

  sett_any_move          the cheapest plan found that moves an array from one distribution over threads to another, by registers, shuffles
                         or shared memory (sett_move.h). A cheaper plan may exist
      {register = [[1]], lane = [[2]]} -> {d = 4}   {register = [[2]], lane = [[1]]} -> {d = 4}   1 shuffle
  sett_any_reorder       how an array in memory is moved from one layout to another by sett_relayout.h. The padding of a oneDNN tag is not
                         read; in the destination, the caller sets it to 0 (see sett_any_reordered)
      2x17x3x3@nChw16c      2x17x3x3@nchw                                          306 elements, 270 places not read

FUNCTIONS
  any notation      sett_any_parse, _print, _map  text, map                       sett_any_same          compare as functions
                    sett_any_convert             to another notation             sett_any_move          from threads to threads
                    sett_any_in_memory           are both in memory?             sett_any_reorder       from memory to memory
  tiled layouts     sett_layout_map, _unmap      shape -> map, and its inverse    sett_layout_order      to and from memory order
                    sett_layout_physical         a map between places
  nested layouts    sett_nested_map, _unmap      layout -> map, and its inverse   sett_nested_from_map   map -> layout
                    sett_nested_address          the position of a slot's element
  errors            sett_message                 the text of an error

LAWS (tests/layouts/test_shape.py, tests/layouts/test_nested.py)
  1 maps_agree     sett_layout_map has the values of sett_tile_position, and sett_layout_unmap those of sett_tile_element. Padding is
                   outside the domain of sett_layout_unmap.
  2 nested_agree   the maps have the values of sett_nested_element and sett_nested_owner; sett_nested_from_map(sett_nested_map(l)) is
                   a layout with the same map as l.
  3 same           (tests/layouts/test_convert.py) a yes or no of sett_any_same agrees with an enumeration of all points. A witness is the
                   first point at which the layouts differ.
  4 convert        (tests/layouts/test_convert.py) the result of sett_any_convert is the same function. Converting it back to the first
                   notation is never answered by no, except for padded layouts of Triton and CuTe layouts with several swizzles. The values in a no
                   are values of the given layout.
  5 physical       (tests/algebra/physical_test.c) sett_layout_physical relates the same positions as plain loops that compute the op,
                   from output to operand and back. It does not relate padding to anything.
  6 move           (tests/layouts/test_move.py) sett_any_move returns the plan that sett_move_plan makes from tables (sett_move_table) of
                   both layouts, except that elements may also be placed in shared memory as sett_notation_shared places them.
  7 reorder        (tests/layouts/test_move.py) sett_relayout_run, with a plan for the two shapes that sett_any_reorder(a, b) returns, moves every
                   element from its offset in a to its offset in b. It may set other places of b to the fill element, but writes no other value.

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
  A failed shape or nested layout gives a failed map. The error of the map is SETT_LAYOUT_ERROR_FIRST + the error of the shape,
  or SETT_NESTED_ERROR_FIRST + the error of the nested layout. sett_message returns the text of the error of any map.

LIMITS
  The limits are those of the other headers.

HISTORY
  0.8  sett_any_reorder does not decide for elements of other than 8, 16, 32 or 64 bits.
  0.7  SETT_DECLARATIONS, SETT_IMPLEMENTATION, SETT_PREFIX, SETT_JOINED.
  0.6  arrays without elements; reorders in memory.
  0.5  moves from one distribution over threads to another; Tenstorrent's tiles and faces.
  0.4  a layout in any notation: read, printed, compared with another, converted.
  0.3  every sett header has its version as a number and sett_<module>_message; sett_error_message is now sett_message.
  0.2  maps between places in memory.
  0.1  layout to map and back; nested layout to map and back.
*/
#ifndef SETT_JOINED
#include "sett_tile.h"
#include "sett_relayout.h"
#include "sett_indexing_map.h"
#include "sett_indexing_analysis.h"
#include "sett_nested_layout.h"
#include "sett_mma_layouts.h"
#include "sett_notation.h"
#include "sett_move.h"
#endif

#ifndef SETT_H
#define SETT_H

#define SETT_VERSION 800 /* version 0.8.0: 10000 * major + 100 * minor + patch */

/* The error of a map that is made from a failed shape is this number plus the shape's error (sett_tile.h). */
enum { SETT_LAYOUT_ERROR_FIRST = 2000 };
/* The error of a map that is made from a failed nested layout is this number plus the layout's error, which sett_nested_explain explains. */
enum { SETT_NESTED_ERROR_FIRST = 3000 };

/* Return the map from a logical index to the linear position. sett_map_strides of this map gives the stride, in elements, of each dimension that has
 * a stride. (sett_tile_byte_strides gives the strides in bytes, but only if every dimension has one.) */
SETT_PUBLIC sett_map sett_layout_map(sett_map_arena *arena, const sett_tile_shape *shape);
/* Return the map from a linear position to the logical index. */
SETT_PUBLIC sett_map sett_layout_unmap(sett_map_arena *arena, const sett_tile_shape *shape);
/* Return the map from a logical index to the index in memory order if to_memory is 1, and its inverse if to_memory is 0. For tiled layouts, the
 * linear position is used instead of the index in memory order. */
SETT_PUBLIC sett_analysis_answer sett_layout_order(sett_map_arena *arena, const sett_tile_shape *shape, int to_memory);
/* Translate an answer of sett_indexing_analysis.h into a map between places in memory. `answer` maps indices of an array of shape `from` to indices
 * of an array of shape `to`. Places are linear positions if `linear` is 1, and indices in memory order if it is 0. The result is not
 * simplified: call sett_analysis_tidy. */
SETT_PUBLIC sett_analysis_answer sett_layout_physical(sett_map_arena *arena, const sett_analysis_answer *answer,
                                                      const sett_tile_shape *from, const sett_tile_shape *to,
                                                      int linear);
/* Return the map from (subgroup, thread)[slot digits] to the index of the element there. subgroups and threads are the numbers of ids in the domain;
 * 0 means one period of the layout. */
SETT_PUBLIC sett_map sett_nested_map(sett_map_arena *arena, const sett_nested_layout *layout, int64_t subgroups,
                                     int64_t threads);
/* Return the map from an element's index to its subgroup, thread and slot. If the element has several owners, the map gives the owner with the
 * smallest ids. */
SETT_PUBLIC sett_map sett_nested_unmap(sett_map_arena *arena, const sett_nested_layout *layout);
/* Return the nested layout that has the given map. The map must have the form of sett_nested_map. If no thread id changes the index along a
 * dimension, the thread_tile of this dimension follows from another digit: the first of outer, batch and subgroup whose tile is not 1. When this
 * digit grows by 1, the index grows by thread_tile * element_tile. */
SETT_PUBLIC sett_nested_layout sett_nested_from_map(sett_map_arena *arena, sett_map map);
/* Return the map from (subgroup, thread)[slot digits] to the linear position of the element there, for one period of ids. */
SETT_PUBLIC sett_map sett_nested_address(sett_map_arena *arena, const sett_nested_layout *layout,
                                         const sett_tile_shape *shape);
/* Return the message of an error that a map holds, whichever sett header made the map. */
SETT_PUBLIC const char *sett_message(int error);

/* ---- a layout in any notation ---- */
enum { SETT_ANY_NOTATION, SETT_ANY_XLA, SETT_ANY_IREE };
enum { SETT_ANY_DIMS = 24, SETT_ANY_POINTS = 3 };
/* A layout. If `kind` is SETT_ANY_XLA, the layout is in `shape`; if `kind` is SETT_ANY_IREE, in `nested`; otherwise in `notation`. `error` is 0 or an
 * error whose text sett_message returns. */
typedef struct sett_any {
  int kind, error;
  int64_t column; /* column of the error in the text, counted from 1 */
  sett_tile_shape shape;
  sett_nested_layout nested;
  sett_notation notation;
} sett_any;
/* The answer of a comparison or conversion. `yes` and `no` are 1 if proved. If `yes` is 0, `reason` says why. A no has a witness unless the reason
 * alone explains the no, such as "different sizes". A witness of sett_any_same is point[0], at which layout `a` has the value a[0] and layout `b` the
 * value b. A witness of sett_any_convert has `points` points; at point[i], the layout has the value a[i]. */
typedef struct sett_any_answer {
  int yes, no;
  const char *reason;
  /* ins, outs: number of coordinates of a point and of a value. points: number of points in the witness; 0: there is no witness */
  int ins, outs, points;
  int64_t point[SETT_ANY_POINTS][SETT_ANY_DIMS], a[SETT_ANY_POINTS][SETT_ANY_DIMS], b[SETT_ANY_DIMS];
} sett_any_answer;
/* Parse a text. It may be in any notation of sett_notation.h; an array of XLA such as f32[70,300]{1,0:T(8,128)}; a nested layout of IREE; or
 * Tenstorrent's tiles and faces, 64x64@T(32,32)(16,16), which are read as f32[64,64]{1,0:T(32,32)(16,16)}. */
SETT_PUBLIC sett_any sett_any_parse(sett_map_arena *arena, const char *text, size_t length);
/* Write the canonical text in the notation of the layout, as sett_notation_print does. */
SETT_PUBLIC size_t sett_any_print(const sett_any *layout, char *out, size_t capacity);
/* Return the layout as a map in the direction of its notation:
 *     IREE:     from the owner to the index.
 *     Mosaic:   from the index to the owner.
 *     CuTe:     from the coordinate to the value.
 *     Triton:   from the inputs of a linear layout to its outputs. A padded layout goes from the index to the offset.
 *     Others:   from the index to the offset. */
SETT_PUBLIC sett_map sett_any_map(sett_map_arena *arena, const sett_any *layout);
/* Compare two layouts as functions. A layout is one of two kinds of function, and layouts of different kinds are never equal.
 * The first kind is an offset as a function of the logical index. These layouts are of this kind:
 *     CuTe with integer strides, strides, oneDNN tags, arrays of XLA, and Triton's padded_shared;
 *     linear layouts whose only output is `offset`;
 *     linear layouts whose only input is `offset`, if they have an inverse, which is then compared.
 * The second kind is a logical index as a function of the owner (register, lane, warp, block):
 *     Triton's distributions over threads, and all other linear layouts;
 *     IREE, where a slot is the register, a thread the lane, and a subgroup the warp;
 *     Mosaic, where a register and an element in it together are the register;
 *     CuTe with coordinates as strides, where the modes are register, lane, warp, block in this order.
 * If a distribution of Triton is on an array whose sizes are not powers of two, the answer is undecided.
 * The dimensions of a CuTe layout are its modes. Two CuTe layouts with different modes are compared as functions of one integer, whose fastest part is
 * the first mode. Inputs of size 1 are ignored. The ids of an IREE layout wrap, so the number of threads or subgroups of the other layout may be a
 * multiple of the number in the IREE layout. With another number, the answer is no.
 * Method: two kinds of pairs are compared without visiting points. In the first kind, both layouts are sums of digits ((input / low) mod size) * stride,
 * and each low is a multiple of low * size of the next lower digit. In the second kind, both layouts are XORs of one basis value per input bit. Most
 * other pairs (a swizzle whose sums carry, tiles whose sizes do not divide each other) are compared point by point, at no more than the first 2^18
 * points. If these do not differ, but there are more points, the answer is yes if sett_map_equal proves it, otherwise undecided. (This proof is tried
 * only for offsets, and not for CuTe layouts.) The witness of a no is the first point at which the layouts differ, in a's order of points: in CuTe
 * layouts the first mode is the fastest, in arrays the last dimension. */
SETT_PUBLIC sett_any_answer sett_any_same(sett_map_arena *arena, const sett_any *a, const sett_any *b);
enum {
  SETT_ANY_TO_CUTE,
  SETT_ANY_TO_TRITON,
  SETT_ANY_TO_MOSAIC,
  SETT_ANY_TO_ONEDNN,
  SETT_ANY_TO_STRIDES,
  SETT_ANY_TO_XLA,
  SETT_ANY_TO_IREE,
  SETT_ANY_TARGETS
};
/* The result of sett_any_convert. If answer.yes is 1, `layout` is the result. If answer.no is 1, no layout of the other notation is the same function;
 * for CuTe, this means no layout with at most one swizzle. If there is a witness, the values at its points prove this. */
typedef struct sett_any_made {
  sett_any_answer answer;
  sett_any layout;
} sett_any_made;
/* Convert a layout to another notation. The result is the same function in the sense of sett_any_same.
 *     Arrays of XLA:    The element type becomes f32.
 *     CuTe, offsets:    A constant offset is written with the swizzle S<0,4,3>, which changes nothing. If the function needs an XOR, or has digits
 *                       that do not divide the size of their dimension, all swizzles of CuTe are tried. If no swizzle fits, the answer is no: layouts
 *                       with two swizzles are not considered.
 *     CuTe, owners:     Strides are coordinates, as in ((2,2),(4,8)):((1@1,8@0),(2@1,1@0)). If the index along a dimension
 *                       of the array is always 0, the dimension does not occur in the strides.
 *     Linear layouts:   The result goes from the offset to the index if every offset occurs exactly once; otherwise from the index to the offset.
 *     Tags, XLA:        The layout is padded if only padding gives these offsets.
 *     No elements:      An array without elements becomes a compact array: sizes of 0 count as 1 in the strides, and dimensions keep their order in
 *                       memory. Triton, Mosaic and IREE have no such arrays.
 * Not decided: layouts of more than 2^16 points that are neither sums of digits nor XORs of bits (see sett_any_same); distributions of Triton on arrays
 * whose sizes are not powers of two; and conversions to XLA if the layout reorders the digits of a dimension or XORs its bits. Some of XLA's tiles give
 * such layouts, but no search for these tiles is made. */
SETT_PUBLIC sett_any_made sett_any_convert(sett_map_arena *arena, const sett_any *layout, int target);

/* Return the plan that sett_move_plan makes to move an array from distribution a over threads to distribution b. The plan may also place elements in
 * shared memory as sett_notation_shared places them.
 *     bits:   size of an element.
 *     lanes:  number of lanes of a warp. 0: the number in the layout that has lanes. IREE layouts and (thread, value) layouts (see below) have
 *             threads, but no lanes. If neither layout has lanes, the number is 32, with two exceptions. It is 64 if an IREE layout has 33 to 64
 *             threads. It is T if a (thread, value) layout has T < 32 threads and the other layout has at most T threads.
 * A distribution is a function from (register, lane, warp, block) to the logical index. These layouts are distributions:
 *     Triton and Mosaic;
 *     IREE:                    a slot is a register; the thread id is warp * lanes + lane, and the subgroup id is warp.
 *     CuTe with coordinates:   its modes are register, lane, warp, block in this order.
 *     CuTe with two modes:     (thread, value), if the strides are integers. A value of the layout is the linear index, in which the first dimension is
 *                              the fastest.
 * Ids of IREE wrap. In the other layouts, a thread beyond the last holds no element, so the numbers of warps may differ, and the threads of a CuTe
 * layout need not fill their warps. If an array's sizes are not powers of two, a register of a Triton layout holds no element if its index is outside
 * the array. The answer is no if the numbers of lanes or blocks differ, if the arrays have different sizes, or if an element moves to another block.
 * If two blocks move differently, the error is SETT_MOVE_ERROR_BLOCKS. */
SETT_PUBLIC sett_move sett_any_move(sett_map_arena *arena, const sett_any *a, const sett_any *b, int bits, int lanes);

/* A reorder: how an array in memory moves from layout a to layout b. The shapes `from` and `to` are a and b, converted to arrays of XLA.
 * sett_relayout_run moves the array from one to the other. If a conversion fails, the answer is that of sett_any_convert.
 * The padding of a oneDNN tag is not read. If b is a tag, the caller sets its padding to 0: the `fill` of sett_relayout_prepare points to an element
 * with the value 0, and the caller writes 0 to the positions sett_tile_positions(&to) .. to_places - 1. If b is a CuTe layout or strides, `fill` is
 * NULL, so that the gaps between strides are not written: a fill element would be written to the gaps, and also beyond to_places. */
typedef struct sett_any_reordered {
  sett_any_answer answer;
  int blamed; /* the layout whose conversion failed: 0 for a, 1 for b; -1: none */
  sett_tile_shape from, to;
  /* elements of the array; positions in memory up to the end of each layout (for a oneDNN tag, including its padding) */
  int64_t elements, from_places, to_places;
  int64_t zeros; /* number of positions of layout `b` that hold no element, if `b` is a oneDNN tag; otherwise 0 */
  /* number and maximum length of runs of elements that are contiguous in both layouts; -1 if layout `b` has more than 2^22 positions */
  int64_t runs, longest;
} sett_any_reordered;
/* Return 1 if both layouts are arrays in memory, and at least one is not a CuTe layout. (Two CuTe layouts may also be layouts of threads.) */
SETT_PUBLIC int sett_any_in_memory(sett_map_arena *arena, const sett_any *a, const sett_any *b);
/* Return how an array moves from layout a to layout b. bits: size of an element, 8, 16, 32 or 64; for another size, the answer is not decided. */
SETT_PUBLIC sett_any_reordered sett_any_reorder(sett_map_arena *arena, const sett_any *a, const sett_any *b, int bits);

#if defined(SETTP_LINK_SEPARATE) && defined(SETT_PREFIX)
/* clang-format off */
#define SETT_LAYOUT_FUNCTIONS(X) \
  X(sett_layout_map) X(sett_layout_unmap) X(sett_layout_order) X(sett_layout_physical) X(sett_nested_map) \
  X(sett_nested_unmap) X(sett_nested_from_map) X(sett_nested_address) X(sett_message) X(sett_any_parse) \
  X(sett_any_print) X(sett_any_map) X(sett_any_same) X(sett_any_convert) X(sett_any_move) X(sett_any_in_memory) \
  X(sett_any_reorder)
/* clang-format on */
SETT_LAYOUT_FUNCTIONS(SETTP_LINK_RENAME)
#endif

#endif

#if !defined(SETTP_LAYOUT_BODIES) && (defined(SETT_IMPLEMENTATION) || !defined(SETTP_LINK_SEPARATE))
#define SETTP_LAYOUT_BODIES
#ifdef SETTP_MAP_FEWER_PASSES
#pragma push_macro("SETT_INLINE")
#undef SETT_INLINE
#define SETT_INLINE static __attribute__((__unused__))
#endif
SETTP_MAP_QUICK

/* ---- bodies ----------------------------------------------------------------------------------------------------- */

SETT_PUBLIC const char *sett_message(int error) {
  if (error >= SETT_NOTATION_ERROR_FIRST) return sett_notation_message(error - SETT_NOTATION_ERROR_FIRST);
  if (error >= SETT_NESTED_ERROR_FIRST) return sett_nested_message(error - SETT_NESTED_ERROR_FIRST);
  if (error >= SETT_LAYOUT_ERROR_FIRST) return sett_tile_message(error - SETT_LAYOUT_ERROR_FIRST);
  return sett_analysis_message(error);
}

SETT_INLINE int settp_layout_groups(const sett_tile_plan *plan, int stage, int tile_at) {
  int i, groups = 0;
  for (i = 0; i < plan->tile_rank[stage]; ++i) groups += plan->tile[tile_at + i] != SETT_TILE_COMBINE;
  return groups;
}

SETT_PUBLIC sett_map sett_layout_map(sett_map_arena *arena, const sett_tile_shape *shape) {
  sett_tile_plan plan = sett_tile_prepare(shape);
  sett_expr digit[SETT_TILE_MAX_LIST], next[SETT_TILE_MAX_LIST], position = sett_map_constant(arena, 0);
  sett_map_variable variable[SETT_TILE_MAX_RANK];
  int64_t stride = 1;
  int i, stage, tile_at = 0, n = plan.rank;
  if (plan.error) return sett_map_fail(SETT_LAYOUT_ERROR_FIRST + plan.error, 0);
  for (i = 0; i < n; ++i) {
    variable[i].name = NULL;
    variable[i].lo = 0;
    variable[i].hi = shape->dims[i] - 1;
    digit[i] = sett_map_var(arena, plan.minor_to_major[n - 1 - i]);
  }
  for (stage = 0; stage < plan.tiles; ++stage) {
    const int64_t *list = plan.list[stage], *tile = &plan.tile[tile_at];
    int k = plan.tile_rank[stage], groups = settp_layout_groups(&plan, stage, tile_at), g = 0, ones = plan.ones[stage];
    sett_expr value = sett_map_constant(arena, 0);
    for (i = n; i-- > 0;) digit[i + ones] = digit[i];
    for (i = 0; i < ones; ++i) digit[i] = sett_map_constant(arena, 0);
    n = plan.length[stage];
    for (i = 0; i < n - k; ++i) next[i] = digit[i];
    for (i = 0; i < k; ++i) {
      value =
          sett_map_add(arena, sett_map_mul(arena, value, sett_map_constant(arena, list[n - k + i])), digit[n - k + i]);
      if (tile[i] == SETT_TILE_COMBINE) continue;
      next[n - k + g] = sett_map_floordiv(arena, value, sett_map_constant(arena, tile[i]));
      next[n - k + groups + g] = sett_map_mod(arena, value, sett_map_constant(arena, tile[i]));
      value = sett_map_constant(arena, 0);
      ++g;
    }
    n += 2 * groups - k;
    for (i = 0; i < n; ++i) digit[i] = next[i];
    tile_at += k;
  }
  for (i = n; i-- > 0;) {
    sett_expr term = sett_map_mul(arena, digit[i], sett_map_constant(arena, stride));
    position = i == n - 1 ? term : sett_map_add(arena, term, position);
    stride = plan.span > 0 ? stride * plan.list[plan.tiles][i] : 1;
  }
  return sett_map_make(arena, plan.rank, 0, 0, variable, 1, &position, 0, NULL);
}

SETT_PUBLIC sett_map sett_layout_unmap(sett_map_arena *arena, const sett_tile_shape *shape) {
  sett_tile_plan plan = sett_tile_prepare(shape);
  sett_expr digit[SETT_TILE_MAX_LIST], next[SETT_TILE_MAX_LIST], result[SETT_TILE_MAX_RANK];
  sett_map_constraint constraint[SETT_TILE_MAX_TILE_DIMS];
  sett_map_variable variable;
  int64_t stride = 1;
  int i, stage, tile_at = 0, constraints = 0, n = plan.length[plan.tiles];
  if (plan.error) return sett_map_fail(SETT_LAYOUT_ERROR_FIRST + plan.error, 0);
  variable.name = NULL;
  variable.lo = 0;
  variable.hi = plan.span - 1;
  if (plan.span == 0) { /* the array has no position, so the map is KNOWN EMPTY, and its results do not matter */
    for (i = 0; i < plan.rank; ++i) result[i] = sett_map_constant(arena, 0);
    return sett_map_make(arena, 1, 0, 0, &variable, plan.rank, result, 0, NULL);
  }
  for (i = n; i-- > 0;) {
    int64_t size = plan.list[plan.tiles][i];
    digit[i] = sett_map_floordiv(arena, sett_map_var(arena, 0), sett_map_constant(arena, stride));
    if (size == 1) digit[i] = sett_map_constant(arena, 0);
    else if (i > 0) digit[i] = sett_map_mod(arena, digit[i], sett_map_constant(arena, size));
    stride = plan.span > 0 ? stride * size : 1;
  }
  for (stage = 0; stage < plan.tiles; ++stage) tile_at += plan.tile_rank[stage];
  for (stage = plan.tiles; stage-- > 0;) {
    const int64_t *list = plan.list[stage];
    int k = plan.tile_rank[stage], groups, g, j;
    tile_at -= k;
    n = plan.length[stage];
    groups = g = settp_layout_groups(&plan, stage, tile_at);
    for (i = 0; i < n - k; ++i) next[i] = digit[i];
    /* each turn of this loop handles one group of dimensions that the tile combines: it begins with i at the last of them, and lowers i to the
     * first */
    for (i = k; i-- > 0;) {
      int64_t tile = plan.tile[tile_at + i], size = list[n - k + i];
      sett_expr value = sett_map_mul(arena, digit[n - k + --g], sett_map_constant(arena, tile));
      value = sett_map_add(arena, value, digit[n - k + groups + g]);
      for (j = i; j > 0 && plan.tile[tile_at + j - 1] == SETT_TILE_COMBINE; --j) size *= list[n - k + j - 1];
      if (size % tile != 0) {
        constraint[constraints].expr = value;
        constraint[constraints].lo = 0;
        constraint[constraints++].hi = size - 1;
      }
      if (size == 1) value = sett_map_constant(arena, 0);
      for (; i > j; --i) {
        sett_expr base = sett_map_constant(arena, list[n - k + i]);
        next[n - k + i] = sett_map_mod(arena, value, base);
        value = sett_map_floordiv(arena, value, base);
      }
      next[n - k + i] = value;
    }
    for (i = 0; i < n; ++i) digit[i] = next[i + plan.ones[stage]];
    n -= plan.ones[stage];
  }
  for (i = 0; i < plan.rank; ++i) result[plan.minor_to_major[plan.rank - 1 - i]] = digit[i];
  return sett_map_make(arena, 1, 0, 0, &variable, plan.rank, result, constraints, constraint);
}

SETT_PUBLIC sett_analysis_answer sett_layout_order(sett_map_arena *arena, const sett_tile_shape *shape, int to_memory) {
  sett_analysis_answer answer;
  sett_map_variable variable[SETT_TILE_MAX_RANK];
  sett_expr result[SETT_TILE_MAX_RANK];
  int i, n = shape->rank;
  answer.kind = SETT_ANALYSIS_EXACT;
  answer.reason = "";
  answer.replica = answer.runtimes = 0;
  if (!sett_tile_plain(shape) || sett_tile_prepare(shape).error) {
    answer.all = to_memory ? sett_layout_map(arena, shape) : sett_layout_unmap(arena, shape);
  } else {
    for (i = 0; i < n; ++i) { /* index i in memory order is dimension d of the array */
      int d = shape->minor_to_major[n - 1 - i], from = to_memory ? d : i, at = to_memory ? i : d;
      variable[from].name = NULL;
      variable[from].lo = 0;
      variable[from].hi = shape->dims[d] - 1;
      result[at] = sett_map_var(arena, from);
    }
    answer.all = sett_map_make(arena, n, 0, 0, variable, n, result, 0, NULL);
  }
  answer.results = answer.all.kind == SETT_MAP_DEFINED ? answer.all.results : 0;
  return answer;
}

SETT_PUBLIC sett_analysis_answer sett_layout_physical(sett_map_arena *arena, const sett_analysis_answer *answer,
                                                      const sett_tile_shape *from, const sett_tile_shape *to,
                                                      int linear) {
  sett_analysis_answer place = sett_layout_order(arena, from, 0), physical;
  if (linear && place.all.kind != SETT_MAP_FAILED) {
    place.all = sett_layout_unmap(arena, from);
    place.results = place.all.kind == SETT_MAP_DEFINED ? place.all.results : 0;
  }
  physical = sett_analysis_compose(arena, &place, answer);
  place = sett_layout_order(arena, to, 1);
  if (linear && place.all.kind != SETT_MAP_FAILED) {
    place.all = sett_layout_map(arena, to);
    place.results = place.all.kind == SETT_MAP_DEFINED ? 1 : 0;
  }
  return sett_analysis_compose(arena, &physical, &place);
}

/* ---- bodies: nested layouts -------------------------------------------------------------------------------------- */

/* Return (id / stride) mod tile for one dimension of a layout, or 0 if the digit is always 0. */
SETT_INLINE sett_expr settp_nested_digit_expr(sett_map_arena *arena, const sett_nested_layout *layout, int level,
                                              int d) {
  int64_t stride =
      layout->field[level == SETT_NESTED_THREAD ? SETT_NESTED_THREAD_STRIDE : SETT_NESTED_SUBGROUP_STRIDE][d];
  if (stride == 0) return sett_map_constant(arena, 0);
  return sett_map_mod(
      arena,
      sett_map_floordiv(arena, sett_map_var(arena, level == SETT_NESTED_THREAD), sett_map_constant(arena, stride)),
      sett_map_constant(arena, layout->field[level][d]));
}

enum { SETTP_NESTED_RANGES = 3 * SETT_NESTED_MAX_RANK, SETTP_NESTED_IDS_MAX = 65536 };

SETT_PUBLIC sett_map sett_nested_map(sett_map_arena *arena, const sett_nested_layout *layout, int64_t subgroups,
                                     int64_t threads) {
  static const int level[3] = {SETT_NESTED_BATCH, SETT_NESTED_OUTER, SETT_NESTED_ELEMENT};
  sett_map_variable variable[2 + SETTP_NESTED_RANGES];
  sett_expr result[SETT_NESTED_MAX_RANK];
  char name[SETTP_NESTED_RANGES][4];
  int r = layout->rank, d, i, k;
  if (layout->error) return sett_map_fail(SETT_NESTED_ERROR_FIRST + layout->error, 0);
  variable[0].name = "subgroup";
  variable[0].lo = 0;
  variable[0].hi = (subgroups > 0 ? subgroups : sett_nested_subgroups(layout)) - 1;
  variable[1].name = "thread";
  variable[1].lo = 0;
  variable[1].hi = (threads > 0 ? threads : sett_nested_threads(layout)) - 1;
  for (d = 0; d < r; ++d) {
    result[d] = settp_nested_digit_expr(arena, layout, SETT_NESTED_SUBGROUP, d);
    for (i = SETT_NESTED_BATCH; i < SETT_NESTED_LEVELS; ++i) {
      sett_expr digit;
      k = i == SETT_NESTED_BATCH ? 0 : i == SETT_NESTED_OUTER ? 1 : 2;
      digit =
          i == SETT_NESTED_THREAD ? settp_nested_digit_expr(arena, layout, i, d) : sett_map_var(arena, 2 + k * r + d);
      result[d] =
          sett_map_add(arena, sett_map_mul(arena, result[d], sett_map_constant(arena, layout->field[i][d])), digit);
    }
    for (k = 0; k < 3; ++k) {
      char *own = name[k * r + d];
      i = 0;
      own[i++] = "boe"[k];
      if (d > 9) own[i++] = (char)('0' + d / 10);
      own[i++] = (char)('0' + d % 10);
      own[i] = 0;
      variable[2 + k * r + d].name = own;
      variable[2 + k * r + d].lo = 0;
      variable[2 + k * r + d].hi = layout->field[level[k]][d] - 1;
    }
  }
  return sett_map_make(arena, 2, 3 * r, 0, variable, r, result, 0, NULL);
}

SETT_PUBLIC sett_map sett_nested_unmap(sett_map_arena *arena, const sett_nested_layout *layout) {
  sett_map_variable variable[SETT_NESTED_MAX_RANK];
  sett_map_constraint constraint[2 * SETT_NESTED_MAX_RANK];
  sett_expr result[3];
  int d, level, constraints = 0;
  if (layout->error) return sett_map_fail(SETT_NESTED_ERROR_FIRST + layout->error, 0);
  result[0] = result[1] = result[2] = sett_map_constant(arena, 0);
  for (level = 0; level < SETT_NESTED_LEVELS; ++level)
    for (d = 0; d < layout->rank; ++d) {
      int64_t tile = layout->field[level][d], stride;
      sett_expr digit = sett_map_floordiv(arena, sett_map_var(arena, d),
                                          sett_map_constant(arena, settp_nested_weight(layout, level, d)));
      digit = sett_map_mod(arena, digit, sett_map_constant(arena, tile));
      if (level != SETT_NESTED_SUBGROUP && level != SETT_NESTED_THREAD) {
        result[2] = sett_map_add(arena, sett_map_mul(arena, result[2], sett_map_constant(arena, tile)), digit);
        continue;
      }
      stride = layout->field[level == SETT_NESTED_THREAD ? SETT_NESTED_THREAD_STRIDE : SETT_NESTED_SUBGROUP_STRIDE][d];
      result[level == SETT_NESTED_THREAD] = sett_map_add(arena, result[level == SETT_NESTED_THREAD],
                                                         sett_map_mul(arena, digit, sett_map_constant(arena, stride)));
      if (stride > 0 || tile == 1) continue;
      constraint[constraints].expr = digit;
      constraint[constraints].lo = constraint[constraints].hi = 0;
      ++constraints;
    }
  for (d = 0; d < layout->rank; ++d) {
    variable[d].name = NULL;
    variable[d].lo = 0;
    variable[d].hi = settp_nested_size(layout, d) - 1;
  }
  return sett_map_make(arena, layout->rank, 0, 0, variable, 3, result, constraints, constraint);
}

/* Vary one id while all other ids are 0. For each result of the map, write to `stride` the first id at which the result is not 0; to `step` the
 * result at this id; to `tile` the largest result divided by step, plus 1. Return 0 if a result does not exist, is negative, or is no multiple of
 * step. */
SETT_INLINE int settp_nested_read_ids(const sett_map_evaluator *evaluator, int64_t *point, int variable,
                                      int64_t *stride, int64_t *step, int64_t *tile) {
  int64_t result[SETT_NESTED_MAX_RANK], id;
  int d;
  for (d = 0; d < evaluator->map.results; ++d) {
    stride[d] = step[d] = 0;
    tile[d] = 1;
  }
  for (id = 0; id <= evaluator->map.variable[variable].hi; ++id) {
    point[variable] = id;
    if (!sett_map_evaluator_at(evaluator, point, result, NULL)) return 0;
    for (d = 0; d < evaluator->map.results; ++d) {
      if (result[d] == 0) continue;
      if (stride[d] == 0) {
        stride[d] = id;
        step[d] = result[d];
      }
      if (result[d] < 0 || step[d] <= 0 || result[d] % step[d] != 0) return 0;
      if (result[d] / step[d] >= tile[d]) tile[d] = result[d] / step[d] + 1;
    }
  }
  point[variable] = 0;
  return 1;
}

SETT_PUBLIC sett_nested_layout sett_nested_from_map(sett_map_arena *arena, sett_map map) {
  sett_nested_layout no = settp_nested_fail(SETT_NESTED_ERROR_MAP, SETT_NESTED_UNKNOWN, 0), layout;
  sett_map_evaluator evaluator;
  sett_map_answer equal;
  int64_t point[2 + SETTP_NESTED_RANGES], result[SETT_NESTED_MAX_RANK], step[2][SETT_NESTED_MAX_RANK];
  int r = map.results, d, i;
  if (map.kind == SETT_MAP_FAILED || map.kind != SETT_MAP_DEFINED || r > SETT_NESTED_MAX_RANK || map.dims != 2 ||
      map.ranges != 3 * r || map.rts != 0)
    return no;
  for (i = 0; i < 2 + 3 * r; ++i) {
    point[i] = 0;
    if (map.variable[i].lo != 0 || map.variable[i].hi == INT64_MAX) return no;
  }
  if (map.variable[0].hi >= SETTP_NESTED_IDS_MAX || map.variable[1].hi >= SETTP_NESTED_IDS_MAX)
    return settp_nested_fail(SETT_NESTED_ERROR_MAP_SIZE, SETT_NESTED_UNKNOWN, 0);
  evaluator = sett_map_evaluator_make(arena, map);
  layout = settp_nested_ones(r);
  if (!settp_nested_read_ids(&evaluator, point, 0, layout.field[SETT_NESTED_SUBGROUP_STRIDE], step[0],
                             layout.field[SETT_NESTED_SUBGROUP]) ||
      !settp_nested_read_ids(&evaluator, point, 1, layout.field[SETT_NESTED_THREAD_STRIDE], step[1],
                             layout.field[SETT_NESTED_THREAD]))
    return no;
  for (d = 0; d < r; ++d) {
    int64_t own = 1, weight = 0;
    for (i = 0; i < 3; ++i)
      layout.field[i == 2   ? SETT_NESTED_ELEMENT
                   : i == 1 ? SETT_NESTED_OUTER
                            : SETT_NESTED_BATCH][d] = map.variable[2 + i * r + d].hi + 1;
    if (layout.field[SETT_NESTED_THREAD_STRIDE][d] > 0) continue;
    /* No thread id changes this dimension, so the thread digit is always 0. Its tile may still be larger than 1. Then the weight of the next higher
     * digit is tile * element_tile. */
    own = layout.field[SETT_NESTED_ELEMENT][d];
    for (i = 1; i >= 0 && !weight; --i) {
      int64_t tile = layout.field[i == 1 ? SETT_NESTED_OUTER : SETT_NESTED_BATCH][d];
      if (tile == 1) continue;
      point[2 + i * r + d] = 1;
      if (!sett_map_evaluator_at(&evaluator, point, result, NULL)) return no;
      point[2 + i * r + d] = 0;
      weight = result[d];
    }
    if (!weight && layout.field[SETT_NESTED_SUBGROUP_STRIDE][d] > 0) weight = step[0][d];
    if (weight > 0 && weight % own == 0) layout.field[SETT_NESTED_THREAD][d] = weight / own;
  }
  layout = sett_nested_check(&layout);
  if (layout.error) return no;
  equal = sett_map_equal(arena, map, sett_nested_map(arena, &layout, map.variable[0].hi + 1, map.variable[1].hi + 1));
  if (equal.yes) return layout;
  return equal.no ? no : settp_nested_fail(SETT_NESTED_ERROR_MAP_SIZE, SETT_NESTED_UNKNOWN, 0);
}

SETT_PUBLIC sett_map sett_nested_address(sett_map_arena *arena, const sett_nested_layout *layout,
                                         const sett_tile_shape *shape) {
  return sett_map_compose(arena, sett_nested_map(arena, layout, 0, 0), sett_layout_map(arena, shape));
}

/* ---- bodies: a layout in any notation --------------------------------------------------------------------------- */

SETT_INLINE sett_any settp_layout_any_none(int kind) {
#ifdef __cplusplus
  sett_any layout = {};
#else
  sett_any layout = {0};
#endif
  layout.kind = kind;
  return layout;
}

/* Read 64x64@T(..).. as an array of XLA. Return 0 if the text is no such layout. */
SETT_INLINE int settp_layout_any_faces(sett_map_arena *arena, const char *text, size_t length, size_t at,
                                       sett_any *layout) {
  static const char type[] = "f32[";
  size_t tiles = at, i, used = 0;
  int rank = 1, d;
  char *copy;
  while (tiles < length && ((text[tiles] >= '0' && text[tiles] <= '9') || text[tiles] == 'x'))
    rank += text[tiles++] == 'x';
  if (tiles == at || tiles + 2 >= length || text[tiles] != '@' || text[tiles + 1] != 'T' || text[tiles + 2] != '(' ||
      rank > SETT_TILE_MAX_RANK)
    return 0;
  copy = (char *)settp_map_take(arena, length + 4 * (size_t)rank + 16);
  layout->kind = SETT_ANY_XLA;
  layout->error = (int)SETT_NOTATION_ERROR_FIRST + (int)SETT_NOTATION_ERROR_FULL;
  if (!copy) return 1;
  for (i = 0; type[i]; ++i) copy[used++] = type[i];
  for (i = at; i < tiles; ++i) copy[used++] = text[i] == 'x' ? ',' : text[i];
  copy[used++] = ']';
  copy[used++] = '{';
  for (d = rank; d-- > 0;) {
    if (d >= 10) copy[used++] = (char)('0' + d / 10);
    copy[used++] = (char)('0' + d % 10);
    copy[used++] = d ? ',' : ':';
  }
  for (i = tiles + 1; i < length; ++i) copy[used++] = text[i];
  copy[used++] = '}';
  layout->shape = sett_tile_parse(copy, used);
  layout->error = layout->shape.error ? SETT_LAYOUT_ERROR_FIRST + layout->shape.error : 0;
  layout->column = layout->shape.column - (int64_t)(used - 1 - (length - tiles - 1)) + (int64_t)tiles + 1;
  if (layout->column < 1) layout->column = 1;
  if (layout->column > (int64_t)length + 1) layout->column = (int64_t)length + 1;
  return 1;
}

SETT_PUBLIC sett_any sett_any_parse(sett_map_arena *arena, const char *text, size_t length) {
  sett_any layout = settp_layout_any_none(SETT_ANY_NOTATION);
  settp_notation_reader reader;
  size_t end;
  reader.work = settp_notation_begin(arena);
  reader.text = text;
  reader.length = length;
  reader.at = reader.error_at = 0;
  settp_notation_peek(&reader);
  for (end = reader.at; end < length && settp_notation_is_name(text[end]);) ++end;
  if (end > reader.at && end < length && text[reader.at] >= 'a' && text[end] == '[' &&
      !settp_notation_is_pointer(text, length, reader.at)) {
    layout.kind = SETT_ANY_XLA;
    layout.shape = sett_tile_parse(text, length);
    layout.column = layout.shape.column;
    layout.error = layout.shape.error ? SETT_LAYOUT_ERROR_FIRST + layout.shape.error : 0;
  } else if (settp_layout_any_faces(arena, text, length, reader.at, &layout)) {
    return layout;
  } else if (settp_notation_word(&reader, "nested_layout") ||
             settp_notation_word(&reader, "#iree_vector_ext.nested_layout")) {
    layout.kind = SETT_ANY_IREE;
    layout.nested = sett_nested_parse(text, length);
    layout.column = layout.nested.column;
    layout.error = layout.nested.error ? SETT_NESTED_ERROR_FIRST + layout.nested.error : 0;
  } else {
    layout.notation = sett_notation_parse(arena, text, length);
    layout.column = layout.notation.column;
    layout.error = layout.notation.error ? SETT_NOTATION_ERROR_FIRST + layout.notation.error : 0;
  }
  return layout;
}

SETT_PUBLIC size_t sett_any_print(const sett_any *layout, char *out, size_t capacity) {
  return layout->kind == SETT_ANY_XLA    ? sett_tile_print(&layout->shape, out, capacity)
         : layout->kind == SETT_ANY_IREE ? sett_nested_print(&layout->nested, out, capacity)
                                         : sett_notation_print(&layout->notation, out, capacity);
}

SETT_PUBLIC sett_map sett_any_map(sett_map_arena *arena, const sett_any *layout) {
  return layout->kind == SETT_ANY_XLA    ? sett_layout_map(arena, &layout->shape)
         : layout->kind == SETT_ANY_IREE ? sett_nested_map(arena, &layout->nested, 0, 0)
                                         : sett_notation_map(arena, &layout->notation);
}

/* The form of a layout: the layout as a function from inputs to outputs.
 *     DIGITS:  each output is a constant plus a sum of ((input / low) mod size) * stride.
 *     BITS:    each output is a constant XOR the basis values of those input bits that are 1.
 *     VALUES:  neither of these, but the value at a point can be computed. */
enum { SETTP_LAYOUT_FORM_VALUES, SETTP_LAYOUT_FORM_DIGITS, SETTP_LAYOUT_FORM_BITS };
enum { SETTP_LAYOUT_FORM_MOST = 256, SETTP_LAYOUT_FORM_WIDTH = 63 };
typedef struct settp_layout_form_digit {
  int in, out;
  int64_t low, size, stride;
} settp_layout_form_digit;
typedef struct settp_layout_form {
  int kind, error;
  int owners; /* 1 if the inputs are owners (such as lanes) and the outputs are the index of an element */
  int wraps;  /* 1 if inputs may exceed their sizes (the ids of IREE) */
  int first;  /* 1 if the first input changes fastest in the order of points, 0 if the last does */
  int ins, outs;
  int64_t in[SETT_ANY_DIMS], out[SETT_ANY_DIMS]; /* sizes of inputs and outputs; 0 for an output of unknown size */
  /* name of each input, such as "lane"; NULL if the input has no name and is matched by its position */
  const char *name[SETT_ANY_DIMS];
  int64_t constant[SETT_ANY_DIMS];
  int digits;
  /* the digits are sorted by output, then by input, then by low */
  settp_layout_form_digit digit[SETTP_LAYOUT_FORM_MOST];
  int bit_at[SETT_ANY_DIMS + 1]; /* index of the first bit of each input */
  uint64_t basis[SETTP_LAYOUT_FORM_WIDTH][SETT_ANY_DIMS];
  sett_tile_plan plan; /* for an array of XLA: the plan of its shape */
} settp_layout_form;

SETT_INLINE void settp_layout_form_add(settp_layout_form *form, int in, int out, int64_t low, int64_t size,
                                       int64_t stride) {
  int i;
  settp_layout_form_digit digit;
  if (size <= 1 || stride == 0 || low >= form->in[in]) return;
  if (form->digits == SETTP_LAYOUT_FORM_MOST) {
    form->kind = SETTP_LAYOUT_FORM_VALUES;
    return;
  }
  digit.in = in;
  digit.out = out;
  digit.low = low;
  digit.size = size;
  digit.stride = stride;
  for (i = form->digits++; i > 0; --i) {
    const settp_layout_form_digit *before = &form->digit[i - 1];
    if (before->out < out || (before->out == out && (before->in < in || (before->in == in && before->low <= low))))
      break;
    form->digit[i] = *before;
  }
  form->digit[i] = digit;
}

/* Return a * b, or INT64_MAX if the product overflows. */
SETT_INLINE int64_t settp_layout_form_times(int64_t a, int64_t b) {
  int64_t product;
  return settp_map_mul(a, b, &product) ? INT64_MAX : product;
}

/* Write the digits by which one output depends on one input, the lowest first. Adjacent digits with matching strides are merged, so two functions are
 * equal only if their lists are equal. Return the number of digits. Return -1 if a digit's `low` is no multiple of the previous digit's low * size. */
enum { SETTP_LAYOUT_FORM_LIST = 140 };
SETT_INLINE int settp_layout_form_list(const settp_layout_form *form, int in, int out, settp_layout_form_digit *list) {
  int i, k = 0, count = 0;
  int64_t low = 1, n = form->in[in], joined;
  for (i = 0; i < form->digits; ++i)
    if (form->digit[i].in == in && form->digit[i].out == out) break;
  while (low < n) {
    settp_layout_form_digit next;
    next.in = in;
    next.out = out;
    next.low = low;
    next.size = (n - 1) / low + 1;
    next.stride = 0;
    if (i + k < form->digits && form->digit[i + k].in == in && form->digit[i + k].out == out) {
      const settp_layout_form_digit *digit = &form->digit[i + k];
      if (digit->low < low || digit->low % low) return -1;
      if (digit->low == low) {
        if (digit->size < next.size) next.size = digit->size;
        next.stride = digit->stride;
        ++k;
      } else {
        next.size = digit->low / low;
      }
    }
    low = settp_layout_form_times(low, next.size);
    if (count > 0 && !settp_map_mul(list[count - 1].stride, list[count - 1].size, &joined) && joined == next.stride &&
        (next.stride != 0 || list[count - 1].stride == 0)) {
      list[count - 1].size *= next.size;
      if (low >= n) list[count - 1].size = (n - 1) / list[count - 1].low + 1;
      continue;
    }
    if (count == SETTP_LAYOUT_FORM_LIST) return -1;
    list[count++] = next;
  }
  return count;
}

SETT_INLINE int64_t settp_layout_form_log(int64_t value) { /* logarithm to base 2, rounded up */
  int64_t bits = 0;
  while (bits < 62 && (int64_t)1 << bits < value) ++bits;
  return bits;
}

/* Return the index of the input that a bit belongs to. */
SETT_INLINE int settp_layout_form_input(const settp_layout_form *form, int bit) {
  int in = 0;
  while (form->bit_at[in + 1] <= bit) ++in;
  return in;
}

/* Return 1 if bits i and j are both 1 at some point of the domain. */
SETT_INLINE int settp_layout_form_both(const settp_layout_form *form, int i, int j) {
  int in = settp_layout_form_input(form, i);
  if (in != settp_layout_form_input(form, j)) return 1;
  return ((int64_t)1 << (i - form->bit_at[in])) + ((int64_t)1 << (j - form->bit_at[in])) < form->in[in];
}

/* Search for two input bits that can both be 1 and whose basis values have a common bit. (The XOR of these values is not their sum.) If there are such
 * bits, write their numbers and return 1. */
SETT_INLINE int settp_layout_form_shared(const settp_layout_form *form, int *first, int *second) {
  int o, bits = form->bit_at[form->ins];
  for (*second = 0; *second < bits; ++*second)
    for (*first = 0; *first < *second; ++*first)
      for (o = 0; o < form->outs; ++o)
        if ((form->basis[*first][o] & form->basis[*second][o]) && settp_layout_form_both(form, *first, *second))
          return 1;
  return 0;
}

/* Convert digits to bits: one basis value for each input bit. The sizes must be powers of two and, unless `carry` is set, no two basis values may
 * share a bit. Return 1 if the form now consists of bits. */
SETT_INLINE int settp_layout_form_to_bits(settp_layout_form *form, int carry) {
  int i, j, b, in, out, shared = 0;
  uint64_t used[SETT_ANY_DIMS];
  if (form->kind == SETTP_LAYOUT_FORM_BITS) return 1;
  if (form->kind != SETTP_LAYOUT_FORM_DIGITS) return 0;
  form->bit_at[0] = 0;
  for (in = 0; in < form->ins; ++in) form->bit_at[in + 1] = form->bit_at[in] + (int)settp_layout_form_log(form->in[in]);
  if (form->bit_at[form->ins] > SETTP_LAYOUT_FORM_WIDTH) return 0;
  for (out = 0; out < form->outs; ++out) {
    if (form->constant[out] < 0) return 0;
    used[out] = 0;
    for (i = 0; i < form->bit_at[form->ins]; ++i) form->basis[i][out] = 0;
  }
  for (i = 0; i < form->digits; ++i) {
    const settp_layout_form_digit *digit = &form->digit[i];
    int64_t low = settp_layout_form_log(digit->low), value = digit->stride;
    int size = (int)settp_layout_form_log(digit->size), top = form->bit_at[digit->in + 1] - form->bit_at[digit->in];
    if ((int64_t)1 << low != digit->low || value < 0) return 0;
    if (low + size > top) size = top - (int)low;
    else if ((int64_t)1 << size != digit->size && low + size < top) return 0;
    for (b = 0; b < size; ++b) {
      uint64_t *basis = &form->basis[form->bit_at[digit->in] + (int)low + b][digit->out];
      if (value > INT64_MAX / 4 || *basis != 0) return 0;
      if (!carry && ((uint64_t)form->constant[digit->out] & (uint64_t)value)) return 0;
      shared |= (used[digit->out] & (uint64_t)value) != 0;
      used[digit->out] |= (uint64_t)value;
      *basis = (uint64_t)value;
      value *= 2;
    }
  }
  if (!carry && shared && settp_layout_form_shared(form, &i, &j)) return 0;
  if (!carry) form->kind = SETTP_LAYOUT_FORM_BITS;
  return 1;
}

SETT_INLINE int settp_layout_form_value(const settp_layout_form *form, const int64_t *point, int64_t *value) {
  int i, out, in;
  for (out = 0; out < form->outs; ++out) value[out] = form->constant[out];
  if (form->kind == SETTP_LAYOUT_FORM_BITS) {
    for (in = 0; in < form->ins; ++in)
      for (i = form->bit_at[in]; i < form->bit_at[in + 1]; ++i)
        for (out = 0; out < form->outs && point[in] >> (i - form->bit_at[in]) & 1; ++out)
          value[out] = (int64_t)((uint64_t)value[out] ^ form->basis[i][out]);
    return 1;
  }
  for (i = 0; i < form->digits; ++i) {
    const settp_layout_form_digit *digit = &form->digit[i];
    int64_t product;
    if (settp_map_mul(point[digit->in] / digit->low % digit->size, digit->stride, &product) ||
        settp_map_add(value[digit->out], product, &value[digit->out]))
      return 0;
  }
  return form->kind == SETTP_LAYOUT_FORM_DIGITS;
}

/* Write the digits of the innermost layout of a CuTe layout. The inputs are the modes or, if `flat` is 1, one integer for all modes. Return 0 if a
 * stride is a nested coordinate such as 1@0@1, or if some strides are coordinates and others are numbers. */
SETT_INLINE int settp_layout_form_cute_digits(settp_layout_form *form, const sett_notation_mode *mode, int flat) {
  settp_notation_work work = settp_notation_begin(NULL);
  settp_notation_flat leaves;
  int i, k, places = 0, numbers = 0, deep = 0, rank = flat ? 1 : settp_notation_rank(mode);
  form->ins = rank <= SETT_ANY_DIMS ? rank : 0;
  form->outs = 1;
  if (rank > SETT_ANY_DIMS) form->error = (int)SETT_NOTATION_ERROR_FIRST + (int)SETT_NOTATION_ERROR_LEAVES;
  for (i = 0; i < form->ins; ++i) {
    sett_notation_mode one = flat ? *mode : settp_notation_mode_of(mode, i);
    int64_t low = 1;
    form->in[i] = settp_notation_size_of(&work, &one);
    form->name[i] = NULL;
    settp_notation_flatten_to(&work, &one, &leaves);
    for (k = 0; k < leaves.count && !work.error; ++k) {
      const sett_notation_mode *leaf = &leaves.leaf[k];
      places |= leaf->places > 0;
      numbers |= leaf->places == 0 && leaf->stride != 0 && leaf->size > 1;
      deep |= leaf->places > 1 || (leaf->places == 1 && leaf->place[0] >= SETT_ANY_DIMS);
      if (deep) continue;
      if (leaf->places == 1 && leaf->place[0] >= form->outs) form->outs = leaf->place[0] + 1;
      settp_layout_form_add(form, i, leaf->places == 1 ? leaf->place[0] : 0, low, leaf->size, leaf->stride);
      low = settp_layout_form_times(low, leaf->size);
    }
  }
  if (work.error) form->error = SETT_NOTATION_ERROR_FIRST + work.error;
  form->owners = places;
  for (i = 0; i < form->outs; ++i) form->constant[i] = form->out[i] = 0;
  return !deep && !(places && numbers);
}

/* Write the basis values of an outer layout of CuTe: basis[i] is the layout's value if only bit i of the argument is 1. The layout's last size counts
 * as unbounded. Return 0 if another size is no power of two, or if the values of two bits have a common bit. */
SETT_INLINE int settp_layout_form_outer(const sett_notation_mode *mode, uint64_t *basis) {
  settp_notation_work work = settp_notation_begin(NULL);
  settp_notation_flat leaves;
  uint64_t used = 0;
  int i, at = 0;
  for (i = 0; i < SETTP_LAYOUT_FORM_WIDTH; ++i) basis[i] = 0;
  settp_notation_flatten_to(&work, mode, &leaves);
  if (work.error) return 0;
  for (i = 0; i < leaves.count; ++i) {
    int64_t value = leaves.leaf[i].stride, bits = settp_layout_form_log(leaves.leaf[i].size);
    if (leaves.leaf[i].places || value < 0 || (i < leaves.count - 1 && (int64_t)1 << bits != leaves.leaf[i].size))
      return 0;
    if (i == leaves.count - 1) bits = 62 - at;
    for (; bits > 0 && at<62; --bits, value = value> INT64_MAX / 4 ? INT64_MAX : value * 2) {
      if (value == INT64_MAX) break;
      if (used & (uint64_t)value) return 0;
      used |= (uint64_t)value;
      basis[at++] = (uint64_t)value;
    }
  }
  return 1;
}

SETT_INLINE uint64_t settp_layout_form_through(const sett_notation_part *part, const uint64_t *outer, uint64_t x) {
  int64_t to = part->shift < 0 ? part->base - part->shift : part->base;
  int64_t from = part->shift < 0 ? part->base : part->base + part->shift;
  uint64_t value = 0;
  int i;
  if (part->swizzle) return x ^ ((x >> from & (((uint64_t)1 << part->bits) - 1)) << to);
  for (i = 0; i < SETTP_LAYOUT_FORM_WIDTH; ++i)
    if (x >> i & 1) value ^= outer[i];
  return value;
}

SETT_INLINE int settp_layout_form_not_negative(const settp_layout_form *form) {
  int i, negative = form->constant[0] < 0;
  for (i = 0; i < form->digits; ++i) negative |= form->digit[i].stride < 0;
  return !negative;
}

SETT_INLINE void settp_layout_form_cute(settp_layout_form *form, const sett_notation *layout, int flat) {
  const sett_notation_part *inner = &layout->part[layout->parts - 1];
  uint64_t outer[SETTP_LAYOUT_FORM_WIDTH];
  int i, k;
  form->first = 1;
  form->kind = SETTP_LAYOUT_FORM_DIGITS;
  if (inner->swizzle) {
    form->error = (int)SETT_NOTATION_ERROR_FIRST + (int)SETT_NOTATION_ERROR_KIND;
    return;
  }
  if (!settp_layout_form_cute_digits(form, &inner->layout, flat)) form->kind = SETTP_LAYOUT_FORM_VALUES;
  for (i = layout->parts - 2; i >= 0 && form->kind != SETTP_LAYOUT_FORM_VALUES; --i) {
    const sett_notation_part *part = &layout->part[i];
    uint64_t used = 0;
    int bits;
    if (part->swizzle && part->bits == 0 && !form->owners && form->kind == SETTP_LAYOUT_FORM_DIGITS &&
        part->offset.rank < 0 && !part->offset.places && settp_layout_form_not_negative(form) &&
        !settp_map_add(form->constant[0], part->offset.size, &form->constant[0]))
      continue; /* the identity swizzle only adds its offset */
    if (form->owners || part->offset.rank >= 0 || part->offset.places || part->offset.size < 0 ||
        !settp_layout_form_to_bits(form, 0) || (!part->swizzle && !settp_layout_form_outer(&part->layout, outer))) {
      form->kind = SETTP_LAYOUT_FORM_VALUES;
      break;
    }
    bits = form->bit_at[form->ins];
    for (k = 0; k < bits; ++k) used |= form->basis[k][0];
    if ((uint64_t)part->offset.size & (used | (uint64_t)form->constant[0])) form->kind = SETTP_LAYOUT_FORM_VALUES;
    form->constant[0] =
        (int64_t)settp_layout_form_through(part, outer, (uint64_t)form->constant[0] ^ (uint64_t)part->offset.size);
    for (k = 0; k < bits; ++k) form->basis[k][0] = settp_layout_form_through(part, outer, form->basis[k][0]);
  }
}

SETT_INLINE void settp_layout_form_array(settp_layout_form *form, const sett_notation *layout) {
  int64_t low[SETT_NOTATION_DIMS], stride = 1;
  int i;
  form->kind = SETTP_LAYOUT_FORM_DIGITS;
  form->ins = layout->rank;
  form->outs = 1;
  form->constant[0] = layout->offset;
  form->out[0] = 0;
  for (i = 0; i < layout->rank; ++i) {
    form->in[i] = layout->dims[i];
    low[i] = 1;
  }
  for (i = layout->blocks; i-- > 0;) {
    int d = layout->block_dim[i];
    settp_layout_form_add(form, d, 0, low[d], layout->block_size[i], stride);
    low[d] = settp_layout_form_times(low[d], layout->block_size[i]);
    stride = settp_layout_form_times(stride, layout->block_size[i]);
  }
  for (i = 0; i < layout->rank; ++i)
    settp_layout_form_add(form, i, 0, low[i], (layout->dims[i] - 1) / low[i] + 1, layout->strides[i]);
}

SETT_INLINE void settp_layout_form_xla(settp_layout_form *form, const sett_tile_shape *shape) {
  sett_tile_plan plan = sett_tile_prepare(shape);
  int i;
  int64_t above = 1;
  if (plan.error) form->error = SETT_LAYOUT_ERROR_FIRST + plan.error;
  form->plan = plan;
  form->kind = plan.coupled ? SETTP_LAYOUT_FORM_VALUES : SETTP_LAYOUT_FORM_DIGITS;
  form->ins = shape->rank;
  form->outs = 1;
  form->constant[0] = form->out[0] = 0;
  for (i = 0; i < shape->rank; ++i) form->in[i] = shape->dims[i];
  for (i = 0; i < plan.steps && form->kind == SETTP_LAYOUT_FORM_DIGITS; ++i) {
    const sett_tile_step *step = &plan.step[i];
    if (step->dim >= 0 ? step->dim != step->into || (i > 0 && above != 1) : above % step->weight != 0)
      form->kind = SETTP_LAYOUT_FORM_VALUES;
    above = step->weight == INT64_MAX ? 1 : step->weight;
    if (step->weight != INT64_MAX) settp_layout_form_add(form, step->into, 0, step->weight, step->count, step->stride);
  }
}

SETT_INLINE void settp_layout_form_linear(settp_layout_form *form, const sett_notation_linear *linear) {
  int i, d, shift, at = 0;
  form->kind = SETTP_LAYOUT_FORM_BITS;
  form->first = 1;
  form->ins = linear->ins;
  form->outs = linear->outs;
  for (i = 0; i < linear->ins; ++i) {
    form->in[i] = (int64_t)1 << linear->in_bits[i];
    form->name[i] = linear->in[i];
    form->bit_at[i] = at;
    at += linear->in_bits[i];
  }
  form->bit_at[linear->ins] = at;
  for (d = shift = 0; d < linear->outs; shift += linear->out_bits[d++]) {
    form->out[d] = (int64_t)1 << linear->out_bits[d];
    form->constant[d] = 0;
    for (i = 0; i < at; ++i) form->basis[i][d] = linear->basis[i] >> shift & ((uint64_t)form->out[d] - 1);
  }
}

SETT_INLINE void settp_layout_form_mosaic(settp_layout_form *form, const sett_notation *layout) {
  static const char *const names[] = {"register", "lane", "warp"};
  const sett_notation_tiled *tiled = layout->tiled;
  int64_t wide = 1;
  int i;
  form->kind = SETTP_LAYOUT_FORM_DIGITS;
  form->owners = form->first = 1;
  form->ins = 3;
  form->outs = layout->rank;
  for (i = 0; i < layout->rank; ++i) {
    form->out[i] = layout->dims[i];
    form->constant[i] = 0;
  }
  for (i = 0; i < 3; ++i) {
    form->in[i] = i == 1 ? 32 : i == 2 ? 4 : 1;
    form->name[i] = names[i];
  }
  for (i = 0; i < tiled->digits; ++i) {
    if (tiled->digit[i].role == SETT_NOTATION_ELEMENT) wide = tiled->digit[i].size;
    if (tiled->digit[i].role <= SETT_NOTATION_ELEMENT) form->in[0] *= tiled->digit[i].size;
  }
  for (i = 0; i < tiled->digits; ++i) {
    const sett_notation_digit *digit = &tiled->digit[i];
    int in = digit->role == SETT_NOTATION_LANE ? 1 : digit->role == SETT_NOTATION_WARP ? 2 : 0;
    int64_t low = digit->role == SETT_NOTATION_REGISTER ? digit->stride * wide : digit->stride;
    if (digit->dim >= 0) settp_layout_form_add(form, in, digit->dim, low, digit->size, digit->low);
  }
}

SETT_INLINE void settp_layout_form_iree(settp_layout_form *form, const sett_nested_layout *layout) {
  static const char *const names[] = {"register", "lane", "warp"};
  static const int levels[] = {SETT_NESTED_ELEMENT, SETT_NESTED_OUTER, SETT_NESTED_BATCH};
  int64_t weight[SETT_NESTED_LEVELS][SETT_NESTED_MAX_RANK], low = 1;
  int d, i, level;
  form->kind = SETTP_LAYOUT_FORM_DIGITS;
  form->owners = form->first = form->wraps = 1;
  form->ins = 3;
  form->outs = layout->rank;
  form->in[0] = sett_nested_slots(layout);
  form->in[1] = sett_nested_threads(layout);
  form->in[2] = sett_nested_subgroups(layout);
  for (i = 0; i < 3; ++i) form->name[i] = names[i];
  for (d = 0; d < layout->rank; ++d) {
    form->constant[d] = 0;
    form->out[d] = 1;
    for (level = SETT_NESTED_LEVELS; level-- > 0;) {
      weight[level][d] = form->out[d];
      form->out[d] *= layout->field[level][d];
    }
  }
  for (i = 0; i < 3; ++i)
    for (d = layout->rank; d-- > 0;) {
      settp_layout_form_add(form, 0, d, low, layout->field[levels[i]][d], weight[levels[i]][d]);
      low *= layout->field[levels[i]][d];
    }
  for (d = 0; d < layout->rank; ++d) {
    int64_t thread = layout->field[SETT_NESTED_THREAD_STRIDE][d], group = layout->field[SETT_NESTED_SUBGROUP_STRIDE][d];
    if (thread > 0)
      settp_layout_form_add(form, 1, d, thread, layout->field[SETT_NESTED_THREAD][d], weight[SETT_NESTED_THREAD][d]);
    if (group > 0)
      settp_layout_form_add(form, 2, d, group, layout->field[SETT_NESTED_SUBGROUP][d], weight[SETT_NESTED_SUBGROUP][d]);
  }
}

/* Return 1 if a linear layout maps indices to offsets, -1 if it maps offsets to indices and all its other inputs have size 1, otherwise 0. */
SETT_INLINE int settp_layout_any_shared(const sett_notation_linear *linear) {
  int i, rest = 0;
  for (i = 1; i < linear->ins; ++i) rest |= linear->in_bits[i];
  if (linear->ins > 0 && settp_notation_name_is(linear->in[0], "offset")) return rest ? 0 : -1;
  return linear->outs == 1 && settp_notation_name_is(linear->out[0], "offset");
}

/* Write a layout of padded shared memory as digits, one for each bit of the index. If a bit of the index changes several bits of the element's number,
 * digits cannot express the layout, and form->kind becomes SETTP_LAYOUT_FORM_VALUES. */
SETT_INLINE void settp_layout_form_padded(settp_layout_form *form, const sett_notation *layout) {
  const sett_notation_padded *padded = layout->padded;
  int d, i, k, at = 0;
  form->kind = SETTP_LAYOUT_FORM_DIGITS;
  form->ins = layout->rank;
  form->outs = 1;
  form->constant[0] = form->out[0] = 0;
  for (d = 0; d < layout->rank; ++d) form->in[d] = layout->dims[d];
  for (d = 0; d < layout->rank; ++d)
    for (i = 0; i < padded->inverse->in_bits[d]; ++i, ++at) {
      int64_t number = (int64_t)padded->inverse->basis[at], stride = number;
      if (number & (number - 1)) form->kind = SETTP_LAYOUT_FORM_VALUES;
      for (k = 0; k < padded->pads; ++k) stride += number / padded->interval[k] * padded->pad[k];
      settp_layout_form_add(form, d, 0, (int64_t)1 << i, 2, stride);
    }
}

/* Return the form of a layout. If `flat` is 1, a CuTe layout has one integer as its input, otherwise one input for each mode. If a linear layout maps
 * offsets to indices and `own` is 0, the form is the inverse, from indices to offsets. If `own` is 1, the form has the direction of the layout. */
SETT_INLINE settp_layout_form *settp_layout_any_form(sett_map_arena *arena, const sett_any *layout, int flat, int own) {
  settp_layout_form *form = (settp_layout_form *)settp_map_take(arena, sizeof *form);
  if (!form) return NULL;
  form->kind = SETTP_LAYOUT_FORM_VALUES;
  form->error = layout->error;
  form->owners = form->wraps = form->first = form->ins = form->outs = form->digits = 0;
  if (form->error) return form;
  if (layout->kind == SETT_ANY_XLA) {
    settp_layout_form_xla(form, &layout->shape);
  } else if (layout->kind == SETT_ANY_IREE) {
    settp_layout_form_iree(form, &layout->nested);
  } else if (layout->notation.kind == SETT_NOTATION_CUTE) {
    settp_layout_form_cute(form, &layout->notation, flat);
  } else if (layout->notation.kind == SETT_NOTATION_STRIDES || layout->notation.kind == SETT_NOTATION_ONEDNN) {
    settp_layout_form_array(form, &layout->notation);
  } else if (layout->notation.kind == SETT_NOTATION_PADDED) {
    settp_layout_form_padded(form, &layout->notation);
  } else if (layout->notation.kind == SETT_NOTATION_MOSAIC) {
    settp_layout_form_mosaic(form, &layout->notation);
  } else if (layout->notation.kind == SETT_NOTATION_TRITON) {
    int shared = settp_layout_any_shared(layout->notation.linear);
    form->owners = 1;
    settp_layout_form_linear(form, layout->notation.linear);
    if (own || shared == 0) return form;
    if (shared < 0) {
      sett_notation inverse = sett_notation_invert(arena, &layout->notation);
      int i, ins;
      if (inverse.error) return form;
      settp_layout_form_linear(form, inverse.linear);
      for (i = 0, ins = form->ins; i < ins; ++i) form->name[i] = NULL;
      form->outs = 1; /* the block input has size 1, so it has no bits */
    }
    form->owners = form->first = 0;
  } else {
    form->error = (int)SETT_NOTATION_ERROR_FIRST + (layout->notation.kind == SETT_NOTATION_MASKED
                                                        ? (int)SETT_NOTATION_ERROR_POWER
                                                        : (int)SETT_NOTATION_ERROR_KIND);
  }
  return form;
}

/* Write the value of a layout at a point to `value`. The form may be of any kind. Return 0 if the value does not exist or overflows, else 1. */
SETT_INLINE int settp_layout_any_value(sett_map_arena *arena, const sett_any *layout, const settp_layout_form *form,
                                       int flat, const int64_t *point, int64_t *value) {
  if (form->kind != SETTP_LAYOUT_FORM_VALUES) return settp_layout_form_value(form, point, value);
  if (layout->kind == SETT_ANY_XLA) {
    value[0] = sett_tile_position(&form->plan, point);
    return value[0] >= 0;
  } else {
    sett_map_mark mark = sett_map_arena_mark(arena);
    settp_notation_work work = settp_notation_begin(arena);
    sett_notation_mode modes[SETT_ANY_DIMS];
    sett_notation at, got;
    settp_notation_flat leaves;
    int i, good;
    for (i = 0; i < form->ins; ++i) modes[i] = settp_notation_leaf(point[i], 0);
    at = settp_notation_tuple_of(flat || form->ins == 1 ? modes[0] : settp_notation_tuple(&work, form->ins, modes),
                                 SETT_NOTATION_TUPLE);
    got = sett_notation_at(arena, &layout->notation, &at);
    settp_notation_flatten_to(&work, &got.tuple, &leaves);
    good = !work.error && !got.error && leaves.count == form->outs;
    for (i = 0; i < form->outs && good; ++i) value[i] = leaves.leaf[i].size;
    sett_map_arena_rewind(arena, mark);
    return good;
  }
}

/* Remove inputs of size 1 and, if `named` is 1, sort inputs with names in the order register, lane, warp, block. A form of the kind VALUES is left as
 * it is. */
SETT_INLINE void settp_layout_form_tidy(settp_layout_form *form, int named) {
  static const char *const names[] = {"register", "lane", "warp", "block"};
  int from[SETT_ANY_DIMS], to[SETT_ANY_DIMS], i, k, count = 0;
  settp_layout_form old;
  if (form->kind == SETTP_LAYOUT_FORM_VALUES) return;
  for (k = 0; k < 5; ++k)
    for (i = 0; i < form->ins; ++i) {
      int place = 4, j;
      for (j = 0; j < 4; ++j)
        if (named && form->name[i] && settp_notation_name_is(form->name[i], names[j])) place = j;
      if (place == k && form->in[i] != 1) from[count++] = i;
    }
  for (i = 0; i < form->ins; ++i) to[i] = -1;
  for (i = 0; i < count; ++i) to[from[i]] = i;
  old = *form;
  form->ins = count;
  form->digits = 0;
  for (i = 0; i < count; ++i) {
    form->in[i] = old.in[from[i]];
    form->name[i] = old.name[from[i]];
  }
  for (i = 0; i < old.digits; ++i)
    settp_layout_form_add(form, to[old.digit[i].in], old.digit[i].out, old.digit[i].low, old.digit[i].size,
                          old.digit[i].stride);
  form->bit_at[0] = 0;
  for (i = 0; i < count && old.kind == SETTP_LAYOUT_FORM_BITS; ++i) {
    int bits = old.bit_at[from[i] + 1] - old.bit_at[from[i]], j;
    for (j = 0; j < bits; ++j)
      for (k = 0; k < old.outs; ++k) form->basis[form->bit_at[i] + j][k] = old.basis[old.bit_at[from[i]] + j][k];
    form->bit_at[i + 1] = form->bit_at[i] + bits;
  }
}

SETT_INLINE sett_any_answer settp_layout_any_say(int yes, int no, const char *reason) {
  sett_any_answer answer;
  int i, k;
  answer.yes = yes;
  answer.no = no;
  answer.reason = reason;
  answer.ins = answer.outs = answer.points = 0;
  for (i = 0; i < SETT_ANY_DIMS; ++i) {
    answer.b[i] = 0;
    for (k = 0; k < SETT_ANY_POINTS; ++k) answer.point[k][i] = answer.a[k][i] = 0;
  }
  return answer;
}

/* Return the smallest input at which two lists of digits have different values; -1 if there is none. */
SETT_INLINE int64_t settp_layout_form_first(const settp_layout_form_digit *a, int na, const settp_layout_form_digit *b,
                                            int nb) {
  int i;
  for (i = 0; i < na && i < nb; ++i) {
    if (a[i].stride != b[i].stride) return a[i].low;
    if (a[i].size != b[i].size) return a[i].low * (a[i].size < b[i].size ? a[i].size : b[i].size);
  }
  return -1;
}

/* Compare two forms. Return a yes; or a no, with the first point at which they differ; or an answer that is neither, if the forms are not enough to
 * decide. */
SETT_INLINE sett_any_answer settp_layout_form_compare(settp_layout_form *a, settp_layout_form *b, int first) {
  sett_any_answer answer = settp_layout_any_say(1, 0, "yes");
  int i, j, k, o, in, carry = 0, order[SETT_ANY_DIMS];
  answer.points = 1;
  for (i = 0; i < a->ins; ++i) order[i] = first ? i : a->ins - 1 - i;
  for (o = 0; o < a->outs; ++o) answer.no |= a->constant[o] != b->constant[o];
  if (a->kind == SETTP_LAYOUT_FORM_DIGITS && b->kind == SETTP_LAYOUT_FORM_DIGITS) {
    settp_layout_form_digit x[SETTP_LAYOUT_FORM_LIST], y[SETTP_LAYOUT_FORM_LIST];
    int lists = 1;
    for (i = 0; i < a->ins && !answer.no && lists; ++i) {
      int64_t least = -1;
      in = order[i];
      for (o = 0; o < a->outs && lists; ++o) {
        int na = settp_layout_form_list(a, in, o, x), nb = settp_layout_form_list(b, in, o, y);
        int64_t at = settp_layout_form_first(x, na, y, nb);
        lists = na >= 0 && nb >= 0;
        if (at >= 0 && (least < 0 || at < least)) least = at;
      }
      if (lists && least >= 0) {
        answer.no = 1;
        answer.point[0][in] = least;
      }
    }
    answer.yes = !answer.no;
    if (lists) return answer;
    return settp_layout_any_say(0, 0, "");
  }
  if (a->kind == SETTP_LAYOUT_FORM_VALUES || b->kind == SETTP_LAYOUT_FORM_VALUES) return settp_layout_any_say(0, 0, "");
  answer.yes = !answer.no;
  if (answer.no) return answer;
  if (!settp_layout_form_to_bits(a, 0)) carry = settp_layout_form_to_bits(a, 1) ? 1 : -1;
  else if (!settp_layout_form_to_bits(b, 0)) carry = settp_layout_form_to_bits(b, 1) ? 2 : -1;
  if (carry < 0) return settp_layout_any_say(0, 0, "");
  for (i = 0; i < a->ins; ++i)
    for (in = order[i], j = a->bit_at[in]; j < a->bit_at[in + 1]; ++j) {
      const settp_layout_form *sum = carry == 1 ? a : b;
      int64_t here = (int64_t)1 << (j - a->bit_at[in]);
      for (o = 0; o < a->outs; ++o) answer.no |= a->basis[j][o] != b->basis[j][o];
      if (answer.no) answer.point[0][in] = here;
      /* a sum has a carry if the values of two bits, or of a bit and the constant, have a bit in common */
      for (o = 0; o < a->outs && carry && !answer.no; ++o)
        answer.no |= (sum->basis[j][o] & (uint64_t)sum->constant[o]) != 0;
      if (answer.no) answer.point[0][in] = here;
      for (k = 0; k <= i && carry && !answer.no; ++k) {
        int other = order[k], l, end = other == in ? j : a->bit_at[other + 1];
        for (l = a->bit_at[other]; l < end && !answer.no; ++l) {
          int64_t there = (int64_t)1 << (l - a->bit_at[other]);
          if (other == in && here + there >= a->in[in]) continue;
          for (o = 0; o < a->outs; ++o) answer.no |= (sum->basis[j][o] & sum->basis[l][o]) != 0;
          if (answer.no) {
            answer.point[0][in] += here;
            answer.point[0][other] += there;
          }
        }
      }
      if (answer.no) {
        answer.yes = 0;
        return answer;
      }
    }
  return answer;
}

/* Repeat the ids of an IREE layout, which wrap, up to the number of ids in the other layout, if this is a whole number of periods. Inputs are matched
 * by their names or, if they have none, by their positions. */
SETT_INLINE void settp_layout_form_repeat(settp_layout_form *form, const settp_layout_form *other) {
  int i, k;
  for (i = 1; i < form->ins && form->wraps; ++i)
    for (k = 0; k < other->ins; ++k)
      if ((other->name[k] ? settp_notation_name_is(form->name[i], other->name[k]) : i == k) && form->in[i] > 0 &&
          other->in[k] > form->in[i] && other->in[k] % form->in[i] == 0)
        form->in[i] = other->in[k];
}

SETT_PUBLIC sett_any_answer sett_any_same(sett_map_arena *arena, const sett_any *a, const sett_any *b) {
  enum { SETTP_LAYOUT_ANY_POINTS = 1 << 18 };
  settp_layout_form *x, *y;
  sett_any_answer answer;
  int64_t points = 1;
  int i, first, named, flat = 0, cute = 0, linear = 0;
  cute = !a->error && !b->error && a->kind == SETT_ANY_NOTATION && b->kind == SETT_ANY_NOTATION;
  linear = cute && a->notation.kind == SETT_NOTATION_TRITON && b->notation.kind == SETT_NOTATION_TRITON;
  cute = cute && a->notation.kind == SETT_NOTATION_CUTE && b->notation.kind == SETT_NOTATION_CUTE;
  if (linear) linear = settp_layout_any_shared(a->notation.linear) == settp_layout_any_shared(b->notation.linear);
  x = settp_layout_any_form(arena, a, 0, linear);
  y = settp_layout_any_form(arena, b, 0, linear);
  if (x && y && cute) {
    flat = x->ins != y->ins;
    for (i = 0; i < x->ins && !flat; ++i) flat = x->in[i] != y->in[i];
    if (flat) {
      x = settp_layout_any_form(arena, a, 1, 0);
      y = settp_layout_any_form(arena, b, 1, 0);
    }
  }
  if (!x || !y) return settp_layout_any_say(0, 0, sett_map_message(SETT_MAP_ERROR_FULL));
  if (x->error || y->error) return settp_layout_any_say(0, 0, sett_message(x->error ? x->error : y->error));
  if (x->owners != y->owners)
    return settp_layout_any_say(0, 1, "one gives the offset of an index, the other the index of an owner");
  named = x->owners;
  for (i = 0; i < x->ins; ++i) named &= x->name[i] != NULL;
  for (i = 0; i < y->ins; ++i) named &= y->name[i] != NULL;
  if (x->owners) {
    settp_layout_form_repeat(x, y);
    settp_layout_form_repeat(y, x);
    settp_layout_form_tidy(x, 1);
    settp_layout_form_tidy(y, 1);
  }
  if (x->ins != y->ins)
    return settp_layout_any_say(0, 1, x->owners ? "different inputs" : "different numbers of dimensions");
  for (i = 0; i < x->ins; ++i) {
    if (named && !settp_notation_name_is(x->name[i], y->name[i]))
      return settp_layout_any_say(0, 1, "inputs of different names");
    if (x->in[i] != y->in[i])
      return settp_layout_any_say(0, 1, x->owners ? "inputs of different sizes" : "different sizes");
    points = settp_layout_form_times(points, x->in[i]);
  }
  if (x->owners) { /* a CuTe layout leaves out trailing dimensions whose coordinate is always 0 */
    for (; x->outs < y->outs && x->outs > 0 && x->out[0] == 0; ++x->outs) x->constant[x->outs] = x->out[x->outs] = 0;
    for (; y->outs < x->outs && y->outs > 0 && y->out[0] == 0; ++y->outs) y->constant[y->outs] = y->out[y->outs] = 0;
  }
  if (x->outs != y->outs) return settp_layout_any_say(0, 1, "indices of different numbers of dimensions");
  for (i = 0; i < x->outs && x->owners; ++i)
    if (x->out[i] && y->out[i] && x->out[i] != y->out[i])
      return settp_layout_any_say(0, 1, "arrays of different sizes");
  first = x->first;
  if (points == 0) return settp_layout_any_say(1, 0, "yes");
  answer = settp_layout_form_compare(x, y, first);
  if (!answer.yes && !answer.no) {
    int64_t k, p, at[2][SETT_ANY_DIMS];
    answer = settp_layout_any_say(0, 0, "not decided: expected digits or bits, or at most 262144 points to look at");
    if (points > SETTP_LAYOUT_ANY_POINTS && !x->owners && !x->first && !y->first &&
        sett_map_equal(arena, sett_any_map(arena, a), sett_any_map(arena, b)).yes)
      return settp_layout_any_say(1, 0, "yes");
    for (k = 0; k < points && k < SETTP_LAYOUT_ANY_POINTS; ++k) {
      for (i = 0, p = k; i < x->ins; ++i) {
        int in = first ? i : x->ins - 1 - i;
        answer.point[0][in] = p % x->in[in];
        p /= x->in[in];
      }
      if (!settp_layout_any_value(arena, a, x, flat, answer.point[0], at[0]) ||
          !settp_layout_any_value(arena, b, y, flat, answer.point[0], at[1]))
        return settp_layout_any_say(0, 0, "not decided: expected values that fit in 64 bits");
      for (i = 0; i < x->outs; ++i) answer.no |= at[0][i] != at[1][i];
      if (answer.no) break;
    }
    if (!answer.no && points > SETTP_LAYOUT_ANY_POINTS) return answer;
    answer.yes = !answer.no;
    answer.reason = "yes";
  }
  if (answer.no) {
    answer.reason = "they differ";
    answer.points = 1;
    answer.ins = x->ins;
    answer.outs = x->outs;
    if (!settp_layout_any_value(arena, a, x, flat, answer.point[0], answer.a[0]) ||
        !settp_layout_any_value(arena, b, y, flat, answer.point[0], answer.b))
      answer.points = 0;
  }
  return answer;
}

/* ---- bodies: conversion ----------------------------------------------------------------------------------------- */

/* The state of a conversion: the form, the text of the result, and the answer. */
typedef struct settp_layout_any_work {
  sett_map_arena *arena;
  /* `source`: the form before any change, from which the values of a witness are computed */
  settp_layout_form *form, *source;
  const sett_any *layout;
  settp_notation_writer writer;
  sett_any_answer answer;
} settp_layout_any_work;

enum { SETTP_LAYOUT_ANY_TEXT = 8192 };

/* Set the answer to no, unless it is no already. The caller may then append points. */
SETT_INLINE void settp_layout_any_no(settp_layout_any_work *work, const char *reason) {
  if (work->answer.no || *work->answer.reason) return;
  work->answer.no = 1;
  work->answer.reason = reason;
  work->answer.ins = work->form->ins;
  work->answer.outs = work->form->outs;
}

SETT_INLINE void settp_layout_any_open(settp_layout_any_work *work, const char *reason) {
  if (!work->answer.no && !*work->answer.reason) work->answer.reason = reason;
}

/* Append a point to the witness. It has the given numbers in two inputs and 0 in all others; input -1 means none. */
SETT_INLINE void settp_layout_any_point(settp_layout_any_work *work, int in, int64_t at, int other, int64_t there) {
  int k = work->answer.points;
  if (!work->answer.no || k == SETT_ANY_POINTS) return;
  if (in >= 0) work->answer.point[k][in] += at;
  if (other >= 0) work->answer.point[k][other] += there;
  if (settp_layout_any_value(work->arena, work->layout, work->source, 0, work->answer.point[k], work->answer.a[k]))
    ++work->answer.points;
}

SETT_INLINE void settp_layout_any_write(settp_layout_any_work *work, const char *text) {
  settp_notation_write(&work->writer, text);
}
SETT_INLINE void settp_layout_any_number(settp_layout_any_work *work, int64_t value) {
  settp_notation_write_integer(&work->writer, value);
}
SETT_INLINE void settp_layout_any_list(settp_layout_any_work *work, int i,
                                       /* Append number i of a list, after a comma if it is not the first. */
                                       int64_t value) {
  if (i > 0) settp_layout_any_write(work, ",");
  settp_layout_any_number(work, value);
}

/* Convert a form from bits to digits. This is impossible if two bits can both be 1 and have basis values with a common bit, because XOR is then not
 * addition. In this case, return 0 and write the two bits to `first` and `second`. */
SETT_INLINE int settp_layout_form_to_digits(settp_layout_form *form, int *first, int *second) {
  int i, o, in, bits = form->bit_at[form->ins];
  if (form->kind == SETTP_LAYOUT_FORM_DIGITS) return 1;
  if (settp_layout_form_shared(form, first, second)) return 0;
  form->kind = SETTP_LAYOUT_FORM_DIGITS;
  form->digits = 0;
  for (i = 0; i < bits; ++i)
    for (o = 0, in = settp_layout_form_input(form, i); o < form->outs; ++o) {
      int64_t constant = form->constant[o], value = (int64_t)((uint64_t)constant ^ form->basis[i][o]);
      settp_layout_form_add(form, in, o, (int64_t)1 << (i - form->bit_at[in]), 2, value - constant);
    }
  return 1;
}

/* Convert the form from bits to digits and return 1. If this fails, set the answer of the whole conversion and return 0. If the form consists of
 * values, the answer is open. If an XOR is no sum of digits, the answer is "no", with three points as witness: two with one bit each, and one with
 * both bits. The value at the third point plus the value at point 0 is not the sum of the other two values. */
SETT_INLINE int settp_layout_any_digits(settp_layout_any_work *work) {
  settp_layout_form *form = work->form;
  int i = 0, j = 0, in, other;
  if (form->kind == SETTP_LAYOUT_FORM_VALUES) {
    settp_layout_any_open(work, "not decided: expected digits or bits");
    return 0;
  }
  if (settp_layout_form_to_digits(form, &i, &j)) return 1;
  in = settp_layout_form_input(form, i);
  other = settp_layout_form_input(form, j);
  settp_layout_any_no(work, "an XOR is no sum of digits");
  settp_layout_any_point(work, in, (int64_t)1 << (i - form->bit_at[in]), -1, 0);
  settp_layout_any_point(work, other, (int64_t)1 << (j - form->bit_at[other]), -1, 0);
  settp_layout_any_point(work, in, (int64_t)1 << (i - form->bit_at[in]), other,
                         (int64_t)1 << (j - form->bit_at[other]));
  return 0;
}

/* Return the offsets of a box of points, which has box[i] values of input i. The last input changes fastest. Return NULL if the arena is full, or if
 * a value overflows. */
SETT_INLINE int64_t *settp_layout_any_table(settp_layout_any_work *work, const int64_t *box, int64_t points) {
  int64_t point[SETT_ANY_DIMS], k, *table;
  int i;
  table = (int64_t *)settp_map_take(work->arena, (size_t)points * sizeof *table);
  for (i = 0; i < work->source->ins; ++i) point[i] = 0;
  for (k = 0; k < points && table; ++k) {
    if (!settp_layout_any_value(work->arena, work->layout, work->source, 0, point, &table[k])) return NULL;
    for (i = work->source->ins; i-- > 0 && ++point[i] == box[i];) point[i] = 0;
  }
  return table;
}

/* First undo the swizzle `part`, unless it is NULL. Then find digits whose sum is the table of offsets. If `shape` is 1, digits must divide the size of
 * their input. If there are such digits, write them to `made` and return 1. Otherwise return 0; *at is the first point whose offset is not the sum of
 * its digits, or -1 if there is another reason. Only one list of digits is tried: each digit is as large as possible, and adjacent digits are merged.
 * If this list fails, all others fail, too. */
SETT_INLINE int settp_layout_any_lines(settp_layout_form *made, const int64_t *table, const int64_t *box,
                                       int64_t points, const sett_notation_part *part, int shape, int64_t *at) {
  int64_t step = points, k,
          first = part ? (int64_t)settp_layout_form_through(part, NULL, (uint64_t)table[0]) : table[0];
  int64_t point[SETT_ANY_DIMS];
  int in, i;
  *at = -1;
  made->kind = SETTP_LAYOUT_FORM_DIGITS;
  made->digits = 0;
  made->constant[0] = first;
  if (part && (table[0] < 0 || first < 0)) return 0;
  for (in = 0; in < made->ins; ++in) {
    int64_t low = 1;
    step /= box[in];
    point[in] = 0;
    while (low < box[in]) {
      int64_t size = 0, stride = 0;
      if (shape && made->in[in] % low != 0) return 0;
      for (k = low; k < box[in]; k += low) {
        int64_t value = table[k * step], want;
        if (part) value = value < 0 ? -1 : (int64_t)settp_layout_form_through(part, NULL, (uint64_t)value);
        if ((part && value < 0) || first == INT64_MIN || settp_map_add(value, -first, &value)) return 0;
        if (k == low) stride = value;
        if (settp_map_mul(k / low, stride, &want) || want != value) break;
      }
      size = k < box[in] ? k / low : (made->in[in] - 1) / low + 1;
      settp_layout_form_add(made, in, 0, low, size, stride);
      low = settp_layout_form_times(low, size);
    }
  }
  if (made->kind != SETTP_LAYOUT_FORM_DIGITS) return 0;
  for (k = 0; k < points; ++k) {
    int64_t value = part ? (int64_t)settp_layout_form_through(part, NULL, (uint64_t)table[k]) : table[k], want;
    if ((part && (value < 0 || table[k] < 0)) || !settp_layout_form_value(made, point, &want) || want != value) {
      *at = k;
      return 0;
    }
    for (i = made->ins; i-- > 0 && ++point[i] == box[i];) point[i] = 0;
  }
  return 1;
}

/* Set the answer to no. The witness is three points. The first two points add up to the third. The offsets of the first two points are the sums of
 * their digits; the offset of the third is not. If `tiles` is 1, do this only if the third point has two coordinates other than 0, because within
 * one dimension, tiles that do not divide each other may be the cause. */
SETT_INLINE void settp_layout_any_no_sum(settp_layout_any_work *work, const settp_layout_form *made, const int64_t *box,
                                         int64_t at, const char *reason, int tiles) {
  int64_t low = 1, point[SETT_ANY_DIMS];
  int i, k, last = -1, several = 0;
  for (i = made->ins; i-- > 0; at /= box[i]) {
    point[i] = at % box[i];
    if (point[i] && last >= 0) several = 1;
    if (point[i] && last < 0) last = i;
  }
  if (tiles && !several) return;
  settp_layout_any_no(work, reason);
  if (!work->answer.no || last < 0) return;
  for (i = 0; i < made->digits; ++i)
    if (made->digit[i].in == last && made->digit[i].low <= point[last]) low = made->digit[i].low;
  for (k = 0; k < 3; ++k) {
    for (i = 0; i < made->ins && work->answer.points == k; ++i) {
      int64_t one = several ? (i == last ? point[i] : 0) : i == last ? point[i] / low * low : 0;
      work->answer.point[k][i] = k == 2 ? point[i] : k == 0 ? one : point[i] - one;
    }
    settp_layout_any_point(work, -1, 0, -1, 0);
  }
}

enum { SETTP_LAYOUT_ANY_TABLE = 1 << 16 };

/* Convert a form of values, or of digits that do not divide each other, to digits that do. All points are visited, if there are at most 2^16. Return
 * 1 if the form now has such digits, 0 if it is no sum of digits, -1 if that is not decided. A form of bits is not changed, and the result is 1. If
 * the result is 0 and `no` is not NULL, set the answer to no, with the reason `no`. */
SETT_INLINE int settp_layout_any_read(settp_layout_any_work *work, const char *no, int tiles) {
  settp_layout_form_digit list[SETTP_LAYOUT_FORM_LIST];
  settp_layout_form *form = work->form, *made;
  int64_t points = 1, *table, at;
  int i, nests = form->kind != SETTP_LAYOUT_FORM_VALUES;
  for (i = 0; i < form->ins; ++i) {
    if (form->kind == SETTP_LAYOUT_FORM_DIGITS && settp_layout_form_list(form, i, 0, list) < 0) nests = 0;
    points = settp_layout_form_times(points, form->in[i]);
  }
  if (nests || form->owners) return nests ? 1 : -1;
  if (points < 1 || points > SETTP_LAYOUT_ANY_TABLE || form->ins < 1) return -1;
  made = (settp_layout_form *)settp_map_take(work->arena, sizeof *made);
  table = settp_layout_any_table(work, form->in, points);
  if (!made || !table) return -1;
  *made = *form;
  if (settp_layout_any_lines(made, table, form->in, points, NULL, 0, &at)) {
    *form = *made;
    return 1;
  }
  if (at < 0) return -1;
  form->kind = SETTP_LAYOUT_FORM_VALUES;
  if (no) settp_layout_any_no_sum(work, made, form->in, at, no, tiles);
  return 0;
}

/* The digits by which all inputs change one output, the smallest stride first. span is the stride of the next digit divided by the stride of this
 * digit. A span that is larger than the digit's size means padding. */
typedef struct settp_layout_any_digit {
  settp_layout_form_digit digit;
  int64_t span;
  int top; /* 1 if this is the highest digit of its input, or padding */
} settp_layout_any_digit;
typedef struct settp_layout_any_tower {
  int count;
  settp_layout_any_digit at[SETTP_LAYOUT_FORM_LIST];
} settp_layout_any_tower;

SETT_INLINE void settp_layout_any_push(settp_layout_any_work *work, settp_layout_any_tower *tower,
                                       const settp_layout_form_digit *digit, int64_t span, int top) {
  if (tower->count == SETTP_LAYOUT_FORM_LIST) {
    settp_layout_any_open(work, "not decided: expected fewer digits");
    return;
  }
  tower->at[tower->count].digit = *digit;
  tower->at[tower->count].span = span;
  tower->at[tower->count++].top = top;
}

/* Stack the digits in ascending order of their strides; set the answer to no if they do not nest. A gap between two digits becomes padding. With
 * tiles, padding may follow any digit. In a tag, it may only follow the last digit of an input, or be a further digit of an input whose digits are
 * all stacked. */
SETT_INLINE void settp_layout_any_build(settp_layout_any_work *work, settp_layout_any_tower *tower, int tiles) {
  settp_layout_form *form = work->form;
  settp_layout_any_tower all;
  settp_layout_form_digit list[SETTP_LAYOUT_FORM_LIST];
  int64_t next = 1;
  int i, j, k, left[SETT_ANY_DIMS];
  all.count = tower->count = 0;
  settp_layout_any_read(work, "the offsets are no sum of digits", tiles);
  for (i = form->kind == SETTP_LAYOUT_FORM_BITS && tiles ? form->bit_at[form->ins] : 0; i-- > 0;)
    /* two basis values of one dimension share a bit, perhaps because tiles do not divide each other */
    for (j = 0; j < i; ++j)
      if ((form->basis[i][0] & form->basis[j][0]) &&
          settp_layout_form_input(form, i) == settp_layout_form_input(form, j) && settp_layout_form_both(form, i, j))
        settp_layout_any_open(work, "not decided: expected dimensions without an XOR of their own bits");
  if (*work->answer.reason) return;
  if (!settp_layout_any_digits(work)) return;
  if (form->constant[0] != 0) {
    settp_layout_any_no(work, "the first offset is not 0");
    settp_layout_any_point(work, -1, 0, -1, 0);
    return;
  }
  for (i = 0; i < form->ins; ++i) {
    int count = settp_layout_form_list(form, i, 0, list);
    if (count < 0) settp_layout_any_open(work, "not decided: expected tiles that divide each other");
    left[i] = count;
    for (k = 0; k < count; ++k) {
      if (list[k].stride <= 0) {
        settp_layout_any_no(work, list[k].stride == 0 ? "two indices have one offset" : "an offset decreases");
        settp_layout_any_point(work, -1, 0, -1, 0);
        settp_layout_any_point(work, i, list[k].low, -1, 0);
      }
      if (k > 0 && list[k].stride < list[k - 1].stride &&
          tiles) /* tiles can reorder digits if a tile has more dimensions than the tile before it */
        settp_layout_any_open(work, "not decided: expected the digits of a dimension in their order");
      if (k > 0 && list[k].stride < list[k - 1].stride) {
        settp_layout_any_no(work, "the digits of a dimension do not lie in their order");
        settp_layout_any_point(work, i, list[k - 1].low, -1, 0);
        settp_layout_any_point(work, i, list[k].low, -1, 0);
      }
      settp_layout_any_push(work, &all, &list[k], 0, k == count - 1);
      for (j = all.count - 1; j > 0 && all.at[j - 1].digit.stride > all.at[j].digit.stride; --j) {
        settp_layout_any_digit swap = all.at[j];
        all.at[j] = all.at[j - 1];
        all.at[j - 1] = swap;
      }
    }
  }
  if (work->answer.no || *work->answer.reason) return;
  for (k = 0; k <= all.count; ++k) {
    int64_t stride = k < all.count ? all.at[k].digit.stride : next, gap;
    settp_layout_any_digit *before = tower->count > 0 ? &tower->at[tower->count - 1] : NULL;
    gap = next > 0 && stride % next == 0 ? stride / next : 0;
    if (k == all.count) gap = 1;
    if (gap != 1 && before && (tiles || before->top) && stride > before->digit.stride &&
        stride % before->digit.stride == 0 && stride / before->digit.stride >= before->span) {
      before->span = stride / before->digit.stride; /* the gap becomes padding above the previous digit */
      gap = 1;
    }
    /* The gap becomes a digit of padding. It belongs to the first input or, in a tag, to the first input without further digits. */
    for (i = 0; i < form->ins && gap > 1; ++i)
      if (left[i] == 0 || tiles) {
        settp_layout_form_digit padding;
        padding.in = i;
        padding.out = 0;
        padding.low = form->in[i];
        padding.size = gap;
        padding.stride = next;
        settp_layout_any_push(work, tower, &padding, gap, 1);
        gap = 1;
      }
    if (gap != 1) {
      settp_layout_any_no(work, "the digits do not lie above each other");
      settp_layout_any_point(work, before ? before->digit.in : -1, before ? before->digit.low : 0, -1, 0);
      settp_layout_any_point(work, all.at[k].digit.in, all.at[k].digit.low, -1, 0);
      return;
    }
    if (k == all.count) break;
    settp_layout_any_push(work, tower, &all.at[k].digit, all.at[k].digit.size, all.at[k].top);
    --left[all.at[k].digit.in];
    next = settp_layout_form_times(stride, all.at[k].digit.size);
  }
}

/* Write a list of digits, the most major first, as tiles. place[d] is the position of dimension d in the tiles. A tile covers all digits from some
 * digit to the end of the list. Its size along a dimension is the product of the digits of this dimension that it covers. The next tile begins at the
 * same digit or later. The digits that it leaves out in addition belong to different dimensions, in the order of place[]. If the span of a digit
 * exceeds its size, a tile pads the digit. In this tile and in the tile before it, the digit must be the first one of its dimension. The whole array
 * counts as the tile before the first one. The first tile leaves out at most the first `fixed` digits. */
typedef struct settp_layout_any_tiles {
  int tiles, rank[SETT_NOTATION_TILES];
  int64_t tile[SETT_NOTATION_TILES][SETT_ANY_DIMS];
} settp_layout_any_tiles;

SETT_INLINE int settp_layout_any_tile(settp_layout_any_tiles *out, int rank, const int *place, int count,
                                      const int *dim, const int64_t *size, const int64_t *span, int fixed) {
  int64_t rest[SETT_ANY_DIMS], now[SETTP_LAYOUT_FORM_LIST];
  int at = 0, i, last, done = 0;
  out->tiles = 0;
  for (i = 0; i < rank; ++i) rest[i] = 1;
  for (i = 0; i < count; ++i) rest[place[dim[i]]] *= now[i] = size[i];
  for (;;) {
    int front = 0, taken[SETT_ANY_DIMS];
    done = out->tiles > 0 || fixed == count;
    for (i = at, last = -1; i < count && done; last = place[dim[i++]]) done = place[dim[i]] > last && now[i] == span[i];
    if (done) break;
    if (out->tiles == SETT_NOTATION_TILES) return 0;
    for (i = 0; i < rank; ++i) taken[i] = 0;
    for (last = -1; at < count && place[dim[at]] > last && now[at] == span[at] && (out->tiles > 0 || at < fixed);
         ++at) {
      last = place[dim[at]];
      rest[last] /= now[at];
      taken[last] = 1;
    }
    for (i = at; i < count; ++i) {
      int to = place[dim[i]];
      if (!taken[to] && now[i] != span[i]) {
        rest[to] = rest[to] / now[i] * span[i];
        now[i] = span[i];
      }
      taken[to] = 1;
    }
    while (front < rank - 1 && rest[front] == 1) ++front;
    out->rank[out->tiles] = rank - front;
    for (i = front; i < rank; ++i) out->tile[out->tiles][i - front] = rest[i];
    ++out->tiles;
  }
  /* each tile must have at least as many dimensions as the next one: add dimensions of size 1 in front */
  for (i = out->tiles - 1; i-- > 0;)
    while (out->rank[i] < out->rank[i + 1]) {
      for (last = out->rank[i]++; last > 0; --last) out->tile[i][last] = out->tile[i][last - 1];
      out->tile[i][0] = 1;
    }
  return 1;
}

/* ---- bodies: to notations that map an index to an offset in memory */

SETT_INLINE void settp_layout_any_to_strides(settp_layout_any_work *work) {
  settp_layout_form *form = work->form;
  settp_layout_form_digit list[SETTP_LAYOUT_FORM_LIST];
  int i;
  settp_layout_any_read(work, "the offsets are no sum of digits", 0);
  if (!settp_layout_any_digits(work)) return;
  if (form->ins == 0) settp_layout_any_no(work, "an array of no dimensions");
  for (i = 0; i < form->ins; ++i) {
    if (i) settp_layout_any_write(work, "x");
    settp_layout_any_number(work, form->in[i]);
  }
  settp_layout_any_write(work, "@strides(");
  for (i = 0; i < form->ins; ++i) {
    int count = settp_layout_form_list(form, i, 0, list);
    if (count < 0) settp_layout_any_open(work, "not decided: expected tiles that divide each other");
    if (count > 1) {
      settp_layout_any_no(work, "the offsets along a dimension have more than one stride");
      settp_layout_any_point(work, -1, 0, -1, 0);
      settp_layout_any_point(work, i, 1, -1, 0);
      settp_layout_any_point(work, i, list[1].low, -1, 0);
    }
    settp_layout_any_list(work, i, count > 0 ? list[0].stride : 0);
  }
  settp_layout_any_write(work, form->constant[0] < 0 ? ")" : ")+");
  settp_layout_any_number(work, form->constant[0]);
}

SETT_INLINE void settp_layout_any_to_tag(settp_layout_any_work *work) {
  settp_layout_form *form = work->form;
  settp_layout_any_tower tower;
  int i, inner, letters = 0, blocked[SETT_ANY_DIMS], outer[SETT_ANY_DIMS], seq[2 * SETT_ANY_DIMS];
  char letter[2] = {0, 0};
  if (form->ins < 1 || form->ins > SETT_NOTATION_DIMS) settp_layout_any_no(work, "a tag has 1 to 12 dimensions");
  settp_layout_any_build(work, &tower, 0);
  if (work->answer.no || *work->answer.reason) return;
  for (inner = tower.count; inner > 0; --inner) { /* the digits of the outer dimensions must not be padded */
    const settp_layout_any_digit *at = &tower.at[inner - 1];
    if (!at->top || at->span != at->digit.size || at->digit.low >= form->in[at->digit.in]) break;
  }
  for (i = 0; i < form->ins; ++i) blocked[i] = outer[i] = 0;
  for (i = 0; i < inner; ++i) blocked[tower.at[i].digit.in] = 1;
  for (i = inner; i < tower.count; ++i) outer[tower.at[i].digit.in] = 1;
  for (i = 0; i < form->ins; ++i) {
    if (i) settp_layout_any_write(work, "x");
    settp_layout_any_number(work, form->in[i]);
  }
  settp_layout_any_write(work, "@");
  for (i = tower.count; i-- > inner;) seq[letters++] = tower.at[i].digit.in;
  /* insert the letters of the dimensions that have no outer digit, in alphabetical order */
  for (i = 0; i < form->ins; ++i) {
    int to = 0, j;
    if (outer[i]) continue;
    while (to < letters && seq[to] < i) ++to;
    for (j = letters++; j > to; --j) seq[j] = seq[j - 1];
    seq[to] = i;
  }
  for (i = 0; i < letters; ++i) {
    letter[0] = (char)((blocked[seq[i]] ? 'A' : 'a') + seq[i]);
    settp_layout_any_write(work, letter);
  }
  for (i = inner; i-- > 0;) {
    settp_layout_any_number(work, tower.at[i].span);
    letter[0] = (char)('a' + tower.at[i].digit.in);
    settp_layout_any_write(work, letter);
  }
}

SETT_INLINE void settp_layout_any_to_xla(settp_layout_any_work *work) {
  settp_layout_form *form = work->form;
  settp_layout_any_tower tower;
  settp_layout_any_tiles tiles[2];
  int dim[SETTP_LAYOUT_FORM_LIST], place[2][SETT_ANY_DIMS], good[2], best, i, k, way, fixed = 0;
  int64_t size[SETTP_LAYOUT_FORM_LIST], span[SETTP_LAYOUT_FORM_LIST];
  settp_layout_any_build(work, &tower, 1);
  if (work->answer.no || *work->answer.reason) return;
  for (i = 0; i < tower.count; ++i) {
    const settp_layout_any_digit *at = &tower.at[tower.count - 1 - i];
    dim[i] = at->digit.in;
    size[i] = at->digit.low < form->in[at->digit.in] ? at->digit.size : 1;
    span[i] = at->span;
    if (fixed == i && at->span == at->digit.size && at->digit.low < form->in[at->digit.in]) ++fixed;
  }
  /* two orders of the dimensions are tried: by the most major digit of each, then by the most minor digit */
  for (way = 0; way < 2; ++way) {
    int used[SETT_ANY_DIMS], next = 0;
    for (i = 0; i < form->ins; ++i) used[i] = 0;
    for (i = 0; i < tower.count; ++i) used[dim[i]] = 1;
    for (i = 0; i < form->ins; ++i)
      if (!used[i]) place[way][i] = next++;
    for (i = 0; i < tower.count && way == 0; ++i)
      if (used[dim[i]]) used[dim[i]] = 0, place[way][dim[i]] = next++;
    for (i = tower.count, k = form->ins; i-- > 0 && way == 1;)
      if (used[dim[i]]) used[dim[i]] = 0, place[way][dim[i]] = --k;
    good[way] = settp_layout_any_tile(&tiles[way], form->ins, place[way], tower.count, dim, size, span, fixed);
  }
  if (!good[0] && !good[1]) settp_layout_any_open(work, "not decided: expected fewer tiles");
  best = !good[0] || (good[1] && tiles[1].tiles < tiles[0].tiles);
  settp_layout_any_write(work, "f32[");
  for (i = 0; i < form->ins; ++i) settp_layout_any_list(work, i, form->in[i]);
  settp_layout_any_write(work, form->ins > 0 ? "]{" : "]");
  for (i = 0; i < form->ins; ++i)
    for (k = 0; k < form->ins; ++k)
      if (place[best][k] == form->ins - 1 - i) settp_layout_any_list(work, i, k);
  if (good[best] && tiles[best].tiles > 0) settp_layout_any_write(work, ":T");
  for (i = 0; good[best] && i < tiles[best].tiles; ++i) {
    settp_layout_any_write(work, "(");
    for (k = 0; k < tiles[best].rank[i]; ++k) settp_layout_any_list(work, k, tiles[best].tile[i][k]);
    settp_layout_any_write(work, ")");
  }
  if (form->ins > 0) settp_layout_any_write(work, "}");
}

/* ---- bodies: to CuTe */

/* Write the digits of an input. Each digit changes one output; a digit with out -1 and stride 0 changes none. Return the number of digits. Return -1
 * if there are no such digits (the answer is then no) or if this is not decided. */
SETT_INLINE int settp_layout_any_leaves(settp_layout_any_work *work, int in, settp_layout_form_digit *leaf) {
  settp_layout_form *form = work->form;
  settp_layout_form_digit list[SETTP_LAYOUT_FORM_LIST], all[SETTP_LAYOUT_FORM_LIST];
  int o, i, j, k = 0, count = 0, digits = 0;
  int64_t low = 1;
  for (o = 0; o < form->outs; ++o) {
    int n = settp_layout_form_list(form, in, o, list);
    if (n < 0 || digits + n > SETTP_LAYOUT_FORM_LIST)
      settp_layout_any_open(work, "not decided: expected digits that divide each other");
    for (i = 0; i < n && digits < SETTP_LAYOUT_FORM_LIST; ++i) {
      if (list[i].stride == 0) continue;
      for (j = digits++; j > 0 && all[j - 1].low > list[i].low; --j) all[j] = all[j - 1];
      all[j] = list[i];
    }
  }
  while (low < form->in[in] && !work->answer.no && !*work->answer.reason && count < SETTP_LAYOUT_FORM_LIST) {
    settp_layout_form_digit next;
    next.in = in;
    next.out = -1;
    next.low = low;
    next.size = (form->in[in] - 1) / low + 1;
    next.stride = 0;
    if (k < digits) {
      if (all[k].low < low) {
        settp_layout_any_no(work, "one number moves the index along two dimensions");
        settp_layout_any_point(work, in, all[k].low, -1, 0);
        return -1;
      }
      if (all[k].low == low) next = all[k++];
      else next.size = all[k].low / low;
    }
    if (form->in[in] % low != 0 || (form->in[in] / low) % next.size != 0) {
      settp_layout_any_no(work, "the digits do not divide the size of their dimension");
      settp_layout_any_point(work, in, next.low, -1, 0);
      if (low * next.size < form->in[in]) settp_layout_any_point(work, in, low * next.size, -1, 0);
    }
    leaf[count++] = next;
    low = settp_layout_form_times(low, next.size);
  }
  if (k < digits && count < SETTP_LAYOUT_FORM_LIST && !work->answer.no) {
    settp_layout_any_no(work, "one number moves the index along two dimensions");
    settp_layout_any_point(work, in, all[k].low, -1, 0);
  }
  return work->answer.no || *work->answer.reason ? -1 : count;
}

/* Write the shape of all inputs; with `strides`, write their strides. */
SETT_INLINE void settp_layout_any_cute_part(settp_layout_any_work *work, int strides) {
  settp_layout_form *form = work->form;
  settp_layout_form_digit leaf[SETTP_LAYOUT_FORM_LIST];
  int i, k, moves = 0;
  for (i = 0; i < form->digits; ++i) moves |= form->digit[i].stride != 0;
  if (form->ins != 1) settp_layout_any_write(work, "(");
  for (i = 0; i < form->ins; ++i) {
    int count = settp_layout_any_leaves(work, i, leaf);
    if (i) settp_layout_any_write(work, ",");
    if (count > 1) settp_layout_any_write(work, form->ins == 1 ? "((" : "(");
    for (k = 0; k < count; ++k) {
      settp_layout_any_list(work, k, strides ? leaf[k].stride : leaf[k].size);
      if (!strides || !form->owners || (leaf[k].out < 0 && moves)) continue;
      settp_layout_any_write(work, "@");
      settp_layout_any_number(work, leaf[k].out < 0 ? 0 : leaf[k].out);
    }
    if (count == 0) settp_layout_any_write(work, strides ? form->owners && !moves ? "0@0" : "0" : "1");
    if (count > 1) settp_layout_any_write(work, form->ins == 1 ? "))" : ")");
  }
  if (form->ins != 1) settp_layout_any_write(work, ")");
}

/* Return 1 if the digits of each input divide its size, so that they form a CuTe shape. */
SETT_INLINE int settp_layout_form_divides(const settp_layout_form *form) {
  settp_layout_form_digit list[SETTP_LAYOUT_FORM_LIST];
  int i, k;
  for (i = 0; i < form->ins; ++i)
    for (k = settp_layout_form_list(form, i, 0, list) - 1; k >= 0; --k)
      if (form->in[i] % list[k].low != 0) return 0;
  return 1;
}

/* Find a swizzle under which the form is a shape:stride layout. If there is one, change the form to that layout and return 1. `spare` is memory for
 * another form. */
SETT_INLINE int settp_layout_any_swizzle(settp_layout_form *form, settp_layout_form *spare, sett_notation_part *part) {
  uint64_t all = 0, under[SETTP_LAYOUT_FORM_WIDTH], constant;
  int bits = form->bit_at[form->ins], width = 0, i, j, sign, b, m, s;
  for (i = 0; i < bits; ++i) all |= form->basis[i][0];
  while (all >> width) ++width;
  part->swizzle = 1;
  for (b = 1; b <= width / 2; ++b)
    for (s = b; s + b <= width; ++s)
      for (sign = 0; sign < 2; ++sign)
        for (m = 0; m + s + b <= width; ++m) {
          int good = 1;
          uint64_t used = 0;
          part->bits = b;
          part->base = m;
          part->shift = sign ? -s : s;
          for (i = 0; i < bits && good; ++i) {
            under[i] = settp_layout_form_through(part, NULL, form->basis[i][0]);
            for (j = 0; j < i && good && (used & under[i]); ++j)
              good = !(under[i] & under[j]) || !settp_layout_form_both(form, i, j);
            used |= under[i];
          }
          constant = settp_layout_form_through(part, NULL, (uint64_t)form->constant[0]);
          if (!good || (constant & used)) continue;
          *spare = *form;
          for (i = 0; i < bits; ++i) spare->basis[i][0] = under[i];
          spare->constant[0] = (int64_t)constant;
          if (!settp_layout_form_to_digits(spare, &i, &j) || !settp_layout_form_divides(spare)) continue;
          *form = *spare;
          return 1;
        }
  return 0;
}

/* Find a swizzle under which the form is a shape:stride layout, by visiting points. This serves forms whose sums may carry, or whose sizes are no
 * powers of two. Return 1 and change the form to that layout, or 0 if no swizzle fits, or -1 if this is not decided. If there are more than
 * SETTP_LAYOUT_ANY_TABLE points, only a part of them is visited, and the result is 0 or -1. This part extends first along the dimensions with a digit
 * that does not divide the dimension's size. Most swizzles that only read bits above those of the offsets are not tried, because they change
 * nothing. */
SETT_INLINE int settp_layout_any_swizzle_by_points(settp_layout_any_work *work, settp_layout_form *made,
                                                   sett_notation_part *part) {
  settp_layout_form *form = work->form;
  settp_layout_form_digit list[SETTP_LAYOUT_FORM_LIST];
  int64_t box[SETT_ANY_DIMS], points = 1, k, *table, at;
  int i, turn, whole = 1, width = 0, b, m, s, sign;
  for (i = 0; i < form->ins; ++i) box[i] = form->in[i] > 0 ? 1 : 0;
  for (turn = 0; turn < 2; ++turn)
    for (i = 0; i < form->ins; ++i) {
      int count = form->kind == SETTP_LAYOUT_FORM_DIGITS ? settp_layout_form_list(form, i, 0, list) : -1,
          divides = count >= 0;
      while (count-- > 0) divides &= form->in[i] % list[count].low == 0;
      if (divides != turn) continue;
      box[i] = form->in[i] < SETTP_LAYOUT_ANY_TABLE / points ? form->in[i] : SETTP_LAYOUT_ANY_TABLE / points;
      points *= box[i];
      whole &= box[i] == form->in[i];
      if (points == 0) return -1;
    }
  table = settp_layout_any_table(work, box, points);
  if (!table) return -1;
  for (k = 0; k < points; ++k) {
    if (table[k] < 0) return 0;
    while (width < 62 && table[k] >> width) ++width;
  }
  if (!whole) width = 62;
  *made = *form;
  part->swizzle = 1;
  for (b = 1; b <= width; ++b)
    for (s = b; s <= width; ++s)
      for (sign = 0; sign < 2; ++sign)
        for (m = 0; m + s <= width && m + s + b <= 62; ++m) {
          part->bits = b;
          part->base = m;
          part->shift = sign ? -s : s;
          if (!settp_layout_any_lines(made, table, box, points, part, 1, &at)) continue;
          if (!whole) return -1;
          *form = *made;
          return 1;
        }
  return 0;
}

/* Set the answer to no if some offset is negative: CuTe cannot write that. */
SETT_INLINE int settp_layout_any_negative(settp_layout_any_work *work) {
  const settp_layout_form *form = work->form;
  int64_t point[SETT_ANY_DIMS], least = 0;
  int i;
  if (form->kind != SETTP_LAYOUT_FORM_DIGITS) return 0;
  for (i = 0; i < form->ins; ++i) point[i] = 0;
  for (i = 0; i < form->digits; ++i) {
    const settp_layout_form_digit *digit = &form->digit[i];
    int64_t count = (form->in[digit->in] - 1) / digit->low + 1;
    if (digit->stride < 0 && digit->out == 0)
      point[digit->in] += (digit->size < count ? digit->size - 1 : count - 1) * digit->low;
  }
  for (i = 0; i < form->ins; ++i)
    if (point[i] >= form->in[i]) point[i] = 0;
  if (!settp_layout_form_value(form, point, &least) || least >= 0) return 0;
  settp_layout_any_no(work, "an offset is negative");
  for (i = 0; i < form->ins && work->answer.points < SETT_ANY_POINTS; ++i)
    work->answer.point[work->answer.points][i] = point[i];
  settp_layout_any_point(work, -1, 0, -1, 0);
  return 1;
}

SETT_INLINE void settp_layout_any_to_cute(settp_layout_any_work *work) {
  settp_layout_form *form = work->form;
  sett_notation_part part = settp_notation_no_part();
  settp_layout_form *bits = (settp_layout_form *)settp_map_take(work->arena, 2 * sizeof *bits);
  int i = 0, j = 0, plain, exact = 1, found = 0;
  if (!bits) {
    settp_layout_any_open(work, sett_map_message(SETT_MAP_ERROR_FULL));
    return;
  }
  settp_layout_any_read(work, NULL, 0);
  bits[0] = *form;
  plain = form->kind != SETTP_LAYOUT_FORM_VALUES && settp_layout_form_to_digits(form, &i, &j) &&
          (form->owners || settp_layout_form_divides(form));
  if (!plain && !form->owners) {
    /* `exact`: the form consists of bits and no sum carries, so a swizzle can be found without visiting points */
    for (i = 0; i < form->ins; ++i) exact &= (form->in[i] & (form->in[i] - 1)) == 0;
    exact = exact && form->constant[0] == 0 && settp_layout_form_to_bits(&bits[0], 0);
    found = exact ? settp_layout_any_swizzle(&bits[0], &bits[1], &part)
                  : settp_layout_any_swizzle_by_points(work, &bits[1], &part);
    if (found > 0 && exact) *form = bits[0];
    if (found < 0) settp_layout_any_open(work, "not decided: expected at most 65536 points to try swizzles at");
  }
  if (found > 0) {
    settp_layout_any_write(work, "S<");
    settp_layout_any_list(work, 0, part.bits);
    settp_layout_any_list(work, 1, part.base);
    settp_layout_any_list(work, 1, part.shift);
    settp_layout_any_write(work, "> o ");
    settp_layout_any_number(work, form->constant[0]);
    settp_layout_any_write(work, " o ");
  } else if (form->constant[0] != 0 && !form->owners) {
    if (settp_layout_any_negative(work)) return;
    settp_layout_any_write(work, "S<0,4,3> o ");
    settp_layout_any_number(work, form->constant[0]);
    settp_layout_any_write(work, " o ");
  }
  if (form->kind == SETTP_LAYOUT_FORM_VALUES)
    settp_layout_any_read(work, "no shape:stride layout, nor a swizzle S<B,M,S> of one, has these values", 0);
  if (!settp_layout_any_digits(work)) {
    if (work->answer.no && !form->owners && work->form->kind == SETTP_LAYOUT_FORM_BITS)
      work->answer.reason = "an XOR that is no swizzle S<B,M,S> of a shape:stride layout";
    return;
  }
  settp_layout_any_cute_part(work, 0);
  settp_layout_any_write(work, ":");
  settp_layout_any_cute_part(work, 1);
}

/* ---- bodies: to linear layouts */

/* Search for a point whose value is not the XOR of the basis values of its bits. Return 1 and set the answer to no if there is one, or if a basis
 * value is negative. Return -1 if there is none; the form then has its basis values. Return 0 if that is not decided: there are too many bits or
 * points, or a value cannot be computed. */
SETT_INLINE int settp_layout_any_not_linear(settp_layout_any_work *work) {
  enum { SETTP_LAYOUT_ANY_POINTS = 1 << 18 };
  settp_layout_form *form = work->form;
  int64_t total = 1, x, point[SETT_ANY_DIMS], value[SETT_ANY_DIMS], step;
  int64_t unit[SETTP_LAYOUT_FORM_WIDTH][SETT_ANY_DIMS];
  int i, o, in, bit, bits = 0, at[SETT_ANY_DIMS];
  for (i = 0; i < form->ins; ++i) {
    at[i] = bits;
    bits += (int)settp_layout_form_log(form->in[i]);
    total = settp_layout_form_times(total, form->in[i]);
    point[i] = 0;
  }
  if (bits > SETTP_LAYOUT_FORM_WIDTH) return 0;
  for (in = bit = 0; in < form->ins; ++in)
    for (step = 1; step < form->in[in]; step *= 2) {
      point[in] = step;
      if (!settp_layout_any_value(work->arena, work->layout, form, 0, point, unit[bit++])) return 0;
      point[in] = 0;
    }
  for (x = 0; x < total && x < SETTP_LAYOUT_ANY_POINTS; ++x) {
    int64_t rest = x, xored[SETT_ANY_DIMS], top = 0;
    int top_in = -1, differs = 0;
    for (o = 0; o < form->outs; ++o) xored[o] = 0;
    for (in = 0; in < form->ins; ++in) {
      point[in] = rest % form->in[in];
      rest /= form->in[in];
      for (i = 0; point[in] >> i; ++i) {
        if (!(point[in] >> i & 1)) continue;
        top = (int64_t)1 << i;
        top_in = in;
        for (o = 0; o < form->outs; ++o) xored[o] ^= unit[at[in] + i][o];
      }
    }
    if (!settp_layout_any_value(work->arena, work->layout, form, 0, point, value)) return 0;
    for (o = 0; o < form->outs; ++o) differs |= value[o] != xored[o];
    if (!differs) continue;
    settp_layout_any_no(work,
                        top_in < 0 ? "the first value is not 0" : "the values of these are not the XOR of each other");
    if (top_in >= 0) {
      int k = work->answer.points;
      settp_layout_any_point(work, top_in, top, -1, 0);
      for (in = 0; in < form->ins; ++in) work->answer.point[k + 1][in] = point[in] - (in == top_in ? top : 0);
      settp_layout_any_point(work, -1, 0, -1, 0);
    }
    for (in = 0; in < form->ins; ++in) work->answer.point[work->answer.points][in] = point[in];
    settp_layout_any_point(work, -1, 0, -1, 0);
    return 1;
  }
  if (total > SETTP_LAYOUT_ANY_POINTS) return 0;
  for (in = bit = 0; in < form->ins; ++in)
    for (step = 1; step < form->in[in]; step *= 2, ++bit)
      for (o = 0; o < form->outs; ++o) {
        if (unit[bit][o] >= 0) continue;
        settp_layout_any_no(work, "an offset is negative");
        settp_layout_any_point(work, in, step, -1, 0);
        return 1;
      }
  for (in = 0; in < form->ins; ++in) form->bit_at[in] = at[in];
  form->bit_at[form->ins] = bits;
  for (bit = 0; bit < bits; ++bit)
    for (o = 0; o < form->outs; ++o) {
      form->basis[bit][o] = (uint64_t)unit[bit][o];
      form->constant[o] = 0;
    }
  form->kind = SETTP_LAYOUT_FORM_BITS;
  return -1;
}

/* Write name = [[..], ..]: for each bit of an input, its values in all outputs. */
SETT_INLINE void settp_layout_any_bases(settp_layout_any_work *work, const char *name, int first, int last) {
  int i, o;
  settp_layout_any_write(work, name);
  settp_layout_any_write(work, " = [");
  for (i = first; i < last; ++i) {
    settp_layout_any_write(work, i > first ? ",[" : "[");
    for (o = 0; o < work->form->outs; ++o) settp_layout_any_list(work, o, (int64_t)work->form->basis[i][o]);
    settp_layout_any_write(work, "]");
  }
  settp_layout_any_write(work, "]");
}

SETT_INLINE void settp_layout_any_dim(settp_layout_any_work *work, const char *name, int i) {
  settp_layout_any_write(work, name);
  settp_layout_any_number(work, i);
}

SETT_INLINE void settp_layout_any_to_triton(settp_layout_any_work *work) {
  static const char *const names[] = {"register", "lane", "warp", "block"};
  settp_layout_form *form = work->form;
  int i, o, k, bits, named = 1;
  uint64_t all[SETT_ANY_DIMS];
  char name[24];
  for (i = 0; i < form->ins; ++i) {
    named &= form->owners && form->name[i] != NULL;
    if (((int64_t)1 << settp_layout_form_log(form->in[i])) != form->in[i])
      settp_layout_any_no(work, "a size is no power of two");
  }
  for (o = 0; o < form->outs && form->owners; ++o)
    if (form->out[o] > 0 && ((int64_t)1 << settp_layout_form_log(form->out[o])) != form->out[o])
      settp_layout_any_no(work, "a size of the array is no power of two");
  if (form->ins > SETT_NOTATION_DIMS || form->outs > SETT_NOTATION_DIMS || (form->owners && !named && form->ins > 4))
    settp_layout_any_no(work, "more inputs or outputs than a linear layout has names for");
  if (work->answer.no) return;
  if (!settp_layout_form_to_bits(form, 0)) {
    int answer = settp_layout_any_not_linear(work);
    if (answer == 0) settp_layout_any_open(work, "not decided: expected digits or bits");
    if (answer >= 0) return;
  }
  for (o = 0; o < form->outs; ++o) {
    all[o] = 0;
    if (form->constant[o] == 0) continue;
    settp_layout_any_no(work, "the first value is not 0");
    settp_layout_any_point(work, -1, 0, -1, 0);
    return;
  }
  bits = form->bit_at[form->ins];
  for (i = 0; i < bits; ++i)
    for (o = 0; o < form->outs; ++o) all[o] |= form->basis[i][o];
  for (o = 0; o < form->outs; ++o) all[o] = (uint64_t)1 << settp_layout_form_log((int64_t)all[o] + 1);
  settp_layout_any_write(work, "{");
  for (k = 0; k < 4 && form->owners; ++k) {
    int in = -1;
    for (i = 0; i < form->ins; ++i)
      if (named ? settp_notation_name_is(form->name[i], names[k]) : i == k) in = i;
    if (k) settp_layout_any_write(work, ", ");
    settp_layout_any_bases(work, names[k], in < 0 ? 0 : form->bit_at[in], in < 0 ? 0 : form->bit_at[in + 1]);
  }
  for (i = 0; i < form->ins; ++i) {
    settp_notation_name(name, "dim", i);
    for (k = 0; k < 4 && named; ++k)
      if (settp_notation_name_is(form->name[i], names[k])) break;
    if (form->owners && (!named || k < 4)) continue;
    if (i > 0 || form->owners) settp_layout_any_write(work, ", ");
    settp_layout_any_bases(work, form->owners ? form->name[i] : name, form->bit_at[i], form->bit_at[i + 1]);
  }
  settp_layout_any_write(work, "} -> {");
  for (o = 0; o < form->outs; ++o) {
    if (o) settp_layout_any_write(work, ", ");
    if (form->owners) settp_layout_any_dim(work, "dim", o);
    else settp_layout_any_write(work, "offset");
    settp_layout_any_write(work, " = ");
    settp_layout_any_number(work, form->owners && form->out[o] > 0 ? form->out[o] : (int64_t)all[o]);
  }
  settp_layout_any_write(work, "}");
}

/* Invert a layout from the index to the offset, if it is a bijection, because Triton writes shared memory from the offset to the index. */
SETT_INLINE void settp_layout_any_turn(sett_map_arena *arena, sett_any *made) {
  sett_notation inverse = sett_notation_invert(arena, &made->notation);
  settp_notation_work work = settp_notation_begin(arena);
  sett_notation_linear *linear;
  int i;
  if (inverse.error) return;
  linear = settp_notation_new_linear(&work);
  if (!linear) return;
  *linear = *inverse.linear;
  settp_notation_name(linear->in[linear->ins], "block", -1);
  linear->in_bits[linear->ins++] = 0;
  for (i = 0; i < linear->outs; ++i) settp_notation_name(linear->out[i], "dim", i);
  made->notation = settp_notation_of_linear(linear);
}

/* ---- bodies: to notations that map an owner (register, lane, warp) to an index */

/* For each dimension of the index, stack the digits of owners by stride, the smallest first. Set the answer to no if there are gaps or overlaps. */
SETT_INLINE int settp_layout_any_owned(settp_layout_any_work *work, settp_layout_any_tower *tower, int in_of[3]) {
  static const char *const names[] = {"register", "lane", "warp"};
  settp_layout_form *form = work->form;
  settp_layout_form_digit leaf[SETTP_LAYOUT_FORM_LIST];
  int i, k, o, count, named = 1;
  if (!settp_layout_any_digits(work)) return 0;
  for (i = 0; i < form->ins; ++i) named &= form->name[i] != NULL;
  for (k = 0; k < 3; ++k) in_of[k] = -1;
  for (i = 0; i < form->ins; ++i) {
    for (k = 0; k < 3; ++k)
      if (named ? settp_notation_name_is(form->name[i], names[k]) : i == k) break;
    if (k < 3) in_of[k] = i;
    else if (form->in[i] > 1) settp_layout_any_no(work, "an input besides the register, the lane and the warp");
  }
  for (o = 0; o < form->outs; ++o) tower[o].count = 0;
  for (i = 0; i < form->ins; ++i) {
    count = settp_layout_any_leaves(work, i, leaf);
    for (k = 0; k < count; ++k) {
      int j;
      settp_layout_any_tower *at;
      if (leaf[k].out < 0 && i == in_of[0]) {
        settp_layout_any_no(work, "two registers of a thread hold one element");
        settp_layout_any_point(work, -1, 0, -1, 0);
        settp_layout_any_point(work, i, leaf[k].low, -1, 0);
      }
      if (leaf[k].out < 0) continue;
      at = &tower[leaf[k].out];
      settp_layout_any_push(work, at, &leaf[k], leaf[k].size, 0);
      for (j = at->count - 1; j > 0 && at->at[j - 1].digit.stride > at->at[j].digit.stride; --j) {
        settp_layout_any_digit swap = at->at[j];
        at->at[j] = at->at[j - 1];
        at->at[j - 1] = swap;
      }
    }
  }
  for (o = 0; o < form->outs && !work->answer.no && !*work->answer.reason; ++o) {
    int64_t weight = 1;
    for (k = 0; k < tower[o].count; ++k) {
      const settp_layout_form_digit *digit = &tower[o].at[k].digit;
      if (digit->stride != weight) {
        settp_layout_any_no(work,
                            digit->stride > weight ? "nobody holds the elements between these" : "two digits overlap");
        settp_layout_any_point(work, -1, 0, -1, 0);
        settp_layout_any_point(work, digit->in, digit->low, -1, 0);
        break;
      }
      weight = settp_layout_form_times(weight, digit->size);
    }
    if (form->out[o] > 0 && weight != form->out[o])
      settp_layout_any_no(work, "nobody holds the last elements of a dimension");
  }
  return !work->answer.no && !*work->answer.reason;
}

SETT_INLINE void settp_layout_any_iree_list(settp_layout_any_work *work, const char *key, const int64_t *list) {
  int d;
  settp_layout_any_write(work, key);
  settp_layout_any_write(work, " = [");
  for (d = 0; d < work->form->outs; ++d) settp_layout_any_list(work, d, list[d]);
  settp_layout_any_write(work, "]");
}

SETT_INLINE void settp_layout_any_to_iree(settp_layout_any_work *work, settp_layout_any_tower *tower) {
  static const char *const keys[] = {"subgroup_tile",  ", batch_tile",       ", outer_tile",    ", thread_tile",
                                     ", element_tile", ", subgroup_strides", ", thread_strides"};
  static const int levels[] = {SETT_NESTED_ELEMENT, SETT_NESTED_OUTER, SETT_NESTED_BATCH};
  settp_layout_form *form = work->form;
  int64_t field[SETT_NESTED_FIELD_COUNT][SETT_NESTED_MAX_RANK], slot = 1;
  int in_of[3], next[SETT_ANY_DIMS], d, i, k = 0, phase, cursor;
  if (!settp_layout_any_owned(work, tower, in_of)) return;
  for (d = 0; d < form->outs; ++d) {
    /* the level (thread or subgroup) of the last digit of threads or subgroups that was found; SETT_NESTED_LEVELS if there is none. A dimension has
     * at most one thread digit and one subgroup digit, and the subgroup digit is above the thread digit */
    int level = SETT_NESTED_LEVELS;
    next[d] = 0;
    for (k = 0; k < SETT_NESTED_FIELD_COUNT; ++k) field[k][d] = k < SETT_NESTED_LEVELS;
    for (i = 0; i < tower[d].count; ++i) {
      const settp_layout_form_digit *digit = &tower[d].at[i].digit;
      int to = digit->in == in_of[1] ? SETT_NESTED_THREAD : digit->in == in_of[2] ? SETT_NESTED_SUBGROUP : -1;
      if ((to >= 0 && to >= level) || (to < 0 && level == SETT_NESTED_SUBGROUP)) {
        settp_layout_any_no(work, "the digits of a dimension are not element, thread, outer, batch, subgroup");
        settp_layout_any_point(work, digit->in, digit->low, -1, 0);
        if (i > 0) settp_layout_any_point(work, tower[d].at[i - 1].digit.in, tower[d].at[i - 1].digit.low, -1, 0);
        return;
      }
      if (to < 0) continue;
      level = to;
      field[to][d] = digit->size;
      field[to == SETT_NESTED_THREAD ? SETT_NESTED_THREAD_STRIDE : SETT_NESTED_SUBGROUP_STRIDE][d] = digit->low;
    }
  }
  /* sort the registers, fastest first: element digits of all dimensions from the last dimension on, then outer digits, then batch digits */
  for (phase = 0, cursor = form->outs; phase < 3;) {
    int found = -1;
    for (d = 0; d < form->outs; ++d)
      for (i = 0; i < tower[d].count; ++i)
        if (tower[d].at[i].digit.in == in_of[0] && tower[d].at[i].digit.low == slot) found = d, k = i;
    if (found < 0) break;
    /* bit 0 of d: the thread's digit in this dimension is below this digit; bit 1: the thread's digit is above it */
    for (i = 0, d = 0; i < k; ++i) d |= tower[found].at[i].digit.in == in_of[1];
    for (i = k + 1; i < tower[found].count && phase > 0; ++i) d |= 2 * (tower[found].at[i].digit.in == in_of[1]);
    if (found >= cursor || (phase == 0 && d == 1)) {
      ++phase;
      cursor = form->outs;
      continue;
    }
    /* stop if a digit that is not an element digit is below the thread digit, or if the digits of a dimension are not in ascending order */
    if ((d & 2) || k < next[found]) break;
    field[levels[phase]][found] = tower[found].at[k].digit.size;
    next[found] = k + 1;
    slot *= tower[found].at[k].digit.size;
    cursor = found;
  }
  if (in_of[0] >= 0 && slot != form->in[in_of[0]]) {
    settp_layout_any_no(work, "the registers are not in the order batch, outer, element, each row-major");
    settp_layout_any_point(work, in_of[0], slot, -1, 0);
    return;
  }
  settp_layout_any_write(work, "#iree_vector_ext.nested_layout<");
  for (k = 0; k < SETT_NESTED_FIELD_COUNT; ++k) settp_layout_any_iree_list(work, keys[k], field[k]);
  settp_layout_any_write(work, ">");
}

SETT_INLINE void settp_layout_any_to_mosaic(settp_layout_any_work *work, settp_layout_any_tower *tower) {
  settp_layout_form *form = work->form;
  settp_layout_form_digit order[SETTP_LAYOUT_FORM_LIST], leaf[SETTP_LAYOUT_FORM_LIST];
  settp_layout_any_tiles tiles;
  sett_notation_tiled *tiled;
  int64_t size[SETTP_LAYOUT_FORM_LIST], dims[SETT_ANY_DIMS], registers;
  int in_of[3], dim[SETTP_LAYOUT_FORM_LIST], place[SETT_ANY_DIMS], left[SETT_ANY_DIMS];
  int count = 0, total = 0, fixed = 0, held = -1, d, i, k;
  if (form->wraps && form->in[1] > 0 && 32 % form->in[1] == 0) form->in[1] = 32;
  if (form->wraps && form->in[2] > 0 && 4 % form->in[2] == 0) form->in[2] = 4;
  if (!settp_layout_any_owned(work, tower, in_of)) return;
  if (form->outs < 1 || form->outs > SETT_NOTATION_DIMS)
    settp_layout_any_no(work, "a TiledLayout has 1 to 12 dimensions");
  if (in_of[1] < 0 || form->in[in_of[1]] != 32 || (in_of[2] < 0 ? 1 : form->in[in_of[2]]) != 4)
    settp_layout_any_no(work, "a TiledLayout has 32 lanes and 4 warps");
  if (work->answer.no) return;
  registers = in_of[0] < 0 ? 1 : form->in[in_of[0]];
  for (d = 0; d < form->outs; ++d) {
    place[d] = d;
    left[d] = tower[d].count;
    total += tower[d].count;
    for (dims[d] = 1, i = 0; i < tower[d].count; ++i) dims[d] *= tower[d].at[i].digit.size;
  }
  /* Collect the digits, the most major first. Register digits come in descending order. If a higher digit of the same dimension is left, it comes
   * before the register digit. The remaining digits follow, dimension by dimension. */
  while (count < total) {
    const settp_layout_form_digit *top;
    int to = -1;
    for (d = 0; d < form->outs; ++d)
      for (i = 0; i < left[d]; ++i)
        if (tower[d].at[i].digit.in == in_of[0] && tower[d].at[i].digit.low * tower[d].at[i].digit.size == registers &&
            tower[d].at[i].digit.low > 1)
          to = d;
    /* no dimension has the next register digit: take digits of other inputs, and last the vector (the register digit with low = 1) */
    if (to < 0) {
      int best = -1;
      for (d = 0; d < form->outs; ++d) {
        if (left[d] == 0 || (tower[d].at[left[d] - 1].digit.in != in_of[0]) <= best) continue;
        best = tower[d].at[left[d] - 1].digit.in != in_of[0];
        to = d;
      }
    }
    top = &tower[to].at[left[to] - 1].digit;
    if (top->in == in_of[0]) {
      /* the register digit with low = 1 (the vector) may be taken at any time, the others only in order */
      if (top->low > 1 && top->low * top->size != registers) {
        settp_layout_any_no(work, "the registers are not in the order of the tiled shape, row-major");
        settp_layout_any_point(work, in_of[0], top->low, -1, 0);
        return;
      }
      if (top->low > 1) registers = top->low;
      if (fixed == count && top->low > 1) fixed = count + 1;
    }
    --left[to];
    order[count] = *top;
    dim[count] = to;
    size[count++] = top->size;
  }
  if (in_of[0] >= 0)
    for (i = 0; i < count; ++i)
      if (order[i].in == in_of[0] && order[i].low == 1) held = i;
  /* no register digit has low = 1, so add a digit of size 1: a vector of one element */
  if (held < 0 && count < SETTP_LAYOUT_FORM_LIST) {
    dim[count] = form->outs - 1;
    size[count] = 1;
    order[count].in = -1;
    held = count++;
  }
  if (fixed == count) --fixed;
  tiled = (sett_notation_tiled *)settp_map_take(work->arena, sizeof *tiled);
  if (!tiled || !settp_layout_any_tile(&tiles, form->outs, place, count, dim, size, size, fixed)) {
    settp_layout_any_open(work, "not decided: expected fewer tiles");
    return;
  }
  tiled->tiles = tiles.tiles;
  for (i = 0; i < tiles.tiles; ++i) {
    tiled->tile_rank[i] = tiles.rank[i];
    for (k = 0; k < tiles.rank[i]; ++k) tiled->tile[i][k] = tiles.tile[i][k];
  }
  tiled->warps = tiled->lanes = 0;
  tiled->vector_dim = -1;
  /* compute only the digits here; which of them are warps, lanes and the vector is set later */
  settp_notation_tile(tiled, form->outs, dims);
  for (i = 0; i < form->outs; ++i) {
    if (i) settp_layout_any_write(work, "x");
    settp_layout_any_number(work, dims[i]);
  }
  settp_layout_any_write(work, "@TiledLayout(tiling=Tiling(tiles=(");
  for (i = 0; i < tiles.tiles; ++i) {
    settp_notation_write_python(&work->writer, tiles.rank[i], tiles.tile[i], 0);
    settp_layout_any_write(work, i < tiles.tiles - 1 ? "," : tiles.tiles == 1 ? ",))" : "))");
  }
  for (k = 2; k > 0; --k) { /* warps first, then lanes, each with the most major digit first */
    int n = in_of[k] < 0 ? 0 : settp_layout_any_leaves(work, in_of[k], leaf);
    settp_layout_any_write(work, k == 2 ? ", warp_dims=(" : ", lane_dims=(");
    while (n-- > 0) {
      int at = tiled->digits;
      while (at-- > 0 && leaf[n].out >= 0)
        if (tiled->digit[at].dim == leaf[n].out && tiled->digit[at].low == leaf[n].stride &&
            tiled->digit[at].size == leaf[n].size)
          break;
      if (leaf[n].out < 0) settp_layout_any_write(work, "Replicated(times=");
      settp_layout_any_number(work, leaf[n].out < 0 ? leaf[n].size : at - tiled->digits);
      settp_layout_any_write(work, leaf[n].out < 0 ? ")," : ",");
    }
    settp_layout_any_write(work, ")");
  }
  for (i = tiled->digits; i-- > 0;)
    if (tiled->digit[i].dim == dim[held] && tiled->digit[i].size == size[held] &&
        (size[held] == 1 || tiled->digit[i].low == order[held].stride))
      break;
  settp_layout_any_write(work, ", vector_dim=");
  settp_layout_any_number(work, i - tiled->digits);
  settp_layout_any_write(work, ")");
}

/* Write numbers separated by commas, in parentheses unless there is only one. */
SETT_INLINE void settp_layout_any_tuple(settp_layout_any_work *work, int count, const int64_t *number) {
  int i;
  if (count != 1) settp_layout_any_write(work, "(");
  for (i = 0; i < count; ++i) settp_layout_any_list(work, i, number[i]);
  if (count != 1) settp_layout_any_write(work, ")");
}

/* Return the largest stride in a dimension. Leaves of size 1 do not count; the result is 0 if there are no others. */
SETT_INLINE int64_t settp_layout_any_stride(const sett_notation *layout, int dim) {
  settp_notation_work work = settp_notation_begin(NULL);
  settp_notation_flat leaves;
  sett_notation_mode mode;
  int64_t most = 0;
  int i;
  if (layout->kind == SETT_NOTATION_STRIDES) return layout->dims[dim] == 1 ? 0 : layout->strides[dim];
  mode = settp_notation_mode_of(&layout->part[layout->parts - 1].layout, dim);
  settp_notation_flatten_to(&work, &mode, &leaves);
  for (i = 0; i < leaves.count; ++i)
    if (leaves.leaf[i].size != 1 && leaves.leaf[i].stride > most) most = leaves.leaf[i].stride;
  return most;
}

/* Write an array without elements: compact, with sizes of 0 counted as 1, and its dimensions in the order of the layout's strides. A dimension
 * without a stride follows the dimension before it. */
SETT_INLINE void settp_layout_any_to_empty(settp_layout_any_work *work, int target) {
  const settp_layout_form *form = work->form;
  const sett_any *layout = work->layout;
  const sett_notation *notation = &layout->notation;
  int64_t key[SETT_ANY_DIMS], stride[SETT_ANY_DIMS], inner[SETT_ANY_DIMS], step = 1;
  int order[SETT_ANY_DIMS], i, j, ins = form->ins; /* `order`: the dimensions, the outermost one first */
  char letter[2] = {0, 0};
  for (i = 0; i < ins; ++i) {
    int64_t own;
    key[i] = i > 0 ? key[i - 1] : INT64_MAX;
    if (layout->kind == SETT_ANY_XLA) {
      for (j = 0; layout->shape.minor_to_major[j] != i; ++j) {}
      own = j + 1;
    } else if (notation->kind == SETT_NOTATION_ONEDNN) {
      for (j = 0; notation->order[j] != i; ++j) {}
      own = ins - j;
    } else {
      own = settp_layout_any_stride(notation, i);
    }
    if (own > 0) key[i] = own;
    for (j = i; j > 0 && key[order[j - 1]] < key[i]; --j) order[j] = order[j - 1];
    order[j] = i;
  }
  for (i = ins; i-- > 0;) {
    stride[order[i]] = step;
    if (form->in[order[i]] > 0) step = settp_layout_form_times(step, form->in[order[i]]);
    inner[ins - 1 - i] = order[i];
  }
  if (step == INT64_MAX) settp_layout_any_open(work, "not decided: expected strides that fit in 64 bits");
  if (target == SETT_ANY_TO_CUTE) {
    settp_layout_any_tuple(work, ins, form->in);
    settp_layout_any_write(work, ":");
    settp_layout_any_tuple(work, ins, stride);
    return;
  }
  if (target == SETT_ANY_TO_XLA) {
    settp_layout_any_write(work, "f32[");
    for (i = 0; i < ins; ++i) settp_layout_any_list(work, i, form->in[i]);
    settp_layout_any_write(work, "]{");
    for (i = 0; i < ins; ++i) settp_layout_any_list(work, i, inner[i]);
    settp_layout_any_write(work, "}");
    return;
  }
  if (ins > SETT_NOTATION_DIMS) settp_layout_any_no(work, "tags and strides have 1 to 12 dimensions");
  for (i = 0; i < ins; ++i) {
    if (i) settp_layout_any_write(work, "x");
    settp_layout_any_number(work, form->in[i]);
  }
  settp_layout_any_write(work, target == SETT_ANY_TO_ONEDNN ? "@" : "@strides(");
  for (i = 0; i < ins; ++i) {
    letter[0] = (char)('a' + order[i]);
    if (target == SETT_ANY_TO_ONEDNN) settp_layout_any_write(work, letter);
    else settp_layout_any_list(work, i, stride[i]);
  }
  if (target == SETT_ANY_TO_STRIDES) settp_layout_any_write(work, ")+0");
}

SETT_PUBLIC sett_any_made sett_any_convert(sett_map_arena *arena, const sett_any *layout, int target) {
  static const int kinds[] = {SETT_NOTATION_CUTE, SETT_NOTATION_TRITON, SETT_NOTATION_MOSAIC, SETT_NOTATION_ONEDNN,
                              SETT_NOTATION_STRIDES};
  settp_layout_any_work work;
  sett_any_made made;
  settp_layout_any_tower *tower = NULL;
  int places = target == SETT_ANY_TO_ONEDNN || target == SETT_ANY_TO_STRIDES || target == SETT_ANY_TO_XLA;
  int owners = target == SETT_ANY_TO_MOSAIC || target == SETT_ANY_TO_IREE, empty = 0, i;
  made.layout = *layout;
  made.answer = settp_layout_any_say(1, 0, "yes");
  if (layout->error || layout->kind == (target == SETT_ANY_TO_XLA    ? SETT_ANY_XLA
                                        : target == SETT_ANY_TO_IREE ? SETT_ANY_IREE
                                                                     : -1))
    return made;
  if (target < SETT_ANY_TO_XLA && layout->kind == SETT_ANY_NOTATION && layout->notation.kind == kinds[target])
    return made;
  if (target == SETT_ANY_TO_TRITON && layout->kind == SETT_ANY_NOTATION &&
      layout->notation.kind == SETT_NOTATION_PADDED)
    return made;
  work.arena = arena;
  work.layout = layout;
  work.form = settp_layout_any_form(arena, layout, 0, 0);
  work.source = settp_layout_any_form(arena, layout, 0, 0);
  work.writer.out = (char *)settp_map_take(arena, SETTP_LAYOUT_ANY_TEXT);
  work.writer.capacity = SETTP_LAYOUT_ANY_TEXT;
  work.writer.length = 0;
  work.answer = settp_layout_any_say(0, 0, "");
  if (owners) tower = (settp_layout_any_tower *)settp_map_take(arena, SETT_ANY_DIMS * sizeof *tower);
  if (!work.form || !work.source || !work.writer.out || (owners && !tower)) {
    made.answer = settp_layout_any_say(0, 0, sett_map_message(SETT_MAP_ERROR_FULL));
    return made;
  }
  for (i = 0; i < work.form->ins; ++i) empty |= work.form->in[i] == 0;
  if (work.form->error) settp_layout_any_open(&work, sett_message(work.form->error));
  else if (places && work.form->owners) settp_layout_any_no(&work, "an owner is no offset");
  else if (empty && (owners || target == SETT_ANY_TO_TRITON))
    settp_layout_any_no(&work, "an array without elements, and that notation has none");
  else if (owners && !work.form->owners) settp_layout_any_no(&work, "an offset is no register of a thread");
  if (!work.answer.no && !*work.answer.reason) {
    if (empty) settp_layout_any_to_empty(&work, target);
    else if (target == SETT_ANY_TO_CUTE) settp_layout_any_to_cute(&work);
    else if (target == SETT_ANY_TO_TRITON) settp_layout_any_to_triton(&work);
    else if (target == SETT_ANY_TO_MOSAIC) settp_layout_any_to_mosaic(&work, tower);
    else if (target == SETT_ANY_TO_ONEDNN) settp_layout_any_to_tag(&work);
    else if (target == SETT_ANY_TO_STRIDES) settp_layout_any_to_strides(&work);
    else if (target == SETT_ANY_TO_XLA) settp_layout_any_to_xla(&work);
    else settp_layout_any_to_iree(&work, tower);
  }
  made.answer = work.answer;
  if (work.answer.no || *work.answer.reason) return made;
  made.answer =
      settp_layout_any_say(0, 0, "not decided: expected a layout whose text is shorter or whose numbers are smaller");
  if (work.writer.length >= SETTP_LAYOUT_ANY_TEXT) return made;
  made.layout = sett_any_parse(arena, work.writer.out, work.writer.length);
  if (made.layout.error) return made;
  if (target == SETT_ANY_TO_TRITON && !work.form->owners) settp_layout_any_turn(arena, &made.layout);
  if (sett_any_same(arena, layout, &made.layout).yes) made.answer = settp_layout_any_say(1, 0, "yes");
  return made;
}

/* ---- bodies: layouts as distributions over threads ------------------------------------------------------------------------------ */

/* A layout as a distribution. at[] has the numbers of the inputs register, lane, warp and block; -1 means that the layout has no such input. */
typedef struct settp_layout_owner {
  const sett_any *layout;
  settp_layout_form *form;
  int error, pair; /* pair: 1 if the inputs are (thread, value) */
  int at[4];
  int64_t size[4];
  int64_t *value; /* the values of all registers; index (thread * registers + register) * outs + out */
  int outs;
  int64_t dims[SETT_ANY_DIMS];
  int masked; /* 1: a register whose index is outside `dims` holds no element */
} settp_layout_owner;

SETT_INLINE void settp_layout_owner_read(sett_map_arena *arena, const sett_any *layout, settp_layout_owner *owner) {
  static const char *const names[] = {"register", "lane", "warp", "block"};
  const sett_notation *notation = &layout->notation;
  sett_any whole = *layout; /* the layout with its mask removed, so that it has all registers */
  settp_layout_form *form;
  int i, k;
  owner->masked = layout->kind == SETT_ANY_NOTATION && notation->kind == SETT_NOTATION_MASKED;
  if (owner->masked) whole.notation.kind = SETT_NOTATION_TRITON;
  form = settp_layout_any_form(arena, &whole, 0, 0);
  owner->layout = layout;
  owner->form = form;
  owner->value = NULL;
  owner->pair = owner->outs = 0;
  owner->error = !form ? SETT_MOVE_ERROR_FULL : form->error ? SETT_MOVE_ERROR_OWNERS : 0;
  for (k = 0; k < 4; ++k) {
    owner->at[k] = -1;
    owner->size[k] = 1;
  }
  if (owner->error) return;
  if (layout->kind == SETT_ANY_NOTATION && notation->kind == SETT_NOTATION_CUTE && !form->owners) {
    owner->pair = form->ins == 2 && form->outs == 1;
    if (!owner->pair) owner->error = SETT_MOVE_ERROR_OWNERS;
    owner->size[0] = form->in[1];
    owner->size[1] = form->in[0];
  } else if (!form->owners ||
             (layout->kind == SETT_ANY_NOTATION && notation->kind == SETT_NOTATION_CUTE && form->ins > 4)) {
    owner->error = SETT_MOVE_ERROR_OWNERS;
  } else {
    for (i = 0; i < form->ins; ++i) {
      for (k = 0; k < 4; ++k)
        if (form->name[i] ? settp_notation_name_is(form->name[i], names[k]) : k == i) break;
      if (k == 4 && form->in[i] > 1) owner->error = SETT_MOVE_ERROR_OWNERS;
      if (k == 4) continue;
      owner->at[k] = i;
      owner->size[k] = form->in[i];
    }
  }
  owner->outs = form->outs;
  if (form->outs > SETT_MOVE_DIMS) owner->error = SETT_MOVE_ERROR_SIZE;
  for (k = 0; k < form->outs; ++k) owner->dims[k] = owner->masked ? notation->dims[k] : form->out[k];
  for (k = 0; k < 4; ++k)
    if (owner->size[k] < 0 || owner->size[k] > SETT_MOVE_ELEMENTS_MAX) owner->error = SETT_MOVE_ERROR_SIZE;
  for (k = 0; k < 4 && !owner->error; ++k)
    if (owner->size[k] == 0) owner->error = SETT_MOVE_ERROR_EMPTY;
}

/* Compute the index that each register holds; -1 for threads that the layout does not have, and for registers outside a masked array. Also compute
 * the smallest possible size of dimensions whose size is unknown. */
SETT_INLINE void settp_layout_owner_fill(sett_map_arena *arena, settp_layout_owner *owner, int lanes, int warps,
                                         int blocks) {
  int64_t point[SETT_ANY_DIMS], value[SETT_ANY_DIMS], i, registers = owner->size[0];
  int64_t count = (int64_t)lanes * warps * blocks * registers;
  int wraps = owner->form->wraps, k;
  if (registers > SETT_MOVE_REGISTERS_MAX || count > 4 * SETT_MOVE_ELEMENTS_MAX) owner->error = SETT_MOVE_ERROR_SIZE;
  if (owner->error) return;
  owner->value = (int64_t *)settp_map_take(arena, (size_t)(count * owner->outs + 1) * sizeof *owner->value);
  if (!owner->value) owner->error = SETT_MOVE_ERROR_FULL;
  for (k = 0; k < SETT_ANY_DIMS; ++k) point[k] = 0;
  for (i = 0; i < count && !owner->error; ++i) {
    int64_t thread = i / registers, lane = thread % lanes, warp = thread / lanes % warps;
    int64_t id[4];
    id[0] = i % registers;
    id[1] = wraps ? thread % ((int64_t)lanes * warps) : lane;
    id[2] = warp;
    id[3] = thread / lanes / warps;
    if (owner->pair) {
      point[0] = thread;
      point[1] = id[0];
    }
    for (k = 0; k < 4; ++k)
      if (owner->at[k] >= 0) point[owner->at[k]] = id[k];
    if (owner->pair ? thread >= owner->size[1] : !wraps && (lane >= owner->size[1] || warp >= owner->size[2])) {
      for (k = 0; k < owner->outs; ++k) owner->value[i * owner->outs + k] = -1;
      continue;
    }
    if (!settp_layout_any_value(arena, owner->layout, owner->form, 0, point, value))
      owner->error = SETT_MOVE_ERROR_SIZE;
    for (k = 0; k < owner->outs && owner->masked; ++k)
      if (value[k] >= owner->dims[k]) value[0] = -1;
    if (owner->masked && value[0] < 0) {
      for (k = 0; k < owner->outs; ++k) owner->value[i * owner->outs + k] = -1;
      continue;
    }
    for (k = 0; k < owner->outs && !owner->error; ++k) {
      if (value[k] >= SETT_MOVE_ELEMENTS_MAX) owner->error = SETT_MOVE_ERROR_SIZE;
      if (value[k] < 0) owner->error = SETT_MOVE_ERROR_NEGATIVE;
      owner->value[i * owner->outs + k] = value[k];
      if (owner->form->out[k] == 0 && value[k] >= owner->dims[k]) owner->dims[k] = value[k] + 1;
    }
  }
}

/* Extend each dimension of unknown size to its size in the other layout, if that is larger. A layout of (thread, value) pairs (`pair`) has integers as
 * values: split them into indices of the other layout's dimensions, of which the first is the fastest. Do nothing if the other layout is one of pairs. */
SETT_INLINE void settp_layout_owner_fit(sett_map_arena *arena, settp_layout_owner *owner,
                                        const settp_layout_owner *other, int64_t count) {
  int64_t size = 1, *split, i;
  int k;
  if (other->pair) return;
  for (k = 0; k < other->outs; ++k) size = settp_layout_form_times(size, other->dims[k]);
  if (!owner->pair) {
    for (k = 0; k < owner->outs && k < other->outs; ++k)
      if (owner->form->out[k] == 0 && owner->dims[k] < other->dims[k]) owner->dims[k] = other->dims[k];
    return;
  }
  if (owner->dims[0] > size) return;
  split = (int64_t *)settp_map_take(arena, (size_t)(count * other->outs + 1) * sizeof *split);
  if (!split) {
    owner->error = SETT_MOVE_ERROR_FULL;
    return;
  }
  for (i = 0; i < count; ++i) {
    int64_t rest = owner->value[i];
    for (k = 0; k < other->outs; ++k) {
      split[i * other->outs + k] = rest < 0 ? -1 : rest % other->dims[k];
      rest /= other->dims[k];
    }
  }
  owner->value = split;
  owner->outs = other->outs;
  for (k = 0; k < other->outs; ++k) owner->dims[k] = other->dims[k];
}

SETT_INLINE sett_move_table settp_layout_owner_table(sett_map_arena *arena, const settp_layout_owner *owner, int lanes,
                                                     int warps, int blocks) {
  sett_move_table table;
  int64_t count = (int64_t)lanes * warps * blocks * owner->size[0], size = 1, i;
  int32_t *element = (int32_t *)settp_map_take(arena, (size_t)(count + 1) * sizeof *element);
  int k;
  table.error = element ? 0 : SETT_MOVE_ERROR_FULL;
  table.rank = owner->outs;
  table.lanes = lanes;
  table.warps = warps;
  table.registers = (int)owner->size[0];
  table.element = element;
  for (k = 0; k < owner->outs; ++k) {
    table.dims[k] = owner->dims[k];
    size = settp_layout_form_times(size, owner->dims[k]);
  }
  if (size > SETT_MOVE_ELEMENTS_MAX || size < 1) table.error = SETT_MOVE_ERROR_SIZE;
  for (i = 0; i < count && !table.error; ++i) {
    int64_t number = 0;
    for (k = 0; k < owner->outs; ++k) number = number * owner->dims[k] + owner->value[i * owner->outs + k];
    element[i] = owner->outs > 0 && owner->value[i * owner->outs] < 0 ? -1 : (int32_t)number;
  }
  return table;
}

/* Check that each block moves its elements as the first block does; otherwise the error is SETT_MOVE_ERROR_BLOCKS. If an element moves to another
 * block, the answer is no. */
SETT_INLINE void settp_layout_owner_blocks(sett_map_arena *arena, const sett_move_table *a, const sett_move_table *b,
                                           int blocks, sett_move *move) {
  int64_t size = 1, held = (int64_t)a->lanes * a->warps * a->registers,
          wanted = (int64_t)b->lanes * b->warps * b->registers, i;
  int32_t *name;
  int block, k;
  for (k = 0; k < a->rank; ++k) size *= a->dims[k];
  name = (int32_t *)settp_map_take(arena, (size_t)(2 * size + 1) * sizeof *name);
  if (!name) {
    move->error = SETT_MOVE_ERROR_FULL;
    return;
  }
  for (block = 0; block < blocks && !move->error && !move->no; ++block) {
    const int32_t *own = a->element + block * held, *other = b->element + block * wanted;
    /* name[e]: the element of this block that corresponds to element e of the first block, or -1. name[size + e]: 1 if this block has element e */
    for (i = 0; i < 2 * size; ++i) name[i] = -1;
    for (i = 0; i < held; ++i) {
      if (own[i] < 0) continue;
      name[size + own[i]] = 1;
      if (name[a->element[i]] >= 0 && name[a->element[i]] != own[i]) move->error = SETT_MOVE_ERROR_BLOCKS;
      name[a->element[i]] = own[i];
    }
    for (i = 0; i < wanted && !move->no; ++i) {
      if (other[i] < 0) continue;
      if (name[size + other[i]] < 0) {
        *move = settp_move_differ(move, "no register of the block holds the element", -1, -1);
        move->error = 0;
        move->element = other[i];
        move->thread = (int)(block * (wanted / b->registers) + i / b->registers);
        move->reg = (int)(i % b->registers);
      } else if (name[b->element[i]] != other[i]) {
        move->error = SETT_MOVE_ERROR_BLOCKS;
      }
    }
  }
}

/* Return the layout of shared memory for the exchange between two linear layouts, or an error. */
SETT_INLINE sett_notation settp_layout_owner_exchange(sett_map_arena *arena, const sett_any *a, const sett_any *b,
                                                      int bits) {
  const sett_any *given[2];
  sett_any_made linear[2];
  int i;
  given[0] = a;
  given[1] = b;
  for (i = 0; i < 2; ++i) {
    linear[i].layout = *given[i];
    if (given[i]->kind == SETT_ANY_NOTATION && given[i]->notation.kind == SETT_NOTATION_TRITON) continue;
    linear[i] = sett_any_convert(arena, given[i], SETT_ANY_TO_TRITON);
    if (!linear[i].answer.yes || linear[i].layout.kind != SETT_ANY_NOTATION)
      return settp_notation_fail(SETT_NOTATION_ERROR_KIND);
  }
  return sett_notation_shared(arena, &linear[0].layout.notation, &linear[1].layout.notation, bits).layout;
}

/* Return the position of each element in the memory of settp_layout_owner_exchange; NULL if there is no such memory. */
SETT_INLINE const int32_t *settp_layout_owner_places(sett_map_arena *arena, const sett_any *a, const sett_any *b,
                                                     int bits, const sett_move_table *table) {
  sett_notation exchange;
  const sett_notation_linear *linear;
  int64_t elements = 1, offset;
  int32_t *place;
  int d;
  if (table->error || (bits != 8 && bits != 16 && bits != 32 && bits != 64)) return NULL;
  for (d = 0; d < table->rank; ++d) elements *= table->dims[d];
  exchange = settp_layout_owner_exchange(arena, a, b, bits);
  if (exchange.error || exchange.kind != SETT_NOTATION_TRITON) return NULL;
  linear = exchange.linear;
  if (linear->outs != table->rank || (int64_t)1 << linear->in_bits[0] != elements) return NULL;
  for (d = 0; d < table->rank; ++d)
    if ((int64_t)1 << linear->out_bits[d] != table->dims[d]) return NULL;
  place = (int32_t *)settp_map_take(arena, (size_t)(elements + 1) * sizeof *place);
  if (!place) return NULL;
  for (offset = 0; offset < elements; ++offset) {
    uint64_t packed = settp_notation_apply(linear, (uint64_t)offset);
    int64_t number = 0;
    for (d = 0; d < table->rank; packed >>= linear->out_bits[d++])
      number = number * table->dims[d] + (int64_t)(packed & ((uint64_t)table->dims[d] - 1));
    place[number] = (int32_t)offset;
  }
  return place;
}

SETT_PUBLIC sett_move sett_any_move(sett_map_arena *arena, const sett_any *a, const sett_any *b, int bits, int lanes) {
  settp_layout_owner owner[2];
  sett_move_table table[2];
  sett_move move = settp_move_none(0);
  const int32_t *place;
  int64_t size[4];
  int i, k, fixed[4];
  if (a->error || b->error) return settp_move_none(SETT_MOVE_ERROR_OWNERS);
  settp_layout_owner_read(arena, a, &owner[0]);
  settp_layout_owner_read(arena, b, &owner[1]);
  if (owner[0].error || owner[1].error) return settp_move_none(owner[0].error ? owner[0].error : owner[1].error);
  for (k = 1; k < 4; ++k) { /* take the numbers of lanes, warps and blocks from the layouts whose ids do not wrap */
    size[k] = 1;
    fixed[k] = 0;
    for (i = 0; i < 2; ++i) {
      if (owner[i].form->wraps || (owner[i].pair && k < 3)) continue;
      if (fixed[k] && k != 2 && size[k] != owner[i].size[k])
        return settp_move_differ(&move, k == 1 ? "the numbers of lanes differ" : "the numbers of blocks differ",
                                 size[k], owner[i].size[k]);
      fixed[k] = 1;
      if (size[k] < owner[i].size[k]) size[k] = owner[i].size[k];
    }
  }
  if (lanes > 0 && fixed[1] && size[1] != lanes)
    return settp_move_differ(&move, "the numbers of lanes differ", size[1], lanes);
  if (lanes > 0) size[1] = lanes;
  for (i = 0; i < 2 && !fixed[1] && lanes <= 0; ++i) {
    int64_t threads = owner[i].size[1];
    size[1] = i == 0 || size[1] < 32 ? 32 : size[1];
    if (threads > 32 && threads <= 64 && !owner[i].pair) size[1] = 64;
  }
  if (lanes <= 0 && !fixed[1])
    for (i = 0; i < 2; ++i)
      if (owner[i].pair && owner[i].size[1] < 32 && owner[1 - i].size[1] <= owner[i].size[1])
        size[1] = owner[i].size[1];
  for (i = 0; i < 2; ++i) { /* add the warps that only the other layout has */
    int64_t warps = owner[i].size[2], of_ids = (owner[i].size[1] + size[1] - 1) / size[1];
    if (!owner[i].form->wraps && !owner[i].pair) continue;
    if (of_ids > warps) warps = of_ids;
    if (warps > size[2]) size[2] = warps;
  }
  if (size[1] > SETT_MOVE_LANES_MAX || size[2] > SETT_MOVE_THREADS_MAX / size[1] || size[3] > 64)
    return settp_move_none(SETT_MOVE_ERROR_SIZE);
  for (i = 0; i < 2; ++i) settp_layout_owner_fill(arena, &owner[i], (int)size[1], (int)size[2], (int)size[3]);
  for (i = 0; i < 2; ++i)
    if (!owner[0].error && !owner[1].error)
      settp_layout_owner_fit(arena, &owner[i], &owner[1 - i], size[1] * size[2] * size[3] * owner[i].size[0]);
  for (i = 0; i < 2; ++i) {
    if (owner[i].error) return settp_move_none(owner[i].error);
    table[i] = settp_layout_owner_table(arena, &owner[i], (int)size[1], (int)size[2], (int)size[3]);
  }
  for (k = 0; k < table[0].rank && size[3] > 1 && !table[0].error && !table[1].error; ++k)
    /* skip large tables if the answer is no anyway */
    if (table[0].rank != table[1].rank || table[0].dims[k] != table[1].dims[k]) size[3] = 1;
  place = settp_layout_owner_places(arena, a, b, bits, &table[0]);
  if (size[3] > 1 && !table[0].error && !table[1].error) {
    sett_move first = settp_move_plan(arena, &table[0], &table[1], bits, place);
    if (first.error) return first;
    move = first;
    move.no = 0;
    settp_layout_owner_blocks(arena, &table[0], &table[1], (int)size[3], &move);
    if (move.error) return settp_move_none(move.error);
    if (move.no) move.yes = 0;
    return move.no ? move : first;
  }
  return settp_move_plan(arena, &table[0], &table[1], bits, place);
}

/* ---- bodies: from memory to memory -------------------------------------------------------------------------------- */

SETT_PUBLIC int sett_any_in_memory(sett_map_arena *arena, const sett_any *a, const sett_any *b) {
  const settp_layout_form *x = settp_layout_any_form(arena, a, 0, 0), *y = settp_layout_any_form(arena, b, 0, 0);
  int i, arrays = 0;
  if (!x || !y || x->error || y->error || x->owners || y->owners) return 0;
  for (i = 0; i < 2; ++i) {
    const sett_any *layout = i ? b : a;
    arrays += layout->kind == SETT_ANY_XLA ||
              (layout->kind == SETT_ANY_NOTATION && layout->notation.kind != SETT_NOTATION_CUTE);
  }
  return arrays > 0;
}

/* Return the number of positions in memory of an array: for a tag, including all padding; for an array of XLA, plan->span; otherwise up to
 * the last element. */
SETT_INLINE int64_t settp_layout_any_places(const sett_any *layout, const sett_tile_shape *shape,
                                            const sett_tile_plan *plan) {
  int64_t last[SETT_TILE_MAX_RANK], places = 1, block;
  int i, k;
  if (layout->kind == SETT_ANY_XLA) return plan->span;
  for (i = 0; i < shape->rank; ++i) {
    if (shape->dims[i] == 0) return 0;
    last[i] = shape->dims[i] - 1;
  }
  if (layout->notation.kind != SETT_NOTATION_ONEDNN) return sett_tile_position(plan, last) + 1;
  for (i = 0; i < shape->rank; ++i) {
    for (k = 0, block = 1; k < layout->notation.blocks; ++k)
      if (layout->notation.block_dim[k] == i) block = settp_layout_form_times(block, layout->notation.block_size[k]);
    places = settp_layout_form_times(places, settp_layout_form_times(block, last[i] / block + 1));
  }
  return places;
}

SETT_PUBLIC sett_any_reordered sett_any_reorder(sett_map_arena *arena, const sett_any *a, const sett_any *b, int bits) {
  enum { SETTP_LAYOUT_ANY_PLACES = 1 << 22 };
  static const char *const types[] = {"u8", "u16", "u32", "u64"};
  sett_any_reordered out;
  const settp_layout_form *form[2];
  sett_any_made made[2];
  sett_tile_plan plan[2];
  int64_t at[SETT_TILE_MAX_RANK], place, next = -1, run = 0;
  int i, type = bits == 8 ? 0 : bits == 16 ? 1 : bits == 32 ? 2 : 3;
  out.elements = out.from_places = out.to_places = out.zeros = 0;
  out.runs = out.longest = -1;
  out.blamed = -1;
  form[0] = settp_layout_any_form(arena, a, 0, 0);
  form[1] = settp_layout_any_form(arena, b, 0, 0);
  out.answer = settp_layout_any_say(1, 0, "yes");
  if (bits != 8 && bits != 16 && bits != 32 && bits != 64)
    out.answer = settp_layout_any_say(0, 0, sett_move_message(SETT_MOVE_ERROR_BITS));
  else if (!form[0] || !form[1]) out.answer = settp_layout_any_say(0, 0, sett_map_message(SETT_MAP_ERROR_FULL));
  else if (form[0]->ins != form[1]->ins) out.answer = settp_layout_any_say(0, 1, "different numbers of dimensions");
  for (i = 0; out.answer.yes && i < form[0]->ins; ++i)
    if (form[0]->in[i] != form[1]->in[i]) out.answer = settp_layout_any_say(0, 1, "different sizes");
  for (i = 0; i < 2 && out.answer.yes; ++i) {
    made[i] = sett_any_convert(arena, i ? b : a, SETT_ANY_TO_XLA);
    out.answer = made[i].answer;
    if (!out.answer.yes) out.blamed = i;
  }
  if (!out.answer.yes) return out;
  out.from = made[0].layout.shape;
  out.to = made[1].layout.shape;
  if (out.from.packed || out.to.packed || out.from.prefix || out.to.prefix || out.from.splits || out.to.splits)
    out.answer =
        settp_layout_any_say(0, 0, "not decided: expected arrays of whole bytes, in one part, without a prefix");
  if (!out.answer.yes) return out;
  out.from.type = out.to.type = sett_tile_type_find(types[type], type ? 3 : 2);
  plan[0] = sett_tile_prepare(&out.from);
  plan[1] = sett_tile_prepare(&out.to);
  out.elements = sett_tile_elements(&out.from);
  out.from_places = settp_layout_any_places(a, &out.from, &plan[0]);
  out.to_places = settp_layout_any_places(b, &out.to, &plan[1]);
  if (b->kind == SETT_ANY_NOTATION && b->notation.kind == SETT_NOTATION_ONEDNN)
    out.zeros = out.to_places - out.elements;
  if (plan[1].span > SETTP_LAYOUT_ANY_PLACES) return out;
  out.runs = out.longest = 0;
  for (place = 0; place < plan[1].span; ++place) {
    int64_t from = sett_tile_element(&plan[1], place, at) ? sett_tile_position(&plan[0], at) : -2;
    run = from >= 0 && from == next ? run + 1 : from >= 0;
    if (run == 1) ++out.runs;
    if (run > out.longest) out.longest = run;
    next = from + 1;
  }
  return out;
}

SETTP_MAP_QUICK_END
#ifdef SETTP_MAP_FEWER_PASSES
#pragma pop_macro("SETT_INLINE")
#endif
#endif /* bodies */
