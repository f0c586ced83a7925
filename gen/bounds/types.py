"""Intervals in the C text of a bound, and what is known about arrays and scalars."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Mapping, Optional

from gen.bounds.ulps import ULPS
from gen.reference.library import Calls
from gen.reference.types import bits_of, FLOATS, is_signed, STORAGE, to_double
from gen.reference.values import Array, Scalar

SIGNIFICANT = {"f16": 11, "bf16": 8, "f32": 24, "f64": 53}  # significant bits, including the leading one
LARGEST = {"f16": "65504.0", "bf16": "0x1.fep127", "f32": "0x1.fffffep127", "f64": "0x1.fffffffffffffp1023"}
LEAST = {"f32": "0x1p-149", "f64": "0x1p-1074"}
LEAST_NORMAL = {"f16": "0x1p-14", "bf16": "0x1p-126", "f32": "0x1p-126", "f64": "0x1p-1022"}


@dataclass(frozen=True)
class Options:
    """Ways in which a kernel may differ from the reference. The fields are the arguments of files.bound."""

    excess_precision: bool = False
    reassociate: bool = True
    flushes: bool = False
    ulps: Mapping[str, float] = field(default_factory=dict)

    def budget(self, opcode: str) -> float:
        assert opcode in ULPS, f"{opcode}: a function needs `ulps` in its row of gen/hlo/opcodes.py"
        return float(self.ulps.get(opcode, ULPS[opcode]))


@dataclass(frozen=True)
class Known:
    """Facts about the values of an array.

    ranges: the array of the intervals that contain its elements; None if the elements are exact
    bits: true if the bits of an exact element are those of the reference; false after float arithmetic, because a NaN
        may then have any bits
    """

    ranges: Optional[Array] = None
    bits: bool = True


@dataclass(frozen=True)
class Ranged(Scalar):
    """A scalar with the C text of its interval.

    interval: None if the scalar is exact
    """

    interval: Optional[str] = None
    bits: bool = True


def kind_of(dtype: str) -> str:
    """Return the C type of intervals of an element type: range or irange."""
    return "range" if dtype in FLOATS else "irange"


def of_ends(call: Calls, dtype: str, low: str, high: str) -> str:
    """Return the C text of the interval with these ends."""
    if dtype in FLOATS:
        return f"range_of({to_double(call, dtype, low)}, {to_double(call, dtype, high)})"
    return f"irange_of({key_of(dtype, low)}, {key_of(dtype, high)})"


def interval_of(call: Calls, x: Scalar) -> str:
    """Return the C text of a value's interval, which is a point if the value is exact."""
    return isinstance(x, Ranged) and x.interval or of_ends(call, x.dtype, x.v, x.v)


def full_range(dtype: str) -> str:
    """Return the C text of the interval of all values of a type."""
    return "range_all()" if dtype in FLOATS else f"irange_of({least(dtype)}, {most(dtype)})"


def least(dtype: str) -> str:
    """Return the smallest value of an integer type, as an end of an irange."""
    if bits_of(dtype) == 64:
        return "INT64_MIN"
    return str(-(1 << bits_of(dtype) - 1)) if is_signed(dtype) else "0"


def most(dtype: str) -> str:
    if bits_of(dtype) == 64:
        return "INT64_MAX"
    return "1" if dtype == "pred" else str((1 << bits_of(dtype) - is_signed(dtype)) - 1)


def key_of(dtype: str, text: str) -> str:
    return f"u64_key({text})" if dtype == "u64" else f"(int64_t){text}"


def of_key(dtype: str, text: str) -> str:
    return f"u64_of_key({text})" if dtype == "u64" else f"({STORAGE[dtype]}){text}"
