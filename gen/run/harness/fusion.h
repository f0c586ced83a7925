/* fusion.h - the interface of compiled fusions to the harness: a shared object has pointers to a `struct
   sett_fusion` for each in `sett_entries`, NULL after the last. gen/run writes the glue that fills them in. Host
   side only. */
#ifndef SETT_HARNESS_FUSION_H
#define SETT_HARNESS_FUSION_H
#include <stddef.h>

enum { SETT_FUSION_ABI = 11, MOST_BUFFERS = 8192 /* parameters, and results */, MOST_INDEX = 8 /* components of an index */ };

enum sett_kind {
  SETT_PRED, SETT_SINT, SETT_UINT, SETT_FLOAT, SETT_BFLOAT, SETT_F8E5M2, SETT_F8E4M3, SETT_F8E3M4, SETT_F8E4M3FN, SETT_F8E5M2FNUZ,
  SETT_F8E4M3FNUZ, SETT_F8E4M3B11FNUZ, SETT_F8E8M0FNU, SETT_F4E2M1FN
};

struct sett_buffer {
  size_t bytes;    /* bytes of the whole buffer, in its layout */
  size_t elements; /* in buffer order; `bits` bits each; narrower ones are packed from the low bits of a byte */
  int bits;
  enum sett_kind kind;
  int exact; /* only moved data: results are compared bit by bit */
  unsigned long long index; /* a parameter of indices: the size below which an index is in range; 0: no indices */
  unsigned long long apart[2 + 2 * MOST_INDEX]; /* indices of disjoint windows: the distance between an index's
                                                   components, their number (0: no such indices), and for each
                                                   component the number of windows that fit, and a window's size */
  unsigned long long sorted[2 + MOST_INDEX]; /* indices in rows that do not decrease: the distance between an index's
                                                components, their number (0: no such indices), and the components in
                                                order of comparison */
  int varies; /* a result that may differ between runs */
  unsigned long long definite; /* a parameter of symmetric matrices, usually positive definite: their number of rows;
                                  0: no such matrices */
  const char *file; /* the path of a file with the parameter's fixed content; NULL: it is drawn */
  int alignment;    /* required alignment of the buffer's pointer, in bytes; 0: the buffer has no pointer */
};

/* The array that a call reads: the number of the program's parameter; or of a result of the program, counted from -1
   downwards; or NO_ARRAY if it is not read; and its first byte there. */
enum { NO_ARRAY = 1 << 30 };
struct sett_from {
  int number;
  size_t offset;
};

/* A call of a program, compared separately on the arrays that it read. from: for each of its parameters; to: for
   each of its results the number of the program's result. */
struct sett_call {
  const char *name;
  int params, results;
  const struct sett_from *from;
  const int *to;
  const struct sett_buffer *result;
  int (*ref)(const void *const *params, void *const *results);
  int (*bound)(const void *const *params, double *const *bounds);
  const char *(*holds)(const void *const *params, const void *const *results, size_t *unknown);
  int done; /* the program's result that is 1 if the call has run; -1: it always runs */
};

struct sett_fusion {
  int abi;
  const char *name;
  int params, results;
  const struct sett_buffer *param, *result; /* at least one entry each */
  const int *alias; /* for each result: the parameter whose buffer it updates in place, or -1 */
  const int *may_alias; /* the same for results that may be a parameter's buffer or have their own; NULL: none */
  int (*ref)(const void *const *params, void *const *results); /* NULL: not checked */
  int (*bound)(const void *const *params, double *const *bounds); /* NULL: zero everywhere */
  /* In place of `ref` and `bound`: returns the fault of the kernel's results, or NULL if they are correct; adds to
     `unknown` the number of elements that it cannot judge. NULL: no such function. */
  const char *(*holds)(const void *const *params, const void *const *results, size_t *unknown);
  size_t scratch; /* bytes of memory for a run */
  int (*prepare)(const void *const *params, void *scratch); /* fills the part of the scratch that runs only read;
                                                               NULL: nothing to fill */

  /* A program of several calls is checked through another one, `traced`, whose results are those of all calls, and
     which has `call`. The program's own results are the first ones. */
  const struct sett_fusion *traced;
  int calls;
  const struct sett_call *call;
  /* In a program with loops or branches (else 0): a further last parameter, a u32, is the maximum number of
     iterations of each loop, `limited` by default; the result `cut` is 1 if the limit has ended a loop. */
  unsigned limited;
  int cut;

  /* The target's three functions; errors are the runtime's codes. create returns an object even if it fails, for its
     log. context, device, queue: cl_context, cl_device_id, cl_command_queue; or NULL, NULL, cudaStream_t; or NULL,
     NULL, const struct sett_threads *. */
  void *(*create)(void *context, void *device, int *error);
  void *(*program)(void *self); /* cl_program, may be NULL */
  int (*run)(void *self, void *queue, const void *params, const void *results, void *scratch); /* arrays of cl_mem or of pointers */
  void (*release)(void *self);
};

#endif
