/* Reads HLO text for `sett indexing` (included by gen/command/sett.c): computations, instructions, shapes and operands.
 * Attributes stay text, which their users parse. The generator has its own parser (gen/hlo), which checks all that
 * kernels need. This one makes the command independent of Python, and is as small as possible. It infers the shapes of
 * ops that have maps. It checks what maps depend on: shapes, dimensions, and the values of integer constants. It does
 * not check what ops compute: types, the form of float literals, and the computations that reduce and similar ops
 * apply, which may be missing. Errors carry their position in the file. Nothing recurses. */

typedef struct {
  const char *at;
  size_t length;
} hlo_text;

typedef struct {
  hlo_text name, value;
} hlo_attribute;

typedef struct {
  hlo_text name, opcode, shape, inside; /* inside: the text between the operands' parentheses */
  int computation;
  int leaves, item_count;
  sett_tile_shape *leaf;
  int *item; /* for each array of the shape: its position in the outermost tuple */
  int operands, *operand;
  int attributes;
  hlo_attribute *attribute;
  int number; /* for a parameter: its number */
  int body;   /* 1 + the number of the computation that calls={..} or to_apply={..} defines inline; 0: none */
} hlo_instruction;

typedef struct {
  hlo_text name;
  int first, count, root; /* indices of the first instruction and of the root; `count`: number of instructions */
  int entry;
} hlo_computation;

typedef struct hlo_block {
  struct hlo_block *next;
  int64_t memory[]; /* 64-bit elements align the block for all data, also where pointers have 4 bytes */
} hlo_block;

typedef struct {
  const char *text, *at, *end;
  const char *fault; /* position of the first error; NULL: no error */
  const char *message;
  int computations, instructions;
  hlo_computation *computation;
  hlo_instruction *instruction;
  int entry;
  /* hash table with `slots` entries, a power of two: computation and name of an instruction -> 1 + its number, or 0 */
  int slots, *slot;
  hlo_block *blocks; /* all memory of the module, which hlo_free frees */
} hlo_module;

static void hlo_fail(hlo_module *h, const char *at, const char *message) {
  if (!h->fault) {
    h->fault = at;
    h->message = message;
  }
  h->at = h->end; /* no text is left, so that all loops of the parser end */
}

static void *hlo_take(hlo_module *h, size_t bytes) {
  hlo_block *block = (hlo_block *)calloc(1, sizeof(hlo_block) + bytes + 16);
  if (!block) {
    hlo_fail(h, h->at, "out of memory");
    return NULL;
  }
  block->next = h->blocks;
  h->blocks = block;
  return block->memory;
}

static void hlo_free(hlo_module *h) {
  while (h->blocks) {
    hlo_block *next = h->blocks->next;
    free(h->blocks);
    h->blocks = next;
  }
}

/* Returns an array of `count` entries with room for one more. Its size doubles when it is full. */
static void *hlo_grow(hlo_module *h, void *array, int count, size_t size) {
  void *more;
  if (count & (count - 1)) return array;
  more = hlo_take(h, (count ? (size_t)count * 2 : 1) * size);
  if (more && count) memcpy(more, array, (size_t)count * size);
  return more;
}

static int hlo_is(hlo_text text, const char *word) {
  return strlen(word) == text.length && !memcmp(text.at, word, text.length);
}

static int hlo_same(hlo_text a, hlo_text b) { return a.length == b.length && !memcmp(a.at, b.at, a.length); }

/* Skips blanks and comments. */
static void hlo_blank(hlo_module *h) {
  for (;;) {
    while (h->at < h->end && strchr(" \t\r\n\f\v", *h->at) && *h->at) ++h->at;
    if (h->end - h->at > 1 && h->at[0] == '/' && h->at[1] == '/') {
      while (h->at < h->end && *h->at != '\n') ++h->at;
    } else if (h->end - h->at > 1 && h->at[0] == '/' && h->at[1] == '*') {
      const char *start = h->at;
      for (h->at += 2; h->at < h->end && !(h->end - h->at > 1 && h->at[0] == '*' && h->at[1] == '/');) ++h->at;
      if (h->at == h->end) hlo_fail(h, start, "this comment has no end: expected */");
      else h->at += 2;
    } else {
      return;
    }
  }
}

static int hlo_peek(hlo_module *h, char c) {
  hlo_blank(h);
  return h->at < h->end && *h->at == c;
}

static int hlo_take_char(hlo_module *h, char c) {
  if (!hlo_peek(h, c)) return 0;
  ++h->at;
  return 1;
}

static void hlo_want(hlo_module *h, char c, const char *message) {
  if (!hlo_take_char(h, c)) hlo_fail(h, h->at, message);
}

static int hlo_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
}

/* Reads a name with or without %. Returns length 0 if there is none. */
static hlo_text hlo_name(hlo_module *h) {
  hlo_text name;
  int sign;
  hlo_blank(h);
  sign = h->at < h->end && *h->at == '%';
  name.at = h->at + sign;
  name.length = 0;
  if (name.at >= h->end || (!sign && ((*name.at >= '0' && *name.at <= '9') || *name.at == '-' || *name.at == '.')))
    return name;
  while (name.at + name.length < h->end && hlo_name_char(name.at[name.length])) ++name.length;
  if (name.length) h->at = name.at + name.length;
  return name;
}

static void hlo_string(hlo_module *h) {
  const char *start = h->at++;
  while (h->at < h->end && *h->at != '"') h->at += *h->at == '\\' && h->end - h->at > 1 ? 2 : 1;
  if (h->at >= h->end) hlo_fail(h, start, "this string has no end: expected \"");
  else ++h->at;
}

/* Skips from an opening bracket to the position behind its closing bracket. Nested brackets must match in kind. */
static void hlo_balanced(hlo_module *h) {
  char open[256];
  int depth = 0;
  const char *start = h->at;
  do {
    char c;
    hlo_blank(h);
    if (h->at >= h->end) {
      hlo_fail(h, start, "this bracket has no end: expected the bracket that closes it");
      return;
    }
    c = *h->at;
    if (c == '"') {
      hlo_string(h);
      continue;
    }
    if (c == '(' || c == '[' || c == '{') {
      if (depth == (int)sizeof open) {
        hlo_fail(h, h->at, "brackets nest too deep: expected at most 256");
        return;
      }
      open[depth++] = c == '(' ? ')' : c == '[' ? ']' : '}';
    } else if (c == ')' || c == ']' || c == '}') {
      if (open[--depth] != c) {
        hlo_fail(h, h->at, "expected another closing bracket");
        return;
      }
    }
    ++h->at;
  } while (depth);
}

/* Returns true if a shape starts here: a bracket, or a type followed by [. */
static int hlo_at_shape(hlo_module *h) {
  const char *at;
  hlo_blank(h);
  if (h->at < h->end && *h->at == '(') return 1;
  for (at = h->at; at < h->end && ((*at >= 'a' && *at <= 'z') || (*at >= '0' && *at <= '9')); ++at) {}
  if (at == h->at || *h->at < 'a') return 0;
  while (at < h->end && *at == ' ') ++at;
  return at < h->end && *at == '[';
}

/* Reads a shape into the instruction `into`. If `into` is NULL, the shape is skipped. */
static void hlo_shape(hlo_module *h, hlo_instruction *into) {
  sett_tile_reader reader;
  sett_tile_shape shape;
  const char *start;
  int event, item = -1;
  if (!hlo_at_shape(h)) {
    hlo_fail(h, h->at, "expected a shape");
    return;
  }
  start = h->at;
  reader = sett_tile_read(start, (size_t)(h->end - start));
  while ((event = sett_tile_next(&reader, &shape))) {
    if (event == SETT_TILE_OPENED && reader.depth == 2) ++item;
    if (event != SETT_TILE_LEAF) continue;
    if (reader.depth == 1) ++item;
    if (!into) continue;
    into->leaf = (sett_tile_shape *)hlo_grow(h, into->leaf, into->leaves, sizeof *into->leaf);
    into->item = (int *)hlo_grow(h, into->item, into->leaves, sizeof *into->item);
    if (!into->leaf || !into->item) return;
    into->leaf[into->leaves] = shape;
    into->item[into->leaves++] = item;
  }
  if (reader.error) {
    hlo_fail(h, start + (reader.column > 0 ? reader.column - 1 : 0), sett_tile_message(reader.error));
    return;
  }
  h->at = start + reader.at;
  if (!into) return;
  into->shape.at = start;
  into->shape.length = (size_t)reader.at;
  into->item_count = item + 1; /* number of items of a tuple; 0 for an array */
}

static const hlo_attribute *hlo_find_attribute_named(const hlo_instruction *instruction, hlo_text name) {
  int i;
  for (i = 0; i < instruction->attributes; ++i)
    if (hlo_same(instruction->attribute[i].name, name)) return &instruction->attribute[i];
  return NULL;
}

/* Reads an attribute name=value; the value stays text. */
static void hlo_read_attribute(hlo_module *h, hlo_instruction *into) {
  hlo_attribute attribute;
  attribute.name = hlo_name(h);
  if (!attribute.name.length) {
    hlo_fail(h, h->at, "expected the name of an attribute");
    return;
  }
  hlo_want(h, '=', "expected '=' and the attribute's value");
  hlo_blank(h);
  attribute.value.at = h->at;
  while (h->at < h->end && *h->at && !strchr(" \t\r\n\f\v,})]", *h->at)) {
    if (*h->at == '"') hlo_string(h);
    else if (*h->at == '{' || *h->at == '[' || *h->at == '(') hlo_balanced(h);
    else ++h->at;
  }
  attribute.value.length = (size_t)(h->at - attribute.value.at);
  if (!attribute.value.length) hlo_fail(h, h->at, "expected the attribute's value");
  if (h->fault || !into) return;
  if (hlo_find_attribute_named(into, attribute.name)) {
    hlo_fail(h, attribute.name.at, "this attribute is there already: expected another one");
    return;
  }
  into->attribute = (hlo_attribute *)hlo_grow(h, into->attribute, into->attributes, sizeof attribute);
  if (into->attribute) into->attribute[into->attributes++] = attribute;
}

static const hlo_attribute *hlo_find_attribute(const hlo_instruction *instruction, const char *name) {
  hlo_text text;
  text.at = name;
  text.length = strlen(name);
  return hlo_find_attribute_named(instruction, text);
}

static size_t hlo_hash(int computation, hlo_text name) {
  uint64_t hash = 14695981039346656037u + (uint64_t)computation;
  size_t i;
  for (i = 0; i < name.length; ++i) hash = (hash ^ (unsigned char)name.at[i]) * 1099511628211u;
  return (size_t)(hash ^ hash >> 29);
}

/* Returns the slot of the instruction with this name, or the empty slot where it belongs. */
static int *hlo_slot(hlo_module *h, int computation, hlo_text name) {
  size_t at = hlo_hash(computation, name);
  for (;; ++at) {
    int *slot = &h->slot[at & (size_t)(h->slots - 1)];
    const hlo_instruction *in = *slot ? &h->instruction[*slot - 1] : NULL;
    if (!in || (in->computation == computation && hlo_same(in->name, name))) return slot;
  }
}

static int hlo_find_instruction(hlo_module *h, int computation, hlo_text name) {
  return h->slots ? *hlo_slot(h, computation, name) - 1 : -1;
}

static void hlo_enter(hlo_module *h, int number) {
  int i;
  if (h->slots < 2 * (number + 2)) {
    h->slots = h->slots ? 2 * h->slots : 64;
    h->slot = (int *)hlo_take(h, (size_t)h->slots * sizeof *h->slot);
    if (!h->slot) {
      h->slots = 0;
      return;
    }
    for (i = 0; i < number; ++i) *hlo_slot(h, h->instruction[i].computation, h->instruction[i].name) = i + 1;
  }
  *hlo_slot(h, h->instruction[number].computation, h->instruction[number].name) = number + 1;
}

static int hlo_find_computation(const hlo_module *h, hlo_text name) {
  int i;
  if (name.length && *name.at == '%') ++name.at, --name.length;
  for (i = h->computations; i-- > 0;)
    if (hlo_same(h->computation[i].name, name)) return i;
  return -1;
}

static int hlo_literal(hlo_text opcode) { return hlo_is(opcode, "parameter") || hlo_is(opcode, "constant"); }

/* Returns true if the arrays in the shapes of two instructions have the same dimensions. */
static int hlo_same_dims(const hlo_instruction *a, const hlo_instruction *b) {
  int i, d;
  if (a->leaves != b->leaves) return 0;
  for (i = 0; i < a->leaves; ++i) {
    if (a->leaf[i].kind != b->leaf[i].kind || a->leaf[i].rank != b->leaf[i].rank) return 0;
    for (d = 0; d < a->leaf[i].rank; ++d)
      if (a->leaf[i].dims[d] != b->leaf[i].dims[d]) return 0;
  }
  return 1;
}

/* Returns true if the arrays in the shapes of two instructions have the same dimensions and types. */
static int hlo_same_arrays(const hlo_instruction *a, const hlo_instruction *b) {
  int i;
  if (!hlo_same_dims(a, b)) return 0;
  for (i = 0; i < a->leaves; ++i)
    if (a->leaf[i].type != b->leaf[i].type) return 0;
  return 1;
}

static void hlo_read_operands(hlo_module *h, hlo_instruction *into) {
  hlo_blank(h);
  into->inside.at = h->at + 1;
  if (!hlo_peek(h, '(')) {
    hlo_fail(h, h->at, "expected '(' and the operands");
    return;
  }
  if (hlo_literal(into->opcode)) {
    hlo_balanced(h);
    into->inside.length = (size_t)(h->at - into->inside.at) - (h->fault ? 0 : 1);
    return;
  }
  ++h->at;
  if (!hlo_take_char(h, ')')) {
    do {
      hlo_text name;
      hlo_instruction written; /* the shape before the operand's name, if the text repeats it */
      int operand;
      memset(&written, 0, sizeof written);
      if (hlo_at_shape(h)) hlo_shape(h, &written);
      name = hlo_name(h);
      if (!name.length) hlo_fail(h, h->at, "expected the name of an operand");
      if (h->fault) return;
      operand = hlo_find_instruction(h, into->computation, name);
      if (operand < 0) {
        hlo_fail(h, name.at, "unknown operand: expected the name of an instruction above in this computation");
        return;
      }
      if (written.shape.at && !hlo_same_arrays(&written, &h->instruction[operand])) {
        hlo_fail(h, written.shape.at, "expected the types and dimensions that this operand has");
        return;
      }
      into->operand = (int *)hlo_grow(h, into->operand, into->operands, sizeof *into->operand);
      if (!into->operand) return;
      into->operand[into->operands++] = operand;
    } while (hlo_take_char(h, ','));
    hlo_want(h, ')', "expected ',' or ')' after an operand");
  }
  into->inside.length = (size_t)(h->at - into->inside.at);
}

static int hlo_has_operands_shape(hlo_text opcode); /* true for elementwise ops */

static int hlo_integers(hlo_text text, int64_t *values, int limit);

/* Returns the operand's array; NULL if there is no such operand, or if it is a tuple. */
static const sett_tile_shape *hlo_array_of(const hlo_module *h, const hlo_instruction *in, int k) {
  const hlo_instruction *operand = k < in->operands ? &h->instruction[in->operand[k]] : NULL;
  return operand && operand->leaves == 1 && !operand->item_count && operand->leaf[0].kind == SETT_TILE_ARRAY
             ? &operand->leaf[0]
             : NULL;
}

/* Adds an array to an instruction's shape, as item `item` of its tuple; -1: the shape is not a tuple. */
static void hlo_add_leaf(hlo_module *h, hlo_instruction *in, sett_tile_shape leaf, int item) {
  in->leaf = (sett_tile_shape *)hlo_grow(h, in->leaf, in->leaves, sizeof *in->leaf);
  in->item = (int *)hlo_grow(h, in->item, in->leaves, sizeof *in->item);
  if (!in->leaf || !in->item) return;
  in->leaf[in->leaves] = leaf;
  in->item[in->leaves++] = item;
}

/* Reads the integers of an attribute. Returns how many there are; 0 if the attribute is missing. */
static int hlo_numbers(const hlo_instruction *in, const char *name, int64_t *values) {
  const hlo_attribute *attribute = hlo_find_attribute(in, name);
  return attribute ? hlo_integers(attribute->value, values, SETT_TILE_MAX_RANK) : 0;
}

static int hlo_among(const int64_t *values, int count, int64_t value) {
  while (count > 0)
    if (values[--count] == value) return 1;
  return 0;
}

/* Reads the integers of one word of window={size=3x3 stride=1x2 pad=..}. Returns how many there are; 0 if the word is
 * missing. */
static int hlo_window_word(const hlo_instruction *in, const char *name, int64_t *values) {
  const hlo_attribute *attribute = hlo_find_attribute(in, "window");
  size_t i, length = strlen(name);
  hlo_text text;
  for (i = 0; attribute && i + length < attribute->value.length; ++i) {
    text.at = attribute->value.at + i;
    if (memcmp(text.at, name, length) || text.at[length] != '=' || (i && hlo_name_char(text.at[-1]))) continue;
    text.at += length + 1;
    for (text.length = 0; text.at + text.length < attribute->value.at + attribute->value.length &&
                          !strchr(" \t\r\n}", text.at[text.length]);)
      ++text.length;
    return hlo_integers(text, values, 2 * SETT_TILE_MAX_RANK);
  }
  return 0;
}

/* Returns the number of window positions along dimension k, which has size `base`; 1 if there is no window. */
static int64_t hlo_places(const hlo_instruction *in, int k, int64_t base) {
  int64_t size[2 * SETT_TILE_MAX_RANK], more[2 * SETT_TILE_MAX_RANK], stride = 1, wide = 1, spread = 1, low = 0,
                                                                      high = 0, reach;
  if (k >= hlo_window_word(in, "size", size)) return base;
  if (k < hlo_window_word(in, "stride", more)) stride = more[k];
  if (k < hlo_window_word(in, "lhs_dilate", more)) spread = more[k];
  if (k < hlo_window_word(in, "rhs_dilate", more)) wide = more[k];
  if (2 * k + 1 < hlo_window_word(in, "pad", more)) low = more[2 * k], high = more[2 * k + 1];
  if (stride < 1 || size[k] < 1 || base > INT32_MAX || spread > INT32_MAX || wide > INT32_MAX || size[k] > INT32_MAX ||
      low > INT32_MAX || high > INT32_MAX || low < -INT32_MAX || high < -INT32_MAX)
    return -1;
  base = (base ? (base - 1) * spread + 1 : 0) + low + high;
  reach = (size[k] - 1) * wide + 1;
  return reach > base ? 0 : (base - reach) / stride + 1;
}

/* Infers the dimensions of the result, or of each result of a reduce. Returns the rank; -1 if that is impossible. */
static int hlo_infer_dims(const hlo_module *h, const hlo_instruction *in, int64_t *dims) {
  const sett_tile_shape *a = hlo_array_of(h, in, 0), *b = hlo_array_of(h, in, 1);
  int64_t one[SETT_TILE_MAX_RANK], two[SETT_TILE_MAX_RANK], three[SETT_TILE_MAX_RANK], four[SETT_TILE_MAX_RANK];
  int i, k, n = 0, rank = 0, count;
  if (!a) return -1;
  if (hlo_is(in->opcode, "reduce")) {
    count = hlo_numbers(in, "dimensions", one);
    for (i = 0; i < a->rank; ++i)
      if (!hlo_among(one, count, i)) dims[rank++] = a->dims[i];
    return count < 0 ? -1 : rank;
  }
  if (hlo_is(in->opcode, "reduce-window")) {
    for (i = 0; i < a->rank; ++i)
      if ((dims[i] = hlo_places(in, i, a->dims[i])) < 0) return -1;
    return a->rank;
  }
  if (hlo_is(in->opcode, "map")) {
    memcpy(dims, a->dims, (size_t)a->rank * sizeof *dims);
    return a->rank;
  }
  if (hlo_is(in->opcode, "dynamic-slice")) {
    count = hlo_numbers(in, "dynamic_slice_sizes", dims);
    return count == a->rank ? count : -1;
  }
  if (hlo_is(in->opcode, "concatenate")) {
    if (hlo_numbers(in, "dimensions", one) != 1 || one[0] < 0 || one[0] >= a->rank) return -1;
    memcpy(dims, a->dims, (size_t)a->rank * sizeof *dims);
    for (i = 1; i < in->operands; ++i) {
      if (!(b = hlo_array_of(h, in, i)) || b->rank != a->rank || dims[one[0]] > INT64_MAX - b->dims[one[0]]) return -1;
      dims[one[0]] += b->dims[one[0]];
    }
    return a->rank;
  }
  if (hlo_is(in->opcode, "slice") || hlo_is(in->opcode, "pad")) {
    int slice = hlo_is(in->opcode, "slice");
    const hlo_attribute *attribute = hlo_find_attribute(in, slice ? "slice" : "padding");
    const char *at = attribute ? attribute->value.at : NULL, *end = attribute ? at + attribute->value.length : NULL;
    /* a dimension of slice= is in brackets; one of padding= ends at an x */
    for (; at < end && rank < a->rank; ++rank) {
      hlo_text part;
      int64_t size = a->dims[rank];
      while (slice && at < end && *at != '[') ++at;
      part.at = at;
      while (at < end && *at != (slice ? ']' : 'x')) ++at;
      part.length = (size_t)(at - part.at);
      at += at < end;
      three[2] = slice;
      if (hlo_integers(part, three, 3) < 2) return -1;
      if (slice && (three[2] < 1 || three[0] < 0 || three[1] < three[0])) return -1;
      if (!slice && (size > INT32_MAX || three[0] > INT32_MAX || three[1] > INT32_MAX || three[2] > INT32_MAX ||
                     three[2] < 0 || three[0] < -INT32_MAX || three[1] < -INT32_MAX))
        return -1;
      dims[rank] = slice ? (three[1] - three[0] - 1) / three[2] + (three[1] > three[0])
                         : three[0] + three[1] + size + (size ? (size - 1) * three[2] : 0);
      if (slice && three[1] == three[0]) dims[rank] = 0;
      if (dims[rank] < 0) return -1;
    }
    return rank == a->rank ? rank : -1;
  }
  if (hlo_is(in->opcode, "gather")) {
    const hlo_attribute *vector_dim = hlo_find_attribute(in, "index_vector_dim");
    int64_t vector = -1;
    int offsets = hlo_numbers(in, "offset_dims", one), sizes = hlo_numbers(in, "slice_sizes", two);
    int collapsed = hlo_numbers(in, "collapsed_slice_dims", three),
        batching = hlo_numbers(in, "operand_batching_dims", four);
    if (!b || offsets < 0 || sizes != a->rank || collapsed < 0 || batching < 0) return -1;
    if (!vector_dim || hlo_integers(vector_dim->value, &vector, 1) != 1) return -1;
    for (i = k = 0; rank < b->rank - (vector < b->rank) + offsets; ++rank) {
      if (rank >= SETT_TILE_MAX_RANK) return -1;
      if (hlo_among(one, offsets, rank)) {
        while (i < sizes && (hlo_among(three, collapsed, i) || hlo_among(four, batching, i))) ++i;
        if (i == sizes) return -1;
        dims[rank] = two[i++];
      } else {
        if (k == vector) ++k;
        if (k >= b->rank) return -1;
        dims[rank] = b->dims[k++];
      }
    }
    return rank;
  }
  if (!b) return -1;
  if (hlo_is(in->opcode, "dot") || hlo_is(in->opcode, "scaled-dot")) {
    int batch = hlo_numbers(in, "lhs_batch_dims", one), sums = hlo_numbers(in, "lhs_contracting_dims", two);
    int other_batch = hlo_numbers(in, "rhs_batch_dims", three),
        other_sums = hlo_numbers(in, "rhs_contracting_dims", four);
    if (batch < 0 || sums < 0 || other_batch < 0 || other_sums < 0) return -1;
    for (i = 0; i < batch; ++i) {
      if (one[i] < 0 || one[i] >= a->rank) return -1;
      dims[rank++] = a->dims[one[i]];
    }
    for (i = 0; i < a->rank && rank < SETT_TILE_MAX_RANK; ++i)
      if (!hlo_among(one, batch, i) && !hlo_among(two, sums, i)) dims[rank++] = a->dims[i];
    for (i = 0; i < b->rank && rank < SETT_TILE_MAX_RANK; ++i)
      if (!hlo_among(three, other_batch, i) && !hlo_among(four, other_sums, i)) dims[rank++] = b->dims[i];
    return rank;
  }
  if (hlo_is(in->opcode, "convolution")) {
    const hlo_attribute *labels = hlo_find_attribute(in, "dim_labels");
    const char *out, *kernel;
    int64_t groups = 1;
    n = a->rank;
    /* b01f_01io->b01f: three parts of n letters */
    if (!labels || b->rank != n || labels->value.length != (size_t)(3 * n + 3)) return -1;
    kernel = labels->value.at + n + 1, out = kernel + n + 2;
    if (hlo_numbers(in, "batch_group_count", one) == 1) groups = one[0];
    for (i = 0; i < n; ++i) {
      const char *from =
          (const char *)memchr(out[i] == 'f' ? kernel : labels->value.at, out[i] == 'f' ? 'o' : out[i], (size_t)n);
      if (!from || groups < 1) return -1;
      if (out[i] == 'f') dims[i] = b->dims[from - kernel];
      else if (out[i] == 'b') dims[i] = a->dims[from - labels->value.at] / groups;
      else if (out[i] < '0' || out[i] > '9') return -1;
      else if ((dims[i] = hlo_places(in, out[i] - '0', a->dims[from - labels->value.at])) < 0) return -1;
    }
    return n;
  }
  return -1;
}

/* Infers a missing shape from the operands and attributes. If maps do not depend on the element type, the shape
 * gets that of operand 0. The layout is row-major, except for a transpose, which gets the layout for which no byte
 * moves. */
static void hlo_infer_shape(hlo_module *h, hlo_instruction *in) {
  static const char *const as_first[] = {"dynamic-update-slice", "reverse",     "copy",  "scatter",
                                         "select-and-scatter",   "opt-barrier", "while", "cholesky",
                                         "add-dependency",       "domain"};
  int64_t dims[2 * SETT_TILE_MAX_RANK];
  int32_t order[SETT_TILE_MAX_RANK];
  const sett_tile_shape *a = hlo_array_of(h, in, 0);
  const hlo_instruction *like = NULL;
  const hlo_attribute *called = hlo_find_attribute(in, hlo_is(in->opcode, "fusion") ? "calls" : "to_apply");
  int i, k, rank, alike = hlo_has_operands_shape(in->opcode) && !hlo_is(in->opcode, "map");
  int many = hlo_is(in->opcode, "reduce") || hlo_is(in->opcode, "reduce-window") ? in->operands / 2 : 1;
  for (i = 0; i < (int)(sizeof as_first / sizeof *as_first); ++i)
    if (in->operands && hlo_is(in->opcode, as_first[i])) like = &h->instruction[in->operand[0]];
  if (called && (hlo_is(in->opcode, "fusion") || hlo_is(in->opcode, "call"))) {
    k = in->body ? in->body - 1 : hlo_find_computation(h, called->value);
    if (k >= 0 && h->computation[k].root >= 0) like = &h->instruction[h->computation[k].root];
  }
  if (alike) {
    for (i = 0; i < in->operands; ++i) {
      const hlo_instruction *operand = &h->instruction[in->operand[i]];
      if (operand->leaves == 1 && (!like || operand->leaf[0].rank > like->leaf[0].rank)) like = operand;
    }
  }
  if (like && alike) {
    sett_tile_shape shape = like->leaf[0];
    if (hlo_is(in->opcode, "compare") || hlo_is(in->opcode, "is-finite")) shape.type = SETT_TILE_PRED;
    else if ((hlo_is(in->opcode, "select") || hlo_is(in->opcode, "clamp")) && hlo_array_of(h, in, 1))
      shape.type = hlo_array_of(h, in, 1)->type;
    hlo_add_leaf(h, in, shape, -1);
  } else if (like) {
    in->leaves = like->leaves, in->leaf = like->leaf, in->item = like->item, in->item_count = like->item_count;
  } else if (hlo_is(in->opcode, "tuple")) {
    for (i = 0; i < in->operands; ++i)
      for (k = 0; k < h->instruction[in->operand[i]].leaves; ++k)
        hlo_add_leaf(h, in, h->instruction[in->operand[i]].leaf[k], i);
    in->item_count = in->operands;
  } else if (hlo_is(in->opcode, "get-tuple-element") && in->operands == 1 && hlo_numbers(in, "index", dims) == 1) {
    const hlo_instruction *of = &h->instruction[in->operand[0]];
    for (k = 0; k < of->leaves; ++k)
      if (of->item[k] == dims[0]) hlo_add_leaf(h, in, of->leaf[k], -1);
    /* if the element is a tuple itself, its shape cannot be inferred, because nothing tells where its items end */
    if (in->leaves > 1) in->leaves = 0;
  } else if (hlo_is(in->opcode, "transpose") && a && hlo_numbers(in, "dimensions", dims) == a->rank) {
    sett_tile_shape turned;
    for (i = 0; i < a->rank; ++i) order[i] = dims[i] >= 0 && dims[i] < a->rank ? (int32_t)dims[i] : -1;
    turned = sett_tile_permute(a, order);
    if (!turned.error) hlo_add_leaf(h, in, turned, -1);
  } else if ((rank = hlo_infer_dims(h, in, dims)) >= 0) {
    for (k = 0; k < many; ++k) {
      const sett_tile_shape *of = hlo_array_of(h, in, k);
      sett_tile_shape shape;
      if (!of) break;
      shape = sett_tile_make(of->type, rank, dims, NULL);
      if (!shape.error) hlo_add_leaf(h, in, shape, many > 1 ? k : -1);
    }
    in->item_count = many > 1 ? many : 0;
  }
  if (!h->fault && !in->leaves && !(hlo_is(in->opcode, "tuple") && !in->operands))
    hlo_fail(h, in->opcode.at, "expected a shape");
  in->shape = in->opcode; /* errors of the shape point at the opcode */
}

/* Reads [ROOT] name = shape opcode(operands), attribute=value, .. */
static void hlo_read_instruction(hlo_module *h, hlo_computation *c, int computation) {
  hlo_instruction in;
  int root = 0;
  memset(&in, 0, sizeof in);
  in.computation = computation;
  in.name = hlo_name(h);
  if (hlo_is(in.name, "ROOT") && !hlo_peek(h, '=')) {
    root = 1;
    in.name = hlo_name(h);
  }
  if (!in.name.length) {
    hlo_fail(h, h->at, "expected the name of an instruction or '}'");
    return;
  }
  if (hlo_find_instruction(h, computation, in.name) >= 0)
    hlo_fail(h, in.name.at, "this name is taken: expected another name for the instruction");
  hlo_want(h, '=', "expected '=' after the name of an instruction");
  if (hlo_at_shape(h)) hlo_shape(h, &in);
  in.opcode = hlo_name(h);
  if (!h->fault && !in.opcode.length) hlo_fail(h, h->at, "expected an opcode");
  if (h->fault) return;
  hlo_read_operands(h, &in);
  while (hlo_take_char(h, ',')) hlo_read_attribute(h, &in);
  if (!h->fault && !in.shape.at) hlo_infer_shape(h, &in);
  if (h->fault) return;
  if (hlo_is(in.opcode, "parameter")) {
    size_t i, digits = 0;
    for (i = 0; i < in.inside.length; ++i) {
      char digit = in.inside.at[i];
      if (digit == ' ') continue;
      if (digit < '0' || digit > '9' || ++digits > 8) {
        hlo_fail(h, in.inside.at + i, "expected the number of a parameter");
        return;
      }
      in.number = in.number * 10 + (digit - '0');
    }
    if (!digits) hlo_fail(h, in.inside.at, "expected the number of a parameter");
    for (i = (size_t)c->first; i < (size_t)h->instructions; ++i)
      if (hlo_is(h->instruction[i].opcode, "parameter") && h->instruction[i].number == in.number)
        hlo_fail(h, in.inside.at, "this parameter is there already: expected another number");
  }
  h->instruction = (hlo_instruction *)hlo_grow(h, h->instruction, h->instructions, sizeof in);
  if (!h->instruction || h->fault) return;
  if (root) {
    if (c->root >= 0) hlo_fail(h, in.name.at, "a second ROOT: expected one in a computation");
    c->root = h->instructions;
  }
  h->instruction[h->instructions++] = in;
  hlo_enter(h, h->instructions - 1);
  ++c->count;
}

/* Reads { instructions } */
static void hlo_read_body(hlo_module *h, hlo_computation c) {
  c.root = -1;
  c.first = h->instructions;
  hlo_want(h, '{', "expected '{' and the instructions of a computation");
  while (!h->fault && !hlo_peek(h, '}')) {
    if (h->at == h->end) hlo_fail(h, h->at, "expected an instruction or '}'");
    else hlo_read_instruction(h, &c, h->computations);
  }
  if (h->fault) return;
  if (!c.count) {
    hlo_fail(h, h->at, "expected an instruction");
    return;
  }
  ++h->at;
  if (c.root < 0) c.root = h->instructions - 1;
  h->computation = (hlo_computation *)hlo_grow(h, h->computation, h->computations, sizeof c);
  if (h->computation) h->computation[h->computations++] = c;
}

/* Reads [ENTRY] name [(parameters) -> shape] { instructions }, attribute=value, .. */
static void hlo_read_computation(hlo_module *h) {
  hlo_computation c;
  hlo_instruction result; /* the result's shape in the header */
  memset(&c, 0, sizeof c);
  memset(&result, 0, sizeof result);
  c.name = hlo_name(h);
  if (hlo_is(c.name, "ENTRY") && !hlo_peek(h, '{')) {
    c.entry = 1;
    c.name = hlo_name(h);
  }
  if (!c.name.length) {
    hlo_fail(h, h->at, "expected the name of a computation");
    return;
  }
  if (hlo_find_computation(h, c.name) >= 0)
    hlo_fail(h, c.name.at, "this name is taken: expected another name for the computation");
  if (hlo_peek(h, '(')) {
    hlo_balanced(h);
    hlo_blank(h);
    if (h->end - h->at < 2 || h->at[0] != '-' || h->at[1] != '>') {
      hlo_fail(h, h->at, "expected '->' and the shape of the result");
      return;
    }
    h->at += 2;
    hlo_shape(h, &result);
  }
  if (c.entry && h->entry >= 0) hlo_fail(h, c.name.at, "a second ENTRY: expected one in a module");
  if (c.entry) h->entry = h->computations;
  hlo_read_body(h, c);
  if (!h->fault && result.shape.at &&
      !hlo_same_arrays(&result, &h->instruction[h->computation[h->computations - 1].root]))
    hlo_fail(h, result.shape.at, "expected the types and dimensions of the root");
  while (hlo_take_char(h, ',')) hlo_read_attribute(h, NULL);
}

/* Reads inline computations, which get the name of their caller. They may contain further inline computations. */
static void hlo_read_bodies(hlo_module *h) {
  int i;
  for (i = 0; i < h->instructions && !h->fault; ++i) {
    const hlo_attribute *calls =
        hlo_find_attribute(&h->instruction[i], hlo_is(h->instruction[i].opcode, "fusion") ? "calls" : "to_apply");
    hlo_computation c;
    if (!calls || *calls->value.at != '{') continue;
    memset(&c, 0, sizeof c);
    c.name = h->instruction[i].name;
    h->instruction[i].body = h->computations + 1;
    h->at = calls->value.at;
    hlo_read_body(h, c);
  }
}

/* Skips tables of source positions. A table is a line with only a name, followed by numbered lines. */
static int hlo_skip_sources(hlo_module *h) {
  static const char *const names[] = {"FileNames", "FunctionNames", "FileLocations", "StackFrames"};
  const char *start = h->at;
  hlo_text name = hlo_name(h);
  size_t i;
  for (i = 0; i < 4; ++i)
    if (hlo_is(name, names[i])) break;
  while (i < 4 && h->at < h->end && strchr(" \t\r", *h->at)) ++h->at;
  if (i == 4 || h->at == h->end || *h->at != '\n') {
    h->at = start;
    return 0;
  }
  for (;;) {
    hlo_blank(h);
    if (h->at == h->end || *h->at < '0' || *h->at > '9') return 1;
    while (h->at < h->end && *h->at != '\n') ++h->at;
  }
}

/* Reads a module. Returns 1, or sets `fault` and `message`. The caller must call hlo_free in both cases. */
static int hlo_read(hlo_module *h, const char *text, size_t length) {
  const char *start;
  hlo_text word;
  memset(h, 0, sizeof *h);
  h->text = h->at = text;
  h->end = text + length;
  h->entry = -1;
  hlo_blank(h);
  start = h->at;
  word = hlo_name(h);
  if (hlo_is(word, "HloModule") && !hlo_peek(h, '{')) {
    if (!hlo_name(h).length) hlo_fail(h, h->at, "expected the name of the module");
    while (hlo_take_char(h, ',')) hlo_read_attribute(h, NULL);
  } else if (!h->fault) {
    h->at = start;
  }
  for (;;) {
    hlo_blank(h);
    if (h->fault || h->at == h->end) break;
    if (!hlo_skip_sources(h)) hlo_read_computation(h);
  }
  if (!h->fault && !h->computations) hlo_fail(h, h->end, "expected a computation");
  if (!h->fault && h->entry < 0) h->entry = h->computations - 1;
  if (!h->fault) hlo_read_bodies(h);
  return !h->fault;
}

/* ---- values of attributes ---- */

/* Reads all integers in a text, whatever characters separate them. Returns how many there are; -1 if there are too many
 * or one is too large. */
static int hlo_integers(hlo_text text, int64_t *values, int limit) {
  const char *at = text.at, *end = text.at + text.length;
  int count = 0;
  while (at < end) {
    int64_t value = 0;
    int found = read_integer(&at, end, &value);
    if (found < 0 || (found && count == limit)) return -1;
    if (found) values[count++] = value;
    else ++at;
  }
  return count;
}

/* Returns true if a text consists of integers and separators only: {a,b,..} or a. */
static int hlo_integer_list(hlo_text text) {
  size_t i;
  for (i = 0; i < text.length; ++i)
    if (!strchr("{}-, 0123456789\n\t\r", text.at[i]) || !text.at[i]) return 0;
  return 1;
}
