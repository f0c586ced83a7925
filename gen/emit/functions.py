"""Functions of floats on vectors: pieces of functions.c, and of the file beside it that says what a language's vectors
are."""

from __future__ import annotations

from typing import Callable, Mapping

from gen.emit.pieces import pieces
from gen.hlo.opcodes import ELEMENTWISE
from gen.schedule import VECTOR_BITS
from gen.targets import Target

VECTORS = {"f32": "floats", "f64": "doubles"}
# No ops, but forms of maximum and minimum: the one of two that is more, or less; the second where neither is.
CHOICES = ("more", "less")
_NAMES = {row.opcode: row.function or row.opcode.replace("-", "_") for row in ELEMENTWISE.values()
          if "f" in row.takes and row.result == "operand"}
# The functions of two operands.
BINARY = (*(name for opcode, name in _NAMES.items() if ELEMENTWISE[opcode].arity == 2), *CHOICES)


def _functions(vectors: str) -> "Mapping[str, str]":
    """The functions that have a piece on a kind of vectors, by opcode."""
    known = pieces("vectors.c", "functions.c")
    names = {**_NAMES, **{name: name for name in CHOICES}}
    return {opcode: name for opcode, name in names.items() if f"{name}_{vectors}" in known}


FUNCTIONS: Mapping[str, Mapping[str, str]] = {dtype: _functions(vectors) for dtype, vectors in VECTORS.items()}
PAIRS = {("sine", "cosine"): "sincos"}     # two functions of one argument by one; the second result through a pointer
# Processors have instructions for these, which are used where a language has functions of vectors. Of PoCL's, rint and
# round are 13 instructions and more.
EXACT = ("floor", "ceil", "maximum", "minimum", "more", "less", "sqrt")

def name(d: Target, need: "Callable[..., str]", opcode: str, dtype: str, lanes: int) -> str:
    """The function that computes an op on registers of f32 or f64; "" where there is none."""
    return named(d, need, FUNCTIONS.get(dtype, {}).get(opcode, ""), dtype, lanes)


def named(d: Target, need: "Callable[..., str]", function: str, dtype: str, lanes: int) -> str:
    """A function's name on registers; "" where there is none."""
    if lanes == 1 or not function or (function in EXACT and d.vector_functions):
        return ""
    size = lanes * int(dtype[1:])
    if d.declares_vectors or size == 2 * VECTOR_BITS:
        return need(function, dtype, str(lanes))
    return need(f"{function}_{VECTORS[dtype]}") if size == VECTOR_BITS else ""


def has(name: str, *about: str) -> bool:
    """Whether a small function is one of these on registers."""
    known = (*FUNCTIONS.get(about[0], {}).values(), *(PAIRS.values() if about[0] == "f32" else ()))
    return len(about) == 2 and name in known


def piece(d: Target, need: "Callable[..., str]", name: str) -> str:
    """A function on the machine's vectors, after the pieces that it names."""
    known = pieces(f"vectors{d.suffix}", "functions.c")
    assert name in known, f"gen/emit/functions.c has no piece {name}"
    found = known[name]
    d.used.update(["functions"] + ["double"] * found.doubles)
    for other in found.needs:
        need(other)
    return found.text
