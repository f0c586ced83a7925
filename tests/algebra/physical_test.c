/* Test maps between positions in memory (sett_layout_physical) against loops. The loops compute positions by the
 * definition of a layout, and pairs of elements by the definition of the op. Run: physical_test [COUNT [SEED]] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../include/sett.h"

enum { POSITIONS = 400, RANK = 3, LANES = 8 };

static uint64_t memory[(32u << 20) / 8], seed;
static long failures, checks, tiled;
static char said[512];

static int draw(int limit) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (int)((seed >> 33) % (uint64_t)limit);
}

static void check(int good, const char *what) {
  ++checks;
  if (good) return;
  ++failures;
  printf("FAIL %s: %s\n", what, said);
}

/* ---- an array in memory, by the definition ---- */

typedef struct {
  int rank, dims[RANK], order[RANK]; /* order: minor_to_major */
  int tiles, tile_rank[2], tile[2][2];
  char text[128];
  int span;
} array;

/* Return the position of an index in memory. `list` has the sizes in memory order, `digit` the index along each size.
 * Each tile splits the last digits: into the number of the tile and the index inside the tile. */
static int position(const array *a, const int *index, int *span) {
  int list[12], digit[12], n = a->rank, i, s, at = 0, size = 1;
  for (i = 0; i < n; ++i) list[i] = a->dims[a->order[n - 1 - i]], digit[i] = index[a->order[n - 1 - i]];
  for (s = 0; s < a->tiles; ++s) {
    int k = a->tile_rank[s];
    while (n < k) { /* add dimensions of 1 in front */
      memmove(list + 1, list, sizeof list - sizeof *list);
      memmove(digit + 1, digit, sizeof digit - sizeof *digit);
      list[0] = 1, digit[0] = 0;
      ++n;
    }
    for (i = 0; i < k; ++i) {
      int t = a->tile[s][i], d = n - k + i;
      list[n + i] = t, digit[n + i] = digit[d] % t;
      list[d] = (list[d] + t - 1) / t, digit[d] /= t;
    }
    n += k;
  }
  for (i = 0; i < n; ++i) at = at * list[i] + digit[i], size *= list[i];
  *span = size;
  return at;
}

static void layout(array *a, int with_tiles) {
  int i, j, zero[RANK] = {0, 0, 0};
  size_t n;
  for (i = 0; i < a->rank; ++i) a->order[i] = i;
  for (i = a->rank; i > 1; --i) {
    int swap = a->order[i - 1];
    j = draw(i);
    a->order[i - 1] = a->order[j];
    a->order[j] = swap;
  }
  a->tiles = with_tiles && a->rank ? draw(3) : 0;
  for (i = 0; i < a->tiles; ++i) {
    a->tile_rank[i] = i ? 1 + draw(a->tile_rank[0]) : 1 + draw(a->rank < 2 ? 1 : 2);
    for (j = 0; j < a->tile_rank[i]; ++j) a->tile[i][j] = 1 + draw(4);
  }
  n = (size_t)sprintf(a->text, "f32[");
  for (i = 0; i < a->rank; ++i) n += (size_t)sprintf(a->text + n, i ? ",%d" : "%d", a->dims[i]);
  n += (size_t)sprintf(a->text + n, a->rank ? "]{" : "]");
  for (i = 0; i < a->rank; ++i) n += (size_t)sprintf(a->text + n, i ? ",%d" : "%d", a->order[i]);
  for (i = 0; i < a->tiles; ++i) {
    n += (size_t)sprintf(a->text + n, i ? "(" : ":T(");
    for (j = 0; j < a->tile_rank[i]; ++j) n += (size_t)sprintf(a->text + n, j ? ",%d" : "%d", a->tile[i][j]);
    n += (size_t)sprintf(a->text + n, ")");
  }
  if (a->rank) sprintf(a->text + n, "}");
  position(a, zero, &a->span);
  tiled += a->tiles > 0;
}

static int elements(const array *a) {
  int i, n = 1;
  for (i = 0; i < a->rank; ++i) n *= a->dims[i];
  return n;
}

static void unrank(const array *a, int e, int *index) {
  int i;
  for (i = a->rank; i-- > 0; e /= a->dims[i]) index[i] = e % a->dims[i];
}

/* ---- a random op ---- */

static int opcode, attribute[RANK], step[RANK];

static void op_of(array *out, const array *in) {
  int i;
  out->rank = in->rank;
  memcpy(out->dims, in->dims, sizeof out->dims);
  for (i = 0; i < RANK; ++i) attribute[i] = i;
  switch (draw(6)) {
    case 0:
      opcode = SETT_ANALYSIS_TRANSPOSE;
      for (i = in->rank; i > 1; --i) {
        int j = draw(i), swap = attribute[i - 1];
        attribute[i - 1] = attribute[j];
        attribute[j] = swap;
      }
      for (i = 0; i < in->rank; ++i) out->dims[i] = in->dims[attribute[i]];
      break;
    case 1:
      opcode = SETT_ANALYSIS_SLICE;
      for (i = 0; i < in->rank; ++i) {
        attribute[i] = draw(in->dims[i]);
        step[i] = 1 + draw(2);
        out->dims[i] = (in->dims[i] - attribute[i] + step[i] - 1) / step[i];
      }
      break;
    case 2:
      opcode = SETT_ANALYSIS_REVERSE;
      attribute[0] = draw(in->rank);
      break;
    case 3:
      opcode = SETT_ANALYSIS_REDUCE;
      attribute[0] = draw(in->rank);
      out->rank = 0;
      for (i = 0; i < in->rank; ++i)
        if (i != attribute[0]) out->dims[out->rank++] = in->dims[i];
      break;
    case 4:
      opcode = SETT_ANALYSIS_RESHAPE;
      out->rank = 2;
      do { out->dims[1] = 1 + draw(elements(in)); } while (elements(in) % out->dims[1]);
      out->dims[0] = elements(in) / out->dims[1];
      break;
    default: opcode = SETT_ANALYSIS_ELEMENTWISE; break;
  }
}

static int reads(const array *out, const array *in, const int *x, const int *y) {
  int i, k = 0, same = 1, a = 0, b = 0;
  for (i = 0; i < in->rank; ++i) switch (opcode) {
      case SETT_ANALYSIS_TRANSPOSE: same &= x[i] == y[attribute[i]]; break;
      case SETT_ANALYSIS_SLICE: same &= y[i] == attribute[i] + step[i] * x[i]; break;
      case SETT_ANALYSIS_REVERSE: same &= x[i] == (i == attribute[0] ? in->dims[i] - 1 - y[i] : y[i]); break;
      case SETT_ANALYSIS_REDUCE:
        if (i != attribute[0]) same &= x[k++] == y[i];
        break;
      case SETT_ANALYSIS_RESHAPE: b = b * in->dims[i] + y[i]; break;
      default: same &= x[i] == y[i]; break;
    }
  for (i = 0; i < out->rank && opcode == SETT_ANALYSIS_RESHAPE; ++i) a = a * out->dims[i] + x[i];
  return same && a == b;
}

/* ---- questions about the physical map ---- */

static unsigned char pair[POSITIONS][POSITIONS], got[POSITIONS][POSITIONS];

/* Adjacent lanes take adjacent positions of the output. Compare the 16-byte lines of the operand that each warp
 * touches, the bank conflicts, and the set of positions that are read. */
static void questions(sett_map_arena *arena, const sett_analysis_answer *answer, const array *out, const array *in) {
  static const sett_analysis_list position_only = {0, NULL};
  sett_analysis_memory whole;
  sett_analysis_coalescing c;
  sett_analysis_banks b;
  sett_map_footprint image;
  long lines = 0, worst = 0, reached = 0;
  int p, q, first, i;
  memset(&whole, 0, sizeof whole);
  whole.dims = position_only;
  whole.bits = 32;
  for (q = 0; q < in->span; ++q) {
    int any = 0;
    for (p = 0; p < out->span; ++p) any |= pair[p][q];
    reached += any;
  }
  image = sett_map_image(arena, sett_analysis_map(answer));
  if (image.count >= 0) check(image.count == reached, "the image counts the positions that are read");
  if (answer->all.ranges || opcode == SETT_ANALYSIS_REDUCE) return; /* the rest assumes one element per lane */
  for (first = 0; first < out->span; first += LANES) {
    unsigned char line[POSITIONS] = {0}, word[POSITIONS] = {0};
    int bank[4] = {0, 0, 0, 0}, most = 0;
    for (p = first; p < first + LANES && p < out->span; ++p)
      for (q = 0; q < in->span; ++q)
        if (pair[p][q]) line[q / 4] = 1, word[q] = 1;
    for (q = 0; q < POSITIONS; ++q) lines += line[q], bank[q % 4] += word[q];
    for (i = 0; i < 4; ++i)
      if (bank[i] > most) most = bank[i];
    if (most > worst) worst = most;
  }
  c = sett_analysis_coalesced(arena, sett_analysis_map(answer), &whole, 16, LANES);
  check(!c.error && c.transactions == lines, "transactions are the lines that are touched");
  b = sett_analysis_bank_conflicts(arena, sett_analysis_map(answer), &whole, 4, 4, LANES);
  check(!b.error && b.degree == worst, "the degree is the most words of one bank");
}

static void random_op(void) {
  sett_map_arena arena = sett_map_arena_make(memory, sizeof memory);
  array in, out;
  sett_tile_shape shape[2];
  sett_analysis_op op;
  sett_analysis_list list;
  int64_t dims[2][RANK], numbers[2][RANK];
  int i, e, o, p, q, from_output, linear, x[RANK], y[RANK], span;
  memset(&in, 0, sizeof in);
  memset(&out, 0, sizeof out);
  in.rank = 1 + draw(RANK);
  for (i = 0; i < in.rank; ++i) in.dims[i] = 1 + draw(5);
  op_of(&out, &in);
  layout(&in, 1);
  layout(&out, draw(2));
  sprintf(said, "%s of %s to %s", sett_analysis_opcode_name(opcode), in.text, out.text);
  if (in.span > POSITIONS || out.span > POSITIONS) return;
  shape[0] = sett_tile_parse(out.text, strlen(out.text));
  shape[1] = sett_tile_parse(in.text, strlen(in.text));
  check(!shape[0].error && !shape[1].error, "the shapes are shapes");
  memset(&op, 0, sizeof op);
  for (i = 0; i < RANK; ++i) {
    dims[0][i] = out.dims[i], dims[1][i] = in.dims[i];
    numbers[0][i] = attribute[i], numbers[1][i] = step[i];
  }
  list.count = in.rank;
  list.values = dims[1];
  op.opcode = opcode;
  op.operands = 1;
  op.in = &list;
  op.out.count = out.rank;
  op.out.values = dims[0];
  if (opcode == SETT_ANALYSIS_SLICE) op.start.count = op.stride.count = in.rank;
  op.start.values = numbers[0], op.stride.values = numbers[1];
  op.dimensions.count =
      opcode == SETT_ANALYSIS_TRANSPOSE ? in.rank : opcode == SETT_ANALYSIS_REVERSE || opcode == SETT_ANALYSIS_REDUCE;
  op.dimensions.values = numbers[0];
  memset(pair, 0, sizeof pair);
  for (o = 0; o < elements(&out); ++o)
    for (e = 0; e < elements(&in); ++e) {
      unrank(&out, o, x);
      unrank(&in, e, y);
      if (reads(&out, &in, x, y)) pair[position(&out, x, &span)][position(&in, y, &span)] = 1;
    }
  for (from_output = 0; from_output < 2; ++from_output)
    for (linear = 0; linear < 2; ++linear) {
      sett_map_mark mark = sett_map_arena_mark(&arena);
      sett_analysis_answer answer =
          from_output ? sett_analysis_from_output(&arena, &op) : sett_analysis_from_operand(&arena, &op);
      const array *from = from_output ? &out : &in, *to = from_output ? &in : &out;
      int width_from = linear || from->tiles ? 1 : from->rank, width_to = linear || to->tiles ? 1 : to->rank,
          inside = 1;
      sett_map_points points;
      answer = sett_layout_physical(&arena, &answer, &shape[!from_output], &shape[from_output], linear);
      answer = sett_analysis_tidy(&arena, &answer, 1);
      check(answer.kind == SETT_ANALYSIS_EXACT && answer.all.kind == SETT_MAP_DEFINED &&
                answer.all.dims == width_from && answer.results == width_to,
            "the form of a physical map");
      if (answer.all.kind != SETT_MAP_DEFINED || answer.all.dims != width_from || answer.results != width_to) return;
      memset(got, 0, sizeof got);
      points = sett_map_points_begin(&arena, sett_analysis_map(&answer));
      while (sett_map_points_next(&points)) {
        int64_t at[2] = {0, 0};
        for (i = 0; i < width_from; ++i)
          at[0] =
              width_from == 1 ? points.point[0] : at[0] * from->dims[from->order[width_from - 1 - i]] + points.point[i];
        for (i = 0; i < width_to; ++i)
          at[1] = width_to == 1 ? points.result[0] : at[1] * to->dims[to->order[width_to - 1 - i]] + points.result[i];
        inside &= at[0] >= 0 && at[0] < from->span && at[1] >= 0 && at[1] < to->span;
        if (inside && from_output) got[at[0]][at[1]] = 1;
        if (inside && !from_output) got[at[1]][at[0]] = 1;
      }
      check(inside, "positions are in memory");
      for (p = 0; p < out.span && inside; ++p)
        for (q = 0; q < in.span; ++q) inside &= got[p][q] == pair[p][q];
      check(inside,
            from_output ? "output to operand: the pairs of positions" : "operand to output: the pairs of positions");
      if (linear && from_output && elements(&out)) questions(&arena, &answer, &out, &in);
      sett_map_arena_rewind(&arena, mark);
    }
}

int main(int argc, char **argv) {
  static const char bad[] = "f32[<=4,?]";
  sett_map_arena arena = sett_map_arena_make(memory, sizeof memory);
  sett_tile_shape shape = sett_tile_parse(bad, sizeof bad - 1);
  int i, count = argc > 1 ? atoi(argv[1]) : 400;
  seed = argc > 2 ? (uint64_t)atoll(argv[2]) : 1;
  check(sett_layout_order(&arena, &shape, 1).all.kind == SETT_MAP_FAILED, "no layout, no order");
  for (i = 0; i < count && failures < 10; ++i) random_op();
  check(count < 50 || tiled > count / 4, "layouts with tiles were drawn");
  printf("%ld checks of %d random ops, %ld layouts with tiles, %ld failures\n", checks, count, tiled, failures);
  return failures != 0;
}
