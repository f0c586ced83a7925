#define _GNU_SOURCE
#include "worker.h"
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Reads the next line, without its newline. Returns 0, or 1 if there is no further line. */
static int read_line(const struct worker *worker, char *to, size_t capacity)
{
  size_t used = 0;
  char c;
  while (read(worker->line, &c, 1) == 1 && c != '\n')
    if (used + 1 < capacity) to[used++] = c;
  to[used] = 0;
  return used == 0;
}

/* Starts the worker's process. It does not use fork, which would write-protect the pages of all buffers. */
static int spawn(struct worker *worker, int line)
{
  char *arguments[] = { "sh", "-c", (char *)(uintptr_t)worker->command, NULL };
  posix_spawn_file_actions_t actions;
  int error = posix_spawn_file_actions_init(&actions);
  if (error) return error;
  error = posix_spawn_file_actions_adddup2(&actions, line, STDIN_FILENO);
  if (!error) error = posix_spawn_file_actions_adddup2(&actions, line, STDOUT_FILENO);
  if (!error) error = posix_spawn(&worker->pid, "/bin/sh", &actions, NULL, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

int worker_start(struct worker *worker)
{
  int ends[2];
  char answer[512];
  worker->pid = 0;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) || spawn(worker, ends[1])) {
    snprintf(worker->about, sizeof worker->about, "no process can be started");
    return 1;
  }
  close(ends[1]);
  worker->line = ends[0];
  if (read_line(worker, answer, sizeof answer)) snprintf(worker->about, sizeof worker->about, "it ended at once");
  else if (strncmp(answer, "ready ", 6) == 0) {
    snprintf(worker->about, sizeof worker->about, "%s", answer + 6);
    return 0;
  }
  else snprintf(worker->about, sizeof worker->about, "%s", strncmp(answer, "skip ", 5) ? answer : answer + 5);
  worker_stop(worker);
  return 1;
}

double worker_turn(struct worker *worker, int calls)
{
  char text[64];
  int size = snprintf(text, sizeof text, "%d\n", calls);
  if (send(worker->line, text, (size_t)size, MSG_NOSIGNAL) != size || read_line(worker, text, sizeof text)) return -1;
  return atof(text);
}

void worker_stop(struct worker *worker)
{
  if (!worker->pid) return;
  close(worker->line);
  waitpid(worker->pid, NULL, 0);
  worker->pid = 0;
}
