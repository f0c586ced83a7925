/* The commands `nested ...` (included by gen/command/sett.c). Each parses its arguments, calls
 * include/sett_nested_layout.h and writes the answer. */
#include "../../include/sett_mma_layouts.h"

enum { NESTED_OWNERS_MOST = 1 << 20, NESTED_DRAWN = 1 << 16 };

static int nested_error(command *self, const sett_nested_layout *layout) {
  char text[256];
  sett_nested_explain(layout, text, sizeof text);
  return say_error(self, (int)layout->column, text);
}

static int nested_operand(const char *text) {
  static const char *const names[][2] = {
      {"lhs", "a"}, {"rhs", "b"}, {"acc", "c"}, {"lhs_scale", ""}, {"rhs_scale", ""}};
  int i;
  for (i = 0; i < SETT_MMA_OPERAND_COUNT && *text; ++i)
    if (!strcmp(text, names[i][0]) || !strcmp(text, names[i][1])) return i;
  return -1;
}

/* Writes the error of an argument that is neither a layout nor INTRINSIC.OPERAND. Returns 0. */
static int nested_say_fragment(command *self, const char *text) {
  const char *dot = strrchr(text, '.');
  char name[MISTYPED_MOST] = "";
  command_mistyped mistyped;
  int i;
  if (dot && sett_mma_find(text, (size_t)(dot - text)) >= 0)
    return say_error(self, (int)(dot - text) + 2,
                     "expected lhs, rhs, acc (or a, b, c), lhs_scale or rhs_scale, if the intrinsic has it"),
           0;
  if (dot && (size_t)(dot - text) < sizeof name) memcpy(name, text, (size_t)(dot - text));
  else if (!dot && strlen(text) < sizeof name) memcpy(name, text, strlen(text));
  mistyped = command_look_for(name);
  for (i = 0; i < SETT_MMA_COUNT; ++i) command_compare(&mistyped, sett_mma_get(i).name);
  say_error(self, 1, "expected nested_layout<..>, or an intrinsic, a dot and its operand lhs, rhs or acc, such as ");
  say_text(self, mistyped.nearest ? mistyped.nearest : sett_mma_get(0).name);
  say_text(self, dot && nested_operand(dot + 1) >= 0 ? dot : ".acc");
  say_text(self, " (`nested mma` lists the intrinsics)");
  return 0;
}

/* Reads a layout from an argument: the layout's text, or INTRINSIC.OPERAND for the layout of an intrinsic's operand.
 * Returns 0 after say_error. */
static int nested_read(command *self, int word, sett_nested_layout *layout) {
  const char *text = reading(self, self->argv[word]), *dot = strrchr(text, '.');
  int intrinsic = dot ? sett_mma_find(text, (size_t)(dot - text)) : -1;
  if (intrinsic >= 0 ? sett_mma_layout(intrinsic, nested_operand(dot + 1)).error == SETT_NESTED_ERROR_OPERAND
                     : strncmp(text, "#iree", 5) && strncmp(text, "nested", 6))
    return nested_say_fragment(self, text);
  if (intrinsic >= 0) *layout = sett_mma_layout(intrinsic, nested_operand(dot + 1));
  else *layout = sett_nested_parse(text, strlen(text));
  if (layout->error) nested_error(self, layout);
  return !layout->error;
}

/* Reads the layout in the first argument after the verb. Returns NULL after say_error. */
static const sett_nested_layout *nested_layout(command *self) {
  sett_nested_layout *layout = (sett_nested_layout *)settp_map_take(&self->arena, sizeof *layout);
  if (!layout) say_error(self, 0, sett_map_message(SETT_MAP_ERROR_FULL));
  return layout && nested_read(self, 2, layout) ? layout : NULL;
}

/* Reads a nonnegative integer. Returns 0 after say_error. */
static int nested_number(command *self, int word, const char *what, int64_t *value) {
  int count = shape_integers(self, self->argv[word], value, 1);
  if (count < 0) return 0;
  if (count == 1 && *value >= 0) return 1;
  say_error(self, 1, what);
  return 0;
}

/* Reads dimension numbers separated by commas. Returns how many there are; -1 after say_error. */
static int nested_dims(command *self, int word, int32_t *dims, int limit) {
  int64_t values[SETT_NESTED_MAX_RANK];
  int i, count = shape_integers(self, self->argv[word], values, limit);
  for (i = 0; i < count; ++i)
    dims[i] = values[i] < -1 || values[i] > SETT_NESTED_MAX_RANK ? SETT_NESTED_MAX_RANK : (int32_t)values[i];
  return count;
}

static int nested_say(command *self, const sett_nested_layout *layout) {
  char text[8192]; /* enough for every layout: at most 168 numbers of 21 characters */
  size_t length;
  if (layout->error) return nested_error(self, layout);
  length = sett_nested_print(layout, text, sizeof text);
  say(self, text, length);
  return 0;
}

static void nested_say_shape(command *self, const char *name, int (*shape_of)(const sett_nested_layout *, int64_t *),
                             const sett_nested_layout *layout) {
  int64_t shape[SETT_NESTED_LEVELS * SETT_NESTED_MAX_RANK] = {0};
  int count = shape_of(layout, shape);
  say_text(self, name);
  shape_say_list(self, shape, count);
}

static int nested_canonical(command *self, const sett_nested_layout *layout) {
  if (nested_say(self, layout)) return 2;
  nested_say_shape(self, "\t", sett_nested_undistributed, layout);
  nested_say_shape(self, "\t", sett_nested_distributed, layout);
  return 0;
}

static void nested_say_number(command *self, const char *name, int64_t value) {
  say_text(self, name);
  shape_say_size(self, value);
}

static int nested_info(command *self) {
  const sett_nested_layout *layout = nested_layout(self);
  if (!layout) return 2;
  say_text(self, "layout ");
  nested_say(self, layout);
  nested_say_shape(self, "\nundistributed ", sett_nested_undistributed, layout);
  nested_say_shape(self, "\ndistributed ", sett_nested_distributed, layout);
  nested_say_shape(self, "\nunpacked ", sett_nested_unpacked, layout);
  nested_say_shape(self, "\npacked ", sett_nested_packed, layout);
  nested_say_number(self, "\nelements ", sett_nested_elements(layout));
  nested_say_number(self, "\nslots ", sett_nested_slots(layout));
  nested_say_number(self, "\nsubgroups ", sett_nested_subgroups(layout));
  nested_say_number(self, "\nthreads ", sett_nested_threads(layout));
  nested_say_number(self, "\ncopies ", sett_nested_copies(layout));
  nested_say_number(self, "\nheld ",
                    sett_nested_held(layout, sett_nested_subgroups(layout), sett_nested_threads(layout)));
  return 0;
}

static int nested_element(command *self) {
  const sett_nested_layout *layout = nested_layout(self);
  int64_t index[SETT_NESTED_MAX_RANK], subgroup, thread, slot;
  if (!layout) return 2;
  if (!nested_number(self, 3, "expected the number of a subgroup, 0 or more", &subgroup) ||
      !nested_number(self, 4, "expected the number of a thread, 0 or more", &thread) ||
      !nested_number(self, 5, "expected the number of a slot, 0 or more", &slot))
    return 2;
  if (!sett_nested_element(layout, subgroup, thread, slot, index))
    return say_error(self, 1, "expected a slot that a thread has");
  shape_say_list(self, index, layout->rank);
  return 0;
}

static int nested_owner(command *self) {
  const sett_nested_layout *layout = nested_layout(self);
  int64_t index[SETT_NESTED_MAX_RANK], shape[SETT_NESTED_MAX_RANK], owner[3], which;
  int count, d;
  if (!layout) return 2;
  count = shape_integers(self, self->argv[3], index, SETT_NESTED_MAX_RANK);
  if (count < 0) return 2;
  if (count != layout->rank) return say_error(self, 1, "expected one index for each dimension of the layout");
  sett_nested_undistributed(layout, shape);
  for (d = 0; d < count; ++d)
    if (index[d] < 0 || index[d] >= shape[d]) return say_error(self, 1, "expected indices inside the vector");
  if (sett_nested_owner(layout, index, NESTED_OWNERS_MOST, &owner[0], &owner[1], &owner[2]))
    return say_error(self, 1, "expected an element of at most 1048576 owners");
  for (which = 0; sett_nested_owner(layout, index, which, &owner[0], &owner[1], &owner[2]); ++which) {
    if (which) say_text(self, "; ");
    shape_say_list(self, owner, 3);
  }
  if (!which) say_text(self, "nobody");
  return 0;
}

/* Writes the index of the element whose row-major number is given. */
static void nested_say_index(command *self, const sett_nested_layout *layout, const int64_t *shape, int64_t number) {
  int64_t index[SETT_NESTED_MAX_RANK];
  int d;
  for (d = layout->rank; d-- > 0; number /= shape[d]) index[d] = number % shape[d];
  shape_say_list(self, index, layout->rank);
}

/* Writes one line per element with all its owners, then one line per thread with the elements in its slots. */
static int nested_index(command *self) {
  const sett_nested_layout *layout = nested_layout(self);
  int64_t shape[SETT_NESTED_MAX_RANK], elements, slots, count, threads, *element, *owner, *next, number, held;
  if (!layout) return 2;
  elements = sett_nested_elements(layout);
  count = sett_nested_all_slots(layout);
  slots = sett_nested_slots(layout);
  threads = sett_nested_threads(layout);
  if (elements > NESTED_DRAWN || count < 0 || count > NESTED_DRAWN)
    return say_error(
        self, 0,
        "expected at most 65536 elements, and slots of all threads: `nested element` and `nested owner` answer for one");
  element = (int64_t *)settp_map_take(&self->arena, (size_t)(2 * count + elements) * sizeof *element);
  if (!element) return say_error(self, 0, sett_map_message(SETT_MAP_ERROR_FULL));
  next = element + count;
  owner = next + count;
  sett_nested_index(layout, element, owner, next);
  sett_nested_undistributed(layout, shape);
  for (number = 0; number < elements; ++number) {
    say_text(self, number ? "\nelement " : "element ");
    nested_say_index(self, layout, shape, number);
    say_text(self, owner[number] < 0 ? "\tnobody" : "\t");
    for (held = owner[number]; held >= 0; held = next[held]) {
      int64_t place[3];
      place[0] = held / slots / threads;
      place[1] = held / slots % threads;
      place[2] = held % slots;
      if (held != owner[number]) say_text(self, "; ");
      shape_say_list(self, place, 3);
    }
  }
  for (held = 0; held < count; ++held) {
    int64_t place[2];
    place[0] = held / slots / threads;
    place[1] = held / slots % threads;
    if (held % slots == 0) say_text(self, "\nthread "), shape_say_list(self, place, 2);
    say_text(self, held % slots ? "; " : "\t");
    nested_say_index(self, layout, shape, element[held]);
  }
  return 0;
}

/* Writes the owner and slots of the run of elements that starts at an index. */
static size_t nested_cell(const sett_nested_layout *layout, const int64_t *index, int64_t run, char *text,
                          size_t capacity) {
  int64_t subgroup, thread, slot;
  size_t length = 0;
  if (!sett_nested_owner(layout, index, 0, &subgroup, &thread, &slot)) return (size_t)snprintf(text, capacity, ".");
  if (sett_nested_subgroups(layout) > 1) length = (size_t)snprintf(text, capacity, "%lld:", (long long)subgroup);
  length += (size_t)snprintf(text + length, capacity - length, "%lld.%lld", (long long)thread, (long long)slot);
  if (run > 1) length += (size_t)snprintf(text + length, capacity - length, "-%lld", (long long)(slot + run - 1));
  return length;
}

static void nested_say_cell(command *self, const char *text, size_t length, size_t width) {
  say(self, text, length);
  for (; length < width; ++length) say_text(self, " ");
}

/* Draws a table of the last two dimensions for each index of the other dimensions. A cell stands for the adjacent
 * elements of an element tile along the last dimension, and shows their thread and slots. */
static int nested_draw(command *self) {
  const sett_nested_layout *layout = nested_layout(self);
  int64_t shape[SETT_NESTED_MAX_RANK], index[SETT_NESTED_MAX_RANK], run, tables = 1, table, rows, columns, row, column;
  int rank, d, pass;
  size_t width = 0, labels = 0, length;
  char text[128];
  if (!layout) return 2;
  rank = layout->rank;
  if (sett_nested_elements(layout) > NESTED_DRAWN) return say_error(self, 0, "expected at most 65536 elements to draw");
  sett_nested_undistributed(layout, shape);
  rows = rank > 1 ? shape[rank - 2] : 1;
  columns = rank > 0 ? shape[rank - 1] : 1;
  run = rank > 0 ? layout->field[SETT_NESTED_ELEMENT][rank - 1] : 1;
  for (d = 0; d < rank - 2; ++d) tables *= shape[d];
  for (d = 0; d < rank; ++d) {
    if (d) say_text(self, "x");
    say_int(self, shape[d]);
  }
  say_text(self, rank ? ", " : "scalar, ");
  say_text(self, sett_nested_subgroups(layout) > 1 ? "subgroup:thread.slot" : "thread.slot");
  if (layout->incomplete) say_text(self, ", . is nobody's");
  if (sett_nested_copies(layout) != 1) say_text(self, ", the smallest of ");
  if (sett_nested_copies(layout) != 1) shape_say_size(self, sett_nested_copies(layout));
  if (rank > 1) labels = (size_t)snprintf(text, sizeof text, "%lld  ", (long long)(rows - 1));
  for (pass = 0; pass < 2; ++pass) /* pass 0 finds the widest cell, pass 1 writes */
    for (table = 0; table < tables; ++table) {
      int64_t rest = table;
      for (d = rank - 2; d-- > 0; rest /= shape[d]) index[d] = rest % shape[d];
      if (pass && rank > 2) {
        say_text(self, "\n[");
        shape_say_list(self, index, rank - 2);
        say_text(self, "]");
      }
      for (row = rank > 0 ? -1 : 0; row < rows; ++row) { /* row -1 has the columns' indices */
        if (pass) say_text(self, "\n");
        length = row < 0 ? 0 : (size_t)snprintf(text, sizeof text, "%lld", (long long)row);
        if (pass && rank > 1) nested_say_cell(self, text, length, labels);
        for (column = 0; column < columns; column += run) {
          if (rank > 1) index[rank - 2] = row;
          if (rank > 0) index[rank - 1] = column;
          if (row >= 0) length = nested_cell(layout, index, run, text, sizeof text);
          else if (run == 1) length = (size_t)snprintf(text, sizeof text, "%lld", (long long)column);
          else
            length = (size_t)snprintf(text, sizeof text, "%lld-%lld", (long long)column, (long long)(column + run - 1));
          if (length > width) width = length;
          if (pass) nested_say_cell(self, text, length, column + run < columns ? width + 2 : length);
        }
      }
    }
  return 0;
}

/* Runs recombine RESULT LAYOUT MAP LAYOUT MAP ..: each MAP lists, for each dimension of the LAYOUT before it, the loop
 * that indexes the dimension. */
static int nested_recombine(command *self) {
  enum { OPERANDS = 16 };
  sett_nested_layout layouts[OPERANDS];
  int32_t map[OPERANDS][SETT_NESTED_MAX_RANK], result[SETT_NESTED_MAX_RANK];
  const int32_t *maps[OPERANDS];
  sett_nested_layout layout;
  int i, rank = nested_dims(self, 2, result, SETT_NESTED_MAX_RANK), count = (self->argc - 3) / 2;
  if (rank < 0) return 2;
  if (self->argc % 2 == 0) return say_error(self, 0, "expected a list of loops after each layout");
  if (count > OPERANDS) return say_error(self, 0, "expected at most 16 operands");
  for (i = 0; i < count; ++i) {
    int dims;
    if (!nested_read(self, 3 + 2 * i, &layouts[i]) ||
        (dims = nested_dims(self, 4 + 2 * i, map[i], SETT_NESTED_MAX_RANK)) < 0)
      return 2;
    if (dims != layouts[i].rank) return say_error(self, 1, "expected a loop for each dimension of the operand");
    maps[i] = map[i];
  }
  layout = sett_nested_recombine(count, layouts, maps, rank, result);
  return nested_canonical(self, &layout);
}

/* The next functions run verbs that make a layout from a layout and a list. */
static int nested_permute(command *self) {
  const sett_nested_layout *layout = nested_layout(self);
  sett_nested_layout answer;
  int32_t map[SETT_NESTED_MAX_RANK];
  int count;
  if (!layout || (count = nested_dims(self, 3, map, SETT_NESTED_MAX_RANK)) < 0) return 2;
  if (count != layout->rank) return say_error(self, 1, "expected a number for each dimension of the layout");
  answer = sett_nested_permute(layout, map);
  return nested_canonical(self, &answer);
}

static int nested_project(command *self) {
  const sett_nested_layout *layout = nested_layout(self);
  sett_nested_layout answer;
  int32_t map[SETT_NESTED_MAX_RANK];
  unsigned char dropped[SETT_NESTED_MAX_RANK];
  int i, count;
  if (!layout || (count = nested_dims(self, 3, map, SETT_NESTED_MAX_RANK)) < 0) return 2;
  if (count != layout->rank) return say_error(self, 1, "expected a number for each dimension of the layout");
  for (i = 0; i < count; ++i) dropped[i] = map[i] != 0;
  answer = sett_nested_project(layout, dropped);
  return nested_canonical(self, &answer);
}

static int nested_apply(command *self) {
  const sett_nested_layout *layout = nested_layout(self);
  sett_nested_layout answer;
  int32_t map[SETT_NESTED_MAX_RANK];
  int count;
  if (!layout || (count = nested_dims(self, 3, map, SETT_NESTED_MAX_RANK)) < 0) return 2;
  answer = sett_nested_apply(layout, count, map);
  return nested_canonical(self, &answer);
}

static int nested_reshape(command *self) {
  const sett_nested_layout *layout = nested_layout(self);
  sett_nested_layout answer;
  int64_t shape[SETT_NESTED_MAX_RANK];
  int count;
  if (!layout || (count = shape_integers(self, self->argv[3], shape, SETT_NESTED_MAX_RANK)) < 0) return 2;
  answer = sett_nested_reshape(layout, count, shape);
  return nested_canonical(self, &answer);
}

static int nested_same(command *self) {
  const sett_nested_layout *a = nested_layout(self);
  sett_nested_layout b;
  int64_t subgroups = 0, size = 0;
  sett_nested_answer answer;
  if (!a || !nested_read(self, 3, &b)) return 2;
  if (self->argc == 6) {
    if (!nested_number(self, 4, "expected a number of subgroups", &subgroups) ||
        !nested_number(self, 5, "expected a number of threads in a subgroup", &size))
      return 2;
    answer = sett_nested_same_on(a, &b, subgroups, size);
  } else {
    answer = sett_nested_same(a, &b);
  }
  if (answer.error) return say_error(self, 1, sett_nested_message(answer.error));
  say_text(self, answer.same_slots ? "same slots" : answer.yes ? "same owners" : "different");
  return answer.no;
}

/* Reads the layout, then the numbers of subgroups and threads. Returns NULL after say_error. */
static const sett_nested_layout *nested_machine(command *self, int64_t *subgroups, int64_t *threads) {
  const sett_nested_layout *layout = nested_layout(self);
  return layout && nested_number(self, 3, "expected a number of subgroups", subgroups) &&
                 nested_number(self, 4, "expected a number of threads", threads)
             ? layout
             : NULL;
}

static int nested_held(command *self) {
  int64_t subgroups, threads;
  const sett_nested_layout *layout = nested_machine(self, &subgroups, &threads);
  if (!layout) return 2;
  say_int(self, sett_nested_held(layout, subgroups, threads));
  return 0;
}

static int nested_on(command *self) {
  int64_t subgroups, threads;
  const sett_nested_layout *layout = nested_machine(self, &subgroups, &threads);
  sett_nested_layout on;
  if (!layout) return 2;
  on = sett_nested_on(layout, subgroups, threads);
  return nested_canonical(self, &on);
}

static int nested_bound(command *self) {
  const sett_nested_layout *layout = nested_layout(self);
  int64_t value[4], answer;
  int i;
  if (!layout) return 2;
  for (i = 0; i < 4; ++i)
    if (!nested_number(self, 3 + i, "expected a number that is not negative", &value[i])) return 2;
  answer = value[0] < layout->rank ? sett_nested_bound(layout, (int)value[0], value[1], value[2], value[3])
                                   : SETT_NESTED_UNKNOWN;
  reading(self, self->argv[3]);
  if (answer < 0) return say_error(self, 1, "expected a dimension of the layout");
  say_int(self, answer);
  return 0;
}

/* ---- matrix instructions ---------------------------------------------------------------------------------------- */

/* Reads an intrinsic and its operand. Returns 0 after say_error. */
static int nested_intrinsic(command *self, int *intrinsic, int *operand) {
  *intrinsic = sett_mma_find(reading(self, self->argv[2]), strlen(self->argv[2]));
  *operand = nested_operand(self->argv[3]);
  if (*intrinsic < 0) say_error(self, 1, "expected an intrinsic: `nested mma` lists them");
  else if (*operand < 0)
    reading(self, self->argv[3]), say_error(self, 1, "expected lhs, rhs, acc (or a, b, c), lhs_scale or rhs_scale");
  return *intrinsic >= 0 && *operand >= 0;
}

static int nested_mma_list(command *self) {
  int i, k;
  for (i = 0; i < SETT_MMA_COUNT; ++i) {
    sett_mma_intrinsic it = sett_mma_get(i);
    if (i) say_text(self, "\n");
    say_text(self, it.name);
    nested_say_number(self, "\t", it.code);
    nested_say_number(self, "\t", it.subgroup_size);
    nested_say_number(self, "\t", it.m);
    nested_say_number(self, "x", it.n);
    nested_say_number(self, "x", it.k);
    nested_say_number(self, "x", it.blocks);
    for (k = 0; k < 3; ++k) {
      say_text(self, "\t");
      say_text(self, it.type[k]);
    }
  }
  return 0;
}

static int nested_fragment(command *self, int ptx) {
  sett_nested_layout layout;
  int intrinsic, operand;
  if (!nested_intrinsic(self, &intrinsic, &operand)) return 2;
  layout = ptx ? sett_mma_ptx_layout(intrinsic, operand) : sett_mma_layout(intrinsic, operand);
  return nested_canonical(self, &layout);
}

static int nested_contract(command *self) {
  sett_nested_layout layout;
  int64_t bounds[SETT_NESTED_MAX_RANK], subgroups[SETT_NESTED_MAX_RANK];
  int32_t map[SETT_NESTED_MAX_RANK];
  int intrinsic, operand, rank, a, b, loops = (int)strlen(self->argv[4]);
  if (!nested_intrinsic(self, &intrinsic, &operand)) return 2;
  if ((a = shape_integers(self, self->argv[5], bounds, SETT_NESTED_MAX_RANK)) < 0 ||
      (b = shape_integers(self, self->argv[6], subgroups, SETT_NESTED_MAX_RANK)) < 0 ||
      (rank = nested_dims(self, 7, map, SETT_NESTED_MAX_RANK)) < 0)
    return 2;
  reading(self, self->argv[a != loops ? 5 : 6]);
  if (a != loops || b != loops) return say_error(self, 1, "expected a bound and a count of subgroups for each loop");
  layout = sett_mma_contraction(intrinsic, operand, loops, self->argv[4], bounds, subgroups, rank, map);
  return nested_canonical(self, &layout);
}

static int nested_basis(command *self) {
  sett_nested_counts counts[2];
  sett_nested_layout layout;
  int64_t bounds[SETT_NESTED_MAX_RANK], elements[SETT_NESTED_MAX_RANK], value[2][SETT_NESTED_MAX_RANK];
  int32_t map[2][SETT_NESTED_MAX_RANK];
  int i, dims, rank = shape_integers(self, self->argv[2], bounds, SETT_NESTED_MAX_RANK);
  if (rank < 0) return 2;
  for (i = 0; i < 2; ++i) {
    counts[i].count = shape_integers(self, self->argv[3 + 2 * i], value[i], SETT_NESTED_MAX_RANK);
    if (counts[i].count < 0 || (dims = nested_dims(self, 4 + 2 * i, map[i], SETT_NESTED_MAX_RANK)) < 0) return 2;
    if (dims != rank) return say_error(self, 1, "expected an entry of the counts for each dimension");
    counts[i].value = value[i];
    counts[i].map = map[i];
  }
  dims = shape_integers(self, self->argv[7], elements, SETT_NESTED_MAX_RANK);
  if (dims < 0) return 2;
  if (dims != rank) return say_error(self, 1, "expected an element tile for each dimension");
  layout = sett_nested_basis(rank, bounds, counts[0], counts[1], elements);
  return nested_canonical(self, &layout);
}

/* ---- maps ------------------------------------------------------------------------------------------------------- */

/* Writes the layout's map. Two further arguments give the numbers of subgroups and threads over which the map's ids
 * range. Without them, each id ranges over one period. */
static int nested_map(command *self) {
  const sett_nested_layout *layout = nested_layout(self);
  int64_t subgroups = 0, threads = 0;
  if (!layout) return 2;
  if (self->argc == 5 && (!nested_number(self, 3, "expected a number of subgroups", &subgroups) ||
                          !nested_number(self, 4, "expected a number of threads", &threads)))
    return 2;
  return shape_say_tidy(self, &self->arena, sett_nested_map(&self->arena, layout, subgroups, threads));
}

static int nested_unmap(command *self) {
  const sett_nested_layout *layout = nested_layout(self);
  if (!layout) return 2;
  return shape_say_tidy(self, &self->arena, sett_nested_unmap(&self->arena, layout));
}

static int nested_address(command *self) {
  const sett_nested_layout *layout = nested_layout(self);
  sett_tile_shape shape;
  sett_tile_plan plan;
  if (!layout) return 2;
  if (!shape_plan(self, self->argv[3], &shape, &plan)) return 2;
  return shape_say_tidy(self, &self->arena, sett_nested_address(&self->arena, layout, &shape));
}

static int nested_from(command *self) {
  sett_map map = read_map(self, &self->arena, 2);
  sett_nested_layout layout;
  if (map.kind == SETT_MAP_FAILED) return say_map_error(self, map);
  layout = sett_nested_from_map(&self->arena, map);
  return nested_canonical(self, &layout);
}

static int nested_whole(command *self) {
  sett_nested_layout layout;
  return nested_read(self, 1, &layout) ? nested_canonical(self, &layout) : 2;
}

static int nested_mma(command *self) { return nested_fragment(self, 0); }
static int nested_ptx(command *self) { return nested_fragment(self, 1); }

#define NESTED_L "NV_MMA_SYNC_F32_16x8x16_F16.acc"

static const command_verb nested_verbs[] = {
    {"", "LAYOUT",
     "the layout in canonical form, its undistributed shape and its distributed shape, with tabs between\nLAYOUT may be INTRINSIC.OPERAND, an operand of a matrix instruction",
     NESTED_L, nested_whole},
    {"element", "LAYOUT SUBGROUP THREAD SLOT", "the element I,J,.. in this slot of this thread", NESTED_L "\t0\t9\t3",
     nested_element},
    {"owner", "LAYOUT I,J,..", "each SUBGROUP,THREAD,SLOT that holds this element, the smallest first; or nobody",
     NESTED_L "\t9,5", nested_owner},
    {"index", "LAYOUT",
     "a line for each element with its owners, then a line for each SUBGROUP,THREAD with the elements in its slots",
     NESTED_L, nested_index},
    {"map", "LAYOUT", "the layout as a map from ids and slots to indices", NESTED_L, nested_map},
    {"map", "LAYOUT SUBGROUPS THREADS", "the same for these numbers of subgroups and threads", NESTED_L "\t2\t32",
     nested_map},
    {"unmap", "LAYOUT", "the map from indices to the smallest owner: subgroup, thread, slot", NESTED_L, nested_unmap},
    {"address", "LAYOUT SHAPE", "the map from ids and slots to positions in an array of this shape",
     NESTED_L "\tf32[16,8]{1,0:T(8,8)}", nested_address},
    {"from", "MAP", "the nested layout whose map is MAP; an error if there is none",
     "(subgroup, thread)[b0, o0, e0] -> (thread * 2 + e0), domain: subgroup in [0, 0], thread in [0, 7], b0 in [0, 0], o0 in [0, 0], e0 in [0, 1]",
     nested_from},
    {"draw", "LAYOUT", "a table of the elements and their owners", "NV_MMA_SYNC_F32_16x8x16_F16.acc", nested_draw},
    {"info", "LAYOUT", "the shapes and counts of the layout, one a line", NESTED_L, nested_info},
    {"same", "LAYOUT LAYOUT",
     "does each thread hold the same elements? same slots, same owners (in other slots), or different",
     NESTED_L "\t" NESTED_L, nested_same},
    {"same", "LAYOUT LAYOUT SUBGROUPS THREADS", "the same on a machine of SUBGROUPS subgroups of THREADS threads",
     NESTED_L "\t" NESTED_L "\t2\t32", nested_same},
    {"permute", "LAYOUT D,D,..", "the layout with its dimensions in another order", NESTED_L "\t1,0", nested_permute},
    {"project", "LAYOUT 0|1,..", "the layout without the dimensions that are marked 1", NESTED_L "\t1,0",
     nested_project},
    {"apply", "LAYOUT D,D,..",
     "the layout whose dimension i is the dimension of LAYOUT that entry i of D,D,.. gives (-1: a dimension of size 1)",
     NESTED_L "\t1,0", nested_apply},
    {"reshape", "LAYOUT DIMS", "the layout of the same vector, reshaped to DIMS", NESTED_L "\t4,4,8", nested_reshape},
    {"on", "LAYOUT SUBGROUPS THREADS",
     "the layout, if it fits a machine of SUBGROUPS subgroups of THREADS threads; else an error", NESTED_L "\t2\t32",
     nested_on},
    {"held", "LAYOUT SUBGROUPS THREADS", "the number of elements that SUBGROUPS subgroups of THREADS threads hold",
     NESTED_L "\t1\t32", nested_held},
    {"bound", "LAYOUT DIMENSION SUBGROUP THREAD BOUND",
     "the number of indices below BOUND that a thread holds in DIMENSION (its part of a mask)",
     NESTED_L "\t0\t0\t9\t12", nested_bound},
    {"recombine", "RESULT LAYOUT LOOPS ..",
     "the layout of an op's result from the layouts of its operands\nRESULT: the loop that indexes each dimension of the result; LOOPS: the same for the operand before it",
     "0,1\t" NESTED_L "\t0,1", nested_recombine},
    {"basis", "BOUNDS SUBGROUPS ENTRIES LANES ENTRIES ELEMENTS",
     "the layout of a vector with sizes BOUNDS, each divided among a number of SUBGROUPS and of LANES; ELEMENTS of a thread side by side\nENTRIES: for each dimension, which number of the list before it divides the dimension (0: the first)",
     "64,64\t2,2\t0,1\t8,4\t0,1\t1,2", nested_basis},
    {"mma", "", "the matrix instructions: name, code, subgroup size, m x n x k x blocks, types of lhs, rhs and acc", "",
     nested_mma_list},
    {"mma", "INTRINSIC OPERAND", "the layout of an operand (lhs, rhs, acc, lhs_scale, rhs_scale), as in IREE",
     "NV_MMA_SYNC_F32_16x8x16_F16\tacc", nested_mma},
    {"ptx", "INTRINSIC OPERAND", "the layout of an operand, with slots in the order of PTX's registers",
     "NV_MMA_SYNC_F32_16x8x16_F16\tlhs", nested_ptx},
    {"contract", "INTRINSIC OPERAND KINDS BOUNDS SUBGROUPS LOOPS",
     "the layout of an operand of a contraction, its undistributed shape and its distributed shape, with tabs between\nKINDS: b, m, n or k for each loop; BOUNDS, SUBGROUPS: numbers for each loop; LOOPS: the loop of each dimension of the operand",
     "MFMA_F32_16x16x16_F16\tacc\tmnk\t64,64,32\t2,4,1\t0,1", nested_contract},
};
