/* Random indexing maps, as texts and as chains of steps, for the property test and bench/algebra.c. The same seed gives
 * the same maps.
 *
 * A chain is a list of small maps. Each map is the text of one op (result index -> operand index). The operand of an op
 * is the result of the next op. draw_compose composes the maps, and draw_text prints the composed map. A chain followed
 * by its exact inverse is an identity.
 *
 *   draw r = draw_make(seed, 2000);                        shapes of at most 2000 elements
 *   static draw_chain chain;
 *   draw_map(&r, DRAW_ID_RESHAPE, rank, depth, &chain);    or one of the functions of a class
 *   map = draw_compose(&arena, &chain);                    expressions are shared, so it is small at any depth
 *   length = draw_text(&arena, &chain, text, sizeof text)  or as a text; 0 if the text would be too long */
#ifndef SETT_INDEXING_MAP_DRAW_H
#define SETT_INDEXING_MAP_DRAW_H

#include "../../include/sett_indexing_map.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DRAW_RANK = 10, DRAW_DEPTH = 16, DRAW_RESULT = 512 };

/* ---- numbers ---- */

typedef struct draw {
  uint64_t state;
  int64_t points; /* maximum number of elements of a shape */
} draw;

static inline draw draw_make(uint64_t seed, int64_t points) {
  draw r;
  r.state = seed;
  r.points = points;
  return r;
}

static inline int64_t draw_int(draw *r, int64_t lo, int64_t hi) { /* splitmix64 */
  uint64_t z = r->state += UINT64_C(0x9E3779B97F4A7C15);
  z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
  return lo + (int64_t)((z ^ z >> 31) % (uint64_t)(hi - lo + 1));
}

static inline int draw_one_in(draw *r, int n) { return !draw_int(r, 0, n - 1); }

#define DRAW_OF(r, array) ((array)[draw_int((r), 0, (int64_t)(sizeof(array) / sizeof *(array)) - 1)])

/* ---- texts: a text that does not fit is cut, and its length is then at least its capacity ---- */

typedef struct draw_out {
  char *text;
  size_t capacity, length;
} draw_out;

static inline draw_out draw_on(char *text, size_t capacity) {
  draw_out o;
  o.text = text;
  o.capacity = capacity;
  o.length = 0;
  text[0] = 0;
  return o;
}

static inline void draw_put(draw_out *o, const char *format, ...) {
  va_list values;
  int n;
  if (o->length >= o->capacity) return;
  va_start(values, format);
  n = vsnprintf(o->text + o->length, o->capacity - o->length, format, values);
  va_end(values);
  o->length += n > 0 ? (size_t)n : 0;
}

/* ---- shapes ---- */

typedef struct draw_shape {
  int rank;
  int64_t size[DRAW_RANK];
  int64_t at
      /* an index at which all steps so far have a value; every step keeps such an index, so the map has a point */
      [DRAW_RANK];
} draw_shape;

static inline int64_t draw_total(const draw_shape *s) {
  int64_t total = 1;
  int i;
  for (i = 0; i < s->rank; ++i) total *= s->size[i];
  return total;
}

/* Distribute the prime factors of `total` at random over `rank` sizes. Most sizes of 1 are dropped. first: each size
 * gets one factor before any size gets a second. */
static inline draw_shape draw_factors(draw *r, int64_t total, int rank, int first) {
  draw_shape s;
  int64_t prime[64], p, t;
  int primes = 0, i, j, kept = 0;
  for (p = 2; total > 1; ++p) {
    if (p * p > total) p = total;
    for (; total % p == 0; total /= p) prime[primes++] = p;
  }
  for (i = primes - 1; i > 0; --i) j = (int)draw_int(r, 0, i), t = prime[i], prime[i] = prime[j], prime[j] = t;
  for (i = 0; i < rank; ++i) s.size[i] = 1;
  for (i = 0; i < primes; ++i) s.size[first && i < rank ? i : draw_int(r, 0, rank - 1)] *= prime[i];
  for (i = 0; i < rank; ++i)
    if (s.size[i] > 1 || draw_one_in(r, 24)) s.size[kept++] = s.size[i];
  if (!kept) s.size[kept++] = 1;
  s.rank = kept;
  for (i = 0; i < kept; ++i) s.at[i] = draw_int(r, 0, s.size[i] - 1);
  return s;
}

/* Families of sizes. XLA's simplifier was timed on bitcasts of TWOS, SMALL and PRIMES.
 *   TWOS    2^6 to 2^19
 *   SMALL   {3, 5, 7, 9} * 2^5 to 2^16
 *   PRIMES  products of primes up to 7, mostly 2
 *   ODD     products of primes up to 7 with more odd factors
 *   ANY     TWOS, SMALL or ODD */
enum { DRAW_TWOS, DRAW_SMALL, DRAW_PRIMES, DRAW_ODD, DRAW_ANY };

static inline draw_shape draw_start(draw *r, int family, int rank) {
  static const int64_t small[] = {3, 5, 7, 9}, primes[] = {2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 5, 7},
                       odd[] = {2, 2, 2, 3, 3, 5, 7};
  int64_t total, p;
  int kind = family, count, i;
  if (family == DRAW_TWOS) {
    count = (int)draw_int(r, 6, 19);
  } else if (family == DRAW_SMALL) {
    count = (int)draw_int(r, 5, 16);
  } else if (family == DRAW_PRIMES) {
    count = rank + (int)draw_int(r, 0, 9);
  } else {
    kind = (int)draw_int(r, DRAW_TWOS, DRAW_PRIMES);
    if (family == DRAW_ODD || kind == DRAW_PRIMES) kind = DRAW_ODD;
    count = rank + (int)draw_int(r, 1, rank + 3);
  }
  total = kind == DRAW_SMALL ? DRAW_OF(r, small) : 1;
  for (i = 0; i < count; ++i) {
    p = kind == DRAW_PRIMES ? DRAW_OF(r, primes) : kind == DRAW_ODD ? DRAW_OF(r, odd) : 2;
    if (total * p <= r->points) total *= p;
  }
  return draw_factors(r, total, rank, 1);
}

/* Return another shape with the same number of elements: new factors, one size cut in two, or two neighbours merged. */
static inline draw_shape draw_refactor(draw *r, const draw_shape *s, int rank, int anew) {
  draw_shape to = *s, cut;
  int i = (int)draw_int(r, 0, s->rank - 1), j, kind = anew ? 0 : (int)draw_int(r, 0, 3);
  if (kind == 1 && s->rank > 1) { /* merge size i and its neighbour */
    if (i == s->rank - 1) --i;
    to.size[i] *= to.size[i + 1];
    for (j = i + 1; j + 1 < s->rank; ++j) to.size[j] = to.size[j + 1];
    --to.rank;
  } else if (kind > 1 && s->rank <= rank) {
    cut = draw_factors(r, s->size[i], 2, 1);
    if (cut.rank == 2) {
      for (j = to.rank; j > i + 1; --j) to.size[j] = to.size[j - 1];
      to.size[i] = cut.size[0];
      to.size[i + 1] = cut.size[1];
      ++to.rank;
    }
  } else {
    to = draw_factors(r, draw_total(s), (int)draw_int(r, rank > 2 ? rank - 1 : 2, rank + 1), 0);
  }
  return to;
}

/* ---- a step of a chain: a map, as bounds of its variables and texts of its results and constraints ---- */

typedef struct draw_side {
  int dims, results;
  int64_t ranges; /* the size of the only range variable, or 0 if there is none */
  int64_t lo[DRAW_RANK], hi[DRAW_RANK];
  char result[DRAW_RANK][DRAW_RESULT];
  char constraint[128]; /* ", expression in [lo, hi]", or empty */
} draw_side;

typedef struct draw_chain {
  int steps;
  const char *step[2 * DRAW_DEPTH]; /* texts of maps; the result of each is the operand of the previous one */
  int identity;                     /* the composed map is an identity wherever it has a value */
  int total; /* 1: the map is an identity and has a value on its whole box, so it simplifies to `expected` */
  char expected[512];
  size_t used;
  char text[1 << 17]; /* the steps' texts */
} draw_chain;

static inline void draw_clear(draw_chain *c) {
  c->steps = c->identity = c->total = 0;
  c->expected[0] = 0;
  c->used = 0;
}

/* Make a step whose variables are in [0, size - 1] and whose results are these variables. */
static inline void draw_box(draw_side *side, const draw_shape *s, int results) {
  int i;
  draw_out o;
  side->dims = s->rank;
  side->results = results;
  side->ranges = 0;
  side->constraint[0] = 0;
  for (i = 0; i < s->rank; ++i) {
    side->lo[i] = 0;
    side->hi[i] = s->size[i] - 1;
  }
  for (i = 0; i < results; ++i) {
    o = draw_on(side->result[i], DRAW_RESULT);
    draw_put(&o, "d%d", i);
  }
}

static inline void draw_set(char *text, size_t capacity, const char *format, ...) {
  va_list values;
  va_start(values, format);
  vsnprintf(text, capacity, format, values);
  va_end(values);
}

static inline void draw_name(draw_out *o, int i, int dims, int ranges) {
  if (i < dims) draw_put(o, "d%d", i);
  else if (i < dims + ranges) draw_put(o, "s%d", i - dims);
  else draw_put(o, "rt%d", i - dims - ranges);
}

static inline void draw_head(draw_out *o, int dims, int ranges, int rts) { /* (d0, d1)[s0]{rt0} -> ( */
  int i;
  draw_put(o, "(");
  for (i = 0; i < dims; ++i) draw_put(o, "%sd%d", i ? ", " : "", i);
  draw_put(o, ")");
  for (i = 0; i < ranges; ++i) draw_put(o, "%ss%d%s", i ? ", " : "[", i, i + 1 < ranges ? "" : "]");
  for (i = 0; i < rts; ++i) draw_put(o, "%srt%d%s", i ? ", " : "{", i, i + 1 < rts ? "" : "}");
  draw_put(o, " -> (");
}

/* Copy a finished text into the chain's memory. Return NULL if the memory is full. */
static inline const char *draw_keep(draw_chain *c, const draw_out *o) {
  char *text = c->text + c->used;
  if (o->length >= o->capacity || c->used + o->length + 1 > sizeof c->text) return NULL;
  memcpy(text, o->text, o->length + 1);
  c->used += o->length + 1;
  return text;
}

static inline const char *draw_write(draw_chain *c, const draw_side *side) {
  char text[DRAW_RANK * (DRAW_RESULT + 64)];
  draw_out o = draw_on(text, sizeof text);
  int i;
  draw_head(&o, side->dims, side->ranges ? 1 : 0, 0);
  for (i = 0; i < side->results; ++i) draw_put(&o, "%s%s", i ? ", " : "", side->result[i]);
  draw_put(&o, "), domain: ");
  for (i = 0; i < side->dims; ++i)
    draw_put(&o, "%sd%d in [%lld, %lld]", i ? ", " : "", i, (long long)side->lo[i], (long long)side->hi[i]);
  if (side->ranges) draw_put(&o, "%ss0 in [0, %lld]", side->dims ? ", " : "", (long long)side->ranges - 1);
  draw_put(&o, "%s", side->constraint);
  return draw_keep(c, &o);
}

/* Write index k of `to`: a mixed-radix digit of the linear index. The dimensions [i0, i1) of `from` give the linear
 * index, and the sizes [j0, j1) of `to` are the radices. If `cut` is 1 and the modulus divides the last size of `from`,
 * all terms but the last are multiples of the modulus. The remainder is then taken of the last index alone, as in XLA's
 * maps. */
static inline void draw_digit(char *text, const draw_shape *from, int i0, int i1, const draw_shape *to, int j0, int j1,
                              int k, int cut) {
  int64_t stride = 1, modulus, scale;
  draw_out o = draw_on(text, DRAW_RESULT);
  int i, j, terms = 0, has_modulus = 0;
  for (j = k + 1; j < j1; ++j) stride *= to->size[j];
  modulus = stride * to->size[k];
  for (j = j0; j < k; ++j) has_modulus |= to->size[j] > 1;
  if (modulus == stride) {
    draw_put(&o, "0");
    return;
  }
  draw_put(&o, "%s", has_modulus && stride > 1 ? "((" : has_modulus || stride > 1 ? "(" : "");
  for (i = i0; i < i1; ++i) {
    for (scale = 1, j = i + 1; j < i1; ++j) scale *= from->size[j];
    if (cut && has_modulus && i + 1 < i1 && from->size[i1 - 1] % modulus == 0) continue;
    draw_put(&o, scale > 1 ? "%sd%d * %lld" : "%sd%d", terms++ ? " + " : "", i, (long long)scale);
  }
  if (!terms) draw_put(&o, "0");
  if (has_modulus) draw_put(&o, ") mod %lld", (long long)modulus);
  if (stride > 1) draw_put(&o, ") floordiv %lld", (long long)stride);
}

/* Write the results of a reshape. If `pieces` is 1, cut both shapes into the smallest pieces with equal products, as
 * XLA does; otherwise each shape is one piece. */
static inline void draw_reshape(draw_side *side, const draw_shape *from, const draw_shape *to, int pieces) {
  int i = 0, j = 0, i0, j0, k;
  while (j < to->rank) {
    int64_t p = 1, q = 1;
    i0 = i;
    j0 = j;
    do {
      if (i < from->rank && p <= q) p *= from->size[i++];
      else q *= to->size[j++];
    } while (p != q || ((p == 1 || !pieces) && (i < from->rank || j < to->rank)));
    if (!pieces) i = from->rank, j = to->rank;
    for (k = j0; k < j; ++k) draw_digit(side->result[k], from, i0, i, to, j0, j, k, pieces);
  }
}

/* clang-format off */
enum {
  DRAW_RESHAPE = 1, DRAW_NAIVE = 2, DRAW_TRANSPOSE = 4, DRAW_REVERSE = 8, DRAW_SLICE = 16, DRAW_PAD = 32, DRAW_TILE = 64,
  DRAW_UNTILE = 128,
  DRAW_BROADCAST = 256, DRAW_REDUCE = 512, /* kinds without an inverse */
  DRAW_ANEW = 1024,                        /* each reshape draws new factors for the whole size */
  DRAW_MOVES = DRAW_RESHAPE | DRAW_TRANSPOSE | DRAW_REVERSE,
  DRAW_INVERTIBLE = DRAW_MOVES | DRAW_NAIVE | DRAW_SLICE | DRAW_PAD | DRAW_TILE | DRAW_UNTILE
};
/* clang-format on */

/* Draw one move (an op) of this kind whose result has the shape `here`, and replace `here` by the operand's shape. The
 * map goes to chain->step, its inverse to *back. Return 0 and change nothing if the kind does not fit the shape. */
static inline int draw_step(draw *r, draw_chain *c, draw_shape *here, int kind, int anew, int rank, const char **back) {
  static const int64_t tiles[] = {2, 3, 4, 5, 8, 16, 32};
  draw_shape to = *here;
  draw_side fore, aft;
  int n = here->rank, i = (int)draw_int(r, 0, n - 1), j, k, partial = 0;
  int order[DRAW_RANK];
  int64_t size = here->size[i], at = here->at[i], start, step, count, linear;
  draw_box(&fore, here, n);
  draw_box(&aft, here, n);
  switch (kind) {
    case DRAW_RESHAPE:
    case DRAW_NAIVE:
      to = draw_refactor(r, here, rank, anew);
      draw_box(&fore, here, to.rank);
      draw_box(&aft, &to, n);
      draw_reshape(&fore, here, &to, kind == DRAW_RESHAPE);
      draw_reshape(&aft, &to, here, kind == DRAW_RESHAPE);
      for (linear = 0, j = 0; j < n; ++j) linear = linear * here->size[j] + here->at[j];
      for (j = to.rank - 1; j >= 0; --j) to.at[j] = linear % to.size[j], linear /= to.size[j];
      break;
    case DRAW_TRANSPOSE:
      if (n < 2) return 0;
      for (j = 0; j < n; ++j) order[j] = j;
      for (j = n - 1; j > 0; --j) k = (int)draw_int(r, 0, j), i = order[j], order[j] = order[k], order[k] = i;
      for (j = 0; j < n; ++j) {
        to.size[j] = here->size[order[j]];
        to.at[j] = here->at[order[j]];
      }
      draw_box(&aft, &to, n);
      for (j = 0; j < n; ++j) {
        draw_set(fore.result[j], DRAW_RESULT, "d%d", order[j]);
        draw_set(aft.result[order[j]], DRAW_RESULT, "d%d", j);
      }
      break;
    case DRAW_REVERSE:
      for (j = 0; j < n; ++j) {
        if (j != i && draw_one_in(r, 2)) continue;
        draw_set(fore.result[j], DRAW_RESULT, "-d%d + %lld", j, (long long)here->size[j] - 1);
        draw_set(aft.result[j], DRAW_RESULT, "-d%d + %lld", j, (long long)here->size[j] - 1);
        to.at[j] = here->size[j] - 1 - here->at[j];
      }
      break;
    case DRAW_SLICE: /* d -> start + step * d, into a larger operand */
      start = draw_int(r, 0, 3);
      step = draw_one_in(r, 2) ? 1 : draw_int(r, 2, 4);
      to.size[i] = start + step * (size - 1) + 1 + draw_int(r, 0, 3);
      if (draw_total(&to) > r->points) return 0;
      to.at[i] = start + step * at;
      aft.lo[i] = start;
      aft.hi[i] = start + step * (size - 1);
      draw_set(fore.result[i], DRAW_RESULT, "d%d * %lld + %lld", i, (long long)step, (long long)start);
      draw_set(aft.result[i], DRAW_RESULT, step > 1 ? "(d%d - %lld) floordiv %lld" : "d%d - %lld", i, (long long)start,
               (long long)step);
      if (step > 1)
        draw_set(aft.constraint, sizeof aft.constraint, ", (d%d - %lld) mod %lld in [0, 0]", i, (long long)start,
                 (long long)step);
      break;
    /* A map into a smaller operand: d -> (d - start) / step, for those d where the quotient is exact. This is the map
     * of a pad that puts step - 1 elements between neighbours of the operand. With step 1, it is also a map of a
     * concatenation. */
    case DRAW_PAD:
      step = draw_one_in(r, 2) ? 1 : draw_int(r, 2, 4);
      start = at % step + step * draw_int(r, 0, at / step);
      count = draw_int(r, (at - start) / step + 1, (size - 1 - start) / step + 1);
      if (count < 2) return 0;
      to.size[i] = count;
      to.at[i] = (at - start) / step;
      fore.lo[i] = start;
      fore.hi[i] = start + step * (count - 1);
      partial = count < size;
      draw_set(aft.result[i], DRAW_RESULT, "d%d * %lld + %lld", i, (long long)step, (long long)start);
      draw_set(fore.result[i], DRAW_RESULT, step > 1 ? "(d%d - %lld) floordiv %lld" : "d%d - %lld", i, (long long)start,
               (long long)step);
      if (step > 1)
        draw_set(fore.constraint, sizeof fore.constraint, ", (d%d - %lld) mod %lld in [0, 0]", i, (long long)start,
                 (long long)step);
      aft.hi[i] = count - 1;
      break;
    case DRAW_TILE: /* d -> (d / step, d mod step) */
      step = DRAW_OF(r, tiles);
      if (step >= size || n > rank) return 0;
      for (j = n; j > i + 1; --j) to.size[j] = to.size[j - 1], to.at[j] = to.at[j - 1];
      to.rank = n + 1;
      to.size[i] = (size + step - 1) / step;
      to.size[i + 1] = step;
      to.at[i] = at / step;
      to.at[i + 1] = at % step;
      draw_box(&fore, here, n + 1);
      draw_box(&aft, &to, n);
      draw_set(fore.result[i], DRAW_RESULT, "d%d floordiv %lld", i, (long long)step);
      draw_set(fore.result[i + 1], DRAW_RESULT, "d%d mod %lld", i, (long long)step);
      draw_set(aft.result[i], DRAW_RESULT, "d%d * %lld + d%d", i, (long long)step, i + 1);
      for (j = i + 1; j < n; ++j) {
        draw_set(fore.result[j + 1], DRAW_RESULT, "d%d", j);
        draw_set(aft.result[j], DRAW_RESULT, "d%d", j + 1);
      }
      if (size % step)
        draw_set(aft.constraint, sizeof aft.constraint, ", d%d * %lld + d%d in [0, %lld]", i, (long long)step, i + 1,
                 (long long)size - 1);
      break;
    case DRAW_UNTILE: /* (d, e) -> d * step + e if the sum is below count */
      if (i + 1 >= n) return 0;
      step = here->size[i + 1];
      at = at * step + here->at[i + 1];
      count = draw_int(r, at + 1, size * step);
      if (count < 2) return 0;
      partial = count < size * step;
      for (j = i + 1; j + 1 < n; ++j) to.size[j] = to.size[j + 1], to.at[j] = to.at[j + 1];
      to.rank = n - 1;
      to.size[i] = count;
      to.at[i] = at;
      draw_box(&fore, here, n - 1);
      draw_box(&aft, &to, n);
      draw_set(fore.result[i], DRAW_RESULT, "d%d * %lld + d%d", i, (long long)step, i + 1);
      draw_set(aft.result[i], DRAW_RESULT, "d%d floordiv %lld", i, (long long)step);
      draw_set(aft.result[i + 1], DRAW_RESULT, "d%d mod %lld", i, (long long)step);
      for (j = i + 1; j + 1 < n; ++j) {
        draw_set(fore.result[j], DRAW_RESULT, "d%d", j + 1);
        draw_set(aft.result[j + 1], DRAW_RESULT, "d%d", j);
      }
      if (partial)
        draw_set(fore.constraint, sizeof fore.constraint, ", d%d * %lld + d%d in [0, %lld]", i, (long long)step, i + 1,
                 (long long)count - 1);
      break;
    case DRAW_BROADCAST: /* the operand has one dimension less */
      if (n < 2) return 0;
      for (j = i; j + 1 < n; ++j) {
        to.size[j] = to.size[j + 1];
        to.at[j] = to.at[j + 1];
        draw_set(fore.result[j], DRAW_RESULT, "d%d", j + 1);
      }
      to.rank = fore.results = n - 1;
      break;
    default: /* DRAW_REDUCE: the operand has one more dimension, indexed by a range variable */
      size = draw_int(r, 2, 16);
      if (n > rank || size * draw_total(here) > r->points) return 0;
      for (j = n; j > i; --j) {
        to.size[j] = to.size[j - 1];
        to.at[j] = to.at[j - 1];
        draw_set(fore.result[j], DRAW_RESULT, "d%d", j - 1);
      }
      draw_set(fore.result[i], DRAW_RESULT, "s0");
      to.rank = fore.results = n + 1;
      to.size[i] = fore.ranges = size;
      to.at[i] = draw_int(r, 0, size - 1);
  }
  c->step[c->steps] = draw_write(c, &fore);
  *back = kind & DRAW_INVERTIBLE ? draw_write(c, &aft) : NULL;
  if (!c->step[c->steps] || (kind & DRAW_INVERTIBLE && !*back)) return 0;
  ++c->steps;
  if (partial) c->total = 0;
  *here = to;
  return 1;
}

/* Draw `depth` moves (ops such as reshapes) of the given kinds. alternate: if transposes are among the kinds, no two
 * moves of one kind follow each other. The inverses go to `back` unless it is NULL. */
static inline void draw_steps(draw *r, draw_chain *c, draw_shape *here, int kinds, int alternate, int rank, int depth,
                              const char **back) {
  const char *unused;
  int last = DRAW_TRANSPOSE, tries, kind;
  while (depth-- && c->steps < DRAW_DEPTH) {
    for (tries = 0; tries < 400; ++tries) {
      kind = 1 << draw_int(r, 0, 9);
      if (!(kind & kinds) || (alternate && kind == last && kinds & DRAW_TRANSPOSE)) continue;
      if (draw_step(r, c, here, kind, kinds & DRAW_ANEW, rank, back ? &back[c->steps] : &unused)) break;
    }
    if (tries < 400) last = kind;
  }
}

/* ---- classes of chains: rank 2 to 6, depth 1 to 12 ---- */

/* Draw bitcasts like XLA's: two thirds of the steps are reshapes, the others transposes, in any order. */
static inline void draw_bitcast(draw *r, int family, int rank, int depth, draw_chain *c) {
  draw_shape here = draw_start(r, family, rank);
  draw_clear(c);
  while (depth-- > 0)
    draw_steps(r, c, &here, DRAW_ANEW | (here.rank > 1 && draw_one_in(r, 3) ? DRAW_TRANSPOSE : DRAW_RESHAPE), 0, rank,
               1, NULL);
}

/* Draw harder bitcasts: the sizes have many odd factors, and reshapes alternate with transposes, so that no two
 * reshapes merge. One bitcast in six consists only of reshapes in one piece (see draw_reshape). */
static inline void draw_turns(draw *r, int rank, int depth, draw_chain *c) {
  draw_shape here = draw_start(r, DRAW_ODD, rank);
  draw_clear(c);
  draw_steps(r, c, &here, DRAW_ANEW | (draw_one_in(r, 6) ? DRAW_NAIVE : DRAW_RESHAPE | DRAW_TRANSPOSE), 1, rank, depth,
             NULL);
}

/* Draw slices, pads, concatenations, reshapes, transposes, reverses, broadcasts, reductions and tiles. */
static inline void draw_mix(draw *r, int rank, int depth, draw_chain *c) {
  draw_shape here = draw_start(r, DRAW_ODD, rank);
  draw_clear(c);
  draw_steps(r, c, &here, DRAW_MOVES | DRAW_SLICE | DRAW_PAD | DRAW_TILE | DRAW_BROADCAST | DRAW_REDUCE | DRAW_ANEW, 0,
             rank, depth, NULL);
  if (!c->steps) draw_steps(r, c, &here, DRAW_REVERSE, 0, rank, 1, NULL);
}

/* Draw `depth` invertible moves of the given kinds followed by their exact inverses: 2 * depth steps. */
static inline void draw_identity(draw *r, int kinds, int family, int rank, int depth, draw_chain *c) {
  const char *back[DRAW_DEPTH];
  draw_shape start = draw_start(r, family, rank), here = start;
  draw_out o = draw_on(c->expected, sizeof c->expected);
  int i;
  draw_clear(c);
  c->identity = c->total = 1;
  draw_steps(r, c, &here, kinds | (draw_one_in(r, 4) ? 0 : DRAW_ANEW), 0, rank, depth, back);
  if (!c->steps) draw_steps(r, c, &here, DRAW_REVERSE, 0, rank, 1, back);
  for (i = c->steps; i-- > 0;) c->step[c->steps++] = back[i];
  draw_head(&o, start.rank, 0, 0);
  for (i = 0; i < start.rank; ++i)
    if (start.size[i] == 1) draw_put(&o, "%s0", i ? ", " : "");
    else draw_put(&o, "%sd%d", i ? ", " : "", i);
  for (i = 0; i < start.rank; ++i)
    draw_put(&o, "%sd%d in [0, %lld]", i ? ", " : "), domain: ", i, (long long)start.size[i] - 1);
}

/* Draw a map from thread, block, loop and vector to a linear index, limited to the number of elements; then a reshape
 * to a tensor, then depth - 1 further moves. */
static inline void draw_gpu(draw *r, int rank, int depth, draw_chain *c) {
  static const int64_t many[] = {32, 64, 96, 128, 256}, few[] = {2, 3, 4, 6, 8}, vectors[] = {1, 2, 4, 8},
                       loops[] = {1, 1, 2, 4};
  draw_shape here = draw_start(r, DRAW_ANY, rank), line;
  int64_t threads = r->points > 10000 ? DRAW_OF(r, many) : DRAW_OF(r, few), vector = DRAW_OF(r, vectors),
          loop = DRAW_OF(r, loops);
  int64_t total = draw_total(&here), block = threads * vector, blocks = (total + block * loop - 1) / (block * loop);
  const char *th = draw_one_in(r, 3) ? "th_x" : "d0", *bl = th[0] == 't' ? "bl_x" : "d1";
  char text[512];
  draw_out o = draw_on(text, sizeof text);
  draw_side side;
  draw_clear(c);
  draw_put(
      &o,
      "(%s, %s)[s0, s1] -> (%s * %lld + %s * %lld + s0 * %lld + s1), domain: %s in [0, %lld], %s in [0, %lld], s0 in [0, %lld], s1 in [0, %lld]",
      th, bl, th, (long long)vector, bl, (long long)block, (long long)(block * blocks), th, (long long)threads - 1, bl,
      (long long)blocks - 1, (long long)loop - 1, (long long)vector - 1);
  c->step[c->steps++] = draw_keep(c, &o);
  line = here;
  line.rank = 1;
  line.size[0] = total;
  draw_box(&side, &line, here.rank);
  draw_reshape(&side, &line, &here, 1);
  c->step[c->steps++] = draw_write(c, &side);
  draw_steps(r, c, &here, DRAW_RESHAPE | DRAW_TRANSPOSE, 1, rank, depth - 1, NULL);
}

/* ---- random expressions, by class ---- */

/* Each class also draws what the classes before it draw. POSITIVE: sums, quotients and remainders without negative
 * numbers. NEGATIVE: negative bounds and numbers, subtraction. DIVISORS: quotients by negative numbers. EVERY: all
 * operators, divisors that are expressions or negative. PARTIAL: divisors that are expressions and may be 0. */
enum { DRAW_POSITIVE, DRAW_NEGATIVE, DRAW_DIVISORS, DRAW_EVERY, DRAW_PARTIAL };

static inline void draw_expression(draw *r, draw_out *o, int dims, int ranges, int rts, int style, int depth) {
  static const int64_t factors[] = {2, 3, 4, 5, 6, 8, 10, 12, 16, -1, -3, -6},
                       moduli[] = {2, 3, 4, 5, 6, 8, 10, 12, 16, 24};
  int64_t k = DRAW_OF(r, moduli);
  int i;
  if (!depth || draw_one_in(r, 7)) {
    if (draw_one_in(r, 10)) {
      draw_put(o, "%lld", (long long)draw_int(r, style == DRAW_POSITIVE ? 0 : -20, 20));
      return;
    }
    draw_name(o, (int)draw_int(r, 0, dims + ranges + rts - 1), dims, ranges);
    return;
  }
  if (style >= DRAW_DIVISORS && draw_one_in(r, 3)) k = -k;
  i = (int)draw_int(r, 0, style >= DRAW_EVERY ? 13 : 9);
  draw_put(o, i == 11 ? draw_one_in(r, 2) ? "min(" : "max(" : "(");
  draw_expression(r, o, dims, ranges, rts, style, depth - 1);
  switch (i) {
    case 0:
    case 1: draw_put(o, " + "); break;
    case 2: draw_put(o, style == DRAW_POSITIVE ? " + " : " - "); break;
    case 3:
    case 4:
      k = DRAW_OF(r, factors);
      draw_put(o, " * %lld)", (long long)(style == DRAW_POSITIVE && k < 0 ? -k : k));
      return;
    case 5:
    case 6: draw_put(o, " floordiv %lld)", (long long)k); return;
    case 7:
    case 8: draw_put(o, " mod %lld)", (long long)(style < DRAW_EVERY && k < 0 ? -k : k)); return;
    case 9: draw_put(o, " + %lld)", (long long)draw_int(r, 1, 20)); return;
    case 10: draw_put(o, " ceildiv %lld)", (long long)k); return;
    case 11: draw_put(o, ", "); break;
    case 12: draw_put(o, " * "); break;
    default: /* a divisor that is not constant; only in DRAW_PARTIAL may it be 0 */
      if (style == DRAW_PARTIAL) {
        draw_put(o, draw_one_in(r, 2) ? " floordiv " : draw_one_in(r, 2) ? " mod " : " ceildiv ");
        break;
      }
      draw_put(o, draw_one_in(r, 2) ? " floordiv (" : " mod (");
      draw_expression(r, o, dims, ranges, rts, style, depth - 1);
      draw_put(o, k > 0 ? " mod %lld + %lld))" : " mod %lld - %lld))", (long long)k, (long long)draw_int(r, 1, 3));
      return;
  }
  draw_expression(r, o, dims, ranges, rts, style, depth - 1);
  draw_put(o, ")");
}

/* Add one map with the given numbers of dimensions and results (0: any number). All steps but the first have dimensions
 * with wide bounds. */
static inline void draw_one(draw *r, int style, int constraints, int dims, int results, draw_chain *c) {
  static const int64_t widths[] = {1, 2, 3, 3, 4, 6, 8, 8, 12, 16, 16, 24};
  char text[1 << 13];
  draw_out o;
  int i, ranges = 0, rts = 0;
  int64_t lo, k, points = c->steps ? r->points / 8 : 1;
  if (!dims) dims = (int)draw_int(r, 1, 4);
  if (!results) results = (int)draw_int(r, 1, 3);
  if (style >= DRAW_EVERY) {
    ranges = (int)draw_int(r, 0, 2);
    rts = draw_one_in(r, 3);
  }
  do { /* repeat until the text fits */
    o = draw_on(text, sizeof text);
    draw_head(&o, dims, ranges, rts);
    for (i = 0; i < results; ++i) {
      if (i) draw_put(&o, ", ");
      draw_expression(r, &o, dims, ranges, rts, style, (int)draw_int(r, 1, 5));
    }
    draw_put(&o, "), domain: ");
    for (i = 0; i < dims + ranges + rts; ++i) {
      k = DRAW_OF(r, widths);
      lo = style == DRAW_POSITIVE || draw_one_in(r, 5) ? 0 : draw_int(r, -12, 4);
      if (c->steps && i < dims) {
        lo -= 30;
        k += 60;
      } else if (points * k > r->points) {
        k = 1;
      } else {
        points *= k;
      }
      if (i) draw_put(&o, ", ");
      draw_name(&o, i, dims, ranges);
      draw_put(&o, " in [%lld, %lld]", (long long)lo, (long long)(lo + k - 1));
    }
    for (i = constraints ? (int)draw_int(r, 1, 2) : 0; i > 0; --i) {
      draw_put(&o, ", ");
      if (draw_one_in(r, 3)) { /* a congruence */
        k = draw_int(r, 2, 7);
        lo = draw_int(r, 0, k - 1);
        draw_put(&o, "d%d mod %lld in [%lld, %lld]", (int)draw_int(r, 0, dims - 1), (long long)k, (long long)lo,
                 (long long)lo);
      } else {
        lo = draw_int(r, style == DRAW_POSITIVE ? 0 : -12, 6);
        draw_expression(r, &o, dims, ranges, rts, style, (int)draw_int(r, 1, 4));
        draw_put(&o, " in [%lld, %lld]", (long long)lo, (long long)(lo + draw_int(r, 0, 12)));
      }
    }
    c->step[c->steps] = draw_keep(c, &o);
  } while (!c->step[c->steps]);
  ++c->steps;
}

static inline void draw_expressions(draw *r, int style, int constraints, draw_chain *c) {
  draw_clear(c);
  draw_one(r, style, constraints, 0, 0, c);
}

/* Draw two maps to be composed. Both may have ranges and runtime variables, which composition must keep apart. */
static inline void draw_pair(draw *r, int style, draw_chain *c) {
  int between = (int)draw_int(r, 1, 3), constraints = (int)draw_int(r, 0, 3);
  draw_clear(c);
  draw_one(r, style, constraints & 1, 0, between, c);
  draw_one(r, style, constraints >> 1, between, 0, c);
}

/* ---- classes of minima, products and divisors: one step ---- */

/* Terms that several operations of a map share, so that rules can absorb, factor out or cancel them. */
typedef struct draw_terms {
  int dims, count;
  char text[4][64];
} draw_terms;

/* Draw a sum of one or two variables with small factors, and a constant. */
static inline void draw_linear(draw *r, draw_out *o, int dims) {
  static const int64_t factors[] = {1, 1, 1, 1, 1, 2, 3, 4, 8, -1, -1, -2, -4};
  int terms = (int)draw_int(r, 1, 2), i;
  for (i = 0; i < terms; ++i) {
    int64_t k = DRAW_OF(r, factors);
    draw_put(o, k == 1 ? "%sd%d" : "%sd%d * %lld", i ? " + " : "(", (int)draw_int(r, 0, dims - 1), (long long)k);
  }
  if (draw_one_in(r, 2)) draw_put(o, " + %lld", (long long)draw_int(r, -9, 9));
  draw_put(o, ")");
}

static inline void draw_make_terms(draw *r, draw_terms *t) {
  draw_out o;
  for (t->count = 0; t->count < 4; ++t->count) {
    o = draw_on(t->text[t->count], sizeof t->text[0]);
    if (draw_one_in(r, 2)) draw_put(&o, "d%d", (int)draw_int(r, 0, t->dims - 1));
    else draw_linear(r, &o, t->dims);
  }
}

static inline const char *draw_term(draw *r, const draw_terms *t) { return t->text[draw_int(r, 0, t->count - 1)]; }

static inline const char *draw_end(draw *r) { return draw_one_in(r, 2) ? "min" : "max"; }

/* Draw minima and maxima of terms, of terms with offsets, and of constants. */
static inline void draw_lattice(draw *r, draw_out *o, const draw_terms *t, int depth) {
  if (depth && !draw_one_in(r, 4)) {
    draw_put(o, "%s(", draw_end(r));
    draw_lattice(r, o, t, depth - 1);
    draw_put(o, ", ");
    draw_lattice(r, o, t, depth - 1);
    draw_put(o, ")");
  } else if (draw_one_in(r, 6)) {
    draw_put(o, "%lld", (long long)draw_int(r, -12, 12));
  } else if (draw_one_in(r, 4)) {
    draw_put(o, "%s + %lld", draw_term(r, t), (long long)draw_int(r, -4, 4));
  } else {
    draw_put(o, "%s", draw_term(r, t));
  }
}

/* Draw minima and maxima with terms that may cancel, such as min(a + s, b + s) - s and min(a, b) + max(a, b). */
static inline void draw_common(draw *r, draw_out *o, const draw_terms *t) {
  static const int64_t factors[] = {1, 1, 2, 3, 4, -1, -2};
  const char *a = draw_term(r, t), *b = draw_term(r, t), *s = draw_term(r, t);
  int64_t k = DRAW_OF(r, factors);
  switch (draw_int(r, 0, 5)) {
    case 0: draw_put(o, "%s(%s + %s, %s %c %s)", draw_end(r), a, s, b, draw_one_in(r, 4) ? '-' : '+', s); break;
    case 1:
      draw_put(o, "%s(%s, %s) %c %s(%s, %s)", draw_end(r), a, b, draw_one_in(r, 2) ? '-' : '+', draw_end(r), b, a);
      break;
    case 2: draw_put(o, "%s - %s(%s %c %s, %s)", a, draw_end(r), a, draw_one_in(r, 2) ? '-' : '+', b, s); break;
    case 3:
      draw_put(o, "%s(%s * %lld, %s * %lld + %lld)", draw_end(r), a, (long long)k, b, (long long)k,
               (long long)draw_int(r, -8, 8));
      break;
    case 4:
      draw_put(o, "%s(%s + %lld, %s(%s, %s) + %lld)", draw_end(r), a, (long long)draw_int(r, -3, 3), draw_end(r), b, s,
               (long long)draw_int(r, -3, 3));
      break;
    default: draw_put(o, "%s(%s - %s, %lld)", draw_end(r), a, b, (long long)draw_int(r, -9, 9));
  }
  if (draw_one_in(r, 3)) draw_put(o, " %c %s", draw_one_in(r, 3) ? '+' : '-', draw_one_in(r, 2) ? s : a);
}

/* Draw f(min(a, b)) or min(f(a), f(b)), or the same with max. The function f has one operation, such as floordiv. */
static inline void draw_monotone(draw *r, draw_out *o, const draw_terms *t) {
  static const char *const functions[] = {" floordiv %lld", " floordiv %lld", " * %lld",
                                          " ceildiv %lld",  " mod %lld",      " + %lld"};
  const char *f = DRAW_OF(r, functions);
  int64_t k = draw_one_in(r, 4) ? -draw_int(r, 2, 6) : draw_int(r, 2, 12);
  int inside = !draw_one_in(r, 3), i;
  draw_put(o, inside ? "%s((" : "(%s((", draw_end(r));
  for (i = 0; i < 2; ++i) {
    if (i) draw_put(o, ", (");
    if (draw_one_in(r, 5)) draw_put(o, "%lld)", (long long)draw_int(r, -30, 30));
    else draw_put(o, draw_one_in(r, 3) ? "%s * %lld)" : "%s)", draw_term(r, t), (long long)k);
    if (inside) draw_put(o, f, (long long)k);
  }
  draw_put(o, inside ? ")" : "))");
  if (!inside) draw_put(o, f, (long long)k);
}

/* Draw expressions of padded and tiled loops: clamps, the size of the last tile, sizes rounded up, and quotients and remainders of these. */
static inline void draw_clamp(draw *r, draw_out *o, const draw_terms *t) {
  const char *x = draw_term(r, t), *n = draw_term(r, t);
  int64_t k = draw_int(r, 2, 16), lo = draw_int(r, -12, 4), hi = lo + draw_int(r, 0, 24);
  switch (draw_int(r, 0, 5)) {
    case 0: draw_put(o, "min(max(%s, %lld), %lld)", x, (long long)lo, (long long)hi); break;
    case 1:
      draw_put(o, "min(%s - (%s floordiv %lld) * %lld, %lld)", x, x, (long long)k, (long long)k,
               (long long)draw_int(r, 1, 16));
      break;
    case 2: draw_put(o, "min(%s - %s * %lld, %lld)", n, x, (long long)k, (long long)k); break;
    case 3:
      draw_put(o, "%s(((%s + %lld) floordiv %lld) * %lld, %s)", draw_end(r), x, (long long)draw_int(r, 0, k),
               (long long)k, (long long)k, draw_one_in(r, 3) ? n : x);
      break;
    case 4: draw_put(o, "max(min(%s, %lld), %s) mod %lld", x, (long long)hi, n, (long long)k); break;
    default:
      draw_put(o, "(min(max(%s, %lld), %lld) - %s) floordiv %lld", x, (long long)lo, (long long)hi,
               draw_one_in(r, 2) ? n : x, (long long)k);
  }
}

/* Draw a sum of products with common factors. */
static inline void draw_products(draw *r, draw_out *o, const draw_terms *t) {
  const char *c = draw_term(r, t);
  int terms = (int)draw_int(r, 2, 3), i;
  for (i = 0; i < terms; ++i) {
    const char *with = draw_one_in(r, 3) ? draw_term(r, t) : c;
    if (i) draw_put(o, draw_one_in(r, 2) ? " + " : " - ");
    switch (draw_int(r, 0, 4)) {
      case 0: draw_put(o, "%s * %lld", with, (long long)draw_int(r, -8, 12)); break;
      case 1: draw_put(o, "(%s - %s) * %s", draw_term(r, t), draw_term(r, t), with); break;
      case 2: draw_put(o, "%s", with); break;
      default: draw_put(o, "%s * %s", draw_term(r, t), with);
    }
  }
}

/* Draw a divisor that is an expression of the last variable. The class decides whether this variable is positive. */
static inline void draw_divisor(draw *r, draw_out *o, int dims) {
  int v = dims - 1;
  switch (draw_int(r, 0, 7)) {
    case 0: draw_put(o, "(d%d * %lld)", v, (long long)draw_int(r, 2, 8)); break;
    case 1: draw_put(o, "(d%d * d%d)", v, (int)draw_int(r, 0, v)); break;
    case 2: draw_put(o, "(d%d + %lld)", v, (long long)draw_int(r, 1, 5)); break;
    case 3: draw_put(o, "max(d%d, %lld)", v, (long long)draw_int(r, 0, 3)); break;
    default: draw_put(o, "d%d", v);
  }
}

static inline const char *draw_division(draw *r) {
  return draw_one_in(r, 8) ? "ceildiv" : draw_one_in(r, 2) ? "floordiv" : "mod";
}

static inline void draw_symbolic(draw *r, draw_out *o, const draw_terms *t) {
  char divisor[64], power[140];
  const char *a = draw_term(r, t), *b = draw_term(r, t);
  draw_out d = draw_on(divisor, sizeof divisor);
  int64_t k = draw_int(r, 1, 16);
  draw_divisor(r, &d, t->dims);
  if (draw_one_in(r, 3)) draw_set(power, sizeof power, "%s * %s", divisor, a);
  else draw_set(power, sizeof power, draw_one_in(r, 2) ? "%s * %lld" : "%s", divisor, (long long)k);
  switch (draw_int(r, 0, 6)) {
    case 0: draw_put(o, "(%s * %s + %s) %s %s", a, divisor, b, draw_division(r), divisor); break;
    case 1: draw_put(o, "(%s * %s * %lld) %s (%s)", a, divisor, (long long)k, draw_division(r), power); break;
    case 2: draw_put(o, "(%s - %s mod %s) %s %s", a, a, divisor, draw_division(r), divisor); break;
    case 3: draw_put(o, "(%s floordiv %s) * %s + %s mod %s", a, divisor, divisor, a, divisor); break;
    case 4: draw_put(o, "(%s * %lld + %s * %s) %s (%s)", a, (long long)k, b, divisor, draw_division(r), power); break;
    case 5:
      draw_put(o, "(%s mod %s + %s) %s %s", a, divisor, draw_one_in(r, 2) ? b : divisor, draw_division(r), divisor);
      break;
    default: draw_put(o, "%s(%s, %s - 1) %s %s", draw_end(r), a, divisor, draw_division(r), divisor);
  }
}

/* Draw a sum of quotients and remainders of one term with different offsets. */
static inline void draw_neighbours(draw *r, draw_out *o, const draw_terms *t) {
  const char *x = draw_term(r, t);
  int64_t c = draw_int(r, 2, 9), s = draw_one_in(r, 2) ? 1 : draw_int(r, 1, 4);
  int terms = (int)draw_int(r, 2, 3), i;
  for (i = 0; i < terms; ++i) {
    if (i) draw_put(o, draw_one_in(r, 3) ? " + " : " - ");
    switch (draw_int(r, 0, 6)) {
      case 0: draw_put(o, "%s", draw_one_in(r, 2) ? x : draw_term(r, t)); break;
      case 1:
        draw_put(o, "((%s + %lld) mod %lld) * %lld", x, (long long)draw_int(r, -c, 2 * c), (long long)c, (long long)s);
        break;
      case 2:
        draw_put(o, "((%s floordiv %lld) * %lld + %lld) floordiv %lld", x, (long long)c, (long long)draw_int(r, 2, 6),
                 (long long)draw_int(r, -3, 3), (long long)(c * draw_int(r, 1, 3)));
        break;
      case 3:
        draw_put(o, "(%s + %s + %lld) floordiv %lld", x, draw_term(r, t), (long long)draw_int(r, -c, c), (long long)c);
        break;
      default:
        draw_put(o, "((%s + %lld) %s %lld) * %lld", x, (long long)draw_int(r, -c, 3 * c),
                 draw_one_in(r, 6) ? "ceildiv" : "floordiv", (long long)c, (long long)s);
    }
  }
}

enum {
  DRAW_OF_LATTICE,
  DRAW_OF_COMMON,
  DRAW_OF_MONOTONE,
  DRAW_OF_CLAMPS,
  DRAW_OF_PRODUCTS,
  DRAW_OF_DIVISORS,
  DRAW_OF_ZERO_DIVISORS,
  DRAW_OF_NEIGHBOURS
};

static inline void draw_of(draw *r, draw_out *o, const draw_terms *t, int kind) {
  switch (kind) {
    case DRAW_OF_LATTICE: draw_lattice(r, o, t, 3); break;
    case DRAW_OF_COMMON: draw_common(r, o, t); break;
    case DRAW_OF_MONOTONE: draw_monotone(r, o, t); break;
    case DRAW_OF_CLAMPS: draw_clamp(r, o, t); break;
    case DRAW_OF_PRODUCTS: draw_products(r, o, t); break;
    case DRAW_OF_NEIGHBOURS: draw_neighbours(r, o, t); break;
    default: draw_symbolic(r, o, t);
  }
}

/* Draw a map of a kind; one in eight also has a result of another kind. Bounds are small, around 0, or [-1000, 1000],
 * and one map in three has constraints. The last variable of a map with symbolic divisors is positive, except in
 * DRAW_OF_ZERO_DIVISORS. */
static inline void draw_algebra(draw *r, int kind, draw_chain *c) {
  static const int64_t widths[] = {1, 2, 3, 4, 5, 6, 8, 9, 12, 16};
  char text[1 << 13];
  draw_out o = draw_on(text, sizeof text);
  draw_terms t;
  int i, large = draw_one_in(r, 2), results = draw_one_in(r, 3) ? 2 : 1;
  int64_t lo, width, points = 1;
  draw_clear(c);
  t.dims = (int)draw_int(r, 1, 4);
  draw_make_terms(r, &t);
  draw_head(&o, t.dims, 0, 0);
  for (i = 0; i < results; ++i) {
    if (i) draw_put(&o, ", ");
    draw_of(r, &o, &t, draw_one_in(r, 8) ? (int)draw_int(r, DRAW_OF_LATTICE, DRAW_OF_NEIGHBOURS) : kind);
  }
  draw_put(&o, "), domain: ");
  for (i = 0; i < t.dims; ++i) {
    width = DRAW_OF(r, widths);
    if (points * width > r->points) width = 1;
    points *= width;
    lo = draw_one_in(r, 2) ? 0 : draw_int(r, -12, 4);
    if (large && !draw_one_in(r, 4)) lo = -1000, width = 2001;
    if (i + 1 == t.dims && kind == DRAW_OF_DIVISORS) lo = 1 + draw_one_in(r, 4);
    draw_put(&o, "%sd%d in [%lld, %lld]", i ? ", " : "", i, (long long)lo, (long long)(lo + width - 1));
  }
  for (i = draw_one_in(r, 3) ? (int)draw_int(r, 1, 2) : 0; i > 0; --i) {
    const char *a = draw_term(r, &t), *b = draw_term(r, &t);
    lo = draw_int(r, -8, 3);
    switch (draw_int(r, 0, 5)) {
      case 0:
        width = draw_int(r, 2, 9);
        lo = draw_int(r, 0, width - 1);
        draw_put(&o, ", %s mod %lld in [%lld, %lld]", a, (long long)width, (long long)lo, (long long)lo);
        break;
      case 1: draw_put(&o, ", %s - %s in [%lld, 10000]", a, b, (long long)lo); break;
      case 2:
        draw_put(&o, ", %s(%s, %s) in [%lld, %lld]", draw_end(r), a, b, (long long)lo,
                 (long long)(lo + draw_int(r, 0, 20)));
        break;
      case 3:
        draw_put(&o, ", %s * %s in [%lld, %lld]", a, b, (long long)lo, (long long)(lo + draw_int(r, 0, 60)));
        break;
      case 4: draw_put(&o, ", %s - 1 in [0, 10000]", a); break;
      default: draw_put(&o, ", %s - %s in [%lld, %lld]", a, b, (long long)lo, (long long)(lo + draw_int(r, 0, 12)));
    }
  }
  c->step[c->steps++] = draw_keep(c, &o);
}

/* ---- all classes ---- */

#define DRAW_CLASSES(X)                                                                             \
  X(EXPRESSION, "random expressions", draw_expressions(r, (int)draw_int(r, 0, 2), 0, c))            \
  X(CONSTRAINED, "the same with constraints", draw_expressions(r, (int)draw_int(r, 0, 2), 1, c))    \
  X(GPU, "GPU tile + reshape", draw_gpu(r, rank, depth, c))                                         \
  X(MIX, "slice, pad, concat mixes", draw_mix(r, rank, depth, c))                                   \
  X(BITCAST_2, "bitcasts, powers of two", draw_bitcast(r, DRAW_TWOS, rank, depth, c))               \
  X(BITCAST_SMALL, "bitcasts, 2^k*{3,5,7,9}", draw_bitcast(r, DRAW_SMALL, rank, depth, c))          \
  X(BITCAST_PRIMES, "bitcasts, mixed primes", draw_bitcast(r, DRAW_PRIMES, rank, depth, c))         \
  X(BITCAST_TURNS, "bitcasts in turn, odd primes", draw_turns(r, rank, depth, c))                   \
  X(ID_RESHAPE, "identities by reshapes",                                                           \
    draw_identity(r, draw_one_in(r, 4) ? DRAW_NAIVE : DRAW_RESHAPE, DRAW_ANY, rank, depth, c))      \
  X(ID_MOVES, "identities with transposes", draw_identity(r, DRAW_MOVES, DRAW_ANY, rank, depth, c)) \
  X(ID_ALL, "identities of all kinds", draw_identity(r, DRAW_INVERTIBLE, DRAW_ANY, rank, depth, c)) \
  X(GENERAL, "every operator", draw_expressions(r, DRAW_EVERY, draw_one_in(r, 2), c))               \
  X(PAIR, "two of these", draw_pair(r, DRAW_EVERY, c))                                              \
  X(ZERO, "divisors that may be 0", draw_expressions(r, DRAW_PARTIAL, !draw_one_in(r, 4), c))       \
  X(ZERO_PAIR, "two of these", draw_pair(r, DRAW_PARTIAL, c))                                       \
  X(LATTICE, "minima of maxima", draw_algebra(r, DRAW_OF_LATTICE, c))                               \
  X(COMMON, "minima with common terms", draw_algebra(r, DRAW_OF_COMMON, c))                         \
  X(MONOTONE, "functions of minima", draw_algebra(r, DRAW_OF_MONOTONE, c))                          \
  X(CLAMPS, "clamps and padded loops", draw_algebra(r, DRAW_OF_CLAMPS, c))                          \
  X(PRODUCTS, "sums of products", draw_algebra(r, DRAW_OF_PRODUCTS, c))                             \
  X(SYMBOLIC, "positive symbolic divisors", draw_algebra(r, DRAW_OF_DIVISORS, c))                   \
  X(SYMBOLIC_ZERO, "any symbolic divisors", draw_algebra(r, DRAW_OF_ZERO_DIVISORS, c))              \
  X(NEIGHBOURS, "neighbouring quotients", draw_algebra(r, DRAW_OF_NEIGHBOURS, c))

#define DRAW_CLASS_ENUM(name, text, call) DRAW_##name,
enum {
  DRAW_CLASSES(DRAW_CLASS_ENUM) DRAW_CLASS_COUNT,
  DRAW_ALGEBRA = DRAW_LATTICE /* DRAW_ALGEBRA: this class and all classes after it */
};

static inline const char *draw_class_text(int which) {
#define DRAW_CLASS_TEXT(name, text, call) text,
  static const char *const texts[] = {DRAW_CLASSES(DRAW_CLASS_TEXT)};
  return texts[which];
}

static inline int draw_class_find(const char *key) { /* Return the class of a name such as "EXPRESSION", or -1. */
#define DRAW_CLASS_KEY(name, text, call) #name,
  static const char *const keys[] = {DRAW_CLASSES(DRAW_CLASS_KEY)};
  int i = DRAW_CLASS_COUNT - 1;
  while (i >= 0 && strcmp(keys[i], key)) --i;
  return i;
}

static inline void draw_map(draw *r, int which, int rank, int depth, draw_chain *c) {
  switch (which) {
#define DRAW_CLASS_CASE(name, text, call) \
  case DRAW_##name: call; break;
    DRAW_CLASSES(DRAW_CLASS_CASE)
  }
}

/* ---- composed maps ---- */

static inline sett_map draw_parse(sett_map_arena *arena, const char *text) {
  return sett_map_parse(arena, text, strlen(text));
}

static inline sett_map draw_compose(sett_map_arena *arena, const draw_chain *c) {
  sett_map map = draw_parse(arena, c->step[0]);
  int i;
  for (i = 1; i < c->steps; ++i) map = sett_map_compose(arena, map, draw_parse(arena, c->step[i]));
  return map;
}

/* Return the number of nodes of results and constraints as trees; *distinct receives the number of distinct nodes. The
 * header guarantees that an operand has a lower handle than its operation. */
static inline double draw_nodes(const sett_map_arena *arena, sett_map map, double *distinct) {
  double *tree = (double *)calloc(arena->nodes, sizeof *tree), total = 0;
  unsigned char *used = (unsigned char *)calloc(arena->nodes, 1);
  uint32_t e;
  int i;
  *distinct = 0;
  if (!tree || !used) exit(2);
  for (i = 0; i < map.results; ++i) used[map.result[i]] = 1;
  for (i = 0; i < map.constraints; ++i) used[map.constraint[i].expr] = 1;
  for (e = arena->nodes - 1; e >= SETT_MAP_ERROR_COUNT; --e) {
    const settp_map_node *n = settp_map_at(arena, e);
    *distinct += used[e];
    if (used[e] && n->op > SETTP_MAP_VAR) used[settp_map_a(n)] = used[settp_map_b(n)] = 1;
  }
  for (e = SETT_MAP_ERROR_COUNT; e < arena->nodes; ++e) {
    const settp_map_node *n = settp_map_at(arena, e);
    tree[e] = n->op > SETTP_MAP_VAR ? 1 + tree[settp_map_a(n)] + tree[settp_map_b(n)] : 1;
  }
  for (i = 0; i < map.results; ++i) total += tree[map.result[i]];
  for (i = 0; i < map.constraints; ++i) total += tree[map.constraint[i].expr];
  free(tree);
  free(used);
  return total;
}

/* Write the composed map as a text, not simplified. Return 0 if the text does not fit. The arena is left unchanged. */
static inline size_t draw_text(sett_map_arena *arena, const draw_chain *c, char *text, size_t capacity) {
  sett_map_mark mark = sett_map_arena_mark(arena);
  size_t length = sett_map_print(arena, draw_compose(arena, c), text, capacity);
  sett_map_arena_rewind(arena, mark);
  return length < capacity ? length : 0;
}

/* Call draw_map and draw_text. While the text does not fit, halve the depth and repeat. */
static inline size_t draw_map_text(draw *r, int which, int rank, int depth, draw_chain *c, sett_map_arena *arena,
                                   char *text, size_t capacity) {
  for (;; depth = depth > 1 ? depth / 2 : 1) {
    size_t length;
    draw_map(r, which, rank, depth, c);
    length = draw_text(arena, c, text, capacity);
    if (length) return length;
  }
}

/* Return 1 if this simplified text is an identity: result i is dimension i, or the only value of dimension i. */
static inline int draw_reads_identity(const char *text) {
  const char *at = strstr(text, " -> ("), *domain = strstr(text, "), domain: ");
  char name[24], point[64];
  long long value;
  int i, used;
  if (!at || !domain) return 0;
  for (at += 5, i = 0; at < domain; ++i) {
    draw_set(name, sizeof name, "d%d", i);
    if (!strncmp(at, name, strlen(name))) {
      at += strlen(name);
    } else {
      if (sscanf(at, "%lld%n", &value, &used) != 1) return 0;
      draw_set(point, sizeof point, " d%d in [%lld, %lld]", i, value, value);
      if (!strstr(domain, point)) return 0;
      at += used;
    }
    if (at < domain) {
      if (strncmp(at, ", ", 2)) return 0;
      at += 2;
    }
  }
  draw_set(name, sizeof name, "d%d in [", i);
  return at == domain && !strstr(domain, name); /* there are as many results as dimensions */
}

#endif
