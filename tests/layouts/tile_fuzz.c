/* Property, for any bytes: parsing them gives a shape, or an error whose position is inside the text. A printed shape
 * parses to an equal shape, which prints as the same text. The functions from index to position and from position to
 * index are inverse. Run: tile_fuzz [SECONDS [SEED]]. With -DSETT_LIBFUZZER, libFuzzer can run it. */
#include "../../include/sett_tile.h"
#include "../fuzz.h"

static void check_positions(const sett_tile_shape *shape, const uint8_t *data, size_t size) {
  sett_tile_plan plan = sett_tile_prepare(shape);
  int64_t index[SETT_TILE_MAX_RANK], step, position;
  if (plan.error) return;
  if (plan.positions < sett_tile_elements(shape)) fail("positions", data, size);
  step = plan.positions / 64 + 1;
  for (position = 0; position < plan.positions && position <= INT64_MAX - step; position += step) {
    int found = sett_tile_element(&plan, position, index);
    if (found && sett_tile_position(&plan, index) != position) fail("inverse", data, size);
  }
}

/* Printing into a smaller buffer stays inside it, ends with a NUL, and returns the length of the whole text. */
static void check_cut(const sett_tile_shape *shape, const char *whole, size_t length) {
  size_t capacity = length / 2 + 1;
  char *small = (char *)malloc(capacity);
  if (!small) return;
  if (sett_tile_print(shape, small, capacity) != length || sett_tile_print(shape, small, 0) != length ||
      strlen(small) != capacity - 1 || memcmp(small, whole, capacity - 1))
    fail("cut print", (const uint8_t *)whole, length);
  free(small);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static char first[1 << 16], second[1 << 16];
  /* exactly as long as the text, so that a sanitizer finds a read beyond its end */
  char *text = (char *)malloc(size + 1);
  sett_tile_summary a, b;
  sett_tile_shape shape;
  size_t length;
  if (!text) return 0;
  text = (char *)realloc(text, size ? size : 1);
  if (size) memcpy(text, data, size);
  length = sett_tile_canonical(text, size, 1, first, sizeof first, &a);
  if (a.error && (a.column < 1 || a.column > (int64_t)size + 1)) fail("column", data, size);
  if (!a.error && length < sizeof first) {
    size_t again = sett_tile_canonical(first, length, 1, second, sizeof second, &b);
    if (b.error || again != length || strcmp(first, second)) fail("print is not stable", data, size);
    if (a.bytes != b.bytes || a.leaves != b.leaves) fail("the same text, another size", data, size);
  }
  shape = sett_tile_parse(text, size);
  if (!shape.error) {
    sett_tile_shape back;
    ++good;
    length = sett_tile_print(&shape, first, sizeof first);
    back = sett_tile_parse(first, length);
    if (!sett_tile_equal(&shape, &back)) fail("print and parse", data, size);
    check_cut(&shape, first, length);
    check_positions(&shape, data, size);
  }
  free(text);
  return 0;
}

#ifndef SETT_LIBFUZZER
/* Draw a text from pieces of shapes. A third of the texts begin like an array, a third are mostly complete tiled
 * arrays. */
static size_t draw(char *text, size_t capacity) {
  /* clang-format off */
  static const char *const pieces[] = {
    "f32", "bf16", "s4", "pred", "token", "opaque", "b(", "(", ")", "[", "]", "{", "}", ",", ":", "T(", "T(8,128)(2,1)",
    "L(", "E(4)", "S(1)", "SC(", "M(", "D(D,C)", "*", "-1", "-2", "?", "<=", "0", "1", "2", "3", "5", "17",
    "9223372036854775807", "9223372036854775808", "4294967296", " ", "/*", "*/", "//", "\n", "{1,0", "{0", "[3,5]",
    "[2]", "{1,0:T(2,2)}", "T(*,2)", "#(u32)", "P(",
  };
  /* clang-format on */
  size_t length = 0;
  uint32_t i, likely = next(3), count = 1 + next(likely == 2 ? 3 : 14);
  if (likely)
    length = (size_t)snprintf(text, capacity, "%s[%u,%u]{%s:", next(2) ? "f32" : "s4", next(9), next(9),
                              next(2) ? "1,0" : "0,1");
  for (i = 0; i < count; ++i) {
    const char *piece = pieces[next(sizeof pieces / sizeof pieces[0])];
    size_t n = strlen(piece);
    if (likely == 2 || (likely && next(3) == 0)) {
      char tile[32];
      n = (size_t)snprintf(tile, sizeof tile, "T(%u,%u)(%u)", 1 + next(5), 1 + next(5), 1 + next(4));
      memcpy(text + length, tile, n);
    } else {
      memcpy(text + length, piece, n);
    }
    length += n;
  }
  if (likely == 2 || (likely && next(2))) text[length++] = '}';
  if (next(8) == 0) text[next((uint32_t)length)] = (char)next(256);
  return length;
}

int main(int argc, char **argv) { return fuzz(argc, argv, "tile_fuzz", draw); }
#endif
