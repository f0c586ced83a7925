/* Test sett_move.h on random tables: execute the steps that a plan records, for every kind of plan. On 4 lanes the lower
 * bound `least` is compared with all direct plans (an element goes from a lane that has it to the lane that needs it). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../include/sett_indexing_map.h"
#include "../../include/sett_move.h"

#define CHECK(x)                                                    \
  do {                                                              \
    if (!(x)) {                                                     \
      printf("line %d, case %d: not %s\n", __LINE__, case_now, #x); \
      exit(1);                                                      \
    }                                                               \
  } while (0)

enum { MEMORY = 1 << 24, THREADS = 256, REGISTERS = 8 };
static unsigned char memory[MEMORY];
static int case_now;
static uint64_t state = 1;

static int draw(int below) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (int)((state >> 33) % (uint64_t)below);
}

/* ---- execute the steps of a plan ---- */

static int32_t value_a[THREADS * REGISTERS], value_b[THREADS * REGISTERS];

static void run_steps(const sett_move *move) {
  int threads = move->lanes * move->warps, parts = move->bits < 32 ? 32 / move->bits : 1, step, t, k, r;
  for (step = 0; step < move->steps; ++step)
    for (t = 0; t < threads; ++t) {
      int from = t / move->lanes * move->lanes + move->lane[step * threads + t];
      for (k = 0; k < parts; ++k)
        for (r = 0; r < move->to; ++r)
          if (move->held[t * move->to + r] < 0 && move->got[t * move->to + r] == step * parts + k) {
            int32_t sent = move->sent[(step * parts + k) * threads + from];
            CHECK(sent >= 0 && sent < move->from);
            value_b[t * move->to + r] = value_a[from * move->from + sent];
          }
    }
}

static void run_shared(const sett_move *move) {
  static int32_t shared[1 << 16];
  int threads = move->lanes * move->warps, i, k, t;
  int64_t places = move->bytes * 8 / move->bits;
  CHECK(places <= 1 << 16);
  memset(shared, 0xff, sizeof shared);
  for (i = 0; i < move->stores; ++i)
    for (t = 0; t < threads; ++t)
      for (k = 0; k < move->store[i].count && move->store[i].place[t] >= 0; ++k) {
        CHECK(move->store[i].place[t] + k < places && move->store[i].place[t] % move->store[i].count == 0);
        shared[move->store[i].place[t] + k] = value_a[t * move->from + move->store[i].reg[k]];
      }
  for (i = 0; i < move->loads; ++i)
    for (t = 0; t < threads; ++t)
      for (k = 0; k < move->load[i].count && move->load[i].place[t] >= 0; ++k) {
        CHECK(move->load[i].place[t] + k < places);
        value_b[t * move->to + move->load[i].reg[k]] = shared[move->load[i].place[t] + k];
      }
}

static void run(const sett_move *move, const sett_move_table *a, const sett_move_table *b) {
  int threads = a->lanes * a->warps, t, r;
  for (t = 0; t < threads * a->registers; ++t) value_a[t] = a->element[t];
  for (t = 0; t < threads * b->registers; ++t) value_b[t] = -1;
  for (t = 0; t < threads; ++t)
    for (r = 0; r < b->registers; ++r)
      if (move->held[t * b->registers + r] >= 0)
        value_b[t * b->registers + r] = value_a[t * a->registers + move->held[t * b->registers + r]];
  if (move->kind == SETT_MOVE_SHUFFLES) run_steps(move);
  if (move->kind == SETT_MOVE_SHARED) run_shared(move);
  for (t = 0; t < threads * b->registers; ++t) CHECK(b->element[t] < 0 || value_b[t] == b->element[t]);
}

/* ---- all direct plans on 4 lanes ---- */

typedef struct {
  int lanes, from, parts;
  int has[4][4], count[4]; /* the distinct elements of each lane */
} sources;

/* Return 1 if `steps` shuffles can give every lane its remaining elements. `left` has a bit for each needed element. */
static int possible(const sources *s, int32_t need[4][4], const int *left, int steps) {
  int words[4][16], kinds[4], pick[4] = {0, 0, 0, 0}, d, i, k;
  if (!(left[0] | left[1] | left[2] | left[3])) return 1;
  if (steps == 0) return 0;
  for (d = 0; d < 4; ++d) { /* the sets of elements that fill one word */
    int size = s->count[d] < s->parts ? s->count[d] : s->parts;
    kinds[d] = 0;
    for (k = 0; k < 1 << s->count[d]; ++k) {
      int bits = 0;
      for (i = 0; i < 4; ++i) bits += k >> i & 1;
      if (bits == size) words[d][kinds[d]++] = k;
    }
  }
  for (;;) {
    int rest[4][4], choices[4], choose[4] = {0, 0, 0, 0};
    /* rest[d] has an entry for each word that lane d can receive: the set of elements that lane d then still needs.
     * Words that are no better than an earlier word have no entry. */
    for (d = 0; d < 4; ++d) {
      int j;
      choices[d] = 0;
      for (i = 0; i < s->lanes; ++i) {
        int after = left[d];
        for (k = 0; k < 4; ++k)
          for (j = 0; j < s->count[i]; ++j)
            if ((left[d] >> k & 1) && (words[i][pick[i]] >> j & 1) && s->has[i][j] == need[d][k]) after &= ~(1 << k);
        for (k = 0; k < choices[d] && (rest[d][k] & after) != rest[d][k]; ++k) continue;
        if (k < choices[d]) continue;
        rest[d][choices[d]++] = after;
      }
      if (choices[d] == 0) rest[d][choices[d]++] = left[d];
    }
    for (;;) {
      int next[4];
      for (d = 0; d < 4; ++d) next[d] = rest[d][choose[d]];
      if (possible(s, need, next, steps - 1)) return 1;
      for (d = 0; d < 4 && ++choose[d] == choices[d]; ++d) choose[d] = 0;
      if (d == 4) break;
    }
    for (d = 0; d < 4 && ++pick[d] == (kinds[d] ? kinds[d] : 1); ++d) pick[d] = 0;
    if (d == 4) return 0;
  }
}

/* Return 1 if there is a direct plan with `steps` shuffles of words. Direct: each element goes from a lane that has it
 * to the lane that needs it, through no third lane. */
static int direct(const sett_move_table *a, const sett_move_table *b, int parts, int steps) {
  sources s;
  int32_t need[4][4];
  int left[4] = {0, 0, 0, 0}, d, r, i, n;
  s.lanes = a->lanes;
  s.parts = parts;
  for (d = 0; d < 4; ++d) {
    s.count[d] = n = 0;
    for (r = 0; r < a->registers && d < a->lanes; ++r) {
      if (a->element[d * a->registers + r] < 0) continue;
      for (i = 0; i < s.count[d] && s.has[d][i] != a->element[d * a->registers + r]; ++i) continue;
      if (i == s.count[d]) s.has[d][s.count[d]++] = a->element[d * a->registers + r];
    }
    for (r = 0; r < b->registers && d < b->lanes; ++r) {
      int32_t e = b->element[d * b->registers + r];
      if (e < 0) continue;
      for (i = 0; i < s.count[d] && s.has[d][i] != e; ++i) continue;
      if (i < s.count[d]) continue;
      for (i = 0; i < n && need[d][i] != e; ++i) continue;
      if (i == n) need[d][n++] = e;
    }
    left[d] = (1 << n) - 1;
  }
  return possible(&s, need, left, steps);
}

/* ---- random tables ---- */

static int32_t element_a[THREADS * REGISTERS], element_b[THREADS * REGISTERS];

/* Fill both tables with random elements. kind 0: `a` and `b` are permutations; 1: `b` has copies; 2: both have copies */
static void fill(sett_move_table *a, sett_move_table *b, int kind, int elements) {
  int threads = a->lanes * a->warps, i, held = threads * a->registers;
  for (i = 0; i < held; ++i) element_a[i] = i < elements ? i : draw(elements);
  for (i = held - 1; i > 0 && (kind < 2 || draw(2)); --i) {
    int j = draw(i + 1);
    int32_t e = element_a[i];
    element_a[i] = element_a[j];
    element_a[j] = e;
  }
  for (i = 0; i < threads * b->registers; ++i) element_b[i] = kind == 0 ? element_a[i] : draw(elements);
  for (i = threads * b->registers - 1; i > 0 && kind == 0; --i) {
    int j = draw(8) ? draw(i + 1) : i;
    int32_t e = element_b[i];
    element_b[i] = element_b[j];
    element_b[j] = e;
  }
}

/* Mark random registers of table `b`, or all registers of some threads, as needing no element. Some elements in table
 * `a` are then no longer needed: mark most of their registers as empty. */
static void thin(const sett_move_table *a, const sett_move_table *b) {
  int threads = a->lanes * a->warps, whole = draw(2), t, r, i;
  for (t = 0; t < threads; ++t) {
    int none = draw(4) == 0;
    for (r = 0; r < b->registers; ++r)
      if (whole ? none : draw(4) == 0) element_b[t * b->registers + r] = -1;
  }
  for (i = 0; i < threads * a->registers; ++i) {
    for (t = 0; t < threads * b->registers && element_b[t] != element_a[i]; ++t) continue;
    if (t == threads * b->registers && draw(3)) element_a[i] = -1;
  }
}

int main(int argc, char **argv) {
  static const int widths[] = {8, 16, 32, 64};
  int cases = argc > 1 ? atoi(argv[1]) : 2000, kinds[3] = {0, 0, 0}, searched = 0, optimal = 0, fewest = 0,
      above[4] = {0, 0, 0, 0};
  for (case_now = 0; case_now < cases; ++case_now) {
    sett_map_arena arena = sett_map_arena_make(memory, sizeof memory);
    int four = case_now % 2, kind = draw(3), w = draw(4), parts = widths[w] < 32 ? 32 / widths[w] : 1, i, steps, least;
    sett_move_table a, b;
    sett_move move, other;
    memset(&a, 0, sizeof a);
    a.rank = 1;
    a.lanes = four ? 4 : 1 + draw(64);
    a.warps = four ? 1 : 1 + draw(3);
    a.registers = four ? 1 + draw(3) : 1 + draw(REGISTERS);
    b = a;
    if (kind > 0) b.registers = four ? 1 + draw(3) : 1 + draw(REGISTERS);
    if (a.lanes * a.warps > THREADS) a.warps = b.warps = 1;
    a.element = element_a;
    b.element = element_b;
    i = a.lanes * a.warps * a.registers;
    a.dims[0] = b.dims[0] = kind == 2 ? 1 + draw(i) : i;
    fill(&a, &b, kind, (int)a.dims[0]);
    if (case_now % 3 == 0 && case_now % 16 != 7) thin(&a, &b);
    if (case_now % 16 == 7) /* an element that no register has */
      element_b[draw(b.lanes * b.warps * b.registers)] = (int32_t)(a.dims[0]++, b.dims[0]++);
    move = sett_move_plan(&arena, &a, &b, widths[w]);
    CHECK(!move.error && move.yes != move.no);
    CHECK(move.no == (case_now % 16 == 7));
    if (move.no) {
      CHECK(move.element == a.dims[0] - 1 && element_b[move.thread * b.registers + move.reg] == move.element);
      continue;
    }
    ++kinds[move.kind];
    run(&move, &a, &b);
    CHECK(move.kind != SETT_MOVE_SHUFFLES || move.shuffles >= move.least);
    CHECK(move.kind == SETT_MOVE_REGISTERS || move.other < 0 || move.cost <= move.other);
    if (move.kind == SETT_MOVE_REGISTERS || move.shuffles < 0) continue;
    /* without copies the number of shuffles is the lower bound */
    CHECK(kind > 0 || parts > 1 || move.shuffles == move.least);
    if (!four) continue;
    steps = move.shuffles / (widths[w] > 32 ? 2 : 1);
    least = move.least / (widths[w] > 32 ? 2 : 1);
    optimal += steps == least;
    /* no direct plan (see direct()) needs fewer shuffles than the lower bound */
    CHECK(least == 0 || !direct(&a, &b, parts, least - 1));
    ++searched;
    if (steps > 0 && direct(&a, &b, parts, steps - 1)) ++above[w];
    else ++fewest;
    other = sett_move_plan(&arena, &a, &b, 24);
    CHECK(other.error == SETT_MOVE_ERROR_BITS);
  }
  printf(
      "%d registers, %d shuffles, %d shared; on 4 lanes %d of %d plans have the fewest words of all direct plans, %d by the bound; above: %d %d %d %d\n",
      kinds[0], kinds[1], kinds[2], fewest, searched, optimal, above[0], above[1], above[2], above[3]);
  CHECK(kinds[0] && kinds[1] && kinds[2] && searched && fewest * 100 >= searched * 80);
  return 0;
}
