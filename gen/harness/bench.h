/* bench.h - times a fusion beside the copies and reads of the same bytes, in turns. */
#ifndef SETT_HARNESS_BENCH_H
#define SETT_HARNESS_BENCH_H
#include "backend.h"

struct bench_plan {
  int rounds;       /* timed turns of each rival */
  double slot;      /* seconds that a turn lasts at least */
  size_t footprint; /* bytes that the rotated buffers should have together */
  size_t moved;     /* bytes that the fusion must read and write */
};

/* Says a "time" event for the kernel, each copy and each read; 1 with backend_message when there is no memory. */
int bench(const struct sett_fusion *fusion, void *self, const struct device *device, const struct bench_plan *plan);

#endif
