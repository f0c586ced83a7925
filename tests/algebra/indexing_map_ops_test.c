/* Test what include/sett_indexing_map.h says about whole maps (points, variables, values, inverse, injective, covers,
 * image, runs) by enumeration. The maps are drawn here: chains of reshape, transpose and reverse, then cut, scaled,
 * summed or constrained. With -DSETT_MAP_POINTS_MAX=0 the header may not enumerate; then an answer may be "not
 * decided", but never wrong. Arguments: the number of maps, a seed. */
#include "../../include/sett_indexing_map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS = 1500, VARIABLES = 8, RESULTS = 6, RULES_ALONE = SETT_MAP_POINTS_MAX == 0 };

static uint64_t memory[1 << 21]; /* 16 MiB */
static int failures, checks;
static char text[1 << 14];
static struct {
  int maps, bijections, inverses, injective, covers, counts, products, runs, exact_runs, exact, values;
} seen;

static void check(int ok, const char *what) {
  ++checks;
  if (ok) return;
  if (++failures <= 20) printf("FAIL %s: %s\n", what, text);
}

static uint64_t state = UINT64_C(0x2545F4914F6CDD1D);

static int64_t draw(int64_t lo, int64_t hi) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return lo + (int64_t)(state % (uint64_t)(hi - lo + 1));
}

/* ---- random maps ---- */

typedef struct axis {
  sett_expr expr;
  int64_t extent;
} axis;

static sett_expr constant(sett_map_arena *a, int64_t value) { return sett_map_constant(a, value); }

/* Reshape, in row-major order, into a random shape with equally many elements. */
static int reshape(sett_map_arena *a, axis *axes, int n) {
  sett_expr linear = constant(a, 0);
  int64_t all = 1, part[4], below;
  int i, m = (int)draw(1, 4);
  for (i = 0; i < n; ++i) {
    linear = sett_map_add(a, sett_map_mul(a, linear, constant(a, axes[i].extent)), axes[i].expr);
    all *= axes[i].extent;
  }
  for (i = 0; i < m; ++i) part[i] = 1;
  for (below = all, i = 2; below > 1; ++i)
    for (; below % i == 0; below /= i) part[draw(0, m - 1)] *= i;
  for (i = 0, below = all; i < m; ++i) {
    below /= part[i];
    axes[i].extent = part[i];
    axes[i].expr =
        sett_map_floordiv(a, i ? sett_map_mod(a, linear, constant(a, below * part[i])) : linear, constant(a, below));
  }
  return m;
}

static int step(sett_map_arena *a, axis *axes, int n) {
  int i = (int)draw(0, n - 1), j = (int)draw(0, n - 1);
  axis t = axes[i];
  switch (draw(0, 4)) {
    case 0: axes[i] = axes[j], axes[j] = t; return n;
    case 1: axes[i].expr = sett_map_sub(a, constant(a, t.extent - 1), t.expr); return n;
    default: return reshape(a, axes, n);
  }
}

/* Return an expression that has a value everywhere. */
static sett_expr draw_expression(sett_map_arena *a, int variables, int depth) {
  sett_expr x, y;
  int64_t c = draw(0, 1) ? draw(2, 9) : draw(-6, -2);
  if (!depth || !draw(0, 5))
    return draw(0, 5) ? sett_map_var(a, (int)draw(0, variables - 1)) : constant(a, draw(-6, 6));
  x = draw_expression(a, variables, depth - 1);
  y = draw_expression(a, variables, depth - 1);
  switch (draw(0, 8)) {
    case 0:
    case 1: return sett_map_add(a, x, y);
    case 2: return sett_map_sub(a, x, y);
    case 3: return sett_map_mul(a, x, constant(a, c));
    case 4: return sett_map_floordiv(a, x, constant(a, c));
    case 5: return sett_map_mod(a, x, constant(a, c));
    case 6: return draw(0, 1) ? sett_map_ceildiv(a, x, constant(a, c)) : sett_map_mul(a, x, y);
    case 7:
      return sett_map_mod(
          /* a divisor that is not constant */
          a, x, sett_map_add(a, sett_map_mod(a, y, constant(a, 4)), constant(a, 1)));
    default: return draw(0, 1) ? sett_map_min(a, x, y) : sett_map_max(a, x, y);
  }
}

static sett_map draw_map(sett_map_arena *a) {
  static const int64_t sizes[] = {1, 2, 2, 3, 4, 4, 5, 6, 7, 8, 8, 9, 12, 16};
  sett_map_variable variable[VARIABLES];
  sett_map_constraint c[3];
  sett_expr result[RESULTS];
  axis axes[8];
  int64_t points = 1;
  int variables = (int)draw(1, 4), i, n = variables, steps, results, constraints = 0, dims, ranges;
  for (i = 0; i < variables; ++i) {
    int64_t size = sizes[draw(0, 13)];
    if (points * size > POINTS) size = 1;
    points *= size;
    variable[i].name = NULL;
    variable[i].lo = draw(0, 3) ? 0 : draw(-5, 5);
    variable[i].hi = variable[i].lo + size - 1;
    axes[i].expr = sett_map_add(a, sett_map_var(a, i), constant(a, -variable[i].lo));
    axes[i].extent = size;
  }
  if (variables < 4 && draw(0, 3) == 0 && points * 3 <= POINTS) { /* a variable that may stay unused */
    variable[variables].name = NULL;
    variable[variables].lo = 0;
    variable[variables++].hi = draw(0, 2);
  }
  for (steps = (int)draw(0, 4); steps; --steps) n = step(a, axes, n);
  for (; constraints < (int)draw(0, 5) - 2 && constraints < 3; ++constraints) { /* usually none */
    axis x = axes[draw(0, n - 1)];
    int v = (int)draw(0, variables - 1);
    c[constraints].expr =
        draw(0, 1) ? x.expr : sett_map_add(a, sett_map_mul(a, sett_map_var(a, v), constant(a, draw(1, 4))), x.expr);
    c[constraints].lo = draw(-2, 3);
    c[constraints].hi = draw(c[constraints].lo, c[constraints].lo + 12);
    if (draw(0, 1)) {
      int64_t m = draw(2, 6);
      c[constraints].expr = sett_map_mod(a, draw(0, 1) ? sett_map_var(a, v) : x.expr, constant(a, m));
      c[constraints].lo = c[constraints].hi = draw(0, m - 1);
    }
  }
  switch (draw(0, 7)) {
    case 0: /* drop some results */
      for (i = (int)draw(0, n - 1); n > 1 && i + 1 < n; ++i) axes[i] = axes[i + 1];
      if (n > 1) --n;
      break;
    case 1: { /* one result: an address in an array with strides; its elements have gaps, overlap, or neither */
      int64_t stride = draw(1, 3);
      sett_expr sum = constant(a, draw(-3, 3));
      for (i = n - 1; i >= 0; --i) {
        sum = sett_map_add(a, sum, sett_map_mul(a, axes[i].expr, constant(a, draw(0, 7) ? stride : -stride)));
        stride = stride * axes[i].extent + (draw(0, 3) ? 0 : draw(-2, 5));
      }
      axes[0].expr = sum;
      n = 1;
      break;
    }
    case 2: /* results scaled and shifted */
      for (i = 0; i < n; ++i)
        axes[i].expr = sett_map_add(a, sett_map_mul(a, axes[i].expr, constant(a, draw(0, 1) ? 1 : draw(-4, 4))),
                                    constant(a, draw(-4, 4)));
      break;
    case 3: /* some results replaced by quotients or remainders */
      for (i = 0; i < n; ++i)
        if (draw(0, 1))
          axes[i].expr = draw(0, 1) ? sett_map_floordiv(a, axes[i].expr, constant(a, draw(2, 5)))
                                    : sett_map_mod(a, axes[i].expr, constant(a, draw(2, 5)));
      break;
    case 4: /* a swizzle, a clamp or a product */
      i = (int)draw(0, n - 1);
      if (draw(0, 2))
        axes[i].expr = sett_map_mod(a, sett_map_add(a, axes[i].expr, axes[n - 1].expr), constant(a, axes[i].extent));
      else
        axes[i].expr = draw(0, 1) ? sett_map_min(a, axes[i].expr, constant(a, draw(0, 6)))
                                  : sett_map_mul(a, axes[i].expr, axes[n - 1].expr);
      break;
    case 5: /* any expressions */
      if (draw(0, 1)) break;
      for (n = (int)draw(1, 3), i = 0; i < n; ++i) axes[i].expr = draw_expression(a, variables, (int)draw(1, 4));
      break;
    default: break;
  }
  results = n < RESULTS ? n : RESULTS;
  for (i = 0; i < results; ++i) result[i] = axes[i].expr;
  dims = draw(0, 1) ? variables : (int)draw(0, variables);
  ranges = draw(0, 1) ? variables - dims : (int)draw(0, variables - dims);
  return sett_map_make(a, dims, ranges, variables - dims - ranges, variable, results, result, constraints, c);
}

/* ---- the answers by enumeration ---- */

static int64_t point[POINTS * 3][VARIABLES], image[POINTS * 3][RESULTS];
static int points;

static void enumerate(sett_map_arena *a, sett_map m) {
  int64_t at[VARIABLES], r[RESULTS];
  int i, n = sett_map_variables(m), more = m.kind == SETT_MAP_DEFINED;
  points = 0;
  for (i = 0; i < n; ++i) at[i] = m.variable[i].lo;
  while (more) {
    if (sett_map_evaluate(a, m, at, r, NULL)) {
      memcpy(point[points], at, sizeof at);
      memcpy(image[points++], r, sizeof r);
    }
    for (i = n - 1; i >= 0 && at[i] == m.variable[i].hi; --i) at[i] = m.variable[i].lo;
    more = i >= 0;
    if (more) ++at[i];
  }
}

static int same(const int64_t *a, const int64_t *b, int n) {
  int i;
  for (i = 0; i < n; ++i)
    if (a[i] != b[i]) return 0;
  return 1;
}

static int order[POINTS * 3], width;

static int by_image(const void *a, const void *b) {
  int i;
  for (i = 0; i < width; ++i) {
    int64_t x = image[*(const int *)a][i], y = image[*(const int *)b][i];
    if (x != y) return x < y ? -1 : 1;
  }
  return 0;
}

static int sort_images(int results) { /* Sort the images. Return the number of distinct images. */
  int i, distinct = 0;
  width = results;
  for (i = 0; i < points; ++i) order[i] = i;
  qsort(order, (size_t)points, sizeof *order, by_image);
  for (i = 0; i < points; ++i) distinct += !i || by_image(order + i - 1, order + i) != 0;
  return distinct;
}

static int hit(const int64_t *value, int results) {
  int i;
  for (i = 0; i < points; ++i)
    if (same(image[i], value, results)) return 1;
  return 0;
}

static int is_point(const int64_t *p, int n, int64_t *r, int results) {
  int i;
  for (i = 0; i < points; ++i)
    if (same(point[i], p, n)) {
      memcpy(r, image[i], (size_t)results * sizeof *r);
      return 1;
    }
  return 0;
}

static int64_t magnitude(int64_t a) { return a < 0 ? -a : a; }
static int64_t gcd(int64_t a, int64_t b) {
  for (a = magnitude(a), b = magnitude(b); b;) {
    int64_t t = a % b;
    a = b;
    b = t;
  }
  return a;
}

/* ---- laws ---- */

static void iterator(sett_map_arena *a, sett_map m) {
  sett_map_points it = sett_map_points_begin(a, m);
  int i = 0, n = sett_map_variables(m);
  while (sett_map_points_next(&it)) {
    check(i < points && same(it.point, point[i], n) && same(it.result, image[i], m.results), "points");
    ++i;
  }
  check(!it.error && i == points && !sett_map_points_next(&it) && !it.error, "points: all");
}

static void values(sett_map_arena *a, sett_map m) {
  int i, j;
  for (i = 0; i < m.results; ++i) {
    sett_map_values v = sett_map_congruence(a, m, m.result[i]);
    int64_t lo = 0, hi = 0, g = 0;
    for (j = 0; j < points; ++j) {
      int64_t x = image[j][i];
      check(v.lo <= x && x <= v.hi && (v.modulus ? (x - v.residue) % v.modulus == 0 : x == v.residue), "values");
      if (!j || x < lo) lo = x;
      if (!j || x > hi) hi = x;
      g = gcd(g, x - image[0][i]);
    }
    ++seen.values;
    seen.exact += points && v.lo == lo && v.hi == hi && v.modulus == g;
  }
}

static void injective(sett_map_arena *a, sett_map m, int is) {
  sett_map_answer k = sett_map_is_injective(a, m);
  int64_t x[RESULTS], y[RESULTS];
  int n = sett_map_variables(m);
  seen.injective += k.yes || k.no;
  check(k.yes || k.no ? k.yes == is && k.no == !is : RULES_ALONE && *k.reason, "injective");
  if (k.no && k.point)
    check(is_point(k.point, n, x, m.results) && is_point(k.other, n, y, m.results) && same(x, y, m.results) &&
              !same(k.point, k.other, n),
          "injective: witness");
  if (k.no) check(*k.reason && (RULES_ALONE || k.point), "injective: reason");
}

static int in_box(const int64_t *x, const sett_map_interval *box, int n) {
  int i;
  for (i = 0; i < n; ++i)
    if (x[i] < box[i].lo || x[i] > box[i].hi) return 0;
  return 1;
}

static int all_hit(const sett_map_interval *box, int results) {
  int64_t x[RESULTS];
  int i;
  for (i = 0; i < results; ++i) {
    if (box[i].lo > box[i].hi) return 1;
    x[i] = box[i].lo;
  }
  for (;;) {
    if (!hit(x, results)) return 0;
    for (i = results - 1; i >= 0 && x[i] == box[i].hi; --i) x[i] = box[i].lo;
    if (i < 0) return 1;
    ++x[i];
  }
}

static void covers(sett_map_arena *a, sett_map m, const sett_map_interval *box, int is, int inside, int is_injective,
                   const sett_map_interval *given) {
  sett_map_answer k = sett_map_covers(a, m, box);
  int64_t x[RESULTS];
  int is_bijective = is && inside && is_injective;
  seen.covers += k.yes || k.no;
  check(k.yes || k.no ? k.yes == is && k.no == !is : RULES_ALONE && *k.reason, "covers");
  if (k.no) check(*k.reason && (RULES_ALONE || k.missed), "covers: reason");
  if (k.no && k.missed) check(in_box(k.missed, box, m.results) && !hit(k.missed, m.results), "covers: witness");
  k = sett_map_is_bijective(a, m, given);
  check(k.yes || k.no ? k.yes == is_bijective && k.no == !is_bijective : RULES_ALONE && *k.reason, "bijective");
  if (!k.no) return;
  check(*k.reason && (RULES_ALONE || k.point || k.missed), "bijective: reason");
  if (k.point)
    check(is_point(k.point, sett_map_variables(m), x, m.results) && (k.other || !in_box(x, box, m.results)),
          "bijective: point");
  if (k.missed) check(in_box(k.missed, box, m.results) && !hit(k.missed, m.results), "bijective: missed");
}

static void footprint(sett_map_arena *a, sett_map m, int distinct, sett_map_interval *box) {
  sett_map_footprint f = sett_map_image(a, m);
  int64_t product = 1;
  int i, j;
  check(!f.error && f.results == m.results && (f.count == distinct || (RULES_ALONE && f.count == -1 && *f.reason)),
        "image: count");
  seen.counts += f.count >= 0;
  seen.products += f.product;
  for (i = 0; i < m.results; ++i) {
    const sett_map_values *v = f.value + i;
    int64_t lo = 1, hi = 0, g = 0;
    for (j = 0; j < points; ++j) {
      int64_t x = image[j][i];
      check(v->lo <= x && x <= v->hi && (v->modulus ? (x - v->residue) % v->modulus == 0 : x == v->residue),
            "image: values");
      if (!j || x < lo) lo = x;
      if (!j || x > hi) hi = x;
      g = gcd(g, x - image[0][i]);
    }
    box[i].lo = lo;
    box[i].hi = hi;
    if (f.exact[i]) check(v->lo == lo && v->hi == hi, "image: exact");
    else check(RULES_ALONE, "image: a small domain is exact");
    product *= points == 0 ? 0 : g ? (hi - lo) / g + 1 : 1;
  }
  if (f.product) check(product == distinct, "image: product");
  else check(RULES_ALONE || product != distinct, "image: product seen");
}

static void runs(sett_map_arena *a, sett_map m, int variable) {
  sett_map_run run[RESULTS];
  int64_t lo = m.variable[variable].lo, hi = m.variable[variable].hi, extent = hi - lo + 1;
  int64_t step_at[RESULTS] = {0}, level_at[RESULTS] = {0}, own[RESULTS] = {0}, align[RESULTS] = {0}, edge = 0, w;
  sett_map_evaluator e = sett_map_evaluator_make(a, m);
  int64_t p[VARIABLES], before[RESULTS], now[RESULTS];
  int n = sett_map_variables(m), i, j, x, y, more = 1, error = sett_map_runs(a, m, variable, run);
  check(!error, "runs");
  for (i = 0; i < n; ++i) p[i] = m.variable[i].lo;
  while (more) { /* all pairs of neighbouring points in the box */
    x = sett_map_evaluator_at(&e, p, now, NULL);
    for (j = 0; j < m.results && x; ++j) align[j] = gcd(align[j], now[j] - (p[variable] - lo));
    if (p[variable] > lo) {
      --p[variable];
      y = sett_map_evaluator_at(&e, p, before, NULL);
      ++p[variable];
      if (x != y) edge = gcd(edge, p[variable] - lo);
      for (j = 0; j < m.results && x && y; ++j) {
        if (now[j] != before[j] + 1) step_at[j] = gcd(step_at[j], p[variable]), own[j] = gcd(own[j], p[variable] - lo);
        if (now[j] != before[j]) level_at[j] = gcd(level_at[j], p[variable]);
      }
    }
    for (i = n - 1; i >= 0 && p[i] == m.variable[i].hi; --i) p[i] = m.variable[i].lo;
    more = i >= 0;
    if (more) ++p[i];
  }
  for (j = 0; j < m.results; ++j) {
    int64_t all = gcd(gcd(extent, own[j]), gcd(align[j], edge));
    int64_t step_is = step_at[j] ? step_at[j] : extent, level_is = level_at[j] ? level_at[j] : extent;
    for (w = 1; all % (w * 2) == 0; w *= 2) {}
    check(step_at[j] ? step_is % run[j].contiguous == 0 : run[j].contiguous <= extent, "runs: contiguous");
    check(level_at[j] ? level_is % run[j].broadcast == 0 : run[j].broadcast <= extent, "runs: broadcast");
    check(w % run[j].vector_width == 0, "runs: vector");
    check(run[j].contiguous == step_is || (RULES_ALONE && !run[j].contiguous_exact), "runs: contiguous exact");
    check(run[j].broadcast == level_is || (RULES_ALONE && !run[j].broadcast_exact), "runs: broadcast exact");
    check(run[j].vector_width == w || (RULES_ALONE && !run[j].vector_exact), "runs: vector exact");
    ++seen.runs;
    seen.exact_runs += run[j].contiguous == step_is && run[j].broadcast == level_is && run[j].vector_width == w;
  }
}

/* points_led: map every point of `other` to the variables of m by `back`, and check that the result is a point of m
 * with the same image. `back` returns 0 if there is no such point. Return the number of points of `other`. */
typedef int (*lead)(const sett_map *m, const sett_map *other, const int64_t *p, int64_t *back);

static int points_led(sett_map_arena *a, sett_map m, sett_map other, lead back, const char *what) {
  sett_map_points it = sett_map_points_begin(a, other);
  int64_t p[VARIABLES], r[RESULTS];
  int count = 0;
  while (sett_map_points_next(&it)) {
    ++count;
    check(back(&m, &other, it.point, p) && is_point(p, sett_map_variables(m), r, m.results) &&
              same(r, it.result, m.results),
          what);
  }
  check(!it.error, what);
  return count;
}

static unsigned char flag[VARIABLES];
static int64_t scale[VARIABLES], shift[VARIABLES];

static int by_scale(const sett_map *m, const sett_map *other, const int64_t *p, int64_t *back) {
  int i;
  (void)other;
  for (i = 0; i < sett_map_variables(*m); ++i) back[i] = scale[i] * p[i] + shift[i];
  return 1;
}

static void rescaled(sett_map_arena *a, sett_map m) {
  sett_map r = sett_map_rescale(a, m), s = sett_map_simplify(a, m);
  int i, j;
  check(r.kind == s.kind, "rescale: kind");
  if (r.kind != SETT_MAP_DEFINED || s.kind != SETT_MAP_DEFINED) return;
  for (i = 0; i < sett_map_variables(m); ++i) {
    scale[i] = 1, shift[i] = 0;
    for (j = 0; j < s.constraints; ++j) { /* the residue classes of variables, as simplify finds them */
      int64_t modulus = 0;
      if (settp_map_class_of(a, s.constraint + j, &modulus) != i || i < m.dims || i >= m.dims + m.ranges) continue;
      scale[i] = modulus;
      shift[i] = s.constraint[j].lo;
    }
  }
  check(points_led(a, m, r, by_scale, "rescale") == points, "rescale: all points");
}

static int by_removal(const sett_map *m, const sett_map *other, const int64_t *p,
                      int64_t *back) { /* find a point of m with the values p of the variables that were not removed */
  int i, j, k, n = sett_map_variables(*m);
  (void)other;
  for (i = 0; i < points; ++i) {
    for (j = k = 0; j < n; ++j)
      if (!flag[j] && point[i][j] != p[k++]) break;
    if (j < n) continue;
    memcpy(back, point[i], (size_t)n * sizeof *back);
    return 1;
  }
  return 0;
}

static void unused(sett_map_arena *a, sett_map m) {
  int kinds = (int)draw(1, 7), i, j, n = sett_map_variables(m), distinct = 0, count, left = 0;
  sett_map r = sett_map_remove_unused(a, m, kinds, flag);
  check(r.kind == SETT_MAP_DEFINED || (r.kind == SETT_MAP_EMPTY && !points), "unused: kind");
  if (r.kind != SETT_MAP_DEFINED) return;
  for (i = 0; i < n; ++i) {
    left += !flag[i];
    check(!flag[i] || kinds & (i < m.dims              ? SETT_MAP_DIMS
                               : i < m.dims + m.ranges ? SETT_MAP_RANGES
                                                       : SETT_MAP_RTS),
          "unused: kinds");
  }
  check(left == sett_map_variables(r), "unused: flags");
  count = points_led(a, m, r, by_removal, "unused");
  for (i = 0; i < points; ++i) { /* for each point: the same point without the removed variables */
    int64_t p[VARIABLES], out[RESULTS];
    for (j = left = 0; j < n; ++j)
      if (!flag[j]) p[left++] = point[i][j];
    check(sett_map_evaluate(a, r, p, out, NULL) && same(out, image[i], m.results), "unused: projection");
    if (i < 200)
      for (j = 0; j < i; ++j) {
        int k, equal = 1;
        for (k = 0; k < n; ++k) equal &= flag[k] || point[i][k] == point[j][k];
        if (equal) break;
      }
    distinct += i < 200 && j == i;
  }
  if (points <= 200) check(count == distinct, "unused: all points");
}

static unsigned char new_kind[VARIABLES];

static int by_kind(const sett_map *m, const sett_map *other, const int64_t *p, int64_t *back) {
  int i, to, moved, k = 0;
  (void)other;
  for (to = 0; to < 3; ++to)
    for (moved = 0; moved < 2; ++moved)
      for (i = 0; i < sett_map_variables(*m); ++i) {
        int own = i < m->dims ? 0 : i < m->dims + m->ranges ? 1 : 2;
        if (new_kind[i] == to && (own != to) == moved) back[i] = p[k++];
      }
  return 1;
}

static void moved(sett_map_arena *a, sett_map m) {
  int i, n = sett_map_variables(m), to = (int)draw(0, 1), kinds[3] = {0, 0, 0};
  char buffer[24];
  sett_map r;
  for (i = 0; i < n; ++i) {
    flag[i] = (unsigned char)draw(0, 1);
    new_kind[i] = (unsigned char)(flag[i] ? to : i < m.dims ? 0 : i < m.dims + m.ranges ? 1 : 2);
    ++kinds[new_kind[i]];
  }
  r = to ? sett_map_to_ranges(a, m, flag) : sett_map_to_dims(a, m, flag);
  if (r.kind == SETT_MAP_EMPTY && !points) return;
  check(r.kind == SETT_MAP_DEFINED && r.dims == kinds[0] && r.ranges == kinds[1] && r.rts == kinds[2], "moved: counts");
  if (r.kind != SETT_MAP_DEFINED) return;
  check(points_led(a, m, r, by_kind, "moved") == points, "moved: all points");
  for (i = 0; i < n; ++i) { /* the moved map has a variable with the name of each variable of m */
    const char *name = sett_map_name(m, i, buffer);
    check(sett_map_find(r, name, strlen(name)) >= 0, "moved: names");
  }
}

static int moved_from, moved_to;

static int by_place(const sett_map *m, const sett_map *other, const int64_t *p, int64_t *back) {
  int i, k = 0;
  (void)other;
  for (i = 0; i < sett_map_variables(*m); ++i) {
    if (k == moved_to) ++k;
    if (i != moved_from) back[i] = p[k++];
  }
  back[moved_from] = p[moved_to];
  return 1;
}

static void dimension_moved(sett_map_arena *a, sett_map m) {
  char buffer[24];
  const char *name;
  sett_map r;
  check(sett_map_move(a, m, m.dims, 0).kind == SETT_MAP_UNDEFINED &&
            sett_map_move(a, m, 0, -1).kind == SETT_MAP_UNDEFINED,
        "move: no dimension");
  if (!m.dims) return;
  moved_from = (int)draw(0, m.dims - 1);
  moved_to = (int)draw(0, m.dims - 1);
  r = sett_map_move(a, m, moved_from, moved_to);
  if (r.kind == SETT_MAP_EMPTY && !points) return;
  check(r.kind == SETT_MAP_DEFINED && r.dims == m.dims && r.ranges == m.ranges && r.rts == m.rts, "move: counts");
  if (r.kind != SETT_MAP_DEFINED) return;
  check(points_led(a, m, r, by_place, "move") == points, "move: all points");
  name = sett_map_name(m, moved_from, buffer);
  check(sett_map_find(r, name, strlen(name)) == moved_to, "move: its name");
}

static int replaced, with_k, with_other, with_add;

static int by_replacement(const sett_map *m, const sett_map *other, const int64_t *p, int64_t *back) {
  int i, k = 0, n = sett_map_variables(*m);
  (void)other;
  for (i = 0; i < n; ++i)
    if (i != replaced) back[i] = p[k++];
  back[replaced] = (with_other >= 0 ? with_k * back[with_other] : 0) + with_add;
  return 1;
}

static void replacement(sett_map_arena *a, sett_map m) {
  int n = sett_map_variables(m), i, expected = 0;
  sett_map r;
  replaced = (int)draw(0, n - 1);
  with_other = (int)draw(0, n - 1);
  if (with_other == replaced) with_other = -1;
  with_k = (int)draw(-2, 3);
  with_add = (int)draw(-1, 4);
  r = sett_map_replace(
      a, m, replaced,
      sett_map_add(a,
                   with_other < 0 ? constant(a, 0) : sett_map_mul(a, sett_map_var(a, with_other), constant(a, with_k)),
                   constant(a, with_add)));
  for (i = 0; i < points; ++i)
    expected += point[i][replaced] == (with_other >= 0 ? with_k * point[i][with_other] : 0) + with_add;
  check(r.kind == SETT_MAP_DEFINED || (r.kind == SETT_MAP_EMPTY && !expected), "replace: kind");
  if (r.kind == SETT_MAP_DEFINED)
    check(points_led(a, m, r, by_replacement, "replace") == expected, "replace: all points");
  check(sett_map_replace(a, m, replaced, sett_map_var(a, replaced)).error == SETT_MAP_ERROR_REPLACEMENT,
        "replace: itself");
}

static void inverted(sett_map_arena *a, sett_map m, int is) {
  sett_map_answer why;
  sett_map r = sett_map_inverse(a, m, &why);
  int64_t back[VARIABLES], there[RESULTS];
  int i, count = 0;
  if (m.ranges || m.rts || !points) {
    check(r.kind == SETT_MAP_UNDEFINED && *why.reason && (why.no || (RULES_ALONE && !points)), "inverse: refused");
    return;
  }
  seen.bijections += is;
  if (r.kind != SETT_MAP_DEFINED) {
    check(*why.reason && (is ? !why.yes && !why.no : RULES_ALONE || why.no), "inverse: reason");
    if (is && getenv("SHOW")) printf("no inverse: %s\n", text);
    return;
  }
  ++seen.inverses;
  check(is && r.dims == m.results && r.results == m.dims && !r.ranges && !r.rts && !r.constraints,
        "inverse: a bijection onto a box");
  for (i = 0; i < points; ++i)
    check(sett_map_evaluate(a, r, image[i], back, NULL) && same(back, point[i], m.dims), "inverse: of the map");
  {
    sett_map_points it = sett_map_points_begin(a, r);
    while (sett_map_points_next(&it)) {
      check(sett_map_evaluate(a, m, it.result, there, NULL) && same(there, it.point, m.results), "map: of the inverse");
      ++count;
    }
  }
  check(count == points, "inverse: all points");
}

static void laws(sett_map_arena *a, sett_map m) {
  sett_map_interval box[RESULTS], other[RESULTS];
  sett_map_mark mark = sett_map_arena_mark(a);
  int64_t size = 1;
  int i, distinct, is, inside = 1;
  sett_map_print(a, m, text, sizeof text);
  enumerate(a, m);
  distinct = sort_images(m.results);
  ++seen.maps;
  iterator(a, m);
  values(a, m);
  injective(a, m, distinct == points);
  footprint(a, m, distinct, box);
  for (i = 0; i < m.results; ++i) size *= points ? box[i].hi - box[i].lo + 1 : 0;
  is = points == 0 || size == distinct;
  sett_map_arena_rewind(a, mark);
  if (points) covers(a, m, box, is, 1, distinct == points, NULL);
  for (i = 0, size = 1; i < m.results; ++i) { /* a box near the images' box */
    other[i].lo = box[i].lo + (draw(0, 3) ? 0 : draw(-1, 2));
    other[i].hi = box[i].hi + (draw(0, 3) ? 0 : draw(-2, 1));
    if (other[i].lo > box[i].lo || other[i].hi < box[i].hi) inside = 0;
    size *= other[i].hi - other[i].lo + 1 > 0 ? other[i].hi - other[i].lo + 1 : 0;
  }
  if (points && size < 3000) covers(a, m, other, all_hit(other, m.results), inside, distinct == points, other);
  sett_map_arena_rewind(a, mark);
  for (i = 0; i < sett_map_variables(m); ++i) runs(a, m, i);
  sett_map_arena_rewind(a, mark);
  rescaled(a, m);
  unused(a, m);
  moved(a, m);
  dimension_moved(a, m);
  replacement(a, m);
  sett_map_arena_rewind(a, mark);
  inverted(a, m, is && distinct == points);
}

/* ---- known answers ---- */

static sett_map read_map(sett_map_arena *a, const char *map) {
  snprintf(text, sizeof text, "%s", map);
  return sett_map_parse(a, map, strlen(map));
}

static void prints(sett_map_arena *a, sett_map m, const char *expected) {
  char out[1024];
  sett_map_print(a, m, out, sizeof out);
  check(!strcmp(out, expected), expected);
  if (strcmp(out, expected)) printf("  is %s\n", out);
}

static void known_answers(void) {
  sett_map_arena a = sett_map_arena_make(memory, sizeof memory);
  unsigned char chosen[4] = {0, 1, 0, 0};
  sett_map_answer why;
  sett_map_values v;
  sett_map_footprint f;
  sett_map_run run;
  sett_expr e;
  sett_map m;
  prints(&a,
         sett_map_rescale(
             &a, read_map(&a, "()[s0] -> (s0), domain: s0 in [0, 99], s0 mod 6 in [3, 3], s0 mod 7 in [5, 5]")),
         "()[s0] -> (s0 * 42 + 33), domain: s0 in [0, 1]");
  prints(&a,
         sett_map_remove_unused(
             &a,
             read_map(&a, "(d0, d1)[s0] -> (d1), domain: d0 in [0, 9], d1 in [0, 5], s0 in [0, 7], d0 mod 3 in [0, 0]"),
             SETT_MAP_ALL_KINDS, NULL),
         "(d0) -> (d0), domain: d0 in [0, 5]");
  prints(
      &a,
      sett_map_remove_unused(
          &a,
          read_map(&a, "(d0)[s0, s1] -> (d0), domain: d0 in [0, 9], s0 in [0, 5], s1 in [0, 5], s0 + s1 in [20, 30]"),
          SETT_MAP_RANGES, NULL),
      "KNOWN EMPTY");
  prints(
      &a,
      sett_map_to_dims(
          &a, read_map(&a, "(d0)[s0, s1] -> (d0 + s0 + s1), domain: d0 in [0, 9], s0 in [0, 5], s1 in [0, 5]"), chosen),
      "(d0, s0)[s1] -> (d0 + s0 + s1), domain: d0 in [0, 9], s0 in [0, 5], s1 in [0, 5]");
  prints(
      &a,
      sett_map_move(
          &a,
          read_map(
              &a,
              "(block, thread)[s0] -> (block * 32 + thread), domain: block in [0, 3], thread in [0, 31], s0 in [0, 1]"),
          1, 0),
      "(thread, block)[s0] -> (block * 32 + thread), domain: thread in [0, 31], block in [0, 3], s0 in [0, 1]");
  prints(&a, sett_map_inverse(&a, read_map(&a, "(d0, d1) -> (d1, 5 - d0), domain: d0 in [0, 5], d1 in [0, 2]"), &why),
         "(d0, d1) -> (5 - d1, d0), domain: d0 in [0, 2], d1 in [0, 5]");
  prints(
      &a,
      sett_map_inverse(
          &a,
          read_map(
              &a,
              "(d0, d1) -> ((d0 * 12 + d1) floordiv 8, (d0 * 12 + d1) mod 8), domain: d0 in [0, 1048575], d1 in [0, 11]"),
          &why),
      "(d0, d1) -> ((d0 * 8 + d1) floordiv 12, (d0 * 8 + d1) mod 12), domain: d0 in [0, 1572863], d1 in [0, 7]");
  prints(&a, sett_map_inverse(&a, read_map(&a, "() -> ()"), &why), "() -> ()");
  prints(&a,
         sett_map_inverse(&a, read_map(&a, "(d0) -> (d0 floordiv 4), domain: d0 in [0, 40], d0 mod 4 in [0, 0]"), &why),
         "(d0) -> (d0 * 4), domain: d0 in [0, 10]");
  m = sett_map_inverse(&a, read_map(&a, "(d0) -> (d0 * 2), domain: d0 in [0, 9000000]"), &why);
  check(m.kind == SETT_MAP_UNDEFINED && why.no && why.missed && why.missed[0] == 1, "inverse: not the whole box");
  m = read_map(&a, "(d0)[s0] -> (d0), domain: d0 in [0, 4], s0 in [0, 3]");
  e = sett_map_add(&a, sett_map_mul(&a, sett_map_var(&a, 0), constant(&a, 12)),
                   sett_map_mul(&a, sett_map_var(&a, 1), constant(&a, 8)));
  v = sett_map_congruence(&a, m, sett_map_add(&a, e, constant(&a, 3)));
  check(v.lo == 3 && v.hi == 75 && v.modulus == 4 && v.residue == 3, "values: a linear form");
  m = read_map(&a, "(d0, d1) -> (d0 + d1 + 1), domain: d0 in [0, 9], d1 in [0, 9], (d0 + d1) mod 4 in [2, 2]");
  v = sett_map_congruence(&a, m, m.result[0]);
  check(v.modulus == 4 && v.residue == 3 && v.lo == 3 && v.hi == 19, "values: from a constraint");
  m = read_map(&a, "(d0, d1) -> (d0 * d1 * 6 + 1), domain: d0 in [0, 9], d1 in [0, 9], d0 mod 2 in [0, 0]");
  v = sett_map_congruence(&a, m, m.result[0]);
  check(v.modulus == 12 && v.residue == 1, "values: a product");
  f = sett_map_image(&a, read_map(&a, "(d0, d1) -> (d0 floordiv 4, d1 * 3), domain: d0 in [0, 9999998], d1 in [0, 7]"));
  check(f.count == 20000000 && f.product && f.value[0].hi == 2499999 && f.value[1].modulus == 3,
        "image: a large product");
  f = sett_map_image(
      &a,
      read_map(
          &a,
          "(d0, d1)[s0] -> ((d0 * 12 + d1) mod 8 + s0 * 16), domain: d0 in [0, 99999], d1 in [0, 11], s0 in [0, 999]"));
  check(f.count == 8000 && !f.product && f.exact[0] && f.value[0].lo == 0 && f.value[0].hi == 15991,
        "image: digits of a sum, with gaps");
  m = read_map(&a, "(v) -> ((v floordiv 8) * 64 + v mod 8), domain: v in [0, 1048575]");
  check(!sett_map_runs(&a, m, 0, &run) && run.contiguous == 8 && run.contiguous_exact && run.broadcast == 1 &&
            run.vector_width == 8 && run.vector_exact,
        "runs: digits");
  m = read_map(
      &a, "(d0)[v] -> ((d0 floordiv 16) * 1000 + v * 4 + (d0 mod 16) * 64), domain: d0 in [0, 1048575], v in [0, 15]");
  check(!sett_map_runs(&a, m, 0, &run) && run.contiguous == 1 && run.broadcast == 1 && run.vector_width == 1,
        "runs: strided");
  m = read_map(&a, "(d0)[v] -> (d0 * 16 + v), domain: d0 in [0, 1048575], v in [0, 15], d0 * 16 + v in [0, 1000003]");
  check(!sett_map_runs(&a, m, 1, &run) && run.contiguous == 16 && run.vector_width == 4 && run.vector_exact,
        "runs: a guard between groups of four");
  m = read_map(&a, "(v) -> (v floordiv 32), domain: v in [0, 1048575]");
  check(!sett_map_runs(&a, m, 0, &run) && run.contiguous == 1 && run.broadcast == 32 && run.broadcast_exact,
        "runs: broadcast");
}

/* With memory of any size there is an answer or an error, and nothing is written outside the memory. */
static void little_memory(void) {
  static const char *const map =
      "(d0, d1)[s0] -> ((d0 * 12 + d1) floordiv 8, (d0 * 12 + d1 + s0) mod 8), domain: d0 in [0, 5], d1 in [0, 11], s0 in [0, 2], d1 mod 2 in [0, 0]";
  enum { BLOCK = 1 << 20 };
  unsigned char *block = (unsigned char *)malloc(BLOCK);
  size_t bytes, i;
  for (bytes = 64; block && bytes < BLOCK - 64; bytes += bytes < 4096 ? 40 : 9000) {
    sett_map_arena a;
    sett_map_interval box[2] = {{0, 8}, {0, 7}};
    sett_map_run run[2];
    sett_map_answer why;
    sett_map m;
    memset(block, 0xA5, BLOCK);
    a = sett_map_arena_make(block, bytes);
    m = read_map(&a, map);
    (void)sett_map_rescale(&a, m);
    (void)sett_map_remove_unused(&a, m, SETT_MAP_ALL_KINDS, NULL);
    (void)sett_map_inverse(&a, sett_map_to_dims(&a, m, NULL), &why);
    (void)sett_map_is_bijective(&a, m, box);
    (void)sett_map_image(&a, m);
    if (m.kind == SETT_MAP_DEFINED) (void)sett_map_runs(&a, m, 1, run);
    for (i = bytes; i < bytes + 64 && block[i] == 0xA5; ++i) {}
    check(i == bytes + 64, "no write outside of the memory");
  }
  free(block);
}

/* Numbers near the ends of 64-bit integers: each answer is right or an error, and no operation overflows (a sanitizer
 * checks this). */
static void big_numbers(int count) {
  /* clang-format off */
  static const int64_t ends[] = {
    INT64_MIN, INT64_MIN + 1, INT64_MAX, INT64_MAX - 1, (int64_t)1 << 62, -((int64_t)1 << 62), (int64_t)1 << 32, -1, 0,
    1, 7,
  };
  /* clang-format on */
  while (count--) {
    sett_map_arena a = sett_map_arena_make(memory, sizeof memory);
    sett_map_variable v[3];
    sett_map_constraint c;
    sett_map_interval box[2];
    sett_map_run run[2];
    sett_map_answer why;
    sett_expr r[2];
    sett_map m;
    int i, j;
    for (i = 0; i < 3; ++i) {
      v[i].name = NULL;
      v[i].lo = ends[draw(0, 10)];
      v[i].hi = draw(0, 1) ? ends[draw(0, 10)] : v[i].lo < INT64_MAX - 9 ? v[i].lo + draw(0, 9) : v[i].lo;
    }
    for (i = 0; i < 3; ++i) {
      sett_expr e = constant(&a, ends[draw(0, 10)]);
      for (j = 0; j < 3; ++j) {
        e = sett_map_add(&a, e, sett_map_mul(&a, sett_map_var(&a, (int)draw(0, 2)), constant(&a, ends[draw(0, 10)])));
        if (draw(0, 1))
          e = draw(0, 1) ? sett_map_floordiv(&a, e, constant(&a, ends[draw(0, 10)]))
                         : sett_map_mod(&a, e, constant(&a, ends[draw(0, 10)]));
      }
      if (i < 2) r[i] = draw(0, 3) ? e : sett_map_var(&a, i);
      else c.expr = e;
    }
    c.lo = ends[draw(0, 10)];
    c.hi = ends[draw(0, 10)];
    for (i = 0; i < 2; ++i) {
      box[i].lo = ends[draw(0, 10)];
      box[i].hi = ends[draw(0, 10)];
    }
    m = sett_map_make(&a, 3, 0, 0, v, 2, r, (int)draw(0, 1), &c);
    if (m.kind != SETT_MAP_DEFINED) continue;
    sett_map_print(&a, m, text, sizeof text);
    (void)sett_map_congruence(&a, m, r[0]);
    (void)sett_map_rescale(&a, m);
    (void)sett_map_remove_unused(&a, m, SETT_MAP_ALL_KINDS, NULL);
    (void)sett_map_replace(&a, m, 0, sett_map_var(&a, 1));
    check(*sett_map_is_bijective(&a, m, box).reason || sett_map_is_injective(&a, m).yes, "big numbers");
    (void)sett_map_covers(&a, m, box);
    (void)sett_map_image(&a, m);
    (void)sett_map_inverse(&a, m, &why);
    for (i = 0; i < 3; ++i) check(sett_map_runs(&a, m, i, run) >= 0, "big numbers: runs");
  }
}

int main(int argc, char **argv) {
  int count = argc > 1 ? atoi(argv[1]) : 2500;
  if (argc > 2) state ^= (uint64_t)strtoull(argv[2], NULL, 10) * UINT64_C(0x9E3779B97F4A7C15);
  if (!RULES_ALONE) known_answers();
  while (count--) {
    sett_map_arena a = sett_map_arena_make(memory, sizeof memory);
    sett_map m = draw_map(&a);
    if (m.kind == SETT_MAP_DEFINED) laws(&a, m);
  }
  little_memory();
  big_numbers(300);
  printf(
      "%d maps, %d checks, %d failures; inverses %d of %d bijections; decided: injective %d, covers %d, counts %d (products %d); exact: %d of %d values, %d of %d runs\n",
      seen.maps, checks, failures, seen.inverses, seen.bijections, seen.injective, seen.covers, seen.counts,
      seen.products, seen.exact, seen.values, seen.exact_runs, seen.runs);
  return failures ? 1 : 0;
}
