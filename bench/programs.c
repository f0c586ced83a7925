/* Call a generated function many times, from Python. */
#include <time.h>
#include <unistd.h>
#include "../tests/examples/thread_pool/pool.h"

struct sett_share {
  int threads;
  void (*run)(void *context, size_t count, void (*item)(const void *work, size_t n), const void *work);
  void *context;
};
typedef int run_on(const void *const *params, void *const *results, void *scratch, const struct sett_share *share);

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

/* Return the seconds of `calls` calls on the machine's threads, or a number below 0 if a call fails. */
double spend(run_on *run, const void *const *params, void *const *results, void *scratch, long calls) {
  static pool threads;
  static struct sett_share share = {0, on_pool, &threads};
  struct timespec begin, end;
  int bad = 0;
  if (!share.threads) {
    if (pool_begin(&threads, sysconf(_SC_NPROCESSORS_ONLN))) return -1;
    share.threads = threads.threads;
  }
  clock_gettime(CLOCK_MONOTONIC, &begin);
  for (long i = 0; i < calls; ++i) bad |= run(params, results, scratch, &share);
  clock_gettime(CLOCK_MONOTONIC, &end);
  return bad ? -1 : (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) * 1e-9;
}
