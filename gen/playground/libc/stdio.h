#ifndef SETT_PLAYGROUND_STDIO_H
#define SETT_PLAYGROUND_STDIO_H
#include <stddef.h>
/* Implements only the conversions that the commands use: %d, %lld, %s, %%, %.Nf, and %.4g without an exponent. */
int snprintf(char *out, size_t capacity, const char *format, ...);
#endif
