/* worker.h - runs an operation of a library in a separate process (serve.h), so that the bench can time it alternately
 * with a kernel. */
#ifndef SETT_HARNESS_WORKER_H
#define SETT_HARNESS_WORKER_H
#include <sys/types.h>

struct worker {
  const char *name, *command;
  int result;      /* index of the fusion's result that this worker computes; -1: all results, one after another */
  pid_t pid;
  int line;        /* a socket, which is the standard input and output of the process */
  char about[512]; /* the library, its version and the function called; or the reason why it cannot run */
};

/* Starts the command and waits until its first results are in their file. Returns 0, or 1 with the reason in
 * `about`. */
int worker_start(struct worker *worker);
/* Makes `calls` calls. Returns their seconds; negative if the process has ended. */
double worker_turn(struct worker *worker, int calls);
void worker_stop(struct worker *worker);

#endif
