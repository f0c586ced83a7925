"""The types of elements in a reference's C text: storage types, conversions and constants."""

from __future__ import annotations

import struct
from fractions import Fraction
from typing import Dict, List, Optional, Sequence

from gen.hlo import dtypes as table
from gen.reference.library import Calls, floats_text

TINY = ("f8e5m2", "f8e4m3", "f8e3m4", "f8e4m3fn", "f8e5m2fnuz", "f8e4m3fnuz", "f8e4m3b11fnuz", "f8e8m0fnu", "f4e2m1fn")
SMALL = ("f16", "bf16")
FLOATS = SMALL + ("f32", "f64") + TINY
# integers that take a byte each in the arrays of a reference; they are packed only in parameters and results
NARROW = ("s2", "u2", "s4", "u4")
PACKED = NARROW + ("f4e2m1fn",)
STORAGE = {"pred": "uint8_t", "s8": "int8_t", "u8": "uint8_t", "s16": "int16_t", "u16": "uint16_t", "s32": "int32_t",
           "u32": "uint32_t", "s64": "int64_t", "u64": "uint64_t", "f16": "uint16_t", "bf16": "uint16_t",
           "f32": "float", "f64": "double", "s2": "int8_t", "u2": "uint8_t", "s4": "int8_t", "u4": "uint8_t",
           **{dtype: "uint8_t" for dtype in TINY}}


def bits_of(dtype: str) -> int:
    return 8 if dtype == "pred" else table.TABLE[dtype].bits


def is_signed(dtype: str) -> bool:
    return table.TABLE[dtype].kind == "sint"


def unsigned(dtype: str) -> str:
    """Return the unsigned integer type of the same width."""
    return f"u{bits_of(dtype)}"


def wide_of(dtype: str) -> str:
    """Return an unsigned C type for the arithmetic of an integer type. In this C type, overflow wraps, as HLO requires.
    """
    return "uint64_t" if bits_of(dtype) == 64 else "uint32_t"


def load(call: Calls, dtype: str, text: str) -> str:
    """Return the C text of a value, converted from the storage type to the type of arithmetic."""
    if dtype in TINY:
        return f"{call.table(small_float(dtype).values)}[{text}]"
    return call(f"{dtype}_to_float", text) if dtype in SMALL else text


def store(call: Calls, dtype: str, text: str) -> str:
    """Return the C text of a value, converted from the type of arithmetic to the storage type."""
    return from_double(call, dtype, f"(double)({text})") if dtype in SMALL + TINY else text


def to_double(call: Calls, dtype: str, text: str) -> str:
    return text if dtype == "f64" else f"(double){load(call, dtype, text)}"


def from_double(call: Calls, dtype: str, text: str) -> str:
    if dtype in TINY:
        about = small_float(dtype)
        return call(about.function, text, call.table(about.middles), *about.arguments)
    return {"f64": text, "f32": f"(float)({text})"}.get(dtype) or call(f"{dtype}_from_double", text)


class SmallFloat:
    """A float type of at most 8 bits: its values, the midpoints between its finite values, and the C function that
    rounds a double to it, with those arguments that follow the midpoints.
    """

    def __init__(self, dtype: str) -> None:
        bits, style, top = bits_of(dtype), table.TABLE[dtype].style, table.largest_finite(dtype)
        sign = 0 if style == "scale" else 1 << (bits - 1)
        finite = [Fraction(table.decode_real(pattern, dtype)) for pattern in range(top + 1)]
        beyond = finite[-1] * Fraction(3, 2) if style == "scale" else finite[-1] + (finite[-1] - finite[-2]) / 2
        nan = table.quiet_nan(dtype) if style == "ieee" else {"fn": top + 1, "scale": top + 1}.get(style, sign)
        over = {"fnuz": sign, "finite": top}.get(style, top + 1)
        values = [table.decode_real(pattern, dtype) for pattern in range(1 << bits)]
        self.values = f"{dtype}_values", "float", [floats_text(value) for value in values]
        self.middles = f"{dtype}_middles", "double", [floats_text((a + b) / 2) for a, b in zip(finite, finite[1:])]
        self.scale = style == "scale"
        self.function = "scale_from_double" if self.scale else "small_from_double"
        self.arguments = [str(top), floats_text(beyond)] + (
            [str(nan)] if self.scale else [str(sign), str(over), str(nan), "false" if style == "fnuz" else "true"])


_SMALL_FLOATS: Dict[str, SmallFloat] = {}


def small_float(dtype: str) -> SmallFloat:
    if dtype not in _SMALL_FLOATS:
        _SMALL_FLOATS[dtype] = SmallFloat(dtype)
    return _SMALL_FLOATS[dtype]


def literal_texts(dtype: str, literal: Sequence[int]) -> Optional[List[str]]:
    """Return the C texts of constants in the storage type. Return None if there is an f32 or f64 NaN, whose bits C text
    cannot express.
    """
    texts = [text for text in (literal_text(dtype, bits) for bits in literal) if text is not None]
    return texts if len(texts) == len(literal) else None


def literal_text(dtype: str, bits: int) -> Optional[str]:
    if dtype in SMALL + TINY:
        return f"0x{bits:0{bits_of(dtype) // 4}x}"
    if dtype in FLOATS:
        code, whole = ("<f", "<I") if dtype == "f32" else ("<d", "<Q")
        value = struct.unpack(code, struct.pack(whole, bits))[0]
        return floats_text(value, "f" if dtype == "f32" else "") if value == value else None
    width = bits_of(dtype)
    if dtype == "pred":
        return str(bits & 1)
    if dtype in NARROW:
        return str(table.decode_real(bits, dtype))
    if not is_signed(dtype):
        return f"{bits}u"
    value = bits - (1 << width) if bits >> (width - 1) & 1 else bits
    if value == -(1 << (width - 1)):
        return f"INT{width}_MIN"
    return f"INT64_C({value})" if width == 64 else str(value)
