/* The accumulator of an mma.sync: who holds which element, and where the epilogue stores it. */
#include <stdio.h>
#include <string.h>
#include "sett.h"

/* Maps live in memory of the caller. Nothing is allocated: when the arena goes, all maps are gone. */
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

  /* All owners at once, as tables: element[] by thread and register, owner[] by element, row-major. */
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

  /* Where each register goes, in elements from the fragment's corner in C: one map, of the thread and of its registers. */
  sett_map store = sett_map_simplify(&arena, sett_nested_address(&arena, &accumulator, &c));
  if (store.kind == SETT_MAP_FAILED) {
    fprintf(stderr, "error: %s\n", sett_message(store.error));
    return 2;
  }
  sett_map_print(&arena, store, text, sizeof text);
  printf("store: %s\n", text);

  /* May neighbouring registers be stored together? e1 counts the registers along a row. */
  int e1 = sett_map_find(store, "e1", 2);
  sett_map_run run;
  sett_map_runs(&arena, store, e1, &run);
  printf("one store takes %lld registers\n", (long long)run.vector_width);

  /* The same as stores of float2. A warp is neighbours along the first dimension: that has to be the thread. */
  sett_map wide = sett_analysis_wide(&arena, store, e1, run.vector_width);
  wide = sett_map_move(&arena, wide, sett_map_find(wide, "thread", 6), 0);
  store = sett_map_move(&arena, store, sett_map_find(store, "thread", 6), 0);
  sett_analysis_memory floats = {.bits = 32}, pairs = {.bits = 64};
  sett_analysis_coalescing one = sett_analysis_coalesced(&arena, store, &floats, 32, 32);
  sett_analysis_coalescing two = sett_analysis_coalesced(&arena, wide, &pairs, 32, 32);
  printf("float:  %lld sectors of 32 bytes, %lld would do\n", (long long)one.transactions, (long long)one.least);
  printf("float2: %lld sectors of 32 bytes, %lld would do\n", (long long)two.transactions, (long long)two.least);

  /* What to write in the kernel: the type that suffices, and the address in float2 as a C expression. */
  sett_map_print_c(&arena, wide, SETT_MAP_ANY_TYPE, text, sizeof text, &error);
  puts(text);
  return error || one.error || two.error;
}
