"""The largest number of threads that makes a kernel faster on a CPU: for a stage of a program in C, or for a launch in
OpenCL.
"""

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
from gen.plan.whole import Whole
from gen.schedule import Device
from gen.schedule.devices import ThreadsNumbers


def threads(kernels: "Sequence[Kernel]", device: Device, matrix: bool = False) -> List[int]:
    """Return, for each kernel, the number of threads beyond which it would take longer: handing a part of the work to a
    thread takes `device.threads.hand_over` nanoseconds. If the work is underestimated, fewer threads do it, which is
    still correct. matrix: for a processor with matrix instructions, as used by the kernels that have them."""
    counts = []
    for number, kernel in enumerate(kernels):
        first = all(other.nest is not kernel.nest for other in kernels[:number])
        moved = sum(min(buffer.shape.bytes, _read(kernel.nest, buffer)) if buffer.role is Role.PARAMETER
                    else buffer.shape.bytes for buffer in kernel.buffers if buffer.role is not Role.TABLE)
        # later kernels fold the first one's totals
        numbers = device.threads
        if matrix and kernel.matrix:
            numbers = replace(numbers, tile_rate=numbers.matrix_rates[kernel.matrix])
        steps = operations(kernel.nest, numbers) / kernel.loop.lanes if first else 0
        nanoseconds = max(moved / device.threads.core_bytes, steps * device.threads.vector_time)
        counts.append(max(1, min(kernel.blocks, int(nanoseconds / device.threads.hand_over))))
    return counts


def _read(nest: Nest, parameter: Buffer) -> int:
    """Return an upper bound of the bytes that a nest reads from a parameter: one element for each read."""
    count = bits = 0
    for partition in (nest.partition, *nest.further):
        for function in partition.functions:
            for read, _ in reads_of(partition, function):
                if buffer_of(partition, read) == parameter:
                    count += points(read.map, nest.partition)
                    bits = max(bits, 8 * dtypes.storage_bytes(parameter.shape.dtype))
    return count * bits // 8 if count else 1 << 62


def operations(nest: Nest, numbers: ThreadsNumbers) -> float:
    """Return the vector instructions for all elements that a nest computes, if each took one vector. A value counts
    once at each index, however often it is computed again."""
    if isinstance(nest, Whole):
        return nest.operations
    return sum(math.prod(function.dims) * _of_region(function.body, numbers)
               for partition in (nest.partition, *nest.further) for function in partition.functions)


def _of_region(region: Region, numbers: ThreadsNumbers) -> float:
    """Return the vector instructions of one execution of a region's own code."""
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
