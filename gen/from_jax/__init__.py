"""What JAX gives, by processes of their own that import it: the text of a Python function, and that of bytecode.

    functions   FILE of the form model.py:step      lower     the process that imports the user's file
    bytecode    MLIR bytecode, jax.export's files   printed   the process that prints it as text
    example     main.c beside a function's program  wrap      the way back: the program as a function of JAX
"""

from gen.from_jax.functions import Lowered, line_in, lowered, split_functions

__all__ = ["Lowered", "line_in", "lowered", "split_functions"]
