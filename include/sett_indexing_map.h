/* sett_indexing_map.h - v0.10 - indexing maps and their algebra: (d0, d1)[s0]{rt0} -> (...), domain: ...
   SPDX-License-Identifier: Apache-2.0

WHAT
  An indexing map is a function from integer variables to integer results. Each variable has an interval of values; constraints restrict the domain
  further. Variables are of three kinds, as in XLA: dimensions (the index of an element, or the ids of a thread), ranges (loop variables: at each
  point of the dimensions, every value is visited) and runtime variables (values that are known only when a program runs). A layout, an HLO
  operation, a schedule and a memory access are all such maps. This header reads, prints, evaluates, composes and simplifies maps, and writes them
  as C expressions. It needs no allocator and no library, only <stddef.h> and <stdint.h>.

INCLUDE
  Copy this one file. C11 or C++17, hosted or freestanding. By default, all functions are static inline, so unused ones take no space.
  Device code does not include this header: it contains a map as the C text that sett_map_print_c wrote.
  The functions can be compiled once for many files, in C and C++: define SETT_DECLARATIONS before the first sett header of each file, and
  SETT_IMPLEMENTATION in exactly one file. To compile the functions of each header in a file of its own, define SETT_DECLARATIONS in that file, include
  the header, define SETT_IMPLEMENTATION, and include the header again. By default, a shared library does not export the functions. Two static
  libraries that both contain the functions can be linked into one program if at least one defines a SETT_PREFIX of its own in all its files.

OPTIONS
  SETT_DECLARATIONS     declare types, constants and prototypes only; functions for devices stay static inline
  SETT_IMPLEMENTATION   define the functions, too, with external linkage. Macros that change the size of a record must be the same in all files
  SETT_PREFIX           a prefix of the linker symbols of public functions that are compiled once; their names in C do not change (GCC and Clang)
  SETT_VISIBILITY       attributes of public functions that are compiled once (default: hidden, so that a shared library does not export them)
  SETT_INLINE           the specifiers of private functions, and of public functions that are not compiled once (default: static inline)
  SETT_FULL_SPEED       with SETT_IMPLEMENTATION: optimise more. Compiling takes 7 s instead of 2.6 s, and simplify takes a sixth less time (gcc 12 -O2)
  SETT_MAP_POINTS_MAX   maximum number of points that a function enumerates if it finds no other proof (default: 65536, at most 2^24)

A FIRST LOOK
    #include <stdio.h>
    #include <string.h>
    #include "sett_indexing_map.h"
    static uint64_t memory[1 << 17];
    int main(void) {
      const char *first = "(t, b)[v] -> (t * 4 + b * 512 + v), domain: t in [0, 127], b in [0, 24575], v in [0, 3]";
      const char *second = "(d0) -> (d0 floordiv 2097152, (d0 floordiv 4096) mod 512, d0 mod 4096), domain: d0 in [0, 12582911]";
      char text[512];
      sett_map_arena arena = sett_map_arena_make(memory, sizeof memory);
      sett_map a = sett_map_parse(&arena, first, strlen(first)), b = sett_map_parse(&arena, second, strlen(second));
      sett_map_print(&arena, sett_map_simplify(&arena, sett_map_compose(&arena, a, b)), text, sizeof text);
      puts(text);
      return 0;
    }
  prints
    (t, b)[v] -> (b floordiv 4096, (b floordiv 8) mod 512, (b mod 8) * 512 + t * 4 + v), domain: t in [0, 127], b in [0, 24575], v in [0, 3]

THE MODEL
  map      (d0, d1)[s0]{rt0} -> (results), domain: d0 in [0, 9], ..., expression in [lo, hi], ...
           Dimensions are in ( ), ranges in [ ], runtime variables in { }. Any names may be used; d0.., s0.., rt0.. are the defaults. The domain
           gives the interval of every variable, then the constraints. There are two special maps: KNOWN EMPTY has no point; UNDEFINED means
           that nothing is known. A sett_map {0} is UNDEFINED.
  operator + - * floordiv mod ceildiv min(a, b) max(a, b) -x, a xor b. floordiv may be written // or /, and mod %. A divisor may be any expression.
           Quotients round down: x floordiv c is floor(x / c) for any sign of c; x mod c = x - c * (x floordiv c); x ceildiv c = -((-x) floordiv c).
           a xor b (the parser also accepts ^) is the exclusive or of 64 bits in two's complement, so it has a value for all a and b. Its precedence
           is lower than that of + and -, as in C and Python: r * 8 + c xor r mod 8 is printed as (r * 8 + c) xor (r mod 8).
           A swizzle is x xor ((x floordiv P) mod N) * T, where P, N and T are powers of two.
  handle   An expression is a handle: the number of a node in the caller's arena. Equal nodes have equal handles.
  domain   The domain is the set of all points inside the bounds where every constraint holds. A point beyond a bound, or where a constraint does
           not hold, is outside, even if another constraint has no value there. At any other point, a constraint or result without a value is an
           error. There is no value if a divisor is 0, or if a number needs more than 64 bits.
           A bound may be -inf or inf, which means no bound, as in n in [1, inf]. INT64_MIN and INT64_MAX are read as -inf and inf. A constraint may
           also be written as a fact: A <= B is read as B - A in [0, inf], likewise <, =, >= and >; `C divides A` is read as A mod C in [0, 0].

FUNCTIONS
  The prototypes below are the table of contents: arena, build, ask, text, evaluate, points, algebra, variables, questions.
  THE NORMAL FORM, a comment in front of the code of sett_map_simplify, describes the form of its results. Each rule has a name, and a comment at
  the function that applies it.

LAWS (tests/algebra/test_indexing_map.py, indexing_map_test.c, indexing_map_ops_test.c and indexing_map_xor_test.c enumerate them)
  L1  parse(print(m)) = m, and print(parse(print(m))) equals print(m) byte by byte
  L2  simplify(m): a point inside m is inside the result, with the same values. A point outside m is outside the result, also beyond the bounds. A point
      where m is an error may be inside, outside or an error. Maps with the same text give results with the same text. simplify does not
      change its own result, unless a budget was used up (see LIMITS)
  L3  compose(a, b)(d; sb, sa; tb, ta) = b(a(d; sa; ta); sb; tb), where sa and sb are the ranges of a and b, and ta and tb their runtime variables. A
      point is inside the result if it is inside a and its image is inside b. It is outside the result if it is outside a, or if it is inside a and its
      image is outside b
  L4  range(m, e) contains every value of e on the domain
  L5  strides: if linear is 1, a result as a function of one variable v in [lo, hi] is value(lo) + stride * (v - lo), and align divides value(lo)
  L6  guards(m): at a point inside m's bounds, all constraints of the result hold exactly if the point is in m's domain
  L7  print_c: computed in the stated type, the text gives the map's values on the domain. Inside the bounds, the text's constraints hold exactly on
      the domain
  L8  replace(m, v, e)(p) = m(p with v = e(p)), where p and e have no variable v. substitute(m, v = k) is replace(m, v, k)
  L9  points_next returns the points of the domain, each once; the last variable changes fastest. An evaluator returns the values of evaluate
  L10 rescale(m)(.., s, ..) = m(.., k * s + r, ..) for every range s with a constraint s mod k = r. remove_unused(m) has the values of m, on the
      projection of m's domain onto the remaining variables. to_dims, to_ranges and move change only the kinds and the order of variables
  L11 congruence(m, e) contains every value of e on the domain
  L12 inverse(m)(m(p)) = p on the domain, and m(inverse(m)(y)) = y for every y in the box that m's domain is mapped onto
  L13 is_injective, covers, is_bijective: a yes or a no is true, and a witness is a counterexample
  L14 image: the intervals contain all results, and the ends of an interval with exact = 1 are results of points. count is -1 or the number of images
      that an enumeration finds. If product is 1, these images are all points whose coordinate i is one of lo, lo + modulus, .., hi of result i
  L15 runs: the fields contiguous, broadcast and vector_width divide the numbers that an enumeration finds, and are equal to them if their flags are 1
  L16 with_xor(m) and without_xor(m) obey L2, with one exception: the result of without_xor, which contains no xor, may change if simplify or
      without_xor is applied to it
  L17 fits(m, t) is 1 exactly if print_c can write m in type t. Without a given type, print_c takes the first of uint, int and long that fits

ANSWERS (in all sett headers)
  If a question may stay undecided, its answer is a record with the fields yes and no. yes is 1 only if yes is proved; no is
  1 only if no is proved. If both are 0, the question is not decided or an input had failed, and the field reason or error
  says why. A function that answers with an int returns 1 for a proved yes and 0 otherwise; an error is in a field or an
  output parameter (sett_map_fits returns it as a negative number). A size, place or index that does not exist is -1. A
  function that returns an error code returns 0 if there is no error. Output parameters are always written; without a value,
  they become -1 or 0. In a list, the field `count` is the number of entries.

ARGUMENTS (in all sett headers)
  Passed by value: numbers, handles (sett_expr), maps (sett_map), short lists and marks (sett_analysis_list,
  sett_nested_counts, sett_map_mark), and device plans, which are kernel arguments. All other records are passed by a pointer
  to const and returned by value. A pointer to non-const points to caller-owned memory that the function writes. An error is
  an int; 0 means no error. sett_<module>_message(error) returns its text, which is a constant string.

ERRORS
  A handle below SETT_MAP_ERROR_COUNT is a failed expression. A failed map has the kind SETT_MAP_FAILED and an error; if it was parsed, also a column,
  counted from 1. A function whose argument has failed returns the same error. The arena stays usable after it was full (arena.full records that)
  and after an overflow. A rule that would overflow is not applied. An expression fails if a divisor is the constant 0, or if an operation on constants
  needs more than 64 bits. A map that contains a failed expression fails, too, with one exception: if the error is OVERFLOW or ZERO_DIVISOR and
  the other constraints leave no point, the map is KNOWN EMPTY. After simplify, a point where a map is an error may have a value or be outside (L2). The
  functions of the laws from L11 on simplify first: for a map with such points, the laws hold for the simplified map.

LIMITS
  Functions that simplify fail with the error DEEP if the simplified quotients, min, max and products nest more than 250 deep; this bounds the depth of
  recursion. Bounds have 64 bits; INT64_MIN and INT64_MAX mean no bound. Texts have at most 64 MiB. Searches have budgets (the constants
  SETTP_MAP_..._MAX). If a budget is used up, the result is correct but less simple, and may change when it is simplified again. Intervals are sound,
  but not always exact. An empty domain is recognised only if the rules or an enumeration show it.

HISTORY
  0.10  rule N7 leaves out an operand of minima and maxima if two others bound it.
  0.9  rule P3 prints shorter dividends of mod with six to eight terms; fewer sums of minima, products or quotients change when simplified again.
  0.8  print_c writes no text after an error; strides and runs refuse a variable that does not exist.
  0.7  sett_map_fits returns errors as negative numbers; rules P3, P5 and P13 print shorter quotients.
  0.6  inf and -inf as bounds; facts in a domain; sett_map_rescale rescales unbounded ranges; simplify ends on unbounded domains.
  0.5  SETT_DECLARATIONS, SETT_IMPLEMENTATION, SETT_PREFIX, SETT_FULL_SPEED.
  0.4  print_c_in; fits; xor: an operation of expressions, and rules X1 to X4 and P7; xor is no variable's name any more. with_xor, without_xor.
       Maps that are linear over the bits of their variables are inverted and compared, and questions about them are answered, by matrices over GF(2).
  0.3  a constraint that does not hold puts a point outside, even if another constraint has no value; rules R9 and C8.
       answers have yes and no; evaluate says why there is no value; new fields points.error and arena.full; new function sett_map_move.
       run.vector is now run.vector_width; sett_map_error_message is now sett_map_message.
  0.2  evaluators, points, rescale, unused variables, ranges and dimensions, replace, inverse, congruence, injective, covers, bijective, image, runs.
  0.1  parse, print, evaluate, compose, substitute, rename, simplify, range, strides, guards, C text, equality.
*/
#ifndef SETT_INDEXING_MAP_H
#define SETT_INDEXING_MAP_H

#define SETT_MAP_VERSION 1000 /* version 0.10.0: 10000 * major + 100 * minor + patch */

#include <stddef.h>
#include <stdint.h>

/* ---- linkage, the same in all sett headers ---- */
#ifndef SETT_INLINE
#define SETT_INLINE static inline
#endif
#ifndef SETT_PUBLIC
#if !defined(SETT_DECLARATIONS) && !defined(SETT_IMPLEMENTATION)
#define SETT_PUBLIC SETT_INLINE
#else
#define SETTP_LINK_SEPARATE
#ifndef SETT_VISIBILITY
#if defined(__GNUC__) && (defined(__ELF__) || defined(__APPLE__))
#define SETT_VISIBILITY __attribute__((__visibility__("hidden")))
#else
#define SETT_VISIBILITY
#endif
#endif
#ifdef __cplusplus
#define SETT_PUBLIC extern "C" SETT_VISIBILITY
#else
#define SETT_PUBLIC extern SETT_VISIBILITY
#endif
#endif
#define SETTP_LINK_QUOTE(text) #text
#define SETTP_LINK_TEXT(text) SETTP_LINK_QUOTE(text)
#define SETTP_LINK_SYMBOL(name) SETTP_LINK_TEXT(__USER_LABEL_PREFIX__) SETTP_LINK_TEXT(SETT_PREFIX) #name
#define SETTP_LINK_RENAME(name) SETT_PUBLIC __typeof__(name) name __asm__(SETTP_LINK_SYMBOL(name));
#elif (defined(SETT_DECLARATIONS) || defined(SETT_IMPLEMENTATION)) && !defined(SETTP_LINK_SEPARATE)
#error "define SETT_DECLARATIONS and SETT_IMPLEMENTATION before the first sett header"
#endif
#if defined(SETT_PREFIX) && defined(SETTP_LINK_SEPARATE) && !defined(__GNUC__)
#error "SETT_PREFIX: expected GCC or Clang"
#endif
#ifndef SETT_MAP_POINTS_MAX
#define SETT_MAP_POINTS_MAX (1 << 16)
#endif

/* ======================================================================= types ==== */

/* The enum of errors and their messages are both made from this list. */
#define SETT_MAP_ERRORS(X)                                                                                  \
  X(OK, "no error")                                                                                         \
  X(FULL, "the arena is full: expected more memory")                                                        \
  X(OVERFLOW, "a value overflows 64 bits: expected smaller numbers")                                        \
  X(ZERO_DIVISOR, "division by zero: expected another divisor")                                             \
  X(DEEP, "expected divisions nested at most 250 deep")                                                     \
  X(LONG, "the text is too long: expected at most 64 MiB")                                                  \
  X(NO_MAP, "the map is UNDEFINED: expected a map with results")                                            \
  X(ARITY, "expected a first map with one result for each dimension of the second")                         \
  X(EXPECTED_OPEN, "expected '(' and the names of the dimensions, KNOWN EMPTY or UNDEFINED")                \
  X(EXPECTED_NAME, "expected a variable name")                                                              \
  X(EXPECTED_NEXT_NAME, "expected ',' or the closing bracket after a variable name")                        \
  X(DUPLICATE, "this name is taken: expected another variable name")                                        \
  X(EXPECTED_ARROW, "expected '->'")                                                                        \
  X(EXPECTED_RESULTS, "expected '(' and the results")                                                       \
  X(EXPECTED_OPERAND, "expected a variable, an integer, '-' or '('")                                        \
  X(EXPECTED_CALL, "expected '(' after min or max")                                                         \
  X(UNKNOWN, "unknown variable, expected one of those declared")                                            \
  X(EXPECTED_OPERATOR, "expected '+', '-', '*', floordiv, mod, ceildiv, xor, ',' or ')'")                   \
  X(EXPECTED_DOMAIN, "expected ', domain:' or the end of the map")                                          \
  X(EXPECTED_IN, "expected 'in [lo, hi]'")                                                                  \
  X(EXPECTED_RELATION, "expected <=, <, =, >=, > or divides")                                               \
  X(EXPECTED_AFFINE, "expected affine_map<..> or affine_set<..>")                                           \
  X(EXPECTED_COLON, "expected ':' and the constraints")                                                     \
  X(EXPECTED_CLOSE, "expected '>'")                                                                         \
  X(EXPECTED_INTEGER, "expected an integer")                                                                \
  X(INTEGER, "expected an integer of 64 bits")                                                              \
  X(EXPECTED_COMMA, "expected ','")                                                                         \
  X(EXPECTED_BRACKET, "expected ']'")                                                                       \
  X(EXPECTED_BOUNDS, "expected a range 'in [lo, hi]' for every variable")                                   \
  X(EXPECTED_END, "expected ',' or the end of the map")                                                     \
  X(NO_POINT, "the map is KNOWN EMPTY: expected a map with points")                                         \
  X(INDEX_TYPE, "the values do not fit: expected a wider index type")                                       \
  X(REPLACEMENT, "a variable stands in its own replacement: expected an expression of the other variables") \
  X(DIVISOR, "a divisor may be zero: expected bounds that exclude 0")

#define SETT_MAP_ERROR_ENUM(name, text) SETT_MAP_ERROR_##name,
enum { SETT_MAP_ERRORS(SETT_MAP_ERROR_ENUM) SETT_MAP_ERROR_COUNT };

/* A handle is the number of an expression in an arena. Equal expressions have equal handles. A handle below SETT_MAP_ERROR_COUNT is an error code:
 * the expression could not be built. A function that gets such a handle as an operand returns it, so a chain of calls needs one check at its end. */
typedef uint32_t sett_expr;

/* Caller-owned memory in which functions store the expressions and maps that they make. Only sett_map_arena_rewind, or making the arena again, frees
 * them. Two functions must not use one arena at the same time. */
typedef struct sett_map_arena {
  unsigned char *memory; /* hash table | nodes, growing up -> ... free ... <- variables, names, results, constraints */
  size_t bytes;          /* size of memory in bytes */
  size_t top;            /* offset in bytes at which the free space ends */
  uint32_t nodes;        /* number of nodes in use */
  uint32_t buckets;      /* size of the hash table, a power of two */
  int full;              /* 1: memory ran out at some time, so answers may be weaker than with more memory */
} sett_map_arena;

typedef struct sett_map_variable {
  const char *name; /* NULL: the variable has the default name of its position (d0, s0, rt0) */
  int64_t lo, hi;   /* inclusive bounds */
} sett_map_variable;

typedef struct sett_map_constraint {
  sett_expr expr;
  int64_t lo, hi; /* the constraint: expr is in [lo, hi] */
} sett_map_constraint;

enum { SETT_MAP_UNDEFINED, SETT_MAP_EMPTY, SETT_MAP_DEFINED, SETT_MAP_FAILED };

typedef struct sett_map {
  int kind;   /* SETT_MAP_UNDEFINED (also the kind of a map {0}), .._EMPTY (KNOWN EMPTY), .._DEFINED or .._FAILED */
  int error;  /* a SETT_MAP_ERROR_... if kind is FAILED */
  int column; /* column of the error in the text, counted from 1; 0 if there was no text */
  int dims, ranges, rts, results, constraints; /* counts */
  const sett_map_variable *variable;           /* dimensions, then ranges, then runtime variables */
  const sett_expr *result;
  const sett_map_constraint *constraint;
} sett_map;

typedef struct sett_map_interval {
  int64_t lo, hi;
} sett_map_interval;

/* ---- arena ---- */
/* Return an empty arena in `memory`. The first address that is used is the first multiple of 8 in `memory`. If size_t has 32 bits, at most 256 MiB are
 * used. If the memory is too small, every function that needs memory fails with FULL. */
SETT_PUBLIC sett_map_arena sett_map_arena_make(void *memory, size_t bytes);
typedef struct sett_map_mark {
  size_t top;
  uint32_t nodes;
} sett_map_mark;
SETT_PUBLIC sett_map_mark sett_map_arena_mark(const sett_map_arena *arena);
/* Free everything that was made after the mark. */
SETT_PUBLIC void sett_map_arena_rewind(sett_map_arena *arena, sett_map_mark mark);
/* The next three functions return sizes in bytes, or SIZE_MAX if size_t cannot hold the size. */
/* Return the size of an arena for this number of nodes. Maps, names and constraints need memory in addition. */
SETT_PUBLIC size_t sett_map_arena_bytes(size_t nodes);
/* Return the size of an arena in which any text of this length can be read and printed. */
SETT_PUBLIC size_t sett_map_parse_bytes(size_t length);
/* Return the number of free bytes that simplify and all questions about this map need to search as far as their budgets allow. With less memory, the
 * functions search less; with still less, they fail with FULL. The number grows with the nodes in the arena. For a small map in a new arena it is 4 to
 * 6 MiB, but only a small part of this memory is accessed. */
SETT_PUBLIC size_t sett_map_simplify_bytes(const sett_map_arena *arena, sett_map map);
SETT_PUBLIC const char *sett_map_message(int error);

/* ---- build expressions: constants are folded, and x+0, x*1, x*0, x floordiv 1, x mod 1, x xor 0 and x xor x are simplified, but nothing else ----
 */
SETT_PUBLIC sett_expr sett_map_constant(sett_map_arena *arena, int64_t value);
/* Return a variable by its index: dimensions are numbered first, then ranges, then runtime variables. */
SETT_PUBLIC sett_expr sett_map_var(sett_map_arena *arena, int index);
SETT_PUBLIC sett_expr sett_map_add(sett_map_arena *arena, sett_expr a, sett_expr b);
SETT_PUBLIC sett_expr sett_map_sub(sett_map_arena *arena, sett_expr a, sett_expr b);
SETT_PUBLIC sett_expr sett_map_mul(sett_map_arena *arena, sett_expr a, sett_expr b);
SETT_PUBLIC sett_expr sett_map_floordiv(sett_map_arena *arena, sett_expr a, sett_expr b);
SETT_PUBLIC sett_expr sett_map_mod(sett_map_arena *arena, sett_expr a, sett_expr b);
SETT_PUBLIC sett_expr sett_map_ceildiv(sett_map_arena *arena, sett_expr a, sett_expr b);
SETT_PUBLIC sett_expr sett_map_min(sett_map_arena *arena, sett_expr a, sett_expr b);
SETT_PUBLIC sett_expr sett_map_max(sett_map_arena *arena, sett_expr a, sett_expr b);
SETT_PUBLIC sett_expr sett_map_xor(sett_map_arena *arena, sett_expr a, sett_expr b);

/* ---- build maps: the arrays and names are copied into the arena. If lo > hi in a variable or a constraint, the map is KNOWN EMPTY. A map with a
 * failed expression is a failed map, with one exception: if the expression's error is OVERFLOW or ZERO_DIVISOR, and no point satisfies the other
 * constraints, the map is KNOWN EMPTY ---- */
SETT_PUBLIC sett_map sett_map_make(sett_map_arena *arena, int dims, int ranges, int rts,
                                   const sett_map_variable *variables, int results, const sett_expr *result,
                                   int constraints, const sett_map_constraint *constraint);
SETT_PUBLIC sett_map sett_map_fail(int error, int column);
SETT_PUBLIC sett_map sett_map_empty(void);
SETT_PUBLIC sett_map sett_map_undefined(void);

/* ---- ask ---- */
SETT_PUBLIC int sett_map_variables(sett_map map); /* Return the number of variables: dims + ranges + rts. */
/* Return the name of a variable. A default name is written to buffer, which has 24 bytes. */
SETT_PUBLIC const char *sett_map_name(sett_map map, int variable, char *buffer);
/* Return the index of the variable with this name, or -1. */
SETT_PUBLIC int sett_map_find(sett_map map, const char *name, size_t length);

/* ---- text ---- */
/* Read a map from a text of `length` bytes, which needs no zero byte at its end. */
SETT_PUBLIC sett_map sett_map_parse(sett_map_arena *arena, const char *text, size_t length);
/* Write at most `capacity` bytes, including a final zero byte if `capacity` > 0. Return the length of the whole text without the zero byte. The text
 * of a failed map or expression is its error. */
SETT_PUBLIC size_t sett_map_print(sett_map_arena *arena, sett_map map, char *out, size_t capacity);
SETT_PUBLIC size_t sett_map_print_expr(sett_map_arena *arena, sett_map map, sett_expr expr, char *out, size_t capacity);

/* ---- evaluate: values has one value per dimension, then per range, then per runtime variable ----
 * Inside the domain: write the results and return 1.
 * Outside the domain: write 0 for each result, return 0, and set *error to 0.
 * Without an answer: write 0 for each result, return 0, and set *error to the reason: a constraint or result has no value (overflow, zero divisor), the
 * map is failed or UNDEFINED, or the arena is full. `error` may be NULL. */
SETT_PUBLIC int sett_map_evaluate(sett_map_arena *arena, sett_map map, const int64_t *values, int64_t *results,
                                  int *error);

/* ---- points: an evaluator is a map prepared once for many evaluations. Its arrays are in the arena. sett_map_evaluator_at returns what
 * sett_map_evaluate returns, and uses no further memory. The function writes to the arrays, so each thread needs its own evaluator ---- */
typedef struct sett_map_evaluator {
  sett_map map;
  const struct settp_map_step *step; /* all operations; the operands of an operation precede it */
  /* the step that computes each constraint, then the step that computes each result */
  const uint32_t *root;
  int64_t *value;
  unsigned char *error;
  uint32_t steps;
  int failed; /* 0, or the error that every point has (the map is failed or UNDEFINED, or the arena is full) */
} sett_map_evaluator;
SETT_PUBLIC sett_map_evaluator sett_map_evaluator_make(sett_map_arena *arena, sett_map map);
SETT_PUBLIC int sett_map_evaluator_at(const sett_map_evaluator *evaluator, const int64_t *values, int64_t *results,
                                      int *error);

/* An iterator over all points of the domain. A point has the values of dimensions, ranges, then runtime variables; the last value changes fastest.
 * sett_map_points_next returns 1 if `point` and `result` hold the next point and its results. After the last point it returns 0. At a point where a
 * constraint or a result has no value, it returns 0 and sets `error`; the next call continues with the next point. The bounds -inf and inf count as
 * INT64_MIN and INT64_MAX.
 * Law: the points are those where sett_map_evaluate returns 1, each once.
 *     it = sett_map_points_begin(&arena, map); while (sett_map_points_next(&it)) use(it.point, it.result); if (it.error) .. */
typedef struct sett_map_points {
  sett_map_evaluator evaluator;
  int64_t *point, *result;
  int error; /* 0, or why the last call returned 0 before the end */
  int state; /* 0: before the first point, 1: at a point, 2: after the last point */
} sett_map_points;
SETT_PUBLIC sett_map_points sett_map_points_begin(sett_map_arena *arena, sett_map map);
SETT_PUBLIC int sett_map_points_next(sett_map_points *points);

/* ---- algebra ---- */
/* Return the simplified map, with the same variables in the same order (law L2). */
SETT_PUBLIC sett_map sett_map_simplify(sett_map_arena *arena, sett_map map);
/* sett_map_with_xor returns the simplified map in which sums of bits modulo 2 are written as xor, even if map has no xor.
 *     (u, v) -> ((u + v) mod 2), domain: u in [0, 1], v in [0, 1]     becomes     (u, v) -> (u xor v), ..
 * sett_map_without_xor returns the simplified map with every a xor b written as a sum, for programs that cannot read xor. A bit j in which both a and b
 * vary becomes 2^j * ((a floordiv 2^j + b floordiv 2^j) mod 2). Adjacent bits in which only a varies, or only b, become one quotient or remainder. The
 * sums are not simplified again. Error OVERFLOW: an operand of a xor has no bounds or bounds beyond [-2^62, 2^62 - 1], or a xor of xors has more than
 * 32 operands.
 * Law L16. */
SETT_PUBLIC sett_map sett_map_with_xor(sett_map_arena *arena, sett_map map);
SETT_PUBLIC sett_map sett_map_without_xor(sett_map_arena *arena, sett_map map);
/* Return the map p -> second(first(p)), not simplified. Law L3 gives the order of its variables. Error ARITY: the number of results of `first` is not
 * the number of dimensions of `second`. */
SETT_PUBLIC sett_map sett_map_compose(sett_map_arena *arena, sett_map first, sett_map second);
/* Replace each variable i with fixed[i] != 0 by values[i], and remove it. The map is KNOWN EMPTY if a value is outside its variable's bounds. */
SETT_PUBLIC sett_map sett_map_substitute(sett_map_arena *arena, sett_map map, const unsigned char *fixed,
                                         const int64_t *values);
/* Return the map with these names, one per variable. A name has letters, digits and _, and begins with no digit. Error EXPECTED_NAME: a name has
 * another form, or is a word of the notation, such as mod. Error DUPLICATE: two names are equal. */
SETT_PUBLIC sett_map sett_map_rename(sett_map_arena *arena, sett_map map, const char *const *names);

/* ---- variables ---- */

/* Return the simplified map in which every range s with a constraint s mod k = r is replaced by k * s + r. This constraint is removed; other
 * constraints stay. If a range has several such constraints, they are first joined by the Chinese remainder theorem.
 * Law: rescale(m)(.., s, ..) = m(.., k * s + r, ..), and the ranges keep their order.
 *     ()[s0] -> (s0), domain: s0 in [0, 99], s0 mod 6 in [3, 3], s0 mod 7 in [5, 5]     becomes     ()[s0] -> (s0 * 42 + 33), domain: s0 in [0, 1] */
SETT_PUBLIC sett_map sett_map_rescale(sett_map_arena *arena, sett_map map);

/* Remove the unused variables of some kinds: `kinds` is a sum of SETT_MAP_DIMS, SETT_MAP_RANGES and SETT_MAP_RTS. Nothing is simplified. Constraints
 * that share variables form a group. A variable is unused if it and all other variables of its group are of these kinds and in no result. The
 * constraints of a group of unused variables are dropped if some point satisfies all of them. If no point does, the map is KNOWN EMPTY. If it is not
 * decided whether there is such a point, the variables of the group stay. If removed is not NULL, it is an array of flags, one per variable; the flag
 * of a removed variable becomes 1, and every other flag 0.
 * Law: the domain is the projection of the old domain, and the values are the same.
 *     (d0, d1)[s0] -> (d1), domain: d0 in [0, 9], d1 in [0, 5], s0 in [0, 7], d0 mod 3 in [0, 0]     becomes     (d0) -> (d0), domain: d0 in [0, 5] */
enum { SETT_MAP_DIMS = 1, SETT_MAP_RANGES = 2, SETT_MAP_RTS = 4, SETT_MAP_ALL_KINDS = 7 };
SETT_PUBLIC sett_map sett_map_remove_unused(sett_map_arena *arena, sett_map map, int kinds, unsigned char *removed);

/* Change the kind of variables. `chosen` has one flag per variable. All variables keep their names.
 * sett_map_to_dims makes the chosen ranges and runtime variables the last dimensions, in their old order; NULL chooses all of them.
 * sett_map_to_ranges makes the chosen dimensions and runtime variables the last ranges, in their old order; NULL chooses all dimensions.
 * Law: only the kinds and the order of the variables change.
 *     (d0)[s0, s1] -> (d0 + s0 + s1), s0 chosen     becomes     (d0, s0)[s1] -> (d0 + s0 + s1) */
SETT_PUBLIC sett_map sett_map_to_dims(sett_map_arena *arena, sett_map map, const unsigned char *chosen);
SETT_PUBLIC sett_map sett_map_to_ranges(sett_map_arena *arena, sett_map map, const unsigned char *chosen);

/* Move the dimension with index `from` to index `to`. The other dimensions keep their order, and all variables keep their names. The result is
 * UNDEFINED if an index is out of range. Use: sett_indexing_analysis.h takes the first dimension as the lanes of a warp, so a caller whose lanes are
 * another dimension moves it to index 0.
 * Law: only the order of the dimensions changes.
 *     (block, thread)[s0] -> (block * 32 + thread), 1 to 0     becomes     (thread, block)[s0] -> (block * 32 + thread) */
SETT_PUBLIC sett_map sett_map_move(sett_map_arena *arena, sett_map map, int from, int to);

/* Replace a variable by `expr`, an expression of the other variables, and remove the variable. `expr` numbers variables as `map` does. The bounds of the
 * variable become a constraint on `expr`. Nothing is simplified. Error REPLACEMENT: `expr` contains the variable itself.
 * Law: replace(m, v, e)(p without v) = m(p with v = e(p)). The point is outside if e(p) is outside v's bounds. */
SETT_PUBLIC sett_map sett_map_replace(sett_map_arena *arena, sett_map map, int variable, sett_expr expr);

/* The answer to a question; see ANSWERS in the manual. A no has a witness, unless its reason alone proves it ("there are more points than
 * images"). Arrays are in the arena. */
typedef struct sett_map_answer {
  int yes, no;        /* `yes` is 1 if the answer is proved to be yes; `no` is 1 if it is proved to be no */
  const char *reason; /* why the answer is not yes; "" if it is yes */
  /* the witness of a no, or NULL. If `point` and `other` are set: two points with the same image. If only `point` is set: a point whose image is
   * outside the box, or where two compared maps differ, or where a fact is false (sett_map_proves of sett_indexing_analysis.h). */
  const int64_t *point, *other;
  const int64_t *missed; /* the witness of a no: a point of the box that is no image, or NULL */
} sett_map_answer;

/* Return the simplified inverse of a bijection from its domain onto a box. The dimensions d0.. of the inverse are the results of map, and the domain of
 * the inverse is the box. The result is UNDEFINED if map has ranges or runtime variables, if it is no such bijection, or if no formula of the inverse
 * was found; why->reason then says why. `why` must not be NULL.
 * Law, proved before the function returns: compose(m, inverse(m)) is the identity on m's domain, and compose(inverse(m), m) is the identity on the box.
 * (If one composition is the identity, the other one is, too, because domain and box have the same number of points.)
 *     (d0, d1) -> (d1, 5 - d0), domain: d0 in [0, 5], d1 in [0, 2]     gives     (d0, d1) -> (5 - d1, d0), domain: d0 in [0, 2], d1 in [0, 5]
 * Method: result i of map gives the equation (result i) = d_i, whose left side is a linear form over atoms (variables and quotients). If a form is
 * k * A + B and B lies in an interval of at most k values, the equation gives A by a quotient and B by a remainder. An atom in two equations is
 * eliminated from one of them. Known atoms are substituted. */
SETT_PUBLIC sett_map sett_map_inverse(sett_map_arena *arena, sett_map map, sett_map_answer *why);

/* ---- questions ---- */
/* Return an interval that contains every value of `expr` on the domain. It is [1, 0] if the domain is known to be empty, and [INT64_MIN, INT64_MAX] if
 * nothing is known. */
SETT_PUBLIC sett_map_interval sett_map_range(sett_map_arena *arena, sett_map map, sett_expr expr);

/* Let value(v) be a result as a function of one variable v, whose lower bound is lo. If `linear` is 1, value(v) = value(lo) + stride * (v - lo)
 * everywhere in the domain, and `align` divides value(lo); `align` is 0 if value(lo) is always 0. If `linear` is 0, no such stride is known. */
typedef struct sett_map_stride {
  int64_t stride, align; /* `stride` is 0 and `align` is 1 if `linear` is 0 */
  int linear;
} sett_map_stride;
/* Write one entry per result to `out`, for the variable with this index. Return 0 or an error. */
SETT_PUBLIC int sett_map_strides(sett_map_arena *arena, sett_map map, int variable, sett_map_stride *out);

/* Return a map with the simplified results and the bounds of map. Its constraints are the tests that a program needs at run time: the constraints that
 * remain after simplification, and the bounds of each variable whose bounds became narrower (unless the constraints imply these bounds). */
SETT_PUBLIC sett_map sett_map_guards(sett_map_arena *arena, sett_map map);

/* Write C text that is valid in C11, OpenCL C 1.2 and CUDA: one line with the type, one line `result EXPR` per result, one line `constraint EXPR` per
 * constraint of sett_map_guards. The EXPR of a constraint is a condition, such as d0 % 3 == 1. The types are uint (32 bits, unsigned), int (32 bits)
 * and long (64 bits). The variables have the names in the map, and the caller declares them with this type. SETT_MAP_ANY_TYPE chooses the first of
 * uint, int and long that computes all lines correctly: results at points inside the domain, constraints at all points inside the bounds. Return the
 * length as sett_map_print does. *error becomes 0 or the error; `error` must not be NULL. After an error, the text is empty, and 0 is returned. */
enum { SETT_MAP_ANY_TYPE, SETT_MAP_UINT, SETT_MAP_INT, SETT_MAP_LONG };
SETT_PUBLIC size_t sett_map_print_c(sett_map_arena *arena, sett_map map, int type, char *text, size_t capacity,
                                    int *error);
/* Write the text of sett_map_print_c for results that are inserted in a larger expression. `place` says where a result is inserted, and so decides if
 * it needs parentheses. ALONE: the result is the whole expression. COMPARED: it is beside <= or ==. ADDED: it is after `pointer +`. TERM: it is a
 * summand. FACTOR: it is beside * / % >> &. After `pointer +`, a result with a subtraction needs parentheses, too, because an unsigned partial sum may
 * wrap below 0. */
enum { SETT_MAP_ALONE, SETT_MAP_COMPARED, SETT_MAP_ADDED, SETT_MAP_TERM, SETT_MAP_FACTOR };
SETT_PUBLIC size_t sett_map_print_c_in(sett_map_arena *arena, sett_map map, int type, int place, char *text,
                                       size_t capacity, int *error);
/* Return 1 if sett_map_print_c can write the map in this type, and 0 if the type is too narrow (error INDEX_TYPE). If sett_map_print_c has another
 * error, return -error. */
SETT_PUBLIC int sett_map_fits(sett_map_arena *arena, sett_map map, int type);

/* Compare by meaning: yes if both maps have the same domain and the same values there. Points at which a map has no value are ignored. The witness of
 * a no is answer.point, a point at which the maps differ. If the numbers of variables or results differ, the no has no witness. Variables are matched
 * by index; names are ignored. A comparison with UNDEFINED is not decided. */
SETT_PUBLIC sett_map_answer sett_map_equal(sett_map_arena *arena, sett_map a, sett_map b);

/* Bounds of the values of an expression on the domain: lo <= value <= hi, and value = residue modulo modulus. If modulus is 0, the value is always
 * residue. lo and hi are in this residue class too. The bounds are sound, but not always exact. They are exact for a sum of multiples of
 * different variables if the domain has no constraints. An empty domain gives [1, 0]. If nothing is known, the interval is all 64-bit numbers and
 * modulus is 1.
 *     d0 * 12 + s0 * 8 + 3, d0 in [0, 4], s0 in [0, 3]: [3, 75], 3 modulo 4 */
typedef struct sett_map_values {
  int64_t lo, hi, modulus, residue;
} sett_map_values;
SETT_PUBLIC sett_map_values sett_map_congruence(sett_map_arena *arena, sett_map map, sett_expr expr);

/* sett_map_is_injective: no two points of the domain (points of dimensions, ranges and runtime variables) have the same image.
 * sett_map_covers: every point of a box is the image of a point. The box is given by one interval per result.
 * sett_map_is_bijective: both of these, and no image is outside the box. Here, box may be NULL: the box is then the bounding box of the image.
 * The functions first try to prove the answer from the equations of sett_map_inverse. If that fails, they enumerate domains of up to
 * SETT_MAP_POINTS_MAX points.
 *     (d0, d1) -> (d0 * 4 + d1), domain: d0 in [0, 2], d1 in [0, 4]     is not injective: (0, 4) and (1, 0)
 *     (d0) -> (d0 * 2), domain: d0 in [0, 2]     is injective and does not cover [0, 4]: 1 is missed */
SETT_PUBLIC sett_map_answer sett_map_is_injective(sett_map_arena *arena, sett_map map);
SETT_PUBLIC sett_map_answer sett_map_covers(sett_map_arena *arena, sett_map map, const sett_map_interval *box);
SETT_PUBLIC sett_map_answer sett_map_is_bijective(sett_map_arena *arena, sett_map map, const sett_map_interval *box);

/* The set of all images.
 *     value[i]:  bounds of the values of result i.
 *     exact[i]:  1 if result i takes the values lo and hi.
 *     count:     the number of distinct images, or -1; reason says why.
 *     product:   1 if the image is the product of the sets lo, lo + modulus, .., hi of all results. Each set is then exact.
 * Law: count is -1 or the number of images that an enumeration finds, and the product contains exactly the enumerated images.
 *     (d0, d1) -> (d0 floordiv 4, d1 * 3), domain: d0 in [0, 99], d1 in [0, 7]     [0, 24] x [0, 21] by 3, 200 points */
typedef struct sett_map_footprint {
  int results;
  const sett_map_values *value;
  const unsigned char *exact;
  int64_t count;
  int product;
  int error; /* 0, FULL, NO_MAP if the map is UNDEFINED, or the error of a failed map. After an error, `results` is 0 and there are no arrays */
  const char *reason; /* why the number of images is unknown (count is -1) */
} sett_map_footprint;
SETT_PUBLIC sett_map_footprint sett_map_image(sett_map_arena *arena, sett_map map);

/* Runs of a result along a variable v, with the other variables fixed.
 *     contiguous:    the largest number that divides every break, or the extent of v if there is no break. A break is a value of v (v itself, not its
 *                    distance from the lower bound) such that v - 1 and v are in the domain and result(v) is not result(v - 1) + 1.
 *     broadcast:     the same, but a break is a v such that v - 1 and v are in the domain and result(v) is not result(v - 1).
 *     vector_width:  the largest power of two w that divides the extent of v and satisfies these rules for groups of w values, counted from v's lower
 *                    bound: a group is wholly inside or wholly outside the domain, and its results are consecutive and begin with a multiple of w.
 * The numbers are never too large. A flag is 1 if its number is known to be the largest.
 * sett_map_runs writes one entry per result to `out`, for the variable with this index, and returns 0 or an error. After an error all numbers are 1.
 *     (v) -> ((v floordiv 8) * 64 + v mod 8), domain: v in [0, 63]     contiguous 8, broadcast 1, vector_width 8 */
typedef struct sett_map_run {
  int64_t contiguous, broadcast, vector_width;
  int contiguous_exact, broadcast_exact, vector_exact;
} sett_map_run;
SETT_PUBLIC int sett_map_runs(sett_map_arena *arena, sett_map map, int variable, sett_map_run *out);

#if defined(SETTP_LINK_SEPARATE) && defined(SETT_PREFIX)
/* clang-format off */
#define SETT_MAP_FUNCTIONS(X) \
  X(sett_map_arena_make) X(sett_map_arena_mark) X(sett_map_arena_rewind) X(sett_map_arena_bytes) \
  X(sett_map_parse_bytes) X(sett_map_simplify_bytes) X(sett_map_message) X(sett_map_constant) X(sett_map_var) \
  X(sett_map_add) X(sett_map_sub) X(sett_map_mul) X(sett_map_floordiv) X(sett_map_mod) X(sett_map_ceildiv) \
  X(sett_map_min) X(sett_map_max) X(sett_map_xor) X(sett_map_make) X(sett_map_fail) X(sett_map_empty) \
  X(sett_map_undefined) X(sett_map_variables) X(sett_map_name) X(sett_map_find) X(sett_map_parse) X(sett_map_print) \
  X(sett_map_print_expr) X(sett_map_evaluate) X(sett_map_evaluator_make) X(sett_map_evaluator_at) \
  X(sett_map_points_begin) X(sett_map_points_next) X(sett_map_simplify) X(sett_map_with_xor) X(sett_map_without_xor) \
  X(sett_map_compose) X(sett_map_substitute) X(sett_map_rename) X(sett_map_rescale) X(sett_map_remove_unused) \
  X(sett_map_to_dims) X(sett_map_to_ranges) X(sett_map_move) X(sett_map_replace) X(sett_map_inverse) \
  X(sett_map_range) X(sett_map_strides) X(sett_map_guards) X(sett_map_print_c) X(sett_map_print_c_in) \
  X(sett_map_fits) X(sett_map_equal) X(sett_map_congruence) X(sett_map_is_injective) X(sett_map_covers) \
  X(sett_map_is_bijective) X(sett_map_image) X(sett_map_runs)
/* clang-format on */
SETT_MAP_FUNCTIONS(SETTP_LINK_RENAME)
#endif

/* ---- private: the headers that build on this one use it, too ---- */

/* If the functions are compiled once for many files, fewer optimisation passes and less inlining save more than half of the compile time. */
#if defined(SETTP_LINK_SEPARATE) && !defined(SETT_FULL_SPEED) && defined(__OPTIMIZE__) && !defined(__OPTIMIZE_SIZE__)
#if defined(__clang__)
#define SETTP_MAP_QUICK _Pragma("clang attribute push(__attribute__((__cold__)), apply_to = function)")
#define SETTP_MAP_QUICK_END _Pragma("clang attribute pop")
#elif defined(__GNUC__) && __GNUC__ >= 11
#define SETTP_MAP_FEWER_PASSES
#define SETTP_MAP_QUICK                                                                   \
  _Pragma("GCC push_options") _Pragma("GCC optimize(\"O1\", \"inline-small-functions\")") \
      _Pragma("GCC optimize(\"no-tree-dominator-opts\", \"no-tree-loop-optimize\", \"no-move-loop-invariants\")")
#define SETTP_MAP_QUICK_END _Pragma("GCC pop_options")
#endif
#endif
#ifndef SETTP_MAP_QUICK
#define SETTP_MAP_QUICK
#define SETTP_MAP_QUICK_END
#endif

/* The specifiers of functions that are not inlined: the rare part of a function, so that its usual part is short enough to be inlined. */
#if defined(__GNUC__)
#define SETTP_MAP_APART static __attribute__((__noinline__, __unused__))
#else
#define SETTP_MAP_APART SETT_INLINE
#endif

#if defined(__GNUC__)
SETT_INLINE int settp_map_add(int64_t a, int64_t b, int64_t *out) { return __builtin_add_overflow(a, b, out); }
SETT_INLINE int settp_map_mul(int64_t a, int64_t b, int64_t *out) { return __builtin_mul_overflow(a, b, out); }
#else
SETT_INLINE int settp_map_add(int64_t a, int64_t b, int64_t *out) {
  if (b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b) return 1;
  *out = a + b;
  return 0;
}
SETT_INLINE int settp_map_mul(int64_t a, int64_t b, int64_t *out) {
  if (a && b) {
    if ((a == -1 && b == INT64_MIN) || (b == -1 && a == INT64_MIN)) return 1;
    if (a > 0 ? (b > 0 ? a > INT64_MAX / b : b < INT64_MIN / a) : (b > 0 ? a < INT64_MIN / b : b < INT64_MAX / a))
      return 1;
  }
  *out = a * b;
  return 0;
}
#endif

typedef struct settp_map_node {
  int64_t value; /* the constant, or the index of the variable, or the operands a (low 32 bits) and b (high 32 bits) */
  uint32_t next; /* the next node of the same bucket of the hash table */
  uint32_t mark; /* index of the node in the list that settp_map_list is making */
  uint32_t op;
} settp_map_node;

/* Return the offset of the first free byte after the nodes. */
SETT_INLINE size_t settp_map_low(const sett_map_arena *arena) {
  return (size_t)arena->buckets * sizeof(uint32_t) + (size_t)arena->nodes * sizeof(settp_map_node);
}

/* Take memory from the upper end of the free space; return NULL if there is not enough. */
SETT_INLINE void *settp_map_take(sett_map_arena *arena, size_t bytes) {
  size_t low = settp_map_low(arena), size = (bytes + 7) & ~(size_t)7;
  if (size < bytes || arena->top < low || size > arena->top - low) {
    arena->full = 1;
    return NULL;
  }
  arena->top -= size;
  return arena->memory + arena->top;
}

#ifdef SETTP_MAP_FEWER_PASSES
#pragma push_macro("SETT_INLINE")
#undef SETT_INLINE
#define SETT_INLINE static __attribute__((__unused__))
#endif
SETTP_MAP_QUICK

/* ======================================================================= functions that other sett headers use, too ==== */

/* Write the quotient rounded towards minus infinity. b must not be 0. Only INT64_MIN / -1 overflows. */
SETT_INLINE int settp_map_floordiv(int64_t a, int64_t b, int64_t *out) {
  if (b == -1) return settp_map_mul(a, -1, out);
  *out = a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
  return 0;
}

/* Return a - b * floor(a / b), which has the sign of b. */
SETT_INLINE int64_t settp_map_mod(int64_t a, int64_t b) {
  int64_t r;
  if (a >= 0 && a < b) return a; /* the usual case, handled first because a division is slow */
  if (b == -1) return 0;
  r = a % b;
  return (r != 0 && (r < 0) != (b < 0)) ? r + b : r;
}

SETT_INLINE int settp_map_ceildiv(int64_t a, int64_t b, int64_t *out) {
  if (b == -1) return settp_map_mul(a, -1, out);
  *out = a / b + ((a % b != 0 && (a < 0) == (b < 0)) ? 1 : 0);
  return 0;
}

/* Return floor(a / b) for b > 0. It cannot overflow. */
SETT_INLINE int64_t settp_map_floor(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

/* Return the greatest common divisor of the absolute values. INT64_MIN counts as 1. */
SETT_INLINE int64_t settp_map_gcd(int64_t a, int64_t b) {
  if (a == INT64_MIN || b == INT64_MIN) return 1;
  if (a < 0) a = -a;
  if (b < 0) b = -b;
  if (a == 1 || b == 1) return 1;
  while (b > UINT32_MAX || (b && a > UINT32_MAX)) {
    int64_t t = a % b;
    a = b;
    b = t;
  }
  while (b) { /* a 32-bit division is faster than one of 64 bits */
    uint32_t t = (uint32_t)a % (uint32_t)b;
    a = b;
    b = t;
  }
  return a;
}

/* Negate a bound of an interval. */
SETT_INLINE int64_t settp_map_neg(int64_t a) { return a == INT64_MIN ? INT64_MAX : a == INT64_MAX ? INT64_MIN : -a; }

SETT_INLINE int64_t settp_map_ceil(int64_t a, int64_t b) { return a / b + (a % b > 0 ? 1 : 0); }

/* Arithmetic on bounds saturates: INT64_MIN and INT64_MAX mean "no bound". */
SETT_INLINE int64_t settp_map_sat_add(int64_t a, int64_t b) {
  int64_t r;
  if (a == INT64_MIN || b == INT64_MIN) return INT64_MIN;
  if (a == INT64_MAX || b == INT64_MAX) return INT64_MAX;
  if (settp_map_add(a, b, &r)) return a < 0 ? INT64_MIN : INT64_MAX;
  return r;
}

SETT_INLINE int64_t settp_map_sat_mul(int64_t a, int64_t b) {
  int64_t r;
  if (!a || !b) return 0;
  if (a == INT64_MIN || a == INT64_MAX || b == INT64_MIN || b == INT64_MAX || settp_map_mul(a, b, &r))
    return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
  return r;
}

SETT_INLINE int64_t settp_map_sat_floor(int64_t a, int64_t b) { /* b > 0 */
  return a == INT64_MIN || a == INT64_MAX ? a : settp_map_floor(a, b);
}

SETT_INLINE sett_map_interval settp_map_interval(int64_t lo, int64_t hi) {
  sett_map_interval r;
  r.lo = lo;
  r.hi = hi;
  return r;
}

/* If a bound overflows in either direction, it is replaced by "no bound", because nothing is known about numbers beyond 64 bits. */
SETT_INLINE sett_map_interval settp_map_interval_add(sett_map_interval a, sett_map_interval b) {
  sett_map_interval r;
  if (a.lo == INT64_MIN || b.lo == INT64_MIN || settp_map_add(a.lo, b.lo, &r.lo)) r.lo = INT64_MIN;
  if (a.hi == INT64_MAX || b.hi == INT64_MAX || settp_map_add(a.hi, b.hi, &r.hi)) r.hi = INT64_MAX;
  return r;
}

SETT_INLINE sett_map_interval settp_map_interval_scale(sett_map_interval a, int64_t k) {
  sett_map_interval r;
  int no_lo = k < 0 ? a.hi == INT64_MAX : a.lo == INT64_MIN, no_hi = k < 0 ? a.lo == INT64_MIN : a.hi == INT64_MAX;
  if (!k) return settp_map_interval(0, 0);
  if (no_lo || settp_map_mul(k < 0 ? a.hi : a.lo, k, &r.lo)) r.lo = INT64_MIN;
  if (no_hi || settp_map_mul(k < 0 ? a.lo : a.hi, k, &r.hi)) r.hi = INT64_MAX;
  return r;
}

/* Return the interval of the integers x with k * x in r, for k that is not 0 or INT64_MIN. */
SETT_INLINE sett_map_interval settp_map_interval_divide(sett_map_interval r, int64_t k) {
  if (k < 0) r = settp_map_interval(settp_map_neg(r.hi), settp_map_neg(r.lo)), k = -k;
  if (r.lo != INT64_MIN && r.lo != INT64_MAX) r.lo = settp_map_ceil(r.lo, k);
  if (r.hi != INT64_MIN && r.hi != INT64_MAX) r.hi = settp_map_floor(r.hi, k);
  return r;
}

/* Write the interval of the integers x such that x + y is in r for some y in `other`. Return 0 if a bound overflows, or if `other` is not bounded. */
SETT_INLINE int settp_map_interval_less(sett_map_interval r, sett_map_interval other, sett_map_interval *out) {
  return other.lo != INT64_MIN && other.hi != INT64_MAX && !settp_map_add(r.lo, settp_map_neg(other.hi), &out->lo) &&
         !settp_map_add(r.hi, settp_map_neg(other.lo), &out->hi);
}

SETT_INLINE sett_map_interval settp_map_interval_meet(sett_map_interval a, sett_map_interval b) {
  return settp_map_interval(a.lo > b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi);
}

SETT_INLINE int64_t settp_map_min4(int64_t a, int64_t b, int64_t c, int64_t d) {
  int64_t x = a < b ? a : b, y = c < d ? c : d;
  return x < y ? x : y;
}

SETT_INLINE int64_t settp_map_max4(int64_t a, int64_t b, int64_t c, int64_t d) {
  int64_t x = a > b ? a : b, y = c > d ? c : d;
  return x > y ? x : y;
}

enum {
  SETTP_MAP_CONST,
  SETTP_MAP_VAR,
  SETTP_MAP_ADD,
  SETTP_MAP_MUL,
  SETTP_MAP_MOD,
  SETTP_MAP_FLOORDIV,
  SETTP_MAP_CEILDIV,
  SETTP_MAP_MIN,
  SETTP_MAP_MAX,
  SETTP_MAP_XOR
};

/* Return the exclusive or in two's complement, which has a value for all a and b. */
SETT_INLINE int64_t settp_map_xor(int64_t a, int64_t b) { return (int64_t)((uint64_t)a ^ (uint64_t)b); }

/* Return the smallest 2^k - 1 that is at least v. */
SETT_INLINE uint64_t settp_map_ones(uint64_t v) {
  int shift;
  for (shift = 1; shift < 64; shift *= 2) v |= v >> shift;
  return v;
}

/* Bits above the highest bit in which the ends of an interval differ are the same in all values of the interval. If the signs of the ends differ,
 * there are no such bits. */
SETT_INLINE sett_map_interval settp_map_interval_xor(sett_map_interval a, sett_map_interval b) {
  uint64_t vary = settp_map_ones(((uint64_t)a.lo ^ (uint64_t)a.hi) | ((uint64_t)b.lo ^ (uint64_t)b.hi)), same;
  if (a.lo == INT64_MIN || a.hi == INT64_MAX || b.lo == INT64_MIN || b.hi == INT64_MAX)
    return settp_map_interval(a.lo < 0 || b.lo < 0 ? INT64_MIN : 0, INT64_MAX);
  if (vary >> 63) {
    vary = settp_map_ones((uint64_t)(a.lo < 0 ? ~a.lo : a.lo) | (uint64_t)(a.hi < 0 ? ~a.hi : a.hi) |
                          (uint64_t)(b.lo < 0 ? ~b.lo : b.lo) | (uint64_t)(b.hi < 0 ? ~b.hi : b.hi));
    return settp_map_interval(~(int64_t)vary, (int64_t)vary);
  }
  same = ((uint64_t)a.lo ^ (uint64_t)b.lo) & ~vary;
  return settp_map_interval((int64_t)same, (int64_t)(same | vary));
}

/* Return an interval that contains op(x, y) for all x in a and y in b at which the operation has a value. */
SETT_INLINE sett_map_interval settp_map_interval_op(int op, sett_map_interval a, sett_map_interval b) {
  sett_map_interval r = settp_map_interval(INT64_MIN, INT64_MAX);
  switch (op) {
    case SETTP_MAP_ADD: return settp_map_interval_add(a, b);
    case SETTP_MAP_MUL: {
      if (b.lo == b.hi) return settp_map_interval_scale(a, b.lo);
      int64_t p = settp_map_sat_mul(a.lo, b.lo), q = settp_map_sat_mul(a.lo, b.hi), s = settp_map_sat_mul(a.hi, b.lo),
              t = settp_map_sat_mul(a.hi, b.hi);
      r = settp_map_interval(settp_map_min4(p, q, s, t), settp_map_max4(p, q, s, t));
      return settp_map_interval(r.lo == INT64_MAX ? INT64_MIN : r.lo, r.hi == INT64_MIN ? INT64_MAX : r.hi);
    }
    case SETTP_MAP_MIN: return settp_map_interval(a.lo < b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi);
    case SETTP_MAP_MAX: return settp_map_interval(a.lo > b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi);
    case SETTP_MAP_XOR: return settp_map_interval_xor(a, b);
    case SETTP_MAP_FLOORDIV:
    case SETTP_MAP_CEILDIV:
      if (b.lo == 0) b.lo = 1; /* a divisor of 0 gives no value, so it is excluded from the interval */
      if (b.hi == 0) b.hi = -1;
      if (b.lo > b.hi) return r;
      if (op == SETTP_MAP_FLOORDIV && b.lo == b.hi && b.lo > 0) {
        if (a.lo != INT64_MIN && a.hi != INT64_MAX)
          r = settp_map_interval(settp_map_floor(a.lo, b.lo), settp_map_floor(a.hi, b.lo));
        return r;
      }
      /* the magnitude of a quotient is at most that of its dividend, also after rounding, because the dividend is an integer */
      if (b.lo < 0 && b.hi > 0) {
        int64_t n;
        if (a.lo == INT64_MIN || a.hi == INT64_MAX) return r;
        n = settp_map_max4(a.hi, -(a.lo + 1) + 1 < 0 ? INT64_MAX : -(a.lo + 1) + 1, a.lo, -a.hi);
        return n == INT64_MAX ? r : settp_map_interval(-n, n);
      }
      {
        int64_t x[4], y[2], z[2];
        int i;
        if (a.lo == INT64_MIN || a.hi == INT64_MAX || b.lo == INT64_MIN || b.hi == INT64_MAX) return r;
        y[0] = a.lo, y[1] = a.hi, z[0] = b.lo, z[1] = b.hi;
        for (i = 0; i < 4; ++i)
          if (op == SETTP_MAP_FLOORDIV ? settp_map_floordiv(y[i & 1], z[i >> 1], &x[i])
                                       : settp_map_ceildiv(y[i & 1], z[i >> 1], &x[i]))
            return r;
        return settp_map_interval(settp_map_min4(x[0], x[1], x[2], x[3]), settp_map_max4(x[0], x[1], x[2], x[3]));
      }
    case SETTP_MAP_MOD:
      if (b.lo == INT64_MIN || b.hi == INT64_MAX || (!b.lo && !b.hi)) return r;
      r = settp_map_interval(b.lo < 0 ? b.lo + 1 : 0, b.hi > 0 ? b.hi - 1 : 0);
      if (b.lo > 0 && a.lo >= 0) r.hi = r.hi < a.hi ? r.hi : a.hi;
      if (b.lo == b.hi && b.lo > 0 && a.lo != INT64_MIN && a.hi != INT64_MAX &&
          settp_map_floor(a.lo, b.lo) == settp_map_floor(a.hi, b.lo)) {
        int64_t first = settp_map_mod(a.lo, b.lo);
        return settp_map_interval(first, first + (a.hi - a.lo));
      }
      return r;
    default: return r;
  }
}

/* Compute one operation on values; return 0 or an error. */
SETT_INLINE int settp_map_apply(int op, int64_t a, int64_t b, int64_t *out) {
  int failed = 0;
  switch (op) {
    case SETTP_MAP_ADD: failed = settp_map_add(a, b, out); break;
    case SETTP_MAP_MUL: failed = settp_map_mul(a, b, out); break;
    case SETTP_MAP_MIN: *out = a < b ? a : b; break;
    case SETTP_MAP_MAX: *out = a > b ? a : b; break;
    case SETTP_MAP_XOR: *out = settp_map_xor(a, b); break;
    default:
      if (!b) return SETT_MAP_ERROR_ZERO_DIVISOR;
      if (op == SETTP_MAP_MOD) *out = settp_map_mod(a, b);
      else failed = op == SETTP_MAP_FLOORDIV ? settp_map_floordiv(a, b, out) : settp_map_ceildiv(a, b, out);
  }
  return failed ? SETT_MAP_ERROR_OVERFLOW : 0;
}

SETT_INLINE uint32_t *settp_map_buckets(const sett_map_arena *arena) { return (uint32_t *)(void *)arena->memory; }

SETT_INLINE settp_map_node *settp_map_nodes(const sett_map_arena *arena) {
  return (settp_map_node *)(void *)(arena->memory + (size_t)arena->buckets * sizeof(uint32_t));
}

SETT_INLINE settp_map_node *settp_map_at(const sett_map_arena *arena, sett_expr e) {
  return settp_map_nodes(arena) + e;
}

SETT_INLINE uint32_t settp_map_a(const settp_map_node *n) { return (uint32_t)((uint64_t)n->value & 0xffffffffu); }

SETT_INLINE uint32_t settp_map_b(const settp_map_node *n) { return (uint32_t)((uint64_t)n->value >> 32); }

/* Copy bytes; the two areas may overlap. */
SETT_INLINE void settp_map_copy(void *to, const void *from, size_t bytes) {
#if defined(__GNUC__)
  if (bytes) __builtin_memmove(to, from, bytes);
#else
  unsigned char *d = (unsigned char *)to;
  const unsigned char *s = (const unsigned char *)from;
  size_t i;
  if (d < s)
    for (i = 0; i < bytes; ++i) d[i] = s[i];
  else
    for (i = bytes; i > 0; --i) d[i - 1] = s[i - 1];
#endif
}

/* Set all numbers of a record to 0, and all pointers to NULL. */
SETT_INLINE void settp_map_clear(void *record, size_t bytes) {
#if defined(__GNUC__)
  __builtin_memset(record, 0, bytes);
#else
  while (bytes) ((unsigned char *)record)[--bytes] = 0;
#endif
}

SETT_INLINE uint32_t settp_map_hash(uint64_t a, uint64_t b) {
  uint64_t h = a * UINT64_C(0x9E3779B97F4A7C15) ^ (b + UINT64_C(0x632BE59BD9B4E019)) * UINT64_C(0xD6E8FEB86659FD93);
  h ^= h >> 32;
  h *= UINT64_C(0xD6E8FEB86659FD93);
  return (uint32_t)(h >> 32);
}

SETT_INLINE uint32_t settp_map_bucket(const sett_map_arena *arena, uint32_t op, int64_t value) {
  return settp_map_hash((uint64_t)value, op) & (arena->buckets - 1);
}

SETT_INLINE sett_expr settp_map_intern(sett_map_arena *arena, uint32_t op, int64_t value) {
  uint32_t *bucket, i;
  settp_map_node *n;
  if (!arena->buckets) {
    arena->full = 1;
    return SETT_MAP_ERROR_FULL;
  }
  bucket = settp_map_buckets(arena) + settp_map_bucket(arena, op, value);
  for (i = *bucket; i; i = n->next) {
    n = settp_map_at(arena, i);
    if (n->op == op && n->value == value) return i;
  }
  if (arena->top < settp_map_low(arena) + sizeof(settp_map_node) || arena->nodes > 0x7fffffff) {
    arena->full = 1;
    return SETT_MAP_ERROR_FULL;
  }
  n = settp_map_at(arena, arena->nodes);
  n->value = value;
  n->op = op;
  n->mark = 0;
  n->next = *bucket;
  *bucket = arena->nodes;
  return arena->nodes++;
}

SETT_INLINE int settp_map_is_constant(const sett_map_arena *arena, sett_expr e, int64_t *value) {
  const settp_map_node *n;
  if (e < SETT_MAP_ERROR_COUNT) return 0;
  n = settp_map_at(arena, e);
  *value = n->value;
  return n->op == SETTP_MAP_CONST;
}

SETT_INLINE sett_expr settp_map_binary(sett_map_arena *arena, int op, sett_expr a, sett_expr b) {
  int64_t x = 0, y = 0, r = 0;
  int ca, cb, error;
  if (a < SETT_MAP_ERROR_COUNT) return a;
  if (b < SETT_MAP_ERROR_COUNT) return b;
  ca = settp_map_is_constant(arena, a, &x);
  cb = settp_map_is_constant(arena, b, &y);
  if (ca && cb) {
    error = settp_map_apply(op, x, y, &r);
    return error ? (sett_expr)error : sett_map_constant(arena, r);
  }
  /* a constant becomes the right operand */
  if (ca && (op == SETTP_MAP_ADD || op == SETTP_MAP_MUL || op == SETTP_MAP_XOR)) {
    sett_expr t = a;
    a = b;
    b = t;
    y = x;
    cb = 1;
  }
  if (cb && (op == SETTP_MAP_ADD || op == SETTP_MAP_MUL || op == SETTP_MAP_XOR)) {
    const settp_map_node *n = settp_map_at(arena, a);
    int64_t z;
    if (op != SETTP_MAP_MUL && !y) return a;
    if (op == SETTP_MAP_MUL && (y == 1 || !y)) return y ? a : b;
    /* fold constants z and y: (e + z) + y becomes e + (z + y); likewise for * and xor */
    if (n->op == (uint32_t)op && settp_map_is_constant(arena, settp_map_b(n), &z)) {
      sett_expr inner = settp_map_a(n);
      error = settp_map_apply(op, z, y, &r);
      return error ? (sett_expr)error : settp_map_binary(arena, op, inner, sett_map_constant(arena, r));
    }
  }
  /* (e + z) + b becomes (e + b) + z, and likewise for a + (e + z), so that a constant is the last summand */
  if (op == SETTP_MAP_ADD && !cb) {
    int side;
    for (side = 0; side < 2; ++side) {
      const settp_map_node *n = settp_map_at(arena, side ? b : a);
      int64_t z;
      if (n->op == SETTP_MAP_ADD && settp_map_is_constant(arena, settp_map_b(n), &z)) {
        sett_expr inner = settp_map_a(n), constant = settp_map_b(n);
        return settp_map_binary(
            arena, op, side ? settp_map_binary(arena, op, a, inner) : settp_map_binary(arena, op, inner, b), constant);
      }
    }
  }
  /* a + (s + t) becomes (a + s) + t, so that expressions that print alike are one node. A long sum keeps its parentheses */
  if (op == SETTP_MAP_ADD && settp_map_at(arena, b)->op == SETTP_MAP_ADD) {
    sett_expr part[64], e = b;
    int count = 0;
    for (; count < 63 && settp_map_at(arena, e)->op == SETTP_MAP_ADD; e = settp_map_a(settp_map_at(arena, e)))
      part[count++] = settp_map_b(settp_map_at(arena, e));
    if (settp_map_at(arena, e)->op != SETTP_MAP_ADD) {
      for (part[count++] = e; count && a >= SETT_MAP_ERROR_COUNT; --count)
        a = settp_map_intern(arena, SETTP_MAP_ADD, (int64_t)((uint64_t)part[count - 1] << 32 | a));
      return a;
    }
  }
  if (cb && op > SETTP_MAP_MUL && op < SETTP_MAP_MIN) {
    if (!y) return SETT_MAP_ERROR_ZERO_DIVISOR;
    if (y == 1) return op == SETTP_MAP_MOD ? sett_map_constant(arena, 0) : a;
  }
  if ((op == SETTP_MAP_MIN || op == SETTP_MAP_MAX) && a == b) return a;
  if (op == SETTP_MAP_XOR && a == b) return sett_map_constant(arena, 0);
  return settp_map_intern(arena, (uint32_t)op, (int64_t)((uint64_t)b << 32 | a));
}

/* The nodes of some root expressions, each once, with operands before their operation. The order depends on the roots only, not on what the arena
 * contained before. A node's mark is its index in the list. */
typedef struct settp_map_list {
  uint32_t *handle;
  uint32_t count, capacity;
} settp_map_list;

SETT_INLINE int settp_map_list_room(sett_map_arena *arena, settp_map_list *list, uint32_t more) {
  uint32_t capacity = list->capacity ? list->capacity : 64;
  uint32_t *grown;
  if (list->count + more <= list->capacity) return 1;
  while (capacity < list->count + more) capacity *= 2;
  grown = (uint32_t *)settp_map_take(arena, (size_t)capacity * sizeof(uint32_t));
  if (!grown) return 0;
  settp_map_copy(grown, list->handle, (size_t)list->count * sizeof(uint32_t));
  list->handle = grown;
  list->capacity = capacity;
  return 1;
}

SETT_INLINE int settp_map_list_has(const settp_map_list *list, const settp_map_node *n, sett_expr e) {
  return n->mark < list->count && list->handle[n->mark] == e;
}

/* Add e, whose node is n, if it is a constant or a variable that the list lacks. Return 1 if e is now in the list, 0 if e is an operation that the
 * list lacks, or SETTP_MAP_LIST_FULL. */
enum { SETTP_MAP_LIST_FULL = 2 };

SETT_INLINE int settp_map_list_leaf(sett_map_arena *arena, settp_map_list *list, settp_map_node *n, sett_expr e) {
  if (settp_map_list_has(list, n, e)) return 1;
  if (n->op >= SETTP_MAP_ADD) return 0;
  if (list->count == list->capacity && !settp_map_list_room(arena, list, 1)) return SETTP_MAP_LIST_FULL;
  n->mark = list->count;
  list->handle[list->count++] = e;
  return 1;
}

/* Add e and all nodes that it depends on. */
SETT_INLINE int settp_map_list_push(sett_map_arena *arena, settp_map_list *list, sett_expr e) {
  const uint32_t after = UINT32_C(0x80000000); /* mark of a stack entry whose operands were already added */
  settp_map_node *node = settp_map_nodes(arena), *n;
  settp_map_list stack;
  int leaf = settp_map_list_leaf(arena, list, node + e, e);
  if (leaf) return leaf == SETTP_MAP_LIST_FULL ? SETT_MAP_ERROR_FULL : 0;
  settp_map_clear(&stack, sizeof stack);
  if (!settp_map_list_room(arena, &stack, 1)) return SETT_MAP_ERROR_FULL;
  stack.handle[stack.count++] = e;
  while (stack.count) {
    uint32_t top = stack.handle[--stack.count];
    n = node + (top & ~after);
    if (!(top & after)) {
      leaf = settp_map_list_leaf(arena, list, n, top);
      if (leaf == SETTP_MAP_LIST_FULL) return SETT_MAP_ERROR_FULL;
      if (leaf) continue;
      leaf = settp_map_list_leaf(arena, list, node + settp_map_a(n), settp_map_a(n));
      /* -1: operand a is in the list, but operand b must still be added */
      if (leaf == 1) leaf = settp_map_list_leaf(arena, list, node + settp_map_b(n), settp_map_b(n)) == 1 ? 1 : -1;
      if (leaf != 1) {
        if (!settp_map_list_room(arena, &stack, 3)) return SETT_MAP_ERROR_FULL;
        stack.handle[stack.count++] = top | after;
        stack.handle[stack.count++] = settp_map_b(n);
        if (leaf != -1) stack.handle[stack.count++] = settp_map_a(n);
        continue;
      }
    }
    if (list->count == list->capacity && !settp_map_list_room(arena, list, 1)) return SETT_MAP_ERROR_FULL;
    n->mark = list->count;
    list->handle[list->count++] = top & ~after;
  }
  return 0;
}

/* List some expressions and all nodes that they depend on. Return 0 or FULL. */
SETT_INLINE int settp_map_list_of(sett_map_arena *arena, settp_map_list *list, const sett_expr *expr, int count) {
  int i, error = 0;
  settp_map_clear(list, sizeof *list);
  for (i = 0; i < count && !error; ++i) error = settp_map_list_push(arena, list, expr[i]);
  return error;
}

SETT_INLINE int settp_map_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

SETT_INLINE int settp_map_digit(char c) { return c >= '0' && c <= '9'; }

/* Return 1 if two names are equal: `b` has n characters, `a` ends with a zero byte. */
SETT_INLINE int settp_map_same(const char *a, const char *b, size_t n) {
  size_t i;
  for (i = 0; i < n; ++i)
    if (a[i] != b[i] || !a[i]) return 0;
  return !a[n];
}

/* Return the variable that has this default name by its index, or -1. */
SETT_INLINE int settp_map_default_place(const sett_map *map, const char *name, size_t length) {
  int count, first, place = 0;
  size_t at = 1;
  if (length > 1 && name[0] == 'd') {
    count = map->dims;
    first = 0;
  } else if (length > 1 && name[0] == 's') {
    count = map->ranges;
    first = map->dims;
  } else if (length > 2 && name[0] == 'r' && name[1] == 't') {
    count = map->rts;
    first = map->dims + map->ranges;
    at = 2;
  } else {
    return -1;
  }
  if (name[at] == '0' && at + 1 < length) return -1;
  for (; at < length && settp_map_digit(name[at]) && place < count; ++at) place = place * 10 + (name[at] - '0');
  return at == length && place < count ? first + place : -1;
}

SETT_INLINE int settp_map_no_value(int error) {
  return error == SETT_MAP_ERROR_ZERO_DIVISOR || error == SETT_MAP_ERROR_OVERFLOW;
}

/* Return the map that stands for a map with a failed expression. It is KNOWN EMPTY if the expression has no value and the other constraints leave no
 * point. Otherwise it is a failed map. Its error is that of the expression, or FULL if there is not enough memory to decide this. */
SETT_INLINE sett_map settp_map_failed(sett_map_arena *arena, sett_map map, int error) {
  sett_map_mark mark = sett_map_arena_mark(arena);
  sett_map_constraint *constraint;
  int i, n = 0, full = arena->full;
  if (!settp_map_no_value(error)) return sett_map_fail(error, 0);
  arena->full = 0;
  constraint = (sett_map_constraint *)settp_map_take(arena, (size_t)map.constraints * sizeof *constraint + 8);
  for (i = 0; i < map.constraints && constraint; ++i)
    if (map.constraint[i].expr >= SETT_MAP_ERROR_COUNT) constraint[n++] = map.constraint[i];
  map.kind = SETT_MAP_DEFINED;
  map.results = 0;
  map.constraint = constraint;
  map.constraints = n;
  map = constraint ? sett_map_simplify(arena, map) : map;
  sett_map_arena_rewind(arena, mark);
  if (arena->full && map.kind != SETT_MAP_EMPTY) error = SETT_MAP_ERROR_FULL;
  arena->full |= full;
  return map.kind == SETT_MAP_EMPTY ? map : sett_map_fail(error, 0);
}

/* Copy arrays and names of a map into the arena. The sources may be in the free space below `keep`, so the copies may overlap them. */
SETT_INLINE sett_map settp_map_store(sett_map_arena *arena, sett_map map, size_t keep) {
  int i, variables = sett_map_variables(map);
  size_t vb = (size_t)variables * sizeof(sett_map_variable),
         rb = ((size_t)map.results * sizeof(sett_expr) + 7) & ~(size_t)7,
         cb = (size_t)map.constraints * sizeof(sett_map_constraint);
  unsigned char *block, *moved;
  /* copy everything into one block at the lower end, then move the block up */
  block = (unsigned char *)settp_map_take(arena, vb + rb + cb);
  if (!block) {
    arena->top = keep;
    return sett_map_fail(SETT_MAP_ERROR_FULL, 0);
  }
  settp_map_copy(block, map.variable, vb);
  settp_map_copy(block + vb, map.result, (size_t)map.results * sizeof(sett_expr));
  settp_map_copy(block + vb + rb, map.constraint, cb);
  arena->top = keep;
  moved = (unsigned char *)settp_map_take(arena, vb + rb + cb); /* cannot fail, because there was room for the block */
  settp_map_copy(moved, block, vb + rb + cb);
  map.variable = (const sett_map_variable *)(const void *)moved;
  map.result = (const sett_expr *)(const void *)(moved + vb);
  map.constraint = (const sett_map_constraint *)(const void *)(moved + vb + rb);
  for (i = 0; i < variables; ++i)
    if (map.variable[i].lo > map.variable[i].hi) return sett_map_empty();
  for (i = 0; i < map.constraints; ++i)
    if (map.constraint[i].lo > map.constraint[i].hi) return sett_map_empty();
  for (i = 0; i < map.results; ++i)
    if (map.result[i] < SETT_MAP_ERROR_COUNT) return settp_map_failed(arena, map, (int)map.result[i]);
  for (i = 0; i < map.constraints; ++i)
    if (map.constraint[i].expr < SETT_MAP_ERROR_COUNT) return settp_map_failed(arena, map, (int)map.constraint[i].expr);
  map.kind = SETT_MAP_DEFINED;
  map.error = map.column = 0;
  return map;
}

SETT_INLINE const char *settp_map_name_store(sett_map_arena *arena, const char *name, size_t length) {
  char *copy = (char *)settp_map_take(arena, length + 1);
  if (!copy) return NULL;
  settp_map_copy(copy, name, length);
  copy[length] = 0;
  return copy;
}

typedef struct settp_map_out {
  char *text;
  size_t capacity, length, most; /* `most`: the length of the text at which the printing of an expression stops */
  int divisors;                  /* number of divisors that are not constants, in all expressions printed so far */
} settp_map_out;

/* Printing stops at this length, because the text of a shared expression can be exponentially long. */
enum { SETTP_MAP_TEXT_MAX = 1 << 26 };

SETT_INLINE void settp_map_put(settp_map_out *out, const char *text) {
  for (; *text; ++text, ++out->length)
    if (out->length + 1 < out->capacity) out->text[out->length] = *text;
}

SETT_INLINE void settp_map_put_unsigned(settp_map_out *out, uint64_t value) {
  char digits[24];
  int n = 24;
  digits[--n] = 0;
  do {
    digits[--n] = (char)('0' + (int)(value % 10));
    value /= 10;
  } while (value);
  settp_map_put(out, digits + n);
}

SETT_INLINE uint64_t settp_map_magnitude(int64_t value) { return value < 0 ? 0 - (uint64_t)value : (uint64_t)value; }

SETT_INLINE void settp_map_put_int(settp_map_out *out, int64_t value) {
  if (value < 0) settp_map_put(out, "-");
  settp_map_put_unsigned(out, settp_map_magnitude(value));
}

SETT_INLINE size_t settp_map_finish(settp_map_out *out) {
  if (out->capacity) out->text[out->length < out->capacity ? out->length : out->capacity - 1] = 0;
  return out->length;
}

SETT_INLINE settp_map_out settp_map_out_make(char *text, size_t capacity) {
  settp_map_out out;
  settp_map_clear(&out, sizeof out);
  out.text = text;
  out.capacity = capacity;
  out.most = SETTP_MAP_TEXT_MAX;
  return out;
}

typedef struct settp_map_task {
  const char *text;
  uint32_t expr;
  int strong;
} settp_map_task;

typedef struct settp_map_tasks {
  settp_map_task *task;
  uint32_t count, capacity;
  int error;
} settp_map_tasks;

SETT_INLINE void settp_map_task_push(sett_map_arena *arena, settp_map_tasks *tasks, const char *text, sett_expr expr,
                                     int strong) {
  if (tasks->count == tasks->capacity) {
    uint32_t capacity = tasks->capacity ? tasks->capacity * 2 : 32;
    settp_map_task *grown = (settp_map_task *)settp_map_take(arena, (size_t)capacity * sizeof(settp_map_task));
    if (!grown) {
      tasks->error = SETT_MAP_ERROR_FULL;
      return;
    }
    settp_map_copy(grown, tasks->task, (size_t)tasks->count * sizeof(settp_map_task));
    tasks->task = grown;
    tasks->capacity = capacity;
  }
  tasks->task[tasks->count].text = text;
  tasks->task[tasks->count].expr = expr;
  tasks->task[tasks->count++].strong = strong;
}

typedef struct settp_map_parser {
  sett_map_arena *arena;
  const char *text;
  size_t length, at;
  int error;
  size_t error_at;
  /* error of an expression that has no value (it divides by 0, or overflows), and its column; it is reported unless the map has no point */
  int no_value;
  size_t no_value_at;
  sett_map map;
  sett_expr *value;  /* operand stack */
  unsigned char *op; /* operator stack */
  int *op_column;
} settp_map_parser;

SETT_INLINE void settp_map_fail(settp_map_parser *p, int error, size_t at) {
  if (p->error) return;
  p->error = error;
  p->error_at = at;
}

SETT_INLINE settp_map_parser settp_map_parser_make(sett_map_arena *arena, const char *text, size_t length) {
  settp_map_parser p;
  settp_map_clear(&p, sizeof p); /* p.map is UNDEFINED */
  p.arena = arena;
  p.text = text;
  p.length = length;
  return p;
}

SETT_INLINE int settp_map_parser_stacks(settp_map_parser *p) {
  p->value = (sett_expr *)settp_map_take(p->arena, (p->length + 2) * sizeof *p->value);
  p->op = (unsigned char *)settp_map_take(p->arena, p->length + 2);
  p->op_column = (int *)settp_map_take(p->arena, (p->length + 2) * sizeof *p->op_column);
  return p->value && p->op && p->op_column;
}

SETT_INLINE void settp_map_blanks(settp_map_parser *p) {
  while (p->at < p->length &&
         (p->text[p->at] == ' ' || p->text[p->at] == '\t' || p->text[p->at] == '\n' || p->text[p->at] == '\r'))
    ++p->at;
}

SETT_INLINE char settp_map_peek(settp_map_parser *p) {
  settp_map_blanks(p);
  return p->at < p->length ? p->text[p->at] : 0;
}

SETT_INLINE int settp_map_eat(settp_map_parser *p, const char *word) {
  size_t i;
  settp_map_blanks(p);
  for (i = 0; word[i]; ++i)
    if (p->at + i >= p->length || p->text[p->at + i] != word[i]) return 0;
  p->at += i;
  return 1;
}

/* Return the length of the identifier at this position, or 0. */
SETT_INLINE size_t settp_map_word(settp_map_parser *p) {
  size_t n = 0;
  settp_map_blanks(p);
  if (p->at < p->length && settp_map_letter(p->text[p->at]))
    while (p->at + n < p->length && (settp_map_letter(p->text[p->at + n]) || settp_map_digit(p->text[p->at + n]))) ++n;
  return n;
}

SETT_INLINE int settp_map_eat_word(settp_map_parser *p, const char *word) {
  size_t n = settp_map_word(p);
  if (!n || !settp_map_same(word, p->text + p->at, n)) return 0;
  p->at += n;
  return 1;
}

SETT_INLINE int settp_map_keyword(const char *text, size_t n) {
  return settp_map_same("mod", text, n) || settp_map_same("floordiv", text, n) || settp_map_same("ceildiv", text, n) ||
         settp_map_same("in", text, n) || settp_map_same("min", text, n) || settp_map_same("max", text, n) ||
         settp_map_same("xor", text, n);
}

SETT_INLINE int64_t settp_map_integer(settp_map_parser *p) {
  uint64_t value = 0, limit = (uint64_t)INT64_MAX;
  size_t start;
  int negative;
  settp_map_blanks(p);
  start = p->at;
  negative = settp_map_eat(p, "-");
  if (negative) {
    settp_map_blanks(p);
    ++limit;
  }
  if (p->at >= p->length || !settp_map_digit(p->text[p->at])) {
    settp_map_fail(p, SETT_MAP_ERROR_EXPECTED_INTEGER, p->at);
    return 0;
  }
  for (; p->at < p->length && settp_map_digit(p->text[p->at]); ++p->at) {
    unsigned digit = (unsigned)(p->text[p->at] - '0');
    if (value > (limit - digit) / 10) {
      settp_map_fail(p, SETT_MAP_ERROR_INTEGER, start);
      return 0;
    }
    value = value * 10 + digit;
  }
  if (p->at < p->length && settp_map_letter(p->text[p->at])) settp_map_fail(p, SETT_MAP_ERROR_EXPECTED_OPERATOR, p->at);
  return negative ? (value > (uint64_t)INT64_MAX ? INT64_MIN : -(int64_t)value) : (int64_t)value;
}

/* Entries of the operator stack: an open parenthesis, the first or second argument of min or max, a sign, or an operation. */
enum {
  SETTP_MAP_OPEN = 32,
  SETTP_MAP_MIN_1,
  SETTP_MAP_MIN_2,
  SETTP_MAP_MAX_1,
  SETTP_MAP_MAX_2,
  SETTP_MAP_NEGATE,
  SETTP_MAP_SUB
};

SETT_INLINE int settp_map_binding(int op) {
  return op == SETTP_MAP_ADD || op == SETTP_MAP_SUB ? 2
         : op < SETTP_MAP_OPEN                      ? (op == SETTP_MAP_XOR ? 1 : 3)
         : op == SETTP_MAP_NEGATE                   ? 4
                                                    : 0;
}

/* Return 1 if parsing can continue after expression e. An expression without a value does not stop the parser: the first such error is only
 * recorded. */
SETT_INLINE int settp_map_made(settp_map_parser *p, sett_expr e, size_t at) {
  if (e < SETT_MAP_ERROR_COUNT && !settp_map_no_value((int)e)) settp_map_fail(p, (int)e, at);
  else if (e < SETT_MAP_ERROR_COUNT && !p->no_value) p->no_value = (int)e, p->no_value_at = at;
  return !p->error;
}

/* Apply the operations at the top of the stack whose precedence is at least `binding`. */
SETT_INLINE void settp_map_reduce(settp_map_parser *p, uint32_t *ops, uint32_t *values, int binding) {
  while (*ops && settp_map_binding(p->op[*ops - 1]) >= binding) {
    int op = p->op[--*ops];
    sett_expr r, b = p->value[*values - 1];
    if (op == SETTP_MAP_NEGATE) {
      r = sett_map_mul(p->arena, b, sett_map_constant(p->arena, -1));
    } else {
      --*values;
      r = p->value[*values - 1];
      r = op == SETTP_MAP_SUB ? sett_map_sub(p->arena, r, b) : settp_map_binary(p->arena, op, r, b);
    }
    if (!settp_map_made(p, r, (size_t)p->op_column[*ops])) return;
    p->value[*values - 1] = r;
  }
}

/* Parse an expression by operator precedence with two stacks, without recursion. It ends before `in`, or before a comma or closing parenthesis that
 * does not belong to it. */
SETT_INLINE sett_expr settp_map_expression(settp_map_parser *p) {
  uint32_t ops = 0, values = 0;
  int open = 0, operand = 1;
  while (!p->error) {
    char c = settp_map_peek(p);
    size_t column = p->at, n;
    if (operand) {
      if (settp_map_digit(c) || (c == '-' && p->at + 1 < p->length && settp_map_digit(p->text[p->at + 1]))) {
        sett_expr e = sett_map_constant(p->arena, settp_map_integer(p));
        if (e < SETT_MAP_ERROR_COUNT) settp_map_fail(p, (int)e, column);
        p->value[values++] = e;
        operand = 0;
      } else if (c == '-' || c == '(') {
        ++p->at;
        p->op_column[ops] = (int)column;
        p->op[ops++] = c == '-' ? SETTP_MAP_NEGATE : SETTP_MAP_OPEN;
        open += c == '(';
      } else if ((n = settp_map_word(p)) != 0) {
        int index = sett_map_find(p->map, p->text + p->at, n),
            lesser = index < 0 && settp_map_same("min", p->text + p->at, n);
        sett_expr e;
        if (index < 0 && (lesser || settp_map_same("max", p->text + p->at, n))) {
          p->at += n;
          if (!settp_map_eat(p, "(")) settp_map_fail(p, SETT_MAP_ERROR_EXPECTED_CALL, p->at);
          p->op_column[ops] = (int)column;
          p->op[ops++] = lesser ? SETTP_MAP_MIN_1 : SETTP_MAP_MAX_1;
          ++open;
          continue;
        }
        if (index < 0) {
          settp_map_fail(
              p, settp_map_keyword(p->text + p->at, n) ? SETT_MAP_ERROR_EXPECTED_OPERAND : SETT_MAP_ERROR_UNKNOWN,
              column);
          break;
        }
        p->at += n;
        e = sett_map_var(p->arena, index);
        if (e < SETT_MAP_ERROR_COUNT) settp_map_fail(p, (int)e, column);
        p->value[values++] = e;
        operand = 0;
      } else {
        settp_map_fail(p, SETT_MAP_ERROR_EXPECTED_OPERAND, column);
      }
      continue;
    }
    {
      int op = -1;
      if (c == '+' || c == '-') op = c == '+' ? (int)SETTP_MAP_ADD : (int)SETTP_MAP_SUB, ++p->at;
      else if (c == '*') op = SETTP_MAP_MUL, ++p->at;
      else if (c == '%') op = SETTP_MAP_MOD, ++p->at;
      else if (c == '^') op = SETTP_MAP_XOR, ++p->at;
      else if (c == '/') {
        op = SETTP_MAP_FLOORDIV;
        if (!settp_map_eat(p, "//")) ++p->at;
      } else if (c == 'm' && settp_map_eat_word(p, "mod")) op = SETTP_MAP_MOD;
      else if (c == 'f' && settp_map_eat_word(p, "floordiv")) op = SETTP_MAP_FLOORDIV;
      else if (c == 'c' && settp_map_eat_word(p, "ceildiv")) op = SETTP_MAP_CEILDIV;
      else if (c == 'x' && settp_map_eat_word(p, "xor")) op = SETTP_MAP_XOR;
      if (op >= 0) {
        settp_map_reduce(p, &ops, &values, settp_map_binding(op));
        p->op_column[ops] = (int)column;
        p->op[ops++] = (unsigned char)op;
        operand = 1;
        continue;
      }
    }
    if (open && (c == ')' || c == ',')) {
      int top;
      settp_map_reduce(p, &ops, &values, 1);
      if (p->error) break;
      top = p->op[ops - 1];
      if (c == ',' && (top == SETTP_MAP_MIN_1 || top == SETTP_MAP_MAX_1)) {
        p->op[ops - 1] = top == SETTP_MAP_MIN_1 ? SETTP_MAP_MIN_2 : SETTP_MAP_MAX_2;
        operand = 1;
      } else if (c == ')' && (top == SETTP_MAP_MIN_2 || top == SETTP_MAP_MAX_2)) {
        sett_expr r = settp_map_binary(p->arena, top == SETTP_MAP_MIN_2 ? SETTP_MAP_MIN : SETTP_MAP_MAX,
                                       p->value[values - 2], p->value[values - 1]);
        (void)settp_map_made(p, r, (size_t)p->op_column[ops - 1]);
        p->value[--values - 1] = r;
        --ops;
        --open;
      } else if (c == ')' && top == SETTP_MAP_OPEN) {
        --ops;
        --open;
      } else {
        settp_map_fail(p, c == ')' ? SETT_MAP_ERROR_EXPECTED_COMMA : SETT_MAP_ERROR_EXPECTED_OPERATOR, column);
      }
      ++p->at;
      continue;
    }
    n = settp_map_word(p);
    if (open || !(c == 0 || c == ')' || c == ',' || c == '<' || c == '>' || c == '=' ||
                  settp_map_same("in", p->text + p->at, n) || settp_map_same("divides", p->text + p->at, n)))
      settp_map_fail(p, SETT_MAP_ERROR_EXPECTED_OPERATOR, column);
    break;
  }
  if (!p->error) settp_map_reduce(p, &ops, &values, 1);
  return p->error ? 0 : p->value[0];
}

SETT_INLINE int settp_map_names(settp_map_parser *p, sett_map_variable *variable, int *count, const char *close) {
  int start = sett_map_variables(p->map);
  if (settp_map_eat(p, close)) return 1;
  for (;;) {
    size_t n = settp_map_word(p);
    sett_map_variable *v = variable + sett_map_variables(p->map);
    if (!n || settp_map_keyword(p->text + p->at, n)) {
      settp_map_fail(p, SETT_MAP_ERROR_EXPECTED_NAME, p->at);
      return 0;
    }
    if (sett_map_find(p->map, p->text + p->at, n) >= 0) {
      settp_map_fail(p, SETT_MAP_ERROR_DUPLICATE, p->at);
      return 0;
    }
    v->name = NULL;
    v->lo = 1;
    v->hi = 0;
    ++*count;
    if (settp_map_default_place(&p->map, p->text + p->at, n) != sett_map_variables(p->map) - 1) {
      v->name = settp_map_name_store(p->arena, p->text + p->at, n);
      if (!v->name) {
        settp_map_fail(p, SETT_MAP_ERROR_FULL, p->at);
        return 0;
      }
    }
    p->at += n;
    if (settp_map_eat(p, close)) return sett_map_variables(p->map) > start;
    if (!settp_map_eat(p, ",")) {
      settp_map_fail(p, SETT_MAP_ERROR_EXPECTED_NEXT_NAME, p->at);
      return 0;
    }
  }
}

/* Read an end of an interval: an integer, or -inf or inf for no bound. */
SETT_INLINE int64_t settp_map_end(settp_map_parser *p) {
  size_t start = p->at;
  int negative = settp_map_eat(p, "-");
  if (settp_map_eat_word(p, "inf")) return negative ? INT64_MIN : INT64_MAX;
  p->at = start;
  return settp_map_integer(p);
}

/* Read one of <= < = >= > or `divides`; return 0 if the text has none here. */
enum {
  SETTP_MAP_DIVIDES = 1,
  SETTP_MAP_IS,
  SETTP_MAP_NOT_ABOVE,
  SETTP_MAP_BELOW,
  SETTP_MAP_NOT_BELOW,
  SETTP_MAP_ABOVE
};

SETT_INLINE int settp_map_relation(settp_map_parser *p) {
  if (settp_map_eat_word(p, "divides")) return SETTP_MAP_DIVIDES;
  if (settp_map_eat(p, "<=")) return SETTP_MAP_NOT_ABOVE;
  if (settp_map_eat(p, ">=")) return SETTP_MAP_NOT_BELOW;
  if (settp_map_eat(p, "==") || settp_map_eat(p, "=")) return SETTP_MAP_IS;
  return settp_map_eat(p, "<") ? SETTP_MAP_BELOW : settp_map_eat(p, ">") ? SETTP_MAP_ABOVE : 0;
}

/* Read an item of the domain: `expression in [lo, hi]`, or two expressions with a relation between them. */
SETT_INLINE sett_map_constraint settp_map_fact(settp_map_parser *p) {
  sett_map_constraint c = {settp_map_expression(p), 0, 0};
  size_t at = p->at;
  int relation = p->error ? 0 : settp_map_relation(p);
  if (p->error) return c;
  if (!relation) {
    if (!settp_map_eat_word(p, "in") || !settp_map_eat(p, "[")) settp_map_fail(p, SETT_MAP_ERROR_EXPECTED_IN, p->at);
    c.lo = p->error ? 0 : settp_map_end(p);
    if (!p->error && !settp_map_eat(p, ",")) settp_map_fail(p, SETT_MAP_ERROR_EXPECTED_COMMA, p->at);
    c.hi = p->error ? 0 : settp_map_end(p);
    if (!p->error && !settp_map_eat(p, "]")) settp_map_fail(p, SETT_MAP_ERROR_EXPECTED_BRACKET, p->at);
  } else {
    sett_expr a = c.expr, b = settp_map_expression(p), t = a;
    int64_t k = 0;
    if (p->error) return c;
    if (relation >= SETTP_MAP_NOT_BELOW) a = b, b = t, relation -= 2;
    c.hi = relation > SETTP_MAP_IS ? INT64_MAX : 0;
    c.lo = relation == SETTP_MAP_BELOW;
    if (relation == SETTP_MAP_DIVIDES) {
      c.expr = sett_map_mod(p->arena, b, a);
    } else if (settp_map_is_constant(p->arena, b, &k)) { /* `b` is a constant, so this is a bound of `a` */
      c.expr = a;
      c.hi = c.lo && k == INT64_MIN ? -1 : k - c.lo;
      c.lo = relation == SETTP_MAP_IS ? k : c.hi > k ? 0 : INT64_MIN;
    } else if (settp_map_is_constant(p->arena, a, &k)) { /* `a` is a constant, so this is a bound of `b` */
      c.expr = b;
      c.lo = c.lo && k == INT64_MAX ? 1 : k + c.lo;
      c.hi = relation == SETTP_MAP_IS ? k : c.lo < k ? 0 : INT64_MAX;
    } else {
      c.expr = sett_map_sub(p->arena, b, a);
    }
    settp_map_made(p, c.expr, at);
  }
  return c;
}

/* Advance to the next point of the box of a map's bounds. The last variable changes fastest. Return 0 after the last point. */
SETT_INLINE int settp_map_next_point(const sett_map *map, int64_t *point) {
  int i;
  for (i = sett_map_variables(*map) - 1; i >= 0; --i) {
    if (point[i] < map->variable[i].hi) {
      ++point[i];
      return 1;
    }
    point[i] = map->variable[i].lo;
  }
  return 0;
}

SETTP_MAP_QUICK_END
#ifdef SETTP_MAP_FEWER_PASSES
#pragma pop_macro("SETT_INLINE")
#endif
#endif

#if !defined(SETTP_MAP_BODIES) && (defined(SETT_IMPLEMENTATION) || !defined(SETTP_LINK_SEPARATE))
#define SETTP_MAP_BODIES

#ifdef SETTP_MAP_FEWER_PASSES
#pragma push_macro("SETT_INLINE")
#undef SETT_INLINE
#define SETT_INLINE static __attribute__((__unused__))
#endif
SETTP_MAP_QUICK

/* ======================================================================= bodies: arena ==== */

/* If size_t has 32 bits, an arena has at most 256 MiB. The arrays of a function are less than 16 times as large as its arena, so sizes do not
 * overflow. */
enum { SETTP_MAP_ARENA_MAX = 1 << 28 };

SETT_PUBLIC sett_map_arena sett_map_arena_make(void *memory, size_t bytes) {
  sett_map_arena arena;
  size_t skip = (8 - ((uintptr_t)memory & 7)) & 7;
  uint32_t i;
  if (sizeof(size_t) < 8 && bytes > SETTP_MAP_ARENA_MAX) bytes = SETTP_MAP_ARENA_MAX;
  arena.memory = (unsigned char *)memory + (bytes > skip ? skip : 0);
  arena.bytes = bytes > skip ? (bytes - skip) & ~(size_t)7 : 0;
  arena.top = arena.bytes;
  arena.full = 0;
  arena.buckets = 2;
  while (arena.buckets < 32768 && (size_t)arena.buckets * 256 < arena.bytes) arena.buckets *= 2;
  arena.nodes = SETT_MAP_ERROR_COUNT;
  /* the memory is too small for any node, so building an expression fails with FULL */
  if (settp_map_low(&arena) > arena.bytes) {
    arena.buckets = 0;
    arena.nodes = 0;
    arena.top = 0;
    return arena;
  }
  for (i = 0; i < arena.buckets; ++i) settp_map_buckets(&arena)[i] = 0;
  return arena;
}

/* Return count * size + more, or SIZE_MAX. */
SETT_INLINE size_t settp_map_size(size_t count, size_t size, size_t more) {
  return count > (SIZE_MAX - more) / size ? SIZE_MAX : count * size + more;
}

SETT_PUBLIC size_t sett_map_arena_bytes(size_t nodes) {
  return settp_map_size(nodes, sizeof(settp_map_node) + sizeof(uint32_t), 512);
}

SETT_PUBLIC sett_map_mark sett_map_arena_mark(const sett_map_arena *arena) {
  sett_map_mark mark;
  mark.top = arena->top;
  mark.nodes = arena->nodes;
  return mark;
}

SETT_PUBLIC void sett_map_arena_rewind(sett_map_arena *arena, sett_map_mark mark) {
  while (arena->nodes > mark.nodes) { /* remove the newest node, which is the first one of its bucket */
    settp_map_node *n = settp_map_at(arena, --arena->nodes);
    settp_map_buckets(arena)[settp_map_bucket(arena, n->op, n->value)] = n->next;
  }
  arena->top = mark.top;
}

#define SETT_MAP_ERROR_TEXT(name, text) text,
SETT_PUBLIC const char *sett_map_message(int error) {
  static const char *const texts[] = {SETT_MAP_ERRORS(SETT_MAP_ERROR_TEXT) "unknown error"};
  return texts[error >= 0 && error < SETT_MAP_ERROR_COUNT ? error : SETT_MAP_ERROR_COUNT];
}

/* ======================================================================= bodies: expressions ==== */

SETT_PUBLIC sett_expr sett_map_constant(sett_map_arena *arena, int64_t value) {
  return settp_map_intern(arena, SETTP_MAP_CONST, value);
}

SETT_PUBLIC sett_expr sett_map_var(sett_map_arena *arena, int index) {
  return settp_map_intern(arena, SETTP_MAP_VAR, index);
}

SETT_PUBLIC sett_expr sett_map_add(sett_map_arena *arena, sett_expr a, sett_expr b) {
  return settp_map_binary(arena, SETTP_MAP_ADD, a, b);
}
SETT_PUBLIC sett_expr sett_map_mul(sett_map_arena *arena, sett_expr a, sett_expr b) {
  return settp_map_binary(arena, SETTP_MAP_MUL, a, b);
}
SETT_PUBLIC sett_expr sett_map_sub(sett_map_arena *arena, sett_expr a, sett_expr b) {
  return settp_map_binary(arena, SETTP_MAP_ADD, a,
                          settp_map_binary(arena, SETTP_MAP_MUL, b, sett_map_constant(arena, -1)));
}
SETT_PUBLIC sett_expr sett_map_floordiv(sett_map_arena *arena, sett_expr a, sett_expr b) {
  return settp_map_binary(arena, SETTP_MAP_FLOORDIV, a, b);
}
SETT_PUBLIC sett_expr sett_map_mod(sett_map_arena *arena, sett_expr a, sett_expr b) {
  return settp_map_binary(arena, SETTP_MAP_MOD, a, b);
}
SETT_PUBLIC sett_expr sett_map_ceildiv(sett_map_arena *arena, sett_expr a, sett_expr b) {
  return settp_map_binary(arena, SETTP_MAP_CEILDIV, a, b);
}
SETT_PUBLIC sett_expr sett_map_min(sett_map_arena *arena, sett_expr a, sett_expr b) {
  return settp_map_binary(arena, SETTP_MAP_MIN, a, b);
}
SETT_PUBLIC sett_expr sett_map_max(sett_map_arena *arena, sett_expr a, sett_expr b) {
  return settp_map_binary(arena, SETTP_MAP_MAX, a, b);
}
SETT_PUBLIC sett_expr sett_map_xor(sett_map_arena *arena, sett_expr a, sett_expr b) {
  return settp_map_binary(arena, SETTP_MAP_XOR, a, b);
}

SETT_INLINE int settp_map_list_of_map(sett_map_arena *arena, settp_map_list *list, const sett_map *map) {
  int i, error = settp_map_list_of(arena, list, map->result, map->results);
  for (i = 0; i < map->constraints && !error; ++i) error = settp_map_list_push(arena, list, map->constraint[i].expr);
  return error;
}

SETT_INLINE int settp_map_list_of_constraints(sett_map_arena *arena, settp_map_list *list,
                                              const sett_map_constraint *constraint, int count) {
  int i;
  settp_map_clear(list, sizeof *list);
  for (i = 0; i < count; ++i)
    if (settp_map_list_push(arena, list, constraint[i].expr)) return SETT_MAP_ERROR_FULL;
  return 0;
}

/* ======================================================================= bodies: maps ==== */

SETT_INLINE sett_map settp_map_of_kind(int kind, int error, int column) {
  sett_map map;
  settp_map_clear(&map, sizeof map);
  map.kind = kind;
  map.error = error;
  map.column = column;
  return map;
}

SETT_PUBLIC sett_map sett_map_fail(int error, int column) { return settp_map_of_kind(SETT_MAP_FAILED, error, column); }
SETT_PUBLIC sett_map sett_map_undefined(void) { return settp_map_of_kind(SETT_MAP_UNDEFINED, 0, 0); }
SETT_PUBLIC sett_map sett_map_empty(void) { return settp_map_of_kind(SETT_MAP_EMPTY, 0, 0); }
/* Return the error of a map that is not DEFINED; 0 if the map is KNOWN EMPTY. */
SETT_INLINE int settp_map_error(const sett_map *map) {
  return map->kind == SETT_MAP_FAILED ? map->error : map->kind == SETT_MAP_UNDEFINED ? SETT_MAP_ERROR_NO_MAP : 0;
}
SETT_PUBLIC int sett_map_variables(sett_map map) { return map.dims + map.ranges + map.rts; }

SETT_INLINE size_t settp_map_length(const char *text) {
  size_t n = 0;
  while (text[n]) ++n;
  return n;
}

/* Return the name of a variable: its own, or the default name of its index, written to buffer (24 bytes). */
SETT_PUBLIC const char *sett_map_name(sett_map map, int variable, char *buffer) {
  char digits[12];
  int place = variable, n = 0, at = 0;
  if (map.variable[variable].name) return map.variable[variable].name;
  if (place < map.dims) buffer[at++] = 'd';
  else if ((place -= map.dims) < map.ranges) buffer[at++] = 's';
  else {
    place -= map.ranges;
    buffer[at++] = 'r';
    buffer[at++] = 't';
  }
  do {
    digits[n++] = (char)('0' + place % 10);
    place /= 10;
  } while (place);
  while (n) buffer[at++] = digits[--n];
  buffer[at] = 0;
  return buffer;
}

/* Return 0 if a variable is a dimension, 1 if it is a range, 2 if it is a runtime variable. */
SETT_INLINE int settp_map_kind(const sett_map *map, int variable) {
  return variable < map->dims ? 0 : variable < map->dims + map->ranges ? 1 : 2;
}

/* Decrease the number of variables of a kind by 1. */
SETT_INLINE void settp_map_less(sett_map *map, int kind) {
  --*(kind == 0 ? &map->dims : kind == 1 ? &map->ranges : &map->rts);
}

SETT_PUBLIC int sett_map_find(sett_map map, const char *name, size_t length) {
  int i = settp_map_default_place(&map, name, length);
  if (i >= 0 && !map.variable[i].name) return i;
  for (i = 0; i < sett_map_variables(map); ++i)
    if (map.variable[i].name && settp_map_same(map.variable[i].name, name, length)) return i;
  return -1;
}

SETT_PUBLIC sett_map sett_map_make(sett_map_arena *arena, int dims, int ranges, int rts,
                                   const sett_map_variable *variables, int results, const sett_expr *result,
                                   int constraints, const sett_map_constraint *constraint) {
  sett_map map = sett_map_undefined();
  int i;
  map.dims = dims;
  map.ranges = ranges;
  map.rts = rts;
  map.results = results;
  map.constraints = constraints;
  map.variable = variables;
  map.result = result;
  map.constraint = constraint;
  map = settp_map_store(arena, map, arena->top);
  if (map.kind != SETT_MAP_DEFINED) return map;
  for (i = 0; i < sett_map_variables(map); ++i)
    if (map.variable[i].name) {
      sett_map_variable *v =
          (sett_map_variable *)(void *)(arena->memory +
                                        ((const unsigned char *)(const void *)map.variable - arena->memory)) +
          i;
      v->name = settp_map_name_store(arena, v->name, settp_map_length(v->name));
      if (!v->name) return sett_map_fail(SETT_MAP_ERROR_FULL, 0);
    }
  return map;
}

/* ======================================================================= bodies: text ==== */

/* Texts and expressions that remain to be printed, newest first. `strong` is 0: print without parentheses; 1: put an operation in parentheses;
 * SETTP_MAP_SUMMAND: print as a summand, with + or - in front. */
enum { SETTP_MAP_SUMMAND = 2 };

/* Return 1 if an expression needs parentheses as an operand of + or -. */
SETT_INLINE int settp_map_is_loose(const sett_map_arena *arena, sett_expr e) {
  return settp_map_at(arena, e)->op == SETTP_MAP_ADD || settp_map_at(arena, e)->op == SETTP_MAP_XOR;
}

SETT_INLINE void settp_map_put_expr(sett_map_arena *arena, const sett_map *map, settp_map_out *out, sett_expr e) {
  settp_map_tasks tasks;
  size_t keep = arena->top;
  char buffer[24];
  if (e < SETT_MAP_ERROR_COUNT) {
    settp_map_put(out, "error: ");
    settp_map_put(out, sett_map_message((int)e));
    return;
  }
  settp_map_clear(&tasks, sizeof tasks);
  settp_map_task_push(arena, &tasks, NULL, e, 0);
  while (tasks.count && !tasks.error && out->length < out->most) {
    settp_map_task t = tasks.task[--tasks.count];
    const settp_map_node *n;
    int64_t k = 0;
    uint32_t a, b;
    if (t.text) {
      settp_map_put(out, t.text);
      continue;
    }
    n = settp_map_at(arena, t.expr);
    a = settp_map_a(n);
    b = settp_map_b(n);
    if (t.strong == SETTP_MAP_SUMMAND) {
      if (n->op == SETTP_MAP_CONST && n->value < 0 && n->value > INT64_MIN) {
        settp_map_put(out, " - ");
        settp_map_put_unsigned(out, settp_map_magnitude(n->value));
      } else if (n->op == SETTP_MAP_MUL && settp_map_is_constant(arena, b, &k) && k < 0 && k > INT64_MIN) {
        settp_map_put(out, " - ");
        if (k < -1) {
          settp_map_task_push(arena, &tasks, NULL, sett_map_constant(arena, -k), 0);
          settp_map_task_push(arena, &tasks, " * ", 0, 0);
        }
        settp_map_task_push(arena, &tasks, NULL, a, k < -1 || settp_map_is_loose(arena, a));
      } else {
        settp_map_put(out, " + ");
        settp_map_task_push(arena, &tasks, NULL, t.expr,
                            /* a long sum keeps its parentheses: see settp_map_binary */
                            settp_map_is_loose(arena, t.expr));
      }
      continue;
    }
    if (n->op == SETTP_MAP_CONST) {
      settp_map_put_int(out, n->value);
    } else if (n->op == SETTP_MAP_VAR) {
      settp_map_put(
          out, n->value >= 0 && n->value < sett_map_variables(*map) ? sett_map_name(*map, (int)n->value, buffer) : "?");
    } else if (n->op == SETTP_MAP_MIN || n->op == SETTP_MAP_MAX) {
      settp_map_put(out, n->op == SETTP_MAP_MIN ? "min(" : "max(");
      settp_map_task_push(arena, &tasks, ")", 0, 0);
      settp_map_task_push(arena, &tasks, NULL, b, 0);
      settp_map_task_push(arena, &tasks, ", ", 0, 0);
      settp_map_task_push(arena, &tasks, NULL, a, 0);
    } else {
      if (t.strong) {
        settp_map_put(out, "(");
        settp_map_task_push(arena, &tasks, ")", 0, 0);
      }
      if (n->op == SETTP_MAP_MUL && settp_map_is_constant(arena, b, &k) && k == -1) {
        settp_map_put(out, "-");
        settp_map_task_push(arena, &tasks, NULL, a, 1);
      } else if (n->op == SETTP_MAP_XOR) {
        settp_map_task_push(arena, &tasks, NULL, b, 1);
        settp_map_task_push(arena, &tasks, " xor ", 0, 0);
        settp_map_task_push(arena, &tasks, NULL, a, settp_map_at(arena, a)->op != SETTP_MAP_XOR);
      } else if (n->op != SETTP_MAP_ADD) {
        out->divisors += n->op != SETTP_MAP_MUL && settp_map_at(arena, b)->op != SETTP_MAP_CONST;
        settp_map_task_push(arena, &tasks, NULL, b, 1);
        settp_map_task_push(arena, &tasks,
                            n->op == SETTP_MAP_MUL        ? " * "
                            : n->op == SETTP_MAP_MOD      ? " mod "
                            : n->op == SETTP_MAP_FLOORDIV ? " floordiv "
                                                          : " ceildiv ",
                            0, 0);
        settp_map_task_push(arena, &tasks, NULL, a, 1);
      } else {
        const settp_map_node *first = settp_map_at(arena, a), *last = settp_map_at(arena, b);
        while (first->op == SETTP_MAP_ADD) first = settp_map_at(arena, settp_map_a(first));
        if (last->op == SETTP_MAP_CONST && last->value > 0 && first->op == SETTP_MAP_MUL &&
            /* print 5 - x, not -x + 5 */
            settp_map_is_constant(arena, settp_map_b(first), &k) && k < 0 && k > INT64_MIN) {
          for (; settp_map_at(arena, a)->op == SETTP_MAP_ADD; a = settp_map_a(settp_map_at(arena, a)))
            settp_map_task_push(arena, &tasks, NULL, settp_map_b(settp_map_at(arena, a)), SETTP_MAP_SUMMAND);
          settp_map_task_push(arena, &tasks, NULL, a, SETTP_MAP_SUMMAND);
          settp_map_task_push(arena, &tasks, NULL, b, 0);
        } else {
          settp_map_task_push(arena, &tasks, NULL, b, SETTP_MAP_SUMMAND);
          settp_map_task_push(arena, &tasks, NULL, a, settp_map_at(arena, a)->op == SETTP_MAP_XOR);
        }
      }
    }
  }
  if (tasks.error || (tasks.count && out->most == SETTP_MAP_TEXT_MAX)) {
    settp_map_put(out, "error: ");
    settp_map_put(out, sett_map_message(tasks.error ? tasks.error : SETT_MAP_ERROR_LONG));
  }
  arena->top = keep;
}

SETT_INLINE void settp_map_put_bounds(settp_map_out *out, int64_t lo, int64_t hi) {
  settp_map_put(out, " in [");
  if (lo == INT64_MIN) settp_map_put(out, "-inf");
  else settp_map_put_int(out, lo);
  settp_map_put(out, ", ");
  if (hi == INT64_MAX) settp_map_put(out, "inf");
  else settp_map_put_int(out, hi);
  settp_map_put(out, "]");
}

SETT_INLINE void settp_map_put_names(const sett_map *map, settp_map_out *out, int first, int count, const char *open,
                                     const char *close) {
  char buffer[24];
  int i;
  settp_map_put(out, open);
  for (i = 0; i < count; ++i) {
    if (i) settp_map_put(out, ", ");
    settp_map_put(out, sett_map_name(*map, first + i, buffer));
  }
  settp_map_put(out, close);
}

SETT_PUBLIC size_t sett_map_print(sett_map_arena *arena, sett_map map, char *text, size_t capacity) {
  settp_map_out out = settp_map_out_make(text, capacity);
  sett_map_mark mark = sett_map_arena_mark(arena);
  char buffer[24];
  int i, any = 0;
  if (map.kind != SETT_MAP_DEFINED) {
    if (map.kind == SETT_MAP_FAILED) {
      settp_map_put(&out, "error: ");
      if (map.column > 0) {
        settp_map_put_int(&out, map.column);
        settp_map_put(&out, ": ");
      }
      settp_map_put(&out, sett_map_message(map.error));
    } else {
      settp_map_put(&out, map.kind == SETT_MAP_EMPTY ? "KNOWN EMPTY" : "UNDEFINED");
    }
    return settp_map_finish(&out);
  }
  settp_map_put_names(&map, &out, 0, map.dims, "(", ")");
  if (map.ranges) settp_map_put_names(&map, &out, map.dims, map.ranges, "[", "]");
  if (map.rts) settp_map_put_names(&map, &out, map.dims + map.ranges, map.rts, "{", "}");
  settp_map_put(&out, " -> (");
  for (i = 0; i < map.results; ++i) {
    if (i) settp_map_put(&out, ", ");
    settp_map_put_expr(arena, &map, &out, map.result[i]);
  }
  settp_map_put(&out, ")");
  for (i = 0; i < sett_map_variables(map); ++i) {
    settp_map_put(&out, any++ ? ", " : ", domain: ");
    settp_map_put(&out, sett_map_name(map, i, buffer));
    settp_map_put_bounds(&out, map.variable[i].lo, map.variable[i].hi);
  }
  for (i = 0; i < map.constraints; ++i) {
    settp_map_put(&out, any++ ? ", " : ", domain: ");
    settp_map_put_expr(arena, &map, &out, map.constraint[i].expr);
    settp_map_put_bounds(&out, map.constraint[i].lo, map.constraint[i].hi);
  }
  sett_map_arena_rewind(arena, mark);
  return settp_map_finish(&out);
}

SETT_PUBLIC size_t sett_map_print_expr(sett_map_arena *arena, sett_map map, sett_expr expr, char *text,
                                       size_t capacity) {
  settp_map_out out = settp_map_out_make(text, capacity);
  sett_map_mark mark = sett_map_arena_mark(arena);
  settp_map_put_expr(arena, &map, &out, expr);
  sett_map_arena_rewind(arena, mark);
  return settp_map_finish(&out);
}

/* Return the rank of an operation in the order of summands: sums and products first, then mod, floordiv, ceildiv, min, max, xor, constants, variables.
 */
SETT_INLINE int settp_map_rank(uint32_t op) {
  return op == SETTP_MAP_ADD ? 0 : op == SETTP_MAP_CONST ? 20 : op == SETTP_MAP_VAR ? 21 : (int)op;
}

/* Return the order of two summands (below 0, 0 or above 0). Equal subexpressions have equal handles. So if two nodes have the same operation, only the
 * first operand in which they differ is compared. */
SETT_INLINE int settp_map_order(const sett_map_arena *arena, sett_expr a, sett_expr b) {
  while (a != b) {
    const settp_map_node *x = settp_map_at(arena, a), *y = settp_map_at(arena, b);
    if (x->op != y->op) return settp_map_rank(x->op) < settp_map_rank(y->op) ? -1 : 1;
    if (x->op <= SETTP_MAP_VAR) return x->value < y->value ? -1 : 1;
    if (settp_map_a(x) != settp_map_a(y)) {
      a = settp_map_a(x);
      b = settp_map_a(y);
    } else {
      a = settp_map_b(x);
      b = settp_map_b(y);
    }
  }
  return 0;
}

/* Turn constraints on single variables or constants into bounds, and intersect constraints on equal expressions. Return 0 if the domain is empty. */
SETT_INLINE int settp_map_tidy(const sett_map_arena *arena, sett_map_variable *variable,
                               sett_map_constraint *constraint, int *count) {
  int i, j, n = 0;
  for (i = 0; i < *count; ++i) {
    sett_map_constraint c = constraint[i];
    const settp_map_node *node;
    if (c.lo > c.hi) return 0;
    if (c.expr >= SETT_MAP_ERROR_COUNT) {
      node = settp_map_at(arena, c.expr);
      if (node->op == SETTP_MAP_CONST) {
        if (node->value < c.lo || node->value > c.hi) return 0;
        continue;
      }
      if (node->op == SETTP_MAP_VAR) {
        sett_map_variable *v = variable + node->value;
        if (v->lo < c.lo) v->lo = c.lo;
        if (v->hi > c.hi) v->hi = c.hi;
        if (v->lo > v->hi) return 0;
        continue;
      }
    }
    for (j = 0; j < n && constraint[j].expr != c.expr; ++j) {}
    if (j < n) {
      if (constraint[j].lo < c.lo) constraint[j].lo = c.lo;
      if (constraint[j].hi > c.hi) constraint[j].hi = c.hi;
      if (constraint[j].lo > constraint[j].hi) return 0;
    } else {
      constraint[n++] = c;
    }
  }
  *count = n;
  return 1;
}

/* Sort constraints into a canonical order: by their text. Constraints with a divisor that is not a constant come last, because they may have no
 * value. */
SETT_INLINE void settp_map_sort_constraints(sett_map_arena *arena, const sett_map *map, sett_map_constraint *constraint,
                                            int count) {
  /* the sort key of a constraint: '2' if it has a divisor that is not a constant, else '1', then its text */
  enum { SETTP_MAP_MOST_WIDTH = 240, SETTP_MAP_KEY = SETTP_MAP_MOST_WIDTH + 8 };
  sett_map_mark mark = sett_map_arena_mark(arena);
  char *text;
  int i, j;
  if (count < 2) return;
  text = (char *)settp_map_take(arena, (size_t)(count + 1) * SETTP_MAP_KEY);
  if (!text) return;
  for (i = 0; i < count; ++i) { /* insertion sort; keys and constraints are moved together */
    sett_map_constraint c = constraint[i];
    char *mine = text + (size_t)count * SETTP_MAP_KEY;
    settp_map_out out = settp_map_out_make(mine + 1, SETTP_MAP_MOST_WIDTH);
    out.most = SETTP_MAP_MOST_WIDTH;
    settp_map_put_expr(arena, map, &out, c.expr);
    settp_map_finish(&out);
    *mine = out.divisors ? '2' : '1';
    for (j = i; j > 0; --j) {
      const char *x = text + (size_t)(j - 1) * SETTP_MAP_KEY, *y = mine;
      while (*x && *x == *y) ++x, ++y;
      if (*x <= *y) break;
      settp_map_copy(text + (size_t)j * SETTP_MAP_KEY, text + (size_t)(j - 1) * SETTP_MAP_KEY, SETTP_MAP_KEY);
      constraint[j] = constraint[j - 1];
    }
    settp_map_copy(text + (size_t)j * SETTP_MAP_KEY, mine, SETTP_MAP_KEY);
    constraint[j] = c;
  }
  sett_map_arena_rewind(arena, mark);
}

SETT_INLINE sett_map settp_map_parse_body(settp_map_parser *p) {
  sett_map_variable *variable;
  sett_map_constraint *constraint;
  sett_expr *result;
  unsigned char *seen;
  size_t commas = 3, i, names_top;
  int v, feasible = 1;
  for (i = 0; i < p->length; ++i) commas += p->text[i] == ',';
  variable = (sett_map_variable *)settp_map_take(p->arena, commas * sizeof *variable);
  if (!variable) return sett_map_fail(SETT_MAP_ERROR_FULL, 0);
  p->map.variable = variable;
  if (!settp_map_eat(p, "(")) settp_map_fail(p, SETT_MAP_ERROR_EXPECTED_OPEN, p->at);
  else settp_map_names(p, variable, &p->map.dims, ")");
  if (!p->error && settp_map_eat(p, "[")) settp_map_names(p, variable, &p->map.ranges, "]");
  if (!p->error && settp_map_eat(p, "{")) settp_map_names(p, variable, &p->map.rts, "}");
  if (!p->error && !settp_map_eat(p, "->")) settp_map_fail(p, SETT_MAP_ERROR_EXPECTED_ARROW, p->at);
  if (!p->error && !settp_map_eat(p, "(")) settp_map_fail(p, SETT_MAP_ERROR_EXPECTED_RESULTS, p->at);
  if (p->error) return sett_map_undefined();
  names_top = p->arena->top;
  result = (sett_expr *)settp_map_take(p->arena, commas * sizeof *result);
  constraint = (sett_map_constraint *)settp_map_take(p->arena, commas * sizeof *constraint);
  seen = (unsigned char *)settp_map_take(p->arena, commas);
  if (!result || !constraint || !seen || !settp_map_parser_stacks(p)) {
    settp_map_fail(p, SETT_MAP_ERROR_FULL, 0);
    return sett_map_undefined();
  }
  for (i = 0; i < commas; ++i) seen[i] = 0;
  if (!settp_map_eat(p, ")"))
    for (;;) {
      result[p->map.results++] = settp_map_expression(p);
      if (p->error) return sett_map_undefined();
      if (settp_map_eat(p, ")")) break;
      if (!settp_map_eat(p, ",")) {
        settp_map_fail(p, SETT_MAP_ERROR_EXPECTED_OPERATOR, p->at);
        return sett_map_undefined();
      }
    }
  if (settp_map_peek(p)) {
    if (!settp_map_eat(p, ",") || !settp_map_eat_word(p, "domain") || !settp_map_eat(p, ":"))
      settp_map_fail(p, SETT_MAP_ERROR_EXPECTED_DOMAIN, p->at);
    while (!p->error && settp_map_peek(p)) {
      sett_map_constraint c = settp_map_fact(p);
      sett_expr e = c.expr;
      if (p->error) break;
      v = e >= SETT_MAP_ERROR_COUNT && settp_map_at(p->arena, e)->op == SETTP_MAP_VAR
              ? (int)settp_map_at(p->arena, e)->value
              : -1;
      /* the first interval given for a variable declares it; further intervals are constraints that narrow it */
      if (v >= 0 && !seen[v]) {
        seen[v] = 1;
        variable[v].lo = c.lo;
        variable[v].hi = c.hi;
      } else {
        constraint[p->map.constraints++] = c;
      }
      feasible &= c.lo <= c.hi;
      if (!settp_map_peek(p)) break;
      if (!settp_map_eat(p, ",")) settp_map_fail(p, SETT_MAP_ERROR_EXPECTED_END, p->at);
      else if (!settp_map_peek(p)) settp_map_fail(p, SETT_MAP_ERROR_EXPECTED_OPERAND, p->at);
    }
  }
  for (v = 0; v < sett_map_variables(p->map); ++v)
    if (!seen[v]) settp_map_fail(p, SETT_MAP_ERROR_EXPECTED_BOUNDS, p->at);
  if (p->error) return sett_map_undefined();
  if (!feasible || !settp_map_tidy(p->arena, variable, constraint, &p->map.constraints)) return sett_map_empty();
  if (!p->no_value) settp_map_sort_constraints(p->arena, &p->map, constraint, p->map.constraints);
  p->map.result = result;
  p->map.constraint = constraint;
  return settp_map_store(p->arena, p->map, names_top);
}

SETT_PUBLIC sett_map sett_map_parse(sett_map_arena *arena, const char *text, size_t length) {
  settp_map_parser p = settp_map_parser_make(arena, text, length);
  sett_map_mark mark = sett_map_arena_mark(arena);
  sett_map map;
  if (length > (size_t)SETTP_MAP_TEXT_MAX) return sett_map_fail(SETT_MAP_ERROR_LONG, 0);
  if (settp_map_letter(settp_map_peek(&p))) {
    if (settp_map_eat_word(&p, "UNDEFINED")) map = sett_map_undefined();
    else if (settp_map_eat_word(&p, "KNOWN") && settp_map_eat_word(&p, "EMPTY")) map = sett_map_empty();
    else return sett_map_fail(SETT_MAP_ERROR_EXPECTED_OPEN, (int)p.at + 1);
    return settp_map_peek(&p) ? sett_map_fail(SETT_MAP_ERROR_EXPECTED_END, (int)p.at + 1) : map;
  }
  map = settp_map_parse_body(&p);
  if (p.no_value && p.error != SETT_MAP_ERROR_FULL &&
      (p.error || (map.kind == SETT_MAP_FAILED && map.error != SETT_MAP_ERROR_FULL)))
    map = sett_map_fail(p.no_value, (int)p.no_value_at + 1);
  else if (p.error) map = sett_map_fail(p.error, (int)p.error_at + 1);
  if (map.kind != SETT_MAP_DEFINED) sett_map_arena_rewind(arena, mark);
  return map;
}

/* ======================================================================= bodies: compose, substitute, rename ==== */

/* Rewrite all nodes of a list with new expressions for the variables. made[i] becomes the rewritten list.handle[i]. */
SETT_INLINE sett_expr *settp_map_rewrite(sett_map_arena *arena, settp_map_list *list, const sett_expr *variable) {
  sett_expr *made = (sett_expr *)settp_map_take(arena, (size_t)list->count * sizeof *made + 8);
  uint32_t i;
  if (!made) return NULL;
  for (i = 0; i < list->count; ++i) {
    const settp_map_node *n = settp_map_at(arena, list->handle[i]);
    if (n->op == SETTP_MAP_CONST) made[i] = list->handle[i];
    else if (n->op == SETTP_MAP_VAR) made[i] = variable[n->value];
    else {
      uint32_t a = settp_map_at(arena, settp_map_a(n))->mark, b = settp_map_at(arena, settp_map_b(n))->mark;
      made[i] = settp_map_binary(arena, (int)n->op, made[a], made[b]);
    }
  }
  return made;
}

/* Write the new results and constraints of a map whose nodes were rewritten: made[i] is the new expression of the node whose mark is i. */
SETT_INLINE void settp_map_rewritten(const sett_map_arena *arena, const sett_map *map, const sett_expr *made,
                                     sett_expr *result, sett_map_constraint *constraint) {
  int i;
  for (i = 0; i < map->results; ++i) result[i] = made[settp_map_at(arena, map->result[i])->mark];
  for (i = 0; i < map->constraints; ++i) {
    constraint[i] = map->constraint[i];
    constraint[i].expr = made[settp_map_at(arena, map->constraint[i].expr)->mark];
  }
}

/* Return the map with the variables of `out`, and with the results and constraints of `map`, in which replace[i] replaces variable i. The constraints
 * more[0] to more[mores - 1] are added. The caller has stored the names of the variables; a name of NULL means the default name. */
SETT_INLINE sett_map settp_map_rebuild(sett_map_arena *arena, sett_map map, sett_map out, const sett_expr *replace,
                                       const sett_map_constraint *more, int mores) {
  sett_map_constraint *constraint;
  sett_map_variable *variable;
  sett_expr *result, *made;
  settp_map_list list;
  size_t keep = arena->top;
  int i;
  out.constraints = map.constraints + mores;
  variable = (sett_map_variable *)settp_map_take(arena, (size_t)sett_map_variables(out) * sizeof *variable + 8);
  result = (sett_expr *)settp_map_take(arena, (size_t)map.results * sizeof *result + 8);
  constraint = (sett_map_constraint *)settp_map_take(arena, (size_t)out.constraints * sizeof *constraint + 8);
  made = !variable || !result || !constraint || settp_map_list_of_map(arena, &list, &map)
             ? NULL
             : settp_map_rewrite(arena, &list, replace);
  if (!made) {
    arena->top = keep;
    return sett_map_fail(SETT_MAP_ERROR_FULL, 0);
  }
  for (i = 0; i < sett_map_variables(out); ++i) variable[i] = out.variable[i];
  settp_map_rewritten(arena, &map, made, result, constraint);
  for (i = 0; i < mores; ++i) constraint[map.constraints + i] = more[i];
  if (!settp_map_tidy(arena, variable, constraint, &out.constraints)) {
    arena->top = keep;
    return sett_map_empty();
  }
  out.results = map.results;
  out.variable = variable;
  out.result = result;
  out.constraint = constraint;
  settp_map_sort_constraints(arena, &out, constraint, out.constraints);
  return settp_map_store(arena, out, keep);
}

SETT_INLINE int settp_map_equal_text(const char *a, const char *b) { return settp_map_same(a, b, settp_map_length(b)); }

/* Return a copy, in the arena, of the name of variable i of map. */
SETT_INLINE const char *settp_map_name_copy(sett_map_arena *arena, sett_map map, int i) {
  char buffer[24];
  const char *name = sett_map_name(map, i, buffer);
  return name == buffer ? settp_map_name_store(arena, name, settp_map_length(name)) : name;
}

/* Store no name for a variable whose name is the default name of its index. */
SETT_INLINE void settp_map_default_names(sett_map map, sett_map_variable *variable) {
  char buffer[24];
  int i;
  map.variable = variable;
  for (i = 0; i < sett_map_variables(map); ++i) {
    const char *name = variable[i].name;
    if (!name) continue;
    variable[i].name = NULL;
    if (!settp_map_equal_text(sett_map_name(map, i, buffer), name)) variable[i].name = name;
  }
}

/* Make the names of all variables distinct. If two variables have the same name, and both names are default names, then all variables of their kind
 * with default names are renumbered. A name that still clashes gets a suffix. */
SETT_INLINE int settp_map_unique_names(sett_map_arena *arena, sett_map map, sett_map_variable *variable,
                                       const unsigned char *is_default) {
  int i, j, n = sett_map_variables(map), round;
  char buffer[24], other[24];
  map.variable = variable;
  for (i = 0; i < n; ++i)
    for (j = 0; j < i; ++j)
      if (is_default[i] && is_default[j] && variable[i].name && variable[j].name &&
          settp_map_equal_text(variable[i].name, variable[j].name)) {
        int first = i < map.dims ? 0 : i < map.dims + map.ranges ? map.dims : map.dims + map.ranges;
        int last = i < map.dims ? map.dims : i < map.dims + map.ranges ? map.dims + map.ranges : n, k;
        for (k = first; k < last; ++k)
          if (is_default[k]) variable[k].name = NULL;
      }
  for (i = 0; i < n; ++i) {
    for (round = 0; round <= n; ++round) {
      const char *name = sett_map_name(map, i, buffer);
      size_t length = settp_map_length(name);
      char *longer;
      /* variable i needs another name if an earlier variable has the same name, or if a later variable has the same default name */
      for (j = 0; j < n; ++j)
        if (j != i && (j < i || !variable[i].name) && settp_map_equal_text(sett_map_name(map, j, other), name)) break;
      if (j == n || (!variable[i].name && j > i && variable[j].name)) break;
      longer = (char *)settp_map_take(arena, length + 3);
      if (!longer) return SETT_MAP_ERROR_FULL;
      settp_map_copy(longer, name, length);
      longer[length] = '_';
      longer[length + 1] = '1';
      longer[length + 2] = 0;
      variable[i].name = longer;
    }
  }
  return 0;
}

/* In the composed map, the ranges and runtime variables of `second` come before those of `first`. */
SETT_PUBLIC sett_map sett_map_compose(sett_map_arena *arena, sett_map first, sett_map second) {
  sett_map map = sett_map_undefined();
  sett_map_mark mark = sett_map_arena_mark(arena);
  sett_map_variable *variable;
  sett_map_constraint *constraint;
  sett_expr *result, *replace, *made;
  unsigned char *is_default;
  settp_map_list list;
  int n1, n2, n, i, k = 0;
  size_t keep;
  if (first.kind == SETT_MAP_FAILED) return first;
  if (second.kind == SETT_MAP_FAILED) return second;
  if (first.kind == SETT_MAP_UNDEFINED || second.kind == SETT_MAP_UNDEFINED) return sett_map_undefined();
  if (first.kind == SETT_MAP_EMPTY || second.kind == SETT_MAP_EMPTY) return sett_map_empty();
  if (first.results != second.dims) return sett_map_fail(SETT_MAP_ERROR_ARITY, 0);
  n1 = sett_map_variables(first);
  n2 = sett_map_variables(second);
  map.dims = first.dims;
  map.ranges = second.ranges + first.ranges;
  map.rts = second.rts + first.rts;
  n = sett_map_variables(map);
  map.results = second.results;
  /* the names are made before temporary expressions, because the arena is later reset to `keep` and the names must remain */
  variable = (sett_map_variable *)settp_map_take(arena, (size_t)n * sizeof *variable + 8);
  is_default = (unsigned char *)settp_map_take(arena, (size_t)n + 8);
  if (!variable || !is_default) return sett_map_fail(SETT_MAP_ERROR_FULL, 0);
  for (i = 0; i < n; ++i) {
    int from_second = 0, old;
    if (i < map.dims) old = i;
    else if (i < map.dims + map.ranges) {
      from_second = i - map.dims < second.ranges;
      old = from_second ? second.dims + (i - map.dims) : first.dims + (i - map.dims - second.ranges);
    } else {
      k = i - map.dims - map.ranges;
      from_second = k < second.rts;
      old = from_second ? second.dims + second.ranges + k : first.dims + first.ranges + (k - second.rts);
    }
    variable[i] = from_second ? second.variable[old] : first.variable[old];
    is_default[i] = !variable[i].name;
    variable[i].name = settp_map_name_copy(arena, from_second ? second : first, old);
    if (!variable[i].name) return sett_map_fail(SETT_MAP_ERROR_FULL, 0);
  }
  if (settp_map_unique_names(arena, map, variable, is_default)) return sett_map_fail(SETT_MAP_ERROR_FULL, 0);
  settp_map_default_names(map, variable);
  keep = arena->top;
  map.constraints = first.constraints + second.constraints + second.dims;
  result = (sett_expr *)settp_map_take(arena, (size_t)map.results * sizeof *result + 8);
  constraint = (sett_map_constraint *)settp_map_take(arena, (size_t)map.constraints * sizeof *constraint + 8);
  replace = (sett_expr *)settp_map_take(arena, (size_t)(n1 + n2) * sizeof *replace + 8);
  if (!result || !constraint || !replace || settp_map_list_of_map(arena, &list, &first))
    return sett_map_fail(SETT_MAP_ERROR_FULL, 0);
  for (i = 0; i < n1; ++i)
    replace[i] = sett_map_var(arena, i < first.dims                  ? i
                                     : i < first.dims + first.ranges ? i + second.ranges
                                                                     : i + second.ranges + second.rts);
  made = settp_map_rewrite(arena, &list, replace);
  if (!made) return sett_map_fail(SETT_MAP_ERROR_FULL, 0);
  settp_map_rewritten(arena, &first, made, replace, constraint);
  for (i = 0, k = first.constraints; i < second.dims; ++i, ++k) {
    constraint[k].expr = replace[i];
    constraint[k].lo = second.variable[i].lo;
    constraint[k].hi = second.variable[i].hi;
  }
  for (; i < n2; ++i)
    replace[i] = sett_map_var(arena, i < second.dims + second.ranges
                                         ? map.dims + (i - second.dims)
                                         : map.dims + map.ranges + (i - second.dims - second.ranges));
  if (settp_map_list_of_map(arena, &list, &second)) return sett_map_fail(SETT_MAP_ERROR_FULL, 0);
  made = settp_map_rewrite(arena, &list, replace);
  if (!made) return sett_map_fail(SETT_MAP_ERROR_FULL, 0);
  settp_map_rewritten(arena, &second, made, result, constraint + k);
  map.constraints = k + second.constraints;
  if (!settp_map_tidy(arena, variable, constraint, &map.constraints)) {
    sett_map_arena_rewind(arena, mark);
    return sett_map_empty();
  }
  map.variable = variable;
  map.result = result;
  map.constraint = constraint;
  settp_map_sort_constraints(arena, &map, constraint, map.constraints);
  return settp_map_store(arena, map, keep);
}

/* Replace each variable i with fixed[i] != 0 by the constant values[i], and remove it. A value outside the variable's bounds makes the map KNOWN EMPTY.
 */
SETT_PUBLIC sett_map sett_map_substitute(sett_map_arena *arena, sett_map map, const unsigned char *fixed,
                                         const int64_t *values) {
  sett_map out = map;
  int n = sett_map_variables(map), i, k = 0;
  sett_map_variable *variable;
  sett_expr *replace;
  if (map.kind != SETT_MAP_DEFINED) return map;
  variable = (sett_map_variable *)settp_map_take(arena, (size_t)n * sizeof *variable + 8);
  replace = (sett_expr *)settp_map_take(arena, (size_t)n * sizeof *replace + 8);
  if (!variable || !replace) return sett_map_fail(SETT_MAP_ERROR_FULL, 0);
  for (i = 0; i < n; ++i) {
    replace[i] = fixed[i] ? sett_map_constant(arena, values[i]) : sett_map_var(arena, k);
    if (fixed[i]) {
      if (values[i] < map.variable[i].lo || values[i] > map.variable[i].hi) return sett_map_empty();
      settp_map_less(&out, settp_map_kind(&map, i));
      continue;
    }
    variable[k] = map.variable[i];
    variable[k].name = settp_map_name_copy(arena, map, i);
    if (!variable[k++].name) return sett_map_fail(SETT_MAP_ERROR_FULL, 0);
  }
  settp_map_default_names(out, variable);
  out.variable = variable;
  return settp_map_rebuild(arena, map, out, replace, NULL, 0);
}

SETT_PUBLIC sett_map sett_map_rename(sett_map_arena *arena, sett_map map, const char *const *names) {
  sett_map_variable *variable;
  int n = sett_map_variables(map), i, j;
  size_t keep;
  if (map.kind != SETT_MAP_DEFINED) return map;
  variable = (sett_map_variable *)settp_map_take(arena, (size_t)n * sizeof *variable + 8);
  if (!variable) return sett_map_fail(SETT_MAP_ERROR_FULL, 0);
  for (i = 0; i < n; ++i) {
    size_t length = settp_map_length(names[i]), at;
    int bad = !length || !settp_map_letter(names[i][0]) || settp_map_keyword(names[i], length);
    for (at = 1; at < length; ++at) bad |= !settp_map_letter(names[i][at]) && !settp_map_digit(names[i][at]);
    if (bad) return sett_map_fail(SETT_MAP_ERROR_EXPECTED_NAME, 0);
    for (j = 0; j < i; ++j)
      if (settp_map_equal_text(names[j], names[i])) return sett_map_fail(SETT_MAP_ERROR_DUPLICATE, 0);
    variable[i] = map.variable[i];
    variable[i].name = settp_map_name_store(arena, names[i], length);
    if (!variable[i].name) return sett_map_fail(SETT_MAP_ERROR_FULL, 0);
  }
  settp_map_default_names(map, variable);
  keep = arena->top;
  map.variable = variable;
  return settp_map_store(arena, map, keep);
}

/* ======================================================================= bodies: normal form ====

THE NORMAL FORM
  sett_map_simplify turns each expression into a form, from its operands upwards. At the end, the forms of all results and constraints are turned back
  into expressions; here and in the code, this is called printing.
  form         A form is a constant plus a sum of terms k * atom. Each atom occurs once. An atom is a variable, a quotient, a product, a minimum or
               maximum, or an operation that no rule writes in another way. Equal forms have the same number (hash consing); a form or quotient
               that already has a number is called known.
  quotient     Q(L, c) is floor(L / c) for a form L and a number c > 0. The coefficients of L are in (-c/2, c/2] and have no common divisor with c
               (R1, R3). x mod c is the form x - c * Q(x, c), so a reshape and its inverse cancel by addition. Rules R4 to R13 bring quotients with
               equal values to one atom. Each floor(F / d) that is known to have the values of the atom is called a name of it.
               In a quotient by a form b, b is at least 1 on the domain; for a b that is at most -1, dividend and divisor are negated. Multiples of b
               are split off, and common factors are cancelled (S1 to S4). A division by a form that may be 0 stays an operation.
  product      A product of sums is a sum of products of atoms (M1).
  min and max  Nested minima and maxima are one maximum of minima of forms, or one minimum of maxima, whichever has fewer forms. No form in it
               bounds another one, nor do two of them. Common terms, the smallest constant and the common divisor of all its forms stand outside
               (N1 to N7).
  xor          The operands are read as bits of sources. A source is a variable, or another form whose bits cannot be written by bits of other forms.
               Adjacent bits of one source x become a digit, (x floordiv 2^p) mod 2^n. Every other bit becomes an atom: a sum of bits of sources,
               modulo 2 (X1 to X4).
  constraints  In P in [l, h], P has no constant, and its coefficients have no common divisor. No constraint is implied by the bounds. Bounds and
               residue classes of variables are as narrow as C1 to C9 make them. First, bounds and
               constraints are simplified until nothing changes; then the results are simplified.
  cost         Of two forms with equal values, the cheaper one is taken: the one with quotients nested less deep; if equal, with fewer atoms of that
               depth; if equal, with less total weight; if equal, with fewer terms. The weight of an atom is 1 plus the weights of all atoms in its
               operands.
  proof        A rule with a condition on values is applied only if the condition is proved, by intervals (I1 to I5, I7) or by enumeration (I6).
  print        Of the expressions that P1 to P13 find for a form, the one with the fewest operators, variables and numbers is printed; if equal, the
               one with the smaller divisors. Quotients and their dividends become mod, common factors are taken out of sums, and summands are moved into
               or out of a min or max.
  order        Summands are printed in the order of settp_map_order: sums and products first, then mod, floordiv, ceildiv, min, max, xor, then
               variables by index. The first summand is a positive one if there is one, and the constant is the last one.
  again        If no budget is used up, simplify(simplify(m)) is equal to simplify(m) in every character. If the rules lead in a circle, the smallest
               map of the circle is the result. All tables are in the arena's free space and are given up at the end, so a result does not depend on
               earlier calls.
  Each rule is an equation over the integers, with c, m, g > 0. It is explained at the function that applies it. The letter of its name says what
  it changes: R quotients, M products, S quotients by a form, N minima and maxima, I intervals, X bits, C constraints, P print.
  tests/algebra/indexing_map_rules_test.c enumerates all rules. */

/* The values of forms are computed at sample points of the domain. Two forms with different values at a sample are not equal, so no proof is tried.
 * SETTP_MAP_MORE further points are used just before a proof. */
enum { SETTP_MAP_SAMPLES = 6, SETTP_MAP_MORE = 24 };
/* Budgets of one simplification (maximum numbers):
 *     DEPTH_MAX:       nesting of quotients.
 *     FORMS_MAX:       names of one quotient (see THE NORMAL FORM).
 *     CALLS_MAX:       quotients computed.
 *     LOOK_DEPTH:      nesting of interval computations.
 *     LOOKS_MAX:       interval computations for one interval, nested ones included.
 *     PRINTS_MAX:      forms for which the shortest print is searched.
 *     PROOF_DEPTH:     nesting of the steps of a proof, and PROOFS_MAX their number.
 *     POINTS_MAX:      values computed by proofs that enumerate points.
 *     LINS_MAX:        forms in one round, and WORK_MAX in all rounds.
 *     CROSSES_MAX:     names recorded by settp_map_cross_names.
 *     FAILURES_MAX:    proofs that fail.
 *     OWN_POINTS_MAX:  values computed by rule R14.
 *     POINTS_A_FORM:   for WORK_MAX, this many computed values count as one form.
 *     PRODUCTS_MAX:    products that are remembered. */
enum {
  SETTP_MAP_NONE = -1,
  SETTP_MAP_DEPTH_MAX = 250,
  SETTP_MAP_FORMS_MAX = 10,
  SETTP_MAP_CALLS_MAX = 20000,
  SETTP_MAP_LOOK_DEPTH = 4,
  SETTP_MAP_LOOKS_MAX = 20,
  SETTP_MAP_PRINTS_MAX = 500,
  SETTP_MAP_PROOF_DEPTH = 6,
  SETTP_MAP_PROOFS_MAX = 48,
  SETTP_MAP_POINTS_MAX = 1 << 16,
  SETTP_MAP_LINS_MAX = 2000,
  SETTP_MAP_WORK_MAX = 14000,
  SETTP_MAP_CROSSES_MAX = 20,
  SETTP_MAP_FAILURES_MAX = 100,
  SETTP_MAP_OWN_POINTS_MAX = 1 << 19,
  SETTP_MAP_POINTS_A_FORM = 150,
  SETTP_MAP_PRODUCTS_MAX = 16,
  SETTP_MAP_ESTIMATES_MAX = 8 /* nesting of prints that are made only to estimate their size */
};
enum { SETTP_MAP_ATOM_VAR, SETTP_MAP_ATOM_QUOTIENT, SETTP_MAP_ATOM_OTHER };

typedef struct settp_map_term {
  int64_t k;
  int32_t atom;
  int32_t spare;
} settp_map_term;

typedef struct settp_map_lin { /* constant + the sum of term[first] to term[first + count - 1] */
  int64_t constant;
  uint32_t hash;
  int32_t first, count, next;
  /* index of the row with this form's values at the samples; SETTP_MAP_NONE if they were not computed */
  int32_t sample;
  unsigned char known, busy, entered, bounded;
  uint32_t expr; /* the printed expression of this form, if nodes > 0 */
  int32_t nodes;
  int32_t estimate; /* remembered result of settp_map_estimate; 0: not computed */
  int32_t plain;    /* remembered result of settp_map_terms_estimate; 0: not computed */
  /* remembered result of settp_map_symbols for a sum without quotients, minima and maxima; 0: not computed */
  int32_t symbols;
  /* results of settp_map_lin_affine and settp_map_all_positive: 1 yes, 2 no, 0 not computed */
  unsigned char affine, positive;
  /* 1 while this form is printed: inside its own print, it is printed without fields (P7) */
  unsigned char printing;
  unsigned char op;   /* the first operation of the map whose value is this form; 0 if there is none that P12 needs */
  int64_t lo, hi;     /* the interval of the form, if it was computed */
  int32_t a, b, tree; /* operands of op as forms, and the approximate number of nodes of the operation's tree */
  /* if `bounded`: an interval that contains the values of all expressions of the map that have this form */
  sett_map_interval bound;
} settp_map_lin;

typedef struct settp_map_row {
  int64_t at[SETTP_MAP_SAMPLES];
} settp_map_row;

/* A name of a quotient: a form lin and a divisor c with floor(lin / c) equal to the quotient everywhere in the domain. */
typedef struct settp_map_form {
  int64_t c;
  int32_t lin, next;
} settp_map_form;

typedef struct settp_map_atom {
  /* c: the divisor of a quotient. For a variable x, it is the modulus of the residue class r, and the atom is (x - r) / c */
  int64_t lo, hi, c;
  int64_t r;        /* for a variable: its residue r (see c); for a xor made from a bit: the number of the bit */
  uint64_t support; /* bit i: the atom depends on a variable whose index modulo 64 is i */
  int64_t weight;
  int32_t kind, op; /* op: the operation, if kind is SETTP_MAP_ATOM_OTHER */
  int32_t a, b;     /* forms of the operands; for a variable, a is its index */
  int32_t depth, next;
  int32_t own; /* the form that consists of this atom only, or SETTP_MAP_NONE if there is none yet */
  uint32_t hash;
  int32_t form, forms; /* the list of the names floor(lin / c) of a quotient: its first (newest) entry, its length */
  uint32_t expr;       /* the printed expression of this atom, if nodes > 0 */
  int32_t nodes;
  /* `more`: 1 if the values of this atom at the SETTP_MAP_MORE further points are known. `wanted`: 1 if they will be computed. `later`: the next atom
   * in the list of atoms whose values are being computed */
  int32_t more, wanted, later;
  int64_t at[SETTP_MAP_SAMPLES];
} settp_map_atom;

/* An entry of the table in which R12 and R13 search for a form. These rules know the values of a form at the samples. They look for another form with
 * the same values, up to a factor (step) and a constant. */
typedef struct settp_map_alike {
  int64_t step;
  int32_t lin, next;
  uint32_t hash, spare;
} settp_map_alike;

/* a computed quotient: floor(lin / c) = `value`, which is SETTP_MAP_NONE while it is being computed */
typedef struct settp_map_memo {
  int64_t c;
  int32_t lin, value, next;
  uint32_t hash;
} settp_map_memo;

/* The constraint that the form lin lies in the interval `in`. The form has no constant, and its coefficients have no common divisor. */
typedef struct settp_map_known {
  sett_map_interval in;
  int32_t lin, spare;
} settp_map_known;

typedef struct settp_map_engine {
  sett_map_arena *arena;
  settp_map_term *term;
  settp_map_lin *lin;
  settp_map_atom *atom;
  settp_map_form *form;
  settp_map_memo *memo;
  settp_map_alike *alike;
  settp_map_row *row;
  int32_t terms, term_room, lins, lin_room, atoms, atom_room, forms, form_room, memos, memo_room, alikes, alike_room,
      rows, row_room;
  int32_t *lin_bucket, *atom_bucket, *memo_bucket, *alike_bucket;
  uint32_t mask;       /* number of buckets of each table minus 1; the tables grow */
  int32_t memo_first;  /* entries of `memo` with a smaller index are no longer valid */
  int32_t alike_known; /* entries of `alike` with a smaller index are already in the buckets (alike_bucket) */
  int32_t zero;        /* the form 0, or SETTP_MAP_NONE if there is none yet */
  int32_t *variable;   /* the atom of each variable, or SETTP_MAP_NONE */
  const sett_map_variable *bounds;
  const int64_t *modulus, *residue; /* variable i is known to be residue[i] modulo modulus[i] */
  int variables;
  /* searches stop at this number of forms. A small arena has a low limit: its results are less simple, but no search fails */
  int32_t lin_limit;
  int error; /* 0, FULL or DEEP; it is never reset to 0. A rule that overflows is no error, but is not applied */
  /* `calls` and `nest`: number and nesting of the quotients being computed. `depth` and `looks`: nesting and number of the intervals being computed;
   * `look_end`: the limit of `looks` */
  int32_t calls, nest, depth, looks, look_end;
  settp_map_known *fact; /* facts from constraints; they are used for results only */
  int facts, fact_room;
  int32_t prints; /* number of forms printed */
  /* number of values that proofs may still compute. own_points: in proofs that settp_map_own_dimensions repeats because they were undecided.
   * points: in all other proofs. points_given: points + own_points at the start */
  int64_t points, own_points, points_given;
  int32_t proofs, proof_end; /* number of proof steps, and the number at which the current proof gives up */
  /* 1 if R12 also tries multiples of a form, because constraints can make a quotient equal to such a multiple */
  int scaled;
  int sampled; /* 0 if no point of the domain is known: samples may then be outside, and prove nothing */
  /* SETTP_MAP_SAMPLES + SETTP_MAP_MORE points of the domain. NULL if every point inside the bounds is in the domain */
  const int64_t *point;
  /* the values of atoms at the further points, if they are known: SETTP_MAP_MORE per atom. A proof uses SETTP_MAP_SAMPLES of them at a time */
  int64_t *more;
  int32_t more_room, crosses, failures; /* failures: number of failed proofs that no sample refuted */
  int64_t step;                         /* result of settp_map_at_step for the form `stepped` */
  uint32_t step_hash;
  int32_t stepped;
  int fixed; /* 1 if some atom is known to have one value only */
  /* renamed: 1 if a quotient was printed by another name than its first one. refolded: 1 if this happened inside a digit */
  int renamed, refolded;
  int xors;                    /* 1 if the map has a xor; a sum modulo 2 may then be printed as a xor */
  int lattices;                /* 1 if some atom is a minimum or maximum */
  struct settp_map_bits *bits; /* NULL until the first bit is computed */
  /* the last products that were computed: two sums and their product */
  int32_t product[SETTP_MAP_PRODUCTS_MAX][3], products;
  int divided;   /* 1 if some atom is a quotient by a form */
  int floors;    /* 1 if some atom is floor(a / b) for forms a and b */
  int estimates; /* nesting of prints that are made only to estimate their size */
} settp_map_engine;

#define SETTP_MAP_ROOM(e, array, count, room, extra) \
  ((e)->count + (extra) <= (e)->room ||              \
   settp_map_room(e, &(e)->array, (e)->count + (extra), &(e)->room, sizeof *(e)->array))

/* Make the array at *array larger until it has room for `need` entries. Return 0 if the arena is full. */
SETT_INLINE int settp_map_room(settp_map_engine *e, void *array, int32_t need, int32_t *room, size_t size) {
  while (need > *room) {
    /* if there is much memory, grow by a larger factor, so that arrays are copied less often */
    int32_t more = *room ? *room * (e->lin_limit == SETTP_MAP_LINS_MAX ? 4 : 2) : 64;
    void *old, *grown = more < *room || e->error ? NULL : settp_map_take(e->arena, (size_t)more * size);
    if (!grown) {
      if (!e->error) e->error = SETT_MAP_ERROR_FULL;
      return 0;
    }
    settp_map_copy(&old, array, sizeof old); /* copied as bytes, because the pointers have different types */
    settp_map_copy(grown, old, (size_t)*room * size);
    settp_map_copy(array, &grown, sizeof grown);
    *room = more;
  }
  return 1;
}

/* Put entry `at` of a table (lin, atom, memo or alike) at the front of its bucket. */
#define SETTP_MAP_ENTER(e, table, at)                                          \
  ((e)->table[at].next = (e)->table##_bucket[(e)->table[at].hash & (e)->mask], \
   (e)->table##_bucket[(e)->table[at].hash & (e)->mask] = (at))

/* Quadruple the number of buckets of all tables. If there is no memory, keep the old buckets. */
SETT_INLINE void settp_map_rehash(settp_map_engine *e) {
  uint32_t size = (e->mask + 1) * 4, i;
  int32_t *bucket = (int32_t *)settp_map_take(e->arena, (size_t)size * 4 * sizeof *bucket);
  int32_t at;
  if (!bucket) return;
  for (i = 0; i < size * 4; ++i) bucket[i] = SETTP_MAP_NONE;
  e->mask = size - 1;
  e->lin_bucket = bucket;
  e->atom_bucket = bucket + size;
  e->memo_bucket = bucket + 2 * (size_t)size;
  e->alike_bucket = bucket + 3 * (size_t)size;
  for (at = 0; at < e->lins; ++at) SETTP_MAP_ENTER(e, lin, at);
  for (at = 0; at < e->atoms; ++at)
    if (e->atom[at].kind != SETTP_MAP_ATOM_VAR) SETTP_MAP_ENTER(e, atom, at);
  for (at = e->memo_first; at < e->memos; ++at) SETTP_MAP_ENTER(e, memo, at);
  for (at = 0; at < e->alike_known; ++at)
    if (e->alike[at].step) SETTP_MAP_ENTER(e, alike, at);
}

/* Return 1 if a table with this number of entries should grow. */
SETT_INLINE int settp_map_crowded(const settp_map_engine *e, int32_t entries) {
  return (uint32_t)entries > 2 * e->mask && e->mask < UINT32_C(1) << 20;
}

/* Return the linear form that has this constant and the `count` terms after the end of the pool of terms (at e->term + e->terms). The terms are sorted,
 * and no coefficient is 0. Return SETTP_MAP_NONE if the constant or a coefficient exceeds 2^62 in magnitude. Because of this limit, both can be
 * negated, and neither is equal to INT64_MIN or INT64_MAX, which mean "no bound". */
SETT_INLINE int32_t settp_map_lin_make(settp_map_engine *e, int64_t constant, int32_t count) {
  const int64_t most = (int64_t)1 << 62;
  const settp_map_term *first = e->term + e->terms, *end = first + count, *t, *old;
  uint64_t h = (uint64_t)constant * 31 + (uint64_t)count;
  uint32_t hash;
  int32_t at;
  settp_map_lin *l;
  for (t = first; t < end; ++t)
    h = (h + (uint64_t)t->k * UINT64_C(0xBF58476D1CE4E5B9) + (uint64_t)t->atom) * UINT64_C(0x9E3779B97F4A7C15);
  h ^= h >> 29;
  h *= UINT64_C(0xD6E8FEB86659FD93);
  hash = (uint32_t)(h >> 32);
  for (at = e->lin_bucket[hash & e->mask]; at >= 0; at = l->next) {
    l = e->lin + at;
    if (l->hash != hash || l->constant != constant || l->count != count) continue;
    old = e->term + l->first;
    for (t = first; t < end && old->k == t->k && old->atom == t->atom; ++t) ++old;
    if (t == end) return at;
  }
  if ((uint64_t)constant + (uint64_t)most > 2 * (uint64_t)most) return SETTP_MAP_NONE;
  for (t = first; t < end; ++t)
    if ((uint64_t)t->k + (uint64_t)most > 2 * (uint64_t)most) return SETTP_MAP_NONE;
  if (!SETTP_MAP_ROOM(e, lin, lins, lin_room, 1)) return SETTP_MAP_NONE;
  if (settp_map_crowded(e, e->lins)) settp_map_rehash(e);
  l = e->lin + e->lins;
  l->hash = hash;
  l->constant = constant;
  l->first = e->terms;
  l->count = count;
  l->expr = 0;
  l->nodes = l->estimate = l->plain = l->symbols = 0;
  l->affine = l->positive = l->printing = l->op = 0;
  l->known = l->busy = l->entered = l->bounded = 0;
  l->sample = SETTP_MAP_NONE;
  SETTP_MAP_ENTER(e, lin, e->lins);
  e->terms += count;
  return e->lins++;
}

SETT_INLINE int32_t settp_map_lin_constant(settp_map_engine *e, int64_t value) {
  if (value) return settp_map_lin_make(e, value, 0);
  if (e->zero < 0) e->zero = settp_map_lin_make(e, 0, 0);
  return e->zero;
}

SETTP_MAP_APART int32_t settp_map_lin_atom_make(settp_map_engine *e, int32_t atom, int64_t k, int64_t constant) {
  if (atom < 0 || !SETTP_MAP_ROOM(e, term, terms, term_room, 1)) return SETTP_MAP_NONE;
  e->term[e->terms].k = k;
  e->term[e->terms].atom = atom;
  e->term[e->terms].spare = 0;
  return settp_map_lin_make(e, constant, k ? 1 : 0);
}

/* Return k * atom + constant. */
SETT_INLINE int32_t settp_map_lin_atom(settp_map_engine *e, int32_t atom, int64_t k, int64_t constant) {
  return atom >= 0 && k == 1 && !constant && e->atom[atom].own >= 0 ? e->atom[atom].own
                                                                    : settp_map_lin_atom_make(e, atom, k, constant);
}

/* Write the terms of a * ka + b * kb after the end of the pool of terms, and reserve room for one more. Return their number, or SETTP_MAP_NONE on
 * overflow. *constant receives the combined constant. */
SETT_INLINE int32_t settp_map_terms_mix(settp_map_engine *e, int32_t a, int64_t ka, int32_t b, int64_t kb,
                                        int64_t *constant) {
  const settp_map_term *s, *t, *s_end, *t_end;
  settp_map_term *out;
  int64_t x, y;
  if (a < 0 || b < 0) return SETTP_MAP_NONE;
  if (settp_map_mul(e->lin[a].constant, ka, &x) || settp_map_mul(e->lin[b].constant, kb, &y) ||
      settp_map_add(x, y, &x) || settp_map_add(x, *constant, constant))
    return SETTP_MAP_NONE;
  if (!SETTP_MAP_ROOM(e, term, terms, term_room, e->lin[a].count + e->lin[b].count + 1)) return SETTP_MAP_NONE;
  s = e->term + e->lin[a].first;
  s_end = s + e->lin[a].count;
  t = e->term + e->lin[b].first;
  t_end = t + e->lin[b].count;
  out = e->term + e->terms;
  if (!ka) s = s_end;
  if (!kb) t = t_end;
  while (s < s_end && t < t_end) {
    if (s->atom < t->atom) {
      if (settp_map_mul(s->k, ka, &x)) return SETTP_MAP_NONE;
      out->atom = s++->atom;
    } else if (t->atom < s->atom) {
      if (settp_map_mul(t->k, kb, &x)) return SETTP_MAP_NONE;
      out->atom = t++->atom;
    } else {
      if (settp_map_mul(s->k, ka, &x) || settp_map_mul(t->k, kb, &y) || settp_map_add(x, y, &x)) return SETTP_MAP_NONE;
      out->atom = s->atom;
      ++s;
      ++t;
    }
    out->k = x;
    out += x != 0;
  }
  for (; s < s_end; ++s, ++out) {
    if (settp_map_mul(s->k, ka, &out->k)) return SETTP_MAP_NONE;
    out->atom = s->atom;
  }
  for (; t < t_end; ++t, ++out) {
    if (settp_map_mul(t->k, kb, &out->k)) return SETTP_MAP_NONE;
    out->atom = t->atom;
  }
  return (int32_t)(out - (e->term + e->terms));
}

/* Write the terms of the form `a` after the end of the pool of terms, where the caller has reserved room. Return their number. */
SETT_INLINE int32_t settp_map_terms_copy(settp_map_engine *e, int32_t a) {
  const settp_map_term *t = e->term + e->lin[a].first, *end = t + e->lin[a].count;
  settp_map_term *out = e->term + e->terms;
  while (t < end) *out++ = *t++;
  return e->lin[a].count;
}

/* Add k * atom to the `count` terms after the end of the pool of terms. Return the new number of terms. */
SETT_INLINE int32_t settp_map_terms_add(settp_map_engine *e, int32_t count, int32_t atom, int64_t k) {
  settp_map_term *t = e->term + e->terms;
  int32_t i, at = count;
  if (count < 0) return count;
  while (at > 0 && t[at - 1].atom > atom) --at;
  if (at > 0 && t[at - 1].atom == atom) {
    if (settp_map_add(t[at - 1].k, k, &t[at - 1].k)) return SETTP_MAP_NONE;
    if (t[at - 1].k) return count;
    for (i = at; i < count; ++i) t[i - 1] = t[i];
    return count - 1;
  }
  if (!k) return count;
  for (i = count; i > at; --i) t[i] = t[i - 1];
  t[at].k = k;
  t[at].atom = atom;
  t[at].spare = 0;
  return count + 1;
}

/* Return a * ka + b * kb + constant; SETTP_MAP_NONE on overflow. */
SETT_INLINE int32_t settp_map_lin_mix(settp_map_engine *e, int32_t a, int64_t ka, int32_t b, int64_t kb,
                                      int64_t constant) {
  int32_t n;
  if (a < 0 || b < 0) return SETTP_MAP_NONE;
  if (!constant) { /* if one form adds nothing, return the other one unchanged */
    if (ka == 1 && (!kb || (!e->lin[b].count && !e->lin[b].constant))) return a;
    if (kb == 1 && !e->lin[a].count && !e->lin[a].constant) return b;
  }
  n = settp_map_terms_mix(e, a, ka, b, kb, &constant);
  return n < 0 ? SETTP_MAP_NONE : settp_map_lin_make(e, constant, n);
}

/* Return a + k * atom. */
SETT_INLINE int32_t settp_map_lin_plus(settp_map_engine *e, int32_t a, int32_t atom, int64_t k) {
  int32_t n;
  if (a < 0 || atom < 0) return SETTP_MAP_NONE;
  if (!k) return a;
  n = e->lin[a].count;
  if (!SETTP_MAP_ROOM(e, term, terms, term_room, n + 1)) return SETTP_MAP_NONE;
  n = settp_map_terms_add(e, settp_map_terms_copy(e, a), atom, k);
  return n < 0 ? SETTP_MAP_NONE : settp_map_lin_make(e, e->lin[a].constant, n);
}

/* Return a * k + constant. */
SETT_INLINE int32_t settp_map_lin_scale(settp_map_engine *e, int32_t a, int64_t k, int64_t constant) {
  const settp_map_term *t, *end;
  settp_map_term *out;
  int64_t x;
  if (a < 0) return SETTP_MAP_NONE;
  if (k == 1 && !constant) return a;
  if (settp_map_mul(e->lin[a].constant, k, &x) || settp_map_add(x, constant, &constant) ||
      !SETTP_MAP_ROOM(e, term, terms, term_room, e->lin[a].count))
    return SETTP_MAP_NONE;
  t = e->term + e->lin[a].first;
  end = k ? t + e->lin[a].count : t;
  for (out = e->term + e->terms; t < end; ++t, ++out) {
    if (settp_map_mul(t->k, k, &out->k)) return SETTP_MAP_NONE;
    out->atom = t->atom;
  }
  return settp_map_lin_make(e, constant, (int32_t)(out - (e->term + e->terms)));
}

/* Return the form `a` with every coefficient divided by g, which divides all of them, and with a new constant. */
SETT_INLINE int32_t settp_map_lin_shrink(settp_map_engine *e, int32_t a, int64_t g, int64_t constant) {
  int32_t i, n;
  if (a < 0) return SETTP_MAP_NONE;
  if (g == 1 && constant == e->lin[a].constant) return a;
  n = e->lin[a].count;
  if (!SETTP_MAP_ROOM(e, term, terms, term_room, n)) return SETTP_MAP_NONE;
  for (i = 0; i < n; ++i) {
    e->term[e->terms + i] = e->term[e->lin[a].first + i];
    e->term[e->terms + i].k /= g;
  }
  return settp_map_lin_make(e, constant, n);
}

SETT_INLINE int64_t settp_map_lin_coefficient(const settp_map_engine *e, int32_t a, int32_t atom) {
  int32_t lo = 0, hi = e->lin[a].count;
  const settp_map_term *t = e->term + e->lin[a].first;
  while (lo < hi) {
    int32_t mid = (lo + hi) / 2;
    if (t[mid].atom < atom) lo = mid + 1;
    else hi = mid;
  }
  return lo < e->lin[a].count && t[lo].atom == atom ? t[lo].k : 0;
}

/* Return the greatest common divisor of g and the coefficients. */
SETT_INLINE int64_t settp_map_lin_gcd_with(const settp_map_engine *e, int32_t a, int64_t g) {
  const settp_map_term *t = e->term + e->lin[a].first, *end = t + e->lin[a].count;
  for (; t < end && g != 1; ++t) g = settp_map_gcd(g, t->k);
  return g;
}

/* Return the gcd of the coefficients; 0 for a form without terms. */
SETT_INLINE int64_t settp_map_lin_gcd(const settp_map_engine *e, int32_t a) { return settp_map_lin_gcd_with(e, a, 0); }

/* Return the residue of k modulo c in (-c/2, c/2]. */
SETT_INLINE int64_t settp_map_residue(int64_t k, int64_t c) {
  uint64_t size = k < 0 ? 0 - (uint64_t)k : (uint64_t)k;
  int64_t r;
  /* the usual case, handled first: k is already in the interval */
  if (size < (uint64_t)1 << 62 && (2 * size < (uint64_t)c || (2 * size == (uint64_t)c && k > 0))) return k;
  r = k % c;
  if (r < 0) r += c;
  return r > c - r ? r - c : r;
}

/* R1: floor((c * A + B) / c) = A + floor(B / c). Split a = c * quotient + rest, with coefficients of rest in (-c/2, c/2] and its constant in [0, c). */
SETT_INLINE int settp_map_lin_extract(settp_map_engine *e, int32_t a, int64_t c, int32_t *quotient, int32_t *rest) {
  const settp_map_term *t;
  settp_map_term *whole, *left;
  int32_t i, n = 0, wholes = 0, count, base;
  int64_t constant;
  if (a < 0) return 0;
  count = e->lin[a].count;
  constant = e->lin[a].constant;
  t = e->term + e->lin[a].first;
  for (i = 0; i < count && settp_map_residue(t[i].k, c) == t[i].k; ++i) {}
  /* the constant and all coefficients are their own residues modulo c, so the quotient is 0 and the remainder is `a` itself */
  if (i == count && constant >= 0 && constant < c) {
    *quotient = settp_map_lin_constant(e, 0);
    *rest = a;
    return *quotient >= 0;
  }
  if (!SETTP_MAP_ROOM(e, term, terms, term_room, 2 * count)) return 0;
  t = e->term + e->lin[a].first;
  base = e->terms;
  whole = e->term + base;
  left = whole + count;
  for (; n < i; ++n) left[n] = t[n];
  for (; i < count; ++i) {
    int64_t k = settp_map_residue(t[i].k, c);
    if (k) {
      left[n] = t[i];
      left[n++].k = k;
    }
    if (k == t[i].k) continue;
    whole[wholes] = t[i];
    whole[wholes++].k = (t[i].k - k) / c;
  }
  *quotient = settp_map_lin_make(e, settp_map_floor(constant, c), wholes);
  if (*quotient < 0 || !SETTP_MAP_ROOM(e, term, terms, term_room, n)) return 0;
  /* copy the remainder's terms to the end of the pool, which is now after the terms of the quotient */
  for (i = 0; i < n; ++i) e->term[e->terms + i] = e->term[base + count + i];
  *rest = settp_map_lin_make(e, settp_map_mod(constant, c), n);
  return *rest >= 0;
}

/* ---- samples: the values of a form at some points of the domain. They only prevent proofs that would fail, so values may wrap around. ---- */

/* Add k * x[j] to v[j] for all SETTP_MAP_SAMPLES values. */
SETT_INLINE void settp_map_row_add(int64_t *v, const int64_t *x, int64_t k) {
#define SETTP_MAP_ROW_ADD(j) v[j] = (int64_t)((uint64_t)v[j] + (uint64_t)k * (uint64_t)x[j]);
  SETTP_MAP_ROW_ADD(0)
  SETTP_MAP_ROW_ADD(1) SETTP_MAP_ROW_ADD(2) SETTP_MAP_ROW_ADD(3) SETTP_MAP_ROW_ADD(4) SETTP_MAP_ROW_ADD(5)
#undef SETTP_MAP_ROW_ADD
}

SETT_INLINE void settp_map_row_start(int64_t *v, int64_t x) { v[0] = v[1] = v[2] = v[3] = v[4] = v[5] = x; }

/* Compute and remember the result of settp_map_lin_at. */
SETTP_MAP_APART const int64_t *settp_map_lin_at_first(settp_map_engine *e, settp_map_lin *l) {
  static const settp_map_row none = {{0}};
  const settp_map_term *t = e->term + l->first, *end = t + l->count;
  int64_t *v;
  if (!SETTP_MAP_ROOM(e, row, rows, row_room, 1)) return none.at;
  v = e->row[e->rows].at;
  settp_map_row_start(v, l->constant);
  for (; t < end; ++t) settp_map_row_add(v, e->atom[t->atom].at, t->k);
  l->sample = e->rows++;
  return v;
}

/* Return the values of a form at the samples. They are computed once. */
SETT_INLINE const int64_t *settp_map_lin_at(settp_map_engine *e, int32_t a) {
  settp_map_lin *l = e->lin + a;
  return l->sample < 0 ? settp_map_lin_at_first(e, l) : e->row[l->sample].at;
}

/* floor(a / b) for b > 0 */
SETT_INLINE int32_t settp_map_floor_32(int32_t a, int32_t b) {
  int32_t q = a / b;
  return q - (a - q * b < 0);
}

/* floor(a / b) for b > 0. A 32-bit division is several times faster and is used if a and b are small enough */
SETT_INLINE int64_t settp_map_floor_short(int64_t a, int64_t b) {
  if ((uint64_t)a + UINT64_C(0x40000000) < UINT64_C(0x80000000) && b < INT64_C(0x40000000))
    return settp_map_floor_32((int32_t)a, (int32_t)b);
  return settp_map_floor(a, b);
}

/* Write floor(x[j] / c), for c > 0, to out[j] for all SETTP_MAP_SAMPLES values. */
SETT_INLINE void settp_map_row_floor(const int64_t *x, int64_t c, int64_t *out) {
  uint64_t wide = (uint64_t)c >> 30;
  int j;
  for (j = 0; j < SETTP_MAP_SAMPLES; ++j) wide |= ((uint64_t)x[j] + UINT64_C(0x40000000)) >> 31;
  if (wide)
    for (j = 0; j < SETTP_MAP_SAMPLES; ++j) out[j] = settp_map_floor(x[j], c);
  else
    for (j = 0; j < SETTP_MAP_SAMPLES; ++j) out[j] = settp_map_floor_32((int32_t)x[j], (int32_t)c);
}

/* Write op(x[j], y[j]) to out[j] for all SETTP_MAP_SAMPLES values, or 0 where it has no value. Return 1 if all have values. */
SETT_INLINE int settp_map_row_apply(int op, const int64_t *x, const int64_t *y, int64_t *out) {
  int j, ok = 1;
  if (op == SETTP_MAP_MIN) {
    for (j = 0; j < SETTP_MAP_SAMPLES; ++j) out[j] = x[j] < y[j] ? x[j] : y[j];
  } else if (op == SETTP_MAP_MAX) {
    for (j = 0; j < SETTP_MAP_SAMPLES; ++j) out[j] = x[j] > y[j] ? x[j] : y[j];
  } else {
    for (j = 0; j < SETTP_MAP_SAMPLES; ++j)
      if (settp_map_apply(op, x[j], y[j], out + j)) out[j] = ok = 0;
  }
  return ok;
}

/* Return 1 if floor((x[j] + k * y[j]) / c) is the same number at all samples j. */
SETT_INLINE int settp_map_at_one_period(const settp_map_engine *e, const int64_t *x, const int64_t *y, uint64_t k,
                                        int64_t c) {
  uint64_t first;
  int j;
  if (!e->sampled) return 1;
  first = (uint64_t)settp_map_floor_short((int64_t)((uint64_t)x[0] + k * (uint64_t)y[0]), c) * (uint64_t)c;
  for (j = 1; j < SETTP_MAP_SAMPLES; ++j)
    if ((uint64_t)x[j] + k * (uint64_t)y[j] - first >= (uint64_t)c) return 0;
  return 1;
}

/* Let d[j] = x[j] - x[0]. Return the sign of the first d[j] that is not 0, or 0 if all are 0. If `scaled` is set, multiply the sign by the gcd of all
 * d[j]. *hash receives a hash of all d[j], each divided by the returned number. */
SETT_INLINE int64_t settp_map_at_step(const int64_t *x, int scaled, uint32_t *hash) {
  int64_t g = 0, d[SETTP_MAP_SAMPLES];
  uint64_t h = 0, sign;
  int j, first = 0;
  if (!scaled) { /* the hash is the sum of all x[j] - x[0], each multiplied by a constant of its own */
    for (j = 1; j < SETTP_MAP_SAMPLES && x[j] == x[0]; ++j) {}
    if (j == SETTP_MAP_SAMPLES) return 0;
    h = (uint64_t)x[1] * UINT64_C(0x9E3779B97F4A7C15) + (uint64_t)x[2] * UINT64_C(0xBF58476D1CE4E5B9) +
        (uint64_t)x[3] * UINT64_C(0x94D049BB133111EB) + (uint64_t)x[4] * UINT64_C(0xD6E8FEB86659FD93) +
        (uint64_t)x[5] * UINT64_C(0x632BE59BD9B4E019) - (uint64_t)x[0] * UINT64_C(0x2C74EF35EF6F5165);
    if ((int64_t)((uint64_t)x[j] - (uint64_t)x[0]) < 0) {
      *hash = (uint32_t)((0 - h) >> 32);
      return -1;
    }
    *hash = (uint32_t)(h >> 32);
    return 1;
  }
  for (j = SETTP_MAP_SAMPLES - 1; j > 0; --j) {
    d[j] = (int64_t)((uint64_t)x[j] - (uint64_t)x[0]);
    if (d[j]) first = j;
    if (d[j] == INT64_MIN) return 0;
  }
  if (!first) return 0;
  for (j = first; j < SETTP_MAP_SAMPLES && g != 1; ++j)
    if (d[j]) g = settp_map_gcd(g, d[j]);
  if (g > 1)
    for (j = first; j < SETTP_MAP_SAMPLES; ++j) d[j] /= g;
  sign = d[first] < 0 ? ~(uint64_t)0 : 0;
  for (j = 1; j < SETTP_MAP_SAMPLES; ++j) {
    h = (h ^ (((uint64_t)d[j] ^ sign) - sign)) * UINT64_C(0x9E3779B97F4A7C15);
    h ^= h >> 29;
  }
  *hash = (uint32_t)(h >> 32);
  return g > 1 ? (sign ? -g : g) : sign ? -1 : 1;
}

/* Compute and remember the result of settp_map_lin_affine for an engine without facts. */
SETTP_MAP_APART int settp_map_lin_affine_first(const settp_map_engine *e, settp_map_lin *l) {
  const settp_map_term *t = e->term + l->first, *end = t + l->count;
  while (t < end && e->atom[t->atom].kind == SETTP_MAP_ATOM_VAR) ++t;
  l->affine = t == end ? 1 : 2;
  return t == end;
}

/* Return 1 if every atom of the form is a variable, and the engine has no facts from constraints. The sum of the intervals of the terms is then exact,
 * and no other form has the same values. */
SETT_INLINE int settp_map_lin_affine(const settp_map_engine *e, int32_t a) {
  settp_map_lin *l = e->lin + a;
  if (e->facts) return 0;
  return l->affine ? l->affine == 1 : settp_map_lin_affine_first(e, l);
}

/* Return 1 for a minimum or maximum. */
SETT_INLINE int settp_map_atom_lattice(const settp_map_atom *x) {
  return x->kind == SETTP_MAP_ATOM_OTHER && (x->op == SETTP_MAP_MIN || x->op == SETTP_MAP_MAX);
}

/* Return the index within l of its first term that is a minimum or maximum, or SETTP_MAP_NONE. *count receives the number of such terms. */
SETT_INLINE int32_t settp_map_lattice_at(const settp_map_engine *e, int32_t l, int *count) {
  int32_t i, at = SETTP_MAP_NONE;
  *count = 0;
  for (i = 0; e->lattices && i < e->lin[l].count; ++i) {
    if (!settp_map_atom_lattice(e->atom + e->term[e->lin[l].first + i].atom)) continue;
    if (at < 0) at = i;
    ++*count;
  }
  return at;
}

/* N1: term i of l is k * min(x, y). Write l as op(k * x + rest, k * y + rest), and return op: min, or max if k < 0. *a and *b receive the two sides.
 * Return 0 if a side overflows. */
SETT_INLINE int settp_map_lattice_sides(settp_map_engine *e, int32_t l, int32_t i, int32_t *a, int32_t *b) {
  settp_map_term t = e->term[e->lin[l].first + i];
  int op = e->atom[t.atom].op;
  int32_t x = e->atom[t.atom].a, y = e->atom[t.atom].b, rest = settp_map_lin_plus(e, l, t.atom, -t.k);
  *a = settp_map_lin_mix(e, x, t.k, rest, 1, 0);
  *b = settp_map_lin_mix(e, y, t.k, rest, 1, 0);
  if (*a < 0 || *b < 0) return 0;
  return t.k > 0 ? op : SETTP_MAP_MIN + SETTP_MAP_MAX - op;
}

/* ---- intervals ---- */

SETT_INLINE sett_map_interval settp_map_lin_interval(settp_map_engine *e, int32_t a);

/* Return 1 for INT64_MAX and INT64_MIN. */
SETT_INLINE int settp_map_unbounded(int64_t bound) { return (uint64_t)bound - (uint64_t)INT64_MAX <= 1; }

/* I1: return the sum of the intervals of the terms. */
SETT_INLINE sett_map_interval settp_map_lin_sum(const settp_map_engine *e, int32_t a) {
  const settp_map_term *t = e->term + e->lin[a].first, *end = t + e->lin[a].count;
  sett_map_interval r = settp_map_interval(e->lin[a].constant, e->lin[a].constant);
  int lower = 1, upper = 1; /* lower: 1 if all terms so far have a lower bound; upper: the same for upper bounds */
  for (; t < end; ++t) {
    const settp_map_atom *x = e->atom + t->atom;
    int64_t lo = t->k < 0 ? x->hi : x->lo, hi = t->k < 0 ? x->lo : x->hi;
    if (settp_map_unbounded(lo) || settp_map_mul(lo, t->k, &lo) || settp_map_add(r.lo, lo, &r.lo)) lower = 0;
    if (settp_map_unbounded(hi) || settp_map_mul(hi, t->k, &hi) || settp_map_add(r.hi, hi, &r.hi)) upper = 0;
  }
  return settp_map_interval(lower ? r.lo : INT64_MIN, upper ? r.hi : INT64_MAX);
}

/* Return an interval that contains F mod m: [r, m - g + r], where g is the gcd of m and the coefficients of F, and r is (constant of F) mod g. */
SETT_INLINE sett_map_interval settp_map_mod_interval(const settp_map_engine *e, int32_t f, int64_t m) {
  int64_t g = settp_map_lin_gcd_with(e, f, m), k = settp_map_mod(e->lin[f].constant, g);
  return settp_map_interval(k, m - g + k);
}

/* Return the number of atoms of the form `f` that are also in the form `a`. */
SETT_INLINE int32_t settp_map_lin_shared(const settp_map_engine *e, int32_t f, int32_t a) {
  const settp_map_term *s = e->term + e->lin[f].first, *s_end = s + e->lin[f].count, *t = e->term + e->lin[a].first,
                       *t_end = t + e->lin[a].count;
  int32_t n = 0;
  while (s < s_end && t < t_end) {
    int32_t x = s->atom, y = t->atom;
    n += x == y;
    s += x <= y;
    t += y <= x;
  }
  return n;
}

/* Return 1 if all terms of t * f are terms of `a`, with the same coefficients. `a` and `f` are linear forms; their constants are not compared. */
SETT_INLINE int settp_map_lin_holds(const settp_map_engine *e, int32_t a, int32_t f, int64_t t) {
  const settp_map_term *s = e->term + e->lin[f].first, *s_end = s + e->lin[f].count, *x = e->term + e->lin[a].first,
                       *x_end = x + e->lin[a].count;
  int64_t k;
  for (; s < s_end; ++s, ++x) {
    while (x < x_end && x->atom < s->atom) ++x;
    if (x == x_end || x->atom != s->atom || settp_map_mul(s->k, t, &k) || x->k != k) return 0;
  }
  return 1;
}

/* Return a - t * (F - m * q) if it has at most `most` terms; otherwise, or on overflow, return SETTP_MAP_NONE. */
SETT_INLINE int32_t settp_map_lin_take(settp_map_engine *e, int32_t a, int32_t f, int64_t m, int32_t q, int64_t t,
                                       int32_t most) {
  int64_t tm, constant = 0;
  int32_t n;
  if (t == INT64_MIN || settp_map_mul(t, m, &tm)) return SETTP_MAP_NONE;
  n = settp_map_terms_add(e, settp_map_terms_mix(e, a, 1, f, -t, &constant), q, tm);
  return n < 0 || n > most ? SETTP_MAP_NONE : settp_map_lin_make(e, constant, n);
}

/* Term i of the form `a` is k * floor(F / m). Return the set of the other terms of `a` that can be moved into this quotient; bit j stands for term j. A
 * term k * x can be moved, because k * floor(F / m) + k * x = k * floor((F + m * x) / m). Return 0 if `a` has more than 64 terms. */
SETT_INLINE uint64_t settp_map_lin_moves(const settp_map_engine *e, int32_t a, int32_t i, settp_map_form form) {
  const settp_map_term *t = e->term + e->lin[a].first;
  int32_t j, count = e->lin[a].count;
  uint64_t moves = 0;
  int64_t own = t[i].k, k;
  for (j = 0; j < count && count <= 64; ++j)
    if (j != i && t[j].k % own == 0 && !settp_map_mul(t[j].k / own, form.c, &k)) moves |= (uint64_t)1 << j;
  return moves;
}

/* Return 1 if settp_map_absorb moves the constant of `rest` into `inner`: the constant is not 0, k divides it, and no number becomes too large. Write
 * the new constant of `inner` to *up. */
SETT_INLINE int settp_map_absorbs_constant(const settp_map_engine *e, int64_t c, int64_t k, int32_t inner, int32_t rest,
                                           int64_t *up) {
  int64_t constant = e->lin[rest].constant;
  return constant && constant % k == 0 && !settp_map_mul(constant / k, c, up) &&
         !settp_map_add(e->lin[inner].constant, *up, up);
}

/* Move the terms of `rest` that `moves` selects, and its constant if k divides it, into the quotient k * floor(inner / c). Return the new dividend:
 * `inner` plus the moved terms times c / k. Return SETTP_MAP_NONE if a number is too large. */
SETT_INLINE int32_t settp_map_absorb(settp_map_engine *e, int64_t c, int64_t k, uint64_t moves, int32_t inner,
                                     int32_t rest) {
  int32_t j, n, count = e->lin[rest].count;
  int64_t up = e->lin[inner].constant;
  if (!settp_map_absorbs_constant(e, c, k, inner, rest, &up)) up = e->lin[inner].constant;
  if (!SETTP_MAP_ROOM(e, term, terms, term_room, count + e->lin[inner].count)) return SETTP_MAP_NONE;
  n = settp_map_terms_copy(e, inner);
  for (j = 0; moves && n >= 0; ++j, moves >>= 1)
    if (moves & 1) {
      settp_map_term t = e->term[e->lin[rest].first + j];
      n = settp_map_terms_add(e, n, t.atom, t.k / k * c);
    }
  return n < 0 ? SETTP_MAP_NONE : settp_map_lin_make(e, up, n);
}

/* Return the form `rest` without the terms and the constant that settp_map_absorb moves into `inner`. */
SETT_INLINE int32_t settp_map_absorb_rest(settp_map_engine *e, int64_t c, int64_t k, uint64_t moves, int32_t inner,
                                          int32_t rest) {
  int32_t j, n = 0, count = e->lin[rest].count;
  int64_t up;
  if (!SETTP_MAP_ROOM(e, term, terms, term_room, count)) return SETTP_MAP_NONE;
  for (j = 0; j < count; ++j)
    if (!(moves >> (j & 63) & 1)) e->term[e->terms + n++] = e->term[e->lin[rest].first + j];
  return settp_map_lin_make(e, settp_map_absorbs_constant(e, c, k, inner, rest, &up) ? 0 : e->lin[rest].constant, n);
}

/* I3, I4: return the interval r of the form `a`, narrowed. If a = t * (F - m * q) + rest with q = floor(F / m), then `a` lies in t * (interval of
 * F mod m) + (interval of rest). I3 chooses t so that `rest` does not contain q. I4 chooses t so that `rest` does not contain a certain atom of F. Of
 * all choices, the one with the fewest atoms in `rest` is taken. */
SETT_INLINE sett_map_interval settp_map_lin_interval_digits(settp_map_engine *e, int32_t a, sett_map_interval r) {
  int32_t i, f, best = SETTP_MAP_NONE, best_count = e->lin[a].count, best_f = 0;
  int64_t best_t = 0, best_c = 0;
  for (i = 0; i < e->lin[a].count && !e->error; ++i) {
    settp_map_term q = e->term[e->lin[a].first + i];
    if (e->atom[q.atom].kind != SETTP_MAP_ATOM_QUOTIENT || q.k == INT64_MIN) continue;
    for (f = e->atom[q.atom].form; f >= 0; f = e->form[f].next) {
      settp_map_form form = e->form[f];
      int32_t shared = settp_map_lin_shared(e, form.lin, a), pick, picks = 0;
      for (pick = -1; shared && pick < (e->lin[form.lin].count < 8 ? e->lin[form.lin].count : 8); ++pick) {
        int64_t t;
        int32_t rest;
        if (pick < 0) { /* I3: subtract t * (F - m * q) so that q is cancelled */
          if (q.k % form.c || shared < e->lin[form.lin].count) continue;
          t = -(q.k / form.c);
        } else { /* I4: choose t so that an atom of F with the coefficient 1 or -1 is cancelled */
          settp_map_term x = e->term[e->lin[form.lin].first + pick];
          int64_t k = settp_map_lin_coefficient(e, a, x.atom);
          if (!k || (x.k != 1 && x.k != -1) || k == INT64_MIN || picks) continue;
          t = k * x.k;
        }
        ++picks;
        rest = settp_map_lin_take(e, a, form.lin, form.c, q.atom, t, best_count - 1);
        if (rest < 0) continue;
        best = rest;
        best_count = e->lin[rest].count;
        best_f = form.lin;
        best_c = form.c;
        best_t = t;
      }
    }
  }
  if (best >= 0 && !e->error)
    r = settp_map_interval_meet(
        r, settp_map_interval_add(settp_map_interval_scale(settp_map_mod_interval(e, best_f, best_c), best_t),
                                  settp_map_lin_interval(e, best)));
  return r;
}

/* I5: the form `a`, with the interval r, is k * floor(F / m) + k * A + rest = k * floor((F + m * A) / m) + rest. Return the intersection of r and the
 * interval of the right side. */
SETT_INLINE sett_map_interval settp_map_lin_interval_moved(settp_map_engine *e, int32_t a, sett_map_interval r) {
  int32_t i, f;
  for (i = 0; i < e->lin[a].count && !e->error; ++i) {
    settp_map_term q = e->term[e->lin[a].first + i];
    if (e->atom[q.atom].kind != SETTP_MAP_ATOM_QUOTIENT || q.k == INT64_MIN) continue;
    for (f = e->atom[q.atom].form; f >= 0; f = e->form[f].next) {
      settp_map_form form = e->form[f];
      uint64_t moves = settp_map_lin_moves(e, a, i, form);
      int32_t moved = moves ? settp_map_absorb(e, form.c, q.k, moves, form.lin, a) : SETTP_MAP_NONE,
              rest = moved < 0 ? moved : settp_map_absorb_rest(e, form.c, q.k, moves | UINT64_C(1) << i, form.lin, a);
      sett_map_interval part;
      if (rest < 0) continue;
      part = settp_map_lin_interval(e, moved);
      part = settp_map_interval_scale(
          settp_map_interval(settp_map_sat_floor(part.lo, form.c), settp_map_sat_floor(part.hi, form.c)), q.k);
      r = settp_map_interval_meet(r, settp_map_interval_add(part, settp_map_lin_interval(e, rest)));
    }
  }
  return r;
}

/* Return the primitive form of `a`: no constant, no common divisor of the coefficients, and the first coefficient positive. a = k * primitive +
 * constant. */
SETT_INLINE int32_t settp_map_lin_primitive(settp_map_engine *e, int32_t a, int64_t *k) {
  int64_t g = settp_map_lin_gcd(e, a);
  if (!g) return SETTP_MAP_NONE;
  if (e->term[e->lin[a].first].k < 0) g = -g;
  *k = g;
  return settp_map_lin_shrink(e, a, g, 0);
}

/* I2: return the interval r intersected with what constraints say about the form `a`. */
SETT_INLINE sett_map_interval settp_map_lin_interval_fact(settp_map_engine *e, int32_t a, sett_map_interval r) {
  int64_t k = 1;
  int i;
  sett_map_interval own = settp_map_interval(e->lin[a].constant, e->lin[a].constant);
  int32_t p = e->facts ? settp_map_lin_primitive(e, a, &k) : SETTP_MAP_NONE;
  if (e->lin[a].bounded) r = settp_map_interval_meet(r, e->lin[a].bound);
  for (i = 0; i < e->facts; ++i)
    if (e->fact[i].lin == p)
      r = settp_map_interval_meet(r, settp_map_interval_add(settp_map_interval_scale(e->fact[i].in, k), own));
  return r;
}

/* I7: return the interval r of a form with a minimum or maximum, narrowed by the intervals of its two sides. A side is the form with one operand in
 * place of the minimum or maximum. */
SETT_INLINE sett_map_interval settp_map_lin_interval_sides(settp_map_engine *e, int32_t a, sett_map_interval r) {
  int32_t x, y;
  int count, op;
  int32_t i = settp_map_lattice_at(e, a, &count);
  sett_map_interval p, q;
  op = i < 0 ? 0 : settp_map_lattice_sides(e, a, i, &x, &y);
  if (!op) return r;
  p = settp_map_lin_interval(e, x);
  q = settp_map_lin_interval(e, y);
  r = settp_map_interval_meet(r, settp_map_interval_op(op, p, q));
  x = settp_map_lin_mix(e, x, 1, y, 1, 0);
  if (x < 0) return r;
  p = settp_map_lin_interval(e, x); /* min(x, y) <= (x + y) / 2 <= max(x, y) */
  if (op == SETTP_MAP_MIN && p.hi != INT64_MAX && settp_map_floor(p.hi, 2) < r.hi) r.hi = settp_map_floor(p.hi, 2);
  if (op == SETTP_MAP_MAX && p.lo != INT64_MIN && settp_map_ceil(p.lo, 2) > r.lo) r.lo = settp_map_ceil(p.lo, 2);
  return r;
}

SETT_INLINE sett_map_interval settp_map_lin_interval_rest(settp_map_engine *e, int32_t l, sett_map_interval r);

SETT_INLINE sett_map_interval settp_map_lin_interval(settp_map_engine *e, int32_t a) {
  sett_map_interval r;
  if (e->lin[a].known) return settp_map_interval(e->lin[a].lo, e->lin[a].hi);
  r = settp_map_lin_interval_fact(e, a, settp_map_lin_sum(e, a));
  if (e->lin[a].busy || e->lins > e->lin_limit || e->depth > SETTP_MAP_LOOK_DEPTH || e->lin[a].count < 2 ||
      e->lin[a].count > 40 || r.lo == r.hi)
    return r;
  if (!e->depth) e->look_end = e->looks + SETTP_MAP_LOOKS_MAX;
  if (++e->looks > e->look_end) return r;
  if (!settp_map_lin_affine(e, a)) {
    e->lin[a].busy = 1;
    ++e->depth;
    r = settp_map_lin_interval_moved(e, a, settp_map_lin_interval_digits(e, a, r));
    if (e->divided) r = settp_map_lin_interval_rest(e, a, r);
    if (e->lattices) r = settp_map_lin_interval_sides(e, a, r);
    --e->depth;
    e->lin[a].busy = 0;
  }
  e->lin[a].known = 1;
  e->lin[a].lo = r.lo;
  e->lin[a].hi = r.hi;
  return r;
}

/* ---- proofs that a form lies in an interval. They use the rules for intervals, but only where no sample refutes the goal. ---- */

SETT_INLINE int settp_map_at_within(const settp_map_engine *e, const int64_t *x, int64_t lo, int64_t hi) {
  int j;
  for (j = 0; j < SETTP_MAP_SAMPLES; ++j)
    if (x[j] < lo || x[j] > hi) return !e->sampled;
  return 1;
}

/* Write the values of an atom of a variable at samples j to j + SETTP_MAP_SAMPLES - 1. The atom is the y in variable = m * y + r. If the engine has
 * sample points (e->point), these give the values. Otherwise the values are numbers inside the bounds of y; the first samples include both bounds. */
SETT_INLINE void settp_map_sample(const settp_map_engine *e, const settp_map_atom *a, int j, int64_t *out) {
  const int64_t limit = (int64_t)1 << 40;
  int64_t lo = a->lo < -limit ? -limit : a->lo, hi = a->hi > limit ? limit : a->hi;
  uint64_t size = (uint64_t)hi - (uint64_t)lo;
  uint32_t n = (uint32_t)a->a * 37 + (uint32_t)j;
  int i;
  if (e->point) {
    for (i = 0; i < SETTP_MAP_SAMPLES; ++i) out[i] = e->point[(j + i) * e->variables + a->a] - a->r;
    for (i = 0; i < SETTP_MAP_SAMPLES && a->c != 1; ++i) out[i] = settp_map_floor(out[i], a->c);
    return;
  }
  if (lo > hi) lo = a->lo, size = 0;
  for (i = 0; i < SETTP_MAP_SAMPLES; ++i, ++n) {
    uint32_t h = n * UINT32_C(0x9E3779B1);
    h ^= h >> 15;
    out[i] = lo + (int64_t)(((uint64_t)h * (size + 1)) >> 32);
    if (size >> 32) out[i] = lo + (int64_t)(settp_map_hash(h, 11) % (size + 1));
  }
  if (!j && size) {
    out[0] = lo;
    out[1] = hi;
  }
}

/* Compute the values of form l at SETTP_MAP_SAMPLES points. The values of atom i begin at value[i * stride]. */
SETT_INLINE void settp_map_lin_row(const settp_map_engine *e, int32_t l, const int64_t *value, size_t stride,
                                   int64_t *out) {
  const settp_map_term *t = e->term + e->lin[l].first, *end = t + e->lin[l].count;
  settp_map_row_start(out, e->lin[l].constant);
  for (; t < end; ++t) settp_map_row_add(out, value + (size_t)t->atom * stride, t->k);
}

SETT_INLINE void settp_map_more_of(const settp_map_engine *e, int32_t l, int part, int64_t *out) {
  settp_map_lin_row(e, l, e->more + part * SETTP_MAP_SAMPLES, SETTP_MAP_MORE, out);
}

/* Mark the atoms of l whose values at the further points are still needed. Return the largest index of these atoms, or `last` if it is larger. */
SETT_INLINE int32_t settp_map_more_want(settp_map_engine *e, int32_t l, int32_t last) {
  const settp_map_term *t = e->term + e->lin[l].first, *end = t + e->lin[l].count;
  for (; t < end; ++t)
    if (!e->atom[t->atom].more) {
      e->atom[t->atom].wanted = 1;
      if (t->atom > last) last = t->atom;
    }
  return last;
}

/* Compute the values of the atoms of l at the further points. The atoms on which these depend are computed first. */
SETT_INLINE void settp_map_more_fill(settp_map_engine *e, int32_t l) {
  int32_t i = settp_map_more_want(e, l, SETTP_MAP_NONE), list = SETTP_MAP_NONE;
  for (; i >= 0; --i) { /* put each atom on the list behind the atoms that it depends on */
    settp_map_atom *x = e->atom + i;
    if (!x->wanted) continue;
    x->wanted = 0;
    x->later = list;
    list = i;
    if (x->kind == SETTP_MAP_ATOM_VAR) continue;
    (void)settp_map_more_want(e, x->a, i);
    if (x->kind == SETTP_MAP_ATOM_OTHER) (void)settp_map_more_want(e, x->b, i);
  }
  for (i = list; i >= 0; i = e->atom[i].later) {
    settp_map_atom *x = e->atom + i;
    int64_t *out = e->more + (size_t)i * SETTP_MAP_MORE, v[SETTP_MAP_SAMPLES], w[SETTP_MAP_SAMPLES];
    int part;
    x->more = 1;
    for (part = 0; part < SETTP_MAP_MORE / SETTP_MAP_SAMPLES; ++part, out += SETTP_MAP_SAMPLES) {
      if (x->kind == SETTP_MAP_ATOM_VAR) {
        settp_map_sample(e, x, SETTP_MAP_SAMPLES * (part + 1), out);
        continue;
      }
      settp_map_more_of(e, x->a, part, v);
      if (x->kind == SETTP_MAP_ATOM_QUOTIENT) {
        settp_map_row_floor(v, x->c, out);
        continue;
      }
      settp_map_more_of(e, x->b, part, w);
      settp_map_row_apply(x->op, v, w, out);
    }
  }
}

/* Return 1 if l is in [lo, hi] at all SETTP_MAP_MORE further points. This is checked before a proof is searched. */
SETT_INLINE int settp_map_more_within(settp_map_engine *e, int32_t l, int64_t lo, int64_t hi) {
  int64_t v[SETTP_MAP_SAMPLES];
  int j, part;
  if (!e->sampled) return 1;
  if (e->atoms > e->more_room) {
    int32_t room = e->atoms * 2;
    int64_t *grown = (int64_t *)settp_map_take(e->arena, (size_t)room * SETTP_MAP_MORE * sizeof *grown);
    if (!grown) return 1;
    settp_map_copy(grown, e->more, (size_t)e->more_room * SETTP_MAP_MORE * sizeof *grown);
    e->more = grown;
    e->more_room = room;
  }
  settp_map_more_fill(e, l);
  for (part = 0; part < SETTP_MAP_MORE / SETTP_MAP_SAMPLES; ++part) {
    settp_map_more_of(e, l, part, v);
    for (j = 0; j < SETTP_MAP_SAMPLES; ++j)
      if (v[j] < lo || v[j] > hi) return 0;
  }
  return 1;
}

/* Return 1 if l - t * (F - m * q) is in [lo, hi] at the samples. The form itself is not made. */
SETT_INLINE int settp_map_rest_within(settp_map_engine *e, int32_t l, settp_map_form form, int32_t q, int64_t t,
                                      int64_t lo, int64_t hi) {
  const int64_t *x, *f, *y = e->atom[q].at;
  int j;
  if (!e->sampled) return 1;
  (void)settp_map_lin_at(e, l);
  f = settp_map_lin_at(e, form.lin); /* this call may move the array of rows, so x is computed again after it */
  x = settp_map_lin_at(e, l);
  for (j = 0; j < SETTP_MAP_SAMPLES; ++j) {
    int64_t v = (int64_t)((uint64_t)x[j] - (uint64_t)t * ((uint64_t)f[j] - (uint64_t)form.c * (uint64_t)y[j]));
    if (v < lo || v > hi) return 0;
  }
  return 1;
}

SETT_INLINE int settp_map_prove_step(settp_map_engine *e, int32_t l, int64_t lo, int64_t hi, int depth);

/* I7: max(x, y) is in [lo, hi] if both are at most hi and one of them is at least lo; min likewise. */
SETT_INLINE int settp_map_prove_sides(settp_map_engine *e, int32_t l, int64_t lo, int64_t hi, int depth) {
  int count, op, turn;
  int32_t i = settp_map_lattice_at(e, l, &count), side[2];
  if (i < 0 || e->proofs >= e->proof_end) return 0;
  ++e->proofs;
  op = settp_map_lattice_sides(e, l, i, side, side + 1);
  for (turn = 0; op && turn < 2; ++turn) {
    sett_map_interval r = settp_map_lin_interval(e, side[!turn]);
    if (op == SETTP_MAP_MAX) r.hi = hi;
    else r.lo = lo;
    if (settp_map_prove_step(e, side[turn], lo, hi, depth + 1) &&
        settp_map_prove_step(e, side[!turn], r.lo, r.hi, depth + 1))
      return 1;
  }
  return 0;
}

/* Prove that l is in [lo, hi]. First, try the sum of the intervals of the terms. If it is too wide, remove a part from l. If [a, b] is the part's
 * interval, prove that the rest is in [lo - a, hi - b]. The part is a digit, or it consists of the terms that cannot be moved into a quotient of l.
 * For a minimum or maximum, try I7. */
SETT_INLINE int settp_map_prove_step(settp_map_engine *e, int32_t l, int64_t lo, int64_t hi, int depth) {
  sett_map_interval r;
  int32_t i, f, pick, made;
  int pass, proved = 0;
  if (lo > hi || l < 0 || !settp_map_at_within(e, settp_map_lin_at(e, l), lo, hi)) return 0;
  r = e->lin[l].known ? settp_map_interval(e->lin[l].lo, e->lin[l].hi)
                      : settp_map_lin_interval_fact(e, l, settp_map_lin_sum(e, l));
  if (r.lo >= lo && r.hi <= hi) return 1;
  if (e->lin[l].busy || e->lin[l].count > 40 || depth > SETTP_MAP_PROOF_DEPTH || e->lins > e->lin_limit || e->error)
    return 0;
  if (e->lattices) proved = settp_map_prove_sides(e, l, lo, hi, depth);
  if (proved || e->lin[l].count < 2) return proved;
  e->lin[l].busy = 1;
  for (pass = 0; pass < 2 && !proved; ++pass) /* first remove digits (I3, I4), then move terms (I5) */
    for (i = 0; i < e->lin[l].count && !proved && e->proofs < e->proof_end; ++i) {
      settp_map_term q = e->term[e->lin[l].first + i];
      if (e->atom[q.atom].kind != SETTP_MAP_ATOM_QUOTIENT || q.k == INT64_MIN) continue;
      for (f = e->atom[q.atom].form; f >= 0 && !proved && e->proofs < e->proof_end; f = e->form[f].next) {
        settp_map_form form = e->form[f];
        int32_t count = e->lin[form.lin].count < 8 ? e->lin[form.lin].count : 8, at = 0, rest;
        int64_t seen[9];
        int tried = 0, k;
        sett_map_interval one = {0, -1}; /* the interval of F mod m, once it is computed */
        if (pass) {
          int64_t a, b;
          uint64_t moves = settp_map_lin_moves(e, l, i, form);
          if (!moves) continue;
          rest = settp_map_absorb_rest(e, form.c, q.k, moves | UINT64_C(1) << i, form.lin, l);
          if (rest < 0) continue;
          ++e->proofs;
          r = settp_map_lin_interval_fact(e, rest, settp_map_lin_sum(e, rest));
          if (r.lo == INT64_MIN || r.hi == INT64_MAX || settp_map_add(lo, settp_map_neg(r.lo), &a) ||
              settp_map_add(hi, settp_map_neg(r.hi), &b) || a > b)
            continue;
          r = settp_map_interval_divide(settp_map_interval(a, b), q.k);
          if (settp_map_mul(r.lo, form.c, &a) || settp_map_mul(r.hi, form.c, &b) || settp_map_add(b, form.c - 1, &b))
            continue;
          proved = settp_map_prove_step(e, settp_map_absorb(e, form.c, q.k, moves, form.lin, l), a, b, depth + 1);
          continue;
        }
        for (pick = -1; pick < count && !proved; ++pick) {
          sett_map_interval digit;
          int64_t t, a, b;
          if (pick < 0) {
            if (q.k % form.c) continue;
            t = -(q.k / form.c);
          } else {
            settp_map_term x = e->term[e->lin[form.lin].first + pick];
            const settp_map_term *own = e->term + e->lin[l].first;
            while (at < e->lin[l].count && own[at].atom < x.atom) ++at;
            if (at == e->lin[l].count) break;
            if (own[at].atom != x.atom || own[at].k % x.k) continue;
            t = own[at].k / x.k;
          }
          for (k = 0; k < tried && seen[k] != t; ++k) {}
          if (k < tried) continue;
          seen[tried++] = t;
          if (one.lo > one.hi) one = settp_map_mod_interval(e, form.lin, form.c);
          digit = settp_map_interval_scale(one, t);
          if (settp_map_add(lo, settp_map_neg(digit.lo), &a) || settp_map_add(hi, settp_map_neg(digit.hi), &b) || a > b)
            continue;
          if (e->proofs >= e->proof_end) continue;
          ++e->proofs;
          if (!settp_map_rest_within(e, l, form, q.atom, t, a, b)) continue;
          made = settp_map_lin_take(e, l, form.lin, form.c, q.atom, t, e->lin[l].count);
          proved = made >= 0 && settp_map_prove_step(e, made, a, b, depth + 1);
        }
      }
    }
  e->lin[l].busy = 0;
  return proved;
}

/* ---- atoms ---- */

SETT_INLINE void settp_map_atom_measure(settp_map_engine *e, settp_map_atom *atom, int32_t l) {
  int32_t i;
  for (i = 0; i < e->lin[l].count; ++i) {
    const settp_map_atom *x = e->atom + e->term[e->lin[l].first + i].atom;
    if (atom->depth < x->depth + 1) atom->depth = x->depth + 1;
    atom->weight = settp_map_sat_add(atom->weight, x->weight);
    atom->support |= x->support;
  }
}

/* Apply settp_map_at_step to the values of form `l` at the samples, and return its result. The engine caches the result of the last form. */
SETT_INLINE int64_t settp_map_lin_step(settp_map_engine *e, int32_t l, uint32_t *hash) {
  if (e->stepped != l) {
    e->step = settp_map_at_step(settp_map_lin_at(e, l), e->scaled, &e->step_hash);
    e->stepped = l;
  }
  *hash = e->step_hash;
  return e->step;
}

/* Put a form on a list. settp_map_alike_fill enters the listed forms in the table in which R12 and R13 search for forms with equal values. */
SETT_INLINE void settp_map_alike_enter(settp_map_engine *e, int32_t l) {
  if (l < 0 || !e->lin[l].count || e->lin[l].entered) return;
  /* sums of variables are not entered, because R1 to R4 already find quotients that equal such sums */
  if (e->lin[l].count > 1 && !e->scaled && settp_map_lin_affine(e, l)) return;
  e->lin[l].entered = 1;
  if (SETTP_MAP_ROOM(e, alike, alikes, alike_room, 1)) e->alike[e->alikes++].lin = l;
}

SETT_INLINE void settp_map_alike_fill(settp_map_engine *e) {
  while (e->alike_known < e->alikes) {
    settp_map_alike *x = e->alike + e->alike_known;
    x->hash = 0;
    x->step = settp_map_lin_step(e, x->lin, &x->hash);
    if (x->step) {
      if (settp_map_crowded(e, e->alike_known)) settp_map_rehash(e);
      SETTP_MAP_ENTER(e, alike, e->alike_known);
    }
    ++e->alike_known;
  }
}

/* Return memory for the next atom, which settp_map_atom_push then adds. Return NULL if the arena is full. */
SETT_INLINE settp_map_atom *settp_map_atom_next(settp_map_engine *e, int32_t kind) {
  settp_map_atom *a;
  if (!SETTP_MAP_ROOM(e, atom, atoms, atom_room, 1)) return NULL;
  a = e->atom + e->atoms;
  settp_map_clear(a, sizeof *a);
  a->lo = INT64_MIN;
  a->hi = INT64_MAX;
  a->c = a->weight = 1;
  a->kind = kind;
  a->next = a->own = a->form = SETTP_MAP_NONE;
  return a;
}

SETT_INLINE int32_t settp_map_atom_push(settp_map_engine *e) {
  settp_map_atom *x = e->atom + e->atoms;
  int j;
  if (x->depth > SETTP_MAP_DEPTH_MAX) {
    e->error = SETT_MAP_ERROR_DEEP;
    return SETTP_MAP_NONE;
  }
  if (x->kind == SETTP_MAP_ATOM_VAR) {
    settp_map_sample(e, x, 0, x->at);
  } else if (x->kind == SETTP_MAP_ATOM_QUOTIENT) {
    settp_map_row_floor(settp_map_lin_at(e, x->a), x->c, x->at);
  } else {
    const int64_t *a = settp_map_lin_at(e, x->a), *b = settp_map_lin_at(e, x->b);
    settp_map_row_apply(x->op, a, b, x->at);
  }
  if (x->kind != SETTP_MAP_ATOM_VAR) {
    if (settp_map_crowded(e, e->atoms)) settp_map_rehash(e);
    SETTP_MAP_ENTER(e, atom, e->atoms);
  }
  j = e->atoms++;
  e->atom[j].own = settp_map_lin_atom(e, j, 1, 0);
  settp_map_alike_enter(e, e->atom[j].own);
  return j;
}

/* Bounds of y in x = m * y + r, for x in [lo, hi]. settp_map_floor_bound returns the upper bound floor((hi - r) / m), settp_map_ceil_bound the lower
 * bound ceil((lo - r) / m). */
SETT_INLINE int64_t settp_map_floor_bound(int64_t hi, int64_t r, int64_t m) {
  return settp_map_sat_floor(settp_map_sat_add(hi, -r), m);
}
SETT_INLINE int64_t settp_map_ceil_bound(int64_t lo, int64_t r, int64_t m) {
  int64_t n = settp_map_sat_add(lo, -r);
  return n == INT64_MIN || n == INT64_MAX ? n : n / m + (n % m > 0 ? 1 : 0);
}

/* Return the form modulus * atom + residue of variable i. */
SETT_INLINE int32_t settp_map_lin_variable(settp_map_engine *e, int i) {
  int64_t lo = e->bounds[i].lo, hi = e->bounds[i].hi, m = e->modulus[i], r = e->residue[i];
  if (lo == hi) return settp_map_lin_constant(e, lo);
  if (e->variable[i] < 0) {
    settp_map_atom *a = settp_map_atom_next(e, SETTP_MAP_ATOM_VAR);
    if (!a) return SETTP_MAP_NONE;
    a->a = i;
    a->c = m;
    a->r = r;
    a->support = UINT64_C(1) << (i & 63);
    a->lo = m == 1 ? lo : settp_map_ceil_bound(lo, r, m);
    a->hi = m == 1 ? hi : settp_map_floor_bound(hi, r, m);
    e->variable[i] = settp_map_atom_push(e);
    if (e->variable[i] < 0) return SETTP_MAP_NONE;
  }
  if (e->atom[e->variable[i]].lo == e->atom[e->variable[i]].hi)
    return settp_map_lin_constant(e, e->atom[e->variable[i]].lo * m + r);
  return settp_map_lin_atom(e, e->variable[i], m, r);
}

/* Return the atom of op(a, b), an operation that is not linear; SETTP_MAP_NONE if there is none yet. */
SETT_INLINE int32_t settp_map_other_find(const settp_map_engine *e, int op, int32_t a, int32_t b) {
  int32_t at = e->atom_bucket[settp_map_hash((uint64_t)a << 32 | (uint32_t)b, (uint64_t)op) & e->mask];
  while (at >= 0 &&
         (e->atom[at].kind != SETTP_MAP_ATOM_OTHER || e->atom[at].op != op || e->atom[at].a != a || e->atom[at].b != b))
    at = e->atom[at].next;
  return at;
}

SETT_INLINE int32_t settp_map_atom_other(settp_map_engine *e, int op, int32_t a, int32_t b) {
  uint32_t hash = settp_map_hash((uint64_t)a << 32 | (uint32_t)b, (uint64_t)op);
  int32_t at = settp_map_other_find(e, op, a, b);
  settp_map_atom *x;
  sett_map_interval r;
  if (at >= 0) return at;
  r = settp_map_interval_op(op, settp_map_lin_interval(e, a), settp_map_lin_interval(e, b));
  x = settp_map_atom_next(e, SETTP_MAP_ATOM_OTHER);
  if (!x) return SETTP_MAP_NONE;
  x->hash = hash;
  x->op = op;
  x->a = a;
  x->b = b;
  x->lo = r.lo;
  x->hi = r.hi;
  e->fixed |= r.lo == r.hi;
  e->lattices |= op == SETTP_MAP_MIN || op == SETTP_MAP_MAX;
  e->floors |= op == SETTP_MAP_FLOORDIV;
  settp_map_atom_measure(e, x, a);
  settp_map_atom_measure(e, x, b);
  return settp_map_atom_push(e);
}

/* Return 1 if floor(lin / c) is recorded as a name of quotient q (a way to write q). */
SETT_INLINE int settp_map_named(const settp_map_engine *e, int32_t q, int32_t lin, int64_t c) {
  int32_t f = e->atom[q].form;
  while (f >= 0 && (e->form[f].lin != lin || e->form[f].c != c)) f = e->form[f].next;
  return f >= 0;
}

/* Record floor(lin / c) as a name of quotient q: one of the ways to write q. */
SETT_INLINE void settp_map_atom_name(settp_map_engine *e, int32_t q, int32_t lin, int64_t c) {
  int32_t *end;
  sett_map_interval r;
  if (lin < 0 || e->atom[q].forms >= SETTP_MAP_FORMS_MAX || settp_map_named(e, q, lin, c) ||
      settp_map_lin_coefficient(e, lin, q))
    return;
  if (!SETTP_MAP_ROOM(e, form, forms, form_room, 1)) return;
  e->form[e->forms].c = c;
  e->form[e->forms].lin = lin;
  e->form[e->forms].next = SETTP_MAP_NONE;
  for (end = &e->atom[q].form; *end >= 0; end = &e->form[*end].next) {}
  *end = e->forms++;
  ++e->atom[q].forms;
  r = e->lin[lin].known ? settp_map_interval(e->lin[lin].lo, e->lin[lin].hi)
                        : settp_map_lin_interval_fact(e, lin, settp_map_lin_sum(e, lin));
  r = settp_map_interval_meet(settp_map_interval(settp_map_sat_floor(r.lo, c), settp_map_sat_floor(r.hi, c)),
                              settp_map_interval(e->atom[q].lo, e->atom[q].hi));
  if (r.lo <= r.hi) {
    e->atom[q].lo = r.lo;
    e->atom[q].hi = r.hi;
    e->fixed |= r.lo == r.hi;
  }
}

SETT_INLINE int32_t settp_map_atom_quotient(settp_map_engine *e, int32_t lin, int64_t c) {
  uint32_t hash = settp_map_hash((uint64_t)lin, (uint64_t)c);
  int32_t at;
  settp_map_atom *x;
  for (at = e->atom_bucket[hash & e->mask]; at >= 0; at = e->atom[at].next)
    if (e->atom[at].kind == SETTP_MAP_ATOM_QUOTIENT && e->atom[at].a == lin && e->atom[at].c == c) return at;
  x = settp_map_atom_next(e, SETTP_MAP_ATOM_QUOTIENT);
  if (!x) return SETTP_MAP_NONE;
  x->hash = hash;
  x->a = lin;
  x->c = c;
  settp_map_atom_measure(e, x, lin);
  at = settp_map_atom_push(e);
  if (at >= 0) settp_map_atom_name(e, at, lin, c);
  return at;
}

/* ---- the quotient ---- */

SETT_INLINE uint32_t settp_map_memo_hash(int32_t lin, int64_t c) {
  uint64_t h = ((uint64_t)lin + 77) * UINT64_C(0x9E3779B97F4A7C15) ^ (uint64_t)c * UINT64_C(0xD6E8FEB86659FD93);
  return (uint32_t)(h >> 32);
}

SETT_INLINE settp_map_memo *settp_map_memo_find(settp_map_engine *e, int32_t lin, int64_t c) {
  int32_t at;
  for (at = e->memo_bucket[settp_map_memo_hash(lin, c) & e->mask]; at >= 0; at = e->memo[at].next)
    if (e->memo[at].lin == lin && e->memo[at].c == c) return e->memo + at;
  return NULL;
}

SETT_INLINE void settp_map_memo_set(settp_map_engine *e, int32_t lin, int64_t c, int32_t value) {
  settp_map_memo *m = settp_map_memo_find(e, lin, c);
  if (!m) {
    if (!SETTP_MAP_ROOM(e, memo, memos, memo_room, 1)) return;
    if (settp_map_crowded(e, e->memos - e->memo_first)) settp_map_rehash(e);
    m = e->memo + e->memos;
    m->lin = lin;
    m->c = c;
    m->hash = settp_map_memo_hash(lin, c);
    SETTP_MAP_ENTER(e, memo, e->memos);
    ++e->memos;
  }
  m->value = value;
}

typedef struct settp_map_cost {
  int64_t weight;
  /* plain: number of coefficients that are not 1, plus 1 for a constant that is not 0 */
  int32_t depth, deepest, count, plain;
} settp_map_cost;

SETT_INLINE settp_map_cost settp_map_lin_cost(const settp_map_engine *e, int32_t a) {
  settp_map_cost c;
  int32_t i;
  c.weight = 0;
  c.depth = -1;
  c.deepest = 0;
  c.count = e->lin[a].count;
  c.plain = e->lin[a].constant != 0;
  for (i = 0; i < c.count; ++i) {
    const settp_map_atom *x = e->atom + e->term[e->lin[a].first + i].atom;
    c.plain += e->term[e->lin[a].first + i].k != 1;
    c.weight = settp_map_sat_add(c.weight, x->weight);
    if (x->depth > c.depth) {
      c.depth = x->depth;
      c.deepest = 0;
    }
    c.deepest += x->depth == c.depth;
  }
  return c;
}

SETT_INLINE int settp_map_cheaper(settp_map_cost a, settp_map_cost b) {
  if (a.depth != b.depth) return a.depth < b.depth;
  if (a.deepest != b.deepest) return a.deepest < b.deepest;
  if (a.weight != b.weight) return a.weight < b.weight;
  return a.count < b.count;
}

SETT_INLINE int settp_map_simpler(settp_map_cost a, settp_map_cost b) {
  return settp_map_cheaper(a, b) || (!settp_map_cheaper(b, a) && a.plain < b.plain);
}

SETT_INLINE int settp_map_all_positive_terms(const settp_map_term *t, int32_t count) {
  int32_t i;
  for (i = 0; i < count; ++i)
    if (t[i].k < 0) return 0;
  return 1;
}

/* Compute and remember the result of settp_map_all_positive. */
SETTP_MAP_APART int settp_map_all_positive_first(const settp_map_engine *e, settp_map_lin *l) {
  int yes = l->constant >= 0 && settp_map_all_positive_terms(e->term + l->first, l->count);
  l->positive = yes ? 1 : 2;
  return yes;
}

/* Return 1 if a form has no negative number. */
SETT_INLINE int settp_map_all_positive(const settp_map_engine *e, int32_t l) {
  return e->lin[l].positive ? e->lin[l].positive == 1 : settp_map_all_positive_first(e, e->lin + l);
}

/* R3: floor((g * F + k) / c) = floor((F + floor(k / g)) / (c / g)) if g divides c. Write floor(l / *c) as add + floor(key / d) by R1 and R3, and set *c
 * to d. */
SETT_INLINE int settp_map_key(settp_map_engine *e, int32_t l, int64_t *c, int32_t *add, int32_t *key) {
  int64_t g;
  if (!settp_map_lin_extract(e, l, *c, add, key)) return 0;
  g = settp_map_lin_gcd_with(e, *key, *c);
  if (g > 1) {
    *key = settp_map_lin_shrink(e, *key, g, settp_map_floor(e->lin[*key].constant, g));
    *c /= g;
  }
  return *key >= 0;
}

/* Return floor(l / c) if it is known. */
SETT_INLINE int32_t settp_map_quotient_known(settp_map_engine *e, int32_t l, int64_t c) {
  int32_t add = 0, key = 0;
  const settp_map_memo *m = settp_map_memo_find(e, l, c);
  if (m && m->value >= 0) return m->value;
  if (!settp_map_key(e, l, &c, &add, &key)) return SETTP_MAP_NONE;
  if (!e->lin[key].count) return add;
  if (c == 1) return settp_map_lin_mix(e, add, 1, key, 1, 0);
  m = settp_map_memo_find(e, key, c);
  return m && m->value >= 0 ? settp_map_lin_mix(e, add, 1, m->value, 1, 0) : SETTP_MAP_NONE;
}

/* R11: record further names of the quotients in l. If l has the quotients floor(F / b) and floor(G / a), a divides b, and floor(F / a) is known, then
 * floor(F / b) also has the name floor(floor(F / a) / (b / a)). */
SETT_INLINE int settp_map_cross_names(settp_map_engine *e, int32_t l) {
  int32_t i, j, f, g, names = 0;
  for (i = 0; i < e->lin[l].count; ++i) {
    int32_t q = e->term[e->lin[l].first + i].atom, forms = e->atom[q].forms;
    if (e->atom[q].kind != SETTP_MAP_ATOM_QUOTIENT) continue;
    for (j = 0; j < e->lin[l].count; ++j) {
      int32_t p = e->term[e->lin[l].first + j].atom;
      if (i == j || e->atom[p].kind != SETTP_MAP_ATOM_QUOTIENT) continue;
      for (f = e->atom[q].form; f >= 0; f = e->form[f].next)
        for (g = e->atom[p].form; g >= 0; g = e->form[g].next) {
          int64_t a = e->form[g].c, b = e->form[f].c;
          int32_t value;
          if (a >= b || b % a || e->crosses >= SETTP_MAP_CROSSES_MAX) continue;
          ++e->crosses;
          value = settp_map_quotient_known(e, e->form[f].lin, a);
          if (value >= 0) settp_map_atom_name(e, q, value, b / a);
        }
    }
    names += e->atom[q].forms - forms;
  }
  return names;
}

SETT_INLINE void settp_map_flag_terms(const settp_map_engine *e, int32_t l, unsigned char *flag, uint64_t *support) {
  int32_t i;
  for (i = 0; i < e->lin[l].count; ++i) {
    int32_t atom = e->term[e->lin[l].first + i].atom;
    flag[atom] = 1;
    *support |= e->atom[atom].support;
  }
}

/* Return a bound for the magnitude of a form and of all its partial sums, computed from the bounds of its atoms. */
SETT_INLINE int64_t settp_map_lin_most(const settp_map_engine *e, int32_t l, const int64_t *most) {
  const settp_map_term *t = e->term + e->lin[l].first, *end = t + e->lin[l].count;
  int64_t sum = e->lin[l].constant < 0 ? -e->lin[l].constant : e->lin[l].constant;
  for (; t < end; ++t) sum = settp_map_sat_add(sum, settp_map_sat_mul(most[t->atom], t->k < 0 ? -t->k : t->k));
  return sum;
}

/* Return a bound for the magnitude of op(x, y) from bounds `a` of x and `b` of y. A quotient has the bound of its dividend. */
SETT_INLINE int64_t settp_map_other_most(int op, int64_t a, int64_t b) {
  if (op == SETTP_MAP_MUL) return settp_map_sat_mul(a, b);
  if (op == SETTP_MAP_MIN || op == SETTP_MAP_MAX) return a > b ? a : b;
  if (op == SETTP_MAP_XOR) return settp_map_sat_add(settp_map_sat_mul(a > b ? a : b, 2), 1);
  return op == SETTP_MAP_MOD ? b : a;
}

SETT_INLINE uint64_t settp_map_lin_support(const settp_map_engine *e, int32_t l) {
  uint64_t support = 0;
  int32_t i;
  for (i = 0; i < e->lin[l].count; ++i) support |= e->atom[e->term[e->lin[l].first + i].atom].support;
  return support;
}

/* number of points in the box of these variables */
SETT_INLINE int64_t settp_map_support_points(const settp_map_engine *e, uint64_t support) {
  int64_t points = 1;
  int i;
  for (i = 0; i < e->variables; ++i)
    if (support >> (i & 63) & 1 && e->variable[i] >= 0)
      points = settp_map_sat_mul(
          points, settp_map_sat_add(
                      settp_map_sat_add(e->atom[e->variable[i]].hi, settp_map_neg(e->atom[e->variable[i]].lo)), 1));
  return points;
}

/* Return the number of further values of a variable for which min(x, y) keeps its side. The forms x and y have the values v and w at
 * SETTP_MAP_SAMPLES consecutive values of the variable, and continue as they begin. Return 0 if the side changes between the given values. */
SETT_INLINE int64_t settp_map_steps_to_turn(const int64_t *v, const int64_t *w) {
  int64_t first = v[0] - w[0], step = v[1] - w[1] - first, last = first;
  int j;
  for (j = 1; j < SETTP_MAP_SAMPLES; ++j)
    if (v[j] - w[j] != (last += step)) return 0;
  if (first < 0 ? last >= 0 : first > 0 && last <= 0) return 0;
  return !step || (last > 0) == (step > 0) ? INT64_MAX : last < 0 ? -last / step : last / -step;
}

/* I6: return one bit for each of at most 64 forms: 1 if the form is in [lo, hi] at every point of the domain. The points of the variables that occur in
 * the forms are enumerated, SETTP_MAP_SAMPLES at once. Values of the last variable are skipped while no minimum or maximum changes its side: a linear
 * form that is in [lo, hi] at both ends is in it between them. Return 0 if there are too many points, or if values could overflow. */
SETT_INLINE uint64_t settp_map_prove_points(settp_map_engine *e, const int32_t *l, int count, int64_t lo, int64_t hi) {
  enum { SETTP_MAP_MOST_VARIABLES = 6 };
  size_t keep = e->arena->top;
  unsigned char *flag = (unsigned char *)settp_map_take(e->arena, (size_t)e->atoms + 8);
  int64_t *value = (int64_t *)settp_map_take(e->arena, (size_t)e->atoms * SETTP_MAP_SAMPLES * sizeof *value + 8);
  int64_t *most = (int64_t *)settp_map_take(e->arena, (size_t)e->atoms * sizeof *most + 8), x[SETTP_MAP_MOST_VARIABLES],
          points = 1;
  int32_t *atom = (int32_t *)settp_map_take(e->arena, (size_t)e->atoms * sizeof *atom + 8),
          at[SETTP_MAP_MOST_VARIABLES], i, n = 0, rows = 0, variables = 0, wide = 0, first, next = 0;
  unsigned char *use = (unsigned char *)settp_map_take(e->arena, (size_t)e->facts + 8);
  uint64_t support = 0, more, holds = 0, of[SETTP_MAP_MOST_VARIABLES]; /* of[i]: `support` of all variables from i on */
  int f, j, k, ok = flag && value && most && atom && use && lo <= hi, done = 0, skips = 0;
  if (ok) {
    for (i = 0; i < e->atoms; ++i) flag[i] = 0;
    for (k = 0; k < count; ++k) settp_map_flag_terms(e, l[k], flag, &support);
    for (f = 0; f < e->facts; ++f) { /* use a fact with further variables if the number of points stays small */
      more = settp_map_lin_support(e, e->fact[f].lin);
      use[f] = !(more & ~support) || ((more & support) && settp_map_support_points(e, more | support) <= 2048);
      if (use[f]) settp_map_flag_terms(e, e->fact[f].lin, flag, &support);
    }
    for (i = e->atoms - 1; i >= 0; --i) /* atoms that others depend on come first */
      if (flag[i] && e->atom[i].kind != SETTP_MAP_ATOM_VAR) {
        settp_map_flag_terms(e, e->atom[i].a, flag, &support);
        if (e->atom[i].kind == SETTP_MAP_ATOM_OTHER) settp_map_flag_terms(e, e->atom[i].b, flag, &support);
      }
    for (i = 0; i < e->atoms && ok; ++i) {
      const settp_map_atom *y = e->atom + i;
      if (!flag[i]) continue;
      if (y->kind != SETTP_MAP_ATOM_VAR) {
        atom[n++] = i;
        most[i] = settp_map_lin_most(e, y->a, most);
        ok = most[i] < INT64_MAX;
        if (y->kind == SETTP_MAP_ATOM_OTHER) {
          int64_t b = settp_map_lin_most(e, y->b, most);
          ok &= b < INT64_MAX;
          most[i] = settp_map_other_most(y->op, most[i], b);
        } else {
          most[i] = most[i] / y->c + 1;
        }
        continue;
      }
      if (variables == SETTP_MAP_MOST_VARIABLES || y->lo < -((int64_t)1 << 40) || y->hi > (int64_t)1 << 40 ||
          y->lo > y->hi)
        ok = 0;
      else {
        points = settp_map_sat_mul(points, y->hi - y->lo + 1);
        most[i] = y->hi > -y->lo ? y->hi : -y->lo;
        at[variables++] = i;
        if (y->hi - y->lo > e->atom[at[wide]].hi - e->atom[at[wide]].lo) wide = variables - 1;
      }
    }
    if (variables) { /* the variable with the most values comes last, because the last one changes at each point */
      i = at[wide];
      at[wide] = at[variables - 1];
      at[variables - 1] = i;
    }
    for (i = variables - 1; i >= 0; --i) {
      x[i] = e->atom[at[i]].lo;
      of[i] = e->atom[at[i]].support | (i + 1 < variables ? of[i + 1] : 0);
    }
    for (f = 0; f < e->facts; ++f) rows += use[f];
    for (i = 0, skips = variables && !rows; i < n && skips; ++i) {
      const settp_map_atom *y = e->atom + atom[i];
      skips = !(y->support & of[variables - 1]) || (settp_map_atom_lattice(y) && most[atom[i]] < (int64_t)1 << 61);
    }
    rows += n + count + 1;
    if (settp_map_sat_mul(points, rows) > e->points) ok = 0;
    for (k = 0; k < count && ok; ++k) holds |= (uint64_t)(settp_map_lin_most(e, l[k], most) < INT64_MAX) << k;
    for (f = 0; f < e->facts && ok; ++f)
      if (use[f]) ok = settp_map_lin_most(e, e->fact[f].lin, most) < INT64_MAX;
  }
  while (ok && holds && !done) {
    int64_t v[SETTP_MAP_SAMPLES], w[SETTP_MAP_SAMPLES];
    int inside[SETTP_MAP_SAMPLES], any = 0, last = variables - 1;
    int64_t skip = 0;
    e->points -= SETTP_MAP_SAMPLES * rows;
    /* write only variables that change in this block of points, or changed in the block before it */
    first = next;
    next = variables ? last : 0;
    if (variables && e->atom[at[last]].hi - x[last] >= SETTP_MAP_SAMPLES) { /* only the last variable changes */
      for (j = 0; j < SETTP_MAP_SAMPLES; ++j) {
        inside[j] = 1;
        for (i = first; i < last; ++i) value[at[i] * SETTP_MAP_SAMPLES + j] = x[i];
        value[at[last] * SETTP_MAP_SAMPLES + j] = x[last]++;
      }
      skip = skips ? e->atom[at[last]].hi - x[last] + 1 : 0;
    } else {
      for (j = 0; j < SETTP_MAP_SAMPLES; ++j) {
        inside[j] = !done;
        /* after the last point, any values will do, because they only fill the block of SETTP_MAP_SAMPLES points */
        for (i = first; i < variables; ++i) value[at[i] * SETTP_MAP_SAMPLES + j] = x[i];
        for (i = last; i >= 0 && x[i] == e->atom[at[i]].hi; --i) x[i] = e->atom[at[i]].lo;
        if (i < 0) done = 1;
        else ++x[i];
        if (i < next) next = i < 0 ? 0 : i;
        if (next < first) first = next;
      }
    }
    for (i = 0; i < n && ok; ++i) {
      const settp_map_atom *y = e->atom + atom[i];
      int64_t *out = value + (size_t)atom[i] * SETTP_MAP_SAMPLES;
      if (first > 0 && !(y->support & of[first])) continue;
      settp_map_lin_row(e, y->a, value, SETTP_MAP_SAMPLES, v);
      if (y->kind == SETTP_MAP_ATOM_QUOTIENT) {
        settp_map_row_floor(v, y->c, out);
        continue;
      }
      settp_map_lin_row(e, y->b, value, SETTP_MAP_SAMPLES, w);
      ok = settp_map_row_apply(y->op, v, w, out);
      if (skip && (y->support & of[last])) {
        int64_t steps = settp_map_steps_to_turn(v, w);
        if (steps < skip) skip = steps;
      }
    }
    if (skip) x[last] += skip - 1;
    if (!ok) break;
    for (f = 0; f < e->facts; ++f)
      if (use[f]) {
        settp_map_lin_row(e, e->fact[f].lin, value, SETTP_MAP_SAMPLES, v);
        for (j = 0; j < SETTP_MAP_SAMPLES; ++j) inside[j] &= v[j] >= e->fact[f].in.lo && v[j] <= e->fact[f].in.hi;
      }
    for (j = 0; j < SETTP_MAP_SAMPLES && !any; ++j) any = inside[j];
    for (k = 0; k < count && any; ++k) {
      int outside = 0;
      if (!(holds >> k & 1)) continue;
      settp_map_lin_row(e, l[k], value, SETTP_MAP_SAMPLES, v);
      for (j = 0; j < SETTP_MAP_SAMPLES; ++j)
        outside |= inside[j] & ((uint64_t)v[j] - (uint64_t)lo > (uint64_t)hi - (uint64_t)lo);
      if (outside) holds &= ~((uint64_t)1 << k);
    }
  }
  e->arena->top = keep;
  return ok ? holds : 0;
}

/* Prove that l is in [lo, hi] by I1 to I5. Return 1 if it is proved, 0 if not, -1 if an enumeration may still prove it. */
SETT_INLINE int settp_map_prove_forms(settp_map_engine *e, int32_t l, int64_t lo, int64_t hi) {
  sett_map_interval r;
  int affine;
  if (l < 0) return 0;
  affine = settp_map_lin_affine(e, l);
  r = e->lin[l].known ? settp_map_interval(e->lin[l].lo, e->lin[l].hi)
                      : settp_map_lin_interval_fact(e, l, settp_map_lin_sum(e, l));
  if (r.lo >= lo && r.hi <= hi) return 1;
  if (affine || !settp_map_at_within(e, settp_map_lin_at(e, l), lo, hi) || !settp_map_more_within(e, l, lo, hi))
    return 0;
  e->proof_end = e->proofs + SETTP_MAP_PROOFS_MAX;
  if (settp_map_prove_step(e, l, lo, hi, 0)) return 1;
  if (!e->sampled) return 0;
  if (settp_map_cross_names(e, l)) {
    e->proof_end = e->proofs + SETTP_MAP_PROOFS_MAX;
    if (settp_map_prove_step(e, l, lo, hi, 0)) return 1;
  }
  return -1;
}

SETT_INLINE int settp_map_prove(settp_map_engine *e, int32_t l, int64_t lo, int64_t hi) {
  int yes = settp_map_prove_forms(e, l, lo, hi);
  if (yes >= 0) return yes;
  if (settp_map_prove_points(e, &l, 1, lo, hi)) return 1;
  ++e->failures;
  return 0;
}

/* Return 1 if floor(l / c) has one value. The samples must agree, and the interval of l must prove it. */
SETT_INLINE int settp_map_one_period(settp_map_engine *e, int32_t l, int64_t c, int64_t *value) {
  const int64_t *at;
  int64_t lo, hi;
  if (!e->sampled || (e->lin[l].sample < 0 && settp_map_lin_affine(e, l))) {
    sett_map_interval r =
        e->sampled ? settp_map_lin_interval_fact(e, l, settp_map_lin_sum(e, l)) : settp_map_lin_interval(e, l);
    if (r.lo == INT64_MIN || r.hi == INT64_MAX || r.lo > r.hi) return 0;
    *value = settp_map_floor(r.lo, c);
    return *value == settp_map_floor(r.hi, c);
  }
  at = settp_map_lin_at(e, l);
  if (!settp_map_at_one_period(e, at, at, 0, c)) return 0;
  *value = settp_map_floor(at[0], c);
  return !settp_map_mul(*value, c, &lo) && !settp_map_add(lo, c - 1, &hi) && settp_map_prove(e, l, lo, hi);
}

/* R11: if floor(l / c) = A + q, the quotient q also has the name floor((l - c * A) / c). If floor(l / c) = A - q, it has the name
 * floor((c * A - l + c - 1) / c). `value` is the form floor(l / c). Record the name for one quotient q in `value`: of those with coefficient 1 or -1,
 * the one with the largest weight. Nothing is recorded if q is `plain`, an atom whose first name is already this name. */
SETT_INLINE void settp_map_record(settp_map_engine *e, int32_t l, int64_t c, int32_t value, int32_t plain) {
  int32_t i, best = SETTP_MAP_NONE;
  int64_t s = 0;
  for (i = 0; i < e->lin[value].count; ++i) {
    settp_map_term t = e->term[e->lin[value].first + i];
    if (e->atom[t.atom].kind != SETTP_MAP_ATOM_QUOTIENT || (t.k != 1 && t.k != -1)) continue;
    if (best >= 0 && e->atom[t.atom].weight <= e->atom[best].weight) continue;
    best = t.atom;
    s = t.k;
  }
  if (best >= 0 && best != plain) { /* let q be the quotient `best`; write value = a + s * q, where s is 1 or -1 */
    int32_t a = settp_map_lin_plus(e, value, best, -s);
    if (c < INT64_MAX && c > 0)
      settp_map_atom_name(e, best,
                          s == 1 ? settp_map_lin_mix(e, l, 1, a, -c, 0) : settp_map_lin_mix(e, a, c, l, -1, c - 1), c);
  }
}

SETT_INLINE int32_t settp_map_divide(settp_map_engine *e, int32_t l, int64_t c);
SETT_INLINE int32_t settp_map_alike_find(settp_map_engine *e, int32_t l, int64_t c);

/* Insert g into a list of distinct divisors, sorted from largest to smallest. */
SETT_INLINE void settp_map_divisor(int64_t *list, int *count, int room, int64_t g, int64_t c) {
  int i, j;
  if (g < 2 || g >= c) return;
  for (i = 0; i < *count && list[i] > g; ++i) {}
  if (i < *count && list[i] == g) return;
  if (*count == room) {
    if (i == room) return;
    --*count;
  }
  for (j = *count; j > i; --j) list[j] = list[j - 1];
  list[i] = g;
  ++*count;
}

/* Return 1 if floor(r / g) has the same value at all samples, where r is the remainder of the form `b` divided by g (R1). The form r is not made. */
SETT_INLINE int settp_map_rest_one_period(const settp_map_engine *e, int32_t b, int64_t g) {
  const settp_map_term *t = e->term + e->lin[b].first, *end = t + e->lin[b].count;
  int64_t v[SETTP_MAP_SAMPLES];
  settp_map_row_start(v, settp_map_mod(e->lin[b].constant, g));
  for (; t < end; ++t) settp_map_row_add(v, e->atom[t->atom].at, settp_map_residue(t->k, g));
  return settp_map_at_one_period(e, v, v, 0, g);
}

/* R7: if g divides c and b = g * F + R, then floor(b / c) = floor((F + floor(R / g)) / (c / g)). Return the right side if floor(R / g) is a number, or
 * if floor(R / g) is known and the right side is cheaper; otherwise return SETTP_MAP_NONE. Candidates for g are the common divisors of c and one or two
 * coefficients of b, and the common divisors of c and k / m for a quotient in b with coefficient k and divisor m. */
SETT_INLINE int32_t settp_map_split(settp_map_engine *e, int32_t b, int64_t c) {
  enum { SETTP_MAP_MOST_ROOM = 24 };
  int64_t list[SETTP_MAP_MOST_ROOM], g, one;
  int count = 0, pass, n;
  int32_t i, j, f;
  if (e->lin[b].count < 2 && !e->atom[e->term[e->lin[b].first].atom].depth) return SETTP_MAP_NONE;
  for (i = 0; i < e->lin[b].count; ++i) {
    settp_map_term t = e->term[e->lin[b].first + i];
    g = settp_map_gcd(t.k, c);
    settp_map_divisor(list, &count, SETTP_MAP_MOST_ROOM, g, c);
    for (j = 0; j < i && g > 1; ++j)
      settp_map_divisor(list, &count, SETTP_MAP_MOST_ROOM, settp_map_gcd(g, e->term[e->lin[b].first + j].k), c);
    if (e->atom[t.atom].kind == SETTP_MAP_ATOM_QUOTIENT)
      for (f = e->atom[t.atom].form; f >= 0; f = e->form[f].next)
        settp_map_divisor(list, &count, SETTP_MAP_MOST_ROOM, settp_map_gcd(t.k / e->form[f].c, c), c);
  }
  for (pass = 0; pass < 2; ++pass)
    for (n = 0; n < count; ++n) {
      int32_t a = 0, r = 0, q, hit = 0;
      g = list[n];
      for (i = 0; i < e->lin[b].count && !hit; ++i)
        hit = settp_map_residue(e->term[e->lin[b].first + i].k, g) != e->term[e->lin[b].first + i].k;
      if (!hit || (!pass && !settp_map_rest_one_period(e, b, g))) continue;
      if (!settp_map_lin_extract(e, b, g, &a, &r)) return SETTP_MAP_NONE;
      if (!pass) { /* R7: in the first pass over the candidates g, floor(R / g) must be constant */
        if (!settp_map_one_period(e, r, g, &one)) continue;
        q = settp_map_lin_constant(e, one);
        /* R7: in the second pass over the candidates g, the form floor(R / g) must already be known, because a new atom for it does not pay */
      } else {
        q = settp_map_quotient_known(e, r, g);
        if (q < 0) q = settp_map_alike_find(e, r, g);
      }
      a = settp_map_lin_mix(e, a, 1, q, 1, 0);
      if (a >= 0 && settp_map_cheaper(settp_map_lin_cost(e, a), settp_map_lin_cost(e, b)))
        return settp_map_divide(e, a, c / g);
    }
  return SETTP_MAP_NONE;
}

/* Return the form add + floor(key / c) if this quotient, or that of the negated form (R6), is known. */
SETT_INLINE int32_t settp_map_value_known(settp_map_engine *e, int32_t key, int64_t c, int32_t add) {
  settp_map_memo *m = settp_map_memo_find(e, key, c);
  int32_t flipped;
  if (m && m->value >= 0) return settp_map_lin_mix(e, m->value, 1, add, 1, 0);
  if (!e->lin[key].constant && settp_map_all_positive(e, key)) return SETTP_MAP_NONE;
  flipped = settp_map_lin_scale(e, key, -1, c - 1); /* R6: floor(b / c) = -floor((c - 1 - b) / c) */
  if (flipped >= 0) {
    int32_t more = 0, turned = 0;
    int64_t d = c;
    if (!settp_map_key(e, flipped, &d, &more, &turned)) return SETTP_MAP_NONE;
    m = settp_map_memo_find(e, turned, d);
    if (m && m->value >= 0) return settp_map_lin_mix(e, add, 1, settp_map_lin_mix(e, m->value, -1, more, -1, 0), 1, 0);
  }
  return SETTP_MAP_NONE;
}

/* R8: floor((F + floor(G / m)) / c) = floor((m * F + G) / (m * c)), and floor((F - floor(G / m)) / c) = floor((m * F - G + m - 1) / (m * c)). Return
 * SETTP_MAP_NONE if the result is neither known nor cheaper. */
SETT_INLINE int32_t settp_map_merge(settp_map_engine *e, int32_t b, int64_t c) {
  int32_t i, f, best = SETTP_MAP_NONE, best_add = 0;
  int64_t best_c = 0;
  for (i = 0; i < e->lin[b].count; ++i) {
    settp_map_term t = e->term[e->lin[b].first + i];
    int32_t rest;
    if (e->atom[t.atom].kind != SETTP_MAP_ATOM_QUOTIENT || (t.k != 1 && t.k != -1)) continue;
    rest = settp_map_lin_plus(e, b, t.atom, -t.k);
    for (f = e->atom[t.atom].form; f >= 0; f = e->form[f].next) {
      settp_map_form form = e->form[f];
      int64_t d;
      int32_t n, add = 0, key = 0, k;
      if (settp_map_mul(form.c, c, &d) || d > (int64_t)1 << 60) continue;
      n = t.k == 1 ? settp_map_lin_mix(e, rest, form.c, form.lin, 1, 0)
                   : settp_map_lin_mix(e, rest, form.c, form.lin, -1, form.c - 1);
      if (n < 0 || !settp_map_key(e, n, &d, &add, &key)) continue;
      if (!e->lin[key].count) return add; /* the form `key` is a constant in [0, d - 1], so its quotient by d is 0 */
      k = settp_map_value_known(e, key, d, add);
      if (k >= 0) return k;
      if (settp_map_cheaper(settp_map_lin_cost(e, key), settp_map_lin_cost(e, best < 0 ? b : best))) {
        best = key;
        best_c = d;
        best_add = add;
      }
    }
  }
  return best < 0 ? SETTP_MAP_NONE : settp_map_lin_mix(e, settp_map_divide(e, best, best_c), 1, best_add, 1, 0);
}

/* Return 1 if the form b is equal to the form a plus n. */
SETT_INLINE int settp_map_lin_shifted(const settp_map_engine *e, int32_t a, int32_t b, int64_t n) {
  const settp_map_lin *x = e->lin + a, *y = e->lin + b;
  int64_t shifted;
  int32_t i;
  if (x->count != y->count || settp_map_add(x->constant, n, &shifted) || shifted != y->constant) return 0;
  for (i = 0; i < x->count; ++i)
    if (e->term[x->first + i].atom != e->term[y->first + i].atom || e->term[x->first + i].k != e->term[y->first + i].k)
      return 0;
  return 1;
}

/* R9: k * floor(F / m) + k * floor((F + m / 2) / m) = k * floor(F / (m / 2)) for even m, and k * floor(F / 2) + n * floor((F + 1) / 2) =
 * (k - n) * floor(F / 2) + n * F. Return l with one such pair of quotients replaced. Return SETTP_MAP_NONE if l has no such pair, or if the first
 * equation does not make it cheaper. */
SETT_INLINE int32_t settp_map_halve(settp_map_engine *e, int32_t l) {
  int32_t i, j, low, half, sum, n = e->lin[l].count;
  for (i = 0; i + 1 < n; ++i) {
    settp_map_term t = e->term[e->lin[l].first + i], u;
    const settp_map_atom *x = e->atom + t.atom, *y;
    if (x->kind != SETTP_MAP_ATOM_QUOTIENT || x->c & 1 || t.k == INT64_MIN) continue;
    for (j = i + 1; j < n; ++j) {
      u = e->term[e->lin[l].first + j];
      if (u.k != t.k && x->c != 2) continue;
      y = e->atom + u.atom;
      if (y->kind != SETTP_MAP_ATOM_QUOTIENT || y->c != x->c) continue;
      low = settp_map_lin_shifted(e, x->a, y->a, x->c / 2)   ? x->a
            : settp_map_lin_shifted(e, y->a, x->a, x->c / 2) ? y->a
                                                             : SETTP_MAP_NONE;
      if (low < 0 || e->nest >= 24) continue;
      if (u.k != t.k) { /* floor((F + 1) / 2) = F - floor(F / 2) */
        settp_map_term *high = low == x->a ? &u : &t;
        sum = settp_map_lin_plus(e, l, high->atom, -high->k);
        sum = settp_map_lin_plus(e, sum, low == x->a ? t.atom : u.atom, -high->k);
        return settp_map_lin_mix(e, sum, 1, low, high->k, 0);
      }
      ++e->nest;
      half = settp_map_divide(e, low, x->c / 2);
      --e->nest;
      sum = settp_map_lin_plus(e, settp_map_lin_plus(e, l, t.atom, -t.k), u.atom, -t.k);
      sum = settp_map_lin_mix(e, sum, 1, half, t.k, 0);
      return sum >= 0 && settp_map_cheaper(settp_map_lin_cost(e, sum), settp_map_lin_cost(e, l)) ? sum : SETTP_MAP_NONE;
    }
  }
  return SETTP_MAP_NONE;
}

SETT_INLINE int32_t settp_map_halves(settp_map_engine *e, int32_t l) {
  int32_t next;
  while ((next = settp_map_halve(e, l)) >= 0) l = next;
  return l;
}

/* R12: search for a known form x such that floor(l / c) = k * x + n at the samples. Return k * x + n if l - c * (k * x + n) is proved to be in
 * [0, c - 1]. */
SETT_INLINE int32_t settp_map_alike_find(settp_map_engine *e, int32_t l, int64_t c) {
  const int64_t *at = settp_map_lin_at(e, l);
  int64_t q[SETTP_MAP_SAMPLES], step, k, n;
  uint32_t hash = 0;
  int32_t x, value, rest, tries = 0;
  int j;
  if (!e->sampled || e->failures > SETTP_MAP_FAILURES_MAX) return SETTP_MAP_NONE;
  settp_map_row_floor(at, c, q);
  step = settp_map_at_step(q, e->scaled, &hash);
  if (!step) return SETTP_MAP_NONE;
  settp_map_alike_fill(e);
  for (x = e->alike_bucket[hash & e->mask]; x >= 0 && tries < 4; x = e->alike[x].next) {
    const int64_t *y = settp_map_lin_at(e, e->alike[x].lin);
    if (hash != e->alike[x].hash || step % e->alike[x].step) continue;
    k = step / e->alike[x].step;
    for (j = 1; j < SETTP_MAP_SAMPLES; ++j)
      if ((uint64_t)q[j] - (uint64_t)q[0] != (uint64_t)k * ((uint64_t)y[j] - (uint64_t)y[0])) break;
    if (j < SETTP_MAP_SAMPLES || settp_map_mul(k, y[0], &n) || n == INT64_MIN || settp_map_add(q[0], -n, &n)) continue;
    ++tries;
    value = settp_map_lin_scale(e, e->alike[x].lin, k, n);
    rest = settp_map_lin_mix(e, l, 1, value, -c, 0);
    if (settp_map_prove(e, rest, 0, c - 1)) return value;
  }
  return SETTP_MAP_NONE;
}

/* R13: if l = s * x + n for a known form x, a number n and s = 1 or -1, return s * x + n if it is cheaper. Otherwise return l. A form with one value
 * becomes a number. */
SETT_INLINE int32_t settp_map_same_values(settp_map_engine *e, int32_t l) {
  const int64_t *at;
  uint32_t hash = 0;
  int64_t step, n;
  int32_t x, tries = 0;
  int j;
  if (l < 0 || !e->lin[l].count || e->lin[l].entered || !e->sampled || e->failures > SETTP_MAP_FAILURES_MAX) return l;
  if (settp_map_lin_affine(e, l)) return l;
  settp_map_alike_fill(e);
  step = settp_map_lin_step(e, l, &hash);
  at = settp_map_lin_at(e, l);
  if (!step && settp_map_prove(e, l, at[0], at[0])) return settp_map_lin_constant(e, at[0]);
  for (x = step ? e->alike_bucket[hash & e->mask] : SETTP_MAP_NONE; x >= 0 && tries < 3; x = e->alike[x].next) {
    int32_t other = e->alike[x].lin;
    const int64_t *y = settp_map_lin_at(e, other);
    int64_t s = step == e->alike[x].step ? 1 : -1;
    if (hash != e->alike[x].hash || (step != e->alike[x].step && step != -e->alike[x].step)) continue;
    for (j = 1; j < SETTP_MAP_SAMPLES; ++j)
      if ((uint64_t)at[j] - (uint64_t)at[0] != (uint64_t)s * ((uint64_t)y[j] - (uint64_t)y[0])) break;
    if (j < SETTP_MAP_SAMPLES || settp_map_mul(-s, y[0], &n) || settp_map_add(at[0], n, &n) ||
        settp_map_cheaper(settp_map_lin_cost(e, l), settp_map_lin_cost(e, other)))
      continue;
    ++tries;
    other = settp_map_lin_scale(e, other, s, n);
    if (other >= 0 && settp_map_simpler(settp_map_lin_cost(e, other), settp_map_lin_cost(e, l)) &&
        settp_map_prove(e, settp_map_lin_mix(e, l, 1, other, -1, 0), 0, 0))
      return other;
  }
  return l;
}

/* Return floor(b / c), where b was already reduced by R1 and R3, and the interval of b does not decide the quotient. */
SETT_INLINE int32_t settp_map_divide_key(settp_map_engine *e, int32_t b, int64_t c) {
  int32_t value = SETTP_MAP_NONE, i;
  int64_t one;
  settp_map_memo *m = settp_map_memo_find(e, b, c);
  if (m && m->value >= 0) return m->value;
  /* R4: if floor((b + s * c * x) / c) is always the number v, then floor(b / c) = v - s * x */
  for (i = 0; i < e->lin[b].count && !m; ++i) {
    settp_map_term t = e->term[e->lin[b].first + i];
    int32_t other;
    if (!settp_map_at_one_period(e, settp_map_lin_at(e, b), e->atom[t.atom].at, t.k > 0 ? 0 - (uint64_t)c : (uint64_t)c,
                                 c))
      continue;
    other = settp_map_lin_plus(e, b, t.atom, t.k > 0 ? -c : c);
    if (other >= 0 && settp_map_one_period(e, other, c, &one)) {
      value = settp_map_lin_atom(e, t.atom, t.k > 0 ? 1 : -1, one);
      settp_map_memo_set(e, b, c, value);
      return value;
    }
  }
  if (!m) {
    value = settp_map_alike_find(e, b, c);
    if (value >= 0) {
      settp_map_memo_set(e, b, c, value);
      return value;
    }
    /* find a known form with this value. With samples, rule R12 has already searched for one */
    if (!e->sampled) value = settp_map_value_known(e, b, c, settp_map_lin_constant(e, 0));
  }
  if (value < 0 && !m && e->nest < 24 && e->lins < e->lin_limit && e->calls < SETTP_MAP_CALLS_MAX) {
    settp_map_memo_set(e, b, c, SETTP_MAP_NONE);
    ++e->nest;
    value = settp_map_split(e, b, c);
    if (value < 0) value = settp_map_merge(e, b, c);
    --e->nest;
  }
  if (value < 0) value = settp_map_lin_atom(e, settp_map_atom_quotient(e, b, c), 1, 0);
  if (value < 0) return SETTP_MAP_NONE;
  settp_map_memo_set(e, b, c, value);
  return value;
}

SETT_INLINE int32_t settp_map_divide_lattice(settp_map_engine *e, int32_t l, int64_t c);

/* Return floor(l / c) in normal form, for c != 0. Return SETTP_MAP_NONE on overflow. */
SETT_INLINE int32_t settp_map_divide(settp_map_engine *e, int32_t l, int64_t c) {
  int32_t add = 0, key = 0, value;
  int32_t atoms = e->atoms, known, plain = SETTP_MAP_NONE;
  int64_t one, d;
  settp_map_memo *m;
  int calls_left = ++e->calls < SETTP_MAP_CALLS_MAX * 2;
  if (l < 0 || e->error) return SETTP_MAP_NONE;
  if (c < 0) {
    if (c == INT64_MIN) return SETTP_MAP_NONE;
    return settp_map_divide(e, settp_map_lin_scale(e, l, -1, 0), -c);
  }
  if (c == 1) return l;
  if (!e->lin[l].count) return settp_map_lin_constant(e, settp_map_floor(e->lin[l].constant, c));
  m = settp_map_memo_find(e, l, c);
  if (m && m->value >= 0) return m->value;
  /* R2: if l lies in [c * v, c * v + c - 1], then floor(l / c) = v */
  if (calls_left && settp_map_one_period(e, l, c, &one)) return settp_map_lin_constant(e, one);
  if (e->lattices) {
    value = settp_map_divide_lattice(e, l, c);
    if (value >= 0) {
      settp_map_memo_set(e, l, c, value);
      return value;
    }
  }
  d = c;
  if (!settp_map_key(e, l, &d, &add, &key)) return SETTP_MAP_NONE;
  known = settp_map_halves(e, key);
  if (known != key) value = settp_map_lin_mix(e, settp_map_divide(e, known, d), 1, add, 1, 0);
  else if (!e->lin[key].count) value = add;
  else if (calls_left && (key != l || d != c) && settp_map_one_period(e, key, d, &one))
    value = settp_map_lin_scale(e, add, 1, one);
  else {
    value = settp_map_divide_key(e, key, d);
    if (value >= 0 && d == c && e->lin[value].count == 1) plain = e->term[e->lin[value].first].atom;
    if (plain >= 0 && (e->atom[plain].own != value || e->atom[plain].a != key || e->atom[plain].c != c))
      plain = SETTP_MAP_NONE;
    value = settp_map_lin_mix(e, add, 1, value, 1, 0);
  }
  if (value < 0) return SETTP_MAP_NONE;
  /* a new atom was made: prefer a cheaper known form with the same values */
  if (e->atoms > atoms && calls_left && key != l) {
    known = settp_map_alike_find(e, l, c);
    if (known >= 0 && settp_map_cheaper(settp_map_lin_cost(e, known), settp_map_lin_cost(e, value))) {
      value = known;
      plain = SETTP_MAP_NONE;
    }
  }
  settp_map_record(e, l, c, value, plain);
  settp_map_alike_enter(e, value);
  if (key != l || d != c) settp_map_memo_set(e, l, c, value);
  return value;
}

/* ---- from expressions to linear forms ---- */

SETT_INLINE int settp_map_engine_start(settp_map_engine *e, sett_map_arena *arena, const sett_map *map,
                                       const sett_map_variable *bounds, const int64_t *modulus, const int64_t *residue,
                                       uint32_t nodes) {
  uint32_t buckets = 64, i;
  size_t room;
  settp_map_clear(e, sizeof *e);
  e->arena = arena;
  e->zero = e->stepped = SETTP_MAP_NONE;
  e->bounds = bounds;
  e->modulus = modulus;
  e->residue = residue;
  e->variables = sett_map_variables(*map);
  room = (arena->top - settp_map_low(arena)) / 1536;
  e->lin_limit = (int32_t)(room < (size_t)SETTP_MAP_LINS_MAX ? room : (size_t)SETTP_MAP_LINS_MAX);
  while (buckets < 65536 && buckets < nodes * 4) buckets *= 2;
  e->mask = buckets - 1;
  e->points = SETTP_MAP_POINTS_MAX;
  e->own_points = SETTP_MAP_OWN_POINTS_MAX;
  e->sampled = 1;
  e->lin_bucket = (int32_t *)settp_map_take(arena, (size_t)buckets * 4 * sizeof(int32_t));
  e->variable = (int32_t *)settp_map_take(arena, (size_t)e->variables * sizeof(int32_t) + 8);
  if (!e->lin_bucket || !e->variable) return e->error = SETT_MAP_ERROR_FULL;
  e->atom_bucket = e->lin_bucket + buckets;
  e->memo_bucket = e->atom_bucket + buckets;
  e->alike_bucket = e->memo_bucket + buckets;
  for (i = 0; i < buckets * 4; ++i) e->lin_bucket[i] = SETTP_MAP_NONE;
  for (i = 0; i < (uint32_t)e->variables; ++i) e->variable[i] = SETTP_MAP_NONE;
  if (e->lin_limit == SETTP_MAP_LINS_MAX) { /* if there is much memory, all arrays begin in one block */
    int32_t n = nodes < 64 ? 256 : 1024;
    unsigned char *block = (unsigned char *)settp_map_take(
        arena, (size_t)n * (2 * sizeof *e->term + sizeof *e->lin + sizeof *e->atom + sizeof *e->form + sizeof *e->memo +
                            sizeof *e->alike + sizeof *e->row));
    if (block) {
      e->lin = (settp_map_lin *)(void *)block;
      e->atom = (settp_map_atom *)(void *)(e->lin + n);
      e->row = (settp_map_row *)(void *)(e->atom + n);
      e->term = (settp_map_term *)(void *)(e->row + n);
      e->form = (settp_map_form *)(void *)(e->term + 2 * (size_t)n);
      e->memo = (settp_map_memo *)(void *)(e->form + n);
      e->alike = (settp_map_alike *)(void *)(e->memo + n);
      e->lin_room = e->atom_room = e->row_room = e->form_room = e->memo_room = e->alike_room = n;
      e->term_room = 2 * n;
    }
  }
  if (!SETTP_MAP_ROOM(e, term, terms, term_room, 1)) return e->error = SETT_MAP_ERROR_FULL;
  return 0;
}

/* ---- products are sums of monomials. A monomial is a number times factors. The factors are sorted by their forms. A factor is an atom or a digit
 * F - m * floor(F / m). A digit is one factor, because it has fewer values than F and floor(F / m) ---- */

enum { SETTP_MAP_FACTORS_MAX = 12, SETTP_MAP_MONOMIALS_MAX = 24 };

typedef struct settp_map_monomial { /* the product of k and the factors */
  int64_t k;
  int32_t factor[SETTP_MAP_FACTORS_MAX];
  int count;
} settp_map_monomial;

/* Multiply the monomials `a` and `b`, keeping the factors sorted. Return 0 if there are too many factors or the number is too large. */
SETT_INLINE int settp_map_monomial_times(const settp_map_monomial *a, const settp_map_monomial *b,
                                         settp_map_monomial *out) {
  int i = 0, j = 0;
  if (a->count + b->count > SETTP_MAP_FACTORS_MAX || settp_map_mul(a->k, b->k, &out->k)) return 0;
  out->count = a->count + b->count;
  while (i + j < out->count)
    if (j == b->count || (i < a->count && a->factor[i] <= b->factor[j])) out->factor[i + j] = a->factor[i], ++i;
    else out->factor[i + j] = b->factor[j], ++j;
  return 1;
}

/* Write k * atom as a monomial. Return 0 if it has too many factors. */
SETT_INLINE int settp_map_monomial_of(const settp_map_engine *e, int32_t atom, int64_t k, settp_map_monomial *out) {
  settp_map_monomial part[2], all;
  int side;
  out->k = k;
  out->count = 1;
  out->factor[0] = e->atom[atom].own;
  if (e->atom[atom].kind != SETTP_MAP_ATOM_OTHER || e->atom[atom].op != SETTP_MAP_MUL) return 1;
  for (side = 0; side < 2; ++side) {
    int32_t l = side ? e->atom[atom].b : e->atom[atom].a;
    const settp_map_term *t = e->term + e->lin[l].first;
    part[side].k = 1;
    part[side].count = 1;
    part[side].factor[0] = l;
    if (e->lin[l].count == 1 && !e->lin[l].constant && t->k == 1 && !settp_map_monomial_of(e, t->atom, 1, part + side))
      return 0;
  }
  if (!settp_map_monomial_times(part, part + 1, &all)) return 0;
  all.k = k;
  *out = all;
  return 1;
}

/* Set `rest` to `whole` without the factors of `part`; the number k is that of `whole`. Return 0 if `part` has a factor that `whole` does not have. */
SETT_INLINE int settp_map_monomial_without(const settp_map_monomial *whole, const settp_map_monomial *part,
                                           settp_map_monomial *rest) {
  int i, j = 0;
  rest->count = 0;
  rest->k = whole->k;
  for (i = 0; i < whole->count; ++i)
    if (j < part->count && part->factor[j] == whole->factor[i]) ++j;
    else rest->factor[rest->count++] = whole->factor[i];
  return j == part->count;
}

/* Return the form `a` plus the monomial. The atom of an even power is given the lower bound 0. */
SETT_INLINE int32_t settp_map_monomial_add(settp_map_engine *e, int32_t a, const settp_map_monomial *m) {
  int32_t l, atom;
  int i, even = !(m->count & 1);
  if (a < 0) return a;
  if (!m->count) return settp_map_lin_scale(e, a, 1, m->k);
  l = m->factor[0];
  for (i = 1; i < m->count; ++i) {
    atom = settp_map_atom_other(e, SETTP_MAP_MUL, l, m->factor[i]);
    if (atom < 0) return SETTP_MAP_NONE;
    even = even && (i % 2 == 0 || m->factor[i] == m->factor[i - 1]);
    if (even && i == m->count - 1 && e->atom[atom].lo < 0) e->atom[atom].lo = 0;
    l = e->atom[atom].own;
  }
  return settp_map_lin_mix(e, a, 1, l, m->k, 0);
}

/* Remove a digit t * (F - m * q), where q = floor(F / m), from the form l, and return the rest. Return SETTP_MAP_NONE if l has no digit. *digit
 * receives F - m * q, unless `digit` is NULL. *name receives the number of q's name floor(F / m), since q may have several names. */
SETT_INLINE int32_t settp_map_digit_of(settp_map_engine *e, int32_t l, int64_t *t, int32_t *digit, int32_t *name) {
  int32_t i, f, own, rest, count = e->lin[l].count, first = e->lin[l].first;
  for (i = first; i < first + count; ++i) {
    int64_t k = e->term[i].k;
    int32_t q = e->term[i].atom;
    if (k == 1 || k == -1) continue;
    for (f = e->atom[q].form; f >= 0; f = e->form[f].next) {
      settp_map_form form = e->form[f];
      own = e->lin[form.lin].count;
      if (own >= count || k % form.c || !settp_map_lin_holds(e, l, form.lin, -(k / form.c))) continue;
      *t = -(k / form.c);
      *name = f;
      rest = settp_map_lin_take(e, l, form.lin, form.c, q, *t, count - own - 1);
      if (rest >= 0 && digit) *digit = settp_map_lin_plus(e, form.lin, q, -form.c);
      if (rest >= 0 && (!digit || *digit >= 0)) return rest;
    }
  }
  return SETTP_MAP_NONE;
}

/* Write the monomials of a form: first its digits, each as a factor, then the other terms, then the constant. Return the number of monomials, or 0 if
 * there are too many. */
SETT_INLINE int settp_map_monomials(settp_map_engine *e, int32_t l, settp_map_monomial *out) {
  int n = 0;
  int32_t i, rest, digit = 0, name;
  int64_t t = 0;
  while (n < SETTP_MAP_MONOMIALS_MAX && (rest = settp_map_digit_of(e, l, &t, &digit, &name)) >= 0) {
    out[n].k = t;
    out[n].count = 1;
    out[n++].factor[0] = digit;
    l = rest;
  }
  if (n + e->lin[l].count >= SETTP_MAP_MONOMIALS_MAX) return 0;
  for (i = 0; i < e->lin[l].count; ++i, ++n)
    if (!settp_map_monomial_of(e, e->term[e->lin[l].first + i].atom, e->term[e->lin[l].first + i].k, out + n)) return 0;
  if (e->lin[l].constant) {
    out[n].k = e->lin[l].constant;
    out[n++].count = 0;
  }
  return n;
}

/* Return a bound of the magnitude of a form: the sum of the bounds of its terms, saturated. */
SETT_INLINE int64_t settp_map_lin_reach(const settp_map_engine *e, int32_t l) {
  int64_t reach = settp_map_sat_mul(e->lin[l].constant < 0 ? -1 : 1, e->lin[l].constant);
  int32_t i;
  for (i = 0; i < e->lin[l].count; ++i) {
    settp_map_term t = e->term[e->lin[l].first + i];
    sett_map_interval r = settp_map_interval_scale(settp_map_interval(e->atom[t.atom].lo, e->atom[t.atom].hi), t.k);
    reach = settp_map_sat_add(reach, r.hi > settp_map_neg(r.lo) ? r.hi : settp_map_neg(r.lo));
  }
  return reach;
}

SETT_INLINE int32_t settp_map_lin_product(settp_map_engine *e, int32_t a, int32_t b);

/* N6: for q = min(x, y) or max(x, y), q * q = (x + y) * q - x * y. So (k * q + c) * (m * q + d) = c * d - k * m * x * y if k * m * (x + y) + k * d +
 * m * c = 0. This covers min(x, y) * max(x, y). Return the product of the forms `a` and `b` by this equation, or SETTP_MAP_NONE if its condition does
 * not hold. */
SETT_INLINE int32_t settp_map_product_lattice(settp_map_engine *e, int32_t a, int32_t b) {
  int count;
  int32_t at = settp_map_lattice_at(e, a, &count), x, y, sum;
  int64_t k, m, km;
  settp_map_term t;
  if (at < 0) return SETTP_MAP_NONE;
  t = e->term[e->lin[a].first + at];
  k = t.k;
  m = settp_map_lin_coefficient(e, b, t.atom);
  if (!m || settp_map_mul(k, m, &km)) return SETTP_MAP_NONE;
  x = e->atom[t.atom].a;
  y = e->atom[t.atom].b;
  a = settp_map_lin_plus(e, a, t.atom, -k);
  b = settp_map_lin_plus(e, b, t.atom, -m);
  sum = settp_map_lin_mix(e, settp_map_lin_mix(e, x, km, y, km, 0), 1, settp_map_lin_mix(e, b, k, a, m, 0), 1, 0);
  if (sum < 0 || e->lin[sum].count || e->lin[sum].constant) return SETTP_MAP_NONE;
  return settp_map_lin_mix(e, settp_map_lin_product(e, a, b), 1, settp_map_lin_product(e, x, y), -km, 0);
}

/* M1: (x + y) * z = x * z + y * z. Return a * b as a sum of monomials. Return one atom for it if there are too many monomials or they might
 * overflow. */
SETT_INLINE int32_t settp_map_lin_product(settp_map_engine *e, int32_t a, int32_t b) {
  int64_t g, h, k;
  int32_t t, sum;
  if (!e->lin[a].count) return settp_map_lin_scale(e, b, e->lin[a].constant, 0);
  if (!e->lin[b].count) return settp_map_lin_scale(e, a, e->lin[b].constant, 0);
  t = e->lattices ? settp_map_product_lattice(e, a, b) : SETTP_MAP_NONE;
  if (t >= 0) return t;
  if (settp_map_sat_mul(settp_map_lin_reach(e, a), settp_map_lin_reach(e, b)) < (int64_t)1 << 61) {
    settp_map_monomial x[SETTP_MAP_MONOMIALS_MAX], y[SETTP_MAP_MONOMIALS_MAX], both;
    int i, j, n = settp_map_monomials(e, a, x), m = settp_map_monomials(e, b, y);
    sum = n && m && n * m <= SETTP_MAP_MONOMIALS_MAX ? settp_map_lin_constant(e, 0) : SETTP_MAP_NONE;
    for (i = 0; i < n && sum >= 0; ++i)
      for (j = 0; j < m && sum >= 0; ++j)
        sum = settp_map_monomial_times(x + i, y + j, &both) ? settp_map_monomial_add(e, sum, &both) : SETTP_MAP_NONE;
    if (sum >= 0 && n > 1 && m > 1) {
      int32_t *known = e->product[e->products++ % SETTP_MAP_PRODUCTS_MAX];
      known[0] = sum;
      known[1] = a;
      known[2] = b;
    }
    if (sum >= 0) return sum;
  }
  g = settp_map_gcd(settp_map_lin_gcd(e, a), e->lin[a].constant);
  h = settp_map_gcd(settp_map_lin_gcd(e, b), e->lin[b].constant);
  if (e->term[e->lin[a].first].k < 0) g = -g;
  if (e->term[e->lin[b].first].k < 0) h = -h;
  if (settp_map_mul(g, h, &k)) return SETTP_MAP_NONE;
  a = settp_map_lin_shrink(e, a, g, e->lin[a].constant / g);
  b = settp_map_lin_shrink(e, b, h, e->lin[b].constant / h);
  if (a < 0 || b < 0) return SETTP_MAP_NONE;
  if (a > b) t = a, a = b, b = t;
  return settp_map_lin_atom(e, settp_map_atom_other(e, SETTP_MAP_MUL, a, b), k, 0);
}

/* ---- quotients by forms that are at least 1 on the domain ---- */

SETT_INLINE int settp_map_at_least(settp_map_engine *e, int32_t l, int64_t lo) {
  return l >= 0 && settp_map_lin_interval(e, l).lo >= lo;
}

/* Return the sum of those terms of l that contain `factor`, divided by `factor`. *rest receives the other terms. */
SETT_INLINE int32_t settp_map_lin_cofactor(settp_map_engine *e, int32_t l, int32_t factor, int32_t *rest) {
  settp_map_monomial m, left, part;
  int32_t i, out = settp_map_lin_constant(e, 0);
  part.k = 1;
  part.count = 1;
  part.factor[0] = factor;
  *rest = l;
  for (i = 0; i < e->lin[l].count && out >= 0; ++i) {
    settp_map_term t = e->term[e->lin[l].first + i];
    if (t.k == INT64_MIN || !settp_map_monomial_of(e, t.atom, t.k, &m) || !settp_map_monomial_without(&m, &part, &left))
      continue;
    out = settp_map_monomial_add(e, out, &left);
    *rest = settp_map_lin_plus(e, *rest, t.atom, -t.k);
  }
  return out;
}

/* S1: divide a by b, so that a = b * A + B. Return A, and store B in *rest. If b is one monomial k * M, every term of B that contains M has a residue
 * modulo k as its coefficient. If b is a sum, a multiple of b is subtracted from `a` only if fewer terms remain. */
SETT_INLINE int32_t settp_map_lin_multiples(settp_map_engine *e, int32_t a, int32_t b, int32_t *rest) {
  settp_map_monomial lead, m, left;
  int32_t out = settp_map_lin_constant(e, 0), i;
  int one = e->lin[b].count == 1 && !e->lin[b].constant;
  settp_map_term d = e->term[e->lin[b].first];
  *rest = a;
  if (d.k == INT64_MIN || !settp_map_monomial_of(e, d.atom, 1, &lead)) return out;
  for (i = 0; i < e->lin[a].count && out >= 0; ++i) {
    settp_map_term t = e->term[e->lin[a].first + i];
    int64_t k = d.k < 0 ? -d.k : d.k, r = settp_map_residue(t.k, k);
    int32_t x, next;
    if (t.k == INT64_MIN || r == t.k || (r && !one)) continue;
    if (!settp_map_monomial_of(e, t.atom, 1, &m) || !settp_map_monomial_without(&m, &lead, &left)) continue;
    left.k = (t.k - r) / d.k;
    x = settp_map_monomial_add(e, settp_map_lin_constant(e, 0), &left);
    if (x < 0) continue;
    next = settp_map_lin_mix(e, *rest, 1, settp_map_lin_product(e, x, b), -1, 0);
    if (next < 0 ||
        (!one && e->lin[next].count + !!e->lin[next].constant >= e->lin[*rest].count + !!e->lin[*rest].constant))
      continue;
    *rest = next;
    out = settp_map_lin_mix(e, out, 1, x, 1, 0);
  }
  return out;
}

/* Return floor(a / b) for a form b that is at least 1 and not constant. Return SETTP_MAP_NONE on overflow. */
SETT_INLINE int32_t settp_map_divide_by(settp_map_engine *e, int32_t a, int32_t b) {
  int32_t add, rest = a, i, part;
  int64_t g, j;
  if (a < 0 || b < 0 || e->error) return SETTP_MAP_NONE;
  if (!e->lin[b].count) return settp_map_divide(e, a, e->lin[b].constant);
  /* S2: cancel a common factor g that is a number */
  g = settp_map_gcd(settp_map_lin_gcd(e, b), e->lin[b].constant);
  if (e->lin[a].count) g = settp_map_lin_gcd_with(e, a, g);
  if (g > 1) {
    a = settp_map_lin_shrink(e, a, g, settp_map_floor(e->lin[a].constant, g));
    b = settp_map_lin_shrink(e, b, g, e->lin[b].constant / g);
    return settp_map_divide_by(e, a, b);
  }
  add = settp_map_lin_multiples(e, a, b, &rest);
  if (add < 0) return SETTP_MAP_NONE;
  if (rest != a) return settp_map_lin_mix(e, add, 1, settp_map_divide_by(e, rest, b), 1, 0);
  for (j = -1; j <= 1; ++j) /* S3: floor(a / b) = j if j * b <= a < (j + 1) * b */
    if (settp_map_at_least(e, settp_map_lin_mix(e, a, 1, b, -j, 0), 0) &&
        settp_map_at_least(e, settp_map_lin_mix(e, b, j + 1, a, -1, 0), 1))
      return settp_map_lin_constant(e, j);
  if (!e->lin[b].constant) { /* S2: cancel a common factor g that is a form */
    settp_map_monomial m;
    int32_t zero = settp_map_lin_constant(e, 0);
    if (!settp_map_monomial_of(e, e->term[e->lin[b].first].atom, 1, &m)) m.count = 0;
    for (i = 0; i < m.count; ++i) {
      int32_t f = m.factor[i], left,
              divisor = settp_map_at_least(e, f, 1) ? settp_map_lin_cofactor(e, b, f, &left) : -1;
      if (divisor < 0 || left != zero) continue;
      part = settp_map_lin_cofactor(e, a, f, &rest);
      if (part < 0 || (rest != zero && (!e->lin[part].count || !settp_map_at_least(e, rest, 0) ||
                                        !settp_map_at_least(e, settp_map_lin_mix(e, f, 1, rest, -1, 0), 1))))
        continue;
      return settp_map_divide_by(e, part, divisor);
    }
  }
  if (e->lin[a].count && e->term[e->lin[a].first].k < 0) /* S4: make the first coefficient positive */
    return settp_map_lin_scale(e, settp_map_divide_by(e, settp_map_lin_scale(e, a, -1, -1), b), -1, -1);
  e->divided = 1;
  return settp_map_lin_atom(e, settp_map_atom_other(e, SETTP_MAP_FLOORDIV, a, b), 1, 0);
}

/* Return l - k * x. *k receives the number k for which this cancels the first term of x. Return SETTP_MAP_NONE unless the subtraction removes every
 * term of x from l and adds none. */
SETT_INLINE int32_t settp_map_lin_less(settp_map_engine *e, int32_t l, int32_t x, int64_t *k) {
  settp_map_term lead;
  int64_t own;
  int32_t left;
  if (x < 0 || !e->lin[x].count) return SETTP_MAP_NONE;
  lead = e->term[e->lin[x].first];
  own = settp_map_lin_coefficient(e, l, lead.atom);
  if (!own || own == INT64_MIN || own % lead.k) return SETTP_MAP_NONE;
  *k = own / lead.k;
  left = settp_map_lin_mix(e, l, 1, x, -*k, 0);
  return left >= 0 && e->lin[left].count == e->lin[l].count - e->lin[x].count ? left : SETTP_MAP_NONE;
}

/* I3 for a form b that is at least 1: l = t * (a - b * q) + rest with q = floor(a / b) lies between rest and t * (b - 1) + rest. */
SETT_INLINE sett_map_interval settp_map_lin_interval_rest(settp_map_engine *e, int32_t l, sett_map_interval r) {
  settp_map_monomial m;
  int32_t i, digit;
  int j;
  for (i = 0; i < e->lin[l].count && !e->error; ++i) {
    if (!settp_map_monomial_of(e, e->term[e->lin[l].first + i].atom, 1, &m)) continue;
    for (j = 0; j < m.count; ++j) {
      const settp_map_lin *own = e->lin + m.factor[j];
      const settp_map_atom *x = e->atom + (own->count ? e->term[own->first].atom : 0);
      int32_t b = x->b, a = x->a, rest, most;
      int64_t k = 0;
      sett_map_interval p, q;
      if (x->own != m.factor[j] || x->kind != SETTP_MAP_ATOM_OTHER || x->op != SETTP_MAP_FLOORDIV ||
          !settp_map_at_least(e, b, 1))
        continue;
      digit = settp_map_lin_product(e, b, m.factor[j]);
      if (digit < 0 || settp_map_lin_less(e, l, digit, &k) < 0 || k == INT64_MIN) continue;
      digit = settp_map_lin_mix(e, a, 1, digit, -1, 0);
      rest = settp_map_lin_mix(e, l, 1, digit, k, 0);
      most = settp_map_lin_mix(e, rest, 1, b, -k, k);
      if (rest < 0 || most < 0 || e->lin[rest].count >= e->lin[l].count) continue;
      p = settp_map_lin_interval(e, rest);
      q = settp_map_lin_interval(e, most);
      r = settp_map_interval_meet(r, k < 0 ? settp_map_interval(p.lo, q.hi) : settp_map_interval(q.lo, p.hi));
    }
  }
  return r;
}

/* ---- bits: forms that are linear over the field with two elements ----
 * A source is a form whose bits cannot be written by bits of other forms: a variable, a quotient by a number that is no power of two, or a sum with
 * carries. Source bit j is bit j of the values of a source, in two's complement; source bit SETTP_MAP_BIT_SIGN is the sign.
 * A bit is stored as the number 2 * set + n, where `set` is the number of a set of source bits, and n is 0 or 1. The bit is n plus the sum of this set,
 * modulo 2. Set 0 is the empty set, so bits 0 and 1 are the constants 0 and 1. */

enum {
  SETTP_MAP_BITS_MAX = 512,
  SETTP_MAP_BIT_WORDS = SETTP_MAP_BITS_MAX / 64,
  SETTP_MAP_BIT_SIGN = 63,
  SETTP_MAP_BIT_WIDTH = 62,  /* number of bits of a value below its sign */
  SETTP_MAP_BITS_KNOWN = 64, /* the field `known` has this value if all bits are known */
  SETTP_MAP_BIT_SOURCES = 64,
  SETTP_MAP_BIT_SETS = 4096,
  SETTP_MAP_BIT_BUCKETS = 256,
  SETTP_MAP_BIT_DEPTH = 8, /* maximum nesting of operations that are read as bits; deeper operations become sources */
  SETTP_MAP_BIT_TERMS = 128,
  SETTP_MAP_BIT_DIGITS = 256,
  SETTP_MAP_BIT_MEMBERS = 100, /* maximum number of source bits in a sum that becomes an atom */
  SETTP_MAP_BIT_WORK = 2000    /* maximum number of atoms that are visited while one form is read */
};

typedef struct settp_map_bit_set {
  uint64_t word[SETTP_MAP_BIT_WORDS];
  int32_t next;
} settp_map_bit_set;

/* A form that is the bits place .. place + size - 1 of a source. */
typedef struct settp_map_bit_digit {
  int32_t lin, source;
  int16_t place, size;
} settp_map_bit_digit;

typedef struct settp_map_bits {
  int32_t source[SETTP_MAP_BIT_SOURCES]; /* the forms of the sources */
  /* the number of each bit of each source, or -1 if it has none yet */
  int16_t number[SETTP_MAP_BIT_SOURCES][SETTP_MAP_BIT_SIGN + 1];
  /* for each source bit, by number: its source, and its place in that source */
  int16_t of[SETTP_MAP_BITS_MAX], place[SETTP_MAP_BITS_MAX];
  int32_t bucket[SETTP_MAP_BIT_BUCKETS];
  settp_map_bit_set *set;
  int32_t sets, set_room;
  settp_map_bit_digit digit[SETTP_MAP_BIT_DIGITS];
  int digits, sources, count, work;
} settp_map_bits;

/* The bits of a value: bits 0 to width - 1, and the sign. All bits from `width` on are equal to the sign. Only bits below `known` are known. */
typedef struct settp_map_reading {
  int32_t bit[SETTP_MAP_BIT_WIDTH + 1];
  int32_t sign;
  int width, known;
} settp_map_reading;

SETT_INLINE void settp_map_set_clear(settp_map_bit_set *x) {
  settp_map_clear(x, sizeof *x);
  x->next = SETTP_MAP_NONE;
}
SETT_INLINE int settp_map_set_has(const settp_map_bit_set *x, int n) { return (int)(x->word[n / 64] >> (n & 63) & 1); }
SETT_INLINE void settp_map_set_flip(settp_map_bit_set *x, int n) { x->word[n / 64] ^= UINT64_C(1) << (n & 63); }
SETT_INLINE int32_t settp_map_bit_find(settp_map_engine *e, const settp_map_bit_set *x) {
  settp_map_bits *b = e->bits;
  uint32_t hash = 0;
  int32_t at, *bucket;
  int i;
  for (i = 0; i < SETTP_MAP_BIT_WORDS; ++i) hash = settp_map_hash(x->word[i], hash + 1);
  bucket = b->bucket + hash % SETTP_MAP_BIT_BUCKETS;
  for (at = *bucket; at >= 0; at = b->set[at].next) {
    for (i = 0; i < SETTP_MAP_BIT_WORDS && b->set[at].word[i] == x->word[i]; ++i) {}
    if (i == SETTP_MAP_BIT_WORDS) return at;
  }
  if (b->sets == SETTP_MAP_BIT_SETS) return SETTP_MAP_NONE;
  if (b->sets == b->set_room) {
    int32_t room = b->set_room * 2;
    settp_map_bit_set *grown = (settp_map_bit_set *)settp_map_take(e->arena, (size_t)room * sizeof *grown);
    if (!grown) return SETTP_MAP_NONE;
    settp_map_copy(grown, b->set, (size_t)b->sets * sizeof *grown);
    b->set = grown;
    b->set_room = room;
  }
  b->set[b->sets] = *x;
  b->set[b->sets].next = *bucket;
  *bucket = b->sets;
  return b->sets++;
}

SETT_INLINE int settp_map_bits_start(settp_map_engine *e) {
  settp_map_bit_set none;
  settp_map_bits *b;
  int i;
  if (e->bits) return 1;
  b = (settp_map_bits *)settp_map_take(e->arena, sizeof *b);
  if (!b) return 0;
  b->digits = b->sources = b->count = b->work = b->sets = 0;
  b->set_room = 64;
  b->set = (settp_map_bit_set *)settp_map_take(e->arena, (size_t)b->set_room * sizeof *b->set);
  if (!b->set) return 0;
  for (i = 0; i < SETTP_MAP_BIT_BUCKETS; ++i) b->bucket[i] = SETTP_MAP_NONE;
  settp_map_set_clear(&none);
  e->bits = b;
  return settp_map_bit_find(e, &none) == 0;
}

/* Return the bit that is the sum of the bits a and b modulo 2. Return SETTP_MAP_NONE if there is no room for its set of source bits. */
SETT_INLINE int32_t settp_map_bit_add(settp_map_engine *e, int32_t a, int32_t b) {
  settp_map_bit_set sum;
  int32_t set;
  int i;
  if (a < 0 || b < 0) return SETTP_MAP_NONE;
  if (a < 2) return a ^ b;
  if (b < 2) return a ^ b;
  for (i = 0; i < SETTP_MAP_BIT_WORDS; ++i) sum.word[i] = e->bits->set[a / 2].word[i] ^ e->bits->set[b / 2].word[i];
  set = settp_map_bit_find(e, &sum);
  return set < 0 ? SETTP_MAP_NONE : 2 * set + ((a ^ b) & 1);
}

/* Return source bit number `place` of a source, as a bit. Return SETTP_MAP_NONE if there are too many source bits. */
SETT_INLINE int32_t settp_map_bit_of(settp_map_engine *e, int32_t source, int place) {
  settp_map_bits *b = e->bits;
  settp_map_bit_set one;
  int i, n, set;
  for (i = 0; i < b->sources && b->source[i] != source; ++i) {}
  if (i == SETTP_MAP_BIT_SOURCES) return SETTP_MAP_NONE;
  if (i == b->sources) {
    b->source[b->sources++] = source;
    for (n = 0; n <= SETTP_MAP_BIT_SIGN; ++n) b->number[i][n] = -1;
  }
  n = b->number[i][place];
  if (n < 0) {
    if (b->count == SETTP_MAP_BITS_MAX) return SETTP_MAP_NONE;
    n = b->count++;
    b->number[i][place] = (int16_t)n;
    b->of[n] = (int16_t)i;
    b->place[n] = (int16_t)place;
  }
  settp_map_set_clear(&one);
  settp_map_set_flip(&one, n);
  set = settp_map_bit_find(e, &one);
  return set < 0 ? SETTP_MAP_NONE : 2 * set;
}

/* If the bit is a single source bit, return the number of the source bit. Return -2 if the bit is a constant; otherwise -1. */
SETT_INLINE int settp_map_bit_single(const settp_map_engine *e, int32_t bit) {
  const settp_map_bit_set *x = e->bits->set + bit / 2;
  int i, n = -2;
  for (i = 0; i < SETTP_MAP_BIT_WORDS; ++i) {
    uint64_t w = x->word[i];
    if (!w) continue;
    if (n >= 0 || (w & (w - 1))) return -1;
    for (n = i * 64; !(w & 1); w >>= 1) ++n;
  }
  return n;
}

/* Set *r to the interval of the source, and *width to the number of its low bits that may vary. *sign is 1 if the sign may vary; then all higher bits
 * equal the sign. If *sign is 0, all higher bits are those of r->lo. Return 0 if the source has no bounds, or too many bits vary. */
SETT_INLINE int settp_map_bit_range(settp_map_engine *e, int32_t source, sett_map_interval *r, int *width, int *sign) {
  uint64_t vary;
  *r = settp_map_lin_interval(e, source);
  if (r->lo == INT64_MIN || r->hi == INT64_MAX || r->lo > r->hi) return 0;
  *sign = (r->lo < 0) != (r->hi < 0);
  vary = *sign ? settp_map_ones((uint64_t)~r->lo | (uint64_t)r->hi) : settp_map_ones((uint64_t)r->lo ^ (uint64_t)r->hi);
  for (*width = 0; vary; vary >>= 1) ++*width;
  return *width <= SETTP_MAP_BIT_WIDTH;
}

/* Make form l a source, and set the bits of `out` that are not known yet to source bits of l. Change nothing if l has no bounds, or too many of its bits
 * vary; leave bits unknown if there are too many source bits. */
SETT_INLINE void settp_map_bit_source(settp_map_engine *e, int32_t l, settp_map_reading *out) {
  sett_map_interval r;
  int width, sign, j;
  if (!settp_map_bit_range(e, l, &r, &width, &sign)) return;
  for (j = out->known; j < width; ++j)
    if ((out->bit[j] = settp_map_bit_of(e, l, j)) < 0) return;
  if (sign) {
    out->sign = settp_map_bit_of(e, l, SETTP_MAP_BIT_SIGN);
    if (out->sign < 0) return;
  } else {
    int64_t top = j < 63 ? r.lo >> j : 0;
    for (; top && top != -1 && j < SETTP_MAP_BIT_WIDTH; ++j, top >>= 1) out->bit[j] = (int32_t)(top & 1);
    if (top && top != -1) return;
    out->sign = r.lo < 0;
  }
  out->width = j;
  out->known = SETTP_MAP_BITS_KNOWN;
}

SETT_INLINE void settp_map_read(settp_map_engine *e, int32_t l, int whole, int depth, settp_map_reading *out);

SETT_INLINE int32_t settp_map_reading_at(const settp_map_reading *r, int place) {
  return place < r->width || r->known < SETTP_MAP_BITS_KNOWN ? r->bit[place] : r->sign;
}

/* Replace *a by *a xor *b, if all bits of both are known. */
SETT_INLINE void settp_map_reading_add(settp_map_engine *e, settp_map_reading *a, const settp_map_reading *b) {
  int j, width = a->width > b->width ? a->width : b->width;
  if (b->known < SETTP_MAP_BITS_KNOWN) a->known = 0;
  if (a->known < SETTP_MAP_BITS_KNOWN) return;
  for (j = 0; j < width; ++j) {
    int32_t bit = settp_map_bit_add(e, settp_map_reading_at(a, j), settp_map_reading_at(b, j));
    if (bit < 0) {
      a->known = 0;
      return;
    }
    /* Store bit j. All bits of `a` from a->width on are equal to a->sign and not stored */
    a->bit[j] = bit;
    if (j >= a->width) a->width = j + 1, a->bit[j] = bit;
  }
  a->sign = settp_map_bit_add(e, a->sign, b->sign);
  if (a->sign < 0) a->known = 0;
  for (a->width = width; a->width && a->bit[a->width - 1] == a->sign; --a->width) {}
}

SETT_INLINE void settp_map_read_atom(settp_map_engine *e, int32_t q, int depth, settp_map_reading *out) {
  settp_map_atom x = e->atom[q];
  int shift = 0, j;
  out->width = out->known = 0;
  out->sign = 0;
  if (!depth) e->bits->work = 0;
  if ((depth >= SETTP_MAP_BIT_DEPTH && !x.r) || ++e->bits->work > SETTP_MAP_BIT_WORK)
    x.kind = SETTP_MAP_ATOM_VAR; /* at the limit of depth or work, treat the atom like a variable */
  if (x.kind == SETTP_MAP_ATOM_QUOTIENT && !(x.c & (x.c - 1))) {
    while (x.c >> shift > 1) ++shift;
    settp_map_read(e, x.a, 1, depth + 1, out);
    if (out->known == SETTP_MAP_BITS_KNOWN) {
      for (j = shift; j < out->width; ++j) out->bit[j - shift] = out->bit[j];
      out->width = out->width > shift ? out->width - shift : 0;
      return;
    }
    out->known = 0;
  } else if (x.kind == SETTP_MAP_ATOM_OTHER && x.op == SETTP_MAP_XOR && x.r) {
    out->bit[0] = (int32_t)x.r;
    out->width = 1;
    out->known = SETTP_MAP_BITS_KNOWN;
    return;
  } else if (x.kind == SETTP_MAP_ATOM_OTHER && x.op == SETTP_MAP_XOR) {
    settp_map_reading other;
    settp_map_read(e, x.a, 1, depth + 1, out);
    settp_map_read(e, x.b, 1, depth + 1, &other);
    settp_map_reading_add(e, out, &other);
    if (out->known == SETTP_MAP_BITS_KNOWN) return;
    out->known = 0;
  }
  settp_map_bit_source(e, x.own, out);
}

typedef struct settp_map_bit_term { /* k * bit, a term of a sum */
  int64_t k;
  int32_t bit;
} settp_map_bit_term;

/* Add k to *sum modulo 2^64. Set *wide if the sum exceeds 2^62 in magnitude. */
SETT_INLINE void settp_map_wide_add(int64_t *sum, int64_t k, int *wide) {
  const int64_t most = (int64_t)1 << 62;
  int64_t r = 0;
  if (settp_map_add(*sum, k, &r)) *wide = 1;
  *sum = (int64_t)((uint64_t)*sum + (uint64_t)k);
  if (*sum > most || *sum < -most) *wide = 1;
}

/* Add k * bit to the terms. An inverted bit is 1 - bit, which also changes *constant. Return 0 if there are too many terms. */
SETT_INLINE int settp_map_bit_term_add(settp_map_bit_term *term, int *count, int64_t *constant, int32_t bit, int64_t k,
                                       int *wide) {
  int i;
  if (bit & 1) {
    settp_map_wide_add(constant, k, wide);
    k = (int64_t)(0 - (uint64_t)k);
    --bit;
  }
  if (!bit) return 1;
  for (i = 0; i < *count && term[i].bit != bit; ++i) {}
  if (i == SETTP_MAP_BIT_TERMS) return 0;
  if (i == *count) {
    term[i].bit = bit;
    term[i].k = 0;
    ++*count;
  }
  settp_map_wide_add(&term[i].k, k, wide);
  return 1;
}

/* Return the number nearest to 0 whose lowest 64 - place bits are those of k. */
SETT_INLINE int64_t settp_map_narrow(int64_t k, int place) {
  return settp_map_floor((int64_t)((uint64_t)k << place), (int64_t)1 << place);
}

/* Read the bits of a sum, the lowest bit first, and at most `limit` bits. The summands are terms k * bit and a constant. Reading ends at the first bit
 * for which several coefficients k are odd, because the carry is then not linear. This bit is still read, unless `whole` is set. `wide`: 1 if the
 * constant and the coefficients are known only modulo 2^64; the sum is then at most 2^62 in magnitude. */
SETT_INLINE void settp_map_read_sum(settp_map_engine *e, int wide, settp_map_bit_term *term, int count,
                                    int64_t constant, int limit, int whole, settp_map_reading *out) {
  int place, i, n;
  out->known = 0;
  for (place = 0; place < limit; ++place) {
    int odds = 0, odd = 0;
    int32_t bit = (int32_t)(constant & 1);
    if (wide) constant = settp_map_narrow(constant, place);
    for (i = n = 0; i < count; ++i) {
      if (wide) term[i].k = settp_map_narrow(term[i].k, place);
      if (term[i].k) term[n++] = term[i];
    }
    count = n;
    out->width = place;
    /* if there is a limit, terms beyond it are not read, so the sign is not known */
    if (limit == SETTP_MAP_BITS_KNOWN && !count && (!constant || constant == -1)) out->sign = constant != 0;
    else if (limit == SETTP_MAP_BITS_KNOWN && count == 1 && term[0].k == -1 && !constant) out->sign = term[0].bit;
    else if (limit == SETTP_MAP_BITS_KNOWN && count == 1 && term[0].k == 1 && constant == -1)
      out->sign = term[0].bit + 1;
    else if (place == SETTP_MAP_BIT_WIDTH) return;
    else {
      for (i = 0; i < count; ++i)
        if (term[i].k & 1) {
          ++odds;
          odd = i;
          bit = settp_map_bit_add(e, bit, term[i].bit);
        }
      if (bit < 0 || (odds > 1 && whole)) return;
      out->bit[place] = bit;
      out->known = place + 1;
      if (odds > 1) return;
      if (odds) term[odd].k = (int64_t)((uint64_t)term[odd].k + (constant & 1 ? 1 : ~(uint64_t)0));
      for (i = 0; i < count; ++i) term[i].k /= 2;
      constant = settp_map_floor(constant, 2);
      continue;
    }
    out->known = SETTP_MAP_BITS_KNOWN;
    return;
  }
}

/* Record that a form with several terms is a digit of a source, because the terms do not show this. Do not record a form with fewer terms. Return the
 * form. */
SETT_INLINE int32_t settp_map_bit_digit_add(settp_map_engine *e, int32_t l, int32_t source, int place, int size) {
  settp_map_bits *b = e->bits;
  int i;
  if (l < 0 || e->lin[l].count < 2) return l;
  for (i = 0; i < b->digits && b->digit[i].lin != l; ++i) {}
  if (i < b->digits || i == SETTP_MAP_BIT_DIGITS) return l;
  b->digit[i].lin = l;
  b->digit[i].source = source;
  b->digit[i].place = (int16_t)place;
  b->digit[i].size = (int16_t)size;
  ++b->digits;
  return l;
}

/* Find summands k * digit in l, for the digits that settp_map_bit_digit_add recorded. For each bit j of such a digit, add the term k * 2^j * (bit j) to
 * `term`. Return l without these summands, or SETTP_MAP_NONE if a number is too large, or if there are too many bits. */
SETT_INLINE int32_t settp_map_read_digits(settp_map_engine *e, int32_t l, settp_map_bit_term *term, int *count,
                                          int64_t *constant, int *wide) {
  int i, j;
  for (i = 0; i < e->bits->digits; ++i) {
    settp_map_bit_digit d = e->bits->digit[i];
    int32_t rest, n = e->lin[d.lin].count;
    settp_map_term t = e->term[e->lin[d.lin].first];
    int64_t k = settp_map_lin_coefficient(e, l, t.atom);
    if (!k || k % t.k || settp_map_lin_shared(e, d.lin, l) < n) continue;
    k /= t.k;
    rest = k == INT64_MIN ? SETTP_MAP_NONE : settp_map_lin_mix(e, l, 1, d.lin, -k, 0);
    if (rest < 0 || e->lin[rest].count > e->lin[l].count - n) continue;
    for (j = 0; j < d.size; ++j) {
      int32_t bit = settp_map_bit_of(e, d.source, d.place + j);
      if (bit < 0 || (j && settp_map_mul(k, 2, &k)) || !settp_map_bit_term_add(term, count, constant, bit, k, wide))
        return SETTP_MAP_NONE;
    }
    l = rest;
  }
  return l;
}

/* Read the bits of a form's values. If `whole` is set, bits that cannot be read become bits of a source; otherwise they are left out. */
SETT_INLINE void settp_map_read(settp_map_engine *e, int32_t l, int whole, int depth, settp_map_reading *out) {
  settp_map_bit_term term[SETTP_MAP_BIT_TERMS];
  int count = 0, limit = SETTP_MAP_BITS_KNOWN, wide = 0, j;
  int32_t i, rest = l;
  int64_t constant = 0;
  sett_map_interval r;
  out->width = out->known = 0;
  out->sign = 0;
  if (e->lin[l].count == 1 && !e->lin[l].constant && e->term[e->lin[l].first].k == 1) {
    settp_map_read_atom(e, e->term[e->lin[l].first].atom, depth, out);
    return;
  }
  rest = settp_map_read_digits(e, l, term, &count, &constant, &wide);
  if (rest < 0) rest = l, limit = 0;
  settp_map_wide_add(&constant, e->lin[rest].constant, &wide);
  for (i = 0; i < e->lin[rest].count && limit; ++i) {
    settp_map_term t = e->term[e->lin[rest].first + i];
    int64_t k = t.k, low = t.k & -t.k;
    int shift = 0, over = 0;
    settp_map_read_atom(e, t.atom, depth, out);
    while (low >> shift > 1) ++shift;
    if (out->known < SETTP_MAP_BITS_KNOWN && shift < limit) limit = shift;
    for (j = 0; j <= out->width && out->known == SETTP_MAP_BITS_KNOWN && limit; ++j) {
      int32_t bit = settp_map_reading_at(out, j);
      if (bit) {
        wide |= over;
        if (!settp_map_bit_term_add(term, &count, &constant, bit, j == out->width ? (int64_t)(0 - (uint64_t)k) : k,
                                    &wide))
          limit = 0;
      }
      over |= k > (int64_t)1 << 61 || k < -((int64_t)1 << 61);
      k = (int64_t)((uint64_t)k * 2);
    }
  }
  if (wide) {
    r = settp_map_lin_interval(e, l);
    if (r.lo < -((int64_t)1 << 61) || r.hi > (int64_t)1 << 61) limit = 0;
  }
  out->width = out->known = 0;
  out->sign = 0;
  settp_map_read_sum(e, wide, term, count, constant, limit, whole, out);
  if (whole && out->known < SETTP_MAP_BITS_KNOWN) settp_map_bit_source(e, l, out);
}

/* Return the value of a bit (0 or 1) of a source as a form. */
SETT_INLINE int32_t settp_map_lin_of_source_bit(settp_map_engine *e, int number) {
  int32_t source = e->bits->source[e->bits->of[number]], q;
  int place = e->bits->place[number], width, sign;
  sett_map_interval r;
  if (place == SETTP_MAP_BIT_SIGN) {
    if (!settp_map_bit_range(e, source, &r, &width, &sign)) return SETTP_MAP_NONE;
    return settp_map_lin_scale(e, settp_map_divide(e, source, (int64_t)1 << width), -1, 0);
  }
  q = settp_map_divide(e, source, (int64_t)1 << place);
  q = settp_map_lin_mix(e, q, 1, settp_map_divide(e, source, (int64_t)1 << (place + 1)), -2, 0);
  return settp_map_bit_digit_add(e, q, source, place, 1);
}

/* Return a bit as a form: its source bit, or an atom if the bit is a sum of several source bits. */
SETT_INLINE int32_t settp_map_lin_of_bit(settp_map_engine *e, int32_t bit) {
  int32_t l = SETTP_MAP_NONE, atom = SETTP_MAP_NONE;
  int i, members = 0;
  if (bit < 2) return settp_map_lin_constant(e, bit);
  for (i = 0; i < e->bits->count; ++i) {
    int32_t one;
    if (!settp_map_set_has(e->bits->set + bit / 2, i)) continue;
    one = settp_map_lin_of_source_bit(e, i);
    if (one < 0) return SETTP_MAP_NONE;
    if (++members > SETTP_MAP_BIT_MEMBERS) return SETTP_MAP_NONE;
    if (l >= 0) atom = settp_map_atom_other(e, SETTP_MAP_XOR, l, one);
    l = l < 0 ? one : settp_map_lin_atom(e, atom, 1, 0);
    if (l < 0) return SETTP_MAP_NONE;
  }
  if (atom >= 0) e->atom[atom].r = bit & ~1;
  return bit & 1 ? settp_map_lin_scale(e, l, -1, 1) : l;
}

/* Convert a value, all of whose bits are known, to a form. X1: bit j of a xor b is the sum of bit j of a and of b modulo 2. X2: adjacent bits of one
 * source are one digit (x floordiv 2^p) mod 2^n. X3: any other bit is an atom, in which equal bits cancel. */
SETT_INLINE int32_t settp_map_lin_of_reading(settp_map_engine *e, const settp_map_reading *r) {
  int32_t l = settp_map_lin_constant(e, 0);
  int j, n;
  for (j = 0; j <= r->width && l >= 0; j += n) {
    int32_t bit = settp_map_reading_at(r, j), part;
    int number = settp_map_bit_single(e, bit), source, place, width, sign, topped = 0;
    int64_t weight = j == r->width ? -((int64_t)1 << j) : (int64_t)1 << j;
    sett_map_interval range;
    n = 1;
    if (number < 0 || j == r->width || e->bits->place[number] == SETTP_MAP_BIT_SIGN) {
      if (bit) l = settp_map_lin_mix(e, l, 1, settp_map_lin_of_bit(e, bit), weight, 0);
      continue;
    }
    source = e->bits->of[number];
    place = e->bits->place[number];
    for (; j + n < r->width && place + n < SETTP_MAP_BIT_WIDTH; ++n) {
      int next = settp_map_bit_single(e, r->bit[j + n]);
      if (next < 0 || e->bits->of[next] != source || e->bits->place[next] != place + n || ((r->bit[j + n] ^ bit) & 1))
        break;
    }
    /* a digit that contains all bits up to the sign needs no mod */
    if (j + n == r->width && r->sign > 1 && !((r->sign ^ bit) & 1)) {
      int next = settp_map_bit_single(e, r->sign);
      topped = next >= 0 && e->bits->of[next] == source && e->bits->place[next] == SETTP_MAP_BIT_SIGN &&
               settp_map_bit_range(e, e->bits->source[source], &range, &width, &sign) && width <= place + n;
    }
    part = settp_map_divide(e, e->bits->source[source], (int64_t)1 << place);
    if (!topped) {
      part = settp_map_lin_mix(e, part, 1, settp_map_divide(e, e->bits->source[source], (int64_t)1 << (place + n)),
                               -((int64_t)1 << n), 0);
      part = settp_map_bit_digit_add(e, part, e->bits->source[source], place, n);
    }
    if (bit & 1) part = settp_map_lin_scale(e, part, -1, topped ? -1 : ((int64_t)1 << n) - 1);
    l = settp_map_lin_mix(e, l, 1, part, weight, 0);
    if (topped) break;
  }
  return l;
}

/* Return a xor b. If an operand has no bounds, the xor stays an operation. */
SETT_INLINE int32_t settp_map_lin_xor(settp_map_engine *e, int32_t a, int32_t b) {
  settp_map_reading r, other;
  int32_t t;
  if (a == b) return settp_map_lin_constant(e, 0);
  if (!e->lin[a].count && !e->lin[b].count)
    return settp_map_lin_constant(e, settp_map_xor(e->lin[a].constant, e->lin[b].constant));
  if (!e->lin[a].count) t = a, a = b, b = t;
  if (!e->lin[b].count && !e->lin[b].constant) return a;
  if (!e->lin[b].count && e->lin[b].constant == -1) return settp_map_lin_scale(e, a, -1, -1);
  if (settp_map_bits_start(e)) {
    settp_map_read(e, a, 1, 0, &r);
    settp_map_read(e, b, 1, 0, &other);
    settp_map_reading_add(e, &r, &other);
    if (r.known == SETTP_MAP_BITS_KNOWN && (t = settp_map_lin_of_reading(e, &r)) >= 0) return t;
  }
  if (e->error) return SETTP_MAP_NONE;
  if (a > b) t = a, a = b, b = t;
  return settp_map_lin_atom(e, settp_map_atom_other(e, SETTP_MAP_XOR, a, b), 1, 0);
}

/* X4: let c be a power of two, 2^n. If the lowest n bits of the form `a` are known, and one of them is a sum of bits, return the form `a` modulo c.
 * Otherwise return SETTP_MAP_NONE. */
SETT_INLINE int32_t settp_map_lin_parity(settp_map_engine *e, int32_t a, int64_t c) {
  settp_map_reading r;
  int j, bits = 0, sums = 0;
  if (c < 2 || c & (c - 1) || !settp_map_bits_start(e)) return SETTP_MAP_NONE;
  while (c >> bits > 1) ++bits;
  settp_map_read(e, a, 0, 0, &r);
  if (r.known < bits || bits > SETTP_MAP_BIT_WIDTH) return SETTP_MAP_NONE;
  for (j = 0; j < bits; ++j) {
    r.bit[j] = settp_map_reading_at(&r, j);
    sums |= settp_map_bit_single(e, r.bit[j]) == -1;
  }
  if (!sums) return SETTP_MAP_NONE;
  r.width = bits;
  r.sign = 0;
  r.known = SETTP_MAP_BITS_KNOWN;
  return settp_map_lin_of_reading(e, &r);
}

/* ---- minimum and maximum ----
 * Nested minima and maxima of forms are stored as a lattice: the maximum of some minima of forms. The forms are its leaves. A minimum is dropped if
 * another one is never smaller (N3). In its standard form (N4), a lattice has no part that all leaves share: the smallest coefficient of each atom over
 * the leaves, and the common divisor of the leaves, are moved out. The negative of a lattice is a minimum of maxima. Only one of the two is made an
 * atom. */

enum { SETTP_MAP_LEAVES_MAX = 16, SETTP_MAP_MEETS_MAX = 32 };

/* A meet is a set of leaves, one bit per leaf. The lattice is the maximum over all meets of the minimum of the leaves in the meet. */
typedef struct settp_map_lattice {
  int32_t leaf[SETTP_MAP_LEAVES_MAX];
  uint32_t meet[SETTP_MAP_MEETS_MAX];
  int leaves, meets;
} settp_map_lattice;

/* N2: add a minimum to a lattice, which is a maximum of minima. A minimum that has all leaves of another one is never larger, so it is left out. Return
 * 0 if there are too many minima. */
SETT_INLINE int settp_map_lattice_add(settp_map_lattice *x, uint32_t meet) {
  int i, n = 0;
  for (i = 0; i < x->meets; ++i)
    if ((x->meet[i] & meet) == x->meet[i]) return 1;
  for (i = 0; i < x->meets; ++i)
    if ((x->meet[i] & meet) != meet) x->meet[n++] = x->meet[i];
  x->meets = n;
  if (n == SETTP_MAP_MEETS_MAX) return 0;
  x->meet[x->meets++] = meet;
  return 1;
}

/* N2: the minimum or maximum of two lattices, by the distributive law. Return 0 if it has too many leaves or minima. */
SETT_INLINE int settp_map_lattice_join(int op, const settp_map_lattice *x, const settp_map_lattice *y,
                                       settp_map_lattice *out) {
  uint32_t to[SETTP_MAP_LEAVES_MAX], meet;
  int i, j, ok = 1;
  *out = *x;
  out->meets = 0;
  for (i = 0; i < y->leaves; ++i) {
    for (j = 0; j < out->leaves && out->leaf[j] != y->leaf[i]; ++j) {}
    if (j == SETTP_MAP_LEAVES_MAX) return 0;
    if (j == out->leaves) out->leaf[out->leaves++] = y->leaf[i];
    to[i] = UINT32_C(1) << j;
  }
  for (i = 0; op == SETTP_MAP_MAX && i < x->meets; ++i) ok &= settp_map_lattice_add(out, x->meet[i]);
  for (j = 0; j < y->meets; ++j) {
    int bit;
    for (meet = 0, bit = 0; bit < y->leaves; ++bit)
      if (y->meet[j] >> bit & 1) meet |= to[bit];
    if (op == SETTP_MAP_MAX) ok &= settp_map_lattice_add(out, meet);
    for (i = 0; op == SETTP_MAP_MIN && i < x->meets && ok; ++i) ok &= settp_map_lattice_add(out, meet | x->meet[i]);
  }
  return ok;
}

/* Read a form with one minimum or maximum as a lattice; any other form is a leaf. Return 0 if the lattice is too large. */
SETT_INLINE int settp_map_lattice_read(settp_map_engine *e, int32_t l, int depth, settp_map_lattice *out) {
  settp_map_lattice x, y;
  int32_t a, b, i;
  int count, op;
  i = settp_map_lattice_at(e, l, &count);
  if (count != 1) {
    out->leaf[0] = l;
    out->meet[0] = 1;
    out->leaves = out->meets = 1;
    return 1;
  }
  op = depth < SETTP_MAP_LEAVES_MAX ? settp_map_lattice_sides(e, l, i, &a, &b) : 0;
  return op && settp_map_lattice_read(e, a, depth + 1, &x) && settp_map_lattice_read(e, b, depth + 1, &y) &&
         settp_map_lattice_join(op, &x, &y, out);
}

/* Return 1 if a <= b is proved. */
SETT_INLINE int settp_map_lin_below(settp_map_engine *e, int32_t a, int32_t b) {
  sett_map_interval r;
  int32_t d, j;
  for (j = 0; j < SETTP_MAP_SAMPLES && e->sampled; ++j) {
    int64_t x = settp_map_lin_at(e, a)[j], y = settp_map_lin_at(e, b)[j];
    if (x > y) return 0;
  }
  d = settp_map_lin_mix(e, a, 1, b, -1, 0);
  if (d < 0) return 0;
  r = settp_map_lin_interval(e, d);
  return r.hi <= 0 || (r.lo <= 0 && r.lo > INT64_MIN && settp_map_prove(e, d, r.lo, 0));
}

/* Remove the leaves that occur in no minimum, and sort the others. */
SETT_INLINE void settp_map_lattice_sort(settp_map_lattice *x) {
  uint32_t used = 0, m;
  int32_t leaf[SETTP_MAP_LEAVES_MAX];
  int i, j, k, n;
  for (k = 0; k < x->meets; ++k) used |= x->meet[k];
  for (n = i = 0; i < x->leaves; ++i) {
    if (!(used >> i & 1)) continue;
    for (j = n++; j > 0 && leaf[j - 1] > x->leaf[i]; --j) leaf[j] = leaf[j - 1];
    leaf[j] = x->leaf[i];
  }
  for (k = 0; k < x->meets; ++k) {
    for (m = 0, i = 0; i < x->leaves; ++i)
      for (j = 0; (x->meet[k] >> i & 1) && j < n; ++j)
        if (leaf[j] == x->leaf[i]) m |= UINT32_C(1) << j;
    for (j = k; j > 0 && x->meet[j - 1] > m; --j) x->meet[j] = x->meet[j - 1];
    x->meet[j] = m;
  }
  x->leaves = n;
  for (i = 0; i < n; ++i) x->leaf[i] = leaf[i];
}

/* Return 1 if s * z <= max(s * x, s * y) is proved, for s = 1 or -1: if both x - z and y - z were at most -1, a sum m * (x - z) + n * (y - z) with
 * m, n > 0 would be at most -m - n. */
SETT_INLINE int settp_map_lin_between(settp_map_engine *e, int32_t z, int32_t x, int32_t y, int64_t s) {
  int32_t a = settp_map_lin_mix(e, x, s, z, -s, 0), b = settp_map_lin_mix(e, y, s, z, -s, 0), i, sum;
  if (a < 0 || b < 0) return 0;
  if (settp_map_lin_interval(e, a).lo >= 0 || settp_map_lin_interval(e, b).lo >= 0) return 1;
  for (i = 0; i < e->lin[a].count; ++i) { /* choose m and n so that an atom cancels */
    settp_map_term t = e->term[e->lin[a].first + i];
    int64_t k = settp_map_lin_coefficient(e, b, t.atom), g = settp_map_gcd(k, t.k), m, n;
    if (!k || k == INT64_MIN || t.k == INT64_MIN || (k < 0) == (t.k < 0))
      continue; /* INT64_MIN has no absolute value */
    m = (k < 0 ? -k : k) / g;
    n = (t.k < 0 ? -t.k : t.k) / g;
    sum = settp_map_lin_mix(e, a, m, b, n, 0);
    if (sum >= 0 && settp_map_lin_interval(e, sum).lo > -m - n) return 1;
  }
  return 0;
}

/* Return 1 if min(low) <= max(min(a), min(b)) is proved, for sets of leaves: for each leaf x of a and y of b, one of `low` is at most max(x, y). */
SETT_INLINE int settp_map_meet_bounded(settp_map_engine *e, const settp_map_lattice *x, uint32_t low, uint32_t a,
                                       uint32_t b) {
  int i, j, k;
  for (i = 0; i < x->leaves; ++i)
    for (j = 0; (a >> i & 1) && j < x->leaves; ++j) {
      if (!(b >> j & 1)) continue;
      for (k = 0; k < x->leaves; ++k)
        if ((low >> k & 1) && settp_map_lin_between(e, x->leaf[k], x->leaf[i], x->leaf[j], 1)) break;
      if (k == x->leaves) return 0;
    }
  return 1;
}

/* Return the minimum of a set of leaves at a sample; INT64_MAX for the empty set. */
SETT_INLINE int64_t settp_map_meet_at(settp_map_engine *e, const settp_map_lattice *x, uint32_t meet, int sample) {
  int64_t least = INT64_MAX, at;
  int i;
  for (i = 0; i < x->leaves; ++i)
    if ((meet >> i & 1) && (at = settp_map_lin_at(e, x->leaf[i])[sample]) < least) least = at;
  return least;
}

/* Return 1 if the lattice has the same values at the samples without the leaves `less` in its minimum k. If these are all leaves of the minimum, it is
 * left out. */
SETT_INLINE int settp_map_lattice_same(settp_map_engine *e, const settp_map_lattice *x, int k, uint32_t less) {
  int j, n;
  for (n = 0; n < SETTP_MAP_SAMPLES; ++n) {
    int64_t own = settp_map_meet_at(e, x, x->meet[k], n), rest = INT64_MIN, at;
    int64_t left = less == x->meet[k] ? INT64_MIN : settp_map_meet_at(e, x, x->meet[k] & ~less, n);
    for (j = 0; own != left && j < x->meets; ++j)
      if (j != k && (at = settp_map_meet_at(e, x, x->meet[j], n)) > rest) rest = at;
    if (own != left && (own > rest || left > rest)) return 0;
  }
  return 1;
}

/* N7: remove a minimum if the maximum of two others is never smaller. In a minimum, remove a leaf if the minimum of two others is never larger, or if
 * the minimum of the others is at most the maximum of this leaf and another minimum. */
SETT_INLINE void settp_map_lattice_thin(settp_map_engine *e, settp_map_lattice *x) {
  uint32_t meet;
  int i, j, h, k, gone;
  for (k = 0; k < x->meets && x->meets > 2; ++k) {
    if (!settp_map_lattice_same(e, x, k, x->meet[k])) continue;
    for (gone = j = 0; j < x->meets && !gone; ++j)
      for (h = j + 1; h < x->meets && !gone; ++h)
        gone = j != k && h != k && settp_map_meet_bounded(e, x, x->meet[k], x->meet[j], x->meet[h]);
    if (gone) x->meet[k--] = x->meet[--x->meets];
  }
  for (k = 0; k < x->meets; ++k)
    for (i = 0; i < x->leaves; ++i) {
      meet = x->meet[k] & ~(UINT32_C(1) << i);
      if (meet == x->meet[k] || !meet || !settp_map_lattice_same(e, x, k, UINT32_C(1) << i)) continue;
      for (gone = j = 0; j < x->leaves && !gone; ++j)
        for (h = j + 1; h < x->leaves && !gone; ++h)
          gone = (meet >> j & meet >> h & 1) && settp_map_lin_between(e, x->leaf[i], x->leaf[j], x->leaf[h], -1);
      for (j = 0; j < x->meets && !gone; ++j)
        gone = j != k && settp_map_meet_bounded(e, x, meet, UINT32_C(1) << i, x->meet[j]);
      if (gone) x->meet[k] = meet;
    }
  /* a minimum may now have all leaves of another one */
  for (k = x->meets, x->meets = i = 0; i < k; ++i) settp_map_lattice_add(x, x->meet[i]);
}

/* N3: in a minimum, remove a leaf if another leaf is never larger. Remove a minimum if another minimum is never smaller. */
SETT_INLINE void settp_map_lattice_reduce(settp_map_engine *e, settp_map_lattice *x) {
  uint32_t below[SETTP_MAP_LEAVES_MAX]; /* below[i]: the set of leaves that are at most leaf i */
  int i, j, k;
  for (i = 0; i < x->leaves; ++i)
    for (below[i] = 0, j = 0; j < x->leaves; ++j)
      if (i != j && settp_map_lin_below(e, x->leaf[j], x->leaf[i])) below[i] |= UINT32_C(1) << j;
  for (k = 0; k < x->meets; ++k)
    for (i = x->leaves - 1; i >= 0; --i)
      if ((x->meet[k] >> i & 1) && (x->meet[k] & below[i])) x->meet[k] &= ~(UINT32_C(1) << i);
  for (k = 0; k < x->meets; ++k)
    for (j = 0; j < x->meets; ++j) {
      for (i = 0; i < x->leaves && j != k; ++i)
        if ((x->meet[j] >> i & 1) && !(x->meet[k] & (below[i] | UINT32_C(1) << i))) break;
      if (j == k || i < x->leaves) continue;
      x->meet[k--] = x->meet[--x->meets];
      break;
    }
  if (e->sampled && x->leaves > 2) settp_map_lattice_thin(e, x);
  settp_map_lattice_sort(x);
}

/* Convert x, a maximum of minima, into a minimum of maxima of the same leaves. Each set of leaves in out->meet then stands for a maximum. Return 0
 * if there are too many maxima. */
SETT_INLINE int settp_map_lattice_turn(const settp_map_lattice *x, settp_map_lattice *out) {
  settp_map_lattice from;
  int i, j, k, ok = 1;
  *out = *x;
  out->meets = 1;
  out->meet[0] = 0;
  for (k = 0; k < x->meets && ok; ++k) {
    from = *out;
    out->meets = 0;
    for (j = 0; j < from.meets; ++j)
      for (i = 0; i < x->leaves && ok; ++i)
        if (x->meet[k] >> i & 1) ok = settp_map_lattice_add(out, from.meet[j] | UINT32_C(1) << i);
  }
  settp_map_lattice_sort(out);
  return ok;
}

enum { SETTP_MAP_LATTICE_MAKE, SETTP_MAP_LATTICE_FIND, SETTP_MAP_LATTICE_COUNT };

/* Return the form op(a, b). If `how` is SETTP_MAP_LATTICE_FIND, return SETTP_MAP_NONE if op(a, b) is not an atom yet. If `how` is
 * SETTP_MAP_LATTICE_COUNT, a and b are not forms but the numbers of leaves of two forms, and the result is their sum. */
SETT_INLINE int32_t settp_map_lattice_node(settp_map_engine *e, int op, int32_t a, int32_t b, int how) {
  int32_t t;
  if (how == SETTP_MAP_LATTICE_COUNT) return a + b;
  if (a < 0 || b < 0) return SETTP_MAP_NONE;
  if (a > b) t = a, a = b, b = t;
  if (how == SETTP_MAP_LATTICE_FIND && settp_map_other_find(e, op, a, b) < 0) return SETTP_MAP_NONE;
  return settp_map_lin_atom(e, settp_map_atom_other(e, op, a, b), 1, 0);
}

SETT_INLINE int32_t settp_map_lattice_chain(settp_map_engine *e, const settp_map_lattice *x, uint32_t meet, int op,
                                            int how) {
  int32_t made = SETTP_MAP_NONE, leaf;
  int i, first = 1;
  for (i = 0; i < x->leaves; ++i) {
    if (!(meet >> i & 1)) continue;
    leaf = how == SETTP_MAP_LATTICE_COUNT ? 1 : x->leaf[i];
    made = first ? leaf : settp_map_lattice_node(e, op, made, leaf, how);
    first = 0;
  }
  return made;
}

/* Return the form that joins the sets of leaves in `meet` by op. Inside a set, the leaves are joined by the other operation (max or min). Leaves that
 * are in all sets are factored out. If there are none, sets with a single leaf are joined first. If there are no such sets, either, the leaf that most
 * sets contain is factored out of these sets. The remaining sets are joined by the same rules. */
SETT_INLINE int32_t settp_map_lattice_build(settp_map_engine *e, const settp_map_lattice *x, const uint32_t *meet,
                                            int meets, int op, int how) {
  uint32_t part[SETTP_MAP_MEETS_MAX], rest[SETTP_MAP_MEETS_MAX], common = ~UINT32_C(0), single = 0, pick = 0;
  int i, j, n, parts = 0, rests = 0, most = 0, other = SETTP_MAP_MIN + SETTP_MAP_MAX - op;
  int32_t a, b;
  if (meets == 1) return settp_map_lattice_chain(e, x, meet[0], other, how);
  for (i = 0; i < meets; ++i) {
    common &= meet[i];
    if (!(meet[i] & (meet[i] - 1))) single |= meet[i];
  }
  if (common) {
    for (i = 0; i < meets; ++i) rest[i] = meet[i] & ~common;
    a = settp_map_lattice_chain(e, x, common, other, how);
    b = settp_map_lattice_build(e, x, rest, meets, op, how);
    return settp_map_lattice_node(e, other, a, b, how);
  }
  for (i = 0; i < x->leaves && !single; ++i) {
    for (n = 0, j = 0; j < meets; ++j) n += (int)(meet[j] >> i & 1);
    if (n > most) {
      most = n;
      pick = UINT32_C(1) << i;
    }
  }
  for (i = 0; i < meets; ++i) {
    if (single ? (meet[i] & single) != 0 : (meet[i] & pick) != 0) part[parts++] = meet[i] & ~pick;
    else rest[rests++] = meet[i];
  }
  if (single) a = settp_map_lattice_chain(e, x, single, op, how);
  else {
    a = settp_map_lattice_build(e, x, part, parts, op, how);
    a = settp_map_lattice_node(e, other, settp_map_lattice_chain(e, x, pick, op, how), a, how);
  }
  if (!rests) return a;
  b = settp_map_lattice_build(e, x, rest, rests, op, how);
  return settp_map_lattice_node(e, op, a, b, how);
}

/* Return a lattice as a form: as a maximum of minima or as a minimum of maxima, whichever has fewer leaves. */
SETT_INLINE int32_t settp_map_lattice_form(settp_map_engine *e, const settp_map_lattice *x, int how) {
  settp_map_lattice y;
  int i, turn = 0;
  /* a lattice that is one maximum or one minimum has each leaf once, so it is not turned */
  for (i = 0; i < x->meets && x->meets > 1 && !turn; ++i) turn = (x->meet[i] & (x->meet[i] - 1)) != 0;
  turn = turn && settp_map_lattice_turn(x, &y) &&
         settp_map_lattice_build(e, &y, y.meet, y.meets, SETTP_MAP_MIN, SETTP_MAP_LATTICE_COUNT) <
             settp_map_lattice_build(e, x, x->meet, x->meets, SETTP_MAP_MAX, SETTP_MAP_LATTICE_COUNT);
  return turn ? settp_map_lattice_build(e, &y, y.meet, y.meets, SETTP_MAP_MIN, how)
              : settp_map_lattice_build(e, x, x->meet, x->meets, SETTP_MAP_MAX, how);
}

/* N4: subtract a form from all leaves, then divide the leaves by *g, the gcd of their numbers. Return the form. Each of its coefficients is the
 * smallest one that its atom has in a leaf, and its constant is the smallest constant. Two exceptions: (1) If the smallest and the largest
 * coefficient of a quotient floor(F / c) differ by a multiple of c, the largest one is subtracted, because the quotient then belongs to a digit. (2)
 * An atom of kind SETTP_MAP_ATOM_OTHER that is no product, such as a minimum or a xor, stays in the leaves if its coefficients differ. */
SETT_INLINE int32_t settp_map_lattice_shift(settp_map_engine *e, settp_map_lattice *x, int64_t *g) {
  int32_t shift, i, j;
  int64_t constant = e->lin[x->leaf[0]].constant;
  int n, k;
  for (n = 1; n < x->leaves; ++n)
    if (e->lin[x->leaf[n]].constant < constant) constant = e->lin[x->leaf[n]].constant;
  shift = settp_map_lin_constant(e, constant);
  for (n = 0; n < x->leaves; ++n)
    for (i = 0; i < e->lin[x->leaf[n]].count; ++i) {
      settp_map_term t = e->term[e->lin[x->leaf[n]].first + i];
      const settp_map_atom *a = e->atom + t.atom;
      int64_t lo = t.k, hi = t.k, own;
      for (k = 0; k < n && !settp_map_lin_coefficient(e, x->leaf[k], t.atom); ++k) {}
      if (k < n) continue; /* an earlier leaf contains this atom, so the atom was treated there */
      for (k = 0; k < x->leaves; ++k) {
        own = settp_map_lin_coefficient(e, x->leaf[k], t.atom);
        if (own < lo) lo = own;
        if (own > hi) hi = own;
      }
      if (a->kind == SETTP_MAP_ATOM_QUOTIENT && ((uint64_t)hi - (uint64_t)lo) % (uint64_t)a->c == 0) lo = hi;
      if (a->kind == SETTP_MAP_ATOM_OTHER && a->op != SETTP_MAP_MUL && lo < hi) continue;
      shift = settp_map_lin_plus(e, shift, t.atom, lo);
      if (shift < 0) return SETTP_MAP_NONE;
    }
  *g = 0;
  for (n = 0; n < x->leaves; ++n) {
    x->leaf[n] = j = settp_map_lin_mix(e, x->leaf[n], 1, shift, -1, 0);
    if (j < 0) return SETTP_MAP_NONE;
    *g = settp_map_gcd(settp_map_lin_gcd_with(e, j, *g), e->lin[j].constant);
  }
  if (!*g) return SETTP_MAP_NONE;
  for (n = 0; n < x->leaves; ++n) {
    x->leaf[n] = settp_map_lin_shrink(e, x->leaf[n], *g, e->lin[x->leaf[n]].constant / *g);
    if (x->leaf[n] < 0) return SETTP_MAP_NONE;
  }
  return shift;
}

SETT_INLINE int32_t settp_map_lattice_make(settp_map_engine *e, settp_map_lattice *x, int depth);

/* N5: let every leaf be A + floor(F / c), with the same c in all leaves, or A without quotients; A and F may differ between leaves. The lattice is
 * then the quotient by c of a lattice with the leaves c * A + F and c * A. Return this quotient if it saves more divisions than it adds products. */
SETT_INLINE int32_t settp_map_lattice_quotient(settp_map_engine *e, const settp_map_lattice *x, int depth) {
  settp_map_lattice y = *x;
  int64_t c = 0;
  int32_t i, q, l;
  int n, quotients = 0, products = 0;
  for (n = 0; n < x->leaves; ++n) {
    for (q = SETTP_MAP_NONE, i = 0; i < e->lin[x->leaf[n]].count; ++i) {
      settp_map_term t = e->term[e->lin[x->leaf[n]].first + i];
      products += e->atom[t.atom].kind != SETTP_MAP_ATOM_QUOTIENT && (t.k == 1 || t.k == -1);
      if (e->atom[t.atom].kind != SETTP_MAP_ATOM_QUOTIENT) continue;
      if (q >= 0 || t.k != 1 || (c && e->atom[t.atom].c != c)) return SETTP_MAP_NONE;
      q = t.atom;
      c = e->atom[q].c;
    }
    y.leaf[n] = q;
    quotients += q >= 0;
  }
  if (quotients < 2 + products || depth > 4) return SETTP_MAP_NONE;
  for (n = 0; n < x->leaves; ++n) {
    q = y.leaf[n];
    l = q < 0 ? x->leaf[n] : settp_map_lin_plus(e, x->leaf[n], q, -1);
    l = q < 0 ? settp_map_lin_scale(e, l, c, 0) : settp_map_lin_mix(e, l, c, e->atom[q].a, 1, 0);
    if (l < 0) return SETTP_MAP_NONE;
    y.leaf[n] = l;
  }
  settp_map_lattice_reduce(e, &y);
  return settp_map_divide(e, settp_map_lattice_make(e, &y, depth + 1), c);
}

/* N6: if all leaves have a common factor that is never negative, move it out of the lattice. */
SETT_INLINE int32_t settp_map_lattice_factor(settp_map_engine *e, const settp_map_lattice *x, int depth) {
  settp_map_lattice y;
  settp_map_monomial m;
  int32_t rest, l, zero = settp_map_lin_constant(e, 0);
  int i, n = 0;
  while (n < x->leaves && !e->lin[x->leaf[n]].count) ++n;
  if (n == x->leaves || depth > 4 || !settp_map_monomial_of(e, e->term[e->lin[x->leaf[n]].first].atom, 1, &m))
    return SETTP_MAP_NONE;
  for (i = 0; i < m.count && m.count > 1; ++i) {
    if (!settp_map_at_least(e, m.factor[i], 0)) continue;
    for (y = *x, n = 0, rest = zero; n < x->leaves && rest == zero; ++n) {
      y.leaf[n] = settp_map_lin_cofactor(e, x->leaf[n], m.factor[i], &rest);
      if (y.leaf[n] < 0) rest = SETTP_MAP_NONE;
    }
    if (rest != zero) continue;
    settp_map_lattice_reduce(e, &y);
    l = settp_map_lattice_make(e, &y, depth + 1);
    return l < 0 ? SETTP_MAP_NONE : settp_map_lin_product(e, l, m.factor[i]);
  }
  return SETTP_MAP_NONE;
}

/* Return the number of coefficients and constants in a form and in the leaves of a lattice. */
SETT_INLINE int settp_map_lattice_numbers(const settp_map_engine *e, int32_t l, const settp_map_lattice *x) {
  int i, n = e->lin[l].count + (e->lin[l].constant != 0);
  for (i = 0; i < x->leaves; ++i) n += e->lin[x->leaf[i]].count + (e->lin[x->leaf[i]].constant != 0);
  return n;
}

/* Return a reduced lattice as the form front + factor * y with an atom y. Instead of the lattice, y may be that of the negated leaves, if it has fewer
 * numbers or is already an atom. */
SETT_INLINE int32_t settp_map_lattice_make(settp_map_engine *e, settp_map_lattice *x, int depth) {
  settp_map_lattice way[2];
  int64_t g[2];
  int32_t front[2], l = SETTP_MAP_NONE;
  int i, first, ways;
  if (x->leaves == 1) return x->leaf[0];
  way[0] = *x;
  front[0] = settp_map_lattice_shift(e, way, g);
  if (front[0] < 0) return SETTP_MAP_NONE;
  settp_map_lattice_sort(way);
  /* without other minima and maxima, the negated leaves of two forms that share nothing are never preferred */
  ways = e->lattices || way[0].leaves > 2 || e->lin[front[0]].count || e->lin[front[0]].constant
             ? 1 + settp_map_lattice_turn(way, way + 1)
             : 1;
  for (i = 0; ways > 1 && i < way[1].leaves; ++i)
    if ((way[1].leaf[i] = settp_map_lin_scale(e, way[0].leaf[i], -1, 0)) < 0) ways = 1;
  front[1] = ways > 1 ? settp_map_lattice_shift(e, way + 1, g + 1) : SETTP_MAP_NONE;
  if (front[1] >= 0) front[1] = settp_map_lin_mix(e, front[0], 1, front[1], -g[0], 0);
  if (front[1] < 0) ways = 1;
  if (ways > 1) {
    if (way[1].meets > 1 && way[0].meets > 1) settp_map_lattice_reduce(e, way + 1);
    else settp_map_lattice_sort(way + 1);
    g[1] *= -g[0];
  }
  first = ways > 1 && settp_map_lattice_numbers(e, front[1], way + 1) < settp_map_lattice_numbers(e, front[0], way);
  l = settp_map_lattice_quotient(e, way + first, depth);
  if (l < 0) l = settp_map_lattice_factor(e, way + first, depth);
  for (i = 0; i < ways && l < 0; ++i) {
    l = settp_map_lattice_form(e, way + (first ^ i), SETTP_MAP_LATTICE_FIND);
    if (l >= 0) first ^= i;
  }
  if (l < 0) l = settp_map_lattice_form(e, way + first, SETTP_MAP_LATTICE_MAKE);
  return settp_map_lin_mix(e, front[first], 1, l, g[first], 0);
}

/* Return the minimum or maximum of two forms. */
SETT_INLINE int32_t settp_map_lin_lattice(settp_map_engine *e, int op, int32_t a, int32_t b) {
  settp_map_lattice x, y, both;
  int32_t common = settp_map_lin_constant(e, 0), i, made = SETTP_MAP_NONE, t;
  int count;
  for (i = 0; i < e->lin[a].count; ++i) { /* a minimum or maximum that both forms contain is not split into leaves */
    settp_map_term s = e->term[e->lin[a].first + i];
    if (e->atom[s.atom].kind == SETTP_MAP_ATOM_OTHER && settp_map_lin_coefficient(e, b, s.atom) == s.k)
      common = settp_map_lin_plus(e, common, s.atom, s.k);
  }
  if (settp_map_lattice_at(e, common, &count) >= 0) {
    int32_t p = settp_map_lin_mix(e, a, 1, common, -1, 0), q = settp_map_lin_mix(e, b, 1, common, -1, 0);
    if (p >= 0 && q >= 0) return settp_map_lin_mix(e, common, 1, settp_map_lin_lattice(e, op, p, q), 1, 0);
  }
  if (settp_map_lattice_read(e, a, 0, &x) && settp_map_lattice_read(e, b, 0, &y) &&
      settp_map_lattice_join(op, &x, &y, &both)) {
    settp_map_lattice_reduce(e, &both);
    made = settp_map_lattice_make(e, &both, 0);
  }
  if (made >= 0 || e->error) return made;
  if (a > b) t = a, a = b, b = t; /* the lattice is too large, or a leaf overflows */
  return settp_map_lin_atom(e, settp_map_atom_other(e, op, a, b), 1, 0);
}

/* Return 1 if the form `a` has a quotient that the form `b` does not have. */
SETT_INLINE int settp_map_lin_new_quotient(const settp_map_engine *e, int32_t a, int32_t b) {
  int32_t i;
  for (i = 0; i < e->lin[a].count; ++i) {
    int32_t q = e->term[e->lin[a].first + i].atom;
    if (e->atom[q].kind == SETTP_MAP_ATOM_QUOTIENT && !settp_map_lin_coefficient(e, b, q)) return 1;
  }
  return 0;
}

/* N5: floor(l / c) of a lattice l is the lattice of the quotients of the leaves. Return this lattice if it needs no new quotient. All these quotients are
 * computed in any case, so that R12 finds one with equal values, whatever the order of the leaves. */
SETT_INLINE int32_t settp_map_divide_lattice(settp_map_engine *e, int32_t l, int64_t c) {
  settp_map_lattice x;
  int count, n, inside = 1;
  int32_t q = SETTP_MAP_NONE;
  if (settp_map_lattice_at(e, l, &count) < 0 || count != 1 || e->nest >= 24 || !settp_map_lattice_read(e, l, 0, &x) ||
      x.leaves > 6)
    return SETTP_MAP_NONE;
  ++e->nest;
  for (n = 0; n < x.leaves; ++n) {
    q = settp_map_divide(e, x.leaf[n], c);
    inside = inside && q >= 0 && !settp_map_lin_new_quotient(e, q, x.leaf[n]);
    x.leaf[n] = q;
  }
  if (inside) settp_map_lattice_reduce(e, &x);
  q = inside ? settp_map_lattice_make(e, &x, 0) : SETTP_MAP_NONE;
  --e->nest;
  return q;
}

SETT_INLINE int32_t settp_map_lin_operation(settp_map_engine *e, int op, int32_t a, int32_t b) {
  sett_map_interval x, y;
  int32_t q, t;
  int64_t c;
  switch (op) {
    case SETTP_MAP_ADD: return settp_map_lin_mix(e, a, 1, b, 1, 0);
    case SETTP_MAP_MUL: return settp_map_lin_product(e, a, b);
    case SETTP_MAP_MIN:
    case SETTP_MAP_MAX:
      t = settp_map_lin_mix(e, a, 1, b, -1, 0);
      if (t >= 0) {
        x = settp_map_lin_interval(e, t);
        if (x.hi <= 0) return op == SETTP_MAP_MIN ? a : b;
        if (x.lo >= 0) return op == SETTP_MAP_MIN ? b : a;
      }
      return settp_map_lin_lattice(e, op, a, b);
    case SETTP_MAP_XOR: e->xors = 1; return settp_map_lin_xor(e, a, b);
    default: break;
  }
  y = e->lin[b].count ? settp_map_lin_interval(e, b) : settp_map_interval(e->lin[b].constant, e->lin[b].constant);
  if (y.lo < y.hi && (y.lo > 0 || y.hi < 0) && y.lo != INT64_MIN) {
    int32_t up = op == SETTP_MAP_CEILDIV ? -1 : 1;
    q = settp_map_divide_by(e, settp_map_lin_scale(e, a, y.lo > 0 ? up : -up, 0),
                            settp_map_lin_scale(e, b, y.lo > 0 ? 1 : -1, 0));
    if (q >= 0 && op == SETTP_MAP_CEILDIV) q = settp_map_lin_scale(e, q, -1, 0);
    if (q >= 0 && op == SETTP_MAP_MOD) {
      t = settp_map_lin_product(e, b, q);
      /* if the product might overflow, the remainder stays an operation */
      q = t >= 0 && settp_map_lin_reach(e, t) < (int64_t)1 << 61 ? settp_map_lin_mix(e, a, 1, t, -1, 0)
                                                                 : SETTP_MAP_NONE;
    }
    if (q >= 0) return q;
  }
  if (y.lo != y.hi || !y.lo) return settp_map_lin_atom(e, settp_map_atom_other(e, op, a, b), 1, 0);
  c = y.lo;
  if (op == SETTP_MAP_CEILDIV)
    return settp_map_lin_scale(e, settp_map_divide(e, settp_map_lin_scale(e, a, -1, 0), c), -1, 0);
  if (e->xors && op == SETTP_MAP_MOD && (t = settp_map_lin_parity(e, a, c)) >= 0) return t;
  q = settp_map_divide(e, a, c);
  return op == SETTP_MAP_FLOORDIV || q < 0 ? q : settp_map_lin_mix(e, a, 1, q, -c, 0);
}

/* Return l with every atom that is known to have one value replaced by this value. */
SETT_INLINE int32_t settp_map_lin_settle(settp_map_engine *e, int32_t l) {
  int32_t i;
  for (i = 0; e->fixed && l >= 0 && i < e->lin[l].count;) {
    settp_map_term t = e->term[e->lin[l].first + i];
    int64_t x;
    if (e->atom[t.atom].lo == e->atom[t.atom].hi && !settp_map_mul(t.k, e->atom[t.atom].lo, &x))
      l = settp_map_lin_scale(e, settp_map_lin_plus(e, l, t.atom, -t.k), 1, x);
    else ++i;
  }
  return l;
}

/* Facts known about the nodes of a list while they are turned into forms. */
typedef struct settp_map_nodes_known {
  settp_map_list list;
  int32_t *lin;             /* the form of each node */
  sett_map_interval *range; /* the interval of each node, from its operands and from constraints */
  uint32_t done;            /* number of nodes that already have a form */
} settp_map_nodes_known;

/* R0: return floor(x / c), c > 1, where x is a sum of terms k * y and a constant. Let g be a divisor of c, and `low` the sum of (constant mod g) and
 * of the terms whose k is no multiple of g. If floor(low / g) is always the same number, `low` is replaced by this number times g. Return
 * SETTP_MAP_NONE if no such g is found. */
SETT_INLINE int32_t settp_map_divide_sum(settp_map_engine *e, const settp_map_nodes_known *known, sett_expr x,
                                         int64_t c) {
  enum { SETTP_MAP_MOST_ROOM = 16 };
  struct {
    int64_t k;
    uint32_t at;
  } part[SETTP_MAP_MOST_ROOM];
  sett_expr stack[SETTP_MAP_MOST_ROOM];
  int64_t constant = 0, k, g, last = 0;
  int parts = 0, depth = 0, i, n;
  stack[depth++] = x;
  while (depth) {
    const settp_map_node *node = settp_map_at(e->arena, stack[--depth]);
    if (node->op == SETTP_MAP_ADD) {
      if (depth + 2 > SETTP_MAP_MOST_ROOM) return SETTP_MAP_NONE;
      stack[depth++] = settp_map_a(node);
      stack[depth++] = settp_map_b(node);
    } else if (node->op == SETTP_MAP_CONST) {
      if (settp_map_add(constant, node->value, &constant)) return SETTP_MAP_NONE;
    } else {
      if (parts == SETTP_MAP_MOST_ROOM) return SETTP_MAP_NONE;
      if (node->op == SETTP_MAP_MUL && settp_map_is_constant(e->arena, settp_map_b(node), &k))
        node = settp_map_at(e->arena, settp_map_a(node));
      else k = 1;
      part[parts].k = k;
      part[parts++].at = node->mark;
    }
  }
  for (n = -1; n < parts; ++n) { /* try c itself, then its common divisors with the coefficients, largest first */
    sett_map_interval low;
    int32_t value, lows = 0;
    g = n < 0 ? c : 1;
    for (i = 0; i < parts && n >= 0; ++i) {
      k = part[i].k < 0 ? -part[i].k : part[i].k;
      if (k < last && k > g && c % k == 0) g = k;
    }
    if (g < 2) return SETTP_MAP_NONE;
    last = g;
    low = settp_map_interval(settp_map_mod(constant, g), settp_map_mod(constant, g));
    for (i = 0; i < parts; ++i)
      if (part[i].k % g)
        low = settp_map_interval_add(low, settp_map_interval_scale(known->range[part[i].at], part[i].k)), ++lows;
    if (low.lo == INT64_MIN || low.hi == INT64_MAX || settp_map_floor(low.lo, g) != settp_map_floor(low.hi, g))
      continue;
    if (n >= 0 && !lows) continue;
    if (settp_map_add(settp_map_floor(constant, g), settp_map_floor(low.lo, g), &k)) return SETTP_MAP_NONE;
    value = settp_map_lin_constant(e, k);
    for (i = 0; i < parts; ++i)
      if (part[i].k % g == 0) value = settp_map_lin_mix(e, value, 1, known->lin[part[i].at], part[i].k / g, 0);
    return settp_map_divide(e, value, c / g);
  }
  return SETTP_MAP_NONE;
}

/* Record for P12 that l is the form of op(a, b), an operation of the map. Nothing is recorded if l is equal to an operand, or if op is a sum or product
 * and settp_map_lin_affine returns 1 for an operand. */
SETT_INLINE void settp_map_lin_made(settp_map_engine *e, int32_t l, int op, int32_t a, int32_t b) {
  const settp_map_lin *x = e->lin + a, *y = e->lin + b;
  int32_t tree;
  if (a == l || b == l || (op <= SETTP_MAP_MUL && (settp_map_lin_affine(e, b) || settp_map_lin_affine(e, a)))) return;
  tree = 1 + (x->op ? x->tree : 2 * x->count + 1) + (y->op ? y->tree : 2 * y->count + 1);
  e->lin[l].op = (unsigned char)op;
  e->lin[l].a = a;
  e->lin[l].b = b;
  e->lin[l].tree = tree < 1 << 20 ? tree : 1 << 20;
}

/* Return the forms of all nodes of known->list, or NULL. Nodes before known->done already have forms in known->lin. An operation that overflows
 * inside a rule stays an operation. The forms are evaluated only on the domain of `map`, so its constraints may be used. */
SETT_INLINE int32_t *settp_map_normalise(settp_map_engine *e, settp_map_nodes_known *known, const sett_map *map) {
  const settp_map_list *list = &known->list;
  const settp_map_node *node = settp_map_nodes(e->arena);
  int32_t *lin = (int32_t *)settp_map_take(e->arena, (size_t)list->count * sizeof *lin + 8);
  sett_map_interval *range = (sett_map_interval *)settp_map_take(e->arena, (size_t)list->count * sizeof *range + 8);
  uint32_t i;
  int j;
  if (!lin || !range) {
    e->error = SETT_MAP_ERROR_FULL;
    return NULL;
  }
  settp_map_copy(lin, known->lin, (size_t)known->done * sizeof *lin);
  settp_map_copy(range, known->range, (size_t)known->done * sizeof *range);
  known->lin = lin;
  known->range = range;
  for (i = known->done; i < list->count; ++i) range[i] = settp_map_interval(INT64_MIN, INT64_MAX);
  for (j = 0; map && j < map->constraints; ++j) {
    const settp_map_node *n = settp_map_at(e->arena, map->constraint[j].expr);
    if (settp_map_list_has(list, n, map->constraint[j].expr))
      range[n->mark] =
          settp_map_interval_meet(range[n->mark], settp_map_interval(map->constraint[j].lo, map->constraint[j].hi));
  }
  for (i = known->done; i < list->count; ++i) {
    const settp_map_node *n = node + list->handle[i];
    sett_map_interval r;
    int32_t l, a = 0, b = 0;
    if (n->op == SETTP_MAP_CONST) {
      l = settp_map_lin_constant(e, n->value);
      r = settp_map_interval(n->value, n->value);
    } else if (n->op == SETTP_MAP_VAR) {
      l = settp_map_lin_variable(e, (int)n->value);
      r = settp_map_interval(e->bounds[n->value].lo, e->bounds[n->value].hi);
    } else {
      const settp_map_node *left = node + settp_map_a(n), *right = node + settp_map_b(n);
      int64_t c = right->op == SETTP_MAP_CONST ? right->value : 0;
      a = lin[left->mark];
      b = lin[right->mark];
      r = settp_map_interval_op((int)n->op, range[left->mark], range[right->mark]);
      if ((n->op == SETTP_MAP_FLOORDIV || n->op == SETTP_MAP_MOD) && c > 1 && left->op == SETTP_MAP_ADD) {
        const settp_map_memo *m = settp_map_memo_find(e, a, c);
        int32_t q = m && m->value >= 0 ? SETTP_MAP_NONE : settp_map_divide_sum(e, known, settp_map_a(n), c);
        if (q >= 0) {
          settp_map_memo_set(e, a, c, q);
          settp_map_record(e, a, c, q, SETTP_MAP_NONE);
        }
      }
      l = settp_map_lin_operation(e, (int)n->op, a, b);
      if (l < 0 && !e->error) l = settp_map_lin_atom(e, settp_map_atom_other(e, (int)n->op, a, b), 1, 0);
    }
    if (l < 0) {
      if (!e->error) e->error = SETT_MAP_ERROR_OVERFLOW;
      return NULL;
    }
    r = settp_map_interval_meet(r, range[i]);
    if (n->op > SETTP_MAP_VAR) {
      /* r.lo > r.hi: the node has a value at no point, or its bounds overflow */
      if (n->op > SETTP_MAP_MUL || r.lo > r.hi) {
        sett_map_interval sum = settp_map_lin_sum(e, l);
        r = settp_map_interval_meet(r, sum);
        if (r.lo > r.hi) r = sum;
      }
      lin[i] = l;
      if (!e->lin[l].bounded) e->lin[l].bound = r;
      else if (e->lin[l].bound.lo <= r.hi && r.lo <= e->lin[l].bound.hi)
        e->lin[l].bound = settp_map_interval_meet(e->lin[l].bound, r);
      e->lin[l].bounded = 1;
      l = settp_map_lin_settle(e, l);
      if (l >= 0 && n->op == SETTP_MAP_ADD) l = settp_map_halves(e, l);
      if (l >= 0 &&
          ((n->op != SETTP_MAP_MUL && n->op != SETTP_MAP_FLOORDIV) || node[settp_map_b(n)].op != SETTP_MAP_CONST))
        l = settp_map_same_values(e, l);
      if (l < 0) l = lin[i]; /* overflow: keep the form unchanged */
      if (!e->lin[l].op && e->lin[l].count) settp_map_lin_made(e, l, (int)n->op, a, b);
    }
    range[i] = r;
    lin[i] = l;
    settp_map_alike_enter(e, l);
  }
  known->done = list->count;
  return lin;
}

/* ---- from linear forms to expressions ---- */

/* Compute and remember the result of settp_map_print. */
SETTP_MAP_APART int32_t settp_map_print_first(settp_map_engine *e, int32_t l);

/* Print l into lin.expr. Return the number of nodes of its tree, or 0 if this fails. */
SETT_INLINE int32_t settp_map_print(settp_map_engine *e, int32_t l) {
  if (l < 0 || e->error) return 0;
  return e->lin[l].nodes ? e->lin[l].nodes : settp_map_print_first(e, l);
}

typedef struct settp_map_part { /* a summand of a printed sum: k * expr */
  int64_t k;
  sett_expr expr;
  int32_t nodes;
} settp_map_part;

/* Return 1 if all atoms of the form `lin` precede the quotient q in the order of weight, then divisor, then number. `lin` is the form of a name of q
 * (settp_map_form). Only names for which this holds are printed, so the print of q never contains q itself. */
SETT_INLINE int settp_map_form_lighter(const settp_map_engine *e, int32_t lin, int32_t q) {
  const settp_map_atom *y = e->atom + q;
  int32_t i;
  for (i = 0; i < e->lin[lin].count; ++i) {
    int32_t atom = e->term[e->lin[lin].first + i].atom;
    const settp_map_atom *x = e->atom + atom;
    if (x->weight > y->weight || (x->weight == y->weight && (x->c > y->c || (x->c == y->c && atom >= q)))) return 0;
  }
  return 1;
}

/* Return the form with each coefficient and the constant replaced by its residue modulo m in [0, m). */
SETT_INLINE int32_t settp_map_lin_positive(settp_map_engine *e, int32_t l, int64_t m) {
  int32_t i, n = 0, count = e->lin[l].count;
  if (!SETTP_MAP_ROOM(e, term, terms, term_room, count)) return SETTP_MAP_NONE;
  for (i = 0; i < count; ++i) {
    settp_map_term t = e->term[e->lin[l].first + i];
    t.k = settp_map_mod(t.k, m);
    if (t.k) e->term[e->terms + n++] = t;
  }
  return settp_map_lin_make(e, settp_map_mod(e->lin[l].constant, m), n);
}

/* Return the form with each coefficient replaced by its residue modulo m in (-m/2, m/2]. Return SETTP_MAP_NONE if no residue is negative, or if one
 * is less than -1. */
SETT_INLINE int32_t settp_map_lin_minus_one(settp_map_engine *e, int32_t l, int64_t m) {
  int32_t i, quotient = 0, rest = 0, minus = 0;
  for (i = 0; i < e->lin[l].count; ++i) {
    int64_t k = settp_map_residue(e->term[e->lin[l].first + i].k, m);
    if (k < -1) return SETTP_MAP_NONE;
    minus |= k < 0;
  }
  return minus && settp_map_lin_extract(e, l, m, &quotient, &rest) ? rest : SETTP_MAP_NONE;
}

SETT_INLINE int32_t settp_map_estimate(settp_map_engine *e, int32_t l);
SETT_INLINE void settp_map_mod_estimates(settp_map_engine *e, int32_t l, int64_t m, int32_t *own);
SETT_INLINE int32_t settp_map_lattice_print(settp_map_engine *e, int32_t q, int64_t k, int32_t moved, int make,
                                            int depth, sett_expr *expr);

/* Return the number of nodes that the factor k adds to a printed summand. It is 2, for the constant and `*`. For 1 and -1 it is 0, because the sign
 * belongs to the sum. */
SETT_INLINE int32_t settp_map_factor_nodes(int64_t k) { return k == 1 || k == -1 ? 0 : 2; }

/* P3: return a form that is equal to l modulo m and has a shorter print. Coefficients of l are changed by multiples of m, so that l contains a
 * digit t * (F - c * q) with q = floor(F / c). The digit is printed as t * (F mod c). Return l if no such form is found, or if l has more than
 * SETTP_MAP_MOST_TERMS terms. */
SETT_INLINE int32_t settp_map_lin_aligned(settp_map_engine *e, int32_t l, int64_t m) {
  enum { SETTP_MAP_MOST_TERMS = 8 };
  int32_t rest = l, digits = settp_map_lin_constant(e, 0), best, i, j, f, more, left, q = 0, nodes = 0, own[2];
  int64_t t = 0, k;
  settp_map_form form = {0, 0, 0};
  int quotients = 0;
  if (e->lin[l].count > SETTP_MAP_MOST_TERMS) return l;
  /* if two quotients in the form can make a digit t * (F - m * q), record the name floor(F / m) of q; the digit is found only by this name */
  for (i = 0; i < e->lin[l].count; ++i) {
    settp_map_term x = e->term[e->lin[l].first + i];
    if (e->atom[x.atom].kind != SETTP_MAP_ATOM_QUOTIENT) continue;
    quotients = 1;
    for (j = 0; j < e->lin[l].count; ++j) {
      settp_map_term y = e->term[e->lin[l].first + j];
      int64_t a = e->atom[y.atom].c, b = e->atom[x.atom].c;
      if (e->atom[y.atom].kind != SETTP_MAP_ATOM_QUOTIENT || a >= b || b % a ||
          settp_map_mul(settp_map_residue(y.k, m), b / a, &k) || settp_map_mod(k, m) != settp_map_mod(-x.k, m))
        continue;
      (void)settp_map_cross_names(e, l);
      i = j = SETTP_MAP_MOST_TERMS;
    }
  }
  if (!quotients) return l;
  do { /* take the digit that leaves the fewest terms; if several do, take the digit with the smallest divisor */
    best = SETTP_MAP_NONE;
    for (i = 0; i < e->lin[rest].count; ++i) {
      settp_map_term x = e->term[e->lin[rest].first + i];
      for (f = e->atom[x.atom].form; f >= 0; f = e->form[f].next) {
        settp_map_form one = e->form[f];
        for (j = 0; j < e->lin[one.lin].count; ++j) {
          settp_map_term y = e->term[e->lin[one.lin].first + j];
          int64_t own_k = settp_map_lin_coefficient(e, rest, y.atom);
          if (!own_k || (y.k != 1 && y.k != -1)) continue;
          own_k = settp_map_residue(own_k * y.k, m);
          if (settp_map_mul(own_k, one.c, &k) || k == -x.k || settp_map_mod(k, m) != settp_map_mod(-x.k, m) ||
              !settp_map_form_lighter(e, one.lin, x.atom))
            continue;
          left = settp_map_lin_take(e, rest, one.lin, one.c, x.atom, own_k, INT32_MAX);
          if (!settp_map_lin_extract(e, left, m, &more, &left) || e->lin[left].count > e->lin[rest].count - 2 ||
              (best >= 0 && (e->lin[left].count > e->lin[best].count ||
                             (e->lin[left].count == e->lin[best].count && one.c >= form.c))))
            continue;
          best = left;
          q = x.atom;
          t = own_k;
          form = one;
        }
      }
    }
    if (best < 0) break;
    digits = settp_map_lin_take(e, digits, form.lin, form.c, q, -t, INT32_MAX);
    settp_map_mod_estimates(e, form.lin, form.c, own);
    nodes += own[0] + settp_map_factor_nodes(t) + 1;
    rest = best;
  } while (digits >= 0);
  if (rest == l || nodes + settp_map_estimate(e, rest) - 2 * !e->lin[rest].count > settp_map_estimate(e, l)) return l;
  rest = settp_map_lin_mix(e, digits, 1, rest, 1, 0);
  left = settp_map_print(e, rest);
  return left && left < settp_map_print(e, l) ? rest : l;
}

/* Print l mod m as an expression, and return its number of nodes. Coefficients of l may be changed by multiples of m. */
SETT_INLINE int32_t settp_map_print_mod(settp_map_engine *e, int32_t l, int64_t m, sett_expr *expr) {
  int32_t plus = settp_map_lin_positive(e, l, m), least, nodes;
  int lattices;
  if (plus < 0) return 0;
  least = settp_map_lin_minus_one(e, l, m);
  if (least >= 0 && settp_map_estimate(e, least) <= settp_map_estimate(e, plus)) plus = least;
  if (e->lattices && settp_map_lattice_at(e, l, &lattices) >= 0 &&
      settp_map_estimate(e, l) < settp_map_estimate(e, plus))
    plus = l;
  plus = settp_map_lin_aligned(e, plus, m);
  nodes = settp_map_print(e, plus);
  if (!nodes) return 0;
  *expr = sett_map_mod(e->arena, e->lin[plus].expr, sett_map_constant(e->arena, m));
  return *expr < SETT_MAP_ERROR_COUNT ? 0 : nodes + 2;
}

SETT_INLINE int settp_map_print_searches(const settp_map_engine *e) {
  return e->prints < SETTP_MAP_PRINTS_MAX && e->lins < e->lin_limit + SETTP_MAP_LINS_MAX / 2;
}

/* Return 1 if the print of form `a` precedes that of form `b`. */
SETT_INLINE int settp_map_lin_before(settp_map_engine *e, int32_t a, int32_t b) {
  return settp_map_print(e, a) && settp_map_print(e, b) &&
         settp_map_order(e->arena, e->lin[a].expr, e->lin[b].expr) < 0;
}

/* Print the product of factors, sorted by their prints. Return the number of nodes. */
SETT_INLINE int32_t settp_map_print_factors(settp_map_engine *e, const int32_t *factor, int count, sett_expr *expr) {
  sett_expr x[SETTP_MAP_FACTORS_MAX] = {0};
  int32_t nodes = count - 1;
  int i, j;
  for (i = 0; i < count; ++i) {
    int32_t own = settp_map_print(e, factor[i]);
    sett_expr y;
    if (!own) return 0;
    y = e->lin[factor[i]].expr;
    nodes += own;
    for (j = i; j > 0 && settp_map_order(e->arena, y, x[j - 1]) < 0; --j) x[j] = x[j - 1];
    x[j] = y;
  }
  *expr = x[0];
  for (i = 1; i < count; ++i) *expr = sett_map_mul(e->arena, *expr, x[i]);
  return nodes > 1 << 28 ? 1 << 28 : nodes;
}

SETT_INLINE int32_t settp_map_atom_print(settp_map_engine *e, int32_t q) {
  settp_map_atom *x = e->atom + q;
  int32_t f, nodes, best = 0, best_lin = SETTP_MAP_NONE, name = SETTP_MAP_NONE, a, b;
  int64_t best_c = 0;
  int best_positive = 0;
  sett_expr expr = 0;
  if (x->nodes) return x->nodes;
  if (x->kind == SETTP_MAP_ATOM_VAR) {
    expr = sett_map_var(e->arena, x->a);
    best = 1;
    if (x->c != 1) {
      expr = sett_map_floordiv(e->arena, expr, sett_map_constant(e->arena, x->c));
      best = 3;
    }
  } else if (x->kind == SETTP_MAP_ATOM_OTHER && x->op == SETTP_MAP_MUL) {
    settp_map_monomial m;
    if (!settp_map_monomial_of(e, q, 1, &m)) { /* q has more factors than a monomial can hold */
      m.count = 2;
      m.factor[0] = x->a;
      m.factor[1] = x->b;
    }
    best = settp_map_print_factors(e, m.factor, m.count, &expr);
    if (!best) return 0;
  } else if (x->kind == SETTP_MAP_ATOM_OTHER) {
    a = settp_map_print(e, x->a);
    b = settp_map_print(e, x->b);
    x = e->atom + q;
    if (!a || !b) return 0;
    expr = settp_map_binary(e->arena, x->op, e->lin[x->a].expr, e->lin[x->b].expr);
    if (x->op >= SETTP_MAP_MIN && settp_map_order(e->arena, e->lin[x->b].expr, e->lin[x->a].expr) < 0)
      expr = settp_map_binary(e->arena, x->op, e->lin[x->b].expr, e->lin[x->a].expr);
    if (x->op == SETTP_MAP_MIN || x->op == SETTP_MAP_MAX)
      (void)settp_map_lattice_print(e, q, 1, settp_map_lin_constant(e, 0), 1, 0, &expr);
    best = a + b + 1;
  } else {
    for (f = x->form; f >= 0; f = e->form[f].next) {
      settp_map_form form = e->form[f];
      int positive;
      if (!settp_map_form_lighter(e, form.lin, q) || (best && !settp_map_print_searches(e))) continue;
      nodes = settp_map_estimate(e, form.lin);
      positive = settp_map_all_positive(e, form.lin);
      if (best && (nodes > best ||
                   (nodes == best && (positive < best_positive ||
                                      (positive == best_positive && !settp_map_lin_before(e, form.lin, best_lin))))))
        continue;
      best = nodes;
      best_positive = positive;
      best_lin = form.lin;
      best_c = form.c;
      name = f;
    }
    if (name != x->form) e->renamed = 1;
    best = settp_map_print(e, best_lin) + 2;
    if (best_lin >= 0) expr = sett_map_floordiv(e->arena, e->lin[best_lin].expr, sett_map_constant(e->arena, best_c));
  }
  if (expr < SETT_MAP_ERROR_COUNT) {
    if (!e->error) e->error = expr ? (int)expr : SETT_MAP_ERROR_FULL;
    return 0;
  }
  x = e->atom + q;
  x->expr = expr;
  x->nodes = best > 1 << 28 ? 1 << 28 : best;
  return x->nodes;
}

/* Estimate the number of nodes of the printed summands and of the signs between them, term by term. Atoms that have no print yet are printed.
 * *positive becomes 1 if a term is positive. */
SETT_INLINE int32_t settp_map_terms_estimate(settp_map_engine *e, int32_t first, int32_t count, int *positive) {
  int64_t n = count ? count - 1 : 0;
  int32_t i;
  for (i = 0; i < count; ++i) {
    settp_map_term t = e->term[first + i];
    int32_t own = e->atom[t.atom].nodes ? e->atom[t.atom].nodes : settp_map_atom_print(e, t.atom);
    const settp_map_atom *x = e->atom + t.atom;
    if (x->kind == SETTP_MAP_ATOM_VAR && x->c != 1 && t.k % x->c == 0) {
      t.k /= x->c;
      own = 1;
    }
    n += own + settp_map_factor_nodes(t.k);
    *positive |= t.k > 0;
  }
  return n > 1 << 28 ? 1 << 28 : (int32_t)n;
}

/* Return the number of nodes that a constant adds to a sum of `count` terms. If nothing in the sum is positive, the minus before the first term is
 * one more node. */
SETT_INLINE int32_t settp_map_constant_nodes(int64_t constant, int32_t count, int positive) {
  return (constant ? 2 : 0) + !(positive || constant > 0 || !count);
}

SETT_INLINE int32_t settp_map_plain_estimate(settp_map_engine *e, int32_t l) {
  int32_t n = e->lin[l].plain, count = e->lin[l].count;
  int positive = 0;
  if (n) return n;
  n = settp_map_terms_estimate(e, e->lin[l].first, count, &positive);
  return e->lin[l].plain = n + settp_map_constant_nodes(e->lin[l].constant, count, positive);
}

/* Compute and remember the result of settp_map_estimate. */
SETTP_MAP_APART int32_t settp_map_estimate_first(settp_map_engine *e, int32_t l) {
  int32_t n = 0, name = 0, rest, other;
  int64_t t = 0;
  int count;
  if (e->lattices && !e->lin[l].printing && e->estimates < SETTP_MAP_ESTIMATES_MAX &&
      settp_map_lattice_at(e, l, &count) >= 0) {
    ++e->estimates;
    n = settp_map_print(e, l);
    --e->estimates;
    if (n) return n;
  }
  n = settp_map_plain_estimate(e, l);
  e->lin[l].estimate = n;
  rest =
      e->lin[l].count > 1 && settp_map_print_searches(e) ? settp_map_digit_of(e, l, &t, NULL, &name) : SETTP_MAP_NONE;
  if (rest >= 0) {
    int32_t left = settp_map_estimate(e, rest), own[2];
    settp_map_mod_estimates(e, e->form[name].lin, e->form[name].c, own);
    other = own[0] + settp_map_factor_nodes(t);
    other += left ? left + (e->lin[rest].count > 0) : t < 0;
    if (other < n) n = other;
  }
  return e->lin[l].estimate = n;
}

/* Estimate the number of nodes of a printed sum. One digit of the sum is counted as a mod if the sum then has fewer nodes. The estimate is computed
 * once. */
SETT_INLINE int32_t settp_map_estimate(settp_map_engine *e, int32_t l) {
  int32_t n = e->lin[l].estimate;
  return n ? n : settp_map_estimate_first(e, l);
}

/* P2: for each term k * q of l, where q is a quotient, look for other terms of l whose sum is s * F, such that q = floor(F / m) with m = |k / s|.
 * Then F - m * q is a digit. Record floor(F / m) as a name of q, that is, a way to write q. */
SETT_INLINE void settp_map_find_digits(settp_map_engine *e, int32_t l) {
  int32_t i, j, k, count = e->lin[l].count, first = e->lin[l].first;
  settp_map_term *made;
  for (i = 0; i < count && e->lins < e->lin_limit; ++i) {
    settp_map_term q = e->term[first + i];
    uint64_t other;
    int64_t seen[8], size = q.k < 0 ? -q.k : q.k;
    int32_t tried = 0, a;
    if (size == 1 || e->atom[q.atom].kind != SETTP_MAP_ATOM_QUOTIENT) continue;
    other = ~e->atom[q.atom].support;
    for (j = 0; j < count && tried < 8; ++j) {
      const settp_map_term *t = e->term + first + j, *x;
      int64_t s = t->k < 0 ? -t->k : t->k, m;
      int32_t f, w, n = 0;
      int digit = 1; /* `digit`: 0 if a sample shows that F - m * q is no digit, because it is not in [0, m - 1] */
      sett_map_interval r;
      if (s >= size || (e->atom[t->atom].support & other) || size % s) continue;
      for (a = 0; a < tried && seen[a] != s; ++a) {}
      if (a < tried) continue;
      seen[tried++] = s;
      if (!SETTP_MAP_ROOM(e, term, terms, term_room, count)) return;
      made = e->term + e->terms; /* the terms of F */
      for (x = e->term + first, k = 0; k < count; ++k, ++x) {
        if (k == i || (e->atom[x->atom].support & other) || x->k % s) continue;
        made[n] = *x;
        made[n++].k = q.k < 0 ? x->k / s : -(x->k / s);
      }
      m = size / s;
      /* skip this s if two values of F - m * q at the samples differ by m or more; this test does not make the form F - m * q */
      if (e->sampled) {
        int64_t lo = INT64_MAX, hi = INT64_MIN;
        for (a = 0; a < SETTP_MAP_SAMPLES && (a < 2 || (uint64_t)hi - (uint64_t)lo < (uint64_t)m); ++a) {
          uint64_t v = 0 - (uint64_t)m * (uint64_t)e->atom[q.atom].at[a];
          for (k = 0; k < n; ++k) v += (uint64_t)made[k].k * (uint64_t)e->atom[made[k].atom].at[a];
          if ((int64_t)v < lo) lo = (int64_t)v;
          if ((int64_t)v > hi) hi = (int64_t)v;
        }
        if ((uint64_t)hi - (uint64_t)lo >= (uint64_t)m) continue;
        digit = lo >= 0 && hi < m;
      }
      f = settp_map_lin_make(e, 0, n);
      if (f >= 0 && settp_map_named(e, q.atom, f, m)) continue;
      w = settp_map_lin_plus(e, f, q.atom, -m);
      if (f < 0 || w < 0) continue;
      if (digit && settp_map_prove(e, w, 0, m - 1)) {
        settp_map_atom_name(e, q.atom, f, m);
        continue;
      }
      if (digit && e->sampled) continue;
      r = settp_map_lin_interval(e, w);
      if (r.lo == INT64_MIN || r.hi == INT64_MAX || (uint64_t)r.hi - (uint64_t)r.lo >= (uint64_t)m) continue;
      settp_map_atom_name(e, q.atom, settp_map_lin_scale(e, f, 1, -r.lo), m);
    }
  }
}

/* Compare two atoms in an order that does not depend on which was made first. */
SETT_INLINE int settp_map_atom_before(settp_map_engine *e, int32_t a, int32_t b) {
  return settp_map_atom_print(e, a) && settp_map_atom_print(e, b) &&
         settp_map_order(e->arena, e->atom[a].expr, e->atom[b].expr) < 0;
}

/* Estimate numbers of nodes: write that of l mod m to own[0], and that of (m - 1 - l) mod m to own[1]. */
SETT_INLINE void settp_map_mod_estimates(settp_map_engine *e, int32_t l, int64_t m, int32_t *own) {
  int32_t i;
  int64_t constant = settp_map_mod(e->lin[l].constant, m), n[2] = {1, 1};
  int positive[2], turned;
  positive[0] = constant != 0;
  positive[1] = constant != m - 1;
  for (turned = 0; turned < 2; ++turned) n[turned] += 2 * positive[turned];
  for (i = 0; i < e->lin[l].count; ++i) {
    settp_map_term t = e->term[e->lin[l].first + i];
    int64_t k = settp_map_mod(t.k, m);
    int32_t nodes;
    if (!k) continue;
    nodes = (e->atom[t.atom].nodes ? e->atom[t.atom].nodes : settp_map_atom_print(e, t.atom)) + 1;
    n[0] += nodes + (k == 1 || k == m - 1 ? 0 : 2);
    n[1] += nodes + (k == 1 || k == m - 1 ? 0 : 2);
    positive[0] |= k == 1 || k != m - 1; /* the coefficient m - 1 is printed as -1 */
    positive[1] |= k == m - 1 || k != 1;
  }
  for (turned = 0; turned < 2; ++turned) {
    n[turned] += !positive[turned];
    own[turned] = n[turned] > 1 << 28 ? 1 << 28 : (int32_t)n[turned];
  }
}

/* Return 1 if no two terms of a form share a variable. */
SETT_INLINE int settp_map_lin_apart(const settp_map_engine *e, int32_t l) {
  uint64_t seen = 0;
  int32_t i;
  for (i = 0; i < e->lin[l].count; ++i) {
    uint64_t support = e->atom[e->term[e->lin[l].first + i].atom].support;
    if (seen & support) return 0;
    seen |= support;
  }
  return 1;
}

/* P1: if l contains t * (F - m * q), where q = floor(F / m), print this part as t * (F mod m). Take the quotient q that saves most nodes. If t or a
 * number in F is negative, also try t * (m - 1 - (m - 1 - F) mod m). Return the rest of l. */
SETT_INLINE int32_t settp_map_fold_mod(settp_map_engine *e, int32_t l, settp_map_part *part) {
  int32_t i, f, best = SETTP_MAP_NONE, best_q = 0, n, first, digit, left, best_nodes = settp_map_plain_estimate(e, l);
  int64_t best_t = 0, m, up;
  int best_positive = settp_map_all_positive(e, l), best_turned = 0, turned;
  for (i = 0; i < e->lin[l].count; ++i) {
    settp_map_term q = e->term[e->lin[l].first + i];
    if (e->atom[q.atom].kind != SETTP_MAP_ATOM_QUOTIENT || q.k == INT64_MIN) continue;
    for (f = e->atom[q.atom].form; f >= 0; f = e->form[f].next) {
      settp_map_form form = e->form[f];
      int64_t t = -(q.k / form.c), constant = 0, tm;
      int32_t own[2], save = 0, j;
      int turns, any = 0;
      if (best >= 0 && !settp_map_print_searches(e)) break;
      if (q.k % form.c || !settp_map_form_lighter(e, form.lin, q.atom) || !settp_map_lin_shared(e, form.lin, l) ||
          settp_map_mul(t, form.c, &tm))
        continue;
      turns = t < 0 || !settp_map_all_positive(e, form.lin);
      settp_map_mod_estimates(e, form.lin, form.c, own);
      own[0] += settp_map_factor_nodes(t);
      own[1] += settp_map_factor_nodes(t);
      if (own[0] > best_nodes && (!turns || own[1] > best_nodes)) continue;
      n = settp_map_terms_add(e, settp_map_terms_mix(e, l, 1, form.lin, -t, &constant), q.atom, tm);
      if (n < 0) continue;
      first = e->terms;
      e->terms += n; /* protect the terms: estimates may print and make forms, which would overwrite them */
      left = settp_map_terms_estimate(e, first, n, &any);
      for (j = 0; t != 1 && t != -1 && j < n && !save; ++j) /* P10 */
        if (e->term[first + j].k == t || e->term[first + j].k == -t) save = 2;
      for (turned = 0; turned <= turns; ++turned) {
        int64_t k = turned ? -t : t, c = constant;
        int32_t nodes;
        int positive;
        if (turned && settp_map_add(c, tm - t, &c)) continue;
        positive = c >= 0 && k > 0 && settp_map_all_positive_terms(e->term + first, n);
        nodes = own[turned] + left + settp_map_constant_nodes(c, n, any) + (n > 0) + (!n && c <= 0 && k < 0) - save;
        if (k > 0 && n && c <= 0 && !any) --nodes;
        if (nodes > best_nodes ||
            (nodes == best_nodes &&
             (best < 0                    ? !positive || best_positive
              : form.c != e->form[best].c ? form.c > e->form[best].c
              : positive != best_positive ? !positive
                                          : !settp_map_lin_before(e, form.lin, e->form[best].lin))))
          continue;
        best = f;
        best_q = q.atom;
        best_nodes = nodes;
        best_positive = positive;
        best_t = t;
        best_turned = turned;
      }
      /* if no term was added after the protected ones, release them */
      if (e->terms == first + n) e->terms = first;
    }
  }
  if (best < 0) return SETTP_MAP_NONE;
  if (best_turned && settp_map_all_positive(e, e->form[best].lin)) e->renamed = 1;
  if (best != e->atom[best_q].form) {
    if (settp_map_lin_apart(e, e->form[best].lin)) e->refolded = 1;
    else e->renamed = 1;
  }
  m = e->form[best].c;
  digit = best_turned ? settp_map_lin_scale(e, e->form[best].lin, -1, m - 1) : e->form[best].lin;
  part->k = best_turned ? -best_t : best_t;
  part->nodes = settp_map_print_mod(e, digit, m, &part->expr);
  if (!part->nodes) return SETTP_MAP_NONE;
  left = settp_map_lin_take(e, l, e->form[best].lin, m, best_q, best_t, INT32_MAX);
  return best_turned && !settp_map_mul(best_t, m - 1, &up) ? settp_map_lin_scale(e, left, 1, up) : left;
}

/* Find the terms of the form `a` that k divides and that may be moved into the quotient k * floor(form.lin / form.c). Bit i stands for term i.
 * moves[0]: the terms whose atom is in form.lin; if form.lin has a minimum or maximum, also those that use only variables of form.lin. moves[1]: these
 * terms, and quotients that use only variables of form.lin. Both are 0 if `a` has more than 64 terms. */
SETT_INLINE void settp_map_absorbs(const settp_map_engine *e, int32_t a, settp_map_form form, int64_t k,
                                   uint64_t *moves) {
  const settp_map_term *s = e->term + e->lin[form.lin].first, *end = s + e->lin[form.lin].count,
                       *t = e->term + e->lin[a].first;
  uint64_t support = settp_map_lin_support(e, form.lin);
  int32_t i, count = e->lin[a].count;
  int lattices;
  int64_t x;
  (void)settp_map_lattice_at(e, form.lin, &lattices);
  moves[0] = moves[1] = 0;
  for (i = 0; i < count && count <= 64; ++i, ++t) {
    int stands;
    while (s < end && s->atom < t->atom) ++s;
    stands = (s < end && s->atom == t->atom) || (lattices && !(e->atom[t->atom].support & ~support));
    if (!stands && (e->atom[t->atom].kind != SETTP_MAP_ATOM_QUOTIENT || (e->atom[t->atom].support & ~support)))
      continue;
    if (t->k % k || settp_map_mul(t->k / k, form.c, &x)) continue;
    moves[0] |= (uint64_t)stands << i;
    moves[1] |= (uint64_t)1 << i;
  }
}

/* Return 1 if a form has several terms and is never positive. If C text divides such a form, it first adds a multiple of the divisor, so that the
 * dividend is not negative. This is one more number. */
SETT_INLINE int settp_map_all_negative(const settp_map_engine *e, int32_t l) {
  int32_t i, count = e->lin[l].count;
  if (count < 2 || e->lin[l].constant > 0) return 0;
  for (i = 0; i < count; ++i) {
    settp_map_term t = e->term[e->lin[l].first + i];
    if (t.k > 0 || e->atom[t.atom].lo < 0) return 0;
  }
  return 1;
}

/* P13: return a number d with floor((a * r + b) / c) = floor(r / d) for all r in [0, n - 1], or 0 if none was found. */
SETT_INLINE int64_t settp_map_plain_divisor(int64_t a, int64_t b, int64_t c, int64_t n) {
  enum { SETTP_MAP_MOST_STEPS = 64 };
  const int64_t most = (int64_t)1 << 30;
  int64_t d, i;
  if (a < 1 || a >= c || b < 0 || b >= c || c > most || n > most || (a == 1 && !b)) return 0;
  d = (c - b + a - 1) / a; /* the smallest r for which (a * r + b) / c is 1 or more */
  for (i = 1; i * d < n; ++i)
    if (i > SETTP_MAP_MOST_STEPS || (a * i * d + b) / c != i || (a * (i * d - 1) + b) / c != i - 1) return 0;
  return (a * (n - 1) + b) / c == (n - 1) / d ? d : 0;
}

/* P5: return a form h and change *c to a number d, so that h is shorter than l and floor(h / d) is the quotient floor(l / *c). Return l if no such
 * form is found. */
SETT_INLINE int32_t settp_map_joined(settp_map_engine *e, int32_t l, int64_t *c) {
  int32_t i, f, h, best = l;
  int64_t d, best_c = *c;
  for (i = 0; i < e->lin[l].count && settp_map_print_searches(e); ++i) {
    settp_map_term y = e->term[e->lin[l].first + i];
    if ((y.k != 1 && y.k != -1) || e->atom[y.atom].kind != SETTP_MAP_ATOM_QUOTIENT) continue;
    for (f = e->atom[y.atom].form; f >= 0; f = e->form[f].next) {
      settp_map_form g = e->form[f];
      if (settp_map_mul(g.c, *c, &d)) continue;
      h = settp_map_lin_mix(e, settp_map_lin_plus(e, l, y.atom, -y.k), g.c, g.lin, y.k, y.k < 0 ? g.c - 1 : 0);
      if (h < 0) continue;
      settp_map_find_digits(e, h);
      if (settp_map_estimate(e, h) >= settp_map_estimate(e, best)) continue;
      best = h;
      best_c = d;
    }
  }
  *c = best_c;
  return best;
}

/* P4: remove the quotient of the largest weight from l, with all terms that can be moved into it. Return the form that remains. If the quotient's form
 * or its coefficient is negative, the negated form is tried, too. Another quotient of equal weight and opposite coefficient is also tried, if terms can
 * be moved into it. */
SETT_INLINE int32_t settp_map_fold_quotient(settp_map_engine *e, int32_t l, settp_map_part *part) {
  int32_t i, f, heavy = SETTP_MAP_NONE, best = SETTP_MAP_NONE, best_f = 0, best_nodes = 0, name = SETTP_MAP_NONE, flip,
                absorb, alone, first, best_atom = 0;
  int64_t best_c = 0, best_k = 0, k0 = 0, first_k;
  int best_positive = 0, best_turned = 0, whole;
  for (i = 0; i < e->lin[l].count; ++i) {
    settp_map_term t = e->term[e->lin[l].first + i];
    if (e->atom[t.atom].kind == SETTP_MAP_ATOM_QUOTIENT &&
        (heavy < 0 || e->atom[t.atom].weight > e->atom[heavy].weight ||
         (e->atom[t.atom].weight == e->atom[heavy].weight && settp_map_atom_before(e, t.atom, heavy)))) {
      heavy = t.atom;
      k0 = t.k;
    }
  }
  if (heavy < 0 || k0 == INT64_MIN) return SETTP_MAP_NONE;
  first = heavy;
  first_k = k0;
  for (i = -1; i < e->lin[l].count; ++i) {
    if (i >= 0) {
      settp_map_term t = e->term[e->lin[l].first + i];
      if (t.k != -first_k || e->atom[t.atom].kind != SETTP_MAP_ATOM_QUOTIENT ||
          e->atom[t.atom].weight != e->atom[first].weight || !settp_map_print_searches(e))
        continue;
      heavy = t.atom;
      k0 = t.k;
    }
    alone = settp_map_lin_plus(e, l, heavy, -k0);
    if (alone < 0) continue;
    whole = e->lin[alone].constant && e->lin[alone].constant % k0 == 0;
    for (f = e->atom[heavy].form; f >= 0; f = e->form[f].next) {
      settp_map_form form = e->form[f];
      int flips;
      uint64_t moves[3];
      if (!settp_map_form_lighter(e, form.lin, heavy) || (best >= 0 && !settp_map_print_searches(e))) continue;
      moves[0] = 0;
      settp_map_absorbs(e, alone, form, k0, moves + 1);
      flips = k0 < 0 || moves[1] || !settp_map_all_positive(e, form.lin);
      for (flip = 0; flip <= flips; ++flip) {
        int32_t own = flip ? SETTP_MAP_NONE : form.lin;
        for (absorb = i < 0 ? 0 : 1; absorb < 3; ++absorb) {
          int64_t k = flip ? -k0 : k0;
          int32_t inner, rest = alone, nodes, left;
          int positive;
          if (absorb && ((!moves[absorb] && !whole) || (absorb == 2 && moves[2] == moves[1]))) continue;
          if (flip && absorb < 2 && k < 0 && settp_map_all_positive(e, form.lin)) continue;
          if (own < 0) own = settp_map_lin_scale(e, form.lin, -1, form.c - 1);
          inner = own;
          if (own < 0 || (absorb && (inner = settp_map_absorb(e, form.c, k, moves[absorb], own, alone)) < 0) ||
              !e->lin[inner].count)
            continue;
          nodes =
              settp_map_estimate(e, inner) + 2 + settp_map_factor_nodes(k) + (settp_map_all_negative(e, inner) ? 2 : 0);
          if (best >= 0 && nodes > best_nodes) continue;
          if (absorb && (rest = settp_map_absorb_rest(e, form.c, k, moves[absorb], own, alone)) < 0) continue;
          left = settp_map_estimate(e, rest);
          nodes += left + (left ? 1 : 0) + (!left && k < 0);
          positive = (settp_map_all_positive(e, inner) ? 2 : 0) + (settp_map_all_positive(e, rest) && k > 0);
          if (best >= 0 && (nodes > best_nodes || (nodes == best_nodes && (i >= 0 || positive <= best_positive))))
            continue;
          best = rest;
          best_nodes = nodes;
          best_positive = positive;
          best_f = inner;
          best_turned = flip && settp_map_all_positive(e, form.lin);
          best_atom = heavy;
          name = f;
          best_c = form.c;
          best_k = k;
        }
      }
    }
  }
  if (best < 0) return SETTP_MAP_NONE;
  if (name != e->atom[best_atom].form || best_turned) e->renamed = 1;
  alone = settp_map_digit_of(e, best_f, &k0, &heavy, &f);
  if (alone >= 0 && !e->lin[alone].count) {
    k0 = settp_map_plain_divisor(k0, e->lin[alone].constant, best_c, e->form[f].c);
    if (k0) {
      best_c = k0;
      best_f = heavy;
      e->renamed = 1;
    }
  }
  alone = settp_map_joined(e, best_f, &best_c);
  e->renamed |= alone != best_f;
  best_f = alone;
  part->k = best_k;
  part->nodes = settp_map_print(e, best_f) + 2;
  part->expr = sett_map_floordiv(e->arena, e->lin[best_f].expr, sett_map_constant(e->arena, best_c));
  return best;
}

/* P6: print k * (a * b) as k / m * ((m * a) * b) if m * a is shorter than `a`. Here, m is the modulus of a variable x = m * y + r in `a`. Each factor
 * of a product is tried as `a`. Return 0 if no print is shorter. */
SETT_INLINE int settp_map_fold_product(settp_map_engine *e, settp_map_term t, settp_map_part *part) {
  const settp_map_atom *x = e->atom + t.atom;
  settp_map_monomial product;
  int32_t i;
  int side;
  if (x->kind != SETTP_MAP_ATOM_OTHER || x->op != SETTP_MAP_MUL || t.k == 1 ||
      !settp_map_monomial_of(e, t.atom, t.k, &product))
    return 0;
  for (side = 0; side < product.count; ++side) {
    int32_t l = product.factor[side], whole;
    int64_t m = 1;
    for (i = 0; i < e->lin[l].count && m == 1; ++i)
      if (e->atom[e->term[e->lin[l].first + i].atom].kind == SETTP_MAP_ATOM_VAR)
        m = e->atom[e->term[e->lin[l].first + i].atom].c;
    if (m == 1 || product.k % m) continue;
    whole = settp_map_lin_scale(e, l, m, 0);
    if (whole < 0 || settp_map_estimate(e, whole) >= settp_map_estimate(e, l) + 2) continue;
    product.factor[side] = whole;
    product.k /= m;
  }
  if (product.k == t.k) return 0;
  part->k = product.k;
  part->nodes = settp_map_print_factors(e, product.factor, product.count, &part->expr);
  return part->nodes > 0;
}

/* Return 1 if a sum contains a product, or a quotient by a form. P9 and P10 are tried only for such sums. */
SETT_INLINE int settp_map_has_products(const settp_map_engine *e, int32_t l) {
  int32_t i;
  for (i = 0; i < e->lin[l].count; ++i) {
    const settp_map_atom *x = e->atom + e->term[e->lin[l].first + i].atom;
    if (x->kind == SETTP_MAP_ATOM_OTHER && x->op <= SETTP_MAP_FLOORDIV) return 1;
  }
  return 0;
}

/* Return the number of nodes of k * (a mod b), or of k * (a * b). */
SETT_INLINE int32_t settp_map_pair_nodes(settp_map_engine *e, int32_t a, int32_t b, int64_t k) {
  int32_t x = settp_map_print(e, a), y = settp_map_print(e, b);
  return x && y ? x + y + 1 + settp_map_factor_nodes(k) : 1 << 28;
}

/* P9: print t * (a - b * q) with q = floor(a / b), for a form b that is at least 1, as t * (a mod b). The dividend -1 - a is tried in place of `a`,
 * too. */
SETT_INLINE int32_t settp_map_fold_rest(settp_map_engine *e, int32_t l, settp_map_part *part) {
  int32_t i, best = SETTP_MAP_NONE, best_nodes, best_a = 0, best_b = 0;
  int64_t best_k = 0;
  int j, turned;
  if (!e->floors) return SETTP_MAP_NONE;
  best_nodes = settp_map_estimate(e, l);
  for (i = 0; i < e->lin[l].count && settp_map_print_searches(e); ++i) {
    settp_map_monomial m;
    if (!settp_map_monomial_of(e, e->term[e->lin[l].first + i].atom, 1, &m)) continue;
    for (j = 0; j < m.count; ++j) {
      const settp_map_lin *own = e->lin + m.factor[j];
      const settp_map_atom *x = e->atom + (own->count ? e->term[own->first].atom : 0);
      int32_t a, b, multiple, left, nodes;
      int64_t k = 0;
      if (own->count != 1 || own->constant || x->kind != SETTP_MAP_ATOM_OTHER || x->op != SETTP_MAP_FLOORDIV ||
          x->own != m.factor[j])
        continue;
      a = x->a;
      b = x->b;
      multiple = settp_map_lin_product(e, b, m.factor[j]);
      if (multiple < 0 || settp_map_lin_less(e, l, multiple, &k) < 0 || k == INT64_MIN) continue;
      for (turned = 0; turned < 1 + settp_map_at_least(e, b, 1); ++turned) {
        int32_t digit = settp_map_lin_mix(e, a, 1, multiple, -1, 0), f = turned ? settp_map_lin_scale(e, a, -1, -1) : a;
        if (turned) digit = settp_map_lin_mix(e, b, 1, digit, -1, -1);
        left = settp_map_lin_mix(e, l, 1, digit, turned ? -k : k, 0);
        if (left < 0) continue;
        nodes = settp_map_pair_nodes(e, f, b, turned ? k : -k) + settp_map_estimate(e, left) +
                (e->lin[left].count || e->lin[left].constant);
        if (nodes >= best_nodes) continue;
        best = left;
        best_nodes = nodes;
        best_a = f;
        best_b = b;
        best_k = turned ? k : -k;
      }
    }
  }
  if (best < 0) return SETTP_MAP_NONE;
  part->k = best_k;
  part->nodes = e->lin[best_a].nodes + e->lin[best_b].nodes + 1;
  part->expr = sett_map_mod(e->arena, e->lin[best_a].expr, e->lin[best_b].expr);
  return best;
}

/* P10: c * f + c * x = c * (f + x). Find the product of two sums that saves most nodes. For each factor f in l, the sum c is the sum of all terms of l
 * that contain f, divided by f. The other sum is f plus each x for which the other terms of l contain c * x. Products in the given map are tried,
 * too. */
SETT_INLINE int32_t settp_map_fold_factor(settp_map_engine *e, int32_t l, settp_map_part *part) {
  int32_t i, best = SETTP_MAP_NONE, best_nodes = settp_map_estimate(e, l), best_pair[2] = {0, 0}, seen[32], pair[2],
             left;
  int64_t best_k = 0, k = 0;
  int j, n, tried = 0;
  for (i = 0; i < e->lin[l].count; ++i) {
    settp_map_monomial m;
    if (!settp_map_monomial_of(e, e->term[e->lin[l].first + i].atom, 1, &m)) continue;
    for (j = 0; j < m.count && tried < 32 && settp_map_print_searches(e); ++j) {
      int32_t rest, f = m.factor[j], c, t;
      for (n = 0; n < tried && seen[n] != f; ++n) {}
      if (n < tried) continue;
      seen[tried++] = f;
      c = settp_map_lin_cofactor(e, l, f, &rest);
      if (c < 0 || e->lin[c].count + !!e->lin[c].constant < 2) continue;
      k = settp_map_gcd(settp_map_lin_gcd(e, c), e->lin[c].constant);
      if (e->term[e->lin[c].first].k < 0) k = -k;
      c = settp_map_lin_shrink(e, c, k, e->lin[c].constant / k);
      f = settp_map_lin_scale(e, f, k, 0);
      /* the product is f * c: while the other terms of l contain some x * c, move it into the product by adding x to f */
      for (t = 0; c >= 0 && f >= 0 && t < e->lin[rest].count;) {
        settp_map_term own = e->term[e->lin[rest].first + t++], lead = e->term[e->lin[c].first];
        settp_map_monomial whole, first, over;
        int32_t x, less;
        if (own.k == INT64_MIN || own.k % lead.k || !settp_map_monomial_of(e, own.atom, own.k / lead.k, &whole) ||
            !settp_map_monomial_of(e, lead.atom, 1, &first) || !settp_map_monomial_without(&whole, &first, &over))
          continue;
        x = settp_map_monomial_add(e, settp_map_lin_constant(e, 0), &over);
        less = x < 0 ? x : settp_map_lin_mix(e, rest, 1, settp_map_lin_product(e, x, c), -1, 0);
        if (less < 0 || e->lin[less].count + !!e->lin[less].constant !=
                            e->lin[rest].count + !!e->lin[rest].constant - e->lin[c].count - !!e->lin[c].constant)
          continue;
        rest = less;
        f = settp_map_lin_mix(e, f, 1, x, 1, 0);
        t = 0;
      }
      if (c < 0 || f < 0) continue;
      k = settp_map_gcd(settp_map_lin_gcd(e, f), e->lin[f].constant);
      if (e->term[e->lin[f].first].k < 0) k = -k;
      f = settp_map_lin_shrink(e, f, k, e->lin[f].constant / k);
      n = settp_map_pair_nodes(e, f, c, k) + settp_map_estimate(e, rest) +
          (e->lin[rest].count || e->lin[rest].constant);
      if (n >= best_nodes) continue;
      best = rest;
      best_nodes = n;
      best_pair[0] = f;
      best_pair[1] = c;
      best_k = k;
    }
  }
  for (j = 0; j < e->products && j < SETTP_MAP_PRODUCTS_MAX; ++j) {
    pair[0] = e->product[j][1];
    pair[1] = e->product[j][2];
    left = settp_map_lin_less(e, l, e->product[j][0], &k);
    if (left < 0 || !settp_map_print_searches(e)) continue;
    n = settp_map_pair_nodes(e, pair[0], pair[1], k) + settp_map_estimate(e, left) +
        (e->lin[left].count || e->lin[left].constant);
    if (n >= best_nodes) continue;
    best = left;
    best_nodes = n;
    best_pair[0] = pair[0];
    best_pair[1] = pair[1];
    best_k = k;
  }
  if (best < 0) return SETTP_MAP_NONE;
  part->k = best_k;
  part->nodes = settp_map_print_factors(e, best_pair, 2, &part->expr);
  return part->nodes ? best : SETTP_MAP_NONE;
}

/* P11: print k * floor(a / b) + k, for a form b that is at least 1, as k * ((a + 1) ceildiv b); the summand k is a part of the form's constant.
 * Return 0 if this is not shorter. */
SETT_INLINE int settp_map_fold_ceiling(settp_map_engine *e, settp_map_term t, int64_t *constant, settp_map_part *part) {
  const settp_map_atom *x = e->atom + t.atom;
  int32_t up, b = x->b, a = x->a;
  int64_t left;
  if (x->kind != SETTP_MAP_ATOM_OTHER || x->op != SETTP_MAP_FLOORDIV || t.k == INT64_MIN ||
      settp_map_add(*constant, -t.k, &left) || !settp_map_at_least(e, b, 1))
    return 0;
  up = settp_map_lin_scale(e, a, 1, 1);
  if (up < 0 ||
      settp_map_pair_nodes(e, up, b, t.k) + (left ? 2 : 0) >= settp_map_pair_nodes(e, a, b, t.k) + (*constant ? 2 : 0))
    return 0;
  part->k = t.k;
  part->nodes = e->lin[up].nodes + e->lin[b].nodes + 1;
  part->expr = sett_map_ceildiv(e->arena, e->lin[up].expr, e->lin[b].expr);
  *constant = left;
  return 1;
}

/* P10: print summands that have the same coefficient k or -k, k > 1, as k times their sum. Return the number of summands that remain. */
SETT_INLINE int32_t settp_map_fold_coefficients(settp_map_engine *e, settp_map_part *part, int32_t n) {
  int32_t i, j, m;
  for (i = 0; i + 1 < n; ++i) {
    int64_t k = part[i].k < 0 ? -part[i].k : part[i].k;
    int32_t nodes = 0, positive = SETTP_MAP_NONE;
    sett_expr sum = 0;
    for (j = i + 1; k > 1 && j < n && part[j].k != k && part[j].k != -k; ++j) {}
    if (k < 2 || j >= n) continue;
    for (m = i; m < n; ++m) /* move the summands with coefficient k or -k behind i, as settp_map_order orders them */
      if (part[m].k == k || part[m].k == -k) {
        settp_map_part p = part[m];
        for (j = m; j > i && ((part[j - 1].k != k && part[j - 1].k != -k) ||
                              settp_map_order(e->arena, p.expr, part[j - 1].expr) < 0);
             --j)
          part[j] = part[j - 1];
        part[j] = p;
      }
    for (m = i; m < n && (part[m].k == k || part[m].k == -k); ++m)
      if (positive < 0 && part[m].k > 0) positive = m;
    for (j = i - 1; j < m; ++j) {
      int32_t at = j < i ? (positive < 0 ? i : positive) : j;
      int64_t sign = positive < 0 ? 1 : part[at].k / k;
      if (j >= i && at == (positive < 0 ? i : positive)) continue;
      nodes += part[at].nodes + (j >= i);
      sum = j < i ? part[at].expr
                  : sett_map_add(e->arena, sum,
                                 sign < 0 ? sett_map_mul(e->arena, part[at].expr, sett_map_constant(e->arena, -1))
                                          : part[at].expr);
    }
    part[i].k = positive < 0 ? -k : k;
    part[i].expr = sum;
    part[i].nodes = nodes;
    for (j = i + 1; m < n; ++m) part[j++] = part[m];
    n = j;
  }
  return n;
}

/* ---- print of bits ---- */

/* A field: 2^to * ((source floordiv 2^from) mod 2^size). If `topped`, it reaches up to the sign of the source, and there is no mod. */
typedef struct settp_map_field {
  int32_t source;
  int from, to, size, topped;
} settp_map_field;

enum { SETTP_MAP_FIELDS_MAX = 64 };

SETT_INLINE int settp_map_bit_has(const settp_map_engine *e, int32_t bit, int number) {
  return settp_map_set_has(e->bits->set + bit / 2, number);
}

/* Split a value that was read as bits into fields. The value is the exclusive or of the fields, except that some bits may be inverted. Return the
 * number of fields, or -1 if there are too many or a sign bit does not fit in a field. */
SETT_INLINE int settp_map_fields(settp_map_engine *e, const settp_map_reading *r, settp_map_field *field) {
  int fields = 0, j, i, n;
  for (j = 0; j <= r->width; ++j)
    for (n = 0; n < e->bits->count; ++n) {
      int32_t source = e->bits->source[e->bits->of[n]];
      int place = e->bits->place[n], width, sign;
      sett_map_interval range;
      settp_map_field *f;
      if (!settp_map_bit_has(e, settp_map_reading_at(r, j), n)) continue;
      for (i = 0; i < fields; ++i) {
        f = field + i;
        if (f->source != source || f->to + f->size != j || f->topped) continue;
        if (f->from + f->size == place && j < r->width) break;
        if (place == SETTP_MAP_BIT_SIGN && settp_map_bit_range(e, source, &range, &width, &sign) &&
            f->from + f->size >= width)
          break;
      }
      if (i < fields) {
        if (j == r->width) field[i].topped = 1;
        else ++field[i].size;
        continue;
      }
      if (fields == SETTP_MAP_FIELDS_MAX || j == r->width || place == SETTP_MAP_BIT_SIGN) return -1;
      f = field + fields++;
      f->source = source;
      f->from = place;
      f->to = j;
      f->size = 1;
      f->topped = 0;
    }
  return fields;
}

/* Move the fields that overlap field `first`, directly or through other fields, to the front. Return their number. *lo and *hi receive the range of
 * bits that they cover. */
SETT_INLINE int settp_map_fields_together(settp_map_field *field, int fields, int first, int *lo, int *hi) {
  int n = 1, i, more = 1;
  settp_map_field f = field[first];
  field[first] = field[0];
  field[0] = f;
  *lo = f.to;
  *hi = f.topped ? SETTP_MAP_BITS_KNOWN : f.to + f.size;
  while (more)
    for (i = n, more = 0; i < fields; ++i) {
      int end = field[i].topped ? SETTP_MAP_BITS_KNOWN : field[i].to + field[i].size;
      if (field[i].to >= *hi || end <= *lo) continue;
      f = field[i];
      field[i] = field[n];
      field[n++] = f;
      if (f.to < *lo) *lo = f.to;
      if (end > *hi) *hi = end;
      more = 1;
    }
  return n;
}

/* P7: print bits lo to hi - 1 of the exclusive or of fields and a number, divided by 2^lo. If several fields have bits below lo, these bits are cut off
 * once, from the exclusive or of the fields, not from each field. The same holds for bits from hi on. */
SETT_INLINE int32_t settp_map_print_fields(settp_map_engine *e, settp_map_field *field, int fields, int64_t number,
                                           int lo, int hi, sett_expr *out) {
  sett_expr expr[SETTP_MAP_FIELDS_MAX], x;
  int low = SETTP_MAP_BIT_WIDTH, lows = 0, highs = 0, topped = 0, wide = 0, all[SETTP_MAP_FIELDS_MAX], i, j;
  int32_t nodes = 0, own, size_of[SETTP_MAP_FIELDS_MAX];
  for (i = 0; i < fields; ++i) {
    sett_map_interval r;
    uint64_t most;
    topped |= field[i].topped;
    if (field[i].to == lo && field[i].from < low) low = field[i].from;
    r = settp_map_lin_interval(e, field[i].source);
    most = settp_map_ones((uint64_t)(r.lo < 0 ? ~r.lo : r.lo) | (uint64_t)(r.hi < 0 ? ~r.hi : r.hi)) >> field[i].from;
    for (all[i] = field[i].to - lo; most; most >>= 1) ++all[i];
    if (all[i] > wide && !field[i].topped && field[i].to + field[i].size == hi) wide = all[i];
    if (field[i].topped || (r.lo >= 0 && r.hi >> (field[i].from + field[i].size) == 0))
      field[i].topped = 1; /* the mod of this field can be left out */
    else highs += field[i].to + field[i].size == hi;
  }
  /* keep a mod for each field if a value without the mods might exceed 64 bits */
  if (topped || highs < 2 || wide > SETTP_MAP_BIT_WIDTH) hi = SETTP_MAP_BITS_KNOWN;
  for (i = wide = 0; i < fields; ++i) {
    int end = field[i].topped || field[i].to + field[i].size == hi ? all[i] : field[i].to - lo + field[i].size;
    lows += field[i].to == lo && field[i].from == low;
    if (end > wide) wide = end;
  }
  if (lows < 2 || low + wide > SETTP_MAP_BIT_WIDTH) low = 0;
  for (i = 0; i < fields; ++i) {
    settp_map_field *f = field + i;
    int from = f->from, to = f->to - lo, size = f->size;
    if (low && to) to += low;
    else if (low) from -= low, size += low;
    if (to > SETTP_MAP_BIT_WIDTH) return 0;
    own = settp_map_print(e, f->source);
    x = e->lin[f->source].expr;
    if (!own) return 0;
    if (from) x = sett_map_floordiv(e->arena, x, sett_map_constant(e->arena, (int64_t)1 << from)), own += 2;
    if (!f->topped && f->to + f->size != hi)
      x = sett_map_mod(e->arena, x, sett_map_constant(e->arena, (int64_t)1 << size)), own += 2;
    if (to) x = sett_map_mul(e->arena, x, sett_map_constant(e->arena, (int64_t)1 << to)), own += 2;
    if (x < SETT_MAP_ERROR_COUNT) return 0;
    nodes += own + 1;
    for (j = i; j > 0; --j) { /* print the shortest fields first */
      if (size_of[j - 1] < own || (size_of[j - 1] == own && settp_map_order(e->arena, expr[j - 1], x) < 0)) break;
      expr[j] = expr[j - 1];
      size_of[j] = size_of[j - 1];
    }
    expr[j] = x;
    size_of[j] = own;
  }
  for (i = 1, x = expr[0]; i < fields; ++i) x = sett_map_xor(e->arena, x, expr[i]);
  number >>= lo;
  if (number) x = sett_map_xor(e->arena, x, sett_map_constant(e->arena, number * ((int64_t)1 << low))), nodes += 2;
  if (low) x = sett_map_floordiv(e->arena, x, sett_map_constant(e->arena, (int64_t)1 << low)), nodes += 2;
  if (hi < SETTP_MAP_BITS_KNOWN)
    x = sett_map_mod(e->arena, x, sett_map_constant(e->arena, (int64_t)1 << (hi - lo))), nodes += 2;
  *out = x;
  return x < SETT_MAP_ERROR_COUNT ? 0 : nodes - 1;
}

SETT_INLINE int settp_map_atom_is_xor(const settp_map_engine *e, int32_t q) {
  return e->atom[q].kind == SETTP_MAP_ATOM_OTHER && e->atom[q].op == SETTP_MAP_XOR;
}

/* Return a group of terms of l, divided by `odd`. Only terms that `odd` divides are in a group.
 *     pass 0:     all of them, and the constant.
 *     pass 1:     those whose coefficient is `odd` times a power of two, and the constant.
 *     pass 2:     as pass 1, without the constant.
 *     pass 3:     as pass 2, only variables that occur in xors.
 *     pass 4:     as pass 2, only xors.
 *     pass 5:     only the xor in term `one`. */
SETT_INLINE int32_t settp_map_xor_group(settp_map_engine *e, int32_t l, int64_t odd, int32_t one, int pass) {
  int64_t constant = pass > 1 || e->lin[l].constant % odd ? 0 : e->lin[l].constant / odd;
  uint64_t support = 0;
  int32_t i, n = 0;
  if (!SETTP_MAP_ROOM(e, term, terms, term_room, e->lin[l].count)) return SETTP_MAP_NONE;
  for (i = 0; i < e->lin[l].count; ++i) {
    settp_map_term t = e->term[e->lin[l].first + i];
    if (settp_map_atom_is_xor(e, t.atom) && t.k % odd == 0) support |= e->atom[t.atom].support;
  }
  for (i = 0; i < e->lin[l].count; ++i) {
    settp_map_term t = e->term[e->lin[l].first + i];
    uint64_t k;
    if (t.k % odd) continue;
    k = settp_map_magnitude(t.k / odd);
    if (pass && k & (k - 1)) continue;
    if (pass == 3 && e->atom[t.atom].support & ~support) continue;
    if ((pass == 4 && !settp_map_atom_is_xor(e, t.atom)) || (pass == 5 && i != one)) continue;
    t.k /= odd;
    e->term[e->terms + n++] = t;
  }
  return settp_map_lin_make(e, constant, n);
}

/* P7: print some terms of l as one summand, an exclusive or of bit fields. Return the form of the other terms, or SETTP_MAP_NONE. `alone` says
 * that l contains no xor; only then may the summand be a single field, with inverted bits. */
SETT_INLINE int32_t settp_map_fold_xor(settp_map_engine *e, int32_t l, settp_map_part *part, int alone) {
  settp_map_field field[SETTP_MAP_FIELDS_MAX];
  settp_map_reading r, some;
  int32_t i, one = SETTP_MAP_NONE, group, left;
  int64_t odd = 1, sign, number;
  int32_t best_left = SETTP_MAP_NONE, best_cost = 0, cost;
  settp_map_part made;
  int pass, fields, first, count = 0, lo = 0, hi = 0, j, turned;
  for (i = 0; i < e->lin[l].count && one < 0; ++i)
    if (settp_map_atom_is_xor(e, e->term[e->lin[l].first + i].atom)) one = i;
  if ((one < 0) != alone || !settp_map_bits_start(e)) return SETTP_MAP_NONE;
  if (one >= 0) odd = e->term[e->lin[l].first + one].k;
  while (!(odd & 1)) odd /= 2;
  for (pass = 0; pass < 8; ++pass) { /* try each group, then its negation if that is shorter */
    if (pass > 5 && best_left < 0 && alone) break;
    sign = pass > 5 ? -odd : odd;
    if (alone && pass && pass < 6) continue;
    if (best_left >= 0 && pass < 6) continue;
    group = settp_map_xor_group(e, l, sign, one, pass % 6);
    if (group < 0) return SETTP_MAP_NONE;
    settp_map_read(e, group, 0, 0, &r);
    if (r.known < SETTP_MAP_BITS_KNOWN) continue;
    fields = settp_map_fields(e, &r, field);
    for (first = 0; first < fields; ++first) {
      count = settp_map_fields_together(field, fields, first, &lo, &hi);
      for (turned = 0, j = lo; j < hi && j < r.width; ++j) turned |= (int)(r.bit[j] & 1);
      if (hi > r.width) turned |= (int)(r.sign & 1);
      if (count > 1 || (turned && alone)) break;
    }
    if (fields < 1 || first >= fields) continue;
    /* the first `count` fields cover the bits lo to hi - 1 of the value; clear all other bits in `some` */
    some = r;
    number = 0;
    for (j = 0; j < r.width; ++j)
      if (j < lo || j >= hi) some.bit[j] = 0;
      else if (r.bit[j] & 1) number |= (int64_t)1 << j;
    if (hi <= r.width) some.sign = 0;
    else if (r.sign & 1) number |= -((int64_t)1 << r.width);
    left = settp_map_lin_of_reading(e, &some);
    made.nodes = left < 0 ? 0 : settp_map_print_fields(e, field, count, number, lo, hi, &made.expr);
    if (!made.nodes || settp_map_mul(sign, (int64_t)1 << lo, &made.k)) continue;
    left = settp_map_lin_mix(e, l, 1, left, -sign, 0);
    if (left < 0) continue;
    cost = made.nodes + (made.k == 1 ? 0 : 2) + settp_map_estimate(e, left);
    if (best_left >= 0 && cost >= best_cost) continue;
    best_left = left;
    best_cost = cost;
    *part = made;
  }
  return best_left;
}

/* Print the form l again, with an exclusive or in it (P7), and replace *expr if the new print has fewer nodes. `nodes` is the number of nodes of *expr.
 * Return the number of nodes of the result. */
SETT_INLINE int32_t settp_map_print_flipped(settp_map_engine *e, int32_t l, int32_t nodes, sett_expr *expr) {
  settp_map_part part;
  int32_t left = settp_map_fold_xor(e, l, &part, 1), more = 0;
  sett_expr x;
  if (left < 0) return nodes;
  more = part.nodes + (part.k == 1 ? 0 : 2);
  x = sett_map_mul(e->arena, part.expr, sett_map_constant(e->arena, part.k));
  if (e->lin[left].count || e->lin[left].constant) {
    if (e->lin[left].count >= e->lin[l].count || !settp_map_print(e, left)) return nodes;
    more += e->lin[left].nodes + 1;
    x = sett_map_add(e->arena, x, e->lin[left].expr);
  }
  if (more >= nodes || x < SETT_MAP_ERROR_COUNT) return nodes;
  *expr = x;
  return more;
}

/* ---- print of minima and maxima ---- */

/* Return the number of symbols of an expression as text: operators, variables, numbers, and signs. */
SETT_INLINE int32_t settp_map_expr_symbols(const sett_map_arena *arena, sett_expr x) {
  int32_t n = 0;
  int64_t k = 0, last = 0;
  for (;;) {
    const settp_map_node *node = settp_map_at(arena, x);
    sett_expr a = settp_map_a(node), b = settp_map_b(node);
    if (n > 1 << 20 || node->op == SETTP_MAP_VAR) return n + 1;
    if (node->op == SETTP_MAP_CONST) return n + (node->value < 0 ? 2 : 1);
    if (node->op == SETTP_MAP_MUL && settp_map_is_constant(arena, b, &k)) {
      n += (k < 0 && last <= 0) + (k == -1 ? 0 : 2); /* -x + 5 is printed as 5 - x, with one sign */
    } else if (node->op == SETTP_MAP_ADD) {
      const settp_map_node *right = settp_map_at(arena, b);
      if (right->op == SETTP_MAP_CONST) {
        last = right->value;
        ++n;
      } else if (right->op == SETTP_MAP_MUL && settp_map_is_constant(arena, settp_map_b(right), &k) && k < 0)
        n += settp_map_expr_symbols(arena, settp_map_a(right)) + (k == -1 ? 0 : 2);
      else n += settp_map_expr_symbols(arena, b);
      ++n;
      x = a;
      continue;
    } else n += 1 + settp_map_expr_symbols(arena, b);
    last = 0;
    x = a;
  }
}

/* Return the number of symbols, as settp_map_expr_symbols counts them, of the summand k * x. `own`: the number of symbols of x. The + or - of the
 * summand is one symbol more. Unless k is 1 or -1, the number and the * are two more. */
SETT_INLINE int32_t settp_map_term_symbols(int64_t k, int32_t own) {
  return k ? own + 1 + (k == 1 || k == -1 ? 0 : 2) : 0;
}

SETT_INLINE int32_t settp_map_atom_symbols(settp_map_engine *e, int32_t q) {
  return e->atom[q].nodes ? e->atom[q].nodes : settp_map_atom_print(e, q);
}

/* Return the number of symbols in the text of the sum l + k * x, where x is a text of `size` symbols. If `size` is 0, return the number for l alone.
 * A minus sign of the first summand counts as a symbol. */
SETT_INLINE int32_t settp_map_symbols(settp_map_engine *e, int32_t l, int64_t k, int32_t size) {
  int32_t i, n = size ? settp_map_term_symbols(k, size) : 0, count = e->lin[l].count;
  int64_t constant = e->lin[l].constant, away;
  int positive = size && k > 0, folds = 0;
  if (!size && e->lin[l].symbols) return e->lin[l].symbols;
  for (i = 0; i < count; ++i) {
    settp_map_term t = e->term[e->lin[l].first + i];
    const settp_map_atom *x = e->atom + t.atom;
    folds |= x->kind == SETTP_MAP_ATOM_QUOTIENT || settp_map_atom_lattice(x);
    if (x->kind == SETTP_MAP_ATOM_VAR && x->c != 1 && t.k % x->c == 0) {
      t.k /= x->c;
      if (settp_map_mul(t.k, x->r, &away)) away = 0;
      constant = constant == away ? 0 : constant ? constant : away;
      n += settp_map_term_symbols(t.k, 1);
    } else n += settp_map_term_symbols(t.k, settp_map_atom_symbols(e, t.atom));
    positive |= t.k > 0;
  }
  /* several terms may be printed as one mod, min or max, so print the form and count its symbols */
  if (folds && count > 1 && settp_map_print(e, l))
    return settp_map_expr_symbols(e->arena, e->lin[l].expr) + (size ? settp_map_term_symbols(k, size) : 0);
  if (constant) n += settp_map_term_symbols(1, 1);
  positive |= constant > 0;
  n += (n ? -1 : 1) + !(positive || (!n && !constant));
  if (!size && !folds) e->lin[l].symbols = n;
  return n;
}

/* Return the atom of a form that is a single minimum or maximum; otherwise SETTP_MAP_NONE. */
SETT_INLINE int32_t settp_map_lone_lattice(const settp_map_engine *e, int32_t l) {
  int count;
  if (e->lin[l].count != 1 || e->lin[l].constant || e->term[e->lin[l].first].k != 1) return SETTP_MAP_NONE;
  return settp_map_lattice_at(e, l, &count) < 0 ? SETTP_MAP_NONE : e->term[e->lin[l].first].atom;
}

/* Write the leaves of an atom, with repetitions. Return their number, or 0 if there are too many. */
SETT_INLINE int settp_map_lattice_leaves(const settp_map_engine *e, int32_t q, int32_t *leaf, int room) {
  int n = 0, j, more;
  for (j = 0; j < 2; ++j) {
    int32_t side = j ? e->atom[q].b : e->atom[q].a, inner = settp_map_lone_lattice(e, side);
    if (n >= room) return 0;
    more = inner < 0 ? 1 : settp_map_lattice_leaves(e, inner, leaf + n, room - n);
    if (inner < 0) leaf[n] = side;
    if (!more) return 0;
    n += more;
  }
  return n;
}

enum { SETTP_MAP_SHOWN_MAX = 2 * SETTP_MAP_LEAVES_MAX };

/* an operand of a minimum or maximum: either a leaf, or an expression that is already printed */
typedef struct settp_map_shown {
  int32_t lin, size;
  sett_expr expr;
} settp_map_shown;

/* Return the terms that two forms have in common with equal coefficients, and the constant if it is equal. */
SETT_INLINE int32_t settp_map_lin_common(settp_map_engine *e, int32_t a, int32_t b) {
  int32_t i, n = 0, count = e->lin[a].count;
  if (!SETTP_MAP_ROOM(e, term, terms, term_room, count)) return SETTP_MAP_NONE;
  for (i = 0; i < count; ++i) {
    settp_map_term t = e->term[e->lin[a].first + i];
    if (settp_map_lin_coefficient(e, b, t.atom) == t.k) e->term[e->terms + n++] = t;
  }
  return settp_map_lin_make(e, e->lin[a].constant == e->lin[b].constant ? e->lin[a].constant : 0, n);
}

SETT_INLINE int32_t settp_map_chain_print(settp_map_engine *e, int op, settp_map_shown *x, int n, int make, int depth,
                                          sett_expr *expr);

/* Return (x - common) / f if x contains all terms of `common`, f divides the rest, and the result has fewer symbols in its text than x, which has
 * `own`. *saved receives the number of symbols saved. Otherwise return SETTP_MAP_NONE. */
SETT_INLINE int32_t settp_map_group_member(settp_map_engine *e, int32_t x, int32_t own, int32_t common, int64_t f,
                                           int32_t *saved) {
  int32_t rest;
  int64_t constant = e->lin[common].constant;
  if (x < 0 || !settp_map_lin_holds(e, x, common, 1) || (constant && constant != e->lin[x].constant))
    return SETTP_MAP_NONE;
  rest = settp_map_lin_mix(e, x, 1, common, -1, 0);
  if (rest < 0 || settp_map_lin_gcd_with(e, rest, f) % f || e->lin[rest].constant % f) return SETTP_MAP_NONE;
  rest = settp_map_lin_shrink(e, rest, f, e->lin[rest].constant / f);
  *saved = rest < 0 ? 0 : own - settp_map_symbols(e, rest, 0, 0);
  return *saved > 0 ? rest : SETTP_MAP_NONE;
}

/* P8: choose a group of operands common + f * x1, common + f * x2, .. of a minimum or maximum, and replace it by the one operand common + f * op(x1, x2,
 * ..). Choose the group that saves the most symbols of the text. Return the new number of operands. */
SETT_INLINE int settp_map_chain_group(settp_map_engine *e, int op, settp_map_shown *x, int n, int make, int depth) {
  settp_map_shown group[SETTP_MAP_SHOWN_MAX];
  int32_t best = SETTP_MAP_NONE, most = 0, size, zero = settp_map_lin_constant(e, 0), own[SETTP_MAP_SHOWN_MAX];
  int64_t best_f = 1;
  sett_expr expr = 0;
  int i, j, m, members, way, turned = 0;
  /* no group of two operands at depth 0: the caller itself moves out what all operands of an atom have in common */
  if (n < 2 || (n == 2 && !depth)) return n;
  for (i = 0; i < n; ++i) own[i] = x[i].lin < 0 ? 0 : settp_map_symbols(e, x[i].lin, 0, 0);
  for (i = 0; i < n; ++i)
    for (j = i + 1; j < n; ++j) {
      int32_t common = zero, all, saved, a, b;
      int64_t g = 0;
      for (way = 0; way < 8 && x[i].lin >= 0 && x[j].lin >= 0; ++way) {
        int64_t f = way & 2 ? g : 1;
        if (!(way & 3)) { /* first try the common terms, then only a common factor */
          common = way ? zero : settp_map_lin_common(e, x[i].lin, x[j].lin);
          if (!way && common == zero) way = 4;
          a = settp_map_lin_mix(e, x[i].lin, 1, common, -1, 0);
          b = settp_map_lin_mix(e, x[j].lin, 1, common, -1, 0);
          g = common < 0 || a < 0 || b < 0 ? 0
                                           : settp_map_gcd(settp_map_lin_gcd_with(e, a, settp_map_lin_gcd(e, b)),
                                                           settp_map_gcd(e->lin[a].constant, e->lin[b].constant));
          if (!g) way += 3;
        }
        if (!g || (way & 2 && g < 2)) continue;
        if (way & 1) f = -f;
        if (common == zero && (f == 1 || (f == -1 && turned++))) continue; /* all operands are negated once */
        for (members = m = all = 0; m < n; ++m)
          if (settp_map_group_member(e, x[m].lin, own[m], common, f, &saved) >= 0) all += saved, ++members;
        all -= settp_map_symbols(e, common, f, 1) - 1;
        if (members < 2 || all <= most || (members == n && !depth)) continue;
        most = all;
        best = common;
        best_f = f;
      }
    }
  if (best < 0) return n;
  for (members = i = m = 0; m < n; ++m) {
    int32_t rest = settp_map_group_member(e, x[m].lin, own[m], best, best_f, &size);
    if (rest < 0) x[i++] = x[m];
    else group[members++].lin = rest;
  }
  op = best_f < 0 ? SETTP_MAP_MIN + SETTP_MAP_MAX - op : op;
  size = settp_map_chain_print(e, op, group, members, make, depth + 1, &expr);
  x[i].lin = SETTP_MAP_NONE;
  x[i].size = size ? settp_map_symbols(e, best, best_f, size) : 0;
  x[i].expr = 0;
  if (make && size && settp_map_print(e, best)) {
    expr = sett_map_mul(e->arena, expr, sett_map_constant(e->arena, best_f));
    x[i].expr = best == zero ? expr
                : best_f > 0 ? sett_map_add(e->arena, expr, e->lin[best].expr)
                             : sett_map_add(e->arena, e->lin[best].expr, expr);
  }
  return i + 1;
}

/* Print an expression with the operator `op` and n operands, in sorted order, to *expr. Return its number of symbols (operators, variables, numbers),
 * or 0 on failure. If `make` is 0, only count the symbols; *expr is then no expression. */
SETT_INLINE int32_t settp_map_chain_print(settp_map_engine *e, int op, settp_map_shown *x, int n, int make, int depth,
                                          sett_expr *expr) {
  int32_t size;
  int64_t number;
  int i, j, before, last;
  do before = n, n = settp_map_chain_group(e, op, x, n, make, depth);
  while (n < before && n > 1);
  size = n - 1;
  for (i = 0; i < n; ++i) {
    settp_map_shown one = x[i];
    if (one.lin >= 0) {
      one.size = settp_map_symbols(e, one.lin, 0, 0);
      one.expr = make && settp_map_print(e, one.lin) ? e->lin[one.lin].expr : 0;
    }
    if (!one.size || (make && one.expr < SETT_MAP_ERROR_COUNT)) return 0;
    size += one.size;
    last = make && settp_map_is_constant(e->arena, one.expr, &number); /* a number is printed as the last operand */
    for (j = i; make && j > 0 && !last &&
                (settp_map_is_constant(e->arena, x[j - 1].expr, &number) ||
                 settp_map_order(e->arena, one.expr, x[j - 1].expr) < 0);
         --j)
      x[j] = x[j - 1];
    x[j] = one;
  }
  for (*expr = x[0].expr, i = 1; make && i < n; ++i) *expr = settp_map_binary(e->arena, op, *expr, x[i].expr);
  return make && *expr < SETT_MAP_ERROR_COUNT ? 0 : size;
}

SETT_INLINE int32_t settp_map_lattice_print(settp_map_engine *e, int32_t q, int64_t k, int32_t moved, int make,
                                            int depth, sett_expr *expr);

/* Append the operands of atom q to the list of operands, each leaf as k * leaf + moved. Return the new number of operands, or 0 if there are too many.
 */
SETT_INLINE int settp_map_lattice_operands(settp_map_engine *e, int32_t q, int64_t k, int32_t moved, int make,
                                           int depth, settp_map_shown *x, int count) {
  int32_t op = e->atom[q].op;
  int j;
  for (j = 0; j < 2; ++j) {
    int32_t side = j ? e->atom[q].b : e->atom[q].a, inner = settp_map_lone_lattice(e, side);
    if (count >= SETTP_MAP_SHOWN_MAX) return 0;
    if (inner >= 0 && e->atom[inner].op == op) {
      count = settp_map_lattice_operands(e, inner, k, moved, make, depth + 1, x, count);
      if (!count) return 0;
      continue;
    }
    x[count].lin = inner < 0 ? settp_map_lin_mix(e, side, k, moved, 1, 0) : SETTP_MAP_NONE;
    x[count].expr = 0;
    x[count].size = inner < 0 ? 0 : settp_map_lattice_print(e, inner, k, moved, make, depth + 1, &x[count].expr);
    if (inner < 0 ? x[count].lin < 0 : !x[count].size) return 0;
    ++count;
  }
  return count;
}

/* Print atom q, with each leaf replaced by k * leaf + moved, to *expr. Return the number of symbols of its text, or 0 on failure. If `make` is 0,
 * only count the symbols; *expr is then no expression. */
SETT_INLINE int32_t settp_map_lattice_print(settp_map_engine *e, int32_t q, int64_t k, int32_t moved, int make,
                                            int depth, sett_expr *expr) {
  settp_map_shown x[SETTP_MAP_SHOWN_MAX];
  int op = k > 0 ? e->atom[q].op : SETTP_MAP_MIN + SETTP_MAP_MAX - e->atom[q].op, count;
  count = depth > SETTP_MAP_LEAVES_MAX ? 0 : settp_map_lattice_operands(e, q, k, moved, make, depth, x, 0);
  return count ? settp_map_chain_print(e, op, x, count, make, depth, expr) : 0;
}

typedef struct
    /* A form is written as factor * q' + left, where q' is an atom whose leaves were replaced by k * leaf + moved. */
    settp_map_share {
  int64_t factor, k;
  int32_t moved, left, size;
} settp_map_share;

enum { SETTP_MAP_SPREADS = 5 }; /* the ways to split the atoms of a form that settp_map_fold_lattice tries */

/* An atom of a form that is split into a part for the leaves and a part outside (settp_map_fold_lattice). */
typedef struct settp_map_shared {
  int64_t at[SETTP_MAP_SHOWN_MAX];   /* its coefficients at the leaves */
  int64_t c;                         /* its coefficient outside of the leaves */
  int64_t amount[SETTP_MAP_SPREADS]; /* for each way: the multiple that is moved into the leaves */
  int32_t atom, own; /* `atom` is SETTP_MAP_NONE for the number 1. own: the number of symbols of its text */
} settp_map_shared;

/* P8: the leaves are multiplied by k. Choose a multiple of an atom, or of the number 1, for each way. It is added at every leaf, and `factor` times the
 * multiple is subtracted outside of the leaves. Way 1: the coefficient outside becomes 0. 2: the smallest coefficient at the leaves becomes 0. 3: the
 * largest one becomes 0. 4: nothing is added. 0: the multiple of the ways 1, 2 and 3 that gives the shortest text. Return the set of ways in which no
 * number is too large. */
SETT_INLINE int settp_map_lattice_amounts(settp_map_shared *x, int leaves, int64_t k, int64_t factor) {
  int64_t at[SETTP_MAP_SHOWN_MAX], lo = 0, hi = 0, y, outside;
  int32_t best = INT32_MAX, size;
  int i, j, ways = (1 << SETTP_MAP_SPREADS) - 1;
  for (i = 0; i < leaves; ++i) {
    if (settp_map_mul(x->at[i], k, at + i) || at[i] == INT64_MIN) return 0;
    if (!i || at[i] < lo) lo = at[i];
    if (!i || at[i] > hi) hi = at[i];
  }
  /* multiple 2 replaces multiple 1 if all leaves have the same coefficient, or if factor does not divide c */
  x->amount[1] = lo < hi && x->c % factor == 0 ? x->c / factor : -lo;
  x->amount[2] = -lo;
  x->amount[3] = -hi;
  x->amount[4] = 0;
  for (i = 1; i < 4; ++i) {
    if (i > 1 && x->amount[i] == x->amount[i - 1]) {
      ways &= ~((~ways >> (i - 1) & 1) << i);
      continue;
    }
    if (settp_map_mul(factor, x->amount[i], &y) || y == INT64_MIN || settp_map_add(x->c, -y, &outside)) {
      ways &= ~(1 << i | 1);
      continue;
    }
    size = settp_map_term_symbols(outside, x->own);
    for (j = 0; j < leaves; ++j) {
      if (settp_map_add(at[j], x->amount[i], &y)) ways &= ~(1 << i | 1);
      size += settp_map_term_symbols(y, x->own);
    }
    if (size >= best) continue;
    best = size;
    x->amount[0] = x->amount[i];
  }
  return ways;
}

/* Write the number 1, then the atoms of `rest`, then those of the leaves, each once. Return their number, or 0 if the arena is full. */
SETT_INLINE int32_t settp_map_lattice_shared(settp_map_engine *e, const int32_t *leaf, int leaves, int32_t rest,
                                             settp_map_shared **shared) {
  int32_t i, made = 0, room = e->lin[rest].count + 1;
  settp_map_shared *x;
  int n, j;
  for (n = 0; n < leaves; ++n) room += e->lin[leaf[n]].count;
  *shared = x = (settp_map_shared *)settp_map_take(e->arena, (size_t)room * sizeof *x);
  if (!x) return 0;
  for (n = -2; n < leaves; ++n) { /* -2: the number 1; -1: the atoms of `rest`; n >= 0: the atoms of leaf n */
    int32_t l = n < 0 ? rest : leaf[n], count = n == -2 ? 1 : e->lin[l].count;
    for (i = 0; i < count; ++i) {
      int32_t atom = n == -2 ? SETTP_MAP_NONE : e->term[e->lin[l].first + i].atom;
      for (j = 1; j < made && x[j].atom != atom; ++j) {}
      if (j < made) continue;
      x[made].atom = atom;
      x[made].own = atom < 0 ? 1 : settp_map_atom_symbols(e, atom);
      x[made].c = atom < 0 ? e->lin[rest].constant : settp_map_lin_coefficient(e, rest, atom);
      for (j = 0; j < leaves; ++j)
        x[made].at[j] = atom < 0 ? e->lin[leaf[j]].constant : settp_map_lin_coefficient(e, leaf[j], atom);
      ++made;
    }
  }
  return made;
}

/* Split the form `rest` into factor * moved + left. Every leaf then becomes k * leaf + moved. `shared` has the `count` atoms of `rest` and the leaves.
 * Return 0 if a number is too large. */
SETT_INLINE int settp_map_lattice_spread(settp_map_engine *e, const settp_map_shared *shared, int32_t count,
                                         int32_t rest, int how, settp_map_share *out) {
  int32_t i, terms = 0;
  if (!SETTP_MAP_ROOM(e, term, terms, term_room, count)) return 0;
  for (i = 1; i < count; ++i) terms = settp_map_terms_add(e, terms, shared[i].atom, shared[i].amount[how]);
  out->moved = settp_map_lin_make(e, shared[0].amount[how], terms);
  out->left = settp_map_lin_mix(e, rest, 1, out->moved, -out->factor, 0);
  return out->left >= 0;
}

/* Return a lower bound for the number of symbols of factor * q' + left, if the atoms are split in this way. Every leaf, and every atom inside of a leaf,
 * needs at least one symbol, and an operator joins any two of them. Return 0 if several atoms may be printed as one. */
SETT_INLINE int32_t settp_map_lattice_least(const settp_map_engine *e, const settp_map_shared *shared, int32_t count,
                                            int leaves, int how, int64_t factor) {
  int32_t i, inside = 0, outside = 0;
  for (i = 0; i < count; ++i) {
    const settp_map_shared *x = shared + i;
    const settp_map_atom *a = e->atom + (x->atom < 0 ? 0 : x->atom);
    int64_t k = x->c - factor * x->amount[how];
    if (x->atom >= 0 &&
        (a->kind == SETTP_MAP_ATOM_VAR ? a->c != 1 : a->kind != SETTP_MAP_ATOM_OTHER || a->op != SETTP_MAP_MUL))
      return 0;
    inside += x->amount[how] != x->amount[2] || x->amount[how] != x->amount[3];
    if (k) outside += x->atom < 0 ? 2 : settp_map_term_symbols(k, x->own);
  }
  return settp_map_term_symbols(factor, 2 * (inside > leaves ? inside : leaves) - 1) - 1 + outside;
}

/* Return 1 if a leaf contains a quotient that is also in a term of l. */
SETT_INLINE int settp_map_leaves_divide(const settp_map_engine *e, int32_t l, const int32_t *leaf, int leaves) {
  int32_t i;
  int n;
  for (n = 0; n < leaves; ++n)
    for (i = 0; i < e->lin[leaf[n]].count; ++i) {
      int32_t q = e->term[e->lin[leaf[n]].first + i].atom;
      if (e->atom[q].kind == SETTP_MAP_ATOM_QUOTIENT && settp_map_lin_coefficient(e, l, q)) return 1;
    }
  return 0;
}

/* P8: print the first minimum or maximum in l, with terms of l moved into its leaves. Of all ways to move terms, take the one with the fewest
 * symbols; among equals, the one with the largest factor outside, then the one with the shortest rest. With `shared`, only a minimum or maximum that
 * has a quotient of l in a leaf is tried. Return the form that remains. */
SETT_INLINE int32_t settp_map_fold_lattice(settp_map_engine *e, int32_t l, int shared, settp_map_part *part) {
  int32_t leaf[SETTP_MAP_SHOWN_MAX], rest, at, atoms, i, zero = settp_map_lin_constant(e, 0);
  settp_map_shared *all;
  int count, leaves = 0, which, how, other, ways;
  sett_expr none = 0;
  settp_map_share best, one;
  settp_map_term t;
  int64_t g[3];
  for (at = settp_map_lattice_at(e, l, &count); at >= 0 && at < e->lin[l].count; ++at) {
    if (!settp_map_atom_lattice(e->atom + e->term[e->lin[l].first + at].atom)) continue;
    leaves = settp_map_lattice_leaves(e, e->term[e->lin[l].first + at].atom, leaf, SETTP_MAP_SHOWN_MAX);
    if (!shared || settp_map_leaves_divide(e, l, leaf, leaves)) break;
  }
  if (at < 0 || at == e->lin[l].count) return SETTP_MAP_NONE;
  t = e->term[e->lin[l].first + at];
  rest = settp_map_lin_plus(e, l, t.atom, -t.k);
  best.left = SETTP_MAP_NONE;
  best.size = 0;
  best.factor = best.k = 1;
  best.moved = 0;
  one = best;
  if (rest < 0 || !leaves) return SETTP_MAP_NONE;
  /* no way is shorter than one symbol per leaf */
  for (i = 0; rest == zero && t.k == 1 && i < leaves && settp_map_symbols(e, leaf[i], 0, 0) == 1; ++i) {}
  if (i == leaves) {
    part->k = 1;
    part->nodes = settp_map_lattice_print(e, t.atom, 1, zero, 1, 0, &part->expr);
    return part->nodes ? zero : SETTP_MAP_NONE;
  }
  atoms = settp_map_lattice_shared(e, leaf, leaves, rest, &all);
  if (!atoms) return SETTP_MAP_NONE;
  /* t.k is split into two factors: one stays outside of the leaves. Candidates for it are t.k, its gcd with the other terms, and 1. */
  g[0] = t.k;
  g[1] = settp_map_gcd(settp_map_lin_gcd_with(e, rest, t.k), e->lin[rest].constant);
  g[2] = 1;
  for (which = 0; which < 6; ++which) {
    one.factor = which & 1 ? -g[which / 2] : g[which / 2];
    one.k = t.k / one.factor;
    if (which > 1 && (one.factor == t.k || one.factor == -t.k || (which > 3 && (g[1] == 1 || g[1] == -1)))) continue;
    for (ways = -1, i = 0; i < atoms; ++i) ways &= settp_map_lattice_amounts(all + i, leaves, one.k, one.factor);
    for (how = 0; how < SETTP_MAP_SPREADS; ++how) {
      int32_t a, b, least, most;
      for (other = 0, i = 0; other < how && i < atoms; ++other) /* skip a way that moves the same as an earlier one */
        for (i = 0; i < atoms && all[i].amount[other] == all[i].amount[how]; ++i) {}
      if (!(ways >> how & 1) || (how && i == atoms)) continue;
      least = best.left < 0 ? -1 : settp_map_lattice_least(e, all, atoms, leaves, how, one.factor);
      /* among equals, a way that leaves nothing and keeps the whole positive factor outside is taken */
      most = best.size - (best.left == zero && best.factor > 0 && which < 2);
      if (least > most || !settp_map_lattice_spread(e, all, atoms, rest, how, &one)) continue;
      one.size = settp_map_lattice_print(e, t.atom, one.k, one.moved, 0, 0, &none);
      if (!one.size) continue;
      one.size = settp_map_symbols(e, one.left, one.factor, one.size);
      if (best.left >= 0 && one.size > best.size) continue;
      if (best.left >= 0 && one.size == best.size) {
        int64_t x = one.factor < 0 ? -one.factor : one.factor, y = best.factor < 0 ? -best.factor : best.factor;
        if (x < y) continue;
        a = settp_map_symbols(e, one.left, 0, 0);
        b = settp_map_symbols(e, best.left, 0, 0);
        if (x == y && (a > b || (a == b && one.factor <= best.factor))) continue;
      }
      best = one;
      if (best.left == zero && best.factor == 1 && best.size < 2 * leaves) which = how = 6; /* end both loops */
    }
  }
  if (best.left < 0) return SETTP_MAP_NONE;
  part->k = best.factor;
  part->nodes = settp_map_lattice_print(e, t.atom, best.k, best.moved, 1, 0, &part->expr);
  return part->nodes ? best.left : SETTP_MAP_NONE;
}

/* Return 1 if l is k * q for a quotient q whose form has no negative number. Then P4 has nothing to do: no term can be moved in, and the form is not
 * negated. */
SETT_INLINE int settp_map_lone_quotient(const settp_map_engine *e, int32_t l) {
  const settp_map_atom *x;
  if (e->lin[l].count != 1 || e->lin[l].constant) return 0;
  x = e->atom + e->term[e->lin[l].first].atom;
  return x->kind == SETTP_MAP_ATOM_QUOTIENT && e->term[e->lin[l].first].k > 0 &&
         settp_map_all_positive(e, e->form[x->form].lin);
}

/* P12: an operation of the given map may have the form l. *expr is the print of l. If this operation, with its operands printed, needs fewer nodes,
 * it replaces *expr. `nodes` is the number of nodes of *expr. Return the number of nodes of the result. */
SETT_INLINE int32_t settp_map_print_operation(settp_map_engine *e, int32_t l, int32_t nodes, sett_expr *expr) {
  int32_t a, b, x, y;
  int64_t divisor, k;
  sett_expr made;
  const settp_map_node *node;
  int same;
  if (!e->lin[l].op || nodes < 4 || e->lin[l].tree > nodes || !settp_map_print_searches(e)) return nodes;
  a = e->lin[l].a;
  b = e->lin[l].b;
  divisor = e->lin[b].count ? 0 : e->lin[b].constant;
  node = settp_map_at(e->arena, *expr);
  same = node->op == e->lin[l].op && settp_map_is_constant(e->arena, settp_map_b(node), &k) && k == divisor;
  /* skip this if *expr already is this quotient, or if the result would be longer: printing the operands takes time */
  if ((same && node->op == SETTP_MAP_FLOORDIV) || settp_map_estimate(e, a) + settp_map_estimate(e, b) > nodes + 8)
    return nodes;
  if (e->lin[l].op == SETTP_MAP_MOD && !same && divisor > 0) a = settp_map_lin_aligned(e, a, divisor);
  x = settp_map_print(e, a);
  y = x && x < nodes ? settp_map_print(e, b) : 0;
  if (!y || x + y > nodes) return nodes;
  made = settp_map_binary(e->arena, e->lin[l].op, e->lin[a].expr, e->lin[b].expr);
  if (made < SETT_MAP_ERROR_COUNT || made == *expr) return nodes;
  x = settp_map_expr_symbols(e->arena, made);
  if (x >= settp_map_expr_symbols(e->arena, *expr)) return nodes;
  e->renamed = 1;
  *expr = made;
  return x;
}

SETTP_MAP_APART int32_t settp_map_print_first(settp_map_engine *e, int32_t l) {
  settp_map_part *part;
  int32_t n = 0, room, left, work = l, i, j, nodes = 0, quotients, xors, again;
  int64_t constant;
  sett_expr sum = 0;
  ++e->prints;
  if (e->lin[l].count == 1 && !e->lin[l].constant && e->term[e->lin[l].first].k == 1) {
    int32_t q = e->term[e->lin[l].first].atom;
    int variable = e->atom[q].kind == SETTP_MAP_ATOM_VAR && e->atom[q].c == 1;
    again = e->lin[l].printing;
    if (variable || (!e->xors && settp_map_lone_quotient(e, l))) {
      e->lin[l].printing = 1;
      nodes = settp_map_atom_print(e, q);
      sum = e->atom[q].expr;
      if (nodes && !variable && !again) {
        e->lin[l].expr = sum;
        e->lin[l].nodes = nodes;
        nodes = settp_map_print_operation(e, l, nodes, &sum);
      }
      e->lin[l].expr = sum;
      return e->lin[l].nodes = nodes;
    }
  }
  if (!e->lin[l].count) {
    e->lin[l].expr = sett_map_constant(e->arena, e->lin[l].constant);
    if (e->lin[l].expr < SETT_MAP_ERROR_COUNT) e->error = SETT_MAP_ERROR_FULL;
    return e->error ? 0 : (e->lin[l].nodes = 1);
  }
  room = e->lin[l].count * 3 + 20;
  part = (settp_map_part *)settp_map_take(e->arena, (size_t)room * sizeof *part);
  if (!part) {
    e->error = SETT_MAP_ERROR_FULL;
    return 0;
  }
  for (i = 0; i < e->lin[l].count && e->atom[e->term[e->lin[l].first + i].atom].kind != SETTP_MAP_ATOM_QUOTIENT; ++i) {}
  quotients = i < e->lin[l].count;
  again = e->lin[l].printing;
  e->lin[l].printing = 1;
  if (e->xors && !again)
    for (; n < e->lin[l].count && (left = settp_map_fold_xor(e, work, part + n, 0)) >= 0; ++n) work = left;
  xors = n;
  for (; quotients && e->lattices && (left = settp_map_fold_lattice(e, work, 1, part + n)) >= 0; ++n) work = left;
  if (e->lin[l].count > 1 && settp_map_has_products(e, work))
    for (; n < 16 && settp_map_print_searches(e); ++n, work = left) {
      left = settp_map_fold_rest(e, work, part + n);
      if (left < 0) left = settp_map_fold_factor(e, work, part + n);
      if (left < 0) break;
    }
  if (quotients && e->lin[l].count > 1) {
    if (settp_map_print_searches(e)) settp_map_find_digits(e, work);
    for (; n < 16 && settp_map_print_searches(e) && (left = settp_map_fold_mod(e, work, part + n)) >= 0; ++n)
      work = left;
  }
  for (; quotients && !settp_map_lone_quotient(e, work) && settp_map_print_searches(e) && n < 16 + e->lin[l].count &&
         (left = settp_map_fold_quotient(e, work, part + n)) >= 0;
       ++n)
    work = left;
  for (; e->lattices && (left = settp_map_fold_lattice(e, work, 0, part + n)) >= 0; ++n) work = left;
  constant = e->lin[work].constant;
  for (i = 0; i < e->lin[work].count && n < room; ++i) {
    settp_map_term t = e->term[e->lin[work].first + i];
    const settp_map_atom *x = e->atom + t.atom;
    if (x->kind == SETTP_MAP_ATOM_VAR && x->c != 1 && t.k % x->c == 0) {
      int64_t k = t.k / x->c, away;
      if (!settp_map_mul(k, -x->r, &away) && !settp_map_add(constant, away, &away)) {
        constant = away;
        part[n].k = k;
        part[n].nodes = 1;
        part[n++].expr = sett_map_var(e->arena, x->a);
        continue;
      }
    }
    if (settp_map_fold_product(e, t, part + n) || settp_map_fold_ceiling(e, t, &constant, part + n)) {
      ++n;
      continue;
    }
    part[n].nodes = settp_map_atom_print(e, t.atom);
    part[n].expr = e->atom[t.atom].expr;
    part[n++].k = t.k;
  }
  for (i = 0; i < n; ++i) /* merge atoms that have the same print */
    for (j = i + 1; j < n; ++j) {
      int64_t k;
      if (part[i].expr != part[j].expr || settp_map_add(part[i].k, part[j].k, &k)) continue;
      part[i].k = k;
      part[j--] = part[--n];
    }
  for (i = 0; i < n; ++i)
    if (!part[i].k) part[i--] = part[--n];
  if (n > 1) n = settp_map_fold_coefficients(e, part, n);
  for (i = 0; i < n; ++i) {
    if (part[i].expr < SETT_MAP_ERROR_COUNT || !part[i].nodes) {
      if (!e->error) e->error = SETT_MAP_ERROR_FULL;
      return 0;
    }
    nodes += part[i].nodes + settp_map_factor_nodes(part[i].k) + 1;
    if (nodes > 1 << 28) nodes = 1 << 28;
    if (part[i].k != 1 && part[i].k != -1) {
      part[i].expr = sett_map_mul(e->arena, part[i].expr, sett_map_constant(e->arena, part[i].k));
      part[i].k = part[i].k < 0 ? -1 : 1;
      part[i].nodes = 0; /* the coefficient is now part of the expression */
    }
  }
  for (i = 1; i < n; ++i) { /* insertion sort */
    settp_map_part p = part[i];
    for (j = i; j > 0 && settp_map_order(e->arena, p.expr, part[j - 1].expr) < 0; --j) part[j] = part[j - 1];
    part[j] = p;
  }
  for (i = 0; i < n && part[i].k < 0; ++i) {}
  nodes += n && i == n && constant <= 0;
  if (i && i < n) { /* put a positive summand first */
    settp_map_part p = part[i];
    for (; i > 0; --i) part[i] = part[i - 1];
    part[0] = p;
  }
  for (i = 0; i < n; ++i) {
    sett_expr x = part[i].expr;
    if (part[i].k < 0 && part[i].nodes) x = sett_map_mul(e->arena, x, sett_map_constant(e->arena, -1));
    sum = i ? sett_map_add(e->arena, sum, x) : x;
  }
  if (constant || !n) {
    sum =
        n ? sett_map_add(e->arena, sum, sett_map_constant(e->arena, constant)) : sett_map_constant(e->arena, constant);
    nodes += 2;
  }
  if (sum < SETT_MAP_ERROR_COUNT) {
    if (!e->error) e->error = sum ? (int)sum : SETT_MAP_ERROR_FULL;
    return 0;
  }
  nodes = nodes > 1 ? nodes - 1 : 1;
  e->lin[l].expr = sum; /* store this print before fields are printed, because the source of a field may contain l */
  e->lin[l].nodes = nodes;
  if (e->xors && quotients && !xors && !again) nodes = settp_map_print_flipped(e, l, nodes, &sum);
  if (!again) nodes = settp_map_print_operation(e, l, nodes, &sum);
  e->lin[l].expr = sum;
  e->lin[l].nodes = nodes;
  return e->lin[l].nodes;
}

/* ---- constraints ---- */

enum { SETTP_MAP_KEEP, SETTP_MAP_DROP, SETTP_MAP_EMPTY };

typedef struct settp_map_domain {
  sett_map_variable *bounds;
  int64_t *modulus, *residue;
  int changed, empty, xors; /* `xors`: the value of the engine's field `xors` at its start */
  int32_t work;             /* number of forms that may still be made; all searches end when it is 0 */
  /* 1 if bounds and constraints come from an earlier round. Enumerating constraints again would change nothing, so it is left out */
  int done;
  int same;        /* 1 if this round left bounds and constraints unchanged */
  int64_t *points; /* space for the sample points of the earlier round, or NULL */
  int found;       /* number of sample points, or SETTP_MAP_NONE if they were not drawn */
} settp_map_domain;

/* Return 1 if the map already has this domain: its bounds are the same, and its constraints are exactly `out` and the residue classes of the domain. */
SETT_INLINE int settp_map_same_domain(sett_map_arena *arena, const sett_map *map, const settp_map_domain *d,
                                      const sett_map_constraint *out, int n) {
  sett_map_constraint c;
  int i = 0, j, variable, left = map->constraints;
  for (variable = 0; variable < sett_map_variables(*map); ++variable)
    if (d->bounds[variable].lo != map->variable[variable].lo || d->bounds[variable].hi != map->variable[variable].hi)
      return 0;
  for (variable = 0; i < n || variable < sett_map_variables(*map);) {
    if (i < n) {
      c = out[i++];
    } else {
      int v = variable++;
      if (d->modulus[v] == 1 || d->bounds[v].lo == d->bounds[v].hi) continue;
      c.expr = sett_map_mod(arena, sett_map_var(arena, v), sett_map_constant(arena, d->modulus[v]));
      c.lo = c.hi = settp_map_mod(d->residue[v], d->modulus[v]);
    }
    for (j = 0; j < map->constraints &&
                (map->constraint[j].expr != c.expr || map->constraint[j].lo != c.lo || map->constraint[j].hi != c.hi);
         ++j) {}
    if (j == map->constraints || !left--) return 0;
  }
  return !left;
}

/* Narrow variable i to [lo, hi], rounded to its residue class. */
SETT_INLINE void settp_map_cut(settp_map_domain *d, int i, int64_t lo, int64_t hi) {
  sett_map_variable *v = d->bounds + i;
  int64_t m = d->modulus[i];
  if (lo < v->lo) lo = v->lo;
  if (hi > v->hi) hi = v->hi;
  if (lo <= hi && m > 1) {
    int64_t up = settp_map_mod(settp_map_mod(d->residue[i], m) - settp_map_mod(lo, m), m),
            down = settp_map_mod(settp_map_mod(hi, m) - settp_map_mod(d->residue[i], m), m);
    if ((lo != INT64_MIN && settp_map_add(lo, up, &lo)) || (hi != INT64_MAX && settp_map_add(hi, -down, &hi))) {
      d->empty = 1;
      return;
    }
  }
  if (lo > hi) {
    d->empty = 1;
    return;
  }
  if (lo != v->lo || hi != v->hi) d->changed = 1;
  v->lo = lo;
  v->hi = hi;
}

/* C4: k * x + rest in [lo, hi] narrows x to [ceil((lo - max rest) / k), floor((hi - min rest) / k)] for k > 0. A quotient passes its new bounds on
 * to its dividend. */
SETT_INLINE void settp_map_cut_atoms(settp_map_engine *e, settp_map_domain *d, int32_t p, int64_t lo, int64_t hi,
                                     int depth) {
  int32_t i, f, tried;
  if (p < 0) return;
  for (i = 0; i < e->lin[p].count && !d->empty && !e->error; ++i) {
    settp_map_term t = e->term[e->lin[p].first + i];
    int32_t rest = settp_map_lin_plus(e, p, t.atom, -t.k);
    sett_map_interval r;
    int64_t low, high;
    const settp_map_atom *x = e->atom + t.atom;
    if (rest < 0 || t.k == INT64_MIN) continue;
    r = e->lin[p].count <= 6 ? settp_map_lin_interval(e, rest)
                             : settp_map_lin_interval_fact(e, rest, settp_map_lin_sum(e, rest));
    low = lo == INT64_MIN || r.hi == INT64_MAX ? INT64_MIN : settp_map_sat_add(lo, settp_map_neg(r.hi));
    high = hi == INT64_MAX || r.lo == INT64_MIN ? INT64_MAX : settp_map_sat_add(hi, settp_map_neg(r.lo));
    if (low == INT64_MAX || high == INT64_MIN) continue;
    r = settp_map_interval_divide(settp_map_interval(low, high), t.k);
    if (r.lo <= x->lo && r.hi >= x->hi) continue;
    low = r.lo < x->lo ? x->lo : r.lo;
    high = r.hi > x->hi ? x->hi : r.hi;
    if (low > high) {
      d->empty = 1;
      return;
    }
    if (x->kind == SETTP_MAP_ATOM_VAR) {
      settp_map_cut(d, x->a, settp_map_sat_add(settp_map_sat_mul(low, x->c), x->r),
                    settp_map_sat_add(settp_map_sat_mul(high, x->c), x->r));
    } else if (x->kind == SETTP_MAP_ATOM_QUOTIENT && depth < 4) {
      for (f = x->form, tried = 0; f >= 0 && tried < 3; f = e->form[f].next, ++tried) {
        settp_map_form form = e->form[f];
        int64_t a, b, k0 = e->lin[form.lin].constant;
        if (low == INT64_MIN || high == INT64_MAX) continue;
        if (settp_map_mul(low, form.c, &a) || settp_map_mul(high, form.c, &b) || settp_map_add(b, form.c - 1, &b))
          continue;
        if (settp_map_add(a, -k0, &a) || settp_map_add(b, -k0, &b)) continue;
        settp_map_cut_atoms(e, d, settp_map_lin_scale(e, form.lin, 1, -k0), a, b, depth + 1);
      }
    }
  }
}

/* Return u with a * u = 1 modulo m, for coprime a and m. */
SETT_INLINE int64_t settp_map_inverse(int64_t a, int64_t m) {
  int64_t r0 = m, r1 = settp_map_mod(a, m), u0 = 0, u1 = 1;
  while (r1) {
    int64_t q = r0 / r1, t = r0 - q * r1;
    r0 = r1, r1 = t;
    t = u0 - q * u1;
    u0 = u1, u1 = t;
  }
  return settp_map_mod(u0, m);
}

/* Narrow the residue class of variable i by y = s modulo m, where x = modulus * y + residue. */
SETT_INLINE void settp_map_cut_class(settp_map_domain *d, int i, int64_t s, int64_t m) {
  int64_t modulus, residue;
  if (m <= 1) return;
  /* the class is not narrowed; this loses only precision */
  if (settp_map_mul(d->modulus[i], m, &modulus) || modulus > (int64_t)1 << 40) return;
  if (settp_map_mul(d->modulus[i], settp_map_mod(s, m), &residue) || settp_map_add(residue, d->residue[i], &residue))
    return;
  d->modulus[i] = modulus;
  d->residue[i] = residue;
  d->changed = 1;
  settp_map_cut(d, i, d->bounds[i].lo, d->bounds[i].hi);
}

/* C5: narrow a variable by the constraint lo <= p <= hi. Here p = t * (k * y + b - m * q) with q = floor((k * y + b) / m), so p is t times a
 * remainder by m, and y is the atom of the variable. If only one residue of the variable is possible, it becomes the variable's residue class. If
 * several are possible, the bounds of the variable move to values with a possible residue. */
SETT_INLINE void settp_map_cut_residues(settp_map_engine *e, settp_map_domain *d, int32_t p, int64_t lo, int64_t hi) {
  settp_map_term y, q;
  int32_t f;
  if (e->lin[p].count != 2 || lo == INT64_MIN || hi == INT64_MAX) return;
  y = e->term[e->lin[p].first];
  q = e->term[e->lin[p].first + 1];
  if (e->atom[y.atom].kind != SETTP_MAP_ATOM_VAR) {
    settp_map_term t = y;
    y = q;
    q = t;
  }
  if (e->atom[y.atom].kind != SETTP_MAP_ATOM_VAR || e->atom[q.atom].kind != SETTP_MAP_ATOM_QUOTIENT || q.k == INT64_MIN)
    return;
  /* y was made for an older residue class of the variable: give up if this class was narrowed in this round */
  if (d->modulus[e->atom[y.atom].a] != e->atom[y.atom].c) return;
  for (f = e->atom[q.atom].form; f >= 0 && !d->empty; f = e->form[f].next) {
    settp_map_form form = e->form[f];
    int64_t t, k, b, away, low, high, m = form.c, g;
    sett_map_interval in;
    int variable = e->atom[y.atom].a;
    if (q.k % m || e->lin[form.lin].count != 1 || e->term[e->lin[form.lin].first].atom != y.atom) continue;
    t = -(q.k / m);
    k = e->term[e->lin[form.lin].first].k;
    b = e->lin[form.lin].constant;
    if (settp_map_mul(t, k, &away) || away != y.k || settp_map_mul(t, b, &away)) continue;
    if (settp_map_add(lo, away, &low) || settp_map_add(hi, away, &high) || low == INT64_MIN || m > (int64_t)1 << 31)
      continue;
    in = settp_map_interval_divide(settp_map_interval(low, high), t);
    low = in.lo < 0 ? 0 : in.lo;
    high = in.hi > m - 1 ? m - 1 : in.hi;
    k = settp_map_mod(k, m);
    b = settp_map_mod(b, m);
    g = settp_map_gcd(k, m);
    low += settp_map_mod(b - low, g); /* all values of k * y + b are congruent to b modulo g */
    high -= settp_map_mod(high - b, g);
    if (low > high) {
      d->empty = 1;
    } else if (low == high) {
      int64_t n = m / g;
      settp_map_cut_class(d, variable, (settp_map_mod((low - b) / g, n) * settp_map_inverse(k / g, n)) % n, n);
    } else { /* several residues are allowed: move each bound inwards to a value with an allowed residue */
      int64_t first = e->atom[y.atom].lo, last = e->atom[y.atom].hi, r, steps;
      for (steps = 0; steps < 4096 && first < last && first != INT64_MIN; ++steps, ++first) {
        r = settp_map_mod(settp_map_mod(first, m) * k + b, m);
        if (r >= low && r <= high) break;
      }
      for (steps = 0; steps < 4096 && last > first && last != INT64_MAX; ++steps, --last) {
        r = settp_map_mod(settp_map_mod(last, m) * k + b, m);
        if (r >= low && r <= high) break;
      }
      if (settp_map_mul(first, e->atom[y.atom].c, &first) || settp_map_add(first, e->atom[y.atom].r, &first))
        first = INT64_MIN;
      if (settp_map_mul(last, e->atom[y.atom].c, &last) || settp_map_add(last, e->atom[y.atom].r, &last))
        last = INT64_MAX;
      settp_map_cut(d, variable, first, last);
    }
    return;
  }
}

/* Record the fact that a form is in the interval r. The form is primitive and has no constant. */
SETT_INLINE void settp_map_fact_add(settp_map_engine *e, int32_t p, sett_map_interval r) {
  int i;
  for (i = 0; i < e->facts && e->fact[i].lin != p; ++i) {}
  if (i == e->fact_room) return;
  if (i == e->facts) {
    e->fact[e->facts].lin = p;
    e->fact[e->facts++].in = r;
  } else {
    e->fact[i].in = settp_map_interval_meet(e->fact[i].in, r);
  }
}

/* Record the fact that a form is in [lo, hi]. For a minimum or maximum, also record what C9 says about its sides. */
SETT_INLINE void settp_map_fact_lin(settp_map_engine *e, int32_t l, int64_t lo, int64_t hi, int depth) {
  int32_t side[2], p, i;
  int count, op, j;
  int64_t k = 1, low = lo, high = hi, n;
  if (!e->lin[l].count) return;
  i = settp_map_lattice_at(e, l, &count);
  op = i < 0 || depth > 4 ? 0 : settp_map_lattice_sides(e, l, i, side, side + 1);
  for (j = 0; op && j < 2; ++j)
    settp_map_fact_lin(e, side[j], op == SETTP_MAP_MIN ? lo : INT64_MIN, op == SETTP_MAP_MAX ? hi : INT64_MAX,
                       depth + 1);
  p = settp_map_lin_primitive(e, l, &k);
  n = settp_map_neg(e->lin[l].constant);
  if (p < 0 || (lo != INT64_MIN && settp_map_add(lo, n, &low)) || (hi != INT64_MAX && settp_map_add(hi, n, &high)))
    return;
  settp_map_fact_add(e, p, settp_map_interval_divide(settp_map_interval(low, high), k));
}

/* C7: the form p has the interval r. Narrow the digits F - m * q in p, with q = F floordiv m, by this interval. If d is not NULL, a digit of one
 * variable narrows the variable's residue class. If d is NULL, each narrowed digit is recorded as a fact. */
SETT_INLINE void settp_map_cut_digits(settp_map_engine *e, settp_map_domain *d, int32_t p, sett_map_interval r) {
  int32_t i, f;
  for (i = 0; i < e->lin[p].count && !e->error; ++i) {
    settp_map_term q = e->term[e->lin[p].first + i];
    if (e->atom[q.atom].kind != SETTP_MAP_ATOM_QUOTIENT || q.k == INT64_MIN) continue;
    for (f = e->atom[q.atom].form; f >= 0; f = e->form[f].next) {
      settp_map_form form = e->form[f];
      int32_t rest, digit;
      int64_t t = -(q.k / form.c), g;
      sett_map_interval x;
      if (q.k % form.c || settp_map_lin_shared(e, form.lin, p) < e->lin[form.lin].count ||
          (d && e->lin[form.lin].count != 1))
        continue;
      rest = settp_map_lin_take(e, p, form.lin, form.c, q.atom, t, e->lin[p].count - 1);
      digit = settp_map_lin_plus(e, form.lin, q.atom, -form.c);
      if (rest < 0 || digit < 0 || !e->lin[rest].count || !e->lin[digit].count) continue;
      if (!settp_map_interval_less(r, settp_map_lin_interval(e, rest), &x)) continue;
      x = settp_map_interval_divide(x, t);
      if (x.lo <= 0 && x.hi >= form.c - 1) continue;
      g = settp_map_neg(e->lin[digit].constant);
      x = settp_map_interval_meet(x, settp_map_interval(0, form.c - 1));
      if (settp_map_add(x.lo, g, &x.lo) || settp_map_add(x.hi, g, &x.hi)) continue;
      digit = settp_map_lin_scale(e, digit, 1, g);
      if (d) {
        if (x.lo > x.hi) d->empty = 1;
        else settp_map_cut_residues(e, d, digit, x.lo, x.hi);
        if (d->empty) return;
        continue;
      }
      digit = settp_map_lin_primitive(e, digit, &g);
      if (digit >= 0 && g != INT64_MIN) settp_map_fact_add(e, digit, settp_map_interval_divide(x, g));
    }
  }
}

/* Narrow the atoms of form p, which is in [lo, hi], by C4. If p has a minimum or maximum, narrow its two sides by C9 instead. */
SETT_INLINE void settp_map_cut_sides(settp_map_engine *e, settp_map_domain *d, int32_t p, int64_t lo, int64_t hi,
                                     int depth) {
  int32_t side[2];
  int count, op, j;
  int32_t i = settp_map_lattice_at(e, p, &count);
  op = i < 0 || depth > 4 ? 0 : settp_map_lattice_sides(e, p, i, side, side + 1);
  if (!op) settp_map_cut_atoms(e, d, p, lo, hi, 0);
  for (j = 0; op && j < 2 && !d->empty; ++j) {
    sett_map_interval r = settp_map_lin_interval(e, side[!j]);
    settp_map_cut_sides(e, d, side[j], op == SETTP_MAP_MIN || r.hi < lo ? lo : INT64_MIN,
                        op == SETTP_MAP_MAX || r.lo > hi ? hi : INT64_MAX, depth + 1);
  }
}

/* C9: p is a maximum of x and y. Replace the constraint that p is in [*lo, *hi] by a constraint on x alone: return x, and write its bounds to *lo
 * and *hi. Two conditions must hold: y is at most *hi; and either y is below *lo, or p is never below *lo. Both sides of p are tried as x. For a
 * minimum, lower and upper bounds exchange their roles. Return SETTP_MAP_NONE if p is of another kind, or if the conditions hold for neither side. */
SETT_INLINE int32_t settp_map_one_side(settp_map_engine *e, int32_t p, int64_t *lo, int64_t *hi) {
  int32_t side[2];
  int count, op, j;
  int32_t i = settp_map_lattice_at(e, p, &count);
  sett_map_interval r = settp_map_lin_interval(e, p), x, y;
  op = i < 0 ? 0 : settp_map_lattice_sides(e, p, i, side, side + 1);
  for (j = 0; op && j < 2; ++j) {
    x = settp_map_lin_interval(e, side[j]);
    y = settp_map_lin_interval(e, side[!j]);
    if (op == SETTP_MAP_MAX ? y.hi > *hi || (r.lo < *lo && y.hi >= *lo) : y.lo < *lo || (r.hi > *hi && y.lo <= *hi))
      continue;
    /* if p satisfies a bound everywhere, this bound does not narrow x: replace it by x's own bound */
    if (r.lo >= *lo && x.lo < *lo) *lo = x.lo;
    if (r.hi <= *hi && x.hi > *hi) *hi = x.hi;
    return side[j];
  }
  return SETTP_MAP_NONE;
}

/* Bring the constraint *form in [*low, *high] to its cheapest primitive form, and narrow the bounds of variables by it. C1: return SETTP_MAP_DROP if
 * the constraint is implied, SETTP_MAP_EMPTY if it cannot hold (the map is then KNOWN EMPTY), otherwise SETTP_MAP_KEEP. */
SETT_INLINE int settp_map_constrain(settp_map_engine *e, settp_map_domain *d, int32_t *form, int64_t *low,
                                    int64_t *high) {
  int32_t p = *form, i, j, f;
  int64_t lo = *low, hi = *high, k, g;
  int steps;
  for (steps = 0; steps < 32 && !e->error; ++steps) {
    sett_map_interval r;
    int32_t next = SETTP_MAP_NONE;
    if (!e->lin[p].count)
      return e->lin[p].constant >= lo && e->lin[p].constant <= hi ? SETTP_MAP_DROP : SETTP_MAP_EMPTY;
    if (settp_map_prove(e, p, lo, hi)) return SETTP_MAP_DROP;
    r = settp_map_lin_interval(e, p);
    if (r.lo >= lo && r.hi <= hi) return SETTP_MAP_DROP;
    if (r.lo > hi || r.hi < lo) return SETTP_MAP_EMPTY;
    k = e->lin[p].constant;
    if (k == INT64_MIN || (lo != INT64_MIN && settp_map_add(lo, -k, &lo)) ||
        (hi != INT64_MAX && settp_map_add(hi, -k, &hi)))
      return SETTP_MAP_KEEP;
    next = settp_map_lin_primitive(e, p, &g);
    if (next < 0) return SETTP_MAP_KEEP;
    p = next;
    r = settp_map_interval_divide(settp_map_interval(lo, hi), g);
    if (r.lo > r.hi) return SETTP_MAP_EMPTY;
    *form = p;
    *low = lo = r.lo;
    *high = hi = r.hi;
    r = settp_map_lin_interval(e, p);
    settp_map_cut_sides(e, d, p, lo, hi, 0);
    settp_map_cut_residues(e, d, p, lo, hi);
    if (lo != INT64_MIN && hi != INT64_MAX) settp_map_cut_digits(e, d, p, settp_map_interval(lo, hi));
    if (d->empty) return SETTP_MAP_EMPTY;
    next = e->lattices ? settp_map_one_side(e, p, &lo, &hi) : SETTP_MAP_NONE;
    if (next >= 0) {
      p = next;
      continue;
    }
    if (lo == INT64_MIN || hi == INT64_MAX) return SETTP_MAP_KEEP;
    /* C2: Q(F, m) + A in [lo, hi] means that F + m * A is in [lo * m, hi * m + m - 1] */
    for (i = 0; i < e->lin[p].count && next < 0; ++i) {
      settp_map_term t = e->term[e->lin[p].first + i];
      if (e->atom[t.atom].kind != SETTP_MAP_ATOM_QUOTIENT || (t.k != 1 && t.k != -1)) continue;
      for (f = e->atom[t.atom].form; f >= 0; f = e->form[f].next) {
        settp_map_form c = e->form[f];
        int64_t a = t.k > 0 ? lo : settp_map_neg(hi), b = t.k > 0 ? hi : settp_map_neg(lo);
        int32_t whole, rest = settp_map_lin_mix(e, p, t.k, settp_map_lin_atom(e, t.atom, 1, 0), -1, 0);
        whole = settp_map_lin_mix(e, rest, c.c, c.lin, 1, 0);
        if (whole < 0 || settp_map_mul(a, c.c, &a) || settp_map_mul(b, c.c, &b) || settp_map_add(b, c.c - 1, &b))
          continue;
        if (!settp_map_cheaper(settp_map_lin_cost(e, whole), settp_map_lin_cost(e, p))) continue;
        next = whole;
        lo = a;
        hi = b;
        break;
      }
    }
    /* C3: p in [g * a, g * b + g - 1] means that Q(p, g) is in [a, b] */
    for (i = 0; i < e->lin[p].count && next < 0; ++i)
      for (j = i; j < e->lin[p].count && next < 0; ++j) {
        int64_t a, b;
        int32_t whole;
        g = settp_map_gcd(e->term[e->lin[p].first + i].k, e->term[e->lin[p].first + j].k);
        if (g < 2) continue;
        if (lo % g == 0) a = lo / g;
        else if (r.lo >= lo && r.lo != INT64_MIN) a = settp_map_floor(r.lo, g);
        else continue;
        if (settp_map_mod(hi, g) == g - 1) b = settp_map_floor(hi, g);
        else if (r.hi <= hi && r.hi != INT64_MAX) b = settp_map_floor(r.hi, g);
        else continue;
        whole = settp_map_divide(e, p, g);
        if (whole < 0 || !settp_map_cheaper(settp_map_lin_cost(e, whole), settp_map_lin_cost(e, p))) continue;
        next = whole;
        lo = a;
        hi = b;
      }
    if (next < 0) return SETTP_MAP_KEEP;
    p = next;
  }
  return SETTP_MAP_KEEP;
}

/* ======================================================================= bodies: simplify ==== */

/* Constraints compiled to steps, for tests at many points. */
typedef struct settp_map_test_step {
  /* `op` is applied to value[a] and value[b] (SETTP_MAP_VAR: the result is the value of variable `a`); value[to] receives the result */
  uint32_t op, a, b, to;
} settp_map_test_step;

typedef struct settp_map_test {
  settp_map_test_step *step;
  int64_t *value;
  uint32_t *end; /* for each constraint, 1 + the index of its last step */
  const sett_map_constraint *constraint;
  int constraints;
} settp_map_test;

/* Compile the constraints. `list` has their nodes in the order of the constraints. Return 0 if the arena is full. */
SETT_INLINE int settp_map_test_make(sett_map_arena *arena, settp_map_test *t, const settp_map_list *list,
                                    const sett_map_constraint *constraint, int constraints) {
  uint32_t i, n = 0;
  int c = 0;
  t->step = (settp_map_test_step *)settp_map_take(arena, (size_t)list->count * sizeof *t->step + 8);
  t->value = (int64_t *)settp_map_take(arena, (size_t)list->count * sizeof *t->value + 8);
  t->end = (uint32_t *)settp_map_take(arena, (size_t)constraints * sizeof *t->end + 8);
  t->constraint = constraint;
  t->constraints = constraints;
  if (!t->step || !t->value || !t->end) return 0;
  for (i = 0; i < list->count; ++i) {
    const settp_map_node *x = settp_map_at(arena, list->handle[i]);
    for (; c < constraints && settp_map_at(arena, constraint[c].expr)->mark < i; ++c) t->end[c] = n;
    if (x->op == SETTP_MAP_CONST) {
      t->value[i] = x->value;
      continue;
    }
    t->step[n].op = x->op;
    t->step[n].to = i;
    t->step[n].a = x->op == SETTP_MAP_VAR ? (uint32_t)x->value : settp_map_at(arena, settp_map_a(x))->mark;
    t->step[n].b = x->op == SETTP_MAP_VAR ? 0 : settp_map_at(arena, settp_map_b(x))->mark;
    ++n;
  }
  for (; c < constraints; ++c) t->end[c] = n;
  return 1;
}

/* Return 1 if all constraints hold at the point, 0 if one does not hold, -1 if one has no value. */
SETT_INLINE int settp_map_test_at(const sett_map_arena *arena, const settp_map_test *t, const int64_t *point) {
  const settp_map_test_step *s = t->step;
  int c;
  for (c = 0; c < t->constraints; ++c) {
    const settp_map_test_step *end = t->step + t->end[c];
    int64_t v;
    for (; s < end; ++s) {
      int64_t a, b, *to = t->value + s->to;
      if (s->op == SETTP_MAP_VAR) {
        *to = point[s->a];
        continue;
      }
      a = t->value[s->a];
      b = t->value[s->b];
      if (s->op == SETTP_MAP_ADD) {
        if (settp_map_add(a, b, to)) return -1;
      } else if (s->op == SETTP_MAP_MUL) {
        if (settp_map_mul(a, b, to)) return -1;
      } else if (s->op <= SETTP_MAP_FLOORDIV && b > 0) {
        int64_t q = settp_map_floor_short(a, b);
        *to = s->op == SETTP_MAP_MOD ? (int64_t)((uint64_t)a - (uint64_t)q * (uint64_t)b) : q;
      } else if (settp_map_apply((int)s->op, a, b, to)) {
        return -1;
      }
    }
    v = t->value[settp_map_at(arena, t->constraint[c].expr)->mark];
    if (v < t->constraint[c].lo || v > t->constraint[c].hi) return 0;
  }
  return 1;
}

/* C6: enumerate a constraint that has few points in the box of its variables. Narrow the variables to the bounding box of the points where it holds;
 * narrow a single variable to its residue class, too. Return 1 if the constraint holds at all points. */
SETT_INLINE int settp_map_enumerate(sett_map_arena *arena, const sett_map *map, const sett_map_constraint *c,
                                    int constraints, settp_map_domain *d) {
  enum { SETTP_MAP_MOST_VARIABLES = 8, SETTP_MAP_MOST_POINTS = 4096, SETTP_MAP_MOST_WORK = 1 << 17 };
  settp_map_list list;
  sett_map_mark mark = sett_map_arena_mark(arena);
  int at[SETTP_MAP_MOST_VARIABLES], count = 0, i, n = sett_map_variables(*map), all = 1, failed, even = 1, done,
                                    mirror = 0;
  int64_t first[SETTP_MAP_MOST_VARIABLES], last[SETTP_MAP_MOST_VARIABLES], *point, points = 1, hits = 0, gap = 0,
                                                                                   previous = 0;
  settp_map_test test;
  uint32_t k;
  failed = settp_map_list_of_constraints(arena, &list, c, constraints);
  for (k = 0; k < list.count && !failed; ++k) {
    const settp_map_node *node = settp_map_at(arena, list.handle[k]);
    const sett_map_variable *v;
    if (node->op != SETTP_MAP_VAR) continue;
    v = d->bounds + node->value;
    if (v->lo == v->hi) continue;
    if (count == SETTP_MAP_MOST_VARIABLES || v->lo < -((int64_t)1 << 60) || v->hi > (int64_t)1 << 60) failed = 1;
    else points = settp_map_sat_mul(points, (v->hi - v->lo) / d->modulus[node->value] + 1);
    if (!failed) at[count++] = (int)node->value;
  }
  point = (int64_t *)settp_map_take(arena, (size_t)n * sizeof *point + 8);
  if (failed || !count || points > SETTP_MAP_MOST_POINTS || points * list.count > SETTP_MAP_MOST_WORK || !point ||
      !settp_map_test_make(arena, &test, &list, c, constraints)) {
    sett_map_arena_rewind(arena, mark);
    return 0;
  }
  for (i = 0; i < n; ++i) point[i] = d->bounds[i].lo;
  /* test points from both ends of the box in turn: the bounding box of the points inside is then often complete after a few tests */
  for (done = 0; !done && !failed; ++mirror) {
    int back = count > 1 && mirror % 2, ok;
    if (back)
      for (i = 0; i < count; ++i) point[at[i]] = d->bounds[at[i]].lo + (d->bounds[at[i]].hi - point[at[i]]);
    ok = settp_map_test_at(arena, &test, point);
    failed = ok < 0;
    if (!ok) {
      all = 0;
    } else if (!failed) {
      for (i = 0; i < count; ++i) {
        if (!hits || point[at[i]] < first[i]) first[i] = point[at[i]];
        if (!hits || point[at[i]] > last[i]) last[i] = point[at[i]];
      }
      if (hits == 1) gap = point[at[0]] - previous;
      else if (hits && point[at[0]] - previous != gap) even = 0;
      previous = point[at[0]];
      ++hits;
    }
    for (i = 0; i < count && back; ++i) point[at[i]] = d->bounds[at[i]].lo + (d->bounds[at[i]].hi - point[at[i]]);
    if (!all && hits && (count > 1 || !even)) { /* further points cannot change the result */
      for (i = 0; i < count && first[i] == d->bounds[at[i]].lo && last[i] == d->bounds[at[i]].hi; ++i) {}
      if (i == count) break;
    }
    if (count > 1 && !back) continue;
    for (i = count - 1; i >= 0 && point[at[i]] > d->bounds[at[i]].hi - d->modulus[at[i]]; --i)
      point[at[i]] = d->bounds[at[i]].lo;
    if (i < 0) done = 1;
    else point[at[i]] += d->modulus[at[i]];
    if (count > 1) {
      points -= 2;
      done |= points <= 0;
    }
  }
  if (!failed && !hits) d->empty = 1;
  if (!failed && hits && !all) {
    if (count == 1 && even && gap > d->modulus[at[0]]) {
      d->modulus[at[0]] = gap;
      d->residue[at[0]] = settp_map_mod(first[0], gap);
      d->changed = 1;
    }
    for (i = 0; i < count; ++i) settp_map_cut(d, at[i], first[i], last[i]);
  }
  sett_map_arena_rewind(arena, mark);
  return !failed && hits && all;
}

typedef struct settp_map_kept { /* a constraint that remains: form in [lo, hi] */
  int64_t lo, hi;
  int32_t form;
} settp_map_kept;

/* Add a constraint to the list; if the list has a constraint on the same form, intersect the two instead. Return the new number of constraints. */
SETT_INLINE int settp_map_keep(settp_map_domain *d, settp_map_kept *kept, int n, settp_map_kept one) {
  int j;
  for (j = 0; j < n && kept[j].form != one.form; ++j) {}
  if (j == n) {
    kept[n] = one;
    return n + 1;
  }
  if (kept[j].lo < one.lo) kept[j].lo = one.lo;
  if (kept[j].hi > one.hi) kept[j].hi = one.hi;
  d->empty |= kept[j].lo > kept[j].hi;
  return n;
}

/* For l = g * B + k + y, where y is s times the form r: return B + floor((k + y) / g) if floor((k + y) / g) is the same number for all y in [low,
 * high]. Otherwise return SETTP_MAP_NONE. */
SETT_INLINE int32_t settp_map_without(settp_map_engine *e, int32_t l, int32_t r, int64_t s, int64_t g, int64_t low,
                                      int64_t high) {
  int32_t rest = settp_map_lin_mix(e, l, 1, r, -s, 0);
  int64_t k;
  if (rest < 0 || settp_map_lin_gcd_with(e, rest, g) != g) return SETTP_MAP_NONE;
  k = e->lin[rest].constant;
  if (settp_map_add(k, low, &low) || settp_map_add(k, high, &high) ||
      settp_map_floor(low, g) != settp_map_floor(high, g))
    return SETTP_MAP_NONE;
  return settp_map_lin_shrink(e, rest, g, settp_map_floor(low, g));
}

/* C8: simplify the constraint lo <= g * A + y <= hi, where y is s times the form of another constraint. That constraint remains, and gives an interval
 * [low, high] of y. If high - low < g, the first constraint becomes a constraint on A alone. y is also removed from the quotients in A, as in R0.
 * Return 0 if this does not apply or is not cheaper. */
SETT_INLINE int settp_map_constrain_by(settp_map_engine *e, settp_map_kept *one, const settp_map_kept *other,
                                       int64_t s) {
  sett_map_interval y = settp_map_interval_divide(settp_map_interval(other->lo, other->hi), s);
  int64_t low = y.lo, high = y.hi, lo = one->lo, hi = one->hi, g, wide;
  int32_t rest, i, f, a;
  if (settp_map_lin_shared(e, other->form, one->form) < e->lin[other->form].count) return 0;
  rest = settp_map_lin_mix(e, one->form, 1, other->form, -s, 0);
  if (rest < 0 || low == INT64_MIN || high == INT64_MAX || lo == INT64_MIN || hi == INT64_MAX ||
      settp_map_add(high, settp_map_neg(low), &wide))
    return 0;
  g = settp_map_lin_gcd(e, rest);
  if (g < 2 || wide >= g || settp_map_add(lo, settp_map_neg(low), &lo) || settp_map_add(hi, settp_map_neg(low), &hi))
    return 0;
  /* give up if an end of the interval of A would depend on y */
  if ((settp_map_mod(lo, g) && settp_map_mod(lo, g) <= wide) || settp_map_mod(hi, g) < wide) return 0;
  lo = settp_map_ceil(lo, g);
  hi = settp_map_floor(hi, g);
  a = settp_map_lin_shrink(e, rest, g, 0);
  for (i = 0; a >= 0 && i < e->lin[rest].count; ++i) {
    settp_map_term t = e->term[e->lin[rest].first + i];
    if (e->atom[t.atom].kind != SETTP_MAP_ATOM_QUOTIENT) continue;
    for (f = e->atom[t.atom].form; f >= 0; f = e->form[f].next) {
      settp_map_form form = e->form[f];
      int32_t b = form.c % g ? SETTP_MAP_NONE : settp_map_without(e, form.lin, other->form, s, g, low, high);
      if (b >= 0) b = settp_map_divide(e, b, form.c / g);
      if (b < 0) continue;
      a = settp_map_lin_mix(e, settp_map_lin_plus(e, a, t.atom, -(t.k / g)), 1, b, t.k / g, 0);
      break;
    }
  }
  if (a < 0 || !settp_map_cheaper(settp_map_lin_cost(e, a), settp_map_lin_cost(e, one->form))) return 0;
  one->form = a;
  one->lo = lo;
  one->hi = hi;
  return 1;
}

/* Do one round: simplify all constraints under the current bounds. Return the number that remain, or -1 if the engine failed or the domain is empty.
 */
SETT_INLINE int settp_map_round(settp_map_engine *e, settp_map_domain *d, const sett_map *map,
                                settp_map_nodes_known *known, settp_map_kept *kept) {
  settp_map_kept one;
  int i, j, what, n = 0;
  if (!settp_map_normalise(e, known, NULL)) return -1;
  for (i = 0; i < map->constraints; ++i) {
    uint32_t at = settp_map_at(e->arena, map->constraint[i].expr)->mark;
    int32_t form = known->lin[at];
    int64_t lo = map->constraint[i].lo, hi = map->constraint[i].hi;
    what = settp_map_constrain(e, d, &form, &lo, &hi);
    if (e->error) return -1;
    if (what == SETTP_MAP_EMPTY) d->empty = 1;
    if (d->empty) return -1;
    if (what == SETTP_MAP_DROP) { /* the constraint holds everywhere; operations on its node may use this fact */
      sett_map_interval r =
          settp_map_interval_meet(known->range[at], settp_map_interval(map->constraint[i].lo, map->constraint[i].hi));
      if (r.lo <= r.hi) known->range[at] = r;
      continue;
    }
    one.form = form;
    one.lo = lo;
    one.hi = hi;
    n = settp_map_keep(d, kept, n, one);
    if (d->empty) return -1;
  }
  for (i = 0; i < n; ++i)
    for (j = 0; j < n; ++j) {
      one = kept[i];
      if (i == j || !(settp_map_constrain_by(e, &one, kept + j, 1) || settp_map_constrain_by(e, &one, kept + j, -1)))
        continue;
      what = settp_map_constrain(e, d, &one.form, &one.lo, &one.hi);
      if (e->error) return -1;
      if (what == SETTP_MAP_EMPTY) d->empty = 1;
      for (j = i, --n; j < n; ++j) kept[j] = kept[j + 1];
      if (what == SETTP_MAP_KEEP) n = settp_map_keep(d, kept, n, one);
      if (d->empty) return -1;
      i = -1; /* start again, because the new form may simplify earlier constraints */
      break;
    }
  return n;
}

/* Print a form. Return 0 if the print fails, otherwise a number by which forms are sorted: first by the nodes of the print, without a constant, then by
 * the subtractions. */
SETT_INLINE int64_t settp_map_constraint_size(settp_map_engine *e, int32_t l) {
  int64_t n = settp_map_print(e, l), k;
  const settp_map_node *node = settp_map_at(e->arena, n ? e->lin[l].expr : 0);
  int32_t i;
  if (n && node->op == SETTP_MAP_ADD && settp_map_is_constant(e->arena, settp_map_b(node), &k)) n -= 2;
  n *= 256;
  for (i = 0; n && i < e->lin[l].count && i < 256; ++i) n += e->term[e->lin[l].first + i].k == -1;
  return n;
}

/* Print a constraint. Its constant is moved into the interval. Of the form and its negative, the shorter one is printed. */
SETT_INLINE sett_map_constraint settp_map_print_constraint(settp_map_engine *e, const settp_map_kept *kept) {
  sett_map_constraint c;
  int32_t turned = settp_map_lin_scale(e, kept->form, -1, 0);
  int64_t a = settp_map_constraint_size(e, kept->form), b = turned < 0 ? 0 : settp_map_constraint_size(e, turned);
  const settp_map_node *n;
  int64_t k = 0, lo = kept->lo, hi = kept->hi;
  c.expr = SETT_MAP_ERROR_FULL;
  c.lo = lo;
  c.hi = hi;
  if (!a) return c;
  c.expr = e->lin[kept->form].expr;
  if (b && b < a) {
    c.expr = e->lin[turned].expr;
    c.lo = lo = settp_map_neg(kept->hi);
    c.hi = hi = settp_map_neg(kept->lo);
  }
  n = settp_map_at(e->arena, c.expr);
  if (n->op == SETTP_MAP_ADD && settp_map_is_constant(e->arena, settp_map_b(n), &k) && k != INT64_MIN &&
      (lo == INT64_MIN || !settp_map_add(c.lo, -k, &lo)) && (hi == INT64_MAX || !settp_map_add(c.hi, -k, &hi))) {
    c.expr = settp_map_a(n);
    c.lo = lo;
    c.hi = hi;
    n = settp_map_at(e->arena, c.expr);
  }
  if (n->op == SETTP_MAP_MUL && settp_map_is_constant(e->arena, settp_map_b(n), &k) && k == -1 && c.lo != INT64_MIN &&
      c.hi != INT64_MIN) {
    lo = c.lo;
    c.expr = settp_map_a(n);
    c.lo = -c.hi;
    c.hi = -lo;
  }
  return c;
}

/* Limit the engine to the work that remains for all rounds: limit the number of forms, and the number of values that proofs by enumeration compute.
 */
SETT_INLINE void settp_map_work_limit(settp_map_engine *e, int32_t work) {
  if (e->lin_limit > work) e->lin_limit = work;
  if (e->points > (int64_t)work * SETTP_MAP_POINTS_A_FORM) e->points = (int64_t)work * SETTP_MAP_POINTS_A_FORM;
  if (e->own_points > (int64_t)work * SETTP_MAP_POINTS_A_FORM) e->own_points = (int64_t)work * SETTP_MAP_POINTS_A_FORM;
  e->points_given = e->points + e->own_points;
}

/* Return the part of `work` that this engine has not used. */
SETT_INLINE int32_t settp_map_work_left(const settp_map_engine *e, int32_t work) {
  int64_t done = e->lins + (e->points_given - e->points - e->own_points) / SETTP_MAP_POINTS_A_FORM;
  return done < work ? work - (int32_t)done : 0;
}

/* Simplify all bounds and constraints until nothing changes. `d` receives bounds and residue classes, `out` the constraints that remain. Return the
 * number of these constraints, or -1 if the domain is empty or there is an error. After the call, *e is the engine of the last round. *known has the
 * facts of this engine about the nodes of the constraints; known->lin is NULL if they can no longer be found. */
SETT_INLINE int settp_map_solve(sett_map_arena *arena, const sett_map *map, settp_map_domain *d,
                                sett_map_constraint *out, settp_map_engine *e, settp_map_nodes_known *known,
                                int *error) {
  enum { SETTP_MAP_MOST_ROUNDS = 48, SETTP_MAP_LAST_ROUND = 1024 };
  settp_map_list list;
  settp_map_kept *kept = (settp_map_kept *)settp_map_take(arena, (size_t)map->constraints * sizeof *kept + 8);
  settp_map_clear(known, sizeof *known);
  int round, n = 0, i, made = 0, more;
  size_t keep;
  *error = 0;
  if (!kept || settp_map_list_of_constraints(arena, &list, map->constraint, map->constraints)) {
    *error = SETT_MAP_ERROR_FULL;
    return -1;
  }
  keep = arena->top;
  for (round = 0;; ++round) {
    uint32_t at;
    arena->top = keep;
    /* set each node's mark to its index in the list again, because printing and enumerating change the marks */
    for (at = 0; at < list.count; ++at) settp_map_at(arena, list.handle[at])->mark = at;
    d->changed = 0;
    if (settp_map_engine_start(e, arena, map, d->bounds, d->modulus, d->residue, list.count)) {
      *error = e->error;
      return -1;
    }
    settp_map_work_limit(e, d->work);
    e->xors = d->xors;
    settp_map_clear(known, sizeof *known);
    known->list = list;
    n = settp_map_round(e, d, map, known, kept);
    d->work = settp_map_work_left(e, d->work);
    if (!d->work && round < SETTP_MAP_MOST_ROUNDS) round = SETTP_MAP_MOST_ROUNDS;
    *error = e->error;
    if (n < 0) return -1;
    if (d->changed && round < SETTP_MAP_MOST_ROUNDS) continue;
    for (i = made = 0; i < n; ++i) {
      out[made] = settp_map_print_constraint(e, kept + i);
      if (out[made++].expr < SETT_MAP_ERROR_COUNT) {
        *error = e->error ? e->error : SETT_MAP_ERROR_FULL;
        return -1;
      }
    }
    d->same = d->done && round < SETTP_MAP_MOST_ROUNDS && settp_map_same_domain(arena, map, d, out, n);
    if (d->same) {
      made = n;
      break;
    }
    for (i = made = 0; i < n && !d->empty; ++i) {
      out[made] = out[i];
      if (round >= SETTP_MAP_MOST_ROUNDS || !settp_map_enumerate(arena, map, out + i, 1, d)) ++made;
    }
    /* enumerate all constraints together */
    if (made > 1 && !d->changed && !d->empty && round < SETTP_MAP_MOST_ROUNDS)
      (void)settp_map_enumerate(arena, map, out, made, d);
    if (d->empty) return -1;
    for (i = 0, more = SETTP_MAP_LAST_ROUND; i < sett_map_variables(*map);
         ++i) /* limit the rounds, because the bound of an unbounded variable may move forever */
      if (d->bounds[i].lo == INT64_MIN || d->bounds[i].hi == INT64_MAX) more = SETTP_MAP_MOST_ROUNDS;
    if (d->changed && round < more) continue;
    break;
  }
  d->done = round < SETTP_MAP_MOST_ROUNDS;
  /* the mark of a node is no longer its index in the list, so a fact cannot be found by the mark of its node */
  if (n) known->lin = NULL;
  for (i = 0; i < sett_map_variables(*map); ++i)
    if (d->modulus[i] > 1 && d->bounds[i].lo < d->bounds[i].hi) {
      int64_t r = settp_map_mod(d->residue[i], d->modulus[i]);
      out[made].expr = sett_map_mod(arena, sett_map_var(arena, i), sett_map_constant(arena, d->modulus[i]));
      if (out[made].expr < SETT_MAP_ERROR_COUNT) {
        *error = (int)out[made].expr;
        return -1;
      }
      out[made].lo = out[made].hi = r;
      ++made;
    }
  return made;
}

/* Draw points inside the bounds, and store in e->point those at which the constraints hold. */
SETT_INLINE void settp_map_draw_points(settp_map_engine *e, settp_map_domain *d, const settp_map_list *list,
                                       const sett_map_constraint *constraint, int constraints) {
  enum { SETTP_MAP_MOST_DRAWS = 96, SETTP_MAP_MOST_POINTS = SETTP_MAP_SAMPLES + SETTP_MAP_MORE };
  int64_t *point =
      d->points
          ? d->points
          : (int64_t *)settp_map_take(e->arena, (size_t)e->variables * (SETTP_MAP_MOST_POINTS + 1) * sizeof *point + 8);
  settp_map_test test;
  int found = 0, draw, i, j;
  e->sampled = 0;
  if (d->points && d->same && d->found >= 0) { /* use the points of the previous round again */
    e->point = d->found ? point : NULL;
    e->sampled = d->found > 0;
    return;
  }
  d->found = SETTP_MAP_NONE;
  if (!point || !settp_map_test_make(e->arena, &test, list, constraint, constraints)) return;
  for (draw = 0; draw < SETTP_MAP_MOST_DRAWS && found < SETTP_MAP_MOST_POINTS; ++draw) {
    int64_t *x = point + found * e->variables;
    for (i = 0; i < e->variables; ++i) {
      const sett_map_variable *v = d->bounds + i;
      const int64_t limit = (int64_t)1 << 40;
      int64_t lo = v->lo < -limit ? -limit : v->lo, hi = v->hi > limit ? limit : v->hi, m = d->modulus[i];
      uint64_t steps = lo > hi ? 0 : (uint64_t)(hi - lo) / (uint64_t)m;
      uint64_t step = draw == 0   ? 0
                      : draw == 1 ? steps
                                  : settp_map_hash((uint64_t)i * 128 + (uint64_t)draw, 13) % (steps + 1);
      /* draw some points near the lower corner, because often only points there satisfy the constraints */
      if (draw > 1 && draw % 4 == 3) step /= 1 + steps / 8;
      x[i] = (v->lo < -limit ? settp_map_floor(lo, m) * m + settp_map_mod(d->residue[i], m) : lo) + (int64_t)step * m;
    }
    found += settp_map_test_at(e->arena, &test, x) > 0;
  }
  d->found = found;
  if (!found) return;
  for (j = found * e->variables; j < SETTP_MAP_MOST_POINTS * e->variables; ++j)
    point[j] = point[j - found * e->variables];
  e->point = point;
  e->sampled = 1;
}

/* Start an engine for the results of a map whose domain d is solved. The engine gets the intervals that the constraints give for forms. */
SETT_INLINE int settp_map_results_start(settp_map_engine *e, sett_map_arena *arena, const sett_map *map,
                                        settp_map_domain *d, const sett_map_constraint *constraint, int constraints,
                                        uint32_t nodes) {
  settp_map_nodes_known known;
  int32_t *lin;
  int i;
  if (settp_map_engine_start(e, arena, map, d->bounds, d->modulus, d->residue, nodes + (uint32_t)constraints * 8))
    return e->error;
  settp_map_work_limit(e, d->work);
  e->xors = d->xors;
  if (!constraints) return 0;
  e->scaled = 1;
  settp_map_clear(&known, sizeof known);
  if (settp_map_list_of_constraints(arena, &known.list, constraint, constraints)) return e->error = SETT_MAP_ERROR_FULL;
  settp_map_draw_points(e, d, &known.list, constraint, constraints);
  /* enter all variables in the table of R12 and R13, because constraints may make two of them equal */
  for (i = 0; i < e->variables; ++i) settp_map_alike_enter(e, settp_map_lin_variable(e, i));
  lin = settp_map_normalise(e, &known, NULL);
  e->fact_room = constraints * (e->lattices ? 8 : 4) + 8;
  e->fact = (settp_map_known *)settp_map_take(arena, (size_t)e->fact_room * sizeof *e->fact);
  if (!lin || !e->fact) return e->error ? e->error : (e->error = SETT_MAP_ERROR_FULL);
  for (i = 0; i < constraints; ++i) {
    settp_map_fact_lin(e, lin[settp_map_at(arena, constraint[i].expr)->mark], constraint[i].lo, constraint[i].hi, 0);
  }
  for (i = 0; i < e->facts; ++i) settp_map_cut_digits(e, NULL, e->fact[i].lin, e->fact[i].in);
  /* forget the intervals that were computed without the facts, and the quotients that were computed from such intervals */
  for (i = 0; i < e->lins; ++i) e->lin[i].known = 0;
  for (i = 0; i <= (int)e->mask; ++i) e->memo_bucket[i] = SETTP_MAP_NONE;
  e->memo_first = e->memos;
  return 0;
}

SETT_INLINE int settp_map_domain_start(sett_map_arena *arena, const sett_map *map, settp_map_domain *d) {
  int i, n = sett_map_variables(*map);
  settp_map_clear(d, sizeof *d);
  d->bounds = (sett_map_variable *)settp_map_take(arena, (size_t)n * sizeof *d->bounds + 8);
  d->modulus = (int64_t *)settp_map_take(arena, (size_t)n * sizeof *d->modulus + 8);
  d->residue = (int64_t *)settp_map_take(arena, (size_t)n * sizeof *d->residue + 8);
  d->found = SETTP_MAP_NONE;
  d->work = SETTP_MAP_WORK_MAX;
  if (!d->bounds || !d->modulus || !d->residue) return SETT_MAP_ERROR_FULL;
  for (i = 0; i < n; ++i) {
    d->bounds[i] = map->variable[i];
    d->modulus[i] = 1;
    d->residue[i] = 0;
  }
  return 0;
}

/* A map that is being examined: an engine over its solved domain, and the forms of its results. */
typedef struct settp_map_asked {
  settp_map_engine engine;
  settp_map_domain domain;
  settp_map_nodes_known known;
  int32_t *lin; /* the form of each node, by the node's mark */
  sett_map_constraint *constraint;
  int constraints;
} settp_map_asked;

typedef struct settp_map_carry { /* The state that one round of simplify passes to the next. */
  int32_t work;                  /* number of forms that may still be made; also 0 if the result cannot change again */
  int done, found, xors;
  int64_t *points;
} settp_map_carry;

/* Return the state before the first round of simplify. If `xors` is set, the engine reads operands of xor as bits from its start on. */
SETT_INLINE settp_map_carry settp_map_carry_make(int xors) {
  settp_map_carry carry;
  carry.work = SETTP_MAP_WORK_MAX;
  carry.done = 0;
  carry.found = SETTP_MAP_NONE;
  carry.xors = xors;
  carry.points = NULL;
  return carry;
}

/* Fill *a for questions about a map. Return 0, an error, or -1 if the domain is empty. */
SETT_INLINE int settp_map_ask_within(sett_map_arena *arena, sett_map map, settp_map_asked *a,
                                     const settp_map_carry *carry) {
  int i, error = 0;
  a->constraint = (sett_map_constraint *)settp_map_take(
      arena, (size_t)(map.constraints + sett_map_variables(map)) * sizeof *a->constraint + 8);
  if (!a->constraint || settp_map_domain_start(arena, &map, &a->domain)) return SETT_MAP_ERROR_FULL;
  a->domain.work = carry->work;
  a->domain.done = carry->done;
  a->domain.points = carry->points;
  a->domain.found = carry->found;
  a->domain.xors = carry->xors;
  a->constraints = settp_map_solve(arena, &map, &a->domain, a->constraint, &a->engine, &a->known, &error);
  if (a->constraints < 0) return error ? error : -1;
  if (!a->known.lin) { /* constraints remain after the last round: tell the engine what they say about forms */
    error = settp_map_results_start(&a->engine, arena, &map, &a->domain, a->constraint, a->constraints, 16);
    settp_map_clear(&a->known, sizeof a->known);
  }
  for (i = 0; i < map.results && !error; ++i) error = settp_map_list_push(arena, &a->known.list, map.result[i]);
  if (error) return error;
  a->lin = settp_map_normalise(&a->engine, &a->known, &map);
  return a->lin ? 0 : a->engine.error;
}

SETT_INLINE int settp_map_ask(sett_map_arena *arena, sett_map map, settp_map_asked *a) {
  settp_map_carry carry = settp_map_carry_make(0);
  return settp_map_ask_within(arena, map, a, &carry);
}

SETT_PUBLIC size_t sett_map_parse_bytes(size_t length) { return settp_map_size(length, 384, 65536); }

SETT_PUBLIC size_t sett_map_simplify_bytes(const sett_map_arena *arena, sett_map map) {
  size_t atoms = (size_t)sett_map_variables(map), nodes = arena->nodes, forms;
  uint32_t i;
  int xors = 0;
  for (i = SETT_MAP_ERROR_COUNT; i < arena->nodes; ++i) {
    atoms += settp_map_at(arena, i)->op > SETTP_MAP_ADD;
    xors |= settp_map_at(arena, i)->op == SETTP_MAP_XOR;
  }
  forms = settp_map_size(nodes, atoms < 64 ? atoms + 16 : 80, 2 * (size_t)SETTP_MAP_LINS_MAX);
  return settp_map_size(forms, 768 + 64 * (atoms < 512 ? atoms : 512), xors ? (size_t)1 << 20 : (size_t)1 << 18);
}

/* Result i always equals dimension i: replace it by dimension i. If the result is a number, narrow the dimension to this number instead. */
SETT_INLINE void settp_map_own_take(settp_map_engine *e, settp_map_domain *d, int i, int32_t *form) {
  int64_t value = e->lin[form[i]].constant;
  if (e->lin[form[i]].count) form[i] = settp_map_lin_variable(e, i);
  else settp_map_cut(d, i, value, value);
}

/* Return the form of result i minus dimension i if this is 0 at all samples; otherwise SETTP_MAP_NONE. */
SETT_INLINE int32_t settp_map_own_rest(settp_map_engine *e, int i, int32_t l) {
  int32_t x;
  int j;
  /* if the dimension occurs in no form and in no fact, l cannot be equal to it */
  if (e->variable[i] < 0 && !e->facts && e->bounds[i].lo < e->bounds[i].hi) return SETTP_MAP_NONE;
  x = settp_map_lin_variable(e, i);
  if (x < 0 || x == l || !e->sampled || (e->lin[x].count && settp_map_lin_affine(e, l) && settp_map_lin_affine(e, x)))
    return SETTP_MAP_NONE;
  for (j = 0; j < SETTP_MAP_SAMPLES; ++j)
    if (settp_map_lin_at(e, x)[j] != settp_map_lin_at(e, l)[j]) return SETTP_MAP_NONE;
  return settp_map_lin_mix(e, l, 1, x, -1, 0);
}

/* R14: replace a result that always equals the dimension with the same index by that dimension. If the result is a number, narrow the dimension to
 * this number instead. Forms of the same variables are enumerated together. */
SETT_INLINE void settp_map_own_dimensions(settp_map_engine *e, settp_map_domain *d, int32_t *form, int count) {
  enum { SETTP_MAP_MOST_TOGETHER = 64 };
  int32_t *rest = (int32_t *)settp_map_take(e->arena, (size_t)count * sizeof *rest + 8), ask[SETTP_MAP_MOST_TOGETHER],
          of[SETTP_MAP_MOST_TOGETHER];
  int64_t points = e->points;
  int i, j, n;
  if (!rest) {
    e->error = SETT_MAP_ERROR_FULL;
    return;
  }
  for (i = 0; i < count; ++i) {
    int yes;
    rest[i] = settp_map_own_rest(e, i, form[i]);
    yes = rest[i] < 0 ? 0 : settp_map_prove_forms(e, rest[i], 0, 0);
    if (yes > 0) settp_map_own_take(e, d, i, form);
    if (yes >= 0) rest[i] = SETTP_MAP_NONE;
  }
  e->points = e->own_points; /* all samples agree, so that it pays to enumerate more points */
  for (i = 0; i < count; ++i) {
    uint64_t holds;
    int64_t left = e->points;
    if (rest[i] < 0) continue;
    for (j = i, n = 0; j < count && n < SETTP_MAP_MOST_TOGETHER; ++j) {
      if (rest[j] < 0 || settp_map_lin_support(e, rest[j]) != settp_map_lin_support(e, rest[i])) continue;
      of[n] = j;
      ask[n++] = rest[j];
    }
    for (;; n /= 2) { /* if all forms together have too many points, try half of the forms */
      holds = settp_map_prove_points(e, ask, n, 0, 0);
      if (n == 1 || e->points < left) break;
    }
    for (j = n - 1; j >= 0; --j) {
      if (holds >> j & 1) settp_map_own_take(e, d, of[j], form);
      rest[of[j]] = SETTP_MAP_NONE;
    }
  }
  e->own_points = e->points;
  e->points = points;
}

/* Append to a list of `count` atoms those atoms of form l that are not in it. Return the new number of atoms in the list. */
SETT_INLINE int32_t settp_map_atoms_list(settp_map_engine *e, int32_t l, int32_t *list, int32_t count) {
  const settp_map_term *t = e->term + e->lin[l].first, *end = t + e->lin[l].count;
  for (; t < end; ++t) {
    if (e->atom[t->atom].wanted) continue;
    e->atom[t->atom].wanted = 1;
    list[count++] = t->atom;
  }
  return count;
}

/* Return 1 if one of the expressions contains a negative constant, or a sum of something and a constant. */
SETT_INLINE int settp_map_adds_numbers(sett_map_arena *arena, const sett_expr *expr, int count) {
  size_t keep = arena->top;
  settp_map_list list;
  uint32_t i;
  int64_t k;
  int found = settp_map_list_of(arena, &list, expr, count) != 0;
  for (i = 0; i < list.count && !found; ++i) {
    const settp_map_node *n = settp_map_at(arena, list.handle[i]);
    found = n->op == SETTP_MAP_CONST ? n->value < 0
                                     : n->op == SETTP_MAP_ADD && settp_map_is_constant(arena, settp_map_b(n), &k);
  }
  arena->top = keep;
  return found;
}

/* Return 1 if the variables of some expressions first occur in the order of their atoms. */
SETT_INLINE int settp_map_in_order(const settp_map_engine *e, const sett_expr *expr, int count) {
  size_t keep = e->arena->top;
  settp_map_list list;
  uint32_t i;
  int32_t last = SETTP_MAP_NONE;
  int ok = !settp_map_list_of(e->arena, &list, expr, count);
  for (i = 0; i < list.count && ok; ++i) {
    const settp_map_node *n = settp_map_at(e->arena, list.handle[i]);
    if (n->op != SETTP_MAP_VAR) continue;
    ok = e->variable[n->value] > last;
    last = e->variable[n->value];
  }
  e->arena->top = keep;
  return ok;
}

/* Return 1 if there is one way to print a result: at most one of its terms is neither a variable nor a quotient, and signs or a constant cannot move into
 * a quotient. They can if all terms are quotients, unless one is positive and there is no constant. */
SETT_INLINE int settp_map_one_print(const settp_map_engine *e, int32_t l) {
  int32_t i, others = 0, quotients = 0, positive = 0, count = e->lin[l].count;
  for (i = 0; i < count; ++i) {
    settp_map_term t = e->term[e->lin[l].first + i];
    others += e->atom[t.atom].kind == SETTP_MAP_ATOM_OTHER;
    quotients += e->atom[t.atom].kind == SETTP_MAP_ATOM_QUOTIENT;
    positive |= t.k > 0;
  }
  if (e->lin[l].constant) positive = 0, ++count;
  return others < 2 && (quotients < i || positive || count < 2);
}

/* Return 1 if the printed map is probably its own simplification. It is then not simplified again. An atom may have several names: equal expressions
 * floor(l / c), the first of which is its first name (R11). Quotients outside digits must have been printed by their first names, and one of these
 * conditions must hold:
 *     - The map has constraints; all are residue classes of variables, and all results are variables and numbers.
 *     - No name of a quotient has a negative number. Of two quotients that share a variable, one divisor divides the other, so each digit has one print.
 *     - As in a reshape, variables begin at 0, quotients are of variables, no number is added, and digits were printed by first names.
 * Also, settp_map_one_print must hold for every result.
 * If the results have a minimum, maximum or product, further conditions are required. There are no quotients, and at most one product. The operands of a
 * minimum or maximum are sums of variables. Variables have more than two values, because otherwise two forms may have equal values. No atom was made that
 * is not in the results, so the next round would make the same atoms. With a product, it would also make the variables in the same order.
 * tests/algebra/test_indexing_map.py enumerates maps of up to three operations; none of them changes when it is simplified again. For larger maps this is
 * not proved; tests/algebra/indexing_map_property_test.c counts those that change. */
SETT_INLINE int settp_map_settled(settp_map_engine *e, const int32_t *form, const sett_expr *result, int count,
                                  const sett_map_constraint *constraint, int constraints) {
  int32_t i, j, f, g, n = 0, *list, others = 0, products = 0, narrow = 0, quotients = 0;
  int plain = 1, one_way = 1;
  if (e->facts || e->renamed || e->xors || e->variables > 64 || e->forms > 64) return 0;
  for (i = 0; i < constraints; ++i)
    if (settp_map_at(e->arena, constraint[i].expr)->op != SETTP_MAP_MOD) return 0;
  for (i = 0; i < count && constraints; ++i)
    if (settp_map_at(e->arena, result[i])->op > SETTP_MAP_VAR) return 0;
  if (constraints) return 1;
  list = (int32_t *)settp_map_take(e->arena, (size_t)e->atoms * sizeof *list + 8);
  if (!list) return 0;
  for (i = 0; i < count; ++i) {
    if (!settp_map_one_print(e, form[i])) return 0;
    n = settp_map_atoms_list(e, form[i], list, n);
    plain &= !e->lin[form[i]].constant;
  }
  for (i = 0; i < n; ++i) {
    const settp_map_atom *x = e->atom + list[i];
    if (x->kind == SETTP_MAP_ATOM_VAR && x->c != 1) return 0;
    if (x->kind == SETTP_MAP_ATOM_OTHER) {
      int lattice = x->op == SETTP_MAP_MIN || x->op == SETTP_MAP_MAX;
      if (lattice ? !settp_map_lin_affine(e, x->a) || !settp_map_lin_affine(e, x->b)
                  : x->op != SETTP_MAP_MUL || products++)
        return 0;
      n = settp_map_atoms_list(e, x->a, list, n);
      n = settp_map_atoms_list(e, x->b, list, n);
      plain = 0;
      ++others;
      continue;
    }
    narrow |= x->kind == SETTP_MAP_ATOM_VAR && x->hi <= settp_map_sat_add(x->lo, 1);
    quotients |= x->kind == SETTP_MAP_ATOM_QUOTIENT;
    plain &= x->kind == SETTP_MAP_ATOM_VAR ? !x->lo : x->depth == 1;
    for (f = x->form; f >= 0; f = e->form[f].next) {
      one_way &= settp_map_all_positive(e, e->form[f].lin);
      plain &= !e->lin[e->form[f].lin].constant;
      n = settp_map_atoms_list(e, e->form[f].lin, list, n);
      for (j = 0; j <= i && one_way; ++j)
        for (g = e->atom[list[j]].support & x->support ? e->atom[list[j]].form : SETTP_MAP_NONE; g >= 0;
             g = e->form[g].next)
          one_way &= e->form[f].c % e->form[g].c == 0 || e->form[g].c % e->form[f].c == 0;
    }
    if (!one_way && (!plain || e->refolded)) return 0;
  }
  if (others && (narrow || quotients || n < e->atoms || (products && !settp_map_in_order(e, result, count)))) return 0;
  if (one_way && !e->refolded) return 1;
  return plain && !settp_map_adds_numbers(e->arena, result, count);
}

/* Apply the rules once. The result is stored below offset `keep` of the arena. */
SETT_INLINE sett_map settp_map_simplify_once(sett_map_arena *arena, sett_map map, size_t keep, settp_map_carry *carry) {
  settp_map_asked a;
  sett_expr *result = (sett_expr *)settp_map_take(arena, (size_t)map.results * sizeof *result + 8);
  int32_t *form = (int32_t *)settp_map_take(arena, (size_t)map.results * sizeof *form + 8);
  int i, error;
  error = result && form ? settp_map_ask_within(arena, map, &a, carry) : SETT_MAP_ERROR_FULL;
  for (i = 0; i < map.results && !error; ++i) form[i] = a.lin[settp_map_at(arena, map.result[i])->mark];
  if (!error) settp_map_own_dimensions(&a.engine, &a.domain, form, map.results < map.dims ? map.results : map.dims);
  for (i = 0; i < map.results && !error; ++i) {
    if (settp_map_print(&a.engine, form[i])) result[i] = a.engine.lin[form[i]].expr;
    error = a.engine.error;
  }
  if (error) return error < 0 ? sett_map_empty() : sett_map_fail(error, 0);
  carry->work = settp_map_work_left(&a.engine, a.domain.work);
  if (settp_map_settled(&a.engine, form, result, map.results, a.constraint, a.constraints)) carry->work = 0;
  /* the bounds are not final if R14 narrowed a dimension in this round */
  carry->done = a.domain.done && !a.domain.changed;
  carry->found = a.domain.changed ? SETTP_MAP_NONE : a.domain.found;
  carry->xors |= a.engine.xors;
  map.variable = a.domain.bounds;
  map.result = result;
  map.constraint = a.constraint;
  map.constraints = a.constraints;
  settp_map_sort_constraints(arena, &map, a.constraint, a.constraints);
  return settp_map_store(arena, map, keep);
}

/* Return 1 if two maps in one arena have the same expressions. */
SETT_INLINE int settp_map_same_map(sett_map a, sett_map b) {
  int i;
  if (a.kind != b.kind || a.constraints != b.constraints) return 0;
  for (i = 0; i < sett_map_variables(a); ++i)
    if (a.variable[i].lo != b.variable[i].lo || a.variable[i].hi != b.variable[i].hi) return 0;
  for (i = 0; i < a.results; ++i)
    if (a.result[i] != b.result[i]) return 0;
  for (i = 0; i < a.constraints; ++i) {
    int j;
    for (j = 0; j < b.constraints; ++j)
      if (a.constraint[i].expr == b.constraint[j].expr && a.constraint[i].lo == b.constraint[j].lo &&
          a.constraint[i].hi == b.constraint[j].hi)
        break;
    if (j == b.constraints) return 0;
  }
  return 1;
}

/* Return 1 if a map consists of constants and of variables with more than one value, so that nothing can be simplified. */
SETT_INLINE int settp_map_is_plain(const sett_map_arena *arena, const sett_map *map) {
  int i;
  for (i = 0; i < map->results; ++i) {
    const settp_map_node *n = settp_map_at(arena, map->result[i]);
    if (n->op > SETTP_MAP_VAR || (n->op == SETTP_MAP_VAR && map->variable[n->value].lo >= map->variable[n->value].hi))
      return 0;
  }
  for (i = 0; i < sett_map_variables(*map); ++i)
    if (map->variable[i].lo > map->variable[i].hi) return 0;
  return !map->constraints;
}

/* Return the number of nodes of a map's results and constraints. Shared nodes count at each use. */
SETT_INLINE int64_t settp_map_tree_nodes(sett_map_arena *arena, const sett_map *map) {
  size_t keep = arena->top;
  settp_map_list list;
  int64_t *nodes, total = 0;
  uint32_t i;
  int j;
  if (settp_map_list_of_map(arena, &list, map)) list.count = 0;
  nodes = (int64_t *)settp_map_take(arena, (size_t)list.count * sizeof *nodes + 8);
  for (i = 0; i < list.count && nodes; ++i) {
    const settp_map_node *n = settp_map_at(arena, list.handle[i]);
    nodes[i] = n->op < SETTP_MAP_ADD
                   ? 1
                   : settp_map_sat_add(1, settp_map_sat_add(nodes[settp_map_at(arena, settp_map_a(n))->mark],
                                                            nodes[settp_map_at(arena, settp_map_b(n))->mark]));
  }
  for (j = 0; nodes && list.count && j < map->results; ++j)
    total = settp_map_sat_add(total, nodes[settp_map_at(arena, map->result[j])->mark]);
  for (j = 0; nodes && list.count && j < map->constraints; ++j)
    total = settp_map_sat_add(total, nodes[settp_map_at(arena, map->constraint[j].expr)->mark]);
  arena->top = keep;
  return total;
}

/* Return 1 if map `a` is smaller than map `b`. The smaller map is the one with fewer nodes. If the numbers of nodes are equal, it is the first map in
 * an order that depends only on the expressions. */
SETT_INLINE int settp_map_smaller_map(sett_map_arena *arena, const sett_map *a, const sett_map *b) {
  int64_t x = settp_map_tree_nodes(arena, a), y = settp_map_tree_nodes(arena, b);
  int i, order = 0;
  if (x != y) return x < y;
  for (i = 0; i < a->results && !order; ++i) order = settp_map_order(arena, a->result[i], b->result[i]);
  if (!order) order = a->constraints - b->constraints;
  for (i = 0; i < a->constraints && !order; ++i)
    order = settp_map_order(arena, a->constraint[i].expr, b->constraint[i].expr);
  return order < 0;
}

/* Apply the rules until the map no longer changes. If the maps repeat in a cycle, return the smallest map of the cycle. If `xors` is set, apply X4
 * from the start. */
SETT_INLINE sett_map settp_map_simplify(sett_map_arena *arena, sett_map map, int xors) {
  enum { SETTP_MAP_MOST_TIMES = 16 };
  sett_map_mark mark = sett_map_arena_mark(arena);
  sett_map made[SETTP_MAP_MOST_TIMES];
  settp_map_carry carry = settp_map_carry_make(xors);
  int i, j;
  if (map.kind != SETT_MAP_DEFINED || settp_map_is_plain(arena, &map)) return map;
  /* keep space for the sample points if that is a small part of the memory */
  if (map.constraints && arena->top - settp_map_low(arena) > (size_t)1 << 20)
    carry.points = (int64_t *)settp_map_take(
        arena, (size_t)sett_map_variables(map) * (SETTP_MAP_SAMPLES + SETTP_MAP_MORE + 1) * sizeof *carry.points + 8);
  for (i = 0; i < SETTP_MAP_MOST_TIMES && (!i || carry.work); ++i) {
    int seen = carry.xors;
    made[i] = settp_map_simplify_once(arena, i ? made[i - 1] : map, arena->top, &carry);
    /* a number is too large for the rules, or a divisor is 0 everywhere: return the map unchanged */
    if (made[i].kind == SETT_MAP_FAILED && settp_map_no_value(made[i].error)) {
      if (!i) sett_map_arena_rewind(arena, mark);
      return i ? settp_map_store(arena, made[i - 1], mark.top) : map;
    }
    if (made[i].kind != SETT_MAP_DEFINED) {
      sett_map_arena_rewind(arena, mark);
      return made[i];
    }
    /* if a xor appeared only in this round, simplify the earlier results again */
    if (settp_map_is_plain(arena, made + i) || (!i && seen == carry.xors && settp_map_same_map(map, made[i])))
      return settp_map_store(arena, made[i], mark.top);
    for (j = i - 1; j >= 0 && !settp_map_same_map(made[j], made[i]); --j) {}
    if (j < 0 || seen != carry.xors) continue;
    for (map = made[i]; ++j < i;)
      if (settp_map_smaller_map(arena, made + j, &map)) map = made[j];
    return settp_map_store(arena, map, mark.top);
  }
  return settp_map_store(arena, made[i - 1], mark.top);
}

SETT_PUBLIC sett_map sett_map_simplify(sett_map_arena *arena, sett_map map) {
  return settp_map_simplify(arena, map, 0);
}

SETT_PUBLIC sett_map sett_map_with_xor(sett_map_arena *arena, sett_map map) {
  return settp_map_simplify(arena, map, 1);
}

/* Return the interval of an expression over the domain of a map. It is sound, and exact if each variable occurs once. An empty domain gives [1, 0].
 */
SETT_PUBLIC sett_map_interval sett_map_range(sett_map_arena *arena, sett_map map, sett_expr expr) {
  sett_map_mark mark = sett_map_arena_mark(arena);
  sett_map_interval r = settp_map_interval(INT64_MIN, INT64_MAX);
  settp_map_asked a;
  int code;
  if (map.kind == SETT_MAP_EMPTY) return settp_map_interval(1, 0);
  if (map.kind != SETT_MAP_DEFINED || expr < SETT_MAP_ERROR_COUNT) return r;
  map.results = 1;
  map.result = &expr;
  code = settp_map_ask(arena, map, &a);
  if (code <= 0)
    r = code ? settp_map_interval(1, 0) : settp_map_lin_interval(&a.engine, a.lin[settp_map_at(arena, expr)->mark]);
  sett_map_arena_rewind(arena, mark);
  return r;
}

/* ======================================================================= bodies: matrices over two elements ==== */

typedef struct settp_map_line {
  settp_map_bit_set in,
      /* one equation modulo 2: the sum of the bits of results in `out` equals the sum of the bits of variables in `in`, plus `one` */
      out;
  int one;
} settp_map_line;

/* A bit of variable or result number `of`: the bit at position `place`, or the sign if `place` is SETTP_MAP_BIT_SIGN. All bits from `width` on are equal
 * to the sign. */
typedef struct settp_map_bit_at {
  int of, place, width;
} settp_map_bit_at;

/* The equations modulo 2 between result bits and variable bits, for a map whose result bits are sums of variable bits. Gaussian elimination has reduced
 * them: for i < rank, variable bit pivot[i] occurs only in equation i. The equations from `rank` on contain no variable bit. */
typedef struct settp_map_matrix {
  settp_map_bit_at in[SETTP_MAP_BITS_MAX], out[SETTP_MAP_BITS_MAX];
  settp_map_line line[SETTP_MAP_BITS_MAX];
  int pivot[SETTP_MAP_BITS_MAX];
  sett_map_interval *bound; /* the bounds of each result */
  int ins, outs, rank;
  int full; /* 1 if the domain contains every combination of values of the variable bits */
} settp_map_matrix;

SETT_INLINE void settp_map_line_add(settp_map_line *a, const settp_map_line *b) {
  int i;
  for (i = 0; i < SETTP_MAP_BIT_WORDS; ++i) {
    a->in.word[i] ^= b->in.word[i];
    a->out.word[i] ^= b->out.word[i];
  }
  a->one ^= b->one;
}

/* Return the value of a bit of a number. */
SETT_INLINE int settp_map_place_at(settp_map_bit_at p, int64_t value) {
  return p.place == SETTP_MAP_BIT_SIGN ? value < 0 : (int)((uint64_t)value >> p.place & 1);
}
/* Return the weight of a bit in a value. */
SETT_INLINE int64_t settp_map_place_weight(settp_map_bit_at p) {
  return p.place == SETTP_MAP_BIT_SIGN ? -((int64_t)1 << p.width) : (int64_t)1 << p.place;
}

SETT_INLINE void settp_map_matrix_reduce(settp_map_matrix *m) {
  int column, i;
  m->rank = 0;
  for (column = 0; column < m->ins; ++column) {
    settp_map_line swap;
    for (i = m->rank; i < m->outs && !settp_map_set_has(&m->line[i].in, column); ++i) {}
    if (i == m->outs) continue;
    swap = m->line[i];
    m->line[i] = m->line[m->rank];
    m->line[m->rank] = swap;
    for (i = 0; i < m->outs; ++i)
      if (i != m->rank && settp_map_set_has(&m->line[i].in, column)) settp_map_line_add(m->line + i, &swap);
    m->pivot[m->rank++] = column;
  }
}

/* Add an equation to the matrix for each bit of result i, whose form is l. Return 0 if a bit is not a sum of bits of the variables, or if there
 * are too many equations. */
SETT_INLINE int settp_map_matrix_result(settp_map_engine *e, settp_map_matrix *m, const int *column, int i, int32_t l) {
  settp_map_reading r;
  int j, n;
  settp_map_read(e, l, 0, 0, &r);
  if (r.known < SETTP_MAP_BITS_KNOWN) return 0;
  for (j = 0; j <= r.width; ++j) {
    settp_map_line *line = m->line + m->outs;
    int32_t bit = settp_map_reading_at(&r, j);
    int64_t weight = j < r.width ? (int64_t)1 << j : -((int64_t)1 << j);
    if (m->outs == SETTP_MAP_BITS_MAX) return 0;
    if (bit == 1 || (bit && weight < 0)) m->bound[i].lo += weight;
    if (bit == 1 || (bit && weight > 0)) m->bound[i].hi += weight;
    m->out[m->outs].of = i;
    m->out[m->outs].place = j < r.width ? j : SETTP_MAP_BIT_SIGN;
    m->out[m->outs].width = r.width;
    settp_map_set_clear(&line->in);
    settp_map_set_clear(&line->out);
    settp_map_set_flip(&line->out, m->outs);
    line->one = (int)(bit & 1);
    for (n = 0; n < e->bits->count; ++n)
      if (settp_map_bit_has(e, bit, n)) {
        if (column[n] < 0) return 0;
        settp_map_set_flip(&line->in, column[n]);
      }
    ++m->outs;
  }
  return 1;
}

/* Return the matrix of a simplified map. Return NULL if it has none, or if the arena is full. */
SETT_INLINE settp_map_matrix *settp_map_matrix_make(sett_map_arena *arena, sett_map s) {
  settp_map_matrix *m = (settp_map_matrix *)settp_map_take(arena, sizeof *m);
  sett_map_interval *bound = (sett_map_interval *)settp_map_take(arena, (size_t)s.results * sizeof *bound + 8);
  size_t keep = arena->top;
  settp_map_asked a;
  settp_map_engine *e = &a.engine;
  settp_map_carry carry = settp_map_carry_make(1);
  int column[SETTP_MAP_BITS_MAX], i, j, n, ok;
  ok = m && bound && s.kind == SETT_MAP_DEFINED && !settp_map_ask_within(arena, s, &a, &carry) &&
       settp_map_bits_start(e);
  if (ok) {
    m->ins = m->outs = 0;
    m->full = !a.constraints;
    m->bound = bound;
    for (i = 0; i < s.results; ++i) bound[i] = settp_map_interval(0, 0);
  }
  /* column[i] stays -1 if source bit i is no bit of a variable */
  for (i = 0; i < SETTP_MAP_BITS_MAX; ++i) column[i] = -1;
  for (i = 0; ok && i < sett_map_variables(s); ++i) {
    int32_t l = settp_map_lin_variable(e, i);
    int width = 0, sign = 0;
    sett_map_interval r;
    ok = l >= 0;
    if (!ok || !e->lin[l].count) continue;
    ok = e->atom[e->variable[i]].c == 1 && settp_map_bit_range(e, l, &r, &width, &sign);
    if (!ok) break;
    n = width < 63 ? width : 62;
    m->full &=
        settp_map_mod(r.lo, (int64_t)1 << n) == 0 && settp_map_mod(r.hi, (int64_t)1 << n) == ((int64_t)1 << n) - 1;
    for (j = 0; ok && j < width + sign; ++j) {
      int32_t bit = settp_map_bit_of(e, l, j < width ? j : SETTP_MAP_BIT_SIGN);
      ok = bit >= 0 && m->ins < SETTP_MAP_BITS_MAX;
      if (!ok) break;
      m->in[m->ins].of = i;
      m->in[m->ins].place = j < width ? j : SETTP_MAP_BIT_SIGN;
      m->in[m->ins].width = width;
      column[settp_map_bit_single(e, bit)] = m->ins++;
    }
  }
  for (i = 0; ok && i < s.results; ++i)
    ok = settp_map_matrix_result(e, m, column, i, a.lin[settp_map_at(arena, s.result[i])->mark]);
  arena->top = keep;
  if (!ok) return NULL;
  settp_map_matrix_reduce(m);
  return m;
}

/* The pivot of an equation is the one variable bit that no other equation contains. Let the pivot of equation i be a bit of variable v. Return the
 * number of the equation whose pivot is bit `place` of v, or -1. */
SETT_INLINE int settp_map_matrix_line(const settp_map_matrix *m, int i, int place) {
  int k;
  for (k = 0; k < m->rank; ++k)
    if (m->in[m->pivot[k]].of == m->in[m->pivot[i]].of && m->in[m->pivot[k]].place == place) return k;
  return -1;
}

/* Return 1 if equation i contains result bit j + n, and this bit lies n positions above bit j in the same result. */
SETT_INLINE int settp_map_matrix_holds(const settp_map_matrix *m, int i, int j, int n) {
  int to = j + n;
  return i >= 0 && to >= 0 && to < m->outs && m->out[to].of == m->out[j].of &&
         m->out[to].place == m->out[j].place + n && settp_map_set_has(&m->line[i].out, to);
}

/* For a matrix of full rank, write each variable as an expression of the results. Adjacent bits are written as one digit. Return 0 if the arena is full.
 */
SETT_INLINE int settp_map_matrix_back(sett_map_arena *arena, sett_map s, const settp_map_matrix *m, sett_expr *out) {
  int v, i, j;
  for (v = 0; v < sett_map_variables(s); ++v) {
    sett_expr sum = sett_map_constant(arena, 0), sign = sum;
    int64_t rest = s.variable[v].lo, ones = 0; /* `rest`: the value of the variable if all its bits that vary are 0 */
    for (j = 0; j < m->ins; ++j)
      if (m->in[j].of == v && settp_map_place_at(m->in[j], rest)) rest -= settp_map_place_weight(m->in[j]);
    for (i = 0; i < m->rank; ++i) {
      settp_map_bit_at in = m->in[m->pivot[i]];
      int is_sign = in.place == SETTP_MAP_BIT_SIGN, before, n;
      if (in.of != v) continue;
      if (m->line[i].one && is_sign) sign = sett_map_constant(arena, 1);
      else if (m->line[i].one) ones |= (int64_t)1 << in.place;
      before = is_sign ? -1 : settp_map_matrix_line(m, i, in.place - 1);
      for (j = 0; j < m->outs; ++j) {
        sett_expr digit;
        if (!settp_map_set_has(&m->line[i].out, j) || settp_map_matrix_holds(m, before, j, -1)) continue;
        for (n = 1; !is_sign && in.place + n < SETTP_MAP_BIT_SIGN &&
                    settp_map_matrix_holds(m, settp_map_matrix_line(m, i, in.place + n), j, n);
             ++n) {}
        digit = sett_map_constant(
            arena, (int64_t)1 << (m->out[j].place == SETTP_MAP_BIT_SIGN ? m->out[j].width : m->out[j].place));
        digit = sett_map_floordiv(arena, sett_map_var(arena, m->out[j].of), digit);
        digit = sett_map_mod(arena, digit, sett_map_constant(arena, (int64_t)1 << n));
        if (is_sign) sign = sett_map_xor(arena, sign, digit);
        else
          sum = sett_map_xor(arena, sum, sett_map_mul(arena, digit, sett_map_constant(arena, (int64_t)1 << in.place)));
      }
      if (!is_sign) continue;
      sign = sett_map_mul(arena, sign, sett_map_constant(arena, settp_map_place_weight(in)));
    }
    sum = sett_map_xor(arena, sum, sett_map_constant(arena, ones));
    out[v] = sett_map_add(arena, sett_map_add(arena, sum, sign), sett_map_constant(arena, rest));
    if (out[v] < SETT_MAP_ERROR_COUNT) return 0;
  }
  return 1;
}

/* If the rank is less than the number of variable bits, write two points of a full domain that have the same image. */
SETT_INLINE void settp_map_matrix_collision(sett_map s, const settp_map_matrix *m, int64_t *point, int64_t *other) {
  int i, free_bit;
  for (i = 0; i < sett_map_variables(s); ++i) point[i] = other[i] = s.variable[i].lo;
  for (free_bit = 0; free_bit < m->rank && m->pivot[free_bit] == free_bit; ++free_bit) {}
  /* in `other`, invert the bit `free_bit`, and the pivot bit of each equation that contains `free_bit` */
  for (i = -1; i < m->rank; ++i) {
    settp_map_bit_at p = m->in[i < 0 ? free_bit : m->pivot[i]];
    if (i >= 0 && !settp_map_set_has(&m->line[i].in, free_bit)) continue;
    other[p.of] += settp_map_place_at(p, other[p.of]) ? -settp_map_place_weight(p) : settp_map_place_weight(p);
  }
}

/* For a matrix with a full domain and a box whose sides are powers of two: return 1 if every point of the box is an image. Otherwise, write a point
 * that is no image to `missed`, and return 0. Return -1 for other boxes. */
SETT_INLINE int settp_map_matrix_covers(sett_map s, const settp_map_matrix *m, const sett_map_interval *box,
                                        int64_t *missed) {
  int i, j, k;
  for (i = 0; i < s.results; ++i) {
    uint64_t vary = (uint64_t)box[i].lo ^ (uint64_t)box[i].hi;
    if (vary & (vary + 1) || (uint64_t)box[i].lo & vary) return -1;
    missed[i] = box[i].lo;
  }
  /* equations from `rank` on contain no variable bit, so the sum of their result bits is the same in all images */
  for (k = m->rank; k < m->outs; ++k) {
    int sum = m->line[k].one, varies = -1;
    for (j = 0; j < m->outs; ++j) {
      settp_map_bit_at p = m->out[j];
      if (!settp_map_set_has(&m->line[k].out, j)) continue;
      sum ^= settp_map_place_at(p, box[p.of].lo);
      if (p.place < SETTP_MAP_BIT_SIGN && (((uint64_t)box[p.of].lo ^ (uint64_t)box[p.of].hi) >> p.place & 1))
        varies = j;
    }
    if (sum) return 0;
    if (varies < 0) continue;
    missed[m->out[varies].of] |= (int64_t)1 << m->out[varies].place;
    return 0;
  }
  return 1;
}

/* Return 2 if a map contains a xor. Return 1 if it contains a sum modulo a power of two, no xor, and only divisors that are powers of two. Otherwise
 * return 0: the map gives no reason to compute a matrix. */
SETT_INLINE int settp_map_of_bits(sett_map_arena *arena, const sett_map *map) {
  size_t keep = arena->top;
  settp_map_list list;
  uint32_t i;
  int64_t c = 0;
  int sums = 0, others = 0, xors = 0;
  if (map->kind != SETT_MAP_DEFINED || settp_map_list_of_map(arena, &list, map)) return 0;
  for (i = 0; i < list.count; ++i) {
    const settp_map_node *n = settp_map_at(arena, list.handle[i]);
    xors |= n->op == SETTP_MAP_XOR;
    if (n->op != SETTP_MAP_MOD && n->op != SETTP_MAP_FLOORDIV && n->op != SETTP_MAP_CEILDIV) continue;
    if (!settp_map_is_constant(arena, settp_map_b(n), &c) || c < 1 || c & (c - 1)) others = 1;
    else if (n->op == SETTP_MAP_MOD && settp_map_at(arena, settp_map_a(n))->op == SETTP_MAP_ADD) sums = 1;
  }
  arena->top = keep;
  return xors ? 2 : sums && !others;
}

/* ======================================================================= bodies: questions ==== */

SETT_PUBLIC int sett_map_strides(sett_map_arena *arena, sett_map map, int variable, sett_map_stride *out) {
  sett_map_mark mark = sett_map_arena_mark(arena);
  settp_map_asked a;
  int i, j, code;
  if (map.kind != SETT_MAP_DEFINED) return settp_map_error(&map);
  if (variable < 0 || variable >= sett_map_variables(map)) code = SETT_MAP_ERROR_UNKNOWN;
  else code = settp_map_ask(arena, map, &a); /* an error if the map has no value at any point */
  for (i = 0; i < map.results; ++i) {
    const settp_map_engine *e = &a.engine;
    int32_t l;
    int64_t lo, start, g = 0, own = 0, modulus;
    out[i].linear = code <= 0;
    out[i].stride = 0;
    out[i].align = code > 0;
    if (code) continue;
    l = a.lin[settp_map_at(arena, map.result[i])->mark];
    lo = map.variable[variable].lo;
    start = e->lin[l].constant;
    modulus = a.domain.modulus[variable];
    for (j = 0; j < e->lin[l].count; ++j) {
      settp_map_term t = e->term[e->lin[l].first + j];
      const settp_map_atom *x = e->atom + t.atom;
      if (x->kind == SETTP_MAP_ATOM_VAR && x->a == variable) {
        own = t.k;
        if (own % modulus || settp_map_add(lo, -x->r, &lo) || settp_map_mul(own / modulus, lo, &lo) ||
            settp_map_add(start, lo, &start))
          out[i].linear = 0;
      } else {
        if (x->support >> (variable & 63) & 1) out[i].linear = 0;
        g = settp_map_gcd(g, t.k);
      }
    }
    out[i].align = 1;
    if (!out[i].linear) continue;
    out[i].stride = own / modulus;
    out[i].align = start == INT64_MIN ? 1 : settp_map_gcd(g, start);
  }
  sett_map_arena_rewind(arena, mark);
  return code > 0 && !settp_map_no_value(code) ? code : 0;
}

/* Return 1 if all divisors in e are numbers. Then e has a value unless it overflows. */
SETT_INLINE int settp_map_divides_by_numbers(sett_map_arena *arena, sett_expr e) {
  size_t keep = arena->top;
  settp_map_list list;
  uint32_t i;
  int numbers = !settp_map_list_of(arena, &list, &e, 1);
  for (i = 0; i < list.count && numbers; ++i) {
    const settp_map_node *n = settp_map_at(arena, list.handle[i]);
    if (n->op == SETTP_MAP_MOD || n->op == SETTP_MAP_FLOORDIV || n->op == SETTP_MAP_CEILDIV)
      numbers = settp_map_at(arena, settp_map_b(n))->op == SETTP_MAP_CONST;
  }
  arena->top = keep;
  return numbers;
}

/* Return bounds of the variables. They follow from the map's own bounds and from the constraints that have a value everywhere. Rule C4 (the interval of a
 * sum bounds each of its terms) is applied once. */
SETT_INLINE const sett_map_variable *settp_map_implied_bounds(sett_map_arena *arena, const sett_map *map,
                                                              const sett_map_constraint *constraint, int count) {
  settp_map_engine e;
  settp_map_domain d, cut;
  settp_map_nodes_known known;
  sett_map_constraint *total;
  int32_t *lin;
  int i, n = 0;
  if (settp_map_domain_start(arena, map, &d) || settp_map_domain_start(arena, map, &cut)) return NULL;
  total = (sett_map_constraint *)settp_map_take(arena, (size_t)count * sizeof *total + 8);
  if (!total) return NULL;
  for (i = 0; i < count; ++i)
    if (settp_map_divides_by_numbers(arena, constraint[i].expr)) total[n++] = constraint[i];
  constraint = total;
  count = n;
  settp_map_clear(&known, sizeof known);
  if (settp_map_list_of_constraints(arena, &known.list, constraint, count)) return NULL;
  if (settp_map_engine_start(&e, arena, map, d.bounds, d.modulus, d.residue, known.list.count)) return NULL;
  lin = settp_map_normalise(&e, &known, NULL);
  if (!lin) return NULL;
  for (i = 0; i < count; ++i) {
    int32_t l = lin[settp_map_at(arena, constraint[i].expr)->mark];
    settp_map_cut_atoms(&e, &cut, settp_map_lin_scale(&e, l, 1, settp_map_neg(e.lin[l].constant)),
                        settp_map_sat_add(constraint[i].lo, settp_map_neg(e.lin[l].constant)),
                        settp_map_sat_add(constraint[i].hi, settp_map_neg(e.lin[l].constant)), 0);
  }
  return e.error ? NULL : cut.bounds;
}

/* Return the conditions that must be tested at run time: the constraints of the simplified map, and bounds of variables that simplification narrowed.
 */
SETT_PUBLIC sett_map sett_map_guards(sett_map_arena *arena, sett_map map) {
  sett_map s = sett_map_simplify(arena, map);
  const sett_map_variable *implied;
  sett_map_constraint *c;
  int i, n = 0;
  size_t keep = arena->top;
  if (s.kind != SETT_MAP_DEFINED) return s;
  c = (sett_map_constraint *)settp_map_take(arena, (size_t)(s.constraints + sett_map_variables(map)) * sizeof *c + 8);
  if (!c) return sett_map_fail(SETT_MAP_ERROR_FULL, 0);
  implied = settp_map_implied_bounds(arena, &map, s.constraint, s.constraints);
  if (!implied) return sett_map_fail(SETT_MAP_ERROR_FULL, 0);
  for (i = 0; i < sett_map_variables(map); ++i)
    if (s.variable[i].lo > implied[i].lo || s.variable[i].hi < implied[i].hi) {
      c[n].expr = sett_map_var(arena, i);
      c[n].lo = s.variable[i].lo;
      c[n++].hi = s.variable[i].hi;
    }
  for (i = 0; i < s.constraints; ++i) c[n++] = s.constraint[i];
  s.variable = map.variable;
  s.constraint = c;
  s.constraints = n;
  return settp_map_store(arena, s, keep);
}

/* ======================================================================= bodies: points ==== */

typedef struct settp_map_step {
  int64_t value; /* for a constant its value; for a variable its index */
  uint32_t a, b; /* the indices of the steps that compute the operands */
  uint32_t op;
} settp_map_step;

SETT_PUBLIC sett_map_evaluator sett_map_evaluator_make(sett_map_arena *arena, sett_map map) {
  sett_map_evaluator v;
  settp_map_list list;
  settp_map_step *step;
  uint32_t *root, i;
  int k;
  settp_map_clear(&v, sizeof v);
  v.map = map;
  v.failed = settp_map_error(&map);
  if (map.kind != SETT_MAP_DEFINED) return v;
  v.failed = settp_map_list_of_constraints(arena, &list, map.constraint, map.constraints);
  for (k = 0; k < map.results && !v.failed; ++k) v.failed = settp_map_list_push(arena, &list, map.result[k]);
  if (v.failed) return v;
  step = (settp_map_step *)settp_map_take(arena, (size_t)list.count * sizeof *step + 8);
  root = (uint32_t *)settp_map_take(arena, (size_t)(map.constraints + map.results) * sizeof *root + 8);
  v.value = (int64_t *)settp_map_take(arena, (size_t)list.count * sizeof *v.value + 8);
  v.error = (unsigned char *)settp_map_take(arena, (size_t)list.count + 8);
  v.steps = list.count;
  if (!step || !root || !v.value || !v.error) {
    v.failed = SETT_MAP_ERROR_FULL;
    return v;
  }
  for (i = 0; i < list.count; ++i) {
    const settp_map_node *n = settp_map_at(arena, list.handle[i]);
    step[i].op = n->op;
    step[i].value = v.value[i] = n->value;
    step[i].a = step[i].b = v.error[i] = 0;
    if (n->op < SETTP_MAP_ADD) continue;
    step[i].a = settp_map_at(arena, settp_map_a(n))->mark;
    step[i].b = settp_map_at(arena, settp_map_b(n))->mark;
  }
  for (k = 0; k < map.constraints; ++k) root[k] = settp_map_at(arena, map.constraint[k].expr)->mark;
  for (k = 0; k < map.results; ++k) root[map.constraints + k] = settp_map_at(arena, map.result[k])->mark;
  v.step = step;
  v.root = root;
  return v;
}

/* Return 1 if the point is inside, and write the results; 0 if it is outside; -error if there is no value. If a constraint does not hold, the point
 * is outside, even if another constraint has no value. A step without a value gets an error instead. So do all steps that use this step. */
SETT_INLINE int settp_map_code_at(const sett_map_evaluator *v, const int64_t *values, int64_t *results) {
  const sett_map *map = &v->map;
  uint32_t i = 0;
  int k, code = 1;
  if (v->failed) return -v->failed;
  if (map->kind != SETT_MAP_DEFINED) return 0;
  for (k = 0; k < sett_map_variables(*map); ++k)
    if (values[k] < map->variable[k].lo || values[k] > map->variable[k].hi) return 0;
  for (k = 0; k < map->constraints + map->results; ++k) {
    uint32_t at = v->root[k];
    for (; i <= at; ++i) {
      const settp_map_step *s = v->step + i;
      if (s->op == SETTP_MAP_CONST) continue;
      if (s->op == SETTP_MAP_VAR) v->value[i] = values[s->value];
      else if (v->error[s->a] || v->error[s->b]) v->error[i] = v->error[s->a] ? v->error[s->a] : v->error[s->b];
      else v->error[i] = (unsigned char)settp_map_apply((int)s->op, v->value[s->a], v->value[s->b], &v->value[i]);
    }
    if (k >= map->constraints && code == 1 && !v->error[at]) results[k - map->constraints] = v->value[at];
    else if (k >= map->constraints) return code == 1 ? -(int)v->error[at] : code;
    else if (v->error[at]) code = code == 1 ? -(int)v->error[at] : code;
    else if (v->value[at] < map->constraint[k].lo || v->value[at] > map->constraint[k].hi) return 0;
  }
  return code;
}

/* Return 1 if `code`, the result of settp_map_code_at, is 1. Otherwise set the results to 0 and return 0. *error receives the error, or 0 if there is
 * none. */
SETT_INLINE int settp_map_inside(int code, int count, int64_t *results, int *error) {
  int i;
  for (i = 0; i < count && code != 1; ++i) results[i] = 0;
  if (error) *error = code < 0 ? -code : 0;
  return code == 1;
}

SETT_PUBLIC int sett_map_evaluator_at(const sett_map_evaluator *v, const int64_t *values, int64_t *results,
                                      int *error) {
  return settp_map_inside(settp_map_code_at(v, values, results), v->map.results, results, error);
}

SETT_PUBLIC int sett_map_evaluate(sett_map_arena *arena, sett_map map, const int64_t *values, int64_t *results,
                                  int *error) {
  size_t keep = arena->top;
  sett_map_evaluator v = sett_map_evaluator_make(arena, map);
  int code = sett_map_evaluator_at(&v, values, results, error);
  arena->top = keep;
  return code;
}

SETT_PUBLIC sett_map_points sett_map_points_begin(sett_map_arena *arena, sett_map map) {
  sett_map_points p;
  p.evaluator = sett_map_evaluator_make(arena, map);
  p.point = (int64_t *)settp_map_take(arena, (size_t)sett_map_variables(map) * sizeof *p.point + 8);
  p.result = (int64_t *)settp_map_take(arena, (size_t)map.results * sizeof *p.result + 8);
  p.state = 0;
  if (!p.point || !p.result) p.evaluator.failed = SETT_MAP_ERROR_FULL;
  p.error = p.evaluator.failed;
  return p;
}

SETT_PUBLIC int sett_map_points_next(sett_map_points *p) {
  const sett_map *map = &p->evaluator.map;
  int i, code;
  p->error = p->evaluator.failed;
  if (p->error || map->kind != SETT_MAP_DEFINED) p->state = 2;
  while (p->state != 2) {
    if (p->state) {
      if (!settp_map_next_point(map, p->point)) p->state = 2;
    } else {
      for (i = 0; i < sett_map_variables(*map); ++i) p->point[i] = map->variable[i].lo;
      p->state = 1;
    }
    if (p->state == 2) break;
    code = settp_map_code_at(&p->evaluator, p->point, p->result);
    if (code) return settp_map_inside(code, map->results, p->result, &p->error);
  }
  return 0;
}

/* settp_map_reach returns hi - lo, saturated, or -1 if hi < lo. settp_map_extent returns the number of values in [lo, hi], saturated. */
SETT_INLINE int64_t settp_map_reach(int64_t lo, int64_t hi) {
  uint64_t n = (uint64_t)hi - (uint64_t)lo;
  return hi < lo ? -1 : n > (uint64_t)INT64_MAX ? INT64_MAX : (int64_t)n;
}
SETT_INLINE int64_t settp_map_extent(int64_t lo, int64_t hi) { return settp_map_sat_add(settp_map_reach(lo, hi), 1); }

/* Return a - b, or `beyond` if the difference overflows. */
SETT_INLINE int64_t settp_map_difference(int64_t a, int64_t b, int64_t beyond) {
  int64_t r;
  return b == INT64_MIN || settp_map_add(a, -b, &r) ? beyond : r;
}

typedef struct settp_map_random {
  uint64_t state; /* never 0, because the generator would then return 0 forever */
} settp_map_random;

SETT_INLINE int64_t settp_map_draw(settp_map_random *r, int64_t lo, int64_t hi) {
  uint64_t span = (uint64_t)hi - (uint64_t)lo;
  r->state ^= r->state << 13;
  r->state ^= r->state >> 7;
  r->state ^= r->state << 17;
  return (int64_t)((uint64_t)lo + (span == UINT64_MAX ? r->state : r->state % (span + 1)));
}

/* Draw a point of the box of a map's bounds. A third of the values are ends of their intervals. */
SETT_INLINE void settp_map_draw_point(settp_map_random *r, const sett_map *map, int64_t *point) {
  int i;
  for (i = 0; i < sett_map_variables(*map); ++i) {
    int64_t end = settp_map_draw(r, 0, 5), lo = map->variable[i].lo, hi = map->variable[i].hi;
    point[i] = end == 0 ? lo : end == 1 ? hi : settp_map_draw(r, lo, hi);
  }
}

/* Return the number of points in the box of a map's bounds, saturated. */
SETT_INLINE int64_t settp_map_box_points(const sett_map *map) {
  int64_t n = 1;
  int i;
  for (i = 0; i < sett_map_variables(*map); ++i)
    n = settp_map_sat_mul(n, settp_map_extent(map->variable[i].lo, map->variable[i].hi));
  return n;
}

/* ======================================================================= bodies: variables ==== */

/* Return the variable x of a constraint x mod m in [r, r]; -1 if the constraint has another form. */
SETT_INLINE int settp_map_class_of(const sett_map_arena *arena, const sett_map_constraint *c, int64_t *modulus) {
  const settp_map_node *n = settp_map_at(arena, c->expr), *x;
  if (n->op != SETTP_MAP_MOD || c->lo != c->hi || !settp_map_is_constant(arena, settp_map_b(n), modulus) ||
      *modulus < 1)
    return -1;
  x = settp_map_at(arena, settp_map_a(n));
  return x->op == SETTP_MAP_VAR ? (int)x->value : -1;
}

/* Replace every variable that has a residue class, r modulo k, by k * v + r with a new variable v. Only variables of the kinds in `kinds` are
 * replaced. */
SETT_INLINE sett_map settp_map_rescale(sett_map_arena *arena, sett_map map, int kinds) {
  int round, i, k, n, found = 1;
  for (round = 0; round < 16 && found; ++round) {
    sett_map_variable *variable;
    sett_map_constraint *constraint;
    sett_expr *replace;
    map = sett_map_simplify(arena, map);
    if (map.kind != SETT_MAP_DEFINED) return map;
    n = sett_map_variables(map);
    variable = (sett_map_variable *)settp_map_take(arena, (size_t)n * sizeof *variable + 8);
    replace = (sett_expr *)settp_map_take(arena, (size_t)n * sizeof *replace + 8);
    constraint = (sett_map_constraint *)settp_map_take(arena, (size_t)map.constraints * sizeof *constraint + 8);
    if (!variable || !replace || !constraint) return sett_map_fail(SETT_MAP_ERROR_FULL, 0);
    for (i = 0; i < n; ++i) {
      variable[i] = map.variable[i];
      replace[i] = sett_map_var(arena, i);
    }
    for (i = k = found = 0; i < map.constraints; ++i) {
      int64_t m = 0, r = map.constraint[i].lo;
      int v = settp_map_class_of(arena, map.constraint + i, &m);
      if (v < 0 || !(kinds >> settp_map_kind(&map, v) & 1) || replace[v] != sett_map_var(arena, v)) {
        constraint[k++] = map.constraint[i];
        continue;
      }
      variable[v].lo = settp_map_ceil_bound(variable[v].lo, r, m);
      variable[v].hi = settp_map_floor_bound(variable[v].hi, r, m);
      replace[v] = sett_map_add(arena, sett_map_mul(arena, replace[v], sett_map_constant(arena, m)),
                                sett_map_constant(arena, r));
      found = 1;
    }
    map.constraints = k;
    map.constraint = constraint;
    if (found) {
      sett_map out = map;
      out.variable = variable;
      map = settp_map_rebuild(arena, map, out, replace, NULL, 0);
    }
  }
  return map;
}

SETT_PUBLIC sett_map sett_map_rescale(sett_map_arena *arena, sett_map map) {
  return settp_map_rescale(arena, map, SETT_MAP_RANGES);
}

/* Return 1 if some point of the box satisfies all constraints, and 0 if none does. Return -1 if this is not decided. */
SETT_INLINE int settp_map_feasible(sett_map_arena *arena, sett_map map) {
  sett_map_points it;
  int code = 0, count = 0;
  map.results = 0;
  map = sett_map_simplify(arena, map);
  if (map.kind != SETT_MAP_DEFINED) return map.kind == SETT_MAP_EMPTY ? 0 : -1;
  it = sett_map_points_begin(arena, map);
  if (it.evaluator.failed) return -1;
  for (; it.state != 2 && code != 1 && count < SETT_MAP_POINTS_MAX; ++count) {
    int i;
    if (it.state) it.state = settp_map_next_point(&map, it.point) ? 1 : 2;
    else
      for (i = 0, it.state = 1; i < sett_map_variables(map); ++i) it.point[i] = map.variable[i].lo;
    if (it.state == 1) code = settp_map_code_at(&it.evaluator, it.point, it.result);
    if (code < 0) return -1;
  }
  return code == 1 ? 1 : it.state == 2 ? 0 : -1;
}

/* Return the number of variables of an expression that are marked in `used`. If `mark` is set, mark all variables of the expression instead, and return
 * the number of those that were not marked before. */
SETT_INLINE int settp_map_used_variables(sett_map_arena *arena, sett_expr expr, unsigned char *used, int mark,
                                         int *full) {
  size_t keep = arena->top;
  settp_map_list list;
  uint32_t i;
  int n = 0;
  if (settp_map_list_of(arena, &list, &expr, 1)) *full = 1;
  for (i = 0; i < list.count && !*full; ++i) {
    const settp_map_node *node = settp_map_at(arena, list.handle[i]);
    if (node->op != SETTP_MAP_VAR || !used[node->value] == !mark) continue;
    used[node->value] = 1;
    ++n;
  }
  arena->top = keep;
  return n;
}

/* Mark the variables of every constraint that contains a marked variable, until nothing changes. taken[i] becomes 1 if constraint i contains a marked
 * variable. */
SETT_INLINE int settp_map_spread(sett_map_arena *arena, const sett_map *map, unsigned char *used,
                                 unsigned char *taken) {
  int i, more = 1, full = 0;
  while (more && !full)
    for (i = more = 0; i < map->constraints; ++i) {
      if (taken[i] || !settp_map_used_variables(arena, map->constraint[i].expr, used, 0, &full)) continue;
      taken[i] = 1;
      settp_map_used_variables(arena, map->constraint[i].expr, used, 1, &full);
      more = 1;
    }
  return !full;
}

SETT_PUBLIC sett_map sett_map_remove_unused(sett_map_arena *arena, sett_map map, int kinds, unsigned char *removed) {
  sett_map out = map;
  sett_map_variable *variable;
  sett_map_constraint *constraint;
  sett_expr *replace;
  unsigned char *used, *taken, *group, *in_group, *is_default;
  int n = sett_map_variables(map), i, j, k = 0, full = 0;
  for (i = 0; i < n && removed; ++i) removed[i] = 0;
  if (map.kind != SETT_MAP_DEFINED) return map;
  used = (unsigned char *)settp_map_take(arena, (size_t)n * 3 + 8);
  taken = (unsigned char *)settp_map_take(arena, (size_t)map.constraints * 2 + 8);
  variable = (sett_map_variable *)settp_map_take(arena, (size_t)n * sizeof *variable + 8);
  constraint = (sett_map_constraint *)settp_map_take(arena, (size_t)map.constraints * sizeof *constraint + 8);
  replace = (sett_expr *)settp_map_take(arena, (size_t)n * sizeof *replace + 8);
  if (!used || !taken || !variable || !constraint || !replace) return sett_map_fail(SETT_MAP_ERROR_FULL, 0);
  group = used + n;
  is_default = group + n;
  in_group = taken + map.constraints;
  for (i = 0; i < n; ++i) used[i] = !(kinds >> settp_map_kind(&map, i) & 1);
  for (i = 0; i < map.constraints; ++i) taken[i] = 0;
  for (i = 0; i < map.results; ++i) settp_map_used_variables(arena, map.result[i], used, 1, &full);
  if (full || !settp_map_spread(arena, &map, used, taken)) return sett_map_fail(SETT_MAP_ERROR_FULL, 0);
  /* put the other constraints into groups; constraints that share variables are in one group */
  for (i = 0; i < map.constraints; ++i) {
    size_t keep = arena->top;
    sett_map alone = map;
    int feasible;
    if (taken[i]) continue;
    for (j = 0; j < n; ++j) group[j] = 0;
    for (j = 0; j < map.constraints; ++j) in_group[j] = 0;
    settp_map_used_variables(arena, map.constraint[i].expr, group, 1, &full);
    if (full || !settp_map_spread(arena, &map, group, in_group)) return sett_map_fail(SETT_MAP_ERROR_FULL, 0);
    in_group[i] = 1;
    for (j = alone.constraints = 0; j < map.constraints; ++j)
      if (in_group[j]) constraint[alone.constraints++] = map.constraint[j];
    for (j = 0; j < n; ++j) {
      variable[j] = map.variable[j];
      if (!group[j]) variable[j].hi = variable[j].lo;
    }
    alone.variable = variable;
    alone.constraint = constraint;
    alone.results = 0;
    feasible = settp_map_feasible(arena, alone);
    arena->top = keep;
    if (!feasible) return sett_map_empty();
    for (j = 0; j < map.constraints; ++j)
      if (in_group[j]) taken[j] = feasible > 0 ? 2 : 1;
    for (j = 0; j < n && feasible < 0; ++j) used[j] |= group[j];
  }
  for (i = j = 0; i < map.constraints; ++i)
    if (taken[i] == 1) constraint[j++] = map.constraint[i];
  map.constraint = constraint;
  map.constraints = j;
  for (i = 0; i < n; ++i) {
    replace[i] = used[i] ? sett_map_var(arena, k) : sett_map_constant(arena, map.variable[i].lo);
    if (used[i]) {
      is_default[k] = !map.variable[i].name;
      variable[k++] = map.variable[i];
    } else settp_map_less(&out, settp_map_kind(&map, i));
    if (removed) removed[i] = !used[i];
  }
  if (settp_map_unique_names(arena, out, variable, is_default)) return sett_map_fail(SETT_MAP_ERROR_FULL, 0);
  out.variable = variable;
  return settp_map_rebuild(arena, map, out, replace, NULL, 0);
}

/* Reorder the variables: new variable i is old variable order[i]. The first count[0] are dimensions, the next count[1] ranges, the next count[2]
 * runtime variables. */
SETT_INLINE sett_map settp_map_reorder(sett_map_arena *arena, sett_map map, const int *order, const int *count) {
  sett_map out = map;
  sett_map_variable *variable;
  sett_expr *replace;
  int n = sett_map_variables(map), k;
  variable = (sett_map_variable *)settp_map_take(arena, (size_t)n * sizeof *variable + 8);
  replace = (sett_expr *)settp_map_take(arena, (size_t)n * sizeof *replace + 8);
  if (!variable || !replace) return sett_map_fail(SETT_MAP_ERROR_FULL, 0);
  for (k = 0; k < n; ++k) {
    variable[k] = map.variable[order[k]];
    variable[k].name = settp_map_name_copy(arena, map, order[k]);
    if (!variable[k].name) return sett_map_fail(SETT_MAP_ERROR_FULL, 0);
    replace[order[k]] = sett_map_var(arena, k);
  }
  out.dims = count[0];
  out.ranges = count[1];
  out.rts = count[2];
  settp_map_default_names(out, variable);
  out.variable = variable;
  return settp_map_rebuild(arena, map, out, replace, NULL, 0);
}

/* Make the chosen variables dimensions (kind 0) or ranges (kind 1). They follow the other variables of that kind. */
SETT_INLINE sett_map settp_map_to_kind(sett_map_arena *arena, sett_map map, const unsigned char *chosen, int to) {
  int n = sett_map_variables(map), i, kind, moved, k = 0, count[3], *order;
  if (map.kind != SETT_MAP_DEFINED) return map;
  order = (int *)settp_map_take(arena, (size_t)n * sizeof *order + 8);
  if (!order) return sett_map_fail(SETT_MAP_ERROR_FULL, 0);
  for (kind = 0; kind < 3; ++kind)
    for (count[kind] = moved = 0; moved < 2; ++moved)
      for (i = 0; i < n; ++i) {
        int own = settp_map_kind(&map, i);
        int taken = chosen ? chosen[i] : to == 0 ? own != 0 : own == 0;
        if ((taken ? to : own) != kind || (own != kind) != moved) continue;
        order[k++] = i;
        ++count[kind];
      }
  return settp_map_reorder(arena, map, order, count);
}
SETT_PUBLIC sett_map sett_map_to_dims(sett_map_arena *arena, sett_map map, const unsigned char *chosen) {
  return settp_map_to_kind(arena, map, chosen, 0);
}
SETT_PUBLIC sett_map sett_map_to_ranges(sett_map_arena *arena, sett_map map, const unsigned char *chosen) {
  return settp_map_to_kind(arena, map, chosen, 1);
}

SETT_PUBLIC sett_map sett_map_move(sett_map_arena *arena, sett_map map, int from, int to) {
  int n = sett_map_variables(map), i, k = 0, count[3], *order;
  if (map.kind != SETT_MAP_DEFINED) return map;
  if (from < 0 || from >= map.dims || to < 0 || to >= map.dims) return sett_map_undefined();
  order = (int *)settp_map_take(arena, (size_t)n * sizeof *order + 8);
  if (!order) return sett_map_fail(SETT_MAP_ERROR_FULL, 0);
  for (i = 0; i < n; ++i) {
    if (i == from) continue;
    if (k == to) ++k;
    order[k++] = i;
  }
  order[to] = from;
  count[0] = map.dims;
  count[1] = map.ranges;
  count[2] = map.rts;
  return settp_map_reorder(arena, map, order, count);
}

SETT_PUBLIC sett_map sett_map_replace(sett_map_arena *arena, sett_map map, int variable, sett_expr expr) {
  sett_map out = map;
  sett_map_variable *left;
  sett_map_constraint bounds;
  sett_expr *replace, *made;
  settp_map_list list;
  int n = sett_map_variables(map), i, k = 0;
  uint32_t at;
  if (map.kind != SETT_MAP_DEFINED) return map;
  if (expr < SETT_MAP_ERROR_COUNT) return sett_map_fail((int)expr, 0);
  left = (sett_map_variable *)settp_map_take(arena, (size_t)n * sizeof *left + 8);
  replace = (sett_expr *)settp_map_take(arena, (size_t)n * sizeof *replace + 8);
  if (!left || !replace || settp_map_list_of(arena, &list, &expr, 1)) return sett_map_fail(SETT_MAP_ERROR_FULL, 0);
  for (at = 0; at < list.count; ++at) {
    const settp_map_node *node = settp_map_at(arena, list.handle[at]);
    if (node->op == SETTP_MAP_VAR && (node->value == variable || node->value >= n))
      return sett_map_fail(SETT_MAP_ERROR_REPLACEMENT, 0);
  }
  for (i = 0; i < n; ++i) {
    replace[i] = sett_map_var(arena, k);
    if (i == variable) continue;
    left[k] = map.variable[i];
    left[k].name = settp_map_name_copy(arena, map, i);
    if (!left[k++].name) return sett_map_fail(SETT_MAP_ERROR_FULL, 0);
  }
  settp_map_less(&out, settp_map_kind(&map, variable));
  settp_map_default_names(out, left);
  made = settp_map_rewrite(arena, &list, replace);
  if (!made) return sett_map_fail(SETT_MAP_ERROR_FULL, 0);
  replace[variable] = bounds.expr = made[settp_map_at(arena, expr)->mark];
  if (bounds.expr < SETT_MAP_ERROR_COUNT) return sett_map_fail((int)bounds.expr, 0);
  bounds.lo = map.variable[variable].lo;
  bounds.hi = map.variable[variable].hi;
  out.variable = left;
  return settp_map_rebuild(arena, map, out, replace, &bounds, 1);
}

/* Replace variable v by `base` + w * j + i with i in [0, w - 1]. All variables become dimensions: j has v's index, and i is the last. */
SETT_INLINE sett_map settp_map_stripe(sett_map_arena *arena, sett_map map, int v, int64_t w, int64_t base) {
  sett_map out = map;
  sett_map_variable *variable;
  sett_map_constraint bounds;
  sett_expr *replace;
  int n = sett_map_variables(map), i;
  int64_t lo, hi;
  variable = (sett_map_variable *)settp_map_take(arena, ((size_t)n + 1) * sizeof *variable);
  replace = (sett_expr *)settp_map_take(arena, (size_t)n * sizeof *replace + 8);
  if (!variable || !replace) return sett_map_fail(SETT_MAP_ERROR_FULL, 0);
  for (i = 0; i < n; ++i) {
    variable[i] = map.variable[i];
    variable[i].name = NULL;
    replace[i] = sett_map_var(arena, i);
  }
  if (settp_map_add(map.variable[v].lo, settp_map_neg(base), &lo) ||
      settp_map_add(map.variable[v].hi, settp_map_neg(base), &hi))
    return sett_map_fail(SETT_MAP_ERROR_OVERFLOW, 0);
  variable[v].lo = settp_map_floor(lo, w);
  variable[v].hi = settp_map_floor(hi, w);
  variable[n].name = NULL;
  variable[n].lo = 0;
  variable[n].hi = w - 1;
  out.dims = n + 1;
  out.ranges = out.rts = 0;
  out.variable = variable;
  replace[v] =
      sett_map_add(arena, sett_map_mul(arena, replace[v], sett_map_constant(arena, w)), sett_map_var(arena, n));
  replace[v] = sett_map_add(arena, replace[v], sett_map_constant(arena, base));
  bounds.expr = replace[v];
  bounds.lo = map.variable[v].lo;
  bounds.hi = map.variable[v].hi;
  return settp_map_rebuild(arena, map, out, replace, &bounds, settp_map_mod(lo, w) || settp_map_mod(hi, w) != w - 1);
}

/* ======================================================================= bodies: values ==== */

/* A residue class: the integers that are equal to residue modulo modulus. If modulus is 0, this is only the number residue; if modulus is 1, it is every
 * integer. */
typedef struct settp_map_class {
  int64_t modulus, residue;
} settp_map_class;

SETT_INLINE settp_map_class settp_map_class_make(int64_t modulus, int64_t residue) {
  settp_map_class c;
  if (modulus == INT64_MIN) modulus = 1;
  c.modulus = modulus < 0 ? -modulus : modulus;
  c.residue = modulus ? settp_map_mod(residue, c.modulus) : residue;
  return c;
}

SETT_INLINE settp_map_class settp_map_class_add(settp_map_class a, settp_map_class b) {
  int64_t r, m = settp_map_gcd(a.modulus, b.modulus);
  if (m ? settp_map_add(settp_map_mod(a.residue, m), settp_map_mod(b.residue, m) - m, &r)
        : settp_map_add(a.residue, b.residue, &r))
    return settp_map_class_make(1, 0);
  return settp_map_class_make(m, r);
}

SETT_INLINE settp_map_class settp_map_class_mul(settp_map_class a, settp_map_class b) {
  int64_t mm, mr, rm, r;
  if (settp_map_mul(a.modulus, b.modulus, &mm) || settp_map_mul(a.modulus, b.residue, &mr) ||
      settp_map_mul(a.residue, b.modulus, &rm) || settp_map_mul(a.residue, b.residue, &r))
    return settp_map_class_make(1, 0);
  return settp_map_class_make(settp_map_gcd(settp_map_gcd(mm, mr), rm), r);
}

SETT_INLINE settp_map_class settp_map_class_scale(settp_map_class a, int64_t k) {
  return settp_map_class_mul(a, settp_map_class_make(0, k));
}

/* Return a residue class that contains x xor y for all x in a and y in b. It fixes those low bits that both a and b fix. */
SETT_INLINE settp_map_class settp_map_class_xor(settp_map_class a, settp_map_class b) {
  int64_t m = settp_map_gcd(a.modulus, b.modulus);
  if (!m) return settp_map_class_make(0, settp_map_xor(a.residue, b.residue));
  m &= -m;
  return settp_map_class_make(m, settp_map_xor(settp_map_mod(a.residue, m), settp_map_mod(b.residue, m)));
}

/* Return the intersection of two residue classes by the Chinese remainder theorem. If the product of the moduli overflows, return the class with the
 * larger modulus. */
SETT_INLINE settp_map_class settp_map_class_meet(settp_map_class a, settp_map_class b) {
  int64_t g, n, m, t, r;
  if (!a.modulus || b.modulus == 1) return a;
  if (!b.modulus || a.modulus == 1) return b;
  g = settp_map_gcd(a.modulus, b.modulus);
  n = b.modulus / g;
  if (settp_map_mod(a.residue, g) != settp_map_mod(b.residue, g) || n > (int64_t)1 << 31 ||
      settp_map_mul(a.modulus, n, &m))
    return a.modulus >= b.modulus ? a : b;
  /* solve a + modulus * t = b modulo the modulus of b */
  t = settp_map_mod(settp_map_mod((b.residue - a.residue) / g, n) * settp_map_inverse(a.modulus / g, n), n);
  if (settp_map_mul(a.modulus, t, &r) || settp_map_add(r, a.residue, &r)) return a.modulus >= b.modulus ? a : b;
  return settp_map_class_make(m, r);
}

SETT_INLINE settp_map_class settp_map_class_of_lin(const settp_map_engine *e, const settp_map_class *atom, int32_t l) {
  settp_map_class c = settp_map_class_make(0, e->lin[l].constant);
  int32_t i;
  for (i = 0; i < e->lin[l].count; ++i) {
    settp_map_term t = e->term[e->lin[l].first + i];
    c = settp_map_class_add(c, settp_map_class_scale(atom[t.atom], t.k));
  }
  return c;
}

/* Compute the residue class of each atom. The operands of an atom come before it. */
SETT_INLINE settp_map_class *settp_map_classes(settp_map_engine *e) {
  settp_map_class *atom = (settp_map_class *)settp_map_take(e->arena, (size_t)e->atoms * sizeof *atom + 8), a, b;
  int32_t i;
  for (i = 0; atom && i < e->atoms; ++i) {
    const settp_map_atom *x = e->atom + i;
    atom[i] = settp_map_class_make(1, 0);
    if (x->lo == x->hi) atom[i] = settp_map_class_make(0, x->lo);
    if (x->lo == x->hi || x->kind == SETTP_MAP_ATOM_VAR) continue;
    a = settp_map_class_of_lin(e, atom, x->a);
    if (x->kind == SETTP_MAP_ATOM_QUOTIENT) {
      if (a.modulus && a.modulus % x->c == 0)
        atom[i] = settp_map_class_make(a.modulus / x->c, settp_map_floor(a.residue, x->c));
      continue;
    }
    b = settp_map_class_of_lin(e, atom, x->b);
    if (x->op == SETTP_MAP_MUL) atom[i] = settp_map_class_mul(a, b);
    else if (x->op == SETTP_MAP_MIN || x->op == SETTP_MAP_MAX)
      atom[i] = settp_map_class_make(
          settp_map_gcd(settp_map_gcd(a.modulus, b.modulus), settp_map_difference(a.residue, b.residue, 1)), a.residue);
    else if (x->op == SETTP_MAP_XOR) atom[i] = settp_map_class_xor(a, b);
    /* a - b * quotient */
    else if (x->op == SETTP_MAP_MOD)
      atom[i] = settp_map_class_make(settp_map_gcd(settp_map_gcd(a.modulus, b.modulus), b.residue), a.residue);
  }
  return atom;
}

SETT_INLINE sett_map_values settp_map_values_make(sett_map_interval r, settp_map_class c) {
  sett_map_values v;
  if (r.lo > r.hi) {
    r = settp_map_interval(1, 0);
    c = settp_map_class_make(1, 0);
  }
  if (c.modulus > 1 && r.lo <= r.hi) {
    if (r.lo != INT64_MIN &&
        settp_map_add(r.lo, settp_map_mod(c.residue - settp_map_mod(r.lo, c.modulus), c.modulus), &r.lo))
      r.lo = r.hi;
    if (r.hi != INT64_MAX &&
        settp_map_add(r.hi, -settp_map_mod(settp_map_mod(r.hi, c.modulus) - c.residue, c.modulus), &r.hi))
      r.hi = r.lo;
  }
  if (!c.modulus) r = settp_map_interval(c.residue, c.residue);
  if (r.lo == r.hi) c = settp_map_class_make(0, r.lo);
  v.lo = r.lo;
  v.hi = r.hi;
  v.modulus = c.modulus;
  v.residue = c.residue;
  return v;
}

/* Compute the values of all results of a map. Return 0 or an error. Return -1 if the domain is empty; all values are then [1, 0]. */
SETT_INLINE int settp_map_values(sett_map_arena *arena, sett_map map, sett_map_values *out) {
  sett_map_mark mark = sett_map_arena_mark(arena);
  settp_map_asked a;
  settp_map_nodes_known known;
  settp_map_class *atom;
  int32_t *result, *fact = NULL;
  int i, j, code = map.kind == SETT_MAP_EMPTY ? -1 : settp_map_error(&map);
  if (!code) code = settp_map_ask(arena, map, &a);
  for (i = 0; i < map.results; ++i)
    out[i] = settp_map_values_make(code < 0 ? settp_map_interval(1, 0) : settp_map_interval(INT64_MIN, INT64_MAX),
                                   settp_map_class_make(1, 0));
  result = code ? NULL : (int32_t *)settp_map_take(arena, (size_t)map.results * sizeof *result + 8);
  if (!result) {
    sett_map_arena_rewind(arena, mark);
    return code ? code : SETT_MAP_ERROR_FULL;
  }
  for (i = 0; i < map.results; ++i) result[i] = a.lin[settp_map_at(arena, map.result[i])->mark];
  settp_map_clear(&known, sizeof known);
  if (a.constraints && !settp_map_list_of_constraints(arena, &known.list, a.constraint, a.constraints))
    fact = settp_map_normalise(&a.engine, &known, NULL);
  /* from here on, the field `expr` of a constraint is the number of its form */
  for (i = 0; i < a.constraints && fact; ++i) {
    int32_t l = fact[settp_map_at(arena, a.constraint[i].expr)->mark];
    a.constraint[i].expr = (sett_expr)l;
  }
  atom = a.engine.error ? NULL : settp_map_classes(&a.engine);
  for (i = 0; i < map.results && atom; ++i) {
    settp_map_engine *e = &a.engine;
    settp_map_class c = settp_map_class_of_lin(e, atom, result[i]);
    /* if a constraint fixes p to the number n, result - t * p + t * n has the same values as the result, and its interval may be narrower */
    for (j = 0; j < a.constraints && fact; ++j) {
      int32_t p = (int32_t)a.constraint[j].expr, n, other;
      if (a.constraint[j].lo != a.constraint[j].hi) continue;
      for (n = 0; n < e->lin[p].count && n < 16; ++n) {
        settp_map_term t = e->term[e->lin[p].first + n];
        int64_t k = settp_map_lin_coefficient(e, result[i], t.atom), away;
        if (!k || k % t.k || settp_map_mul(k / t.k, a.constraint[j].lo, &away)) continue;
        other = settp_map_lin_mix(e, result[i], 1, p, -(k / t.k), 0);
        if (other >= 0)
          c = settp_map_class_meet(
              c, settp_map_class_add(settp_map_class_of_lin(e, atom, other), settp_map_class_make(0, away)));
      }
    }
    out[i] = settp_map_values_make(settp_map_lin_interval(e, result[i]), c);
  }
  code = atom ? 0 : a.engine.error ? a.engine.error : SETT_MAP_ERROR_FULL;
  sett_map_arena_rewind(arena, mark);
  return code;
}

SETT_PUBLIC sett_map_values sett_map_congruence(sett_map_arena *arena, sett_map map, sett_expr expr) {
  sett_map_values v;
  map.result = &expr;
  map.results = 1;
  if (expr < SETT_MAP_ERROR_COUNT) map.kind = SETT_MAP_FAILED;
  v = settp_map_values_make(settp_map_interval(INT64_MIN, INT64_MAX), settp_map_class_make(1, 0));
  (void)settp_map_values(arena, map, &v);
  return v;
}

/* ======================================================================= bodies: digits ==== */

/* Write the coefficients of an expression that is linear in the variables. Return 0 if it is not linear. */
SETT_INLINE int settp_map_linear(sett_map_arena *arena, sett_expr expr, int variables, int64_t *coefficient,
                                 int64_t *constant) {
  enum { SETTP_MAP_MOST_ROOM = 64, SETTP_MAP_MOST_STEPS = 4096 };
  sett_expr stack[SETTP_MAP_MOST_ROOM];
  int64_t factor[SETTP_MAP_MOST_ROOM];
  int depth = 1, steps = 0, i;
  stack[0] = expr;
  factor[0] = 1;
  *constant = 0;
  for (i = 0; i < variables; ++i) coefficient[i] = 0;
  while (depth && ++steps < SETTP_MAP_MOST_STEPS) {
    const settp_map_node *n = settp_map_at(arena, stack[--depth]);
    int64_t k = factor[depth], c = 0;
    if (n->op == SETTP_MAP_CONST) {
      if (settp_map_mul(k, n->value, &c) || settp_map_add(*constant, c, constant)) return 0;
    } else if (n->op == SETTP_MAP_VAR) {
      if (settp_map_add(coefficient[n->value], k, &coefficient[n->value])) return 0;
    } else if (n->op == SETTP_MAP_MUL && settp_map_is_constant(arena, settp_map_b(n), &c)) {
      stack[depth] = settp_map_a(n);
      if (settp_map_mul(k, c, &factor[depth++])) return 0;
    } else if (n->op == SETTP_MAP_ADD && depth + 2 <= SETTP_MAP_MOST_ROOM) {
      stack[depth] = settp_map_a(n);
      factor[depth++] = k;
      stack[depth] = settp_map_b(n);
      factor[depth++] = k;
    } else {
      return 0;
    }
  }
  return !depth;
}

/* Merge all variables whose coefficient is not 0 into one new dimension, the last one. Return 0 if they are not digits of one number: the first digit
 * has the coefficient 1 or -1, the second n1 or -n1, the third n1 * n2 or -n1 * n2, and so on, where n1, n2, .. are the numbers of values of the
 * first, second, .. digit. If m is not 0, the coefficients are compared modulo m. */
SETT_INLINE int settp_map_fuse(sett_map_arena *arena, sett_map *map, const int64_t *coefficient, int64_t m) {
  int n = sett_map_variables(*map), i, k = 0, more = 1, out = 0;
  int64_t whole = 1, extent;
  sett_map_variable *variable = (sett_map_variable *)settp_map_take(arena, ((size_t)n + 1) * sizeof *variable);
  sett_expr *replace = (sett_expr *)settp_map_take(arena, (size_t)n * sizeof *replace + 8), last;
  sett_map next = *map;
  if (!variable || !replace) return 0;
  for (i = 0; i < n; ++i) {
    replace[i] = 0;
    if (coefficient[i] > (int64_t)1 << 61 || coefficient[i] < -((int64_t)1 << 61)) return 0;
    if (coefficient[i]) ++k;
    else variable[out++] = map->variable[i];
  }
  for (i = out = 0; i < n; ++i)
    if (!coefficient[i]) replace[i] = sett_map_var(arena, out++);
  last = sett_map_var(arena, out);
  while (more) /* each merged variable is a digit of the new one: find these digits, the lowest first */
    for (i = more = 0; i < n && !more; ++i) {
      int64_t up = coefficient[i] - whole, down = coefficient[i] + whole;
      sett_expr digit;
      if (replace[i] || (m ? up % m && down % m : up && down)) continue;
      up = m ? up % m : up;
      extent = settp_map_extent(map->variable[i].lo, map->variable[i].hi);
      digit = sett_map_floordiv(arena, last, sett_map_constant(arena, whole));
      if (--k) digit = sett_map_mod(arena, digit, sett_map_constant(arena, extent));
      replace[i] = !up ? sett_map_add(arena, digit, sett_map_constant(arena, map->variable[i].lo))
                       : sett_map_sub(arena, sett_map_constant(arena, map->variable[i].hi), digit);
      whole = settp_map_sat_mul(whole, extent);
      if (whole > (int64_t)1 << 61) return 0;
      more = 1;
    }
  if (k) return 0;
  for (i = 0; i < out; ++i) variable[i].name = NULL;
  variable[out].name = NULL;
  variable[out].lo = 0;
  variable[out].hi = whole - 1;
  next.dims = out + 1;
  next.ranges = next.rts = 0;
  next.variable = variable;
  *map = settp_map_rebuild(arena, *map, next, replace, NULL, 0);
  return 1;
}

/* Split variable v into a quotient and a remainder by c. Groups of c values begin where v + offset is a multiple of c; with `negative`, they end
 * where offset - v is a multiple of c. */
SETT_INLINE int settp_map_cut_digit(sett_map_arena *arena, sett_map *map, int v, int64_t c, int64_t offset,
                                    int negative) {
  int n = sett_map_variables(*map), exact, full = 0, i, uses[2];
  int64_t lo = map->variable[v].lo, hi = map->variable[v].hi, base;
  sett_map all, next;
  unsigned char *used = (unsigned char *)settp_map_take(arena, (size_t)n + 9);
  if (!used || lo == INT64_MIN || hi == INT64_MAX) return 0;
  /* groups begin at values that are congruent to `base` modulo c */
  base = negative ? settp_map_mod(settp_map_mod(offset, c) + 1, c) : settp_map_mod(-settp_map_mod(offset, c), c);
  exact = settp_map_mod(settp_map_mod(lo, c) - base, c) == 0 && settp_map_mod(settp_map_mod(hi, c) + 1 - base, c) == 0;
  /* groups may also begin at `lo` if whole groups then fill the interval */
  if (!exact && settp_map_extent(lo, hi) > c && settp_map_extent(lo, hi) % c == 0) {
    base = settp_map_mod(lo, c);
    exact = 1;
  }
  all = *map;
  next = settp_map_stripe(arena, all, v, c, base);
  if (next.kind != SETT_MAP_DEFINED) return 0;
  /* drop the bounds of v, which was split into a quotient and a remainder by c. This is correct if the map uses only the quotient, or if it uses only
   * the remainder and v has at least c values */
  if (!exact) {
    next.constraints = 0;
    if (map->constraints) return 0;
    next = sett_map_simplify(arena, next);
    if (next.kind != SETT_MAP_DEFINED) return 0;
    for (i = 0; i <= n; ++i) used[i] = 0;
    for (i = 0; i < next.results; ++i) settp_map_used_variables(arena, next.result[i], used, 1, &full);
    uses[0] = used[v];
    uses[1] = used[n];
    if (full || (uses[0] && uses[1]) || (uses[1] && settp_map_extent(lo, hi) < c)) return 0;
  }
  *map = next;
  return 1;
}

/* Split and merge the variables until the first `goal` results are linear. Return 1 if they are, and the domain is then a box. The image of the
 * results does not change. */
SETT_INLINE int settp_map_reshape_domain(sett_map_arena *arena, sett_map *map, int goal) {
  enum { SETTP_MAP_MOST_ROUNDS = 16 };
  int round, i, n;
  uint32_t at;
  for (round = 0; round < SETTP_MAP_MOST_ROUNDS; ++round) {
    settp_map_list list;
    sett_map asked;
    int64_t *coefficient, constant = 0;
    int done = 0, linear = 1;
    *map = settp_map_rescale(arena, *map, SETT_MAP_ALL_KINDS);
    *map = sett_map_remove_unused(arena, *map, SETT_MAP_ALL_KINDS, NULL);
    if (map->kind != SETT_MAP_DEFINED) return 0;
    n = sett_map_variables(*map);
    coefficient = (int64_t *)settp_map_take(arena, (size_t)n * sizeof *coefficient + 8);
    asked = *map;
    asked.results = goal;
    if (!coefficient || settp_map_list_of_map(arena, &list, &asked)) return 0;
    for (i = 0; i < goal && linear; ++i) linear = settp_map_linear(arena, map->result[i], n, coefficient, &constant);
    if (linear && !map->constraints) return 1;
    for (i = 0; i < map->constraints && !done; ++i) {
      int j, uses = 0;
      if (!settp_map_linear(arena, map->constraint[i].expr, n, coefficient, &constant)) continue;
      for (j = 0; j < n; ++j) uses += coefficient[j] != 0;
      if (uses > 1) done = settp_map_fuse(arena, map, coefficient, 0);
    }
    for (at = 0; at < list.count && !done; ++at) {
      const settp_map_node *node = settp_map_at(arena, list.handle[at]);
      int64_t c = 0;
      int j, uses = 0, v = 0;
      if ((node->op != SETTP_MAP_MOD && node->op != SETTP_MAP_FLOORDIV) ||
          !settp_map_is_constant(arena, settp_map_b(node), &c) || c < 2)
        continue;
      if (!settp_map_linear(arena, settp_map_a(node), n, coefficient, &constant)) continue;
      for (j = 0; j < n; ++j)
        if (coefficient[j]) {
          ++uses;
          v = j;
        }
      if (uses > 1) done = settp_map_fuse(arena, map, coefficient, node->op == SETTP_MAP_MOD ? c : 0);
      else if (uses && (coefficient[v] == 1 || coefficient[v] == -1))
        done = settp_map_cut_digit(arena, map, v, c, constant, coefficient[v] < 0);
    }
    if (!done) return 0;
  }
  return 0;
}

/* An equation: a primitive form without constant equals `value`, which is an expression of the results. */
typedef struct settp_map_equation {
  int32_t lin;
  sett_expr value;
  int tried;
} settp_map_equation;

enum {
  SETTP_MAP_EQUATIONS_MAX = 96,
  SETTP_MAP_SEEN_MAX = 512,
  SETTP_MAP_EQUATION_TERMS = 48,
  SETTP_MAP_TRIES_MAX = 8000
};

typedef struct settp_map_solver {
  settp_map_engine *e;
  settp_map_equation *equation;
  settp_map_equation *sum; /* equations for sums of bits; they are used when some of their bits become known */
  int32_t *seen;           /* forms of earlier equations, which are not added again */
  sett_expr *known;        /* the expression of each atom; 0 if it is unknown */
  int32_t atoms;
  int equations, sums, seens, changed, tries;
} settp_map_solver;

/* Return a form as an expression of the results; return 0 if an atom of the form has no known expression. */
SETT_INLINE sett_expr settp_map_known_form(const settp_map_solver *s, int32_t l) {
  settp_map_engine *e = s->e;
  sett_expr sum;
  int32_t i;
  for (i = 0; i < e->lin[l].count; ++i) {
    int32_t atom = e->term[e->lin[l].first + i].atom;
    if (atom >= s->atoms || !s->known[atom]) return 0;
  }
  sum = sett_map_constant(e->arena, e->lin[l].constant);
  for (i = 0; i < e->lin[l].count; ++i) {
    settp_map_term t = e->term[e->lin[l].first + i];
    sum = sett_map_add(e->arena, sum, sett_map_mul(e->arena, s->known[t.atom], sett_map_constant(e->arena, t.k)));
  }
  return sum;
}

/* Add the equation l = `value`. Known atoms and the constant are moved to the other side, and both sides are divided by the gcd of the coefficients.
 * If a single atom is left, it is now known. Return 0 if the equation is not new, or if there is no room. */
SETT_INLINE int settp_map_equation_add(settp_map_solver *s, int32_t l, sett_expr value) {
  settp_map_engine *e = s->e;
  int64_t g = 1;
  int32_t i;
  int j;
  for (i = 0; l >= 0 && i < e->lin[l].count;) {
    settp_map_term t = e->term[e->lin[l].first + i];
    if (t.atom < s->atoms && s->known[t.atom]) {
      l = settp_map_lin_mix(e, l, 1, settp_map_lin_atom(e, t.atom, 1, 0), -t.k, 0);
      value = sett_map_sub(e->arena, value, sett_map_mul(e->arena, s->known[t.atom], sett_map_constant(e->arena, t.k)));
    } else {
      ++i;
    }
  }
  if (l < 0 || e->lin[l].count > SETTP_MAP_EQUATION_TERMS) return 0;
  if (!e->lin[l].count) return 1;
  value = sett_map_add(e->arena, value, sett_map_constant(e->arena, -e->lin[l].constant));
  l = settp_map_lin_primitive(e, l, &g);
  if (l < 0) return 0;
  value = sett_map_mul(e->arena, value, sett_map_constant(e->arena, g < 0 ? -1 : 1));
  value = sett_map_floordiv(e->arena, value, sett_map_constant(e->arena, g < 0 ? -g : g));
  if (value < SETT_MAP_ERROR_COUNT) return 0;
  if (e->lin[l].count == 1) {
    if (e->term[e->lin[l].first].atom >= s->atoms) return 0;
    if (settp_map_atom_is_xor(e, e->term[e->lin[l].first].atom) && s->sums < SETTP_MAP_EQUATIONS_MAX) {
      s->sum[s->sums].lin = l;
      s->sum[s->sums].tried = 0;
      s->sum[s->sums++].value = value;
    }
    s->known[e->term[e->lin[l].first].atom] = value;
    s->changed = 1;
    return 1;
  }
  for (j = 0; j < s->seens; ++j)
    if (s->seen[j] == l) return 0;
  if (s->equations == SETTP_MAP_EQUATIONS_MAX || s->seens == SETTP_MAP_SEEN_MAX) return 0;
  s->seen[s->seens++] = l;
  s->equation[s->equations].lin = l;
  s->equation[s->equations].value = value;
  s->equation[s->equations++].tried = 0;
  s->changed = 1;
  return 1;
}

SETT_INLINE settp_map_equation settp_map_equation_take(settp_map_solver *s, int i) {
  settp_map_equation q = s->equation[i];
  s->equation[i] = s->equation[--s->equations];
  return q;
}

SETT_INLINE int settp_map_equation_bits(settp_map_solver *s, settp_map_equation *list, int *count, int at);

/* Compute operations whose operands are known. Then substitute known atoms in the equations. */
SETT_INLINE void settp_map_solver_learn(settp_map_solver *s) {
  settp_map_engine *e = s->e;
  int32_t i, f, n;
  int j;
  for (i = 0; i < s->atoms && i < e->atoms; ++i) {
    const settp_map_atom *x = e->atom + i;
    if (s->known[i] || x->kind == SETTP_MAP_ATOM_VAR) continue;
    if (x->kind == SETTP_MAP_ATOM_OTHER) {
      sett_expr a = settp_map_known_form(s, x->a), b = a ? settp_map_known_form(s, x->b) : 0;
      if (b) s->known[i] = settp_map_binary(e->arena, x->op, a, b);
    }
    for (f = x->kind == SETTP_MAP_ATOM_QUOTIENT ? x->form : SETTP_MAP_NONE; f >= 0 && !s->known[i];
         f = e->form[f].next) {
      sett_expr a = settp_map_known_form(s, e->form[f].lin);
      if (a) s->known[i] = sett_map_floordiv(e->arena, a, sett_map_constant(e->arena, e->form[f].c));
    }
    if (s->known[i] < SETT_MAP_ERROR_COUNT) s->known[i] = 0;
  }
  for (j = 0; j < s->equations; ++j) {
    int32_t l = s->equation[j].lin;
    for (n = 0; n < e->lin[l].count; ++n) {
      settp_map_equation q;
      int32_t atom = e->term[e->lin[l].first + n].atom;
      if (atom >= s->atoms || !s->known[atom]) continue;
      q = settp_map_equation_take(s, j--);
      settp_map_equation_add(s, q.lin, q.value);
      s->changed = 1;
      break;
    }
  }
  for (j = 0; j < s->equations && e->xors;)
    if (!settp_map_equation_bits(s, s->equation, &s->equations, j)) ++j;
  for (j = 0; j < s->sums;)
    if (!settp_map_equation_bits(s, s->sum, &s->sums, j)) ++j;
}

/* Move the known bits of an equation of bits to the other side. Return 1 if the equation then has no bits left and was removed. */
SETT_INLINE int settp_map_equation_bits(settp_map_solver *s, settp_map_equation *list, int *count, int at) {
  settp_map_engine *e = s->e;
  settp_map_equation q = list[at];
  settp_map_field field[SETTP_MAP_FIELDS_MAX];
  settp_map_reading r, known;
  settp_map_bit_set mine;
  sett_expr form[SETTP_MAP_BIT_SOURCES], value = q.value;
  int32_t i, l;
  int j, n, fields, any = 0;
  for (i = 0; i < e->lin[q.lin].count && !settp_map_atom_is_xor(e, e->term[e->lin[q.lin].first + i].atom); ++i) {}
  if (i == e->lin[q.lin].count || !settp_map_bits_start(e)) return 0;
  settp_map_read(e, q.lin, 0, 0, &r);
  if (r.known < SETTP_MAP_BITS_KNOWN) return 0;
  for (j = 0; j < e->bits->sources; ++j) form[j] = settp_map_known_form(s, e->bits->source[j]);
  known = r;
  for (j = 0; j <= r.width; ++j) {
    int32_t bit = settp_map_reading_at(&r, j), gone;
    mine = e->bits->set[bit / 2];
    for (n = 0; n < e->bits->count; ++n)
      if (form[e->bits->of[n]] < SETT_MAP_ERROR_COUNT && settp_map_set_has(&mine, n)) settp_map_set_flip(&mine, n);
    gone = settp_map_bit_find(e, &mine);
    if (gone < 0) return 0;
    any |= gone != 0;
    if (j < r.width) known.bit[j] = 2 * gone, r.bit[j] = settp_map_bit_add(e, bit, 2 * gone);
    else known.sign = 2 * gone, r.sign = settp_map_bit_add(e, bit, 2 * gone);
    if (settp_map_reading_at(&r, j) < 0) return 0;
  }
  fields = any ? settp_map_fields(e, &known, field) : 0;
  if (fields < 1) return 0;
  for (j = 0; j < fields; ++j) {
    sett_expr x;
    for (n = 0; e->bits->source[n] != field[j].source; ++n) {}
    x = sett_map_floordiv(e->arena, form[n], sett_map_constant(e->arena, (int64_t)1 << field[j].from));
    if (!field[j].topped) x = sett_map_mod(e->arena, x, sett_map_constant(e->arena, (int64_t)1 << field[j].size));
    x = sett_map_mul(e->arena, x, sett_map_constant(e->arena, (int64_t)1 << field[j].to));
    value = sett_map_xor(e->arena, value, x);
  }
  l = settp_map_lin_of_reading(e, &r);
  if (l < 0 || value < SETT_MAP_ERROR_COUNT) return 0;
  list[at] = list[--*count];
  (void)settp_map_equation_add(s, l, value);
  s->changed = 1;
  return 1;
}

/* Write candidates for the weight of the next digit, in ascending order, and return their number. They are the greatest common divisors of all pairs of
 * coefficients. A quotient q = F / c counts with two coefficients: its own, and the one that it has after a digit t * (F - c * q) is removed. */
SETT_INLINE int settp_map_digit_weights(const settp_map_engine *e, int32_t l, int64_t *weight, int room) {
  enum { SETTP_MAP_MOST_PARTS = 24 };
  int64_t part[SETTP_MAP_MOST_PARTS];
  int32_t i, j, f;
  int n = 0, parts = 0, a, b;
  for (i = 0; i < e->lin[l].count && parts < SETTP_MAP_MOST_PARTS; ++i) {
    settp_map_term q = e->term[e->lin[l].first + i];
    part[parts++] = q.k;
    for (f = e->atom[q.atom].kind == SETTP_MAP_ATOM_QUOTIENT ? e->atom[q.atom].form : SETTP_MAP_NONE; f >= 0;
         f = e->form[f].next)
      for (j = 0; j < e->lin[e->form[f].lin].count && parts < SETTP_MAP_MOST_PARTS; ++j) {
        settp_map_term x = e->term[e->lin[e->form[f].lin].first + j];
        int64_t own = settp_map_lin_coefficient(e, l, x.atom), k;
        if (!own || own % x.k || settp_map_mul(own / x.k, e->form[f].c, &k) || settp_map_add(k, q.k, &k) ||
            k == INT64_MIN)
          continue;
        for (a = 0; a < parts && part[a] != k; ++a) {}
        if (k && a == parts) part[parts++] = k;
      }
  }
  for (a = 0; a < parts; ++a)
    for (b = a; b < parts && n < room; ++b) {
      int64_t k = settp_map_gcd(part[a], part[b]);
      int at = n, known;
      for (known = 0; known < n && weight[known] != k; ++known) {}
      if (k < 2 || known < n) continue;
      for (++n; at > 0 && weight[at - 1] > k; --at) weight[at] = weight[at - 1];
      weight[at] = k;
    }
  return n;
}

typedef struct settp_map_cutting { /* A split of a form: form = k * above + below with below in [lo, lo + k - 1]. */
  int64_t k, lo;
  int32_t above, below;
  int *tries;
} settp_map_cutting;

/* *cut splits a form as k * above + below. Try another split: move multiples of k from `below` to `above`, so that every coefficient of (below -
 * seed) is reduced modulo k. Return 1 and store the split if the new `below` lies in an interval of at most k values. */
SETT_INLINE int settp_map_try_digit(settp_map_engine *e, settp_map_cutting *cut, int32_t seed) {
  int32_t more = 0, rest = settp_map_lin_mix(e, cut->below, 1, seed, -1, 0), below = 0;
  sett_map_interval r;
  int64_t width;
  if (++*cut->tries > SETTP_MAP_TRIES_MAX || !settp_map_lin_extract(e, rest, cut->k, &more, &below)) return 0;
  below = settp_map_lin_mix(e, below, 1, seed, 1, 0);
  if (below < 0 || !e->lin[below].count) return 0;
  r = settp_map_lin_interval(e, below);
  if (r.lo == INT64_MIN || r.hi == INT64_MAX || settp_map_add(r.hi, settp_map_neg(r.lo), &width) || width >= cut->k)
    return 0;
  more = settp_map_lin_mix(e, cut->above, 1, more, 1, 0);
  if (more < 0 || !e->lin[more].count) return 0;
  cut->above = more;
  cut->below = below;
  cut->lo = r.lo;
  return 1;
}

/* For a quotient q = floor(F / c), call settp_map_try_digit on multiples t * (F - c * q) of the remainder. At most three t are tried. Each t cancels an
 * atom of F in cut->below. */
SETT_INLINE int settp_map_try_seeds(settp_map_engine *e, settp_map_cutting *cut, int32_t form, int64_t c, int32_t q) {
  int64_t tried[3], own, t, m;
  int n = 0, known;
  int32_t i;
  for (i = 0; i < e->lin[form].count && n < 3; ++i) {
    settp_map_term x = e->term[e->lin[form].first + i];
    own = settp_map_lin_coefficient(e, cut->below, x.atom);
    if (!own || own % x.k) continue;
    t = own / x.k;
    for (known = 0; known < n && tried[known] != t; ++known) {}
    if (known < n) continue;
    tried[n++] = t;
    if (settp_map_mul(t, c - 1, &m) || m >= cut->k || m <= -cut->k || settp_map_mul(t, c, &m) || m == INT64_MIN)
      continue;
    if (settp_map_try_digit(e, cut, settp_map_lin_mix(e, form, t, settp_map_lin_atom(e, q, 1, 0), -m, 0))) return 1;
  }
  return 0;
}

/* Call settp_map_try_seeds for the digit of every quotient q = floor(F / c). Call it also for the digit that two quotients of the same form make: if
 * q1 = floor(F / c1), then q = floor(q1 / (c / c1)). */
SETT_INLINE int settp_map_try_quotients(settp_map_engine *e, settp_map_cutting *cut) {
  int32_t q, i, f, g;
  for (q = 0; q < e->atoms && e->lins < e->lin_limit; ++q)
    for (f = e->atom[q].kind == SETTP_MAP_ATOM_QUOTIENT ? e->atom[q].form : SETTP_MAP_NONE; f >= 0;
         f = e->form[f].next) {
      if (settp_map_try_seeds(e, cut, e->form[f].lin, e->form[f].c, q)) return 1;
      for (i = 0; i < e->lin[cut->below].count; ++i) {
        int32_t other = e->term[e->lin[cut->below].first + i].atom, form;
        g = other != q && e->atom[other].kind == SETTP_MAP_ATOM_QUOTIENT ? e->atom[other].form : SETTP_MAP_NONE;
        while (g >= 0 &&
               (e->form[g].lin != e->form[f].lin || e->form[f].c % e->form[g].c || e->form[f].c == e->form[g].c))
          g = e->form[g].next;
        form = g < 0 ? SETTP_MAP_NONE : settp_map_lin_atom(e, other, 1, 0);
        if (form >= 0 && settp_map_try_seeds(e, cut, form, e->form[f].c / e->form[g].c, q)) return 1;
      }
    }
  return 0;
}

/* If the form of an equation is k * A + B with B in [b, b + k - 1], then A = floor((value - b) / k) and B = value - k * A. These two equations
 * replace it. With effort 1, B may also contain a remainder F - c * q with q = floor(F / c) (settp_map_try_seeds). Not every weight k then
 * leads to a solution, so all possible weights are tried, and the old equation stays. */
SETT_INLINE void settp_map_equation_digits(settp_map_solver *s, int at, int effort) {
  enum { SETTP_MAP_MOST_WEIGHTS = 48 };
  settp_map_engine *e = s->e;
  int64_t weight[SETTP_MAP_MOST_WEIGHTS];
  settp_map_equation q = s->equation[at];
  settp_map_cutting cut;
  int weights = settp_map_digit_weights(e, q.lin, weight, SETTP_MAP_MOST_WEIGHTS), w;
  s->equation[at].tried = effort + 1;
  for (w = 0; w < weights && e->lins < e->lin_limit; ++w) {
    sett_expr digit;
    int kept;
    cut.k = weight[w];
    cut.lo = 0;
    cut.tries = &s->tries;
    if (!settp_map_lin_extract(e, q.lin, cut.k, &cut.above, &cut.below) || !e->lin[cut.below].count) continue;
    if (effort ? !settp_map_try_quotients(e, &cut) : !settp_map_try_digit(e, &cut, settp_map_lin_constant(e, 0)))
      continue;
    digit = sett_map_floordiv(e->arena, sett_map_add(e->arena, q.value, sett_map_constant(e->arena, -cut.lo)),
                              sett_map_constant(e->arena, cut.k));
    /* the equation is removed only if both new equations could be added */
    kept = !settp_map_equation_add(s, cut.above, digit);
    kept |= !settp_map_equation_add(
        s, cut.below,
        sett_map_sub(e->arena, q.value, sett_map_mul(e->arena, digit, sett_map_constant(e->arena, cut.k))));
    if (effort) continue;
    if (!kept) (void)settp_map_equation_take(s, at);
    break;
  }
}

/* Eliminate an atom that two equations share. Of all pairs of equations, take the pair whose new form is cheapest; a form that was an equation before
 * is not taken. effort 0: the atom must be a quotient, and the new form must be cheaper than one of the two old forms. effort 1: the atom must be a
 * quotient. effort 2: any atom. */
SETT_INLINE void settp_map_solver_eliminate(settp_map_solver *s, int effort) {
  settp_map_engine *e = s->e;
  int i, j, n, k, best_i = -1, best_j = -1;
  int64_t best_a = 0, best_b = 0, content;
  int32_t best = SETTP_MAP_NONE;
  for (i = 0; i < s->equations; ++i)
    for (j = i + 1; j < s->equations; ++j)
      for (n = 0; n < e->lin[s->equation[i].lin].count && e->lins < e->lin_limit; ++n) {
        settp_map_term t = e->term[e->lin[s->equation[i].lin].first + n];
        int64_t other = settp_map_lin_coefficient(e, s->equation[j].lin, t.atom), g = settp_map_gcd(t.k, other);
        settp_map_cost cost;
        int32_t l;
        if (!other || ++s->tries > SETTP_MAP_TRIES_MAX ||
            (effort < 2 && e->atom[t.atom].kind != SETTP_MAP_ATOM_QUOTIENT))
          continue;
        l = settp_map_lin_mix(e, s->equation[i].lin, other / g, s->equation[j].lin, -(t.k / g), 0);
        l = l < 0 || !e->lin[l].count ? SETTP_MAP_NONE : settp_map_lin_primitive(e, l, &content);
        if (l < 0) continue;
        cost = settp_map_lin_cost(e, l);
        if (effort == 0 && !settp_map_cheaper(cost, settp_map_lin_cost(e, s->equation[i].lin)) &&
            !settp_map_cheaper(cost, settp_map_lin_cost(e, s->equation[j].lin)))
          continue;
        if (best >= 0 && !settp_map_cheaper(cost, settp_map_lin_cost(e, best))) continue;
        for (k = 0; k < s->seens && s->seen[k] != l; ++k) {}
        if (k < s->seens) continue;
        best = l;
        best_i = i;
        best_j = j;
        best_a = other / g;
        best_b = -(t.k / g);
      }
  if (best >= 0)
    settp_map_equation_add(
        s, settp_map_lin_mix(e, s->equation[best_i].lin, best_a, s->equation[best_j].lin, best_b, 0),
        sett_map_add(e->arena, sett_map_mul(e->arena, s->equation[best_i].value, sett_map_constant(e->arena, best_a)),
                     sett_map_mul(e->arena, s->equation[best_j].value, sett_map_constant(e->arena, best_b))));
}

/* Write every variable of a map as an expression of its first `goal` results, by solving their equations. Return 1 if all were found, 0 if not, -error.
 */
SETT_INLINE int settp_map_solve_equations(sett_map_arena *arena, sett_map map, int goal, int efforts, sett_expr *out) {
  enum { SETTP_MAP_MOST_ROUNDS = 200 };
  size_t keep = arena->top;
  settp_map_asked a;
  settp_map_solver s;
  settp_map_engine *e = &a.engine;
  int32_t *variable, *result;
  int i, n = sett_map_variables(map), round, effort, left = 1, code = settp_map_ask(arena, map, &a);
  if (code) {
    arena->top = keep;
    return code < 0 ? 0 : -code;
  }
  result = (int32_t *)settp_map_take(arena, (size_t)map.results * sizeof *result + 8);
  variable = (int32_t *)settp_map_take(arena, (size_t)n * sizeof *variable + 8);
  for (i = 0; i < map.results && result; ++i) result[i] = a.lin[settp_map_at(arena, map.result[i])->mark];
  for (i = 0; i < n && variable; ++i) variable[i] = settp_map_lin_variable(e, i);
  s.e = e;
  /* room for atoms that are made when an equation of bits is solved */
  s.atoms = e->atoms + (e->xors ? SETTP_MAP_BITS_MAX : 0);
  s.equations = s.sums = s.seens = s.tries = 0;
  s.equation = (settp_map_equation *)settp_map_take(arena, SETTP_MAP_EQUATIONS_MAX * 2 * sizeof *s.equation);
  s.seen = (int32_t *)settp_map_take(arena, SETTP_MAP_SEEN_MAX * sizeof *s.seen);
  s.known = (sett_expr *)settp_map_take(arena, (size_t)s.atoms * sizeof *s.known + 8);
  if (!result || !variable || !s.equation || !s.seen || !s.known || e->error) {
    arena->top = keep;
    return -SETT_MAP_ERROR_FULL;
  }
  s.sum = s.equation + SETTP_MAP_EQUATIONS_MAX;
  for (i = 0; i < s.atoms; ++i) s.known[i] = 0;
  for (i = 0; i < goal; ++i) settp_map_equation_add(&s, result[i], sett_map_var(arena, i));
  for (round = 0; round < SETTP_MAP_MOST_ROUNDS && left && !e->error; ++round) {
    s.changed = 0;
    settp_map_solver_learn(&s);
    for (i = left = 0; i < n; ++i) left += variable[i] < 0 || !settp_map_known_form(&s, variable[i]);
    if (s.changed || !left) continue;
    for (effort = 0; effort < efforts && !s.changed; ++effort) {
      for (i = 0; i < s.equations && !s.changed && effort < 2; ++i)
        if (s.equation[i].tried == effort) settp_map_equation_digits(&s, i, effort);
      if (!s.changed) settp_map_solver_eliminate(&s, effort);
    }
    if (!s.changed) break;
  }
  for (i = 0; i < n && !left; ++i) {
    out[i] = settp_map_known_form(&s, variable[i]);
    if (out[i] < SETT_MAP_ERROR_COUNT) left = 1;
  }
  code = e->error ? -e->error : !left;
  arena->top = keep;
  return code;
}

/* Return the map with its variables appended to its results. */
SETT_INLINE sett_map settp_map_with_variables(sett_map_arena *arena, sett_map map) {
  int n = sett_map_variables(map), i;
  sett_expr *result = (sett_expr *)settp_map_take(arena, (size_t)(map.results + n) * sizeof *result + 8);
  if (!result) return sett_map_fail(SETT_MAP_ERROR_FULL, 0);
  for (i = 0; i < map.results; ++i) result[i] = map.result[i];
  for (i = 0; i < n; ++i) result[map.results + i] = sett_map_var(arena, i);
  map.result = result;
  map.results += n;
  return map;
}

/* Write every variable of a map as an expression of its results that is correct at every image. Variable i of such an expression stands for result i.
 * Return 1 if all variables were found, 0 if not, -error. First, the equations of the results are solved for the variables. If this fails, the
 * variables are split into digits, and the equations are solved for the digits. If this fails, too, both are repeated with more effort. */
SETT_INLINE int settp_map_left_inverse(sett_map_arena *arena, sett_map map, sett_expr *out) {
  size_t keep = arena->top;
  int n = sett_map_variables(map), i, efforts, code = 0;
  sett_map both = sett_map_undefined();
  sett_expr *digit, *made;
  settp_map_list list;
  for (efforts = 1; efforts <= 3 && !code; efforts += 2) {
    code = settp_map_solve_equations(arena, map, map.results, efforts, out);
    if (code) break;
    if (efforts == 1) {
      both = settp_map_with_variables(arena, map);
      (void)settp_map_reshape_domain(arena, &both, map.results);
    }
    if (both.kind != SETT_MAP_DEFINED) continue;
    digit = (sett_expr *)settp_map_take(arena, (size_t)sett_map_variables(both) * sizeof *digit + 8);
    code = digit ? settp_map_solve_equations(arena, both, map.results, efforts, digit) : -SETT_MAP_ERROR_FULL;
    if (code == 1) {
      made = settp_map_list_of_map(arena, &list, &both) ? NULL : settp_map_rewrite(arena, &list, digit);
      code = made ? 1 : -SETT_MAP_ERROR_FULL;
      for (i = 0; i < n && code == 1; ++i) {
        out[i] = made[settp_map_at(arena, both.result[map.results + i])->mark];
        if (out[i] < SETT_MAP_ERROR_COUNT) code = 0;
      }
    }
  }
  arena->top = keep;
  return code;
}

/* Return the number of points of a simplified map, saturated, if its constraints are residue classes of variables; -1 if it has other constraints. */
SETT_INLINE int64_t settp_map_count_free(const sett_map_arena *arena, const sett_map *map) {
  int64_t points = 1, m;
  int i, j, classes;
  if (map->kind == SETT_MAP_EMPTY) return 0;
  for (j = 0; j < map->constraints; ++j)
    if (settp_map_class_of(arena, map->constraint + j, &m) < 0) return -1;
  for (i = 0; i < sett_map_variables(*map); ++i) {
    int64_t lo = map->variable[i].lo, hi = map->variable[i].hi, modulus = 1, r = 0;
    for (j = classes = 0; j < map->constraints; ++j)
      if (settp_map_class_of(arena, map->constraint + j, &m) == i) {
        modulus = m;
        r = map->constraint[j].lo;
        ++classes;
      }
    if (classes > 1) return -1;
    if (lo == INT64_MIN || hi == INT64_MAX) return INT64_MAX;
    lo = settp_map_ceil_bound(lo, r, modulus);
    hi = settp_map_floor_bound(hi, r, modulus);
    points = settp_map_sat_mul(points, settp_map_extent(lo, hi));
  }
  return points;
}

/* Return the number of points in the domain of a simplified map; -1 if it is unknown or overflows. */
SETT_INLINE int64_t settp_map_count_points(sett_map_arena *arena, sett_map map) {
  sett_map_mark mark = sett_map_arena_mark(arena);
  int64_t n = settp_map_count_free(arena, &map);
  if (n < 0 && settp_map_box_points(&map) <= SETT_MAP_POINTS_MAX) {
    sett_map_points it;
    map.results = 0;
    it = sett_map_points_begin(arena, map);
    for (n = 0; sett_map_points_next(&it); ++n) {}
    if (it.error) n = -1;
    sett_map_arena_rewind(arena, mark);
  }
  return n == INT64_MAX ? -1 : n;
}

SETT_INLINE sett_map_answer settp_map_answer(int yes, int no, const char *reason) {
  sett_map_answer a;
  settp_map_clear(&a, sizeof a);
  a.yes = yes;
  a.no = no;
  a.reason = reason;
  return a;
}
SETT_INLINE sett_map_answer settp_map_yes(void) { return settp_map_answer(1, 0, ""); }
SETT_INLINE sett_map_answer settp_map_no(const char *reason) { return settp_map_answer(0, 1, reason); }
SETT_INLINE sett_map_answer settp_map_open(const char *reason) { return settp_map_answer(0, 0, reason); }

/* number of points of a box, saturated; 0 if it is empty */
SETT_INLINE int64_t settp_map_box_size(const sett_map_interval *box, int results) {
  int64_t n = 1;
  int i;
  for (i = 0; i < results; ++i) {
    if (box[i].lo > box[i].hi) return 0;
    n = settp_map_sat_mul(n, settp_map_extent(box[i].lo, box[i].hi));
  }
  return n;
}

/* ======================================================================= bodies: image ==== */

/* Return the map from results to variables that consists of the expressions of settp_map_left_inverse. Its domain is the box of the results. */
SETT_INLINE sett_map settp_map_back(sett_map_arena *arena, const sett_map_interval *box, int dims,
                                    const sett_expr *result, int results) {
  size_t keep = arena->top;
  sett_map_variable *variable = (sett_map_variable *)settp_map_take(arena, (size_t)dims * sizeof *variable + 8);
  sett_map map = sett_map_undefined();
  int i;
  if (!variable) return sett_map_fail(SETT_MAP_ERROR_FULL, 0);
  for (i = 0; i < dims; ++i) {
    variable[i].name = NULL;
    variable[i].lo = box[i].lo;
    variable[i].hi = box[i].hi;
  }
  map.dims = dims;
  map.results = results;
  map.variable = variable;
  map.result = result;
  return settp_map_store(arena, map, keep);
}

/* Search two points in the box of a map that have the same image. Return 1 and write them to `point` and `other`, 0 if there are none, -error. The
 * box has at most SETT_MAP_POINTS_MAX points. If `distinct` is not NULL, the search does not stop, and *distinct receives the number of images. */
SETT_INLINE int settp_map_collide(sett_map_arena *arena, sett_map map, int64_t *point, int64_t *other,
                                  int64_t *distinct) {
  sett_map_mark mark = sett_map_arena_mark(arena);
  int64_t points = settp_map_box_points(&map), number = 0, *image, rest;
  uint32_t *slot, size = 16, k;
  int n = sett_map_variables(map), i, found = 0;
  sett_map_points it = sett_map_points_begin(arena, map);
  while ((int64_t)size < points * 2) size *= 2;
  /* a hash table of pairs: the number of a point plus 1, and the hash of its image */
  slot = (uint32_t *)settp_map_take(arena, (size_t)size * 2 * sizeof *slot);
  image = (int64_t *)settp_map_take(arena, (size_t)map.results * sizeof *image + 8);
  if (!slot || !image || it.evaluator.failed) {
    sett_map_arena_rewind(arena, mark);
    return -(it.evaluator.failed ? it.evaluator.failed : SETT_MAP_ERROR_FULL);
  }
  for (k = 0; k < size * 2; ++k) slot[k] = 0;
  if (distinct) *distinct = 0;
  while (sett_map_points_next(&it)) {
    uint32_t hash = 0, at;
    for (i = 0; i < map.results; ++i) hash = settp_map_hash((uint64_t)it.result[i], hash + 1);
    for (i = 0, number = 0; i < n; ++i)
      number = number * (map.variable[i].hi - map.variable[i].lo + 1) + (it.point[i] - map.variable[i].lo);
    for (at = hash & (size - 1); slot[2 * at]; at = (at + 1) & (size - 1)) {
      if (slot[2 * at + 1] != hash) continue;
      for (i = n - 1, rest = (int64_t)slot[2 * at] - 1; i >= 0; --i) {
        int64_t extent = map.variable[i].hi - map.variable[i].lo + 1;
        point[i] = map.variable[i].lo + rest % extent;
        rest /= extent;
      }
      if (settp_map_code_at(&it.evaluator, point, image) != 1) continue;
      for (i = 0; i < map.results && image[i] == it.result[i]; ++i) {}
      if (i == map.results) break;
    }
    if (slot[2 * at]) {
      found = 1;
      if (distinct) continue;
      for (i = 0; i < n; ++i) other[i] = it.point[i];
      break;
    }
    slot[2 * at] = (uint32_t)number + 1;
    slot[2 * at + 1] = hash;
    if (distinct) ++*distinct;
  }
  sett_map_arena_rewind(arena, mark);
  return it.error ? -it.error : found;
}

/* Collect at most `room` constants of a map: divisors, factors, operands of min and max. */
SETT_INLINE int settp_map_constants(sett_map_arena *arena, const sett_map *map, int64_t *out, int room,
                                    int divisors_only) {
  size_t keep = arena->top;
  settp_map_list list;
  uint32_t i;
  int n = 0, j;
  if (settp_map_list_of_map(arena, &list, map)) list.count = 0;
  for (i = 0; i < list.count && n < room; ++i) {
    const settp_map_node *node = settp_map_at(arena, list.handle[i]);
    int64_t c = 0;
    if (node->op < SETTP_MAP_ADD || !settp_map_is_constant(arena, settp_map_b(node), &c) || c == INT64_MIN) continue;
    if (divisors_only && node->op != SETTP_MAP_MOD && node->op != SETTP_MAP_FLOORDIV && node->op != SETTP_MAP_CEILDIV)
      continue;
    if (c < 0) c = -c;
    for (j = 0; j < n && out[j] != c; ++j) {}
    if (j == n && c > 1) out[n++] = c;
  }
  arena->top = keep;
  return n;
}

/* Test pairs of points that often have the same image: they differ by 1 or by a constant of the map, in one variable or two. */
SETT_INLINE int settp_map_guess_collision(sett_map_arena *arena, sett_map map, int64_t *point, int64_t *other) {
  enum { SETTP_MAP_MOST_CONSTANTS = 6, SETTP_MAP_MOST_POINTS = 24 };
  sett_map_mark mark = sett_map_arena_mark(arena);
  sett_map_evaluator v = sett_map_evaluator_make(arena, map);
  settp_map_random random;
  int64_t constant[SETTP_MAP_MOST_CONSTANTS + 1],
      *image = (int64_t *)settp_map_take(arena, (size_t)map.results * 2 * sizeof *image + 8);
  int n = sett_map_variables(map), constants, i, j, a, b, k, round, found = 0;
  random.state = UINT64_C(88172645463325252);
  constants = settp_map_constants(arena, &map, constant, SETTP_MAP_MOST_CONSTANTS, 0);
  constant[constants++] = 1;
  for (round = 0; round < SETTP_MAP_MOST_POINTS && !found && image && !v.failed; ++round) {
    for (i = 0; i < n; ++i)
      point[i] = round ? settp_map_draw(&random, map.variable[i].lo, map.variable[i].hi) : map.variable[i].lo;
    if (settp_map_code_at(&v, point, image) != 1) continue;
    for (i = 0; i < n && !found; ++i)
      for (j = i; j < n && !found; ++j)
        for (a = 0; a < constants && !found; ++a)
          for (b = 0; b < (j == i ? 1 : 2 * constants) && !found; ++b) {
            for (k = 0; k < n; ++k) other[k] = point[k];
            if (settp_map_add(other[i], constant[a], &other[i])) continue;
            if (j > i && settp_map_add(other[j], b & 1 ? constant[b / 2] : -constant[b / 2], &other[j])) continue;
            if (settp_map_code_at(&v, other, image + map.results) != 1) continue;
            for (k = 0; k < map.results && image[k] == image[map.results + k]; ++k) {}
            found = k == map.results;
          }
  }
  sett_map_arena_rewind(arena, mark);
  return found;
}

/* Return the map restricted to the lowest corner of its box: a box of at most SETT_MAP_POINTS_MAX / 4 points. */
SETT_INLINE sett_map settp_map_corner(sett_map_arena *arena, sett_map map) {
  int n = sett_map_variables(map), i, grown = 1;
  int64_t points = 1;
  sett_map_variable *variable = (sett_map_variable *)settp_map_take(arena, (size_t)n * sizeof *variable + 8);
  if (!variable) return sett_map_fail(SETT_MAP_ERROR_FULL, 0);
  for (i = 0; i < n; ++i) {
    variable[i] = map.variable[i];
    variable[i].hi = variable[i].lo;
  }
  while (grown)
    for (i = grown = 0; i < n; ++i) {
      int64_t extent = variable[i].hi - variable[i].lo + 1, more = settp_map_reach(variable[i].hi, map.variable[i].hi);
      if (more > extent) more = extent;
      if (more <= 0 || points / extent * (extent + more) > SETT_MAP_POINTS_MAX / 4) continue;
      points = points / extent * (extent + more);
      variable[i].hi += more;
      grown = 1;
    }
  map.variable = variable;
  return map;
}

/* number of points in the product of strided intervals, saturated */
SETT_INLINE int64_t settp_map_product_of(const sett_map_values *value, int results) {
  int64_t n = 1;
  int i;
  for (i = 0; i < results; ++i) {
    int64_t reach = settp_map_reach(value[i].lo, value[i].hi);
    n = settp_map_sat_mul(
        n, settp_map_sat_add(value[i].modulus > 1 && reach < INT64_MAX ? reach / value[i].modulus : reach, 1));
  }
  return n;
}

/* Facts about a map that all questions about whole maps use; they are computed once. */
typedef struct settp_map_study {
  sett_map s;      /* the simplified map */
  sett_expr *back; /* each variable as an expression of the results */
  int left;        /* 1: `back` is correct at every image; 0: no such expressions were found */
  int error;
  /* the matrix of the map if every result bit is a sum of variable bits modulo 2; otherwise NULL */
  const settp_map_matrix *matrix;
} settp_map_study;

/* Compute y->matrix, the equations modulo 2 between bits of results and bits of variables. The results of `map` are used, because the simplified
 * results in y->s may not show sums modulo 2. */
SETT_INLINE void settp_map_study_bits(sett_map_arena *arena, settp_map_study *y, const sett_map *map) {
  sett_map s = y->s;
  s.result = map->result;
  y->matrix = settp_map_matrix_make(arena, s);
  if (y->matrix && y->matrix->rank == y->matrix->ins && settp_map_matrix_back(arena, y->s, y->matrix, y->back))
    y->left = 1;
}

SETT_INLINE settp_map_study settp_map_study_make(sett_map_arena *arena, sett_map map) {
  settp_map_study y;
  settp_map_clear(&y, sizeof y);
  y.s = sett_map_simplify(arena, map);
  if (y.s.kind == SETT_MAP_DEFINED) {
    int bits = settp_map_of_bits(arena, &map);
    y.back = (sett_expr *)settp_map_take(arena, (size_t)sett_map_variables(y.s) * sizeof *y.back + 8);
    if (bits > 1 && y.back) settp_map_study_bits(arena, &y, &map);
    if (!y.left) y.left = y.back ? settp_map_left_inverse(arena, y.s, y.back) : -SETT_MAP_ERROR_FULL;
    if (bits == 1 && !y.left) settp_map_study_bits(arena, &y, &map);
    if (y.left < 0) y.error = -y.left;
  } else y.error = settp_map_error(&y.s);
  return y;
}

SETT_INLINE sett_map_answer settp_map_not_decided(int error) {
  return settp_map_open(error ? sett_map_message(error)
                              : "no rule shows it, and the domain is too large to look at every point");
}

SETT_INLINE sett_map_answer settp_map_injective(sett_map_arena *arena, const settp_map_study *y) {
  sett_map_answer answer = settp_map_no("two points have one image");
  sett_map_values *value;
  int64_t *point;
  int n = sett_map_variables(y->s), code;
  if (y->error) return settp_map_not_decided(y->error);
  if (y->left || y->s.kind == SETT_MAP_EMPTY) return settp_map_yes();
  point = (int64_t *)settp_map_take(arena, (size_t)n * 2 * sizeof *point + 8);
  value = (sett_map_values *)settp_map_take(arena, (size_t)y->s.results * sizeof *value + 8);
  if (!point || !value) return settp_map_not_decided(SETT_MAP_ERROR_FULL);
  answer.point = point;
  answer.other = point + n;
  if (y->matrix && y->matrix->full && y->matrix->rank < y->matrix->ins) {
    settp_map_matrix_collision(y->s, y->matrix, point, point + n);
    return answer;
  }
  if (settp_map_guess_collision(arena, y->s, point, point + n)) return answer;
  if (settp_map_box_points(&y->s) <= SETT_MAP_POINTS_MAX) {
    code = settp_map_collide(arena, y->s, point, point + n, NULL);
    return code > 0 ? answer : code ? settp_map_not_decided(-code) : settp_map_yes();
  }
  if (settp_map_collide(arena, settp_map_corner(arena, y->s), point, point + n, NULL) == 1) return answer;
  if (!settp_map_values(arena, y->s, value) &&
      settp_map_count_free(arena, &y->s) > settp_map_product_of(value, y->s.results))
    return settp_map_no("there are more points than images");
  return settp_map_not_decided(0);
}

SETT_PUBLIC sett_map_answer sett_map_is_injective(sett_map_arena *arena, sett_map map) {
  settp_map_study y = settp_map_study_make(arena, map);
  return settp_map_injective(arena, &y);
}

/* Return the number of images of a map with linear results on a box, if no variable occurs in two results; otherwise -1. */
SETT_INLINE int64_t settp_map_count_sums(sett_map_arena *arena, sett_map map) {
  int n = sett_map_variables(map), i, j;
  int64_t *coefficient = (int64_t *)settp_map_take(arena, (size_t)n * sizeof *coefficient + 8), constant = 0, count = 1;
  unsigned char *owned = (unsigned char *)settp_map_take(arena, (size_t)n + 8);
  if (!coefficient || !owned) return -1;
  for (j = 0; j < n; ++j) owned[j] = 0;
  for (i = 0; i < map.results; ++i) {
    /* The loop adds one variable at a time to the sum, the one with the smallest coefficient first. The flags hold for the variables that have been
     * added. `distinct`: different points have different sums. `dense`: the sums are all multiples of `stride` from 0 to `reach` */
    int64_t stride = 0, reach = 0, images = 1;
    int left = 0, distinct = 1, dense = 1;
    if (!settp_map_linear(arena, map.result[i], n, coefficient, &constant)) return -1;
    for (j = 0; j < n; ++j)
      if (coefficient[j]) {
        if (owned[j] || coefficient[j] == INT64_MIN) return -1;
        if (coefficient[j] < 0) coefficient[j] = -coefficient[j];
        owned[j] = 1;
        ++left;
      }
    for (; left; --left) {
      int64_t extent, own;
      int least = -1;
      for (j = 0; j < n; ++j)
        if (coefficient[j] && (least < 0 || coefficient[j] < coefficient[least])) least = j;
      extent = settp_map_reach(map.variable[least].lo, map.variable[least].hi);
      own = coefficient[least];
      coefficient[least] = 0;
      if (!stride) stride = own;
      if (own <= reach) distinct = 0;
      if (own % stride || own > settp_map_sat_add(reach, stride)) dense = 0;
      reach = settp_map_sat_add(reach, settp_map_sat_mul(own, extent));
      images = settp_map_sat_mul(images, settp_map_sat_add(extent, 1));
      if (reach == INT64_MAX || images == INT64_MAX) return -1;
    }
    if (!distinct && !dense) return -1;
    count = settp_map_sat_mul(count, dense && stride ? reach / stride + 1 : images);
  }
  return count == INT64_MAX ? -1 : count;
}

/* Search for a point at which the value of result number `result` is `goal`, among points at which the result is likely to be minimal or maximal.
 * One variable after the other is set to its ends and to values next to multiples of the map's divisors. */
SETT_INLINE int settp_map_attained(const sett_map_evaluator *v, int64_t *point, int64_t *image, int result,
                                   int64_t goal, const int64_t *divisor, int divisors) {
  const sett_map *map = &v->map;
  int n = sett_map_variables(*map), i, j, k, round, inside;
  int64_t best = 0;
  inside = settp_map_code_at(v, point, image) == 1;
  if (inside) best = image[result];
  for (round = 0; round < 3; ++round)
    for (i = 0; i < n; ++i)
      for (j = -1; j < divisors; ++j)
        for (k = 0; k < 6; ++k) {
          int64_t lo = map->variable[i].lo, hi = map->variable[i].hi, old = point[i], c = j < 0 ? 1 : divisor[j], x;
          if (j < 0 && k > 1) break;
          if (lo < -((int64_t)1 << 60) || hi > (int64_t)1 << 60 || c > (int64_t)1 << 60) continue;
          x = k == 0   ? (j < 0 ? lo : lo + c - 1)
              : k == 1 ? (j < 0 ? hi : hi - c + 1)
              : k == 2 ? settp_map_ceil(lo, c) * c
              : k == 3 ? settp_map_ceil(lo, c) * c - 1
              : k == 4 ? settp_map_floor(hi, c) * c
                       : settp_map_floor(hi, c) * c - 1;
          if (x < lo || x > hi || x == old) continue;
          point[i] = x;
          if (settp_map_code_at(v, point, image) != 1 ||
              (inside && !(goal > best ? image[result] > best : image[result] < best))) {
            point[i] = old;
            continue;
          }
          inside = 1;
          best = image[result];
          if (best == goal) return 1;
        }
  return inside && best == goal;
}

/* Find a point of the domain among the first points of the box; return 0 if there is none. */
SETT_INLINE int settp_map_some_point(const sett_map_evaluator *v, int64_t *point, int64_t *image) {
  int i, looks = 0;
  for (i = 0; i < sett_map_variables(v->map); ++i) point[i] = v->map.variable[i].lo;
  do
    if (settp_map_code_at(v, point, image) == 1) return 1;
  while (++looks < 4096 && settp_map_next_point(&v->map, point));
  return 0;
}

/* Enumerate all points. Compute exact ends and residue classes, the number of images, and whether the image is the product of the results' sets.
 * Return 0 or an error. */
SETT_INLINE int settp_map_look_at_image(sett_map_arena *arena, sett_map s, sett_map_values *value,
                                        sett_map_footprint *out) {
  sett_map_mark mark = sett_map_arena_mark(arena);
  int64_t *point = (int64_t *)settp_map_take(arena, (size_t)sett_map_variables(s) * 2 * sizeof *point + 8), product = 1;
  sett_map_points it;
  int i, code, first = 1;
  if (!point) return SETT_MAP_ERROR_FULL;
  code = settp_map_collide(arena, s, point, point + sett_map_variables(s), &out->count);
  it = sett_map_points_begin(arena, s);
  while (code >= 0 && sett_map_points_next(&it)) {
    for (i = 0; i < s.results; ++i) {
      if (first) value[i].lo = value[i].hi = value[i].residue = it.result[i], value[i].modulus = 0;
      if (it.result[i] < value[i].lo) value[i].lo = it.result[i];
      if (it.result[i] > value[i].hi) value[i].hi = it.result[i];
      value[i].modulus = settp_map_gcd(value[i].modulus, settp_map_difference(it.result[i], value[i].residue, 1));
    }
    first = 0;
  }
  sett_map_arena_rewind(arena, mark);
  if (it.error) code = -it.error;
  if (code < 0) {
    out->count = -1;
    return -code;
  }
  for (i = 0; i < s.results; ++i) {
    if (first) value[i] = settp_map_values_make(settp_map_interval(1, 0), settp_map_class_make(1, 0));
    else
      value[i] = settp_map_values_make(settp_map_interval(value[i].lo, value[i].hi),
                                       settp_map_class_make(value[i].modulus, value[i].residue));
    product = settp_map_sat_mul(
        product, first              ? 0
                 : value[i].modulus ? settp_map_sat_add(settp_map_reach(value[i].lo, value[i].hi) / value[i].modulus, 1)
                                    : 1);
  }
  out->product = product == out->count;
  return 0;
}

SETT_INLINE sett_map_footprint settp_map_no_footprint(int error) {
  sett_map_footprint out;
  settp_map_clear(&out, sizeof out);
  out.count = -1;
  out.error = error;
  out.reason = sett_map_message(error);
  return out;
}

/* Return a bound of the change of a form when variable v changes by 1. A minimum or maximum changes by at most the larger bound of its two operands.
 * Return INT64_MAX if no bound is known. */
SETT_INLINE int64_t settp_map_lin_change(settp_map_engine *e, int32_t l, int v, int depth) {
  int64_t sum = 0, own, other;
  int32_t i, a, b;
  int count;
  if (depth > SETTP_MAP_LEAVES_MAX) return INT64_MAX;
  i = settp_map_lattice_at(e, l, &count);
  if (i >= 0 && settp_map_lattice_sides(e, l, i, &a, &b)) {
    own = settp_map_lin_change(e, a, v, depth + 1);
    other = settp_map_lin_change(e, b, v, depth + 1);
    return own > other ? own : other;
  }
  for (i = 0; i < e->lin[l].count; ++i) {
    settp_map_term t = e->term[e->lin[l].first + i];
    settp_map_atom x = e->atom[t.atom];
    if (!(x.support >> (v & 63) & 1)) continue;
    if (x.kind == SETTP_MAP_ATOM_OTHER) return INT64_MAX;
    own = x.kind == SETTP_MAP_ATOM_VAR ? x.a == v : settp_map_lin_change(e, x.a, v, depth + 1);
    if (x.kind == SETTP_MAP_ATOM_QUOTIENT && own != INT64_MAX) own = settp_map_ceil(own, x.c);
    sum = settp_map_sat_add(sum, settp_map_sat_mul(t.k < 0 ? -t.k : t.k, own));
  }
  return sum;
}

/* Return 1 if the only result of a map on a box has no gaps: it takes every value of its residue class modulo m between its ends. This holds if the
 * result changes by at most m when a variable changes by 1. */
SETT_INLINE int settp_map_has_no_gaps(sett_map_arena *arena, sett_map map, int64_t m) {
  sett_map_mark mark = sett_map_arena_mark(arena);
  settp_map_asked a;
  int v, none = !map.constraints && !settp_map_ask(arena, map, &a);
  for (v = 0; none && v < sett_map_variables(map); ++v)
    none = settp_map_lin_change(&a.engine, a.lin[settp_map_at(arena, map.result[0])->mark], v, 0) <= m;
  sett_map_arena_rewind(arena, mark);
  return none;
}

SETT_INLINE sett_map_footprint settp_map_footprint(sett_map_arena *arena, const settp_map_study *y, int results) {
  sett_map_footprint out;
  sett_map s = y->s, u;
  sett_map_values *value = (sett_map_values *)settp_map_take(arena, (size_t)results * sizeof *value + 8);
  unsigned char *exact = (unsigned char *)settp_map_take(arena, (size_t)results + 8);
  int64_t *point = (int64_t *)settp_map_take(arena, (size_t)sett_map_variables(s) * sizeof *point + 8), divisor[8];
  int64_t *image = (int64_t *)settp_map_take(arena, (size_t)results * sizeof *image + 8);
  sett_expr *back;
  sett_map_evaluator v;
  int i, code, divisors, all_exact = 0;
  out.results = results;
  out.value = value;
  out.exact = exact;
  out.count = -1;
  out.product = 0;
  out.error = y->error ? y->error : !value || !exact || !point || !image ? SETT_MAP_ERROR_FULL : 0;
  if (!out.error && s.kind == SETT_MAP_DEFINED) {
    code = settp_map_values(arena, s, value);
    if (code > 0) out.error = code;
  }
  for (i = 0; i < results && y->matrix && !out.error; ++i)
    value[i] = settp_map_values_make(
        settp_map_interval_meet(settp_map_interval(value[i].lo, value[i].hi), y->matrix->bound[i]),
        settp_map_class_make(value[i].modulus, value[i].residue));
  out.reason = "";
  if (out.error) return settp_map_no_footprint(out.error);
  if (s.kind == SETT_MAP_EMPTY) {
    for (i = 0; i < results; ++i) {
      exact[i] = 1;
      value[i] = settp_map_values_make(settp_map_interval(1, 0), settp_map_class_make(1, 0));
    }
    out.count = 0;
    out.product = 1;
    return out;
  }
  if (y->left) out.count = settp_map_count_points(arena, s);
  else if (y->matrix && y->matrix->full && y->matrix->rank < 62) out.count = (int64_t)1 << y->matrix->rank;
  out.product = out.count >= 0 && settp_map_product_of(value, results) == out.count;
  u = out.product ? s : sett_map_remove_unused(arena, s, SETT_MAP_ALL_KINDS, NULL);
  /* for linear results on a box, the intervals are exact */
  if (!out.product && u.kind == SETT_MAP_DEFINED && settp_map_reshape_domain(arena, &u, results)) {
    if (out.count < 0) out.count = settp_map_count_sums(arena, u);
    all_exact = !settp_map_values(arena, u, value);
  }
  if (out.count < 0 && u.kind == SETT_MAP_DEFINED) {
    back = (sett_expr *)settp_map_take(arena, (size_t)sett_map_variables(u) * sizeof *back + 8);
    if (back && settp_map_left_inverse(arena, u, back) == 1) out.count = settp_map_count_points(arena, u);
  }
  out.product = out.count >= 0 && settp_map_product_of(value, results) == out.count;
  if (!out.product && settp_map_box_points(&s) <= SETT_MAP_POINTS_MAX) {
    code = settp_map_look_at_image(arena, s, value, &out);
    if (code == SETT_MAP_ERROR_FULL) return settp_map_no_footprint(code);
    if (code) out.reason = sett_map_message(code);
    for (i = 0; i < results; ++i) exact[i] = !code;
    if (!code) return out;
  }
  if (out.count < 0 && !*out.reason) out.reason = settp_map_not_decided(0).reason;
  divisors = settp_map_constants(arena, &s, divisor, 8, 1);
  v = sett_map_evaluator_make(arena, s);
  for (i = 0; i < results; ++i) {
    exact[i] = out.product || all_exact;
    if (exact[i] || v.failed) continue;
    exact[i] = settp_map_some_point(&v, point, image) &&
               settp_map_attained(&v, point, image, i, value[i].lo, divisor, divisors) &&
               settp_map_attained(&v, point, image, i, value[i].hi, divisor, divisors);
  }
  if (results == 1 && out.count < 0 && exact[0] && value[0].modulus > 0 &&
      settp_map_has_no_gaps(arena, s, value[0].modulus)) {
    out.count = settp_map_product_of(value, 1);
    out.product = 1;
    out.reason = "";
  }
  return out;
}

SETT_PUBLIC sett_map_footprint sett_map_image(sett_map_arena *arena, sett_map map) {
  settp_map_study y = settp_map_study_make(arena, map);
  return settp_map_footprint(arena, &y, map.results);
}

/* Enumerate a small domain to see which points of a small box are images. Return 1 if all are, or -error. Otherwise, write a point that is no image to
 * `missed`, and return 0. */
SETT_INLINE int settp_map_look_at_box(sett_map_arena *arena, sett_map s, const sett_map_interval *box, int64_t size,
                                      int64_t *missed) {
  sett_map_mark mark = sett_map_arena_mark(arena);
  unsigned char *hit = (unsigned char *)settp_map_take(arena, (size_t)(size / 8) + 8);
  sett_map_points it = sett_map_points_begin(arena, s);
  int64_t number, at;
  int i, code;
  for (at = 0; hit && at <= size / 8; ++at) hit[at] = 0;
  while (hit && sett_map_points_next(&it)) {
    for (i = 0, number = 0; i < s.results && number >= 0; ++i)
      number = it.result[i] < box[i].lo || it.result[i] > box[i].hi
                   ? -1
                   : number * (box[i].hi - box[i].lo + 1) + (it.result[i] - box[i].lo);
    if (number >= 0) hit[number / 8] = (unsigned char)(hit[number / 8] | 1u << (number & 7));
  }
  code = !hit ? -SETT_MAP_ERROR_FULL : -it.error;
  for (at = 0; code == 0 && at < size && hit[at / 8] >> (at & 7) & 1; ++at) {}
  for (i = s.results - 1, number = at; i >= 0 && !code && at < size; --i) {
    missed[i] = box[i].lo + number % (box[i].hi - box[i].lo + 1);
    number /= box[i].hi - box[i].lo + 1;
  }
  sett_map_arena_rewind(arena, mark);
  return code ? code : at == size;
}

/* Test by the inverse expressions in `result` if all points of a box are images: y is an image exactly if map(inverse(y)) = y. Return 1 if all are, and
 * -1 if it is not decided. Otherwise, write a point that is no image to `missed`, and return 0. */
SETT_INLINE int settp_map_look_back(sett_map_arena *arena, sett_map s, const sett_map_interval *box, int64_t size,
                                    const sett_expr *result, int64_t *missed) {
  sett_map_mark mark = sett_map_arena_mark(arena);
  int n = sett_map_variables(s), i, code, hit = 1, end = 0;
  int64_t *point = (int64_t *)settp_map_take(arena, (size_t)(n + s.results) * sizeof *point + 8), looks;
  sett_map back = settp_map_back(arena, box, s.results, result, n);
  sett_map_evaluator there = sett_map_evaluator_make(arena, s), here = sett_map_evaluator_make(arena, back);
  for (i = 0; i < s.results; ++i) missed[i] = box[i].lo;
  for (looks = 0; point && !there.failed && !here.failed && looks < SETT_MAP_POINTS_MAX && !end; ++looks) {
    code = settp_map_code_at(&here, missed, point);
    if (code == 1) code = settp_map_code_at(&there, point, point + n);
    if (code < 0) break;
    for (i = 0, hit = code; i < s.results && hit; ++i) hit = point[n + i] == missed[i];
    if (!hit) break;
    end = !settp_map_next_point(&back, missed);
  }
  code = !hit ? 0 : end && looks == size ? 1 : -1;
  sett_map_arena_rewind(arena, mark);
  return code;
}

SETT_INLINE sett_map_answer settp_map_covers(sett_map_arena *arena, const settp_map_study *y,
                                             const sett_map_footprint *image, const sett_map_interval *box) {
  enum { SETTP_MAP_MOST_CELLS = 1 << 22 };
  sett_map_answer answer = settp_map_no("a point of the box is not hit");
  int results = image->results, i, code = -1;
  int64_t size = settp_map_box_size(box, results), points,
          *missed = (int64_t *)settp_map_take(arena, (size_t)results * sizeof *missed + 8);
  if (y->error || image->error || !missed)
    return settp_map_not_decided(y->error ? y->error : image->error ? image->error : SETT_MAP_ERROR_FULL);
  if (!size) return settp_map_yes();
  answer.missed = missed;
  for (i = 0; i < results; ++i) missed[i] = box[i].lo;
  if (y->s.kind == SETT_MAP_EMPTY) return answer;
  for (i = 0; i < results; ++i) { /* find a value in the box that a result never has */
    const sett_map_values *v = image->value + i;
    if (box[i].lo < v->lo) return answer;
    missed[i] = box[i].hi;
    if (box[i].hi > v->hi) return answer;
    missed[i] = box[i].lo;
    if (v->modulus < 2) continue;
    if (settp_map_mod(box[i].lo, v->modulus) != v->residue) return answer;
    if (box[i].lo == box[i].hi) continue;
    ++missed[i];
    return answer;
  }
  if (image->product) return settp_map_yes();
  if (y->matrix && y->matrix->full) code = settp_map_matrix_covers(y->s, y->matrix, box, missed);
  if (code >= 0) return code ? settp_map_yes() : answer;
  if (settp_map_box_points(&y->s) <= SETT_MAP_POINTS_MAX && size <= SETTP_MAP_MOST_CELLS)
    code = settp_map_look_at_box(arena, y->s, box, size, missed);
  else if (y->left) code = settp_map_look_back(arena, y->s, box, size, y->back, missed);
  if (code >= 0) return code ? settp_map_yes() : answer;
  points = image->count >= 0 ? image->count : settp_map_count_free(arena, &y->s);
  if (points >= 0 && points < size) return settp_map_no("the box has more points than there are images");
  return settp_map_not_decided(0);
}

SETT_PUBLIC sett_map_answer sett_map_covers(sett_map_arena *arena, sett_map map, const sett_map_interval *box) {
  settp_map_study y = settp_map_study_make(arena, map);
  sett_map_footprint image = settp_map_footprint(arena, &y, map.results);
  return settp_map_covers(arena, &y, &image, box);
}

/* Find a point whose image is outside the box. Return 1, or 0 if none was found. */
SETT_INLINE int settp_map_find_outside(sett_map_arena *arena, sett_map s, const sett_map_interval *box,
                                       int64_t *point) {
  enum { SETTP_MAP_MOST_SAMPLES = 4096 };
  sett_map_mark mark = sett_map_arena_mark(arena);
  sett_map_evaluator v = sett_map_evaluator_make(arena, s);
  settp_map_random random;
  int64_t *image = (int64_t *)settp_map_take(arena, (size_t)s.results * sizeof *image + 8),
          all = settp_map_box_points(&s), looks = all;
  int n = sett_map_variables(s), i, found = 0, more = 1;
  random.state = UINT64_C(88172645463325252);
  for (i = 0; i < n; ++i) point[i] = s.variable[i].lo;
  if (all > SETT_MAP_POINTS_MAX) looks = SETTP_MAP_MOST_SAMPLES;
  for (; image && !v.failed && more && !found && looks > 0; --looks) {
    if (settp_map_code_at(&v, point, image) == 1)
      for (i = 0; i < s.results && !found; ++i) found = image[i] < box[i].lo || image[i] > box[i].hi;
    if (found) break;
    if (all <= SETT_MAP_POINTS_MAX) more = settp_map_next_point(&s, point);
    else settp_map_draw_point(&random, &s, point);
  }
  sett_map_arena_rewind(arena, mark);
  return found;
}

SETT_INLINE sett_map_answer settp_map_bijective(sett_map_arena *arena, const settp_map_study *y,
                                                const sett_map_footprint *image, const sett_map_interval *box) {
  sett_map_answer answer = settp_map_injective(arena, y), cover;
  sett_map_interval *bounding =
      (sett_map_interval *)settp_map_take(arena, (size_t)image->results * sizeof *bounding + 8);
  int64_t *point = (int64_t *)settp_map_take(arena, (size_t)sett_map_variables(y->s) * sizeof *point + 8);
  int i, inside = 1, exact = 1;
  if (answer.no || y->error) return answer;
  if (image->error || !bounding || !point)
    return settp_map_not_decided(image->error ? image->error : SETT_MAP_ERROR_FULL);
  for (i = 0; i < image->results; ++i) {
    bounding[i] = settp_map_interval(image->value[i].lo, image->value[i].hi);
    if (!image->exact[i]) exact = 0;
    if (box && bounding[i].lo <= bounding[i].hi && (bounding[i].lo < box[i].lo || bounding[i].hi > box[i].hi))
      inside = 0;
  }
  if (!inside) {
    if (settp_map_find_outside(arena, y->s, box, point)) {
      answer = settp_map_no("an image is outside of the box");
      answer.point = point;
      return answer;
    }
    inside = settp_map_box_points(&y->s) <= SETT_MAP_POINTS_MAX; /* 1 if all points were enumerated */
  }
  cover = settp_map_covers(arena, y, image, box ? box : bounding);
  if (cover.no && !box && !exact) cover = settp_map_open("the bounding box of the image is not known exactly");
  if (cover.no) return cover;
  if (!answer.yes) return answer;
  if (cover.yes && !inside) return settp_map_open("it was not shown that no image is outside of the box");
  return cover;
}

SETT_PUBLIC sett_map_answer sett_map_is_bijective(sett_map_arena *arena, sett_map map, const sett_map_interval *box) {
  settp_map_study y = settp_map_study_make(arena, map);
  sett_map_footprint image = settp_map_footprint(arena, &y, map.results);
  return settp_map_bijective(arena, &y, &image, box);
}

/* ======================================================================= bodies: inverse ==== */

/* The results of `both` are `goal` values, followed by variables. Return 1 if the map `back` computes the variables from the values. */
SETT_INLINE int settp_map_leads_back(sett_map_arena *arena, sett_map both, int goal, sett_map back) {
  sett_map there = both, goes = both;
  if (both.kind != SETT_MAP_DEFINED) return 0;
  there.results = goal;
  goes.result += goal;
  goes.results -= goal;
  return sett_map_equal(arena, sett_map_compose(arena, there, back), goes).yes;
}

/* Return 1 if it is proved that compose(map, back) or compose(back, map) is the identity. */
SETT_INLINE int settp_map_is_inverse(sett_map_arena *arena, sett_map map, sett_map back) {
  sett_map both = settp_map_with_variables(arena, map);
  if (settp_map_leads_back(arena, both, map.results, back) ||
      settp_map_leads_back(arena, settp_map_with_variables(arena, back), back.results, map))
    return 1;
  /* rewrite the results and the variables in terms of digits of the variables */
  (void)settp_map_reshape_domain(arena, &both, map.results);
  return settp_map_leads_back(arena, both, map.results, back);
}

SETT_PUBLIC sett_map sett_map_inverse(sett_map_arena *arena, sett_map map, sett_map_answer *why) {
  settp_map_study y;
  sett_map_footprint image;
  sett_map_interval *box;
  sett_map back;
  int i;
  *why = settp_map_not_decided(map.kind == SETT_MAP_FAILED ? map.error : SETT_MAP_ERROR_NO_MAP);
  if (map.kind == SETT_MAP_FAILED || map.kind == SETT_MAP_UNDEFINED) return map;
  *why = settp_map_no("it has ranges or runtime variables: expected dimensions only");
  if (map.ranges || map.rts) return sett_map_undefined();
  *why = settp_map_no(sett_map_message(SETT_MAP_ERROR_NO_POINT));
  y = settp_map_study_make(arena, map);
  if (y.s.kind == SETT_MAP_EMPTY) return sett_map_undefined();
  image = settp_map_footprint(arena, &y, map.results);
  box = (sett_map_interval *)settp_map_take(arena, (size_t)map.results * sizeof *box + 8);
  if (y.error || image.error || !box) {
    int error = y.error ? y.error : image.error ? image.error : SETT_MAP_ERROR_FULL;
    *why = settp_map_not_decided(error);
    return sett_map_fail(error, 0);
  }
  for (i = 0; i < map.results; ++i) box[i] = settp_map_interval(image.value[i].lo, image.value[i].hi);
  if (!image.count) return sett_map_undefined();
  /* the map is no bijection, or it cannot be proved to be one */
  if (!y.left || image.count < 0 || settp_map_box_size(box, map.results) != image.count) {
    *why = settp_map_bijective(arena, &y, &image, NULL);
    if (why->yes) *why = settp_map_open("a bijection, but no formula of its inverse was found");
    return sett_map_undefined();
  }
  back = sett_map_simplify(arena, settp_map_back(arena, box, map.results, y.back, y.s.dims));
  *why = settp_map_not_decided(back.error);
  if (back.kind == SETT_MAP_FAILED) return back;
  *why = settp_map_yes();
  /* one of the two compositions is enough, because the domain and the box have equally many points. A matrix of full rank is a proof without further
   * computation */
  if ((y.matrix && y.matrix->rank == y.matrix->ins) || settp_map_is_inverse(arena, y.s, back)) return back;
  *why = settp_map_open("a formula was found, but it was not shown to be the inverse");
  return sett_map_undefined();
}

/* ======================================================================= bodies: runs ==== */

/* For each kind of change along a variable v: the greatest common divisor of the positions at which it occurs, or 0 if it never occurs. Positions are
 * counted from v's lower bound lo, except for `step` and `level`, which are counted from 0. */
typedef struct settp_map_places {
  int64_t step, level; /* step: result(v) is not result(v - 1) + 1. level: result(v) is not result(v - 1) */
  int64_t own_step;    /* as `step`, but with positions counted from lo */
  int64_t align;       /* the gcd of all values of result(v) - (v - lo) */
  int64_t edge;        /* one of v - 1 and v is inside the domain, the other outside */
} settp_map_places;

SETT_INLINE int64_t settp_map_gcd_far(int64_t a, int64_t b) { return b == INT64_MIN ? 1 : settp_map_gcd(a, b); }

/* Record the change of a result along a variable, from v - 1 to v. At v - 1, the evaluation returned `before`, and the result was `old`. At v, it returned
 * `code`, and the result was `now`. */
SETT_INLINE void settp_map_place(settp_map_places *p, int64_t v, int64_t lo, int before, int64_t old, int code,
                                 int64_t now) {
  int64_t from = settp_map_difference(v, lo, 1), difference;
  if (code < 0 || before < 0) {
    p->step = p->level = p->own_step = p->align = p->edge = 1;
    return;
  }
  if (code == 1) p->align = settp_map_gcd_far(p->align, settp_map_difference(now, from, 1));
  if (v == lo) return;
  if (code != before) p->edge = settp_map_gcd_far(p->edge, from);
  if (code != 1 || before != 1) return;
  difference = settp_map_difference(now, old, 2);
  if (difference != 1) p->step = settp_map_gcd_far(p->step, v), p->own_step = settp_map_gcd_far(p->own_step, from);
  if (difference != 0) p->level = settp_map_gcd_far(p->level, v);
}

/* Record in *p where the only result of a map changes along a variable. If `all` is set, visit all points of the map's box. Otherwise
 * visit some of them: changes may be missed, and the divisors in *p may be multiples of the true ones. Return 0 or an error. */
SETT_INLINE int settp_map_look_along(sett_map_arena *arena, sett_map map, int variable, int all, settp_map_places *p) {
  enum { SETTP_MAP_MOST_SAMPLES = 160, SETTP_MAP_MOST_DIVISORS = 4 };
  sett_map_mark mark = sett_map_arena_mark(arena);
  int n = sett_map_variables(map), i, k, code, before, round, divisors;
  int64_t lo = map.variable[variable].lo, hi = map.variable[variable].hi, divisor[SETTP_MAP_MOST_DIVISORS], now = 0,
          old = 0;
  int64_t *point = (int64_t *)settp_map_take(arena, (size_t)n * sizeof *point + 8);
  sett_map_evaluator v;
  settp_map_random random;
  settp_map_clear(p, sizeof *p);
  divisors = settp_map_constants(arena, &map, divisor, SETTP_MAP_MOST_DIVISORS, 1);
  v = sett_map_evaluator_make(arena, map);
  if (!point || v.failed) {
    sett_map_arena_rewind(arena, mark);
    return v.failed ? v.failed : SETT_MAP_ERROR_FULL;
  }
  random.state = UINT64_C(88172645463325252);
  for (i = 0; i < n; ++i) point[i] = map.variable[i].lo;
  for (i = 0; all && i >= 0;) { /* visit the points of the box along v */
    for (code = 0, point[variable] = lo;; ++point[variable]) {
      before = code;
      old = now;
      code = settp_map_code_at(&v, point, &now);
      settp_map_place(p, point[variable], lo, before, old, code, now);
      if (point[variable] == hi) break;
    }
    for (i = n - 1; i >= 0; --i) {
      if (i != variable && point[i] < map.variable[i].hi) break;
      point[i] = map.variable[i].lo;
    }
    if (i >= 0) ++point[i];
  }
  for (round = 0; !all && round < SETTP_MAP_MOST_SAMPLES; ++round)
    /* k = -1: visit a random point. k >= 0: reduce its variable to a multiple of divisor k, and visit the point again */
    for (k = -1; k < divisors; ++k) {
      if (k < 0) settp_map_draw_point(&random, &map, point);
      if (k >= 0 && settp_map_mul(settp_map_floor(point[variable], divisor[k]), divisor[k], &point[variable])) continue;
      if (point[variable] <= lo) point[variable] = hi;
      before = 0;
      if (hi > lo) {
        --point[variable];
        before = settp_map_code_at(&v, point, &old);
        ++point[variable];
      }
      code = settp_map_code_at(&v, point, &now);
      settp_map_place(p, point[variable], lo, before, old, code, now);
    }
  sett_map_arena_rewind(arena, mark);
  return 0;
}

/* Return 1 if the only result of a map has this stride along its last variable. */
SETT_INLINE int settp_map_has_stride(sett_map_arena *arena, sett_map map, int variable, int64_t stride) {
  sett_map_stride s;
  return map.kind == SETT_MAP_EMPTY || (map.kind == SETT_MAP_DEFINED && !sett_map_strides(arena, map, variable, &s) &&
                                        s.linear && s.stride == stride);
}

/* A break is a value v of the variable for which result(v) is not result(v - 1) + stride. Return a number that divides v - base for every break v.
 * Return 0 if there is no break, except perhaps v = base. The map is simplified and has one result. A candidate w is tested by writing v as
 * base + w * j + i: the result must then have this stride along i. Candidates are powers of the primes that divide the divisors in the map. */
SETT_INLINE int64_t settp_map_run_along(sett_map_arena *arena, sett_map map, int variable, int64_t stride,
                                        int64_t base) {
  enum { SETTP_MAP_MOST_DIVISORS = 12, SETTP_MAP_MOST_PRIMES = 40 };
  int64_t divisor[SETTP_MAP_MOST_DIVISORS], prime[SETTP_MAP_MOST_PRIMES], power[SETTP_MAP_MOST_PRIMES], run = 1, p, w,
                                                                                                        c;
  int divisors, primes = 0, i, j, n = sett_map_variables(map);
  if (settp_map_has_stride(arena, map, variable, stride)) return 0;
  divisors = settp_map_constants(arena, &map, divisor, SETTP_MAP_MOST_DIVISORS, 1);
  for (i = 0; i < divisors; ++i)
    for (p = 2, c = divisor[i]; c > 1 && primes < SETTP_MAP_MOST_PRIMES; ++p) {
      if (p > 65536 || p > c / p) p = c; /* c has no divisor below p: it is a prime, or is treated like one */
      for (w = 1; c % p == 0; c /= p) w *= p;
      if (w == 1) continue;
      for (j = 0; j < primes && prime[j] != p; ++j) {}
      if (j == primes) power[primes++] = 1;
      prime[j] = p;
      if (power[j] < w) power[j] = w;
    }
  for (i = 0; i < primes; ++i)
    for (w = power[i]; w > 1; w /= prime[i]) {
      sett_map_mark mark = sett_map_arena_mark(arena);
      int fits = settp_map_has_stride(arena, settp_map_stripe(arena, map, variable, w, base), n, stride);
      sett_map_arena_rewind(arena, mark);
      if (!fits) continue;
      if (settp_map_mul(run, w / settp_map_gcd(run, w), &run)) return 1;
      break;
    }
  if (settp_map_add(map.variable[variable].lo, settp_map_neg(base), &w) ||
      settp_map_add(map.variable[variable].hi, settp_map_neg(base), &c))
    return run;
  w = settp_map_floor(w, run);
  c = settp_map_floor(c, run);
  /* return 0 if no break is left: `run` divides v - base only for the lowest v, which has no v - 1, or for v = base */
  return w == c || (w == -1 && c == 0) ? 0 : run;
}

/* Return 1 if every group of w values of a variable, counted from lo, is wholly inside or wholly outside the domain of a simplified map. The proof has
 * two conditions: at value i of a group, the expression of each constraint is start + stride * i; and no bound of a constraint separates the values of
 * a group. */
SETT_INLINE int settp_map_whole_groups(sett_map_arena *arena, sett_map s, int variable, int64_t lo, int64_t hi,
                                       int64_t w) {
  sett_map_mark mark = sett_map_arena_mark(arena);
  int n = sett_map_variables(s), i, whole = 1;
  sett_map_variable *bounds = (sett_map_variable *)settp_map_take(arena, (size_t)n * sizeof *bounds + 8);
  sett_expr *expr = (sett_expr *)settp_map_take(arena, (size_t)s.constraints * sizeof *expr + 8);
  sett_map_stride *stride = (sett_map_stride *)settp_map_take(arena, (size_t)s.constraints * sizeof *stride + 8);
  sett_map_values *value = (sett_map_values *)settp_map_take(arena, (size_t)s.constraints * sizeof *value + 8);
  sett_map box = s;
  if (settp_map_reach(lo, s.variable[variable].lo) % w || settp_map_reach(s.variable[variable].hi, hi) % w) whole = 0;
  if (!bounds || !expr || !stride || !value) whole = 0;
  for (i = 0; i < n && whole; ++i) bounds[i] = s.variable[i];
  for (i = 0; i < s.constraints && whole; ++i) expr[i] = s.constraint[i].expr;
  if (whole && s.constraints) {
    bounds[variable].lo = lo;
    bounds[variable].hi = hi;
    box.variable = bounds;
    box.result = expr;
    box.results = s.constraints;
    box.constraints = 0;
    box = settp_map_stripe(arena, box, variable, w, lo);
    whole = box.kind == SETT_MAP_DEFINED && !sett_map_strides(arena, box, n, stride);
    for (i = 0; i < s.constraints && whole; ++i)
      expr[i] = sett_map_sub(arena, box.result[i],
                             sett_map_mul(arena, sett_map_var(arena, n), sett_map_constant(arena, stride[i].stride)));
    box.result = expr;
    whole = whole && !settp_map_values(arena, box, value);
  }
  for (i = 0; i < s.constraints && whole; ++i) {
    int64_t k = stride[i].stride, a = value[i].residue, m = value[i].modulus, size, away;
    if (!stride[i].linear || k == INT64_MIN) whole = 0;
    if (!whole || !k) continue;
    /* all values of `start` (see above) are congruent to `a` modulo `size` */
    if (settp_map_mul(k < 0 ? -k : k, w, &size) || m % size) whole = 0;
    if (k < 0 && whole) {
      k = -k;
      if (settp_map_mul(k, w - 1, &away) || settp_map_add(a, -away, &a)) whole = 0;
    }
    if (!whole || settp_map_add(s.constraint[i].lo, settp_map_neg(a), &away)) whole = 0;
    else if (settp_map_mod(settp_map_ceil(away, k), w)) whole = 0;
    if (!whole || settp_map_add(s.constraint[i].hi, settp_map_neg(a), &away)) whole = 0;
    else if (settp_map_mod(settp_map_floor(away, k), w) != w - 1) whole = 0;
  }
  sett_map_arena_rewind(arena, mark);
  return whole;
}

/* the largest power of two that divides n; 2^61 if n is 0 or is divisible by more */
SETT_INLINE int64_t settp_map_low_bit(int64_t n) {
  int64_t w = 1;
  while (w < (int64_t)1 << 61 && n % (w * 2) == 0) w *= 2;
  return w;
}

SETT_INLINE void settp_map_no_run(sett_map_run *out) {
  out->contiguous = out->broadcast = out->vector_width = 1;
  out->contiguous_exact = out->broadcast_exact = out->vector_exact = 0;
}

SETT_PUBLIC int sett_map_runs(sett_map_arena *arena, sett_map map, int variable, sett_map_run *out) {
  sett_map_mark mark = sett_map_arena_mark(arena);
  sett_map s, one, wide;
  sett_map_variable *bounds;
  sett_map_constraint *constraint;
  int64_t lo, hi, extent;
  int n, i, error = 0;
  if (map.kind != SETT_MAP_DEFINED) return settp_map_error(&map);
  for (i = 0; i < map.results; ++i) settp_map_no_run(out + i);
  n = sett_map_variables(map);
  if (variable < 0 || variable >= n) return SETT_MAP_ERROR_UNKNOWN;
  lo = map.variable[variable].lo;
  hi = map.variable[variable].hi;
  extent = settp_map_extent(lo, hi);
  s = sett_map_simplify(arena, map);
  if (s.kind == SETT_MAP_FAILED) return s.error;
  bounds = (sett_map_variable *)settp_map_take(arena, (size_t)n * sizeof *bounds + 8);
  constraint = (sett_map_constraint *)settp_map_take(arena, ((size_t)s.constraints + 1) * sizeof *constraint);
  if (!bounds || !constraint) error = SETT_MAP_ERROR_FULL;
  wide = s; /* use the whole interval of the variable, so that the ends of the domain are found */
  for (i = 0; i < n && !error && s.kind == SETT_MAP_DEFINED; ++i) bounds[i] = s.variable[i];
  if (!error && s.kind == SETT_MAP_DEFINED) {
    for (i = 0; i < s.constraints; ++i) constraint[i] = s.constraint[i];
    constraint[i].expr = sett_map_var(arena, variable);
    constraint[i].lo = s.variable[variable].lo;
    constraint[i].hi = s.variable[variable].hi;
    bounds[variable] = map.variable[variable];
    wide.variable = bounds;
    wide.constraint = constraint;
    wide.constraints = s.constraints + 1;
    if (constraint[i].expr < SETT_MAP_ERROR_COUNT) error = (int)constraint[i].expr;
  }
  for (i = 0; i < map.results && !error; ++i) {
    settp_map_places seen;
    sett_map_values values;
    int64_t step, level, own, w, upper;
    sett_expr from;
    int few;
    out[i].contiguous = out[i].broadcast = extent;
    out[i].vector_width = settp_map_low_bit(extent);
    out[i].contiguous_exact = out[i].broadcast_exact = out[i].vector_exact = 1;
    if (s.kind == SETT_MAP_EMPTY) continue;
    one = s;
    one.results = wide.results = 1;
    one.result = wide.result = s.result + i;
    step = settp_map_run_along(arena, one, variable, 1, 0);
    level = settp_map_run_along(arena, one, variable, 0, 0);
    own = lo ? settp_map_run_along(arena, one, variable, 1, lo) : step;
    from = sett_map_add(arena, sett_map_var(arena, variable), sett_map_constant(arena, settp_map_neg(lo)));
    values = sett_map_congruence(arena, one, sett_map_sub(arena, *one.result, from));
    w = settp_map_low_bit(
        settp_map_gcd_far(settp_map_gcd_far(settp_map_gcd_far(extent, own), values.modulus), values.residue));
    while (w > 1 && !settp_map_whole_groups(arena, s, variable, lo, hi, w)) w /= 2;
    few = settp_map_box_points(&wide) <= SETT_MAP_POINTS_MAX;
    error = settp_map_look_along(arena, wide, variable, 0, &seen);
    upper =
        settp_map_low_bit(settp_map_gcd(settp_map_gcd(extent, seen.own_step), settp_map_gcd(seen.align, seen.edge)));
    if (!error && few && (seen.step != step || seen.level != level || upper != w)) {
      error = settp_map_look_along(arena, wide, variable, 1, &seen);
      upper =
          settp_map_low_bit(settp_map_gcd(settp_map_gcd(extent, seen.own_step), settp_map_gcd(seen.align, seen.edge)));
      step = seen.step;
      level = seen.level;
      w = upper;
    }
    out[i].contiguous_exact = step == seen.step;
    out[i].broadcast_exact = level == seen.level;
    /* step may exceed the extent of v; then there may be no break at all. The gcd of step and the extent is correct with a break and without one */
    if (!out[i].contiguous_exact && step > extent) step = settp_map_gcd(step, extent);
    if (!out[i].broadcast_exact && level > extent) level = settp_map_gcd(level, extent);
    out[i].contiguous = step ? step : extent;
    out[i].broadcast = level ? level : extent;
    out[i].vector_width = w;
    out[i].vector_exact = w == upper;
  }
  for (i = 0; i < map.results && error; ++i) settp_map_no_run(out + i);
  sett_map_arena_rewind(arena, mark);
  return error;
}

/* ======================================================================= bodies: C text ==== */

typedef struct settp_map_c {
  sett_map_arena *arena;
  const sett_map *map;
  settp_map_out *out;
  int type;
  int64_t lo, hi;                 /* smallest and largest value of the type */
  const sett_map_interval *range; /* the interval of each node of the list */
  int failed;                     /* the first error, or 0; INDEX_TYPE if the type is too narrow */
  int subtracts;                  /* 1 if the text has a minus sign */
} settp_map_c;

SETT_INLINE sett_map_interval settp_map_c_range(const settp_map_c *c, sett_expr e) {
  const settp_map_node *n = settp_map_at(c->arena, e);
  return n->op == SETTP_MAP_CONST ? settp_map_interval(n->value, n->value) : c->range[n->mark];
}

SETT_INLINE void settp_map_c_fail(settp_map_c *c, int error) {
  if (!c->failed) c->failed = error;
}

SETT_INLINE void settp_map_c_fits(settp_map_c *c, sett_map_interval r) {
  if (r.lo < c->lo || r.hi > c->hi) settp_map_c_fail(c, SETT_MAP_ERROR_INDEX_TYPE);
}

/* Check that no divisor in a list of nodes can be 0. */
SETT_INLINE void settp_map_c_divisors(settp_map_c *c, const settp_map_list *list) {
  uint32_t i;
  for (i = 0; i < list->count; ++i) {
    const settp_map_node *n = settp_map_at(c->arena, list->handle[i]);
    sett_map_interval divisor;
    if (n->op != SETTP_MAP_MOD && n->op != SETTP_MAP_FLOORDIV && n->op != SETTP_MAP_CEILDIV) continue;
    divisor = settp_map_c_range(c, settp_map_b(n));
    if (divisor.lo <= 0 && divisor.hi >= 0) settp_map_c_fail(c, SETT_MAP_ERROR_DIVISOR);
  }
}

SETT_INLINE void settp_map_c_minus(settp_map_c *c, const char *text) {
  c->subtracts = 1;
  settp_map_put(c->out, text);
}

SETT_INLINE void settp_map_c_number(settp_map_c *c, int64_t value) {
  uint64_t n = settp_map_magnitude(value);
  if (c->type == SETT_MAP_UINT ? n > UINT64_C(0xffffffff) : c->type == SETT_MAP_INT && n > UINT64_C(0x7fffffff))
    settp_map_c_fail(c, SETT_MAP_ERROR_INDEX_TYPE);
  if (value == INT64_MIN) settp_map_c_fail(c, SETT_MAP_ERROR_INDEX_TYPE);
  if (value < 0) settp_map_c_minus(c, "-");
  settp_map_put_unsigned(c->out, n);
  if (c->type == SETT_MAP_UINT && n > UINT64_C(0x7fffffff)) settp_map_put(c->out, "u");
  if (c->type == SETT_MAP_LONG && n > UINT64_C(0x7fffffff)) settp_map_put(c->out, "L");
}

SETT_INLINE void settp_map_c_expr(settp_map_c *c, sett_expr e, int place, int ring);

SETT_INLINE int settp_map_log2(int64_t v) { /* Return k if v is 2^k, otherwise -1 */
  int n = 0;
  if (v <= 0 || (v & (v - 1))) return -1;
  while (v > 1) v >>= 1, ++n;
  return n;
}

/* For a summand e = x * k, return the magnitude of k, and set *x to x. For any other summand, return 1, and set *x to e. */
SETT_INLINE int64_t settp_map_c_factor(const settp_map_c *c, sett_expr e, sett_expr *x) {
  const settp_map_node *n = settp_map_at(c->arena, e);
  int64_t k = 1;
  *x = e;
  if (n->op == SETTP_MAP_MUL && settp_map_is_constant(c->arena, settp_map_b(n), &k)) *x = settp_map_a(n);
  else if (n->op == SETTP_MAP_CONST) k = n->value < 0 ? -1 : 1;
  else k = 1;
  return k;
}

/* Print a sum plus a constant, with positive summands first. In a signed type, each partial sum must fit. */
SETT_INLINE void settp_map_c_sum(settp_map_c *c, sett_expr e, int64_t more) {
  size_t keep = c->arena->top;
  sett_expr *part, x = e;
  sett_map_interval sum = settp_map_interval(0, 0);
  int count = 1, i, pass, any = 0;
  while (settp_map_at(c->arena, x)->op == SETTP_MAP_ADD) {
    x = settp_map_a(settp_map_at(c->arena, x));
    ++count;
  }
  part = (sett_expr *)settp_map_take(c->arena, (size_t)count * sizeof *part + 8);
  if (!part) {
    settp_map_c_fail(c, SETT_MAP_ERROR_FULL);
    return;
  }
  for (i = count, x = e; i > 1; x = settp_map_a(settp_map_at(c->arena, x)))
    part[--i] = settp_map_b(settp_map_at(c->arena, x));
  part[0] = x;
  if (settp_map_at(c->arena, part[count - 1])->op == SETTP_MAP_CONST) {
    if (settp_map_add(more, settp_map_at(c->arena, part[count - 1])->value, &more))
      settp_map_c_fail(c, SETT_MAP_ERROR_INDEX_TYPE);
    --count;
  }
  for (pass = 0; pass < 2; ++pass) {
    if (pass && more > 0) { /* the constant is printed first if no other summand is positive */
      settp_map_put(c->out, any++ ? " + " : "");
      settp_map_c_number(c, more);
      sum = settp_map_interval_add(sum, settp_map_interval(more, more));
    }
    for (i = 0; i < count; ++i) {
      sett_expr inner;
      int64_t k = settp_map_c_factor(c, part[i], &inner);
      sett_map_interval r = settp_map_c_range(c, inner);
      if ((k < 0) != pass) continue;
      if (pass) settp_map_c_minus(c, any ? " - " : "-");
      else if (any) settp_map_put(c->out, " + ");
      ++any;
      sum = settp_map_interval_add(sum, settp_map_interval_scale(r, k));
      if (k == 1 || k == -1) {
        settp_map_c_expr(c, inner, SETT_MAP_TERM, 1);
      } else {
        settp_map_c_expr(c, inner, SETT_MAP_FACTOR, 1);
        settp_map_put(c->out, " * ");
        settp_map_c_number(c, k == INT64_MIN ? k : k < 0 ? -k : k);
        if (c->type != SETT_MAP_UINT)
          settp_map_c_fits(c, settp_map_interval_scale(r, k == INT64_MIN ? k : k < 0 ? -k : k));
      }
      if (c->type != SETT_MAP_UINT) settp_map_c_fits(c, sum);
    }
  }
  if (more < 0) {
    settp_map_c_minus(c, any ? " - " : "-");
    settp_map_c_number(c, more == INT64_MIN ? more : -more);
    if (c->type != SETT_MAP_UINT) settp_map_c_fits(c, settp_map_interval_add(sum, settp_map_interval(more, more)));
  }
  c->arena->top = keep;
}

/* Print e + shift as an operand of an operator that binds more strongly than +. */
SETT_INLINE void settp_map_c_shifted(settp_map_c *c, sett_expr e, int64_t shift, int ring) {
  if (!shift) {
    settp_map_c_expr(c, e, SETT_MAP_FACTOR, ring);
    return;
  }
  settp_map_put(c->out, "(");
  settp_map_c_sum(c, e, shift);
  settp_map_put(c->out, ")");
}

/* Print two operands, each in parentheses if it is not a single word, with text between and after them. */
SETT_INLINE void settp_map_c_pair(settp_map_c *c, sett_expr a, const char *between, sett_expr b, const char *after,
                                  int ring) {
  settp_map_c_expr(c, a, SETT_MAP_FACTOR, ring);
  settp_map_put(c->out, between);
  settp_map_c_expr(c, b, SETT_MAP_FACTOR, ring);
  settp_map_put(c->out, after);
}

/* Print e. If `ring` is set (only in uint), only its value modulo 2^32 must be correct. Otherwise its value must fit in the type. */
SETT_INLINE void settp_map_c_expr(settp_map_c *c, sett_expr e, int place, int ring) {
  const settp_map_node *n = settp_map_at(c->arena, e);
  sett_map_interval r = settp_map_c_range(c, e);
  uint32_t a = settp_map_a(n), b = settp_map_b(n);
  int64_t k = 0;
  char buffer[24];
  if (c->out->length > (size_t)SETTP_MAP_TEXT_MAX) settp_map_c_fail(c, SETT_MAP_ERROR_LONG);
  if (c->failed) return;
  if (!ring || c->type != SETT_MAP_UINT) settp_map_c_fits(c, r);
  if (n->op == SETTP_MAP_CONST) {
    settp_map_c_number(c, n->value);
    return;
  }
  if (n->op == SETTP_MAP_VAR) {
    settp_map_put(c->out, sett_map_name(*c->map, (int)n->value, buffer));
    return;
  }
  if (n->op == SETTP_MAP_MIN || n->op == SETTP_MAP_MAX) {
    settp_map_put(c->out, "(");
    settp_map_c_pair(c, a, n->op == SETTP_MAP_MIN ? " < " : " > ", b, " ? ", 0);
    settp_map_c_pair(c, a, " : ", b, ")", 0);
    return;
  }
  /* In uint, the operands of xor need to be correct only modulo 2^32 (ring = 1), because xor acts on single bits. In a signed type, they are exact */
  if (n->op == SETTP_MAP_XOR) {
    if (place > SETT_MAP_ALONE) settp_map_put(c->out, "(");
    settp_map_c_expr(c, a, settp_map_at(c->arena, a)->op == SETTP_MAP_XOR ? SETT_MAP_ALONE : SETT_MAP_FACTOR, 1);
    settp_map_put(c->out, " ^ ");
    settp_map_c_expr(c, b, SETT_MAP_FACTOR, 1);
    if (place > SETT_MAP_ALONE) settp_map_put(c->out, ")");
    return;
  }
  if (n->op == SETTP_MAP_ADD || (n->op == SETTP_MAP_MUL && settp_map_is_constant(c->arena, b, &k) && k < 0)) {
    if (place > SETT_MAP_ADDED) settp_map_put(c->out, "(");
    settp_map_c_sum(c, e, 0);
    if (place > SETT_MAP_ADDED) settp_map_put(c->out, ")");
    return;
  }
  if (n->op == SETTP_MAP_MUL) {
    if (place > SETT_MAP_TERM) settp_map_put(c->out, "(");
    settp_map_c_pair(c, a, " * ", b, place > SETT_MAP_TERM ? ")" : "", 1);
    return;
  }
  {
    sett_map_interval x = settp_map_c_range(c, a), y = settp_map_c_range(c, b), moved;
    int is_constant = settp_map_is_constant(c->arena, b, &k), bits = is_constant ? settp_map_log2(k) : -1, brackets;
    int64_t shift = 0, up = 0;
    if (is_constant && k > 0) {
      if (n->op == SETTP_MAP_CEILDIV) shift = k - 1; /* ceil(x / k) = floor((x + k - 1) / k) */
      if (x.lo == INT64_MIN || x.hi == INT64_MAX) settp_map_c_fail(c, SETT_MAP_ERROR_INDEX_TYPE);
      if (c->failed) return;
      /* in two's complement, a bit mask gives the residue for numbers of any sign */
      if (bits >= 0 && n->op == SETTP_MAP_MOD) {
        settp_map_put(c->out, place >= SETT_MAP_COMPARED ? "(" : "");
        settp_map_c_shifted(c, a, 0, 1);
        settp_map_put(c->out, " & ");
        settp_map_c_number(c, k - 1);
        settp_map_put(c->out, place >= SETT_MAP_COMPARED ? ")" : "");
        return;
      }
      /* make the dividend non-negative by adding a multiple of the divisor */
      if (settp_map_sat_add(x.lo, shift) < 0 && !(bits >= 0 && c->type != SETT_MAP_UINT)) {
        up = -settp_map_floor(x.lo + shift, k);
        if (settp_map_mul(up, k, &moved.lo) || settp_map_add(shift, moved.lo, &shift))
          settp_map_c_fail(c, SETT_MAP_ERROR_INDEX_TYPE);
        if (n->op == SETTP_MAP_MOD) up = 0;
      }
      moved = settp_map_interval_add(x, settp_map_interval(shift, shift));
      settp_map_c_fits(c, moved);
      if (shift && c->type != SETT_MAP_UINT) settp_map_c_fits(c, x);
      brackets = up ? place > SETT_MAP_ADDED : bits >= 0 ? place >= SETT_MAP_COMPARED : place > SETT_MAP_TERM;
      settp_map_put(c->out, brackets ? "(" : "");
      if (up && bits >= 0) settp_map_put(c->out, "(");
      settp_map_c_shifted(c, a, shift, shift != 0);
      if (bits >= 0) {
        settp_map_put(c->out, " >> ");
        settp_map_put_int(c->out, bits);
      } else {
        settp_map_put(c->out, n->op == SETTP_MAP_MOD ? " % " : " / ");
        settp_map_c_number(c, k);
      }
      if (up) {
        settp_map_c_minus(c, bits >= 0 ? ") - " : " - ");
        settp_map_c_number(c, up);
      }
      settp_map_put(c->out, brackets ? ")" : "");
      return;
    }
    /* the divisor is not a positive constant */
    settp_map_put(c->out, "(");
    if (n->op != SETTP_MAP_CEILDIV && x.lo >= 0 && y.lo > 0) {
      settp_map_c_pair(c, a, n->op == SETTP_MAP_MOD ? " % " : " / ", b, "", 0);
    } else {
      if (c->type == SETT_MAP_UINT) settp_map_c_fail(c, SETT_MAP_ERROR_INDEX_TYPE);
      /* INT_MIN / -1 is the only quotient that overflows */
      if (x.lo <= c->lo && y.lo <= -1) settp_map_c_fail(c, SETT_MAP_ERROR_INDEX_TYPE);
      if (n->op == SETTP_MAP_MOD) {
        settp_map_c_pair(c, a, " % ", b, " + ", 0);
        settp_map_c_expr(c, b, SETT_MAP_FACTOR, 0);
        settp_map_put(c->out, " * (");
      } else {
        settp_map_c_pair(c, a, " / ", b, n->op == SETTP_MAP_CEILDIV ? " + (" : " - (", 0);
        c->subtracts |= n->op == SETTP_MAP_FLOORDIV;
      }
      settp_map_c_pair(c, a, " % ", b, " != 0 && (", 0);
      settp_map_c_pair(c, a, n->op == SETTP_MAP_CEILDIV ? " < 0) == (" : " < 0) != (", b, " < 0))", 0);
    }
    settp_map_put(c->out, ")");
  }
}

/* Compute the interval of each node in a list from the node's operation. If an engine is given, intersect it with the interval of the node's form. */
SETT_INLINE sett_map_interval *settp_map_node_ranges(sett_map_arena *arena, const settp_map_list *list,
                                                     const sett_map_variable *bounds, settp_map_engine *e,
                                                     const int32_t *lin) {
  sett_map_interval *range = (sett_map_interval *)settp_map_take(arena, (size_t)list->count * sizeof *range + 8);
  uint32_t i;
  if (!range) return NULL;
  for (i = 0; i < list->count; ++i) {
    const settp_map_node *n = settp_map_at(arena, list->handle[i]);
    if (n->op == SETTP_MAP_CONST) range[i] = settp_map_interval(n->value, n->value);
    else if (n->op == SETTP_MAP_VAR) range[i] = settp_map_interval(bounds[n->value].lo, bounds[n->value].hi);
    else
      range[i] = settp_map_interval_op((int)n->op, range[settp_map_at(arena, settp_map_a(n))->mark],
                                       range[settp_map_at(arena, settp_map_b(n))->mark]);
    if (e && lin) {
      sett_map_interval more = settp_map_interval_meet(range[i], settp_map_lin_interval(e, lin[i]));
      if (more.lo <= more.hi) range[i] = more;
    }
  }
  return range;
}

SETT_INLINE void settp_map_c_type(settp_map_c *c, int type) {
  c->type = type;
  c->failed = 0;
  c->lo = type == SETT_MAP_UINT ? 0 : type == SETT_MAP_INT ? -INT64_C(0x80000000) : INT64_MIN;
  c->hi = type == SETT_MAP_UINT ? INT64_C(0xffffffff) : type == SETT_MAP_INT ? INT64_C(0x7fffffff) : INT64_MAX;
  if (type == SETT_MAP_LONG) ++c->lo, --c->hi; /* INT64_MIN and INT64_MAX mean "no bound", so they are no values */
}

/* Print the condition that a constraint holds. A comparison that the bounds imply is left out. */
SETT_INLINE void settp_map_c_constraint(settp_map_c *c, sett_map_constraint k) {
  sett_map_interval r = settp_map_c_range(c, k.expr);
  int low = k.lo > r.lo, high = k.hi < r.hi;
  if (k.lo == k.hi) {
    settp_map_c_expr(c, k.expr, SETT_MAP_COMPARED, 0);
    settp_map_put(c->out, " == ");
    settp_map_c_number(c, k.lo);
    return;
  }
  if (low) {
    settp_map_c_number(c, k.lo);
    settp_map_put(c->out, " <= ");
    settp_map_c_expr(c, k.expr, SETT_MAP_COMPARED, 0);
  }
  if (low && high) settp_map_put(c->out, " && ");
  if (high) {
    settp_map_c_expr(c, k.expr, SETT_MAP_COMPARED, 0);
    settp_map_put(c->out, " <= ");
    settp_map_c_number(c, k.hi);
  }
  if (!low && !high) settp_map_put(c->out, "1");
}

/* Print a result as a part of a larger C text. After a pointer, a result that subtracts gets parentheses, so that nothing is subtracted from the
 * pointer. */
SETT_INLINE void settp_map_c_result(settp_map_c *c, sett_expr e, int place) {
  size_t before = c->out->length;
  c->subtracts = 0;
  settp_map_c_expr(c, e, place, 0);
  if (place != SETT_MAP_ADDED || !c->subtracts || c->failed) return;
  c->out->length = before;
  settp_map_put(c->out, "(");
  settp_map_c_expr(c, e, SETT_MAP_ALONE, 0);
  settp_map_put(c->out, ")");
}

SETT_PUBLIC size_t sett_map_print_c(sett_map_arena *arena, sett_map map, int type, char *text, size_t capacity,
                                    int *error) {
  return sett_map_print_c_in(arena, map, type, SETT_MAP_ALONE, text, capacity, error);
}

SETT_PUBLIC size_t sett_map_print_c_in(sett_map_arena *arena, sett_map map, int type, int place, char *text,
                                       size_t capacity, int *error) {
  static const char *const names[] = {"", "uint", "int", "long"};
  sett_map_mark mark = sett_map_arena_mark(arena);
  settp_map_out out = settp_map_out_make(text, capacity);
  sett_map guards = sett_map_guards(arena, map), plain;
  settp_map_asked a;
  settp_map_nodes_known known;
  const sett_map_interval *results, *constraints;
  int32_t *lin = NULL;
  settp_map_engine e;
  settp_map_domain d;
  settp_map_c c;
  int i, code, first = type ? type : SETT_MAP_UINT, last = type ? type : SETT_MAP_LONG;
  *error = guards.kind == SETT_MAP_EMPTY ? SETT_MAP_ERROR_NO_POINT : settp_map_error(&guards);
  if (*error) {
    sett_map_arena_rewind(arena, mark);
    return settp_map_finish(&out);
  }
  c.arena = arena;
  c.map = &map;
  c.out = &out;
  for (;; ++first) {
    size_t keep = arena->top;
    out.length = 0;
    settp_map_c_type(&c, first);
    settp_map_put(&out, names[first]);
    /* results need correct values only inside the domain */
    plain = guards;
    code = settp_map_ask(arena, plain, &a);
    if (code) settp_map_c_fail(&c, code < 0 ? SETT_MAP_ERROR_NO_POINT : code);
    results = c.failed ? NULL : settp_map_node_ranges(arena, &a.known.list, a.domain.bounds, &a.engine, a.lin);
    if (!results) settp_map_c_fail(&c, SETT_MAP_ERROR_FULL);
    c.range = results;
    if (!c.failed) settp_map_c_divisors(&c, &a.known.list);
    for (i = 0; i < guards.results && !c.failed; ++i) {
      settp_map_put(&out, "\nresult ");
      settp_map_c_result(&c, guards.result[i], place);
    }
    /* constraints are evaluated at every point inside the bounds */
    constraints = NULL;
    plain.constraints = 0;
    settp_map_clear(&known, sizeof known);
    if (settp_map_list_of_constraints(arena, &known.list, guards.constraint, guards.constraints) ||
        settp_map_domain_start(arena, &plain, &d))
      settp_map_c_fail(&c, SETT_MAP_ERROR_FULL);
    else if (!settp_map_engine_start(&e, arena, &plain, d.bounds, d.modulus, d.residue, known.list.count))
      lin = settp_map_normalise(&e, &known, NULL);
    if (!c.failed) constraints = settp_map_node_ranges(arena, &known.list, map.variable, &e, lin);
    if (!constraints) settp_map_c_fail(&c, SETT_MAP_ERROR_FULL);
    c.range = constraints;
    if (!c.failed) settp_map_c_divisors(&c, &known.list);
    for (i = 0; i < guards.constraints && !c.failed; ++i) {
      settp_map_put(&out, "\nconstraint ");
      settp_map_c_constraint(&c, guards.constraint[i]);
    }
    arena->top = keep;
    if (!c.failed) break;
    if (first == last || c.failed != SETT_MAP_ERROR_INDEX_TYPE) {
      *error = c.failed;
      break;
    }
  }
  sett_map_arena_rewind(arena, mark);
  if (*error) out.length = 0;
  return settp_map_finish(&out);
}

SETT_PUBLIC int sett_map_fits(sett_map_arena *arena, sett_map map, int type) {
  int error;
  (void)sett_map_print_c(arena, map, type, NULL, 0, &error);
  return error == SETT_MAP_ERROR_INDEX_TYPE ? 0 : error ? -error : 1;
}

/* ======================================================================= bodies: without xor ==== */

/* An operand of an exclusive or. Bits `low` to width - 1 can vary. `sign` is set if the operand can be negative. */
typedef struct settp_map_operand {
  sett_expr expr;
  int low, width, sign;
} settp_map_operand;

enum { SETTP_MAP_OPERANDS_MAX = 32 };

SETT_INLINE sett_expr settp_map_above(sett_map_arena *arena, sett_expr a, int place) {
  return sett_map_floordiv(arena, a, sett_map_constant(arena, (int64_t)1 << place));
}

/* Return the exclusive or of operands, written with floordiv, mod and sums. Adjacent bits that vary in only one operand are written as one digit of
 * this operand. Each other bit is the sum of the operands' bits modulo 2. */
SETT_INLINE sett_expr settp_map_expand(sett_map_arena *arena, const settp_map_operand *operand, int operands) {
  sett_expr sum = sett_map_constant(arena, 0), part = 0, bit;
  /* bits: 1 if each operand is reduced to a single bit before the addition, because the sum might overflow otherwise */
  int i, j, n, width = 0, sign = 0, bits;
  for (i = 0; i < operands; ++i) {
    if (operand[i].width > width) width = operand[i].width;
    sign += operand[i].sign;
  }
  bits = (uint64_t)operands > (uint64_t)1 << (63 - width);
  for (j = 0; j <= width; j += n) {
    int active = 0, one = 0, end = width;
    n = 1;
    part = sett_map_constant(arena, 0);
    if (j == width && !sign) break;
    for (i = 0; i < operands; ++i) {
      const settp_map_operand *x = operand + i;
      if (x->low > j) {
        if (x->low < end) end = x->low; /* the digit ends below the bit at which another operand begins to vary */
      } else if (j < x->width || x->sign) {
        ++active;
        one = i;
        bit = settp_map_above(arena, x->expr, j);
        if (bits) bit = sett_map_mod(arena, bit, sett_map_constant(arena, 2));
        part = sett_map_add(arena, part, bit);
      }
    }
    if (active == 1 && j < width) {
      const settp_map_operand *x = operand + one;
      part = settp_map_above(arena, x->expr, j);
      if (!x->sign && x->width < end) end = x->width;
      n = end - j;
      /* the digit includes the sign, so no mod follows */
      if (end == width && x->sign && sign == 1) n = width + 1 - j;
      else if (x->sign || x->width > end) part = sett_map_mod(arena, part, sett_map_constant(arena, (int64_t)1 << n));
      part = sett_map_mul(arena, part, sett_map_constant(arena, (int64_t)1 << j));
    } else {
      part = sett_map_mod(arena, part, sett_map_constant(arena, 2));
      part = sett_map_mul(arena, part, sett_map_constant(arena, j == width ? -((int64_t)1 << j) : (int64_t)1 << j));
    }
    sum = sett_map_add(arena, sum, part);
  }
  return sum;
}

/* Write the operands of a xor node. The operands of xor nodes among them are written in place of these nodes. Return the number of operands. Return 0
 * if an operand has no bounds, or if there are too many. */
SETT_INLINE int settp_map_operands(const sett_map_arena *arena, sett_expr expr, const sett_expr *made,
                                   const sett_map_interval *range, settp_map_operand *operand) {
  sett_expr stack[SETTP_MAP_OPERANDS_MAX];
  int depth = 1, n = 0;
  stack[0] = expr;
  while (depth) {
    sett_expr x = stack[--depth];
    const settp_map_node *node = settp_map_at(arena, x);
    sett_map_interval r = range[node->mark];
    uint64_t vary;
    int64_t k = 1;
    if (node->op == SETTP_MAP_XOR) {
      if (depth + 2 > SETTP_MAP_OPERANDS_MAX) return 0;
      stack[depth++] = settp_map_b(node);
      stack[depth++] = settp_map_a(node);
      continue;
    }
    if (n == SETTP_MAP_OPERANDS_MAX || r.lo == INT64_MIN || r.hi == INT64_MAX) return 0;
    if (node->op == SETTP_MAP_CONST) k = node->value;
    else if (node->op == SETTP_MAP_MUL && !settp_map_is_constant(arena, settp_map_b(node), &k)) k = 1;
    operand[n].expr = made[node->mark];
    operand[n].sign = r.lo < 0;
    for (operand[n].low = 0; k && !(k & 1); k /= 2) ++operand[n].low;
    vary = settp_map_ones((uint64_t)(r.lo < 0 ? ~r.lo : r.lo) | (uint64_t)(r.hi < 0 ? ~r.hi : r.hi));
    for (operand[n].width = 0; vary; vary >>= 1) ++operand[n].width;
    if (operand[n].width < operand[n].low) operand[n].low = operand[n].width;
    if (operand[n++].width > SETTP_MAP_BIT_WIDTH) return 0;
  }
  return n;
}

SETT_PUBLIC sett_map sett_map_without_xor(sett_map_arena *arena, sett_map map) {
  sett_map s = sett_map_simplify(arena, map), out;
  settp_map_list list;
  const sett_map_interval *range;
  sett_map_constraint *constraint;
  sett_expr *made, *result;
  settp_map_operand operand[SETTP_MAP_OPERANDS_MAX];
  uint32_t i;
  int operands;
  if (settp_map_of_bits(arena, &s) < 2) return s;
  if (settp_map_list_of_map(arena, &list, &s)) return sett_map_fail(SETT_MAP_ERROR_FULL, 0);
  range = settp_map_node_ranges(arena, &list, s.variable, NULL, NULL);
  made = (sett_expr *)settp_map_take(arena, (size_t)list.count * sizeof *made + 8);
  result = (sett_expr *)settp_map_take(arena, (size_t)s.results * sizeof *result + 8);
  constraint = (sett_map_constraint *)settp_map_take(arena, (size_t)s.constraints * sizeof *constraint + 8);
  if (!range || !made || !result || !constraint) return sett_map_fail(SETT_MAP_ERROR_FULL, 0);
  for (i = 0; i < list.count; ++i) {
    const settp_map_node *n = settp_map_at(arena, list.handle[i]);
    uint32_t a, b;
    made[i] = list.handle[i];
    if (n->op <= SETTP_MAP_VAR) continue;
    a = settp_map_at(arena, settp_map_a(n))->mark;
    b = settp_map_at(arena, settp_map_b(n))->mark;
    if (made[a] < SETT_MAP_ERROR_COUNT || made[b] < SETT_MAP_ERROR_COUNT || n->op != SETTP_MAP_XOR) {
      made[i] = settp_map_binary(arena, (int)n->op, made[a], made[b]);
    } else {
      operands = settp_map_operands(arena, list.handle[i], made, range, operand);
      made[i] = operands ? settp_map_expand(arena, operand, operands) : (sett_expr)SETT_MAP_ERROR_OVERFLOW;
    }
  }
  settp_map_rewritten(arena, &s, made, result, constraint);
  out = s;
  out.result = result;
  out.constraint = constraint;
  settp_map_sort_constraints(arena, &out, constraint, out.constraints);
  return settp_map_store(arena, out, arena->top);
}

/* ======================================================================= bodies: equality ==== */

/* Compare two maps at a point. The simplified maps are evaluated first. If they differ or have no value, the original maps decide. A point at which an
 * original map has no value is ignored. */
SETT_INLINE int settp_map_differs_at(const sett_map_evaluator *simple, const sett_map_evaluator *given,
                                     const int64_t *point, int64_t *values) {
  int i, k, n = simple[0].map.results, x = 0, y = 0, differs = 0;
  for (k = 0; k < 2; ++k, simple = given) {
    x = settp_map_code_at(simple, point, values);
    y = settp_map_code_at(simple + 1, point, values + n);
    differs = x != y;
    for (i = 0; i < n && x == 1 && y == 1 && !differs; ++i) differs = values[i] != values[n + i];
    if (k == 0 && !differs && x >= 0) return 0;
  }
  return differs && x >= 0 && y >= 0;
}

/* Compare two maps with the same domain, bit by bit. x and y are the simplified maps. `first` and `second` are the results before simplification.
 * These are compared, because simplification may hide sums modulo 2. Return 1 if the maps are equal, 0 if it is not decided, -1 if the caller should
 * compare them at `point`. */
SETT_INLINE int settp_map_equal_bits(sett_map_arena *arena, sett_map x, sett_map y, const sett_expr *first,
                                     const sett_expr *second, int64_t *point) {
  sett_map both = x, other = y;
  settp_map_asked a;
  settp_map_engine *e = &a.engine;
  settp_map_carry carry = settp_map_carry_make(1);
  settp_map_reading r, q;
  sett_expr *result;
  int i, j, n, place, same = 1;
  if (x.kind != SETT_MAP_DEFINED || y.kind != SETT_MAP_DEFINED) return 0;
  both.results = other.results = 0;
  if (!settp_map_same_map(both, other)) return 0;
  result = (sett_expr *)settp_map_take(arena, (size_t)x.results * 2 * sizeof *result + 8);
  if (!result) return 0;
  for (i = 0; i < x.results; ++i) {
    result[i] = first[i];
    result[x.results + i] = second[i];
  }
  both.result = result;
  both.results = 2 * x.results;
  if (settp_map_ask_within(arena, both, &a, &carry) || !settp_map_bits_start(e)) return 0;
  for (i = 0; i < x.results; ++i) {
    int32_t l = a.lin[settp_map_at(arena, result[i])->mark],
            m = a.lin[settp_map_at(arena, result[x.results + i])->mark];
    if (l == m) continue;
    settp_map_read(e, l, 0, 0, &r);
    settp_map_read(e, m, 0, 0, &q);
    settp_map_reading_add(e, &r, &q);
    if (r.known < SETTP_MAP_BITS_KNOWN) {
      same = 0;
      continue;
    }
    for (place = 0; place <= r.width; ++place) {
      int32_t bit = settp_map_reading_at(&r, place);
      if (!bit) continue;
      same = 0;
      if (a.constraints) continue;
      /* if maps of bits differ, they differ at the lowest point of the domain or where only one bit is 1 */
      for (j = 0; j < sett_map_variables(x); ++j) point[j] = x.variable[j].lo;
      for (n = 0; n < e->bits->count; ++n) {
        int32_t source = e->bits->source[e->bits->of[n]];
        int v = 0, at = e->bits->place[n];
        int64_t up = at == SETTP_MAP_BIT_SIGN ? 0 : (int64_t)1 << at;
        while (v < e->variables && (e->variable[v] < 0 || e->atom[e->variable[v]].own != source)) ++v;
        if ((bit & 1) || v == e->variables || !settp_map_bit_has(e, bit, n)) continue;
        if (e->atom[e->variable[v]].c != 1 || x.variable[v].lo || up > x.variable[v].hi || !up) continue;
        point[v] = up;
        break;
      }
      return -1; /* the caller tests if the maps differ at this point */
    }
  }
  return same;
}

/* Prove that all results of a map are 0 on its domain. If simplification does not show it, choose a minimum or maximum in a result, and split the
 * domain in two parts. In each part, the minimum or maximum equals one of its operands, which replaces it. *budget is the number of maps that may
 * still be simplified. */
SETT_INLINE int settp_map_zero_by_cases(sett_map_arena *arena, sett_map map, int *budget) {
  sett_map_mark mark = sett_map_arena_mark(arena);
  settp_map_list list;
  sett_map_constraint *constraint;
  sett_expr *result, *made, *cased = NULL;
  int i, n = 0, turn, zero;
  uint32_t at, split;
  int64_t value;
  if (--*budget < 0) return 0;
  map = sett_map_simplify(arena, map);
  result = (sett_expr *)settp_map_take(arena, (size_t)map.results * sizeof *result + 8);
  for (i = 0; map.kind == SETT_MAP_DEFINED && result && i < map.results; ++i)
    if (!settp_map_is_constant(arena, map.result[i], &value) || value) result[n++] = map.result[i];
  if (map.kind == SETT_MAP_DEFINED && result && n) {
    map.results = n;
    map.result = result;
    constraint = (sett_map_constraint *)settp_map_take(arena, ((size_t)map.constraints + 1) * sizeof *constraint);
    zero = !settp_map_list_of(arena, &list, result, n);
    cased = (sett_expr *)settp_map_take(arena, (size_t)n * sizeof *cased + 8);
    made = (sett_expr *)settp_map_take(arena, (size_t)list.count * sizeof *made + 8);
    for (split = 0; split < list.count; ++split) {
      uint32_t op = settp_map_at(arena, list.handle[split])->op;
      if (op == SETTP_MAP_MIN || op == SETTP_MAP_MAX) break;
    }
    zero = zero && constraint && cased && made && split < list.count;
    for (turn = 0; turn < 2 && zero; ++turn) {
      sett_map one = map;
      const settp_map_node *node = settp_map_at(arena, list.handle[split]);
      sett_expr a = settp_map_a(node), b = settp_map_b(node);
      /* `first`: 1 if the minimum or maximum equals operand a on this part of the domain. In the first turn, the part is a <= b; in the second, it is
       * a > b */
      int first = (node->op == SETTP_MAP_MIN) == !turn;
      settp_map_copy(constraint, map.constraint, (size_t)map.constraints * sizeof *constraint);
      constraint[map.constraints].expr = sett_map_sub(arena, a, b);
      constraint[map.constraints].lo = turn ? 1 : INT64_MIN;
      constraint[map.constraints].hi = turn ? INT64_MAX : 0;
      for (at = 0; at < list.count; ++at) settp_map_at(arena, list.handle[at])->mark = at;
      for (at = 0; at < list.count; ++at) {
        node = settp_map_at(arena, list.handle[at]);
        made[at] = at == split ? (first ? a : b)
                   : node->op < SETTP_MAP_ADD
                       ? list.handle[at]
                       : settp_map_binary(arena, (int)node->op, made[settp_map_at(arena, settp_map_a(node))->mark],
                                          made[settp_map_at(arena, settp_map_b(node))->mark]);
      }
      for (i = 0; i < n; ++i) cased[i] = made[settp_map_at(arena, result[i])->mark];
      one.result = cased;
      one.constraint = constraint;
      ++one.constraints;
      zero = constraint[map.constraints].expr >= SETT_MAP_ERROR_COUNT && settp_map_zero_by_cases(arena, one, budget);
    }
  } else zero = map.kind == SETT_MAP_EMPTY || (map.kind == SETT_MAP_DEFINED && result);
  sett_map_arena_rewind(arena, mark);
  return zero;
}

/* Prove that two maps with the same domain have equal results, by simplifying their differences. */
SETT_INLINE int settp_map_equal_by_cases(sett_map_arena *arena, sett_map x, sett_map y) {
  enum { SETTP_MAP_MOST_CASES = 64 };
  sett_map both = x, other = y;
  sett_expr *result;
  int i, budget = SETTP_MAP_MOST_CASES;
  both.results = other.results = 0;
  if (x.kind != SETT_MAP_DEFINED || y.kind != SETT_MAP_DEFINED || !settp_map_same_map(both, other)) return 0;
  result = (sett_expr *)settp_map_take(arena, (size_t)x.results * sizeof *result + 8);
  for (i = 0; result && i < x.results; ++i) {
    result[i] = sett_map_sub(arena, x.result[i], y.result[i]);
    if (result[i] < SETT_MAP_ERROR_COUNT) return 0;
  }
  both.results = x.results;
  both.result = result;
  return result && settp_map_zero_by_cases(arena, both, &budget);
}

SETT_PUBLIC sett_map_answer sett_map_equal(sett_map_arena *arena, sett_map a, sett_map b) {
  enum { SETTP_MAP_MOST_POINTS = 1 << 18, SETTP_MAP_MOST_SAMPLES = 4096 };
  sett_map_mark before = sett_map_arena_mark(arena), mark;
  sett_map x, y, box;
  sett_map_evaluator simple[2], given[2];
  sett_map_answer answer;
  sett_map_variable *bounds;
  int64_t *point, *values, points;
  settp_map_random random;
  int i, n = sett_map_variables(a) > sett_map_variables(b) ? sett_map_variables(a) : sett_map_variables(b), round;
  if (a.kind == SETT_MAP_FAILED || b.kind == SETT_MAP_FAILED)
    return settp_map_not_decided(a.kind == SETT_MAP_FAILED ? a.error : b.error);
  if (a.kind == SETT_MAP_UNDEFINED || b.kind == SETT_MAP_UNDEFINED)
    return settp_map_open("a map is UNDEFINED: nothing is known of it");
  if (a.kind == SETT_MAP_DEFINED && b.kind == SETT_MAP_DEFINED &&
      (a.dims != b.dims || a.ranges != b.ranges || a.rts != b.rts || a.results != b.results))
    return settp_map_no("they differ in their variables or results");
  /* the witness must stay in the arena after the rewind to the mark, so its memory is taken before the mark is set */
  point = (int64_t *)settp_map_take(arena, (size_t)n * sizeof *point + 8);
  mark = sett_map_arena_mark(arena);
  x = sett_map_simplify(arena, a);
  y = sett_map_simplify(arena, b);
  if (x.kind == SETT_MAP_FAILED || y.kind == SETT_MAP_FAILED || settp_map_same_map(x, y)) {
    sett_map_arena_rewind(arena, before);
    return x.kind == SETT_MAP_FAILED   ? settp_map_not_decided(x.error)
           : y.kind == SETT_MAP_FAILED ? settp_map_not_decided(y.error)
                                       : settp_map_yes();
  }
  box = x.kind == SETT_MAP_DEFINED ? x : y;
  n = sett_map_variables(box);
  values = (int64_t *)settp_map_take(arena, (size_t)box.results * 2 * sizeof *values + 8);
  bounds = (sett_map_variable *)settp_map_take(arena, (size_t)n * sizeof *bounds + 8);
  random.state = UINT64_C(88172645463325252);
  answer = settp_map_not_decided(SETT_MAP_ERROR_FULL);
  x.results = y.results = box.results; /* an empty map writes no results */
  simple[0] = sett_map_evaluator_make(arena, x);
  simple[1] = sett_map_evaluator_make(arena, y);
  given[0] = sett_map_evaluator_make(arena, a);
  given[1] = sett_map_evaluator_make(arena, b);
  if (point && values && bounds && !simple[0].failed && !simple[1].failed && !given[0].failed && !given[1].failed) {
    for (i = 0; i < n; ++i) {
      bounds[i] = box.variable[i];
      if (x.kind == SETT_MAP_DEFINED && y.kind == SETT_MAP_DEFINED) {
        if (y.variable[i].lo < bounds[i].lo) bounds[i].lo = y.variable[i].lo;
        if (y.variable[i].hi > bounds[i].hi) bounds[i].hi = y.variable[i].hi;
      }
    }
    box.variable = bounds;
    points = settp_map_box_points(&box);
    answer = settp_map_open("the domain is too large to look at every point, and none looked at differs");
    if (settp_map_of_bits(arena, &a) + settp_map_of_bits(arena, &b) > 1) {
      int same = settp_map_equal_bits(arena, x, y, a.result, b.result, point);
      if (same > 0) answer = settp_map_yes();
      else if (same < 0 && settp_map_differs_at(simple, given, point, values)) answer = settp_map_no("they differ");
      if (answer.yes || answer.no) points = 0; /* the answer is known, so no point is tested */
    }
    for (i = 0; i < n && points; ++i) point[i] = bounds[i].lo; /* if points is 0, `point` may be a witness */
    for (round = 0; points && (points <= SETTP_MAP_MOST_POINTS || round < SETTP_MAP_MOST_SAMPLES); ++round) {
      if (settp_map_differs_at(simple, given, point, values)) {
        answer = settp_map_no("they differ");
        break;
      }
      if (points <= SETTP_MAP_MOST_POINTS) {
        if (settp_map_next_point(&box, point)) continue;
        answer = settp_map_yes();
        break;
      }
      settp_map_draw_point(&random, &box, point);
      /* draw points with nearly equal coordinates, because there the two sides of a min are often equal */
      for (i = 1; i < n && round % 4 == 3; ++i) {
        int64_t beside = settp_map_sat_add(point[0], settp_map_draw(&random, -4, 4));
        point[i] = beside < bounds[i].lo ? bounds[i].lo : beside > bounds[i].hi ? bounds[i].hi : beside;
      }
    }
    if (points > SETTP_MAP_MOST_POINTS && !answer.no && settp_map_equal_by_cases(arena, x, y)) answer = settp_map_yes();
  }
  sett_map_arena_rewind(arena, answer.no ? mark : before);
  if (answer.no) answer.point = point;
  return answer;
}

SETTP_MAP_QUICK_END
#ifdef SETTP_MAP_FEWER_PASSES
#pragma pop_macro("SETT_INLINE")
#endif

/* Copyright the sett authors. Licensed under the Apache License, Version 2.0 (see LICENSE); SPDX-License-Identifier: Apache-2.0 */
#endif /* bodies */
