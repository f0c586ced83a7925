"""The matrices hero on GPUs where matrices are large enough, or few: a block of threads has a matrix of the batch.

A matrix that fits is worked on in shared memory, a larger one in the memory of the result. The threads of a block wait
for each other after each column. A triangular solve has several blocks for the right sides of a matrix. Small matrices
of a large batch, and the other ops, have a thread each (gen/heroes/matrices.py)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Iterable, List, Tuple

from gen.emit.form import Form
from gen.heroes.hero import Choice, Context, Hero, Refused
from gen.heroes.kernel import Coordinate, Grid, Kernel, Text, arguments
from gen.heroes.matrices import View, attributes_of, matrix_maps, view
from gen.hlo import dtypes
from gen.plan.matrices import Sizes, sizes_of
from gen.plan.whole import Whole
from gen.schedule import Schedule

OPS = ("cholesky", "householder-product", "lu", "qr", "triangular-solve")
TILE = "tile"


@dataclass(frozen=True)
class SharedArray:
    """An array in shared memory. type: of its elements, in HLO's words."""

    name: str
    type: str
    elements: int

    @property
    def bytes(self) -> int:
        return self.elements * dtypes.storage_bytes(self.type)


@dataclass(frozen=True)
class MatrixBlocks(Schedule):
    """sizes: of the op. across: threads along which neighbours are accessed; a block has several such groups. parts:
    blocks of a matrix. sides: right sides of a block. shared: its arrays. pitch: elements of a row in shared memory."""

    sizes: Sizes = Sizes(1, 1, 1)
    across: int = 1
    parts: int = 1
    sides: int = 1
    pitch: int = 1
    shared: Tuple[SharedArray, ...] = ()

    @property
    def in_shared(self) -> bool:
        """True if the matrix is worked on in shared memory."""
        return any(array.name == TILE for array in self.shared)

    def text(self) -> str:
        where = f"in shared memory in rows of {self.pitch}" if self.in_shared else "in memory"
        return (f"{super().text()}, {self.across} across, {self.sizes.matrices} matrices, "
                f"{self.parts} {'block' if self.parts == 1 else 'blocks'} each, {where}")


@dataclass(frozen=True)
class MatrixBlockRecord:
    """The values that the templates of blocks print.

    type, dtype: of elements, as C text and in HLO's words. count, parts: matrices, and blocks of each. threads,
    across, groups: of a block, along neighbours, and groups of these. group: whether the text names the number of the
    block. starts: the variables with the positions of a block's matrix. shared: arrays in shared memory, each with
    its type as C text. in_shared: whether work, a view of one, is where the matrix is worked on; barrier: where threads
    wait until others have written it. sides, solved: right sides of a block, and their place. searching: threads that look for a pivot. nan: as
    C text.
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
    solved: View
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
        sizes, device, dtype = sizes_of(nest.op), context.device, nest.shape.dtype
        solves, most = nest.op.opcode == "triangular-solve", context.target.shared_bytes
        rows, columns = _unknowns(nest) if solves else (sizes.rows, sizes.columns)
        sides = min(device.warp, columns)
        while solves and sides > 1 and rows * sides * dtypes.storage_bytes(dtype) > most:
            sides //= 2
        across = 1
        while across < min(device.warp, sides if solves else columns):
            across *= 2
        wanted = rows * (sides if solves else columns) // device.matrices.block_thread_elements
        threads = max(device.warp, across)
        while threads < min(wanted, device.matrices.block_threads):
            threads *= 2
        pitch = (rows if solves else columns) | 1
        groups = threads // across
        of_reflectors = [SharedArray("sums", dtype, groups * columns), SharedArray("tops", dtype, columns),
                         SharedArray("column", dtype, rows)]
        others = {
            "cholesky": [SharedArray("scales", dtype, rows)],
            "householder-product": of_reflectors,
            "lu": [SharedArray("values", dtype, device.warp + 1), SharedArray("places", "s32", device.warp)],
            "qr": [*of_reflectors, SharedArray("sizes", dtype, groups)],
            "triangular-solve": [SharedArray("solved", dtype, rows * sides)]}[nest.op.opcode]
        tile = SharedArray(TILE, dtype, rows * pitch)
        if sum(array.bytes for array in others) > most:
            raise Refused(f"{rows} rows, whose arrays do not fit {most} bytes of shared memory")
        fits = sum(array.bytes for array in (tile, *others)) <= most
        yield MatrixBlocks(threads=threads, sizes=sizes, across=across, parts=-(-columns // sides) if solves else 1,
                           sides=sides, pitch=pitch, shared=tuple([tile, *others] if fits else others))

    def index_types(self, schedule: MatrixBlocks) -> "Tuple[str, ...]":
        """Signed ones, as loops run downwards."""
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
        record = MatrixBlockRecord(
            type=d.register(dtype), dtype=dtype, count=schedule.sizes.matrices, parts=schedule.parts,
            threads=schedule.threads, across=schedule.across, groups=schedule.threads // schedule.across,
            group=grid.blocks > 1, starts=list(starts.values()),
            shared=[(array.name, d.register(array.type), array.elements) for array in schedule.shared],
            in_shared=schedule.in_shared, barrier=d.barrier if schedule.in_shared else d.memory_barrier,
            operands=operands, results=results, work=View(TILE, "", (schedule.pitch, 1)),
            solved=View("solved", "", (schedule.sides, 1)), sizes=schedule.sizes, attributes=attributes_of(nest),
            sides=schedule.sides, searching=context.device.warp,
            nan=d.special(dtypes.quiet_nan(dtype), dtype))
        template = f"kernels/{nest.op.opcode.replace('-', '_')}_gpu"
        return [Kernel(grid, nest, arguments(d, nest.operands, nest.results),
                       Text(template, record, attribute=d.launch_bounds(schedule.threads, 1)))]


HERO = MatricesGpuHero()


def _unknowns(nest: Whole) -> "Tuple[int, int]":
    """The unknowns of a triangular solve, and its right sides."""
    sizes = sizes_of(nest.op)
    return (sizes.rows, sizes.columns) if nest.op.attributes.get("left_side") else (sizes.columns, sizes.rows)
