/* backend.h - the interface of the harness to a runtime (opencl.c, cuda.cu, c.c): buffers with guards around them,
   and launches. Functions return 0, or the runtime's error code after setting backend_error(). */
#ifndef SETT_HARNESS_BACKEND_H
#define SETT_HARNESS_BACKEND_H
#include "fusion.h"

struct device {
  char name[256], runtime[256];
  int units;        /* compute units */
  int on_host;      /* its memory is the host's, so that host copies are rivals in the bench */
  size_t cache;     /* last-level cache in bytes, 0: unknown */
  size_t max_bytes; /* largest buffer */
  size_t memory;    /* total memory */
};

struct buffer {
  size_t bytes, before, after; /* the data; guard bytes on both sides, which can be read and written */
  unsigned char *host;         /* the data's host address if the device computes in place, else NULL */
  void *data;                  /* passed to kernels: cl_mem or a device pointer */
  void *whole;                 /* the allocation */
  size_t whole_bytes;
};

extern char backend_message[512];

/* Opens the device whose name or platform contains `wanted` (NULL or "": the default). Returns 3 if there is none. */
int backend_open(const char *wanted, struct device *device);
void backend_close(void);

/* guarded: bytes around the data must not change; on the host, unmapped pages follow them. */
int backend_allocate(struct buffer *buffer, size_t bytes, int guarded);
/* Makes a buffer of bytes at..at + bytes of another one, which must be freed later. at: a multiple of PART_ALIGN,
   which gen/run/objects.py defines. */
int backend_part(const struct buffer *whole, size_t at, size_t bytes, struct buffer *part);
void backend_free(struct buffer *buffer);
/* at: from -before to bytes + after. Blocking. */
int backend_write(const struct buffer *buffer, long long at, size_t bytes, const void *from);
int backend_read(const struct buffer *buffer, long long at, size_t bytes, void *to);

int backend_create(const struct sett_fusion *fusion, void **self, char *log, size_t capacity);
int backend_run(const struct sett_fusion *fusion, void *self, const struct buffer *params, const struct buffer *results,
                const struct buffer *scratch);
int backend_finish(void);
/* Fills the state in the scratch, for a target on the host, after the parameters were written. */
static inline int backend_prepare(const struct sett_fusion *fusion, const struct buffer *params, const struct buffer *scratch)
{
  const void *in[MOST_BUFFERS] = { NULL };
  if (!fusion->prepare) return 0;
  for (int i = 0; i < fusion->params; ++i) in[i] = params[i].data;
  return fusion->prepare(in, scratch->data);
}
void backend_release(const struct sett_fusion *fusion, void *self);

/* The device's own copies of whole buffers and its read of one; the name of a number is NULL after the last. */
const char *backend_copy_name(int number);
int backend_copy(int number, const struct buffer *from, const struct buffer *to);
const char *backend_read_name(int number);
int backend_sum(int number, const struct buffer *from);

#endif
