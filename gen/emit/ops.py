"""The C text of each elementwise op. gen/reference defines what an op means, and gen/hlo/opcodes.py lists the ops.

`expression` returns the text for operands in registers, which are scalars or vectors. If only the scalar form of an op
exists, it returns None for vectors, and the caller applies the scalar form lane by lane. In C, that happens for every
library function that functions.c does not define. If an expression calls a small function, it calls `need` to request
that function. `helper` returns the texts of the small functions; most of them are pieces of C files (typed.py).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Callable, Mapping, Optional, Sequence, Tuple

from gen.emit import functions, typed
from gen.emit.typed import limits, nearer, widened
from gen.emit.values import Value
from gen.hlo import dtypes
from gen.hlo.opcodes import ELEMENTWISE, Elementwise
from gen.targets import COMPLEX, FLOATS, NARROW, SIGNED, SMALL, TINY, Target, bits

Need = Callable[..., str]

SMALL_INTEGERS = ("s8", "u8", "s16", "u16")
_COMPARE = {"EQ": "==", "NE": "!=", "LT": "<", "LE": "<=", "GT": ">", "GE": ">="}


def row(opcode: str) -> Elementwise:
    """Return the row of an elementwise op in the table of opcodes. A bitcast between types of the same width has a row
    too.
    """
    return ELEMENTWISE["bitcast-convert" if opcode == "bitcast" else opcode]


def is_elementwise(opcode: str) -> bool:
    """Return true if `row` has a row for the opcode."""
    return opcode == "bitcast" or opcode in ELEMENTWISE


def rounds(opcode: str, dtype: str) -> bool:
    """Return true if the float result of an op must be rounded to its small type."""
    return dtype in SMALL + TINY and dtypes.TABLE[dtype].bits <= row(opcode).rounds


def expression(d: Target, need: Need, opcode: str, attributes: Mapping[str, Any], to: str, sources: Sequence[str],
               x: Sequence[str], lanes: int) -> Optional[str]:
    """Return the C text of an op on operands x, which have the types `sources`. The result has type `to`, but is not
    yet rounded if that is a small float type.
    """
    if to in NARROW and row(opcode).wraps:     # compute in a byte; the low bits are the result
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
        return d.choose(to, lanes, f"-{widened(d, 8, f's{d.register_bits(to)}', x[0], lanes)}", x[1], x[2])
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
        return widened(d, d.register_bits(dtype), "pred", f"-{finite}", lanes)
    if opcode == "reduce-precision":
        if lanes > 1:
            return None
        return (
            f"{need('reduce_precision', dtype)}({x[0]}, {attributes['exponent_bits']}, {attributes['mantissa_bits']})"
        )
    if opcode == "clamp":
        high = expression(d, need, "maximum", {}, to, (dtype, dtype), (x[1], x[0]), lanes)
        if dtype == "pred":
            return (f"({d.register('pred', lanes)})(({x[0]} | {x[1]}) & {x[2]})" if lanes == 1
                    else f"({x[0]} | {x[1]}) & {x[2]}")
        if lanes == 1:
            return f"{need('minimum', dtype)}({high}, {x[2]})"
        return expression(d, need, "minimum", {}, to, (dtype, dtype), (f"({high})", x[2]), lanes)
    if dtype in FLOATS:
        return _float(d, need, opcode, dtype, x, lanes)
    if dtype == "pred":
        return _pred(d, opcode, x, lanes)
    return _integer(d, need, opcode, dtype, x, lanes)


def constant(d: Target, pattern: int, dtype: str) -> Value:
    """Return a value from its bit pattern."""
    number = dtypes.decode_real(pattern, dtype) if dtype in ("f32", "s32") else None
    value = Value(d.literal(pattern, dtype), dtype)
    if number is None or not math.isfinite(number):
        return value
    return replace(value, within=(float(number), float(number)), nan=False)


def bounds(opcode: str, to: str, sources: Sequence[str],
           x: Sequence[Value]) -> "Tuple[Optional[Tuple[float, float]], bool]":
    """Return two values: the bounds of a result (None: unknown), and true if the result may be a NaN. The bounds hold
    if the result is not a NaN.
    """
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
    """Return the C text of an op on float vectors if bounds of the operands allow a cheaper one than usual; else None.
    A maximum or minimum with a constant takes one comparison, even if the other operand may be NaN. A float that is in
    the range of an integer type is converted without tests.
    """
    if opcode in ("maximum", "minimum") and to == "f32":
        for n in (0, 1):
            # If both operands are zeros, HLO returns the first one, but `nearer` returns its second argument. So a
            # constant 0 may be the first argument of `nearer` only if it is the second operand of the op.
            if x[n].known or (x[n].known is not None and n == 1):
                return nearer(d, need, opcode, lanes, texts[n], texts[1 - n])
    within = x[0].within if len(x) == 1 else None
    if within and opcode == "convert" and sources[0] == "f32" and to in SMALL_INTEGERS:
        low, high = limits(to)
        if low - 1 < within[0] and within[1] < high + 1:
            return f"{need('to_integer_within', 'f32', to, str(lanes))}({texts[0]})"
    return None


def _complex(need: Need, opcode: str, attributes: Mapping[str, Any], to: str, sources: Sequence[str],
             x: Sequence[str]) -> str:
    dtype = sources[-1]
    if opcode in ("real", "imag"):
        return f"{x[0]}.{'re' if opcode == 'real' else 'im'}"
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
    if lanes > 1:
        true = mask(d, need, attributes, dtype, x, lanes)
        return true and widened(d, d.register_bits(dtype), "pred", f"-{true}", lanes)
    if attributes.get("type") == "TOTALORDER" and dtype in FLOATS:
        x = [f"{need('total_order', dtype)}({v})" for v in x]
    return f"({d.register('pred')})({x[0]} {sign} {x[1]})"


def mask(d: Target, need: Need, attributes: Mapping[str, Any], dtype: str, x: Sequence[str],
         lanes: int) -> Optional[str]:
    """Return the comparison of two vectors as a mask: signed integers as wide as the operands, -1 where the comparison
    is true. Return None if it cannot be computed in this way.
    """
    if attributes.get("type") == "TOTALORDER" and dtype in FLOATS:
        if dtype not in ("bf16", "f32", "f64"):
            return None
        x = [f"{need('total_order', dtype, str(lanes))}({v})" for v in x]
        dtype = f"s{d.register_bits(dtype)}"
    return None if dtype in COMPLEX else d.compared(dtype, lanes, x[0], _COMPARE[attributes["direction"]], x[1])


def of_mask(d: Target, width: int, text: str, lanes: int) -> str:
    """Return a mask of signed `width`-bit integers as bytes: 1 where the mask is -1, else 0."""
    return widened(d, width, "pred", f"-{text}", lanes)


def resized(d: Target, width: int, to: int, text: str, lanes: int) -> str:
    """Return a mask of signed `width`-bit integers as a mask of signed `to`-bit integers."""
    return text if width == to else widened(d, width, f"s{to}", text, lanes)


def converted_mask(d: Target, width: int, to: str, text: str, lanes: int) -> str:
    """Return a mask of signed `width`-bit integers as numbers of type `to`: 1 where the mask is -1, else 0."""
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
        return widened(d, d.register_bits(dtype), "pred", f"-{true}", lanes)
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
    return f"({register}){x}" if lanes == 1 else widened(d, d.register_bits(dtype), to, x, lanes)


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
        more = d.choose(dtype, lanes, d.compared(dtype, lanes, b, sign, a), b, a)   # one instruction on x86 and in PTX
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
    # Ops without a vector form in functions.c run lane by lane, because PoCL's vector forms have faults. Its sine,
    # cosine and tangent of f32 are wrong in all lanes if one lane needs the long argument reduction. Its power of f64
    # is wrong at the edges of the range. Its fmod of f64 does not end on some inputs (see `_remainder`).
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
    if about.function:
        return f"{d.math(about.function, dtype)}({', '.join(x)})"
    return f"{need(opcode.replace('-', '_'), dtype)}({', '.join(x)})" if lanes == 1 else None


def _sign(d: Target, dtype: str, x: str, lanes: int) -> str:
    """Return 1 with the sign of x, or x if x is 0 or a NaN."""
    real, u = ("f64", "u64") if dtype == "f64" else ("f32", "u32")
    top, zero = d.splat(u, lanes, d.literal(1 << (bits(u) - 1), u)), d.splat(dtype, lanes, "0")
    one = d.reinterpret(d.splat(dtype, lanes, "1"), real, u, lanes)
    signed = d.reinterpret(f"(({d.reinterpret(x, real, u, lanes)} & {top}) | {one})", u, real, lanes)
    below, above = (d.compared(dtype, lanes, x, sign, zero) for sign in "<>")
    return d.choose(dtype, lanes, f"({below} | {above})", signed, x)


def _magnitude(d: Target, dtype: str, x: str, lanes: int) -> str:
    """Return the absolute value of floats, by clearing the sign bit."""
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
    """Return the text of a small function. need: called for each function that the text uses."""
    if not about:
        return functions.piece(d, need, name)
    dtype = about[0]
    if functions.has(name, *about):
        return typed.by_vectors(d, need, name, dtype, int(about[1]))
    if dtype in COMPLEX or (len(about) > 1 and about[1] in COMPLEX):
        return typed.complex_conversion(d, need, dtype, about[1]) if name == "convert" \
            else typed.complex_function(d, need, name, dtype)
    if len(about) > 1 and about[-1].isdecimal():
        return typed.vector_function(d, need, name, dtype, int(about[-1]), *about[1:-1])
    return typed.scalar_function(d, need, name, *about)
