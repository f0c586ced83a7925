/* leads.h - puts arrays inside of larger ones, with guards between their rows: for a program whose caller gives leading dimensions. Host memory;
   leads_opencl.h does the same in buffers of OpenCL. */
#ifndef SETT_HARNESS_LEADS_H
#define SETT_HARNESS_LEADS_H
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SETT_LEAD_GUARD = 0xFF /* a NaN of floats: a kernel that reads it shows */, SETT_LEAD_END = 64 /* guard bytes before and after an array */ };

struct sett_lead {
  int result, number;          /* a result or a parameter, and which */
  size_t rows, row, lead, element; /* rows, elements of a row and from row to row, bytes of an element */
};

static size_t sett_lead_bytes(const struct sett_lead *of)
{
  return 2 * SETT_LEAD_END + ((of->rows - 1) * of->lead + of->row) * of->element;
}

/* The larger arrays, filled with guards, and the parameters in them. in, out: the pointers that the program gets. 1: out of memory. */
static int sett_lead_begin(const struct sett_lead *lead, int count, const void **in, void **out, size_t *leads)
{
  int error = 0;
  for (int i = 0; i < count; ++i) {
    const struct sett_lead *of = lead + i;
    const size_t row = of->row * of->element, next = of->lead * of->element, bytes = sett_lead_bytes(of);
    unsigned char *whole = (unsigned char *)malloc(bytes);
    leads[i] = of->lead;
    if (whole) memset(whole, SETT_LEAD_GUARD, bytes);
    if (whole && !of->result)
      for (size_t r = 0; r < of->rows; ++r) memcpy(whole + SETT_LEAD_END + r * next, (const unsigned char *)in[of->number] + r * row, row);
    if (!whole) error = 1;
    if (of->result) out[of->number] = whole ? whole + SETT_LEAD_END : NULL;
    else in[of->number] = whole ? whole + SETT_LEAD_END : NULL;
  }
  return error;
}

/* Whether bytes are guards still. */
static int sett_lead_kept(const unsigned char *from, size_t bytes)
{
  for (size_t k = 0; k < bytes; ++k)
    if (from[k] != SETT_LEAD_GUARD) return 0;
  return 1;
}

/* Copies the results back, and frees the larger arrays. 1: the run failed, or a guard has changed. */
static int sett_lead_end(const struct sett_lead *lead, int count, const void **in, void **out, void *const *results, int error)
{
  for (int i = 0; i < count; ++i) {
    const struct sett_lead *of = lead + i;
    const size_t row = of->row * of->element, next = of->lead * of->element;
    unsigned char *at = (unsigned char *)(of->result ? out[of->number] : in[of->number]);
    if (!at) continue;
    if (!sett_lead_kept(at - SETT_LEAD_END, SETT_LEAD_END) || !sett_lead_kept(at + (of->rows - 1) * next + row, SETT_LEAD_END)) error = 1;
    for (size_t r = 0; r < of->rows; ++r) {
      if (r + 1 < of->rows && !sett_lead_kept(at + r * next + row, next - row)) error = 1;
      if (of->result && !error) memcpy((unsigned char *)results[of->number] + r * row, at + r * next, row);
    }
    free(at - SETT_LEAD_END);
  }
  return error;
}

#endif
