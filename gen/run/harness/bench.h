/* bench.h - times a fusion in turns with copies and reads of the same bytes and with operations of libraries. */
#ifndef SETT_HARNESS_BENCH_H
#define SETT_HARNESS_BENCH_H
#include "backend.h"
#include "worker.h"

struct bench_plan {
  int turns;            /* maximum number of turns of each rival */
  double spread;        /* turns end when the uncertainty of the kernel's share of the yardstick is below this */
  double seconds;       /* maximum time, after the first turns */
  double slot;          /* minimum seconds of a turn */
  size_t footprint;     /* bytes of all rotated buffers together */
  size_t moved;         /* bytes that the fusion must read and write */
  int libraries;        /* workers that do the same work as the fusion */
  struct worker *library;
  const char *in, *out; /* the files they read and write: all parameters, one after another; their results */
};

/* Writes a "time" event for the kernel, each copy, read and library, and a "library" event for each library. Returns
   1 with backend_message if memory is missing. The yardstick is the fastest read if the fusion writes less than a
   quarter of what it reads, else the fastest copy; its "spread" is half of the 95% confidence interval of the median
   share. */
int bench(const struct sett_fusion *fusion, void *self, const struct device *device, const struct bench_plan *plan);

#endif
