"""The memory that kernels read or write."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

from gen.hlo import Shape


class Role(IntEnum):
    """The role of a buffer in a program, in the order in which a kernel takes its arguments. A scratch buffer passes
    values from one kernel to another. A table contains constants that the generator computes.
    """

    PARAMETER = 0
    SCRATCH = 1
    RESULT = 2
    TABLE = 3


_POINTERS = {Role.PARAMETER: "p", Role.SCRATCH: "q", Role.RESULT: "r"}


@dataclass(frozen=True, order=True)
class Buffer:
    """A buffer, identified by its role and by its number among the buffers of that role.
    name: the name of the value in the buffer. C variables that are read from the buffer are named after it.
    own: true for an array that each work-item has for itself.
    parts: true if the buffer contains complex numbers, and `shape` is the array of their real and imaginary parts.
    """

    role: Role
    number: int
    shape: Shape = field(compare=False)
    name: str = field(compare=False)
    own: bool = field(default=False, compare=False)
    parts: bool = field(default=False, compare=False)

    @property
    def pointer(self) -> str:
        """Return the C name of the kernel's pointer to the buffer."""
        return f"{_POINTERS[self.role]}{self.number}" if self.role in _POINTERS else self.name
