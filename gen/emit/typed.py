"""Small functions for given types. Each is a piece of a C file in this folder whose words in capitals are replaced for
a type and a target.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any, Callable, Dict, List, Tuple

from gen.emit import functions
from gen.emit.pieces import filled, needs, pieces, taken
from gen.hlo import dtypes
from gen.targets import COMPLEX, FLOATS, SIGNED, SMALL, TINY, Target, bits

Need = Callable[..., str]

_TITLES = {"to_integer": ("T", "TO"), "packed_load": ("T", "INDEX"), "packed_store": ("T", "INDEX")}
_MATH = "atan2 cbrt copysign cos cosh exp expm1 fabs fmax log log1p pow rint sin sinh sqrt".split()


def complex_function(d: Target, need: Need, name: str, dtype: str) -> str:
    """Return the text of a function of complex numbers."""
    if name == "select":
        d.used.add("complex_select")
    return _function(need, "complex.c", f"{name}_T", _complex_words(d, dtype))


def complex_conversion(d: Target, need: Need, dtype: str, to: str) -> str:
    """Return the text of the conversion of a number to a complex type."""
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
    """Return the text of a scalar function. about: the type of its argument; if the function needs a second type, such
    as an index type, that type too.
    """
    titles = (f"{name}_{about[0]}", "_".join([name, *_TITLES.get(name, ("T",))]))
    piece = next((title for title in titles if title in pieces("scalars.c")), None)
    if piece is None:
        raise ValueError(f"'{name}' of {about[0]} has no text: gen/emit/scalars.c has no {' or '.join(titles)}")
    if name == "narrow" and (about[0] != "f16" or d.half_by_bits):
        d.used.add("f64_to_f32")
    return _function(need, "scalars.c", piece, _scalar_words(d, need, name, *about))


def _scalar_words(d: Target, need: Need, name: str, dtype: str, other: str = "") -> Dict[str, Any]:
    kind, width, size = dtypes.TABLE[dtype], dtypes.TABLE[dtype].bits, bits(dtype)
    real, raw, order = ("f64", "u64", "s64") if dtype == "f64" else ("f32", "u32", "s32")
    mask, half = (1 << width) - 1, dtype == "f16" and not d.half_by_bits

    def call(function: str, x: str) -> str:
        return f"{need(function, dtype)}({x})"

    def by_words(text: str, x: str) -> str:
        d.used.add("half")
        return text.format(x=x)
    words: Dict[str, Any] = {
        **_words(d, real), **{f"{letter.upper()}{b}": d.types[f"{letter}{b}"] for letter in "su" for b in (8, 16, 32, 64)},
        "FLOAT": dtype in FLOATS, "SIGNED": dtype in SIGNED, "LONG": width == 64, "TINY": dtype in TINY, "SMALL": dtype in SMALL,
        "HALF": dtype == "f16", "HALF_BY_BITS": d.half_by_bits, "HALF_STORED": half and not d.half_bits,
        "HALF_WORDS": half and bool(d.half_bits), "ODD": not half, "HALF_VALUE": partial(by_words, d.half_value),
        "HALF_BITS": partial(by_words, d.half_bits), "HALF_NARROWED": partial(by_words, d.half_narrowed), "T": dtype, "TYPE": d.register(dtype), "WIDTH": width, "LAST_BIT": width - 1,
        "MASK": mask, "SPARE": size - width, "SPARE_UNSIGNED": size > width and dtype not in SIGNED,
        "N": lambda x: d.literal(dtypes.encode(float(x), real), real), "RAW": d.types[raw],
        "BITS_OF": lambda x: d.reinterpret(x, real, raw), "OF_BITS": lambda x: d.reinterpret(x, raw, real),
        **{of.upper(): partial(call, of) for of in ("bits", "value", "round")}}
    if name == "total_order":
        flip = "7f" if dtype in TINY else "7fff" if dtype in SMALL else f"7{'f' * (size // 4 - 1)}"
        words.update(SCALE=kind.style == "scale", FNUZ=kind.style == "fnuz", ORDER=d.types[order], HELD=d.types["u16"] if dtype == "f16" else d.register(dtype),
                     FLIP=f"0x{flip}{d.suffix64[0] if dtype == 'f64' else ''}",
                     AS_ORDER=lambda x: d.reinterpret(x, real, order))
    elif name == "reduce_precision":
        mantissa, bias = (52, 1023) if real == "f64" else (23, 127)
        words.update(OWN_MANTISSA=kind.mantissa, OWN_BIAS=kind.bias, MANTISSA=mantissa, BIAS=bias,
                     EXPONENTS=2 * bias + 1, TOP_BIT=bits(real) - 1)
    elif name == "to_integer":
        words.update(_limits(d, other, "f" if real == "f32" else ""), TO=other, RESULT=d.register(other))
    elif name in ("packed_load", "packed_store"):
        words.update(INDEX=other, AT=d.index[other], PER_BYTE=dtypes.per_byte(dtype), POINTER=lambda x: d.pointer + x)
    elif dtype in TINY:
        words.update(_of_tiny(d, dtype))
    elif dtype not in FLOATS:
        unsigned = d.types[f"u{size}"]
        words.update(UNSIGNED=unsigned, SIGNED_TYPE=d.types[f"s{size}"], WIDE=d.types["u64" if width == 64 else "u32"],
                     NUMBER=lambda x: f"({unsigned}){x}" if width == size else f"({unsigned})({x} & {mask})")
    return words


def _of_mad(d: Target, dtype: str, lanes: int) -> Dict[str, Any]:
    """Return the replacements for the words in the text of a multiply-add. Some of them are names of the machine's
    intrinsics; only languages with intrinsics use these.
    """
    size, double = bits(dtype) // 8 * lanes, dtype == "f64"
    words: Dict[str, Any] = {"static inline": d.inlined or d.function, "VECTOR": d.register(dtype, lanes),
                             "INTEGERS": dtype == "s32", "BY_PRAGMA": not d.declares_vectors}
    if words["INTEGERS"]:
        return {**words, "AS_SIGNED": lambda x: d.reinterpret(x, "u32", "s32", lanes),
                "AS_UNSIGNED": lambda x: d.reinterpret(x, "s32", "u32", lanes)}
    if d.declares_vectors:
        d.used.add("intrinsics")
    return {**words, "MACHINE": "__AVX512F__" if size == 64 else "__FMA__", "NEON": size == 16,
            "MACHINE_VECTOR": f"__m{8 * size}{'d' * double}",
            "FUSED": f"_mm{'' if size == 16 else 8 * size}_fmadd_p{'sd'[double]}",
            "NEON_FUSED": f"vfmaq_f{bits(dtype)}", "NEON_VECTOR": f"float{bits(dtype)}x{lanes}_t"}


def limits(dtype: str) -> "Tuple[int, int]":
    """Return the minimum and the maximum of an integer type."""
    high = (1 << (dtypes.TABLE[dtype].bits - (dtype in SIGNED))) - 1
    return (-high - 1 if dtype in SIGNED else 0), high


def _limits(d: Target, dtype: str, suffix: str) -> Dict[str, Any]:
    """Return the replacements for the words that stand for an integer type's limits.

    LEAST, MOST and BEYOND are floats: the minimum, the maximum, and the maximum plus 1. FIRST and LAST are literals of
    the integer type: the minimum and the maximum.
    """
    low, high = limits(dtype)
    mask = (1 << dtypes.TABLE[dtype].bits) - 1
    return {"LEAST": f"{low}.0{suffix}", "MOST": f"{high}.0{suffix}", "BEYOND": f"{high + 1}.0{suffix}",
            "FIRST": d.literal(low & mask, dtype), "LAST": d.literal(high & mask, dtype)}


def _of_tiny(d: Target, dtype: str) -> Dict[str, Any]:
    """Return the replacements for the words that stand for properties of a float type of at most 8 bits, such as SIGN
    and LARGEST.
    """
    kind = dtypes.TABLE[dtype]
    m, drop, exponents = kind.mantissa, 23 - kind.mantissa, (1 << kind.exponent) - 1

    def real(value: float) -> str:
        return d.literal(dtypes.encode(value, "f32"), "f32")
    return {**{style.upper(): kind.style == style for style in ("ieee", "fn", "fnuz", "finite", "scale")},
            "TOP": f"{(1 << (kind.exponent + m)) - 1:#x}u", "SIGN": f"{1 << (kind.bits - 1):#x}u",
            "MINUS_ZERO": f"{1 << (kind.bits - 1):#x}", "INFINITE": f"{exponents << m:#x}u",
            "LARGEST": f"{dtypes.largest_finite(dtype):#x}u", "DROP": drop, "LEAST_NORMAL": f"{1 << m}u",
            "UNIT": real(2.0 ** (1 - kind.bias - m)), "UNITS": real(2.0 ** (kind.bias - 1 + m)),
            "NORMAL_FLOAT": f"{(128 - kind.bias) << 23:#x}u", "REBIAS": f"{(127 - kind.bias) << 23:#x}u",
            "BELOW_HALF": f"{(1 << (drop - 1)) - 1:#x}u", "PAYLOAD": f"{(1 << m) - 1}u", "QUIET": f"{1 << m >> 1}u"}


def vector_function(d: Target, need: Need, name: str, dtype: str, lanes: int, to: str = "") -> str:
    """Return the text of a function of vectors. to: the type of its result, if that is part of the function's name."""
    words = {"static inline": d.function, "LANES": lanes, "T": dtype}
    if name in ("load", "store", "fetch", "stage"):
        def vectors(word: str, *arguments: str) -> str:
            return f"{word}{lanes}({', '.join(arguments)})"
        words.update(ELEMENT=d.memory(dtype), VECTOR=f"{d.memory(dtype)}{lanes}", BYTES=bits(dtype) // 8,
                     VLOAD=partial(vectors, "vload"), VSTORE=partial(vectors, "vstore"))
        return _function(need, "registers.c", f"{name}_T_LANES", words)
    if name == "mad":
        return _function(need, "registers.c", "mad_T_LANES", {**words, **_of_mad(d, dtype, lanes)})
    if name == "total_order":
        last = d.register_bits(dtype) - 1
        order = f"s{last + 1}"
        words.update(LAST_BIT=last, FLOAT_VECTOR=d.register(dtype, lanes), ORDER_VECTOR=d.register(order, lanes),
                     FLIP=d.splat(order, lanes, d.literal((1 << last) - 1, order)),
                     AS_ORDER=lambda x: d.reinterpret(x, f"f{last + 1}", order, lanes))
        return _function(need, "registers.c", "total_order_T_LANES", words)
    if dtype in TINY:
        to, source = {"value": ("f32", "u8"), "bits": ("u8", "f32"), "round": ("f32", "f32")}[name]
        words.update(BY_LANES=name, RESULT=d.register(to), SOURCE=d.register(source),
                     RESULT_VECTOR=d.register(to, lanes), SOURCE_VECTOR=d.register(source, lanes),
                     SCATTER=partial(d.scatter, source, lanes), GATHER=partial(d.gather, to, lanes),
                     FUNCTION=lambda x: f"{need(name, dtype)}({x})")
        return _function(need, "registers.c", "BY_LANES_T_LANES", words)
    known = {"f16": ("bits", "value", "round"), "bf16": ("round", "round_plain"),
             "f32": ("to_integer", "to_integer_within")}
    assert name in known.get(dtype, ()), (name, dtype)
    words.update(_of_vectors(d, lanes), HALF=dtype == "f16", BY_BITS=dtype == "f16" and d.half_by_bits,
                 **({} if (lanes == 16 and d.half_by_bits) or (dtype == "f16" and not d.half_by_bits)
                    else {"__AVX512F__": False, "__F16C__": False}))
    if lanes == 16 and d.half_by_bits and (name == "to_integer_within" or dtype == "f16" and name != "round"):
        d.used.add("intrinsics")
    if to:
        words.update(_limits(d, to, "f"), TO=to, RESULT=d.register(to, lanes), SHORT=bits(to) < 32,
                     NARROWED=partial("_mm512_cvtepi32_epi{}({})".format, bits(to)),
                     CHOOSE_RESULT=partial(d.choose, to, lanes), RESULTS=partial(d.splat, to, lanes),
                     TO_RESULT=partial(d.convert, to, lanes), SMALLER=partial(nearer, d, need, "minimum", lanes),
                     LARGER=partial(nearer, d, need, "maximum", lanes),
                     WITHIN=lambda x: f"{need('to_integer_within', dtype, to, str(lanes))}({x})",
                     INTEGERS=lambda x: widened(d, 32, to, d.convert("s32", lanes, x), lanes))
    return _function(need, "registers.c", f"{name}_T{'_TO' * bool(to)}_LANES", words)


def _of_vectors(d: Target, lanes: int) -> Dict[str, Any]:
    """Return the replacements for the words in C text that stand for vectors of f32 and of 32-bit and 16-bit integers,
    and for operations on them.
    """
    def word(word_: str, *arguments: str) -> str:
        return f"{word_}({', '.join(arguments)})"

    def compared(dtype: str, sign: str, a: str, b: str) -> str:
        return d.compared(dtype, lanes, a, sign, b)
    return {"FLOAT_VECTOR": d.register("f32", lanes), "BITS_OF": lambda x: d.reinterpret(x, "f32", "u32", lanes),
            "OF_BITS": lambda x: d.reinterpret(x, "u32", "f32", lanes), "CHOOSE": partial(d.choose, "u32", lanes),
            "CHOOSE_FLOAT": partial(d.choose, "f32", lanes), "SPLAT": partial(d.splat, "u32", lanes),
            "FLOATS": partial(d.splat, "f32", lanes), "TO_U32": partial(d.convert, "u32", lanes),
            "TO_U16": partial(d.convert, "u16", lanes), "BELOW": partial(compared, "u32", "<"),
            "ABOVE": partial(compared, "u32", ">"), "UNEQUAL": partial(compared, "f32", "!="),
            "EQUAL": partial(compared, "f32", "=="), "FLOAT_BELOW": partial(compared, "f32", "<"),
            "AT_LEAST": partial(compared, "f32", ">="), "VSTORE": partial(word, f"vstore{lanes}"),
            "VLOAD": partial(word, f"vload{lanes}"), "VLOAD_HALF": partial(word, f"vload_half{lanes}"),
            "VSTORE_HALF": partial(word, f"vstore_half{lanes}_rte"),
            **{f"U{size}_VECTOR": partial(d.register, f"u{size}", lanes) for size in (16, 32)}}


def by_vectors(d: Target, need: Need, name: str, dtype: str, lanes: int) -> str:
    """Return the text of a function on registers. It calls a function of functions.c on the machine's vectors."""
    vector = functions.VECTORS[dtype]
    called = need(f"{name}_{vector}")
    by = "BY_PARTS" if d.declares_vectors else "BY_HALVES"
    words = {"static inline": d.function, by: name, "T": dtype, "LANES": lanes, "VECTOR": vector,
             "REGISTER": d.register(dtype, lanes), "PAIR": name in functions.PAIRS.values(),
             "BINARY": name in functions.BINARY, "UNROLL": d.unroll if d.declares_vectors else "",
             "FUNCTION": lambda *x: f"{called}({', '.join(x)})"}
    return _function(need, "registers.c", f"{by}_T_LANES", words)


def nearer(d: Target, need: Need, opcode: str, lanes: int, number: str, x: str) -> str:
    """Return C text of the maximum or the minimum of a number and x, both f32. The result is x if x is NaN, so x86
    needs only one instruction.
    """
    own = functions.name(d, need, "more" if opcode == "maximum" else "less", "f32", lanes)
    sign = ">" if opcode == "maximum" else "<"
    return f"{own}({number}, {x})" if own else d.choose("f32", lanes, d.compared("f32", lanes, number, sign, x), number,
                                                        x)


def widened(d: Target, width: int, to: str, x: str, lanes: int) -> str:
    """Return integer registers of `width` bits converted to another type. The width is doubled or halved in each step,
    because gcc converts by a larger factor lane by lane.
    """
    last = d.register_bits(to)
    while width * 2 < last or width > last * 2:
        width = width * 2 if width < last else width // 2
        x = d.convert(f"s{width}", lanes, x)
    return d.convert(to, lanes, x)


def _words(d: Target, real: str) -> Dict[str, Any]:
    """Return the replacements for the words that all functions share. real: the float type of the language's library
    functions.
    """
    return {"static inline": d.function, "PRED": d.register("pred"), "MUL": lambda a, b: d.product(a, b, real),
            "HYPOT": lambda a, b: d.hypotenuse(a, b, real), **{name.upper(): d.math(name, real) for name in _MATH}}


def _function(need: Need, file: str, name: str, words: Dict[str, Any]) -> str:
    """Return a piece with its words replaced, and request the pieces that it calls. If the name of a called piece ends
    with words such as T and LANES, the replacements of these words are passed to `need`.
    """
    known = pieces(file)
    assert name in known, f"gen/emit/{file} has no function {name}"
    text = taken(known[name].text, words)
    for other in needs(name, text, known):
        *stem, last = other.split("_")
        about: List[str] = []
        while last in words:
            about.insert(0, str(words[last]))
            *stem, last = stem
        need("_".join([*stem, last]), *about)
    return filled(text, words)
