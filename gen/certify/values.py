"""The results of a walk: memories, values, accesses, obligations."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, List, Optional, Set, Tuple, Union

from gen.certify import terms, types
from gen.certify.expressions import Expression
from gen.certify.terms import Atom, Condition, Term
from gen.certify.text import Token
from gen.certify.types import Int, Type, Vector


@dataclass(eq=False)
class Memory:
    """An array that a kernel accesses.

    space: global, shared, private or constant.
    bytes: its size; None if it is not known.
    key: identifies the array in every walk of the kernel.
    base: the offset of its first byte in the block of memory that contains it.
    shares: the other arrays that overlap it.
    """

    name: str
    space: str
    bytes: "Optional[int]"
    key: object
    at: "Optional[Token]" = None
    initial: "Optional[terms.Range]" = None
    base: int = 0
    shares: "List[Memory]" = field(default_factory=list)

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Number:
    """A scalar.

    term: its value if it is an integer, else None.
    data: true if it depends on values that were read from memory.
    condition: if it is the result of a comparison, the condition.
    pointer: if it is a pointer that was converted to an integer, the pointer.
    bits: the bits of a floating-point number, if the walk follows them.
    of: the expression that it is the value of, in a walk of meaning.py.
    """

    type: "types.Scalar"
    term: "Optional[Term]"
    data: bool
    condition: "Optional[Condition]" = None
    pointer: "Optional[Address]" = None
    bits: "Optional[Term]" = None
    of: "Optional[Expression]" = None


@dataclass(frozen=True)
class Lanes:
    """A vector.

    lo, hi: a range that contains all its elements, if they are integers.
    of: the expression of each element, in a walk of meaning.py.
    """

    type: Vector
    lo: int = 0
    hi: int = 0
    of: "Optional[Tuple[Expression, ...]]" = None


@dataclass(frozen=True)
class Address:
    """A pointer to byte unit * offset of `memory`; if `memory` is None, to the variable `cell`."""

    to: Type
    memory: "Optional[Memory]"
    offset: Term
    unit: int
    cell: "Optional[Cell]" = None


@dataclass(frozen=True)
class Either:
    """A pointer that is `a` if the condition holds, else `b`."""

    condition: Condition
    a: "Value"
    b: "Value"


@dataclass(frozen=True)
class Opaque:
    """The value of a struct, or no value (void)."""

    type: Type


Value = Union[Number, Lanes, Address, Either, Opaque]


@dataclass(eq=False)
class Cell:
    """A variable. memory: the memory of an array or a struct."""

    name: str
    type: Type
    value: "Optional[Value]"
    memory: "Optional[Memory]" = None
    key: object = None


@dataclass(frozen=True)
class Access:
    """An access to `width` units of `unit` bytes each, from unit `offset` of a memory on.

    path: the conditions under which the access is done.
    phase: the number of barriers before it.
    order: its number in the order of the text.
    loops: the steps of the loops around it, the outermost first.
    """

    memory: Memory
    offset: Term
    width: int
    unit: int
    write: bool
    atomic: bool
    path: "Tuple[Condition, ...]"
    phase: Term
    at: Token
    order: int = 0
    loops: "Tuple[Term, ...]" = ()

    @property
    def known(self) -> bool:
        """Return true if ids and the steps of loops alone determine whether the access is done, and its place."""
        return all(atom.known for atom in terms.all_free([self.offset, *self.path]))


@dataclass(frozen=True)
class Obligation:
    """The requirement that a term lies in a range, such as the range of an index type of C."""

    term: Term
    lo: int
    hi: int
    path: "Tuple[Condition, ...]"
    at: Token


@dataclass(frozen=True)
class Barrier:
    path: "Tuple[Condition, ...]"
    at: Token


@dataclass
class Found:
    """The results of a walk.

    groups: the variables that number the work-group.
    items: the variables that number the work-item in its group.
    varying: the variables that may differ between the work-items of a group.
    common: the variables that are equal for all work-items.
    stored: for each array in global memory, the type of the integers that are stored there and a range that contains
        them; None if other values are stored.
    """

    accesses: "List[Access]" = field(default_factory=list)
    obligations: "Dict[Obligation, None]" = field(default_factory=dict)
    barriers: "Dict[Barrier, None]" = field(default_factory=dict)
    groups: "Set[Atom]" = field(default_factory=set)
    items: "Set[Atom]" = field(default_factory=set)
    varying: "Set[Atom]" = field(default_factory=set)
    common: "Set[Atom]" = field(default_factory=set)
    stored: "Dict[Memory, Optional[Tuple[Int, int, int]]]" = field(default_factory=dict)
