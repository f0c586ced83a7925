/* Property, for any bytes and an arena of any size: a fact about a map is accepted, or refused with a column inside the
 * text. After "no" there is a point of the domain where the fact is false; after "yes" the fact is true at random points.
 * An affine map or set that is accepted prints to a text that reads back and prints the same.
 *
 * An input is a map, a tab and a fact, or an affine map alone. Run: facts_fuzz [SECONDS [SEED]]. The same entry serves
 * libFuzzer with -DSETT_LIBFUZZER. */
#include "../../include/sett_indexing_map.h"
#include "../../include/sett_indexing_analysis.h"
#include "../../include/sett_notation.h"
#include "../fuzz.h"

enum { VARIABLES = 16, MEMORY = 1 << 21 };

static const char *const seeds[] = {
    "(d0)[n] -> (), domain: d0 in [0, inf], n in [1, inf], d0 < n, 8 divides n\td0 floordiv 8 < n floordiv 8",
    "(i, j)[m, n] -> (), domain: i in [0, inf], j in [0, inf], m in [1, inf], n in [1, inf], i < m, j < n\ti * n + j < m * n",
    "(x, y) -> (), domain: x in [-inf, inf], y in [-5, 5]\tmax(x, y) + min(x, y) = x + y",
    "(b, t)[n] -> (), domain: b in [0, inf], t in [0, 127], n in [1, inf], b < n ceildiv 128\tmin(n - b * 128, 128) >= 1",
    "(d0, d1) -> (), domain: d0 in [0, 9], d1 in [-3, 3]\td0 * d1 mod 4 <= d0 xor d1",
    "()[n, m, k] -> (), domain: n in [1, inf], m in [1, inf], k in [1, inf], n divides m\tn divides m * k - n",
    "(x)[n] -> (), domain: x in [-inf, inf], n in [-inf, inf]\t(x mod n) floordiv (n * 2) >= 0",
    "affine_map<(d0, d1)[s0] -> (d0 * 2 - d1 * 4, (d0 + s0) floordiv 3, -d0 ceildiv s0)>",
    "affine_set<(d0)[s0] : (d0 - s0 >= 0, d0 mod 4 == 0, -d0 + 9 >= 0)>",
};
static const char *const pieces[] = {"d0",
                                     "n",
                                     "x",
                                     "i",
                                     "m",
                                     "s0",
                                     " + ",
                                     " - ",
                                     " * ",
                                     " mod ",
                                     " floordiv ",
                                     " ceildiv ",
                                     "min(",
                                     ", ",
                                     "(",
                                     ")",
                                     " <",
                                     "=",
                                     " = ",
                                     " divides ",
                                     " in [0, inf]",
                                     "-inf",
                                     "8",
                                     "0",
                                     "-1",
                                     "1000000007",
                                     "9223372036854775807",
                                     "-9223372036854775808",
                                     ">",
                                     ":",
                                     "affine_map<",
                                     "\t"};

static void check_affine(sett_map_arena *arena, const uint8_t *data, size_t size) {
  static char text[1 << 14], again[1 << 14];
  sett_map map = sett_notation_affine_parse(arena, (const char *)data, size), back;
  int set = size > 9 && memchr(data, ':', size) != NULL, error;
  size_t length;
  if (map.kind == SETT_MAP_FAILED && (map.column < 0 || (size_t)map.column > size + 1)) fail("column", data, size);
  if (map.kind != SETT_MAP_DEFINED) return;
  length = sett_notation_affine_print(arena, map, set, text, sizeof text, &error);
  if (error == SETT_NOTATION_ERROR_OVERFLOW || error == SETT_NOTATION_ERROR_FULL || length >= sizeof text) return;
  if (error) fail("affine print", data, size);
  back = sett_notation_affine_parse(arena, text, length);
  if (back.kind == SETT_MAP_FAILED && back.error == SETT_MAP_ERROR_FULL) return;
  if (back.kind == SETT_MAP_EMPTY) return;
  if (back.kind != SETT_MAP_DEFINED) fail("affine back", data, size);
  sett_notation_affine_print(arena, back, set, again, sizeof again, &error);
  if (!error && strcmp(text, again)) fail("affine again", data, size);
  ++good;
}

static int is_true(const sett_map_fact *fact, int64_t a, int64_t b) {
  return fact->relation == SETT_MAP_AT_MOST ? a <= b
         : fact->relation == SETT_MAP_SAME  ? a == b
         : a == 0                           ? b == 0
         : a == -1                          ? 1
                                            : b % a == 0;
}

static void check_fact(sett_map_arena *arena, const char *text, size_t length, const char *said, size_t size) {
  sett_map map = sett_map_parse(arena, text, length), sides;
  sett_map_fact fact;
  sett_map_answer answer;
  sett_expr both[2];
  int64_t point[VARIABLES], result[2];
  int i, v, n = sett_map_variables(map), error;
  if (map.kind != SETT_MAP_DEFINED || n > VARIABLES) return;
  fact = sett_map_fact_parse(arena, map, said, size);
  if (fact.error && (fact.column < 0 || (size_t)fact.column > size + 1))
    fail("column of a fact", text, length + 1 + size);
  answer = sett_map_proves(arena, map, &fact);
  if (answer.yes && answer.no) fail("yes and no", text, length + 1 + size);
  if (answer.no != (answer.point != NULL) || (!answer.yes && !*answer.reason)) fail("answer", text, length + 1 + size);
  if (fact.error) return;
  both[0] = fact.a;
  both[1] = fact.b;
  sides = map;
  sides.results = 2;
  sides.result = both;
  if (answer.no &&
      (!sett_map_evaluate(arena, sides, answer.point, result, &error) || is_true(&fact, result[0], result[1])))
    fail("no", text, length + 1 + size);
  for (i = 0; i < 60 && answer.yes; ++i) {
    for (v = 0; v < n; ++v) {
      int64_t lo = map.variable[v].lo, hi = map.variable[v].hi;
      int64_t from = lo < -40 ? (hi < 40 ? hi - 40 : -40) : lo;
      if (from < lo) from = lo;
      point[v] = from > INT64_MAX - 80 ? from : from + (int64_t)next(i % 2 ? 12 : 80);
      if (point[v] > hi || point[v] < lo) point[v] = hi;
    }
    if (sett_map_evaluate(arena, sides, point, result, &error) && !is_true(&fact, result[0], result[1]))
      fail("yes", text, length + 1 + size);
    /* where a divisor in the fact is 0, a "yes" is right only if the point is outside the domain */
    if (error == SETT_MAP_ERROR_ZERO_DIVISOR) {
      sides.results = 0;
      if (sett_map_evaluate(arena, sides, point, result, &error)) fail("yes without a value", text, length + 1 + size);
      sides.results = 2;
    }
  }
  good += (unsigned long)(answer.yes || answer.no);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static uint64_t memory[MEMORY / 8];
  const uint8_t *tab = (const uint8_t *)memchr(data, '\t', size);
  size_t bytes = size % 7 ? sizeof memory : 512 + size * 37;
  sett_map_arena arena = sett_map_arena_make(memory, bytes);
  if (size > 4000) return 0;
  if (size > 6 && !memcmp(data, "affine", 6)) check_affine(&arena, data, size);
  else if (tab)
    check_fact(&arena, (const char *)data, (size_t)(tab - data), (const char *)tab + 1,
               (size_t)(data + size - tab - 1));
  return 0;
}

#ifndef SETT_LIBFUZZER
/* Take a text and exchange, insert or remove a few words at random. */
static size_t draw(char *text, size_t capacity) {
  size_t length = (size_t)snprintf(text, capacity / 2, "%s", seeds[next(sizeof seeds / sizeof *seeds)]);
  uint32_t edits = next(4);
  for (; edits; --edits) {
    const char *piece = pieces[next(sizeof pieces / sizeof *pieces)];
    size_t at = next((uint32_t)length + 1), more = next(3) ? strlen(piece) : 0, gone = next(4);
    if (next(3)) /* two of three edits are at the start of a word */
      while (at > 0 && text[at - 1] != ' ' && text[at - 1] != '(') --at;
    if (gone > length - at) gone = length - at;
    memmove(text + at + more, text + at + gone, length - at - gone);
    memcpy(text + at, piece, more);
    length = length + more - gone;
  }
  text[length] = 0;
  return length;
}

int main(int argc, char **argv) { return fuzz(argc, argv, "facts", draw); }
#endif
