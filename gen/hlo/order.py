"""Find the order that the comparator of a sort implements, if its graph proves one.

Parameter 2k of a comparator is operand k's element on the first side, parameter 2k + 1 its element on the second side.
`keys` reads the comparator as a lexicographic order of keys, each computed from the elements of one side:

    order = compare(key(first), key(second)) with LT or GT, or with the sides exchanged and GT or LT
          | or(order of a key, and(both sides have an equal key, order))
          | select(both sides have an equal key, order, order of that key)

The two sides of a comparison use one key if their graphs are equal after each parameter 2k + 1 is replaced by 2k. Any
op may compute a key, for example the ops by which JAX makes all zeros and all NaNs equal.

Integers and pred must be compared by value and floats by TOTALORDER. Then equal keys have equal bits, keys can be
mapped to integers, and every stable sort by the keys has the same result. A comparison of floats by value is not a
key, because a NaN is neither less than nor equal to any number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, List, Optional, Sequence, Set, Tuple

from gen.hlo import dtypes
from gen.hlo.graph import Computation, Instruction, Shape, array_shape, root_of, tuple_shape


@dataclass(frozen=True)
class Key:
    """A key of a sort.

    value: the op whose value is the key, computed from parameters with even numbers (elements of the first side)
    descending: larger keys come first
    """

    value: Instruction
    descending: bool

    @property
    def dtype(self) -> str:
        return self.value.shape.dtype

    @property
    def bits(self) -> int:
        return 8 * dtypes.storage_bytes(self.dtype)


def keys(comparator: Computation) -> Optional[List[Key]]:
    """Return the keys of the order that a comparator implements, most significant first; None if its graph proves no
    order.
    """
    return _order(root_of(comparator))


def computation_of(keys_of: Sequence[Key], comparator: Computation) -> Computation:
    """Return a computation whose result is the tuple of an element's keys. Its parameters have the same numbers as the
    comparator's.
    """
    values = [key.value for key in keys_of]
    root = Instruction("keys", "tuple", tuple_shape([value.shape for value in values]), values)
    return needed(Computation(comparator.name, [*comparator.instructions, root], root, comparator.parameters))


def needed(comparator: Computation) -> Computation:
    """Return the computation without the instructions and parameters that its root does not need."""
    live = {id(i) for i in reached(root_of(comparator))}
    return Computation(comparator.name, [i for i in comparator.instructions if id(i) in live], comparator.root,
                       [i for i in comparator.parameters if id(i) in live])


def reached(value: Instruction) -> List[Instruction]:
    """Return all values that a value is computed from, and the value itself."""
    seen: Dict[int, Instruction] = {}
    waiting = [value]
    while waiting:
        i = waiting.pop()
        if id(i) not in seen:
            seen[id(i)] = i
            waiting += i.operands
    return list(seen.values())


def by_total_order(dtype: str, largest: bool) -> Computation:
    """Return the comparator of a topk, which compares floats by the total order. largest: larger elements come first,
    otherwise smaller ones.
    """
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
    """Return the key of a compare op with direction `less` or `greater`, if both sides have the same key; else None."""
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
    """Return the sides (0: first element, 1: second element) whose parameters a value depends on."""
    return {(of.parameter_number or 0) % 2 for of in reached(i) if of.opcode == "parameter"}


def _alike(a: Instruction, b: Instruction, distance: int, known: "Dict[Tuple[int, int], bool]") -> bool:
    """Return true if the graph of b, with each parameter n + distance replaced by parameter n, equals the graph of a.
    """
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


def reads_nan_bits(computation: Computation) -> bool:
    """Return true if an op of a computation distinguishes NaNs by their bits: a bitcast-convert of floats, a topk, or a
    comparison by TOTALORDER whose operands may have different NaNs.
    """
    for i in computation.instructions:
        if not any(may_be_nan(operand.shape) for operand in i.operands):
            continue
        if i.opcode in ("bitcast-convert", "topk"):
            return True
        if i.attributes.get("type") == "TOTALORDER" and not all(map(_has_one_nan, i.operands)):
            return True
    return any(map(reads_nan_bits, (called for i in computation.instructions for called in i.called)))


def may_be_nan(shape: Shape) -> bool:
    """Return true if the elements of an array may be NaN; false for a tuple."""
    return shape.dtype in dtypes.TABLE and dtypes.TABLE[shape.dtype].kind in ("float", "complex")


def _has_one_nan(value: Instruction) -> bool:
    """Return true if an op replaces every NaN by one constant, as JAX's sorts do: select(x != x, constant, x)."""
    if value.opcode != "select":
        return False
    test, constant, x = value.operands
    return (test.opcode == "compare" and test.attributes["direction"] == "NE" and constant.opcode == "constant"
            and all(side is x for side in test.operands))
