/* The commands `shape` and `op` (a part of gen/command/sett.c): shapes with layouts, and the maps of HLO ops. */
#include "../../include/sett.h"

static int shape_error(command *self, int64_t error, int64_t column) {
  return say_error(self, (int)column, sett_tile_error_text(error));
}

static void shape_say_list(command *self, const int64_t *values, int count) {
  int i;
  for (i = 0; i < count; ++i) {
    if (i) say_text(self, ",");
    say_int(self, values[i]);
  }
}

/* A size, or - where there is none. */
static void shape_say_size(command *self, int64_t value) {
  if (value < 0) say_text(self, "-");
  else say_int(self, value);
}

/* Says a canonical text that print writes into out with capacity. */
static void shape_say_leaf(command *self, const sett_tile_shape *shape) {
  char text[2048]; /* every leaf fits: at most some 70 numbers of 20 characters */
  size_t length = sett_tile_print(shape, text, sizeof text);
  say(self, text, length);
}

/* The canonical text of the shape in front of text; the summary tells the rest. The answer grows in place. */
static void shape_say_canonical(command *self, const char *text, int whole, sett_tile_summary *summary) {
  size_t room = self->length < self->capacity ? self->capacity - self->length : 0;
  char none[1];
  self->length += sett_tile_canonical(text, strlen(text), whole, room ? self->out + self->length : none, room, summary);
}

/* Comma-separated integers, whole text; the count, or -1 after say_error. An empty text is an empty list. */
static int shape_integers(command *self, const char *text, int64_t *values, int limit) {
  const char *at = text;
  int count = 0;
  if (!*text) return 0;
  for (;;) {
    const char *start = at;
    int negative = *at == '-';
    int64_t value = 0;
    at += negative;
    if (*at < '0' || *at > '9') {
      say_error(self, (int)(start - text) + 1, "expected an integer");
      return -1;
    }
    for (; *at >= '0' && *at <= '9'; ++at) {
      int digit = *at - '0';
      if (value > (INT64_MAX - digit) / 10) {
        say_error(self, (int)(start - text) + 1, "expected an integer that fits in 64 bits, signed");
        return -1;
      }
      value = value * 10 + digit;
    }
    if (count == limit) {
      say_error(self, (int)(start - text) + 1, "expected fewer integers");
      return -1;
    }
    values[count++] = negative ? -value : value;
    if (!*at) return count;
    if (*at != ',') {
      say_error(self, (int)(at - text) + 1, "expected ',' or the end of the list");
      return -1;
    }
    ++at;
  }
}

/* ---- shape ------------------------------------------------------------------------------------------------------ */

/* A single array of the command's argument and its plan; 0 after say_error. */
static int shape_plan(command *self, const char *text, sett_tile_shape *shape, sett_tile_plan *plan) {
  *shape = sett_tile_parse(text, strlen(text));
  *plan = sett_tile_prepare(shape);
  if (plan->error) shape_error(self, plan->error, shape->error ? shape->column : 1);
  return !plan->error;
}

static int shape_canonical(command *self, const char *text) {
  sett_tile_summary summary;
  shape_say_canonical(self, text, 1, &summary);
  if (summary.error) return shape_error(self, summary.error, summary.column);
  say_text(self, "\t");
  shape_say_size(self, summary.bytes);
  return 0;
}

static int shape_scan(command *self, const char *text) {
  sett_tile_summary summary;
  char none[1];
  sett_tile_canonical(text, strlen(text), 0, none, 0, &summary);
  if (summary.error) return shape_error(self, summary.error, summary.column);
  say_int(self, summary.consumed);
  say_text(self, "\t");
  shape_say_canonical(self, text, 0, &summary);
  return 0;
}

static void shape_say_minor_to_major(command *self, const sett_tile_shape *shape) {
  int i;
  for (i = 0; i < shape->rank; ++i) {
    if (i) say_text(self, ",");
    say_int(self, shape->minor_to_major[i]);
  }
}

static void shape_say_dims(command *self, const sett_tile_shape *shape) {
  int i;
  for (i = 0; i < shape->rank; ++i) {
    if (i) say_text(self, ",");
    if (shape->dims[i] < 0) say_text(self, "?");
    else say_int(self, shape->dims[i]);
  }
}

static const char *shape_kind(const sett_tile_shape *shape) {
  if (shape->kind == SETT_TILE_TOKEN) return "token";
  if (shape->kind == SETT_TILE_OPAQUE) return "opaque";
  return sett_tile_type_name(shape->type);
}

static int shape_fields(command *self, const char *text) {
  size_t length = strlen(text);
  sett_tile_summary summary;
  sett_tile_reader reader = sett_tile_read(text, length);
  sett_tile_shape shape;
  char none[1];
  int event, leaves = 0;
  sett_tile_canonical(text, length, 1, none, 0, &summary);
  if (summary.error) return shape_error(self, summary.error, summary.column);
  while ((event = sett_tile_next(&reader, &shape))) {
    if (event != SETT_TILE_LEAF) continue;
    if (leaves++) say_text(self, "\n");
    say_text(self, shape_kind(&shape));
    say_text(self, "\t");
    shape_say_dims(self, &shape);
    say_text(self, "\t");
    shape_say_minor_to_major(self, &shape);
    say_text(self, "\t");
    shape_say_size(self, sett_tile_elements(&shape));
    say_text(self, "\t");
    shape_say_size(self, sett_tile_bytes(&shape));
    say_text(self, sett_tile_plain(&shape) ? "\tplain\t" : "\ttiled\t");
    shape_say_leaf(self, &shape);
  }
  return 0;
}

static void shape_say_tiles(command *self, const sett_tile_shape *shape) {
  int i, j, at = 0;
  if (!shape->tiles) say_text(self, "none");
  for (i = 0; i < shape->tiles; ++i) {
    say_text(self, "(");
    for (j = 0; j < shape->tile_rank[i]; ++j, ++at) {
      if (j) say_text(self, ",");
      if (shape->tile[at] == SETT_TILE_COMBINE) say_text(self, "*");
      else say_int(self, shape->tile[at]);
    }
    say_text(self, ")");
  }
}

static int shape_info(command *self, const char *text) {
  sett_tile_shape shape = sett_tile_parse(text, strlen(text)), part;
  sett_tile_plan plan;
  const int64_t *dims;
  char share[32];
  int count;
  part = sett_tile_part_shape(&shape);
  plan = sett_tile_prepare(&part);
  if (plan.error) return shape_error(self, plan.error, shape.error ? shape.column : 1);
  count = sett_tile_physical(&plan, &dims);
  say_text(self, "shape ");
  shape_say_leaf(self, &shape);
  say_text(self, "\nlogical ");
  shape_say_dims(self, &shape);
  say_text(self, "\nphysical ");
  shape_say_list(self, dims, count);
  say_text(self, "\ntiles ");
  shape_say_tiles(self, &shape);
  say_text(self, "\nelements ");
  say_int(self, sett_tile_elements(&shape));
  say_text(self, "\npositions ");
  say_int(self, plan.positions);
  say_text(self, "\nbits ");
  say_int(self, sett_tile_bits(&shape));
  say_text(self, "\nbytes ");
  say_int(self, sett_tile_bytes(&shape));
  say_text(self, "\npadding ");
  snprintf(share, sizeof share, "%.2f%%", 100 * sett_tile_padding(&shape));
  say_text(self, share);
  if (shape.splits == 0) return 0;
  say_text(self, "\nparts "); /* the sizes above are those of one */
  say_int(self, sett_tile_parts(&shape));
  return 0;
}

/* The position of an index, or -1 and the error is said. */
static int64_t shape_position(command *self, const char *text, const char *index, sett_tile_shape *shape) {
  sett_tile_plan plan;
  int64_t values[SETT_TILE_MAX_RANK], position;
  int count;
  if (!shape_plan(self, text, shape, &plan)) return -1;
  count = shape_integers(self, index, values, SETT_TILE_MAX_RANK);
  if (count < 0) return -1;
  if (count != shape->rank) return (void)say_error(self, 1, "expected as many indices as the shape has dimensions"), -1;
  position = sett_tile_position(&plan, values);
  if (position < 0) return (void)say_error(self, 1, "expected indices inside the shape"), -1;
  return position;
}

static int shape_index(command *self, const char *text, const char *index) {
  sett_tile_shape shape;
  int64_t position = shape_position(self, text, index, &shape);
  if (position < 0) return 2;
  say_int(self, position);
  return 0;
}

static int shape_element(command *self, const char *text, const char *where) {
  sett_tile_shape shape;
  sett_tile_plan plan;
  int64_t index[SETT_TILE_MAX_RANK], position;
  int count;
  if (!shape_plan(self, text, &shape, &plan)) return 2;
  count = shape_integers(self, where, &position, 1);
  if (count < 0) return 2;
  if (count != 1) return say_error(self, 1, "expected a position");
  if (position < 0 || position >= plan.positions) return say_error(self, 1, "expected a position inside the array's memory");
  if (sett_tile_element(&plan, position, index)) shape_say_list(self, index, shape.rank);
  else say_text(self, "padding");
  return 0;
}

/* ---- relations of shapes ---------------------------------------------------------------------------------------- */

/* A single array or buffer with bounded dimensions; 0 after say_error. */
static int shape_sized(command *self, const char *text, sett_tile_shape *shape) {
  int i;
  *shape = sett_tile_parse(text, strlen(text));
  if (!shape->error && (shape->kind == SETT_TILE_TOKEN || shape->kind == SETT_TILE_OPAQUE)) shape->error = SETT_TILE_ERROR_ARRAY;
  for (i = 0; i < shape->rank && !shape->error; ++i)
    if (shape->dims[i] < 0) shape->error = SETT_TILE_ERROR_UNBOUNDED;
  if (shape->error) shape_error(self, shape->error, shape->column > 0 ? shape->column : 1);
  return !shape->error;
}

/* "yes", or "no: reason" with status 1; what is not decided is an error. */
static int shape_say_answer(command *self, const sett_tile_answer *answer) {
  char text[256];
  size_t length = sett_tile_answer_print(answer, text, sizeof text);
  if (!answer->yes && !answer->no) return say_error(self, 1, text);
  say(self, text, length);
  return answer->no;
}

static int shape_bitcast(command *self, const char *a, const char *b) {
  sett_tile_shape one, other;
  sett_tile_answer answer;
  if (!shape_sized(self, a, &one)) return say_in(self, "A");
  if (!shape_sized(self, b, &other)) return say_in(self, "B");
  answer = sett_tile_same_bytes(&one, &other);
  return shape_say_answer(self, &answer);
}

/* As many integers as the shape has dimensions, in 32 bits; 0 after say_error. */
static int shape_small_integers(command *self, const char *text, int count, int32_t *values) {
  int64_t wide[SETT_TILE_MAX_RANK];
  int i, read = shape_integers(self, text, wide, SETT_TILE_MAX_RANK);
  if (read < 0) return 0;
  if (count >= 0 && read != count) {
    say_error(self, 1, "expected as many integers as the shape has dimensions");
    return 0;
  }
  for (i = 0; i < read; ++i) values[i] = wide[i] < 0 || wide[i] > 255 ? -1 : (int32_t)wide[i];
  return 1;
}

/* transpose A B: the permutation for which it is a bitcast; transpose A B P,P,..: whether it is for that one. */
static int shape_transpose(command *self, const char *a, const char *b, const char *permutation) {
  sett_tile_shape one, other;
  sett_tile_answer answer;
  int32_t order[SETT_TILE_MAX_RANK];
  int i;
  if (!shape_sized(self, a, &one) || !shape_sized(self, b, &other)) return 2;
  if (permutation) {
    if (!shape_small_integers(self, permutation, one.rank, order)) return 2;
    answer = sett_tile_transpose_is_bitcast(&one, &other, order, SETT_TILE_SAME_BITS);
    return shape_say_answer(self, &answer);
  }
  answer = sett_tile_find_transpose(&one, &other, order, SETT_TILE_SAME_BITS);
  if (!answer.yes) return shape_say_answer(self, &answer);
  for (i = 0; i < one.rank; ++i) {
    if (i) say_text(self, ",");
    say_int(self, order[i]);
  }
  return 0;
}

static void shape_say_order(command *self, const int32_t *order, int count) {
  int i;
  for (i = 0; i < count; ++i) {
    if (i) say_text(self, ",");
    say_int(self, order[i]);
  }
}

/* The parts of a bitcast, one a line: transpose P,P,.. SHAPE, reshape SHAPE. */
static int shape_decompose(command *self, const char *a, const char *b) {
  sett_tile_shape one, other;
  sett_tile_decomposition parts;
  if (!shape_sized(self, a, &one) || !shape_sized(self, b, &other)) return 2;
  parts = sett_tile_decompose(&one, &other);
  if (parts.form == SETT_TILE_NO_FORM) return shape_say_answer(self, &parts.answer);
  if (parts.form != SETT_TILE_RESHAPE) {
    say_text(self, "transpose ");
    shape_say_order(self, parts.first, one.rank);
    say_text(self, " ");
    shape_say_leaf(self, &parts.before);
  }
  if (parts.form == SETT_TILE_TRANSPOSE) return 0;
  if (parts.form != SETT_TILE_RESHAPE) say_text(self, "\n");
  say_text(self, "reshape ");
  shape_say_leaf(self, &parts.after);
  if (parts.form == SETT_TILE_RESHAPE) return 0;
  say_text(self, "\ntranspose ");
  shape_say_order(self, parts.second, other.rank);
  say_text(self, " ");
  shape_say_leaf(self, &other);
  return 0;
}

static int shape_align(command *self, const char *text, const char *dims) {
  sett_tile_shape shape, other;
  sett_tile_answer answer;
  int64_t values[SETT_TILE_MAX_RANK];
  int count;
  if (!shape_sized(self, text, &shape)) return 2;
  count = shape_integers(self, dims, values, SETT_TILE_MAX_RANK);
  if (count < 0) return 2;
  other = sett_tile_align(&shape, count, values, &answer);
  if (!answer.yes) return shape_say_answer(self, &answer);
  shape_say_leaf(self, &other);
  return 0;
}

static int shape_untiled(command *self, const char *text) {
  sett_tile_shape shape;
  sett_tile_answer answer;
  if (!shape_sized(self, text, &shape)) return 2;
  answer = sett_tile_tiling_is_noop(&shape);
  return shape_say_answer(self, &answer);
}

enum { SHAPE_PERMUTE, SHAPE_DELETE, SHAPE_MOVE };

/* The shape after a change of its dimensions: permute P,P,.. ; delete D,D,.. ; move D,PLACE (0: most minor). */
static int shape_change(command *self, const char *text, const char *how, int what) {
  sett_tile_shape shape = sett_tile_parse(text, strlen(text));
  int32_t values[SETT_TILE_MAX_RANK];
  int64_t wide[SETT_TILE_MAX_RANK];
  int i, count = shape_integers(self, how, wide, SETT_TILE_MAX_RANK);
  if (shape.error) return shape_error(self, shape.error, shape.column);
  if (count < 0 || !shape_small_integers(self, how, what == SHAPE_PERMUTE ? shape.rank : -1, values)) return 2;
  if (what == SHAPE_MOVE && count != 2) return say_error(self, 1, "expected a dimension and its place");
  if (what == SHAPE_PERMUTE) shape = sett_tile_permute(&shape, values);
  if (what == SHAPE_MOVE) shape = sett_tile_move(&shape, values[0], values[1]);
  for (i = 0; what == SHAPE_DELETE && i < count; ++i) {
    int j, dim = values[i];
    for (j = 0; j < i; ++j) {
      if (values[j] == values[i]) return say_error(self, 1, "expected each dimension once");
      dim -= values[j] < values[i];
    }
    shape = sett_tile_delete(&shape, dim);
  }
  if (shape.error) return shape_error(self, shape.error, 1);
  shape_say_leaf(self, &shape);
  return 0;
}

static int shape_descending(command *self, const char *text) {
  sett_tile_shape shape = sett_tile_parse(text, strlen(text));
  if (shape.error) return shape_error(self, shape.error, shape.column);
  shape = sett_tile_descending(&shape);
  shape_say_leaf(self, &shape);
  return 0;
}

/* Bytes between neighbours along each dimension; "no" where there are no such numbers. */
static int shape_strides(command *self, const char *text) {
  sett_tile_shape shape;
  sett_tile_plan plan;
  sett_tile_answer answer;
  int64_t strides[SETT_TILE_MAX_RANK];
  if (!shape_plan(self, text, &shape, &plan)) return 2;
  answer = sett_tile_byte_strides(&shape, strides);
  if (!answer.yes) return shape_say_answer(self, &answer);
  shape_say_list(self, strides, shape.rank);
  return 0;
}

/* byte B, bits F..L: where the element at an index lies. */
static int shape_bits(command *self, const char *text, const char *index) {
  sett_tile_shape shape;
  sett_tile_place place;
  int64_t position = shape_position(self, text, index, &shape);
  if (position < 0) return 2;
  place = sett_tile_place_of(&shape, position);
  say_text(self, "byte ");
  say_int(self, place.byte);
  say_text(self, ", bits ");
  say_int(self, place.shift);
  say_text(self, "..");
  say_int(self, place.shift + place.bits - 1);
  return 0;
}

static void shape_say_share(command *self, double share) {
  char text[32];
  snprintf(text, sizeof text, "%.2f%%", 100 * share);
  say_text(self, text);
}

/* The formats of TPUs for the shape, one a line: *, where the document takes it, name, shape, bytes, padding. */
static int shape_formats(command *self, const char *text) {
  sett_tile_shape shape;
  sett_tile_format format[SETT_TILE_FORMAT_COUNT];
  int i, count;
  if (!shape_sized(self, text, &shape)) return 2;
  count = sett_tile_formats(&shape, format);
  for (i = 0; i < count; ++i) {
    if (i) say_text(self, "\n");
    say_text(self, format[i].chosen ? "*\t" : "\t");
    say_text(self, format[i].name);
    say_text(self, "\t");
    if (format[i].shape.error) {
      say_text(self, sett_tile_error_text(format[i].shape.error));
      continue;
    }
    shape_say_leaf(self, &format[i].shape);
    say_text(self, "\t");
    shape_say_size(self, sett_tile_bytes(&format[i].shape));
    say_text(self, "\t");
    shape_say_share(self, format[i].padding);
  }
  return 0;
}

/* The steps of the definition, one a line: what is done, and the dimensions after it. */
static int shape_steps(command *self, const char *text) {
  static const char *const names[] = {"combine", "pad", "reshape", "transpose"};
  sett_tile_shape shape;
  sett_tile_plan plan;
  int64_t dims[SETT_TILE_MAX_LIST];
  int tile, stage, i;
  if (!shape_plan(self, text, &shape, &plan)) return 2;
  say_text(self, "physical ");
  for (i = shape.rank; i-- > 0;) {
    say_int(self, shape.dims[shape.minor_to_major[i]]);
    if (i) say_text(self, ",");
  }
  for (tile = 0; tile < plan.tiles; ++tile)
    for (stage = SETT_TILE_COMBINED; stage <= SETT_TILE_TRANSPOSED; ++stage) {
      int count = sett_tile_stage(&plan, tile, stage, dims);
      say_text(self, "\n");
      say_text(self, names[stage]);
      say_text(self, " ");
      shape_say_list(self, dims, count);
    }
  return 0;
}

/* Of a split array: the number of parts, a tab, the shape of a part; with an index: the part, a tab, the index in it. */
static int shape_parts(command *self, const char *text, const char *index) {
  sett_tile_shape shape;
  int64_t values[SETT_TILE_MAX_RANK], own[SETT_TILE_MAX_RANK], part;
  int count;
  if (!shape_sized(self, text, &shape)) return 2;
  if (!index) {
    sett_tile_shape memory = sett_tile_part_shape(&shape);
    say_int(self, sett_tile_parts(&shape));
    say_text(self, "\t");
    shape_say_leaf(self, &memory);
    return 0;
  }
  count = shape_integers(self, index, values, SETT_TILE_MAX_RANK);
  if (count < 0) return 2;
  if (count != shape.rank) return say_error(self, 1, "expected as many indices as the shape has dimensions");
  part = sett_tile_part(&shape, values, own);
  if (part < 0) return say_error(self, 1, "expected indices inside the shape");
  say_int(self, part);
  say_text(self, "\t");
  shape_say_list(self, own, shape.rank);
  return 0;
}

/* Bytes up to the end of the last element; sett_tile_bytes counts the padding behind it too. */
static int shape_data(command *self, const char *text) {
  sett_tile_shape shape;
  sett_tile_plan plan;
  sett_tile_place end;
  int64_t data;
  if (!shape_plan(self, text, &shape, &plan)) return 2;
  data = sett_tile_data_positions(&plan);
  if (data < 0) return say_error(self, 1, "not decided: too much padding behind the last element");
  end = sett_tile_place_of(&shape, data);
  say_int(self, end.byte + (end.shift > 0));
  return 0;
}

static int shape_major(command *self, const char *text, const char *dim) {
  sett_tile_shape shape;
  int64_t which;
  int count;
  if (!shape_sized(self, text, &shape)) return 2;
  count = shape_integers(self, dim, &which, 1);
  if (count < 0) return 2;
  if (count != 1 || which < 0 || which >= shape.rank) return say_error(self, 1, "expected a dimension of the shape");
  say_text(self, sett_tile_is_most_major(&shape, (int)which) ? "yes" : "no: a larger dimension is more major");
  return !sett_tile_is_most_major(&shape, (int)which);
}

/* A transposition with what moves together made one: dims, a tab, permutation. */
static int shape_normal(command *self, const char *dims, const char *permutation) {
  int64_t from[SETT_TILE_MAX_RANK], to[SETT_TILE_MAX_RANK] = {0};
  int32_t order[SETT_TILE_MAX_RANK], made[SETT_TILE_MAX_RANK] = {0};
  int count = shape_integers(self, dims, from, SETT_TILE_MAX_RANK);
  if (count < 0 || !shape_small_integers(self, permutation, count, order)) return 2;
  count = sett_tile_normal_transpose(count, from, order, to, made);
  if (count < 0) return say_error(self, 1, "expected a permutation of the dimensions");
  shape_say_list(self, to, count);
  say_text(self, "\t");
  shape_say_order(self, made, count);
  return 0;
}

/* The dimensions that a reshape leaves alone: from:to, .. */
static int shape_kept(command *self, const char *dims, const char *to_dims) {
  int64_t from[SETT_TILE_MAX_RANK], to[SETT_TILE_MAX_RANK];
  int32_t a[SETT_TILE_MAX_RANK], b[SETT_TILE_MAX_RANK];
  int i, rank = shape_integers(self, dims, from, SETT_TILE_MAX_RANK), to_rank, count;
  if (rank < 0) return 2;
  to_rank = shape_integers(self, to_dims, to, SETT_TILE_MAX_RANK);
  if (to_rank < 0) return 2;
  count = sett_tile_kept_dims(rank, from, to_rank, to, a, b);
  for (i = 0; i < count; ++i) {
    if (i) say_text(self, ",");
    say_int(self, a[i]);
    say_text(self, ":");
    say_int(self, b[i]);
  }
  return 0;
}

/* ---- maps of shapes --------------------------------------------------------------------------------------------- */

/* Prints a map, or says its error; the exit status. */
static int shape_say_map(command *self, sett_map_arena *arena, sett_map map) {
  size_t room = self->length < self->capacity ? self->capacity - self->length : 0;
  char none[1];
  if (map.kind == SETT_MAP_FAILED) return say_error(self, map.column, sett_error_message(map.error));
  self->length += sett_map_print(arena, map, room ? self->out + self->length : none, room);
  return 0;
}

/* The same for the simplified map; where simplifying finds no room the map as it was built is as right. */
static int shape_say_tidy(command *self, sett_map_arena *arena, sett_map map) {
  sett_map_mark mark = sett_map_arena_mark(arena);
  sett_map tidy = sett_map_simplify(arena, map);
  if (tidy.kind != SETT_MAP_FAILED) return shape_say_map(self, arena, tidy);
  sett_map_arena_rewind(arena, mark);
  return shape_say_map(self, arena, map);
}

static int shape_map(command *self, const char *text, int inverse) {
  sett_map_arena arena = command_arena();
  sett_tile_shape shape;
  sett_tile_plan plan;
  sett_map map;
  if (!shape_plan(self, text, &shape, &plan)) return 2;
  map = inverse ? sett_layout_unmap(&arena, &shape) : sett_layout_map(&arena, &shape);
  return shape_say_tidy(self, &arena, map);
}

/* Every form of the command: verb and number of words after it. */
static int command_shape(command *self) {
  int words = self->argc - 2;
  const char *verb = self->argc > 1 ? self->argv[1] : "";
  const char *first = words > 0 ? self->argv[2] : "", *second = words > 1 ? self->argv[3] : "";
  if (words == 0) return shape_canonical(self, verb);
  if (words == 1 && !strcmp(verb, "scan")) return shape_scan(self, first);
  if (words == 1 && !strcmp(verb, "fields")) return shape_fields(self, first);
  if (words == 1 && !strcmp(verb, "info")) return shape_info(self, first);
  if (words == 2 && !strcmp(verb, "index")) return shape_index(self, first, second);
  if (words == 2 && !strcmp(verb, "element")) return shape_element(self, first, second);
  if (words == 2 && !strcmp(verb, "bitcast")) return shape_bitcast(self, first, second);
  if (words == 1 && !strcmp(verb, "map")) return shape_map(self, first, 0);
  if (words == 1 && !strcmp(verb, "unmap")) return shape_map(self, first, 1);
  if (words == 2 && !strcmp(verb, "transpose")) return shape_transpose(self, first, second, NULL);
  if (words == 3 && !strcmp(verb, "transpose")) return shape_transpose(self, first, second, self->argv[4]);
  if (words == 2 && !strcmp(verb, "decompose")) return shape_decompose(self, first, second);
  if (words == 2 && !strcmp(verb, "align")) return shape_align(self, first, second);
  if (words == 1 && !strcmp(verb, "untiled")) return shape_untiled(self, first);
  if (words == 2 && !strcmp(verb, "permute")) return shape_change(self, first, second, SHAPE_PERMUTE);
  if (words == 2 && !strcmp(verb, "delete")) return shape_change(self, first, second, SHAPE_DELETE);
  if (words == 2 && !strcmp(verb, "move")) return shape_change(self, first, second, SHAPE_MOVE);
  if (words == 1 && !strcmp(verb, "descending")) return shape_descending(self, first);
  if (words == 1 && !strcmp(verb, "data")) return shape_data(self, first);
  if (words == 2 && !strcmp(verb, "major")) return shape_major(self, first, second);
  if (words == 2 && !strcmp(verb, "normal")) return shape_normal(self, first, second);
  if (words == 2 && !strcmp(verb, "kept")) return shape_kept(self, first, second);
  if (words == 1 && !strcmp(verb, "strides")) return shape_strides(self, first);
  if (words == 2 && !strcmp(verb, "bits")) return shape_bits(self, first, second);
  if (words == 1 && !strcmp(verb, "formats")) return shape_formats(self, first);
  if (words == 1 && !strcmp(verb, "steps")) return shape_steps(self, first);
  if (words == 1 && !strcmp(verb, "parts")) return shape_parts(self, first, NULL);
  if (words == 2 && !strcmp(verb, "parts")) return shape_parts(self, first, second);
  return say_error(self, 0, "expected shape SHAPE, shape info|map|unmap|fields|scan|formats|steps|strides|data|untiled|descending SHAPE, "
                            "shape index|bits SHAPE I,J,.., shape element SHAPE POSITION, shape bitcast|decompose A B, "
                            "shape transpose A B [P,P,..], shape align SHAPE DIMS, shape permute|delete SHAPE DIMENSIONS, "
                            "shape move SHAPE DIMENSION,PLACE, shape major SHAPE DIMENSION, shape normal DIMS P,P,.., shape kept DIMS DIMS or shape parts SHAPE [I,J,..]");
}

/* ---- op --------------------------------------------------------------------------------------------------------- */

enum { OP_OPERANDS = 4096, OP_VALUES = 65536 };

/* The lists that one `op` command names. */
typedef struct {
  int used;
  int from_operand, all; /* from=operand; all=1: what the map is and what its runtime variables are too */
  sett_analysis_op op;
  sett_analysis_list in[OP_OPERANDS];
  int64_t values[OP_VALUES];
} op_lists;

/* The attribute of that key; in, in0, in1, .. are operands' dimensions. NULL when there is no such key. */
static sett_analysis_list *op_key(op_lists *lists, const char *key, size_t length) {
  struct {
    const char *key;
    sett_analysis_list *list;
  } keys[] = {
      {"out", &lists->op.out},           {"dimensions", &lists->op.dimensions}, {"dimension", &lists->op.dimensions},
      {"start", &lists->op.start},       {"stride", &lists->op.stride},         {"low", &lists->op.low},
      {"high", &lists->op.high},         {"interior", &lists->op.interior},     {"out_layout", &lists->op.out_layout},
      {"in_layout", &lists->op.in_layout}, {"window", &lists->op.window},
      {"base_dilation", &lists->op.base_dilation}, {"window_dilation", &lists->op.window_dilation},
      {"reversal", &lists->op.reversal}, {"lhs_batch", &lists->op.lhs_batch},
      {"rhs_batch", &lists->op.rhs_batch}, {"lhs_contracting", &lists->op.lhs_contracting},
      {"rhs_contracting", &lists->op.rhs_contracting}, {"lhs_labels", &lists->op.lhs_labels},
      {"rhs_labels", &lists->op.rhs_labels}, {"out_labels", &lists->op.out_labels},
      {"offset_dims", &lists->op.offset_dims}, {"collapsed", &lists->op.collapsed},
      {"start_index_map", &lists->op.start_index_map}, {"operand_batching", &lists->op.operand_batching},
      {"indices_batching", &lists->op.indices_batching}, {"slice_sizes", &lists->op.slice_sizes}};
  size_t i;
  long number = 0;
  for (i = 0; i < sizeof keys / sizeof keys[0]; ++i)
    if (strlen(keys[i].key) == length && !memcmp(keys[i].key, key, length)) return keys[i].list;
  if (length < 2 || key[0] != 'i' || key[1] != 'n') return NULL;
  if (length == 2) return &lists->in[lists->op.operand];
  for (i = 2; i < length; ++i) {
    if (key[i] < '0' || key[i] > '9') return NULL;
    number = number * 10 + (key[i] - '0');
    if (number >= OP_OPERANDS) return NULL;
  }
  return &lists->in[number];
}

/* One word key=v,v,..; 0 after say_error. */
static int op_word(command *self, op_lists *lists, const char *word) {
  const char *equal = strchr(word, '=');
  sett_analysis_list *list = equal ? op_key(lists, word, (size_t)(equal - word)) : NULL;
  int count, operand;
  struct {
    const char *key;
    int64_t *value;
  } numbers[] = {{"feature_groups=", &lists->op.feature_groups},
                 {"batch_groups=", &lists->op.batch_groups},
                 {"index_vector_dim=", &lists->op.index_vector_dim},
                 {"joint=", &lists->op.joint}};
  size_t i;
  if (!strcmp(word, "from=operand")) return lists->from_operand = 1;
  if (!strcmp(word, "all=1")) return lists->all = 1;
  for (i = 0; i < sizeof numbers / sizeof numbers[0]; ++i)
    if (!strncmp(word, numbers[i].key, strlen(numbers[i].key))) {
      count = shape_integers(self, word + strlen(numbers[i].key), numbers[i].value, 1);
      if (count == 0) say_error(self, (int)strlen(numbers[i].key) + 1, "expected an integer");
      return count == 1;
    }
  if (!list) {
    say_error(self, 1, "expected a list that this op has, out=, in=, in0=, dimensions=, start=, .. (sett_analysis_op "
                       "names them all), from=operand or all=1");
    return 0;
  }
  count = shape_integers(self, equal + 1, lists->values + lists->used, OP_VALUES - lists->used);
  if (count < 0) return 0;
  list->count = count;
  list->values = lists->values + lists->used;
  lists->used += count;
  if (list < lists->in || list >= lists->in + OP_OPERANDS) return 1;
  operand = (int)(list - lists->in);
  if (operand >= lists->op.operands) lists->op.operands = operand + 1;
  return 1;
}

/* The map; with all=1 then lines: exact or `covering: reason`, the replica, and what each runtime variable is. */
static int op_say(command *self, sett_map_arena *arena, const sett_analysis_answer *answer) {
  sett_analysis_answer tidy = sett_analysis_tidy(arena, answer, 0);
  sett_map map = sett_analysis_map(&tidy);
  int k;
  if (map.kind == SETT_MAP_FAILED) return shape_say_map(self, arena, map);
  shape_say_map(self, arena, map);
  say_text(self, tidy.kind == SETT_ANALYSIS_COVERING ? "\ncovering: " : "\nexact");
  say_text(self, tidy.reason);
  if (tidy.replica) {
    say_text(self, "\nreplica ");
    shape_say_map(self, arena, sett_analysis_replica(&tidy));
  }
  for (k = 0; k < tidy.runtimes; ++k) {
    say_text(self, tidy.runtime[k].clamped ? "\nclamped " : "\nchecked ");
    say_int(self, tidy.runtime[k].operand);
    say_text(self, " ");
    shape_say_map(self, arena, sett_analysis_runtime_map(&tidy, k));
  }
  return 0;
}

/* op OPCODE OPERAND key=v,v,.. ..  : the map from the output to that operand. */
static int command_op(command *self) {
  static op_lists lists;
  sett_analysis_answer answer;
  const char *name = self->argc > 1 ? self->argv[1] : "";
  sett_map_arena arena = command_arena();
  int64_t operand;
  int i;
  if (self->argc < 3) return say_error(self, 0, "expected op OPCODE OPERAND key=value,value,.. ..");
  lists.used = lists.from_operand = lists.all = 0;
  memset(&lists.op, 0, sizeof lists.op);
  memset(lists.in, 0, sizeof lists.in);
  lists.op.opcode = !strcmp(name, "reduce-init") ? SETT_ANALYSIS_SCALAR : sett_analysis_opcode_find(name);
  if (lists.op.opcode == SETT_ANALYSIS_NONE)
    return say_error(self, 1, "expected elementwise, broadcast, transpose, reshape, bitcast, bitcast-convert, slice, reverse, "
                              "pad, concatenate, reduce, reduce-init, reduce-window, select-and-scatter, dot, scaled-dot, "
                              "convolution, dynamic-slice, dynamic-update-slice, gather, scatter, all-gather or scalar");
  i = shape_integers(self, self->argv[2], &operand, 1);
  if (i < 0) return 2;
  if (i == 0 || operand < 0 || operand >= OP_OPERANDS) return say_error(self, 1, "expected the number of an operand");
  lists.op.operand = (int)operand;
  lists.op.in = lists.in;
  for (i = 3; i < self->argc; ++i)
    if (!op_word(self, &lists, self->argv[i])) return 2;
  answer = lists.from_operand ? sett_analysis_from_operand(&arena, &lists.op) : sett_analysis_from_output(&arena, &lists.op);
  return lists.all ? op_say(self, &arena, &answer) : shape_say_tidy(self, &arena, sett_analysis_map(&answer));
}
