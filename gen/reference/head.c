#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
/* gcc 12 vectorizes two conversions (double)(float)x without rounding */
#pragma GCC optimize("no-tree-slp-vectorize")
#endif
