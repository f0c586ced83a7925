/* Read the weights of a network from a file, and replace some of them. */
#include <stdio.h>
#include "perceptron.h"

int main(void) {
  static _Alignas(64) unsigned char weights[perceptron_weights_BYTES], scratch[perceptron_c_SCRATCH_BYTES + 1];
  float *inner = (float *)(void *)(weights + perceptron_constant_5_OFFSET); /* row-major, 16 x 80 */
  float x[perceptron_x_LENGTH], y[perceptron_dot_general_LENGTH];
  FILE *file = fopen("build/perceptron.weights", "rb");
  int turn, i;

  if (!file || fread(weights, 1, sizeof weights, file) != sizeof weights || fclose(file)) return 1;
  for (i = 0; i < perceptron_x_LENGTH; ++i) x[i] = (float)i / 16;
  for (turn = 0; turn < 2; ++turn) {
    if (perceptron(x, weights, y, scratch)) return 1;
    printf("%.4f %.4f %.4f %.4f\n", (double)y[0], (double)y[1], (double)y[2], (double)y[3]);
    for (i = 0; i < 80; ++i) inner[15 * 80 + i] = 0; /* ignore the last input from now on */
  }
  return 0;
}
