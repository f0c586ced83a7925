/* Not inlined: few different loops are called many times, and each is compiled only once. */
#ifdef __GNUC__
#define APART __attribute__((noinline))
#else
#define APART
#endif

static APART int take(void **at, size_t bytes) { return (*at = malloc(bytes)) == NULL; }

static APART void drop(void **at) {
  free(*at);
  *at = NULL;
}
