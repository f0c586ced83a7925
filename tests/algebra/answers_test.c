/* Test section ANSWERS of all headers. If an input is failed, undecided, outside or {0}, no answer is true in an `if`,
 * and every output is written. Single outputs are not initialised here, so that -O2 -Wmaybe-uninitialized -Werror
 * finds a function that leaves one unwritten; arrays hold POISON. tests/algebra/test_answers.py requires that this file
 * calls each public function that returns an answer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../include/sett.h"

enum { ROOM = 32 };
#define POISON INT64_C(0x5a5a5a5a5a5a5a5a)

static int failures;

static void wrong(int line, const char *what) {
  fprintf(stderr, "answers_test.c:%d: %s\n", line, what);
  ++failures;
}
#define CHECK(x) ((x) ? (void)0 : wrong(__LINE__, #x))
/* Check that an `if` takes an answer as false. */
#define NOT_TAKEN(x)                     \
  do {                                   \
    if (x) wrong(__LINE__, "true: " #x); \
  } while (0)
#define OPEN(a) CHECK((a).yes == 0 && (a).no == 0)
#define NO(a) CHECK((a).yes == 0 && (a).no == 1)
#define YES(a) CHECK((a).yes == 1 && (a).no == 0)

static int64_t *poisoned(int64_t *list) {
  int i;
  for (i = 0; i < ROOM; ++i) list[i] = POISON;
  return list;
}

/* Return 1 if the first `count` entries of the list are `value` and the others are unchanged. */
static int holds(const int64_t *list, int count, int64_t value) {
  int i;
  for (i = 0; i < ROOM; ++i)
    if (list[i] != (i < count ? value : POISON)) return 0;
  return 1;
}

/* ---- sett_tile.h ---- */

static sett_tile_shape shape_of(const char *text) { return sett_tile_parse(text, strlen(text)); }

static int prints(const sett_tile_answer *answer, const char *start) {
  char text[256];
  sett_tile_answer_print(answer, text, sizeof text);
  return !strncmp(text, start, strlen(start));
}

static void shapes(void) {
  static const char *const bad[] = {"f32[3,5", "token[]", "f32[?,4]"};
  sett_tile_shape good = shape_of("f32[3,5]{1,0:T(2,2)}"), other = shape_of("f32[5,3]{1,0}"), shape;
  sett_tile_plan plan = sett_tile_prepare(&good);
  sett_tile_answer answer = {0}, aligned;
  sett_tile_decomposition parts;
  int64_t list[ROOM];
  int32_t order[2] = {0, 1}, found[ROOM];
  const int64_t outside[2] = {3, 0}, dims[2] = {3, 5}, *physical;
  size_t i;
  OPEN(answer);
  CHECK(prints(&answer, "not decided: "));
  for (i = 0; i < 3; ++i) {
    sett_tile_shape failed = shape_of(bad[i]);
    sett_tile_plan no_plan = sett_tile_prepare(&failed);
    sett_tile_device_plan device = sett_tile_device(&no_plan);
    sett_tile_format format[SETT_TILE_FORMAT_COUNT];
    int rank = failed.rank, formats = sett_tile_formats(&failed, format), at;
    CHECK(no_plan.error && device.error);
    for (at = 0; at < formats; ++at) NOT_TAKEN(format[at].chosen && format[at].shape.error);
    answer = sett_tile_same_bytes(&failed, &good);
    OPEN(answer);
    CHECK(prints(&answer, "expected arrays"));
    answer = sett_tile_reshape_is_bitcast(&good, &failed, SETT_TILE_SAME_BITS);
    OPEN(answer);
    answer = sett_tile_transpose_is_bitcast(&failed, &failed, order, SETT_TILE_SAME_BITS);
    OPEN(answer);
    memset(found, 0x5a, sizeof found);
    answer = sett_tile_find_transpose(&good, &failed, found, SETT_TILE_SAME_BITS);
    OPEN(answer);
    for (at = 0; at < rank; ++at) CHECK(found[at] == -1);
    parts = sett_tile_decompose(&failed, &good);
    OPEN(parts.answer);
    NOT_TAKEN(parts.form);
    answer = sett_tile_tiling_is_noop(&failed);
    OPEN(answer);
    shape = sett_tile_align(&failed, 2, dims, &aligned);
    OPEN(aligned);
    CHECK(shape.error == failed.error);
    NOT_TAKEN(sett_tile_whole(&failed, 7, outside, poisoned(list)));
    CHECK(holds(list, rank, -1));
    OPEN(sett_tile_byte_strides(&failed, poisoned(list)));
    CHECK(holds(list, rank, -1));
    NOT_TAKEN(sett_tile_element(&no_plan, 0, poisoned(list)));
    CHECK(holds(list, no_plan.rank, -1));
    NOT_TAKEN(sett_tile_device_element(device, 0, list));
    {
      sett_tile_iterator it = sett_tile_iterate(&no_plan, &plan), back = sett_tile_iterate(&plan, &no_plan);
      sett_tile_device_iterator there = sett_tile_device_iterate(&no_plan, &plan);
      CHECK(it.error && back.error && there.error);
      NOT_TAKEN(sett_tile_advance(&it));
      NOT_TAKEN(sett_tile_advance_run(&back));
      NOT_TAKEN(sett_tile_device_advance(&there));
      NOT_TAKEN(sett_tile_device_advance_run(&there));
    }
    NOT_TAKEN(sett_tile_physical(&no_plan, &physical));
    CHECK(physical);
    NOT_TAKEN(sett_tile_stage(&no_plan, 0, SETT_TILE_PADDED, list));
    CHECK(sett_tile_position(&no_plan, outside) == -1 && sett_tile_data_positions(&no_plan) == -1);
    CHECK(sett_tile_bytes(&failed) == -1 && sett_tile_positions(&failed) == -1 && sett_tile_padding(&failed) == -1);
    if (failed.error || failed.kind != SETT_TILE_ARRAY) {
      sett_tile_place place = sett_tile_place_of(&failed, 3);
      CHECK(sett_tile_bits(&failed) == -1 && place.byte == -1 && place.bits == -1 && place.shift == 0);
      NOT_TAKEN(sett_tile_plain(&failed));
    }
    if (!failed.error) continue;
    CHECK(sett_tile_part(&failed, outside, list) == -1);
    NOT_TAKEN(sett_tile_equal(&failed, &failed));
    NOT_TAKEN(sett_tile_is_most_major(&failed, 0));
    CHECK(sett_tile_elements(&failed) == -1 && sett_tile_parts(&failed) == -1);
  }
  /* a loop over elements ends, and further calls stay at the end */
  {
    sett_tile_iterator it = sett_tile_iterate(&plan, &plan), none = {0};
    sett_tile_device_iterator device_none = {0};
    int steps = 0;
    while (sett_tile_advance(&it) && steps < 100) ++steps;
    CHECK(steps == 15);
    NOT_TAKEN(sett_tile_advance(&it));
    NOT_TAKEN(sett_tile_advance_run(&it));
    NOT_TAKEN(sett_tile_advance(&none));
    NOT_TAKEN(sett_tile_advance_run(&none));
    NOT_TAKEN(sett_tile_device_advance(&device_none));
    NOT_TAKEN(sett_tile_device_advance_run(&device_none));
  }
  /* positions outside the array, and in its padding */
  NOT_TAKEN(sett_tile_element(&plan, plan.positions, poisoned(list)));
  CHECK(holds(list, 2, -1));
  NOT_TAKEN(sett_tile_element(&plan, -1, poisoned(list)));
  CHECK(holds(list, 2, -1));
  NOT_TAKEN(sett_tile_element(&plan, 9, poisoned(list)));
  CHECK(holds(list, 2, -1));
  CHECK(sett_tile_element(&plan, 17, poisoned(list)) == 1 && list[0] == 2 && list[1] == 3);
  NOT_TAKEN(sett_tile_device_element(sett_tile_device(&plan), plan.positions, list));
  NOT_TAKEN(sett_tile_device_element(sett_tile_device(&plan), -1, list));
  /* a plan with too many digits for a device */
  shape = shape_of("f32[100,100]{1,0:T(64,64)(16,16)(4,4)(2,2)}");
  plan = sett_tile_prepare(&shape);
  CHECK(!plan.error && sett_tile_device(&plan).error && sett_tile_device(&plan).positions == -1);
  NOT_TAKEN(sett_tile_device_element(sett_tile_device(&plan), 0, list));
  NOT_TAKEN(sett_tile_device_element(sett_tile_device(&plan), 5, list));
  shape = shape_of("f32[8]");
  plan = sett_tile_prepare(&shape);
  /* position -1 of a layout without tiles is outside */
  NOT_TAKEN(sett_tile_device_element(sett_tile_device(&plan), -1, list));
  CHECK(sett_tile_position(&plan, outside + 1) == 0);
  CHECK(sett_tile_part(&good, outside, poisoned(list)) == -1 && holds(list, 2, -1));
  NOT_TAKEN(sett_tile_whole(&good, 1, dims, poisoned(list)));
  CHECK(holds(list, 2, -1));
  NOT_TAKEN(sett_tile_whole(&good, 0, outside, poisoned(list)));
  CHECK(holds(list, 2, -1));
  NO(sett_tile_byte_strides(&good, poisoned(list)));
  CHECK(holds(list, 2, -1));
  shape = shape_of("f32[4,6]{1,0:SC(0:2)}");
  OPEN(sett_tile_byte_strides(&shape, poisoned(list)));
  CHECK(holds(list, 2, -1));
  NOT_TAKEN(sett_tile_is_most_major(&good, 7));
  NOT_TAKEN(sett_tile_is_most_major(&good, -1));
  NOT_TAKEN(sett_tile_stage(&plan, 0, SETT_TILE_COMBINED, list));
  NOT_TAKEN(sett_tile_equal(&good, &other));
  /* {-1, -1} is no permutation, so the shape has an error */
  shape = sett_tile_permute(&good, found);
  CHECK(shape.error);
  NOT_TAKEN(sett_tile_is_most_major(&shape, 0));
  NOT_TAKEN(sett_tile_equal(&shape, &shape));
  /* answer no */
  answer = sett_tile_same_bytes(&good, &other);
  NO(answer);
  CHECK(prints(&answer, "no: "));
  memset(found, 0x5a, sizeof found);
  answer = sett_tile_find_transpose(&good, &other, found, SETT_TILE_SAME_BITS);
  NO(answer);
  CHECK(found[0] == -1 && found[1] == -1);
  YES(sett_tile_same_bytes(&good, &good));
  /* answer not decided: the texts mean the same, but no rule compares them, and there are too many elements to visit */
  good = shape_of("u8[11,5,4000037]{2,1,0:T(*,3,5)(*,5,2)}");
  other = shape_of("u8[11,5,4000037]{2,1,0:T(*,3,5)(*,5,2)(1)}");
  answer = sett_tile_same_bytes(&good, &other);
  OPEN(answer);
  CHECK(prints(&answer, "not decided: "));
  parts = sett_tile_decompose(&good, &other);
  OPEN(parts.answer);
  NOT_TAKEN(parts.form);
  answer = sett_tile_find_transpose(&good, &other, found, SETT_TILE_SAME_BITS);
  OPEN(answer);
  CHECK(found[0] == -1 && found[1] == -1 && found[2] == -1);
  NOT_TAKEN(sett_tile_type_find("f33", 3) >= 0);
}

static void lists(void) {
  const int64_t dims[2] = {4, 5}, others[2] = {20, 1};
  const int32_t twice[2] = {0, 0};
  int64_t to[2] = {7, 7};
  int32_t order[2], from[2];
  CHECK(sett_tile_normal_transpose(2, dims, twice, to, order) == -1 && to[0] == -1 && to[1] == -1);
  CHECK(order[0] == -1 && order[1] == -1);
  NOT_TAKEN(sett_tile_kept_dims(2, dims, 2, others, from, order));
}

/* sett_tile_check accepts a parsed shape, and refuses it after a program has set a field to a wrong value. */
static void checks(void) {
  const sett_tile_shape good = shape_of("f32[4,6]{1,0:T(2,4)L(8)SC(0:1,3)(1:2)M(8)}");
  sett_tile_shape shape = good;
  CHECK(!sett_tile_check(&shape).error);
#define BREAKS(change, expected)                      \
  do {                                                \
    shape = good;                                     \
    change;                                           \
    CHECK(sett_tile_check(&shape).error == expected); \
  } while (0)
  BREAKS(shape.packed = -1, SETT_TILE_ERROR_NEGATIVE);
  BREAKS(shape.prefix = -1, SETT_TILE_ERROR_NEGATIVE);
  BREAKS(shape.tail = -8, SETT_TILE_ERROR_TAIL);
  BREAKS(shape.splits = -1, SETT_TILE_ERROR_SPLITS);
  BREAKS(shape.splits = 3, SETT_TILE_ERROR_SPLITS);
  BREAKS(shape.split_count[0] = SETT_TILE_MAX_SPLITS + 1, SETT_TILE_ERROR_SPLITS);
  BREAKS(shape.split_count[1] = -1, SETT_TILE_ERROR_SPLITS);
  BREAKS(shape.split_dim[0] = 2, SETT_TILE_ERROR_SPLIT_DIM);
  BREAKS(shape.split_dim[0] = -1, SETT_TILE_ERROR_SPLIT_DIM);
  BREAKS(shape.split_dim[1] = 0, SETT_TILE_ERROR_SPLIT_DIM);
  BREAKS(shape.split[1] = 1, SETT_TILE_ERROR_SPLIT_INDEX);
  BREAKS(shape.split[1] = 4, SETT_TILE_ERROR_SPLIT_INDEX);
  BREAKS(shape.split[2] = 0, SETT_TILE_ERROR_SPLIT_INDEX);
  BREAKS(shape.split[2] = 6, SETT_TILE_ERROR_SPLIT_INDEX);
}

/* After the end of the shape, and after an error, a reader returns only event 0 and a failed shape. */
static void readers(void) {
  static const char *const texts[] = {"(f32[2], (s8[3]))", "(f32[2], x)", "", "f32[2"};
  size_t i;
  for (i = 0; i < sizeof texts / sizeof *texts; ++i) {
    sett_tile_reader reader = sett_tile_read(texts[i], strlen(texts[i]));
    sett_tile_shape shape;
    int events = 0, leaves = 0, event;
    while ((event = sett_tile_next(&reader, &shape)) && ++events < 100) {
      leaves += event == SETT_TILE_LEAF;
      CHECK((shape.error == 0) == (event == SETT_TILE_LEAF));
    }
    CHECK(events < 100 && shape.error && (reader.error != 0) == (i > 0) && leaves == (i == 0 ? 2 : i == 1));
    NOT_TAKEN(sett_tile_next(&reader, &shape));
    CHECK(shape.error);
  }
}

static void relayouts(void) {
  static sett_relayout_plan plan;
  sett_tile_shape a = shape_of("f32[4]"), b = shape_of("f32[5]"), failed = shape_of("f32[");
  memset(&plan, 0x5a, sizeof plan);
  CHECK(sett_relayout_prepare(&plan, &a, &b, NULL) == plan.error && plan.error && plan.pieces == 0);
  CHECK(!plan.streams && !plan.bursts && !plan.fills && !plan.walks);
  memset(&plan, 0x5a, sizeof plan);
  CHECK(sett_relayout_prepare(&plan, &failed, &a, NULL) == failed.error && plan.pieces == 0);
}

/* ---- sett_indexing_map.h ---- */

static uint64_t memory[1 << 20];

static sett_map map_of(sett_map_arena *arena, const char *text) { return sett_map_parse(arena, text, strlen(text)); }

/* In an arena with too little memory, sett_map_fits returns the error FULL and never a wrong answer. */
static void fits_in_small_arenas(void) {
  static uint64_t small[1 << 16];
  size_t bytes;
  int full = 0, decided = 0;
  for (bytes = 256; bytes <= sizeof small; bytes += 256) {
    sett_map_arena arena = sett_map_arena_make(small, bytes);
    sett_map map = map_of(&arena, "(d0) -> (d0 * 4), domain: d0 in [0, 4294967295]");
    int fits = sett_map_fits(&arena, map, SETT_MAP_UINT);
    CHECK(fits == 0 || fits == -SETT_MAP_ERROR_FULL);
    if (fits) ++full;
    else ++decided;
  }
  CHECK(full && decided);
}

/* Ask every question about an empty or a failed map. */
static void ask(sett_map_arena *arena, sett_map map, int decided) {
  const sett_map_interval box[2] = {{0, 3}, {0, 3}};
  int64_t results[ROOM];
  const int64_t values[ROOM] = {0};
  sett_map_evaluator evaluator = sett_map_evaluator_make(arena, map);
  sett_map_points points = sett_map_points_begin(arena, map);
  sett_map_answer answer, why;
  sett_map_footprint image = sett_map_image(arena, map);
  sett_map_stride stride[2];
  sett_map_run run[2];
  int error, at_error;
  NOT_TAKEN(sett_map_evaluate(arena, map, values, poisoned(results), &error));
  CHECK(holds(results, map.results, 0));
  NOT_TAKEN(sett_map_evaluator_at(&evaluator, values, poisoned(results), &at_error));
  CHECK(holds(results, map.results, 0) && error == at_error && (error != 0) == !decided);
  NOT_TAKEN(sett_map_evaluate(arena, map, values, results, NULL));
  NOT_TAKEN(sett_map_points_next(&points));
  CHECK(points.error == error);
  NOT_TAKEN(sett_map_points_next(&points));
  CHECK(points.error == error);
  CHECK(decided ? image.count == 0
                : image.count == -1 && !image.product && !image.results && !image.value && image.error == error);
  if (!decided) {
    answer = sett_map_is_injective(arena, map);
    OPEN(answer);
    CHECK(*answer.reason);
    answer = sett_map_covers(arena, map, box);
    OPEN(answer);
    answer = sett_map_is_bijective(arena, map, box);
    OPEN(answer);
    answer = sett_map_is_bijective(arena, map, NULL);
    OPEN(answer);
    answer = sett_map_equal(arena, map, map);
    OPEN(answer);
    CHECK(*answer.reason && !answer.point);
    CHECK(sett_map_fits(arena, map, SETT_MAP_UINT) == -error);
    CHECK(sett_map_strides(arena, map, 0, stride) == error && sett_map_runs(arena, map, 0, run) == error);
    CHECK(sett_analysis_reads(arena, map) == -1);
  }
  (void)sett_map_inverse(arena, map, &why);
  CHECK(why.yes == 0 && why.no == decided && *why.reason);
}

static sett_map_fact fact_of(sett_map_arena *arena, sett_map map, const char *text) {
  return sett_map_fact_parse(arena, map, text, strlen(text));
}

static void facts(void) {
  static uint64_t little[1 << 11];
  sett_map_arena arena = sett_map_arena_make(memory, sizeof memory), full = sett_map_arena_make(little, sizeof little);
  sett_map map = map_of(&arena, "(d0)[n] -> (), domain: d0 in [0, inf], n in [1, inf], d0 < n");
  sett_map_fact fact = fact_of(&arena, map, "d0 <= n"), none = {0, 0, 0, 0, 0};
  sett_map_answer answer = sett_map_proves(&arena, map, &fact);
  YES(answer);
  CHECK(!*answer.reason && !answer.point);
  answer = sett_map_proves(&arena, sett_map_undefined(), &fact);
  OPEN(answer);
  CHECK(*answer.reason);
  OPEN(sett_map_proves(&arena, sett_map_fail(SETT_MAP_ERROR_FULL, 0), &fact));
  YES(sett_map_proves(&arena, sett_map_empty(), &fact));
  OPEN(sett_map_proves(&arena, map, &none));
  fact = fact_of(&arena, map, "d0 <");
  CHECK(fact.error == SETT_MAP_ERROR_EXPECTED_OPERAND && fact.column == 5);
  OPEN(sett_map_proves(&arena, map, &fact));
  fact = fact_of(&arena, map, "d0 + 1 < n");
  answer = sett_map_proves(&arena, map, &fact);
  NO(answer);
  CHECK(answer.point && answer.point[1] == answer.point[0] + 1);
  fact = fact_of(&arena, map, "n mod d0 <= n");
  answer = sett_map_proves(&arena, map, &fact);
  OPEN(answer);
  CHECK(*answer.reason && !answer.point);
  map = map_of(&full, "(d0)[n] -> (), domain: d0 in [0, inf], n in [1, inf], d0 < n");
  fact = fact_of(&full, map, "d0 <= n");
  CHECK(map.kind == SETT_MAP_DEFINED && !fact.error);
  answer = sett_map_proves(&full, map, &fact);
  OPEN(answer);
  CHECK(!strcmp(answer.reason, sett_map_message(SETT_MAP_ERROR_FULL)) && full.full);
}

static void maps(void) {
  static const char *const squares[] = {"(d0) -> ((d0 * d0) mod 3), domain: d0 in [0, 1000000000]",
                                        "(d0) -> (((d0 mod 3) * (d0 mod 3)) mod 3), domain: d0 in [0, 1000000000]"};
  sett_map_arena arena = sett_map_arena_make(memory, sizeof memory), full;
  sett_map map = map_of(&arena, "(d0, d1) -> (d0 floordiv d1, d0), domain: d0 in [0, 3], d1 in [0, 1]"), zero = {0},
           none = sett_map_empty(), one, other;
  sett_map_evaluator evaluator = sett_map_evaluator_make(&arena, map);
  sett_map_points points = sett_map_points_begin(&arena, map);
  sett_map_answer answer;
  sett_map_run run;
  sett_map_stride stride;
  int64_t results[ROOM], point[2] = {4, 1};
  char text[64];
  int error, inside = 0, stops = 0;
  ask(&arena, zero, 0);
  ask(&arena, sett_map_undefined(), 0);
  ask(&arena, map_of(&arena, "(d0) -> ("), 0);
  ask(&arena, none, 1);
  /* a point outside the domain */
  NOT_TAKEN(sett_map_evaluate(&arena, map, point, poisoned(results), &error));
  CHECK(!error && holds(results, 2, 0));
  NOT_TAKEN(sett_map_evaluator_at(&evaluator, point, poisoned(results), &error));
  CHECK(!error && holds(results, 2, 0));
  /* a point without a value (division by zero): the results are 0 */
  point[0] = 3;
  point[1] = 0;
  NOT_TAKEN(sett_map_evaluate(&arena, map, point, poisoned(results), &error));
  CHECK(error == SETT_MAP_ERROR_ZERO_DIVISOR && holds(results, 2, 0));
  NOT_TAKEN(sett_map_evaluator_at(&evaluator, point, poisoned(results), &error));
  CHECK(error == SETT_MAP_ERROR_ZERO_DIVISOR && holds(results, 2, 0));
  point[1] = 1;
  CHECK(sett_map_evaluate(&arena, map, point, results, &error) == 1 && !error && results[0] == 3);
  /* the iterator stops at a point without a value, and the next call continues */
  for (;;) {
    if (sett_map_points_next(&points)) ++inside;
    else if (points.error) ++stops;
    else break;
  }
  CHECK(inside == 4 && stops == 4);
  NOT_TAKEN(sett_map_points_next(&points));
  /* answer no */
  answer = sett_map_equal(&arena, map, map_of(&arena, "(d0) -> (d0), domain: d0 in [0, 3]"));
  NO(answer);
  CHECK(!answer.point && *answer.reason);
  one = map_of(&arena, "(d0) -> (d0 floordiv 2), domain: d0 in [0, 3]");
  answer = sett_map_equal(&arena, one, map_of(&arena, "(d0) -> (d0 floordiv 3), domain: d0 in [0, 3]"));
  NO(answer);
  CHECK(answer.point && answer.point[0] == 2);
  YES(sett_map_equal(&arena, one, one));
  fits_in_small_arenas();
  CHECK(sett_map_fits(&arena, one, SETT_MAP_UINT) == 1);
  CHECK(sett_map_fits(&arena, map_of(&arena, "(d0) -> (d0 * 4), domain: d0 in [0, 4294967295]"), SETT_MAP_UINT) == 0);
  answer = sett_map_is_injective(&arena, one);
  NO(answer);
  /* an answer that is not decided */
  one = map_of(&arena, squares[0]);
  other = map_of(&arena, squares[1]);
  answer = sett_map_equal(&arena, one, other);
  OPEN(answer);
  CHECK(*answer.reason && !answer.point);
  one = map_of(&arena, "(d0, d1) -> (d0 * d0 * 1000003 + d1 * d1), domain: d0 in [1, 900], d1 in [1, 900]");
  answer = sett_map_is_injective(&arena, one);
  OPEN(answer);
  answer = sett_map_is_bijective(&arena, one, NULL);
  CHECK(!answer.yes);
  other = sett_map_inverse(&arena, one, &answer);
  CHECK(other.kind == SETT_MAP_UNDEFINED && !answer.yes);
  /* a full arena */
  full = sett_map_arena_make(memory, 1 << 12);
  one = map_of(&full, "(d0) -> ((d0 * 3) mod 7), domain: d0 in [0, 99]");
  CHECK(one.kind == SETT_MAP_DEFINED);
  OPEN(sett_map_equal(&full, one, map_of(&full, "(d0) -> ((d0 * 3 + 7) mod 7), domain: d0 in [0, 99]")));
  OPEN(sett_map_is_injective(&full, one));
  CHECK(sett_map_runs(&full, one, 0, &run) == SETT_MAP_ERROR_FULL && run.contiguous == 1 && run.broadcast == 1 &&
        run.vector_width == 1);
  CHECK(!run.contiguous_exact && !run.broadcast_exact && !run.vector_exact);
  CHECK(sett_map_strides(&full, one, 0, &stride) == SETT_MAP_ERROR_FULL && !stride.linear && stride.stride == 0 &&
        stride.align == 1);
  memset(text, 'x', sizeof text);
  CHECK(!sett_map_print_c(&full, one, SETT_MAP_ANY_TYPE, text, sizeof text, &error) && error && !*text);
  /* the values do not fit in SETT_MAP_INT, so there is no C text; there are no variables 1 and -1 */
  one = map_of(&arena, "(d0) -> (d0 * 3), domain: d0 in [0, 2000000000]");
  memset(text, 'x', sizeof text);
  CHECK(!sett_map_print_c(&arena, one, SETT_MAP_INT, text, sizeof text, &error) && error == SETT_MAP_ERROR_INDEX_TYPE &&
        !*text);
  CHECK(sett_map_runs(&arena, one, 1, &run) == SETT_MAP_ERROR_UNKNOWN && run.contiguous == 1 && !run.contiguous_exact);
  CHECK(sett_map_runs(&arena, one, -1, &run) == SETT_MAP_ERROR_UNKNOWN);
  CHECK(sett_map_strides(&arena, one, 1, &stride) == SETT_MAP_ERROR_UNKNOWN && !stride.linear && stride.align == 1);
  CHECK(sett_map_strides(&arena, one, -1, &stride) == SETT_MAP_ERROR_UNKNOWN);
  CHECK(sett_map_find(one, "x", 1) == -1);
  facts();
  CHECK(sett_map_variables(zero) == 0);
}

/* ---- sett_indexing_analysis.h ---- */

static void analysis(void) {
  sett_map_arena arena = sett_map_arena_make(memory, sizeof memory);
  static unsigned char keep[16];
  const int64_t row[2] = {4, 4}, four = 4, seven = 7;
  sett_analysis_list dims = {2, row}, out = {1, &four}, in = {1, &seven}, none = {0, NULL};
  sett_analysis_memory layout, before;
  sett_analysis_best best;
  /* rows from 4 on are outside the array */
  sett_map map = map_of(&arena, "(d0) -> (d0, 0), domain: d0 in [0, 31]"), zero = {0};
  sett_analysis_coalescing coalescing;
  sett_analysis_banks banks;
  sett_analysis_tile tile;
  sett_analysis_store store = sett_analysis_store_make(keep, sizeof keep);
  sett_analysis_set set = {0, 0, NULL, NULL}, whole[1];
  sett_analysis_op op;
  sett_analysis_answer answer;
  sett_analysis_graph graph;
  sett_analysis_value value;
  sett_expr index = sett_map_var(&arena, 0), result = (sett_expr)POISON;
  int edge, i;
  memset(&layout, 0, sizeof layout);
  layout.dims = dims;
  layout.bits = 32;
  before = layout;
  for (i = 0; i < 2; ++i) {
    coalescing = sett_analysis_coalesced(&arena, i ? zero : map, &layout, 32, 32);
    CHECK(coalescing.error);
    NOT_TAKEN(coalescing.whole || coalescing.strided);
    banks = sett_analysis_bank_conflicts(&arena, i ? zero : map, &layout, 32, 4, 32);
    CHECK(banks.error && banks.lane[0] == -1);
    NOT_TAKEN(banks.whole);
    best = sett_analysis_pad_rows(&arena, 1, i ? &zero : &map, NULL, &layout, 32, 4, 32);
    CHECK(best.error && best.degree == -1 && !memcmp(&best.memory, &before, sizeof before));
    NOT_TAKEN(best.least);
    best = sett_analysis_swizzle(&arena, 1, i ? &zero : &map, NULL, &layout, 32, 4, 32);
    CHECK(best.error && best.degree == -1 && !memcmp(&best.memory, &before, sizeof before));
    NOT_TAKEN(best.least);
    CHECK(!memcmp(&layout, &before, sizeof layout));
  }
  banks =
      sett_analysis_bank_conflicts(&arena, map_of(&arena, "(d0) -> (d0, 0), domain: d0 in [0, 3]"), &layout, 0, 4, 32);
  CHECK(banks.error);
  NOT_TAKEN(banks.whole);
  for (i = 0; i < 3; ++i) { /* no tile: the map is UNDEFINED, there are too many sizes, or tiles differ */
    tile = sett_analysis_propagate(&arena,
                                   i == 0   ? zero
                                   : i == 1 ? map
                                            : map_of(&arena, "(d0) -> (d0 floordiv 3), domain: d0 in [0, 31]"),
                                   i == 1 ? dims : out);
    CHECK(tile.error || *tile.reason);
    NOT_TAKEN(tile.results);
    CHECK(tile.size[0] == 0 && tile.stride[0] == 0 && tile.offset.kind == SETT_MAP_UNDEFINED);
  }
  /* sett_analysis_wide: the position of each vector's first element, counted in vectors; UNDEFINED if vectors do not fill the dimension */
  {
    sett_map access = map_of(&arena, "(t, i) -> (t + 1, i + 4), domain: t in [0, 3], i in [0, 7]"),
             wide = sett_analysis_wide(&arena, access, 1, 4);
    int64_t t, v, point[2], place[2];
    CHECK(wide.kind == SETT_MAP_DEFINED && wide.variable[1].hi == 1);
    for (t = 0; t < 4; ++t)
      for (v = 0; v < 2; ++v) {
        point[0] = t;
        point[1] = v;
        CHECK(sett_map_evaluate(&arena, wide, point, place, NULL) && place[0] == t + 1 && place[1] == v + 1);
      }
    CHECK(sett_analysis_wide(&arena, access, 1, 3).kind == SETT_MAP_UNDEFINED &&
          sett_analysis_wide(&arena, access, 0, 4).kind == SETT_MAP_UNDEFINED);
  }
  CHECK(sett_analysis_reshape(&arena, out, &index, in, &result) && result < SETT_MAP_ERROR_COUNT && result);
  memset(&op, 0, sizeof op);
  op.opcode = SETT_ANALYSIS_RESHAPE;
  answer = sett_analysis_from_output(&arena, &op);
  CHECK(answer.all.kind == SETT_MAP_FAILED);
  NOT_TAKEN(answer.kind == SETT_ANALYSIS_EXACT && answer.all.kind == SETT_MAP_DEFINED);
  CHECK(sett_analysis_keep(&arena, &store, &set, &answer) == SETT_ANALYSIS_ERROR_STORE && set.count == 0);
  CHECK(sett_analysis_merge(&store, &set, &set) == 0);
  value.dims = none;
  value.known = 0;
  value.number = 0;
  memset(&graph, 0, sizeof graph);
  graph.values = 1;
  graph.value = &value;
  memset(whole, 0x5a, sizeof whole);
  CHECK(sett_analysis_whole(&arena, &store, &graph, 3, 1, whole, &edge) == SETT_ANALYSIS_ERROR_GRAPH && edge == -1 &&
        !whole[0].count && !whole[0].first);
  NOT_TAKEN(sett_analysis_opcode_find("no such op"));
}

/* ---- sett_nested_layout.h, sett_mma_layouts.h ---- */

/* ---- sett_notation.h ---- */

static void notations(void) {
  static const char twice[] = "{lane = [[1], [1]]} -> {dim0 = 4}", broken[] = "{lane = [[1";
  sett_map_arena arena = sett_map_arena_make(memory, sizeof memory);
  sett_notation failed = sett_notation_parse(&arena, broken, sizeof broken - 1),
                linear = sett_notation_parse(&arena, twice, sizeof twice - 1), zero;
  int64_t witness = POISON, mask[SETT_NOTATION_DIMS];
  NOT_TAKEN(sett_notation_refused(0));
  NOT_TAKEN(sett_notation_refused(-1));
  memset(&zero, 0, sizeof zero);
  CHECK(failed.error && !linear.error);
  NOT_TAKEN(sett_notation_is_zero(&failed, &witness));
  CHECK(witness == -1);
  NOT_TAKEN(sett_notation_is_zero(&zero, &witness));
  NOT_TAKEN(sett_notation_is_injective(&failed, &witness));
  NOT_TAKEN(sett_notation_is_injective(&zero, &witness));
  NOT_TAKEN(sett_notation_is_surjective(&failed, &witness));
  NOT_TAKEN(sett_notation_is_surjective(&zero, &witness));
  CHECK(sett_notation_free_masks(&failed, mask) == -1 && sett_notation_free_masks(&zero, mask) == -1);
  NOT_TAKEN(sett_notation_is_zero(&linear, &witness));
  CHECK(witness == 1);
  NOT_TAKEN(sett_notation_is_injective(&linear, &witness)); /* lanes 1 and 2 have the same element */
  CHECK(witness == 3);
  NOT_TAKEN(sett_notation_is_surjective(&linear, &witness));
  CHECK(witness == 2);
  CHECK(sett_notation_free_masks(&linear, mask) == 1 && mask[0] == 2);
}

/* ---- sett_nested_layout.h ---- */

static sett_nested_layout nested_of(const char *text) { return sett_nested_parse(text, strlen(text)); }

static void nested(void) {
  sett_nested_layout good = nested_of(
      "nested_layout<subgroup_tile = [1], batch_tile = [1], outer_tile = [1], thread_tile = [4], element_tile = [2], "
      "subgroup_strides = [0], thread_strides = [1]>");
  sett_nested_layout part = nested_of(
      "nested_layout<subgroup_tile = [1], batch_tile = [1], outer_tile = [1], thread_tile = [4], element_tile = [2], "
      "subgroup_strides = [0], thread_strides = [0]>");
  sett_nested_layout failed = nested_of("nested_layout<"), zero, one;
  int64_t list[ROOM], more[ROOM], index[1] = {8}, subgroup, thread, slot, w, steps = 0;
  sett_nested_answer answer;
  memset(&zero, 0, sizeof zero);
  CHECK(!good.error && !part.error && failed.error);
  /* for every index, the function returns 0 after the last owner */
  for (index[0] = -1; index[0] < 10; ++index[0])
    for (w = 0; sett_nested_owner(&good, index, w, &subgroup, &thread, &slot) && steps < 1000; ++w) ++steps;
  CHECK(steps == 8);
  NOT_TAKEN(sett_nested_owner(&good, index, 0, &subgroup, &thread, &slot)); /* an index outside the array */
  CHECK(subgroup == -1 && thread == -1 && slot == -1);
  index[0] = 3;
  CHECK(sett_nested_owner(&good, index, 0, &subgroup, &thread, &slot) == 1 && subgroup == 0 && thread == 1 &&
        slot == 1);
  NOT_TAKEN(sett_nested_owner(&good, index, 1, &subgroup, &thread, &slot)); /* there is only one owner */
  CHECK(subgroup == -1 && thread == -1 && slot == -1);
  NOT_TAKEN(sett_nested_owner(&good, index, -1, &subgroup, &thread, &slot));
  CHECK(subgroup == -1);
  subgroup = thread = slot = POISON;
  NOT_TAKEN(sett_nested_owner(&part, index, 0, &subgroup, &thread, &slot)); /* an element without an owner */
  CHECK(subgroup == -1 && thread == -1 && slot == -1);
  subgroup = thread = slot = POISON;
  NOT_TAKEN(sett_nested_owner(&failed, index, 0, &subgroup, &thread, &slot));
  CHECK(subgroup == -1 && thread == -1 && slot == -1);
  CHECK(sett_nested_index(&failed, poisoned(list), more, NULL) == failed.error && holds(list, 0, 0));
  CHECK(sett_nested_index(&good, poisoned(list), NULL, NULL) == 0 && list[0] == 0 && list[7] == 7);
  NOT_TAKEN(sett_nested_element(&good, 0, 0, 2, poisoned(list)));
  CHECK(holds(list, 1, -1));
  NOT_TAKEN(sett_nested_element(&good, -1, 0, 0, poisoned(list)));
  CHECK(holds(list, 1, -1));
  NOT_TAKEN(sett_nested_element(&failed, 0, 0, 0, poisoned(list)));
  CHECK(holds(list, failed.rank, -1));
  NOT_TAKEN(sett_nested_virtual(&good, 0, -1, poisoned(list), poisoned(more)));
  CHECK(holds(list, 1, -1) && holds(more, 1, -1));
  NOT_TAKEN(sett_nested_virtual(&failed, 0, 0, list, more));
  NOT_TAKEN(sett_nested_undistributed(&failed, list) || sett_nested_distributed(&failed, list) ||
            sett_nested_unpacked(&failed, list));
  NOT_TAKEN(sett_nested_packed(&failed, list) || sett_nested_packed_dim(&failed, 0, list) ||
            sett_nested_packed_dim(&good, 7, list));
  NOT_TAKEN(sett_nested_equal(&failed, &failed) || sett_nested_equal(&good, &part));
  CHECK(sett_nested_bound(&failed, 0, 0, 0, 1) == -1 && sett_nested_bound(&good, 1, 0, 0, 1) == -1);
  answer = sett_nested_same(&failed, &failed);
  OPEN(answer);
  CHECK(answer.error == failed.error && !answer.same_slots);
  answer = sett_nested_same(&good, &failed);
  OPEN(answer);
  answer = sett_nested_same(&good, &part);
  NO(answer);
  CHECK(!answer.error && !answer.same_slots);
  answer = sett_nested_same(&zero, &good);
  NO(answer);
  YES(sett_nested_same(&good, &good));
  answer = sett_nested_same_on(&good, &good, 0, 64); /* a machine without subgroups */
  OPEN(answer);
  CHECK(answer.error == SETT_NESTED_ERROR_MACHINE && !answer.same_slots);
  answer = sett_nested_same_on(&failed, &good, 1, 64);
  OPEN(answer);
  CHECK(answer.error == failed.error);
  NO(sett_nested_same_on(&good, &part, 1, 64));
  one = sett_mma_layout(-1, 0);
  CHECK(one.error && sett_mma_find("no such", 7) == -1 && sett_mma_get(-1).name == NULL);
  NOT_TAKEN(sett_mma_lanes(-1, 0) || sett_mma_lanes(0, 99) || sett_mma_lanes(SETT_MMA_COUNT, SETT_MMA_LHS));
}

/* ---- sett.h ---- */

static void glue(void) {
  sett_map_arena arena = sett_map_arena_make(memory, sizeof memory);
  sett_map zero = {0};
  sett_tile_shape failed = shape_of("f32[");
  static sett_any none, wrong_one, square;
  sett_analysis_answer answer;
  wrong_one = sett_any_parse(&arena, "4x4@strides(1", 13);
  answer = sett_layout_order(&arena, &failed, 1);
  CHECK(answer.all.kind == SETT_MAP_FAILED && answer.results == 0);
  CHECK(sett_nested_from_map(&arena, zero).error &&
        sett_nested_from_map(&arena, sett_map_fail(SETT_MAP_ERROR_FULL, 0)).error);
  answer = sett_layout_physical(&arena, &answer, &failed, &failed, 1);
  CHECK(answer.all.kind == SETT_MAP_FAILED);
  NOT_TAKEN(sett_any_in_memory(&arena, &none, &none) || sett_any_in_memory(&arena, &wrong_one, &wrong_one));
  square = sett_any_parse(&arena, "4x4@strides(4,1)", 16);
  YES(sett_any_reorder(&arena, &square, &square, 32).answer);
  OPEN(sett_any_reorder(&arena, &square, &square, 12).answer);
}

int main(void) {
  shapes();
  lists();
  checks();
  readers();
  relayouts();
  maps();
  analysis();
  nested();
  notations();
  glue();
  return failures > 0;
}
