"""Get StableHLO text from JAX: from a function in a Python file, or from MLIR bytecode. Only separate processes import
JAX.

    functions   read FILE of the form model.py:step   lower     the process that imports the user's file
    bytecode    read MLIR bytecode, jax.export files  printed   the process that prints bytecode as text
    example     main.c beside a function's program    wrap      make the program callable from JAX

For model.py:step, the process imports the file and lowers its function by jax.jit(step).lower(..) for the defaults of
its parameters. Arrays in trees get names, such as params['w'], which becomes params_w in the C header. A parameter
whose default is not an array, such as a string, is fixed to its default. Arrays that the function does not use are
dropped.

For `gen build`, the process also draws values for each jax.ShapeDtypeStruct and computes the results on the CPU.
main.c compares the program's results with these: a float may differ by the square root of its type's epsilon, times
the largest magnitude in its result. For several functions, model.py:step,jacobian, `gen.pipeline.library` makes one C
file and one header; with further targets, each function has files of its own.

`--wrap jax` writes handlers of XLA's foreign function interface for CPUs, NVIDIA's GPUs or both, as --target says. A
handler's scratch memory is an additional result. The handler for CPUs runs on XLA's threads. The kernels of the handler
for GPUs run on XLA's stream.

A file of jax.export contains bytecode, which jaxlib prints. Without JAX the exit status is 3.
"""

from gen.from_jax.functions import Lowered, line_in, lowered, split_functions

__all__ = ["Lowered", "line_in", "lowered", "split_functions"]
