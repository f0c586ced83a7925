"""What each elementwise op means: C text of one element's value."""

from __future__ import annotations

from typing import Mapping, Sequence

from gen.hlo.opcodes import ELEMENTWISE
from gen.reference.types import (
    bits_of,
    FLOATS,
    from_double,
    is_signed,
    load,
    NARROW,
    SMALL,
    STORAGE,
    store,
    TINY,
    to_double,
    wide_of,
)
from gen.reference.ulps import ULPS
from gen.reference.values import Scalar

_OWN = {"logistic": "logistic", "rsqrt": "inverse_sqrt", "power": "power", "hypot": "magnitude"}     # in library.c
# opcode -> C function on double
FUNCTIONS = {opcode: _OWN.get(opcode) or ELEMENTWISE[opcode].function for opcode, ulps in ULPS.items() if ulps > 0.5}
BINARY = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "and": "&", "or": "|", "xor": "^"}
COMPARE = {"EQ": "==", "NE": "!=", "LT": "<", "LE": "<=", "GT": ">", "GE": ">="}
ROUND = {"floor": "floor", "ceil": "ceil", "round-nearest-afz": "round", "round-nearest-even": "rint"}
PRED = {"add": "|", "maximum": "|", "or": "|", "multiply": "&", "minimum": "&", "and": "&", "subtract": "^", "xor": "^"}


def value_of(opcode: str, attributes: Mapping[str, object], to: str, x: Sequence[Scalar]) -> str:
    """C text of the op on storage values, in the storage type of `to`."""
    v, dtype = [s.v for s in x], x[-1].dtype
    kind = STORAGE[dtype]
    if opcode == "compare":
        return compare_value(attributes, x)
    if opcode == "select":
        return f"{v[0]} ? {v[1]} : {v[2]}" if not kind.startswith(("int8", "uint8", "int16", "uint16")) else \
            f"({kind})({v[0]} ? {v[1]} : {v[2]})"
    if opcode == "convert":
        return convert_value(dtype, to, v[0])
    if opcode in ("copy", "bitcast", "real"):
        return v[0]
    if opcode == "imag":
        return f"({kind})0"
    if opcode == "is-finite":
        return f"(uint8_t)(isfinite({load(dtype, v[0])}) != 0)"
    if opcode == "reduce-precision":
        return f"{dtype}_reduce_precision({v[0]}, {attributes['exponent_bits']}, {attributes['mantissa_bits']})"
    if opcode == "clamp":
        v = [v[1], v[0], v[2]]
    if dtype in FLOATS:
        return float_value(opcode, dtype, v)
    return integer_value(opcode, dtype, v)


def compare_value(attributes: Mapping[str, object], x: Sequence[Scalar]) -> str:
    dtype, sign = x[0].dtype, COMPARE[str(attributes["direction"])]
    if attributes.get("type") == "TOTALORDER" and dtype in FLOATS:
        sides = [f"{dtype}_total_order({s.v})" for s in x]
    else:
        sides = [load(dtype, s.v) for s in x]
    return f"(uint8_t)({sides[0]} {sign} {sides[1]})"


def convert_value(dtype: str, to: str, v: str) -> str:
    if dtype == to:
        return v
    if to == "pred":
        return f"(uint8_t)({load(dtype, v)} != 0)"
    if dtype in FLOATS and to in FLOATS:
        return from_double(to, to_double(dtype, v)) if dtype == "f64" else \
            {"f64": f"(double){load(dtype, v)}"}.get(to, store(to, load(dtype, v)))
    if dtype in FLOATS:
        return f"{to}_from_double({to_double(dtype, v)})"
    if to in FLOATS:
        return store(to, f"({'double' if to == 'f64' else 'float'}){v}")
    return f"{to}_wrap((uint64_t){v})" if to in NARROW else f"({STORAGE[to]}){v}"


def float_value(opcode: str, dtype: str, v: Sequence[str]) -> str:
    a = [load(dtype, text) for text in v]
    suffix, arithmetic = ("", "f64") if dtype == "f64" else ("f", "f32")
    if opcode in ("add", "subtract", "multiply", "divide"):
        return store(dtype, f"{a[0]} {BINARY[opcode]} {a[1]}")
    if opcode in ("maximum", "minimum"):
        return store(dtype, f"{arithmetic}_{opcode}({a[0]}, {a[1]})")
    if opcode == "clamp":
        return store(dtype, f"{arithmetic}_minimum({arithmetic}_maximum({a[0]}, {a[1]}), {a[2]})")
    if opcode == "remainder":
        return store(dtype, f"fmod{suffix}({a[0]}, {a[1]})")
    if opcode in ("negate", "abs") and dtype in TINY:
        return store(dtype, f"-{a[0]}" if opcode == "negate" else f"fabsf({a[0]})")
    if opcode == "negate":
        return f"(uint16_t)({v[0]} ^ 0x8000u)" if dtype in SMALL else f"-{v[0]}"
    if opcode == "abs":
        return f"(uint16_t)({v[0]} & 0x7fffu)" if dtype in SMALL else f"fabs{suffix}({v[0]})"
    if opcode == "sign":
        return store(dtype, f"{arithmetic}_sign({a[0]})")
    if opcode == "sqrt" or opcode in ROUND:
        return store(dtype, f"{ROUND.get(opcode, 'sqrt')}{suffix}({a[0]})")
    if opcode in FUNCTIONS:
        arguments = ", ".join(to_double(dtype, text) for text in v)
        return from_double(dtype, f"{FUNCTIONS[opcode]}({arguments})")
    raise ValueError(f"'{opcode}' of {dtype} has no reference")


def integer_value(opcode: str, dtype: str, v: Sequence[str]) -> str:
    if dtype == "pred":
        if opcode == "not":
            return f"(uint8_t)!{v[0]}"
        if opcode == "clamp":
            return f"(uint8_t)(({v[0]} | {v[1]}) & {v[2]})"
        if opcode in PRED:
            return f"(uint8_t)({v[0]} {PRED[opcode]} {v[1]})"
        raise ValueError(f"'{opcode}' of pred has no reference")
    if dtype in NARROW:
        return f"{dtype}_wrap((uint64_t)({byte_value(opcode, dtype, v)}))"
    return byte_value(opcode, dtype, v)


def byte_value(opcode: str, dtype: str, v: Sequence[str]) -> str:
    """An integer op; of the narrow types, in a byte whose low bits are the answer's."""
    kind = STORAGE[dtype]
    wide = wide_of(bits_of(dtype))
    if opcode in ("add", "subtract", "multiply"):
        return f"({kind})(({wide}){v[0]} {BINARY[opcode]} ({wide}){v[1]})"
    if opcode in ("and", "or", "xor"):
        return f"({kind})({v[0]} {BINARY[opcode]} {v[1]})"
    if opcode == "not":
        return f"({kind})~{v[0]}"
    if opcode == "negate":
        return f"({kind})(0 - ({wide}){v[0]})"
    if opcode == "abs":
        return f"({kind})({v[0]} < 0 ? 0 - ({wide}){v[0]} : ({wide}){v[0]})" if is_signed(dtype) else v[0]
    if opcode == "sign":
        return f"({kind})(({v[0]} > 0) - ({v[0]} < 0))" if is_signed(dtype) else f"({kind})({v[0]} != 0)"
    if opcode == "clamp":
        return f"{dtype}_minimum({dtype}_maximum({v[0]}, {v[1]}), {v[2]})"
    if opcode in ("count-leading-zeros", "popcnt"):
        return f"{dtype}_{'popcnt' if opcode == 'popcnt' else 'clz'}({v[0]})"
    if opcode in ("maximum", "minimum", "divide", "remainder", "power", "shift-left", "shift-right-logical",
                  "shift-right-arithmetic"):
        return f"{dtype}_{opcode.replace('-', '_')}({v[0]}, {v[1]})"
    raise ValueError(f"'{opcode}' of {dtype} has no reference")
