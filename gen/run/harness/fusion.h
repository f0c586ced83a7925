/* fusion.h - what compiled fusions tell the harness: a shared object has pointers to a `struct sett_fusion` of each in `sett_entries`, NULL after
   the last. gen/run writes the glue that fills them in. Host side only. */
#ifndef SETT_HARNESS_FUSION_H
#define SETT_HARNESS_FUSION_H
#include <stddef.h>

enum { SETT_FUSION_ABI = 11, MOST_BUFFERS = 8192 /* parameters, and results */, MOST_INDEX = 8 /* components of an index */ };

enum sett_kind {
  SETT_PRED, SETT_SINT, SETT_UINT, SETT_FLOAT, SETT_BFLOAT, SETT_F8E5M2, SETT_F8E4M3, SETT_F8E3M4, SETT_F8E4M3FN, SETT_F8E5M2FNUZ,
  SETT_F8E4M3FNUZ, SETT_F8E4M3B11FNUZ, SETT_F8E8M0FNU, SETT_F4E2M1FN
};

struct sett_buffer {
  size_t bytes;    /* of the whole buffer, as the layout stores it */
  size_t elements; /* in buffer order; bits each, packed from the low bits of a byte when narrower than one */
  int bits;
  enum sett_kind kind;
  int exact; /* only moved data: results are compared bit by bit */
  unsigned long long index; /* a parameter of indices: those below this are in range; 0: none */
  unsigned long long apart[2 + 2 * MOST_INDEX]; /* indices of windows that do not meet: between an index's components, how many there are (0: none
                                                   of this), and for each of them how many windows there is room for, and a window's size */
  unsigned long long sorted[2 + MOST_INDEX]; /* indices whose rows do not decrease: between an index's components, how many there are (0: none of this),
                                                and their numbers, the first to be compared first */
  int varies; /* a result that may differ between runs */
  unsigned long long definite; /* a parameter of symmetric matrices of this number of rows, mostly positive definite; 0: none of this */
  const char *file; /* the path of what a parameter always holds; NULL: it is drawn */
  int alignment;    /* of the buffer's pointer, in bytes, at least; 0: no pointer leads to the buffer */
};

/* Where an array is that a call reads: the number of the program's parameter, or of a result of the program, counted from -1 downwards, or
   NO_ARRAY where it is not read, and its first byte there. */
enum { NO_ARRAY = 1 << 30 };
struct sett_from {
  int number;
  size_t offset;
};

/* A call of a program, compared by itself on the arrays that it had. from: for each parameter of its own; to: for each result of its own the
   number of the program's result. */
struct sett_call {
  const char *name;
  int params, results;
  const struct sett_from *from;
  const int *to;
  const struct sett_buffer *result;
  int (*ref)(const void *const *params, void *const *results);
  int (*bound)(const void *const *params, double *const *bounds);
  const char *(*holds)(const void *const *params, const void *const *results, size_t *unknown);
  int done; /* the program's result that is 1 once the call has been done; -1: it is done always */
};

struct sett_fusion {
  int abi;
  const char *name;
  int params, results;
  const struct sett_buffer *param, *result; /* at least one entry each */
  const int *alias; /* of each result: the parameter whose buffer it is, updated in place, or -1 */
  const int *may_alias; /* the same of results that may be a parameter's buffer or one of their own; NULL: there are none */
  int (*ref)(const void *const *params, void *const *results); /* NULL: not to be checked */
  int (*bound)(const void *const *params, double *const *bounds); /* NULL: zero everywhere */
  /* In place of both, what is wrong with the kernel's results, or NULL; adds the number of elements of which nothing is known. NULL: there is none. */
  const char *(*holds)(const void *const *params, const void *const *results, size_t *unknown);
  size_t scratch; /* bytes of memory that a run is given */
  int (*prepare)(const void *const *params, void *scratch); /* fills what runs only read of it; NULL: nothing is */

  /* A program of several calls is checked through another one, whose results are those of all of its calls: `traced`, which has `call`. The
     program's own results are the first of these. */
  const struct sett_fusion *traced;
  int calls;
  const struct sett_call *call;
  /* Of a program with loops or branches (else 0): the last parameter, one more than the program has, is a u32 after how many iterations each
     loop ends at the latest, `limited` if nothing else is wanted; the result `cut` is 1 where that has cut one short. */
  unsigned limited;
  int cut;

  /* The target's three functions; errors are the runtime's codes. create gives back an object even when it fails, for
     its log; context, device, queue: cl_context, cl_device_id, cl_command_queue, or NULL, NULL, cudaStream_t,
     or NULL, NULL, const struct sett_threads *. */
  void *(*create)(void *context, void *device, int *error);
  void *(*program)(void *self); /* cl_program, may be NULL */
  int (*run)(void *self, void *queue, const void *params, const void *results, void *scratch); /* arrays of cl_mem or of pointers */
  void (*release)(void *self);
};

#endif
