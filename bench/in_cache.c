/* Print the throughput of a generated C kernel whose data are in cache. One core repeatedly runs the part of the kernel
 * that the first thread would get, so its inputs stay in the core's L2. README.md in this folder has the commands.
 *
 *   cc -DKERNEL=row_sum_128_f32 -IDIR in_cache.c DIR/row_sum_128_f32.c -lm */
#define TEXT(x) #x
#define SPELLED(x) TEXT(x)
#include SPELLED(KERNEL.h)
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define JOIN(a, b) a##b
#define OF(a, b) JOIN(a, b)

static void *buffer(size_t bytes)
{
  unsigned char *found = aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (!found) exit(1);
  /* bytes that are finite numbers in every type */
  for (size_t i = 0; i < bytes; ++i) found[i] = (unsigned char)(i * 37 % 61);
  return found;
}

static long long nanoseconds(void)
{
  struct timespec t;
  timespec_get(&t, TIME_UTC);
  return 1000000000LL * t.tv_sec + t.tv_nsec;
}

static size_t parts = 1;

static void first_part(void *context, size_t count, void (*item)(const void *work, size_t n), const void *work)
{
  (void)context;
  parts = count;
  item(work, 0);
}

int main(void)
{
  struct sett_share share = {1 << 20, first_part, NULL};
  const void *params[OF(KERNEL, _PARAMS)];
  void *results[OF(KERNEL, _RESULTS)];
  void *scratch = buffer(OF(KERNEL, _c_scratch_bytes)() + 64);
  long long least = 1LL << 62;
  double bytes = 0;
  for (int i = 0; i < OF(KERNEL, _PARAMS); bytes += (double)OF(KERNEL, _param_bytes)[i++])
    params[i] = buffer(OF(KERNEL, _param_bytes)[i]);
  for (int i = 0; i < OF(KERNEL, _RESULTS); ++i) results[i] = buffer(OF(KERNEL, _result_bytes)[i]);
  if (OF(KERNEL, _prepare)(NULL, scratch)) return 1;
  for (int call = 0; call < 200; ++call) {
    long long start = nanoseconds();
    if (OF(KERNEL, _c_run_on)(params, results, scratch, &share)) return 1;
    long long time = nanoseconds() - start;
    if (time < least) least = time;
  }
  bytes /= (double)parts;
  printf("%s %.0f KiB %.1f GB/s\n", SPELLED(KERNEL), bytes / 1024, bytes / (double)least);
  return 0;
}
