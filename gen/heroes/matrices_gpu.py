"""The matrices hero (kernel emitter) on GPUs, for large matrices and for small batches: a block of threads computes one
matrix of the batch.

A matrix that fits is in shared memory; a larger matrix is in the buffer of the result or in scratch memory. The threads
of a block wait for each other after each column. In a triangular solve, several blocks share the right-hand sides of
one matrix. Large batches of small matrices, and ops that this hero does not write, have one thread for each matrix
(gen/heroes/matrices.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Iterable, List, Tuple

from gen import algebra
from gen.emit.form import Form
from gen.heroes.hero import Choice, Context, Hero, Refused
from gen.heroes.kernel import Coordinate, Grid, Kernel, Text, arguments
from gen.heroes.matrices import EPSILON, View, attributes_of, matrix_maps, scratch_view, view
from gen.hlo import Shape, array_shape, dtypes
from gen.plan.matrices import Sizes, sizes_of
from gen.plan.whole import Whole
from gen.schedule import Schedule

OPS = ("cholesky", "eigh", "householder-product", "lu", "qr", "svd", "triangular-solve")
TILE, VECTORS = "tile", "vectors"


@dataclass(frozen=True)
class SharedArray:
    """An array in shared memory.

    type: HLO type of an element.
    pitch: number of elements from one row of a matrix to the next.
    """

    name: str
    type: str
    elements: int
    pitch: int = 1

    @property
    def bytes(self) -> int:
        return self.elements * dtypes.storage_bytes(self.type)


@dataclass(frozen=True)
class MatrixBlocks(Schedule):
    """The schedule of a block of threads. The threads form groups; the threads of a group access adjacent elements.

    sizes: sizes of the op (class Sizes).
    across: number of threads of a group.
    parts: number of thread blocks that share a matrix.
    sides: number of right-hand sides that a thread block solves.
    work: the arrays for the matrix and for its vectors.
    in_shared: true if the arrays in `work` are in shared memory.
    shared: the block's other arrays, which are always in shared memory.
    """

    sizes: Sizes = Sizes(1, 1, 1)
    across: int = 1
    parts: int = 1
    sides: int = 1
    work: Tuple[SharedArray, ...] = ()
    in_shared: bool = True
    shared: Tuple[SharedArray, ...] = ()

    def text(self) -> str:
        where = f"in shared memory in rows of {self.work[0].pitch}" if self.in_shared else "in memory"
        return (f"{super().text()}, {self.across} across, {self.sizes.matrices} matrices, "
                f"{self.parts} {'block' if self.parts == 1 else 'blocks'} each, {where}")


@dataclass(frozen=True)
class MatrixBlockRecord:
    """The values that the templates for blocks of threads print. The threads form groups; the threads of a group access
    adjacent elements.

    type, dtype: type of elements, as C text and as an HLO type.
    count: number of matrices.
    parts: number of thread blocks that share a matrix.
    threads: number of threads of a block.
    across: number of threads of a group.
    groups: number of groups of a block.
    group: true if the text uses the number of the block.
    starts: C variables that have the positions where the block's matrix begins.
    shared: arrays in shared memory: name, C type and number of elements.
    in_shared: true if the matrix and its vectors are in shared memory.
    barrier: the barrier after which threads see the stores of other threads.
    work, vectors: views of the matrix and of its vectors.
    sides, solved: the number of right-hand sides that a thread block solves, and the view of them.
    vector_sizes: the numbers of left and of right vectors in the results of svd.
    even: number of rows that are paired; a row of zeros is added to an odd number of rows.
    pair: C texts of the two rows of pair `pair` in round `round`. The second text is not valid for pair 0, whose second
        row is always row `even` - 1.
    searching: number of threads that search for a pivot.
    epsilon: half the distance from 1 to the next floating-point number.
    nan: a NaN, as C text.
    """

    type: str
    dtype: str
    count: int
    parts: int
    threads: int
    across: int
    groups: int
    group: bool
    starts: List[Coordinate]
    shared: "List[Tuple[str, str, int]]"
    in_shared: bool
    barrier: str
    operands: List[View]
    results: List[View]
    work: View
    vectors: View
    solved: View
    vector_sizes: Tuple[int, int]
    even: int
    pair: Tuple[str, str]
    epsilon: str
    sizes: Sizes
    attributes: "Dict[str, Any]"
    sides: int
    searching: int
    nan: str


class MatricesGpuHero(Hero[Whole, MatrixBlocks]):
    name = "matrices"
    nest_class = Whole

    def takes(self, nest: Whole, context: Context) -> bool:
        if nest.op.opcode not in OPS or context.device.cpu:
            return False
        sizes, numbers = sizes_of(nest.op), context.device.matrices
        size = _unknowns(nest)[0] if nest.op.opcode == "triangular-solve" else min(sizes.rows, sizes.columns)
        least = numbers.few_block_rows if sizes.matrices <= context.device.units else numbers.block_rows
        if size < least:
            raise Refused(f"{sizes.matrices} matrices of {size} rows, at least {least} for a block of threads")
        return True

    def schedules(self, nest: Whole, context: Context) -> "Iterable[MatrixBlocks]":
        op, sizes, device, dtype = nest.op.opcode, sizes_of(nest.op), context.device, nest.shape.dtype
        numbers, most, solves = device.matrices, context.target.shared_bytes, op == "triangular-solve"
        rows, columns = _unknowns(nest) if solves else (sizes.rows, sizes.columns)
        sides = min(device.warp, columns)
        while solves and sides > 1 and rows * sides * dtypes.storage_bytes(dtype) > most:
            sides //= 2
        few, even = min(rows, columns), _even(sizes)
        height, width = {"eigh": (even, even), "svd": (even, max(rows, columns)), "triangular-solve": (rows, rows)}.get(
            op, (rows, columns))
        # `line`: number of adjacent elements that a group's threads access; `wanted`: number of threads among
        # which all elements are divided
        line, wanted = sides if solves else width, rows * (sides if solves else width) // numbers.block_thread_elements
        if op == "svd":
            line = max(1, min(line, numbers.block_threads // (even // 2)))
            wanted = line * even // 2
        across = _power(min(device.warp, line))
        threads = max(device.warp, min(numbers.block_threads, _power(wanted)))
        groups = threads // across

        def arrays(dtype: str, **elements: int) -> "List[SharedArray]":
            return [SharedArray(name, dtype, size) for name, size in elements.items()]

        of_reflectors = arrays(dtype, sums=groups * columns, tops=columns, column=rows)
        vectors = nest.op.attributes.get("vectors", False) not in (False, "none")
        others = {
            "cholesky": arrays(dtype, scales=rows),
            "eigh": [*arrays(dtype, cosines=even // 2, sines=even // 2, sums=device.warp),
                     *arrays("s32", firsts=even // 2, seconds=even // 2, flags=even // 2, turned=1),
                     *(arrays(dtype, signs=rows) + arrays("s32", order=rows) if vectors else [])],
            "householder-product": of_reflectors,
            "lu": arrays(dtype, values=device.warp + 1) + arrays("s32", places=device.warp),
            "qr": of_reflectors + arrays(dtype, sizes=groups),
            "svd": [*arrays(dtype, parts=3 * threads, sizes=device.warp, squares=few), *arrays("s32", flags=groups, turned=1),
                    *(arrays(dtype, signs=few, vector=width, dots=width)
                      + arrays("s32", order=few, places=device.warp) if vectors else [])],
            "triangular-solve": arrays(dtype, solved=rows * sides)}[op]
        work = [SharedArray(TILE, dtype, height * (width | 1), width | 1)]
        if vectors:
            work.append(SharedArray(VECTORS, dtype, height * (few | 1), few | 1))
        if sum(array.bytes for array in others) > most:
            raise Refused(f"{rows} rows, whose arrays do not fit {most} bytes of shared memory")
        fits = sum(array.bytes for array in (*work, *others)) <= most
        yield MatrixBlocks(threads=threads, sizes=sizes, across=across, parts=-(-columns // sides) if solves else 1,
                           sides=sides, work=tuple(work), in_shared=fits, shared=tuple(others))

    def scratch_shapes(self, nest: Whole, schedule: MatrixBlocks, context: Context) -> "List[Shape]":
        if schedule.in_shared or nest.op.opcode not in ("eigh", "svd"):
            return []
        return [array_shape(array.type, (schedule.sizes.matrices, array.elements)) for array in schedule.work]

    def index_types(self, schedule: MatrixBlocks) -> "Tuple[str, ...]":
        """Return signed types, because some loops run downwards."""
        return "int", "long"

    def forms(self, nest: Whole, schedule: MatrixBlocks, context: Context) -> "Iterable[Form]":
        return ()

    def maps(self, nest: Whole, schedule: MatrixBlocks, context: Context) -> "Iterable[str]":
        return matrix_maps(nest)

    def grids(self, choice: Choice[Whole, MatrixBlocks], context: Context) -> "List[Grid]":
        schedule = choice.schedule
        blocks = schedule.sizes.matrices * schedule.parts
        return [Grid(choice.nest.name, schedule, choice.index, blocks,
                     f"(bl_x) -> (bl_x floordiv {schedule.parts}), domain: bl_x in [0, {blocks - 1}]")]

    def build(self, choice: Choice[Whole, MatrixBlocks], context: Context) -> "List[Kernel]":
        nest, schedule, d = choice.nest, choice.schedule, context.target
        dtype, (grid,) = nest.shape.dtype, choice.grids
        starts: "Dict[str, Coordinate]" = {}
        operands, results = ([view(nest, b, choice.index, starts) for b in side]
                             for side in (nest.operands, nest.results))
        work = {array.name: View(array.name, "", (1,)) for array in schedule.work}
        for buffer, array in zip(choice.scratch, schedule.work):
            work[array.name] = scratch_view(buffer, array.elements, schedule.sizes.matrices, starts)
        even = _even(schedule.sizes)
        rows = {array.name: work[array.name].rows(array.pitch) for array in schedule.work}
        round_ = f"domain: round in [0, {max(0, even - 2)}], pair in [0, {max(0, even // 2 - 1)}]"
        pair = algebra.c_text(f"(round, pair) -> ((round + pair) mod {max(1, even - 1)}, "
                              f"(round + {even - 1} - pair) mod {max(1, even - 1)}), {round_}", choice.index).results
        record = MatrixBlockRecord(
            type=d.register(dtype), dtype=dtype, count=schedule.sizes.matrices, parts=schedule.parts,
            threads=schedule.threads, across=schedule.across, groups=schedule.threads // schedule.across,
            group=grid.blocks > 1, starts=list(starts.values()),
            shared=[(array.name, d.register(array.type), array.elements)
                    for array in (*(schedule.work if schedule.in_shared else ()), *schedule.shared)],
            in_shared=schedule.in_shared, barrier=d.barrier if schedule.in_shared else d.memory_barrier,
            operands=operands, results=results, work=rows[TILE],
            vectors=rows.get(VECTORS, rows[TILE]), even=even, pair=(pair[0], pair[1]), epsilon=EPSILON[dtype],
            vector_sizes=(nest.results[2].shape.dims[-1], nest.results[3].shape.dims[-2])
            if nest.op.opcode == "svd" else (0, 0),
            solved=View("solved", "", (schedule.sides, 1)), sizes=schedule.sizes, attributes=attributes_of(nest),
            sides=schedule.sides, searching=context.device.warp,
            nan=d.special(dtypes.quiet_nan(dtype), dtype))
        template = f"kernels/{nest.op.opcode.replace('-', '_')}_gpu"
        return [Kernel(grid, nest, arguments(d, nest.operands, [*choice.scratch, *nest.results]),
                       Text(template, record, attribute=d.launch_bounds(schedule.threads, 1)))]


HERO = MatricesGpuHero()


def _unknowns(nest: Whole) -> "Tuple[int, int]":
    """Return the number of unknowns of a triangular solve, and the number of its right-hand sides."""
    sizes = sizes_of(nest.op)
    return (sizes.rows, sizes.columns) if nest.op.attributes.get("left_side") else (sizes.columns, sizes.rows)


def _even(sizes: Sizes) -> int:
    """Return the number of rows or of columns, whichever is smaller, rounded up to an even number so that rows can be
    paired.
    """
    few = min(sizes.rows, sizes.columns)
    return few + few % 2


def _power(least: int) -> int:
    """Return the smallest power of two that is at least `least`."""
    return 1 << max(0, least - 1).bit_length()
