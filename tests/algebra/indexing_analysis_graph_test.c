/* Test whole graphs (sett_analysis_whole) against loops: for every value of a random graph, the loops find which of its
 * elements reach each element of the root. Run: indexing_analysis_graph_test [COUNT [SEED]] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../include/sett_indexing_map.h"
#include "../../include/sett_indexing_analysis.h"

enum { VALUES = 8, EDGES = 2 * VALUES, ELEMENTS = 36, RANK = 2 };

static uint64_t memory[(16u << 20) / 8], kept[(1u << 20) / 8];
static uint64_t seed;
static long failures, checks;

static int draw(int limit) {
  seed ^= seed << 13;
  seed ^= seed >> 7;
  seed ^= seed << 17;
  return (int)(seed % (uint64_t)limit);
}

static void check(int good, const char *what) {
  ++checks;
  if (good) return;
  ++failures;
  printf("FAIL %s\n", what);
}

/* ---- a random graph: the operands of value v are values with lower numbers ---- */

typedef struct {
  int64_t dims[RANK], numbers[2][RANK]; /* numbers: the integers in the op's attributes */
  int rank, inputs, input[2];
  sett_analysis_list in[2];
  sett_analysis_op op[2]; /* one entry for each operand */
} made;

static made value[VALUES];
static unsigned char reaches[VALUES][ELEMENTS]
                            [ELEMENTS]; /* reaches[v][r][e]: element e of value v reaches element r of the root */

static int elements(const made *m) {
  int i, n = 1;
  for (i = 0; i < m->rank; ++i) n *= (int)m->dims[i];
  return n;
}

static void make(int v) {
  made *m = &value[v], *a = &value[draw(v)], *b;
  int i, kind = draw(8), opcode;
  m->rank = a->rank;
  memcpy(m->dims, a->dims, sizeof m->dims);
  m->inputs = 1;
  m->input[0] = (int)(a - value);
  opcode = SETT_ANALYSIS_ELEMENTWISE;
  for (i = 0; i < RANK; ++i) m->numbers[0][i] = i;
  m->numbers[1][0] = m->numbers[1][1] = 1;
  if (kind == 0) { /* the second operand: a value with the dimensions of the first, or the first itself */
    b = &value[draw(v)];
    if (b->rank != a->rank || memcmp(a->dims, b->dims, sizeof a->dims)) b = a;
    m->inputs = 2;
    m->input[1] = (int)(b - value);
  } else if (kind == 1 && a->rank == 2) {
    opcode = SETT_ANALYSIS_TRANSPOSE;
    m->dims[0] = a->dims[1];
    m->dims[1] = a->dims[0];
    m->numbers[0][0] = 1;
    m->numbers[0][1] = 0;
  } else if (kind == 2 && a->rank) {
    opcode = SETT_ANALYSIS_REVERSE;
    m->numbers[0][0] = draw(a->rank);
  } else if (kind == 3 && a->rank) {
    opcode = SETT_ANALYSIS_SLICE;
    for (i = 0; i < a->rank; ++i) {
      m->numbers[0][i] = draw((int)a->dims[i]);
      m->numbers[1][i] = 1 + draw(2);
      m->dims[i] = (a->dims[i] - m->numbers[0][i] + m->numbers[1][i] - 1) / m->numbers[1][i];
    }
  } else if (kind == 4 && a->rank == 2) {
    opcode = SETT_ANALYSIS_REDUCE;
    m->numbers[0][0] = draw(2);
    m->rank = 1;
    m->dims[0] = a->dims[1 - m->numbers[0][0]];
    m->dims[1] = 1;
  } else if (kind == 5 && a->rank == 1 && elements(a) <= 12) {
    opcode = SETT_ANALYSIS_BROADCAST;
    m->numbers[0][0] = draw(2);
    m->rank = 2;
    m->dims[m->numbers[0][0]] = a->dims[0];
    m->dims[1 - m->numbers[0][0]] = 1 + draw(3);
  } else if (kind == 6) {
    int n = elements(a), inner = 1 + draw(n);
    while (n % inner) ++inner;
    opcode = SETT_ANALYSIS_RESHAPE;
    m->rank = 2;
    m->dims[0] = n / inner;
    m->dims[1] = inner;
  } else if (kind == 7 && a->rank == 1 && 2 * elements(a) <= ELEMENTS) { /* a concatenation of two operands */
    opcode = SETT_ANALYSIS_CONCATENATE;
    m->inputs = 2;
    m->input[1] = m->input[0];
    m->numbers[0][0] = 0;
    m->dims[0] = 2 * a->dims[0];
  }
  for (i = 0; i < m->inputs; ++i) {
    m->in[i].count = value[m->input[i]].rank;
    m->in[i].values = value[m->input[i]].dims;
  }
  for (i = 0; i < m->inputs; ++i) {
    sett_analysis_op *op = &m->op[i];
    memset(op, 0, sizeof *op);
    op->opcode = opcode;
    op->operand = i;
    op->operands = m->inputs;
    op->in = m->in;
    op->out.count = m->rank;
    op->out.values = m->dims;
    if (opcode == SETT_ANALYSIS_SLICE) {
      op->start.count = op->stride.count = m->rank;
      op->start.values = m->numbers[0];
      op->stride.values = m->numbers[1];
    } else if (opcode != SETT_ANALYSIS_ELEMENTWISE && opcode != SETT_ANALYSIS_RESHAPE) {
      op->dimensions.count = opcode == SETT_ANALYSIS_TRANSPOSE ? 2 : 1;
      op->dimensions.values = m->numbers[0];
    }
  }
}

/* Return 1 if element o of the value depends on element e of operand k. */
static int reads(const made *m, int k, int o, int e) {
  const made *a = &value[m->input[k]];
  int64_t x[2] = {0, 0}, y[2] = {0, 0};
  const int64_t *n = m->numbers[0];
  if (m->rank == 2) x[0] = o / m->dims[1], x[1] = o % m->dims[1];
  else x[0] = o;
  if (a->rank == 2) y[0] = e / a->dims[1], y[1] = e % a->dims[1];
  else y[0] = e;
  switch (m->op[k].opcode) {
    case SETT_ANALYSIS_TRANSPOSE: return y[0] == x[1] && y[1] == x[0];
    case SETT_ANALYSIS_REVERSE: x[n[0]] = m->dims[n[0]] - 1 - x[n[0]]; return y[0] == x[0] && y[1] == x[1];
    case SETT_ANALYSIS_SLICE:
      return y[0] == n[0] + x[0] * m->numbers[1][0] && (m->rank < 2 || y[1] == n[1] + x[1] * m->numbers[1][1]);
    case SETT_ANALYSIS_REDUCE: return y[1 - n[0]] == x[0];
    case SETT_ANALYSIS_BROADCAST: return y[0] == x[n[0]];
    case SETT_ANALYSIS_CONCATENATE: return y[0] == x[0] - k * a->dims[0];
    default: return o == e;
  }
}

static int edges_of(sett_analysis_edge *edge) {
  int v, k, edges = 0;
  for (v = VALUES - 1; v > 0; --v)
    for (k = 0; k < value[v].inputs; ++k, ++edges) {
      memset(&edge[edges], 0, sizeof edge[edges]);
      edge[edges].user = v;
      edge[edges].source = value[v].input[k];
      edge[edges].op = &value[v].op[k];
      edge[edges].operand = value[v].input;
    }
  return edges;
}

static void tag(int root) {
  int v, k, o, e, r, n = elements(&value[root]);
  memset(reaches, 0, sizeof reaches);
  for (r = 0; r < n; ++r) reaches[root][r][r] = 1;
  for (v = root; v > 0; --v)
    for (k = 0; k < value[v].inputs; ++k)
      for (o = 0; o < elements(&value[v]); ++o)
        for (e = 0; e < elements(&value[value[v].input[k]]); ++e)
          for (r = 0; r < n && reads(&value[v], k, o, e); ++r)
            if (reaches[v][r][o]) reaches[value[v].input[k]][r][e] = 1;
}

static int number(const made *m, const int64_t *index) {
  return (int)(m->rank == 2 ? index[0] * m->dims[1] + index[1] : m->rank ? index[0] : 0);
}

static void compare(sett_map_arena *arena, const sett_analysis_set *set, int root, int v, int from_root) {
  static unsigned char said[ELEMENTS][ELEMENTS];
  const sett_analysis_kept *one, *other;
  int r, e, same = 1, apart = 1;
  memset(said, 0, sizeof said);
  for (one = set->first; one; one = one->next) {
    sett_map_mark mark = sett_map_arena_mark(arena);
    sett_analysis_answer answer = sett_analysis_load(arena, one);
    sett_map_points points = sett_map_points_begin(arena, sett_analysis_map(&answer));
    same &= answer.kind == SETT_ANALYSIS_EXACT;
    while (sett_map_points_next(&points)) {
      r = number(&value[root], from_root ? points.point : points.result);
      e = number(&value[v], from_root ? points.result : points.point);
      if (r < 0 || r >= ELEMENTS || e < 0 || e >= ELEMENTS) same = 0;
      else said[r][e] = 1;
    }
    sett_map_arena_rewind(arena, mark);
    for (other = set->first; other != one; other = other->next) apart &= strcmp(one->text, other->text) != 0;
  }
  for (r = 0; r < ELEMENTS; ++r)
    for (e = 0; e < ELEMENTS; ++e) same &= said[r][e] == reaches[v][r][e];
  check(same, from_root ? "from the root: the pairs of all paths" : "to the root: the pairs of all paths");
  check(apart, "no map twice");
}

static void random_graph(void) {
  sett_map_arena arena = sett_map_arena_make(memory, sizeof memory);
  sett_analysis_store store = sett_analysis_store_make(kept, sizeof kept);
  sett_analysis_edge edge[EDGES];
  sett_analysis_value values[VALUES];
  sett_analysis_set set[VALUES];
  sett_analysis_graph graph;
  int v, root, from_root, at;
  memset(value, 0, sizeof value);
  memset(values, 0, sizeof values);
  value[0].rank = 1 + draw(2);
  value[0].dims[0] = 1 + draw(4);
  value[0].dims[1] = value[0].rank == 2 ? 1 + draw(4) : 1;
  for (v = 1; v < VALUES; ++v) make(v);
  for (v = 0; v < VALUES; ++v) {
    values[v].dims.count = value[v].rank;
    values[v].dims.values = value[v].dims;
  }
  graph.values = VALUES;
  graph.value = values;
  graph.edges = edges_of(edge);
  graph.edge = edge;
  graph.first = 0;
  root = VALUES - 1 - draw(2);
  tag(root);
  for (from_root = 0; from_root < 2; ++from_root) {
    store.used = 0;
    check(sett_analysis_whole(&arena, &store, &graph, root, from_root, set, &at) == 0 && at == -1,
          "a graph has its maps");
    for (v = 0; v < VALUES; ++v) compare(&arena, &set[v], root, v, from_root);
  }
  /* with two roots, equal maps are stored once */
  {
    sett_analysis_set more[VALUES];
    int both;
    check(!sett_analysis_whole(&arena, &store, &graph, root, 1, set, NULL) &&
              !sett_analysis_whole(&arena, &store, &graph, root, 1, more, NULL),
          "again");
    both = set[0].count;
    check(!sett_analysis_merge(&store, &set[0], &more[0]) && set[0].count == both, "merge adds nothing that is there");
  }
  /* too little memory is an error, whichever allocation fails */
  store = sett_analysis_store_make(kept, (size_t)draw(1500));
  v = sett_analysis_whole(&arena, &store, &graph, root, 1, set, &at);
  check(v == 0 || v == SETT_ANALYSIS_ERROR_STORE, "a store that is too small");
  check(store.used <= store.bytes, "a store keeps inside its memory");
}

/* ---- runtime variables, calls, refusals ---- */

static void print(sett_map_arena *arena, const sett_analysis_set *set, char *text, size_t room) {
  sett_analysis_answer answer;
  text[0] = 0;
  if (set->count != 1) return;
  answer = sett_analysis_load(arena, set->first);
  sett_map_print(arena, sett_analysis_map(&answer), text, room);
}

/* Three dynamic slices of 4 elements from table[10], whose starts are a constant 3, an element of an iota, and a
 * parameter. Values: 0 table, 1 parameter, 2 constant, 3 copy of 2, 4 iota[1], 5 reshape of 4 to a scalar; the slices
 * are 6 (at the constant), 7 (at the iota), 8 (at the parameter). */
static void runtimes(void) {
  static const int64_t ten[1] = {10}, four[1] = {4}, one[1] = {1}, zero[1] = {0};
  sett_map_arena arena = sett_map_arena_make(memory, sizeof memory);
  sett_analysis_store store = sett_analysis_store_make(kept, sizeof kept);
  sett_analysis_value values[9];
  sett_analysis_edge edge[16];
  sett_analysis_op slice, copy, reshape, call;
  sett_analysis_list in[2] = {{1, ten}, {0, NULL}}, scalar = {0, NULL}, single = {1, one};
  int operand[3][2] = {{0, 3}, {0, 5}, {0, 1}}, two[1] = {2}, iota[1] = {4}, k;
  sett_analysis_graph graph;
  sett_analysis_set set[9], whole[9];
  char text[256];
  memset(values, 0, sizeof values);
  memset(edge, 0, sizeof edge);
  memset(&slice, 0, sizeof slice);
  slice.opcode = SETT_ANALYSIS_DYNAMIC_SLICE;
  slice.operands = 2;
  slice.in = in;
  slice.out.count = 1;
  slice.out.values = four;
  memset(&copy, 0, sizeof copy);
  copy.opcode = SETT_ANALYSIS_ELEMENTWISE;
  copy.operands = 1;
  copy.in = &scalar;
  reshape = copy;
  reshape.opcode = SETT_ANALYSIS_RESHAPE;
  reshape.in = &single;
  values[0].dims = in[0];
  values[2].known = SETT_ANALYSIS_CONSTANT;
  values[2].number = 3;
  values[4].dims = single;
  values[4].known = SETT_ANALYSIS_IOTA;
  for (k = 0; k < 3; ++k) {
    values[6 + k].dims = slice.out;
    edge[k].user = 8 - k;
    edge[k].source = 0;
    edge[k].op = &slice;
    edge[k].operand = operand[2 - k];
  }
  edge[3].user = 5, edge[3].source = 4, edge[3].moves = 1, edge[3].op = &reshape, edge[3].operand = iota;
  edge[4].user = 3, edge[4].source = 2, edge[4].moves = 1, edge[4].op = &copy, edge[4].operand = two;
  graph.values = 9, graph.edges = 5, graph.value = values, graph.edge = edge, graph.first = 100;
  check(!sett_analysis_whole(&arena, &store, &graph, 6, 1, set, NULL), "a slice at a constant");
  print(&arena, &set[0], text, sizeof text);
  check(!strcmp(text, "(d0) -> (d0 + 3), domain: d0 in [0, 3]"), "a constant start is put in");
  check(!sett_analysis_whole(&arena, &store, &graph, 7, 1, set, NULL), "a slice at an iota");
  print(&arena, &set[0], text, sizeof text);
  check(!strcmp(text, "(d0) -> (d0), domain: d0 in [0, 3]"), "an iota's element is its index");
  check(!sett_analysis_whole(&arena, &store, &graph, 8, 1, set, NULL), "a slice at a parameter");
  print(&arena, &set[0], text, sizeof text);
  check(!strcmp(text, "(d0){rt0} -> (d0 + rt0), domain: d0 in [0, 3], rt0 in [0, 6]"), "a parameter stays");
  check(set[0].count == 1 && set[0].first->runtimes == 1 && set[0].first->runtime[0].operand == 101,
        "and says where it is read");
  /* a dynamic slice of the result of a call whose computation is the dynamic slice above: the call's runtime variable
   * comes first */
  whole[0] = set[0];
  memset(values, 0, sizeof values);
  memset(edge, 0, sizeof edge);
  values[0].dims = in[0];
  values[1].dims = slice.out;
  values[2].dims = single;
  in[0] = slice.out;
  slice.out = single;
  edge[0].user = 2, edge[0].source = 1, edge[0].op = &slice, edge[0].operand = operand[0];
  operand[0][0] = 1, operand[0][1] = 3;
  edge[1].user = 1, edge[1].source = 0, edge[1].down = whole[0];
  graph.values = 4, graph.edges = 2, graph.first = 200;
  check(!sett_analysis_whole(&arena, &store, &graph, 2, 1, set, NULL), "a call");
  print(&arena, &set[0], text, sizeof text);
  check(!strcmp(text, "(d0){rt0, rt1} -> (rt0 + rt1), domain: d0 in [0, 0], rt0 in [0, 6], rt1 in [0, 3]"),
        "a call's map");
  check(set[0].count == 1 && set[0].first->runtime[0].operand == 101 && set[0].first->runtime[1].operand == 203,
        "runtime variables of both in order");
  /* refused: values in a wrong order, a missing value, dimensions that disagree */
  {
    sett_analysis_edge turned[2];
    int at = 7;
    turned[0] = edge[1], turned[1] = edge[0];
    graph.edge = turned;
    check(sett_analysis_whole(&arena, &store, &graph, 2, 1, set, &at) == SETT_ANALYSIS_ERROR_GRAPH && at == 1,
          "sources before users");
    graph.edge = edge;
    check(sett_analysis_whole(&arena, &store, &graph, 4, 1, set, &at) == SETT_ANALYSIS_ERROR_GRAPH && at == -1,
          "no such root");
    edge[1].source = 4;
    check(sett_analysis_whole(&arena, &store, &graph, 2, 1, set, &at) == SETT_ANALYSIS_ERROR_GRAPH && at == 1,
          "no such value");
    edge[1].source = 0;
    memset(&call, 0, sizeof call);
    call.opcode = SETT_ANALYSIS_REVERSE;
    call.operands = 1;
    call.operand = 0;
    call.in = in;
    call.out = single;
    call.dimensions.count = 1;
    call.dimensions.values = zero;
    edge[0].op = &call;
    operand[0][0] = 1;
    check(sett_analysis_whole(&arena, &store, &graph, 2, 1, set, &at) == SETT_ANALYSIS_ERROR_SIZES && at == 0,
          "dimensions that disagree");
  }
}

/* If there are more than 256 maps between two values, they become one UNDEFINED map. It stays UNDEFINED when further
 * maps are added. */
static void many(void) {
  sett_map_arena arena = sett_map_arena_make(memory, sizeof memory);
  sett_analysis_store store = sett_analysis_store_make(kept, sizeof kept);
  sett_analysis_set set = {0, 0, NULL, NULL};
  int i;
  for (i = 0; i < 300; ++i) {
    sett_map_variable d = {NULL, 0, 9};
    sett_expr e = sett_map_add(&arena, sett_map_var(&arena, 0), sett_map_constant(&arena, i));
    sett_analysis_answer answer;
    memset(&answer, 0, sizeof answer);
    answer.kind = SETT_ANALYSIS_EXACT;
    answer.reason = "";
    answer.all = sett_map_make(&arena, 1, 0, 0, &d, 1, &e, 0, NULL);
    answer.results = 1;
    check(!sett_analysis_keep(&arena, &store, &set, &answer), "kept");
    check(set.count == (i < SETT_ANALYSIS_MAX_MAPS ? i + 1 : 1), "256 and no more");
  }
  check(set.first->kind == SETT_ANALYSIS_UNDEFINED && set.first == set.last, "then UNDEFINED");
}

/* Very large memories: a swizzle of too many blocks, a position that is inside the memory but does not fit in 64 bits,
 * and a position outside. */
static void large(void) {
  sett_map_arena arena = sett_map_arena_make(memory, sizeof memory);
  sett_map_variable d = {NULL, 0, 1};
  sett_expr at[2];
  sett_analysis_memory m;
  int64_t dims[2] = {2, INT64_MAX};
  memset(&m, 0, sizeof m);
  m.dims.values = dims;
  m.dims.count = 2;
  m.bits = 32;
  m.swizzle_every = m.swizzle_unit = 1;
  m.swizzle_count = INT64_MAX;
  at[0] = sett_map_var(&arena, 0);
  at[1] = sett_map_constant(&arena, 0);
  check(sett_analysis_bank_conflicts(&arena, sett_map_make(&arena, 1, 0, 0, &d, 2, at, 0, NULL), &m, 32, 4, 32).error ==
            SETT_ANALYSIS_ERROR_MEMORY,
        "no such swizzle");
  m.swizzle_count = 0;
  check(sett_analysis_bank_conflicts(&arena, sett_map_make(&arena, 1, 0, 0, &d, 2, at, 0, NULL), &m, 32, 4, 32).error ==
            SETT_ANALYSIS_ERROR_TOO_LARGE,
        "inside, but too far");
  dims[0] = 1;
  check(sett_analysis_bank_conflicts(&arena, sett_map_make(&arena, 1, 0, 0, &d, 2, at, 0, NULL), &m, 32, 4, 32).error ==
            SETT_ANALYSIS_ERROR_OUTSIDE,
        "outside");
}

int main(int argc, char **argv) {
  int i, count = argc > 1 ? atoi(argv[1]) : 300;
  seed = argc > 2 ? (uint64_t)atoll(argv[2]) * 2654435761u + 1 : 20;
  for (i = 0; i < count && failures < 10; ++i) random_graph();
  runtimes();
  many();
  large();
  printf("%ld checks of %d random graphs, %ld failures\n", checks, count, failures);
  return failures != 0;
}
