"""The order that the comparator of a sort is, where its graph proves that it is one.

A comparator has two parameters for each operand: 2k is the element of operand k that may come first, 2k + 1 the other
one. `keys` reads it as a lexicographic order of keys, each a value that is computed from the elements of one side:

    order = compare(key(first), key(second)), LT or GT, or GT or LT with the sides in the other order
          | or(order of a key, and(that key of both sides is equal, order))
          | select(that key of both sides is equal, order, order of that key)

The two sides of a comparison are one key if their graphs are equal once each parameter 2k + 1 is replaced by 2k: the
key may be computed by any ops, such as the ones by which JAX makes all zeros and all NaNs one. Integers and pred are
compared by value, floats by TOTALORDER, so that equal keys have equal bits, and the keys are integers: any sort by them
that keeps the order of equal keys has one and the same result. A comparison of floats by value is no such key, since no
NaN is less than, or equal to, any number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, List, Optional, Sequence, Set, Tuple

from gen.hlo import dtypes
from gen.hlo.graph import Computation, Instruction, array_shape, root_of, tuple_shape


@dataclass(frozen=True)
class Key:
    """value: the key of the element whose parameters are even. descending: a larger key comes first."""

    value: Instruction
    descending: bool

    @property
    def dtype(self) -> str:
        return self.value.shape.dtype

    @property
    def bits(self) -> int:
        return 8 * dtypes.storage_bytes(self.dtype)


def keys(comparator: Computation) -> Optional[List[Key]]:
    """The keys of the order that a comparator is, the most significant one first; None where its graph does not prove
    that it is one."""
    return _order(root_of(comparator))


def computation_of(keys_of: Sequence[Key], comparator: Computation) -> Computation:
    """The computation of the keys of an element, a tuple. Its parameters have the comparator's numbers."""
    values = [key.value for key in keys_of]
    root = Instruction("keys", "tuple", tuple_shape([value.shape for value in values]), values)
    return needed(Computation(comparator.name, [*comparator.instructions, root], root, comparator.parameters))


def needed(comparator: Computation) -> Computation:
    """The same computation without instructions that its root does not need."""
    live = {id(i) for i in reached(root_of(comparator))}
    return Computation(comparator.name, [i for i in comparator.instructions if id(i) in live], comparator.root,
                       [i for i in comparator.parameters if id(i) in live])


def reached(value: Instruction) -> List[Instruction]:
    """A value and what it is computed from."""
    seen: Dict[int, Instruction] = {}
    waiting = [value]
    while waiting:
        i = waiting.pop()
        if id(i) not in seen:
            seen[id(i)] = i
            waiting += i.operands
    return list(seen.values())


def by_total_order(dtype: str, largest: bool) -> Computation:
    """The comparator by which topk takes the elements of a type."""
    scalar = array_shape(dtype, ())
    sides = [Instruction(name, "parameter", scalar, parameter_number=n) for n, name in enumerate(("a", "b"))]
    kind = {"type": "TOTALORDER"} if dtypes.TABLE[dtype].kind == "float" else {}
    root = Instruction("before", "compare", array_shape("pred", ()), sides,
                       {"direction": "GT" if largest else "LT", **kind})
    return Computation("before", [*sides, root], root, sides)


def _order(i: Instruction) -> Optional[List[Key]]:
    if i.opcode == "compare":
        key = _compared(i, "LT", "GT")
        return [key] if key else None
    if i.opcode == "or":
        for first, tie in (i.operands, i.operands[::-1]):
            for equal, rest in (tie.operands, tie.operands[::-1]) if tie.opcode == "and" else ():
                found = _lexicographic(first, equal, rest)
                if found:
                    return found
    if i.opcode == "select" and not i.operands[0].shape.dims:
        return _lexicographic(i.operands[2], i.operands[0], i.operands[1])
    return None


def _lexicographic(first: Instruction, equal: Instruction, rest: Instruction) -> Optional[List[Key]]:
    key = _compared(first, "LT", "GT")
    same = _compared(equal, "EQ", "EQ")
    if key is None or same is None or not _alike(key.value, same.value, 0, {}):
        return None
    further = _order(rest)
    return [key, *further] if further else None


def _compared(i: Instruction, less: str, greater: str) -> Optional[Key]:
    """The key of a comparison of both sides whose direction is one of two."""
    if i.opcode != "compare" or i.attributes["direction"] not in (less, greater):
        return None
    a, b = i.operands
    kind = dtypes.TABLE[a.shape.dtype].kind
    if kind == "complex" or a.shape.dtype in dtypes.PACKED or a.shape.dims:
        return None
    if kind == "float" and i.attributes.get("type") != "TOTALORDER":
        return None
    sides = _sides(a), _sides(b)
    if sides == ({0}, {1}) and _alike(a, b, 1, {}):
        return Key(a, i.attributes["direction"] == greater)
    if sides == ({1}, {0}) and _alike(b, a, 1, {}):
        return Key(b, i.attributes["direction"] == less)
    return None


def _sides(i: Instruction) -> Set[int]:
    """The sides (0 or 1) whose parameters a value depends on."""
    return {(of.parameter_number or 0) % 2 for of in reached(i) if of.opcode == "parameter"}


def _alike(a: Instruction, b: Instruction, distance: int, known: "Dict[Tuple[int, int], bool]") -> bool:
    """True if two values have one graph, where parameter n of the first is n + distance of the second."""
    at = id(a), id(b)
    if at not in known:
        if a.opcode == "parameter" or b.opcode == "parameter":
            known[at] = a.opcode == b.opcode and (a.parameter_number or 0) + distance == (b.parameter_number or 0)
        else:
            facts = [({k: v for k, v in i.attributes.items() if k != "raw"}, i.opcode, i.shape.text, i.literal,
                      len(i.operands)) for i in (a, b)]
            known[at] = facts[0] == facts[1] and all(_alike(x, y, distance, known)
                                                     for x, y in zip(a.operands, b.operands))
    return known[at]
