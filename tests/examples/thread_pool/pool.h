/* A small pool of threads, as many programs have one: pool_run calls work(context, begin, end) until 0 .. count - 1 is done. */
#ifndef POOL_H
#define POOL_H
#include <pthread.h>
#include <stddef.h>

enum { POOL_MOST = 64 };

typedef void pool_work(void *context, size_t begin, size_t end);

typedef struct pool {
  pthread_t thread[POOL_MOST];
  int threads;
  pthread_mutex_t mutex;
  pthread_cond_t begun, ended;
  pool_work *work; /* NULL: the pool ends */
  void *context;
  size_t count, next, step;
  int round, busy; /* rounds begun; threads that have not ended theirs */
} pool;

static void *pool_thread(void *argument) {
  pool *p = argument;
  int round = 0;
  pthread_mutex_lock(&p->mutex);
  for (;;) {
    while (p->round == round) pthread_cond_wait(&p->begun, &p->mutex);
    round = p->round;
    if (!p->work) break;
    while (p->next < p->count) {
      size_t begin = p->next, end = p->count - begin < p->step ? p->count : begin + p->step;
      p->next = end;
      pthread_mutex_unlock(&p->mutex);
      p->work(p->context, begin, end);
      pthread_mutex_lock(&p->mutex);
    }
    if (--p->busy == 0) pthread_cond_signal(&p->ended);
  }
  pthread_mutex_unlock(&p->mutex);
  return NULL;
}

/* Returns when all is done: what one call wrote, all threads see in the next. */
static void pool_run(pool *p, pool_work *work, void *context, size_t count) {
  pthread_mutex_lock(&p->mutex);
  p->work = work;
  p->context = context;
  p->count = count;
  p->next = 0;
  p->step = count / (size_t)(4 * p->threads) + 1; /* several steps a thread, so that a slow one holds nobody up */
  p->busy = p->threads;
  ++p->round;
  pthread_cond_broadcast(&p->begun);
  while (work && p->busy) pthread_cond_wait(&p->ended, &p->mutex);
  pthread_mutex_unlock(&p->mutex);
}

static int pool_begin(pool *p, long threads) {
  int i;
  p->threads = threads < 1 ? 1 : threads < POOL_MOST ? (int)threads : POOL_MOST;
  p->round = 0;
  if (pthread_mutex_init(&p->mutex, NULL) || pthread_cond_init(&p->begun, NULL) || pthread_cond_init(&p->ended, NULL)) return 1;
  for (i = 0; i < p->threads; ++i)
    if (pthread_create(&p->thread[i], NULL, pool_thread, p)) return 1;
  return 0;
}

static void pool_end(pool *p) {
  int i;
  pool_run(p, NULL, NULL, 0);
  for (i = 0; i < p->threads; ++i) pthread_join(p->thread[i], NULL);
}
#endif
