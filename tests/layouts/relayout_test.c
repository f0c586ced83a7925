/* Compare relayouts with the definition of a layout: plain loops transpose an array of element numbers, then pad,
 * reshape and transpose it tile by tile. The loops share nothing with the header but the type of a shape. Some pairs of
 * layouts are written here, the others are random. They have up to three tiles, *, E and L, and sizes that are
 * multiples of the tiles or not. Padding is filled or left unchanged, addresses are aligned or not, and pieces run in
 * any order. Run: relayout_test [PAIRS [SEED [TIMES]]]. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef SETT_RELAYOUT_STREAM
#define SETT_RELAYOUT_STREAM 512 /* a low limit, so that small arrays have streaming stores and several pieces too */
#define SETT_RELAYOUT_PIECE 256
#define SETT_RELAYOUT_STEP 16
#endif
#include "../../include/sett_tile.h"
#include "../../include/sett_relayout.h"

static int64_t most = 1 << 17; /* maximum number of positions of a random layout */

static uint64_t state;

static uint32_t next(uint32_t below) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)((state >> 33) % below);
}

/* ---- the definition ---- */

typedef struct model {
  int64_t count;    /* number of positions; -1: too many for this test */
  int32_t *element; /* for each position the element's row-major number, or -1 */
} model;

static int64_t product(const int64_t *dims, int n) {
  int64_t all = 1;
  for (int i = 0; i < n; ++i) all *= dims[i];
  return all;
}

/* Move to the next index, last axis fastest. */
static void step(int64_t *index, const int64_t *size, int n) {
  for (int i = n; i-- > 0;) {
    if (++index[i] < size[i]) break;
    index[i] = 0;
  }
}

/* Return the array whose dimension i is dimension order[i] of `old`. dims become those of the new array. */
static int32_t *transposed(int32_t *old, int64_t *dims, int n, const int *order) {
  int64_t all = product(dims, n), index[64], size[64];
  int32_t *made = malloc((size_t)(all ? all : 1) * sizeof *made);
  for (int i = 0; i < n; ++i) size[i] = dims[order[i]], index[i] = 0;
  for (int64_t p = 0; p < all; ++p) {
    int64_t at[64], q = 0;
    for (int i = 0; i < n; ++i) at[order[i]] = index[i];
    for (int i = 0; i < n; ++i) q = q * dims[i] + at[i];
    made[p] = old[q];
    step(index, size, n);
  }
  memcpy(dims, size, (size_t)n * sizeof *dims);
  free(old);
  return made;
}

static int32_t *padded(int32_t *old, int64_t *dims, int n, const int64_t *size) {
  int64_t all = product(size, n), index[64] = {0};
  int32_t *made = malloc((size_t)(all ? all : 1) * sizeof *made);
  for (int64_t p = 0; p < all; ++p) {
    int64_t q = 0;
    int inside = 1;
    for (int i = 0; i < n; ++i) inside &= index[i] < dims[i], q = q * dims[i] + index[i];
    made[p] = inside ? old[q] : -1;
    step(index, size, n);
  }
  memcpy(dims, size, (size_t)n * sizeof *dims);
  free(old);
  return made;
}

static model define(const sett_tile_shape *shape) {
  model m = {0, NULL};
  int64_t dims[64], tail = shape->tail > 1 ? shape->tail : 1;
  int order[64] = {0}, n = shape->rank, at = 0;
  int64_t all = product(shape->dims, n);
  m.element = malloc((size_t)(all ? all : 1) * sizeof *m.element);
  for (int64_t e = 0; e < all; ++e) m.element[e] = (int32_t)e;
  for (int i = 0; i < n; ++i) dims[i] = shape->dims[i], order[i] = shape->minor_to_major[n - 1 - i];
  m.element = transposed(m.element, dims, n, order);
  for (int t = 0; t < shape->tiles; ++t) {
    int k = shape->tile_rank[t], groups = 0;
    const int64_t *tile = shape->tile + at;
    int64_t joined[64], size[64], last[64];
    at += k;
    for (; n < k; ++n) { /* add dimensions of 1 in front */
      memmove(dims + 1, dims, (size_t)n * sizeof *dims);
      dims[0] = 1;
    }
    memcpy(joined, dims, sizeof joined);
    for (int i = 0, open = 0; i < k; ++i) { /* dimensions that * combines become one */
      int64_t d = dims[n - k + i] * (open ? joined[n - k + groups] : 1);
      joined[n - k + groups] = d;
      open = tile[i] == SETT_TILE_COMBINE;
      if (!open) last[groups++] = tile[i];
    }
    n += groups - k;
    memcpy(size, joined, sizeof size);
    for (int i = 0; i < groups; ++i) {
      int64_t *d = &size[n - groups + i];
      *d = (*d + last[i] - 1) / last[i] * last[i];
    }
    if (product(size, n) > most) {
      free(m.element);
      m.count = -1;
      return m;
    }
    m.element = padded(m.element, joined, n, size);
    for (int i = 0; i < n - groups; ++i) dims[i] = joined[i], order[i] = i;
    for (int i = 0; i < groups; ++i) {
      dims[n - groups + 2 * i] = joined[n - groups + i] / last[i];
      dims[n - groups + 2 * i + 1] = last[i];
      order[n - groups + i] = n - groups + 2 * i;
      order[n + i] = n - groups + 2 * i + 1;
    }
    n += groups;
    m.element = transposed(m.element, dims, n, order);
  }
  all = product(dims, n);
  m.count = (all + tail - 1) / tail * tail;
  if (m.count > most) {
    free(m.element);
    m.count = -1;
    return m;
  }
  m.element = realloc(m.element, (size_t)(m.count ? m.count : 1) * sizeof *m.element);
  for (int64_t p = all; p < m.count; ++p) m.element[p] = -1;
  return m;
}

/* ---- check one pair ---- */

enum { GUARD = 192 };

static unsigned bits_at(const unsigned char *from, int64_t bit, int count) {
  unsigned value = 0;
  for (int i = 0; i < count; ++i) value |= (unsigned)(from[(bit + i) / 8] >> ((bit + i) % 8) & 1) << i;
  return value;
}

static void put_bits(unsigned char *to, int64_t bit, int count, unsigned value) {
  for (int i = 0; i < count; ++i) {
    unsigned char mask = (unsigned char)(1u << (bit + i) % 8);
    to[(bit + i) / 8] = (unsigned char)((value >> i & 1) ? to[(bit + i) / 8] | mask : to[(bit + i) / 8] & ~mask);
  }
}

static void put_element(unsigned char *to, int64_t p, int to_bits, const unsigned char *from, int64_t q, int from_bits,
                        int is_signed) {
  if (to_bits >= 8 && from_bits >= 8) {
    memcpy(to + p * (to_bits / 8), from + q * (from_bits / 8), (size_t)to_bits / 8);
  } else {
    unsigned value = bits_at(from, q * from_bits, from_bits);
    if (is_signed && value >> (from_bits - 1)) value |= ~0u << from_bits;
    put_bits(to, p * to_bits, to_bits, value);
  }
}

static void fail(const char *what, const sett_tile_shape *from, const sett_tile_shape *to) {
  char a[512], b[512];
  sett_tile_print(from, a, sizeof a);
  sett_tile_print(to, b, sizeof b);
  printf("FAIL %s: %s to %s\n", what, a, b);
  exit(1);
}

static unsigned char *room(int64_t bytes) { return aligned_alloc(64, ((size_t)bytes + 2 * GUARD + 127) / 64 * 64); }

static long walked, streamed, cut;

static void check(const sett_tile_shape *from, const sett_tile_shape *to) {
  static sett_relayout_plan plan;
  int from_bits = (int)sett_tile_bits(from), to_bits = (int)sett_tile_bits(to), fills = next(2) == 0;
  int is_signed = from->type == SETT_TILE_S1 || from->type == SETT_TILE_S2 || from->type == SETT_TILE_S4;
  int element = to_bits < 8 ? 1 : to_bits / 8, step = from_bits < 8 || from_bits % 16 ? 1 : from_bits / 8;
  int64_t from_bytes = sett_tile_bytes(from), to_bytes = sett_tile_bytes(to), all = sett_tile_elements(from);
  int64_t shift_from = next(2) ? 0 : step * (int64_t)next(9), shift_to = next(2) ? 0 : element * (int64_t)next(9);
  model a = define(from), b = define(to);
  if (a.count < 0 || b.count < 0) {
    if (a.count >= 0) free(a.element);
    if (b.count >= 0) free(b.element);
    return;
  }
  if ((a.count * from_bits + 7) / 8 != from_bytes || (b.count * to_bits + 7) / 8 != to_bytes) fail("bytes", from, to);
  unsigned char fill[16], *source = room(from_bytes), *got = room(to_bytes), *wanted = room(to_bytes),
                          *probe = room(to_bytes);
  unsigned char *in = source + GUARD + shift_from, *out = got + GUARD + shift_to;
  int64_t whole = to_bytes + 2 * GUARD, *place = malloc((size_t)(all ? all : 1) * sizeof *place);
  for (int64_t i = 0; i < from_bytes + 2 * GUARD; ++i) source[i] = (unsigned char)next(256);
  for (int64_t i = 0; i < whole; ++i) got[i] = (unsigned char)next(256);
  for (int i = 0; i < 16; ++i) fill[i] = (unsigned char)next(256);
  memcpy(wanted, got, (size_t)whole);
  for (int64_t p = 0; p < a.count; ++p)
    if (a.element[p] >= 0) place[a.element[p]] = p;
  for (int64_t p = 0; p < b.count; ++p) {
    unsigned char *base = wanted + GUARD + shift_to;
    if (b.element[p] >= 0) put_element(base, p, to_bits, in, place[b.element[p]], from_bits, is_signed);
    else if (fills) put_element(base, p, to_bits, fill, 0, to_bits, 0);
  }
  memcpy(probe, got, (size_t)whole);
  if (sett_relayout_prepare(&plan, from, to, fills ? fill : NULL)) fail(sett_relayout_message(plan.error), from, to);
  if (!next(4)) plan.streams = 0; /* sometimes without streaming stores, as for small arrays */
  plan.bursts = plan.streams && next(2);
  /* the plan runs in one call, or piece by piece, beginning at a random piece; no two pieces may change the same byte */
  if (plan.pieces <= 1 || next(2)) {
    sett_relayout_run(&plan, in, out, 0, plan.pieces);
  } else {
    int64_t first = next((uint32_t)plan.pieces), stride = plan.pieces;
    for (int64_t k = 0; k < stride; ++k) {
      int64_t piece = (first + k) % plan.pieces;
      sett_relayout_run(&plan, in, out, piece, piece + 1);
    }
    /* for each byte, probe[] counts the pieces of the plan that change it */
    for (int64_t i = 0; i < to_bytes; ++i) probe[GUARD + shift_to + i] = 0;
    if (plan.pieces <= 24) {
      for (int64_t piece = 0; piece < plan.pieces; ++piece) {
        unsigned char *even = room(to_bytes), *odd = room(to_bytes);
        memset(even, 0x00, (size_t)whole);
        memset(odd, 0xff, (size_t)whole);
        sett_relayout_run(&plan, in, even + GUARD, piece, piece + 1);
        sett_relayout_run(&plan, in, odd + GUARD, piece, piece + 1);
        for (int64_t i = 0; i < to_bytes; ++i)
          if ((even[GUARD + i] != 0x00 || odd[GUARD + i] != 0xff) && ++probe[GUARD + shift_to + i] > 1)
            fail("two pieces write the same byte", from, to);
        free(even), free(odd);
      }
      ++cut;
    }
  }
  if (memcmp(got, wanted, (size_t)whole)) fail(fills ? "filled" : "left", from, to);
  walked += plan.walks, streamed += plan.streams;
  free(source), free(got), free(wanted), free(probe), free(place), free(a.element), free(b.element);
}

/* ---- random layouts ---- */

static void draw_layout(sett_tile_shape *shape) {
  int tiles = (int)next(4), n = shape->rank;
  for (int i = 0; i < n; ++i) shape->minor_to_major[i] = n - 1 - i;
  if (next(2))
    for (int i = n; i-- > 1;) {
      int j = (int)next((uint32_t)i + 1), swap = shape->minor_to_major[i];
      shape->minor_to_major[i] = shape->minor_to_major[j], shape->minor_to_major[j] = swap;
    }
  for (int t = 0; t < tiles; ++t) {
    int k = 1 + (int)next((uint32_t)n + 1);
    int64_t tile[8];
    for (int i = 0; i < k; ++i) {
      static const int64_t sizes[] = {1, 2, 2, 3, 4, 4, 5, 6, 8, 8, 16};
      tile[i] = next(6) == 0 && i + 1 < k ? SETT_TILE_COMBINE : sizes[next(sizeof sizes / sizeof *sizes)];
      if (t == 0 && i + 1 == k && next(3) == 0) tile[i] = 1 << (4 + next(4));
    }
    *shape = sett_tile_add_tile(shape, k, tile);
  }
  if (next(4) == 0) shape->tail = 1 + next(40);
}

static void draw(void) {
  static const int types[] = {SETT_TILE_F32, SETT_TILE_BF16, SETT_TILE_S8,  SETT_TILE_S4,  SETT_TILE_U4,
                              SETT_TILE_S2,  SETT_TILE_PRED, SETT_TILE_F64, SETT_TILE_C128};
  static const int64_t sizes[] = {1,  2,  3,  4,  5,  7,  8,  9,   12,  15,  16, 17,
                                  24, 31, 32, 33, 48, 64, 65, 100, 128, 130, 256};
  int64_t dims[4];
  int rank = (int)next(5), type = types[next(sizeof types / sizeof *types)];
  for (int i = 0; i < rank; ++i) dims[i] = next(60) ? sizes[next(rank > 2 ? 14 : sizeof sizes / sizeof *sizes)] : 0;
  sett_tile_shape from = sett_tile_make(type, rank, dims, NULL), to = from;
  draw_layout(&from);
  draw_layout(&to);
  int width = type == SETT_TILE_PRED                         ? 1
              : type == SETT_TILE_S2                         ? 2
              : type == SETT_TILE_S4 || type == SETT_TILE_U4 ? 4
                                                             : 0;
  if (width) {
    from.packed = next(3) ? width : 0;
    to.packed = next(3) ? width : 0;
  } else if (type == SETT_TILE_S8 && next(8) == 0) {
    from.packed = to.packed = 24; /* elements of three bytes */
  }
  from = sett_tile_check(&from);
  to = sett_tile_check(&to);
  if (!from.error && !to.error) check(&from, &to);
}

static void check_text(const char *a, const char *b, long times) {
  sett_tile_shape from = sett_tile_parse(a, strlen(a)), to = sett_tile_parse(b, strlen(b));
  if (from.error || to.error) fail("parse", &from, &to);
  for (long i = 0; i < times; ++i) check(&from, &to), check(&to, &from);
}

static void refused(const char *a, const char *b, int error) {
  static sett_relayout_plan plan;
  sett_tile_shape from = sett_tile_parse(a, strlen(a)), to = sett_tile_parse(b, strlen(b));
  if (sett_relayout_prepare(&plan, &from, &to, NULL) != error) fail("not refused", &from, &to);
  sett_relayout_run(&plan, NULL, NULL, 0, 1);
}

int main(int argc, char **argv) {
  static const char *const chosen[][2] = {
      {"f32[170,160]{1,0}", "f32[170,160]{1,0:T(8,128)}"},
      {"f32[160,170]{0,1}", "f32[160,170]{1,0:T(8,128)}"},
      {"f32[128,512]{0,1}", "f32[128,512]{1,0:T(8,128)}"},
      {"f32[128,512]{0,1}", "f32[128,512]{1,0}"},
      {"f32[130,317]{0,1}", "f32[130,317]{1,0}"},
      {"f64[130,317]{0,1}", "f64[130,317]{1,0}"},
      {"bf16[130,317]{0,1}", "bf16[130,317]{1,0}"},
      {"s8[130,317]{0,1}", "s8[130,317]{1,0}"},
      {"f32[8,4096]{1,0:T(8,128)}", "f32[8,4096]{1,0:T(2,128)}"},
      {"bf16[64,512]{1,0}", "bf16[64,512]{1,0:T(8,128)(2,1)}"},
      {"bf16[67,500]{1,0}", "bf16[67,500]{1,0:T(8,128)(2,1)}"},
      /* rows that are SETTP_RELAYOUT_APART bytes apart, and farther */
      {"bf16[24,8256]{1,0}", "bf16[24,8256]{1,0:T(8,128)(2,1)}"},
      {"bf16[64,512]{0,1}", "bf16[64,512]{1,0:T(8,128)(2,1)}"},
      {"s8[64,512]{1,0}", "s8[64,512]{1,0:T(8,128)(4,1)}"},
      {"s8[67,500]{1,0}", "s8[67,500]{1,0:T(32,128)(4,1)}"},
      {"s8[64,512]{0,1}", "s8[64,512]{1,0:T(8,128)(4,1)}"},
      {"bf16[64,512]{1,0:T(8,128)(2,1)}", "bf16[64,512]{1,0:T(16,128)(2,1)}"},
      {"s8[64,512]{1,0:T(8,128)(2,1)}", "s8[64,512]{1,0:T(8,128)(4,1)}"},
      {"s4[64,512]{1,0:E(4)}", "s4[64,512]{1,0:T(8,128)(8,1)E(4)}"},
      {"s4[64,511]{1,0}", "s4[64,511]{1,0:T(8,128)(8,1)E(4)}"},
      {"s4[63,511]{1,0:E(4)}", "s4[63,511]{1,0:T(64,128)(8,1)E(4)}"},
      {"u4[63,511]{0,1:E(4)}", "u4[63,511]{1,0:E(4)}"},
      {"pred[64,300]{1,0}", "pred[64,300]{1,0:T(32,128)(32,1)E(1)}"},
      {"f32[3,400]{1,0:T(8,128)}", "f32[3,400]{1,0:T(4,128)}"},
      {"f32[1,400]{1,0}", "f32[1,400]{1,0:T(8,128)}"},
      {"bf16[2048]{0}", "bf16[2048]{0:T(1024)(128)(2,1)}"},
      {"f32[2,7,8,11,10]{4,3,2,1,0}", "f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}"},
      {"f32[2,7,8,11,10]{0,2,1,3,4:T(*,4)}", "f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}"},
      {"f32[97,300]{1,0:T(6,100)}", "f32[97,300]{1,0:T(4,128)}"},
      {"f32[100,30]{1,0:T(8,10)(3,1)}", "f32[100,30]{0,1}"},
      {"f32[5000]{0}", "f32[5000]{0:T(1024)L(4096)}"},
      {"f32[0,5]{1,0}", "f32[0,5]{1,0:T(8,128)}"},
      {"f32[]", "f32[]{:T(8,128)}"},
      {"c128[40,24]{0,1}", "c128[40,24]{1,0:T(8,4)}"},
      {"f32[16,24,40,8]{3,2,1,0}", "f32[16,24,40,8]{0,1,2,3}"},
      /* large transposes: rows of whole cache lines, rows of other lengths, rows a page apart (whose lines compete for the
       * same sets of L1), numbers of rows that are no multiple of 64, and batches */
      {"f32[128,2048]{1,0}", "f32[128,2048]{0,1}"},
      {"bf16[256,2080]{1,0}", "bf16[256,2080]{0,1}"},
      {"bf16[192,2072]{1,0}", "bf16[192,2072]{0,1}"},
      {"bf16[3,64,1024]{2,1,0}", "bf16[3,64,1024]{1,2,0}"},
      {"bf16[100,1024]{1,0}", "bf16[100,1024]{0,1}"},
      {"s8[256,4096]{1,0}", "s8[256,4096]{0,1}"},
      {"s8[192,1100]{1,0}", "s8[192,1100]{0,1}"},
      {"s8[70,1024]{1,0}", "s8[70,1024]{0,1}"},
      {"s8[64,3,1024]{2,1,0}", "s8[64,3,1024]{0,1,2}"},
  };
  long pairs = argc > 1 ? atol(argv[1]) : 20000;
  state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  /* number of tries of each pair in `chosen`; every try has other addresses and pieces */
  long times = argc > 3 ? atol(argv[3]) : 4;
  most = 1 << 20;
  for (size_t i = 0; i < sizeof chosen / sizeof *chosen; ++i) check_text(chosen[i][0], chosen[i][1], times);
  most = 1 << 17;
  refused("f32[4]", "s32[4]", SETT_RELAYOUT_ERROR_TYPES);
  refused("f32[4]", "f32[4,1]", SETT_RELAYOUT_ERROR_DIMS);
  refused("f32[4]", "f32[5]", SETT_RELAYOUT_ERROR_DIMS);
  refused("s4[4]{0:E(3)}", "s4[4]", SETT_RELAYOUT_ERROR_BITS);
  refused("s8[4]{0:E(4)}", "s8[4]", SETT_RELAYOUT_ERROR_WIDTHS);
  refused("f32[4]", "f32[4]{0:E(16)}", SETT_RELAYOUT_ERROR_WIDTHS);
  refused("f32[9]{0:SC(0:4)}", "f32[9]", SETT_TILE_ERROR_SPLIT);
  refused("f32[?]", "f32[9]", SETT_TILE_ERROR_UNBOUNDED);
  for (long i = 0; i < pairs; ++i) draw();
  printf("PASS relayout_test %ld pairs, %ld walked by position, %ld streamed, %ld in pieces that never met\n", pairs,
         walked, streamed, cut);
  return 0;
}
