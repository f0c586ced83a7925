/* sett_move.h - v0.3 - moving an array from one distribution over threads to another: a plan, and its C or CUDA code
   SPDX-License-Identifier: Apache-2.0

WHAT
  Two tables say which element each register of each thread holds, before and after a move. This header plans the move: by renaming registers, by
  shuffles within warps, or through shared memory. It writes the plan as code: as a C function over the registers of all threads, or as a CUDA device
  function. It counts the shuffles, selects (choices between two registers), bytes of shared memory, barriers and bank conflicts of this code.
  sett_any_move in sett.h makes the tables from layouts. The header needs no allocator and no library.

INCLUDE
    #include "sett_indexing_map.h"
    #include "sett_move.h"
  Copy the two files. C11 or C++17, freestanding; by default, all functions are static inline. sett_indexing_map.h has the arena (sett_map_arena), the
  memory in which a plan is stored.
  The functions can be compiled once for many files, in C and C++: define SETT_DECLARATIONS before the first sett header of each file, and
  SETT_IMPLEMENTATION in exactly one file. To compile the functions of each header in a file of its own, define SETT_DECLARATIONS in that file, include
  the header, define SETT_IMPLEMENTATION, and include the header again. By default, a shared library does not export the functions. Two static
  libraries that both contain the functions can be linked into one program if at least one defines a SETT_PREFIX of its own in all its files.

OPTIONS
  Those of sett_indexing_map.h.

A FIRST LOOK
    #include <stdio.h>
    #include "sett_indexing_map.h"
    #include "sett_move.h"
    static unsigned char memory[1 << 20];
    int main(void) {
      sett_map_arena arena = sett_map_arena_make(memory, sizeof memory);
      static const int32_t rows[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
      static const int32_t columns[] = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};
      sett_move_table a = {0, 2, {4, 4}, 4, 4, 1, rows}, b = {0, 2, {4, 4}, 4, 4, 1, columns};
      sett_move move = sett_move_plan(&arena, &a, &b, 32);
      printf("%s: %d, at least %d\n", move.kind == SETT_MOVE_SHUFFLES ? "shuffles" : "other", move.shuffles, move.least);
      return 0;
    }
  prints
    shuffles: 3, at least 3

THE MODEL
  table       element[(warp * lanes + lane) * registers + register] is the row-major number of the element in this register. In table a,
              -1 means that the register is empty; in table b, that it may have any value after the move. Several registers may hold copies of
              one element. The number of a thread is warp * lanes + lane
  move        After the move, each register of each thread of b holds the element of table b. So all copies in b are written; of several copies in
              a, any may be read
  registers   A move is of this kind if each thread already holds all elements that it needs. moves is the number of registers of b that, in some
              thread, get their value from a register with another number; it may be 0
  shuffles    A move can be of this kind if each thread finds all elements that it needs in its warp. It is of this kind, unless registers suffice or
              shared memory costs less (see cost). In one step, each lane offers a word made of its registers, and receives the word of one lane.
              A word is one element of 64 or 32 bits, two 16-bit elements of any two registers, or four 8-bit elements. A step is one shuffle, which
              moves 32 bits per lane, or two shuffles for a 64-bit element
  shared      The threads store a, wait at a barrier, and load b. If each thread finds its elements in its warp, a barrier of the warp is enough.
              One access moves up to 16 bytes per thread. Lanes are served in groups that access at most 128 bytes (32 lanes of up to 4 bytes,
              16 lanes of 8, 8 lanes of 16). In one turn, each of the 32 banks serves one word of 4 bytes. So a group takes as many turns as the
              largest number of different words that it accesses in one bank. Turns after the first are conflicts.
              The place of an element is its row-major number among the elements of a, in some order of the dimensions, after padding or a swizzle
              (an XOR of bits of the place). For linear layouts (see sett_notation.h), sett_any_move also tries the places that
              sett_notation_shared computes. The cheapest places are taken; LIMITS says which are tried
  cost        The cost is counted per warp, in quarters of a turn: a shuffle 4, a select 1, a turn of shared memory 4, an access 1, a barrier 32, a
              barrier of a warp 8. Registers are used whenever possible, and shuffles if they cost no more than shared memory
  least       A lower bound on the shuffles of any plan by shuffles, also of plans that pass elements through other threads. In one shuffle, a thread
              sends 32 bits and receives 32 bits. It must receive every element that it lacks, and it must send every element that it alone holds and
              another lane needs. If shuffles = least, the plan is optimal. For elements of 32 and 64 bits without copies, this is always so, because
              each word is then an edge from a sender to a receiver, and the edges of a bipartite graph can be coloured with as many colours (steps)
              as its largest degree. Otherwise, shuffles may exceed least: with copies, because plans here are direct (an element goes from a lane
              that holds it to the lane that needs it), and for 8 and 16 bits, because words may not be full
  code        The code of a plan does not compute indices of the array. Each lane number and each place in shared memory is a constant, an XOR of bits
              of the lane or thread, or an entry of a table

FUNCTIONS
  plan      sett_move_plan              a plan from one table to another
  text      sett_move_print             the plan as code           sett_move_message     the text of an error

LAWS (tests/layouts/test_move.py, tests/layouts/move_test.c)
  1 moves      after the code has run, every register of b that has an element in table b holds this element.
  2 counts     selects, bytes, barriers and conflicts are those of the code, counted when it runs; so are shuffles, unless kind is SETT_MOVE_SHARED.
  3 least      no plan by shuffles has fewer shuffles than least; the tests try all direct plans for 4 lanes. shuffles = least for 32 and 64 bits
               without copies.
  4 no         a "no" names two numbers that differ (of lanes, warps or dimensions, or the sizes of a dimension), an element that no register of a
               holds, or an element that only another thread block holds (in sett_any_move, for layouts over several thread blocks).

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
  The error is part of the record: move.error and table.error. A failed table gives a failed move. A no with a reason is an answer, not an error.

LIMITS
  The limits are 64 lanes, 1024 threads, 1024 registers per thread, 2^20 elements and 12 dimensions. Elements have 8, 16, 32 or 64 bits. The C function
  exists for any number of lanes. The device function exists only for 32 lanes, in CUDA, and for 64 lanes, in HIP. The search for places in shared
  memory tries one row-major order for each dimension, with this dimension last. In each order it tries these places: unpadded; padded by 2^k elements
  (at most 16 bytes) after each row of at least 16 bytes, or after each 128 bytes; with a swizzle of CuTe that has a positive shift and moves units of
  at most 16 bytes within blocks of 128 bytes. The search stops early if it finds places without conflicts at which 16-byte accesses move all
  registers. Places that were not tried may cost less.

HISTORY
  0.3  SETT_DECLARATIONS, SETT_IMPLEMENTATION, SETT_PREFIX.
  0.2  registers without an element.
  0.1  registers, shuffles and shared memory, as C and as CUDA.
*/
#ifndef SETT_MOVE_H
#define SETT_MOVE_H

#if !defined(SETT_INDEXING_MAP_H)
#error "include sett_indexing_map.h before sett_move.h"
#endif

#define SETT_MOVE_VERSION 300 /* version 0.3.0: 10000 * major + 100 * minor + patch */

/* ---- types ------------------------------------------------------------------------------------------------------ */

#define SETT_MOVE_ERRORS(X)                                                                                       \
  X(OK, "no error")                                                                                               \
  X(ERROR_FULL, "the arena is full: expected more memory")                                                        \
  X(ERROR_OWNERS, "expected layouts from (register, lane, warp, block) to an index: Triton's, IREE's, Mosaic's, " \
                  "fragments, or CuTe's of (thread, value)")                                                      \
  X(ERROR_BLOCKS, "expected the same move in each block")                                                         \
  X(ERROR_NEGATIVE, "expected indices of 0 or more")                                                              \
  X(ERROR_EMPTY, "expected layouts of at least one element")                                                      \
  X(ERROR_SIZE, "expected at most 64 lanes, 1024 threads, 1024 registers and 1048576 elements")                   \
  X(ERROR_BITS, "expected elements of 8, 16, 32 or 64 bits")                                                      \
  X(ERROR_LANES, "expected 32 lanes for CUDA, or 64 for HIP")
enum {
#define SETTP_MOVE_ENUM(name, text) SETT_MOVE_##name,
  SETT_MOVE_ERRORS(SETTP_MOVE_ENUM)
#undef SETTP_MOVE_ENUM
      SETT_MOVE_ERROR_COUNT
};

enum {
  SETT_MOVE_DIMS = 12,
  SETT_MOVE_LANES_MAX = 64,
  SETT_MOVE_THREADS_MAX = 1024,
  SETT_MOVE_REGISTERS_MAX = 1024,
  SETT_MOVE_ELEMENTS_MAX = 1 << 20
};

/* A distribution of an array over threads: the element that each register of each thread holds. */
typedef struct sett_move_table {
  int error;
  int rank;
  int64_t dims[SETT_MOVE_DIMS];
  int registers, lanes, warps;
  const int32_t *element; /* index (warp * lanes + lane) * registers + register; -1: the register holds no element */
} sett_move_table;

/* An access of shared memory: each thread stores or loads the `count` registers with the numbers reg[0], reg[1], .. at adjacent places, of which the
 * first is place[thread]. If place[thread] is -1, the thread takes no part. */
typedef struct sett_move_access {
  int count;
  const int *reg;
  int32_t *place;
} sett_move_access;

enum { SETT_MOVE_REGISTERS, SETT_MOVE_SHUFFLES, SETT_MOVE_SHARED };
/* A plan. Numbers of operations are those in the code of one thread. turns (passes over the banks of shared memory) and conflicts are summed over all
 * warps. */
typedef struct sett_move {
  int error;
  int yes, no;
  const char *reason; /* why there is no plan */
  /* the two numbers (of lanes, warps, ..) that differ, if this is why there is no plan; otherwise -1 */
  int64_t left, right;
  int32_t element; /* without a plan: an element that `b` needs and `a` does not have, or -1 */
  int thread, reg; /* without a plan: the thread and the register of `b` that need the missing element */
  int rank;        /* number of dimensions of the array */
  int64_t dims[SETT_MOVE_DIMS];
  int kind; /* how elements move: registers, shuffles or shared memory, whichever is cheapest */
  int bits, lanes, warps;
  int from, to; /* number of registers of a thread in `a` and in `b` */
  /* number of registers of `b` whose value comes from a register with another number, in at least one thread; 0 if `kind` is not
   * SETT_MOVE_REGISTERS */
  int moves;
  int selects; /* number of selects: each takes one of two values, depending on the thread */
  /* number of shuffles of 32 bits in the best plan by shuffles that was found, and a lower bound for all plans by shuffles. If `kind` is
   * SETT_MOVE_SHARED, the code has no shuffles: the plan by shuffles was not chosen, because it costs more. Both numbers are 0 if `kind` is
   * SETT_MOVE_REGISTERS, and -1 if a value comes from another warp */
  int shuffles, least;
  /* number of steps, 0 if the code has no shuffles; a step shuffles a whole element, or a word of several elements */
  int steps;
  int64_t bytes; /* bytes of shared memory */
  /* `barriers` counts barriers of the block. It is 0 if `kind` is SETT_MOVE_SHARED and a barrier of the warp is enough. `stores` and `loads` count the
   * accesses of shared memory, which are the entries of `store` and `load` below */
  int barriers, stores, loads;
  int64_t turns, conflicts;
  int order; /* the dimension that is contiguous in shared memory */
  /* 1: the places in shared memory are those that sett_notation_shared computed for sett_any_move; order, padding and swizzle are then not used
   */
  int given;
  int padding, every; /* each group of `every` elements is followed by `padding` unused elements */
  int swizzle[3];     /* bits, base and shift of a swizzle S<B,M,S> as in CuTe, in elements; bits 0 means none */
  /* `cost` is the cost of this plan. `other` is the cost of the best plan of the other kind (shuffles or shared memory); it is -1 if there is no plan
   * of that kind, or if `kind` is SETT_MOVE_REGISTERS. The unit is a quarter of a turn per warp; a turn is a pass over the banks of shared memory */
  int cost, other;
  /* held[thread * to + register] is a register of `a` that, in the same thread, has the value of this register of `b`. With shuffles, it is -1 if the
   * value comes from a received word; with shared memory, if no register of the thread has the value. If this register of `b` holds no element (-1 in
   * table b), `held` is an arbitrary register of `a` */
  const int32_t *held;
  /* lane[step * threads + thread] is the lane whose word this thread receives. `lane`, `sent` and `got` are NULL if `kind` is not SETT_MOVE_SHUFFLES */
  const int32_t *lane;
  /* sent[(step * parts + part) * threads + thread] is the register of `a` that the thread puts into this part of its word; -1 means any. `parts` is the
   * number of elements in a word: 4 of 8 bits, 2 of 16 bits, or else 1 */
  const int32_t *sent;
  /* got[thread * to + register] tells from which part of a received word this register of `b` is taken: the number step * parts + part. It is used
   * where `held` is -1 */
  const int32_t *got;
  /* the accesses of shared memory, in the order of the code; NULL if `kind` is not SETT_MOVE_SHARED */
  const sett_move_access *store, *load;
} sett_move;

/* ---- prototypes ------------------------------------------------------------------------------------------------- */

/* Return the cheapest plan found that moves elements of `bits` bits from `a` to `b`. A cheaper plan may exist (see "least" in THE MODEL, and LIMITS).
 * The plan points into the memory of the arena, but not to `a` and `b`. The answer is no if `b` needs an element that `a` does not have, or if `a` and
 * `b` differ in the number of lanes or warps, or in the number or the sizes of the dimensions. */
SETT_PUBLIC sett_move sett_move_plan(sett_map_arena *arena, const sett_move_table *a, const sett_move_table *b,
                                     int bits);
enum { SETT_MOVE_C, SETT_MOVE_CUDA };
/* Write the plan as the code of a function with this name, cut to capacity - 1 bytes, and a zero byte; write nothing if capacity is 0. Return the
 * length of the whole text without its zero byte. form is SETT_MOVE_C or SETT_MOVE_CUDA. The text is empty, and the length is 0, if there is no
 * plan, or if the code is for CUDA and a warp does not have 32 or 64 lanes. T is unsigned char, unsigned short, unsigned or unsigned long long, for
 * elements of 8, 16, 32 or 64 bits. THREADS is the number of threads, move->lanes * move->warps; FROM is move->from, and TO is move->to. The memory
 * of `a` and `b` must not overlap. The text has the macros that the function uses, each inside #ifndef; constant tables named NAME_0, NAME_1, ..;
 * and the function. A caller may define the macros before the text, for instance to count operations. In C and in CUDA, macros of the same name have
 * different arguments, so the two texts do not fit into one file.
 *     C:     void NAME(const T a[THREADS][FROM], T b[THREADS][TO]).
 *            a[t] and b[t] are the registers of thread t. The function runs each step for all threads, then the next. The array `memory`, which stands
 *            for shared memory, is static in the function. So no two calls of a function that uses it may run at the same time. Macros:
 *              SETT_MOVE_SHUFFLE(words, thread) has the value (words)[thread], an unsigned: the word that thread number `thread` sends.
 *              SETT_MOVE_STORE(thread, place, count) and SETT_MOVE_LOAD(thread, place, count) are statements before the code of an access, which
 *              thread number `thread` makes to the elements memory[place], .., memory[place + count - 1]. Their values are not used.
 *              SETT_MOVE_BARRIER() is a statement between all stores and all loads. Its value is not used.
 *     CUDA:  static __device__ __forceinline__ void NAME(const T (&a)[FROM], T (&b)[TO], unsigned t, void *shared).
 *            All THREADS threads of a block must call the function; t is the number of the thread in the block, from 0 to THREADS - 1. `shared`
 *            points to move->bytes bytes of shared memory, aligned to 16 bytes; it is not used if move->kind is not SETT_MOVE_SHARED. Before this
 *            memory is used again, the caller needs a barrier. Macros:
 *              SETT_MOVE_SHUFFLE(word, lane) has the value that the unsigned `word` has in lane number `lane`: __shfl_sync, or HIP's __shfl for 64
 *              lanes.
 *              SETT_MOVE_STORE(type, address, value) writes the value to shared memory, and SETT_MOVE_LOAD(type, address) has the value there. type is
 *              unsigned char, unsigned short, unsigned, uint2 or uint4, and address is an unsigned char * that is aligned for it.
 *              SETT_MOVE_WARP_BARRIER() stands between stores and loads if move->barriers is 0. Otherwise, __syncthreads() stands there. */
SETT_PUBLIC size_t sett_move_print(const sett_move *move, int form, const char *name, char *out, size_t capacity);
SETT_PUBLIC const char *sett_move_message(int error);

#if defined(SETTP_LINK_SEPARATE) && defined(SETT_PREFIX)
/* clang-format off */
#define SETT_MOVE_FUNCTIONS(X) \
  X(sett_move_plan) X(sett_move_print) X(sett_move_message)
/* clang-format on */
SETT_MOVE_FUNCTIONS(SETTP_LINK_RENAME)
#endif

#endif

#if !defined(SETTP_MOVE_BODIES) && (defined(SETT_IMPLEMENTATION) || !defined(SETTP_LINK_SEPARATE))
#define SETTP_MOVE_BODIES
#ifdef SETTP_MAP_FEWER_PASSES
#pragma push_macro("SETT_INLINE")
#undef SETT_INLINE
#define SETT_INLINE static __attribute__((__unused__))
#endif
SETTP_MAP_QUICK

/* ---- bodies ----------------------------------------------------------------------------------------------------- */

SETT_PUBLIC const char *sett_move_message(int error) {
  switch (error) {
#define SETTP_MOVE_TEXT(name, text) \
  case SETT_MOVE_##name: return text;
    SETT_MOVE_ERRORS(SETTP_MOVE_TEXT)
#undef SETTP_MOVE_TEXT
    default: return "unknown error";
  }
}

enum { SETTP_MOVE_SHUFFLE = 4, SETTP_MOVE_SELECT = 1, SETTP_MOVE_TURN = 4, SETTP_MOVE_ACCESS = 1 };
enum { SETTP_MOVE_BARRIER = 32, SETTP_MOVE_WARP_BARRIER = 8, SETTP_MOVE_BANKS = 32 };

/* The state of planning. Entries first[e] to first[e + 1] - 1 of `owner` are the registers of `a` that hold element e, sorted by thread. */
typedef struct settp_move_work {
  sett_map_arena *arena;
  const sett_move_table *a, *b;
  sett_move *move;
  int threads, lanes, elements, held, parts; /* held: number of elements that `a` has */
  int none; /* the number that means "no element" in tables of this file, where the tables of the caller have -1 */
  int32_t *first, *owner; /* an entry of `owner` is thread * registers + register */
  uint64_t *lanes_of;     /* for each element, the lanes of one warp that hold it, one bit per lane */
  const int32_t *given;   /* the place of each element in shared memory, or NULL if it is not given */
  int crosses;            /* 1 if some value comes from another warp */
} settp_move_work;

SETT_INLINE int32_t *settp_move_ints(settp_move_work *work, int64_t count, int32_t value) {
  int32_t *ints = NULL;
  int64_t i;
  if (!work->move->error) ints = (int32_t *)settp_map_take(work->arena, (size_t)(count + 1) * sizeof *ints);
  if (!ints) {
    work->move->error = SETT_MOVE_ERROR_FULL;
    return NULL;
  }
  for (i = 0; i < count; ++i) ints[i] = value;
  return ints;
}

/* Return the register of `a` that holds the element in this thread, or -1. If there are several, return `wanted` if it is one of them. */
SETT_INLINE int settp_move_find(const settp_move_work *work, int thread, int32_t element, int wanted) {
  int32_t low = work->first[element], high = work->first[element + 1], end = high;
  int registers = work->a->registers, found = -1;
  while (low < high) { /* binary search of the first entry of this thread */
    int32_t middle = low + (high - low) / 2;
    if (work->owner[middle] < thread * registers) low = middle + 1;
    else high = middle;
  }
  for (; low < end && work->owner[low] < (thread + 1) * registers; ++low) {
    int reg = (int)work->owner[low] - thread * registers;
    if (found < 0 || reg == wanted) found = reg;
  }
  return found;
}

SETT_INLINE void settp_move_index(settp_move_work *work) {
  int64_t i, held = (int64_t)work->threads * work->a->registers;
  int32_t e;
  work->first = settp_move_ints(work, work->elements + 2, 0);
  work->owner = settp_move_ints(work, held, 0);
  if (work->move->error) return;
  for (i = 0; i < held; ++i)
    if (work->a->element[i] != work->none) ++work->first[work->a->element[i] + 2];
  for (e = 2; e < work->elements + 2; ++e) work->first[e] += work->first[e - 1];
  for (e = 0; e < work->elements; ++e) work->held += work->first[e + 2] > work->first[e + 1];
  for (i = 0; i < held; ++i)
    if (work->a->element[i] != work->none) work->owner[work->first[work->a->element[i] + 1]++] = (int32_t)i;
}

/* ---- registers ---- */

/* For each register of `b` in each thread, write to `held` the register of `a` that has its value in the same thread, or -1 if the value comes from
 * another thread or is missing. Return 1 if no -1 was written. If a register of `b` needs no element in a thread, `held` repeats the register of the
 * thread before: if all threads have the same register, no select is needed. */
SETT_INLINE int settp_move_hold(settp_move_work *work, int32_t *held) {
  const sett_move_table *a = work->a, *b = work->b;
  int t, r, all = 1, none = work->none;
  for (r = 0; r < b->registers; ++r) {
    int k, same = -1, last;
    /* search for one register that serves all threads; prefer the one with the same number */
    for (k = -1; k < a->registers && same < 0; ++k) {
      int reg = k < 0 ? r : k;
      if (reg >= a->registers || (a->element[reg] != b->element[r] && b->element[r] != none)) continue;
      for (t = 0; t < work->threads; ++t) {
        int32_t e = b->element[t * b->registers + r];
        if (a->element[t * a->registers + reg] != e && e != none) break;
      }
      if (t == work->threads) same = reg;
    }
    last = r < a->registers ? r : 0;
    for (t = 0; t < work->threads; ++t) {
      int32_t e = b->element[t * b->registers + r], i;
      int inside = 0, warp = t / work->lanes;
      held[t * b->registers + r] = same >= 0 ? same : e == none ? last : settp_move_find(work, t, e, r);
      if (held[t * b->registers + r] >= 0) last = held[t * b->registers + r];
      if (held[t * b->registers + r] >= 0) continue;
      all = 0;
      for (i = work->first[e]; i < work->first[e + 1] && !inside; ++i)
        inside = work->owner[i] / a->registers / work->lanes == warp;
      if (inside) continue;
      work->crosses = 1;
      if (work->first[e] < work->first[e + 1] || work->move->no) continue;
      work->move->no = 1;
      work->move->reason = "no register holds the element";
      work->move->element = e;
      work->move->thread = t;
      work->move->reg = r;
    }
  }
  return all;
}

/* ---- shuffles: in a step, each lane sends one word and receives one word ---- */

/* A word: up to four elements that one lane sends to another in one step. */
typedef struct settp_move_word {
  int16_t to, from, count, step;
  int32_t element[4];
} settp_move_word;

typedef struct settp_move_words {
  settp_move_word *word;
  int32_t *need; /* the elements that a lane lacks, each once; those of lane d begin at d * registers */
  int needs[SETT_MOVE_LANES_MAX];
  int count, steps, regular; /* regular: 1 for a regular plan (see settp_move_items) */
} settp_move_words;

/* Compute for each element which lanes of a warp hold it, one bit per lane. */
SETT_INLINE void settp_move_lanes_of(settp_move_work *work, int warp) {
  int registers = work->a->registers, i, first = warp * work->lanes;
  int32_t e;
  for (e = 0; e <= work->elements; ++e) work->lanes_of[e] = 0;
  for (i = first * registers; i < (first + work->lanes) * registers; ++i)
    if (work->a->element[i] != work->none)
      work->lanes_of[work->a->element[i]] |= (uint64_t)1 << (i / registers - first);
}

/* Return the lanes from which element e can be received; all lanes if e is `none`. */
SETT_INLINE uint64_t settp_move_may(const settp_move_work *work, int32_t e) {
  return e == work->none ? ~(uint64_t)0 : work->lanes_of[e];
}

SETT_INLINE int settp_move_owns(const settp_move_work *work, int lane, int32_t e) {
  return (int)(work->lanes_of[e] >> lane & 1);
}

/* Choose the sender of each element that a lane lacks. If a word has room for several elements, take the lane that has most of the elements still
 * lacking: these then share words. If a word holds one element, take any lane that has the element. Of equally good lanes, take the one with the
 * smallest XOR distance. */
SETT_INLINE void settp_move_pack(const settp_move_work *work, settp_move_words *words) {
  int d, lanes = work->lanes, parts = work->parts;
  words->count = 0;
  for (d = 0; d < lanes; ++d) {
    int32_t *need = words->need + d * work->b->registers;
    int left = words->needs[d];
    while (left > 0) {
      int delta, i, best = -1, most = 0, taken = 0, kept = 0;
      for (delta = 1; delta < 64 && (parts > 1 || !most); ++delta) {
        int has = 0, s = d ^ delta;
        if (s >= lanes) continue;
        for (i = 0; i < left && (parts > 1 || !has); ++i) has += settp_move_owns(work, s, need[parts > 1 ? i : 0]);
        if (has <= most) continue;
        most = has;
        best = s;
      }
      for (i = 0; i < left; ++i) {
        settp_move_word *word;
        int32_t e = need[i];
        if (best < 0 || (parts == 1 && i > 0) || !settp_move_owns(work, best, e)) {
          need[kept++] = e;
          continue;
        }
        if (taken % parts == 0) {
          word = &words->word[words->count++];
          word->to = (int16_t)d;
          word->from = (int16_t)best;
          word->count = 0;
          word->step = -1;
          for (delta = 0; delta < 4; ++delta) word->element[delta] = -1;
        }
        ++taken;
        word = &words->word[words->count - 1];
        word->element[word->count++] = e;
      }
      if (best < 0) return; /* never happens, because every element has an owner in the warp */
      left = kept;
    }
  }
}

SETT_INLINE void settp_move_degrees(const settp_move_words *words, int *in, int *out) {
  int i;
  for (i = 0; i < SETT_MOVE_LANES_MAX; ++i) in[i] = out[i] = 0;
  for (i = 0; i < words->count; ++i) {
    ++in[words->word[i].to];
    ++out[words->word[i].from];
  }
}

SETT_INLINE int settp_move_degree(const settp_move_words *words) {
  int in[SETT_MOVE_LANES_MAX], out[SETT_MOVE_LANES_MAX], i, degree = 0;
  settp_move_degrees(words, in, out);
  for (i = 0; i < SETT_MOVE_LANES_MAX; ++i) {
    if (in[i] > degree) degree = in[i];
    if (out[i] > degree) degree = out[i];
  }
  return degree;
}

/* Balance words of one element: if a lane sends more words than any lane receives, move some of them to other owners of their elements, along paths
 * of lanes. */
SETT_INLINE void settp_move_balance(const settp_move_work *work, settp_move_words *words) {
  int in[SETT_MOVE_LANES_MAX], out[SETT_MOVE_LANES_MAX], by[SETT_MOVE_LANES_MAX], queue[SETT_MOVE_LANES_MAX];
  int i, s, v, target = 0;
  settp_move_degrees(words, in, out);
  for (i = 0; i < work->lanes; ++i)
    if (in[i] > target) target = in[i];
  for (s = 0; s < work->lanes; ++s)
    while (out[s] > target) {
      int head = 0, tail = 0, end = -1;
      for (i = 0; i < work->lanes; ++i) by[i] = -1;
      by[s] = words->count;
      queue[tail++] = s;
      while (head < tail && end < 0) {
        int u = queue[head++];
        for (i = 0; i < words->count && end < 0; ++i)
          for (v = 0; v < work->lanes && words->word[i].from == u && end < 0; ++v) {
            if (by[v] >= 0 || v == words->word[i].to || !settp_move_owns(work, v, words->word[i].element[0])) continue;
            by[v] = i;
            queue[tail++] = v;
            if (out[v] < target) end = v;
          }
      }
      if (end < 0) return;
      for (v = end; v != s;) { /* go back along the path: lane v takes over a word that lane u sent */
        settp_move_word *word = &words->word[by[v]];
        int u = word->from;
        ++out[v];
        --out[u];
        word->from = (int16_t)v;
        v = u;
      }
    }
}

/* A regular plan combines the registers of `b` that need more than a copy into items, each of which fits in a word. In step s, lane d receives item s
 * XOR turn(d). Here turn(d) is the XOR of turn[i] for all bits i of d that are 1. Such a plan needs few selects. Lanes may receive words from
 * themselves. */
enum { SETTP_MOVE_TRIES = 4096 };
typedef struct settp_move_items {
  int count, parts;
  int16_t reg[SETT_MOVE_REGISTERS_MAX]; /* the register of `b` for each part of each item; index item * parts + part */
  int turn[8];
  int tries;
} settp_move_items;

/* Return the lane that can send an item to lane d, or -1 if there is none. An item is the registers of `b` that one word carries; want[] has their
 * elements. In each step, a lane sends one word: sends[4 * s + k] is the element that is already chosen for part k of lane s's word, or negative if
 * this part is free. */
SETT_INLINE int settp_move_source(const settp_move_work *work, const int32_t *want, int parts, const int32_t *sends,
                                  int d) {
  uint64_t may = ~(uint64_t)0;
  int k, delta;
  for (k = 0; k < parts; ++k) may &= settp_move_may(work, want[k]);
  for (delta = 0; delta < SETT_MOVE_LANES_MAX; ++delta) {
    int s = d ^ delta, same = 1;
    if (s >= work->lanes || !(may >> s & 1)) continue;
    for (k = 0; k < parts; ++k) same &= sends[s * 4 + k] < 0 || sends[s * 4 + k] == want[k] || want[k] == work->none;
    if (same) return s;
  }
  return -1;
}

/* Return 1 if each of lanes 0 to count - 1 finds a sender in every step. If `words` is not NULL, it receives the words that are sent. */
SETT_INLINE int settp_move_turns_fit(const settp_move_work *work, const settp_move_items *items, int warp, int count,
                                     settp_move_words *words) {
  const sett_move_table *b = work->b;
  int32_t sends[SETT_MOVE_LANES_MAX * 4], want[4] = {-1, -1, -1, -1};
  int step, d, i, k, s;
  if (words) words->count = 0;
  for (step = 0; step < items->count; ++step) {
    for (i = 0; i < SETT_MOVE_LANES_MAX * 4; ++i) sends[i] = -1;
    for (d = 0; d < count; ++d) {
      int item = step;
      for (k = 0; k < 6; ++k)
        if (d >> k & 1) item ^= items->turn[k];
      for (k = 0; k < items->parts; ++k)
        want[k] = b->element[(warp * work->lanes + d) * b->registers + items->reg[item * items->parts + k]];
      s = settp_move_source(work, want, items->parts, sends, d);
      if (s < 0) return 0;
      for (k = 0; k < items->parts; ++k)
        if (want[k] != work->none) sends[s * 4 + k] = want[k];
      if (!words) continue;
      words->word[words->count].to = (int16_t)d;
      words->word[words->count].from = (int16_t)s;
      words->word[words->count].step = (int16_t)step;
      words->word[words->count].count = (int16_t)items->parts;
      for (k = 0; k < 4; ++k) words->word[words->count].element[k] = k < items->parts ? want[k] : -1;
      ++words->count;
    }
  }
  return 1;
}

/* Find turn[i] for each bit i of the lane, the lowest bit first, such that each lane can get its item in each step. For each bit, 0 is tried first, then
 * the powers of two, then all other numbers. */
SETT_INLINE int settp_move_find_turns(const settp_move_work *work, settp_move_items *items, int warp) {
  int choice[8], k = 0, bits = 0, power = 0, i;
  while (1 << bits < work->lanes) ++bits;
  while (1 << power < items->count) ++power;
  for (i = 0; i < 8; ++i) items->turn[i] = choice[i] = 0;
  if ((items->count & (items->count - 1)) || 1 << bits != work->lanes || bits == 0)
    return settp_move_turns_fit(work, items, warp, work->lanes, NULL);
  items->tries = 0;
  while (k >= 0 && k < bits && items->tries < SETTP_MOVE_TRIES) {
    int found = 0;
    /* try 0, then the powers of two, then all other numbers */
    while (!found && choice[k] < items->count + power + 1) {
      int c = choice[k]++, turn = c == 0 ? 0 : c <= power ? 1 << (c - 1) : c - power;
      if (turn >= items->count || (c > power && (turn & (turn - 1)) == 0)) continue;
      items->turn[k] = turn;
      ++items->tries;
      found = settp_move_turns_fit(work, items, warp, 2 << k, NULL);
    }
    if (found) {
      ++k;
      if (k < bits) choice[k] = 0;
    } else {
      items->turn[k] = 0;
      --k;
    }
  }
  return k == bits;
}

/* Return 1 if every lane that needs these registers of `b` can receive all of them from a single lane. */
SETT_INLINE int settp_move_together(const settp_move_work *work, int warp, const int16_t *reg, int parts) {
  const sett_move_table *b = work->b;
  int d, k;
  for (d = 0; d < work->lanes; ++d) {
    uint64_t may = ~(uint64_t)0;
    for (k = 0; k < parts; ++k)
      may &= settp_move_may(work, b->element[(warp * work->lanes + d) * b->registers + reg[k]]);
    if (!may) return 0;
  }
  return 1;
}

/* Return 1 if there is a regular plan. `varies` lists the registers of `b` that need more than a copy. The plan must provide them. */
SETT_INLINE int settp_move_regular(const settp_move_work *work, settp_move_words *words, int warp,
                                   const int16_t *varies, int count) {
  settp_move_items items;
  unsigned char taken[SETT_MOVE_REGISTERS_MAX];
  int i, k, j;
  for (items.parts = work->parts; items.parts > 0; items.parts /= 2) {
    items.count = 0;
    if (count % items.parts) continue;
    for (i = 0; i < count; ++i) taken[i] = 0;
    for (i = 0; i < count; ++i) { /* combine each register with later registers that can come from the same lanes */
      int16_t *item = &items.reg[items.count * items.parts];
      if (taken[i]) continue;
      item[0] = varies[i];
      taken[i] = 1;
      for (k = 1, j = i + 1; k < items.parts && j < count; ++j) {
        item[k] = varies[j];
        if (taken[j] || !settp_move_together(work, warp, item, k + 1)) continue;
        taken[j] = 1;
        ++k;
      }
      if (k < items.parts) break;
      ++items.count;
    }
    if (i < count || !settp_move_find_turns(work, &items, warp)) continue;
    settp_move_turns_fit(work, &items, warp, work->lanes, words);
    words->steps = items.count;
    return 1;
  }
  return 0;
}

/* Assign steps to words by the distance of their lanes: sender XOR receiver, or, if `xor_` is 0, (sender - receiver) mod the number of lanes.
 * Words of different distances get different steps. Return 0 if this takes more than `most` steps. */
SETT_INLINE int settp_move_by_distance(const settp_move_work *work, settp_move_words *words, int xor_, int most) {
  int most_of[SETT_MOVE_LANES_MAX], seen[SETT_MOVE_LANES_MAX][SETT_MOVE_LANES_MAX], base[SETT_MOVE_LANES_MAX];
  int i, d, steps = 0;
  for (i = 0; i < SETT_MOVE_LANES_MAX; ++i) {
    most_of[i] = 0;
    for (d = 0; d < SETT_MOVE_LANES_MAX; ++d) seen[i][d] = 0;
  }
  for (i = 0; i < words->count; ++i) {
    const settp_move_word *word = &words->word[i];
    int delta = xor_ ? word->to ^ word->from : (word->from - word->to + work->lanes) % work->lanes;
    if (++seen[delta][word->to] > most_of[delta]) most_of[delta] = seen[delta][word->to];
  }
  for (i = 0; i < SETT_MOVE_LANES_MAX; ++i) {
    base[i] = steps;
    steps += most_of[i];
    for (d = 0; d < SETT_MOVE_LANES_MAX; ++d) seen[i][d] = 0;
  }
  if (steps > most) return 0;
  for (i = 0; i < words->count; ++i) {
    settp_move_word *word = &words->word[i];
    int delta = xor_ ? word->to ^ word->from : (word->from - word->to + work->lanes) % work->lanes;
    word->step = (int16_t)(base[delta] + seen[delta][word->to]++);
  }
  words->steps = steps;
  return 1;
}

/* Assign steps to words by colouring the edges of a bipartite graph of senders and receivers. The number of steps is the highest degree (König). The
 * colouring is found by alternating paths. */
SETT_INLINE void settp_move_colour(settp_move_work *work, settp_move_words *words, int degree) {
  /* index lane * degree + step: the word that the lane receives (at[0]) or sends (at[1]) in this step */
  int32_t *at[2];
  int i, side;
  at[0] = settp_move_ints(work, (int64_t)SETT_MOVE_LANES_MAX * degree, -1);
  at[1] = settp_move_ints(work, (int64_t)SETT_MOVE_LANES_MAX * degree, -1);
  if (work->move->error) return;
  words->steps = degree;
  for (i = 0; i < words->count; ++i) {
    settp_move_word *word = &words->word[i];
    int32_t *in = at[0] + word->to * degree, *out = at[1] + word->from * degree;
    int k, both = -1, free_in = -1, free_out = -1;
    for (k = 0; k < degree && both < 0; ++k) {
      if (in[k] < 0 && free_in < 0) free_in = k;
      if (out[k] < 0 && free_out < 0) free_out = k;
      if (in[k] < 0 && out[k] < 0) both = k;
    }
    /* the receiver is free in step `free_in`, but the sender is not: exchange the steps `free_in` and `free_out` along the alternating path that
     * starts with the sender's word in step `free_in` */
    if (both < 0) {
      int lane = word->from, step = free_in, other = free_out;
      int32_t edge = at[1][lane * degree + step];
      both = free_in;
      at[1][lane * degree + step] = -1;
      /* give this edge the step `other`, then continue at the edge's far end */
      for (side = 0; edge >= 0; side = !side) {
        int far_end = side ? words->word[edge].from : words->word[edge].to;
        int32_t next = at[side][far_end * degree + other];
        int near_end = side ? words->word[edge].to : words->word[edge].from;
        at[!side][near_end * degree + other] = edge;
        at[side][far_end * degree + other] = edge;
        if (at[side][far_end * degree + step] == edge) at[side][far_end * degree + step] = -1;
        words->word[edge].step = (int16_t)other;
        k = step;
        step = other;
        other = k;
        edge = next;
      }
    }
    word->step = (int16_t)both;
    in[both] = i;
    out[both] = i;
  }
}

/* Plan the words that consist of one element. Several lanes can receive such a word at once. In each step, a lane sends the element that most waiting
 * lanes need. */
SETT_INLINE void settp_move_broadcast(settp_move_work *work, settp_move_words *words, int most) {
  int32_t *wants = settp_move_ints(work, work->elements, 0);
  int i, left = words->count, step;
  if (work->move->error) return;
  for (i = 0; i < words->count; ++i) words->word[i].step = -1;
  for (step = 0; left > 0 && step < most; ++step) {
    uint64_t served = 0, sending = 0;
    for (;;) {
      int best = -1, lane = -1, s;
      for (i = 0; i < words->count; ++i) wants[words->word[i].element[0]] = 0;
      for (i = 0; i < words->count; ++i) {
        const settp_move_word *word = &words->word[i];
        if (word->step >= 0 || (served >> word->to & 1)) continue;
        ++wants[word->element[0]];
      }
      for (i = 0; i < words->count; ++i) {
        const settp_move_word *word = &words->word[i];
        int32_t e = word->element[0];
        if (word->step >= 0 || (served >> word->to & 1) ||
            (best >= 0 && wants[e] <= wants[words->word[best].element[0]]))
          continue;
        for (s = 0; s < work->lanes; ++s)
          if (!(sending >> s & 1) && settp_move_owns(work, s, e)) break;
        if (s == work->lanes) continue;
        best = i;
        lane = s;
      }
      if (best < 0) break;
      sending |= (uint64_t)1 << lane;
      for (i = 0; i < words->count; ++i) {
        settp_move_word *word = &words->word[i];
        if (word->step >= 0 || (served >> word->to & 1) || word->element[0] != words->word[best].element[0]) continue;
        word->step = (int16_t)step;
        word->from = (int16_t)lane;
        served |= (uint64_t)1 << word->to;
        --left;
      }
    }
  }
  if (left == 0) words->steps = step;
}

/* Copy the steps of one warp into the plan of all warps. */
SETT_INLINE void settp_move_write(const settp_move_work *work, const settp_move_words *words, int warp, int32_t *lane,
                                  int32_t *sent, int32_t *got) {
  const sett_move_table *b = work->b;
  int i, k, r;
  for (i = 0; i < words->count; ++i) {
    const settp_move_word *word = &words->word[i];
    int from = warp * work->lanes + word->from, to = warp * work->lanes + word->to;
    lane[word->step * work->threads + to] = word->from;
    for (k = 0; k < word->count; ++k) {
      int place = word->step * work->parts + k;
      if (word->element[k] == work->none) continue;
      sent[place * work->threads + from] = settp_move_find(work, from, word->element[k], -1);
      for (r = 0; r < b->registers; ++r)
        if (b->element[to * b->registers + r] == word->element[k]) got[to * b->registers + r] = place;
    }
  }
}

/* Return a lower bound on the number of steps of any plan for this warp. A lane receives at most one word per step, and must receive all elements that
 * it lacks. A lane sends at most one word per step. It must send each element that it alone has and another lane lacks. */
SETT_INLINE int settp_move_bound(settp_move_work *work, const settp_move_words *words, int warp) {
  int32_t *wanted = settp_move_ints(work, work->elements, 0);
  int alone[SETT_MOVE_LANES_MAX], d, i, bound = 0, parts = work->parts;
  if (work->move->error) return 0;
  for (d = 0; d < work->lanes; ++d) {
    alone[d] = 0;
    if ((words->needs[d] + parts - 1) / parts > bound) bound = (words->needs[d] + parts - 1) / parts;
  }
  for (d = 0; d < work->lanes; ++d)
    for (i = 0; i < words->needs[d]; ++i) {
      int32_t e = words->need[d * work->b->registers + i], at;
      int owner = -1, several = 0;
      if (wanted[e]) continue;
      wanted[e] = 1;
      for (at = work->first[e]; at < work->first[e + 1]; ++at) {
        int t = (int)work->owner[at] / work->a->registers;
        if (t / work->lanes != warp) continue;
        several |= owner >= 0 && owner != t % work->lanes;
        owner = t % work->lanes;
      }
      if (owner >= 0 && !several) ++alone[owner];
    }
  for (d = 0; d < work->lanes; ++d)
    if ((alone[d] + parts - 1) / parts > bound) bound = (alone[d] + parts - 1) / parts;
  return bound;
}

/* Return 1 if register r of `b` has the same source register in all threads. */
SETT_INLINE int settp_move_uniform(const settp_move_work *work, const int32_t *held, int r) {
  int t, registers = work->b->registers;
  for (t = 0; t < work->threads; ++t)
    if (held[t * registers + r] < 0 || held[t * registers + r] != held[r]) return 0;
  return 1;
}

/* Write to varies[] those registers of `b` for which it is not enough to copy one register of the same thread. A register with the same values as an
 * earlier one is left out. Return the number of registers written. */
SETT_INLINE int settp_move_varying(const settp_move_work *work, const int32_t *held, int16_t *varies) {
  const sett_move_table *b = work->b;
  int r, i, t, count = 0;
  for (r = 0; r < b->registers; ++r) {
    int copy = 0;
    if (settp_move_uniform(work, held, r)) continue;
    for (i = 0; i < count && !copy; ++i) {
      for (t = 0; t < work->threads; ++t)
        if (b->element[t * b->registers + varies[i]] != b->element[t * b->registers + r]) break;
      copy = t == work->threads;
    }
    if (!copy) varies[count++] = (int16_t)r;
  }
  return count;
}

/* Plan the words of one warp, in the fewest steps that the methods find. */
SETT_INLINE void settp_move_warp(settp_move_work *work, settp_move_words *words, int warp, const int16_t *varies,
                                 int count) {
  sett_map_mark mark = sett_map_arena_mark(work->arena);
  settp_move_words other = *words;
  int degree, bound, i, parts = work->parts, better;
  size_t room = (size_t)work->lanes * (size_t)work->b->registers;
  bound = settp_move_bound(work, words, warp);
  if (bound > work->move->least) work->move->least = bound;
  other.word = (settp_move_word *)settp_map_take(work->arena, room * sizeof *other.word);
  if (!other.word) {
    work->move->error = SETT_MOVE_ERROR_FULL;
    return;
  }
  settp_move_pack(work, words);
  if (parts == 1) settp_move_balance(work, words);
  degree = settp_move_degree(words);
  better = settp_move_regular(work, &other, warp, varies, count) && other.steps <= degree;
  words->regular = better;
  if (!better && !settp_move_by_distance(work, words, 1, degree) && !settp_move_by_distance(work, words, 0, degree))
    settp_move_colour(work, words, degree);
  /* too many lanes need elements of one lane: try a broadcast */
  if (!better && parts == 1 && degree > bound && !work->move->error) {
    other.count = words->count;
    other.steps = words->steps;
    for (i = 0; i < words->count; ++i) other.word[i] = words->word[i];
    settp_move_broadcast(work, &other, degree - 1);
    better = other.steps < words->steps;
  }
  if (better) {
    words->steps = other.steps;
    words->count = other.count;
    for (i = 0; i < words->count; ++i) words->word[i] = other.word[i];
  }
  sett_map_arena_rewind(work->arena, mark);
}

/* Plan the move by shuffles, unless a value comes from another warp. */
SETT_INLINE void settp_move_shuffle(settp_move_work *work, const int32_t *held) {
  const sett_move_table *b = work->b;
  sett_move *move = work->move;
  int warp, d, r, i, k, count, most = 0, threads = work->threads, parts = work->parts;
  int64_t room = (int64_t)threads * b->registers;
  int32_t *lane, *sent, *got, *own;
  int16_t varies[SETT_MOVE_REGISTERS_MAX];
  unsigned char uniform[SETT_MOVE_REGISTERS_MAX];
  settp_move_words *all = (settp_move_words *)settp_map_take(work->arena, (size_t)b->warps * sizeof *all);
  work->lanes_of = (uint64_t *)settp_map_take(work->arena, (size_t)(work->elements + 1) * sizeof *work->lanes_of);
  if (!all || !work->lanes_of) {
    move->error = SETT_MOVE_ERROR_FULL;
    return;
  }
  count = settp_move_varying(work, held, varies);
  for (warp = 0; warp < b->warps && !move->error; ++warp) {
    settp_move_words *words = &all[warp];
    words->need = settp_move_ints(work, (int64_t)work->lanes * b->registers, -1);
    words->word = (settp_move_word *)settp_map_take(work->arena,
                                                    (size_t)work->lanes * (size_t)b->registers * sizeof *words->word);
    if (!words->word || !words->need) {
      move->error = SETT_MOVE_ERROR_FULL;
      return;
    }
    words->count = words->steps = 0;
    settp_move_lanes_of(work, warp);
    for (d = 0; d < work->lanes; ++d) {
      int32_t *need = words->need + d * b->registers;
      words->needs[d] = 0;
      for (r = 0; r < b->registers; ++r) {
        int32_t e = b->element[(warp * work->lanes + d) * b->registers + r];
        if (held[(warp * work->lanes + d) * b->registers + r] >= 0) continue;
        for (i = 0; i < words->needs[d] && need[i] != e; ++i) continue;
        if (i == words->needs[d]) need[words->needs[d]++] = e;
      }
    }
    settp_move_warp(work, words, warp, varies, count);
    if (words->steps > most) most = words->steps;
  }
  if (move->error) return;
  lane = settp_move_ints(work, (int64_t)most * threads, 0);
  sent = settp_move_ints(work, (int64_t)most * parts * threads, -1);
  got = settp_move_ints(work, room, -1);
  own = settp_move_ints(work, room, -1);
  if (move->error) return;
  for (i = 0; i < most; ++i)
    for (k = 0; k < threads; ++k) lane[i * threads + k] = k % work->lanes;
  for (warp = 0; warp < b->warps; ++warp) settp_move_write(work, &all[warp], warp, lane, sent, got);
  for (r = 0; r < b->registers; ++r) uniform[r] = (unsigned char)settp_move_uniform(work, held, r);
  /* a regular plan also moves values that are already in the thread (held), except to registers that all threads copy from the same register */
  for (i = 0; i < room; ++i) {
    int regular = all[i / b->registers / work->lanes].regular && !uniform[i % b->registers];
    own[i] = got[i] >= 0 && regular ? -1 : held[i];
    if (own[i] >= 0) got[i] = -1;
  }
  move->held = own;
  move->steps = most;
  move->shuffles = most * (move->bits > 32 ? 2 : 1);
  move->least *= move->bits > 32 ? 2 : 1;
  move->lane = lane;
  move->sent = sent;
  move->got = got;
}

/* ---- shared memory ---- */

/* A candidate for the places of elements in shared memory: row-major with dimension `order` last, then padding or a swizzle. */
typedef struct settp_move_places {
  int given; /* 1 if the caller gave the place of each element in shared memory */
  int order, padding, every, swizzle[3];
  int64_t bytes, turns, conflicts;
  int stores, loads;
} settp_move_places;

typedef struct settp_move_shared {
  int32_t *row;                /* the row-major number of each element if dimension `order` is the contiguous one */
  int32_t *place;              /* the place of each element: its number in `row`, after padding or a swizzle */
  unsigned char *written;      /* 1 for each element that an earlier access has stored */
  const unsigned char *wanted; /* 1 for each element that is loaded */
  const unsigned char *loaded; /* 1 for each register of `b` that is loaded */
  int copies;                  /* 1 if some element is in several registers of `a` */
  int32_t
      *slot; /* for each place in shared memory, the register of thread 0 that holds the element of this place, or -1 */
  sett_move_access *access[2];
  int *regs[2];
  int32_t *places[2]; /* the places of all accesses for stores and loads; NULL while candidates are compared */
} settp_move_shared;

/* Number the elements of `a` in row-major order, with dimension `order` as the contiguous one. An element that `a` does not have gets -1. Return the
 * number of elements in the first row. `spare` is memory for one number per element. */
SETT_INLINE int settp_move_order(const settp_move_work *work, int order, int32_t *row, int32_t *spare) {
  const sett_move_table *a = work->a;
  int64_t at[SETT_MOVE_DIMS];
  int32_t e, number, count = 0, line = -1;
  int d, size = 0, last = a->rank > 0 ? (int)a->dims[order] : 1;
  for (d = 0; d < a->rank; ++d) at[d] = 0;
  for (e = 0; e < work->elements; ++e) {
    for (d = 0, number = 0; d < a->rank; ++d)
      if (d != order) number = number * (int32_t)a->dims[d] + (int32_t)at[d];
    if (a->rank > 0) number = number * last + (int32_t)at[order];
    spare[number] = e;
    for (d = a->rank; d-- > 0;) {
      if (++at[d] < a->dims[d]) break;
      at[d] = 0;
    }
  }
  for (number = 0; number < work->elements; ++number) {
    e = spare[number];
    row[e] = work->first[e] < work->first[e + 1] ? count++ : -1;
    if (row[e] < 0) continue;
    if (line < 0) line = number / last;
    size += number / last == line;
  }
  return size;
}

/* Compute the place of each element in shared memory for a candidate, and return the number of places. */
SETT_INLINE int64_t settp_move_place(const settp_move_work *work, const settp_move_places *c, const int32_t *row,
                                     int32_t *place) {
  int32_t e, mask = ((1 << c->swizzle[0]) - 1) << c->swizzle[1], last = 0;
  for (e = 0; e < work->elements; ++e) {
    int32_t p = c->given && row[e] >= 0 ? work->given[e] : row[e];
    if (p < 0) continue;
    if (c->padding) p += p / c->every * c->padding;
    if (c->swizzle[0]) p ^= p >> c->swizzle[2] & mask;
    place[e] = p;
    if (p > last) last = p;
  }
  return (int64_t)last + 1;
}

/* Return the number of turns (passes over the banks of shared memory) that one access by a group of lanes of one warp takes. The access of lane i
 * begins at byte bytes[i]. */
SETT_INLINE int settp_move_turns(const int64_t *bytes, int count, int width) {
  int64_t seen[SETT_MOVE_LANES_MAX * 4];
  int bank_of[SETTP_MOVE_BANKS], i, k, j, n = 0, turns = 0;
  for (i = 0; i < SETTP_MOVE_BANKS; ++i) bank_of[i] = 0;
  for (i = 0; i < count; ++i)
    for (k = 0; k < (width + 3) / 4; ++k) {
      int64_t word = bytes[i] / 4 + k;
      int bank = (int)(word % SETTP_MOVE_BANKS);
      for (j = 0; j < n && seen[j] != word; ++j) continue;
      if (j < n) continue;
      seen[n++] = word;
      if (++bank_of[bank] > turns) turns = bank_of[bank];
    }
  return turns;
}

/* Count the stores of `a` (side 0) or the loads of `b` (side 1). Add their turns (passes over the banks of shared memory) and conflicts to the numbers
 * of the candidate. Return the number of accesses. */
SETT_INLINE int settp_move_side(const settp_move_work *work, settp_move_shared *shared, settp_move_places *c,
                                int side) {
  const sett_move_table *table = side ? work->b : work->a;
  const int32_t *place = shared->place;
  int registers = table->registers, threads = work->threads, bits = work->move->bits, widest = 128 / bits;
  int accesses = 0, used = 0, r, i, t, v;
  unsigned char taken[SETT_MOVE_REGISTERS_MAX];
  for (r = 0; r < registers; ++r) {
    taken[r] = side ? !shared->loaded[r] : 1;
    for (t = 0; t < threads && !side && taken[r]; ++t) taken[r] = !shared->wanted[table->element[t * registers + r]];
  }
  for (r = registers; r-- > 0;)
    if (!taken[r] && table->element[r] != work->none)
      shared->slot[place[table->element[r]]] = r; /* if the element has several copies, use the first */
  for (v = widest; v > 0; v /= 2)
    for (r = 0; r < registers; ++r) {
      int *regs = shared->regs[side] + used, good;
      int32_t at = table->element[r] == work->none ? 0 : place[table->element[r]];
      sett_move_access *access = &shared->access[side][accesses];
      if (taken[r] || at % v || (v > 1 && table->element[r] == work->none)) continue;
      regs[0] = r;
      for (i = 1; i < v; ++i) {
        regs[i] = shared->slot[at + i];
        if (regs[i] < 0 || taken[regs[i]]) break;
      }
      good = i == v;
      for (t = 1; t < threads && good; ++t) {
        const int32_t *element = table->element + t * registers;
        int nones = 0;
        for (i = 0; i < v; ++i) nones += element[regs[i]] == work->none;
        if (nones == v) continue;
        at = place[element[r]];
        good = nones == 0 && at % v == 0;
        for (i = 1; i < v && good; ++i) good = place[element[regs[i]]] == at + i;
      }
      if (!good) continue;
      for (i = 0; i < v; ++i) taken[regs[i]] = 1;
      access->count = v;
      access->reg = regs;
      access->place = shared->places[side] ? shared->places[side] + (int64_t)accesses * threads : NULL;
      used += v;
      ++accesses;
    }
  for (r = 0; r < registers; ++r)
    if (table->element[r] != work->none) shared->slot[place[table->element[r]]] = -1;
  for (i = 0; i < accesses; ++i) {
    const sett_move_access *access = &shared->access[side][i];
    int width = access->count * bits / 8, group = width <= 4 ? 32 : 128 / width, k, lane;
    int64_t bytes[SETT_MOVE_LANES_MAX];
    for (t = 0; t < threads; t += lane) {
      int active = 0, end = work->lanes - t % work->lanes;
      for (lane = 0; lane < group && lane < end; ++lane) {
        const int32_t *element = table->element + (t + lane) * registers;
        int some = element[access->reg[0]] != work->none, takes = some && (side || !shared->copies);
        for (k = 0; k < access->count && some && !takes; ++k)
          takes = shared->wanted[element[access->reg[k]]] && !shared->written[element[access->reg[k]]];
        if (takes && !side && shared->copies)
          for (k = 0; k < access->count; ++k) shared->written[element[access->reg[k]]] = 1;
        if (access->place) access->place[t + lane] = takes ? place[element[access->reg[0]]] : -1;
        if (takes) bytes[active++] = (int64_t)place[element[access->reg[0]]] * bits / 8;
      }
      k = settp_move_turns(bytes, active, width);
      c->turns += k;
      c->conflicts += k > 1 ? k - 1 : 0;
    }
  }
  return accesses;
}

SETT_INLINE int settp_move_shared_cost(const settp_move_work *work, const settp_move_places *c) {
  return (int)((c->turns * SETTP_MOVE_TURN + work->b->warps - 1) / work->b->warps) +
         (c->stores + c->loads) * SETTP_MOVE_ACCESS + (work->crosses ? SETTP_MOVE_BARRIER : SETTP_MOVE_WARP_BARRIER);
}

/* Compute the cost of the candidate. Copy the candidate to *best if it is cheaper, or equally cheap with fewer bytes. */
SETT_INLINE void settp_move_try(const settp_move_work *work, settp_move_shared *shared, const settp_move_places *tried,
                                settp_move_places *best) {
  settp_move_places c = *tried;
  int64_t count = settp_move_place(work, &c, shared->row, shared->place);
  int e, better;
  for (e = 0; e < work->elements && shared->copies; ++e) shared->written[e] = 0;
  c.bytes = (count * work->move->bits / 8 + 15) / 16 * 16;
  c.turns = c.conflicts = 0;
  c.stores = settp_move_side(work, shared, &c, 0);
  c.loads = settp_move_side(work, shared, &c, 1);
  better = best->bytes < 0 || settp_move_shared_cost(work, &c) < settp_move_shared_cost(work, best);
  if (better || (c.bytes < best->bytes && settp_move_shared_cost(work, &c) == settp_move_shared_cost(work, best)))
    *best = c;
}

/* Find the cheapest places in shared memory for the elements. The candidates are: no padding, padded rows and swizzles, each with every dimension in
 * turn as the contiguous one; and the places that the caller gave, if any. */
SETT_INLINE void settp_move_search(const settp_move_work *work, settp_move_shared *shared, settp_move_places *best) {
  settp_move_places c;
  const sett_move_table *a = work->a;
  int order, bits = work->move->bits, banks = 8 * SETTP_MOVE_BANKS * 4 / bits;
  int fewest = (a->registers * bits + 127) / 128 + (work->b->registers * bits + 127) / 128;
  c.bytes = c.turns = c.conflicts = 0;
  c.given = c.stores = c.loads = 0;
  best->bytes = -1;
  for (order = a->rank - 1; order >= 0 || (a->rank == 0 && order == -1); --order) {
    int row, low, wide, shift, k;
    row = settp_move_order(work, order, shared->row, shared->place);
    if (order < a->rank - 1 && row == 1) continue;
    c.order = order;
    c.padding = 0;
    c.every = 1;
    c.swizzle[0] = c.swizzle[1] = c.swizzle[2] = 0;
    settp_move_try(work, shared, &c, best);
    if (best->conflicts == 0 && best->stores + best->loads <= fewest) return;
    for (k = 0; k < 2; ++k) { /* first try padding after each row, then padding after every 128 bytes */
      c.every = k ? banks : row;
      if ((k && row == banks) || c.every >= work->held || c.every * bits < 128) continue;
      for (c.padding = 1; c.padding * bits <= 128 || c.padding == 1; c.padding *= 2)
        if (c.padding * bits >= 8) settp_move_try(work, shared, &c, best);
    }
    c.padding = 0;
    for (low = 0; 1 << low <= 128 / bits; ++low)
      for (wide = 1; 1 << (low + wide) <= banks && 1 << (low + wide) <= work->held; ++wide)
        for (shift = wide; shift < 20 && 1 << (low + shift) < work->held; ++shift) {
          if (work->held % (1 << (low + wide))) continue;
          c.swizzle[0] = wide;
          c.swizzle[1] = low;
          c.swizzle[2] = shift;
          settp_move_try(work, shared, &c, best);
        }
  }
  if (work->given) {
    c.given = 1;
    c.order = a->rank - 1;
    c.padding = 0;
    c.every = 1;
    c.swizzle[0] = c.swizzle[1] = c.swizzle[2] = 0;
    settp_move_try(work, shared, &c, best);
  }
}

SETT_INLINE void settp_move_share(settp_move_work *work, const int32_t *held) {
  const sett_move_table *a = work->a, *b = work->b;
  sett_move *move = work->move;
  settp_move_shared shared;
  settp_move_places best;
  unsigned char *wanted, *loaded;
  int r, t, side, e;
  int64_t room = (int64_t)work->elements * 2 + 4096;
  shared.row = settp_move_ints(work, work->elements, 0);
  shared.place = settp_move_ints(work, work->elements, 0);
  shared.slot = settp_move_ints(work, room, -1);
  shared.written = (unsigned char *)settp_move_ints(work, work->elements / 4 + 1, 0);
  wanted = (unsigned char *)settp_move_ints(work, work->elements / 4 + 1, 0);
  loaded = (unsigned char *)settp_move_ints(work, b->registers / 4 + 1, 0);
  for (side = 0; side < 2; ++side) {
    int registers = side ? b->registers : a->registers;
    shared.access[side] = (sett_move_access *)settp_map_take(work->arena, (size_t)registers * sizeof(sett_move_access));
    shared.regs[side] = (int *)settp_map_take(work->arena, (size_t)registers * 2 * sizeof(int) + 64 * sizeof(int));
    shared.places[side] = NULL;
    if (!shared.access[side] || !shared.regs[side]) move->error = SETT_MOVE_ERROR_FULL;
  }
  if (move->error) return;
  /* a value that all threads have in the same register does not go through memory */
  for (r = 0; r < b->registers; ++r) {
    int same = settp_move_uniform(work, held, r);
    loaded[r] = (unsigned char)!same;
    for (t = 0; t < work->threads && !same; ++t)
      if (b->element[t * b->registers + r] != work->none) wanted[b->element[t * b->registers + r]] = 1;
  }
  shared.wanted = wanted;
  shared.loaded = loaded;
  shared.copies = 0;
  for (e = 0; e < work->elements; ++e) shared.copies |= work->first[e + 1] - work->first[e] > 1 || !wanted[e];
  settp_move_search(work, &shared, &best);
  for (side = 0; side < 2; ++side)
    shared.places[side] = settp_move_ints(work, (int64_t)(side ? b->registers : a->registers) * work->threads, -1);
  if (move->error) return;
  settp_move_order(work, best.order, shared.row, shared.place);
  {
    settp_move_places last = best;
    last.bytes = -1;
    settp_move_try(work, &shared, &best, &last);
    best = last;
  }
  move->bytes = best.bytes;
  move->barriers = work->crosses;
  move->stores = best.stores;
  move->loads = best.loads;
  move->turns = best.turns;
  move->conflicts = best.conflicts;
  move->given = best.given;
  move->order = best.order;
  move->padding = best.padding;
  move->every = best.every;
  for (r = 0; r < 3; ++r) move->swizzle[r] = best.swizzle[r];
  move->store = shared.access[0];
  move->load = shared.access[1];
}

/* ---- text ---- */

/* A text of any length. All characters are counted, and those that fit are written. Tables must stand before the function that reads them. So the
 * function is generated twice: pass 0 writes only the tables, pass 1 everything else. */
typedef struct settp_move_text {
  char *out;
  size_t capacity, length;
  const sett_move *move;
  const char *name;
  int form, tables, pass; /* pass 0 writes the tables, pass 1 everything else */
  int selects;
} settp_move_text;

SETT_INLINE void settp_move_char(settp_move_text *text, int pass, char c) {
  if (pass != text->pass) return;
  if (text->length + 1 < text->capacity) text->out[text->length] = c;
  ++text->length;
}

SETT_INLINE void settp_move_say(settp_move_text *text, int pass, const char *more) {
  while (*more) settp_move_char(text, pass, *more++);
}

SETT_INLINE void settp_move_number(settp_move_text *text, int pass, uint64_t value) {
  char digits[24];
  int n = 0;
  do digits[n++] = (char)('0' + value % 10);
  while (value /= 10);
  while (n > 0) settp_move_char(text, pass, digits[--n]);
}

SETT_INLINE void settp_move_hex(settp_move_text *text, int pass, uint64_t value) {
  int digit = 60;
  settp_move_say(text, pass, "0x");
  while (digit > 0 && value >> digit == 0) digit -= 4;
  for (; digit >= 0; digit -= 4) settp_move_char(text, pass, "0123456789abcdef"[value >> digit & 15]);
}

/* Write a line in which %d is replaced by a number and %s by a word. */
SETT_INLINE void settp_move_line(settp_move_text *text, const char *line, const char *words, int64_t a, int64_t b,
                                 int64_t c) {
  int n = 0;
  for (; *line; ++line) {
    if (line[0] == '%' && line[1] == 'd') {
      settp_move_number(text, 1, (uint64_t)(n == 0 ? a : n == 1 ? b : c));
      ++n;
      ++line;
    } else if (line[0] == '%' && line[1] == 's') {
      settp_move_say(text, 1, words);
      ++line;
    } else {
      settp_move_char(text, 1, *line);
    }
  }
}

SETT_INLINE int settp_move_threads(const sett_move *move) { return move->lanes * move->warps; }

/* Write a table of numbers that is indexed by the thread or the lane, and write the expression that reads it into the code of the function. */
SETT_INLINE void settp_move_table_text(settp_move_text *text, const uint64_t *value, int count, const char *type,
                                       const char *by) {
  int i;
  settp_move_say(text, 0, text->form == SETT_MOVE_CUDA ? "static __device__ const " : "static const ");
  settp_move_say(text, 0, type);
  settp_move_char(text, 0, ' ');
  settp_move_say(text, 0, text->name);
  settp_move_char(text, 0, '_');
  settp_move_number(text, 0, (uint64_t)text->tables);
  settp_move_char(text, 0, '[');
  settp_move_number(text, 0, (uint64_t)count);
  settp_move_say(text, 0, "] = {");
  for (i = 0; i < count; ++i) {
    if (i > 0) settp_move_say(text, 0, i % 16 ? ", " : ",\n    ");
    settp_move_number(text, 0, value[i]);
    if (value[i] > 0xffffffffu) settp_move_say(text, 0, "ull");
    else if (value[i] > 0x7fffffffu) settp_move_char(text, 0, 'u');
  }
  settp_move_say(text, 0, "};\n");
  settp_move_say(text, 1, text->name);
  settp_move_char(text, 1, '_');
  settp_move_number(text, 1, (uint64_t)text->tables++);
  settp_move_char(text, 1, '[');
  settp_move_say(text, 1, by);
  settp_move_char(text, 1, ']');
}

/* Write a C expression that equals value[i] where `variable` is i, for i < count. It is the XOR of a constant and, for each bit of the variable that is
 * 1, of one number. Return 0, and write nothing, if there is no such expression or `count` is no power of two. */
SETT_INLINE int settp_move_bits(settp_move_text *text, const int32_t *value, int count, const char *variable) {
  int bits = 0, i, terms = 0;
  int32_t basis[16], constant = value[0];
  while (bits < 16 && 1 << bits < count) ++bits;
  if (1 << bits != count) return 0;
  for (i = 0; i < bits; ++i) basis[i] = value[1 << i] ^ constant;
  for (i = 0; i < count; ++i) {
    int32_t x = constant;
    int k;
    for (k = 0; k < bits; ++k)
      if (i >> k & 1) x ^= basis[k];
    if (x != value[i]) return 0;
  }
  for (i = 0; i < bits;) {
    int run = 1, single = (basis[i] & (basis[i] - 1)) == 0, low = 0;
    if (basis[i] == 0) {
      ++i;
      continue;
    }
    while (single && i + run < bits && basis[i + run] == basis[i] << run) ++run;
    while (!(basis[i] >> low & 1)) ++low;
    if (terms++) settp_move_say(text, 1, " ^ ");
    if (run == bits && single && low == 0) {
      settp_move_say(text, 1, variable);
    } else if (single) {
      int shifted = low != i;
      settp_move_say(text, 1, shifted ? "((" : "(");
      settp_move_say(text, 1, variable);
      settp_move_say(text, 1, " & ");
      settp_move_number(text, 1, (uint64_t)((1 << run) - 1) << i);
      settp_move_say(text, 1, "u)");
      if (shifted) {
        settp_move_say(text, 1, low > i ? " << " : " >> ");
        settp_move_number(text, 1, (uint64_t)(low > i ? low - i : i - low));
        settp_move_char(text, 1, ')');
      }
    } else {
      settp_move_say(text, 1, "(");
      settp_move_say(text, 1, variable);
      settp_move_say(text, 1, " >> ");
      settp_move_number(text, 1, (uint64_t)i);
      settp_move_say(text, 1, " & 1u) * ");
      settp_move_number(text, 1, (uint64_t)basis[i]);
      settp_move_say(text, 1, "u");
    }
    i += run;
  }
  if (constant || !terms) {
    if (terms) settp_move_say(text, 1, " ^ ");
    settp_move_number(text, 1, (uint64_t)constant);
    settp_move_char(text, 1, 'u');
  }
  return 1;
}

/* Write a C expression that equals given[t] in thread t. It computes the number from the lane or thread number (settp_move_bits), or reads it from a
 * table. Where given[t] is negative, the value does not matter. */
SETT_INLINE void settp_move_value(settp_move_text *text, const int32_t *given) {
  int32_t value[SETT_MOVE_THREADS_MAX];
  uint64_t wide[SETT_MOVE_THREADS_MAX];
  int threads = settp_move_threads(text->move), lanes = text->move->lanes, t, of_lane = 1, bytes_do = 1;
  value[0] = 0;
  for (t = 0; t < threads; ++t) value[t] = given[t] < 0 ? 0 : given[t];
  for (t = 0; t < threads; ++t) {
    of_lane &= value[t] == value[t % lanes];
    bytes_do &= value[t] < 256;
    wide[t] = (uint64_t)value[t];
  }
  if (of_lane && settp_move_bits(text, value, lanes, "lane")) return;
  if (!of_lane && settp_move_bits(text, value, threads, "t")) return;
  settp_move_table_text(text, wide, of_lane ? lanes : threads, bytes_do ? "unsigned char" : "unsigned",
                        of_lane ? "lane" : "t");
}

/* Write the C condition that is true for the threads of a set. */
SETT_INLINE void settp_move_condition(settp_move_text *text, const unsigned char *in) {
  uint64_t mask[SETT_MOVE_THREADS_MAX];
  int lanes = text->move->lanes, warps = text->move->warps, t, k, same = 1;
  uint64_t every = lanes == 64 ? ~(uint64_t)0 : ((uint64_t)1 << lanes) - 1;
  for (t = 0; t < warps; ++t) mask[t] = 0;
  for (t = 0; t < lanes * warps; ++t)
    if (in[t]) mask[t / lanes] |= (uint64_t)1 << t % lanes;
  for (t = 1; t < warps; ++t) same &= mask[t] == mask[0];
  /* test if one bit of the lane number decides which lanes are in the set */
  for (k = 0; same && 1 << k < lanes; ++k) {
    uint64_t bit = 0;
    for (t = 0; t < lanes; ++t)
      if (t >> k & 1) bit |= (uint64_t)1 << t;
    if (mask[0] != bit && mask[0] != (every & ~bit)) continue;
    settp_move_say(text, 1, mask[0] == bit ? "(lane & " : "!(lane & ");
    settp_move_number(text, 1, (uint64_t)1 << k);
    settp_move_say(text, 1, "u)");
    return;
  }
  settp_move_char(text, 1, '(');
  if (same) {
    settp_move_hex(text, 1, mask[0]);
    settp_move_say(text, 1, lanes > 32 ? "ull" : "u");
  } else {
    settp_move_table_text(text, mask, warps, lanes > 32 ? "unsigned long long" : "unsigned", "warp");
  }
  settp_move_say(text, 1, " >> lane & 1)");
}

/* Write the name of a register of `a` or `b`, such as a[3]. In C, the thread t is the first index: a[t][3]. */
SETT_INLINE void settp_move_register(settp_move_text *text, char array, int reg) {
  settp_move_char(text, 1, array);
  if (text->form == SETT_MOVE_C) settp_move_say(text, 1, "[t]");
  settp_move_char(text, 1, '[');
  settp_move_number(text, 1, (uint64_t)reg);
  settp_move_char(text, 1, ']');
}

/* Write the register of `a` that each thread needs: one register, or selects between several. Thread t needs register reg[t]; if that is negative,
 * any register will do. */
SETT_INLINE void settp_move_choose(settp_move_text *text, const int32_t *reg) {
  unsigned char in[SETT_MOVE_THREADS_MAX], done[SETT_MOVE_REGISTERS_MAX];
  int threads = settp_move_threads(text->move), t, last = -1, kinds = 0;
  int32_t list[SETT_MOVE_REGISTERS_MAX];
  for (t = 0; t < text->move->from; ++t) done[t] = 0;
  for (t = 0; t < threads; ++t)
    if (reg[t] >= 0 && !done[reg[t]]) {
      done[reg[t]] = 1;
      list[kinds++] = reg[t];
    }
  if (kinds == 0) list[kinds++] = 0;
  for (last = 0; last + 1 < kinds; ++last) {
    for (t = 0; t < threads; ++t) in[t] = reg[t] == list[last];
    settp_move_condition(text, in);
    settp_move_say(text, 1, " ? ");
    settp_move_register(text, 'a', list[last]);
    settp_move_say(text, 1, " : ");
    ++text->selects;
  }
  settp_move_register(text, 'a', list[last]);
}

/* In C, write the beginning of a loop over all threads. CUDA needs none. */
SETT_INLINE void settp_move_open(settp_move_text *text) {
  int lanes = text->move->lanes;
  if (text->form != SETT_MOVE_C) return;
  settp_move_line(text, "  for (t = 0; t < %du; ++t) {\n", "", settp_move_threads(text->move), 0, 0);
  settp_move_line(text, "    const unsigned lane = t % %du, warp = t / %du;\n", "", lanes, lanes, 0);
  settp_move_say(text, 1, "    (void)lane;\n    (void)warp;\n");
}

SETT_INLINE void settp_move_close(settp_move_text *text) {
  if (text->form == SETT_MOVE_C) settp_move_say(text, 1, "  }\n");
}

SETT_INLINE const char *settp_move_indent(const settp_move_text *text) {
  return text->form == SETT_MOVE_C ? "    " : "  ";
}

/* Write the registers of `b` whose values come from the same thread. In a plan with shared memory, these are only the registers that have one
 * source register in all threads; the others go through the memory. */
SETT_INLINE void settp_move_own(settp_move_text *text, unsigned char *ready) {
  const sett_move *move = text->move;
  int32_t reg[SETT_MOVE_THREADS_MAX];
  int r, t, threads = settp_move_threads(move);
  settp_move_open(text);
  for (r = 0; r < move->to; ++r) {
    int some = 0, same = 1;
    for (t = 0; t < threads; ++t) {
      reg[t] = move->held[t * move->to + r];
      some |= reg[t] >= 0;
      same &= reg[t] >= 0 && reg[t] == reg[0];
    }
    if (!some || (move->kind == SETT_MOVE_SHARED && !same)) continue;
    ready[r] = 1;
    settp_move_say(text, 1, settp_move_indent(text));
    settp_move_register(text, 'b', r);
    settp_move_say(text, 1, " = ");
    settp_move_choose(text, reg);
    settp_move_say(text, 1, ";\n");
  }
  settp_move_close(text);
}

SETT_INLINE const char *settp_move_type(const sett_move *move) {
  return move->bits == 8    ? "unsigned char"
         : move->bits == 16 ? "unsigned short"
         : move->bits == 32 ? "unsigned"
                            : "unsigned long long";
}

/* Write one shuffle of 32 bits. `word` is 1 for the upper half of a 64-bit value, otherwise 0. In thread t the word comes from lane[t]. */
SETT_INLINE void settp_move_shuffle_text(settp_move_text *text, int word, const int32_t *lane) {
  if (text->form == SETT_MOVE_C) {
    settp_move_open(text);
    settp_move_line(text, "    got%s[t] = SETT_MOVE_SHUFFLE(sent%s, t - lane + (", word ? "_high" : "", 0, 0, 0);
  } else {
    settp_move_line(text, "  got%s = SETT_MOVE_SHUFFLE(sent%s, ", word ? "_high" : "", 0, 0, 0);
  }
  settp_move_value(text, lane);
  settp_move_say(text, 1, text->form == SETT_MOVE_C ? "));\n" : ");\n");
  settp_move_close(text);
}

SETT_INLINE void settp_move_steps(settp_move_text *text, unsigned char *ready) {
  const sett_move *move = text->move;
  int step, k, r, t, threads = settp_move_threads(move), parts = move->bits < 32 ? 32 / move->bits : 1;
  const char *at = text->form == SETT_MOVE_C ? "[t]" : "";
  for (step = 0; step < move->steps; ++step) {
    const int32_t *sent = move->sent + (int64_t)step * parts * threads;
    int used = 0;
    settp_move_open(text);
    for (k = 0; k < parts; ++k) {
      int some = 0;
      for (t = 0; t < threads; ++t) some |= sent[k * threads + t] >= 0;
      if (!some) continue;
      settp_move_say(text, 1, settp_move_indent(text));
      if (move->bits == 64) {
        settp_move_say(text, 1, text->form == SETT_MOVE_C ? "const unsigned long long whole = " : "whole = ");
        settp_move_choose(text, sent);
        settp_move_line(text, ";\n%s", settp_move_indent(text), 0, 0, 0);
        settp_move_line(text, "sent%s = (unsigned)whole;\n", at, 0, 0, 0);
        settp_move_say(text, 1, settp_move_indent(text));
        settp_move_line(text, "sent_high%s = (unsigned)(whole >> 32);\n", at, 0, 0, 0);
      } else {
        settp_move_line(text, used ? "sent%s |= (unsigned)(" : "sent%s = (unsigned)(", at, 0, 0, 0);
        settp_move_choose(text, sent + k * threads);
        settp_move_line(text, k ? ") << %d;\n" : ");\n", "", k * move->bits, 0, 0);
      }
      used = 1;
    }
    settp_move_close(text);
    settp_move_shuffle_text(text, 0, move->lane + (int64_t)step * threads);
    if (move->bits == 64) settp_move_shuffle_text(text, 1, move->lane + (int64_t)step * threads);
    settp_move_open(text);
    for (r = 0; r < move->to; ++r)
      for (k = 0; k < parts; ++k) {
        unsigned char in[SETT_MOVE_THREADS_MAX];
        int some = 0, all = 1;
        for (t = 0; t < threads; ++t) {
          in[t] = move->held[t * move->to + r] < 0 && move->got[t * move->to + r] == step * parts + k;
          some |= in[t];
          all &= in[t];
        }
        if (!some) continue;
        settp_move_say(text, 1, settp_move_indent(text));
        settp_move_register(text, 'b', r);
        settp_move_say(text, 1, " = ");
        if (ready[r] && !all) {
          ++text->selects;
          settp_move_condition(text, in);
          settp_move_say(text, 1, " ? ");
        }
        if (move->bits == 64) settp_move_line(text, "((unsigned long long)got_high%s << 32 | got%s)", at, 0, 0, 0);
        else if (move->bits == 32) settp_move_line(text, "got%s", at, 0, 0, 0);
        else settp_move_line(text, k ? "(%s)(got" : "(%s)got", settp_move_type(move), 0, 0, 0);
        if (move->bits < 32) settp_move_say(text, 1, at);
        if (move->bits < 32 && k) settp_move_line(text, " >> %d)", "", k * move->bits, 0, 0);
        if (ready[r] && !all) {
          settp_move_say(text, 1, " : ");
          settp_move_register(text, 'b', r);
        }
        settp_move_say(text, 1, ";\n");
        ready[r] = 1;
      }
    settp_move_close(text);
  }
}

/* Write a condition in front of an access in which some threads take no part. */
SETT_INLINE void settp_move_active(settp_move_text *text, const int32_t *place) {
  unsigned char in[SETT_MOVE_THREADS_MAX];
  int t, all = 1, threads = settp_move_threads(text->move);
  for (t = 0; t < threads; ++t) {
    in[t] = place[t] >= 0;
    all &= in[t];
  }
  if (all) return;
  settp_move_say(text, 1, "if (");
  settp_move_condition(text, in);
  settp_move_say(text, 1, ") ");
}

/* Write the C expression of 32-bit word k of a store: several registers of fewer bits, one register, or one half of a 64-bit register. */
SETT_INLINE void settp_move_word_text(settp_move_text *text, const sett_move_access *access, int k) {
  int bits = text->move->bits, i, parts = 32 / bits;
  if (bits == 64) {
    settp_move_say(text, 1, "(unsigned)");
    settp_move_char(text, 1, k % 2 ? '(' : ' ');
    settp_move_register(text, 'a', access->reg[k / 2]);
    if (k % 2) settp_move_say(text, 1, " >> 32)");
    return;
  }
  for (i = 0; i < parts && k * parts + i < access->count; ++i) {
    if (i) settp_move_say(text, 1, " | ");
    if (bits < 32) settp_move_say(text, 1, i ? "(unsigned)" : "");
    settp_move_register(text, 'a', access->reg[k * parts + i]);
    if (i) settp_move_line(text, " << %d", "", i * bits, 0, 0);
  }
}

SETT_INLINE void settp_move_accesses(settp_move_text *text, int loads) {
  const sett_move *move = text->move;
  static const char *const types[] = {"unsigned char", "unsigned short", "unsigned", "uint2", "uint4"};
  static const char *const names[] = {"x", "y", "z", "w"};
  int i, k, count = loads ? move->loads : move->stores;
  settp_move_open(text);
  for (i = 0; i < count; ++i) {
    const sett_move_access *access = loads ? &move->load[i] : &move->store[i];
    int bytes = access->count * move->bits / 8, words = (bytes + 3) / 4;
    const char *type = types[bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : bytes == 8 ? 3 : 4];
    settp_move_say(text, 1, settp_move_indent(text));
    settp_move_active(text, access->place);
    settp_move_say(text, 1, "{\n");
    settp_move_say(text, 1, settp_move_indent(text));
    settp_move_say(text, 1, "  const unsigned place = ");
    settp_move_value(text, access->place);
    settp_move_say(text, 1, ";\n");
    settp_move_say(text, 1, settp_move_indent(text));
    if (text->form == SETT_MOVE_C) {
      settp_move_line(text, loads ? "  SETT_MOVE_LOAD(t, place, %d);\n" : "  SETT_MOVE_STORE(t, place, %d);\n", "",
                      access->count, 0, 0);
      for (k = 0; k < access->count; ++k) {
        settp_move_say(text, 1, "      ");
        if (loads) {
          settp_move_register(text, 'b', access->reg[k]);
          settp_move_line(text, " = memory[place + %d];\n", "", k, 0, 0);
        } else {
          settp_move_line(text, "memory[place + %d] = ", "", k, 0, 0);
          settp_move_register(text, 'a', access->reg[k]);
          settp_move_say(text, 1, ";\n");
        }
      }
    } else if (loads) {
      settp_move_line(text, "  const %s value = SETT_MOVE_LOAD(", type, 0, 0, 0);
      settp_move_line(text, "%s, memory + place * %du);\n", type, move->bits / 8, 0, 0);
      for (k = 0; k < access->count; ++k) {
        int word = k * move->bits / 32, shift = k * move->bits % 32;
        settp_move_say(text, 1, "    ");
        settp_move_register(text, 'b', access->reg[k]);
        settp_move_say(text, 1, " = ");
        if (move->bits == 64) {
          settp_move_line(text, "(unsigned long long)value.%s << 32", names[word + 1], 0, 0, 0);
          settp_move_line(text, " | value.%s;\n", names[word], 0, 0, 0);
          continue;
        }
        if (move->bits < 32 && access->count > 1) settp_move_line(text, "(%s)(", settp_move_type(move), 0, 0, 0);
        settp_move_say(text, 1, "value");
        if (words > 1) settp_move_line(text, ".%s", names[word], 0, 0, 0);
        if (shift) settp_move_line(text, " >> %d", "", shift, 0, 0);
        settp_move_say(text, 1, move->bits < 32 && access->count > 1 ? ");\n" : ";\n");
      }
    } else {
      settp_move_line(text, "  SETT_MOVE_STORE(%s, memory + place * %du, ", type, move->bits / 8, 0, 0);
      if (words > 1) settp_move_line(text, "make_%s(", type, 0, 0, 0);
      else if (bytes < 4) settp_move_line(text, "(%s)(", type, 0, 0, 0);
      for (k = 0; k < words; ++k) {
        if (k) settp_move_say(text, 1, ", ");
        settp_move_word_text(text, access, k);
      }
      settp_move_say(text, 1, words > 1 || bytes < 4 ? "));\n" : ");\n");
    }
    settp_move_say(text, 1, settp_move_indent(text));
    settp_move_say(text, 1, "}\n");
  }
  settp_move_close(text);
}

/* Write the macros that the code of the function uses. */
SETT_INLINE void settp_move_macros(settp_move_text *text) {
  const sett_move *move = text->move;
  settp_move_say(text, 0, "/* written by sett layout move */\n");
  if (move->kind == SETT_MOVE_SHUFFLES) {
    settp_move_say(text, 0, "#ifndef SETT_MOVE_SHUFFLE\n");
    if (text->form == SETT_MOVE_C) {
      settp_move_say(text, 0, "#define SETT_MOVE_SHUFFLE(words, thread) ((words)[thread])\n");
    } else {
      settp_move_say(text, 0,
                     move->lanes == 32
                         ? "#define SETT_MOVE_SHUFFLE(word, lane) __shfl_sync(0xffffffffu, word, (int)(lane))\n"
                         : "#define SETT_MOVE_SHUFFLE(word, lane) __shfl(word, (int)(lane))\n");
    }
    settp_move_say(text, 0, "#endif\n");
  }
  if (move->kind == SETT_MOVE_SHARED) {
    int cuda = text->form == SETT_MOVE_CUDA;
    settp_move_say(text, 0, "#ifndef SETT_MOVE_STORE\n");
    settp_move_say(text, 0,
                   cuda ? "#define SETT_MOVE_STORE(type, address, value) (*(type *)(address) = (value))\n"
                        : "#define SETT_MOVE_STORE(thread, place, count) ((void)0)\n");
    settp_move_say(text, 0, "#endif\n#ifndef SETT_MOVE_LOAD\n");
    settp_move_say(text, 0,
                   cuda ? "#define SETT_MOVE_LOAD(type, address) (*(const type *)(address))\n"
                        : "#define SETT_MOVE_LOAD(thread, place, count) ((void)0)\n");
    settp_move_say(text, 0, "#endif\n");
    if (cuda && !move->barriers) {
      settp_move_say(text, 0, "#ifndef SETT_MOVE_WARP_BARRIER\n#define SETT_MOVE_WARP_BARRIER() ");
      settp_move_say(text, 0,
                     move->lanes == 32 ? "__syncwarp()\n"
                                       : "(__builtin_amdgcn_fence(__ATOMIC_ACQ_REL, \"wavefront\"), "
                                         "__builtin_amdgcn_wave_barrier())\n");
      settp_move_say(text, 0, "#endif\n");
    }
    if (!cuda) settp_move_say(text, 0, "#ifndef SETT_MOVE_BARRIER\n#define SETT_MOVE_BARRIER() ((void)0)\n#endif\n");
  }
}

SETT_INLINE void settp_move_function(settp_move_text *text) {
  const sett_move *move = text->move;
  unsigned char ready[SETT_MOVE_REGISTERS_MAX];
  const char *type = settp_move_type(move);
  int r;
  for (r = 0; r < move->to; ++r) ready[r] = 0;
  if (text->form == SETT_MOVE_C) {
    settp_move_line(text, "\nvoid %s(const ", text->name, 0, 0, 0);
    settp_move_line(text, "%s a[%d][%d], ", type, settp_move_threads(move), move->from, 0);
    settp_move_line(text, "%s b[%d][%d]) {\n  unsigned t;\n", type, settp_move_threads(move), move->to, 0);
    if (move->kind == SETT_MOVE_SHUFFLES) {
      settp_move_line(text, "  unsigned sent[%d], got[%d];\n", "", settp_move_threads(move), settp_move_threads(move),
                      0);
      if (move->bits == 64)
        settp_move_line(text, "  unsigned sent_high[%d], got_high[%d];\n", "", settp_move_threads(move),
                        settp_move_threads(move), 0);
    } else if (move->kind == SETT_MOVE_SHARED) {
      settp_move_line(text, "  static %s memory[%d];\n", type, move->bytes * 8 / move->bits, 0, 0);
    }
  } else {
    settp_move_line(text, "\nstatic __device__ __forceinline__ void %s(const ", text->name, 0, 0, 0);
    settp_move_line(text, "%s (&a)[%d], ", type, move->from, 0, 0);
    settp_move_line(text, "%s (&b)[%d], unsigned t, void *shared) {\n", type, move->to, 0, 0);
    settp_move_line(text, "  const unsigned lane = t % %du, warp = t / %du;\n", "", move->lanes, move->lanes, 0);
    if (move->kind == SETT_MOVE_SHUFFLES)
      settp_move_say(text, 1,
                     move->bits == 64 ? "  unsigned sent, got, sent_high, got_high;\n  unsigned long long whole;\n"
                                      : "  unsigned sent, got;\n");
    if (move->kind == SETT_MOVE_SHARED)
      settp_move_say(text, 1, "  unsigned char *const memory = (unsigned char *)shared;\n");
    settp_move_say(text, 1,
                   move->kind == SETT_MOVE_SHARED ? "  (void)lane;\n  (void)warp;\n"
                                                  : "  (void)lane;\n  (void)warp;\n  (void)shared;\n");
  }
  settp_move_own(text, ready);
  if (move->kind == SETT_MOVE_SHUFFLES) settp_move_steps(text, ready);
  if (move->kind == SETT_MOVE_SHARED) {
    settp_move_accesses(text, 0);
    if (text->form == SETT_MOVE_C) settp_move_say(text, 1, "  SETT_MOVE_BARRIER();\n");
    else settp_move_say(text, 1, move->barriers ? "  __syncthreads();\n" : "  SETT_MOVE_WARP_BARRIER();\n");
    settp_move_accesses(text, 1);
  }
  settp_move_say(text, 1, "}\n");
}

SETT_PUBLIC size_t sett_move_print(const sett_move *move, int form, const char *name, char *out, size_t capacity) {
  settp_move_text text;
  text.out = out;
  text.capacity = capacity;
  text.length = 0;
  text.move = move;
  text.name = name;
  text.form = form;
  text.selects = 0;
  if (capacity > 0) out[0] = 0;
  if (move->error || !move->yes || (form == SETT_MOVE_CUDA && move->lanes != 32 && move->lanes != 64)) return 0;
  for (text.pass = 0; text.pass < 2; ++text.pass) {
    text.tables = 0;
    settp_move_macros(&text);
    settp_move_function(&text);
  }
  if (capacity > 0) out[text.length < capacity ? text.length : capacity - 1] = 0;
  return text.length;
}

/* ---- the plan ---- */

SETT_INLINE sett_move settp_move_none(int error) {
#ifdef __cplusplus
  sett_move move = {};
#else
  sett_move move = {0};
#endif
  move.error = error;
  move.element = -1;
  move.left = move.right = -1;
  move.shuffles = move.least = move.other = -1;
  move.reason = "";
  return move;
}

SETT_INLINE int settp_move_count_selects(const sett_move *move) {
  settp_move_text text;
  text.out = NULL;
  text.capacity = text.length = 0;
  text.move = move;
  text.name = "";
  text.form = SETT_MOVE_CUDA;
  text.pass = 1;
  text.tables = text.selects = 0;
  settp_move_function(&text);
  return text.selects;
}

SETT_INLINE int settp_move_good_table(const sett_move_table *table, int64_t *elements) {
  int64_t i, held;
  int d;
  *elements = 1;
  if (table->rank < 0 || table->rank > SETT_MOVE_DIMS) return 0;
  for (d = 0; d < table->rank; ++d) {
    if (table->dims[d] < 1 || table->dims[d] > SETT_MOVE_ELEMENTS_MAX) return 0;
    *elements *= table->dims[d];
    if (*elements > SETT_MOVE_ELEMENTS_MAX) return 0;
  }
  if (table->lanes < 1 || table->lanes > SETT_MOVE_LANES_MAX || table->warps < 1) return 0;
  if (table->registers < 1 || table->registers > SETT_MOVE_REGISTERS_MAX) return 0;
  if (table->warps > SETT_MOVE_THREADS_MAX / table->lanes) return 0;
  held = (int64_t)table->warps * table->lanes * table->registers;
  for (i = 0; i < held; ++i)
    if (table->element[i] < -1 || table->element[i] >= *elements) return 0;
  return 1;
}

SETT_INLINE sett_move settp_move_differ(const sett_move *move, const char *reason, int64_t left, int64_t right) {
  sett_move no = *move;
  no.no = 1;
  no.reason = reason;
  no.left = left;
  no.right = right;
  return no;
}

/* Return the table with the number `none` in place of -1. */
SETT_INLINE sett_move_table settp_move_numbered(settp_move_work *work, const sett_move_table *given) {
  sett_move_table table = *given;
  int64_t i, held = (int64_t)given->warps * given->lanes * given->registers;
  int32_t *element = settp_move_ints(work, held, 0);
  for (i = 0; i < held && element; ++i) element[i] = given->element[i] < 0 ? work->none : given->element[i];
  table.element = element;
  return table;
}

/* `place` has the place of each element in shared memory, or is NULL. No two elements have the same place. */
SETT_INLINE sett_move settp_move_plan(sett_map_arena *arena, const sett_move_table *a, const sett_move_table *b,
                                      int bits, const int32_t *place) {
  sett_move move = settp_move_none(a->error ? a->error : b->error), shared;
  sett_move_table from, to;
  settp_move_work work;
  int64_t elements, others;
  int32_t *held;
  int r, t, all;
  if (move.error) return move;
  if (bits != 8 && bits != 16 && bits != 32 && bits != 64) return settp_move_none(SETT_MOVE_ERROR_BITS);
  if (!settp_move_good_table(a, &elements) || !settp_move_good_table(b, &others))
    return settp_move_none(SETT_MOVE_ERROR_SIZE);
  move.bits = bits;
  move.lanes = b->lanes;
  move.warps = b->warps;
  move.from = a->registers;
  move.to = b->registers;
  move.rank = a->rank;
  for (r = 0; r < a->rank; ++r) move.dims[r] = a->dims[r];
  if (a->lanes != b->lanes) return settp_move_differ(&move, "the numbers of lanes differ", a->lanes, b->lanes);
  if (a->warps != b->warps) return settp_move_differ(&move, "the numbers of warps differ", a->warps, b->warps);
  if (a->rank != b->rank) return settp_move_differ(&move, "the numbers of dimensions differ", a->rank, b->rank);
  for (r = 0; r < a->rank; ++r)
    if (a->dims[r] != b->dims[r])
      return settp_move_differ(&move, "the sizes of the arrays differ", a->dims[r], b->dims[r]);
  work.arena = arena;
  work.move = &move;
  work.none = (int)elements;
  from = settp_move_numbered(&work, a);
  to = settp_move_numbered(&work, b);
  work.a = &from;
  work.b = &to;
  work.lanes = a->lanes;
  work.threads = a->lanes * a->warps;
  work.elements = work.none;
  work.parts = bits < 32 ? 32 / bits : 1;
  work.crosses = work.held = 0;
  work.given = place;
  if (!move.error) settp_move_index(&work);
  held = settp_move_ints(&work, (int64_t)work.threads * b->registers, -1);
  if (move.error) return settp_move_none(move.error);
  all = settp_move_hold(&work, held);
  if (move.no) return move;
  move.yes = 1;
  move.held = held;
  move.kind = SETT_MOVE_REGISTERS;
  for (r = 0; r < b->registers; ++r) {
    int same = 1;
    for (t = 0; t < work.threads; ++t) same &= held[t * b->registers + r] == r;
    move.moves += !same;
  }
  if (all) {
    move.shuffles = move.least = 0;
    move.selects = settp_move_count_selects(&move);
    move.cost = move.selects * SETTP_MOVE_SELECT;
    return move;
  }
  move.moves = 0;
  shared = move;
  work.move = &shared;
  settp_move_share(&work, held);
  if (shared.error) return settp_move_none(shared.error);
  shared.kind = SETT_MOVE_SHARED;
  {
    settp_move_places places;
    places.turns = shared.turns;
    places.stores = shared.stores;
    places.loads = shared.loads;
    shared.cost = settp_move_shared_cost(&work, &places);
  }
  if (work.crosses) return shared;
  work.move = &move;
  move.least = 0;
  settp_move_shuffle(&work, held);
  if (move.error) return settp_move_none(move.error);
  move.kind = SETT_MOVE_SHUFFLES;
  move.selects = settp_move_count_selects(&move);
  move.cost = move.shuffles * SETTP_MOVE_SHUFFLE + move.selects * SETTP_MOVE_SELECT;
  shared.shuffles = move.shuffles;
  shared.least = move.least;
  move.other = shared.cost;
  shared.other = move.cost;
  return shared.cost < move.cost ? shared : move;
}

SETT_PUBLIC sett_move sett_move_plan(sett_map_arena *arena, const sett_move_table *a, const sett_move_table *b,
                                     int bits) {
  return settp_move_plan(arena, a, b, bits, NULL);
}

SETTP_MAP_QUICK_END
#ifdef SETTP_MAP_FEWER_PASSES
#pragma pop_macro("SETT_INLINE")
#endif
#endif /* bodies */
