"""The types of C, OpenCL C, CUDA and HIP in generated texts, with their sizes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Dict, Optional, Tuple, Union


@dataclass(frozen=True)
class Int:
    bits: int
    signed: bool

    @property
    def range(self) -> "Tuple[int, int]":
        return (-(1 << self.bits - 1), (1 << self.bits - 1) - 1) if self.signed else (0, (1 << self.bits) - 1)


@dataclass(frozen=True)
class Float:
    bits: int


@dataclass(frozen=True)
class Void:
    pass


@dataclass(frozen=True)
class Vector:
    element: "Union[Int, Float]"
    lanes: int


@dataclass(frozen=True)
class Pointer:
    to: "Type"


@dataclass(frozen=True)
class Array:
    element: "Type"
    length: int


@dataclass(frozen=True)
class Record:
    """A struct or a union. In a union, all fields have the offset 0."""

    union: bool
    fields: "Tuple[Tuple[str, Type], ...]"

    def field(self, name: str) -> "Optional[Tuple[int, Type]]":
        """Return a field's offset in bytes, and its type."""
        at = 0
        for key, type in self.fields:
            at = -(-at // alignment(type)) * alignment(type)
            if key == name:
                return (0 if self.union else at), type
            at += size(type)
        return None


Type = Union[Int, Float, Void, Vector, Pointer, Array, Record]
Scalar = Union[Int, Float]

BOOL, INT, UINT, LONG, ULONG = Int(8, False), Int(32, True), Int(32, False), Int(64, True), Int(64, False)


def size(type: Type) -> int:
    if isinstance(type, (Int, Float)):
        return type.bits // 8
    if isinstance(type, Vector):
        return size(type.element) * (4 if type.lanes == 3 else type.lanes)
    if isinstance(type, Array):
        return size(type.element) * type.length
    if isinstance(type, Record):
        sizes = [size(of) for _, of in type.fields]
        if type.union:
            return max(sizes, default=0)
        end = 0
        for _, of in type.fields:
            end = -(-end // alignment(of)) * alignment(of) + size(of)
        most = max((alignment(of) for _, of in type.fields), default=1)
        return -(-end // most) * most
    return 8 if isinstance(type, Pointer) else 1


def alignment(type: Type) -> int:
    if isinstance(type, Array):
        return alignment(type.element)
    if isinstance(type, Record):
        return max((alignment(of) for _, of in type.fields), default=1)
    return size(type)


def least(type: Type) -> int:
    """Return the size in bytes of the smallest element of a type. Accesses to the type are counted in this unit."""
    if isinstance(type, Vector):
        return size(type.element)
    if isinstance(type, Array):
        return least(type.element)
    if isinstance(type, Record):
        return min((least(of) for _, of in type.fields), default=1)
    return size(type)


_BASIC: "Dict[str, Type]" = {"char": Int(8, True), "uchar": Int(8, False), "short": Int(16, True), "ushort": Int(16, False), "int": INT,
          "uint": UINT, "ulong": ULONG, "size_t": ULONG, "ptrdiff_t": LONG, "intptr_t": LONG, "uintptr_t": ULONG,
          "float": Float(32), "double": Float(64), "half": Float(16), "__half": Float(16), "_Float16": Float(16),
          "bool": BOOL, "_Bool": BOOL, "void": Void(), "long": LONG}
_VECTOR = re.compile(r"([a-z]+?)(2|3|4|8|16|32|64)")


def basic(words: str) -> "Optional[Type]":
    """Return the type with a name of C, or a vector type of OpenCL or CUDA. Return None for other names."""
    if words in _BASIC:
        return _BASIC[words]
    found = re.fullmatch(r"(u?)int(8|16|32|64)_t", words)
    if found:
        return Int(int(found[2]), not found[1])
    found = _VECTOR.fullmatch(words)
    if found and found[1] in _BASIC:
        element = _BASIC[found[1]]
        return Vector(element, int(found[2])) if isinstance(element, (Int, Float)) else None
    parts = words.split()
    if parts and set(parts) <= {"unsigned", "signed", "char", "short", "int", "long", "double"}:
        signed = "unsigned" not in parts
        bits = 8 if "char" in parts else 16 if "short" in parts else 64 if "long" in parts else 32
        return None if "double" in parts else Int(bits, signed)
    return None
