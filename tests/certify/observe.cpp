/* observe.cpp - run one kernel of a generated text on the CPU, and report the places in memory that it accesses.
 *
 *     observe LIBRARY KERNEL TARGET BLOCKS THREADS VARIANTS BASELINE BYTES:FLAGS.. -- POINTER..
 *
 * LIBRARY is the text, compiled by clang with -fsanitize=address and with each check as a call
 * (-asan-instrumentation-with-call-threshold=0). This program defines these calls itself, so that it sees each access
 * with its address and its size. It shares nothing with gen/certify.
 *
 * BYTES:FLAGS describes a block of memory: its size; w if all bytes that a right kernel writes must be written; i if a
 * result overwrites a parameter in place. POINTER is the block of each of the kernel's pointers. BASELINE is the file of
 * the bytes that a right kernel writes; it is made if it is missing.
 *
 * The environment variable SETT_FILL is VALUE:SIZE, an integer and its size of 4 or 8 bytes. All blocks hold this integer
 * at first. Without the variable they hold drawn integers, half of them small; seed:NUMBER draws other ones.
 *
 * The last line of the output is one word and numbers:
 *
 *     outside LINE        an access outside of a block, of an array in shared memory or of a private array
 *     race LINE           two work-groups, or two work-items of a group between the same barriers, access one byte; at
 *                         least one of them writes it
 *     barrier             a barrier that not all work-items of a group reach
 *     lanes               another fault that cuda_on_cpu.h finds: an exchange that not all lanes of the mask reach
 *     misaligned          an access to a vector at an address that the processor refuses
 *     division            an integer is divided by zero
 *     trap                the compiler's instruction for code whose behaviour is not defined
 *     endless             the kernel needs more than SECONDS of processor time
 *     done UNWRITTEN OVERWRITTEN UNINITIALISED PLACES VALUES LINES
 *
 * UNWRITTEN is the number of bytes that the baseline writes and this kernel does not. OVERWRITTEN is the number of reads
 * of a byte of an i block that has been written before. UNINITIALISED is the number of reads of bytes of shared memory
 * that the group has not written. PLACES is a sum over all accesses (work-group, work-item, block, offset, size, read or
 * write), VALUES a hash of all blocks at the end. LINES are the lines where integer arithmetic overflows. */
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

enum { SECONDS = 4, STACK = 1 << 22 };
static const uint16_t NONE = 0xffff, MANY = 0xfffe;
static const size_t WINDOW = (size_t)1 << 38; // address space of a block; an index of 32 bits cannot leave it
static const uintptr_t SHADOW = 0x7fff8000;

/* The accesses to one byte. `group_write` and `group_read` are the work-groups that wrote and read it. `write` and
   `read` are the work-items that did so within one group and between two barriers. The number of this interval is in
   `serial`. */
struct State {
  uint32_t group_write = 0xffffffff, group_read = 0xffffffff, serial = 0xffffffff;
  uint16_t write = NONE, read = NONE;
};

struct Block {
  size_t bytes;
  bool whole, in_place;
  unsigned char *start;
  std::vector<State> states;
  std::vector<unsigned char> written;
};

struct Shared {
  uintptr_t start;
  size_t bytes;
  std::vector<State> states;
  std::vector<uint32_t> written; // the group that wrote the byte last
};

static std::vector<Block> blocks;
static std::vector<Shared> shared_arrays;
static unsigned char *space;
static std::set<unsigned> wraps;
static bool active;
static uint64_t places, overwritten, uninitialised;
static uint32_t group = 0, item = 0, last_group, serial_base;
static uint32_t phases[65536];
static unsigned (*group_of)(void), (*item_of)(void);
static std::string text_name;

[[noreturn]] static void leave(const char *word, unsigned long number = 0) {
  printf("%s %lu\n", word, number);
  fflush(stdout);
  _exit(0);
}

static uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

static void enter(void) {
  if (group_of) {
    group = group_of();
    item = item_of();
  }
  if (group != last_group) {
    last_group = group;
    memset(phases, 0, sizeof phases);
    serial_base += 4096;
  }
}

/* Record an access of the current work-item to a byte. Return false if it is a race. */
static bool between_items(State &state, bool write) {
  const uint32_t serial = serial_base + phases[item];
  const uint16_t self = (uint16_t)item;
  if (state.serial != serial) {
    state.serial = serial;
    state.write = state.read = NONE;
  }
  if (state.write != NONE && state.write != self) return false;
  if (write) {
    if (state.read != NONE && state.read != self) return false;
    state.write = self;
  } else state.read = state.read == NONE || state.read == self ? self : MANY;
  return true;
}

static bool between_groups(State &state, bool write) {
  if (state.group_write != 0xffffffff && state.group_write != group) return false;
  if (write) {
    if (state.group_read != 0xffffffff && state.group_read != group) return false;
    state.group_write = group;
  } else state.group_read = state.group_read == 0xffffffff || state.group_read == group ? group : 0xfffffffe;
  return true;
}

static void count(uint64_t where, uint64_t offset, size_t bytes, bool write) {
  places += mixed(mixed(mixed(where * 4 + write) + offset * 128 + bytes) + ((uint64_t)group << 20) + item);
}

static void touch(uintptr_t address, size_t bytes, bool write) {
  if (!active || !bytes) return;
  enter();
  const uintptr_t from = address - (uintptr_t)space;
  if (address >= (uintptr_t)space && from < blocks.size() * WINDOW) {
    Block &block = blocks[from / WINDOW];
    const uintptr_t offset = address - (uintptr_t)block.start;
    if (offset >= block.bytes || bytes > block.bytes - offset) leave("outside", from / WINDOW);
    count(from / WINDOW, offset, bytes, write);
    for (size_t n = offset; n < offset + bytes; ++n) {
      if (!between_items(block.states[n], write) || !between_groups(block.states[n], write))
        leave("race", from / WINDOW);
      if (write) block.written[n] = 1;
      else if (block.in_place && block.written[n]) ++overwritten;
    }
    return;
  }
  for (size_t k = 0; k < shared_arrays.size(); ++k) {
    Shared &array = shared_arrays[k];
    const uintptr_t offset = address - array.start;
    if (offset >= array.bytes) continue;
    if (bytes > array.bytes - offset) leave("outside", 100 + k);
    count(1000 + k, offset, bytes, write);
    for (size_t n = offset; n < offset + bytes; ++n) {
      if (!between_items(array.states[n], write)) leave("race", 100 + k);
      if (write) array.written[n] = group;
      else if (array.written[n] != group) ++uninitialised;
    }
    return;
  }
  if (address >> 47) leave("outside", 999);
  for (uintptr_t n = address; n < address + bytes; ++n) { // the red zones of private arrays
    const signed char shadow = *(const signed char *)(SHADOW + (n >> 3));
    if (shadow && (signed char)(n & 7) >= shadow) leave("outside", 998);
  }
}

// ---- the calls of the compiled text ----

struct Location {
  const char *file;
  uint32_t line, column;
};

static bool in_text(const Location *at) { return active && at->file && strstr(at->file, text_name.c_str()); }

extern "C" {
#define SIZE(n)                                              \
  void __asan_load##n(uintptr_t at) { touch(at, n, false); } \
  void __asan_store##n(uintptr_t at) { touch(at, n, true); }
SIZE(1)
SIZE(2)
SIZE(4)
SIZE(8)
SIZE(16)
void __asan_loadN(uintptr_t at, size_t bytes) { touch(at, bytes, false); }
void __asan_storeN(uintptr_t at, size_t bytes) { touch(at, bytes, true); }
void *__asan_memcpy(void *to, const void *from, size_t bytes) {
  touch((uintptr_t)from, bytes, false);
  touch((uintptr_t)to, bytes, true);
  return memcpy(to, from, bytes);
}
void *__asan_memmove(void *to, const void *from, size_t bytes) {
  touch((uintptr_t)from, bytes, false);
  touch((uintptr_t)to, bytes, true);
  return memmove(to, from, bytes);
}
void *__asan_memset(void *to, int value, size_t bytes) {
  touch((uintptr_t)to, bytes, true);
  return memset(to, value, bytes);
}
#define SET(value) \
  void __asan_set_shadow_##value(uintptr_t at, size_t bytes) { memset((void *)at, 0x##value, bytes); }
SET(00)
SET(f1)
SET(f2)
SET(f3)
SET(f5)
SET(f8)
int __asan_option_detect_stack_use_after_return;
void __asan_init(void) {}
void __asan_version_mismatch_check_v8(void) {}
void __asan_handle_no_return(void) {}
void __asan_poison_memory_region(const volatile void *, size_t) {}
void __asan_unpoison_memory_region(const volatile void *, size_t) {}
void __asan_unregister_globals(void *, size_t) {}

struct Global {
  uintptr_t start;
  size_t bytes, whole;
  const char *name, *module;
  size_t initialised;
  Location *at;
  size_t odr;
};

static bool is_shared(const Global &of); // true: an array in shared memory; false: a variable of the emulator

void __asan_register_globals(Global *of, size_t count) {
  for (size_t n = 0; n < count; ++n) {
    const Global &one = of[n];
    for (uintptr_t at = one.start + one.bytes; at < one.start + one.whole; ++at)
      if (at % 8 == 0) *(signed char *)(SHADOW + (at >> 3)) = -1;
      else if (at == one.start + one.bytes) *(signed char *)(SHADOW + (at >> 3)) = (signed char)(at & 7);
    if (is_shared(one))
      shared_arrays.push_back(
          {one.start, one.bytes, std::vector<State>(one.bytes), std::vector<uint32_t>(one.bytes, 0xffffffff)});
  }
}

static void wrapped(const Location *at) {
  if (in_text(at)) wraps.insert(at->line);
}
void __ubsan_handle_add_overflow(Location *at, uintptr_t, uintptr_t) { wrapped(at); }
void __ubsan_handle_sub_overflow(Location *at, uintptr_t, uintptr_t) { wrapped(at); }
void __ubsan_handle_mul_overflow(Location *at, uintptr_t, uintptr_t) { wrapped(at); }
void __ubsan_handle_negate_overflow(Location *at, uintptr_t) { wrapped(at); }
void __ubsan_handle_shift_out_of_bounds(Location *at, uintptr_t, uintptr_t) { wrapped(at); }
void __ubsan_handle_implicit_conversion(Location *at, uintptr_t, uintptr_t) { wrapped(at); }
void __ubsan_handle_divrem_overflow(Location *at, uintptr_t, uintptr_t) {
  if (in_text(at)) leave("division", at->line);
}
void __ubsan_handle_out_of_bounds(Location *at, uintptr_t) {
  if (in_text(at)) leave("outside", at->line);
}
}

// ---- work-items of OpenCL ----

static ucontext_t scheduler, contexts[1024];
static const void *waits[1024]; // the barrier at which an item waits
static bool ended[1024];
static unsigned items;
static void (*call)(void *, void *, void *, void *, void *, void *, void *, void *, void *, void *, void *, void *,
                    void *, void *, void *, void *);
static void *pointers[16];

static void run_kernel(void) {
  void **p = pointers;
  call(p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9], p[10], p[11], p[12], p[13], p[14], p[15]);
}

static void fibre(void) {
  run_kernel();
  ended[item] = true;
  const unsigned self = item;
  swapcontext(&contexts[self], &scheduler);
}

extern "C" {
size_t group_id(unsigned k) __asm__("_Z12get_group_idj");
size_t local_id(unsigned k) __asm__("_Z12get_local_idj");
size_t global_id(unsigned k) __asm__("_Z13get_global_idj");
size_t local_size(unsigned k) __asm__("_Z14get_local_sizej");
void barrier(unsigned flags) __asm__("_Z7barrierj");
size_t group_id(unsigned k) { return k ? 0 : group; }
size_t local_id(unsigned k) { return k ? 0 : item; }
size_t global_id(unsigned k) { return k ? 0 : (size_t)group * items + item; }
size_t local_size(unsigned k) { return k ? 1 : items; }
void barrier(unsigned) {
  const unsigned self = item;
  waits[self] = __builtin_return_address(0);
  if (items == 1) ++phases[0];
  else { swapcontext(&contexts[self], &scheduler); }
}
void mut_barrier(void) {
  enter();
  ++phases[item];
}
void mut_enter(size_t number) { group = (uint32_t)number; }
}

static void opencl_group(unsigned threads) {
  static char *stacks;
  if (threads == 1) {
    item = 0;
    run_kernel();
    return;
  }
  if (!stacks)
    stacks = (char *)mmap(NULL, (size_t)threads * STACK, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  for (unsigned t = 0; t < threads; ++t) {
    getcontext(&contexts[t]);
    contexts[t].uc_stack.ss_sp = stacks + (size_t)t * STACK;
    contexts[t].uc_stack.ss_size = STACK;
    contexts[t].uc_link = &scheduler;
    makecontext(&contexts[t], fibre, 0);
    ended[t] = false;
  }
  for (;;) {
    unsigned left = 0;
    for (item = 0; item < threads; ++item) {
      if (!ended[item]) swapcontext(&scheduler, &contexts[item]);
      left += !ended[item];
    }
    if (!left) return;
    if (left != threads) leave("barrier");
    for (unsigned t = 1; t < threads; ++t)
      if (waits[t] != waits[0]) leave("barrier");
    for (unsigned t = 0; t < threads; ++t) ++phases[t];
  }
}

// ---- the whole run ----

static std::string target;

static bool is_shared(const Global &of) {
  return target != "c" && of.at && of.at->file && strstr(of.at->file, text_name.c_str());
}

static void too_long(int) { leave("endless"); }
// Linux reports SI_KERNEL for a misaligned vector, and for an address that no process can have. `touch` finds the
// latter before the access, so here SI_KERNEL means misaligned.
static void crash(int, siginfo_t *about, void *) { leave(about->si_code == SI_KERNEL ? "misaligned" : "outside", 997); }

static void check(bool good, const char *what) {
  if (good) return;
  fprintf(stderr, "observe: %s\n", what);
  exit(2);
}

int main(int argc, char **argv) {
  check(argc > 9, "observe LIBRARY KERNEL TARGET BLOCKS THREADS VARIANTS BASELINE BYTES:FLAGS.. -- POINTER..");
  const char *library = argv[1], *kernel = argv[2], *baseline = argv[7];
  target = argv[3];
  text_name = "mutant.";
  const unsigned groups = (unsigned)atoi(argv[4]), threads = (unsigned)atoi(argv[5]),
                 variants = (unsigned)atoi(argv[6]);
  items = threads;
  const int how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  check(mmap((void *)SHADOW, (size_t)1 << 44, PROT_READ | PROT_WRITE, how | MAP_FIXED, -1, 0) != MAP_FAILED,
        "no shadow");
  int at = 8;
  for (; at < argc && strcmp(argv[at], "--"); ++at)
    blocks.push_back({(size_t)strtoull(argv[at], NULL, 10),
                      strchr(argv[at], 'w') != NULL,
                      strchr(argv[at], 'i') != NULL,
                      NULL,
                      {},
                      {}});
  space = (unsigned char *)mmap(NULL, (blocks.size() + 1) * WINDOW, PROT_READ | PROT_WRITE, how, -1, 0);
  check(space != MAP_FAILED, "no address space");
  for (size_t k = 0; k < blocks.size(); ++k) blocks[k].start = space + k * WINDOW + WINDOW / 2;
  int many = 0;
  for (++at; at < argc; ++at) pointers[many++] = blocks[(size_t)atoi(argv[at])].start;

  static char other[1 << 16];
  stack_t signals = {};
  signals.ss_sp = other;
  signals.ss_size = sizeof other;
  sigaltstack(&signals, NULL);
  struct sigaction action = {};
  action.sa_flags = SA_ONSTACK | SA_SIGINFO;
  action.sa_sigaction = crash;
  sigaction(SIGSEGV, &action, NULL);
  sigaction(SIGBUS, &action, NULL);
  action.sa_flags = SA_ONSTACK;
  action.sa_handler = too_long;
  sigaction(SIGVTALRM, &action, NULL);
  action.sa_handler = [](int) { leave("division"); };
  sigaction(SIGFPE, &action, NULL);
  action.sa_handler = [](int) { leave("trap"); };
  sigaction(SIGILL, &action, NULL);
  sigaction(SIGABRT, &action, NULL);
  const struct itimerval timer = {{0, 0}, {SECONDS, 0}};
  setitimer(ITIMER_VIRTUAL, &timer, NULL);

  void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!handle) fprintf(stderr, "%s\n", dlerror());
  check(handle, "the text is not loaded");
  auto launch = (int (*)(int, void **))dlsym(handle, "mut_launch");
  group_of = (unsigned (*)(void))dlsym(handle, "mut_group");
  item_of = (unsigned (*)(void))dlsym(handle, "mut_item");
  const char *fault = (const char *)dlsym(handle, "sett_cuda_fault");
  call = (decltype(call))dlsym(handle, kernel);
  check(launch || call, "no kernel of this name");

  const char *fill = getenv("SETT_FILL");
  const char *seed = fill && !strncmp(fill, "seed:", 5) ? fill + 5 : NULL;
  const bool wide = fill && strstr(fill, ":8");
  uint64_t unwritten = 0, values = 0;
  std::vector<unsigned char> before, now;
  FILE *file = fopen(baseline, "rb");
  if (file) {
    size_t total = 0;
    for (Block &block : blocks) total += block.bytes;
    before.resize(total * variants);
    check(fread(before.data(), 1, before.size(), file) == before.size(), "the baseline has another size");
    fclose(file);
  }
  for (unsigned variant = 0; variant < variants; ++variant) {
    uint64_t random = seed ? strtoull(seed, NULL, 10) << 32 : 7;
    for (Block &block : blocks) {
      block.states.assign(block.bytes, State());
      block.written.assign(block.bytes, 0);
      for (size_t n = 0; n < block.bytes; n += 4) {
        const uint64_t x = mixed(++random);
        const uint32_t small = (uint32_t)(x >> 40) & 15, word = x & 1   ? small
                                                                : x & 2 ? (uint32_t)(x >> 8)
                                                                        : (uint32_t)(x >> 32) & 0x3fffffffu;
        const bool high = wide && n % 8;
        const uint32_t given = fill && !seed ? (uint32_t)(strtoll(fill, NULL, 10) >> (high ? 32 : 0)) : word;
        memcpy(block.start + n, &given, block.bytes - n < 4 ? block.bytes - n : 4);
      }
    }
    last_group = 0xffffffff;
    active = true;
    if (launch) {
      if (launch((int)variant, pointers)) {
        active = false;
        leave(fault && strstr(fault, "barrier") && !strstr(fault, "exchange") ? "barrier" : "lanes");
      }
    } else
      for (group = 0; group < groups; ++group) opencl_group(threads);
    active = false;
    for (Block &block : blocks) {
      for (size_t n = 0; n < block.bytes; ++n) values = mixed(values + block.start[n]);
      for (size_t n = 0; n < block.bytes; ++n) {
        if (!before.empty() && block.whole && before[now.size()] && !block.written[n]) ++unwritten;
        now.push_back(block.written[n]);
      }
    }
  }
  if (before.empty()) {
    file = fopen(baseline, "wb");
    check(file && fwrite(now.data(), 1, now.size(), file) == now.size() && !fclose(file), "the baseline is not kept");
  }
  printf("done %llu %llu %llu %llu %llu", (unsigned long long)unwritten, (unsigned long long)overwritten,
         (unsigned long long)uninitialised, (unsigned long long)places, (unsigned long long)values);
  for (unsigned line : wraps) printf(" %u", line);
  printf("\n");
  fflush(stdout);
  _exit(0);
}
