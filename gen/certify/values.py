"""What a walk finds: memories, values, accesses, obligations."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, List, Optional, Set, Tuple, Union

from gen.certify import terms, types
from gen.certify.terms import Atom, Condition, Term
from gen.certify.text import Token
from gen.certify.types import Type, Vector


@dataclass(eq=False)
class Memory:
    """An array that a kernel accesses. space: global, shared, private, constant. bytes: None where nobody says. key: the
    same for the same array of a later walk."""

    name: str
    space: str
    bytes: "Optional[int]"
    key: object
    at: "Optional[Token]" = None
    initial: "Optional[terms.Range]" = None

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Number:
    """A scalar. term: None where it is no integer. data: it depends on what was read from memory. condition: the truth
    value that it is, if it is one."""

    type: "types.Scalar"
    term: "Optional[Term]"
    data: bool
    condition: "Optional[Condition]" = None


@dataclass(frozen=True)
class Lanes:
    """A vector. lo, hi: of all its elements, where they are integers."""

    type: Vector
    lo: int = 0
    hi: int = 0


@dataclass(frozen=True)
class Address:
    """A pointer: unit * offset bytes behind the beginning of a memory. cell: the variable that it points to, else."""

    to: Type
    memory: "Optional[Memory]"
    offset: Term
    unit: int
    cell: "Optional[Cell]" = None


@dataclass(frozen=True)
class Either:
    """One of two pointers."""

    condition: Condition
    a: "Value"
    b: "Value"


@dataclass(frozen=True)
class Opaque:
    """A struct's value, or none."""

    type: Type


Value = Union[Number, Lanes, Address, Either, Opaque]


@dataclass(eq=False)
class Cell:
    """A variable. memory: of arrays and structs."""

    name: str
    type: Type
    value: "Optional[Value]"
    memory: "Optional[Memory]" = None
    key: object = None


@dataclass(frozen=True)
class Access:
    """An access to `width` units of `unit` bytes of a memory, from `offset` on. path: the conditions under which it is
    done; phase: the barriers before it."""

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

    @property
    def known(self) -> bool:
        """True if the access is done by each work-item and in each step that its variables name."""
        return all(atom.known for atom in terms.all_free([self.offset, *self.path]))


@dataclass(frozen=True)
class Obligation:
    """A term that has to lie in a range, as an index type of C has it."""

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
    """What a walk found. groups, items: the variables of the work-group and of the work-item in it. varying: variables
    that may differ between the work-items of a group; common: those that are the same for all work-items."""

    accesses: "List[Access]" = field(default_factory=list)
    obligations: "Dict[Obligation, None]" = field(default_factory=dict)
    barriers: "Dict[Barrier, None]" = field(default_factory=dict)
    groups: "Set[Atom]" = field(default_factory=set)
    items: "Set[Atom]" = field(default_factory=set)
    varying: "Set[Atom]" = field(default_factory=set)
    common: "Set[Atom]" = field(default_factory=set)
