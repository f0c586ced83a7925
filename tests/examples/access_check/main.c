/* A transpose through shared memory, checked before the kernel is written: does it read global memory in whole sectors,
 * and do lanes meet in a bank of shared memory? */
#include <stdio.h>
#include <string.h>
#include "sett.h"

static unsigned char memory[8 << 20];

/* NVIDIA's numbers: lanes of a warp, bytes of a sector of global memory, banks of shared memory, bytes of a bank's
 * word. */
enum { LANES = 32, SECTOR = 32, BANKS = 32, WORD = 4 };

/* A text that is no map gives a failed map. Every question about it fails with the same error. */
static sett_map map_of(sett_map_arena *arena, const char *text) { return sett_map_parse(arena, text, strlen(text)); }

static void say_coalesced(sett_map_arena *arena, const char *what, sett_map map, const sett_analysis_memory *array) {
  sett_analysis_coalescing c = sett_analysis_coalesced(arena, map, array, SECTOR, LANES);
  if (c.error) printf("%s: %s\n", what, sett_message(c.error));
  else
    printf("%s: %lld sectors, %lld would do: %lld%% of the bytes are used\n", what, (long long)c.transactions,
           (long long)c.least, (long long)(c.bits / 8 * 100 / (c.transactions * SECTOR)));
}

static void say_banks(sett_map_arena *arena, const char *what, sett_map map, const sett_analysis_memory *tile) {
  sett_analysis_banks b = sett_analysis_bank_conflicts(arena, map, tile, BANKS, WORD, LANES);
  if (b.error) printf("%s: %s\n", what, sett_message(b.error));
  else if (b.degree > 1)
    printf("%s: %d-way conflict, lanes %d and %d meet in bank %lld\n", what, b.degree, b.lane[0], b.lane[1], (long long)b.bank);
  else printf("%s: no conflict\n", what);
}

int main(void) {
  sett_map_arena arena = sett_map_arena_make(memory, sizeof memory);
  static const int64_t array_dims[] = {1024, 1024}, tile_dims[] = {32, 32}, vectors_dims[] = {64, 64};
  sett_analysis_memory array = {.dims = {2, array_dims}, .bits = 32}, tile = {.dims = {2, tile_dims}, .bits = 32}, padded, swizzled;
  sett_analysis_memory vectors = {.dims = {2, vectors_dims}, .bits = 16};

  /* An access is a map from (lane, step) to an index of the array. The first dimension is the lane. */
  sett_map by_columns = map_of(&arena, "(lane, i) -> (lane, i), domain: lane in [0, 31], i in [0, 31]");
  sett_map by_rows = map_of(&arena, "(lane, i) -> (i, lane), domain: lane in [0, 31], i in [0, 31]");
  sett_map both[2];

  puts("global memory, f32[1024,1024]");
  say_coalesced(&arena, "  a lane a row   ", by_columns, &array);
  say_coalesced(&arena, "  a lane a column", by_rows, &array);

  /* So both arrays are accessed by rows in global memory, and the tile is transposed in shared memory. */
  puts("shared memory, f32[32,32]");
  say_banks(&arena, "  written by rows", by_rows, &tile);
  say_banks(&arena, "  read by columns", by_columns, &tile);

  /* A fix is found for both accesses together. */
  both[0] = by_rows;
  both[1] = by_columns;
  padded = sett_analysis_pad_rows(&arena, 2, both, NULL, &tile, BANKS, WORD, LANES).memory;
  printf("  with %lld more element a row", (long long)padded.padding);
  say_banks(&arena, ", read by columns", by_columns, &padded);
  swizzled = sett_analysis_swizzle(&arena, 2, both, NULL, &tile, BANKS, WORD, LANES).memory;
  printf("  with column xor row mod %lld", (long long)swizzled.swizzle_count);
  say_banks(&arena, ", read by columns", by_columns, &swizzled);

  /* If each access is a vector, the map gives its first element, and `width` its number of elements. Here eight lanes
   * write a row of 16-bit elements, and ldmatrix reads. */
  puts("shared memory, f16[64,64], accesses of 8 elements");
  vectors.width = 8;
  both[0] = map_of(&arena, "(lane, i) -> (i * 4 + lane floordiv 8, lane mod 8 * 8), domain: lane in [0, 31], i in [0, 15]");
  both[1] = map_of(&arena, "(lane, m, k) -> (m * 16 + lane mod 16, k * 16 + lane floordiv 16 * 8), domain: lane in [0, 31], m in [0, 3], k in [0, 3]");
  say_banks(&arena, "  written by rows", both[0], &vectors);
  say_banks(&arena, "  read by ldmatrix", both[1], &vectors);
  vectors = sett_analysis_swizzle(&arena, 2, both, NULL, &vectors, BANKS, WORD, LANES).memory;
  printf("  with column xor %lld * (row mod %lld)", (long long)vectors.swizzle_unit, (long long)vectors.swizzle_count);
  say_banks(&arena, ", read by ldmatrix", both[1], &vectors);
  return 0;
}
