/* bench.h - times a fusion, copies and reads of the same bytes, and operations of libraries, in alternating turns. */
#ifndef SETT_HARNESS_BENCH_H
#define SETT_HARNESS_BENCH_H
#include "backend.h"
#include "worker.h"

struct bench_plan {
  int turns;            /* maximum number of turns of each rival */
  /* After nine turns, the bench ends as soon as one of two conditions holds. First, half of the 95% confidence interval
   * of the kernel's throughput relative to the yardstick is at most `spread`. Second, more than `seconds` seconds have
   * passed since the first turn began. */
  double spread;
  double seconds;
  double slot;          /* minimum seconds of a turn (consecutive calls that are timed together) */
  size_t footprint;     /* bytes of all sets of buffers that calls use in rotation */
  size_t moved;         /* minimum bytes that the fusion reads and writes */
  int libraries;        /* number of workers, which run the fusion's work with a library */
  struct worker *library;
  const char *in, *out; /* file of all parameters, one after another, that workers read; file of their results */
};

/* Writes a "time" event for the kernel, each copy, each read and each library, and a "library" event for each library.
 * Returns 1 and sets backend_message if memory is missing. The yardstick is the fastest copy, or the fastest read if
 * the fusion writes less than a quarter of what it reads. "spread" is half of the 95% confidence interval of the
 * kernel's median throughput relative to the yardstick. */
int bench(const struct sett_fusion *fusion, void *self, const struct device *device, const struct bench_plan *plan);

#endif
