/* Property, for any bytes: parsing them gives a layout, or an error whose position is inside the text. A printed layout
 * parses to an equal layout, which prints as the same text. The functions element and owner are inverse. A layout that
 * an operation returns passes the check. Run: nested_fuzz [SECONDS [SEED]]. With -DSETT_LIBFUZZER, libFuzzer can run
 * it. */
#include "../../include/sett_nested_layout.h"
#include "../fuzz.h"

/* Check 16 slots of threads, some of them with very large ids. The first owner of the slot's element has this element
 * in the same slot. In each dimension, sett_nested_bound counts index[d] as one of that owner's indices. */
static void check_where(const sett_nested_layout *layout, const uint8_t *data, size_t size) {
  int64_t index[SETT_NESTED_MAX_RANK], back[SETT_NESTED_MAX_RANK], s, t, k, slots = sett_nested_slots(layout), at;
  int i, d;
  for (i = 0; i < 16; ++i) {
    int64_t subgroup = i % 4 == 3 ? INT64_MAX - i : i * 5 % 7, thread = i % 4 == 2 ? INT64_MAX / (i + 1) : i * 11 % 67;
    int64_t slot = i * (slots / 16) + i % 2;
    if (slot >= slots) slot = slots - 1;
    if (!sett_nested_element(layout, subgroup, thread, slot, index)) fail("element", data, size);
    if (!sett_nested_owner(layout, index, 0, &s, &t, &k) || k != slot) fail("owner", data, size);
    if (!sett_nested_element(layout, s, t, k, back)) fail("element of the owner", data, size);
    for (d = 0; d < layout->rank; ++d)
      if (back[d] != index[d]) fail("inverse", data, size);
    for (d = 0; d < layout->rank; ++d) {
      at = sett_nested_bound(layout, d, s, t, index[d]);
      if (at < 0 || sett_nested_bound(layout, d, s, t, index[d] + 1) != at + 1) fail("bound", data, size);
    }
  }
}

/* Each operation on a layout returns an error, or a layout that passes the check and has equally many elements. */
static void check_combined(const sett_nested_layout *layout, const uint8_t *data, size_t size) {
  int64_t shape[SETT_NESTED_MAX_RANK], elements = sett_nested_elements(layout), one[1];
  int32_t map[SETT_NESTED_MAX_RANK];
  sett_nested_layout made, again;
  int d;
  one[0] = elements;
  made = sett_nested_reshape(layout, 1, one);
  if (!made.error && sett_nested_elements(&made) != elements) fail("reshape", data, size);
  if (!made.error) {
    sett_nested_undistributed(layout, shape);
    again = sett_nested_reshape(&made, layout->rank, shape);
    if (again.error || !sett_nested_same(&again, layout).yes) fail("reshape and back", data, size);
  }
  for (d = 0; d < layout->rank; ++d) map[d] = layout->rank - 1 - d;
  made = sett_nested_permute(layout, map);
  again = sett_nested_permute(&made, map);
  if (!sett_nested_equal(&again, layout)) fail("permute and back", data, size);
  if (!sett_nested_same(layout, layout).same_slots) fail("the same", data, size);
  if (sett_nested_held(layout, sett_nested_subgroups(layout), sett_nested_threads(layout)) > elements)
    fail("held", data, size);
  if (sett_nested_held(layout, INT64_MAX, INT64_MAX) < sett_nested_held(layout, 3, 40))
    fail("held by fewer", data, size);
  made = sett_nested_on(layout, 4, 32);
  if (!made.error && !sett_nested_equal(&made, layout)) fail("machine", data, size);
  sett_nested_prepare(layout, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static char first[1 << 14], second[1 << 14], small[64];
  char *text =
      /* exactly as long as the text, so that a sanitizer finds a read beyond its end */
      (char *)malloc(size ? size : 1);
  sett_nested_layout layout, back;
  size_t length;
  if (!text) return 0;
  if (size) memcpy(text, data, size);
  layout = sett_nested_parse(text, size);
  if (layout.error) {
    if (layout.column < 1 || layout.column > (int64_t)size + 1) fail("column", data, size);
    if (sett_nested_explain(&layout, first, sizeof first) >= sizeof first) fail("explain", data, size);
  } else {
    ++good;
    length = sett_nested_print(&layout, first, sizeof first);
    back = sett_nested_parse(first, length);
    if (length >= sizeof first || !sett_nested_equal(&layout, &back)) fail("print and parse", data, size);
    if (sett_nested_print(&back, second, sizeof second) != length || strcmp(first, second))
      fail("print is not stable", data, size);
    if (sett_nested_print(&layout, small, sizeof small) != length || strlen(small) != sizeof small - 1)
      fail("cut print", data, size);
    check_where(&layout, data, size);
    check_combined(&layout, data, size);
  }
  free(text);
  return 0;
}

#ifndef SETT_LIBFUZZER
/* Draw a layout, usually with small numbers, sometimes with huge numbers or errors. */
static size_t draw(char *text, size_t capacity) {
  static const char *const keys[] = {"subgroup_tile", "batch_tile",       "outer_tile",    "thread_tile",
                                     "element_tile",  "subgroup_strides", "thread_strides"};
  static const char *const odd[] = {"0", "-1", "4294967296", "9223372036854775807", "9223372036854775808",
                                    "",  "x",  "3037000500", "1000000007"};
  uint32_t rank = next(4), i, d, used[2] = {1, 1}, strange = next(3) == 0;
  size_t n = (size_t)snprintf(text, capacity, "%snested_layout<", next(2) ? "#iree_vector_ext." : "");
  for (i = 0; i < 7; ++i) {
    uint32_t count = strange && next(20) == 0 ? next(30) : rank;
    n += (size_t)snprintf(text + n, capacity - n, "%s%s = [", i ? ", " : "",
                          keys[strange && next(30) == 0 ? next(7) : i]);
    for (d = 0; d < count; ++d) {
      const char *comma = d ? next(5) ? ", " : "," : "";
      if (strange && next(8) == 0) n += (size_t)snprintf(text + n, capacity - n, "%s%s", comma, odd[next(9)]);
      else if (i < 5) n += (size_t)snprintf(text + n, capacity - n, "%s%u", comma, 1u << next(4));
      else n += (size_t)snprintf(text + n, capacity - n, "%s%u", comma, next(6) ? used[i - 5] *= 1 + next(2) * 15 : 0);
    }
    text[n++] = ']';
  }
  text[n++] = '>';
  if (next(10) == 0) text[next((uint32_t)n)] = (char)next(256);
  if (next(20) == 0) n = next((uint32_t)n + 1);
  return n;
}

int main(int argc, char **argv) { return fuzz(argc, argv, "nested_fuzz", draw); }
#endif
