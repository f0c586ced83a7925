/* backend.h - the interface between the harness and a runtime (opencl.c, cuda.cu, c.c): devices, buffers with guards
 * around them, and launches. A function returns 0, or sets backend_error() and returns the runtime's error code. */
#ifndef SETT_HARNESS_BACKEND_H
#define SETT_HARNESS_BACKEND_H
#include "fusion.h"

struct device {
  char name[256], runtime[256];
  int units;        /* number of compute units */
  int on_host;      /* true if the device's memory is the host's; the bench then also times copies by the host */
  size_t cache;     /* bytes of the last-level cache; 0 if unknown */
  size_t max_bytes; /* bytes of the largest possible buffer */
  size_t memory;    /* bytes of memory in total */
};

struct buffer {
  /* bytes of the data, of the guard before it and of the guard after it; backend_read and backend_write can access all
   * three */
  size_t bytes, before, after;
  unsigned char *host;         /* the data's address on the host if the device computes in place, else NULL */
  void *data;                  /* the argument that kernels get: cl_mem or a device pointer */
  void *whole;                 /* the allocation that contains the data and its guards */
  size_t whole_bytes;
};

extern char backend_message[512];

/* Opens the first device whose name or platform contains `wanted` (NULL or "": the default). Returns 3 if there is
 * none. */
int backend_open(const char *wanted, struct device *device);
void backend_close(void);

/* guarded: put guard bytes around the data; a run must not change them. On the host, unmapped pages follow the
 * guards. */
int backend_allocate(struct buffer *buffer, size_t bytes, int guarded);
/* Makes `part` a part of `whole`: `bytes` bytes from offset `at` on. `at` must be a multiple of PART_ALIGN
 * (gen/run/objects.py defines it). Free `part` before `whole`. */
int backend_part(const struct buffer *whole, size_t at, size_t bytes, struct buffer *part);
void backend_free(struct buffer *buffer);
/* Writes bytes, and waits. at: the offset from the start of the data; negative in the guard before it */
int backend_write(const struct buffer *buffer, long long at, size_t bytes, const void *from);
int backend_read(const struct buffer *buffer, long long at, size_t bytes, void *to);

int backend_create(const struct sett_fusion *fusion, void **self, char *log, size_t capacity);
int backend_run(const struct sett_fusion *fusion, void *self, const struct buffer *params, const struct buffer *results,
                const struct buffer *scratch);
int backend_finish(void);
/* On the host: fills the part of the scratch that a run reads and does not write. Call it after the parameters were
 * written. */
static inline int backend_prepare(const struct sett_fusion *fusion, const struct buffer *params, const struct buffer *scratch)
{
  const void *in[MOST_BUFFERS] = { NULL };
  if (!fusion->prepare) return 0;
  for (int i = 0; i < fusion->params; ++i) in[i] = params[i].data;
  return fusion->prepare(in, scratch->data);
}
void backend_release(const struct sett_fusion *fusion, void *self);

/* The methods by which the device copies or reads a whole buffer, numbered from 0. The first unused number has the name
 * NULL. */
const char *backend_copy_name(int number);
int backend_copy(int number, const struct buffer *from, const struct buffer *to);
const char *backend_read_name(int number);
int backend_sum(int number, const struct buffer *from);

#endif
