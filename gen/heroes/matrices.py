"""The matrices hero (kernel emitter): factorisations and solutions of small linear systems. Each matrix of the batch is
computed by one work-item.

Each op has a template of its name in templates/kernels/. Sizes are constants, so that a compiler unrolls small loops.
Small matrices are in arrays of the work-item. Large matrices are in the buffers of the results, or in scratch memory if
no result has room for them. The order of the loops depends on the layout: the innermost loop runs along memory.

The templates say which algorithm each op uses. The algorithms are those of LAPACK, except that Jacobi's method replaces
the reduction to tridiagonal or bidiagonal form.
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
# values of optional attributes if an op lacks them
_DEFAULTS = {"lower": False, "left_side": False, "unit_diagonal": False, "info": False}


@dataclass(frozen=True)
class Matrices(Schedule):
    """The schedule of the matrices hero.

    chunks: number of matrices of a work-item.
    sizes: sizes of the op (class Sizes).
    local: true if matrices are in arrays of the work-item.
    """

    sizes: Sizes = Sizes(1, 1, 1)
    local: bool = True

    def text(self) -> str:
        where = "in local arrays" if self.local else "in memory"
        return f"{super().text()}, {self.sizes.matrices} matrices, {self.chunks} a work-item, {where}"


class View(NamedTuple):
    """A matrix or a vector in memory.

    start: C text of the position of its first element ("": 0).
    strides: the strides of its dimensions, in elements.
    """

    pointer: str
    start: str
    strides: Tuple[int, ...]

    def at(self, *index: "str | int | Tuple[str | int, ...]") -> str:
        """Return the element at an index, as C text. A tuple in the index stands for the sum of its terms."""
        terms = [self.start] if self.start else []
        for number, stride in zip(index, self.strides):
            if number != 0 and stride:
                text = " + ".join(map(str, number)) if isinstance(number, tuple) else str(number)
                factor = f"({text})" if isinstance(number, tuple) and stride != 1 else text
                terms.append(factor if stride == 1 else f"{factor} * {stride}")
        return f"{self.pointer}[{' + '.join(terms) or '0'}]"

    def rows(self, size: int) -> "View":
        """Return the same memory as a row-major matrix with rows of `size` elements."""
        return View(self.pointer, self.start, (size, 1))

    @property
    def transposed(self) -> "View":
        return View(self.pointer, self.start, self.strides[::-1])

    @property
    def by_columns(self) -> bool:
        """Return true if elements that are adjacent in memory are in the same column."""
        return self.strides[0] < self.strides[1]


@dataclass(frozen=True)
class LocalArray:
    name: str
    elements: int


@dataclass(frozen=True)
class BatchRecord:
    """The values of a kernel in which each work-item computes several matrices, one after another.

    type: type of elements, as C text.
    chunk: number of matrices of a work-item.
    count: number of all matrices.
    threads: number of work-items in a group.
    group, item: true if the C text uses the number of the work-group, and of the work-item in its group.
    starts: C variables that have the positions where the current matrix begins.
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
    """The values that the templates of matrix ops print.

    dtype: HLO type of elements.
    operands, results, work: views of the op's operands, results and scratch matrices.
    sizes, attributes: sizes (class Sizes) and attributes of the op.
    unrolled: true if loops are unrolled.
    epsilon: half the distance from 1 to the next floating-point number.
    vector_sizes: the numbers of left and of right vectors in the results of svd.
    lanes: number of right-hand sides in a vector, for a triangular solve; 1: no vectors.
    complex: for complex elements, the C function of each operation; {} for real elements.
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
        """Return signed types, because some loops run downwards."""
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
    """Return the fields of BatchRecord."""
    part = dtypes.TABLE[dtype].part or dtype
    return BatchRecord(d.register(dtype), schedule.chunks, schedule.sizes.matrices, schedule.threads, grid.blocks > 1,
                       schedule.threads > 1, list(starts.values()), arrays, d.special(dtypes.quiet_nan(part), part))


def view(nest: Whole, buffer: Buffer, index: str, starts: "Dict[str, Coordinate]") -> View:
    """Return the view of the current matrix in the buffer of an operand or result, and add the variable of its start to
    `starts`.
    """
    text, name = _start(nest, buffer.shape), ""
    if text:
        name = f"{buffer.pointer}_at"
        starts[name] = Coordinate(name, algebra.c_text(text, index).results[0])
    return View(buffer.pointer, name, strides_of(buffer.shape)[_batch_rank(nest):])


def scratch_view(buffer: Buffer, size: int, count: int, starts: "Dict[str, Coordinate]") -> View:
    """Return the view of a part of a scratch buffer: the `size` elements of the current matrix. If there are several
    matrices, add the variable of the part's start to `starts`.
    """
    name = f"{buffer.pointer}_at" if count > 1 else ""
    if name:
        starts[name] = Coordinate(name, f"matrix * {size}")
    return View(buffer.pointer, name, (1,))


def matrix_maps(nest: Whole) -> "List[str]":
    """Return, for each operand and result, the map from its index to its position in memory and the map from a matrix's
    number to the position of its first element.
    """
    buffers = [*nest.operands, *nest.results]
    return [text for buffer in buffers for text in (memory_map(buffer.shape), _start(nest, buffer.shape)) if text]


def attributes_of(nest: Whole) -> "Dict[str, Any]":
    """Return the attributes of the op; optional attributes that it does not have get their defaults."""
    return {**_DEFAULTS, **nest.op.attributes}


def matrix_map(schedule: Matrices, blocks: int) -> str:
    """Return the map from a work-item and its step to the number of its matrix, which `gen explain` prints."""
    return (f"(th_x, bl_x)[chunk] -> (bl_x * {schedule.threads * schedule.chunks} + th_x * {schedule.chunks} + chunk), "
            f"domain: th_x in [0, {schedule.threads - 1}], bl_x in [0, {blocks - 1}], "
            f"chunk in [0, {schedule.chunks - 1}]")


def _batch_rank(nest: Whole) -> int:
    return max(operand.shape.rank for operand in nest.op.operands) - 2


def _start(nest: Whole, shape: Shape) -> str:
    """Return the map from a matrix's number to the position of its first element; "" if there is only one matrix, or if
    matrices are empty.
    """
    rank = _batch_rank(nest)
    if math.prod(shape.dims[:rank]) <= 1 or not shape.elements:
        return ""
    first = algebra.substitute(memory_map(shape), **{f"d{k}": 0 for k in range(rank, shape.rank)})
    batch = algebra.call("shape", "unmap", array_shape("s32", shape.dims[:rank]).text)
    return algebra.rename(compose(batch, first), "matrix")


def _lanes(nest: Whole, local: bool, device: Device) -> int:
    """Return the number of right-hand sides of a triangular solve that fit into a vector; 1 if vectors are not used or
    not filled.
    """
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
    """Return the sizes, in elements, of the work arrays that each matrix needs in addition to its results. small: true
    if the work arrays are local, false if they are in scratch memory.
    """
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
