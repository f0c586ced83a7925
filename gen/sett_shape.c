/* The commands `shape` and `op` (a part of gen/sett.c): shapes with layouts, and the maps of HLO ops. */
#include "../include/sett.h"

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
  while ((event = sett_tile_next(&reader, &shape)) != SETT_TILE_END) {
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
  sett_tile_shape shape;
  sett_tile_plan plan;
  const int64_t *dims;
  char share[32];
  double waste;
  int count;
  if (!shape_plan(self, text, &shape, &plan)) return 2;
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
  waste = (double)(plan.positions - sett_tile_elements(&shape));
  snprintf(share, sizeof share, "%.2f%%", plan.positions > 0 ? 100.0 * waste / (double)plan.positions : 0.0);
  say_text(self, share);
  return 0;
}

static int shape_index(command *self, const char *text, const char *index) {
  sett_tile_shape shape;
  sett_tile_plan plan;
  int64_t values[SETT_TILE_MAX_RANK], position;
  int count;
  if (!shape_plan(self, text, &shape, &plan)) return 2;
  count = shape_integers(self, index, values, SETT_TILE_MAX_RANK);
  if (count < 0) return 2;
  if (count != shape.rank) return say_error(self, 1, "expected as many indices as the shape has dimensions");
  position = sett_tile_position(&plan, values);
  if (position < 0) return say_error(self, 1, "expected indices inside the shape");
  say_int(self, position);
  return 0;
}

static int shape_element(command *self, const char *text, const char *where) {
  sett_tile_shape shape;
  sett_tile_plan plan;
  int64_t index[SETT_TILE_MAX_RANK], position;
  int found;
  if (!shape_plan(self, text, &shape, &plan)) return 2;
  found = shape_integers(self, where, &position, 1);
  if (found < 0) return 2;
  if (found != 1) return say_error(self, 1, "expected a position");
  found = sett_tile_element(&plan, position, index);
  if (found < 0) return say_error(self, 1, "expected a position inside the array's memory");
  if (found) shape_say_list(self, index, shape.rank);
  else say_text(self, "padding");
  return 0;
}

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

static int command_shape(command *self) {
  const char *verb = self->argc > 1 ? self->argv[1] : "";
  const char *first = self->argc > 2 ? self->argv[2] : "";
  if (self->argc == 2) return shape_canonical(self, verb);
  if (self->argc == 3 && !strcmp(verb, "scan")) return shape_scan(self, first);
  if (self->argc == 3 && !strcmp(verb, "fields")) return shape_fields(self, first);
  if (self->argc == 3 && !strcmp(verb, "info")) return shape_info(self, first);
  if (self->argc == 4 && !strcmp(verb, "index")) return shape_index(self, first, self->argv[3]);
  if (self->argc == 4 && !strcmp(verb, "element")) return shape_element(self, first, self->argv[3]);
  if (self->argc == 3 && !strcmp(verb, "map")) return shape_map(self, first, 0);
  if (self->argc == 3 && !strcmp(verb, "unmap")) return shape_map(self, first, 1);
  return say_error(self, 0, "expected shape SHAPE, shape info|map|unmap|fields|scan SHAPE, shape index SHAPE I,J,.. "
                            "or shape element SHAPE POSITION");
}

/* ---- op --------------------------------------------------------------------------------------------------------- */

enum { OP_OPERANDS = 4096, OP_VALUES = 65536 };

/* The lists that one `op` command names. */
typedef struct {
  int used;
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
      {"in_layout", &lists->op.in_layout}};
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
  if (!list) {
    say_error(self, 1, "expected out=, in=, in0=, dimensions=, start=, stride=, low=, high=, interior=, "
                       "out_layout= or in_layout=");
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

/* op OPCODE OPERAND key=v,v,.. ..  : the map from the output to that operand. */
static int command_op(command *self) {
  static op_lists lists;
  const char *name = self->argc > 1 ? self->argv[1] : "";
  sett_map_arena arena = command_arena();
  int64_t operand;
  int i;
  if (self->argc < 3) return say_error(self, 0, "expected op OPCODE OPERAND key=value,value,.. ..");
  lists.used = 0;
  memset(&lists.op, 0, sizeof lists.op);
  memset(lists.in, 0, sizeof lists.in);
  lists.op.opcode = !strcmp(name, "reduce-init") ? SETT_ANALYSIS_SCALAR : sett_analysis_opcode_find(name);
  if (lists.op.opcode == SETT_ANALYSIS_NONE)
    return say_error(self, 1, "expected elementwise, broadcast, transpose, reshape, bitcast, slice, reverse, pad, "
                              "concatenate, reduce, reduce-init or scalar");
  i = shape_integers(self, self->argv[2], &operand, 1);
  if (i < 0) return 2;
  if (i == 0 || operand < 0 || operand >= OP_OPERANDS) return say_error(self, 1, "expected the number of an operand");
  lists.op.operand = (int)operand;
  lists.op.in = lists.in;
  for (i = 3; i < self->argc; ++i)
    if (!op_word(self, &lists, self->argv[i])) return 2;
  return shape_say_tidy(self, &arena, sett_analysis_output_to_operand(&arena, &lists.op));
}
