"""Float functions on vectors. Their texts are in functions.c, and the vector types of a language in vectors.c or
vectors.cl.
"""

from __future__ import annotations

from typing import Callable, Mapping

from gen.emit.pieces import pieces
from gen.hlo.opcodes import ELEMENTWISE
from gen.schedule import VECTOR_BITS
from gen.targets import Target

VECTORS = {"f32": "floats", "f64": "doubles"}
# Functions that are not HLO ops: `more(a, b)` is a if a > b, else b; `less(a, b)` is a if a < b, else b. If a or b is
# a NaN, the result is b.
CHOICES = ("more", "less")
# the quotient of a register and a value that all its lanes share
QUOTIENT = "quotient"
_NAMES = {row.opcode: row.function or row.opcode.replace("-", "_") for row in ELEMENTWISE.values()
          if "f" in row.takes and row.result == "operand"}
# the functions with two arguments
BINARY = (*(name for opcode, name in _NAMES.items() if ELEMENTWISE[opcode].arity == 2), *CHOICES, QUOTIENT)


def _functions(vectors: str) -> "Mapping[str, str]":
    """Return, by opcode, the names of the functions that vectors.c and functions.c define for a vector type."""
    known = pieces("vectors.c", "functions.c")
    names = {**_NAMES, **{name: name for name in (*CHOICES, QUOTIENT)}}
    return {opcode: name for opcode, name in names.items() if f"{name}_{vectors}" in known}


FUNCTIONS: Mapping[str, Mapping[str, str]] = {dtype: _functions(vectors) for dtype, vectors in VECTORS.items()}
# Key: two ops on the same argument. Value: the function that computes both; it returns the result of the first op, and
# stores the result of the second op through a pointer.
PAIRS = {("sine", "cosine"): "sincos"}
# The functions that are one instruction of the processor. In languages whose own functions take vectors, these
# functions are called instead of those in functions.c. (rint and round are not listed, because they take 13
# instructions or more in PoCL.)
EXACT = ("floor", "ceil", "maximum", "minimum", "more", "less", "sqrt")

def name(d: Target, need: "Callable[..., str]", opcode: str, dtype: str, lanes: int) -> str:
    """Return the name of the function that computes an op on registers of f32 or f64; "" if there is none."""
    return named(d, need, FUNCTIONS.get(dtype, {}).get(opcode, ""), dtype, lanes)


def named(d: Target, need: "Callable[..., str]", function: str, dtype: str, lanes: int) -> str:
    """Return the name of the helper that computes `function` on registers; "" if there is none."""
    if lanes == 1 or not function or (function in EXACT and d.vector_functions):
        return ""
    size = lanes * int(dtype[1:])
    if d.declares_vectors or size == 2 * VECTOR_BITS:
        return need(function, dtype, str(lanes))
    return need(f"{function}_{VECTORS[dtype]}") if size == VECTOR_BITS else ""


def has(name: str, *about: str) -> bool:
    """Return true if a helper is a float function on registers."""
    known = (*FUNCTIONS.get(about[0], {}).values(), *(PAIRS.values() if about[0] == "f32" else ()))
    return len(about) == 2 and name in known


def piece(d: Target, need: "Callable[..., str]", name: str) -> str:
    """Return the text of a function on the machine's vectors, and request the pieces that it uses."""
    known = pieces(f"vectors{d.suffix}", "functions.c")
    assert name in known, f"gen/emit/functions.c has no piece {name}"
    found = known[name]
    d.used.update(["functions"] + ["double"] * found.doubles)
    for other in found.needs:
        need(other)
    return found.text
