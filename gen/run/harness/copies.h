/* copies.h - copies and reads of buffers in rotation, by the host's own threads. Each core has one pinned thread; one
 * of these threads is the caller. */
#ifndef SETT_HARNESS_COPIES_H
#define SETT_HARNESS_COPIES_H
#include <stddef.h>

/* Starts the threads. Returns 0, also if they already run, or 1 if threads cannot be created. */
int copies_open(int threads);
void copies_close(void);
/* Calls share(argument, thread, threads) on every thread, and waits until all have returned. */
void copies_share(void (*share)(void *argument, int thread, int threads), void *argument);

/* The methods of copies and of reads, each numbered from 0. The first unused number has the name NULL. */
const char *copies_copy_name(int number);
const char *copies_read_name(int number);

/* Makes `calls` copies one after another, of the sets first, first + 1, .., modulo `sets`. `bytes` and all addresses
 * must be multiples of 64. Each thread copies its own share of each set and does not wait for the other threads between
 * copies. */
void copies_copy(int number, unsigned char *const *from, unsigned char *const *to, size_t bytes, int sets, int first,
                 int calls);
/* Returns the operations per second of all threads together: f32 multiplications and additions in registers, rounded
 * separately, as in kernels. */
double copies_arithmetic(void);
void copies_read(int number, unsigned char *const *from, size_t bytes, int sets, int first, int calls);

#endif
