/* worker.h - an operation of a library in a process of its own, timed in turns with a kernel (serve.h). */
#ifndef SETT_HARNESS_WORKER_H
#define SETT_HARNESS_WORKER_H
#include <sys/types.h>

struct worker {
  const char *name, *command;
  int result;      /* the fusion's result that this worker computes; -1: all, one after another */
  pid_t pid;
  int line;        /* a socket, which is the process's standard input and output */
  char about[512]; /* library, version and call; or the reason why it cannot run */
};

/* Starts the command and waits until its first results are in their file; returns 0, or 1 with the reason in
   `about`. */
int worker_start(struct worker *worker);
/* Returns the seconds of `calls` calls; negative if the process has ended. */
double worker_turn(struct worker *worker, int calls);
void worker_stop(struct worker *worker);

#endif
