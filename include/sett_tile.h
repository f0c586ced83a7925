/* sett_tile.h - v0.6 - shapes with tiled layouts: f32[170,160]{1,0:T(8,128)}
   SPDX-License-Identifier: Apache-2.0

WHAT
  The shape of a tensor says which indices it has; its layout says where each element is in memory. This header reads and
  prints both in XLA's notation. It computes the linear position of an element, the element at a position (or that the
  position is padding), the byte and the bits of an element, the size of the array, and the fraction of padding. It also
  decides if a reshape or a transpose moves no byte, because both shapes describe the same bytes.

INCLUDE
  Copy this one file. C11, C++17, CUDA, freestanding (stddef.h, stdint.h); no allocation, no libc, no globals. By
  default, every function is static inline. OpenCL C 1.2 sees only the device functions.
  The functions can be compiled once for many files, in C and C++: define SETT_DECLARATIONS before the first sett header of each file, and
  SETT_IMPLEMENTATION in exactly one file. To compile the functions of each header in a file of its own, define SETT_DECLARATIONS in that file, include
  the header, define SETT_IMPLEMENTATION, and include the header again. By default, a shared library does not export the functions. Two static
  libraries that both contain the functions can be linked into one program if at least one defines a SETT_PREFIX of its own in all its files.

OPTIONS
  SETT_DECLARATIONS     declare types, constants and prototypes only; functions for devices stay static inline
  SETT_IMPLEMENTATION   define the functions, too, with external linkage. Macros that change the size of a record must be the same in all files
  SETT_PREFIX           a prefix of the linker symbols of public functions that are compiled once; their names in C do not change (GCC and Clang)
  SETT_VISIBILITY       attributes of public functions that are compiled once (default: hidden, so that a shared library does not export them)
  SETT_TILE_DEVICE_RANK     maximum number of dimensions of a plan on a device (default: 6)
  SETT_TILE_DEVICE_DIGITS   maximum number of digits of each dimension of a plan on a device, see PLANS (default: 4)
  SETT_TILE_DEVICE_LOOPS    maximum number of digits of an iterator on a device (default: 10)
  The last three must be the same in host and device code. The limits of sett_tile_shape (see LIMITS) cannot be changed.

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
  A shape is an element type, a list of dimensions, and a layout. minor_to_major lists the dimensions by the distance in
  memory between adjacent elements, the shortest first: {1,0} is row-major, {0,1} column-major. The dimension with the
  shortest distance is the most *minor* one, the dimension with the longest distance the most *major* one. The *physical
  list* is the list of the sizes in the reverse order, the most major first.

  A tile T(t1,..,tk) changes the physical list. The last k sizes d1, .., dk of the list are replaced by the k counts
  ceil(d/t), followed by the k tile sizes t. An index i in one of these dimensions becomes floor(i/t) and i mod t. If t does
  not divide d, the array is padded. The linear position is the row-major number of the indices in the final list:
    f32[3,5]{1,0:T(2,2)}   list (3,5) -> (2,3,2,2); index (2,3) -> (1,1,0,1) -> ((1*3+1)*2+0)*2+1 = 17
  A tile pads, reshapes and transposes; sett_tile_stage writes the list after each step: (3,5) is padded to (4,6),
  reshaped to (2,2,3,2) and transposed to (2,3,2,2). In this picture of the padded array, each element has its position as
  its number, and a dot is padding:

    f32[3,5]{1,0:T(2,2)} in memory: 24 positions, 9 of them padding
       0  1 |  4  5 |  8  .
       2  3 |  6  7 | 10  .
      ------+-------+-------
      12 13 | 16 17 | 20  .
       .  . |  .  . |  .  .

  The next tile changes the list that the previous tile made. So (2,1) in T(8,128)(2,1) cuts the 8x128 tile, not the array: two
  rows of bf16 are interleaved, so that a 32-bit lane holds one element of each row. A tile with more dimensions than the
  tile before it also cuts the counts of the tile before it.

    f32[4,8]{1,0:T(2,4)(2,1)} in memory
       0  2  4  6 |  8 10 12 14
       1  3  5  7 |  9 11 13 15
      ------------+------------
      16 18 20 22 | 24 26 28 30
      17 19 21 23 | 25 27 29 31

  If a tile is longer than the list, ones are put in front of the list. A * in a tile combines its dimension with the next more
  minor one before the tile cuts: f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)} cuts 112 x 110 by 2 x 3. XLA's documents also
  write -1 for *; this header reads both and prints *.

  L(n) adds padding after the array, up to a multiple of n positions. E(n) packs elements into n bits each, low bits first:
  the element at position p has bits p*n to p*n+n-1, where bit b is bit b mod 8 of byte b / 8. Without E, an element takes the
  whole bytes that its type needs (s4: one byte). S(n) is a memory space. M(n) is the number of bytes before the array that
  hold its dynamic sizes; sett_tile_bytes does not count them. A dimension <=n may be smaller at run time, but has n entries in
  memory. A dimension ? has no bound, so the array has no size.

  SC(dim:i,j,..) splits the array before the indices i, j, .. of dimension `dim` of the physical list (0 is the most major).
  Every part has its own memory, which has the size of the largest part. sett_tile_part returns the part that holds an index,
  and the index within that part. sett_tile_prepare refuses a split shape; prepare the shape of one part, which
  sett_tile_part_shape returns.

  Grammar (blanks and comments may stand between tokens; types may be written in upper case)
    shape  := array | token[] | opaque[] | ( [shape {, shape}] ) | b( array )
    array  := type [ [dim {, dim}] ] [layout]              dim  := n | <=n | ?
    layout := { d {, d} [: attributes] } | { : attributes }
    attributes := [D(..)] [T(..)(..)..] [L(n)] [E(n)] [S(n)] [SC(d:n,..)(..)..] [M(n)]      in this order
  A brace that is not followed by a digit or a colon does not belong to the shape. D (level kinds of a former sparse notation)
  is read and ignored. #(..), *(..) and P(..) of that notation are errors.
  sett_tile_print writes the canonical text. It has minor_to_major for rank 1 and more, and no attribute that changes nothing.

PLANS
  A plan is a layout that sett_tile_prepare has analysed. Tiles cut an index into digits: with T(8)(2), the digits of i are
  i / 8, (i mod 8) / 2 and i mod 2. Each digit has a stride, and the position is the sum of digit * stride. Digits of one index
  whose strides continue each other are one digit: f32[24,128]{1,0:T(8,128)} is row-major in memory, so each of its indices
  is a single digit. A position costs about one division for each digit except the lowest of each index. To find the element at a
  position, the digits are taken from the position, the digit with the largest stride first. The position holds an element if
  the digits are those of an index inside the array.

  If a tile cuts across dimensions that * combines, as T(*,*,2,*,3) above, the digits are those of the combined index. Some
  layouts have no digits at all, for example f32[7,5]{1,0:T(4,3)(*,2)(2,1)}. In these layouts, which are called *coupled*, the
  tiles are applied one after the other, which is slower but also exact.

ITERATORS
  sett_tile_iterate(&order, &other) visits all elements in the order of their positions in the layout of the first plan. For
  each element, `at` is the position in that layout, and `other` the position in the layout of the second plan. The iterator
  points to both plans, so the plans must exist as long as the iterator. It increments digits like a counter: there is no
  division, an element costs a constant number of steps, and padding costs none.
    #include <stdio.h>
    #include <string.h>
    #include "sett_tile.h"
    int main(void) {
      sett_tile_shape rows = sett_tile_parse("u8[3,5]{1,0}", 12), tiled = sett_tile_parse("u8[3,5]{1,0:T(2,2)}", 19);
      sett_tile_plan rows_plan = sett_tile_prepare(&rows), tiled_plan = sett_tile_prepare(&tiled);
      sett_tile_iterator it = sett_tile_iterate(&tiled_plan, &rows_plan);
      char data[] = "abcdefghijklmno", tiles[25] = "", back[16] = "";
      int64_t k;
      memset(tiles, '.', 24);
      while (sett_tile_advance(&it)) tiles[it.at] = data[it.other];
      puts(tiles);
      it = sett_tile_iterate(&rows_plan, &tiled_plan);
      while (sett_tile_advance_run(&it))
        for (k = 0; k < it.run; ++k) back[it.at + k * it.at_stride] = tiles[it.other + k * it.other_stride];
      puts(back);
      return 0;
    }
  prints
    abfgcdhie.j.kl..mn..o...
    abcdefghijklmno
  Types are not compared, so elements may be converted on the way, for example from tiled bf16 to row-major f32. To copy
  elements without a conversion, sett_relayout.h is faster. it.index is the index of the element. it.gap is the number of
  padding positions before the element. To fill padding, write positions it.at - it.gap to it.at - 1 after each call of
  sett_tile_advance, also after the last call, which returns 0.
  A run is a sequence of elements whose positions have constant strides in both layouts, for example one row of one tile.
  The plan that comes first decides how long the runs are, and this decides the speed. Between T(8,128)(2,1) and a row-major
  layout, a run has up to 128 elements if the row-major plan is the first, but only 2 if the tiled plan is the first.
  Converting 2000 x 3000 elements from tiled bf16 to row-major f32 took 8 ms with the row-major plan first (20 ms without
  runs), and 38 ms with the tiled plan first, on one core of an AMD EPYC. From row-major to tiled, the times were about the
  same. If runs are long with either plan first, the first plan should be that of the buffer that is written.
  Each of several threads can take a slice of the positions:
    sett_tile_iterator mine = it;
    sett_tile_slice(&mine, it.positions * t / threads, it.positions * (t + 1) / threads);
    while (sett_tile_advance(&mine)) ..
  The iterator cuts the index of each dimension by the tiles of both layouts. If one layout has tiles of 128 and the other has
  tiles of 8, the common digits are i / 128, (i mod 128) / 8 and i mod 8. If tiles do not divide each other (6 and 4), or if a
  tile cuts across dimensions that * combines, there are no common digits. Each position is then computed by divisions.

RELATIONS
  Two shapes describe the same bytes if every buffer of one shape is, without any change, a buffer of the other. So these must
  be equal: the number of elements, the bits of an element, the bytes of the array (sett_tile_bytes), the number M of bytes
  before it, and the memory space. Also, for every k, element k in row-major order must be in the same bits of the same bytes,
  and in split arrays in the same part. Bits that belong to no element (padding, and the rest of the last byte) may have any value.
  So the numbers of positions of packed elements may differ: 3 and 4 positions of u4 are both 2 bytes.

  A reshape is a bitcast if the two shapes describe the same bytes. A transpose is a bitcast if the shape with permuted
  dimensions and the other shape describe the same bytes. XLA's ShapeUtil::ReshapeIsBitcast and TransposeIsBitcast look only
  at minor_to_major; the functions of this header look at the tiles, too. This table says which reshapes are bitcasts, with
  XLA's answer in brackets if it is different:

    f32[8,256]{1,0:T(8,128)}   f32[2048]{0:T(1024)}           no   [yes] the rows of a tile are not next to each other
    f32[12,128]{1,0:T(8,128)}  f32[2,6,128]{2,1,0:T(8,128)}   no   [yes] each 6 is padded to 8
    f32[8,256]{1,0:T(8,128)}   f32[8,2,128]{2,0,1:T(8,128)}   yes  [no] tiles one after the other
    f32[16,128]{1,0:T(8,128)}  f32[2,8,128]{2,1,0:T(8,128)}   yes
    f32[24,128]{1,0:T(8,128)}  f32[24,128]{1,0}               yes  one tile wide: the tiles change nothing
    u4[3]{0:E(4)}              u4[3]{0:T(2)E(4)}              yes  2 bytes, 4 bits of them unused
    u4[4]{0:E(4)}              u4[4]{0:T(6)E(4)}              no   [yes] 2 and 3 bytes

  The bits of the elements are always compared, the types only on request. A "no" has a reason: numbers that differ, or an
  element and its two positions. How it is decided: the position of element k is the sum of digit * stride over the digits of
  k in a mixed radix. If both shapes have the same digits and strides, the answer is yes. Otherwise, a few elements are
  compared first: those whose number is the weight of a digit (the number of elements from one value of the digit to the next),
  this weight minus 1, or the sum of two weights. They show nearly every difference. If they show none, every run of both
  shapes is compared. All elements are compared instead in split arrays, in coupled layouts, and if a tile cuts across combined
  dimensions that are not adjacent in row-major order. Both comparisons stop after SETT_TILE_WALK (2^20) runs or elements; the
  answer is then "not decided".

  An array has strides if every position is the sum of index * stride. f32[5,100]{1,0:T(8,128)} has strides; f32[9,200] with
  the same tile has none; u8[6]{0:T(2)(*,3)} has strides, because * joins what the first tile cut. The digits decide this for
  any size. In a coupled layout, the indices are tested up to a common multiple of the tile sizes in each dimension,
  because the layout repeats beyond that multiple. The answer is "not decided" only if there are more than SETT_TILE_WALK
  such indices.

FORMATS
  sett_tile_formats knows these formats of TPUs, which are those of XLA's document on tiled layouts. It writes the shape
  without tiles, then the shape in every format for its element size, each with the fraction of padding (f32[3,200]: 71% in
  8x128, 41% in 4x128). It marks the format that the document chooses; an option is never marked.
    32-bit types   if the second most minor dimension is missing or at most 2: (2,128); if it is 3 or 4: (4,128); else (8,128)
    16-bit types   (8,128)(2,1)      the document names only bf16
    8-bit types    (8,128)(4,1)      for pred, whose elements are bytes, (32,128)(32,1) with E(1) is an option
  Only sett_tile_formats depends on this list; all other functions take any layout.

ON A DEVICE
  The host prepares a plan, and a kernel takes it by value. Trip counts are constant, and no memory is accessed (ptxas: 0 bytes
  stack). The type sett_tile_device_plan and its functions are the same in C, C++, CUDA and OpenCL C. An index is an array of
  SETT_TILE_DEVICE_RANK entries. The host should test plan.error before a launch: a failed plan has no elements.
    __global__ void detile(sett_tile_device_plan plan, const float *tiled, float *rows) {
      int64_t at = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, index[SETT_TILE_DEVICE_RANK];
      if (at < plan.positions && sett_tile_device_element(plan, at, index)) rows[index[0] * plan.dims[1] + index[1]] = tiled[at];
    }
  An iterator can be a kernel argument, too. Each thread takes a slice, which needs divisions, and then advances without
  divisions. The kernel must copy the argument first, because PoCL passes the same object to all work-items of a group.
    __global__ void detile_slices(sett_tile_device_iterator all, int64_t length, const float *tiled, float *rows) {
      int64_t first = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) * length;
      sett_tile_device_iterator it = all;
      sett_tile_device_slice(&it, first, first + length);
      while (sett_tile_device_advance(&it)) rows[it.other] = tiled[it.at];
    }

FUNCTIONS (their arguments and results are explained below, under "prototypes")
  make     sett_tile_make           from a type (SETT_TILE_F32), dims    sett_tile_add_tile     with one more tile
           sett_tile_check          the shape, or its first error
  text     sett_tile_parse          one array, token, opaque or buffer   sett_tile_print        its canonical text
           sett_tile_read, _next    the leaves of any shape, in order    sett_tile_canonical    canonical text of any shape
           sett_tile_message        what an error code means             sett_tile_type_name    "f32"
  ask      sett_tile_elements       elements, padding not counted        sett_tile_positions    with padding
           sett_tile_bits           of one element in memory             sett_tile_bytes        of the array, or of one part
           sett_tile_padding        fraction of padding                  sett_tile_byte_strides where they exist
           sett_tile_equal          equal shapes and layouts             sett_tile_plain        no T, L, SC; E changes nothing
  where    sett_tile_prepare        shape -> plan                        sett_tile_physical     the final list
           sett_tile_position       index -> position                    sett_tile_element      position -> index or padding
           sett_tile_place_of       position -> byte and bits            sett_tile_stage        pad, reshape, transpose
           sett_tile_data_positions positions up to the last element     sett_tile_device       plan -> plan for a device
  iterate  sett_tile_iterate        two plans -> iterator                sett_tile_advance      the next element
           sett_tile_slice          only positions first .. last - 1     sett_tile_advance_run  the next run
           sett_tile_device_iterate -> iterator for a device, _device_slice, _device_advance, _device_advance_run
  split    sett_tile_parts, _part, _whole, _part_shape
  relate   sett_tile_same_bytes, _reshape_is_bitcast, _transpose_is_bitcast, _find_transpose, _decompose, _align,
           _tiling_is_noop, _is_most_major, _kept_dims, _normal_transpose; sett_tile_answer_print
  change   sett_tile_permute, _descending    keep every byte in place
           sett_tile_delete, _move           may move bytes: ask sett_tile_same_bytes
  formats  sett_tile_formats

LAWS (tests/layouts/tile_test.c makes random layouts and tests every element and position; tests/layouts/test_shape.py checks law 1 and printed texts)
  1 print_parse   parse(print(s)) equals s, and print(parse(print(s))) equals print(s) byte by byte.
  2 inverse       element(position(i)) is i for every index i.
  3 cover         the positions of all indices are distinct and in [0, positions). At all other positions, element finds padding.
  4 definition    position(i) is the position of element i after loops have padded, reshaped and transposed the array for each tile.
  5 size          elements <= data_positions <= positions (if data_positions is not -1), and bytes = ceil(positions * bits / 8).
  6 strides       after a yes of sett_tile_byte_strides, the first byte of every element is the sum of index * stride. After a no,
                  elements are not whole bytes, or the element in the answer is a counterexample.
  7 parts         every index is in exactly one part, no two indices of a part have the same position; whole(part(i)) is i.
  8 same_bytes    after a yes, every element is in the same bits of both memories. After a no, the shapes do not describe the
                  same bytes (see RELATIONS); if the reason names an element, it is a counterexample.
  9 transpose     after a yes, the permutation leaves the bits of every element in place; after a no, it does not (or the types
                  differ, if they are compared). The answer is yes for the shape that sett_tile_permute returns.
  10 decompose    sett_tile_decompose writes a bitcast as steps (reshapes and transposes), none of which moves a byte. If some order of
                  the dimensions makes the reshape a bitcast, sett_tile_align finds a layout or answers "not decided".
  11 device       the device functions return the same values as the host functions.
  12 iterator     slices that together are all positions visit every element once, at ascending positions, with its index, its
                  position in the other layout and the padding before it. Runs consist of the same elements.

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
  If parsing fails, the shape has an error that is not 0. column is the byte of the error, counted from 1, and
  sett_tile_message says what was expected. If a function gets a failed shape or plan, an answer has yes = 0 and no = 0, a
  number is SETT_TILE_UNKNOWN (-1), a list is empty, and a returned shape or plan has the same error, so one check at the end
  of a chain is enough. Sizes that do not fit in 64 bits are parse errors. These two lines print the text with a caret under
  the error:
    printf("%s\n%*s^\n", text, (int)shape.column - 1, "");
    printf("error: %lld: %s\n", (long long)shape.column, sett_tile_message(shape.error));
  token[], opaque[] and dimensions without a bound (?) are not parse errors, but they have no size: sett_tile_bytes is -1. To
  allocate memory, test sett_tile_bytes(&shape) > 0, or >= 0 if an empty array is allowed.

LIMITS
  The limits are rank 24 (SETT_TILE_MAX_RANK), 4 tiles with 24 dimensions in total, 16 split indices, tuples nested 64 deep,
  and 64-bit sizes. Beyond a limit there is an error. Nothing is allocated, so records are large: with 8-byte pointers, a
  shape is 888 bytes, a plan 7016, an iterator 5096, a device plan 672 and a device iterator 656. If the stack is small, keep
  plans elsewhere.

SOURCE
  The definition, the figures and the formats are those of "Tiled layout" in the documents at openxla.org. The notation is that
  of XLA's shape parser.

HISTORY
  0.6  sett_tile_check also checks splits, packed, prefix and tail. A failed plan for a device has no elements.
       sett_tile_normal_transpose writes -1s for a bad permutation.
  0.5  SETT_DECLARATIONS, SETT_IMPLEMENTATION, SETT_PREFIX.
  0.4  iterators: sett_tile_iterate, sett_tile_advance, sett_tile_slice, ..
  0.3  the functions that move arrays are now in sett_relayout.h.
       answers have yes and no; sett_tile_byte_strides returns an answer; bits, strides and parts that do not exist are -1.
       errors are int; sett_tile_error_text is now sett_tile_message; _check and _add_tile take a pointer.
  0.2  relations, bits, strides, parts, formats, plans for devices; positions by digits.
  0.1  text, sizes, positions and their inverse for all tiles.
*/
#ifndef SETT_TILE_H
#define SETT_TILE_H

#define SETT_TILE_VERSION 600 /* version 0.6.0: 10000 * major + 100 * minor + patch */

#if defined(__OPENCL_C_VERSION__) || defined(__OPENCL_VERSION__)
#define SETTP_TILE_OPENCL 1
#else
#define SETTP_TILE_OPENCL 0
#endif
#if SETTP_TILE_OPENCL
#ifndef SETT_OPENCL_TYPES
#define SETT_OPENCL_TYPES
typedef int int32_t;
typedef long int64_t;
#endif
#else
#include <stddef.h>
#include <stdint.h>
#endif

/* ---- linkage, the same in all sett headers ---- */
#ifndef SETT_INLINE
#define SETT_INLINE static inline
#endif
#ifndef SETT_PUBLIC
#if !defined(SETT_DECLARATIONS) && !defined(SETT_IMPLEMENTATION)
#define SETT_PUBLIC SETT_INLINE
#else
#define SETTP_LINK_SEPARATE
#ifndef SETT_VISIBILITY
#if defined(__GNUC__) && (defined(__ELF__) || defined(__APPLE__))
#define SETT_VISIBILITY __attribute__((__visibility__("hidden")))
#else
#define SETT_VISIBILITY
#endif
#endif
#ifdef __cplusplus
#define SETT_PUBLIC extern "C" SETT_VISIBILITY
#else
#define SETT_PUBLIC extern SETT_VISIBILITY
#endif
#endif
#define SETTP_LINK_QUOTE(text) #text
#define SETTP_LINK_TEXT(text) SETTP_LINK_QUOTE(text)
#define SETTP_LINK_SYMBOL(name) SETTP_LINK_TEXT(__USER_LABEL_PREFIX__) SETTP_LINK_TEXT(SETT_PREFIX) #name
#define SETTP_LINK_RENAME(name) SETT_PUBLIC __typeof__(name) name __asm__(SETTP_LINK_SYMBOL(name));
#elif (defined(SETT_DECLARATIONS) || defined(SETT_IMPLEMENTATION)) && !defined(SETTP_LINK_SEPARATE)
#error "define SETT_DECLARATIONS and SETT_IMPLEMENTATION before the first sett header"
#endif
#if defined(SETT_PREFIX) && defined(SETTP_LINK_SEPARATE) && !defined(__GNUC__)
#error "SETT_PREFIX: expected GCC or Clang"
#endif
#if defined(__CUDACC__)
#define SETTP_TILE_DEVICE static __host__ __device__ __forceinline__
#define SETTP_TILE_UNROLL _Pragma("unroll")
#else
#define SETTP_TILE_DEVICE SETT_INLINE
#define SETTP_TILE_UNROLL
#endif

#if SETTP_TILE_OPENCL || defined(__CUDA_ARCH__)
#define SETTP_TILE_ON_DEVICE 1
#else
#define SETTP_TILE_ON_DEVICE 0
#endif

#ifndef SETT_TILE_DEVICE_RANK
#define SETT_TILE_DEVICE_RANK 6
#endif
#ifndef SETT_TILE_DEVICE_DIGITS
#define SETT_TILE_DEVICE_DIGITS 4
#endif
#ifndef SETT_TILE_DEVICE_LOOPS
#define SETT_TILE_DEVICE_LOOPS 10
#endif

/* ---- on a device ------------------------------------------------------------------------------------------------ */

/* A plan that a kernel takes by value; sett_tile_device makes it. Each dimension has a list of digits, the most major first. The
 * arrays weight, stride and period have an entry for each digit.
 * Index to position: value = index; for each digit: digit = value / weight, value %= weight, position += digit * stride.
 * Position to index: digit = position % period / stride, index += digit * weight. */
typedef struct sett_tile_device_plan {
  int error;
  int32_t rank;
  int32_t digits[SETT_TILE_DEVICE_RANK];
  int64_t dims[SETT_TILE_DEVICE_RANK];
  int64_t weight[SETT_TILE_DEVICE_RANK][SETT_TILE_DEVICE_DIGITS];
  int64_t stride[SETT_TILE_DEVICE_RANK][SETT_TILE_DEVICE_DIGITS];
  int64_t period[SETT_TILE_DEVICE_RANK][SETT_TILE_DEVICE_DIGITS];
  int64_t span, positions; /* positions from `span` on are the padding that L(n) adds */
} sett_tile_device_plan;

/* Return the position of the element at `index`. The index must be inside the array. plan.error must be 0: a failed plan has no elements. index has
 * SETT_TILE_DEVICE_RANK entries, so that the compiler can keep them in registers. */
SETTP_TILE_DEVICE int64_t sett_tile_device_position(sett_tile_device_plan plan, const int64_t *index) {
  int64_t position = 0;
  int d, i;
  SETTP_TILE_UNROLL
  for (d = 0; d < SETT_TILE_DEVICE_RANK; ++d) {
    int64_t value = d < plan.rank ? index[d] : 0;
    SETTP_TILE_UNROLL
    for (i = 0; i < SETT_TILE_DEVICE_DIGITS; ++i) {
      if (i < plan.digits[d]) {
        int64_t digit = plan.weight[d][i] == 1 ? value : value / plan.weight[d][i];
        value -= digit * plan.weight[d][i];
        position += digit * plan.stride[d][i];
      }
    }
  }
  return position;
}

/* Write the index of the element at a position and return 1. Return 0 if the position is padding or outside the array; contrary to ANSWERS, the index
 * is then not -1 but meaningless. For a failed plan, return 0. index has SETT_TILE_DEVICE_RANK entries; only the first plan.rank are written. */
SETTP_TILE_DEVICE int sett_tile_device_element(sett_tile_device_plan plan, int64_t position, int64_t *index) {
  int d, i, inside = position >= 0 && position < plan.span;
  SETTP_TILE_UNROLL
  for (d = 0; d < SETT_TILE_DEVICE_RANK; ++d) {
    int64_t value = 0;
    SETTP_TILE_UNROLL
    for (i = 0; i < SETT_TILE_DEVICE_DIGITS; ++i)
      if (i < plan.digits[d]) value += position % plan.period[d][i] / plan.stride[d][i] * plan.weight[d][i];
    if (d < plan.rank) {
      index[d] = value;
      inside &= value < plan.dims[d];
    }
  }
  return inside && sett_tile_device_position(plan, index) == position;
}

/* A loop of an iterator. It counts one digit of the index of one dimension. */
typedef struct settp_tile_loop {
  int64_t dim;       /* the dimension */
  int64_t count;     /* number of values of the digit; 1 means that there is no loop */
  int64_t block;     /* increment of the dimension's index when the digit grows by 1 */
  int64_t at, other; /* increments of the positions in the two layouts when the digit grows by 1 */
  int64_t digit;     /* current value of the digit */
} settp_tile_loop;

/* An iterator that a kernel takes by value; sett_tile_device_iterate makes it. The fields are those of sett_tile_iterator. */
typedef struct sett_tile_device_iterator {
  int error;
  int32_t state;
  int64_t at, other, run, at_stride, other_stride, gap;
  int64_t index[SETT_TILE_DEVICE_RANK];
  int64_t dims[SETT_TILE_DEVICE_RANK];
  int64_t positions, first, last;
  settp_tile_loop loop[SETT_TILE_DEVICE_LOOPS]; /* the innermost loop is the first */
} sett_tile_device_iterator;

/* The state of an iterator: before its first element, at an element, or after the last element. */
enum { SETTP_TILE_BEFORE, SETTP_TILE_INSIDE, SETTP_TILE_BEHIND };

/* Add amount to index[dim] and return dims[dim] - index[dim]. On a device, dim is compared with constants, because an array in registers cannot be
 * indexed by a variable. */
SETTP_TILE_DEVICE int64_t settp_tile_shift(int64_t *index, const int64_t *dims, int ranks, int64_t dim,
                                           int64_t amount) {
#if SETTP_TILE_ON_DEVICE
  int64_t room = 0;
  int d;
  SETTP_TILE_UNROLL
  for (d = 0; d < ranks; ++d) {
    index[d] += d == dim ? amount : 0;
    room = d == dim ? dims[d] - index[d] : room;
  }
  return room;
#else
  (void)ranks;
  index[dim] += amount;
  return dims[dim] - index[dim];
#endif
}

/* Change the digit of a loop by `by`, which may be negative. */
SETTP_TILE_DEVICE void settp_tile_turn(settp_tile_loop *loop, int64_t by, int64_t *index, const int64_t *dims,
                                       int ranks, int64_t *at, int64_t *other) {
  settp_tile_shift(index, dims, ranks, loop->dim, by * loop->block);
  loop->digit += by;
  *at += by * loop->at;
  *other += by * loop->other;
}

/* Of the loops from `from` outwards, advance the innermost loop that has a further value, and set the loops inside it to 0. Return 0 if no loop has a
 * further value. The loops inside `from` must be at 0. A loop ends when its next value leads beyond the array; then all larger values do, too. On a
 * device, the code changes every loop, some by 0, so that compilers keep the loops in registers. */
SETTP_TILE_DEVICE int settp_tile_carry(settp_tile_loop *loop, int loops, int from, int64_t *index, const int64_t *dims,
                                       int ranks, int64_t *at, int64_t *other) {
  int j, found = 0;
  SETTP_TILE_UNROLL
  for (j = 0; j < loops; ++j) {
    int64_t by = 0;
    if (j >= from && !found) {
      found = loop[j].digit + 1 < loop[j].count && loop[j].block < settp_tile_shift(index, dims, ranks, loop[j].dim, 0);
      by = found ? 1 : -loop[j].digit;
    }
    settp_tile_turn(&loop[j], by, index, dims, ranks, at, other);
#if !SETTP_TILE_ON_DEVICE
    if (found) break;
#endif
  }
  return found;
}

/* Go to the first element at a position of at least `first`. Return 0 if there is none. */
SETTP_TILE_DEVICE int settp_tile_seek(settp_tile_loop *loop, int loops, int64_t first, int64_t *index,
                                      const int64_t *dims, int ranks, int64_t *at, int64_t *other) {
  int64_t rest = first;
  /* carry: the loop whose last value is too small to reach position `first`; -1 if there is none */
  int j, carry = -1;
  *at = *other = 0;
  SETTP_TILE_UNROLL
  for (j = 0; j < ranks; ++j) index[j] = 0;
  SETTP_TILE_UNROLL
  for (j = 0; j < loops; ++j) loop[j].digit = 0;
  SETTP_TILE_UNROLL
  for (j = loops - 1; j >= 0; --j) {
    int64_t digit = 0;
    if (loop[j].count > 1 && carry < 0) {
      int64_t most = (settp_tile_shift(index, dims, ranks, loop[j].dim, 0) - 1) / loop[j].block;
      if (most >= loop[j].count) most = loop[j].count - 1;
      digit = rest / loop[j].at;
      if (digit > most) {
        digit = most;
        carry = j;
      }
      rest -= digit * loop[j].at;
    }
    settp_tile_turn(&loop[j], digit, index, dims, ranks, at, other);
  }
  if (carry < 0 && rest == 0) return 1;
  return settp_tile_carry(loop, loops, carry < 0 ? 0 : carry, index, dims, ranks, at, other);
}

/* Go to the first element after the current run. */
SETTP_TILE_DEVICE int settp_tile_next_run(settp_tile_loop *loop, int loops, int64_t first, int64_t last, int32_t *state,
                                          int64_t *index, const int64_t *dims, int ranks, int64_t *at, int64_t *other,
                                          int64_t *run, int64_t *gap) {
  int64_t behind = first; /* behind: the position after the previous element */
  int d, found;
  if (*state == SETTP_TILE_BEHIND) return 0;
  if (*state == SETTP_TILE_BEFORE) {
    found = first < last && settp_tile_seek(loop, loops, first, index, dims, ranks, at, other);
  } else {
    settp_tile_turn(&loop[0], *run - 1, index, dims, ranks, at, other);
    behind = *at + 1;
    found = settp_tile_carry(loop, loops, 0, index, dims, ranks, at, other);
  }
  if (found && *at < last) {
    int64_t room = settp_tile_shift(index, dims, ranks, loop[0].dim, 0);
    *state = SETTP_TILE_INSIDE;
    *gap = *at - behind;
    *run = loop[0].count - loop[0].digit;
    if ((*run - 1) * loop[0].block >= room) *run = (room - 1) / loop[0].block + 1;
    if (*run > 1 && last - *at <= (*run - 1) * loop[0].at) *run = (last - *at - 1) / loop[0].at + 1;
    return 1;
  }
  *state = SETTP_TILE_BEHIND;
  *gap = last - behind;
  *at = last;
  *other = -1;
  *run = 0;
  SETTP_TILE_UNROLL
  for (d = 0; d < ranks; ++d) index[d] = -1;
  return 0;
}

/* The next functions do on a device what sett_tile_slice, sett_tile_advance_run and sett_tile_advance do on the host. */
SETTP_TILE_DEVICE void sett_tile_device_slice(sett_tile_device_iterator *iterator, int64_t first, int64_t last) {
  if (iterator->error) return;
  iterator->last = last < 0 ? 0 : last < iterator->positions ? last : iterator->positions;
  iterator->first = first < 0 ? 0 : first < iterator->last ? first : iterator->last;
  iterator->state = SETTP_TILE_BEFORE;
  iterator->run = 0;
}

SETTP_TILE_DEVICE int sett_tile_device_advance_run(sett_tile_device_iterator *iterator) {
  return settp_tile_next_run(iterator->loop, SETT_TILE_DEVICE_LOOPS, iterator->first, iterator->last, &iterator->state,
                             iterator->index, iterator->dims, SETT_TILE_DEVICE_RANK, &iterator->at, &iterator->other,
                             &iterator->run, &iterator->gap);
}

SETTP_TILE_DEVICE int sett_tile_device_advance(sett_tile_device_iterator *iterator) {
  if (iterator->run <= 1) return sett_tile_device_advance_run(iterator);
  settp_tile_turn(&iterator->loop[0], 1, iterator->index, iterator->dims, SETT_TILE_DEVICE_RANK, &iterator->at,
                  &iterator->other);
  --iterator->run;
  iterator->gap = iterator->at_stride - 1;
  return 1;
}

#if !SETTP_TILE_OPENCL /* from here on: functions for the host only */

/* ---- types ------------------------------------------------------------------------------------------------------ */

enum {
  SETT_TILE_MAX_RANK = 24,
  SETT_TILE_MAX_TILES = 4,
  SETT_TILE_MAX_TILE_DIMS = 24,
  SETT_TILE_MAX_SPLITS = 16,
  SETT_TILE_MAX_DEPTH = 64,
  SETT_TILE_MAX_LIST = SETT_TILE_MAX_RANK + 2 * SETT_TILE_MAX_TILE_DIMS,
  /* maximum number of elements or runs that are compared; beyond it, the answer is "not decided" */
  SETT_TILE_WALK = 1 << 20,
  SETT_TILE_ORDERS = 1 << 12 /* maximum number of layouts that sett_tile_align tries */
};
enum {
  SETT_TILE_UNKNOWN = -1,   /* a size or position that does not exist */
  SETT_TILE_UNBOUNDED = -1, /* the size of a dimension written ?, which has no bound */
  /* the size of a tile dimension that is * in the text: the dimension is combined with the next one */
  SETT_TILE_COMBINE = -1
};

/* Element types: name in C; name in texts; bits of information; bits in memory if the layout has no E. */
/* clang-format off */
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
/* clang-format on */

typedef enum sett_tile_type {
#define SETTP_TILE_ENUM(name, text, width, memory) SETT_TILE_##name,
  SETT_TILE_TYPES(SETTP_TILE_ENUM) SETT_TILE_TYPE_COUNT
#undef SETTP_TILE_ENUM
} sett_tile_type;

#define SETT_TILE_ERRORS(X)                                                                                  \
  X(OK, "no error")                                                                                          \
  X(ERROR_TYPE, "expected an element type (pred, s32, f32, bf16, ..), token[], opaque[], b( or a tuple")     \
  X(ERROR_OPEN, "expected '[' after the element type")                                                       \
  X(ERROR_DIM, "expected a dimension: an integer, <=integer, or ?")                                          \
  X(ERROR_DIM_END, "expected ',' or ']' after a dimension")                                                  \
  X(ERROR_EMPTY_DIMS, "expected ']': token and opaque have no dimensions")                                   \
  X(ERROR_INTEGER, "expected an integer")                                                                    \
  X(ERROR_TOO_LARGE, "expected an integer that fits in 64 bits, signed")                                     \
  X(ERROR_NEGATIVE, "expected an integer that is not negative")                                              \
  X(ERROR_RANK, "expected at most 24 dimensions")                                                            \
  X(ERROR_LAYOUT, "expected a dimension number or ':' after '{'")                                            \
  X(ERROR_LAYOUT_END, "expected ',', ':' or '}' after a dimension number")                                   \
  X(ERROR_LAYOUT_FEW, "expected minor_to_major to name every dimension of the shape")                        \
  X(ERROR_LAYOUT_MANY, "expected '}' or ':': minor_to_major has more entries than the shape has dimensions") \
  X(ERROR_LAYOUT_DIM, "expected a dimension number of this shape")                                           \
  X(ERROR_LAYOUT_TWICE, "expected minor_to_major to name each dimension once")                               \
  X(ERROR_ATTRIBUTE, "expected '}' or an attribute, each at most once in the order D T L E S SC M")          \
  X(ERROR_SPARSE, "expected a dense layout: #, * and P are not supported")                                   \
  X(ERROR_PAREN, "expected '('")                                                                             \
  X(ERROR_CLOSE, "expected ')'")                                                                             \
  X(ERROR_LEVEL, "expected a level kind D, C, S or H")                                                       \
  X(ERROR_TILE_DIM, "expected a tile dimension: a positive integer or *")                                    \
  X(ERROR_TILE_END, "expected ',' or ')' after a tile dimension")                                            \
  X(ERROR_TILE_LAST, "expected an integer: * needs a more minor dimension to be combined with")              \
  X(ERROR_TILES, "expected at most 4 tiles with 24 dimensions together")                                     \
  X(ERROR_TAIL, "expected a positive integer in L()")                                                        \
  X(ERROR_SPACE, "expected a memory space from 0 to 127")                                                    \
  X(ERROR_SPLIT_DIM, "expected a physical dimension of this shape, split only once")                         \
  X(ERROR_SPLIT_COLON, "expected ':' after the split dimension")                                             \
  X(ERROR_SPLIT_INDEX, "expected increasing split indices inside the dimension")                             \
  X(ERROR_SPLITS, "expected at most 16 split indices and 24 split dimensions")                               \
  X(ERROR_TUPLE, "expected ',' or ')' in a tuple")                                                           \
  X(ERROR_DEPTH, "expected tuples nested at most 64 deep")                                                   \
  X(ERROR_BUFFER, "expected an array in b()")                                                                \
  X(ERROR_END, "expected the end of the shape")                                                              \
  X(ERROR_ONE, "expected one array, not a tuple")                                                            \
  X(ERROR_COMMENT, "expected the end of the comment")                                                        \
  X(ERROR_SIZE, "expected a number of elements that fits in 64 bits")                                        \
  X(ERROR_BYTES, "expected a size in bytes that fits in 64 bits, padding included")                          \
  X(ERROR_ARRAY, "expected an array: tokens and opaque values have no elements")                             \
  X(ERROR_UNBOUNDED, "expected bounded dimensions: ? has no position")                                       \
  X(ERROR_SPLIT, "expected an array that is not split: positions are defined in one memory")                 \
  X(ERROR_PERMUTATION, "expected a permutation of the dimensions")                                           \
  X(ERROR_DEVICE, "expected fewer dimensions and digits, and no * across them, for a device")                \
  X(ERROR_DIMS, "expected two arrays with the same dimensions")                                              \
  X(ERROR_DIVIDE, "expected tiles that divide each other and no * across dimensions, for a device")

enum {
#define SETTP_TILE_ENUM(name, text) SETT_TILE_##name,
  SETT_TILE_ERRORS(SETTP_TILE_ENUM) SETT_TILE_ERROR_COUNT
#undef SETTP_TILE_ENUM
};

enum { SETT_TILE_ARRAY, SETT_TILE_TOKEN, SETT_TILE_OPAQUE, SETT_TILE_BUFFER }; /* kinds of a shape */

/* A shape that is no tuple. {0} is the scalar pred[]. Dimensions are numbered in the order of the text, from 0, except in split_dim. */
typedef struct sett_tile_shape {
  int error;      /* SETT_TILE_OK or an error code */
  int64_t column; /* column of the error, counted from 1 */
  int32_t kind;   /* SETT_TILE_ARRAY, SETT_TILE_TOKEN, .. */
  int32_t type;   /* a sett_tile_type */
  int32_t rank;
  int32_t tiles;    /* number of tiles */
  int32_t splits;   /* number of split dimensions */
  int32_t space;    /* memory space, S(..) in the text */
  int64_t tail;     /* L(..): the number of positions is padded to a multiple of tail; 0 and 1 mean no padding */
  int64_t packed;   /* E(..): bits of an element in memory; 0 means whole bytes */
  int64_t prefix;   /* M(..): number of bytes before the array that hold its dynamic sizes */
  uint32_t dynamic; /* bit d is set if dimension d is written <=n or ? */
  int32_t minor_to_major[SETT_TILE_MAX_RANK];
  int64_t dims[SETT_TILE_MAX_RANK];
  int32_t tile_rank[SETT_TILE_MAX_TILES]; /* number of dimensions of each tile; the outermost tile is the first */
  /* dimensions of all tiles, one tile after another; * is stored as SETT_TILE_COMBINE */
  int64_t tile[SETT_TILE_MAX_TILE_DIMS];
  /* the split dimensions, in the order of the text. Each is an index of the physical list: 0 is the most major dimension of the array */
  int32_t split_dim[SETT_TILE_MAX_RANK];
  int32_t split_count[SETT_TILE_MAX_RANK]; /* number of split indices of each split dimension */
  int64_t split[SETT_TILE_MAX_SPLITS];     /* split indices: those of split_dim[0], then those of split_dim[1], .. */
} sett_tile_shape;

/* A reader returns the leaves of a shape (the shapes inside its tuples) in the order of the text. Callers may read the fields that have a comment. */
typedef struct sett_tile_reader {
  const char *text;
  int64_t length;
  int64_t at;     /* number of bytes read so far; after SETT_TILE_END, the length of the shape */
  int64_t item;   /* index of the item that was read last (a leaf or an opened tuple) in its enclosing tuple */
  int error;      /* SETT_TILE_OK or an error code */
  int64_t column; /* column of the error, counted from 1 */
  int32_t depth;  /* number of tuples that are open */
  int32_t state;
  int64_t items[SETT_TILE_MAX_DEPTH + 1];
} sett_tile_reader;

enum { SETT_TILE_END, SETT_TILE_LEAF, SETT_TILE_OPENED, SETT_TILE_CLOSED }; /* events that sett_tile_next returns */

/* The results of sett_tile_canonical. After an error, only `error` and `column` have a meaning. */
typedef struct sett_tile_summary {
  int error;
  int64_t column;
  int64_t consumed; /* number of bytes of the text that belong to the shape */
  int64_t leaves;   /* number of arrays, buffers, tokens and opaque values */
  /* sum of sett_tile_bytes over all arrays and buffers; SETT_TILE_UNKNOWN if an array is unbounded, or if the shape is a single token or opaque
   * value */
  int64_t bytes;
} sett_tile_summary;

/* One step in the computation of a position. Steps read the index in physical order. The value begins at 0. Each step may append a dimension to the
 * value, and may then remove one digit from the value:
 *     value = value * size + index[dim]; digit = value / weight; value %= weight; position += digit * stride */
typedef struct sett_tile_step {
  int32_t dim; /* the dimension that the step appends, or -1 */
  /* the digit belongs to the index of this dimension. Normally, it is the dimension that was appended last, by this step or an earlier one. If
   * that dimension is joined to others by *, `into` is the last of the joined dimensions */
  int32_t into;
  int64_t size;   /* size of dimension dim */
  int64_t weight; /* weight of the digit; INT64_MAX means that the step removes no digit */
  int64_t stride;
  /* before the step removes its digit, the value is less than `limit`: the weight of the next higher digit of the same index. If there is no such
   * digit, `limit` is `size` times the sizes of the earlier dimensions that * joins to dimension dim */
  int64_t limit;
  int64_t count; /* number of values of the digit */
} sett_tile_step;

/* A layout prepared for questions about positions. list[i] has the sizes before tile i is applied, list[tiles] the sizes after all tiles. */
typedef struct sett_tile_plan {
  int error;
  int32_t rank;
  int32_t tiles;
  int32_t minor_to_major[SETT_TILE_MAX_RANK];
  /* number of dimensions of size 1 that are put in front of the list before the tile is applied; length includes them */
  int32_t ones[SETT_TILE_MAX_TILES];
  int32_t tile_rank[SETT_TILE_MAX_TILES];
  int64_t tile[SETT_TILE_MAX_TILE_DIMS];
  int32_t length[SETT_TILE_MAX_TILES + 1];
  int64_t list[SETT_TILE_MAX_TILES + 1][SETT_TILE_MAX_LIST];
  int64_t span;      /* product of the sizes in the last list */
  int64_t positions; /* span, rounded up to a multiple of n if the layout has L(n) */
  int32_t steps;     /* number of steps; 0 if no step is needed, or if `coupled` is 1 */
  int32_t coupled;   /* 1: the layout is coupled (see PLANS), so positions are computed without steps */
  sett_tile_step step[SETT_TILE_MAX_LIST];
  int32_t order[SETT_TILE_MAX_LIST]; /* indices of the steps that have digits, largest stride first */
  int32_t digits;                    /* number of steps in order[] */
} sett_tile_plan;

/* The place of an element in memory: the element has `bits` bits, which begin at bit `shift` of byte `byte`. Bit 0 is the lowest of a byte. */
typedef struct sett_tile_place {
  int64_t byte, bits;
  int32_t shift;
} sett_tile_place;

/* An iterator visits all elements in the order of one layout, and gives their positions in another. Its loops count digits that both layouts have. If
 * tiles do not divide each other, there are no such digits, and each position is computed from the plans. */
enum { SETTP_TILE_LOOPS = 2 * (SETT_TILE_MAX_RANK + SETT_TILE_MAX_TILE_DIMS) };
typedef struct sett_tile_iterator {
  int error;
  int32_t state, loops; /* loops: number of loops; 0 if positions are computed from the plans */
  int64_t at, other;    /* position of the element in the layout that gives the order, and in the other layout */
  /* number of elements, from the current element on, whose positions are at_stride and other_stride apart */
  int64_t run;
  int64_t at_stride, other_stride; /* strides of the positions within the run */
  int64_t gap;                     /* padding positions between the previous element and `at` */
  int64_t index[SETT_TILE_MAX_RANK];
  int64_t dims[SETT_TILE_MAX_RANK];
  /* `positions`: number of positions of the layout that gives the order. The slice has the positions `first` to last - 1 */
  int64_t positions, first, last;
  const sett_tile_plan *order_plan, *other_plan;
  settp_tile_loop loop[SETTP_TILE_LOOPS]; /* the innermost loop is the first */
} sett_tile_iterator;

/* The reasons of answers. In the texts, %a and %b are the fields a and b of the answer: a number of the first shape and a number of the second, or
 * two numbers of one shape. %ta and %tb are the names of the types a and b. %k is the row-major number of an element. */
#define SETT_TILE_REASONS(X)                                                                             \
  X(UNDECIDED, "not decided: the digits do not tell, and there are too many elements to ask one by one") \
  X(UNSIZED, "expected arrays with bounded dimensions, parsed without an error")                         \
  X(SPLIT, "expected an array that is not split")                                                        \
  X(YES, "yes")                                                                                          \
  X(NO_RANK, "%a and %b dimensions")                                                                     \
  X(NO_ELEMENTS, "%a and %b elements")                                                                   \
  X(NO_TYPE, "elements of type %ta and %tb")                                                             \
  X(NO_BITS, "elements of %a and %b bits")                                                               \
  X(NO_SPACE, "memory spaces %a and %b")                                                                 \
  X(NO_PREFIX, "%a and %b bytes of dynamic sizes in front")                                              \
  X(NO_PARTS, "split into %a and %b parts")                                                              \
  X(NO_BYTES, "%a and %b bytes of memory, padding included")                                             \
  X(NO_POSITIONS, "%a and %b positions in memory, padding included")                                     \
  X(NO_POSITION, "element %k (row-major) is at position %a in the first and %b in the second")           \
  X(NO_PART, "element %k (row-major) is in part %a and in part %b")                                      \
  X(NO_PERMUTATION, "not a permutation of the dimensions")                                               \
  X(NO_DIM, "a permuted dimension of %a where %b is expected")                                           \
  X(NO_TRANSPOSE, "no permutation of the dimensions keeps every element in its place")                   \
  X(NO_WHOLE_BYTES, "elements of %a bits, not of whole bytes")                                           \
  X(NO_STRIDE, "strides would put element %k (row-major) at position %b; it is at position %a")

enum {
#define SETTP_TILE_ENUM(name, text) SETT_TILE_##name,
  SETT_TILE_REASONS(SETTP_TILE_ENUM) SETT_TILE_REASON_COUNT
#undef SETTP_TILE_ENUM
};

/* The answer to a question; see ANSWERS in the manual. {0} means not decided. */
typedef struct sett_tile_answer {
  int32_t yes, no;       /* `yes` is 1 if the answer is proved to be yes, `no` is 1 if it is proved to be no */
  int32_t reason;        /* the reason: SETT_TILE_YES or another of the list */
  int64_t element, a, b; /* the numbers for %k, %a and %b in the text of the reason; element is -1 if there is no %k */
} sett_tile_answer;

/* The properties of elements that are compared in addition to positions. SAME_BITS: the number of bits of an element in memory. SAME_TYPE: this
 * number and the element type. ANY_TYPE: none; if the numbers of bits differ, the sizes of the arrays are compared in positions, not in bytes. */
enum { SETT_TILE_SAME_BITS, SETT_TILE_SAME_TYPE, SETT_TILE_ANY_TYPE };

/* A bitcast as transpose(reshape(transpose(x))). The first transpose (`first`) leads from shape `from` to shape `before`, the reshape to `after`, and
 * the second transpose (`second`) to `to`. Dimension i of the result of a transpose is dimension first[i] or second[i] of its operand. With
 * SETT_TILE_RESHAPE, both transposes are the identity. With SETT_TILE_TRANSPOSE, the second transpose is the identity, and the reshape changes no
 * dimension. With SETT_TILE_NO_FORM, only `answer` has a meaning. */
enum { SETT_TILE_NO_FORM, SETT_TILE_RESHAPE, SETT_TILE_TRANSPOSE, SETT_TILE_TRANSPOSE_RESHAPE_TRANSPOSE };
typedef struct sett_tile_decomposition {
  sett_tile_answer answer;
  int32_t form;
  int32_t first[SETT_TILE_MAX_RANK], second[SETT_TILE_MAX_RANK];
  sett_tile_shape before, after;
} sett_tile_decomposition;

/* The steps in which a tile changes the list of dimensions: combine dimensions (*), pad them, split each into tile number and index in the tile, and
 * move the indices in the tile behind the tile numbers. */
enum { SETT_TILE_COMBINED, SETT_TILE_PADDED, SETT_TILE_RESHAPED, SETT_TILE_TRANSPOSED };

/* Tiling formats of TPUs: name; bits of an element in memory (0: any); n of E(n) (0: E as in the shape); 1 if the format is optional; minimum and
 * maximum size of the second most minor dimension; the two sizes of the outer tile (0: no tile); the first size of the inner tile (0: no tile), whose
 * second size is 1. Source: XLA's document on tiled layouts, "Examples of tiling formats". */
#define SETT_TILE_FORMATS(X)                           \
  X("linear", 0, 0, 1, 0, INT64_MAX, 0, 0, 0)          \
  X("large 8x128", 32, 0, 0, 5, INT64_MAX, 8, 128, 0)  \
  X("small 4x128", 32, 0, 0, 3, 4, 4, 128, 0)          \
  X("small 2x128", 32, 0, 0, 0, 2, 2, 128, 0)          \
  X("16-bit 8x128", 16, 0, 0, 0, INT64_MAX, 8, 128, 2) \
  X("8-bit 8x128", 8, 0, 0, 0, INT64_MAX, 8, 128, 4)   \
  X("1-bit 32x128", 8, 1, 1, 0, INT64_MAX, 32, 128, 32)

enum {
#define SETTP_TILE_ENUM(text, bits, packed, option, from, to, tile0, tile1, inner0) +1
  SETT_TILE_FORMAT_COUNT =
      0 SETT_TILE_FORMATS(SETTP_TILE_ENUM) /* maximum number of formats that sett_tile_formats writes */
#undef SETTP_TILE_ENUM
};

typedef struct sett_tile_format {
  const char *name;
  sett_tile_shape shape;
  double padding; /* fraction of the positions that are padding */
  int chosen;     /* 1 if XLA's document chooses this format for the shape */
} sett_tile_format;

/* ---- prototypes ------------------------------------------------------------------------------------------------- */

/* Return a shape without tiles. If `minor_to_major` is NULL, the shape is row-major. A dimension may be SETT_TILE_UNBOUNDED. Only type and rank are
 * checked here; sett_tile_check checks the rest. If the numbers are not known to be valid, call it before other functions, which rely on them. */
SETT_PUBLIC sett_tile_shape sett_tile_make(int type, int rank, const int64_t *dims, const int32_t *minor_to_major);
/* Return the shape with one more tile of `rank` sizes, which is applied after the others. A size may be SETT_TILE_COMBINE. Sizes are not checked
 * here, but by sett_tile_check. */
SETT_PUBLIC sett_tile_shape sett_tile_add_tile(const sett_tile_shape *shape, int rank, const int64_t *tile);
/* Check minor_to_major, the sizes of dimensions and tiles, and the splits. Check that `packed`, `prefix` and `tail` are not negative, and that the
 * numbers of elements and bytes fit in 64 bits. Return the shape; if it breaks a rule, it has the error of the first broken rule and column 0. Shapes
 * that were parsed are already checked. */
SETT_PUBLIC sett_tile_shape sett_tile_check(const sett_tile_shape *shape);

/* Parse the whole text as one array, token, opaque value or buffer. */
SETT_PUBLIC sett_tile_shape sett_tile_parse(const char *text, size_t length);
/* Start to read a shape at the beginning of text. Other text may follow the shape. The text must exist as long as the reader. */
SETT_PUBLIC sett_tile_reader sett_tile_read(const char *text, size_t length);
/* Return the next event, or 0 at the end of the shape and after an error (reader->error), also in later calls. For SETT_TILE_LEAF, *shape is the
 * leaf; for other events, it is a failed shape. Use: while (sett_tile_next(&reader, &shape)) .. if (reader.error) .. */
SETT_PUBLIC int sett_tile_next(sett_tile_reader *reader, sett_tile_shape *shape);
/* Write the canonical text, cut to capacity - 1 bytes, and a zero byte; write nothing if capacity is 0. Return the length of the whole text without
 * the zero byte. The text of a failed shape is empty. */
SETT_PUBLIC size_t sett_tile_print(const sett_tile_shape *shape, char *out, size_t capacity);
/* Write the canonical text of the shape at the beginning of a text. The shape may be a tuple. If `whole` is 1, only blanks and comments may follow
 * the shape. capacity and the result are as in sett_tile_print; on an error (summary->error), the text is empty. */
SETT_PUBLIC size_t sett_tile_canonical(const char *text, size_t length, int whole, char *out, size_t capacity,
                                       sett_tile_summary *summary);
SETT_PUBLIC const char *sett_tile_message(int error);
/* Return the name of a type as in texts, or "?" if there is no such type. */
SETT_PUBLIC const char *sett_tile_type_name(int type);
/* Return the type with this name in lower or upper case, or -1. */
SETT_PUBLIC int sett_tile_type_find(const char *name, size_t length);

/* Sizes. A size that does not exist is SETT_TILE_UNKNOWN.
 *     sett_tile_elements:   return the number of elements of the whole array, also if it is split.
 *     sett_tile_positions:  return the number of positions, padding included; of a split array, those of one part.
 *     sett_tile_bits:       return the number of bits of an element in memory.
 *     sett_tile_bytes:      return the number of bytes of the positions; of a split array, those of one part. */
SETT_PUBLIC int64_t sett_tile_elements(const sett_tile_shape *shape);
SETT_PUBLIC int64_t sett_tile_positions(const sett_tile_shape *shape);
SETT_PUBLIC int64_t sett_tile_bits(const sett_tile_shape *shape);
SETT_PUBLIC int64_t sett_tile_bytes(const sett_tile_shape *shape);
/* Return 1 if the two shapes have the same canonical text; 0 if a shape is failed. */
SETT_PUBLIC int sett_tile_equal(const sett_tile_shape *a, const sett_tile_shape *b);
/* Return 1 if minor_to_major alone decides where the elements of an array or buffer are: the layout has no T, L or SC, and each element takes the
 * whole bytes of its type. */
SETT_PUBLIC int sett_tile_plain(const sett_tile_shape *shape);

/* Return the plan of a shape. The plan of a token, an opaque value, a split array or an array with an unbounded dimension has an error. */
SETT_PUBLIC sett_tile_plan sett_tile_prepare(const sett_tile_shape *shape);
/* Return the plan in the form that a kernel takes. The error is SETT_TILE_ERROR_DEVICE if the layout needs more than SETT_TILE_DEVICE_RANK dimensions
 * or more than SETT_TILE_DEVICE_DIGITS digits in a dimension, or if a tile cuts across dimensions that * combines. */
SETT_PUBLIC sett_tile_device_plan sett_tile_device(const sett_tile_plan *plan);
/* Point *dims at the list of sizes after all tiles, the most major first. The list is inside the plan. Return its length, or 0 for a failed plan. */
SETT_PUBLIC int sett_tile_physical(const sett_tile_plan *plan, const int64_t **dims);
/* Return the position, counted in elements, of the element at `index`. Return SETT_TILE_UNKNOWN for an index outside the array. */
SETT_PUBLIC int64_t sett_tile_position(const sett_tile_plan *plan, const int64_t *index);
/* Write the index of the element at a position and return 1. For padding, and for positions outside 0 .. plan->positions - 1, write -1s and return 0.
 */
SETT_PUBLIC int sett_tile_element(const sett_tile_plan *plan, int64_t position, int64_t *index);

/* Return an iterator that stands before the first element. It visits all elements in the order of their positions in `order` (field at), and gives
 * their positions in `other`. Both plans must exist as long as the iterator. If their dimensions differ, the iterator's error is
 * SETT_TILE_ERROR_DIMS. A failed iterator visits no element. Types are not compared. */
SETT_PUBLIC sett_tile_iterator sett_tile_iterate(const sett_tile_plan *order, const sett_tile_plan *other);
/* Restart the iterator with the elements at positions first .. last - 1 of `order`; positions that do not exist are left out. Threads can share an
 * array: each takes a copy of the iterator and its own slice. A slice costs one division per digit. */
SETT_PUBLIC void sett_tile_slice(sett_tile_iterator *iterator, int64_t first, int64_t last);
/* Go to the next element: set iterator->at, other, index and gap, and return 1. After the last element, return 0: at is then the end of the slice,
 * other and index are -1, and gap is the padding after the last element. For a failed iterator, all of them are -1. */
SETT_PUBLIC int sett_tile_advance(sett_tile_iterator *iterator);
/* Go to the next run and return 1. Element k of the run, for 0 <= k < iterator->run, is at position at + k * at_stride in `order` and at position
 * other + k * other_stride in `other`. index is that of the first element, and gap is the padding before it. Between the elements of a run there is
 * padding if at_stride > 1. The rest of the current run is skipped. After the last run, return 0, with the fields as in sett_tile_advance. */
SETT_PUBLIC int sett_tile_advance_run(sett_tile_iterator *iterator);
/* Return the iterator in the form that a kernel takes. The error is SETT_TILE_ERROR_DEVICE if it needs more than SETT_TILE_DEVICE_RANK dimensions or
 * more than SETT_TILE_DEVICE_LOOPS digits, and SETT_TILE_ERROR_DIVIDE if the two layouts have no common digits. A failed iterator visits no element.
 */
SETT_PUBLIC sett_tile_device_iterator sett_tile_device_iterate(const sett_tile_plan *order,
                                                               const sett_tile_plan *other);

/* Return the fraction (0 to 1) of the positions that hold no element; for a split array, the fraction in its largest part. Return 0 if there are no
 * positions, and SETT_TILE_UNKNOWN if the number of positions is unknown. */
SETT_PUBLIC double sett_tile_padding(const sett_tile_shape *shape);
/* Return the byte and the bits of the element at a position of the array. Byte 0 is the first byte of the array; M(n) bytes before it are not counted.
 * Byte and bits are SETT_TILE_UNKNOWN if elements have no size. The position is not checked. */
SETT_PUBLIC sett_tile_place sett_tile_place_of(const sett_tile_shape *shape, int64_t position);
/* Return 1 + the last position that holds an element, or 0 for an empty array. A copy may end there if it may leave out trailing padding. In a
 * coupled layout (see PLANS), only the last 16384 positions before the padding of L(n) are searched. Return SETT_TILE_UNKNOWN if none of them holds
 * an element. */
SETT_PUBLIC int64_t sett_tile_data_positions(const sett_tile_plan *plan);
/* Decide if elements take whole bytes and each dimension has one stride, so that the first byte of every element is the sum of index * stride. After
 * a yes, write the strides in bytes; otherwise, write -1s. (To get the stride in elements of a single dimension, apply sett_map_strides to the map
 * that sett_layout_map in sett.h returns.) The stride of a dimension of size 1 is the product of the next more minor dimension's stride and size, or
 * the bytes of an element if there is no such dimension. If the product does not fit in 64 bits, the stride is 0. */
SETT_PUBLIC sett_tile_answer sett_tile_byte_strides(const sett_tile_shape *shape, int64_t *strides);
/* Write the list of sizes after one step of a tile (SETT_TILE_COMBINED, ..). Tile 0 is the outermost. dims has room for SETT_TILE_MAX_LIST numbers.
 * Return the length of the list, or 0 if there is no such step. */
SETT_PUBLIC int sett_tile_stage(const sett_tile_plan *plan, int tile, int stage, int64_t *dims);

/* Split arrays. Positions are those of sett_tile_part_shape. The parts are numbered in row-major order of the split dimensions, the dimension that SC
 * lists first being the most major one: in f32[2,3]{1,0:SC(1:1)(0:1)}, index (1,0) is in part 1 and index (0,1) in part 2.
 *     sett_tile_parts:       return the number of parts, which is 1 if the array is not split.
 *     sett_tile_part_shape:  return the shape of the memory of each part, which is that of the largest part.
 *     sett_tile_part:        return the number of the part that holds an index, and write the index within the part; for an index outside the array,
 *                            return SETT_TILE_UNKNOWN and write -1s.
 *     sett_tile_whole:       the inverse: write the index in the array and return 1; if the part has no such index, write -1s and return 0. */
SETT_PUBLIC int64_t sett_tile_parts(const sett_tile_shape *shape);
SETT_PUBLIC sett_tile_shape sett_tile_part_shape(const sett_tile_shape *shape);
SETT_PUBLIC int64_t sett_tile_part(const sett_tile_shape *shape, const int64_t *index, int64_t *within);
SETT_PUBLIC int sett_tile_whole(const sett_tile_shape *shape, int64_t part, const int64_t *within, int64_t *index);

/* Decide if a buffer of shape `a` is, without any change, a buffer of shape `b`; see RELATIONS in the manual. The argument `types` of some functions is
 * SETT_TILE_SAME_BITS, SETT_TILE_SAME_TYPE or SETT_TILE_ANY_TYPE; functions without it compare as with SETT_TILE_SAME_BITS. */
SETT_PUBLIC sett_tile_answer sett_tile_same_bytes(const sett_tile_shape *a, const sett_tile_shape *b);
SETT_PUBLIC sett_tile_answer sett_tile_reshape_is_bitcast(const sett_tile_shape *from, const sett_tile_shape *to,
                                                          int types);
/* Decide if a transpose is a bitcast: dimension i of `to` is dimension permutation[i] of `from`. */
SETT_PUBLIC sett_tile_answer sett_tile_transpose_is_bitcast(const sett_tile_shape *from, const sett_tile_shape *to,
                                                            const int32_t *permutation, int types);
/* Write the permutation with which the transpose is a bitcast, or -1s if the answer is not yes. Dimensions of size 1 keep their order. */
SETT_PUBLIC sett_tile_answer sett_tile_find_transpose(const sett_tile_shape *from, const sett_tile_shape *to,
                                                      int32_t *permutation, int types);
/* Write a bitcast as a reshape, as a transpose, or as a reshape between two transposes. None of them moves a byte. */
SETT_PUBLIC sett_tile_decomposition sett_tile_decompose(const sett_tile_shape *from, const sett_tile_shape *to);
/* Return a shape with the sizes `dims` and the tiles of `from`. Its minor_to_major is chosen so that a reshape from `from` to this shape is a
 * bitcast. *answer is a yes if such a shape was found, and a no if no minor_to_major makes the reshape a bitcast. Use the returned shape only after
 * a yes. */
SETT_PUBLIC sett_tile_shape sett_tile_align(const sett_tile_shape *from, int rank, const int64_t *dims,
                                            sett_tile_answer *answer);
/* Decide if the array has the same bytes with its tiles and without them. */
SETT_PUBLIC sett_tile_answer sett_tile_tiling_is_noop(const sett_tile_shape *shape);
/* Write the answer as text: "yes", "no: " with the reason, or the reason alone if it is not decided. capacity and the result are as in
 * sett_tile_print. */
SETT_PUBLIC size_t sett_tile_answer_print(const sett_tile_answer *answer, char *out, size_t capacity);
/* Return the text of a reason, with %a, %b and %k in it. */
SETT_PUBLIC const char *sett_tile_reason_text(int reason);

/* Reorder the dimensions; every byte stays in place. Dimension i of the result is dimension permutation[i] of shape. */
SETT_PUBLIC sett_tile_shape sett_tile_permute(const sett_tile_shape *shape, const int32_t *permutation);
/* Reorder the dimensions into physical order, so that minor_to_major is descending. Every byte stays in place. */
SETT_PUBLIC sett_tile_shape sett_tile_descending(const sett_tile_shape *shape);
/* Remove a dimension. The other dimensions keep their order and their splits. Bytes stay in place if the size of the dimension was 1 and no tile
 * padded it; sett_tile_same_bytes decides this. */
SETT_PUBLIC sett_tile_shape sett_tile_delete(const sett_tile_shape *shape, int dim);
/* Move a dimension to index `place` of minor_to_major, where 0 is the most minor. Its splits move with it. sett_tile_same_bytes decides if all bytes
 * stay in place. */
SETT_PUBLIC sett_tile_shape sett_tile_move(const sett_tile_shape *shape, int dim, int place);

/* Simplify a transpose of an array with the sizes `dims`, in which dimension i of the result is dimension permutation[i]: remove dimensions of size
 * 1, and merge dimensions that stay adjacent. Write to `to` the sizes of the result and to `order` the new permutation; return their number.
 * [8,32,32,16] permuted by 0,3,1,2 is [8,1024,16] permuted by 0,2,1: `to` is 8,16,1024 and `order` is 0,2,1. If `permutation` is not a permutation,
 * write -1s and return SETT_TILE_UNKNOWN. If the rank is not in 0 .. 24, return SETT_TILE_UNKNOWN, and write nothing: this is an exception to
 * ANSWERS. */
SETT_PUBLIC int sett_tile_normal_transpose(int rank, const int64_t *dims, const int32_t *permutation, int64_t *to,
                                           int32_t *order);
/* Write the dimensions that a reshape does not change, except those of size 1, as pairs from[i], to[i]. Return the number of pairs. */
SETT_PUBLIC int sett_tile_kept_dims(int rank, const int64_t *dims, int to_rank, const int64_t *to_dims, int32_t *from,
                                    int32_t *to);
/* Return 1 if all dimensions that are more major than dimension dim have size 1. Return 0 if there is no dimension dim. */
SETT_PUBLIC int sett_tile_is_most_major(const sett_tile_shape *shape, int dim);

/* Write the shape without tiles, then the shape in every TPU format for its element size in memory, each with the fraction of padding. The 1-bit
 * format of pred has E(1); the other formats have the E of the shape. No format has L. Dimensions, minor_to_major, S, SC and M are those of the shape.
 * Return the number of formats, which is at most SETT_TILE_FORMAT_COUNT, and 0 if the shape is failed or no array. */
SETT_PUBLIC int sett_tile_formats(const sett_tile_shape *shape, sett_tile_format *format);

#if defined(SETTP_LINK_SEPARATE) && defined(SETT_PREFIX)
/* clang-format off */
#define SETT_TILE_FUNCTIONS(X) \
  X(sett_tile_make) X(sett_tile_add_tile) X(sett_tile_check) X(sett_tile_parse) X(sett_tile_read) X(sett_tile_next) \
  X(sett_tile_print) X(sett_tile_canonical) X(sett_tile_message) X(sett_tile_type_name) X(sett_tile_type_find) \
  X(sett_tile_elements) X(sett_tile_positions) X(sett_tile_bits) X(sett_tile_bytes) X(sett_tile_equal) \
  X(sett_tile_plain) X(sett_tile_prepare) X(sett_tile_device) X(sett_tile_physical) X(sett_tile_position) \
  X(sett_tile_element) X(sett_tile_iterate) X(sett_tile_slice) X(sett_tile_advance) X(sett_tile_advance_run) \
  X(sett_tile_device_iterate) X(sett_tile_padding) X(sett_tile_place_of) X(sett_tile_data_positions) \
  X(sett_tile_byte_strides) X(sett_tile_stage) X(sett_tile_parts) X(sett_tile_part_shape) X(sett_tile_part) \
  X(sett_tile_whole) X(sett_tile_same_bytes) X(sett_tile_reshape_is_bitcast) X(sett_tile_transpose_is_bitcast) \
  X(sett_tile_find_transpose) X(sett_tile_decompose) X(sett_tile_align) X(sett_tile_tiling_is_noop) \
  X(sett_tile_answer_print) X(sett_tile_reason_text) X(sett_tile_permute) X(sett_tile_descending) \
  X(sett_tile_delete) X(sett_tile_move) X(sett_tile_normal_transpose) X(sett_tile_kept_dims) \
  X(sett_tile_is_most_major) X(sett_tile_formats)
/* clang-format on */
SETT_TILE_FUNCTIONS(SETTP_LINK_RENAME)
#endif

#endif /* end of the functions for the host */
#endif

#if !SETTP_TILE_OPENCL && !defined(SETTP_TILE_BODIES) && (defined(SETT_IMPLEMENTATION) || !defined(SETTP_LINK_SEPARATE))
#define SETTP_TILE_BODIES

/* ---- bodies: small things --------------------------------------------------------------------------------------- */

/* Return a * b for a, b >= 0. Return -1 if the product does not fit, or if an operand is -1. */
SETT_INLINE int64_t settp_tile_mul(int64_t a, int64_t b) {
  if (a < 0 || b < 0) return -1;
  if (a == 0 || b == 0) return 0;
  return a > INT64_MAX / b ? -1 : a * b;
}

/* Return the smallest multiple of `to` that is at least `a`, or -1 if it does not fit in 64 bits. */
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

/* Return 1 if two adjacent digits can be one: the stride of the higher digit is the lower stride times the quotient of their weights. */
SETT_INLINE int settp_tile_continues(int64_t high_weight, int64_t high_stride, int64_t low_weight, int64_t low_stride) {
  return high_weight % low_weight == 0 && high_stride == settp_tile_mul(low_stride, high_weight / low_weight);
}

SETT_INLINE sett_tile_shape settp_tile_zero(void) {
#ifdef __cplusplus
  sett_tile_shape shape = {};
#else
  sett_tile_shape shape = {0};
#endif
  return shape;
}

SETT_PUBLIC const char *sett_tile_message(int error) {
  switch (error) {
#define SETTP_TILE_CASE(name, text) \
  case SETT_TILE_##name: return text;
    SETT_TILE_ERRORS(SETTP_TILE_CASE)
#undef SETTP_TILE_CASE
    default: return "unknown error";
  }
}

SETT_PUBLIC const char *sett_tile_type_name(int type) {
  switch (type) {
#define SETTP_TILE_CASE(name, text, width, memory) \
  case SETT_TILE_##name: return text;
    SETT_TILE_TYPES(SETTP_TILE_CASE)
#undef SETTP_TILE_CASE
    default: return "?";
  }
}

SETT_INLINE int64_t settp_tile_memory_bits(int type) {
  switch (type) {
#define SETTP_TILE_CASE(name, text, width, memory) \
  case SETT_TILE_##name: return memory;
    SETT_TILE_TYPES(SETTP_TILE_CASE)
#undef SETTP_TILE_CASE
    default: return 0;
  }
}

SETT_INLINE char settp_tile_lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

/* Return 1 if a word of this length equals `name`, which is in lower case. The case of the word does not matter. */
SETT_INLINE int settp_tile_word_is(const char *word, int64_t length, const char *name) {
  int64_t i;
  for (i = 0; i < length; ++i)
    if (name[i] == 0 || settp_tile_lower(word[i]) != name[i]) return 0;
  return name[length] == 0;
}

SETT_PUBLIC int sett_tile_type_find(const char *name, size_t length) {
  int type;
  for (type = 0; type < SETT_TILE_TYPE_COUNT; ++type)
    if (settp_tile_word_is(name, (int64_t)length, sett_tile_type_name(type))) return type;
  return -1;
}

/* ---- bodies: make and check ------------------------------------------------------------------------------------- */

SETT_PUBLIC sett_tile_shape sett_tile_make(int type, int rank, const int64_t *dims, const int32_t *minor_to_major) {
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

SETT_PUBLIC sett_tile_shape sett_tile_add_tile(const sett_tile_shape *shape, int rank, const int64_t *tile) {
  sett_tile_shape to = *shape;
  int used = settp_tile_dims_used(shape), i;
  if (to.error) return to;
  if (rank < 1 || to.tiles >= SETT_TILE_MAX_TILES || rank > SETT_TILE_MAX_TILE_DIMS - used) {
    to.error = SETT_TILE_ERROR_TILES;
    return to;
  }
  for (i = 0; i < rank; ++i) to.tile[used + i] = tile[i];
  to.tile_rank[to.tiles++] = rank;
  return to;
}

SETT_PUBLIC int64_t sett_tile_elements(const sett_tile_shape *shape) {
  if (shape->error || shape->kind == SETT_TILE_TOKEN || shape->kind == SETT_TILE_OPAQUE) return SETT_TILE_UNKNOWN;
  return settp_tile_product(shape->dims, shape->rank);
}

SETT_PUBLIC int64_t sett_tile_bits(const sett_tile_shape *shape) {
  if (shape->error || shape->kind == SETT_TILE_TOKEN || shape->kind == SETT_TILE_OPAQUE) return SETT_TILE_UNKNOWN;
  return shape->packed > 0 ? shape->packed : settp_tile_memory_bits(shape->type);
}

/* Compute the lists of a plan for an array whose sizes are `dims`, in logical order. */
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

/* Write the dimensions of the largest part of a split array. Without splits, write those of the array. */
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

SETT_PUBLIC int64_t sett_tile_positions(const sett_tile_shape *shape) {
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

SETT_PUBLIC int64_t sett_tile_bytes(const sett_tile_shape *shape) {
  int64_t positions = sett_tile_positions(shape), bits = sett_tile_bits(shape), whole, rest;
  if (positions <= 0) return positions;
  /* multiply positions / 8 and positions % 8 separately, because the number of bits may overflow */
  whole = settp_tile_mul(positions / 8, bits);
  rest = settp_tile_mul(positions % 8, bits);
  if (whole < 0 || rest < 0) return SETT_TILE_UNKNOWN;
  rest = rest / 8 + (rest % 8 != 0);
  if (whole > INT64_MAX - rest) return SETT_TILE_UNKNOWN;
  return whole + rest;
}

/* Return the error of the first split that breaks a rule of SC, or 0. */
SETT_INLINE int settp_tile_check_splits(const sett_tile_shape *shape) {
  uint32_t seen = 0;
  int i, j, at = 0;
  if (shape->splits < 0 || shape->splits > shape->rank) return SETT_TILE_ERROR_SPLITS;
  for (i = 0; i < shape->splits; ++i) {
    int dim = shape->split_dim[i], count = shape->split_count[i];
    int64_t size, last = 0;
    if (dim < 0 || dim >= shape->rank || (seen >> dim & 1)) return SETT_TILE_ERROR_SPLIT_DIM;
    if (count < 0 || count > SETT_TILE_MAX_SPLITS - at) return SETT_TILE_ERROR_SPLITS;
    seen |= (uint32_t)1 << dim;
    size = shape->dims[shape->minor_to_major[shape->rank - 1 - dim]];
    for (j = 0; j < count; ++j, ++at) {
      if (shape->split[at] <= last || (size >= 0 && shape->split[at] >= size)) return SETT_TILE_ERROR_SPLIT_INDEX;
      last = shape->split[at];
    }
  }
  return SETT_TILE_OK;
}

SETT_PUBLIC sett_tile_shape sett_tile_check(const sett_tile_shape *shape) {
  sett_tile_shape checked = *shape;
  int i, j, at = 0, unbounded = 0;
  uint32_t seen = 0;
  if (checked.error || checked.kind == SETT_TILE_TOKEN || checked.kind == SETT_TILE_OPAQUE) return checked;
  for (i = 0; i < checked.rank; ++i) {
    int d = checked.minor_to_major[i];
    if (d < 0 || d >= checked.rank) {
      checked.error = SETT_TILE_ERROR_LAYOUT_DIM;
      return checked;
    }
    if (seen >> d & 1) {
      checked.error = SETT_TILE_ERROR_LAYOUT_TWICE;
      return checked;
    }
    seen |= (uint32_t)1 << d;
    if (checked.dims[i] < 0 && !(checked.dims[i] == SETT_TILE_UNBOUNDED && (checked.dynamic >> i & 1))) {
      checked.error = SETT_TILE_ERROR_DIM;
      return checked;
    }
    unbounded |= checked.dims[i] < 0;
  }
  for (i = 0; i < checked.tiles; ++i) {
    for (j = 0; j < checked.tile_rank[i]; ++j, ++at) {
      int combine = checked.tile[at] == SETT_TILE_COMBINE;
      if (checked.tile[at] <= 0 && !combine) checked.error = SETT_TILE_ERROR_TILE_DIM;
      if (combine && j + 1 == checked.tile_rank[i]) checked.error = SETT_TILE_ERROR_TILE_LAST;
      if (checked.error) return checked;
    }
  }
  if (checked.packed < 0 || checked.prefix < 0) checked.error = SETT_TILE_ERROR_NEGATIVE;
  else if (checked.tail < 0) checked.error = SETT_TILE_ERROR_TAIL;
  else checked.error = settp_tile_check_splits(&checked);
  if (unbounded || checked.error) return checked;
  if (sett_tile_elements(&checked) < 0) checked.error = SETT_TILE_ERROR_SIZE;
  else if (sett_tile_bytes(&checked) < 0) checked.error = SETT_TILE_ERROR_BYTES;
  return checked;
}

SETT_PUBLIC int sett_tile_equal(const sett_tile_shape *a, const sett_tile_shape *b) {
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

SETT_PUBLIC int sett_tile_plain(const sett_tile_shape *shape) {
  return shape->tiles == 0 && shape->tail <= 1 && shape->splits == 0 &&
         sett_tile_bits(shape) == settp_tile_memory_bits(shape->type);
}

/* ---- bodies: reading -------------------------------------------------------------------------------------------- */

typedef struct settp_tile_lexer {
  const char *text;
  int64_t length, at;
  int error;
  int64_t column;
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

/* Skip blanks and comments. */
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

/* Return the first character of the next token without consuming it. */
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

/* Return the length of the word (letters, digits, _) at the next token. */
SETT_INLINE int64_t settp_tile_word(settp_tile_lexer *lexer) {
  int64_t end;
  settp_tile_blank(lexer);
  end = lexer->at;
  while (settp_tile_letter(settp_tile_char(lexer, end))) ++end;
  return end - lexer->at;
}

/* Read a non-negative integer. `error` is the error if there is no digit. */
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

/* Read an integer in parentheses. */
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

/* Read the attributes after ':' up to the closing brace, which is not consumed. *tiles_at is the offset of the tiles, for errors that are found later.
 */
SETT_INLINE int settp_tile_read_attributes(settp_tile_lexer *lexer, sett_tile_shape *shape, int64_t *tiles_at) {
  enum {
    SETTP_TILE_LEVELS,
    SETTP_TILE_TILES,
    SETTP_TILE_TAIL,
    SETTP_TILE_PACKED,
    SETTP_TILE_SPACE,
    SETTP_TILE_SPLITS,
    SETTP_TILE_PREFIX,
    SETTP_TILE_NONE
  };
  int last = -1;
  while (settp_tile_peek(lexer) != '}' && !lexer->error) {
    int64_t start = lexer->at, value = 0, at = 0, length = settp_tile_word(lexer);
    const char *word = lexer->text + start;
    char c = settp_tile_char(lexer, start);
    int which = SETTP_TILE_NONE;
    if (c == '#' || c == '*' || (length == 1 && c == 'P')) return settp_tile_fail(lexer, start, SETT_TILE_ERROR_SPARSE);
    if (length == 1 && c == 'D') which = SETTP_TILE_LEVELS;
    if (length == 1 && c == 'T') which = SETTP_TILE_TILES;
    if (length == 1 && c == 'L') which = SETTP_TILE_TAIL;
    if (length == 1 && c == 'E') which = SETTP_TILE_PACKED;
    if (length == 1 && c == 'S') which = SETTP_TILE_SPACE;
    if (length == 2 && c == 'S' && word[1] == 'C') which = SETTP_TILE_SPLITS;
    if (length == 1 && c == 'M') which = SETTP_TILE_PREFIX;
    if (which == SETTP_TILE_NONE || which <= last) return settp_tile_fail(lexer, start, SETT_TILE_ERROR_ATTRIBUTE);
    last = which;
    lexer->at += length;
    if (which == SETTP_TILE_LEVELS) {
      if (!settp_tile_levels(lexer)) return 0;
    } else if (which == SETTP_TILE_TILES) {
      *tiles_at = start;
      if (!settp_tile_read_tiles(lexer, shape)) return 0;
    } else if (which == SETTP_TILE_SPLITS) {
      if (!settp_tile_read_splits(lexer, shape)) return 0;
    } else {
      if (!settp_tile_one(lexer, &value, &at)) return 0;
      if (which == SETTP_TILE_TAIL && value == 0) return settp_tile_fail(lexer, at, SETT_TILE_ERROR_TAIL);
      if (which == SETTP_TILE_SPACE && value > 127) return settp_tile_fail(lexer, at, SETT_TILE_ERROR_SPACE);
      if (which == SETTP_TILE_TAIL) {
        shape->tail = value == 1 ? 0 : value;
        if (*tiles_at < 0) *tiles_at = at;
      }
      if (which == SETTP_TILE_PACKED) shape->packed = value;
      if (which == SETTP_TILE_SPACE) shape->space = (int32_t)value;
      if (which == SETTP_TILE_PREFIX) shape->prefix = value;
    }
  }
  return !lexer->error;
}

/* Read a layout if the next token is an opening brace. */
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

/* Read the dimensions after '[', and then ']'. */
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

/* Read an array, token or opaque. */
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
  *shape = sett_tile_check(shape);
  if (shape->error)
    return settp_tile_fail(lexer, shape->error == SETT_TILE_ERROR_BYTES && tiles_at >= 0 ? tiles_at : dims_at,
                           shape->error);
  return 1;
}

enum { SETTP_TILE_FIRST, SETTP_TILE_WANT, SETTP_TILE_AFTER, SETTP_TILE_DONE }; /* states of a reader */

SETT_PUBLIC sett_tile_reader sett_tile_read(const char *text, size_t length) {
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

/* Do one step of sett_tile_next with a given lexer. */
SETT_INLINE int settp_tile_step(sett_tile_reader *reader, settp_tile_lexer *lexer, sett_tile_shape *shape) {
  for (;;) {
    char c;
    if (reader->depth == 0 && reader->state == SETTP_TILE_AFTER) return SETT_TILE_END;
    c = settp_tile_peek(lexer);
    if (lexer->error) return SETT_TILE_END;
    if (c == ')' && reader->state != SETTP_TILE_WANT) {
      ++lexer->at;
      --reader->depth;
      reader->state = SETTP_TILE_AFTER;
      return SETT_TILE_CLOSED;
    }
    if (reader->state == SETTP_TILE_AFTER) {
      if (!settp_tile_want(lexer, ',', SETT_TILE_ERROR_TUPLE)) return SETT_TILE_END;
      reader->state = SETTP_TILE_WANT;
      continue;
    }
    reader->item = reader->items[reader->depth]++;
    if (c == '(') {
      if (reader->depth == SETT_TILE_MAX_DEPTH) {
        settp_tile_fail(lexer, lexer->at, SETT_TILE_ERROR_DEPTH);
        return SETT_TILE_END;
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
        return SETT_TILE_END;
      shape->kind = SETT_TILE_BUFFER;
      return SETT_TILE_LEAF;
    }
    return settp_tile_read_array(lexer, shape, SETT_TILE_ERROR_TYPE) ? SETT_TILE_LEAF : SETT_TILE_END;
  }
}

SETT_PUBLIC int sett_tile_next(sett_tile_reader *reader, sett_tile_shape *shape) {
  settp_tile_lexer lexer;
  int event = SETT_TILE_END;
  if (!reader->error) {
    lexer.text = reader->text;
    lexer.length = reader->length;
    lexer.at = reader->at;
    lexer.error = 0;
    lexer.column = 0;
    event = settp_tile_step(reader, &lexer, shape);
    reader->at = lexer.at;
    reader->error = lexer.error;
    reader->column = lexer.column;
  }
  if (event != SETT_TILE_LEAF) {
    *shape = settp_tile_zero();
    shape->error = SETT_TILE_ERROR_ONE;
    if (reader->error) shape->error = reader->error;
    shape->column = reader->column;
  }
  return event;
}

/* Return the error if text follows a shape that must be the whole text, else 0. */
SETT_INLINE int settp_tile_trailing(const char *text, int64_t length, int64_t at, int64_t *column) {
  settp_tile_lexer lexer;
  lexer.text = text;
  lexer.length = length;
  lexer.at = at;
  lexer.error = 0;
  lexer.column = 0;
  if (settp_tile_take(&lexer, '{')) {
    settp_tile_blank(&lexer);
    settp_tile_fail(&lexer, lexer.at, SETT_TILE_ERROR_LAYOUT);
  } else if (lexer.at < length) {
    settp_tile_fail(&lexer, lexer.at, SETT_TILE_ERROR_END);
  }
  *column = lexer.column;
  return lexer.error;
}

SETT_PUBLIC sett_tile_shape sett_tile_parse(const char *text, size_t length) {
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

/* Write an integer that is not negative. */
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
  int attributes = shape->tiles > 0 || shape->tail > 1 || shape->packed > 0 || shape->space > 0 || shape->splits > 0 ||
                   shape->prefix > 0;
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

SETT_PUBLIC size_t sett_tile_print(const sett_tile_shape *shape, char *out, size_t capacity) {
  settp_tile_writer writer;
  writer.out = out;
  writer.capacity = capacity;
  writer.used = 0;
  if (!shape->error) settp_tile_put_leaf(&writer, shape);
  return settp_tile_finish(&writer);
}

/* Write the separator between two members of a tuple. In front of every fifth member, write its index as a comment. */
SETT_INLINE void settp_tile_put_comma(settp_tile_writer *writer, const sett_tile_reader *reader) {
  if (reader->item == 0) return;
  settp_tile_puts(writer, ", ");
  if (reader->item % 5 != 0) return;
  settp_tile_puts(writer, "/*index=");
  settp_tile_puti(writer, reader->item);
  settp_tile_puts(writer, "*/");
}

SETT_PUBLIC size_t sett_tile_canonical(const char *text, size_t length, int whole, char *out, size_t capacity,
                                       sett_tile_summary *summary) {
  sett_tile_reader reader = sett_tile_read(text, length);
  sett_tile_shape shape = settp_tile_zero();
  settp_tile_writer writer;
  int event, tuple = 0;
  writer.out = out;
  writer.capacity = capacity;
  writer.used = 0;
  summary->error = 0;
  summary->column = summary->leaves = summary->bytes = 0;
  while ((event = sett_tile_next(&reader, &shape))) {
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
  if (!reader.error && whole) reader.error = settp_tile_trailing(text, (int64_t)length, reader.at, &reader.column);
  summary->error = reader.error;
  summary->column = reader.column;
  if (reader.error) writer.used = 0;
  return settp_tile_finish(&writer);
}

/* ---- bodies: positions ------------------------------------------------------------------------------------------ */

/* A digit of the index of a dimension (or of the combined index of dimensions that * joins). The digit is (index mod limit) / weight, where limit is
 * the weight of the next higher digit, or a bound of the index. Tiles change the list of dimensions; the index along each entry of the list is a sum
 * of digit * unit. The digits of an entry are a linked list, the most minor first. */
typedef struct settp_tile_piece {
  /* physical index of the dimension; that of the last one, if several dimensions were joined by a tile size *; -1 if another digit contains this one */
  int32_t source;
  int32_t next; /* the next more major digit of the entry, or -1 */
  int64_t weight, limit, unit;
} settp_tile_piece;

typedef struct settp_tile_pieces {
  int32_t used;
  settp_tile_piece digit[SETT_TILE_MAX_RANK + SETT_TILE_MAX_TILE_DIMS];
} settp_tile_pieces;

SETT_INLINE int64_t settp_tile_largest(const settp_tile_piece *digit) { return (digit->limit - 1) / digit->weight; }

/* Divide the index along an entry (a sum of digit * unit) by a tile size: *entry becomes the remainder, *quotient the quotient. Digits whose units are
 * multiples of the tile size go to the quotient. If the other digits can add up to the tile size or more, the highest of them is split into one digit
 * of the remainder and one of the quotient. Return 0 if it cannot be split in this way. */
SETT_INLINE int settp_tile_cut(settp_tile_pieces *all, int64_t tile, int32_t *entry, int32_t *quotient) {
  settp_tile_piece *digit = all->digit;
  int32_t at, last = -1;
  int64_t below = 0, reach = 0;
  for (at = *entry; at >= 0; at = digit[at].next)
    if (digit[at].unit % tile != 0) last = at;
  *quotient = *entry;
  if (last >= 0) {
    for (at = *entry; at != last; at = digit[at].next) below += settp_tile_largest(&digit[at]) * digit[at].unit;
    reach = below + settp_tile_largest(&digit[last]) * digit[last].unit;
    *quotient = digit[last].next;
    if (reach >= tile) {
      int64_t part = tile / digit[last].unit;
      settp_tile_piece *high = &digit[all->used];
      if (part * digit[last].unit != tile || below >= digit[last].unit) return 0;
      *high = digit[last];
      high->weight *= part;
      high->unit = tile;
      digit[last].limit = high->weight;
      *quotient = all->used++;
    }
    digit[last].next = -1;
  } else {
    *entry = -1;
  }
  for (at = *quotient; at >= 0; at = digit[at].next) digit[at].unit /= tile;
  return 1;
}

/* Join the digits of two entries that * combines: multiply the units of `outer` by `size`, the number of values of `inner`, and append these digits to
 * `inner`. If a tile split a digit, and its two halves are neighbours again, they become one digit. Return the joined list. */
SETT_INLINE int32_t settp_tile_join(settp_tile_pieces *all, int32_t outer, int32_t inner, int64_t size) {
  settp_tile_piece *low, *high;
  int32_t at;
  for (at = outer; at >= 0; at = all->digit[at].next) all->digit[at].unit *= size;
  if (inner < 0 || outer < 0) return inner < 0 ? outer : inner;
  for (at = inner; all->digit[at].next >= 0;) at = all->digit[at].next;
  low = &all->digit[at];
  high = &all->digit[outer];
  low->next = outer;
  if (high->source != low->source || high->weight != low->limit) return inner;
  if (!settp_tile_continues(high->weight, high->unit, low->weight, low->unit)) return inner;
  low->limit = high->limit;
  low->next = high->next;
  high->source = -1;
  return inner;
}

/* Set whole[i] to 1 if the division by tile dimension i (counted over all tiles) keeps the order in memory: the stride of the quotient is the stride of
 * the remainder times the tile size. The tiles are taken from the last to the first. stride[i] is the stride of entry i of the current list. It is -1
 * if the later tiles split the entry so that it has no single stride. */
SETT_INLINE void settp_tile_find_whole(const sett_tile_plan *plan, int32_t *whole) {
  int64_t stride[SETT_TILE_MAX_LIST], next[SETT_TILE_MAX_LIST], size = 1;
  int stage, i, tile_at = 0;
  for (i = plan->length[plan->tiles]; i-- > 0; size *= plan->list[plan->tiles][i]) stride[i] = size;
  for (stage = 0; stage < plan->tiles; ++stage) tile_at += plan->tile_rank[stage];
  for (stage = plan->tiles; stage-- > 0;) {
    int n = plan->length[stage], k = plan->tile_rank[stage], groups = 0, g;
    const int64_t *tile;
    tile_at -= k;
    tile = &plan->tile[tile_at];
    for (i = 0; i < k; ++i) groups += tile[i] != SETT_TILE_COMBINE;
    for (i = 0; i < n - k; ++i) next[i] = stride[i];
    for (i = k, g = groups, size = -1; i-- > 0;) {
      if (tile[i] != SETT_TILE_COMBINE) {
        int64_t quotient = stride[n - k + --g], remainder = stride[n - k + groups + g];
        whole[tile_at + i] = remainder >= 0 && quotient == settp_tile_mul(remainder, tile[i]);
        size = whole[tile_at + i] ? remainder : tile[i] == 1 ? quotient : -1;
      }
      next[n - k + i] = size;
      size = settp_tile_mul(size, plan->list[stage][n - k + i]);
    }
    for (i = plan->ones[stage]; i < n; ++i) stride[i - plan->ones[stage]] = next[i];
  }
}

/* Compute the digits of all entries of the plan's last list. entry[i] is the index of the most minor digit of entry i, or -1 if it has none. With
 * `join`, dimensions that * combines in the first tile count as one dimension. Return 0 if a digit cannot be split where a tile ends: then the position
 * cannot be computed by steps. */
SETT_INLINE int settp_tile_take_digits(const sett_tile_plan *plan, int join, settp_tile_pieces *all, int32_t *entry) {
  int32_t next[SETT_TILE_MAX_LIST], whole[SETT_TILE_MAX_TILE_DIMS];
  int stage, i, g, tile_at = 0, n = plan->rank;
  settp_tile_find_whole(plan, whole);
  all->used = 0;
  for (i = 0; i < n; ++i) {
    int64_t size = plan->list[0][i + (plan->tiles > 0 ? plan->ones[0] : 0)];
    settp_tile_piece *digit = &all->digit[all->used];
    entry[i] = -1;
    if (size == 1) continue;
    entry[i] = all->used++;
    digit->source = i;
    digit->next = -1;
    digit->weight = digit->unit = 1;
    digit->limit = size;
  }
  for (stage = 0; stage < plan->tiles; ++stage) {
    const int64_t *tile = &plan->tile[tile_at], *list = plan->list[stage];
    int k = plan->tile_rank[stage], ones = plan->ones[stage], groups = 0;
    int32_t joined = -1;
    for (i = n; i-- > 0;) entry[i + ones] = entry[i];
    for (i = 0; i < ones; ++i) entry[i] = -1;
    n = plan->length[stage];
    for (i = 0; i < k; ++i) groups += tile[i] != SETT_TILE_COMBINE;
    for (i = 0; i < n - k; ++i) next[i] = entry[i];
    for (i = 0, g = 0; i < k; ++i) {
      int at = n - k + i;
      joined = settp_tile_join(all, joined, entry[at], list[at]);
      if (join && stage == 0 && joined >= 0 && all->digit[joined].next >= 0) {
        settp_tile_piece *digit = &all->digit[joined], *outer = &all->digit[digit->next];
        /* `join` combines two dimensions, so their two digits become this one digit */
        digit->limit += settp_tile_largest(outer) * outer->unit;
        digit->next = outer->source = -1;
      }
      if (join && stage == 0 && joined >= 0) all->digit[joined].source = at - ones;
      if (tile[i] == SETT_TILE_COMBINE) continue;
      next[n - k + groups + g] = joined;
      next[n - k + g] = -1;
      if (!whole[tile_at + i] && !settp_tile_cut(all, tile[i], &next[n - k + groups + g], &next[n - k + g])) return 0;
      joined = -1;
      ++g;
    }
    n += 2 * groups - k;
    for (i = 0; i < n; ++i) entry[i] = next[i];
    tile_at += k;
  }
  return 1;
}

/* Write to step[] the digits of dimension `source`, the largest weight first, and return their number. These include the digits of dimensions that a
 * tile size * has merged into `source`. Two adjacent digits become one if settp_tile_continues allows it. */
SETT_INLINE int settp_tile_source_steps(const settp_tile_pieces *all, const int64_t *stride, int source,
                                        sett_tile_step *step) {
  int count = 0, kept = 0, i, j;
  for (i = 0; i < all->used; ++i) {
    if (all->digit[i].source != source) continue;
    for (j = count++; j > 0 && step[j - 1].weight < all->digit[i].weight; --j) step[j] = step[j - 1];
    step[j].weight = all->digit[i].weight;
    step[j].stride = stride[i];
  }
  for (i = 0; i < count; ++i) {
    while (kept > 0 &&
           settp_tile_continues(step[kept - 1].weight, step[kept - 1].stride, step[i].weight, step[i].stride))
      --kept;
    step[kept++] = step[i];
  }
  return kept;
}

/* Compute the steps of a plan whose lists are already computed. `join` is as in settp_tile_take_digits. Return 0 if the position cannot be
 * computed by steps. */
SETT_INLINE int settp_tile_steps(sett_tile_plan *plan, int join) {
  settp_tile_pieces all;
  int32_t entry[SETT_TILE_MAX_LIST], into[SETT_TILE_MAX_RANK];
  int64_t stride[SETT_TILE_MAX_RANK + SETT_TILE_MAX_TILE_DIMS], size = 1, source = 1;
  int i, j, n = plan->rank, ones = plan->tiles > 0 ? plan->ones[0] : 0;
  plan->steps = plan->digits = 0;
  if (!settp_tile_take_digits(plan, join, &all, entry)) return 0;
  for (i = plan->length[plan->tiles]; i-- > 0;) {
    int32_t at;
    for (at = entry[i]; at >= 0; at = all.digit[at].next) stride[at] = all.digit[at].unit * size;
    size *= plan->list[plan->tiles][i];
  }
  for (i = n; i-- > 0;) {
    int in_tile = join ? i + ones - (plan->length[0] - plan->tile_rank[0]) : -1;
    into[i] = in_tile >= 0 && plan->tile[in_tile] == SETT_TILE_COMBINE ? into[i + 1] : i;
  }
  for (i = 0; i < n; ++i) {
    sett_tile_step *step = &plan->step[plan->steps];
    int count = settp_tile_source_steps(&all, stride, i, step);
    if (count == 0) {
      count = 1;
      step->weight = INT64_MAX;
      step->stride = 0;
    }
    for (j = 0; j < count; ++j) {
      step[j].dim = j == 0 ? plan->minor_to_major[n - 1 - i] : -1;
      step[j].into = plan->minor_to_major[n - 1 - into[i]];
      step[j].size = j == 0 ? plan->list[0][i + ones] : 1;
      source *= step[j].size;
      step[j].limit = j == 0 ? source : step[j - 1].weight;
      step[j].count = (step[j].limit - 1) / step[j].weight + 1;
    }
    if (into[i] == i) source = 1;
    plan->steps += count;
  }
  for (i = 0; i < plan->steps; ++i) {
    if (plan->step[i].weight == INT64_MAX) continue;
    for (j = plan->digits++; j > 0 && plan->step[plan->order[j - 1]].stride < plan->step[i].stride; --j)
      plan->order[j] = plan->order[j - 1];
    plan->order[j] = i;
  }
  return 1;
}

SETT_PUBLIC sett_tile_plan sett_tile_prepare(const sett_tile_shape *shape) {
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
  else if (plan.span > 0) plan.coupled = !settp_tile_steps(&plan, 0) && !settp_tile_steps(&plan, 1);
  return plan;
}

SETT_PUBLIC int sett_tile_physical(const sett_tile_plan *plan, const int64_t **dims) {
  *dims = plan->list[plan->tiles];
  return plan->error ? 0 : plan->length[plan->tiles];
}

/* Compute a position by the definition, one tile after another, for layouts without steps. *cut receives the first tile size that leaves a remainder,
 * or 1 if none does. */
SETT_INLINE int64_t settp_tile_position_by_tiles(const sett_tile_plan *plan, const int64_t *index, int64_t *cut) {
  int64_t digit[SETT_TILE_MAX_LIST], next[SETT_TILE_MAX_LIST], position = 0;
  int i, stage, tile_at = 0, n = plan->rank;
  *cut = 1;
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
      if (*cut == 1 && value % tile[i] != 0) *cut = tile[i];
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

SETT_INLINE int settp_tile_element_by_tiles(const sett_tile_plan *plan, int64_t position, int64_t *index) {
  int64_t digit[SETT_TILE_MAX_LIST], next[SETT_TILE_MAX_LIST];
  int i, stage, tile_at = 0, n = plan->length[plan->tiles];
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
      /* the value stands for all dimensions that * joins: split it into their indices. The most major dimension gets the rest; if the rest is not
       * below its size, the position is padding */
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

SETT_PUBLIC int64_t sett_tile_position(const sett_tile_plan *plan, const int64_t *index) {
  int64_t position = 0, value = 0;
  int i;
  if (plan->error || plan->span == 0) return SETT_TILE_UNKNOWN;
  if (plan->coupled) return settp_tile_position_by_tiles(plan, index, &value);
  for (i = 0; i < plan->steps; ++i) {
    const sett_tile_step *step = &plan->step[i];
    if (step->dim >= 0) {
      int64_t at = index[step->dim];
      if (at < 0 || at >= step->size) return SETT_TILE_UNKNOWN;
      value = value * step->size + at;
    }
    if (step->weight == 1) {
      position += value * step->stride;
      value = 0;
    } else {
      int64_t digit = value / step->weight;
      value -= digit * step->weight;
      position += digit * step->stride;
    }
  }
  return position;
}

/* Compute the index of the element at a position. The position must be below plan->span, so it is not padding of L(n). For other padding, return 0;
 * some entries of index may then have changed. */
SETT_INLINE int settp_tile_element(const sett_tile_plan *plan, int64_t position, int64_t *index) {
  int64_t amount[SETT_TILE_MAX_LIST], rest = position, value = 0;
  int i;
  if (plan->coupled) return settp_tile_element_by_tiles(plan, position, index);
  for (i = 0; i < plan->digits; ++i) {
    const sett_tile_step *step = &plan->step[plan->order[i]];
    int64_t digit = step->stride == 1 ? rest : rest / step->stride;
    if (digit >= step->count) return 0;
    rest -= digit * step->stride;
    amount[plan->order[i]] = digit * step->weight;
  }
  if (rest != 0) return 0;
  for (i = plan->steps; i-- > 0;) {
    const sett_tile_step *step = &plan->step[i], *next = step + 1;
    if (step->weight != INT64_MAX) {
      value += amount[i];
      if (value >= step->limit) return 0;
    }
    if (step->dim < 0) continue;
    if (step->dim == step->into) {
      index[step->dim] = value;
      value = 0;
    } else { /* separate the dimensions that * joined */
      index[step->dim] = index[next->dim] / next->size;
      index[next->dim] %= next->size;
    }
  }
  return 1;
}

SETT_PUBLIC int sett_tile_element(const sett_tile_plan *plan, int64_t position, int64_t *index) {
  int i;
  if (!plan->error && position >= 0 && position < plan->span && settp_tile_element(plan, position, index)) return 1;
  for (i = 0; i < plan->rank; ++i) index[i] = SETT_TILE_UNKNOWN;
  return 0;
}

/* ---- bodies: for a device --------------------------------------------------------------------------------------- */

SETT_PUBLIC sett_tile_device_plan sett_tile_device(const sett_tile_plan *plan) {
#ifdef __cplusplus
  sett_tile_device_plan out = {};
#else
  sett_tile_device_plan out = {0};
#endif
  int64_t period = plan->span;
  int place[SETT_TILE_MAX_LIST]; /* the index in `out` of the digit of each step */
  int i, d = 0;
  out.error = plan->error;
  out.rank = plan->rank;
  out.span = plan->span;
  out.positions = plan->positions;
  if (!out.error && (plan->coupled || plan->rank > SETT_TILE_DEVICE_RANK)) out.error = SETT_TILE_ERROR_DEVICE;
  for (i = 0; i < plan->steps && !out.error; ++i) {
    const sett_tile_step *step = &plan->step[i];
    if (step->dim >= 0) d = step->dim;
    if (step->dim >= 0) out.dims[d] = step->size;
    place[i] = out.digits[d];
    if (step->weight == INT64_MAX) {
      if (step->dim != step->into) out.error = SETT_TILE_ERROR_DEVICE;
    } else if (out.digits[d] == SETT_TILE_DEVICE_DIGITS) {
      out.error = SETT_TILE_ERROR_DEVICE;
    } else {
      out.weight[d][place[i]] = step->weight;
      out.stride[d][place[i]] = step->stride;
      ++out.digits[d];
    }
  }
  for (i = 0; i < plan->digits && !out.error; ++i) {
    const sett_tile_step *step = &plan->step[plan->order[i]];
    if (period % step->stride != 0) out.error = SETT_TILE_ERROR_DEVICE;
    out.period[step->into][place[plan->order[i]]] = period;
    period = step->stride;
  }
  if (out.error) { /* a kernel that does not test the error finds no element and does not divide by 0 */
    out.span = 0;
    out.positions = SETT_TILE_UNKNOWN;
    for (d = 0; d < SETT_TILE_DEVICE_RANK; ++d) out.digits[d] = 0;
  }
  return out;
}

/* ---- bodies: iterators ------------------------------------------------------------------------------------------ */

/* Return the stride of a digit with this weight in dimension dim: the change of the position when the digit grows by 1. If the plan has no digit of
 * this weight, the next lower digit of the dimension gives the stride; its weight must divide `weight`. Return 0 if the dimension has no digits. */
SETT_INLINE int64_t settp_tile_digit_stride(const sett_tile_plan *plan, int dim, int64_t weight) {
  int64_t stride = 0, largest = 0;
  int i;
  for (i = 0; i < plan->steps; ++i) {
    const sett_tile_step *step = &plan->step[i];
    if (step->into != dim || step->weight > weight || step->weight <= largest) continue;
    largest = step->weight;
    stride = step->stride * (weight / largest);
  }
  return stride;
}

/* Write the weights of all digits that a dimension has in either plan, the largest first, and return their number. Return -1 if a weight does not
 * divide the next larger one. */
SETT_INLINE int settp_tile_weights(const sett_tile_plan *order, const sett_tile_plan *other, int dim, int64_t *weight) {
  int count = 0, i, j, k;
  for (i = 0; i < order->steps + other->steps; ++i) {
    const sett_tile_step *step = i < order->steps ? &order->step[i] : &other->step[i - order->steps];
    if (step->into != dim || step->weight == INT64_MAX) continue;
    for (j = 0; j < count && weight[j] > step->weight; ++j) {}
    if (j < count && weight[j] == step->weight) continue;
    for (k = count++; k > j; --k) weight[k] = weight[k - 1];
    weight[j] = step->weight;
  }
  for (i = 0; i + 1 < count; ++i)
    if (weight[i] % weight[i + 1] != 0) return -1;
  return count;
}

/* Return 1 if a tile of the plan joins dimensions (* in its text). */
SETT_INLINE int settp_tile_is_tied(const sett_tile_plan *plan) {
  int i, tied = plan->coupled;
  for (i = 0; i < plan->steps; ++i) tied |= plan->step[i].dim >= 0 && plan->step[i].dim != plan->step[i].into;
  return tied;
}

/* Split the indices of all dimensions into digits that both plans have. Write a loop for each digit, the smallest stride in `order` first. Return the
 * number of loops, which is at least 1, or 0 if there are no such digits. */
SETT_INLINE int settp_tile_common_loops(const sett_tile_plan *order, const sett_tile_plan *other, const int64_t *dims,
                                        settp_tile_loop *loop) {
  settp_tile_loop none = {0, 1, 1, 1, 1, 0};
  int64_t weight[SETTP_TILE_LOOPS];
  int d, i, j, loops = 0;
  if (settp_tile_is_tied(order) || settp_tile_is_tied(other)) return 0;
  for (d = 0; d < order->rank; ++d) {
    int count = settp_tile_weights(order, other, d, weight);
    if (count < 0) return 0;
    for (i = 0; i < count; ++i) {
      settp_tile_loop one = none;
      one.dim = d;
      one.block = weight[i];
      one.count = ((i == 0 ? dims[d] : weight[i - 1]) - 1) / weight[i] + 1;
      one.at = settp_tile_digit_stride(order, d, weight[i]);
      one.other = settp_tile_digit_stride(other, d, weight[i]);
      for (j = loops++; j > 0 && loop[j - 1].at > one.at; --j) loop[j] = loop[j - 1];
      loop[j] = one;
    }
  }
  if (loops == 0) loop[loops++] = none;
  return loops;
}

/* Write the sizes of a plan's dimensions in logical order. */
SETT_INLINE void settp_tile_dims_of(const sett_tile_plan *plan, int64_t *dims) {
  int i;
  for (i = 0; i < plan->rank; ++i)
    dims[plan->minor_to_major[plan->rank - 1 - i]] = plan->list[0][i + (plan->tiles > 0 ? plan->ones[0] : 0)];
}

SETT_PUBLIC sett_tile_iterator sett_tile_iterate(const sett_tile_plan *order, const sett_tile_plan *other) {
  sett_tile_iterator out;
  int64_t dims[SETT_TILE_MAX_RANK];
  int d;
  out.error = order->error ? order->error : other->error;
  out.loops = 0;
  out.state = SETTP_TILE_BEHIND;
  out.at = out.other = out.gap = SETT_TILE_UNKNOWN;
  out.run = out.positions = out.first = out.last = 0;
  out.at_stride = out.other_stride = 1;
  out.order_plan = order;
  out.other_plan = other;
  for (d = 0; d < SETT_TILE_MAX_RANK; ++d) {
    out.index[d] = SETT_TILE_UNKNOWN;
    out.dims[d] = dims[d] = 1;
  }
  if (!out.error && order->rank != other->rank) out.error = SETT_TILE_ERROR_DIMS;
  if (out.error) return out;
  settp_tile_dims_of(order, out.dims);
  settp_tile_dims_of(other, dims);
  for (d = 0; d < order->rank; ++d)
    if (out.dims[d] != dims[d]) out.error = SETT_TILE_ERROR_DIMS;
  if (out.error) return out;
  out.loops = settp_tile_common_loops(order, other, dims, out.loop);
  if (out.loops > 0) {
    out.at_stride = out.loop[0].at;
    out.other_stride = out.loop[0].other;
  }
  out.positions = order->positions;
  sett_tile_slice(&out, 0, out.positions);
  return out;
}

SETT_PUBLIC void sett_tile_slice(sett_tile_iterator *iterator, int64_t first, int64_t last) {
  if (iterator->error) return;
  iterator->last = last < 0 ? 0 : last < iterator->positions ? last : iterator->positions;
  iterator->first = first < 0 ? 0 : first < iterator->last ? first : iterator->last;
  iterator->state = SETTP_TILE_BEFORE;
  iterator->run = 0;
}

/* Go to the next element of layouts without common digits. Each position is computed from the plans. */
SETT_INLINE int settp_tile_next_position(sett_tile_iterator *iterator) {
  int64_t behind = iterator->state == SETTP_TILE_BEFORE ? iterator->first : iterator->at + 1;
  int d;
  if (iterator->state == SETTP_TILE_BEHIND) return 0;
  iterator->state = SETTP_TILE_INSIDE;
  iterator->run = 1;
  for (iterator->at = behind; iterator->at < iterator->last; ++iterator->at) {
    if (!sett_tile_element(iterator->order_plan, iterator->at, iterator->index)) continue;
    iterator->other = sett_tile_position(iterator->other_plan, iterator->index);
    iterator->gap = iterator->at - behind;
    return 1;
  }
  iterator->state = SETTP_TILE_BEHIND;
  iterator->gap = iterator->last - behind;
  iterator->other = SETT_TILE_UNKNOWN;
  iterator->run = 0;
  for (d = 0; d < SETT_TILE_MAX_RANK; ++d) iterator->index[d] = SETT_TILE_UNKNOWN;
  return 0;
}

SETT_PUBLIC int sett_tile_advance_run(sett_tile_iterator *iterator) {
  if (iterator->loops == 0) return settp_tile_next_position(iterator);
  return settp_tile_next_run(iterator->loop, iterator->loops, iterator->first, iterator->last, &iterator->state,
                             iterator->index, iterator->dims, SETT_TILE_MAX_RANK, &iterator->at, &iterator->other,
                             &iterator->run, &iterator->gap);
}

SETT_PUBLIC int sett_tile_advance(sett_tile_iterator *iterator) {
  if (iterator->run <= 1) return sett_tile_advance_run(iterator);
  settp_tile_turn(&iterator->loop[0], 1, iterator->index, iterator->dims, SETT_TILE_MAX_RANK, &iterator->at,
                  &iterator->other);
  --iterator->run;
  iterator->gap = iterator->at_stride - 1;
  return 1;
}

SETT_PUBLIC sett_tile_device_iterator sett_tile_device_iterate(const sett_tile_plan *order,
                                                               const sett_tile_plan *other) {
  sett_tile_iterator host = sett_tile_iterate(order, other);
  settp_tile_loop none = {0, 1, 1, 1, 1, 0};
  sett_tile_device_iterator out;
  int i;
  out.error = host.error;
  if (!out.error && (order->rank > SETT_TILE_DEVICE_RANK || host.loops > SETT_TILE_DEVICE_LOOPS))
    out.error = SETT_TILE_ERROR_DEVICE;
  if (!out.error && host.loops == 0) out.error = SETT_TILE_ERROR_DIVIDE;
  out.state = out.error ? SETTP_TILE_BEHIND : host.state;
  out.at = host.at;
  out.other = host.other;
  out.run = host.run;
  out.at_stride = host.at_stride;
  out.other_stride = host.other_stride;
  out.gap = host.gap;
  out.positions = host.positions;
  out.first = host.first;
  out.last = host.last;
  for (i = 0; i < SETT_TILE_DEVICE_RANK; ++i) {
    out.index[i] = SETT_TILE_UNKNOWN;
    out.dims[i] = i < SETT_TILE_MAX_RANK ? host.dims[i] : 1;
  }
  for (i = 0; i < SETT_TILE_DEVICE_LOOPS; ++i) out.loop[i] = i < host.loops ? host.loop[i] : none;
  return out;
}

/* ---- bodies: sizes and places in bytes --------------------------------------------------------------------------- */

SETT_PUBLIC double sett_tile_padding(const sett_tile_shape *shape) {
  int64_t positions = sett_tile_positions(shape), elements;
  sett_tile_shape part = sett_tile_part_shape(shape);
  elements = sett_tile_elements(&part);
  if (positions < 0 || elements < 0) return SETT_TILE_UNKNOWN;
  return positions > 0 ? (double)(positions - elements) / (double)positions : 0;
}

SETT_PUBLIC sett_tile_place sett_tile_place_of(const sett_tile_shape *shape, int64_t position) {
  int64_t bits = sett_tile_bits(shape), rest = position % 8;
  sett_tile_place place;
  /* whole bytes are computed separately, because rest * bits may overflow */
  place.bits = bits;
  place.byte = position / 8 * bits + rest * (bits / 8) + rest * (bits % 8) / 8;
  place.shift = (int32_t)(rest * (bits % 8) % 8);
  if (bits < 0) {
    place.byte = SETT_TILE_UNKNOWN;
    place.shift = 0;
  }
  return place;
}

SETT_PUBLIC int64_t sett_tile_data_positions(const sett_tile_plan *plan) {
  int64_t index[SETT_TILE_MAX_RANK], last = 0, position;
  int i, at, first, down;
  if (plan->error) return SETT_TILE_UNKNOWN;
  if (plan->coupled) {
    for (position = plan->span; position > 0 && plan->span - position < SETT_TILE_WALK / 64; --position)
      if (sett_tile_element(plan, position - 1, index)) return position;
    return SETT_TILE_UNKNOWN;
  }
  if (plan->span == 0) return 0;
  for (i = plan->steps; i > 0;
       /* steps `first` to i - 1 have the digits of one dimension: find the largest possible sum of digit * stride */
       i = first) {
    /* best[at] is the largest sum of digit * stride over the steps `at` to i - 1 */
    int64_t best[SETT_TILE_MAX_LIST + 1], size = 1;
    for (first = i - 1; first > 0 && plan->step[first - 1].into == plan->step[first].into;) --first;
    for (at = first; at < i; ++at) size *= plan->step[at].size;
    best[i] = 0;
    for (at = i; at-- > first;) {
      int64_t value = (at == first || plan->step[at - 1].weight == INT64_MAX ? size : plan->step[at - 1].weight) - 1,
              sum = 0;
      best[at] = 0;
      /* A number that is at most `value` is `value` itself, or it has the same digits down to a digit that is lower. In the second case, take that
       * digit lower by 1, and add best[down + 1] for the steps below it. */
      for (down = at; down < i; ++down) {
        const sett_tile_step *step = &plan->step[down];
        int64_t digit = value / step->weight;
        if (digit > 0 && sum + (digit - 1) * step->stride + best[down + 1] > best[at])
          best[at] = sum + (digit - 1) * step->stride + best[down + 1];
        sum += digit * step->stride;
        value -= digit * step->weight;
      }
      if (sum > best[at]) best[at] = sum;
    }
    last += best[first];
  }
  return last + 1;
}

SETT_PUBLIC int sett_tile_stage(const sett_tile_plan *plan, int tile, int stage, int64_t *dims) {
  const int64_t *list, *made;
  int i, at = 0, n, k, ones, count = 0;
  if (plan->error || tile < 0 || tile >= plan->tiles || stage < SETT_TILE_COMBINED || stage > SETT_TILE_TRANSPOSED)
    return 0;
  list = plan->list[tile];
  n = plan->length[tile];
  k = plan->tile_rank[tile];
  /* number of dimensions of size 1 that the next tile puts in front of the list */
  ones = tile + 1 < plan->tiles ? plan->ones[tile + 1] : 0;
  made = plan->list[tile + 1] + ones;
  if (stage == SETT_TILE_TRANSPOSED) {
    for (i = 0; i < plan->length[tile + 1] - ones; ++i) dims[i] = made[i];
    return plan->length[tile + 1] - ones;
  }
  for (i = 0; i < tile; ++i) at += plan->tile_rank[i];
  for (i = 0; i < n - k; ++i) dims[count++] = list[i];
  made += count;
  for (i = 0; i < k; ++i) {
    int64_t size = plan->tile[at + i], entry = list[n - k + i];
    for (; size == SETT_TILE_COMBINE; size = plan->tile[at + i]) entry *= list[n - k + ++i];
    dims[count++] = stage == SETT_TILE_PADDED ? *made * size : stage == SETT_TILE_RESHAPED ? *made : entry;
    if (stage == SETT_TILE_RESHAPED) dims[count++] = size;
    ++made;
  }
  return count;
}

/* ---- bodies: splits --------------------------------------------------------------------------------------------- */

SETT_PUBLIC sett_tile_shape sett_tile_part_shape(const sett_tile_shape *shape) {
  sett_tile_shape part = *shape;
  settp_tile_part(shape, part.dims);
  part.splits = 0;
  return part;
}

SETT_PUBLIC int64_t sett_tile_parts(const sett_tile_shape *shape) {
  int64_t parts = 1;
  int i;
  if (shape->error) return SETT_TILE_UNKNOWN;
  for (i = 0; i < shape->splits; ++i) parts *= shape->split_count[i] + 1;
  return parts;
}

SETT_PUBLIC int64_t sett_tile_part(const sett_tile_shape *shape, const int64_t *index, int64_t *within) {
  int64_t part = 0;
  int i, j, at = 0, inside = !shape->error;
  for (i = 0; i < shape->rank; ++i) inside &= index[i] >= 0 && (shape->dims[i] < 0 || index[i] < shape->dims[i]);
  for (i = 0; i < shape->rank; ++i) within[i] = inside ? index[i] : (int64_t)SETT_TILE_UNKNOWN;
  if (!inside) return SETT_TILE_UNKNOWN;
  for (i = 0; i < shape->splits; at += shape->split_count[i++]) {
    int d = shape->minor_to_major[shape->rank - 1 - shape->split_dim[i]];
    for (j = 0; j < shape->split_count[i] && index[d] >= shape->split[at + j]; ++j)
      within[d] = index[d] - shape->split[at + j];
    part = part * (shape->split_count[i] + 1) + j;
  }
  return part;
}

SETT_INLINE int settp_tile_whole(const sett_tile_shape *shape, int64_t part, const int64_t *within, int64_t *index) {
  int64_t parts = sett_tile_parts(shape), back[SETT_TILE_MAX_RANK];
  int64_t whole = part;
  int i, at = 0;
  if (part < 0 || part >= parts) return 0;
  for (i = 0; i < shape->rank; ++i) index[i] = within[i];
  for (i = 0; i < shape->splits; ++i) at += shape->split_count[i];
  for (i = shape->splits; i-- > 0;) {
    int d = shape->minor_to_major[shape->rank - 1 - shape->split_dim[i]];
    int64_t which = part % (shape->split_count[i] + 1);
    part /= shape->split_count[i] + 1;
    at -= shape->split_count[i];
    if (which > 0 && (within[d] < 0 || within[d] > INT64_MAX - shape->split[at + which - 1])) return 0;
    if (which > 0) index[d] = within[d] + shape->split[at + which - 1];
  }
  /* a part may be smaller than the largest one, so the index may be outside it */
  return sett_tile_part(shape, index, back) == whole;
}

SETT_PUBLIC int sett_tile_whole(const sett_tile_shape *shape, int64_t part, const int64_t *within, int64_t *index) {
  int i;
  if (settp_tile_whole(shape, part, within, index)) return 1;
  for (i = 0; i < shape->rank; ++i) index[i] = SETT_TILE_UNKNOWN;
  return 0;
}

/* ---- bodies: relations ------------------------------------------------------------------------------------------ */

/* The position of element k (in row-major order) by the digits of k. k is the sum of digit * weight; the digits of larger weights are taken first, each
 * as large as possible. The position is the sum of digit * stride. Weights descend. Because of partial tiles, a weight need not divide the next larger
 * weight. */
typedef struct settp_tile_chain {
  int32_t count;
  int64_t elements;
  int64_t weight[SETT_TILE_MAX_LIST], stride[SETT_TILE_MAX_LIST];
} settp_tile_chain;

/* Compute the chain of a plan: the position of element k as a sum of digits of k. Return 0 if there is none: the plan is coupled (it has no steps),
 * or * joins dimensions that are not adjacent in logical order. */
SETT_INLINE int settp_tile_chain_of(const sett_tile_shape *shape, const sett_tile_plan *plan, settp_tile_chain *chain) {
  int64_t row[SETT_TILE_MAX_RANK], size = 1;
  int i, j, kept = 0;
  chain->count = 0;
  for (i = shape->rank; i-- > 0; size *= shape->dims[i]) row[i] = size;
  chain->elements = size;
  if (plan->coupled) return 0;
  for (i = 0; i < plan->steps; ++i) {
    const sett_tile_step *step = &plan->step[i];
    int64_t weight;
    if (step->dim >= 0 && step->dim != step->into && step->size > 1) {
      /* dimensions that * joins must be adjacent in row-major order, where dimensions of size 1 do not count */
      for (j = i + 1; plan->step[j].size == 1 && plan->step[j].dim != plan->step[j].into; ++j)
        ;
      if (plan->step[j].size > 1 && row[step->dim] != row[plan->step[j].dim] * plan->step[j].size) return 0;
      if (plan->step[j].size == 1 && row[step->dim] != row[plan->step[j].dim]) return 0;
    }
    if (step->weight == INT64_MAX) continue;
    weight = step->weight * row[step->into];
    for (j = chain->count++; j > 0 && chain->weight[j - 1] < weight; --j) {
      chain->weight[j] = chain->weight[j - 1];
      chain->stride[j] = chain->stride[j - 1];
    }
    chain->weight[j] = weight;
    chain->stride[j] = step->stride;
  }
  for (i = 0; i < chain->count; ++i) {
    while (kept > 0 &&
           settp_tile_continues(chain->weight[kept - 1], chain->stride[kept - 1], chain->weight[i], chain->stride[i]))
      --kept;
    chain->weight[kept] = chain->weight[i];
    chain->stride[kept++] = chain->stride[i];
  }
  chain->count = kept;
  return 1;
}

/* Return the position of element k. *run receives the length of the run from k on: from one element of a run to the next, the position grows by the
 * most minor stride. */
SETT_INLINE int64_t settp_tile_chain_at(const settp_tile_chain *chain, int64_t k, int64_t *run) {
  int64_t position = 0, rest = k;
  int i;
  *run = chain->elements - k;
  for (i = 0; i < chain->count; ++i) {
    int64_t digit = rest / chain->weight[i];
    rest -= digit * chain->weight[i];
    position += digit * chain->stride[i];
    if (i + 1 < chain->count && chain->weight[i] - rest < *run) *run = chain->weight[i] - rest;
  }
  return position;
}

/* Return the answer that has this reason: yes, no or not decided. */
SETT_INLINE sett_tile_answer settp_tile_say(int reason, int64_t a, int64_t b) {
  sett_tile_answer answer;
  answer.yes = reason == SETT_TILE_YES;
  answer.no = reason > SETT_TILE_YES;
  answer.reason = reason;
  answer.element = SETT_TILE_UNKNOWN;
  answer.a = a;
  answer.b = b;
  return answer;
}

/* If element k has different positions in `a` and `b`, set the answer and return 1. */
SETT_INLINE int settp_tile_differ(const settp_tile_chain *a, const settp_tile_chain *b, int64_t k,
                                  sett_tile_answer *answer) {
  int64_t run, at, there;
  if (k < 0 || k >= a->elements) return 0;
  at = settp_tile_chain_at(a, k, &run);
  there = settp_tile_chain_at(b, k, &run);
  if (at == there) return 0;
  *answer = settp_tile_say(SETT_TILE_NO_POSITION, at, there);
  answer->element = k;
  return 1;
}

/* Compare two chains with equally many elements. A chain gives the position of element k as a sum of digits of k. The answer is yes if both have the
 * same digits. Otherwise compare the elements at which a digit changes, and then every run of both chains, up to SETT_TILE_WALK runs. */
SETT_INLINE sett_tile_answer settp_tile_compare(const settp_tile_chain *a, const settp_tile_chain *b) {
  sett_tile_answer answer = settp_tile_say(SETT_TILE_YES, 0, 0);
  int64_t k, steps = 0;
  int i, j, same = a->count == b->count;
  for (i = 0; same && i < a->count; ++i) same = a->weight[i] == b->weight[i] && a->stride[i] == b->stride[i];
  if (same) return answer;
  for (i = a->count + b->count; i-- > 0;) {
    int64_t weight = i < a->count ? a->weight[i] : b->weight[i - a->count];
    if (settp_tile_differ(a, b, weight, &answer) || settp_tile_differ(a, b, weight - 1, &answer)) return answer;
    for (j = 0; j < a->count + b->count; ++j) {
      int64_t other = j < a->count ? a->weight[j] : b->weight[j - a->count];
      if (other < a->elements - weight && settp_tile_differ(a, b, weight + other, &answer)) return answer;
    }
  }
  for (k = 0; k < a->elements; ++steps) {
    int64_t run, other;
    if (steps == SETT_TILE_WALK) return settp_tile_say(SETT_TILE_UNDECIDED, 0, 0);
    settp_tile_chain_at(a, k, &run);
    settp_tile_chain_at(b, k, &other);
    if (settp_tile_differ(a, b, k, &answer) || settp_tile_differ(a, b, k + 1, &answer)) return answer;
    /* the positions of a run are linear, so comparing two elements decides the run. Element k + 1 may already be in the next run */
    k += other < run ? other : run;
  }
  return answer;
}

/* Advance to the next index in row-major order. Return 0 after the last. */
SETT_INLINE int settp_tile_advance(const sett_tile_shape *shape, int64_t *index) {
  int i;
  for (i = shape->rank; i-- > 0;) {
    if (++index[i] < shape->dims[i]) return 1;
    index[i] = 0;
  }
  return 0;
}

/* Compare the positions of the elements one by one. This serves layouts whose positions are not a sum of digits of the element's number, and the parts
 * of split arrays. */
SETT_INLINE sett_tile_answer settp_tile_enumerate(const sett_tile_shape *a, const sett_tile_shape *b) {
  int64_t i[SETT_TILE_MAX_RANK], j[SETT_TILE_MAX_RANK], within[SETT_TILE_MAX_RANK], k = 0;
  sett_tile_shape part_a = sett_tile_part_shape(a), part_b = sett_tile_part_shape(b);
  sett_tile_plan plan_a = sett_tile_prepare(&part_a), plan_b = sett_tile_prepare(&part_b);
  int d;
  for (d = 0; d < SETT_TILE_MAX_RANK; ++d) i[d] = j[d] = 0;
  for (;;) {
    int64_t one = sett_tile_part(a, i, within), at = sett_tile_position(&plan_a, within);
    int64_t other = sett_tile_part(b, j, within), there = sett_tile_position(&plan_b, within);
    if (at != there || one != other) {
      int same_part = one == other;
      sett_tile_answer answer = settp_tile_say(same_part ? SETT_TILE_NO_POSITION : SETT_TILE_NO_PART,
                                               same_part ? at : one, same_part ? there : other);
      answer.element = k;
      return answer;
    }
    if (!settp_tile_advance(a, i)) return settp_tile_say(SETT_TILE_YES, 0, 0);
    settp_tile_advance(b, j);
    if (++k == SETT_TILE_WALK) return settp_tile_say(SETT_TILE_UNDECIDED, 0, 0);
  }
}

/* Compare the positions of element k in both shapes for all k. The shapes have equally many elements. */
SETT_INLINE sett_tile_answer settp_tile_same_positions(const sett_tile_shape *a, const sett_tile_shape *b) {
  settp_tile_chain one, other;
  sett_tile_plan plan;
  sett_tile_shape alike = *b; /* `b`, but the fields that do not affect positions are those of `a` */
  int chains;
  alike.kind = a->kind;
  alike.type = a->type;
  alike.packed = a->packed;
  alike.dynamic = a->dynamic;
  if (sett_tile_elements(a) == 0 || sett_tile_equal(a, &alike)) return settp_tile_say(SETT_TILE_YES, 0, 0);
  if (a->splits > 0 || b->splits > 0) return settp_tile_enumerate(a, b);
  plan = sett_tile_prepare(a);
  chains = settp_tile_chain_of(a, &plan, &one);
  plan = sett_tile_prepare(b);
  chains &= settp_tile_chain_of(b, &plan, &other);
  return chains ? settp_tile_compare(&one, &other) : settp_tile_enumerate(a, b);
}

SETT_INLINE int settp_tile_is_sized(const sett_tile_shape *shape) {
  return !shape->error && (shape->kind == SETT_TILE_ARRAY || shape->kind == SETT_TILE_BUFFER) &&
         sett_tile_bytes(shape) >= 0;
}

/* Compare everything that can be compared without visiting elements: their number, type and bits, the memory space, the prefix, the number of
 * parts, the size of the memory. Write the answer. Return 1 if it is final: a comparison failed, or a shape has no size. Return 0 if the positions of
 * the elements must be compared, too. `flags` says what must be equal (SETT_TILE_SAME_BITS, ..). If the elements of the two shapes differ in size and
 * `flags` allows it, the memory is measured in positions instead of bytes. */
SETT_INLINE int settp_tile_counts_differ(const sett_tile_shape *a, const sett_tile_shape *b, int flags,
                                         sett_tile_answer *answer) {
  int64_t x = 0, y = 0;
  int reason = SETT_TILE_YES;
  if (!settp_tile_is_sized(a) || !settp_tile_is_sized(b)) reason = SETT_TILE_UNSIZED;
  else if ((x = sett_tile_elements(a)) != (y = sett_tile_elements(b))) reason = SETT_TILE_NO_ELEMENTS;
  else if ((x = a->space) != (y = b->space)) reason = SETT_TILE_NO_SPACE;
  else if ((x = a->prefix) != (y = b->prefix)) reason = SETT_TILE_NO_PREFIX;
  else if ((x = a->type) != (y = b->type) && flags == SETT_TILE_SAME_TYPE) reason = SETT_TILE_NO_TYPE;
  else if ((x = sett_tile_bits(a)) != (y = sett_tile_bits(b)) && flags != SETT_TILE_ANY_TYPE)
    reason = SETT_TILE_NO_BITS;
  else if ((x = sett_tile_parts(a)) != (y = sett_tile_parts(b))) reason = SETT_TILE_NO_PARTS;
  else if (sett_tile_bits(a) == sett_tile_bits(b) && (x = sett_tile_bytes(a)) != (y = sett_tile_bytes(b)))
    reason = SETT_TILE_NO_BYTES;
  else if (sett_tile_bits(a) != sett_tile_bits(b) && (x = sett_tile_positions(a)) != (y = sett_tile_positions(b)))
    reason = SETT_TILE_NO_POSITIONS;
  *answer = settp_tile_say(reason, reason == SETT_TILE_UNSIZED ? 0 : x, reason == SETT_TILE_UNSIZED ? 0 : y);
  return reason != SETT_TILE_YES;
}

SETT_INLINE sett_tile_answer settp_tile_same(const sett_tile_shape *a, const sett_tile_shape *b, int flags) {
  sett_tile_answer answer;
  return settp_tile_counts_differ(a, b, flags, &answer) ? answer : settp_tile_same_positions(a, b);
}

SETT_PUBLIC sett_tile_answer sett_tile_same_bytes(const sett_tile_shape *a, const sett_tile_shape *b) {
  return settp_tile_same(a, b, SETT_TILE_SAME_BITS);
}

SETT_PUBLIC sett_tile_answer sett_tile_reshape_is_bitcast(const sett_tile_shape *from, const sett_tile_shape *to,
                                                          int types) {
  return settp_tile_same(from, to, types);
}

/* Return 1 if `permutation` contains each of 0 .. rank - 1 once. */
SETT_INLINE int settp_tile_is_permutation(const int32_t *permutation, int rank) {
  uint32_t seen = 0;
  int i;
  for (i = 0; i < rank; ++i) {
    if (permutation[i] < 0 || permutation[i] >= rank || (seen >> permutation[i] & 1)) return 0;
    seen |= (uint32_t)1 << permutation[i];
  }
  return 1;
}

SETT_PUBLIC sett_tile_answer sett_tile_transpose_is_bitcast(const sett_tile_shape *from, const sett_tile_shape *to,
                                                            const int32_t *permutation, int types) {
  sett_tile_shape turned;
  int i;
  if (!settp_tile_is_sized(from) || !settp_tile_is_sized(to)) return settp_tile_say(SETT_TILE_UNSIZED, 0, 0);
  if (from->rank != to->rank) return settp_tile_say(SETT_TILE_NO_RANK, from->rank, to->rank);
  if (!settp_tile_is_permutation(permutation, from->rank)) return settp_tile_say(SETT_TILE_NO_PERMUTATION, 0, 0);
  turned = sett_tile_permute(from, permutation);
  for (i = 0; i < to->rank; ++i)
    if (turned.dims[i] != to->dims[i]) return settp_tile_say(SETT_TILE_NO_DIM, turned.dims[i], to->dims[i]);
  return settp_tile_same(&turned, to, types);
}

/* Return the position of the element whose index is 1 in this dimension and 0 in all others. *part receives the part that holds this element. `plan` is
 * the plan of one part. */
SETT_INLINE int64_t settp_tile_unit(const sett_tile_shape *shape, const sett_tile_plan *plan, int dim, int64_t *part) {
  int64_t index[SETT_TILE_MAX_RANK], within[SETT_TILE_MAX_RANK];
  int i;
  for (i = 0; i < plan->rank; ++i) index[i] = i == dim;
  *part = sett_tile_part(shape, index, within);
  return sett_tile_position(plan, within);
}

SETT_PUBLIC sett_tile_answer sett_tile_find_transpose(const sett_tile_shape *from, const sett_tile_shape *to,
                                                      int32_t *permutation, int types) {
  sett_tile_shape one = sett_tile_part_shape(from), other = sett_tile_part_shape(to);
  sett_tile_plan plan = sett_tile_prepare(&one), there = sett_tile_prepare(&other);
  sett_tile_answer answer;
  /* initialised because g++ -O3 does not see that it is written before it is read */
  int32_t found[SETT_TILE_MAX_RANK] = {0};
  uint32_t used = 0;
  int i, j;
  for (i = 0; i < to->rank; ++i) permutation[i] = SETT_TILE_UNKNOWN;
  if (plan.error || there.error) return settp_tile_say(SETT_TILE_UNSIZED, 0, 0);
  if (from->rank != to->rank) return settp_tile_say(SETT_TILE_NO_RANK, from->rank, to->rank);
  if (settp_tile_counts_differ(from, to, types, &answer)) return answer;
  /* Each dimension has an element whose index is 1 in this dimension and 0 in the others. Two elements never have the same position, so the position
   * of this element identifies the dimension. Dimensions of `from` and `to` with the same position are paired. Dimensions of size 1 keep their order. */
  for (i = 0; i < to->rank; ++i) {
    for (j = 0; j < from->rank; ++j) {
      int64_t part, other_part;
      if ((used >> j & 1) || from->dims[j] != to->dims[i]) continue;
      if (to->dims[i] < 2 || plan.span == 0) break;
      if (settp_tile_unit(from, &plan, j, &part) == settp_tile_unit(to, &there, i, &other_part) && part == other_part)
        break;
    }
    if (j == from->rank) return settp_tile_say(SETT_TILE_NO_TRANSPOSE, 0, 0);
    found[i] = j;
    used |= (uint32_t)1 << j;
  }
  answer = sett_tile_transpose_is_bitcast(from, to, found, types);
  for (i = 0; i < to->rank && answer.yes; ++i) permutation[i] = found[i];
  return answer;
}

SETT_PUBLIC sett_tile_decomposition sett_tile_decompose(const sett_tile_shape *from, const sett_tile_shape *to) {
  sett_tile_decomposition parts;
  int i, decided;
  for (i = 0; i < SETT_TILE_MAX_RANK; ++i) parts.first[i] = parts.second[i] = i;
  parts.before = *from;
  parts.after = *to;
  parts.form = SETT_TILE_RESHAPE;
  parts.answer = sett_tile_same_bytes(from, to);
  if (parts.answer.yes) return parts;
  if (parts.answer.reason == SETT_TILE_NO_POSITION || parts.answer.reason == SETT_TILE_NO_PART ||
      parts.answer.reason == SETT_TILE_UNDECIDED) {
    sett_tile_answer answer = sett_tile_find_transpose(from, to, parts.first, SETT_TILE_SAME_BITS);
    decided = parts.answer.no && answer.no;
    parts.form = SETT_TILE_TRANSPOSE;
    if (answer.yes) {
      parts.before = sett_tile_permute(from, parts.first);
      parts.answer = answer;
      return parts;
    }
    for (i = 0; i < from->rank; ++i) parts.first[i] = from->minor_to_major[from->rank - 1 - i];
    for (i = 0; i < to->rank; ++i) parts.second[to->minor_to_major[to->rank - 1 - i]] = i;
    parts.form = SETT_TILE_TRANSPOSE_RESHAPE_TRANSPOSE;
    parts.before = sett_tile_descending(from);
    parts.after = sett_tile_descending(to);
    parts.answer = sett_tile_same_bytes(&parts.before, &parts.after);
    if (parts.answer.yes) return parts;
    if (!decided) parts.answer = settp_tile_say(SETT_TILE_UNDECIDED, 0, 0);
  }
  parts.form = SETT_TILE_NO_FORM;
  return parts;
}

SETT_PUBLIC sett_tile_answer sett_tile_tiling_is_noop(const sett_tile_shape *shape) {
  sett_tile_shape plain = *shape;
  plain.tiles = 0;
  return sett_tile_same_bytes(shape, &plain);
}

SETT_PUBLIC sett_tile_shape sett_tile_align(const sett_tile_shape *from, int rank, const int64_t *dims,
                                            sett_tile_answer *answer) {
  sett_tile_shape to = *from, best;
  sett_tile_plan plan = sett_tile_prepare(from);
  int64_t row = 1, key[SETT_TILE_MAX_RANK], tried = 0;
  int32_t order[SETT_TILE_MAX_RANK], slot[SETT_TILE_MAX_RANK];
  int i, j, depth, reach = 0, decided = 1;
  *answer = settp_tile_say(plan.error == SETT_TILE_ERROR_SPLIT ? SETT_TILE_SPLIT : SETT_TILE_UNSIZED, 0, 0);
  if (plan.error || rank < 0 || rank > SETT_TILE_MAX_RANK) return to;
  to.rank = rank;
  to.dynamic = 0;
  for (i = 0; i < rank; ++i) {
    to.dims[i] = dims[i];
    to.minor_to_major[i] = rank - 1 - i;
    if (dims[i] < 0) return to;
  }
  best = to;
  if (sett_tile_elements(&to) != sett_tile_elements(from)) {
    *answer = settp_tile_say(SETT_TILE_NO_ELEMENTS, sett_tile_elements(from), sett_tile_elements(&to));
    return to;
  }
  if (plan.span == 0) {
    *answer = sett_tile_same_bytes(from, &to);
    return to;
  }
  /* Sort the dimensions by the distance in `from` between adjacent elements, the smallest first. Dimensions of size 1 are the most major. */
  for (i = rank; i-- > 0; row *= dims[i]) {
    int64_t index[SETT_TILE_MAX_RANK], k = row;
    for (j = from->rank; j-- > 0; k /= from->dims[j]) index[j] = k % from->dims[j];
    key[i] = dims[i] > 1 ? sett_tile_position(&plan, index) : INT64_MAX;
  }
  for (i = 0; i < rank; ++i) {
    int d = rank - 1 - i;
    for (j = i; j > 0 && key[order[j - 1]] > key[d]; --j) order[j] = order[j - 1];
    order[j] = d;
  }
  for (i = 0; i < from->tiles; ++i)
    if (from->tile_rank[i] > reach) reach = from->tile_rank[i];
  if (reach > rank) reach = rank;
  /* Without tiles, only the order in order[] is possible. Tiles change the `reach` most minor dimensions. So every list of `reach` dimensions is tried
   * in their place; the other dimensions follow as in order[]. slot[p] is the index in order[] of the p-th most minor dimension. */
  for (i = 0; i < reach; ++i) slot[i] = -1;
  for (depth = 0;;) {
    if (depth == reach) {
      uint32_t taken = 0;
      int count = reach;
      for (i = 0; i < reach; ++i) {
        to.minor_to_major[i] = order[slot[i]];
        taken |= (uint32_t)1 << slot[i];
      }
      for (i = 0; i < rank; ++i)
        if (!(taken >> i & 1)) to.minor_to_major[count++] = order[i];
      *answer = sett_tile_same_bytes(from, &to);
      if (answer->yes) return to;
      if (++tried == 1) best = to;
      decided &= answer->no && tried < SETT_TILE_ORDERS;
      if (!decided) *answer = settp_tile_say(SETT_TILE_UNDECIDED, 0, 0);
      if (tried == SETT_TILE_ORDERS) return best;
      if (reach == 0) return best;
      --depth;
    }
    for (
        ;
        /* choose for this slot the next dimension that no lower slot has. Dimensions of size 1 that follow each other are used in their order */
        ;) {
      int again = 0;
      ++slot[depth];
      for (i = 0; i < depth; ++i) again |= slot[i] == slot[depth];
      if (slot[depth] < rank && !again && dims[order[slot[depth]]] == 1)
        for (j = slot[depth] - 1; j >= 0 && dims[order[j]] == 1; --j) {
          int below = 0;
          for (i = 0; i < depth; ++i) below |= slot[i] == j;
          again |= !below;
        }
      if (slot[depth] >= rank || !again) break;
    }
    if (slot[depth] < rank) {
      if (++depth < reach) slot[depth] = -1;
      continue;
    }
    /* no layout fits. The answer is "not decided" if one of the layouts was not decided; otherwise it is the answer for the last layout */
    if (depth == 0) return best;
    --depth;
  }
}

SETT_PUBLIC sett_tile_shape sett_tile_permute(const sett_tile_shape *shape, const int32_t *permutation) {
  sett_tile_shape to = *shape;
  int i, j;
  if (shape->error) return to;
  if (!settp_tile_is_permutation(permutation, shape->rank)) {
    to.error = SETT_TILE_ERROR_PERMUTATION;
    return to;
  }
  to.dynamic = 0;
  for (i = 0; i < shape->rank; ++i) {
    to.dims[i] = shape->dims[permutation[i]];
    to.dynamic |= (shape->dynamic >> permutation[i] & 1) << i;
    for (j = 0; j < shape->rank; ++j)
      if (shape->minor_to_major[j] == permutation[i]) to.minor_to_major[j] = i;
  }
  return to;
}

SETT_PUBLIC sett_tile_shape sett_tile_descending(const sett_tile_shape *shape) {
  int32_t permutation[SETT_TILE_MAX_RANK] = {0};
  int i;
  for (i = 0; i < shape->rank; ++i) permutation[i] = shape->minor_to_major[shape->rank - 1 - i];
  return sett_tile_permute(shape, permutation);
}

SETT_PUBLIC sett_tile_shape sett_tile_delete(const sett_tile_shape *shape, int dim) {
  sett_tile_shape to = *shape;
  int i, place = 0, count = 0, used = 0, at = 0, splits = 0;
  if (shape->error) return to;
  if (dim < 0 || dim >= shape->rank) {
    to.error = SETT_TILE_ERROR_LAYOUT_DIM;
    return to;
  }
  to.dynamic = 0;
  to.rank = shape->rank - 1;
  for (i = 0; i < shape->rank; ++i) {
    int d = shape->minor_to_major[i];
    if (d == dim) place = shape->rank - 1 - i; /* the physical index of the dimension */
    else to.minor_to_major[count++] = d - (d > dim);
  }
  for (i = 0; i < to.rank; ++i) {
    to.dims[i] = shape->dims[i + (i >= dim)];
    to.dynamic |= (shape->dynamic >> (i + (i >= dim)) & 1) << i;
  }
  to.splits = 0;
  for (i = 0; i < shape->splits; at += shape->split_count[i++]) {
    int j;
    if (shape->split_dim[i] == place) continue;
    to.split_dim[splits] = shape->split_dim[i] - (shape->split_dim[i] > place);
    to.split_count[splits++] = shape->split_count[i];
    for (j = 0; j < shape->split_count[i]; ++j) to.split[used++] = shape->split[at + j];
  }
  to.splits = splits;
  return to;
}

SETT_PUBLIC sett_tile_shape sett_tile_move(const sett_tile_shape *shape, int dim, int place) {
  sett_tile_shape to = *shape;
  int i, j, count = 0;
  if (shape->error) return to;
  if (dim < 0 || dim >= shape->rank || place < 0 || place >= shape->rank) {
    to.error = SETT_TILE_ERROR_LAYOUT_DIM;
    return to;
  }
  for (i = 0; i < shape->rank; ++i) {
    if (count == place) ++count;
    if (shape->minor_to_major[i] != dim) to.minor_to_major[count++] = shape->minor_to_major[i];
  }
  to.minor_to_major[place] = dim;
  for (i = 0; i < shape->splits; ++i) {
    int d = shape->minor_to_major[shape->rank - 1 - shape->split_dim[i]];
    for (j = 0; j < shape->rank; ++j)
      if (to.minor_to_major[j] == d) to.split_dim[i] = shape->rank - 1 - j;
  }
  return to;
}

SETT_PUBLIC int sett_tile_normal_transpose(int rank, const int64_t *dims, const int32_t *permutation, int64_t *to,
                                           int32_t *order) {
  int32_t first[SETT_TILE_MAX_RANK]; /* the first dimension of each group of merged dimensions, as an index of dims */
  int i, j, count = 0, next = -1;
  if (rank < 0 || rank > SETT_TILE_MAX_RANK) return SETT_TILE_UNKNOWN;
  if (!settp_tile_is_permutation(permutation, rank)) {
    for (i = 0; i < rank; ++i) to[i] = order[i] = SETT_TILE_UNKNOWN;
    return SETT_TILE_UNKNOWN;
  }
  for (i = 0; i < rank; ++i) {
    int from = permutation[i];
    if (dims[from] == 1) continue;
    if (from == next) {
      to[count - 1] = settp_tile_mul(to[count - 1], dims[from]);
    } else {
      first[count] = from;
      to[count++] = dims[from];
    }
    for (next = from + 1; next < rank && dims[next] == 1;) ++next;
  }
  for (i = 0; i < count; ++i)
    for (j = 0, order[i] = 0; j < count; ++j) order[i] += first[j] < first[i];
  return count;
}

SETT_PUBLIC int sett_tile_kept_dims(int rank, const int64_t *dims, int to_rank, const int64_t *to_dims, int32_t *from,
                                    int32_t *to) {
  int i = 0, j = 0, count = 0;
  int64_t product = 1, to_product = 1;
  while (i < rank && j < to_rank) {
    if (dims[i] == 1) {
      ++i;
    } else if (to_dims[j] == 1) {
      ++j;
    } else if (product == to_product && dims[i] == to_dims[j]) {
      from[count] = i++;
      to[count++] = j++;
    } else if (product <= to_product) {
      product = settp_tile_mul(product, dims[i++]);
      if (product <= 0) break;
    } else {
      to_product = settp_tile_mul(to_product, to_dims[j++]);
      if (to_product <= 0) break;
    }
  }
  return count;
}

SETT_PUBLIC int sett_tile_is_most_major(const sett_tile_shape *shape, int dim) {
  int i;
  if (shape->error) return 0;
  for (i = shape->rank; i-- > 0;) {
    if (shape->minor_to_major[i] == dim) return 1;
    if (shape->dims[shape->minor_to_major[i]] != 1) return 0;
  }
  return 0;
}

SETT_PUBLIC const char *sett_tile_reason_text(int reason) {
  switch (reason) {
#define SETTP_TILE_CASE(name, text) \
  case SETT_TILE_##name: return text;
    SETT_TILE_REASONS(SETTP_TILE_CASE)
#undef SETTP_TILE_CASE
    default: return "unknown reason";
  }
}

SETT_PUBLIC size_t sett_tile_answer_print(const sett_tile_answer *answer, char *out, size_t capacity) {
  const char *text = sett_tile_reason_text(answer->reason);
  settp_tile_writer writer;
  writer.out = out;
  writer.capacity = capacity;
  writer.used = 0;
  if (answer->no) settp_tile_puts(&writer, "no: ");
  for (; *text; ++text) {
    if (*text == '%' && text[1] == 't' && text[2] == 'a') settp_tile_puts(&writer, sett_tile_type_name((int)answer->a));
    else if (*text == '%' && text[1] == 't') settp_tile_puts(&writer, sett_tile_type_name((int)answer->b));
    else if (*text == '%')
      settp_tile_puti(&writer, text[1] == 'a' ? answer->a : text[1] == 'b' ? answer->b : answer->element);
    else settp_tile_put(&writer, *text);
    if (*text == '%') text += text[1] == 't' ? 2 : 1;
  }
  return settp_tile_finish(&writer);
}

/* ---- bodies: strides -------------------------------------------------------------------------------------------- */

/* Return 1 if the strides give a wrong position for the element at an index. *answer receives the first such element in row-major order, and in its
 * field `b` the position by the strides (INT64_MAX if it overflows). */
SETT_INLINE int settp_tile_strays(const sett_tile_shape *shape, const sett_tile_plan *plan, const int64_t *stride,
                                  const int64_t *index, sett_tile_answer *answer) {
  int64_t at = sett_tile_position(plan, index), led = 0, element = 0;
  int i;
  for (i = 0; i < shape->rank; ++i) {
    int64_t part = index[i] > 0 ? settp_tile_mul(index[i], stride[i]) : 0;
    led = part < 0 || part > INT64_MAX - led ? INT64_MAX : led + part;
    element = element * shape->dims[i] + index[i];
  }
  if (led == at) return 0; /* no element is at INT64_MAX */
  if (answer->yes || element < answer->element) {
    *answer = settp_tile_say(SETT_TILE_NO_STRIDE, at, led);
    answer->element = element;
  }
  return 1;
}

/* Check strides of a plan with steps. The steps are the digits of a dimension, or of several dimensions that a tile with a * has joined. Digits whose
 * strides continue each other are already one digit. So the strides are right everywhere if they are right at the elements where one digit is 1 and all
 * others are 0. */
SETT_INLINE sett_tile_answer settp_tile_strides_of_steps(const sett_tile_shape *shape, const sett_tile_plan *plan,
                                                         const int64_t *stride) {
  sett_tile_answer answer = settp_tile_say(SETT_TILE_YES, 0, 0);
  int i, j;
  for (i = 0; i < plan->steps; ++i) {
    int64_t index[SETT_TILE_MAX_RANK] = {0}, value = plan->step[i].weight;
    if (value == INT64_MAX) continue;
    for (j = plan->steps; j-- > 0;) {
      const sett_tile_step *step = &plan->step[j];
      if (step->into != plan->step[i].into || step->dim < 0) continue;
      index[step->dim] = value % step->size;
      value /= step->size;
    }
    settp_tile_strays(shape, plan, stride, index, &answer);
  }
  return answer;
}

/* Check strides of a coupled plan (a plan without steps). Along each dimension the layout has a period, which every tile divides. If the index grows by
 * one period, the position always grows by the same number. So the strides are right everywhere if they are right up to one period. */
SETT_INLINE sett_tile_answer settp_tile_strides_of_tiles(const sett_tile_shape *shape, const sett_tile_plan *plan,
                                                         const int64_t *stride) {
  sett_tile_answer answer = settp_tile_say(SETT_TILE_YES, 0, 0);
  sett_tile_shape box = *shape;
  int64_t index[SETT_TILE_MAX_RANK] = {0}, count = 0;
  int i;
  for (i = 0; i < shape->rank; ++i) {
    int64_t period = 1, cut = 0;
    while (period > 0 && period < shape->dims[i]) {
      index[i] = period;
      settp_tile_position_by_tiles(plan, index, &cut);
      if (cut == 1) break;
      period = settp_tile_mul(period, cut);
    }
    index[i] = 0;
    if (period > 0 && period < shape->dims[i]) box.dims[i] = period + 1;
  }
  /* test the last index first, because wrong strides usually fail there */
  for (i = 0; i < shape->rank; ++i) index[i] = box.dims[i] - 1;
  settp_tile_strays(shape, plan, stride, index, &answer);
  for (i = 0; i < shape->rank; ++i) index[i] = 0;
  do {
    if (settp_tile_strays(shape, plan, stride, index, &answer)) return answer;
    if (++count > SETT_TILE_WALK) return answer.no ? answer : settp_tile_say(SETT_TILE_UNDECIDED, 0, 0);
  } while (settp_tile_advance(&box, index));
  return answer;
}

SETT_PUBLIC sett_tile_answer sett_tile_byte_strides(const sett_tile_shape *shape, int64_t *strides) {
  sett_tile_plan plan = sett_tile_prepare(shape);
  sett_tile_answer answer = settp_tile_say(SETT_TILE_YES, 0, 0);
  int64_t bits = sett_tile_bits(shape), size = 1, part;
  int i;
  for (i = 0; i < shape->rank; ++i) strides[i] = SETT_TILE_UNKNOWN;
  if (plan.error == SETT_TILE_ERROR_SPLIT) return settp_tile_say(SETT_TILE_SPLIT, 0, 0);
  if (plan.error) return settp_tile_say(SETT_TILE_UNSIZED, 0, 0);
  if (bits % 8 != 0) return settp_tile_say(SETT_TILE_NO_WHOLE_BYTES, bits, 0);
  for (i = 0; i < shape->rank;
       ++i) { /* an empty array has no element to measure, so its strides are those of the layout without tiles */
    int dim = shape->minor_to_major[i];
    if (shape->dims[dim] > 1 && plan.span > 0) size = settp_tile_unit(shape, &plan, dim, &part);
    strides[dim] = size;
    if (shape->dims[dim] > 1) size = settp_tile_mul(size, shape->dims[dim]);
  }
  if (plan.span > 0)
    answer = plan.coupled ? settp_tile_strides_of_tiles(shape, &plan, strides)
                          : settp_tile_strides_of_steps(shape, &plan, strides);
  for (i = 0; i < shape->rank; ++i) {
    strides[i] = settp_tile_mul(strides[i], bits / 8);
    if (strides[i] < 0) strides[i] = 0; /* the size of this dimension is 1 */
    if (!answer.yes) strides[i] = SETT_TILE_UNKNOWN;
  }
  return answer;
}

/* ---- bodies: formats -------------------------------------------------------------------------------------------- */

SETT_PUBLIC int sett_tile_formats(const sett_tile_shape *shape, sett_tile_format *format) {
#define SETTP_TILE_ROW(text, bits, packed, option, from, to, tile0, tile1, inner0) \
  {text, bits, packed, option, from, to, {tile0, tile1}, {inner0, 1}},
  static const struct {
    const char *name;
    int64_t bits, packed;
    int option;
    int64_t from, to; /* minimum and maximum size of the second most minor dimension */
    int64_t tile[2], inner[2];
  } rows[] = {SETT_TILE_FORMATS(SETTP_TILE_ROW)};
#undef SETTP_TILE_ROW
  int i, count = 0;
  sett_tile_shape part = sett_tile_part_shape(shape);
  int64_t rows_of = shape->rank > 1 ? part.dims[shape->minor_to_major[1]] : 1;
  if (shape->error || shape->kind == SETT_TILE_TOKEN || shape->kind == SETT_TILE_OPAQUE) return 0;
  for (i = 0; i < SETT_TILE_FORMAT_COUNT; ++i) {
    sett_tile_shape one = *shape;
    one.tiles = 0;
    one.tail = 0;
    if (rows[i].packed == 1 && shape->type != SETT_TILE_PRED) continue;
    if (rows[i].packed > 0) one.packed = rows[i].packed;
    else if (rows[i].bits != 0 && rows[i].bits != sett_tile_bits(shape)) continue;
    if (rows[i].tile[0] > 0) one = sett_tile_add_tile(&one, 2, rows[i].tile);
    if (rows[i].inner[0] > 0) one = sett_tile_add_tile(&one, 2, rows[i].inner);
    format[count].name = rows[i].name;
    format[count].shape = sett_tile_check(&one);
    format[count].padding = sett_tile_padding(&one);
    format[count].chosen =
        !format[count].shape.error && !rows[i].option && rows_of >= rows[i].from && rows_of <= rows[i].to;
    ++count;
  }
  return count;
}

#endif /* bodies */
