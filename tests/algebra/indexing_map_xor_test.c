/* Test xor in include/sett_indexing_map.h: texts, values, C text, and random maps. The oracle evaluates the drawn
 * expression itself and shares no code with the header. Run: indexing_map_xor_test [SEED [COUNT]]. */
#include "../../include/sett_indexing_map.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 1 << 15 };
static unsigned char memory[1 << 26], other_memory[1 << 24];
static sett_map_arena arena;
static uint64_t state;
static int failures, checked;

static void check(int ok, const char *what, const char *text, const char *got) {
  ++checked;
  if (ok) return;
  if (++failures < 20) printf("FAIL %s: %s\n     got %s\n", what, text, got ? got : "");
}

static int64_t draw(int64_t lo, int64_t hi) { /* splitmix64 */
  uint64_t z = state += UINT64_C(0x9E3779B97F4A7C15);
  z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
  return lo + (int64_t)((z ^ z >> 31) % (uint64_t)(hi - lo + 1));
}

static sett_map parse(const char *text) { return sett_map_parse(&arena, text, strlen(text)); }

static const char *print(sett_map map) {
  static char text[4][TEXT];
  static int turn;
  turn = (turn + 1) % 4;
  sett_map_print(&arena, map, text[turn], TEXT);
  return text[turn];
}

/* ---- texts ---- */

#define D "domain: d0 in [0, 63], d1 in [0, 15]"
#define S "domain: d0 in [-9, 20], d1 in [0, 15]"

static const struct row {
  const char *text, *parsed, *simple, *c; /* c: the C text from its second line on; NULL means that it is not tested */
} rows[] = {
    /* d1 has no upper bound; it is only known that its multiples have zeros in their lowest bits */
    {"(d0, d1) -> (d0 xor d1 * 4, d0 xor d1 * -2), domain: d0 in [0, 3], d1 in [0, 9223372036854775807]", NULL,
     "(d0, d1) -> ((d1 * 4) xor d0, (d1 * -2) xor d0), domain: d0 in [0, 3], d1 in [0, inf]", NULL},
    {"(d0, d1, d2) -> ((((d2 * -2 + d1 + d2) mod 3) xor ((d0 xor d2 xor 2) mod 12)) mod 4, ((d0 xor d2 xor 2) mod 12 + 2) xor ((d0 xor d2 xor 2) mod 12)), domain: d0 in [0, 0], d1 in [-2, 1], d2 in [8, 15], (d2 * -2 + d1 + d2) mod 3 in [1, 2]",
     NULL,
     "(d0, d1, d2) -> ((d2 mod 4) xor ((d1 - d2) mod 3) xor 2, 6 - ((d2 floordiv 2) mod 2) * 4), domain: d0 in [0, 0], d1 in [-2, 1], d2 in [8, 15], (d1 - d2) mod 3 in [1, 2]",
     NULL},
    {"(d0, d1) -> (d0 * 8 + d1 xor d0 mod 4), " D, "(d0, d1) -> ((d0 * 8 + d1) xor (d0 mod 4)), " D, NULL, NULL},
    {"(d0, d1) -> (d0^d1 ^ 3, (d0 xor d1) + 1, 1 - (d0 xor d1)), " D,
     "(d0, d1) -> (d0 xor d1 xor 3, (d0 xor d1) + 1, 1 - (d0 xor d1)), " D,
     "(d0, d1) -> (d0 xor d1 xor 3, (d0 xor d1) + 1, 1 - (d0 xor d1)), " D,
     "\nresult d0 ^ d1 ^ 3\nresult (d0 ^ d1) + 1\nresult 1 - (d0 ^ d1)"},
    {"(d0, d1) -> (d0 xor (d1 xor d0 floordiv 2), -d0 xor 5, -(d0 xor 5)), " D,
     "(d0, d1) -> (d0 xor (d1 xor (d0 floordiv 2)), (-d0) xor 5, -(d0 xor 5)), " D, NULL, NULL},
    {"(d0, d1) -> (d0 xor 0, d1 xor d1, 6 xor 3, d0 xor 2 xor 3, -1 xor 6), " D,
     "(d0, d1) -> (d0, 0, 5, d0 xor 1, -7), " D, "(d0, d1) -> (d0, 0, 5, d0 xor 1, -7), " D, NULL},
    {"(d0, d1) -> (d1), " D ", d0 xor d1 in [8, 11], min(d0 xor d1, 3) in [0, 9]", NULL, NULL, NULL},
    {"(d0, d1) -> ((d0 xor d1) mod 8, (d0 xor d1) floordiv 8), " D,
     "(d0, d1) -> ((d0 xor d1) mod 8, (d0 xor d1) floordiv 8), " D,
     "(d0, d1) -> ((d0 xor d1) mod 8, (d0 xor d1) floordiv 8), " D, "\nresult (d0 ^ d1) & 7\nresult (d0 ^ d1) >> 3"},
    {"(d0, d1) -> (d0 xor d1, d0 xor -1), " S, "(d0, d1) -> (d0 xor d1, d0 xor -1), " S,
     "(d0, d1) -> (d0 xor d1, -d0 - 1), " S, "\nresult d0 ^ d1\nresult -d0 - 1"},
    {"(r, c) -> (r, c xor (r floordiv 2) mod 4), domain: r in [0, 15], c in [0, 63]",
     "(r, c) -> (r, c xor ((r floordiv 2) mod 4)), domain: r in [0, 15], c in [0, 63]",
     "(r, c) -> (r, c xor ((r floordiv 2) mod 4)), domain: r in [0, 15], c in [0, 63]",
     "\nresult r\nresult c ^ ((r >> 1) & 3)"},
};

static const struct refused {
  const char *text;
  int error, column;
} refused[] = {
    {"(xor) -> (0), domain: xor in [0, 1]", SETT_MAP_ERROR_EXPECTED_NAME, 2},
    {"(d0) -> (d0 xor), domain: d0 in [0, 1]", SETT_MAP_ERROR_EXPECTED_OPERAND, 16},
    {"(d0) -> (xor d0), domain: d0 in [0, 1]", SETT_MAP_ERROR_EXPECTED_OPERAND, 10},
    {"(d0) -> (d0 xord 1), domain: d0 in [0, 1]", SETT_MAP_ERROR_EXPECTED_OPERATOR, 13},
};

static void texts(void) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    sett_map map, again;
    char c[TEXT];
    int error;
    arena = sett_map_arena_make(memory, sizeof memory);
    map = parse(rows[i].text);
    check(map.kind == SETT_MAP_DEFINED, "parse", rows[i].text, print(map));
    if (rows[i].parsed) check(!strcmp(print(map), rows[i].parsed), "print", rows[i].text, print(map));
    again = parse(print(map));
    check(!strcmp(print(again), print(map)), "print(parse)", rows[i].text, print(again));
    if (rows[i].simple)
      check(!strcmp(print(sett_map_simplify(&arena, map)), rows[i].simple), "simplify", rows[i].text,
            print(sett_map_simplify(&arena, map)));
    if (!rows[i].c) continue;
    sett_map_print_c(&arena, map, SETT_MAP_ANY_TYPE, c, sizeof c, &error);
    check(!error && strchr(c, '\n') && !strcmp(strchr(c, '\n'), rows[i].c), "C text", rows[i].text, c);
  }
  for (size_t i = 0; i < sizeof refused / sizeof *refused; ++i) {
    sett_map map;
    arena = sett_map_arena_make(memory, sizeof memory);
    map = parse(refused[i].text);
    check(map.kind == SETT_MAP_FAILED && map.error == refused[i].error && map.column == refused[i].column, "refused",
          refused[i].text, print(map));
  }
}

/* ---- random expressions: a tree, its text and its values ---- */

enum { VARIABLES = 3, NODES = 64 };
typedef struct tree {
  char op; /* v variable, k constant, + - *, / floordiv, % mod, ^ xor, m min, M max */
  int a, b;
  int64_t k;
} tree;
static tree node[NODES];
static int nodes;
static int64_t lo[VARIABLES], hi[VARIABLES];

static int draw_tree(int depth) {
  int at = nodes++, kind = (int)draw(0, depth <= 0 ? 3 : 15);
  tree t = {'v', 0, 0, 0};
  if (kind < 3) t.k = draw(0, VARIABLES - 1);
  else if (kind == 3) t.op = 'k', t.k = draw(-3, 20);
  else if (kind < 9) t.op = '^', t.a = draw_tree(depth - 1), t.b = draw_tree(depth - 1);
  else if (kind < 11) t.op = draw(0, 3) ? '+' : '-', t.a = draw_tree(depth - 1), t.b = draw_tree(depth - 1);
  else if (kind == 15) t.op = draw(0, 1) ? 'm' : 'M', t.a = draw_tree(depth - 1), t.b = draw_tree(depth - 1);
  else {
    t.op = kind == 11 ? '*' : kind == 12 ? '/' : '%';
    t.a = draw_tree(depth - 1);
    t.b = nodes++;
    node[t.b].op = 'k';
    node[t.b].k = draw(0, 4) ? (int64_t)1 << draw(1, 4) : draw(2, 12);
  }
  node[at] = t;
  return at;
}

static char *text_of(int at, char *out) {
  tree t = node[at];
  if (t.op == 'v') return out + sprintf(out, "d%" PRId64, t.k);
  if (t.op == 'k') return out + sprintf(out, "%" PRId64, t.k);
  out += sprintf(out, t.op == 'm' ? "min(" : t.op == 'M' ? "max(" : "(");
  out = text_of(t.a, out);
  out += sprintf(out, "%s",
                 t.op == 'm' || t.op == 'M' ? ", "
                 : t.op == '/'              ? " floordiv "
                 : t.op == '%'              ? " mod "
                 : t.op == '^'              ? " xor "
                 : t.op == '+'              ? " + "
                 : t.op == '-'              ? " - "
                                            : " * ");
  out = text_of(t.b, out);
  return out + sprintf(out, ")");
}

static int64_t value_of(int at, const int64_t *point) {
  tree t = node[at];
  int64_t a, b, r;
  if (t.op == 'v') return point[t.k];
  if (t.op == 'k') return t.k;
  a = value_of(t.a, point);
  b = value_of(t.b, point);
  switch (t.op) {
    case '+': return a + b;
    case '-': return a - b;
    case '*': return a * b;
    case '^': return (int64_t)((uint64_t)a ^ (uint64_t)b);
    case 'm': return a < b ? a : b;
    case 'M': return a > b ? a : b;
    default: r = (a % b + b) % b; return t.op == '%' ? r : (a - r) / b;
  }
}

/* An evaluator of the C that sett_map_print_c writes, in 64 bits: ?: with comparisons, && == <= < > ^ & >> << + - * / %
 */
static const char *c_at;
static const int64_t *c_point;
static int64_t c_level(int level);
static int64_t c_operand(void) {
  while (*c_at == ' ') ++c_at;
  if (*c_at == '(') {
    int64_t x;
    ++c_at;
    x = c_level(0);
    while (*c_at == ' ') ++c_at;
    ++c_at;
    return x;
  }
  if (*c_at == '-') return ++c_at, -c_operand();
  if (*c_at == 'd') {
    c_at += 2;
    return c_point[c_at[-1] - '0'];
  }
  {
    int64_t x = strtoll(c_at, (char **)(void *)&c_at, 10);
    while (*c_at == 'u' || *c_at == 'L') ++c_at;
    return x;
  }
}
static int c_word(const char *w) {
  while (*c_at == ' ') ++c_at;
  if (strncmp(c_at, w, strlen(w))) return 0;
  c_at += strlen(w);
  return 1;
}
/* levels of precedence: 0 ?:, 1 &&, 2 ^, 3 &, 4 == !=, 5 <= < >, 6 >>, 7 + -, 8 * / % */
static int64_t c_level(int level) {
  int64_t x = level == 9 ? 0 : level < 8 ? c_level(level + 1) : c_operand(), y;
  if (level == 0 && c_word("?")) {
    int64_t z;
    y = c_level(0);
    c_word(":");
    z = c_level(0);
    return x ? y : z;
  }
  for (;;) {
    if (level == 1 && c_word("&& ")) y = c_level(2), x = x && y;
    else if (level == 2 && c_word("^ ")) x ^= c_level(3);
    else if (level == 3 && c_word("& ")) x &= c_level(4);
    else if (level == 4 && c_word("== ")) x = x == c_level(5);
    else if (level == 4 && c_word("!= ")) x = x != c_level(5);
    else if (level == 5 && c_word("<= ")) x = x <= c_level(6);
    else if (level == 5 && c_word("< ")) x = x < c_level(6);
    else if (level == 5 && c_word("> ")) x = x > c_level(6);
    else if (level == 6 && c_word(">> ")) x >>= c_level(7);
    else if (level == 7 && c_word("+ ")) x += c_level(8);
    else if (level == 7 && c_word("- ")) x -= c_level(8);
    else if (level == 8 && c_word("* ")) x *= c_operand();
    else if (level == 8 && c_word("/ ")) x /= c_operand();
    else if (level == 8 && c_word("% ")) x %= c_operand();
    else return x;
  }
}

static int next(int64_t *point) {
  for (int i = VARIABLES - 1; i >= 0; --i) {
    if (point[i] < hi[i]) return ++point[i], 1;
    point[i] = lo[i];
  }
  return 0;
}

static void draw_bounds(void) {
  for (int i = 0; i < VARIABLES; ++i) {
    int64_t size = draw(0, 2) ? (int64_t)1 << draw(0, 4) : draw(1, 20);
    lo[i] = draw(0, 4) ? 0 : draw(-12, 12);
    hi[i] = lo[i] + size - 1;
  }
}

static void expressions(int count) {
  for (int round = 0; round < count; ++round) {
    static char text[TEXT], simple_text[TEXT], c[TEXT];
    char *end = text;
    int64_t point[VARIABLES], value[2], least = INT64_MAX, most = INT64_MIN, at_c[2];
    int root[2], type, error, with_constraint = !draw(0, 3), is_empty = 1;
    sett_map map, simple, with, without;
    sett_map_values values;
    sett_map_arena fresh;
    nodes = 0;
    draw_bounds();
    root[0] = draw_tree(3);
    root[1] = draw_tree(2);
    end += sprintf(end, "(d0, d1, d2) -> (");
    end = text_of(root[0], end);
    end += sprintf(end,
                   "), domain: d0 in [%" PRId64 ", %" PRId64 "], d1 in [%" PRId64 ", %" PRId64 "], d2 in [%" PRId64
                   ", %" PRId64 "]",
                   lo[0], hi[0], lo[1], hi[1], lo[2], hi[2]);
    if (with_constraint) {
      end += sprintf(end, ", ");
      end = text_of(root[1], end);
      sprintf(end, " in [0, 7]");
    }
    arena = sett_map_arena_make(memory, sizeof memory);
    map = parse(text);
    check(map.kind == SETT_MAP_DEFINED || map.kind == SETT_MAP_EMPTY, "parse", text, print(map));
    check(!strcmp(print(parse(print(map))), print(map)), "print(parse)", text, print(map));
    simple = sett_map_simplify(&arena, map);
    strcpy(simple_text, print(simple));
    fresh = sett_map_arena_make(other_memory, sizeof other_memory);
    simple = sett_map_simplify(&fresh, sett_map_parse(&fresh, simple_text, strlen(simple_text)));
    sett_map_print(&fresh, simple, c, sizeof c);
    check(!strcmp(c, simple_text), "simplified again", simple_text, c);
    simple = parse(simple_text);
    with = sett_map_with_xor(&arena, map);
    without = sett_map_without_xor(&arena, map);
    check(!strcmp(print(sett_map_with_xor(&arena, parse(print(with)))), print(with)), "with_xor again", text,
          print(with));
    check(!strcmp(print(sett_map_without_xor(&arena, parse(print(map)))), print(without)),
          "without_xor of the same text", text, print(without));
    check(!strstr(print(without), "xor"), "without xor", text, print(without));
    sett_map_print_c(&arena, map, SETT_MAP_LONG, c, sizeof c, &error);
    type = !error;
    values =
        sett_map_congruence(&arena, map, map.kind == SETT_MAP_DEFINED ? map.result[0] : sett_map_constant(&arena, 0));
    for (int i = 0; i < VARIABLES; ++i) point[i] = lo[i];
    do {
      int64_t constraint = with_constraint ? value_of(root[1], point) : 0;
      int inside = constraint >= 0 && constraint <= 7;
      sett_map which[4] = {map, simple, with, without};
      value[0] = value_of(root[0], point);
      if (inside) is_empty = 0;
      if (inside && value[0] < least) least = value[0];
      if (inside && value[0] > most) most = value[0];
      for (int k = 0; k < 4; ++k) {
        int yes = sett_map_evaluate(&arena, which[k], point, value + 1, &error);
        if (yes != inside || (inside && value[0] != value[1])) {
          check(0,
                k == 0   ? "evaluate"
                : k == 1 ? "simplify"
                : k == 2 ? "with_xor"
                         : "without_xor",
                text, print(which[k]));
          k = 4;
        }
      }
      if (type && map.kind == SETT_MAP_DEFINED && inside) {
        c_at = strstr(c, "\nresult ") + 8;
        c_point = point;
        at_c[0] = c_level(0);
        check(at_c[0] == value[0] && (*c_at == '\n' || !*c_at), "C text", text, c);
      }
      if (inside)
        check(
            values.lo <= value[0] && value[0] <= values.hi &&
                (values.modulus == 0 ? value[0] == values.residue : (value[0] - values.residue) % values.modulus == 0),
            "range", text, "");
      if (failures > 20) return;
    } while (next(point));
    check(is_empty || map.kind == SETT_MAP_DEFINED, "not empty", text, print(map));
    if (map.kind == SETT_MAP_DEFINED && !is_empty) {
      sett_map_interval r = sett_map_range(&arena, map, map.result[0]);
      check(r.lo <= least && most <= r.hi, "range", text, "");
    }
    check(sett_map_equal(&arena, map, without).yes, "equal", text, print(without));
  }
}

/* ---- operands of up to 62 bits and a sign: their sum may not fit in 64 bits, their exclusive or does ---- */

static void wide(int count) {
  for (int round = 0; round < count; ++round) {
    static const int64_t top = INT64_C(1) << 62;
    char text[512], *end = text;
    int operands = (int)draw(2, 6), error;
    int64_t low[6], high[6], point[6], value;
    sett_map map, without;
    arena = sett_map_arena_make(memory, sizeof memory);
    end += sprintf(end, "(d0, d1, d2, d3, d4, d5) -> (d0");
    for (int i = 1; i < operands; ++i) end += sprintf(end, " xor d%d", i);
    end += sprintf(end, "), domain: ");
    for (int i = 0; i < 6; ++i) {
      high[i] = (INT64_C(1) << (draw(0, 2) ? 62 : draw(50, 61))) - 1;
      low[i] = draw(0, 1) ? 0 : -high[i] - 1;
      end += sprintf(end, "%sd%d in [%" PRId64 ", %" PRId64 "]", i ? ", " : "", i, low[i], high[i]);
    }
    map = parse(text);
    without = sett_map_without_xor(&arena, map);
    check(without.kind == SETT_MAP_DEFINED && !strstr(print(without), "xor"), "without xor", text, print(without));
    for (int k = 0; k < 64 && without.kind == SETT_MAP_DEFINED; ++k) {
      int64_t expected = 0;
      for (int i = 0; i < 6; ++i) {
        point[i] = draw(0, 2) ? k % 2 ? high[i] : low[i] : draw(0, high[i]);
        if (i < operands) expected = (int64_t)((uint64_t)expected ^ (uint64_t)point[i]);
      }
      check(sett_map_evaluate(&arena, without, point, &value, &error) == 1 && value == expected, "wide operands", text,
            print(without));
      if (failures > 20) return;
    }
    /* an operand with one bit more is refused */
    sprintf(text, "(d0, d1) -> (d0 xor d1), domain: d0 in [%" PRId64 ", %" PRId64 "], d1 in [0, 1]",
            round % 2 ? -top - 1 : 0, round % 2 ? 0 : top);
    without = sett_map_without_xor(&arena, parse(text));
    check(without.kind == SETT_MAP_FAILED && without.error == SETT_MAP_ERROR_OVERFLOW, "refused", text, print(without));
  }
}

/* ---- chains of swizzles: each step x -> x xor (a digit of x) is its own inverse ---- */

typedef struct chain {
  int steps, from[8], size[8], to[8], width;
} chain;

static sett_map swizzle(const chain *c, int step, int64_t size) {
  char text[256];
  sprintf(text,
          "(d0) -> (d0 xor ((d0 floordiv %" PRId64 ") mod %" PRId64 ") * %" PRId64 "), domain: d0 in [0, %" PRId64 "]",
          (int64_t)1 << c->from[step], (int64_t)1 << c->size[step], (int64_t)1 << c->to[step], size - 1);
  return parse(text);
}

static int64_t swizzled(const chain *c, int64_t x) {
  for (int i = 0; i < c->steps; ++i) x ^= (x >> c->from[i] & (((int64_t)1 << c->size[i]) - 1)) << c->to[i];
  return x;
}

/* Draw steps whose source and target digits do not overlap and are below `width` bits. */
static chain draw_chain(int width, int steps) {
  chain c;
  c.steps = steps;
  c.width = width;
  for (int i = 0; i < steps; ++i) {
    int apart;
    c.size[i] = (int)draw(1, width / 2);
    c.from[i] = (int)draw(0, width - 2 * c.size[i]);
    c.to[i] = (int)draw(c.from[i] + c.size[i], width - c.size[i]);
    apart = (int)draw(0, 1);
    if (!apart) {
      int swap = c.from[i];
      c.from[i] = c.to[i];
      c.to[i] = swap;
    }
  }
  return c;
}

static void swizzles(int count) {
  for (int round = 0; round < count; ++round) {
    chain c = draw_chain((int)(draw(0, 1) ? draw(4, 10) : draw(11, 40)), (int)draw(1, 4)), other;
    int64_t size = (int64_t)1 << c.width;
    sett_map there, back, both, inverse, different;
    sett_map_answer why;
    char identity[128], gray[128], folded[128];
    arena = sett_map_arena_make(memory, sizeof memory);
    there = swizzle(&c, 0, size);
    for (int i = 1; i < c.steps; ++i) there = sett_map_compose(&arena, there, swizzle(&c, i, size));
    both = there;
    for (int i = c.steps - 1; i >= 0; --i) both = sett_map_compose(&arena, both, swizzle(&c, i, size));
    sprintf(identity, "(d0) -> (d0), domain: d0 in [0, %" PRId64 "]", size - 1);
    check(!strcmp(print(sett_map_simplify(&arena, both)), identity), "a chain and its way back", print(both),
          print(sett_map_simplify(&arena, both)));
    there = sett_map_simplify(&arena, there);
    for (int i = 0; i < 50; ++i) {
      int64_t x = draw(0, size - 1), y = -1;
      sett_map_evaluate(&arena, there, &x, &y, NULL);
      check(y == swizzled(&c, x), "a chain", print(there), "");
    }
    inverse = sett_map_inverse(&arena, there, &why);
    check(why.yes && inverse.kind == SETT_MAP_DEFINED, "inverse", print(there), why.reason);
    for (int i = 0; i < 50 && inverse.kind == SETT_MAP_DEFINED; ++i) {
      int64_t x = draw(0, size - 1), y = swizzled(&c, x), z = -1;
      sett_map_evaluate(&arena, inverse, &y, &z, NULL);
      check(x == z, "inverse", print(there), print(inverse));
    }
    check(sett_map_is_bijective(&arena, there, NULL).yes, "bijective", print(there), "");
    back = swizzle(&c, c.steps - 1, size);
    for (int i = c.steps - 2; i >= 0; --i) back = sett_map_compose(&arena, back, swizzle(&c, i, size));
    check(sett_map_equal(&arena, inverse, back).yes, "the inverse is the way back", print(inverse),
          sett_map_equal(&arena, inverse, back).reason);
    check(sett_map_equal(&arena, sett_map_without_xor(&arena, there), there).yes, "equal without xor", print(there),
          print(sett_map_without_xor(&arena, there)));
    other = c;
    other.to[0] = c.to[0] ? c.to[0] - 1 : 1;
    if (other.to[0] + c.size[0] <= c.width) {
      different = swizzle(&other, 0, size);
      for (int i = 1; i < c.steps; ++i) different = sett_map_compose(&arena, different, swizzle(&other, i, size));
      why = sett_map_equal(&arena, there, different);
      check(why.no && why.point && swizzled(&c, why.point[0]) != swizzled(&other, why.point[0]), "different",
            print(there), why.reason);
    }
    /* `gray` is a bijection; `folded` does not depend on the lowest bit, so it gives two points one value */
    sprintf(gray, "(d0) -> (d0 xor (d0 floordiv 2)), domain: d0 in [0, %" PRId64 "]", size - 1);
    sprintf(folded, "(d0) -> ((d0 floordiv 2) * 2 xor (d0 floordiv 2) mod 2), domain: d0 in [0, %" PRId64 "]",
            size - 1);
    both = sett_map_compose(&arena, there, parse(gray));
    different = sett_map_compose(&arena, there, parse(folded));
    check(sett_map_is_bijective(&arena, both, NULL).yes, "bijective", print(both), "");
    why = sett_map_is_injective(&arena, different);
    check(why.no && why.point && why.other && why.point[0] != why.other[0] &&
              (swizzled(&c, why.point[0]) & ~(int64_t)1) == (swizzled(&c, why.other[0]) & ~(int64_t)1),
          "two points meet", print(different), why.reason);
    {
      sett_map_interval box;
      box.lo = 0;
      box.hi = size - 1;
      why = sett_map_covers(&arena, different, &box);
      check(why.no && why.missed && ((why.missed[0] ^ why.missed[0] >> 1) & 1), "a point is missed", print(different),
            why.reason);
    }
  }
}

/* ---- arrays whose numbers of rows and columns are not powers of two ---- */

static void tiles(int count) {
  for (int round = 0; round < count; ++round) {
    int64_t rows_of = draw(1, 40), group = (int64_t)1 << draw(1, 3), columns = group * draw(1, 9), every = draw(1, 4);
    char text[512], back[512];
    sett_map map, inverse;
    sett_map_answer why;
    arena = sett_map_arena_make(memory, sizeof memory);
    sprintf(text,
            "(d0, d1) -> (d0 * %" PRId64 " + (d1 xor ((d0 floordiv %" PRId64 ") mod %" PRId64
            "))), domain: d0 in [0, %" PRId64 "], d1 in [0, %" PRId64 "]",
            columns, every, group, rows_of - 1, columns - 1);
    map = parse(text);
    inverse = sett_map_inverse(&arena, map, &why);
    check(why.yes, "inverse", text, why.reason);
    if (!why.yes) continue;
    sprintf(back, "(d0, d1) -> (d0, d1), domain: d0 in [0, %" PRId64 "], d1 in [0, %" PRId64 "]", rows_of - 1,
            columns - 1);
    check(sett_map_equal(&arena, sett_map_compose(&arena, map, inverse), parse(back)).yes, "identity", text,
          print(inverse));
    for (int64_t r = 0; r < rows_of; ++r)
      for (int64_t c = 0; c < columns; ++c) {
        int64_t x = r * columns + (c ^ ((r / every) % group)), y[2] = {-1, -1};
        sett_map_evaluate(&arena, inverse, &x, y, NULL);
        check(y[0] == r && y[1] == c, "inverse", text, print(inverse));
      }
  }
}

int main(int argc, char **argv) {
  int count = argc > 2 ? atoi(argv[2]) : 400;
  state = argc > 1 ? (uint64_t)atoll(argv[1]) : 1;
  texts();
  expressions(count);
  wide(count / 8);
  swizzles(count / 8);
  tiles(count / 8);
  printf("%d checked, %d failures\n", checked, failures);
  return failures != 0;
}
