/* Property, for any bytes: parsing them gives a layout, or an error whose position is inside the text. A printed layout
 * parses to a layout that prints as the same text. The values of a layout are those of its map. An operation returns an
 * error, or a layout that can be printed and parsed. Run: notation_fuzz [SECONDS [SEED]]. With -DSETT_LIBFUZZER,
 * libFuzzer can run it. */
#include "../../include/sett.h"
#include "../fuzz.h"

static uint64_t memory[1 << 18];

/* Compare some values of the layout with those of its map. */
static void check_values(sett_map_arena *arena, const sett_notation *layout, const uint8_t *data, size_t size) {
  sett_map map = sett_notation_map(arena, layout);
  sett_notation_mode at_modes[SETT_NOTATION_LEAVES];
  int64_t point[SETT_NOTATION_LEAVES], result[SETT_NOTATION_LEAVES];
  int i, k, error;
  if (map.kind != SETT_MAP_DEFINED || map.ranges) return; /* the layout has copies, so its map has several values */
  for (k = 0; k < 8; ++k) {
    int64_t index = 0, step = 1;
    sett_notation at = settp_notation_tuple_of(settp_notation_leaf(0, 0), SETT_NOTATION_TUPLE), value;
    settp_notation_work work = settp_notation_begin(arena);
    settp_notation_flat flat;
    for (i = 0; i < map.dims; ++i) {
      point[i] = (k * 7 + i * 3) % (map.variable[i].hi + 1);
      index = settp_notation_add(&work, index, settp_notation_mul(&work, point[i], step));
      step = settp_notation_mul(&work, step, map.variable[i].hi + 1);
    }
    if (work.error) return;
    at.tuple.size = index;
    for (i = 0; i < map.dims && layout->kind >= SETT_NOTATION_STRIDES; ++i)
      at_modes[i] = settp_notation_leaf(point[i], 0);
    if (layout->kind >= SETT_NOTATION_STRIDES) at.tuple = settp_notation_tuple(&work, map.dims, at_modes);
    value = sett_notation_at(arena, layout, &at);
    if (value.error || !sett_map_evaluate(arena, map, point, result, &error)) continue;
    settp_notation_flatten_to(&work, &value.tuple, &flat);
    for (i = 0; i < flat.count; ++i)
      if (flat.leaf[i].size != result[i]) fail("value", data, size);
  }
}

/* Check that the text reads back and prints the same. Return its length. */
static void check_print(sett_map_arena *arena, const sett_notation *layout, const uint8_t *data, size_t size) {
  static char first[1 << 14], second[1 << 14], small[8];
  sett_notation back;
  size_t length = sett_notation_print(layout, first, sizeof first);
  if (length >= sizeof first || layout->error) return;
  if (sett_notation_print(layout, small, sizeof small) != length || strlen(small) > sizeof small - 1)
    fail("cut print", data, size);
  back = sett_notation_parse(arena, first, length);
  if (back.error || sett_notation_print(&back, second, sizeof second) != length || strcmp(first, second))
    fail("print and parse", data, size);
}

/* Check that a layout equals itself, and that the answer for two layouts is the same in both orders. */
static void check_any(const char *text, size_t half, size_t size) {
  sett_map_arena arena = sett_map_arena_make(memory, sizeof memory);
  sett_any a = sett_any_parse(&arena, text, half),
           b = half < size ? sett_any_parse(&arena, text + half + 1, size - half - 1) : a;
  sett_any_answer own, there, back;
  int target;
  if (a.error) {
    if (a.column < 0 || a.column > (int64_t)half + 1) fail("column of any", (const uint8_t *)text, size);
    return;
  }
  own = sett_any_same(&arena, &a, &a);
  if (own.no) fail("same as itself", (const uint8_t *)text, size);
  for (target = 0; target < SETT_ANY_TARGETS; ++target) {
    static char first[1 << 14], second[1 << 14];
    sett_any_made made = sett_any_convert(&arena, &a, target);
    sett_any back_again;
    size_t length;
    if (made.answer.yes + made.answer.no > 1) fail("an answer", (const uint8_t *)text, size);
    if (!made.answer.yes) continue;
    length = sett_any_print(&made.layout, first, sizeof first);
    if (length >= sizeof first) continue;
    back_again = sett_any_parse(&arena, first, length);
    sett_any_print(&back_again, second, sizeof second);
    if (back_again.error || strcmp(first, second) || sett_any_same(&arena, &back_again, &a).no)
      fail("conversion", (const uint8_t *)text, size);
  }
  if (b.error) return;
  there = sett_any_same(&arena, &a, &b);
  back = sett_any_same(&arena, &b, &a);
  if (there.yes != back.yes || there.no != back.no) fail("same in another order", (const uint8_t *)text, size);
}

/* A linear layout is one-to-one if and only if it has no free bits: input bits whose basis is an XOR of earlier bases.
 * Every "no" has a witness that proves it. */
static void check_linear(const sett_notation *layout, const uint8_t *data, size_t size) {
  int64_t zero, twice, missing, mask[SETT_NOTATION_DIMS], free_bits = 0;
  int count = sett_notation_free_masks(layout, mask), i, injective = sett_notation_is_injective(layout, &twice);
  sett_notation_is_surjective(layout, &missing);
  if ((count < 0) != (sett_notation_consecutive(layout) < 0)) fail("linear", data, size);
  for (i = 0; i < count; ++i) free_bits |= mask[i];
  if (count >= 0 && injective != !free_bits) fail("free masks", data, size);
  if (twice >= 0 && settp_notation_apply(layout->linear, (uint64_t)twice)) fail("is_injective", data, size);
  if (!sett_notation_is_zero(layout, &zero) && zero >= 0 && !settp_notation_apply(layout->linear, (uint64_t)zero))
    fail("is_zero", data, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text =
      /* exactly as long as the text, so that a sanitizer finds a read beyond its end */
      (char *)calloc(size ? size : 1, 1);
  sett_map_arena arena = sett_map_arena_make(memory, sizeof memory);
  sett_notation layout, other, made;
  size_t half;
  int i;
  if (!text) return 0;
  if (size) memcpy(text, data, size);
  for (half = 0; half < size && text[half] != '|'; ++half) {}
  layout = sett_notation_parse(&arena, text, half);
  other = half < size ? sett_notation_parse(&arena, text + half + 1, size - half - 1) : layout;
  if (layout.error && (layout.column < 1 || layout.column > (int64_t)half + 1)) fail("column", data, size);
  if (!layout.error) {
    ++good;
    check_print(&arena, &layout, data, size);
    check_values(&arena, &layout, data, size);
    sett_notation_cosize(&layout);
    for (i = 0; i < 14; ++i) {
      sett_map_mark mark = sett_map_arena_mark(&arena);
      if (i < 4) made = sett_notation_divide(&arena, &layout, &other, i);
      else if (i < 8) made = sett_notation_product(&arena, &layout, &other, i - 4);
      else if (i == 8) made = sett_notation_composition(&arena, &layout, &other);
      else if (i == 9) made = sett_notation_complement(&arena, &layout, other.error ? NULL : &other);
      else if (i == 10) made = sett_notation_right_inverse(&arena, &layout);
      else if (i == 11) made = sett_notation_left_inverse(&arena, &layout);
      else if (i == 12) made = sett_notation_recast(&arena, &layout, 4, (int64_t)(size % 5) * 2);
      else made = sett_notation_max_common_layout(&arena, &layout, &other);
      check_print(&arena, &made, data, size);
      sett_map_arena_rewind(&arena, mark);
    }
    for (i = 0; i < 5; ++i) {
      made = i == 0   ? sett_notation_compose(&arena, &layout, &other)
             : i == 1 ? sett_notation_invert_and_compose(&arena, &layout, &other)
             : i == 2 ? sett_notation_linear_product(&arena, &layout, &other)
             : i == 3 ? sett_notation_divide_by(&arena, &layout, &other, (int)(size % 2))
                      : sett_notation_invert(&arena, &layout);
      check_print(&arena, &made, data, size);
    }
    for (i = 0; i < 2; ++i) { /* use the second text as the names of dimensions */
      const char *words = half < size ? text + half + 1 : NULL;
      made = sett_notation_reshape(&arena, &layout, words, half < size ? size - half - 1 : 0, i);
      check_print(&arena, &made, data, size);
    }
    if (half < size) {
      made = sett_notation_sublayout(&arena, &layout, text + half + 1, size - half - 1);
      check_print(&arena, &made, data, size);
    }
    check_linear(&layout, data, size);
    {
      sett_notation_exchange between = sett_notation_shared(&arena, &layout, &other, (int64_t)1 << size % 9);
      check_print(&arena, &between.layout, data, size);
      if (!between.layout.error &&
          (between.store_turns != between.store_least || between.load_turns != between.load_least))
        fail("turns", data, size);
    }
    made = sett_notation_quotient(&arena, &layout, "a");
    check_print(&arena, &made, data, size);
    made = sett_notation_coalesce(&arena, &layout, NULL);
    check_print(&arena, &made, data, size);
    made = sett_notation_tile_to_shape(&arena, &layout, &other, NULL);
    made = sett_notation_blocked_product(&arena, &layout, &other, (int)(size % 2));
    made = sett_notation_ordered(&arena, &layout, &other);
    made = sett_notation_flatten(&arena, &layout);
    check_print(&arena, &made, data, size);
  }
  check_any(text, half, size);
  free(text);
  return 0;
}

#ifndef SETT_LIBFUZZER
static size_t number(char *text, size_t at, size_t capacity) {
  static const char *const huge[] = {"9223372036854775807", "-1", "4294967296", "0"};
  if (next(40) == 0) return at + (size_t)snprintf(text + at, capacity - at, "%s", huge[next(4)]);
  return at + (size_t)snprintf(text + at, capacity - at, "%u", next(3) ? 1u << next(5) : next(13));
}

static size_t layout(char *text, size_t at, size_t capacity) {
  unsigned modes = 1 + next(3), pass, m, nested = next(4);
  for (pass = 0; pass < 2; ++pass) {
    if (pass) text[at++] = ':';
    text[at++] = '(';
    for (m = 0; m < modes; ++m) {
      if (m) text[at++] = ',';
      if (m == nested) text[at++] = '(';
      at = number(text, at, capacity);
      if (m == nested) {
        text[at++] = ',';
        at = number(text, at, capacity);
        text[at++] = ')';
      } else if (pass && next(12) == 0) {
        at += (size_t)snprintf(text + at, capacity - at, "@%u", next(3));
      }
    }
    text[at++] = ')';
  }
  return at;
}

/* Layouts of notations other than CuTe's. The test changes a few of their characters. */
static const char *const arrays[] = {
    "64x8@TiledLayout(tiling=Tiling(tiles=((64, 8), (16, 8), (8, 8), (2,))), warp_dims=(-7,), lane_dims=(-3, -2), vector_dim=-1)",
    "64@#mosaic_gpu.TiledLayout<[[64], [16], [8], [1]], warp_dims = [-4], lane_dims = [-2, #mosaic_gpu.Replicated<times = 4>], vector_dim = -1>",
    "f32[6,20]{1,0:T(4,8)}|6x20@AB4a8b",
    "f32[6,9]{0,1:T(4,4)(3,2)}|(6,9):(1,6)",
    "4x4@strides(4,1)|S<2,0,2> o 0 o (4,4):(4,1)",
    ("nested_layout<subgroup_tile = [1], batch_tile = [2], outer_tile = [1], thread_tile = [4], element_tile = [2], subgroup_strides = [1], "
     "thread_strides = [1]>|{register = [[1], [8]], lane = [[2], [4]]} -> {dim0 = 16}"),
    "4x8@strides(8,1)+3",
    "5x20x3x3@aBcd16b",
    "17x30@ABa4b8a2b",
    "2x16x4x4@nChw16c",
    "32x32@AB16b16a4b",
    "8x8@#ttg.linear<{register = [[0, 1], [1, 0]], lane = [[2, 3]]}>",
    "{in = [[1], [2], [4]]} -> {out = 8}|{in = [[1], [2]]} -> {out = 4}",
    "{a = [[2], [1], [4]], b = [[0]]} -> {out = 8}|{out = [[4], [1], [2]]} -> {last = 8}",
    "{in = [[1, 0], [4, 1], [0, 1]]} -> {x = 8, y = 2}|{a = 2, b = 8}",
    "{a = [[1, 0]], b = [[0, 1], [1, 1]]} -> {x = 2, y = 2}|{b} -> {y}",
    "{a = [[1, 0], [3, 2]]} -> {x = 4, y = 4}|{b = [[1, 1], [0, 2], [2, 0], [0, 1]]} -> {y = 4, x = 4}",
    "16x32@#ttg.blocked<{sizePerThread = [1, 2], threadsPerWarp = [2, 2], warpsPerCTA = [1, 2], order = [1, 0]}>",
    "32x32@#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], instrShape = [16, 8]}>",
    "32x64@#ttg.dot_op<{opIdx = 0, parent = #ttg.nvidia_mma<{versionMajor = 2, warpsPerCTA = [2, 2], instrShape = [16, 8]}>, kWidth = 2}>",
    "16@#ttg.slice<{dim = 1, parent = #ttg.amd_mfma<{version = 3, warpsPerCTA = [2, 4], instrShape = [32, 32, 8], isTransposed = true}>}>",
    "64x32@#ttg.amd_wmma<{version = 2, isTranspose = false, warpsPerCTA = [2, 4], instrShape = [16, 16, 16]}>",
    "8x32@#ttg.swizzled_shared<{vec = 8, perPhase = 2, maxPhase = 8, order = [1, 0]}>",
    "8x16@#ttg.amd_rotating_shared<{vec = 2, perPhase = 2, maxPhase = 2, order = [1, 0]}>",
    "32x64@#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 8, fp4Padded = true}>",
    "16x32@#ttg.padded_shared<[2:+1, 4:+2] {order = [1, 0], shape = [16, 32]}>|(16,32):(64,1)",
    "64x64@T(32,32)(16,16)|f32[64,64]{1,0:T(32,32)(16,16)}",
    "4x4@#padded_shared<[4:+1] {offset = [[0, 1], [0, 2], [1, 1], [2, 2]], block = []}>|4x4@strides(4,1)",
    "{register = [[1], [2]], lane = [[4], [8]]} -> {dim0 = 16}|{register = [[4], [1]], lane = [[2], [8]]} -> {dim0 = 16}"};

/* Draw LAYOUT|LAYOUT, sometimes with a swizzle, a tile or an error. */
static size_t draw(char *text, size_t capacity) {
  size_t at = 0;
  if (next(3) == 0) {
    uint32_t changes = next(3);
    at = (size_t)snprintf(text, capacity, "%s", arrays[next(sizeof arrays / sizeof *arrays)]);
    for (; changes > 0; --changes) text[next((uint32_t)at)] = "0123468,[]{}ab@x "[next(17)];
    return at;
  }
  if (next(4) == 0)
    at = (size_t)snprintf(text, capacity, "S<%u,%u,%s%u> o %u o ", next(4), next(4), next(3) ? "" : "-", 3 + next(3),
                          next(9));
  at = layout(text, at, capacity);
  text[at++] = '|';
  if (next(4) == 0) {
    text[at++] = '[';
    at = layout(text, at, capacity);
    text[at++] = ']';
  } else {
    at = layout(text, at, capacity);
  }
  if (next(6) == 0) text[next((uint32_t)at)] = "(),:@ o_<;09"[next(12)];
  return at;
}

int main(int argc, char **argv) { return fuzz(argc, argv, "notation_fuzz", draw); }
#endif
