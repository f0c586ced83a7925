/* The command `draw` (included by gen/command/sett.c): a picture of a layout, a map or an access, as text or as SVG.
 * The answer is the picture; no file is read or written here. A picture is one or two tables of cells. Each table has a
 * source, which is an argument of the command: it gives the axes and the contents of the cells. The rest of the file
 * prints tables. */

enum { DRAW_AXES = 16, DRAW_NUMBERS = 16, DRAW_NAME = 24, DRAW_COLOURS = 32, DRAW_HUES = 8 };
/* at most this many inputs of a linear layout, or points of a map, are visited to find the owners */
enum { DRAW_MAP_POINTS = 1 << 19 };
enum { DRAW_ROOM = 240 }; /* maximum characters of a line if the answer does not go to a terminal */
enum { DRAW_BANKS = 32, DRAW_BANK_BITS = 32, DRAW_TRANSACTION = 32 };

typedef struct {
  char name[DRAW_NAME];
  /* the axis has `size` indices: first, first + 1, ..; indices from `inside` on are padding */
  int64_t first, size, inside;
  int64_t tile; /* a line is drawn after each `tile` indices; 0: no lines */
} draw_axis;

/* kinds of cells */
enum { DRAW_ABSENT, DRAW_EMPTY, DRAW_CELL };

/* kinds of sources, which supply the cells */
enum { DRAW_SHAPE, DRAW_NOTATION, DRAW_LINEAR, DRAW_NESTED, DRAW_MAP, DRAW_OWNERS, DRAW_MEMORY };

typedef struct {
  int source;
  const char *title;
  const char *cell, *empty; /* meaning of the numbers in a cell, and meaning of a cell without numbers */
  char cells[256];          /* memory for the text that `cell` points to */
  int rank;
  draw_axis axis[DRAW_AXES];
  /* numbers: count of numbers in a cell. owner: 1 if they name the thread that owns the element, 0 if they are its
   * position */
  int numbers, owner;
  unsigned shown; /* bit k is set if number k of a cell is printed */
  int colour_by;  /* index of the number in a cell that selects the colour */
  /* number of adjacent elements in memory that share a colour; 0: the length of the picture's longest contiguous
   * runs */
  int64_t unit;
  const char *colour;           /* the meaning of the colours, for the legend */
  int64_t rows, columns, pages; /* the part that is drawn; the arrays below hold its cells, columns fastest */
  int64_t all_rows, all_columns, all_pages;
  int64_t *number;
  unsigned char *state, *tint, *differs;
  int64_t *others; /* for each cell: the number of its owners beyond the first */
  int64_t most;    /* the maximum over the cells of `others` */
  sett_tile_plan *plan;
  sett_notation layout;
  sett_nested_layout *nested;
  sett_map map;
  int64_t *point;          /* values of the map's variables; those of the axes are set for each cell */
  int variable[DRAW_AXES]; /* the map's variable for each axis; DRAW_OWNERS: for each number of a cell */
  /* DRAW_OWNERS: a cell's first `dims` numbers are dimensions of the map; the next is the slot, which combines all
   * ranges */
  int dims;
  int64_t bits; /* bits of an accessed element; 0 if the table is not an access */
} draw_table;

/* Maximum sizes of a picture. */
typedef struct {
  int64_t rows, columns, pages;
} draw_limits;

static int draw_full(command *self) { return say_error(self, 0, sett_map_message(SETT_MAP_ERROR_FULL)), 0; }
static int64_t draw_least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t draw_floor(int64_t a, int64_t b) { return a / b - (a % b < 0); }
static int64_t draw_mod(int64_t a, int64_t b) { return a % b + (a % b < 0 ? b : 0); }

static int64_t draw_extent(int64_t lo, int64_t hi) {
  uint64_t distance = (uint64_t)hi - (uint64_t)lo;
  return distance >= (uint64_t)INT64_MAX ? INT64_MAX : (int64_t)distance + 1;
}

/* Returns a `command` with which the say_.. functions write a short text to `out` and not to the answer. */
static command draw_note(char *out, size_t capacity) {
  command note;
  memset(&note, 0, sizeof note);
  note.out = out;
  note.capacity = capacity;
  out[0] = 0;
  return note;
}

/* Returns the distance of an index from the axis's first index; -1 if it is outside of the axis. */
static int64_t draw_along(const draw_axis *axis, int64_t index) {
  uint64_t distance = (uint64_t)index - (uint64_t)axis->first;
  return index >= axis->first && distance < (uint64_t)axis->size ? (int64_t)distance : -1;
}

static draw_axis draw_axis_of(const char *name, int number, int64_t first, int64_t size) {
  draw_axis axis;
  command note = draw_note(axis.name, sizeof axis.name);
  say_text(&note, name);
  if (number >= 0) say_int(&note, number);
  axis.first = first;
  axis.size = axis.inside = size;
  axis.tile = 0;
  return axis;
}

/* ---- sources: axes ---------------------------------------------------------------------------------------------- */

/* Reads a shape. Lines show the shape's first tiling, in its most minor dimensions. If that tiling combines dimensions,
 * there are no lines. */
static int draw_read_shape(command *self, int word, draw_table *t) {
  sett_tile_shape shape;
  int64_t tile = 1;
  int i, j, first;
  t->plan = (sett_tile_plan *)settp_map_take(&self->arena, sizeof *t->plan);
  if (!t->plan) return draw_full(self);
  if (!shape_plan(self, self->argv[word], &shape, t->plan)) return 0;
  t->source = DRAW_SHAPE;
  t->rank = shape.rank;
  if (t->rank > DRAW_AXES) return say_error(self, 1, "expected a shape of at most 16 dimensions to draw"), 0;
  for (i = 0; i < t->rank; ++i) t->axis[i] = draw_axis_of("d", i, 0, shape.dims[i]);
  first = shape.tiles ? shape.rank - shape.tile_rank[0] : shape.rank;
  for (j = 0; shape.tiles && j < shape.tile_rank[0]; ++j)
    if (shape.tile[j] == SETT_TILE_COMBINE || first < 0) first = shape.rank;
  for (i = first, j = 0; i < shape.rank; ++i, ++j) {
    draw_axis *axis = &t->axis[shape.minor_to_major[shape.rank - 1 - i]];
    int64_t size = shape.tile[j];
    tile *= size;
    if (size < 2 || axis->size < 1 || axis->size > INT64_MAX - size) continue;
    axis->tile = size;
    axis->size = (axis->size + size - 1) / size * size;
  }
  t->numbers = 1;
  t->unit = tile > 1 ? tile : 0;
  t->cell = "position in memory";
  t->empty = "padding";
  return 1;
}

static int64_t draw_mode_size(const sett_notation_mode *mode) {
  int64_t size = 1, part;
  int i;
  if (mode->rank < 0) return mode->size;
  for (i = 0; i < mode->rank; ++i) {
    part = draw_mode_size(&mode->mode[i]);
    if (part < 0 || settp_map_mul(size, part, &size)) return -1;
  }
  return size;
}

/* Writes the names of the printed numbers in the form of a cell: warp:lane.register. */
static void draw_name_cells(draw_table *t, char name[DRAW_NUMBERS][DRAW_NAME]) {
  command note = draw_note(t->cells, sizeof t->cells);
  int k, any = 0;
  for (k = 0; k < t->numbers; ++k) {
    if (!(t->shown >> k & 1)) continue;
    if (any) say_text(&note, k + 1 == t->numbers ? "." : ":");
    say_text(&note, name[k]);
    any = 1;
  }
  t->cell = t->cells;
}

/* An owner has several numbers, for example warp, lane and slot. Chooses the number that selects the owner's colour: the
 * lane if it is printed, else the last printed number before the slot, else the slot. */
static void draw_colour_owners(draw_table *t, char name[DRAW_NUMBERS][DRAW_NAME], int lane) {
  int k;
  if (lane < 0 || !(t->shown >> lane & 1))
    for (lane = -1, k = 0; k < t->numbers; ++k)
      if (t->shown >> k & 1 && (lane < 0 || k + 1 < t->numbers)) lane = k;
  t->colour_by = lane < 0 ? 0 : lane;
  t->colour = name[t->colour_by];
}

static int draw_read_linear(command *self, draw_table *t) {
  const sett_notation_linear *l = t->layout.linear;
  char(*name)[DRAW_NAME] = (char(*)[DRAW_NAME])settp_map_take(&self->arena, sizeof(char[DRAW_NUMBERS][DRAW_NAME]));
  int i, bits = 0, offset = -1, lane = -1, others = 0;
  if (!name) return draw_full(self);
  t->source = DRAW_LINEAR;
  t->rank = l->outs;
  t->numbers = l->ins;
  t->owner = 1;
  t->empty = "nobody's";
  for (i = 0; i < l->outs; ++i) t->axis[i] = draw_axis_of(l->out[i], -1, 0, (int64_t)1 << l->out_bits[i]);
  for (i = 0; i < l->ins; ++i) {
    int k = l->ins - 1 - i;
    memcpy(name[k], l->in[i], sizeof l->in[i]);
    if (!strcmp(name[k], "lane") || !strcmp(name[k], "thread")) lane = k;
    if (l->in_bits[i]) t->shown |= 1u << k;
    bits += l->in_bits[i];
    if (!strcmp(name[k], "offset")) offset = k;
    else others |= l->in_bits[i];
  }
  if (bits > 24) return say_error(self, 1, "expected a linear layout of at most 2^24 inputs to draw"), 0;
  draw_name_cells(t, name);
  draw_colour_owners(t, name, lane);
  if (offset < 0 || others) return 1;
  t->owner = t->colour_by = 0; /* the only input is an offset, so a cell shows a position in shared memory */
  t->numbers = 1;
  t->colour = NULL;
  t->cell = "offset in memory";
  t->empty = "nowhere";
  return 1;
}

static sett_map draw_map_of_notation(command *self, const sett_notation *layout) {
  return sett_map_simplify(&self->arena, sett_notation_map(&self->arena, layout));
}

static int draw_take_map(command *self, draw_table *t, sett_map map);
static int draw_value(command *self, draw_table *t, const int64_t *index, int64_t *number);

static int draw_read_notation(command *self, int word, draw_table *t) {
  const sett_notation *layout = &t->layout;
  int i;
  t->layout = layout_read(self, word);
  if (layout->error) return layout_error(self, layout), 0;
  t->source = DRAW_NOTATION;
  t->numbers = 1;
  t->cell = "offset in memory";
  t->empty = "padding";
  if (layout->kind == SETT_NOTATION_TRITON) return draw_read_linear(self, t);
  if (layout->kind == SETT_NOTATION_STRIDES || layout->kind == SETT_NOTATION_ONEDNN ||
      layout->kind == SETT_NOTATION_PADDED) {
    t->rank = layout->rank;
    for (i = 0; i < t->rank; ++i) t->axis[i] = draw_axis_of("d", i, 0, layout->dims[i]);
    for (i = 0; layout->kind == SETT_NOTATION_ONEDNN && i < layout->blocks; ++i) {
      draw_axis *axis = &t->axis[layout->block_dim[i]];
      axis->tile = (axis->tile ? axis->tile : 1) * layout->block_size[i];
      t->unit = (t->unit ? t->unit : 1) * layout->block_size[i];
    }
    for (i = 0; i < t->rank; ++i)
      if (t->axis[i].tile > 1)
        t->axis[i].size = (t->axis[i].size + t->axis[i].tile - 1) / t->axis[i].tile * t->axis[i].tile;
  } else if (layout->kind == SETT_NOTATION_CUTE && sett_notation_size(layout) >= 0) {
    const sett_notation_mode *mode = &layout->part[layout->parts - 1].layout;
    int64_t zero[DRAW_AXES] = {0}, number[DRAW_NUMBERS];
    t->rank = mode->rank < 0 ? 1 : mode->rank;
    if (t->rank > DRAW_AXES) return say_error(self, 1, "expected a layout of at most 16 modes to draw"), 0;
    for (i = 0; i < t->rank; ++i)
      t->axis[i] = draw_axis_of("m", i, 0, draw_mode_size(mode->rank < 0 ? mode : &mode->mode[i]));
    if (sett_notation_size(layout) > 0)
      t->numbers = draw_value(self, t, zero, number); /* a stride can be a coordinate, which has several numbers */
    if (t->numbers > 1) t->cell = "coordinate";
    if (t->numbers < 1) return 0;
  } else if (layout->kind < SETT_NOTATION_STRIDES) {
    return say_error(self, 1, "expected a layout with a size to draw: SHAPE:STRIDE at its end"), 0;
  } else {
    return draw_take_map(self, t, draw_map_of_notation(self, layout));
  }
  return 1;
}

static int draw_read_nested(command *self, int word, draw_table *t) {
  static const char *const names[3] = {"subgroup", "thread", "slot"};
  char(*name)[DRAW_NAME] = (char(*)[DRAW_NAME])settp_map_take(&self->arena, sizeof(char[DRAW_NUMBERS][DRAW_NAME]));
  int64_t shape[SETT_NESTED_MAX_RANK] = {0}, copies;
  int i;
  t->nested = (sett_nested_layout *)settp_map_take(&self->arena, sizeof *t->nested);
  if (!t->nested || !name) return draw_full(self);
  if (!nested_read(self, word, t->nested)) return 0;
  t->source = DRAW_NESTED;
  t->rank = t->nested->rank;
  if (t->rank > DRAW_AXES) return say_error(self, 1, "expected a layout of at most 16 dimensions to draw"), 0;
  sett_nested_undistributed(t->nested, shape);
  for (i = 0; i < t->rank; ++i) t->axis[i] = draw_axis_of("d", i, 0, shape[i]);
  for (i = 0; i < 3; ++i) memcpy(name[i], names[i], strlen(names[i]) + 1);
  t->numbers = 3;
  t->owner = 1;
  t->shown = 4u | (sett_nested_threads(t->nested) != 1 ? 2u : 0) | (sett_nested_subgroups(t->nested) != 1 ? 1u : 0);
  t->empty = "nobody's";
  copies = sett_nested_copies(t->nested);
  t->most = copies > 1 ? copies - 1 : 0;
  draw_name_cells(t, name);
  draw_colour_owners(t, name, 1);
  return 1;
}

/* Takes a map as the source. If a dimension has the name of a thread, such as lane, the axes are the map's results; a
 * cell then shows the owner of the element at its index. Otherwise, the axes are the map's variables with several
 * values. */
static int draw_take_map(command *self, draw_table *t, sett_map map) {
  char(*name)[DRAW_NAME] = (char(*)[DRAW_NAME])settp_map_take(&self->arena, sizeof(char[DRAW_NUMBERS][DRAW_NAME]));
  char buffer[24];
  int i, k, n, lane;
  int64_t points = 1, slots = 1, size;
  if (map.kind == SETT_MAP_FAILED) return say_map_error(self, map), 0;
  if (map.kind != SETT_MAP_DEFINED) return say_error(self, 1, "expected a map with points to draw"), 0;
  n = sett_map_variables(map);
  t->map = map;
  t->point = (int64_t *)settp_map_take(&self->arena, ((size_t)n + 1) * sizeof *t->point);
  if (!t->point || !name) return draw_full(self);
  for (i = 0; i < n; ++i) {
    t->point[i] = map.variable[i].lo;
    size = draw_extent(map.variable[i].lo, map.variable[i].hi);
    if (settp_map_mul(points, size, &points)) points = INT64_MAX;
    if (i >= map.dims && settp_map_mul(slots, size, &slots)) slots = INT64_MAX;
  }
  t->source = DRAW_MAP;
  t->empty = "outside of the domain";
  t->cell = map.results == 1 ? "value" : "values";
  t->numbers = map.results;
  lane = analysis_named_lane(map);
  if (map.results == 0) return say_error(self, 1, "expected a map with results to draw"), 0;
  if (map.results > DRAW_NUMBERS || map.dims >= DRAW_NUMBERS)
    return say_error(self, 1, "expected a map of at most 16 results and 15 dimensions to draw"), 0;
  if (lane >= 0) {
    if (points > DRAW_MAP_POINTS)
      return say_error(self, 1, "expected a map of threads with at most 524288 points to draw"), 0;
    t->source = DRAW_OWNERS;
    t->owner = 1;
    t->empty = "nobody's";
    t->dims = map.dims;
    t->numbers = map.dims + 1;
    for (i = k = 0; i < map.dims; ++i) {
      if (i == lane) continue;
      t->variable[k++] = i;
    }
    t->variable[k] = lane; /* the lane is the last number before the slot */
    for (k = 0; k < map.dims; ++k) {
      const char *of = sett_map_name(map, t->variable[k], buffer);
      size_t length = strlen(of) < DRAW_NAME ? strlen(of) : DRAW_NAME - 1;
      memcpy(name[k], of, length);
      name[k][length] = 0;
      if (map.variable[t->variable[k]].lo != map.variable[t->variable[k]].hi) t->shown |= 1u << k;
    }
    memcpy(name[map.dims], "slot", 5);
    if (slots != 1) t->shown |= 1u << map.dims;
    t->rank = map.results;
    for (i = 0; i < t->rank; ++i) t->axis[i] = draw_axis_of("d", i, 0, 0); /* draw_bounds sets the sizes */
    draw_name_cells(t, name);
    draw_colour_owners(t, name, map.dims - 1);
    return 1;
  }
  for (i = 0; i < n; ++i) {
    if (map.variable[i].lo == map.variable[i].hi) continue;
    if (t->rank == DRAW_AXES)
      return say_error(self, 1, "expected a map of at most 16 variables with several values to draw"), 0;
    t->variable[t->rank] = i;
    t->axis[t->rank++] = draw_axis_of(sett_map_name(map, i, buffer), -1, map.variable[i].lo,
                                      draw_extent(map.variable[i].lo, map.variable[i].hi));
  }
  return 1;
}

static const char *draw_spaces_after(const char *text) { return text + strspn(text, " "); }

static int draw_is_map(const char *text) {
  const char *at = draw_spaces_after(text);
  return (*at == '(' && strstr(at, "->")) || !strncmp(at, "KNOWN EMPTY", 11) || !strncmp(at, "UNDEFINED", 9);
}

static int draw_is_shape(const char *text) {
  const char *at = draw_spaces_after(text);
  size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789");
  return length > 0 && at[length] == '[' && (*at < '0' || *at > '9');
}

static int draw_is_nested(const char *text) {
  const char *dot = strrchr(text, '.');
  return strstr(text, "nested_layout") || strstr(text, "subgroup_tile") ||
         (dot && sett_mma_find(text, (size_t)(dot - text)) >= 0);
}

/* Reads the argument's axes. Returns 0 after say_error. */
static int draw_read(command *self, int word, draw_table *t) {
  const char *text = reading(self, self->argv[word]);
  memset(t, 0, sizeof *t);
  t->title = text;
  if (draw_is_map(text)) return draw_take_map(self, t, read_map(self, &self->arena, word));
  if (draw_is_shape(text)) return draw_read_shape(self, word, t);
  if (draw_is_nested(text)) return draw_read_nested(self, word, t);
  return draw_read_notation(self, word, t);
}

/* ---- cells ------------------------------------------------------------------------------------------------------ */

/* Computes the numbers of the cell at an index. Returns how many there are; 0 if the cell is empty; -1 after
 * say_error. */
static int draw_value(command *self, draw_table *t, const int64_t *index, int64_t *number) {
  sett_map_mark mark = sett_map_arena_mark(&self->arena);
  int i, error = 0, count = 0;
  if (t->source == DRAW_SHAPE) {
    number[0] = sett_tile_position(t->plan, index);
    return number[0] >= 0;
  }
  if (t->source == DRAW_NESTED)
    return sett_nested_owner(t->nested, index, 0, &number[0], &number[1], &number[2]) ? 3 : 0;
  if (t->source == DRAW_MAP) {
    for (i = 0; i < t->rank; ++i) t->point[t->variable[i]] = index[i];
    count = sett_map_evaluate(&self->arena, t->map, t->point, number, &error) ? t->numbers : 0;
    if (error) return say_error(self, 0, sett_map_message(error)), -1;
  } else {
    settp_notation_work work = settp_notation_begin(&self->arena);
    sett_notation_mode mode[DRAW_AXES];
    sett_notation coordinate, value;
    for (i = 0; i < t->rank; ++i) {
      if (t->axis[i].inside <= index[i]) return 0;
      mode[i] = settp_notation_leaf(index[i], 0);
    }
    coordinate = settp_notation_end(
        &work, settp_notation_tuple_of(t->rank == 1 ? mode[0] : settp_notation_tuple(&work, t->rank, mode),
                                       SETT_NOTATION_TUPLE));
    value = sett_notation_at(&self->arena, &t->layout, &coordinate);
    if (value.error) return layout_error(self, &value), -1;
    if (value.tuple.rank < 0) {
      number[count++] = value.tuple.size;
    } else {
      settp_notation_flat flat;
      settp_notation_flatten_to(&work, &value.tuple, &flat);
      if (flat.count > DRAW_NUMBERS || work.error)
        return say_error(self, 1, "expected a layout whose values have at most 16 numbers to draw"), -1;
      for (i = 0; i < flat.count; ++i) number[count++] = flat.leaf[i].size;
    }
  }
  sett_map_arena_rewind(&self->arena, mark);
  return count;
}

/* Arranges the axes: the last one across, the second to last one down, and one page for each index of the others. A
 * single axis is broken into rows. */
static void draw_arrange(draw_table *t, const draw_limits *limits, int64_t width) {
  int i, overflow = 0;
  t->all_rows = t->all_columns = t->all_pages = 1;
  if (t->rank == 1) {
    int64_t size = t->axis[0].size;
    t->all_columns = draw_least(size, width);
    t->all_rows = size ? (size - 1) / width + 1 : 0;
    if (t->all_rows > 1) t->axis[0].tile = 0;
  } else if (t->rank > 1) {
    t->all_columns = t->axis[t->rank - 1].size;
    t->all_rows = t->axis[t->rank - 2].size;
    for (i = 0; i < t->rank - 2; ++i) overflow |= settp_map_mul(t->all_pages, t->axis[i].size, &t->all_pages);
    if (overflow) t->all_pages = INT64_MAX;
    for (i = 0; i < t->rank; ++i)
      if (!t->axis[i].size) t->all_pages = t->all_rows = t->all_columns = 0;
  }
  t->rows = draw_least(t->all_rows, limits->rows);
  t->columns = draw_least(t->all_columns, limits->columns);
  t->pages = draw_least(t->all_pages, limits->pages);
}

/* Returns the number of cells in a row of a single axis: 32 if the axis is long, else 16. */
static int64_t draw_width(const draw_table *t) { return t->rank == 1 && t->axis[0].size >= 512 ? 32 : 16; }

/* Computes the index of a cell. Returns 0 if the cell is behind the end of a single axis. */
static int draw_index(const draw_table *t, int64_t page, int64_t row, int64_t column, int64_t *index) {
  int d;
  if (t->rank == 1) {
    int64_t at = row * t->all_columns + column;
    index[0] = t->axis[0].first + at;
    return at < t->axis[0].size;
  }
  for (d = t->rank - 3; d >= 0; --d) {
    index[d] = t->axis[d].first + page % t->axis[d].size;
    page /= t->axis[d].size;
  }
  if (t->rank > 1) {
    index[t->rank - 2] = t->axis[t->rank - 2].first + row;
    index[t->rank - 1] = t->axis[t->rank - 1].first + column;
  }
  return 1;
}

/* Returns the number of the cell at an index; -1 if it is not drawn. */
static int64_t draw_cell(const draw_table *t, const int64_t *index) {
  int64_t page = 0, row = 0, column = 0;
  int d;
  for (d = 0; d < t->rank; ++d) {
    int64_t at = draw_along(&t->axis[d], index[d]);
    if (at < 0) return -1;
    if (t->rank == 1) row = at / t->all_columns, column = at % t->all_columns;
    else if (d == t->rank - 1) column = at;
    else if (d == t->rank - 2) row = at;
    else if (page > (INT64_MAX - at) / t->axis[d].size) return -1;
    else page = page * t->axis[d].size + at;
  }
  return page < t->pages && row < t->rows && column < t->columns ? (page * t->rows + row) * t->columns + column : -1;
}

static int draw_take(command *self, draw_table *t) {
  size_t cells = (size_t)(t->pages * t->rows * t->columns), numbers = cells * (size_t)(t->numbers ? t->numbers : 1);
  t->number = (int64_t *)settp_map_take(&self->arena, (numbers + 1) * sizeof *t->number);
  t->others = (int64_t *)settp_map_take(&self->arena, (cells + 1) * sizeof *t->others);
  t->state = (unsigned char *)settp_map_take(&self->arena, 3 * cells + 1);
  if (!t->number || !t->others || !t->state) return draw_full(self);
  memset(t->number, 0, numbers * sizeof *t->number);
  memset(t->others, 0, cells * sizeof *t->others);
  memset(t->state, 0, 3 * cells);
  t->tint = t->state + cells;
  t->differs = t->tint + cells;
  return 1;
}

/* Records an owner of an element. If an element has several owners, the smallest is shown and the others are
 * counted. */
static void draw_own(draw_table *t, const int64_t *index, const int64_t *number) {
  int64_t cell = draw_cell(t, index), *is = t->number + (cell < 0 ? 0 : cell) * t->numbers;
  int k = 0;
  if (cell < 0) return;
  if (t->state[cell] == DRAW_CELL) {
    if (++t->others[cell] > t->most) t->most = t->others[cell];
    while (k < t->numbers && number[k] == is[k]) ++k;
    if (k == t->numbers || number[k] > is[k]) return;
  }
  t->state[cell] = DRAW_CELL;
  memcpy(is, number, (size_t)t->numbers * sizeof *is);
}

/* Records the owners of all inputs of a linear layout. Inputs are visited in the order of a Gray code, so that each
 * step changes one bit and costs one xor. */
static void draw_own_linear(draw_table *t) {
  const sett_notation_linear *l = t->layout.linear;
  int64_t index[DRAW_AXES], number[DRAW_NUMBERS] = {0};
  uint64_t x, at, gray, value = 0, end;
  int i, bit, bits = 0;
  for (i = 0; i < l->ins; ++i) bits += l->in_bits[i];
  end = (uint64_t)1 << bits;
  for (x = 0; x < end; ++x) {
    for (bit = 0; x && !(x >> bit & 1); ++bit) {}
    if (x) value ^= l->basis[bit];
    gray = x ^ x >> 1;
    for (i = 0, at = gray; i < l->ins; ++i) {
      int k = t->owner ? l->ins - 1 - i : 0; /* if cells show positions, the offset is the only input with bits */
      if (t->owner || l->in_bits[i]) number[k] = (int64_t)(at & (((uint64_t)1 << l->in_bits[i]) - 1));
      at >>= l->in_bits[i];
    }
    for (i = 0, at = value; i < l->outs; ++i) {
      index[i] = (int64_t)(at & (((uint64_t)1 << l->out_bits[i]) - 1));
      at >>= l->out_bits[i];
    }
    draw_own(t, index, number);
  }
}

/* Computes the owner of a point of the map. The owner's slot is one number that combines all ranges, the last one
 * fastest. */
static void draw_owner(const draw_table *t, const sett_map_points *it, int64_t *number) {
  int k, slot = t->dims;
  for (k = 0; k < t->dims; ++k) number[k] = it->point[t->variable[k]];
  number[slot] = 0;
  for (k = t->dims; k < sett_map_variables(t->map); ++k)
    number[slot] =
        number[slot] * draw_extent(t->map.variable[k].lo, t->map.variable[k].hi) + it->point[k] - t->map.variable[k].lo;
}

/* Sets the axes to the bounding box of a map's results. Returns 0 after say_error. */
static int draw_bounds(command *self, draw_table *t) {
  sett_map_points it = sett_map_points_begin(&self->arena, t->map);
  int64_t last[DRAW_AXES];
  int i, any = 0;
  for (; sett_map_points_next(&it); any = 1)
    for (i = 0; i < t->rank; ++i) {
      if (!any || it.result[i] < t->axis[i].first) t->axis[i].first = it.result[i];
      if (!any || it.result[i] > last[i]) last[i] = it.result[i];
    }
  if (it.error) return say_error(self, 0, sett_map_message(it.error)), 0;
  for (i = 0; i < t->rank && any; ++i) {
    if (t->axis[i].first > 0) t->axis[i].first = 0; /* indices of an array start at 0 */
    t->axis[i].size = t->axis[i].inside = draw_extent(t->axis[i].first, last[i]);
  }
  return 1;
}

static int draw_own_map(command *self, draw_table *t) {
  sett_map_points it = sett_map_points_begin(&self->arena, t->map);
  int64_t number[DRAW_NUMBERS];
  while (sett_map_points_next(&it)) {
    draw_owner(t, &it, number);
    draw_own(t, it.result, number);
  }
  return it.error ? say_error(self, 0, sett_map_message(it.error)), 0 : 1;
}

/* Fills the cells of a table whose axes are arranged. Returns 0 after say_error. */
static int draw_fill(command *self, draw_table *t) {
  int64_t page, row, column, cell = 0, index[DRAW_AXES] = {0}, number[DRAW_NUMBERS];
  int count, owners = t->source == DRAW_LINEAR || t->source == DRAW_OWNERS;
  if (!draw_take(self, t)) return 0;
  for (page = 0; page < t->pages; ++page)
    for (row = 0; row < t->rows; ++row)
      for (column = 0; column < t->columns; ++column, ++cell) {
        if (!draw_index(t, page, row, column, index)) continue;
        t->state[cell] = DRAW_EMPTY;
        if (owners) continue;
        count = draw_value(self, t, index, number);
        if (count < 0) return 0;
        if (!count) continue;
        t->state[cell] = DRAW_CELL;
        memcpy(t->number + cell * t->numbers, number, (size_t)count * sizeof *number);
      }
  if (t->source == DRAW_LINEAR) draw_own_linear(t);
  return t->source == DRAW_OWNERS ? draw_own_map(self, t) : 1;
}

/* ---- colours ---------------------------------------------------------------------------------------------------- */

/* Returns true if all aligned runs of `unit` cells along rows (or columns, if `down` is set) are contiguous and aligned
 * in memory. */
static int draw_runs(const draw_table *t, int64_t unit, int down) {
  int64_t cell, cells = t->pages * t->rows * t->columns;
  for (cell = 0; cell < cells; ++cell) {
    int64_t at = (down ? cell / t->columns % t->rows : cell % t->columns) % unit,
            first = cell - at * (down ? t->columns : 1);
    if (t->state[cell] != DRAW_CELL || t->state[first] != DRAW_CELL) continue;
    if (draw_mod(t->number[first * t->numbers], unit) || draw_mod(t->number[cell * t->numbers], unit) != at ||
        draw_floor(t->number[cell * t->numbers], unit) != draw_floor(t->number[first * t->numbers], unit))
      return 0;
  }
  return 1;
}

/* Returns the length of the picture's longest contiguous runs in memory: a whole row or column, or a power of two. */
static int64_t draw_unit(const draw_table *t) {
  int64_t unit, best = 1, size;
  int down;
  for (down = 0; down < 2; ++down) {
    size = down ? t->all_rows : t->all_columns;
    if (size > 1 && size <= (down ? t->rows : t->columns) && size > best && draw_runs(t, size, down)) best = size;
    for (unit = 2; unit <= size && unit <= 1024; unit *= 2)
      if (!draw_runs(t, unit, down)) break;
    if (unit / 2 > best) best = unit / 2;
  }
  return best;
}

/* Gives each memory transaction of a row (the lanes of one warp) a colour. In each row, colours are numbered from 0 in
 * the order of the lanes, so a row with few transactions has few colours. */
static void draw_transactions(draw_table *t) {
  int64_t cell, other, cells = t->pages * t->rows * t->columns, begin, at, seen;
  for (cell = 0; cell < cells; ++cell) {
    begin = cell - cell % t->columns;
    at = draw_floor(t->number[cell], t->unit);
    for (other = begin, seen = -1; other < cell; ++other) {
      if (t->state[other] != DRAW_CELL) continue;
      if (draw_floor(t->number[other], t->unit) == at) break;
      if ((int64_t)t->tint[other] > seen) seen = t->tint[other];
    }
    t->tint[cell] = (unsigned char)(other < cell ? t->tint[other] : (seen + 1) % DRAW_COLOURS);
  }
}

static void draw_colours(draw_table *t, char *text, size_t capacity) {
  command note = draw_note(text, capacity);
  int64_t cell, cells = t->pages * t->rows * t->columns, colours = t->owner ? DRAW_COLOURS : DRAW_HUES;
  if (t->bits) {
    draw_transactions(t);
    return;
  }
  if (!t->unit) t->unit = t->owner || t->numbers > 1 ? 1 : draw_unit(t);
  for (cell = 0; cell < cells; ++cell)
    t->tint[cell] = (unsigned char)draw_mod(draw_floor(t->number[cell * t->numbers + t->colour_by], t->unit), colours);
  if (t->colour) say_text(&note, t->colour);
  else
    say_text(&note, t->numbers > 1            ? "first number"
                    : t->source == DRAW_MAP   ? "value"
                    : t->source == DRAW_SHAPE ? "position"
                                              : "offset");
  if (t->unit > 1 && !t->colour) {
    say_text(&note, " div ");
    say_int(&note, t->unit);
  }
  say_text(&note, ", mod ");
  say_int(&note, colours);
  t->colour = text;
}

/* ---- texts ------------------------------------------------------------------------------------------------------ */

/* Writes the text of a cell. */
static size_t draw_label(const draw_table *t, int64_t cell, char *out, size_t capacity) {
  command note = draw_note(out, capacity);
  int k, any = 0;
  if (t->state[cell] == DRAW_EMPTY && t->source != DRAW_MEMORY) say_text(&note, ".");
  if (t->state[cell] != DRAW_CELL) return note.length;
  for (k = 0; k < t->numbers; ++k) {
    if (t->owner && !(t->shown >> k & 1)) continue;
    if (any) say_text(&note, !t->owner ? "," : k + 1 == t->numbers ? "." : ":");
    say_int(&note, t->number[cell * t->numbers + k]);
    any = 1;
  }
  if (!any) say_text(&note, "0"); /* no number is printed, because there is only one owner */
  if (t->source == DRAW_MEMORY && t->others[cell]) {
    say_text(&note, "+");
    say_int(&note, t->others[cell]);
  }
  return note.length;
}

/* Returns the index that labels a row, or a column. */
static int64_t draw_row_label(const draw_table *t, int64_t row) {
  if (t->source == DRAW_MEMORY) return t->point[row];
  return t->rank == 1 ? t->axis[0].first + row * t->all_columns : t->rank > 1 ? t->axis[t->rank - 2].first + row : 0;
}

static int64_t draw_column_label(const draw_table *t, int64_t column) {
  return t->rank == 1  ? t->all_rows > 1 ? column : t->axis[0].first + column
         : t->rank > 1 ? t->axis[t->rank - 1].first + column
                       : 0;
}

static int64_t draw_tile_across(const draw_table *t) { return t->rank ? t->axis[t->rank - 1].tile : 0; }
static int64_t draw_tile_down(const draw_table *t) { return t->rank > 1 ? t->axis[t->rank - 2].tile : 0; }

/* Writes the sizes, the meaning of a cell and the meaning of an empty cell: `16 x 8, subgroup:thread.slot`. */
static void draw_say_facts(command *self, const draw_table *t) {
  int64_t cell, cells = t->pages * t->rows * t->columns;
  int i, empty = 0, padded = 0;
  for (i = 0; i < t->rank && t->source != DRAW_MEMORY; ++i) {
    if (i) say_text(self, " x ");
    say_int(self, t->axis[i].inside);
    padded |= t->axis[i].size != t->axis[i].inside;
  }
  if (padded) say_text(self, ", padded to ");
  for (i = 0; i < t->rank && padded; ++i) {
    if (i) say_text(self, " x ");
    say_int(self, t->axis[i].size);
  }
  if (t->rank && t->source != DRAW_MEMORY) say_text(self, ": ");
  say_text(self, t->cell);
  for (cell = 0; cell < cells; ++cell) empty |= t->state[cell] == DRAW_EMPTY;
  if (empty && t->source != DRAW_MEMORY) {
    say_text(self, "; . is ");
    say_text(self, t->empty);
  }
  if (t->most && t->source != DRAW_MEMORY) {
    say_text(self, "; the smallest of ");
    say_int(self, t->most + 1);
    say_text(self, " owners");
  }
}

/* Writes how many columns, rows and pages of table i are not drawn; nothing if all are drawn. */
static void draw_say_left_out(command *self, const draw_table *t, int i, int tables) {
  static const char *const which[2] = {"left out of the first: ", "left out of the second: "};
  const char *const names[3] = {"columns", "rows", "pages"};
  int64_t drawn[3], all[3];
  int k, any = 0;
  drawn[0] = t->columns, drawn[1] = t->rows, drawn[2] = t->pages;
  all[0] = t->all_columns, all[1] = t->all_rows, all[2] = t->all_pages;
  for (k = 0; k < 3; ++k) {
    if (drawn[k] >= all[k]) continue;
    say_text(self, any++ ? ", " : tables > 1 ? which[i] : "left out: ");
    say_int(self, all[k] - drawn[k]);
    say_text(self, " of ");
    say_int(self, all[k]);
    say_text(self, " ");
    say_text(self, names[k]);
  }
}

/* Writes the indices that a page stands for: `d0 = 1, d1 = 0`. */
static void draw_say_page(command *self, const draw_table *t, int64_t page) {
  int64_t index[DRAW_AXES];
  int d;
  draw_index(t, page, 0, 0, index);
  for (d = 0; d < t->rank - 2; ++d) {
    if (d) say_text(self, ", ");
    say_text(self, t->axis[d].name);
    say_text(self, " = ");
    say_int(self, index[d]);
  }
}

/* ---- as text ---------------------------------------------------------------------------------------------------- */

/* The widths of a table's columns, in characters. */
typedef struct {
  size_t corner, cell, line;
  char names[2 * DRAW_NAME + 4]; /* the text in the upper left corner */
} draw_widths;

/* Returns the widths of a table. Columns that do not fit into a line of `room` characters are left out. */
static draw_widths draw_measure(draw_table *t, size_t room, int marked) {
  char text[512];
  draw_widths w;
  command note = draw_note(w.names, sizeof w.names);
  int64_t cell, cells = t->pages * t->rows * t->columns, columns = t->columns, tile = draw_tile_across(t), row, column,
                page;
  if (t->source == DRAW_MEMORY) say_text(&note, "byte\\bank");
  else if (t->rank > 1)
    say_text(&note, t->axis[t->rank - 2].name), say_text(&note, "\\"), say_text(&note, t->axis[t->rank - 1].name);
  else if (t->rank == 1) say_text(&note, t->axis[0].name);
  w.corner = note.length;
  w.cell = 1;
  for (cell = 0; cell < cells; ++cell) {
    size_t length = draw_label(t, cell, text, sizeof text) + (size_t)marked;
    if (length > w.cell) w.cell = length;
  }
  for (row = 0; row < t->rows && t->rank; ++row)
    if (int_length(draw_row_label(t, row)) > w.corner) w.corner = int_length(draw_row_label(t, row));
  for (column = 0; column < t->columns; ++column)
    if (int_length(draw_column_label(t, column)) > w.cell) w.cell = int_length(draw_column_label(t, column));
  w.line = w.corner + 1;
  for (column = 0; column < t->columns; ++column) {
    size_t next = w.line + w.cell + 2 + (tile > 1 && column && column % tile == 0);
    if (next > room && column) break;
    w.line = next;
  }
  if (column == columns) return w;
  for (page = 0, cell = 0; page < t->pages; ++page) /* remove the dropped columns from the arrays of cells */
    for (row = 0; row < t->rows; ++row) {
      int64_t from = (page * t->rows + row) * columns;
      memmove(t->number + cell * t->numbers, t->number + from * t->numbers,
              (size_t)(column * t->numbers) * sizeof *t->number);
      memmove(t->state + cell, t->state + from, (size_t)column);
      memmove(t->tint + cell, t->tint + from, (size_t)column);
      memmove(t->differs + cell, t->differs + from, (size_t)column);
      memmove(t->others + cell, t->others + from, (size_t)column * sizeof *t->others);
      cell += column;
    }
  t->columns = column;
  return w;
}

/* Computes red, green and blue of a colour, for a light or a dark page. Colours are 8 hues in 4 shades. */
static void draw_rgb(int colour, int dark, int *rgb) {
  static const unsigned char hues[DRAW_HUES][3] = {{84, 160, 255}, {255, 159, 67},  {46, 204, 113}, {255, 107, 160},
                                                   {241, 210, 15}, {155, 109, 245}, {29, 200, 200}, {190, 140, 110}};
  static const int light[4] = {40, 75, 20, 100},
                   /* percentage of the hue in each shade; the rest is white (`light`) or dark grey (`deep`) */
      deep[4] = {50, 32, 66, 22};
  int k, shade = colour / DRAW_HUES % 4;
  for (k = 0; k < 3; ++k) {
    int hue = hues[colour % DRAW_HUES][k];
    rgb[k] = dark ? (hue * deep[shade] + 24 * (100 - deep[shade])) / 100
                  : (hue * light[shade] + 255 * (100 - light[shade])) / 100;
  }
}

static void draw_say_right(command *self, const char *text, size_t length, size_t width) {
  say_spaces(self, length, width);
  say(self, text, length);
}

/* Removes the spaces at the end of a line. */
static void draw_end_line(command *self, size_t begin) {
  if (self->length < self->capacity)
    while (self->length > begin && self->out[self->length - 1] == ' ') self->out[--self->length] = 0;
  say_text(self, "\n");
}

/* Writes one cell, such as ` 17* `; on a terminal, on its background colour. */
static void draw_say_cell(command *self, const draw_table *t, const draw_widths *w, int64_t cell, int marked) {
  char text[512];
  size_t length = draw_label(t, cell, text, sizeof text);
  int rgb[3], coloured = self->terminal && t->state[cell] == DRAW_CELL;
  if (coloured) {
    draw_rgb(t->tint[cell], 0, rgb);
    say_text(self, "\x1b[30;48;5;");
    say_int(self, 16 + 36 * ((rgb[0] - 35) / 40) + 6 * ((rgb[1] - 35) / 40) + (rgb[2] - 35) / 40);
    say_text(self, t->differs[cell] ? ";1;4m" : "m");
  }
  say_text(self, " ");
  draw_say_right(self, text, length, w->cell - (size_t)marked);
  if (marked) say_text(self, t->differs[cell] ? "*" : " ");
  say_text(self, " ");
  if (coloured) say_text(self, "\x1b[0m");
}

/* Writes one line of a page, w->line characters wide. row = -1 writes the columns' indices; half = 1 writes a line
 * between tiles. */
static void draw_say_row(command *self, const draw_table *t, const draw_widths *w, int64_t page, int64_t row, int half,
                         int marked) {
  char text[24];
  int64_t column, tile = draw_tile_across(t);
  command note = draw_note(text, sizeof text);
  if (row < 0 && !t->rank) return;
  if (row >= 0 && !half && t->rank) say_int(&note, draw_row_label(t, row));
  if (row < 0) say_text(self, w->names), say_spaces(self, strlen(w->names), w->corner);
  else draw_say_right(self, text, note.length, w->corner);
  say_text(self, w->corner ? " " : "");
  for (column = 0; column < t->columns; ++column) {
    int line = tile > 1 && column && column % tile == 0;
    size_t k;
    if (line) say_text(self, half ? "+" : "|");
    if (half) {
      for (k = 0; k < w->cell + 2; ++k) say_text(self, "-");
    } else if (row < 0) {
      note = draw_note(text, sizeof text);
      say_int(&note, draw_column_label(t, column));
      draw_say_right(self, text, note.length, w->cell + 1 - (size_t)marked);
      say_text(self, marked ? "  " : " ");
    } else {
      draw_say_cell(self, t, w, (page * t->rows + row) * t->columns + column, marked);
    }
  }
}

/* Writes tables side by side if they fit, else one below the other. */
static void draw_say_tables(command *self, int tables, draw_table *const *t, draw_widths *const *w, int marked) {
  enum { GAP = 4 };
  int64_t page, row, pages = 0, rows = 0;
  size_t begin, k;
  int i, half, tiles;
  for (i = 0; i < tables; ++i) {
    if (t[i]->pages > pages) pages = t[i]->pages;
    if (t[i]->rows > rows) rows = t[i]->rows;
  }
  for (page = 0; page < pages; ++page) {
    if (page) say_text(self, "\n");
    for (i = 0; i < tables && t[0]->rank > 2 && t[0]->source != DRAW_MEMORY; ++i)
      if (page < t[i]->pages) {
        draw_say_page(self, t[i], page);
        say_text(self, "\n");
        break;
      }
    for (row = -1; row < rows; ++row)
      for (half = 0; half < 2; ++half) {
        for (i = tiles = 0; i < tables; ++i)
          tiles |= draw_tile_down(t[i]) > 1 && (row + 1) % draw_tile_down(t[i]) == 0 && row + 1 < t[i]->rows;
        if (half && (row < 0 || !tiles)) continue;
        begin = self->length;
        for (i = 0; i < tables; ++i) {
          int64_t tile = draw_tile_down(t[i]);
          if (i) say_spaces(self, 0, GAP);
          if (page >= t[i]->pages || row >= t[i]->rows ||
              (half && (tile < 2 || (row + 1) % tile || row + 1 >= t[i]->rows)))
            for (k = 0; k < w[i]->line && i + 1 < tables; ++k) say_text(self, " ");
          else draw_say_row(self, t[i], w[i], page, row, half, marked);
        }
        draw_end_line(self, begin);
      }
  }
}

enum { DRAW_TABLES = 2, DRAW_NOTES = 8 };

/* A picture: its tables, and the notes below them. */
typedef struct {
  int tables, pair;
  draw_table *table[DRAW_TABLES];
  char notes[DRAW_NOTES][256]; /* unused notes are "" */
} draw_picture;

static void draw_say_text(command *self, draw_picture *p) {
  draw_widths width[DRAW_TABLES], *w[DRAW_TABLES];
  size_t room = self->terminal > 20 ? (size_t)self->terminal : DRAW_ROOM, line = 0;
  int i, beside;
  for (i = 0; i < p->tables; ++i) {
    w[i] = &width[i];
    width[i] = draw_measure(p->table[i], room, p->pair);
    line += width[i].line + 4;
  }
  beside = p->pair && line <= room + 4;
  for (i = 0; i < p->tables; ++i) {
    draw_table *t = p->table[i];
    if (i && !beside) say_text(self, "\n");
    if (!i || p->pair) say_text(self, t->title), say_text(self, "\n");
    draw_say_facts(self, t);
    say_text(self, "\n");
    if (beside && i + 1 < p->tables) continue;
    say_text(self, "\n");
    if (beside) draw_say_tables(self, p->tables, p->table, w, p->pair);
    else draw_say_tables(self, 1, &p->table[i], &w[i], p->pair);
  }
  for (i = 0; i < p->tables; ++i) {
    char text[256];
    command note = draw_note(text, sizeof text);
    draw_say_left_out(&note, p->table[i], i, p->tables);
    if (note.length) say_text(self, "\n"), say_text(self, text);
  }
  for (i = 0; i < DRAW_NOTES; ++i)
    if (p->notes[i][0]) say_text(self, "\n"), say_text(self, p->notes[i]);
  while (self->length && self->length < self->capacity && self->out[self->length - 1] == '\n')
    self->out[--self->length] = 0;
}

/* ---- as SVG ----------------------------------------------------------------------------------------------------- */

enum { SVG_MARGIN = 24, SVG_CELL = 26, SVG_GAP = 36, SVG_ROOM = 1200, SVG_LETTER = 8, SVG_LINE = 20 };

/* The position and the size of a table, in pixels. */
typedef struct {
  int64_t cell, corner, width, height, top; /* top: height above the cells */
} draw_box;

static void svg_escaped(command *self, const char *text, size_t length) {
  size_t i;
  for (i = 0; i < length; ++i) {
    if (text[i] == '<') say_text(self, "&lt;");
    else if (text[i] == '>') say_text(self, "&gt;");
    else if (text[i] == '&') say_text(self, "&amp;");
    else if (text[i] == '"') say_text(self, "&quot;");
    else if ((unsigned char)text[i] < 32) say_text(self, " ");
    else say(self, text + i, 1);
  }
}

/* Writes an attribute with a number: name="value". */
static void svg_set(command *self, const char *name, int64_t value) {
  say_text(self, " ");
  say_text(self, name);
  say_text(self, "=\"");
  say_int(self, value);
  say_text(self, "\"");
}

static void svg_text(command *self, int64_t x, int64_t y, const char *kind, const char *text, size_t length) {
  say_text(self, "<text");
  svg_set(self, "x", x);
  svg_set(self, "y", y);
  if (*kind) {
    say_text(self, " class=\"");
    say_text(self, kind);
    say_text(self, "\"");
  }
  say_text(self, ">");
  svg_escaped(self, text, length);
  say_text(self, "</text>\n");
}

/* Breaks a text into lines of at most `most` letters, after a blank or a comma if possible. Returns the number of
 * lines; writes them if self is not NULL. */
static int svg_lines(command *self, int64_t x, int64_t y, const char *kind, const char *text, size_t most) {
  int lines = 0;
  while (*text || !lines) {
    size_t length = strlen(text), cut = length;
    if (length > most) {
      for (cut = most; cut > most / 2 && text[cut - 1] != ' ' && text[cut - 1] != ','; --cut) {}
      if (cut == most / 2)
        for (cut = most; cut > 1 && ((unsigned char)text[cut] & 0xC0) == 0x80;)
          --cut; /* do not cut a UTF-8 character */
    }
    if (self) svg_text(self, x, y + lines * SVG_LINE, kind, text, cut);
    text += cut;
    ++lines;
  }
  return lines;
}

/* Writes a rectangle as part of a path's data. */
static void svg_rectangle(command *self, int64_t x, int64_t y, int64_t width, int64_t height) {
  say_text(self, "M");
  say_int(self, x);
  say_text(self, " ");
  say_int(self, y);
  say_text(self, "h");
  say_int(self, width);
  say_text(self, "v");
  say_int(self, height);
  say_text(self, "h-");
  say_int(self, width);
  say_text(self, "z");
}

/* Writes a horizontal (h) or vertical (v) line as part of a path's data. */
static void svg_stroke(command *self, int64_t x, int64_t y, const char *way, int64_t length) {
  say_text(self, "M");
  say_int(self, x);
  say_text(self, " ");
  say_int(self, y);
  say_text(self, way);
  say_int(self, length);
}

static void svg_begin_path(command *self, const char *kind, int number) {
  say_text(self, "<path class=\"");
  say_text(self, kind);
  if (number >= 0) say_int(self, number);
  say_text(self, "\" d=\"");
}

static void svg_end_path(command *self) { say_text(self, "\"/>\n"); }

/* Writes the colours that a picture uses, for a light or a dark page. */
static void svg_colours(command *self, const unsigned char *used, int dark) {
  static const char *const paper[2] = {
      ".paper{fill:#ffffff}.ink,.head{fill:#1f2328}.quiet{fill:#59636e}.line{stroke:#1f2328}.grid{stroke:#ffffff}.hatch{stroke:#c3c9d0}.back{fill:#f3f4f6}"
      ".mark{stroke:#cf222e}.edge{stroke:#59636e}",
      ".paper{fill:#0d1117}.ink,.head{fill:#e6edf3}.quiet{fill:#9aa4af}.line{stroke:#e6edf3}.grid{stroke:#0d1117}.hatch{stroke:#474f59}.back{fill:#1b2129}"
      ".mark{stroke:#ff7b72}.edge{stroke:#9aa4af}"};
  static const char digits[] = "0123456789abcdef";
  int i, k, rgb[3];
  say_text(self, paper[dark]);
  for (i = 0; i < DRAW_COLOURS; ++i) {
    if (!used[i]) continue;
    draw_rgb(i, dark, rgb);
    say_text(self, ".c");
    say_int(self, i);
    say_text(self, "{fill:#");
    for (k = 0; k < 3; ++k) say(self, digits + (rgb[k] >> 4 & 15), 1), say(self, digits + (rgb[k] & 15), 1);
    say_text(self, "}");
  }
}

static draw_box svg_measure(const draw_table *t) {
  char text[512];
  draw_box box;
  int64_t cell, cells = t->pages * t->rows * t->columns, letters = 2, row, label = 1;
  for (cell = 0; cell < cells; ++cell) {
    int64_t length = (int64_t)draw_label(t, cell, text, sizeof text);
    if (length > letters) letters = length;
  }
  for (row = 0; row < t->columns; ++row)
    if ((int64_t)int_length(draw_column_label(t, row)) > letters)
      letters = (int64_t)int_length(draw_column_label(t, row));
  for (row = 0; row < t->rows; ++row)
    if ((int64_t)int_length(draw_row_label(t, row)) > label) label = (int64_t)int_length(draw_row_label(t, row));
  box.cell = letters * SVG_LETTER + 10 < SVG_CELL + 4 ? SVG_CELL + 4 : letters * SVG_LETTER + 10;
  box.corner = (t->rank > 1 ? 22 : 0) + label * SVG_LETTER + 8;
  box.top = (t->rank > 0 ? 40 : 0) + (t->rank > 2 ? SVG_LINE + 4 : 0);
  box.width = box.corner + t->columns * box.cell;
  box.height = box.top + t->rows * SVG_CELL;
  return box;
}

/* Writes the edges of tiles and the outer edges of the table as one path. */
static void svg_tiles(command *self, const draw_table *t, const draw_box *box, int64_t x, int64_t y) {
  int64_t k, tile = draw_tile_across(t), down = draw_tile_down(t);
  if (tile < 2 && down < 2) return;
  svg_begin_path(self, "line", -1);
  for (k = 0; tile > 1 && k <= t->columns; ++k) {
    if (k % tile && k < t->all_columns) continue;
    svg_stroke(self, x + k * box->cell, y, "v", t->rows * SVG_CELL);
  }
  for (k = 0; down > 1 && k <= t->rows; ++k) {
    if (k % down && k < t->all_rows) continue;
    svg_stroke(self, x, y + k * SVG_CELL, "h", t->columns * box->cell);
  }
  svg_end_path(self);
}

/* Writes the names of the axes and the indices of columns and rows. */
static void svg_axes(command *self, const draw_table *t, const draw_box *box, int64_t x, int64_t y) {
  char text[24];
  int64_t k;
  const char *across = t->rank ? t->axis[t->rank - 1].name : "", *down = t->rank > 1 ? t->axis[t->rank - 2].name : "";
  if (!t->rank) return;
  svg_text(self, x + t->columns * box->cell / 2, y - 26, "head", across, strlen(across));
  if (t->rank > 1) {
    say_text(self, "<text class=\"head\" transform=\"translate(");
    say_int(self, x - box->corner + 12);
    say_text(self, " ");
    say_int(self, y + t->rows * SVG_CELL / 2);
    say_text(self, ") rotate(-90)\">");
    svg_escaped(self, down, strlen(down));
    say_text(self, "</text>\n");
  }
  say_text(self, "<g class=\"quiet\">\n");
  for (k = 0; k < t->columns; ++k) {
    command note = draw_note(text, sizeof text);
    say_int(&note, draw_column_label(t, k));
    svg_text(self, x + k * box->cell + box->cell / 2, y - 7, "", text, note.length);
  }
  say_text(self, "</g>\n<g class=\"quiet right\">\n");
  for (k = 0; k < t->rows && (t->rank > 1 || t->rows > 1); ++k) {
    command note = draw_note(text, sizeof text);
    say_int(&note, draw_row_label(t, k));
    svg_text(self, x - 7, y + k * SVG_CELL + 18, "", text, note.length);
  }
  say_text(self, "</g>\n");
}

/* Writes one page with its upper left corner at x, y. */
static void svg_page(command *self, const draw_table *t, const draw_box *box, int64_t page, int64_t x, int64_t y) {
  char text[512];
  int64_t from = page * t->rows * t->columns, count = t->rows * t->columns, cell, k;
  int kind, any;
  if (t->rank > 2 && t->source != DRAW_MEMORY) {
    command note = draw_note(text, sizeof text);
    draw_say_page(&note, t, page);
    svg_text(self, x + box->corner, y + 12, "head left", text, note.length);
  }
  x += box->corner;
  y += box->top;
  svg_axes(self, t, box, x, y);
  /* kinds: -2 is the background of hatched cells, -1 the hatching, 0 and above are colours */
  for (kind = -2; kind < DRAW_COLOURS; ++kind) {
    if (kind == -1 && t->source == DRAW_MEMORY) continue;
    for (k = any = 0; k < count; ++k) {
      cell = from + k;
      if (kind < 0 ? t->state[cell] != DRAW_EMPTY : t->state[cell] != DRAW_CELL || t->tint[cell] != kind) continue;
      if (!any++) svg_begin_path(self, kind == -2 ? "back" : kind == -1 ? "hatched" : "c", kind);
      svg_rectangle(self, x + k % t->columns * box->cell, y + k / t->columns * SVG_CELL, box->cell, SVG_CELL);
    }
    if (any) svg_end_path(self);
  }
  svg_begin_path(self, "grid", -1);
  for (k = 1; k < t->columns; ++k) svg_stroke(self, x + k * box->cell, y, "v", t->rows * SVG_CELL);
  for (k = 1; k < t->rows; ++k) svg_stroke(self, x, y + k * SVG_CELL, "h", t->columns * box->cell);
  svg_end_path(self);
  svg_tiles(self, t, box, x, y);
  for (k = any = 0; k < count; ++k) {
    if (!t->differs[from + k]) continue;
    if (!any++) svg_begin_path(self, "mark", -1);
    svg_rectangle(self, x + k % t->columns * box->cell + 2, y + k / t->columns * SVG_CELL + 2, box->cell - 4,
                  SVG_CELL - 4);
  }
  if (any) svg_end_path(self);
  say_text(self, "<g class=\"ink\">\n");
  for (k = 0; k < count; ++k) {
    size_t length = draw_label(t, from + k, text, sizeof text);
    if (t->state[from + k] != DRAW_CELL) continue;
    svg_text(self, x + k % t->columns * box->cell + box->cell / 2, y + k / t->columns * SVG_CELL + 18,
             t->differs[from + k] ? "bold" : "", text, length);
  }
  say_text(self, "</g>\n");
}

/* Returns the height of the legend for colours, hatching and frames; writes the legend if self is not NULL. */
static int64_t svg_legend(command *self, const draw_table *t, int marked, int64_t x, int64_t y, int64_t width) {
  enum { SWATCH = 30 };
  char text[128];
  unsigned char used[DRAW_COLOURS] = {0};
  int64_t cell, cells = t->pages * t->rows * t->columns, at = x, top = y;
  int i, empty = 0, differs = 0, colours = 0;
  for (cell = 0; cell < cells; ++cell) {
    if (t->state[cell] == DRAW_CELL) used[t->tint[cell]] = 1, colours = 1;
    empty |= t->state[cell] == DRAW_EMPTY;
    differs |= t->differs[cell];
  }
  if (colours) {
    command note = draw_note(text, sizeof text);
    say_text(&note, "colour: ");
    say_text(&note, t->colour);
    if (self) svg_text(self, x, y + 14, "quiet left", text, note.length);
    y += SVG_LINE + 2;
    for (i = 0; i < DRAW_COLOURS; ++i) {
      if (!used[i]) continue;
      if (at + SWATCH > x + width) at = x, y += SVG_LINE + 2;
      if (self) {
        svg_begin_path(self, "c", i);
        svg_rectangle(self, at, y, SWATCH - 2, SVG_LINE);
        svg_end_path(self);
        note = draw_note(text, sizeof text);
        say_int(&note, i);
        svg_text(self, at + SWATCH / 2 - 1, y + 15, "ink", text, note.length);
      }
      at += SWATCH;
    }
    y += SVG_LINE + 8;
  }
  for (i = 0, at = x; i < 2; ++i) {
    const char *what = i ? "differs" : t->empty;
    if (i ? !differs || !marked : !empty) continue;
    if (self) {
      svg_begin_path(self, i ? "mark" : "back", -1);
      svg_rectangle(self, at, y, SWATCH - 2, SVG_LINE);
      svg_end_path(self);
      if (!i && t->source != DRAW_MEMORY)
        svg_begin_path(self, "hatched", -1), svg_rectangle(self, at, y, SWATCH - 2, SVG_LINE), svg_end_path(self);
      svg_text(self, at + SWATCH + 6, y + 15, "quiet left", what, strlen(what));
    }
    at += SWATCH + 30 + (int64_t)strlen(what) * SVG_LETTER;
  }
  return (at > x && (empty || differs) ? y + SVG_LINE + 8 : y) - top;
}

static const char svg_style[] =
    "text{font:13px ui-monospace,\"SF Mono\",Menlo,Consolas,\"DejaVu Sans Mono\",monospace;text-anchor:middle}"
    ".left{text-anchor:start}.right text{text-anchor:end}.bold{font-weight:bold}.head{font-weight:600}"
    ".title{font-size:14px;font-weight:bold;text-anchor:start}"
    ".grid,.line,.mark,.hatch{fill:none}.line{stroke-width:2}.mark{stroke-width:2.5}.hatched{fill:url(#sett-hatch)}";

/* Writes titles, tables, legend and notes from top to bottom; the two tables of a pair go side by side. The first pass
 * only measures. */
static void draw_say_svg(command *self, draw_picture *p) {
  draw_box box[DRAW_TABLES];
  int64_t width = 480, height = 0, x, y, page, right, bottom, begin;
  unsigned char used[DRAW_COLOURS] = {0};
  char text[1024];
  int i, k, pass;
  size_t letters;
  for (i = 0; i < p->tables; ++i) {
    draw_table *t = p->table[i];
    int64_t cells = t->pages * t->rows * t->columns, cell, across = 0;
    box[i] = svg_measure(t);
    for (page = 0; page < t->pages && (page == 0 || (across + box[i].width) <= SVG_ROOM); ++page)
      across += box[i].width + SVG_GAP;
    if (p->pair) across = box[0].width + box[i].width + 2 * SVG_GAP;
    if (across - SVG_GAP > width) width = across - SVG_GAP;
    for (cell = 0; cell < cells; ++cell)
      if (t->state[cell] == DRAW_CELL) used[t->tint[cell]] = 1;
  }
  letters = (size_t)(width / SVG_LETTER);
  for (pass = 0; pass < 2; ++pass) {
    command *out = pass ? self : NULL;
    if (pass) {
      say_text(self, "<svg xmlns=\"http://www.w3.org/2000/svg\"");
      svg_set(self, "width", width + 2 * SVG_MARGIN);
      svg_set(self, "height", height);
      say_text(self, " viewBox=\"0 0 ");
      say_int(self, width + 2 * SVG_MARGIN);
      say_text(self, " ");
      say_int(self, height);
      say_text(self, "\" role=\"img\" aria-label=\"");
      svg_escaped(self, p->table[0]->title, strlen(p->table[0]->title));
      say_text(self, "\">\n<style>");
      say_text(self, svg_style);
      svg_colours(self, used, 0);
      say_text(self, "@media(prefers-color-scheme:dark){");
      svg_colours(self, used, 1);
      say_text(
          self,
          "}</style>\n<defs><pattern id=\"sett-hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
          "<path class=\"hatch\" d=\"M0 0v6\" stroke-width=\"2.4\"/></pattern></defs>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n");
    }
    y = SVG_MARGIN;
    /* write each table after its description; for a pair, write both descriptions first */
    for (i = 0; i < p->tables; ++i) {
      draw_table *t = p->table[i];
      command note = draw_note(text, sizeof text);
      if (!i || p->pair) y += SVG_LINE * svg_lines(out, SVG_MARGIN, y + 12, "title ink", t->title, letters * 14 / 15);
      draw_say_facts(&note, t);
      y += SVG_LINE * svg_lines(out, SVG_MARGIN, y + 12, "quiet left", text, letters);
      y += 10;
      if (p->pair && !i) continue;
      bottom = y;
      if (p->pair) {
        int64_t pages = p->table[0]->pages > t->pages ? p->table[0]->pages : t->pages;
        for (page = 0; page < pages; ++page, y = bottom) {
          for (k = 0, x = SVG_MARGIN; k < 2; ++k) {
            if (page < p->table[k]->pages && out) svg_page(out, p->table[k], &box[k], page, x, y);
            x += box[k].width + SVG_GAP;
            if (y + box[k].height + 20 > bottom) bottom = y + box[k].height + 20;
          }
        }
      } else {
        for (page = 0, x = SVG_MARGIN; page < t->pages; ++page) {
          right = x + box[i].width;
          if (out) svg_page(out, t, &box[i], page, x, y);
          bottom = y + box[i].height + 20;
          x = right + SVG_GAP;
          if (page + 1 < t->pages && x + box[i].width > width + SVG_MARGIN) x = SVG_MARGIN, y = bottom;
        }
        y = bottom;
      }
      begin = y;
      y += svg_legend(out, p->table[p->pair ? 0 : i], p->pair, SVG_MARGIN, begin, width);
      y += 8;
    }
    for (i = 0; i < p->tables; ++i) {
      command note = draw_note(text, sizeof text);
      draw_say_left_out(&note, p->table[i], i, p->tables);
      if (note.length) y += SVG_LINE * svg_lines(out, SVG_MARGIN, y + 12, "quiet left", text, letters);
    }
    for (i = 0; i < DRAW_NOTES; ++i)
      if (p->notes[i][0]) y += SVG_LINE * svg_lines(out, SVG_MARGIN, y + 12, "quiet left", p->notes[i], letters);
    height = y + SVG_MARGIN - 8;
  }
  say_text(self, "</svg>");
}

/* ---- the command ------------------------------------------------------------------------------------------------ */

/* Returns true if the numbers in the cells of two tables have the same meaning. If the cells contain owners, one table
 * may have leading numbers that the other lacks, such as a block. These numbers must have a single value, and are not
 * printed. */
static int draw_comparable(const draw_table *a, const draw_table *b) {
  const draw_table *more = a->numbers > b->numbers ? a : b;
  int further = 2 * more->numbers - a->numbers - b->numbers;
  return a->rank == b->rank && a->owner == b->owner &&
         (!further || (a->owner && !(more->shown & ((1u << further) - 1))));
}

/* Returns true if two cells agree in all numbers that both tables have. */
static int draw_same(const draw_table *a, int64_t cell, const draw_table *b, int64_t other) {
  int common = a->numbers < b->numbers ? a->numbers : b->numbers;
  return !memcmp(a->number + (cell + 1) * a->numbers - common, b->number + (other + 1) * b->numbers - common,
                 (size_t)common * sizeof *a->number);
}

/* Marks the cells that differ between the two tables of a pair, and writes notes about them. */
static void draw_compare(draw_picture *p) {
  draw_table *a = p->table[0], *b = p->table[1];
  int64_t index[DRAW_AXES] = {0}, first[DRAW_AXES] = {0}, at = -1, at_b = -1, cell, other, compared = 0, different = 0;
  char text[512];
  command note;
  int side, d;
  for (side = 0; side < 2; ++side) {
    draw_table *t = side ? b : a, *u = side ? a : b;
    int64_t cells = t->pages * t->rows * t->columns;
    for (cell = 0; cell < cells; ++cell) {
      int64_t page = t->rows && t->columns ? cell / t->columns / t->rows : 0, row = cell / t->columns % t->rows,
              column = cell % t->columns;
      int outside = 0, same;
      if (!draw_index(t, page, row, column, index)) continue;
      other = draw_cell(u, index);
      for (d = 0; d < u->rank; ++d) outside |= draw_along(&u->axis[d], index[d]) < 0;
      if (other < 0 && !outside) continue; /* the other table contains this element, but does not draw it */
      same = other >= 0 && t->state[cell] == u->state[other] &&
             (t->state[cell] != DRAW_CELL || draw_same(t, cell, u, other));
      /* a cell outside of the other table is equal only if it is padding */
      if (outside && t->state[cell] == DRAW_EMPTY) same = 1;
      t->differs[cell] = (unsigned char)!same;
      if (side && !outside) continue;
      ++compared;
      different += !same;
      if (!same && at < 0 && !side) memcpy(first, index, sizeof first), at = cell, at_b = other;
    }
  }
  note = draw_note(p->notes[0], sizeof p->notes[0]);
  if (!different) {
    say_text(&note, a->columns < a->all_columns || a->rows < a->all_rows || a->pages < a->all_pages
                        ? "no cell that is drawn differs"
                        : "no cell differs");
    return;
  }
  say_int(&note, different);
  say_text(&note, " of ");
  say_int(&note, compared);
  say_text(&note, " cells differ");
  if (at < 0) return;
  say_text(&note, ", the first at (");
  for (d = 0; d < a->rank; ++d) {
    if (d) say_text(&note, ", ");
    say_int(&note, first[d]);
  }
  say_text(&note, "): ");
  draw_label(a, at, text, sizeof text);
  say_text(&note, text);
  say_text(&note, " and ");
  if (at_b >= 0) draw_label(b, at_b, text, sizeof text);
  say_text(&note, at_b >= 0 ? text : "nothing");
}

/* Fills a table with the banks of shared memory that the first access of a warp touches. Columns are banks; a row has
 * one word of each bank. */
static int draw_banks(command *self, const draw_table *lanes, draw_table *t) {
  enum { LANES = 32 };
  int64_t lane, count = draw_least(lanes->axis[lanes->rank - 1].size, LANES), word, last, row, k, number[DRAW_NUMBERS],
                index[DRAW_AXES];
  draw_table access = *lanes;
  int64_t *rows = (int64_t *)settp_map_take(&self->arena, (size_t)(count * 34 + 1) * sizeof *rows);
  int pass, d;
  if (!rows) return draw_full(self);
  memset(t, 0, sizeof *t);
  t->source = DRAW_MEMORY;
  t->cell = "lanes of the first access in the banks of shared memory; 3+1: lane 3 and one more";
  t->empty = "not accessed";
  t->colour = "lane";
  t->rank = 2;
  t->numbers = t->owner = 1;
  t->shown = 1;
  t->unit = 1;
  t->axis[0] = draw_axis_of("byte", -1, 0, 0);
  t->axis[1] = draw_axis_of("bank", -1, 0, DRAW_BANKS);
  t->point = rows;
  t->columns = t->all_columns = DRAW_BANKS;
  t->pages = t->all_pages = 1;
  for (pass = 0; pass < 2; ++pass) { /* pass 0 counts the rows, pass 1 fills the cells */
    if (pass && !draw_take(self, t)) return 0;
    for (lane = 0; lane < count; ++lane) {
      for (d = 0; d < lanes->rank; ++d) index[d] = lanes->axis[d].first;
      index[lanes->rank - 1] += lane;
      d = draw_value(self, &access, index, number);
      if (d < 0) return 0;
      if (!d || number[0] < 0 || number[0] > INT64_MAX / lanes->bits - lanes->bits) continue;
      word = number[0] * lanes->bits / DRAW_BANK_BITS;
      last = (number[0] * lanes->bits + lanes->bits - 1) / DRAW_BANK_BITS;
      for (; word <= last; ++word) {
        int64_t byte = word / DRAW_BANKS * (DRAW_BANKS * DRAW_BANK_BITS / 8);
        for (row = 0; row < t->all_rows && rows[row] < byte; ++row) {}
        if (!pass) {
          if (row < t->all_rows && rows[row] == byte) continue;
          for (k = t->all_rows++; k > row; --k) rows[k] = rows[k - 1];
          rows[row] = byte;
          t->rows = t->all_rows;
        } else {
          int64_t cell = row * DRAW_BANKS + word % DRAW_BANKS;
          if (t->state[cell] == DRAW_CELL) {
            if (++t->others[cell] > t->most) t->most = t->others[cell];
            continue;
          }
          t->state[cell] = DRAW_CELL;
          t->number[cell] = lane;
        }
      }
    }
  }
  t->axis[0].size = t->axis[0].inside = t->all_rows;
  for (k = 0; k < t->rows * DRAW_BANKS; ++k)
    if (t->state[k] != DRAW_CELL) t->state[k] = DRAW_EMPTY;
  return 1;
}

/* Draws a map as a memory access. One table shows the position in memory that each lane accesses, with one column per
 * lane. A second table shows the banks of shared memory that the first access of a warp touches. */
static int draw_access(command *self, draw_picture *p) {
  static const draw_limits limits = {16, 64, 4};
  sett_map_arena *arena = &self->arena;
  draw_table *t = p->table[0];
  sett_analysis_memory memory;
  sett_analysis_coalescing c;
  sett_analysis_banks b;
  sett_tile_shape shape;
  sett_map map, linear;
  command note;
  char buffer[24], *title;
  int64_t width;
  int lane, i;
  memset(t, 0, sizeof *t);
  if (!analysis_map(self, 1, &map, &lane) || !analysis_memory(self, arena, self->argv[2], &map, &shape, &memory))
    return 0;
  if (!analysis_step(self, arena, 1, &map, &memory, &width) || !analysis_stepped(self, 1, &width)) return 0;
  if (width > 1) memory.width = width;
  linear = analysis_linear(arena, map, &memory);
  if (linear.kind == SETT_MAP_FAILED) return say_map_error(self, linear), 0;
  if (linear.kind != SETT_MAP_DEFINED || linear.results != 1 || !linear.dims)
    return say_error(self, 1, "expected a map with lanes, to positions or to indices of the shape"), 0;
  c = sett_analysis_coalesced(arena, map, &memory, DRAW_TRANSACTION, 32);
  b = sett_analysis_bank_conflicts(arena, map, &memory, BANKS, BANK_BYTES, WARP);
  if (c.error || b.error) return analysis_error(self, c.error ? c.error : b.error), 0;
  t->map = linear;
  t->source = DRAW_MAP;
  title = (char *)settp_map_take(arena, strlen(self->argv[1]) + strlen(self->argv[2]) + 3);
  if (!title) return draw_full(self);
  note = draw_note(title, strlen(self->argv[1]) + strlen(self->argv[2]) + 3);
  say_text(&note, self->argv[1]);
  say_text(&note, "  ");
  say_text(&note, self->argv[2]);
  t->title = title;
  t->cell = width > 1 ? "position of the first element that a lane accesses, in elements"
                      : "position that a lane accesses, in elements";
  t->empty = "outside of the domain";
  t->numbers = 1;
  t->bits = memory.bits;
  t->colour = "transactions of 32 bytes of each row, in order";
  t->unit = memory.bits < 256 ? 256 / memory.bits : 1;
  t->point = (int64_t *)settp_map_take(arena, ((size_t)sett_map_variables(linear) + 1) * sizeof *t->point);
  if (!t->point) return draw_full(self);
  for (i = 1; i <= sett_map_variables(linear); ++i) { /* the lane becomes the last axis */
    int v = i < sett_map_variables(linear) ? i : 0;
    t->point[v] = linear.variable[v].lo;
    if (v && linear.variable[v].lo == linear.variable[v].hi) continue;
    if (t->rank == DRAW_AXES)
      return say_error(self, 1, "expected a map of at most 16 variables with several values to draw"), 0;
    t->variable[t->rank] = v;
    t->axis[t->rank++] = draw_axis_of(sett_map_name(linear, v, buffer), -1, linear.variable[v].lo,
                                      draw_extent(linear.variable[v].lo, linear.variable[v].hi));
  }
  draw_arrange(t, &limits, DRAW_BANKS);
  if (!draw_fill(self, t) || !draw_banks(self, t, p->table[1])) return 0;
  p->tables = 2;
  note = draw_note(p->notes[0], sizeof p->notes[0]);
  say_text(&note, "global memory: a warp in at most ");
  say_int(&note, c.worst);
  say_text(&note, c.worst == 1 ? " transaction of 32 bytes, " : " transactions of 32 bytes, ");
  say_int(&note, c.worst_least);
  say_text(&note, " could hold it");
  note = draw_note(p->notes[1], sizeof p->notes[1]);
  say_text(&note, "shared memory: ");
  if (b.degree <= 1) say_text(&note, "no bank conflict");
  else say_int(&note, b.degree), say_text(&note, "-way bank conflict");
  return 1;
}

static int draw_pictures(command *self) {
  static const draw_limits text = {64, 64, 8}, svg = {128, 128, 16};
  const draw_limits *limits = self->option[OPTION_SVG] ? &svg : &text;
  draw_picture *p = (draw_picture *)settp_map_take(&self->arena, sizeof *p);
  char(*colour)[128] = (char(*)[128])settp_map_take(&self->arena, sizeof(char[DRAW_TABLES][128]));
  int i;
  if (!p || !colour) return draw_full(self), 2;
  memset(p, 0, sizeof *p);
  for (i = 0; i < DRAW_TABLES; ++i) {
    p->table[i] = (draw_table *)settp_map_take(&self->arena, sizeof *p->table[i]);
    if (!p->table[i]) return draw_full(self), 2;
  }
  if (self->argc == 3 && draw_is_map(self->argv[1]) &&
      (draw_is_shape(self->argv[2]) || sett_tile_type_find(self->argv[2], strlen(self->argv[2])) >= 0)) {
    if (!draw_access(self, p)) return 2;
  } else {
    if (self->option[OPTION_LANE]) return say_error(self, 0, "expected --lane with an access alone: a map and a shape");
    p->tables = self->argc - 1;
    p->pair = p->tables == 2;
    for (i = 0; i < p->tables; ++i) {
      if (!draw_read(self, 1 + i, p->table[i]))
        return self->length && !self->column && !strncmp(self->out, "no:", 3) ? 1 : 2;
      if (p->table[i]->source == DRAW_OWNERS && !draw_bounds(self, p->table[i])) return 2;
    }
    if (p->pair && !draw_comparable(p->table[0], p->table[1])) {
      reading(self, self->argv[2]);
      return say_error(
          self, 1,
          "expected a layout with as many dimensions as the first, and as many numbers of the same kind in each cell: places or owners");
    }
    for (i = 0; i < p->tables; ++i) {
      draw_arrange(p->table[i], limits, draw_width(p->table[0]));
      if (!draw_fill(self, p->table[i])) return 2;
    }
    if (p->pair) draw_compare(p);
  }
  for (i = 0; i < p->tables; ++i) draw_colours(p->table[i], colour[i], sizeof colour[i]);
  if (self->option[OPTION_SVG]) draw_say_svg(self, p);
  else draw_say_text(self, p);
  return 0;
}

static const command_verb draw_verbs[] = {
    {"", "[--svg FILE] [--lane NAME] [--vector NAME] TEXT [OTHER]",
     "a layout, map or fragment as a table of positions or owners; with OTHER: two tables side by side, the differences marked\n"
     "if TEXT is a map and OTHER a shape or an element type: the access of each lane, and the banks. --svg FILE: write the picture as SVG",
     "f32[3,5]{1,0:T(2,2)}", draw_pictures},
};
