"""Element types of HLO: widths, kinds, and exact conversions between numbers, texts and bits.

Only `encode` and `decode` convert between numbers and bits. They round floats to nearest, ties to even, from the exact
value, because a conversion through a wider float would round twice. A value beyond the largest finite one becomes
infinity; in a type without infinity it becomes NaN, and in a type without either it becomes the largest finite value.
"""

from __future__ import annotations

import math
import re
import struct
from dataclasses import dataclass
from fractions import Fraction
from typing import Dict, FrozenSet, Union

Number = Union[int, float, Fraction, bool]


@dataclass(frozen=True)
class Dtype:
    """An element type.

    style: the meaning of a float's top encodings: 'ieee' (infinities and NaNs), 'fn' (no infinity, NaN is all ones),
        'fnuz' (no infinity, NaN is the pattern of minus zero), 'finite' (neither), 'scale' (unsigned power of two,
        NaN is all ones)
    part: the element type of a complex type's real and imaginary parts
    """

    name: str
    bits: int
    kind: str
    exponent: int = 0
    mantissa: int = 0
    bias: int = 0
    style: str = ""
    part: str = ""


def _table() -> Dict[str, Dtype]:
    rows = [Dtype("pred", 1, "pred")]
    rows += [Dtype(f"s{bits}", bits, "sint") for bits in (1, 2, 4, 8, 16, 32, 64)]
    rows += [Dtype(f"u{bits}", bits, "uint") for bits in (1, 2, 4, 8, 16, 32, 64)]
    floats = [("f16", 16, 5, 10, 15, "ieee"), ("bf16", 16, 8, 7, 127, "ieee"), ("f32", 32, 8, 23, 127, "ieee"),
              ("f64", 64, 11, 52, 1023, "ieee"), ("f8e5m2", 8, 5, 2, 15, "ieee"), ("f8e4m3", 8, 4, 3, 7, "ieee"),
              ("f8e3m4", 8, 3, 4, 3, "ieee"), ("f8e4m3fn", 8, 4, 3, 7, "fn"), ("f8e5m2fnuz", 8, 5, 2, 16, "fnuz"),
              ("f8e4m3fnuz", 8, 4, 3, 8, "fnuz"), ("f8e4m3b11fnuz", 8, 4, 3, 11, "fnuz"),
              ("f8e8m0fnu", 8, 8, 0, 127, "scale"), ("f6e2m3fn", 6, 2, 3, 1, "finite"),
              ("f6e3m2fn", 6, 3, 2, 3, "finite"), ("f4e2m1fn", 4, 2, 1, 1, "finite"),]
    rows += [Dtype(name, bits, "float", e, m, bias, style) for name, bits, e, m, bias, style in floats]
    rows += [Dtype("c64", 64, "complex", part="f32"), Dtype("c128", 128, "complex", part="f64")]
    return {row.name: row for row in rows}


TABLE: Dict[str, Dtype] = _table()

# the types with kernels; the parser keeps other types, and an error reports their position
SUPPORTED: FrozenSet[str] = frozenset(name for name in TABLE if name not in ("s1", "u1", "f6e2m3fn", "f6e3m2fn"))
# Types of less than 8 bits whose elements are packed in bytes, the first element in the low bits. They are packed with
# or without E(..) in the layout.
PACKED: FrozenSet[str] = frozenset(["s2", "u2", "s4", "u4", "f4e2m1fn"])


def storage_bytes(name: str) -> int:
    """Return the bytes of one unpacked element; types narrower than 8 bits take one byte."""
    return (TABLE[name].bits + 7) // 8


def per_byte(name: str) -> int:
    """Return the number of elements in a byte of memory, for a type of at most 8 bits; 1 for wider types."""
    return 8 // TABLE[name].bits if name in PACKED else 1


def wider(a: str, b: str) -> str:
    """Return the default type of a product: the type of one of its factors. A complex type is preferred to a real one,
    then a float to an integer. Further criteria are, in this order, larger range, higher precision, more bits, and
    signed.
    """
    def rank(name: str) -> "tuple[bool, int, int, int, bool]":
        part = TABLE[TABLE[name].part or name]
        reach = (largest_finite(part.name) >> part.mantissa) - part.bias if part.kind == "float" else -(1 << 20)
        return name != part.name, reach, part.mantissa, part.bits, part.kind == "sint"

    return max(a, b, key=rank)


def is_complex(name: str) -> bool:
    """Return true if an array's dtype is complex; false for real types and for the "" of a tuple."""
    return name in TABLE and TABLE[name].kind == "complex"


def parts(bits: int, name: str) -> "tuple[int, int]":
    """Return the bits of the real and of the imaginary part of a complex number."""
    width = TABLE[TABLE[name].part].bits
    return bits & ((1 << width) - 1), bits >> width


def integer_range(name: str) -> "tuple[int, int]":
    """Return the minimum and the maximum of pred or an integer type."""
    dtype = TABLE[name]
    if dtype.kind == "sint":
        return -(1 << (dtype.bits - 1)), (1 << (dtype.bits - 1)) - 1
    return 0, (1 << dtype.bits) - 1


def largest_finite(name: str) -> int:
    """Return the bit pattern of the largest finite value of a float type."""
    dtype = TABLE[name]
    top = (1 << (dtype.exponent + dtype.mantissa)) - 1
    if dtype.style == "ieee":
        return top - (1 << dtype.mantissa)
    return top - 1 if dtype.style in ("fn", "scale") else top


def quiet_nan(name: str) -> int:
    """Return the bit pattern of a NaN without payload. Raise ValueError if the type has no NaN."""
    dtype = TABLE[name]
    if dtype.style == "ieee":
        return (((1 << dtype.exponent) - 1) << dtype.mantissa) | (1 << (dtype.mantissa - 1))
    if dtype.style in ("fn", "scale"):
        return (1 << (dtype.exponent + dtype.mantissa)) - 1
    if dtype.style == "fnuz":
        return 1 << (dtype.bits - 1)
    raise ValueError(f"expected a number of {name}, which has no NaN")


def is_nan(bits: int, name: str) -> bool:
    """Return true if a float's bit pattern is a NaN."""
    dtype = TABLE[name]
    size = (1 << (dtype.exponent + dtype.mantissa)) - 1
    if dtype.style == "ieee":
        return (bits & size) > (((1 << dtype.exponent) - 1) << dtype.mantissa)
    if dtype.style in ("fn", "scale"):
        return (bits & size) == size
    return dtype.style == "fnuz" and bits == 1 << (dtype.bits - 1)


def is_infinite(bits: int, name: str) -> bool:
    """Return true if a float's bit pattern is an infinity."""
    dtype = TABLE[name]
    size = (1 << (dtype.exponent + dtype.mantissa)) - 1
    return dtype.style == "ieee" and (bits & size) == ((1 << dtype.exponent) - 1) << dtype.mantissa


def _sign_bit(dtype: Dtype) -> int:
    return 0 if dtype.style == "scale" else 1 << (dtype.bits - 1)


def _overflow(dtype: Dtype) -> int:
    if dtype.style == "ieee":
        return ((1 << dtype.exponent) - 1) << dtype.mantissa
    if dtype.style == "finite":
        return largest_finite(dtype.name)
    return quiet_nan(dtype.name)


def _round_magnitude(value: Fraction, dtype: Dtype) -> int:
    """Return the bit pattern nearest to a value >= 0, ties to even. Return the pattern of `_overflow` if the value
    rounds to more than the largest finite value.
    """
    if value == 0:
        return quiet_nan(dtype.name) if dtype.style == "scale" else 0
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    if value < Fraction(2) ** exponent:
        exponent -= 1
    if dtype.style == "scale":
        rounded = exponent + (1 if value / Fraction(2) ** exponent >= Fraction(3, 2) else 0) + dtype.bias
        return max(0, rounded) if rounded <= largest_finite(dtype.name) else _overflow(dtype)
    exponent = max(exponent, 1 - dtype.bias)
    steps = round(value / Fraction(2) ** (exponent - dtype.mantissa))
    # The format does not store the leading bit of `steps`. In the sum below, this bit adds 1 to the exponent field, so
    # the field is 1 smaller before.
    pattern = ((exponent + dtype.bias - 1) << dtype.mantissa) + steps
    return pattern if pattern <= largest_finite(dtype.name) else _overflow(dtype)


_FAST = {"f16": "e", "f32": "f", "f64": "d"}


def _encode_float(value: Number, dtype: Dtype) -> int:
    negative = False
    if isinstance(value, float):
        negative = math.copysign(1.0, value) < 0
        if math.isnan(value):
            pattern = quiet_nan(dtype.name)
            return pattern | (_sign_bit(dtype) if negative and dtype.style != "fnuz" else 0)
        if dtype.name in _FAST:
            code = _FAST[dtype.name]
            try:
                return int.from_bytes(struct.pack("<" + code, value), "little")
            except OverflowError:
                return _overflow(dtype) | (_sign_bit(dtype) if negative else 0)
        magnitude = _overflow(dtype) if math.isinf(value) else _round_magnitude(Fraction(abs(value)), dtype)
    else:
        negative = value < 0
        magnitude = _round_magnitude(abs(Fraction(value)), dtype)
    return _signed(magnitude, negative, dtype)


def _signed(magnitude: int, negative: bool, dtype: Dtype) -> int:
    if not negative:
        return magnitude
    if dtype.style == "scale":
        return quiet_nan(dtype.name)
    if dtype.style == "fnuz" and (magnitude == 0 or magnitude == quiet_nan(dtype.name)):
        return magnitude
    return magnitude | _sign_bit(dtype)


def encode(value: "Union[Number, complex]", name: str) -> int:
    """Return the bit pattern of a value. Integers and pred are exact (ValueError if out of range); floats and complex
    numbers are rounded to nearest.
    """
    dtype = TABLE[name]
    if dtype.kind == "complex":
        part = complex(value) if not isinstance(value, complex) else value
        width = TABLE[dtype.part].bits
        return encode(part.real, dtype.part) | encode(part.imag, dtype.part) << width
    if isinstance(value, complex):
        raise ValueError(f"a complex value does not fit {name}")
    if dtype.kind == "float":
        return _encode_float(value, dtype)
    number = int(value)
    low, high = integer_range(name)
    if number != value or not low <= number <= high:
        raise ValueError(f"{value} is out of the range of {name}, {low} to {high}")
    return number & ((1 << dtype.bits) - 1)


def decode(bits: int, name: str) -> "Union[int, float, complex]":
    """Return the value of a bit pattern."""
    dtype = TABLE[name]
    if dtype.kind == "complex":
        width = TABLE[dtype.part].bits
        return complex(decode_real(bits & ((1 << width) - 1), dtype.part), decode_real(bits >> width, dtype.part))
    return decode_real(bits, name)


def decode_real(bits: int, name: str) -> "Union[int, float]":
    """Return the value of a bit pattern of a real type. Every float value of these types fits a double exactly, but a
    NaN loses its payload.
    """
    dtype = TABLE[name]
    if dtype.kind == "pred":
        return bool(bits & 1)
    if dtype.kind == "uint":
        return bits
    if dtype.kind == "sint":
        return bits - (1 << dtype.bits) if bits >> (dtype.bits - 1) else bits
    sign = -1.0 if bits & _sign_bit(dtype) else 1.0
    if is_nan(bits, name):
        return math.copysign(math.nan, sign)
    if is_infinite(bits, name):
        return sign * math.inf
    mantissa = bits & ((1 << dtype.mantissa) - 1)
    exponent = bits >> dtype.mantissa & ((1 << dtype.exponent) - 1)
    if dtype.style == "scale":
        return math.ldexp(1.0, exponent - dtype.bias)
    if exponent:
        mantissa |= 1 << dtype.mantissa
    return sign * math.ldexp(float(mantissa), max(exponent, 1) - dtype.bias - dtype.mantissa)


_DECIMAL = re.compile(r"([+-]?)(?:([0-9]+)(?:\.([0-9]*))?|\.([0-9]+))(?:[eE]([+-]?[0-9]+))?\Z")
# maximum number of significant decimal digits of a midpoint of two doubles
_DIGITS = 1200


def _exact(sign: str, whole: str, part: str, power: str) -> "tuple[bool, Fraction]":
    """Return the sign and magnitude of a decimal number. A huge exponent is clamped. The digits after the first _DIGITS
    are replaced by one digit: 0 if all of them are 0, else 1. The result rounds like the exact value.
    """
    digits = (whole + part).lstrip("0")
    shift = -len(part)
    if not digits:
        return sign == "-", Fraction(0)
    if len(power.lstrip("+-0")) > 8:
        return sign == "-", Fraction(0) if power.startswith("-") else Fraction(10) ** 400
    shift += int(power or "0")
    if len(digits) > _DIGITS:
        rest = digits[_DIGITS:]
        shift += len(rest) - 1
        digits = digits[:_DIGITS] + ("1" if rest.strip("0") else "0")
    top = len(digits) + shift
    if top > 400 or top < -400:
        return sign == "-", Fraction(10) ** 400 if top > 0 else Fraction(1, 10 ** 400)
    magnitude = Fraction(int(digits))
    return sign == "-", magnitude * 10 ** shift if shift >= 0 else magnitude / 10 ** -shift


def encode_text(text: str, name: str) -> int:
    """Return the bit pattern of the float nearest to a decimal number's text; ValueError if it is not a decimal
    number."""
    dtype = TABLE[name]
    match = _DECIMAL.match(text)
    if match is None:
        raise ValueError(f"'{text}' is not a decimal number")
    if len(text) < 40 and name in ("f32", "f64"):
        value = float(text)
        if name == "f64":
            return int.from_bytes(struct.pack("<d", value), "little")
        wide = int.from_bytes(struct.pack("<d", value), "little")
        # Rounding twice is wrong only if the double lies exactly between two f32.
        if 2.0 ** -126 <= abs(value) < 3.0e38 and wide & 0x1FFFFFFF != 0x10000000:
            return int.from_bytes(struct.pack("<f", value), "little")
    sign, whole, part, bare, power = match.groups()
    negative, magnitude = _exact(sign, whole or "", bare or part or "", power or "")
    return _signed(_round_magnitude(magnitude, dtype), negative, dtype)


def format_value(bits: int, name: str) -> str:
    """Return the shortest decimal text that reads back to the same bits; `nan(0x..)` for a NaN with a payload."""
    dtype = TABLE[name]
    if dtype.kind == "pred":
        return "true" if bits & 1 else "false"
    if dtype.kind in ("sint", "uint"):
        return str(decode_real(bits, name))
    if dtype.kind == "complex":
        width = TABLE[dtype.part].bits
        return f"({format_value(bits & ((1 << width) - 1), dtype.part)}, {format_value(bits >> width, dtype.part)})"
    sign = "-" if bits & _sign_bit(dtype) else ""
    if is_nan(bits, name):
        if dtype.style == "ieee" and bits & ~_sign_bit(dtype) != quiet_nan(name):
            return f"{sign}nan({bits & ((1 << dtype.mantissa) - 1):#x})"
        return "nan" if dtype.style == "fnuz" else sign + "nan"
    if is_infinite(bits, name):
        return sign + "inf"
    value = decode_real(bits, name)
    if name == "f64":
        return _plain(repr(value))
    for precision in range(1, 18):
        text = f"{value:.{precision}g}"
        if encode_text(text, name) == bits:
            return _plain(text)
    raise AssertionError("seventeen digits tell any two doubles apart")


def c_float(bits: int, name: str) -> str:
    """Return a finite f32 or f64 as a constant in C."""
    text = format_value(bits, name)
    return (text if "." in text or "e" in text else f"{text}.0") + "f" * (name == "f32")


def _plain(text: str) -> str:
    return text[:-2] if text.endswith(".0") else text


def encode_nan(negative: bool, payload: "int | None", name: str) -> int:
    """Return a NaN with the mantissa bits `payload` (None: the plain NaN); ValueError if the type has no such NaN."""
    dtype = TABLE[name]
    pattern = quiet_nan(name)
    if payload is not None:
        if dtype.style != "ieee" or not 0 < payload < 1 << dtype.mantissa:
            raise ValueError(
                f"expected a payload of a NaN of {name} from 1 to {(1 << dtype.mantissa) - 1:#x}, found {payload:#x}")
        pattern = ((1 << dtype.exponent) - 1) << dtype.mantissa | payload
    return _signed(pattern, negative, dtype)
