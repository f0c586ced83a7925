"""Arrays, scalars and steps of a reference."""

from __future__ import annotations

from dataclasses import dataclass
from string import Template
from typing import Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from gen.statements import Assign, printed, Statement
from gen.reference.loops import count_of, loops_over
from gen.reference.types import STORAGE


class Argument(NamedTuple):
    """A pointer among the arguments of the C function, and an offset from it. The pointer is element `number` of the
    argument `name`. The array begins `offset` bytes after it.
    """

    name: str
    number: int
    offset: int = 0


@dataclass(eq=False)
class Array:
    """A row-major array of the C text. In the statements of a step, it is written as ${name}. This is later replaced by
    the name of a pointer in the step's function.
    """

    name: str       # determines the name of the pointer in the C text
    dtype: str      # an HLO type, or the name of a C type
    dims: Tuple[int, ...]
    given: Optional[Argument] = None    # for a parameter or a result
    literal: Sequence[str] = ()         # for a constant: the lines of its definition

    @property
    def count(self) -> int:
        return count_of(self.dims)

    @property
    def kind(self) -> str:
        return STORAGE.get(self.dtype, self.dtype)

    @property
    def on_heap(self) -> bool:
        return self.given is None and not self.literal

    def __str__(self) -> str:
        return f"${{{self.name}}}"

    def all(self) -> str:
        """Return the C text of the index of the current element in a loop over all elements: "i", or "0" for an array
        of one element.
        """
        return "0" if self.count == 1 else "i"

    def each(self, value: str) -> List[Statement]:
        """Return statements that assign a value to each element. value: C text that contains the loop variable."""
        return loops_over((self.count,), [Assign(f"{self}[{self.all()}]", value)])


@dataclass(frozen=True)
class Scalar:
    """A value in the body of a loop, as C text in its storage type."""

    v: str
    dtype: str


Value = Union[Array, List["Value"]]  # a list represents an HLO tuple


def leaves_of(value: Value) -> List[Array]:
    if isinstance(value, Array):
        return [value]
    return [leaf for child in value for leaf in leaves_of(child)]


@dataclass
class Step:
    """Loops that define arrays. calls: the texts of the functions and tables that they use."""

    title: str
    lines: List[Statement]
    defines: List[Array]
    uses: List[Array]
    calls: Dict[str, str]

    @property
    def arrays(self) -> List[Array]:
        return list(dict.fromkeys([*self.defines, *self.uses]))

    def text(self, names: Mapping[str, str]) -> List[str]:
        return Template("\n".join(printed(self.lines))).substitute(names).split("\n")
