#define _GNU_SOURCE
#include "copies.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

/* ---- 64 bytes at a time ---- */

typedef uint64_t line __attribute__((vector_size(64)));

/* Stores 64 bytes with non-temporal stores, which bypass the caches, if the compiler has them. */
static inline void store_streaming(unsigned char *to, const unsigned char *from)
{
#if defined(__AVX512F__)
  _mm512_stream_si512((void *)to, _mm512_load_si512((const void *)from));
#elif defined(__AVX__)
  _mm256_stream_si256((__m256i *)(void *)to, _mm256_load_si256((const __m256i *)(const void *)from));
  _mm256_stream_si256((__m256i *)(void *)(to + 32), _mm256_load_si256((const __m256i *)(const void *)(from + 32)));
#elif defined(__SSE2__)
  for (int i = 0; i < 64; i += 16)
    _mm_stream_si128((__m128i *)(void *)(to + i), _mm_load_si128((const __m128i *)(const void *)(from + i)));
#elif defined(__clang__)
  __builtin_nontemporal_store(*(const line *)(const void *)from, (line *)(void *)to);
#else
  *(line *)(void *)to = *(const line *)(const void *)from;
#endif
}

static inline void fence(void)
{
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

static inline void store_plain(unsigned char *to, const unsigned char *from)
{
  *(line *)(void *)to = *(const line *)(const void *)from;
}

static void copy_library(unsigned char *to, const unsigned char *from, size_t bytes) { memcpy(to, from, bytes); }

static void copy_streaming(unsigned char *to, const unsigned char *from, size_t bytes)
{
  for (size_t i = 0; i < bytes; i += 64) store_streaming(to + i, from + i);
  fence();
}

static void copy_plain(unsigned char *to, const unsigned char *from, size_t bytes)
{
  for (size_t i = 0; i < bytes; i += 64) store_plain(to + i, from + i);
}

/* Copies the four quarters in parallel: more address streams keep more memory requests in flight. */
static void copy_streaming_4(unsigned char *to, const unsigned char *from, size_t bytes)
{
  size_t quarter = bytes / 256 * 64;
  for (size_t i = 0; i < quarter; i += 64)
    for (size_t q = 0; q < 4; ++q) store_streaming(to + q * quarter + i, from + q * quarter + i);
  copy_streaming(to + 4 * quarter, from + 4 * quarter, bytes - 4 * quarter);
}

/* Copies the four quarters in parallel, in bursts of BURST bytes per quarter. Each prefetch is AHEAD bytes (one page)
 * ahead of the copy. */
enum { BURST = 512, AHEAD = 4096 };

static inline void ask(const unsigned char *from)
{
  for (size_t j = 0; j < BURST; j += 64) __builtin_prefetch(from + j, 0, 2);
}

static void copy_bursts_4(unsigned char *to, const unsigned char *from, size_t bytes)
{
  size_t quarter = bytes / (4 * BURST) * BURST;
  for (size_t i = 0; i < quarter; i += BURST)
    for (size_t q = 0; q < 4; ++q) {
      size_t at = q * quarter + i;
      ask(from + at + AHEAD);
      for (size_t j = at; j < at + BURST; j += 64) store_streaming(to + j, from + j);
    }
  copy_streaming(to + 4 * quarter, from + 4 * quarter, bytes - 4 * quarter);
}

/* Copies page by page. All cache lines of a page are prefetched before its first store. */
static void copy_paged(unsigned char *to, const unsigned char *from, size_t bytes)
{
  size_t i = 0;
  for (; i + 4096 <= bytes; i += 4096) {
    for (size_t j = 0; j < 4096; j += 64) __builtin_prefetch(from + i + j);
    for (size_t j = 0; j < 4096; j += 64) store_streaming(to + i + j, from + i + j);
  }
  copy_streaming(to + i, from + i, bytes - i);
}

static uint64_t folded(const line *sums)
{
  line sum = sums[0] + sums[1] + sums[2] + sums[3];
  uint64_t all = 0;
  for (int i = 0; i < 8; ++i) all += sum[i];
  return all;
}

static uint64_t read_1(const unsigned char *from, size_t bytes)
{
  line sum[4] = { { 0 }, { 0 }, { 0 }, { 0 } };
  size_t i = 0;
  for (; i + 256 <= bytes; i += 256)
    for (size_t q = 0; q < 4; ++q) sum[q] += *(const line *)(const void *)(from + i + 64 * q);
  for (; i < bytes; i += 64) sum[0] += *(const line *)(const void *)(from + i);
  return folded(sum);
}

static uint64_t read_4(const unsigned char *from, size_t bytes)
{
  line sum[4] = { { 0 }, { 0 }, { 0 }, { 0 } };
  size_t quarter = bytes / 256 * 64;
  for (size_t i = 0; i < quarter; i += 64)
    for (size_t q = 0; q < 4; ++q) sum[q] += *(const line *)(const void *)(from + q * quarter + i);
  for (size_t i = 4 * quarter; i < bytes; i += 64) sum[0] += *(const line *)(const void *)(from + i);
  return folded(sum);
}

static uint64_t read_bursts_4(const unsigned char *from, size_t bytes)
{
  line sum[4] = { { 0 }, { 0 }, { 0 }, { 0 } };
  size_t quarter = bytes / (4 * BURST) * BURST;
  for (size_t i = 0; i < quarter; i += BURST)
    for (size_t q = 0; q < 4; ++q) {
      const unsigned char *burst = from + q * quarter + i;
      ask(burst + AHEAD);
      for (size_t j = 0; j < BURST; j += 64) sum[j / 64 % 4] += *(const line *)(const void *)(burst + j);
    }
  return folded(sum) + read_1(from + 4 * quarter, bytes - 4 * quarter);
}

static const struct {
  const char *name;
  void (*copy)(unsigned char *to, const unsigned char *from, size_t bytes);
} copies[] = {
  { "memcpy", copy_library },
  { "streaming stores", copy_streaming },
  { "streaming stores, 4 streams", copy_streaming_4 },
  { "streaming stores, 4 streams prefetched", copy_bursts_4 },
  { "streaming stores, a page prefetched", copy_paged },
  { "plain vectors", copy_plain },
};

static const struct {
  const char *name;
  uint64_t (*read)(const unsigned char *from, size_t bytes);
} reads[] = {
  { "vector sum", read_1 },
  { "vector sum, 4 streams", read_4 },
  { "vector sum, 4 streams prefetched", read_bursts_4 },
};

const char *copies_copy_name(int number)
{
  return number < (int)(sizeof copies / sizeof copies[0]) ? copies[number].name : NULL;
}

const char *copies_read_name(int number)
{
  return number < (int)(sizeof reads / sizeof reads[0]) ? reads[number].name : NULL;
}

/* ---- pinned threads that wait for a job; the calling thread is the first one ---- */

enum { MOST_THREADS = 256, WATCHED_NS = 50000 };

static struct {
  pthread_t thread[MOST_THREADS];
  int threads;
  atomic_int running; /* number of threads, without the caller, that have not finished the job */
  pthread_mutex_t lock;
  pthread_cond_t start, done;
  atomic_uint job; /* number of the current job, counted from 1; 0 before the first job */
  atomic_int quit;
  void (*share)(void *argument, int thread, int threads);
  void *argument;
} pool = { .lock = PTHREAD_MUTEX_INITIALIZER, .start = PTHREAD_COND_INITIALIZER, .done = PTHREAD_COND_INITIALIZER };

static void pin(int thread, const cpu_set_t *allowed)
{
  cpu_set_t one;
  int count = 0;
  CPU_ZERO(&one);
  for (size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, allowed) && count++ == thread) CPU_SET(cpu, &one);
  if (CPU_COUNT(&one)) pthread_setaffinity_np(pthread_self(), sizeof one, &one);
}

/* Polls until the next job (such as a stage of a kernel) is ready, for at most WATCHED_NS. Returns true if it became
 * ready. Sleeping and waking up would take longer than a small job. */
static int soon(int (*ready)(unsigned seen), unsigned seen)
{
  struct timespec begin, now;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do {
    for (int turn = 0; turn < 64; ++turn) {
      if (ready(seen)) return 1;
#if defined(__x86_64__) || defined(__i386__)
      __builtin_ia32_pause();
#endif
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((now.tv_sec - begin.tv_sec) * 1000000000LL + now.tv_nsec - begin.tv_nsec < WATCHED_NS);
  return 0;
}

static int started(unsigned seen) { return pool.job != seen || pool.quit; }

static int ended(unsigned seen) { (void)seen; return pool.running == 0; }

static void *worker(void *argument)
{
  int thread = (int)(intptr_t)argument;
  unsigned seen = 0;
  cpu_set_t allowed;
  if (!sched_getaffinity(0, sizeof allowed, &allowed)) pin(thread, &allowed);
  for (;;) {
    if (!soon(started, seen)) {
      pthread_mutex_lock(&pool.lock);
      while (!started(seen)) pthread_cond_wait(&pool.start, &pool.lock);
      pthread_mutex_unlock(&pool.lock);
    }
    if (pool.quit) return NULL;
    seen = pool.job;
    pool.share(pool.argument, thread, pool.threads);
    pthread_mutex_lock(&pool.lock);
    if (--pool.running == 0) pthread_cond_signal(&pool.done);
    pthread_mutex_unlock(&pool.lock);
  }
}

void copies_close(void)
{
  pthread_mutex_lock(&pool.lock);
  pool.quit = 1;
  pthread_cond_broadcast(&pool.start);
  pthread_mutex_unlock(&pool.lock);
  for (int i = 1; i < pool.threads; ++i) pthread_join(pool.thread[i], NULL);
  pool.threads = 0, pool.quit = 0, pool.job = 0;
}

int copies_open(int threads)
{
  if (pool.threads) return 0;
  if (threads > MOST_THREADS) threads = MOST_THREADS;
  for (pool.threads = 1; pool.threads < threads; ++pool.threads)
    if (pthread_create(&pool.thread[pool.threads], NULL, worker, (void *)(intptr_t)pool.threads)) break;
  if (pool.threads >= threads) return 0;
  copies_close();
  return 1;
}

void copies_share(void (*share)(void *argument, int thread, int threads), void *argument)
{
  cpu_set_t allowed;
  int known = !sched_getaffinity(0, sizeof allowed, &allowed);
  pthread_mutex_lock(&pool.lock);
  pool.share = share, pool.argument = argument;
  pool.running = pool.threads - 1;
  pool.job += 1;
  pthread_cond_broadcast(&pool.start);
  pthread_mutex_unlock(&pool.lock);
  if (known) pin(0, &allowed);
  share(argument, 0, pool.threads);
  if (!soon(ended, 0)) {
    pthread_mutex_lock(&pool.lock);
    while (!ended(0)) pthread_cond_wait(&pool.done, &pool.lock);
    pthread_mutex_unlock(&pool.lock);
  }
  if (known) pthread_setaffinity_np(pthread_self(), sizeof allowed, &allowed);
}

/* ---- copies and reads that go round several sets of buffers ---- */

struct rotated {
  int number, sets, first, calls;
  unsigned char *const *from, *const *to; /* `to` is NULL for reads */
  size_t bytes;
};

static _Atomic uint64_t kept; /* receives the sums of reads, so that the compiler cannot remove the reads */

static void share_of_copies(void *argument, int thread, int threads)
{
  const struct rotated *r = argument;
  size_t lines = r->bytes / 64;
  size_t begin = lines * (size_t)thread / (size_t)threads * 64, end = lines * ((size_t)thread + 1) / (size_t)threads * 64;
  for (int call = 0; call < r->calls; ++call) {
    int set = (r->first + call) % r->sets;
    if (r->to) copies[r->number].copy(r->to[set] + begin, r->from[set] + begin, end - begin);
    else kept += reads[r->number].read(r->from[set] + begin, end - begin);
  }
}

void copies_copy(int number, unsigned char *const *from, unsigned char *const *to, size_t bytes, int sets, int first,
                 int calls)
{
  struct rotated r = { number, sets, first, calls, from, to, bytes };
  copies_share(share_of_copies, &r);
}

void copies_read(int number, unsigned char *const *from, size_t bytes, int sets, int first, int calls)
{
  copies_copy(number, from, NULL, bytes, sets, first, calls);
}

/* ---- arithmetic in registers ---- */

#if defined(__AVX512F__)
#define REGISTER_BYTES 64
#elif defined(__AVX__)
#define REGISTER_BYTES 32
#else
#define REGISTER_BYTES 16
#endif
typedef float reals __attribute__((vector_size(REGISTER_BYTES)));
enum { CHAINS = 12, STEPS = 1 << 20 };

static void share_of_arithmetic(void *argument, int thread, int threads)
{
  const float *values = argument;
  reals chain[CHAINS], factor, summand;
  uint64_t sum = 0;
  (void)threads;
  for (int k = 0; k < REGISTER_BYTES / 4; ++k) factor[k] = values[0], summand[k] = values[1];
  for (int k = 0; k < CHAINS; ++k) chain[k] = summand * (float)(k + thread + 1);
  for (int step = 0; step < STEPS; ++step)
    for (int k = 0; k < CHAINS; ++k) chain[k] = chain[k] * factor + summand;
  for (int k = 0; k < CHAINS; ++k) sum += (uint64_t)chain[k][0];
  kept += sum;
}

double copies_arithmetic(void)
{
  float values[2] = { 0.5f, 1.5f };
  double best = 0;
  for (int turn = 0; turn < 5; ++turn) {
    struct timespec start, end;
    double rate;
    clock_gettime(CLOCK_MONOTONIC, &start);
    copies_share(share_of_arithmetic, values);
    clock_gettime(CLOCK_MONOTONIC, &end);
    rate = 2.0 * STEPS * CHAINS * (REGISTER_BYTES / 4) * pool.threads /
           ((double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec));
    if (rate > best) best = rate;
  }
  return best;
}
