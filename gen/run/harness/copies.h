/* copies.h - what the host's own threads reach: copies and reads of a rotation of buffers, one pinned thread a core,
   the caller's among them. */
#ifndef SETT_HARNESS_COPIES_H
#define SETT_HARNESS_COPIES_H
#include <stddef.h>

int copies_open(int threads); /* 0, also where they are there; 1 when threads cannot be had */
void copies_close(void);
/* share(argument, thread, threads) on every thread, and waits for the last. */
void copies_share(void (*share)(void *argument, int thread, int threads), void *argument);

const char *copies_copy_name(int number); /* NULL after the last */
const char *copies_read_name(int number);

/* `calls` copies one after the other, sets first, first + 1, .. modulo sets; bytes: a multiple of 64, addresses too.
   Every thread does its own share of each without waiting for the others in between. */
void copies_copy(int number, unsigned char *const *from, unsigned char *const *to, size_t bytes, int sets, int first,
                 int calls);
/* Operations a second of all threads: multiplications and additions of f32 in registers, each rounded, as kernels do them. */
double copies_arithmetic(void);
void copies_read(int number, unsigned char *const *from, size_t bytes, int sets, int first, int calls);

#endif
