/* sett.h - v0.1 - all sett headers, and what joins them: a layout as an indexing map

WHAT
  Includes every sett header and converts between their types. A tiled layout is a map from logical indices to a linear
  position; here it becomes one, and its inverse too, so that layouts compose with everything else that is a map.

INCLUDE
  Copy the headers named below into one folder. C11 or C++17, freestanding.

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

LAWS (tests/test_shape.py)
  1 maps_agree   the map has the value sett_tile_position at each index, the other that of sett_tile_element, and is
                 outside its domain where that says padding.

HISTORY
  0.1  layout to map and back.
*/
#ifndef SETT_H
#define SETT_H

#include "sett_tile.h"
#include "sett_indexing_map.h"
#include "sett_indexing_analysis.h"

enum { SETT_LAYOUT_ERROR_FIRST = 2000 }; /* errors of sett_tile.h, as errors of a map: FIRST + code */

/* Logical index to linear position. */
SETT_INLINE sett_map sett_layout_map(sett_map_arena *arena, const sett_tile_shape *shape);
/* Linear position to logical index. */
SETT_INLINE sett_map sett_layout_unmap(sett_map_arena *arena, const sett_tile_shape *shape);
/* What a map's error means, whichever header it came from. */
SETT_INLINE const char *sett_error_message(int error);

/* ---- bodies ----------------------------------------------------------------------------------------------------- */

SETT_INLINE const char *sett_error_message(int error) {
  if (error >= SETT_LAYOUT_ERROR_FIRST) return sett_tile_error_text(error - SETT_LAYOUT_ERROR_FIRST);
  return sett_analysis_error_message(error);
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
  if (plan.error) return sett_map_fail(SETT_LAYOUT_ERROR_FIRST + (int)plan.error, 0);
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
      value = sett_map_add(arena, sett_map_mul(arena, value, sett_map_constant(arena, list[n - k + i])),
                           digit[n - k + i]);
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
  if (plan.error) return sett_map_fail(SETT_LAYOUT_ERROR_FIRST + (int)plan.error, 0);
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

/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#endif
