/* The common part of the fuzzers: random numbers, the report of a failure, and a main function that tries random inputs
 * for some seconds. A fuzzer defines LLVMFuzzerTestOneInput; -DSETT_LIBFUZZER leaves main out. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t state; /* the state of all random choices */
/* number of inputs to which the property applied; if they are too few, the fuzzer fails */
static unsigned long good;

static inline uint32_t next(uint32_t below) {
  state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)((state >> 33) % below);
}

static inline void fail(const char *what, const void *data, size_t size) {
  fprintf(stderr, "%s: %.*s\n", what, (int)size, (const char *)data);
  abort();
}

/* arguments: [SECONDS [SEED]] */
static inline int fuzz(int argc, char **argv, const char *name, size_t (*draw)(char *text, size_t capacity)) {
  double seconds = argc > 1 ? atof(argv[1]) : 1.0;
  clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC);
  unsigned long runs = 0;
  state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  while (clock() < end) {
    static char text[1 << 13];
    size_t length = draw(text, sizeof text);
    LLVMFuzzerTestOneInput((const uint8_t *)text, length);
    ++runs;
  }
  printf("%s %s %lu inputs, %lu of them good\n", good > runs / 50 ? "PASS" : "FAIL", name, runs, good);
  return good <= runs / 50;
}
