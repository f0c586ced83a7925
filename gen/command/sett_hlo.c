/* Reads HLO text for `sett indexing` (a part of gen/command/sett.c): computations, instructions, shapes, operands; attributes are kept as text and read by who needs
   them. The generator's own reader (gen/hlo) checks what a kernel needs and infers shapes; this one exists so that the command needs no Python, and is as
   small as that allows: it checks what maps are made of (shapes, dimensions, what constants hold), not what ops compute (the types that an op takes, how
   floating literals are written, the computations that reduce and its like apply, which need not be there). Faults carry their place in the file. Nothing recurses. */

typedef struct {
  const char *at;
  size_t length;
} hlo_text;

typedef struct {
  hlo_text name, value;
} hlo_attribute;

typedef struct {
  hlo_text name, opcode, shape, inside; /* inside: the text between the brackets of the operands */
  int computation;
  int leaves, item_count;
  sett_tile_shape *leaf;
  int *item; /* of each leaf: its place in the outermost tuple */
  int operands, *operand;
  int attributes;
  hlo_attribute *attribute;
  int number; /* of a parameter */
  int body;   /* 1 + the computation that calls={..} or to_apply={..} writes in place */
} hlo_instruction;

typedef struct {
  hlo_text name;
  int first, count, root; /* instructions */
  int entry;
} hlo_computation;

typedef struct hlo_block {
  struct hlo_block *next;
  int64_t memory[]; /* aligned for all that is taken, also where a pointer has 4 bytes */
} hlo_block;

typedef struct {
  const char *text, *at, *end;
  const char *fault; /* where the first fault is, NULL: none */
  const char *message;
  int computations, instructions;
  hlo_computation *computation;
  hlo_instruction *instruction;
  int entry;
  int slots, *slot;  /* instructions by computation and name: 1 + their number, a power of two of them */
  hlo_block *blocks; /* all memory */
} hlo_module;

static void hlo_fail(hlo_module *h, const char *at, const char *message) {
  if (!h->fault) {
    h->fault = at;
    h->message = message;
  }
  h->at = h->end; /* whatever loop is running ends */
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

/* An array of count entries with room for one more; it doubles. */
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

/* A name, with or without %; length 0: there is none. */
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

/* Skips from an opening bracket behind the one that closes it; kinds must match. */
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

/* Does a shape start here: a bracket, or a type and [. */
static int hlo_at_shape(hlo_module *h) {
  const char *at;
  hlo_blank(h);
  if (h->at < h->end && *h->at == '(') return 1;
  for (at = h->at; at < h->end && ((*at >= 'a' && *at <= 'z') || (*at >= '0' && *at <= '9')); ++at) {}
  if (at == h->at || *h->at < 'a') return 0;
  while (at < h->end && *at == ' ') ++at;
  return at < h->end && *at == '[';
}

/* Reads a shape; into may be NULL. */
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
  into->item_count = item + 1; /* 0: no tuple */
}

static const hlo_attribute *hlo_find_attribute_named(const hlo_instruction *instruction, hlo_text name) {
  int i;
  for (i = 0; i < instruction->attributes; ++i)
    if (hlo_same(instruction->attribute[i].name, name)) return &instruction->attribute[i];
  return NULL;
}

/* name=value; the value is kept as text. */
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

/* The slot of an instruction of that name, or the empty one where it would be. */
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

/* Are the arrays of two instructions of the same dimensions, leaf by leaf. */
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

/* The same, and of the same types. */
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
      hlo_instruction written; /* the operand's shape, where it is repeated */
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

static int hlo_has_operands_shape(hlo_text opcode); /* elementwise */

/* A shape that is not written is that of an operand, as long as the op says so. */
static void hlo_infer_shape(hlo_module *h, hlo_instruction *in) {
  int i;
  if (!in->operands || !hlo_has_operands_shape(in->opcode)) {
    hlo_fail(h, in->opcode.at, "expected a shape");
    return;
  }
  for (i = 0; i < in->operands; ++i) {
    const hlo_instruction *operand = &h->instruction[in->operand[i]];
    if (operand->leaves != 1 || (in->leaves && operand->leaf[0].rank <= in->leaf[0].rank)) continue;
    in->shape = operand->shape;
    in->leaves = 1;
    in->leaf = operand->leaf;
    in->item = operand->item;
  }
  if (!in->leaves) hlo_fail(h, in->opcode.at, "expected a shape");
}

/* [ROOT] name = shape opcode(operands), attribute=value, .. */
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

/* { instructions } */
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

/* [ENTRY] name [(parameters) -> shape] { instructions }, attribute=value, .. */
static void hlo_read_computation(hlo_module *h) {
  hlo_computation c;
  hlo_instruction result; /* as the header says it */
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

/* Computations that are written where they are called; they have the caller's name. More are found while these are read. */
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

/* Tables of where an instruction was written: a name alone on its line, then numbered lines. */
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

/* Reads a module; 1 when it went well, else fault and message say why. hlo_free in any case. */
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

/* Integers inside a text, whatever stands between them; the count, or -1: too many or too large. */
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

/* Is the text {a,b,..} or a: integers and what stands between them. */
static int hlo_integer_list(hlo_text text) {
  size_t i;
  for (i = 0; i < text.length; ++i)
    if (!strchr("{}-, 0123456789\n\t\r", text.at[i]) || !text.at[i]) return 0;
  return 1;
}
