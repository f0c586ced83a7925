"""Small functions of a type: pieces of the C files beside this one, with the words of the type and of a target put
in."""

from __future__ import annotations

import math
from typing import Any, Callable, Dict

from gen.emit.pieces import filled, needs, pieces, taken
from gen.hlo import dtypes
from gen.targets import COMPLEX, Target

Need = Callable[..., str]

_MATH = "atan2 cbrt copysign cos cosh exp expm1 fabs fmax hypot log log1p pow rint sin sinh sqrt".split()


def has(file: str, name: str) -> bool:
    """Whether a file has a function of one type."""
    return f"{name}_T" in pieces(file)


def complex_function(d: Target, need: Need, name: str, dtype: str) -> str:
    """A function of complex numbers."""
    return _function(need, "complex.c", f"{name}_T", _complex_words(d, dtype))


def complex_conversion(d: Target, need: Need, dtype: str, to: str) -> str:
    """The conversion of a number to a complex type."""
    if dtype in ("f64", "c128") and to == "c64":
        d.used.add("f64_to_f32")
    words = {**_complex_words(d, to), "FROM": dtype, "SOURCE": d.register(dtype), "COMPLEX_SOURCE": dtype in COMPLEX}
    return _function(need, "complex.c", "convert_FROM_T", words)


def _complex_words(d: Target, dtype: str) -> Dict[str, Any]:
    part = str(dtypes.TABLE[dtype].part)

    def number(value: Any) -> str:
        return d.literal(dtypes.encode(float(value), part), part)
    high, low, up = (2.0**126, 2.0**-102, 2.0**47) if part == "f32" else (2.0**1022, 2.0**-969, 2.0**105)
    return {**_words(d, part), "T": dtype, "REAL": d.register(part), "N": number, "PI": number(math.pi),
            "HIGH": number(high), "LOW": number(low), "UP": number(up), "DOWN": number(1 / up),
            "QUIET_NAN": lambda: d.literal(dtypes.quiet_nan(part), part)}


def _words(d: Target, real: str) -> Dict[str, Any]:
    """What all functions say; real: the type of floats that the target's functions take."""
    return {"static inline": d.function, "PRED": d.register("pred"), "MUL": lambda a, b: d.product(a, b, real),
            **{name.upper(): d.math(name, real) for name in _MATH}}


def _function(need: Need, file: str, name: str, words: Dict[str, Any]) -> str:
    """A piece with its words, after those that it calls: these have the same words at the end of their names."""
    known = pieces(file)
    text = taken(known[name].text, words)
    for other in needs(name, text, known):
        *stem, last = other.split("_")
        about = []
        while last in words:
            about.insert(0, str(words[last]))
            *stem, last = stem
        need("_".join([*stem, last]), *about)
    return filled(text, words)
