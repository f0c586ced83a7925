/* copies.h - copies and reads of a rotation of buffers by the host's own threads, one pinned thread per core, the
   caller included. */
#ifndef SETT_HARNESS_COPIES_H
#define SETT_HARNESS_COPIES_H
#include <stddef.h>

int copies_open(int threads); /* 0, also if they are open already; 1 if threads cannot be created */
void copies_close(void);
/* Calls share(argument, thread, threads) on every thread, and waits for all. */
void copies_share(void (*share)(void *argument, int thread, int threads), void *argument);

const char *copies_copy_name(int number); /* NULL after the last */
const char *copies_read_name(int number);

/* Makes `calls` copies one after the other, of sets first, first + 1, .. modulo sets. bytes: a multiple of 64, and
   so are the addresses. Every thread does its own share of each copy, without waiting for the others in between. */
void copies_copy(int number, unsigned char *const *from, unsigned char *const *to, size_t bytes, int sets, int first,
                 int calls);
/* Returns the operations per second of all threads: multiplications and additions of f32 in registers, each rounded,
   as in kernels. */
double copies_arithmetic(void);
void copies_read(int number, unsigned char *const *from, size_t bytes, int sets, int first, int calls);

#endif
