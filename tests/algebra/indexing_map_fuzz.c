/* Property, for any bytes and an arena of any size: reading gives a map, or an error with a column inside the text. A
 * map prints to a text that reads back and prints the same. The simplified map has the same domain and values at every
 * point (on a large box: at some points). After an error for a full arena, the arena is as usable as before.
 *
 * Run: indexing_map_fuzz [SEED [COUNT]] mutates the texts below; indexing_map_fuzz FILE.. runs files. The same entry
 * serves libFuzzer with -DSETT_LIBFUZZER. */
#include "../../include/sett_indexing_map.h"
#include "../fuzz.h"

#ifndef SETT_FUZZ_EXTREMES
#define SETT_FUZZ_EXTREMES 1
#endif

enum { EXTREMES = SETT_FUZZ_EXTREMES }; /* constants near the ends of 64-bit integers, too */
enum { TEXT = 600, PRINTED = 1 << 16, VARIABLES = 32, RESULTS = 32, BOX = 512, MEMORY = 1 << 22 };

static const char *const seeds[] = {
    "(d0) -> (d0), domain: d0 in [0, 3]",
    "(d0, d1)[s0]{rt0} -> (d0 * 4 + s0, d1 + rt0), domain: d0 in [0, 7], d1 in [-4, 4], s0 in [0, 3], rt0 in [0, 2], d0 * 4 + s0 in [0, 29]",
    "(d0, d1) -> ((d0 * 7 + d1) floordiv 3, (d0 * 7 + d1) mod 3), domain: d0 in [0, 5], d1 in [0, 6], d0 mod 2 in [1, 1]",
    "(d0, d1) -> (((d0 * 2 + d1) floordiv 3) * 3 + (d0 * 2 + d1) mod 3, ((d0 mod 3) * 2 + d1) floordiv 3), domain: d0 in [0, 5], d1 in [0, 1]",
    "(d0) -> (d0 floordiv -3, (-d0) mod 5, d0 ceildiv 4, d0 mod -4), domain: d0 in [-9, 9], d0 floordiv -3 in [-2, 2]",
    "(d0, d1) -> (min(d0, d1 - 1), max(d0 * d1, 3), d0 mod (d1 + 6), d0 floordiv (d1 * 2 + 9)), domain: d0 in [-3, 5], d1 in [-4, 4]",
    "(d0) -> (d0), domain: d0 in [0, 100], d0 mod 6 in [3, 3], d0 mod 7 in [5, 5]",
    "(d0, d1) -> (d0 * 16 + (d1 xor (d0 floordiv 2) mod 4), (d0 + d1) mod 2), domain: d0 in [-3, 12], d1 in [0, 15], d0 xor d1 in [-2, 13]",
    "(d0, s)[vec] -> ((d0 floordiv 64) mod 8, (s + vec) mod 64 floordiv 4), domain: d0 in [0, 1023], s in [0, 63], vec in [0, 3], d0 + s in [1, 900]",
    "(th_x, bl_x) -> ((bl_x * 128 + th_x) // 300, ((bl_x * 128 + th_x) % 300) / 20), domain: bl_x * 128 + th_x in [0, 599], th_x in [0, 127], bl_x in [0, 4]",
    "()[s0, s1] -> ((s0 * 2 + s1 floordiv 64) floordiv 3, s0 * 4611686018427387904), domain: s0 in [0, 1233], s1 in [0, 127]",
    "(d0)[n] -> (d0 mod n, n floordiv 8, d0 - n), domain: d0 in [0, inf], n in [1, inf], d0 < n, 8 divides n, d0 * 3 <= n + 100",
    "(x, y) -> (min(x, y) floordiv 4, x mod 6), domain: x in [-inf, 7], y in [-inf, inf], x mod 6 in [3, 4], y floordiv 3 in [-2, inf], 2 * y >= x",
    "(d0, d1) -> ((d0 * 30 + d1) mod 12, (d0 * 30 + d1) floordiv 12 - d0 * 2), domain: d0 in [0, 1], d1 in [0, 29], (d0 * 30 + d1) floordiv 12 in [0, 3]",
};

static unsigned long changed_again, full_arenas, overflows;

/* ---- one text ---- */

/* Draw a point of the box, sometimes one step outside. */
static void draw_point(sett_map map, int64_t *point) {
  int i;
  for (i = 0; i < sett_map_variables(map); ++i) {
    int64_t lo = map.variable[i].lo, hi = map.variable[i].hi;
    uint64_t width = (uint64_t)hi - (uint64_t)lo, r = (uint64_t)next(1u << 31) << 31 | next(1u << 31);
    uint32_t kind = next(16);
    if (kind == 0 && lo > INT64_MIN) point[i] = lo - 1;
    else if (kind == 1 && hi < INT64_MAX) point[i] = hi + 1;
    else if (kind < 4) point[i] = lo;
    else if (kind < 6) point[i] = hi;
    else
      point[i] = (int64_t)((uint64_t)lo + (width > 64 && kind < 9 ? next(64)
                                           : width == UINT64_MAX  ? r
                                                                  : r % (width + 1)));
  }
}

/* Go to the next point of the box. Return 0 after the last point. */
static int next_point(sett_map map, int64_t *point) {
  int i;
  for (i = sett_map_variables(map) - 1; i >= 0; --i) {
    if (point[i]++ < map.variable[i].hi) return 1;
    point[i] = map.variable[i].lo;
  }
  return 0;
}

static int is_small(sett_map map) {
  int64_t points = 1;
  int i;
  for (i = 0; i < sett_map_variables(map); ++i) {
    uint64_t width = (uint64_t)map.variable[i].hi - (uint64_t)map.variable[i].lo;
    points = width < BOX ? points * (int64_t)(width + 1) : BOX + 1;
    if (points > BOX) return 0;
  }
  return 1;
}

/* Return 1 if the point is inside, 0 if it is outside, -error if there is an error. */
static int seen_at(sett_map_arena *arena, sett_map map, const int64_t *point, int64_t *results) {
  int error, inside = sett_map_evaluate(arena, map, point, results, &error);
  return error ? -error : inside;
}

/* Return 1 if a constraint is false at this point, even if others have no value. */
static int is_outside(sett_map_arena *arena, sett_map map, const int64_t *point) {
  sett_map one = map;
  int64_t none[1];
  int i;
  one.results = 0;
  one.constraints = 1;
  for (i = 0; i < map.constraints; ++i, ++one.constraint)
    if (!seen_at(arena, one, point, none)) return 1;
  return 0;
}

/* A map may simplify to this error if it has no value at any point. */
static int no_value(int error) { return error == SETT_MAP_ERROR_OVERFLOW || error == SETT_MAP_ERROR_ZERO_DIVISOR; }

/* Check that `a` and `b` agree at a point. Points where `a` has no value (overflow, division by zero) are not checked.
 */
static void check_point(sett_map_arena *arena, sett_map a, sett_map b, const sett_map_interval *range,
                        const int64_t *point, const char *text, size_t size) {
  int64_t before[RESULTS], after[RESULTS];
  int x = seen_at(arena, a, point, before), y, i;
  if (x < 0) return;
  y = seen_at(arena, b, point, after);
  for (i = 0; x == y && x && i < a.results; ++i) {
    if (before[i] != after[i]) y = 2;
    if (before[i] < range[i].lo || before[i] > range[i].hi) fail("range", text, size);
  }
  if (x == y || (y < 0 && !x && (b.kind == SETT_MAP_FAILED || is_outside(arena, b, point)))) return;
  /* `b` may overflow at a point where `a` does not: it then has no value there, which is not a wrong value */
  if (y == -SETT_MAP_ERROR_OVERFLOW && b.kind == SETT_MAP_DEFINED) {
    ++overflows;
    return;
  }
  for (i = 0; i < sett_map_variables(a); ++i) fprintf(stderr, "%s%lld", i ? ", " : "at (", (long long)point[i]);
  fputs(y == 2 ? ") another value\n" : y < 0 ? ") no value\n" : ") another domain\n", stderr);
  fail("simplify", text, size);
}

static void check_meaning(sett_map_arena *arena, sett_map a, sett_map b, const char *text, size_t size) {
  int64_t point[VARIABLES] = {0};
  sett_map_interval range[RESULTS];
  int i, n = sett_map_variables(a);
  if (n > VARIABLES || a.results > RESULTS) return;
  if (b.kind == SETT_MAP_DEFINED && (b.results != a.results || sett_map_variables(b) != n))
    fail("simplify: other variables or results", text, size);
  for (i = 0; i < a.results; ++i) range[i] = sett_map_range(arena, a, a.result[i]);
  if (is_small(a)) {
    for (i = 0; i < n; ++i) point[i] = a.variable[i].lo;
    do check_point(arena, a, b, range, point, text, size);
    while (next_point(a, point));
  }
  for (i = 0; i < BOX / 4; ++i) {
    draw_point(a, point);
    check_point(arena, a, b, range, point, text, size);
  }
}

/* Print a map, and check that a smaller buffer gets the first part of the text. Return 1, or 0 if the text is too long for the check. */
static int print(sett_map_arena *arena, sett_map map, char *out, const char *text, size_t size) {
  size_t length = sett_map_print(arena, map, out, PRINTED), half = length / 2 + 1;
  char *cut;
  if (length >= PRINTED) return 0;
  if (strlen(out) != length) fail("length of a print", text, size);
  cut = (char *)malloc(half);
  if (!cut) return 0;
  if (sett_map_print(arena, map, cut, half) != length || strlen(cut) != half - 1 || memcmp(cut, out, half - 1))
    fail("cut print", text, size);
  free(cut);
  return 1;
}

/* Read the text in an arena of `bytes` bytes. If the arena is full, reading gives an error, and the arena then still
 * accepts a small map. */
static void check_full(const char *text, size_t size, size_t bytes, sett_map whole, sett_map_arena *arena) {
  static const char little[] = "(d0) -> (d0 * 2), domain: d0 in [0, 3]";
  static char simple_text[PRINTED];
  void *memory = malloc(bytes);
  sett_map_arena small = sett_map_arena_make(memory, bytes);
  sett_map_mark mark = sett_map_arena_mark(&small);
  int64_t three = 3, value = 0, point[VARIABLES] = {0}, results[RESULTS];
  size_t top;
  int fits = sett_map_parse(&small, little, strlen(little)).kind == SETT_MAP_DEFINED, i, before;
  sett_map map, simple, less;
  if (!memory) return;
  sett_map_arena_rewind(&small, mark);
  map = sett_map_parse(&small, text, size);
  if (map.kind != whole.kind && map.error != SETT_MAP_ERROR_FULL)
    fail("another kind of map in a small arena", text, size);
  if (map.kind == SETT_MAP_DEFINED && sett_map_variables(map) <= VARIABLES && map.results <= RESULTS) {
    for (i = 0; i < sett_map_variables(map); ++i) point[i] = map.variable[i].lo;
    top = sett_map_arena_mark(&small).top;
    before = seen_at(&small, map, point, results);
    if (sett_map_arena_mark(&small).top != top) fail("evaluate keeps memory", text, size);
    simple = sett_map_simplify(&small, map);
    if (simple.kind == SETT_MAP_FAILED) {
      ++full_arenas;
      if (simple.error != SETT_MAP_ERROR_FULL && !no_value(simple.error))
        fail("simplify failed for another reason than a full arena", text, size);
      if (sett_map_arena_mark(&small).top != top) fail("a simplify that failed keeps memory", text, size);
      if (seen_at(&small, map, point, results) != before) fail("a full arena lost a map", text, size);
    } else if (small.full = 0,
               sett_map_print(&small, simple, simple_text, sizeof simple_text) < sizeof simple_text && !small.full) {
      less = sett_map_parse(arena, simple_text, strlen(simple_text));
      if (less.kind != SETT_MAP_FAILED) check_meaning(arena, whole, less, text, size);
      else if (less.error != SETT_MAP_ERROR_FULL)
        fail("a small arena's text does not read", simple_text, strlen(simple_text));
    }
  }
  sett_map_arena_rewind(&small, mark);
  map = sett_map_parse(&small, little, strlen(little));
  if ((map.kind == SETT_MAP_DEFINED) != fits) fail("the arena is not usable", text, size);
  if (fits) {
    i = seen_at(&small, map, &three, &value);
    if (i != -SETT_MAP_ERROR_FULL && (i != 1 || value != 6)) fail("the arena computes wrongly", text, size);
  }
  free(memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static uint64_t memory[MEMORY / sizeof(uint64_t)];
  static char first[PRINTED], second[PRINTED], simple_text[PRINTED];
  sett_map_arena arena = sett_map_arena_make(memory, sizeof memory);
  sett_map map, back, simple;
  char *text = (char *)malloc(
      size ? size : 1); /* the block is exactly as long as the text, so that a sanitizer finds a read beyond the end */
  size_t i;
  if (!text) return 0;
  if (size) memcpy(text, data, size);
  for (state = size, i = 0; i < size; ++i) state = (state ^ data[i]) * UINT64_C(1099511628211);
  map = sett_map_parse(&arena, text, size);
  if (map.kind == SETT_MAP_FAILED) {
    if (map.column < 0 || map.column > (int)size + 1 || map.error <= 0 || map.error >= SETT_MAP_ERROR_COUNT)
      fail("error", text, size);
  } else {
    ++good;
    if (print(&arena, map, first, text, size)) { /* L1 */
      back = sett_map_parse(&arena, first, strlen(first));
      if (back.kind != map.kind) fail("print and parse", text, size);
      if (sett_map_print(&arena, back, second, PRINTED) != strlen(first) || strcmp(first, second))
        fail("print is not stable", text, size);
    }
    simple = sett_map_simplify(&arena, map); /* L2 */
    if (simple.kind == SETT_MAP_FAILED && !no_value(simple.error)) fail(sett_map_message(simple.error), text, size);
    if (map.kind == SETT_MAP_DEFINED) check_meaning(&arena, map, simple, text, size);
    else if (simple.kind != map.kind) fail("simplify: another kind", text, size);
    if (simple.kind != SETT_MAP_FAILED && print(&arena, simple, simple_text, text, size)) {
      back = sett_map_parse(&arena, simple_text, strlen(simple_text));
      if (back.kind != simple.kind) fail("print and parse of a simplified map", text, size);
      sett_map_print(&arena, back, second, PRINTED);
      if (strcmp(simple_text, second)) fail("print of a simplified map is not stable", text, size);
      sett_map_print(&arena, sett_map_simplify(&arena, back), second, PRINTED);
      changed_again += strcmp(simple_text, second) != 0;
      arena = sett_map_arena_make(memory, sizeof memory);
      map = sett_map_parse(&arena, text, size);
      sett_map_print(&arena, sett_map_simplify(&arena, map), second, PRINTED);
      if (strcmp(simple_text, second)) fail("another text at another time", text, size);
    }
  }
  check_full(text, size, next(4) ? 64 + next(3000) : 64 + next(60000), map, &arena);
  free(text);
  return 0;
}

/* ---- mutations, half of which give a valid map ---- */

static int is_digit(char c) { return c >= '0' && c <= '9'; }
static int is_letter(char c) { return (c >= 'a' && c <= 'z') || c == '_'; }

/* Replace n bytes at `at` by the word, if the result fits. */
static size_t replace(char *text, size_t size, size_t capacity, size_t at, size_t n, const char *word) {
  size_t length = strlen(word);
  if (size - n + length > capacity) return size;
  memmove(text + at + length, text + at + n, size - at - n);
  memcpy(text + at, word, length);
  return size - n + length;
}

/* Return the end of the number or word at `at`. */
static size_t token_end(const char *text, size_t size, size_t at) {
  while (at < size && (is_digit(text[at]) || is_letter(text[at]))) ++at;
  return at;
}

static size_t mutate(char *text, size_t size, size_t capacity) {
  /* clang-format off */
  static const char *const numbers[] = {
    "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "12", "15", "16", "31", "64", "100", "715", "1023", "4096",
    "65536", "2147483647", "4294967296", "3037000500", "1152921504606846976", "4611686018427387904",
    "9223372036854775806", "9223372036854775807", "9223372036854775808",
  };
  /* clang-format on */
  enum { NUMBERS = sizeof numbers / sizeof *numbers - (EXTREMES ? 0 : 3) };
  static const char *const operators[] = {" + ",       " - ",   " * ",  " floordiv ", " mod ",
                                          " ceildiv ", " xor ", " // ", " % ",        " / "};
  /* clang-format off */
  static const char *const wraps[][2] = {
    {"(", " * 3 + 1)"}, {"(", " floordiv 2)"}, {"(", " mod 3)"}, {"(-", ")"}, {"min(", ", 4)"}, {"max(", ", d0)"},
    {"(d0 - ", ")"}, {"(", " ceildiv 5)"}, {"(", " * d0)"}, {"((", " * 6) mod 9)"}, {"(7 * ", ")"}, {"(d0 * 5 + ", ")"},
    {"(", " mod d0)"}, {"(", " mod -4)"}, {"(", " floordiv -3)"}, {"(", " + 17)"}, {"(", " - 1)"}, {"(", " xor d0)"},
    {"((", " xor 5) mod 8)"}, {"(5 floordiv ", ")"},
  };
  /* clang-format on */
  static const char *const constraints[] = {
      ", d0 mod 2 in [0, 0]", ", d0 mod 3 in [1, 1]", ", d0 * 3 in [-4, 17]",       ", d0 floordiv 4 in [0, 1]",
      ", d0 + 5 in [3, 9]",   ", d0 * d0 in [0, 20]", ", (d0 * 5) mod 7 in [2, 4]", ", d0 mod 5 in [-3, 8]"};
  /* clang-format off */
  static const char *const pieces[] = {
    "(", ")", "[", "]", "{", "}", ",", " -> ", ", domain: ", " in [", "-", " ", "d0", "d1", "s0", "rt0", "KNOWN EMPTY",
    "UNDEFINED", "min(", "max(", " xor ", "^",
  };
  /* clang-format on */
  char word[64];
  uint32_t kind = next(16), tries;
  size_t at = 0, end = 0;
  if (size < 8 || !next(64)) {
    const char *seed = seeds[next(sizeof seeds / sizeof *seeds)];
    return replace(text, size, capacity, 0, size, seed);
  }
  for (tries = 0; tries < 20; ++tries) { /* find a number or a name */
    at = next((uint32_t)size);
    if (kind < 5 ? is_digit(text[at]) : is_letter(text[at])) break;
  }
  while (tries < 20 && at && (is_digit(text[at - 1]) || is_letter(text[at - 1]))) --at;
  end = token_end(text, size, at);
  if (tries == 20 || end - at >= sizeof word - 1) kind = 10 + next(6);
  if (kind < 10) memcpy(word, text + at, end - at), word[end - at] = 0;
  if (kind < 10 && is_letter(word[0]) != (kind >= 5)) kind = 5 + next(11); /* the position of a digit in a name */
  switch (kind) {
    case 0:
    case 1: return replace(text, size, capacity, at, end - at, numbers[next(NUMBERS)]);
    case 2: snprintf(word, sizeof word, "%u", next(40)); return replace(text, size, capacity, at, end - at, word);
    case 3: return replace(text, size, capacity, at, 0, "-");
    case 4:
    case 5:
    case 6:
    case 7: {
      const char *const *wrap = wraps[next(sizeof wraps / sizeof *wraps)];
      if (!strcmp(word, "mod") || !strcmp(word, "in") || !strcmp(word, "domain") || strstr(word, "div"))
        return replace(text, size, capacity, at, end - at, operators[next(sizeof operators / sizeof *operators)]);
      return replace(text, replace(text, size, capacity, end, 0, wrap[1]), capacity, at, 0, wrap[0]);
    }
    case 8:
    case 9: { /* exchange the name for another one of the text */
      size_t from = next((uint32_t)size), stop;
      while (from < size && !is_letter(text[from])) ++from;
      stop = token_end(text, size, from);
      if (from == stop || stop - from >= sizeof word) return size;
      memcpy(word, text + from, stop - from);
      word[stop - from] = 0;
      return replace(text, size, capacity, at, end - at, word);
    }
    case 10:
    case 11: return replace(text, size, capacity, size, 0, constraints[next(sizeof constraints / sizeof *constraints)]);
    case 12: { /* exchange the operator for another one */
      for (at = next((uint32_t)size); at + 2 < size; ++at)
        if (text[at] == ' ' && strchr("+-*/%", text[at + 1]) && text[at + 2] == ' ')
          return replace(text, size, capacity, at, 3, operators[next(sizeof operators / sizeof *operators)]);
      return size;
    }
    case 13:
      return replace(text, size, capacity, next((uint32_t)size), 0, pieces[next(sizeof pieces / sizeof *pieces)]);
    case 14:
      at = next((uint32_t)size);
      return replace(text, size, capacity, at, (size_t)next((uint32_t)(size - at < 12 ? size - at : 12)), "");
    default: text[next((uint32_t)size)] = (char)next(256); return size;
  }
}

#ifdef SETT_LIBFUZZER
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t capacity);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned seed);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned seed) {
  state = seed;
  if (!next(6)) return LLVMFuzzerMutate(data, size, capacity);
  do size = mutate((char *)data, size, capacity);
  while (next(2));
  return size;
}
#else
static int run_file(const char *path) {
  static char text[1 << 20];
  FILE *file = fopen(path, "rb");
  size_t size;
  if (!file) {
    perror(path);
    return 2;
  }
  size = fread(text, 1, sizeof text, file);
  fclose(file);
  LLVMFuzzerTestOneInput((const uint8_t *)text, size);
  return 0;
}

int main(int argc, char **argv) {
  enum { POOL = 64 };
  static char pool[POOL][TEXT], text[TEXT], slowest[TEXT];
  size_t pool_size[POOL], size, slowest_size = 0;
  uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
  long count = argc > 2 ? atol(argv[2]) : 10000, run;
  clock_t longest = 0, start, took;
  int i;
  if (argc > 1 && !is_digit(argv[1][0])) {
    for (i = 1; i < argc; ++i)
      if (run_file(argv[i])) return 2;
    return 0;
  }
  for (i = 0; i < POOL; ++i)
    pool_size[i] = replace(pool[i], 0, TEXT, 0, 0, seeds[(size_t)i % (sizeof seeds / sizeof *seeds)]);
  for (run = 0; run < count; ++run) {
    unsigned long maps = good;
    uint32_t from, to, keep;
    state = seed; /* the check of each text begins with the same random state */
    from = next(POOL);
    to = next(POOL);
    keep = next(3);
    size = pool_size[from];
    memcpy(text, pool[from], size);
    do size = mutate(text, size, TEXT);
    while (next(3));
    seed = state;
    start = clock();
    LLVMFuzzerTestOneInput((const uint8_t *)text, size);
    took = clock() - start;
    if (took > longest) {
      longest = took;
      memcpy(slowest, text, slowest_size = size);
    }
    if (good > maps && !keep) {
      if (size > TEXT / 2) size = replace(text, 0, TEXT, 0, 0, seeds[(size_t)run % (sizeof seeds / sizeof *seeds)]);
      memcpy(pool[to], text, pool_size[to] = size);
    }
  }
  printf(
      "PASS indexing_map_fuzz: %ld texts, %lu maps, %lu full arenas, %lu change when simplified once more, %lu points overflow only then, the slowest %.0f ms: %.*s\n",
      count, good, full_arenas, changed_again, overflows, 1e3 * (double)longest / CLOCKS_PER_SEC, (int)slowest_size,
      slowest);
  return 0;
}
#endif
