"""The hero (kernel emitter) of products of small matrices on CPUs: straight-line code in which a vector is a row of the
result.

A work-item computes several products of the batch, one after another. Each row of the result is an accumulator. In each
step of the sum, the kernel loads a row of one operand (`units`) and, for each accumulator, multiplies it by an element
of the other operand (`single`).

A row is loaded and stored as one vector, whose size is a power of two. If the vector is longer than the row, its excess
lanes belong to the next row. The last row of a matrix has no next row. Its vector therefore begins in the row before,
and is shifted after the load, or merged with the row before at the store. If a result has one row, its elements are
stored one by one.

Without an epilogue, rows are stored in the result. Otherwise they are stored in an array of the work-item, from which
the epilogue computes the results in memory order. The template is templates/kernels/small_products_cpu.j2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Iterable, List, Optional, Tuple

from gen import algebra
from gen.emit.body import Body
from gen.emit.form import Form
from gen.emit.values import Touched, Value
from gen.heroes.hero import Choice, Context, Hero, Refused
from gen.heroes.kernel import Grid, Kernel, Placing, Report, StepCode, Text, arguments, elements_of, function_text, \
    share
from gen.hlo import dtypes
from gen.plan.buffers import buffers_of, memory_map
from gen.plan.digits import place
from gen.plan.partition import compose
from gen.plan.small_product import SmallProduct
from gen.schedule import LINE, Schedule


@dataclass(frozen=True)
class SmallProductsSchedule(Schedule):
    """The schedule of products of small matrices.

    width: number of elements of the vector that contains a row.
    products: number of products of a work-item.
    to_result: true if rows are stored in the result, false if in an array.
    lanes: number of lanes of the epilogue's vectors.
    """

    width: int = 1
    products: int = 1
    to_result: bool = False

    def text(self) -> str:
        return ", ".join([super().text(), f"{self.products} products at once", f"rows in vectors of {self.width}",
                          f"totals in {'the result' if self.to_result else 'an array'}"])


@dataclass(frozen=True)
class SmallOperand:
    """An operand of small products.

    type: C type of an element.
    at: C text of the start of matrix number `batch`.
    step: C text of the distance, in elements, from step 0 of the sum to step `k` of the same matrix.
    """

    type: str
    at: str
    step: str


@dataclass(frozen=True)
class Overlap:
    """The loads and stores of vectors that are longer than a row.

    behind: number of elements of the next row in a vector.
    whole: the first step of the sum whose vector would extend beyond the end of its matrix. It is the number of steps
        if no vector does.
    shift: C function that moves a row from the end of a vector to its beginning ("": no step needs it).
    join: C function that puts the end of a row before the next row, in one vector ("": results have one row).
    stage: C function that stores the vector of such a row in an array of the work-item ("": results have more rows).
    """

    behind: int
    whole: int
    shift: str
    join: str
    stage: str


@dataclass(frozen=True)
class SmallProductsRecord:
    """The record that templates/kernels/small_products_cpu.j2 prints. The operand `single` is multiplied element by
    element, `units` row by row.

    row: C text of the distance in `single`, in elements, from row 0 to row `i`.
    rows, columns, steps: numbers of rows and columns of the result, and of steps of the sum.
    unrolled: true if the steps are unrolled.
    type, dtype: type of a sum, as C text and as an HLO type.
    vector: C type of a row, a vector of `width` elements.
    gathered: the distances in `units` from column 0 to each column, if a row is read element by element; else empty.
    overlap: how longer vectors are loaded and stored; None if a vector is exactly a row.
    load, store: C functions that load vectors from `units` and store vectors of totals.
    mad: C function that multiplies and adds.
    first, end: C texts of the number of a work-item's first product, and of the product after its last one.
    space: address space of the totals.
    to: C text of the start of matrix number `batch` in the result; "" if totals are in an array of `totals` elements.
    to_row: C text of the distance in the result, in elements, from row 0 to row `i`.
    last: the distance, in elements, from a matrix's start to the vector that ends with the matrix.
    unit, element: the epilogue of `lanes` elements and of one element (None: no elements need it).
    first_unit, end_unit: C texts of the number of the first vector of the work-item's epilogue, and of the vector after
        its last one.
    first_element, end_element: the range of elements after the last vector. They belong to the work-item for which the
        condition `at_end` is true ("": there is one work-item).
    """

    placing: Placing
    single: SmallOperand
    units: SmallOperand
    row: str
    rows: int
    columns: int
    steps: int
    unrolled: bool
    type: str
    dtype: str
    vector: str
    width: int
    gathered: List[int]
    overlap: Optional[Overlap]
    load: str
    store: str
    mad: str
    first: str
    end: str
    space: str
    to: str
    totals: int
    to_row: str
    last: int
    lanes: int
    unit: Optional[StepCode]
    element: Optional[StepCode]
    first_unit: str
    end_unit: str
    first_element: int
    end_element: int
    at_end: str


class SmallProductsCpuHero(Hero[SmallProduct, SmallProductsSchedule]):
    """The emitter (hero) that writes one kernel, in which a work-item computes several products."""

    name, leads = "contraction", True
    nest_class = SmallProduct

    def takes(self, nest: SmallProduct, context: Context) -> bool:
        if not context.device.wide or not context.target.counted_function:
            raise Refused("its rows need vectors, which the target does not have")
        if nest.reads_first or nest.aliases:
            raise Refused("a result overwrites an operand")
        if any(root.at for root in nest.partition.roots):
            raise Refused("the place of a result is only known at run time")
        return True

    def schedules(self, nest: SmallProduct, context: Context) -> "Iterable[SmallProductsSchedule]":
        numbers, counts = context.device.small_products_cpu, nest.counts
        size = dtypes.storage_bytes(nest.dot.shape.dtype)
        lanes, matrix = LINE // size, counts["row"] * counts["column"]
        width = max(numbers.least_bytes // size, 1 << (counts["column"] - 1).bit_length())
        # smallest number of products whose results are a whole number of vectors
        each = lanes // math.gcd(matrix, lanes)
        products = max(1, min(numbers.elements // matrix, counts["batch"]) // each) * each
        to_result = _direct(nest)
        schedule = SmallProductsSchedule(width=width, products=products, to_result=to_result,
                                         lanes=1 if to_result else lanes)
        items, group = -(-counts["batch"] // products), context.device.group
        threads = group if items >= context.device.group_items * group else 1
        return [replace(schedule, threads=context.threads or threads)]

    def forms(self, nest: SmallProduct, schedule: SmallProductsSchedule, context: Context) -> "Iterable[Form]":
        return [] if schedule.to_result else [form for form in _epilogues(nest, schedule) if form]

    def maps(self, nest: SmallProduct, schedule: SmallProductsSchedule, context: Context) -> "Iterable[str]":
        moved = [nest.offset_map(0, "row"), *(nest.offset_map(k, "step") for k in (0, 1))]
        return [*(nest.begin_map(k) for k in (0, 1)), *moved, nest.result_map(),
                place(_counts(nest, schedule), schedule.threads)[0]]

    def grids(self, choice: Choice[SmallProduct, SmallProductsSchedule], context: Context) -> "List[Grid]":
        _, blocks = place(_counts(choice.nest, choice.schedule), choice.schedule.threads)
        return [Grid(choice.nest.name, choice.schedule, choice.index, blocks, choice.nest.positions(1))]

    def build(self, choice: Choice[SmallProduct, SmallProductsSchedule], context: Context) -> "List[Kernel]":
        return [_kernel(choice.nest, choice.schedule, choice.grids[0], context)]


HERO = SmallProductsCpuHero()


def _counts(nest: SmallProduct, schedule: SmallProductsSchedule) -> "List[Tuple[str, int]]":
    """Return the coordinates of a work-item as (name, size)."""
    return [("block", -(-nest.counts["batch"] // schedule.products))]


def _direct(nest: SmallProduct) -> bool:
    """Return true if the result consists of the products themselves, without an epilogue, and its rows are contiguous.
    """
    roots = nest.partition.roots
    if len(roots) > 1 or nest.epilogue.root_read(roots[0]).source is not nest.dot \
            or roots[0].shape.dtype != nest.dot.shape.dtype or roots[0].shape.lead:
        return False
    flat = algebra.info(compose(algebra.call("shape", "unmap", nest.shape.text),
                                compose(roots[0].map, memory_map(roots[0].shape))))
    return flat.results[0].text == flat.variables[0].name


def _epilogues(nest: SmallProduct, schedule: SmallProductsSchedule) -> "Tuple[Optional[Form], Optional[Form]]":
    """Return the plans of the epilogue's code for a vector and for an element. The first is None if the result is
    shorter than a vector, the second if vectors cover the whole result.
    """
    lanes, elements = schedule.lanes, nest.shape.elements
    unmap = algebra.call("shape", "unmap", nest.shape.text)

    def form(at: str, lanes: int, **box: "Tuple[int, int]") -> Form:
        return Form(nest.epilogue, nest.epilogue.entry, compose(at, unmap), Schedule(lanes=lanes), box,
                    given={nest.dot: partial(_total, dtype=nest.dot.shape.dtype, lanes=lanes)})
    units = elements // lanes
    in_units = f"(unit)[vec, lane] -> (unit * {lanes} + vec + lane), domain: unit in [0, {units - 1}], " \
               f"vec in [0, 0], lane in [0, {lanes - 1}]"
    return (form(in_units, lanes, unit=(0, units - 1), vec=(0, 0), lane=(0, lanes - 1)) if units else None,
            form(f"(element) -> (element), domain: element in [0, {elements - 1}]", 1, element=(0, elements - 1))
            if elements % lanes else None)


def _total(body: Body, dtype: str, lanes: int) -> List[Value]:
    """Add the code that loads `lanes` elements of the products, from the C pointer `from`."""
    return [body.declare("product", dtype, lanes, body.d.gather(dtype, lanes, "from") if lanes > 1 else "*from")]


def _codes(nest: SmallProduct, schedule: SmallProductsSchedule, index: str,
           context: Context) -> "Tuple[List[Optional[StepCode]], List[Touched]]":
    """Return the code for each plan of `_epilogues` (None for a missing plan), and the code's memory accesses."""
    codes: List[Optional[StepCode]] = []
    seen: List[Touched] = []
    for form in _epilogues(nest, schedule):
        body = Body(context.target, context.helpers, form, index, context.excess) if form else None
        if body:
            body.region(nest.epilogue.entry.body)
            for root in nest.epilogue.roots:
                body.store(root)
            seen += [access for access in body.touched if access not in seen]
        codes.append(StepCode.of_body(body, 1) if body else None)
    return codes, seen


def _overlap(nest: SmallProduct, width: int, context: Context) -> Optional[Overlap]:
    """Return how vectors that are longer than their rows are loaded and stored; None if vectors are exactly rows."""
    dtype, columns, helpers = nest.dot.shape.dtype, nest.counts["column"], context.helpers
    vector, behind, whole = context.target.register(dtype, width), width - columns, _whole(nest, width)
    if not behind:
        return None
    shift = helpers.shuffle(f"shift_{vector}_by_{behind}", dtype, width,
                            [min(lane + behind, width - 1) for lane in range(width)], False) \
        if whole < nest.counts["step"] and not _gathered(nest, width) else ""
    if nest.counts["row"] == 1:
        stage = context.target.word("store", dtype, width) if context.target.declares_vectors \
            else helpers.need("stage", dtype, str(width))
        return Overlap(behind, whole, shift, "", stage)
    join = helpers.shuffle(f"join_{vector}_{columns}", dtype, width,
                           [*range(columns - behind, columns), *range(width, width + columns)])
    return Overlap(behind, whole, shift, join, "")


def _whole(nest: SmallProduct, width: int) -> int:
    """Return the first step at which a vector of `width` elements would extend beyond the end of the matrix; the number
    of steps if there is none.
    """
    at = nest.offsets(1, "step")
    return next((k for k, begin in enumerate(at) if begin + width > max(at) + nest.counts["column"]), len(at))


def _gathered(nest: SmallProduct, width: int) -> "List[int]":
    """Return the distances from column 0 to each column, in elements, if rows must be read element by element;
    otherwise an empty list.
    """
    at, columns = nest.offsets(1, "step"), nest.offsets(1, "column")
    rows = columns == list(range(len(columns))) and all(
        begin - (width - len(columns)) >= min(at) for begin in at[_whole(nest, width):])
    return [] if rows else columns


def _kernel(nest: SmallProduct, schedule: SmallProductsSchedule, grid: Grid, context: Context) -> Kernel:
    d, t, dtype, width = context.target, grid.index, nest.dot.shape.dtype, schedule.width
    counts, elements, lanes = nest.counts, nest.shape.elements, schedule.lanes
    rows, columns, ((_, blocks),) = counts["row"], counts["column"], _counts(nest, schedule)
    matrix = rows * columns
    placing, _ = Placing.of([digit for digit in _counts(nest, schedule) if digit[1] > 1], schedule.threads, t)

    def text(of: str, name: str = "") -> str:
        return algebra.c_text(algebra.rename(of, name) if name else of, t, "added").results[0]

    def word(verb: str, own: str, space: bool) -> str:
        return d.word(verb, dtype, width) if d.declares_vectors \
            else context.helpers.need(verb if space else own, dtype, str(width))
    single, units = (SmallOperand(d.memory(buffer.shape.dtype), f"{elements_of(d, buffer)} + {text(nest.begin_map(k))}",
                                  text(nest.offset_map(k, "step"), "k")) for k, buffer in enumerate(nest.operands))
    seen = [Touched("read", buffer, nest.begin_map(k)) for k, buffer in enumerate(nest.operands)]
    root, to = nest.partition.roots[0], ""
    codes: List[Optional[StepCode]] = [None, None]
    if schedule.to_result:
        seen.append(Touched("write", root.buffer, nest.result_map()))
        to = f"{root.buffer.pointer} + {text(nest.result_map())}"
    else:
        codes, touched = _codes(nest, schedule, t, context)
        seen += [access for access in touched if access not in seen]
    space = d.space(not to or root.buffer.own)

    def part(each: int, total: int) -> "Tuple[str, str]":
        return share("block", each, blocks, total) if blocks > 1 else ("0", str(total))
    gathered, unrolled = _gathered(nest, width), rows * counts["step"] <= context.device.small_products_cpu.unrolled
    record = SmallProductsRecord(
        placing, single, units, text(nest.offset_map(0, "row"), "i"), rows, columns, counts["step"], unrolled,
        d.types[dtype], dtype, d.register(dtype, width), width, gathered, _overlap(nest, width, context),
        "" if gathered else word("load", "fetch", bool(d.space(nest.operands[1].own))),
        word("store", "stage", bool(space)), context.helpers.need("mad", dtype, str(width)),
        *part(schedule.products, counts["batch"]), space, to, min(schedule.products * matrix, elements),
        text(nest.row_map(), "i"), matrix - width, lanes, codes[0], codes[1],
        *part(schedule.products * matrix // lanes, elements // lanes), elements // lanes * lanes, elements,
        f"block == {blocks - 1}" if blocks > 1 else "")
    reads = [*nest.operands, *buffers_of(nest.epilogue, nest.epilogue.entry)]
    functions = [function_text(d, context.helpers, nest.epilogue, f, context.excess)
                 for f in reversed(nest.epilogue.functions[1:])]
    return Kernel(grid, nest, arguments(d, reads, [root.buffer for root in nest.partition.roots], nest.shared),
                  Text("kernels/small_products_cpu", record, functions, d.launch_bounds(schedule.threads)),
                  Report(seen, codes[0] or codes[1] or StepCode([], [], [])))
