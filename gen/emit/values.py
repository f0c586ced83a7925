"""Values in registers, and accesses to memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, NamedTuple, Optional, Tuple, Union

from gen.hlo import dtypes
from gen.plan.buffer import Buffer


class Touched(NamedTuple):
    """An access of a kernel, for people to read.

    verb: read, write or combine; load or store for a shared-memory tile.
    buffer: the buffer.
    position: the map to the position in the buffer.
    word: the number of bytes of a word that contains several elements; 0 for single elements and CPU vectors.
    """

    verb: str
    buffer: Buffer
    position: str
    word: int = 0

    @property
    def words(self) -> str:
        return f"{self.verb} {self.buffer.pointer}"


class Access(NamedTuple):
    """An access of a step.

    verb: read or write.
    buffer: the buffer.
    position: the map to the position in the buffer.
    elements: the number of elements that are accessed at once.
    """

    verb: str
    buffer: Buffer
    position: str
    elements: int

    @property
    def bytes(self) -> int:
        """Return the number of bytes that are accessed at once."""
        return self.elements * dtypes.storage_bytes(self.buffer.shape.dtype)

    @property
    def text(self) -> str:
        size = f"{self.elements} elements" if self.elements > 1 else "one element"
        return f"{self.verb} {self.buffer.pointer}: {size} at once, {self.position}"


class IndexRow(NamedTuple):
    """Adjacent elements that a step reads at an index known at run time.

    pointer: the buffer's pointer.
    dtype: the type of the elements.
    first: the C text of the first element's address.
    bytes: the number of bytes.
    """

    pointer: str
    dtype: str
    first: str
    bytes: int


@dataclass(frozen=True)
class Value:
    """A value in a register.

    code: its C text, or a function that returns the text when it is needed.
    dtype: the type of an element.
    lanes: the number of lanes; 1 if the value is the same for all lanes.
    bits: true for an f16 in memory format, false for an f16 as a float. In memory format, a NaN keeps its payload.
    rounded: false if the value is not rounded to its small float type yet.
    mask: for a vector predicate from a comparison, a register of signed `mask_bits`-bit integers, -1 where it is true.
        `text` has the predicate as bytes.
    short_nan: true if each NaN, as a float, has zeros in the lower half of its bits. It then remains a NaN when an
        addition to the bits rounds it to bf16. The field is set for bf16 and f32 vectors and for constants.
    within: (lo, hi) if the value is known to be in [lo, hi] or NaN; else None.
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
        """Return the value as a number if it is known; else None."""
        return self.within[0] if self.within and self.within[0] == self.within[1] and not self.nan else None
