/* Time the decision whether two layouts are equal: fragments of matrix instructions, and tiled arrays with 64-bit
 * sizes and their CuTe texts. Prints the median and the maximum over random pairs, in microseconds. Usage: same [pairs]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../include/sett.h"

static uint64_t memory[1 << 20];
static uint32_t state = 12345;

static uint32_t next(uint32_t below) {
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  return state % below;
}

static double now(void) {
  struct timespec t;
  timespec_get(&t, TIME_UTC);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Write the text of a fragment of a random instruction. */
static size_t fragment(char *text, size_t capacity) {
  sett_nested_layout layout = sett_mma_layout((int)next(SETT_MMA_COUNT), (int)next(3));
  return layout.error ? fragment(text, capacity) : sett_nested_print(&layout, text, capacity);
}

/* Write the text of a tiled array of more than 2^32 elements. */
static size_t tiled(char *text, size_t capacity) {
  static const char *const tiles[] = {"(8,128)", "(8,128)(2,1)", "(32,32)(16,16)", "(16,16)", "(4,4)(2,2)", ""};
  const char *tile = tiles[next(6)];
  return (size_t)snprintf(text, capacity, "f32[%d,%d,%d]{%s%s%s}", 1 + (int)next(64), 65536 + (int)next(4) * 1024 + (int)next(2) * 3, 1048576 + (int)next(3) * 128,
                          next(2) ? "2,1,0" : "1,2,0", *tile ? ":T" : "", tile);
}

int main(int argc, char **argv) {
  int pairs = argc > 1 ? atoi(argv[1]) : 2000, kind, i, decided;
  double *took = (double *)malloc((size_t)pairs * sizeof *took);
  if (!took || pairs < 1) return 2;
  for (kind = 0; kind < 2; ++kind) {
    for (i = decided = 0; i < pairs; ++i) {
      char a[512], b[512];
      sett_map_arena arena = sett_map_arena_make(memory, sizeof memory);
      size_t na = kind ? tiled(a, sizeof a) : fragment(a, sizeof a), nb = kind ? tiled(b, sizeof b) : fragment(b, sizeof b);
      sett_any x = sett_any_parse(&arena, a, na), y;
      sett_any_answer answer;
      double start;
      y = next(2) ? sett_any_parse(&arena, a, na) : sett_any_parse(&arena, b, nb);
      if (kind && next(2)) { /* compare with the CuTe text of the same array, or of another array */
        sett_any_made cute = sett_any_convert(&arena, &y, SETT_ANY_TO_CUTE);
        if (cute.answer.yes) y = cute.layout;
      }
      start = now();
      answer = sett_any_same(&arena, &x, &y);
      took[i] = now() - start;
      decided += answer.yes || answer.no;
    }
    qsort(took, (size_t)pairs, sizeof *took, by_size);
    printf("%s: %d pairs, %d decided, median %.1f us, 99%% below %.1f us, worst %.1f us\n", kind ? "tiled arrays of 64-bit sizes" : "fragments", pairs, decided,
           took[pairs / 2], took[pairs * 99 / 100], took[pairs - 1]);
  }
  free(took);
  return 0;
}
