"""StableHLO text from JAX, made from a function in a Python file or from bytecode. Separate processes import JAX.

    functions   FILE of the form model.py:step      lower     the process that imports the user's file
    bytecode    MLIR bytecode, jax.export's files   printed   the process that prints it as text
    example     main.c beside a function's program  wrap      the reverse: the program as a JAX function

For FILE of the form model.py:step, the file is imported, and its function is lowered by jax.jit(step).lower(..) for the
defaults of its parameters. Leaves of trees have names in the text, such as params['w'], which is params_w in the
header. A parameter whose default is not an array, such as a string, is fixed to it. Arrays that the function does not
use are dropped.

For `gen build`, the process also draws values for each jax.ShapeDtypeStruct and computes the results on the CPU; main.c
compares with these. A float may differ by the square root of its type's epsilon, times the largest magnitude in its
result. For several functions, model.py:step,jacobian, `gen.pipeline.library` makes one C file and one header; with
further targets, each function has files of its own.

`--wrap jax` writes a handler of XLA's foreign function interface, for CPUs, for NVIDIA's GPUs or for both, as --target
says. Its scratch is one more result; its threads, or its stream, are XLA's.

A file of jax.export contains bytecode as a vector; jaxlib prints it. Without JAX the exit status is 3.
"""

from gen.from_jax.functions import Lowered, line_in, lowered, split_functions

__all__ = ["Lowered", "line_in", "lowered", "split_functions"]
