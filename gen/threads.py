"""Estimate the number of CPU threads with which a kernel is fastest, in a program in C or a launch of OpenCL."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import List, Sequence

from gen.heroes.kernel import Kernel
from gen.hlo import CONTRACTIONS, Instruction, dtypes
from gen.hlo.opcodes import ELEMENTWISE
from gen.plan import element_loops
from gen.manifest import points
from gen.plan.buffer import Buffer, Role
from gen.plan.buffers import buffer_of, reads_of
from gen.plan.nest import Nest
from gen.plan.partition import Region, loop_sizes, moves_only
from gen.plan.plan import TILED
from gen.plan.update import Update
from gen.plan.whole import Whole
from gen.schedule import Device
from gen.schedule.devices import ThreadsNumbers


def threads(kernels: "Sequence[Kernel]", device: Device, matrix: bool = False) -> List[int]:
    """Return the number of threads for each kernel. One more thread costs `device.threads.hand_over` nanoseconds
    (`matrix_hand_over` with matrix instructions). The number of threads is the kernel's estimated time divided by this
    cost. It is at least 1, and at most the number of work-groups. If the time is underestimated, fewer threads are
    used.

    matrix: true to count for a processor with matrix instructions; this matters only for kernels that use these.
    """
    counts = []
    for number, kernel in enumerate(kernels):
        first = all(other.nest is not kernel.nest for other in kernels[:number])
        moved = sum(_moved(kernel.nest, buffer) for buffer in kernel.buffers if buffer.role is not Role.TABLE)
        # count the operations of a nest for its first kernel: later kernels only combine the totals
        numbers = device.threads
        if matrix and kernel.matrix:
            numbers = replace(numbers, tile_rate=numbers.matrix_rates[kernel.matrix], core_bytes=numbers.matrix_bytes,
                              hand_over=numbers.matrix_hand_over)
        steps = operations(kernel.nest, numbers) / kernel.loop.lanes if first else 0
        nanoseconds = max(moved / numbers.core_bytes, steps * numbers.vector_time)
        counts.append(max(1, min(kernel.blocks, int(nanoseconds / numbers.hand_over))))
    return counts


def _moved(nest: Nest, buffer: Buffer) -> int:
    """Return an upper bound of the number of bytes of a buffer that a nest reads or writes."""
    if isinstance(nest, Update) and any(root.buffer == buffer for root in nest.partition.roots):
        return nest.shape.elements * dtypes.storage_bytes(buffer.shape.dtype)
    return min(buffer.shape.bytes, _read(nest, buffer)) if buffer.role is Role.PARAMETER else buffer.shape.bytes


def _read(nest: Nest, parameter: Buffer) -> int:
    """Return an upper bound of the number of bytes that a nest reads from a parameter; 2^62 if it has no
    read of the parameter. An element that several reads access counts once for each of these reads.
    """
    count = bits = 0
    for partition in (nest.partition, *nest.further):
        for function in partition.functions:
            for read, _ in reads_of(partition, function):
                if buffer_of(partition, read) == parameter:
                    count += points(read.map, nest.partition)
                    bits = max(bits, 8 * dtypes.storage_bytes(parameter.shape.dtype))
    return count * bits // 8 if count else 1 << 62


def operations(nest: Nest, numbers: ThreadsNumbers) -> float:
    """Return the number of vector instructions that would compute all elements of a nest, if a vector had only one
    element. A value that is computed several times at the same index counts once.
    """
    if isinstance(nest, Whole):
        return nest.operations
    return sum(math.prod(function.dims) * _of_region(function.body, numbers)
               for partition in (nest.partition, *nest.further) for function in partition.functions)


def _of_region(region: Region, numbers: ThreadsNumbers) -> float:
    """Return the number of vector instructions that execute a region once, without the functions that it calls."""
    total = 0.0
    for entry in region.entries:
        if entry.callee is None:
            loops = math.prod(loop_sizes(entry.instruction))
            total += _cost(entry.instruction) / (numbers.tile_rate if TILED in entry.instruction.attributes else 1)
            total += sum(_of_region(inner, numbers) * (loops if inner.kind == "loop" else 1) for inner in entry.regions)
    return total


def _cost(i: Instruction) -> int:
    if i.opcode in CONTRACTIONS:
        return 2 * math.prod(loop_sizes(i))
    if i.opcode in ("reduce", "reduce-window", "select-and-scatter"):
        return math.prod(loop_sizes(i)) * sum(_cost(inner) for called in i.called for inner in called.instructions)
    if i.opcode == element_loops.OPCODE:
        return element_loops.steps(i) * sum(_cost(inner) for inner in i.called[0].instructions)
    return 0 if i.opcode in ("parameter", "constant", "iota") or moves_only(i) else (
        ELEMENTWISE[i.opcode].cost if i.opcode in ELEMENTWISE else 1)
