"""Estimate the cost of a check or a bench before anything runs: bytes of memory, steps, and seconds at the rates
below.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import Dict, Optional, Tuple

from gen import hlo
from gen.hlo import Computation, Fusion, Instruction, dtypes
from gen.hlo.opcodes import ELEMENTWISE, MATRIX_OPS
from gen.hlo.trips import trips
from gen.plan import element_loops, fft, matrices, partition, plan
from gen.plan.scan import prefix
from gen.program.ir import Program

# maximum expected seconds of a check, or of a bench of one kernel
MOST_SECONDS = 120
# Above this number of steps, a check has a single round, with moderate inputs (DATA_MODERATE): subnormals and similar
# values take up to ten times as long.
MUCH_STEPS = 2 * 10 ** 8

# Minimum rates, per second, of one round of a check on two cores of a server of 2020. A round is two launches, and at
# the same time the reference and its error bound. For floats the bound computes both ends of an interval, with libm.
CHECKED_STEPS, CHECKED_OPERATIONS, CHECKED_ROUNDED = 1e8, 5e8, 4e7
# Minimum rates, per second, of one launch on the host. Other devices are assumed to be DEVICE times as fast.
LAUNCHED_STEPS, LAUNCHED_OPERATIONS = 1e9, 3e9
DEVICE = 100
# slowdown of steps and of operations if the host emulates the device
EMULATED_STEPS, EMULATED_OPERATIONS = 100, 10
# for an op on matrices: the steps of the reference and its bound together, for each multiplication in the kernel
MATRIX_STEPS = 4
LAUNCHES = 15  # minimum number of launches of a bench: the warm-up and nine rounds


@dataclass(frozen=True)
class Cost:
    """The cost of a fusion.

    steps: iterations of the innermost loops of dots, convolutions and windows
    operations: elements that all other ops compute
    rounded: the float operations among them
    """

    steps: int
    operations: int
    rounded: int
    bytes: int      # memory of a check

    def check_seconds(self, emulated: bool) -> float:
        """Return the expected seconds of one round of a check."""
        steps, operations = (EMULATED_STEPS, EMULATED_OPERATIONS) if emulated else (1, 1)
        return self.steps / CHECKED_STEPS * steps + (
            self.operations - self.rounded) / CHECKED_OPERATIONS * operations + self.rounded / CHECKED_ROUNDED

    def launch_seconds(self, emulated: bool, on_host: bool) -> float:
        steps, operations = (EMULATED_STEPS, EMULATED_OPERATIONS) if emulated else (1, 1)
        return (self.steps / LAUNCHED_STEPS * steps
                + self.operations / LAUNCHED_OPERATIONS * operations) / (1 if on_host else DEVICE)

    def text(self) -> str:
        """Describe, in words, the part of the cost that takes most of the time."""
        return (
            f"{self.steps:.1e} steps of windows and sums"
            if self.steps * 10 > self.operations
            else f"{self.operations:.1e} operations"
        )


def duration(seconds: float) -> str:
    for size, unit in ((86400.0, "days"), (3600.0, "h"), (60.0, "min")):
        if seconds >= 2 * size:
            return _two_digits(seconds / size) + " " + unit
    return _two_digits(seconds) + " s"


def _two_digits(number: float) -> str:
    return f"{number:.0f}" if number >= 99.5 else f"{number:.2g}"


def machine_memory() -> int:
    """Return the bytes of memory of this machine."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def cost(fusion: Fusion) -> Cost:
    return Cost(*_counts(fusion.computation), memory(fusion.computation))


def _counts(computation: Computation) -> "Tuple[int, int, int]":
    """Return the numbers of steps, of operations, and of float operations of a computation. The counts of a loop
    inside a kernel are multiplied by its trip count.
    """
    steps = operations = rounded = 0
    for i in computation.instructions:
        if i.opcode in hlo.LOOPS and (prefix(i) is None
                                      or any(leaf.dtype in dtypes.PACKED for leaf in i.shape.leaves())):
            steps += steps_of(i)
        elif i.opcode == "while":
            count = element_loops.estimate(trips(i))
            steps, operations, rounded = (before + count * sum(more) for before, more in zip(
                (steps, operations, rounded), zip(*map(_counts, i.called))))
        elif i.opcode in MATRIX_OPS:
            steps += MATRIX_STEPS * matrices.steps_of(i)
        elif i.opcode == "fft":
            # The factor is 4, because the reference computes in long double, and because the bound's real and imaginary
            # parts together cost as much as the reference.
            steps += 4 * transform_steps(i)
        elif i.opcode not in ("parameter", "constant", "tuple", "get-tuple-element"):
            count = max((leaf.elements for value in (i, *i.operands[:1]) for leaf in value.shape.leaves()), default=0)
            operations += count
            rounded += count if any(leaf.kind == "array" and dtypes.TABLE[leaf.dtype].kind in ("float", "complex")
                                    for leaf in i.shape.leaves()) and not partition.moves_only(i) else 0
    return steps, operations, rounded


def operations_of_iteration(loop: Instruction) -> int:
    """Return the number of operations of one iteration of a loop, including its condition."""
    return sum(operations for _, operations, _ in map(_counts, loop.called))


def of_program(program: Program, traced: Optional[Program] = None) -> Cost:
    """Return the cost of all calls of a program.

    traced: the program that returns the results of all calls (gen/program/trace.py), if the check runs it. Then memory
        must also hold these results, and the reference of the whole program runs in addition to those of the calls.
    """
    if program.is_one and not traced:
        return cost(program.whole)
    calls = [cost(call.fusion) for call in program.calls]
    arrays = traced.results if traced else [array for call in program.calls for array in call.results]
    held = sum(4 * array.shape.bytes + 24 * array.shape.elements for array in arrays)
    return Cost(sum(c.steps for c in calls), sum(c.operations for c in calls), sum(c.rounded for c in calls),
                held + max(c.bytes for c in [*calls, cost(program.whole)]))


def arithmetic(fusion: Fusion) -> int:
    """Return the number of arithmetic operations. An elementwise op counts 1 for each element. A dot or convolution
    counts 2 for each pair of a multiplication and an addition. Moves and conversions count 0.
    """
    return sum(_arithmetic(i) for i in fusion.computation.instructions)


def _arithmetic(i: Instruction) -> int:
    if i.opcode in hlo.CONTRACTIONS:
        return 2 * steps_of(i)
    if i.opcode in MATRIX_OPS:
        return 2 * matrices.steps_of(i)
    if i.opcode == "fft":
        return fft.operations(i)
    if i.opcode == "convert" or partition.moves_only(i):
        return 0
    if i.opcode in ("reduce", "reduce-window", "select-and-scatter", "scatter"):
        times = {"reduce": lambda: i.operands[0].shape.elements,
                 "scatter": lambda: i.operands[-1].shape.elements}.get(i.opcode, lambda: steps_of(i))()
        return times * sum(_arithmetic(inner) for called in i.called for inner in called.instructions)
    return sum(leaf.elements for leaf in i.shape.leaves()) if i.opcode in ELEMENTWISE else 0


def transform_steps(i: Instruction) -> int:
    """Return the number of complex products of an fft whose dimensions are split by the prime factors of their
    lengths.
    """
    elements = max(i.operands[0].shape.elements, i.shape.elements)
    return sum(elements * sum(fft.factors(length)) for length in i.attributes["fft_length"])


def steps_of(i: Instruction) -> int:
    """Return the total number of iterations of an op's innermost loop. The iterations of a select-and-scatter count
    twice, because its kernels loop over the elements of each window, and over the windows that contain each element.
    """
    loops = 2 if i.opcode == "select-and-scatter" else 1
    return loops * math.prod(partition.loop_sizes(i)) * i.shape.leaves()[0].elements


def memory(computation: Computation) -> int:
    """Return the maximum bytes of memory of a check: two sets of buffers, scratch, and the arrays of the reference and
    its bound.
    """
    # the position of the last instruction that reads each value, possibly as part of a tuple
    last: Dict[Instruction, int] = {}
    for number, i in reversed(list(enumerate(computation.instructions))):
        end = last.setdefault(i, number if i is not computation.root else len(computation.instructions))
        for operand in i.operands:
            last[operand] = max(last.get(operand, 0), end if i.opcode in ("tuple", "get-tuple-element", "opt-barrier")
                                else number)
    ending: Dict[int, int] = {}
    kept = held = most = 0
    for number, i in enumerate(computation.instructions):
        own = 0 if i.opcode in ("tuple", "get-tuple-element",
                                "opt-barrier") else sum(2 * leaf.bytes + 16 * leaf.elements
                                                        for leaf in i.shape.leaves())
        passing = 0
        if i.opcode in hlo.CONTRACTIONS:
            # the reference copies the operands in the order of its loops; for a scaled-dot, it also copies the scaled
            # operands
            passing = (24 + 24 * (i.opcode == "scaled-dot")) * sum(operand.shape.elements for operand in i.operands)
        if i.opcode in MATRIX_OPS:    # arrays of the reference (copies in wider types) and of the bound (errors)
            passing = 32 * sum(leaf.elements for value in (i, *i.operands) for leaf in value.shape.leaves())
        if i.opcode == "scatter":    # arrays of the bound: each element has a count of updates, and partial sums
            passing = 4 * i.shape.leaves()[0].elements + 32 * sum(leaf.elements for leaf in i.shape.leaves())
        if i.opcode == "parameter" or plan.stops(i):
            kept += sum(leaf.bytes for leaf in i.shape.leaves())
        held += own
        ending[last[i]] = ending.get(last[i], 0) + own
        most = max(most, held + passing)
        held -= ending.pop(number, 0)
    results = sum(2 * leaf.bytes + 8 * leaf.elements
                  for leaf in computation.root.shape.leaves()) if computation.root else 0
    return kept + most + results
