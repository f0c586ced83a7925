/* The one front of the algebra: sett_command runs one command, `build/sett` is main() around it, `libsett.so` exports it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../include/sett_indexing_map.h"

#if defined(__has_include)
#if __has_include("sett_shape.c")
#define SETT_WITH_SHAPE 1
#endif
#else
#define SETT_WITH_SHAPE 1
#endif

/* What every command gets: its words after the verb group, and where the answer goes. */
typedef struct {
  int argc;
  const char *const *argv; /* argv[0] is the group: map, shape, op, nested */
  char *out;
  size_t capacity;
  size_t length; /* of the whole answer; more than capacity - 1: it did not fit */
} command;

static void say(command *self, const char *text, size_t length) {
  size_t i;
  for (i = 0; i < length; ++i)
    if (self->length + i + 1 < self->capacity) self->out[self->length + i] = text[i];
  self->length += length;
  if (self->capacity) self->out[self->length < self->capacity ? self->length : self->capacity - 1] = 0;
}

static void say_text(command *self, const char *text) { say(self, text, strlen(text)); }

static void say_int(command *self, long long value) {
  char buffer[24];
  int n = snprintf(buffer, sizeof buffer, "%lld", value);
  say(self, buffer, (size_t)n);
}

/* `error: COL: message`, or `error: message` where there is no column; always exit status 2. */
static int say_error(command *self, int column, const char *message) {
  self->length = 0;
  say_text(self, "error: ");
  if (column > 0) {
    say_int(self, column);
    say_text(self, ": ");
  }
  say_text(self, message);
  return 2;
}

/* After an error: the argument that it is about, by its name in the usage. */
static int say_in(command *self, const char *argument) {
  say_text(self, ", in ");
  say_text(self, argument);
  return 2;
}

/* The memory of one command: the arena starts empty for each, so an answer never depends on what ran before. */
static uint64_t command_memory[(64u << 20) / sizeof(uint64_t)];

static sett_map_arena command_arena(void) { return sett_map_arena_make(command_memory, sizeof command_memory); }

#include "sett_map.c"
#if defined(SETT_WITH_SHAPE)
#include "sett_shape.c"
#include "sett_nested.c"
#include "sett_indexing.c"
#include "sett_analysis.c"
#endif

#if defined(__GNUC__)
#define SETT_EXPORT __attribute__((visibility("default")))
#else
#define SETT_EXPORT
#endif

static const char command_usage[] =
    "sett VERB ..: where elements lie, and which maps lead there\n"
    "  map parse|simplify|inverse MAP, map compose FIRST SECOND, map equal A B, map eval MAP VALUES, ..   indexing maps\n"
    "  shape SHAPE, shape info|map SHAPE, shape index SHAPE I,J,.., shape element SHAPE POS, ..            tiled layouts\n"
    "  nested LAYOUT, nested map|draw LAYOUT, nested element LAYOUT SUBGROUP THREAD SLOT, ..               what each thread holds\n"
    "  op OPCODE OPERAND out=I,J,.. in=I,J,.. ATTRIBUTE=..        the map of one HLO op\n"
    "  indexing FILE.hlo                                         the maps of every instruction and of whole fusions\n"
    "  coalescing MAP SHAPE|TYPE [TRANSACTION_BYTES [LANES]]     is an access of global memory coalesced, else why, and what helps\n"
    "  banks MAP SHAPE|TYPE [MAP ..]                             bank conflicts of accesses of shared memory, padding, swizzle\n"
    "  utilisation MAP SHAPE, reuse MAP SHAPE                    how much of an operand is read, and how often\n"
    "  tile MAP SIZE,SIZE,..                                     the operand's tile for an output tile\n"
    "A - in place of the arguments of map, shape and nested: one input a line from standard input, its arguments separated by tabs.\n"
    "Status: 0 yes or an answer, 1 no, 2 bad input. The group alone (sett map) says what else there is.";

SETT_EXPORT int sett_command(int argc, const char *const *argv, char *out, size_t capacity);

/* Runs one command; the answer or `error: ...` goes to out. 0 success, 1 a "no", 2 bad input, 3 out is too small (it then holds the bytes needed). */
SETT_EXPORT int sett_command(int argc, const char *const *argv, char *out, size_t capacity) {
  command self;
  int status;
  self.argc = argc;
  self.argv = argv;
  self.out = out;
  self.capacity = capacity;
  self.length = 0;
  if (capacity) out[0] = 0;
  if (argc == 1 && (!strcmp(argv[0], "--help") || !strcmp(argv[0], "-h") || !strcmp(argv[0], "help"))) {
    say_text(&self, command_usage);
    status = 0;
  } else if (argc > 0 && !strcmp(argv[0], "map")) status = command_map(&self);
#if defined(SETT_WITH_SHAPE)
  else if (argc > 0 && !strcmp(argv[0], "shape")) status = command_shape(&self);
  else if (argc > 0 && !strcmp(argv[0], "op")) status = command_op(&self);
  else if (argc > 0 && !strcmp(argv[0], "nested")) status = command_nested(&self);
  else if (argc > 0 && !strcmp(argv[0], "indexing")) status = command_indexing(&self);
  else if (argc > 0 && !strcmp(argv[0], "coalescing")) status = command_coalescing(&self);
  else if (argc > 0 && !strcmp(argv[0], "banks")) status = command_banks(&self);
  else if (argc > 0 && !strcmp(argv[0], "utilisation")) status = command_utilisation(&self);
  else if (argc > 0 && !strcmp(argv[0], "reuse")) status = command_reuse(&self);
  else if (argc > 0 && !strcmp(argv[0], "tile")) status = command_tile(&self);
#endif
  else status = say_error(&self, 0, "unknown command, expected map, shape, op, nested, indexing, coalescing, banks, utilisation, reuse, tile or --help");
  if (self.length >= capacity) {
    size_t needed = self.length + 1;
    self.length = 0;
    say_int(&self, (long long)needed);
    status = 3;
  }
  return status;
}

typedef struct {
  char *text;
  size_t capacity;
} buffer;

static void buffer_grow(buffer *self, size_t capacity) {
  char *text;
  if (capacity <= self->capacity) return;
  text = (char *)realloc(self->text, capacity);
  if (!text) {
    fputs("error: out of memory\n", stderr);
    exit(2);
  }
  self->text = text;
  self->capacity = capacity;
}

/* Reads a line without its end; 0 at the end of the input. */
static int read_line(FILE *in, buffer *line) {
  size_t length = 0;
  int c;
  buffer_grow(line, 256);
  while ((c = getc(in)) != EOF && c != '\n') {
    if (length + 2 > line->capacity) buffer_grow(line, line->capacity * 2);
    line->text[length++] = c ? (char)c : '\1'; /* a NUL is no text, and must not end it */
  }
  if (c == EOF && !length) return 0;
  if (length && line->text[length - 1] == '\r') --length;
  line->text[length] = 0;
  return 1;
}

static int run(int argc, const char *const *argv, buffer *out) {
  int status;
  buffer_grow(out, 65536);
  while ((status = sett_command(argc, argv, out->text, out->capacity)) == 3) buffer_grow(out, (size_t)strtoull(out->text, NULL, 10) + 1);
  return status;
}

enum { WORDS_MAX = 256 };

/* The `-` mode: one input a line, arguments separated by tabs; one answer a line (line ends inside an answer become tabs). */
static int run_lines(int argc, const char *const *argv) {
  const char *words[WORDS_MAX];
  buffer line = {NULL, 0}, out = {NULL, 0};
  int status = 0, i;
  for (i = 0; i < argc; ++i) words[i] = argv[i];
  while (read_line(stdin, &line)) {
    char *at = line.text;
    int count = argc, one;
    while (count < WORDS_MAX) {
      char *tab = strchr(at, '\t');
      words[count++] = at;
      if (!tab) break;
      *tab = 0;
      at = tab + 1;
    }
    one = run(count, words, &out);
    for (at = out.text; *at; ++at)
      if (*at == '\n') *at = '\t';
    fputs(out.text, stdout);
    putchar('\n');
    if (one == 2) status = 2;
  }
  free(line.text);
  free(out.text);
  return status;
}

int main(int argc, char **argv) {
  const char *const *words = (const char *const *)(argv + 1);
  buffer out = {NULL, 0};
  int status;
  --argc;
  if (argc < WORDS_MAX / 2 && (argc == 2 || argc == 3) && !strcmp(words[argc - 1], "-")) return run_lines(argc - 1, words);
  status = run(argc, words, &out);
  fputs(out.text, status == 2 ? stderr : stdout);
  putc('\n', status == 2 ? stderr : stdout);
  free(out.text);
  return status;
}
