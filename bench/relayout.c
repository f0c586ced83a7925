/* Time relayouts of 256 MiB (include/sett_relayout.h) next to the naive loop, oneDNN's reorder and NumPy.
 *
 *   relayout [THREADS [ROUNDS [CASE]]]     CASE: only cases whose name contains this
 *
 * A share is the time of a plain copy divided by the contender's time. The plain copy is the fastest of memcpy and copies
 * with streaming stores, of the same bytes with the same threads in the same run. Each contender has one turn per round,
 * and the rounds alternate between two pairs of buffers; the printed share is the median of the rounds.
 *
 * A turn is an untimed run on the other pair, then the timed run. So the caches hold the contender's own data when the
 * timed run starts. If the contender uses plain stores, many cache lines of the untimed run are not yet in memory, and
 * the timed run has to write them back.
 *
 * The last column is the share of the simplest fast copy, in which each thread copies one contiguous range with streaming
 * stores. Every result is compared with the naive loop's. */
#include "../gen/run/harness/copies.h"
#include "../include/sett_tile.h"
#include "../include/sett_relayout.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef SETT_ONEDNN
#include <oneapi/dnnl/dnnl.h>
#endif

enum { SETS = 2, MOST_ROUNDS = 99, RIVALS = 12 };

static const struct {
  const char *name, *from, *to, *numpy;
} cases[] = {
  { "f32 rows to T(8,128)", "f32[8192,8192]{1,0}", "f32[8192,8192]{1,0:T(8,128)}",
    "o.reshape(1024,64,8,128)[:]=i.reshape(1024,8,64,128).transpose(0,2,1,3)" },
  { "f32 T(8,128) to rows", "f32[8192,8192]{1,0:T(8,128)}", "f32[8192,8192]{1,0}",
    "o.reshape(1024,8,64,128)[:]=i.reshape(1024,64,8,128).transpose(0,2,1,3)" },
  { "bf16 rows to T(8,128)(2,1)", "bf16[16384,8192]{1,0}", "bf16[16384,8192]{1,0:T(8,128)(2,1)}",
    "o.reshape(2048,64,4,128,2)[:]=i.reshape(2048,4,2,64,128).transpose(0,3,1,4,2)" },
  { "bf16 T(8,128)(2,1) to rows", "bf16[16384,8192]{1,0:T(8,128)(2,1)}", "bf16[16384,8192]{1,0}",
    "o.reshape(2048,4,2,64,128)[:]=i.reshape(2048,64,4,128,2).transpose(0,2,4,1,3)" },
  { "s8 rows to T(8,128)(4,1)", "s8[16384,16384]{1,0}", "s8[16384,16384]{1,0:T(8,128)(4,1)}",
    "o.reshape(2048,128,2,128,4)[:]=i.reshape(2048,2,4,128,128).transpose(0,3,1,4,2)" },
  { "s8 T(8,128)(4,1) to rows", "s8[16384,16384]{1,0:T(8,128)(4,1)}", "s8[16384,16384]{1,0}",
    "o.reshape(2048,2,4,128,128)[:]=i.reshape(2048,128,2,128,4).transpose(0,2,4,1,3)" },
  { "f32 columns to T(8,128)", "f32[8192,8192]{0,1}", "f32[8192,8192]{1,0:T(8,128)}",
    "o.reshape(1024,64,8,128)[:]=i.reshape(64,128,1024,8).transpose(2,0,3,1)" },
  { "f32 T(8,128) to columns", "f32[8192,8192]{1,0:T(8,128)}", "f32[8192,8192]{0,1}",
    "o.reshape(64,128,1024,8)[:]=i.reshape(1024,64,8,128).transpose(1,3,0,2)" },
  { "f32 rows to columns", "f32[8192,8192]{1,0}", "f32[8192,8192]{0,1}", "o.reshape(8192,8192)[:]=i.reshape(8192,8192).T" },
  { "bf16 rows to columns", "bf16[16384,8192]{1,0}", "bf16[16384,8192]{0,1}", "o.reshape(8192,16384)[:]=i.reshape(16384,8192).T" },
  { "s8 rows to columns", "s8[16384,16384]{1,0}", "s8[16384,16384]{0,1}", "o.reshape(16384,16384)[:]=i.reshape(16384,16384).T" },
};

static unsigned char *source[SETS], *destination[SETS], *wanted;
static sett_relayout_plan plan;
static sett_tile_shape from, to;
static int threads;

static double now(void) {
  struct timespec t;
  timespec_get(&t, TIME_UTC);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- sett ---- */

typedef struct shared {
  atomic_llong next;
  int set;
} shared;

/* Each thread repeatedly takes the next group of pieces, until none is left. */
static void our_share(void *argument, int thread, int all) {
  shared *s = argument;
  long long part = plan.pieces / (16 * all) + 1;
  (void)thread;
  for (;;) {
    long long first = atomic_fetch_add(&s->next, part), last = first + part < plan.pieces ? first + part : plan.pieces;
    if (first >= plan.pieces) return;
    sett_relayout_run(&plan, source[s->set], destination[s->set], first, last);
  }
}

static void ours(int set) {
  shared s;
  atomic_init(&s.next, 0);
  s.set = set;
  copies_share(our_share, &s);
}

/* ---- the naive loop, which computes the address of each element ---- */

typedef struct plain {
  int64_t rows, columns, tile[2], zip; /* without tiles, `tile` is {1, columns}; `zip`: number of interleaved rows */
  int by_columns;
} plain;

static plain plain_of(const sett_tile_shape *shape) {
  plain p = { shape->dims[0], shape->dims[1], { 1, shape->dims[1] }, 1, shape->minor_to_major[0] == 0 };
  if (shape->tiles > 0) p.tile[0] = shape->tile[0], p.tile[1] = shape->tile[1];
  if (shape->tiles > 1) p.zip = shape->tile[2];
  return p;
}

static inline int64_t place(plain p, int64_t i, int64_t j) {
  int64_t r = i % p.tile[0], c = j % p.tile[1];
  if (p.by_columns) return j * p.rows + i;
  return (((i / p.tile[0] * (p.columns / p.tile[1]) + j / p.tile[1]) * (p.tile[0] / p.zip) + r / p.zip) * p.tile[1] + c) *
             p.zip + r % p.zip;
}

static void naive_share(void *argument, int thread, int all) {
  plain a = plain_of(&from), b = plain_of(&to);
  int set = *(int *)argument;
  int64_t bytes = sett_tile_bits(&from) / 8, end = a.rows * (thread + 1) / all;
  for (int64_t i = a.rows * thread / all; i < end; ++i)
    for (int64_t j = 0; j < a.columns; ++j) {
      int64_t p = place(a, i, j), q = place(b, i, j);
      if (bytes == 4) ((uint32_t *)(void *)destination[set])[q] = ((const uint32_t *)(const void *)source[set])[p];
      else if (bytes == 2) ((uint16_t *)(void *)destination[set])[q] = ((const uint16_t *)(const void *)source[set])[p];
      else destination[set][q] = source[set][p];
    }
}

static void naive(int set) { copies_share(naive_share, &set); }

/* ---- oneDNN ---- */

static const char *onednn_why = "built without oneDNN";
#if defined(SETT_ONEDNN) && DNNL_VERSION_MAJOR == 2
static struct {
  dnnl_engine_t engine;
  dnnl_stream_t stream;
  dnnl_primitive_t primitive;
  dnnl_memory_t in[SETS], out[SETS];
} dnnl;

static dnnl_memory_desc_t described(const sett_tile_shape *shape, dnnl_data_type_t type) {
  plain p = plain_of(shape);
  dnnl_dims_t dims = { p.rows, p.columns }, strides = { p.by_columns ? 1 : p.columns, p.by_columns ? p.rows : 1 };
  dnnl_memory_desc_t d;
  dnnl_memory_desc_init_by_strides(&d, 2, dims, type, strides);
  if (shape->tiles > 0) {
    dnnl_blocking_desc_t *b = &d.format_desc.blocking;
    dnnl_dims_t blocks = { p.tile[0] / p.zip, p.tile[1], p.zip }, of = { 0, 1, 0 };
    b->inner_nblks = p.zip > 1 ? 3 : 2;
    memcpy(b->inner_blks, blocks, sizeof blocks);
    memcpy(b->inner_idxs, of, sizeof of);
    b->strides[1] = p.tile[0] * p.tile[1];
    b->strides[0] = p.tile[0] * p.columns;
  }
  return d;
}

static int onednn_open(void) {
  dnnl_data_type_t type = from.type == SETT_TILE_F32 ? dnnl_f32 : from.type == SETT_TILE_BF16 ? dnnl_bf16 : dnnl_s8;
  dnnl_memory_desc_t a = described(&from, type), b = described(&to, type);
  dnnl_primitive_desc_t made = NULL;
  if (!dnnl.engine && (dnnl_engine_create(&dnnl.engine, dnnl_cpu, 0) != dnnl_success ||
                       dnnl_stream_create(&dnnl.stream, dnnl.engine, dnnl_stream_default_flags) != dnnl_success)) {
    onednn_why = "it does not start";
    return 1;
  }
  if (dnnl_reorder_primitive_desc_create(&made, &a, dnnl.engine, &b, dnnl.engine, NULL) != dnnl_success ||
      dnnl_primitive_create(&dnnl.primitive, made) != dnnl_success) {
    onednn_why = "it has no such reorder";
    return 1;
  }
  dnnl_primitive_desc_destroy(made);
  for (int s = 0; s < SETS; ++s)
    if (dnnl_memory_create(&dnnl.in[s], &a, dnnl.engine, source[s]) != dnnl_success ||
        dnnl_memory_create(&dnnl.out[s], &b, dnnl.engine, destination[s]) != dnnl_success)
      return 1;
  return 0;
}

static void onednn(int set) {
  dnnl_exec_arg_t arguments[2] = { { DNNL_ARG_SRC, dnnl.in[set] }, { DNNL_ARG_DST, dnnl.out[set] } };
  dnnl_primitive_execute(dnnl.primitive, dnnl.stream, 2, arguments);
  dnnl_stream_wait(dnnl.stream);
}

static void onednn_close(void) {
  for (int s = 0; s < SETS; ++s) dnnl_memory_destroy(dnnl.in[s]), dnnl_memory_destroy(dnnl.out[s]);
  dnnl_primitive_destroy(dnnl.primitive);
}
#else
static int onednn_open(void) { return 1; }
static void onednn(int set) { (void)set; }
static void onednn_close(void) {}
#endif

/* ---- NumPy, after the rounds, in a separate process with one thread ---- */

static double numpy(const char *statement, size_t bytes, int element) {
  char command[1024];
  double seconds = -1;
  FILE *pipe;
  snprintf(command, sizeof command,
           "python3 -c \"import time, numpy as n\n"
           "i=n.ones(%zu,'u%d'); o=n.zeros_like(i); t=[]\n"
           "for _ in range(4):\n a=time.perf_counter(); %s; t.append(time.perf_counter()-a)\n"
           "print(sorted(t)[1])\" 2> /dev/null",
           bytes / (size_t)element, element, statement);
  pipe = popen(command, "r");
  if (!pipe) return -1;
  if (fscanf(pipe, "%lf", &seconds) != 1) seconds = -1;
  pclose(pipe);
  return seconds;
}

/* ---- turns ---- */

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(const double *values, int count) {
  double sorted[MOST_ROUNDS];
  memcpy(sorted, values, (size_t)count * sizeof *values);
  qsort(sorted, (size_t)count, sizeof *sorted, by_size);
  return sorted[count / 2];
}

static int copy_number;

static void copies_turn(int set) { copies_copy(copy_number, source, destination, (size_t)sett_tile_bytes(&to), SETS, set, 1); }

static double timed(void (*run)(int), int set) {
  double start = now();
  run(set);
  return now() - start;
}

static double turn(void (*run)(int), int round) {
  run((round + 1) % SETS);
  return timed(run, round % SETS);
}

static void report(const char *name, double seconds, double share, double of_one_stream, size_t bytes) {
  printf("  %-44s %8.2f ms %7.2f GB/s %6.1f%% %6.1f%%\n", name, seconds * 1e3, 2 * (double)bytes / seconds / 1e9, share * 100,
         of_one_stream * 100);
}

/* Return a contender's share: the median over the rounds of (time of the copy) / (time of the contender). */
static double share_of(const double *copy, const double *own, int rounds) {
  double ratio[MOST_ROUNDS];
  for (int r = 0; r < rounds; ++r) ratio[r] = copy[r] / own[r];
  return median(ratio, rounds);
}

static int check(const char *who, int set, size_t bytes) {
  if (!memcmp(destination[set], wanted, bytes)) return 0;
  printf("FAIL %s: not the naive loop's result\n", who);
  return 1;
}

static int measure(int number, int rounds) {
  static double time_of[RIVALS][MOST_ROUNDS], ours_time[MOST_ROUNDS], dnnl_time[MOST_ROUNDS];
  size_t bytes;
  int copies = 0, best = 0, one = 0, dnnl_runs, bad = 0;
  double naive_time, numpy_time;
#define REPORT(name, times) report(name, median(times, rounds), share_of(time_of[best], times, rounds), share_of(time_of[one], times, rounds), bytes)
#define REPORT_ONCE(name, time) report(name, time, median(time_of[best], rounds) / (time), median(time_of[one], rounds) / (time), bytes)
  from = sett_tile_parse(cases[number].from, strlen(cases[number].from));
  to = sett_tile_parse(cases[number].to, strlen(cases[number].to));
  if (sett_relayout_prepare(&plan, &from, &to, NULL)) return 1;
  bytes = (size_t)sett_tile_bytes(&to);
  printf("%s to %s, %lld pieces, %d thread%s\n", cases[number].from, cases[number].to, (long long)plan.pieces, threads,
         threads > 1 ? "s" : "");
  naive_time = timed(naive, 0);
  memcpy(wanted, destination[0], bytes);
  dnnl_runs = !onednn_open();
  for (int set = 0; set < SETS; ++set) { /* a warm-up turn, and the comparison of results */
    memset(destination[set], 0, bytes);
    ours(set);
    bad |= check("ours", set, bytes);
  }
  if (dnnl_runs) {
    memset(destination[0], 0, bytes);
    onednn(0);
    bad |= check("oneDNN", 0, bytes);
  }
  for (int r = 0; r < rounds; ++r) {
    for (copies = 0; copies < RIVALS && copies_copy_name(copies); ++copies) {
      copy_number = copies;
      time_of[copies][r] = turn(copies_turn, r);
    }
    ours_time[r] = turn(ours, r);
    if (dnnl_runs) dnnl_time[r] = turn(onednn, r);
  }
  for (int c = 1; c < copies; ++c)
    if (median(time_of[c], rounds) < median(time_of[best], rounds)) best = c;
  for (int c = 0; c < copies; ++c)
    if (!strcmp(copies_copy_name(c), "streaming stores")) one = c;
  for (int c = 0; c < copies; ++c)
    if (c == best || c == one || c == 0) REPORT(copies_copy_name(c), time_of[c]);
  REPORT("sett_relayout_run", ours_time);
  REPORT_ONCE("naive loop", naive_time);
  if (dnnl_runs) {
    REPORT("oneDNN reorder", dnnl_time);
    onednn_close();
  } else {
    printf("  SKIP oneDNN: %s\n", onednn_why);
  }
  numpy_time = threads == 1 ? numpy(cases[number].numpy, bytes, (int)sett_tile_bits(&to) / 8) : -1;
  if (numpy_time > 0) REPORT_ONCE("NumPy (a process of its own)", numpy_time);
  else printf("  SKIP NumPy: %s\n", threads == 1 ? "python3 has none" : "it has one thread");
  fflush(stdout);
  return bad;
}

int main(int argc, char **argv) {
  int rounds = argc > 2 ? atoi(argv[2]) : 11, bad = 0;
  size_t bytes = (size_t)256 << 20;
  uint64_t state = 1;
  threads = argc > 1 ? atoi(argv[1]) : 1;
  if (rounds < 1 || rounds > MOST_ROUNDS || threads < 1 || copies_open(threads)) return 2;
  wanted = aligned_alloc(4096, bytes);
  for (int s = 0; s < SETS; ++s) {
    source[s] = aligned_alloc(4096, bytes);
    destination[s] = aligned_alloc(4096, bytes);
    if (!wanted || !source[s] || !destination[s]) return 2;
    memset(destination[s], 1, bytes);
  }
  for (size_t i = 0; i < bytes; i += 8) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    for (int s = 0; s < SETS; ++s) memcpy(source[s] + i, &state, 8);
  }
  for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c)
    if (argc <= 3 || strstr(cases[c].name, argv[3])) bad |= measure((int)c, rounds);
  copies_close();
  return bad;
}
