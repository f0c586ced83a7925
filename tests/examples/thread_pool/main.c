/* A generated kernel on the threads of the caller. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "pool.h"
#include "rms_norm.h"

enum { ROWS = 512, COLUMNS = 1024 };

static _Alignas(64) float x[ROWS * COLUMNS], weight[COLUMNS], y[ROWS * COLUMNS], serial[ROWS * COLUMNS];

typedef struct call {
  const void *params[rms_norm_PARAMS];
  void *results[rms_norm_RESULTS];
  void *scratch;
  int stage;
} call;

/* A range of a stage's items: each item writes its own part of the results, so threads need no lock. */
static void items(void *context, size_t begin, size_t end) {
  const call *c = context;
  rms_norm_c(c->params, c->results, c->scratch, c->stage, begin, end); /* fails only for a range that is none */
}

static double milliseconds(void) {
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* Stages run one after the other: a stage reads what all items of the one before wrote. pool_run waits for them. What one
 * thread does in less time than others need to begin is not handed to them. */
static void on_all(pool *threads, call *c) {
  for (c->stage = 0; c->stage < rms_norm_c_stages(); ++c->stage) {
    if (rms_norm_c_threads(c->stage) > 1) pool_run(threads, items, c, rms_norm_c_items(c->stage));
    else items(c, 0, rms_norm_c_items(c->stage));
  }
}

int main(void) {
  static pool threads;
  double begun, pooled, alone;
  call c = {{x, weight}, {y}, NULL, 0};
  void *serial_results[] = {serial};
  int i, different = 0;

  for (i = 0; i < ROWS * COLUMNS; ++i) x[i] = (float)(i % 13 - 6);
  for (i = 0; i < COLUMNS; ++i) weight[i] = 1 + (float)(i % 2);
  if (rms_norm_c_scratch_bytes() > 0 && !(c.scratch = aligned_alloc(64, rms_norm_c_scratch_bytes()))) return 1;
  if (rms_norm_c_prepare(c.scratch) || pool_begin(&threads, sysconf(_SC_NPROCESSORS_ONLN))) return 1;

  on_all(&threads, &c); /* first untimed: the memory is touched, the threads are awake */
  begun = milliseconds();
  on_all(&threads, &c);
  pooled = milliseconds() - begun;
  pool_end(&threads);

  /* Which thread does an item changes no bit of the result. */
  rms_norm_c_run(c.params, serial_results, c.scratch);
  begun = milliseconds();
  rms_norm_c_run(c.params, serial_results, c.scratch);
  alone = milliseconds() - begun;
  printf("%d threads: %.3f ms, one: %.3f ms\n", threads.threads, pooled, alone);
  for (i = 0; i < ROWS * COLUMNS; ++i) different += y[i] != serial[i];
  printf("y[0] = %.6f, y[1] = %.6f, %d elements differ from one thread's\n", (double)y[0], (double)y[1], different);
  free(c.scratch);
  return different != 0;
}
