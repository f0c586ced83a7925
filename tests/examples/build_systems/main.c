/* Calls a kernel that was generated while the program was built. */
#include <stdio.h>
#include <stdlib.h>
#include "softmax.h"

enum { ROWS = 64, COLUMNS = 1000 };

/* Buffers begin at a multiple of 64 bytes, a cache line: the kernel's vectors rely on it. */
static _Alignas(64) float x[ROWS * COLUMNS], y[ROWS * COLUMNS];

int main(void) {
  const void *params[softmax_PARAMS] = {x};
  void *results[softmax_RESULTS] = {y};
  void *scratch = NULL;
  double sum = 0;
  int i, error;

  for (i = 0; i < ROWS * COLUMNS; ++i) x[i] = (float)(i % 7);

  /* What one stage leaves for the next lies in memory of the caller; it may be used again for each call. */
  if (softmax_c_scratch_bytes() > 0 && !(scratch = aligned_alloc(64, softmax_c_scratch_bytes()))) return 1;
  error = softmax_c_prepare(scratch);
  if (!error) error = softmax_c_run(params, results, scratch);
  free(scratch);
  if (error) return 1;

  for (i = 0; i < COLUMNS; ++i) sum += (double)y[i];
  printf("row 0 sums to %.4f, its first values are %.6f %.6f %.6f\n", sum, (double)y[0], (double)y[1], (double)y[2]);
  return 0;
}
