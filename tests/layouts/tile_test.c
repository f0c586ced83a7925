/* Test the laws of sett_tile.h by enumeration. The oracle is the definition: loops pad, reshape and transpose an array
 * of element numbers. These loops share no code with the header. Run: tile_test [LAYOUTS [SEED]]. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../include/sett_tile.h"

enum { CELLS = 1 << 14, DIMS = 64 };

static uint64_t state = 5;

static int below(int limit) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (int)((state >> 33) % (uint64_t)limit);
}

static char said[1024]; /* text of the shapes in the current test */

#define CHECK(condition, ...)                              \
  do {                                                     \
    if (!(condition)) {                                    \
      printf("FAIL %s:%d %s: ", __FILE__, __LINE__, said); \
      printf(__VA_ARGS__);                                 \
      printf("\n");                                        \
      exit(1);                                             \
    }                                                      \
  } while (0)

/* ---- the model -------------------------------------------------------------------------------------------------- */

/* Compare doubles as stored in memory, because x87 registers hold more bits. */
static int same_double(double a, double b) {
  volatile double stored[2];
  stored[0] = a;
  stored[1] = b;
  return stored[0] == stored[1];
}

/* An array in row-major order. A cell has the row-major number of an element in the logical shape, or -1 for padding.
 */
typedef struct {
  int rank, count;
  int dims[DIMS];
  int cell[CELLS];
} array;

static int product(const int *dims, int rank) {
  int i, result = 1;
  for (i = 0; i < rank; ++i) {
    result *= dims[i];
    if (result > CELLS) return CELLS + 1;
  }
  return result;
}

/* Return the row-major position of an index. */
static int place(const int *dims, int rank, const int *index) {
  int i, at = 0;
  for (i = 0; i < rank; ++i) at = at * dims[i] + index[i];
  return at;
}

static void unplace(const int *dims, int rank, int at, int *index) {
  int i;
  for (i = rank; i-- > 0;) {
    index[i] = at % dims[i];
    at /= dims[i];
  }
}

static int pad(array *a, const int *dims) {
  static array old;
  int i, at, index[DIMS];
  old = *a;
  memcpy(a->dims, dims, sizeof *dims * (size_t)a->rank);
  a->count = product(dims, a->rank);
  if (a->count > CELLS) return 0;
  for (i = 0; i < a->count; ++i) {
    int inside = 1;
    unplace(a->dims, a->rank, i, index);
    for (at = 0; at < a->rank; ++at) inside &= index[at] < old.dims[at];
    a->cell[i] = inside ? old.cell[place(old.dims, old.rank, index)] : -1;
  }
  return 1;
}

static void reshape(array *a, const int *dims, int rank) {
  a->rank = rank;
  memcpy(a->dims, dims, sizeof *dims * (size_t)rank);
}

/* Transpose: dimension i of the result is dimension order[i]. */
static void transpose(array *a, const int *order) {
  static array old;
  int i, at, index[DIMS], from[DIMS];
  old = *a;
  for (i = 0; i < a->rank; ++i) a->dims[i] = old.dims[order[i]];
  for (at = 0; at < a->count; ++at) {
    unplace(a->dims, a->rank, at, index);
    for (i = 0; i < a->rank; ++i) from[order[i]] = index[i];
    a->cell[at] = old.cell[place(old.dims, old.rank, from)];
  }
}

/* Compute the element at each position, and compare each step with sett_tile_stage unless plan is NULL. Return 0 if the
 * array is too large to enumerate. */
static int model(const sett_tile_shape *shape, array *a, const sett_tile_plan *plan) {
  int i, t, at = 0, order[DIMS], dims[DIMS];
  a->rank = shape->rank;
  for (i = 0; i < shape->rank; ++i) a->dims[i] = (int)shape->dims[i];
  a->count = product(a->dims, a->rank);
  if (a->count > CELLS) return 0;
  for (i = 0; i < a->count; ++i) a->cell[i] = i;
  for (i = 0; i < shape->rank; ++i) order[i] = shape->minor_to_major[shape->rank - 1 - i];
  transpose(a, order);
  for (t = 0; t < shape->tiles; at += shape->tile_rank[t++]) {
    int k = shape->tile_rank[t], front, sizes[DIMS], cut = 0, count = 0, merged = 1, stage;
    while (a->rank < k) { /* add dimensions of 1 in front */
      memmove(a->dims + 1, a->dims, sizeof *a->dims * (size_t)a->rank);
      a->dims[0] = 1;
      ++a->rank;
    }
    front = a->rank - k;
    for (i = 0; i < front; ++i) dims[count++] = a->dims[i];
    for (i = 0; i < k; ++i) { /* a * merges a dimension into the next one */
      merged *= a->dims[front + i];
      if (shape->tile[at + i] == SETT_TILE_COMBINE) continue;
      sizes[cut++] = (int)shape->tile[at + i];
      dims[count++] = merged;
      merged = 1;
    }
    reshape(a, dims, count);
    for (stage = SETT_TILE_COMBINED; stage <= SETT_TILE_TRANSPOSED; ++stage) {
      if (stage == SETT_TILE_PADDED) {
        for (i = 0; i < cut; ++i) dims[front + i] = (a->dims[front + i] + sizes[i] - 1) / sizes[i] * sizes[i];
        if (!pad(a, dims)) return 0;
      } else if (stage == SETT_TILE_RESHAPED) {
        for (i = 0, count = front; i < cut; ++i) {
          dims[count++] = a->dims[front + i] / sizes[i];
          dims[count++] = sizes[i];
        }
        reshape(a, dims, count);
      } else if (stage == SETT_TILE_TRANSPOSED) {
        for (i = 0; i < front; ++i) order[i] = i;
        for (i = 0; i < cut; ++i) order[front + i] = front + 2 * i;
        for (i = 0; i < cut; ++i) order[front + cut + i] = front + 2 * i + 1;
        transpose(a, order);
      }
      if (plan) {
        int64_t list[SETT_TILE_MAX_LIST];
        int length = sett_tile_stage(plan, t, stage, list);
        CHECK(length == a->rank, "tile %d stage %d has %d dimensions, not %d", t, stage, length, a->rank);
        for (i = 0; i < length; ++i)
          CHECK(list[i] == a->dims[i], "tile %d stage %d dimension %d: %d, not %d", t, stage, i, (int)list[i],
                a->dims[i]);
      }
    }
  }
  if (shape->tail > 1 && a->count > 0) {
    int whole = (a->count + (int)shape->tail - 1) / (int)shape->tail * (int)shape->tail;
    if (whole > CELLS) return 0;
    for (i = a->count; i < whole; ++i) a->cell[i] = -1;
    a->count = whole;
  }
  return 1;
}

/* ---- random layouts ---------------------------------------------------------------------------------------------- */

static void draw_order(sett_tile_shape *shape) {
  int i;
  for (i = shape->rank; i-- > 1;) {
    int j = below(i + 1);
    int32_t swap = shape->minor_to_major[i];
    shape->minor_to_major[i] = shape->minor_to_major[j];
    shape->minor_to_major[j] = swap;
  }
}

static void draw_tiles(sett_tile_shape *shape, int most) {
  static const int sizes[] = {1, 2, 2, 2, 3, 4, 4, 5, 6, 8};
  int tiles = below(most + 1), i;
  while (tiles-- > 0) {
    int64_t tile[4];
    int k = 1 + below(below(4) ? 2 : 4);
    for (i = 0; i < k; ++i) tile[i] = i + 1 < k && below(5) == 0 ? SETT_TILE_COMBINE : sizes[below(10)];
    *shape = sett_tile_add_tile(shape, k, tile);
  }
}

static sett_tile_shape draw(void) {
  int64_t dims[5];
  int rank = below(5), i;
  sett_tile_shape shape;
  for (i = 0; i < rank; ++i) dims[i] = below(12) == 0 ? 0 : 1 + below(below(3) ? 9 : 3);
  shape = sett_tile_make(SETT_TILE_F32, rank, dims, NULL);
  draw_order(&shape);
  draw_tiles(&shape, 3);
  if (below(6) == 0) shape.tail = 1 + below(9);
  return shape;
}

/* Draw one to three dimensions with two or three tiles and many *, so that a later tile often merges what an earlier
 * tile split. */
static sett_tile_shape draw_combined(void) {
  int64_t dims[3];
  int rank = 1 + below(3), tiles = 2 + below(2), i;
  sett_tile_shape shape;
  for (i = 0; i < rank; ++i) dims[i] = 1 + below(below(2) ? 4 : rank == 1 ? 60 : 12);
  shape = sett_tile_make(SETT_TILE_F32, rank, dims, NULL);
  draw_order(&shape);
  while (tiles-- > 0) {
    int64_t tile[5];
    int k = 1 + below(below(3) ? 3 : 5);
    for (i = 0; i < k; ++i) tile[i] = i + 1 < k && below(2) ? SETT_TILE_COMBINE : 1 + below(below(2) ? 4 : 12);
    shape = sett_tile_add_tile(&shape, k, tile);
  }
  return shape;
}

/* Return another shape that may have the same bytes as `shape`: the prime factors of the sizes are divided between the
 * dimensions in another way, and the tiles may differ. */
static sett_tile_shape relative(const sett_tile_shape *shape) {
  sett_tile_shape other = *shape;
  int64_t dims[12];
  int i, rank = 0;
  if (below(3)) { /* split sizes into factors, and merge them at random */
    for (i = 0; i < shape->rank && rank < 8; ++i) {
      int64_t n = shape->dims[i], p = 2 + below(3);
      if (n > 1 && n % p == 0 && below(2)) {
        dims[rank++] = p;
        n /= p;
      }
      if (rank > 0 && below(3) == 0) dims[rank - 1] *= n;
      else dims[rank++] = n;
    }
    if (below(4) == 0) dims[rank++] = 1;
    other = sett_tile_make(shape->type, rank, dims, NULL);
    if (below(2)) draw_order(&other);
    if (below(3)) {
      for (i = 0, rank = 0; i < shape->tiles; rank += shape->tile_rank[i++])
        other = sett_tile_add_tile(&other, shape->tile_rank[i], shape->tile + rank);
    } else {
      draw_tiles(&other, 2);
    }
    other.tail = shape->tail;
    return other;
  }
  if (below(2)) draw_order(&other);
  if (below(2)) other.tiles = 0;
  if (below(2)) draw_tiles(&other, 2);
  return other;
}

static void say(const sett_tile_shape *a, const sett_tile_shape *b) {
  size_t used = sett_tile_print(a, said, sizeof said / 2);
  if (!b) return;
  memcpy(said + used, " and ", 5);
  sett_tile_print(b, said + used + 5, sizeof said / 2);
}

static int small(const sett_tile_shape *shape) {
  return !sett_tile_check(shape).error && sett_tile_positions(shape) <= CELLS;
}

/* ---- positions -------------------------------------------------------------------------------------------------- */

/* Write the index of element k. */
static void index_of(const sett_tile_shape *shape, int k, int64_t *index) {
  int i;
  for (i = shape->rank; i-- > 0; k /= (int)shape->dims[i]) index[i] = k % shape->dims[i];
}

static int coupled, combined, on_device; /* numbers of layouts of each kind */

/* Run the functions for devices on the host. */
static void check_device(const sett_tile_plan *plan, const array *a, const sett_tile_shape *shape) {
  sett_tile_device_plan device = sett_tile_device(plan);
  int64_t index[SETT_TILE_DEVICE_RANK], expected[SETT_TILE_MAX_RANK];
  int at, i;
  CHECK(!device.error || device.error == SETT_TILE_ERROR_DEVICE, "device error %d", (int)device.error);
  if (device.error) return;
  for (at = 0; at < a->count; ++at) {
    int found = sett_tile_device_element(device, at, index);
    CHECK(found == (a->cell[at] >= 0), "device: position %d: %d", at, found);
    if (!found) continue;
    index_of(shape, a->cell[at], expected);
    for (i = 0; i < shape->rank; ++i) CHECK(index[i] == expected[i], "device: position %d has another element", at);
    CHECK(sett_tile_device_position(device, index) == at, "device: position %d is not found back", at);
  }
  ++on_device;
}

static int check_positions(void) {
  static array a;
  sett_tile_shape shape = below(4) ? draw() : draw_combined();
  sett_tile_plan plan = sett_tile_prepare(&shape);
  int64_t index[SETT_TILE_MAX_RANK];
  int at, elements = 0, last = 0, bits = 1 + below(40), i;
  say(&shape, NULL);
  if (!small(&shape) || !model(&shape, &a, &plan)) return 0;
  CHECK(plan.positions == a.count, "%d positions, not %d", (int)plan.positions, a.count);
  for (at = 0; at < a.count; ++at) {
    int found = sett_tile_element(&plan, at, index);
    CHECK(found == (a.cell[at] >= 0), "position %d: %d", at, found);
    if (!found) continue;
    for (i = 0; i < shape.rank; ++i) CHECK(index[i] >= 0 && index[i] < shape.dims[i], "position %d: index outside", at);
    index_of(&shape, a.cell[at], index);
    CHECK(sett_tile_position(&plan, index) == at, "element %d at %d, not %d", a.cell[at],
          (int)sett_tile_position(&plan, index), at);
    sett_tile_element(&plan, at, index);
    CHECK(sett_tile_position(&plan, index) == at, "position %d and back: %d", at,
          (int)sett_tile_position(&plan, index));
    ++elements;
    last = at + 1;
  }
  CHECK(elements == sett_tile_elements(&shape), "%d elements", elements);
  CHECK(sett_tile_data_positions(&plan) == last, "data ends at %d, not %d", (int)sett_tile_data_positions(&plan), last);
  CHECK(!sett_tile_element(&plan, a.count, index), "an element behind the end");
  CHECK(!sett_tile_element(&plan, -1, index), "an element before the start");
  for (i = 0; i < shape.rank; ++i) {
    memset(index, 0, sizeof index);
    index[i] = shape.dims[i];
    CHECK(sett_tile_position(&plan, index) == SETT_TILE_UNKNOWN, "a position of an index outside");
    index[i] = -1;
    CHECK(sett_tile_position(&plan, index) == SETT_TILE_UNKNOWN, "a position of a negative index");
  }
  CHECK(same_double(sett_tile_padding(&shape), a.count ? (double)(a.count - elements) / a.count : 0), "padding %g",
        sett_tile_padding(&shape));
  check_device(&plan, &a, &shape);
  /* packed elements: compare the memory bit by bit */
  shape.packed = bits;
  CHECK(sett_tile_bytes(&shape) == (a.count * bits + 7) / 8, "%d bytes", (int)sett_tile_bytes(&shape));
  for (at = 0; at < a.count; ++at) {
    sett_tile_place there = sett_tile_place_of(&shape, at);
    CHECK(there.byte == at * bits / 8 && there.shift == at * bits % 8 && there.bits == bits, "bits of position %d", at);
  }
  coupled += plan.coupled;
  for (i = 0, at = 0; i < shape.tiles; at += shape.tile_rank[i++]) combined += shape.tile[at] == SETT_TILE_COMBINE;
  return shape.tiles > 0;
}

static int strides_of_steps[2], strides_of_tiles[2]; /* [0]: number of shapes without strides, [1]: with strides */

/* If the header states strides, index * stride gives the place of every element. If the header states none, there are
 * no such strides. */
static int check_strides(int is_combined) {
  static array a;
  sett_tile_shape shape = is_combined ? draw_combined() : draw();
  sett_tile_plan plan = sett_tile_prepare(&shape);
  sett_tile_answer answer;
  int64_t strides[SETT_TILE_MAX_RANK], index[SETT_TILE_MAX_RANK];
  int64_t first = -1; /* the first element, in row-major order, that the strides miss */
  int i, at, linear = 1, joined = 0, unit[SETT_TILE_MAX_RANK];
  say(&shape, NULL);
  if (!small(&shape) || !model(&shape, &a, NULL)) return 0;
  answer = sett_tile_byte_strides(&shape, strides);
  memset(unit, 0, sizeof unit);
  for (at = 0; at < a.count; ++at) {
    int nonzero = 0, which = 0;
    if (a.cell[at] < 0) continue;
    index_of(&shape, a.cell[at], index);
    for (i = 0; i < shape.rank; ++i)
      if (index[i]) {
        ++nonzero;
        which = i;
      }
    if (nonzero == 1 && index[which] == 1) unit[which] = at;
  }
  for (at = 0; at < a.count; ++at) {
    int64_t sum = 0, bytes = 0;
    if (a.cell[at] < 0) continue;
    index_of(&shape, a.cell[at], index);
    for (i = 0; i < shape.rank; ++i) sum += index[i] * unit[i];
    linear &= sum == at;
    if (sum != at && (first < 0 || a.cell[at] < first)) first = a.cell[at];
    CHECK(answer.yes || answer.element != a.cell[at] || (sum != at && answer.a == at && answer.b == sum),
          "the witness, element %d, is said to be at %d and strides to lead to %d", a.cell[at], (int)answer.a,
          (int)answer.b);
    for (i = 0; answer.yes && i < shape.rank; ++i) bytes += index[i] * strides[i];
    CHECK(!answer.yes || bytes == 4 * at, "strides lead to byte %d, not %d", (int)bytes, 4 * at);
  }
  CHECK(answer.yes == linear && answer.no == !linear, "strides given: %d, possible: %d", answer.yes, linear);
  CHECK(linear || (answer.reason == SETT_TILE_NO_STRIDE && a.cell[answer.a] == answer.element), "the witness is wrong");
  for (i = 0; i < SETT_TILE_MAX_TILE_DIMS; ++i) joined |= shape.tile[i] == SETT_TILE_COMBINE;
  CHECK(linear || joined || answer.element == first, "the witness is element %d, the first is %d", (int)answer.element,
        (int)first);
  ++(plan.coupled ? strides_of_tiles : strides_of_steps)[linear];
  shape.packed = 12;
  CHECK(sett_tile_byte_strides(&shape, strides).no, "byte strides of elements of 12 bits");
  return 1;
}

/* ---- iterators -------------------------------------------------------------------------------------------------- */

/* number of iterators that count in digits common to both layouts; number of iterators that divide instead, because
 * there are no common digits; number of slices tested on a device */
static int by_digits, by_division, device_slices;
static int elsewhere[CELLS]; /* the position of each element in the other layout */

/* Check that the iterator's element is the next one at or after position `from`. Return the position after it. */
static int check_next(const array *a, const sett_tile_shape *shape, int from, int64_t at, int64_t other, int64_t gap,
                      const int64_t *index) {
  int64_t expected[SETT_TILE_MAX_RANK];
  int i, next = from;
  while (next < a->count && a->cell[next] < 0) ++next;
  CHECK(next < a->count, "an element behind the last one, at %d", (int)at);
  CHECK(at == next && gap == next - from, "an element at %d behind %d of padding, not at %d behind %d", (int)at,
        (int)gap, next, next - from);
  CHECK(other == elsewhere[a->cell[next]], "position %d is %d in the other layout, not %d", next, (int)other,
        elsewhere[a->cell[next]]);
  index_of(shape, a->cell[next], expected);
  for (i = 0; index && i < shape->rank; ++i) CHECK(index[i] == expected[i], "position %d has another index", next);
  return next + 1;
}

/* Check that a slice ends only after its last element. */
static void check_end(const array *a, int from, int last, int64_t at, int64_t other, int64_t gap, const int64_t *index,
                      int rank) {
  int i;
  CHECK(at == last && gap == last - from && other == -1, "the end is at %d behind %d of padding, not at %d behind %d",
        (int)at, (int)gap, last, last - from);
  for (i = 0; i < rank; ++i) CHECK(index[i] == -1, "an index at the end");
  for (; from < last; ++from) CHECK(a->cell[from] < 0, "the element at position %d is left out", from);
}

/* Check a slice with an iterator that moves by elements (0), by runs (1), or alternately (2). */
static void check_slice(const array *a, const sett_tile_shape *shape, sett_tile_iterator *it, int first, int last,
                        int way) {
  int from = first, k;
  sett_tile_slice(it, first, last);
  for (;;) {
    int by_run = way == 2 ? below(2) : way;
    for (k = 1; by_run && k < it->run; ++k)
      from = check_next(a, shape, from, it->at + k * it->at_stride, it->other + k * it->other_stride, it->at_stride - 1,
                        NULL);
    if (!(by_run ? sett_tile_advance_run(it) : sett_tile_advance(it))) break;
    from = check_next(a, shape, from, it->at, it->other, it->gap, it->index);
    CHECK(it->at < last && it->at + (it->run - 1) * it->at_stride < last, "a run reaches behind the slice");
  }
  check_end(a, from, last, it->at, it->other, it->gap, it->index, shape->rank);
  CHECK(!sett_tile_advance(it) && !sett_tile_advance_run(it) && it->run == 0, "more behind the end");
}

static void check_device_slice(const array *a, const sett_tile_shape *shape, sett_tile_device_iterator *it, int first,
                               int last, int way) {
  int from = first, k;
  sett_tile_device_slice(it, first, last);
  while (way ? sett_tile_device_advance_run(it) : sett_tile_device_advance(it)) {
    from = check_next(a, shape, from, it->at, it->other, it->gap, it->index);
    for (k = 1; way && k < it->run; ++k)
      from = check_next(a, shape, from, it->at + k * it->at_stride, it->other + k * it->other_stride, it->at_stride - 1,
                        NULL);
  }
  check_end(a, from, last, it->at, it->other, it->gap, it->index, shape->rank);
  ++device_slices;
}

/* Check iterators over two layouts of the same dimensions: over all elements, and over slices that together cover all
 * positions. */
static int check_iterator(void) {
  static array a, b;
  sett_tile_shape order = below(4) ? draw() : draw_combined(), other = order;
  sett_tile_plan order_plan, other_plan;
  sett_tile_iterator it;
  sett_tile_device_iterator device;
  int at, way;
  other.tail = below(3);
  if (below(4)) other.tiles = 0;
  if (below(2)) draw_order(&other);
  if (below(2)) draw_tiles(&other, 2);
  say(&order, &other);
  if (!small(&order) || !small(&other) || !model(&order, &a, NULL) || !model(&other, &b, NULL)) return 0;
  for (at = 0; at < b.count; ++at)
    if (b.cell[at] >= 0) elsewhere[b.cell[at]] = at;
  order_plan = sett_tile_prepare(&order);
  other_plan = sett_tile_prepare(&other);
  it = sett_tile_iterate(&order_plan, &other_plan);
  device = sett_tile_device_iterate(&order_plan, &other_plan);
  CHECK(!it.error &&
            (!device.error || device.error == SETT_TILE_ERROR_DEVICE || device.error == SETT_TILE_ERROR_DIVIDE),
        "an error");
  for (at = 0; sett_tile_advance(&it);) at = check_next(&a, &order, at, it.at, it.other, it.gap, it.index);
  check_end(&a, at, a.count, it.at, it.other, it.gap, it.index, order.rank);
  for (way = 0; way < 3; ++way) {
    int first = 0, last;
    for (; first < a.count; first = last) {
      last = first + 1 + below(below(3) ? 9 : a.count);
      if (last > a.count) last = a.count;
      check_slice(&a, &order, &it, first, last, way);
      if (!device.error) check_device_slice(&a, &order, &device, first, last, way);
    }
  }
  ++*(it.loops ? &by_digits : &by_division);
  return a.count > 1;
}

/* Check slices of arrays that are too large to enumerate: compare the iterator with sett_tile_element and
 * sett_tile_position. */
static void check_large_slices(void) {
  static const char *const pairs[][2] = {
      {"bf16[1099511627776,1024]{1,0:T(8,128)(2,1)}", "bf16[1099511627776,1024]{1,0}"},
      {"bf16[1099511627773,1021]{1,0}", "bf16[1099511627773,1021]{0,1:T(8,128)(2,1)}"},
      {"u8[9223372036854775807]{0}", "u8[9223372036854775807]{0}"},
      {"u8[9223372036854775807]{0}", "u8[9223372036854775807]{0:T(7)(7)}"},
      {"u8[9223372036854775800]{0:T(4)(2,1)}", "u8[9223372036854775800]{0:T(5)}"},
      {"u8[3,1]{1,0:T(2,1152921504606846976)}", "u8[3,1]{0,1:T(1152921504606846976,2)}"},
  };
  size_t i;
  for (i = 0; i < sizeof pairs / sizeof *pairs; ++i) {
    sett_tile_shape order = sett_tile_parse(pairs[i][0], strlen(pairs[i][0])),
                    other = sett_tile_parse(pairs[i][1], strlen(pairs[i][1]));
    sett_tile_plan order_plan = sett_tile_prepare(&order), other_plan = sett_tile_prepare(&other);
    sett_tile_iterator it = sett_tile_iterate(&order_plan, &other_plan);
    int k, d;
    memcpy(said, pairs[i][0], strlen(pairs[i][0]) + 1);
    CHECK(!it.error, "%s", sett_tile_message(it.error));
    for (k = 0; k < 100; ++k) {
      int64_t last = order_plan.positions - (k == 0 ? 0 : (int64_t)below(1 << 30) * (order_plan.positions >> 30)), at,
              index[SETT_TILE_MAX_RANK];
      int64_t from = last < 300 ? 0 : last - 300;
      sett_tile_slice(&it, from, last);
      for (at = from; at < last; ++at) {
        if (!sett_tile_element(&order_plan, at, index)) continue;
        CHECK(sett_tile_advance(&it) && it.at == at && it.gap == at - from &&
                  it.other == sett_tile_position(&other_plan, index),
              "position %lld", (long long)at);
        for (d = 0; d < order.rank; ++d)
          CHECK(it.index[d] == index[d], "another index at position %lld", (long long)at);
        from = at + 1;
      }
      CHECK(!sett_tile_advance(&it) && it.at == last && it.gap == last - from, "more behind position %lld",
            (long long)last);
    }
  }
}

/* Check slices beyond the array, empty slices, layouts with other dimensions, and failed shapes. */
static void check_iterator_ends(void) {
  static const char *const others[] = {"f32[5,3]", "f32[15]", "f32[3,5,1]",
                                       "token[]",  "f32[3,",  "f32[3,5]{1,0:SC(0:1)}"};
  static const int errors[] = {SETT_TILE_ERROR_DIMS,  SETT_TILE_ERROR_DIMS, SETT_TILE_ERROR_DIMS,
                               SETT_TILE_ERROR_ARRAY, SETT_TILE_ERROR_DIM,  SETT_TILE_ERROR_SPLIT};
  sett_tile_shape shape = sett_tile_parse("f32[3,5]{1,0:T(2,2)}", 20), other;
  sett_tile_plan plan = sett_tile_prepare(&shape), second;
  sett_tile_iterator it = sett_tile_iterate(&plan, &plan);
  sett_tile_device_iterator device;
  int i, count;
  sett_tile_slice(&it, -7, 1000);
  for (count = 0; sett_tile_advance(&it); ++count) CHECK(it.at == it.other, "one layout, two positions");
  CHECK(count == 15 && it.at == 24, "%d elements of 15, to %d", count, (int)it.at);
  sett_tile_slice(&it, 20, 20);
  CHECK(!sett_tile_advance(&it) && it.gap == 0 && it.at == 20, "an empty slice");
  sett_tile_slice(&it, 21, 4);
  CHECK(!sett_tile_advance(&it) && it.gap == 0, "a slice that ends before it starts");
  sett_tile_slice(&it, -9, -4);
  CHECK(!sett_tile_advance(&it) && it.gap == 0 && it.at == 0, "a slice in front of the array");
  for (i = 0; i < 6; ++i) {
    other = sett_tile_parse(others[i], strlen(others[i]));
    second = sett_tile_prepare(&other);
    it = sett_tile_iterate(&plan, &second);
    CHECK(it.error == errors[i], "%s: %s", others[i], sett_tile_message(it.error));
    sett_tile_slice(&it, 0, 10);
    CHECK(!sett_tile_advance(&it) && !sett_tile_advance_run(&it) && it.at == -1 && it.other == -1 && it.gap == -1 &&
              it.index[0] == -1,
          "%s has elements", others[i]);
    it = sett_tile_iterate(&second, &plan);
    CHECK(it.error == errors[i], "%s first: %s", others[i], sett_tile_message(it.error));
    device = sett_tile_device_iterate(&plan, &second);
    sett_tile_device_slice(&device, 0, 10);
    CHECK(device.error == errors[i] && !sett_tile_device_advance(&device), "%s on a device", others[i]);
  }
}

/* ---- splits ----------------------------------------------------------------------------------------------------- */

/* Split some dimensions. */
static void draw_splits(sett_tile_shape *shape) {
  int i, used = 0;
  for (i = 0; i < shape->rank; ++i) {
    int64_t size = shape->dims[shape->minor_to_major[shape->rank - 1 - i]], next = 1;
    if (below(2)) continue;
    shape->split_dim[shape->splits] = i;
    while (used < 6 && below(3) && (next += below(3)) < size) {
      shape->split[used++] = next++;
      ++shape->split_count[shape->splits];
    }
    ++shape->splits;
  }
}

/* Return the part of a split array that an index belongs to, by counting the splits up to the index. Write the index
 * within the part. */
static int part_of(const sett_tile_shape *shape, const int64_t *index, int64_t *local) {
  int i, j, used = 0, number = 0;
  memcpy(local, index, sizeof *local * (size_t)shape->rank);
  for (i = 0; i < shape->splits; used += shape->split_count[i++]) {
    int d = shape->minor_to_major[shape->rank - 1 - shape->split_dim[i]], passed = 0;
    for (j = 0; j < shape->split_count[i]; ++j)
      if (index[d] >= shape->split[used + j]) {
        ++passed;
        local[d] = index[d] - shape->split[used + j];
      }
    number = number * (shape->split_count[i] + 1) + passed;
  }
  return number;
}

static int check_splits(void) {
  sett_tile_shape shape = draw(), part;
  sett_tile_plan plan;
  int64_t index[SETT_TILE_MAX_RANK], local[SETT_TILE_MAX_RANK], back[SETT_TILE_MAX_RANK], largest[SETT_TILE_MAX_RANK];
  static char seen[CELLS];
  int k, i, elements;
  draw_splits(&shape);
  say(&shape, NULL);
  elements = (int)sett_tile_elements(&shape);
  part = sett_tile_part_shape(&shape);
  plan = sett_tile_prepare(&part);
  if (elements == 0 || !small(&part) || plan.positions * sett_tile_parts(&shape) > CELLS) return 0;
  memset(seen, 0, sizeof seen);
  memset(largest, 0, sizeof largest);
  for (k = 0; k < elements; ++k) {
    int64_t which, position, number;
    index_of(&shape, k, index);
    number = part_of(&shape, index, back);
    which = sett_tile_part(&shape, index, local);
    CHECK(which == number && which < sett_tile_parts(&shape), "element %d: part %d, not %d", k, (int)which,
          (int)number);
    CHECK(!memcmp(local, back, sizeof *local * (size_t)shape.rank), "element %d: another index in its part", k);
    for (i = 0; i < shape.rank; ++i)
      if (local[i] + 1 > largest[i]) largest[i] = local[i] + 1;
    position = sett_tile_position(&plan, local);
    CHECK(position >= 0, "element %d has no position in its part", k);
    CHECK(!seen[which * plan.positions + position]++, "element %d shares its place", k);
    CHECK(sett_tile_whole(&shape, which, local, back), "element %d: no way back", k);
    for (i = 0; i < shape.rank; ++i) CHECK(back[i] == index[i], "element %d: another on the way back", k);
  }
  for (i = 0; i < shape.rank; ++i) CHECK(largest[i] == part.dims[i], "the largest part has %d", (int)part.dims[i]);
  CHECK(sett_tile_positions(&shape) == plan.positions && sett_tile_bytes(&shape) == 4 * plan.positions, "size");
  return shape.splits > 0;
}

/* ---- relations -------------------------------------------------------------------------------------------------- */

/* Write the array's memory bit by bit: element * bits + number of the bit, or -1 for padding. Return the number of
 * bytes. */
static int memory(const array *a, int bits, const int *number, int *bit) {
  int bytes = (a->count * bits + 7) / 8, at, i;
  for (at = a->count * bits; at < 8 * bytes; ++at) bit[at] = -1;
  for (at = 0; at < a->count; ++at)
    for (i = 0; i < bits; ++i) {
      int cell = a->cell[at];
      if (number && cell >= 0) cell = number[cell];
      bit[at * bits + i] = cell < 0 ? -1 : cell * bits + i;
    }
  return bytes;
}

/* Bits of an element in the current test. Types of whole bytes have 8, whatever their size, because only the order of
 * their elements is compared. */
static int element_bits = 8;

/* Return 1 if both arrays have the same elements in the same bits. number[e]: the element of `b` that element e of
 * `a` must equal; if `number` is NULL, it is element e. */
static int same(const array *a, const array *b, const int *number) {
  static int one[16 * CELLS], other[16 * CELLS];
  int bytes = memory(a, element_bits, number, one);
  return bytes == memory(b, element_bits, NULL, other) && !memcmp(one, other, sizeof *one * 8 * (size_t)bytes);
}

/* tails: number of answers "yes" for two arrays with different numbers of positions */
static int answers[2], transposes, thirds, aligned[2], tails;

static void check_reason(const sett_tile_answer *answer, const array *a, const array *b) {
  char text[256];
  sett_tile_answer_print(answer, text, sizeof text);
  CHECK(!strncmp(text, answer->yes ? "yes" : "no: ", 3), "said %s", text);
  if (answer->reason != SETT_TILE_NO_POSITION) return;
  CHECK(a->cell[answer->a] == answer->element && b->cell[answer->b] == answer->element && answer->a != answer->b,
        "the witness is wrong: %s", text);
}

static int factorial(int n) { return n < 2 ? 1 : n * factorial(n - 1); }

/* Write the t-th permutation of `rank` dimensions, t < rank!. */
static void nth_permutation(int t, int rank, int32_t *permutation) {
  uint32_t used = 0;
  int i;
  for (i = 0; i < rank; ++i) {
    int nth = t % (rank - i), d;
    t /= rank - i;
    for (d = 0;; ++d)
      if (!(used >> d & 1) && nth-- == 0) break;
    used |= (uint32_t)1 << d;
    permutation[i] = d;
  }
}

/* Write which element of `to` each element of `from` becomes in a transpose. Return 0 if the dimensions do not agree.
 */
static int renumber(const sett_tile_shape *from, const sett_tile_shape *to, const int32_t *permutation, int *number) {
  int64_t index[SETT_TILE_MAX_RANK];
  int i, k;
  for (i = 0; i < from->rank; ++i)
    if (from->dims[permutation[i]] != to->dims[i]) return 0;
  for (k = 0; k < (int)sett_tile_elements(from); ++k) {
    index_of(from, k, index);
    for (i = 0, number[k] = 0; i < from->rank; ++i)
      number[k] = number[k] * (int)to->dims[i] + (int)index[permutation[i]];
  }
  return 1;
}

static void check_relations(void) {
  static array a, b, c;
  static int number[CELLS];
  sett_tile_shape one = below(8) ? draw() : draw_combined(), other = relative(&one), plain, turned;
  sett_tile_answer answer;
  sett_tile_decomposition parts;
  int32_t permutation[SETT_TILE_MAX_RANK];
  int64_t index[SETT_TILE_MAX_RANK], there[SETT_TILE_MAX_RANK];
  int i, k, truth, found = 0, elements = (int)sett_tile_elements(&one), place_to, dim;
  static const int widths[] = {1, 2, 3, 4, 4, 5, 6, 7, 12};
  one.packed = other.packed = below(2) ? widths[below(9)] : 0;
  element_bits = one.packed ? (int)one.packed : 8;
  say(&one, &other);
  if (!small(&one) || !small(&other) || !model(&one, &a, NULL) || !model(&other, &b, NULL)) return;
  /* a reshape of the first array to the second one */
  answer = sett_tile_same_bytes(&one, &other);
  truth = sett_tile_elements(&one) == sett_tile_elements(&other) && same(&a, &b, NULL);
  CHECK(answer.yes == truth && answer.no == !truth, "same bytes: %d, not %d", answer.yes, truth);
  check_reason(&answer, &a, &b);
  ++answers[truth];
  tails += truth && a.count != b.count;
  other.type = SETT_TILE_S32;
  CHECK(sett_tile_same_bytes(&one, &other).yes == truth, "the type is not compared");
  CHECK(sett_tile_reshape_is_bitcast(&one, &other, SETT_TILE_SAME_TYPE).no, "the type is compared");
  CHECK(sett_tile_reshape_is_bitcast(&one, &other, SETT_TILE_ANY_TYPE).yes == truth,
        "the same bytes are not, of any type");
  other.packed = 16;
  CHECK(sett_tile_reshape_is_bitcast(&one, &other, SETT_TILE_ANY_TYPE).yes == (truth && a.count == b.count),
        "positions alone are compared");
  CHECK(sett_tile_same_bytes(&one, &other).no, "elements of 16 bits are not others");
  other.packed = one.packed;
  other.type = one.type;
  /* no tiles */
  plain = one;
  plain.tiles = 0;
  model(&plain, &c, NULL);
  answer = sett_tile_tiling_is_noop(&one);
  CHECK(answer.yes == same(&a, &c, NULL), "tiling is a no-op: %d", answer.yes);
  /* another order of the dimensions with the same bytes */
  for (i = 0; i < one.rank; ++i) permutation[i] = i;
  for (i = one.rank; i-- > 1;) {
    int j = below(i + 1);
    int32_t swap = permutation[i];
    permutation[i] = permutation[j];
    permutation[j] = swap;
  }
  turned = sett_tile_permute(&one, permutation);
  model(&turned, &c, NULL);
  CHECK(renumber(&one, &turned, permutation, number) && same(&a, &c, number), "permute moves bytes");
  CHECK(sett_tile_transpose_is_bitcast(&one, &turned, permutation, SETT_TILE_SAME_BITS).yes, "permuted: not a bitcast");
  CHECK(sett_tile_find_transpose(&one, &turned, permutation, SETT_TILE_SAME_BITS).yes, "permuted: not found");
  /* any transpose, by trying all permutations */
  if (below(2) && one.rank == other.rank) other = below(2) ? turned : other;
  if (below(4) == 0) draw_order(&other);
  say(&one, &other);
  if (!small(&other) || !model(&other, &b, NULL)) return;
  if (one.rank == other.rank) {
    int tries = factorial(one.rank), t;
    for (t = 0; t < tries; ++t) {
      nth_permutation(t, one.rank, permutation);
      truth = renumber(&one, &other, permutation, number) && same(&a, &b, number);
      answer = sett_tile_transpose_is_bitcast(&one, &other, permutation, SETT_TILE_SAME_BITS);
      CHECK(answer.yes == truth && answer.no == !truth, "transpose is a bitcast: %d, not %d", answer.yes, truth);
      found |= truth;
    }
    answer = sett_tile_find_transpose(&one, &other, permutation, SETT_TILE_SAME_BITS);
    CHECK(answer.yes == found && answer.no == !found, "a transposition is found: %d, not %d", answer.yes, found);
    transposes += found;
  }
  /* a bitcast in three parts: transpose, reshape, transpose, each of which must keep the bytes */
  parts = sett_tile_decompose(&one, &other);
  CHECK(parts.answer.yes == (parts.form != SETT_TILE_NO_FORM), "a form without a yes");
  truth = sett_tile_elements(&one) == sett_tile_elements(&other) && same(&a, &b, NULL);
  if (truth) CHECK(parts.form == SETT_TILE_RESHAPE, "reshape not seen");
  else if (found) CHECK(parts.form == SETT_TILE_TRANSPOSE, "transposition not seen");
  if (parts.form == SETT_TILE_TRANSPOSE_RESHAPE_TRANSPOSE) {
    ++thirds;
    for (k = 0; k < elements; ++k) { /* each element passes through the three parts and keeps its position */
      sett_tile_plan plan = sett_tile_prepare(&one), last = sett_tile_prepare(&other);
      int middle = 0;
      index_of(&one, k, index);
      for (i = 0; i < one.rank; ++i) middle = middle * (int)one.dims[parts.first[i]] + (int)index[parts.first[i]];
      index_of(&parts.after, middle, index);
      for (i = 0; i < other.rank; ++i) there[i] = index[parts.second[i]];
      index_of(&one, k, index);
      CHECK(sett_tile_position(&plan, index) == sett_tile_position(&last, there), "element %d moves", k);
    }
  } else if (parts.form == SETT_TILE_NO_FORM && one.tiles == 0 && other.tiles == 0) {
    CHECK(a.count != b.count || sett_tile_elements(&one) != sett_tile_elements(&other),
          "untiled arrays of one size have a form");
  }
  /* an aligned layout is found if and only if some order of the dimensions gives one */
  turned = sett_tile_align(&one, other.rank, other.dims, &answer);
  if (sett_tile_elements(&one) == sett_tile_elements(&other)) {
    int tries = factorial(other.rank), t, any = 0;
    for (t = 0; t < tries && tries <= 720; ++t) {
      sett_tile_shape candidate = turned;
      nth_permutation(t, other.rank, candidate.minor_to_major);
      any |= small(&candidate) && model(&candidate, &c, NULL) && same(&a, &c, NULL);
    }
    if (tries <= 720) CHECK(answer.yes == any && answer.no == !any, "aligned: %d, not %d", answer.yes, any);
    if (answer.yes) CHECK(model(&turned, &c, NULL) && same(&a, &c, NULL), "aligned but not the same bytes");
    ++aligned[answer.yes];
  }
  /* move a dimension, and delete one */
  if (one.rank == 0) return;
  dim = below(one.rank);
  place_to = below(one.rank);
  turned = sett_tile_move(&one, dim, place_to);
  CHECK(!sett_tile_check(&turned).error && turned.minor_to_major[place_to] == dim, "moved to another place");
  for (i = 0, k = 0; i < one.rank; ++i) {
    if (one.minor_to_major[i] == dim) continue;
    k += k == place_to;
    CHECK(turned.minor_to_major[k++] == one.minor_to_major[i], "moving one dimension moved another");
  }
  turned = sett_tile_delete(&one, dim);
  CHECK(!sett_tile_check(&turned).error && turned.rank == one.rank - 1, "deleted badly");
  if (one.dims[dim] == 1 && small(&turned) && model(&turned, &c, NULL)) {
    answer = sett_tile_same_bytes(&one, &turned);
    CHECK(answer.yes == same(&a, &c, NULL), "bytes kept without dimension %d: %d", dim, answer.yes);
  }
}

/* ---- relations of split arrays ---------------------------------------------------------------------------------- */

static int split_answers[2], split_transposes;

/* Write the position of each element in the memories of all parts, one part after the other. Return the total number of
 * bits, or 0 if that is too large. */
static int split_places(const sett_tile_shape *shape, int *where) {
  static array a;
  static int at[CELLS];
  sett_tile_shape part = sett_tile_part_shape(shape);
  int64_t index[SETT_TILE_MAX_RANK], local[SETT_TILE_MAX_RANK];
  int k, i;
  if (!small(&part) || !model(&part, &a, NULL) || a.count == 0) return 0;
  for (k = 0; k < a.count; ++k)
    if (a.cell[k] >= 0) at[a.cell[k]] = k;
  for (k = 0; k < (int)sett_tile_elements(shape); ++k) {
    int number = 0, which;
    index_of(shape, k, index);
    which = part_of(shape, index, local);
    for (i = 0; i < shape->rank; ++i) number = number * (int)part.dims[i] + (int)local[i];
    where[k] = which * CELLS + at[number];
  }
  return (a.count * element_bits + 7) / 8;
}

static void check_split_relations(void) {
  static int one_at[CELLS], other_at[CELLS], number[CELLS];
  sett_tile_shape one = draw(), other;
  sett_tile_answer answer;
  sett_tile_decomposition parts;
  int32_t permutation[SETT_TILE_MAX_RANK];
  int t, k, bytes, other_bytes, truth, reshape_is, found = 0, tries = factorial(one.rank),
                                                   elements = (int)sett_tile_elements(&one);
  one.packed = below(2) ? 4 : 0;
  element_bits = one.packed ? 4 : 8;
  if (below(2)) draw_splits(&one);
  if (below(3)) {
    nth_permutation(below(tries), one.rank, permutation);
    other = sett_tile_permute(&one, permutation);
  } else {
    other = relative(&one);
    other.packed = one.packed;
    other.splits = 0;
    memset(other.split_count, 0, sizeof other.split_count);
    draw_splits(&other);
  }
  say(&one, &other);
  if (elements == 0 || elements > CELLS || sett_tile_elements(&other) != elements) return;
  bytes = split_places(&one, one_at);
  other_bytes = split_places(&other, other_at);
  if (bytes == 0 || other_bytes == 0) return;
  truth = bytes == other_bytes && sett_tile_parts(&one) == sett_tile_parts(&other);
  for (k = 0; k < elements; ++k) truth &= one_at[k] == other_at[k];
  answer = sett_tile_same_bytes(&one, &other);
  CHECK(answer.yes == truth && answer.no == !truth, "same bytes in parts: %d, not %d", answer.yes, truth);
  if (answer.reason == SETT_TILE_NO_PART)
    CHECK(one_at[answer.element] / CELLS == answer.a && other_at[answer.element] / CELLS == answer.b &&
              answer.a != answer.b,
          "the witness is wrong: element %d", (int)answer.element);
  ++split_answers[truth];
  reshape_is = truth;
  for (t = 0; t < tries && one.rank == other.rank; ++t) {
    nth_permutation(t, one.rank, permutation);
    truth = renumber(&one, &other, permutation, number) && bytes == other_bytes &&
            sett_tile_parts(&one) == sett_tile_parts(&other);
    for (k = 0; truth && k < elements; ++k) truth = one_at[k] == other_at[number[k]];
    answer = sett_tile_transpose_is_bitcast(&one, &other, permutation, SETT_TILE_SAME_BITS);
    CHECK(answer.yes == truth && answer.no == !truth, "transpose is a bitcast: %d, not %d", answer.yes, truth);
    found |= truth;
  }
  answer = sett_tile_find_transpose(&one, &other, permutation, SETT_TILE_SAME_BITS);
  CHECK(answer.yes == found && answer.no == !found, "a transposition is found: %d, not %d", answer.yes, found);
  parts = sett_tile_decompose(&one, &other);
  CHECK(parts.answer.yes == (parts.form != SETT_TILE_NO_FORM), "a form without a yes");
  if (reshape_is) CHECK(parts.form == SETT_TILE_RESHAPE, "reshape not seen");
  else if (found) CHECK(parts.form == SETT_TILE_TRANSPOSE, "transposition not seen");
  split_transposes += found && !reshape_is && one.splits > 0;
}

/* ---- formats ---------------------------------------------------------------------------------------------------- */

/* Check the bytes and padding of a shape in each format by counting, and the chosen format by the rule in the manual.
 */
static int check_formats(void) {
  static const int types[] = {SETT_TILE_F32,  SETT_TILE_S32, SETT_TILE_BF16, SETT_TILE_S8,
                              SETT_TILE_PRED, SETT_TILE_F64, SETT_TILE_S4};
  static const int bits[] = {32, 32, 16, 8, 8, 64, 8};
  static array a;
  int64_t dims[3] = {1 + below(3), 1 + below(below(2) ? 6 : 40), 1 + below(200)};
  sett_tile_format format[SETT_TILE_FORMAT_COUNT];
  int rank = below(4), type = below(7), chosen = 0, enumerated = 0, count, i, at, width;
  sett_tile_shape shape = sett_tile_make(types[type], rank, dims + 3 - rank, NULL);
  draw_order(&shape);
  draw_tiles(&shape, 1);
  shape.tail = below(4);
  shape.space = below(2);
  shape.prefix = below(2);
  shape.packed = below(3) ? 0 : bits[type] / 2;
  width = shape.packed ? (int)shape.packed : bits[type];
  say(&shape, NULL);
  count = sett_tile_formats(&shape, format);
  for (i = 0; i < count; ++i) {
    const sett_tile_shape *one = &format[i].shape;
    int elements = 0, own = sett_tile_bits(one) == 1 ? 1 : width;
    chosen += format[i].chosen;
    CHECK(!one->error && one->space == shape.space && one->prefix == shape.prefix, "%s: another space or prefix",
          format[i].name);
    CHECK(one->tiles == 0 || one->tile[0] == 32 || width == 32 || one->tiles == 2, "%s: one tile", format[i].name);
    if (format[i].chosen) {
      int64_t rows = rank > 1 ? shape.dims[shape.minor_to_major[1]] : 1;
      CHECK(one->tile[0] == (width != 32 || rows > 4 ? 8
                             : rows > 2              ? 4
                                                     : 2) &&
                one->tile[1] == 128,
            "%s is chosen", format[i].name);
      CHECK(width == 32 ? one->tiles == 1 : one->tiles == 2 && one->tile[2] == 32 / width && one->tile[3] == 1,
            "%s is chosen", format[i].name);
    }
    if (!small(one) || !model(one, &a, NULL)) continue;
    for (at = 0; at < a.count; ++at) elements += a.cell[at] >= 0;
    CHECK(sett_tile_bytes(one) == (a.count * own + 7) / 8, "%s: %d bytes", format[i].name, (int)sett_tile_bytes(one));
    CHECK(same_double(format[i].padding, (double)(a.count - elements) / a.count), "%s: padding %g", format[i].name,
          format[i].padding);
    ++enumerated;
  }
  CHECK(chosen == (width == 32 || width == 16 || width == 8), "%d formats are chosen", chosen);
  return enumerated;
}

/* ---- sizes that cannot be enumerated ---------------------------------------------------------------------------- */

static sett_tile_shape parse(const char *text) {
  sett_tile_shape shape = sett_tile_parse(text, strlen(text));
  CHECK(!shape.error, "%s: %s", text, sett_tile_message(shape.error));
  return shape;
}

static void check_large(void) {
  static const struct {
    const char *a, *b;
    int yes;
  } rows[] = {
      {"f32[8,256]{1,0:T(8,128)}", "f32[2048]{0:T(1024)}", 0},
      {"f32[12,128]{1,0:T(8,128)}", "f32[2,6,128]{2,1,0:T(8,128)}", 0},
      {"f32[8,256]{1,0:T(8,128)}", "f32[8,2,128]{2,0,1:T(8,128)}", 1},
      {"f32[16,128]{1,0:T(8,128)}", "f32[2,8,128]{2,1,0:T(8,128)}", 1},
      {"f32[24,128]{1,0:T(8,128)}", "f32[24,128]{1,0}", 1},
      {"bf16[1099511627776,1024]{1,0:T(8,128)(2,1)}", "bf16[137438953472,8,1024]{2,1,0:T(8,128)(2,1)}", 1},
      {"bf16[1099511627776,1024]{1,0:T(8,128)(2,1)}", "bf16[274877906944,4,1024]{2,1,0:T(8,128)(2,1)}", 0},
      {"f32[1000003,1000033]{1,0}", "f32[1000033,1000003]{1,0}", 1},
      {"f32[1000003,1000033]{1,0:T(7,1)}", "f32[1000033,1000003]{1,0:T(7,1)}", 0},
      {"f32[1000003,1000033]{1,0:T(1000033)}", "f32[1000003,1000033]{1,0:T(1000033)}", 1},
      {"s8[3000000000,3,4]{2,1,0:T(*,4)}", "s8[3000000000,12]{1,0:T(4)}", 1},
      {"s8[2000000000,2,7]{2,1,0:T(*,5)}", "s8[2000000000,2,7]{2,1,0:T(*,5)}", 1},
      {"f32[6000000000]{0:T(3)(*,2)(2,1)}", "f32[6000000000]{0:T(2)(2,1)}", 1}, /* a * merges what T(3) split */
      {"f32[6000000000]{0:T(3)(*,2)(2,1)}", "f32[6000000000]{0:T(4)(2,1)}", 0},
  };
  size_t i;
  for (i = 0; i < sizeof rows / sizeof *rows; ++i) {
    sett_tile_shape a = parse(rows[i].a), b = parse(rows[i].b);
    sett_tile_answer answer = sett_tile_same_bytes(&a, &b);
    char text[256];
    sett_tile_answer_print(&answer, text, sizeof text);
    CHECK(answer.yes == rows[i].yes && answer.no == !rows[i].yes, "%s and %s: %s", rows[i].a, rows[i].b, text);
  }
}

/* If an array has more elements than SETT_TILE_WALK, the strides are found without enumeration. */
static void check_large_strides(void) {
  static const struct {
    const char *shape;
    int64_t strides[4]; /* {0}: there are no strides */
  } rows[] = {
      {"u8[6000000000]{0:T(2)(*,3)}", {1}},
      {"u8[6000000001]{0:T(6)(*,7)}", {1}},
      {"u8[6000000000]{0:T(2,2)(*,3)}", {0}},
      {"f32[3000000000,2,7]{2,1,0:T(*,5)}", {60, 28, 4}},
      {"f32[3000000000,2,7]{2,1,0:T(*,5)(2,1)}", {0}},
      {"f32[3000000000,4,7]{2,1,0:T(4,7)(*,5)}", {120, 28, 4}},
      {"f32[3000000000,4,7]{2,1,0:T(4,7)(*,*,5)}", {120, 28, 4}},
      {"f32[3000000000,4,6]{2,1,0:T(4,7)(*,5)}", {120, 28, 4}},
      {"f32[3000000000,5,6]{2,1,0:T(4,7)(*,5)}", {0}},
      {"f32[1000000,7000,9000]{2,1,0:T(7000,9001)(*,*,*,5)}", {252028000, 36004, 4}},
      {"f32[5,9000000000]{1,0:T(8,128)(*,3)}", {0}},
      {"f32[3000000000,2,2,2]{3,2,1,0:T(4,2)(*,*,*,3,1)}",
       /* dimensions 1 and 2 merge into m = 4 a + b, which is 0, 1, 4 or 5: there m / 3 is a, and m % 3 is a + b */
       {72, 28, 4, 12}},
      {"f32[3000000000,2,3,2]{3,2,1,0:T(4,2)(*,*,*,3,1)}", {0}},
  };
  size_t i;
  int k;
  for (i = 0; i < sizeof rows / sizeof *rows; ++i) {
    sett_tile_shape shape = parse(rows[i].shape);
    int64_t strides[SETT_TILE_MAX_RANK];
    sett_tile_answer answer = sett_tile_byte_strides(&shape, strides);
    CHECK(answer.yes == (rows[i].strides[0] > 0) && answer.no == !answer.yes, "%s: %d", rows[i].shape, answer.yes);
    for (k = 0; answer.yes && k < shape.rank; ++k)
      CHECK(strides[k] == rows[i].strides[k], "%s: stride %lld", rows[i].shape, (long long)strides[k]);
  }
}

int main(int argc, char **argv) {
  int layouts = argc > 1 ? atoi(argv[1]) : 1000, checked = 0, strided = 0, split = 0, formats = 0, iterated = 0, i;
  if (argc > 2) state = strtoull(argv[2], NULL, 10);
  while (checked < layouts) checked += check_positions();
  for (i = 0; i < 10 * layouts; ++i) strided += check_strides(i % 2);
  for (i = 0; i < 2 * layouts; ++i) iterated += check_iterator();
  check_iterator_ends();
  check_large_slices();
  for (i = 0; i < 2 * layouts; ++i) split += check_splits();
  for (i = 0; i < 4 * layouts; ++i) check_relations();
  for (i = 0; i < 4 * layouts; ++i) check_split_relations();
  for (i = 0; i < layouts; ++i) formats += check_formats();
  strcpy(said, "large");
  check_large();
  check_large_strides();
  printf(
      "PASS tile_test: %d tiled layouts (%d with *, %d coupled), %d on a device, strides of %d: %d yes %d no (coupled: %d yes %d no), %d split, "
      "reshapes %d yes (%d in other positions) %d no, %d transposes, %d in three parts, aligned %d yes %d no, split %d yes %d no %d transposes, %d formats, iterators: %d by digits %d by division, %d slices on a device\n",
      checked, combined, coupled, on_device, strided, strides_of_steps[1], strides_of_steps[0], strides_of_tiles[1],
      strides_of_tiles[0], split, answers[1], tails, answers[0], transposes, thirds, aligned[1], aligned[0],
      split_answers[1], split_answers[0], split_transposes, formats, by_digits, by_division, device_slices);
  if (layouts >= 1000)
    CHECK(coupled > 5 && on_device > 900 && strided > 4000 && strides_of_steps[1] > 100 && strides_of_steps[0] > 100 &&
              strides_of_tiles[1] > 3 && strides_of_tiles[0] > 50 && tails > 5 && split_answers[1] > 50 &&
              split_answers[0] > 50 && split_transposes > 50 && iterated > 1000 && by_digits > 1000 &&
              by_division > 100 && device_slices > 10000 && formats > layouts && split > 100 && answers[1] > 100 &&
              answers[0] > 100 && transposes > 50 && thirds > 20 && aligned[1] > 100 && aligned[0] > 100,
          "too few of a kind");
  return 0;
}
