"""How the elements of each type stand in the C text of a reference."""

from __future__ import annotations

import re
import struct
from typing import Optional, Tuple

from gen.hlo import dtypes as table

STORAGE = {"pred": "uint8_t", "s8": "int8_t", "u8": "uint8_t", "s16": "int16_t", "u16": "uint16_t", "s32": "int32_t",
           "u32": "uint32_t", "s64": "int64_t", "u64": "uint64_t", "f16": "uint16_t", "bf16": "uint16_t",
           "f32": "float", "f64": "double", "s2": "int8_t", "u2": "uint8_t", "s4": "int8_t", "u4": "uint8_t"}
TINY = ("f8e5m2", "f8e4m3", "f8e3m4", "f8e4m3fn", "f8e5m2fnuz", "f8e4m3fnuz", "f8e4m3b11fnuz", "f8e8m0fnu", "f4e2m1fn")
STORAGE.update((dtype, "uint8_t") for dtype in TINY)
NARROW = ("s2", "u2", "s4", "u4")   # an element a byte in a reference's arrays, packed in parameters and results only
PACKED = NARROW + ("f4e2m1fn",)
FLOATS = ("f16", "bf16", "f32", "f64") + TINY
SMALL = ("f16", "bf16")
STORAGE["range_sum"] = "range_sum"    # what a bound keeps of each element of a scatter
SIGNIFICANT = {"f16": 11, "bf16": 8, "f32": 24, "f64": 53}       # bits, the leading one among them
LARGEST = {"f16": "65504.0", "bf16": "0x1.fep127", "f32": "0x1.fffffep127", "f64": "0x1.fffffffffffffp1023"}
LEAST = {"f32": "0x1p-149", "f64": "0x1p-1074"}
LEAST_NORMAL = {"f16": "0x1p-14", "bf16": "0x1p-126", "f32": "0x1p-126", "f64": "0x1p-1022"}


def bits_of(dtype: str) -> int:
    return 8 if dtype == "pred" else int(re.search(r"\d+", dtype).group())  # type: ignore[union-attr]


def is_signed(dtype: str) -> bool:
    return dtype[0] == "s"


def wide_of(bits: int) -> str:
    """The unsigned type in which arithmetic of an integer type of that width wraps without undefined behaviour."""
    return "uint64_t" if bits == 64 else "uint32_t"


def integer_limits(dtype: str) -> Tuple[str, str]:
    bits = bits_of(dtype)
    if dtype == "pred":
        return "0", "1"
    if bits < 8:
        low, high = table.integer_range(dtype)
        return f"({low})", str(high)
    return (f"INT{bits}_MIN", f"INT{bits}_MAX") if is_signed(dtype) else ("0", f"UINT{bits}_MAX")


def key_limits(dtype: str) -> Tuple[str, str]:
    """The ends of an integer type as keys of an irange."""
    return ("INT64_MIN", "INT64_MAX") if bits_of(dtype) == 64 else integer_limits(dtype)


def to_double(dtype: str, text: str) -> str:
    return {"f64": text, "f32": f"(double){text}"}.get(dtype, f"(double){dtype}_to_float({text})")


def from_double(dtype: str, text: str) -> str:
    return {"f64": text, "f32": f"(float)({text})"}.get(dtype, f"{dtype}_from_double({text})")


def load(dtype: str, text: str) -> str:
    """Storage to the type that arithmetic is done in."""
    return f"{dtype}_to_float({text})" if dtype in SMALL + TINY else text


def store(dtype: str, text: str) -> str:
    """The arithmetic type to storage."""
    if dtype in TINY:
        return f"{dtype}_from_double((double)({text}))"
    return {"f16": f"f16_from_double((double)({text}))", "bf16": f"bf16_from_float({text})"}.get(dtype, text)


def as_double(dtype: str, text: str) -> str:
    return to_double(dtype, text) if dtype in FLOATS else f"(double){text}"


def key_of(dtype: str, text: str) -> str:
    return f"u64_key({text})" if dtype == "u64" else f"(int64_t){text}"


def of_key(dtype: str, text: str) -> str:
    return f"u64_of_key({text})" if dtype == "u64" else f"({STORAGE[dtype]}){text}"


def literal_text(dtype: str, bits: int) -> Optional[str]:
    """A constant of the storage type; None for a NaN of f32 or f64."""
    if dtype in SMALL + TINY:
        return f"0x{bits:0{bits_of(dtype) // 4}x}"
    if dtype in FLOATS:
        code, integer = ("<f", "<I") if dtype == "f32" else ("<d", "<Q")
        value = struct.unpack(code, struct.pack(integer, bits))[0]
        if value != value:
            return None
        if value in (float("inf"), float("-inf")):
            return "INFINITY" if value > 0 else "-INFINITY"
        return re.sub(r"\.0(?=p)|(?<=[1-9a-f])0+(?=p)", "", value.hex()) + ("f" if dtype == "f32" else "")
    width = bits_of(dtype)
    if dtype == "pred":
        return str(bits & 1)
    if dtype in NARROW:
        return str(table.decode(bits, dtype))
    if not is_signed(dtype):
        return f"{bits}u"
    value = bits - (1 << width) if bits >> (width - 1) & 1 else bits
    if value == -(1 << (width - 1)):
        return f"INT{width}_MIN"
    return f"INT64_C({value})" if width == 64 else str(value)
