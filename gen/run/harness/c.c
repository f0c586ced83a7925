/* c.c - backend.h for the target `c`: kernels run in place on the host's own threads (copies.c). */
#define _GNU_SOURCE
#include "backend.h"
#include "copies.h"
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

char backend_message[512];
static int units; /* number of threads that copies_open has started */

static int failed(const char *what, int error)
{
  snprintf(backend_message, sizeof backend_message, "%s: %s", what, strerror(error));
  return error ? error : 1;
}

/* ---- device ---- */

static void processor_name(char *name, size_t capacity)
{
  char line[256];
  FILE *file = fopen("/proc/cpuinfo", "r");
  snprintf(name, capacity, "processor");
  while (file && fgets(line, sizeof line, file)) {
    const char *value = strchr(line, ':');
    if (strncmp(line, "model name", 10) || !value) continue;
    snprintf(name, capacity, "%.*s", (int)strcspn(value + 2, "\n"), value + 2);
    break;
  }
  if (file) fclose(file);
}

static size_t number_of(int what)
{
  long value = sysconf(what);
  return value > 0 ? (size_t)value : 0;
}

/* Returns the bytes of the largest cache of the first core; 0 if unknown. (glibc's figure is the sum of all caches of a
 * package.) */
static size_t last_level(void)
{
  size_t most = 0;
  for (int index = 0; index < 8; ++index) {
    char path[80], unit = 0;
    size_t size = 0;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", index);
    FILE *file = fopen(path, "r");
    if (file && fscanf(file, "%zu%c", &size, &unit) > 0) size *= unit == 'M' ? 1 << 20 : unit == 'K' ? 1 << 10 : 1;
    if (file) fclose(file);
    if (size > most) most = size;
  }
  return most;
}

int backend_open(const char *wanted, struct device *device)
{
  cpu_set_t allowed;
  memset(device, 0, sizeof *device);
  processor_name(device->name, sizeof device->name);
  if (wanted && *wanted && !strstr(device->name, wanted)) {
    snprintf(backend_message, sizeof backend_message, "no processor like %s, but %.255s", wanted, device->name);
    return 3;
  }
  device->units = sched_getaffinity(0, sizeof allowed, &allowed) ? 1 : CPU_COUNT(&allowed);
#ifdef __clang__
  snprintf(device->runtime, sizeof device->runtime, "threads, %s", __VERSION__);
#else
  snprintf(device->runtime, sizeof device->runtime, "threads, gcc %s", __VERSION__);
#endif
  device->on_host = 1;
  device->cache = last_level();
  if (!device->cache) device->cache = number_of(_SC_LEVEL3_CACHE_SIZE);
  if (!device->cache) device->cache = number_of(_SC_LEVEL2_CACHE_SIZE);
  device->memory = device->max_bytes = number_of(_SC_PHYS_PAGES) * number_of(_SC_PAGESIZE);
  units = device->units;
  if (copies_open(units)) return failed("threads", EAGAIN);
  return 0;
}

void backend_close(void) { copies_close(); }

/* ---- buffers: private mappings; guarded data ends just before an unmapped page, as closely as its alignment allows
 * ---- */

enum { GUARD = 4096, ALIGN = 64 /* the alignment that a fusion's header requires */ };

int backend_allocate(struct buffer *buffer, size_t bytes, int guarded)
{
  size_t page = number_of(_SC_PAGESIZE), rounded = (bytes + ALIGN - 1) / ALIGN * ALIGN;
  size_t inner = ((guarded ? GUARD : 0) + (rounded ? rounded : ALIGN) + page - 1) / page * page;
  unsigned char *whole;
  memset(buffer, 0, sizeof *buffer);
  whole = mmap(NULL, inner + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (whole == MAP_FAILED) return failed("mmap", errno);
  buffer->bytes = bytes;
  buffer->whole = whole;
  buffer->whole_bytes = inner + 2 * page;
  if (mprotect(whole + page, inner, PROT_READ | PROT_WRITE)) return failed("mprotect", errno);
  buffer->host = guarded ? whole + page + inner - rounded : whole + page;
  if (guarded) buffer->before = (size_t)(buffer->host - whole) - page, buffer->after = rounded - bytes;
  buffer->data = buffer->host;
  return 0;
}

int backend_part(const struct buffer *whole, size_t at, size_t bytes, struct buffer *part)
{
  memset(part, 0, sizeof *part);
  part->bytes = bytes;
  part->data = part->host = whole->host + at;
  return 0;
}

void backend_free(struct buffer *buffer)
{
  if (buffer->whole) munmap(buffer->whole, buffer->whole_bytes);
  memset(buffer, 0, sizeof *buffer);
}

int backend_write(const struct buffer *buffer, long long at, size_t bytes, const void *from)
{
  memcpy(buffer->host + at, from, bytes);
  return 0;
}

int backend_read(const struct buffer *buffer, long long at, size_t bytes, void *to)
{
  memcpy(to, buffer->host + at, bytes);
  return 0;
}

/* ---- launches ---- */

/* the same declaration as in a fusion's header */
struct sett_share {
  int threads;
  void (*run)(void *context, size_t count, void (*item)(const void *work, size_t n), const void *work);
  void *context;
};

struct items {
  void (*item)(const void *work, size_t n);
  const void *work;
  size_t count;
  atomic_size_t next;
};

/* Distributes items dynamically: a thread that has finished an item takes the next one. */
static void share_of_items(void *argument, int thread, int threads)
{
  struct items *s = argument;
  (void)thread, (void)threads;
  for (size_t n; (n = atomic_fetch_add(&s->next, 1)) < s->count;) s->item(s->work, n);
}

static void share_items(void *context, size_t count, void (*item)(const void *work, size_t n), const void *work)
{
  struct items s = { item, work, count, 0 };
  (void)context;
  copies_share(share_of_items, &s);
}

int backend_create(const struct sett_fusion *fusion, void **self, char *log, size_t capacity)
{
  int error = 0;
  if (capacity) log[0] = 0;
  *self = fusion->create(NULL, NULL, &error);
  return error || !*self ? failed("create", ENOMEM) : 0;
}

int backend_run(const struct sett_fusion *fusion, void *self, const struct buffer *params, const struct buffer *results,
                const struct buffer *scratch)
{
  struct sett_share share = { units, share_items, NULL };
  const void *in[MOST_BUFFERS];
  void *out[MOST_BUFFERS];
  if (fusion->params > MOST_BUFFERS || fusion->results > MOST_BUFFERS) return failed("too many buffers", EINVAL);
  for (int i = 0; i < fusion->params; ++i) in[i] = params[i].data;
  for (int i = 0; i < fusion->results; ++i) out[i] = results[i].data;
  return fusion->run(self, &share, in, out, scratch->data) ? failed("run", EINVAL) : 0;
}

int backend_finish(void) { return 0; }

void backend_release(const struct sett_fusion *fusion, void *self)
{
  if (self) fusion->release(self);
}

/* ---- copies: only those of copies.c, because the device is the host ---- */

const char *backend_copy_name(int number)
{
  (void)number;
  return NULL;
}

const char *backend_read_name(int number)
{
  (void)number;
  return NULL;
}

int backend_copy(int number, const struct buffer *from, const struct buffer *to)
{
  (void)number, (void)from, (void)to;
  return failed("copy", ENOSYS);
}

int backend_sum(int number, const struct buffer *from)
{
  (void)number, (void)from;
  return failed("sum", ENOSYS);
}
