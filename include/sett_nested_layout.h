/* sett_nested_layout.h - v0.4 - nested layouts: which subgroup, thread and register slot holds each element of a vector
   SPDX-License-Identifier: Apache-2.0

WHAT
  A GPU distributes a vector, such as a fragment of a matrix, over the registers of many threads. A nested layout says which
  thread holds which element in which register slot (the number of the element within the thread). This header reads and prints
  layouts in IREE's notation (#iree_vector_ext.nested_layout<..>). It finds the element in a slot, and the owners of an
  element. It permutes, projects, reshapes, recombines and compares layouts; the result is exact, or the function refuses with
  a reason.

INCLUDE
  Copy this one file. C11 or C++17, freestanding (stddef.h, stdint.h); no allocation, no libc, no globals. By default,
  every function is static inline. In CUDA, sett_nested_offset may be called in kernels; OpenCL C 1.2 sees only this function.
  The functions can be compiled once for many files, in C and C++: define SETT_DECLARATIONS before the first sett header of each file, and
  SETT_IMPLEMENTATION in exactly one file. To compile the functions of each header in a file of its own, define SETT_DECLARATIONS in that file, include
  the header, define SETT_IMPLEMENTATION, and include the header again. By default, a shared library does not export the functions. Two static
  libraries that both contain the functions can be linked into one program if at least one defines a SETT_PREFIX of its own in all its files.

OPTIONS
  SETT_DECLARATIONS     declare types, constants and prototypes only; functions for devices stay static inline
  SETT_IMPLEMENTATION   define the functions, too, with external linkage. Macros that change the size of a record must be the same in all files
  SETT_PREFIX           a prefix of the linker symbols of public functions that are compiled once; their names in C do not change (GCC and Clang)
  SETT_VISIBILITY       attributes of public functions that are compiled once (default: hidden, so that a shared library does not export them)
  SETT_NESTED_PLAN_TERMS   number of terms of a device plan (default 16, at least 1); must be the same in host and device code

A FIRST LOOK
    #include <stdio.h>
    #include <string.h>
    #include "sett_nested_layout.h"
    int main(void) {
      const char *text = "nested_layout<subgroup_tile = [2, 1], batch_tile = [2, 4], outer_tile = [1, 1], "
                         "thread_tile = [16, 4], element_tile = [1, 4], subgroup_strides = [1, 0], thread_strides = [1, 16]>";
      sett_nested_layout layout = sett_nested_parse(text, strlen(text));
      int64_t index[2], subgroup, thread, slot;
      sett_nested_element(&layout, 1, 21, 6, index);
      printf("%lld,%lld\n", (long long)index[0], (long long)index[1]);
      sett_nested_owner(&layout, index, 0, &subgroup, &thread, &slot);
      printf("%lld,%lld,%lld\n", (long long)subgroup, (long long)thread, (long long)slot);
      return 0;
    }
  prints
    37,22
    1,21,6

THE MODEL
  A layout of rank r is seven lists of r numbers: five tiles and two strides. In each dimension an index of the vector is a
  number of five digits, the most major first, whose radices are the tiles:
    index = (((s * batch + b) * outer + o) * thread + t) * element + e
    s in [0, subgroup_tile), b in [0, batch_tile), o in [0, outer_tile), t in [0, thread_tile), e in [0, element_tile)
  So a tile is a number of tiles of the next level, not a number of elements; only element_tile counts elements. The digits s
  and t come from two ids, subgroup and thread:
    s = (subgroup / subgroup_stride) mod subgroup_tile      t = (thread / thread_stride) mod thread_tile
  and are 0 if the stride is 0. The digits b, o and e are inside a thread. They are the digits of the slot's number, the most
  major first: all batch digits, then all outer digits, then all element digits, each in the order of the dimensions. In
  IREE's code, `thread` is the number of the thread in the workgroup (not the lane), and `subgroup` is thread / subgroup size.
  In this header the two ids are independent, except in sett_nested_on and sett_nested_same_on, which take the number of
  threads in a subgroup.
  The digits of different dimensions must come from different parts of the id: in ascending order of the strides, each stride
  must be a multiple of the previous stride * tile. If a stride is larger than this product (the first stride: larger than 1),
  several ids hold the same elements.
    thread_tile = [16, 4], thread_strides = [1, 16]    ids 0..63, one owner per element
    thread_tile = [4, 2],  thread_strides = [1, 2]     refused: 2 is not a multiple of 4
    thread_tile = [4],     thread_strides = [16]       ids 0..63, sixteen owners per element (0..15 hold the same)
  A stride of 0 with a tile larger than 1 is allowed, as in IREE's tests. The digit is then always 0, so elements with another
  digit have no owner, and the layout is marked as incomplete. The stride of a tile of 1 has no meaning and is set to 0.
  The subgroup ids and the thread ids each have a *period*: the largest stride * tile of the digits that come from this id, or 1
  if there are none. Ids that differ by a multiple of the period hold the same elements.

  Order of subgroups. IREE's documentation of nested layouts (below: the document) distributes a 4x2 array with
  subgroup_tile = [4, 2], strides = [1, 4] over subgroups:
       0  4
       1  5
       2  6
       3  7
  In row-major order this is 0,4,1,5,2,6,3,7. The document also says that with only four subgroups, subgroup x mod 4 computes
  the part of subgroup x. The document's own formula contradicts this: s1 = (subgroup / 4) mod 2 is 0 for all four, so no
  subgroup computes the right column (4, 5, 6, 7). sett_nested_held returns the number of elements that a machine computes,
  here half of the elements. If there are more than 8 subgroups, subgroup x repeats the work of subgroup x mod 8.

  Threads, with outer_tile = [2, 1], thread_tile = [2, 5], thread_strides = [5, 1]: a 2x5 layout, duplicated to 4x5:
       0  1  2  3  4      outer digit 0
       5  6  7  8  9
       0  1  2  3  4      outer digit 1
       5  6  7  8  9

  A complete example: 64x64 over two subgroups, with the layout of A FIRST LOOK. subgroup_tile cuts the array into two halves
  of 32 rows, and batch_tile cuts each half into 2x4 tiles of 16x16. Inside a tile, each thread of a subgroup holds four
  columns of one row; this table has the thread ids:
                 0-3   4-7  8-11 12-15
       row  0      0    16    32    48
       row  1      1    17    33    49
       ..
       row 15     15    31    47    63
  Each thread holds a vector<2x16>, as registers of shape 2x4x1x1x1x4 (batch, outer and element tiles):
       thread  0 of subgroup 0    rows  0 16    columns 0-3 16-19 32-35 48-51
       thread  1 of subgroup 0    rows  1 17    columns 0-3 16-19 32-35 48-51
       thread 16 of subgroup 0    rows  0 16    columns 4-7 20-23 36-39 52-55
       thread 16 of subgroup 1    rows 32 48    columns 4-7 20-23 36-39 52-55
  Subgroups 2 and 3, if they exist, hold the same elements as 0 and 1.

  The inverse. The document computes  id = sum(stride * digit) mod product(tile).  The mod is wrong: with thread_tile = [4] and
  strides = [16], digit 1 is at id 16, not at 16 mod 4. Without the mod, the sum is the smallest id. The ids of the other
  owners differ from this id only in the parts of the id that no digit uses. sett_nested_owner writes the owner with a given
  number; owners are numbered from 0, in ascending order of the ids.

TEXT
  #iree_vector_ext.nested_layout<subgroup_tile = [2, 1], batch_tile = [..], outer_tile = [..], thread_tile = [..],
    element_tile = [..], subgroup_strides = [..], thread_strides = [..]>
  is one line with all seven keys in this order and lists of equal length, [] for rank 0. The parser also accepts the text
  without #iree_vector_ext., and blanks and // comments between tokens.

FUNCTIONS
  make     sett_nested_make       from seven arrays                  sett_nested_check     verify, canonical strides
           sett_nested_on         verify for a machine               sett_nested_contract  a fragment, repeated over loops
           sett_nested_basis      from counts of subgroups and lanes
  text     sett_nested_parse, sett_nested_print, sett_nested_explain (an error in words)
  ask      sett_nested_undistributed, _distributed, _unpacked, _packed, _packed_dim     shapes
           sett_nested_elements, _slots, _subgroups, _threads, _copies, _held           counts
           sett_nested_equal      the same text                      sett_nested_same      the same ownership
           sett_nested_same_on    same ownership on a machine        sett_nested_fits      a type may have the layout
  where    sett_nested_virtual    ids -> digits                      sett_nested_element   (subgroup, thread, slot) -> index
           sett_nested_owner      index -> (subgroup, thread, slot)  sett_nested_bound     a thread's part of a mask
           sett_nested_index      tables of all elements and owners  sett_nested_all_slots  length of a table
  combine  sett_nested_permute, _project, _apply, _recombine, _reshape
  device   sett_nested_prepare    layout and strides -> plan         sett_nested_offset    offset of a slot's element

LAWS (tests/layouts/nested_test.c enumerates them, against loops written from the definition, for thousands of random layouts)
  1 print_parse   parse(print(l)) equals l.
  2 inverse       the owners of an index are all (subgroup, thread, slot) that hold it, each once, in ascending order. The ids run over one period.
  3 held          held(subgroups, threads) is the number of elements that are held by the ids with subgroup < subgroups and thread < threads.
  4 combine       each dimension of a result comes from a dimension of an operand, or is new. A thread owns an element of the result exactly
                  if, for each dimension that comes from an operand, it owns an element of the operand with the same index in that dimension.
                  So after permute and project, a thread owns the images of the elements that it owned before.
  5 reshape       each thread holds the same elements, by row-major number, before and after. A refusal means that no nested
                  layout of that shape has these owners.
  6 same          yes exactly if each (subgroup, thread) holds the same elements in both layouts; same_on: if each thread of the machine does.
  7 bound         of the indices that a thread holds in a dimension, in slot order, exactly the first sett_nested_bound(.., n) are less than n.
  8 index         the tables agree with element and owner.
  9 offset        offset(plan, subgroup, thread, slot) is the sum of stride * index over the dimensions of the element there.

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
  The error is part of the layout: error; column, counted from 1 (0 if the layout was not parsed); dim (or -1); and wanted, a
  number that the error's text names. If a function gets a failed layout, a returned layout has the same error, an answer has
  yes = 0 and no = 0, a number is SETT_NESTED_UNKNOWN (-1), and a list is empty.
  Every layout is checked when it is made: lists have equal lengths, tiles are at least 1, strides are at least 0 and do not
  overlap, and sizes fit in 64 bits. So indices, slots and periods cannot overflow.

ON A DEVICE
  The host prepares a plan: a list of terms ((id / divisor) mod modulus) * factor in 32 bits. A kernel takes the plan by value, and
  sett_nested_offset(plan, subgroup, thread, slot) adds the terms, in a loop with a constant trip count and without stack memory.
  With strides {0, 1}, the plan of a layout of rank 2 gives the second index; with the strides of a tensor, a plan gives the
  offset of the element in memory.

LIMITS
  A layout has at most 24 dimensions, and its sizes fit in 64 bits. A plan has at most SETT_NESTED_PLAN_TERMS terms, and its
  offsets fit in 32 bits. Beyond a limit there is an error.

HISTORY
  0.4  SETT_DECLARATIONS, SETT_IMPLEMENTATION, SETT_PREFIX.
  0.3  sett_nested_index.
  0.2  sett_nested_same and _same_on give an answer with yes and no; plan.slots is now plan.thread_slots.
       errors are int; sett_nested_error_text is now sett_nested_message; all functions take a layout by pointer.
  0.1  text, both directions, shapes, algebra, contractions, plans.
*/
#ifndef SETT_NESTED_LAYOUT_H
#define SETT_NESTED_LAYOUT_H

#define SETT_NESTED_VERSION 400 /* version 0.4.0: 10000 * major + 100 * minor + patch */

#if !defined(__OPENCL_VERSION__)
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
#ifndef SETT_NESTED_PLAN_TERMS
#define SETT_NESTED_PLAN_TERMS 16
#endif

/* ---- on a device ------------------------------------------------------------------------------------------------ */

#if defined(__OPENCL_VERSION__)
#define SETTP_NESTED_DEVICE static inline
typedef uint settp_nested_u32;
typedef int settp_nested_i32;
#elif defined(__CUDACC__)
#define SETTP_NESTED_DEVICE static inline __host__ __device__
typedef uint32_t settp_nested_u32;
typedef int32_t settp_nested_i32;
#else
#define SETTP_NESTED_DEVICE SETT_INLINE
typedef uint32_t settp_nested_u32;
typedef int32_t settp_nested_i32;
#endif

/* One digit of an offset: ((id / divisor) mod modulus) * factor. */
typedef struct sett_nested_term {
  /* the id from which the digit is taken: 0 is the subgroup's, 1 the thread's, 2 the slot's */
  settp_nested_u32 source;
  settp_nested_u32 divisor, modulus;
  settp_nested_i32 factor;
} sett_nested_term;

/* A layout prepared for kernels by sett_nested_prepare. It is a kernel argument that is passed by value. */
typedef struct sett_nested_plan {
  int error;                     /* the error of a failed layout, or SETT_NESTED_ERROR_PLAN; offsets are then 0 */
  settp_nested_u32 thread_slots; /* number of register slots of a thread */
  sett_nested_term term[SETT_NESTED_PLAN_TERMS]; /* unused terms have divisor 1, modulus 1 and factor 0 */
} sett_nested_plan;

/* Return the offset of the element in a slot, in the unit of the strides that were given to sett_nested_prepare. */
SETTP_NESTED_DEVICE settp_nested_i32 sett_nested_offset(const sett_nested_plan plan, settp_nested_u32 subgroup,
                                                        settp_nested_u32 thread, settp_nested_u32 slot) {
  settp_nested_i32 offset = 0;
  int i;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
  for (i = 0; i < SETT_NESTED_PLAN_TERMS; ++i) {
    settp_nested_u32 id = plan.term[i].source == 0 ? subgroup : plan.term[i].source == 1 ? thread : slot;
    offset += (settp_nested_i32)(id / plan.term[i].divisor % plan.term[i].modulus) * plan.term[i].factor;
  }
  return offset;
}

#if !defined(__OPENCL_VERSION__)

/* ---- types ------------------------------------------------------------------------------------------------------ */

enum { SETT_NESTED_MAX_RANK = 24 };
enum { SETT_NESTED_UNKNOWN = -1 }; /* a count, index or dimension that does not exist */

/* The seven lists of a layout, in the order of the text. The first five are the tiles. They are also the levels of the digits of an index, the most
 * major level first. */
#define SETT_NESTED_FIELDS(X)            \
  X(SUBGROUP, "subgroup_tile")           \
  X(BATCH, "batch_tile")                 \
  X(OUTER, "outer_tile")                 \
  X(THREAD, "thread_tile")               \
  X(ELEMENT, "element_tile")             \
  X(SUBGROUP_STRIDE, "subgroup_strides") \
  X(THREAD_STRIDE, "thread_strides")

enum {
#define SETTP_NESTED_ENUM(name, text) SETT_NESTED_##name,
  SETT_NESTED_FIELDS(SETTP_NESTED_ENUM) SETT_NESTED_FIELD_COUNT,
#undef SETTP_NESTED_ENUM
  SETT_NESTED_LEVELS = 5
};

/* sett_nested_explain replaces @ by the number that was expected (field wanted), and in the text of ERROR_KEY by the name of the expected key. */
#define SETT_NESTED_ERRORS(X)                                                                                   \
  X(OK, "no error")                                                                                             \
  X(ERROR_HEAD, "expected #iree_vector_ext.nested_layout or nested_layout")                                     \
  X(ERROR_OPEN, "expected '<' after nested_layout")                                                             \
  X(ERROR_KEY, "expected '@'")                                                                                  \
  X(ERROR_EQUAL, "expected '=' after the key")                                                                  \
  X(ERROR_LIST, "expected '['")                                                                                 \
  X(ERROR_INTEGER, "expected an integer")                                                                       \
  X(ERROR_TOO_LARGE, "expected an integer that fits in 64 bits, signed")                                        \
  X(ERROR_LIST_END, "expected ',' or ']' after a number")                                                       \
  X(ERROR_COMMA, "expected ',' and the next key")                                                               \
  X(ERROR_CLOSE, "expected '>'")                                                                                \
  X(ERROR_END, "expected the end of the layout")                                                                \
  X(ERROR_MAX_RANK, "expected at most 24 dimensions")                                                           \
  X(ERROR_RANK, "expected a list of @ numbers: all seven lists must have the same rank")                        \
  X(ERROR_TILE, "expected a tile of 1 or more")                                                                 \
  X(ERROR_STRIDE, "expected a stride of 0 or more")                                                             \
  X(ERROR_SUBGROUP_OVERLAP, "subgroup strides overlap: expected a multiple of @, which smaller strides use up") \
  X(ERROR_THREAD_OVERLAP, "thread strides overlap: expected a multiple of @, which smaller strides use up")     \
  X(ERROR_SIZE, "expected sizes and strides whose products fit in 64 bits")                                     \
  X(ERROR_MACHINE, "expected a machine of 1 or more subgroups of 1 or more threads, at most 2^20 threads")      \
  X(ERROR_SUBGROUPS, "expected a machine with more subgroups: this dimension needs @")                          \
  X(ERROR_THREADS, "expected a machine with more threads: this dimension needs @")                              \
  X(ERROR_WIDE, "thread digits wider than a subgroup read the same ids as its subgroup digits")                 \
  X(ERROR_PERMUTATION, "expected a permutation of the dimensions")                                              \
  X(ERROR_DIM, "expected a dimension from 0 to rank - 1, or -1 for none")                                       \
  X(ERROR_SHAPE, "expected a shape with as many elements as the layout: @")                                     \
  X(ERROR_RESHAPE, "no nested layout of that shape has this ownership")                                         \
  X(ERROR_CONFLICT, "two operands give this loop different layouts")                                            \
  X(ERROR_HOLE, "no operand gives this loop a layout")                                                          \
  X(ERROR_BOUNDS, "expected bounds and counts of 1 or more")                                                    \
  X(ERROR_PLACE, "expected a different loop for each dimension of the fragment")                                \
  X(ERROR_VECTOR_RANK, "expected a type of rank @, the rank of the layout")                                     \
  X(ERROR_VECTOR_DIM, "expected a vector of size @ in this dimension, as in the layout")                        \
  X(ERROR_PLAN, "expected offsets, ids and slots of 32 bits and no more digits than SETT_NESTED_PLAN_TERMS")    \
  X(ERROR_OPAQUE, "this instruction's fragments are opaque: no layout is documented")                           \
  X(ERROR_OPERAND, "this instruction has no such operand")                                                      \
  X(ERROR_INTRINSIC, "expected the number of an intrinsic")                                                     \
  X(ERROR_PTX, "expected an mma.sync instruction: PTX has no order of registers for others")                    \
  X(ERROR_LOOPS, "expected loops of the kinds b, m, n, k, with one for each dimension of the fragment")         \
  X(ERROR_MAP, "the map is not the map of a nested layout")                                                     \
  X(ERROR_MAP_SIZE, "not decided whether the map is a nested layout: expected ids below 65536, a smaller map")

enum {
#define SETTP_NESTED_ENUM(name, text) SETT_NESTED_##name,
  SETT_NESTED_ERRORS(SETTP_NESTED_ENUM) SETT_NESTED_ERROR_COUNT
#undef SETTP_NESTED_ENUM
};

/* A nested layout. {0} has rank 0 and one element, which every thread holds. */
typedef struct sett_nested_layout {
  int error;      /* SETT_NESTED_OK or an error code */
  int64_t column; /* column of the error in the text, counted from 1; 0 if there was no text */
  int64_t wanted; /* the number that replaces @ in the text of the error */
  int32_t dim;    /* the dimension that the error is about, or -1 */
  int32_t rank;
  /* bit d: dimension d has stride 0 although its tile is larger than 1, so some elements have no owner */
  uint32_t incomplete;
  /* one list per field: field[SETT_NESTED_THREAD][d] and so on */
  int64_t field[SETT_NESTED_FIELD_COUNT][SETT_NESTED_MAX_RANK];
} sett_nested_layout;

/* ---- prototypes ------------------------------------------------------------------------------------------------- */

/* Make a layout from seven arrays of `rank` numbers, in the order of the text, and check it. A NULL array means ones in a tile, and zeros in strides.
 */
SETT_PUBLIC sett_nested_layout sett_nested_make(int rank, const int64_t *const field[SETT_NESTED_FIELD_COUNT]);
/* Return the layout with canonical strides (0 for a tile of 1), or a failed layout with the error of the first rule that the layout breaks. All
 * functions that make layouts call this function. */
SETT_PUBLIC sett_nested_layout sett_nested_check(const sett_nested_layout *layout);
/* Check a layout for a machine with these numbers of subgroups per workgroup and of threads per subgroup. Return the layout if every element that has
 * an owner in the layout has an owner on the machine. Otherwise, return a failed layout with the reason. A machine has at most 2^20 threads.
 *
 * Thread ids count all threads of the workgroup, so a layout with one subgroup may use all of them. In a layout with several subgroups, thread ids may
 * have a period larger than subgroup_size. Then both the subgroup digits and the thread digits are digits of the thread's number in the workgroup. No
 * digit of this number may be used twice; otherwise the error is SETT_NESTED_ERROR_WIDE, even if the machine is large enough. */
SETT_PUBLIC sett_nested_layout sett_nested_on(const sett_nested_layout *layout, int64_t subgroups,
                                              int64_t subgroup_size);

/* Parse the whole text as a layout. */
SETT_PUBLIC sett_nested_layout sett_nested_parse(const char *text, size_t length);
/* Write the canonical text, cut to capacity - 1 bytes, and a zero byte; write nothing if capacity is 0. Return the length of the whole text without the
 * zero byte. The text of a failed layout is empty. */
SETT_PUBLIC size_t sett_nested_print(const sett_nested_layout *layout, char *out, size_t capacity);
/* Write the text of the layout's error with its dimension and number, such as "dimension 1: expected ..". capacity and the result are as in
 * sett_nested_print. */
SETT_PUBLIC size_t sett_nested_explain(const sett_nested_layout *layout, char *out, size_t capacity);
/* Return the text of an error, without the dimension, and with @ in place of the number. */
SETT_PUBLIC const char *sett_nested_message(int error);
/* Return the name of a list (SETT_NESTED_THREAD: "thread_tile"), or "" if there is no such list. */
SETT_PUBLIC const char *sett_nested_field_name(int64_t field);

/* The next functions write a shape and return its number of entries, which is 0 for a failed layout. */
/* The shape of the whole vector: rank entries. */
SETT_PUBLIC int sett_nested_undistributed(const sett_nested_layout *layout, int64_t *shape);
/* The batch tiles of all dimensions, then the outer tiles, then the element tiles: 3 * rank entries. */
SETT_PUBLIC int sett_nested_distributed(const sett_nested_layout *layout, int64_t *shape);
/* batch * outer * element of each dimension: rank entries. */
SETT_PUBLIC int sett_nested_unpacked(const sett_nested_layout *layout, int64_t *shape);
/* The subgroup tiles of all dimensions, then the batch, outer, thread and element tiles: 5 * rank entries. */
SETT_PUBLIC int sett_nested_packed(const sett_nested_layout *layout, int64_t *shape);
/* The tiles of dimension dim, from subgroup to element: 5 entries, or 0 if there is no dimension dim. */
SETT_PUBLIC int sett_nested_packed_dim(const sett_nested_layout *layout, int dim, int64_t *shape);

/* Return the number of elements of the whole vector. */
SETT_PUBLIC int64_t sett_nested_elements(const sett_nested_layout *layout);
/* Return the number of register slots of a thread. */
SETT_PUBLIC int64_t sett_nested_slots(const sett_nested_layout *layout);
/* Return the period of the subgroup ids; sett_nested_threads returns the period of the thread ids. Ids that differ by a multiple of the period hold
 * the same elements. */
SETT_PUBLIC int64_t sett_nested_subgroups(const sett_nested_layout *layout);
SETT_PUBLIC int64_t sett_nested_threads(const sett_nested_layout *layout);
/* Return the number of owners of an element in one period of ids. It is the same for all elements that have an owner. Return SETT_NESTED_UNKNOWN if
 * the number does not fit in 64 bits. */
SETT_PUBLIC int64_t sett_nested_copies(const sett_nested_layout *layout);
/* Return the number of elements of the vector that at least one thread of a machine holds. The machine has all pairs of a subgroup id from 0 to
 * subgroups - 1 and a thread id from 0 to threads - 1. */
SETT_PUBLIC int64_t sett_nested_held(const sett_nested_layout *layout, int64_t subgroups, int64_t threads);

/* Return 1 if both layouts have the same seven lists, and so the same text. Return 0 if a layout is failed. */
SETT_PUBLIC int sett_nested_equal(const sett_nested_layout *a, const sett_nested_layout *b);
/* The answer of a comparison: yes if each (subgroup, thread) holds the same elements in both layouts. Tiles may differ: in a single thread,
 * batch_tile = [4] and element_tile = [4] hold the same elements. Layouts of vectors with different shapes are different. */
typedef struct sett_nested_answer {
  int yes, no;    /* `yes` is 1 if the answer is proved to be yes, `no` is 1 if it is proved to be no */
  int same_slots; /* 1 if the answer is yes and all elements have the same slots, too */
  int error;      /* if yes and no are 0: the error of a failed layout, or SETT_NESTED_ERROR_MACHINE */
} sett_nested_answer;
SETT_PUBLIC sett_nested_answer sett_nested_same(const sett_nested_layout *a, const sett_nested_layout *b);
/* Compare two layouts on a machine, where subgroup = thread / subgroup_size. So a layout of one subgroup of 64 threads may be the same as a layout of
 * 2 subgroups of 32 threads. All threads are visited, so there may be at most 2^20. */
SETT_PUBLIC sett_nested_answer sett_nested_same_on(const sett_nested_layout *a, const sett_nested_layout *b,
                                                   int64_t subgroups, int64_t subgroup_size);
/* Return the layout if a value of this type can have it; otherwise return a failed layout with the reason. A dimension of -1 is dynamic and always
 * fits. For a tensor (is_vector = 0), only the rank must match, because elements beyond its end are masked or padded later. */
SETT_PUBLIC sett_nested_layout sett_nested_fits(const sett_nested_layout *layout, int rank, const int64_t *dims,
                                                int is_vector);

/* Write the digits of the two ids in each dimension and return 1. For a failed layout or a negative id, write -1s and return 0. */
SETT_PUBLIC int sett_nested_virtual(const sett_nested_layout *layout, int64_t subgroup, int64_t thread, int64_t *s,
                                    int64_t *t);
/* Write the index of the element in a slot and return 1. For a failed layout, a slot that does not exist, or a negative id, write -1s and return 0.
 * Ids may exceed the period. */
SETT_PUBLIC int sett_nested_element(const sett_nested_layout *layout, int64_t subgroup, int64_t thread, int64_t slot,
                                    int64_t *index);
/* Write owner number `which` of an element and return 1. Owners are counted from 0, by ascending subgroup, then thread. If one period has no such owner,
 * or for an index outside the vector or a failed layout, write -1s and return 0. To visit all owners:
 *     for (w = 0; sett_nested_owner(&layout, index, w, &subgroup, &thread, &slot); ++w) .. */
SETT_PUBLIC int sett_nested_owner(const sett_nested_layout *layout, const int64_t *index, int64_t which,
                                  int64_t *subgroup, int64_t *thread, int64_t *slot);
/* Return the number of triples (subgroup, thread, slot) in one period of the ids, or SETT_NESTED_UNKNOWN if it does not fit in 64 bits. */
SETT_PUBLIC int64_t sett_nested_all_slots(const sett_nested_layout *layout);
/* Write tables with the element of every slot and the owners of every element, for one period of the ids. In these tables, slot s of a thread has the
 * number (subgroup * threads + thread) * slots + s, and the number of an element is row-major.
 *     element[slot number]:  the element in this slot.
 *     owner[element]:        the smallest number of a slot that holds the element, or -1.
 *     next[slot number]:     the next larger number of a slot that holds the same element, or -1.
 * To visit all owners of e: for (s = owner[e]; s >= 0; s = next[s]) ..
 * element and next have sett_nested_all_slots entries, owner has sett_nested_elements. A table that is NULL is not written; if owner is NULL, next
 * is not written, either. Return 0. For a layout that is failed or too large, return the error; contrary to ANSWERS, the tables are then not
 * written. */
SETT_PUBLIC int sett_nested_index(const sett_nested_layout *layout, int64_t *element, int64_t *owner, int64_t *next);
/* Return the number of indices in dimension dim that (subgroup, thread) holds and that are less than bound. In the order (batch, outer, element), these
 * indices are the first ones of the thread. So if a mask of the vector has this bound, then the thread's part of the mask has the returned bound.
 * (IREE's code for create_mask differs: it gives the bound 0 to all threads after the thread in which the bound lies.) Return SETT_NESTED_UNKNOWN for a
 * negative id or a dimension that does not exist. */
SETT_PUBLIC int64_t sett_nested_bound(const sett_nested_layout *layout, int dim, int64_t subgroup, int64_t thread,
                                      int64_t bound);

/* Permute the dimensions: dimension i of the result is dimension permutation[i]. */
SETT_PUBLIC sett_nested_layout sett_nested_permute(const sett_nested_layout *layout, const int32_t *permutation);
/* Remove each dimension d for which dropped[d] is not 0. */
SETT_PUBLIC sett_nested_layout sett_nested_project(const sett_nested_layout *layout, const unsigned char *dropped);
/* Return a layout of rank count. Dimension i of the result is dimension map[i]; if map[i] is -1, dimension i has size 1. Dimensions may be missing in
 * map. A dimension may occur twice only if it is not distributed over threads or subgroups, because the strides would overlap. */
SETT_PUBLIC sett_nested_layout sett_nested_apply(const sett_nested_layout *layout, int count, const int32_t *map);
/* Return the layout of a value that loops compute from operands. Dimension i of the value is indexed by loop result[i]. Operand i has the layout
 * layouts[i]; its dimension d is indexed by loop maps[i][d], or by no loop if maps[i][d] is -1. The function refuses if two operands distribute a loop
 * differently, or if a loop that indexes the value indexes no operand. Loop numbers are less than 24. */
SETT_PUBLIC sett_nested_layout sett_nested_recombine(int count, const sett_nested_layout *layouts,
                                                     const int32_t *const *maps, int rank, const int32_t *result);
/* Return the layout for another shape in which every thread holds the same elements, by row-major number. Slots keep their order if each digit can
 * keep its level (batch, outer, element); otherwise they are renumbered. If the function refuses, no nested layout of that shape has these owners. */
SETT_PUBLIC sett_nested_layout sett_nested_reshape(const sett_nested_layout *layout, int rank, const int64_t *shape);

/* Return the layout of a fragment that is repeated over a larger problem. Loop l has bounds[l] iterations and is distributed over subgroups[l]
 * subgroups, which are numbered row-major over all loops. Dimension d of the fragment lies along loop place[d]. At most one dimension lies along each
 * loop; if none does, the fragment has size 1 in this loop. The fragment's subgroup tiles must be 1. Dimension i of the result is loop l = map[i]. Its
 * batch tile is that of the fragment, times ceil(ceil(bounds[l] / subgroups[l]) / (size of the fragment in loop l)). */
SETT_PUBLIC sett_nested_layout sett_nested_contract(const sett_nested_layout *fragment, const int32_t *place, int loops,
                                                    const int64_t *bounds, const int64_t *subgroups, int rank,
                                                    const int32_t *map);
/* Return a layout that covers a vector of shape `bounds`. Dimension d is divided among subgroups.value[subgroups.map[d]] subgroups and
 * lanes.value[lanes.map[d]] lanes. Subgroups and lanes are numbered row-major over the list value[]. Dimension d has the element tile elements[d],
 * where 0 means 1, and the outer tile 1. Its batch tile is the smallest for which the layout has at least bounds[d] elements in dimension d. */
typedef struct sett_nested_counts {
  int count;            /* number of entries in value[] */
  const int64_t *value; /* the numbers of subgroups (or lanes) among which dimensions are divided */
  const int32_t *map;   /* for each dimension, the index of its entry in value[] */
} sett_nested_counts;
SETT_PUBLIC sett_nested_layout sett_nested_basis(int rank, const int64_t *bounds, sett_nested_counts subgroups,
                                                 sett_nested_counts lanes, const int64_t *elements);

/* Return the plan of offset = sum of strides[d] * index[d]. If strides is NULL, strides[d] are the row-major strides of the vector. All strides, the
 * number of slots and all offsets must fit in 32 bits, and the plan must need at most SETT_NESTED_PLAN_TERMS terms; otherwise the plan's error is
 * SETT_NESTED_ERROR_PLAN. */
SETT_PUBLIC sett_nested_plan sett_nested_prepare(const sett_nested_layout *layout, const int64_t *strides);

#if defined(SETTP_LINK_SEPARATE) && defined(SETT_PREFIX)
/* clang-format off */
#define SETT_NESTED_FUNCTIONS(X) \
  X(sett_nested_make) X(sett_nested_check) X(sett_nested_on) X(sett_nested_parse) X(sett_nested_print) \
  X(sett_nested_explain) X(sett_nested_message) X(sett_nested_field_name) X(sett_nested_undistributed) \
  X(sett_nested_distributed) X(sett_nested_unpacked) X(sett_nested_packed) X(sett_nested_packed_dim) \
  X(sett_nested_elements) X(sett_nested_slots) X(sett_nested_subgroups) X(sett_nested_threads) X(sett_nested_copies) \
  X(sett_nested_held) X(sett_nested_equal) X(sett_nested_same) X(sett_nested_same_on) X(sett_nested_fits) \
  X(sett_nested_virtual) X(sett_nested_element) X(sett_nested_owner) X(sett_nested_all_slots) X(sett_nested_index) \
  X(sett_nested_bound) X(sett_nested_permute) X(sett_nested_project) X(sett_nested_apply) X(sett_nested_recombine) \
  X(sett_nested_reshape) X(sett_nested_contract) X(sett_nested_basis) X(sett_nested_prepare)
/* clang-format on */
SETT_NESTED_FUNCTIONS(SETTP_LINK_RENAME)
#endif

/* ---- private: sett_mma_layouts.h and sett.h use it, too ---- */
SETT_INLINE sett_nested_layout settp_nested_zero(void) {
#ifdef __cplusplus
  sett_nested_layout layout = {};
#else
  sett_nested_layout layout = {0};
#endif
  layout.dim = SETT_NESTED_UNKNOWN;
  return layout;
}

SETT_INLINE sett_nested_layout settp_nested_fail(int error, int dim, int64_t wanted) {
  sett_nested_layout layout = settp_nested_zero();
  layout.error = error;
  layout.dim = dim;
  layout.wanted = wanted;
  return layout;
}

/* Return a layout of this rank in which all tiles are 1. */
SETT_INLINE sett_nested_layout settp_nested_ones(int rank) {
  sett_nested_layout layout = settp_nested_zero();
  int i, d;
  layout.rank = rank;
  for (i = 0; i < SETT_NESTED_LEVELS; ++i)
    for (d = 0; d < rank; ++d) layout.field[i][d] = 1;
  return layout;
}

SETT_INLINE int64_t settp_nested_size(const sett_nested_layout *layout, int dim) {
  int64_t size = 1;
  int i;
  for (i = 0; i < SETT_NESTED_LEVELS; ++i) size *= layout->field[i][dim];
  return size;
}

/* Return the weight of a digit of this level: the index grows by the weight if the digit grows by 1. */
SETT_INLINE int64_t settp_nested_weight(const sett_nested_layout *layout, int level, int d) {
  int64_t weight = 1;
  int i;
  for (i = level + 1; i < SETT_NESTED_LEVELS; ++i) weight *= layout->field[i][d];
  return weight;
}

#endif /* end of the functions that a device does not have */
#endif

#if !defined(__OPENCL_VERSION__) && !defined(SETTP_NESTED_BODIES) && \
    (defined(SETT_IMPLEMENTATION) || !defined(SETTP_LINK_SEPARATE))
#define SETTP_NESTED_BODIES

/* ---- bodies: small things --------------------------------------------------------------------------------------- */

/* Multiply *a by b; both are positive. Return 0 on overflow. */
SETT_INLINE int settp_nested_times(int64_t *a, int64_t b) {
  if (*a > INT64_MAX / b) return 0;
  *a *= b;
  return 1;
}

/* The digits of an id, sorted by stride. gap[i] is the number of ids below stride[i] in which the digits below digit i have given values. */
typedef struct settp_nested_ids {
  int count;
  int dim[SETT_NESTED_MAX_RANK];
  int64_t stride[SETT_NESTED_MAX_RANK], size[SETT_NESTED_MAX_RANK], gap[SETT_NESTED_MAX_RANK];
  int64_t period;
} settp_nested_ids;

/* Write the digits of the ids of a level, SETT_NESTED_SUBGROUP or SETT_NESTED_THREAD. Return 0, or an error with its dimension and the number that
 * was expected. */
SETT_INLINE int settp_nested_basis(const sett_nested_layout *layout, int level, settp_nested_ids *ids, int *dim,
                                   int64_t *wanted) {
  const int64_t *tile = layout->field[level];
  const int64_t *stride =
      layout->field[level == SETT_NESTED_THREAD ? SETT_NESTED_THREAD_STRIDE : SETT_NESTED_SUBGROUP_STRIDE];
  int d, i;
  ids->count = 0;
  ids->period = 1;
  for (d = 0; d < layout->rank; ++d) {
    if (tile[d] == 1 || stride[d] == 0) continue;
    for (i = ids->count++; i > 0 && ids->stride[i - 1] > stride[d]; --i) {
      ids->stride[i] = ids->stride[i - 1];
      ids->size[i] = ids->size[i - 1];
      ids->dim[i] = ids->dim[i - 1];
    }
    ids->stride[i] = stride[d];
    ids->size[i] = tile[d];
    ids->dim[i] = d;
  }
  for (i = 0; i < ids->count; ++i) {
    *dim = ids->dim[i];
    *wanted = ids->period;
    if (ids->stride[i] % ids->period != 0)
      return level == SETT_NESTED_THREAD ? SETT_NESTED_ERROR_THREAD_OVERLAP : SETT_NESTED_ERROR_SUBGROUP_OVERLAP;
    ids->gap[i] = ids->stride[i] / ids->period;
    ids->period = ids->stride[i];
    if (!settp_nested_times(&ids->period, ids->size[i])) return SETT_NESTED_ERROR_SIZE;
  }
  return 0;
}

/* Return the digits of the ids of a level, for a layout that was already checked. */
SETT_INLINE settp_nested_ids settp_nested_verified(const sett_nested_layout *layout, int level) {
  settp_nested_ids ids;
  int64_t wanted;
  int dim;
  settp_nested_basis(layout, level, &ids, &dim, &wanted);
  return ids;
}

/* Make strides canonical, and find the first rule that the layout breaks. `field` receives the list that breaks it. */
SETT_INLINE sett_nested_layout settp_nested_verify(sett_nested_layout layout, int *field) {
  settp_nested_ids ids;
  int64_t product = 1, wanted = 0;
  int d, i, error = 0, dim = SETT_NESTED_UNKNOWN;
  *field = 0;
  if (layout.error) return layout;
  if (layout.rank < 0 || layout.rank > SETT_NESTED_MAX_RANK)
    return settp_nested_fail(SETT_NESTED_ERROR_MAX_RANK, SETT_NESTED_UNKNOWN, 0);
  for (i = 0; i < SETT_NESTED_FIELD_COUNT; ++i) {
    *field = i;
    for (d = 0; d < layout.rank; ++d) {
      if (i < SETT_NESTED_LEVELS && layout.field[i][d] < 1) return settp_nested_fail(SETT_NESTED_ERROR_TILE, d, 0);
      if (layout.field[i][d] < 0) return settp_nested_fail(SETT_NESTED_ERROR_STRIDE, d, 0);
    }
  }
  for (d = 0; d < layout.rank; ++d)
    for (i = 0; i < SETT_NESTED_LEVELS; ++i) {
      *field = i;
      if (!settp_nested_times(&product, layout.field[i][d])) return settp_nested_fail(SETT_NESTED_ERROR_SIZE, d, 0);
    }
  layout.incomplete = 0;
  for (d = 0; d < layout.rank; ++d)
    for (i = SETT_NESTED_SUBGROUP; i <= SETT_NESTED_THREAD; i += SETT_NESTED_THREAD - SETT_NESTED_SUBGROUP) {
      int stride = i == SETT_NESTED_THREAD ? SETT_NESTED_THREAD_STRIDE : SETT_NESTED_SUBGROUP_STRIDE;
      if (layout.field[i][d] == 1) layout.field[stride][d] = 0;
      else if (layout.field[stride][d] == 0) layout.incomplete |= (uint32_t)1 << d;
    }
  *field = SETT_NESTED_SUBGROUP_STRIDE;
  error = settp_nested_basis(&layout, SETT_NESTED_SUBGROUP, &ids, &dim, &wanted);
  if (!error) {
    *field = SETT_NESTED_THREAD_STRIDE;
    error = settp_nested_basis(&layout, SETT_NESTED_THREAD, &ids, &dim, &wanted);
  }
  return error ? settp_nested_fail(error, dim, error == SETT_NESTED_ERROR_SIZE ? 0 : wanted) : layout;
}

SETT_PUBLIC sett_nested_layout sett_nested_check(const sett_nested_layout *layout) {
  int field;
  return settp_nested_verify(*layout, &field);
}

SETT_PUBLIC sett_nested_layout sett_nested_make(int rank, const int64_t *const field[SETT_NESTED_FIELD_COUNT]) {
  sett_nested_layout layout;
  int i, d;
  if (rank < 0 || rank > SETT_NESTED_MAX_RANK)
    return settp_nested_fail(SETT_NESTED_ERROR_MAX_RANK, SETT_NESTED_UNKNOWN, 0);
  layout = settp_nested_ones(rank);
  for (i = 0; i < SETT_NESTED_FIELD_COUNT; ++i)
    for (d = 0; field[i] && d < rank; ++d) layout.field[i][d] = field[i][d];
  return sett_nested_check(&layout);
}

enum { SETTP_NESTED_MACHINE_MAX = 1 << 20 };

SETT_INLINE int settp_nested_machine(int64_t subgroups, int64_t subgroup_size) {
  return subgroups > 0 && subgroup_size > 0 && subgroups <= SETTP_NESTED_MACHINE_MAX / subgroup_size;
}

/* Set an error if some combination of digits does not occur among the first `available` ids. The combination of the largest digits occurs last; its
 * first id is the sum of (size - 1) * stride. */
SETT_INLINE sett_nested_layout settp_nested_enough(const settp_nested_ids *ids, int64_t available, int error) {
  int64_t need = 1;
  int i;
  for (i = 0; i < ids->count; ++i) {
    need += (ids->size[i] - 1) * ids->stride[i];
    if (need > available) return settp_nested_fail(error, ids->dim[i], need);
  }
  return settp_nested_zero();
}

SETT_PUBLIC sett_nested_layout sett_nested_on(const sett_nested_layout *layout, int64_t subgroups,
                                              int64_t subgroup_size) {
  settp_nested_ids s, t;
  sett_nested_layout refused;
  int64_t need = 1, used = 1, threads;
  int i = 0, j = 0;
  if (layout->error) return *layout;
  if (!settp_nested_machine(subgroups, subgroup_size))
    return settp_nested_fail(SETT_NESTED_ERROR_MACHINE, SETT_NESTED_UNKNOWN, 0);
  threads = subgroups * subgroup_size;
  s = settp_nested_verified(layout, SETT_NESTED_SUBGROUP);
  t = settp_nested_verified(layout, SETT_NESTED_THREAD);
  refused = settp_nested_enough(&s, subgroups, SETT_NESTED_ERROR_SUBGROUPS);
  if (!refused.error) refused = settp_nested_enough(&t, threads, SETT_NESTED_ERROR_THREADS);
  if (refused.error) return refused;
  /* if all thread digits fit in a subgroup, or there are no subgroup digits, the tests above are enough */
  if (t.period <= subgroup_size || s.count == 0) return *layout;
  /* merge the digits of subgroups and threads into one list, as digits of the thread's number in the workgroup */
  while (i < s.count || j < t.count) {
    int subgroup = j == t.count || (i < s.count && s.stride[i] * subgroup_size <= t.stride[j]);
    int64_t stride = subgroup ? s.stride[i] * subgroup_size : t.stride[j], size = subgroup ? s.size[i] : t.size[j];
    int dim = subgroup ? s.dim[i++] : t.dim[j++];
    if (stride % used != 0) return settp_nested_fail(SETT_NESTED_ERROR_WIDE, dim, 0);
    need += (size - 1) * stride;
    if (need > threads) return settp_nested_fail(SETT_NESTED_ERROR_THREADS, dim, need);
    used = stride * size;
  }
  return *layout;
}

/* ---- bodies: text ----------------------------------------------------------------------------------------------- */

SETT_PUBLIC const char *sett_nested_message(int error) {
  switch (error) {
#define SETTP_NESTED_CASE(name, text) \
  case SETT_NESTED_##name: return text;
    SETT_NESTED_ERRORS(SETTP_NESTED_CASE)
#undef SETTP_NESTED_CASE
    default: return "unknown error";
  }
}

SETT_PUBLIC const char *sett_nested_field_name(int64_t field) {
  switch (field) {
#define SETTP_NESTED_CASE(name, text) \
  case SETT_NESTED_##name: return text;
    SETT_NESTED_FIELDS(SETTP_NESTED_CASE)
#undef SETTP_NESTED_CASE
    default: return "";
  }
}

typedef struct settp_nested_lexer {
  const char *text;
  size_t length, at;
  int error;
  size_t error_at;
} settp_nested_lexer;

/* Skip blanks and comments. Return the next character, or 0 at the end. */
SETT_INLINE char settp_nested_peek(settp_nested_lexer *lexer) {
  while (lexer->at < lexer->length) {
    char c = lexer->text[lexer->at];
    if (c == '/' && lexer->at + 1 < lexer->length && lexer->text[lexer->at + 1] == '/') {
      while (lexer->at < lexer->length && lexer->text[lexer->at] != '\n') ++lexer->at;
    } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      ++lexer->at;
    } else {
      return c;
    }
  }
  return 0;
}

SETT_INLINE int settp_nested_stop(settp_nested_lexer *lexer, int error) {
  if (!lexer->error) {
    lexer->error = error;
    lexer->error_at = lexer->at;
  }
  return 0;
}

SETT_INLINE int settp_nested_take(settp_nested_lexer *lexer, char c) {
  if (lexer->error || settp_nested_peek(lexer) != c || !c) return 0;
  ++lexer->at;
  return 1;
}

SETT_INLINE int settp_nested_want(settp_nested_lexer *lexer, char c, int error) {
  return settp_nested_take(lexer, c) || settp_nested_stop(lexer, error);
}

/* Match a whole word: the character after it must not be a character of a name. */
SETT_INLINE int settp_nested_word(settp_nested_lexer *lexer, const char *word) {
  size_t i;
  char c;
  if (lexer->error) return 0;
  settp_nested_peek(lexer);
  for (i = 0; word[i]; ++i)
    if (lexer->at + i >= lexer->length || lexer->text[lexer->at + i] != word[i]) return 0;
  c = lexer->at + i < lexer->length ? lexer->text[lexer->at + i] : (char)0;
  if (c == '_' || c == '.' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return 0;
  lexer->at += i;
  return 1;
}

SETT_INLINE int settp_nested_integer(settp_nested_lexer *lexer, int64_t *value) {
  int negative, digits = 0;
  size_t start;
  if (lexer->error) return 0;
  negative = settp_nested_peek(lexer) == '-';
  start = lexer->at;
  *value = 0;
  for (lexer->at += (size_t)negative; lexer->at < lexer->length; ++lexer->at, ++digits) {
    char c = lexer->text[lexer->at];
    if (c < '0' || c > '9') break;
    if (*value > (INT64_MAX - (c - '0')) / 10) {
      lexer->at = start;
      return settp_nested_stop(lexer, SETT_NESTED_ERROR_TOO_LARGE);
    }
    *value = *value * 10 + (c - '0');
  }
  if (!digits) {
    lexer->at = start;
    return settp_nested_stop(lexer, SETT_NESTED_ERROR_INTEGER);
  }
  if (negative) *value = -*value;
  return 1;
}

SETT_PUBLIC sett_nested_layout sett_nested_parse(const char *text, size_t length) {
  sett_nested_layout layout = settp_nested_zero();
  settp_nested_lexer lexer;
  size_t where[SETT_NESTED_FIELD_COUNT][SETT_NESTED_MAX_RANK], list[SETT_NESTED_FIELD_COUNT];
  int64_t wanted = 0;
  int field = 0, rank;
  lexer.text = text;
  lexer.length = length;
  lexer.at = lexer.error_at = 0;
  lexer.error = 0;
  if (!settp_nested_word(&lexer, "#iree_vector_ext.nested_layout") && !settp_nested_word(&lexer, "nested_layout"))
    settp_nested_stop(&lexer, SETT_NESTED_ERROR_HEAD);
  settp_nested_want(&lexer, '<', SETT_NESTED_ERROR_OPEN);
  for (field = 0; field < SETT_NESTED_FIELD_COUNT && !lexer.error; ++field) {
    int count = 0;
    if (field > 0) settp_nested_want(&lexer, ',', SETT_NESTED_ERROR_COMMA);
    wanted = field;
    if (!settp_nested_word(&lexer, sett_nested_field_name(field))) settp_nested_stop(&lexer, SETT_NESTED_ERROR_KEY);
    settp_nested_want(&lexer, '=', SETT_NESTED_ERROR_EQUAL);
    settp_nested_peek(&lexer);
    list[field] = lexer.at;
    settp_nested_want(&lexer, '[', SETT_NESTED_ERROR_LIST);
    if (!settp_nested_take(&lexer, ']'))
      while (!lexer.error) {
        settp_nested_peek(&lexer);
        if (count == SETT_NESTED_MAX_RANK) {
          settp_nested_stop(&lexer, SETT_NESTED_ERROR_MAX_RANK);
          break;
        }
        where[field][count] = lexer.at;
        if (!settp_nested_integer(&lexer, &layout.field[field][count++]) || settp_nested_take(&lexer, ']')) break;
        settp_nested_want(&lexer, ',', SETT_NESTED_ERROR_LIST_END);
      }
    if (lexer.error) break;
    if (field == 0) layout.rank = count;
    if (count != layout.rank) {
      wanted = layout.rank;
      lexer.at = list[field];
      settp_nested_stop(&lexer, SETT_NESTED_ERROR_RANK);
    }
  }
  settp_nested_want(&lexer, '>', SETT_NESTED_ERROR_CLOSE);
  if (!lexer.error && settp_nested_peek(&lexer)) settp_nested_stop(&lexer, SETT_NESTED_ERROR_END);
  /* the text has a zero byte before its end */
  if (!lexer.error && lexer.at < length) settp_nested_stop(&lexer, SETT_NESTED_ERROR_END);
  if (lexer.error) {
    layout = settp_nested_fail(lexer.error, SETT_NESTED_UNKNOWN, wanted);
    layout.column = (int64_t)lexer.error_at + 1;
    return layout;
  }
  rank = layout.rank;
  layout = settp_nested_verify(layout, &field);
  if (layout.error && layout.dim >= 0 && layout.dim < rank) layout.column = (int64_t)where[field][layout.dim] + 1;
  return layout;
}

typedef struct settp_nested_writer {
  char *out;
  size_t capacity, used;
} settp_nested_writer;

SETT_INLINE settp_nested_writer settp_nested_write(char *out, size_t capacity) {
  settp_nested_writer writer;
  writer.out = out;
  writer.capacity = capacity;
  writer.used = 0;
  return writer;
}

SETT_INLINE void settp_nested_put(settp_nested_writer *writer, char c) {
  if (writer->used + 1 < writer->capacity) writer->out[writer->used] = c;
  ++writer->used;
}

SETT_INLINE void settp_nested_puts(settp_nested_writer *writer, const char *text) {
  while (*text) settp_nested_put(writer, *text++);
}

/* Write an integer that is not negative. */
SETT_INLINE void settp_nested_puti(settp_nested_writer *writer, int64_t value) {
  char digits[20];
  int count = 0;
  do {
    digits[count++] = (char)('0' + value % 10);
    value /= 10;
  } while (value > 0);
  while (count > 0) settp_nested_put(writer, digits[--count]);
}

SETT_INLINE size_t settp_nested_finish(settp_nested_writer *writer) {
  if (writer->capacity > 0) writer->out[writer->used < writer->capacity ? writer->used : writer->capacity - 1] = 0;
  return writer->used;
}

SETT_PUBLIC size_t sett_nested_print(const sett_nested_layout *layout, char *out, size_t capacity) {
  settp_nested_writer writer = settp_nested_write(out, capacity);
  int i, d;
  if (layout->error) return settp_nested_finish(&writer);
  settp_nested_puts(&writer, "#iree_vector_ext.nested_layout<");
  for (i = 0; i < SETT_NESTED_FIELD_COUNT; ++i) {
    if (i) settp_nested_puts(&writer, ", ");
    settp_nested_puts(&writer, sett_nested_field_name(i));
    settp_nested_puts(&writer, " = [");
    for (d = 0; d < layout->rank; ++d) {
      if (d) settp_nested_puts(&writer, ", ");
      settp_nested_puti(&writer, layout->field[i][d]);
    }
    settp_nested_put(&writer, ']');
  }
  settp_nested_put(&writer, '>');
  return settp_nested_finish(&writer);
}

SETT_PUBLIC size_t sett_nested_explain(const sett_nested_layout *layout, char *out, size_t capacity) {
  settp_nested_writer writer = settp_nested_write(out, capacity);
  const char *text = sett_nested_message(layout->error);
  if (layout->error && layout->dim >= 0) {
    settp_nested_puts(&writer, "dimension ");
    settp_nested_puti(&writer, layout->dim);
    settp_nested_puts(&writer, ": ");
  }
  for (; *text; ++text)
    if (*text != '@') settp_nested_put(&writer, *text);
    else if (layout->error == SETT_NESTED_ERROR_KEY) settp_nested_puts(&writer, sett_nested_field_name(layout->wanted));
    else settp_nested_puti(&writer, layout->wanted);
  return settp_nested_finish(&writer);
}

/* ---- bodies: shapes and counts ---------------------------------------------------------------------------------- */

SETT_PUBLIC int sett_nested_undistributed(const sett_nested_layout *layout, int64_t *shape) {
  int d;
  for (d = 0; d < layout->rank && !layout->error; ++d) shape[d] = settp_nested_size(layout, d);
  return layout->error ? 0 : layout->rank;
}

SETT_PUBLIC int sett_nested_distributed(const sett_nested_layout *layout, int64_t *shape) {
  int r = layout->error ? 0 : layout->rank, d;
  for (d = 0; d < r; ++d) {
    shape[d] = layout->field[SETT_NESTED_BATCH][d];
    shape[r + d] = layout->field[SETT_NESTED_OUTER][d];
    shape[2 * r + d] = layout->field[SETT_NESTED_ELEMENT][d];
  }
  return 3 * r;
}

/* Return batch * outer * element of a dimension. */
SETT_INLINE int64_t settp_nested_own(const sett_nested_layout *layout, int d) {
  return layout->field[SETT_NESTED_BATCH][d] * layout->field[SETT_NESTED_OUTER][d] *
         layout->field[SETT_NESTED_ELEMENT][d];
}

SETT_PUBLIC int sett_nested_unpacked(const sett_nested_layout *layout, int64_t *shape) {
  int r = layout->error ? 0 : layout->rank, d;
  for (d = 0; d < r; ++d) shape[d] = settp_nested_own(layout, d);
  return r;
}

SETT_PUBLIC int sett_nested_packed(const sett_nested_layout *layout, int64_t *shape) {
  int r = layout->error ? 0 : layout->rank, i, d;
  for (i = 0; i < SETT_NESTED_LEVELS; ++i)
    for (d = 0; d < r; ++d) shape[i * r + d] = layout->field[i][d];
  return SETT_NESTED_LEVELS * r;
}

SETT_PUBLIC int sett_nested_packed_dim(const sett_nested_layout *layout, int dim, int64_t *shape) {
  int i;
  if (layout->error || dim < 0 || dim >= layout->rank) return 0;
  for (i = 0; i < SETT_NESTED_LEVELS; ++i) shape[i] = layout->field[i][dim];
  return SETT_NESTED_LEVELS;
}

SETT_PUBLIC int64_t sett_nested_elements(const sett_nested_layout *layout) {
  int64_t product = 1;
  int d;
  if (layout->error) return SETT_NESTED_UNKNOWN;
  for (d = 0; d < layout->rank; ++d) product *= settp_nested_size(layout, d);
  return product;
}

SETT_PUBLIC int64_t sett_nested_slots(const sett_nested_layout *layout) {
  int64_t product = 1;
  int d;
  if (layout->error) return SETT_NESTED_UNKNOWN;
  for (d = 0; d < layout->rank; ++d) product *= settp_nested_own(layout, d);
  return product;
}

SETT_PUBLIC int64_t sett_nested_subgroups(const sett_nested_layout *layout) {
  if (layout->error) return SETT_NESTED_UNKNOWN;
  return settp_nested_verified(layout, SETT_NESTED_SUBGROUP).period;
}

SETT_PUBLIC int64_t sett_nested_threads(const sett_nested_layout *layout) {
  if (layout->error) return SETT_NESTED_UNKNOWN;
  return settp_nested_verified(layout, SETT_NESTED_THREAD).period;
}

/* Return the number of ids in one period that have the same digits. */
SETT_INLINE int64_t settp_nested_gaps(const settp_nested_ids *ids) {
  int64_t product = 1;
  int i;
  for (i = 0; i < ids->count; ++i) product *= ids->gap[i];
  return product;
}

SETT_PUBLIC int64_t sett_nested_copies(const sett_nested_layout *layout) {
  settp_nested_ids s, t;
  int64_t product;
  if (layout->error) return SETT_NESTED_UNKNOWN;
  s = settp_nested_verified(layout, SETT_NESTED_SUBGROUP);
  t = settp_nested_verified(layout, SETT_NESTED_THREAD);
  product = settp_nested_gaps(&s);
  if (!settp_nested_times(&product, settp_nested_gaps(&t))) return SETT_NESTED_UNKNOWN;
  return product;
}

/* Return the number of combinations of digits that occur in the ids less than n. The digits are compared with those of n, the most major first: if a
 * digit is smaller than that of n, the digits below it have all combinations. */
SETT_INLINE int64_t settp_nested_seen(const settp_nested_ids *ids, int64_t n) {
  int64_t below = 1, seen = 0;
  int i;
  for (i = 0; i < ids->count; ++i) below *= ids->size[i];
  if (n <= 0 || n >= ids->period) return n <= 0 ? 0 : below;
  for (i = ids->count; i-- > 0;) {
    int64_t silent = ids->stride[i] / ids->gap[i];
    below /= ids->size[i];
    seen += n / ids->stride[i] * below;
    n %= ids->stride[i];
    if (n / silent > 0) return seen + below;
    n %= silent;
  }
  return seen;
}

SETT_PUBLIC int64_t sett_nested_held(const sett_nested_layout *layout, int64_t subgroups, int64_t threads) {
  settp_nested_ids s, t;
  if (layout->error) return SETT_NESTED_UNKNOWN;
  s = settp_nested_verified(layout, SETT_NESTED_SUBGROUP);
  t = settp_nested_verified(layout, SETT_NESTED_THREAD);
  return settp_nested_seen(&s, subgroups) * settp_nested_seen(&t, threads) * sett_nested_slots(layout);
}

/* ---- bodies: where ---------------------------------------------------------------------------------------------- */

SETT_INLINE int64_t settp_nested_digit(const sett_nested_layout *layout, int level, int d, int64_t id) {
  int64_t stride =
      layout->field[level == SETT_NESTED_THREAD ? SETT_NESTED_THREAD_STRIDE : SETT_NESTED_SUBGROUP_STRIDE][d];
  return stride == 0 ? 0 : id / stride % layout->field[level][d];
}

/* Return the smallest index of dimension d that (subgroup, thread) holds, where the digits of batch, outer and element are 0. */
SETT_INLINE int64_t settp_nested_first(const sett_nested_layout *layout, int d, int64_t subgroup, int64_t thread) {
  int64_t s = settp_nested_digit(layout, SETT_NESTED_SUBGROUP, d, subgroup);
  int64_t t = settp_nested_digit(layout, SETT_NESTED_THREAD, d, thread);
  return s * (settp_nested_size(layout, d) / layout->field[SETT_NESTED_SUBGROUP][d]) +
         t * layout->field[SETT_NESTED_ELEMENT][d];
}

SETT_PUBLIC int sett_nested_virtual(const sett_nested_layout *layout, int64_t subgroup, int64_t thread, int64_t *s,
                                    int64_t *t) {
  int d;
  for (d = 0; d < layout->rank; ++d) s[d] = t[d] = SETT_NESTED_UNKNOWN;
  if (layout->error || subgroup < 0 || thread < 0) return 0;
  for (d = 0; d < layout->rank; ++d) {
    s[d] = settp_nested_digit(layout, SETT_NESTED_SUBGROUP, d, subgroup);
    t[d] = settp_nested_digit(layout, SETT_NESTED_THREAD, d, thread);
  }
  return 1;
}

SETT_PUBLIC int sett_nested_element(const sett_nested_layout *layout, int64_t subgroup, int64_t thread, int64_t slot,
                                    int64_t *index) {
  int d, level;
  for (d = 0; d < layout->rank; ++d) index[d] = SETT_NESTED_UNKNOWN;
  if (layout->error || subgroup < 0 || thread < 0 || slot < 0 || slot >= sett_nested_slots(layout)) return 0;
  for (d = 0; d < layout->rank; ++d) index[d] = settp_nested_first(layout, d, subgroup, thread);
  for (level = SETT_NESTED_ELEMENT; level >= SETT_NESTED_BATCH; --level) {
    if (level == SETT_NESTED_THREAD) continue;
    for (d = layout->rank; d-- > 0;) {
      index[d] += slot % layout->field[level][d] * settp_nested_weight(layout, level, d);
      slot /= layout->field[level][d];
    }
  }
  return 1;
}

/* Return the subgroup or thread id whose digits give this index. Several ids may have these digits; `which` says which of them is wanted, 0 for the
 * smallest. */
SETT_INLINE int64_t settp_nested_id(const sett_nested_layout *layout, int level, const settp_nested_ids *ids,
                                    const int64_t *index, int64_t which) {
  int64_t id = 0;
  int i;
  for (i = 0; i < ids->count; ++i) {
    int d = ids->dim[i];
    id += which % ids->gap[i] * (ids->stride[i] / ids->gap[i]);
    which /= ids->gap[i];
    id += index[d] / settp_nested_weight(layout, level, d) % ids->size[i] * ids->stride[i];
  }
  return id;
}

SETT_PUBLIC int sett_nested_owner(const sett_nested_layout *layout, const int64_t *index, int64_t which,
                                  int64_t *subgroup, int64_t *thread, int64_t *slot) {
  settp_nested_ids s, t;
  int64_t copies, of_subgroup, of_thread, place = 0;
  int d, level;
  *subgroup = *thread = *slot = SETT_NESTED_UNKNOWN;
  if (layout->error) return 0;
  for (d = 0; d < layout->rank; ++d)
    if (index[d] < 0 || index[d] >= settp_nested_size(layout, d)) return 0;
  s = settp_nested_verified(layout, SETT_NESTED_SUBGROUP);
  t = settp_nested_verified(layout, SETT_NESTED_THREAD);
  copies = settp_nested_gaps(&t);
  if (which < 0 || which / copies >= settp_nested_gaps(&s)) return 0;
  of_subgroup = settp_nested_id(layout, SETT_NESTED_SUBGROUP, &s, index, which / copies);
  of_thread = settp_nested_id(layout, SETT_NESTED_THREAD, &t, index, which % copies);
  /* if the element has a digit above 0 in a tile of stride 0, no thread holds it: that digit is 0 in every thread */
  for (d = 0; d < layout->rank; ++d) {
    int64_t first = settp_nested_first(layout, d, of_subgroup, of_thread);
    int64_t weight = settp_nested_weight(layout, SETT_NESTED_SUBGROUP, d),
            element = layout->field[SETT_NESTED_ELEMENT][d];
    if (index[d] / weight != first / weight || index[d] / element % layout->field[SETT_NESTED_THREAD][d] !=
                                                   first / element % layout->field[SETT_NESTED_THREAD][d])
      return 0;
  }
  for (level = SETT_NESTED_BATCH; level <= SETT_NESTED_ELEMENT; ++level) {
    if (level == SETT_NESTED_THREAD) continue;
    for (d = 0; d < layout->rank; ++d) {
      int64_t tile = layout->field[level][d];
      place = place * tile + index[d] / settp_nested_weight(layout, level, d) % tile;
    }
  }
  *subgroup = of_subgroup;
  *thread = of_thread;
  *slot = place;
  return 1;
}

SETT_PUBLIC int64_t sett_nested_all_slots(const sett_nested_layout *layout) {
  int64_t count = 1, factor[3];
  int i;
  if (layout->error) return SETT_NESTED_UNKNOWN;
  factor[0] = sett_nested_subgroups(layout);
  factor[1] = sett_nested_threads(layout);
  factor[2] = sett_nested_slots(layout);
  for (i = 0; i < 3; ++i) {
    if (factor[i] > INT64_MAX / count) return SETT_NESTED_UNKNOWN;
    count *= factor[i];
  }
  return count;
}

SETT_PUBLIC int sett_nested_index(const sett_nested_layout *layout, int64_t *element, int64_t *owner, int64_t *next) {
  int64_t index[SETT_NESTED_MAX_RANK], count = sett_nested_all_slots(layout), each, threads, held, number;
  int d;
  if (layout->error) return layout->error;
  if (count < 0) return SETT_NESTED_ERROR_SIZE;
  each = sett_nested_slots(layout);
  threads = sett_nested_threads(layout);
  for (number = 0; owner && number < sett_nested_elements(layout); ++number) owner[number] = SETT_NESTED_UNKNOWN;
  /* from the largest slot number to the smallest, so that the smallest remains in owner[] */
  for (held = count; held-- > 0;) {
    sett_nested_element(layout, held / each / threads, held / each % threads, held % each, index);
    for (d = 0, number = 0; d < layout->rank; ++d) number = number * settp_nested_size(layout, d) + index[d];
    if (element) element[held] = number;
    if (owner && next) next[held] = owner[number];
    if (owner) owner[number] = held;
  }
  return SETT_NESTED_OK;
}

SETT_PUBLIC int64_t sett_nested_bound(const sett_nested_layout *layout, int dim, int64_t subgroup, int64_t thread,
                                      int64_t bound) {
  int64_t element, step, count, left, runs;
  if (layout->error || dim < 0 || dim >= layout->rank || subgroup < 0 || thread < 0) return SETT_NESTED_UNKNOWN;
  element = layout->field[SETT_NESTED_ELEMENT][dim];
  step = element * layout->field[SETT_NESTED_THREAD][dim];
  runs = layout->field[SETT_NESTED_BATCH][dim] * layout->field[SETT_NESTED_OUTER][dim];
  /* for each combination of batch and outer, the thread holds one run of adjacent indices; find the start of the first run */
  left = settp_nested_first(layout, dim, subgroup, thread);
  if (bound <= left) return 0;
  left = bound - left;
  count = left / step;
  if (count >= runs) return runs * element;
  left %= step;
  return count * element + (left < element ? left : element);
}

/* ---- bodies: comparison ----------------------------------------------------------------------------------------- */

SETT_PUBLIC int sett_nested_equal(const sett_nested_layout *a, const sett_nested_layout *b) {
  int i, d;
  if (a->error || b->error || a->rank != b->rank) return 0;
  for (i = 0; i < SETT_NESTED_FIELD_COUNT; ++i)
    for (d = 0; d < a->rank; ++d)
      if (a->field[i][d] != b->field[i][d]) return 0;
  return 1;
}

/* Write the runs of adjacent indices that a thread holds in a dimension. runs[0]: the length of a run. runs[1]: the distance between the beginnings
 * of two runs, 0 if there is only one run. runs[2]: the number of runs. */
SETT_INLINE void settp_nested_runs(const sett_nested_layout *layout, int d, int64_t runs[3]) {
  int64_t element = layout->field[SETT_NESTED_ELEMENT][d], thread = layout->field[SETT_NESTED_THREAD][d];
  int64_t count = settp_nested_own(layout, d) / element;
  int whole = count == 1 || thread == 1;
  runs[0] = whole ? count * element : element;
  runs[1] = whole ? 0 : thread * element;
  runs[2] = whole ? 1 : count;
}

/* Return 1 if the shapes of the vectors, and the runs in all dimensions, are equal. */
SETT_INLINE int settp_nested_alike(const sett_nested_layout *a, const sett_nested_layout *b) {
  int64_t of_a[3], of_b[3];
  int d;
  if (a->rank != b->rank) return 0;
  for (d = 0; d < a->rank; ++d) {
    settp_nested_runs(a, d, of_a);
    settp_nested_runs(b, d, of_b);
    if (settp_nested_size(a, d) != settp_nested_size(b, d) || of_a[0] != of_b[0] || of_a[1] != of_b[1] ||
        of_a[2] != of_b[2])
      return 0;
  }
  return 1;
}

/* Return 1 if a digit is the same function of the id in both layouts. If both strides are 0, the digit is always 0 in both. Otherwise, the strides and
 * the tiles must be equal. One step of the digit is then the same number of indices in both layouts, because the layouts have the same size and the
 * same runs. */
SETT_INLINE int settp_nested_same_digit(const sett_nested_layout *a, const sett_nested_layout *b, int level, int d) {
  int stride = level == SETT_NESTED_THREAD ? SETT_NESTED_THREAD_STRIDE : SETT_NESTED_SUBGROUP_STRIDE;
  if (a->field[stride][d] != b->field[stride][d]) return 0;
  return a->field[stride][d] == 0 || a->field[level][d] == b->field[level][d];
}

/* The digits of a slot number, the most minor first: size, dimension, and difference of the index between adjacent values. Digits that continue each
 * other are merged, so two functions of the slot are equal only if their lists of digits are equal. */
typedef struct settp_nested_steps {
  int count, dim[3 * SETT_NESTED_MAX_RANK];
  int64_t size[3 * SETT_NESTED_MAX_RANK], weight[3 * SETT_NESTED_MAX_RANK];
} settp_nested_steps;

SETT_INLINE void settp_nested_list_steps(const sett_nested_layout *layout, settp_nested_steps *steps) {
  int level, d, n = 0;
  for (level = SETT_NESTED_ELEMENT; level >= SETT_NESTED_BATCH; --level)
    for (d = layout->rank; d-- > 0;) {
      int64_t size = layout->field[level][d], weight = settp_nested_weight(layout, level, d);
      if (level == SETT_NESTED_THREAD || size == 1) continue;
      if (n > 0 && steps->dim[n - 1] == d && weight == steps->weight[n - 1] * steps->size[n - 1]) {
        steps->size[n - 1] *= size;
        continue;
      }
      steps->dim[n] = d;
      steps->size[n] = size;
      steps->weight[n++] = weight;
    }
  steps->count = n;
}

/* Return 1 if every slot has the same distance from the thread's first index in both layouts. */
SETT_INLINE int settp_nested_same_slots(const sett_nested_layout *a, const sett_nested_layout *b) {
  settp_nested_steps of_a, of_b;
  int i;
  settp_nested_list_steps(a, &of_a);
  settp_nested_list_steps(b, &of_b);
  if (of_a.count != of_b.count) return 0;
  for (i = 0; i < of_a.count; ++i)
    if (of_a.dim[i] != of_b.dim[i] || of_a.size[i] != of_b.size[i] || of_a.weight[i] != of_b.weight[i]) return 0;
  return 1;
}

SETT_INLINE sett_nested_answer settp_nested_answer(int yes, int same_slots, int error) {
  sett_nested_answer answer;
  answer.yes = yes;
  answer.no = !yes && !error;
  answer.same_slots = same_slots;
  answer.error = error;
  return answer;
}

SETT_PUBLIC sett_nested_answer sett_nested_same(const sett_nested_layout *a, const sett_nested_layout *b) {
  int d;
  if (a->error || b->error) return settp_nested_answer(0, 0, a->error ? a->error : b->error);
  if (!settp_nested_alike(a, b)) return settp_nested_answer(0, 0, 0);
  for (d = 0; d < a->rank; ++d)
    if (!settp_nested_same_digit(a, b, SETT_NESTED_SUBGROUP, d) ||
        !settp_nested_same_digit(a, b, SETT_NESTED_THREAD, d))
      return settp_nested_answer(0, 0, 0);
  return settp_nested_answer(1, settp_nested_same_slots(a, b), 0);
}

SETT_PUBLIC sett_nested_answer sett_nested_same_on(const sett_nested_layout *a, const sett_nested_layout *b,
                                                   int64_t subgroups, int64_t subgroup_size) {
  int64_t thread;
  int d;
  if (a->error || b->error) return settp_nested_answer(0, 0, a->error ? a->error : b->error);
  if (!settp_nested_machine(subgroups, subgroup_size)) return settp_nested_answer(0, 0, SETT_NESTED_ERROR_MACHINE);
  if (!settp_nested_alike(a, b)) return settp_nested_answer(0, 0, 0);
  for (thread = 0; thread < subgroups * subgroup_size; ++thread)
    for (d = 0; d < a->rank; ++d)
      if (settp_nested_first(a, d, thread / subgroup_size, thread) !=
          settp_nested_first(b, d, thread / subgroup_size, thread))
        return settp_nested_answer(0, 0, 0);
  return settp_nested_answer(1, settp_nested_same_slots(a, b), 0);
}

SETT_PUBLIC sett_nested_layout sett_nested_fits(const sett_nested_layout *layout, int rank, const int64_t *dims,
                                                int is_vector) {
  int d;
  if (layout->error) return *layout;
  if (rank != layout->rank) return settp_nested_fail(SETT_NESTED_ERROR_VECTOR_RANK, SETT_NESTED_UNKNOWN, layout->rank);
  for (d = 0; d < rank && is_vector; ++d)
    if (dims[d] >= 0 && dims[d] != settp_nested_size(layout, d))
      return settp_nested_fail(SETT_NESTED_ERROR_VECTOR_DIM, d, settp_nested_size(layout, d));
  return *layout;
}

/* ---- bodies: combinations --------------------------------------------------------------------------------------- */

SETT_INLINE void settp_nested_copy(sett_nested_layout *to, int dim, const sett_nested_layout *from, int from_dim) {
  int i;
  for (i = 0; i < SETT_NESTED_FIELD_COUNT; ++i) to->field[i][dim] = from->field[i][from_dim];
}

SETT_PUBLIC sett_nested_layout sett_nested_apply(const sett_nested_layout *layout, int count, const int32_t *map) {
  sett_nested_layout result;
  int d;
  if (layout->error) return *layout;
  if (count < 0 || count > SETT_NESTED_MAX_RANK)
    return settp_nested_fail(SETT_NESTED_ERROR_MAX_RANK, SETT_NESTED_UNKNOWN, 0);
  result = settp_nested_ones(count);
  for (d = 0; d < count; ++d) {
    if (map[d] < -1 || map[d] >= layout->rank) return settp_nested_fail(SETT_NESTED_ERROR_DIM, d, 0);
    if (map[d] >= 0) settp_nested_copy(&result, d, layout, map[d]);
  }
  return sett_nested_check(&result);
}

SETT_PUBLIC sett_nested_layout sett_nested_permute(const sett_nested_layout *layout, const int32_t *permutation) {
  uint32_t seen = 0;
  int d;
  for (d = 0; d < layout->rank && !layout->error; ++d) {
    if (permutation[d] < 0 || permutation[d] >= layout->rank || (seen >> permutation[d] & 1))
      return settp_nested_fail(SETT_NESTED_ERROR_PERMUTATION, d, 0);
    seen |= (uint32_t)1 << permutation[d];
  }
  return sett_nested_apply(layout, layout->rank, permutation);
}

SETT_PUBLIC sett_nested_layout sett_nested_project(const sett_nested_layout *layout, const unsigned char *dropped) {
  int32_t map[SETT_NESTED_MAX_RANK];
  int d, count = 0;
  for (d = 0; d < layout->rank; ++d)
    if (!dropped[d]) map[count++] = d;
  return sett_nested_apply(layout, count, map);
}

SETT_PUBLIC sett_nested_layout sett_nested_recombine(int count, const sett_nested_layout *layouts,
                                                     const int32_t *const *maps, int rank, const int32_t *result) {
  sett_nested_layout loops = settp_nested_ones(SETT_NESTED_MAX_RANK), layout;
  unsigned char known[SETT_NESTED_MAX_RANK];
  int i, d, field;
  if (rank < 0 || rank > SETT_NESTED_MAX_RANK)
    return settp_nested_fail(SETT_NESTED_ERROR_MAX_RANK, SETT_NESTED_UNKNOWN, 0);
  for (d = 0; d < SETT_NESTED_MAX_RANK; ++d) known[d] = 0;
  for (i = 0; i < count; ++i) {
    if (layouts[i].error) return layouts[i];
    for (d = 0; d < layouts[i].rank; ++d) {
      int loop = maps[i][d];
      if (loop < -1 || loop >= SETT_NESTED_MAX_RANK) return settp_nested_fail(SETT_NESTED_ERROR_DIM, d, 0);
      if (loop < 0) continue;
      for (field = 0; known[loop] && field < SETT_NESTED_FIELD_COUNT; ++field)
        if (loops.field[field][loop] != layouts[i].field[field][d])
          return settp_nested_fail(SETT_NESTED_ERROR_CONFLICT, loop, 0);
      settp_nested_copy(&loops, loop, &layouts[i], d);
      known[loop] = 1;
    }
  }
  layout = settp_nested_ones(rank);
  for (d = 0; d < rank; ++d) {
    if (result[d] < 0 || result[d] >= SETT_NESTED_MAX_RANK) return settp_nested_fail(SETT_NESTED_ERROR_DIM, d, 0);
    if (!known[result[d]]) return settp_nested_fail(SETT_NESTED_ERROR_HOLE, result[d], 0);
    settp_nested_copy(&layout, d, &loops, result[d]);
  }
  return sett_nested_check(&layout);
}

/* To reshape a layout, its row-major element numbers are written as one list of digits. A digit is held in slots (batch, outer, element), or belongs
 * to subgroups or threads, or is fixed (stride 0). Two adjacent digits of the same kind can be merged if their strides continue each other, and a
 * digit can be split at any divisor. The list is then cut at the new dimensions. The part for each dimension must have the order subgroup, slots,
 * thread, slots. */
enum { SETTP_NESTED_OWN, SETTP_NESTED_OF_SUBGROUP, SETTP_NESTED_OF_THREAD, SETTP_NESTED_FIXED };

typedef struct settp_nested_part {
  int kind, level;
  int64_t size, stride;
} settp_nested_part;

enum { SETTP_NESTED_PARTS = (int)SETT_NESTED_LEVELS * (int)SETT_NESTED_MAX_RANK };

/* Write the digits of size 2 or more to `part`, the most minor first, and return their number. Adjacent digits of one level are merged if their
 * strides continue each other. If `loose` is set, digits of different levels are merged, too. */
SETT_INLINE int settp_nested_list(const sett_nested_layout *layout, int loose, settp_nested_part *part) {
  int d, level, count = 0;
  for (d = layout->rank; d-- > 0;)
    for (level = SETT_NESTED_LEVELS; level-- > 0;) {
      settp_nested_part next, *last = count > 0 ? &part[count - 1] : &next;
      next.kind = level == SETT_NESTED_SUBGROUP ? SETTP_NESTED_OF_SUBGROUP
                  : level == SETT_NESTED_THREAD ? SETTP_NESTED_OF_THREAD
                                                : SETTP_NESTED_OWN;
      next.level = level;
      next.size = layout->field[level][d];
      next.stride = level == SETT_NESTED_SUBGROUP ? layout->field[SETT_NESTED_SUBGROUP_STRIDE][d]
                    : level == SETT_NESTED_THREAD ? layout->field[SETT_NESTED_THREAD_STRIDE][d]
                                                  : 0;
      if (next.size == 1) continue;
      if (next.kind != SETTP_NESTED_OWN && next.stride == 0) next.kind = SETTP_NESTED_FIXED;
      if (last != &next && last->kind == next.kind && (loose || last->level == next.level) &&
          next.stride == last->stride * last->size) {
        last->size *= next.size;
        if (level < last->level) last->level = level;
        continue;
      }
      part[count++] = next;
    }
  return count;
}

/* Put the digits of one dimension, the most minor first, into its five tiles. Return 0 if that is not possible. */
SETT_INLINE int settp_nested_place(sett_nested_layout *layout, int d, const settp_nested_part *part, int count) {
  int i, thread = -1, subgroup = -1, level = SETT_NESTED_ELEMENT;
  for (i = 0; i < count; ++i) {
    if (part[i].kind == SETTP_NESTED_OF_THREAD && thread >= 0) return 0;
    if (part[i].kind == SETTP_NESTED_OF_THREAD) thread = i;
  }
  /* a digit of stride 0 becomes the thread digit of a dimension that has none. If it is the most major digit, it may become the subgroup digit
   * instead */
  for (i = 0; i < count; ++i) {
    int last = i == count - 1;
    if (part[i].kind == SETTP_NESTED_OF_SUBGROUP && !last) return 0;
    if (part[i].kind == SETTP_NESTED_OF_SUBGROUP) subgroup = i;
    if (part[i].kind != SETTP_NESTED_FIXED) continue;
    if (thread < 0 && (!last || part[i].level == SETT_NESTED_THREAD)) thread = i;
    else if (last) subgroup = i;
    else return 0;
  }
  for (i = 0; i < count; ++i) {
    if (i == thread || i == subgroup) {
      layout->field[i == thread ? SETT_NESTED_THREAD : SETT_NESTED_SUBGROUP][d] = part[i].size;
      layout->field[i == thread ? SETT_NESTED_THREAD_STRIDE : SETT_NESTED_SUBGROUP_STRIDE][d] = part[i].stride;
      if (i == thread) level = SETT_NESTED_OUTER;
      continue;
    }
    /* digits below the thread's digit can only be in the element tile */
    if (i > thread && part[i].level < level) level = part[i].level;
    layout->field[level][d] *= part[i].size;
  }
  return 1;
}

SETT_INLINE int settp_nested_cut(sett_nested_layout *result, const int64_t *shape, settp_nested_part *part) {
  settp_nested_part piece[SETTP_NESTED_PARTS];
  int d, at = 0;
  for (d = result->rank; d-- > 0;) {
    int64_t need = shape[d];
    int count = 0;
    while (need > 1) {
      piece[count] = part[at];
      if (part[at].size <= need) {
        if (need % part[at].size != 0) return 0;
        need /= part[at++].size;
      } else {
        if (part[at].size % need != 0) return 0;
        piece[count].size = need;
        part[at].size /= need;
        part[at].stride *= need;
        need = 1;
      }
      ++count;
    }
    if (!settp_nested_place(result, d, piece, count)) return 0;
  }
  return 1;
}

SETT_PUBLIC sett_nested_layout sett_nested_reshape(const sett_nested_layout *layout, int rank, const int64_t *shape) {
  settp_nested_part part[SETTP_NESTED_PARTS];
  sett_nested_layout result;
  int64_t product = 1, elements = sett_nested_elements(layout);
  int d, loose;
  if (layout->error) return *layout;
  if (rank < 0 || rank > SETT_NESTED_MAX_RANK)
    return settp_nested_fail(SETT_NESTED_ERROR_MAX_RANK, SETT_NESTED_UNKNOWN, 0);
  for (d = 0; d < rank; ++d)
    if (shape[d] < 1 || !settp_nested_times(&product, shape[d]))
      return settp_nested_fail(SETT_NESTED_ERROR_SHAPE, d, elements);
  if (product != elements) return settp_nested_fail(SETT_NESTED_ERROR_SHAPE, SETT_NESTED_UNKNOWN, elements);
  for (loose = 0; loose < 2; ++loose) {
    settp_nested_list(layout, loose, part);
    result = settp_nested_ones(rank);
    if (settp_nested_cut(&result, shape, part)) return sett_nested_check(&result);
  }
  return settp_nested_fail(SETT_NESTED_ERROR_RESHAPE, SETT_NESTED_UNKNOWN, 0);
}

/* ---- bodies: layouts of contractions, layouts from counts ------------------------------------------------------- */

SETT_PUBLIC sett_nested_layout sett_nested_contract(const sett_nested_layout *fragment, const int32_t *place, int loops,
                                                    const int64_t *bounds, const int64_t *subgroups, int rank,
                                                    const int32_t *map) {
  sett_nested_layout layout;
  int64_t strides[SETT_NESTED_MAX_RANK], stride = 1;
  int of[SETT_NESTED_MAX_RANK], d, l;
  if (fragment->error) return *fragment;
  if (loops < 0 || loops > SETT_NESTED_MAX_RANK || rank < 0 || rank > SETT_NESTED_MAX_RANK)
    return settp_nested_fail(SETT_NESTED_ERROR_MAX_RANK, SETT_NESTED_UNKNOWN, 0);
  for (l = loops; l-- > 0;) {
    of[l] = SETT_NESTED_UNKNOWN;
    strides[l] = stride;
    if (bounds[l] < 1 || subgroups[l] < 1) return settp_nested_fail(SETT_NESTED_ERROR_BOUNDS, l, 0);
    if (!settp_nested_times(&stride, subgroups[l])) return settp_nested_fail(SETT_NESTED_ERROR_SIZE, l, 0);
  }
  for (d = 0; d < fragment->rank; ++d) {
    if (place[d] < 0 || place[d] >= loops || of[place[d]] >= 0) return settp_nested_fail(SETT_NESTED_ERROR_PLACE, d, 0);
    of[place[d]] = d;
  }
  layout = settp_nested_ones(rank);
  for (d = 0; d < rank; ++d) {
    int64_t size = 1, batch;
    l = map[d];
    if (l < 0 || l >= loops) return settp_nested_fail(SETT_NESTED_ERROR_DIM, d, 0);
    if (of[l] >= 0) {
      settp_nested_copy(&layout, d, fragment, of[l]);
      size = settp_nested_size(fragment, of[l]);
    }
    batch = ((bounds[l] - 1) / subgroups[l] + 1 - 1) / size + 1;
    if (!settp_nested_times(&layout.field[SETT_NESTED_BATCH][d], batch))
      return settp_nested_fail(SETT_NESTED_ERROR_SIZE, d, 0);
    if (layout.field[SETT_NESTED_SUBGROUP][d] > 1) return settp_nested_fail(SETT_NESTED_ERROR_PLACE, d, 0);
    layout.field[SETT_NESTED_SUBGROUP][d] = subgroups[l];
    layout.field[SETT_NESTED_SUBGROUP_STRIDE][d] = strides[l];
  }
  return sett_nested_check(&layout);
}

/* Distribute the dimensions of a layout over subgroups or threads (`level`). Dimension d is divided among counts->value[counts->map[d]] subgroups or
 * threads. The strides of the ids are row-major over the list counts->value. */
SETT_INLINE sett_nested_layout settp_nested_share(sett_nested_layout layout, int level,
                                                  const sett_nested_counts *counts) {
  int64_t stride, before;
  int d, i;
  for (d = 0; d < layout.rank && !layout.error; ++d) {
    if (counts->map[d] < 0 || counts->map[d] >= counts->count) return settp_nested_fail(SETT_NESTED_ERROR_DIM, d, 0);
    for (stride = 1, i = counts->count - 1; i > counts->map[d]; --i) {
      before = counts->value[i];
      if (before < 1) return settp_nested_fail(SETT_NESTED_ERROR_BOUNDS, d, 0);
      if (!settp_nested_times(&stride, before)) return settp_nested_fail(SETT_NESTED_ERROR_SIZE, d, 0);
    }
    layout.field[level][d] = counts->value[counts->map[d]];
    layout.field[level == SETT_NESTED_THREAD ? SETT_NESTED_THREAD_STRIDE : SETT_NESTED_SUBGROUP_STRIDE][d] = stride;
  }
  return layout;
}

SETT_PUBLIC sett_nested_layout sett_nested_basis(int rank, const int64_t *bounds, sett_nested_counts subgroups,
                                                 sett_nested_counts lanes, const int64_t *elements) {
  sett_nested_layout layout;
  int d;
  if (rank < 0 || rank > SETT_NESTED_MAX_RANK)
    return settp_nested_fail(SETT_NESTED_ERROR_MAX_RANK, SETT_NESTED_UNKNOWN, 0);
  layout = settp_nested_ones(rank);
  layout = settp_nested_share(layout, SETT_NESTED_SUBGROUP, &subgroups);
  layout = settp_nested_share(layout, SETT_NESTED_THREAD, &lanes);
  for (d = 0; d < rank && !layout.error; ++d)
    if (elements[d] != 0) layout.field[SETT_NESTED_ELEMENT][d] = elements[d];
  layout = sett_nested_check(&layout);
  for (d = 0; d < rank && !layout.error; ++d) {
    if (bounds[d] < 1) return settp_nested_fail(SETT_NESTED_ERROR_BOUNDS, d, 0);
    layout.field[SETT_NESTED_BATCH][d] = (bounds[d] - 1) / settp_nested_size(&layout, d) + 1;
  }
  return sett_nested_check(&layout);
}

/* ---- bodies: plans ---------------------------------------------------------------------------------------------- */

typedef struct settp_nested_terms {
  sett_nested_plan plan;
  int count;
  int64_t low, high; /* the smallest and largest value of the sum of all terms */
} settp_nested_terms;

/* Append a digit, unless it is always 0. A digit that continues the last one is merged with it. */
SETT_INLINE void settp_nested_term(settp_nested_terms *terms, unsigned source, int64_t divisor, int64_t modulus,
                                   int64_t factor) {
  sett_nested_term *term = terms->plan.term + terms->count - 1;
  if (terms->plan.error || modulus == 1 || factor == 0) return;
  /* the plan has this error until it is shown that everything fits in 32 bits */
  terms->plan.error = SETT_NESTED_ERROR_PLAN;
  if (divisor > UINT32_MAX || modulus > INT32_MAX || factor > INT32_MAX || factor < INT32_MIN) return;
  *(factor > 0 ? &terms->high : &terms->low) += (modulus - 1) * factor;
  if (terms->high > INT32_MAX || terms->low < INT32_MIN) return;
  if (terms->count > 0 && term->source == source && divisor == (int64_t)term->divisor * term->modulus &&
      factor == term->factor * (int64_t)term->modulus && term->modulus <= INT32_MAX / modulus) {
    term->modulus *= (uint32_t)modulus;
  } else {
    if (terms->count == SETT_NESTED_PLAN_TERMS) return;
    ++terms->count;
    ++term;
    term->source = source;
    term->divisor = (uint32_t)divisor;
    term->modulus = (uint32_t)modulus;
    term->factor = (int32_t)factor;
  }
  terms->plan.error = SETT_NESTED_OK;
}

SETT_PUBLIC sett_nested_plan sett_nested_prepare(const sett_nested_layout *layout, const int64_t *strides) {
  settp_nested_terms terms;
  int64_t row[SETT_NESTED_MAX_RANK], divisor = 1;
  int d, i, level;
  terms.plan.error = layout->error;
  terms.plan.thread_slots = 0;
  terms.count = 0;
  terms.low = terms.high = 0;
  for (i = 0; i < SETT_NESTED_PLAN_TERMS; ++i) {
    terms.plan.term[i].source = 0;
    terms.plan.term[i].divisor = terms.plan.term[i].modulus = 1;
    terms.plan.term[i].factor = 0;
  }
  if (layout->error) return terms.plan;
  if (sett_nested_slots(layout) > UINT32_MAX) terms.plan.error = SETT_NESTED_ERROR_PLAN;
  else terms.plan.thread_slots = (uint32_t)sett_nested_slots(layout);
  for (d = layout->rank; d-- > 0;) {
    row[d] = strides ? strides[d] : d == layout->rank - 1 ? 1 : row[d + 1] * settp_nested_size(layout, d + 1);
    if (settp_nested_size(layout, d) == 1) continue;
    if (row[d] > INT32_MAX || row[d] < INT32_MIN || settp_nested_size(layout, d) > INT32_MAX)
      terms.plan.error = SETT_NESTED_ERROR_PLAN;
  }
  for (level = SETT_NESTED_LEVELS; level-- > 0;) {
    int own = level != SETT_NESTED_SUBGROUP && level != SETT_NESTED_THREAD;
    for (d = layout->rank; d-- > 0 && !terms.plan.error;) {
      int64_t tile = layout->field[level][d];
      int64_t stride = level == SETT_NESTED_THREAD ? layout->field[SETT_NESTED_THREAD_STRIDE][d]
                                                   : layout->field[SETT_NESTED_SUBGROUP_STRIDE][d];
      if (!own && stride == 0) continue;
      if (tile > 1)
        settp_nested_term(&terms, own ? 2 : level == SETT_NESTED_THREAD, own ? divisor : stride, tile,
                          row[d] * settp_nested_weight(layout, level, d));
      if (own) divisor *= tile;
    }
  }
  for (i = 0; i < SETT_NESTED_PLAN_TERMS && terms.plan.error; ++i) terms.plan.term[i].factor = 0;
  return terms.plan;
}

#endif /* bodies */
