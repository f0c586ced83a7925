/* data.h - elements of every dtype: seeded inputs with special values, and comparison with a reference. */
#ifndef SETT_HARNESS_DATA_H
#define SETT_HARNESS_DATA_H
#include "fusion.h"

/* Moderate: small values. Special: a quarter of them NaN, infinities, extremes; a quarter any finite bits. Wide: any finite bits.
   Normal is for times, not for checks: floats of a normal distribution, as weights and activations have; else moderate.
   Whole is moderate with floats of small whole numbers, whose sums are exact in any order. */
enum data_style { DATA_MODERATE, DATA_SPECIAL, DATA_WIDE, DATA_STYLES, DATA_NORMAL = DATA_STYLES, DATA_WHOLE };
extern const char *const data_style_name[DATA_STYLES];

void data_fill(const struct sett_buffer *type, void *to, enum data_style style, unsigned long long seed);

struct data_error {
  size_t compared;            /* elements */
  size_t unbounded;           /* of these, elements for which any value is allowed: */
  size_t unbounded_nan;       /* floats that are NaN in the reference */
  size_t unbounded_integers;  /* integers and preds; the others are floats that are numbers in the reference */
  size_t unbounded_moderate;  /* all of them in rounds of moderate inputs (harness.c counts these) */
  size_t failures;
  double max_abs, max_ulp; /* of the other elements, where both are finite */
  double max_share;        /* of the bound used up, where it is not 0 */
  size_t nearest;          /* to its bound: the element of max_share */
  double nearest_abs, nearest_bound;
  size_t worst;            /* of the failures */
  double worst_abs, worst_bound;
};

/* bound NULL: zero. Adds to *error. */
void data_compare(const struct sett_buffer *type, const void *got, const void *wanted, const double *bound,
                  struct data_error *error);
/* Of a float: an element, and the distance of values of its type there. */
double data_value(const struct sett_buffer *type, const void *from, size_t element);
double data_ulp(const struct sett_buffer *type, double value);
/* "1.5 (0x3fc00000)" */
void data_print(const struct sett_buffer *type, const void *from, size_t element, char *to, size_t capacity);

#endif
