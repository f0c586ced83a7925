/* Which part of each operand does a tile of the result need? For y = reduce(transpose(x) * w), the program takes tile
 * sizes of y and derives those of x and w. */
#include <stdio.h>
#include "sett_indexing_map.h"
#include "sett_indexing_analysis.h"

static unsigned char memory[8 << 20];

enum { ROWS = 4096, COLUMNS = 1024 }; /* x = f32[COLUMNS,ROWS], w = f32[COLUMNS], y = f32[ROWS] */

/* y[r] is the sum over c of x[c,r] * w[c]. Each op gives a map from an index of its output to an index of an operand.
 */
static void operands(sett_map_arena *arena, sett_map *x, sett_map *w) {
  static const int64_t product_dims[] = {ROWS, COLUMNS}, x_dims[] = {COLUMNS, ROWS}, y_dims[] = {ROWS}, w_dims[] = {COLUMNS}, swap[] = {1, 0}, one[] = {1};
  sett_analysis_list product = {2, product_dims}, in_x = {2, x_dims}, out = {1, y_dims}, in_w = {1, w_dims};
  sett_analysis_op reduce = {.opcode = SETT_ANALYSIS_REDUCE, .operands = 1, .in = &product, .out = out, .dimensions = {1, one}};
  sett_analysis_op transpose = {.opcode = SETT_ANALYSIS_TRANSPOSE, .operands = 1, .in = &in_x, .out = product, .dimensions = {2, swap}};
  sett_analysis_op broadcast = {.opcode = SETT_ANALYSIS_BROADCAST, .operands = 1, .in = &in_w, .out = product, .dimensions = {1, one}};
  sett_analysis_answer sum = sett_analysis_from_output(arena, &reduce), of_x = sett_analysis_from_output(arena, &transpose);
  sett_analysis_answer of_w = sett_analysis_from_output(arena, &broadcast);
  of_x = sett_analysis_compose(arena, &sum, &of_x);
  of_w = sett_analysis_compose(arena, &sum, &of_w);
  *x = sett_analysis_map(&of_x);
  *w = sett_analysis_map(&of_w);
}

/* Print the tile of an operand that a tile of the result needs, or why there is none. Return its number of elements.
 */
static int64_t say(sett_map_arena *arena, const char *name, sett_map map, int count, const int64_t *sizes) {
  sett_analysis_list list = {count, sizes};
  sett_analysis_tile tile = sett_analysis_propagate(arena, map, list);
  int64_t elements = 1;
  char text[512];
  int i;
  if (tile.error || *tile.reason) {
    printf("  %s: %s\n", name, tile.error ? sett_analysis_message(tile.error) : tile.reason);
    return 0;
  }
  printf("  %s: ", name);
  for (i = 0; i < tile.results; ++i) {
    printf("%s%lld", i ? " x " : "", (long long)tile.size[i]);
    elements *= tile.size[i];
  }
  sett_map_print(arena, tile.offset, text, sizeof text);
  printf(" elements from %s\n", text);
  return elements;
}

int main(void) {
  sett_map_arena arena = sett_map_arena_make(memory, sizeof memory);
  sett_map x, w, x_loop, w_loop;
  int64_t sizes[2] = {128, COLUMNS}, elements;
  char text[256];

  operands(&arena, &x, &w);
  sett_map_print(&arena, sett_map_simplify(&arena, x), text, sizeof text);
  printf("y to x: %s\n", text);

  /* The sum runs over the range s0. Without splitting it, all columns are needed at once. */
  puts("128 elements of y, the sum in one piece");
  elements = say(&arena, "x", x, 1, sizes);
  elements += say(&arena, "w", w, 1, sizes);
  printf("  %lld KiB\n", (long long)elements * 4 / 1024);

  /* Turn the range into a dimension, so that it can be tiled too. Halve its tile until the tiles of both operands fit in
   * 32 KiB. */
  x_loop = sett_map_to_dims(&arena, x, NULL);
  w_loop = sett_map_to_dims(&arena, w, NULL);
  do {
    sizes[1] /= 2;
    printf("128 elements of y, the sum in steps of %lld\n", (long long)sizes[1]);
    elements = say(&arena, "x", x_loop, 2, sizes);
    elements += say(&arena, "w", w_loop, 2, sizes);
    printf("  %.1f KiB\n", (double)elements * 4 / 1024);
  } while (elements * 4 > 32768 && sizes[1] > 1);
  return 0;
}
