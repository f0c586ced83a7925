/* sett_indexing_analysis.h - v0.1 - the indexing map of an HLO op: which operand elements make an output element

WHAT
  Given an op's dimensions and attributes as plain numbers, the map from an index of the output to the index (or the range
  of indices) of one operand that the element is made from. A kernel generator composes these maps along a graph.

INCLUDE
    #include "sett_indexing_map.h"
    #include "sett_indexing_analysis.h"
  C11 or C++17, freestanding; memory is the caller's arena of sett_indexing_map.h. Every function is static inline.

OPTIONS
  None.

A FIRST LOOK
    #include <stdio.h>
    #include "sett_indexing_map.h"
    #include "sett_indexing_analysis.h"
    static unsigned char memory[1 << 16];
    int main(void) {
      int64_t out[2] = {40, 20}, in[2] = {20, 40}, permutation[2] = {1, 0};
      sett_map_arena arena = sett_map_arena_make(memory, sizeof memory);
      sett_analysis_list operand = {2, in};
      sett_analysis_op op = {.opcode = SETT_ANALYSIS_TRANSPOSE, .operands = 1, .in = &operand, .out = {2, out},
                             .dimensions = {2, permutation}};
      char text[256];
      sett_map_print(&arena, sett_analysis_output_to_operand(&arena, &op), text, sizeof text);
      puts(text);
      return 0;
    }
  prints
    (d0, d1) -> (d1, d0), domain: d0 in [0, 39], d1 in [0, 19]

THE MODEL
  The map's dimensions are the output's, d0 in [0, out0 - 1] and so on. Its results are an index of the operand. A reduced
  dimension is a range variable: one output element reads the operand at each of its values. Where only a part of the
  output reads an operand (pad, concatenate) the domain is that part. An op whose output has no element, or whose operand
  has none that is read, gives KNOWN EMPTY. Maps come as the rules below build them; sett_map_simplify tidies them.

    elementwise   (d0, .., dn) of the operand; a scalar operand (the predicate of select, bounds of clamp) gives ()
    broadcast     operand dimension i is output dimension dimensions[i]
    transpose     output dimension i is operand dimension dimensions[i]
    reshape       row-major numbers agree. Dimensions of one are dropped; then both shapes are cut into the smallest pieces
                  of equal product, and each piece is an identity (1 to 1), a collapse (n to 1: a sum of multiples), an
                  expansion (1 to n: quotients and remainders) or, in general, a collapse followed by an expansion
    bitcast       physical positions agree: a reshape between the lists of dimensions in memory order
    slice         start[i] + stride[i] * d
    reverse       size - 1 - d in the reversed dimensions
    pad           (d - low) floordiv (interior + 1) where that divides and falls in the operand; operand 1, the padding
                  value, gives () everywhere (a covering statement)
    concatenate   d - (sizes of the operands before) in the concatenated dimension
    reduce        kept dimensions in order, reduced ones are ranges s0.. in order
    scalar        () everywhere: the init of a reduction, any scalar operand

    f32[8] reshaped to f32[2,4]    (d0, d1) -> (d0 * 4 + d1), domain: d0 in [0, 1], d1 in [0, 3]
    f32[4,4] padded by low 1,4 high 4,0 interior 1,0 to f32[12,8]
                                   (d0, d1) -> ((d0 - 1) floordiv 2, d1 - 4), domain: d0 in [1, 7], d1 in [4, 7],
                                                                              (d0 - 1) mod 2 in [0, 0]

FUNCTIONS
  sett_analysis_output_to_operand    the map of one operand of an op
  sett_analysis_opcode_find          "transpose" -> SETT_ANALYSIS_TRANSPOSE
  sett_analysis_opcode_name          and back
  sett_analysis_reshape              the indices of a reshape's operand, for any index expressions of its output
  sett_analysis_error_message        what an error means, the map's errors included

LAWS (tests/test_op_maps.py checks them by enumerating small random instances of every op)
  1 reads        the pairs (output index, operand index) of the map are those that loops over the op read.
  2 pieces       a reshape's map is the identity on row-major numbers.

ERRORS
  Dimensions that contradict each other (a transpose whose sizes do not agree, ranks, permutations, ..) give a failed map
  whose error is one of SETT_ANALYSIS_ERROR_...; a full arena or an overflow gives the map's own errors.

LIMITS
  rank 32 for outputs and operands.

HISTORY
  0.1  output to operand of the ops above.
*/
#ifndef SETT_INDEXING_ANALYSIS_H
#define SETT_INDEXING_ANALYSIS_H

#ifndef SETT_INDEXING_MAP_H
#error "include sett_indexing_map.h before sett_indexing_analysis.h"
#endif

/* ---- types ------------------------------------------------------------------------------------------------------ */

enum { SETT_ANALYSIS_MAX_RANK = 32, SETT_ANALYSIS_ERROR_FIRST = 1000 };

#define SETT_ANALYSIS_OPCODES(X)                                                                                     \
  X(NONE, "none")                                                                                                    \
  X(ELEMENTWISE, "elementwise") X(BROADCAST, "broadcast") X(TRANSPOSE, "transpose") X(RESHAPE, "reshape")            \
  X(BITCAST, "bitcast") X(SLICE, "slice") X(REVERSE, "reverse") X(PAD, "pad") X(CONCATENATE, "concatenate")          \
  X(REDUCE, "reduce") X(SCALAR, "scalar")

enum {
#define SETTP_ANALYSIS_ENUM(name, text) SETT_ANALYSIS_##name,
  SETT_ANALYSIS_OPCODES(SETTP_ANALYSIS_ENUM)
#undef SETTP_ANALYSIS_ENUM
  SETT_ANALYSIS_OPCODE_COUNT
};

#define SETT_ANALYSIS_ERRORS(X)                                                                                      \
  X(OPCODE, "expected an op with operands that this build knows")                                                    \
  X(OPERAND, "expected the number of an operand whose dimensions are given")                                         \
  X(RANK, "expected at most 32 dimensions")                                                                          \
  X(DIM, "expected dimensions that are not negative")                                                                \
  X(SIZES, "expected dimensions of output and operand that agree under this op")                                     \
  X(COUNT, "expected as many entries in an attribute as the op has dimensions")                                      \
  X(DIMENSION, "expected dimension numbers of the shape, each at most once")                                         \
  X(ELEMENTS, "expected as many elements in the operand as in the output")                                           \
  X(SLICE, "expected a slice inside the operand: start >= 0, stride > 0, the last element inside")                   \
  X(INTERIOR, "expected interior padding that is not negative")                                                      \
  X(TOO_LARGE, "expected sizes whose products fit in 64 bits")

enum {
  SETTP_ANALYSIS_ERROR_BEFORE = SETT_ANALYSIS_ERROR_FIRST - 1,
#define SETTP_ANALYSIS_ENUM(name, text) SETT_ANALYSIS_ERROR_##name,
  SETT_ANALYSIS_ERRORS(SETTP_ANALYSIS_ENUM)
#undef SETTP_ANALYSIS_ENUM
  SETT_ANALYSIS_ERROR_END
};

typedef struct sett_analysis_list {
  int count;
  const int64_t *values;
} sett_analysis_list;

/* An op in numbers. Lists that an op does not use stay empty; empty stride means ones, empty interior zeros, an empty
   layout row-major. */
typedef struct sett_analysis_op {
  int opcode;
  int operand;                   /* the operand that the map goes to */
  int operands;                  /* length of in */
  const sett_analysis_list *in;  /* dimensions of the operands; concatenate reads all up to its own, others their own */
  sett_analysis_list out;        /* dimensions of the output */
  sett_analysis_list dimensions; /* broadcast, transpose, reverse, reduce; concatenate: its one dimension */
  sett_analysis_list start, stride;       /* slice */
  sett_analysis_list low, high, interior; /* pad; low and high may be negative */
  sett_analysis_list out_layout, in_layout; /* bitcast: minor_to_major */
} sett_analysis_op;

/* ---- prototypes ------------------------------------------------------------------------------------------------- */

/* The map from output indices to indices of op->in[op->operand]. */
SETT_INLINE sett_map sett_analysis_output_to_operand(sett_map_arena *arena, const sett_analysis_op *op);
/* An opcode of that name, or SETT_ANALYSIS_NONE. */
SETT_INLINE int sett_analysis_opcode_find(const char *name);
SETT_INLINE const char *sett_analysis_opcode_name(int opcode);
/* index: one expression a dimension of out, in its bounds; result: one a dimension of in. 0, or an error. */
SETT_INLINE int sett_analysis_reshape(sett_map_arena *arena, sett_analysis_list out, const sett_expr *index,
                                      sett_analysis_list in, sett_expr *result);
SETT_INLINE const char *sett_analysis_error_message(int error);

/* ---- bodies ----------------------------------------------------------------------------------------------------- */

SETT_INLINE const char *sett_analysis_error_message(int error) {
  switch (error) {
#define SETTP_ANALYSIS_CASE(name, text)                                                                              \
  case SETT_ANALYSIS_ERROR_##name: return text;
    SETT_ANALYSIS_ERRORS(SETTP_ANALYSIS_CASE)
#undef SETTP_ANALYSIS_CASE
    default: return sett_map_error_message(error);
  }
}

SETT_INLINE const char *sett_analysis_opcode_name(int opcode) {
  switch (opcode) {
#define SETTP_ANALYSIS_CASE(name, text)                                                                              \
  case SETT_ANALYSIS_##name: return text;
    SETT_ANALYSIS_OPCODES(SETTP_ANALYSIS_CASE)
#undef SETTP_ANALYSIS_CASE
    default: return "none";
  }
}

SETT_INLINE int sett_analysis_opcode_find(const char *name) {
  int opcode;
  for (opcode = SETT_ANALYSIS_NONE + 1; opcode < SETT_ANALYSIS_OPCODE_COUNT; ++opcode) {
    const char *a = name, *b = sett_analysis_opcode_name(opcode);
    while (*a && *a == *b) ++a, ++b;
    if (*a == *b) return opcode;
  }
  return SETT_ANALYSIS_NONE;
}

/* What an op's rule fills in: the map's variables, results and constraints; error as soon as a check fails. */
typedef struct settp_analysis_map {
  sett_map_arena *arena;
  const sett_analysis_op *op;
  sett_analysis_list out, in;
  int error;
  int dims, ranges, results, constraints;
  sett_map_variable variable[2 * SETT_ANALYSIS_MAX_RANK];
  sett_expr result[SETT_ANALYSIS_MAX_RANK];
  sett_map_constraint constraint[SETT_ANALYSIS_MAX_RANK];
} settp_analysis_map;

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

/* a * b for a, b >= 0, or -1 where it does not fit or one is -1 already. */
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

/* 1 when the entries are different numbers in [0, rank). */
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

/* One piece: the count_in indices whose row-major number is that of the count_out indices. No dimension is one. */
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

SETT_INLINE int sett_analysis_reshape(sett_map_arena *arena, sett_analysis_list out, const sett_expr *index,
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
  while (o < outs) { /* then n < ins: products so far are equal and the rest is more than one */
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

SETT_INLINE sett_expr settp_analysis_dim(settp_analysis_map *map, int64_t dim) {
  return sett_map_var(map->arena, (int)dim);
}

SETT_INLINE void settp_analysis_identity(settp_analysis_map *map) {
  int i;
  if (map->in.count == 0) return;
  if (map->in.count != map->out.count) map->error = SETT_ANALYSIS_ERROR_SIZES;
  for (i = 0; i < map->in.count && !map->error; ++i) {
    if (map->in.values[i] != map->out.values[i]) map->error = SETT_ANALYSIS_ERROR_SIZES;
    map->result[i] = settp_analysis_dim(map, i);
  }
}

SETT_INLINE void settp_analysis_broadcast(settp_analysis_map *map) {
  sett_analysis_list to = map->op->dimensions;
  int i;
  if (to.count != map->in.count) map->error = SETT_ANALYSIS_ERROR_COUNT;
  else if (!settp_analysis_distinct(to, map->out.count)) map->error = SETT_ANALYSIS_ERROR_DIMENSION;
  for (i = 0; i < to.count && !map->error; ++i) {
    if (map->in.values[i] != map->out.values[to.values[i]]) map->error = SETT_ANALYSIS_ERROR_SIZES;
    map->result[i] = settp_analysis_dim(map, to.values[i]);
  }
}

SETT_INLINE void settp_analysis_transpose(settp_analysis_map *map) {
  sett_analysis_list from = map->op->dimensions;
  int i;
  if (from.count != map->out.count || from.count != map->in.count) map->error = SETT_ANALYSIS_ERROR_COUNT;
  else if (!settp_analysis_distinct(from, map->in.count)) map->error = SETT_ANALYSIS_ERROR_DIMENSION;
  for (i = 0; i < from.count && !map->error; ++i) {
    if (map->out.values[i] != map->in.values[from.values[i]]) map->error = SETT_ANALYSIS_ERROR_SIZES;
    map->result[from.values[i]] = settp_analysis_dim(map, i);
  }
}

SETT_INLINE void settp_analysis_reshape(settp_analysis_map *map) {
  sett_expr index[SETT_ANALYSIS_MAX_RANK];
  int i;
  for (i = 0; i < map->out.count; ++i) index[i] = settp_analysis_dim(map, i);
  map->error = sett_analysis_reshape(map->arena, map->out, index, map->in, map->result);
}

/* Logical dimension number of the i-th most major one in memory. */
SETT_INLINE int settp_analysis_major(sett_analysis_list layout, int rank, int i) {
  return layout.count ? (int)layout.values[rank - 1 - i] : i;
}

SETT_INLINE void settp_analysis_bitcast(settp_analysis_map *map) {
  sett_analysis_list to = map->op->out_layout, from = map->op->in_layout, out = map->out, in = map->in;
  int64_t out_dim[SETT_ANALYSIS_MAX_RANK] = {0}, in_dim[SETT_ANALYSIS_MAX_RANK] = {0};
  sett_expr index[SETT_ANALYSIS_MAX_RANK] = {0}, result[SETT_ANALYSIS_MAX_RANK];
  int i;
  if ((to.count && to.count != out.count) || (from.count && from.count != in.count))
    map->error = SETT_ANALYSIS_ERROR_COUNT;
  else if (!settp_analysis_distinct(to, out.count) || !settp_analysis_distinct(from, in.count))
    map->error = SETT_ANALYSIS_ERROR_DIMENSION;
  if (map->error) return;
  for (i = 0; i < out.count; ++i) {
    out_dim[i] = out.values[settp_analysis_major(to, out.count, i)];
    index[i] = settp_analysis_dim(map, settp_analysis_major(to, out.count, i));
  }
  for (i = 0; i < in.count; ++i) in_dim[i] = in.values[settp_analysis_major(from, in.count, i)];
  out.values = out_dim;
  in.values = in_dim;
  map->error = sett_analysis_reshape(map->arena, out, index, in, result);
  for (i = 0; i < in.count && !map->error; ++i) map->result[settp_analysis_major(from, in.count, i)] = result[i];
}

SETT_INLINE void settp_analysis_slice(settp_analysis_map *map) {
  sett_analysis_list start = map->op->start, stride = map->op->stride;
  int i, n = map->out.count;
  if (start.count != n || map->in.count != n || (stride.count && stride.count != n))
    map->error = SETT_ANALYSIS_ERROR_COUNT;
  for (i = 0; i < n && !map->error; ++i) {
    int64_t step = stride.count ? stride.values[i] : 1, first = start.values[i], size = map->in.values[i];
    if (step <= 0 || first < 0 || first > size) {
      map->error = SETT_ANALYSIS_ERROR_SLICE;
    } else if (map->out.values[i] > 0 && (first >= size || map->out.values[i] - 1 > (size - 1 - first) / step)) {
      map->error = SETT_ANALYSIS_ERROR_SLICE;
    } else {
      map->result[i] = settp_analysis_plus(
          map->arena, settp_analysis_times(map->arena, settp_analysis_dim(map, i), step), first);
    }
  }
}

SETT_INLINE void settp_analysis_reverse(settp_analysis_map *map) {
  sett_analysis_list dims = map->op->dimensions;
  int i;
  settp_analysis_identity(map);
  if (map->in.count != map->out.count) map->error = SETT_ANALYSIS_ERROR_SIZES;
  if (!settp_analysis_distinct(dims, map->out.count)) map->error = SETT_ANALYSIS_ERROR_DIMENSION;
  for (i = 0; i < dims.count && !map->error; ++i) {
    int64_t d = dims.values[i];
    map->result[d] = sett_map_sub(map->arena, sett_map_constant(map->arena, map->out.values[d] - 1),
                                  settp_analysis_dim(map, d));
  }
}

/* low + (size - 1) * step, the last index that an operand's element takes, kept inside 64 bits; 1 when it fits. */
SETT_INLINE int settp_analysis_pad_last(int64_t low, int64_t size, int64_t step, int64_t *last) {
  int64_t span = settp_analysis_mul(size - 1, step);
  if (span < 0 || (low > 0 && span > INT64_MAX - low)) return 0;
  *last = low + span;
  return 1;
}

/* 1 when no element stands in the variable's bounds: it is cut inside one gap between elements. */
SETT_INLINE int settp_analysis_only_gaps(const sett_map_variable *d, int64_t low, int64_t step) {
  int64_t past = d->lo > d->hi ? 0 : (d->lo - low) % step; /* lo >= low: past the last element before lo */
  return d->lo <= d->hi && past > 0 && step - past > d->hi - d->lo;
}

SETT_INLINE void settp_analysis_pad(settp_analysis_map *map) {
  sett_analysis_list low = map->op->low, high = map->op->high, interior = map->op->interior;
  int i, n = map->out.count;
  if (map->in.count != n || low.count != n || high.count != n || (interior.count && interior.count != n))
    map->error = SETT_ANALYSIS_ERROR_COUNT;
  for (i = 0; i < n && !map->error; ++i) {
    int64_t gap = interior.count ? interior.values[i] : 0, size = map->in.values[i], last = low.values[i] - 1;
    sett_map_variable *d = &map->variable[i];
    sett_expr shifted;
    if (gap < 0) map->error = SETT_ANALYSIS_ERROR_INTERIOR;
    else if (gap == INT64_MAX || low.values[i] <= -(INT64_MAX >> 1) || low.values[i] > INT64_MAX >> 1 ||
             high.values[i] <= -(INT64_MAX >> 1) || high.values[i] > INT64_MAX >> 1)
      map->error = SETT_ANALYSIS_ERROR_TOO_LARGE;
    else if (size > 0 && !settp_analysis_pad_last(low.values[i], size, gap + 1, &last))
      map->error = SETT_ANALYSIS_ERROR_TOO_LARGE;
    if (map->error) return;
    /* the output ends high after the last element */
    if (map->out.values[i] - 1 - high.values[i] != last) {
      map->error = SETT_ANALYSIS_ERROR_SIZES;
      return;
    }
    if (low.values[i] > d->lo) d->lo = low.values[i];
    if (last < d->hi) d->hi = last;
    if (settp_analysis_only_gaps(d, low.values[i], gap + 1)) d->hi = d->lo - 1;
    shifted = settp_analysis_plus(map->arena, settp_analysis_dim(map, i), -low.values[i]);
    map->result[i] = sett_map_floordiv(map->arena, shifted, sett_map_constant(map->arena, gap + 1));
    if (gap > 0 && size > 1) {
      map->constraint[map->constraints].expr =
          sett_map_mod(map->arena, shifted, sett_map_constant(map->arena, gap + 1));
      map->constraint[map->constraints].lo = map->constraint[map->constraints].hi = 0;
      ++map->constraints;
    }
  }
}

SETT_INLINE void settp_analysis_concatenate(settp_analysis_map *map) {
  const sett_analysis_op *op = map->op;
  int64_t d = op->dimensions.count == 1 ? op->dimensions.values[0] : -1, offset = 0;
  int i;
  if (op->dimensions.count != 1) map->error = SETT_ANALYSIS_ERROR_COUNT;
  else if (!settp_analysis_distinct(op->dimensions, map->out.count)) map->error = SETT_ANALYSIS_ERROR_DIMENSION;
  else if (map->in.count != map->out.count) map->error = SETT_ANALYSIS_ERROR_SIZES;
  for (i = 0; i < op->operand && !map->error; ++i) {
    int64_t size = d < op->in[i].count ? op->in[i].values[d] : -1;
    if (op->in[i].count != map->out.count || size < 0) map->error = SETT_ANALYSIS_ERROR_SIZES;
    else if (size > map->out.values[d] - offset) map->error = SETT_ANALYSIS_ERROR_SIZES;
    else offset += size;
  }
  if (!map->error && map->in.values[d] > map->out.values[d] - offset) map->error = SETT_ANALYSIS_ERROR_SIZES;
  for (i = 0; i < map->out.count && !map->error; ++i) {
    map->result[i] = settp_analysis_dim(map, i);
    if (i != d && map->in.values[i] != map->out.values[i]) map->error = SETT_ANALYSIS_ERROR_SIZES;
  }
  if (map->error) return;
  map->result[d] = settp_analysis_plus(map->arena, map->result[d], -offset);
  map->variable[d].lo = offset;
  map->variable[d].hi = offset + map->in.values[d] - 1;
}

SETT_INLINE void settp_analysis_reduce(settp_analysis_map *map) {
  sett_analysis_list dims = map->op->dimensions;
  int i, j, kept = 0;
  if (!settp_analysis_distinct(dims, map->in.count)) map->error = SETT_ANALYSIS_ERROR_DIMENSION;
  else if (map->in.count != map->out.count + dims.count) map->error = SETT_ANALYSIS_ERROR_COUNT;
  for (i = 0; i < map->in.count && !map->error; ++i) {
    int reduced = 0;
    for (j = 0; j < dims.count; ++j) reduced |= dims.values[j] == i;
    if (reduced) {
      sett_map_variable *s = &map->variable[map->dims + map->ranges];
      s->name = NULL;
      s->lo = 0;
      s->hi = map->in.values[i] - 1;
      map->result[i] = settp_analysis_dim(map, map->dims + map->ranges++);
    } else {
      if (map->in.values[i] != map->out.values[kept]) map->error = SETT_ANALYSIS_ERROR_SIZES;
      map->result[i] = settp_analysis_dim(map, kept++);
    }
  }
}

SETT_INLINE sett_map sett_analysis_output_to_operand(sett_map_arena *arena, const sett_analysis_op *op) {
  settp_analysis_map map;
  int i;
  map.arena = arena;
  map.op = op;
  map.out = op->out;
  map.in.count = 0;
  map.in.values = NULL;
  map.error = settp_analysis_dims_error(op->out);
  map.dims = op->out.count;
  map.ranges = map.results = map.constraints = 0;
  if (!map.error && op->operand < 0) map.error = SETT_ANALYSIS_ERROR_OPERAND;
  if (!map.error && op->opcode != SETT_ANALYSIS_SCALAR && !(op->opcode == SETT_ANALYSIS_PAD && op->operand == 1)) {
    if (op->operand >= op->operands) map.error = SETT_ANALYSIS_ERROR_OPERAND;
    else map.in = op->in[op->operand];
  }
  if (!map.error) map.error = settp_analysis_dims_error(map.in);
  if (map.error) return sett_map_fail(map.error, 0);
  for (i = 0; i < map.dims; ++i) {
    map.variable[i].name = NULL;
    map.variable[i].lo = 0;
    map.variable[i].hi = op->out.values[i] - 1;
  }
  switch (op->opcode) {
    case SETT_ANALYSIS_ELEMENTWISE: settp_analysis_identity(&map); break;
    case SETT_ANALYSIS_BROADCAST: settp_analysis_broadcast(&map); break;
    case SETT_ANALYSIS_TRANSPOSE: settp_analysis_transpose(&map); break;
    case SETT_ANALYSIS_RESHAPE: settp_analysis_reshape(&map); break;
    case SETT_ANALYSIS_BITCAST: settp_analysis_bitcast(&map); break;
    case SETT_ANALYSIS_SLICE: settp_analysis_slice(&map); break;
    case SETT_ANALYSIS_REVERSE: settp_analysis_reverse(&map); break;
    case SETT_ANALYSIS_PAD:
      if (op->operand == 0) settp_analysis_pad(&map);
      else if (op->operand > 1) map.error = SETT_ANALYSIS_ERROR_OPERAND;
      break;
    case SETT_ANALYSIS_CONCATENATE: settp_analysis_concatenate(&map); break;
    case SETT_ANALYSIS_REDUCE: settp_analysis_reduce(&map); break;
    case SETT_ANALYSIS_SCALAR: break;
    default: map.error = SETT_ANALYSIS_ERROR_OPCODE; break;
  }
  if (map.error) return sett_map_fail(map.error, 0);
  map.results = map.in.count;
  return sett_map_make(arena, map.dims, map.ranges, 0, map.variable, map.results, map.result, map.constraints,
                       map.constraint);
}

/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#endif
