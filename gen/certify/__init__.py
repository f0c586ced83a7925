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

What is trusted: the reader and the walk; the compiler macros of `cases.py` (the text of other macros is not read); the
manifest's sizes of buffers, launches, and the buffer of each pointer, and that the host launches so; that a local array
is written before it is read; functions of the languages by their names.
What is not asked yet: values, which operand an element is read from (the semantics of HLO), shuffles that not all lanes
reach, registers and shared memory that are read before they are written, and buffers of the arena that share bytes.
"""

from gen.certify.cases import Verdict, certify, missing

__all__ = ["Verdict", "certify", "missing"]
