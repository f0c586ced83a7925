"""The contraction hero (kernel emitter) for AMD's MFMA instructions, with which wavefronts multiply matrices.

A "line" is a row of the left operand or a column of the right operand; a "step" is one index along the sum (k). A block
of threads computes a tile of the result, and each wavefront of 64 threads computes a part of the tile. While the block
multiplies the steps in one half of its shared memory, it loads the next steps of both operands into registers.

An instruction multiplies 16 rows by 16 columns. sett_mma_layouts.h says which lane holds which element and which sum. A
lane reads 16 contiguous bytes of a line, which are its elements for several instructions. The instructions therefore
take the steps in an order other than that of memory; the order is the same for both operands.

A row of a tile in shared memory is one line, or one step if lines are contiguous in memory. Rows are rotated so that
lanes which read together use all banks. If a row is a line, the rotation grows by 16 bytes with every 128 bytes of the
tile. If a row is a step, the rotation grows by 16 lines with every n steps, where n elements have 16 bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Iterable, List, NamedTuple, Optional, Tuple

from gen import algebra
from gen.emit.templates import macro
from gen.emit.values import Touched
from gen.heroes.contraction_gpu import WORD, ContractionGpuSchedule, ExactSum, SharedAccess, \
    TiledOperand, best, block_counts, element_map, exact_sum, kernel_of_tiles, part_steps, sums_written, tiled, \
    word_type
from gen.heroes.contraction_mma import FragmentHero, Fragments, copy_map, element_bytes, held_in, texts
from gen.heroes.hero import Choice, Context, Refused
from gen.heroes.kernel import Kernel, Placing, StepCode, Text
from gen.plan.partition import compose
from gen.plan.tiled_product import TiledProduct
from gen.schedule import GpuTile

SIDE, LANES = 16, 64  # rows and columns of an instruction; threads of a wavefront
BANKS = 128  # bytes of shared memory that all banks deliver at once


class Instruction(NamedTuple):
    """An MFMA instruction.

    shape: its numbers of rows, columns and steps, as text.
    sums: the type of its sums.
    group: number of elements that a lane holds of each operand.
    layout: prefix of the names of its fragments' layouts in sett_mma_layouts.h.
    slot: the variable of the accumulator's layout that numbers the sums of a lane.
    """

    shape: str
    sums: str
    group: int
    layout: str
    slot: str = "e0"


INSTRUCTIONS = {"f32": Instruction("16x16x4", "f32", 1, "MFMA_F32_16x16x4_F32"),
                "f64": Instruction("16x16x4", "f64", 1, "MFMA_F64_16x16x4_F64", "o0"),
                "bf16": Instruction("16x16x16", "f32", 4, "MFMA_F32_16x16x16_BF16"),
                "f16": Instruction("16x16x16", "f32", 4, "MFMA_F32_16x16x16_F16"),
                "s8": Instruction("16x16x16", "s32", 4, "MFMA_I32_16x16x16_I8")}


@dataclass(frozen=True)
class ContractionMfmaSchedule(ContractionGpuSchedule):
    def text(self) -> str:
        return f"{super().text()}, MFMA"

    @property
    def waves(self) -> "Tuple[int, int]":
        """Return the numbers of wavefronts in a block, along the rows and along the columns."""
        tile = self.block
        return tile.rows // (4 * tile.thread_rows), tile.columns // (SIDE * tile.thread_columns)

    def thread_counts(self) -> "List[Tuple[str, int]]":
        return [("wave_row", self.waves[0]), ("wave_column", self.waves[1]), ("lane", LANES)]

    def of_thread(self) -> str:
        return "total[i / 4][j][i % 4]"


@dataclass(frozen=True)
class FragmentOperand(TiledOperand):
    """A copy of an operand through registers to shared memory, from where lanes read fragments. A line is a row of the
    left operand or a column of the right operand.

    along: true if the operand is contiguous along the sum, false if lines are adjacent in memory.
    word: the type of a load.
    place: C text of an element's index in the tile, computed from its line and its step (index along the sum).
    elements: number of elements of a tile.
    read_line, read_step: C texts of the line and the step of the first element that a lane reads. `n` numbers the
        groups of 16 lines of its wavefront.
    """

    along: bool
    word: str
    place: str
    elements: int
    read_line: str
    read_step: str


@dataclass(frozen=True)
class ContractionMfmaRecord:
    """The record that templates/kernels/contraction_mfma.j2 prints.

    kind, element: the types of the sums, and of elements in memory.
    mfma: the C function that multiplies a word of each operand.
    unit: number of elements in 16 bytes.
    downs, acrosses: numbers of instructions of a wavefront along the rows and along the columns.
    row, group, steps, part_steps, rows, columns, vec, exact, step: as in ContractionGpuRecord.
    """

    placing: Placing
    kind: str
    element: str
    mfma: str
    unit: int
    tile: GpuTile
    downs: int
    acrosses: int
    operands: List[FragmentOperand]
    steps: int
    part_steps: int
    row: str
    group: str
    rows: int
    columns: int
    vec: int
    exact: Optional[ExactSum]
    step: StepCode


class ContractionMfmaHero(FragmentHero):
    """The contraction hero for MFMA instructions."""

    def takes(self, nest: TiledProduct, context: Context) -> bool:
        numbers, types = context.device.contraction_gpu, {buffer.shape.dtype for buffer in nest.operands}
        if not numbers.wave_types:
            raise Refused("the device has no MFMA")
        if len(types) > 1 or not types <= set(numbers.wave_types) or _instruction(nest).sums != nest.dot.shape.dtype:
            raise Refused("no MFMA of the device multiplies these types exactly")
        return super().takes(nest, context)

    def schedules(self, nest: TiledProduct, context: Context) -> "Iterable[ContractionGpuSchedule]":
        numbers, most = context.device.contraction_gpu, WORD // element_bytes(nest)
        tile, parts = best(nest, numbers.wave_tiles[element_bytes(nest)], numbers.sum_cost, context)
        return [ContractionMfmaSchedule(tile.threads, block=tile, parts=parts,
                                        loads=(nest.vector(0, most), nest.vector(1, most)))]

    def fragments(self, nest: TiledProduct, schedule: ContractionGpuSchedule) -> Fragments:
        assert isinstance(schedule, ContractionMfmaSchedule)
        return Fragments.of(nest, schedule, copy_map, read_map, tile_map, sum_maps, shared_accesses)

    def instruction(self, nest: TiledProduct) -> str:
        of, dtype = _instruction(nest), nest.operands[0].shape.dtype
        return f"MFMA {of.shape}, {dtype} added as {of.sums}"

    def tiles_kernel(self, choice: Choice[TiledProduct, ContractionGpuSchedule], context: Context) -> Kernel:
        return _kernel(choice, context)


HERO = ContractionMfmaHero()


def _instruction(nest: TiledProduct) -> Instruction:
    return INSTRUCTIONS[nest.operands[0].shape.dtype]


# ---- maps ----

def tile_map(nest: TiledProduct, tile: GpuTile, operand: int) -> str:
    """Return the map (line, step) -> (element of the tile in shared memory). A line is a row of the left operand or a
    column of the right operand, a step is an index along the sum.
    """
    lines, size = (tile.rows, tile.columns)[operand], element_bytes(nest)
    unit = WORD // size
    if nest.along_steps(operand):
        units, rows = tile.steps // unit, max(1, BANKS // size // tile.steps)
        place = (f"line * {tile.steps} + (step floordiv {unit} + line floordiv {rows}) mod {units} * {unit} "
                 f"+ step mod {unit}")
    else:
        place = f"step * {lines} + (line + step floordiv {unit} * {SIDE}) mod {lines}"
    return algebra.simplify(f"(line, step) -> ({place}), domain: line in [0, {lines - 1}], "
                            f"step in [0, {tile.steps - 1}]")


def read_map(nest: TiledProduct, schedule: ContractionMfmaSchedule, operand: int) -> str:
    """Return the map (wave, lane, n, word) -> (line, step): the first element, in the tile, of a 16-byte word that a
    lane reads. A line is a row of the left operand or a column of the right operand, a step is an index along the sum.
    `n` numbers the groups of 16 lines of the wavefront. `word` numbers the groups of four words along the steps; a lane
    reads one word of each group.
    """
    instruction, size = _instruction(nest), element_bytes(nest)
    count, unit = (schedule.block.thread_rows // 4, schedule.block.thread_columns)[operand], WORD // size
    found = held_in(instruction.layout, ("lhs", "rhs")[operand], {"lane": LANES}, thread="lane")
    line, step = found if operand == 0 else found[::-1]
    words = schedule.block.steps // (4 * unit)
    return algebra.simplify(
        f"(wave, lane, n, word) -> (wave * {SIDE * count} + n * {SIDE} + {line}, "
        f"word * {4 * unit} + ({step}) floordiv {instruction.group} * {unit}), "
        f"domain: wave in [0, {schedule.waves[operand] - 1}], lane in [0, {LANES - 1}], n in [0, {count - 1}], "
        f"word in [0, {words - 1}]")


def sum_maps(nest: TiledProduct, schedule: ContractionMfmaSchedule) -> "Tuple[str, str]":
    """Return two maps from a thread's sums to the tile: (wave, lane, i) -> (row of the tile), where i is a row of the
    thread, and (wave, lane, j) -> (column of the tile), where j is a column of the thread.
    """
    tile, of = schedule.block, _instruction(nest)
    rows, columns = tile.thread_rows, tile.thread_columns
    row, _ = held_in(of.layout, "acc", {"lane": LANES, "i": rows}, thread="lane", **{of.slot: "i mod 4"})
    _, column = held_in(of.layout, "acc", {"lane": LANES, "j": columns}, thread="lane")
    down, across = (f"domain: wave in [0, {count - 1}], lane in [0, {LANES - 1}]" for count in schedule.waves)
    return (algebra.simplify(f"(wave, lane, i) -> (wave * {4 * rows} + i floordiv 4 * {SIDE} + {row}), "
                             f"{down}, i in [0, {rows - 1}]"),
            algebra.simplify(f"(wave, lane, j) -> (wave * {SIDE * columns} + j * {SIDE} + {column}), "
                             f"{across}, j in [0, {columns - 1}]"))


def shared_accesses(nest: TiledProduct, schedule: ContractionMfmaSchedule) -> "List[SharedAccess]":
    """Return the accesses to shared memory. A block's threads store to the tiles of both operands, and lanes load from
    these tiles. A load is 16 bytes along the sum, or single elements.
    """
    found, unit = [], WORD // element_bytes(nest)
    for k in (0, 1):
        along, tile = nest.along_steps(k), tile_map(nest, schedule.block, k)
        read = read_map(nest, schedule, k)
        if not along:
            facts = algebra.info(read)
            box = ", ".join(f"{v.name} in [{v.lo}, {v.hi}]" for v in facts.variables)
            read = algebra.simplify(f"(wave, lane, n, word, of) -> ({facts.results[0].text}, {facts.results[1].text} + of), "
                                    f"domain: {box}, of in [0, {unit - 1}]")
        for of, elements in ((copy_map(nest, schedule, k), schedule.loads[k]), (read, unit if along else 1)):
            info = algebra.info(compose(of, tile))
            lanes = "lane" if "lane" in [v.name for v in info.variables] else "th_x"
            names = [v.name for v in info.variables if v.name != lanes]
            box = ", ".join([*(f"{v.name} in [{v.lo}, {v.hi}]" for v in info.variables), f"e in [0, {elements - 1}]",
                             *(f"{c.text} in [{c.lo}, {c.hi}]" for c in info.constraints)])
            found.append(SharedAccess(algebra.simplify(
                f"({lanes})[{', '.join([*names, 'e'])}] -> ({info.results[0].text} + e), domain: {box}"), elements))
    return found


# ---- the kernel ----

def _operand(choice: Choice[TiledProduct, ContractionGpuSchedule], k: int,
             context: Context) -> "Tuple[FragmentOperand, Touched]":
    nest, schedule, t = choice.nest, choice.schedule, choice.index
    assert isinstance(schedule, ContractionMfmaSchedule)
    tile, size = tile_map(nest, schedule.block, k), schedule.loads[k] * element_bytes(nest)
    (place,), ((_, last),) = texts(tile, t, "line", "of_tile"), algebra.ranges(tile)
    line, step = texts(read_map(nest, schedule, k), t, f"wave_{('row', 'column')[k]}", "lane", "n", "word")
    operand = FragmentOperand(**tiled(nest, schedule, k, t, copy_map(nest, schedule, k)), along=nest.along_steps(k),
                              word=word_type(size), place=place, elements=last + 1, read_line=line, read_step=step)
    return operand, Touched("read", nest.operands[k], element_map(nest, k), size if schedule.loads[k] > 1 else 0)


def _kernel(choice: Choice[TiledProduct, ContractionGpuSchedule], context: Context) -> Kernel:
    nest, schedule, t = choice.nest, choice.schedule, choice.index
    assert isinstance(schedule, ContractionMfmaSchedule)
    d, tile, dtype, counts = context.target, schedule.block, nest.operands[0].shape.dtype, nest.counts
    instruction, unit = _instruction(nest), WORD // element_bytes(nest)
    if dtype == "f16":
        d.used.add("half")
    mfma = f"mfma_{instruction.sums}_{dtype}"
    context.helpers.texts.setdefault(mfma, macro("parts/mfma.j2", "mfma", d=d, name=mfma, of=dtype, unit=unit,
                                                 instruction=instruction, kind=d.types[instruction.sums],
                                                 element=d.memory(dtype)))
    placing, _ = Placing.of([digit for digit in block_counts(nest, schedule) if digit[1] > 1], tile.threads, t)
    both, written = [_operand(choice, k, context) for k in (0, 1)], sums_written(choice, context)
    (row,), (group,) = (texts(of, t, f"wave_{side}", "lane", name)
                        for of, side, name in zip(sum_maps(nest, schedule), ("row", "column"), "ij"))
    record = ContractionMfmaRecord(
        placing, d.types[nest.dot.shape.dtype], d.memory(dtype), mfma, unit, tile, tile.thread_rows // 4,
        tile.thread_columns, [operand for operand, _ in both], counts["step"],
        part_steps(counts["step"], schedule.parts, tile), row, group, counts["row"], counts["column"], schedule.vec,
        exact_sum(choice, context), written.code)
    return kernel_of_tiles(choice, context, Text("kernels/contraction_mfma", record), [touched for _, touched in both],
                           written)
