/* Print where an element of a tiled array is in memory. It needs one header and no generated code. */
#include <stdio.h>
#include <string.h>
#include "sett_tile.h"

int main(void) {
  const char *layout = "f32[3,5]{1,0:T(2,2)}";
  sett_tile_shape shape = sett_tile_parse(layout, strlen(layout));
  sett_tile_plan plan = sett_tile_prepare(&shape);
  int64_t index[2] = {2, 3};
  printf("element [2,3] of %s is at position %lld\n", layout, (long long)sett_tile_position(&plan, index));
  return 0;
}
