/* The commands `layout ...` (included by gen/command/sett.c). Each parses its arguments, calls include/sett_notation.h
 * and writes the answer. */
#include "../../include/sett.h"

enum { LAYOUT_TABLE_MOST = 1 << 22 };

/* Reads the layout in an argument. After an error, the result's `error` is set. */
static sett_notation layout_read(command *self, int word) {
  const char *text = reading(self, self->argv[word]);
  return sett_notation_parse(&self->arena, text, strlen(text));
}

/* Reads an argument that is a layout in any notation, or INTRINSIC.OPERAND, which stands for that fragment's layout.
 * Returns 0 after say_error. */
static int layout_read_any(command *self, int word, sett_any *layout) {
  const char *text = reading(self, self->argv[word]), *dot = strchr(text, '.');
  int intrinsic = dot ? sett_mma_find(text, (size_t)(dot - text)) : -1;
  if (intrinsic >= 0) {
    *layout = settp_layout_any_none(SETT_ANY_IREE);
    layout->nested = sett_mma_layout(intrinsic, nested_operand(dot + 1));
    layout->error = layout->nested.error ? SETT_NESTED_ERROR_FIRST + layout->nested.error : 0;
  } else {
    *layout = sett_any_parse(&self->arena, text, strlen(text));
  }
  if (layout->error) say_error(self, (int)layout->column, sett_message(layout->error));
  return !layout->error;
}

static void layout_put_any(command *self, const sett_any *layout) {
  char none[1], *end;
  size_t room;
  end = answer_end(self, none, &room);
  self->length += sett_any_print(layout, end, room);
}

/* Writes several numbers as (1,2), and one number without brackets. */
static void layout_put_numbers(command *self, int count, const int64_t *number) {
  int i;
  if (count != 1) say_text(self, "(");
  for (i = 0; i < count; ++i) {
    if (i) say_text(self, ",");
    say_int(self, number[i]);
  }
  if (count != 1) say_text(self, ")");
}

/* Writes an error and returns 2; or writes `no: ..` with a witness and returns 1. */
static int layout_error(command *self, const sett_notation *layout) {
  if (!sett_notation_refused(layout->error))
    return say_error(self, (int)layout->column, sett_notation_message(layout->error));
  say_text(self, "no: ");
  say_text(self, sett_notation_message(layout->error));
  if (layout->witness < 0 && layout->error == SETT_NOTATION_NO_INVERSE) {
    say_text(self, ": nothing gives ");
    say_int(self, layout->value);
  }
  if (layout->witness < 0) return 1;
  say_text(self, ": at ");
  say_int(self, layout->witness);
  say_text(self, " it is ");
  say_int(self, layout->value);
  say_text(self, ", not ");
  say_int(self, layout->other);
  return 1;
}

static void layout_put(command *self, const sett_notation *layout) {
  char none[1], *end;
  size_t room;
  end = answer_end(self, none, &room);
  self->length += sett_notation_print(layout, end, room);
}

static int layout_say(command *self, const sett_notation *layout) {
  if (layout->error) return layout_error(self, layout);
  layout_put(self, layout);
  return 0;
}

static int layout_say_number(command *self, int64_t value) {
  if (value < 0) return say_error(self, 0, "expected a layout of integers whose size fits in 64 bits");
  say_int(self, value);
  return 0;
}

/* ---- one layout ------------------------------------------------------------------------------------------------- */

/* Returns "one-to-one" if no two coordinates have the same value, "copies" if some do, or "not decided". */
static const char *layout_copies(command *self, const sett_any *layout) {
  sett_map map = sett_any_map(&self->arena, layout);
  sett_map_answer answer = sett_map_is_injective(&self->arena, map);
  if (layout->kind == SETT_ANY_NOTATION && layout->notation.kind == SETT_NOTATION_MOSAIC &&
      settp_notation_copies(layout->notation.tiled) > 1)
    return "copies";
  return answer.yes ? "one-to-one" : answer.no ? "copies" : "not decided whether one-to-one";
}

/* Returns the size of a layout: the elements of an XLA array, or all slots of all threads of a nested layout. Returns -1
 * on overflow. */
static int64_t layout_any_size(const sett_any *layout) {
  int64_t size;
  int d;
  if (layout->kind == SETT_ANY_NOTATION) return sett_notation_size(&layout->notation);
  if (layout->kind == SETT_ANY_XLA) return sett_tile_elements(&layout->shape);
  if (settp_map_mul(sett_nested_threads(&layout->nested), sett_nested_subgroups(&layout->nested), &size)) return -1;
  for (d = 0; d < layout->nested.rank && size >= 0; ++d)
    if (settp_map_mul(size,
                      layout->nested.field[SETT_NESTED_BATCH][d] * layout->nested.field[SETT_NESTED_OUTER][d] *
                          layout->nested.field[SETT_NESTED_ELEMENT][d],
                      &size))
      size = -1;
  return size;
}

static int layout_canonical(command *self) {
  static const char *const names[] = {"tuple",  "cute",   "tile",   "strides", "onednn",
                                      "triton", "mosaic", "triton", "triton"};
  sett_any any;
  const sett_notation *layout = &any.notation;
  int64_t size;
  if (!layout_read_any(self, 1, &any)) return 2;
  size = layout_any_size(&any);
  say_text(self, any.kind == SETT_ANY_XLA ? "xla" : any.kind == SETT_ANY_IREE ? "iree" : names[layout->kind]);
  say_text(self, "\t");
  layout_put_any(self, &any);
  say_text(self, "\t");
  if (any.kind == SETT_ANY_NOTATION &&
      (layout->kind == SETT_NOTATION_TILE || (layout->kind <= SETT_NOTATION_CUTE && size < 0))) {
    say_text(self, layout->kind == SETT_NOTATION_TILE ? "a tiler for each mode" : "a function on the integers");
    return 0;
  }
  say_text(self, "size ");
  say_int(self, size);
  if (any.kind == SETT_ANY_NOTATION && layout->kind == SETT_NOTATION_TUPLE) return 0;
  if (any.kind == SETT_ANY_NOTATION && layout->kind == SETT_NOTATION_CUTE && sett_notation_cosize(layout) >= 0) {
    say_text(self, ", cosize ");
    say_int(self, sett_notation_cosize(layout));
  }
  say_text(self, ", ");
  say_text(self, layout_copies(self, &any));
  return 0;
}

static int layout_map(command *self) {
  sett_any layout;
  sett_map map;
  if (!layout_read_any(self, 2, &layout)) return 2;
  map = sett_any_map(&self->arena, &layout);
  if (map.kind == SETT_MAP_FAILED && map.error >= SETT_LAYOUT_ERROR_FIRST)
    return say_error(self, 0, sett_message(map.error));
  return say_map(self, &self->arena, sett_map_simplify(&self->arena, map));
}

/* Reads a coordinate: a tuple, or I,J,.. without brackets. */
static sett_notation layout_coordinate(command *self, int word) {
  const char *text = reading(self, self->argv[word]);
  size_t length = strlen(text);
  int depth = 0, bare = 0;
  char *copy;
  size_t i;
  sett_notation coordinate;
  for (i = 0; i < length; ++i) {
    depth += text[i] == '(';
    depth -= text[i] == ')';
    bare |= text[i] == ',' && depth == 0;
  }
  if (!bare) return layout_read(self, word);
  copy = (char *)settp_map_take(&self->arena, length + 2);
  if (!copy) return settp_notation_fail(SETT_NOTATION_ERROR_FULL);
  copy[0] = '(';
  memcpy(copy + 1, text, length);
  copy[length + 1] = ')';
  coordinate = sett_notation_parse(&self->arena, copy, length + 2);
  if (coordinate.column > 1) --coordinate.column;
  return coordinate;
}

/* Computes the position of an XLA array's element at an index, or the index of a nested layout's element at a subgroup,
 * a thread and a slot. Returns 0 if there is none. */
static int layout_other_at(const sett_any *layout, const sett_tile_plan *plan, const int64_t *at, int64_t *value) {
  if (layout->kind == SETT_ANY_IREE) return sett_nested_element(&layout->nested, at[0], at[1], at[2], value);
  value[0] = sett_tile_position(plan, at);
  return value[0] >= 0;
}

static int layout_other_say_at(command *self, const sett_any *layout) {
  int64_t at[SETT_TILE_MAX_RANK + 3], value[SETT_TILE_MAX_RANK];
  sett_tile_plan plan = sett_tile_prepare(&layout->shape);
  int inputs = layout->kind == SETT_ANY_IREE ? 3 : layout->shape.rank;
  int count = shape_integers(self, reading(self, self->argv[3]), at, SETT_TILE_MAX_RANK);
  if (count < 0) return 2;
  if (layout->kind == SETT_ANY_XLA && plan.error) return say_error(self, 0, sett_tile_message(plan.error));
  if (count != inputs) return say_error(self, 0, sett_notation_message(SETT_NOTATION_ERROR_RANK));
  if (!layout_other_at(layout, &plan, at, value)) return say_error(self, 0, "expected a coordinate of the layout");
  layout_put_numbers(self, layout->kind == SETT_ANY_IREE ? layout->nested.rank : 1, value);
  return 0;
}

static int layout_at(command *self) {
  sett_any any;
  sett_notation coordinate, value;
  if (!layout_read_any(self, 2, &any)) return 2;
  if (any.kind != SETT_ANY_NOTATION) return layout_other_say_at(self, &any);
  coordinate = layout_coordinate(self, 3);
  if (coordinate.error) return layout_error(self, &coordinate);
  value = sett_notation_at(&self->arena, &any.notation, &coordinate);
  return layout_say(self, &value);
}

/* Returns the i-th coordinate in the order in which tables list them. In CuTe's and linear layouts the first input is
 * the fastest, in arrays the last one. */
static sett_notation layout_index(command *self, const sett_notation *layout, int64_t i) {
  settp_notation_work work = settp_notation_begin(&self->arena);
  sett_notation_mode index[SETT_NOTATION_DIMS];
  int k, d, inputs = settp_notation_inputs(layout);
  if (layout->kind < SETT_NOTATION_STRIDES)
    return settp_notation_tuple_of(settp_notation_leaf(i, 0), SETT_NOTATION_TUPLE);
  for (k = 0; k < inputs; ++k, i /= settp_notation_input(layout, d)) {
    d = settp_notation_is_linear(layout) ? k : inputs - 1 - k;
    index[d] = settp_notation_leaf(i % settp_notation_input(layout, d), 0);
  }
  return settp_notation_end(&work,
                            settp_notation_tuple_of(settp_notation_tuple(&work, inputs, index), SETT_NOTATION_TUPLE));
}

/* Writes the table of an XLA array by index, or of a nested layout by subgroup, thread and slot. The last dimension of
 * the index, or the slot, is fastest. */
static int layout_other_table(command *self, const sett_any *layout, int64_t size) {
  int64_t input[SETT_TILE_MAX_RANK + 3], at[SETT_TILE_MAX_RANK + 3], value[SETT_TILE_MAX_RANK], i, rest;
  sett_tile_plan plan = sett_tile_prepare(&layout->shape);
  int iree = layout->kind == SETT_ANY_IREE, inputs = iree ? 3 : layout->shape.rank, k;
  if (!iree && plan.error) return say_error(self, 0, sett_tile_message(plan.error));
  for (k = 0; k < inputs && !iree; ++k) input[k] = layout->shape.dims[k];
  if (iree) {
    input[0] = sett_nested_subgroups(&layout->nested);
    input[1] = sett_nested_threads(&layout->nested);
    input[2] = sett_nested_slots(&layout->nested);
  }
  for (i = 0; i < size; ++i) {
    for (k = inputs, rest = i; k-- > 0; rest /= input[k]) at[k] = rest % input[k];
    if (!layout_other_at(layout, &plan, at, value)) return say_error(self, 0, "expected a coordinate of the layout");
    if (i) say_text(self, ",");
    layout_put_numbers(self, iree ? layout->nested.rank : 1, value);
  }
  return 0;
}

static int layout_table(command *self) {
  sett_any any;
  sett_notation layout, index, value;
  int64_t size, i;
  if (!layout_read_any(self, 2, &any)) return 2;
  size = layout_any_size(&any);
  if (size >= 0 && size <= LAYOUT_TABLE_MOST && any.kind != SETT_ANY_NOTATION)
    return layout_other_table(self, &any, size);
  layout = any.notation;
  if (size < 0 || size > LAYOUT_TABLE_MOST) return say_error(self, 0, "expected a layout of at most 4194304 values");
  for (i = 0; i < size; ++i) {
    sett_map_mark mark = sett_map_arena_mark(&self->arena);
    index = layout_index(self, &layout, i);
    value = sett_notation_at(&self->arena, &layout, &index);
    if (value.error && value.error != SETT_NOTATION_ERROR_HELD) return layout_error(self, &value);
    if (i) say_text(self, ",");
    if (value.error) say_text(self, "none");
    else layout_put(self, &value);
    sett_map_arena_rewind(&self->arena, mark);
  }
  return 0;
}

static int layout_same(command *self) {
  sett_any a, b;
  sett_any_answer answer;
  if (!layout_read_any(self, 2, &a) || !layout_read_any(self, 3, &b)) return 2;
  answer = sett_any_same(&self->arena, &a, &b);
  if (!answer.yes && !answer.no && strncmp(answer.reason, "not decided", 11)) return say_error(self, 0, answer.reason);
  say_text(self, answer.no ? "no: " : answer.reason);
  if (answer.no && !answer.points) say_text(self, answer.reason);
  if (answer.no && answer.points) {
    say_text(self, answer.ins == 1 ? "at (" : "at ");
    layout_put_numbers(self, answer.ins, answer.point[0]);
    say_text(self, answer.ins == 1 ? "): " : ": ");
    layout_put_numbers(self, answer.outs, answer.a[0]);
    say_text(self, ", ");
    layout_put_numbers(self, answer.outs, answer.b);
  }
  return !answer.yes;
}

/* names of the notations SETT_ANY_TO_CUTE, .., in that order */
static const char *const layout_targets[SETT_ANY_TARGETS] = {"cute",    "triton", "mosaic", "onednn",
                                                             "strides", "xla",    "iree"};

/* Writes a "no" with the values at its witness, or the reason why the question is not decided. */
static int layout_say_no(command *self, const sett_any_answer *answer) {
  int i;
  if (!answer->no && strncmp(answer->reason, "not decided", 11)) return say_error(self, 0, answer->reason);
  if (answer->no) say_text(self, "no: ");
  say_text(self, answer->reason);
  for (i = 0; i < answer->points; ++i) {
    say_text(self, i ? ", at " : ": at ");
    if (answer->ins == 1) say_text(self, "(");
    layout_put_numbers(self, answer->ins, answer->point[i]);
    say_text(self, answer->ins == 1 ? ") " : " ");
    layout_put_numbers(self, answer->outs, answer->a[i]);
  }
  return 1;
}

static int layout_convert(command *self) {
  sett_any layout;
  sett_any_made made;
  int target = 0;
  if (!strcmp(self->argv[3], "map")) return layout_map(self);
  while (target < SETT_ANY_TARGETS && strcmp(self->argv[3], layout_targets[target])) ++target;
  if (target == SETT_ANY_TARGETS) {
    reading(self, self->argv[3]);
    return say_error(self, 1, "expected cute, triton, mosaic, onednn, strides, xla, iree or map");
  }
  if (!layout_read_any(self, 2, &layout)) return 2;
  made = sett_any_convert(&self->arena, &layout, target);
  if (!made.answer.yes) return layout_say_no(self, &made.answer);
  layout_put_any(self, &made.layout);
  return 0;
}

/* ---- moves ------------------------------------------------------------------------------------------------------ */

/* Writes a count with its noun, such as "17 shuffles". */
static void layout_count(command *self, int64_t count, const char *what) {
  say_int(self, count);
  say_text(self, " ");
  say_text(self, what);
  if (count != 1) say_text(self, what[strlen(what) - 1] == 's' ? "es" : "s");
}

/* Returns the value of a numeric option, which is from 1 to `most`; `otherwise` if the option is missing; -1 after
 * say_error. */
static int layout_option(command *self, int option, int otherwise, int most) {
  char text[96];
  int64_t value;
  int count;
  if (!self->option[option]) return otherwise;
  count = shape_integers(self, self->option[option], &value, 1);
  if (count == 1 && value >= 1 && value <= most) return (int)value;
  snprintf(text, sizeof text, "expected %s and a number from 1 to %d", command_option[option].name, most);
  say_error(self, 0, text);
  return -1;
}

/* Returns the number of lanes of the subgroup if the argument names a fragment (INTRINSIC.OPERAND); else 0. */
static int layout_fragment_lanes(command *self, int word) {
  const char *text = self->argv[word], *dot = strchr(text, '.');
  int intrinsic = dot ? sett_mma_find(text, (size_t)(dot - text)) : -1;
  return intrinsic < 0 ? 0 : sett_mma_get(intrinsic).subgroup_size;
}

static int layout_move_no(command *self, const sett_move *move) {
  int64_t index[SETT_MOVE_DIMS];
  int32_t rest = move->element;
  int d;
  say_text(self, "no: ");
  say_text(self, move->reason);
  if (move->left >= 0) {
    say_text(self, ": ");
    say_int(self, move->left);
    say_text(self, " and ");
    say_int(self, move->right);
  }
  if (move->element < 0) return 1;
  for (d = move->rank; d-- > 0; rest /= (int32_t)move->dims[d]) index[d] = rest % (int32_t)move->dims[d];
  say_text(self, move->rank == 1 ? " at (" : " at ");
  layout_put_numbers(self, move->rank, index);
  say_text(self, move->rank == 1 ? "), which register " : ", which register ");
  say_int(self, move->reg);
  say_text(self, " of lane ");
  say_int(self, move->thread % move->lanes);
  if (move->thread >= move->lanes) {
    say_text(self, " of warp ");
    say_int(self, move->thread / move->lanes);
  }
  say_text(self, " wants");
  return 1;
}

/* Writes the register moves of a thread: b1 = a2, .. Registers that keep their number are left out. */
static void layout_move_say_registers(command *self, const sett_move *move) {
  int r, t, threads = move->lanes * move->warps, said = 0;
  if (!move->moves) {
    say_text(self, "\nthe same registers: nothing moves");
    return;
  }
  say_text(self, "\n");
  layout_count(self, move->moves, "register move");
  if (move->selects) {
    say_text(self, ", ");
    layout_count(self, move->selects, "select");
    say_text(self, " by the lane");
  }
  say_text(self, ":");
  for (r = 0; r < move->to; ++r) {
    int same = 1;
    for (t = 0; t < threads; ++t) same &= move->held[t * move->to + r] == move->held[r];
    if (same && move->held[r] == r) continue;
    if (said++ == 8) {
      say_text(self, ", ..");
      return;
    }
    say_text(self, said > 1 ? ", b" : " b");
    say_int(self, r);
    say_text(self, " = a");
    if (same) say_int(self, move->held[r]);
    else say_text(self, "[by lane]");
  }
}

/* Writes, for each shuffle of a move, the lane from which each thread gets its word. */
static void layout_move_say_steps(command *self, const sett_move *move) {
  int step, t, threads = move->lanes * move->warps;
  for (step = 0; step < move->steps; ++step) {
    const int32_t *lane = move->lane + (int64_t)step * threads;
    int by = lane[0], shift = lane[0], same_xor = 1, same_shift = 1;
    if (step == 8) {
      say_text(self, "\n..");
      return;
    }
    for (t = 0; t < threads; ++t) {
      int own = t % move->lanes;
      same_xor &= (own ^ by) == lane[t];
      same_shift &= (own + shift) % move->lanes == lane[t];
    }
    say_text(self, "\nstep ");
    say_int(self, step + 1);
    if (same_xor || same_shift) {
      say_text(self, same_xor ? ": from lane xor " : ": from lane + ");
      say_int(self, by);
      continue;
    }
    say_text(self, ": from lanes ");
    for (t = 0; t < move->lanes && t < 8; ++t) {
      if (t) say_text(self, ", ");
      say_int(self, lane[t]);
    }
    if (move->lanes > 8) say_text(self, ", ..");
  }
}

static void layout_move_say_shared(command *self, const sett_move *move, const sett_any *a, const sett_any *b) {
  say_text(self, move->given ? "\nplaces: " : "\nplaces: row-major");
  if (move->given) {
    sett_notation exchange = settp_layout_owner_exchange(&self->arena, a, b, move->bits);
    layout_put(self, &exchange);
  }
  if (move->order >= 0 && move->order != move->rank - 1) {
    say_text(self, ", dimension ");
    say_int(self, move->order);
    say_text(self, " last");
  }
  if (move->padding) {
    say_text(self, ", ");
    layout_count(self, move->padding, "element");
    say_text(self, " of padding after each ");
    say_int(self, move->every);
  }
  if (move->swizzle[0]) {
    int i;
    say_text(self, ", then S<");
    for (i = 0; i < 3; ++i) {
      if (i) say_text(self, ",");
      say_int(self, move->swizzle[i]);
    }
    say_text(self, ">, in elements");
  }
  say_text(self, "\n");
  layout_count(self, move->stores, "store");
  say_text(self, " and ");
  layout_count(self, move->loads, "load");
  say_text(self, " a thread, ");
  layout_count(self, move->turns, "turn");
  say_text(self, " in all");
}

static void layout_put_shape(command *self, const sett_tile_shape *shape) {
  char none[1], *end;
  size_t room;
  end = answer_end(self, none, &room);
  self->length += sett_tile_print(shape, end, room);
}

static void layout_say_places(command *self, const char *name, const sett_tile_shape *shape, int64_t places,
                              int64_t padding, const char *what) {
  say_text(self, name);
  layout_put_shape(self, shape);
  say_text(self, ": ");
  layout_count(self, places, "place");
  if (padding == 0) return;
  say_text(self, ", ");
  say_int(self, padding);
  say_text(self, what);
}

/* Writes the reorder as a C function that calls functions of sett_relayout.h. */
static void layout_say_reorder_code(command *self, const sett_any_reordered *reorder, int bits) {
  const char *type = bits == 8    ? "unsigned char"
                     : bits == 16 ? "unsigned short"
                     : bits == 32 ? "unsigned"
                                  : "unsigned long long";
  int64_t span = sett_tile_prepare(&reorder->to).span;
  int i;
  say_text(
      self,
      "/* written by sett layout move: 0, or an error of sett_relayout_message */\n#include \"sett_tile.h\"\n#include \"sett_relayout.h\"\nstatic inline int sett_move(const ");
  say_text(self, type);
  say_text(self, " *a, ");
  say_text(self, type);
  say_text(self, " *b) {\n");
  for (i = 0; i < 2; ++i) {
    say_text(self, i ? "  static const char to[] = \"" : "  static const char from[] = \"");
    layout_put_shape(self, i ? &reorder->to : &reorder->from);
    say_text(self, "\";\n");
  }
  say_text(
      self,
      "  const sett_tile_shape x = sett_tile_parse(from, sizeof from - 1), y = sett_tile_parse(to, sizeof to - 1);\n  sett_relayout_plan plan;\n");
  if (reorder->zeros) {
    say_text(self, "  const ");
    say_text(self, type);
    say_text(self, " zero = 0; /* of padding */\n");
  }
  say_text(self, reorder->zeros ? "  if (sett_relayout_prepare(&plan, &x, &y, &zero)) return plan.error;\n"
                                : "  if (sett_relayout_prepare(&plan, &x, &y, NULL)) return plan.error;\n");
  say_text(self, "  sett_relayout_run(&plan, a, b, 0, plan.pieces);\n");
  if (reorder->zeros && reorder->to_places > span) {
    say_text(self, "  for (long long i = ");
    say_int(self, span);
    say_text(self, "; i < ");
    say_int(self, reorder->to_places);
    say_text(self, "; ++i) b[i] = 0;\n");
  }
  say_text(self, "  return 0;\n}\n");
}

static int layout_reorder(command *self, const sett_any *a, const sett_any *b, int bits) {
  const char *emit = self->option[OPTION_EMIT];
  sett_any_reordered reorder;
  if (bits != 8 && bits != 16 && bits != 32 && bits != 64)
    return say_error(self, 0, sett_move_message(SETT_MOVE_ERROR_BITS));
  if (emit && strcmp(emit, "c")) return say_error(self, 0, "expected --emit c for arrays in memory");
  reorder = sett_any_reorder(&self->arena, a, b, bits);
  if (!reorder.answer.yes) {
    int status = layout_say_no(self, &reorder.answer);
    if (reorder.blamed >= 0 && reorder.answer.no) say_text(self, reorder.blamed ? ", in B" : ", in A");
    return status;
  }
  if (emit) {
    layout_say_reorder_code(self, &reorder, bits);
    return 0;
  }
  say_text(self, "reorder ");
  say_int(self, reorder.elements);
  say_text(self, ", zeros ");
  say_int(self, reorder.zeros);
  layout_say_places(self, "\nfrom ", &reorder.from, reorder.from_places, reorder.from_places - reorder.elements,
                    " of them not read");
  layout_say_places(self, "\nto ", &reorder.to, reorder.to_places, reorder.to_places - reorder.elements,
                    reorder.zeros ? " of them padding, which gets 0" : " of them not written");
  if (reorder.longest < 1) return 0;
  say_text(self, "\n");
  layout_count(self, reorder.runs, "run");
  say_text(self, " of at most ");
  layout_count(self, reorder.longest, "element");
  say_text(self, " that lie together in both");
  return 0;
}

static int layout_move(command *self) {
  sett_any a, b;
  sett_move move;
  const char *emit = self->option[OPTION_EMIT];
  int bits = layout_option(self, OPTION_ELEMENT, 32, 64),
      lanes = bits < 0 ? -1 : layout_option(self, OPTION_SUBGROUP, 0, 64), i;
  if (bits < 0 || lanes < 0) return 2;
  if (emit && strcmp(emit, "c") && strcmp(emit, "cuda")) return say_error(self, 0, "expected --emit c or --emit cuda");
  if (!layout_read_any(self, 2, &a) || !layout_read_any(self, 3, &b)) return 2;
  if (sett_any_in_memory(&self->arena, &a, &b)) return layout_reorder(self, &a, &b, bits);
  for (i = 2; i < 4 && !self->option[OPTION_SUBGROUP]; ++i)
    if (layout_fragment_lanes(self, i) > lanes) lanes = layout_fragment_lanes(self, i);
  for (i = 0; i < 2 && !self->option[OPTION_SUBGROUP]; ++i)
    /* a layout in another notation determines the number of lanes itself */
    if ((i ? &b : &a)->kind != SETT_ANY_IREE) lanes = 0;
  move = sett_any_move(&self->arena, &a, &b, bits, lanes);
  if (move.error) return say_error(self, 0, sett_move_message(move.error));
  if (move.no) return layout_move_no(self, &move);
  if (emit) {
    char none[1], *end;
    size_t room;
    if (!strcmp(emit, "cuda") && move.lanes != 32 && move.lanes != 64)
      return say_error(self, 0, sett_move_message(SETT_MOVE_ERROR_LANES));
    end = answer_end(self, none, &room);
    self->length += sett_move_print(&move, strcmp(emit, "c") ? SETT_MOVE_CUDA : SETT_MOVE_C, "sett_move", end, room);
    return 0;
  }
  if (move.kind == SETT_MOVE_REGISTERS) {
    say_text(self, "registers");
    layout_move_say_registers(self, &move);
    return 0;
  }
  if (move.kind == SETT_MOVE_SHUFFLES) {
    say_text(self, "shuffles ");
    say_int(self, move.shuffles);
    say_text(self, move.shuffles == move.least ? "\nno plan has fewer" : "\nno plan has fewer than ");
    if (move.shuffles != move.least) say_int(self, move.least);
    say_text(self, "; ");
    layout_count(self, move.selects, "select");
    layout_move_say_steps(self, &move);
  } else {
    say_text(self, "shared ");
    say_int(self, move.bytes);
    say_text(self, ", barriers ");
    say_int(self, move.barriers);
    say_text(self, ", conflicts ");
    say_int(self, move.conflicts);
    layout_move_say_shared(self, &move, &a, &b);
    if (!move.barriers) say_text(self, "\nall stays in its warp: a barrier of the warp is enough");
  }
  say_text(self, "\ncost ");
  say_int(self, move.cost);
  say_text(self, " quarters of a turn");
  if (move.other >= 0) {
    say_text(self, move.kind == SETT_MOVE_SHARED ? "; " : "; shared memory ");
    if (move.kind == SETT_MOVE_SHARED) layout_count(self, move.shuffles, "shuffle");
    if (move.kind == SETT_MOVE_SHARED) say_text(self, " ");
    say_int(self, move.other);
  }
  return 0;
}

/* ---- operations ------------------------------------------------------------------------------------------------- */

/* Reads up to three layouts in the arguments after the verb. Returns how many there are; -1 after layout_error. */
static int layout_operands(command *self, sett_notation *operand) {
  int i, count = self->argc - 2;
  for (i = 0; i < count; ++i) {
    operand[i] = layout_read(self, 2 + i);
    if (operand[i].error) {
      layout_error(self, &operand[i]);
      return -1;
    }
  }
  return count;
}

#define LAYOUT_OPERATION(name, call)                                      \
  static int layout_##name(command *self) {                               \
    sett_notation operand[3], answer;                                     \
    const sett_notation *a = operand, *b = operand + 1, *c = operand + 2; \
    sett_map_arena *arena = &self->arena;                                 \
    int count = layout_operands(self, operand);                           \
    (void)b, (void)c;                                                     \
    if (count < 0) return 2;                                              \
    answer = call;                                                        \
    return layout_say(self, &answer);                                     \
  }
LAYOUT_OPERATION(coalesce, sett_notation_coalesce(arena, a, count > 1 ? b : NULL))
LAYOUT_OPERATION(composition, sett_notation_composition(arena, a, b))
LAYOUT_OPERATION(complement, sett_notation_complement(arena, a, count > 1 ? b : NULL))
LAYOUT_OPERATION(logical_divide, sett_notation_divide(arena, a, b, SETT_NOTATION_LOGICAL))
LAYOUT_OPERATION(zipped_divide, sett_notation_divide(arena, a, b, SETT_NOTATION_ZIPPED))
LAYOUT_OPERATION(tiled_divide, sett_notation_divide(arena, a, b, SETT_NOTATION_TILED))
LAYOUT_OPERATION(flat_divide, sett_notation_divide(arena, a, b, SETT_NOTATION_FLAT))
LAYOUT_OPERATION(logical_product, sett_notation_product(arena, a, b, SETT_NOTATION_LOGICAL))
LAYOUT_OPERATION(zipped_product, sett_notation_product(arena, a, b, SETT_NOTATION_ZIPPED))
LAYOUT_OPERATION(tiled_product, sett_notation_product(arena, a, b, SETT_NOTATION_TILED))
LAYOUT_OPERATION(flat_product, sett_notation_product(arena, a, b, SETT_NOTATION_FLAT))
LAYOUT_OPERATION(blocked_product, sett_notation_blocked_product(arena, a, b, 0))
LAYOUT_OPERATION(raked_product, sett_notation_blocked_product(arena, a, b, 1))
LAYOUT_OPERATION(right_inverse, sett_notation_right_inverse(arena, a))
LAYOUT_OPERATION(left_inverse, sett_notation_left_inverse(arena, a))
LAYOUT_OPERATION(max_common_layout, sett_notation_max_common_layout(arena, a, b))
LAYOUT_OPERATION(nullspace, sett_notation_nullspace(arena, a))
LAYOUT_OPERATION(flatten, sett_notation_flatten(arena, a))
LAYOUT_OPERATION(identity, sett_notation_identity(arena, a))
LAYOUT_OPERATION(ordered, sett_notation_ordered(arena, a, count > 1 ? b : NULL))
LAYOUT_OPERATION(tile_to_shape, sett_notation_tile_to_shape(arena, a, b, count > 2 ? c : NULL))

LAYOUT_OPERATION(compose, sett_notation_compose(arena, a, b))
LAYOUT_OPERATION(invert, sett_notation_invert(arena, a))
LAYOUT_OPERATION(invert_and_compose, sett_notation_invert_and_compose(arena, a, b))
LAYOUT_OPERATION(divide_left, sett_notation_divide_by(arena, a, b, 0))
LAYOUT_OPERATION(divide_right, sett_notation_divide_by(arena, a, b, 1))
LAYOUT_OPERATION(product, sett_notation_linear_product(arena, a, b))
LAYOUT_OPERATION(make_layout, sett_notation_make(arena, a, b))
LAYOUT_OPERATION(make_composed_layout, sett_notation_compose_of(arena, a, b, c))
LAYOUT_OPERATION(shape_div, sett_notation_shape_div(arena, a, b))
LAYOUT_OPERATION(crd2idx, sett_notation_index(arena, b, a))
LAYOUT_OPERATION(idx2crd, sett_notation_coordinate(arena, b, a))

static int layout_max_common_vector(command *self) {
  sett_notation operand[3], common;
  if (layout_operands(self, operand) < 0) return 2;
  common = sett_notation_max_common_layout(&self->arena, &operand[0], &operand[1]);
  if (common.error) return layout_error(self, &common);
  return layout_say_number(self, sett_notation_size(&common));
}

/* Reads the numbers of an argument. Returns how many there are, 0 for an empty argument; -1 after say_error. */
static int layout_numbers(command *self, int word, int64_t *numbers, int limit) {
  return self->argc > word && *self->argv[word] ? shape_integers(self, reading(self, self->argv[word]), numbers, limit)
                                                : 0;
}

/* Reads a layout. If the second argument is a path, returns the mode (the part of a CuTe layout) at that path. */
static sett_notation layout_mode(command *self, int *status) {
  sett_notation layout = layout_read(self, 2);
  int64_t path[SETT_NOTATION_DEPTH];
  int count;
  *status = 0;
  if (layout.error) {
    *status = layout_error(self, &layout);
    return layout;
  }
  count = layout_numbers(self, 3, path, SETT_NOTATION_DEPTH);
  if (count < 0) *status = 2;
  if (count > 0) layout = sett_notation_get(&self->arena, &layout, count, path);
  if (layout.error) *status = layout_error(self, &layout);
  return layout;
}

static int layout_quotient(command *self) {
  sett_notation layout = layout_read(self, 2);
  const char *names = self->argv[3];
  char name[16];
  while (!layout.error && *names) { /* split the comma-separated names */
    size_t length = strcspn(names, ",");
    if (length == 0 || length > 15) return say_error(self, 1, sett_notation_message(SETT_NOTATION_ERROR_NAME));
    memcpy(name, names, length);
    name[length] = 0;
    layout = sett_notation_quotient(&self->arena, &layout, name);
    names += length;
    names += *names == ',';
  }
  return layout_say(self, &layout);
}

static int layout_sublayout(command *self) {
  sett_notation layout = layout_read(self, 2);
  const char *text = self->argv[3];
  if (layout.error) return layout_error(self, &layout);
  layout = sett_notation_sublayout(&self->arena, &layout, reading(self, text), strlen(text));
  return layout_say(self, &layout);
}

/* text is NULL for a reshape to one dimension */
static int layout_reshape(command *self, const char *text, int outs) {
  sett_notation layout = layout_read(self, 2);
  if (layout.error) return layout_error(self, &layout);
  if (text) reading(self, text);
  layout = sett_notation_reshape(&self->arena, &layout, text, text ? strlen(text) : 0, outs);
  return layout_say(self, &layout);
}

static int layout_reshape_ins(command *self) { return layout_reshape(self, self->argv[3], 0); }
static int layout_reshape_outs(command *self) { return layout_reshape(self, self->argv[3], 1); }
static int layout_flatten_ins(command *self) { return layout_reshape(self, NULL, 0); }
static int layout_flatten_outs(command *self) { return layout_reshape(self, NULL, 1); }

/* Reads an argument that must be a linear layout; returns a status. */
static int layout_linear(command *self, sett_notation *layout) {
  *layout = layout_read(self, 2);
  if (layout->error) return layout_error(self, layout);
  if (layout->kind == SETT_NOTATION_TRITON) return 0;
  return say_error(
      self, 0,
      "expected a linear layout, as {in = [[1], [2]]} -> {out = 4}, or an encoding of Triton's; of others `sett layout` says whether they are one-to-one");
}

static int layout_is(command *self, int (*is)(const sett_notation *, int64_t *), const char *before,
                     const char *behind) {
  sett_notation layout;
  int64_t witness;
  if (layout_linear(self, &layout)) return 2;
  if (is(&layout, &witness)) {
    say_text(self, "yes");
    return 0;
  }
  say_text(self, before);
  say_int(self, witness);
  say_text(self, behind);
  if (is == sett_notation_is_zero) say_int(self, (int64_t)settp_notation_apply(layout.linear, (uint64_t)witness));
  return 1;
}

static int layout_is_zero(command *self) { return layout_is(self, sett_notation_is_zero, "no: at ", " it is "); }
static int layout_is_injective(command *self) {
  return layout_is(self, sett_notation_is_injective, "no: at ", " it is 0, as at 0");
}
static int layout_is_surjective(command *self) {
  return layout_is(self, sett_notation_is_surjective, "no: nothing gives ", "");
}

static int layout_free_masks(command *self) {
  sett_notation layout;
  int64_t mask[SETT_NOTATION_DIMS];
  int i, count;
  if (layout_linear(self, &layout)) return 2;
  count = sett_notation_free_masks(&layout, mask);
  say_text(self, "{");
  for (i = 0; i < count; ++i) {
    if (i) say_text(self, ", ");
    say_text(self, layout.linear->in[i]);
    say_text(self, " = ");
    say_int(self, mask[i]);
  }
  say_text(self, "}");
  return 0;
}

static int layout_consecutive(command *self) {
  sett_notation layout;
  return layout_linear(self, &layout) ? 2 : layout_say_number(self, sett_notation_consecutive(&layout));
}

static int layout_get(command *self) {
  int status;
  sett_notation layout = layout_mode(self, &status);
  return status ? status : layout_say(self, &layout);
}

static int layout_size(command *self) {
  int status;
  sett_notation layout = layout_mode(self, &status);
  return status ? status : layout_say_number(self, sett_notation_size(&layout));
}

static int layout_cosize(command *self) {
  int status;
  sett_notation layout = layout_mode(self, &status);
  return status ? status : layout_say_number(self, sett_notation_cosize(&layout));
}

static int layout_select(command *self) {
  sett_notation layout = layout_read(self, 2);
  int64_t chosen[SETT_NOTATION_LEAVES];
  int count;
  if (layout.error) return layout_error(self, &layout);
  if ((count = layout_numbers(self, 3, chosen, SETT_NOTATION_LEAVES)) < 0) return 2;
  layout = sett_notation_select(&self->arena, &layout, count, chosen);
  return layout_say(self, &layout);
}

/* Reads a layout and two numbers. Returns 0 after an error, with its status in *status. */
static int layout_pair(command *self, sett_notation *layout, int64_t *pair, int *status) {
  *layout = layout_read(self, 2);
  *status = 2;
  if (layout->error) *status = layout_error(self, layout);
  return !layout->error && layout_numbers(self, 3, pair, 1) == 1 && layout_numbers(self, 4, pair + 1, 1) == 1;
}

static int layout_group(command *self) {
  sett_notation layout;
  int64_t pair[2];
  int status;
  if (!layout_pair(self, &layout, pair, &status)) return status;
  layout = sett_notation_group(&self->arena, &layout, pair[0], pair[1]);
  return layout_say(self, &layout);
}

static int layout_recast(command *self) {
  sett_notation layout;
  int64_t pair[2];
  int status;
  if (!layout_pair(self, &layout, pair, &status)) return status;
  layout = sett_notation_recast(&self->arena, &layout, pair[0], pair[1]);
  return layout_say(self, &layout);
}

/* Writes the index to which a layout maps an input, such as (0,0, 4). For k = 0, 1, 2, the input is at[k] in the
 * dimension names[k]; it is 0 in all others. */
static void layout_dump_index(command *self, const sett_notation_linear *linear, const char *const *names,
                              const int64_t *at) {
  uint64_t packed = 0;
  int i, k, d, shift = 0;
  for (i = 0; i < linear->ins; shift += linear->in_bits[i++])
    for (k = 0; k < 3; ++k)
      if (!strcmp(linear->in[i], names[k])) packed |= (uint64_t)at[k] << shift;
  packed = settp_notation_apply(linear, packed);
  for (d = 0; d < linear->outs; ++d) {
    int64_t last = ((int64_t)1 << linear->out_bits[d]) - 1, number = (int64_t)packed & last;
    say_text(self, d ? "," : "(");
    say_spaces(self, int_length(number), int_length(last)); /* pad to the width of the largest index */
    say_int(self, number);
    packed >>= linear->out_bits[d];
  }
  say_text(self, ")");
}

/* Writes a layout in the form in which Triton prints it from the hardware's side: one row per register and one column
 * per lane of a warp; or, for shared memory, elements by offset. */
static int layout_dump(command *self) {
  static const char *const owners[] = {"register", "lane", "warp"}, *const offsets[] = {"offset", "block", ""};
  sett_notation layout;
  const sett_notation_linear *linear;
  int shared, k, in, lines = 0;
  int64_t count[3], at[3] = {0, 0, 0};
  const char *const *names;
  if (layout_linear(self, &layout)) return 2;
  linear = layout.linear;
  shared = settp_notation_find(linear->ins, linear->in, "offset") >= 0;
  names = shared ? offsets : owners;
  for (k = 0; k < 3; ++k) {
    in = settp_notation_find(linear->ins, linear->in, names[k]);
    count[k] = in < 0 ? 1 : (int64_t)1 << linear->in_bits[in];
  }
  if (sett_notation_size(&layout) > LAYOUT_TABLE_MOST)
    return say_error(self, 0, "expected a layout of at most 4194304 values");
  for (at[2] = 0; at[2] < (shared ? 1 : count[2]); ++at[2]) {
    if (!shared) {
      say_text(self, at[2] ? "\nWarp" : "Warp");
      say_int(self, at[2]);
      say_text(self, ":");
    }
    for (at[0] = shared ? at[1] : 0; at[0] < (shared ? count[1] : count[0]); ++at[0]) {
      int64_t inner;
      if (shared) {
        say_text(self, lines++ ? "\nBlock: " : "Block: ");
        say_int(self, at[0]);
        say_text(self, ":");
      } else {
        say_text(self, "\n");
      }
      for (inner = 0; inner < (shared ? count[0] : count[1]); ++inner) {
        int64_t point[3];
        point[0] = shared ? inner : at[0];
        point[1] = shared ? at[0] : inner;
        point[2] = at[2];
        if (shared) {
          say_text(self, "\nOffset: ");
          say_int(self, inner);
          say_text(self, " -> ");
        } else if (inner) {
          say_text(self, ", ");
        }
        layout_dump_index(self, linear, names, point);
      }
    }
  }
  return 0;
}

/* Writes a swizzle of shared memory for the move between two distributed layouts. */
static int layout_swizzle(command *self) {
  sett_notation store = layout_read(self, 2), load;
  sett_notation_exchange made;
  int64_t bits;
  if (store.error) return layout_error(self, &store);
  load = layout_read(self, 3);
  if (load.error) return layout_error(self, &load);
  if (layout_numbers(self, 4, &bits, 1) != 1) return 2;
  made = sett_notation_shared(&self->arena, &store, &load, bits);
  if (made.layout.error) return layout_error(self, &made.layout);
  layout_put(self, &made.layout);
  say_text(self, "\tvectors of ");
  say_int(self, made.width);
  say_text(self, made.width == 1 ? " element; an access of a warp that stores takes "
                                 : " elements; an access of a warp that stores takes ");
  say_int(self, made.store_turns);
  say_text(self, made.store_turns == 1 ? " turn, one that loads " : " turns, one that loads ");
  say_int(self, made.load_turns);
  if (made.store_turns == made.store_least && made.load_turns == made.load_least)
    say_text(self, ": least, no layout takes fewer");
  return 0;
}

static const command_verb layout_verbs[] = {
    {"", "TEXT", "the name of the notation, the layout in canonical form, facts; with tabs between",
     "((2,2),3):((1,6),2)", layout_canonical},
    {"map", "TEXT",
     "the layout as an indexing map; its dimensions are the leaves of a CuTe layout, the inputs of a linear layout, else those of the array",
     "(4,(2,4)):(2,(1,8))", layout_map},
    {"at", "TEXT I,J,..", "the value at a coordinate, or at an integer, which is split with the first mode fastest",
     "((2,2),3):((1,6),2)\t1,2", layout_at},
    {"table", "TEXT",
     "all values; the first mode or input is the fastest in CuTe and linear layouts, the last dimension in others",
     "S<2,0,2> o 0 o (4,4):(4,1)", layout_table},
    {"same", "A B",
     "are A and B the same function of the index, or of the owner, in whatever notation? yes, no with the first point, or not decided",
     "f32[70,300]{1,0:T(8,128)}\t70x300@AB8a128b", layout_same},
    {"convert", "TEXT NOTATION",
     "the same layout in another NOTATION (cute, triton, mosaic, onednn, strides, xla, iree or map), or no: reason, with indices that show it",
     "S<2,0,2> o 0 o (4,4):(4,1)\ttriton", layout_convert},
    {"move", "[--element BITS] [--subgroup N] [--emit c|cuda] A B",
     "the cheapest move of an array from distribution A over threads to distribution B, and its steps:"
     "\nregisters; shuffles N; or shared BYTES, barriers N, conflicts N; no: A and B differ in lanes, blocks or sizes of the array"
     "\nthreads that only A or only B has take no part, nor do registers outside an array whose sizes are no powers of two"
     "\nfor two layouts in memory (tags of oneDNN, strides, XLA's; one may be CuTe's): reorder ELEMENTS, zeros N"
     "\na tag's padding is not read, and is set to 0"
     "\n--element: bits of an element (8, 16, 32 or 64; default 32); --subgroup: lanes of a warp; --emit: print the move as a C or CUDA function",
     "NV_MMA_SYNC_F32_16x8x16_F16.acc\t16x8@#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [16, 2], warpsPerCTA = [1, 1], order = [1, 0]}>",
     layout_move},
    {"coalesce", "A [PROFILE]",
     "the layout with the same values and the fewest modes; with PROFILE, modes are joined only within each leaf of PROFILE",
     "(2,(1,6)):(1,(6,2))", layout_coalesce},
    {"composition", "A B", "the layout with the value A(B(c)) for each c; B may be a tile [a;b]",
     "(6,2):(8,2)\t(4,3):(3,1)", layout_composition},
    {"complement", "A [BOUND]", "a layout of offsets that A leaves out, up to BOUND (by default the cosize of A)",
     "4:2\t24", layout_complement},
    {"logical_divide", "A TILER", "A divided into (tile, rest); if TILER is a tile or a tuple, each mode is divided",
     "(4,2,3):(2,1,8)\t4:2", layout_logical_divide},
    {"zipped_divide", "A TILER", "A divided into ((tiles), (rests))", "(6,8):(8,1)\t(3,4)", layout_zipped_divide},
    {"tiled_divide", "A TILER", "A divided into ((tiles), rest, ..)", "(6,8):(8,1)\t(3,4)", layout_tiled_divide},
    {"flat_divide", "A TILER", "A divided into (tile, .., rest, ..)", "(6,8):(8,1)\t(3,4)", layout_flat_divide},
    {"logical_product", "A TILER", "copies of A, as (A, offsets of the copies)", "(2,2):(4,1)\t6:1",
     layout_logical_product},
    {"zipped_product", "A TILER", "copies of A, as ((modes of A), (modes of the copies))", "(3,4):(4,1)\t(2,5):(1,2)",
     layout_zipped_product},
    {"tiled_product", "A TILER", "copies of A, as (A, modes of the copies ..)", "(3,4):(4,1)\t(2,5):(1,2)",
     layout_tiled_product},
    {"flat_product", "A TILER", "copies of A, as (modes of A .., modes of the copies ..)", "(3,4):(4,1)\t(2,5):(1,2)",
     layout_flat_product},
    {"blocked_product", "A TILER", "copies of A, as ((mode of A, mode of the copies), ..)", "(2,5):(5,1)\t(3,4):(1,3)",
     layout_blocked_product},
    {"raked_product", "A TILER", "copies of A, as ((mode of the copies, mode of A), ..)", "(2,5):(5,1)\t(3,4):(1,3)",
     layout_raked_product},
    {"right_inverse", "A", "R with A(R(i)) = i for all i below the size of R", "(4,8):(8,1)", layout_right_inverse},
    {"left_inverse", "A", "R with A(R(A(i))) = A(i) for all i", "(4,8):(1,5)", layout_left_inverse},
    {"max_common_layout", "A B", "R with A(R(i)) = B(R(i)) = i for all i below the size of R",
     "(8,4):(1,8)\t(8,4):(1,16)", layout_max_common_layout},
    {"max_common_vector", "A B", "the size of max_common_layout", "(8,4):(1,8)\t(8,4):(1,16)",
     layout_max_common_vector},
    {"nullspace", "A", "the modes of stride 0, as a layout into the domain of A", "(2,3,4):(1,0,2)", layout_nullspace},
    {"recast", "A NEW OLD", "the same memory in elements of NEW bits instead of OLD", "(32,4):(1,32)\t32\t8",
     layout_recast},
    {"tile_to_shape", "A SHAPE [ORDER]",
     "copies of A that cover SHAPE; ORDER: a number for each mode, the smallest for the fastest", "(3,2):(1,3)\t(6,8)",
     layout_tile_to_shape},
    {"make_ordered_layout", "SHAPE [ORDER]",
     "the compact layout of SHAPE; ORDER: a number for each mode, the smallest for the fastest",
     "(2,(2,2),2)\t(0,(2,3),1)", layout_ordered},
    {"make_identity_layout", "SHAPE", "the layout of SHAPE whose values are its own coordinates", "(2,(3,4))",
     layout_identity},
    {"compose", "A B", "the linear layout with the value B(A(x)) for each x",
     "{in = [[2], [1]]} -> {mid = 4}\t{mid = [[1], [3]]} -> {out = 4}", layout_compose},
    {"invert", "A", "the inverse of a one-to-one linear layout", "{in = [[1], [3]]} -> {out = 4}", layout_invert},
    {"invert_and_compose", "A B", "R with B(R(x)) = A(x)",
     "{a = [[2], [1], [4]]} -> {out = 8}\t{b = [[4], [1], [2]]} -> {out = 8}", layout_invert_and_compose},
    {"quotient", "A DIM,..", "A without these input and output dimensions, on which A must be the identity",
     "{lane = [[1, 0]], warp = [[0, 1]]} -> {lane = 2, warp = 2}\twarp", layout_quotient},
    {"divide_left", "A B", "R for which the product of B and R is A",
     "{in = [[1], [2], [4]]} -> {out = 8}\t{in = [[1]]} -> {out = 2}", layout_divide_left},
    {"divide_right", "A B", "R for which the product of R and B is A",
     "{in = [[1], [2], [4]]} -> {out = 8}\t{in = [[1]]} -> {out = 2}", layout_divide_right},
    {"product", "A B",
     "A and B as one linear layout; in dimensions of the same name, the bits of B are above those of A",
     "{in = [[1]]} -> {out = 2}\t{in = [[1]]} -> {out = 2}", layout_product},
    {"sublayout", "A NAMES", "A with only these input and output dimensions; the other inputs are 0",
     "{a = [[1, 0]], b = [[0, 1]]} -> {x = 2, y = 2}\t{b} -> {y}", layout_sublayout},
    {"reshape_ins", "A SIZES", "A with these input dimensions, the lowest first; packed inputs stay the same",
     "{in = [[1], [4], [2]]} -> {out = 8}\t{low = 2, high = 4}", layout_reshape_ins},
    {"reshape_outs", "A SIZES", "A with these output dimensions, the lowest first; packed values stay the same",
     "{in = [[1], [4], [3]]} -> {out = 8}\t{low = 2, high = 4}", layout_reshape_outs},
    {"flatten_ins", "A", "A with one input dimension; packed inputs stay the same",
     "{a = [[1]], b = [[4], [2]]} -> {out = 8}", layout_flatten_ins},
    {"flatten_outs", "A", "A with one output dimension; packed values stay the same",
     "{in = [[1, 0], [4, 1]]} -> {x = 8, y = 2}", layout_flatten_outs},
    {"is_zero", "A", "is a linear layout 0 everywhere? yes, or no with an input whose value is not 0",
     "{in = [[0], [2]]} -> {out = 4}", layout_is_zero},
    {"is_injective", "A",
     "does each value have at most one input? yes, or no with an input other than 0 whose value is 0",
     "{in = [[1], [2], [3]]} -> {out = 4}", layout_is_injective},
    {"is_surjective", "A", "does each value have an input? yes, or no with a value that has none",
     "{in = [[1], [2], [3]]} -> {out = 4}", layout_is_surjective},
    {"free_masks", "A",
     "for each input dimension, the bits that no value needs: each value has an input that is 0 in them",
     "{in = [[1], [0], [2], [3]]} -> {out = 4}", layout_free_masks},
    {"consecutive", "A", "the largest N for which each aligned group of N packed inputs has N consecutive values",
     "{in = [[1], [2], [8]]} -> {out = 16}", layout_consecutive},
    {"dump", "TEXT",
     "the layout as Triton prints it from the side of the hardware: for each warp, registers down and lanes across; shared memory by offsets",
     "4x4@#ttg.blocked<{sizePerThread = [1, 2], threadsPerWarp = [2, 2], warpsPerCTA = [2, 1], order = [1, 0]}>",
     layout_dump},
    {"swizzle", "STORE LOAD BITS",
     "the layout {offset = ..} of shared memory that takes the fewest turns if STORE writes it and LOAD reads it; BITS: of an element",
     "{register = [[1]], lane = [[2], [4]]} -> {dim0 = 8}\t{register = [[4]], lane = [[1], [2]]} -> {dim0 = 8}\t32",
     layout_swizzle},
    {"make_layout", "SHAPE STRIDE", "the layout SHAPE:STRIDE", "(2,3)\t(1@0,1@1)", layout_make_layout},
    {"make_composed_layout", "OUTER OFFSET INNER", "the layout OUTER o OFFSET o INNER", "S<3,4,3>\t0\t(8,4):(1,8)",
     layout_make_composed_layout},
    {"shape_div", "A B", "the quotients of the numbers of two shapes of the same form, rounded up", "(8,10)\t(2,5)",
     layout_shape_div},
    {"crd2idx", "C SHAPE", "the index of coordinate C, with the first mode fastest", "(1,5)\t(3,(2,3))",
     layout_crd2idx},
    {"idx2crd", "I SHAPE", "the coordinate of index I, with the first mode fastest", "16\t(3,(2,3))", layout_idx2crd},
    {"flatten", "A", "A without inner parentheses", "(3,(4,5)):(8,(1,4))", layout_flatten},
    {"get", "A [I,J,..]", "the mode of A at this path", "((4,2),(3,8)):((1,4),(8,24))\t0,1", layout_get},
    {"select", "A I,J,..", "these modes of A, in this order", "(4,2,8):(1,4,8)\t2,0", layout_select},
    {"group_modes", "A BEGIN END", "A with its modes BEGIN to END - 1 as one mode", "(4,5,6):(1,4,20)\t1\t3",
     layout_group},
    {"size", "A [I,J,..]", "the number of coordinates of A, or of the mode at this path", "(4,(16,32)):(1,(4,64))",
     layout_size},
    {"cosize", "A [I,J,..]", "1 + the largest distance between two offsets of A, or of the mode at this path",
     "(4,3,2):(1,4,12)\t1", layout_cosize},
};
