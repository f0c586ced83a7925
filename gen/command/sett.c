/* The commands of the algebra. sett_command runs one command; `build/sett` is a main() that calls it, and
 * `libsett.so` exports it. gen/playground defines SETT_PLAYGROUND, which leaves out main and the commands about HLO
 * (op, indexing). */
#if !defined(_DEFAULT_SOURCE)
#define _DEFAULT_SOURCE 1 /* for lstat */
#endif
#if !defined(SETT_PLAYGROUND)
#include <errno.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if !defined(__STDC_NO_ATOMICS__)
#include <stdatomic.h>
#endif
#if defined(__unix__) || defined(__APPLE__)
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

#define SETT_RELAYOUT_SCALAR /* the vector code would add seconds to each build of the library */
#include "../../include/sett_indexing_map.h"

#if defined(__has_include)
#if __has_include("sett_shape.c")
#define SETT_WITH_SHAPE 1
#endif
#else
#define SETT_WITH_SHAPE 1
#endif

/* Options may be anywhere among the arguments. The argument after an option is its value. An option whose field `value`
 * is "" takes none. */
enum {
  OPTION_LANE,
  OPTION_VECTOR,
  OPTION_SVG,
  OPTION_ELEMENT,
  OPTION_SUBGROUP,
  OPTION_EMIT,
  OPTION_ORDERS,
  COMMAND_OPTIONS
};
static const struct {
  const char *name, *value, *of, *what; /* `of`: the commands that take the option; `what`: the meaning of its value */
} command_option[COMMAND_OPTIONS] = {
    {"--lane", "NAME", "coalescing, banks and draw", "a dimension's name"},
    {"--vector", "NAME", "coalescing, banks and draw", "the name of a variable, the same in all maps"},
    {"--svg", "FILE", "draw", "the name of a file"},
    {"--element", "BITS", "layout move", "the bits of an element"},
    {"--subgroup", "N", "layout move", "the lanes of a warp"},
    {"--emit", "c|cuda", "layout move", "c or cuda"},
    {"--orders", "", "shape formats", "nothing"},
};

/* The state of a command: its arguments, memory for its maps, and the answer. */
typedef struct {
  int argc;
  const char *const *argv; /* argv[0] is the group: map, shape, op, nested, .. */
  char *out;
  size_t capacity;
  size_t length;                       /* length of the whole answer, even if not all of it fits into `out` */
  const char *option[COMMAND_OPTIONS]; /* the values of --lane, .., --svg, or NULL; --svg makes the answer SVG */
  int terminal;     /* number of columns of the terminal that gets a coloured answer; 0: no terminal */
  int column, word; /* the column of an error, and the number of the last argument that was read */
  int affine;       /* the notation of the first map, AFFINE_.. of sett_map.c */
  sett_map_arena arena;
} command;

/* A verb, or one of its forms that take other arguments. Forms of a verb are adjacent. Dispatch, usage and help use
 * this table. */
typedef struct {
  const char *name; /* the verb; "" if the group's name is the whole command */
  /* The names of the arguments. [..] is optional; .. stands for any number of arguments. Names with = may come in any
   * order, and the verb itself checks them. An option [--lane NAME] is listed first, but may be anywhere. */
  const char *arguments;
  const char *what;    /* what the verb answers, for help */
  const char *example; /* the arguments of an example, separated by tabs */
  int (*run)(command *);
} command_verb;

typedef struct {
  const char *name, *what;
  const command_verb *verbs;
  size_t count;
} command_group;

#define COMMAND_COUNT(array) (sizeof(array) / sizeof(array)[0])

static void say(command *self, const char *text, size_t length) {
  if (self->capacity) {
    size_t last = self->capacity - 1, at = self->length < last ? self->length : last;
    size_t copied = length < last - at ? length : last - at;
    memcpy(self->out + at, text, copied);
    self->out[at + copied] = 0;
  }
  self->length += length;
}

static void say_text(command *self, const char *text) { say(self, text, strlen(text)); }

enum { INT_CHARACTERS = 20 }; /* characters of the longest 64-bit number */

/* Writes the decimal digits of a number at the end of a buffer. Returns the number of characters. */
static size_t int_characters(long long value, char buffer[INT_CHARACTERS]) {
  unsigned long long rest = value < 0 ? 0 - (unsigned long long)value : (unsigned long long)value;
  size_t at = INT_CHARACTERS;
  do buffer[--at] = (char)('0' + rest % 10);
  while (rest /= 10);
  if (value < 0) buffer[--at] = '-';
  return INT_CHARACTERS - at;
}

static void say_int(command *self, long long value) {
  char buffer[INT_CHARACTERS];
  size_t length = int_characters(value, buffer);
  say(self, buffer + INT_CHARACTERS - length, length);
}

/* Returns the number of characters of a number in decimal. */
static size_t int_length(long long value) {
  char buffer[INT_CHARACTERS];
  return int_characters(value, buffer);
}

static void say_spaces(command *self, size_t from, size_t to) {
  for (; from < to; ++from) say_text(self, " ");
}

/* Writes `error: COL: message`, or `error: message` if column is 0. Returns the exit status 2. */
static int say_error(command *self, int column, const char *message) {
  self->length = 0;
  self->column = column;
  say_text(self, "error: ");
  if (column > 0) {
    say_int(self, column);
    say_text(self, ": ");
  }
  say_text(self, message);
  return 2;
}

/* Returns `text`. If it is one of the arguments, the columns of later errors refer to this argument. */
static const char *reading(command *self, const char *text) {
  int i;
  for (i = 0; i < self->argc; ++i)
    if (self->argv[i] == text) self->word = i;
  return text;
}

#define SAY_INTEGER_FITS "expected an integer that fits in 64 bits, signed"

/* Reads the integer at *at, before end. Returns 1 and moves *at behind it; returns 0 if there is no integer, -1 if it
 * does not fit 64 bits. */
static int read_integer(const char **at, const char *end, int64_t *value) {
  const char *p = *at;
  int negative = p < end && *p == '-';
  uint64_t n = 0, most = (uint64_t)INT64_MAX + (uint64_t)negative;
  p += negative;
  if (p == end || *p < '0' || *p > '9') return 0;
  for (; p < end && *p >= '0' && *p <= '9'; ++p) {
    unsigned digit = (unsigned)(*p - '0');
    if (n > (most - digit) / 10) return -1;
    n = n * 10 + digit;
  }
  *value = !negative ? (int64_t)n : n > (uint64_t)INT64_MAX ? INT64_MIN : -(int64_t)n;
  *at = p;
  return 1;
}

/* A mistyped name, the most similar of the names compared so far, and its distance: the number of letters to insert,
 * delete, change or swap. */
typedef struct {
  const char *word, *nearest;
  size_t distance;
} command_mistyped;

enum { MISTYPED_MOST = 64 }; /* maximum size of a name that is compared, with the final 0 */

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

static size_t command_distance(const char *a, const char *b) {
  size_t row[3][MISTYPED_MOST], n = strlen(a), m = strlen(b), i, j;
  if (n >= MISTYPED_MOST || m >= MISTYPED_MOST) return SIZE_MAX;
  if (n > 1 && n < m && !strncmp(a, b, n)) return 1; /* `a` is a prefix of `b` */
  for (j = 0; j <= m; ++j) row[0][j] = j;
  for (i = 1; i <= n; ++i) {
    size_t *now = row[i % 3], *before = row[(i + 2) % 3], *second = row[(i + 1) % 3];
    now[0] = i;
    for (j = 1; j <= m; ++j) {
      now[j] = least(least(before[j], now[j - 1]) + 1, before[j - 1] + (a[i - 1] != b[j - 1]));
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) now[j] = least(now[j], second[j - 2] + 1);
    }
  }
  return row[n % 3][m];
}

/* Names are similar if they differ in at most a third of the letters. */
static command_mistyped command_look_for(const char *word) {
  command_mistyped self = {word, NULL, 0};
  self.distance = (strlen(word) + 2) / 3 + 1;
  return self;
}

static void command_compare(command_mistyped *self, const char *name) {
  size_t distance = command_distance(self->word, name);
  if (!*name || distance >= self->distance) return;
  self->nearest = name;
  self->distance = distance;
}

#include "sett_map.c"
#if defined(SETT_WITH_SHAPE)
#include "sett_shape.c"
#include "sett_nested.c"
#include "sett_layout.c"
#if !defined(SETT_PLAYGROUND)
#include "sett_indexing.c"
#endif
#include "sett_analysis.c"
#include "sett_draw.c"
#endif

/* ---- verbs ------------------------------------------------------------------------------------------------------ */

static const command_group command_groups[] = {
    {"map", "indexing maps: simplify, compose, invert, compare, evaluate, ..", map_verbs, COMMAND_COUNT(map_verbs)},
#if defined(SETT_WITH_SHAPE)
    {"shape", "arrays with tiled layouts: positions of elements, bytes, bitcasts, ..", shape_verbs,
     COMMAND_COUNT(shape_verbs)},
    {"nested", "nested layouts: the elements that each thread of a GPU holds; matrix instructions", nested_verbs,
     COMMAND_COUNT(nested_verbs)},
    {"layout", "layouts of CuTe, Triton, Mosaic, oneDNN, XLA and IREE: values, maps, conversion, moves; CuTe's algebra",
     layout_verbs, COMMAND_COUNT(layout_verbs)},
#if !defined(SETT_PLAYGROUND)
    {"op", "the indexing map of one HLO op", op_verbs, COMMAND_COUNT(op_verbs)},
    {"indexing", "the indexing maps of all instructions of an HLO file, and of whole fusions", indexing_verbs,
     COMMAND_COUNT(indexing_verbs)},
#endif
    {"coalescing", "is an access of global memory coalesced? if not: why, and what helps", coalescing_verbs,
     COMMAND_COUNT(coalescing_verbs)},
    {"banks", "bank conflicts of accesses of shared memory, and a padding and a swizzle that avoid them", banks_verbs,
     COMMAND_COUNT(banks_verbs)},
    {"utilisation", "the percentage of an array's elements that are read", utilisation_verbs,
     COMMAND_COUNT(utilisation_verbs)},
    {"reuse", "how often each element is read", reuse_verbs, COMMAND_COUNT(reuse_verbs)},
    {"tile", "the tile of an operand that a tile of the output needs", tile_verbs, COMMAND_COUNT(tile_verbs)},
    {"draw", "pictures of layouts, maps and accesses, as text or as SVG", draw_verbs, COMMAND_COUNT(draw_verbs)},
#endif
};

static const command_group *command_find(const char *name) {
  size_t i;
  for (i = 0; i < COMMAND_COUNT(command_groups); ++i)
    if (!strcmp(command_groups[i].name, name)) return &command_groups[i];
  return NULL;
}

/* Returns the names of a verb's arguments, without its options. */
static const char *command_arguments(const command_verb *verb) {
  const char *at = verb->arguments, *end;
  while (!strncmp(at, "[--", 3) && (end = strstr(at, "] ")) != NULL) at = end + 2;
  return at;
}

/* Returns true if the verb takes this number of arguments. */
static int command_takes(const command_verb *verb, int words) {
  const char *at = command_arguments(verb);
  int least = 0, most = 0, optional = 0;
  while (*at) {
    size_t length = strcspn(at, " ");
    if ((length == 2 && at[0] == '.' && at[1] == '.') || memchr(at, '=', length)) return words >= least;
    optional |= *at == '[';
    ++most;
    least += !optional;
    if (at[length - 1] == ']') optional = 0;
    at += length;
    at += *at == ' ';
  }
  return words >= least && words <= most;
}

/* Returns the name that the verb's usage gives to the argument that an error is about. Returns NULL if the usage does
 * not name it alone, but by `..` or KEY=VALUE. */
static const char *command_word_name(const command *self, const command_verb *verb, size_t *length) {
  const char *at = command_arguments(verb);
  int word = self->word - 1 - (*verb->name != 0);
  for (; word > 0 && *at; --word) {
    at += strcspn(at, " ");
    at += *at == ' ';
  }
  at += *at == '[';
  *length = strcspn(at, " ]");
  return !*at || (at[0] == '.' && at[1] == '.') || memchr(at, '=', strcspn(at, " ")) ? NULL : at;
}

static void say_usage(command *self, const command_group *group, const command_verb *verb) {
  say_text(self, group->name);
  if (*verb->name) say_text(self, " ");
  say_text(self, verb->name);
  if (*verb->arguments) say_text(self, " ");
  say_text(self, verb->arguments);
}

/* Writes the example as it would be typed into a shell. */
static void say_example(command *self, const command_group *group, const command_verb *verb) {
  const char *at = verb->example;
  say_text(self, "sett ");
  say_text(self, group->name);
  if (*verb->name) say_text(self, " ");
  say_text(self, verb->name);
  while (*at) {
    size_t length = strcspn(at, "\t"),
           plain = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,:=_-/");
    say_text(self, plain < length ? " '" : " ");
    say(self, at, length);
    if (plain < length) say_text(self, "'");
    at += length;
    at += *at == '\t';
  }
}

/* Writes `expected: `, then the forms of the verb, then an example. */
static int say_expected(command *self, const command_group *group, const char *name) {
  size_t i;
  const command_verb *first = NULL;
  int words = self->argc - 1 - (*name != 0);
  say_error(self, 0, "expected: ");
  for (i = 0; i < group->count; ++i) {
    if (strcmp(group->verbs[i].name, name)) continue;
    if (first) say_text(self, ", or ");
    else first = &group->verbs[i];
    say_usage(self, group, &group->verbs[i]);
  }
  say_text(self, ", found ");
  say_int(self, words);
  say_text(self, words == 1 ? " word: for example " : " words: for example ");
  if (first) say_example(self, group, first);
  return 2;
}

static const char *command_nearest_verb(const command_group *group, const char *word) {
  command_mistyped mistyped = command_look_for(word);
  size_t i;
  for (i = 0; i < group->count; ++i) command_compare(&mistyped, group->verbs[i].name);
  return mistyped.nearest;
}

/* Writes at most 40 bytes of text in quotes, without cutting a UTF-8 character. */
static void say_quoted(command *self, const char *text, size_t length) {
  enum { QUOTED = 40 };
  size_t shown = length;
  if (length > QUOTED)
    for (shown = QUOTED; shown > 0 && ((unsigned char)text[shown] & 0xC0) == 0x80;) --shown;
  say_text(self, "'");
  say(self, text, shown);
  say_text(self, shown < length ? "..'" : "'");
}

/* Writes `unknown verb 'indx' of shape, did you mean 'index'? sett help shape lists them`. */
static int say_unknown_verb(command *self, const command_group *group, const char *word) {
  const char *nearest = command_nearest_verb(group, word);
  say_error(self, 0, "unknown verb ");
  say_quoted(self, word, strlen(word));
  say_text(self, " of ");
  say_text(self, group->name);
  if (nearest) {
    say_text(self, ", did you mean '");
    say_text(self, nearest);
    say_text(self, "'?");
  } else {
    say_text(self, ":");
  }
  say_text(self, " sett help ");
  say_text(self, group->name);
  say_text(self, " lists them");
  return 2;
}

/* Writes the error of an unknown group, and suggests the group with the most similar name. If the word is a verb, the
 * error names the groups that have this verb. */
static int say_unknown_group(command *self, const char *word) {
  command_mistyped mistyped = command_look_for(word);
  size_t i, j, of = 0;
  for (i = 0; i < COMMAND_COUNT(command_groups); ++i) command_compare(&mistyped, command_groups[i].name);
  say_error(self, 0, "unknown group ");
  say_quoted(self, word, strlen(word));
  for (i = 0; !mistyped.nearest && *word && i < COMMAND_COUNT(command_groups); ++i) {
    const command_group *group = &command_groups[i];
    for (j = 0; j < group->count && strcmp(group->verbs[j].name, word); ++j) {}
    if (j == group->count) continue;
    say_text(self, of++ ? " or '" : ", did you mean '");
    say_text(self, group->name);
    say_text(self, " ");
    say_text(self, word);
    say_text(self, "'");
  }
  if (mistyped.nearest) {
    say_text(self, ", did you mean '");
    say_text(self, mistyped.nearest);
    say_text(self, "'");
  }
  say_text(self, mistyped.nearest || of ? "? sett help lists them" : ": sett help lists them");
  return 2;
}

static int say_unknown_option(command *self, const char *word) {
  command_mistyped mistyped = command_look_for(word);
  int k;
  for (k = 0; k < COMMAND_OPTIONS; ++k) command_compare(&mistyped, command_option[k].name);
  command_compare(&mistyped, "--help");
  command_compare(&mistyped, "--version");
  say_error(self, 0, "unknown option ");
  say_quoted(self, word, strlen(word));
  if (mistyped.nearest) {
    say_text(self, ", did you mean '");
    say_text(self, mistyped.nearest);
    say_text(self, "'");
  }
  say_text(self, mistyped.nearest ? "? expected " : ": expected ");
  for (k = 0; k < COMMAND_OPTIONS; ++k) {
    say_text(self, command_option[k].name);
    if (*command_option[k].value) say_text(self, " ");
    say_text(self, command_option[k].value);
    say_text(self, " (of ");
    say_text(self, command_option[k].of);
    say_text(self, "), ");
  }
  say_text(self, "--help or --version");
  return 2;
}

/* ---- help -------------------------------------------------------------------------------------------------------- */

enum { HELP_COLUMN = 40 };

/* Writes one line for each verb, or for each form of the named verb: arguments, meaning, example. */
static int say_help(command *self, const command_group *group, const char *name) {
  size_t i, from;
  const char *what;
  for (i = 0; i < group->count; ++i) {
    if (name && strcmp(group->verbs[i].name, name)) continue;
    if (self->length) say_text(self, "\n");
    from = self->length;
    say_usage(self, group, &group->verbs[i]);
    if (self->length - from > HELP_COLUMN - 2) say_text(self, "\n"), from = self->length;
    say_spaces(self, self->length - from, HELP_COLUMN);
    for (what = group->verbs[i].what; *what; what += *what == '\n') {
      if (what != group->verbs[i].what) say_text(self, "\n"), say_spaces(self, 0, HELP_COLUMN);
      say(self, what, strcspn(what, "\n"));
      what += strcspn(what, "\n");
    }
    say_text(self, "\n    ");
    say_example(self, group, &group->verbs[i]);
  }
  return self->length ? 0 : say_unknown_verb(self, group, name);
}

static void say_version_of(command *self, const char *name, int version) {
  char text[80];
  size_t length =
      (size_t)snprintf(text, sizeof text, "%s %d.%d.%d", name, version / 10000, version / 100 % 100, version % 100);
  say(self, text, length);
}

/* Writes the version of the command, which is the version of sett.h, and the versions of the headers in it. */
static int say_version(command *self) {
#if defined(SETT_WITH_SHAPE)
  say_version_of(self, "sett", SETT_VERSION);
  say_version_of(self, "\nsett_tile.h", SETT_TILE_VERSION);
  say_version_of(self, "\nsett_relayout.h", SETT_RELAYOUT_VERSION);
  say_version_of(self, "\nsett_nested_layout.h", SETT_NESTED_VERSION);
  say_version_of(self, "\nsett_mma_layouts.h", SETT_MMA_VERSION);
  say_version_of(self, "\nsett_notation.h", SETT_NOTATION_VERSION);
  say_version_of(self, "\nsett_move.h", SETT_MOVE_VERSION);
  say_version_of(self, "\nsett_indexing_analysis.h", SETT_ANALYSIS_VERSION);
  say_text(self, "\n");
#endif
  say_version_of(self, "sett_indexing_map.h", SETT_MAP_VERSION);
  return 0;
}

/* Writes one line for each group. */
static int say_overview(command *self) {
  size_t i;
  say_text(self, "sett GROUP VERB ..: questions about layouts, indexing maps and memory accesses\n");
  for (i = 0; i < COMMAND_COUNT(command_groups); ++i) {
    say_text(self, "  ");
    say_text(self, command_groups[i].name);
    say_spaces(self, strlen(command_groups[i].name), 12);
    say_text(self, command_groups[i].what);
    say_text(self, "\n");
  }
  say_text(
      self,
      "sett help GROUP lists the verbs of a group, each with an example. sett --version prints the versions of the headers.\n"
      "If the last word is -, each line of standard input completes the command; tabs separate the words of a line. Each answer is one line,\n"
      "in which \\n stands for the end of a line and \\\\ for \\.\n"
      "Exit status: 0 yes or an answer; 1 no, different or not decided; 2 bad input. With -: 2 if a line was bad input, else 0.");
  return 0;
}

static int command_is_help(const char *word) {
  return !strcmp(word, "help") || !strcmp(word, "--help") || !strcmp(word, "-h");
}

static int command_is_version(const char *word) { return !strcmp(word, "version") || !strcmp(word, "--version"); }

/* Returns true if an argument is this option: --svg, or --svg=FILE. */
static int command_is_option(const char *word, const char *option) {
  size_t length = strlen(option);
  return !strncmp(word, option, length) && (!word[length] || word[length] == '=');
}

/* Removes the options and their values (the next argument, or the text after =) from the arguments. Returns 0 after
 * say_error. */
static int command_options(command *self) {
  const char **words = (const char **)settp_map_take(&self->arena, ((size_t)self->argc + 1) * sizeof *words);
  int i, k, count = 0;
  if (!words) return say_error(self, 0, sett_map_message(SETT_MAP_ERROR_FULL)), 0;
  for (i = 0; i < self->argc; ++i) {
    const char *word = self->argv[i];
    const char *value = strchr(word, '=');
    int flag;
    if (i == 3 && !strcmp(word, "--to") && !strcmp(self->argv[0], "layout") && !strcmp(self->argv[1], "convert"))
      continue; /* for `layout convert`, --to is an argument and not an option */
    for (k = 0; k < COMMAND_OPTIONS && !command_is_option(word, command_option[k].name); ++k) {}
    flag = k < COMMAND_OPTIONS && !*command_option[k].value;
    if (k == COMMAND_OPTIONS) {
      if (!strncmp(word, "--", 2) && !command_is_help(word) && !command_is_version(word))
        return say_unknown_option(self, word), 0;
      words[count++] = word;
    } else if (self->option[k] || (flag ? value != NULL : !value && i + 1 == self->argc)) {
      say_error(self, 0, "expected one ");
      say_text(self, command_option[k].name);
      say_text(self, ", and after it ");
      say_text(self, command_option[k].what);
      return 0;
    } else {
      self->option[k] = flag ? "" : value ? value + 1 : self->argv[++i];
    }
  }
  self->argv = words;
  self->argc = count;
  return 1;
}

/* Completes an error that has a column: writes the text at that column, the argument that contains it, and a similar
 * verb if there is one. */
static void say_found(command *self, const command_group *group, const command_verb *verb) {
  const char *word = self->argv[self->word], *at = word + least(strlen(word), (size_t)self->column - 1), *name,
             *nearest;
  size_t length = strcspn(at, " \t\n"), named;
  name = command_word_name(self, verb, &named);
  if (self->column > 1)
    length =
        (*at == '-') + strspn(at + (*at == '-'), "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
  if (*at && !length) ++length;
  while (((unsigned char)at[length] & 0xC0) == 0x80) ++length;
  if (!*at || *at == '\n') say_text(self, *at ? ", found the end of the line" : ", found the end");
  else if (name || self->column > 1) say_text(self, ", found "), say_quoted(self, at, length);
  if (self->argc - 1 - (*verb->name != 0) > 1) {
    say_text(self, ", in ");
    say(self, name ? name : word, name ? named : strlen(word));
  }
  nearest = *verb->name || self->word != 1 ? NULL : command_nearest_verb(group, word);
  if (!nearest) return;
  say_text(self, "; did you mean '");
  say_text(self, group->name);
  say_text(self, " ");
  say_text(self, nearest);
  say_text(self, "'?");
}

static int command_verb_run(command *self, const command_group *group, const command_verb *verb) {
  int status, k;
  for (k = 0; k < COMMAND_OPTIONS; ++k) {
    if (!self->option[k] || strstr(verb->arguments, command_option[k].name)) continue;
    say_error(self, 0, command_option[k].name);
    say_text(self, " is an option of ");
    say_text(self, command_option[k].of);
    say_text(self, " alone: expected none here");
    return 2;
  }
  self->word = 1 + (*verb->name != 0);
  status = verb->run(self);
  if (status == 2 && self->column > 0 && self->word < self->argc) say_found(self, group, verb);
  return status;
}

static int command_run(command *self) {
  const command_group *group;
  size_t i;
  int named = 0, verbs = 0, words;
  if (!command_options(self)) return 2;
  words = self->argc;
  if (words == 0) return say_error(self, 0, "expected a group and a verb: sett help lists them");
  if (command_is_help(self->argv[0]) && words == 1) return say_overview(self);
  if (command_is_version(self->argv[0]) && words == 1) return say_version(self);
  if (command_is_help(self->argv[0]) && words > 3) return say_error(self, 0, "expected: help [GROUP [VERB]]");
  group = command_find(self->argv[command_is_help(self->argv[0])]);
  if (!group) return say_unknown_group(self, self->argv[command_is_help(self->argv[0])]);
  if (command_is_help(self->argv[0])) return say_help(self, group, words > 2 ? self->argv[2] : NULL);
  if (words == 2 && command_is_help(self->argv[1])) return say_help(self, group, NULL);
  if (words == 3 && command_is_help(self->argv[1])) return say_help(self, group, self->argv[2]);
  if (words == 3 && command_is_help(self->argv[2])) return say_help(self, group, self->argv[1]);
  for (i = 0; i < group->count; ++i) {
    const command_verb *verb = &group->verbs[i];
    verbs += *verb->name != 0;
    if (words < 2 || !*verb->name || strcmp(verb->name, self->argv[1])) continue;
    if (command_takes(verb, words - 2)) return command_verb_run(self, group, verb);
    named = 1;
  }
  if (named) return say_expected(self, group, self->argv[1]);
  for (i = 0; i < group->count; ++i)
    if (!*group->verbs[i].name && command_takes(&group->verbs[i], words - 1))
      return command_verb_run(self, group, &group->verbs[i]);
  if (verbs == 0) return say_expected(self, group, "");
  if (words > 1) return say_unknown_verb(self, group, self->argv[1]);
  say_error(self, 0, "expected a verb: sett help ");
  say_text(self, group->name);
  say_text(self, " lists them");
  return 2;
}

/* ---- memory ----------------------------------------------------------------------------------------------------- */

/* Each command starts with an empty arena of COMMAND_MEMORY bytes. If that is too small, it runs again with twice as
 * much, up to half of the machine's memory. So an answer depends on the arguments and the machine, not on earlier
 * commands. Threads share only one spare block. */
enum { COMMAND_MEMORY = 64 << 20 };

#if !defined(__STDC_NO_ATOMICS__)
static void *_Atomic command_spare; /* a block of COMMAND_MEMORY bytes whose pages are mapped, or NULL */
#endif

static void *command_take(size_t bytes) {
  void *memory = NULL;
#if !defined(__STDC_NO_ATOMICS__)
  if (bytes == COMMAND_MEMORY) memory = atomic_exchange(&command_spare, NULL);
#endif
  return memory ? memory : malloc(bytes);
}

static void command_give_back(void *memory, size_t bytes) {
#if !defined(__STDC_NO_ATOMICS__)
  if (bytes == COMMAND_MEMORY) memory = atomic_exchange(&command_spare, memory);
#else
  (void)bytes;
#endif
  free(memory);
}

static size_t command_most(void) {
#if defined(_SC_PHYS_PAGES) && defined(_SC_PAGESIZE)
  long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  if (pages > 0 && size > 0 && (size_t)pages / 2 < SIZE_MAX / 8 / (size_t)size) return (size_t)pages / 2 * (size_t)size;
#endif
  return SIZE_MAX / 8;
}

#if defined(__GNUC__)
#define SETT_EXPORT __attribute__((visibility("default")))
#else
#define SETT_EXPORT
#endif

/* Runs sett_command for a terminal of `columns` columns (0: no terminal). */
static int command_answer(int argc, const char *const *argv, char *out, size_t capacity, int terminal) {
  command self;
  size_t bytes;
  int status = 2, full = 1;
  memset(&self, 0, sizeof self);
  self.out = out;
  self.capacity = capacity;
  for (bytes = COMMAND_MEMORY; full && (bytes == COMMAND_MEMORY || bytes <= command_most()); bytes *= 2) {
    void *memory = command_take(bytes);
    if (!memory) break;
    self.arena = sett_map_arena_make(memory, bytes);
    self.length = 0;
    self.word = self.column = 0;
    memset(self.option, 0, sizeof self.option);
    self.terminal = terminal;
    self.argc = argc;
    self.argv = argv;
    if (capacity) out[0] = 0;
    status = command_run(&self);
    full = self.arena.full;
    command_give_back(memory, bytes);
  }
  if (bytes == COMMAND_MEMORY) status = say_error(&self, 0, sett_map_message(SETT_MAP_ERROR_FULL));
  if (self.length >= capacity) {
    size_t needed = self.length + 1;
    self.length = 0;
    say_int(&self, (long long)needed);
    status = 3;
  }
  return status;
}

SETT_EXPORT int sett_command(int argc, const char *const *argv, char *out, size_t capacity);

/* Runs one command and writes the answer or `error: ...` to out. Returns 0 for success, 1 for "no", 2 for bad input,
 * and 3 if out is too small; then out contains the number of bytes that the answer needs. Several threads may call it
 * at the same time. */
SETT_EXPORT int sett_command(int argc, const char *const *argv, char *out, size_t capacity) {
  return command_answer(argc, argv, out, capacity, 0);
}

#if defined(SETT_WITH_SHAPE) && !defined(SETT_PLAYGROUND)
SETT_EXPORT const char *sett_relaid(const char *from, const char *to, const void *source, int64_t source_bytes,
                                    void *destination, int64_t destination_bytes);

/* Copies an array from the layout of one shape to the layout of another. Padding of the destination becomes zero. The
 * byte counts are those of the buffers and must equal those of the shapes. Returns NULL, or the reason why nothing was
 * copied. */
SETT_EXPORT const char *sett_relaid(const char *from, const char *to, const void *source, int64_t source_bytes,
                                    void *destination, int64_t destination_bytes) {
  static const unsigned char zero[16] = {0};
  sett_tile_shape of = sett_tile_parse(from, strlen(from)), in = sett_tile_parse(to, strlen(to));
  sett_relayout_plan *plan = (sett_relayout_plan *)malloc(sizeof *plan);
  const char *why = NULL;
  if (!plan) return "expected memory for a plan";
  if (sett_relayout_prepare(plan, &of, &in, zero)) why = sett_relayout_message(plan->error);
  else if (sett_tile_bytes(&of) != source_bytes || sett_tile_bytes(&in) != destination_bytes)
    why = "expected buffers of the shapes' bytes";
  else sett_relayout_run(plan, source, destination, 0, plan->pieces);
  free(plan);
  return why;
}
#endif

#if !defined(SETT_PLAYGROUND)
/* ---- the command ------------------------------------------------------------------------------------------------ */

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

/* Reads a line without its newline. Returns 0 at the end of the input. */
static int read_line(FILE *in, buffer *line) {
  size_t length = 0;
  int c;
  buffer_grow(line, 256);
  while ((c = getc(in)) != EOF && c != '\n') {
    if (length + 2 > line->capacity) buffer_grow(line, line->capacity * 2);
    line->text[length++] = c ? (char)c : '\1'; /* a NUL byte must not end the text, so it becomes \1 */
  }
  if (c == EOF && !length) return 0;
  if (length && line->text[length - 1] == '\r') --length;
  line->text[length] = 0;
  return 1;
}

static int run(int argc, const char *const *argv, buffer *out, int terminal) {
  int status;
  buffer_grow(out, 65536);
  while ((status = command_answer(argc, argv, out->text, out->capacity, terminal)) == 3)
    buffer_grow(out, (size_t)strtoull(out->text, NULL, 10) + 1);
  return status;
}

/* Returns the number of columns of standard output; 0 if it is not a terminal, or if the user wants no colours. */
static int columns_of_terminal(void) {
#if defined(__unix__) || defined(__APPLE__)
  const char *plain = getenv("NO_COLOR"), *term = getenv("TERM");
  struct winsize size;
  if (!isatty(1) || (plain && *plain) || (term && !strcmp(term, "dumb"))) return 0;
  return ioctl(1, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
#else
  return 0;
#endif
}

/* Returns true if the name is a special file, such as /dev/stdout, which must not be replaced by a new file. */
static int is_special(const char *name) {
#if defined(__unix__) || defined(__APPLE__)
  struct stat about;
  return !lstat(name, &about) && !S_ISREG(about.st_mode);
#else
  (void)name;
  return 0;
#endif
}

/* Writes a file under a temporary name and renames it when it is complete, so that nobody reads an incomplete file.
 * Returns 2 if it cannot be written. */
static int write_file(const char *name, const char *text) {
  buffer other = {NULL, 0};
  FILE *file;
  int special = is_special(name), failed, reason;
  buffer_grow(&other, strlen(name) + 5);
  memcpy(other.text, name, strlen(name));
  memcpy(other.text + strlen(name), special ? "" : ".new", special ? 1 : 5);
  file = fopen(other.text, "wb");
  failed = !file || fputs(text, file) < 0 || putc('\n', file) == EOF;
  reason = errno;
  if (file && fclose(file) && !failed) failed = 1, reason = errno;
  if (file && !special && !failed && rename(other.text, name)) failed = 1, reason = errno;
  if (file && !special && failed) remove(other.text);
  if (failed) fprintf(stderr, "error: %s cannot be written: %s\n", name, strerror(reason));
  free(other.text);
  return failed ? 2 : 0;
}

/* Returns the name of the file after --svg, or NULL. */
static const char *svg_file(int argc, const char *const *words) {
  int i;
  for (i = 0; i < argc && !command_is_option(words[i], "--svg"); ++i) {}
  if (i == argc) return NULL;
  return words[i][5] ? words[i] + 6 : i + 1 < argc ? words[i + 1] : NULL;
}

/* Writes the answer as a single line, with \n for the end of a line and \\ for \. */
static void put_line(const char *text) {
  for (; *text; ++text) {
    if (*text == '\n' || *text == '\\') putchar('\\');
    putchar(*text == '\n' ? 'n' : *text);
  }
  putchar('\n');
}

/* Returns the status, or 2 if the answer could not be written. */
static int finish(int status) {
  if (!fflush(stdout) && !ferror(stdout)) return status;
  fputs("error: standard output cannot be written: is the disk full?\n", stderr);
  return 2;
}

/* Runs the `-` mode. Each input line has arguments separated by tabs, which are appended to the arguments before the -.
 * Each answer is one line. */
static int run_lines(int argc, const char *const *argv) {
  buffer line = {NULL, 0}, out = {NULL, 0}, list = {NULL, 0};
  int status = 0;
  while (read_line(stdin, &line)) {
    const char **words;
    char *at;
    int count = argc, tabs = 0;
    for (at = line.text; (at = strchr(at, '\t')) != NULL; ++at) ++tabs;
    buffer_grow(&list, ((size_t)argc + (size_t)tabs + 1) * sizeof *words);
    words = (const char **)(void *)list.text;
    memcpy(words, argv, (size_t)argc * sizeof *words);
    for (at = line.text;; *at++ = 0) {
      words[count++] = at;
      at += strcspn(at, "\t");
      if (!*at) break;
    }
    if (run(count, words, &out, 0) == 2) status = 2;
    put_line(out.text);
  }
  if (ferror(stdin)) { /* such as a folder */
    fputs("error: standard input cannot be read\n", stderr);
    status = 2;
  }
  free(line.text);
  free(out.text);
  free(list.text);
  return finish(status);
}

int main(int argc, char **argv) {
  const char *const *words = (const char *const *)(argv + 1);
  buffer out = {NULL, 0};
  const char *svg = svg_file(argc - 1, words);
  int status;
  --argc;
  if (argc > 1 && !strcmp(words[argc - 1], "-")) {
    if (!svg) return run_lines(argc - 1, words);
    fputs("error: expected --svg with one picture, not with lines\n", stderr);
    return 2;
  }
  status = run(argc, words, &out, columns_of_terminal());
  if (status == 0 && svg) {
    status = write_file(svg, out.text);
    free(out.text);
    return status;
  }
  fputs(out.text, status == 2 ? stderr : stdout);
  putc('\n', status == 2 ? stderr : stdout);
  free(out.text);
  return finish(status);
}
#endif
