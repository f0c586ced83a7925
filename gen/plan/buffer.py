"""Memory that kernels read or write."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

from gen.hlo import Shape


class Role(IntEnum):
    """What a buffer is to a program, in the order in which kernels take their buffers. A scratch buffer holds what one
    kernel leaves for another, a table what is computed once."""

    PARAMETER = 0
    SCRATCH = 1
    RESULT = 2
    TABLE = 3


_POINTERS = {Role.PARAMETER: "p", Role.SCRATCH: "q", Role.RESULT: "r"}


@dataclass(frozen=True, order=True)
class Buffer:
    """A buffer is known by its role and its number among the buffers of that role. name: of the value in it; what is
    read of it has that name in C. own: whether it is an array of the work-item. parts: its elements are the parts of the
    complex numbers that are there."""

    role: Role
    number: int
    shape: Shape = field(compare=False)
    name: str = field(compare=False)
    own: bool = field(default=False, compare=False)
    parts: bool = field(default=False, compare=False)

    @property
    def pointer(self) -> str:
        """The C name of the kernel's pointer to it."""
        return f"{_POINTERS[self.role]}{self.number}" if self.role in _POINTERS else self.name
