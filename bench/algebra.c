/* Time include/sett_indexing_map.h on classes of maps. The simplifier of XLA ("upstream") was timed on the same
 * classes.
 *
 *   algebra [N]            parse, compose and simplify N maps of each class (default 400), next to upstream's times
 *   algebra rows FILE      simplify the inputs in FILE (tab-separated, as random_maps.tsv), next to upstream's times
 *   algebra lines FILE     parse and simplify the map on each line, next to upstream's times for its own test inputs.
 *                          A FILE of these inputs is made by
 *                            python3 -c "import json; [print(c['inputs'][0]) for c in json.load(open(
 *                                        'indexing_map_cases.json')) if c['kind'] == 'indexing_map']"
 *   algebra deep N         simplify N chains of each class with rank 6 and 12 steps (identities: 6 steps and their
 *                          inverses), then N identities of each kind with 12 steps and their inverses; count the
 *                          maps that take over 10 ms
 *   algebra scaling        identities of rank 4 and 6, depth 1 to 12: the time for each number of distinct nodes
 *   algebra texts CLASS N  print N maps of CLASS, one per line
 *   algebra times FILE     print the microseconds of simplify for the map on each line
 *   algebra count CLASS N  simplify N maps of CLASS (EXPRESSION, GPU, ID_RESHAPE, ..) once, for
 *                            valgrind --tool=callgrind --collect-atstart=no --toggle-collect=sett_map_simplify
 *                          (with --dump-after=sett_map_simplify, it writes a file of counts for each map)
 *
 * A time is the minimum of several repetitions; the arena is rewound between them. As in upstream's measurements,
 * chains have ranks 2 to 6 and 2 to 6 steps, equally often; identities are 1 to 4 steps and their inverses; maps of GPU
 * tiles have ranks 2 to 4 and 1 to 3 steps. */
#include "../tests/algebra/indexing_map_draw.h"

#include <time.h>

enum { MEMORY = 1 << 28, TEXT = 1 << 22, MAPS = 1 << 16, REPEATS = 7 };

typedef struct anchor {
  int which;
  double nodes, parse, compose, median, p90, max; /* upstream's times in microseconds */
} anchor;

static const anchor anchors[] = {
    {DRAW_EXPRESSION, 13, 3.0, 0, 1, 5, 20},
    {DRAW_CONSTRAINED, 21, 4.0, 0, 1.1, 5, 26},
    {DRAW_GPU, 107, 12, 2.8, 25, 270, 5158},
    {DRAW_MIX, 42, 6.8, 3.3, 5.7, 200, 24700},
    {DRAW_BITCAST_2, 139, 17, 5.9, 39, 481, 5336},
    {DRAW_BITCAST_SMALL, 254, 29, 8.6, 103, 2672, 1.1e6},
    {DRAW_BITCAST_PRIMES, 297, 34, 9.5, 157, 7638, 0.35e6},
    {DRAW_BITCAST_TURNS, 0, 0, 0, 0, 0, 0},
    {DRAW_ID_RESHAPE, 918, 103, 20, 589, 43116, 4.9e6},
    {DRAW_ID_MOVES, 0, 0, 0, 0, 0, 0},
    {DRAW_ID_ALL, 0, 0, 0, 0, 0, 0},
    {DRAW_LATTICE, 0, 0, 0, 0, 0, 0},
    {DRAW_COMMON, 0, 0, 0, 0, 0, 0},
    {DRAW_MONOTONE, 0, 0, 0, 0, 0, 0},
    {DRAW_CLAMPS, 0, 0, 0, 0, 0, 0},
    {DRAW_PRODUCTS, 0, 0, 0, 0, 0, 0},
    {DRAW_SYMBOLIC, 0, 0, 0, 0, 0, 0},
    {DRAW_NEIGHBOURS, 0, 0, 0, 0, 0, 0},
};
static const anchor test_inputs = {0, 8, 2.7, 0, 0.56, 4.1, 15};

/* Call simplify through a pointer, so that a profiler sees the call. */
static sett_map (*volatile simplify)(sett_map_arena *, sett_map) = sett_map_simplify;

static sett_map_arena arena;
static draw_chain chain;
static char text[TEXT];

static double now(void) { /* microseconds */
  static time_t start;
  struct timespec t;
  timespec_get(&t, TIME_UTC);
  if (!start) start = t.tv_sec;
  return (double)(t.tv_sec - start) * 1e6 + (double)t.tv_nsec / 1e3;
}

typedef struct times {
  double tree, distinct, parse, compose, simplify;
} times;

/* The minimum time of REPEATS repetitions. An action that takes long is not repeated. */
#define BEST(best, action)                                                     \
  do {                                                                         \
    sett_map_mark mark_ = sett_map_arena_mark(&arena);                         \
    int round_;                                                                \
    (best) = 1e30;                                                             \
    for (round_ = 0; round_ < REPEATS && (!round_ || (best) < 5e4); ++round_) { \
      double start_, took_;                                                    \
      sett_map_arena_rewind(&arena, mark_);                                    \
      start_ = now();                                                          \
      action;                                                                  \
      took_ = now() - start_;                                                  \
      if (took_ < (best)) (best) = took_;                                      \
    }                                                                          \
  } while (0)

static void time_simplify(sett_map map, times *t) {
  sett_map simple;
  t->tree = map.kind == SETT_MAP_DEFINED ? draw_nodes(&arena, map, &t->distinct) : 0;
  BEST(t->simplify, simple = simplify(&arena, map));
  if (simple.kind == SETT_MAP_FAILED) fprintf(stderr, "simplify failed: %s\n", sett_map_message(simple.error));
}

static times time_text(const char *line, size_t length) {
  sett_map_mark mark = sett_map_arena_mark(&arena);
  times t = {0, 0, 0, 0, 0};
  sett_map map;
  BEST(t.parse, map = sett_map_parse(&arena, line, length));
  time_simplify(map, &t);
  sett_map_arena_rewind(&arena, mark);
  return t;
}

static times time_chain(void) {
  sett_map_mark mark = sett_map_arena_mark(&arena), composed;
  times t = {0, 0, 0, 0, 0};
  sett_map step[2 * DRAW_DEPTH], map;
  size_t length;
  int i;
  for (i = 0; i < chain.steps; ++i) step[i] = draw_parse(&arena, chain.step[i]);
  BEST(t.compose, for (map = step[0], i = 1; i < chain.steps; ++i) map = sett_map_compose(&arena, map, step[i]));
  composed = sett_map_arena_mark(&arena);
  time_simplify(map, &t);
  sett_map_arena_rewind(&arena, composed);
  t.parse = -1; /* -1: not measured, because the text is too long to parse */
  if (t.tree < 1e5 && (length = sett_map_print(&arena, map, text, TEXT)) < TEXT) {
    sett_map_arena_rewind(&arena, mark);
    BEST(t.parse, map = sett_map_parse(&arena, text, length));
  }
  sett_map_arena_rewind(&arena, mark);
  return t;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Sort the values that are not below 0. Return a quantile of them. */
static double quantile(double *value, int n, double q) {
  int first = 0;
  qsort(value, (size_t)n, sizeof *value, by_value);
  while (first < n && value[first] < 0) ++first;
  return first < n ? value[first + (int)((double)(n - 1 - first) * q)] : 0;
}

static double tree[MAPS], distinct[MAPS], parse[MAPS], compose[MAPS], simple[MAPS], theirs[MAPS];

static void keep(int i, times t) {
  tree[i] = t.tree;
  distinct[i] = t.distinct;
  parse[i] = t.parse;
  compose[i] = t.compose;
  simple[i] = t.simplify;
}

/* Draw map i of a class. Its rank and its number of steps follow from i. For an identity, the inverses of all steps are
 * drawn too. */
static void draw_number(draw *r, int which, int i) {
  if (which == DRAW_ID_RESHAPE || which == DRAW_ID_MOVES || which == DRAW_ID_ALL) draw_map(r, which, 2 + i % 5, 1 + i / 5 % 4, &chain);
  else if (which == DRAW_GPU) draw_map(r, which, 2 + i % 3, 1 + i / 3 % 3, &chain);
  else draw_map(r, which, 2 + i % 5, 2 + i / 5 % 5, &chain);
}

static void head(void) {
  printf("%-28s %5s %6s %9s | %7s %7s | %8s %8s %9s | upstream %6s %8s %9s | times faster: parse, median, p90 (0: not known)\n", "class", "maps", "nodes", "distinct", "parse", "compose",
         "median", "p90", "max us", "median", "p90", "max us");
}

static void row(const char *name, int n, const anchor *a) {
  double median = quantile(simple, n, 0.5), p90 = quantile(simple, n, 0.9), read = quantile(parse, n, 0.5);
  printf("%-28s %5d %6.0f %9.0f | %7.2f %7.2f | %8.2f %8.2f %9.1f |", name, n, quantile(tree, n, 0.5), quantile(distinct, n, 0.5), read,
         quantile(compose, n, 0.5), median, p90, quantile(simple, n, 1));
  if (a->median > 0)
    printf("          %6.4g %8.5g %9.6g | %6.1f %6.1f %6.1f", a->median, a->p90, a->max, a->parse / read, a->median / median, a->p90 / p90);
  puts("");
  fflush(stdout);
}

static void classes(int n) {
  size_t k;
  int i;
  head();
  for (k = 0; k < sizeof anchors / sizeof *anchors; ++k) {
    draw r = draw_make(1 + k, 1 << 20);
    for (i = 0; i < n; ++i) {
      draw_number(&r, anchors[k].which, i);
      keep(i, time_chain());
    }
    row(draw_class_text(anchors[k].which), n, &anchors[k]);
  }
}

static FILE *open_file(const char *path) {
  FILE *file = fopen(path, "r");
  if (!file) {
    perror(path);
    exit(2);
  }
  return file;
}

static void lines(const char *path) {
  FILE *file = open_file(path);
  int n = 0;
  while (n < MAPS && fgets(text, TEXT, file)) keep(n++, time_text(text, strcspn(text, "\r\n")));
  fclose(file);
  head();
  row("upstream's test inputs", n, &test_inputs);
}

/* Each row of the file has these columns: the input, the result of upstream (XLA), the class, the numbers of nodes
 * before and after, whether upstream's result is sound, 1 for an identity, upstream's nanoseconds. */
static void rows(const char *path) {
  static const char *const group[][2] = {
      {"expr_*_con", "the same with constraints"}, {"expr_", "random expressions"}, {"gpu_tile", "GPU tile + reshape"}, {"mixed", "slice, pad, concat mixes"},
      {"bitcast_p2", "bitcasts, powers of two"}, {"bitcast_ml", "bitcasts, 2^k*{3,5,7,9}"}, {"bitcast", "bitcasts, mixed primes"}, {"id_", "identities"}, {"", "all"},
  };
  const char *field[8];
  size_t k;
  head();
  for (k = 0; k < sizeof group / sizeof *group; ++k) {
    FILE *file = open_file(path);
    anchor a = {0, 0, 0, 0, 0, 0, 0};
    int n = 0, i;
    while (n < MAPS && fgets(text, TEXT, file)) {
      char *at = text;
      size_t g;
      if (text[0] == '#') continue;
      for (i = 0; i < 8; ++i) {
        field[i] = at;
        at += strcspn(at, "\t\r\n");
        if (*at) *at++ = 0;
      }
      for (g = 0; g + 1 < sizeof group / sizeof *group; ++g)
        if (g ? !strncmp(field[2], group[g][0], strlen(group[g][0])) : strstr(field[2], "_con") != NULL) break;
      if (g != k && group[k][0][0]) continue;
      theirs[n] = strtod(field[7], NULL) / 1e3;
      keep(n++, time_text(field[0], strlen(field[0])));
    }
    fclose(file);
    a.median = quantile(theirs, n, 0.5);
    a.p90 = quantile(theirs, n, 0.9);
    a.max = quantile(theirs, n, 1);
    if (n) row(group[k][1], n, &a);
  }
}

static const int identities[] = {DRAW_ID_RESHAPE, DRAW_ID_MOVES, DRAW_ID_ALL};
enum { IDENTITIES = sizeof identities / sizeof *identities };

static void deep(int n) {
  static const struct { int which, depth; } chains[] = {
      {DRAW_GPU, 12}, {DRAW_MIX, 12}, {DRAW_BITCAST_2, 12}, {DRAW_BITCAST_SMALL, 12}, {DRAW_BITCAST_PRIMES, 12}, {DRAW_BITCAST_TURNS, 12}, {DRAW_ID_RESHAPE, 6}, {DRAW_ID_MOVES, 6},
      {DRAW_ID_ALL, 6}, {DRAW_ID_RESHAPE, 12}, {DRAW_ID_MOVES, 12}, {DRAW_ID_ALL, 12},
  };
  static const anchor none = {0, 0, 0, 0, 0, 0, 0};
  size_t k;
  int i, over;
  head();
  for (k = 0; k < sizeof chains / sizeof *chains; ++k) {
    draw r = draw_make(1 + k, 1 << 20);
    for (i = over = 0; i < n; ++i) {
      draw_map(&r, chains[k].which, 6, chains[k].depth, &chain);
      keep(i, time_chain());
      over += simple[i] > 1e4;
    }
    row(draw_class_text(chains[k].which), n, &none);
    printf("  over 10 ms: %d\n", over);
  }
}

/* For each rank and depth, draw some identities. Print the median of their numbers of nodes, and of their times. */
static void scaling(void) {
  enum { CHAINS = 15, SLOW = 500000 };
  size_t k;
  int rank, depth, i;
  for (k = 0; k < IDENTITIES; ++k) {
    for (rank = 4; rank <= 6; rank += 2) {
      draw r = draw_make(100 * k + (uint64_t)rank, 1 << 20);
      printf("%s, rank %d\n%5s %8s %12s %12s %10s %10s %10s %14s\n", draw_class_text(identities[k]), rank, "depth", "distinct", "tree", "largest tree", "compose us",
             "median us", "max us", "ns a distinct");
      for (depth = 1; depth <= 12; ++depth) {
        for (i = 0; i < CHAINS; ++i) {
          draw_map(&r, identities[k], rank, depth, &chain);
          keep(i, time_chain());
        }
        printf("%5d %8.0f %12.4g %12.4g %10.1f %10.1f %10.1f %14.0f\n", depth, quantile(distinct, CHAINS, 0.5), quantile(tree, CHAINS, 0.5), quantile(tree, CHAINS, 1),
               quantile(compose, CHAINS, 0.5), quantile(simple, CHAINS, 0.5), quantile(simple, CHAINS, 1),
               1e3 * quantile(simple, CHAINS, 0.5) / quantile(distinct, CHAINS, 0.5));
        fflush(stdout);
        if (quantile(compose, CHAINS, 1) + quantile(simple, CHAINS, 1) > (double)SLOW) {
          puts("stopped: a map took over half a second");
          break;
        }
      }
    }
  }
}

static int class_of(const char *key) {
  int which = draw_class_find(key);
  if (which < 0) {
    fprintf(stderr, "no class %s\n", key);
    exit(2);
  }
  return which;
}

static void texts(int which, int n) {
  draw r = draw_make(1, 1 << 20);
  int i;
  for (i = 0; i < n; ++i) {
    draw_number(&r, which, i);
    if (draw_text(&arena, &chain, text, TEXT)) puts(text);
  }
}

static void line_times(const char *path) {
  FILE *file = open_file(path);
  while (fgets(text, TEXT, file)) printf("%.3f\n", time_text(text, strcspn(text, "\r\n")).simplify);
  fclose(file);
}

static int count(int which, int n) {
  int i, done = 0;
  double nodes = 0, one;
  draw r = draw_make(1, 1 << 20);
  for (i = 0; i < n; ++i) {
    sett_map_mark mark = sett_map_arena_mark(&arena);
    sett_map map;
    draw_number(&r, which, i);
    map = draw_compose(&arena, &chain);
    if (map.kind == SETT_MAP_DEFINED) draw_nodes(&arena, map, &one), nodes += one;
    done += simplify(&arena, map).kind != SETT_MAP_FAILED;
    sett_map_arena_rewind(&arena, mark);
  }
  printf("%d maps, %.0f distinct nodes\n", done, nodes);
  return 0;
}

int main(int argc, char **argv) {
  void *memory = malloc(MEMORY);
  const char *mode = argc > 1 ? argv[1] : "400";
  if (!memory) return 2;
  arena = sett_map_arena_make(memory, MEMORY);
  if (argc == 3 && !strcmp(mode, "rows")) rows(argv[2]);
  else if (argc == 3 && !strcmp(mode, "lines")) lines(argv[2]);
  else if (argc == 3 && !strcmp(mode, "deep") && atoi(argv[2]) > 0 && atoi(argv[2]) <= MAPS) deep(atoi(argv[2]));
  else if (argc == 2 && !strcmp(mode, "scaling")) scaling();
  else if (argc == 4 && !strcmp(mode, "texts")) texts(class_of(argv[2]), atoi(argv[3]));
  else if (argc == 3 && !strcmp(mode, "times")) line_times(argv[2]);
  else if (argc == 4 && !strcmp(mode, "count")) return count(class_of(argv[2]), atoi(argv[3]));
  else if (atoi(mode) > 0 && atoi(mode) <= MAPS) classes(atoi(mode));
  else {
    fprintf(stderr, "expected: algebra [N], rows FILE, lines FILE, deep N, scaling, texts CLASS N, times FILE, or count CLASS N\n");
    return 2;
  }
  free(memory);
  return 0;
}
