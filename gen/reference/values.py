"""What a reference's text is made of: arrays and scalars of C, steps, and the options of a bound."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import List, Mapping, Optional, Tuple, Union

from gen.reference.loops import count_of
from gen.reference.ulps import ULPS


@dataclass
class Array:
    """An array of the emitted C: v_NAME row-major in the storage type; lo_NAME and hi_NAME beside it where not
    exact."""

    name: str
    dtype: str
    dims: Tuple[int, ...]
    exact: bool
    home: str = "heap"  # or "given": a parameter, a result or a constant
    bits: bool = True  # False where a NaN may have any payload and sign: after float arithmetic
    count: int = field(init=False)

    def __post_init__(self) -> None:
        self.count = count_of(self.dims)


@dataclass(frozen=True)
class Scalar:
    """One value in a loop body: C text of its storage type and, unless it is exact, C text of its interval."""

    v: str
    dtype: str
    interval: Optional[str] = None
    bits: bool = True


Value = Union[Array, List["Value"]]  # a tuple is a list


def leaves_of(value: Value) -> List[Array]:
    if isinstance(value, Array):
        return [value]
    return [leaf for child in value for leaf in leaves_of(child)]


@dataclass
class Step:
    title: str
    lines: List[str]
    defines: List[Array]
    uses: List[Array]


@dataclass(frozen=True)
class Options:
    """What a kernel may do; `intervals` is False for the reference itself."""

    intervals: bool = False
    excess_precision: bool = False
    reassociate: bool = True
    flushes: bool = False
    ulps: Mapping[str, float] = field(default_factory=dict)

    def budget(self, opcode: str) -> float:
        return float(self.ulps.get(opcode, ULPS[opcode]))
