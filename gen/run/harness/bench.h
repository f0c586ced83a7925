/* bench.h - times a fusion beside copies and reads of the same bytes and libraries' own operations, in turns. */
#ifndef SETT_HARNESS_BENCH_H
#define SETT_HARNESS_BENCH_H
#include "backend.h"
#include "worker.h"

struct bench_plan {
  int turns;            /* at most, of each */
  double spread;        /* of the kernel's share of the yardstick: once it is no more, turns end */
  double seconds;       /* so long at most, beyond the first turns */
  double slot;          /* seconds that a turn lasts at least */
  size_t footprint;     /* bytes that the rotated buffers should have together */
  size_t moved;         /* bytes that the fusion must read and write */
  int libraries;        /* workers that do what the fusion does */
  struct worker *library;
  const char *in, *out; /* the files they read and write: all parameters, one after another; their results */
};

/* Says a "time" event for the kernel, each copy, read and library, and a "library" event for each library; 1 with
   backend_message when there is no memory. The yardstick is the fastest read where the fusion writes less than a quarter of
   what it reads, else the fastest copy; its "spread" is half of the 95% confidence interval of the median share. */
int bench(const struct sett_fusion *fusion, void *self, const struct device *device, const struct bench_plan *plan);

#endif
