/* The commands `shape` and `op` (included by gen/command/sett.c): shapes with layouts, and the maps of HLO ops. */
#include "../../include/sett.h"

static int shape_error(command *self, int error, int64_t column) {
  return say_error(self, (int)column, sett_tile_message(error));
}

static void shape_say_list(command *self, const int64_t *values, int count) {
  int i;
  for (i = 0; i < count; ++i) {
    if (i) say_text(self, ",");
    say_int(self, values[i]);
  }
}

/* Writes a size, or - if it is unknown. */
static void shape_say_size(command *self, int64_t value) {
  if (value < 0) say_text(self, "-");
  else say_int(self, value);
}

/* Writes the canonical text of an array shape. */
static void shape_say_leaf(command *self, const sett_tile_shape *shape) {
  char text[2048]; /* enough for every array shape: about 70 numbers of at most 20 characters */
  size_t length = sett_tile_print(shape, text, sizeof text);
  say(self, text, length);
}

/* Writes the canonical text of the shape at the start of `text`, and fills in the summary. The text is written to the
 * answer directly, because it has no maximum length. */
static void shape_say_canonical(command *self, const char *text, int whole, sett_tile_summary *summary) {
  size_t room = self->length < self->capacity ? self->capacity - self->length : 0;
  char none[1];
  self->length += sett_tile_canonical(text, strlen(text), whole, room ? self->out + self->length : none, room, summary);
}

/* Reads integers separated by commas, from text + skip to its end. Returns how many there are, 0 for an empty text; -1
 * after say_error. */
static int shape_integers_after(command *self, const char *text, size_t skip, int64_t *values, int limit) {
  const char *at = reading(self, text) + skip;
  int count = 0;
  if (!*at) return 0;
  for (;;) {
    const char *start = at;
    int64_t value = 0;
    int found = read_integer(&at, at + strlen(at), &value);
    if (found != 1) {
      say_error(self, (int)(start - text) + 1, found ? SAY_INTEGER_FITS : "expected an integer");
      return -1;
    }
    if (count == limit) {
      char message[64];
      snprintf(message, sizeof message, "expected at most %d integers", limit);
      say_error(self, (int)(start - text) + 1, message);
      return -1;
    }
    values[count++] = value;
    if (!*at) return count;
    if (*at != ',') {
      say_error(self, (int)(at - text) + 1, "expected ',' or the end of the list");
      return -1;
    }
    ++at;
  }
}

static int shape_integers(command *self, const char *text, int64_t *values, int limit) {
  return shape_integers_after(self, text, 0, values, limit);
}

/* ---- shape ------------------------------------------------------------------------------------------------------ */

/* Reads a single array shape and makes its plan. Returns 0 after say_error. */
static int shape_plan(command *self, const char *text, sett_tile_shape *shape, sett_tile_plan *plan) {
  *shape = sett_tile_parse(reading(self, text), strlen(text));
  *plan = sett_tile_prepare(shape);
  if (plan->error) shape_error(self, plan->error, shape->error ? shape->column : 1);
  return !plan->error;
}

static int shape_canonical(command *self) {
  const char *text = self->argv[1];
  sett_tile_summary summary;
  shape_say_canonical(self, text, 1, &summary);
  if (summary.error) return shape_error(self, summary.error, summary.column);
  say_text(self, "\t");
  shape_say_size(self, summary.bytes);
  return 0;
}

static int shape_scan(command *self) {
  const char *text = self->argv[2];
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

static int shape_fields(command *self) {
  const char *text = self->argv[2];
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
    say_text(self, sett_tile_bits(&shape) < 0 || sett_tile_plain(&shape) ? "\tplain\t" : "\ttiled\t");
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

static int shape_info(command *self) {
  const char *text = self->argv[2];
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
  say_text(self, "\nparts "); /* the sizes above are those of one part of a split array */
  say_int(self, sett_tile_parts(&shape));
  return 0;
}

/* Writes the first index of a list that is outside of the shape. */
static int shape_say_outside(command *self, const sett_tile_shape *shape, const char *text, const int64_t *index) {
  const char *at = text;
  char message[96];
  int d = 0;
  for (; index[d] >= 0 && index[d] < shape->dims[d]; ++d) at = strchr(at, ',') + 1;
  snprintf(message, sizeof message, "expected 0 <= index < %lld in dimension %d", (long long)shape->dims[d], d);
  return say_error(self, (int)(at - text) + 1, message);
}

/* Returns the linear position of an index; -1 after say_error. */
static int64_t shape_position(command *self, const char *text, const char *index, sett_tile_shape *shape) {
  sett_tile_plan plan;
  int64_t values[SETT_TILE_MAX_RANK], position;
  int count;
  if (!shape_plan(self, text, shape, &plan)) return -1;
  count = shape_integers(self, index, values, SETT_TILE_MAX_RANK);
  if (count < 0) return -1;
  if (count != shape->rank) return (void)say_error(self, 1, "expected as many indices as the shape has dimensions"), -1;
  position = sett_tile_position(&plan, values);
  if (position < 0) shape_say_outside(self, shape, index, values);
  return position;
}

static int shape_index(command *self) {
  const char *text = self->argv[2], *index = self->argv[3];
  sett_tile_shape shape;
  int64_t position = shape_position(self, text, index, &shape);
  if (position < 0) return 2;
  say_int(self, position);
  return 0;
}

static int shape_element(command *self) {
  const char *text = self->argv[2], *where = self->argv[3];
  sett_tile_shape shape;
  sett_tile_plan plan;
  int64_t index[SETT_TILE_MAX_RANK], position;
  int count;
  if (!shape_plan(self, text, &shape, &plan)) return 2;
  count = shape_integers(self, where, &position, 1);
  if (count < 0) return 2;
  if (count != 1) return say_error(self, 1, "expected a position");
  if (position < 0 || position >= plan.positions) {
    char message[64];
    snprintf(message, sizeof message, "expected 0 <= position < %lld", (long long)plan.positions);
    return say_error(self, 1, message);
  }
  if (sett_tile_element(&plan, position, index)) shape_say_list(self, index, shape.rank);
  else say_text(self, "padding");
  return 0;
}

/* ---- relations of shapes ---------------------------------------------------------------------------------------- */

/* Reads the shape of a single array or buffer whose dimensions are all bounded. Returns 0 after say_error. */
static int shape_sized(command *self, const char *text, sett_tile_shape *shape) {
  int i;
  *shape = sett_tile_parse(reading(self, text), strlen(text));
  if (!shape->error && (shape->kind == SETT_TILE_TOKEN || shape->kind == SETT_TILE_OPAQUE))
    shape->error = SETT_TILE_ERROR_ARRAY;
  for (i = 0; i < shape->rank && !shape->error; ++i)
    if (shape->dims[i] < 0) shape->error = SETT_TILE_ERROR_UNBOUNDED;
  if (shape->error) shape_error(self, shape->error, shape->column > 0 ? shape->column : 1);
  return !shape->error;
}

/* Writes "yes", or "no: reason" with status 1. An undecided question is an error. */
static int shape_say_answer(command *self, const sett_tile_answer *answer) {
  char text[256];
  size_t length = sett_tile_answer_print(answer, text, sizeof text);
  if (!answer->yes && !answer->no) return say_error(self, 1, text);
  say(self, text, length);
  return answer->no;
}

static void shape_say_order(command *self, const int32_t *order, int count) {
  int i;
  for (i = 0; i < count; ++i) {
    if (i) say_text(self, ",");
    say_int(self, order[i]);
  }
}

static int shape_bitcast(command *self) {
  const char *a = self->argv[2], *b = self->argv[3];
  sett_tile_shape one, other;
  sett_tile_answer answer;
  int32_t order[SETT_TILE_MAX_RANK];
  if (!shape_sized(self, a, &one) || !shape_sized(self, b, &other)) return 2;
  answer = sett_tile_same_bytes(&one, &other);
  if (!answer.no || !sett_tile_find_transpose(&one, &other, order, SETT_TILE_SAME_BITS).yes)
    return shape_say_answer(self, &answer);
  shape_say_answer(self, &answer);
  say_text(self, "; as a transpose by ");
  shape_say_order(self, order, other.rank);
  say_text(self, ": yes");
  return 1;
}

/* Reads one 32-bit integer for each dimension. Returns 0 after say_error. */
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

/* Runs `transpose A B` and `transpose A B P,P,..`. The first writes a permutation for which the transpose from A to B
 * is a bitcast. The second says whether the transpose by the permutation P,P,.. is a bitcast. */
static int shape_transpose(command *self) {
  const char *a = self->argv[2], *b = self->argv[3], *permutation = self->argc > 4 ? self->argv[4] : NULL;
  sett_tile_shape one, other;
  sett_tile_answer answer;
  int32_t order[SETT_TILE_MAX_RANK];
  if (!shape_sized(self, a, &one) || !shape_sized(self, b, &other)) return 2;
  if (permutation) {
    if (!shape_small_integers(self, permutation, one.rank, order)) return 2;
    answer = sett_tile_transpose_is_bitcast(&one, &other, order, SETT_TILE_SAME_BITS);
    return shape_say_answer(self, &answer);
  }
  answer = sett_tile_find_transpose(&one, &other, order, SETT_TILE_SAME_BITS);
  if (!answer.yes) return shape_say_answer(self, &answer);
  shape_say_order(self, order, one.rank);
  return 0;
}

/* Writes the ops that a bitcast consists of, one per line: transpose P,P,.. SHAPE, or reshape SHAPE. */
static int shape_decompose(command *self) {
  const char *a = self->argv[2], *b = self->argv[3];
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

static int shape_align(command *self) {
  const char *text = self->argv[2], *dims = self->argv[3];
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

/* Sets by[d] to the size of the first tile in dimension d. All are 1 if tiles do not change the layout, combine
 * dimensions, or have more dimensions than the array. */
static void shape_first_tile(const sett_tile_shape *shape, int64_t *by) {
  int i, count = 0, simple = !sett_tile_plain(shape) && shape->tiles > 0 && shape->tile_rank[0] <= shape->rank;
  for (i = 0; i < shape->tiles; ++i) count += shape->tile_rank[i];
  for (i = 0; i < count; ++i) simple &= shape->tile[i] != SETT_TILE_COMBINE;
  for (i = 0; i < shape->rank; ++i) by[i] = 1;
  for (i = 0; simple && i < shape->tile_rank[0]; ++i)
    by[shape->minor_to_major[i]] = shape->tile[shape->tile_rank[0] - 1 - i];
}

static int shape_tile(command *self) {
  const char *text = self->argv[2];
  sett_tile_shape shape;
  int64_t by[SETT_TILE_MAX_RANK];
  if (!shape_sized(self, text, &shape)) return 2;
  shape_first_tile(&shape, by);
  shape_say_list(self, by, shape.rank);
  return 0;
}

/* Writes the layout of one part of a split array. The part has the given dimensions, no padded tail, and a first tile
 * that is no larger than the part. */
static int shape_cut(command *self) {
  const char *text = self->argv[2], *dims = self->argv[3];
  sett_tile_shape shape;
  sett_tile_plan plan;
  int64_t by[SETT_TILE_MAX_RANK];
  int i, larger = 0, count;
  if (!shape_sized(self, text, &shape)) return 2;
  shape_first_tile(&shape, by);
  count = shape_integers(self, dims, shape.dims, SETT_TILE_MAX_RANK);
  if (count < 0) return 2;
  if (count != shape.rank) return say_error(self, 1, "expected as many dimensions as the shape has");
  for (i = 0; i < count; ++i)
    if (shape.dims[i] < 1) return say_error(self, 1, "expected dimensions of at least 1");
  shape.tail = 0;
  shape.dynamic = 0;
  for (i = 0; i < shape.rank; ++i) larger |= by[i] > shape.dims[i];
  for (i = 0; larger && i < shape.tile_rank[0]; ++i) {
    int d = shape.minor_to_major[i];
    if (by[d] > shape.dims[d]) shape.tile[shape.tile_rank[0] - 1 - i] = shape.dims[d];
  }
  plan = sett_tile_prepare(&shape);
  if (plan.error) return shape_error(self, plan.error, 1);
  shape_say_leaf(self, &shape);
  return 0;
}

static int shape_untiled(command *self) {
  const char *text = self->argv[2];
  sett_tile_shape shape;
  sett_tile_answer answer;
  if (!shape_sized(self, text, &shape)) return 2;
  answer = sett_tile_tiling_is_noop(&shape);
  return shape_say_answer(self, &answer);
}

enum { SHAPE_PERMUTE, SHAPE_DELETE, SHAPE_MOVE };

/* Writes the shape after one of the changes permute P,P,..; delete D,D,..; move D,PLACE (place 0 is the most minor). */
static int shape_change(command *self, int what) {
  const char *text = self->argv[2], *how = self->argv[3];
  sett_tile_shape shape = sett_tile_parse(reading(self, text), strlen(text));
  int32_t values[SETT_TILE_MAX_RANK];
  int64_t wide[SETT_TILE_MAX_RANK];
  int i, count;
  if (shape.error) return shape_error(self, shape.error, shape.column);
  count = shape_integers(self, how, wide, SETT_TILE_MAX_RANK);
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

static int shape_permute(command *self) { return shape_change(self, SHAPE_PERMUTE); }
static int shape_delete(command *self) { return shape_change(self, SHAPE_DELETE); }
static int shape_move(command *self) { return shape_change(self, SHAPE_MOVE); }

static int shape_descending(command *self) {
  const char *text = self->argv[2];
  sett_tile_shape shape = sett_tile_parse(text, strlen(text));
  if (shape.error) return shape_error(self, shape.error, shape.column);
  shape = sett_tile_descending(&shape);
  shape_say_leaf(self, &shape);
  return 0;
}

/* Writes the witness that a layout is not linear: `no: strides S,S,.. would put [I,J,..] at position P; it is at
 * position Q`. The stride of a dimension is the position of the element whose index is 1 there and 0 elsewhere. */
static int shape_say_witness(command *self, const sett_tile_shape *shape, const sett_tile_plan *plan,
                             const sett_tile_answer *answer) {
  int64_t index[SETT_TILE_MAX_RANK], unit[SETT_TILE_MAX_RANK] = {0}, strides[SETT_TILE_MAX_RANK],
                                     element = answer->element;
  int d;
  for (d = shape->rank; d-- > 0; element /= shape->dims[d]) {
    index[d] = element % shape->dims[d];
    unit[d] = 1;
    strides[d] = shape->dims[d] > 1 ? sett_tile_position(plan, unit) : 0;
    unit[d] = 0;
  }
  say_text(self, "no: strides ");
  shape_say_list(self, strides, shape->rank);
  say_text(self, " would put [");
  shape_say_list(self, index, shape->rank);
  say_text(self, "] at position ");
  say_int(self, answer->b);
  say_text(self, "; it is at position ");
  say_int(self, answer->a);
  return 1;
}

/* Writes the distance in bytes between neighbours along each dimension; "no" if a distance is not constant. */
static int shape_strides(command *self) {
  const char *text = self->argv[2];
  sett_tile_shape shape;
  sett_tile_plan plan;
  sett_tile_answer answer;
  int64_t strides[SETT_TILE_MAX_RANK];
  if (!shape_plan(self, text, &shape, &plan)) return 2;
  answer = sett_tile_byte_strides(&shape, strides);
  if (answer.reason == SETT_TILE_NO_STRIDE) return shape_say_witness(self, &shape, &plan, &answer);
  if (!answer.yes) return shape_say_answer(self, &answer);
  shape_say_list(self, strides, shape.rank);
  return 0;
}

/* Writes the bits that an element at an index occupies: byte B, bits F..L. */
static int shape_bits(command *self) {
  const char *text = self->argv[2], *index = self->argv[3];
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

/* The format that XLA's document chooses for one order of the dimensions, and the way to convert the given shape to
 * it. */
enum { SHAPE_STAYS, SHAPE_COPIED, SHAPE_TRANSPOSED };
typedef struct {
  sett_tile_format format;
  int64_t bytes;
  /* `way`: one of SHAPE_..; `count`: number of dimensions of the transpose, after dimensions that move together are
   * merged */
  int way, count;
  int64_t to[SETT_TILE_MAX_RANK];
  int32_t order[SETT_TILE_MAX_RANK];
} shape_ordered;

/* Fills in `out` for the order of dimensions that begins with `minor` (the most minor one) and `next`; the others keep
 * their order. Returns 0 if no tiled format fits. */
static int shape_order(const sett_tile_shape *shape, int32_t minor, int32_t next, shape_ordered *out) {
  sett_tile_format format[SETT_TILE_FORMAT_COUNT];
  sett_tile_shape one = *shape;
  int64_t dims[SETT_TILE_MAX_RANK];
  int32_t moved[SETT_TILE_MAX_RANK];
  int i, k, count, at = 0;
  if (minor >= 0) one.minor_to_major[at++] = minor;
  if (next >= 0) one.minor_to_major[at++] = next;
  for (i = 0; i < shape->rank; ++i)
    if (shape->minor_to_major[i] != minor && shape->minor_to_major[i] != next)
      one.minor_to_major[at++] = shape->minor_to_major[i];
  count = sett_tile_formats(&one, format);
  for (i = 0; i < count && !format[i].chosen; ++i) {}
  if (i == count) return 0;
  out->format = format[i];
  out->bytes = sett_tile_bytes(&format[i].shape);
  for (i = 0; i < shape->rank; ++i) {
    dims[i] = shape->dims[shape->minor_to_major[shape->rank - 1 - i]];
    for (k = 0; shape->minor_to_major[shape->rank - 1 - k] != one.minor_to_major[shape->rank - 1 - i]; ++k) {}
    moved[i] = k;
  }
  out->count = sett_tile_normal_transpose(shape->rank, dims, moved, out->to, out->order);
  out->way = SHAPE_COPIED;
  for (i = 0; i < out->count; ++i)
    if (out->order[i] != i) out->way = SHAPE_TRANSPOSED;
  if (sett_tile_same_bytes(shape, &out->format.shape).yes) out->way = SHAPE_STAYS;
  return 1;
}

static void shape_say_way(command *self, const shape_ordered *ordered, int64_t bytes) {
  if (ordered->way == SHAPE_STAYS) {
    say_text(self, "nothing moves");
    return;
  }
  say_text(self, ordered->way == SHAPE_COPIED ? "a copy in order" : "a transpose to ");
  if (ordered->way == SHAPE_TRANSPOSED) {
    shape_say_list(self, ordered->to, ordered->count);
    say_text(self, " by ");
    shape_say_order(self, ordered->order, ordered->count);
  }
  say_text(self, ": reads ");
  shape_say_size(self, bytes);
  say_text(self, ", writes ");
  shape_say_size(self, ordered->bytes);
}

/* Writes all choices of the two most minor dimensions, fewest bytes first. (Only these two dimensions determine the
 * tiles of TPUs.) A * marks the choice with the fewest bytes or, among several such choices, the one that is cheapest
 * to convert to. */
static int shape_orders(command *self, const sett_tile_shape *shape) {
  int rank = shape->rank, most = rank > 1 ? rank * (rank - 1) : 1, count = 0, i, k;
  int64_t bytes = sett_tile_bytes(shape), saved;
  shape_ordered **row = (shape_ordered **)settp_map_take(&self->arena, (size_t)most * sizeof *row), *given;
  shape_ordered *rows = (shape_ordered *)settp_map_take(&self->arena, (size_t)most * sizeof *rows);
  if (!row || !rows) return say_error(self, 0, sett_map_message(SETT_MAP_ERROR_FULL));
  if (shape->splits > 0) return say_error(self, 1, "expected an array in one part to try the orders of");
  given = rows;
  for (i = 0; i < most; ++i) { /* the given order comes first */
    int minor = rank > 1 ? i / (rank - 1) : 0, next = rank > 1 ? i % (rank - 1) : 0;
    next += next >= minor;
    if (!shape_order(shape, rank > 0 ? shape->minor_to_major[minor] : -1, rank > 1 ? shape->minor_to_major[next] : -1,
                     &rows[i]))
      return say_error(self, 1, "expected elements of 8, 16 or 32 bits, which formats have tiles for");
    if (rows[i].format.shape.error || rows[i].bytes < 0)
      return say_error(self, 1, sett_tile_message(rows[i].format.shape.error));
    for (k = count++; k > 0 && (row[k - 1]->bytes > rows[i].bytes ||
                                (row[k - 1]->bytes == rows[i].bytes && row[k - 1]->way > rows[i].way));
         --k)
      row[k] = row[k - 1];
    row[k] = &rows[i];
  }
  for (i = 0; i < count; ++i) {
    say_text(self, i ? "\t" : "*\t");
    say_text(self, row[i]->format.name);
    say_text(self, "\t");
    shape_say_leaf(self, &row[i]->format.shape);
    say_text(self, "\t");
    shape_say_size(self, row[i]->bytes);
    say_text(self, "\t");
    shape_say_share(self, row[i]->format.padding);
    say_text(self, "\t");
    shape_say_way(self, row[i], bytes);
    say_text(self, "\n");
  }
  say_text(self, "least padding ");
  shape_say_share(self, row[0]->format.padding);
  saved = given->bytes - row[0]->bytes;
  if (saved == 0) {
    say_text(self, ", in the given order too");
    return 0;
  }
  say_text(self, ", in the given order ");
  shape_say_share(self, given->format.padding);
  say_text(self, ": each pass over the array moves ");
  shape_say_size(self, saved);
  say_text(self, " bytes less, the way there ");
  shape_say_size(self, row[0]->way == SHAPE_STAYS ? 0 : bytes + row[0]->bytes);
  say_text(self, row[0]->way == SHAPE_STAYS ? "" : ", which ");
  if (row[0]->way == SHAPE_STAYS) return 0;
  say_int(self, (bytes + row[0]->bytes - 1) / saved + 1);
  say_text(self, (bytes + row[0]->bytes - 1) / saved ? " passes save" : " pass saves");
  return 0;
}

/* Writes the formats of TPUs for the shape, one per line: a * if XLA's document chooses it, then name, shape, bytes and
 * padding. */
static int shape_formats(command *self) {
  const char *text = self->argv[2];
  sett_tile_shape shape;
  sett_tile_format format[SETT_TILE_FORMAT_COUNT];
  int i, count;
  if (!shape_sized(self, text, &shape)) return 2;
  if (self->option[OPTION_ORDERS]) return shape_orders(self, &shape);
  count = sett_tile_formats(&shape, format);
  for (i = 0; i < count; ++i) {
    if (i) say_text(self, "\n");
    say_text(self, format[i].chosen ? "*\t" : "\t");
    say_text(self, format[i].name);
    say_text(self, "\t");
    if (format[i].shape.error) {
      say_text(self, sett_tile_message(format[i].shape.error));
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

/* Writes the steps by which the layout is defined, one per line: the operation, and the dimensions after it. */
static int shape_steps(command *self) {
  const char *text = self->argv[2];
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

/* Writes the number of parts of a split array and the shape of a part. If an index is given, writes the number of its
 * part, and the index within the part. */
static int shape_parts(command *self) {
  const char *text = self->argv[2], *index = self->argc > 3 ? self->argv[3] : NULL;
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
  if (part < 0) return shape_say_outside(self, &shape, index, values);
  say_int(self, part);
  say_text(self, "\t");
  shape_say_list(self, own, shape.rank);
  return 0;
}

/* Writes the number of bytes up to the end of the last element; sett_tile_bytes also counts the padding behind it. */
static int shape_data(command *self) {
  const char *text = self->argv[2];
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

static int shape_major(command *self) {
  const char *text = self->argv[2], *dim = self->argv[3];
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

/* Writes a transpose after dimensions that move together are merged: the dimensions, a tab, the permutation. */
static int shape_normal(command *self) {
  const char *dims = self->argv[2], *permutation = self->argv[3];
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

/* Writes the dimensions that a reshape leaves unchanged, as from:to, .. */
static int shape_kept(command *self) {
  const char *dims = self->argv[2], *to_dims = self->argv[3];
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

/* Writes a map, or its error. Returns the exit status. */
static int shape_say_map(command *self, sett_map_arena *arena, sett_map map) {
  size_t room = self->length < self->capacity ? self->capacity - self->length : 0;
  char none[1];
  if (map.kind == SETT_MAP_FAILED) return say_error(self, map.column, sett_message(map.error));
  self->length += sett_map_print(arena, map, room ? self->out + self->length : none, room);
  return 0;
}

/* Writes the simplified map, or its error. If memory is too small to simplify, writes the original map, which is
 * correct too. */
static int shape_say_tidy(command *self, sett_map_arena *arena, sett_map map) {
  sett_map_mark mark = sett_map_arena_mark(arena);
  sett_map tidy = sett_map_simplify(arena, map);
  if (tidy.kind != SETT_MAP_FAILED) return shape_say_map(self, arena, tidy);
  sett_map_arena_rewind(arena, mark);
  return shape_say_map(self, arena, map);
}

/* Writes a map of a shape's layout. `map` is the function that makes it, such as sett_layout_map. */
static int shape_layout(command *self, sett_map (*map)(sett_map_arena *, const sett_tile_shape *)) {
  sett_tile_shape shape;
  sett_tile_plan plan;
  return shape_plan(self, self->argv[2], &shape, &plan) ? shape_say_tidy(self, &self->arena, map(&self->arena, &shape))
                                                        : 2;
}

static int shape_map(command *self) { return shape_layout(self, sett_layout_map); }
static int shape_unmap(command *self) { return shape_layout(self, sett_layout_unmap); }

static const command_verb shape_verbs[] = {
    {"", "SHAPE", "the shape in canonical form, a tab, bytes", "f32[170,160]{1,0:T(8,128)}", shape_canonical},
    {"info", "SHAPE",
     "logical and physical dimensions, tiles, numbers of elements, positions, bits and bytes, percentage of padding",
     "f32[170,160]{1,0:T(8,128)}", shape_info},
    {"index", "SHAPE I,J,..", "the position of an element in memory, in elements", "f32[3,5]{1,0:T(2,2)}\t2,3",
     shape_index},
    {"element", "SHAPE POSITION", "the element I,J,.. at a position in memory, or padding", "f32[3,5]{1,0:T(2,2)}\t17",
     shape_element},
    {"bits", "SHAPE I,J,..", "the byte that an element begins in, and its bits", "s4[3,5]{1,0:T(2,2)E(4)}\t2,3",
     shape_bits},
    {"map", "SHAPE", "the layout as a map from indices to positions", "f32[3,5]{1,0:T(2,2)}", shape_map},
    {"unmap", "SHAPE", "the map from positions to indices", "f32[3,5]{0,1}", shape_unmap},
    {"bitcast", "A B",
     "does each element, counted in row-major order, have the same position in A and in B? yes, or no: reason;\nafter a no, also a permutation with which a transpose from A to B moves no byte, if there is one",
     "f32[6,4]{1,0}\tf32[24]{0}", shape_bitcast},
    {"transpose", "A B [P,P,..]",
     "the permutation with which a transpose from A to B moves no byte; with P,P,..: is this the permutation? yes, or no: reason\ndimension i of B is the dimension of A that the entry i of P,P,.. gives",
     "f32[6,4]{1,0}\tf32[4,6]{0,1}", shape_transpose},
    {"decompose", "A B", "a bitcast from A to B as transposes and reshapes, one a line", "f32[6,4]{0,1}\tf32[24]{0}",
     shape_decompose},
    {"align", "SHAPE DIMS", "the shape with dimensions DIMS to which a reshape of SHAPE moves no byte, or no: reason",
     "f32[6,4]{0,1}\t3,2,4", shape_align},
    {"tile", "SHAPE",
     "the size of the first tile in each dimension; all ones if the tiles change nothing, join dimensions, or have more dimensions than the array",
     "f32[6,170,160]{2,1,0:T(8,128)}", shape_tile},
    {"cut", "SHAPE DIMS",
     "the shape of a part with these dimensions: without tail padding, and with a first tile no larger than the part",
     "f32[170,160]{1,0:T(8,128)L(512)}\t6,160", shape_cut},
    {"untiled", "SHAPE", "does every element have the same position without the tiles? yes, or no: reason",
     "f32[16,128]{1,0:T(8,128)}", shape_untiled},
    {"strides", "SHAPE", "the bytes between neighbours along each dimension, or no: reason", "f32[3,5]{0,1}",
     shape_strides},
    {"data", "SHAPE", "the number of bytes up to the end of the last element", "f32[3,5]{1,0:T(2,2)}", shape_data},
    {"steps", "SHAPE", "the steps that apply the tiles, with the dimensions after each step", "f32[3,5]{1,0:T(2,2)}",
     shape_steps},
    {"formats", "[--orders] SHAPE",
     "the shape in each TPU format for its element size: * if XLA chooses it, name, shape, bytes, padding"
     "\n--orders: the chosen format for each choice of the two most minor dimensions, the fewest bytes first (*), and the copy or transpose to it",
     "bf16[64,300]", shape_formats},
    {"parts", "SHAPE [I,J,..]",
     "the number and shape of the parts of a split array; with I,J,..: the part that holds this index, and the index within the part",
     "f32[6,8]{1,0:SC(0:3)}", shape_parts},
    {"permute", "SHAPE P,P,..", "the shape with its dimensions in another order", "f32[6,4]{1,0}\t1,0", shape_permute},
    {"delete", "SHAPE DIMENSIONS", "the shape without these dimensions", "f32[6,4,2]{2,1,0}\t1", shape_delete},
    {"move", "SHAPE DIMENSION,PLACE",
     "the shape with this dimension at another place in the order of memory (0: most minor)", "f32[6,4,2]{2,1,0}\t0,0",
     shape_move},
    {"descending", "SHAPE", "the shape with its dimensions in the order of memory, so that it is row-major",
     "f32[6,4]{0,1}", shape_descending},
    {"major", "SHAPE DIMENSION", "do all dimensions that are more major than DIMENSION have size 1? yes, or no: reason",
     "f32[6,4]{1,0}\t0", shape_major},
    {"normal", "DIMS P,P,..",
     "the transpose without dimensions of size 1, and with dimensions that stay adjacent merged: dimensions, a tab, permutation",
     "2,3,4\t2,0,1", shape_normal},
    {"kept", "DIMS DIMS", "the dimensions that a reshape does not change, except those of size 1, as FROM:TO,..",
     "2,3,4\t2,12", shape_kept},
    {"fields", "SHAPE", "a line for each array of a tuple: type, dimensions, order, elements, bytes, kind, shape",
     "(f32[3,5], s8[7])", shape_fields},
    {"scan", "TEXT", "the number of characters of the shape with which TEXT begins, a tab, the shape in canonical form",
     "f32[3,5]{1,0} add(a, b)", shape_scan},
};

#if !defined(SETT_PLAYGROUND)
/* ---- op --------------------------------------------------------------------------------------------------------- */

static int op_find(const char *name, int *opcode, int *operands); /* gen/command/sett_indexing.c */
static void op_say_attributes(command *self);

enum { OP_OPERANDS = 4096, OP_VALUES = 65536 };

/* The lists of integers that the arguments of an `op` command give. */
typedef struct {
  int used;
  /* values of the arguments from= and all=; with all=1, the answer also has the map's kind and runtime variables */
  int from_operand, all;
  sett_analysis_op op;
  sett_analysis_list in[OP_OPERANDS];
  int64_t values[OP_VALUES];
} op_lists;

/* Returns the list that a key names, or NULL if there is no such key. The keys `in`, `in0`, `in1`, .. name the
 * operands' dimensions. */
static sett_analysis_list *op_key(op_lists *lists, const char *key, size_t length) {
  struct {
    const char *key;
    sett_analysis_list *list;
  } keys[] = {{"out", &lists->op.out},
              {"dimensions", &lists->op.dimensions},
              {"dimension", &lists->op.dimensions},
              {"start", &lists->op.start},
              {"stride", &lists->op.stride},
              {"low", &lists->op.low},
              {"high", &lists->op.high},
              {"interior", &lists->op.interior},
              {"out_layout", &lists->op.out_layout},
              {"in_layout", &lists->op.in_layout},
              {"window", &lists->op.window},
              {"base_dilation", &lists->op.base_dilation},
              {"window_dilation", &lists->op.window_dilation},
              {"reversal", &lists->op.reversal},
              {"lhs_batch", &lists->op.lhs_batch},
              {"rhs_batch", &lists->op.rhs_batch},
              {"lhs_contracting", &lists->op.lhs_contracting},
              {"rhs_contracting", &lists->op.rhs_contracting},
              {"lhs_labels", &lists->op.lhs_labels},
              {"rhs_labels", &lists->op.rhs_labels},
              {"out_labels", &lists->op.out_labels},
              {"offset_dims", &lists->op.offset_dims},
              {"collapsed", &lists->op.collapsed},
              {"start_index_map", &lists->op.start_index_map},
              {"operand_batching", &lists->op.operand_batching},
              {"indices_batching", &lists->op.indices_batching},
              {"slice_sizes", &lists->op.slice_sizes}};
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

/* Reads one argument key=v,v,.. Returns 0 after say_error. */
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
  reading(self, word);
  if (!strcmp(word, "from=operand")) return lists->from_operand = 1;
  if (!strcmp(word, "all=1")) return lists->all = 1;
  for (i = 0; i < sizeof numbers / sizeof numbers[0]; ++i)
    if (!strncmp(word, numbers[i].key, strlen(numbers[i].key))) {
      count = shape_integers_after(self, word, strlen(numbers[i].key), numbers[i].value, 1);
      if (count == 0) say_error(self, (int)strlen(numbers[i].key) + 1, "expected an integer");
      return count == 1;
    }
  if (!list) {
    say_error(self, 1, "unknown attribute, expected ");
    op_say_attributes(self);
    return 0;
  }
  count = shape_integers_after(self, word, (size_t)(equal + 1 - word), lists->values + lists->used,
                               OP_VALUES - lists->used);
  if (count < 0) return 0;
  list->count = count;
  list->values = lists->values + lists->used;
  lists->used += count;
  if (list < lists->in || list >= lists->in + OP_OPERANDS) return 1;
  operand = (int)(list - lists->in);
  if (operand >= lists->op.operands) lists->op.operands = operand + 1;
  return 1;
}

/* Writes the map. all=1 adds a line `exact` or `covering: reason`, the replica's map, and the meaning of each runtime
 * variable. */
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

/* Writes the map from the output to an operand. */
static int op_run(command *self) {
  op_lists *lists = (op_lists *)settp_map_take(&self->arena, sizeof *lists);
  sett_analysis_answer answer;
  int64_t operand;
  int i, operands;
  if (!lists) return say_error(self, 0, sett_map_message(SETT_MAP_ERROR_FULL));
  memset(lists, 0, offsetof(op_lists, values));
  if (!op_find(reading(self, self->argv[1]), &lists->op.opcode, &operands))
    return say_error(
        self, 1,
        "unknown opcode, expected one of HLO that is a map of arrays (sett op help lists those with attributes)");
  i = shape_integers(self, self->argv[2], &operand, 1);
  if (i < 0) return 2;
  if (i == 0 || operand < 0 || operand >= OP_OPERANDS) return say_error(self, 1, "expected the number of an operand");
  if (operands >= 0 && operand >= operands)
    return say_error(self, 1, "expected the number of an operand that the op has");
  lists->op.operand = (int)operand;
  lists->op.in = lists->in;
  for (i = 3; i < self->argc; ++i)
    if (!op_word(self, lists, self->argv[i])) return 2;
  answer = lists->from_operand ? sett_analysis_from_operand(&self->arena, &lists->op)
                               : sett_analysis_from_output(&self->arena, &lists->op);
  /* add the op's name to the error, since the command has many arguments */
  if (sett_analysis_map(&answer).kind == SETT_MAP_FAILED) {
    say_error(self, 0, self->argv[1]);
    say_text(self, ": ");
    say_text(self, sett_message(sett_analysis_map(&answer).error));
    return 2;
  }
  return lists->all ? op_say(self, &self->arena, &answer)
                    : shape_say_tidy(self, &self->arena, sett_analysis_map(&answer));
}

#define OP_WINDOW " window=W,.. [stride=] [low=] [high=] [base_dilation=] [window_dilation=]"
#define OP_CONTRACTED " [lhs_batch=] [rhs_batch=] lhs_contracting=D,.. rhs_contracting=D,.. [joint=1]"
#define OP_INDICES \
  " offset_dims=D,.. collapsed=D,.. start_index_map=D,.. index_vector_dim=D [operand_batching=] [indices_batching=]"

static const command_verb op_verbs[] = {
    {"", "OPCODE OPERAND out=I,J,.. in=I,J,.. [from=operand] [all=1]",
     "the map from output indices to indices of this operand (the first is 0); OPCODE: an op below, or an elementwise op such as add\n"
     "from=operand: the map from operand to output; all=1: also if the map is exact, and what its runtime variables are",
     "add\t1\tout=64,32\tin=64,32", op_run},
    {"elementwise", "OPERAND out=I,J,.. in=I,J,..", "any elementwise op: add, copy, negate, ..",
     "0\tout=64,32\tin=64,32", op_run},
    {"scalar", "OPERAND out=I,J,.. in=", "an operand that every output element reads as a whole",
     "1\tout=64,32\tin1=", op_run},
    {"broadcast", "OPERAND out=I,J,.. in=I,.. dimensions=D,..",
     "operand dimension i is the output dimension that entry i of dimensions gives",
     "0\tout=64,32\tin=32\tdimensions=1", op_run},
    {"transpose", "OPERAND out=I,J,.. in=I,J,.. dimensions=D,..",
     "output dimension i is the operand dimension that entry i of dimensions gives",
     "0\tout=40,20\tin=20,40\tdimensions=1,0", op_run},
    {"reshape", "OPERAND out=I,J,.. in=I,J,..", "output index and operand index have the same row-major number",
     "0\tout=2,4\tin=8", op_run},
    {"bitcast", "OPERAND out=I,J,.. in=I,J,.. [out_layout=D,..] [in_layout=D,..]",
     "output index and operand index have the same position in memory; layouts go from minor to major",
     "0\tout=20,40\tin=40,20\tout_layout=0,1", op_run},
    {"bitcast-convert", "OPERAND out=I,J,.. in=I,J,..",
     "a wider element is a row of narrower elements along the last dimension", "0\tout=8,4\tin=8", op_run},
    {"slice", "OPERAND out=I,J,.. in=I,J,.. start=S,.. [stride=]", "operand index = start + stride * output index",
     "0\tout=4\tin=10\tstart=2\tstride=2", op_run},
    {"reverse", "OPERAND out=I,J,.. in=I,J,.. dimensions=D,..", "the operand is read backwards along these dimensions",
     "0\tout=64,32\tin=64,32\tdimensions=1", op_run},
    {"pad", "OPERAND out=I,J,.. in=I,J,.. low=P,.. high=P,.. [interior=]",
     "output index = low + (interior + 1) * operand index; operand 1 is the padding value",
     "0\tout=12\tin=8\tlow=1\thigh=3", op_run},
    {"concatenate", "OPERAND out=I,J,.. in0=I,J,.. in1=.. .. dimension=D",
     "the operands follow one another along the dimension", "1\tout=12\tin0=8\tin1=4\tdimension=0", op_run},
    {"reduce", "OPERAND out=I,.. in=I,J,.. dimensions=D,..", "the reduced dimensions are ranges of the map",
     "0\tout=64\tin=64,32\tdimensions=1", op_run},
    {"reduce-init", "OPERAND out=I,J,.. in=", "the initial value of a reduction", "1\tout=64\tin1=", op_run},
    {"reduce-window", "OPERAND out=I,J,.. in=I,J,.." OP_WINDOW " [joint=1]",
     "the dimensions of the window are ranges of the map", "0\tout=6\tin=8\twindow=3", op_run},
    {"select-and-scatter", "OPERAND out=I,J,.. in0=I,J,.. in1=I,J,.." OP_WINDOW " [joint=1]",
     "operand 1: the windows that contain the output element", "1\tout=8\tin0=8\tin1=4\twindow=2\tstride=2", op_run},
    {"dot", "OPERAND out=I,J,.. in0=I,J,.. in1=I,J,.." OP_CONTRACTED,
     "output dimensions: batch, free left, free right; contracted dimensions are ranges of the map",
     "0\tout=4,6\tin0=4,5\tin1=5,6\tlhs_contracting=1\trhs_contracting=0", op_run},
    {"scaled-dot", "OPERAND out=I,J,.. in0=.. in1=.. in2=.. in3=.." OP_CONTRACTED,
     "a dot; each element of the scales (operands 2 and 3) belongs to a block of elements",
     "2\tout=4,6\tin0=4,32\tin1=32,6\tin2=4,1\tin3=1,6\tlhs_contracting=1\trhs_contracting=0", op_run},
    {"convolution",
     "OPERAND out=I,J,.. in0=I,J,.. in1=I,J,.." OP_WINDOW
     " [reversal=] lhs_labels=B,F,S,.. rhs_labels=I,O,S,.. out_labels=B,F,S,.. [feature_groups=G] [batch_groups=G] [joint=1]",
     "operand 0 is the base, operand 1 the kernel; dimensions of the window are ranges of the map\nlabels are the numbers of the dimensions of batch (B), feature (F; in the kernel input I and output O) and space (S)",
     "0\tout=1,6,4\tin0=1,8,3\tin1=3,3,4\twindow=3\tlhs_labels=0,2,1\trhs_labels=1,2,0\tout_labels=0,2,1", op_run},
    {"dynamic-slice", "OPERAND out=I,J,.. in0=I,J,..",
     "operand index = output index + a runtime variable for each dimension", "0\tout=4\tin0=10", op_run},
    {"dynamic-update-slice", "OPERAND out=I,J,.. in0=I,J,.. in1=I,J,..",
     "output index = index in the update (operand 1) + a runtime variable for each dimension",
     "1\tout=10\tin0=10\tin1=4", op_run},
    {"gather", "OPERAND out=I,J,.. in0=I,J,.. in1=I,J,.." OP_INDICES " slice_sizes=S,..",
     "operand index = offset in the slice + the start that the indices (operand 1) hold",
     "0\tout=5,8\tin0=100,8\tin1=5,1\toffset_dims=1\tcollapsed=0\tstart_index_map=0\tindex_vector_dim=1\tslice_sizes=1,8",
     op_run},
    {"scatter", "OPERAND out=I,J,.. in0=I,J,.. in1=I,J,.. in2=I,J,.." OP_INDICES,
     "output index = offset in the update (operand 2) + the start that the indices (operand 1) hold",
     "2\tout=100,8\tin0=100,8\tin1=5,1\tin2=5,8\toffset_dims=1\tcollapsed=0\tstart_index_map=0\tindex_vector_dim=1",
     op_run},
    {"all-gather", "OPERAND out=I,J,.. in=I,J,.. dimension=D",
     "output index = replica * size of the operand + operand index", "0\tout=32\tin=8\tdimension=0", op_run},
};

/* Writes the arguments that the op takes. An elementwise opcode takes those of `elementwise`. */
static void op_say_attributes(command *self) {
  const char *name = self->argv[1];
  size_t i;
  for (i = 1; i < COMMAND_COUNT(op_verbs) && strcmp(op_verbs[i].name, name); ++i) {}
  if (i == COMMAND_COUNT(op_verbs)) i = 1;
  say_text(self, op_verbs[i].arguments);
  say_text(self, ", from=operand or all=1");
}
#endif
