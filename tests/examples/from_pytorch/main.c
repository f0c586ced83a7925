/* Print the ten probabilities that a PyTorch network gives for a picture. */
#include <stdio.h>
#include "convnet.h"

int main(void) {
  static _Alignas(8) unsigned char scratch[convnet_c_SCRATCH_BYTES + 1];
  float picture[convnet_picture_LENGTH], scores[convnet_divide_LENGTH];
  int i;

  for (i = 0; i < convnet_picture_LENGTH; ++i) picture[i] = (float)(i % 7) / 7;
  if (convnet(picture, scores, scratch)) return 1;
  printf("C:    ");
  for (i = 0; i < convnet_divide_LENGTH; ++i) printf(" %.4f", (double)scores[i]);
  printf("\n");
  return 0;
}
