"""Proofs of generated kernels from their text, by SMT solvers.

`gen certify` reads the text that `gen build` wrote, and asks z3, then cvc5, whether its kernels can fail. The generator
derives a kernel's index maps by an algebra. This package does not use that algebra, so it cannot repeat an error in
the maps. The only other package of gen that it imports is gen/hlo, which parses HLO (`tests/certify/test_floor.py`
checks this).

For each launch of a kernel, a line says:

- PROVED: none of the failures below is possible;
- REFUTED: one of them happens, or the semantics are wrong. The line names a counterexample;
- UNKNOWN: some failure is neither proved impossible nor shown. The line names the reason.

The line also says `semantics proved`, `semantics refuted` or `semantics not proved (reason)`. PROVED stands beside `not
proved`, too, because it is about the failures only.

**Failures of a launch.** PROVED means that each of these is impossible:

- *bounds*: an access to a buffer, to shared memory or to a work-item's array is outside of it;
- *wrap*: an index leaves the range of its type where its exact value matters: in a comparison, a division, a conversion
  or an address;
- *races*: two work-items access the same element, at least one of them writes it, and no barrier orders the accesses.
  Atomic accesses do not race with each other;
- *barriers*: a work-item reaches a barrier that another work-item of its group does not reach;
- *all written*: an element of a result, or of an array between launches, is written by no launch of the program. A
  result that overwrites a parameter in place may leave elements as they are.

**Failures of a program.** A program is a list of calls of kernels. Their order and the loops around them are read from
the host's text. PROVED means that each of these failures is impossible, too:

- *read before written*: a call reads an element of a result, or of an array between launches, before the element is
  written. If another array that shares bytes with the array is written, the array counts as unwritten again. So arrays
  that are in use at the same time do not overlap;
- *read after overwritten*: a call reads an element of a parameter after a result in the same memory overwrote it.

**Semantics.** This is proved for each element of a result that a kernel writes: the text computes it from the same
elements of parameters as HLO. If HLO has a sum, a product or an exclusive or over a range (a
reduction, dot or convolution), then the text reads each element of the range exactly once. There are two proofs:

- By queries (semantics.py). A query asks for a step of the kernel at which the text reads an element that HLO does not
  read, or the reverse. Padding, selections by index, and indices in memory (of dynamic slices and gathers) are part of
  the query. Values are followed through registers, vectors, arrays of a work-item, shared memory, and arrays between
  launches. Only this proof refutes semantics: the line then names the element of the result, the elements that the text
  reads, and those that HLO reads.
- By evaluation (instances.py), if the first proof fails or HLO has a sum. The values of single work-items and steps are
  evaluated, through loops, shuffles, shared memory and earlier launches. Work-groups, and loops whose steps need no
  values, stay variables. The operands of a sum are compared as a multiset. This proof does not refute: if the text adds
  an element twice, its semantics are `not proved`.

If data select a value, both alternatives count as read.

**Not part of semantics**, so nothing is proved about it:

- the operations, their order, and constants: a - b and b - a read the same elements;
- the body of a function that the text calls with numbers: the call is one operation on all arguments;
- the order of reads and writes in a kernel whose result overwrites its parameter;
- elements that no store of the kernel writes: see *all written*.

A proof of semantics assumes that the kernel has no races.

**Semantics are not proved** for these kinds of kernels:

- Large sums, such as products of large matrices (reason: `values of too many elements`). instances.py limits the number
  of values of a launch, and the processor time.
- Scatters, select-and-scatters, sorts and top-k. Data select the places that they write, and `ops.py` does not have
  these ops.
- Results that atomic operations combine. The package does not follow values that other work-items change in memory.
- Reductions that combine values by several operations, such as a mean with a variance. Their result is no sum or
  product, so it is not enough to compare the operands as a multiset. Reductions that only compare and select can be
  proved.
- Programs with loops or branches, types of less than a byte, and arguments that are a part of a larger buffer.
- Kernels with a loop that a break or a return may leave.
- Selects whose predicate is a constant, or a comparison of integers in memory. The text may read only the selected
  operand, or both operands.

**Refuted or unknown.** If the package does not know a part of the text, the kernel is UNKNOWN. It is REFUTED only by a
counterexample that fulfils both of these conditions:

- The counterexample gives values to ids, to steps of loops, and to at most one integer in memory. This integer has 32
  or 64 bits and is an element of a parameter, so the caller may pass any value. A counterexample with two such integers
  does not refute, because HLO may say that they are sorted or different.
- The text's own terms confirm it. With its values, the conditions around the access hold, and the access is outside of
  the buffer, or both accesses touch the same element (for *read after overwritten*: in this order).

Some questions are decided without a solver: `terms.within` proves by interval arithmetic that an offset or an index
stays in a range, `queries.apart_by_strides` proves by the strides of two offsets that two accesses are apart, and
`queries.apart_by_points` computes all touched elements. With `--smt`, the first two are not used, so that their
questions are kept as queries. Unwritten elements are found by counting or enumerating the written places. A kernel is
also UNKNOWN if a query exceeds the limits of `smt.py`, for example if the last tile overlaps the tile before. `walk.py`
executes the text symbolically; this is called the walk. It does not follow some constructs, which make a kernel
UNKNOWN. Among them are:

- assembly with instructions;
- leading dimensions that the caller passes;
- two overlapping loads of a vector, at an index that data select;
- places of elements that a sort, a search or counts of data determine;
- two buffers that a loop exchanges.

`ninja certify` proves sets of programs (`tests/certify/sets.py`). `tests/certify/not_proved.tsv` lists their kernels
that are not proved, each with the reason.

**Trusted without proof:**

- the reader and the walk of the text;
- the arithmetic that decides questions without a solver (`tests/certify/test_points.py` compares it with plain loops);
- the meaning of built-in functions of C, OpenCL C, CUDA and HIP;
- the macros in `cases.py`. Under other macros, the text may be different, and is not read;
- the manifest: the launches, and for each pointer its buffer and the buffer's size. The host is trusted to pass these
  buffers;
- the plain read before a loop around atomicCAS. It counts as atomic, because atomicCAS checks the value.

**Not proved** for any kernel:

- the values of results;
- that registers and shared memory are written before they are read, except for values whose semantics are proved;
- that all lanes reach a shuffle. Only if a lane takes a pointer from another lane, it is proved that the other lane
  reaches the shuffle;
- that a kernel that updates an array in place leaves the other elements unchanged;
- that a call reads the right one of two arrays that have the same place and size at different times: the package does
  not distinguish the two.

**Tests by mutants.** `ninja certify-mutants` (`tests/certify/mutants.py`) changes one constant, operator, guard, bound
of a loop, or barrier of a text. It compares the verdict with a run of the changed text on the CPU. The run observes
each access (`tests/certify/observe.cpp`, which shares nothing with this package). A run shows a fault if it

- accesses a place outside of a buffer or an array,
- has a race,
- meets a barrier that some work-items of a group do not reach,
- leaves an element of a result, or of an array between calls, unwritten, or
- reads an element after its place was overwritten.

At least 99 % of the mutants with a fault are REFUTED. The others are UNKNOWN, for one of these reasons:

- The walk knows a value only by its range, and the fault depends on this value. Examples are an index that passes
  through a vector, a sum of integers from memory, an integer that was converted from floating point, and integers at
  several places of parameters.
- The fault is in a late step of a loop whose variables the walk cannot write as start + step * k.
- The kernel reads an array of pointers beyond the elements that it wrote.

A mutant with one of these changes may be PROVED. They do not count as faults:

- an access that is not aligned to its type, a division of integers by zero, a loop without end;
- lanes that do not reach a shuffle;
- a read of registers or shared memory before they are written;
- an unwritten element that another call of the program writes with another value;
- integers that wrap around where only their low bits matter;
- other values that are stored at the same places.

**Files.** The proofs about failures:

    text.py      preprocessor and tokens, each with its line and column
    reader.py    a parser of the subset of C, OpenCL C, CUDA and HIP in which kernels are written
    types.py     types and their sizes
    walk.py      symbolic execution: accesses, index arithmetic and barriers, as terms over ids and steps of loops
    builtins.py  the built-in functions of the languages, for walk.py
    values.py    the results of the walk
    terms.py     these terms, their ranges, and their text in SMT-LIB
    smt.py       asks the solvers, with limits, and keeps the queries
    queries.py   the questions about a launch
    programs.py  the questions about the calls of a program
    cases.py     finds the launches in the files of a build, and gives each a verdict

The proofs of semantics:

    expressions.py   the value of an element as an expression over elements in memory, byte by byte
    meaning.py       a walk that also follows values
    passing.py       values that pass through shared memory, or through an array between launches
    following.py     a walk that records when each store and each read happens
    ops.py           the semantics of HLO: the elements of its operands from which an op computes an element
    semantics.py     the proof by queries
    instances.py     the proof by evaluation
"""

from gen.certify.cases import Verdict, certify, missing

__all__ = ["Verdict", "certify", "missing"]
