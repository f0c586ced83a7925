/* Call a kernel that the build generates. */
#include <stdio.h>
#include <stdlib.h>
#include "softmax.h"

enum { ROWS = 64, COLUMNS = 1000 };

static float x[ROWS * COLUMNS], y[ROWS * COLUMNS];

int main(void) {
  void *scratch = NULL;
  double sum = 0;
  int i, error;

  for (i = 0; i < ROWS * COLUMNS; ++i) x[i] = (float)(i % 7);

  /* Intermediate results of the kernels are in memory of the caller, which can be used again for each call. */
  if (softmax_c_scratch_bytes() > 0 && !(scratch = malloc(softmax_c_scratch_bytes()))) return 1;
  error = softmax(x, y, scratch);
  free(scratch);
  if (error) return 1;

  for (i = 0; i < COLUMNS; ++i) sum += (double)y[i];
  printf("row 0 sums to %.4f, its first values are %.6f %.6f %.6f\n", sum, (double)y[0], (double)y[1], (double)y[2]);
  return 0;
}
