/* An f32 matrix in rows becomes a bf16 matrix as a TPU stores it, and rows of bf16 again; four threads do each. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sett_tile.h"
#include "sett_relayout.h"

enum { THREADS = 4, ROWS = 100, COLUMNS = 300 };

static float matrix[ROWS * COLUMNS];
static uint16_t *tiled, rows[ROWS * COLUMNS];

/* Both are prepared once. Afterwards they are only read, so all threads may use them. */
static sett_tile_iterator elements;
static sett_relayout_plan to_rows;

/* A bf16 is the upper half of a float. The numbers here are small integers, so nothing is rounded. */
static uint16_t bf16(float number) {
  uint32_t bits;
  memcpy(&bits, &number, sizeof bits);
  return (uint16_t)(bits >> 16);
}

/* Fills a quarter of the tiled memory. The iterator goes through it from front to back, so that whole cache lines are written,
   and knows where each element comes from. It counts digits: no division, and padding is skipped. */
static void *fill(void *number) {
  int64_t thread = *(int *)number;
  sett_tile_iterator mine = elements;
  sett_tile_slice(&mine, elements.positions * thread / THREADS, elements.positions * (thread + 1) / THREADS);
  while (sett_tile_advance(&mine)) tiled[mine.at] = bf16(matrix[mine.other]);
  return NULL;
}

/* Copies a quarter of the pieces. Where elements stay as they are this is faster than element by element: it moves vectors.
   No two pieces write the same byte, so threads need no lock. */
static void *unpack(void *number) {
  int64_t thread = *(int *)number;
  sett_relayout_run(&to_rows, tiled, rows, to_rows.pieces * thread / THREADS, to_rows.pieces * (thread + 1) / THREADS);
  return NULL;
}

static void on_threads(void *(*work)(void *)) {
  pthread_t thread[THREADS];
  int number[THREADS], i;
  for (i = 0; i < THREADS; ++i) {
    number[i] = i;
    if (pthread_create(&thread[i], NULL, work, &number[i])) exit(1);
  }
  for (i = 0; i < THREADS; ++i) pthread_join(thread[i], NULL);
}

int main(void) {
  const char *layout = "bf16[100,300]{1,0:T(8,128)(2,1)}", *plain = "bf16[100,300]{1,0}";
  sett_tile_shape from = sett_tile_parse(layout, strlen(layout)), to = sett_tile_parse(plain, strlen(plain));
  sett_tile_plan from_plan = sett_tile_prepare(&from), to_plan = sett_tile_prepare(&to);
  int64_t index[2] = {9, 130};
  int i, wrong = 0;

  /* An error travels in the values: one check, wherever it suits. */
  elements = sett_tile_iterate(&from_plan, &to_plan);
  if (elements.error) {
    fprintf(stderr, "error: %lld: %s\n", (long long)from.column, sett_tile_message(elements.error));
    return 2;
  }
  printf("%s\n", layout);
  printf("%lld elements in %lld bytes, %.1f%% of them padding\n", (long long)sett_tile_elements(&from),
         (long long)sett_tile_bytes(&from), 100 * sett_tile_padding(&from));
  printf("element (9,130) is at byte %lld\n", (long long)sett_tile_position(&from_plan, index) * 2);

  /* Padding is never data, but zeros keep files and checksums reproducible. */
  tiled = calloc(1, (size_t)sett_tile_bytes(&from));
  if (!tiled || sett_relayout_prepare(&to_rows, &from, &to, NULL)) return 1;
  for (i = 0; i < ROWS * COLUMNS; ++i) matrix[i] = (float)(i % 200 - 100);
  on_threads(fill);
  on_threads(unpack);

  for (i = 0; i < ROWS * COLUMNS; ++i) wrong += rows[i] != bf16(matrix[i]);
  printf("%d elements are wrong\n", wrong);
  free(tiled);
  return wrong != 0;
}
