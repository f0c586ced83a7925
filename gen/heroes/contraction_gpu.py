"""The contraction hero (kernel emitter) on GPUs: it computes matrix products in tiles of shared memory.

A "line" is a row of the left operand or a column of the right operand; a "step" is one index of the contracted
dimension (k). A block of threads computes a tile of the result. While it multiplies the steps that are in shared
memory, it loads the next steps of both operands into registers. Each thread has a register tile of sums and computes
the epilogue from it.

A line beyond the end of an operand is replaced by an existing line, and the sums of this line are never used. A step
beyond the end is replaced by zero in both operands.

If the result has few tiles, the sum is cut into parts (split-k). The sums of each part go to a scratch buffer
[part][position]. A second kernel adds the parts in order and computes the epilogue.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple

from gen import algebra
from gen.emit.body import Body
from gen.emit.form import Form
from gen.statements import Assign, Let, Statement
from gen.emit.values import Touched, Value
from gen.heroes.hero import Choice, Context, Hero, Refused
from gen.heroes.kernel import CFunction, Grid, Kernel, Placing, Report, StepCode, Text, arguments, function_text
from gen.hlo import Shape, array_shape, dtypes
from gen.plan.buffer import Buffer
from gen.plan.buffers import buffers_of, touches
from gen.plan.digits import place
from gen.plan.partition import compose
from gen.plan.tiled_product import Inside, TiledProduct
from gen.schedule import Device, GpuTile, Schedule
from gen.targets import COMPLEX, TINY, Target

WORD = 16  # bytes of a thread's widest memory access


@dataclass(frozen=True)
class ContractionGpuSchedule(Schedule):
    """A schedule of tiles.

    vec: number of adjacent columns for which one step of the epilogue computes results.
    block: the tile that a block of threads computes.
    parts: number of parts of the sum (split-k).
    loads: number of elements that a thread loads at once, for each operand.
    """

    block: GpuTile = GpuTile(0, 0, 1, 1, 0, 0)
    parts: int = 1
    loads: Tuple[int, int] = (1, 1)

    def text(self) -> str:
        tile = self.block
        words = [f"tiles of {tile.rows}x{tile.columns}, {tile.thread_rows}x{tile.thread_columns} of a thread, "
                 f"{tile.steps} steps at once", f"loads of {self.loads[0]} and {self.loads[1]}"]
        return ", ".join([super().text(), *words, *([f"{self.parts} parts of the sum"] if self.parts > 1 else [])])

    def thread_counts(self) -> "List[Tuple[str, int]]":
        """Return the digits (name and size) of a thread's number in its block, as a mixed-radix number."""
        return [("thread", self.threads)]

    def of_thread(self) -> str:
        """Return the C text of an element of a thread's register tile of sums: row i, and lane `vec` of vector j."""
        return f"total[i][j * {self.vec} + vec]" if self.vec > 1 else "total[i][j]"


class ConditionText(NamedTuple):
    """A condition under which an element of an operand exists (is not padding): `line` + `step` is in [0, last].

    line, step: C texts of the two summands. The first depends on the row of the left operand (or column of the right
        operand), the second on the index along the sum.
    low: true if the sum of both may be negative, so that the kernel compares it with 0.
    high: true if the sum of both may exceed `last`, so that the kernel compares it with `last`.
    """

    line: str
    step: str
    last: int
    low: bool
    high: bool


@dataclass(frozen=True)
class TiledOperand:
    """The copy of an operand to shared memory, as the template prints it. A line is a row of the left operand or a
    column of the right operand; a step is one index along the sum.

    name: "a" or "b".
    pointer: pointer to the operand's buffer.
    lines: number of lines in the tile.
    passes: number of passes; in each pass, a thread copies `vec` elements.
    own: condition that a thread has elements to copy in a pass ("": always).
    line, step: C texts of the line and the step, in the tile, of the elements that a thread copies.
    first: C variable: the number of the block's tile along the operand's lines.
    count: number of lines of the operand.
    last: the last line at which a copy may begin.
    line_at, step_at: C texts whose sum is the position in the operand: one depends on the line, one on the step.
    conditions: the conditions under which an element exists.
    """

    name: str
    pointer: str
    lines: int
    passes: int
    vec: int
    own: str
    line: str
    step: str
    first: str
    count: int
    last: int
    line_at: str
    step_at: str
    conditions: List[ConditionText]


@dataclass(frozen=True)
class LoadedOperand(TiledOperand):
    """A copy of an operand to shared memory through registers.

    along: true if the operand is contiguous along the sum (k), false if along the other dimension.
    element: type of an element in memory.
    value: C text of an element, converted to the type of the sums.
    word, put: types of the loaded words and of the stored words.
    """

    along: bool
    element: str
    value: str
    word: str
    put: str


class ExactOperand(NamedTuple):
    """An operand of the exact sum (class ExactSum).

    line_at, step_at, conditions: as in TiledOperand, for the result's row or column.
    value: C text of the element in variable `element`, converted to the type of the sums.
    """

    pointer: str
    element: str
    line_at: str
    step_at: str
    conditions: List[ConditionText]
    value: str


class ExactSum(NamedTuple):
    """A sum over only those steps at which the elements of both operands exist. The kernel computes it if the tile's
    sum is NaN, because the tile has zeros in place of missing elements, and infinity times zero is NaN.

    kind: the type of the sum.
    of_thread: C text of the sum in a thread's registers.
    added: C text of the sum after one more product.
    """

    kind: str
    of_thread: str
    operands: List[ExactOperand]
    added: str


@dataclass(frozen=True)
class ContractionGpuRecord:
    """The record that templates/kernels/contraction_gpu.j2 prints. A step is one index along the sum.

    kind: the type of the sums.
    unit: number of elements in a word of shared memory; `word` is the word's type. Elements there have the type of the
        sums.
    pitch: for each operand, the number of elements from one step to the next in the tile.
    steps: number of steps of the whole sum.
    part_steps: number of steps of a part (split-k).
    row: C text of the index, in the tile, of row `i` of a thread.
    column: C text of the index, in a row of the tile, of a thread's word `j`.
    group: C text of the index, in the tile, of group `j` of a thread. A group is `vec` adjacent columns.
    added: C text of a thread's sum after one more product.
    rows, columns: numbers of rows and columns of the result.
    exact: the sum that replaces NaN; None if all elements exist or if sums are integers (see ExactSum).
    step: the epilogue of `vec` sums; with split-k, the stores of a part's sums.
    """

    placing: Placing
    kind: str
    tile: GpuTile
    unit: int
    word: str
    pitch: Tuple[int, int]
    operands: List[LoadedOperand]
    steps: int
    part_steps: int
    row: str
    column: str
    group: str
    added: str
    rows: int
    columns: int
    vec: int
    exact: Optional[ExactSum]
    step: StepCode


@dataclass(frozen=True)
class SumRecord:
    """The record that templates/kernels/contraction_gpu_sum.j2 prints.

    kind: the type of the sums.
    part: C text of a sum in the scratch buffer of all parts.
    step: the epilogue of one element.
    """

    placing: Placing
    kind: str
    parts: int
    part: str
    step: StepCode


class ContractionGpuHero(Hero[TiledProduct, ContractionGpuSchedule]):
    """The emitter (hero) that writes a kernel in which each block computes a tile of the result. If the sum is cut into
    parts, a second kernel adds the parts.
    """

    name, leads = "contraction", True
    nest_class = TiledProduct

    def takes(self, nest: TiledProduct, context: Context) -> bool:
        if nest.reads_first or nest.aliases:
            raise Refused("a result overwrites an operand")
        if touches(nest, {*dtypes.PACKED, *COMPLEX, *TINY}):
            raise Refused("its epilogue has complex numbers, or elements of less than a byte or of 8-bit floats")
        if any(root.at for root in nest.partition.roots):
            raise Refused("the place of a result is only known at run time")
        if context.threads:
            raise Refused("its blocks cannot have the number of threads that others have")
        return True

    def schedules(self, nest: TiledProduct, context: Context) -> "Iterable[ContractionGpuSchedule]":
        numbers, size = context.device.contraction_gpu, dtypes.storage_bytes(nest.dot.shape.dtype)
        tile, parts = best(nest, numbers.tiles[size], numbers.sum_cost, context)
        loads = (nest.vector(0, WORD // size), nest.vector(1, WORD // size))
        return [ContractionGpuSchedule(tile.threads, vec=whole_columns(nest, WORD // size), block=tile, parts=parts,
                                       loads=loads)]

    def forms(self, nest: TiledProduct, schedule: ContractionGpuSchedule, context: Context) -> "Iterable[Form]":
        return [_summed(nest) if schedule.parts > 1 else _epilogue(nest, schedule)]

    def maps(self, nest: TiledProduct, schedule: ContractionGpuSchedule, context: Context) -> "Iterable[str]":
        whole = [text for of in nest.sums for text in (sum_map(nest, of), *apart(nest, of))]
        parts = [part_map(nest, schedule)] if schedule.parts > 1 else []
        return [*whole, *parts, place(block_counts(nest, schedule), schedule.threads)[0]]

    def scratch_shapes(self, nest: TiledProduct, schedule: ContractionGpuSchedule, context: Context) -> "List[Shape]":
        shape = array_shape(nest.dot.shape.dtype, (schedule.parts, nest.shape.elements))
        return [shape] if schedule.parts > 1 else []

    def grids(self, choice: Choice[TiledProduct, ContractionGpuSchedule], context: Context) -> "List[Grid]":
        nest, schedule = choice.nest, choice.schedule
        _, blocks = place(block_counts(nest, schedule), schedule.threads)
        first = Grid(nest.name, schedule, choice.index, blocks, nest.positions(schedule.vec))
        if schedule.parts == 1:
            return [first]
        threads = context.device.contraction_gpu.sum_threads
        _, blocks = place([("position", nest.shape.elements)], threads)
        return [first, Grid(nest.name + "_sum", Schedule(threads), choice.index, blocks, _position(nest))]

    def build(self, choice: Choice[TiledProduct, ContractionGpuSchedule], context: Context) -> "List[Kernel]":
        kernels = [self.tiles_kernel(choice, context)]
        return [*kernels, _sum_kernel(choice, context)] if choice.schedule.parts > 1 else kernels

    def instruction(self, nest: TiledProduct) -> str:
        """Return the name of the multiply instruction, for `gen explain`."""
        return f"multiply-add of {nest.dot.shape.dtype} in each thread"

    def shared(self, nest: TiledProduct, schedule: ContractionGpuSchedule,
               context: Context) -> "List[Tuple[SharedAccess, str]]":
        """Return the accesses to shared memory, each with the type of its elements."""
        return [(access, nest.dot.shape.dtype) for access in shared_accesses(nest, schedule, context.device)]

    def describe(self, choice: Choice[TiledProduct, ContractionGpuSchedule], grid: Grid, context: Context) -> "List[str]":
        nest, schedule, tile = choice.nest, choice.schedule, choice.schedule.block
        if grid is not choice.grids[0]:
            return [f"adds up the {schedule.parts} parts of each sum"]
        counts = nest.counts
        sizes = ", ".join(f"{counts[name]} {name}s" for name in ("row", "column", "step"))
        batch = f", {counts['batch']} in the batch" if counts["batch"] > 1 else ""
        parts = f"{schedule.parts} parts (split-k)" if schedule.parts > 1 else "whole (no split-k)"
        exist = f"exist under {len(nest.conditions)} conditions" if nest.conditions else "all exist"
        lines = [f"product: {sizes}{batch}; elements of its operands {exist}",
                 f"instruction: {self.instruction(nest)}; sums: {parts}",
                 f"tile: {tile.rows}x{tile.columns} by {tile.steps} steps, {tile.stages} stages in shared memory"]
        accesses = self.shared(nest, schedule, context)
        found = [algebra.call("banks", *["--vector", "e"] * (access.elements > 1), access.map, of) for access, of in accesses]
        wrong = [answer for answer in found if not answer.startswith("yes")]
        return [*lines, *(f"bank conflicts: {answer}" for answer in wrong or [f"none in {len(found)} kinds of accesses"])]

    def tiles_kernel(self, choice: Choice[TiledProduct, ContractionGpuSchedule], context: Context) -> Kernel:
        """Return the kernel whose blocks compute one tile each."""
        return _kernel(choice, context)


HERO = ContractionGpuHero()


# ---- choices ----

def _blocks(nest: TiledProduct, tile: GpuTile) -> "Dict[str, int]":
    """Return the numbers of tiles: in the batch, along the rows and along the columns of the result."""
    counts = nest.counts
    return {"batch": counts["batch"], "row_block": -(-counts["row"] // tile.rows),
            "column_block": -(-counts["column"] // tile.columns)}


def _parts(nest: TiledProduct, tile: GpuTile, context: Context) -> "List[int]":
    """Return the numbers of parts (split-k) to try. The steps of a part fill whole tiles; only the last part may be
    shorter.
    """
    numbers, steps = context.device.contraction_gpu, nest.counts["step"]
    most = min(numbers.most_parts, max(1, steps // numbers.part_steps))
    counts = {1 << k for k in range(most.bit_length())}
    return sorted({-(-steps // part_steps(steps, parts, tile)) for parts in counts})


def part_steps(steps: int, parts: int, tile: GpuTile) -> int:
    return -(-steps // (parts * tile.steps)) * tile.steps


def best(nest: TiledProduct, tiles: "Sequence[GpuTile]", sum_cost: float, context: Context) -> "Tuple[GpuTile, int]":
    """Return the cheapest tile and number of parts of the sum (split-k). sum_cost: the time to write one partial sum
    and to read it again, as the number of multiplications of one multiprocessor in this time.
    """
    units = context.device.units

    def cost(choice: "Tuple[GpuTile, int]") -> float:
        tile, parts = choice
        blocks = parts * math.prod(_blocks(nest, tile).values())
        sums = parts * nest.shape.elements / units * sum_cost if parts > 1 else 0
        steps = part_steps(nest.counts["step"], parts, tile)
        return -(-blocks // units) * tile.rows * tile.columns * steps / tile.speed + sums
    return min(((tile, parts) for tile in tiles for parts in _parts(nest, tile, context)), key=cost)


def whole_columns(nest: TiledProduct, most: int) -> int:
    """Return the number of columns, at most `most`, that are always adjacent in the result's memory."""
    vec, columns = most, nest.columns[-1]
    while vec > 1 and (columns.size % vec or columns.position != 1):
        vec //= 2
    return vec


def block_counts(nest: TiledProduct, schedule: ContractionGpuSchedule) -> "List[Tuple[str, int]]":
    """Return the digits (name and size) of a thread's number among all threads, as a mixed-radix number: part of the
    sum, batch, tile, thread.
    """
    blocks = _blocks(nest, schedule.block)
    return [("part", schedule.parts), *blocks.items(), *schedule.thread_counts()]


# ---- maps ----

def apart(nest: TiledProduct, of: "int | Inside") -> "Tuple[str, str]":
    """Return two maps whose results add up to a position in an operand or, if `of` is an Inside, to the value that this
    condition tests. The first map takes (batch, group of rows or columns), the second takes (group of steps along the
    sum). Each map becomes a C text.
    """
    line, step = (nest.line_map(of), nest.step_map(of)) if isinstance(of, int) else \
        (nest.inside_line_map(of.number), nest.inside_step_map(of.number))
    return algebra.substitute(line, vec=0), algebra.substitute(step, vec=0)


def sum_map(nest: TiledProduct, of: "int | Inside") -> str:
    """Return the map (batch, line, step) -> (position in an operand, or the value that a condition tests). A line is a
    row of the left operand or a column of the right operand, a step is an index along the sum. The domain includes
    padding elements.
    """
    line, step = apart(nest, of)
    lines, steps = algebra.info(line), algebra.info(step)
    box = [f"{v.name} in [{v.lo}, {v.hi}]" for v in lines.variables]
    box += [f"step in [0, {nest.counts['step'] - 1}]"]
    text = steps.results[0].text.replace("group", "step")
    return algebra.simplify(f"({', '.join(v.name for v in lines.variables)}, step) -> "
                            f"({lines.results[0].text} + {text}), domain: {', '.join(box)}")


def element_map(nest: TiledProduct, operand: int) -> str:
    """Return the map (batch, line, step) -> (position in an operand). Its domain leaves out the padding. A line is a
    row of the left operand or a column of the right operand, a step is an index along the sum.
    """
    position = sum_map(nest, operand)
    inside = [f"{algebra.info(sum_map(nest, Inside(n))).results[0].text} in [0, {nest.conditions[n].last}]"
              for n in nest.conditions_of(operand)]
    return algebra.simplify(", ".join([position, *inside]))


def _position(nest: TiledProduct) -> str:
    return f"(position) -> (position), domain: position in [0, {nest.shape.elements - 1}]"


def part_map(nest: TiledProduct, schedule: ContractionGpuSchedule) -> str:
    """Return the map (part, position) -> (index in the scratch buffer of the sums of all parts)."""
    elements = nest.shape.elements
    return (f"(part, position) -> (part * {elements} + position), domain: part in [0, {schedule.parts - 1}], "
            f"position in [0, {elements - 1}]")


def thread_maps(schedule: ContractionGpuSchedule, unit: int, by: int) -> "Tuple[str, str]":
    """Return two maps from a thread's register tile to the block's tile. The map of rows is (thread, i) -> (row), where
    i is a row of the register tile. The map of columns is (thread, j) -> (column divided by `by`), where j * by is a
    column of the register tile. A thread has groups of `unit` adjacent rows and of `unit` adjacent columns. A warp has
    up to 8 threads across and 4 down, because it reads the fewest words in this shape.
    """
    tile = schedule.block
    across, down = tile.columns // tile.thread_columns, tile.rows // tile.thread_rows
    wide, high = min(8, across), min(4, down)
    box = f"thread in [0, {tile.threads - 1}]"
    inner, warp = f"(thread mod {wide * high})", f"(thread floordiv {wide * high})"
    row = f"({warp} floordiv {across // wide} * {high} + {inner} floordiv {wide})"
    column = f"({warp} mod {across // wide} * {wide} + {inner} mod {wide})"
    rows = (f"(thread, i) -> (i floordiv {unit} * {down * unit} + {row} * {unit} + i mod {unit}), domain: {box}, "
            f"i in [0, {tile.thread_rows - 1}]")
    number = f"(j * {by})"
    columns = (f"(thread, j) -> (({number} floordiv {unit} * {across * unit} + {column} * {unit} + {number} mod {unit}) "
               f"floordiv {by}), domain: {box}, j in [0, {tile.thread_columns // by - 1}]")
    return algebra.simplify(rows), algebra.simplify(columns)


def load_map(schedule: ContractionGpuSchedule, operand: int, along: bool, run: int) -> str:
    """Return the map (thread, pass) -> (line, step) to the first of the tile's elements that a thread loads in a pass.
    A line is a row of the left operand or a column of the right operand. A step is an index along the sum. run: the
    number of steps of one line that adjacent threads load together, if the operand is contiguous along the sum.
    """
    tile, vec, threads = schedule.block, schedule.loads[operand], schedule.threads
    lines = (tile.rows, tile.columns)[operand]
    count = lines * tile.steps // vec
    number = f"(pass * {threads} + thread)"
    if along:
        beside = run // vec
        line, step = f"{number} floordiv {beside} mod {lines}", \
            f"{number} floordiv {beside * lines} * {run} + {number} mod {beside} * {vec}"
    else:
        line, step = f"{number} mod {lines // vec} * {vec}", f"{number} floordiv {lines // vec}"
    return algebra.simplify(f"(thread, pass) -> ({line}, {step}), domain: thread in [0, {threads - 1}], "
                            f"pass in [0, {-(-count // threads) - 1}], {number} in [0, {count - 1}]")


class SharedAccess(NamedTuple):
    """An access to a tile in shared memory. map: (thread)[.., e] -> (element of the tile). elements: number of elements
    `e` that a thread accesses at once.
    """

    map: str
    elements: int


def shared_accesses(nest: TiledProduct, schedule: ContractionGpuSchedule, device: Device) -> "List[SharedAccess]":
    """Return the accesses of a block's threads to shared memory: for each operand, the stores of a tile, and the loads
    for one step of the sum.
    """
    numbers, size = device.contraction_gpu, dtypes.storage_bytes(nest.dot.shape.dtype)
    found, tile, unit = [], schedule.block, WORD // size
    maps = thread_maps(schedule, unit, unit)
    for k, lines in enumerate((tile.rows, tile.columns)):
        pitch, vec, along = lines + numbers.padding, schedule.loads[k], nest.along_steps(k)
        place_ = load_map(schedule, k, along, numbers.run_bytes // size)
        (line, step), loaded = algebra.info(place_).results, algebra.info(place_)
        box = ", ".join(f"{v.name} in [{v.lo}, {v.hi}]" for v in loaded.variables)
        guards = "".join(f", {c.text} in [{c.lo}, {c.hi}]" for c in loaded.constraints)
        at = f"({step.text} + e) * {pitch} + {line.text}" if along else f"({step.text}) * {pitch} + {line.text} + e"
        found.append(SharedAccess(algebra.simplify(f"(thread)[pass, e] -> ({at}), domain: {box}, e in [0, {vec - 1}]{guards}"),
                                  1 if along else vec))
        of = maps[k]
        last, by = (tile.thread_rows, tile.thread_columns)[k] // unit - 1, (unit, 1)[k]
        word = compose(f"(thread, n) -> (thread, n * {by}), domain: thread in [0, {tile.threads - 1}], n in [0, {last}]", of)
        text = algebra.info(word).results[0].text
        found.append(SharedAccess(algebra.simplify(
            f"(thread)[n, e] -> (({text}) * {(1, unit)[k]} + e), domain: thread in [0, {tile.threads - 1}], n in [0, {last}], "
            f"e in [0, {unit - 1}]"), unit))
    return found


# ---- kernels ----

def _epilogue(nest: TiledProduct, schedule: ContractionGpuSchedule) -> Form:
    """Return the plan of the epilogue's code. One step converts `vec` adjacent sums of a thread to results."""
    counts, vec = nest.counts, schedule.vec
    box = {"batch": (0, counts["batch"] - 1), "row": (0, counts["row"] - 1),
           "group": (0, counts["column"] // vec - 1), "vec": (0, vec - 1)}
    index = compose(nest.positions(vec), algebra.call("shape", "unmap", nest.shape.text))
    return Form(nest.epilogue, nest.epilogue.entry, index, Schedule(vec=vec), box,
                given={nest.dot: partial(_sum, dtype=nest.dot.shape.dtype, text=schedule.of_thread())})


def _summed(nest: TiledProduct) -> Form:
    """Return the plan of the epilogue's code for one sum. The code runs after the parts of the sum were added."""
    index = compose(_position(nest), algebra.call("shape", "unmap", nest.shape.text))
    return Form(nest.epilogue, nest.epilogue.entry, index, Schedule(), {"position": (0, nest.shape.elements - 1)},
                given={nest.dot: partial(_sum, dtype=nest.dot.shape.dtype, text="total")})


def _sum(body: Body, dtype: str, text: str) -> List[Value]:
    return [body.declare("product", dtype, 1, text)]


def _written(nest: TiledProduct, form: Form, index: str, context: Context) -> "Tuple[StepCode, List[Touched]]":
    """Return the code of one step of the epilogue, and the code's memory accesses."""
    body = Body(context.target, context.helpers, form, index, context.excess)
    body.region(nest.epilogue.entry.body)
    for root in nest.epilogue.roots:
        body.store(root)
    return StepCode.of_body(body, form.loop.vec), body.touched


def operand_texts(nest: TiledProduct, operand: int, index: str, name: str = "line") -> "Tuple[str, str]":
    """Return two C texts whose sum is a position in an operand. One depends on `batch` and on the row (or column, for
    the right operand), whose C variable is `name`; the other depends on `step`, the index along the sum.
    """
    of_line, of_step = apart(nest, operand)
    line, step = algebra.rename(of_line, "batch", name), algebra.rename(of_step, "step")
    return algebra.c_text(line, index, "added").results[0], algebra.c_text(step, index, "added").results[0]


def condition_texts(nest: TiledProduct, operand: int, index: str, name: str = "line") -> "List[ConditionText]":
    """Return the conditions under which an element of the operand exists, in the variables of `operand_texts`."""
    found = []
    for number in nest.conditions_of(operand):
        (low, high), = algebra.ranges(sum_map(nest, Inside(number)))
        of_line, of_step = apart(nest, Inside(number))
        line, step = algebra.rename(of_line, "batch", name), algebra.rename(of_step, "step")
        last = nest.conditions[number].last
        texts = algebra.c_text(line, index, "term").results[0], algebra.c_text(step, index, "added").results[0]
        found.append(ConditionText(*texts, last, low < 0, high > last))
    return found


def tiled(nest: TiledProduct, schedule: ContractionGpuSchedule, k: int, index: str, copied: str) -> Dict[str, Any]:
    """Return the fields of TiledOperand for operand k. copied: the map (.., pass) -> (line, step) of the elements that
    a thread copies. A line is a row of the left operand or a column of the right operand.
    """
    at, side, vec = algebra.c_text(copied, index, "term"), ("row", "column")[k], schedule.loads[k]
    lines, count = (schedule.block.rows, schedule.block.columns)[k], nest.counts[side]
    (line, step), (line_at, step_at) = at.results, operand_texts(nest, k, index)
    thread = algebra.info(copied).variables[0]
    own = [*at.constraints, *([f"{thread.name} <= {thread.hi}"] if thread.hi < schedule.threads - 1 else [])]
    return {"name": "ab"[k], "pointer": nest.operands[k].pointer, "lines": lines, "vec": vec, "line": line, "step": step,
            "passes": -(-lines * schedule.block.steps // vec // schedule.threads), "own": " && ".join(own),
            "first": f"{side}_block", "count": count, "last": count - (1 if nest.along_steps(k) else vec),
            "line_at": line_at, "step_at": step_at, "conditions": condition_texts(nest, k, index)}


def exact_sum(choice: Choice[TiledProduct, ContractionGpuSchedule], context: Context) -> Optional[ExactSum]:
    """Return the exact sum, which replaces a tile's sum if the tile's sum is NaN. Return None if a tile's sum is always
    exact, because all elements exist or because zeros in place of missing elements do not change the sum.
    """
    nest, d, kind, t = choice.nest, context.target, choice.nest.dot.shape.dtype, choice.index
    if not nest.conditions or kind not in ("f32", "f64"):
        return None
    operands = []
    for k, (name, buffer) in enumerate(zip(("row", "column"), nest.operands)):
        dtype = buffer.shape.dtype
        body = Body(d, context.helpers, _summed(nest), t, context.excess)
        value = body.real(Value(body.from_memory(dtype, f"of_{name}"), dtype, 1, dtype == "f16")).text
        operands.append(ExactOperand(buffer.pointer, d.memory(dtype), *operand_texts(nest, k, t, name),
                                     condition_texts(nest, k, t, name), value))
    return ExactSum(d.types[kind], choice.schedule.of_thread(), operands,
                    added(d, kind, operands[0].value, operands[1].value, "sum"))


def _operand(choice: Choice[TiledProduct, ContractionGpuSchedule], k: int, context: Context) -> "Tuple[LoadedOperand, Touched]":
    nest, schedule, t, d = choice.nest, choice.schedule, choice.index, context.target
    buffer, kind, vec, along = nest.operands[k], nest.dot.shape.dtype, schedule.loads[k], nest.along_steps(k)
    dtype, sum_bytes = buffer.shape.dtype, dtypes.storage_bytes(kind)
    size = dtypes.storage_bytes(dtype) * vec
    body = Body(d, context.helpers, _summed(nest), t, context.excess)
    element = f"{'ab'[k]}_next[pass].at[e]"
    value = body.real(Value(body.from_memory(dtype, element), dtype, 1, dtype == "f16")).text
    at = load_map(schedule, k, along, context.device.contraction_gpu.run_bytes // sum_bytes)
    operand = LoadedOperand(**tiled(nest, schedule, k, t, at), along=along, element=d.memory(dtype), value=value,
                            word=word_type(size), put=word_type(sum_bytes * vec))
    return operand, Touched("read", buffer, element_map(nest, k), size if vec > 1 else 0)


def added(d: Target, kind: str, a: str, b: str, total: str) -> str:
    """Return the C text of a sum after one more product is added, with a single rounding. Integers wrap around."""
    return f"(int)((unsigned){total} + (unsigned){a} * (unsigned){b})" if kind == "s32" \
        else f"{d.math('fma', kind)}({a}, {b}, {total})"


def word_type(size: int) -> str:
    return {16: "uint4", 8: "uint2", 4: "unsigned", 2: "unsigned short", 1: "unsigned char"}[size]


class Written(NamedTuple):
    """The code that follows the sums in a kernel of tiles.

    code: the epilogue of `vec` sums, or their stores.
    reads, results: the buffers that the code reads and writes.
    seen: the code's memory accesses.
    """

    code: StepCode
    reads: List[Buffer]
    results: List[Buffer]
    seen: List[Touched]
    functions: List[CFunction]


def sums_written(choice: Choice[TiledProduct, ContractionGpuSchedule], context: Context) -> Written:
    """Return the epilogue; if the sum is cut into parts, the stores of a part's sums instead."""
    nest, schedule, d, t = choice.nest, choice.schedule, context.target, choice.index
    if schedule.parts == 1:
        code, touched = _written(nest, _epilogue(nest, schedule), t, context)
        functions = [function_text(d, context.helpers, nest.epilogue, f, context.excess)
                     for f in reversed(nest.epilogue.functions[1:])]
        return Written(code, buffers_of(nest.epilogue, nest.epilogue.entry),
                       [root.buffer for root in nest.epilogue.roots], touched, functions)
    sums, vec = choice.scratch[0], schedule.vec
    position, part = (algebra.c_text(of, t).results[0] for of in (nest.positions(vec), part_map(nest, schedule)))
    stored: "List[Statement]" = [Let(d.index[t], "position", position), Assign(f"{sums.pointer}[{part}]", schedule.of_thread())]
    return Written(StepCode([], stored, [], vec), [], [sums], [Touched("write", sums, part_map(nest, schedule))], [])


def _kernel(choice: Choice[TiledProduct, ContractionGpuSchedule], context: Context) -> Kernel:
    nest, schedule = choice.nest, choice.schedule
    d, tile, kind, t = context.target, schedule.block, nest.dot.shape.dtype, choice.index
    counts, unit, padding = nest.counts, WORD // dtypes.storage_bytes(kind), context.device.contraction_gpu.padding
    placing, _ = Placing.of([digit for digit in block_counts(nest, schedule) if digit[1] > 1], tile.threads, t)
    both, written = [_operand(choice, k, context) for k in (0, 1)], sums_written(choice, context)
    (row, column), (_, group) = ([algebra.c_text(text, t, "term").results[0] for text in thread_maps(schedule, unit, by)]
                                 for by in (unit, schedule.vec))
    record = ContractionGpuRecord(
        placing, d.types[kind], tile, unit, word_type(WORD), (tile.rows + padding, tile.columns + padding),
        [operand for operand, _ in both], counts["step"], part_steps(counts["step"], schedule.parts, tile), row, column,
        group, added(d, kind, "a.at[i]", "b.at[j]", "total[i][j]"), counts["row"], counts["column"], schedule.vec, exact_sum(choice, context), written.code)
    return kernel_of_tiles(choice, context, Text("kernels/contraction_gpu", record), [touched for _, touched in both],
                           written)


def kernel_of_tiles(choice: Choice[TiledProduct, ContractionGpuSchedule], context: Context, text: Text,
                    read: "Sequence[Touched]", written: Written) -> Kernel:
    """Return the kernel whose source is printed from `text`. read: the kernel's accesses to the operands."""
    nest, d = choice.nest, context.target
    text.functions, text.attribute = written.functions, d.launch_bounds(choice.schedule.threads)
    return Kernel(choice.grids[0], nest, arguments(d, [*nest.operands, *written.reads], written.results, nest.shared),
                  text, Report([*read, *(access for access in written.seen if access not in read)], written.code))


def _sum_kernel(choice: Choice[TiledProduct, ContractionGpuSchedule], context: Context) -> Kernel:
    nest, schedule, grid = choice.nest, choice.schedule, choice.grids[1]
    d, t, sums = context.target, choice.index, choice.scratch[0]
    placing, _ = Placing.of([("position", nest.shape.elements)], grid.threads, t)
    code, touched = _written(nest, _summed(nest), t, context)
    part = algebra.c_text(part_map(nest, schedule), t).results[0]
    record = SumRecord(placing, d.types[nest.dot.shape.dtype], schedule.parts, f"{sums.pointer}[{part}]", code)
    functions = [function_text(d, context.helpers, nest.epilogue, f, context.excess)
                 for f in reversed(nest.epilogue.functions[1:])]
    reads = [sums, *buffers_of(nest.epilogue, nest.epilogue.entry)]
    return Kernel(grid, nest, arguments(d, reads, [root.buffer for root in nest.epilogue.roots], nest.shared),
                  Text("kernels/contraction_gpu_sum", record, functions, d.launch_bounds(grid.threads)),
                  Report([Touched("read", sums, part_map(nest, schedule)), *touched], code))
