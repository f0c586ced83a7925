"""The contraction hero (kernel emitter) for CUDA's mma.sync, matrix instructions for numbers of 8, 16 and 64 bits.

A "line" is a row of the left operand or a column of the right operand; a "step" is one index along the sum (k). A block
of threads computes a tile of the result, and each warp computes a part of the tile. cp.async copies the tiles of both
operands from memory to shared memory, several stages ahead. From there ldmatrix loads the operands of a warp. ldmatrix
moves 16-bit elements, so lanes load elements of 64 bits without it. sett_mma_layouts.h says which lane holds which
element and which sum.

A row of a tile in shared memory is one line if an operand is contiguous along the sum. Otherwise, a row is one step,
and ldmatrix transposes. Rows are rotated by multiples of the length of a read, so that rows which are read together are
in different banks.

ldmatrix transposes bytes in pairs of lines, and the kernel then permutes bytes within pairs of registers. As a result,
the first 8 of an instruction's 16 lines are the even lines in memory, and the last 8 are the odd lines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Dict, Iterable, List, NamedTuple, Optional, Tuple, TypeVar

from gen import algebra
from gen.emit.templates import macro
from gen.emit.values import Touched
from gen.heroes.contraction_gpu import WORD, ContractionGpuHero, ContractionGpuSchedule, ExactSum, SharedAccess, \
    TiledOperand, apart, best, block_counts, element_map, exact_sum, kernel_of_tiles, part_steps, sum_map, \
    sums_written, tiled, whole_columns
from gen.heroes.hero import Choice, Context, Refused
from gen.heroes.kernel import Kernel, Placing, StepCode, Text
from gen.hlo import dtypes
from gen.plan.partition import compose
from gen.plan.tiled_product import TiledProduct
from gen.schedule import GpuTile

_Schedule = TypeVar("_Schedule", bound=ContractionGpuSchedule)
DOWN, ACROSS = 16, 8    # rows and columns of an instruction
BANKS = 128  # bytes of shared memory that all banks deliver at once


class Instruction(NamedTuple):
    """An mma.sync instruction.

    shape: its numbers of rows, columns and steps, as PTX writes them (m16n8k16).
    sums: the type of its sums.
    layout: prefix of the names of its fragments' layouts in sett_mma_layouts.h.
    """

    shape: str
    sums: str
    layout: str


INSTRUCTIONS = {"bf16": Instruction("m16n8k16", "f32", "NV_MMA_SYNC_F32_16x8x16_BF16"),
                "f16": Instruction("m16n8k16", "f32", "NV_MMA_SYNC_F32_16x8x16_F16"),
                "s8": Instruction("m16n8k32", "s32", "PTX_M16N8K32_S32_S8"),
                "u8": Instruction("m16n8k32", "s32", "PTX_M16N8K32_S32_S8"),
                "f64": Instruction("m16n8k4", "f64", "PTX_M16N8K4_F64_F64")}


@dataclass(frozen=True)
class ContractionMmaSchedule(ContractionGpuSchedule):
    """A schedule of tiles for mma.sync. column_pairs: true if two adjacent instructions share 16 columns; one takes the
    even columns, the other the odd columns.
    """

    column_pairs: bool = False

    def text(self) -> str:
        return f"{super().text()}, matrix instructions, {self.block.stages} stages"

    @property
    def warps(self) -> "Tuple[int, int]":
        """Return the numbers of warps in a block, along the rows and along the columns."""
        tile = self.block
        return tile.rows // (8 * tile.thread_rows), tile.columns // (4 * tile.thread_columns)

    def thread_counts(self) -> "List[Tuple[str, int]]":
        return [("warp_row", self.warps[0]), ("warp_column", self.warps[1]), ("lane", 32)]

    def of_thread(self) -> str:
        element = f"j * {self.vec} + vec" if self.vec > 1 else "j"
        if self.column_pairs:
            return f"total[i / 2][({element}) / 4 * 2 + ({element}) % 2][i % 2 * 2 + ({element}) / 2 % 2]"
        return f"total[i / 2][({element}) / 2][i % 2 * 2 + ({element}) % 2]"


@dataclass(frozen=True)
class CopiedOperand(TiledOperand):
    """A copy of an operand to shared memory, from where lanes load registers. A line is a row of the left operand or a
    column of the right operand.

    elements: number of elements of a tile.
    place: C text of an element's index in the tile, computed from its line and its step (index along the sum).
    read_line, read_step: C texts of the line and the step whose address a lane gives to ldmatrix. Without ldmatrix, a
        lane loads two elements, and these are the line and the step of element `half` (0 or 1). `n` is the index of a
        group of 16 lines of the warp, `part` the index of a group of 32 bytes along the sum.
    trans: true if ldmatrix transposes.
    pairs: true if ldmatrix transposes pairs of lines.
    """

    elements: int
    place: str
    read_line: str
    read_step: str
    trans: bool
    pairs: bool


@dataclass(frozen=True)
class ContractionMmaRecord:
    """The record that templates/kernels/contraction_mma.j2 prints.

    kind, element: the types of the sums, and of elements in memory.
    mma: the C function of an instruction.
    register, registers: type and number of the registers of a lane for 16 lines and 32 bytes along the sum.
    bytes: bytes of an element.
    parts: number of groups of 32 bytes of steps in a tile.
    downs, acrosses: numbers of instructions of a warp along the rows and along the columns.
    row: C text of the index, in the tile, of row `i` of a thread.
    group: C text of the index, in the tile, of group `j` of a thread. A group is `vec` adjacent columns.
    steps, part_steps, rows, columns, vec, exact, step: as in ContractionGpuRecord.
    """

    placing: Placing
    kind: str
    element: str
    mma: str
    register: str
    registers: int
    bytes: int
    tile: GpuTile
    parts: int
    downs: int
    acrosses: int
    operands: List[CopiedOperand]
    steps: int
    part_steps: int
    row: str
    group: str
    rows: int
    columns: int
    vec: int
    exact: Optional[ExactSum]
    step: StepCode


class Fragments(NamedTuple):
    """The maps of a kernel whose lanes hold fragments of the operands, and the kernel's accesses to shared memory. The
    maps describe the copies to shared memory, the tiles there, the loads of lanes, and the sums.
    """

    maps: List[str]
    accesses: List[SharedAccess]

    @classmethod
    def of(cls, nest: TiledProduct, schedule: _Schedule, copies: "Callable[[TiledProduct, _Schedule, int], str]",
           reads: "Callable[[TiledProduct, _Schedule, int], str]", tiles: "Callable[[TiledProduct, GpuTile, int], str]",
           sums: "Callable[[TiledProduct, _Schedule], Tuple[str, str]]",
           accesses: "Callable[[TiledProduct, _Schedule], List[SharedAccess]]") -> "Fragments":
        """Collect the maps and accesses of both operands from a hero's functions."""
        both = [of(nest, schedule, k) for k in (0, 1) for of in (copies, reads)]
        both += [tiles(nest, schedule.block, k) for k in (0, 1)]
        return cls([*both, *copied_maps(nest, schedule), *sums(nest, schedule)], accesses(nest, schedule))


class FragmentHero(ContractionGpuHero):
    """The base class of heroes for instructions whose lanes hold fragments of the operands."""

    def fragments(self, nest: TiledProduct, schedule: ContractionGpuSchedule) -> Fragments:
        raise NotImplementedError

    def maps(self, nest: TiledProduct, schedule: ContractionGpuSchedule, context: Context) -> "Iterable[str]":
        return [*super().maps(nest, schedule, context), *self.fragments(nest, schedule).maps]

    def shared(self, nest: TiledProduct, schedule: ContractionGpuSchedule,
               context: Context) -> "List[Tuple[SharedAccess, str]]":
        return [(access, nest.operands[0].shape.dtype) for access in self.fragments(nest, schedule).accesses]


class ContractionMmaHero(FragmentHero):
    """The contraction hero for mma.sync instructions."""

    def takes(self, nest: TiledProduct, context: Context) -> bool:
        if not context.target.matrix_instructions:
            raise Refused("matrix instructions are not written in this language")
        types = {buffer.shape.dtype for buffer in nest.operands}
        if len(types) > 1 or not types <= INSTRUCTIONS.keys() or _instruction(nest).sums != nest.dot.shape.dtype:
            raise Refused("no matrix instruction multiplies these types")
        return super().takes(nest, context)

    def schedules(self, nest: TiledProduct, context: Context) -> "Iterable[ContractionGpuSchedule]":
        numbers, size = context.device.contraction_gpu, element_bytes(nest)
        tile, parts = best(nest, numbers.matrix_tiles[size], numbers.matrix_sum_cost[size], context)
        loads, pairs = (nest.vector(0, WORD // size), nest.vector(1, WORD // size)), in_pairs(nest, 1)
        vec = whole_columns(nest, 4 if pairs else 2)
        return [ContractionMmaSchedule(tile.threads, vec=vec, block=tile, parts=parts, loads=loads, column_pairs=pairs)]

    def fragments(self, nest: TiledProduct, schedule: ContractionGpuSchedule) -> Fragments:
        assert isinstance(schedule, ContractionMmaSchedule)
        return Fragments.of(nest, schedule, copy_map, read_map, tile_map, sum_maps, shared_accesses)

    def instruction(self, nest: TiledProduct) -> str:
        of, dtype = _instruction(nest), nest.operands[0].shape.dtype
        return f"mma.sync {of.shape}, {dtype} added as {of.sums}"

    def tiles_kernel(self, choice: Choice[TiledProduct, ContractionGpuSchedule], context: Context) -> Kernel:
        return _kernel(choice, context)


HERO = ContractionMmaHero()


def element_bytes(nest: TiledProduct) -> int:
    return dtypes.storage_bytes(nest.operands[0].shape.dtype)


def by_elements(nest: TiledProduct) -> bool:
    """Return true if each lane loads its elements from shared memory itself, false if ldmatrix loads them."""
    return element_bytes(nest) > 4


def _instruction(nest: TiledProduct) -> Instruction:
    return INSTRUCTIONS[nest.operands[0].shape.dtype]


# ---- maps ----

def in_pairs(nest: TiledProduct, operand: int) -> bool:
    """Return true if ldmatrix transposes pairs of rows (or columns) of an operand: elements are bytes, and the operand
    is not contiguous along the sum.
    """
    return element_bytes(nest) == 1 and not nest.along_steps(operand)


def _paired(line: str) -> str:
    """Return the number in memory of the line that an instruction takes as line `line`, if ldmatrix transposes pairs of
    lines. A line is one of 16 rows of the left operand, or one of 16 columns of the right operand.
    """
    return f"({line}) mod 8 * 2 + ({line}) floordiv 8"


def tile_map(nest: TiledProduct, tile: GpuTile, operand: int) -> str:
    """Return the map (line, step) -> (element of the tile in shared memory). A line is a row of the left operand or a
    column of the right operand, a step is an index along the sum.
    """
    lines, size = (tile.rows, tile.columns)[operand], element_bytes(nest)
    row, at, width = ("line", "step", tile.steps) if nest.along_steps(operand) else ("step", "line", lines)
    # A lane reads `unit` elements of a row at once: 16 bytes for ldmatrix, or four elements of 64 bits.
    whole, unit = BANKS // size, 4 if by_elements(nest) else WORD // size
    units = min(whole, width) // unit
    rows = whole // unit // units   # number of rows that together cover all banks
    turn, padding = f"{row} floordiv {rows}", ""
    if in_pairs(nest, operand):
        # ldmatrix reads 8 rows together. Here, rows are steps, and the 8 rows are two of every four steps.
        turn += f" + step floordiv 4 * {2 // rows}"
        padding = f" + step floordiv 8 * {2 * unit}" if units == 1 else ""
    rotated = f"({at} floordiv {unit} + {turn}) mod {units}"
    together = units * unit
    place = (f"{row} * {width} + {at} floordiv {together} * {together} + {rotated} * {unit} + {at} mod {unit}"
             f"{padding}")
    return algebra.simplify(f"(line, step) -> ({place}), domain: line in [0, {lines - 1}], "
                            f"step in [0, {tile.steps - 1}]")


def copy_map(nest: TiledProduct, schedule: ContractionGpuSchedule, operand: int) -> str:
    """Return the map (th_x, pass) -> (line, step): the first element, in the tile, that a thread copies in a pass. A
    line is a row of the left operand or a column of the right operand, a step is an index along the sum.
    """
    tile, vec = schedule.block, schedule.loads[operand]
    lines, threads = (tile.rows, tile.columns)[operand], schedule.threads
    count, number = lines * tile.steps // vec, f"(pass * {threads} + th_x)"
    if nest.along_steps(operand):
        beside = tile.steps // vec
        line, step = f"{number} floordiv {beside}", f"{number} mod {beside} * {vec}"
    else:
        beside = lines // vec
        line, step = f"{number} mod {beside} * {vec}", f"{number} floordiv {beside}"
    return algebra.simplify(f"(th_x, pass) -> ({line}, {step}), domain: th_x in [0, {threads - 1}], "
                            f"pass in [0, {-(-count // threads) - 1}], {number} in [0, {count - 1}]")


def copied_maps(nest: TiledProduct, schedule: ContractionGpuSchedule) -> "List[str]":
    """Return two maps for each operand, and two for each condition under which an element exists. The first map gives
    the position in the operand, or the value that the condition tests. The second gives the summand of this result that
    depends on the step (the index along the sum). Their domains contain all steps of the last tile, even those beyond
    the end of the sum, because the kernel computes all addresses of that tile.
    """
    size = schedule.block.steps
    end, found = -(-nest.counts["step"] // size) * size - 1, []
    for of in nest.sums:
        for text, step in ((sum_map(nest, of), "step"), (apart(nest, of)[1], "group")):
            facts = algebra.info(text)
            box = [f"{v.name} in [{v.lo}, {end if v.name == step else v.hi}]" for v in facts.variables]
            names = ", ".join(v.name for v in facts.variables)
            found.append(algebra.simplify(f"({names}) -> ({facts.results[0].text}), domain: {', '.join(box)}"))
    return found


def row_map(nest: TiledProduct, schedule: ContractionMmaSchedule, operand: int) -> str:
    """Return the map (warp, lane, n, part) -> (line, step) to the element whose address a lane gives to ldmatrix. A
    line is a row of the left operand or a column of the right operand; a step is an index along the sum. `n` numbers
    the groups of 16 lines of the warp, `part` the groups of 32 bytes along the steps.

    One ldmatrix loads 2 x 2 matrices, each from the addresses of 8 lanes. Matrices 0 and 1 of the left operand are
    adjacent along the lines; those of the right operand are adjacent along the steps. If pairs of lines are transposed,
    a matrix has two of every four steps, and the next matrix has the other two.
    """
    tile, word = schedule.block, WORD // element_bytes(nest)
    lines = (8 * tile.thread_rows, 4 * tile.thread_columns)[operand]
    low, high = "(lane floordiv 8 mod 2)", "(lane floordiv 16)"
    line, step = ((low, high), (high, low))[operand]
    eight = "lane mod 8"
    if nest.along_steps(operand):
        line, step = f"{line} * 8 + {eight}", f"{step} * {word}"
    elif in_pairs(nest, operand):
        line, step = "0", f"{high} * 16 + {low} * 2 + ({eight}) floordiv 2 * 4 + lane mod 2"
    else:
        line, step = f"{line} * 8", f"{step} * 8 + {eight}"
    return algebra.simplify(f"(warp, lane, n, part) -> (warp * {lines} + n * 16 + {line}, part * {2 * word} + {step}), "
                            f"domain: warp in [0, {schedule.warps[operand] - 1}], lane in [0, 31], "
                            f"n in [0, {lines // 16 - 1}], part in [0, {tile.steps // (2 * word) - 1}]")


def held(nest: TiledProduct, fragment: str, box: "Dict[str, int]", **given: str) -> "List[str]":
    """Return the result of `held_in` for this product's instruction."""
    return held_in(_instruction(nest).layout, fragment, box, **given)


def held_in(name: str, fragment: str, box: "Dict[str, int]", **given: str) -> "List[str]":
    """Return the index of an element in an instruction's matrix, as map expressions. The element is one that a lane
    holds in a fragment. The fragment's layout is `name`.`fragment`, where `fragment` is lhs, rhs or acc.

    box: the variables of the expressions, with their extents.
    given: for each variable of the layout, its value as an expression of the variables of `box`; by default 0.
    """
    layout = algebra.call("map", "dims", algebra.call("nested", "map", f"{name}.{fragment}"))
    inner = (f"({', '.join(box)}) -> ({', '.join(given.get(v.name, '0') for v in algebra.info(layout).variables)}), "
             f"domain: {', '.join(f'{name} in [0, {count - 1}]' for name, count in box.items())}")
    return [result.text for result in algebra.info(compose(inner, layout)).results]


def element_read_map(nest: TiledProduct, schedule: ContractionMmaSchedule, operand: int) -> str:
    """Return the map (warp, lane, n, part, half) -> (line, step): an element that a lane loads, in the tile. A line is
    a row of the left operand or a column of the right operand, a step is an index along the sum. `n` numbers the groups
    of 16 lines of the warp, and `part` the groups of steps that one instruction multiplies. A lane loads two elements,
    numbered by `half`. For the left operand, both belong to one instruction; for the right operand, to two adjacent
    instructions.
    """
    tile = schedule.block
    lines = (8 * tile.thread_rows, 4 * tile.thread_columns)[operand]
    if operand == 0:
        line, step = held(nest, "lhs", {"lane": 32, "half": 2}, thread="lane", o0="half")
    else:
        step, line = held(nest, "rhs", {"lane": 32, "half": 2}, thread="lane")
        line = f"half * {ACROSS} + {line}"
    steps = 2 * WORD // element_bytes(nest)
    return algebra.simplify(f"(warp, lane, n, part, half) -> (warp * {lines} + n * 16 + {line}, "
                            f"part * {steps} + {step}), domain: warp in [0, {schedule.warps[operand] - 1}], lane in [0, 31], "
                            f"n in [0, {lines // 16 - 1}], part in [0, {tile.steps // steps - 1}], half in [0, 1]")


def sum_maps(nest: TiledProduct, schedule: ContractionMmaSchedule) -> "Tuple[str, str]":
    """Return two maps from a thread's sums to the tile: (warp, lane, i) -> (row of the tile), where i is a row of the
    thread, and (warp, lane, j) -> (group of `vec` columns of the tile), where j is a group of columns of the thread.
    """
    tile, vec = schedule.block, schedule.vec
    rows, columns = tile.thread_rows, tile.thread_columns // vec
    row, _ = held(nest, "acc", {"lane": 32, "i": rows}, thread="lane", o0="i mod 2")
    number = f"(j * {vec})"
    if schedule.column_pairs:
        _, column = held(nest, "acc", {"lane": 32, "j": columns}, thread="lane", e1=f"{number} floordiv 2 mod 2")
        column = f"{number} floordiv 4 * {2 * ACROSS} + " + _paired(f"{number} mod 2 * {ACROSS} + {column}")
    else:
        _, column = held(nest, "acc", {"lane": 32, "j": columns}, thread="lane", e1=f"{number} mod 2")
        column = f"{number} floordiv 2 * {ACROSS} + {column}"
    row = _paired(row) if in_pairs(nest, 0) else row
    down, across = (f"domain: warp in [0, {count - 1}], lane in [0, 31]" for count in schedule.warps)
    return (algebra.simplify(f"(warp, lane, i) -> (warp * {8 * rows} + i floordiv 2 * {DOWN} + {row}), "
                             f"{down}, i in [0, {rows - 1}]"),
            algebra.simplify(f"(warp, lane, j) -> ((warp * {4 * tile.thread_columns} + {column}) floordiv {vec}), "
                             f"{across}, j in [0, {columns - 1}]"))


def read_map(nest: TiledProduct, schedule: ContractionMmaSchedule, operand: int) -> str:
    """Return the map (warp, lane, n, part, ..) -> (line, step): what a lane reads in the tile, by ldmatrix or by
    elements. A line is a row of the left operand or a column of the right operand, a step is an index along the sum.
    """
    return (element_read_map if by_elements(nest) else row_map)(nest, schedule, operand)


def shared_accesses(nest: TiledProduct, schedule: ContractionMmaSchedule) -> "List[SharedAccess]":
    """Return the accesses to shared memory. A block's threads copy to the tiles of both operands, and lanes load from
    these tiles. A load is a single element, or 16 bytes of a row by ldmatrix. ldmatrix accesses the addresses of eight
    lanes together.
    """
    found = []
    for k in (0, 1):
        for of, elements in ((copy_map(nest, schedule, k), schedule.loads[k]),
                             (read_map(nest, schedule, k), 1 if by_elements(nest) else WORD // element_bytes(nest))):
            place = compose(of, tile_map(nest, schedule.block, k))
            info = algebra.info(place)
            lanes = "lane" if "lane" in [v.name for v in info.variables] else "th_x"
            names = [v.name for v in info.variables if v.name != lanes]
            box = [f"{v.name} in [{v.lo}, {v.hi}]" for v in info.variables]
            box += [f"e in [0, {elements - 1}]", *(f"{c.text} in [{c.lo}, {c.hi}]" for c in info.constraints)]
            found.append(SharedAccess(algebra.simplify(
                f"({lanes})[{', '.join([*names, 'e'])}] -> ({info.results[0].text} + e), domain: {', '.join(box)}"), elements))
    return found


# ---- the kernel ----

def texts(of: str, index: str, *names: str) -> "List[str]":
    """Return the results of a map as C texts. names: other names for the map's variables, if given."""
    return list(algebra.c_text(algebra.rename(of, *names) if names else of, index, "term").results)


def _operand(nest: TiledProduct, schedule: ContractionMmaSchedule, k: int, t: str) -> "Tuple[CopiedOperand, Touched]":
    tile = tile_map(nest, schedule.block, k)
    (place,), ((_, last),) = texts(tile, t, "line", "of_tile"), algebra.ranges(tile)
    line, step = texts(read_map(nest, schedule, k), t, f"warp_{('row', 'column')[k]}", "lane", "n", "part",
                        *(["half"] if by_elements(nest) else []))
    operand = CopiedOperand(**tiled(nest, schedule, k, t, copy_map(nest, schedule, k)), elements=last + 1, place=place,
                            read_line=line, read_step=step, trans=not nest.along_steps(k), pairs=in_pairs(nest, k))
    size = schedule.loads[k] * element_bytes(nest)
    return operand, Touched("read", nest.operands[k], element_map(nest, k), size if size >= 4 else 0)


def _kernel(choice: Choice[TiledProduct, ContractionGpuSchedule], context: Context) -> Kernel:
    nest, schedule, t = choice.nest, choice.schedule, choice.index
    assert isinstance(schedule, ContractionMmaSchedule)
    d, tile, dtype, counts = context.target, schedule.block, nest.operands[0].shape.dtype, nest.counts
    instruction, size = _instruction(nest), element_bytes(nest)
    if dtype == "f16":
        d.used.add("half")
    pairs = ["ldmatrix_of_pairs"] if in_pairs(nest, 0) or in_pairs(nest, 1) else []
    for name in ("copies",) if by_elements(nest) else ("copies", "ldmatrix", *pairs):
        context.helpers.texts.setdefault(name, macro("parts/mma.j2", name, d=d))
    mma = f"mma_{instruction.shape}_{instruction.sums}_{dtype}"
    context.helpers.texts.setdefault(mma, macro("parts/mma.j2", "mma_f64", d=d, name=mma) if by_elements(nest) else
                                     macro("parts/mma.j2", "mma", d=d, name=mma, instruction=instruction, of=dtype,
                                           kind=d.types[instruction.sums], pack=4 // size))
    register, registers = (d.types[dtype], 2) if by_elements(nest) else ("unsigned", 4)
    placing, _ = Placing.of([digit for digit in block_counts(nest, schedule) if digit[1] > 1], tile.threads, t)
    both, written = [_operand(nest, schedule, k, t) for k in (0, 1)], sums_written(choice, context)
    (row,), (group,) = (texts(of, t, f"warp_{side}", "lane", name)
                        for of, side, name in zip(sum_maps(nest, schedule), ("row", "column"), "ij"))
    record = ContractionMmaRecord(
        placing, d.types[nest.dot.shape.dtype], d.memory(dtype), mma, register, registers, size, tile,
        tile.steps * size // (2 * WORD), tile.thread_rows // 2, tile.thread_columns // 2,
        [operand for operand, _ in both], counts["step"], part_steps(counts["step"], schedule.parts, tile), row, group,
        counts["row"], counts["column"], schedule.vec, exact_sum(choice, context), written.code)
    return kernel_of_tiles(choice, context, Text("kernels/contraction_mma", record), [touched for _, touched in both],
                           written)
