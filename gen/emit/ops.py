"""What each elementwise op is in C. gen/reference says what the ops mean, gen/hlo/opcodes.py which there are; here is
how a kernel says them.

`expression` gives the text for operands in registers, scalar or wide (vectors); None where only the scalar form exists,
which is then applied lane by lane: for C that is every function of its library that functions.c does not have. Small
functions that a form needs are named through `need` and printed by `helper`; most are pieces of C files (typed.py).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Callable, Mapping, Optional, Sequence, Tuple

from gen.emit import functions, typed
from gen.emit.values import Value
from gen.hlo import dtypes
from gen.hlo.opcodes import ELEMENTWISE, Elementwise
from gen.targets import COMPLEX, FLOATS, NARROW, SIGNED, SMALL, TINY, Target, bits

Need = Callable[..., str]

SMALL_INTEGERS = ("s8", "u8", "s16", "u16")
_COMPARE = {"EQ": "==", "NE": "!=", "LT": "<", "LE": "<=", "GT": ">", "GE": ">="}


def row(opcode: str) -> Elementwise:
    """What the table says of an elementwise op; a bitcast that keeps the width is one."""
    return ELEMENTWISE["bitcast-convert" if opcode == "bitcast" else opcode]


def rounds(opcode: str, dtype: str) -> bool:
    """Whether an op's float result must be rounded to its small type."""
    return dtype in SMALL + TINY and dtypes.TABLE[dtype].bits <= row(opcode).rounds


def expression(d: Target, need: Need, opcode: str, attributes: Mapping[str, Any], to: str, sources: Sequence[str],
               x: Sequence[str], lanes: int) -> Optional[str]:
    """C text of an op on registers x of the types `sources`, giving a register of type `to`, not yet rounded to a small
    type."""
    if to in NARROW and row(opcode).wraps:     # done in a byte; its low bits are the answer's
        text = _expression(d, need, opcode, attributes, to, sources, x, 1) if lanes == 1 else None
        return text and f"{need('wrap', to)}({text})"
    return _expression(d, need, opcode, attributes, to, sources, x, lanes)


def _expression(d: Target, need: Need, opcode: str, attributes: Mapping[str, Any], to: str, sources: Sequence[str],
                x: Sequence[str], lanes: int) -> Optional[str]:
    dtype = sources[-1]
    if dtype in COMPLEX or to in COMPLEX:
        return _complex(need, opcode, attributes, to, sources, x)
    if opcode == "compare":
        return _compare(d, need, attributes, sources[0], x, lanes)
    if opcode == "select":
        if lanes == 1:
            return f"{x[0]} ? {x[1]} : {x[2]}"
        return d.choose(to, lanes, f"-{_wide(d, 8, f's{d.register_bits(to)}', x[0], lanes)}", x[1], x[2])
    if opcode == "convert":
        return _convert(d, need, dtype, to, x[0], lanes)
    if opcode == "copy":
        return x[0]
    if opcode in ("bitcast", "bitcast-convert"):
        return _bits(d, need, dtype, to, x[0], lanes)
    if opcode == "is-finite":
        if lanes == 1:
            return f"({d.register('pred')})(isfinite({x[0]}) != 0)"
        finite = d.finite(x[0], dtype, lanes) or d.compared(dtype, lanes, _magnitude(d, dtype, x[0], lanes), "<",
                                                           d.splat(dtype, lanes, "INFINITY"))
        return _wide(d, d.register_bits(dtype), "pred", f"-{finite}", lanes)
    if opcode == "reduce-precision":
        if lanes > 1:
            return None
        return (
            f"{need('reduce_precision', dtype)}({x[0]}, {attributes['exponent_bits']}, {attributes['mantissa_bits']})"
        )
    if opcode == "clamp":
        high = expression(d, need, "maximum", {}, to, (dtype, dtype), (x[1], x[0]), lanes)
        if dtype == "pred":
            return (
                f"({d.register('pred', lanes)})(({x[0]} | {x[1]}) & {x[2]})"
                if lanes == 1
                else f"({x[0]} | {x[1]}) & {x[2]}"
            )
        if lanes == 1:
            return f"{need('minimum', dtype)}({high}, {x[2]})"
        return expression(d, need, "minimum", {}, to, (dtype, dtype), (f"({high})", x[2]), lanes)
    if dtype in FLOATS:
        return _float(d, need, opcode, dtype, x, lanes)
    if dtype == "pred":
        return _pred(d, opcode, x, lanes)
    return _integer(d, need, opcode, dtype, x, lanes)


def constant(d: Target, pattern: int, dtype: str) -> Value:
    """The value of a bit pattern."""
    number = dtypes.decode_real(pattern, dtype) if dtype in ("f32", "s32") else None
    value = Value(d.literal(pattern, dtype), dtype)
    if number is None or not math.isfinite(number):
        return value
    return replace(value, within=(float(number), float(number)), nan=False)


def bounds(opcode: str, to: str, sources: Sequence[str],
           x: Sequence[Value]) -> "Tuple[Optional[Tuple[float, float]], bool]":
    """What is known of a result: its least and most unless it is a NaN, and whether it may be one."""
    some = [v.within for v in x]
    nan = any(v.nan for v in x)
    if to == "f32" and set(sources) == {"f32"} and len(some) == 2 and opcode in ("maximum", "minimum") and any(some):
        (a, b), sign = (within or (-math.inf, math.inf) for within in some), max if opcode == "maximum" else min
        return (sign(a[0], b[0]), sign(a[1], b[1])), nan
    within = some[0] if len(some) == 1 else None
    if within and opcode in ("round-nearest-even", "round-nearest-afz", "floor", "ceil") and math.isfinite(sum(within)):
        return (math.floor(within[0]), math.ceil(within[1])), nan
    if within and opcode == "convert" and to == "f32" and sources[0] == "s32" and max(map(abs, within)) <= 1 << 24:
        return within, False
    return None, True


def bounded(d: Target, need: Need, opcode: str, to: str, sources: Sequence[str], x: Sequence[Value],
            texts: Sequence[str], lanes: int) -> Optional[str]:
    """An op on vectors of floats of which something is known: the larger of a number and of what may be a NaN is one
    comparison, and what fits in integers needs no tests to become one."""
    if opcode in ("maximum", "minimum") and to == "f32":
        for n in (0, 1):
            # of equals it is the second one: the first operand, as HLO wants of zeros
            if x[n].known or (x[n].known is not None and n == 1):
                return _nearer(d, need, opcode, lanes, texts[n], texts[1 - n])
    within = x[0].within if len(x) == 1 else None
    if within and opcode == "convert" and sources[0] == "f32" and to in SMALL_INTEGERS:
        low, high = limits(to)
        if low - 1 < within[0] and within[1] < high + 1:
            return f"{need('to_integer_within', 'f32', to, str(lanes))}({texts[0]})"
    return None


def _nearer(d: Target, need: Need, opcode: str, lanes: int, number: str, x: str) -> str:
    """The maximum, or minimum, of a number and of x, which may be a NaN, of f32: an instruction of x86."""
    own = functions.name(d, need, "more" if opcode == "maximum" else "less", "f32", lanes)
    sign = ">" if opcode == "maximum" else "<"
    return f"{own}({number}, {x})" if own else d.choose("f32", lanes, d.compared("f32", lanes, number, sign, x), number,
                                                                  x)


def limits(dtype: str) -> Tuple[int, int]:
    """The least and the greatest integer of a type."""
    high = (1 << (bits(dtype) - (dtype in SIGNED))) - 1
    return (-high - 1 if dtype in SIGNED else 0), high


def _complex(need: Need, opcode: str, attributes: Mapping[str, Any], to: str, sources: Sequence[str],
             x: Sequence[str]) -> str:
    dtype = sources[-1]
    if opcode in ("real", "imag"):
        return f"{x[0]}.{'re' if opcode == 'real' else 'im'}"
    if opcode == "select":
        return f"{x[0]} ? {x[1]} : {x[2]}"
    if opcode == "copy" or (opcode in ("convert", "bitcast", "bitcast-convert") and dtype == to):
        return x[0]
    if opcode == "convert":
        return f"{need('convert', dtype, to)}({x[0]})"
    if opcode == "complex":
        return f"{need('complex', to)}({x[0]}, {x[1]})"
    if opcode == "compare":
        return f"{'!' if attributes['direction'] == 'NE' else ''}{need('equal', dtype)}({x[0]}, {x[1]})"
    if opcode == "clamp":
        return f"{need('minimum', dtype)}({need('maximum', dtype)}({x[1]}, {x[0]}), {x[2]})"
    return f"{need(opcode.replace('-', '_'), dtype)}({', '.join(x)})"


def _compare(d: Target, need: Need, attributes: Mapping[str, Any], dtype: str, x: Sequence[str],
             lanes: int) -> Optional[str]:
    sign = _COMPARE[attributes["direction"]]
    if attributes.get("type") == "TOTALORDER" and dtype in FLOATS:
        if lanes > 1:
            return None
        x = [f"{need('total_order', dtype)}({v})" for v in x]
    if lanes == 1:
        return f"({d.register('pred')})({x[0]} {sign} {x[1]})"
    return _wide(d, d.register_bits(dtype), "pred", f"-{d.compared(dtype, lanes, x[0], sign, x[1])}", lanes)


def mask(d: Target, attributes: Mapping[str, Any], dtype: str, x: Sequence[str], lanes: int) -> Optional[str]:
    """A comparison of vectors: -1 where it is true, in signed integers as wide as the operands. None: there is none."""
    if dtype in COMPLEX or (attributes.get("type") == "TOTALORDER" and dtype in FLOATS):
        return None
    return d.compared(dtype, lanes, x[0], _COMPARE[attributes["direction"]], x[1])


def of_mask(d: Target, width: int, text: str, lanes: int) -> str:
    """A mask of signed integers of `width` bits as predicates in bytes, 0 and 1."""
    return _wide(d, width, "pred", f"-{text}", lanes)


def resized(d: Target, width: int, to: int, text: str, lanes: int) -> str:
    """A mask of signed integers of `width` bits as one of `to` bits."""
    return text if width == to else _wide(d, width, f"s{to}", text, lanes)


def converted_mask(d: Target, width: int, to: str, text: str, lanes: int) -> str:
    """A mask of signed integers of `width` bits as numbers, 0 and 1: the bits of 1 where it is set."""
    last = d.register_bits(to)
    integer, true = f"s{last}", dtypes.encode(1.0, f"f{last}") if to in FLOATS else 1
    return d.reinterpret(f"{resized(d, width, last, text, lanes)} & {d.splat(integer, lanes, d.literal(true, integer))}",
                         integer, to, lanes)


def _convert(d: Target, need: Need, dtype: str, to: str, x: str, lanes: int) -> Optional[str]:
    register = d.register(to, lanes)
    if dtype == to:
        return x
    if to == "pred":
        if lanes == 1:
            return f"({register})({x} != 0)"
        true = d.compared(dtype, lanes, x, "!=", d.splat(dtype, lanes, "0"))
        return _wide(d, d.register_bits(dtype), "pred", f"-{true}", lanes)
    if dtype in FLOATS and to in FLOATS:
        if dtype == "f64" and (to in SMALL or to in TINY):
            return f"{need('narrow', to)}({x})" if lanes == 1 else None
        if d.register(dtype) == d.register(to):
            return x
        if dtype == "f64":
            d.used.add("f64_to_f32")
        return f"({register}){x}" if lanes == 1 else d.convert(to, lanes, x)
    if dtype in FLOATS:
        if lanes == 1:
            return f"{need('to_integer', dtype, to)}({x})"
        wide = d.register_bits(dtype) == 32 and to not in NARROW and (bits(to) < 32 or to == "s32")
        return f"{need('to_integer', 'f32', to, str(lanes))}({x})" if wide else None
    return f"({register}){x}" if lanes == 1 else _wide(d, d.register_bits(dtype), to, x, lanes)


def _wide(d: Target, width: int, to: str, x: str, lanes: int) -> str:
    """Registers of integers of `width` bits as another type: by twice or half of the width at a time, as gcc takes
    longer ways lane by lane."""
    last = d.register_bits(to)
    while width * 2 < last or width > last * 2:
        width = width * 2 if width < last else width // 2
        x = d.convert(f"s{width}", lanes, x)
    return d.convert(to, lanes, x)


def _bits(d: Target, need: Need, dtype: str, to: str, x: str, lanes: int) -> Optional[str]:
    if dtype == to:
        return x
    if dtype in TINY or to in TINY:
        if lanes > 1:
            return None
        x = f"{need('bits', dtype)}({x})" if dtype in TINY else f"({d.types['u8']}){x}"
        if to in TINY:
            low = f" & {(1 << dtypes.TABLE[to].bits) - 1}" if to in dtypes.PACKED else ""
            return f"{need('value', to)}(({d.types['u8']})({x}{low}))"
        return f"({d.register(to)}){x}"
    if dtype in NARROW:
        return f"({d.register(to)}){x}" if lanes == 1 else None
    if dtype in SMALL or to in SMALL:
        if lanes > 1:
            return None
        x = f"{need('bits', dtype)}({x})" if dtype in SMALL else x
        if to in SMALL:
            return f"{need('value', to)}(({d.types['u16']}){x})"
        return f"({d.register(to)}){x}"
    return d.reinterpret(x, dtype, to, lanes)


def _float(d: Target, need: Need, opcode: str, dtype: str, x: Sequence[str], lanes: int) -> Optional[str]:
    single = d.register(dtype) == "float"
    if opcode == "multiply":
        return d.product(x[0], x[1], dtype)
    about = row(opcode)
    if about.operator:
        return f"{x[0]} {about.operator} {x[1]}"
    if opcode in ("maximum", "minimum"):
        if lanes == 1:
            return f"{need(opcode, dtype)}({x[0]}, {x[1]})"
        own = functions.name(d, need, opcode, "f64" if dtype == "f64" else "f32", lanes)
        if own:
            return f"{own}({x[0]}, {x[1]})"
        a, b, sign = *x, ">" if opcode == "maximum" else "<"
        more = d.choose(dtype, lanes, d.compared(dtype, lanes, b, sign, a), b, a)   # an instruction of x86 and of PTX
        return d.choose(dtype, lanes, d.compared(dtype, lanes, b, "==", b), f"({more})", b)
    if opcode == "negate":
        return f"-{x[0]}"
    if opcode == "sign":
        return f"{need('sign', dtype)}({x[0]})" if lanes == 1 else _sign(d, dtype, x[0], lanes)
    real = "f64" if dtype == "f64" else "f32"
    own = functions.name(d, need, opcode, real, lanes)
    if own:
        return f"{own}({', '.join(x)})"
    exponential = functions.name(d, need, "exponential", real, lanes) if opcode == "logistic" and lanes > 1 else ""
    if exponential:
        unity = d.splat(dtype, lanes, "1")
        return f"{unity} / ({unity} + {exponential}(-{x[0]}))"
    if not d.vector_functions and lanes > 1:
        return _magnitude(d, dtype, x[0], lanes) if opcode == "abs" else None
    # What functions.c has no vector for: PoCL's wide sine, cosine and tangent of f32 are wrong in all lanes when one of
    # them needs the long argument reduction, so is its wide power of
    # f64 at the edges of the range; its fmod of f64 does not end on some inputs (see `_remainder`).
    if lanes > 1 and real in about.scalar:
        return None
    if lanes == 1 and opcode == "power":
        return f"{need('power', dtype)}({x[0]}, {x[1]})"
    if not d.has_remainder and opcode == "remainder" and dtype == "f64":
        return f"{need('remainder', dtype)}({x[0]}, {x[1]})"
    unity = d.splat(dtype, lanes, "1") if lanes > 1 else "1.0f" if single else "1.0"
    if opcode == "logistic":
        return f"{unity} / ({unity} + {d.math('exp', dtype)}(-{x[0]}))"
    if opcode == "rsqrt" and not d.has_rsqrt:
        return f"{unity} / {d.math('sqrt', dtype)}({x[0]})"
    return f"{d.math(about.function, dtype)}({', '.join(x)})" if about.function else None


def _sign(d: Target, dtype: str, x: str, lanes: int) -> str:
    """One with the sign of x, by bits; x where it is 0 or NaN."""
    real, u = ("f64", "u64") if dtype == "f64" else ("f32", "u32")
    top, zero = d.splat(u, lanes, d.literal(1 << (bits(u) - 1), u)), d.splat(dtype, lanes, "0")
    one = d.reinterpret(d.splat(dtype, lanes, "1"), real, u, lanes)
    signed = d.reinterpret(f"({d.reinterpret(x, real, u, lanes)} & {top} | {one})", u, real, lanes)
    below, above = (d.compared(dtype, lanes, x, sign, zero) for sign in "<>")
    return d.choose(dtype, lanes, f"({below} | {above})", signed, x)


def _magnitude(d: Target, dtype: str, x: str, lanes: int) -> str:
    """|x| of floats, by bits."""
    real, u = ("f64", "u64") if dtype == "f64" else ("f32", "u32")
    number = d.splat(u, lanes, d.literal((1 << (bits(u) - 1)) - 1, u))
    return d.reinterpret(f"{d.reinterpret(x, real, u, lanes)} & {number}", u, real, lanes)


def _pred(d: Target, opcode: str, x: Sequence[str], lanes: int) -> Optional[str]:
    if opcode == "not":
        text = f"{x[0]} ^ 1" if lanes == 1 else f"{x[0]} ^ {d.splat('pred', lanes, '1')}"
    else:
        text = f"{x[0]} {row(opcode).pred_operator} {x[1]}"
    return f"({d.register('pred')})({text})" if lanes == 1 else text


def _integer(d: Target, need: Need, opcode: str, dtype: str, x: Sequence[str], lanes: int) -> Optional[str]:
    register, width = d.register(dtype, lanes), bits(dtype)
    u = f"u{width}"
    if opcode in ("and", "or", "xor"):
        text = f"{x[0]} {row(opcode).operator} {x[1]}"
        return f"({register})({text})" if lanes == 1 and width < 32 else text
    if opcode == "not":
        return f"({register})~{x[0]}" if lanes == 1 and width < 32 else f"~{x[0]}"
    if lanes > 1 and dtype in NARROW:
        return None
    if opcode in ("add", "subtract", "multiply", "negate"):
        if opcode == "negate":
            x = ["0" if lanes == 1 else d.splat(dtype, lanes, "0"), x[0]]
        symbol = row(opcode).operator or "-"
        if dtype in SIGNED and lanes > 1:
            a, b = (d.reinterpret(v, dtype, u, lanes) for v in x)
            return d.reinterpret(f"{a} {symbol} {b}", u, dtype, lanes)
        if dtype in SIGNED or (width < 32 and lanes == 1):
            wide = d.types["u64"] if width == 64 else d.types["u32"]
            return f"({register})(({wide}){x[0]} {symbol} ({wide}){x[1]})"
        return f"{x[0]} {symbol} {x[1]}"
    if opcode in ("maximum", "minimum"):
        if d.integer_functions:
            return f"{'max' if opcode == 'maximum' else 'min'}({x[0]}, {x[1]})"
        if lanes > 1:
            more = d.compared(dtype, lanes, x[0], ">" if opcode == "maximum" else "<", x[1])
            return d.choose(dtype, lanes, more, x[0], x[1])
        return f"{need(opcode, dtype)}({x[0]}, {x[1]})"
    if opcode == "abs" and dtype not in SIGNED:
        return x[0]
    if opcode == "abs" and lanes > 1:
        if d.integer_functions:
            return d.reinterpret(f"abs({x[0]})", u, dtype, lanes)
        negative = d.reinterpret(f"{d.splat(u, lanes, '0')} - {d.reinterpret(x[0], dtype, u, lanes)}", u, dtype, lanes)
        return d.choose(dtype, lanes, d.compared(dtype, lanes, x[0], "<", d.splat(dtype, lanes, "0")), negative, x[0])
    if opcode in ("shift-left", "shift-right-logical") and lanes > 1:
        a, b = (v if dtype not in SIGNED else d.reinterpret(v, dtype, u, lanes) for v in x)
        symbol = "<<" if opcode == "shift-left" else ">>"
        fits, zero = d.compared(u, lanes, b, "<", d.splat(u, lanes, str(width))), d.splat(u, lanes, "0")
        text = d.choose(u, lanes, fits, f"{a} {symbol} {b}" if d.shifts_modulo else f"{a} {symbol} ({b} & {width - 1})",
                        zero)
        return text if dtype not in SIGNED else d.reinterpret(text, u, dtype, lanes)
    if lanes > 1:
        return None
    return f"{need(opcode.replace('-', '_'), dtype)}({', '.join(x)})"


# ---- small functions ----

def helper(d: Target, need: Need, name: str, *about: str) -> str:
    """The text of a small function; `need` tells of those that it calls."""
    if functions.has(name, *about):
        return functions.helper(d, need, name, *about)
    dtype = about[0]
    title = "_".join((name, *about))
    if dtype in COMPLEX or (len(about) > 1 and about[1] in COMPLEX):
        return typed.complex_conversion(d, need, dtype, about[1]) if name == "convert" \
            else typed.complex_function(d, need, name, dtype)
    if name in ("bits", "value") and len(about) > 1 and dtype == "f16" and d.half_by_bits:
        return _half(d, name, title, int(about[1]))
    if name in ("round", "bits", "value") and len(about) > 1 and dtype in TINY:
        return _by_lanes(d, need, name, dtype, int(about[1]), title)
    if name in ("load", "store", "stage", "round", "round_plain", "bits", "value") and len(about) > 1:
        return typed.vector_function(d, need, name, dtype, int(about[1]))
    if name == "to_integer_within":
        return _to_integers_within(d, about[1], int(about[2]), title)
    if name == "to_integer" and len(about) > 2:
        return _to_integers(d, need, about[1], int(about[2]), title)
    scalar = typed.scalar_function(d, need, name, *about)
    if scalar:
        return scalar
    if name in ("round", "bits", "value") and dtype in TINY:
        return _tiny(d, need, name, dtype, title)
    if name in ("round", "bits", "value", "narrow") and dtype == "f16":
        return _half_float(d, need, name, title)
    raise ValueError(f"'{name}' of {dtype} has no form")


def _half_float(d: Target, need: Need, name: str, title: str) -> str:
    """An f16 from and to a float, by the language's own words where it has them."""
    head, u16 = d.function, d.types["u16"]
    if name == "round":
        return f"{head} float {title}(float x)\n{{\n  return {need('value', 'f16')}({need('bits', 'f16')}(x));\n}}\n"
    if d.half_by_bits:
        return _half(d, name, title, 1)
    if name == "value":
        return f"{head} float {title}({u16} x)\n{{\n  return {d.half_value('x')};\n}}\n"
    to, source = (u16, "float") if name == "bits" else ("float", "double")
    return f"{head} {to} {title}({source} x)\n{{\n{d.half_bits('x') if name == 'bits' else d.half_narrowed('x', lambda: need('value', 'f16'))}}}\n"


def _tiny(d: Target, need: Need, name: str, dtype: str, title: str) -> str:
    """Floats of 8 bits and less: sign, exponent, mantissa, all in integers but for what is below the least normal
    value."""
    head, u8, u32, kind = d.function, d.types["u8"], d.types["u32"], dtypes.TABLE[dtype]
    if name == "round":
        return f"{head} float {title}(float x)\n{{\n  return {need('value', dtype)}({need('bits', dtype)}(x));\n}}\n"
    as_u = d.reinterpret("x", "f32", "u32")

    def as_f(v: str) -> str:
        return d.reinterpret(v, "u32", "f32")

    m, bias, drop, style = kind.mantissa, kind.bias, 23 - kind.mantissa, kind.style
    top, sign = (1 << (kind.exponent + m)) - 1, 1 << (kind.bits - 1)
    quiet, infinite, largest = (f"0x{n:x}u" for n in (0x7FC00000, ((1 << kind.exponent) - 1) << m,
                                                      dtypes.largest_finite(dtype)))
    if style == "scale" and name == "value":
        return (f"/* 2^(x - 127); the last is a NaN */\n{head} float {title}({u8} x)\n{{\n"
                f"  return {as_f(f'x == 255 ? {quiet} : x == 0 ? 0x400000u : ({u32})x << 23')};\n}}\n")
    if style == "scale":
        return (
            f"/* the nearest power of two, up from the middle; a NaN of what is not positive or too large */\n{head} {u8} {title}(float x)\n{{\n"
            f"  const {u32} u = {as_u};\n  if (u == 0u || u >= 0x7f000000u + 0x400000u) return 255;\n"
            f"  return ({u8})(u < 0x800000u ? (u >= 0x600000u ? 1u : 0u) : (u >> 23) + (u >> 22 & 1u));\n}}\n"
        )
    if name == "value":
        special = {"ieee": f"a >= {infinite} ? 0x7f800000u | (a - {infinite}) << {drop} : ",
                   "fn": f"a == {top:#x}u ? {quiet} : ", "fnuz": f"x == {sign:#x} ? {quiet} : ", "finite": ""}[style]
        signed = f" | ({u32})(x >> {kind.bits - 1}) << 31"
        unit = d.literal(dtypes.encode(2.0 ** (1 - bias - m), "f32"), "f32")
        least = d.reinterpret(f"(float)a * {unit}", "f32", "u32")
        return (f"{head} float {title}({u8} x)\n{{\n  const {u32} a = x & {top:#x}u;\n"
                f"  const {u32} u = {special}a < {1 << m}u ? {least}\n    : (a << {drop}) + {(127 - bias) << 23:#x}u;\n"
                f"  return {as_f('u' + signed if style != 'fnuz' else f'x == {sign:#x} ? u : u' + signed)};\n}}\n")
    payload = f"(a >> {drop} & {(1 << m) - 1}u)"
    nan = {"ieee": f"{infinite} | ({payload} ? {payload} : {1 << (m - 1)}u)", "fn": f"{top:#x}u", "fnuz": "0u",
           "finite": "0u"}[style]
    over = {"ieee": infinite, "fn": f"{top:#x}u", "fnuz": "0u", "finite": largest}[style]
    how = {"ieee": "infinity beyond the largest", "fn": "NaN beyond the largest",
           "fnuz": "NaN beyond the largest; no -0", "finite": "the largest beyond it; -0 of a NaN"}[style]
    sign_of = f"u >> 31 << {kind.bits - 1}"
    out = f"r | {sign_of}"
    if style == "fnuz":      # minus zero is the NaN
        out = f"a > 0x7f800000u || r > {largest} ? {sign:#x}u : r == 0u ? 0u : {out}"
    elif style == "finite":
        out = f"a > 0x7f800000u ? {sign:#x}u : {out}"
    scale = d.literal(dtypes.encode(2.0 ** (bias - 1 + m), "f32"), "f32")
    last = "" if style == "fnuz" else f"  r = r > {largest} ? {over} : r;\n"
    if style in ("ieee", "fn"):
        last = f"  r = a > 0x7f800000u ? {nan} : r > {largest} ? {over} : r;\n"
    return (f"/* to the nearest, ties to even; {how} */\n{head} {u8} {title}(float x)\n{{\n"
            f"  const {u32} u = {as_u}, a = u & 0x7fffffffu;\n"
            f"  {u32} r = a < {(128 - bias) << 23:#x}u ? ({u32}){d.math('rint', 'f32')}({as_f('a')} * {scale})\n"
            f"    : (a - {(127 - bias) << 23:#x}u + {(1 << (drop - 1)) - 1:#x}u + (a >> {drop} & 1u)) >> {drop};\n"
            f"{last}  return ({u8})({out});\n}}\n")


def _by_lanes(d: Target, need: Need, name: str, dtype: str, n: int, title: str) -> str:
    """A function of one float for all lanes of a vector."""
    to, source = ("f32", "u8") if name == "value" else ("u8", "f32") if name == "bits" else ("f32", "f32")
    t, s = d.register(to), d.register(source)
    return (f"{d.function} {d.register(to, n)} {title}({d.register(source, n)} x)\n{{\n  {s} s[{n}];\n  {t} t[{n}];\n"
            f"  {d.scatter(source, n, 'x', 's')}\n  for (int i = 0; i < {n}; ++i) t[i] = {need(name, dtype)}(s[i]);\n"
            f"  return {d.gather(to, n, 't')};\n}}\n")


def _half(d: Target, name: str, title: str, n: int) -> str:
    """C's f16 from and to its bits, by arithmetic on a float and on its bits, for one value or n at once."""
    f, u, h = (d.register(t, n) for t in ("f32", "u32", "u16"))

    def as_f(x: str) -> str:
        return d.reinterpret(x, "u32", "f32", n)

    def as_u(x: str) -> str:
        return d.reinterpret(x, "f32", "u32", n)

    head, call = "", {"value": "_mm512_cvtph_ps((__m256i)x)",
                      "bits": "_mm512_cvtps_ph((__m512)x, _MM_FROUND_TO_NEAREST_INT)"}[name]
    to, source = (f, h) if name == "value" else (h, f)
    if n == 16:
        d.used.add("intrinsics")
        head = f"#ifdef __AVX512F__\n  return ({to}){call};\n#else\n"

    def choose(sign: str, limit: str, a: str, b: str) -> str:
        mask = d.compared("u32", n, "a", sign, d.splat("u32", n, limit)) if n > 1 else f"a {sign} {limit}"
        return d.choose("u32", n, mask, a, b if n > 1 or "?" not in b else f"({b})")

    if name == "value":
        comment = "2^112 times what the bits, moved to a float's places, stand for; infinity and NaN apart"
        magnitude = choose("<", "0x0f800000u", as_u(f"{as_f('a')} * 0x1p112f"), "a | 0x7f800000u")
        body = (f"  const {u} w = {'x' if n == 1 else d.convert('u32', n, 'x')}, a = (w & 0x7fffu) << 13;\n"
                f"  const {u} m = {magnitude};\n  return {as_f('m | (w & 0x8000u) << 16')};\n")
    else:
        comment = "to the nearest f16, ties to even: below 2^-14 an addition rounds, above it adding to the bits does"
        infinite = choose(">", "0x7f800000u", "(a >> 13 & 0x3ffu) | 0x7e00u",
                          "0x7c00u" if n == 1 else d.splat("u32", n, "0x7c00u"))
        normal = choose("<", "0x47800000u", "(a - 0x38000000u + 0xfffu + (a >> 13 & 1u)) >> 13", infinite)
        body = (
            f"  const {u} w = {as_u('x')}, a = w & 0x7fffffffu;\n"
            f"  const {u} m = {choose('<', '0x38800000u', as_u(as_f('a') + ' + 0.5f') + ' - 0x3f000000u', normal)};\n"
            f"  return {f'({h})(m | (w >> 16 & 0x8000u))' if n == 1 else d.convert('u16', n, 'm | (w >> 16 & 0x8000u)')};\n"
        )
    return f"/* {comment} */\n{d.function} {to} {title}({source} x)\n{{\n{head}{body}{'#endif' + chr(10) if head else ''}}}\n"


def _to_integers(d: Target, need: Need, to: str, lanes: int, title: str) -> str:
    """The same of f32 on vectors, to 16 bits, fewer, or s32: a conversion is defined only of what fits."""
    t, r = d.register("f32", lanes), d.register(to, lanes)
    low, high = limits(to)
    head = f"/* towards zero, saturating; NaN gives 0 */\n{d.function} {r} {title}({t} x)\n{{\n"

    def real(number: int) -> str:
        return d.splat("f32", lanes, f"{number}.0f")

    def where(sign: str, limit: str, a: str, b: str, dtype: str = "f32") -> str:
        return d.choose(dtype, lanes, d.compared("f32", lanes, "x", sign, limit), a, f"({b})")

    if bits(to) < 32:
        least = _nearer(d, need, "maximum", lanes, real(low), "x")
        most = _nearer(d, need, "minimum", lanes, real(high), "y")
        inside = need("to_integer_within", "f32", to, str(lanes))
        return f"{head}  const {t} y = {least};\n  return {inside}({most});\n}}\n"
    inside = where("<", real(high + 1), f"({where('>=', real(low), 'x', real(0))})", real(0))
    least, most = (d.splat(to, lanes, d.literal(n & 0xffffffff, to)) for n in (low, high))
    beyond = where(">=", real(high + 1), most, where("<", real(low), least, d.convert(to, lanes, "y"), to), to)
    return f"{head}  const {t} y = {inside};\n  return {beyond};\n}}\n"


def _to_integers_within(d: Target, to: str, lanes: int, title: str) -> str:
    """The same of what fits, or is a NaN, to 16 bits or fewer."""
    t, r = d.register("f32", lanes), d.register(to, lanes)
    number = d.choose("f32", lanes, d.compared("f32", lanes, "x", "==", "x"), "x", d.splat("f32", lanes, "0.0f"))
    whole = d.convert("s32", lanes, number)
    text = f"  return {_wide(d, 32, to, whole, lanes)};\n"
    if d.half_by_bits and lanes == 16:
        d.used.add("intrinsics")
        narrow = f"_mm512_cvtepi32_epi{bits(to)}(_mm512_cvttps_epi32((__m512)x))"
        text = f"#ifdef __AVX512F__\n  return ({r}){narrow}; /* of a NaN -2^31 */\n#else\n{text}#endif\n"
    return f"/* towards zero, of what fits; NaN gives 0 */\n{d.function} {r} {title}({t} x)\n{{\n{text}}}\n"
