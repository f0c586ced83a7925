"""The results of a walk: memories, values, accesses, and obligations."""

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
    bytes: its size; None if this is not known.
    key: identifies the array in all walks of the kernel.
    base: the offset of its first byte in the block of memory that contains it.
    shares: the other arrays that share bytes with it.
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

    term: the value if it is an integer, else None.
    data: true if the value depends on values from memory.
    condition: if the value is the result of a comparison, the condition.
    pointer: if the value is a pointer that was converted to an integer, the pointer.
    bits: for a floating-point number whose bits the walk follows, the bits as an integer.
    of: in a walk of meaning.py, the expression of the value.
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

    lo, hi: for integers, a range that contains all elements.
    of: in a walk of meaning.py, the expression of each element.
    """

    type: Vector
    lo: int = 0
    hi: int = 0
    of: "Optional[Tuple[Expression, ...]]" = None


@dataclass(frozen=True)
class Address:
    """A pointer to the byte unit * offset of `memory`. If `memory` is None, it points into the variable `cell`."""

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
    """The value of a struct, or no value (void).

    fields: the integers in the struct that the walk knows, each with its offset in bytes.
    """

    type: Type
    fields: "Tuple[Tuple[int, Number], ...]" = ()


Value = Union[Number, Lanes, Address, Either, Opaque]


@dataclass(eq=False)
class Cell:
    """A variable. memory: for an array or a struct, its memory."""

    name: str
    type: Type
    value: "Optional[Value]"
    memory: "Optional[Memory]" = None
    key: object = None


@dataclass(frozen=True)
class Access:
    """An access to `width` adjacent units of a memory, from unit `offset` on. A unit has `unit` bytes.

    path: the conditions under which the access happens.
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
        """Return true if ids and steps of loops determine whether the access happens, and at which place."""
        return all(atom.known for atom in terms.all_free([self.offset, *self.path]))


@dataclass(frozen=True)
class Obligation:
    """The requirement that a term is in a range: for example, that an index is in the range of its type."""

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
    common: values from memory that are equal for all work-items.
    stored: for each array in global memory to which integers are stored, their type and a range that contains them. It
        is None if other values are stored, too.
    """

    accesses: "List[Access]" = field(default_factory=list)
    obligations: "Dict[Obligation, None]" = field(default_factory=dict)
    barriers: "Dict[Barrier, None]" = field(default_factory=dict)
    groups: "Set[Atom]" = field(default_factory=set)
    items: "Set[Atom]" = field(default_factory=set)
    varying: "Set[Atom]" = field(default_factory=set)
    common: "Set[Atom]" = field(default_factory=set)
    stored: "Dict[Memory, Optional[Tuple[Int, int, int]]]" = field(default_factory=dict)
