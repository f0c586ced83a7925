/* openblas.c - OpenBLAS as a rival of a kernel: omatcopy for transposes, gemv with a vector of ones for sums. Each
 * thread computes its own rows. The library is loaded at run time. */
#include "serve.h"
#include "copies.h"
#include <dlfcn.h>

enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112 }; /* values of the enumerations in cblas.h */

static struct {
  int wide; /* true for f64, false for f32 */
  void (*somatcopy)(int, int, int, int, float, const float *, int, float *, int);
  void (*domatcopy)(int, int, int, int, double, const double *, int, double *, int);
  void (*sgemv)(int, int, int, int, float, const float *, int, const float *, int, float, float *, int);
  void (*dgemv)(int, int, int, int, double, const double *, int, const double *, int, double, double *, int);
  /* for transposes: the number of matrices; the elements from one matrix to the next, in the operand and in the result;
   * the rows and columns of a matrix; and the elements from one row to the next, in the operand and in the result */
  long batch, in_step, out_step, rows, columns, in_pitch, out_pitch;
  int down;                                                          /* true if columns are summed, false for rows */
  void *ones, *partial;
} blas;

static const char *transposes(const struct operation *op)
{
  const long *d = op->dims, *p = op->order;
  if (op->rank == 2 && p[0] == 1) {
    blas.batch = 1;
    blas.rows = d[0], blas.columns = d[1], blas.in_pitch = d[1], blas.out_pitch = d[0];
  }
  else if (op->rank == 3 && p[0] == 0 && p[1] == 2) {
    blas.batch = d[0], blas.in_step = blas.out_step = d[1] * d[2];
    blas.rows = d[1], blas.columns = d[2], blas.in_pitch = d[2], blas.out_pitch = d[1];
  }
  else if (op->rank == 3 && p[0] == 2 && p[1] == 1) {
    blas.batch = d[1], blas.in_step = d[2], blas.out_step = d[0];
    blas.rows = d[0], blas.columns = d[2], blas.in_pitch = d[1] * d[2], blas.out_pitch = d[1] * d[0];
  }
  else return "it has no such permutation";
  return NULL;
}

static const char *sums(const struct operation *op)
{
  size_t width = blas.wide ? 8 : 4;
  blas.rows = blas.columns = 1;
  blas.down = op->order[0] == 0;
  for (int i = 0; i < op->orders; ++i)
    if (op->order[i] != (blas.down ? i : op->rank - op->orders + i) || op->orders == op->rank) return "it has no such sum";
  for (int i = 0; i < op->rank; ++i) *(i < (blas.down ? op->orders : op->rank - op->orders) ? &blas.rows : &blas.columns) *= op->dims[i];
  blas.ones = malloc(width * (size_t)(blas.down ? blas.rows : blas.columns));
  blas.partial = malloc(width * (size_t)blas.columns * (size_t)op->threads);
  if (!blas.ones || !blas.partial) return "not enough memory";
  for (long i = 0; i < (blas.down ? blas.rows : blas.columns); ++i)
    if (blas.wide) ((double *)blas.ones)[i] = 1;
    else ((float *)blas.ones)[i] = 1;
  return NULL;
}

static const char *prepare(const struct operation *op, char *about, size_t capacity)
{
  static const char *const names[2][2] = { { "cblas_somatcopy", "cblas_domatcopy" }, { "cblas_sgemv", "cblas_dgemv" } };
  void *library = dlopen("libopenblas.so.0", RTLD_NOW);
  int is_sum = strcmp(op->name, "sum") == 0;
  char *(*config)(void);
  void (*set_threads)(int);
  const char *why, *name, *version;
  if (!library) return "no libopenblas.so.0";
  blas.wide = strcmp(op->dtype, "f64") == 0;
  if (!blas.wide && strcmp(op->dtype, "f32")) return "it has f32 and f64 only";
  if (!is_sum && strcmp(op->name, "transpose")) return "it has no such reduction";
  if ((why = is_sum ? sums(op) : transposes(op)) != NULL) return why;
  *(void **)&blas.somatcopy = dlsym(library, names[0][0]), *(void **)&blas.domatcopy = dlsym(library, names[0][1]);
  *(void **)&blas.sgemv = dlsym(library, names[1][0]), *(void **)&blas.dgemv = dlsym(library, names[1][1]);
  *(void **)&config = dlsym(library, "openblas_get_config"), *(void **)&set_threads = dlsym(library, "openblas_set_num_threads");
  if (!blas.somatcopy || !blas.domatcopy || !blas.sgemv || !blas.dgemv || !config || !set_threads) return "it lacks functions";
  set_threads(1);
  if (copies_open(op->threads)) return "no threads";
  name = names[is_sum][blas.wide], version = config();
  snprintf(about, capacity, "%.*s %s%s on %d threads", (int)strcspn(version + 9, " ") + 9, version, name, is_sum ? " with ones" : "", op->threads);
  return NULL;
}

struct job { const struct operation *op; int first, calls; };

static void transpose_share(void *argument, int thread, int threads)
{
  const struct job *job = argument;
  long begin = blas.rows * thread / threads / 16 * 16, end = blas.rows * (thread + 1) / threads / 16 * 16;
  if (thread == threads - 1) end = blas.rows;
  if (begin == end) return;
  for (int c = 0; c < job->calls; ++c) {
    int set = (job->first + c) % job->op->sets;
    for (long b = 0; b < blas.batch; ++b) {
      size_t from = (size_t)(b * blas.in_step + begin * blas.in_pitch), to = (size_t)(b * blas.out_step + begin);
      int rows = (int)(end - begin), columns = (int)blas.columns, pitch = (int)blas.in_pitch, out_pitch = (int)blas.out_pitch;
      if (blas.wide)
        blas.domatcopy(ROW_MAJOR, TRANSPOSED, rows, columns, 1, (double *)job->op->in[set] + from, pitch, (double *)job->op->out[set] + to, out_pitch);
      else
        blas.somatcopy(ROW_MAJOR, TRANSPOSED, rows, columns, 1, (float *)job->op->in[set] + from, pitch, (float *)job->op->out[set] + to, out_pitch);
    }
  }
}

/* For sums of rows, each thread stores its results. For sums of columns, each thread sums its rows, and the caller adds
 * the threads' results. */
static void sum_share(void *argument, int thread, int threads)
{
  const struct job *job = argument;
  long begin = blas.rows * thread / threads, end = blas.rows * (thread + 1) / threads;
  size_t from = (size_t)(begin * blas.columns), to = (size_t)(blas.down ? thread * blas.columns : begin);
  void *in = job->op->in[job->first], *out = blas.down ? blas.partial : job->op->out[job->first];
  size_t width = blas.wide ? 8 : 4;
  int how = blas.down ? TRANSPOSED : PLAIN, rows = (int)(end - begin), columns = (int)blas.columns;
  if (blas.down) memset((char *)out + to * width, 0, (size_t)columns * width);
  if (begin == end) return;
  if (blas.wide)
    blas.dgemv(ROW_MAJOR, how, rows, columns, 1, (double *)in + from, columns, blas.ones, 1, 0, (double *)out + to, 1);
  else blas.sgemv(ROW_MAJOR, how, rows, columns, 1, (float *)in + from, columns, blas.ones, 1, 0, (float *)out + to, 1);
}

static void add_partial(const struct operation *op, void *out)
{
  for (long i = 0; i < blas.columns; ++i) {
    double sum = 0;
    for (int t = 0; t < op->threads; ++t)
      sum += blas.wide ? ((double *)blas.partial)[t * blas.columns + i] : ((float *)blas.partial)[t * blas.columns + i];
    if (blas.wide) ((double *)out)[i] = sum;
    else ((float *)out)[i] = (float)sum;
  }
}

static void run(const struct operation *op, int first, int calls)
{
  struct job job = { op, first, calls };
  if (strcmp(op->name, "transpose") == 0) {
    copies_share(transpose_share, &job);
    return;
  }
  for (int c = 0; c < calls; ++c) {
    job.first = (first + c) % op->sets;
    copies_share(sum_share, &job);
    if (blas.down) add_partial(op, op->out[job.first]);
  }
}
