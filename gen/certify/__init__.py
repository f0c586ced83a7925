"""Proofs of generated kernels from their text, by SMT solvers.

The generator proves its maps with the algebra that made them. This package starts from the other end: it reads the text
that `gen build` wrote and asks z3, then cvc5, whether anything can go wrong. It imports no other part of gen but the
parsed HLO graph (`tests/certify/test_floor.py` holds it to that).

    text.py      preprocessor and tokens, each with its line and column
    reader.py    the subset of C, OpenCL C, CUDA and HIP that kernels are written in -> a tree
    types.py     types and their sizes
    walk.py      a symbolic walk through the tree: accesses, index arithmetic, barriers, as terms over the work-item's
                 ids and the steps of loops (builtins.py: functions of the languages)
    values.py    what the walk finds
    terms.py     these terms, their ranges, and their text in SMT-LIB
    smt.py       asks the solvers, with time limits, and keeps the queries
    queries.py   what is asked
    cases.py     from the files of a build to launches, and a verdict for each

What is asked of a launch, each as a query that has no solution where the kernel is right:
- *bounds*: an access to a buffer, to shared memory or to an array of the work-item lies inside of it;
- *wrap*: an index stays in its type wherever more than its residue counts (comparison, division, conversion, address);
- *races*: two work-groups, or two work-items of a group between the same barriers, touch one element, and one writes;
- *barriers*: a barrier is reached by one work-item of a group and not by another;
- *all written*: an element of a result is written by no launch. Writes whose steps never meet, and that are together as
  many as the result's elements, leave none out; where some meet on purpose (the end of a row), the places are counted.

A part of the text that is not known makes the kernel UNKNOWN, never PROVED. A counterexample is REFUTED only where it
names ids and steps alone; if it needs a value that the walk does not follow, the kernel is UNKNOWN.

What is trusted: the reader and the walk; the compiler macros of `cases.py` (the text under other macros is not read);
the manifest's launches, with the buffer of each pointer and its size, and that the host launches so; functions of the
languages by their names.

What is not proved: values, and so which element is read (the semantics of HLO); that registers and shared memory are
written before they are read; the order of reads and writes of one work-item in place; lifetimes of buffers that share
bytes of the arena; shuffles that not all lanes reach; elements that an update in place leaves as they were. A mutant of
a text that reads another element of the same buffer is therefore not refuted.

What is not followed, so that a kernel is UNKNOWN: a table that bits of a float select (sine and cosine of large
arguments); plain reads beside atomic operations (the first guess of a loop around atomicCAS); clamps by a mask of
vector lanes in C; loops that run until two counters meet; assembly; leading dimensions that the caller gives; queries
that take longer than `smt.py` allows.
"""

from gen.certify.cases import Verdict, certify, missing

__all__ = ["Verdict", "certify", "missing"]
