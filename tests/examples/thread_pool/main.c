/* Run a generated kernel on the caller's threads. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "pool.h"
#include "rms_norm.h"

enum { ROWS = 512, COLUMNS = 1024 };

static float x[ROWS * COLUMNS], weight[COLUMNS], y[ROWS * COLUMNS], serial[ROWS * COLUMNS];

/* What the kernel needs from the pool: call item(work, n) for each n below count, on any threads, and return when all
 * calls have ended. Each item writes its own part of the results, so the threads need no lock. */
typedef struct items {
  void (*item)(const void *work, size_t n);
  const void *work;
} items;

static void range(void *context, size_t begin, size_t end) {
  const items *all = context;
  for (; begin < end; ++begin) all->item(all->work, begin);
}

static void on_pool(void *threads, size_t count, void (*item)(const void *work, size_t n), const void *work) {
  items all = {item, work};
  pool_run(threads, range, &all, count);
}

static double milliseconds(void) {
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

int main(void) {
  static pool threads;
  double begun, pooled, alone;
  const void *params[rms_norm_PARAMS] = {x, weight};
  void *results[rms_norm_RESULTS] = {y}, *scratch = NULL;
  struct sett_share share = {0, on_pool, &threads};
  int i, different = 0;

  for (i = 0; i < ROWS * COLUMNS; ++i) x[i] = (float)(i % 13 - 6);
  for (i = 0; i < COLUMNS; ++i) weight[i] = 1 + (float)(i % 2);
  if (rms_norm_c_scratch_bytes() > 0 && !(scratch = malloc(rms_norm_c_scratch_bytes()))) return 1;
  if (pool_begin(&threads, sysconf(_SC_NPROCESSORS_ONLN))) return 1;
  share.threads = threads.threads;

  rms_norm_c_run_on(params, results, scratch, &share); /* one untimed run touches the memory and wakes the threads */
  begun = milliseconds();
  rms_norm_c_run_on(params, results, scratch, &share);
  pooled = milliseconds() - begun;
  pool_end(&threads);

  /* The results have the same bits, whichever thread runs an item. */
  rms_norm(x, weight, serial, scratch);
  begun = milliseconds();
  rms_norm(x, weight, serial, scratch);
  alone = milliseconds() - begun;
  printf("%d threads: %.3f ms, one: %.3f ms\n", threads.threads, pooled, alone);
  for (i = 0; i < ROWS * COLUMNS; ++i) different += y[i] != serial[i];
  printf("y[0] = %.6f, y[1] = %.6f, %d elements differ from one thread's\n", (double)y[0], (double)y[1], different);
  free(scratch);
  return different != 0;
}
