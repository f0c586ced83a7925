"""A register as the emitter sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, NamedTuple, Optional, Tuple, Union

from gen.hlo import dtypes
from gen.plan.buffer import Buffer


class Touched(NamedTuple):
    """An access of a kernel, for people: the verb (read, write, combine; load, store: of a shared-memory tile), the
    buffer, and the map to the position in it. word: bytes of the words of several elements that it is in; 0: of an
    element by itself, or of a CPU's vectors."""

    verb: str
    buffer: Buffer
    position: str
    word: int = 0

    @property
    def words(self) -> str:
        return f"{self.verb} {self.buffer.pointer}"


class Access(NamedTuple):
    """An access of a step: the verb (read or write), the buffer, the map to the position in it, and the elements that
    are accessed at once."""

    verb: str
    buffer: Buffer
    position: str
    elements: int

    @property
    def bytes(self) -> int:
        """The bytes that are accessed at once."""
        return self.elements * dtypes.storage_bytes(self.buffer.shape.dtype)

    @property
    def text(self) -> str:
        size = f"{self.elements} elements" if self.elements > 1 else "one element"
        return f"{self.verb} {self.buffer.pointer}: {size} at once, {self.position}"


class IndexRow(NamedTuple):
    """Neighbours that an index selects: the buffer's pointer, their type, C text of the first one's address, the bytes
    that a step reads there."""

    pointer: str
    dtype: str
    first: str
    bytes: int


@dataclass(frozen=True)
class Value:
    """A register: C text (code: the text, or what gives it when it is needed), element type, lanes (1: the same for all
    lanes). bits: an f16 as it is in memory, so that a NaN that is only moved keeps its payload; otherwise an f16 is a
    float. rounded: no, where excess precision is still in it. mask: of a predicate on vectors that a comparison gave,
    the register of signed integers of `mask_bits` bits that has -1 where it is true; text: the same as bytes.
    short_nan: of a bf16 or f32 on vectors, or a constant: as a float, a NaN of it has an empty lower half, so that
    rounding to bf16 by a sum keeps it one. within: of a number that is known to be a NaN or no less than the first and
    no more than the second; nan: whether it may be one."""

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
        """The number that it is."""
        return self.within[0] if self.within and self.within[0] == self.within[1] and not self.nan else None
