/* The command `indexing` (included by gen/command/sett.c): the maps of every instruction of an HLO file and of whole
   fusions, and the meaning of their runtime variables. It covers the entry and all computations that the entry calls,
   except those that ops apply to scalars. It writes lines of five fields, separated by tabs:
     NAME  output->operand | operand->output  OPERAND  exact | covering  MAP
                    a map of an instruction or of a whole fusion. If the entry has at most 256 instructions, it also has
                    such lines, under its own name and with its parameters as operands.
     NAME  rt  rt0  INSTRUCTION  MAP
                    the instruction that supplies a runtime variable of the maps above, and the index that is read
     NAME  reason  OPERAND  covering  TEXT
                    the reason why a map is only covering, or UNDEFINED
     NAME  replica  OPERAND  exact  MAP
                    the replica from which an element of an all-gather comes
     NAME  physical output->operand  ..
                    the map between positions in memory, if a layout is not row-major. A position is given by the
                    indices in memory order or, if the layout has tiles, by one number.
     ROOT  output->NAME  LEAF  ..
                    inside a fusion: the map from its root to an instruction
     NAME  operand->ROOT  ..
                    inside a fusion: the map from an instruction to the root
   Maps are simplified. Equal maps are written once. */
#include "sett_hlo.c"

#if !defined(INDEXING_STORE)
/* bytes of memory for the maps of whole computations; the system provides no pages for the unused part */
#define INDEXING_STORE(arena) (4 * (arena)->bytes)
#endif

/* INDEXING_ENTRY: maximum number of instructions of the entry computation if its maps are composed as a whole.
 * INDEXING_VALUES: maximum number of integers in the attributes of an op. INDEXING_CHUNK: number of integers that are
 * allocated at once. */
enum { INDEXING_ENTRY = 256, INDEXING_VALUES = 4096, INDEXING_CHUNK = 1 << 16 };

/* Maps from one array of a computation's root to each value (down), and from each value to it (up). */
typedef struct {
  sett_analysis_set *down, *up;
} indexing_root;

/* A computation as a graph. Its values are the arrays in its instructions' shapes. */
typedef struct {
  int needed, done;
  sett_analysis_graph graph;
  indexing_root *root;
  /* `from`: the number of each instruction's first edge. The edges of the last instruction come first, so the edges of
   * instruction i end before edge from[i - 1]. `number`: for each edge, the number of the operand that it leads to. */
  int *from, *number;
} indexing_whole;

typedef struct {
  int reader; /* the value from which the runtime variable is read */
  const char *key;
} indexing_name;

typedef struct {
  command *self;
  hlo_module h;
  sett_map_arena *arena;
  sett_map_mark empty;
  sett_analysis_store store;
  indexing_whole *whole; /* an array with one element per computation */
  int *at, *owner;       /* `at`: the first value of each instruction; `owner`: the instruction of each value */
  int names;             /* number of runtime variables of the current instruction */
  indexing_name *name;
  int lines; /* number of lines written for the current operand */
  const char **line;
  int64_t *value; /* memory for the integers in the attributes of ops */
  int values, limit, room;
  const hlo_instruction *in_of; /* the instruction whose operands' dimensions are in `in` */
  sett_analysis_list *in;
} indexing;

static void indexing_fresh(indexing *x) { sett_map_arena_rewind(x->arena, x->empty); }

/* ---- an instruction as an op with integer attributes ---- */

typedef struct {
  const char *name;
  int operands; /* number of operands; -1: any number */
  int opcode;   /* SETT_ANALYSIS_NONE: the op has no known map */
} indexing_opcode;

enum { INDEXING_TUPLE = 1000, INDEXING_ELEMENT, INDEXING_SAME, INDEXING_CALL };

static const indexing_opcode indexing_opcodes[] = {
#define UNARY(name) {name, 1, SETT_ANALYSIS_ELEMENTWISE},
#define BINARY(name) {name, 2, SETT_ANALYSIS_ELEMENTWISE},
#define UNKNOWN(name) {name, -1, SETT_ANALYSIS_NONE},
    /* clang-format off */
    UNARY("abs") UNARY("acos") UNARY("acosh") UNARY("asin") UNARY("asinh") UNARY("atanh") UNARY("cbrt") UNARY("ceil")
    UNARY("convert") UNARY("copy") UNARY("cos") UNARY("cosine") UNARY("cosh") UNARY("count-leading-zeros")
    UNARY("erf") UNARY("exponential") UNARY("exponential-minus-one") UNARY("floor") UNARY("imag") UNARY("is-finite")
    UNARY("log") UNARY("log-plus-one") UNARY("logistic") UNARY("negate") UNARY("not") UNARY("popcnt") UNARY("real")
    UNARY("reduce-precision") UNARY("round-nearest-afz") UNARY("round-nearest-even") UNARY("rsqrt") UNARY("sign")
    UNARY("sine") UNARY("sinh") UNARY("sqrt") UNARY("tan") UNARY("tanh")
    BINARY("add") BINARY("and") BINARY("atan2") BINARY("compare") BINARY("complex") BINARY("divide") BINARY("maximum")
    BINARY("minimum") BINARY("mulhi") BINARY("multiply") BINARY("or") BINARY("power") BINARY("remainder") BINARY("shift-left")
    BINARY("shift-right-arithmetic") BINARY("shift-right-logical") BINARY("stochastic-convert") BINARY("subtract")
    BINARY("xor")
    {"select", 3, SETT_ANALYSIS_ELEMENTWISE}, {"clamp", 3, SETT_ANALYSIS_ELEMENTWISE},
    {"map", -1, SETT_ANALYSIS_ELEMENTWISE}, {"broadcast", 1, SETT_ANALYSIS_BROADCAST},
    {"transpose", 1, SETT_ANALYSIS_TRANSPOSE}, {"reshape", 1, SETT_ANALYSIS_RESHAPE},
    {"bitcast", 1, SETT_ANALYSIS_BITCAST}, {"bitcast-convert", 1, SETT_ANALYSIS_BITCAST_CONVERT},
    {"slice", 1, SETT_ANALYSIS_SLICE}, {"reverse", 1, SETT_ANALYSIS_REVERSE}, {"pad", 2, SETT_ANALYSIS_PAD},
    {"concatenate", -1, SETT_ANALYSIS_CONCATENATE}, {"reduce", -1, SETT_ANALYSIS_REDUCE},
    {"reduce-window", -1, SETT_ANALYSIS_REDUCE_WINDOW}, {"select-and-scatter", 3, SETT_ANALYSIS_SELECT_AND_SCATTER},
    {"dot", 2, SETT_ANALYSIS_DOT}, {"scaled-dot", -1, SETT_ANALYSIS_SCALED_DOT},
    {"convolution", 2, SETT_ANALYSIS_CONVOLUTION}, {"dynamic-slice", -1, SETT_ANALYSIS_DYNAMIC_SLICE},
    {"dynamic-update-slice", -1, SETT_ANALYSIS_DYNAMIC_UPDATE_SLICE}, {"gather", 2, SETT_ANALYSIS_GATHER},
    {"scatter", -1, SETT_ANALYSIS_SCATTER}, {"all-gather", 1, SETT_ANALYSIS_ALL_GATHER},
    {"tuple", -1, INDEXING_TUPLE}, {"get-tuple-element", 1, INDEXING_ELEMENT}, {"opt-barrier", 1, INDEXING_SAME},
    {"optimization-barrier", 1, INDEXING_SAME}, {"domain", 1, INDEXING_SAME}, {"add-dependency", 2, INDEXING_SAME},
    {"fusion", -1, INDEXING_CALL}, {"call", -1, INDEXING_CALL},
    UNKNOWN("parameter") UNKNOWN("constant") UNKNOWN("iota") UNKNOWN("after-all") UNKNOWN("all-gather-done")
    UNKNOWN("all-gather-start") UNKNOWN("all-reduce") UNKNOWN("all-reduce-done") UNKNOWN("all-reduce-start")
    UNKNOWN("all-to-all") UNKNOWN("async-done") UNKNOWN("async-start") UNKNOWN("async-update")
    UNKNOWN("batch-norm-grad") UNKNOWN("batch-norm-inference") UNKNOWN("batch-norm-training") UNKNOWN("cholesky")
    UNKNOWN("collective-broadcast") UNKNOWN("collective-permute") UNKNOWN("collective-permute-done")
    UNKNOWN("collective-permute-start") UNKNOWN("conditional") UNKNOWN("copy-done") UNKNOWN("copy-start")
    UNKNOWN("custom-call") UNKNOWN("dynamic-reshape") UNKNOWN("fft") UNKNOWN("get-dimension-size") UNKNOWN("infeed")
    UNKNOWN("outfeed") UNKNOWN("partition-id") UNKNOWN("ragged-all-to-all") UNKNOWN("ragged-dot") UNKNOWN("recv")
    UNKNOWN("recv-done") UNKNOWN("reduce-scatter") UNKNOWN("replica-id") UNKNOWN("rng") UNKNOWN("rng-bit-generator")
    UNKNOWN("rng-get-and-update-state") UNKNOWN("scan") UNKNOWN("send") UNKNOWN("send-done")
    UNKNOWN("set-dimension-size") UNKNOWN("sort") UNKNOWN("topk") UNKNOWN("triangular-solve") UNKNOWN("while")
/* clang-format on */
#undef UNARY
#undef BINARY
#undef UNKNOWN
};

static const indexing_opcode *indexing_find_opcode(hlo_text name) {
  size_t i;
  for (i = 0; i < sizeof indexing_opcodes / sizeof indexing_opcodes[0]; ++i)
    if (hlo_is(name, indexing_opcodes[i].name)) return &indexing_opcodes[i];
  return NULL;
}

/* Finds an opcode whose operands have maps: an opcode of HLO, or elementwise, scalar or reduce-init. Sets *operands to
 * their number (-1: any number). Returns 0 if there is no such opcode. */
static int op_find(const char *name, int *opcode, int *operands) {
  hlo_text text;
  const indexing_opcode *found;
  text.at = name;
  text.length = strlen(name);
  found = indexing_find_opcode(text);
  *operands = found ? found->operands : -1;
  *opcode = !strcmp(name, "reduce-init")     ? SETT_ANALYSIS_SCALAR
            : !found                         ? sett_analysis_opcode_find(name)
            : found->opcode == INDEXING_SAME ? SETT_ANALYSIS_ELEMENTWISE
                                             : found->opcode;
  return *opcode > SETT_ANALYSIS_NONE && *opcode < SETT_ANALYSIS_OPCODE_COUNT;
}

static int hlo_has_operands_shape(hlo_text opcode) {
  const indexing_opcode *found = indexing_find_opcode(opcode);
  return found && found->opcode == SETT_ANALYSIS_ELEMENTWISE;
}

/* Makes room in `value` for the integers in the attributes of one more op. */
static void indexing_room(indexing *x) {
  if (x->room - x->values < INDEXING_VALUES) {
    x->value = (int64_t *)hlo_take(&x->h, INDEXING_CHUNK * sizeof *x->value);
    x->values = 0;
    x->room = x->value ? INDEXING_CHUNK : 0;
  }
  x->limit = x->values + (x->room ? INDEXING_VALUES : 0);
}

/* Reads an attribute that is a list of integers: {1,0}, 1, or "2x3" in a window. The list is empty if the attribute is
 * missing. */
static sett_analysis_list indexing_integers(indexing *x, hlo_text text) {
  sett_analysis_list list = {0, NULL};
  int count = hlo_integers(text, x->value + x->values, x->limit - x->values);
  if (count < 0) {
    hlo_fail(&x->h, text.at, "expected fewer integers, of 64 bits");
    return list;
  }
  list.count = count;
  list.values = x->value + x->values;
  x->values += count;
  return list;
}

static sett_analysis_list indexing_list(indexing *x, const hlo_instruction *in, const char *name, const char *needed) {
  const hlo_attribute *attribute = hlo_find_attribute(in, name);
  sett_analysis_list none = {0, NULL};
  if (!attribute) {
    if (needed) hlo_fail(&x->h, in->opcode.at, needed);
    return none;
  }
  if (!hlo_integer_list(attribute->value)) {
    hlo_fail(&x->h, attribute->value.at, "expected a list of integers");
    return none;
  }
  return indexing_integers(x, attribute->value);
}

static int64_t indexing_number(indexing *x, const hlo_instruction *in, const char *name, int64_t otherwise) {
  const hlo_attribute *attribute = hlo_find_attribute(in, name);
  sett_analysis_list list;
  if (!attribute) return otherwise;
  list = indexing_list(x, in, name, NULL);
  if (!x->h.fault && list.count != 1) hlo_fail(&x->h, attribute->value.at, "expected an integer");
  return list.count == 1 ? list.values[0] : otherwise;
}

/* Returns every count-th integer of a list, starting at the k-th. */
static sett_analysis_list indexing_every(indexing *x, sett_analysis_list list, int k, int count) {
  sett_analysis_list part = {0, x->value + x->values};
  for (; k < list.count; k += count) {
    if (x->values == x->limit) {
      hlo_fail(&x->h, x->h.at, "expected fewer integers");
      break;
    }
    x->value[x->values++] = list.values[k];
    ++part.count;
  }
  return part;
}

/* Reads slice={[0:5:2], [1:3]} to starts and strides. */
static void indexing_slice(indexing *x, const hlo_instruction *in, sett_analysis_op *op) {
  const hlo_attribute *attribute = hlo_find_attribute(in, "slice");
  int64_t numbers[3 * SETT_ANALYSIS_MAX_RANK];
  int count = 0;
  size_t i, from = 0;
  sett_analysis_list all = {0, NULL};
  if (!attribute) {
    hlo_fail(&x->h, in->opcode.at, "expected slice={[start:limit:stride], ..}");
    return;
  }
  for (i = 0; i < attribute->value.length; ++i) {
    hlo_text one;
    if (attribute->value.at[i] == '[') from = i;
    if (attribute->value.at[i] != ']') continue;
    one.at = attribute->value.at + from;
    one.length = i - from;
    if (count + 3 > 3 * SETT_ANALYSIS_MAX_RANK) break;
    numbers[count + 2] = 1;
    if (hlo_integers(one, numbers + count, 3) < 2) {
      hlo_fail(&x->h, one.at, "expected [start:limit] or [start:limit:stride]");
      return;
    }
    count += 3;
  }
  all.count = count;
  all.values = numbers;
  /* check that the result's sizes follow from start, limit and stride */
  for (i = 0; (int)i < in->leaf[0].rank && (int)i * 3 < count; ++i) {
    int64_t start = numbers[3 * i], limit = numbers[3 * i + 1], stride = numbers[3 * i + 2];
    if (stride > 0 && start >= 0 && limit >= start &&
        in->leaf[0].dims[i] != (limit - start) / stride + ((limit - start) % stride > 0)) {
      hlo_fail(&x->h, attribute->value.at, "expected a slice of the instruction's dimensions");
      return;
    }
  }
  op->start = indexing_every(x, all, 0, 3);
  op->stride = indexing_every(x, all, 2, 3);
}

/* Reads padding=low_high[_interior]x.., such as 0_0x4096_0_1. */
static void indexing_padding(indexing *x, hlo_text text, sett_analysis_op *op, int interior) {
  int64_t numbers[3 * SETT_ANALYSIS_MAX_RANK] = {0};
  int count = 0;
  size_t i, from = 0;
  sett_analysis_list all = {0, NULL};
  for (i = 0; i <= text.length; ++i) {
    hlo_text one;
    int found;
    if (i < text.length && text.at[i] != 'x') continue;
    one.at = text.at + from;
    one.length = i - from;
    from = i + 1;
    if (!one.length && !count && i == text.length) break;
    if (count + 3 > 3 * SETT_ANALYSIS_MAX_RANK) break;
    numbers[count + 2] = 0;
    found = hlo_integers(one, numbers + count, 3);
    if (found < 2 || found > 2 + interior) {
      hlo_fail(&x->h, one.at, interior ? "expected low_high or low_high_interior" : "expected low_high");
      return;
    }
    count += 3;
  }
  all.count = count;
  all.values = numbers;
  op->low = indexing_every(x, all, 0, 3);
  op->high = indexing_every(x, all, 1, 3);
  if (interior) op->interior = indexing_every(x, all, 2, 3);
}

/* Reads window={size=3x5 stride=1x1 pad=0_0x0_0 lhs_dilate=1x1 rhs_dilate=1x1 rhs_reversal=0x1}. */
static void indexing_window(indexing *x, const hlo_instruction *in, sett_analysis_op *op) {
  const hlo_attribute *attribute = hlo_find_attribute(in, "window");
  const char *at, *end;
  if (!attribute) return;
  at = attribute->value.at + 1;
  end = attribute->value.at + attribute->value.length - 1;
  while (at < end && !x->h.fault) {
    hlo_text name, value;
    if (strchr(" ,\t\r\n", *at)) {
      ++at;
      continue;
    }
    name.at = at;
    while (at < end && *at != '=') ++at;
    name.length = (size_t)(at - name.at);
    value.at = at < end ? ++at : at;
    while (at < end && !strchr(" ,\t\r\n", *at)) ++at;
    value.length = (size_t)(at - value.at);
    if (hlo_is(name, "pad")) indexing_padding(x, value, op, 0);
    else if (hlo_is(name, "size")) op->window = indexing_integers(x, value);
    else if (hlo_is(name, "stride")) op->stride = indexing_integers(x, value);
    else if (hlo_is(name, "lhs_dilate")) op->base_dilation = indexing_integers(x, value);
    else if (hlo_is(name, "rhs_dilate")) op->window_dilation = indexing_integers(x, value);
    else if (hlo_is(name, "rhs_reversal")) op->reversal = indexing_integers(x, value);
    else hlo_fail(&x->h, name.at, "expected size, stride, pad, lhs_dilate, rhs_dilate or rhs_reversal");
  }
}

/* Reads dim_labels=b01f_i01o->b01f. For each of the three arrays, lists the dimensions of its two letters, then
 * those of 0, 1, ..: b01f gives 0, 3, 1, 2. */
static void indexing_labels(indexing *x, const hlo_instruction *in, sett_analysis_op *op) {
  static const char *const letters[3] = {"bf", "io", "bf"};
  const hlo_attribute *attribute = hlo_find_attribute(in, "dim_labels");
  sett_analysis_list *list[3];
  const char *at = attribute ? attribute->value.at : NULL, *end = attribute ? at + attribute->value.length : NULL;
  int part;
  list[0] = &op->lhs_labels, list[1] = &op->rhs_labels, list[2] = &op->out_labels;
  if (!attribute) hlo_fail(&x->h, in->opcode.at, "expected dim_labels=");
  for (part = 0; part < 3 && !x->h.fault; ++part) {
    int64_t place[SETT_ANALYSIS_MAX_RANK];
    int rank = 0, i;
    for (i = 0; i < SETT_ANALYSIS_MAX_RANK; ++i) place[i] = -1;
    for (; at < end && *at != '_' && *at != '-'; ++at, ++rank) {
      int label = *at == letters[part][0]    ? 0
                  : *at == letters[part][1]  ? 1
                  : *at >= '0' && *at <= '9' ? *at - '0' + 2
                                             : -1;
      if (label < 0 || rank >= 12 || place[label] >= 0) {
        hlo_fail(&x->h, at, "expected dim_labels like b01f_01io->b01f");
        return;
      }
      place[label] = rank;
    }
    for (i = 0; i < rank; ++i)
      if (place[i] < 0 || x->values == x->limit) {
        hlo_fail(&x->h, attribute->value.at, "expected dim_labels like b01f_01io->b01f");
        return;
      }
    list[part]->count = rank;
    list[part]->values = x->value + x->values;
    for (i = 0; i < rank && x->values < x->limit; ++i) x->value[x->values++] = place[i];
    at += at < end ? (*at == '-' ? 2 : 1) : 0;
  }
}

static sett_analysis_list indexing_dims(const sett_tile_shape *shape) {
  sett_analysis_list list;
  list.count = shape->rank;
  list.values = shape->dims;
  return list;
}

static sett_analysis_list indexing_layout(indexing *x, const sett_tile_shape *shape) {
  sett_analysis_list list = {0, x->value + x->values};
  for (; list.count < shape->rank && x->values < x->limit; ++list.count)
    x->value[x->values++] = shape->minor_to_major[list.count];
  return list;
}

/* Returns true if a shape can have maps: it must be an array whose dimensions are all bounded. */
static int indexing_array(const sett_tile_shape *shape) {
  int i;
  if (shape->kind != SETT_TILE_ARRAY) return 0;
  for (i = 0; i < shape->rank; ++i)
    if (shape->dims[i] < 0) return 0;
  return 1;
}

static int indexing_first_leaf(const hlo_instruction *in, int item) {
  int i;
  for (i = 0; i < in->leaves; ++i)
    if (in->item[i] == item) return i;
  return -1;
}

static void indexing_error(indexing *x, const char *at, int error) {
  if (error == SETT_ANALYSIS_ERROR_STORE) x->arena->full = 1; /* makes the command run again with more memory */
  hlo_fail(&x->h, at, sett_message(error));
}

static void indexing_wrong(indexing *x, const hlo_instruction *in, int error) {
  indexing_error(x, in->opcode.at, error);
}

/* Returns a set of one map. */
static sett_analysis_set indexing_one(indexing *x, sett_analysis_answer answer) {
  sett_analysis_set set = {0, 0, NULL, NULL};
  int error = sett_analysis_keep(x->arena, &x->store, &set, &answer);
  if (error) indexing_error(x, x->h.at, error);
  return set;
}

static void indexing_undefined(indexing *x, sett_analysis_edge *edge, const char *reason) {
  edge->down = edge->up = indexing_one(x, settp_analysis_answer(SETT_ANALYSIS_UNDEFINED, reason, sett_map_undefined()));
}

static int indexing_type_bits(int type) {
  switch (type) {
#define INDEXING_CASE(name, text, width, memory) \
  case SETT_TILE_##name: return width;
    SETT_TILE_TYPES(INDEXING_CASE)
#undef INDEXING_CASE
    default: return 0;
  }
}

/* Returns the maps of a bitcast between tiled layouts, which keeps each element's linear position. */
static sett_analysis_set indexing_tiled_bitcast(indexing *x, const sett_tile_shape *from, const sett_tile_shape *to) {
  sett_analysis_answer one, two;
  indexing_fresh(x);
  one = settp_analysis_answer(SETT_ANALYSIS_EXACT, "", sett_layout_map(x->arena, from));
  two = settp_analysis_answer(SETT_ANALYSIS_EXACT, "", sett_layout_unmap(x->arena, to));
  one.results = 1;
  two.results = to->rank;
  one = sett_analysis_compose(x->arena, &one, &two);
  if (one.all.kind == SETT_MAP_FAILED)
    one = settp_analysis_answer(SETT_ANALYSIS_UNDEFINED, sett_message(one.all.error), sett_map_undefined());
  return indexing_one(x, sett_analysis_tidy(x->arena, &one, 1));
}

/* Returns true if a bitcast changes the number of elements because it changes their width. Then bits keep their
 * positions, but elements do not. */
static int indexing_narrows(const sett_tile_shape *from, const sett_tile_shape *to) {
  return indexing_type_bits(from->type) != indexing_type_bits(to->type) &&
         sett_tile_elements(from) != sett_tile_elements(to);
}

/* Returns true if the op only moves elements. */
static int indexing_moves(const indexing *x, const hlo_instruction *in, int opcode) {
  switch (opcode) {
    case SETT_ANALYSIS_BROADCAST:
    case SETT_ANALYSIS_TRANSPOSE:
    case SETT_ANALYSIS_RESHAPE:
    case SETT_ANALYSIS_BITCAST:
    case SETT_ANALYSIS_SLICE:
    case SETT_ANALYSIS_REVERSE: break;
    default:
      if (!hlo_is(in->opcode, "copy")) return 0;
  }
  return in->leaves == 1 && x->h.instruction[in->operand[0]].leaves == 1 &&
         in->leaf[0].type == x->h.instruction[in->operand[0]].leaf[0].type;
}

/* Returns the dimensions of all operands. If operand `k` is a tuple, those of its array number `b` are returned. */
static const sett_analysis_list *indexing_in(indexing *x, const hlo_instruction *in, int k, int b) {
  const hlo_instruction *source = &x->h.instruction[in->operand[k]];
  sett_analysis_list *list;
  int i;
  if (x->in_of == in && source->leaves == 1) return x->in;
  list = (sett_analysis_list *)hlo_take(&x->h, (size_t)in->operands * sizeof *list);
  for (i = 0; i < in->operands && list; ++i) {
    const hlo_instruction *other = &x->h.instruction[in->operand[i]];
    if (i == k) list[i] = indexing_dims(&source->leaf[b]);
    else if (other->leaves == 1 && indexing_array(&other->leaf[0])) list[i] = indexing_dims(&other->leaf[0]);
  }
  if (source->leaves == 1) {
    x->in_of = in;
    x->in = list;
  }
  return list;
}

/* Sets the edge from result `a` of an instruction to array `b` of its operand `k`. The edge gets an op, or maps. For
 * calls, see indexing_call_edge. Returns 0 if the result does not depend on that array. */
static int indexing_edge(indexing *x, const hlo_instruction *in, int a, int k, int b, sett_analysis_edge *edge) {
  const indexing_opcode *found = indexing_find_opcode(in->opcode);
  const hlo_instruction *source = &x->h.instruction[in->operand[k]];
  sett_analysis_op op, *kept;
  int i, item, half = in->operands / 2, *operand;
  memset(&op, 0, sizeof op);
  memset(edge, 0, sizeof *edge);
  indexing_room(x);
  op.opcode = found->opcode;
  op.operand = k;
  op.operands = in->operands;
  if (found->opcode == INDEXING_ELEMENT) {
    item = (int)indexing_number(x, in, "index", -1);
    i = indexing_first_leaf(source, item);
    if (item < 0 || item >= source->item_count) {
      hlo_fail(&x->h, in->opcode.at, "expected index= of an element of the tuple");
      return 0;
    }
    if (i < 0 || b != i + a) return 0;
  } else if (found->opcode == INDEXING_TUPLE) {
    i = indexing_first_leaf(in, k);
    if (i < 0 || a != i + b) return 0;
  } else if (found->opcode == INDEXING_SAME) {
    if (k > 0 || a != b) return 0;
  }
  if (!indexing_array(&in->leaf[a]) || !indexing_array(&source->leaf[b])) {
    indexing_undefined(x, edge, "it is no array of bounded dimensions");
    return in->leaf[a].kind == SETT_TILE_ARRAY && source->leaf[b].kind == SETT_TILE_ARRAY;
  }
  if (found->opcode == SETT_ANALYSIS_NONE) {
    indexing_undefined(x, edge, "no map of this op is known");
    return 1;
  }
  if (found->opcode >= INDEXING_TUPLE) {
    op.opcode = SETT_ANALYSIS_ELEMENTWISE;
    if (in->leaf[a].rank != source->leaf[b].rank || in->leaf[a].type != source->leaf[b].type)
      indexing_wrong(x, in, SETT_ANALYSIS_ERROR_SIZES);
  }
  op.in = indexing_in(x, in, k, b);
  op.out = indexing_dims(&in->leaf[a]);
  if (x->h.fault) return 0;
  switch (op.opcode) {
    case SETT_ANALYSIS_ELEMENTWISE:
      if (found->opcode < INDEXING_TUPLE && op.out.count && !source->leaf[b].rank &&
          !(hlo_is(in->opcode, "select") && k == 0) && !(hlo_is(in->opcode, "clamp") && k != 1))
        indexing_wrong(x, in, SETT_ANALYSIS_ERROR_SIZES);
      break;
    case SETT_ANALYSIS_BROADCAST: op.dimensions = indexing_list(x, in, "dimensions", NULL); break;
    case SETT_ANALYSIS_TRANSPOSE:
    case SETT_ANALYSIS_REVERSE:
    case SETT_ANALYSIS_ALL_GATHER:
    case SETT_ANALYSIS_CONCATENATE:
      op.dimensions = indexing_list(x, in, "dimensions", "expected dimensions={..}");
      break;
    case SETT_ANALYSIS_REDUCE:
      op.dimensions = indexing_list(x, in, "dimensions", "expected dimensions={..}");
      if (k >= half) op.opcode = SETT_ANALYSIS_SCALAR;
      break;
    case SETT_ANALYSIS_REDUCE_WINDOW:
      indexing_window(x, in, &op);
      if (k >= half) op.opcode = SETT_ANALYSIS_SCALAR;
      break;
    case SETT_ANALYSIS_SELECT_AND_SCATTER: indexing_window(x, in, &op); break;
    case SETT_ANALYSIS_BITCAST:
      if (indexing_narrows(&in->leaf[a], &source->leaf[b])) {
        indexing_undefined(x, edge, "elements of one side are parts of the other's");
        return 1;
      }
      op.out_layout = indexing_layout(x, &in->leaf[a]);
      op.in_layout = indexing_layout(x, &source->leaf[b]);
      edge->moves = indexing_moves(x, in, found->opcode);
      if (!sett_tile_plain(&in->leaf[a]) || !sett_tile_plain(&source->leaf[b])) {
        edge->down = indexing_tiled_bitcast(x, &in->leaf[a], &source->leaf[b]);
        edge->up = indexing_tiled_bitcast(x, &source->leaf[b], &in->leaf[a]);
        return !x->h.fault;
      }
      break;
    case SETT_ANALYSIS_SLICE: indexing_slice(x, in, &op); break;
    case SETT_ANALYSIS_PAD: {
      const hlo_attribute *padding = hlo_find_attribute(in, "padding");
      if (!padding) hlo_fail(&x->h, in->opcode.at, "expected padding=low_high_interiorx..");
      else indexing_padding(x, padding->value, &op, 1);
      break;
    }
    case SETT_ANALYSIS_CONVOLUTION:
      indexing_window(x, in, &op);
      indexing_labels(x, in, &op);
      op.feature_groups = indexing_number(x, in, "feature_group_count", 1);
      op.batch_groups = indexing_number(x, in, "batch_group_count", 1);
      break;
    case SETT_ANALYSIS_DOT:
    case SETT_ANALYSIS_SCALED_DOT:
      op.lhs_batch = indexing_list(x, in, "lhs_batch_dims", NULL);
      op.rhs_batch = indexing_list(x, in, "rhs_batch_dims", NULL);
      op.lhs_contracting = indexing_list(x, in, "lhs_contracting_dims", NULL);
      op.rhs_contracting = indexing_list(x, in, "rhs_contracting_dims", NULL);
      if (hlo_find_attribute(in, "sparsity")) {
        indexing_undefined(x, edge, "the operand is sparse");
        return 1;
      }
      break;
    case SETT_ANALYSIS_DYNAMIC_SLICE:
    case SETT_ANALYSIS_DYNAMIC_UPDATE_SLICE:
      i = op.opcode == SETT_ANALYSIS_DYNAMIC_SLICE ? 1 : 2;
      if (in->operands == i + 1 && op.in[i].count == 1) {
        indexing_undefined(x, edge, "the starts are one array");
        return 1;
      }
      if (in->operands != i + op.out.count) hlo_fail(&x->h, in->opcode.at, "expected a start for every dimension");
      break;
    case SETT_ANALYSIS_GATHER:
      op.offset_dims = indexing_list(x, in, "offset_dims", NULL);
      op.collapsed = indexing_list(x, in, "collapsed_slice_dims", NULL);
      op.start_index_map = indexing_list(x, in, "start_index_map", NULL);
      op.operand_batching = indexing_list(x, in, "operand_batching_dims", NULL);
      op.indices_batching = indexing_list(x, in, "start_indices_batching_dims", NULL);
      op.index_vector_dim = indexing_number(x, in, "index_vector_dim", 0);
      op.slice_sizes = indexing_list(x, in, "slice_sizes", "expected slice_sizes={..}");
      break;
    case SETT_ANALYSIS_SCATTER:
      op.offset_dims = indexing_list(x, in, "update_window_dims", NULL);
      op.collapsed = indexing_list(x, in, "inserted_window_dims", NULL);
      op.start_index_map = indexing_list(x, in, "scatter_dims_to_operand_dims", NULL);
      op.operand_batching = indexing_list(x, in, "input_batching_dims", NULL);
      op.indices_batching = indexing_list(x, in, "scatter_indices_batching_dims", NULL);
      op.index_vector_dim = indexing_number(x, in, "index_vector_dim", 0);
      if (in->leaves != half) hlo_fail(&x->h, in->opcode.at, "expected inputs, indices and as many updates as inputs");
      else if (k != half && a != (k < half ? k : k - half - 1)) return 0;
      break;
    default: break;
  }
  if (op.opcode == SETT_ANALYSIS_SCALAR && source->leaf[b].rank) indexing_wrong(x, in, SETT_ANALYSIS_ERROR_SIZES);
  edge->moves = k == 0 && indexing_moves(x, in, found->opcode);
  kept = (sett_analysis_op *)hlo_take(&x->h, sizeof op);
  operand = (int *)hlo_take(&x->h, (size_t)in->operands * sizeof *operand);
  if (x->h.fault) return 0;
  *kept = op;
  for (i = 0; i < in->operands; ++i)
    operand[i] = x->at[in->operand[i]] + (i == k ? b : 0) - x->whole[in->computation].graph.first;
  edge->op = kept;
  edge->operand = operand;
  return 1;
}

/* ---- answers as text ---- */

static char *indexing_print(indexing *x, sett_map map) {
  size_t length = sett_map_print(x->arena, map, NULL, 0);
  char *text = (char *)hlo_take(&x->h, length + 1);
  if (text) sett_map_print(x->arena, map, text, length + 1);
  return text;
}

/* ---- whole computations ---- */

static int indexing_callee(indexing *x, const hlo_instruction *in) {
  const hlo_attribute *calls = hlo_find_attribute(in, hlo_is(in->opcode, "fusion") ? "calls" : "to_apply");
  if (in->body) return in->body - 1;
  return calls ? hlo_find_computation(&x->h, calls->value) : -1;
}

static const hlo_instruction *indexing_parameter(const indexing *x, const hlo_computation *c, int number, int *at) {
  int i;
  for (i = c->first; i < c->first + c->count; ++i)
    if (hlo_is(x->h.instruction[i].opcode, "parameter") && x->h.instruction[i].number == number) {
      *at = i - c->first;
      return &x->h.instruction[i];
    }
  return NULL;
}

/* Sets the edge from result `a` of a call to array `b` of its operand `k`. The edge has the maps of the called
 * computation. */
static int indexing_call_edge(indexing *x, const hlo_instruction *in, int a, int k, int b, sett_analysis_edge *edge) {
  int callee = indexing_callee(x, in), at = 0;
  const indexing_whole *whole = &x->whole[callee];
  const hlo_instruction *parameter = indexing_parameter(x, &x->h.computation[callee], k, &at);
  if (!parameter || b >= parameter->leaves) return 0;
  memset(edge, 0, sizeof *edge);
  at = x->at[x->h.computation[callee].first + at] + b - whole->graph.first;
  edge->down = whole->root[a].down[at];
  edge->up = whole->root[a].up[at];
  return 1;
}

/* If the instruction is an iota, or a constant whose elements are all equal, records this in `value`. */
static void indexing_known(indexing *x, const hlo_instruction *in, sett_analysis_value *value) {
  int64_t all[64];
  int i, count;
  if (hlo_is(in->opcode, "iota")) {
    value->known = SETT_ANALYSIS_IOTA;
    indexing_room(x);
    value->number = indexing_number(x, in, "iota_dimension", 0);
  } else if (hlo_is(in->opcode, "constant")) {
    count = hlo_integer_list(in->inside) ? hlo_integers(in->inside, all, 64) : 0;
    if (count < 1 || sett_tile_elements(&in->leaf[0]) < 1) return;
    for (i = 1; i < count; ++i)
      if (all[i] != all[0]) return;
    value->known = SETT_ANALYSIS_CONSTANT;
    value->number = all[0];
  }
}

/* Builds the graph of a computation. Values are numbered by instruction, then by array; the edges of the last
 * instruction come first. */
static void indexing_graph(indexing *x, int which) {
  const hlo_computation *c = &x->h.computation[which];
  indexing_whole *whole = &x->whole[which];
  sett_analysis_value *value;
  sett_analysis_edge *edge = NULL, *walked;
  int i, k, a, b, count = 0, *from, *operand = NULL, *number;
  whole->graph.first = x->at[c->first];
  whole->graph.values = x->at[c->first + c->count] - whole->graph.first;
  value = (sett_analysis_value *)hlo_take(&x->h, (size_t)whole->graph.values * sizeof *value);
  from = (int *)hlo_take(&x->h, ((size_t)c->count + 1) * sizeof *from);
  if (!value || !from) return;
  for (i = 0; i < c->count && !x->h.fault; ++i) {
    const hlo_instruction *in = &x->h.instruction[c->first + i];
    int call = indexing_find_opcode(in->opcode)->opcode == INDEXING_CALL, at = x->at[c->first + i] - whole->graph.first;
    for (a = 0; a < in->leaves; ++a)
      if (indexing_array(&in->leaf[a])) value[at + a].dims = indexing_dims(&in->leaf[a]);
    if (in->leaves == 1) indexing_known(x, in, &value[at]);
    for (a = 0; a < in->leaves; ++a)
      for (k = 0; k < in->operands; ++k)
        for (b = 0; b < x->h.instruction[in->operand[k]].leaves && !x->h.fault; ++b) {
          sett_analysis_edge one;
          if (!(call ? indexing_call_edge(x, in, a, k, b, &one) : indexing_edge(x, in, a, k, b, &one))) continue;
          one.user = at + a;
          one.source = x->at[in->operand[k]] + b - whole->graph.first;
          edge = (sett_analysis_edge *)hlo_grow(&x->h, edge, count, sizeof *edge);
          operand = (int *)hlo_grow(&x->h, operand, count, sizeof *operand);
          if (!edge || !operand) return;
          operand[count] = k;
          edge[count++] = one;
        }
    from[i + 1] = count;
  }
  walked = (sett_analysis_edge *)hlo_take(&x->h, (size_t)count * sizeof *walked);
  number = (int *)hlo_take(&x->h, (size_t)count * sizeof *number);
  if (x->h.fault) return;
  whole->graph.value = value;
  whole->graph.edge = walked;
  whole->from = from;
  whole->number = number;
  for (i = c->count; i-- > 0;) {
    int begin = whole->graph.edges;
    for (k = from[i]; k < from[i + 1]; ++k) {
      walked[whole->graph.edges] = edge[k];
      number[whole->graph.edges++] = operand[k];
    }
    from[i + 1] = begin; /* from[i] keeps its old value, which the next iteration reads */
  }
  for (i = 0; i < c->count; ++i) from[i] = from[i + 1];
}

static void indexing_compute(indexing *x, int number) {
  const hlo_computation *c = &x->h.computation[number];
  const hlo_instruction *root = &x->h.instruction[c->root];
  indexing_whole *whole = &x->whole[number];
  int leaf, error, edge;
  whole->root = (indexing_root *)hlo_take(&x->h, (size_t)root->leaves * sizeof *whole->root);
  for (leaf = 0; leaf < root->leaves && !x->h.fault && whole->root; ++leaf) {
    indexing_root *r = &whole->root[leaf];
    int value = x->at[c->root] + leaf - whole->graph.first;
    r->down = (sett_analysis_set *)hlo_take(&x->h, (size_t)whole->graph.values * sizeof *r->down);
    r->up = (sett_analysis_set *)hlo_take(&x->h, (size_t)whole->graph.values * sizeof *r->up);
    if (!r->down || !r->up) return;
    if (!indexing_array(&root->leaf[leaf])) continue;
    indexing_fresh(x);
    error = sett_analysis_whole(x->arena, &x->store, &whole->graph, value, 1, r->down, &edge);
    if (!error) error = sett_analysis_whole(x->arena, &x->store, &whole->graph, value, 0, r->up, &edge);
    if (error)
      indexing_wrong(
          x, edge < 0 ? root : &x->h.instruction[x->owner[whole->graph.first + whole->graph.edge[edge].user]], error);
  }
  whole->done = 1;
}

/* ---- lines ---- */

static void indexing_say_name(indexing *x, hlo_text name) { say(x->self, name.at, name.length); }

static void indexing_fields(indexing *x, hlo_text name, const char *direction, hlo_text other, int number) {
  if (x->self->length) say_text(x->self, "\n");
  indexing_say_name(x, name);
  say_text(x->self, "\t");
  say_text(x->self, direction);
  indexing_say_name(x, other);
  say_text(x->self, "\t");
  say_int(x->self, number);
  say_text(x->self, "\t");
}

/* Returns the number of a runtime variable among those of the instruction. *fresh is 1 if the variable is new. */
static int indexing_name_of(indexing *x, const sett_analysis_answer *answer, int k, const int *taken, int *fresh) {
  sett_map map = sett_analysis_runtime_map(answer, k), lone = sett_map_remove_unused(x->arena, map, SETT_MAP_RTS, NULL);
  const char *key = indexing_print(x, lone.kind == SETT_MAP_DEFINED && lone.rts == 0 ? lone : answer->all);
  int i, j;
  *fresh = 0;
  if (!key) return 0;
  for (i = 0; i < x->names; ++i) {
    if (x->name[i].reader != answer->runtime[k].operand || strcmp(x->name[i].key, key)) continue;
    for (j = 0; j < k && taken[j] != i; ++j) {
    } /* two variables of one map need two names even if their values are the same, because their bounds differ */
    if (j == k) return i;
  }
  x->name = (indexing_name *)(x->names ? hlo_grow(&x->h, x->name, x->names, sizeof *x->name)
                                       : hlo_take(&x->h, sizeof *x->name));
  if (!x->name) return 0;
  x->name[x->names].reader = answer->runtime[k].operand;
  x->name[x->names].key = key;
  *fresh = 1;
  return x->names++;
}

/* Writes one map: its line, a line for its replica, and a line for each new runtime variable. Equal maps of an operand
 * are written once. */
static void indexing_say(indexing *x, hlo_text name, const char *direction, hlo_text other, int number,
                         const sett_analysis_kept *kept) {
  sett_analysis_answer answer;
  sett_map map;
  const char *names[SETTP_ANALYSIS_RESULTS];
  char buffer[24], *text;
  int fresh[SETT_ANALYSIS_MAX_RUNTIMES], which[SETT_ANALYSIS_MAX_RUNTIMES], i, k;
  indexing_fresh(x);
  answer = sett_analysis_load(x->arena, kept);
  if (sett_map_variables(answer.all) > SETTP_ANALYSIS_RESULTS) return;
  for (k = 0; k < answer.runtimes; ++k) which[k] = indexing_name_of(x, &answer, k, which, &fresh[k]);
  for (i = 0; i < sett_map_variables(answer.all); ++i) {
    k = i - answer.all.dims - answer.all.ranges;
    if (k < 0) sett_map_name(answer.all, i, buffer);
    else snprintf(buffer, sizeof buffer, "rt%d", which[k]);
    text = (char *)hlo_take(&x->h, sizeof buffer);
    if (!text) return;
    memcpy(text, buffer, sizeof buffer);
    names[i] = text;
  }
  if (answer.runtimes) answer.all = sett_map_rename(x->arena, answer.all, names);
  map = sett_analysis_map(&answer);
  text = indexing_print(x, map);
  if (!text) return;
  for (i = 0; i < x->lines; ++i)
    if (!strcmp(x->line[i], text)) return;
  x->line = (const char **)(x->lines ? hlo_grow(&x->h, (void *)x->line, x->lines, sizeof *x->line)
                                     : hlo_take(&x->h, sizeof *x->line));
  if (!x->line) return;
  x->line[x->lines++] = text;
  indexing_fields(x, name, direction, other, number);
  say_text(x->self, kept->kind == SETT_ANALYSIS_EXACT ? "exact\t" : "covering\t");
  say_text(x->self, text);
  if (answer.replica && answer.all.kind == SETT_MAP_DEFINED) {
    indexing_fields(x, name, "replica", (hlo_text){"", 0}, number);
    say_text(x->self, kept->kind == SETT_ANALYSIS_EXACT ? "exact\t" : "covering\t");
    say_map(x->self, x->arena, sett_map_remove_unused(x->arena, sett_analysis_replica(&answer), SETT_MAP_RTS, NULL));
  }
  for (k = 0; k < answer.runtimes; ++k) {
    const hlo_instruction *reader = &x->h.instruction[x->owner[answer.runtime[k].operand]];
    if (!fresh[k]) continue;
    say_text(x->self, "\n");
    indexing_say_name(x, name);
    say_text(x->self, "\trt\trt");
    say_int(x->self, which[k]);
    say_text(x->self, "\t");
    indexing_say_name(x, reader->name);
    say_text(x->self, "\t");
    say_map(x->self, x->arena,
            sett_map_remove_unused(x->arena, sett_analysis_runtime_map(&answer, k), SETT_MAP_RTS, NULL));
  }
}

/* Writes all maps of a set. KNOWN EMPTY is written only if there is no other map. */
static void indexing_say_set(indexing *x, hlo_text name, const char *direction, hlo_text other, int number,
                             const sett_analysis_set *set) {
  const sett_analysis_kept *kept;
  for (kept = set->first; kept && !x->h.fault; kept = kept->next)
    if (set->count == 1 || strcmp(kept->text, "KNOWN EMPTY")) indexing_say(x, name, direction, other, number, kept);
}

static int indexing_row_major(const sett_tile_shape *shape) {
  int i;
  if (!sett_tile_plain(shape)) return 0;
  for (i = 0; i < shape->rank; ++i)
    if (shape->minor_to_major[i] != shape->rank - 1 - i) return 0;
  return 1;
}

/* Writes the maps between positions in memory if a layout is not row-major. A position is given by the indices in
 * memory order or, if the layout has tiles, by one number. */
static void indexing_say_physical(indexing *x, const indexing_whole *whole, const hlo_instruction *in, int k,
                                  int from_output, const sett_analysis_set *edges) {
  const sett_tile_shape *out = &in->leaf[0], *source = &x->h.instruction[in->operand[k]].leaf[0];
  sett_analysis_set set = {0, 0, NULL, NULL};
  const sett_analysis_kept *kept;
  int error = 0;
  if (indexing_row_major(out) && indexing_row_major(source)) return;
  for (kept = edges->first; kept && !error; kept = kept->next) {
    sett_analysis_answer map;
    indexing_fresh(x);
    if (kept->kind == SETT_ANALYSIS_UNDEFINED) continue;
    map = sett_analysis_load(x->arena, kept);
    map = sett_layout_physical(x->arena, &map, from_output ? out : source, from_output ? source : out, 0);
    map = sett_analysis_bind(x->arena, &whole->graph, &map, 1);
    error = sett_analysis_keep(x->arena, &x->store, &set, &map);
  }
  if (error) indexing_wrong(x, in, error);
  indexing_say_set(x, in->name, from_output ? "physical output->operand" : "physical operand->output",
                   (hlo_text){"", 0}, k, &set);
}

/* Returns the map between the indices of an op and of its operand (an edge). `from_output`: the map's direction. The
 * map has all its runtime variables, but no constraints if `without` is set. */
static sett_analysis_set indexing_along(indexing *x, const indexing_whole *whole, const hlo_instruction *in, int edge,
                                        int from_output, int without) {
  sett_analysis_set none = {0, 0, NULL, NULL};
  sett_analysis_answer answer;
  indexing_fresh(x);
  answer = sett_analysis_along(x->arena, &whole->graph, edge, from_output);
  if (answer.all.kind == SETT_MAP_FAILED) {
    indexing_wrong(x, in, answer.all.error);
    return none;
  }
  if (without && answer.all.kind != SETT_MAP_DEFINED) return none;
  if (without) { /* XLA's documents show this map, which covers more than the exact one */
    answer.kind = SETT_ANALYSIS_COVERING;
    answer.reason = "the update's bounds left out";
    answer.all.constraints = 0;
  }
  return indexing_one(x, sett_analysis_bind(x->arena, &whole->graph, &answer, 0));
}

static void indexing_instruction(indexing *x, const indexing_whole *whole, int i) {
  static const hlo_text none = {"", 0};
  const hlo_instruction *in = &x->h.instruction[i];
  int call = indexing_find_opcode(in->opcode)->opcode == INDEXING_CALL,
      at = i - x->h.computation[in->computation].first, k, from_output, e;
  int begin = whole->from[at], end = at ? whole->from[at - 1] : whole->graph.edges;
  x->names = 0;
  for (k = 0; k < in->operands; ++k)
    for (from_output = 1; from_output >= 0; --from_output) {
      const hlo_instruction *source = &x->h.instruction[in->operand[k]];
      const char *direction = from_output ? "output->operand" : "operand->output", *reason = NULL;
      x->lines = 0;
      for (e = begin; e < end && !x->h.fault; ++e) {
        const sett_analysis_edge *edge = &whole->graph.edge[e];
        const sett_analysis_kept *kept;
        sett_analysis_set set;
        if (whole->number[e] != k) continue;
        if (edge->op) set = indexing_along(x, whole, in, e, from_output, 0);
        else set = from_output ? edge->down : edge->up;
        indexing_say_set(x, in->name, direction, none, k, &set);
        for (kept = set.first; kept; kept = kept->next)
          if (kept->kind != SETT_ANALYSIS_EXACT && kept->reason[0]) reason = kept->reason;
        if (edge->op && edge->op->opcode == SETT_ANALYSIS_DYNAMIC_UPDATE_SLICE && k == 1 && from_output) {
          sett_analysis_set covering = indexing_along(x, whole, in, e, from_output, 1);
          indexing_say_set(x, in->name, direction, none, k, &covering);
        }
        if (in->leaves == 1 && source->leaves == 1) indexing_say_physical(x, whole, in, k, from_output, &set);
      }
      /* no path leads from this operand to the result */
      if (call && !x->lines && !x->h.fault && in->leaves && source->leaves) {
        sett_analysis_kept empty = settp_analysis_nothing("");
        empty.kind = SETT_ANALYSIS_EXACT;
        empty.text = "KNOWN EMPTY";
        empty.length = strlen(empty.text);
        indexing_say(x, in->name, direction, none, k, &empty);
      }
      if (reason && !x->h.fault) {
        indexing_fields(x, in->name, "reason", none, k);
        say_text(x->self, "covering\t");
        say_text(x->self, reason);
      }
    }
}

/* Writes the maps between the root of a computation and each of its instructions, in both directions. */
static void indexing_groups(indexing *x, int number, int parameters) {
  const hlo_computation *c = &x->h.computation[number];
  const hlo_instruction *root = &x->h.instruction[c->root];
  const indexing_whole *whole = &x->whole[number];
  int i, leaf, b;
  x->names = 0;
  for (i = c->first; i < c->first + c->count && !x->h.fault; ++i) {
    const hlo_instruction *in = &x->h.instruction[i];
    if (hlo_is(in->opcode, "parameter")) continue; /* the call's maps cover parameters */
    for (b = 0; b < in->leaves; ++b) {
      x->lines = 0;
      for (leaf = 0; leaf < root->leaves; ++leaf)
        indexing_say_set(x, root->name, "output->", in->name, b,
                         &whole->root[leaf].down[x->at[i] - whole->graph.first + b]);
      x->lines = 0;
      for (leaf = 0; leaf < root->leaves; ++leaf)
        indexing_say_set(x, in->name, "operand->", root->name, b,
                         &whole->root[leaf].up[x->at[i] - whole->graph.first + b]);
    }
  }
  if (!parameters) return;
  x->names = 0;
  /* nothing calls the entry, so write the maps of its parameters here */
  for (i = c->first; i < c->first + c->count && !x->h.fault; ++i) {
    static const hlo_text none = {"", 0};
    const hlo_instruction *in = &x->h.instruction[i];
    if (!hlo_is(in->opcode, "parameter")) continue;
    for (b = 0; b < in->leaves; ++b) {
      x->lines = 0;
      for (leaf = 0; leaf < root->leaves; ++leaf)
        indexing_say_set(x, c->name, "output->operand", none, in->number,
                         &whole->root[leaf].down[x->at[i] - whole->graph.first + b]);
      x->lines = 0;
      for (leaf = 0; leaf < root->leaves; ++leaf)
        indexing_say_set(x, c->name, "operand->output", none, in->number,
                         &whole->root[leaf].up[x->at[i] - whole->graph.first + b]);
    }
  }
}

/* Checks that an integer constant has as many values as its array has elements, and that they fit its type, because
 * start indices may be read from it. */
static void indexing_check_constant(indexing *x, const hlo_instruction *in) {
  int64_t all[64], elements, bits;
  int i, count;
  char sign;
  if (in->leaves != 1 || !indexing_array(&in->leaf[0]) || !hlo_integer_list(in->inside)) return;
  sign = *sett_tile_type_name(in->leaf[0].type);
  count = hlo_integers(in->inside, all, 64);
  elements = sett_tile_elements(&in->leaf[0]);
  bits = sett_tile_bits(&in->leaf[0]);
  /* not integers, or too many or too large to check */
  if ((sign != 's' && sign != 'u') || count < 0 || bits > 64) return;
  if (count != elements &&
      !(count == 1 &&
        !memchr(in->inside.at, '{', in->inside.length))) /* a single value without braces stands for all elements */
    hlo_fail(&x->h, in->inside.at, "expected as many integers as the array has elements");
  for (i = 0; i < count; ++i)
    if (bits < 64 &&
        (all[i] < (sign == 's' ? -((int64_t)1 << (bits - 1)) : 0) || all[i] >= (int64_t)1 << (bits - (sign == 's'))))
      hlo_fail(&x->h, in->inside.at, "expected integers of the constant's type");
}

/* Checks opcodes, numbers of operands, and calls. The functions that write lines rely on these checks. */
static void indexing_check(indexing *x, int number) {
  const hlo_computation *c = &x->h.computation[number];
  int i, k, parameters_here = 0;
  for (i = c->first; i < c->first + c->count; ++i) parameters_here += hlo_is(x->h.instruction[i].opcode, "parameter");
  for (i = c->first; i < c->first + c->count && !x->h.fault; ++i) {
    const hlo_instruction *in = &x->h.instruction[i];
    const indexing_opcode *found = indexing_find_opcode(in->opcode);
    indexing_room(x);
    if (hlo_is(in->opcode, "constant")) indexing_check_constant(x, in);
    if (!found) {
      hlo_fail(&x->h, in->opcode.at, "unknown opcode, expected one of HLO");
    } else if (hlo_is(in->opcode, "parameter") && in->number >= parameters_here) {
      hlo_fail(&x->h, in->inside.at, "expected parameters numbered from 0 without a gap");
    } else if (hlo_is(in->opcode, "iota") && in->leaves == 1 && in->leaf[0].rank &&
               (indexing_number(x, in, "iota_dimension", -1) < 0 ||
                indexing_number(x, in, "iota_dimension", -1) >= in->leaf[0].rank)) {
      hlo_fail(&x->h, in->opcode.at, "expected iota_dimension= of a dimension of the shape");
    } else if (found->operands >= 0 && in->operands != found->operands) {
      hlo_fail(&x->h, in->opcode.at, "expected another number of operands for this op");
    } else if (in->leaves == 0 && found->opcode != INDEXING_TUPLE && found->opcode != INDEXING_CALL &&
               found->opcode != SETT_ANALYSIS_NONE) {
      hlo_fail(&x->h, in->shape.at, "expected an array");
    } else if (found->opcode == INDEXING_TUPLE && in->item_count != in->operands) {
      hlo_fail(&x->h, in->shape.at, "expected a tuple of as many elements as operands");
    } else if (found->opcode == INDEXING_CALL) {
      int callee = indexing_callee(x, in), parameters = 0;
      if (callee < 0) {
        hlo_fail(&x->h, in->opcode.at, "expected the name of a computation, calls= or to_apply=");
        return;
      }
      for (k = x->h.computation[callee].first; k < x->h.computation[callee].first + x->h.computation[callee].count;
           ++k) {
        const hlo_instruction *parameter = &x->h.instruction[k];
        if (!hlo_is(parameter->opcode, "parameter")) continue;
        ++parameters;
        if (parameter->number >= in->operands ||
            !hlo_same_dims(parameter, &x->h.instruction[in->operand[parameter->number]]))
          hlo_fail(&x->h, in->opcode.at, "expected the operands that the computation takes");
      }
      if (parameters != in->operands || !hlo_same_dims(&x->h.instruction[x->h.computation[callee].root], in))
        hlo_fail(&x->h, in->opcode.at, "expected the operands and the shape of the computation");
      if (!x->whole[callee].needed) x->whole[callee].needed = 1;
    }
  }
}

/* Returns true if the maps of all computations that this one calls have been made. */
static int indexing_ready(indexing *x, const hlo_computation *c) {
  int i;
  for (i = c->first; i < c->first + c->count; ++i)
    if (indexing_find_opcode(x->h.instruction[i].opcode)->opcode == INDEXING_CALL &&
        !x->whole[indexing_callee(x, &x->h.instruction[i])].done)
      return 0;
  return 1;
}

static void indexing_run(indexing *x) {
  int i, k, again = 1, left = 0;
  x->whole = (indexing_whole *)hlo_take(&x->h, (size_t)x->h.computations * sizeof *x->whole);
  x->at = (int *)hlo_take(&x->h, ((size_t)x->h.instructions + 1) * sizeof *x->at);
  for (i = 0; i < x->h.instructions && x->at; ++i) x->at[i + 1] = x->at[i] + x->h.instruction[i].leaves;
  x->owner = (int *)hlo_take(&x->h, (x->at ? (size_t)x->at[i] : 0) * sizeof *x->owner);
  if (x->h.fault) return;
  for (i = 0; i < x->h.instructions; ++i)
    for (k = x->at[i]; k < x->at[i + 1]; ++k) x->owner[k] = i;
  x->whole[x->h.entry].needed = 1;
  while (again && !x->h.fault) /* callees usually precede their callers in the text, so that one pass is enough */
    for (again = 0, i = x->h.computations; i-- > 0 && !x->h.fault;) {
      if (x->whole[i].needed != 1) continue;
      x->whole[i].needed = 2;
      indexing_check(x, i);
      again = 1;
      ++left;
    }
  for (again = 1; again && !x->h.fault;)
    for (again = 0, i = 0; i < x->h.computations && !x->h.fault; ++i) {
      const hlo_computation *c = &x->h.computation[i];
      if (x->whole[i].needed != 2 || !indexing_ready(x, c)) continue;
      x->whole[i].needed = 3;
      again = 1;
      --left;
      indexing_graph(x, i);
      for (k = c->first; k < c->first + c->count && !x->h.fault; ++k) indexing_instruction(x, &x->whole[i], k);
      if ((i != x->h.entry || c->count <= INDEXING_ENTRY) && !x->h.fault) indexing_compute(x, i);
      if (x->whole[i].done && !x->h.fault) indexing_groups(x, i, i == x->h.entry);
    }
  if (left)
    hlo_fail(&x->h, x->h.computation[x->h.entry].name.at,
             "computations call each other in a circle: expected none that does");
}

/* Writes the lines for a text. name: the file's name, for errors. */
static int indexing_text(command *self, const char *name, const char *text, size_t length) {
  indexing x;
  size_t room;
  void *kept = NULL;
  memset(&x, 0, sizeof x);
  x.self = self;
  x.arena = &self->arena;
  x.empty = sett_map_arena_mark(x.arena);
  for (room = INDEXING_STORE(x.arena); room && !kept; room /= 2) kept = malloc(room);
  x.store = sett_analysis_store_make(kept, 2 * room);
  if (hlo_read(&x.h, text, length)) indexing_run(&x);
  if (x.h.fault) {
    const char *at;
    long long line = 1, column = 1;
    for (at = text; at < x.h.fault; ++at) {
      column = *at == '\n' ? 1 : column + 1;
      line += *at == '\n';
    }
    self->length = 0;
    say_text(self, "error: ");
    say_text(self, name);
    say_text(self, ":");
    say_int(self, line);
    say_text(self, ":");
    say_int(self, column);
    say_text(self, ": ");
    say_text(self, x.h.message);
  }
  hlo_free(&x.h);
  free(kept);
  return x.h.fault ? 2 : 0;
}

static char *indexing_file(const char *path, size_t *length) {
  FILE *file = fopen(path, "rb");
  size_t room = 1 << 16;
  char *text = file ? (char *)malloc(room) : NULL;
  *length = 0;
  while (text) {
    size_t got = fread(text + *length, 1, room - *length, file);
    *length += got;
    if (!got) break;
    if (*length == room) {
      char *more = (char *)realloc(text, room *= 2);
      if (!more) free(text);
      text = more;
    }
  }
  if (file && ferror(file)) { /* fopen succeeds on a folder, but reading fails */
    free(text);
    text = NULL;
  }
  if (file) fclose(file);
  return text;
}

static int indexing_verb(command *self) {
  size_t length, start;
  char *text;
  int status;
  text = indexing_file(self->argv[1], &length);
  if (!text) {
    say_error(self, 0, "");
    say_text(self, self->argv[1]);
    say_text(self, ": cannot be read, expected a file of HLO text");
    return 2;
  }
  start = length >= 3 && !memcmp(text, "\xef\xbb\xbf", 3) ? 3 : 0; /* a byte order mark */
  status = indexing_text(self, self->argv[1], text + start, length - start);
  free(text);
  return status;
}

static const command_verb indexing_verbs[] = {
    {"", "FILE.hlo",
     "a line for each map, with tabs between: instruction, direction, operand number, exact or covering, map\ncovering: the map has all pairs of indices of the op, and maybe more; lines with rt say what a runtime variable is",
     "tests/kernels/transpose_f32.hlo", indexing_verb},
};
