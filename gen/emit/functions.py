"""Functions of floats on vectors: pieces of functions.c, and of the file that defines a language's vectors."""

from __future__ import annotations

from typing import Callable, Mapping

from gen.emit.pieces import pieces
from gen.hlo.opcodes import ELEMENTWISE
from gen.schedule import VECTOR_BITS
from gen.targets import Target

VECTORS = {"f32": "floats", "f64": "doubles"}
# These are not ops but forms of maximum and minimum: the result is the larger, or the smaller, of two values; it is
# the second value if neither is larger
CHOICES = ("more", "less")
_NAMES = {row.opcode: row.function or row.opcode.replace("-", "_") for row in ELEMENTWISE.values()
          if "f" in row.takes and row.result == "operand"}
# the functions of two arguments
BINARY = (*(name for opcode, name in _NAMES.items() if ELEMENTWISE[opcode].arity == 2), *CHOICES)


def _functions(vectors: str) -> "Mapping[str, str]":
    """Return the functions that have a piece for a kind of vectors, by opcode."""
    known = pieces("vectors.c", "functions.c")
    names = {**_NAMES, **{name: name for name in CHOICES}}
    return {opcode: name for opcode, name in names.items() if f"{name}_{vectors}" in known}


FUNCTIONS: Mapping[str, Mapping[str, str]] = {dtype: _functions(vectors) for dtype, vectors in VECTORS.items()}
# pairs of functions of one argument that one function computes together; the second result goes through a pointer
PAIRS = {("sine", "cosine"): "sincos"}
# Processors have instructions for these ops, which are used if the language's functions take vectors. (In PoCL, rint
# and round take 13 instructions or more, so they are not listed.)
EXACT = ("floor", "ceil", "maximum", "minimum", "more", "less", "sqrt")

def name(d: Target, need: "Callable[..., str]", opcode: str, dtype: str, lanes: int) -> str:
    """Return the name of the function that computes an op on registers of f32 or f64, or ""."""
    return named(d, need, FUNCTIONS.get(dtype, {}).get(opcode, ""), dtype, lanes)


def named(d: Target, need: "Callable[..., str]", function: str, dtype: str, lanes: int) -> str:
    """Return the name of a function on registers, or ""."""
    if lanes == 1 or not function or (function in EXACT and d.vector_functions):
        return ""
    size = lanes * int(dtype[1:])
    if d.declares_vectors or size == 2 * VECTOR_BITS:
        return need(function, dtype, str(lanes))
    return need(f"{function}_{VECTORS[dtype]}") if size == VECTOR_BITS else ""


def has(name: str, *about: str) -> bool:
    """Return true if a small function is one of these functions on registers."""
    known = (*FUNCTIONS.get(about[0], {}).values(), *(PAIRS.values() if about[0] == "f32" else ()))
    return len(about) == 2 and name in known


def piece(d: Target, need: "Callable[..., str]", name: str) -> str:
    """Return a function on the machine's vectors, after the pieces that it uses."""
    known = pieces(f"vectors{d.suffix}", "functions.c")
    assert name in known, f"gen/emit/functions.c has no piece {name}"
    found = known[name]
    d.used.update(["functions"] + ["double"] * found.doubles)
    for other in found.needs:
        need(other)
    return found.text
