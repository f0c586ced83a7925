"""Small functions of a type: pieces of the C files beside this one, with the words of the type and of a target put
in."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, Callable, Dict, List

from gen.emit.pieces import filled, needs, pieces, taken
from gen.hlo import dtypes
from gen.targets import COMPLEX, FLOATS, SIGNED, SMALL, TINY, Target, bits

Need = Callable[..., str]

_TITLES = {"to_integer": ("T", "TO"), "packed_load": ("T", "INDEX"), "packed_store": ("T", "INDEX")}
_MATH = "atan2 cbrt copysign cos cosh exp expm1 fabs fmax hypot log log1p pow rint sin sinh sqrt".split()


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
    return {**_words(d, part), "T": d.register(dtype), "REAL": d.register(part), "N": number, "PI": number(math.pi),
            "HIGH": number(high), "LOW": number(low), "UP": number(up), "DOWN": number(1 / up),
            "QUIET_NAN": lambda: d.literal(dtypes.quiet_nan(part), part)}


def scalar_function(d: Target, need: Need, name: str, *about: str) -> str:
    """A function of one number; "" where scalars.c has none. about: its type; another type, or that of an index."""
    titles = (f"{name}_{about[0]}", "_".join([name, *_TITLES.get(name, ("T",))]))
    piece = next((title for title in titles if title in pieces("scalars.c")), "")
    if not piece or (name == "narrow" and about[0] == "f16" and not d.half_by_bits):
        return ""
    if name == "narrow":
        d.used.add("f64_to_f32")
    return _function(need, "scalars.c", piece, _scalar_words(d, need, name, *about))


def _scalar_words(d: Target, need: Need, name: str, dtype: str, other: str = "") -> Dict[str, Any]:
    kind, width, size = dtypes.TABLE[dtype], dtypes.TABLE[dtype].bits, bits(dtype)
    real, raw, order = ("f64", "u64", "s64") if dtype == "f64" else ("f32", "u32", "s32")
    mask = (1 << width) - 1

    def call(function: str, x: str) -> str:
        return f"{need(function, dtype)}({x})"
    words: Dict[str, Any] = {
        **_words(d, real), **{f"{letter.upper()}{b}": d.types[f"{letter}{b}"] for letter in "su" for b in (8, 16, 32)},
        "FLOAT": dtype in FLOATS, "SIGNED": dtype in SIGNED, "TINY": dtype in TINY, "SMALL": dtype in SMALL,
        "HALF": dtype == "f16", "T": dtype, "TYPE": d.register(dtype), "WIDTH": width, "LAST_BIT": width - 1,
        "MASK": mask, "SPARE": size - width, "SPARE_UNSIGNED": size > width and dtype not in SIGNED,
        "N": lambda x: d.literal(dtypes.encode(float(x), real), real), "RAW": d.types[raw],
        "BITS_OF": lambda x: d.reinterpret(x, real, raw), "OF_BITS": lambda x: d.reinterpret(x, raw, real),
        **{of.upper(): partial(call, of) for of in ("bits", "value", "round")}}
    if name == "total_order":
        flip = "7f" if dtype in TINY else "7fff" if dtype in SMALL else f"7{'f' * (size // 4 - 1)}"
        words.update(ORDER=d.types[order], HELD=d.types["u16"] if dtype == "f16" else d.register(dtype),
                     FLIP=f"0x{flip}{d.suffix64[0] if dtype == 'f64' else ''}",
                     AS_ORDER=lambda x: d.reinterpret(x, real, order))
    elif name == "reduce_precision":
        mantissa, bias = (52, 1023) if real == "f64" else (23, 127)
        words.update(OWN_MANTISSA=kind.mantissa, OWN_BIAS=kind.bias, MANTISSA=mantissa, BIAS=bias,
                     EXPONENTS=2 * bias + 1, TOP_BIT=bits(real) - 1)
    elif name == "to_integer":
        count = dtypes.TABLE[other].bits
        low, high = (-(1 << (count - 1)), 1 << (count - 1)) if other in SIGNED else (0, 1 << count)
        suffix = "f" if real == "f32" else ""
        words.update(TO=other, RESULT=d.register(other), LEAST=f"{low}.0{suffix}", BEYOND=f"{high}.0{suffix}",
                     FIRST=d.literal(low & ((1 << count) - 1), other),
                     LAST=d.literal(high - 1 & ((1 << count) - 1), other))
    elif name in ("packed_load", "packed_store"):
        words.update(INDEX=other, AT=d.index[other], PER_BYTE=dtypes.per_byte(dtype), POINTER=lambda x: d.pointer + x)
    elif dtype not in FLOATS:
        unsigned = d.types[f"u{size}"]
        words.update(UNSIGNED=unsigned, SIGNED_TYPE=d.types[f"s{size}"], WIDE=d.types["u64" if width == 64 else "u32"],
                     NUMBER=lambda x: f"({unsigned}){x}" if width == size else f"({unsigned})({x} & {mask})")
    return words


def vector_function(d: Target, need: Need, name: str, dtype: str, lanes: int) -> str:
    """A function of the lanes of a vector."""
    def vectors(word: str) -> Any:
        return lambda *arguments: f"{word.format(lanes)}({', '.join(arguments)})"
    words = {"static inline": d.function, "LANES": lanes, "VLOAD": vectors("vload{}"), "VSTORE": vectors("vstore{}"),
             "VLOAD_HALF": vectors("vload_half{}"), "VSTORE_HALF": vectors("vstore_half{}_rte")}
    if name in ("load", "store", "stage"):
        words.update(T=dtype, ELEMENT=d.memory(dtype), VECTOR=f"{d.memory(dtype)}{lanes}", BYTES=bits(dtype) // 8)
        return _function(need, "registers.c", f"{name}_T_LANES", words)
    known = {"f16": ("bits", "value", "round"), "bf16": ("round", "round_plain")}
    assert name in known.get(dtype, ()), (name, dtype)
    words.update(
        T=dtype, HALF=dtype == "f16", FLOAT_VECTOR=d.register("f32", lanes), BITS_OF=lambda x: d.reinterpret(x, "f32", "u32", lanes),
        OF_BITS=lambda x: d.reinterpret(x, "u32", "f32", lanes), CHOOSE=lambda *x: d.choose("u32", lanes, *x),
        UNEQUAL=lambda a, b: d.compared("f32", lanes, a, "!=", b),
        **{f"U{size}_VECTOR": partial(d.register, f"u{size}", lanes) for size in (16, 32)})
    return _function(need, "registers.c", f"{name}_T_LANES", words)


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
        about: List[str] = []
        while last in words:
            about.insert(0, str(words[last]))
            *stem, last = stem
        need("_".join([*stem, last]), *about)
    return filled(text, words)
