/* data.h - elements of every dtype: seeded inputs with special values, and comparison with a reference. */
#ifndef SETT_HARNESS_DATA_H
#define SETT_HARNESS_DATA_H
#include "fusion.h"

/* Moderate: small values. Special: a quarter NaN, infinities and extremes, a quarter any finite bits. Wide: any
   finite bits. Normal is for timing, not for checks: normally distributed floats, like weights and activations;
   other types are moderate. Whole: moderate, but floats are small whole numbers, whose sums are exact in any order. */
enum data_style { DATA_MODERATE, DATA_SPECIAL, DATA_WIDE, DATA_STYLES, DATA_NORMAL = DATA_STYLES, DATA_WHOLE };
extern const char *const data_style_name[DATA_STYLES];

void data_fill(const struct sett_buffer *type, void *to, enum data_style style, unsigned long long seed);

struct data_error {
  size_t compared;            /* elements */
  size_t unbounded;           /* compared elements for which any value is allowed, of which: */
  size_t unbounded_nan;       /* floats that are NaN in the reference */
  size_t unbounded_integers;  /* integers and preds; the rest are floats that are numbers in the reference */
  size_t unbounded_moderate;  /* all of these in rounds of moderate inputs (counted by harness.c) */
  size_t failures;
  double max_abs, max_ulp; /* errors of the other elements, if both values are finite */
  double max_share;        /* the largest error relative to the bound, if the bound is not 0 */
  size_t nearest;          /* the element of max_share */
  double nearest_abs, nearest_bound;
  size_t worst;            /* the element of the worst failure */
  double worst_abs, worst_bound;
};

/* Compares, with bound NULL for zero, and adds to *error. */
void data_compare(const struct sett_buffer *type, const void *got, const void *wanted, const double *bound,
                  struct data_error *error);
/* Returns a float element, and the distance between values of its type there. */
double data_value(const struct sett_buffer *type, const void *from, size_t element);
double data_ulp(const struct sett_buffer *type, double value);
/* "1.5 (0x3fc00000)" */
void data_print(const struct sett_buffer *type, const void *from, size_t element, char *to, size_t capacity);

#endif
