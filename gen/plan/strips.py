"""Strips: one kernel multiplies a few rows at a time, reduces them, and may multiply the result again.

In attention, the scores, their softmax and the product with the values form such a kernel. In general, a contraction
writes rows to a scratch buffer. Stages (gen/plan/rows.py) read these rows there, and may write rows for a second
contraction. A strip is a set of neighbouring rows. If no other nest reads the buffers in between, the kernel processes
one strip after another, and a buffer contains only one strip: position p of the array is position p mod (elements of a
strip) of the buffer. The nests are those of the unstripped kernels, except for the maps to these buffers.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, replace
from typing import Dict, List, Optional, Sequence, Set, Tuple

from gen import algebra
from gen.hlo import Instruction, Shape, dtypes
from gen.plan.buffer import Buffer, Role
from gen.plan.buffers import buffer_of, buffers_of, memory_map, reads_of
from gen.plan.contraction import Contraction, single_position, tiled
from gen.plan.digits import is_mixed_radix
from gen.plan.masks import discarded
from gen.plan.nest import Nest
from gen.plan.partition import Partition, Root, compose
from gen.plan.rows import Rows, alone
from gen.schedule import Panels


@dataclass(eq=False)
class Strips(Nest):
    """Nests that one kernel runs strip by strip.

    members: the nests as kernels of their own.
    parts: the same nests, reading and writing buffers of one strip.
    count: the number of strips.
    rows: the number of rows of a strip.
    between: the buffers between the parts, each with room for one strip.
    """

    members: List[Nest]
    parts: List[Nest]
    count: int
    rows: int
    between: List[Buffer]

    def written_roots(self, divided: bool) -> "List[Tuple[Shape, Root]]":
        return [(shape, root) for member in self.members for shape, root in member.written_roots(divided)
                if divided or root.buffer not in self.inner]


def joined(nests: "Sequence[Nest]", panels: Panels, cuts: "Dict[Instruction, int]",
           after: "Sequence[Nest]" = ()) -> "List[Nest]":
    """Return the nests, with nests that can run strip by strip combined. A combined nest takes the place of its last
    member. cuts: the values that are stored in scratch buffers. after: nests that run later and may read these buffers.
    """
    result, readers = list(nests), [*nests, *after]
    if any(nest.aliases for nest in nests):     # a nest that updates a buffer in place must keep its place in the order
        return result
    for middle in nests:
        products = [nest for nest in result if isinstance(nest, Contraction)]
        producer = next((nest for nest in products if _feeds(nest, middle, readers)), None)
        rows = (middle if isinstance(middle, Rows) else alone(middle, cuts)) if producer else None
        if rows is None or producer is None or rows.columns:
            continue
        # Do not combine a product with a single reduction if a row fits in one unit (a vector of adjacent columns).
        # Such a product computes few sums along a large matrix; its blocks are larger than a strip.
        if rows is not middle and rows.space.elements // rows.rows.elements <= producer.unit:
            continue
        consumer = next((nest for nest in products if _feeds(middle, nest, readers)), None)
        for chain in ([producer, middle, consumer], [producer, middle]):
            made = _strips([nest for nest in chain if nest], rows, nests, panels)
            if made:
                last = made.members[-1]
                result = [made if nest is last else nest for nest in result if nest is last or nest not in made.members]
                break
    return result


def _partitions(nest: Nest) -> "List[Partition]":
    return [nest.partition, *nest.further]


def _reads(nest: Nest) -> "Set[Buffer]":
    return {buffer for part in (nest, *nest.sides) for partition in _partitions(part)
            for function in partition.functions for buffer in buffers_of(partition, function)}


def _left(first: Nest, second: Nest) -> "List[Buffer]":
    """Return the scratch buffers that the first nest writes and the second nest reads."""
    written = {root.buffer for _, root in first.written_roots(True)} - first.inner
    return [buffer for buffer in sorted(written & _reads(second)) if buffer.role is Role.SCRATCH]


def _feeds(first: Nest, second: Nest, nests: "Sequence[Nest]") -> bool:
    """Return true if the second nest reads exactly one scratch buffer that the first nest writes, and no further nest
    reads it.
    """
    left = _left(first, second)
    return len(left) == 1 and not any(left[0] in _reads(nest) for nest in nests if nest not in (first, second))


def _strips(chain: "List[Nest]", rows: Rows, nests: "Sequence[Nest]", panels: Panels) -> Optional[Strips]:
    """Return one nest that executes several nests strip by strip: a few neighbouring rows at a time. Return None if the
    rows of a strip are not neighbours in every nest, or if a strip is too large for the caches.

    chain: the nests in order; each reads the results of the nest before it.
    rows: the second nest of the chain. It consists of stages (passes over the same rows).
    """
    producer = chain[0]
    assert isinstance(producer, Contraction)
    between = [_left(first, second)[0] for first, second in zip(chain, chain[1:])]
    written = {root.buffer for nest in chain[:-1] for _, root in nest.written_roots(True)}
    moved = nests[list(nests).index(producer) + 1:list(nests).index(chain[-1])]
    if any(written & _reads(nest) for nest in moved if nest not in chain) or any(
            nest.layout for nest in chain) or len(producer.partition.roots) > 1:
        return None
    length = rows.space.elements // rows.rows.elements
    if any(buffer.shape.elements != rows.space.elements or buffer.shape.place for buffer in between):
        return None
    count = _rows_of_strip(producer, rows, between, chain, panels)
    if not count:
        return None
    elements = count * length
    places = {buffer: f"(d0) -> (d0 mod {elements}), domain: d0 in [0, {buffer.shape.elements - 1}]"
              for buffer in between}
    strips = rows.space.elements // elements
    parts: "List[Nest]" = []
    for nest in chain:
        part = _in_strips(rows if nest is chain[1] else nest, places, elements)
        if part is None or not (_goes_by_strips(part, strips) and _reads_as_single(part, between)
                                if isinstance(part, Contraction) else _in_order(rows, between)):
            return None
        parts.append(part)
    first = parts[0]
    assert isinstance(first, Contraction)
    masks, root = _masks(producer, rows), producer.partition.roots[0]
    at = compose(algebra.call("shape", "unmap", producer.shape.text), compose(root.map, memory_map(root.shape.dense)))
    first.discarded = tuple(compose(at, mask) for mask in masks)
    last = chain[-1]
    if masks and isinstance(last, Contraction) and isinstance(parts[-1], Contraction):
        at = single_position(last)
        parts[-1].masked = tuple(compose(at, mask) for mask in masks) if at else ()
    made = Strips(f"{producer.name}_strips", last.shape, last.partition, chain, parts, strips, count, between)
    made.inner = {*between, *(buffer for nest in chain for buffer in nest.inner)}
    made.further = [partition for nest in chain for partition in _partitions(nest) if partition is not last.partition]
    return made


def _masks(producer: Contraction, rows: Rows) -> "List[str]":
    """Return maps from a position of the producer's result to an integer. If one of the integers is negative, no stage
    uses the result at this position. (Stages read the result only at the position that they compute.)
    """
    value, partitions = producer.partition.roots[0].value, [stage.inputs for stage in rows.stages]
    readers = [partition for partition in partitions for function in partition.functions
               for read, _ in reads_of(partition, function) if read.source is value]
    found = [discarded(value, partition) for partition in dict.fromkeys(readers)]
    unmap = algebra.call("shape", "unmap", rows.space.text)
    return [compose(unmap, text) for text in sorted(set.intersection(*found))] if found else []


def _rows_of_strip(producer: Contraction, of: Rows, between: "Sequence[Buffer]", chain: "Sequence[Nest]",
                   panels: Panels) -> int:
    """Return the number of rows of a strip: the largest divisor of the producer's rows with which a strip fits the
    caches. Divisors that leave enough strips for the threads are preferred. Return 0 if no strip fits the caches, or if
    a strip would be too small for register tiles.
    """
    all_rows = of.rows.elements
    length = of.space.elements // all_rows
    size = max(dtypes.storage_bytes(buffer.shape.dtype) for buffer in between)
    for nest in chain:
        if isinstance(nest, Contraction):
            elements = nest.columns * math.prod(digit.size for digit in nest.steps) * math.prod(
                digit.size for digit in nest.outer if digit.units and not digit.single)
            if elements * dtypes.storage_bytes(nest.units.shape.dtype) > panels.strip_operand_bytes:
                return 0
    rows = producer.row.size
    shared = max(panels.least_strip_rows, -(-all_rows // panels.least_strips))
    most = min(rows, panels.strip_rows, panels.strip_bytes // (length * size))
    found = [n for n in range(min(rows, panels.least_strip_rows), most + 1) if rows % n == 0]
    return max((n for n in found if n <= shared), default=max(found, default=0))


def _in_strips(nest: Nest, places: "Dict[Buffer, str]", elements: int) -> Optional[Nest]:
    """Return the nest, changed so that it reads and writes buffers of one strip instead of whole arrays. Return None if
    a contraction does not remain a contraction.

    places: for each of these buffers, the map from a position in the array to the position in the buffer.
    """
    if isinstance(nest, Contraction):
        part = Nest(nest.name, nest.shape, _placed(nest.partition, places))
        made = tiled(part, elements)
        return made if isinstance(made, Contraction) else None
    assert isinstance(nest, Rows)
    stages = [replace(stage, inputs=_placed(stage.inputs, places), writes=_roots(stage.writes, places),
                      totals=_placed(stage.totals, places), row_writes=_roots(stage.row_writes, places))
              for stage in nest.stages]
    made = replace(nest, partition=stages[0].inputs, stages=stages)
    made.members, made.inner, made.strip = nest.members, nest.inner, elements
    made.further = [partition for stage in stages for partition in (stage.inputs, stage.totals)][1:]
    return made


def _roots(roots: "Sequence[Root]", places: "Dict[Buffer, str]") -> "List[Root]":
    return [replace(root, shape=replace(root.shape, place=places[root.buffer]), own=True) if root.buffer in places
            else root for root in roots]


def _placed(partition: Partition, places: "Dict[Buffer, str]") -> Partition:
    """Return the partition, changed so that it reads and writes buffers of one strip instead of whole arrays.

    places: for each of these buffers, the map from a position in the array to the position in the buffer.
    """
    made = copy.copy(partition)
    made.roots = _roots(partition.roots, places)
    numbers = {buffer.number: place for buffer, place in places.items()}
    made.places = {value: numbers[number] for value, number in partition.cuts.items() if number in numbers}
    return made


def _goes_by_strips(nest: Contraction, strips: int) -> bool:
    """Return true if the outer loops of a contraction visit each strip exactly once, so that its work-items can compute
    one strip after another. Some digits of the loops change the strip. Together, these digits must be the strip's
    number in mixed radix.
    """
    digits = [nest.outer[k] for k in nest.order if nest.outer[k].strips]
    return math.prod(digit.size for digit in digits) == strips and is_mixed_radix(
        [digit.strips for digit in digits], [digit.size for digit in digits])


def _reads_as_single(nest: Contraction, between: "Sequence[Buffer]") -> bool:
    """Return true if a contraction reads the buffers in `between` neither as its operand `units`, which is read in
    vectors, nor in its epilogue. It may read them as its operand `single`, which is read element by element.
    """
    return nest.units not in between and not any(buffer in between for function in nest.epilogue.functions
                                                 for buffer in buffers_of(nest.epilogue, function))


def _in_order(rows: Rows, between: "Sequence[Buffer]") -> bool:
    """Return true if rows are contiguous, and each stage reads and writes the buffers in `between` only at the position
    that the stage computes.
    """
    unmap, flats = algebra.call("shape", "unmap", rows.space.text), []
    size, length = rows.space.elements, rows.space.elements // rows.rows.elements
    first = compose(unmap, compose(rows.first_of, memory_map(rows.space)))
    contiguous = algebra.simplify(f"(d0) -> (d0 floordiv {length} * {length}), domain: d0 in [0, {size - 1}]")
    if algebra.info(first).results[0].text != algebra.info(contiguous).results[0].text:
        return False
    for stage in rows.stages:
        flats += [compose(root.map, memory_map(root.shape)) for root in stage.writes if root.buffer in between]
        if any(root.buffer in between for root in stage.row_writes):
            return False
        for partition in (stage.inputs, stage.totals):
            for function in partition.functions:
                for read, _ in reads_of(partition, function):
                    buffer = buffer_of(partition, read)
                    if buffer and buffer in between:
                        if function is not stage.inputs.entry:
                            return False
                        flats.append(compose(read.map, memory_map(buffer.shape)))
    infos = [algebra.info(compose(unmap, flat)) for flat in flats]
    return all(info.results[0].text == info.variables[0].name for info in infos)
