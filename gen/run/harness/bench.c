#define _GNU_SOURCE
#include "bench.h"
#include "copies.h"
#include "data.h"
#include "say.h"
#include "worker.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_SETS = 4096, MOST_RIVALS = 32, MOST_TURNS = 1000, FEW_TURNS = 3, FIRST_TURNS = 9 };
/* In each set, all buffers of fewer than PACKED bytes share one allocation, because a process may have only about
 * 65,000 mappings. Each buffer is aligned to its size, rounded up to a power of two between PART_ALIGN and PAGE. */
enum { PACKED = 1 << 16, PAGE = 4096, MOST_ROTATED = 1 << 17 };
/* `rest` stops timing a copy or a read if the fastest one is faster by more than a factor. The factor is HOPELESS after
 * FEW_TURNS turns, and the smaller IN_DOUBT after FIRST_TURNS turns. */
static const double HOPELESS = 4, IN_DOUBT = 1.15;

static double seconds(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- the rotation: sets of the fusion's buffers, and buffers of the same total size for copies ---- */

struct rotation {
  const struct sett_fusion *fusion;
  void *self;
  int sets, copy_sets;
  struct buffer *param, *result; /* set s has param[s * params ..] and result[s * results ..] */
  struct buffer *packed;         /* one per set: the allocation that its small buffers share */
  struct buffer scratch;         /* the fusion's scratch buffer, the same for all sets */
  struct buffer *from, *to;      /* the sources and targets of copies, copy_sets each */
  unsigned char **from_host, **to_host;
  size_t half; /* number of bytes that one copy reads, and also writes */
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

/* Returns the offset of a buffer of `bytes` bytes in a shared allocation whose first `at` bytes are already used. */
static size_t place_after(size_t at, size_t bytes)
{
  size_t align = PART_ALIGN;
  while (align < bytes && align < PAGE) align *= 2;
  return (at + align - 1) / align * align;
}

/* Allocates the parameters and results of set s. A result that is updated in place uses its parameter's buffer. */
static int allocate_set(struct rotation *r, int s)
{
  const struct sett_fusion *fusion = r->fusion;
  for (int filling = 0; filling < 2; ++filling) {
    size_t at = 0;
    for (int i = 0; i < fusion->params + fusion->results; ++i) {
      int k = i - fusion->params;
      struct buffer *buffer = k < 0 ? &r->param[s * fusion->params + i] : &r->result[s * fusion->results + k];
      size_t bytes = k < 0 ? fusion->param[i].bytes : fusion->result[k].bytes, place = place_after(at, bytes);
      if (k >= 0 && fusion->alias[k] >= 0) *buffer = r->param[s * fusion->params + fusion->alias[k]];
      else if (bytes >= PACKED) {
        if (filling && backend_allocate(buffer, bytes, 0)) return 1;
      }
      else {
        at = place + (bytes ? bytes : 1);
        if (filling && backend_part(&r->packed[s], place, bytes, buffer)) return 1;
      }
    }
    if (!filling && at && backend_allocate(&r->packed[s], at, 0)) return 1;
  }
  return 0;
}

/* Writes `from` to the whole buffer. Buffers whose content does not matter are written too, so that all of their pages
 * are mapped. */
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
  if (r->sets > MOST_ROTATED / (fusion->params + fusion->results + 1) + 1)
    r->sets = MOST_ROTATED / (fusion->params + fusion->results + 1) + 1;
  r->copy_sets = sets_for(footprint, 2 * r->half);
  r->param = calloc((size_t)r->sets * (size_t)(fusion->params + 1), sizeof *r->param);
  r->result = calloc((size_t)r->sets * (size_t)(fusion->results + 1), sizeof *r->result);
  r->packed = calloc((size_t)r->sets, sizeof *r->packed);
  r->from = calloc((size_t)r->copy_sets, sizeof *r->from);
  r->to = calloc((size_t)r->copy_sets, sizeof *r->to);
  r->from_host = calloc((size_t)r->copy_sets, sizeof *r->from_host);
  r->to_host = calloc((size_t)r->copy_sets, sizeof *r->to_host);
  most = r->half;
  for (int i = 0; i < fusion->params; ++i) most = fusion->param[i].bytes > most ? fusion->param[i].bytes : most;
  for (int i = 0; i < fusion->results; ++i) most = fusion->result[i].bytes > most ? fusion->result[i].bytes : most;
  data = calloc(1, most);
  if (!r->param || !r->result || !r->packed || !r->from || !r->to || !r->from_host || !r->to_host || !data) {
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
  if (fusion->scratch) bad = bad || backend_allocate(&r->scratch, fusion->scratch, 0);
  for (int s = 0; s < r->sets && !bad; ++s) {
    bad = allocate_set(r, s);
    for (int i = 0; i < fusion->results && !bad; ++i)
      if (fusion->alias[i] < 0) bad = fill_buffer(&r->result[s * fusion->results + i], data);
  }
  for (int i = 0; i < fusion->params && !bad; ++i) {
    data_fill(&fusion->param[i], data, DATA_NORMAL, (unsigned long long)i + 1);
    for (int s = 0; s < r->sets && !bad; ++s) bad = fill_buffer(&r->param[s * fusion->params + i], data);
  }
  free(data);
  return bad || backend_prepare(fusion, r->param, &r->scratch);
}

static void rotation_close(struct rotation *r)
{
  for (int i = 0; r->param && i < r->sets * r->fusion->params; ++i) backend_free(&r->param[i]);
  for (int i = 0; r->result && i < r->sets * r->fusion->results; ++i)
    if (r->fusion->alias[i % r->fusion->results] < 0) backend_free(&r->result[i]);
  for (int s = 0; r->packed && s < r->sets; ++s) backend_free(&r->packed[s]);
  backend_free(&r->scratch);
  for (int i = 0; r->from && i < r->copy_sets; ++i) backend_free(&r->from[i]);
  for (int i = 0; r->to && i < r->copy_sets; ++i) backend_free(&r->to[i]);
  free(r->param), free(r->result), free(r->packed), free(r->from), free(r->to), free(r->from_host), free(r->to_host);
}

/* ---- rivals ---- */

enum rival_kind { KERNEL, HOST_COPY, DEVICE_COPY, HOST_READ, DEVICE_READ, LIBRARY };
static const char *const kind_name[] = { "kernel", "copy", "copy", "read", "read", "library" };

struct rival {
  enum rival_kind kind;
  int number;
  const char *name;
  struct worker *worker;
  int calls, next; /* calls in each turn; the set that the next call uses */
  int resting;     /* true if the rival takes no more turns */
  int turns;
  double time[MOST_TURNS]; /* seconds per call, for each turn */
};

/* Runs a turn: consecutive calls, timed together. Returns its seconds, or a negative number if it failed. */
static double turn(const struct rotation *r, struct rival *rival, int calls)
{
  int sets = rival->kind == KERNEL ? r->sets : r->copy_sets, first = rival->next, error = 0;
  double start = seconds();
  if (rival->kind == LIBRARY) return worker_turn(rival->worker, calls);
  rival->next = (first + calls) % sets;
  if (rival->kind == HOST_COPY) copies_copy(rival->number, r->from_host, r->to_host, r->half, sets, first, calls);
  else if (rival->kind == HOST_READ) { /* reads both buffers of a copy: as many bytes as a copy moves */
    copies_read(rival->number, r->from_host, r->half, sets, first, calls);
    copies_read(rival->number, r->to_host, r->half, sets, first, calls);
  }
  else {
    for (int c = 0; c < calls && !error; ++c) {
      int s = (first + c) % sets;
      if (rival->kind == KERNEL)
        error = backend_run(r->fusion, r->self, r->param + s * r->fusion->params, r->result + s * r->fusion->results, &r->scratch);
      else if (rival->kind == DEVICE_COPY) error = backend_copy(rival->number, &r->from[s], &r->to[s]);
      else error = backend_sum(rival->number, &r->from[s]) || backend_sum(rival->number, &r->to[s]);
    }
    if (!error) error = backend_finish();
  }
  return error ? -1 : seconds() - start;
}

/* Runs two turns, and returns the seconds of the second one. During the first turn, the cache lines that the previous
 * rival has modified are written back. */
static double own_turn(const struct rotation *r, struct rival *rival)
{
  double took = turn(r, rival, rival->calls);
  return took < 0 ? took : turn(r, rival, rival->calls);
}

/* Returns the least time of three turns, because other processes may disturb some turns. */
static double least_of_three(const struct rotation *r, struct rival *rival)
{
  double least = INFINITY;
  for (int i = 0; i < 3; ++i) {
    double took = turn(r, rival, rival->calls);
    if (took < least) least = took;
  }
  return least;
}

/* Raises the number of calls in a turn until a turn takes `slot` seconds; this also warms up. Copies and reads start
 * with the number of calls that take `slot` seconds at 20 GB/s. If they started with fewer calls, a pause by the
 * scheduler could be mistaken for the time of these calls. */
static int warm_up(const struct rotation *r, struct rival *rival, double slot)
{
  int copies = rival->kind != KERNEL && rival->kind != LIBRARY;
  double start = copies ? slot * 20e9 / (double)(2 * r->half) + 1 : 1;
  for (rival->calls = start < 1 << 16 ? (int)start : 1 << 16;;) {
    double took = least_of_three(r, rival);
    if (took < 0) return 1;
    if (took >= slot || rival->calls >= 1 << 16) return 0;
    if (took < slot / 16) {
      rival->calls *= 8;
      continue;
    }
    rival->calls = (int)((double)rival->calls * slot / took) + 1;
    return turn(r, rival, rival->calls) < 0;
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

/* ---- libraries: a library is timed only if its result agrees with the kernel's, or is within the reference's bound
 * ---- */

static int by_size(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Returns NULL if a library's result agrees with the kernel's, else the difference in words. Data that was only moved
 * must be equal. Floats may be summed in any order: the error must be at most 1/1000 (16-bit types: 1/100) of the value
 * or of the root mean square of the finite values. One in 1000 computed integers may differ, since a float between two
 * integers may round either way. */
static const char *disagreement(const struct sett_buffer *type, const void *got, const void *wanted)
{
  int floats = type->kind == SETT_FLOAT || type->kind == SETT_BFLOAT;
  double squares = 0, most = 0, at = 0, size, share = type->bits == 16 ? 1e-2 : 1e-3;
  size_t finite = 0, different = 0;
  if (type->exact) return memcmp(got, wanted, type->bytes) ? "its result is not the kernel's" : NULL;
  for (size_t i = 0; i < type->elements; ++i) {
    double value = data_value(type, wanted, i), other = data_value(type, got, i);
    if (isfinite(value)) squares += value * value, ++finite;
    different += !(value == other || (value != value && other != other));
  }
  if (!floats)
    return different * 1000 <= type->elements ? NULL : say_text("%zu of its %zu values are not the kernel's", different, type->elements);
  size = sqrt(squares / (double)(finite ? finite : 1));
  for (size_t i = 0; i < type->elements; ++i) {
    double value = data_value(type, wanted, i), other = data_value(type, got, i), off = fabs(other - value);
    if (value == other || (value != value && other != other)) continue;
    if (off != off) off = INFINITY;
    if (off > most && (isinf(off) || off > share * fmax(size, fabs(value)))) most = off, at = value;
  }
  if (most == 0) return NULL;
  return isinf(most) ? "its result is a NaN or an infinity where the kernel's is another"
                     : say_text("its result is up to %g off the kernel's %g, %.3g ulp of %s%d", most, at, most / data_ulp(type, at),
                                type->kind == SETT_BFLOAT ? "bf" : "f", type->bits);
}

/* Returns the contents of the first set's buffers, one after another; NULL on failure. The caller frees it. */
static unsigned char *contents(const struct buffer *buffers, int count)
{
  size_t bytes = 0, at = 0;
  unsigned char *data;
  for (int i = 0; i < count; ++i) bytes += buffers[i].bytes;
  data = malloc(bytes ? bytes : 1);
  for (int i = 0; data && i < count; at += buffers[i++].bytes)
    if (backend_read(&buffers[i], 0, buffers[i].bytes, data + at)) {
      free(data);
      return NULL;
    }
  return data;
}

static int write_all(const char *path, const void *from, size_t bytes)
{
  FILE *file = fopen(path, "wb");
  int bad = !file || fwrite(from, 1, bytes, file) != bytes;
  return (file && fclose(file)) || bad;
}

/* Runs the kernel on the first set and returns its results, one after another. Writes the set's parameters to the file
 * that the workers read. */
static unsigned char *first_results(const struct rotation *r, const struct bench_plan *plan)
{
  unsigned char *data = contents(r->param, r->fusion->params);
  int bad = !data || write_all(plan->in, data, total_bytes(r->fusion->param, r->fusion->params)) ||
            backend_run(r->fusion, r->self, r->param, r->result, &r->scratch) || backend_finish();
  free(data);
  return bad ? NULL : contents(r->result, r->fusion->results);
}

/* Returns NULL if a worker's file agrees with the kernel's results, else the difference in words. */
static const char *compare_file(const struct sett_fusion *fusion, const struct worker *worker, const char *path, const unsigned char *wanted)
{
  const char *reason = NULL;
  FILE *file = fopen(path, "rb");
  for (int i = 0; i < fusion->results && !reason; wanted += fusion->result[i++].bytes) {
    size_t bytes = fusion->result[i].bytes;
    unsigned char *got;
    if (worker->result >= 0 && worker->result != i) continue;
    got = malloc(bytes ? bytes : 1);
    if (!file || !got || fread(got, 1, bytes, file) != bytes) reason = "it gave no result of this size";
    else reason = disagreement(&fusion->result[i], got, wanted);
    free(got);
  }
  if (file) fclose(file);
  return reason;
}

/* Returns true if a worker's results, read from an open file, are within the bound of the fusion's reference on the
 * first set. */
static int file_within_bound(const struct rotation *r, FILE *file, void **in, void **out, double **bound, void **got)
{
  const struct sett_fusion *fusion = r->fusion;
  struct data_error error;
  memset(&error, 0, sizeof error);
  for (int i = 0; i < fusion->params; ++i) {
    size_t bytes = fusion->param[i].bytes;
    if (!(in[i] = malloc(bytes + 1)) || backend_read(&r->param[i], 0, bytes, in[i])) return 0;
  }
  for (int i = 0; i < fusion->results; ++i) {
    size_t bytes = fusion->result[i].bytes;
    out[i] = malloc(bytes + 1), got[i] = malloc(bytes + 1), bound[i] = malloc((fusion->result[i].elements + 1) * sizeof *bound[i]);
    if (!out[i] || !got[i] || !bound[i] || fread(got[i], 1, bytes, file) != bytes) return 0;
  }
  if (fusion->ref((const void *const *)(void *)in, out) || fusion->bound((const void *const *)(void *)in, bound)) return 0;
  for (int i = 0; i < fusion->results; ++i) data_compare(&fusion->result[i], got[i], out[i], bound[i], &error);
  return !error.failures;
}

static int within_bound(const struct rotation *r, const struct worker *worker, const char *path)
{
  void *in[MOST_BUFFERS] = {0}, *out[MOST_BUFFERS] = {0}, *got[MOST_BUFFERS] = {0};
  double *bound[MOST_BUFFERS] = {0};
  FILE *file = r->fusion->ref && r->fusion->bound && worker->result < 0 ? fopen(path, "rb") : NULL;
  int good = file && file_within_bound(r, file, in, out, bound, got);
  if (file) fclose(file);
  for (int i = 0; i < r->fusion->params; ++i) free(in[i]);
  for (int i = 0; i < r->fusion->results; ++i) free(out[i]), free(got[i]), free(bound[i]);
  return good;
}

static int list_libraries(const struct rotation *r, struct rival *rivals, int count, const struct bench_plan *plan)
{
  unsigned char *wanted = plan->libraries ? first_results(r, plan) : NULL;
  for (int i = 0; i < plan->libraries; ++i) {
    struct worker *worker = &plan->library[i];
    const char *reason = wanted ? NULL : "the kernel's own result cannot be had";
    const char *differs = "";
    if (!reason) reason = worker_start(worker) ? worker->about : compare_file(r->fusion, worker, plan->out, wanted);
    if (reason && worker->pid && within_bound(r, worker, plan->out)) differs = reason, reason = NULL;
    say("library", "name", worker->name, "status", reason ? "SKIP" : "PASS", "reason", reason ? reason : differs, "about",
        worker->pid ? worker->about : "", NULL);
    if (reason) worker_stop(worker);
    else {
      add_rival(rivals, &count, LIBRARY, i, worker->name);
      rivals[count - 1].worker = worker;
    }
  }
  free(wanted);
  return count;
}

/* ---- turns ---- */

static double median(const double *from, int count, double *sorted)
{
  memcpy(sorted, from, (size_t)count * sizeof *from);
  qsort(sorted, (size_t)count, sizeof *sorted, by_size);
  return sorted[count / 2];
}

static int is_copy(const struct rival *rival) { return rival->kind == HOST_COPY || rival->kind == DEVICE_COPY; }
static int is_read(const struct rival *rival) { return rival->kind == HOST_READ || rival->kind == DEVICE_READ; }

static const struct rival *fastest(const struct rival *rivals, int count, int (*is)(const struct rival *))
{
  static double sorted[MOST_TURNS];
  const struct rival *best = NULL;
  double least = INFINITY;
  for (int i = 0; i < count; ++i) {
    double middle;
    if (!is(&rivals[i]) || rivals[i].resting) continue;
    middle = median(rivals[i].time, rivals[i].turns, sorted);
    if (middle < least) least = middle, best = &rivals[i];
  }
  return best;
}

static double best_turn(const struct rival *rival)
{
  double best = INFINITY;
  for (int i = 0; i < rival->turns; ++i) best = fmin(best, rival->time[i]);
  return best;
}

/* Stops timing a copy if its best turn takes more than `factor` times as long as that of the fastest copy; reads
 * likewise. Stops timing a library if its best turn and the kernel's differ by more than this factor. The best turn
 * decides, because the first turns of a library may take several times as long as later ones. */
static void rest(struct rival *rivals, int count, double factor)
{
  const struct rival *copy = fastest(rivals, count, is_copy), *read = fastest(rivals, count, is_read);
  for (int i = 1; i < count; ++i) {
    const struct rival *best = is_copy(&rivals[i]) ? copy : is_read(&rivals[i]) ? read : &rivals[0];
    double ratio;
    if (rivals[i].resting) continue;
    ratio = best_turn(&rivals[i]) / best_turn(best);
    rivals[i].resting = ratio > factor || ratio < 1 / factor;
  }
}

/* Returns half the width of the 95% confidence interval of the median of kernel time / yardstick time, divided by that
 * median. The interval comes from order statistics. */
static double spread_of_share(const struct rival *kernel, const struct rival *yardstick)
{
  static double ratios[MOST_TURNS], sorted[MOST_TURNS];
  int turns = kernel->turns, low = (int)floor(turns / 2.0 - 0.98 * sqrt(turns));
  double middle;
  for (int i = 0; i < turns; ++i) ratios[i] = kernel->time[i] / (yardstick ? yardstick->time[i] : 1);
  middle = median(ratios, turns, sorted);
  return low < 0 ? INFINITY : (sorted[turns - 1 - low] - sorted[low]) / 2 / middle;
}

static void say_rival(const struct rival *rival, size_t bytes)
{
  static char times[MOST_TURNS * 26 + 8];
  static double t[MOST_TURNS];
  size_t used = 0;
  double middle = median(rival->time, rival->turns, t);
  for (int i = 0; i < rival->turns; ++i)
    used += (size_t)snprintf(times + used, sizeof times - used, "%s%.9g", i ? ", " : "[", rival->time[i]);
  snprintf(times + used, sizeof times - used, "]");
  say("time", "kind", kind_name[rival->kind], "name", rival->name, "#median", say_number(middle), "#low",
      say_number(t[rival->turns / 4]), "#high", say_number(t[(rival->turns * 3) / 4]), "#least", say_number(t[0]), "#bytes",
      say_number((double)bytes), "#calls", say_number(rival->calls), "#rounds", say_number(rival->turns), "[times", times, NULL);
}

/* Returns the median seconds of a single call that is waited for: the latency that a caller sees. */
static double latency(const struct rotation *r, struct rival *kernel)
{
  double t[31], sorted[31];
  for (int i = 0; i < 31; ++i) t[i] = turn(r, kernel, 1);
  return median(t, 31, sorted);
}

static int lost(struct rival *rival)
{
  if (rival->kind != LIBRARY) return 0;
  say("library", "name", rival->name, "status", "SKIP", "reason", "it ended before its turns did", "about", "", NULL);
  rival->resting = 1, rival->turns = 0;
  return 1;
}

static int measure(const struct rotation *r, struct rival *rivals, int count, const struct bench_plan *plan)
{
  const struct sett_fusion *fusion = r->fusion;
  size_t read = total_bytes(fusion->param, fusion->params), written = total_bytes(fusion->result, fusion->results);
  int most = plan->turns < 1 ? 1 : plan->turns < MOST_TURNS ? plan->turns : MOST_TURNS, reduces = 4 * written < read;
  const struct rival *yardstick = NULL;
  double spread = INFINITY, start;
  for (int i = 0; i < count; ++i)
    if (warm_up(r, &rivals[i], plan->slot) && !lost(&rivals[i])) return 1;
  start = seconds();
  for (int turns = 1; turns <= most; ++turns) {
    if (turns > FIRST_TURNS && (spread <= plan->spread || seconds() - start > plan->seconds)) break;
    for (int i = 0; i < count; ++i) {
      double took = rivals[i].resting ? 0 : own_turn(r, &rivals[i]);
      if (took < 0 && !lost(&rivals[i])) return 1;
      if (!rivals[i].resting) rivals[i].time[rivals[i].turns++] = took / rivals[i].calls;
    }
    if (turns == FEW_TURNS || turns == FIRST_TURNS) rest(rivals, count, turns == FEW_TURNS ? HOPELESS : IN_DOUBT);
    yardstick = fastest(rivals, count, reduces ? is_read : is_copy);
    spread = spread_of_share(&rivals[0], yardstick);
  }
  say("rotation", "#sets", say_number(r->sets), "#footprint", say_number((double)r->sets * (double)(read + written)), "#latency",
      say_number(latency(r, &rivals[0])), "yardstick", yardstick ? kind_name[yardstick->kind] : "", "#spread", say_number(spread), NULL);
  for (int i = 0; i < count; ++i)
    if (rivals[i].turns) say_rival(&rivals[i], is_copy(&rivals[i]) || is_read(&rivals[i]) ? 2 * r->half : plan->moved);
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
  bad = rotation_open(&r, plan->footprint, plan->moved);
  if (!bad && plan->libraries) count = list_libraries(&r, rivals, count, plan);
  bad = bad || measure(&r, rivals, count, plan);
  for (int i = 0; i < plan->libraries; ++i) worker_stop(&plan->library[i]);
  rotation_close(&r);
  if (!bad && device->on_host) say("arithmetic", "#rate", say_number(copies_arithmetic()), NULL);
  if (device->on_host) copies_close();
  return bad;
}
