"""The contraction hero on CPUs: products in register tiles.

A work-item has a block of the result: some rows by some units of columns. It goes through the steps of the sum in
chunks, and through the block in tiles, whose accumulators are registers: a tile adds the products of a chunk to the
block's totals. These lie in the result where nothing follows, else in an array of the work-item, from which the
epilogue makes results. A long sum has as many roundings one after another as a chunk has products and it has chunks.

The tile is templates/parts/contraction.j2, the block templates/kernels/contraction_cpu.j2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Iterable, List, Optional, Tuple

from gen import algebra
from gen.emit.body import Body
from gen.emit.form import Form
from gen.emit.templates import macro
from gen.emit.values import Touched, Value
from gen.heroes.hero import Choice, Context, Hero, Refused
from gen.heroes.kernel import Grid, Kernel, Placing, Report, StepCode, Text, arguments, function_text
from gen.plan.buffers import buffers_of, memory_map
from gen.plan.contraction import Contraction, Digit
from gen.plan.digits import place
from gen.plan.partition import compose
from gen.schedule import LINE, Schedule


@dataclass(frozen=True)
class ContractionSchedule(Schedule):
    """rows, units: of a block; row_blocks, unit_blocks: of a matrix of the result. long_blocks: blocks of columns that
    have `units`; those after them have one unit less. tile_units: of a tile, at most; 0: of the block. chunk: steps
    that a tile takes. to: the distance of rows in the result, where totals lie there; 0: they are in an array of the
    work-item."""

    rows: int = 1
    row_blocks: int = 1
    units: int = 1
    unit_blocks: int = 1
    long_blocks: int = 1
    tile_units: int = 0
    chunk: int = 1
    to: int = 0

    def text(self) -> str:
        words = [f"{self.rows} rows by {self.units * self.lanes} columns", f"{self.chunk} steps at once"]
        return ", ".join([super().text(), *words, "totals in the result" if self.to else "totals in an array"])


@dataclass(frozen=True)
class StepLoop:
    """A loop over a digit of the sum. name: of its variable; by: steps of it at once."""

    name: str
    digit: Digit
    by: int


@dataclass(frozen=True)
class Block:
    """The sums of the blocks of columns for which a condition holds ("": all others). units: of a block. last_from,
    last_to: where the last one begins in the operand and in the totals, from the block's first unit."""

    condition: str
    units: int
    last_from: int
    last_to: int


@dataclass(frozen=True)
class Words:
    """The words of a tile. name: of its function; vector: of sums; part: of these, a lane; single, units, total: types in
    memory; space: of totals; splat, mad: functions that give all lanes an element or a group, and that add products."""

    name: str
    vector: str
    part: str
    single: str
    units: str
    total: str
    space: str
    group: int
    splat: str
    mad: str

    @staticmethod
    def of(nest: Contraction, in_result: bool, context: Context) -> Words:
        """in_result: whether totals are in the result, not in an array of the work-item."""
        d, dtype, operands = context.target, nest.dot.shape.dtype, (nest.single.shape.dtype, nest.units.shape.dtype)
        vector, part = {"f32": ("floats", "float"), "f64": ("doubles", "double"), "s32": ("ints", d.types["s32"])}[dtype]
        single, units = map(d.memory, operands)
        space = d.pointer if in_result else ""
        if nest.group == 1:
            return Words(f"tile_{vector}" + "_of_result" * bool(space), vector, part, single, units, d.types[dtype], space,
                         1, f"splat_{vector}", f"mad_{vector}")
        name = "_".join(dict.fromkeys(operands))
        return Words(f"tile_{name}", vector, part, single, units, d.types[dtype], space, nest.group, "splat_group",
                     f"mad_{name}")


@dataclass(frozen=True)
class ContractionCpuRecord:
    """templates/kernels/contraction_cpu.j2 prints this record.

    words: of its tile. row: the variable of the rows ("": there is one row).
    first_unit, end_unit: the first unit of a block ("": 0) and the one after its last, as C text. single, units: where the
    operands' blocks begin, as C text; row_step, next_unit: the distances of rows and of units in them. rows, last_rows:
    of a block, of the last one. columns: of the result; lanes: of a unit; all_units: of a row; tile_units: of a tile,
    at most (0: of a block). overlap: columns that the last unit shares with the one before it. loops: over the sum.
    total: where the totals of a block begin in the result, as C text; "": they are in an array. to: the distance of
    their rows. step: a unit of the epilogue; element: of a row that has no unit."""

    placing: Placing
    words: Words
    row: str
    first_unit: str
    end_unit: str
    single: str
    units: str
    row_step: int
    next_unit: int
    rows: int
    row_blocks: int
    last_rows: int
    columns: int
    lanes: int
    all_units: int
    tile_units: int
    overlap: int
    blocks: List[Block]
    loops: List[StepLoop]
    total: str
    to: int
    step: Optional[StepCode]
    element: Optional[StepCode]


class ContractionCpuHero(Hero[Contraction, ContractionSchedule]):
    """One kernel, whose work-items have a block of the result each."""

    name = "contraction"
    nest_class = Contraction

    def takes(self, nest: Contraction, context: Context) -> bool:
        if not context.device.wide or not context.target.counted_function:
            raise Refused("its tiles are written in vectors")
        if nest.reads_first or nest.aliases:
            raise Refused("a result lies over an operand")
        if any(root.at for root in nest.partition.roots):
            raise Refused("where a result lies is known at run time")
        return True

    def schedules(self, nest: Contraction, context: Context) -> "Iterable[ContractionSchedule]":
        numbers, rows = context.device.contraction_cpu, nest.row.size
        all_units = nest.all_units
        most = min(numbers.few_rows.get(rows, numbers.units), all_units)
        if all_units <= numbers.whole_units:
            most = all_units
        tile, chunk = 0, numbers.chunk
        if rows <= numbers.skinny_rows and most < all_units and nest.next_unit == nest.unit:
            tile, chunk = most, numbers.skinny_chunk
            most = min(all_units, max(most, numbers.skinny_bytes // (rows * LINE)))
        count, block = -(-all_units // most), min(rows, numbers.rows)
        last = nest.steps[-1].size
        chunk = -(-last // -(-last // chunk))       # chunks of nearly one size
        alone = chunk == math.prod(digit.size for digit in nest.steps)
        return [ContractionSchedule(lanes=nest.unit, rows=block, row_blocks=-(-rows // block),
                                    units=-(-all_units // count), unit_blocks=count,
                                    long_blocks=all_units - (-(-all_units // count) - 1) * count,
                                    tile_units=tile, chunk=chunk, to=_direct(nest) if alone or not nest.overlap else 0)]

    def forms(self, nest: Contraction, schedule: ContractionSchedule, context: Context) -> "Iterable[Form]":
        return [] if schedule.to else [_epilogue(nest)]

    def maps(self, nest: Contraction, schedule: ContractionSchedule, context: Context) -> "Iterable[str]":
        begins = [_begin(nest, schedule, start) for start in nest.starts]
        if schedule.to:
            begins.append(_begin(nest, schedule, compose(_positions(nest), _flat(nest))))
        return [*begins, place(_counts(nest, schedule), 1)[0]]

    def grids(self, choice: Choice[Contraction, ContractionSchedule], context: Context) -> "List[Grid]":
        index, blocks = place(_counts(choice.nest, choice.schedule), 1)
        positions = _positions(choice.nest, _lanes(choice.nest))
        return [Grid(choice.nest.name, choice.schedule, choice.index, blocks, positions)]

    def build(self, choice: Choice[Contraction, ContractionSchedule], context: Context) -> "List[Kernel]":
        return [_kernel(choice.nest, choice.schedule, choice.grids[0], context)]


HERO = ContractionCpuHero()


def _counts(nest: Contraction, schedule: ContractionSchedule) -> "List[Tuple[str, int]]":
    """The digits of a work-item's number."""
    outer = [(f"g{k}", nest.outer[k].size) for k in nest.order]
    return [*outer, ("unit_block", schedule.unit_blocks), ("row_block", schedule.row_blocks)]


def _row(nest: Contraction) -> str:
    """The variable of the digit of rows."""
    return "row" if nest.rows is None else f"g{nest.rows}"


def _positions(nest: Contraction, lanes: int = 0) -> str:
    """The map from the digits and the lanes of a unit to the position in the result. The unit is the variable `unit`,
    or, where one shares columns with the unit before it, its first column is `column`. lanes: of a unit (0: all)."""
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
    """The variable of the columns in that map, and its bounds."""
    if nest.overlap or lanes == 1:
        return "column", (0, nest.columns - lanes)
    return "unit", (0, nest.columns // nest.unit - 1)


def _lanes(nest: Contraction) -> int:
    """The columns that the epilogue makes at once."""
    return nest.unit if nest.columns >= nest.unit else 1


def _flat(nest: Contraction) -> str:
    """The map from the position to the place in the first result."""
    root = nest.partition.roots[0]
    return compose(algebra.call("shape", "unmap", nest.shape.text), compose(root.map, memory_map(root.shape)))


def _direct(nest: Contraction) -> int:
    """The distance of rows in the result where it is the product as it is, whose columns are neighbours; else 0."""
    roots = nest.partition.roots
    if len(roots) > 1 or nest.epilogue.root_read(roots[0]).source is not nest.dot or nest.columns < nest.unit \
            or roots[0].shape.dtype != nest.dot.shape.dtype:
        return 0
    flat, (name, (_, last)) = compose(_positions(nest), _flat(nest)), _columns(nest, nest.unit)
    along = algebra.access(flat, name)[0].stride if last else None
    row = algebra.access(flat, _row(nest))[0].stride if nest.rows is not None else nest.columns
    if algebra.access(flat, "lane")[0].stride != 1 or algebra.guards(flat) \
            or (last and along != (1 if name == "column" else nest.unit)):
        return 0
    return max(row or 0, 0)


def _epilogue(nest: Contraction) -> Form:
    """What a unit of the epilogue computes; an element of it, where a row has no unit."""
    partition, unmap = nest.epilogue, algebra.call("shape", "unmap", nest.shape.text)
    lanes = _lanes(nest)
    box = {f"g{k}": (0, digit.size - 1) for k, digit in enumerate(nest.outer)}
    box.update([_columns(nest, lanes)])
    if lanes > 1:
        box.update({"vec": (0, 0), "lane": (0, lanes - 1)})
    return Form(partition, partition.entry, compose(_positions(nest, lanes), unmap), Schedule(lanes=lanes), box,
                given={nest.dot: partial(_total, dtype=nest.dot.shape.dtype, lanes=lanes)})


def _total(body: Body, dtype: str, lanes: int) -> List[Value]:
    """The product's elements, which `from` points to."""
    text = body.d.gather(dtype, lanes, "from") if lanes > 1 else "*from"
    return [body.declare("product", dtype, lanes, text)]


def _begin(nest: Contraction, schedule: ContractionSchedule, flat: str) -> str:
    """The map from a work-item's coordinates to the value of a map at the first element of its block."""
    counts = _counts(nest, schedule)
    units = nest.columns // nest.unit if schedule.unit_blocks > 1 else 1
    counts = [("first_unit", units) if name == "unit_block" else (name, count)
              for name, count in counts]
    first = {_row(nest): f"row_block * {schedule.rows}", "unit": "first_unit", "column": f"first_unit * {nest.unit}",
             "lane": "0", "vec": "0"}
    box = ", ".join(f"{name} in [0, {count - 1}]" for name, count in counts)
    at = ", ".join(first.get(v.name, v.name) for v in algebra.info(flat).variables)
    by_dims = algebra.call("map", "dims", flat)
    block = algebra.simplify(f"({', '.join(name for name, _ in counts)}) -> ({at}), domain: {box}")
    return compose(block, by_dims)


def _blocks(nest: Contraction, schedule: ContractionSchedule) -> "List[Block]":
    """The blocks of columns by their sizes, the last one by itself where its last unit shares columns."""
    def block(condition: str, units: int, last: bool = False) -> Block:
        first = nest.all_units - units
        last_from = nest.last_unit - first * nest.next_unit if last else (units - 1) * nest.next_unit
        last_to = (units - 1) * nest.unit - nest.overlap * (last and schedule.to > 0)
        return Block(condition, units, last_from, last_to)

    count, longer, units = schedule.unit_blocks, schedule.long_blocks, schedule.units
    blocks = [block(f"unit_block == {count - 1}", units - (longer < count), True)] * (nest.overlap > 0)
    before = count - len(blocks)
    blocks += [block(f"unit_block < {longer}", units)] * (min(longer, before) > 0)
    blocks += [block("", units - 1)] * (before > longer)
    return [*blocks[:-1], replace(blocks[-1], condition="")]


def _kernel(nest: Contraction, schedule: ContractionSchedule, grid: Grid, context: Context) -> Kernel:
    d, index_type, numbers = context.target, grid.index, context.device.contraction_cpu
    words = Words.of(nest, schedule.to > 0, context)
    for function in (words.mad, words.splat):
        context.helpers.need(function)
    context.helpers.texts.setdefault("tile_shapes", macro("parts/contraction.j2", "shapes", tiles=numbers.tiles))
    context.helpers.texts.setdefault(words.name, macro("parts/contraction.j2", "tile", d=d, w=words, lanes=nest.unit,
                                                       largest=numbers.largest))
    placing, _ = Placing.of([(name, size) for name, size in _counts(nest, schedule) if size > 1], 1, index_type)
    seen = [Touched("read", buffer, start) for buffer, start in zip((nest.single, nest.units), nest.starts)]

    def begin(access: Touched) -> str:
        begins = algebra.c_text(_begin(nest, schedule, access.position), index_type, "added").results[0]
        return f"{access.buffer.pointer} + {begins}"

    single, units = map(begin, seen)
    total, code, step, element = "", StepCode([], [], []), None, None
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
    count, longer = schedule.unit_blocks, schedule.long_blocks
    first_unit = "" if count == 1 else f"unit_block * {schedule.units}" if longer == count else \
        f"unit_block * {schedule.units - 1} + (unit_block < {longer} ? unit_block : {longer})"
    end_unit = str(nest.all_units) if count == 1 else f"first_unit + {schedule.units}" \
        if longer == count else f"first_unit + (unit_block < {longer} ? {schedule.units} : {schedule.units - 1})"
    loops = [StepLoop(f"k{k}", digit, schedule.chunk if k == len(nest.steps) - 1 else 1)
             for k, digit in enumerate(nest.steps)]
    record = ContractionCpuRecord(
        placing, words, _row(nest) if nest.rows is not None else "", first_unit, end_unit, single, units,
        nest.row.single, nest.next_unit, schedule.rows, schedule.row_blocks,
        nest.row.size - schedule.rows * (schedule.row_blocks - 1), nest.columns, nest.unit,
        nest.all_units, schedule.tile_units, nest.overlap, _blocks(nest, schedule), loops, total,
        schedule.to or schedule.units * nest.unit, step, element)
    reads = [nest.single, nest.units, *buffers_of(nest.epilogue, nest.epilogue.entry)]
    functions = [function_text(d, context.helpers, nest.epilogue, f, context.excess)
                 for f in reversed(nest.epilogue.functions[1:])]
    return Kernel(grid, nest, arguments(d, reads, [root.buffer for root in nest.partition.roots], nest.shared),
                  Text("kernels/contraction_cpu", record, functions, d.launch_bounds(1)), Report(seen, code))
