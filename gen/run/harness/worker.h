/* worker.h - an operation of some library in a process of its own, timed in turns with a kernel (serve.h). */
#ifndef SETT_HARNESS_WORKER_H
#define SETT_HARNESS_WORKER_H
#include <sys/types.h>

struct worker {
  const char *name, *command;
  int result;      /* of the fusion, which this worker gives; -1: all, one after another */
  pid_t pid;
  int line;        /* a socket: the process's standard input and output */
  char about[512]; /* library, version and call; or why there is none */
};

/* Starts the command and waits until its first results are in their file: 0, or 1 with the reason in `about`. */
int worker_start(struct worker *worker);
/* The seconds that `calls` calls took; negative: the process has ended. */
double worker_turn(struct worker *worker, int calls);
void worker_stop(struct worker *worker);

#endif
