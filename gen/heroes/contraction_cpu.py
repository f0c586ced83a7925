"""The contraction hero (kernel emitter) on CPUs: it computes matrix products and convolutions in register tiles.

A work-item computes one block of the result. A block has rows, lines (a second dimension of rows) and "units": vectors
of adjacent columns. The sum over the contracted dimension is divided into chunks. For each chunk, the work-item visits
the block in register tiles, and a tile adds the chunk's products to the block's totals. The totals are in the result if
no epilogue follows; otherwise they are in an array of the work-item, from which the epilogue computes the results.
Rounding errors of long sums are therefore small: a product takes part in at most c + n additions, where c is the number
of steps of a chunk and n the number of chunks.

A convolution with padding or holes is divided into cells, which are parts of a window that contain neither padding nor
holes. If a large operand is not stored in panels, and more than a few rows share it, a work-item first copies its
columns of a chunk to a panel of its own. The processor's matrix instructions (AMX) multiply narrow numbers if the
compiler has these instructions and Linux lets the process use them.

templates/parts/contraction.j2 prints the tile, templates/parts/fma_tiles.j2 its loop in assembler text, and
templates/kernels/contraction_cpu.j2 the block.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Callable, Iterable, List, Optional, Tuple

from gen import algebra
from gen.emit.body import Body
from gen.emit.form import Form
from gen.emit.templates import macro
from gen.emit.values import Touched, Value
from gen.heroes.hero import Choice, Context, Hero, Refused
from gen.heroes.kernel import Argument, Grid, Kernel, Placing, Report, StepCode, Text, arguments, elements_of, \
    even_share, function_text, leads_named
from gen.hlo import Shape, dtypes
from gen.plan.buffers import buffers_of, memory_map
from gen.plan.contraction import Contraction, Digit, Part
from gen.plan.digits import place
from gen.plan.leads import has_strides, stride_map, text as distance_text
from gen.plan.partition import compose
from gen.schedule import LINE, Schedule
from gen.targets import FLOATS


# number of cache sets of L1
SETS = 64
# Key: the element types of the operands `single` and `units`. Value: the macro (gen/emit/vectors.c) that is 1 if the
# compiler has matrix instructions for these types, and the C intrinsic that adds their products.
MATRIX = {("bf16", "bf16"): ("TILES_BF16", "_tile_dpbf16ps"), ("u8", "s8"): ("TILES_INT8", "_tile_dpbusd"),
          ("s8", "u8"): ("TILES_INT8", "_tile_dpbsud"), ("s8", "s8"): ("TILES_INT8", "_tile_dpbssd"),
          ("u8", "u8"): ("TILES_INT8", "_tile_dpbuud")}


@dataclass(frozen=True)
class ContractionSchedule(Schedule):
    """The sizes of blocks, register tiles and chunks of a product. A line is a group of rows (one index of a second
    dimension of rows), a unit is a vector of adjacent columns, and a tile is a register tile.

    lines, rows, units: sizes of a block.
    line_blocks, row_blocks, unit_blocks: numbers of blocks in each dimension of the result.
    long_blocks: number of blocks of columns with `units` units. They come first; each later block has one unit less.
    tile_units: maximum number of units in a tile. 0: all units of the block.
    ahead: true if each step of a tile prefetches units into L1. The prefetch distance is one chunk.
    far: distance to the units of the next chunk, which tiles prefetch into L2. 0: no such prefetch.
    every: number of steps of a tile that are unrolled together. If `far` is not 0, they prefetch one cache line.
    chunk: number of steps that a tile takes along the last contracted dimension.
    runs: number of steps that a tile takes along the second to last contracted dimension.
    to, to_line: strides of rows and of lines in the result, if the totals are in the result. 0: the totals are in an
        array of the work-item.
    packed: true if the columns of a chunk are first copied to a panel.
    along_rows: true if the next work-item has the next block of columns; false if it has the next block of rows.
    """

    lines: int = 1
    line_blocks: int = 1
    rows: int = 1
    row_blocks: int = 1
    units: int = 1
    unit_blocks: int = 1
    long_blocks: int = 1
    tile_units: int = 0
    ahead: bool = False
    chunk: int = 1
    runs: int = 1
    far: int = 0
    every: int = 1
    to: int = 0
    to_line: int = 0
    packed: bool = False
    along_rows: bool = False

    def text(self) -> str:
        words = [f"{f'{self.lines} lines of ' * (self.lines > 1)}{self.rows} rows by {self.units * self.lanes} columns",
                 f"{f'{self.runs} times ' * (self.runs > 1)}{self.chunk} steps at once"]
        words += ["in a panel of the work-item"] * self.packed + ["the next ones prefetched"] * (self.far != 0)
        words += ["along rows"] * self.along_rows
        return ", ".join([super().text(), *words, "totals in the result" if self.to else "totals in an array"])


@dataclass(frozen=True)
class StepLoop:
    """A loop over one contracted dimension.

    name: the loop variable.
    size: the number of steps, as C text.
    by: the number of steps that one iteration takes.
    whole: true if one iteration takes all steps.
    """

    name: str
    size: str
    digit: Digit
    by: int
    whole: bool


@dataclass(frozen=True)
class Block:
    """The blocks of columns for which the C text `condition` is true. "" stands for all blocks to which no earlier
    condition applies.

    units: number of units (vectors of columns) of each block.
    last_from, last_wide, last_to: distances from the block's first unit to its last unit: in the operand `units`, in
        the operand `single`, and in the totals.
    """

    condition: str
    units: int
    last_from: int
    last_wide: int
    last_to: int


@dataclass(frozen=True)
class Words:
    """The names of the C functions and types that a register tile uses. A unit is a vector of adjacent columns of the
    operand `units`. It is multiplied by elements of the operand `single`.

    name: the tile's function.
    shape: what the names of the macros for the size of a tile begin with.
    fma_loops: true if the tile's function contains loops in assembler text (templates/parts/fma_tiles.j2).
    vector: type of a vector of sums.
    part: type of a lane of such a vector.
    single, units, total: element types of the operands and of the totals in memory.
    single_space, units_space, space: address spaces of the operands and of the totals.
    load_single, load_units, load_total, store_total: functions that load and store vectors ("": plain C assignments
        do).
    widen: function that converts the narrow numbers of a unit ("": no conversion).
    of_panel: the functions that load a unit and store it in a panel.
    group: number of adjacent elements along the sum that one instruction multiplies.
    splat: function that fills all lanes with the same element or group.
    mad: function that multiplies and adds.
    matrix: macro that is 1 if the compiler has matrix instructions for these types ("": none fits).
    multiply: matrix instruction that adds products.
    bytes: bytes of a number in a group.
    biased: true if `mad` adds 128 to or subtracts 128 from each number of `single`, because the instruction needs one
        signed and one unsigned operand.
    load_own, store_own: like load_total and store_total, but for an array of the work-item.
    spread: function that loads a vector in which each group of part_lanes adjacent lanes has its own element of
        `single`; "" if no such vector is needed.
    part_lanes: number of lanes of such a group.
    part_step: distance in `single` between the elements of adjacent groups.
    """

    name: str
    shape: str
    fma_loops: bool
    vector: str
    part: str
    single: str
    units: str
    total: str
    single_space: str
    space: str
    units_space: str
    load_single: str
    load_units: str
    load_total: str
    store_total: str
    widen: str
    of_panel: Tuple[str, ...]
    group: int
    splat: str
    mad: str
    matrix: str
    multiply: str
    bytes: int
    biased: bool
    load_own: str
    store_own: str
    spread: str
    part_lanes: int
    part_step: int

    @property
    def clear(self) -> str:
        """Return the name of the function that sets totals to zero."""
        return f"clear_{self.vector}" + "_of_result" * bool(self.space)

    @property
    def dots(self) -> str:
        """Return the name of the function of a tile whose units have adjacent steps of the same sum."""
        return f"dots_{self.name}"

    @property
    def pack(self) -> str:
        """Return the name of the function that copies units to a panel."""
        return f"pack_{self.units}" + f"_in_groups_of_{self.group}" * (self.group > 1)

    @property
    def fetch(self) -> str:
        """Return the name of the function that prefetches units of the next panel."""
        return f"fetch_{self.units}_units"

    @staticmethod
    def of(nest: Contraction, schedule: ContractionSchedule, context: Context) -> Words:
        d, dtype, operands = context.target, nest.dot.shape.dtype, (nest.single.shape.dtype, nest.units.shape.dtype)
        vector, part = {"f32": ("floats", "float"), "f64": ("doubles", "double"), "s32": ("ints", d.types["s32"])}[dtype]
        single, units = map(d.memory, operands)
        single_space, units_space = d.space(nest.single.own), d.space(schedule.packed)
        space = d.space(not schedule.to or nest.partition.roots[0].buffer.own)
        spaces = "_of_result" * bool(space)
        if d.pointer:
            spaces += "_in_panel" * schedule.packed + "_from_strip" * nest.single.own
        name = vector if nest.group == 1 else "_".join(dict.fromkeys(operands))
        biased = nest.group == 4 and operands[0] == operands[1]
        narrow = operands[1] if nest.group == 1 and operands[1] != dtype else ""
        widen = context.helpers.need(f"widen_{narrow}") if narrow else ""

        lanes, step = nest.part or (0, 0)
        spread = f"spread_{vector}_{lanes}_{step}{'_from_strip' * nest.single.own}" if nest.part else ""

        def of_memory(verb: str, of: str = dtype) -> str:
            return "" if d.declares_vectors else context.helpers.need(verb, of, str(nest.unit))

        fma = d.declares_vectors and dtype in FLOATS and nest.group == 1 and not narrow and not spread
        shape = "PAIR_TILE" if nest.group == 2 else "FMA_TILE" if fma and _of_two_units(nest, schedule, context) \
            else "TILE"
        return Words(f"tile_{name}{f'_by_{narrow}' if narrow else ''}{spaces}{f'_{spread}' * bool(spread)}", shape, fma, vector, part, single, units,
                     d.types[dtype], single_space, space, units_space, of_memory("load" if single_space else "fetch"),
                     of_memory("load" if units_space else "fetch", narrow or dtype),
                     of_memory("load" if space else "fetch"), of_memory("store" if space else "stage"), widen,
                     tuple(map(of_memory, ("load", "stage"))) if schedule.packed else (), nest.group,
                     f"splat_{vector}" if nest.group == 1 else "splat_group" if d.declares_vectors else "splat_ints",
                     f"mad_{name}", *(MATRIX[operands] if _in_groups(nest, context) else ("", "")),
                     dtypes.storage_bytes(operands[0]), biased=biased,
                     load_own=of_memory("fetch") if biased else "", store_own=of_memory("stage") if biased else "",
                     spread=spread, part_lanes=lanes, part_step=step)


def _in_groups(nest: Contraction, context: Context) -> bool:
    """Return true if matrix instructions can multiply the operands. This requires groups of elements and an operand
    `single` that is contiguous along the sum.
    """
    return context.target.declares_vectors and nest.group > 1 and bool(nest.steps) \
        and nest.steps[-1].single == nest.group


@dataclass(frozen=True)
class Cells:
    """The loop over the cells of a convolution's window. A "place" is a position of the window, a "tap" an element of
    the window. A cell is a set of places and a set of taps. At these places, none of these taps is over padding or a
    hole (gen/plan/cells.py).

    number: the window's index among the windows of the nest.
    taps: true if the product sums over the taps of a cell. The number of taps is then an argument of the function that
        computes the sums.
    first: C text of the block's first place ("": 0).
    every: distance between adjacent places of a cell, in places of the window.
    single, units, total: strides of adjacent places of a cell, in the operands and in the totals.
    count: C variable that has the number of rows (or lines) of the block ("": the block has one).
    each: number of rows (or lines) that belong to one place.
    step: stride of adjacent rows (or lines) in the totals, for cells.
    """

    number: int
    parts: Tuple[Part, ...]
    taps: bool
    first: str
    every: int
    single: int
    units: int
    total: int
    count: str
    each: int
    step: int


@dataclass(frozen=True)
class ContractionCpuRecord:
    """The record that templates/kernels/contraction_cpu.j2 prints. "Units" are vectors of adjacent columns, loaded from
    the operand `units` and multiplied by elements of the operand `single`. "Lines" are a second dimension of rows.
    Distances that depend on a leading dimension are encoded as gen/plan/leads.py defines.

    words: the names of C functions and types.
    line, row: variables of the lines and of the rows ("": there is only one).
    first_unit, end_unit: C texts of the index of a block's first unit ("": 0) and of the index after its last unit.
    single, units: C texts of the addresses where a block begins in the operands.
    line_step, row_step: strides of lines and rows in `single`.
    wide: stride of units in `single`; -1: all lanes of a unit use the same element of `single`.
    next_unit: stride of units in `units`.
    lines, rows: numbers of lines and rows of a block; last_lines, last_rows: of the last block.
    part_rows: equal to `rows`, if the last block has fewer rows and `rows` is no multiple of a tile's rows; else 0.
    packed: number of elements of a work-item's panel; 0: there is none.
    group: number of units that the panel has at once, one unit after the other; 0: the panel has all units of the
        block, one step after the other.
    apart: distance between neighbouring elements of a group in the operand `units`.
    columns: number of columns of the result.
    lanes: number of lanes of a unit.
    all_units: number of units of a row.
    tile_units: maximum number of units in a tile (0: the units of a block).
    ahead: true if each step of a tile prefetches units into L1. The prefetch distance is one chunk.
    far: distance to the units of the next chunk, which tiles prefetch into L2 (0: no such prefetch).
    far_lines: true if the next chunk's units are contiguous, so that tiles prefetch successive cache lines.
    every: number of steps of a tile that are unrolled together. If `far` is not 0, they prefetch one cache line.
    overlap: number of columns that the last unit shares with the unit before it.
    cells: the loops over the cells of windows.
    rows_vary: true if cells have different numbers of rows.
    covered: true if every element of the result belongs to a cell.
    loops: the loops over the sum.
    total: C text of the address of a block's totals in the result ("": the totals are in an array).
    to, to_line: strides of rows and lines in the totals.
    by_tile: number of elements in the array of totals if the epilogue follows each tile; 0: it follows each block, or
        there is no array.
    epilogue, epilogue_leads: the buffers and leading dimensions that the function of a tile's epilogue accesses.
    step: the epilogue of a unit.
    element: the epilogue of an element, for rows that are shorter than a unit.
    masked: C text of an index along the sum. From this index on, the block's part of `single` is computed only from
        scores that a mask (as in attention) has discarded. "": no such index is known.
    discarded: C conditions. If one of them is true, no kernel uses the results of the block.
    leads: the leading dimensions of `single`, of `units` and of the totals that the caller passes ("": none).
    dots: rows and units of a tile, if a unit has adjacent steps of the same sum; (0, 0) for all other tiles. The
        function of such a tile adds the parts of a unit, and leaves the remaining lanes of the sum 0.
    widest: the macro of the instruction set with the widest vectors.
    others: the record for all other instruction sets, if they compute the sums differently.
    """

    placing: Placing
    words: Words
    line: str
    row: str
    first_unit: str
    end_unit: str
    single: str
    units: str
    line_step: int
    row_step: int
    wide: int
    next_unit: int
    lines: int
    line_blocks: int
    last_lines: int
    rows: int
    row_blocks: int
    last_rows: int
    part_rows: int
    packed: int
    group: int
    apart: int
    columns: int
    lanes: int
    all_units: int
    tile_units: int
    ahead: bool
    far: int
    far_lines: bool
    every: int
    overlap: int
    blocks: List[Block]
    cells: List[Cells]
    rows_vary: bool
    covered: bool
    loops: List[StepLoop]
    total: str
    to: int
    to_line: int
    by_tile: int
    epilogue: List[Argument]
    epilogue_leads: List[str]
    step: Optional[StepCode]
    element: Optional[StepCode]
    masked: str
    discarded: List[str]
    leads: "Tuple[str, str, str]"
    widest: str
    dots: "Tuple[int, int]" = (0, 0)
    others: "Optional[ContractionCpuRecord]" = None

    def of_single(self, distance: int) -> str:
        return distance_text(distance, self.leads[0])

    def of_units(self, distance: int) -> str:
        return distance_text(distance, self.leads[1])

    def far_text(self, next_unit: str, step: Digit) -> str:
        """Return the C arguments of a tile's call that describe its prefetches of the next chunk: the prefetch
        distance, its increase from step to step, and the number of steps for each prefetch.
        """
        every, by, name, shift, last = self.every, self.of_units(step.units), "steps", "0", ""
        if self.far_lines:
            name, shift, last = "lines", f"{next_unit} / {every} - {by}", "(ptrdiff_t)count"
        tile = f"number++, units, {every}, {self.of_units(self.far)}, {next_unit}, {last or by}"
        return f"far_in_{name}({tile}), {shift}, {every}"

    def of_total(self, distance: int) -> str:
        return distance_text(distance, self.leads[2])

    @property
    def all_leads(self) -> "List[str]":
        """Return the leading dimensions that appear in distances, without repetition."""
        return [name for name in dict.fromkeys(self.leads) if name]


class ContractionCpuHero(Hero[Contraction, ContractionSchedule]):
    """The emitter (hero) that writes one kernel, in which each work-item computes one block of the result."""

    name, leads = "contraction", True
    nest_class = Contraction

    def takes(self, nest: Contraction, context: Context) -> bool:
        if not context.device.wide or not context.target.counted_function:
            raise Refused("its tiles need vectors, which the target does not have")
        if nest.reads_first or nest.aliases:
            raise Refused("a result overwrites an operand")
        if any(root.at for root in nest.partition.roots):
            raise Refused("the place of a result is only known at run time")
        return True

    def schedules(self, nest: Contraction, context: Context) -> "Iterable[ContractionSchedule]":
        numbers, rows = context.device.contraction_cpu, nest.row.size
        all_units = nest.all_units
        most = min(numbers.few_rows.get(rows, numbers.units), all_units)
        if all_units <= numbers.whole_units:
            most = all_units
        tile, chunk, ahead, block = 0, numbers.chunk, False, numbers.rows
        row_tile = numbers.units if all_units % numbers.units == 0 else numbers.row_tile
        groups = _in_groups(nest, context)
        if groups:
            block, units = numbers.matrix_block
            steps = math.prod(digit.size for digit in nest.steps)
            if steps * min(units, all_units) > numbers.matrix_chunk * units:
                block, units = numbers.long_matrix_block if any(_direct(nest)) else numbers.long_matrix_array
            others = math.prod(digit.size for digit in nest.outer) // rows * -(-all_units // units)
            while block % (2 * numbers.rows) == 0 and others * -(-rows // block) < numbers.matrix_items:
                block //= 2
            most, tile, chunk = min(units, all_units), min(numbers.units, all_units), numbers.matrix_chunk
        elif _is_skinny(nest, context) and most < all_units:
            tile, chunk, ahead = numbers.skinny.get(rows, most), numbers.skinny_chunk, True
            blocks = min(numbers.skinny_blocks, max(1, all_units // (2 * tile)))  # at least two tiles in each block
            if nest.wide:  # different units multiply different elements of `single`
                tile, blocks = row_tile, max(1, min(numbers.skinny_blocks, all_units // row_tile) // _batch(nest))
            most = min(-(-all_units // blocks), numbers.skinny_units)
        elif nest.wide and all_units > most \
                and math.prod(digit.size for digit in nest.outer) >= numbers.wide_items * rows:
            tile, most = row_tile, all_units
        packed, whole = _is_packed(nest, context), _is_whole(nest, context)
        if packed and whole and nest.apart == 1 \
                and math.gcd(nest.steps[-1].units // nest.unit, SETS) <= numbers.row_sets:
            packed, most, tile = False, all_units, row_tile
        if nest.apart > 1:
            wide = all_units >= numbers.wide_groups
            steps = min(numbers.line_steps, math.prod(digit.size for digit in nest.steps))
            in_l1 = min(numbers.panel_bytes // (LINE * steps), all_units // numbers.groups_items)
            lines = max(1, in_l1 // nest.group)
            units, chunk = numbers.panel_of_groups if wide else (lines * nest.group, numbers.line_steps)
            most, tile = min(units, all_units), min(numbers.units, all_units)
            items = math.prod(digit.size for digit in nest.outer) // rows * -(-all_units // most)
            block = -(-rows // min(-(-numbers.groups_items // items), -(-rows // numbers.rows)))
        elif packed:
            most, block, chunk = min(numbers.packed_units, all_units), numbers.packed_rows, numbers.packed_chunk
            if whole:
                tile, most = row_tile, all_units
        fetched = not tile and not packed and _is_far(nest, context)
        if fetched:
            chunk = numbers.far_chunk
        if nest.masked and nest.group == 1 and context.target.declares_vectors:
            chunk = min(chunk, numbers.masked_chunk)
        sizes = [1, 1, *(digit.size for digit in nest.steps)]
        plain = not nest.windows and not groups
        few_steps = plain and math.prod(sizes) <= numbers.few_steps
        matrix = rows * math.prod(sizes) * dtypes.storage_bytes(nest.single.shape.dtype)
        along_rows = few_steps or plain and not packed and matrix > numbers.kept_bytes
        direct = _direct(nest)
        if few_steps and not packed and most > 1 and rows > block \
                and (direct == (0, 0) or _row_bytes(nest) >= context.device.page):
            block = numbers.least_rows(tile or -(-all_units // -(-all_units // most)))
        count, each = -(-all_units // most), nest.row.each
        # Units that share columns are in the same block, so that one work-item stores the shared columns. Two
        # work-items could store different NaNs there. Matrix instructions also add to a result in two passes, and no
        # other work-item may store between the passes.
        if nest.overlap:
            count = min(count, max(1, all_units // 2))
        if rows > block and not groups and each == 1:  # blocks have almost equal numbers of rows, in whole tiles
            tile_rows = numbers.tile_rows(tile or -(-all_units // count))
            block = min(block, -(-_even(rows, block) // tile_rows) * tile_rows)
        block = min(rows, block // each * each)
        runs = _even(sizes[-2], max(1, chunk // sizes[-1]))
        chunk = _chunk(sizes[-1], chunk, numbers.far_steps if fetched else numbers.straight)
        alone = chunk * runs == math.prod(sizes) and nest.covered
        lines = _even(nest.line.size, max(1, numbers.rows // rows))
        to, to_line = direct if alone or not nest.overlap else (0, 0)
        units = -(-all_units // count)
        tiles = lines * -(-block // numbers.tile_rows(units))
        schedule = ContractionSchedule(
            lanes=nest.unit, lines=lines, line_blocks=-(-nest.line.size // lines), rows=block,
            row_blocks=-(-rows // block), units=units, unit_blocks=count,
            long_blocks=all_units - (units - 1) * count, tile_units=tile, ahead=ahead,
            chunk=chunk, runs=runs, far=_far(nest, chunk, runs) if fetched else 0,
            every=min(numbers.far_steps, _power_of_two(tiles // units)) if fetched else numbers.straight,
            to=to, to_line=to_line, packed=packed, along_rows=along_rows and rows > block)
        items, group = math.prod(size for _, size in counts(nest, schedule)), context.device.group
        threads = group if items >= context.device.group_items * group else 1
        return [replace(schedule, threads=context.threads or threads)]

    def forms(self, nest: Contraction, schedule: ContractionSchedule, context: Context) -> "Iterable[Form]":
        return [] if schedule.to else [_epilogue(nest)]

    def maps(self, nest: Contraction, schedule: ContractionSchedule, context: Context) -> "Iterable[str]":
        begins = [_begin(nest, schedule, start) for start in nest.starts]
        if schedule.to:
            begins.append(_begin(nest, schedule, compose(_positions(nest), _flat(nest))))
        return [*begins, place(counts(nest, schedule), schedule.threads)[0]]

    def grids(self, choice: Choice[Contraction, ContractionSchedule], context: Context) -> "List[Grid]":
        index, blocks = place(counts(choice.nest, choice.schedule), choice.schedule.threads)
        positions = _positions(choice.nest, _lanes(choice.nest))
        return [Grid(choice.nest.name, choice.schedule, choice.index, blocks, positions)]

    def build(self, choice: Choice[Contraction, ContractionSchedule], context: Context) -> "List[Kernel]":
        return [_kernel(choice.nest, choice.schedule, choice.grids[0], context)]


HERO = ContractionCpuHero()


def counts(nest: Contraction, schedule: ContractionSchedule) -> "List[Tuple[str, int]]":
    """Return the digits of a work-item's number (a mixed-radix number): the name and size of each digit."""
    def sizes(order: "Iterable[int]") -> "List[Tuple[str, int]]":
        return [(f"g{k}", nest.outer[k].size) for k in order]

    units, rows = ("unit_block", schedule.unit_blocks), [("line_block", schedule.line_blocks),
                                                        ("row_block", schedule.row_blocks)]
    if schedule.along_rows:
        columns = [k for k in nest.order if not nest.outer[k].single and not nest.outer[k].strips]
        return [*sizes(k for k in nest.order if k not in columns), *rows, *sizes(columns), units]
    shared = _shared(nest, schedule)
    return [*sizes(k for k in nest.order if k not in shared), units, *sizes(shared), *rows]


def _shared(nest: Contraction, schedule: ContractionSchedule) -> "List[int]":
    """Return the indices of the outer (batch) dimensions along which the operand `units` does not vary. Successive
    work-items then compute the same block of columns for all indices of these dimensions, so that the columns stay in
    cache; the operand `single` is read once for each block of columns. Return an empty list if this needs at least as
    much memory traffic as reading `units` again for each index.
    """
    shared = [k for k in nest.order if not nest.outer[k].units and not nest.outer[k].strips]
    times = math.prod(nest.outer[k].size for k in shared)
    columns = schedule.unit_blocks * math.prod(nest.outer[k].size for k in nest.order
                                               if k not in shared and not nest.outer[k].single)
    return shared if columns * nest.single.shape.bytes < times * nest.units.shape.bytes else []


def _is_packed(nest: Contraction, context: Context) -> bool:
    """Return true if work-items copy columns to a panel. This pays if adjacent steps of the sum are far apart in memory
    and enough rows share the panel.
    """
    numbers, panels, unit = context.device.contraction_cpu, context.device.panels, nest.unit
    if nest.apart > 1:
        return True
    if not _can_pack(nest) or panels is None or _is_skinny(nest, context):
        return False
    steps = math.prod(digit.size for digit in nest.steps)
    return _bytes(nest) > panels.in_place_bytes and steps >= numbers.packed_least_steps \
        and nest.steps[-1].units > max(panels.units) * unit \
        and nest.row.size > (numbers.packed_short_rows if steps <= numbers.chunk else numbers.packed_least_rows)


def _can_pack(nest: Contraction) -> bool:
    """Return true if each unit is contiguous, adjacent units are adjacent in memory, and their elements have the type
    of the sums.
    """
    return not nest.windows and nest.wide is None and nest.units.shape.dtype == nest.dot.shape.dtype \
        and nest.next_unit == nest.unit and nest.apart <= 1


def _is_whole(nest: Contraction, context: Context) -> bool:
    """Return true if a block is a group of whole rows. This is so if rows have few units and the batch is large."""
    numbers = context.device.contraction_cpu
    return _batch(nest) >= numbers.row_items and nest.all_units <= numbers.row_units


def _batch(nest: Contraction) -> int:
    """Return the size of the batch: the number of products that share no operand with each other."""
    return math.prod(digit.size for digit in nest.outer if digit.single and digit.units)


def _is_skinny(nest: Contraction, context: Context) -> bool:
    """Return true if there are so few rows that the operand `units` is read in place, at memory throughput, and not
    copied to a panel.
    """
    numbers, panels, rows = context.device.contraction_cpu, context.device.panels, nest.row.size
    if nest.next_unit != nest.unit and nest.wide != 0:
        return False
    steps = nest.steps[-1].size if nest.steps else 1
    large = panels is not None and _bytes(nest) > panels.in_place_bytes and steps >= numbers.chunk
    if (nest.line.size > 1 or nest.windows) and rows * nest.line.size > numbers.skinny_places:
        return False
    return rows <= max(numbers.few_rows) or (rows in numbers.skinny and large)


def _is_far(nest: Contraction, context: Context) -> bool:
    """Return true if `units`, the operand whose columns are vectors, is larger than a limit. The limit is lower if few
    rows share this operand.
    """
    numbers, panels, size = context.device.contraction_cpu, context.device.panels, nest.units.shape.bytes
    rows = math.prod(digit.size for digit in nest.outer if not digit.units)
    return panels is not None and size > (panels.in_place_bytes if rows <= numbers.far_rows else numbers.kept_bytes)


def _far(nest: Contraction, chunk: int, runs: int) -> int:
    """Return the distance in `units` from one chunk to the next; 0 if there is only one chunk."""
    for digit, by in zip(nest.steps[::-1], (chunk, runs, *[1] * len(nest.steps))):
        if digit.size > by:
            return by * digit.units
    for window in reversed(nest.windows):
        if len(window.parts) > 1:
            return window.parts[1].units - window.parts[0].units
    return 0


def _bytes(nest: Contraction) -> int:
    """Return the bytes of one matrix of the batch in the operand `units`, whose columns are vectors."""
    return dtypes.storage_bytes(nest.units.shape.dtype) * nest.columns * math.prod(digit.size for digit in nest.steps)


def _power_of_two(most: int) -> int:
    """Return the largest power of two that is at most `most`, or 1."""
    return 1 << max(0, most.bit_length() - 1)


def _even(size: int, most: int) -> int:
    """Cut `size` into as few parts as possible, each at most `most` and all almost equal. Return the largest part."""
    return -(-size // -(-size // most))


def _chunk(size: int, most: int, unrolled: int) -> int:
    """Return the number of steps of a chunk: at most `most`. It divides `size` and is a multiple of `unrolled` if this
    needs at most 1.5 times as many chunks as necessary, because loops with remaining steps are slower (f32, AVX2, 2
    threads: 1000x1000x1000 in chunks of 100 steps 15.4 ms, of 125 steps 17.8 ms).
    """
    least = -(-size // most)
    parts = next((n for n in range(least, least + least // 2 + 1) if size % (unrolled * n) == 0), least)
    return _even(size, -(-size // parts))


def _row(nest: Contraction) -> str:
    """Return the name of the C variable that counts rows."""
    return "row" if nest.rows is None else f"g{nest.rows}"


def _line(nest: Contraction) -> str:
    """Return the name of the C variable that counts lines (a second dimension of rows)."""
    return "line" if nest.lines is None else f"g{nest.lines}"


def _positions(nest: Contraction, lanes: int = 0) -> str:
    """Return the map (g0, g1, .., unit)[vec, lane] -> (position in the result). The variables g0, g1, .. are indices of
    the outer dimensions, `unit` is the index of a unit (a vector of adjacent columns), and vec is 0. If units share
    columns, or if `lanes` is 1, the last variable is `column` instead: the first column of the unit. If `lanes` is 1,
    the map has no ranges [vec, lane]. lanes: number of lanes of a unit; 0: `nest.unit`.
    """
    sizes, unit, lanes = nest.sizes, nest.unit, lanes or nest.unit
    names = [f"g{k}" for k in range(len(sizes) - 1)]
    box = [f"{name} in [0, {size - 1}]" for name, size in zip(names, sizes)]
    terms = [f"{name} * {math.prod(sizes[k + 1:])}" for k, name in enumerate(names)]
    (name, (low, high)), by = _columns(nest, lanes), 1 if nest.overlap or lanes == 1 else unit
    ranges = "[vec, lane]" if lanes > 1 else ""
    box += [f"{name} in [{low}, {high}]"] + [f"vec in [0, 0], lane in [0, {lanes - 1}]"] * (lanes > 1)
    terms += [f"{name} * {by}"] + ["vec + lane"] * (lanes > 1)
    return algebra.simplify(f"({', '.join([*names, name])}){ranges} -> ({' + '.join(terms)}), domain: {', '.join(box)}")


def _columns(nest: Contraction, lanes: int) -> "Tuple[str, Tuple[int, int]]":
    """Return the name of the column variable in the map of `_positions`, and its bounds."""
    if nest.overlap or lanes == 1:
        return "column", (0, nest.columns - lanes)
    return "unit", (0, nest.columns // nest.unit - 1)


def _lanes(nest: Contraction) -> int:
    """Return the number of columns that the epilogue computes at once."""
    return nest.unit if nest.columns >= nest.unit else 1


def _flat(nest: Contraction, to_place: "Callable[[Shape], str]" = memory_map) -> str:
    """Return the map from the position in the nest's index order to the position in the first result's memory.
    to_place: function that returns the map from an index of an array to the position in memory.
    """
    root = nest.partition.roots[0]
    return compose(algebra.call("shape", "unmap", nest.shape.text), compose(root.map, to_place(root.shape)))


def _direct(nest: Contraction) -> Tuple[int, int]:
    """Return the strides of rows and of lines (a second dimension of rows) in the result, if the result is the product
    itself with contiguous columns; otherwise (0, 0).
    """
    roots, no = nest.partition.roots, (0, 0)
    if len(roots) > 1 or nest.epilogue.root_read(roots[0]).source is not nest.dot or nest.columns < nest.unit \
            or roots[0].shape.dtype != nest.dot.shape.dtype or not has_strides(roots[0].shape):
        return no
    flat, (name, (_, last)) = compose(_positions(nest), _flat(nest, stride_map)), _columns(nest, nest.unit)
    along = algebra.access(flat, name)[0].stride if last else None
    row = algebra.access(flat, _row(nest))[0].stride if nest.rows is not None else nest.columns
    line = algebra.access(flat, _line(nest))[0].stride if nest.lines is not None else 0
    if algebra.access(flat, "lane")[0].stride != 1 or algebra.guards(flat) or line is None \
            or (last and along != (1 if name == "column" else nest.unit)):
        return no
    return (row, line) if row and row > 0 else no


def _row_bytes(nest: Contraction) -> int:
    """Return the stride of rows in the first result, in bytes; 0 if the stride is not constant or there is one row."""
    if nest.rows is None:
        return 0
    stride = algebra.access(compose(_positions(nest), _flat(nest)), _row(nest))[0].stride
    return abs(stride or 0) * dtypes.storage_bytes(nest.partition.roots[0].shape.dtype)


def _epilogue(nest: Contraction) -> Form:
    """Return the plan of the epilogue's code for one unit (a vector of columns), or for one element if a row is shorter
    than a unit.
    """
    partition, unmap = nest.epilogue, algebra.call("shape", "unmap", nest.shape.text)
    lanes = _lanes(nest)
    box = {f"g{k}": (0, digit.size - 1) for k, digit in enumerate(nest.outer)}
    box.update([_columns(nest, lanes)])
    if lanes > 1:
        box.update({"vec": (0, 0), "lane": (0, lanes - 1)})
    return Form(partition, partition.entry, compose(_positions(nest, lanes), unmap), Schedule(lanes=lanes), box,
                given={nest.dot: partial(_total, dtype=nest.dot.shape.dtype, lanes=lanes)})


def _total(body: Body, dtype: str, lanes: int) -> List[Value]:
    """Load the elements of the product from the C pointer `from`."""
    text = body.d.gather(dtype, lanes, "from") if lanes > 1 else "*from"
    return [body.declare("product", dtype, lanes, text)]


def _begin(nest: Contraction, schedule: ContractionSchedule, flat: str) -> str:
    """Return the map from the coordinates of a work-item to the value of the map `flat` at the first element of the
    work-item's block.
    """
    units = nest.columns // nest.unit if schedule.unit_blocks > 1 else 1
    digits = [("first_unit", units) if name == "unit_block" else (name, count)
              for name, count in counts(nest, schedule)]
    first = {_row(nest): f"row_block * {schedule.rows}", _line(nest): f"line_block * {schedule.lines}",
             "unit": "first_unit", "column": f"first_unit * {nest.unit}", "lane": "0", "vec": "0"}
    leads = [v for v in algebra.info(flat).variables if v.kind == "rt"]
    box = ", ".join([*(f"{name} in [0, {count - 1}]" for name, count in digits),
                     *(f"{v.name} in [{v.lo}, {v.hi}]" for v in leads)])
    at = ", ".join(first.get(v.name, v.name) for v in algebra.info(flat).variables)
    by_dims = algebra.call("map", "dims", flat)
    names = ", ".join(name for name, _ in digits) + (f"){{{', '.join(v.name for v in leads)}" + "}" if leads else ")")
    block = algebra.simplify(f"({names} -> ({at}), domain: {box}")
    return compose(block, by_dims)


def _discarded(nest: Contraction, schedule: ContractionSchedule, index_type: str) -> "List[str]":
    """Return C conditions. If one of them is true for a work-item, no kernel uses the results of its block."""
    conditions: "List[str]" = []
    for text in nest.discarded if schedule.to and not nest.overlap else ():
        above = _largest(nest, schedule, compose(_positions(nest), text), index_type)
        # otherwise the maximum above[0] + above[1] is never negative, because above[0] is not
        if above and above[1] < 0:
            conditions.append(f"{above[0]} < {-above[1]}")
    return conditions


def _masked(nest: Contraction, schedule: ContractionSchedule, index_type: str) -> str:
    """Return the C text of an index along the sum. From this index on, the block's part of the left operand is computed
    only from scores that a mask (as in attention) has discarded. Return "" if no such index is known.
    """
    plain = len(nest.steps) == 1 and nest.group == 1 and not nest.windows and not schedule.packed and nest.wide is None
    if not plain or nest.steps[0].single != 1 or schedule.chunk == nest.steps[0].size \
            or not nest.single.shape.dtype == nest.units.shape.dtype == nest.dot.shape.dtype:
        return ""
    for text in nest.masked:
        flat = compose(_positions(nest), text)
        steps = [v.name for v in algebra.info(flat).of_kind("range") if v.name not in ("vec", "lane")]
        if len(steps) == 1 and algebra.access(flat, steps[0])[0].stride == -1:
            last = algebra.substitute(flat, **{steps[0]: 0})
            ((low, high),) = algebra.ranges(last)
            end = compose(last, f"(last) -> (last + 1), domain: last in [{low}, {high}]")
            above = _largest(nest, schedule, end, index_type)
            if above:
                return f"(ptrdiff_t)({above[0]}) + {above[1]}"
    return ""


def _largest(nest: Contraction, schedule: ContractionSchedule, flat: str, index_type: str) -> "Optional[Tuple[str, int]]":
    """Return the maximum of a map over a work-item's block, as two summands: a C text whose value is not negative, and
    a number. Return None if the map is not affine within a block.
    """
    sizes = {_row(nest): schedule.rows, _line(nest): schedule.lines, "unit": schedule.units, "lane": nest.unit}
    variables = algebra.info(flat).variables
    if any(algebra.access(flat, name)[0].stride is None for name, size in sizes.items()
           if size > 1 and name in (v.name for v in variables)):
        return None
    begin = algebra.info(_begin(nest, schedule, flat))
    ((low, _, value, _),) = begin.results
    box = ", ".join(f"{v.name} in [{v.lo}, {v.hi}]" for v in begin.variables)
    above = algebra.simplify(f"({', '.join(v.name for v in begin.variables)}) -> (({value}) - ({low})), domain: {box}")
    names = ", ".join(v.name for v in variables)
    block = f"domain: {', '.join(f'{v.name} in [0, {sizes.get(v.name, 1) - 1}]' for v in variables)}"
    of_block = compose(algebra.simplify(f"({names}) -> ({names}), {block}"), algebra.call("map", "dims", flat))
    ((first, _),) = algebra.ranges(algebra.substitute(of_block, **{v.name: 0 for v in variables}))
    ((_, _, value, _),) = algebra.info(of_block).results
    ((_, most),) = algebra.ranges(f"({names}) -> (({value}) - ({first}) + ({low})), {block}")
    return algebra.c_text(above, index_type, "compared").results[0], most


def _blocks(nest: Contraction, schedule: ContractionSchedule) -> "List[Block]":
    """Return the blocks of columns, grouped by size. The last block is a group of its own if its last unit shares
    columns with the unit before it.
    """
    def block(condition: str, units: int, last: bool = False) -> Block:
        first = nest.all_units - units
        last_from = nest.last_unit - first * nest.next_unit if last else (units - 1) * nest.next_unit
        shared, to = nest.overlap * last, (units - 1) * nest.unit
        last_wide = (units - 1) * nest.wide - shared if nest.wide else 0
        return Block(condition, units, last_from, last_wide, to - shared if schedule.to else to)

    count, longer, units = schedule.unit_blocks, schedule.long_blocks, schedule.units
    blocks = [block(f"unit_block == {count - 1}", units - (longer < count), True)] * (nest.overlap > 0)
    before = count - len(blocks)
    blocks += [block(f"unit_block < {longer}", units)] * (min(longer, before) > 0)
    blocks += [block("", units - 1)] * (before > longer)
    return [*blocks[:-1], replace(blocks[-1], condition="")]


def _kernel(nest: Contraction, schedule: ContractionSchedule, grid: Grid, context: Context) -> Kernel:
    d, index_type, numbers = context.target, grid.index, context.device.contraction_cpu
    words = Words.of(nest, schedule, context)
    _need(words, nest, schedule, context)
    if words.biased:
        context.helpers.texts.setdefault(f"{words.name}_bias", macro("parts/contraction.j2", "bias", d=d, w=words,
                                                                     lanes=nest.unit))
    if words.matrix:
        context.helpers.need("allows_tiles")
        context.helpers.texts.setdefault(f"{words.name}_matrix", macro("parts/contraction.j2", "matrix", d=d, w=words,
                                                                       lanes=nest.unit))
    if schedule.far:
        context.helpers.texts.setdefault("far", macro("parts/contraction.j2", "far", d=d))
    if nest.windows:
        context.helpers.texts.setdefault("cells", macro("parts/contraction.j2", "cells", d=d))
    discarded = _discarded(nest, schedule, index_type)
    masked = _masked(nest, schedule, index_type) if context.target.declares_vectors else ""
    if masked:
        context.helpers.texts.setdefault("adds_nothing", macro("parts/contraction.j2", "adds_nothing", d=d, w=words,
                                                               lanes=nest.unit))
    if not nest.covered or discarded:
        context.helpers.texts.setdefault(words.clear, macro("parts/contraction.j2", "clear", d=d, w=words, lanes=nest.unit))
    placing, _ = Placing.of([(name, size) for name, size in counts(nest, schedule) if size > 1],
                             schedule.threads, index_type)
    seen = [Touched("read", buffer, start) for buffer, start in zip((nest.single, nest.units), nest.starts)]

    def begin(access: Touched) -> str:
        begins = algebra.c_text(_begin(nest, schedule, access.position), index_type, "added").results[0]
        return f"{elements_of(d, access.buffer)} + {begins}"

    single, units = map(begin, seen)
    total, code, step, element, body = "", StepCode([], [], []), None, None, None
    if schedule.to:
        root, flat = nest.partition.roots[0], compose(_positions(nest), _flat(nest))
        seen.append(Touched("write", root.buffer, flat))
        total = begin(seen[-1])
    else:
        form = _epilogue(nest)
        body = Body(d, context.helpers, form, index_type, context.excess)
        body.region(nest.epilogue.entry.body)
        for of in nest.epilogue.roots:
            body.store(of)
        seen += [access for access in body.touched if access not in seen]
        code = StepCode.of_body(body, 1)
        step, element = (code, None) if form.lanes > 1 else (None, code)
    first_unit, end_unit = even_share("unit_block", schedule.unit_blocks, nest.all_units, "first_unit") \
        if schedule.unit_blocks > 1 else ("", str(nest.all_units))
    last_rows = nest.row.size - schedule.rows * (schedule.row_blocks - 1)
    to = schedule.to or schedule.units * nest.unit
    to_line = schedule.to_line if schedule.to else schedule.rows * to
    loops = _loops(nest, schedule)
    by_tile = bool(step) and not nest.windows and not words.matrix and all(loop.whole for loop in loops)
    reads = [nest.single, nest.units, *buffers_of(nest.epilogue, nest.epilogue.entry)]
    passed = arguments(d, reads, [root.buffer for root in nest.partition.roots], nest.shared)
    functions = [function_text(d, context.helpers, nest.epilogue, f, context.excess)
                 for f in reversed(nest.epilogue.functions[1:])]
    accesses = body.touched if body and by_tile else []
    accessed = {access.buffer for access in accesses}
    epilogue = [argument for argument in passed if argument.buffer in accessed]
    leads = leads_named(accesses, functions, [argument.buffer for argument in epilogue])
    record = ContractionCpuRecord(
        placing, words, _line(nest) if nest.lines is not None else "",
        _row(nest) if nest.rows is not None else "", first_unit, end_unit, single, units, nest.line.single,
        nest.row.single, -1 if nest.wide is None else nest.wide, nest.next_unit, schedule.lines, schedule.line_blocks,
        nest.line.size - schedule.lines * (schedule.line_blocks - 1), schedule.rows, schedule.row_blocks,
        last_rows, schedule.rows * (last_rows < schedule.rows and not numbers.whole_tiles(schedule.rows, words.shape)),
        schedule.runs * schedule.chunk * schedule.units * nest.unit * nest.group * schedule.packed, 0, nest.apart,
        nest.columns, nest.unit,
        nest.all_units, schedule.tile_units, schedule.ahead, schedule.far,
        schedule.runs == 1 and bool(nest.steps) and nest.steps[-1].units == schedule.units * nest.next_unit,
        schedule.every, nest.overlap, _blocks(nest, schedule),
        [_cells(nest, schedule, number, to, to_line) for number in range(len(nest.windows))],
        nest.rows is not None and nest.outer[nest.rows].window is not None, nest.covered, loops,
        total, to, to_line, numbers.largest_tile * nest.unit * by_tile, epilogue, leads, step, element, masked,
        discarded,
        (nest.single.shape.lead, nest.units.shape.lead, nest.partition.roots[0].shape.lead if schedule.to else ""),
        next(iter(numbers.tiles)))
    if (schedule.ahead or schedule.packed or _are_dots(nest, schedule)) and words.group == 1 and not masked \
            and not nest.windows and not by_tile:
        record = replace(record, others=_others(record, nest, schedule, context))
    elif words.shape == "FMA_TILE":
        other = _of_two_units(nest, schedule, context)
        if other and other != schedule:
            record = replace(record, others=replace(record, loops=_loops(nest, other), far=other.far,
                                                    far_lines=record.far_lines and other.runs == 1))
    return Kernel(grid, nest, passed, Text("kernels/contraction_cpu", record, functions, d.launch_bounds(schedule.threads)),
                  Report(seen, code, leads=record.all_leads), matrix=words.matrix)


def _others(record: ContractionCpuRecord, nest: Contraction, schedule: ContractionSchedule,
            context: Context) -> ContractionCpuRecord:
    """Return the record of a product with panels, or of few rows, for processors whose vectors are not the widest.
    Their tiles have fewer rows and one unit, so more tiles read the same units. Either a chunk has few steps, or units
    are copied to a panel in which the steps of a unit are adjacent, so that the units stay in L1.
    """
    numbers = context.device.contraction_cpu
    if _are_dots(nest, schedule):
        words, (rows, units) = record.words, numbers.dot_tile
        context.helpers.texts.setdefault(words.dots, macro("parts/contraction.j2", "dots", d=context.target, w=words,
                                                           lanes=nest.unit, of=numbers.dot_tile))
        loops = _loops(nest, replace(schedule, runs=1, chunk=_even(nest.steps[-1].size, numbers.dot_chunk)))
        return replace(record, dots=(min(rows, schedule.rows), units), loops=loops)
    if schedule.packed:
        return replace(record, group=min(numbers.narrow_units, schedule.units))
    packs = schedule.rows > numbers.narrow_rows and _can_pack(nest)
    group = min(numbers.narrow_units, schedule.units) if packs else 0
    most = numbers.packed_chunk if packs else numbers.narrow_chunk
    sizes = [1, 1, *(digit.size for digit in nest.steps)][-2:]
    runs, chunk = _even(sizes[0], max(1, most // sizes[1])), _chunk(sizes[1], most, numbers.straight)
    if schedule.to and nest.overlap:  # both of the units that share columns would add a second chunk to them
        runs, chunk = schedule.runs, schedule.chunk
    other, words = replace(schedule, runs=runs, chunk=chunk, packed=packs, ahead=not packs), record.words
    if packs:
        words = Words.of(nest, other, context)
        _need(words, nest, other, context)
    return replace(record, words=words, packed=runs * chunk * group * nest.unit, group=group, ahead=not packs,
                   loops=_loops(nest, other))


def _of_two_units(nest: Contraction, schedule: ContractionSchedule, context: Context) -> "Optional[ContractionSchedule]":
    """Return the schedule for tiles of two units, for processors whose vectors are not the widest. Its chunks have so
    few steps that two units stay in L1: if a panel has more units, these two are in only some of the sets of L1. Return
    None if tiles of one unit are faster, or if adjacent steps are not contiguous in `single`.
    """
    numbers, sizes = context.device.contraction_cpu, [1, 1, *(digit.size for digit in nest.steps)]
    if nest.wide is not None or not nest.steps or nest.steps[-1].single != 1 or schedule.ahead:
        return None
    if schedule.packed:  # the steps of a unit are adjacent in the panel, or the sum has only one chunk
        return schedule if schedule.runs * schedule.chunk <= numbers.set_steps else None
    lines, rest = divmod(nest.steps[-1].units * dtypes.storage_bytes(nest.units.shape.dtype), LINE)
    if rest:
        return None
    steps, most = schedule.runs * schedule.chunk, numbers.set_steps // math.gcd(lines, SETS)
    if steps == math.prod(sizes) or schedule.to and nest.overlap or most < numbers.least_set_steps:
        return schedule if steps <= 2 * most else None
    runs, chunk = _even(sizes[-2], max(1, most // sizes[-1])), _chunk(sizes[-1], most, schedule.every)
    return schedule if steps <= most else \
        replace(schedule, runs=runs, chunk=chunk, far=_far(nest, chunk, runs) if schedule.far else 0)


def _are_dots(nest: Contraction, schedule: ContractionSchedule) -> bool:
    """Return true if a unit has adjacent steps of the same sum. An operand is then multiplied along its contiguous
    dimension, and the operand `single` is read in units, which are the same for all units of the other operand.
    """
    return nest.wide == 0 and nest.part is None and bool(nest.steps) and not nest.windows and nest.lines is None \
        and not nest.overlap and schedule.row_blocks == 1 and not schedule.packed and nest.dot.shape.dtype in FLOATS


def _need(words: Words, nest: Contraction, schedule: ContractionSchedule, context: Context) -> None:
    """Add the functions of a tile, and the function that packs units, to the text of the program."""
    d, numbers = context.target, context.device.contraction_cpu
    for function in (words.mad, words.splat):
        context.helpers.need(function)
    if words.fma_loops:
        context.helpers.texts.setdefault("fma_tiles", macro("parts/fma_tiles.j2", "loops_in_assembler_text"))
    context.helpers.texts.setdefault(words.shape, macro("parts/contraction.j2", "shapes", w=words,
                                                        tiles=numbers.tiles_of(words.shape)))
    if d.declares_vectors and words.group == 1:
        context.helpers.texts.setdefault("in_register", macro("parts/contraction.j2", "in_register"))
    if words.spread:
        context.helpers.texts.setdefault(words.spread, macro("parts/contraction.j2", "spread", d=d, w=words,
                                                             lanes=nest.unit))
    context.helpers.texts.setdefault(words.name, macro("parts/contraction.j2", "tile", d=d, w=words, lanes=nest.unit,
                                                       largest=numbers.largest))
    if schedule.packed:
        context.helpers.texts.setdefault(words.pack, macro("parts/contraction.j2", "pack", d=d, w=words, lanes=nest.unit,
                                                           ahead=numbers.packed_ahead))


def _loops(nest: Contraction, schedule: ContractionSchedule) -> "List[StepLoop]":
    """Return the loops over the sum, at least two. The last loop is inside the tile."""
    missing = max(0, 2 - len(nest.steps))
    by = [*[1] * (missing + len(nest.steps) - 2), schedule.runs, schedule.chunk]
    return [StepLoop(f"k{k - missing}", _size(digit), digit, step, step == digit.size)
            for k, (digit, step) in enumerate(zip([*[Digit(1, 0, 0)] * missing, *nest.steps], by))]


def _size(digit: Digit) -> str:
    if digit.window is None:
        return str(digit.size)
    return f"taps{digit.window}" + f" * {digit.each}" * (digit.each > 1)


def _cells(nest: Contraction, schedule: ContractionSchedule, number: int, to: int, to_line: int) -> Cells:
    window = nest.windows[number]
    digit, k = nest.outer[window.digit], window.digit
    rows = schedule.rows // digit.each
    block, count, total = {nest.rows: (f"row_block * {rows}" * (schedule.row_blocks > 1), "rows", to),
                           nest.lines: (f"line_block * {schedule.lines}" * (schedule.line_blocks > 1), "lines",
                                        to_line)}.get(k, (f"g{k}", "", 0))
    return Cells(number, window.parts, any(step.window == number for step in nest.steps), block, window.every,
                 digit.single * digit.each, digit.units * digit.each, total * window.every * digit.each, count,
                 digit.each, total * window.every)
