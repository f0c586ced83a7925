"""Find the elements of a value that a mask discards.

A causal mask keeps a score if the index of the query is at least the index of the key, and replaces it by a constant
otherwise. The condition compares affine functions of indices, so the algebra can tell where scores are discarded. A
product need not compute the discarded elements (gen/plan/strips.py).

The entry function of a partition is the body of a kernel. It computes the elements at one index. The maps of this file
are from this index.
"""

from __future__ import annotations

import itertools
from typing import Dict, Iterator, List, Optional, Set, Tuple

from gen import algebra
from gen.hlo import Instruction, dtypes
from gen.hlo.opcodes import ELEMENTWISE
from gen.plan.buffers import reads_of
from gen.plan.partition import Entry, Partition, Read, compose, moves_only, operand_map

# maximum number of ops of a condition that are visited; a longer condition may be taken for one that discards nothing
MOST_OPS = 100
OPPOSITE = {"GE": "LT", "LT": "GE", "GT": "LE", "LE": "GT", "EQ": "NE", "NE": "EQ"}


def discarded(value: Instruction, partition: Partition) -> "Set[str]":
    """Return maps from the entry function's index to an integer. If one of the integers is negative, no root of the
    partition depends on the element of `value` that is read for this index.
    """
    entries: Dict[Tuple[Instruction, str], Entry] = {
        (entry.instruction, entry.map): entry for entry in partition.entry.body.entries}
    # the values that depend on `value`, each with the map to the index at which it is read
    dependent: Set[Tuple[Instruction, str]] = set()
    for function in partition.functions:
        for read, region in reads_of(partition, function):
            if read.source is value:
                if region is not partition.entry.body:
                    return set()
                dependent.add((value, read.map))
    found: List[Set[str]] = []
    for key, entry in entries.items():
        reads = [(partition.operand(entry, k, inner), inner) for k, inner in partition.operands(entry)] \
            if entry.callee is None else []
        sides = [k for k, (read, _) in enumerate(reads) if (read.source, read.map) in dependent]
        if not sides:
            continue
        if entry.regions or entry.instruction.opcode not in ELEMENTWISE:
            return set()
        if entry.instruction.opcode == "select" and len(sides) == 1 and sides[0] > 0:
            found.append(_never(reads[0][0], sides[0] == 1, itertools.count()))
        else:
            dependent.add(key)
    used = [*map(partition.root_read, partition.roots), *map(partition.scalar_read, partition.scalars)]
    if any((read.source, read.map) in dependent for read in used):
        return set()
    return set.intersection(*found) if found else set()


def _operands(read: Read) -> "List[Read]":
    """Return the reads of the operands of the elementwise op that computes a value, even if another kernel computes it.
    Ops that only move data are composed into the maps. Return an empty list if another kind of op computes the value.
    """
    if read.source.opcode not in ELEMENTWISE:
        return []
    reads = [Read(operand, compose(read.map, operand_map(read.source, k)))
             for k, operand in enumerate(read.source.operands)]
    for k, found in enumerate(reads):
        while moves_only(found.source) and found.source.opcode != "get-tuple-element":
            found = Read(found.source.operands[0], compose(found.map, operand_map(found.source, 0)))
        reads[k] = found
    return reads


def _constant(read: Read) -> "Optional[int]":
    """Return the integer or truth value that is read, if all elements of the value are this constant."""
    source = read.source
    if source.opcode != "constant" or not source.literal or len(set(source.literal)) != 1:
        return None
    return int(dtypes.decode_real(source.literal[0], source.shape.leaves()[0].dtype))


def _never(read: Read, truth: bool, visits: "Iterator[int]") -> "Set[str]":
    """Return maps from the entry function's index to an integer. At an index where one of these integers is negative,
    the predicate that `read` reads is not `truth`. visits: counts the ops that are visited.
    """
    if next(visits) >= MOST_OPS:
        return set()
    instruction, operands = read.source, _operands(read)
    if instruction.opcode == "not":
        return _never(operands[0], not truth, visits)
    if instruction.opcode in ("and", "or"):
        sides = [_never(operand, truth, visits) for operand in operands]
        return set.union(*sides) if (instruction.opcode == "and") == truth else set.intersection(*sides)
    if instruction.opcode == "select":
        sides = [_never(operands[0], k == 1, visits) | _never(operands[k], truth, visits) for k in (1, 2)
                 if _constant(operands[k]) != (not truth)]
        return set.intersection(*sides) if sides else set()
    if instruction.opcode != "compare":
        return set()
    direction = instruction.attributes["direction"]
    direction = direction if truth else OPPOSITE[direction]
    a, b = (_affine(operand, visits) for operand in operands)
    if a is None or b is None or direction == "NE":
        return set()
    terms = {"GE": [f"({a}) - ({b})"], "GT": [f"({a}) - ({b}) - 1"], "LE": [f"({b}) - ({a})"],
             "LT": [f"({b}) - ({a}) - 1"], "EQ": [f"({a}) - ({b})", f"({b}) - ({a})"]}[direction]
    return {_map(read, term) for term in terms}


def _affine(read: Read, visits: "Iterator[int]") -> Optional[str]:
    """Return the integer that is read, as an expression in the variables of the entry function's index. Return None if
    it is not a sum of indices and constants, or if an index or a sum may leave the range of its type. visits: counts
    the ops that are visited.
    """
    source, of = read.source, dtypes.TABLE[read.source.shape.leaves()[0].dtype]
    if of.kind not in ("sint", "uint") or next(visits) >= MOST_OPS:
        return None
    if source.opcode == "iota":
        text = algebra.info(read.map).results[source.attributes["iota_dimension"]].text
    elif source.opcode == "constant":
        value = _constant(read)
        return str(value) if value is not None and -1 << 63 <= value < 1 << 63 else None
    else:
        operands = [_affine(operand, visits) for operand in _operands(read)]
        if source.opcode not in ("add", "subtract", "convert") or None in operands:
            return None
        text = f" {'-' if source.opcode == 'subtract' else '+'} ".join(f"({operand})" for operand in operands)
    (low, high), = algebra.ranges(_map(read, text))
    least, most = (-1 << of.bits - 1, (1 << of.bits - 1) - 1) if of.kind == "sint" else (0, (1 << of.bits) - 1)
    return text if least <= low and high <= most else None


def _map(read: Read, term: str) -> str:
    """Return the map from the entry function's index to the value of `term`, an expression in the variables of
    `read.map`.
    """
    variables = algebra.info(read.map).variables
    box = ", ".join(f"{v.name} in [{v.lo}, {v.hi}]" for v in variables)
    return algebra.simplify(f"({', '.join(v.name for v in variables)}) -> ({term}), domain: {box}")
