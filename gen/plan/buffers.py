"""Find the buffers that a function reads, and the map from an index to a position in a buffer."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Dict, Iterable, Iterator, List, Optional, Set, Tuple

from gen import algebra
from gen.hlo import Instruction, Shape, dtypes
from gen.plan.buffer import Buffer, Role
from gen.plan.nest import Nest
from gen.plan.partition import EMPTY, PARTS, Function, Partition, Read, Region, compose, numbers_of, regions


def memory_map(shape: Shape) -> str:
    """Return the map from a logical index to the element's position in the buffer."""
    index = algebra.call("shape", "map", shape.text)
    return compose(index, shape.place) if shape.place else index


def scheduled_map(shape: Shape) -> str:
    """Return `memory_map` with a number in place of the leading dimension that the caller gives at run time. The number
    is the length of a row plus one. Schedules compare strides by this map; no address is computed from it.
    """
    index = memory_map(shape)
    return algebra.substitute(index, **{name: least + 1 for name, (least, _) in leads_of([shape]).items()}) \
        if shape.lead else index


def leads_of(shapes: "Iterable[Shape]") -> "Dict[str, Tuple[int, int]]":
    """Return the bounds of each leading dimension that the caller gives at run time, by the name of its runtime
    variable.
    """
    return {v.name: (v.lo, v.hi) for shape in dict.fromkeys(shapes) if shape.lead
            for v in algebra.info(shape.place).of_kind("rt")}


def strides_of(shape: Shape) -> "Tuple[int, ...]":
    """Return the distances, in elements, between neighbours along each dimension of an array without tiles."""
    steps = algebra.strides(shape.text)
    assert steps is not None, shape.text
    return tuple(step // dtypes.storage_bytes(shape.dtype) for step in steps)


@lru_cache(maxsize=65536)
def first_leaf(parameter: Instruction) -> int:
    """Return the index of a parameter's first buffer, among the buffers of all parameters in order."""
    assert parameter.computation is not None
    before = parameter.computation.parameters[:parameter.parameter_number or 0]
    return sum(len(p.shape.leaves()) for p in before)


def buffer_of(partition: Partition, read: Read) -> "Optional[Buffer]":
    """Return the buffer that a read accesses; None if its value is computed or constant."""
    source = read.source
    if read.map == EMPTY or (source.opcode != "parameter" and source not in partition.cuts):
        return None
    role, first = ((Role.SCRATCH, partition.cuts[source]) if source in partition.cuts
                   else (Role.PARAMETER, first_leaf(source)))
    shape, own = source.shape.leaves()[read.output], source in partition.places
    if own:
        shape = replace(shape, place=partition.places[source])
    return Buffer(role, first + read.output, shape, source.name, own)


def operand_buffer(partition: Partition, read: Read) -> "Optional[Buffer]":
    """Return the buffer that a product's operand is read from; None if the operand is computed or constant. If the
    operand is the real and imaginary parts of complex numbers, return the buffer of these numbers, with `parts` set.
    """
    source = read.source
    if source in partition.cuts or not source.attributes.get(PARTS):
        return buffer_of(partition, read)
    numbers = buffer_of(partition, Read(numbers_of(source), read.map))
    return numbers and replace(numbers, shape=source.shape, parts=True)


def buffers_of(partition: Partition, function: Function) -> "List[Buffer]":
    """Return the buffers that a function and its callees read, parameters first."""
    buffers: "Set[Buffer]" = set()
    seen, waiting = set(), [function]
    while waiting:
        callee = waiting.pop()
        if callee in seen:
            continue
        seen.add(callee)
        buffers.update(buffer for read, region in reads_of(partition, callee) if not _is_never_run(region)
                       for buffer in [buffer_of(partition, read)] if buffer)
        waiting += [e.callee for r in regions(callee.body) for e in r.entries if e.callee is not None]
    return sorted(buffers)


def _is_never_run(region: Region) -> bool:
    """Return true if the region, or a region around it, is a guard whose condition never holds."""
    inside: "Optional[Region]" = region
    while inside is not None:
        if inside.kind == "guard" and inside.map == EMPTY:
            return True
        inside = inside.parent
    return False


def reads_of(partition: Partition, function: Function) -> "Iterator[Tuple[Read, Region]]":
    """Yield each read in the function's own code, with the region (code under one condition) that contains it. Operands
    and runtime variables are read. The entry function also reads the values that the kernel stores, the start indices
    of these stores, and the kernel's scalars.
    """
    for region in regions(function.body):
        for entry in region.entries:
            if entry.callee is None:
                for operand, inner in partition.operands(entry):
                    yield partition.operand(entry, operand, inner), inner or entry.region
                for inner in entry.regions:
                    for runtime in inner.runtimes:
                        yield runtime.read, entry.region
    if function is partition.entry:
        for root in partition.roots:
            yield partition.root_read(root), function.body
            for runtime in partition.starts(root):
                yield runtime.read, function.body
        for scalar in partition.scalars:
            yield partition.scalar_read(scalar), function.body


def touches(nest: Nest, kinds: "Iterable[str]") -> bool:
    """Return true if a nest reads, computes or writes elements of a type in `kinds`."""
    return has_types(nest.partition, kinds)


def has_types(partition: Partition, kinds: "Iterable[str]") -> bool:
    """Return true if a part of the graph (partition) reads, computes or writes elements of a type in `kinds`."""
    roots = {root.shape.dtype for root in partition.roots}
    inner = {leaf.dtype for f in partition.functions for read, _ in reads_of(partition, f)
             for leaf in read.source.shape.leaves()}
    return not (roots | inner).isdisjoint(kinds)
