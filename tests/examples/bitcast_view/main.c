/* A chain of reshapes and transposes: is the result a bitcast, whose elements all stay in place? Which strides does the
 * result have in the operand's memory? */
#include <stdio.h>
#include <string.h>
#include "sett.h"

static unsigned char memory[16 << 20];

static sett_tile_shape shape_of(const char *text) { return sett_tile_parse(text, strlen(text)); }

/* Attention splits x = [128,512] into heads [128,8,64], then moves the heads to the front: y = [8,128,64]. Each op
 * gives a map from an index of its output to an index of its operand. Composed, the maps lead from y to x. */
static sett_analysis_answer heads_of(sett_map_arena *arena) {
  static const int64_t x[] = {128, 512}, split[] = {128, 8, 64}, y[] = {8, 128, 64}, front[] = {1, 0, 2};
  sett_analysis_list x_dims = {2, x}, split_dims = {3, split}, y_dims = {3, y}, permutation = {3, front};
  sett_analysis_op reshape = {.opcode = SETT_ANALYSIS_RESHAPE, .operands = 1, .in = &x_dims, .out = split_dims};
  sett_analysis_op transpose = {.opcode = SETT_ANALYSIS_TRANSPOSE, .operands = 1, .in = &split_dims, .out = y_dims, .dimensions = permutation};
  sett_analysis_answer from_y = sett_analysis_from_output(arena, &transpose), from_split = sett_analysis_from_output(arena, &reshape);
  sett_analysis_answer view = sett_analysis_compose(arena, &from_y, &from_split);
  return sett_analysis_tidy(arena, &view, 0);
}

static void ask(sett_map_arena *arena, const char *x_text, const char *y_text) {
  sett_tile_shape x = shape_of(x_text), y = shape_of(y_text);
  sett_analysis_answer view = heads_of(arena);
  /* in_x: the position of each element of y in x's memory. in_y: its position in y's own layout. */
  sett_map in_x = sett_map_simplify(arena, sett_map_compose(arena, sett_analysis_map(&view), sett_layout_map(arena, &x)));
  sett_map in_y = sett_layout_map(arena, &y);
  sett_map_answer same = sett_map_equal(arena, in_x, in_y);
  char text[512];
  int d;

  printf("%s viewed as %s\n", x_text, y_text);
  sett_map_print(arena, in_x, text, sizeof text);
  printf("  y in x:  %s\n", text);
  /* y is a bitcast of x if both maps are equal and both arrays have equally many bytes. If the answer is neither yes
   * nor no, equality is not decided. */
  if (same.yes && sett_tile_bytes(&x) == sett_tile_bytes(&y)) puts("  bitcast: yes");
  else if (same.no && same.point)
    printf("  bitcast: no, y[%lld,%lld,%lld] is elsewhere\n", (long long)same.point[0], (long long)same.point[1], (long long)same.point[2]);
  else printf("  bitcast: %s\n", same.reason);
  /* The stride of an index: the change of the position when the index grows by 1. There is none if the change depends
   * on the point. */
  printf("  strides:");
  for (d = 0; d < in_x.dims; ++d) {
    sett_map_stride stride;
    if (!sett_map_strides(arena, in_x, d, &stride) && stride.linear) printf(" %lld", (long long)stride.stride);
    else printf(" none");
  }
  putchar('\n');
}

int main(void) {
  sett_map_arena arena = sett_map_arena_make(memory, sizeof memory);
  ask(&arena, "f32[128,512]{1,0}", "f32[8,128,64]{2,1,0}"); /* both row-major: elements move */
  ask(&arena, "f32[128,512]{1,0}", "f32[8,128,64]{2,0,1}"); /* y in the layout that makes the view free */
  ask(&arena, "f32[128,512]{1,0:T(8,128)}", "f32[8,128,64]{2,0,1}"); /* x in tiles: a head is half a tile */
  return 0;
}
