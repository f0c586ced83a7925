/* serve.h - the process that worker.h starts: one operation of a library, on a rotation of buffers.

   program OPERATION DTYPE DIMS ORDER THREADS FOOTPRINT IN OUT

   OPERATION is transpose, sum or max; ORDER its permutation or its reduced dimensions. The operand and the result are
   dense and row-major. Every set of buffers starts with the content of file IN; the first result is written to file OUT.
   The program then prints "ready WHAT IS RUN", or "skip WHY". After "ready", each line that it
   reads from standard input is a number of calls. It makes these calls, and answers with the seconds that they took. */
#ifndef SETT_HARNESS_SERVE_H
#define SETT_HARNESS_SERVE_H
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_DIMS = 12, MOST_SETS = 4096 };

struct operation {
  const char *name, *dtype;
  int rank, orders, threads, sets;
  long dims[MOST_DIMS], order[MOST_DIMS];
  size_t in_bytes, out_bytes;
  void *in[MOST_SETS], *out[MOST_SETS];
};

/* The file of each library defines these. prepare writes a description of what it will run to `about` and returns NULL,
 * or returns the reason why it cannot. run makes the calls. */
static const char *prepare(const struct operation *operation, char *about, size_t capacity);
static void run(const struct operation *operation, int first, int calls);

static int numbers(const char *text, long *to)
{
  int count = 0;
  for (char *end; *text && count < MOST_DIMS; text = *end ? end + 1 : end) to[count++] = strtol(text, &end, 10);
  return count;
}

static int skip(const char *why)
{
  printf("skip %s\n", why);
  return 0;
}

static int read_operation(struct operation *op, char **words)
{
  static const struct { const char *dtype; size_t bytes; } widths[] = {
    { "f64", 8 }, { "f32", 4 }, { "s32", 4 }, { "f16", 2 }, { "bf16", 2 }, { "s8", 1 }, { "u8", 1 } };
  size_t width = 0;
  op->name = words[1], op->dtype = words[2];
  op->rank = numbers(words[3], op->dims), op->orders = numbers(words[4], op->order);
  op->threads = atoi(words[5]);
  for (size_t i = 0; i < sizeof widths / sizeof *widths; ++i)
    if (strcmp(op->dtype, widths[i].dtype) == 0) width = widths[i].bytes;
  op->in_bytes = op->out_bytes = width;
  for (int i = 0; i < op->rank; ++i) {
    int reduced = 0;
    for (int j = 0; j < op->orders; ++j) reduced |= op->order[j] == i && strcmp(op->name, "transpose");
    op->in_bytes *= (size_t)op->dims[i];
    op->out_bytes *= reduced ? 1 : (size_t)op->dims[i];
  }
  return width == 0;
}

static int allocate(struct operation *op, size_t footprint, const char *path)
{
  size_t sets = footprint / (op->in_bytes + op->out_bytes) + 1;
  FILE *file = fopen(path, "rb");
  int bad = !file;
  op->sets = (int)(sets < MOST_SETS ? sets : MOST_SETS);
  for (int i = 0; i < op->sets && !bad; ++i) {
    op->in[i] = aligned_alloc(4096, (op->in_bytes / 4096 + 1) * 4096);
    op->out[i] = aligned_alloc(4096, (op->out_bytes / 4096 + 1) * 4096);
    bad = !op->in[i] || !op->out[i];
    if (bad) break;
    if (i) memcpy(op->in[i], op->in[0], op->in_bytes);
    else bad = fread(op->in[0], 1, op->in_bytes, file) != op->in_bytes;
    memset(op->out[i], 1, op->out_bytes);
  }
  if (file) fclose(file);
  return bad;
}

static int save(const struct operation *op, const char *path)
{
  FILE *file = fopen(path, "wb");
  int bad = !file || fwrite(op->out[0], 1, op->out_bytes, file) != op->out_bytes;
  return (file && fclose(file)) || bad;
}

int main(int count, char **words)
{
  static struct operation op;
  char about[256] = "", line[64];
  const char *why;
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (count != 9) return 2;
  if (read_operation(&op, words)) return skip("it has no such dtype");
  if ((why = prepare(&op, about, sizeof about)) != NULL) return skip(why);
  if (allocate(&op, (size_t)strtoull(words[6], NULL, 10), words[7])) return skip("no input or not enough memory");
  run(&op, 0, 1);
  if (save(&op, words[8])) return skip("its result cannot be written");
  printf("ready %s\n", about);
  for (int first = 0; fgets(line, sizeof line, stdin);) {
    struct timespec start, end;
    int calls = atoi(line);
    clock_gettime(CLOCK_MONOTONIC, &start);
    run(&op, first, calls);
    clock_gettime(CLOCK_MONOTONIC, &end);
    first = (first + calls) % op.sets;
    printf("%.9f\n", (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) * 1e-9);
  }
  return 0;
}

#endif
