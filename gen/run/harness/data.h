/* data.h - fills buffers of every element type with seeded inputs, and compares results with a reference. */
#ifndef SETT_HARNESS_DATA_H
#define SETT_HARNESS_DATA_H
#include "fusion.h"

/* Moderate: small values. Special: one quarter NaNs, infinities and extreme values, one quarter arbitrary finite bits,
 * the rest moderate. Wide: arbitrary finite bits. Normal (for the bench, not for checks): normally distributed floats,
 * like weights and activations; other types are moderate. Whole: like moderate, but floats are small whole numbers,
 * whose sums are exact in any order. */
enum data_style { DATA_MODERATE, DATA_SPECIAL, DATA_WIDE, DATA_STYLES, DATA_NORMAL = DATA_STYLES, DATA_WHOLE };
extern const char *const data_style_name[DATA_STYLES];

void data_fill(const struct sett_buffer *type, void *to, enum data_style style, unsigned long long seed);

struct data_error {
  size_t compared;            /* number of elements compared */
  size_t unbounded;           /* compared elements for which the bound allows every value */
  size_t unbounded_nan;       /* unbounded elements whose reference value is NaN */
  size_t unbounded_integers;  /* unbounded elements of integer types or pred */
  size_t unbounded_moderate;  /* those of `unbounded` in rounds with moderate inputs; harness.c counts them */
  size_t failures;
  double max_abs, max_ulp; /* largest errors of the elements with a bound, if value and reference are finite */
  double max_share;        /* largest error divided by its bound, where the bound is not 0 */
  size_t nearest;          /* index of the element that has max_share */
  double nearest_abs, nearest_bound;
  size_t worst;            /* index of the element with the worst failure */
  double worst_abs, worst_bound;
};

/* Compares a result with the reference and adds the figures to *error. bound: one for each element; NULL: zero. */
void data_compare(const struct sett_buffer *type, const void *got, const void *wanted, const double *bound,
                  struct data_error *error);
/* data_value: return the value of a float element. data_ulp: return the distance of adjacent values near `value`. */
double data_value(const struct sett_buffer *type, const void *from, size_t element);
double data_ulp(const struct sett_buffer *type, double value);
/* Writes an element's value and bits, such as "1.5 (0x3fc00000)". */
void data_print(const struct sett_buffer *type, const void *from, size_t element, char *to, size_t capacity);

#endif
