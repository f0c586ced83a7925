/* sett.h - v0.3 - all sett headers, and what joins them: a layout as an indexing map
   SPDX-License-Identifier: Apache-2.0

WHAT
  Includes every sett header and converts between their types. A tiled layout is a map from logical indices to a linear
  position; here it becomes one, and its inverse too, so that layouts compose with everything else that is a map.

INCLUDE
  Copy the headers named below into one folder. C11 or C++17, freestanding.

OPTIONS
  Those of the headers that it joins.

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
  sett_layout_map        (d0, .., dn) -> (position): every logical index, each tile a quotient and a remainder
      f32[3,5]{1,0:T(2,2)}   (d0, d1) -> ((d0 floordiv 2) * 12 + (d1 floordiv 2) * 4 + (d0 mod 2) * 2 + d1 mod 2), ...
  sett_layout_unmap      (d0) -> (i0, .., in): every position; constraints leave out those that are padding
      f32[3,5]{0,1}          (d0) -> (d0 mod 3, d0 floordiv 3), domain: d0 in [0, 14]
  Both are built by the definition; sett_map_simplify tidies them.
  sett_layout_order      logical indices to those in memory order, major first, or back: a transpose; under tiles the linear position
  sett_layout_physical   an answer of sett_indexing_analysis.h between logical indices as the same answer between places in memory, linear
                         positions or indices in memory order: which bytes of the operand the bytes of the output are made from. What is asked
                         of a map (coalescing, banks, reads, tiles, the image) is asked of this one as of any other
      f32[4,6]{0,1} transpose(f32[6,4]{1,0:T(2,2)}), dimensions={1,0}
        linear positions       (d0) -> ((d0 floordiv 8) * 8 + ((d0 mod 4) floordiv 2) * 4 + ((d0 mod 8) floordiv 4) * 2 + d0 mod 2)

  sett_nested_map        (subgroup, thread)[b0.., o0.., e0..] -> (d0, ..): what is held in each slot, for the ids of one period or
                         of a machine
      S[2] B[1] O[1] T[4] E[2], strides [1], [1]   (subgroup, thread)[b0, o0, e0] -> (subgroup * 8 + thread * 2 + e0), ...
  sett_nested_unmap      (d0, ..) -> (subgroup, thread, slot): the smallest owner; what is nobody's is outside of the domain
  sett_nested_from_map   the nested layout of a map that is one, in the form of sett_nested_map: its parameters are read off a few
                         values, and then the maps are shown to be equal. Else ERROR_MAP, or MAP_SIZE where that is not decided
  sett_nested_address    the linear position in a tiled layout of what each slot holds: sett_nested_map, then sett_layout_map. Where
                         the vector exceeds the array, what is outside is outside of the domain

FUNCTIONS
  tiled layouts     sett_layout_map, _unmap      shape -> map, and its inverse    sett_layout_order      in memory order
                    sett_layout_physical         an answer between places
  nested layouts    sett_nested_map, _unmap      layout -> map, and its inverse   sett_nested_from_map   map -> layout
                    sett_nested_address          where what a slot holds lies
  errors            sett_message                 what a map's error means

LAWS (tests/test_shape.py, tests/test_nested.py)
  1 maps_agree     the map has the value sett_tile_position at each index, the other that of sett_tile_element, and is
                   outside its domain where that says padding.
  2 nested_agree   the maps have the values of sett_nested_element and sett_nested_owner; sett_nested_from_map(sett_nested_map(l)) has
                   the map of l.
  3 physical       (tests/physical_test.c) sett_layout_physical holds the pairs of positions that loops over the op give, in both directions;
                   padding is in no pair.

ANSWERS (in all sett headers)
  Nothing but a proved yes is true in an if. A question that may stay open is answered by a record: yes is 1 only where yes is
  proved, no is 1 only where no is proved; where both are 0 it is not decided or its input had failed, and reason or error says
  why. A function that answers by an int gives 1 for a proved yes, else 0; an error is in a field or an out parameter. A size, a
  place or an index that does not exist is -1. A function said to give 0 or an error gives nothing else. Outputs are always
  written, with -1 or 0 where there is no value; a list has as many entries as the count beside it says.

ARGUMENTS (in all sett headers)
  By value go in: numbers, handles (sett_expr), maps (sett_map), lists and marks of a few words (sett_analysis_list, sett_nested_counts,
  sett_map_mark), and plans of a device, which are arguments of kernels. Every other record goes in by a pointer to const. A record
  comes out by value. A pointer that is not to const is memory of the caller that the function changes or fills.
  An error is an int, 0 for none; sett_<module>_message(error) is its text, a constant.

ERRORS
  A failed shape or nested layout gives a failed map, whose error is that of the shape + SETT_LAYOUT_ERROR_FIRST, or that of the layout
  + SETT_NESTED_ERROR_FIRST. sett_message says what the error of any map means.

LIMITS
  Those of the headers that it joins.

HISTORY
  0.3  every sett header has its version as a number and sett_<module>_message; here sett_message was sett_error_message.
  0.2  answers between places in memory.
  0.1  layout to map and back; nested layout to map and back.
*/
#ifndef SETT_H
#define SETT_H

#define SETT_VERSION 300 /* 0.3.0: 10000 * major + 100 * minor + patch */

#include "sett_tile.h"
#include "sett_relayout.h"
#include "sett_indexing_map.h"
#include "sett_indexing_analysis.h"
#include "sett_nested_layout.h"
#include "sett_mma_layouts.h"
#include "sett_notation.h"

enum { SETT_LAYOUT_ERROR_FIRST = 2000 }; /* errors of sett_tile.h, as errors of a map: FIRST + code */
/* those of sett_nested_layout.h: sett_nested_explain says more of the layout itself */
enum { SETT_NESTED_ERROR_FIRST = 3000 };

/* Logical index to linear position. */
SETT_INLINE sett_map sett_layout_map(sett_map_arena *arena, const sett_tile_shape *shape);
/* Linear position to logical index. */
SETT_INLINE sett_map sett_layout_unmap(sett_map_arena *arena, const sett_tile_shape *shape);
/* Logical index to the index in memory order (to_memory 1) or back (0); where there are tiles, the linear position. */
SETT_INLINE sett_analysis_answer sett_layout_order(sett_map_arena *arena, const sett_tile_shape *shape, int to_memory);
/* answer: from indices of an array of shape from to those of one of shape to (either direction of an op: output to operand, operand to output). The same
   between their places in memory, linear positions (linear 1) or indices in memory order. Not simplified: sett_analysis_tidy. */
SETT_INLINE sett_analysis_answer sett_layout_physical(sett_map_arena *arena, const sett_analysis_answer *answer,
                                                      const sett_tile_shape *from, const sett_tile_shape *to,
                                                      int linear);
/* What each slot of each thread holds. subgroups, threads: how many ids there are (0: one period). */
SETT_INLINE sett_map sett_nested_map(sett_map_arena *arena, const sett_nested_layout *layout, int64_t subgroups,
                                     int64_t threads);
/* An index to its smallest owner and the slot there. */
SETT_INLINE sett_map sett_nested_unmap(sett_map_arena *arena, const sett_nested_layout *layout);
/* The layout of such a map; the dimensions of what nobody holds are as the weights of the other digits show them. */
SETT_INLINE sett_nested_layout sett_nested_from_map(sett_map_arena *arena, sett_map map);
/* The linear position of what each slot holds, for one period of ids. */
SETT_INLINE sett_map sett_nested_address(sett_map_arena *arena, const sett_nested_layout *layout,
                                         const sett_tile_shape *shape);
/* What a map's error means, whichever header it came from. */
SETT_INLINE const char *sett_message(int error);

/* ---- bodies ----------------------------------------------------------------------------------------------------- */

SETT_INLINE const char *sett_message(int error) {
  if (error >= SETT_NESTED_ERROR_FIRST) return sett_nested_message(error - SETT_NESTED_ERROR_FIRST);
  if (error >= SETT_LAYOUT_ERROR_FIRST) return sett_tile_message(error - SETT_LAYOUT_ERROR_FIRST);
  return sett_analysis_message(error);
}

SETT_INLINE int settp_layout_groups(const sett_tile_plan *plan, int stage, int tile_at) {
  int i, groups = 0;
  for (i = 0; i < plan->tile_rank[stage]; ++i) groups += plan->tile[tile_at + i] != SETT_TILE_COMBINE;
  return groups;
}

SETT_INLINE sett_map sett_layout_map(sett_map_arena *arena, const sett_tile_shape *shape) {
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

SETT_INLINE sett_map sett_layout_unmap(sett_map_arena *arena, const sett_tile_shape *shape) {
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
  if (plan.span == 0) { /* no position at all: KNOWN EMPTY, with any results */
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
    for (i = k; i-- > 0;) { /* i: the last entry of a group, which goes down to its first */
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

SETT_INLINE sett_analysis_answer sett_layout_order(sett_map_arena *arena, const sett_tile_shape *shape, int to_memory) {
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
    for (i = 0; i < n; ++i) { /* dimension i of memory is dimension d of the array */
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

SETT_INLINE sett_analysis_answer sett_layout_physical(sett_map_arena *arena, const sett_analysis_answer *answer,
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

/* (id / stride) mod tile, or 0. */
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

SETT_INLINE sett_map sett_nested_map(sett_map_arena *arena, const sett_nested_layout *layout, int64_t subgroups,
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

SETT_INLINE sett_map sett_nested_unmap(sett_map_arena *arena, const sett_nested_layout *layout) {
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

/* How the results run with one id while all else is 0: the first id that moves each, by how much, and how many values it takes.
   0: a value is missing or not a multiple of the first. */
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

SETT_INLINE sett_nested_layout sett_nested_from_map(sett_map_arena *arena, sett_map map) {
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
    /* no thread has a digit here; a fixed one shows in the weight of the next digit above */
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

SETT_INLINE sett_map sett_nested_address(sett_map_arena *arena, const sett_nested_layout *layout,
                                         const sett_tile_shape *shape) {
  return sett_map_compose(arena, sett_nested_map(arena, layout, 0, 0), sett_layout_map(arena, shape));
}
#endif
