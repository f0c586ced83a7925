#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("no-tree-slp-vectorize") /* gcc 12 vectorizes two neighbouring (double)(float)x to two x */
#endif
