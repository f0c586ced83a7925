#ifndef SETT_PLAYGROUND_STDLIB_H
#define SETT_PLAYGROUND_STDLIB_H
#include <stddef.h>
void *malloc(size_t bytes);
void free(void *memory);
#endif
