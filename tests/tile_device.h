/* One kernel body for every language (tests/test_shape.py): copies a tiled array into row-major order, and says of each
   position of the tiled array which element it holds. */
#include "sett_tile.h"

#if SETTP_TILE_OPENCL
#define GLOBAL __global
__kernel void tile_device(sett_tile_device_plan plan, GLOBAL long *element, GLOBAL long *position) {
  long at = (long)get_global_id(0);
#else
#define GLOBAL
#if defined(__CUDACC__)
extern "C" __global__ void tile_device(sett_tile_device_plan plan, int64_t *element, int64_t *position) {
  int64_t at = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
#else
static void tile_device(sett_tile_device_plan plan, int64_t *element, int64_t *position, int64_t at) {
#endif
#endif
  int64_t index[SETT_TILE_DEVICE_RANK], number = 0;
  int d;
  if (at >= plan.positions) return;
  element[at] = -1;
  if (!sett_tile_device_element(plan, at, index)) return;
  SETTP_TILE_UNROLL
  for (d = 0; d < SETT_TILE_DEVICE_RANK; ++d)
    if (d < plan.rank) number = number * plan.dims[d] + index[d];
  element[at] = number;
  position[number] = sett_tile_device_position(plan, index);
}
