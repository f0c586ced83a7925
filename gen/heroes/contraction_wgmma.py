"""The contraction hero (kernel emitter) for CUDA's wgmma, with which warpgroups multiply tiles of 16-bit numbers in
shared memory.

A "line" is a row of the left operand or a column of the right operand; a "step" is one index along the sum (k). A block
of threads computes a tile of the result, and each warpgroup of four warps computes 64 rows of the tile. cp.async copies
the tiles of both operands from memory to shared memory, several stages ahead; wgmma reads them there by descriptors.

A tile in shared memory consists of rows of 128 bytes: 64 steps of a line, or 64 lines of a step if lines are contiguous
in memory. The 16-byte word w of row r is stored at word w xor (r mod 8), as wgmma's 128-byte swizzle requires.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Iterable, List, Optional, Tuple

from gen import algebra
from gen.emit.templates import macro
from gen.emit.values import Touched
from gen.heroes.contraction_gpu import WORD, ContractionGpuSchedule, ExactSum, SharedAccess, \
    TiledOperand, best, block_counts, element_map, exact_sum, kernel_of_tiles, part_steps, sums_written, tiled, \
    whole_columns
from gen.heroes.contraction_mma import ACROSS, FragmentHero, Fragments, copy_map, element_bytes, held, texts
from gen.heroes.hero import Choice, Context, Refused
from gen.heroes.kernel import Grid, Kernel, Placing, StepCode, Text
from gen.plan.partition import compose
from gen.plan.tiled_product import TiledProduct
from gen.schedule import GpuTile

DOWN, DEEP, ROW = 64, 16, 64  # DOWN, DEEP: rows and steps of an instruction. ROW: elements of a row in shared memory
TYPES = ("bf16", "f16")


@dataclass(frozen=True)
class ContractionWgmmaSchedule(ContractionGpuSchedule):
    def text(self) -> str:
        return f"{super().text()}, wgmma, {self.block.stages} stages"

    def thread_counts(self) -> "List[Tuple[str, int]]":
        return [("warpgroup", self.block.rows // DOWN), ("warp", 4), ("lane", 32)]

    def of_thread(self) -> str:
        element = f"(j * {self.vec} + vec)" if self.vec > 1 else "j"
        return f"total[{element} / 2 * 4 + i * 2 + {element} % 2]"


@dataclass(frozen=True)
class ReadOperand(TiledOperand):
    """A copy of an operand to shared memory, where wgmma reads it by descriptors. A line is a row of the left operand
    or a column of the right operand.

    elements: number of elements of a tile.
    begin: bytes of shared memory before this operand's tiles.
    place: C text of an element's index in the tile, computed from its line and its step (index along the sum).
    read: C text of the index, in the tile, of the first element that the warpgroup reads for group `part` of 16 steps.
    lines_beside: true if lines are adjacent in memory, false if the operand is contiguous along the sum.
    leading, stride: fields of the descriptor, in bytes.
    """

    elements: int
    begin: int
    place: str
    read: str
    lines_beside: bool
    leading: int
    stride: int


@dataclass(frozen=True)
class ContractionWgmmaRecord:
    """The record that templates/kernels/contraction_wgmma.j2 prints.

    element: the type of elements in memory.
    bytes: bytes of an element.
    wgmma: the C function of an instruction.
    parts: number of groups of 16 steps in a tile.
    row, group, steps, part_steps, rows, columns, vec, exact, step: as in ContractionMmaRecord.
    """

    placing: Placing
    element: str
    bytes: int
    wgmma: str
    tile: GpuTile
    parts: int
    operands: List[ReadOperand]
    steps: int
    part_steps: int
    row: str
    group: str
    rows: int
    columns: int
    vec: int
    exact: Optional[ExactSum]
    step: StepCode


class ContractionWgmmaHero(FragmentHero):
    """The contraction hero for wgmma instructions."""

    def takes(self, nest: TiledProduct, context: Context) -> bool:
        if not context.device.contraction_gpu.warpgroup_tiles:
            raise Refused("the device has no wgmma")
        types = {buffer.shape.dtype for buffer in nest.operands}
        if len(types) > 1 or not types <= set(TYPES) or nest.dot.shape.dtype != "f32":
            raise Refused("wgmma does not multiply these types")
        if min(nest.counts["row"], nest.counts["column"]) < DOWN:
            raise Refused("a warpgroup's tile has more rows and columns")
        return super().takes(nest, context)

    def schedules(self, nest: TiledProduct, context: Context) -> "Iterable[ContractionGpuSchedule]":
        numbers = context.device.contraction_gpu
        tile, parts = best(nest, numbers.warpgroup_tiles, numbers.warpgroup_sum_cost, context)
        most = WORD // element_bytes(nest)
        return [ContractionWgmmaSchedule(tile.threads, vec=whole_columns(nest, 2), block=tile, parts=parts,
                                         loads=(nest.vector(0, most), nest.vector(1, most)))]

    def fragments(self, nest: TiledProduct, schedule: ContractionGpuSchedule) -> Fragments:
        assert isinstance(schedule, ContractionWgmmaSchedule)
        return Fragments.of(nest, schedule, copy_map, read_map, tile_map, sum_maps, shared_accesses)

    def grids(self, choice: Choice[TiledProduct, ContractionGpuSchedule], context: Context) -> "List[Grid]":
        first, *others = super().grids(choice, context)
        _, end = tile_bytes(choice.nest, choice.schedule.block)
        return [replace(first, dynamic_bytes=end), *others]

    def instruction(self, nest: TiledProduct) -> str:
        return f"wgmma m{DOWN}k{DEEP} of all columns of the tile, {nest.operands[0].shape.dtype} added as f32"

    def tiles_kernel(self, choice: Choice[TiledProduct, ContractionGpuSchedule], context: Context) -> Kernel:
        return _kernel(choice, context)


HERO = ContractionWgmmaHero()


# ---- maps ----

def tile_map(nest: TiledProduct, tile: GpuTile, operand: int) -> str:
    """Return the map (line, step) -> (element of the tile in shared memory). A line is a row of the left operand or a
    column of the right operand, a step is an index along the sum.
    """
    lines, word = (tile.rows, tile.columns)[operand], WORD // element_bytes(nest)
    if nest.along_steps(operand):
        place = f"line * {ROW} + (step floordiv {word} xor line mod 8) * {word} + step mod {word}"
    else:
        place = (f"line floordiv {ROW} * {ROW * tile.steps} + step * {ROW} + "
                 f"(line mod {ROW} floordiv {word} xor step mod 8) * {word} + line mod {word}")
    return algebra.simplify(f"(line, step) -> ({place}), domain: line in [0, {lines - 1}], "
                            f"step in [0, {tile.steps - 1}]")


def tile_bytes(nest: TiledProduct, tile: GpuTile) -> "Tuple[int, int]":
    """Return two byte counts of shared memory: the tiles of the first operand, and the tiles of both operands."""
    first, second = (tile.stages * lines * tile.steps * element_bytes(nest) for lines in (tile.rows, tile.columns))
    return first, first + second


def read_map(nest: TiledProduct, schedule: ContractionWgmmaSchedule, operand: int) -> str:
    """Return the map (warpgroup, part) -> (element of the tile): the first element that an instruction reads for group
    `part` of 16 steps.
    """
    tile = schedule.block
    line = (f"warpgroup * {DOWN}", "0")[operand]
    return compose(f"(warpgroup, part) -> ({line}, part * {DEEP}), domain: warpgroup in [0, {tile.rows // DOWN - 1}], "
                   f"part in [0, {tile.steps // DEEP - 1}]", tile_map(nest, tile, operand))


def sum_maps(nest: TiledProduct, schedule: ContractionWgmmaSchedule) -> "Tuple[str, str]":
    """Return two maps from a thread's sums to the tile. The first maps row i of a thread to a row of the tile:
    (warpgroup, warp, lane, i) -> (row). The second maps group j of a thread's columns to a group of `vec` columns of
    the tile: (lane, j) -> (group). The lanes of a warp hold the same sums as after adjacent mma.sync instructions.
    """
    tile, vec = schedule.block, schedule.vec
    columns = tile.thread_columns // vec
    row, _ = held(nest, "acc", {"lane": 32, "i": 2}, thread="lane", o0="i")
    _, column = held(nest, "acc", {"lane": 32, "j": columns}, thread="lane", e1=f"(j * {vec}) mod 2")
    return (algebra.simplify(f"(warpgroup, warp, lane, i) -> (warpgroup * {DOWN} + warp * 16 + {row}), "
                             f"domain: warpgroup in [0, {tile.rows // DOWN - 1}], warp in [0, 3], lane in [0, 31], "
                             f"i in [0, 1]"),
            algebra.simplify(f"(lane, j) -> (((j * {vec}) floordiv 2 * {ACROSS} + {column}) floordiv {vec}), "
                             f"domain: lane in [0, 31], j in [0, {columns - 1}]"))


def shared_accesses(nest: TiledProduct, schedule: ContractionWgmmaSchedule) -> "List[SharedAccess]":
    """Return the accesses to shared memory: a block's threads copy to the tiles of both operands."""
    found = []
    for k in (0, 1):
        place = algebra.info(compose(copy_map(nest, schedule, k), tile_map(nest, schedule.block, k)))
        box = [f"{v.name} in [{v.lo}, {v.hi}]" for v in place.variables]
        box += [f"e in [0, {schedule.loads[k] - 1}]", *(f"{c.text} in [{c.lo}, {c.hi}]" for c in place.constraints)]
        found.append(SharedAccess(algebra.simplify(f"(th_x)[pass, e] -> ({place.results[0].text} + e), domain: "
                                                   f"{', '.join(box)}"), schedule.loads[k]))
    return found


# ---- the kernel ----

def _operand(nest: TiledProduct, schedule: ContractionWgmmaSchedule, k: int, t: str) -> "Tuple[ReadOperand, Touched]":
    tile, size, along = tile_map(nest, schedule.block, k), element_bytes(nest), nest.along_steps(k)
    lines = (schedule.block.rows, schedule.block.columns)[k]
    (place,), (read,) = texts(tile, t, "line", "of_tile"), texts(read_map(nest, schedule, k), t)
    (stride,) = algebra.evaluate(tile, *((8, 0) if along else (0, 8))) or (0,)
    (leading,) = (algebra.evaluate(tile, ROW, 0) if not along and lines > ROW else None) or (WORD // size,)
    operand = ReadOperand(**tiled(nest, schedule, k, t, copy_map(nest, schedule, k)), place=place, read=read,
                          elements=lines * schedule.block.steps, begin=(0, tile_bytes(nest, schedule.block)[0])[k],
                          lines_beside=not along, leading=leading * size, stride=stride * size)
    touched = schedule.loads[k] * size
    return operand, Touched("read", nest.operands[k], element_map(nest, k), touched if touched >= 4 else 0)


def _kernel(choice: Choice[TiledProduct, ContractionGpuSchedule], context: Context) -> Kernel:
    nest, schedule, t = choice.nest, choice.schedule, choice.index
    assert isinstance(schedule, ContractionWgmmaSchedule)
    d, tile, dtype, counts = context.target, schedule.block, nest.operands[0].shape.dtype, nest.counts
    if dtype == "f16":
        d.used.add("half")
    context.helpers.texts.setdefault("copies", macro("parts/mma.j2", "copies", d=d))
    for name in ("dynamic_shared", "warpgroup"):
        context.helpers.texts.setdefault(name, macro("parts/wgmma.j2", name, d=d))
    wgmma = f"wgmma_m64n{tile.columns}k16_f32_{dtype}"
    context.helpers.texts.setdefault(wgmma, macro("parts/wgmma.j2", "wgmma", d=d, name=wgmma, columns=tile.columns,
                                                  of=dtype))
    placing, _ = Placing.of([digit for digit in block_counts(nest, schedule) if digit[1] > 1], tile.threads, t)
    both, written = [_operand(nest, schedule, k, t) for k in (0, 1)], sums_written(choice, context)
    (row,), (group,) = (texts(of, t) for of in sum_maps(nest, schedule))
    record = ContractionWgmmaRecord(
        placing, d.memory(dtype), element_bytes(nest), wgmma, tile, tile.steps // DEEP,
        [operand for operand, _ in both], counts["step"], part_steps(counts["step"], schedule.parts, tile), row, group,
        counts["row"], counts["column"], schedule.vec, exact_sum(choice, context), written.code)
    return kernel_of_tiles(choice, context, Text("kernels/contraction_wgmma", record), [touched for _, touched in both],
                           written)
