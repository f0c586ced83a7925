/* The commands `coalescing`, `banks`, `utilisation`, `reuse` and `tile` (included by gen/command/sett.c): facts about
 * the memory access that a map describes. */

/* Writes a count with its noun, such as "17 swizzles". */
static void analysis_say_count(command *self, int64_t count, const char *what) {
  say_int(self, count);
  say_text(self, " ");
  say_text(self, what);
  if (count != 1) say_text(self, "s");
}

/* Writes the error "expected .. results .., found N": the map has another number of results than the memory needs. */
static int analysis_say_results(command *self, int results, int rank) {
  say_error(self, 0, "expected as many results of the map as the shape has dimensions, or one, a position; found ");
  say_int(self, results);
  say_text(self, results == 1 ? " result and " : " results and ");
  if (rank < 0) {
    say_text(self, "a type alone: give a shape in its place");
  } else {
    say_int(self, rank);
    say_text(self, rank == 1 ? " dimension" : " dimensions");
  }
  return 0;
}

/* Reads the argument that describes the memory of a map's accesses. It is a shape, or only an element type if the map's
 * result is already a position. If the layout is tiled, or if the map has one result and the array has more dimensions,
 * *map is replaced by a map to positions. Returns 0 after say_error. */
static int analysis_memory(command *self, sett_map_arena *arena, const char *text, sett_map *map,
                           sett_tile_shape *shape, sett_analysis_memory *memory) {
  int type = sett_tile_type_find(text, strlen(text)), i, plain = 1;
  int64_t *positions;
  memset(memory, 0, sizeof *memory);
  if (type >= 0) {
    *shape = sett_tile_make(type, 0, NULL, NULL);
    memory->bits = sett_tile_bits(shape);
    return map->kind != SETT_MAP_DEFINED || map->results == 1 || analysis_say_results(self, map->results, -1);
  }
  *shape = sett_tile_parse(reading(self, text), strlen(text));
  if (shape->error || shape->kind != SETT_TILE_ARRAY) {
    sett_notation other = sett_notation_parse(arena, text, strlen(text));
    if (!other.error && other.kind != SETT_NOTATION_TUPLE)
      say_error(
          self, 0,
          "expected an array's shape or an element type: compose the map with that of this layout (sett layout map), and give the type");
    else if (shape->error) shape_error(self, shape->error, shape->column);
    else say_error(self, 1, "expected an array's shape or an element type");
    return 0;
  }
  memory->bits = sett_tile_bits(shape);
  if (map->kind == SETT_MAP_DEFINED && map->results != shape->rank) {
    if (map->results != 1 || shape->rank < 1) return analysis_say_results(self, map->results, shape->rank);
    positions = (int64_t *)settp_map_take(arena, sizeof *positions);
    if (!positions) return say_error(self, 0, sett_map_message(SETT_MAP_ERROR_FULL)), 0;
    *positions = sett_tile_bytes(shape) * 8 / memory->bits;
    memory->dims.count = 1;
    memory->dims.values = positions;
    return 1;
  }
  for (i = 0; i < shape->rank; ++i) plain &= shape->minor_to_major[i] == shape->rank - 1 - i && shape->dims[i] >= 0;
  if (plain && sett_tile_plain(shape) && shape->rank > 0) {
    memory->dims.count = shape->rank;
    memory->dims.values = shape->dims;
  } else {
    *map = sett_map_simplify(arena, sett_map_compose(arena, *map, sett_layout_map(arena, shape)));
  }
  return 1;
}

/* ---- lanes ---- */

/* Returns the dimension that has the name of a thread; -1 if there is none. */
static int analysis_named_lane(sett_map map) {
  static const char *const threads[] = {"lane", "thread", "th_x", "thread_x", "tid", "t"};
  size_t k;
  for (k = 0; k < COMMAND_COUNT(threads); ++k) {
    int lane = sett_map_find(map, threads[k], strlen(threads[k]));
    if (lane >= 0 && lane < map.dims) return lane;
  }
  return -1;
}

/* Returns the dimension along which the lanes of a warp are neighbours, or -1 after say_error. It is the first of these
 * that exists: the dimension that --lane names; one with the name of a thread; the only dimension with several values;
 * if the dimensions are d0, d1, .. (as `op` writes them), the last one with several values. */
static int analysis_lane(command *self, sett_map map) {
  char buffer[24];
  int lane, i, several = 0, last = 0, named = 0;
  if (map.kind != SETT_MAP_DEFINED || !map.dims) return 0;
  if (self->option[OPTION_LANE]) {
    lane = sett_map_find(map, self->option[OPTION_LANE], strlen(self->option[OPTION_LANE]));
    if (lane >= 0 && lane < map.dims) return lane;
    say_error(self, 0, "expected --lane and a dimension of the map: ");
  } else {
    lane = analysis_named_lane(map);
    if (lane >= 0) return lane;
    for (i = 0; i < map.dims; ++i) {
      char plain[24];
      snprintf(plain, sizeof plain, "d%d", i);
      named |= strcmp(sett_map_name(map, i, buffer), plain);
      if (map.variable[i].lo == map.variable[i].hi) continue;
      ++several;
      last = i;
    }
    if (several < 2 || !named) return last;
    say_error(self, 0, "which dimension is the lane? Expected --lane and one of ");
  }
  for (i = 0; i < map.dims; ++i) {
    if (i) say_text(self, ", ");
    say_text(self, sett_map_name(map, i, buffer));
  }
  return -1;
}

/* Reads a map and moves the dimension of the lanes to the front. *lane becomes that dimension's number before the move.
 * Returns 0 after say_error. */
static int analysis_map(command *self, int word, sett_map *map, int *lane) {
  *map = read_map(self, &self->arena, word);
  if (map->kind == SETT_MAP_FAILED) return say_map_error(self, *map), 0;
  *lane = analysis_lane(self, *map);
  if (*lane >= 0 && map->dims > 0) *map = sett_map_move(&self->arena, *map, *lane, 0);
  return *lane >= 0;
}

static void analysis_say_share(command *self, int64_t part, int64_t of) {
  char share[32];
  snprintf(share, sizeof share, "%.1f%%", of > 0 ? 100.0 * (double)part / (double)of : 0.0);
  say_text(self, share);
}

static int analysis_error(command *self, int error) { return say_error(self, 0, sett_message(error)); }

/* Writes the error of an access. If it reaches outside of the array, names the index. */
static int analysis_access_error(command *self, int error, sett_map map, const sett_analysis_memory *memory) {
  sett_map_footprint image;
  int i;
  analysis_error(self, error);
  if (error != SETT_ANALYSIS_ERROR_OUTSIDE || map.kind != SETT_MAP_DEFINED) return 2;
  image = sett_map_image(&self->arena, map);
  for (i = 0; i < image.results && !image.error; ++i) {
    int low = image.exact[i] && image.value[i].lo < 0;
    if (!low && (!image.exact[i] || i >= memory->dims.count || image.value[i].hi < memory->dims.values[i])) continue;
    say_text(self, ": result ");
    say_int(self, i + 1);
    say_text(self, " reaches ");
    say_int(self, low ? image.value[i].lo : image.value[i].hi);
    if (i < memory->dims.count) {
      say_text(self, ", the dimension is ");
      say_int(self, memory->dims.values[i]);
    }
    return 2;
  }
  return 2;
}

/* Returns an argument as a number from 1 to `most`; `otherwise` if the argument is missing; -1 after say_error. */
static int analysis_count(command *self, int word, int otherwise, int most) {
  int64_t value;
  int count = word < self->argc ? shape_integers(self, self->argv[word], &value, 1) : 0;
  if (word >= self->argc) return otherwise;
  if (count == 1 && value >= 1 && value <= most) return (int)value;
  if (count >= 0) {
    char text[64];
    snprintf(text, sizeof text, "expected a number from 1 to %d", most);
    say_error(self, 1, text);
  }
  return -1;
}

/* Writes how many accesses by warps were examined, and along which dimension the lanes are. */
static void analysis_say_warps(command *self, sett_map map, int64_t warps, int whole) {
  char buffer[24];
  say_text(self, whole ? " (" : " (the first ");
  say_int(self, warps);
  say_text(self, warps == 1 ? " access of a warp" : " accesses of a warp");
  if (map.kind == SETT_MAP_DEFINED) say_text(self, ", lanes along ");
  if (map.kind == SETT_MAP_DEFINED) say_text(self, sett_map_name(map, 0, buffer));
  say_text(self, ")");
}

/* Returns the map from the variables to a linear position in memory. */
static sett_map analysis_linear(sett_map_arena *arena, sett_map map, const sett_analysis_memory *memory) {
  sett_expr position = sett_map_constant(arena, 0);
  sett_map_variable variable[SETT_ANALYSIS_MAX_RANK];
  int i;
  if (!memory->dims.count || map.kind != SETT_MAP_DEFINED) return map;
  for (i = 0; i < memory->dims.count; ++i) {
    variable[i].name = NULL;
    variable[i].lo = 0;
    variable[i].hi = memory->dims.values[i] - 1;
    position = sett_map_add(arena, sett_map_mul(arena, position, sett_map_constant(arena, memory->dims.values[i])),
                            sett_map_var(arena, i));
  }
  return sett_map_simplify(
      arena,
      sett_map_compose(arena, map, sett_map_make(arena, memory->dims.count, 0, 0, variable, 1, &position, 0, NULL)));
}

/* Returns the number of elements in the widest aligned vector, of at most 16 bytes, along variable v of a map to
 * positions; 1 if there is no vector. */
static int analysis_vector(sett_map_arena *arena, sett_map map, const sett_analysis_memory *memory, int v) {
  sett_map_stride stride;
  int width = 1;
  if (map.kind != SETT_MAP_DEFINED || map.results != 1 || map.constraints || map.variable[v].lo) return 1;
  if (sett_map_strides(arena, map, v, &stride) || !stride.linear || stride.stride != 1) return 1;
  while (2 * width * memory->bits <= 128 && (map.variable[v].hi + 1) % (2 * width) == 0 &&
         stride.align % (2 * width) == 0)
    width *= 2;
  return width;
}

/* Applies --vector NAME: replaces a map by one that steps along NAME by whole vectors. *width becomes the number of
 * elements of a vector, or 1 if the map has no variable NAME. Returns 0 after say_error if the elements along NAME are
 * not contiguous in memory, or not aligned. */
static int analysis_step(command *self, sett_map_arena *arena, int number, sett_map *map,
                         const sett_analysis_memory *memory, int64_t *width) {
  sett_analysis_memory flat = *memory;
  sett_map_stride stride;
  sett_map linear;
  int v, wide, wanted = 1;
  *width = 1;
  if (!self->option[OPTION_VECTOR] || map->kind != SETT_MAP_DEFINED) return 1;
  v = sett_map_find(*map, self->option[OPTION_VECTOR], strlen(self->option[OPTION_VECTOR]));
  if (v < 0) return 1;
  flat.dims.count = 0;
  linear = analysis_linear(arena, *map, memory);
  wide = v ? analysis_vector(arena, linear, &flat, v) : 1;
  while (2 * wanted * memory->bits <= 128 && (map->variable[v].hi + 1) % (2 * wanted) == 0) wanted *= 2;
  if (wide > 1 && wide == wanted) {
    *map = sett_analysis_step(arena, *map, v, wide);
    *width = wide;
    return 1;
  }
  say_error(
      self, 0,
      "expected --vector and a variable along which elements follow each other, at a multiple of the vector's size: ");
  say_text(self, self->option[OPTION_VECTOR]);
  say_text(self, " of map ");
  say_int(self, number);
  if (!v) {
    say_text(self, " is the lane");
  } else if (linear.kind != SETT_MAP_DEFINED || sett_map_strides(arena, linear, v, &stride) || !stride.linear ||
             stride.stride != 1) {
    say_text(self, " does not step from an element to the next");
  } else {
    say_text(self, " has vectors of ");
    say_int(self, wanted);
    say_text(self, " elements, which begin at multiples of ");
    say_int(self, wide);
    say_text(self, " only");
  }
  return 0;
}

/* Returns 1 if --vector names a variable of a map, or is missing; else 0 after say_error. */
static int analysis_stepped(command *self, int maps, const int64_t *width) {
  int i;
  for (i = 0; i < maps; ++i)
    if (!self->option[OPTION_VECTOR] || width[i] > 1) return 1;
  say_error(self, 0, "expected --vector and a variable of a map: no map has ");
  say_text(self, self->option[OPTION_VECTOR]);
  return 0;
}

/* Halves the largest variables of a map until it has few enough points to examine, or all variables are small. A halved
 * size is a multiple of the largest warp for variable 0, which is the lane, and of 16 for the others, so that warps and
 * vectors stay whole. *cut is 1 if a variable was halved. */
static sett_map analysis_cut(sett_map_arena *arena, sett_map map, int *cut) {
  sett_map_variable variable[SETT_ANALYSIS_MAX_VARIABLES];
  int i, n = sett_map_variables(map);
  *cut = 0;
  if (map.kind != SETT_MAP_DEFINED || n > SETT_ANALYSIS_MAX_VARIABLES) return map;
  for (i = 0; i < n; ++i) variable[i] = map.variable[i];
  for (;;) {
    double points = 1;
    int largest = -1;
    for (i = 0; i < n; ++i) {
      double extent = (double)variable[i].hi - (double)variable[i].lo + 1;
      points *= extent;
      if (extent <= (i ? 16 : SETT_ANALYSIS_MAX_LANES)) continue;
      if (largest < 0 || extent > (double)variable[largest].hi - (double)variable[largest].lo + 1) largest = i;
    }
    if (points <= SETT_ANALYSIS_MAX_LOOKS || largest < 0) break;
    {
      int64_t least = largest ? 16 : SETT_ANALYSIS_MAX_LANES;
      int64_t half = (int64_t)(((uint64_t)variable[largest].hi - (uint64_t)variable[largest].lo) / 2) / least * least;
      variable[largest].hi = variable[largest].lo + (half > least ? half : least) - 1;
    }
    *cut = 1;
  }
  return *cut ? sett_map_make(arena, map.dims, map.ranges, map.rts, variable, map.results, map.result, map.constraints,
                              map.constraint)
              : map;
}

static void analysis_say_vector(command *self, sett_map map, int v, int width, const sett_analysis_memory *memory) {
  char name[24];
  say_text(self, "\nvectors: one access of ");
  say_int(self, width);
  say_text(self, " elements, ");
  say_int(self, width * memory->bits / 8);
  say_text(self, " bytes, along ");
  say_text(self, sett_map_name(map, v, name));
  say_text(self, ": ");
}

static void analysis_say_moved(command *self, const sett_analysis_coalescing *c, int transaction) {
  say_int(self, c->transactions * transaction);
  say_text(self, " bytes moved, ");
  analysis_say_share(self, c->bits, c->transactions * transaction * 8);
  say_text(self, " of them used");
}

/* Tries three changes of an access: vectors, lanes along another variable, and another alignment of the array. Writes
 * those changes with which fewer bytes are moved. */
static void analysis_say_better(command *self, sett_map_arena *arena, sett_map map, const sett_analysis_memory *memory,
                                int transaction, int lanes, int lane) {
  int v, at = 0, shift = 0, cut, helped = 0, vector = memory->width > 1 ? (int)memory->width : 1;
  sett_map linear = analysis_linear(arena, analysis_cut(arena, map, &cut), memory), dealt, best_map = linear;
  sett_analysis_memory flat = *memory;
  sett_analysis_coalescing c, best, was;
  char name[24];
  flat.dims.count = 0;
  was = sett_analysis_coalesced(arena, linear, &flat, transaction, lanes);
  if (was.error || !was.whole || linear.kind != SETT_MAP_DEFINED) return;
  if (cut) {
    say_text(self, "\nwhat helps is judged in a part of ");
    say_int(self, was.warps);
    say_text(self, " accesses, ");
    say_int(self, was.transactions * transaction);
    say_text(self, " bytes moved:");
  }
  best = was;
  for (v = 1; v < sett_map_variables(linear) && !memory->width; ++v) { /* find the best vector */
    int w = analysis_vector(arena, linear, &flat, v);
    if (w < 2) continue;
    flat.bits = memory->bits * w;
    c = sett_analysis_coalesced(arena, sett_analysis_wide(arena, linear, v, w), &flat, transaction, lanes);
    flat.bits = memory->bits;
    if (c.error || !c.whole || c.transactions >= best.transactions) continue;
    best = c;
    helped = 1;
    analysis_say_vector(self, linear, v, w, memory);
    analysis_say_moved(self, &best, transaction);
  }
  best = was;
  for (at = 0, v = 1; v < sett_map_variables(linear); ++v) {
    dealt = sett_analysis_deal(arena, linear, v);
    c = sett_analysis_coalesced(arena, dealt, &flat, transaction, lanes);
    if (c.error || !c.whole || dealt.kind != SETT_MAP_DEFINED || c.transactions >= best.transactions) continue;
    best = c;
    best_map = dealt;
    at = v;
  }
  if (at) {
    say_text(self, "\nlanes: neighbours along ");
    say_text(self, sett_map_name(linear, at, name));
    say_text(self, ", ");
    shape_say_map(self, arena, sett_map_move(arena, best_map, 0, lane));
    say_text(self, ": ");
    analysis_say_moved(self, &best, transaction);
  }
  best = was;
  for (v = vector; v * memory->bits < 8 * (int64_t)transaction && v < 64; v += vector) {
    sett_expr moved = sett_map_add(arena, linear.result[0], sett_map_constant(arena, v));
    c = sett_analysis_coalesced(arena,
                                sett_map_make(arena, linear.dims, linear.ranges, linear.rts, linear.variable, 1, &moved,
                                              linear.constraints, linear.constraint),
                                &flat, transaction, lanes);
    if (c.error || !c.whole || c.transactions >= best.transactions) continue;
    best = c;
    shift = v;
  }
  if (!shift) {
    if (!helped && !at)
      say_text(
          self,
          "\nhelps: no wider vector, no other lanes and no other start move less; let neighbouring lanes take neighbouring elements, as by way of shared memory");
    return;
  }
  say_text(self, "\nstart: ");
  say_int(self, shift);
  say_text(self, shift == 1 ? " element" : " elements");
  say_text(self, " further on: ");
  analysis_say_moved(self, &best, transaction);
}

static int coalescing(command *self) {
  sett_map_arena *arena = &self->arena;
  sett_analysis_memory memory;
  sett_analysis_coalescing c;
  sett_tile_shape shape;
  sett_map map;
  int64_t width;
  int transaction, lanes, lane;
  if (!analysis_map(self, 1, &map, &lane) || !analysis_memory(self, arena, self->argv[2], &map, &shape, &memory))
    return 2;
  if (!analysis_step(self, arena, 1, &map, &memory, &width) || !analysis_stepped(self, 1, &width)) return 2;
  if (self->option[OPTION_VECTOR]) memory.width = width;
  transaction = analysis_count(self, 3, 32, 1 << 20);
  lanes = transaction < 0 ? -1 : analysis_count(self, 4, 32, SETT_ANALYSIS_MAX_LANES);
  if (lanes < 0) return 2;
  c = sett_analysis_coalesced(arena, map, &memory, transaction, lanes);
  if (c.error) return analysis_access_error(self, c.error, map, &memory);
  if (!c.warps) {
    say_text(self, "yes: nothing is accessed");
    return 0;
  }
  say_text(self, c.transactions == c.least ? "yes: " : "no: ");
  say_int(self, c.worst_bits / 8);
  say_text(self, " bytes of a warp in ");
  say_int(self, c.worst);
  say_text(self, c.worst == 1 ? " transaction of " : " transactions of ");
  say_int(self, transaction);
  if (c.transactions == c.least) {
    say_text(self, " bytes, no fewer could hold them");
    analysis_say_warps(self, map, c.warps, c.whole);
    return 0;
  }
  say_text(self, " bytes, ");
  say_int(self, c.worst_least);
  say_text(self, " could hold them\nmoved: ");
  say_int(self, c.transactions * transaction);
  say_text(self, " bytes, ");
  analysis_say_share(self, c.bits, c.transactions * transaction * 8);
  say_text(self, " of them used");
  analysis_say_warps(self, map, c.warps, c.whole);
  say_text(self, "\nwhy: ");
  if (c.strided && c.stride != 1 && c.stride != -1 && c.stride != 0 && c.stride != memory.width) {
    say_text(self, "neighbouring lanes are ");
    say_int(self, c.stride < 0 ? -c.stride : c.stride);
    say_text(self, " elements apart");
  } else if (c.group && (c.stride == 1 || c.stride == memory.width)) {
    say_text(self, "lanes go in groups of ");
    say_int(self, c.group);
    say_text(self, ", each of ");
    say_int(self, c.group * (memory.width > 1 ? memory.width : 1) * memory.bits / 8);
    say_text(self, " bytes without a gap, groups ");
    say_int(self, c.apart < 0 ? -c.apart : c.apart);
    say_text(self, " elements apart");
  } else if (c.group) {
    say_text(self, "lanes go in groups of ");
    say_int(self, c.group);
    if (c.stride) {
      say_text(self, ", ");
      say_int(self, c.stride < 0 ? -c.stride : c.stride);
      say_text(self, c.stride == -1 ? " element apart" : " elements apart");
    } else {
      say_text(self, " at one place");
    }
    say_text(self, ", groups ");
    say_int(self, c.apart < 0 ? -c.apart : c.apart);
    say_text(self, " elements apart");
  } else {
    say_text(self, c.strided ? "warps begin in the middle of a transaction" : "lanes of a warp are in several places");
  }
  analysis_say_better(self, arena, map, &memory, transaction, lanes, lane);
  return 1;
}

/* Returns the swizzle of a memory layout as S<B,M,S>: bits [M, M + B) of the offset in elements are xored with bits [M
 * + S, M + S + B). */
static sett_notation_part analysis_part(const sett_analysis_memory *m) {
  sett_notation_part part;
  memset(&part, 0, sizeof part);
  part.swizzle = 1;
  part.bits = m->xor_bits;
  part.base = m->xor_base;
  part.shift = m->xor_shift;
  if (!m->swizzle_count) return part;
  part.bits = settp_notation_log(m->swizzle_count);
  part.base = settp_notation_log(m->swizzle_unit);
  part.shift = settp_notation_log(m->dims.values[m->dims.count - 1]) + settp_notation_log(m->swizzle_every) - part.base;
  return part;
}

/* Writes (rows,columns):(columns + padding,1); if `strides` is 0, only (rows,columns). */
static void analysis_say_tuple(command *self, const sett_analysis_memory *m, int strides) {
  int i, k, n = m->dims.count;
  if (n > 1) say_text(self, "(");
  for (i = 0; i < n; ++i) {
    int64_t stride = i < n - 1 ? m->dims.values[n - 1] + m->padding : 1;
    for (k = i + 1; k < n - 1; ++k) stride *= m->dims.values[k];
    if (i) say_text(self, ",");
    say_int(self, strides ? stride : m->dims.values[i]);
  }
  if (n > 1) say_text(self, ")");
}

static void analysis_say_key(command *self, const char *key, int64_t value) {
  say_text(self, key);
  say_int(self, value);
}

/* Writes the memory layout in Triton's notation: padded_shared for padding, swizzled_shared if the column is xored
 * with a number that depends on the row, else shared_linear with its bases. Sizes must be powers of two. */
static void analysis_say_triton(command *self, const sett_analysis_memory *m) {
  sett_notation_part part = analysis_part(m);
  int64_t row = m->dims.values[m->dims.count - 1];
  int i, d, n = m->dims.count;
  if (m->padding || m->swizzle_count) {
    if (m->padding) {
      analysis_say_key(self, "#ttg.padded_shared<[", row);
      analysis_say_key(self, ":+", m->padding);
      say_text(self, "] {order = [");
    } else {
      analysis_say_key(self, "#ttg.swizzled_shared<{vec = ", m->swizzle_unit);
      analysis_say_key(self, ", perPhase = ", m->swizzle_every);
      analysis_say_key(self, ", maxPhase = ", m->swizzle_count);
      say_text(self, ", order = [");
    }
    for (i = n; i-- > 0;) analysis_say_key(self, i < n - 1 ? ", " : "", i);
    if (m->padding) {
      say_text(self, "], shape = [");
      for (i = 0; i < n; ++i) analysis_say_key(self, i ? ", " : "", m->dims.values[i]);
    }
    say_text(self, "]}>");
    return;
  }
  say_text(self, "#ttg.shared_linear<{offset = [");
  for (i = 0, d = n - 1, row = 1; d >= 0;) { /* apply the swizzle, which is its own inverse, to offset 2^i */
    int64_t offset, rest;
    int k;
    if (row == m->dims.values[d]) {
      row = 1;
      --d;
      continue;
    }
    offset = settp_analysis_xor((int64_t)1 << i, part.bits, part.base, part.shift);
    say_text(self, i ? ", [" : "[");
    for (k = 0; k < n; ++k) {
      int j;
      for (j = n - 1, rest = offset; j > k; --j) rest /= m->dims.values[j];
      analysis_say_key(self, k ? ", " : "", rest % m->dims.values[k]);
    }
    say_text(self, "]");
    ++i;
    row *= 2;
  }
  say_text(self, "], block = []}, alignment = 16>");
}

/* Writes whether another layout of the same kind (padding or swizzle) can be better, then the best layout in CuTe's and
 * Triton's notation. */
static void analysis_say_proof(command *self, const sett_analysis_best *best, const char *member, const char *kind) {
  const sett_analysis_memory *m = &best->memory;
  sett_notation_part part = analysis_part(m);
  int i, powers = !m->padding || settp_notation_log(m->padding) >= 0;
  say_text(self, "\n  ");
  say_int(self, best->turns);
  say_text(self, best->turns == 1 ? " turn: " : " turns: ");
  if (best->least) {
    say_text(self, "least, no layout of these elements takes fewer");
  } else {
    say_text(self, best->whole ? "the fewest at the lowest degree of all "
                               : "the fewest that were found at the lowest degree of ");
    analysis_say_count(self, best->count, member);
    say_text(self, kind);
    say_text(self, "; no layout takes fewer than ");
    say_int(self, best->bound);
  }
  say_text(self, "\n  CuTe ");
  if (part.bits) {
    analysis_say_key(self, "S<", part.bits);
    analysis_say_key(self, ",", part.base);
    analysis_say_key(self, ",", part.shift);
    say_text(self, "> o 0 o ");
  }
  analysis_say_tuple(self, m, 0);
  say_text(self, ":");
  analysis_say_tuple(self, m, 1);
  for (i = 0; i < m->dims.count; ++i) powers &= settp_notation_log(m->dims.values[i]) >= 0;
  if (!powers) return;
  say_text(self, ", Triton ");
  analysis_say_triton(self, m);
}

static void analysis_say_best(command *self, const sett_analysis_best *best) {
  const sett_analysis_memory *m = &best->memory;
  sett_notation_part part = analysis_part(m);
  int n = m->dims.count;
  if (m->padding) {
    say_text(self, "\npadding: ");
    say_int(self, m->padding);
    say_text(self, m->padding == 1 ? " element a row, rows of " : " elements a row, rows of ");
    say_int(self, m->dims.values[n - 1] + m->padding);
  } else if (m->swizzle_count) {
    say_text(self, "\nswizzle: column xor ");
    if (m->swizzle_unit > 1) {
      say_int(self, m->swizzle_unit);
      say_text(self, " * ");
    }
    if (m->swizzle_every > 1) {
      say_text(self, "(row floordiv ");
      say_int(self, m->swizzle_every);
      say_text(self, " mod ");
    } else {
      say_text(self, "(row mod ");
    }
    say_int(self, m->swizzle_count);
    say_text(self, "), ");
  } else {
    say_text(self, "\nswizzle: of the offset in elements, ");
  }
  if (part.bits) {
    analysis_say_key(self, "S<", part.bits);
    analysis_say_key(self, ",", part.base);
    analysis_say_key(self, ",", part.shift);
    say_text(self, ">");
  }
  say_text(self, ": degree ");
  say_int(self, best->degree);
  say_text(self, ", costs ");
  if (best->bytes) say_int(self, best->bytes);
  say_text(self, best->bytes ? " bytes" : "no memory");
}

enum { BANKS_MAPS = 8, BANKS = 32, BANK_BYTES = 4, WARP = 32 };

/* Returns the number of elements in a bank's word or, if that is wider, in the widest aligned vector. The length of a
 * padded row must be a multiple of this number. Vectors are along the ranges of a map, because neighbours along a
 * dimension belong to different threads. */
static int64_t analysis_access(sett_map_arena *arena, int maps, const sett_map *map, const int64_t *width,
                               const sett_analysis_memory *memory) {
  int64_t wide = BANK_BYTES * 8 / memory->bits > 1 ? BANK_BYTES * 8 / memory->bits : 1;
  sett_analysis_memory flat = *memory;
  int i, v;
  flat.dims.count = 0;
  for (i = 0; i < maps; ++i) {
    sett_map linear = analysis_linear(arena, map[i], memory);
    if (width[i] > wide) wide = width[i];
    for (v = map[i].dims; v < sett_map_variables(linear); ++v) {
      int vector = analysis_vector(arena, linear, &flat, v);
      if (vector > wide) wide = vector;
    }
  }
  return wide;
}

static void analysis_say_apart(command *self, int64_t stride) {
  say_text(self, "\nwhy: neighbouring lanes are ");
  say_int(self, stride < 0 ? -stride : stride);
  say_text(self, " elements apart");
}

/* Suggests vectors. For one map, writes the vectors with which its accesses to the banks take fewer cycles. For several
 * maps, writes only the first possible vector. */
static void analysis_say_wider(command *self, sett_map_arena *arena, int maps, const sett_map *map,
                               const sett_analysis_memory *memory, const sett_analysis_banks *was) {
  sett_map linear = maps == 1 ? analysis_linear(arena, map[0], memory) : sett_map_undefined();
  sett_analysis_memory flat = *memory;
  sett_analysis_banks b;
  int64_t turns = was->turns;
  int v, w;
  char name[24];
  flat.dims.count = 0;
  for (v = 0; maps > 1 && v < maps; ++v) {
    int u;
    linear = analysis_linear(arena, map[v], memory);
    for (u = 1; u < sett_map_variables(linear); ++u) {
      w = analysis_vector(arena, linear, &flat, u);
      if (w < 2) continue;
      analysis_say_vector(self, linear, u, w, memory);
      say_text(self, "--vector ");
      say_text(self, sett_map_name(linear, u, name));
      say_text(self, " judges by vectors");
      return;
    }
  }
  if (linear.kind != SETT_MAP_DEFINED || !was->whole || maps > 1) return;
  for (v = 1; v < sett_map_variables(linear); ++v) {
    w = analysis_vector(arena, linear, &flat, v);
    if (w < 2) continue;
    flat.bits = memory->bits * w;
    b = sett_analysis_bank_conflicts(arena, sett_analysis_wide(arena, linear, v, w), &flat, BANKS, BANK_BYTES, WARP);
    flat.bits = memory->bits;
    if (b.error || !b.whole || b.turns >= turns) continue;
    turns = b.turns;
    analysis_say_vector(self, linear, v, w, memory);
    say_text(self, "degree ");
    say_int(self, b.degree);
    say_text(self, ", ");
    analysis_say_count(self, b.turns, "turn");
    say_text(self, "; --vector ");
    say_text(self, sett_map_name(linear, v, name));
    say_text(self, " judges by vectors");
  }
}

static int banks(command *self) {
  sett_map_arena *arena = &self->arena;
  sett_analysis_memory memory, aligned;
  sett_analysis_best padded, swizzled;
  sett_analysis_banks worst;
  sett_analysis_coalescing apart;
  sett_tile_shape shape;
  sett_map map[BANKS_MAPS];
  int64_t round, wide, width[BANKS_MAPS] = {0};
  int i, maps = 0, at = 0, lane;
  memset(&worst, 0, sizeof worst);
  if (self->argc > 2 + BANKS_MAPS) return say_error(self, 0, "expected at most 8 maps");
  for (i = 1; i < self->argc; ++i) {
    if (i == 2) continue;
    if (!analysis_map(self, i, &map[maps], &lane) ||
        !analysis_memory(self, arena, self->argv[2], &map[maps], &shape, &memory))
      return 2;
    if (!analysis_step(self, arena, maps + 1, &map[maps], &memory, &width[maps])) return 2;
    ++maps;
  }
  if (!analysis_stepped(self, maps, width)) return 2;
  for (i = 0; i < maps; ++i) {
    sett_analysis_memory whole = memory;
    sett_analysis_banks b;
    whole.width = width[i];
    b = sett_analysis_bank_conflicts(arena, map[i], &whole, BANKS, BANK_BYTES, WARP);
    if (b.error) return analysis_access_error(self, b.error, map[i], &memory);
    if (i && b.degree <= worst.degree) continue;
    worst = b;
    at = i;
  }
  if (worst.degree <= 1) {
    say_text(self, "yes: no two lanes want different words of one bank");
    analysis_say_warps(self, map[at], worst.warps, worst.whole);
    return 0;
  }
  say_text(self, "no: ");
  say_int(self, worst.degree);
  say_text(self, "-way conflict");
  if (maps > 1) {
    say_text(self, " of access ");
    say_int(self, at + 1);
  }
  say_text(self, ", ");
  analysis_say_count(self, worst.turns, "turn");
  say_text(self, " instead of ");
  say_int(self, worst.phases);
  analysis_say_warps(self, map[at], worst.warps, worst.whole);
  say_text(self, "\nlanes ");
  for (i = 0; i < worst.lanes; ++i) {
    if (worst.lanes > 9 && i == 8) {
      say_text(self, ", ..");
      i = worst.lanes - 1;
    }
    if (i) say_text(self, ", ");
    say_int(self, worst.lane[i]);
  }
  say_text(self, " meet in bank ");
  say_int(self, worst.bank);
  if (!memory.dims.count) {
    apart = sett_analysis_coalesced(arena, map[at], &memory, BANK_BYTES, WARP);
    if (!apart.error && apart.strided && apart.stride) analysis_say_apart(self, apart.stride);
    if (!self->option[OPTION_VECTOR]) analysis_say_wider(self, arena, maps, map, &memory, &worst);
    if (sett_tile_type_find(self->argv[2], strlen(self->argv[2])) >= 0)
      say_text(self, "\na shape in place of the type gets a padding and a swizzle, where they help");
    return 1;
  }
  round = (int64_t)BANKS * BANK_BYTES * 8;
  wide = analysis_access(arena, maps, map, width, &memory);
  aligned = memory;
  aligned.align = wide;
  padded = sett_analysis_pad_rows(arena, maps, map, width, &aligned, BANKS, BANK_BYTES, WARP);
  /* padding of rows helps, so the length of the rows causes the conflicts */
  if (padded.degree > 0 && padded.memory.padding) {
    if (memory.dims.values[memory.dims.count - 1] * memory.bits % round == 0) {
      say_text(self, "\nwhy: a row is ");
      say_int(self, memory.dims.values[memory.dims.count - 1] * memory.bits / 8);
      say_text(self, " bytes, a multiple of the 128 bytes of all banks: a column lies in one bank");
    } else if (memory.dims.values[memory.dims.count - 1] * memory.bits % 8 == 0) {
      int64_t row = memory.dims.values[memory.dims.count - 1] * memory.bits, rows = 1;
      while (row * rows % round) ++rows; /* ends at rows = round or earlier: row * round is a multiple of round */
      if (rows < WARP) {
        say_text(self, "\nwhy: a row is ");
        say_int(self, row / 8);
        say_text(self, " bytes: every ");
        say_int(self, rows);
        say_text(self, " rows a column comes back to its bank");
      }
    }
  } else {
    apart = sett_analysis_coalesced(arena, map[at], &memory, BANK_BYTES, WARP);
    if (!apart.error && apart.strided && apart.stride) analysis_say_apart(self, apart.stride);
  }
  if (padded.degree > 0 && padded.memory.padding) {
    analysis_say_best(self, &padded);
    analysis_say_proof(self, &padded, "padding", " of whole words and vectors");
  }
  /* try paddings that misalign vectors, too: accesses without vectors may have fewer conflicts */
  if (wide * memory.bits > BANK_BYTES * 8) {
    sett_analysis_best narrow = sett_analysis_pad_rows(arena, maps, map, width, &memory, BANKS, BANK_BYTES, WARP);
    if (narrow.degree > 0 && narrow.memory.padding && narrow.degree < padded.degree) {
      analysis_say_best(self, &narrow);
      say_text(self, ", misaligns vectors of ");
      say_int(self, wide * memory.bits / 8);
      say_text(self, " bytes");
      analysis_say_proof(self, &narrow, "padding", " of whole words");
    }
  }
  swizzled = sett_analysis_swizzle(arena, maps, map, width, &memory, BANKS, BANK_BYTES, WARP);
  if (swizzled.degree > 0 && (swizzled.memory.swizzle_count || swizzled.memory.xor_bits)) {
    analysis_say_best(self, &swizzled);
    analysis_say_proof(self, &swizzled, "swizzle", " S<B,M,S>");
  }
  if (!swizzled.error && !swizzled.least && !padded.memory.padding && !swizzled.memory.swizzle_count &&
      !swizzled.memory.xor_bits) {
    say_text(self, padded.whole && swizzled.whole
                       ? "\nnothing helps: no lower degree, and at this one no fewer turns, among all "
                       : "\nnothing was found that helps, of ");
    analysis_say_count(self, padded.count, "padding");
    say_text(self, " and ");
    analysis_say_count(self, swizzled.count, "swizzle");
    say_text(self, " S<B,M,S>; no layout takes fewer turns than ");
    say_int(self, swizzled.bound);
  }
  if (swizzled.degree > 1 && self->option[OPTION_VECTOR] && wide > 1) {
    say_text(self, "\nrows, and the swizzle's turns, are multiples of ");
    say_int(self, wide);
    say_text(self, " elements: accesses of ");
    say_int(self, wide * memory.bits / 8);
    say_text(self, " bytes stay whole");
  }
  if (!self->option[OPTION_VECTOR]) analysis_say_wider(self, arena, maps, map, &memory, &worst);
  return 1;
}

/* Returns true if an element that the map certainly reaches is outside of the shape. */
static int analysis_outside(const sett_map_footprint *image, const sett_tile_shape *shape) {
  int i;
  for (i = 0; i < image->results; ++i)
    if (image->exact[i] && (image->value[i].lo < 0 || image->value[i].hi >= shape->dims[i])) return 1;
  return 0;
}

/* Reads a map and its shape, and counts the elements that the map reaches. Returns 0 if an answer was already
 * written. */
static int analysis_reached(command *self, sett_map_arena *arena, sett_map *map, sett_tile_shape *shape,
                            sett_map_footprint *image, int *status) {
  *status = 2;
  *map = read_map(self, arena, 1);
  if (map->kind == SETT_MAP_FAILED) {
    say_map_error(self, *map);
    return 0;
  }
  *shape = sett_tile_parse(reading(self, self->argv[2]), strlen(self->argv[2]));
  if (shape->error || shape->kind != SETT_TILE_ARRAY) {
    if (shape->error) shape_error(self, shape->error, shape->column);
    else say_error(self, 1, "expected an array's shape");
    return 0;
  }
  if (map->kind == SETT_MAP_UNDEFINED) {
    say_text(self, "not decided: the map is UNDEFINED");
    *status = 1;
    return 0;
  }
  if (map->kind == SETT_MAP_DEFINED && map->results != shape->rank) {
    say_error(self, 1, "expected as many results of the map as the shape has dimensions");
    return 0;
  }
  if (map->kind == SETT_MAP_EMPTY) return 1;
  *image = sett_map_image(arena, *map);
  if (image->error) {
    analysis_error(self, image->error);
    return 0;
  }
  if (analysis_outside(image, shape)) {
    say_error(self, 0, sett_analysis_message(SETT_ANALYSIS_ERROR_OUTSIDE));
    return 0;
  }
  if (image->count < 0) {
    say_text(self, "not decided: ");
    say_text(self, image->reason);
    *status = 1;
    return 0;
  }
  return 1;
}

static int utilisation(command *self) {
  sett_map_arena *arena = &self->arena;
  sett_tile_shape shape;
  sett_map_footprint image;
  sett_map map;
  int status, i;
  memset(&image, 0, sizeof image);
  if (!analysis_reached(self, arena, &map, &shape, &image, &status)) return status;
  analysis_say_share(self, image.count, sett_tile_elements(&shape));
  say_text(self, ": ");
  say_int(self, image.count);
  say_text(self, " of ");
  say_int(self, sett_tile_elements(&shape));
  say_text(self, " elements");
  for (i = 0; i < image.results; ++i) {
    say_text(self, "\ndimension ");
    say_int(self, i);
    say_text(self, ": ");
    say_values(self, &image, i);
    say_text(self, " of ");
    say_int(self, shape.dims[i]);
  }
  return 0;
}

static int reuse(command *self) {
  sett_map_arena *arena = &self->arena;
  sett_tile_shape shape;
  sett_map_footprint image;
  sett_map map, bare;
  unsigned char removed[SETT_ANALYSIS_MAX_VARIABLES] = {0};
  char buffer[24], times[32];
  int status, i, named = 0;
  int64_t reads, once;
  memset(&image, 0, sizeof image);
  if (!analysis_reached(self, arena, &map, &shape, &image, &status)) return status;
  reads = sett_analysis_reads(arena, map);
  if (reads < 0) {
    say_text(self, "not decided: the points of the domain are not counted");
    return 1;
  }
  snprintf(times, sizeof times, "%.4g", image.count ? (double)reads / (double)image.count : 0.0);
  say_text(self, times);
  say_text(self, " times: ");
  say_int(self, reads);
  say_text(self, " reads of ");
  say_int(self, image.count);
  say_text(self, reads == image.count ? " elements, each once" : " elements");
  if (map.kind != SETT_MAP_DEFINED || reads == image.count) return 0;
  bare = map;
  bare.constraints = 0;
  sett_map_remove_unused(arena, sett_map_simplify(arena, bare), SETT_MAP_ALL_KINDS, removed);
  once = image.count;
  for (i = 0; i < sett_map_variables(map); ++i) {
    if (!removed[i] || map.variable[i].lo == map.variable[i].hi) continue;
    once = settp_analysis_mul(once, map.variable[i].hi - map.variable[i].lo + 1);
    say_text(self, named++ ? ", " : "\nthe element does not depend on ");
    say_text(self, sett_map_name(map, i, buffer));
    say_text(self, " (");
    say_int(self, map.variable[i].hi - map.variable[i].lo + 1);
    say_text(self, ")");
  }
  if (once != reads)
    say_text(self, named ? "\nother variables come to the same element too"
                         : "\ndifferent values of its variables come to the same element");
  return 0;
}

static int tile(command *self) {
  sett_map_arena *arena = &self->arena;
  int64_t sizes[SETT_ANALYSIS_MAX_RANK];
  sett_analysis_list list = {0, sizes};
  sett_analysis_tile tile;
  sett_map map;
  map = read_map(self, arena, 1);
  if (map.kind == SETT_MAP_FAILED) return say_map_error(self, map);
  list.count = shape_integers(self, self->argv[2], sizes, SETT_ANALYSIS_MAX_RANK);
  if (list.count < 0) return 2;
  if (map.kind == SETT_MAP_DEFINED && list.count != map.dims)
    return say_error(self, 1, "expected as many sizes as the map has dimensions");
  tile = sett_analysis_propagate(arena, map, list);
  if (tile.error) return analysis_error(self, tile.error);
  if (tile.reason[0]) {
    say_text(self, "no: ");
    say_text(self, tile.reason);
    return 1;
  }
  say_text(self, "offset ");
  if (shape_say_map(self, arena, tile.offset)) return 2;
  say_text(self, "\nsize ");
  shape_say_list(self, tile.size, tile.results);
  say_text(self, "\nstride ");
  shape_say_list(self, tile.stride, tile.results);
  return 0;
}

#define ANALYSIS_VECTOR \
  "\n--vector: one access takes the elements along this variable, at most 16 bytes; a map without the variable accesses single elements"
#define ANALYSIS_LANE                                                                                                      \
  "\n--lane: the dimension along which lanes of a warp are neighbours; by default lane, thread, th_x, thread_x, tid or t," \
  "\nor the last of d0, d1, .. (the names that op prints) that has several values;"                                        \
  "\nin a block of 16 x 16 threads, threadIdx.x is t mod 16 and threadIdx.y is t floordiv 16"

static const command_verb coalescing_verbs[] = {
    {"", "[--lane NAME] [--vector NAME] MAP SHAPE|TYPE [TRANSACTION_BYTES [LANES]]",
     "does a warp touch only as many transactions as its elements need? yes; or no, why, and what helps\nTRANSACTION_BYTES and LANES of a warp: both 32 by default" ANALYSIS_LANE
         ANALYSIS_VECTOR,
     "(t, b) -> (t, b), domain: t in [0, 31], b in [0, 63]\tf32[32,64]", coalescing},
};

static const command_verb banks_verbs[] = {
    {"", "[--lane NAME] [--vector NAME] MAP SHAPE|TYPE [MAP ..]",
     "is each access free of bank conflicts? yes; or no, the lanes that conflict, why, a padding and a swizzle that help"
     "\nseveral MAPs are accesses of one array, such as the writes and the reads of a tile; padding and swizzle then serve all of them"
     "\nin a turn, each bank serves one word; the degree is the maximum number of turns that 128 bytes of a warp take, and 1 means no conflict\n(if each lane accesses 16 bytes, a warp takes at least 4 turns)" ANALYSIS_LANE
         ANALYSIS_VECTOR,
     "(t, i) -> (t, i), domain: t in [0, 31], i in [0, 31]\tf32[32,32]", banks},
};

static const command_verb utilisation_verbs[] = {
    {"", "MAP SHAPE", "the percentage of the elements that are read, and the indices that are read in each dimension",
     "(d0) -> (d0 * 2), domain: d0 in [0, 15]\tf32[32]", utilisation},
};

static const command_verb reuse_verbs[] = {
    {"", "MAP SHAPE", "the mean number of reads of an element, over the elements that are read",
     "(d0, d1) -> (d0), domain: d0 in [0, 15], d1 in [0, 3]\tf32[16]", reuse},
};

static const command_verb tile_verbs[] = {
    {"", "MAP SIZE,SIZE,..",
     "for output tiles of these sizes: the tile of the operand that each of them needs, as offset, size and stride; or no: reason",
     "(d0) -> (d0 floordiv 8, d0 mod 8), domain: d0 in [0, 31]\t16", tile},
};
