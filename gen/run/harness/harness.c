/* harness.c - runs compiled fusions on a device: checks them against their references, feeds them files, times them.

     harness check DEVICE SEED ROUNDS PROCESSOR PASSING FUSION.so ..
     harness run   DEVICE PROCESSOR PASSING FUSION.so PARAM-FILE .. RESULT-FILE ..
     harness each  DEVICE PROCESSOR PASSING FUSIONS.so FIRST IN-FOLDER OUT-FOLDER
     harness bench DEVICE TURNS SPREAD SECONDS MILLISECONDS FOOTPRINT BYTES FUSION.so [RESULT IN OUT (LIBRARY COMMAND) ..]
     harness compile DEVICE FUSION.so ..
     harness device DEVICE

   Answers are JSON objects on standard output, one per line; each has an "event". Exit status: 0 if the work was done (a
   mismatch is an answer), 2 for bad arguments or files, 3 for no device, 70 for a fault, 71 for a time limit (the last two
   after an event).
   A launch may take PROCESSOR seconds of this process's processor time and PASSING seconds of wall-clock time. A limit of
   processor time that the caller has set for the process (RLIMIT_CPU) applies to everything. */
#define _GNU_SOURCE
#include "backend.h"
#include "bench.h"
#include "data.h"
#include "say.h"
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { CHUNK = 1 << 20, EXIT_FAULT = 70, EXIT_HANG = 71 };

/* ---- the current launch, as the signal handlers report it ---- */

static struct {
  const struct sett_fusion *fusion;
  const struct buffer *param, *result;
  const char *phase;
  double processor; /* processor seconds that the process had used before the launch */
} now;

static struct {
  unsigned processor, passing;
} limit; /* time limits of a launch, in seconds */

static int near(const struct buffer *buffer, const unsigned char *at)
{
  const unsigned char *whole = buffer->whole;
  return buffer->host && at >= whole && at < whole + buffer->whole_bytes;
}

/* The first thread that faults writes the report; other threads may fault at the same time. */
static void on_fault(int number, siginfo_t *info, void *context)
{
  static atomic_flag said = ATOMIC_FLAG_INIT;
  const unsigned char *at = info->si_addr;
  const char *access = "access";
  char where[128] = "";
#if defined(__x86_64__) && defined(__linux__)
  access = ((ucontext_t *)context)->uc_mcontext.gregs[REG_ERR] & 2 ? "write" : "read";
#else
  (void)context;
#endif
  if (atomic_flag_test_and_set(&said))
    for (;;) pause();
  for (int side = 0; side < 2 && now.fusion; ++side) {
    const struct buffer *buffers = side ? now.result : now.param;
    int count = side ? now.fusion->results : now.fusion->params;
    for (int i = 0; buffers && i < count; ++i)
      if (near(&buffers[i], at))
        snprintf(where, sizeof where, ": %s at byte %lld of %s %d, which has %zu", access,
                 (long long)(at - buffers[i].host), side ? "result" : "parameter", i, buffers[i].bytes);
  }
  say("fault", "fusion", now.fusion ? now.fusion->name : "", "phase", now.phase ? now.phase : "", "reason",
      say_text("%s%s%s", number == SIGSEGV ? "segmentation fault" : number == SIGBUS ? "bus error"
               : number == SIGFPE ? "arithmetic fault (a division by zero?)" : number == SIGILL ? "illegal instruction"
               : "abort", where, number == SIGSEGV && !*where && !at ? " (a null or misaligned address)" : ""), NULL);
  _exit(EXIT_FAULT);
}

/* The first thread that gets the signal writes the report; other threads may get it too. */
static void on_limit(int number)
{
  static atomic_flag said = ATOMIC_FLAG_INIT;
  struct timespec used = { 0, 0 };
  if (atomic_flag_test_and_set(&said)) return;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  say("limit", "fusion", now.fusion ? now.fusion->name : "", "phase", now.phase ? now.phase : "", "of",
      number == SIGXCPU ? "process" : number == SIGPROF ? "launch" : "wait", "#processor",
      say_number((double)used.tv_sec - now.processor), NULL);
  _exit(EXIT_HANG);
}

static void catch_signals(void)
{
  static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO;
  for (size_t i = 0; i < sizeof faults / sizeof faults[0]; ++i) sigaction(faults[i], &action, NULL);
  memset(&action, 0, sizeof action);
  action.sa_handler = on_limit;
  sigaction(SIGALRM, &action, NULL);
  sigaction(SIGPROF, &action, NULL);
  sigaction(SIGXCPU, &action, NULL);
}

/* ---- the buffers of one fusion ---- */

struct job {
  const struct sett_fusion *fusion;
  void *self;
  struct buffer param[MOST_BUFFERS], result[MOST_BUFFERS], scratch;
  void *in[MOST_BUFFERS], *out[MOST_BUFFERS], *wanted[MOST_BUFFERS];
  double *bound[MOST_BUFFERS];
  int moved; /* true while every buffer has only its minimum alignment */
};

static int job_failed(const char *status, const char *reason)
{
  say("result", "fusion", now.fusion->name, "status", status, "reason", reason, NULL);
  return 1;
}

static int job_open(struct job *job, const struct sett_fusion *fusion, int guarded)
{
  static char log[16384];
  memset(job, 0, sizeof *job);
  job->fusion = now.fusion = fusion;
  now.param = job->param, now.result = job->result;
  now.phase = "build";
  if (fusion->params > MOST_BUFFERS || fusion->results > MOST_BUFFERS) return job_failed("FAIL", say_text("more than %d parameters or results", MOST_BUFFERS));
  if (backend_create(fusion, &job->self, log, sizeof log)) {
    return job_failed("FAIL", say_long("%s\n%s", backend_message, log));
  }
  now.phase = "allocation";
  for (int i = 0; i < fusion->params; ++i)
    if (backend_allocate(&job->param[i], fusion->param[i].bytes, guarded)) return job_failed("SKIP", backend_message);
  for (int i = 0; i < fusion->results; ++i)
    if (fusion->alias[i] >= 0) job->result[i] = job->param[fusion->alias[i]];
    else if (backend_allocate(&job->result[i], fusion->result[i].bytes, guarded)) return job_failed("SKIP", backend_message);
  if (fusion->scratch && backend_allocate(&job->scratch, fusion->scratch, guarded)) return job_failed("SKIP", backend_message);
  return 0;
}

/* Returns host memory for parameters, results, or the reference's results and bounds, aligned for any vector type. */
static void *host_memory(size_t bytes) { return aligned_alloc(128, (bytes / 128 + 1) * 128); }

static int job_host(struct job *job, int with_reference)
{
  int missing = 0;
  for (int i = 0; i < job->fusion->params; ++i) missing |= !(job->in[i] = host_memory(job->fusion->param[i].bytes));
  for (int i = 0; i < job->fusion->results; ++i) {
    const struct sett_buffer *type = &job->fusion->result[i];
    missing |= !(job->out[i] = host_memory(type->bytes));
    if (!with_reference) continue;
    missing |= !(job->wanted[i] = host_memory(type->bytes));
    if (job->fusion->bound || job->fusion->calls) missing |= !(job->bound[i] = host_memory(type->elements * sizeof(double)));
  }
  return missing ? job_failed("SKIP", "not enough memory") : 0;
}

static void job_close(struct job *job)
{
  for (int i = 0; i < MOST_BUFFERS; ++i) {
    if (job->param[i].whole) backend_free(&job->param[i]);
    if (job->result[i].whole && job->fusion->alias[i] < 0) backend_free(&job->result[i]);
    free(job->in[i]), free(job->out[i]), free(job->wanted[i]), free(job->bound[i]);
  }
  backend_free(&job->scratch);
  if (job->self) backend_release(job->fusion, job->self);
  now.param = now.result = NULL;
}

/* Starts the timers of processor time and of wall-clock time, in seconds; 0 stops them. */
static void set_timers(unsigned processor, unsigned passing)
{
  struct itimerval timer;
  memset(&timer, 0, sizeof timer);
  timer.it_value.tv_sec = (time_t)processor;
  setitimer(ITIMER_PROF, &timer, NULL);
  alarm(passing);
}

static int job_prepare(const struct job *job)
{
  int error = backend_prepare(job->fusion, job->param, &job->scratch);
  if (error) snprintf(backend_message, sizeof backend_message, "the state cannot be prepared");
  return error;
}

static int job_run(struct job *job)
{
  int error;
  struct timespec used = { 0, 0 };
  now.phase = "kernel";
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  now.processor = (double)used.tv_sec;
  set_timers(limit.processor, limit.passing);
  error = backend_run(job->fusion, job->self, job->param, job->result, &job->scratch);
  if (!error) error = backend_finish();
  set_timers(0, 0);
  now.processor = 0;
  return error;
}

/* ---- check ---- */

static int fill(const struct buffer *buffer, long long at, size_t bytes, int byte)
{
  static unsigned char block[CHUNK];
  memset(block, byte, bytes < CHUNK ? bytes : CHUNK);
  for (size_t done = 0; done < bytes; done += CHUNK)
    if (backend_write(buffer, at + (long long)done, bytes - done < CHUNK ? bytes - done : CHUNK, block)) return 1;
  return 0;
}

static int poison(const struct buffer *buffer, int byte, int data)
{
  return fill(buffer, -(long long)buffer->before, buffer->before, byte) || (data && fill(buffer, 0, buffer->bytes, byte)) ||
         fill(buffer, (long long)buffer->bytes, buffer->after, byte);
}

/* Compares a region with `expected` or, if that is NULL, with `byte`. Returns the position of the first byte that
 * differs; -1 if there is none, -2 if the region cannot be read. */
static long long first_difference(const struct buffer *buffer, long long at, size_t bytes, int byte,
                                  const unsigned char *expected)
{
  static unsigned char block[CHUNK];
  for (size_t done = 0; done < bytes; done += CHUNK) {
    size_t size = bytes - done < CHUNK ? bytes - done : CHUNK;
    if (backend_read(buffer, at + (long long)done, size, block)) return -2;
    if (expected && memcmp(block, expected + done, size) == 0) continue;
    for (size_t i = 0; i < size; ++i)
      if (block[i] != (expected ? expected[done + i] : byte)) return (long long)(done + i);
  }
  return -1;
}

static const char *guards_broken(const struct buffer *buffers, int count, const char *what, int byte)
{
  for (int i = 0; i < count; ++i) {
    const struct buffer *b = &buffers[i];
    long long before = first_difference(b, -(long long)b->before, b->before, byte, NULL);
    long long after = first_difference(b, (long long)b->bytes, b->after, byte, NULL);
    if (before >= 0) return say_text("wrote before the start of %s %d, at byte %lld", what, i, before - (long long)b->before);
    if (after >= 0) return say_text("wrote past the end of %s %d, at byte %lld", what, i, after + (long long)b->bytes);
  }
  return NULL;
}

/* Returns true if a result updates this parameter's buffer. All elements of the buffer are then compared as that
 * result, even if it does not update them. */
static int is_result(const struct sett_fusion *fusion, int param)
{
  for (int i = 0; i < fusion->results; ++i)
    if (fusion->alias[i] == param) return 1;
  return 0;
}

/* Fills results, scratch and guards with `byte`, writes the inputs job->in, and runs. Returns NULL, or the fault, such
 * as a changed guard. */
static const char *run_guarded(struct job *job, int byte)
{
  const struct sett_fusion *fusion = job->fusion;
  const char *broken;
  int error = 0;
  for (int i = 0; i < fusion->params && !error; ++i)
    error = poison(&job->param[i], byte, 0) || backend_write(&job->param[i], 0, job->param[i].bytes, job->in[i]);
  for (int i = 0; i < fusion->results && !error; ++i)
    if (fusion->alias[i] < 0) error = poison(&job->result[i], byte, 1);
  if (!error && fusion->scratch) error = poison(&job->scratch, byte, 1);
  if (error || job_prepare(job) || job_run(job)) return say_text("%s", backend_message);
  now.phase = "comparison";
  if ((broken = guards_broken(job->result, fusion->results, "result", byte)) != NULL) return broken;
  if ((broken = guards_broken(job->param, fusion->params, "parameter", byte)) != NULL) return broken;
  if (fusion->scratch && (broken = guards_broken(&job->scratch, 1, "scratch", byte)) != NULL) return broken;
  for (int i = 0; i < fusion->params; ++i) {
    long long at = is_result(fusion, i) ? -1 : first_difference(&job->param[i], 0, job->param[i].bytes, 0, job->in[i]);
    if (at >= 0) return say_text("changed parameter %d at byte %lld", i, at);
  }
  return NULL;
}

static size_t element_at(const struct sett_buffer *type, long long byte) { return (size_t)byte * 8 / (size_t)type->bits; }

/* Moves the start of a buffer's data by some bytes. One guard grows, the other one shrinks. */
static void move_buffer(struct buffer *buffer, int by)
{
  buffer->data = (unsigned char *)buffer->data + by;
  if (buffer->host) buffer->host += by;
  buffer->before += (size_t)by;
  buffer->after -= (size_t)by;
}

/* Moves the data of all buffers to addresses that have only the minimum alignment; the next call moves them back. */
static void move_buffers(struct job *job)
{
  const struct sett_fusion *fusion = job->fusion;
  int by[MOST_BUFFERS], way = job->moved ? 1 : -1;
  job->moved = !job->moved;
  for (int i = 0; i < fusion->params; ++i) by[i] = fusion->param[i].alignment;
  for (int i = 0; i < fusion->results; ++i)
    if (fusion->alias[i] >= 0 && by[fusion->alias[i]] < fusion->result[i].alignment) by[fusion->alias[i]] = fusion->result[i].alignment;
  for (int i = 0; i < fusion->params; ++i) move_buffer(&job->param[i], way * by[i]);
  for (int i = 0; i < fusion->results; ++i)
    if (fusion->alias[i] >= 0) job->result[i] = job->param[fusion->alias[i]];
    else move_buffer(&job->result[i], way * fusion->result[i].alignment);
}

/* Returns true if a result equals job->out. Payloads of NaN may differ: for buffers with another alignment, a kernel
 * may combine operands in another order. */
static int same_but_nans(struct job *job, int result)
{
  const struct sett_buffer *type = &job->fusion->result[result];
  struct data_error error;
  void *again = host_memory(type->bytes);
  int same = again && !backend_read(&job->result[result], 0, type->bytes, again);
  memset(&error, 0, sizeof error);
  if (same) data_compare(type, again, job->out[result], NULL, &error);
  free(again);
  return same && !error.failures;
}

/* Runs twice on the same inputs. Results are filled with another byte before each run: an element that keeps both fills
 * was not written. In the second run, buffers have only the minimum alignment. */
static const char *run_twice(struct job *job)
{
  static const int bytes[2] = { 0xA5, 0x5A };
  const char *wrong = run_guarded(job, bytes[0]);
  if (wrong) return wrong;
  for (int i = 0; i < job->fusion->results; ++i)
    if (backend_read(&job->result[i], 0, job->result[i].bytes, job->out[i])) return say_text("%s", backend_message);
  move_buffers(job);
  wrong = run_guarded(job, bytes[1]);
  /* in a traced program, calls that do not run leave their results unwritten */
  if (wrong || job->fusion->limited) return wrong;
  for (int i = 0; i < job->fusion->results; ++i) {
    long long at = first_difference(&job->result[i], 0, job->result[i].bytes, 0, job->out[i]);
    unsigned char second = 0;
    if (at == -1) continue;
    if (at == -2 || backend_read(&job->result[i], at, 1, &second)) return say_text("%s", backend_message);
    now.phase = "comparison";
    if (job->fusion->alias[i] < 0 && ((unsigned char *)job->out[i])[at] == bytes[0] && second == bytes[1])
      return say_text("result %d, element %zu is not written", i, element_at(&job->fusion->result[i], at));
    if (job->fusion->result[i].varies || (job->fusion->result[i].alignment && same_but_nans(job, i))) continue;
    return say_text("result %d, element %zu differs between two runs on the same inputs", i,
                    element_at(&job->fusion->result[i], at));
  }
  return NULL;
}

static char nearest[256]; /* describes the element whose error is largest relative to its bound */

static void say_nearest(const struct job *job, int result, const struct data_error *error)
{
  char got[64], wanted[64];
  data_print(&job->fusion->result[result], job->out[result], error->nearest, got, sizeof got);
  data_print(&job->fusion->result[result], job->wanted[result], error->nearest, wanted, sizeof wanted);
  got[strcspn(got, " ")] = wanted[strcspn(wanted, " ")] = 0;
  snprintf(nearest, sizeof nearest, "result %d, element %zu: kernel %s, reference %s, %.2g apart where %.2g is allowed", result, error->nearest,
           got, wanted, error->nearest_abs, error->nearest_bound);
}

/* Compares all results. Returns NULL, or the fault of the first wrong result with the numbers of the other wrong
 * ones. */
static const char *compare_all(struct job *job, struct data_error *total)
{
  const char *wrong = NULL;
  for (int i = 0; i < job->fusion->results; ++i) {
    const struct sett_buffer *type = &job->fusion->result[i];
    struct data_error error = *total;
    char got[64], wanted[64];
    error.failures = 0;
    data_compare(type, job->out[i], job->wanted[i], job->bound[i], &error);
    if (error.failures && !wrong) {
      data_print(type, job->out[i], error.worst, got, sizeof got);
      data_print(type, job->wanted[i], error.worst, wanted, sizeof wanted);
      wrong = say_text("result %d, element %zu: kernel %s, reference %s, bound %g; %zu of %zu elements are wrong", i,
                       error.worst, got, wanted, error.worst_bound, error.failures, type->elements);
    }
    else if (error.failures) wrong = say_text("%s; result %d too", wrong, i);
    else {
      if (error.max_share > total->max_share) say_nearest(job, i, &error);
      *total = error;
    }
  }
  return wrong;
}

/* Computes the bound in a thread, at the same time as the reference; neither needs the other. */
static void *bound_thread(void *argument)
{
  struct job *job = argument;
  for (int i = 0; i < job->fusion->results; ++i)
    /* all bits set: each bound is a NaN until it is written */
    memset(job->bound[i], 0xFF, job->fusion->result[i].elements * sizeof(double));
  return job->fusion->bound((const void *const *)(void *)job->in, job->bound) ? job : NULL;
}

static const char *reference_and_bound(struct job *job)
{
  const struct sett_fusion *fusion = job->fusion;
  pthread_t thread;
  void *failed = NULL;
  int missing, apart = fusion->bound && pthread_create(&thread, NULL, bound_thread, job) == 0;
  now.phase = "reference or bound";
  for (int i = 0; i < fusion->results; ++i) memset(job->wanted[i], 0xCC, fusion->result[i].bytes);
  missing = fusion->ref((const void *const *)(void *)job->in, job->wanted);
  if (apart) pthread_join(thread, &failed);
  else if (fusion->bound) failed = bound_thread(job);
  return missing || failed ? "the reference has not enough memory" : NULL;
}

/* Compares the kernel's results with the reference, or, if the fusion has a function `holds`, tests them with it.
 * Returns NULL, or the fault. */
static const char *compare_job(struct job *job, struct data_error *total)
{
  const struct sett_fusion *fusion = job->fusion;
  const char *wrong;
  size_t unknown = 0;
  if (!fusion->holds) {
    if ((wrong = reference_and_bound(job)) != NULL) return wrong;
    now.phase = "comparison";
    return compare_all(job, total);
  }
  now.phase = "comparison";
  wrong = fusion->holds((const void *const *)(void *)job->in, (const void *const *)(void *)job->out, &unknown);
  for (int i = 0; i < fusion->results; ++i) total->compared += fusion->result[i].elements;
  total->unbounded += unknown;
  return wrong ? say_text("%s", wrong) : NULL;
}

/* Returns the kind of inputs of a round. Every second round of moderate inputs has whole numbers instead. */
static enum data_style style_of(int round)
{
  const enum data_style style = (enum data_style)(round % DATA_STYLES);
  return style == DATA_MODERATE && round / DATA_STYLES % 2 ? DATA_WHOLE : style;
}

static const char *check_round(struct job *job, unsigned long long seed, int round, struct data_error *error)
{
  const struct sett_fusion *fusion = job->fusion;
  const char *wrong;
  const enum data_style style = style_of(round);
  size_t unbounded = error->unbounded;
  now.phase = "inputs";
  for (int i = 0; i < fusion->params; ++i)
    data_fill(&fusion->param[i], job->in[i], style,
              seed * 0x9e3779b97f4a7c15ull + (unsigned long long)round * 1000003ull + (unsigned long long)i * 7919ull);
  if ((wrong = run_twice(job)) != NULL) return wrong;
  wrong = compare_job(job, error);
  if (round % DATA_STYLES == DATA_MODERATE) error->unbounded_moderate += error->unbounded - unbounded;
  return wrong;
}

/* Returns the number of rounds: `wanted` if it is positive. Otherwise the size of the inputs decides, and a negative
 * `wanted` gives a maximum, -wanted. Fusions with small inputs get more rounds, so that special values are combined.
 * Fusions with large inputs skip the wide style, since the special style includes it. */
static int rounds_for(const struct sett_fusion *fusion, int wanted)
{
  size_t elements = 0;
  int rounds;
  if (fusion->params == 0) return 1;
  if (wanted > 0) return wanted;
  for (int i = 0; i < fusion->params; ++i) elements += fusion->param[i].elements;
  rounds = elements < 4096 ? 8 * DATA_STYLES : elements < (1u << 20) ? 2 * DATA_STYLES : elements < (1u << 22) ? DATA_STYLES : 2;
  return wanted && rounds > -wanted ? -wanted : rounds;
}

/* ---- check of a program of several calls: each call is compared on the arrays that it read ---- */

struct compared {
  struct data_error error;
  char nearest[256];
  /* number of rounds in which this call was compared, and the last of these rounds, counted from 1 */
  int rounds, last;
};

static void *array_of(const struct job *job, struct sett_from from)
{
  void *whole = from.number == NO_ARRAY ? NULL : from.number >= 0 ? job->in[from.number] : job->out[-1 - from.number];
  return whole ? (unsigned char *)whole + from.offset : NULL;
}

/* Compares a call's results with its reference on the arrays that the call read. Returns NULL, or the fault. */
static const char *check_call(struct job *traced, const struct sett_call *call, struct compared *compared)
{
  static struct job own;
  struct sett_fusion fusion = { .name = call->name, .params = call->params, .results = call->results, .result = call->result,
                                .ref = call->ref, .bound = call->bound, .holds = call->holds };
  const char *wrong;
  own.fusion = &fusion;
  for (int i = 0; i < call->params; ++i) own.in[i] = array_of(traced, call->from[i]);
  for (int i = 0; i < call->results; ++i) {
    own.out[i] = traced->out[call->to[i]], own.wanted[i] = traced->wanted[call->to[i]];
    own.bound[i] = call->bound ? traced->bound[call->to[i]] : NULL;
  }
  memcpy(nearest, compared->nearest, sizeof nearest);
  wrong = compare_job(&own, &compared->error);
  memcpy(compared->nearest, nearest, sizeof nearest);
  return wrong;
}

/* number of rounds in which the bits of a NaN decided the program's results, so that they were not compared */
static int nan_rounds;

static int has_nan(const struct job *traced, int result)
{
  const struct sett_buffer *type = &traced->fusion->result[result];
  for (size_t i = 0; i < type->elements; ++i)
    if (isnan(data_value(type, traced->out[result], i))) return 1;
  return 0;
}

/* Returns 1 if a call read a NaN that another call has computed, and distinguishes NaNs by their bits. A sort by the
 * total order is such a call. HLO does not specify the bits of a computed NaN, and they may differ between two programs
 * of the same calls. If loops are limited, the arrays of each of their first iterations are examined too. */
static int nan_bits_decide(struct job *traced)
{
  const struct sett_fusion *fusion = traced->fusion;
  const unsigned most = fusion->limited < 100 ? fusion->limited : 100;
  for (unsigned limit = 0; limit <= most && fusion->nan_bits_count; ++limit) {
    if (limit) {
      memcpy(traced->in[fusion->params], &limit, sizeof limit);
      if (run_twice(traced)) return 0;
    }
    for (int i = 0; i < fusion->nan_bits_count; ++i)
      if (has_nan(traced, fusion->nan_bits[i])) return 1;
    if (limit && !*(const unsigned char *)traced->out[fusion->cut]) return 0;
  }
  return 0;
}

/* Returns the index of the first result of which an element differs between two runs, or -1. The element's index is
 * written to *element. NaN payloads and results that vary are not compared. */
static int different_result(const struct job *job, const struct job *other, size_t *element)
{
  const struct sett_fusion *fusion = job->fusion;
  for (int i = 0; i < fusion->results; ++i) {
    struct data_error error;
    if (fusion->result[i].varies) continue;
    memset(&error, 0, sizeof error);
    data_compare(&fusion->result[i], job->out[i], other->out[i], NULL, &error);
    *element = error.worst;
    if (error.failures) return i;
  }
  return -1;
}

/* Compares the program's results with the traced program's (equal except for NaN payloads) and with the reference of
 * the whole program. Results that are exact in every call must be exact here too. */
static const char *same_results(struct job *job, struct job *traced)
{
  struct data_error error;
  const char *wrong;
  size_t element = 0;
  int result = different_result(job, traced, &element);
  if (result >= 0 && nan_bits_decide(traced)) {
    ++nan_rounds;
    return NULL;
  }
  if (result >= 0) return say_text("result %d, element %zu is another where calls share scratch", result, element);
  if (!job->fusion->ref) return NULL;
  if ((wrong = reference_and_bound(job)) != NULL) return wrong;
  now.phase = "comparison";
  memset(&error, 0, sizeof error);
  return compare_all(job, &error);
}

static int wrong_call; /* index of the wrong call; -1 if the results of the whole program are wrong */
/* number of rounds in which the iteration limit ended a loop, so that the program's results were not compared */
static int cut_rounds;

static int is_reached(const struct job *traced, const struct sett_call *call)
{
  return call->done < 0 || *(const unsigned char *)traced->out[call->done];
}

/* Compares each call that has run. A call inside a loop is compared on the arrays of its last iteration. */
static const char *check_calls(struct job *traced, struct compared *compared, int round)
{
  const char *wrong = NULL;
  for (int i = 0; i < traced->fusion->calls && !wrong; ++i) {
    const struct sett_call *call = &traced->fusion->call[i];
    size_t unbounded = compared[i].error.unbounded;
    if (!is_reached(traced, call)) continue;
    wrong_call = i;
    wrong = check_call(traced, call, &compared[i]);
    if (compared[i].last <= round) ++compared[i].rounds, compared[i].last = round + 1;
    if (round % DATA_STYLES == DATA_MODERATE) compared[i].error.unbounded_moderate += compared[i].error.unbounded - unbounded;
  }
  return wrong;
}

/* Repeats the run. Now each result that may share a parameter's buffer is placed in that buffer. The results must be
 * the same, except for NaN payloads. traced: NULL if there is no traced program. */
static const char *same_in_place(const struct job *job, struct job *one, struct job *traced)
{
  const struct sett_fusion *fusion = job->fusion;
  const char *wrong;
  size_t element = 0;
  int result;
  for (int i = 0; i < fusion->params; ++i) memcpy(one->in[i], job->in[i], fusion->param[i].bytes);
  if ((wrong = run_twice(one)) != NULL) return say_text("in parameters' buffers: %s", wrong);
  result = different_result(one, job, &element);
  if (result < 0 || (traced && nan_bits_decide(traced))) return NULL;
  return say_text("result %d, element %zu is another where results are parameters' buffers", result, element);
}

static const char *check_program_round(struct job *job, struct job *one, struct job *traced, struct compared *compared, unsigned long long seed, int round)
{
  const struct sett_fusion *fusion = job->fusion;
  const enum data_style style = style_of(round);
  const char *wrong;
  wrong_call = -1;
  now.phase = "inputs";
  for (int i = 0; i < fusion->params; ++i) {
    data_fill(&fusion->param[i], job->in[i], style,
              seed * 0x9e3779b97f4a7c15ull + (unsigned long long)round * 1000003ull + (unsigned long long)i * 7919ull);
    memcpy(traced->in[i], job->in[i], fusion->param[i].bytes);
  }
  if (traced->fusion->limited) memcpy(traced->in[fusion->params], &traced->fusion->limited, sizeof(unsigned));
  if ((wrong = run_twice(traced)) != NULL) return wrong;
  if ((wrong = check_calls(traced, compared, round)) != NULL) return wrong;
  wrong_call = -1;
  if (traced->fusion->limited && *(const unsigned char *)traced->out[traced->fusion->cut]) ++cut_rounds;
  else if ((wrong = run_twice(job)) != NULL || (wrong = same_results(job, traced)) != NULL || (one && (wrong = same_in_place(job, one, traced)) != NULL)) return wrong;
  if (!traced->fusion->limited) return NULL;
  /* stop loops after few iterations, to compare the calls of early iterations too */
  for (unsigned limit = 1; limit <= 2 + (unsigned)round && !wrong; limit = limit < 2 ? 2 : limit + 1 + (unsigned)round * 3) {
    wrong_call = -1;
    memcpy(traced->in[fusion->params], &limit, sizeof limit);
    if ((wrong = run_twice(traced)) == NULL) wrong = check_calls(traced, compared, round);
  }
  return wrong;
}

static void say_compared(const char *event, const char *name, const char *status, const char *reason, int rounds, const struct data_error *error,
                         const char *worst)
{
  say(event, "fusion", name, "status", status, "reason", reason, "#rounds", say_number(rounds), "#compared", say_number((double)error->compared),
      "#unbounded", say_number((double)error->unbounded), "#unbounded_nan", say_number((double)error->unbounded_nan), "#unbounded_integers",
      say_number((double)error->unbounded_integers), "#unbounded_moderate", say_number((double)error->unbounded_moderate), "#max_abs",
      say_number(error->max_abs), "#max_ulp", say_number(error->max_ulp), "#max_share", say_number(error->max_share), "nearest", worst, NULL);
}

static const char *in_round(const char *wrong, int round)
{
  static char said[2048];
  snprintf(said, sizeof said, "%s (%s inputs, round %d)", wrong, data_style_name[round % DATA_STYLES], round);
  return said;
}

static void check_program(const struct sett_fusion *fusion, unsigned long long seed, int wanted_rounds)
{
  static struct job job, one, traced;
  struct sett_fusion in_place = *fusion;
  const char *wrong = NULL;
  int rounds = rounds_for(fusion, wanted_rounds), round = 0;
  struct compared *compared = calloc((size_t)fusion->traced->calls, sizeof *compared);
  in_place.alias = fusion->may_alias;
  job.fusion = one.fusion = traced.fusion = NULL;
  cut_rounds = nan_rounds = 0;
  if (!compared) job_failed("SKIP", "not enough memory");
  else if (!job_open(&job, fusion, 1) && !job_host(&job, 1) && (!fusion->may_alias || (!job_open(&one, &in_place, 1) && !job_host(&one, 0))) &&
           !job_open(&traced, fusion->traced, 1) && !job_host(&traced, 1)) {
    for (; round < rounds && !wrong; ++round) wrong = check_program_round(&job, fusion->may_alias ? &one : NULL, &traced, compared, seed, round);
    if (wrong) wrong = in_round(wrong, round - 1);
    for (int i = 0; i < fusion->traced->calls; ++i)
      say_compared("call", fusion->traced->call[i].name, wrong && wrong_call == i ? "FAIL" : "PASS", wrong && wrong_call == i ? wrong : "",
                   compared[i].rounds, &compared[i].error, compared[i].nearest);
    say("result", "fusion", fusion->name, "status", wrong ? "FAIL" : "PASS", "reason", wrong ? wrong : "", "#rounds", say_number(round), "#cut",
        say_number(cut_rounds), "#nan_bits", say_number(nan_rounds), NULL);
  }
  now.phase = "release";
  if (job.fusion) job_close(&job);
  if (one.fusion) job_close(&one);
  if (traced.fusion) job_close(&traced);
  free(compared);
}

static void check(const struct sett_fusion *fusion, unsigned long long seed, int wanted_rounds)
{
  static struct job job;
  struct data_error error;
  const char *wrong = NULL;
  int rounds = rounds_for(fusion, wanted_rounds), round = 0;
  memset(&error, 0, sizeof error);
  nearest[0] = 0;
  now.fusion = fusion;
  say("start", "fusion", fusion->name, NULL);
  if (fusion->traced) {
    check_program(fusion, seed, wanted_rounds);
    return;
  }
  if (!fusion->ref) {
    job_failed("FAIL", "compiled without its reference");
    return;
  }
  if (job_open(&job, fusion, 1) || job_host(&job, 1)) {
    job_close(&job);
    return;
  }
  for (; round < rounds && !wrong; ++round) wrong = check_round(&job, seed, round, &error);
  say_compared("result", fusion->name, wrong ? "FAIL" : "PASS", wrong ? in_round(wrong, round - 1) : "", round, &error, nearest);
  now.phase = "release";
  job_close(&job);
}

static void compile(const struct sett_fusion *fusion)
{
  static char log[16384];
  void *self = NULL;
  now.fusion = fusion;
  now.phase = "build";
  if (backend_create(fusion, &self, log, sizeof log)) job_failed("FAIL", say_long("%s\n%s", backend_message, log));
  else say("result", "fusion", fusion->name, "status", "PASS", "reason", "", NULL);
  backend_release(fusion, self);
}

/* ---- run ---- */

static int read_file(const char *path, void *to, size_t bytes)
{
  struct stat about;
  FILE *file = fopen(path, "rb");
  int bad;
  if (!file || fstat(fileno(file), &about)) {
    if (file) fclose(file);
    return say("error", "reason", say_text("%s: cannot be read", path), NULL);
  }
  if ((size_t)about.st_size != bytes) {
    fclose(file);
    return say("error", "reason", say_text("%s: %lld bytes, not %zu", path, (long long)about.st_size, bytes), NULL);
  }
  bad = fread(to, 1, bytes, file) != bytes;
  fclose(file);
  return bad ? say("error", "reason", say_text("%s: cannot be read", path), NULL) : 0;
}

static int write_file(const char *path, const void *from, size_t bytes)
{
  FILE *file = fopen(path, "wb");
  int bad = !file || fwrite(from, 1, bytes, file) != bytes;
  if (file && fclose(file)) bad = 1;
  return bad ? say("error", "reason", say_text("%s: cannot be written", path), NULL) : 0;
}

static int run_files(const struct sett_fusion *fusion, char **files)
{
  static struct job job;
  int bad = 0, error;
  if (job_open(&job, fusion, 0) || job_host(&job, 0)) bad = 2;
  for (int i = 0; i < fusion->params && !bad; ++i)
    if (read_file(files[i], job.in[i], fusion->param[i].bytes)) bad = 2;
  if (!bad) {
    error = 0;
    for (int i = 0; i < fusion->params && !error; ++i) error = backend_write(&job.param[i], 0, job.param[i].bytes, job.in[i]);
    if (!error) error = job_prepare(&job) || job_run(&job);
    for (int i = 0; i < fusion->results && !error; ++i) error = backend_read(&job.result[i], 0, job.result[i].bytes, job.out[i]);
    if (error) job_failed("FAIL", backend_message);
    bad = error ? 1 : 0;
  }
  for (int i = 0; i < fusion->results && !bad; ++i)
    if (write_file(files[fusion->params + i], job.out[i], fusion->result[i].bytes)) bad = 2;
  if (!bad) say("result", "fusion", fusion->name, "status", "PASS", "reason", "", NULL);
  job_close(&job);
  return bad;
}

/* ---- each: run every fusion of a library; one file has all parameters of a fusion, one file all results ---- */

/* Reads or writes all buffers, one after another. The file must have exactly the bytes of the buffers. */
static int all_bytes(const char *path, int writes, int count, const struct sett_buffer *type, void **data)
{
  FILE *file = fopen(path, writes ? "wb" : "rb");
  int bad = !file;
  for (int i = 0; i < count && !bad; ++i)
    if (type[i].file) data_fill(&type[i], data[i], DATA_MODERATE, 0);
    else bad = (writes ? fwrite(data[i], 1, type[i].bytes, file) : fread(data[i], 1, type[i].bytes, file)) != type[i].bytes;
  if (!bad && !writes) bad = fgetc(file) != EOF;
  if (file && fclose(file)) bad = 1;
  return bad ? say("error", "reason", say_text("%s: cannot be %s", path, writes ? "written" : "read"), NULL) : 0;
}

static int run_each(const struct sett_fusion *fusion, const char *in, const char *out)
{
  static struct job job, one;
  struct sett_fusion in_place = *fusion;
  char path[4096];
  const char *wrong;
  int bad = 0;
  say("start", "fusion", fusion->name, NULL);
  in_place.alias = fusion->may_alias;
  one.fusion = NULL;
  if (job_open(&job, fusion, 1) || job_host(&job, 0) || (fusion->may_alias && (job_open(&one, &in_place, 1) || job_host(&one, 0)))) {
    job_close(&job);
    if (one.fusion) job_close(&one);
    return 0;
  }
  snprintf(path, sizeof path, "%s/%s.in", in, fusion->name);
  bad = all_bytes(path, 0, fusion->params, fusion->param, job.in);
  if (!bad && ((wrong = run_twice(&job)) != NULL || (one.fusion && (wrong = same_in_place(&job, &one, NULL)) != NULL))) job_failed("FAIL", wrong);
  else if (!bad) {
    snprintf(path, sizeof path, "%s/%s.out", out, fusion->name);
    bad = all_bytes(path, 1, fusion->results, fusion->result, job.out);
    if (!bad) say("result", "fusion", fusion->name, "status", "PASS", "reason", "", NULL);
  }
  job_close(&job);
  if (one.fusion) job_close(&one);
  return bad ? 2 : 0;
}

/* ---- bench ---- */

static int bench_fusion(const struct sett_fusion *fusion, const struct device *device, const struct bench_plan *plan)
{
  static char log[16384];
  void *self = NULL;
  now.fusion = fusion;
  now.phase = "bench";
  if (backend_create(fusion, &self, log, sizeof log)) job_failed("FAIL", say_long("%s\n%s", backend_message, log));
  else if (bench(fusion, self, device, plan)) job_failed("SKIP", backend_message);
  if (self) backend_release(fusion, self);
  return 0;
}

/* ---- main ---- */

static const void *symbol(const char *path, const char *name)
{
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  const void *found = library ? dlsym(library, name) : NULL;
  if (!found) say("error", "reason", say_text("%s: %s", path, dlerror()), NULL);
  return found;
}

static int other_abi(const char *path, const struct sett_fusion *fusion)
{
  return fusion->abi == SETT_FUSION_ABI ? 0 : say("error", "reason", say_text("%s: another version of fusion.h", path), NULL);
}

static unsigned long long number(const char *text) { return strtoull(text, NULL, 10); }

/* text: the path of a library, then `#`, then the index of a fusion in it */
static const struct sett_fusion *load(const char *text)
{
  static char path[1 << 15];
  char *hash = path + snprintf(path, sizeof path, "%s", text) < path + sizeof path ? strrchr(path, '#') : NULL;
  const struct sett_fusion *const *fusions, *fusion;
  if (!hash) {
    say("error", "reason", say_text("%s: expected LIBRARY#NUMBER", text), NULL);
    return NULL;
  }
  *hash = '\0';
  fusions = symbol(path, "sett_entries");
  fusion = fusions ? fusions[number(hash + 1)] : NULL;
  return fusion && !other_abi(path, fusion) ? fusion : NULL;
}

static int usage(void)
{
  fprintf(stderr, "error: harness check|run|each|bench|compile|device DEVICE ...\n");
  return 2;
}

int main(int argc, char **argv)
{
  struct device device;
  const struct sett_fusion *fusion;
  int status = 0;
  if (argc < 3) return usage();
  catch_signals();
  now.phase = "device";
  if (backend_open(argv[2], &device)) {
    say("error", "reason", backend_message, NULL);
    return 3;
  }
  say("device", "name", device.name, "runtime", device.runtime, "#units", say_number(device.units), "#cache",
      say_number((double)device.cache), "#memory", say_number((double)device.memory), "#on_host",
      say_number(device.on_host), NULL);
  if (strcmp(argv[1], "device") == 0) status = 0;
  else if (strcmp(argv[1], "check") == 0 && argc >= 7) {
    limit.processor = (unsigned)number(argv[5]), limit.passing = (unsigned)number(argv[6]);
    for (int i = 7; i < argc && !status; ++i) {
      if ((fusion = load(argv[i])) == NULL) status = 2;
      else check(fusion, number(argv[3]), (int)number(argv[4]));
    }
  }
  else if (strcmp(argv[1], "compile") == 0) {
    for (int i = 3; i < argc && !status; ++i) {
      if ((fusion = load(argv[i])) == NULL) status = 2;
      else compile(fusion);
    }
  }
  else if (strcmp(argv[1], "run") == 0 && argc >= 6) {
    limit.processor = (unsigned)number(argv[3]), limit.passing = (unsigned)number(argv[4]);
    fusion = load(argv[5]);
    if (!fusion) status = 2;
    else if (argc != 6 + fusion->params + fusion->results) status = usage();
    else status = run_files(fusion, argv + 6);
  }
  else if (strcmp(argv[1], "each") == 0 && argc == 9) {
    const struct sett_fusion *const *fusions = symbol(argv[5], "sett_entries");
    limit.processor = (unsigned)number(argv[3]), limit.passing = (unsigned)number(argv[4]);
    if (!fusions) status = 2;
    else fusions += number(argv[6]);
    for (; !status && *fusions; ++fusions)
      if (!(status = other_abi(argv[5], *fusions))) status = run_each(*fusions, argv[7], argv[8]);
  }
  else if (strcmp(argv[1], "bench") == 0 && (argc == 10 || (argc >= 12 && argc % 3 == 0))) {
    static struct worker workers[8];
    struct bench_plan plan = { .turns = (int)number(argv[3]), .spread = atof(argv[4]), .seconds = atof(argv[5]),
                               .slot = (double)number(argv[6]) * 1e-3, .footprint = (size_t)number(argv[7]),
                               .moved = (size_t)number(argv[8]), .library = workers };
    if (argc >= 12) plan.in = argv[10], plan.out = argv[11];
    for (int i = 12; i < argc && plan.libraries < 8; i += 3) {
      workers[plan.libraries].name = argv[i];
      workers[plan.libraries].result = atoi(argv[i + 1]);
      workers[plan.libraries++].command = argv[i + 2];
    }
    fusion = load(argv[9]);
    status = fusion ? bench_fusion(fusion, &device, &plan) : 2;
  }
  else status = usage();
  now.phase = "end";
  now.fusion = NULL;
  backend_close();
  return status;
}
