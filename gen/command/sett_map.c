/* The commands `map ...` (a part of gen/command/sett.c): each reads texts, asks include/sett_indexing_map.h and says the answer. */

static int say_map_error(command *self, sett_map map) { return say_error(self, map.column, sett_map_error_message(map.error)); }

static char *answer_end(command *self, char *none, size_t *room) {
  *room = self->length < self->capacity ? self->capacity - self->length : 0;
  return *room ? self->out + self->length : none;
}

static int say_map(command *self, sett_map_arena *arena, sett_map map) {
  char none[1], *end;
  size_t room;
  if (map.kind == SETT_MAP_FAILED) return say_map_error(self, map);
  end = answer_end(self, none, &room);
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
  return sett_map_parse(arena, self->argv[word], strlen(self->argv[word]));
}

/* An integer that ends at a comma or at the end; *at moves behind it. 0: there is none. */
static int read_value(const char **at, int64_t *value) {
  const char *p = *at;
  int negative, digits = 0;
  uint64_t n = 0;
  while (*p == ' ') ++p;
  negative = *p == '-';
  p += negative;
  for (; *p >= '0' && *p <= '9'; ++p, ++digits) {
    unsigned digit = (unsigned)(*p - '0');
    if (n > ((uint64_t)INT64_MAX - digit) / 10) return 0;
    n = n * 10 + digit;
  }
  while (*p == ' ') ++p;
  if (!digits || (*p && *p != ',')) return 0;
  *value = negative ? -(int64_t)n : (int64_t)n;
  *at = p;
  return 1;
}

static int map_eval(command *self, sett_map_arena *arena) {
  sett_map map = read_map(self, arena, 2);
  const char *text = self->argv[3], *at = text;
  int n = sett_map_variables(map), i, inside, error;
  int64_t *values, *results;
  if (map.kind == SETT_MAP_FAILED) return say_map_error(self, map);
  if (map.kind == SETT_MAP_UNDEFINED) return say_error(self, 0, sett_map_error_message(SETT_MAP_ERROR_NO_MAP));
  if (map.kind == SETT_MAP_EMPTY) {
    say_text(self, "outside");
    return 0;
  }
  values = (int64_t *)settp_take(arena, ((size_t)n + (size_t)map.results + 1) * sizeof *values);
  if (!values) return say_error(self, 0, sett_map_error_message(SETT_MAP_ERROR_FULL));
  results = values + n;
  for (i = 0; i < n; ++i) {
    if (i && *at == ',') ++at;
    else if (i) return say_error(self, (int)(at - text) + 1, "expected a value for every variable");
    if (!read_value(&at, values + i)) return say_error(self, (int)(at - text) + 1, "expected an integer");
  }
  if (*at) return say_error(self, (int)(at - text) + 1, "expected as many values as variables");
  inside = sett_map_evaluate(arena, map, values, results, &error);
  if (error) return say_error(self, 0, sett_map_error_message(error));
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

static int map_equal(command *self, sett_map_arena *arena) {
  sett_map a = read_map(self, arena, 2), b = read_map(self, arena, 3);
  int n = sett_map_variables(a) > sett_map_variables(b) ? sett_map_variables(a) : sett_map_variables(b);
  sett_map_answer answer;
  if (a.kind == SETT_MAP_FAILED) return say_map_error(self, a), say_in(self, "A");
  if (b.kind == SETT_MAP_FAILED) return say_map_error(self, b), say_in(self, "B");
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

static int map_rename(command *self, sett_map_arena *arena) {
  sett_map map = read_map(self, arena, 2);
  const char *text = self->argv[3], *at = text;
  const char **names;
  char *copy;
  size_t length = strlen(text);
  int n = sett_map_variables(map), i;
  if (map.kind != SETT_MAP_DEFINED) return say_map(self, arena, map);
  names = (const char **)settp_take(arena, (size_t)n * sizeof *names + 8);
  copy = (char *)settp_take(arena, length + 1);
  if (!names || !copy) return say_error(self, 0, sett_map_error_message(SETT_MAP_ERROR_FULL));
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

static int map_substitute(command *self, sett_map_arena *arena) {
  sett_map map = read_map(self, arena, 2);
  const char *text = self->argv[3], *at = text;
  int n = sett_map_variables(map), variable;
  unsigned char *fixed;
  int64_t *values;
  if (map.kind != SETT_MAP_DEFINED) return say_map(self, arena, map);
  fixed = (unsigned char *)settp_take(arena, (size_t)n + 8);
  values = (int64_t *)settp_take(arena, (size_t)n * sizeof *values + 8);
  if (!fixed || !values) return say_error(self, 0, sett_map_error_message(SETT_MAP_ERROR_FULL));
  memset(fixed, 0, (size_t)n);
  while (*at) {
    size_t length = strcspn(at, "=, ");
    variable = sett_map_find(map, at, length);
    if (variable < 0) return say_error(self, (int)(at - text) + 1, "unknown variable, expected one of the map's");
    if (fixed[variable]) return say_error(self, (int)(at - text) + 1, "this variable has a value: expected another one");
    at += length;
    if (*at != '=') return say_error(self, (int)(at - text) + 1, "expected '=' and a value");
    ++at;
    if (!read_value(&at, values + variable)) return say_error(self, (int)(at - text) + 1, "expected an integer");
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

static int map_range(command *self, sett_map_arena *arena) {
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

static void say_bounded(command *self, sett_map_arena *arena, sett_map map, const char *word, int64_t lo, int64_t hi, sett_expr expr) {
  if (self->length) say_text(self, "\n");
  say_text(self, word);
  say_bounds(self, lo, hi, " ");
  say_text(self, " ");
  say_expr(self, arena, map, expr);
}

static int map_info(command *self, sett_map_arena *arena) {
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
    say_bounded(self, arena, map, "result ", r.lo, r.hi, map.result[i]);
  }
  for (i = 0; i < map.constraints; ++i) say_bounded(self, arena, map, "constraint ", map.constraint[i].lo, map.constraint[i].hi, map.constraint[i].expr);
  return 0;
}

static int map_access(command *self, sett_map_arena *arena) {
  sett_map map = read_map(self, arena, 2);
  int variable = sett_map_find(map, self->argv[3], strlen(self->argv[3])), i, error;
  sett_map_stride *stride;
  if (map.kind != SETT_MAP_DEFINED) return say_map(self, arena, map);
  if (variable < 0) return say_error(self, 1, "unknown variable, expected one of the map's");
  stride = (sett_map_stride *)settp_take(arena, (size_t)map.results * sizeof *stride + 8);
  if (!stride) return say_error(self, 0, sett_map_error_message(SETT_MAP_ERROR_FULL));
  error = sett_map_strides(arena, map, variable, stride);
  if (error) return say_error(self, 0, sett_map_error_message(error));
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

static int map_guards(command *self, sett_map_arena *arena) {
  sett_map map = sett_map_guards(arena, read_map(self, arena, 2));
  int i, v, n;
  if (map.kind != SETT_MAP_DEFINED) return say_map(self, arena, map);
  for (i = 0; i < map.constraints; ++i) {
    settp_list list;
    uint32_t at;
    char buffer[24];
    if (i) say_text(self, "\n");
    if (settp_list_of_constraints(arena, &list, map.constraint + i, 1)) return say_error(self, 0, sett_map_error_message(SETT_MAP_ERROR_FULL));
    for (v = n = 0; v < sett_map_variables(map); ++v)
      for (at = 0; at < list.count; ++at) {
        const settp_node *node = settp_at(arena, list.handle[at]);
        if (node->op != SETTP_VAR || node->value != v) continue;
        if (n++) say_text(self, ",");
        say_text(self, sett_map_name(map, v, buffer));
      }
    say_text(self, "\t");
    say_bounds(self, map.constraint[i].lo, map.constraint[i].hi, " ");
    say_text(self, " ");
    say_expr(self, arena, map, map.constraint[i].expr);
  }
  return 0;
}

static int map_c(command *self, sett_map_arena *arena) {
  sett_map map = read_map(self, arena, 2);
  const char *name = self->argc > 3 ? self->argv[3] : "";
  int type = !*name ? SETT_MAP_ANY_TYPE : !strcmp(name, "uint") ? SETT_MAP_UINT : !strcmp(name, "int") ? SETT_MAP_INT : SETT_MAP_LONG, error;
  char none[1], *end;
  size_t room;
  if (type == SETT_MAP_LONG && strcmp(name, "long")) return say_error(self, 1, "unknown type, expected uint, int or long");
  if (map.kind == SETT_MAP_FAILED) return say_map_error(self, map);
  end = answer_end(self, none, &room);
  self->length += sett_map_print_c(arena, map, type, end, room, &error);
  return error ? say_error(self, 0, sett_map_error_message(error)) : 0;
}

/* `no: reason`, and the witness where there is one. */
static int say_no(command *self, sett_map map, const sett_map_answer *answer) {
  say_text(self, answer->no ? "no: " : "no: not decided: ");
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

static int map_inverse(command *self, sett_map_arena *arena) {
  sett_map map = read_map(self, arena, 2), inverse;
  sett_map_answer why;
  if (map.kind == SETT_MAP_FAILED) return say_map_error(self, map);
  inverse = sett_map_inverse(arena, map, &why);
  return inverse.kind == SETT_MAP_UNDEFINED ? say_no(self, map, &why) : say_map(self, arena, inverse);
}

static int map_rescale(command *self, sett_map_arena *arena) { return say_map(self, arena, sett_map_rescale(arena, read_map(self, arena, 2))); }

static int map_unused(command *self, sett_map_arena *arena) {
  const char *name = self->argc > 3 ? self->argv[3] : "";
  int kinds = !*name ? SETT_MAP_ALL_KINDS : !strcmp(name, "dims") ? SETT_MAP_DIMS : !strcmp(name, "ranges") ? SETT_MAP_RANGES : SETT_MAP_RTS;
  if (kinds == SETT_MAP_RTS && strcmp(name, "rts")) return say_error(self, 1, "unknown kind, expected dims, ranges or rts");
  return say_map(self, arena, sett_map_remove_unused(arena, read_map(self, arena, 2), kinds, NULL));
}

static int map_dims(command *self, sett_map_arena *arena) {
  sett_map map = read_map(self, arena, 2);
  const char *text = self->argc > 3 ? self->argv[3] : "", *at = text;
  unsigned char *chosen;
  int variable;
  if (map.kind != SETT_MAP_DEFINED || !*text) return say_map(self, arena, sett_map_to_dims(arena, map, NULL));
  chosen = (unsigned char *)settp_take(arena, (size_t)sett_map_variables(map) + 8);
  if (!chosen) return say_error(self, 0, sett_map_error_message(SETT_MAP_ERROR_FULL));
  memset(chosen, 0, (size_t)sett_map_variables(map));
  while (*at) {
    size_t length = strcspn(at, ",");
    variable = sett_map_find(map, at, length);
    if (variable < map.dims) return say_error(self, (int)(at - text) + 1, "unknown variable, expected a range or a runtime variable of the map");
    chosen[variable] = 1;
    at += length;
    if (*at == ',') ++at;
  }
  return say_map(self, arena, sett_map_to_dims(arena, map, chosen));
}

static int map_parse(command *self, sett_map_arena *arena) { return say_map(self, arena, read_map(self, arena, 2)); }

static int map_simplify(command *self, sett_map_arena *arena) { return say_map(self, arena, sett_map_simplify(arena, read_map(self, arena, 2))); }

static int map_compose(command *self, sett_map_arena *arena) {
  sett_map first = read_map(self, arena, 2), second = read_map(self, arena, 3);
  if (first.kind == SETT_MAP_FAILED) return say_map_error(self, first), say_in(self, "FIRST");
  if (second.kind == SETT_MAP_FAILED) return say_map_error(self, second), say_in(self, "SECOND");
  return say_map(self, arena, sett_map_simplify(arena, sett_map_compose(arena, first, second)));
}

static int command_map(command *self) {
  static const struct {
    const char *verb;
    int words, more; /* arguments needed, and how many more are allowed */
    int (*run)(command *, sett_map_arena *);
    const char *usage;
  } verbs[] = {
      {"parse", 1, 0, map_parse, "expected: map parse MAP"},
      {"simplify", 1, 0, map_simplify, "expected: map simplify MAP"},
      {"compose", 2, 0, map_compose, "expected: map compose FIRST SECOND"},
      {"eval", 2, 0, map_eval, "expected: map eval MAP VALUES"},
      {"equal", 2, 0, map_equal, "expected: map equal A B"},
      {"inverse", 1, 0, map_inverse, "expected: map inverse MAP"},
      {"rescale", 1, 0, map_rescale, "expected: map rescale MAP"},
      {"unused", 1, 1, map_unused, "expected: map unused MAP [dims|ranges|rts]"},
      {"dims", 1, 1, map_dims, "expected: map dims MAP [NAMES]"},
      {"rename", 2, 0, map_rename, "expected: map rename MAP NAMES"},
      {"substitute", 2, 0, map_substitute, "expected: map substitute MAP v=K,w=K"},
      {"range", 1, 0, map_range, "expected: map range MAP"},
      {"info", 1, 0, map_info, "expected: map info MAP"},
      {"access", 2, 0, map_access, "expected: map access MAP VARIABLE"},
      {"guards", 1, 0, map_guards, "expected: map guards MAP"},
      {"c", 1, 1, map_c, "expected: map c MAP [uint|int|long]"},
  };
  size_t i;
  for (i = 0; i < sizeof verbs / sizeof *verbs; ++i)
    if (self->argc > 1 && !strcmp(self->argv[1], verbs[i].verb)) {
      sett_map_arena arena = command_arena();
      int words = self->argc - 2;
      if (words < verbs[i].words || words > verbs[i].words + verbs[i].more) return say_error(self, 0, verbs[i].usage);
      return verbs[i].run(self, &arena);
    }
  return say_error(self, 0, "unknown command, expected map parse, simplify, compose, eval, equal, inverse, rescale, unused, dims, rename, substitute, range, info, access, guards or c");
}
