"""The value of each elementwise op on one element, as C text. gen/reference/__init__.py defines the ops in words."""

from __future__ import annotations

from typing import Dict, Mapping, Sequence

from gen.hlo import dtypes
from gen.hlo.opcodes import ELEMENTWISE
from gen.reference.library import Calls, functions, VALUES
from gen.reference.types import (bits_of, FLOATS, from_double, is_signed, load, NARROW, SMALL, STORAGE, store, TINY,
                                 to_double, wide_of)
from gen.reference.values import Scalar


def _functions() -> "Dict[str, str]":
    """Return, by opcode, the name of the C function that computes an op on doubles. If values.c defines a function with
    the op's name, it is that function. Otherwise, it is a function of C's library.
    """
    of_values = functions(VALUES)
    names = {row.opcode: row.opcode.replace("-", "_") for row in ELEMENTWISE.values() if (row.ulps or 0) > 0.5}
    found = {opcode: name if name in of_values else ELEMENTWISE[opcode].function for opcode, name in names.items()}
    # rsqrt has another name, because C23 defines a function rsqrt
    return {**{opcode: name for opcode, name in found.items() if name}, "rsqrt": "inverse_sqrt", "hypot": "magnitude"}


FUNCTIONS = _functions()
BINARY = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "and": "&", "or": "|", "xor": "^"}
COMPARE = {"EQ": "==", "NE": "!=", "LT": "<", "LE": "<=", "GT": ">", "GE": ">="}
ROUND = {"floor": "floor", "ceil": "ceil", "round-nearest-afz": "round", "round-nearest-even": "rint"}
PRED = {"add": "|", "maximum": "|", "or": "|", "multiply": "&", "minimum": "&", "and": "&", "subtract": "^", "xor": "^"}
SHIFTS = {"shift-left": "shift_left", "shift-right-logical": "shift_right_logical",
          "shift-right-arithmetic": "shift_right_arithmetic"}
COUNTS = {"popcnt": "count_ones", "count-leading-zeros": "count_leading_zeros"}


def value_of(call: Calls, opcode: str, attributes: Mapping[str, object], to: str, x: Sequence[Scalar]) -> str:
    """Return the C text of an op on values in their storage types. The result is in the storage type of `to`."""
    v, dtype = [s.v for s in x], x[-1].dtype
    kind = STORAGE[dtype]
    if opcode == "compare":
        sides = [ordered(call, dtype, text, attributes.get("type") == "TOTALORDER") for text in v]
        return f"(uint8_t)({sides[0]} {COMPARE[str(attributes['direction'])]} {sides[1]})"
    if opcode == "select":
        return f"({kind})({v[0]} ? {v[1]} : {v[2]})" if bits_of(dtype) < 32 else f"{v[0]} ? {v[1]} : {v[2]}"
    if opcode == "convert":
        return convert_value(call, dtype, to, v[0])
    if opcode in ("copy", "bitcast", "real"):
        return v[0]
    if opcode == "bitcast-convert":
        return of_bits(call, to, bits_text(call, dtype, v[0]))
    if opcode == "imag":
        return f"({kind})0"
    if opcode == "is-finite":
        return f"(uint8_t)(isfinite({load(call, dtype, v[0])}) != 0)"
    if opcode == "reduce-precision":
        mantissa, widths = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}[dtype], (attributes["exponent_bits"],
                                                                                attributes["mantissa_bits"])
        return of_bits(call, dtype, call("reduced_precision", bits_text(call, dtype, v[0]), str(bits_of(dtype)),
                                         str(mantissa), *map(str, widths)))
    if dtype in FLOATS:
        return float_value(call, opcode, dtype, v)
    if dtype == "pred":
        return pred_value(opcode, v)
    return integer_value(call, opcode, dtype, v)


def bits_text(call: Calls, dtype: str, text: str) -> str:
    return call(f"{dtype}_bits", text) if dtype in ("f32", "f64") else text


def of_bits(call: Calls, dtype: str, text: str) -> str:
    return call(f"{dtype}_of_bits", f"(uint{bits_of(dtype)}_t){text}") if dtype in ("f32", "f64") else f"({STORAGE[dtype]}){text}"


def ordered(call: Calls, dtype: str, text: str, total: bool = False) -> str:
    """Return C text that converts a value to a number. C's operators < and > on these numbers give the order of the
    values. total: true for HLO's TOTALORDER of floats, in which -0 < +0 and NaNs are ordered too.
    """
    if total and dtype in FLOATS:
        bits, style = bits_text(call, dtype, text), dtypes.TABLE[dtype].style
        if style == "scale":
            return f"(int64_t){bits}"
        return call("total_order_fnuz", bits) if style == "fnuz" else call("total_order", bits, str(bits_of(dtype)))
    return load(call, dtype, text)


def convert_value(call: Calls, dtype: str, to: str, v: str) -> str:
    if dtype == to:
        return v
    if to == "pred":
        return f"(uint8_t)({load(call, dtype, v)} != 0)"
    if dtype == "f64" and to in FLOATS:
        return from_double(call, to, v)
    if to == "f64":
        return f"(double){load(call, dtype, v)}"
    if to in FLOATS:
        return store(call, to, load(call, dtype, v) if dtype in FLOATS else f"(float){v}")
    if dtype in FLOATS:
        sign = "s64" if is_signed(to) else "u64"
        return f"({STORAGE[to]}){call(f'{sign}_from_double', to_double(call, dtype, v), str(bits_of(to)))}"
    return cut(call, to, v)


def float_value(call: Calls, opcode: str, dtype: str, v: Sequence[str]) -> str:
    suffix, arithmetic = ("", "f64") if dtype == "f64" else ("f", "f32")
    if opcode == "negate" and dtype not in TINY:
        return f"(uint16_t)({v[0]} ^ 0x8000u)" if dtype in SMALL else f"-{v[0]}"
    if opcode == "abs" and dtype in SMALL:
        return f"(uint16_t)({v[0]} & 0x7fffu)"
    if opcode in FUNCTIONS:
        return from_double(call, dtype, call(FUNCTIONS[opcode], *(to_double(call, dtype, text) for text in v)))
    a = [load(call, dtype, text) for text in v]
    if opcode in ("add", "subtract", "multiply", "divide"):
        value = f"{a[0]} {BINARY[opcode]} {a[1]}"
    elif opcode in ("maximum", "minimum", "sign"):
        value = call(f"{arithmetic}_{opcode}", *a)
    elif opcode == "clamp":
        value = call(f"{arithmetic}_minimum", call(f"{arithmetic}_maximum", a[1], a[0]), a[2])
    elif opcode == "negate":
        value = f"-{a[0]}"
    elif opcode in ("remainder", "abs", "sqrt") or opcode in ROUND:
        value = call({"remainder": "fmod", "abs": "fabs", **ROUND}.get(opcode, opcode) + suffix, *a)
    else:
        raise ValueError(f"'{opcode}' of {dtype} has no reference: no function of its name in gen/reference/values.c, "
                         "no case in gen/reference/elements.py float_value")
    return store(call, dtype, value)


def pred_value(opcode: str, v: Sequence[str]) -> str:
    if opcode == "not":
        return f"(uint8_t)!{v[0]}"
    if opcode == "clamp":
        return f"(uint8_t)(({v[1]} | {v[0]}) & {v[2]})"
    if opcode in PRED:
        return f"(uint8_t)({v[0]} {PRED[opcode]} {v[1]})"
    raise ValueError(f"'{opcode}' of pred has no reference")


def cut(call: Calls, dtype: str, text: str) -> str:
    """Return the C text that truncates an integer to the integer type `dtype`."""
    if dtype not in NARROW:
        return f"({STORAGE[dtype]}){text}"
    if is_signed(dtype):
        return f"(int8_t){call('s64_of_bits', f'(uint64_t){text}', str(bits_of(dtype)))}"
    return f"(uint8_t)({text} & {(1 << bits_of(dtype)) - 1})"


def integer_value(call: Calls, opcode: str, dtype: str, v: Sequence[str]) -> str:
    """Return the C text of an integer op. It is computed in a type that is at least as wide, and then truncated."""
    wide, width = [f"({wide_of(dtype)}){text}" for text in v], str(bits_of(dtype))
    bits = [f"(uint64_t){text}" for text in v]
    sign = "s64" if is_signed(dtype) else "u64"
    if opcode in ("add", "subtract", "multiply"):
        value = f"({wide[0]} {BINARY[opcode]} {wide[1]})"
    elif opcode in ("and", "or", "xor"):
        value = f"({v[0]} {BINARY[opcode]} {v[1]})"
    elif opcode == "not":
        value = f"~{v[0]}"
    elif opcode == "negate":
        value = f"(0 - {wide[0]})"
    elif opcode == "abs":
        value = f"({v[0]} < 0 ? 0 - {wide[0]} : {wide[0]})" if is_signed(dtype) else v[0]
    elif opcode == "sign":
        value = f"(({v[0]} > 0) - ({v[0]} < 0))" if is_signed(dtype) else f"({v[0]} != 0)"
    elif opcode == "clamp":
        value = call(f"{sign}_minimum", call(f"{sign}_maximum", v[1], v[0]), v[2])
    elif opcode in COUNTS:
        value = call(COUNTS[opcode], bits[0], width)
    elif opcode in SHIFTS:
        value = call(SHIFTS[opcode], *bits, width)
    elif opcode == "mulhi":
        value = call("upper_product", *bits, width, str(int(is_signed(dtype))))
    elif opcode in ("maximum", "minimum", "divide", "remainder", "power"):
        value = call(f"{sign}_{opcode}", *v)
    else:
        raise ValueError(f"'{opcode}' of {dtype} has no reference")
    return cut(call, dtype, value)
