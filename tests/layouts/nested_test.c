/* Test the laws of sett_nested_layout.h on random small layouts, against loops that are written from the definition.
 * Test the laws of sett_mma_layouts.h for every row. Run: nested_test [LAYOUTS [SEED]]. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../include/sett_nested_layout.h"
#include "../../include/sett_mma_layouts.h"

enum { RANK = 4, CELLS = 1024, IDS = 256 };
enum { S, B, O, T, E, SS, TS };

static uint64_t state;
static long counts[16];
/* clang-format off */
static const char *const counted[] = {
  "made", "overlap", "incomplete", "copies", "reshaped", "reshape refused", "same", "same slots", "different",
  "recombined", "recombine refused", "machine", "machine refused", "wide", "plans", "wide but whole",
};
enum {
  MADE, OVERLAP, INCOMPLETE, COPIES, RESHAPED, REFUSED, SAME, SAME_SLOTS, DIFFERENT, RECOMBINED, NOT_RECOMBINED,
  MACHINE, NOT_MACHINE, WIDE, PLANS, WIDE_WHOLE
};
/* clang-format on */

static int below(int n) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (int)((state >> 33) % (uint32_t)n);
}

/* ---- the definition, by loops: a layout is seven lists of small numbers ---- */

typedef struct {
  int rank, f[7][RANK];
  int subgroups, threads; /* periods of the ids, for a random layout */
} model;

static void show(const model *m) {
  static const char *const names[] = {"S", "B", "O", "T", "E", "SS", "TS"};
  int i, d;
  for (i = 0; i < 7; ++i) {
    fprintf(stderr, " %s[", names[i]);
    for (d = 0; d < m->rank; ++d) fprintf(stderr, "%s%d", d ? "," : "", m->f[i][d]);
    fprintf(stderr, "]");
  }
  fprintf(stderr, "\n");
}

static void fail(const char *what, const model *m) {
  fprintf(stderr, "%s:", what);
  show(m);
  exit(1);
}

static int size_of(const model *m, int d) {
  int i, size = 1;
  for (i = S; i <= E; ++i) size *= m->f[i][d];
  return size;
}

static int cells(const model *m) {
  int d, n = 1;
  for (d = 0; d < m->rank; ++d) n *= size_of(m, d);
  return n;
}

static int digit(const model *m, int tile, int stride, int d, int id) {
  return m->f[stride][d] ? id / m->f[stride][d] % m->f[tile][d] : 0;
}

/* Return 1 if (subgroup, thread) has index `x` in dimension `d`, by trying each batch, outer and element number. */
static int holds(const model *m, int d, int x, int subgroup, int thread) {
  int b, o, e, s = digit(m, S, SS, d, subgroup), t = digit(m, T, TS, d, thread);
  for (b = 0; b < m->f[B][d]; ++b)
    for (o = 0; o < m->f[O][d]; ++o)
      for (e = 0; e < m->f[E][d]; ++e)
        if ((((s * m->f[B][d] + b) * m->f[O][d] + o) * m->f[T][d] + t) * m->f[E][d] + e == x) return 1;
  return 0;
}

/* Write the row-major number of the element in each slot of (subgroup, thread), in the order of the slots. Return the
 * number of slots. */
static int slots_of(const model *m, int subgroup, int thread, int *held) {
  int own[3][RANK] = {{0}}, level[3] = {B, O, E}, n = 0, d, k, x, row;
  for (;;) {
    for (row = 0, d = 0; d < m->rank; ++d) {
      x = digit(m, S, SS, d, subgroup) * m->f[B][d] + own[0][d];
      x = (x * m->f[O][d] + own[1][d]) * m->f[T][d] + digit(m, T, TS, d, thread);
      row = row * size_of(m, d) + x * m->f[E][d] + own[2][d];
    }
    held[n++] = row;
    for (k = 2; k >= 0; --k) {
      for (d = m->rank - 1; d >= 0; --d) {
        if (++own[k][d] < m->f[level[k]][d]) break;
        own[k][d] = 0;
      }
      if (d >= 0) break;
    }
    if (k < 0) return n;
  }
}

/* Return the period of the ids: the smallest p for which id and id + p always have the same elements. */
static int period(const model *m, int tile, int stride) {
  int p, d, id;
  for (p = 1;; ++p) {
    for (d = 0; d < m->rank; ++d) {
      for (id = 0; id < 2 * IDS; ++id)
        if (digit(m, tile, stride, d, id) != digit(m, tile, stride, d, id + p)) break;
      if (id < 2 * IDS) break;
    }
    if (d == m->rank) return p;
  }
}

/* Return 1 if two digits overlap, that is, if neither digit's stride is a multiple of the other digit's stride times
 * size. */
static int overlaps(const model *m, int tile, int stride) {
  int i, j;
  for (i = 0; i < m->rank; ++i)
    for (j = 0; j < i; ++j) {
      int p = m->f[stride][i], q = m->f[stride][j], a = m->f[tile][i], b = m->f[tile][j];
      if (a > 1 && b > 1 && p && q && p % (q * b) && q % (p * a)) return 1;
    }
  return 0;
}

static int incomplete(const model *m) {
  int d;
  for (d = 0; d < m->rank; ++d)
    if ((m->f[S][d] > 1 && !m->f[SS][d]) || (m->f[T][d] > 1 && !m->f[TS][d])) return 1;
  return 0;
}

static sett_nested_layout made(const model *m) {
  int64_t wide[7][RANK];
  const int64_t *field[7];
  int i, d;
  for (i = 0; i < 7; ++i) {
    for (d = 0; d < m->rank; ++d) wide[i][d] = m->f[i][d];
    field[i] = wide[i];
  }
  return sett_nested_make(m->rank, field);
}

static model modelled(const sett_nested_layout *layout) {
  model m;
  int i, d;
  m.rank = layout->rank;
  m.subgroups = m.threads = 0;
  for (i = 0; i < 7; ++i)
    for (d = 0; d < m.rank; ++d) m.f[i][d] = (int)layout->field[i][d];
  return m;
}

static void put_strides(model *m, int tile, int stride, int wild) {
  int used = 1, left = m->rank, d, done[RANK] = {0};
  while (left-- > 0) {
    do d = below(m->rank);
    while (done[d]);
    done[d] = 1;
    m->f[stride][d] = 0;
    if (wild) {
      m->f[stride][d] = below(7);
    } else if (below(12)) {
      if (!below(5)) used *= 2 + below(2);
      m->f[stride][d] = used;
      used *= m->f[tile][d];
    }
  }
}

static model random_model(void) {
  static const int sizes[] = {1, 1, 1, 1, 2, 2, 2, 3, 4};
  model m;
  int i, d, wild = !below(4);
  do {
    m.rank = below(8) ? 1 + below(3) : below(5);
    if (m.rank > RANK) m.rank = RANK;
    for (i = S; i <= E; ++i)
      for (d = 0; d < m.rank; ++d) m.f[i][d] = sizes[below(9)];
    put_strides(&m, S, SS, wild);
    put_strides(&m, T, TS, wild);
    m.subgroups = m.threads = 0;
    if (cells(&m) > 288) continue;
    m.subgroups = period(&m, S, SS);
    m.threads = period(&m, T, TS);
  } while (!m.subgroups || m.subgroups > 24 || m.threads > 64);
  return m;
}

/* ---- 1, 2, 3: text, both directions, the elements of a thread ---- */

static void check_text(const model *m, const sett_nested_layout *layout) {
  char text[2048], small[64];
  size_t length = sett_nested_print(layout, text, sizeof text);
  sett_nested_layout back = sett_nested_parse(text, length);
  if (length >= sizeof text || !sett_nested_equal(layout, &back) || strlen(text) != length) fail("print_parse", m);
  if (sett_nested_print(layout, small, sizeof small) != length || strlen(small) != sizeof small - 1 ||
      memcmp(small, text, sizeof small - 1))
    fail("cut print", m);
}

static void unravel(const model *m, int row, int64_t *index) {
  int d;
  for (d = m->rank - 1; d >= 0; row /= size_of(m, d), --d) index[d] = row % size_of(m, d);
}

static void check_inverse(const model *m, const sett_nested_layout *layout) {
  static int held[CELLS], next[CELLS];
  int n = cells(m), subgroups = m->subgroups, threads = m->threads, g, t, k, row, slots, owned = 0, pass;
  int64_t index[RANK], virtual_s[RANK], virtual_t[RANK], expected[RANK], a, b, c;
  if (sett_nested_elements(layout) != n || sett_nested_subgroups(layout) != subgroups ||
      sett_nested_threads(layout) != threads)
    fail("counts", m);
  memset(next, 0, sizeof next);
  for (g = 0; g < subgroups; ++g)
    for (t = 0; t < threads; ++t) {
      if (!sett_nested_virtual(layout, g, t, virtual_s, virtual_t)) fail("virtual", m);
      for (k = 0; k < m->rank; ++k)
        if (virtual_s[k] != digit(m, S, SS, k, g) || virtual_t[k] != digit(m, T, TS, k, t)) fail("virtual", m);
      slots = slots_of(m, g, t, held);
      if (sett_nested_slots(layout) != slots) fail("slots", m);
      for (k = 0; k < slots; ++k) {
        unravel(m, held[k], expected);
        for (pass = 0; pass < 2; ++pass) /* ids beyond the period wrap */
          if (!sett_nested_element(layout, g + pass * subgroups, t + pass * 3 * threads, k, index) ||
              memcmp(index, expected, (size_t)m->rank * sizeof *index))
            fail("element", m);
        if (!sett_nested_owner(layout, expected, next[held[k]]++, &a, &b, &c) || a != g || b != t || c != k)
          fail("owner", m);
      }
      if (sett_nested_element(layout, g, t, slots, index) || sett_nested_element(layout, g, t, -1, index))
        fail("no slot", m);
    }
  for (row = 0; row < n; ++row) {
    unravel(m, row, index);
    if (sett_nested_owner(layout, index, next[row], &a, &b, &c)) fail("one owner too many", m);
    if (next[row] && sett_nested_copies(layout) != next[row]) fail("copies", m);
    owned += next[row] > 0;
  }
  if (m->rank > 0) {
    index[0] = size_of(m, 0);
    if (sett_nested_owner(layout, index, 0, &a, &b, &c)) fail("index outside", m);
  }
  if ((owned < n) != incomplete(m) || (layout->incomplete != 0) != (owned < n)) fail("incomplete", m);
  if (sett_nested_held(layout, subgroups, threads) != owned) fail("held", m);
  counts[INCOMPLETE] += owned < n;
  counts[COPIES] += sett_nested_copies(layout) > 1;
}

/* Check that the tables of sett_nested_index agree with sett_nested_element and sett_nested_owner, and that a table that
 * is NULL is not written. */
static void check_index(const model *m, const sett_nested_layout *layout) {
  enum { MOST = 24 * 64 * 288 };
  static int64_t element[MOST], owner[CELLS], next[MOST], alone[MOST];
  int64_t slots = sett_nested_slots(layout), count = sett_nested_all_slots(layout), index[RANK], number, held, a, b, c,
          which, *none = NULL;
  if (count != m->subgroups * m->threads * slots) fail("all slots", m);
  if (sett_nested_index(layout, element, owner, next)) fail("index", m);
  for (held = 0; held < count; ++held) {
    int d;
    if (!sett_nested_element(layout, held / slots / m->threads, held / slots % m->threads, held % slots, index))
      fail("index", m);
    for (d = 0, number = 0; d < m->rank; ++d) number = number * size_of(m, d) + index[d];
    if (element[held] != number) fail("index: element", m);
  }
  for (number = 0; number < cells(m); ++number) {
    unravel(m, (int)number, index);
    for (which = 0, held = owner[number]; sett_nested_owner(layout, index, which, &a, &b, &c);
         ++which, held = next[held])
      if (held != (a * m->threads + b) * slots + c) fail("index: owner", m);
    if (held != -1) fail("index: one owner too many", m);
  }
  if (sett_nested_index(layout, alone, none, none) || memcmp(alone, element, sizeof *alone * (size_t)count))
    fail("index: element alone", m);
  if (sett_nested_index(layout, none, alone, none) || memcmp(alone, owner, sizeof *alone * (size_t)cells(m)))
    fail("index: owner alone", m);
}

static void check_held(const model *m, const sett_nested_layout *layout) {
  static int held[CELLS];
  static unsigned char seen[CELLS];
  int g, t, k, slots, count = 0, subgroups = below(m->subgroups + 2), threads = below(m->threads + 2);
  memset(seen, 0, sizeof seen);
  for (g = 0; g < subgroups; ++g)
    for (t = 0; t < threads; ++t) {
      slots = slots_of(m, g, t, held);
      for (k = 0; k < slots; ++k) seen[held[k]] = 1;
    }
  for (k = 0; k < cells(m); ++k) count += seen[k];
  if (sett_nested_held(layout, subgroups, threads) != count) fail("held by some", m);
}

/* sett_nested_on accepts a machine if and only if the machine's threads have every element that has an owner by the
 * definition. */
static void check_machine(const model *m, const sett_nested_layout *layout) {
  static int held[CELLS];
  static unsigned char seen[CELLS];
  int subgroups = 1 + below(8), size = 1 + below(24), tid, k, slots, count = 0, whole;
  sett_nested_layout on = sett_nested_on(layout, subgroups, size);
  memset(seen, 0, sizeof seen);
  for (tid = 0; tid < subgroups * size; ++tid) {
    slots = slots_of(m, tid / size, tid, held);
    for (k = 0; k < slots; ++k) seen[held[k]] = 1;
  }
  for (k = 0; k < cells(m); ++k) count += seen[k];
  whole = count == sett_nested_held(layout, m->subgroups, m->threads);
  if (!on.error && !whole) fail("accepted by a machine on which a part is nobody's", m);
  if ((on.error == SETT_NESTED_ERROR_SUBGROUPS || on.error == SETT_NESTED_ERROR_THREADS) && whole)
    fail("refused by a machine that does", m);
  if (on.error && (on.dim < 0 || on.dim >= m->rank)) fail("a refusal without a dimension", m);
  if (on.error == SETT_NESTED_ERROR_WIDE && (m->threads <= size || m->subgroups == 1)) fail("wide where it is not", m);
  if (on.error == SETT_NESTED_ERROR_WIDE) ++counts[whole ? WIDE_WHOLE : WIDE];
  ++counts[on.error ? NOT_MACHINE : MACHINE];
}

static void check_bound(const model *m, const sett_nested_layout *layout) {
  int d, x, g = below(20), t = below(70), bound, count;
  for (d = 0; d < m->rank; ++d)
    for (bound = 0; bound <= size_of(m, d) + 1; ++bound) {
      for (count = 0, x = 0; x < bound && x < size_of(m, d); ++x) count += holds(m, d, x, g, t);
      if (sett_nested_bound(layout, d, g, t, bound) != count) fail("bound", m);
    }
}

static void check_plan(const model *m, const sett_nested_layout *layout) {
  static int held[CELLS];
  int64_t strides[RANK], index[RANK], expected;
  int g = below(20), t = below(70), d, k, slots = slots_of(m, g, t, held);
  sett_nested_plan plan, rows = sett_nested_prepare(layout, NULL);
  for (d = 0; d < m->rank; ++d) strides[d] = below(200) - 100;
  plan = sett_nested_prepare(layout, strides);
  if (plan.error) return; /* the layout has too many digits for a plan */
  for (k = 0; k < slots; ++k) {
    unravel(m, held[k], index);
    for (expected = 0, d = 0; d < m->rank; ++d) expected += index[d] * strides[d];
    if (sett_nested_offset(plan, (uint32_t)g, (uint32_t)t, (uint32_t)k) != expected) fail("offset", m);
    if (!rows.error && sett_nested_offset(rows, (uint32_t)g, (uint32_t)t, (uint32_t)k) != held[k])
      fail("row-major offset", m);
  }
  if (plan.thread_slots != (uint32_t)slots) fail("slots of a plan", m);
  ++counts[PLANS];
}

/* ---- 4: permute, project, apply, recombine ---- */

/* A thread owns an index of the result if and only if the thread has the index's coordinate in each dimension that the
 * result keeps. */
static void check_apply(const model *m, const sett_nested_layout *result, const int32_t *map, int rank,
                        const char *what) {
  model r = modelled(result);
  int row, d, g, t, want, has;
  int64_t index[RANK];
  if (r.rank != rank) fail(what, m);
  for (d = 0; d < rank; ++d)
    if (size_of(&r, d) != (map[d] < 0 ? 1 : size_of(m, map[d]))) fail(what, m);
  for (row = 0; row < cells(&r); row += 1 + cells(&r) / 64) {
    unravel(&r, row, index);
    for (g = 0; g < m->subgroups; ++g)
      for (t = 0; t < m->threads; ++t) {
        for (want = has = 1, d = 0; d < rank; ++d) {
          has = has && holds(&r, d, (int)index[d], g, t);
          want = want && (map[d] < 0 || holds(m, map[d], (int)index[d], g, t));
        }
        if (want != has) fail(what, m);
      }
  }
}

static void check_combine(const model *m, const sett_nested_layout *layout) {
  int32_t map[RANK];
  unsigned char dropped[RANK];
  int d, kept = 0, i, j, repeats = 0, shared = 0;
  sett_nested_layout result;
  for (d = 0; d < m->rank; ++d) map[d] = d;
  for (d = 0; d < m->rank; ++d) {
    int32_t other = (int32_t)below(m->rank), swap = map[d];
    map[d] = map[other];
    map[other] = swap;
  }
  result = sett_nested_permute(layout, map);
  if (result.error) fail("permute refused", m);
  check_apply(m, &result, map, m->rank, "permute");
  if (m->rank > 1) {
    map[0] = map[1];
    if (sett_nested_permute(layout, map).error != SETT_NESTED_ERROR_PERMUTATION) fail("no permutation", m);
  }
  for (d = 0; d < m->rank; ++d)
    if (!(dropped[d] = (unsigned char)below(2))) map[kept++] = d;
  result = sett_nested_project(layout, dropped);
  if (result.error) fail("project refused", m);
  check_apply(m, &result, map, kept, "project");
  if (!m->rank) return;
  kept = below(RANK);
  for (d = 0; d < kept; ++d) map[d] = (int32_t)below(m->rank + 1) - 1;
  for (i = 0; i < kept; ++i)
    for (j = 0; j < i; ++j)
      if (map[i] >= 0 && map[i] == map[j]) {
        repeats = 1;
        shared = shared || (m->f[S][map[i]] > 1 && m->f[SS][map[i]]) || (m->f[T][map[i]] > 1 && m->f[TS][map[i]]);
      }
  result = sett_nested_apply(layout, kept, map);
  if ((result.error != 0) != shared) fail("apply refused, or not", m);
  if (!result.error && (!repeats || cells(m) < 40)) check_apply(m, &result, map, kept, "apply");
}

static void check_recombine(const model *m, const sett_nested_layout *layout) {
  int32_t loops[RANK], drop[RANK], both[2 * RANK];
  unsigned char dropped[RANK];
  const int32_t *maps[2];
  sett_nested_layout parts[2], result;
  int d, n = 0, i;
  for (d = 0; d < m->rank; ++d) loops[d] = d;
  for (d = 0; d < m->rank; ++d) both[d] = m->rank - 1 - d; /* the result has all dimensions, in reverse order */
  parts[0] = parts[1] = *layout;
  for (d = 0; d < m->rank; ++d)
    if (!(dropped[d] = (unsigned char)below(2))) drop[n++] = d;
  parts[0] = sett_nested_project(layout, dropped); /* the first operand has some of the dimensions, the second all */
  maps[0] = drop;
  maps[1] = loops;
  result = sett_nested_recombine(2, parts, maps, m->rank, both);
  if (result.error) fail("recombine refused", m);
  check_apply(m, &result, both, m->rank, "recombine");
  ++counts[RECOMBINED];
  if (n == 0) return;
  for (i = 0; i < 7; ++i) /* operands with different tiles conflict */
    if (i == E) parts[0].field[E][0] += 1;
  if (sett_nested_recombine(2, parts, maps, m->rank, both).error != SETT_NESTED_ERROR_CONFLICT) fail("conflict", m);
  if (n < m->rank && sett_nested_recombine(1, parts, maps, m->rank, both).error != SETT_NESTED_ERROR_HOLE)
    fail("hole", m);
  ++counts[NOT_RECOMBINED];
}

/* ---- 5: reshape ---- */

static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

/* Return 1 if a layout of one dimension with this size gives each (subgroup, thread) exactly the elements in `want`, by
 * trying all factors and strides. */
static int some_layout(int size, int subgroups, int threads, const unsigned char *want, model *found) {
  model m;
  int s, b, t, e, g, u, x, p, q;
  m.rank = 1;
  m.subgroups = m.threads = 0;
  m.f[O][0] = 1;
  for (s = 1; s <= size; ++s)
    for (b = 1; s * b <= size; ++b)
      for (t = 1; s * b * t <= size; ++t) {
        if (size % (s * b * t)) continue;
        e = size / (s * b * t);
        m.f[S][0] = s, m.f[B][0] = b, m.f[T][0] = t, m.f[E][0] = e;
        for (p = 0; p <= (s > 1 ? subgroups : 0); ++p)
          for (q = 0; q <= (t > 1 ? threads : 0); ++q) {
            int wrong = 0;
            m.f[SS][0] = p, m.f[TS][0] = q;
            for (g = 0; g < subgroups && !wrong; ++g)
              for (u = 0; u < threads && !wrong; ++u)
                for (x = 0; x < size && !wrong; ++x)
                  wrong = holds(&m, 0, x, g, u) != want[(g * threads + u) * size + x];
            if (!wrong) {
              *found = m;
              return 1;
            }
          }
      }
  return 0;
}

/* Return 1 if there is a layout of this shape with the same owners. This requires that the elements of each thread are a
 * product of sets, one per dimension; that each dimension alone has a layout; and that the digits of the ids do not
 * overlap between dimensions. */
static int representable(const model *m, const int64_t *shape, int rank) {
  static unsigned char want[RANK][4096];
  static int held[CELLS];
  int subgroups = 2 * m->subgroups, threads = 2 * m->threads, g, t, k, d, slots,
      product; /* two periods, to see the ids wrap */
  model all, one;
  memset(want, 0, sizeof want);
  for (g = 0; g < subgroups; ++g)
    for (t = 0; t < threads; ++t) {
      slots = slots_of(m, g, t, held);
      for (k = 0; k < slots; ++k) {
        int row = held[k];
        for (d = rank - 1; d >= 0; row /= (int)shape[d], --d)
          want[d][(g * threads + t) * shape[d] + row % shape[d]] = 1;
      }
      for (product = 1, d = 0; d < rank; ++d) {
        int x, n = 0;
        for (x = 0; x < shape[d]; ++x) n += want[d][(g * threads + t) * shape[d] + x];
        product *= n;
      }
      if (product != slots) return 0; /* the elements of a thread are not a product of sets */
    }
  all.rank = rank;
  all.subgroups = all.threads = 0;
  for (d = 0; d < rank; ++d) {
    if (!some_layout((int)shape[d], subgroups, threads, want[d], &one)) return 0;
    for (k = 0; k < 7; ++k) all.f[k][d] = one.f[k][0];
  }
  return !overlaps(&all, S, SS) && !overlaps(&all, T, TS);
}

static void check_reshape(const model *m, const sett_nested_layout *layout) {
  static int before[CELLS], after[CELLS];
  int64_t shape[RANK];
  int rank = 1 + below(RANK), d, left = cells(m), g, t, slots;
  sett_nested_layout result;
  model r;
  for (d = 0; d < rank; ++d) shape[d] = 1;
  while (left > 1) { /* distribute the prime factors over the dimensions */
    int prime = 2;
    while (left % prime) ++prime;
    left /= prime;
    shape[below(rank)] *= prime;
  }
  result = sett_nested_reshape(layout, rank, shape);
  if (result.error && result.error != SETT_NESTED_ERROR_RESHAPE) fail("reshape", m);
  if (cells(m) <= 36 && m->subgroups * m->threads * cells(m) <= 1024 && representable(m, shape, rank) != !result.error)
    fail(result.error ? "reshape refused what there is" : "no layout was found by trying all", m);
  ++counts[result.error ? REFUSED : RESHAPED];
  if (result.error) return;
  r = modelled(&result);
  if (r.rank != rank) fail("rank of a reshape", m);
  for (d = 0; d < rank; ++d)
    if (size_of(&r, d) != shape[d]) fail("shape of a reshape", m);
  for (g = 0; g < m->subgroups * 2; ++g)
    for (t = 0; t < m->threads * 2; ++t) {
      slots = slots_of(m, g, t, before);
      if (slots_of(&r, g, t, after) != slots) fail("slots of a reshape", m);
      qsort(before, (size_t)slots, sizeof *before, compare);
      qsort(after, (size_t)slots, sizeof *after, compare);
      if (memcmp(before, after, (size_t)slots * sizeof *before)) fail("reshape", m);
    }
  if (sett_nested_check(&result).error || (result.incomplete != 0) != incomplete(&r))
    fail("a reshape that is not verified", m);
}

/* ---- 6: the same owners ---- */

/* Compare two layouts by the definition. Return 0 (different), 1 (the same owners) or 2 (the same slots too). If `size`
 * is 0, each of `subgroups` subgroups has `threads` threads. Otherwise there are subgroups * size threads, and thread t
 * is in subgroup t / size. */
static int same_by_loops(const model *a, const model *b, int subgroups, int threads, int size) {
  static int x[CELLS], y[CELLS];
  int g, t, d, slots, answer = 2;
  if (a->rank != b->rank) return 0;
  for (d = 0; d < a->rank; ++d)
    if (size_of(a, d) != size_of(b, d)) return 0;
  for (g = 0; g < (size ? 1 : subgroups); ++g)
    for (t = 0; t < (size ? subgroups * size : threads); ++t) {
      slots = slots_of(a, size ? t / size : g, t, x);
      if (slots_of(b, size ? t / size : g, t, y) != slots) return 0;
      if (memcmp(x, y, (size_t)slots * sizeof *x)) answer = 1;
      qsort(x, (size_t)slots, sizeof *x, compare);
      qsort(y, (size_t)slots, sizeof *y, compare);
      if (memcmp(x, y, (size_t)slots * sizeof *x)) return 0;
    }
  return answer;
}

/* Return another layout of the same shape, which may have the same owners: factors of a size move between the five
 * tiles. */
static model neighbour(const model *m) {
  model n = *m;
  int moves = below(4), d, from, to, factor;
  while (moves-- > 0 && n.rank > 0) {
    d = below(n.rank);
    from = below(5);
    to = below(5);
    factor = n.f[from][d] % 2 ? n.f[from][d] : 2;
    n.f[from][d] /= factor;
    n.f[to][d] *= factor;
    if (!below(3) && from != to) n.f[below(2) ? SS : TS][d] = below(2) ? n.f[TS][d] : below(8);
  }
  return n;
}

/* Return 1 if the answer agrees with `expected`, a result of same_by_loops. */
static int says(sett_nested_answer answer, int expected) {
  return answer.yes == (expected > 0) && answer.no == (expected == 0) && answer.same_slots == (expected == 2) &&
         !answer.error;
}

static void check_same(const model *m, const sett_nested_layout *layout) {
  model n = neighbour(m);
  sett_nested_layout other = made(&n);
  sett_nested_answer answer;
  int expected, subgroups = 1 + below(4), size = 1 + below(16);
  if (other.error) return;
  n.subgroups = period(&n, S, SS);
  n.threads = period(&n, T, TS);
  if (n.subgroups > 24 || n.threads > 64) return;
  /* owners repeat with the period of the ids, so layouts that differ do so below twice the larger period */
  expected = same_by_loops(m, &n, 2 * (m->subgroups > n.subgroups ? m->subgroups : n.subgroups),
                           2 * (m->threads > n.threads ? m->threads : n.threads), 0);
  answer = sett_nested_same(layout, &other);
  if (!says(answer, expected)) {
    fprintf(stderr, "yes %d, no %d, slots %d, expected %d\n", answer.yes, answer.no, answer.same_slots, expected);
    show(&n);
    fail("same", m);
  }
  ++counts[answer.no ? DIFFERENT : answer.same_slots ? SAME_SLOTS : SAME];
  if (!says(sett_nested_same_on(layout, &other, subgroups, size), same_by_loops(m, &n, subgroups, 0, size))) {
    show(&n);
    fail("same on a machine", m);
  }
}

/* ---- the rows of sett_mma_layouts.h: each covers its tile, with the stated number of copies ---- */

static void check_mma(void) {
  int i, operand, rows = 0, lane, k, n, slots;
  for (i = 0; i < SETT_MMA_COUNT; ++i) {
    sett_mma_intrinsic it = sett_mma_get(i);
    if (sett_mma_find(it.name, strlen(it.name)) != i) exit(1);
    for (operand = 0; operand < SETT_MMA_OPERAND_COUNT; ++operand) {
      static int held[1 << 13], times[1 << 13];
      sett_nested_layout layout = sett_mma_layout(i, operand);
      int expected = operand == SETT_MMA_LHS         ? it.m * it.k
                     : operand == SETT_MMA_RHS       ? it.k * it.n
                     : operand == SETT_MMA_ACC       ? it.m * it.n
                     : operand == SETT_MMA_LHS_SCALE ? it.m * it.k / 32
                                                     : it.n * it.k / 32;
      model m = modelled(&layout);
      if (layout.error) {
        int opaque = layout.error == SETT_NESTED_ERROR_OPAQUE && !strncmp(it.name, "NV_WMMA", 7);
        int scale = layout.error == SETT_NESTED_ERROR_OPERAND && operand >= SETT_MMA_LHS_SCALE &&
                    it.family != SETT_MMA_FAMILY_SCALED;
        if (!opaque && !scale) fail(it.name, &m);
        continue;
      }
      n = cells(&m);
      if (n != expected * it.blocks || sett_nested_on(&layout, 1, it.subgroup_size).error) fail(it.name, &m);
      memset(times, 0, sizeof times);
      for (lane = 0; lane < it.subgroup_size; ++lane) {
        slots = slots_of(&m, 0, lane, held);
        for (k = 0; k < slots; ++k) ++times[held[k]];
      }
      for (k = 0; k < n; ++k)
        if (times[k] != sett_mma_lanes(i, operand)) fail(it.name, &m);
      ++rows;
    }
  }
  if (sett_mma_layout(-1, 0).error != SETT_NESTED_ERROR_INTRINSIC ||
      sett_mma_layout(SETT_MMA_COUNT, 0).error != SETT_NESTED_ERROR_INTRINSIC ||
      sett_mma_layout(0, 5).error != SETT_NESTED_ERROR_OPERAND || sett_mma_find("MFMA", 4) != -1)
    exit(1);
  printf("%d fragments, each covers its tile\n", rows);
}

/* A failed layout passes through every function unchanged. */
static void check_failed(void) {
  sett_nested_layout bad = sett_nested_parse("", 0), good = sett_nested_parse("", 0);
  int64_t shape[5 * SETT_NESTED_MAX_RANK] = {0}, a, b, c, index[1] = {0};
  int32_t map[1] = {0};
  unsigned char dropped[1] = {0};
  model m = modelled(&bad);
  good.error = 0;
  if (sett_nested_permute(&bad, map).error != bad.error || sett_nested_project(&bad, dropped).error != bad.error ||
      sett_nested_apply(&bad, 1, map).error != bad.error || sett_nested_reshape(&bad, 0, shape).error != bad.error ||
      sett_nested_on(&bad, 1, 1).error != bad.error || sett_nested_fits(&bad, 0, shape, 1).error != bad.error ||
      sett_nested_check(&bad).error != bad.error || sett_nested_prepare(&bad, NULL).error != bad.error ||
      sett_nested_elements(&bad) != -1 || sett_nested_slots(&bad) != -1 || sett_nested_subgroups(&bad) != -1 ||
      sett_nested_threads(&bad) != -1 || sett_nested_copies(&bad) != -1 || sett_nested_held(&bad, 1, 1) != -1 ||
      sett_nested_undistributed(&bad, shape) || sett_nested_distributed(&bad, shape) ||
      sett_nested_unpacked(&bad, shape) || sett_nested_packed(&bad, shape) || sett_nested_packed_dim(&bad, 0, shape) ||
      sett_nested_equal(&bad, &bad) || sett_nested_same(&bad, &bad).error != bad.error ||
      sett_nested_same_on(&bad, &bad, 1, 1).error != bad.error || sett_nested_virtual(&bad, 0, 0, &a, &b) ||
      sett_nested_element(&bad, 0, 0, 0, index) || sett_nested_all_slots(&bad) != -1 ||
      sett_nested_index(&bad, &a, &b, &c) != bad.error || sett_nested_owner(&bad, index, 0, &a, &b, &c) ||
      sett_nested_bound(&bad, 0, 0, 0, 1) != -1)
    fail("a failed layout", &m);
  if (sett_nested_elements(&good) != 1 || sett_nested_slots(&good) != 1 ||
      !sett_nested_owner(&good, index, 0, &a, &b, &c))
    fail("rank 0", &m);
}

int main(int argc, char **argv) {
  long runs = argc > 1 ? atol(argv[1]) : 6000, i;
  state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  check_mma();
  check_failed();
  for (i = 0; i < runs; ++i) {
    model m = random_model();
    sett_nested_layout layout = made(&m);
    int overlap = overlaps(&m, S, SS) || overlaps(&m, T, TS);
    if (overlap) {
      if (layout.error != SETT_NESTED_ERROR_SUBGROUP_OVERLAP && layout.error != SETT_NESTED_ERROR_THREAD_OVERLAP)
        fail("overlap", &m);
      if (layout.dim < 0 || layout.dim >= m.rank || layout.wanted < 2) fail("an overlap without a reason", &m);
      ++counts[OVERLAP];
      continue;
    }
    if (layout.error) fail("refused", &m);
    ++counts[MADE];
    check_text(&m, &layout);
    check_inverse(&m, &layout);
    check_index(&m, &layout);
    check_held(&m, &layout);
    check_machine(&m, &layout);
    check_bound(&m, &layout);
    check_plan(&m, &layout);
    check_combine(&m, &layout);
    check_recombine(&m, &layout);
    check_reshape(&m, &layout);
    check_same(&m, &layout);
  }
  for (i = 0; i < 16; ++i) printf("%s %ld%s", counted[i], counts[i], i < 15 ? ", " : "\n");
  if (runs >= 6000)
    for (i = 0; i < 15; ++i)
      if (counts[i] < 40) return 1; /* too few cases of this kind were tested */
  return 0;
}
