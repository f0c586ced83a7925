/* fusion.h - the interface between compiled fusions and the harness. A shared object has an array `sett_entries` of
 * pointers to `struct sett_fusion`, with NULL at its end. gen/run generates the C file that defines it. For the host
 * only. */
#ifndef SETT_HARNESS_FUSION_H
#define SETT_HARNESS_FUSION_H
#include <stddef.h>

/* MOST_BUFFERS: maximum number of parameters and results together. MOST_INDEX: maximum number of components of an
 * index. */
enum { SETT_FUSION_ABI = 12, MOST_BUFFERS = 8192, MOST_INDEX = 8 };

enum sett_kind {
  SETT_PRED, SETT_SINT, SETT_UINT, SETT_FLOAT, SETT_BFLOAT, SETT_F8E5M2, SETT_F8E4M3, SETT_F8E3M4, SETT_F8E4M3FN, SETT_F8E5M2FNUZ,
  SETT_F8E4M3FNUZ, SETT_F8E4M3B11FNUZ, SETT_F8E8M0FNU, SETT_F4E2M1FN
};

struct sett_buffer {
  size_t bytes;    /* bytes of the whole buffer, in its layout, with padding */
  /* elements of `bits` bits in memory order; elements below 8 bits are packed, the first in the low bits of a byte */
  size_t elements;
  int bits;
  enum sett_kind kind;
  int exact; /* true for a result that only moves data; it is compared bit by bit */
  unsigned long long index; /* for a parameter of indices: valid ones are below this; 0: it has no indices */
  /* For indices whose windows must not overlap. [0]: the distance in memory between the components of an index.
   * [1]: the number of components; 0: no such indices. Then, for each component, the number of windows that fit and the
   * size of a window. */
  unsigned long long apart[2 + 2 * MOST_INDEX];
  /* For indices that must not decrease from row to row. [0]: the distance in memory between the components of an index.
   * [1]: the number of components; 0: no such indices. Then the components, most significant first. */
  unsigned long long sorted[2 + MOST_INDEX];
  int varies; /* true for a result that may differ between runs */
  /* for a parameter of symmetric matrices, usually positive definite: the number of rows of a matrix; 0 for other
   * parameters */
  unsigned long long definite;
  const char *file; /* path of a file with the parameter's fixed content; NULL: the content is drawn at random */
  int alignment;    /* alignment that the buffer's pointer must have, in bytes; 0: the buffer has no pointer */
};

/* An array that a call reads. number: NO_ARRAY if the call does not read it; else k for parameter k of the program, and
 * -1 - k for result k. offset: the position of the array's first byte in that parameter or result. */
enum { NO_ARRAY = 1 << 30 };
struct sett_from {
  int number;
  size_t offset;
};

/* One of the calls of a program. A check compares the results of each call with a reference, which reads the same
 * arrays as the call.
 * from: the array of each of the call's parameters.
 * to: for each of the call's results, the index of the program's result that holds it. */
struct sett_call {
  const char *name;
  int params, results;
  const struct sett_from *from;
  const int *to;
  const struct sett_buffer *result;
  int (*ref)(const void *const *params, void *const *results);
  int (*bound)(const void *const *params, double *const *bounds);
  const char *(*holds)(const void *const *params, const void *const *results, size_t *unknown);
  int done; /* the index of the program's result that is 1 if the call has run; -1: the call always runs */
};

struct sett_fusion {
  int abi;
  const char *name;
  int params, results;
  /* the buffers of parameters and results; each array has at least one entry, even if there is no such buffer */
  const struct sett_buffer *param, *result;
  const int *alias; /* for each result: the parameter that it updates in place, or -1 */
  const int *may_alias; /* for each result: a parameter whose buffer it may share, or -1; NULL if no result may */
  int (*ref)(const void *const *params, void *const *results); /* the reference; NULL: there is none */
  /* fills one bound for each element of the results; NULL: all bounds are zero */
  int (*bound)(const void *const *params, double *const *bounds);
  /* Replaces `ref` and `bound` if it is not NULL. Returns NULL if the kernel's results are correct, else the fault;
   * adds to `unknown` the number of elements that it cannot judge. */
  const char *(*holds)(const void *const *params, const void *const *results, size_t *unknown);
  size_t scratch; /* bytes of scratch that a run needs */
  /* fills the part of the scratch that a run reads and does not write; NULL if there is no such part */
  int (*prepare)(const void *const *params, void *scratch);

  /* A program of several calls is checked through a second program, `traced`, which returns the results of all calls
   * (the program's own results first). Its calls are in `call`. */
  const struct sett_fusion *traced;
  int calls;
  const struct sett_call *call;
  /* A traced program with a limit has an additional last parameter, a u32: the maximum number of iterations of each
   * loop. `limited` is its default; 0: there is no such parameter. `cut` is the number of the result that becomes 1 if
   * the limit has ended a loop. */
  unsigned limited;
  int cut;
  /* The numbers of the results of a traced program that a call reads and whose NaNs it distinguishes by their bits. */
  const int *nan_bits;
  int nan_bits_count;

  /* The functions of the target; they return the runtime's error codes. create returns an object even if it fails, so
   * that its build log can be read. Arguments context, device, queue: in OpenCL cl_context, cl_device_id,
   * cl_command_queue; in CUDA NULL, NULL, cudaStream_t; in C NULL, NULL, const struct sett_threads *. */
  void *(*create)(void *context, void *device, int *error);
  void *(*program)(void *self); /* returns the cl_program, or NULL */
  /* params, results: arrays of cl_mem in OpenCL, else of pointers */
  int (*run)(void *self, void *queue, const void *params, const void *results, void *scratch);
  void (*release)(void *self);
};

#endif
