/* sett_indexing_analysis.h - v0.10 - the indexing map of an HLO op, in both directions, and what a map says about an access
   SPDX-License-Identifier: Apache-2.0

WHAT
  For an HLO op, given by its dimensions and attributes as plain numbers, this header computes two maps: from each index of the
  output to the indices of the operand elements that are read for it, and from each index of the operand to the indices of the
  output elements that read it. Maps of a chain of ops can be composed. Other functions answer questions about one map: how many
  memory transactions an access needs, which lanes conflict in a bank of shared memory and which layout avoids this, how many
  reads there are in all, which tile of the operand an output tile needs, and if a fact is true at every point of the domain.

INCLUDE
    #include "sett_indexing_map.h"
    #include "sett_indexing_analysis.h"
  C11 or C++17, freestanding; memory is the caller's arena of sett_indexing_map.h. By default, every function is static inline.
  The functions can be compiled once for many files, in C and C++: define SETT_DECLARATIONS before the first sett header of each file, and
  SETT_IMPLEMENTATION in exactly one file. To compile the functions of each header in a file of its own, define SETT_DECLARATIONS in that file, include
  the header, define SETT_IMPLEMENTATION, and include the header again. By default, a shared library does not export the functions. Two static
  libraries that both contain the functions can be linked into one program if at least one defines a SETT_PREFIX of its own in all its files.

OPTIONS
  Those of sett_indexing_map.h.

A FIRST LOOK
    #include <stdio.h>
    #include "sett_indexing_map.h"
    #include "sett_indexing_analysis.h"
    static unsigned char memory[1 << 16];
    int main(void) {
      int64_t out[2] = {40, 20}, in[2] = {20, 40}, permutation[2] = {1, 0};
      sett_map_arena arena = sett_map_arena_make(memory, sizeof memory);
      sett_analysis_list operand = {2, in}, output = {2, out}, order = {2, permutation};
      static sett_analysis_op op;
      char text[256];
      op.opcode = SETT_ANALYSIS_TRANSPOSE;
      op.operands = 1;
      op.in = &operand;
      op.out = output;
      op.dimensions = order;
      sett_map_print(&arena, sett_analysis_output_to_operand(&arena, &op), text, sizeof text);
      puts(text);
      return 0;
    }
  prints
    (d0, d1) -> (d1, d0), domain: d0 in [0, 39], d1 in [0, 19]

THE MODEL
  An op is a set of pairs (output index, operand index): the output element reads the operand element. A map is this set, read
  in one direction. In a map from the output, the dimensions are those of the output, d0 in [0, out0 - 1] and so on, and the
  results are an index of the operand. If an output element reads several operand elements, ranges s0, s1, .. enumerate them.
  If only a part of the output reads the operand (pad, concatenate, dilation), the domain is that part. A map from the operand
  is the reverse. A set without pairs is KNOWN EMPTY. Maps are not simplified; sett_analysis_tidy (or sett_map_simplify)
  simplifies them.

  A runtime variable rt0, rt1, .. is the value of an element of another operand, such as a start or an index. For each runtime
  variable, the answer has the number of that operand, and a map from the variables of the answer to the index of the element.
  The answer also says if a value out of bounds is clamped (dynamic-slice, gather) or makes no pair (scatter drops such an
  update). The bounds of a runtime variable are the values that the op allows.

  EXACT: the map has exactly the pairs of the op, for all values of the runtime variables. COVERING: the map has all pairs of
  the op and possibly more, because only a run decides which pairs exist, or because no constraints describe exactly these pairs.
  COVERING answers occur for operand 0 of dynamic-update-slice, the padding value of pad, the indices of scatter, and
  select-and-scatter. UNDEFINED: nothing is known; reason says why.

  In this table, `operand` and `output` are the indices in one dimension. A scalar operand has the map (), without results.
    elementwise   operand = output; the predicate of select and the bounds of clamp may be scalars
    broadcast     operand dimension i is output dimension dimensions[i]
    transpose     output dimension i is operand dimension dimensions[i]
    reshape       both indices have the same row-major position. Dimensions of size 1 are dropped. Then both shapes are cut
                  into the shortest groups of dimensions with equal products. A group is an identity (1 to 1 dimension), a
                  collapse (n to 1: a sum of multiples), an expansion (1 to n: quotients and remainders), or a collapse followed
                  by an expansion (n to m)
    bitcast       both indices have the same position in memory: a reshape between the dimensions in memory order
    bitcast-convert  the array of the narrower type has one more dimension, which counts the parts of an element of the wider type
    slice         operand = start[i] + stride[i] * output
    reverse       operand = size - 1 - output in the reversed dimensions
    pad           output = low + (interior + 1) * operand; operand 1, the padding value, is a scalar
    concatenate   output = operand + (sum of the sizes of the operands before it) in the concatenated dimension
    reduce        the dimensions that stay keep their order; reduced dimensions are ranges, in order; an init value is a scalar
    window        operand * base_dilation = output * stride + w * window_dilation - low, for each w in the window
                  (reduce-window and convolution); low is the padding before the operand. In select-and-scatter, a window
                  belongs to an element of the source (operand 1):
                  output * base_dilation = source * stride + w * window_dilation - low. An element of operand 0 is
                  related to every output element that is in the same window
    dot           the output has the batch dimensions, then the free dimensions of the left side, then those of the right;
                  contracted dimensions are ranges in the order of the attribute. In scaled-dot, a scale belongs to a block of
                  elements of the left or right side
    convolution   operand 0 is read as the row `window` says, at all input features. Of operand 1 (the weights), an output element
                  reads, for its own output feature, all input features and all window positions, also those that lie in
                  padding. Where reversal is 1, window position w reads index size - 1 - w of operand 1. With groups, an output
                  feature reads only the input features (or batches) of its own group
    dynamic-slice operand = output + rt;  dynamic-update-slice: output = update + rt;  a start is a scalar
    gather        operand = rt + output, in each dimension of operand 0. The term rt exists if the dimension is entry k of
                  start_index_map: rt is an element of operand 1 (start_indices). Its index is k in dimension index_vector_dim
                  and, in the other dimensions, the index in the batch dimensions of the output (those that are no offset
                  dimensions). The term output exists if the dimension is neither collapsed nor a batching dimension: it is the
                  index in the corresponding offset dimension of the output. In a batching dimension, operand is the index in
                  the corresponding batch dimension of the output. An output element reads all elements of operand 1 that have
                  its index in the batch dimensions; dimension index_vector_dim is a range
    scatter       as gather, with output = rt + update instead of operand = rt + output; the arrays that are updated (operand 0,
                  or several if the op is variadic) are elementwise
    all-gather    output = replica * size + operand in the gathered dimension; replica, the number of the device that has the
                  operand, is a further result
    scalar        every output element reads the only element of the operand

    f32[8] reshaped to f32[2,4]    (d0, d1) -> (d0 * 4 + d1), domain: d0 in [0, 1], d1 in [0, 3]
    f32[4,4] padded by low 1,4 high 4,0 interior 1,0 to f32[12,8]
                                   (d0, d1) -> ((d0 - 1) floordiv 2, d1 - 4), domain: d0 in [1, 7], d1 in [4, 7],
                                                                              (d0 - 1) mod 2 in [0, 0]
    its operand to the output      (d0, d1) -> (d0 * 2 + 1, d1 + 4), domain: d0 in [0, 3], d1 in [0, 3]

  Method: every op except reshape and bitcast is a system of linear equations between output dimensions, operand dimensions,
  further variables and runtime values. The dimensions of one side are computed from those of the other. An equation with one
  unknown is solved: the unknown is a quotient, the remainder must be 0, and bounds become constraints. If a known number
  is k * x + y with 0 <= y < k, x is its quotient by k, and y is the remainder. If no such equation is left, the next variable
  becomes a range. So one system gives the maps of both directions.

  A GRAPH is a list of values and a list of edges. A value is an array, given by its dimensions; a tuple is several values, so
  get-tuple-element is elementwise. An edge leads from a value (the user) to a value from which the user is computed (the
  source), and has the op. The root is the value from which paths are followed, such as the result of a fusion.
  sett_analysis_whole finds, for each value, the set of maps from the root to this value. It starts with the identity at the
  root. For each edge, it composes the maps from the root to the user with the map of the edge, and adds the composed maps to
  the set of the source. With from_root = 0, all maps lead in the opposite direction, to the root. If two paths have equal maps
  (by their simplified text), the set has one of them. The set of a parameter says which elements of the parameter each element
  of the root reads. With from_root = 0, the set of a value says which elements of the root are computed from each element of
  the value. A fusion with several results has several roots, and sett_analysis_merge joins their sets. If a runtime variable
  reads a constant or an iota, also through ops that only move elements (copy, reshape, slice, ..), the variable is replaced by
  its value. Every other variable has the number of the value that it reads. In a composed map, the ranges and runtime
  variables of the map that is applied second come before those of the map that is applied first. So in a map from the root,
  those of the edge farthest from the root come first. A fusion inside a fusion is an edge without an op; its maps are the sets
  that were computed for the inner fusion.
      p = f32[20,40]; t = f32[40,20] transpose(p), dimensions={1,0}; n = f32[40,20] negate(t); y = f32[40,20] add(t, n)
      the values p, t, n, y are 0 to 3; the edges are 3-1, 3-2, 2-1, 1-0. From root 3, value 0 has one map, (d0, d1) -> (d1, d0)

FUNCTIONS
  sett_analysis_from_output, _from_operand   the maps of an op; _output_to_operand: only the map of _from_output
  sett_analysis_map, _replica, _runtime_map  the parts of an answer
  sett_analysis_compose     compose two answers, with their runtime variables
  sett_analysis_tidy        simplify; remove unused ranges, and also unused runtime variables if `drop` is 1
  sett_analysis_fold        replace a runtime variable by its value
  sett_analysis_reshape     the indices of a reshape's operand, for any index expressions of its output
  sett_analysis_whole       a whole graph (a fusion): the maps between the root and every value, over all paths
  sett_analysis_keep, _merge, _load, _store_make   sets of maps, stored outside the arena
  sett_analysis_along, _bind   the map of one edge of a graph; replace runtime variables that read constants and iotas
  In the next functions, the lanes of a warp are consecutive values of the map's first dimension.
  sett_analysis_coalesced   bits and transactions of an access by warps
  sett_analysis_bank_conflicts   turns (in a turn, each bank serves one word) and conflicting lanes; _pad_rows, _swizzle: the best layout of shared
                            memory
  sett_analysis_deal   the same accesses in another assignment to lanes (to make another dimension the lane, use sett_map_move)
  sett_analysis_step, _wide   accesses by vectors: the result of _step is the index of a vector's first element (to be used with memory.width), the
                            result of _wide is the number of the vector
  sett_analysis_reads       the number of reads of a map
  sett_analysis_propagate   the tile of the operand, as a function of the number of the output tile
  sett_map_fact_parse, sett_map_proves   decide if a fact is true at every point of a map's domain, also for variables without bounds
  sett_analysis_opcode_find, _opcode_name, _message

LAWS (tests/algebra/test_op_maps.py, test_indexing_analysis_uses.py and indexing_analysis_graph_test.c enumerate small random instances)
  1 pairs        an EXACT answer has the pairs that loops over the op find, in both directions. A COVERING answer has all pairs
                 for all values of the runtime variables. If the op's field joint is 1, the maps from the output to the operands of a
                 dot, convolution or window have the same first ranges. A point of these ranges is one product, or one element of the
                 window, so one loop nest can read both operands.
  2 reshape      the map of a reshape relates indices with the same row-major position.
  3 order        runtime variable k of the map is entry k of the list in the answer.
  4 access       transactions, turns and degree (see sett_analysis_banks) are equal to counts over all lanes. A swizzle is a
                 permutation.
  5 tile         an output tile that is not cut short by the end of the array reads offset + k * stride, 0 <= k < size, and nothing else.
  6 whole        the maps of a set have the pairs of all paths, in both directions, and no map is in a set twice.
  7 dealt        deal permutes the points of the domain. step takes every width-th point. wide also divides the last result by
                 width. An access of width elements takes the same transactions and turns as an access of one element whose
                 bits are multiplied by width.
  8 facts        after a yes of sett_map_proves, the fact is true at every point. A no has a point of the domain at which the
                 fact is false (tests/algebra/test_proves.py).

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
  If dimensions and attributes contradict each other (a transpose of other sizes, a list that is no permutation, ..), the
  result is a failed map with an error SETT_ANALYSIS_ERROR_... A full arena or an overflow gives an error of
  sett_indexing_map.h.

LIMITS
  The limits are rank 32 for outputs and operands, 64 runtime variables in an answer, and one all-gather in a chain of ops. A
  set with more than 256 different maps becomes UNDEFINED. A read is followed to a constant through at most 64 ops. Questions
  about warps visit at most 2^20 points; the field whole is 1 if these are all points. A warp has at most 64 lanes, shared
  memory at most 1024 banks of at most 128 bytes, and an access of several elements at most 128 bits. A tile of the operand
  that is not a strided block is refused. A proof of a fact distinguishes at most 160 cases. It uses at most 80 terms:
  variables, quotients, minima, and products of at most 4 of these. If the proof fails, both sides of the fact are simplified
  and compared, and domains of up to 65536 points are enumerated. If this fails, too, the fact is not decided.

HISTORY
  0.10  sett_map_proves, sett_map_fact_parse.
  0.9  SETT_DECLARATIONS, SETT_IMPLEMENTATION, SETT_PREFIX.
  0.8  sett_analysis_pad_rows and sett_analysis_swizzle, which was sett_analysis_swizzle_rows, examine all paddings, or all swizzles, and return the best;
       memory.xor_bits, _base, _shift.
  0.7  accesses of several elements (width), also of different widths to one memory; the list of conflicting lanes has one lane per word.
  0.6  sett_analysis_wide counts vectors.
  0.5  sett_analysis_error_message is now sett_analysis_message.
  0.4  padded rows stay aligned.
  0.3  whole graphs; contradictory descriptions of memory are refused.
  0.2  all ops with a map, in both directions; runtime variables; chains; coalescing, banks, reads, tiles.
  0.1  maps from the output to the operand, of ops that move elements and of reductions.
*/
#ifndef SETT_INDEXING_ANALYSIS_H
#define SETT_INDEXING_ANALYSIS_H

#define SETT_ANALYSIS_VERSION 1000 /* version 0.10.0: 10000 * major + 100 * minor + patch */

#ifndef SETT_INDEXING_MAP_H
#error "include sett_indexing_map.h before sett_indexing_analysis.h"
#endif

/* ---- types ------------------------------------------------------------------------------------------------------ */

enum { SETT_ANALYSIS_MAX_RANK = 32, SETT_ANALYSIS_MAX_RUNTIMES = 64, SETT_ANALYSIS_ERROR_FIRST = 1000 };

/* clang-format off */
#define SETT_ANALYSIS_OPCODES(X)                                                                                     \
  X(NONE, "none")                                                                                                    \
  X(ELEMENTWISE, "elementwise") X(BROADCAST, "broadcast") X(TRANSPOSE, "transpose") X(RESHAPE, "reshape")            \
  X(BITCAST, "bitcast") X(BITCAST_CONVERT, "bitcast-convert") X(SLICE, "slice") X(REVERSE, "reverse")                \
  X(PAD, "pad") X(CONCATENATE, "concatenate") X(REDUCE, "reduce") X(REDUCE_WINDOW, "reduce-window")                  \
  X(SELECT_AND_SCATTER, "select-and-scatter") X(DOT, "dot") X(SCALED_DOT, "scaled-dot")                              \
  X(CONVOLUTION, "convolution") X(DYNAMIC_SLICE, "dynamic-slice") X(DYNAMIC_UPDATE_SLICE, "dynamic-update-slice")    \
  X(GATHER, "gather") X(SCATTER, "scatter") X(ALL_GATHER, "all-gather") X(SCALAR, "scalar")
/* clang-format on */

enum {
#define SETTP_ANALYSIS_ENUM(name, text) SETT_ANALYSIS_##name,
  SETT_ANALYSIS_OPCODES(SETTP_ANALYSIS_ENUM) SETT_ANALYSIS_OPCODE_COUNT
#undef SETTP_ANALYSIS_ENUM
};

#define SETT_ANALYSIS_ERRORS(X)                                                                                         \
  X(OPCODE, "expected an op with operands that this build knows")                                                       \
  X(OPERAND, "expected the number of an operand whose dimensions are given")                                            \
  X(RANK, "expected at most 32 dimensions")                                                                             \
  X(DIM, "expected dimensions that are not negative")                                                                   \
  X(SIZES, "expected dimensions of output and operand that agree under this op")                                        \
  X(COUNT, "expected an attribute with one entry for each dimension of the op")                                         \
  X(DIMENSION, "expected dimension numbers of the shape, each at most once")                                            \
  X(ELEMENTS, "expected the same number of elements in operand and output")                                             \
  X(SLICE, "expected a slice inside the operand: start >= 0, stride > 0, the last element inside")                      \
  X(INTERIOR, "expected interior padding that is not negative")                                                         \
  X(WINDOW, "expected a window with sizes that are not negative, and strides and dilations of at least 1")              \
  X(GROUPS, "expected group counts that divide the features and the batch, one of them 1")                              \
  X(RUNTIMES, "expected at most 64 runtime variables")                                                                  \
  X(COLLECTIVES, "expected one all-gather in a chain of ops")                                                           \
  X(POSITION, "expected as many results as the memory has dimensions, or one: a position")                              \
  X(LANES, "expected a map with a first dimension, the lane, at most 256 variables and 64 lanes")                       \
  X(OUTSIDE, "expected indices inside the memory's dimensions")                                                         \
  X(UNITS,                                                                                                              \
    "expected elements of at most 128 bits, 1 to 1024 banks, and transactions or banks of at least 1/16 of an element") \
  X(STORE, "expected more memory for maps that are kept")                                                               \
  X(GRAPH, "expected edges between values of the graph, and all edges into a value before the edges out of it")         \
  X(MEMORY,                                                                                                             \
    "expected padding that is not negative, a swizzle by every, count and unit of at least 1 that stays in a row")      \
  X(WIDTH, "expected multiples of the width: first elements of accesses, padded rows, units of the swizzle")            \
  X(TILE, "expected tile sizes of at least 1, of dimensions that start at 0")                                           \
  X(LARGE, "not decided: expected accesses of at most 1048576 points")                                                  \
  X(TOO_LARGE, "expected sizes whose products fit in 64 bits")

enum {
  SETTP_ANALYSIS_ERROR_BEFORE = SETT_ANALYSIS_ERROR_FIRST - 1,
#define SETTP_ANALYSIS_ENUM(name, text) SETT_ANALYSIS_ERROR_##name,
  SETT_ANALYSIS_ERRORS(SETTP_ANALYSIS_ENUM) SETT_ANALYSIS_ERROR_END
#undef SETTP_ANALYSIS_ENUM
};

typedef struct sett_analysis_list {
  int count;
  const int64_t *values;
} sett_analysis_list;

/* An op as numbers, with HLO's names. Lists that an op does not use stay empty. A list that an op uses may be empty, too: an empty stride,
 * base_dilation or window_dilation means ones; an empty low, high, interior or reversal means zeros (but pad requires low and high); an empty layout
 * means row-major. feature_groups 0 and batch_groups 0 mean 1. */
typedef struct sett_analysis_op {
  int opcode;
  int operand;  /* number of the operand that maps lead to or start from */
  int operands; /* number of operands, that is, of entries of the array `in` */
  /* Dimensions of each operand. All ops read in[operand]. In addition, concatenate reads in[0] .. in[operand - 1]; dot, scaled-dot and gather read
   * in[0] and in[1]; scatter reads the entry of the indices. */
  const sett_analysis_list *in;
  sett_analysis_list out; /* dimensions of the output; all outputs of a variadic op have the same dimensions */
  /* dimensions of broadcast, transpose, reverse and reduce; the one dimension of concatenate and all-gather */
  sett_analysis_list dimensions;
  sett_analysis_list start, stride; /* attributes of slice; `stride` is also one of windows */
  /* attributes of pad; `low` and `high` are also those of windows, and may be negative */
  sett_analysis_list low, high, interior;
  sett_analysis_list out_layout, in_layout; /* of bitcast: minor_to_major of the output and of the operand */
  /* attributes of a window: sizes, base dilations (lhs_dilate), window dilations (rhs_dilate), and reversal as 0 or 1 */
  sett_analysis_list window, base_dilation, window_dilation, reversal;
  /* of dot and scaled-dot: dimensions of the left and of the right factor */
  sett_analysis_list lhs_batch, rhs_batch, lhs_contracting, rhs_contracting;
  /* of convolution: the numbers of the batch, feature and spatial dimensions of the input, in this order */
  sett_analysis_list lhs_labels;
  /* of convolution: the numbers of the input feature, output feature and spatial dimensions of operand 1, the window's weights */
  sett_analysis_list rhs_labels;
  sett_analysis_list out_labels; /* of convolution: the batch, feature and spatial dimensions of the output */
  int64_t feature_groups, batch_groups;
  /* of dot, scaled-dot, convolution and windows. 1: the ranges of a map from the output begin with all contracted dimensions in order (those of the
   * window, then the input features), so that the maps of all operands have the same first ranges. 0: each map has only the ranges that it needs. */
  int64_t joint;
  sett_analysis_list offset_dims;      /* of gather: offset_dims; of scatter: update_window_dims */
  sett_analysis_list collapsed;        /* of gather: collapsed_slice_dims; of scatter: inserted_window_dims */
  sett_analysis_list start_index_map;  /* of gather: start_index_map; of scatter: scatter_dims_to_operand_dims */
  sett_analysis_list operand_batching; /* of gather: operand_batching_dims; of scatter: input_batching_dims */
  /* of gather: start_indices_batching_dims; of scatter: scatter_indices_batching_dims */
  sett_analysis_list indices_batching;
  int64_t index_vector_dim;       /* of gather and scatter: the dimension of the indices that is the index vector */
  sett_analysis_list slice_sizes; /* of gather: slice_sizes */
} sett_analysis_op;

/* The array element that contains the value of a runtime variable. */
typedef struct sett_analysis_runtime {
  int operand; /* number of the operand that contains the element */
  int count;   /* number of indices of the element */
  /* 1: a value out of bounds is clamped to the nearest bound; 0 (scatter): an update at such a value has no effect */
  int clamped;
} sett_analysis_runtime;

enum { SETT_ANALYSIS_UNDEFINED, SETT_ANALYSIS_EXACT, SETT_ANALYSIS_COVERING };

/* The answer to a question about an op. The results of the map `all` are the index, then the replica if there is one, then for each runtime variable
 * the index at which it is read. All are results of one map, so that they are composed and simplified together. */
typedef struct sett_analysis_answer {
  int kind;
  const char *reason; /* why the answer is COVERING or UNDEFINED; "" if it is EXACT */
  sett_map all;
  int results;  /* number of results of `all` that form the index */
  int replica;  /* 1 if there is a replica */
  int runtimes; /* number of runtime variables; equal to all.rts */
  sett_analysis_runtime runtime[SETT_ANALYSIS_MAX_RUNTIMES];
} sett_analysis_answer;

/* ---- whole graphs ---- */

/* maximum number of maps in a set; maximum number of ops between a constant or iota and a runtime variable that is read from it */
enum { SETT_ANALYSIS_MAX_MAPS = 256, SETT_ANALYSIS_MAX_MOVES = 64 };

/* Caller-owned memory for maps that must outlive the contents of the arena. The maps are stored as text. Nothing is freed. */
typedef struct sett_analysis_store {
  unsigned char *memory;
  size_t bytes, used;
} sett_analysis_store;

typedef struct sett_analysis_kept {
  int kind, results, replica, runtimes; /* fields of sett_analysis_answer; `text` is its map `all`, printed */
  const char *reason, *text;
  size_t length;
  const sett_analysis_runtime *runtime;
  struct sett_analysis_kept *next;
} sett_analysis_kept;

/* A set of different maps, in the order in which they were added. {0} is the empty set. If an UNDEFINED map is added, or more than 256 maps, the set
 * consists of one map, which is UNDEFINED. */
typedef struct sett_analysis_set {
  int count, followed; /* `followed` is used only while a graph is traversed */
  sett_analysis_kept *first, *last;
} sett_analysis_set;

/* A value: an array that an op makes. A tuple is several values. */
enum { SETT_ANALYSIS_ANY, SETT_ANALYSIS_CONSTANT, SETT_ANALYSIS_IOTA };
typedef struct sett_analysis_value {
  sett_analysis_list dims;
  /* SETT_ANALYSIS_CONSTANT: every element equals `number`. SETT_ANALYSIS_IOTA: an element equals its index in dimension `number` */
  int known;
  int64_t number;
} sett_analysis_value;

/* An edge of the graph: value `user` is computed from value `source`. */
typedef struct sett_analysis_edge {
  int user, source;
  /* 1: the op only moves elements (copy, transpose, slice, ..), so known elements of the source are known in the user, too */
  int moves;
  /* the op that computes `user`. op->operand is the number of the operand that is `source`. get-tuple-element and similar ops count as elementwise */
  const sett_analysis_op *op;
  /* operand[i] is the number of the value that is operand i of op; -1: no value. Runtime variables are read from these values */
  const int *operand;
  /* only if op is NULL, for a call: the maps from the user's index to the source's index (down), and from the source's to the user's (up) */
  sett_analysis_set down, up;
} sett_analysis_edge;

/* Edges are sorted: for each value, the edges in which it is the source come before the edges in which it is the user. */
typedef struct sett_analysis_graph {
  int values, edges;
  const sett_analysis_value *value;
  const sett_analysis_edge *edge;
  /* In answers about this graph, runtime[].operand is `first` + the number of the value. Graphs that call each other use different intervals of
   * numbers */
  int first;
} sett_analysis_graph;

/* ---- analyses of maps ---- */

enum {
  SETT_ANALYSIS_MAX_LANES = 64,
  SETT_ANALYSIS_MAX_UNITS = 17 * 64, /* maximum number of transactions, or of words of banks, that one access touches */
  SETT_ANALYSIS_MAX_VARIABLES = 256,
  SETT_ANALYSIS_MAX_LOOKS = 1 << 20 /* maximum number of points that one analysis visits */
};

/* The memory that a map accesses. If dims is empty, the map has one result: a position in memory, counted in elements. Otherwise, the results of the
 * map are an index of an array with these dimensions, which is stored row-major. A row has the size of the last dimension, and is followed by `padding`
 * unused elements. The rows are numbered from 0 in the order in which they are stored. With a swizzle, column c of row number r is stored at column
 * c xor (r / swizzle_every mod swizzle_count) * swizzle_unit. The swizzled column must stay in its row. So the size of the last dimension must be a
 * multiple of a power of two that is greater than (swizzle_count - 1) * swizzle_unit. */
typedef struct sett_analysis_memory {
  sett_analysis_list dims;
  int64_t bits; /* bits of an element */
  /* for sett_analysis_pad_rows: a row length that is a multiple of `align` elements stays a multiple of it. `align` is a power of two; 0 means the
   * number of elements in a word of a bank */
  int64_t align;
  int64_t padding;
  /* each is at least 1, except that swizzle_count 0 means no swizzle */
  int64_t swizzle_every, swizzle_count, swizzle_unit;
  /* CuTe's swizzle S<bits, base, shift>, applied to the position after padding and swizzle: the bits [base, base + bits) are XORed with the bits that
   * are `shift` higher. If shift < 0, the bits that are -shift higher are XORed with the bits [base, base + bits). xor_bits 0 means no swizzle */
  int64_t xor_bits, xor_base, xor_shift;
  int64_t width; /* elements of one access, which begins at a position that is a multiple of width; 0 means 1 */
} sett_analysis_memory;

/* Result of sett_analysis_coalesced. A lane is active if its point is in the map's domain. An access is made by one warp, at one combination of
 * values of the other variables. The first warp has the first `lanes` values of the map's first dimension, the second warp has the next `lanes`
 * values, and so on. Accesses without an active lane are not counted.
 *     warps:                             number of accesses.
 *     bits, transactions, least:         sums over all accesses. bits counts an element once per access. least is the fewest transactions that could
 *                                        transfer these elements.
 *     worst, worst_least, worst_bits:    transactions, least and bits of the worst access: the access with the largest difference between transactions
 *                                        and least, and among equal ones the first.
 *     strided, stride:                   strided is 1 if lane 0 of the worst access is active and each further active lane is `stride` elements after
 *                                        the active lane before it.
 *     group, apart:                      group is 0, except if all lanes of the worst access are active and form at least two groups of `group`
 *                                        adjacent lanes each. Then adjacent lanes in a group are `stride` elements apart, and the first lanes of
 *                                        adjacent groups are `apart` elements apart. group is at least 2.
 * stride has no meaning if strided and group are both 0. After an error, all other fields are 0. */
typedef struct sett_analysis_coalescing {
  int error, whole; /* `whole` is 1 if all accesses were visited, and 0 if there were too many points */
  int64_t warps, bits, transactions, least;
  int64_t worst, worst_least, worst_bits, stride, apart;
  int strided, group;
} sett_analysis_coalescing;

/* Result of sett_analysis_bank_conflicts. Accesses are counted as in sett_analysis_coalescing, and `warps` is their number. A phase is the part of an
 * access that is served together. If the access of a lane is not wider than a word of a bank, a phase is all lanes. Otherwise, a phase is n
 * consecutive lanes: the largest n with n * (bits of a lane's access) <= (lanes of a warp) * (bits of a word), but at least 1. In one turn, each bank
 * serves one word, so a phase without conflicts takes one turn. `phases` and `turns` are sums over all accesses. `degree` is the number of turns of the
 * worst phase. `bank` is the bank that serves the most words in that phase, and lane[] has one lane for each of these words; `lanes` is their number. */
typedef struct sett_analysis_banks {
  int error, whole;
  int64_t warps, phases, turns, bank;
  int degree, lanes, lane[SETT_ANALYSIS_MAX_LANES];
} sett_analysis_banks;

/* The best layout of a class (all paddings, or all swizzles) for the accesses of some maps. A layout is better if it has a lower degree; at equal
 * degree, if it takes fewer turns; at equal turns, if it needs fewer additional bytes.
 *     degree:  the most turns of a phase; -1 if not decided, and memory is then unchanged.
 *     turns:   turns over all accesses.
 *     bound:   a lower bound on the turns of any layout. The reason: in one turn, the banks deliver at most one word each.
 *     count:   number of members of the class, including the layout without padding or swizzle.
 *     least:   1 if turns = bound. If bytes is 0, too, no layout is better, and the members after the best one were not examined.
 *     whole:   0 if some members were not examined because the search visited the maximum of 2^27 lanes; otherwise 1.
 *     bytes:   additional memory that the layout needs. */
typedef struct sett_analysis_best {
  int error, degree, least, whole;
  int64_t turns, bound, count, bytes;
  sett_analysis_memory memory;
} sett_analysis_best;

/* The tile of the operand that an output tile needs. `offset` is the map from the number of the output tile in each dimension to the first index of the
 * operand's tile. In dimension i of the operand, the tile has size[i] elements that are stride[i] apart. `results` is the rank of the operand. The last
 * tile may be cut short by the end of the array. If there is no such tile, `error` or `reason` says why, `results` is 0 and `offset` is UNDEFINED. */
typedef struct sett_analysis_tile {
  int error, results;
  const char *reason;
  sett_map offset;
  int64_t size[SETT_ANALYSIS_MAX_RANK], stride[SETT_ANALYSIS_MAX_RANK];
} sett_analysis_tile;

/* ---- prototypes ------------------------------------------------------------------------------------------------- */

/* Return the map from output indices to indices of op->in[op->operand]; sett_analysis_from_operand returns the map in the opposite direction. An
 * answer {0} is UNDEFINED. A failed answer has a failed map. */
SETT_PUBLIC sett_analysis_answer sett_analysis_from_output(sett_map_arena *arena, const sett_analysis_op *op);
SETT_PUBLIC sett_analysis_answer sett_analysis_from_operand(sett_map_arena *arena, const sett_analysis_op *op);
/* Return a part of an answer as a map with the variables of `all`. sett_analysis_map returns the index, without the further results.
 * sett_analysis_replica returns the replica of an all-gather; UNDEFINED if there is no replica. sett_analysis_runtime_map returns the index at which
 * runtime variable k is read; this map has no constraints. */
SETT_PUBLIC sett_map sett_analysis_map(const sett_analysis_answer *answer);
SETT_PUBLIC sett_map sett_analysis_replica(const sett_analysis_answer *answer);
SETT_PUBLIC sett_map sett_analysis_runtime_map(const sett_analysis_answer *answer, int k);
/* Return only the index map of sett_analysis_from_output: from output indices to operand indices. */
SETT_PUBLIC sett_map sett_analysis_output_to_operand(sett_map_arena *arena, const sett_analysis_op *op);
/* Compose two answers: apply `first`, then `second` to its results. Ranges and runtime variables are those of `second`, then those of `first`. The
 * entries of runtime[] are copied. If they refer to different operands in the two answers, the caller first gives these operands different numbers in
 * runtime[].operand. */
SETT_PUBLIC sett_analysis_answer sett_analysis_compose(sett_map_arena *arena, const sett_analysis_answer *first,
                                                       const sett_analysis_answer *second);
/* Simplify an answer and remove unused ranges. If `drop` is 1, also remove unused runtime variables. */
SETT_PUBLIC sett_analysis_answer sett_analysis_tidy(sett_map_arena *arena, const sett_analysis_answer *answer,
                                                    int drop);
/* Replace runtime variable k by `value`, an expression of the variables of answer->all. If runtime[k].clamped is 1, the expression is clamped to the
 * bounds of the variable; otherwise the bounds become a constraint. */
SETT_PUBLIC sett_analysis_answer sett_analysis_fold(sett_map_arena *arena, const sett_analysis_answer *answer, int k,
                                                    sett_expr value);
/* Sets of maps outside the arena. sett_analysis_keep adds a map to a set unless the set has an equal map. Maps are equal here if they have the same text
 * and the same runtime variables, so the caller first simplifies each map with sett_analysis_tidy. sett_analysis_merge adds the maps of the set `more`;
 * both sets then share the texts. sett_analysis_load returns a stored map as an answer. The functions that return int return 0 or an error. */
SETT_PUBLIC sett_analysis_store sett_analysis_store_make(void *memory, size_t bytes);
SETT_PUBLIC int sett_analysis_keep(sett_map_arena *arena, sett_analysis_store *store, sett_analysis_set *set,
                                   const sett_analysis_answer *answer);
SETT_PUBLIC int sett_analysis_merge(sett_analysis_store *store, sett_analysis_set *set, const sett_analysis_set *more);
SETT_PUBLIC sett_analysis_answer sett_analysis_load(sett_map_arena *arena, const sett_analysis_kept *kept);
/* sett_analysis_along returns the map of an edge that has an op: from its user to its source if from_output is 1, otherwise from its source to its
 * user. In runtime[].operand, the answer has numbers of values of the graph (see `first` in sett_analysis_graph). sett_analysis_bind replaces each
 * runtime variable that reads a constant or an iota by its value, and then calls sett_analysis_tidy. There may be ops between the constant or iota
 * and the read, if these ops only move elements. */
SETT_PUBLIC sett_analysis_answer sett_analysis_along(sett_map_arena *arena, const sett_analysis_graph *graph, int edge,
                                                     int from_output);
SETT_PUBLIC sett_analysis_answer sett_analysis_bind(sett_map_arena *arena, const sett_analysis_graph *graph,
                                                    const sett_analysis_answer *answer, int drop);
/* For each value v, write to set[v] the maps between value `root` and v over all paths. `set` has one entry per value. If from_root is 1, the maps lead
 * from `root` to v: to the elements of v that `root` is computed from. Otherwise they lead from v to `root`: to the elements of `root` that are
 * computed from v. The arena has the same contents before and after the call. Return 0 or an error. If `edge` is not NULL, *edge is the number of the
 * edge with the error, or -1. */
SETT_PUBLIC int sett_analysis_whole(sett_map_arena *arena, sett_analysis_store *store, const sett_analysis_graph *graph,
                                    int root, int from_root, sett_analysis_set *set, int *edge);
/* Count the transactions that each access of a warp needs, and the fewest that could transfer its elements. A transaction is an aligned block of
 * `transaction` bytes. A warp has `lanes` lanes. At most SETT_ANALYSIS_MAX_LOOKS points are visited. */
SETT_PUBLIC sett_analysis_coalescing sett_analysis_coalesced(sett_map_arena *arena, sett_map map,
                                                             const sett_analysis_memory *memory, int transaction,
                                                             int lanes);
/* Count the turns that accesses to shared memory take. The memory has `banks` banks, whose words have `bytes` bytes. In one turn, each bank serves one
 * word. Accesses wider than a word are served in phases; see sett_analysis_banks. */
SETT_PUBLIC sett_analysis_banks sett_analysis_bank_conflicts(sett_map_arena *arena, sett_map map,
                                                             const sett_analysis_memory *memory, int banks, int bytes,
                                                             int lanes);
/* Return a map with the same accesses in another assignment to lanes. The result has dimensions only. Dimension 0 is the lane, in [0, T - 1]; v is
 * the number of another variable, which is in [0, V - 1].
 *     sett_analysis_deal:  Adjacent lanes get adjacent values of v: at lane t and v = u, the result has the element that map has at lane n floordiv V
 *                          and v = n mod V, where n = u * T + t.
 *     sett_analysis_step:  v advances by width elements, so the result is the index of the first element of a vector. Use it with the same memory and
 *                          memory.width = width.
 *     sett_analysis_wide:  As step, but the last result counts vectors of width elements. Use it with a memory whose bits are multiplied by width, and
 *                          whose last dimension is divided by width.
 * step and wide are correct if width divides the vector_width that sett_map_runs gives for v. The result is UNDEFINED if bounds do not begin at 0, if
 * width does not divide V, or if the map has no result. */
SETT_PUBLIC sett_map sett_analysis_deal(sett_map_arena *arena, sett_map map, int v);
SETT_PUBLIC sett_map sett_analysis_step(sett_map_arena *arena, sett_map map, int v, int64_t width);
SETT_PUBLIC sett_map sett_analysis_wide(sett_map_arena *arena, sett_map map, int v, int64_t width);
/* sett_analysis_pad_rows and sett_analysis_swizzle ignore the padding and the swizzle in `memory`. banks, bytes and lanes are those of
 * sett_analysis_bank_conflicts.
 * sett_analysis_pad_rows finds the best padding of rows for the accesses of all maps. Rows grow by less than banks * bytes bytes. Row lengths that
 * are multiples of memory->align elements stay multiples, so that accesses of memory->align elements stay aligned.
 * sett_analysis_swizzle finds the best swizzle S<B,M,S> of CuTe (see xor_bits in sett_analysis_memory); S may be negative. The swizzle reads and changes
 * only the lowest k bits of a position, where 2^k is the smallest power of two that is at least the size of the array. Of equally good swizzles, the
 * function takes the first in this order:
 *     a swizzle by the row index (S > 0, the row length is a power of two), which is returned in swizzle_every, swizzle_count and swizzle_unit;
 *     another swizzle with S > 0;
 *     a swizzle with S < 0.
 * If the size of the array is not a multiple of the block that the swizzle permutes, the array is extended; the field bytes counts this.
 * An access of map i has width[i] elements, or memory->width if width is NULL, and stays contiguous. Both functions examine every member of the
 * class, except in the cases that the fields least and whole describe. */
SETT_PUBLIC sett_analysis_best sett_analysis_pad_rows(sett_map_arena *arena, int maps, const sett_map *map,
                                                      const int64_t *width, const sett_analysis_memory *memory,
                                                      int banks, int bytes, int lanes);
SETT_PUBLIC sett_analysis_best sett_analysis_swizzle(sett_map_arena *arena, int maps, const sett_map *map,
                                                     const int64_t *width, const sett_analysis_memory *memory,
                                                     int banks, int bytes, int lanes);
/* Return the number of points in the domain of a map: the number of reads. (sett_map_image counts the different elements that are read.) Return -1 if
 * the number is unknown or needs more than 64 bits. */
SETT_PUBLIC int64_t sett_analysis_reads(sett_map_arena *arena, sett_map map);
/* Return the tile of the operand that output tiles of these sizes need. `map` leads from the output to the operand, and `sizes` has one entry per
 * dimension of `map`. */
SETT_PUBLIC sett_analysis_tile sett_analysis_propagate(sett_map_arena *arena, sett_map map, sett_analysis_list sizes);
/* Return the opcode with that name, or SETT_ANALYSIS_NONE. */
SETT_PUBLIC int sett_analysis_opcode_find(const char *name);
SETT_PUBLIC const char *sett_analysis_opcode_name(int opcode);
/* Write the indices of the operand of a reshape as expressions of the indices of its output. `index` has one expression per dimension of `out`, with
 * values from 0 to size - 1. `result` receives one expression per dimension of `in`. Return 0 or an error; after an error, the results are failed
 * expressions. */
SETT_PUBLIC int sett_analysis_reshape(sett_map_arena *arena, sett_analysis_list out, const sett_expr *index,
                                      sett_analysis_list in, sett_expr *result);
SETT_PUBLIC const char *sett_analysis_message(int error);

/* ---- facts ------------------------------------------------------------------------------------------------------ */

/* A fact: a <= b, a = b, or a divides b (b = a * k for an integer k), for expressions of the variables of a map. */
enum { SETT_MAP_AT_MOST, SETT_MAP_SAME, SETT_MAP_DIVIDES };
typedef struct sett_map_fact {
  int relation;
  sett_expr a, b;
  int error, column; /* SETT_MAP_ERROR_.. and its column in the text, counted from 1; 0 if there is none */
} sett_map_fact;

/* Read A <= B, A < B, A = B (or ==), A >= B, A > B, or C divides A. The names of the variables are those of map. */
SETT_PUBLIC sett_map_fact sett_map_fact_parse(sett_map_arena *arena, sett_map map, const char *text, size_t length);

/* Decide if the fact is true at every point of the domain.
 *     yes: at every point, the divisors in the fact are not 0, and the fact is true. The proof is about integers of any size: it also covers variables
 *     without bounds and values beyond 64 bits. A domain without a point proves every fact.
 *     no: the fact is false at answer.point, a point of the domain.
 *     neither: reason says why.
 * Example: (d0)[n] -> (), domain: d0 in [0, inf], n in [1, inf], n - d0 in [1, inf], n mod 8 in [0, 0]
 *     d0 floordiv 8 < n floordiv 8   yes
 *     d0 + 8 <= n                    no: (1, 8) */
SETT_PUBLIC sett_map_answer sett_map_proves(sett_map_arena *arena, sett_map map, const sett_map_fact *fact);

#if defined(SETTP_LINK_SEPARATE) && defined(SETT_PREFIX)
/* clang-format off */
#define SETT_ANALYSIS_FUNCTIONS(X) \
  X(sett_analysis_from_output) X(sett_analysis_from_operand) X(sett_analysis_map) X(sett_analysis_replica) \
  X(sett_analysis_runtime_map) X(sett_analysis_output_to_operand) X(sett_analysis_compose) X(sett_analysis_tidy) \
  X(sett_analysis_fold) X(sett_analysis_store_make) X(sett_analysis_keep) X(sett_analysis_merge) \
  X(sett_analysis_load) X(sett_analysis_along) X(sett_analysis_bind) X(sett_analysis_whole) \
  X(sett_analysis_coalesced) X(sett_analysis_bank_conflicts) X(sett_analysis_deal) X(sett_analysis_step) \
  X(sett_analysis_wide) X(sett_analysis_pad_rows) X(sett_analysis_swizzle) X(sett_analysis_reads) \
  X(sett_analysis_propagate) X(sett_analysis_opcode_find) X(sett_analysis_opcode_name) X(sett_analysis_reshape) \
  X(sett_analysis_message) X(sett_map_fact_parse) X(sett_map_proves)
/* clang-format on */
SETT_ANALYSIS_FUNCTIONS(SETTP_LINK_RENAME)
#endif

#endif

#if !defined(SETTP_ANALYSIS_BODIES) && (defined(SETT_IMPLEMENTATION) || !defined(SETTP_LINK_SEPARATE))
#define SETTP_ANALYSIS_BODIES
#ifdef SETTP_MAP_FEWER_PASSES
#pragma push_macro("SETT_INLINE")
#undef SETT_INLINE
#define SETT_INLINE static __attribute__((__unused__))
#endif
SETTP_MAP_QUICK

/* ---- bodies ----------------------------------------------------------------------------------------------------- */

SETT_PUBLIC const char *sett_analysis_message(int error) {
  switch (error) {
#define SETTP_ANALYSIS_CASE(name, text) \
  case SETT_ANALYSIS_ERROR_##name: return text;
    SETT_ANALYSIS_ERRORS(SETTP_ANALYSIS_CASE)
#undef SETTP_ANALYSIS_CASE
    default: return sett_map_message(error);
  }
}

SETT_PUBLIC const char *sett_analysis_opcode_name(int opcode) {
  switch (opcode) {
#define SETTP_ANALYSIS_CASE(name, text) \
  case SETT_ANALYSIS_##name: return text;
    SETT_ANALYSIS_OPCODES(SETTP_ANALYSIS_CASE)
#undef SETTP_ANALYSIS_CASE
    default: return "none";
  }
}

SETT_PUBLIC int sett_analysis_opcode_find(const char *name) {
  int opcode;
  for (opcode = SETT_ANALYSIS_NONE + 1; opcode < SETT_ANALYSIS_OPCODE_COUNT; ++opcode) {
    const char *a = name, *b = sett_analysis_opcode_name(opcode);
    while (*a && *a == *b) ++a, ++b;
    if (*a == *b) return opcode;
  }
  return SETT_ANALYSIS_NONE;
}

SETT_INLINE int settp_analysis_dims_error(sett_analysis_list dims) {
  int i;
  if (dims.count < 0 || dims.count > SETT_ANALYSIS_MAX_RANK) return SETT_ANALYSIS_ERROR_RANK;
  for (i = 0; i < dims.count; ++i)
    if (dims.values[i] < 0) return SETT_ANALYSIS_ERROR_DIM;
  return 0;
}

SETT_INLINE int settp_analysis_has_zero(sett_analysis_list dims) {
  int i;
  for (i = 0; i < dims.count; ++i)
    if (dims.values[i] == 0) return 1;
  return 0;
}

/* Return a * b for a, b >= 0. Return -1 if the product does not fit, or if an operand is -1. */
SETT_INLINE int64_t settp_analysis_mul(int64_t a, int64_t b) {
  if (a < 0 || b < 0) return -1;
  if (a == 0 || b == 0) return 0;
  return a > INT64_MAX / b ? -1 : a * b;
}

SETT_INLINE int64_t settp_analysis_elements(sett_analysis_list dims) {
  int64_t product = 1;
  int i;
  if (settp_analysis_has_zero(dims)) return 0;
  for (i = 0; i < dims.count; ++i) product = settp_analysis_mul(product, dims.values[i]);
  return product;
}

/* Return 1 if the entries are distinct numbers in [0, rank). */
SETT_INLINE int settp_analysis_distinct(sett_analysis_list list, int rank) {
  uint64_t seen = 0;
  int i;
  for (i = 0; i < list.count; ++i) {
    if (list.values[i] < 0 || list.values[i] >= rank || (seen >> list.values[i] & 1)) return 0;
    seen |= (uint64_t)1 << list.values[i];
  }
  return 1;
}

SETT_INLINE sett_expr settp_analysis_times(sett_map_arena *arena, sett_expr a, int64_t factor) {
  return sett_map_mul(arena, a, sett_map_constant(arena, factor));
}

SETT_INLINE sett_expr settp_analysis_plus(sett_map_arena *arena, sett_expr a, int64_t term) {
  return sett_map_add(arena, a, sett_map_constant(arena, term));
}

/* Combine `count_out` indices index[] in dimensions of sizes out[] to one row-major number. Split this number into `count_in` indices in dimensions of
 * sizes in[], and write them to result[]. out[] and in[] have equal products, and no size is 1. */
SETT_INLINE int settp_analysis_piece(sett_map_arena *arena, int count_out, const int64_t *out, const sett_expr *index,
                                     int count_in, const int64_t *in, sett_expr *result) {
  sett_expr number = index[count_out - 1];
  int64_t stride = 1;
  int i;
  for (i = count_out - 1; i-- > 0;) {
    stride = settp_analysis_mul(stride, out[i + 1]);
    if (stride < 0) return SETT_ANALYSIS_ERROR_TOO_LARGE;
    number = sett_map_add(arena, settp_analysis_times(arena, index[i], stride), number);
  }
  stride = 1;
  for (i = count_in; i-- > 0;) {
    sett_expr digit = sett_map_floordiv(arena, number, sett_map_constant(arena, stride));
    result[i] = i > 0 ? sett_map_mod(arena, digit, sett_map_constant(arena, in[i])) : digit;
    stride = settp_analysis_mul(stride, in[i]);
    if (stride < 0) return SETT_ANALYSIS_ERROR_TOO_LARGE;
  }
  return 0;
}

SETT_INLINE int settp_analysis_reshape(sett_map_arena *arena, sett_analysis_list out, const sett_expr *index,
                                       sett_analysis_list in, sett_expr *result) {
  int64_t out_dim[SETT_ANALYSIS_MAX_RANK], in_dim[SETT_ANALYSIS_MAX_RANK];
  sett_expr out_index[SETT_ANALYSIS_MAX_RANK], piece[SETT_ANALYSIS_MAX_RANK];
  int in_at[SETT_ANALYSIS_MAX_RANK];
  int outs = 0, ins = 0, o = 0, n = 0, i;
  int64_t elements = settp_analysis_elements(out);
  int error = settp_analysis_dims_error(out);
  if (!error) error = settp_analysis_dims_error(in);
  if (error) return error;
  if (elements < 0) return SETT_ANALYSIS_ERROR_TOO_LARGE;
  if (elements != settp_analysis_elements(in)) return SETT_ANALYSIS_ERROR_ELEMENTS;
  for (i = 0; i < in.count; ++i) result[i] = sett_map_constant(arena, 0);
  if (elements == 0) return 0;
  for (i = 0; i < out.count; ++i) {
    if (out.values[i] == 1) continue;
    out_dim[outs] = out.values[i];
    out_index[outs++] = index[i];
  }
  for (i = 0; i < in.count; ++i) {
    if (in.values[i] == 1) continue;
    in_dim[ins] = in.values[i];
    in_at[ins++] = i;
  }
  /* At this point, out_dim[0 .. o-1] and in_dim[0 .. n-1] have equal products, so the remaining sizes have equal products, too. The product of the
   * remaining out_dim is above 1, so n < ins. */
  while (o < outs) {
    int first_o = o, first_n = n;
    int64_t a = out_dim[o++], b = in_dim[n++];
    while (a != b) {
      if (a < b) a *= out_dim[o++];
      else b *= in_dim[n++];
    }
    error = settp_analysis_piece(arena, o - first_o, out_dim + first_o, out_index + first_o, n - first_n,
                                 in_dim + first_n, piece);
    if (error) return error;
    for (i = first_n; i < n; ++i) result[in_at[i]] = piece[i - first_n];
  }
  return 0;
}

SETT_PUBLIC int sett_analysis_reshape(sett_map_arena *arena, sett_analysis_list out, const sett_expr *index,
                                      sett_analysis_list in, sett_expr *result) {
  int i, error = settp_analysis_reshape(arena, out, index, in, result);
  for (i = 0; i < in.count && error; ++i)
    result[i] = error < SETT_MAP_ERROR_COUNT ? (sett_expr)error : (sett_expr)SETT_MAP_ERROR_ARITY;
  return error;
}

/* ---- an op as a relation ---- */

/* An op is a set of pairs (output index, operand index). Linear equations between the dimensions of both, auxiliary variables and runtime values
 * define the set. To compute one index from the other, the code solves the equations one after another. An equation with a single unknown gives
 * this unknown. An equation with two unknowns that are digits of one number gives both. If no such equation is left, an unknown variable becomes a
 * range. */
enum {
  SETTP_ANALYSIS_VARS = 8 * SETT_ANALYSIS_MAX_RANK,
  SETTP_ANALYSIS_EQUATIONS = 4 * SETT_ANALYSIS_MAX_RANK,
  SETTP_ANALYSIS_TERMS = 4
};

typedef struct settp_analysis_equation { /* an equation: the sum of factor * var, plus constant, is 0 */
  int terms, done;
  int var[SETTP_ANALYSIS_TERMS];
  int64_t factor[SETTP_ANALYSIS_TERMS], constant;
} settp_analysis_equation;

typedef struct settp_analysis_relation {
  sett_map_arena *arena;
  const sett_analysis_op *op;
  /* variables are numbered: the dimensions of the output, those of the operand, then auxiliary variables */
  sett_analysis_list out, in;
  int from_output, error, kind;
  const char *reason;
  int vars, equations, replica; /* replica is a variable, or -1 if there is none */
  int64_t lo[SETTP_ANALYSIS_VARS], hi[SETTP_ANALYSIS_VARS];
  settp_analysis_equation equation[SETTP_ANALYSIS_EQUATIONS];
  int rts, rt_var[SETT_ANALYSIS_MAX_RANK];
  sett_analysis_runtime rt[SETT_ANALYSIS_MAX_RANK];
  /* the index at which a runtime variable is read: each entry is a variable, or -1 - c for a constant c */
  int rt_index[SETT_ANALYSIS_MAX_RANK][SETT_ANALYSIS_MAX_RANK];
  /* these are used only while the equations are solved */
  unsigned char known[SETTP_ANALYSIS_VARS], joint[SETTP_ANALYSIS_VARS];
  sett_expr expr[SETTP_ANALYSIS_VARS];
  int64_t least[SETTP_ANALYSIS_VARS], most[SETTP_ANALYSIS_VARS]; /* the bounds of the values of `expr` */
  int dims, ranges, constraints, rt_base;
  sett_map_variable variable[SETTP_ANALYSIS_VARS];
  sett_map_constraint constraint[2 * SETTP_ANALYSIS_VARS];
} settp_analysis_relation;

SETT_INLINE int settp_analysis_add_to(int64_t *sum, int64_t a) { /* Add `a` to *sum; return 0 if the sum overflows. */
  if (a > 0 ? *sum > INT64_MAX - a : *sum < INT64_MIN - a) return 0;
  *sum += a;
  return 1;
}

/* Multiply `a` and `b`; return 0 if the product overflows. */
SETT_INLINE int settp_analysis_product(int64_t a, int64_t b, int64_t *product) {
  int negative = (a < 0) != (b < 0);
  if (a == INT64_MIN || b == INT64_MIN) return 0;
  *product = settp_analysis_mul(a < 0 ? -a : a, b < 0 ? -b : b);
  if (*product < 0) return 0;
  if (negative) *product = -*product;
  return 1;
}

SETT_INLINE void settp_analysis_fail(settp_analysis_relation *r, int error) {
  if (!r->error) r->error = error;
}

SETT_INLINE int settp_analysis_var(settp_analysis_relation *r, int64_t lo, int64_t hi) {
  r->lo[r->vars] = lo;
  r->hi[r->vars] = hi;
  r->joint[r->vars] = 0;
  return r->vars++;
}

/* Return a new variable from 0 to size - 1 that the maps of all operands have. */
SETT_INLINE int settp_analysis_shared(settp_analysis_relation *r, int64_t size) {
  int var = settp_analysis_var(r, 0, size - 1);
  r->joint[var] = r->op->joint && r->from_output;
  return var;
}

SETT_INLINE int settp_analysis_in(const settp_analysis_relation *r, int64_t dim) { return r->out.count + (int)dim; }

SETT_INLINE void settp_analysis_begin(settp_analysis_relation *r, int64_t constant) {
  settp_analysis_equation *e = &r->equation[r->equations++];
  e->terms = e->done = 0;
  e->constant = constant;
}

SETT_INLINE void settp_analysis_term(settp_analysis_relation *r, int var, int64_t factor) {
  settp_analysis_equation *e = &r->equation[r->equations - 1];
  e->var[e->terms] = var;
  e->factor[e->terms++] = factor;
}

/* add the equation a = b + constant */
SETT_INLINE void settp_analysis_same(settp_analysis_relation *r, int a, int b, int64_t constant) {
  settp_analysis_begin(r, constant);
  settp_analysis_term(r, b, 1);
  settp_analysis_term(r, a, -1);
}

/* Add the equation that output dimension o and operand dimension i have the same index. */
SETT_INLINE void settp_analysis_pair(settp_analysis_relation *r, int64_t o, int64_t i) {
  if (r->out.values[o] != r->in.values[i]) settp_analysis_fail(r, SETT_ANALYSIS_ERROR_SIZES);
  else settp_analysis_same(r, settp_analysis_in(r, i), (int)o, 0);
}

SETT_INLINE int settp_analysis_has(sett_analysis_list list, int64_t value) {
  int i;
  for (i = 0; i < list.count; ++i)
    if (list.values[i] == value) return i + 1;
  return 0;
}

SETT_INLINE int64_t settp_analysis_entry(sett_analysis_list list, int i, int64_t otherwise) {
  return list.count ? list.values[i] : otherwise;
}

SETT_INLINE void settp_analysis_cover(settp_analysis_relation *r, const char *reason) {
  r->kind = SETT_ANALYSIS_COVERING;
  r->reason = reason;
}

/* ---- each op's equations ---- */

SETT_INLINE void settp_analysis_elementwise(settp_analysis_relation *r) {
  int i;
  if (r->in.count != r->out.count) settp_analysis_fail(r, SETT_ANALYSIS_ERROR_SIZES);
  for (i = 0; i < r->in.count && !r->error; ++i) settp_analysis_pair(r, i, i);
}

SETT_INLINE void settp_analysis_bitcast_convert(settp_analysis_relation *r) {
  int i, n = r->in.count < r->out.count ? r->in.count : r->out.count;
  if (r->in.count > n + 1 || r->out.count > n + 1) settp_analysis_fail(r, SETT_ANALYSIS_ERROR_SIZES);
  for (i = 0; i < n && !r->error; ++i) settp_analysis_pair(r, i, i);
}

SETT_INLINE void settp_analysis_broadcast(settp_analysis_relation *r) {
  sett_analysis_list to = r->op->dimensions;
  int i;
  if (to.count != r->in.count) settp_analysis_fail(r, SETT_ANALYSIS_ERROR_COUNT);
  else if (!settp_analysis_distinct(to, r->out.count)) settp_analysis_fail(r, SETT_ANALYSIS_ERROR_DIMENSION);
  for (i = 0; i < to.count && !r->error; ++i) settp_analysis_pair(r, to.values[i], i);
}

SETT_INLINE void settp_analysis_transpose(settp_analysis_relation *r) {
  sett_analysis_list from = r->op->dimensions;
  int i;
  if (from.count != r->out.count || from.count != r->in.count) settp_analysis_fail(r, SETT_ANALYSIS_ERROR_COUNT);
  else if (!settp_analysis_distinct(from, r->in.count)) settp_analysis_fail(r, SETT_ANALYSIS_ERROR_DIMENSION);
  for (i = 0; i < from.count && !r->error; ++i) settp_analysis_pair(r, i, from.values[i]);
}

SETT_INLINE void settp_analysis_slice(settp_analysis_relation *r) {
  sett_analysis_list start = r->op->start, stride = r->op->stride;
  int i, n = r->out.count;
  if (start.count != n || r->in.count != n || (stride.count && stride.count != n))
    settp_analysis_fail(r, SETT_ANALYSIS_ERROR_COUNT);
  for (i = 0; i < n && !r->error; ++i) {
    int64_t step = settp_analysis_entry(stride, i, 1), first = start.values[i], size = r->in.values[i];
    if (step <= 0 || first < 0 || first > size ||
        (r->out.values[i] > 0 && (first >= size || r->out.values[i] - 1 > (size - 1 - first) / step)))
      settp_analysis_fail(r, SETT_ANALYSIS_ERROR_SLICE);
    settp_analysis_begin(r, first);
    settp_analysis_term(r, i, step);
    settp_analysis_term(r, settp_analysis_in(r, i), -1);
  }
}

SETT_INLINE void settp_analysis_reverse(settp_analysis_relation *r) {
  sett_analysis_list dims = r->op->dimensions;
  int i;
  if (r->in.count != r->out.count) settp_analysis_fail(r, SETT_ANALYSIS_ERROR_SIZES);
  else if (!settp_analysis_distinct(dims, r->out.count)) settp_analysis_fail(r, SETT_ANALYSIS_ERROR_DIMENSION);
  for (i = 0; i < r->out.count && !r->error; ++i) {
    settp_analysis_pair(r, i, i);
    if (r->error || !settp_analysis_has(dims, i)) continue;
    r->equation[r->equations - 1].constant = 1 - r->out.values[i];
    r->equation[r->equations - 1].factor[1] = 1;
  }
}

/* Return the number of elements along a dimension after padding and dilation; -1 if it is negative or does not fit in 64 bits. For pad, -1 is an
 * error; for a window, it means that the window fits nowhere. */
SETT_INLINE int64_t settp_analysis_line(int64_t size, int64_t step, int64_t low, int64_t high) {
  int64_t n = settp_analysis_mul(size > 0 ? size - 1 : 0, step);
  if (n < 0 || (size > 0 && !settp_analysis_add_to(&n, 1))) return -1;
  if (!settp_analysis_add_to(&n, low) || !settp_analysis_add_to(&n, high)) return -1;
  return n;
}

SETT_INLINE void settp_analysis_pad(settp_analysis_relation *r) {
  sett_analysis_list low = r->op->low, high = r->op->high, interior = r->op->interior;
  int i, n = r->out.count;
  if (r->in.count != n || low.count != n || high.count != n || (interior.count && interior.count != n))
    settp_analysis_fail(r, SETT_ANALYSIS_ERROR_COUNT);
  for (i = 0; i < n && !r->error; ++i) {
    int64_t gap = settp_analysis_entry(interior, i, 0);
    if (gap < 0) settp_analysis_fail(r, SETT_ANALYSIS_ERROR_INTERIOR);
    else if (gap == INT64_MAX || low.values[i] <= -(INT64_MAX / 2) || high.values[i] <= -(INT64_MAX / 2))
      settp_analysis_fail(r, SETT_ANALYSIS_ERROR_TOO_LARGE);
    else if (settp_analysis_line(r->in.values[i], gap + 1, low.values[i], high.values[i]) != r->out.values[i])
      settp_analysis_fail(r, SETT_ANALYSIS_ERROR_SIZES);
    if (r->error) return;
    settp_analysis_begin(r, low.values[i]);
    settp_analysis_term(r, settp_analysis_in(r, i), gap + 1);
    settp_analysis_term(r, i, -1);
  }
}

SETT_INLINE void settp_analysis_concatenate(settp_analysis_relation *r) {
  const sett_analysis_op *op = r->op;
  int64_t d = op->dimensions.count == 1 ? op->dimensions.values[0] : -1, offset = 0;
  int i;
  if (op->dimensions.count != 1) settp_analysis_fail(r, SETT_ANALYSIS_ERROR_COUNT);
  else if (!settp_analysis_distinct(op->dimensions, r->out.count))
    settp_analysis_fail(r, SETT_ANALYSIS_ERROR_DIMENSION);
  else if (r->in.count != r->out.count) settp_analysis_fail(r, SETT_ANALYSIS_ERROR_SIZES);
  for (i = 0; i < op->operand && !r->error; ++i) {
    int64_t size = op->in[i].count == r->out.count ? op->in[i].values[d] : -1;
    if (size < 0 || size > r->out.values[d] - offset) settp_analysis_fail(r, SETT_ANALYSIS_ERROR_SIZES);
    else offset += size;
  }
  if (!r->error && r->in.values[d] > r->out.values[d] - offset) settp_analysis_fail(r, SETT_ANALYSIS_ERROR_SIZES);
  for (i = 0; i < r->out.count && !r->error; ++i) {
    if (i == d) settp_analysis_same(r, i, settp_analysis_in(r, i), offset);
    else settp_analysis_pair(r, i, i);
  }
}

SETT_INLINE void settp_analysis_reduce(settp_analysis_relation *r) {
  sett_analysis_list dims = r->op->dimensions;
  int i, kept = 0;
  if (!settp_analysis_distinct(dims, r->in.count)) settp_analysis_fail(r, SETT_ANALYSIS_ERROR_DIMENSION);
  else if (r->in.count != r->out.count + dims.count) settp_analysis_fail(r, SETT_ANALYSIS_ERROR_COUNT);
  for (i = 0; i < r->in.count && !r->error; ++i)
    if (!settp_analysis_has(dims, i)) settp_analysis_pair(r, kept++, i);
}

/* Check that each list of a window has n entries, or is empty if it may be. */
SETT_INLINE void settp_analysis_check_window(settp_analysis_relation *r, int n) {
  const sett_analysis_op *op = r->op;
  sett_analysis_list list[6];
  int i;
  list[0] = op->stride, list[1] = op->low, list[2] = op->high;
  list[3] = op->base_dilation, list[4] = op->window_dilation, list[5] = op->reversal;
  if (op->window.count != n) settp_analysis_fail(r, SETT_ANALYSIS_ERROR_COUNT);
  for (i = 0; i < 6; ++i)
    if (list[i].count && list[i].count != n) settp_analysis_fail(r, SETT_ANALYSIS_ERROR_COUNT);
  for (i = 0; i < n && !r->error; ++i)
    if (op->window.values[i] < 0 || settp_analysis_entry(op->stride, i, 1) < 1 ||
        settp_analysis_entry(op->base_dilation, i, 1) < 1 || settp_analysis_entry(op->window_dilation, i, 1) < 1)
      settp_analysis_fail(r, SETT_ANALYSIS_ERROR_WINDOW);
}

/* Return the number of positions of the window along dimension i, which has `base` elements. Return -1 if a size does not fit in 64 bits. */
SETT_INLINE int64_t settp_analysis_places(const sett_analysis_op *op, int i, int64_t base) {
  int64_t low = settp_analysis_entry(op->low, i, 0), high = settp_analysis_entry(op->high, i, 0);
  int64_t reach = settp_analysis_line(op->window.values[i], settp_analysis_entry(op->window_dilation, i, 1), 0, 0);
  int64_t half = INT64_MAX / 2, line;
  if (low < -half || low > half || high < -half || high > half) return -1;
  line = settp_analysis_line(base, settp_analysis_entry(op->base_dilation, i, 1), 0, 0);
  if (line < 0 || reach < 0 || !settp_analysis_add_to(&line, low) || !settp_analysis_add_to(&line, high)) return -1;
  return line < reach || line <= 0 ? 0 : (line - reach) / settp_analysis_entry(op->stride, i, 1) + 1;
}

/* Add the equation base * base_dilation = place * stride + within * window_dilation - low for dimension i. Its variables are the index in the
 * array without padding (base), the number of the window's position (place) and the index inside the window (within). */
SETT_INLINE void settp_analysis_window(settp_analysis_relation *r, int i, int base, int place, int within) {
  const sett_analysis_op *op = r->op;
  settp_analysis_begin(r, -settp_analysis_entry(op->low, i, 0));
  settp_analysis_term(r, place, settp_analysis_entry(op->stride, i, 1));
  settp_analysis_term(r, within, settp_analysis_entry(op->window_dilation, i, 1));
  settp_analysis_term(r, base, -settp_analysis_entry(op->base_dilation, i, 1));
}

SETT_INLINE void settp_analysis_reduce_window(settp_analysis_relation *r) {
  int i, n = r->out.count;
  settp_analysis_check_window(r, n);
  if (r->in.count != n) settp_analysis_fail(r, SETT_ANALYSIS_ERROR_SIZES);
  for (i = 0; i < n && !r->error; ++i) {
    if (settp_analysis_places(r->op, i, r->in.values[i]) != r->out.values[i])
      settp_analysis_fail(r, SETT_ANALYSIS_ERROR_SIZES);
    else settp_analysis_window(r, i, settp_analysis_in(r, i), i, settp_analysis_shared(r, r->op->window.values[i]));
  }
}

/* Operand 0 and the output are covered by the windows. Operand 1 (the source) has one value per position of the window. */
SETT_INLINE void settp_analysis_select_and_scatter(settp_analysis_relation *r) {
  int i, n = r->out.count, source = r->op->operand == 1;
  settp_analysis_check_window(r, n);
  if (r->in.count != n) settp_analysis_fail(r, SETT_ANALYSIS_ERROR_SIZES);
  settp_analysis_cover(r, "which element of a window is selected is known at run time");
  for (i = 0; i < n && !r->error; ++i) {
    int64_t places = settp_analysis_places(r->op, i, r->out.values[i]), last = r->op->window.values[i] - 1;
    int within = settp_analysis_shared(r, last + 1), place;
    if (places < 0 || (source ? places : r->out.values[i]) != r->in.values[i])
      settp_analysis_fail(r, SETT_ANALYSIS_ERROR_SIZES);
    if (r->error) return;
    place = source ? settp_analysis_in(r, i) : settp_analysis_var(r, 0, places - 1);
    settp_analysis_window(r, i, i, place, within);
    if (!source) settp_analysis_window(r, i, settp_analysis_in(r, i), place, settp_analysis_var(r, 0, last));
  }
}

/* Operands 0 and 1 are the factors. Operands 2 and 3 are the scales of scaled-dot, which have one entry per block of elements of a factor. */
SETT_INLINE void settp_analysis_dot(settp_analysis_relation *r) {
  const sett_analysis_op *op = r->op;
  int side = op->operand % 2, scale = op->operand / 2, i, k, free_at;
  sett_analysis_list factor, batch = side ? op->rhs_batch : op->lhs_batch;
  sett_analysis_list contracting = side ? op->rhs_contracting : op->lhs_contracting, other;
  if (op->operand >= (op->opcode == SETT_ANALYSIS_DOT ? 2 : 4) || op->operands < 2) {
    settp_analysis_fail(r, SETT_ANALYSIS_ERROR_OPERAND);
    return;
  }
  factor = op->in[side];
  other = op->in[1 - side];
  if (settp_analysis_dims_error(factor)) settp_analysis_fail(r, settp_analysis_dims_error(factor));
  if (settp_analysis_dims_error(other)) settp_analysis_fail(r, settp_analysis_dims_error(other));
  if (op->lhs_batch.count != op->rhs_batch.count || op->lhs_contracting.count != op->rhs_contracting.count ||
      factor.count != r->in.count)
    settp_analysis_fail(r, SETT_ANALYSIS_ERROR_COUNT);
  if (r->error) return;
  if (factor.count + other.count - batch.count - 2 * contracting.count != r->out.count)
    settp_analysis_fail(r, SETT_ANALYSIS_ERROR_SIZES);
  for (i = 0; i < 2 && !r->error; ++i) {
    sett_analysis_list some = i ? op->rhs_batch : op->lhs_batch, list = i ? op->rhs_contracting : op->lhs_contracting;
    if (!settp_analysis_distinct(some, op->in[i].count) || !settp_analysis_distinct(list, op->in[i].count))
      settp_analysis_fail(r, SETT_ANALYSIS_ERROR_DIMENSION);
    for (k = 0; k < some.count && !r->error; ++k)
      if (settp_analysis_has(list, some.values[k])) settp_analysis_fail(r, SETT_ANALYSIS_ERROR_DIMENSION);
  }
  free_at = side ? r->out.count - (factor.count - batch.count - contracting.count) : batch.count;
  for (i = 0; i < contracting.count && !r->error; ++i) { /* the order of this loop is the order of the map's ranges */
    int64_t dim = contracting.values[i], size = factor.values[dim], blocks = r->in.values[dim];
    if (size != other.values[(side ? op->lhs_contracting : op->rhs_contracting).values[i]] ||
        (blocks <= 0 ? size > 0 : size % blocks != 0))
      settp_analysis_fail(r, SETT_ANALYSIS_ERROR_SIZES);
    /* the scales have no equation towards the output: an entry's index along the contracted dimension does not restrict the outputs */
    if (r->error || (scale && !r->from_output)) continue;
    k = settp_analysis_shared(r, size);
    if (!scale) {
      settp_analysis_same(r, settp_analysis_in(r, dim), k, 0);
    } else if (size > 0) {
      settp_analysis_begin(r, 0);
      settp_analysis_term(r, settp_analysis_in(r, dim), size / blocks);
      settp_analysis_term(r, settp_analysis_var(r, 0, size / blocks - 1), 1);
      settp_analysis_term(r, k, -1);
    }
  }
  for (i = 0; i < r->in.count && !r->error; ++i) {
    int at = settp_analysis_has(batch, i), o = at ? at - 1 : free_at;
    int64_t size = factor.values[i];
    if (settp_analysis_has(contracting, i)) continue;
    if (!at) ++free_at;
    if (r->out.values[o] != size || (r->in.values[i] <= 0 ? size > 0 : size % r->in.values[i] != 0)) {
      settp_analysis_fail(r, SETT_ANALYSIS_ERROR_SIZES);
    } else if (r->in.values[i] == size) {
      settp_analysis_pair(r, o, i);
    } else {
      settp_analysis_begin(r, 0);
      settp_analysis_term(r, settp_analysis_in(r, i), size / r->in.values[i]);
      settp_analysis_term(r, settp_analysis_var(r, 0, size / r->in.values[i] - 1), 1);
      settp_analysis_term(r, o, -1);
    }
  }
}

/* Split a variable: whole = group * each + within, with group in [0, groups - 1] and within in [0, each - 1]. Return the variable `within`. */
SETT_INLINE int settp_analysis_grouped(settp_analysis_relation *r, int whole, int group, int64_t each) {
  int within = settp_analysis_var(r, 0, each - 1);
  settp_analysis_begin(r, 0);
  settp_analysis_term(r, group, each);
  settp_analysis_term(r, within, 1);
  settp_analysis_term(r, whole, -1);
  return within;
}

SETT_INLINE void settp_analysis_convolution(settp_analysis_relation *r) {
  const sett_analysis_op *op = r->op;
  sett_analysis_list out = op->out_labels, in = op->operand ? op->rhs_labels : op->lhs_labels;
  int64_t fg = op->feature_groups ? op->feature_groups : 1, bg = op->batch_groups ? op->batch_groups : 1;
  int n = r->out.count - 2, i, e, within[SETT_ANALYSIS_MAX_RANK], group;
  int64_t features, each;
  if (op->operand > 1) settp_analysis_fail(r, SETT_ANALYSIS_ERROR_OPERAND);
  else if (n < 0 || out.count != r->out.count || in.count != r->in.count || in.count != out.count)
    settp_analysis_fail(r, SETT_ANALYSIS_ERROR_COUNT);
  else if (!settp_analysis_distinct(out, out.count) || !settp_analysis_distinct(in, in.count))
    settp_analysis_fail(r, SETT_ANALYSIS_ERROR_DIMENSION);
  else if (fg < 1 || bg < 1 || (fg > 1 && bg > 1) || r->out.values[out.values[1]] % (fg * bg) != 0)
    settp_analysis_fail(r, SETT_ANALYSIS_ERROR_GROUPS);
  if (!r->error) settp_analysis_check_window(r, n);
  if (r->error) return;
  features = r->out.values[out.values[1]];
  for (i = 0; i < n; ++i) within[i] = settp_analysis_shared(r, op->window.values[i]);
  /* operand 1 is the convolution's kernel: at each position of the window, all elements of the kernel are read, also those that meet padding */
  if (op->operand == 1) {
    int64_t inputs = r->in.values[in.values[0]];
    e = settp_analysis_shared(r, inputs);
    settp_analysis_same(r, settp_analysis_in(r, in.values[0]), e, 0);
    settp_analysis_pair(r, out.values[1], in.values[1]);
    for (i = 0; i < n && !r->error; ++i) {
      int kernel = settp_analysis_in(r, in.values[2 + i]);
      if (r->in.values[in.values[2 + i]] != op->window.values[i]) settp_analysis_fail(r, SETT_ANALYSIS_ERROR_SIZES);
      settp_analysis_same(r, kernel, within[i], 0);
      if (!settp_analysis_entry(op->reversal, i, 0)) continue;
      r->equation[r->equations - 1].constant = 1 - op->window.values[i];
      r->equation[r->equations - 1].factor[1] = 1;
    }
    return;
  }
  if (r->in.values[in.values[0]] != 0 && r->in.values[in.values[0]] % bg != 0)
    settp_analysis_fail(r, SETT_ANALYSIS_ERROR_GROUPS);
  if (r->in.values[in.values[1]] % fg != 0) settp_analysis_fail(r, SETT_ANALYSIS_ERROR_GROUPS);
  each = r->in.values[in.values[1]] / fg;
  if (r->in.values[in.values[0]] / bg != r->out.values[out.values[0]])
    settp_analysis_fail(r, SETT_ANALYSIS_ERROR_SIZES);
  if (r->error) return;
  e = settp_analysis_shared(r, each);
  if (fg > 1) { /* an output feature reads only the input features of its own group */
    group = settp_analysis_var(r, 0, fg - 1);
    settp_analysis_grouped(r, (int)out.values[1], group, features / fg);
    settp_analysis_begin(r, 0);
    settp_analysis_term(r, group, each);
    settp_analysis_term(r, e, 1);
    settp_analysis_term(r, settp_analysis_in(r, in.values[1]), -1);
  } else {
    settp_analysis_same(r, settp_analysis_in(r, in.values[1]), e, 0);
  }
  if (bg > 1) { /* an output feature reads only the input's batch indices of its own group */
    group = settp_analysis_var(r, 0, bg - 1);
    settp_analysis_grouped(r, (int)out.values[1], group, features / bg);
    settp_analysis_begin(r, 0);
    settp_analysis_term(r, group, r->out.values[out.values[0]]);
    settp_analysis_term(r, (int)out.values[0], 1);
    settp_analysis_term(r, settp_analysis_in(r, in.values[0]), -1);
  } else {
    settp_analysis_pair(r, out.values[0], in.values[0]);
  }
  for (i = 0; i < n && !r->error; ++i) {
    if (settp_analysis_places(op, i, r->in.values[in.values[2 + i]]) != r->out.values[out.values[2 + i]])
      settp_analysis_fail(r, SETT_ANALYSIS_ERROR_SIZES);
    else settp_analysis_window(r, i, settp_analysis_in(r, in.values[2 + i]), (int)out.values[2 + i], within[i]);
  }
}

/* Return a new runtime variable in [0, last], which is read from an element of an operand. The caller fills in the index of the element. If the
 * variable is not clamped, `last` may be -1: then no value is valid, as for a window of size 1 along a dimension of size 0. */
SETT_INLINE int settp_analysis_rt(settp_analysis_relation *r, int operand, int count, int clamped, int64_t last) {
  int var = settp_analysis_var(r, 0, last), k = r->rts++;
  if (last < (clamped ? 0 : -1)) settp_analysis_fail(r, SETT_ANALYSIS_ERROR_SIZES);
  r->rt_var[k] = var;
  r->rt[k].operand = operand;
  r->rt[k].count = count;
  r->rt[k].clamped = clamped;
  return var;
}

/* dynamic-slice and dynamic-update-slice. Operand 0 is sliced or updated, operand 1 of dynamic-update-slice is the update, and the other operands are
 * scalar starts. */
SETT_INLINE void settp_analysis_dynamic(settp_analysis_relation *r) {
  const sett_analysis_op *op = r->op;
  int update = op->opcode == SETT_ANALYSIS_DYNAMIC_UPDATE_SLICE, i;
  if (update && op->operand == 0) {
    settp_analysis_elementwise(r);
    settp_analysis_cover(r, "where the update lies is known at run time");
    return;
  }
  if (op->operand > update) {
    if (r->in.count) settp_analysis_fail(r, SETT_ANALYSIS_ERROR_SIZES);
    return;
  }
  if (r->in.count != r->out.count) settp_analysis_fail(r, SETT_ANALYSIS_ERROR_SIZES);
  for (i = 0; i < r->out.count && !r->error; ++i) {
    int64_t last = update ? r->out.values[i] - r->in.values[i] : r->in.values[i] - r->out.values[i];
    int start = settp_analysis_rt(r, 1 + update + i, 0, 1, last), in = settp_analysis_in(r, i);
    settp_analysis_begin(r, 0);
    settp_analysis_term(r, update ? in : i, 1);
    settp_analysis_term(r, start, 1);
    settp_analysis_term(r, update ? i : in, -1);
  }
}

/* gather and scatter. `large` is operand 0 of gather, or the output of scatter. `few` is the output of gather, or the updates of scatter. `few` has
 * the window dimensions (offset_dims) and, in order, the dimensions of the indices except index_vector_dim. */
SETT_INLINE void settp_analysis_gather(settp_analysis_relation *r) {
  const sett_analysis_op *op = r->op;
  int scatter = op->opcode == SETT_ANALYSIS_SCATTER, inputs = scatter ? op->operands / 2 : 1, at, j, k;
  int few_base = scatter ? r->out.count : 0, large_base = scatter ? 0 : r->out.count;
  int batch[SETT_ANALYSIS_MAX_RANK] = {0}, rt_of[SETT_ANALYSIS_MAX_RANK], windows = 0, rows = 0;
  int64_t vector_dim = op->index_vector_dim;
  sett_analysis_list few, large, indices;
  if (op->operands < (scatter ? 3 : 2) || (scatter && op->operands % 2 == 0) || op->operand >= op->operands) {
    settp_analysis_fail(r, SETT_ANALYSIS_ERROR_OPERAND);
    return;
  }
  /* element i of a scatter's input goes to element i of the output, alone or combined with updates */
  if (scatter && op->operand < inputs) {
    settp_analysis_elementwise(r);
    return;
  }
  indices = op->in[inputs];
  if (settp_analysis_dims_error(indices)) settp_analysis_fail(r, settp_analysis_dims_error(indices));
  if (vector_dim < 0 || vector_dim > indices.count) settp_analysis_fail(r, SETT_ANALYSIS_ERROR_DIMENSION);
  if (scatter && op->operand == inputs) {
    settp_analysis_cover(r, "which elements an index updates is known at run time");
    return;
  }
  few = scatter ? r->in : r->out;
  large = scatter ? r->out : op->in[0];
  if (settp_analysis_dims_error(large)) settp_analysis_fail(r, settp_analysis_dims_error(large));
  if (r->error) return;
  for (k = 0; k < indices.count; ++k) rows += k != vector_dim;
  if (few.count != rows + op->offset_dims.count || op->operand_batching.count != op->indices_batching.count ||
      large.count != op->offset_dims.count + op->collapsed.count + op->operand_batching.count ||
      op->start_index_map.count != (vector_dim < indices.count ? indices.values[vector_dim] : 1) ||
      (!scatter && op->slice_sizes.count != large.count))
    settp_analysis_fail(r, SETT_ANALYSIS_ERROR_COUNT);
  else if (!settp_analysis_distinct(op->offset_dims, few.count) ||
           !settp_analysis_distinct(op->collapsed, large.count) ||
           !settp_analysis_distinct(op->start_index_map, large.count) ||
           !settp_analysis_distinct(op->operand_batching, large.count) ||
           !settp_analysis_distinct(op->indices_batching, indices.count) ||
           settp_analysis_has(op->indices_batching, vector_dim))
    settp_analysis_fail(r, SETT_ANALYSIS_ERROR_DIMENSION);
  for (k = 0; k + 1 < op->offset_dims.count && !r->error; ++k)
    if (op->offset_dims.values[k] >= op->offset_dims.values[k + 1])
      settp_analysis_fail(r, SETT_ANALYSIS_ERROR_DIMENSION);
  if (r->error) return;
  /* each dimension of the indices, except the index vector, has a corresponding dimension in `few`: find it */
  for (k = j = 0; k < indices.count; ++k) {
    if (k == vector_dim) continue;
    while (settp_analysis_has(op->offset_dims, j)) ++j;
    if (few.values[j] != indices.values[k]) settp_analysis_fail(r, SETT_ANALYSIS_ERROR_SIZES);
    batch[k] = few_base + j++;
  }
  if (!scatter && op->operand == 1) {
    for (k = 0; k < indices.count; ++k)
      if (k != vector_dim) settp_analysis_same(r, settp_analysis_in(r, k), batch[k], 0);
    return;
  }
  for (j = 0; j < large.count; ++j) rt_of[j] = -1;
  /* runtime variables have the order of the index vector */
  for (k = 0; k < op->start_index_map.count && !r->error; ++k) {
    int64_t d = op->start_index_map.values[k], size = 1;
    if (settp_analysis_has(op->operand_batching, d)) settp_analysis_fail(r, SETT_ANALYSIS_ERROR_DIMENSION);
    if (!scatter) {
      size = op->slice_sizes.values[d];
    } else if (!settp_analysis_has(op->collapsed, d)) {
      for (j = at = 0; j < d; ++j)
        at += !settp_analysis_has(op->collapsed, j) && !settp_analysis_has(op->operand_batching, j);
      if (at < op->offset_dims.count) size = few.values[op->offset_dims.values[at]];
    }
    if (size < 0) settp_analysis_fail(r, SETT_ANALYSIS_ERROR_SIZES);
    else rt_of[d] = settp_analysis_rt(r, inputs, indices.count, !scatter, large.values[d] - size);
    for (j = 0; j < indices.count && !r->error; ++j) r->rt_index[k][j] = j == vector_dim ? -1 - k : batch[j];
  }
  for (j = 0; j < large.count && !r->error; ++j) {
    int collapsed = settp_analysis_has(op->collapsed, j), batching = settp_analysis_has(op->operand_batching, j);
    if (!scatter && (collapsed || batching) && op->slice_sizes.values[j] != 1)
      settp_analysis_fail(r, SETT_ANALYSIS_ERROR_SIZES);
    if (collapsed && batching) settp_analysis_fail(r, SETT_ANALYSIS_ERROR_DIMENSION);
    if (r->error) return;
    settp_analysis_begin(r, 0);
    settp_analysis_term(r, large_base + j, -1);
    if (batching) {
      int64_t row = op->indices_batching.values[batching - 1];
      if (indices.values[row] != large.values[j]) settp_analysis_fail(r, SETT_ANALYSIS_ERROR_SIZES);
      settp_analysis_term(r, batch[row], 1);
    } else {
      if (rt_of[j] >= 0) settp_analysis_term(r, rt_of[j], 1);
      if (collapsed) continue;
      if (windows == op->offset_dims.count) {
        settp_analysis_fail(r, SETT_ANALYSIS_ERROR_COUNT);
        return;
      }
      k = (int)op->offset_dims.values[windows++];
      if (few.values[k] > large.values[j] || (!scatter && few.values[k] != op->slice_sizes.values[j]))
        settp_analysis_fail(r, SETT_ANALYSIS_ERROR_SIZES);
      settp_analysis_term(r, few_base + k, 1);
    }
  }
}

SETT_INLINE void settp_analysis_all_gather(settp_analysis_relation *r) {
  sett_analysis_list dims = r->op->dimensions;
  int i, d;
  if (dims.count != 1) settp_analysis_fail(r, SETT_ANALYSIS_ERROR_COUNT);
  else if (!settp_analysis_distinct(dims, r->out.count)) settp_analysis_fail(r, SETT_ANALYSIS_ERROR_DIMENSION);
  else if (r->in.count != r->out.count) settp_analysis_fail(r, SETT_ANALYSIS_ERROR_SIZES);
  for (i = 0; i < r->out.count && !r->error; ++i) {
    d = (int)dims.values[0];
    if (i != d) {
      settp_analysis_pair(r, i, i);
    } else if (r->in.values[d] == 0 ? r->out.values[d] != 0 : r->out.values[d] % r->in.values[d] != 0) {
      settp_analysis_fail(r, SETT_ANALYSIS_ERROR_SIZES);
    } else {
      r->replica = settp_analysis_var(r, 0, r->in.values[d] == 0 ? -1 : r->out.values[d] / r->in.values[d] - 1);
      settp_analysis_begin(r, 0);
      settp_analysis_term(r, r->replica, r->in.values[d]);
      settp_analysis_term(r, settp_analysis_in(r, d), 1);
      settp_analysis_term(r, d, -1);
    }
  }
}

/* ---- reshape and bitcast: the indices of one side are computed from those of the other; both directions are alike ---- */

/* Return the dimension that is the i-th most major one in memory. */
SETT_INLINE int settp_analysis_major(sett_analysis_list layout, int rank, int i) {
  return layout.count ? (int)layout.values[rank - 1 - i] : i;
}

SETT_INLINE void settp_analysis_bitcast(settp_analysis_relation *r, int source, sett_analysis_list from, int target,
                                        sett_analysis_list to, int layouts) {
  sett_analysis_list none = {0, NULL}, a = none, b = none;
  int64_t from_dim[SETT_ANALYSIS_MAX_RANK] = {0}, to_dim[SETT_ANALYSIS_MAX_RANK] = {0};
  sett_expr index[SETT_ANALYSIS_MAX_RANK] = {0}, result[SETT_ANALYSIS_MAX_RANK];
  int i, d;
  if (layouts) a = r->from_output ? r->op->out_layout : r->op->in_layout;
  if (layouts) b = r->from_output ? r->op->in_layout : r->op->out_layout;
  if ((a.count && a.count != from.count) || (b.count && b.count != to.count))
    settp_analysis_fail(r, SETT_ANALYSIS_ERROR_COUNT);
  else if (!settp_analysis_distinct(a, from.count) || !settp_analysis_distinct(b, to.count))
    settp_analysis_fail(r, SETT_ANALYSIS_ERROR_DIMENSION);
  if (r->error) return;
  for (i = 0; i < from.count; ++i) {
    d = settp_analysis_major(a, from.count, i);
    from_dim[i] = from.values[d];
    index[i] = r->expr[source + d];
  }
  for (i = 0; i < to.count; ++i) to_dim[i] = to.values[settp_analysis_major(b, to.count, i)];
  from.values = from_dim;
  to.values = to_dim;
  settp_analysis_fail(r, sett_analysis_reshape(r->arena, from, index, to, result));
  for (i = 0; i < to.count && !r->error; ++i) {
    d = target + settp_analysis_major(b, to.count, i);
    r->expr[d] = result[i];
    r->known[d] = 1;
  }
}

/* ---- solving ---- */

SETT_INLINE void settp_analysis_know(settp_analysis_relation *r, int var, int number) {
  r->known[var] = 1;
  r->expr[var] = sett_map_var(r->arena, number);
  r->least[var] = r->variable[number].lo = r->lo[var];
  r->most[var] = r->variable[number].hi = r->hi[var];
  r->variable[number].name = NULL;
}

SETT_INLINE void settp_analysis_constrain(settp_analysis_relation *r, sett_expr expr, int64_t lo, int64_t hi) {
  sett_map_constraint *c = &r->constraint[r->constraints++];
  c->expr = expr;
  c->lo = lo;
  c->hi = hi;
}

SETT_INLINE int64_t settp_analysis_floor(int64_t a, int64_t b) { return a / b - (a % b < 0); } /* b > 0 */

/* Set variable `var` to `numerator` floordiv `step`, for a numerator in [least, most]. If the quotient may be outside the variable's interval, the
 * interval becomes a constraint. */
SETT_INLINE void settp_analysis_solve(settp_analysis_relation *r, int var, sett_expr numerator, int64_t least,
                                      int64_t most, int64_t step) {
  r->known[var] = 1;
  r->expr[var] = sett_map_floordiv(r->arena, numerator, sett_map_constant(r->arena, step));
  r->least[var] = settp_analysis_floor(least, step);
  r->most[var] = settp_analysis_floor(most, step);
  if (r->least[var] >= r->lo[var] && r->most[var] <= r->hi[var]) return;
  settp_analysis_constrain(r, r->expr[var], r->lo[var], r->hi[var]);
  if (r->least[var] < r->lo[var]) r->least[var] = r->lo[var];
  if (r->most[var] > r->hi[var]) r->most[var] = r->hi[var];
}

/* Return 1 if the variables of two terms are the digits of one number: the variable of `low` has the values 0 to size - 1, and the coefficients of
 * `low` and `high` are 1 and size, or -1 and -size. */
SETT_INLINE int settp_analysis_digits(const settp_analysis_relation *r, const settp_analysis_equation *e, int high,
                                      int low) {
  int64_t size = r->hi[e->var[low]] + 1;
  return r->lo[e->var[low]] == 0 &&
         ((e->factor[low] == 1 && e->factor[high] == size) || (e->factor[low] == -1 && e->factor[high] == -size));
}

/* Solve an equation that has at most one unknown, or two unknowns that are digits. Return 1 if it was solved. */
SETT_INLINE int settp_analysis_step(settp_analysis_relation *r, settp_analysis_equation *e) {
  int unknown[2] = {0, 0}, count = 0, t, sign, low, high;
  int64_t least, most, step;
  sett_expr sum;
  for (t = 0; t < e->terms; ++t) {
    if (r->known[e->var[t]]) continue;
    if (count == 2) return 0;
    unknown[count++] = t;
  }
  if (count == 2 && !settp_analysis_digits(r, e, unknown[0], unknown[1])) {
    t = unknown[0];
    unknown[0] = unknown[1];
    unknown[1] = t;
    if (!settp_analysis_digits(r, e, unknown[0], unknown[1])) return 0;
  }
  high = unknown[0];
  low = unknown[1];
  e->done = 1;
  sign = count && e->factor[high] > 0 ? -1 : 1; /* |factor| * unknown = sign * (the other terms) */
  least = most = sign * e->constant;
  sum = sett_map_constant(r->arena, 0);
  for (t = 0; t < e->terms; ++t) {
    int var = e->var[t];
    int64_t a, b, factor = sign * e->factor[t];
    if (!r->known[var]) continue;
    if (!settp_analysis_product(r->least[var], factor, &a) || !settp_analysis_product(r->most[var], factor, &b) ||
        !settp_analysis_add_to(&least, a < b ? a : b) || !settp_analysis_add_to(&most, a < b ? b : a)) {
      settp_analysis_fail(r, SETT_ANALYSIS_ERROR_TOO_LARGE);
      return 1;
    }
    sum = sett_map_add(r->arena, sum, settp_analysis_times(r->arena, r->expr[var], factor));
  }
  sum = settp_analysis_plus(r->arena, sum, sign * e->constant);
  if (count == 0) {
    settp_analysis_constrain(r, sum, 0, 0);
    return 1;
  }
  step = e->factor[high] < 0 ? -e->factor[high] : e->factor[high];
  settp_analysis_solve(r, e->var[high], sum, least, most, step);
  if (count == 2) {
    low = e->var[low];
    r->known[low] = 1;
    r->expr[low] = sett_map_mod(r->arena, sum, sett_map_constant(r->arena, step));
    r->least[low] = r->lo[low];
    r->most[low] = r->hi[low];
  } else if (step > 1) {
    settp_analysis_constrain(r, sett_map_mod(r->arena, sum, sett_map_constant(r->arena, step)), 0, 0);
  }
  return 1;
}

/* Write all variables as expressions of the source's dimensions, ranges and runtime variables. The numbers of the runtime variables follow those of the
 * ranges. The number of ranges is known only at the end, so the caller guesses it (rt_base), and calls again with r->ranges if the guess was wrong. */
SETT_INLINE void settp_analysis_solve_all(settp_analysis_relation *r) {
  int source = r->from_output ? 0 : r->out.count, n = r->from_output ? r->out.count : r->in.count, i, progress = 1;
  int extras = r->out.count + r->in.count;
  r->dims = n;
  r->ranges = r->constraints = 0;
  for (i = 0; i < r->vars; ++i) r->known[i] = 0;
  for (i = 0; i < n; ++i) settp_analysis_know(r, source + i, i);
  for (i = 0; i < r->rts; ++i) settp_analysis_know(r, r->rt_var[i], n + r->rt_base + i);
  for (i = 0; i < r->vars; ++i)
    if (r->joint[i]) settp_analysis_know(r, i, n + r->ranges++);
  for (i = 0; i < r->equations; ++i) r->equation[i].done = 0;
  if (r->op->opcode == SETT_ANALYSIS_RESHAPE || r->op->opcode == SETT_ANALYSIS_BITCAST) {
    int target = r->from_output ? r->out.count : 0;
    settp_analysis_bitcast(r, source, r->from_output ? r->out : r->in, target, r->from_output ? r->in : r->out,
                           r->op->opcode == SETT_ANALYSIS_BITCAST);
  }
  while (!r->error) {
    progress = 0;
    for (i = 0; i < r->equations && !r->error; ++i)
      if (!r->equation[i].done) progress |= settp_analysis_step(r, &r->equation[i]);
    if (progress) continue;
    /* no equation can be solved: one unknown variable becomes a range. Auxiliary variables come first, in the order in which they were made */
    for (i = 0; i < r->vars; ++i)
      if (!r->known[(i + extras) % r->vars]) break;
    if (i == r->vars) break;
    settp_analysis_know(r, (i + extras) % r->vars, n + r->ranges++);
  }
}

SETT_INLINE sett_analysis_answer settp_analysis_answer(int kind, const char *reason, sett_map map) {
  sett_analysis_answer answer;
  answer.kind = kind;
  answer.reason = reason;
  answer.all = map;
  answer.results = answer.replica = answer.runtimes = 0;
  return answer;
}

SETT_INLINE void settp_analysis_equations(settp_analysis_relation *r) {
  int scalar = r->in.count == 0;
  switch (r->op->opcode) {
    case SETT_ANALYSIS_ELEMENTWISE:
      if (!scalar) settp_analysis_elementwise(r);
      break;
    case SETT_ANALYSIS_BITCAST_CONVERT: settp_analysis_bitcast_convert(r); break;
    case SETT_ANALYSIS_BROADCAST: settp_analysis_broadcast(r); break;
    case SETT_ANALYSIS_TRANSPOSE: settp_analysis_transpose(r); break;
    case SETT_ANALYSIS_RESHAPE:
    case SETT_ANALYSIS_BITCAST: break;
    case SETT_ANALYSIS_SLICE: settp_analysis_slice(r); break;
    case SETT_ANALYSIS_REVERSE: settp_analysis_reverse(r); break;
    case SETT_ANALYSIS_PAD:
      if (r->op->operand == 0) settp_analysis_pad(r);
      else if (r->op->operand > 1) settp_analysis_fail(r, SETT_ANALYSIS_ERROR_OPERAND);
      else settp_analysis_cover(r, "the padding value is read wherever no element of operand 0 is");
      break;
    case SETT_ANALYSIS_CONCATENATE: settp_analysis_concatenate(r); break;
    case SETT_ANALYSIS_REDUCE:
      if (!scalar || !r->op->dimensions.count) settp_analysis_reduce(r);
      break;
    case SETT_ANALYSIS_REDUCE_WINDOW:
      if (!scalar) settp_analysis_reduce_window(r);
      break;
    case SETT_ANALYSIS_SELECT_AND_SCATTER:
      if (r->op->operand < 2) settp_analysis_select_and_scatter(r);
      else if (!scalar) settp_analysis_fail(r, SETT_ANALYSIS_ERROR_SIZES);
      break;
    case SETT_ANALYSIS_DOT:
    case SETT_ANALYSIS_SCALED_DOT: settp_analysis_dot(r); break;
    case SETT_ANALYSIS_CONVOLUTION: settp_analysis_convolution(r); break;
    case SETT_ANALYSIS_DYNAMIC_SLICE:
    case SETT_ANALYSIS_DYNAMIC_UPDATE_SLICE: settp_analysis_dynamic(r); break;
    case SETT_ANALYSIS_GATHER:
    case SETT_ANALYSIS_SCATTER: settp_analysis_gather(r); break;
    case SETT_ANALYSIS_ALL_GATHER: settp_analysis_all_gather(r); break;
    case SETT_ANALYSIS_SCALAR: break;
    default: settp_analysis_fail(r, SETT_ANALYSIS_ERROR_OPCODE); break;
  }
}

SETT_INLINE sett_analysis_answer settp_analysis_ask(sett_map_arena *arena, const sett_analysis_op *op,
                                                    int from_output) {
  settp_analysis_relation r;
  sett_analysis_answer answer = settp_analysis_answer(SETT_ANALYSIS_UNDEFINED, "", sett_map_undefined());
  sett_expr result[SETT_ANALYSIS_MAX_RANK * (SETT_ANALYSIS_MAX_RANK + 2)];
  int i, k, n = 0, target, count, at;
  r.arena = arena;
  r.op = op;
  r.out = op->out;
  r.in.count = 0;
  r.in.values = NULL;
  r.from_output = from_output;
  r.kind = SETT_ANALYSIS_EXACT;
  r.reason = "";
  r.vars = r.equations = r.rts = 0;
  r.replica = -1;
  r.error = settp_analysis_dims_error(op->out);
  if (op->operand < 0) settp_analysis_fail(&r, SETT_ANALYSIS_ERROR_OPERAND);
  if (op->opcode != SETT_ANALYSIS_SCALAR && !(op->opcode == SETT_ANALYSIS_PAD && op->operand == 1)) {
    if (op->operand >= op->operands) settp_analysis_fail(&r, SETT_ANALYSIS_ERROR_OPERAND);
    else if (!r.error) r.in = op->in[op->operand];
  }
  if (!r.error) r.error = settp_analysis_dims_error(r.in);
  for (i = 0; i < op->out.count && !r.error; ++i) settp_analysis_var(&r, 0, op->out.values[i] - 1);
  for (i = 0; i < r.in.count && !r.error; ++i) settp_analysis_var(&r, 0, r.in.values[i] - 1);
  if (!r.error) settp_analysis_equations(&r);
  for (i = k = 0; i < r.vars && !r.error; ++i) k |= r.lo[i] > r.hi[i];
  if (k && (op->opcode == SETT_ANALYSIS_RESHAPE || op->opcode == SETT_ANALYSIS_BITCAST)) {
    r.rt_base = 0;
    settp_analysis_solve_all(&r); /* a reshape or bitcast may have an error although it has no elements */
  }
  if (k && !r.error) return settp_analysis_answer(r.kind, r.reason, sett_map_empty());
  if (!r.error) {
    r.rt_base = 0;
    settp_analysis_solve_all(&r);
    /* rt_base is the guessed number of ranges; if it was wrong, solve again with the right number */
    if (r.ranges != r.rt_base && r.rts) {
      r.rt_base = r.ranges;
      settp_analysis_solve_all(&r);
    }
  }
  if (r.error) {
    answer.all = sett_map_fail(r.error, 0);
    return answer;
  }
  answer.kind = r.kind;
  answer.reason = r.reason;
  target = from_output ? r.out.count : 0;
  count = from_output ? r.in.count : r.out.count;
  answer.results = count;
  for (i = 0; i < count; ++i) result[n++] = r.expr[target + i];
  if (r.replica >= 0) {
    answer.replica = 1;
    result[n++] = r.expr[r.replica];
  }
  answer.runtimes = r.rts;
  for (k = 0; k < r.rts; ++k) {
    answer.runtime[k] = r.rt[k];
    for (i = 0; i < r.rt[k].count; ++i) {
      at = r.rt_index[k][i];
      result[n++] = at < 0 ? sett_map_constant(arena, -1 - at) : r.expr[at];
    }
  }
  answer.all = sett_map_make(arena, r.dims, r.ranges, r.rts, r.variable, n, result, r.constraints, r.constraint);
  return answer;
}

SETT_PUBLIC sett_analysis_answer sett_analysis_from_output(sett_map_arena *arena, const sett_analysis_op *op) {
  return settp_analysis_ask(arena, op, 1);
}

SETT_PUBLIC sett_analysis_answer sett_analysis_from_operand(sett_map_arena *arena, const sett_analysis_op *op) {
  return settp_analysis_ask(arena, op, 0);
}

/* ---- parts of an answer ---- */

/* Return `count` results of an answer, from result `first` on, as a map with the answer's constraints. */
SETT_INLINE sett_map settp_analysis_part(const sett_analysis_answer *answer, int first, int count) {
  sett_map map = answer->all;
  if (map.kind != SETT_MAP_DEFINED) return map;
  map.result += first;
  map.results = count;
  return map;
}

SETT_PUBLIC sett_map sett_analysis_map(const sett_analysis_answer *answer) {
  return settp_analysis_part(answer, 0, answer->results);
}

SETT_PUBLIC sett_map sett_analysis_replica(const sett_analysis_answer *answer) {
  return answer->replica ? settp_analysis_part(answer, answer->results, 1) : sett_map_undefined();
}

SETT_INLINE int settp_analysis_runtime_at(const sett_analysis_answer *answer, int k) {
  int i, at = answer->results + answer->replica;
  for (i = 0; i < k; ++i) at += answer->runtime[i].count;
  return at;
}

SETT_PUBLIC sett_map sett_analysis_runtime_map(const sett_analysis_answer *answer, int k) {
  sett_map map = settp_analysis_part(answer, settp_analysis_runtime_at(answer, k), answer->runtime[k].count);
  if (map.kind == SETT_MAP_DEFINED) map.constraints = 0;
  return map;
}

SETT_PUBLIC sett_map sett_analysis_output_to_operand(sett_map_arena *arena, const sett_analysis_op *op) {
  sett_analysis_answer answer = sett_analysis_from_output(arena, op);
  return sett_analysis_map(&answer);
}

/* ---- chains ---- */

enum { SETTP_ANALYSIS_RESULTS = 2048 }; /* maximum results of an answer in a chain */

SETT_INLINE sett_analysis_answer settp_analysis_failed(int error) {
  return settp_analysis_answer(SETT_ANALYSIS_UNDEFINED, "", sett_map_fail(error, 0));
}

SETT_PUBLIC sett_analysis_answer sett_analysis_compose(sett_map_arena *arena, const sett_analysis_answer *first,
                                                       const sett_analysis_answer *second) {
  sett_analysis_answer answer = *second;
  sett_map_variable wide[SETTP_ANALYSIS_RESULTS];
  sett_expr result[SETTP_ANALYSIS_RESULTS];
  sett_map a = sett_analysis_map(first), map, rest;
  int i, v = 0, n = 0, more = first->all.results - first->results;
  if (first->all.kind == SETT_MAP_FAILED) return *first;
  if (second->all.kind == SETT_MAP_FAILED) return *second;
  if (first->kind == SETT_ANALYSIS_UNDEFINED) return *first;
  if (second->kind == SETT_ANALYSIS_UNDEFINED) return *second;
  if (first->kind == SETT_ANALYSIS_COVERING) {
    answer.kind = SETT_ANALYSIS_COVERING;
    answer.reason = first->reason;
  }
  if (first->all.kind == SETT_MAP_EMPTY || second->all.kind == SETT_MAP_EMPTY)
    return settp_analysis_answer(answer.kind, answer.reason, sett_map_empty());
  if (first->replica && second->replica) return settp_analysis_failed(SETT_ANALYSIS_ERROR_COLLECTIVES);
  if (first->runtimes + second->runtimes > SETT_ANALYSIS_MAX_RUNTIMES ||
      first->all.results > SETTP_ANALYSIS_RESULTS / 2 || second->all.results > SETTP_ANALYSIS_RESULTS / 2 ||
      first->all.results + sett_map_variables(second->all) > SETTP_ANALYSIS_RESULTS)
    return settp_analysis_failed(SETT_ANALYSIS_ERROR_RUNTIMES);
  map = sett_map_compose(arena, a, second->all);
  if (map.kind != SETT_MAP_DEFINED) {
    answer = settp_analysis_answer(answer.kind, answer.reason, map);
    return answer;
  }
  /* `rest` maps the results of `first` to those that follow the index: the replica, and the indices of runtime variables */
  for (i = 0; i < first->all.results; ++i, ++v) {
    wide[v].name = NULL;
    wide[v].lo = INT64_MIN;
    wide[v].hi = INT64_MAX;
    if (i >= first->results) result[n++] = sett_map_var(arena, i);
  }
  for (i = second->all.dims; i < sett_map_variables(second->all); ++i) wide[v++] = second->all.variable[i];
  rest = sett_map_make(arena, first->all.results, second->all.ranges, second->all.rts, wide, n, result, 0, NULL);
  rest = sett_map_compose(arena, first->all, rest);
  if (more && rest.kind != SETT_MAP_DEFINED) return settp_analysis_answer(answer.kind, answer.reason, rest);
  for (i = n = 0; i < second->results; ++i) result[n++] = map.result[i];
  if (first->replica) result[n++] = rest.result[0];
  for (; i < map.results; ++i) result[n++] = map.result[i];
  for (i = first->replica; i < more; ++i) result[n++] = rest.result[i];
  for (i = 0; i < first->runtimes; ++i) answer.runtime[answer.runtimes++] = first->runtime[i];
  answer.replica = first->replica || second->replica;
  answer.all =
      sett_map_make(arena, map.dims, map.ranges, map.rts, map.variable, n, result, map.constraints, map.constraint);
  return answer;
}

/* Return the answer with the indices of only those runtime variables k for which kept[k] is 1. */
SETT_INLINE sett_analysis_answer settp_analysis_keep(sett_map_arena *arena, const sett_analysis_answer *answer,
                                                     const unsigned char *kept) {
  sett_analysis_answer shorter = *answer;
  sett_expr result[SETTP_ANALYSIS_RESULTS];
  int i, k, n = answer->results + answer->replica, at = n;
  for (i = 0; i < n; ++i) result[i] = answer->all.result[i];
  shorter.runtimes = 0;
  for (k = 0; k < answer->runtimes; ++k) {
    if (kept[k]) shorter.runtime[shorter.runtimes++] = answer->runtime[k];
    for (i = 0; i < answer->runtime[k].count; ++i, ++at)
      if (kept[k]) result[n++] = answer->all.result[at];
  }
  shorter.all = sett_map_make(arena, answer->all.dims, answer->all.ranges, answer->all.rts, answer->all.variable, n,
                              result, answer->all.constraints, answer->all.constraint);
  return shorter;
}

SETT_PUBLIC sett_analysis_answer sett_analysis_tidy(sett_map_arena *arena, const sett_analysis_answer *answer,
                                                    int drop) {
  unsigned char kept[SETT_ANALYSIS_MAX_RUNTIMES] = {0}, removed[SETTP_ANALYSIS_RESULTS];
  sett_analysis_answer tidy = *answer, shorter;
  sett_map map;
  int k, changed = 1;
  if (answer->all.kind != SETT_MAP_DEFINED || sett_map_variables(answer->all) > SETTP_ANALYSIS_RESULTS) return tidy;
  map = sett_map_simplify(arena, answer->all);
  /* if simplify fails, the unsimplified map stays, because it is correct, too */
  if (map.kind != SETT_MAP_FAILED) tidy.all = map;
  if (tidy.all.kind != SETT_MAP_DEFINED) return settp_analysis_answer(answer->kind, answer->reason, tidy.all);
  for (k = 0; k < tidy.runtimes; ++k) kept[k] = (unsigned char)!drop;
  while (drop && changed) { /* if a runtime variable is used, the runtime variables in its index are used, too */
    shorter = settp_analysis_keep(arena, &tidy, kept);
    map = sett_map_remove_unused(arena, shorter.all, SETT_MAP_RTS, removed);
    changed = 0;
    if (map.kind != SETT_MAP_DEFINED) break;
    for (k = 0; k < tidy.runtimes; ++k) {
      changed |= !kept[k] && !removed[tidy.all.dims + tidy.all.ranges + k];
      kept[k] |= !removed[tidy.all.dims + tidy.all.ranges + k];
    }
  }
  shorter = settp_analysis_keep(arena, &tidy, kept);
  map = sett_map_remove_unused(arena, shorter.all, drop ? SETT_MAP_RANGES | SETT_MAP_RTS : SETT_MAP_RANGES, NULL);
  if (map.kind == SETT_MAP_EMPTY) return settp_analysis_answer(answer->kind, answer->reason, map);
  if (map.kind != SETT_MAP_DEFINED || map.rts != shorter.runtimes) return tidy;
  shorter.all = map;
  return shorter;
}

SETT_PUBLIC sett_analysis_answer sett_analysis_fold(sett_map_arena *arena, const sett_analysis_answer *answer, int k,
                                                    sett_expr value) {
  unsigned char kept[SETT_ANALYSIS_MAX_RUNTIMES];
  sett_analysis_answer shorter;
  sett_map map;
  int i, variable;
  if (answer->all.kind != SETT_MAP_DEFINED) return *answer;
  variable = answer->all.dims + answer->all.ranges + k;
  if (answer->runtime[k].clamped) {
    value = sett_map_max(arena, value, sett_map_constant(arena, answer->all.variable[variable].lo));
    value = sett_map_min(arena, value, sett_map_constant(arena, answer->all.variable[variable].hi));
  }
  for (i = 0; i < answer->runtimes; ++i) kept[i] = i != k;
  shorter = settp_analysis_keep(arena, answer, kept);
  map = sett_map_replace(arena, shorter.all, variable, value);
  if (map.kind != SETT_MAP_DEFINED) return settp_analysis_answer(answer->kind, answer->reason, map);
  shorter.all = map;
  return shorter;
}

/* ---- whole graphs ---- */

SETT_PUBLIC sett_analysis_store sett_analysis_store_make(void *memory, size_t bytes) {
  sett_analysis_store store;
  store.memory = (unsigned char *)memory;
  store.bytes = memory ? bytes : 0;
  store.used = 0;
  return store;
}

SETT_INLINE void *settp_analysis_take(sett_analysis_store *store, size_t bytes) {
  size_t gap = (8 - (size_t)((uintptr_t)(store->memory + store->used) % 8)) % 8, left = store->bytes - store->used;
  if (left < gap || left - gap < bytes) return NULL;
  store->used += gap + bytes;
  return store->memory + store->used - bytes;
}

SETT_INLINE int settp_analysis_alike(const sett_analysis_kept *a, const sett_analysis_kept *b) {
  size_t i;
  int k;
  if (a->kind != b->kind || a->replica != b->replica || a->runtimes != b->runtimes || a->results != b->results ||
      a->length != b->length)
    return 0;
  for (i = 0; i < a->length; ++i)
    if (a->text[i] != b->text[i]) return 0;
  for (k = 0; k < a->runtimes; ++k)
    if (a->runtime[k].operand != b->runtime[k].operand || a->runtime[k].clamped != b->runtime[k].clamped) return 0;
  return 1;
}

SETT_INLINE sett_analysis_kept settp_analysis_nothing(const char *reason) {
  sett_analysis_kept kept;
  kept.kind = SETT_ANALYSIS_UNDEFINED;
  kept.results = kept.replica = kept.runtimes = 0;
  kept.reason = reason;
  kept.text = "UNDEFINED";
  kept.length = 9;
  kept.runtime = NULL;
  kept.next = NULL;
  return kept;
}

/* Add a map to the set: return 1. Return 0 if the set has an equal map or an UNDEFINED one, -1 if memory is full. An UNDEFINED map replaces all
 * others, and so does a map beyond SETT_ANALYSIS_MAX_MAPS, which becomes UNDEFINED. Texts and lists are shared, not copied. */
SETT_INLINE int settp_analysis_insert(sett_analysis_store *store, sett_analysis_set *set,
                                      const sett_analysis_kept *map) {
  sett_analysis_kept *kept;
  for (kept = set->first; kept; kept = kept->next)
    if (settp_analysis_alike(kept, map)) return 0;
  /* an UNDEFINED map includes every map, so nothing is added */
  if (set->first && set->first->kind == SETT_ANALYSIS_UNDEFINED) return 0;
  kept = (sett_analysis_kept *)settp_analysis_take(store, sizeof *kept);
  if (!kept) return -1;
  *kept = *map;
  if (set->count == SETT_ANALYSIS_MAX_MAPS) *kept = settp_analysis_nothing("more than 256 different maps");
  kept->next = NULL;
  if (kept->kind == SETT_ANALYSIS_UNDEFINED || !set->count) {
    set->first = set->last = kept;
    set->count = 1;
    return 1;
  }
  set->last->next = kept;
  set->last = kept;
  ++set->count;
  return 1;
}

SETT_PUBLIC int sett_analysis_keep(sett_map_arena *arena, sett_analysis_store *store, sett_analysis_set *set,
                                   const sett_analysis_answer *answer) {
  sett_analysis_kept kept = settp_analysis_nothing(answer->reason);
  size_t used = store->used;
  sett_analysis_runtime *runtime;
  char *text;
  int i, added;
  if (answer->all.kind == SETT_MAP_FAILED) { /* the map failed: the chain is beyond the limits, or the arena is full */
    kept.reason = sett_analysis_message(answer->all.error);
  } else {
    kept.kind = answer->kind;
    kept.results = answer->results;
    kept.replica = answer->replica;
    kept.runtimes = answer->all.kind == SETT_MAP_DEFINED ? answer->runtimes : 0;
    kept.length = sett_map_print(arena, answer->all, NULL, 0);
    text = (char *)settp_analysis_take(store, kept.length + 1);
    runtime = (sett_analysis_runtime *)settp_analysis_take(store, (size_t)kept.runtimes * sizeof *runtime);
    if (!text || !runtime) return SETT_ANALYSIS_ERROR_STORE;
    sett_map_print(arena, answer->all, text, kept.length + 1);
    for (i = 0; i < kept.runtimes; ++i) runtime[i] = answer->runtime[i];
    kept.text = text;
    kept.runtime = runtime;
  }
  added = settp_analysis_insert(store, set, &kept);
  if (!added) store->used = used;
  return added < 0 ? SETT_ANALYSIS_ERROR_STORE : 0;
}

SETT_PUBLIC int sett_analysis_merge(sett_analysis_store *store, sett_analysis_set *set, const sett_analysis_set *more) {
  const sett_analysis_kept *kept;
  for (kept = more->first; kept; kept = kept->next)
    if (settp_analysis_insert(store, set, kept) < 0) return SETT_ANALYSIS_ERROR_STORE;
  return 0;
}

SETT_PUBLIC sett_analysis_answer sett_analysis_load(sett_map_arena *arena, const sett_analysis_kept *kept) {
  sett_analysis_answer answer =
      settp_analysis_answer(kept->kind, kept->reason, sett_map_parse(arena, kept->text, kept->length));
  int i;
  answer.results = kept->results;
  answer.replica = kept->replica;
  if (answer.all.kind != SETT_MAP_DEFINED) return answer;
  answer.runtimes = kept->runtimes;
  for (i = 0; i < kept->runtimes; ++i) answer.runtime[i] = kept->runtime[i];
  return answer;
}

SETT_PUBLIC sett_analysis_answer sett_analysis_along(sett_map_arena *arena, const sett_analysis_graph *graph, int edge,
                                                     int from_output) {
  const sett_analysis_edge *e = &graph->edge[edge];
  sett_analysis_answer answer = settp_analysis_ask(arena, e->op, from_output);
  int i;
  for (i = 0; i < answer.runtimes; ++i) {
    if (answer.runtime[i].operand >= e->op->operands) return settp_analysis_failed(SETT_ANALYSIS_ERROR_OPERAND);
    answer.runtime[i].operand = graph->first + e->operand[answer.runtime[i].operand];
  }
  return answer;
}

/* Follow the read of runtime variable k back through ops that only move elements. If this ends at a constant or an iota, return 1 and the value as an
 * expression of the map's variables. */
SETT_INLINE int settp_analysis_known(sett_map_arena *arena, const sett_analysis_graph *graph,
                                     const sett_analysis_answer *host, int k, sett_expr *value) {
  sett_analysis_answer index = settp_analysis_answer(SETT_ANALYSIS_EXACT, "", sett_analysis_runtime_map(host, k)), move;
  int at = host->runtime[k].operand - graph->first, steps, e, variables = sett_map_variables(host->all);
  index.results = host->runtime[k].count;
  for (steps = 0; steps < SETT_ANALYSIS_MAX_MOVES; ++steps) {
    const sett_analysis_value *v;
    if (at < 0 || at >= graph->values) return 0;
    v = &graph->value[at];
    if (v->known == SETT_ANALYSIS_CONSTANT) {
      *value = sett_map_constant(arena, v->number);
      return 1;
    }
    if (v->known == SETT_ANALYSIS_IOTA) {
      if (v->number < 0 || v->number >= index.results) return 0;
      *value = index.all.result[v->number];
      return 1;
    }
    for (e = 0; e < graph->edges; ++e)
      if (graph->edge[e].user == at && graph->edge[e].moves) break;
    if (e == graph->edges || (!graph->edge[e].op && graph->edge[e].down.count != 1)) return 0;
    move = graph->edge[e].op ? sett_analysis_along(arena, graph, e, 1)
                             : sett_analysis_load(arena, graph->edge[e].down.first);
    index = sett_analysis_compose(arena, &index, &move);
    if (index.all.kind != SETT_MAP_DEFINED || sett_map_variables(index.all) != variables) return 0;
    at = graph->edge[e].source;
  }
  return 0;
}

SETT_PUBLIC sett_analysis_answer sett_analysis_bind(sett_map_arena *arena, const sett_analysis_graph *graph,
                                                    const sett_analysis_answer *answer, int drop) {
  sett_analysis_answer bound = *answer;
  sett_expr value;
  int k = 0;
  while (k < bound.runtimes && bound.all.kind == SETT_MAP_DEFINED) {
    if (settp_analysis_known(arena, graph, &bound, k, &value)) bound = sett_analysis_fold(arena, &bound, k, value);
    else ++k;
  }
  return sett_analysis_tidy(arena, &bound, drop);
}

/* Compose each map in the set of the edge's user with each map of the edge, and add the result to the set of the edge's source. */
SETT_INLINE int settp_analysis_spread(sett_map_arena *arena, sett_analysis_store *store,
                                      const sett_analysis_graph *graph, int edge, int from_root,
                                      sett_analysis_set *set) {
  const sett_analysis_edge *e = &graph->edge[edge];
  const sett_analysis_set *from = &set[e->user];
  sett_analysis_set *to = &set[e->source], one = e->down;
  sett_map_mark mark = sett_map_arena_mark(arena);
  const sett_analysis_kept *m, *n;
  sett_analysis_answer a, b;
  int error = 0;
  if (!e->op) {
    if (!from_root) one = e->up;
  } else {
    a = sett_analysis_along(arena, graph, edge, from_root);
    error = a.all.kind == SETT_MAP_FAILED ? a.all.error : 0;
    one.count = one.followed = 0;
    one.first = one.last = NULL;
    if (!error) {
      a = sett_analysis_bind(arena, graph, &a, 1);
      error = sett_analysis_keep(arena, store, &one, &a);
    }
    sett_map_arena_rewind(arena, mark);
    if (error) return error;
    if (e->op->opcode == SETT_ANALYSIS_ELEMENTWISE && e->op->in[e->op->operand].count == e->op->out.count &&
        one.first->kind == SETT_ANALYSIS_EXACT)
      return sett_analysis_merge(store, to, from); /* an elementwise edge leaves the maps unchanged */
  }
  for (m = from->first; m; m = m->next)
    for (n = one.first; n && !error; n = n->next) {
      a = sett_analysis_load(arena, n);
      b = sett_analysis_load(arena, m);
      a = from_root ? sett_analysis_compose(arena, &b, &a) : sett_analysis_compose(arena, &a, &b);
      a = sett_analysis_bind(arena, graph, &a, 1);
      error = sett_analysis_keep(arena, store, to, &a);
      sett_map_arena_rewind(arena, mark);
    }
  return error;
}

SETT_INLINE int settp_analysis_graph_error(const sett_analysis_graph *graph, int e, const sett_analysis_set *set) {
  const sett_analysis_edge *edge = &graph->edge[e];
  int k;
  if (edge->user < 0 || edge->user >= graph->values || edge->source < 0 || edge->source >= graph->values)
    return SETT_ANALYSIS_ERROR_GRAPH;
  if (edge->source == edge->user || set[edge->source].followed) return SETT_ANALYSIS_ERROR_GRAPH;
  if (!edge->op) return 0;
  if (edge->op->operand < 0 || edge->op->operand >= edge->op->operands || !edge->operand)
    return SETT_ANALYSIS_ERROR_GRAPH;
  for (k = 0; k < edge->op->operands; ++k)
    if (edge->operand[k] >= graph->values) return SETT_ANALYSIS_ERROR_GRAPH;
  return edge->operand[edge->op->operand] == edge->source ? 0 : SETT_ANALYSIS_ERROR_GRAPH;
}

SETT_PUBLIC int sett_analysis_whole(sett_map_arena *arena, sett_analysis_store *store, const sett_analysis_graph *graph,
                                    int root, int from_root, sett_analysis_set *set, int *edge) {
  sett_map_mark mark = sett_map_arena_mark(arena);
  sett_analysis_answer identity;
  sett_expr result[SETT_ANALYSIS_MAX_RANK];
  sett_map_variable variable[SETT_ANALYSIS_MAX_RANK];
  sett_analysis_list dims;
  int i, e, error;
  if (edge) *edge = -1;
  for (i = 0; i < graph->values; ++i) {
    set[i].count = set[i].followed = 0;
    set[i].first = set[i].last = NULL;
  }
  if (root < 0 || root >= graph->values) return SETT_ANALYSIS_ERROR_GRAPH;
  dims = graph->value[root].dims;
  error = settp_analysis_dims_error(dims);
  if (error) return error;
  for (i = 0; i < dims.count; ++i) {
    variable[i].name = NULL;
    variable[i].lo = 0;
    variable[i].hi = dims.values[i] - 1;
    result[i] = sett_map_var(arena, i);
  }
  identity = settp_analysis_answer(SETT_ANALYSIS_EXACT, "",
                                   sett_map_make(arena, dims.count, 0, 0, variable, dims.count, result, 0, NULL));
  if (identity.all.kind == SETT_MAP_DEFINED) identity.results = dims.count;
  identity = sett_analysis_tidy(arena, &identity, 0);
  error = identity.all.kind == SETT_MAP_FAILED ? identity.all.error
                                               : sett_analysis_keep(arena, store, &set[root], &identity);
  sett_map_arena_rewind(arena, mark);
  for (e = 0; e < graph->edges && !error; ++e) {
    error = settp_analysis_graph_error(graph, e, set);
    if (!error) {
      set[graph->edge[e].user].followed = 1;
      if (set[graph->edge[e].user].count) error = settp_analysis_spread(arena, store, graph, e, from_root, set);
    }
    if (error && edge) *edge = e;
  }
  return error;
}

/* ---- analyses of maps ---- */

/* The accesses of one instruction. Its lanes are consecutive values of variable 0; all other variables are fixed. */
typedef struct settp_analysis_warps {
  sett_map_evaluator evaluator;
  int lanes, started, error;
  int64_t looked, value[SETT_ANALYSIS_MAX_VARIABLES], result[SETT_ANALYSIS_MAX_RANK];
  const sett_analysis_memory *memory;
  int64_t position[SETT_ANALYSIS_MAX_LANES]; /* -1: the lane is outside the domain */
  int active;
} settp_analysis_warps;

/* Return the position to which the swizzle S<bits, base, shift> moves a position. */
SETT_INLINE int64_t settp_analysis_xor(int64_t position, int64_t bits, int64_t base, int64_t shift) {
  uint64_t x = (uint64_t)position, mask = ((uint64_t)1 << bits) - 1;
  return (int64_t)(shift < 0 ? x ^ (x >> base & mask) << (base - shift) : x ^ (x >> (base + shift) & mask) << base);
}

/* Return the position in memory of an index, after padding and swizzles. Return -1 if the index is outside the array, -2 if 64 bits overflow. */
SETT_INLINE int64_t settp_analysis_position(const sett_analysis_memory *m, const int64_t *index) {
  int64_t row = 0, column, turn, pitch;
  int i, n = m->dims.count;
  if (n == 0) return index[0] < 0 ? -1 : settp_analysis_xor(index[0], m->xor_bits, m->xor_base, m->xor_shift);
  for (i = 0; i < n; ++i)
    if (index[i] < 0 || index[i] >= m->dims.values[i]) return -1;
  for (i = 0; i + 1 < n; ++i) {
    row = settp_analysis_mul(row, m->dims.values[i]);
    if (row < 0 || !settp_analysis_add_to(&row, index[i])) return -2;
  }
  column = index[n - 1];
  turn = m->swizzle_count ? row / m->swizzle_every % m->swizzle_count * m->swizzle_unit : 0;
  pitch = m->dims.values[n - 1] + m->padding;
  row = settp_analysis_mul(row, pitch);
  if (row < 0 || !settp_analysis_add_to(&row, column ^ turn)) return -2;
  return settp_analysis_xor(row, m->xor_bits, m->xor_base, m->xor_shift);
}

/* Return hi - lo + 1, or -1 if it does not fit in 64 bits. */
SETT_INLINE int64_t settp_analysis_extent(int64_t lo, int64_t hi) {
  int64_t extent = hi;
  if (lo == INT64_MIN || !settp_analysis_add_to(&extent, -lo) || !settp_analysis_add_to(&extent, 1)) return -1;
  return extent;
}

SETT_INLINE int64_t settp_analysis_width(const sett_analysis_memory *m) { return m->width > 0 ? m->width : 1; }

/* Return the number of bits of one access; -1 if it is more than 128. */
SETT_INLINE int64_t settp_analysis_access_bits(const sett_analysis_memory *m) {
  int64_t bits = m->bits < 1 ? -1 : settp_analysis_mul(m->bits, settp_analysis_width(m));
  return settp_analysis_width(m) == 1 || bits <= 128 ? bits : -1;
}

/* Check that rows do not overlap, that a swizzle stays in its row, and that an access of several elements stays contiguous. */
SETT_INLINE int settp_analysis_memory_error(const sett_analysis_memory *m) {
  int64_t most, block = 1, row_size = m->dims.count > 0 ? m->dims.values[m->dims.count - 1] : 0;
  int64_t width = settp_analysis_width(m);
  if (m->padding < 0 || m->padding > INT64_MAX - row_size) return SETT_ANALYSIS_ERROR_MEMORY;
  if (m->width < 0 || (m->dims.count > 1 && (row_size + m->padding) % width)) return SETT_ANALYSIS_ERROR_WIDTH;
  if (m->xor_bits < 0 || m->xor_base < 0 || m->xor_shift < -62 || m->xor_shift > 62) return SETT_ANALYSIS_ERROR_MEMORY;
  most = m->xor_shift < 0 ? -m->xor_shift : m->xor_shift;
  if (m->xor_bits > most || m->xor_base > 62 || m->xor_base + most + m->xor_bits > 62)
    return SETT_ANALYSIS_ERROR_MEMORY;
  if (m->xor_bits > 0 && ((int64_t)1 << m->xor_base) % width) return SETT_ANALYSIS_ERROR_WIDTH;
  if (m->swizzle_count == 0) return 0;
  if (m->swizzle_count > 1 && m->swizzle_unit % width) return SETT_ANALYSIS_ERROR_WIDTH;
  if (m->swizzle_count < 0 || m->swizzle_every < 1 || m->swizzle_unit < 1) return SETT_ANALYSIS_ERROR_MEMORY;
  most = settp_analysis_mul(m->swizzle_count - 1, m->swizzle_unit);
  while (most >= block && block <= row_size / 2) block *= 2;
  return most >= 0 && most < block && row_size % block == 0 ? 0 : SETT_ANALYSIS_ERROR_MEMORY;
}

SETT_INLINE settp_analysis_warps settp_analysis_warps_begin(sett_map_arena *arena, sett_map map, int lanes,
                                                            const sett_analysis_memory *memory) {
  settp_analysis_warps w;
  int i, wanted = memory->dims.count ? memory->dims.count : 1;
  w.lanes = lanes;
  w.started = w.active = 0;
  w.looked = 0;
  w.memory = memory;
  w.error = map.kind == SETT_MAP_FAILED ? map.error : map.kind == SETT_MAP_UNDEFINED ? SETT_MAP_ERROR_NO_MAP : 0;
  w.evaluator = sett_map_evaluator_make(arena, map);
  if (!w.error && map.kind == SETT_MAP_DEFINED) {
    if (map.results != wanted) w.error = SETT_ANALYSIS_ERROR_POSITION;
    else if (map.dims < 1 || sett_map_variables(map) > SETT_ANALYSIS_MAX_VARIABLES || wanted > SETT_ANALYSIS_MAX_RANK)
      w.error = SETT_ANALYSIS_ERROR_LANES;
    else if (w.evaluator.failed) w.error = w.evaluator.failed;
    else if (settp_analysis_extent(map.variable[0].lo, map.variable[0].hi) < 0) w.error = SETT_ANALYSIS_ERROR_LANES;
    else w.error = settp_analysis_memory_error(memory);
    for (i = 0; i < sett_map_variables(map) && !w.error; ++i) w.value[i] = map.variable[i].lo;
  }
  if (lanes < 1 || lanes > SETT_ANALYSIS_MAX_LANES) w.error = SETT_ANALYSIS_ERROR_LANES;
  return w;
}

/* Advance to the next instruction that has an active lane. Return 0 after the last one. Also return 0, and set *whole to 0, after the maximum number
 * of points. */
SETT_INLINE int settp_analysis_warps_next(settp_analysis_warps *w, int *whole) {
  sett_map map = w->evaluator.map;
  int i, n = sett_map_variables(map);
  if (w->error || map.kind != SETT_MAP_DEFINED) return 0;
  for (;;) {
    if (w->started) { /* the last variable changes fastest, and variable 0 slowest, in steps of `lanes` */
      for (i = n - 1; i > 0 && w->value[i] == map.variable[i].hi; --i) w->value[i] = map.variable[i].lo;
      if (i > 0) ++w->value[i];
      else if (map.variable[0].hi - w->value[0] < w->lanes) return 0;
      else w->value[0] += w->lanes;
    }
    w->started = 1;
    if (w->looked >= SETT_ANALYSIS_MAX_LOOKS) {
      *whole = 0;
      return 0;
    }
    w->active = 0;
    for (i = 0; i < w->lanes; ++i) {
      int64_t first = w->value[0];
      int inside, error;
      w->position[i] = -1;
      ++w->looked;
      if (map.variable[0].hi - first < i) continue;
      w->value[0] = first + i;
      inside = sett_map_evaluator_at(&w->evaluator, w->value, w->result, &error);
      w->value[0] = first;
      if (error) {
        w->error = error;
        return 0;
      }
      if (!inside) continue;
      w->position[i] = settp_analysis_position(w->memory, w->result);
      /* the position must also fit if it is counted in bits */
      if (w->position[i] < 0 || w->position[i] > INT64_MAX / 1024) {
        w->error = w->position[i] == -1 ? SETT_ANALYSIS_ERROR_OUTSIDE : SETT_ANALYSIS_ERROR_TOO_LARGE;
        return 0;
      }
      if (w->position[i] % settp_analysis_width(w->memory)) {
        w->error = SETT_ANALYSIS_ERROR_WIDTH;
        return 0;
      }
      ++w->active;
    }
    if (w->active) return 1;
  }
}

/* Count the different aligned blocks (units) of `size` bits that `lanes` lanes access, from lane `first` on. `bits` is the size of an element. If
 * `bits` is 0, `size` counts elements, and only the first element of an access is considered. `unit` receives the sorted numbers of the units. */
SETT_INLINE int settp_analysis_units(const settp_analysis_warps *w, int first, int lanes, int64_t bits, int64_t size,
                                     int64_t *unit) {
  int i, j, n = 0;
  for (i = first; i < first + lanes && i < w->lanes; ++i) {
    int64_t u, last, start = w->position[i] * (bits > 0 ? bits : 1);
    if (w->position[i] < 0) continue;
    last = bits > 0 ? (start + bits * settp_analysis_width(w->memory) - 1) / size : start / size;
    for (u = start / size; u <= last; ++u) {
      for (j = n; j > 0 && unit[j - 1] > u; --j) {}
      if ((j > 0 && unit[j - 1] == u) || n == SETT_ANALYSIS_MAX_UNITS) continue;
      {
        int k;
        for (k = n++; k > j; --k) unit[k] = unit[k - 1];
        unit[j] = u;
      }
    }
  }
  return n;
}

/* If all lanes are active and form two or more equal groups of neighbouring lanes, each with one stride, write the number of lanes in a group
 * (c->group), the distance between neighbours in a group (c->stride), and the distance between the first lanes of neighbouring groups (c->apart).
 * Otherwise set c->group and c->apart to 0. */
SETT_INLINE void settp_analysis_groups(const settp_analysis_warps *w, sett_analysis_coalescing *c) {
  const int64_t *p = w->position;
  int i, group = 1;
  c->group = 0;
  c->apart = 0;
  for (i = 0; i < w->lanes; ++i)
    if (p[i] < 0) return;
  while (group < w->lanes && p[group] - p[group - 1] == p[1] - p[0]) ++group;
  if (group < 2 || group == w->lanes || w->lanes % group) return;
  for (i = 1; i < w->lanes; ++i)
    if (p[i] - p[i - 1] != (i % group ? p[1] - p[0] : p[group] - p[group - 1])) return;
  c->group = group;
  c->stride = p[1] - p[0];
  c->apart = p[group] - p[0];
}

SETT_PUBLIC sett_analysis_coalescing sett_analysis_coalesced(sett_map_arena *arena, sett_map map,
                                                             const sett_analysis_memory *memory, int transaction,
                                                             int lanes) {
  sett_analysis_coalescing c;
  settp_analysis_warps w = settp_analysis_warps_begin(arena, map, lanes, memory);
  int64_t unit[SETT_ANALYSIS_MAX_UNITS], size = 8 * (int64_t)transaction, wide = settp_analysis_access_bits(memory);
  int i, previous;
  c.error = w.error;
  c.whole = 1;
  c.warps = c.bits = c.transactions = c.least = c.worst = c.worst_least = c.worst_bits = c.stride = c.apart = 0;
  c.strided = c.group = 0;
  if (!c.error && (transaction < 1 || wide < 1 || size < wide / 16 || wide > 1024)) c.error = SETT_ANALYSIS_ERROR_UNITS;
  while (!c.error && settp_analysis_warps_next(&w, &c.whole)) {
    int64_t accesses = settp_analysis_units(&w, 0, lanes, 0, settp_analysis_width(memory), unit), touched, least;
    touched = settp_analysis_units(&w, 0, lanes, memory->bits, size, unit);
    least = (accesses * wide + size - 1) / size;
    ++c.warps;
    c.bits += accesses * wide;
    c.transactions += touched;
    c.least += least;
    if (touched - least < c.worst - c.worst_least || (c.warps > 1 && touched - least == c.worst - c.worst_least))
      continue;
    c.worst = touched;
    c.worst_least = least;
    c.worst_bits = accesses * wide;
    c.strided = 1; /* test whether the lanes are equally far apart */
    for (i = 1, previous = w.position[0] >= 0 ? 0 : -1; i < lanes; ++i) {
      if (w.position[i] < 0) continue;
      if (previous < 0 || (previous > 0 && w.position[i] - w.position[previous] != c.stride)) c.strided = 0;
      else if (previous == 0) c.stride = w.position[i] - w.position[0];
      previous = i;
    }
    settp_analysis_groups(&w, &c);
  }
  if (!c.error) c.error = w.error;
  if (c.error) {
    c.warps = c.bits = c.transactions = c.least = c.worst = c.worst_least = c.worst_bits = c.stride = c.apart = 0;
    c.whole = c.strided = c.group = 0;
  }
  return c;
}

SETT_PUBLIC sett_analysis_banks sett_analysis_bank_conflicts(sett_map_arena *arena, sett_map map,
                                                             const sett_analysis_memory *memory, int banks, int bytes,
                                                             int lanes) {
  sett_analysis_banks b;
  settp_analysis_warps w = settp_analysis_warps_begin(arena, map, lanes, memory);
  int64_t word[SETT_ANALYSIS_MAX_UNITS], size = 8 * (int64_t)bytes, wide = settp_analysis_access_bits(memory);
  int i, j, first, n, phase;
  b.error = w.error;
  b.whole = 1;
  b.warps = b.phases = b.turns = 0;
  b.degree = b.lanes = 0;
  b.bank = 0;
  for (i = 0; i < SETT_ANALYSIS_MAX_LANES; ++i) b.lane[i] = -1;
  if (!b.error && (banks < 1 || banks > 1024 || bytes < 1 || wide < 1 || wide > 128 || size > 1024))
    b.error = SETT_ANALYSIS_ERROR_UNITS;
  b.whole = !b.error;
  if (b.error) return b;
  /* accesses that are wider than a word are served in phases */
  phase = wide > size ? (int)((int64_t)lanes * size / wide) : lanes;
  if (phase < 1) phase = 1;
  while (settp_analysis_warps_next(&w, &b.whole)) {
    ++b.warps;
    for (first = 0; first < lanes; first += phase) {
      int most = 0;
      int64_t at = 0;
      n = settp_analysis_units(&w, first, phase, memory->bits, size, word);
      if (!n) continue;
      for (i = 0; i < n; ++i) {
        int same = 0;
        for (j = 0; j < n; ++j) same += word[j] % banks == word[i] % banks;
        if (same <= most) continue;
        most = same;
        at = word[i] % banks;
      }
      ++b.phases;
      b.turns += most;
      if (most <= b.degree) continue;
      b.degree = most;
      b.bank = at;
      /* list one lane for each word of the bank */
      for (b.lanes = 0, i = first; i < first + phase && i < lanes; ++i) {
        int64_t start = w.position[i] * memory->bits / size, mine = start + (at - start % banks + banks) % banks;
        if (w.position[i] < 0 || mine > (w.position[i] * memory->bits + wide - 1) / size) continue;
        for (j = 0; j < b.lanes && word[j] != mine; ++j) {}
        if (j < b.lanes) continue;
        /* from here on, word[] lists the words for which a lane was found. Its old numbers are no longer needed */
        word[b.lanes] = mine;
        b.lane[b.lanes++] = i;
      }
    }
  }
  b.error = w.error;
  if (b.error) {
    b.warps = b.phases = b.turns = b.bank = 0;
    b.whole = b.degree = b.lanes = 0;
    for (i = 0; i < SETT_ANALYSIS_MAX_LANES; ++i) b.lane[i] = -1;
  }
  return b;
}

/* Replace variable i of the map by value[i]. */
SETT_INLINE sett_map settp_analysis_instead(sett_map_arena *arena, sett_map map, const sett_map_variable *variable,
                                            const sett_expr *value) {
  sett_map all = sett_map_to_dims(arena, map, NULL), first;
  int n = sett_map_variables(map);
  if (all.kind != SETT_MAP_DEFINED) return all;
  first = sett_map_make(arena, n, 0, 0, variable, n, value, 0, NULL);
  return sett_map_simplify(arena, sett_map_compose(arena, first, all));
}

SETT_PUBLIC sett_map sett_analysis_deal(sett_map_arena *arena, sett_map map, int v) {
  sett_expr value[SETT_ANALYSIS_MAX_VARIABLES], n;
  int64_t lanes, values;
  int i;
  if (map.kind != SETT_MAP_DEFINED) return map;
  if (sett_map_variables(map) > SETT_ANALYSIS_MAX_VARIABLES || map.dims < 1 || v < 1 || v >= sett_map_variables(map))
    return sett_map_undefined();
  if (map.variable[0].lo || map.variable[v].lo || map.variable[0].hi == INT64_MAX || map.variable[v].hi == INT64_MAX)
    return sett_map_undefined();
  lanes = map.variable[0].hi + 1;
  values = map.variable[v].hi + 1;
  for (i = 0; i < sett_map_variables(map); ++i) value[i] = sett_map_var(arena, i);
  n = sett_map_add(arena, settp_analysis_times(arena, value[v], lanes), value[0]);
  value[0] = sett_map_floordiv(arena, n, sett_map_constant(arena, values));
  value[v] = sett_map_mod(arena, n, sett_map_constant(arena, values));
  return settp_analysis_instead(arena, map, map.variable, value);
}

/* Replace variable v by v * `width`, and divide the last result by `share`. */
SETT_INLINE sett_map settp_analysis_steps(sett_map_arena *arena, sett_map map, int v, int64_t width, int64_t share) {
  sett_map_variable variable[SETT_ANALYSIS_MAX_VARIABLES];
  sett_expr value[SETT_ANALYSIS_MAX_VARIABLES], result[SETT_ANALYSIS_MAX_RANK];
  int i;
  if (map.kind != SETT_MAP_DEFINED) return map;
  if (sett_map_variables(map) > SETT_ANALYSIS_MAX_VARIABLES || v < 1 || v >= sett_map_variables(map) || width < 1 ||
      map.results < 1 || map.results > SETT_ANALYSIS_MAX_RANK)
    return sett_map_undefined();
  if (map.variable[v].lo || map.variable[v].hi == INT64_MAX || (map.variable[v].hi + 1) % width)
    return sett_map_undefined();
  for (i = 0; i < sett_map_variables(map); ++i) {
    variable[i] = map.variable[i];
    value[i] = sett_map_var(arena, i);
  }
  variable[v].hi = (map.variable[v].hi + 1) / width - 1;
  value[v] = settp_analysis_times(arena, value[v], width);
  for (i = 0; i < map.results; ++i) result[i] = map.result[i];
  if (share > 1) result[i - 1] = sett_map_floordiv(arena, result[i - 1], sett_map_constant(arena, share));
  map.result = result;
  return settp_analysis_instead(arena, map, variable, value);
}

SETT_PUBLIC sett_map sett_analysis_step(sett_map_arena *arena, sett_map map, int v, int64_t width) {
  return settp_analysis_steps(arena, map, v, width, 1);
}

SETT_PUBLIC sett_map sett_analysis_wide(sett_map_arena *arena, sett_map map, int v, int64_t width) {
  return settp_analysis_steps(arena, map, v, width, width);
}

/* The accesses of all maps, phase after phase: the position of each lane without padding or swizzle, or -1 for an inactive lane. */
typedef struct settp_analysis_phases {
  int error, maps, banks, bytes, lanes;
  /* row: elements of a row; span: number of positions of the array or, without memory->dims, up to the end of the last access */
  int64_t bits, row, span;
  int64_t widest;       /* number of elements of the widest access */
  const int64_t *count; /* for each map: number of phases */
  const int64_t *width; /* for each map: number of elements of an access */
  const int *lane;      /* for each map: number of lanes in a phase */
  int64_t *position;
} settp_analysis_phases;

SETT_INLINE settp_analysis_phases settp_analysis_phases_of(sett_map_arena *arena, int maps, const sett_map *map,
                                                           const int64_t *width, const sett_analysis_memory *memory,
                                                           int banks, int bytes, int lanes) {
  settp_analysis_phases all;
  sett_analysis_memory m = *memory;
  int64_t *count = (int64_t *)settp_map_take(arena, (size_t)maps * sizeof *count);
  int64_t *wide = (int64_t *)settp_map_take(arena, (size_t)maps * sizeof *wide);
  int *lane = (int *)settp_map_take(arena, (size_t)maps * sizeof *lane);
  int64_t positions = 0, last = 0;
  int i, k, pass, whole = 1;
  all.error = count && wide && lane ? 0 : SETT_MAP_ERROR_FULL;
  all.maps = maps;
  all.banks = banks;
  all.bytes = bytes;
  all.lanes = lanes;
  all.bits = memory->bits;
  all.row = memory->dims.count ? memory->dims.values[memory->dims.count - 1] : 0;
  all.span = all.widest = 1;
  all.count = count;
  all.width = wide;
  all.lane = lane;
  all.position = NULL;
  if (!all.error) all.error = settp_analysis_memory_error(memory);
  m.padding = m.swizzle_count = m.xor_bits = 0;
  for (i = 0; i < maps && !all.error; ++i) {
    int64_t access;
    m.width = width ? width[i] : memory->width;
    access = settp_analysis_access_bits(&m);
    wide[i] = settp_analysis_width(&m);
    if (wide[i] > all.widest) all.widest = wide[i];
    if (banks < 1 || banks > 1024 || bytes < 1 || bytes > 128 || access < 1 || access > 128 || lanes < 1 ||
        lanes > SETT_ANALYSIS_MAX_LANES)
      all.error = SETT_ANALYSIS_ERROR_UNITS;
    lane[i] = access > 8 * (int64_t)bytes ? (int)((int64_t)lanes * 8 * bytes / access) : lanes;
    if (lane[i] < 1) lane[i] = 1;
  }
  for (pass = 0; pass < 2 && !all.error; ++pass) { /* the first pass counts phases, the second writes them */
    if (pass) {                                    /* phases without an active lane are left out */
      all.position =
          (int64_t *)settp_map_take(arena, (size_t)(positions + SETT_ANALYSIS_MAX_LANES) * sizeof *all.position);
      if (!all.position) all.error = SETT_MAP_ERROR_FULL;
    }
    for (i = 0, positions = 0; i < maps && !all.error; ++i) {
      sett_map_mark mark = sett_map_arena_mark(arena);
      settp_analysis_warps w;
      m.width = width ? width[i] : memory->width;
      w = settp_analysis_warps_begin(arena, map[i], lanes, &m);
      count[i] = 0;
      while (settp_analysis_warps_next(&w, &whole)) {
        int first, active;
        for (first = 0; first < lanes; first += lane[i]) {
          for (k = active = 0; k < lane[i]; ++k) {
            int64_t p = first + k < lanes ? w.position[first + k] : -1;
            if (pass) all.position[positions + k] = p;
            active |= p >= 0;
            if (p + wide[i] > last) last = p + wide[i];
          }
          if (!active) continue;
          positions += lane[i];
          ++count[i];
        }
      }
      all.error = w.error ? w.error : whole ? 0 : SETT_ANALYSIS_ERROR_LARGE;
      sett_map_arena_rewind(arena, mark);
    }
  }
  for (i = 0; i < memory->dims.count && !all.error; ++i) {
    all.span = settp_analysis_mul(all.span, memory->dims.values[i]);
    if (all.span < 0) all.error = SETT_ANALYSIS_ERROR_TOO_LARGE;
  }
  if (!memory->dims.count) all.span = last;
  return all;
}

/* A padding or a swizzle. It moves each position of the original layout; settp_analysis_member_at returns the new position. */
typedef struct settp_analysis_member {
  int64_t padding, bits, base, shift;
} settp_analysis_member;

SETT_INLINE int64_t settp_analysis_member_at(const settp_analysis_phases *all, const settp_analysis_member *member,
                                             int64_t position) {
  if (member->padding) return position + position / all->row * member->padding;
  return settp_analysis_xor(position, member->bits, member->base, member->shift);
}

/* The distinct numbers of words that one phase accesses, and how many of them are in each bank. */
enum {
  SETTP_ANALYSIS_TABLE = 4096,
  SETTP_ANALYSIS_LOOKS = 1 << 27 /* maximum number of lanes that the search for the best layout visits */
};
typedef struct settp_analysis_table {
  int64_t number[SETTP_ANALYSIS_TABLE];
  int64_t stamp[SETTP_ANALYSIS_TABLE], bank_stamp[1024], now, looks;
  int bank[1024];
} settp_analysis_table;

/* Add a number; return 1 if it was not in the table. */
SETT_INLINE int settp_analysis_table_add(settp_analysis_table *table, int64_t number) {
  uint32_t at = (uint32_t)((uint64_t)number * 0x9E3779B97F4A7C15u >> 52);
  while (table->stamp[at] == table->now) {
    if (table->number[at] == number) return 0;
    at = (at + 1) % SETTP_ANALYSIS_TABLE;
  }
  table->stamp[at] = table->now;
  table->number[at] = number;
  return 1;
}

/* Compute the degree and turns (see sett_analysis_best) of a padding or swizzle. Stop and return 0 when the best one so far is certainly better. */
SETT_INLINE int settp_analysis_member_counts(const settp_analysis_phases *all, settp_analysis_table *table,
                                             const settp_analysis_member *member, const sett_analysis_best *best,
                                             int *degree, int64_t *turns) {
  int64_t size = 8 * (int64_t)all->bytes, k, at = 0;
  int i, j;
  *degree = 0;
  *turns = 0;
  for (i = 0; i < all->maps; ++i)
    for (k = 0; k < all->count[i]; ++k, at += all->lane[i]) {
      int most = 0;
      ++table->now;
      table->looks -= all->lane[i];
      for (j = 0; j < all->lane[i]; ++j) {
        int64_t start, word, last;
        if (all->position[at + j] < 0) continue;
        start = settp_analysis_member_at(all, member, all->position[at + j]) * all->bits;
        last = (start + all->width[i] * all->bits - 1) / size;
        for (word = start / size; word <= last; ++word) {
          int bank = (int)(word % all->banks);
          if (!settp_analysis_table_add(table, word)) continue;
          if (table->bank_stamp[bank] != table->now) table->bank[bank] = 0;
          table->bank_stamp[bank] = table->now;
          if (++table->bank[bank] > most) most = table->bank[bank];
        }
      }
      *turns += most;
      if (most > *degree) *degree = most;
      if (best->degree >= 0 && (*degree > best->degree || (*degree == best->degree && *turns > best->turns))) return 0;
    }
  return 1;
}

/* Count a padding or swizzle, and make it the best one if it is better: a lower degree, then fewer turns, then fewer additional bytes. */
SETT_INLINE void settp_analysis_member_try(const settp_analysis_phases *all, settp_analysis_table *table,
                                           const settp_analysis_member *member, int64_t bytes, sett_analysis_best *best,
                                           settp_analysis_member *kept) {
  int degree;
  int64_t turns;
  ++best->count;
  if (best->least) return; /* the best layout so far reaches the lower bound, so no other one is better */
  if (table->looks < 0) {
    best->whole = 0;
    return;
  }
  if (!settp_analysis_member_counts(all, table, member, best, &degree, &turns)) return;
  if (degree == best->degree && turns == best->turns && bytes >= best->bytes) return;
  best->degree = degree;
  best->turns = turns;
  best->bytes = bytes;
  best->least = turns == best->bound && bytes == 0;
  *kept = *member;
}

/* Begin a search: compute degree and turns of the layout without padding or swizzle, and the lower bound. */
SETT_INLINE settp_analysis_table *settp_analysis_best_begin(sett_map_arena *arena, const settp_analysis_phases *all,
                                                            const sett_analysis_memory *memory,
                                                            settp_analysis_member *kept, sett_analysis_best *best) {
  settp_analysis_table *table = (settp_analysis_table *)settp_map_take(arena, sizeof *table);
  int64_t k, at = 0, turn = (int64_t)all->banks * all->bytes * 8;
  int i, j;
  best->error = all->error ? all->error : table ? 0 : SETT_MAP_ERROR_FULL;
  best->degree = -1;
  best->least = 0;
  best->whole = 1;
  best->turns = best->bound = best->count = best->bytes = 0;
  best->memory = *memory;
  kept->padding = kept->bits = kept->base = kept->shift = 0;
  if (best->error) return NULL;
  for (i = 0; i < SETTP_ANALYSIS_TABLE; ++i) table->stamp[i] = 0;
  for (i = 0; i < 1024; ++i) table->bank_stamp[i] = 0;
  table->now = 0;
  table->looks = SETTP_ANALYSIS_LOOKS;
  for (i = 0; i < all->maps; ++i)
    for (k = 0; k < all->count[i]; ++k, at += all->lane[i]) {
      int64_t different = 0;
      ++table->now;
      for (j = 0; j < all->lane[i]; ++j) /* accesses must begin at multiples of their width */
        if (all->position[at + j] >= 0) different += settp_analysis_table_add(table, all->position[at + j]);
      best->bound += (different * all->width[i] * all->bits + turn - 1) / turn;
    }
  settp_analysis_member_try(all, table, kept, 0, best, kept);
  return table;
}

SETT_PUBLIC sett_analysis_best sett_analysis_pad_rows(sett_map_arena *arena, int maps, const sett_map *map,
                                                      const int64_t *width, const sett_analysis_memory *memory,
                                                      int banks, int bytes, int lanes) {
  sett_map_mark mark = sett_map_arena_mark(arena);
  settp_analysis_phases all = settp_analysis_phases_of(arena, maps, map, width, memory, banks, bytes, lanes);
  settp_analysis_member member, kept;
  sett_analysis_best best;
  settp_analysis_table *table = settp_analysis_best_begin(arena, &all, memory, &kept, &best);
  int64_t unit, round, rows;
  member = kept;
  if (table && memory->dims.count > 1 && all.row > 0) {
    unit = memory->align > 0 ? memory->align : (int64_t)bytes * 8 / memory->bits;
    while (unit > 1 && all.row % unit) unit /= 2;
    /* a row length that is a multiple of the width keeps accesses contiguous */
    if (unit < all.widest) unit = all.widest;
    if (unit < 1) unit = 1;
    round = (int64_t)banks * bytes * 8 / memory->bits;
    rows = all.span / all.row;
    for (member.padding = unit; member.padding < round; member.padding += unit) {
      int64_t more = settp_analysis_mul(settp_analysis_mul(rows, member.padding), memory->bits);
      if (more < 0 || more > INT64_MAX / 2 || all.row > INT64_MAX - member.padding) break;
      settp_analysis_member_try(&all, table, &member, (more + 7) / 8, &best, &kept);
    }
    best.memory.padding = kept.padding;
    best.memory.swizzle_count = best.memory.xor_bits = 0;
  }
  best.least = best.degree >= 0 && best.turns == best.bound;
  sett_map_arena_rewind(arena, mark);
  return best;
}

/* Try the swizzle S<bits, base, shift> if it keeps accesses contiguous. The array is extended to whole blocks that the swizzle permutes. */
SETT_INLINE void settp_analysis_swizzle_try(const settp_analysis_phases *all, settp_analysis_table *table, int64_t bits,
                                            int64_t base, int64_t shift, sett_analysis_best *best,
                                            settp_analysis_member *kept) {
  settp_analysis_member member;
  int64_t block = (int64_t)1 << (base + bits - (shift < 0 ? shift : 0)), more;
  if (((int64_t)1 << base) % all->widest) return;
  member.padding = 0;
  member.bits = bits;
  member.base = base;
  member.shift = shift;
  more = (block - all->span % block) % block;
  settp_analysis_member_try(all, table, &member, (more * all->bits + 7) / 8, best, kept);
}

SETT_PUBLIC sett_analysis_best sett_analysis_swizzle(sett_map_arena *arena, int maps, const sett_map *map,
                                                     const int64_t *width, const sett_analysis_memory *memory,
                                                     int banks, int bytes, int lanes) {
  sett_map_mark mark = sett_map_arena_mark(arena);
  settp_analysis_phases all = settp_analysis_phases_of(arena, maps, map, width, memory, banks, bytes, lanes);
  settp_analysis_member kept;
  sett_analysis_best best;
  settp_analysis_table *table = settp_analysis_best_begin(arena, &all, memory, &kept, &best);
  int64_t top = 0, row = -1, bits, base, shift;
  if (table && memory->dims.count && all.row > 0 && (all.row & (all.row - 1)) == 0)
    for (row = 0; (int64_t)1 << row < all.row;) ++row;
  while (top < 40 && (int64_t)1 << top < all.span) ++top;
  if (!table) top = 0;
  /* swizzle by the row index: it XORs bits [base, base + bits) of the column with bits of the row's number; the lowest bits of the number may be unused */
  for (shift = 0; shift <= top; ++shift)
    for (base = 0; base < row; ++base)
      for (bits = row - base; bits > 0; --bits)
        if (row + shift + bits <= top)
          settp_analysis_swizzle_try(&all, table, bits, base, row + shift - base, &best, &kept);
  for (shift = 1; shift <= top; ++shift)
    for (base = 0; base + shift <= top; ++base)
      for (bits = shift; bits > 0; --bits)
        if (base + shift + bits <= top && !(row >= 0 && base + bits <= row && base + shift >= row))
          settp_analysis_swizzle_try(&all, table, bits, base, shift, &best, &kept);
  for (shift = 1; shift <= top; ++shift)
    for (base = 0; base + shift <= top; ++base)
      for (bits = shift; bits > 0; --bits)
        if (base + shift + bits <= top) settp_analysis_swizzle_try(&all, table, bits, base, -shift, &best, &kept);
  if (table) best.memory.padding = best.memory.swizzle_count = best.memory.xor_bits = 0;
  if (kept.bits && row >= 0 && kept.shift > 0 && kept.base + kept.bits <= row && kept.base + kept.shift >= row) {
    best.memory.swizzle_unit = (int64_t)1 << kept.base;
    best.memory.swizzle_count = (int64_t)1 << kept.bits;
    best.memory.swizzle_every = (int64_t)1 << (kept.base + kept.shift - row);
  } else if (kept.bits) {
    best.memory.xor_bits = kept.bits;
    best.memory.xor_base = kept.base;
    best.memory.xor_shift = kept.shift;
  }
  best.least = best.degree >= 0 && best.turns == best.bound;
  sett_map_arena_rewind(arena, mark);
  return best;
}

SETT_PUBLIC int64_t sett_analysis_reads(sett_map_arena *arena, sett_map map) {
  sett_expr point[SETT_ANALYSIS_MAX_VARIABLES];
  sett_map identity;
  sett_map_footprint image;
  int64_t count = 1;
  int i, n = sett_map_variables(map);
  if (map.kind == SETT_MAP_EMPTY) return 0;
  if (map.kind != SETT_MAP_DEFINED || n > SETT_ANALYSIS_MAX_VARIABLES) return -1;
  for (i = 0; i < n; ++i) {
    point[i] = sett_map_var(arena, i);
    count = settp_analysis_mul(count, settp_analysis_extent(map.variable[i].lo, map.variable[i].hi));
  }
  if (!map.constraints) return count;
  identity =
      sett_map_make(arena, map.dims, map.ranges, map.rts, map.variable, n, point, map.constraints, map.constraint);
  image = sett_map_image(arena, identity);
  return image.error ? -1 : image.count;
}

SETT_INLINE sett_analysis_tile settp_analysis_propagate(sett_map_arena *arena, sett_map map, sett_analysis_list sizes) {
  sett_analysis_tile t;
  sett_map_variable variable[2 * SETT_ANALYSIS_MAX_RANK];
  sett_expr result[SETT_ANALYSIS_MAX_RANK], extent[SETT_ANALYSIS_MAX_RANK];
  sett_map blocks, tiled, within;
  sett_map_footprint image;
  unsigned char fixed[SETT_ANALYSIS_MAX_VARIABLES] = {0};
  int64_t first[SETT_ANALYSIS_MAX_VARIABLES] = {0};
  int i, r, n = sizes.count, v;
  t.error = 0;
  t.reason = "";
  t.results = 0;
  t.offset = sett_map_undefined();
  for (i = 0; i < SETT_ANALYSIS_MAX_RANK; ++i) t.size[i] = t.stride[i] = 0;
  if (map.kind == SETT_MAP_FAILED) t.error = map.error;
  else if (map.kind == SETT_MAP_UNDEFINED) t.reason = "the map is UNDEFINED";
  else if (map.kind == SETT_MAP_EMPTY) t.reason = "the map is KNOWN EMPTY: nothing is read";
  else if (n != map.dims || map.results > SETT_ANALYSIS_MAX_RANK || n > SETT_ANALYSIS_MAX_RANK)
    t.error = SETT_ANALYSIS_ERROR_COUNT;
  else if (map.rts) t.reason = "a runtime variable moves it: bind it first";
  if (t.error || t.reason[0]) return t;
  for (i = 0; i < n; ++i) { /* replace dimension d by size * block + j */
    if (sizes.values[i] < 1 || map.variable[i].lo != 0) {
      t.error = SETT_ANALYSIS_ERROR_TILE;
      return t;
    }
    variable[i].name = variable[n + i].name = NULL;
    variable[i].lo = variable[n + i].lo = 0;
    variable[i].hi = map.variable[i].hi / sizes.values[i];
    variable[n + i].hi = sizes.values[i] - 1;
    if (variable[n + i].hi > map.variable[i].hi) variable[n + i].hi = map.variable[i].hi;
    result[i] = sett_map_add(arena, settp_analysis_times(arena, sett_map_var(arena, i), sizes.values[i]),
                             sett_map_var(arena, n + i));
  }
  blocks = sett_map_make(arena, n, n, 0, variable, n, result, 0, NULL);
  tiled = sett_map_simplify(arena, sett_map_compose(arena, blocks, map));
  if (tiled.kind == SETT_MAP_FAILED) t.error = tiled.error;
  else if (tiled.kind != SETT_MAP_DEFINED) t.reason = "the map is KNOWN EMPTY: nothing is read";
  else if (sett_map_variables(tiled) > SETT_ANALYSIS_MAX_VARIABLES) t.error = SETT_ANALYSIS_ERROR_COUNT;
  if (t.error || t.reason[0]) return t;
  t.results = tiled.results;
  /* Drop the constraints, which cut tiles off at the end of the array. The answer is then the block of a whole tile; a tile that is cut off needs
   * a part of it. */
  tiled.constraints = 0;
  for (v = n; v < sett_map_variables(tiled); ++v) {
    fixed[v] = 1;
    first[v] = tiled.variable[v].lo;
  }
  t.offset = sett_map_substitute(arena, tiled, fixed, first);
  if (t.offset.kind != SETT_MAP_DEFINED) {
    t.error = t.offset.error;
    t.reason = "the map is KNOWN EMPTY: nothing is read";
    return t;
  }
  for (r = 0; r < tiled.results; ++r) extent[r] = sett_map_sub(arena, tiled.result[r], t.offset.result[r]);
  within = sett_map_simplify(arena,
                             sett_map_make(arena, n, tiled.ranges, 0, tiled.variable, tiled.results, extent, 0, NULL));
  within = sett_map_remove_unused(arena, within, SETT_MAP_DIMS, NULL);
  if (within.kind == SETT_MAP_DEFINED && within.dims) {
    t.reason = "tiles differ: quotients or remainders are cut within some of them";
    return t;
  }
  image = sett_map_image(arena, within);
  if (image.error) {
    t.error = image.error;
    return t;
  }
  if (!image.product && tiled.results) {
    t.reason = "the tile is not one strided block of the operand: its dimensions move together";
    return t;
  }
  /* the block begins at its lowest index, which is below the offset if a stride is negative */
  for (r = 0; r < tiled.results; ++r) {
    t.stride[r] = image.value[r].modulus ? image.value[r].modulus : 1;
    t.size[r] = settp_analysis_extent(image.value[r].lo, image.value[r].hi);
    if (t.size[r] < 0) {
      t.reason = "the tile's extent does not fit in 64 bits";
      return t;
    }
    t.size[r] = (t.size[r] - 1) / t.stride[r] + 1;
    result[r] = settp_analysis_plus(arena, t.offset.result[r], image.value[r].lo);
  }
  t.offset = sett_map_simplify(arena, sett_map_make(arena, n, 0, 0, tiled.variable, tiled.results, result, 0, NULL));
  if (t.offset.kind == SETT_MAP_FAILED) t.error = t.offset.error;
  return t;
}

SETT_PUBLIC sett_analysis_tile sett_analysis_propagate(sett_map_arena *arena, sett_map map, sett_analysis_list sizes) {
  sett_analysis_tile t = settp_analysis_propagate(arena, map, sizes);
  if (!t.error && !t.reason[0]) return t;
  t.results = 0;
  t.offset = sett_map_undefined();
  return t;
}

/* ======================================================================= bodies: proofs ==== */

/* To prove a fact, the code shows that no point of the domain satisfies the fact's negation. Expressions are linear forms over columns. Column 0 is
 * the constant 1. Every other column is an atom or a product of atoms. An atom is a variable, a quotient, min(0, form), or an operation that is not
 * analysed further. A quotient q = floor(a / b) with b > 0 gives the rows 0 <= a - b * q <= b - 1. A system of rows is decided in steps. Equations
 * are solved and substituted. Each row is divided by the greatest common divisor of its coefficients, and its bounds are rounded to integers. The
 * simplex method decides the rest over the rationals, exactly. If the solution has fractions, the system is split into two cases.
 */
enum {
  SETTP_MAP_PROOF_COLUMNS = 80,
  SETTP_MAP_PROOF_FACTORS = 4,
  SETTP_MAP_PROOF_ROWS = 320,
  SETTP_MAP_PROOF_SPLITS = 40,
  SETTP_MAP_PROOF_STEPS = 96,   /* maximum number of substitutions in one system of rows */
  SETTP_MAP_PROOF_PIVOTS = 300, /* maximum pivots of the simplex method in one system */
  SETTP_MAP_PROOF_CASES = 160,  /* maximum number of systems of rows for one question */
  SETTP_MAP_PROOF_NEST = 24,    /* maximum depth of nested cases */
  SETTP_MAP_PROOF_FEW_CASES = 12
};

typedef struct settp_map_proof_form {
  int64_t k[SETTP_MAP_PROOF_COLUMNS];
} settp_map_proof_form;

enum { SETTP_MAP_PROOF_VARIABLE, SETTP_MAP_PROOF_QUOTIENT, SETTP_MAP_PROOF_LEAST, SETTP_MAP_PROOF_OTHER };

typedef struct settp_map_proof_column {
  sett_map_interval bound;
  /* columns of the factors, ascending; the only factor of an atom is the atom itself */
  int factors, factor[SETTP_MAP_PROOF_FACTORS];
  int kind;   /* if the column is an atom: the atom's kind */
  int64_t of; /* kind VARIABLE: number of the variable; kind OTHER: handle of the expression */
  const settp_map_proof_form *upper, *lower; /* kind QUOTIENT: floor(upper / lower); kind LEAST: min(0, upper) */
} settp_map_proof_column;

typedef struct settp_map_proof_row { /* form = 0 if `equal` is 1, otherwise form >= 0 */
  const settp_map_proof_form *form;
  int equal;
} settp_map_proof_row;

/* two cases: at each point, both rows of row[0] hold, or both rows of row[1] hold */
typedef struct settp_map_proof_split {
  settp_map_proof_row row[2][2];
} settp_map_proof_split;

typedef struct settp_map_proof {
  sett_map_arena *arena;
  sett_map map;                 /* a map with two results, the sides of the fact */
  sett_map_evaluator evaluator; /* evaluates map */
  const sett_map_fact *fact;
  int monomials, rows, splits, cases, most, quiet, ended, zero, strict, empty, found;
  /* 1 for a variable that is fixed, with its value in `point`; NULL: no variable is fixed */
  const unsigned char *fixed;
  int64_t *point, *side;
  int *variable;                        /* the column of each variable, or 0 if it has none */
  const settp_map_proof_form **instead; /* the form that replaces each variable, or NULL */
  settp_map_proof_column column[SETTP_MAP_PROOF_COLUMNS];
  settp_map_proof_row row[SETTP_MAP_PROOF_ROWS];
  settp_map_proof_split split[SETTP_MAP_PROOF_SPLITS];
  /* the simplex solution: column j has the value above[j] / below[j] */
  int64_t above[SETTP_MAP_PROOF_COLUMNS], below[SETTP_MAP_PROOF_COLUMNS];
  int16_t times[SETTP_MAP_PROOF_COLUMNS]
               /* 1 + the column of two columns' product; 0: not searched yet; -1: none; -2: none can be made */
               [SETTP_MAP_PROOF_COLUMNS];
} settp_map_proof;

/* ---- forms ---- */

SETT_INLINE settp_map_proof_form *settp_map_proof_form_new(settp_map_proof *p) {
  settp_map_proof_form *f = (settp_map_proof_form *)settp_map_take(p->arena, sizeof *f);
  int j;
  for (j = 0; f && j < SETTP_MAP_PROOF_COLUMNS; ++j) f->k[j] = 0;
  return f;
}

/* Return a * x + b * y + c; y may be NULL. Return NULL if x is NULL, the memory is too small or a number overflows. */
SETT_INLINE const settp_map_proof_form *settp_map_proof_mix(settp_map_proof *p, const settp_map_proof_form *x,
                                                            int64_t a, const settp_map_proof_form *y, int64_t b,
                                                            int64_t c) {
  settp_map_proof_form *f = x ? settp_map_proof_form_new(p) : NULL;
  int64_t s, t = 0;
  int j;
  for (j = 0; f && j < p->monomials; ++j) {
    if (settp_map_mul(x->k[j], a, &s) || (y && settp_map_mul(y->k[j], b, &t)) || settp_map_add(s, t, &f->k[j]))
      return NULL;
  }
  return !f || settp_map_add(f->k[0], c, &f->k[0]) ? NULL : f;
}

SETT_INLINE const settp_map_proof_form *settp_map_proof_single(settp_map_proof *p, int column, int64_t k, int64_t c) {
  settp_map_proof_form *f = settp_map_proof_form_new(p);
  if (!f) return NULL;
  f->k[column] = k;
  f->k[0] += c;
  return f;
}

SETT_INLINE int settp_map_proof_form_constant(const settp_map_proof *p, const settp_map_proof_form *f) {
  int j;
  for (j = 1; j < p->monomials && !f->k[j]; ++j) {}
  return j == p->monomials;
}

SETT_INLINE int settp_map_proof_form_same(const settp_map_proof *p, const settp_map_proof_form *a,
                                          const settp_map_proof_form *b) {
  int j;
  for (j = 0; j < p->monomials && a->k[j] == b->k[j]; ++j) {}
  return j == p->monomials;
}

SETT_INLINE sett_map_interval settp_map_proof_form_interval(const settp_map_proof *p, const settp_map_proof_form *f) {
  sett_map_interval r = settp_map_interval(f->k[0], f->k[0]);
  int j;
  for (j = 1; j < p->monomials; ++j)
    if (f->k[j]) r = settp_map_interval_add(r, settp_map_interval_scale(p->column[j].bound, f->k[j]));
  return r;
}

SETT_INLINE int settp_map_proof_column_new(settp_map_proof *p, int kind, int64_t of, sett_map_interval bound) {
  settp_map_proof_column *c = p->column + p->monomials;
  if (p->monomials == SETTP_MAP_PROOF_COLUMNS) return 0;
  c->bound = bound;
  c->factors = 1;
  c->factor[0] = p->monomials;
  c->kind = kind;
  c->of = of;
  c->upper = c->lower = NULL;
  return p->monomials++;
}

/* Return the column that is the product of columns a and b, or -1. A missing column is made only if `add` is 1. */
SETT_INLINE int settp_map_proof_column_times(settp_map_proof *p, int a, int b, int add) {
  settp_map_proof_column x = p->column[a], *y = p->column + b;
  int i, j, k;
  if (!a || !b) return a + b;
  if (p->times[a][b] > 0) return p->times[a][b] - 1;
  if (p->times[a][b] < 0 && (!add || p->times[a][b] < -1)) return -1;
  p->times[a][b] = p->times[b][a] = -2;
  if (x.factors + y->factors > SETTP_MAP_PROOF_FACTORS) return -1;
  for (i = 0; i < y->factors; ++i) {
    for (j = x.factors++; j > 0 && x.factor[j - 1] > y->factor[i]; --j) x.factor[j] = x.factor[j - 1];
    x.factor[j] = y->factor[i];
  }
  for (k = 1; k < p->monomials; ++k) {
    if (p->column[k].factors != x.factors) continue;
    for (i = 0; i < x.factors && p->column[k].factor[i] == x.factor[i]; ++i) {}
    if (i == x.factors) break;
  }
  if (k == p->monomials) {
    if (!add) p->times[a][b] = p->times[b][a] = -1;
    if (!add || k == SETTP_MAP_PROOF_COLUMNS) return -1;
    x.bound = settp_map_interval_op(SETTP_MAP_MUL, x.bound, y->bound);
    if (a == b && x.bound.lo < 0) x.bound.lo = 0;
    p->column[p->monomials++] = x;
    /* the new column may be the product of other pairs, too: search again for pairs that had no column */
    for (i = 1; i < p->monomials; ++i)
      for (j = 1; j < p->monomials; ++j)
        if (p->times[i][j] == -1) p->times[i][j] = 0;
  }
  p->times[a][b] = p->times[b][a] = (int16_t)(k + 1);
  return k;
}

SETT_INLINE const settp_map_proof_form *settp_map_proof_times(settp_map_proof *p, const settp_map_proof_form *a,
                                                              const settp_map_proof_form *b, int add) {
  settp_map_proof_form *f;
  int i, j, c, n = p->monomials;
  int64_t k;
  if (!a || !b) return NULL;
  if (!add)
    for (i = 1; i < n; ++i)
      for (j = 1; a->k[i] && j < n; ++j)
        if (b->k[j] && settp_map_proof_column_times(p, i, j, 0) < 0) return NULL;
  f = settp_map_proof_form_new(p);
  for (i = 0; f && i < n; ++i)
    for (j = 0; a->k[i] && j < n; ++j) {
      if (!b->k[j]) continue;
      c = settp_map_proof_column_times(p, i, j, add);
      if (c < 0 || settp_map_mul(a->k[i], b->k[j], &k) || settp_map_add(f->k[c], k, &f->k[c])) return NULL;
    }
  return f;
}

/* ---- rows ---- */

/* Add a row to the system. A NULL form, and a row beyond the limit, are left out. This is sound, because points that satisfy all rows also satisfy the
 * remaining rows. */
SETT_INLINE void settp_map_proof_row_add(settp_map_proof *p, const settp_map_proof_form *form, int equal) {
  if (!form || p->rows == SETTP_MAP_PROOF_ROWS) return;
  if (settp_map_proof_form_constant(p, form)) {
    if (form->k[0] < 0 || (equal && form->k[0])) p->empty = 1;
    return;
  }
  p->row[p->rows].form = form;
  p->row[p->rows++].equal = equal;
}

/* Add products as new rows. Multiply each inequality, from row `from` on, with every inequality, and each equation with the monomial of every column.
 * Leave out products that have a monomial without a column. */
SETT_INLINE void settp_map_proof_row_products(settp_map_proof *p, int from) {
  int i, j, n = p->rows, nonlinear = 0;
  for (i = 1; i < p->monomials; ++i) nonlinear |= p->column[i].factors > 1;
  if (!nonlinear) return;
  for (i = from; i < n; ++i) {
    settp_map_proof_row x = p->row[i];
    if (x.equal) {
      for (j = 1; j < p->monomials && p->rows < SETTP_MAP_PROOF_ROWS; ++j) {
        size_t keep = p->arena->top;
        int l, any = 0;
        for (l = 1; l < p->monomials; ++l) any |= x.form->k[l] && settp_map_proof_column_times(p, l, j, 0) < 0;
        if (any) continue;
        {
          const settp_map_proof_form *f = settp_map_proof_times(p, x.form, settp_map_proof_single(p, j, 1, 0), 0);
          if (f) settp_map_proof_row_add(p, f, 1);
          else p->arena->top = keep;
        }
      }
      continue;
    }
    for (j = 0; j <= (i < n ? i : n - 1) && p->rows < SETTP_MAP_PROOF_ROWS; ++j)
      if (!p->row[j].equal) settp_map_proof_row_add(p, settp_map_proof_times(p, x.form, p->row[j].form, 0), 0);
  }
}

/* Add the bounds of all products and of their factors as rows, so that settp_map_proof_row_products multiplies them. */
SETT_INLINE void settp_map_proof_row_ends(settp_map_proof *p) {
  int i, j, n = p->monomials, use[SETTP_MAP_PROOF_COLUMNS];
  for (j = 0; j < n; ++j) use[j] = 0;
  for (j = 1; j < n; ++j)
    for (i = 0; i < p->column[j].factors && p->column[j].factors > 1; ++i) use[j] = use[p->column[j].factor[i]] = 1;
  for (j = 1; j < n; ++j) {
    sett_map_interval b = p->column[j].bound;
    if (!use[j]) continue;
    if (b.lo != INT64_MIN && b.lo != INT64_MAX && b.lo > -INT64_MAX)
      settp_map_proof_row_add(p, settp_map_proof_single(p, j, 1, -b.lo), 0);
    if (b.hi != INT64_MAX && b.hi != INT64_MIN) settp_map_proof_row_add(p, settp_map_proof_single(p, j, -1, b.hi), 0);
    /* for a square, add the facts x * x >= x and x * x >= -x */
    if (p->column[j].factors == 2 && p->column[j].factor[0] == p->column[j].factor[1]) {
      const settp_map_proof_form *square = settp_map_proof_single(p, j, 1, 0);
      const settp_map_proof_form *root = settp_map_proof_single(p, p->column[j].factor[0], 1, 0);
      if (root) settp_map_proof_row_add(p, settp_map_proof_mix(p, square, 1, root, -1, 0), 0);
      if (root) settp_map_proof_row_add(p, settp_map_proof_mix(p, square, 1, root, 1, 0), 0);
    }
  }
}

/* Tighten the bounds of the columns by the row sign * form >= 0, and set *changed if a bound changes. Return 0 if the row holds nowhere. */
SETT_INLINE int settp_map_proof_row_tighten(settp_map_proof *p, const settp_map_proof_form *form, int sign,
                                            int *changed) {
  int64_t sum, k, t;
  int j, open = 0, at = 0;
  if (settp_map_mul(form->k[0], sign, &sum)) return 1;
  for (j = 1; j < p->monomials; ++j) {
    sett_map_interval b = p->column[j].bound;
    if (!form->k[j]) continue;
    if (settp_map_mul(form->k[j], sign, &k)) return 1;
    if (k > 0 ? b.hi == INT64_MAX : b.lo == INT64_MIN) {
      if (open++) return 1;
      at = j;
    } else if (settp_map_mul(k, k > 0 ? b.hi : b.lo, &t) || settp_map_add(sum, t, &sum)) {
      return 1;
    }
  }
  if (!open && sum < 0) return 0;
  for (j = open ? at : 1; j < (open ? at + 1 : p->monomials); ++j) {
    sett_map_interval *b = &p->column[j].bound;
    int64_t rest = sum, end;
    if (!form->k[j]) continue;
    k = form->k[j] * sign;
    if (!open) { /* `rest`: the maximum of the sum of the other columns */
      t = k * (k > 0 ? b->hi : b->lo);
      if (t == INT64_MIN || settp_map_add(rest, -t, &rest)) continue;
    }
    if (rest == INT64_MIN || k == INT64_MIN) continue;
    if (k > 0) { /* column >= -rest / k */
      end = settp_map_ceil(-rest, k);
      if (end > b->lo) b->lo = end, *changed = 1;
    } else {
      end = settp_map_floor(rest, -k);
      if (end < b->hi) b->hi = end, *changed = 1;
    }
    if (b->lo > b->hi) return 0;
  }
  return 1;
}

/* Tighten the bounds of columns in at most 3 rounds: those of products by their factors, and all by the rows. Return 0 if no point is left. */
SETT_INLINE int settp_map_proof_tighten(settp_map_proof *p) {
  int round, i, j, changed = 1;
  for (round = 0; round < 3 && changed; ++round) {
    changed = 0;
    for (j = 1; j < p->monomials; ++j) {
      settp_map_proof_column *c = p->column + j;
      sett_map_interval b = p->column[c->factor[0]].bound;
      int same = c->factors % 2 == 0;
      if (c->factors == 1) continue;
      for (i = 1; i < c->factors; ++i) {
        b = settp_map_interval_op(SETTP_MAP_MUL, b, p->column[c->factor[i]].bound);
        same &= c->factor[i] == c->factor[0];
      }
      if (same && b.lo < 0) b.lo = 0;
      if (b.lo > c->bound.lo) c->bound.lo = b.lo, changed = 1;
      if (b.hi < c->bound.hi) c->bound.hi = b.hi, changed = 1;
      if (c->bound.lo > c->bound.hi) return 0;
    }
    for (i = 0; i < p->rows; ++i)
      if (!settp_map_proof_row_tighten(p, p->row[i].form, 1, &changed) ||
          (p->row[i].equal && !settp_map_proof_row_tighten(p, p->row[i].form, -1, &changed)))
        return 0;
  }
  return 1;
}

/* ---- one system of rows ---- */

enum { SETTP_MAP_PROOF_NONE, SETTP_MAP_PROOF_MODEL, SETTP_MAP_PROOF_UNKNOWN };

typedef struct settp_map_proof_system {
  int monomials, rows, steps;
  int64_t *k;       /* coefficients of all columns, row by row; entry 0 of a row is 1 if the row is in use */
  int64_t *lo, *hi; /* bounds of each row's sum */
  uint64_t *hash;
  int64_t *step; /* substitutions in order: column stepped[i] = step[0] + the sum of step[j] * column j */
  int stepped[SETTP_MAP_PROOF_STEPS];
  unsigned char gone[SETTP_MAP_PROOF_COLUMNS];
} settp_map_proof_system;

/* Divide a row by the greatest common divisor of its coefficients, and make its first coefficient positive. Return 0 if no integers satisfy the row.
 */
SETT_INLINE int settp_map_proof_settle(settp_map_proof_system *s, int row) {
  int64_t *k = s->k + (size_t)row * (size_t)s->monomials, g = 0;
  int j, first = 0;
  uint64_t hash = 0;
  for (j = s->monomials - 1; j > 0; --j)
    if (k[j]) {
      g = g == 1 ? 1 : settp_map_gcd(g, k[j]);
      first = j;
    }
  if (!first) {
    k[0] = 0;
    return s->lo[row] <= 0 && s->hi[row] >= 0;
  }
  if (k[first] < 0) {
    int64_t lo = s->lo[row];
    /* this cannot overflow, because no coefficient is INT64_MIN */
    for (j = first; j < s->monomials; ++j) k[j] = -k[j];
    s->lo[row] = settp_map_neg(s->hi[row]);
    s->hi[row] = settp_map_neg(lo);
  }
  if (g > 1) {
    for (j = first; j < s->monomials; ++j) k[j] /= g;
    if (s->lo[row] != INT64_MIN) s->lo[row] = settp_map_ceil(s->lo[row], g);
    if (s->hi[row] != INT64_MAX) s->hi[row] = settp_map_floor(s->hi[row], g);
  }
  for (j = first; j < s->monomials; ++j) hash = hash * UINT64_C(0x9E3779B97F4A7C15) + (uint64_t)k[j];
  s->hash[row] = hash;
  return s->lo[row] <= s->hi[row];
}

/* Merge rows with equal coefficients. Return 0 if their bounds contradict each other. */
SETT_INLINE int settp_map_proof_meet(settp_map_proof_system *s) {
  int i, j, l, n = s->monomials;
  for (i = 1; i < s->rows; ++i) {
    int64_t *x = s->k + (size_t)i * (size_t)n;
    for (j = 0; j < i && x[0]; ++j) {
      int64_t *y = s->k + (size_t)j * (size_t)n;
      if (!y[0] || s->hash[i] != s->hash[j]) continue;
      for (l = 1; l < n && x[l] == y[l]; ++l) {}
      if (l < n) continue;
      if (s->lo[i] > s->lo[j]) s->lo[j] = s->lo[i];
      if (s->hi[i] < s->hi[j]) s->hi[j] = s->hi[i];
      x[0] = 0;
      if (s->lo[j] > s->hi[j]) return 0;
    }
  }
  return 1;
}

/* Solve the equations, and substitute them in the other rows, until no equation is left. Return MODEL if all are solved, NONE if the rows contradict
 * each other, UNKNOWN after a limit or an overflow. */
SETT_INLINE int settp_map_proof_equations(settp_map_proof_system *s) {
  int i, j, n = s->monomials;
  for (;;) {
    int row = -1, column = 0;
    int64_t least = INT64_MAX, *x, *st;
    if (!settp_map_proof_meet(s)) return SETTP_MAP_PROOF_NONE;
    for (i = 0; i < s->rows && least > 1; ++i) {
      const int64_t *k = s->k + (size_t)i * (size_t)n;
      if (!k[0] || s->lo[i] != s->hi[i] || s->lo[i] == INT64_MIN || s->lo[i] == INT64_MAX) continue;
      for (j = n - 1; j > 0; --j) {
        int64_t size = k[j] < 0 ? -k[j] : k[j];
        if (size && size < least) least = size, row = i, column = j;
      }
    }
    if (row < 0) return SETTP_MAP_PROOF_MODEL;
    if (s->steps == SETTP_MAP_PROOF_STEPS) return SETTP_MAP_PROOF_UNKNOWN;
    x = s->k + (size_t)row * (size_t)n;
    st = s->step + (size_t)s->steps * (size_t)n;
    s->stepped[s->steps++] = column;
    if (least == 1) { /* the coefficient is 1 or -1: column = (lo - the other terms) / coefficient */
      st[0] = x[column] * s->lo[row];
      for (j = 1; j < n; ++j) st[j] = j == column ? 0 : -x[column] * x[j];
      x[0] = 0;
      s->gone[column] = 1;
      /* replace the column by a new one minus rounded multiples of the others, so that the row's coefficients become remainders */
    } else {
      st[0] = 0;
      for (j = 1; j < n; ++j) {
        int64_t q = settp_map_floor(x[j], least);
        if (x[j] - q * least > least / 2) ++q;
        st[j] = j == column ? 1 : x[column] < 0 ? q : -q;
      }
    }
    for (i = 0; i < s->rows; ++i) {
      int64_t *y = s->k + (size_t)i * (size_t)n, m = y[column], t;
      if (!y[0] || !m) continue;
      y[column] = 0;
      for (j = 1; j < n; ++j)
        if (st[j] && (settp_map_mul(m, st[j], &t) || settp_map_add(y[j], t, &y[j]) || y[j] == INT64_MIN))
          return SETTP_MAP_PROOF_UNKNOWN;
      if (settp_map_mul(m, st[0], &t) || t == INT64_MIN) return SETTP_MAP_PROOF_UNKNOWN;
      if (s->lo[i] != INT64_MIN && settp_map_add(s->lo[i], -t, &s->lo[i])) return SETTP_MAP_PROOF_UNKNOWN;
      if (s->hi[i] != INT64_MAX && settp_map_add(s->hi[i], -t, &s->hi[i])) return SETTP_MAP_PROOF_UNKNOWN;
      if (!settp_map_proof_settle(s, i)) return SETTP_MAP_PROOF_NONE;
    }
  }
}

/* The tableau of the simplex method has n columns and m rows. In row i, below[i] * (the row's variable) is the sum of k[i * n + j] * (the variable
 * of column j) over all j. Variables 0 .. n - 1 are the columns of the system, and variable n + i is the sum of the system's row i. */
typedef struct settp_map_proof_tableau {
  int n, m;
  int64_t *k, *below, *lo, *hi, *value; /* value of each column's variable: one of its bounds, or 0 */
  int *row, *column;                    /* the number of each row's variable, and of each column's variable */
} settp_map_proof_tableau;

SETT_INLINE void settp_map_proof_reduce(int64_t *k, int64_t *below, int n) {
  int64_t g = *below;
  int j;
  for (j = 0; j < n && g != 1; ++j)
    if (k[j]) g = settp_map_gcd(g, k[j]);
  if (g == 1) return;
  for (j = 0; j < n; ++j) k[j] /= g;
  *below /= g;
}

/* Compute below[i] times the value of row i's variable. Return 0 if a number overflows. */
SETT_INLINE int settp_map_proof_sum(const settp_map_proof_tableau *t, int i, int64_t *sum) {
  const int64_t *k = t->k + (size_t)i * (size_t)t->n;
  int64_t a;
  int j;
  *sum = 0;
  for (j = 0; j < t->n; ++j)
    if (k[j] && t->value[j] && (settp_map_mul(k[j], t->value[j], &a) || settp_map_add(*sum, a, sum))) return 0;
  return 1;
}

SETT_INLINE int settp_map_proof_pivot(settp_map_proof_tableau *t, int r, int c, int64_t value) {
  int64_t *x = t->k + (size_t)r * (size_t)t->n, a = x[c];
  int i, j;
  for (j = 0; j < t->n; ++j)
    if (a > 0) x[j] = -x[j];
  x[c] = a > 0 ? t->below[r] : -t->below[r];
  t->below[r] = a > 0 ? a : -a;
  settp_map_proof_reduce(x, &t->below[r], t->n);
  i = t->row[r];
  t->row[r] = t->column[c];
  t->column[c] = i;
  t->value[c] = value;
  for (i = 0; i < t->m; ++i) {
    int64_t *y = t->k + (size_t)i * (size_t)t->n, m = y[c], g, f, b;
    if (i == r || !m) continue;
    g = settp_map_gcd(m, t->below[r]);
    f = t->below[r] / g;
    m /= g;
    y[c] = 0;
    for (j = 0; j < t->n; ++j) {
      if (f != 1 && y[j] && settp_map_mul(y[j], f, &y[j])) return 0;
      if (x[j] && (settp_map_mul(m, x[j], &b) || settp_map_add(y[j], b, &y[j]))) return 0;
      if (y[j] == INT64_MIN) return 0;
    }
    if (settp_map_mul(t->below[i], f, &t->below[i])) return 0;
    settp_map_proof_reduce(y, &t->below[i], t->n);
  }
  return 1;
}

/* Find values within all bounds. Each step uses Bland's rule: among the rows that violate a bound, choose the row whose variable has the lowest number;
 * then, among the columns that can move this row, choose the column whose variable has the lowest number. So no basis occurs twice. */
SETT_INLINE int settp_map_proof_simplex(settp_map_proof_tableau *t) {
  int pivots, i, j;
  for (pivots = 0; pivots < SETTP_MAP_PROOF_PIVOTS; ++pivots) {
    int r = -1, c = -1, up = 0;
    for (i = 0; i < t->m; ++i) {
      int v = t->row[i];
      int64_t sum, end;
      if (r >= 0 && t->row[r] < v) continue;
      if (t->lo[v] == INT64_MIN && t->hi[v] == INT64_MAX) continue;
      if (!settp_map_proof_sum(t, i, &sum)) return SETTP_MAP_PROOF_UNKNOWN;
      if (t->lo[v] != INT64_MIN) {
        if (settp_map_mul(t->lo[v], t->below[i], &end)) return SETTP_MAP_PROOF_UNKNOWN;
        if (sum < end) r = i, up = 1;
      }
      if (t->hi[v] != INT64_MAX) {
        if (settp_map_mul(t->hi[v], t->below[i], &end)) return SETTP_MAP_PROOF_UNKNOWN;
        if (sum > end) r = i, up = 0;
      }
    }
    if (r < 0) return SETTP_MAP_PROOF_MODEL;
    for (j = 0; j < t->n; ++j) {
      int64_t k = t->k[(size_t)r * (size_t)t->n + (size_t)j];
      int v = t->column[j];
      if (!k || (c >= 0 && t->column[c] < v)) continue;
      if ((k > 0) == up ? t->value[j] < t->hi[v] : t->value[j] > t->lo[v]) c = j;
    }
    if (c < 0) return SETTP_MAP_PROOF_NONE;
    i = t->row[r];
    if (!settp_map_proof_pivot(t, r, c, up ? t->lo[i] : t->hi[i])) return SETTP_MAP_PROOF_UNKNOWN;
  }
  return SETTP_MAP_PROOF_UNKNOWN;
}

/* Compute the values of the substituted columns from those of the other columns, last substitution first. Return 0 if a number overflows. */
SETT_INLINE int settp_map_proof_model(settp_map_proof *p, const settp_map_proof_system *s) {
  int i, j, n = s->monomials;
  for (i = s->steps - 1; i >= 0; --i) {
    const int64_t *st = s->step + (size_t)i * (size_t)n;
    int64_t a = st[0], b = 1, c, d, g;
    for (j = 1; j < n; ++j) {
      if (!st[j] || !p->above[j]) continue;
      g = settp_map_gcd(b, p->below[j]);
      if (settp_map_mul(a, p->below[j] / g, &a) || settp_map_mul(st[j], p->above[j], &c) ||
          settp_map_mul(c, b / g, &c) || settp_map_add(a, c, &a) || settp_map_mul(b, p->below[j] / g, &d))
        return 0;
      g = a ? settp_map_gcd(a, d) : d;
      a /= g;
      b = d / g;
    }
    p->above[s->stepped[i]] = a;
    p->below[s->stepped[i]] = b;
  }
  return 1;
}

SETT_INLINE int settp_map_proof_solve_in(settp_map_proof *p, settp_map_proof_system *s) {
  size_t n = (size_t)p->monomials, most = (size_t)p->rows + n;
  settp_map_proof_tableau t;
  int64_t *memory;
  int place[SETTP_MAP_PROOF_COLUMNS], i, j, code;
  s->monomials = p->monomials;
  s->rows = s->steps = 0;
  s->k = (int64_t *)settp_map_take(p->arena, most * n * sizeof *s->k);
  s->lo = (int64_t *)settp_map_take(p->arena, most * 3 * sizeof *s->lo);
  s->step = (int64_t *)settp_map_take(p->arena, SETTP_MAP_PROOF_STEPS * n * sizeof *s->step);
  if (!s->k || !s->lo || !s->step) return SETTP_MAP_PROOF_UNKNOWN;
  s->hi = s->lo + most;
  s->hash = (uint64_t *)(void *)(s->hi + most);
  for (i = 0; i < p->rows + p->monomials; ++i) {
    int64_t *k = s->k + (size_t)s->rows * n;
    if (i < p->rows) {
      const settp_map_proof_row *x = p->row + i;
      if (x->form->k[0] == INT64_MIN) continue;
      for (j = 1; j < p->monomials; ++j) k[j] = x->form->k[j];
      for (j = 1; j < p->monomials && k[j] != INT64_MIN; ++j) {}
      if (j < p->monomials) continue;
      s->lo[s->rows] = -x->form->k[0];
      s->hi[s->rows] = x->equal ? -x->form->k[0] : INT64_MAX;
    } else {
      sett_map_interval b = p->column[i - p->rows].bound;
      if (i == p->rows || (b.lo == INT64_MIN && b.hi == INT64_MAX)) continue;
      for (j = 1; j < p->monomials; ++j) k[j] = 0;
      k[i - p->rows] = 1;
      s->lo[s->rows] = b.lo;
      s->hi[s->rows] = b.hi;
    }
    k[0] = 1;
    if (!settp_map_proof_settle(s, s->rows)) return SETTP_MAP_PROOF_NONE;
    s->rows += k[0] == 1;
  }
  for (j = 0; j < p->monomials; ++j) s->gone[j] = 0;
  code = settp_map_proof_equations(s);
  if (code != SETTP_MAP_PROOF_MODEL) return code;
  t.n = t.m = 0;
  for (j = 1; j < p->monomials; ++j) {
    place[j] = -1;
    for (i = 0; i < s->rows && place[j] < 0; ++i)
      if (s->k[(size_t)i * n] && s->k[(size_t)i * n + (size_t)j]) place[j] = t.n++;
    p->above[j] = 0;
    p->below[j] = 1;
  }
  most = (size_t)s->rows + (size_t)t.n;
  memory = (int64_t *)settp_map_take(p->arena,
                                     ((size_t)s->rows * (size_t)t.n + (size_t)s->rows + 3 * most) * sizeof *memory);
  t.row = (int *)settp_map_take(p->arena, most * sizeof *t.row);
  if (!memory || !t.row) return SETTP_MAP_PROOF_UNKNOWN;
  t.column = t.row + s->rows;
  t.k = memory;
  t.below = t.k + (size_t)s->rows * (size_t)t.n;
  t.lo = t.below + s->rows;
  t.hi = t.lo + most;
  t.value = t.hi + most;
  for (j = 0; j < t.n; ++j) t.lo[j] = INT64_MIN, t.hi[j] = INT64_MAX, t.column[j] = j;
  for (i = 0; i < s->rows; ++i) {
    const int64_t *k = s->k + (size_t)i * n;
    int terms = 0, at = 0;
    if (!k[0]) continue;
    for (j = 1; j < p->monomials; ++j)
      if (k[j]) ++terms, at = j;
    if (terms == 1) { /* the only coefficient is 1, so the row is a bound of its column */
      if (t.lo[place[at]] < s->lo[i]) t.lo[place[at]] = s->lo[i];
      if (t.hi[place[at]] > s->hi[i]) t.hi[place[at]] = s->hi[i];
      continue;
    }
    for (j = 0; j < t.n; ++j) t.k[(size_t)t.m * (size_t)t.n + (size_t)j] = 0;
    for (j = 1; j < p->monomials; ++j)
      if (k[j]) t.k[(size_t)t.m * (size_t)t.n + (size_t)place[j]] = k[j];
    t.below[t.m] = 1;
    t.row[t.m] = t.n + t.m;
    t.lo[t.n + t.m] = s->lo[i];
    t.hi[t.n + t.m++] = s->hi[i];
  }
  for (j = 0; j < t.n; ++j) { t.value[j] = t.lo[j] > 0 ? t.lo[j] : t.hi[j] < 0 ? t.hi[j] : 0; }
  code = settp_map_proof_simplex(&t);
  if (code != SETTP_MAP_PROOF_MODEL) return code;
  for (j = 1; j < p->monomials; ++j) {
    for (i = 0; place[j] >= 0 && i < t.n; ++i)
      if (t.column[i] == place[j]) p->above[j] = t.value[i];
    for (i = 0; place[j] >= 0 && i < t.m; ++i)
      if (t.row[i] == place[j]) {
        int64_t g;
        if (!settp_map_proof_sum(&t, i, &p->above[j])) return SETTP_MAP_PROOF_UNKNOWN;
        g = p->above[j] ? settp_map_gcd(p->above[j], t.below[i]) : t.below[i];
        p->above[j] /= g;
        p->below[j] = t.below[i] / g;
      }
  }
  return settp_map_proof_model(p, s) ? SETTP_MAP_PROOF_MODEL : SETTP_MAP_PROOF_UNKNOWN;
}

SETT_INLINE int settp_map_proof_solve(settp_map_proof *p) {
  size_t keep = p->arena->top;
  settp_map_proof_system *s = (settp_map_proof_system *)settp_map_take(p->arena, sizeof *s);
  int code = s ? settp_map_proof_solve_in(p, s) : SETTP_MAP_PROOF_UNKNOWN;
  p->arena->top = keep;
  return code;
}

/* ---- cases ---- */

/* Return 1 if the fact is true at the point, 0 if it is false, -1 if the point is outside the domain or the fact has no value there. */
SETT_INLINE int settp_map_proof_fact_at(settp_map_proof *p, const int64_t *point) {
  int error;
  if (!sett_map_evaluator_at(&p->evaluator, point, p->side, &error)) return -1;
  if (p->fact->relation == SETT_MAP_AT_MOST) return p->side[0] <= p->side[1];
  if (p->fact->relation == SETT_MAP_SAME) return p->side[0] == p->side[1];
  return p->side[0] ? settp_map_mod(p->side[1], p->side[0]) == 0 : p->side[1] == 0;
}

/* Round the solution down to a point. Return 1 if the fact is false there. */
SETT_INLINE int settp_map_proof_try(settp_map_proof *p) {
  int v;
  for (v = 0; v < sett_map_variables(p->map); ++v) {
    const sett_map_variable *x = p->map.variable + v;
    int64_t value = p->variable[v] ? settp_map_floor(p->above[p->variable[v]], p->below[p->variable[v]]) : 0;
    if (p->fixed && p->fixed[v]) continue;
    p->point[v] = value < x->lo ? x->lo : value > x->hi ? x->hi : value;
  }
  p->found = settp_map_proof_fact_at(p, p->point) == 0;
  return p->found;
}

/* Return 1 if the solution satisfies the row. Return 0 if it does not, or if a number overflows. */
SETT_INLINE int settp_map_proof_row_holds(const settp_map_proof *p, const settp_map_proof_row *row) {
  int64_t a, b = 1, c, g;
  int j;
  if (!row->form) return 1;
  a = row->form->k[0];
  for (j = 1; j < p->monomials; ++j) {
    if (!row->form->k[j] || !p->above[j]) continue;
    g = settp_map_gcd(b, p->below[j]);
    if (settp_map_mul(a, p->below[j] / g, &a) || settp_map_mul(row->form->k[j], p->above[j], &c) ||
        settp_map_mul(c, b / g, &c) || settp_map_add(a, c, &a) || settp_map_mul(b, p->below[j] / g, &b))
      return 0;
  }
  return row->equal ? !a : a >= 0;
}

/* Choose two cases that together contain every point. If the solution satisfies neither side of some split, the cases are the two sides. Otherwise they
 * are column <= n and column > n. The column's value in the solution is a fraction, or the column is a factor of a product column whose value is not
 * the product of the factors' values. Return 0 if there is no such split and no such column. */
SETT_INLINE int settp_map_proof_choose(settp_map_proof *p, settp_map_proof_split *way) {
  int i, j, best = 0;
  uint64_t width = 0;
  int64_t at;
  for (i = 0; i < p->splits; ++i) {
    settp_map_proof_split *s = p->split + i;
    if (settp_map_proof_row_holds(p, &s->row[0][0]) && settp_map_proof_row_holds(p, &s->row[0][1])) continue;
    if (settp_map_proof_row_holds(p, &s->row[1][0]) && settp_map_proof_row_holds(p, &s->row[1][1])) continue;
    *way = *s;
    return 1;
  }
  /* otherwise choose an atom whose value is a fraction, preferably one with narrow bounds */
  for (j = 1; j < p->monomials; ++j) {
    uint64_t w = (uint64_t)p->column[j].bound.hi - (uint64_t)p->column[j].bound.lo;
    if (p->below[j] == 1 || p->column[j].factors > 1 || (best && w >= width)) continue;
    best = j;
    width = w;
  }
  for (j = 1; j < p->monomials && !best; ++j)
    if (p->below[j] != 1) best = j;
  at = best ? settp_map_floor(p->above[best], p->below[best]) : 0;
  /* search for a column whose value is not the product of its factors' values */
  for (j = 1; j < p->monomials && !best; ++j) {
    const settp_map_proof_column *c = p->column + j;
    int64_t value = 1;
    for (i = 0; i < c->factors; ++i)
      if (settp_map_mul(value, p->above[c->factor[i]], &value)) return 0;
    if (c->factors == 1 || value == p->above[j]) continue;
    for (i = 0; i < c->factors; ++i) { /* split the factor at 0 if it has both signs */
      int f = c->factor[i];
      if (p->column[f].bound.lo < 0 && p->column[f].bound.hi > 0) best = f, at = p->above[f] > 0 ? 0 : -1, width = 0;
    }
    /* otherwise split the factor with the smallest magnitude, preferably one at its bound */
    for (i = 0; i < c->factors && (width || !best); ++i) {
      int f = c->factor[i], end = p->above[f] == p->column[f].bound.lo || p->above[f] == p->column[f].bound.hi;
      uint64_t w = settp_map_magnitude(p->above[f]) * 2 + (end ? 0 : UINT64_C(1) << 63);
      if ((best && w >= width) || p->column[f].bound.lo == p->column[f].bound.hi) continue;
      best = f;
      width = w;
      at = p->above[f] - (p->above[f] == p->column[f].bound.hi);
    }
  }
  if (!best || at == INT64_MIN || at == INT64_MAX) return 0;
  for (i = 0; i < 2; ++i) { /* the case column > n comes first if the column has no upper bound */
    int up = i != (p->column[best].bound.hi == INT64_MAX);
    way->row[i][0].form = up ? settp_map_proof_single(p, best, 1, -at - 1) : settp_map_proof_single(p, best, -1, at);
    way->row[i][0].equal = way->row[i][1].equal = 0;
    way->row[i][1].form = NULL;
    if (!way->row[i][0].form) return 0;
  }
  return 1;
}

/* Return 1 if no point satisfies all rows. Return 0 if that is not decided, or if a counterexample was found (p->found). */
SETT_INLINE int settp_map_proof_refute(settp_map_proof *p, int nest) {
  size_t keep = p->arena->top;
  settp_map_proof_split way;
  sett_map_interval *bound = (sett_map_interval *)settp_map_take(p->arena, (size_t)p->monomials * sizeof *bound);
  int rows = p->rows, i, j, code, refuted;
  if (p->empty) return 1;
  if (!bound || p->cases++ >= p->most) {
    p->ended = 1;
    return 0;
  }
  for (j = 0; j < p->monomials; ++j) bound[j] = p->column[j].bound;
  code = settp_map_proof_tighten(p) ? settp_map_proof_solve(p) : SETTP_MAP_PROOF_NONE;
  refuted = code == SETTP_MAP_PROOF_NONE;
  if (code == SETTP_MAP_PROOF_MODEL && (p->quiet || !settp_map_proof_try(p)) && nest < SETTP_MAP_PROOF_NEST &&
      settp_map_proof_choose(p, &way)) {
    for (i = 0, refuted = 1; i < 2 && refuted && !p->found; ++i) {
      size_t top = p->arena->top;
      for (j = 0; j < 2; ++j) settp_map_proof_row_add(p, way.row[i][j].form, way.row[i][j].equal);
      settp_map_proof_row_products(p, rows);
      refuted = settp_map_proof_refute(p, nest + 1);
      p->rows = rows;
      p->empty = 0;
      p->arena->top = top;
    }
  }
  for (j = 0; j < p->monomials; ++j) p->column[j].bound = bound[j];
  p->arena->top = keep;
  return refuted && !p->found;
}

/* Return 1 if a few cases are enough to prove that no point that satisfies the rows so far has form >= 0 (or, if `equal` is 1, form = 0). */
SETT_INLINE int settp_map_proof_never(settp_map_proof *p, const settp_map_proof_form *form, int equal) {
  int rows = p->rows, cases = p->cases, most = p->most, ended = p->ended, quiet = p->quiet, empty = p->empty, never;
  size_t keep = p->arena->top;
  if (!form || empty) return empty;
  p->cases = 0;
  p->most = SETTP_MAP_PROOF_FEW_CASES;
  p->quiet = 1;
  settp_map_proof_row_add(p, form, equal);
  settp_map_proof_row_ends(p);
  settp_map_proof_row_products(p, 0);
  never = p->empty || settp_map_proof_refute(p, 0);
  p->arena->top = keep;
  p->rows = rows;
  p->cases = cases;
  p->most = most;
  p->ended = ended;
  p->quiet = quiet;
  p->empty = empty;
  return never;
}

/* ---- expressions ---- */

SETT_INLINE void settp_map_proof_split_add(settp_map_proof *p, const settp_map_proof_form *a,
                                           const settp_map_proof_form *b, const settp_map_proof_form *c,
                                           const settp_map_proof_form *d) {
  settp_map_proof_split *s = p->split + p->splits;
  int i;
  if (p->splits == SETTP_MAP_PROOF_SPLITS || !a || !c) return;
  s->row[0][0].form = a;
  s->row[0][1].form = b;
  s->row[1][0].form = c;
  s->row[1][1].form = d;
  for (i = 0; i < 4; ++i) s->row[i >> 1][i & 1].equal = 0;
  ++p->splits;
}

/* Return the leading column of a form, by which other forms are divided. It has the most factors; of several such columns, it is the one whose factors
 * have the greatest numbers. Return 0 for a constant. */
SETT_INLINE int settp_map_proof_leading(const settp_map_proof *p, const settp_map_proof_form *f) {
  int j, i, best = 0;
  for (j = 1; j < p->monomials; ++j) {
    const settp_map_proof_column *a = p->column + j, *b = p->column + best;
    if (!f->k[j]) continue;
    if (best && a->factors < b->factors) continue;
    for (i = 0; best && a->factors == b->factors && i < a->factors && a->factor[i] == b->factor[i]; ++i) {}
    if (!best || a->factors > b->factors || a->factor[i] > b->factor[i]) best = j;
  }
  return best;
}

/* Return the column whose product with column b is column a, or -1. If a = b it is column 0, the constant 1. */
SETT_INLINE int settp_map_proof_over(settp_map_proof *p, int a, int b) {
  settp_map_proof_column x = p->column[a];
  const settp_map_proof_column *y = p->column + b;
  int i, j, k;
  for (i = j = k = 0; i < x.factors; ++i)
    if (j < y->factors && x.factor[i] == y->factor[j]) ++j;
    else x.factor[k++] = x.factor[i];
  if (j < y->factors) return -1;
  for (i = k = 0; i < x.factors - j && k >= 0; ++i) k = settp_map_proof_column_times(p, k, x.factor[i], 1);
  return k;
}

/* Divide *upper by lower: divide the columns of *upper, one after another, by the leading column of lower. Return the quotient, and set *upper to the
 * remainder. */
SETT_INLINE const settp_map_proof_form *settp_map_proof_divide(settp_map_proof *p, const settp_map_proof_form **upper,
                                                               const settp_map_proof_form *lower) {
  settp_map_proof_form *quotient = settp_map_proof_form_new(p);
  int lead = settp_map_proof_leading(p, lower), rounds, j;
  unsigned char kept[SETTP_MAP_PROOF_COLUMNS];
  for (j = 0; j < SETTP_MAP_PROOF_COLUMNS; ++j) kept[j] = 0;
  for (rounds = 0; quotient && rounds < 32; ++rounds) {
    const settp_map_proof_form *rest;
    int over = -1;
    int64_t k = 0;
    for (j = p->monomials - 1; j > 0; --j) {
      if (!(*upper)->k[j] || kept[j]) continue;
      k = (*upper)->k[j];
      if (k == INT64_MIN) return NULL;
      k /= lower->k[lead];
      over = k ? settp_map_proof_over(p, j, lead) : -1;
      if (over >= 0) break;
      kept[j] = 1;
    }
    if (over < 0) break;
    rest = settp_map_proof_times(p, settp_map_proof_single(p, over, k, 0), lower, 1);
    rest = rest ? settp_map_proof_mix(p, *upper, 1, rest, -1, 0) : NULL;
    kept[j] = 1;
    if (!rest || settp_map_add(quotient->k[over], k, &quotient->k[over])) break;
    *upper = rest;
  }
  return quotient;
}

SETT_INLINE int settp_map_proof_atom_find(const settp_map_proof *p, int kind, int64_t of,
                                          const settp_map_proof_form *upper, const settp_map_proof_form *lower) {
  int j;
  for (j = 1; j < p->monomials; ++j) {
    const settp_map_proof_column *c = p->column + j;
    if (c->factors != 1 || c->kind != kind || c->of != of) continue;
    if (upper && !settp_map_proof_form_same(p, c->upper, upper)) continue;
    if (lower && !settp_map_proof_form_same(p, c->lower, lower)) continue;
    return j;
  }
  return 0;
}

/* Return floor(upper / c) for a positive number c. */
SETT_INLINE const settp_map_proof_form *settp_map_proof_quotient_by(settp_map_proof *p,
                                                                    const settp_map_proof_form *upper, int64_t c) {
  settp_map_proof_form *whole = settp_map_proof_form_new(p), *rest = settp_map_proof_form_new(p);
  const settp_map_proof_form *lower, *q;
  sett_map_interval r;
  int64_t g = c;
  int j;
  if (!upper || !whole || !rest) return NULL;
  for (j = 0; j < p->monomials; ++j) {
    whole->k[j] = settp_map_floor(upper->k[j], c);
    rest->k[j] = settp_map_mod(upper->k[j], c);
    if (j && rest->k[j] > c / 2) rest->k[j] -= c, ++whole->k[j];
    if (j && rest->k[j]) g = settp_map_gcd(g, rest->k[j]);
  }
  for (j = 0; j < p->monomials && g > 1; ++j) rest->k[j] = settp_map_floor(rest->k[j], g);
  c /= g;
  r = settp_map_proof_form_interval(p, rest);
  if (r.lo != INT64_MIN && r.hi != INT64_MAX && settp_map_floor(r.lo, c) == settp_map_floor(r.hi, c))
    return settp_map_proof_mix(p, whole, 1, NULL, 0, settp_map_floor(r.lo, c));
  lower = settp_map_proof_single(p, 0, 0, c);
  if (!lower) return NULL;
  j = settp_map_proof_atom_find(p, SETTP_MAP_PROOF_QUOTIENT, 0, rest, lower);
  if (!j) {
    r = settp_map_interval(settp_map_sat_floor(r.lo, c), settp_map_sat_floor(r.hi, c));
    j = settp_map_proof_column_new(p, SETTP_MAP_PROOF_QUOTIENT, 0, r);
    if (!j) return NULL;
    p->column[j].upper = rest;
    p->column[j].lower = lower;
    q = settp_map_proof_single(p, j, 1, 0);
    if (!q) return NULL;
    settp_map_proof_row_add(p, settp_map_proof_mix(p, rest, 1, q, -c, 0), 0);
    settp_map_proof_row_add(p, settp_map_proof_mix(p, q, c, rest, -1, c - 1), 0);
  }
  whole->k[j] += 1;
  return whole;
}

SETT_INLINE const settp_map_proof_form *settp_map_proof_quotient(settp_map_proof *p, const settp_map_proof_form *upper,
                                                                 const settp_map_proof_form *lower) {
  const settp_map_proof_form *whole, *q, *rest, *over;
  sett_map_interval r;
  int j, sign;
  if (!upper || !lower) return NULL;
  if (settp_map_proof_form_constant(p, lower)) {
    if (!lower->k[0] || lower->k[0] == INT64_MIN) return NULL;
    return lower->k[0] > 0
               ? settp_map_proof_quotient_by(p, upper, lower->k[0])
               : settp_map_proof_quotient_by(p, settp_map_proof_mix(p, upper, -1, NULL, 0, 0), -lower->k[0]);
  }
  r = settp_map_proof_form_interval(p, lower);
  sign = r.lo > 0 ? 1 : r.hi < 0 ? -1 : 0;
  if (!sign && settp_map_proof_never(p, settp_map_proof_mix(p, lower, -1, NULL, 0, 0), 0)) sign = 1;
  if (!sign && settp_map_proof_never(p, lower, 0)) sign = -1;
  if (!sign) { /* the sign of `lower` is not known; the quotient has no value where `lower` is 0 */
    if (p->strict && !settp_map_proof_never(p, lower, 1)) p->zero = 1;
    settp_map_proof_split_add(p, settp_map_proof_mix(p, lower, 1, NULL, 0, -1), NULL,
                              settp_map_proof_mix(p, lower, -1, NULL, 0, -1), NULL);
  }
  if (sign < 0) {
    upper = settp_map_proof_mix(p, upper, -1, NULL, 0, 0);
    lower = settp_map_proof_mix(p, lower, -1, NULL, 0, 0);
    if (!upper || !lower) return NULL;
  }
  whole = settp_map_proof_divide(p, &upper, lower);
  if (!whole) return NULL;
  for (j = 0; j < p->monomials && !upper->k[j]; ++j) {}
  if (j == p->monomials) return whole;
  j = settp_map_proof_atom_find(p, SETTP_MAP_PROOF_QUOTIENT, 0, upper, lower);
  if (!j) {
    r = settp_map_interval_op(SETTP_MAP_FLOORDIV, settp_map_proof_form_interval(p, upper),
                              settp_map_proof_form_interval(p, lower));
    if (sign) { /* `lower` is at least 1, so the quotient has the sign of `upper`, and its magnitude is not larger */
      sett_map_interval u = settp_map_proof_form_interval(p, upper);
      r = settp_map_interval_meet(r, settp_map_interval(u.lo < 0 ? u.lo : 0, u.hi < 0 ? -1 : u.hi));
    }
    j = settp_map_proof_column_new(p, SETTP_MAP_PROOF_QUOTIENT, 0, r);
    if (!j) return NULL;
    p->column[j].upper = upper;
    p->column[j].lower = lower;
    q = settp_map_proof_single(p, j, 1, 0);
    rest = q ? settp_map_proof_times(p, lower, q, 1) : NULL;
    rest = rest ? settp_map_proof_mix(p, upper, 1, rest, -1, 0) : NULL;
    over = rest ? settp_map_proof_mix(p, lower, 1, rest, -1, -1) : NULL;
    if (sign) {
      settp_map_proof_row_add(p, rest, 0);
      settp_map_proof_row_add(p, over, 0);
    } else if (over) {
      settp_map_proof_split_add(p, rest, over, settp_map_proof_mix(p, rest, -1, NULL, 0, 0),
                                settp_map_proof_mix(p, rest, 1, lower, -1, -1));
    }
  }
  q = settp_map_proof_single(p, j, 1, 0);
  return q ? settp_map_proof_mix(p, whole, 1, q, 1, 0) : NULL;
}

/* Return the form of min(0, form). */
SETT_INLINE const settp_map_proof_form *settp_map_proof_least(settp_map_proof *p, const settp_map_proof_form *form) {
  settp_map_proof_form *f;
  const settp_map_proof_form *least;
  sett_map_interval r;
  int64_t g = 0;
  int j, first = 0;
  if (!form) return NULL;
  r = settp_map_proof_form_interval(p, form);
  if (r.hi <= 0) return form;
  if (r.lo >= 0) return settp_map_proof_form_new(p);
  for (j = p->monomials - 1; j >= 0; --j)
    if (form->k[j]) {
      g = settp_map_gcd(g, form->k[j]);
      if (j) first = j;
    }
  if (form->k[first] < 0) { /* min(0, f) = f + min(0, -f) */
    least = settp_map_proof_least(p, settp_map_proof_mix(p, form, -1, NULL, 0, 0));
    return least ? settp_map_proof_mix(p, form, 1, least, 1, 0) : NULL;
  }
  f = settp_map_proof_form_new(p);
  for (j = 0; f && j < p->monomials; ++j) f->k[j] = form->k[j] / g;
  if (!f) return NULL;
  r = settp_map_proof_form_interval(p, f);
  j = settp_map_proof_atom_find(p, SETTP_MAP_PROOF_LEAST, 0, f, NULL);
  if (!j) {
    j = settp_map_proof_column_new(p, SETTP_MAP_PROOF_LEAST, 0, settp_map_interval(r.lo, 0));
    least = j ? settp_map_proof_single(p, j, 1, 0) : NULL;
    if (!least) return NULL;
    p->column[j].upper = f;
    settp_map_proof_row_add(p, settp_map_proof_mix(p, f, 1, least, -1, 0), 0);
    settp_map_proof_split_add(p, least, NULL, settp_map_proof_mix(p, least, 1, f, -1, 0), NULL);
  }
  return settp_map_proof_single(p, j, g, 0);
}

SETT_INLINE const settp_map_proof_form *settp_map_proof_form_var(settp_map_proof *p, int v) {
  const sett_map_variable *x = p->map.variable + v;
  if (p->fixed && p->fixed[v]) return settp_map_proof_single(p, 0, 0, p->point[v]);
  if (x->lo == x->hi) return settp_map_proof_single(p, 0, 0, x->lo);
  if (!p->variable[v])
    p->variable[v] = settp_map_proof_column_new(p, SETTP_MAP_PROOF_VARIABLE, v, settp_map_interval(x->lo, x->hi));
  return p->variable[v] ? settp_map_proof_single(p, p->variable[v], 1, 0) : NULL;
}

SETT_INLINE const settp_map_proof_form *
settp_map_proof_form_op(settp_map_proof *p, sett_expr e, const settp_map_proof_form *a, const settp_map_proof_form *b) {
  int op = (int)settp_map_at(p->arena, e)->op, j;
  const settp_map_proof_form *f = NULL;
  if (!a || !b) return NULL;
  switch (op) {
    case SETTP_MAP_ADD: return settp_map_proof_mix(p, a, 1, b, 1, 0);
    case SETTP_MAP_MUL: f = settp_map_proof_times(p, a, b, 1); break;
    case SETTP_MAP_FLOORDIV: f = settp_map_proof_quotient(p, a, b); break;
    case SETTP_MAP_CEILDIV:
      f = settp_map_proof_quotient(p, settp_map_proof_mix(p, a, -1, NULL, 0, 0), b);
      f = f ? settp_map_proof_mix(p, f, -1, NULL, 0, 0) : NULL;
      break;
    case SETTP_MAP_MOD:
      f = settp_map_proof_times(p, settp_map_proof_quotient(p, a, b), b, 1);
      f = f ? settp_map_proof_mix(p, a, 1, f, -1, 0) : NULL;
      break;
    case SETTP_MAP_MIN: /* min(a, b) = a + min(0, b - a) */
    case SETTP_MAP_MAX: /* max(a, b) = b - min(0, b - a) */
      f = settp_map_proof_least(p, settp_map_proof_mix(p, b, 1, a, -1, 0));
      f = f ? settp_map_proof_mix(p, op == SETTP_MAP_MIN ? a : b, 1, f, op == SETTP_MAP_MIN ? 1 : -1, 0) : NULL;
      break;
    default: break;
  }
  if (f) return f;
  if (op > SETTP_MAP_MUL && op < SETTP_MAP_MIN && p->strict && !(settp_map_proof_form_constant(p, b) && b->k[0]))
    p->zero = 1;
  j = settp_map_proof_atom_find(p, SETTP_MAP_PROOF_OTHER, (int64_t)e, NULL, NULL);
  if (!j)
    j = settp_map_proof_column_new(
        p, SETTP_MAP_PROOF_OTHER, (int64_t)e,
        settp_map_interval_op(op, settp_map_proof_form_interval(p, a), settp_map_proof_form_interval(p, b)));
  return j ? settp_map_proof_single(p, j, 1, 0) : NULL;
}

/* Return the form of an expression, or NULL if it has none. `list` contains the subexpressions of e. Operands come first, so each form is made from
 * earlier forms. */
SETT_INLINE const settp_map_proof_form *settp_map_proof_form_of(settp_map_proof *p, sett_expr e) {
  settp_map_list list;
  const settp_map_proof_form **form;
  uint32_t i;
  if (settp_map_list_of(p->arena, &list, &e, 1)) return NULL;
  form = (const settp_map_proof_form **)settp_map_take(p->arena, (size_t)list.count * sizeof *form);
  for (i = 0; form && i < list.count; ++i) {
    const settp_map_node *n = settp_map_at(p->arena, list.handle[i]);
    if (n->op == SETTP_MAP_CONST) form[i] = settp_map_proof_single(p, 0, 0, n->value);
    else if (n->op == SETTP_MAP_VAR)
      form[i] = p->instead[n->value] ? p->instead[n->value] : settp_map_proof_form_var(p, (int)n->value);
    else
      form[i] = settp_map_proof_form_op(p, list.handle[i], form[settp_map_at(p->arena, settp_map_a(n))->mark],
                                        form[settp_map_at(p->arena, settp_map_b(n))->mark]);
  }
  return form ? form[list.count - 1] : NULL;
}

/* ---- questions ---- */

/* Add the rows of lo <= form <= hi. If lo = hi, the equation also gives one variable as a form of the others. */
SETT_INLINE void settp_map_proof_know(settp_map_proof *p, const sett_map_constraint *c) {
  const settp_map_proof_form *f = settp_map_proof_form_of(p, c->expr), *row;
  int v, i, j;
  if (!f) return;
  if (c->lo > -INT64_MAX && c->lo != c->hi)
    settp_map_proof_row_add(p, settp_map_proof_mix(p, f, 1, NULL, 0, -c->lo), 0);
  if (c->hi != INT64_MAX && c->lo != c->hi)
    settp_map_proof_row_add(p, settp_map_proof_mix(p, f, -1, NULL, 0, c->hi), 0);
  if (c->lo != c->hi || c->lo == INT64_MIN || c->lo == INT64_MAX) return;
  row = settp_map_proof_mix(p, f, 1, NULL, 0, -c->lo);
  if (!row) return;
  settp_map_proof_row_add(p, row, 1);
  for (v = 0; v < sett_map_variables(p->map); ++v) {
    int column = p->variable[v], alone = 1;
    if (!column || p->instead[v] || (row->k[column] != 1 && row->k[column] != -1)) continue;
    for (j = 1; j < p->monomials; ++j)
      for (i = 0; i < p->column[j].factors && row->k[j] && j != column; ++i) alone &= p->column[j].factor[i] != column;
    if (!alone) continue;
    /* The equation is `row` = 0, and the coefficient k of the variable in `row` is 1 or -1. So the variable equals (variable - k * row), in which it
     * cancels: a form of the other variables is left. `own` is the variable itself as a form. */
    {
      const settp_map_proof_form *own = settp_map_proof_single(p, column, 1, 0);
      p->instead[v] = own ? settp_map_proof_mix(p, row, -row->k[column], own, 1, 0) : NULL;
    }
    return;
  }
}

/* Return in which of four passes a constraint is added. Constraints whose divisors are all constants come before the others, because a divisor that
 * is not constant needs a proof of its sign. Within both groups, equations come first. */
SETT_INLINE int settp_map_proof_turn(settp_map_proof *p, const sett_map_constraint *c) {
  size_t keep = p->arena->top;
  settp_map_list list;
  int turn = c->lo != c->hi;
  uint32_t i;
  int64_t k;
  if (!settp_map_list_of(p->arena, &list, &c->expr, 1))
    for (i = 0; i < list.count; ++i) {
      const settp_map_node *n = settp_map_at(p->arena, list.handle[i]);
      if (n->op > SETTP_MAP_MUL && n->op < SETTP_MAP_MIN && !settp_map_is_constant(p->arena, settp_map_b(n), &k))
        turn |= 2;
    }
  p->arena->top = keep;
  return turn;
}

/* Return 1 if `form` is a multiple of c for all residues of its atoms. Return 0 if it is not, if c > 1024, or if there are more than 4096
 * combinations of residues. */
SETT_INLINE int settp_map_proof_divides(const settp_map_proof *p, const settp_map_proof_form *form, int64_t c) {
  int atom[SETTP_MAP_PROOF_COLUMNS], i, j, n = 0;
  int64_t residue[SETTP_MAP_PROOF_COLUMNS], cases = 1;
  for (j = 1; j < p->monomials; ++j) residue[j] = -1;
  for (j = 1; j < p->monomials; ++j)
    for (i = 0; i < p->column[j].factors && settp_map_mod(form->k[j], c); ++i) {
      int f = p->column[j].factor[i];
      if (residue[f] == 0) continue;
      residue[f] = 0;
      atom[n++] = f;
      if (c > 1024 || (cases *= c) > 4096) return 0;
    }
  for (; cases > 0; --cases) {
    int64_t sum = settp_map_mod(form->k[0], c);
    for (j = 1; j < p->monomials; ++j) {
      /* the products below do not overflow, because c <= 1024 if a column has factors */
      int64_t product = settp_map_mod(form->k[j], c);
      for (i = 0; i < p->column[j].factors && product; ++i) product = product * residue[p->column[j].factor[i]] % c;
      sum = (sum + product) % c;
    }
    if (sum) return 0;
    for (i = 0; i < n && ++residue[atom[i]] == c; ++i) residue[atom[i]] = 0;
  }
  return 1;
}

/* If at most 8 atoms are factors of products, make columns for all products of two of them, because a proof may need them. Return 0 if no column
 * was added. */
SETT_INLINE int settp_map_proof_widen(settp_map_proof *p) {
  int atom[SETTP_MAP_PROOF_COLUMNS], use[SETTP_MAP_PROOF_COLUMNS], i, j, n = 0, before = p->monomials;
  for (j = 0; j < before; ++j) use[j] = 0;
  for (j = 1; j < before; ++j)
    for (i = 0; i < p->column[j].factors && p->column[j].factors > 1; ++i) use[p->column[j].factor[i]] = 1;
  for (j = 1; j < before; ++j)
    if (use[j]) atom[n++] = j;
  for (i = 0; i < n && n <= 8; ++i)
    for (j = 0; j <= i; ++j) (void)settp_map_proof_column_times(p, atom[i], atom[j], 1);
  return p->monomials > before;
}

/* Return 1 if the fact is proved. If p->found is 1, the fact is false at p->point. */
SETT_INLINE int settp_map_proof_ask(settp_map_proof *p) {
  const settp_map_proof_form *a, *b, *goal[2], *rest;
  int v, i, j, rows, refuted = 1;
  p->monomials = 1;
  p->column[0].factors = 0;
  p->column[0].bound = settp_map_interval(1, 1);
  p->rows = p->splits = p->quiet = p->ended = p->zero = p->strict = p->empty = p->found = 0;
  for (i = 0; i < SETTP_MAP_PROOF_COLUMNS; ++i)
    for (j = 0; j < SETTP_MAP_PROOF_COLUMNS; ++j) p->times[i][j] = 0;
  for (v = 0; v < sett_map_variables(p->map); ++v) {
    p->variable[v] = 0;
    p->instead[v] = NULL;
  }
  for (i = 0; i < 4 && !p->empty; ++i) {
    for (j = 0; j < p->map.constraints; ++j)
      if (settp_map_proof_turn(p, p->map.constraint + j) == i) settp_map_proof_know(p, p->map.constraint + j);
    p->empty |= !settp_map_proof_tighten(p);
  }
  if (p->empty || !settp_map_proof_tighten(p)) return 1;
  p->strict = 1;
  a = settp_map_proof_form_of(p, p->map.result[0]);
  b = settp_map_proof_form_of(p, p->map.result[1]);
  if (!a || !b) return 0;
  goal[1] = NULL;
  if (p->fact->relation == SETT_MAP_AT_MOST) {
    goal[0] = settp_map_proof_mix(p, a, 1, b, -1, -1);
  } else if (p->fact->relation == SETT_MAP_DIVIDES && !(settp_map_proof_form_constant(p, a) && !a->k[0])) {
    rest = b;
    if (settp_map_proof_form_constant(p, a)) {
      if (a->k[0] != INT64_MIN && settp_map_proof_divides(p, b, a->k[0] < 0 ? -a->k[0] : a->k[0])) return !p->zero;
    } else if (settp_map_proof_divide(p, &rest, a)) {
      for (j = 0; j < p->monomials && !rest->k[j]; ++j) {}
      if (j == p->monomials) return !p->zero;
    }
    rest = settp_map_proof_times(p, settp_map_proof_quotient(p, b, a), a, 1);
    rest = rest ? settp_map_proof_mix(p, b, 1, rest, -1, 0) : NULL;
    if (!rest) return 0;
    goal[0] = settp_map_proof_mix(p, rest, 1, NULL, 0, -1);
    goal[1] = settp_map_proof_mix(p, rest, -1, NULL, 0, -1);
    if (!goal[1]) return 0;
  } else {
    goal[0] = settp_map_proof_mix(p, a, 1, b, -1, -1);
    goal[1] = settp_map_proof_mix(p, b, 1, a, -1, -1);
    if (!goal[1]) return 0;
  }
  if (!goal[0]) return 0;
  rows = p->rows;
  for (i = 0; i < 2 && goal[i] && !p->found; ++i) {
    for (j = 0; j < 2; ++j) { /* try again if there are products of rows to add */
      int done;
      p->cases = 0;
      p->most = p->fixed ? SETTP_MAP_PROOF_FEW_CASES : SETTP_MAP_PROOF_CASES;
      p->rows = rows;
      settp_map_proof_row_add(p, goal[i], 0);
      settp_map_proof_row_ends(p);
      settp_map_proof_row_products(p, 0);
      done = settp_map_proof_refute(p, 0);
      p->empty = 0;
      if (done || p->found || p->fixed || j || !settp_map_proof_widen(p)) {
        refuted &= done;
        break;
      }
    }
  }
  return refuted && !p->zero;
}

/* Choose values for trial n: fix each variable that `heavy` marks (a factor of products) at a small value or near one of its bounds. In most
 * trials one of these variables stays free. Return the number of marked variables. */
SETT_INLINE int settp_map_proof_fix(settp_map_proof *p, unsigned char *fixed, const unsigned char *heavy, int n) {
  static const int64_t drawn[] = {1, 2, 3, 8, 4, 0, 16, -1, 5, 7, 64, 100, -2, 9, 6, 32};
  int v, i = 0, count = 0, most = sett_map_variables(p->map);
  for (v = 0; v < most; ++v) count += heavy[v];
  for (v = 0; v < most; ++v) {
    const sett_map_variable *x = p->map.variable + v;
    uint32_t pick = settp_map_hash((uint64_t)n, (uint64_t)v);
    int64_t value = n < 6 ? drawn[n] : drawn[pick % 16];
    fixed[v] = 0;
    if (!heavy[v] || (i++ == n % (count + 1) && count > 1)) continue;
    fixed[v] = 1;
    if (n >= 6 && pick >> 28 == 0 && x->hi != INT64_MAX) value = x->hi - (int64_t)(pick >> 27 & 1);
    if (n >= 6 && pick >> 28 == 1 && x->lo != INT64_MIN) value = x->lo + (int64_t)(pick >> 27 & 1);
    p->point[v] = value < x->lo ? x->lo : value > x->hi ? x->hi : value;
  }
  return count;
}

/* Mark the variables that are factors of products, or that occur in such factors. */
SETT_INLINE void settp_map_proof_heavy(const settp_map_proof *p, unsigned char *heavy) {
  unsigned char used[SETTP_MAP_PROOF_COLUMNS];
  int v, i, j;
  for (v = 0; v < sett_map_variables(p->map); ++v) heavy[v] = 0;
  for (j = 0; j < p->monomials; ++j) used[j] = 0;
  for (j = p->monomials - 1; j > 0; --j) {
    const settp_map_proof_column *c = p->column + j;
    if (c->factors > 1) {
      for (i = 0; i < c->factors; ++i) used[c->factor[i]] = 1;
    } else if (used[j] && c->kind == SETTP_MAP_PROOF_VARIABLE) {
      heavy[c->of] = 1;
    } else if (used[j]) {
      for (i = 0; i < j; ++i) used[i] |= (c->upper && c->upper->k[i]) || (c->lower && c->lower->k[i]);
    }
  }
}

/* Test all points of a small box. Return 1 if the fact is true at each of them, otherwise 0; p->found is 1 if it is false at p->point. */
SETT_INLINE int settp_map_proof_all(settp_map_proof *p) {
  int64_t points = 1, extent;
  int v, n = sett_map_variables(p->map), yes = 1, error;
  for (v = 0; v < n; ++v) {
    const sett_map_variable *x = p->map.variable + v;
    if (settp_map_add(x->hi, settp_map_neg(x->lo), &extent) || extent >= SETT_MAP_POINTS_MAX ||
        (points *= extent + 1) > SETT_MAP_POINTS_MAX)
      return 0;
    p->point[v] = x->lo;
  }
  do {
    if (!sett_map_evaluator_at(&p->evaluator, p->point, p->side, &error)) yes &= !error;
    else if (!settp_map_proof_fact_at(p, p->point)) return p->found = 1, 0;
  } while (settp_map_next_point(&p->map, p->point));
  return yes;
}

/* Return 1 if the ranges or residues of the simplified sides prove the fact. */
SETT_INLINE int settp_map_proof_simplified(settp_map_proof *p) {
  sett_expr a = p->map.result[0], b = p->map.result[1], rest = sett_map_sub(p->arena, b, a);
  int64_t k = 0;
  if (p->fact->relation != SETT_MAP_DIVIDES) {
    sett_map_interval r =
        rest < SETT_MAP_ERROR_COUNT ? settp_map_interval(INT64_MIN, INT64_MAX) : sett_map_range(p->arena, p->map, rest);
    return r.lo <= r.hi && r.lo >= 0 && (p->fact->relation == SETT_MAP_AT_MOST || r.hi == 0);
  }
  if (!settp_map_is_constant(p->arena, a, &k) || !k || k == INT64_MIN) return 0;
  {
    sett_map_values values = sett_map_congruence(p->arena, p->map, b);
    return values.lo <= values.hi && settp_map_mod(values.modulus, k) == 0 && settp_map_mod(values.residue, k) == 0;
  }
}

SETT_INLINE int settp_map_proof_prove(settp_map_proof *p) {
  enum { SETTP_MAP_PROOF_DRAWS = 32 };
  unsigned char *heavy = (unsigned char *)settp_map_take(p->arena, (size_t)sett_map_variables(p->map) * 2 + 8), *fixed;
  size_t keep = p->arena->top;
  int i, zero, yes = settp_map_proof_ask(p);
  zero = p->zero;
  if (yes || p->found || !heavy) return yes;
  fixed = heavy + sett_map_variables(p->map);
  settp_map_proof_heavy(p, heavy);
  p->arena->top = keep;
  for (i = 0; i < SETTP_MAP_PROOF_DRAWS && settp_map_proof_fix(p, fixed, heavy, i); ++i) {
    p->fixed = fixed;
    (void)settp_map_proof_ask(p);
    p->fixed = NULL;
    p->arena->top = keep;
    if (p->found) return 0;
  }
  p->zero = zero;
  if (!zero && settp_map_proof_simplified(p)) return 1;
  return settp_map_proof_all(p);
}

SETT_PUBLIC sett_map_answer sett_map_proves(sett_map_arena *arena, sett_map map, const sett_map_fact *fact) {
  sett_map_answer answer;
  sett_map_mark mark;
  settp_map_proof *p;
  int64_t *point = (int64_t *)settp_map_take(arena, (size_t)sett_map_variables(map) * sizeof *point + 8);
  size_t n = (size_t)sett_map_variables(map);
  sett_expr sides[2];
  int full = arena->full, v;
  answer.yes = answer.no = 0;
  answer.point = answer.other = answer.missed = NULL;
  answer.reason = sett_map_message(map.kind == SETT_MAP_FAILED ? map.error : SETT_MAP_ERROR_NO_MAP);
  if (map.kind == SETT_MAP_EMPTY) { /* the domain is empty, so the fact is false nowhere */
    answer.yes = 1;
    answer.reason = "";
  }
  if (map.kind != SETT_MAP_DEFINED) return answer;
  sides[0] = fact->a;
  sides[1] = fact->b;
  for (v = 1; v >= 0; --v)
    if (sides[v] < SETT_MAP_ERROR_COUNT) answer.reason = sett_map_message((int)sides[v]);
  if (fact->error) answer.reason = sett_map_message(fact->error);
  if (fact->error || sides[0] < SETT_MAP_ERROR_COUNT || sides[1] < SETT_MAP_ERROR_COUNT) return answer;
  answer.reason = sett_map_message(SETT_MAP_ERROR_FULL);
  if (!point) return answer;
  arena->full = 0;
  mark = sett_map_arena_mark(arena);
  p = (settp_map_proof *)settp_map_take(arena, sizeof *p);
  if (p) {
    p->arena = arena;
    p->map = map;
    p->map.results = 2;
    p->map.result = sides;
    p->fact = fact;
    p->fixed = NULL;
    p->point = point;
    p->variable = (int *)settp_map_take(arena, n * sizeof *p->variable + 8);
    p->instead = (const settp_map_proof_form **)settp_map_take(arena, n * sizeof *p->instead + 8);
    p->side = (int64_t *)settp_map_take(arena, 2 * sizeof *p->side);
    p->evaluator = sett_map_evaluator_make(arena, p->map);
    if (p->variable && p->instead && p->side && !p->evaluator.failed) {
      answer.yes = settp_map_proof_prove(p);
      answer.no = p->found;
      answer.reason = answer.yes  ? ""
                      : answer.no ? "there it is false"
                      : p->zero   ? "a divisor of the fact may be 0"
                      : p->ended  ? "neither a proof nor a point was found within the limits"
                                  : "neither a proof nor a point was found";
      if (answer.no) answer.point = point;
      else if (!answer.yes && arena->full) answer.reason = sett_map_message(SETT_MAP_ERROR_FULL);
    }
  }
  sett_map_arena_rewind(arena, mark);
  arena->full |= full;
  return answer;
}

SETT_PUBLIC sett_map_fact sett_map_fact_parse(sett_map_arena *arena, sett_map map, const char *text, size_t length) {
  sett_map_fact fact;
  settp_map_parser p = settp_map_parser_make(arena, text, length);
  size_t keep = arena->top, at;
  int relation;
  p.map = map;
  fact.relation = SETT_MAP_AT_MOST;
  fact.error = fact.column = 0;
  fact.a = fact.b = 0;
  if (length > (size_t)SETTP_MAP_TEXT_MAX) settp_map_fail(&p, SETT_MAP_ERROR_LONG, 0);
  else if (!settp_map_parser_stacks(&p)) settp_map_fail(&p, SETT_MAP_ERROR_FULL, 0);
  else fact.a = settp_map_expression(&p);
  at = p.at;
  relation = p.error ? 0 : settp_map_relation(&p);
  if (!relation) settp_map_fail(&p, SETT_MAP_ERROR_EXPECTED_RELATION, at);
  else fact.b = settp_map_expression(&p);
  if (!p.error && settp_map_peek(&p)) settp_map_fail(&p, SETT_MAP_ERROR_EXPECTED_OPERATOR, p.at);
  arena->top = keep;
  if (!p.error && p.no_value) settp_map_fail(&p, p.no_value, p.no_value_at);
  if (p.error) {
    fact.error = p.error;
    fact.column = (int)p.error_at + 1;
    return fact;
  }
  if (relation == SETTP_MAP_NOT_BELOW || relation == SETTP_MAP_ABOVE) {
    sett_expr t = fact.a;
    fact.a = fact.b;
    fact.b = t;
  }
  if (relation == SETTP_MAP_BELOW || relation == SETTP_MAP_ABOVE)
    fact.a = sett_map_add(arena, fact.a, sett_map_constant(arena, 1));
  fact.relation = relation == SETTP_MAP_DIVIDES ? SETT_MAP_DIVIDES
                  : relation == SETTP_MAP_IS    ? SETT_MAP_SAME
                                                : SETT_MAP_AT_MOST;
  if (fact.a < SETT_MAP_ERROR_COUNT) fact.error = (int)fact.a;
  return fact;
}
SETTP_MAP_QUICK_END
#ifdef SETTP_MAP_FEWER_PASSES
#pragma pop_macro("SETT_INLINE")
#endif
#endif /* bodies */
