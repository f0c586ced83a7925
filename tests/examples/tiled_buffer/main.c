/* Four threads convert a row-major f32 matrix to bf16 in a TPU's tiled layout, then the tiled matrix to row-major bf16
 * and to row-major f32. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sett_tile.h"
#include "sett_relayout.h"

enum { THREADS = 4 };

static float *matrix, *widened;
static uint16_t *tiled, *rows;

/* The plans are prepared once. Afterwards they are only read, so all threads may use them. */
static sett_tile_plan tiled_plan, rows_plan;
static sett_tile_iterator elements;
static sett_relayout_plan to_rows;

/* Round a number to the nearest bf16; if two are equally near, to the one whose last bit is 0. A NaN stays a NaN. The
 * bits of a bf16 are the upper half of the bits of a float with the same value. */
static uint16_t bf16(float number) {
  uint32_t bits;
  memcpy(&bits, &number, sizeof bits);
  if (number != number) return (uint16_t)(bits >> 16 | 0x40);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static float f32(uint16_t upper) {
  uint32_t bits = (uint32_t)upper << 16;
  float number;
  memcpy(&number, &bits, sizeof number);
  return number;
}

/* Return an iterator over this thread's quarter of the elements: `at` is the position in the row-major matrix, `other`
 * in the tiled one. The iterator counts the index up like an odometer, so it needs no division, and it skips padding. A
 * run has up to 128 elements: the part of a row that is in one tile. */
static sett_tile_iterator quarter(int64_t thread) {
  sett_tile_iterator mine = elements;
  sett_tile_slice(&mine, elements.positions * thread / THREADS, elements.positions * (thread + 1) / THREADS);
  return mine;
}

/* row-major f32 to tiled bf16 */
static void *fill(void *number) {
  sett_tile_iterator mine = quarter(*(int *)number);
  int64_t k;
  while (sett_tile_advance_run(&mine))
    for (k = 0; k < mine.run; ++k) tiled[mine.other + k * mine.other_stride] = bf16(matrix[mine.at + k * mine.at_stride]);
  return NULL;
}

/* tiled bf16 to row-major f32 */
static void *widen(void *number) {
  sett_tile_iterator mine = quarter(*(int *)number);
  int64_t k;
  while (sett_tile_advance_run(&mine))
    for (k = 0; k < mine.run; ++k) widened[mine.at + k * mine.at_stride] = f32(tiled[mine.other + k * mine.other_stride]);
  return NULL;
}

/* Tiled bf16 to row-major bf16. If elements stay unchanged, sett_relayout is faster than the iterator, because it moves
 * vectors. Each thread moves a quarter of the pieces. No two pieces write the same byte, so the threads need no lock.
 */
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
  const char *layout = "bf16[1000,3000]{1,0:T(8,128)(2,1)}";
  sett_tile_shape from = sett_tile_parse(layout, strlen(layout));
  sett_tile_shape to = sett_tile_make(from.type, from.rank, from.dims, NULL); /* the same array, row-major */
  int64_t index[2] = {9, 130}, i, wrong = 0, count = sett_tile_elements(&to);
  int error;

  /* An error is passed on by the functions that get it, so one check at the end is enough. The caret marks the error's
   * column. */
  tiled_plan = sett_tile_prepare(&from);
  rows_plan = sett_tile_prepare(&to);
  elements = sett_tile_iterate(&rows_plan, &tiled_plan);
  if (elements.error) {
    if (from.error) fprintf(stderr, "%s\n%*s^ column %lld\n", layout, (int)from.column - 1, "", (long long)from.column);
    fprintf(stderr, "error: %s\n", sett_tile_message(elements.error));
    return 2;
  }
  error = sett_relayout_prepare(&to_rows, &from, &to, NULL);
  if (error) {
    fprintf(stderr, "error: %s\n", sett_relayout_message(error));
    return 2;
  }
  printf("%s\n", layout);
  printf("%lld elements in %lld bytes, %.1f%% of the bytes are padding\n", (long long)count, (long long)sett_tile_bytes(&from),
         100 * sett_tile_padding(&from));
  printf("element (9,130) is at byte %lld\n", (long long)sett_tile_position(&tiled_plan, index) * 2);
  printf("%lld pieces for %d threads\n", (long long)to_rows.pieces, THREADS);

  /* Padding is never read as data, but zeros keep files and checksums reproducible. */
  tiled = calloc(1, (size_t)sett_tile_bytes(&from));
  rows = malloc((size_t)sett_tile_bytes(&to));
  matrix = malloc((size_t)count * sizeof *matrix);
  widened = malloc((size_t)count * sizeof *widened);
  if (!tiled || !rows || !matrix || !widened) return 1;
  for (i = 0; i < count; ++i) matrix[i] = (float)(i % 200 - 100);
  on_threads(fill);
  on_threads(unpack);
  on_threads(widen);

  for (i = 0; i < count; ++i) wrong += rows[i] != bf16(matrix[i]) || widened[i] != matrix[i];
  printf("%lld elements are wrong\n", (long long)wrong);
  free(tiled);
  free(rows);
  free(matrix);
  free(widened);
  return wrong != 0;
}
