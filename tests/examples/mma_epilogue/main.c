/* The accumulator of an mma.sync: which thread has which element, and where does the epilogue store it? */
#include <stdio.h>
#include <string.h>
#include "sett.h"

/* The maps are in the caller's memory. Nothing is allocated; maps are valid as long as the arena. */
static unsigned char memory[8 << 20];

/* mma.sync.m16n8k16: 16 x 8 elements, four registers in each of 32 threads. */
enum { ROWS = 16, COLUMNS = 8, REGISTERS = 4 };

int main(void) {
  sett_map_arena arena = sett_map_arena_make(memory, sizeof memory);
  const char *c_text = "f32[256,4096]{1,0}";
  sett_tile_shape c = sett_tile_parse(c_text, strlen(c_text));
  sett_nested_layout accumulator = sett_mma_layout(SETT_MMA_NV_MMA_SYNC_F32_16x8x16_F16, SETT_MMA_ACC);
  const int threads[] = {0, 1, 5, 31};
  char text[512];
  int i, slot, error;

  /* All owners as tables: element[] by thread and register, owner[] by element in row-major order. */
  int64_t element[ROWS * COLUMNS], owner[ROWS * COLUMNS];
  if (sett_nested_index(&accumulator, element, owner, NULL)) return 1;
  for (i = 0; i < 4; ++i) {
    printf("thread %2d:", threads[i]);
    for (slot = 0; slot < REGISTERS; ++slot) {
      int at = (int)element[threads[i] * REGISTERS + slot];
      printf("  c%d = C[%d,%d]", slot, at / COLUMNS, at % COLUMNS);
    }
    putchar('\n');
  }
  int held = (int)owner[9 * COLUMNS + 6];
  printf("C[9,6] is c%d of thread %d\n", held % REGISTERS, held / REGISTERS);

  /* One map from the thread and its registers to the position in matrix C, counted from the fragment's first element. */
  sett_map store = sett_map_simplify(&arena, sett_nested_address(&arena, &accumulator, &c));
  if (store.kind == SETT_MAP_FAILED) {
    fprintf(stderr, "error: %s\n", sett_message(store.error));
    return 2;
  }
  sett_map_print(&arena, store, text, sizeof text);
  printf("store: %s\n", text);

  /* Can adjacent registers be stored together? e1 is the register's number along a row. */
  int e1 = sett_map_find(store, "e1", 2);
  sett_map_run run;
  sett_map_runs(&arena, store, e1, &run);
  printf("one store takes %lld registers\n", (long long)run.vector_width);

  /* Make the map of the stores as float2. `thread` becomes the first dimension of both maps, because
   * sett_analysis_coalesced takes the first dimension as the lane of a warp. */
  sett_map wide = sett_analysis_wide(&arena, store, e1, run.vector_width);
  wide = sett_map_move(&arena, wide, sett_map_find(wide, "thread", 6), 0);
  store = sett_map_move(&arena, store, sett_map_find(store, "thread", 6), 0);
  sett_analysis_memory floats = {.bits = 32}, pairs = {.bits = 64};
  sett_analysis_coalescing one = sett_analysis_coalesced(&arena, store, &floats, 32, 32);
  sett_analysis_coalescing two = sett_analysis_coalesced(&arena, wide, &pairs, 32, 32);
  printf("float:  %lld sectors of 32 bytes, %lld would do\n", (long long)one.transactions, (long long)one.least);
  printf("float2: %lld sectors of 32 bytes, %lld would do\n", (long long)two.transactions, (long long)two.least);

  /* Print what the kernel needs: the narrowest integer type for the address, and the address as a C expression. The
   * address is an index of an array of float2. */
  sett_map_print_c(&arena, wide, SETT_MAP_ANY_TYPE, text, sizeof text, &error);
  puts(text);
  return error || one.error || two.error;
}
