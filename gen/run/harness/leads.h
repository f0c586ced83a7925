/* leads.h - for a program whose caller passes leading dimensions: places arrays inside larger ones, with guards between
 * the rows. The arrays are in host memory, or in OpenCL buffers if CL/cl.h was included before. */
#ifndef SETT_HARNESS_LEADS_H
#define SETT_HARNESS_LEADS_H
#include <stdlib.h>
#include <string.h>

/* SETT_LEAD_GUARD: the value of each guard byte. As floats, guards are NaNs, so a kernel that reads one returns NaNs.
 * SETT_LEAD_END: number of guard bytes before and after the larger array. */
enum { SETT_LEAD_GUARD = 0xFF, SETT_LEAD_END = 64 };

struct sett_lead {
  int result, number;              /* result: true for a result, false for a parameter; number: its index */
  /* the number of rows, the elements of a row, the elements from one row to the next, and the bytes of an element */
  size_t rows, row, lead, element;
};

/* Returns the bytes of the larger array, without the guards before and after it. */
static size_t sett_lead_bytes(const struct sett_lead *of)
{
  return ((of->rows - 1) * of->lead + of->row) * of->element;
}

/* Allocates a larger array filled with guards, and copies a dense array into it (NULL: copies nothing). Returns NULL if
 * out of memory. */
static unsigned char *sett_lead_spread(const struct sett_lead *of, const void *dense)
{
  const size_t row = of->row * of->element, next = of->lead * of->element, bytes = sett_lead_bytes(of) + 2 * SETT_LEAD_END;
  unsigned char *whole = (unsigned char *)malloc(bytes);
  if (!whole) return NULL;
  memset(whole, SETT_LEAD_GUARD, bytes);
  for (size_t r = 0; dense && r < of->rows; ++r) memcpy(whole + SETT_LEAD_END + r * next, (const unsigned char *)dense + r * row, row);
  return whole;
}

/* Returns true if all of these bytes are still guards. */
static int sett_lead_kept(const unsigned char *from, size_t bytes)
{
  for (size_t k = 0; k < bytes; ++k)
    if (from[k] != SETT_LEAD_GUARD) return 0;
  return 1;
}

/* Copies the rows of a larger array to a dense one (NULL: copies nothing). Returns 1 if a guard has changed. */
static int sett_lead_gather(const struct sett_lead *of, const unsigned char *whole, void *dense)
{
  const size_t row = of->row * of->element, next = of->lead * of->element;
  int error = !sett_lead_kept(whole, SETT_LEAD_END) || !sett_lead_kept(whole + SETT_LEAD_END + sett_lead_bytes(of), SETT_LEAD_END);
  for (size_t r = 0; r < of->rows; ++r) {
    const unsigned char *at = whole + SETT_LEAD_END + r * next;
    if (r + 1 < of->rows && !sett_lead_kept(at + row, next - row)) error = 1;
    if (dense) memcpy((unsigned char *)dense + r * row, at, row);
  }
  return error;
}

#ifdef CL_VERSION_1_2
/* Reads an OpenCL buffer to the heap. Returns NULL on failure. */
static unsigned char *sett_lead_read(cl_command_queue queue, cl_mem from, size_t bytes)
{
  unsigned char *to = (unsigned char *)malloc(bytes);
  if (!to || !clEnqueueReadBuffer(queue, from, CL_TRUE, 0, bytes, to, 0, NULL, NULL)) return to;
  free(to);
  return NULL;
}

/* Replaces parameters and results by larger buffers. A larger buffer has no guards before its first row. */
static int sett_lead_begin(cl_command_queue queue, const struct sett_lead *lead, int count, cl_mem *in, cl_mem *out, size_t *leads)
{
  cl_context context = NULL;
  cl_int error = clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
  for (int i = 0; i < count; ++i) {
    const struct sett_lead *of = lead + i;
    cl_mem *at = of->result ? out + of->number : in + of->number;
    unsigned char *dense = of->result ? NULL : sett_lead_read(queue, *at, of->rows * of->row * of->element);
    unsigned char *whole = sett_lead_spread(of, dense);
    leads[i] = of->lead;
    *at = NULL;
    if (!whole || (!of->result && !dense)) error = CL_OUT_OF_HOST_MEMORY;
    if (!error) *at = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sett_lead_bytes(of) + SETT_LEAD_END, whole + SETT_LEAD_END, &error);
    free(dense);
    free(whole);
  }
  return error;
}

/* Copies the results back, and frees the larger buffers. Returns nonzero if the run failed, or if a guard has
   changed. */
static int sett_lead_end(cl_command_queue queue, const struct sett_lead *lead, int count, cl_mem *in, cl_mem *out, const void *results, int error)
{
  for (int i = 0; i < count; ++i) {
    const struct sett_lead *of = lead + i;
    const size_t dense = of->rows * of->row * of->element, bytes = sett_lead_bytes(of) + SETT_LEAD_END;
    cl_mem from = of->result ? out[of->number] : in[of->number];
    unsigned char *read = from ? sett_lead_read(queue, from, bytes) : NULL, *whole = sett_lead_spread(of, NULL), *back = (unsigned char *)malloc(dense);
    if (!error && (!read || !whole || !back)) error = CL_OUT_OF_HOST_MEMORY;
    if (!error) {
      memcpy(whole + SETT_LEAD_END, read, bytes);
      if (sett_lead_gather(of, whole, back)) error = CL_INVALID_VALUE;
      else if (of->result) error = clEnqueueWriteBuffer(queue, ((const cl_mem *)results)[of->number], CL_TRUE, 0, dense, back, 0, NULL, NULL);
    }
    free(read);
    free(whole);
    free(back);
    if (from) clReleaseMemObject(from);
  }
  return error;
}
#else
/* Replaces parameters and results by larger arrays. Returns 1 if out of memory. */
static int sett_lead_begin(const struct sett_lead *lead, int count, const void **in, void **out, size_t *leads)
{
  int error = 0;
  for (int i = 0; i < count; ++i) {
    const struct sett_lead *of = lead + i;
    unsigned char *whole = sett_lead_spread(of, of->result ? NULL : in[of->number]);
    leads[i] = of->lead;
    if (!whole) error = 1;
    if (of->result) out[of->number] = whole ? whole + SETT_LEAD_END : NULL;
    else in[of->number] = whole ? whole + SETT_LEAD_END : NULL;
  }
  return error;
}

/* Copies the results back, and frees the larger arrays. Returns nonzero if the run failed, or if a guard has
   changed. */
static int sett_lead_end(const struct sett_lead *lead, int count, const void **in, void **out, const void *results, int error)
{
  for (int i = 0; i < count; ++i) {
    const struct sett_lead *of = lead + i;
    unsigned char *at = (unsigned char *)(of->result ? out[of->number] : in[of->number]);
    if (!at) continue;
    if (!error) error = sett_lead_gather(of, at - SETT_LEAD_END, of->result ? ((void *const *)results)[of->number] : NULL);
    free(at - SETT_LEAD_END);
  }
  return error;
}
#endif

#endif
