#define _GNU_SOURCE
#include "bench.h"
#include "copies.h"
#include "data.h"
#include "say.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_SETS = 4096, MOST_RIVALS = 24, MOST_ROUNDS = 1000 };

static double seconds(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- the rotation: sets of the fusion's buffers, and as many bytes again for copies ---- */

struct rotation {
  const struct sett_fusion *fusion;
  void *self;
  int sets, copy_sets;
  struct buffer *param, *result; /* sets * params, sets * results */
  struct buffer *from, *to;      /* copy_sets each */
  unsigned char **from_host, **to_host;
  size_t half; /* bytes of a copy's side */
};

static size_t total_bytes(const struct sett_buffer *types, int count)
{
  size_t sum = 0;
  for (int i = 0; i < count; ++i) sum += types[i].bytes;
  return sum;
}

static int sets_for(size_t footprint, size_t bytes)
{
  size_t sets = footprint / (bytes ? bytes : 1) + 1;
  return (int)(sets < MOST_SETS ? sets : MOST_SETS);
}

/* Writes real inputs, and every byte of the rest once, so that all pages are there. */
static int fill_buffer(struct buffer *buffer, const void *from) { return backend_write(buffer, 0, buffer->bytes, from); }

static int rotation_open(struct rotation *r, size_t footprint, size_t moved)
{
  const struct sett_fusion *fusion = r->fusion;
  size_t bytes = total_bytes(fusion->param, fusion->params) + total_bytes(fusion->result, fusion->results), most;
  void *data;
  int bad = 0;
  r->half = (moved / 2 + 63) / 64 * 64;
  if (r->half == 0) r->half = 64;
  r->sets = sets_for(footprint, bytes);
  r->copy_sets = sets_for(footprint, 2 * r->half);
  r->param = calloc((size_t)r->sets * (size_t)(fusion->params + 1), sizeof *r->param);
  r->result = calloc((size_t)r->sets * (size_t)(fusion->results + 1), sizeof *r->result);
  r->from = calloc((size_t)r->copy_sets, sizeof *r->from);
  r->to = calloc((size_t)r->copy_sets, sizeof *r->to);
  r->from_host = calloc((size_t)r->copy_sets, sizeof *r->from_host);
  r->to_host = calloc((size_t)r->copy_sets, sizeof *r->to_host);
  most = r->half;
  for (int i = 0; i < fusion->params; ++i) most = fusion->param[i].bytes > most ? fusion->param[i].bytes : most;
  for (int i = 0; i < fusion->results; ++i) most = fusion->result[i].bytes > most ? fusion->result[i].bytes : most;
  data = calloc(1, most);
  if (!r->param || !r->result || !r->from || !r->to || !r->from_host || !r->to_host || !data) {
    free(data);
    snprintf(backend_message, sizeof backend_message, "not enough memory");
    return 1;
  }
  memset(data, 1, most);
  for (int s = 0; s < r->copy_sets && !bad; ++s) {
    bad = backend_allocate(&r->from[s], r->half, 0) || backend_allocate(&r->to[s], r->half, 0) ||
          fill_buffer(&r->from[s], data) || fill_buffer(&r->to[s], data);
    r->from_host[s] = r->from[s].host, r->to_host[s] = r->to[s].host;
  }
  for (int i = 0; i < fusion->results && !bad; ++i)
    for (int s = 0; s < r->sets && !bad; ++s) {
      struct buffer *buffer = &r->result[s * fusion->results + i];
      bad = backend_allocate(buffer, fusion->result[i].bytes, 0) || fill_buffer(buffer, data);
    }
  for (int i = 0; i < fusion->params && !bad; ++i) {
    data_fill(&fusion->param[i], data, DATA_MODERATE, (unsigned long long)i + 1);
    for (int s = 0; s < r->sets && !bad; ++s) {
      struct buffer *buffer = &r->param[s * fusion->params + i];
      bad = backend_allocate(buffer, fusion->param[i].bytes, 0) || fill_buffer(buffer, data);
    }
  }
  free(data);
  return bad;
}

static void rotation_close(struct rotation *r)
{
  for (int i = 0; r->param && i < r->sets * r->fusion->params; ++i) backend_free(&r->param[i]);
  for (int i = 0; r->result && i < r->sets * r->fusion->results; ++i) backend_free(&r->result[i]);
  for (int i = 0; r->from && i < r->copy_sets; ++i) backend_free(&r->from[i]);
  for (int i = 0; r->to && i < r->copy_sets; ++i) backend_free(&r->to[i]);
  free(r->param), free(r->result), free(r->from), free(r->to), free(r->from_host), free(r->to_host);
}

/* ---- rivals ---- */

enum rival_kind { KERNEL, HOST_COPY, DEVICE_COPY, HOST_READ, DEVICE_READ };
static const char *const kind_name[] = { "kernel", "copy", "copy", "read", "read" };

struct rival {
  enum rival_kind kind;
  int number;
  const char *name;
  int calls, next; /* calls a turn; where the rotation goes on */
  double time[MOST_ROUNDS];
};

static int turn(const struct rotation *r, struct rival *rival, int calls)
{
  int sets = rival->kind == KERNEL ? r->sets : r->copy_sets, first = rival->next, error = 0;
  rival->next = (first + calls) % sets;
  if (rival->kind == HOST_COPY) copies_copy(rival->number, r->from_host, r->to_host, r->half, sets, first, calls);
  else if (rival->kind == HOST_READ) { /* both sides, so that as many bytes are read as a copy moves */
    copies_read(rival->number, r->from_host, r->half, sets, first, calls);
    copies_read(rival->number, r->to_host, r->half, sets, first, calls);
  }
  else {
    for (int c = 0; c < calls && !error; ++c) {
      int s = (first + c) % sets;
      if (rival->kind == KERNEL)
        error = backend_run(r->fusion, r->self, r->param + s * r->fusion->params, r->result + s * r->fusion->results);
      else if (rival->kind == DEVICE_COPY) error = backend_copy(rival->number, &r->from[s], &r->to[s]);
      else error = backend_sum(rival->number, &r->from[s]) || backend_sum(rival->number, &r->to[s]);
    }
    if (!error) error = backend_finish();
  }
  return error;
}

/* The least of three turns: something else may have had the machine in one of them. */
static int least_of_three(const struct rotation *r, struct rival *rival, double *least)
{
  *least = 1e30;
  for (int i = 0; i < 3; ++i) {
    double start = seconds(), took;
    if (turn(r, rival, rival->calls)) return 1;
    took = seconds() - start;
    if (took < *least) *least = took;
  }
  return 0;
}

/* Enough calls for a turn to last `slot` seconds, found by raising them: which is the warm-up too. Copies and reads start
   where 20 GB/s would take as long, so that a busy machine's time slices are not taken for theirs. */
static int warm_up(const struct rotation *r, struct rival *rival, double slot)
{
  double start = rival->kind == KERNEL ? 1 : slot * 20e9 / (double)(2 * r->half) + 1;
  for (rival->calls = start < 1 << 16 ? (int)start : 1 << 16;;) {
    double took;
    if (least_of_three(r, rival, &took)) return 1;
    if (took >= slot || rival->calls >= 1 << 16) return 0;
    if (took < slot / 16) {
      rival->calls *= 8;
      continue;
    }
    rival->calls = (int)((double)rival->calls * slot / took) + 1;
    return turn(r, rival, rival->calls);
  }
}

static void add_rival(struct rival *rivals, int *count, enum rival_kind kind, int number, const char *name)
{
  if (*count == MOST_RIVALS) return;
  memset(&rivals[*count], 0, sizeof rivals[0]);
  rivals[*count].kind = kind, rivals[*count].number = number, rivals[*count].name = name;
  *count += 1;
}

static int list_rivals(struct rival *rivals, const struct device *device)
{
  int count = 0;
  add_rival(rivals, &count, KERNEL, 0, "kernel");
  for (int i = 0; device->on_host && copies_copy_name(i); ++i) add_rival(rivals, &count, HOST_COPY, i, copies_copy_name(i));
  for (int i = 0; backend_copy_name(i); ++i) add_rival(rivals, &count, DEVICE_COPY, i, backend_copy_name(i));
  for (int i = 0; device->on_host && copies_read_name(i); ++i) add_rival(rivals, &count, HOST_READ, i, copies_read_name(i));
  for (int i = 0; backend_read_name(i); ++i) add_rival(rivals, &count, DEVICE_READ, i, backend_read_name(i));
  return count;
}

static int by_size(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void say_rival(struct rival *rival, int rounds, size_t bytes)
{
  static char times[MOST_ROUNDS * 26 + 8];
  double *t = rival->time;
  size_t used = 0;
  for (int i = 0; i < rounds; ++i)
    used += (size_t)snprintf(times + used, sizeof times - used, "%s%.9g", i ? ", " : "[", t[i]);
  snprintf(times + used, sizeof times - used, "]");
  qsort(t, (size_t)rounds, sizeof t[0], by_size);
  say("time", "kind", kind_name[rival->kind], "name", rival->name, "#median", say_number(t[rounds / 2]), "#low",
      say_number(t[rounds / 4]), "#high", say_number(t[(rounds * 3) / 4]), "#least", say_number(t[0]), "#bytes",
      say_number((double)bytes), "#calls", say_number(rival->calls), "#rounds", say_number(rounds), "[times", times, NULL);
}

/* One call and the wait for it: what a caller who needs the result at once sees. */
static double latency(const struct rotation *r, struct rival *kernel)
{
  double t[31];
  for (int i = 0; i < 31; ++i) {
    double start = seconds();
    if (turn(r, kernel, 1)) return 0;
    t[i] = seconds() - start;
  }
  qsort(t, 31, sizeof t[0], by_size);
  return t[15];
}

static int measure(const struct rotation *r, struct rival *rivals, int count, const struct bench_plan *plan)
{
  int rounds = plan->rounds < 1 ? 1 : plan->rounds < MOST_ROUNDS ? plan->rounds : MOST_ROUNDS;
  for (int i = 0; i < count; ++i)
    if (warm_up(r, &rivals[i], plan->slot)) return 1;
  for (int round = 0; round < rounds; ++round)
    for (int i = 0; i < count; ++i) {
      double start = seconds();
      if (turn(r, &rivals[i], rivals[i].calls)) return 1;
      rivals[i].time[round] = (seconds() - start) / rivals[i].calls;
    }
  say("rotation", "#sets", say_number(r->sets), "#footprint",
      say_number((double)r->sets * (double)(total_bytes(r->fusion->param, r->fusion->params) +
                                            total_bytes(r->fusion->result, r->fusion->results))),
      "#latency", say_number(latency(r, &rivals[0])), NULL);
  for (int i = 0; i < count; ++i) say_rival(&rivals[i], rounds, i ? 2 * r->half : plan->moved);
  return 0;
}

int bench(const struct sett_fusion *fusion, void *self, const struct device *device, const struct bench_plan *plan)
{
  static struct rival rivals[MOST_RIVALS];
  struct rotation r;
  int bad, count;
  memset(&r, 0, sizeof r);
  r.fusion = fusion, r.self = self;
  if (device->on_host && copies_open(device->units)) {
    snprintf(backend_message, sizeof backend_message, "no threads");
    return 1;
  }
  count = list_rivals(rivals, device);
  bad = rotation_open(&r, plan->footprint, plan->moved) || measure(&r, rivals, count, plan);
  rotation_close(&r);
  if (device->on_host) copies_close();
  return bad;
}
