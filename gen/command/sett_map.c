/* The commands `map ...` (included by gen/command/sett.c). Each parses its arguments, calls include/sett_indexing_map.h
 * and writes the answer. */
#include "../../include/sett_indexing_analysis.h"
#include "../../include/sett_notation.h"

static int say_map_error(command *self, sett_map map) {
  return say_error(self, map.column, sett_map_message(map.error));
}

static char *answer_end(command *self, char *none, size_t *room) {
  *room = self->length < self->capacity ? self->capacity - self->length : 0;
  return *room ? self->out + self->length : none;
}

/* The notation of the first map: this project's, or MLIR's affine_map or affine_set. Maps in the answer use the same
 * one. */
enum { AFFINE_NO, AFFINE_MAP, AFFINE_SET };

static int say_affine(command *self, sett_map_arena *arena, sett_map map, int set) {
  char none[1], *end;
  size_t room;
  int error;
  end = answer_end(self, none, &room);
  self->length += sett_notation_affine_print(arena, map, set, end, room, &error);
  return error ? say_error(self, 0, sett_notation_message(error)) : 0;
}

static int say_map(command *self, sett_map_arena *arena, sett_map map) {
  char none[1], *end;
  size_t room;
  if (map.kind == SETT_MAP_FAILED) return say_map_error(self, map);
  end = answer_end(self, none, &room);
  if (self->affine && map.kind == SETT_MAP_DEFINED) return say_affine(self, arena, map, self->affine == AFFINE_SET);
  self->length += sett_map_print(arena, map, end, room);
  return 0;
}

static void say_expr(command *self, sett_map_arena *arena, sett_map map, sett_expr expr) {
  char none[1], *end;
  size_t room;
  end = answer_end(self, none, &room);
  self->length += sett_map_print_expr(arena, map, expr, end, room);
}

static sett_map read_map(command *self, sett_map_arena *arena, int word) {
  const char *text = reading(self, self->argv[word]), *at = text + strspn(text, " \t\r\n");
  int affine = strncmp(at, "affine_", 7) ? AFFINE_NO : strncmp(at, "affine_set", 10) ? AFFINE_MAP : AFFINE_SET;
  if (word == 2) self->affine = affine;
  return affine ? sett_notation_affine_parse(arena, text, strlen(text)) : sett_map_parse(arena, text, strlen(text));
}

/* Skips spaces, then reads an integer like read_integer, then skips spaces. */
static int read_spaced(const char **at, int64_t *value) {
  const char *p = *at + strspn(*at, " ");
  int found = read_integer(&p, p + strlen(p), value);
  if (found == 1) *at = p + strspn(p, " ");
  return found;
}

/* Reads an integer that ends at a comma or at the end of the text; moves *at past the comma. Returns 0 after
 * say_error. */
static int read_value(command *self, const char *text, const char **at, int64_t *value) {
  const char *p = *at;
  int found = read_spaced(&p, value);
  if (found == 1 && (!*p || *p == ',')) {
    *at = p;
    return 1;
  }
  say_error(self, (int)(*at - text) + 1, found < 0 ? SAY_INTEGER_FITS : "expected an integer");
  return 0;
}

static int map_eval(command *self) {
  sett_map_arena *arena = &self->arena;
  sett_map map = read_map(self, arena, 2);
  const char *text = self->argv[3], *at = text;
  int n = sett_map_variables(map), i, inside, error;
  int64_t *values, *results;
  if (map.kind == SETT_MAP_FAILED) return say_map_error(self, map);
  if (map.kind == SETT_MAP_UNDEFINED) return say_error(self, 0, sett_map_message(SETT_MAP_ERROR_NO_MAP));
  if (map.kind == SETT_MAP_EMPTY) {
    say_text(self, "outside");
    return 0;
  }
  values = (int64_t *)settp_map_take(arena, ((size_t)n + (size_t)map.results + 1) * sizeof *values);
  if (!values) return say_error(self, 0, sett_map_message(SETT_MAP_ERROR_FULL));
  results = values + n;
  reading(self, text);
  for (i = 0; i < n; ++i) {
    if (i && *at == ',') ++at;
    else if (i) return say_error(self, (int)(at - text) + 1, "expected a value for every variable");
    if (!read_value(self, text, &at, values + i)) return 2;
  }
  if (*at) return say_error(self, (int)(at - text) + 1, "expected as many values as variables");
  inside = sett_map_evaluate(arena, map, values, results, &error);
  if (error) return say_error(self, 0, sett_map_message(error));
  if (!inside) say_text(self, "outside");
  for (i = 0; i < map.results && inside; ++i) {
    if (i) say_text(self, ",");
    say_int(self, results[i]);
  }
  return 0;
}

static void say_point(command *self, const int64_t *point, int n) {
  int i;
  say_text(self, "(");
  for (i = 0; i < n; ++i) {
    if (i) say_text(self, ", ");
    say_int(self, point[i]);
  }
  say_text(self, ")");
}

static int map_equal(command *self) {
  sett_map_arena *arena = &self->arena;
  sett_map a = read_map(self, arena, 2), b;
  sett_map_answer answer;
  int n;
  if (a.kind == SETT_MAP_FAILED) return say_map_error(self, a);
  b = read_map(self, arena, 3);
  if (b.kind == SETT_MAP_FAILED) return say_map_error(self, b);
  n = sett_map_variables(a) > sett_map_variables(b) ? sett_map_variables(a) : sett_map_variables(b);
  answer = sett_map_equal(arena, a, b);
  if (answer.yes) {
    say_text(self, "equal");
    return 0;
  }
  if (answer.point) {
    say_text(self, "different at ");
    say_point(self, answer.point, n);
  } else {
    say_text(self, answer.no ? "different: " : "not decided: ");
    say_text(self, answer.reason);
  }
  return 1;
}

static int map_proves(command *self) {
  sett_map_arena *arena = &self->arena;
  sett_map map = read_map(self, arena, 2);
  sett_map_fact fact;
  sett_map_answer answer;
  if (map.kind == SETT_MAP_FAILED) return say_map_error(self, map);
  if (map.kind == SETT_MAP_UNDEFINED) return say_error(self, 0, sett_map_message(SETT_MAP_ERROR_NO_MAP));
  fact = sett_map_fact_parse(arena, map, reading(self, self->argv[3]), strlen(self->argv[3]));
  if (fact.error && map.kind != SETT_MAP_EMPTY) return say_error(self, fact.column, sett_map_message(fact.error));
  answer = sett_map_proves(arena, map, &fact);
  if (answer.yes) {
    say_text(self, "yes");
    return 0;
  }
  say_text(self, answer.no ? "no: at " : "not decided: ");
  if (answer.no) say_point(self, answer.point, sett_map_variables(map));
  else say_text(self, answer.reason);
  return 1;
}

static int map_rename(command *self) {
  sett_map_arena *arena = &self->arena;
  sett_map map = read_map(self, arena, 2);
  const char *text = self->argv[3], *at = text;
  const char **names;
  char *copy;
  size_t length = strlen(text);
  int n = sett_map_variables(map), i;
  if (map.kind != SETT_MAP_DEFINED) return say_map(self, arena, map);
  names = (const char **)settp_map_take(arena, (size_t)n * sizeof *names + 8);
  copy = (char *)settp_map_take(arena, length + 1);
  if (!names || !copy) return say_error(self, 0, sett_map_message(SETT_MAP_ERROR_FULL));
  reading(self, text);
  memcpy(copy, text, length + 1);
  for (i = 0; i < n; ++i) {
    size_t end = strcspn(at, ",");
    names[i] = copy + (at - text);
    copy[(size_t)(at - text) + end] = 0;
    if (!end) return say_error(self, (int)(at - text) + 1, "expected a name for every variable");
    at += end;
    if (i + 1 < n && *at == ',') ++at;
  }
  if (*at) return say_error(self, (int)(at - text) + 1, "expected as many names as variables");
  return say_map(self, arena, sett_map_rename(arena, map, names));
}

static int map_substitute(command *self) {
  sett_map_arena *arena = &self->arena;
  sett_map map = read_map(self, arena, 2);
  const char *text = self->argv[3], *at = text;
  int n = sett_map_variables(map), variable;
  unsigned char *fixed;
  int64_t *values;
  if (map.kind != SETT_MAP_DEFINED) return say_map(self, arena, map);
  fixed = (unsigned char *)settp_map_take(arena, (size_t)n + 8);
  values = (int64_t *)settp_map_take(arena, (size_t)n * sizeof *values + 8);
  if (!fixed || !values) return say_error(self, 0, sett_map_message(SETT_MAP_ERROR_FULL));
  reading(self, text);
  memset(fixed, 0, (size_t)n);
  while (*at) {
    size_t length = strcspn(at, "=, ");
    variable = sett_map_find(map, at, length);
    if (variable < 0) return say_error(self, (int)(at - text) + 1, "unknown variable, expected one of the map's");
    if (fixed[variable])
      return say_error(self, (int)(at - text) + 1, "this variable has a value: expected another one");
    at += length;
    if (*at != '=') return say_error(self, (int)(at - text) + 1, "expected '=' and a value");
    ++at;
    if (!read_value(self, text, &at, values + variable)) return 2;
    fixed[variable] = 1;
    if (*at == ',') ++at;
  }
  return say_map(self, arena, sett_map_simplify(arena, sett_map_substitute(arena, map, fixed, values)));
}

static void say_bounds(command *self, int64_t lo, int64_t hi, const char *between) {
  say_int(self, lo);
  say_text(self, between);
  say_int(self, hi);
}

static int map_range(command *self) {
  sett_map_arena *arena = &self->arena;
  sett_map map = read_map(self, arena, 2);
  int i;
  if (map.kind != SETT_MAP_DEFINED) return say_map(self, arena, map);
  for (i = 0; i < map.results; ++i) {
    sett_map_interval r = sett_map_range(arena, map, map.result[i]);
    if (i) say_text(self, "\t");
    say_bounds(self, r.lo, r.hi, ",");
  }
  return 0;
}

/* Writes the names of the variables in an expression, separated by commas. */
static int say_named(command *self, sett_map_arena *arena, sett_map map, const sett_map_constraint *of) {
  settp_map_list list;
  uint32_t at;
  char buffer[24];
  int v, n = 0;
  if (settp_map_list_of_constraints(arena, &list, of, 1))
    return say_error(self, 0, sett_map_message(SETT_MAP_ERROR_FULL));
  for (v = 0; v < sett_map_variables(map); ++v)
    for (at = 0; at < list.count; ++at) {
      const settp_map_node *node = settp_map_at(arena, list.handle[at]);
      if (node->op != SETTP_MAP_VAR || node->value != v) continue;
      if (n++) say_text(self, ",");
      say_text(self, sett_map_name(map, v, buffer));
    }
  return 0;
}

/* Writes the bounds, the variables and the expression of a constraint, separated by tabs. */
static int say_bounded(command *self, sett_map_arena *arena, sett_map map, const char *word, sett_map_constraint of) {
  if (self->length) say_text(self, "\n");
  say_text(self, word);
  say_bounds(self, of.lo, of.hi, " ");
  say_text(self, "\t");
  if (say_named(self, arena, map, &of)) return 2;
  say_text(self, "\t");
  say_expr(self, arena, map, of.expr);
  return 0;
}

static int map_info(command *self) {
  sett_map_arena *arena = &self->arena;
  sett_map map = read_map(self, arena, 2);
  int i;
  char buffer[24];
  if (map.kind != SETT_MAP_DEFINED) return say_map(self, arena, map);
  for (i = 0; i < sett_map_variables(map); ++i) {
    if (i) say_text(self, "\n");
    say_text(self, i < map.dims ? "dim " : i < map.dims + map.ranges ? "range " : "rt ");
    say_text(self, sett_map_name(map, i, buffer));
    say_text(self, " ");
    say_bounds(self, map.variable[i].lo, map.variable[i].hi, " ");
  }
  for (i = 0; i < map.results; ++i) {
    sett_map_interval r = sett_map_range(arena, map, map.result[i]);
    sett_map_constraint result = {map.result[i], r.lo, r.hi};
    if (say_bounded(self, arena, map, "result ", result)) return 2;
  }
  for (i = 0; i < map.constraints; ++i)
    if (say_bounded(self, arena, map, "constraint ", map.constraint[i])) return 2;
  return 0;
}

/* Returns the map's variable that an argument names; -1 after say_error. */
static int read_variable(command *self, sett_map map, int word) {
  int variable = sett_map_find(map, reading(self, self->argv[word]), strlen(self->argv[word]));
  if (variable < 0) say_error(self, 1, "unknown variable, expected one of the map's");
  return variable;
}

static int map_access(command *self) {
  sett_map_arena *arena = &self->arena;
  sett_map map = read_map(self, arena, 2);
  int variable, i, error;
  sett_map_stride *stride;
  if (map.kind != SETT_MAP_DEFINED) return say_map(self, arena, map);
  variable = read_variable(self, map, 3);
  if (variable < 0) return 2;
  stride = (sett_map_stride *)settp_map_take(arena, (size_t)map.results * sizeof *stride + 8);
  if (!stride) return say_error(self, 0, sett_map_message(SETT_MAP_ERROR_FULL));
  error = sett_map_strides(arena, map, variable, stride);
  if (error) return say_error(self, 0, sett_map_message(error));
  for (i = 0; i < map.results; ++i) {
    if (i) say_text(self, "\t");
    if (!stride[i].linear) {
      say_text(self, "varies");
      continue;
    }
    say_text(self, "stride ");
    say_int(self, stride[i].stride);
    say_text(self, " align ");
    say_int(self, stride[i].align);
  }
  return 0;
}

/* A node that is computed from one variable by multiplications and divisions by constants: the node rises by `up` each
 * time the variable rises by `period`. `variable` is -1 for any other node, or if numbers overflow. */
typedef struct map_steps {
  int64_t up, period;
  int variable;
} map_steps;

static map_steps map_steps_of(sett_map_arena *arena, const map_steps *of, const settp_map_node *node) {
  map_steps steps = {1, 1, -1};
  int64_t constant, shared;
  if (node->op == SETTP_MAP_VAR) steps.variable = (int)node->value;
  if (node->op != SETTP_MAP_MUL && node->op != SETTP_MAP_FLOORDIV) return steps;
  if (!settp_map_is_constant(arena, settp_map_b(node), &constant) || constant <= 0) return steps;
  steps = of[settp_map_at(arena, settp_map_a(node))->mark];
  if (node->op == SETTP_MAP_MUL) {
    if (settp_map_mul(steps.up, constant, &steps.up)) steps.variable = -1;
  } else {
    shared = settp_map_gcd(steps.up, constant);
    steps.up /= shared;
    if (settp_map_mul(steps.period, constant / shared, &steps.period)) steps.variable = -1;
  }
  return steps;
}

static int map_divisions(command *self) {
  sett_map_arena *arena = &self->arena;
  sett_map map = read_map(self, arena, 2);
  settp_map_list list = {NULL, 0, 0};
  map_steps *steps;
  uint32_t at;
  int i;
  char buffer[24];
  if (map.kind != SETT_MAP_DEFINED) return say_map(self, arena, map);
  for (i = 0; i < map.results; ++i)
    if (settp_map_list_push(arena, &list, map.result[i]))
      return say_error(self, 0, sett_map_message(SETT_MAP_ERROR_FULL));
  steps = (map_steps *)settp_map_take(arena, (size_t)list.count * sizeof *steps + 8);
  if (!steps) return say_error(self, 0, sett_map_message(SETT_MAP_ERROR_FULL));
  for (at = 0; at < list.count; ++at) {
    const settp_map_node *node = settp_map_at(arena, list.handle[at]);
    map_steps of;
    int64_t divisor, shared;
    steps[at] = map_steps_of(arena, steps, node);
    if (node->op != SETTP_MAP_FLOORDIV && node->op != SETTP_MAP_MOD && node->op != SETTP_MAP_CEILDIV) continue;
    if (self->length) say_text(self, "\n");
    if (!settp_map_is_constant(arena, settp_map_b(node), &divisor) || divisor <= 0) {
      say_text(self, "-");
      continue;
    }
    say_int(self, divisor);
    of = steps[settp_map_at(arena, settp_map_a(node))->mark];
    if (node->op == SETTP_MAP_CEILDIV || of.variable < 0) continue;
    shared = settp_map_gcd(of.up, divisor);
    if (settp_map_mul(of.period, divisor / shared, &of.period)) continue;
    say_text(self, " ");
    say_text(self, sett_map_name(map, of.variable, buffer));
    say_text(self, " ");
    say_int(self, of.period);
  }
  return 0;
}

static int map_guards(command *self) {
  sett_map_arena *arena = &self->arena;
  sett_map map = sett_map_guards(arena, read_map(self, arena, 2));
  int i;
  if (map.kind != SETT_MAP_DEFINED) return say_map(self, arena, map);
  for (i = 0; i < map.constraints; ++i) {
    if (i) say_text(self, "\n");
    if (say_named(self, arena, map, map.constraint + i)) return 2;
    say_text(self, "\t");
    say_bounds(self, map.constraint[i].lo, map.constraint[i].hi, " ");
    say_text(self, " ");
    say_expr(self, arena, map, map.constraint[i].expr);
  }
  return 0;
}

static int map_c(command *self) {
  static const char *const places[] = {"alone", "compared", "added", "term", "factor"};
  sett_map_arena *arena = &self->arena;
  sett_map map = read_map(self, arena, 2);
  const char *name = self->argc > 3 ? self->argv[3] : "";
  int type = !*name                  ? SETT_MAP_ANY_TYPE
             : !strcmp(name, "uint") ? SETT_MAP_UINT
             : !strcmp(name, "int")  ? SETT_MAP_INT
                                     : SETT_MAP_LONG,
      place = SETT_MAP_ALONE, error;
  char none[1], *end;
  size_t room;
  if (map.kind == SETT_MAP_FAILED) return say_map_error(self, map);
  reading(self, name);
  if (type == SETT_MAP_LONG && strcmp(name, "long"))
    return say_error(self, 1, "unknown type, expected uint, int or long");
  if (self->argc > 4) {
    while (place <= SETT_MAP_FACTOR && strcmp(self->argv[4], places[place])) ++place;
    reading(self, self->argv[4]);
    if (place > SETT_MAP_FACTOR)
      return say_error(self, 1, "unknown place, expected alone, compared, added, term or factor");
  }
  end = answer_end(self, none, &room);
  self->length += sett_map_print_c_in(arena, map, type, place, end, room, &error);
  return error ? say_error(self, 0, sett_map_message(error)) : 0;
}

static int map_fits(command *self) {
  static const char *const names[] = {"uint", "int", "long"};
  sett_map_arena *arena = &self->arena;
  sett_map map = read_map(self, arena, 2);
  int i, any = 0;
  if (map.kind == SETT_MAP_FAILED) return say_map_error(self, map);
  for (i = 0; i < 3; ++i) {
    int fits = sett_map_fits(arena, map, SETT_MAP_UINT + i);
    if (fits < 0) return say_error(self, 0, sett_map_message(-fits));
    if (fits) say_text(self, any++ ? " " : ""), say_text(self, names[i]);
  }
  return 0;
}

/* Writes the reason that follows `no: ` or `not decided: `, and the witness if there is one. */
static int say_reason(command *self, sett_map map, const sett_map_answer *answer) {
  say_text(self, answer->reason);
  if (answer->point || answer->missed) say_text(self, ": ");
  if (answer->point) say_point(self, answer->point, sett_map_variables(map));
  if (answer->other) {
    say_text(self, " and ");
    say_point(self, answer->other, sett_map_variables(map));
  }
  if (answer->missed) say_point(self, answer->missed, map.results);
  return 1;
}

static int map_inverse(command *self) {
  sett_map_arena *arena = &self->arena;
  sett_map map = read_map(self, arena, 2), inverse;
  sett_map_answer why;
  if (map.kind == SETT_MAP_FAILED) return say_map_error(self, map);
  inverse = sett_map_inverse(arena, map, &why);
  if (inverse.kind != SETT_MAP_UNDEFINED) return say_map(self, arena, inverse);
  say_text(self, why.no || map.kind == SETT_MAP_UNDEFINED ? "no: " : "no: not decided: ");
  return say_reason(self, map, &why);
}

/* Writes `yes`, `no: reason: witness` or `not decided: reason`. */
static int say_answer(command *self, sett_map map, const sett_map_answer *answer) {
  if (answer->yes) {
    say_text(self, "yes");
    return 0;
  }
  say_text(self, answer->no ? "no: " : "not decided: ");
  return say_reason(self, map, answer);
}

static int map_injective(command *self) {
  sett_map_arena *arena = &self->arena;
  sett_map map = read_map(self, arena, 2);
  sett_map_answer answer;
  if (map.kind == SETT_MAP_FAILED) return say_map_error(self, map);
  answer = sett_map_is_injective(arena, map);
  return say_answer(self, map, &answer);
}

/* Reads the argument LO..HI,LO..HI,.. as one interval for each result. Returns NULL after say_error. */
static sett_map_interval *read_box(command *self, sett_map_arena *arena, int word, int results) {
  const char *text = reading(self, self->argv[word]), *at = text;
  sett_map_interval *box = (sett_map_interval *)settp_map_take(arena, (size_t)results * sizeof *box + 8);
  int i;
  if (!box) return (void)say_error(self, 0, sett_map_message(SETT_MAP_ERROR_FULL)), NULL;
  for (i = 0; i < results; ++i) {
    if (i && *at == ',') ++at;
    if (read_spaced(&at, &box[i].lo) != 1 || at[0] != '.' || at[1] != '.') break;
    at += 2;
    if (read_spaced(&at, &box[i].hi) != 1 || (*at && *at != ',')) break;
  }
  if (i == results && !*at) return box;
  say_error(self, (int)(at - text) + 1, "expected LO..HI for each result, separated by commas");
  return NULL;
}

static int map_covers(command *self) {
  sett_map_arena *arena = &self->arena;
  sett_map map = read_map(self, arena, 2);
  sett_map_answer answer;
  sett_map_interval *box;
  if (map.kind == SETT_MAP_FAILED) return say_map_error(self, map);
  if (map.kind != SETT_MAP_DEFINED) return say_error(self, 1, "expected a map with results");
  box = read_box(self, arena, 3, map.results);
  if (!box) return 2;
  answer = sett_map_covers(arena, map, box);
  return say_answer(self, map, &answer);
}

static int map_bijective(command *self) {
  sett_map_arena *arena = &self->arena;
  sett_map map = read_map(self, arena, 2);
  sett_map_answer answer;
  sett_map_interval *box = NULL;
  if (map.kind == SETT_MAP_FAILED) return say_map_error(self, map);
  if (self->argc > 3 && map.kind != SETT_MAP_DEFINED) return say_error(self, 1, "expected a map with results");
  if (self->argc > 3 && !(box = read_box(self, arena, 3, map.results))) return 2;
  answer = sett_map_is_bijective(arena, map, box);
  return say_answer(self, map, &answer);
}

/* Writes the interval of a result's values: `LO to HI`; then ` by K` if all values equal LO modulo K. `inside ` comes
 * first if LO and HI are perhaps not values themselves. */
static void say_values(command *self, const sett_map_footprint *image, int i) {
  if (!image->exact[i]) say_text(self, "inside ");
  say_bounds(self, image->value[i].lo, image->value[i].hi, " to ");
  if (image->value[i].modulus > 1) {
    say_text(self, " by ");
    say_int(self, image->value[i].modulus);
  }
}

static int map_image(command *self) {
  sett_map_arena *arena = &self->arena;
  sett_map map = read_map(self, arena, 2);
  sett_map_footprint image;
  int i;
  if (map.kind == SETT_MAP_FAILED) return say_map_error(self, map);
  if (map.kind == SETT_MAP_UNDEFINED) return say_error(self, 0, sett_map_message(SETT_MAP_ERROR_NO_MAP));
  image = sett_map_image(arena, map);
  if (image.error) return say_error(self, 0, sett_map_message(image.error));
  if (image.count >= 0) {
    say_int(self, image.count);
    say_text(self, image.count == 1 ? " point" : " points");
  } else {
    say_text(self, "not counted: ");
    say_text(self, image.reason);
  }
  if (image.product && image.results > 1 && image.count) say_text(self, ", every combination of");
  for (i = 0; i < image.results && image.count; ++i) {
    say_text(self, "\nresult ");
    say_int(self, i);
    say_text(self, ": ");
    say_values(self, &image, i);
  }
  return 0;
}

static void say_run(command *self, const char *name, int64_t length, int exact) {
  say_text(self, name);
  if (!exact) say_text(self, "at least ");
  say_int(self, length);
}

static int map_runs(command *self) {
  sett_map_arena *arena = &self->arena;
  sett_map map = read_map(self, arena, 2);
  int variable, i, error;
  sett_map_run *run;
  if (map.kind != SETT_MAP_DEFINED) return say_map(self, arena, map);
  variable = read_variable(self, map, 3);
  if (variable < 0) return 2;
  run = (sett_map_run *)settp_map_take(arena, (size_t)map.results * sizeof *run + 8);
  if (!run) return say_error(self, 0, sett_map_message(SETT_MAP_ERROR_FULL));
  error = sett_map_runs(arena, map, variable, run);
  if (error) return say_error(self, 0, sett_map_message(error));
  for (i = 0; i < map.results; ++i) {
    say_run(self, i ? "\tcontiguous " : "contiguous ", run[i].contiguous, run[i].contiguous_exact);
    say_run(self, ", broadcast ", run[i].broadcast, run[i].broadcast_exact);
    say_run(self, ", vector ", run[i].vector_width, run[i].vector_exact);
  }
  return 0;
}

static int map_rescale(command *self) {
  sett_map_arena *arena = &self->arena;
  return say_map(self, arena, sett_map_rescale(arena, read_map(self, arena, 2)));
}

static int map_unused(command *self) {
  sett_map_arena *arena = &self->arena;
  const char *name = self->argc > 3 ? self->argv[3] : "";
  int kinds = !*name                    ? SETT_MAP_ALL_KINDS
              : !strcmp(name, "dims")   ? SETT_MAP_DIMS
              : !strcmp(name, "ranges") ? SETT_MAP_RANGES
                                        : SETT_MAP_RTS;
  sett_map map = read_map(self, arena, 2);
  if (map.kind == SETT_MAP_FAILED) return say_map_error(self, map);
  reading(self, name);
  if (kinds == SETT_MAP_RTS && strcmp(name, "rts"))
    return say_error(self, 1, "unknown kind, expected dims, ranges or rts");
  return say_map(self, arena, sett_map_remove_unused(arena, map, kinds, NULL));
}

static int map_dims(command *self) {
  sett_map_arena *arena = &self->arena;
  sett_map map = read_map(self, arena, 2);
  const char *text = self->argc > 3 ? self->argv[3] : "", *at = text;
  unsigned char *chosen;
  int variable;
  if (map.kind != SETT_MAP_DEFINED || !*text) return say_map(self, arena, sett_map_to_dims(arena, map, NULL));
  chosen = (unsigned char *)settp_map_take(arena, (size_t)sett_map_variables(map) + 8);
  if (!chosen) return say_error(self, 0, sett_map_message(SETT_MAP_ERROR_FULL));
  reading(self, text);
  memset(chosen, 0, (size_t)sett_map_variables(map));
  while (*at) {
    size_t length = strcspn(at, ",");
    variable = sett_map_find(map, at, length);
    if (variable < map.dims)
      return say_error(self, (int)(at - text) + 1,
                       "unknown variable, expected a range or a runtime variable of the map");
    chosen[variable] = 1;
    at += length;
    if (*at == ',') ++at;
  }
  return say_map(self, arena, sett_map_to_dims(arena, map, chosen));
}

static int map_parse(command *self) {
  sett_map_arena *arena = &self->arena;
  return say_map(self, arena, read_map(self, arena, 2));
}

static int map_mlir(command *self) {
  sett_map_arena *arena = &self->arena;
  sett_map map = read_map(self, arena, 2);
  int affine = self->affine, i, bounded = map.constraints > 0;
  self->affine = AFFINE_NO;
  /* MLIR's maps have no bounds of variables, so bounds become constraints */
  if (affine && map.kind == SETT_MAP_DEFINED) {
    sett_map_variable *variable =
        (sett_map_variable *)settp_map_take(arena, (size_t)sett_map_variables(map) * sizeof *variable + 8);
    sett_map_constraint *constraint =
        (sett_map_constraint *)settp_map_take(arena, (size_t)map.constraints * sizeof *constraint + 8);
    if (!variable || !constraint) return say_error(self, 0, sett_map_message(SETT_MAP_ERROR_FULL));
    memcpy(variable, map.variable, (size_t)sett_map_variables(map) * sizeof *variable);
    if (map.constraints) memcpy(constraint, map.constraint, (size_t)map.constraints * sizeof *constraint);
    map = settp_map_tidy(arena, variable, constraint, &map.constraints)
              ? sett_map_make(arena, map.dims, map.ranges, map.rts, variable, map.results, map.result, map.constraints,
                              constraint)
              : sett_map_empty();
  }
  if (affine || map.kind != SETT_MAP_DEFINED) return say_map(self, arena, map);
  for (i = 0; i < sett_map_variables(map); ++i)
    bounded |= map.variable[i].lo != INT64_MIN || map.variable[i].hi != INT64_MAX;
  if (say_affine(self, arena, map, 0)) return 2;
  if (!bounded) return 0;
  say_text(self, "\t");
  return say_affine(self, arena, map, 1);
}

static int map_simplify(command *self) {
  sett_map_arena *arena = &self->arena;
  return say_map(self, arena, sett_map_simplify(arena, read_map(self, arena, 2)));
}

static int map_xor(command *self) {
  sett_map_arena *arena = &self->arena;
  return say_map(self, arena, sett_map_with_xor(arena, read_map(self, arena, 2)));
}

static int map_expand(command *self) {
  sett_map_arena *arena = &self->arena;
  return say_map(self, arena, sett_map_without_xor(arena, read_map(self, arena, 2)));
}

static int map_compose(command *self) {
  sett_map_arena *arena = &self->arena;
  sett_map first = read_map(self, arena, 2), second;
  if (first.kind == SETT_MAP_FAILED) return say_map_error(self, first);
  second = read_map(self, arena, 3);
  if (second.kind == SETT_MAP_FAILED) return say_map_error(self, second);
  return say_map(self, arena, sett_map_simplify(arena, sett_map_compose(arena, first, second)));
}

static const command_verb map_verbs[] = {
    {"parse", "MAP", "the map in canonical form", "(d0)->(d0*2+1), domain: d0 in [0,7]", map_parse},
    {"simplify", "MAP", "the simplified map, with the same variables",
     "(d0) -> ((d0 * 6 + 3) floordiv 2), domain: d0 in [0, 7]", map_simplify},
    {"mlir", "MAP",
     "the map as MLIR's affine_map<..>; if it has bounds, then a tab and the bounds as affine_set<..>\nMAP may also be an affine_map<..> or affine_set<..>; the answer is then a map",
     "(d0)[n] -> (d0 * 2 + n), domain: d0 in [0, inf], n in [1, inf], d0 < n", map_mlir},
    {"xor", "MAP", "the simplified map, with xor in place of sums of bits modulo 2",
     "(u, v) -> ((u + v) mod 2), domain: u in [0, 1], v in [0, 1]", map_xor},
    {"expand", "MAP", "the simplified map without xor: each bit of an xor is written as a sum modulo 2",
     "(d0, d1) -> (d0 xor d1), domain: d0 in [0, 15], d1 in [0, 3]", map_expand},
    {"compose", "FIRST SECOND", "the simplified map that applies FIRST, and then SECOND to the results of FIRST",
     "(d0) -> (d0 floordiv 10, d0 mod 10), domain: d0 in [0, 59]\t(d0, d1) -> (d0 * 10 + d1), domain: d0 in [0, 5], d1 in [0, 9]",
     map_compose},
    {"eval", "MAP VALUES",
     "the results, or outside if VALUES are not in the domain\nVALUES: the values of the dimensions, then of the ranges, then of the runtime variables",
     "(d0)[s0] -> (d0 floordiv 4, s0), domain: d0 in [0, 7], s0 in [0, 2]\t5,1", map_eval},
    {"equal", "A B", "do A and B have the same domain and the same results? equal, different at (..), or not decided",
     "(d0) -> (d0 floordiv 2), domain: d0 in [0, 7]\t(d0) -> ((d0 * 2) floordiv 4), domain: d0 in [0, 7]", map_equal},
    {"proves", "MAP FACT",
     "is FACT true on the whole domain? yes, no: at (..), or not decided\nFACT: A <= B, A < B, A >= B, A > B, A = B, or C divides A; in MAP, inf stands for no bound",
     "(d0)[n] -> (d0), domain: d0 in [0, inf], n in [1, inf], d0 < n, 8 divides n\td0 floordiv 8 < n floordiv 8",
     map_proves},
    {"inverse", "MAP", "the inverse of a map that is a bijection onto a box, or no: reason",
     "(d0, d1) -> (d1, 7 - d0), domain: d0 in [0, 7], d1 in [0, 3]", map_inverse},
    {"image", "MAP", "the number of points that the map reaches, and the values of each result",
     "(d0, d1) -> (d0 floordiv 4, d1 * 3), domain: d0 in [0, 99], d1 in [0, 7]", map_image},
    {"injective", "MAP",
     "do different points have different images? yes, no with two points of one image, or not decided",
     "(d0, d1) -> (d0 * 8 + d1), domain: d0 in [0, 3], d1 in [0, 7]", map_injective},
    {"covers", "MAP BOX",
     "does the map reach every point of BOX (LO..HI,.., with both ends)? yes, no with a point that it misses, or not decided",
     "(d0, d1) -> (d1, d0), domain: d0 in [0, 3], d1 in [0, 7]\t0..7,0..3", map_covers},
    {"bijective", "MAP [BOX]",
     "is the map injective, and does it reach every point of BOX? yes, no: reason, or not decided\nBOX: by default the smallest box that contains the image",
     "(d0) -> (d0 mod 4, d0 floordiv 4), domain: d0 in [0, 11]\t0..3,0..2", map_bijective},
    {"runs", "MAP VARIABLE",
     "for each result, in runs along VARIABLE: contiguous, the length of runs of consecutive values;\nbroadcast, the length of runs of one value; vector, the width of aligned vectors",
     "(v) -> ((v floordiv 8) * 64 + v mod 8), domain: v in [0, 63]\tv", map_runs},
    {"access", "MAP VARIABLE",
     "for each result: its stride along VARIABLE, and align, a divisor of the result at the lower bound of VARIABLE;\nor varies, if no constant stride is known",
     "(d0, d1) -> (d0 * 8 + d1), domain: d0 in [0, 3], d1 in [0, 7]\td0", map_access},
    {"divisions", "MAP",
     "a line for each quotient and remainder in the results: the divisor, or - if it is no positive constant;\nif one variable is divided (or a multiple or a quotient of it): also this variable and its period:\nwhenever the variable rises by the period, the quotient rises by the same amount, and the remainder is the same",
     "(d0, d1) -> (((d0 floordiv 4) * 6) floordiv 4 + (d0 + d1) mod 3), domain: d0 in [0, 63], d1 in [0, 7]",
     map_divisions},
    {"range", "MAP", "the bounds LO,HI of each result, both included", "(d0) -> (d0 * 3 - 1), domain: d0 in [0, 7]",
     map_range},
    {"info", "MAP",
     "a line for each variable, result and constraint, with its bounds; for results and constraints also their variables and expression",
     "(d0) -> (d0 * 3), domain: d0 in [0, 7], d0 mod 2 in [0, 0]", map_info},
    {"guards", "MAP",
     "a line for each condition that must be tested at run time: its variables, its bounds and its expression",
     "(d0) -> (d0), domain: d0 in [0, 7], d0 mod 2 in [0, 0]", map_guards},
    {"c", "MAP [uint|int|long] [PLACE]",
     "the results and guards as C expressions of this type (by default the narrowest type that fits)\nPLACE says where a result is inserted, and so decides on parentheses: alone, compared, added (to a pointer), term or factor",
     "(d0) -> (d0 floordiv 4, d0 mod 4), domain: d0 in [0, 63]", map_c},
    {"fits", "MAP", "the types among uint, int and long in which C can compute the results and guards",
     "(d0) -> (d0 - 3), domain: d0 in [0, 4000000000]", map_fits},
    {"substitute", "MAP V=K,W=K,..", "the map with constants in place of these variables",
     "(d0)[s0] -> (d0 * 4 + s0), domain: d0 in [0, 7], s0 in [0, 3]\ts0=2", map_substitute},
    {"rename", "MAP NAMES", "the map with other names for its variables",
     "(d0, d1) -> (d1, d0), domain: d0 in [0, 3], d1 in [0, 7]\trow,column", map_rename},
    {"unused", "MAP [dims|ranges|rts]",
     "the map without the variables (of this kind) that no result and no constraint uses",
     "(d0, d1) -> (d1), domain: d0 in [0, 3], d1 in [0, 7]", map_unused},
    {"dims", "MAP [NAMES]",
     "the map with dimensions in place of all ranges and runtime variables, or of those in NAMES",
     "(d0)[s0] -> (d0 * 4 + s0), domain: d0 in [0, 7], s0 in [0, 3]\ts0", map_dims},
    {"rescale", "MAP", "the map with ranges renumbered, which removes constraints such as s0 mod 6 in [3, 3]",
     "()[s0] -> (s0), domain: s0 in [0, 99], s0 mod 6 in [3, 3]", map_rescale},
};
