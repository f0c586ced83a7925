/* One kernel body for every language (tests/layouts/test_shape.py). It copies a tiled array into row-major order, and
 * writes which element is at each position of the tiled array. */
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

/* Compare two layouts by iterators: each work-item takes `length` positions of one layout, and writes the position of
 * each element in the other layout (-1 for padding). */
#if SETTP_TILE_OPENCL
__kernel void tile_iterate(sett_tile_device_iterator all, long length, GLOBAL long *other) {
  long item = (long)get_global_id(0);
#elif defined(__CUDACC__)
extern "C" __global__ void tile_iterate(sett_tile_device_iterator all, int64_t length, int64_t *other) {
  int64_t item = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
#else
static void tile_iterate(sett_tile_device_iterator all, int64_t length, int64_t *other, int64_t item) {
#endif
  sett_tile_device_iterator it = all;
  int64_t k;
  sett_tile_device_slice(&it, item * length, (item + 1) * length);
  while (sett_tile_device_advance(&it)) {
    for (k = 1; k <= it.gap; ++k) other[it.at - k] = -1;
    other[it.at] = it.other;
  }
  for (k = 1; k <= it.gap; ++k) other[it.at - k] = -1;
}
