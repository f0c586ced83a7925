/* The commands of gen/command/sett.c as WebAssembly, with the part of C's library that they need. The page (page.html)
 * writes the arguments to sett_input, each terminated by a 0, and reads the answer from sett_output. */
#include <stdarg.h>
#include <stdint.h>

#define SETT_PLAYGROUND 1
#include "../command/sett.c"

enum { INPUT = 1 << 16, OUTPUT = 8 << 20, WORDS = 64, PAGE = 1 << 16 };
static char input[INPUT], output[OUTPUT];

#define EXPORTED(name) __attribute__((export_name(#name)))

EXPORTED(sett_input) char *sett_input(void) { return input; }
EXPORTED(sett_input_size) int sett_input_size(void) { return INPUT; }
EXPORTED(sett_output) char *sett_output(void) { return output; }

/* Runs the command with `count` arguments and returns its status. It is an error if the answer does not fit the
 * output. */
EXPORTED(sett_ask) int sett_ask(int count) {
  const char *words[WORDS], *at = input;
  int i, status;
  for (i = 0; i < count && i < WORDS; ++i) {
    words[i] = at;
    at += strlen(at) + 1;
  }
  status = sett_command(i, words, output, OUTPUT);
  if (status == 3) {
    memcpy(output, "error: the answer is too long for this page", 44);
    status = 2;
  }
  return status;
}

/* ---- memory: a command takes one block and frees it, so one block is enough
   ------------------------------------------ */

extern unsigned char __heap_base;

void *malloc(size_t bytes) {
  size_t base = ((size_t)&__heap_base + 15) & ~(size_t)15, end = base + bytes, have = __builtin_wasm_memory_size(0) * PAGE;
  if (end < base || (end > have && __builtin_wasm_memory_grow(0, (end - have + PAGE - 1) / PAGE) == SIZE_MAX)) return NULL;
  return (void *)base;
}

void free(void *memory) { (void)memory; }

/* ---- string.h ------------------------------------------------------------------------------------------------------ */

void *memcpy(void *to, const void *from, size_t count) {
  size_t i;
  for (i = 0; i < count; ++i) ((unsigned char *)to)[i] = ((const unsigned char *)from)[i];
  return to;
}

void *memmove(void *to, const void *from, size_t count) {
  unsigned char *t = (unsigned char *)to;
  const unsigned char *f = (const unsigned char *)from;
  size_t i;
  if ((uintptr_t)to <= (uintptr_t)from) return memcpy(to, from, count);
  for (i = count; i-- > 0;) t[i] = f[i];
  return to;
}

void *memset(void *to, int value, size_t count) {
  size_t i;
  for (i = 0; i < count; ++i) ((unsigned char *)to)[i] = (unsigned char)value;
  return to;
}

int memcmp(const void *a, const void *b, size_t count) {
  const unsigned char *x = (const unsigned char *)a, *y = (const unsigned char *)b;
  for (; count; --count, ++x, ++y)
    if (*x != *y) return *x < *y ? -1 : 1;
  return 0;
}

void *memchr(const void *of, int value, size_t count) {
  const unsigned char *at = (const unsigned char *)of;
  for (; count; --count, ++at)
    if (*at == (unsigned char)value) return (void *)(uintptr_t)at;
  return NULL;
}

size_t strlen(const char *text) {
  size_t length = 0;
  while (text[length]) ++length;
  return length;
}

int strncmp(const char *a, const char *b, size_t count) {
  for (; count && *a && *a == *b; --count) ++a, ++b;
  return count ? (unsigned char)*a - (unsigned char)*b : 0;
}

int strcmp(const char *a, const char *b) { return strncmp(a, b, SIZE_MAX); }

char *strchr(const char *text, int letter) {
  for (; *text != (char)letter; ++text)
    if (!*text) return NULL;
  return (char *)(uintptr_t)text;
}

char *strrchr(const char *text, int letter) {
  const char *last = NULL;
  for (; *text; ++text)
    if (*text == (char)letter) last = text;
  return (char *)(uintptr_t)(letter ? last : text);
}

char *strstr(const char *text, const char *part) {
  size_t length = strlen(part);
  for (;; ++text) {
    if (!strncmp(text, part, length)) return (char *)(uintptr_t)text;
    if (!*text) return NULL;
  }
}

size_t strspn(const char *text, const char *of) {
  size_t length = 0;
  while (text[length] && strchr(of, text[length])) ++length;
  return length;
}

size_t strcspn(const char *text, const char *of) {
  size_t length = 0;
  while (text[length] && !strchr(of, text[length])) ++length;
  return length;
}

/* ---- stdio.h ------------------------------------------------------------------------------------------------------- */

typedef struct {
  char *out;
  size_t capacity, length;
} printed;

static void put(printed *p, char letter) {
  if (p->length + 1 < p->capacity) p->out[p->length] = letter;
  ++p->length;
}

static void put_number(printed *p, uint64_t value) {
  char digits[20];
  int n = 0;
  do digits[n++] = (char)('0' + value % 10);
  while (value /= 10);
  while (n) put(p, digits[--n]);
}

/* Writes a number rounded to `decimals` decimals; without trailing zeros if trimmed is 1. */
static void put_fixed(printed *p, double value, int decimals, int trimmed) {
  uint64_t scale = 1, scaled, fraction;
  int i;
  for (i = 0; i < decimals; ++i) scale *= 10;
  if (value < 0) put(p, '-'), value = -value;
  if (value > 1e15) value = 1e15;
  scaled = (uint64_t)(value * (double)scale + 0.5);
  put_number(p, scaled / scale);
  fraction = scaled % scale;
  while (trimmed && decimals && fraction % 10 == 0) fraction /= 10, scale /= 10, --decimals;
  if (!decimals) return;
  put(p, '.');
  for (scale /= 10; scale; scale /= 10) put(p, (char)('0' + fraction / scale % 10));
}

int snprintf(char *out, size_t capacity, const char *format, ...) {
  printed p = {out, capacity, 0};
  va_list arguments;
  va_start(arguments, format);
  for (; *format; ++format) {
    int decimals = 0;
    if (*format != '%') {
      put(&p, *format);
      continue;
    }
    ++format;
    if (*format == '.') decimals = format[1] - '0', format += 2;
    if (*format == 's') {
      const char *text = va_arg(arguments, const char *);
      while (*text) put(&p, *text++);
    } else if (*format == 'd' || *format == 'l') {
      int64_t value = *format == 'd' ? va_arg(arguments, int) : va_arg(arguments, long long);
      if (*format == 'l') format += 2;
      if (value < 0) put(&p, '-');
      put_number(&p, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
    } else if (*format == 'f') {
      put_fixed(&p, va_arg(arguments, double), decimals, 0);
    } else if (*format == 'g') { /* %.Ng: N significant digits */
      double value = va_arg(arguments, double), whole = value < 0 ? -value : value;
      for (; whole >= 1 && decimals; whole /= 10) --decimals;
      put_fixed(&p, value, decimals, 1);
    } else {
      put(&p, *format);
    }
  }
  va_end(arguments);
  if (capacity) out[p.length < capacity ? p.length : capacity - 1] = 0;
  return (int)p.length;
}

/* ---- called by compilers: the 128-bit product that checks a 64-bit product for overflow
 * ------------------------------- */

__extension__ typedef __int128 wide;
wide __multi3(wide a, wide b);

wide __multi3(wide a, wide b) {
  const uint64_t low = 0xffffffff, x = (uint64_t)a, y = (uint64_t)b;
  uint64_t first = (x & low) * (y & low), second = (x >> 32) * (y & low) + (first >> 32), third = (x & low) * (y >> 32) + (second & low);
  uint64_t high = (x >> 32) * (y >> 32) + (second >> 32) + (third >> 32) + (uint64_t)(a >> 64) * y + (uint64_t)(b >> 64) * x;
  return (wide)high << 64 | (wide)(third << 32 | (first & low));
}
