/* Test include/sett_indexing_map.h: its laws, by enumeration; the first program in its manual; and what happens if
 * memory or 64 bits are not enough. */
#include "../../include/sett_indexing_map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t memory[1 << 22]; /* 32 MiB, which a bad expression may need */
static int failures, checks;

static void check(int ok, const char *what, const char *text) {
  ++checks;
  if (ok) return;
  ++failures;
  printf("FAIL %s: %s\n", what, text);
}

static sett_map read_map(sett_map_arena *arena, const char *text) { return sett_map_parse(arena, text, strlen(text)); }

static void first_look(void) {
  const char *first =
      "(th_x, bl_x)[vec] -> (th_x * 4 + bl_x * 512 + vec), domain: th_x in [0, 127], bl_x in [0, 24575], vec in [0, 3]";
  const char *second =
      "(d0) -> (d0 floordiv 2097152, (d0 floordiv 4096) mod 512, d0 mod 4096), domain: d0 in [0, 12582911]";
  const char *back =
      "(d0, d1, d2) -> (d0 * 2097152 + d1 * 4096 + d2), domain: d0 in [0, 5], d1 in [0, 511], d2 in [0, 4095]";
  char text[512], c[512];
  int error = 0;
  sett_map_arena arena = sett_map_arena_make(memory, sizeof memory);
  sett_map a = read_map(&arena, first), b = read_map(&arena, second);
  sett_map both = sett_map_simplify(&arena, sett_map_compose(&arena, a, b));
  sett_map_print(&arena, both, text, sizeof text);
  check(
      !strcmp(
          text,
          "(th_x, bl_x)[vec] -> (bl_x floordiv 4096, (bl_x floordiv 8) mod 512, (bl_x mod 8) * 512 + th_x * 4 + vec), "
          "domain: th_x in [0, 127], bl_x in [0, 24575], vec in [0, 3]"),
      "first look", text);
  sett_map_print_c(&arena, both, SETT_MAP_ANY_TYPE, c, sizeof c, &error);
  check(!error &&
            !strcmp(c, "uint\nresult bl_x >> 12\nresult (bl_x >> 3) & 511\nresult (bl_x & 7) * 512 + th_x * 4 + vec"),
        "C text", c);
  sett_map_print(&arena, sett_map_simplify(&arena, sett_map_compose(&arena, both, read_map(&arena, back))), text,
                 sizeof text);
  check(!strcmp(text, first), "and back", text);
}

/* Go to the next point of the box, the last variable fastest. Return 0 after the last point. */
static int next(const sett_map *map, int64_t *point) {
  int i;
  for (i = sett_map_variables(*map) - 1; i >= 0; --i) {
    if (point[i] < map->variable[i].hi) {
      ++point[i];
      return 1;
    }
    point[i] = map->variable[i].lo;
  }
  return 0;
}

enum { POINTS = 20000 };

/* Check law L2: a simplified map has the same domain and values, and simplifies to itself. */
static void same_meaning(const char *text) {
  sett_map_arena arena = sett_map_arena_make(memory, sizeof memory);
  sett_map map = read_map(&arena, text), simple = sett_map_simplify(&arena, map);
  int64_t point[16], x[16], y[16];
  char print[2048], again[2048];
  int i, a, b, a_error, b_error, count = 0;
  sett_map_print(&arena, simple, print, sizeof print);
  check(map.kind == SETT_MAP_DEFINED && simple.kind != SETT_MAP_FAILED, "reads", text);
  if (map.kind != SETT_MAP_DEFINED || simple.kind == SETT_MAP_FAILED) return;
  sett_map_print(&arena, read_map(&arena, print), again, sizeof again);
  check(!strcmp(print, again), "L1 print equals parse", print);
  sett_map_print(&arena, sett_map_simplify(&arena, read_map(&arena, print)), again, sizeof again);
  check(!strcmp(print, again), "L2 simplify leaves its own text", print);
  for (i = 0; i < sett_map_variables(map); ++i) point[i] = map.variable[i].lo;
  do {
    a = sett_map_evaluate(&arena, map, point, x, &a_error);
    b = sett_map_evaluate(&arena, simple, point, y, &b_error);
    for (i = 0; i < map.results && a && b; ++i) b = x[i] == y[i];
    if (a != b || a_error != b_error) break;
  } while (++count < POINTS && next(&map, point));
  check(a == b && a_error == b_error, "L2 simplify", text);
}

static uint64_t state = UINT64_C(0x2545F4914F6CDD1D);

static int64_t draw(int64_t lo, int64_t hi) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return lo + (int64_t)(state % (uint64_t)(hi - lo + 1));
}

static sett_expr draw_expression(sett_map_arena *arena, int variables, int depth) {
  sett_expr a, b;
  int64_t c;
  if (!depth || !draw(0, 6))
    return draw(0, 5) ? sett_map_var(arena, (int)draw(0, variables - 1)) : sett_map_constant(arena, draw(-9, 9));
  a = draw_expression(arena, variables, depth - 1);
  b = draw_expression(arena, variables, depth - 1);
  c = draw(0, 1) ? draw(2, 12) : draw(-9, -2);
  switch (draw(0, 8)) {
    case 0:
    case 1: return sett_map_add(arena, a, b);
    case 2: return sett_map_sub(arena, a, b);
    case 3: return sett_map_mul(arena, a, sett_map_constant(arena, c));
    case 4:
    case 5: return sett_map_floordiv(arena, a, sett_map_constant(arena, c));
    case 6: return sett_map_mod(arena, a, sett_map_constant(arena, c));
    case 7: return draw(0, 1) ? sett_map_ceildiv(arena, a, sett_map_constant(arena, c)) : sett_map_mul(arena, a, b);
    default: return draw(0, 1) ? sett_map_min(arena, a, b) : sett_map_max(arena, a, b);
  }
}

static void draw_maps(int count) {
  static char text[1 << 14];
  while (count--) {
    sett_map_arena arena = sett_map_arena_make(memory, sizeof memory);
    sett_map_variable variable[4];
    sett_map_constraint constraint[3];
    sett_expr result[2];
    sett_map map;
    int variables = (int)draw(1, 4), constraints = (int)draw(0, 3), i;
    for (i = 0; i < variables; ++i) {
      variable[i].name = NULL;
      variable[i].lo = draw(0, 2) ? 0 : draw(-6, 6);
      variable[i].hi = variable[i].lo + draw(0, 11);
    }
    for (i = 0; i < constraints; ++i) {
      constraint[i].expr = draw_expression(&arena, variables, (int)draw(1, 3));
      constraint[i].lo = draw(-8, 12);
      constraint[i].hi = constraint[i].lo + draw(0, 9);
    }
    for (i = 0; i < 2; ++i) result[i] = draw_expression(&arena, variables, (int)draw(1, 5));
    map = sett_map_make(&arena, (variables + 1) / 2, variables / 2, 0, variable, 2, result, constraints, constraint);
    if (sett_map_print(&arena, map, text, sizeof text) >= sizeof text || map.kind != SETT_MAP_DEFINED) continue;
    if (read_map(&arena, text).kind == SETT_MAP_DEFINED) same_meaning(text);
  }
}

/* Arrays in an arena are aligned to 8 bytes, whatever was allocated before them. If a number of bytes does not fit in a
 * size_t, SIZE_MAX is returned instead. */
static void sizes(void) {
  sett_map_arena arena = sett_map_arena_make(memory, sizeof memory);
  sett_map map;
  size_t bytes, largest = SIZE_MAX;
  for (bytes = 1; bytes < 20; ++bytes) {
    void *taken = settp_map_take(&arena, bytes), *after = settp_map_take(&arena, 8);
    check(taken && after && ((uintptr_t)taken | (uintptr_t)after) % 8 == 0, "alignment", "bytes");
    check((uintptr_t)after + 8 <= (uintptr_t)taken, "room", "bytes");
  }
  for (bytes = 0; bytes < 16; ++bytes) check(!settp_map_take(&arena, largest - bytes), "more than there is", "bytes");
  map = read_map(
      &arena,
      "(a, bcd, e)[fg]{h} -> (a + e, bcd * fg, h), domain: a in [0, 9], bcd in [0, 3], e in [1, 2], fg in [0, 6], h in [0, 1], a + e in [2, 7]");
  check(map.kind == SETT_MAP_DEFINED && (uintptr_t)map.variable % _Alignof(sett_map_variable) == 0 &&
            (uintptr_t)map.constraint % _Alignof(sett_map_constraint) == 0,
        "alignment", "a map");
  check(sett_map_parse_bytes(100) == 100 * 384 + 65536 && sett_map_arena_bytes(100) < 10000, "sizes", "small");
  check(sett_map_parse_bytes(largest / 100) == largest && sett_map_arena_bytes(largest / 10) == largest, "sizes",
        "SIZE_MAX");
  for (bytes = 1; bytes < 3000; ++bytes)
    (void)sett_map_mod(&arena, sett_map_var(&arena, 0), sett_map_constant(&arena, (int64_t)bytes));
  check(sett_map_simplify_bytes(&arena, map) >= UINT32_MAX, "sizes", "simplify: 3,000 quotients");
  arena = sett_map_arena_make(memory, largest);
  check(arena.bytes == (sizeof(size_t) < 8 ? (size_t)SETTP_MAP_ARENA_MAX : largest - 7), "the most of an arena",
        "bytes");
}

/* With memory of any size the result is the answer or FULL, and nothing is written outside the memory. */
static void little_memory(const char *text) {
  unsigned char *block = (unsigned char *)malloc(1 << 20);
  size_t bytes, i;
  int full = 0, done = 0;
  if (!block) return;
  for (bytes = 0; bytes < (1 << 20) - 64; bytes += bytes < 4096 ? 24 : 1000) {
    sett_map_arena arena;
    sett_map map;
    memset(block, 0xA5, 1 << 20);
    arena = sett_map_arena_make(block, bytes);
    map = sett_map_simplify(&arena, read_map(&arena, text));
    if (map.kind == SETT_MAP_FAILED) {
      check(map.error == SETT_MAP_ERROR_FULL, "full arena", sett_map_message(map.error));
      ++full;
    } else {
      ++done;
    }
    for (i = bytes; i < bytes + 64; ++i)
      if (block[i] != 0xA5) break;
    check(i == bytes + 64, "no write outside of the memory", text);
  }
  check(full > 10 && done > 10, "both outcomes", text);
  free(block);
}

static void big_numbers(void) {
  sett_map_arena arena = sett_map_arena_make(memory, sizeof memory);
  sett_map map = read_map(
      &arena,
      "(d0) -> (d0 * 9223372036854775807 + d0, d0 floordiv -1), domain: d0 in [-9223372036854775808, 9223372036854775807]");
  int64_t point = INT64_MIN, values[2];
  int error;
  check(map.kind == SETT_MAP_DEFINED, "64-bit ends", "parse");
  check(!sett_map_evaluate(&arena, map, &point, values, &error) && error == SETT_MAP_ERROR_OVERFLOW, "64-bit ends",
        "evaluate");
  check(sett_map_simplify(&arena, map).kind == SETT_MAP_DEFINED, "64-bit ends", "simplify");
  check(read_map(&arena, "(d0) -> (9223372036854775807 + 1), domain: d0 in [0, 1]").error == SETT_MAP_ERROR_OVERFLOW,
        "constant overflow", "parse");
}

/* Deep brackets and deep divisions give an answer or an error; the parser does not recurse on the text. */
static void deep_input(void) {
  enum { DEPTH = 100000 };
  static char text[DEPTH * 16 + 100];
  size_t n = 0;
  int i;
  sett_map_arena arena = sett_map_arena_make(memory, sizeof memory);
  sett_map map, simple;
  int64_t point, x = 0, y = 0;
  memcpy(text, "(d0) -> (", n = 9);
  for (i = 0; i < 3000; ++i) text[n++] = '(';
  text[n++] = 'd', text[n++] = '0';
  for (i = 0; i < 3000; ++i) {
    memcpy(text + n, " floordiv 2 + d0)", 17);
    n += 17;
  }
  memcpy(text + n, "), domain: d0 in [0, 9]", 24);
  map = read_map(&arena, text);
  check(map.kind == SETT_MAP_DEFINED, "deep input", "parse");
  simple = sett_map_simplify(&arena, map);
  check(simple.kind == SETT_MAP_DEFINED || simple.error == SETT_MAP_ERROR_DEEP || simple.error == SETT_MAP_ERROR_FULL,
        "deep input", "simplify");
  for (point = 0; point < 10 && simple.kind == SETT_MAP_DEFINED; ++point)
    check(sett_map_evaluate(&arena, map, &point, &x, NULL) && sett_map_evaluate(&arena, simple, &point, &y, NULL) &&
              x == y,
          "deep input", "values");
  n = 9;
  for (i = 0; i < DEPTH; ++i) text[n++] = '(';
  map = sett_map_parse(&arena, text, n);
  check(map.kind == SETT_MAP_FAILED, "open brackets", "parse");
}

int main(int argc, char **argv) {
  static const char *const rules[] = {
      ("(d0, d1, d2) -> ((((d0 * 3 + d1) * 4 + d2) mod 4) floordiv 2), domain: d0 in [0, 1], d1 in [0, 2], d2 in [0, 3], "
       /* a constraint that allows one residue (d2 mod 2), next to a constraint that stays */
       "d2 * 3 + ((d0 * 3 + d1) * 4 + d2) floordiv 8 in [0, 1], d2 mod 2 in [0, 0]"),
      "(d0, d1) -> ((d0 * 12 + d1) floordiv 5, (d0 * -7 + d1 - 3) mod 6), domain: d0 in [-3, 9], d1 in [0, 11]", /* R1 */
      "(d0) -> ((d0 mod 5) floordiv 8, d0 floordiv 40), domain: d0 in [0, 39]",                           /* R2 */
      "(d0, d1) -> ((d0 * 6 + d1 * 9 + 5) floordiv 12), domain: d0 in [-4, 9], d1 in [0, 11]",            /* R3 */
      "(d0, d1) -> ((d0 * -3) floordiv 8, (d0 * 5 + d1) floordiv 6), domain: d0 in [0, 1], d1 in [0, 1]", /* R4 */
      "(d0, d1) -> ((19 - d0 * 2 - d1) floordiv 3, (d0 * 2 + d1) floordiv 3), domain: d0 in [0, 8], d1 in [0, 1]", /* R6 */
      "(d0) -> ((d0 * 2 - (d0 floordiv 3) * 5 - (d0 floordiv 6) * 2) floordiv 6), domain: d0 in [0, 99]", /* R7 */
      "(d0, d1) -> (((d0 floordiv 3) floordiv 2) * 6 + ((d0 floordiv 3) mod 2) * 3 + d0 mod 3, (d0 floordiv 4 + d1) mod 2), domain: d0 in [0, 99], d1 in [0, 3]", /* R8 */
      "(d0)[s0] -> (d0), domain: d0 in [0, 9], s0 in [-99, 99], s0 floordiv -3 in [-11, -5]",          /* C2 */
      "(d0, d1) -> (d0), domain: d0 in [0, 5], d1 in [8, 9], d0 * 8 + d1 in [0, 15]",                  /* C3 */
      "(d0, d1) -> (d0), domain: d0 in [0, 3], d1 in [0, 9], d1 floordiv 4 - d0 * 12 in [0, 0]",       /* C4 */
      "(d0) -> (d0), domain: d0 in [-7, 7], d0 mod 3 in [2, 2]",                                       /* C5 */
      "(d0) -> (d0 floordiv 11, d0), domain: d0 in [0, 200], d0 mod 11 in [3, 3], d0 mod 7 in [0, 0]", /* CRT */
      "(d0, d1) -> (d0), domain: d0 in [0, 9], d1 in [0, 9], d0 * 3 + d1 * 6 in [100, 100]",
      /* simplify writes a quotient in another form than it computes with. A second call of simplify must change nothing
       * (law L2), so simplify applies its rules to the written map again before it returns */
      "(d0) -> (((d0 + 19) mod 5) mod 4 - (d0 - d0 * 3) mod 4, d0 floordiv -2, (-d0) mod 8 + 14), domain: d0 in [-12, -10]",
      "(d0, d1, d2) -> (((d2 * 12 + d2 * 3) floordiv 24) * -36, 3), domain: d0 in [-5, 2], d1 in [2, 7], d2 in [-8, -6]",
      "(d0, d1)[s0] -> (((d1 * 2 + 1) * 18 + d0 * 9 + s0) floordiv 342, ((d1 * 2 + 1) * 18 + d0 * 9 + s0) mod 342), "
      "domain: d0 in [0, 1], d1 in [0, 17], s0 in [0, 8], d1 * 2 + 1 in [0, 37]",
      "(d0, d1, d2, d3) -> (((d0 * 2 + 3) * 4 + d2 * 2 + d3) floordiv 28, ((d0 * 2 + 3) * 4 + d2 * 2 + d3) mod 28), "
      "domain: d0 in [0, 4], d1 in [0, 13], d2 in [0, 1], d3 in [0, 1], d0 * 2 + 3 in [0, 13], d1 * 2 in [0, 27]",
      "(d0, d1){rt0} -> (d0 floordiv rt0, d1 mod rt0, d0 ceildiv rt0, min(d0, d1) * rt0), domain: d0 in [-5, 9], d1 in [0, 9], rt0 in [2, 5]",
  };
  size_t i;
  if (argc > 2) state ^= (uint64_t)strtoull(argv[2], NULL, 10) * UINT64_C(0x9E3779B97F4A7C15);
  first_look();
  for (i = 0; i < sizeof rules / sizeof *rules; ++i) same_meaning(rules[i]);
  draw_maps(argc > 1 ? atoi(argv[1]) : 3000);
  sizes();
  little_memory(
      "(d0, d1)[s0] -> ((d0 * 12 + d1) floordiv 5, (d0 * 12 + d1 + s0) mod 7), domain: d0 in [0, 9], d1 in [0, 11], s0 in [0, 3], d0 + d1 in [2, 9]");
  little_memory(
      /* the domain of this map is empty, so the answer is KNOWN EMPTY */
      "(d0, d1) -> (d0 + d1), domain: d0 in [5, 7], d1 in [-4, 4], d0 * 3 + 5 in [0, 1], d0 mod 0 in [0, 0], d0 mod 2 in [0, 0]");
  big_numbers();
  deep_input();
  printf("%d checks, %d failures\n", checks, failures);
  return failures ? 1 : 0;
}
