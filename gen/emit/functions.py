"""Functions of floats on vectors: pieces of functions.c, and of the file beside it that says what a language's vectors
are."""

from __future__ import annotations

from typing import Callable, Mapping

from gen.emit.pieces import pieces
from gen.schedule import VECTOR_BITS
from gen.targets import Target

# The functions of functions.c by type and opcode, and its vectors by type. more, less: the one of two that is more, or
# less; the second where neither is.
FUNCTIONS: Mapping[str, Mapping[str, str]] = {
    "f32": {"exponential": "exp", "exponential-minus-one": "expm1", "log": "log", "log-plus-one": "log1p",
            "logistic": "logistic", "tanh": "tanh", "erf": "erf", "sine": "sin", "cosine": "cos", "tan": "tan",
            "rsqrt": "rsqrt", "cbrt": "cbrt", "power": "pow", "atan2": "atan2", "round-nearest-even": "rint",
            "round-nearest-afz": "round", "floor": "floor", "ceil": "ceil", "maximum": "maximum", "minimum": "minimum",
            "more": "more", "less": "less", "sqrt": "sqrt"},
    "f64": {"exponential": "exp", "log": "log", "tanh": "tanh", "erf": "erf", "rsqrt": "rsqrt", "sqrt": "sqrt"}}
VECTORS = {"f32": "floats", "f64": "doubles"}
PAIRS = {("sine", "cosine"): "sincos"}     # two functions of one argument by one; the second result through a pointer
BINARY = ("pow", "atan2", "maximum", "minimum", "more", "less")
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
    """Whether a small function is one of these."""
    known = (*FUNCTIONS.get(about[0], {}).values(), *(PAIRS.values() if about[0] == "f32" else ())) if about else ()
    return not about or (len(about) == 2 and name in known)


def helper(d: Target, need: "Callable[..., str]", name: str, *about: str) -> str:
    """A piece, after the pieces that it names; or a function on registers of a type and lanes, by one on the machine's
    vectors."""
    if not about:
        piece = pieces(f"vectors{d.suffix}", "functions.c")[name]
        d.used.update(["functions"] + ["double"] * piece.doubles)
        for other in piece.needs:
            need(other)
        return piece.text
    vector, register = VECTORS[about[0]], d.register(about[0], int(about[1]))
    function, sides = need(f"{name}_{vector}"), ("x", "y") if name in BINARY else ("x",)
    pair = name in PAIRS.values()
    head = f"{d.function} {register} {name}_{'_'.join(about)}({', '.join(f'{register} {side}' for side in sides)}"
    head += f", {register} *y)\n{{\n" if pair else ")\n{\n"
    if pair and not d.declares_vectors:
        return (f"{head}  {vector} low, high;\n"
                f"  const {register} all = ({register})({function}(x.lo, &low), {function}(x.hi, &high));\n"
                f"  *y = ({register})(low, high);\n  return all;\n}}\n")
    if not d.declares_vectors:
        low, high = (", ".join(f"{side}.{half}" for side in sides) for half in ("lo", "hi"))
        return f"{head}  return ({register})({function}({low}), {function}({high}));\n}}\n"
    parts = ", ".join(f"{side}_in.part[i]" for side in sides) + (", &y_out.part[i]" if pair else "")
    unions = ", ".join(f"{side}_in = {{{side}}}" for side in sides) + (", y_out" if pair else "")
    written = "  *y = y_out.all;\n" if pair else ""
    return (
        f"{head}  enum {{ PARTS = (sizeof({register}) + sizeof({vector}) - 1) / sizeof({vector}) }};\n"
        f"  union {{ {register} all; {vector} part[PARTS]; }} {unions};\n"
        f"  {d.unroll}\n  for (size_t i = 0; i < PARTS; ++i) x_in.part[i] = {function}({parts});\n{written}  return x_in.all;\n}}\n"
    )
