/* A small pool of threads, as many programs have one. pool_run calls work(context, begin, end) for ranges that together
 * cover 0 .. count - 1, on its threads and on the calling thread. */
#ifndef POOL_H
#define POOL_H
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

/* POOL_LOOKS: number of times that a thread polls for a new round before it sleeps, because waking it takes some 50 us */
enum { POOL_MOST = 64, POOL_LOOKS = 1 << 16 };

typedef void pool_work(void *context, size_t begin, size_t end);

typedef struct pool {
  pthread_t thread[POOL_MOST];
  int threads; /* including the thread that calls pool_run */
  pthread_mutex_t mutex;
  pthread_cond_t begun, ended;
  pool_work *work; /* NULL: the threads shall end */
  void *context;
  size_t count, step, next[POOL_MOST]; /* next: for each thread's range, the first item that no thread has begun */
  int known; /* number of threads that have started */
  atomic_int round, busy; /* round: number of rounds begun; busy: threads at work, except the calling one */
} pool;

static size_t pool_range(const pool *p, int number) { return p->count * (size_t)number / (size_t)p->threads; }

/* Work on the thread's own range step by step, then help with the other threads' ranges. A thread has the same range in
 * all rounds with the same count. The mutex is locked between steps, not during work. */
static void pool_parts(pool *p, int number) {
  int n;
  for (n = 0; n < p->threads; ++n) {
    int of = (number + n) % p->threads;
    size_t last = pool_range(p, of + 1);
    while (p->next[of] < last) {
      size_t begin = p->next[of], end = last - begin < p->step ? last : begin + p->step;
      p->next[of] = end;
      pthread_mutex_unlock(&p->mutex);
      p->work(p->context, begin, end);
      pthread_mutex_lock(&p->mutex);
    }
  }
}

static void *pool_thread(void *argument) {
  pool *p = argument;
  int round = 0, ends = 0, n, number;
  pthread_mutex_lock(&p->mutex);
  number = ++p->known;
  pthread_mutex_unlock(&p->mutex);
  while (!ends) {
    for (n = 0; n < POOL_LOOKS && atomic_load(&p->round) == round; ++n) {}
    pthread_mutex_lock(&p->mutex);
    while (p->round == round) pthread_cond_wait(&p->begun, &p->mutex);
    round = p->round;
    ends = !p->work;
    ++p->busy;
    pool_parts(p, number);
    if (--p->busy == 0) pthread_cond_signal(&p->ended);
    pthread_mutex_unlock(&p->mutex);
  }
  return NULL;
}

/* Return when all items are done. Values written in one call are visible to all threads in the next call. */
static void pool_run(pool *p, pool_work *work, void *context, size_t count) {
  int n;
  pthread_mutex_lock(&p->mutex);
  p->work = work;
  p->context = context;
  p->count = count;
  for (n = 0; n < p->threads; ++n) p->next[n] = pool_range(p, n);
  /* 16 steps per thread, so that others can take over the range of a slow thread */
  p->step = count / (size_t)(16 * p->threads) + 1;
  ++p->round;
  pthread_cond_broadcast(&p->begun);
  pool_parts(p, 0);
  pthread_mutex_unlock(&p->mutex);
  for (n = 0; n < POOL_LOOKS && atomic_load(&p->busy); ++n) {}
  pthread_mutex_lock(&p->mutex);
  while (p->busy) pthread_cond_wait(&p->ended, &p->mutex);
  pthread_mutex_unlock(&p->mutex);
}

static int pool_begin(pool *p, long threads) {
  int i;
  p->threads = threads < 1 ? 1 : threads < POOL_MOST ? (int)threads : POOL_MOST;
  if (pthread_mutex_init(&p->mutex, NULL) || pthread_cond_init(&p->begun, NULL) || pthread_cond_init(&p->ended, NULL)) return 1;
  for (i = 1; i < p->threads; ++i)
    if (pthread_create(&p->thread[i], NULL, pool_thread, p)) return 1;
  return 0;
}

static void pool_end(pool *p) {
  int i;
  pool_run(p, NULL, NULL, 0);
  for (i = 1; i < p->threads; ++i) pthread_join(p->thread[i], NULL);
}
#endif
