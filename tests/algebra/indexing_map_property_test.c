/* Property: the laws of include/sett_indexing_map.h hold for random maps of every class
 * (tests/algebra/indexing_map_draw.h): at points inside the domain, at points outside, and at points without a value,
 * where a divisor is 0 or a number does not fit in 64 bits. The oracle is a separate reader and evaluator of texts, which
 * shares no code with the header. It evaluates the texts of the drawn steps and of the results.
 *
 * Run: indexing_map_property_test [SEED [COUNT [FILE [RANK DEPTH | CLASS]]]]
 *   FILE         gets a line for every map that is right but not simple; '-' means no file
 *   RANK DEPTH   draw only identities: DEPTH moves of a tensor of this rank with up to 2^20 elements, and as many back
 *   CLASS        draw only maps of this class (ZERO, ..); the class ALGEBRA has maps of minima, products and divisors
 * Without RANK, DEPTH and CLASS, COUNT maps of every class are drawn, COUNT/8 identities of rank 4 and depth 3, COUNT/40
 * of rank 6 and depth 6, and COUNT maps of ALGEBRA.
 *
 *   indexing_map_property_test texts SEED COUNT   prints COUNT maps of ALGEBRA, one per line */
#include "indexing_map_draw.h"

#include <time.h>

/* ================================================================ the oracle: a text as a list of operations,
 * evaluated at many points at once */

enum { OPS = 1 << 12, VARIABLES = 24, CONSTRAINTS = 512, CHUNK = 128, POINTS = 1 << 12, NODES = 5000 };

typedef struct term {
  char kind; /* c constant, v variable, + - * / % (floor), ^ (ceildiv), < (min), > (max) */
  int a, b;
  int64_t k;
} term;

typedef struct function {
  int empty, dims, ranges, variables, results, constraints, terms;
  char name[VARIABLES][16];
  int64_t lo[VARIABLES], hi[VARIABLES];
  int result[VARIABLES];
  int constraint[CONSTRAINTS];
  int64_t least[CONSTRAINTS], most[CONSTRAINTS];
  term term[OPS];
  int hash[2 * OPS]; /* hash table: 1 + the index of a term, 0 for a free entry */
} function;

static const char *at; /* the parser's position */

static void stop(const char *what) {
  fprintf(stderr, "the oracle does not understand: %s at '%.60s'\n", what, at);
  exit(2);
}

static int word(const char *w) {
  size_t n = strlen(w);
  while (*at == ' ') ++at;
  if (strncmp(at, w, n)) return 0;
  at += n;
  return 1;
}

static void expect(const char *w) {
  if (!word(w)) stop(w);
}

static int make(function *f, char kind, int a, int b, int64_t k) {
  uint64_t h = ((uint64_t)kind * 31 + (uint64_t)a) * UINT64_C(0x9E3779B97F4A7C15) +
               (uint64_t)b * UINT64_C(0xBF58476D1CE4E5B9) + (uint64_t)k * UINT64_C(0x94D049BB133111EB);
  size_t i = (size_t)(h >> 40) % (2 * OPS);
  for (; f->hash[i]; i = (i + 1) % (2 * OPS)) {
    const term *t = &f->term[f->hash[i] - 1];
    if (t->kind == kind && t->a == a && t->b == b && t->k == k) return f->hash[i] - 1;
  }
  if (f->terms == OPS) stop("too long");
  f->hash[i] = f->terms + 1;
  f->term[f->terms].kind = kind;
  f->term[f->terms].a = a;
  f->term[f->terms].b = b;
  f->term[f->terms].k = k;
  return f->terms++;
}

static int sum(function *f);

static int operand(function *f) {
  char *end;
  int i, a, least;
  size_t n = 0;
  if (word("(")) {
    a = sum(f);
    expect(")");
    return a;
  }
  if (word("-")) {
    a = operand(f);
    return make(f, '-', make(f, 'c', 0, 0, 0), a, 0);
  }
  if ((least = word("min(")) || word("max(")) {
    a = sum(f);
    expect(",");
    a = make(f, least ? '<' : '>', a, sum(f), 0);
    expect(")");
    return a;
  }
  if (*at >= '0' && *at <= '9') {
    int64_t k = strtoll(at, &end, 10);
    at = end;
    return make(f, 'c', 0, 0, k);
  }
  while (at[n] == '_' || (at[n] >= '0' && at[n] <= '9') || (at[n] >= 'a' && at[n] <= 'z')) ++n;
  for (i = 0; i < f->variables; ++i)
    if (n && strlen(f->name[i]) == n && !strncmp(f->name[i], at, n)) {
      at += n;
      return make(f, 'v', i, 0, 0);
    }
  stop("operand");
  return 0;
}

static int product(function *f) {
  int a = operand(f);
  for (;;) {
    char kind = word("*") ? '*' : word("floordiv") ? '/' : word("mod") ? '%' : word("ceildiv") ? '^' : 0;
    if (!kind) return a;
    a = make(f, kind, a, operand(f), 0);
  }
}

static int sum(function *f) {
  int a = product(f);
  for (;;) {
    char kind = word("+") ? '+' : 0;
    while (*at == ' ') ++at;
    if (!kind && *at == '-' && at[1] != '>') kind = *at++;
    if (!kind) return a;
    a = make(f, kind, a, product(f), 0);
  }
}

static void names(function *f, const char *close) {
  while (!word(close)) {
    size_t n;
    word(",");
    while (*at == ' ') ++at;
    n = strcspn(at, ",)]}");
    if (f->variables == VARIABLES || n >= sizeof f->name[0]) stop("names");
    memcpy(f->name[f->variables], at, n);
    f->name[f->variables][n] = 0;
    f->lo[f->variables] = INT64_MIN;
    f->hi[f->variables++] = INT64_MAX;
    at += n;
  }
}

static int64_t number(void) {
  char *end;
  int64_t k;
  if (word("-inf")) return INT64_MIN;
  if (word("inf")) return INT64_MAX;
  k = strtoll(at, &end, 10);
  if (end == at) stop("number");
  at = end;
  return k;
}

static void read_function(function *f, const char *text) {
  at = text;
  memset(f->hash, 0, sizeof f->hash);
  f->variables = f->results = f->constraints = f->terms = 0;
  f->empty = !strcmp(text, "KNOWN EMPTY");
  if (f->empty) return;
  expect("(");
  names(f, ")");
  f->dims = f->variables;
  if (word("[")) names(f, "]");
  f->ranges = f->variables - f->dims;
  if (word("{")) names(f, "}");
  expect("->");
  expect("(");
  while (!word(")")) {
    word(",");
    f->result[f->results++] = sum(f);
  }
  if (word(", domain:")) do {
      int e = sum(f);
      const term *t = &f->term[e];
      int64_t lo, hi;
      expect("in [");
      lo = number();
      expect(",");
      hi = number();
      expect("]");
      if (t->kind == 'v') { /* bounds of a variable; a text may have several for one variable */
        f->lo[t->a] = lo > f->lo[t->a] ? lo : f->lo[t->a];
        f->hi[t->a] = hi < f->hi[t->a] ? hi : f->hi[t->a];
        continue;
      }
      if (f->constraints == CONSTRAINTS) stop("constraints");
      f->constraint[f->constraints] = e;
      f->least[f->constraints] = lo;
      f->most[f->constraints++] = hi;
    } while (word(","));
  while (*at == ' ') ++at;
  if (*at) stop("end");
}

static int64_t floor_quotient(int64_t a, int64_t b) {
  int64_t q;
  if ((uint64_t)a + (UINT64_C(1) << 50) < UINT64_C(1) << 51 && (uint64_t)b + (UINT64_C(1) << 50) < UINT64_C(1) << 51)
    q = (int64_t)((double)a / (double)b); /* truncation gives the exact quotient, much faster than a 64-bit division */
  else q = a / b;
  return q - (a != q * b && (a < 0) != (b < 0));
}

typedef struct columns { /* points, or a map's values at points: a column per variable or result */
  int n;
  int64_t value[VARIABLES][POINTS];
  unsigned char inside[POINTS]; /* columns of results: 1 if the point is in the domain and every result has a value */
  unsigned char failed
      /* columns of results: 1 if no constraint is false at the point, but a constraint or result has no value */
      [POINTS];
} columns;

static int64_t slot[OPS][CHUNK];
static unsigned char fault[OPS][CHUNK]; /* 1 if the term has no value at the point */

/* Evaluate f at n points and write the values to `out`, from row `from` on. in[i]: variable i at each point. A false
 * constraint puts a point outside, even if another constraint has no value. */
static void evaluate(const function *f, const int64_t *const *in, int n, columns *out, int from) {
  unsigned char *inside = out->inside + from, *failed = out->failed + from, any[CHUNK] = {0};
  int i, p;
  for (i = 0; i < f->terms; ++i) {
    const term *t = &f->term[i];
    int64_t *r = slot[i];
    const int64_t *a = slot[t->a], *b = slot[t->b];
    unsigned char *bad = fault[i];
    if (t->kind == 'c' || t->kind == 'v') memset(bad, 0, (size_t)n);
    else
      for (p = 0; p < n; ++p) bad[p] = fault[t->a][p] | fault[t->b][p];
    switch (t->kind) {
      case 'c':
        for (p = 0; p < n; ++p) r[p] = t->k;
        break;
      case 'v': memcpy(r, in[t->a], (size_t)n * sizeof *r); break;
      case '+':
        for (p = 0; p < n; ++p) bad[p] |= (unsigned char)__builtin_add_overflow(a[p], b[p], &r[p]);
        break;
      case '-':
        for (p = 0; p < n; ++p) bad[p] |= (unsigned char)__builtin_sub_overflow(a[p], b[p], &r[p]);
        break;
      case '*':
        for (p = 0; p < n; ++p) bad[p] |= (unsigned char)__builtin_mul_overflow(a[p], b[p], &r[p]);
        break;
      case '<':
        for (p = 0; p < n; ++p) r[p] = a[p] < b[p] ? a[p] : b[p];
        break;
      case '>':
        for (p = 0; p < n; ++p) r[p] = a[p] > b[p] ? a[p] : b[p];
        break;
      default:
        for (p = 0; p < n; ++p) {
          r[p] = 0;
          if (!b[p] || a[p] == INT64_MIN) bad[p] = 1;
          else if (t->kind == '/') r[p] = floor_quotient(a[p], b[p]);
          else if (t->kind == '%') r[p] = a[p] - b[p] * floor_quotient(a[p], b[p]);
          else r[p] = -floor_quotient(-a[p], b[p]);
        }
    }
  }
  for (i = 0; i < f->variables; ++i)
    for (p = 0; p < n; ++p) inside[p] &= (unsigned char)(f->lo[i] <= in[i][p] && in[i][p] <= f->hi[i]);
  for (i = 0; i < f->constraints; ++i) {
    const int64_t *r = slot[f->constraint[i]];
    const unsigned char *bad = fault[f->constraint[i]];
    for (p = 0; p < n; ++p) {
      inside[p] &= (unsigned char)(bad[p] || (f->least[i] <= r[p] && r[p] <= f->most[i]));
      any[p] |= bad[p];
    }
  }
  for (i = 0; i < f->results; ++i) {
    for (p = 0; p < n; ++p) any[p] |= fault[f->result[i]][p];
    memcpy(&out->value[i][from], slot[f->result[i]], (size_t)n * sizeof(int64_t));
  }
  for (p = 0; p < n; ++p) {
    failed[p] |= inside[p] & any[p];
    inside[p] &= (unsigned char)!any[p];
  }
}

/* Read a map from a text and evaluate it at the points. */
static void evaluate_text(function *f, const char *text, const columns *points, columns *out) {
  int from, i;
  read_function(f, text);
  out->n = points->n;
  memset(out->inside, !f->empty, sizeof out->inside);
  memset(out->failed, 0, sizeof out->failed);
  for (from = 0; from < points->n && !f->empty; from += CHUNK) {
    const int64_t *in[VARIABLES];
    for (i = 0; i < f->variables; ++i) in[i] = &points->value[i][from];
    evaluate(f, in, points->n - from < CHUNK ? points->n - from : CHUNK, out, from);
  }
}

/* ================================================================ counters */

static uint64_t seed;
static int wrong, maps, whole, partial, empties, empties_left, identities[DRAW_CLASS_COUNT], left[DRAW_CLASS_COUNT],
    again, history, huge, asked, exact, linear, printed, longer, undecided, mutants, mutants_found, mutants_left;
static draw_chain chain; /* the map under test */
static FILE *account;

static void fail(const char *what, const char *text) {
  int i;
  ++wrong;
  printf("WRONG %s: %.400s\n", what, text);
  for (i = 0; i < chain.steps; ++i) printf("  %s\n", chain.step[i]);
  if (account) fprintf(account, "WRONG %s\t%s\t\n", what, text);
}

/* Record a map that is right but not as simple as expected: in FILE, and the first few also on the terminal. */
static void note(const char *what, const char *input, const char *output) {
  if (account) fprintf(account, "%s\t%s\t%s\n", what, input, output);
  else if (++printed <= 5) printf("%s: %.400s\n  => %.400s\n", what, input, output);
}

/* ================================================================ one map */

static function step[2 * DRAW_DEPTH], oracle;
static columns points, truth, values, one;
static uint64_t memory[1 << 24];
static sett_map_arena arena;
static char composed_text[1 << 15], simple_text[1 << 16], again_text[1 << 16];

/* Fill `points` with all points of the box of the composed map, or with a sample. The composed map's variables are the
 * dimensions of the first step, then the ranges from the last step to the first, then the runtime variables in the same
 * order. place[k]: the first variable of step k. Return 1 if `points` has all points. */
static int draw_points(draw *r, int (*place)[2]) {
  int64_t lo[VARIABLES], hi[VARIABLES], now[VARIABLES], total = 1;
  int n = 0, i, k, p, rts;
  for (i = 0; i < step[0].dims; ++i) lo[n] = step[0].lo[i], hi[n++] = step[0].hi[i];
  for (rts = 0; rts < 2; ++rts)
    for (k = chain.steps - 1; k >= 0; --k) {
      int first = step[k].dims + (rts ? step[k].ranges : 0), end = rts ? step[k].variables : first + step[k].ranges;
      place[k][rts] = n;
      for (i = first; i < end; ++i) lo[n] = step[k].lo[i], hi[n++] = step[k].hi[i];
    }
  for (i = 0; i < n; ++i) {
    total = lo[i] > hi[i] ? 0 : total > POINTS ? total : total * (hi[i] - lo[i] + 1);
    now[i] = lo[i];
  }
  points.n = total <= POINTS ? (int)total : POINTS / 4;
  for (p = 0; p < points.n; ++p) {
    int64_t base = draw_one_in(r, 3) ? draw_int(r, lo[0], hi[0]) : 0, near = 1 + 3 * draw_int(r, 0, 3);
    for (i = 0; i < n; ++i) {
      int64_t least = base - near > lo[i] ? base - near : lo[i], most = base + near < hi[i] ? base + near : hi[i];
      int anywhere = least > most || p % 2 == 0 ||
                     draw_one_in(r, 4); /* at every second point the variables are close to each other */
      points.value[i][p] = total <= POINTS ? now[i] : draw_int(r, anywhere ? lo[i] : least, anywhere ? hi[i] : most);
    }
    for (i = n - 1; i >= 0 && now[i]++ == hi[i]; --i) now[i] = lo[i];
  }
  return total <= POINTS;
}

/* Compute `truth`: the oracle evaluates the steps of the chain one after the other. */
static void find_truth(int (*place)[2]) {
  int from, k, i, n;
  truth.n = points.n;
  memset(truth.inside, 1, sizeof truth.inside);
  memset(truth.failed, 0, sizeof truth.failed);
  for (from = 0; from < points.n; from += CHUNK) {
    const int64_t *in[VARIABLES];
    n = points.n - from < CHUNK ? points.n - from : CHUNK;
    for (i = 0; i < step[0].dims; ++i) in[i] = &points.value[i][from];
    for (k = 0; k < chain.steps; ++k) {
      int dims = step[k].dims, ranges = step[k].ranges;
      for (i = dims; i < step[k].variables; ++i)
        in[i] = &points.value[i < dims + ranges ? place[k][0] + i - dims : place[k][1] + i - dims - ranges][from];
      evaluate(&step[k], in, n, &truth, from);
      for (i = 0; i < step[k].results; ++i) in[i] = &truth.value[i][from];
    }
  }
}

/* Return 1 if domain and values equal the truth, except at points where the truth has no value. */
static int is_true(const columns *v) {
  int p, i;
  for (p = 0; p < truth.n; ++p)
    if (!truth.failed[p] && (v->failed[p] || truth.inside[p] != v->inside[p])) return 0;
  for (i = 0; i < step[chain.steps - 1].results; ++i)
    for (p = 0; p < truth.n; ++p)
      if (truth.inside[p] && truth.value[i][p] != v->value[i][p]) return 0;
  return 1;
}

static void check_evaluate(draw *r, sett_map map) {
  int64_t point[VARIABLES], results[VARIABLES];
  int tries, i, p, inside, error, ok;
  for (tries = 0; tries < 6 && points.n; ++tries) {
    p = (int)draw_int(r, 0, points.n - 1);
    for (i = 0; i < sett_map_variables(map); ++i) point[i] = points.value[i][p];
    inside = sett_map_evaluate(&arena, map, point, results, &error);
    if (truth.failed[p]) continue;
    ok = inside == truth.inside[p] && !error;
    for (i = 0; i < map.results && inside; ++i) ok &= results[i] == truth.value[i][p];
    if (!ok) fail("evaluate", composed_text);
  }
}

static void check_range(sett_map map, int all) {
  int i, p;
  for (i = 0; i < map.results; ++i) {
    sett_map_interval r = sett_map_range(&arena, map, map.result[i]);
    int64_t lo = INT64_MAX, hi = INT64_MIN;
    for (p = 0; p < truth.n; ++p) {
      if (!truth.inside[p]) continue;
      lo = truth.value[i][p] < lo ? truth.value[i][p] : lo;
      hi = truth.value[i][p] > hi ? truth.value[i][p] : hi;
    }
    if (lo > hi) continue;
    if (r.lo > lo || r.hi < hi) fail("range", composed_text);
    asked += all;
    exact += all && r.lo == lo && r.hi == hi;
  }
}

/* Check the strides that the header states for one variable. If x is its value and lo its lower bound, a result is
 * rest + stride * (x - lo). The rest does not depend on x, and is a multiple of `align` (0 if `align` is 0). `points`
 * must have all points of the box, the last variable fastest. */
static void check_strides(draw *r, sett_map simple) {
  static int64_t start[POINTS];
  static unsigned char seen[POINTS];
  sett_map_stride stride[VARIABLES];
  int n = sett_map_variables(simple), v = (int)draw_int(r, 0, n - 1), i, p, below = 1, size, key;
  if (sett_map_strides(&arena, simple, v, stride)) {
    fail("strides failed", simple_text);
    return;
  }
  for (i = n - 1; i > v; --i) below *= (int)(points.value[i][points.n - 1] - points.value[i][0] + 1);
  size = (int)(points.value[v][points.n - 1] - points.value[v][0] + 1);
  for (i = 0; i < simple.results; ++i) {
    if (!stride[i].linear) continue;
    ++linear;
    memset(seen, 0, (size_t)points.n);
    for (p = 0; p < points.n; ++p) {
      int64_t value = truth.value[i][p] - stride[i].stride * (points.value[v][p] - simple.variable[v].lo);
      if (!truth.inside[p]) continue;
      key = p / (below * size) * below + p % below;
      if ((seen[key] && start[key] != value) || (stride[i].align ? value % stride[i].align : value)) {
        fail("strides", simple_text);
        return;
      }
      seen[key] = 1;
      start[key] = value;
    }
  }
}

/* Law L6: within the bounds of the variables, the guards hold exactly on the domain. */
static void check_guards(sett_map map) {
  sett_map guards = sett_map_guards(&arena, map);
  int i;
  if (guards.kind == SETT_MAP_FAILED) fail("guards failed", composed_text);
  if (guards.kind == SETT_MAP_FAILED ||
      sett_map_print(&arena, guards, again_text, sizeof again_text) >= sizeof again_text)
    return;
  evaluate_text(&oracle, again_text, &points, &values);
  if (!is_true(&values)) fail("guards", again_text);
  for (i = 0; i < sett_map_variables(map) && guards.kind == SETT_MAP_DEFINED; ++i)
    if (guards.variable[i].lo != map.variable[i].lo || guards.variable[i].hi != map.variable[i].hi)
      fail("guards have other bounds", again_text);
}

/* Check that a map equals itself and does not differ from its simplified form, and that sett_map_evaluator_at gives the
 * values of sett_map_evaluate. */
static void check_partial(sett_map map, sett_map simple) {
  int64_t point[VARIABLES], here[VARIABLES], there[VARIABLES];
  sett_map_evaluator at_map = sett_map_evaluator_make(&arena, map);
  sett_map_answer answer = sett_map_equal(&arena, map, simple);
  int i, p, error, other;
  if (!sett_map_equal(&arena, map, map).yes) fail("not equal to itself", composed_text);
  if (answer.no) fail("different when simplified", composed_text);
  for (p = 0; p < points.n; p += 1 + points.n / 16) {
    int inside;
    for (i = 0; i < sett_map_variables(map); ++i) point[i] = points.value[i][p];
    inside = sett_map_evaluate(&arena, map, point, here, &error);
    if (inside != sett_map_evaluator_at(&at_map, point, there, &other) || error != other)
      fail("evaluator", composed_text);
    for (i = 0; i < map.results && inside; ++i)
      if (here[i] != there[i]) fail("evaluator", composed_text);
  }
}

/* Count the operators, variables and constants of the results. */
static int symbols(const char *text) {
  const char *p = strstr(text, "-> ("), *end = strstr(text, "), domain: ");
  int n = 0, in_word = 0;
  for (p = p ? p + 4 : text; *p && p != end; ++p) {
    int letter = *p == '_' || (*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'z');
    n += (letter && !in_word) || *p == '+' || *p == '-' || *p == '*';
    in_word = letter;
  }
  return n;
}

/* Copy the map's text and change one number, sign, function or variable of the results. Return 0 if there is nothing to
 * change. */
static int mutate(draw *r, const char *text, char *mutant) {
  const char *first = strstr(text, "-> (") + 4, *end = strstr(first, "), domain: "), *p;
  int tries;
  for (tries = 0; tries < 100; ++tries) {
    p = first + draw_int(r, 0, end - first - 1);
    memcpy(mutant, text, (size_t)(p - text));
    if (*p >= '0' && *p <= '9' && p[-1] != 'd' && !(p[-1] >= '0' && p[-1] <= '9')) {
      char *after;
      int64_t k = strtoll(p, &after, 10);
      sprintf(mutant + (p - text), "%lld%s", (long long)(k + (draw_one_in(r, 2) && k ? -1 : 1)), after);
    } else if (*p == '+') {
      sprintf(mutant + (p - text), "-%s", p + 1);
    } else if (*p == 'd' && p[1] >= '0' && p[1] <= '9') {
      sprintf(mutant + (p - text), "d%d%s", (int)draw_int(r, 0, step[0].dims - 1), p + 2);
    } else if (!strncmp(p, "min(", 4) || !strncmp(p, "max(", 4)) {
      sprintf(mutant + (p - text), "%s%s", p[1] == 'i' ? "max" : "min", p + 3);
    } else {
      continue;
    }
    if (strcmp(text, mutant)) return 1;
  }
  return 0;
}

/* Check the answers of sett_map_equal for `map`, which was drawn in one step. The map equals its simplified form. It
 * differs from a changed copy if and only if the oracle finds a difference. */
static void check_equal(draw *r, sett_map map, sett_map simple) {
  static char mutant[1 << 14];
  sett_map_answer answer = sett_map_equal(&arena, map, simple);
  sett_map other;
  int i, p, differs = 0;
  if (answer.no) fail("different when simplified", composed_text);
  undecided += !answer.yes && !answer.no;
  if (!mutate(r, chain.step[0], mutant)) return;
  other = draw_parse(&arena, mutant);
  if (other.kind != SETT_MAP_DEFINED) return;
  answer = sett_map_equal(&arena, map, other);
  ++mutants;
  evaluate_text(&oracle, mutant, &points, &values);
  for (p = 0; p < points.n; ++p) {
    if (truth.failed[p] || values.failed[p]) continue;
    differs |= truth.inside[p] != values.inside[p];
    for (i = 0; i < oracle.results; ++i) differs |= truth.inside[p] && truth.value[i][p] != values.value[i][p];
  }
  mutants_found += differs;
  mutants_left += !answer.yes && !answer.no;
  if (answer.yes && differs) fail("equal to another map", mutant);
  if (answer.no && answer.point) {
    int64_t at_point[VARIABLES], here[VARIABLES];
    int inside, failed;
    for (i = 0; i < step[0].variables; ++i) one.value[i][0] = answer.point[i];
    one.n = 1;
    evaluate_text(&oracle, chain.step[0], &one, &values);
    inside = values.inside[0];
    failed = values.failed[0];
    for (i = 0; i < oracle.results; ++i) at_point[i] = values.value[i][0];
    evaluate_text(&oracle, mutant, &one, &values);
    for (i = 0; i < oracle.results; ++i) here[i] = values.value[i][0];
    for (differs = inside != values.inside[0], i = 0; i < oracle.results; ++i)
      differs |= inside && at_point[i] != here[i];
    if (!failed && !values.failed[0] && !differs) fail("no difference at the point that is said to be one", mutant);
  }
}

/* Return 1 if the chain has several steps and the header refuses one. It refuses a step that divides by 0 at every
 * point. */
static int is_refused(void) {
  int i, refused = 0;
  for (i = 0; i < chain.steps && chain.steps > 1; ++i)
    refused |= draw_parse(&arena, chain.step[i]).kind == SETT_MAP_FAILED;
  return refused;
}

static void check_map(draw *r, int which) {
  sett_map map, simple, twice;
  int i, p, all, any = 0, lost = 0, fits, reads, place[2 * DRAW_DEPTH][2];
  double distinct;
  sett_map_mark mark = sett_map_arena_mark(&arena);
  for (i = 0; i < chain.steps; ++i) read_function(&step[i], chain.step[i]);
  all = draw_points(r, place);
  find_truth(place);
  ++maps;
  whole += all;
  for (p = 0; p < truth.n; ++p) {
    any |= truth.inside[p];
    lost |= truth.failed[p];
  }
  partial += lost;
  if (which == DRAW_ZERO_PAIR && is_refused()) {
    sett_map_arena_rewind(&arena, mark);
    return;
  }
  if (chain.identity)
    for (i = 0; i < step[0].dims; ++i)
      for (p = 0; p < truth.n; ++p)
        if (truth.inside[p] ? truth.value[i][p] != points.value[i][p] : chain.total)
          fail("drawn: this is no identity", chain.expected);

  /* laws L1 and L3: compose, print, parse */
  map = draw_compose(&arena, &chain);
  fits = draw_nodes(&arena, map, &distinct) < NODES &&
         sett_map_print(&arena, map, composed_text, sizeof composed_text) < sizeof composed_text;
  if (map.kind == SETT_MAP_FAILED && (any || (all && !lost))) fail("compose failed", composed_text);
  if (map.kind == SETT_MAP_EMPTY && any) fail("compose is empty", composed_text);
  if (!fits) {
    draw_out o = draw_on(composed_text, sizeof composed_text);
    for (i = 0; i < chain.steps; ++i) draw_put(&o, "%s%s", i ? " then " : "a long text: ", chain.step[i]);
  }
  if (map.kind != SETT_MAP_DEFINED) {
    empties += all && !any && !lost;
    sett_map_arena_rewind(&arena, mark);
    return;
  }
  if (fits) {
    evaluate_text(&oracle, composed_text, &points, &values);
    if (!is_true(&values)) fail("compose or print", composed_text);
    sett_map_print(&arena, draw_parse(&arena, composed_text), again_text, sizeof again_text);
    if (strcmp(composed_text, again_text)) fail("print(parse(text)) is not text", again_text);
  }
  check_evaluate(r, map);
  check_range(map, all);

  /* law L2: simplify */
  simple = sett_map_simplify(&arena, map);
  if (simple.kind == SETT_MAP_FAILED) fail("simplify failed", composed_text);
  if (sett_map_print(&arena, simple, simple_text, sizeof simple_text) >=
      sizeof simple_text) { /* not simplified, so nothing more is checked */
    ++huge;
    identities[which] += chain.identity;
    left[which] += chain.identity;
    note("left huge", composed_text, "");
    simple.kind = SETT_MAP_FAILED;
  }
  if (simple.kind == SETT_MAP_FAILED) {
    sett_map_arena_rewind(&arena, mark);
    return;
  }
  evaluate_text(&oracle, simple_text, &points, &values);
  if (!is_true(&values)) fail("simplify", simple_text);
  for (i = 0; i < oracle.variables && !oracle.empty; ++i)
    if (oracle.lo[i] < map.variable[i].lo || oracle.hi[i] > map.variable[i].hi)
      fail("simplify widened bounds", simple_text);
  empties += all && !any && !lost;
  if (all && !any && !lost && simple.kind != SETT_MAP_EMPTY) {
    ++empties_left;
    note("empty not found", composed_text, simple_text);
  }
  twice = sett_map_simplify(&arena, draw_parse(&arena, simple_text));
  sett_map_print(&arena, twice, again_text, sizeof again_text);
  if (strcmp(simple_text, again_text)) {
    ++again;
    note("changes again", simple_text, again_text);
  }
  if (fits) {
    sett_map_print(&arena, sett_map_simplify(&arena, draw_parse(&arena, composed_text)), again_text, sizeof again_text);
    if (strcmp(simple_text, again_text)) {
      ++history;
      note("another text from its text", composed_text, again_text);
    }
  }
  if (chain.identity && (any || !all)) {
    reads = chain.total ? !strcmp(simple_text, chain.expected) : draw_reads_identity(simple_text);
    ++identities[which];
    left[which] += !reads;
    if (!reads) note("identity left", composed_text, simple_text);
  }
  if (simple.kind == SETT_MAP_DEFINED && all && points.n) check_strides(r, simple);

  if (fits && (lost || maps % 4 == 0)) check_guards(map);
  if (lost) check_partial(map, simple);
  if (which >= DRAW_ALGEBRA) {
    if (simple.kind == SETT_MAP_DEFINED && symbols(simple_text) > symbols(composed_text)) {
      ++longer;
      note("longer than before", composed_text, simple_text);
    }
    check_equal(r, map, simple);
  }

  /* ---- checks of further operations (inverse, is_injective, image, contiguity, ..) against points, truth and step[]
   * belong here ---- */

  sett_map_arena_rewind(&arena, mark);
}

/* Test n maps. If rank is not 0, the maps are identities of this rank and depth. Otherwise they are of all classes (only =
 * -1), of one class, or of the classes of ALGEBRA (only = DRAW_CLASS_COUNT). Return 1 if a value is wrong, or if too many
 * maps are less simple than expected. For identities of rank 4 and depth 3, one such map is too many. For other maps,
 * more than 1 % are too many (in small samples a few more are allowed). */
static int run(int n, int only, int rank, int depth) {
  static const int64_t sizes[] = {24, 60, 100, 200, 400, 800, 2000};
  static const int inverses[] = {DRAW_ID_RESHAPE, DRAW_ID_MOVES, DRAW_ID_ALL};
  int i, k, any_rank, any_depth, all = 0, all_left = 0;
  draw r = draw_make(seed, 1 << 20);
  clock_t start = clock();
  maps = whole = partial = again = history = huge = empties = empties_left = exact = asked = linear = 0;
  longer = undecided = mutants = mutants_found = mutants_left = 0;
  memset(identities, 0, sizeof identities);
  memset(left, 0, sizeof left);
  for (i = 0; i < n && wrong < 10; ++i) {
    int which = rank                       ? inverses[i % 3]
                : only == DRAW_CLASS_COUNT ? DRAW_ALGEBRA + i % (DRAW_CLASS_COUNT - DRAW_ALGEBRA)
                : only >= 0                ? only
                                           : i % DRAW_ALGEBRA;
    if (rank) {
      draw_map(&r, which, rank, depth, &chain);
    } else {
      r.points = DRAW_OF(&r, sizes);
      any_rank = (int)draw_int(&r, 2, 6);
      any_depth = (int)(draw_one_in(&r, 40) ? draw_int(&r, 4, 8) : draw_int(&r, 1, 4));
      draw_map(&r, which, any_rank, any_depth, &chain);
    }
    check_map(&r, which);
  }
  for (k = 0; k < DRAW_CLASS_COUNT; ++k) {
    if (identities[k]) printf("%s: %d of %d left\n", draw_class_text(k), left[k], identities[k]);
    all += identities[k];
    all_left += left[k];
  }
  if (rank) printf("rank %d, depth %d, ", rank, depth);
  printf(
      "seed %llu: %d maps (%d enumerated, %d without a value somewhere), %d wrong, %d of %d identities left, %d change again, %d depend on history, %d left huge, "
      "%d of %d empty not found, %d of %d ranges exact, %d strides, %.0f maps/s\n",
      (unsigned long long)seed, maps, whole, partial, wrong, all_left, all, again, history, huge, empties_left, empties,
      exact, asked, linear, maps / ((double)(clock() - start) / CLOCKS_PER_SEC));
  if (mutants)
    printf(
        "  %d longer than before, %d not decided equal to what they were; of %d mutants %d differ at a point looked at, %d are not decided\n",
        longer, undecided, mutants, mutants_found, mutants_left);
  fflush(stdout);
  return wrong || all_left > (rank && rank <= 4 && depth <= 3 ? 0 : 5 + all / 100) || empties_left * 100 > empties ||
         again + history > 2 + maps / 1000;
}

static int print_texts(int n) {
  draw r = draw_make(seed, 1 << 10);
  int i;
  for (i = 0; i < n; ++i) {
    draw_map(&r, DRAW_ALGEBRA + i % (DRAW_CLASS_COUNT - DRAW_ALGEBRA), 0, 0, &chain);
    puts(chain.step[0]);
  }
  return 0;
}

int main(int argc, char **argv) {
  int n = argc > 2 ? atoi(argv[2]) : 3000, bad,
      only = argc != 5                    ? -1
             : strcmp(argv[4], "ALGEBRA") ? draw_class_find(argv[4])
                                          : DRAW_CLASS_COUNT;
  if (argc == 5 && only < 0) {
    fprintf(stderr, "expected a class of maps, as in tests/algebra/indexing_map_draw.h\n");
    return 2;
  }
  seed = argc > 1 ? strtoull(argv[1 + (argc == 4 && !strcmp(argv[1], "texts"))], NULL, 10) : 1;
  if (argc == 4 && !strcmp(argv[1], "texts")) return print_texts(atoi(argv[3]));
  if (argc > 3 && strcmp(argv[3], "-") && !(account = fopen(argv[3], "w"))) {
    perror(argv[3]);
    return 2;
  }
  arena = sett_map_arena_make(memory, sizeof memory);
  if (argc > 5) return run(n, -1, atoi(argv[4]), atoi(argv[5]));
  bad = run(n, only, 0, 0);
  if (only >= 0) return bad;
  bad |= run(n / 8, -1, 4, 3);
  bad |= run(n / 40, -1, 6, 6);
  bad |= run(n, DRAW_CLASS_COUNT, 0, 0);
  return bad;
}
