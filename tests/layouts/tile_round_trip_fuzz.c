/* Property, for any valid layout with sizes up to 64 bits: a position that is converted to an index and back is
 * unchanged, and so is an index that is converted to a position and back. Positions stay inside the footprint. The
 * device plan gives the same values. Permuting dimensions keeps every byte. A shape has the same bytes as itself. Run:
 * tile_round_trip_fuzz [SECONDS [SEED]]. With -DSETT_LIBFUZZER, libFuzzer can run it. */
#include "../../include/sett_tile.h"
#include "../fuzz.h"

/* Numbers taken from the input; after its end they are 0. */
typedef struct {
  const uint8_t *data;
  size_t size;
} source;

static uint64_t take(source *from, int bytes) {
  uint64_t value = 0;
  while (bytes-- > 0 && from->size > 0) {
    value = value << 8 | *from->data++;
    --from->size;
  }
  return value;
}

static void wrong(const char *what, const sett_tile_shape *shape) {
  char text[1024];
  sett_tile_print(shape, text, sizeof text);
  fail(what, text, strlen(text));
}

/* Return a size, usually a small one. */
static int64_t size(source *from) {
  uint64_t kind = take(from, 1);
  return (int64_t)(kind < 200 ? kind % 10 : kind < 250 ? take(from, 2) : take(from, 7));
}

static sett_tile_shape make(source *from) {
  int64_t dims[8], tile[5];
  int32_t order[8];
  int rank = (int)take(from, 1) % 7, tiles, i, j;
  sett_tile_shape shape;
  for (i = 0; i < rank; ++i) {
    dims[i] = size(from);
    j = (int)take(from, 1) % (i + 1);
    order[i] = order[j];
    order[j] = i;
  }
  shape = sett_tile_make((int)take(from, 1) % SETT_TILE_TYPE_COUNT, rank, dims, order);
  for (tiles = (int)take(from, 1) % 4; tiles > 0; --tiles) {
    int k = 1 + (int)take(from, 1) % 4;
    for (i = 0; i < k; ++i) {
      tile[i] = 1 + size(from);
      if (take(from, 1) % 5 == 0) tile[i] = SETT_TILE_COMBINE;
    }
    if (tile[k - 1] == SETT_TILE_COMBINE) tile[k - 1] = 4;
    shape = sett_tile_add_tile(&shape, k, tile);
  }
  if (take(from, 1) % 4 == 0) shape.tail = 1 + size(from);
  if (take(from, 1) % 4 == 0) shape.packed = 1 + size(from) % 70;
  return sett_tile_check(&shape);
}

/* Check one index and its position. */
static void there_and_back(const sett_tile_shape *shape, const sett_tile_plan *plan, int64_t end,
                           const int64_t *index) {
  int64_t back[SETT_TILE_MAX_RANK], position = sett_tile_position(plan, index);
  sett_tile_device_plan device = sett_tile_device(plan);
  sett_tile_place place;
  int i;
  if (position < 0 || position >= plan->span || (end >= 0 && position >= end)) wrong("a position outside", shape);
  if (!sett_tile_element(plan, position, back) || memcmp(index, back, sizeof *back * (size_t)shape->rank))
    wrong("not the index", shape);
  place = sett_tile_place_of(shape, position);
  if (place.byte < 0 || place.byte >= sett_tile_bytes(shape)) wrong("bits outside", shape);
  if (device.error) return;
  if (sett_tile_device_position(device, index) != position) wrong("another position on a device", shape);
  for (i = 0; i < SETT_TILE_MAX_RANK; ++i) back[i] = -1;
  if (!sett_tile_device_element(device, position, back) || memcmp(index, back, sizeof *back * (size_t)shape->rank))
    wrong("another index on a device", shape);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length) {
  source from;
  sett_tile_shape shape, turned;
  sett_tile_plan plan, turned_plan;
  sett_tile_answer answer;
  int64_t index[SETT_TILE_MAX_RANK] = {0}, other[SETT_TILE_MAX_RANK];
  int32_t permutation[SETT_TILE_MAX_RANK] = {0};
  int64_t end;
  int i, k;
  from.data = data;
  from.size = length;
  shape = make(&from);
  if (shape.error) return 0;
  ++good;
  plan = sett_tile_prepare(&shape);
  if (plan.error) wrong("a checked shape has no plan", &shape);
  if (plan.positions < sett_tile_elements(&shape)) wrong("less memory than elements", &shape);
  end = sett_tile_data_positions(&plan);
  if (end < 0 && !plan.coupled) wrong("no end of the data", &shape);
  for (k = 0; k < 4 && plan.span > 0; ++k) {
    int64_t position = (int64_t)(take(&from, 8) % (uint64_t)plan.positions);
    int found = sett_tile_element(&plan, position, index);
    if (found && sett_tile_position(&plan, index) != position) wrong("not the position", &shape);
    if (found) there_and_back(&shape, &plan, end, index);
    for (i = 0; i < shape.rank; ++i)
      index[i] = k == 0 ? shape.dims[i] - 1 : shape.dims[i] ? (int64_t)(take(&from, 8) % (uint64_t)shape.dims[i]) : 0;
    if (sett_tile_elements(&shape) > 0) there_and_back(&shape, &plan, end, index);
  }
  answer = sett_tile_same_bytes(&shape, &shape);
  if (answer.no) wrong("not the same bytes as itself", &shape);
  for (i = 0; i < shape.rank; ++i) {
    int j = (int)take(&from, 1) % (i + 1);
    permutation[i] = permutation[j];
    permutation[j] = i;
  }
  turned = sett_tile_permute(&shape, permutation);
  turned_plan = sett_tile_prepare(&turned);
  for (i = 0; i < shape.rank; ++i) other[i] = index[permutation[i]];
  if (sett_tile_position(&turned_plan, other) != sett_tile_position(&plan, index))
    wrong("permuted dimensions move bytes", &shape);
  answer = sett_tile_transpose_is_bitcast(&shape, &turned, permutation, SETT_TILE_SAME_TYPE);
  if (answer.no) wrong("permuted dimensions are no bitcast", &shape);
  return 0;
}

#ifndef SETT_LIBFUZZER
static size_t draw(char *bytes, size_t capacity) {
  size_t i, count = capacity < 128 ? capacity : 128;
  for (i = 0; i < count; ++i) bytes[i] = (char)next(256);
  return count;
}

int main(int argc, char **argv) { return fuzz(argc, argv, "tile_round_trip_fuzz", draw); }
#endif
