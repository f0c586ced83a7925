"""Proofs of generated kernels from their text, by SMT solvers.

The generator proves its maps with the algebra that made them. This package is independent of that: it reads the text
that `gen build` wrote, and asks z3, then cvc5, whether anything can go wrong. It imports no other part of gen
(`tests/certify/test_floor.py` checks that); only the parsed HLO graph is allowed.

    text.py      preprocessor and tokens, each with its line and column
    reader.py    the subset of C, OpenCL C, CUDA and HIP that kernels are written in -> a tree
    types.py     types and their sizes
    walk.py      a symbolic walk through the tree: accesses, index arithmetic, barriers, as terms over the work-item's
                 ids and the steps of loops (builtins.py: functions of the languages)
    values.py    the results of the walk
    terms.py     these terms, their ranges, and their text in SMT-LIB
    smt.py       asks the solvers, with time limits, and keeps the queries
    queries.py   the questions about a launch
    programs.py  the questions about the calls of a program, in the order of the host's text
    cases.py     from the files of a build to launches, and a verdict for each

    expressions.py   what the value of an element is computed from, byte by byte
    meaning.py       a second walk, which also follows values
    ops.py           the semantics of HLO: which elements of its operands an element of an op is computed from
    passing.py       values that pass through shared memory, or through an array between launches
    following.py     a third walk, which records each store and each read with its moment in the program
    instances.py     the values of single work-items and steps, compared with HLO's
    semantics.py     whether the text and HLO read the same elements

About each launch, the following is asked, as queries that have no solution if the kernel is right:

- *bounds*: an access to a buffer, to shared memory or to an array of the work-item is outside of it;
- *wrap*: an index leaves its type where its exact value matters (in a comparison, division, conversion or address);
- *races*: two work-groups, or two work-items of a group between the same barriers, access one element, and one of them
  writes it;
- *barriers*: one work-item of a group reaches a barrier that another one does not reach;
- *all written*: no launch writes some element of a result. If no two steps write the same element, and all steps
  together write as many elements as the result has, no element is left out. If some steps write the same element on
  purpose (at the end of a row), the places are counted.

About the calls of a program, in the order and with the loops of the host's text:

- *read before written*: an array between calls is read, and not all of it has been written; or another array that
  shares bytes of the arena with it has been written since. So arrays of the arena that are in use at the same time do not
  overlap. In a loop, both the first and the next step are followed;
- *read after overwritten*: an element of a parameter is read after a result in its place was written there.

Beside these properties, each line says whether the kernel's *semantics* are proved: each element of a result that the
kernel writes is computed from the elements of the parameters that HLO says, from all of them and from no others; and a
sum, a product or an exclusive or over a range, as in a reduction, dot or convolution, reads each element of the range
exactly once. There are two proofs:

- by queries (semantics.py): a query asks for a step at which the text reads an element that HLO does not read, or the
  other way round. Padding, selections by index and by integers in memory (dynamic slices, gathers) are part of the
  query. Values are followed through registers, words of several elements, arrays of a work-item, shared memory, and
  arrays between launches. Only this proof refutes.
- by steps (instances.py), if the first proof fails or if HLO has a sum: values are evaluated for single work-items and
  steps, through loops, shuffles, shared memory and earlier launches. The operands of a sum are compared as a multiset.
  Loops whose steps need no values of their own, and work-groups, stay variables. A sum that reads an element twice, or
  leaves one out, is `not proved`, or refuted if the first proof refutes it.

Where data select a value, both alternatives count as read. `semantics not proved (reason)` names what the walks do not
follow or the op that `ops.py` does not know; the other properties stay proved. Semantics that are refuted make a kernel
REFUTED: the line names the element of the result, and the elements that the text and HLO read.

Semantics say nothing about these: the operations and their order (a - b and b - a read the same elements; constants
are not compared); the body of a function that the text calls with numbers, which counts as an operation on all of its
arguments; the elements of a result that no store of the kernel writes (*all written* is about them); the order of reads
and writes in place; and they assume that the kernel has no race.

These kinds are not proved, for these reasons:

- sums of more elements than the evaluation of a launch may take (`values of too many elements`: instances.py limits the
  parts of values and the processor time), such as products of large matrices in register tiles or in shared memory;
- scatters, select-and-scatters, sorts and top-k: `ops.py` has no row for them, because data select the written places;
- results that atomic operations combine: the walks do not follow the values in memory that other work-items change;
- reductions by a combination of operations, such as a mean with a variance: their operands are no multiset;
- loops and branches of a program; types of less than a byte; elements that calls pass in a part of a larger buffer;
- loops of a text that break, or whose body may return;
- a constant that selects between two operands: the text reads one of them, or both.

If a part of the text is unknown, the kernel is UNKNOWN, never PROVED. A counterexample makes a kernel REFUTED only if it
names nothing but ids, steps, and the integer of 32 or 64 bits at one place of a parameter (any integer may be there; of
several, HLO may say that they are sorted or differ), and if the text's own terms, evaluated for its values, confirm it:
the conditions of the path hold, and the access is outside, or both accesses touch one element (in the order in question,
if a result is in place). That an element is not written is found without a solver: the places are counted or enumerated.
Otherwise the kernel is UNKNOWN.

These parts are trusted: the reader and the walk; the macros in `cases.py` (the text is not read under other macros); the
manifest's launches, with the buffer of each pointer and its size; that the host passes these buffers; the meaning of the
languages' functions. The plain read before a loop around atomicCAS counts as atomic, because atomicCAS checks its value.

These properties are not proved: the values; that registers and shared memory are written before they are read (only
values whose semantics are proved are known to be); that all lanes reach a shuffle (except where a lane takes a pointer of
another one); that an update in place leaves other elements unchanged; which of two arrays with the same place and size a
call reads.

The walk does not follow these constructs, so that a kernel with one of them is UNKNOWN: assembly; leading dimensions
that the caller passes; vectors of which two loads overlap at an index that data select; a table of places that two
arrays share. A query that takes longer than `smt.py` allows makes the kernel UNKNOWN too, for example if its last tile
overlaps the tile before. `tests/certify/not_proved.tsv` names
the kernels that are not proved, with reasons, of the sets that `ninja certify` covers (`tests/certify/sets.py`).

`ninja certify-mutants` (`tests/certify/mutants.py`) changes one constant, operator, guard, loop's bound or barrier of a
text, and compares the verdict with a run of the mutant on the CPU that sees each access (`tests/certify/observe.cpp`,
which shares nothing with this package). A mutant has a fault if the run accesses a place outside of a buffer or an array,
has a race, meets a barrier that not all reach, leaves an element of a result or of an array between calls unwritten, or
reads an element after its place was overwritten. At least 99 % of the mutants with a fault are REFUTED. The others are
UNKNOWN, for one of these reasons:

- The fault depends on a value that the walk knows only by its range: an index that passes through a vector, a sum of
  integers that were read, an integer made from a floating-point number, integers at several places of parameters.
- The fault is in a late step of a loop whose variables the walk cannot write as start + step * k.
- The kernel reads an array of pointers beyond the elements that it wrote.

These changes are no faults in this sense, and may leave a kernel PROVED: an access that is not aligned to its type; an
integer divided by zero; a loop without end; lanes that do not reach a shuffle; a read of registers or shared memory
before they are written; an unwritten element that another call of the program writes with another value; integers that
wrap around where only their low bits matter; other values at the same places.
"""

from gen.certify.cases import Verdict, certify, missing

__all__ = ["Verdict", "certify", "missing"]
