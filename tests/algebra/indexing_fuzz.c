/* Property, for any bytes: `sett indexing` prints lines of five fields, or one error at a place in the text.
 * Run: indexing_fuzz [SECONDS [SEED]] on HLO texts with a few random changes. The same entry serves libFuzzer with
 * -DSETT_LIBFUZZER. */
#define INDEXING_STORE(arena) ((size_t)1 << 20)
#define main command_main
#include "../../gen/command/sett.c"
#undef main

#include "../fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static char out[1 << 20];
  static uint64_t memory[COMMAND_MEMORY / sizeof(uint64_t)];
  char *text = (char *)malloc(size ? size : 1), *at,
       *end; /* the block is exactly as long as the text, so that a sanitizer finds a read beyond the end */
  command self;
  long line, column, lines = 1;
  size_t i;
  int status;
  if (!text) return 0;
  if (size) memcpy(text, data, size);
  out[0] = 0;
  memset(&self, 0, sizeof self);
  self.out = out;
  self.capacity = sizeof out;
  self.arena = sett_map_arena_make(memory, sizeof memory);
  status = indexing_text(&self, "x", text, size);
  free(text);
  if (status != 0 && status != 2) fail("status", data, size);
  if (status == 2) {
    if (strncmp(out, "error: x:", 9)) fail("error", data, size);
    line = strtol(out + 9, &at, 10);
    column = strtol(at + 1, &end, 10);
    for (i = 0; i < size; ++i) lines += data[i] == '\n';
    if (*at != ':' || *end != ':' || line < 1 || line > lines || column < 1 || column > (long)size + 1)
      fail("place", data, size);
    return 0;
  }
  ++good;
  for (at = out; *at && self.length < sizeof out;) {
    int tabs = 0;
    for (end = at; *end && *end != '\n'; ++end) tabs += *end == '\t';
    if (tabs != 4) fail("fields", data, size);
    at = *end ? end + 1 : end;
  }
  return 0;
}

#ifndef SETT_LIBFUZZER
#define HEAD "HloModule m\nsum { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b) }\n"

static const char *const seeds[] = {
    HEAD
    "f {\n p = f32[4,6]{1,0:T(2,3)} parameter(0)\n z = f32[] constant(0)\n t = f32[6,4] transpose(p), dimensions={1,0}\n"
    " r = f32[6] reduce(t, z), dimensions={1}, to_apply=sum\n b = f32[6,4] broadcast(r), dimensions={0}\n ROOT a = f32[6,4] add(t, b)\n}\n"
    "ENTRY e {\n p = f32[4,6] parameter(0)\n ROOT y = f32[6,4] fusion(p), kind=kLoop, calls=f\n}\n",
    "ENTRY e {\n a = f32[10,8] parameter(0)\n i = s32[] parameter(1)\n k = s32[] constant(3)\n u = f32[2,8] parameter(2)\n"
    " d = f32[4,8] dynamic-slice(a, i, k), dynamic_slice_sizes={4,8}\n s = f32[2,4] slice(d), slice={[0:4:2], [1:5]}\n"
    " v = f32[10,8] dynamic-update-slice(a, u, i, k)\n ROOT t = (f32[2,4], f32[10,8]) tuple(s, v)\n}\n",
    "ENTRY e {\n a = f32[1,8,9,4] parameter(0)\n k = f32[3,3,2,6] parameter(1)\n z = f32[] constant(0)\n"
    " c = f32[1,4,4,6] convolution(a, k), window={size=3x3 stride=2x2 pad=0_1x0_0 rhs_reversal=0x1}, dim_labels=b01f_01io->b01f, feature_group_count=2\n"
    " p = f32[1,9,4,6] pad(c, z), padding=0_0x1_1_1x0_0x0_0\n ROOT w = f32[1,8,4,6] reduce-window(p, z), window={size=1x2x1x1}, to_apply=x\n}\n",
    "ENTRY e {\n a = f32[3,4,5] parameter(0)\n b = f32[3,5,7] parameter(1)\n i = s32[6,1] iota(), iota_dimension=0\n"
    " d = f32[3,4,7] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}\n"
    " g = f32[6,4,7] gather(d, i), offset_dims={1,2}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,4,7}\n"
    " r = f32[6,28]{0,1} reshape(g)\n q = f32[6,28] copy(r)\n ROOT b2 = f32[168] bitcast(q)\n}\n",
    HEAD
    "ENTRY e {\n a = f32[8,3] parameter(0)\n i = s32[2,1] parameter(1)\n u = f32[2,3] parameter(2)\n"
    " s = f32[8,3] scatter(a, i, u), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum\n"
    " c = f32[10,3] concatenate(s, u), dimensions={0}\n g = f32[20,3] all-gather(c), dimensions={0}\n v = f32[20,3] reverse(g), dimensions={0,1}\n"
    " t = (f32[20,3], (s32[2,1])) parameter(3)\n x = f32[20,3] get-tuple-element(t), index=0\n ROOT m = f32[20,3] select(x, v, x)\n}\n",
};

static size_t draw(char *text, size_t capacity) {
  /* clang-format off */
  static const char *const words[] = {
    "0", "1", "2", "3", "7", "8", "-1", "64", "4294967296", "9223372036854775807", "9223372036854775808", "{", "}",
    "{0}", "{1,0}", "()", "f32[]", "s32[2]", "f32[0]", "(f32[2], s8[])", "f32[3,5]{0,1:T(2,2)}", "add", "tuple",
    "reshape", "bitcast", "call", "iota", "copy", "dot", "gather", "scatter", "constant", "parameter", "a", "p",
    "ROOT ", "dimensions=", "window={size=2}", ",", "=", "\"", "/*", "\n", "\t",
  };
  /* clang-format on */
  const char *from = seeds[next(sizeof seeds / sizeof *seeds)];
  size_t n = strlen(from), count = next(6), at, gone, more;
  memcpy(text, from, n);
  while (count-- > 0) {
    const char *word = words[next(sizeof words / sizeof *words)];
    at = next((uint32_t)n + 1);
    if (next(2)) /* half of the edits are at a digit */
      while (at < n && (text[at] < '0' || text[at] > '9')) ++at;
    gone = next(3) ? 1 : next(12);
    if (gone > n - at) gone = n - at;
    more = strlen(word);
    if (n - gone + more > capacity) break;
    memmove(text + at + more, text + at + gone, n - at - gone);
    memcpy(text + at, word, more);
    n += more - gone;
    if (next(40) == 0 && n) text[next((uint32_t)n)] = (char)next(256);
  }
  return n;
}

int main(int argc, char **argv) { return fuzz(argc, argv, "indexing_fuzz", draw); }
#endif
