"""The matrices hero: factorisations and solutions of small systems, with a work-item for each matrix of the batch.

An op has the template of its name in templates/kernels/. Sizes are constants, so that a compiler unrolls small loops.
Small matrices are in arrays of the work-item, large ones in the memory of the results, or in scratch memory if no
result holds them. The innermost loop runs along memory: the record chooses between two orders of the loops. The
templates say which algorithm each op uses. The algorithms are LAPACK's, except that Jacobi's method replaces the
reduction to tridiagonal or bidiagonal form.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Dict, Iterable, List, NamedTuple, Sequence, Tuple

from gen import algebra
from gen.emit.form import Form
from gen.heroes.hero import Choice, Context, Hero
from gen.heroes.kernel import Coordinate, Grid, Kernel, Text, arguments
from gen.hlo import Shape, array_shape, dtypes
from gen.hlo.opcodes import MATRIX_OPS
from gen.plan.buffer import Buffer
from gen.plan.buffers import memory_map, strides_of
from gen.plan.matrices import Sizes, sizes_of, steps_of
from gen.plan.partition import compose
from gen.plan.whole import Whole
from gen.schedule import LINE, Device, Schedule
from gen.targets import Target

EPSILON = {"f32": "0x1p-24f", "f64": "0x1p-53"}
# defaults of optional attributes
_DEFAULTS = {"lower": False, "left_side": False, "unit_diagonal": False, "info": False}


@dataclass(frozen=True)
class Matrices(Schedule):
    """The schedule. chunks: number of matrices of a work-item. sizes: sizes of the op. local: true if matrices are in
    arrays of the work-item.
    """

    sizes: Sizes = Sizes(1, 1, 1)
    local: bool = True

    def text(self) -> str:
        where = "in local arrays" if self.local else "in memory"
        return f"{super().text()}, {self.sizes.matrices} matrices, {self.chunks} a work-item, {where}"


class View(NamedTuple):
    """A matrix, or a line of elements, in memory. start: C text of the position of its first element, or "". strides:
    the distances between neighbours along each of its dimensions."""

    pointer: str
    start: str
    strides: Tuple[int, ...]

    def at(self, *index: "str | int | Tuple[str | int, ...]") -> str:
        """Return the element at an index, as C text. A tuple stands for the sum of its terms."""
        terms = [self.start] if self.start else []
        for number, stride in zip(index, self.strides):
            if number != 0 and stride:
                text = " + ".join(map(str, number)) if isinstance(number, tuple) else str(number)
                factor = f"({text})" if isinstance(number, tuple) and stride != 1 else text
                terms.append(factor if stride == 1 else f"{factor} * {stride}")
        return f"{self.pointer}[{' + '.join(terms) or '0'}]"

    def rows(self, size: int) -> "View":
        """Return the elements as rows of `size` elements."""
        return View(self.pointer, self.start, (size, 1))

    @property
    def transposed(self) -> "View":
        """Return the transposed matrix."""
        return View(self.pointer, self.start, self.strides[::-1])

    @property
    def by_columns(self) -> bool:
        """Return true if neighbours in memory are in one column."""
        return self.strides[0] < self.strides[1]


@dataclass(frozen=True)
class LocalArray:
    name: str
    elements: int


@dataclass(frozen=True)
class BatchRecord:
    """The values of a kernel in which each work-item has one matrix after another.

    type: type of elements, as C text.
    chunk: matrices of a work-item.
    count: all matrices.
    threads: work-items of a group.
    group, item: whether the text uses their numbers.
    starts: the variables with the positions of this matrix.
    locals: arrays of the work-item.
    nan: a NaN, as C text.
    """

    type: str
    chunk: int
    count: int
    threads: int
    group: bool
    item: bool
    starts: List[Coordinate]
    locals: List[LocalArray]
    nan: str


@dataclass(frozen=True)
class MatricesRecord(BatchRecord):
    """The values that the templates of matrices print.

    dtype: HLO type of elements.
    operands, results, work: views of them.
    sizes, attributes: sizes and attributes of the op.
    unrolled: true if loops are unrolled.
    epsilon: half the distance from 1 to the next number.
    vector_sizes: the numbers of left and of right vectors in the results of svd.
    lanes: the number of right-hand sides of a triangular solve in a vector; 1 for no vectors.
    complex: for complex elements, the function of each operation; {} for real elements.
    real: the type of an element's absolute value.
    """

    dtype: str
    operands: List[View]
    results: List[View]
    work: List[View]
    sizes: Sizes
    attributes: "Dict[str, Any]"
    local: bool
    unrolled: bool
    epsilon: str
    vector_sizes: Tuple[int, int]
    lanes: int
    complex: "Dict[str, str]"
    real: str
    block = View("block", "", (1,))


class MatricesHero(Hero[Whole, Matrices]):
    name = "matrices"
    nest_class = Whole

    def takes(self, nest: Whole, context: Context) -> bool:
        return nest.op.opcode in MATRIX_OPS and nest.op.opcode != "lapack"

    def schedules(self, nest: Whole, context: Context) -> "Iterable[Matrices]":
        sizes, device, numbers = sizes_of(nest.op), context.device, context.device.matrices
        local = all(_elements(shape) <= numbers.own_elements for shape in _matrices(nest))
        if device.cpu:
            steps = max(1, steps_of(nest.op) // max(1, sizes.matrices))
            chunks = max(1, min(sizes.matrices // (device.unit_items * device.units), numbers.item_steps // steps))
            return [Matrices(chunks=chunks, lanes=_lanes(nest, local, device), sizes=sizes, local=local)]
        return [Matrices(threads=context.threads or numbers.threads, sizes=sizes, local=local)]

    def index_types(self, schedule: Matrices) -> "Sequence[str]":
        """Return signed types, as some loops run downwards."""
        return "int", "long"

    def forms(self, nest: Whole, schedule: Matrices, context: Context) -> "Iterable[Form]":
        return ()

    def maps(self, nest: Whole, schedule: Matrices, context: Context) -> "Iterable[str]":
        return matrix_maps(nest)

    def scratch_shapes(self, nest: Whole, schedule: Matrices, context: Context) -> "List[Shape]":
        if schedule.local:
            return []
        return [array_shape(nest.shape.dtype, (schedule.sizes.matrices, size))
                for size in _scratch(nest, schedule.local)]

    def grids(self, choice: Choice[Whole, Matrices], context: Context) -> "List[Grid]":
        schedule = choice.schedule
        blocks = -(-(-(-schedule.sizes.matrices // schedule.chunks)) // schedule.threads)
        return [Grid(choice.nest.name, schedule, choice.index, blocks, matrix_map(schedule, blocks))]

    def build(self, choice: Choice[Whole, Matrices], context: Context) -> "List[Kernel]":
        nest, schedule, d = choice.nest, choice.schedule, context.target
        dtype = nest.shape.dtype
        starts: "Dict[str, Coordinate]" = {}
        operands, results = ([view(nest, b, choice.index, starts) for b in side]
                             for side in (nest.operands, nest.results))
        sizes = _scratch(nest, schedule.local)
        if schedule.local:
            arrays = [LocalArray(f"w{n}", size) for n, size in enumerate(sizes)]
            work = [View(array.name, "", (1,)) for array in arrays]
        else:
            arrays = []
            work = [scratch_view(b, size, schedule.sizes.matrices, starts) for b, size in zip(choice.scratch, sizes)]
        (grid,) = choice.grids
        part = dtypes.TABLE[dtype].part or dtype
        on_complex = {name: context.helpers.need(name, dtype) for name in (
            "complex", "multiply", "subtract", "divide", "negate", "abs") if part != dtype}
        record = MatricesRecord(
            **vars(batch(d, dtype, schedule, grid, starts, arrays)), dtype=dtype, operands=operands, results=results,
            work=work, sizes=schedule.sizes, attributes=attributes_of(nest), local=schedule.local,
            unrolled=max(schedule.sizes[1:3]) <= context.device.matrices.unrolled, lanes=schedule.lanes,
            epsilon=EPSILON[part], complex=on_complex, real=d.register(part),
            vector_sizes=(nest.results[2].shape.dims[-1], nest.results[3].shape.dims[-2])
            if nest.op.opcode == "svd" else (0, 0))
        template = f"kernels/{nest.op.opcode.replace('-', '_')}"
        return [Kernel(grid, nest, arguments(d, nest.operands, [*choice.scratch, *nest.results]),
                       Text(template, record, attribute=d.launch_bounds(schedule.threads)))]


HERO = MatricesHero()


def batch(d: Target, dtype: str, schedule: Matrices, grid: Grid, starts: "Dict[str, Coordinate]",
          arrays: "List[LocalArray]") -> BatchRecord:
    """Return the record's values about the batch."""
    part = dtypes.TABLE[dtype].part or dtype
    return BatchRecord(d.register(dtype), schedule.chunks, schedule.sizes.matrices, schedule.threads, grid.blocks > 1,
                       schedule.threads > 1, list(starts.values()), arrays, d.special(dtypes.quiet_nan(part), part))


def view(nest: Whole, buffer: Buffer, index: str, starts: "Dict[str, Coordinate]") -> View:
    """Return the view of a matrix in a buffer of operands or results; its start is added to the variables."""
    text, name = _start(nest, buffer.shape), ""
    if text:
        name = f"{buffer.pointer}_at"
        starts[name] = Coordinate(name, algebra.c_text(text, index).results[0])
    return View(buffer.pointer, name, strides_of(buffer.shape)[_batch_rank(nest):])


def scratch_view(buffer: Buffer, size: int, count: int, starts: "Dict[str, Coordinate]") -> View:
    """Return the view of a matrix's part of a scratch buffer, which has `size` elements for each matrix."""
    name = f"{buffer.pointer}_at" if count > 1 else ""
    if name:
        starts[name] = Coordinate(name, f"matrix * {size}")
    return View(buffer.pointer, name, (1,))


def matrix_maps(nest: Whole) -> "List[str]":
    """Return the maps to the elements of the operands and the results, and to the first element of a matrix in each."""
    buffers = [*nest.operands, *nest.results]
    return [text for buffer in buffers for text in (memory_map(buffer.shape), _start(nest, buffer.shape)) if text]


def attributes_of(nest: Whole) -> "Dict[str, Any]":
    """Return the attributes of the op, with defaults for those that it leaves out."""
    return {**_DEFAULTS, **nest.op.attributes}


def matrix_map(schedule: Matrices, blocks: int) -> str:
    """Return the map from a work-item and its step to the number of its matrix, which `gen explain` prints."""
    return (f"(th_x, bl_x)[chunk] -> (bl_x * {schedule.threads * schedule.chunks} + th_x * {schedule.chunks} + chunk), "
            f"domain: th_x in [0, {schedule.threads - 1}], bl_x in [0, {blocks - 1}], "
            f"chunk in [0, {schedule.chunks - 1}]")


def _batch_rank(nest: Whole) -> int:
    """Return the number of dimensions before those of a matrix."""
    return max(operand.shape.rank for operand in nest.op.operands) - 2


def _start(nest: Whole, shape: Shape) -> str:
    """Return the map from the number of a matrix to the position of its first element; "" if there is one matrix, or if
    matrices have no elements."""
    rank = _batch_rank(nest)
    if math.prod(shape.dims[:rank]) <= 1 or not shape.elements:
        return ""
    first = algebra.substitute(memory_map(shape), **{f"d{k}": 0 for k in range(rank, shape.rank)})
    batch = algebra.call("shape", "unmap", array_shape("s32", shape.dims[:rank]).text)
    return algebra.rename(compose(batch, first), "matrix")


def _lanes(nest: Whole, local: bool, device: Device) -> int:
    """Return the number of right-hand sides of a triangular solve in a vector, if there are at least that many; 1 for
    no vectors."""
    (_, rows, columns, _), lanes = sizes_of(nest.op), LINE // dtypes.storage_bytes(nest.shape.dtype)
    n, sides = (rows, columns) if nest.op.attributes.get("left_side") else (columns, rows)
    fits = device.wide and not local and n * LINE <= device.matrices.block_bytes
    return lanes if nest.op.opcode == "triangular-solve" and fits and sides >= lanes else 1


def _elements(shape: Shape) -> int:
    return math.prod(shape.dims[-2:])


def _matrices(nest: Whole) -> "List[Shape]":
    rank = _batch_rank(nest)
    return [b.shape for b in (*nest.operands, *nest.results) if b.shape.rank == rank + 2]


def _scratch(nest: Whole, small: bool) -> "List[int]":
    """Return the sizes of the arrays that a matrix needs besides its results, in local arrays (small) or in scratch
    memory."""
    sizes, opcode = sizes_of(nest.op), nest.op.opcode
    m, n = sizes.rows, sizes.columns
    if opcode == "eigh":
        return [n * n, n * n] if small and nest.op.attributes["vectors"] else [n * n]
    if opcode == "svd":
        k, size = min(m, n), max(m, n)
        return [size * k] if nest.op.attributes["vectors"] == "none" else [size * k, k * k]
    if opcode == "perturbed-tridiagonal-solve":
        return [3 * m]
    if opcode == "tridiagonal-solve" or not small:
        return []
    return [m * n]
