"""A register from the emitter's point of view."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, NamedTuple, Optional, Tuple, Union

from gen.hlo import dtypes
from gen.plan.buffer import Buffer


class Touched(NamedTuple):
    """An access of a kernel, as shown to people: the verb (read, write, combine; load, store for a shared-memory tile),
    the buffer, and the map to the position in it. word: the bytes of the word that contains several elements; 0 for
    single elements and for CPU vectors."""

    verb: str
    buffer: Buffer
    position: str
    word: int = 0

    @property
    def words(self) -> str:
        return f"{self.verb} {self.buffer.pointer}"


class Access(NamedTuple):
    """An access of a step: the verb (read or write), the buffer, the map to the position in it, and the number of
    elements per access."""

    verb: str
    buffer: Buffer
    position: str
    elements: int

    @property
    def bytes(self) -> int:
        """Return the bytes of one access."""
        return self.elements * dtypes.storage_bytes(self.buffer.shape.dtype)

    @property
    def text(self) -> str:
        size = f"{self.elements} elements" if self.elements > 1 else "one element"
        return f"{self.verb} {self.buffer.pointer}: {size} at once, {self.position}"


class IndexRow(NamedTuple):
    """Neighbours that an index selects: the buffer's pointer, their type, C text of the first one's address, and the
    bytes that a step reads there."""

    pointer: str
    dtype: str
    first: str
    bytes: int


@dataclass(frozen=True)
class Value:
    """A register.

    code: its C text, or the function that makes the text when it is needed.
    dtype: the element type.
    lanes: number of lanes; 1 if the value is the same for all lanes.
    bits: true for an f16 in its form in memory, so that a NaN that is only moved keeps its payload; false if the f16
        is a float.
    rounded: false while the value has excess precision.
    mask: for a vector predicate that a comparison gave, the register of signed `mask_bits`-bit integers with -1 where
        the predicate is true; `text` has the same predicate as bytes.
    short_nan: for a bf16 or f32 vector or a constant: true if each of its NaNs, as a float, has an empty lower half,
        so that rounding to bf16 by an addition keeps it a NaN.
    within: (lo, hi) if the value is known to be in [lo, hi] or NaN.
    nan: true if the value may be NaN.
    """

    code: "Union[str, Callable[[], str]]"
    dtype: str
    lanes: int = 1
    bits: bool = False
    rounded: bool = True
    mask: str = ""
    mask_bits: int = 0
    short_nan: bool = False
    within: "Optional[Tuple[float, float]]" = None
    nan: bool = True

    @property
    def text(self) -> str:
        return self.code if isinstance(self.code, str) else self.code()

    @property
    def known(self) -> "Optional[float]":
        """Return the value, if it is a known number; else None."""
        return self.within[0] if self.within and self.within[0] == self.within[1] and not self.nan else None
