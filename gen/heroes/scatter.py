"""The scatter hero (kernel emitter): results begin as copies of the operands; then a second kernel combines the updates
into them.

The position of an update is a map with runtime variables: the indices that are read for the update's row. If an index
is out of range, the updates of this row are dropped.

CPUs combine updates in order, so every run gives the same bits. Work-items share the result along one dimension. If no
index selects along this dimension, each work-item takes its part of every window of updates. If an index does, each
work-item takes the updates whose index is in its part of the result; then the result is only shared if it is larger
than the cache.

On GPUs each thread has one update. If indices are unique, updates are combined by loads and stores. Otherwise they are
combined by an atomic operation of the device, or by compare-and-swap of the 32-bit word (64-bit in CUDA) that contains
the element. In some cases there is no such operation, and updates are combined in order:
- elements of 8 bytes in OpenCL 1.2
- small elements, if the result is not a whole number of words
- several results, if their new values depend on each other or if several of them are overwritten
- complex numbers, except sums in CUDA, whose real and imaginary parts are added separately

CUDA's atomicAdd flushes subnormals of f32 to zero; the error bound of the results allows for this.

If indices are sorted, a GPU thread takes several successive rows for one element of the window. It sums successive
updates of the same position in registers, and combines the sum by one atomic operation. The thread compares positions
itself, so the result is correct even if the rows are not sorted as promised.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple, Union

from gen import algebra
from gen.emit.body import Body
from gen.emit.form import Form
from gen.emit.helpers import Helpers
from gen.emit.maps import INDEX_TYPES, conditions, tested
from gen.statements import Assign, Block, Call, Code, If, Let, Statement
from gen.emit.values import Access, Value
from gen.heroes.hero import Choice, Context, Hero
from gen.heroes.kernel import Grid, Kernel, Report, StepCode, Text, kernel_of, piece_end
from gen.hlo import Shape, array_shape, dtypes, sorted_indices
from gen.plan.buffer import Buffer
from gen.plan.buffers import memory_map
from gen.plan.partition import Function, Root, compose, identity
from gen.plan.scatter import Scatter, combined_by, component, parameters_used, through, varying
from gen.schedule import LANES, Device, LoopSchedule, Schedule
from gen.targets import NARROW, TINY, Target, bits


class Thread(NamedTuple):
    """The updates of a thread: the map from the thread and its step to the index of an update, and the bounds of the
    map's variables. The map is "" if the variables themselves are the index of an update.
    """

    map: str
    box: "Dict[str, Tuple[int, int]]"


@dataclass(frozen=True)
class InOrder(Schedule):
    """The schedule of updates in order. The `items` work-items share the result along `dimension`; each has `chunk`
    indices of this dimension.

    moved: true if an index selects along this dimension, so that windows of updates move along it.
    picked: number of rows in a block. A work-item tests all rows of a block, then combines the updates of the rows that
        belong to it. 0: rows are tested one by one. Blocks are used only if the index alone decides to which work-item
        a row belongs.
    updates_prefetch: prefetch distance in updates (0: no prefetch).
    prefetch_bytes: maximum number of bytes that are prefetched of each update, and of the result for each update.
    """

    items: int = 1
    chunk: int = 1
    dimension: int = -1
    moved: bool = False
    picked: int = 0
    updates_prefetch: int = 0
    prefetch_bytes: int = 0
    line: int = 1
    # The types are signed, because a C compiler may assume that signed sums do not wrap. So it sees that a loop's
    # accesses are contiguous.
    index_types = INDEX_TYPES[1:]

    def thread(self, nest: Scatter) -> "Thread":
        return Thread("", {})

    def groups(self, nest: Scatter) -> int:
        """Return the number of blocks of the launch."""
        return self.items

    def kernel(self, context: Context, nest: Scatter, grid: Grid) -> Kernel:
        return _in_order(context.target, context.helpers, nest, self, grid, context.excess)

    def text(self) -> str:
        how = "" if self.items == 1 else f", {self.chunk} of dimension {self.dimension} of the result each"
        how += f", rows picked in blocks of {self.picked}" * (self.picked > 0)
        how += f", prefetch {self.updates_prefetch} updates ahead" * (self.updates_prefetch > 0)
        return f"updates in order, {self.items} item{'s' * (self.items > 1)}{how}"


@dataclass(frozen=True)
class Updates(LoopSchedule):
    """The schedule of one thread for each update, or for each run of rows.

    plain: true if no two updates write the same element.
    run: number of rows of a thread.
    how: words for reports.
    """

    how: str = ""
    plain: bool = False
    run: int = 1
    index_types = INDEX_TYPES

    def thread(self, nest: Scatter) -> "Thread":
        return _of_update(nest, self) if self.run == 1 else _of_run(nest, self)

    def groups(self, nest: Scatter) -> int:
        """Return the number of blocks of the launch."""
        return self.blocks(nest.shape.elements if self.run == 1 else _runs(nest, self))

    def kernel(self, context: Context, nest: Scatter, grid: Grid) -> Kernel:
        write = _by_thread if self.run == 1 else _by_run
        return write(context.target, context.helpers, nest, self, grid, context.excess)

    def text(self) -> str:
        return f"{super().text()}, {self.how}"


Updating = Union[InOrder, Updates]


# ---- records for the templates ----

@dataclass(frozen=True)
class Swap:
    """A function that combines an update by compare-and-swap (templates/parts/compare_and_swap.j2).

    array, update, word: the types of the array, of an update, and of the word that contains an element and possibly
        others.
    per_word, bits: number of elements in a word, number of bits of an element.
    mask: C text of the bits of the lowest element of a word.
    combine: the lines that compute the element's new value.
    next: C text of the word's new value or, if a word has several elements, of the element's new bits.
    """

    name: str
    array: str
    update: str
    word: str
    per_word: int
    bits: int
    mask: str
    combine: Sequence[Statement]
    next: str


@dataclass(frozen=True)
class UpdateCode:
    """An update, as C text.

    indices: the lines that read the update's indices.
    in_range: the condition that all indices are in range.
    variables: the lines that define the runtime variables of the update's position.
    combine: the lines that combine the update with the result.
    """

    indices: Sequence[Statement]
    in_range: str
    variables: Sequence[Statement]
    combine: Sequence[Statement]


@dataclass(frozen=True)
class ByUpdate(UpdateCode):
    """The record that templates/kernels/scatter_by_update.j2 prints.

    group, item: true if the C text uses the number of the work-group, and of the work-item in its group.
    inside: the condition that a work-item has an update.
    swaps: the functions that `combine` calls.
    """

    group: bool
    item: bool
    inside: str
    swaps: List[Swap]


@dataclass(frozen=True)
class Position:
    """The names of two C variables: the position at which an update changes a result, and the position of the updates
    summed so far.
    """

    update: str
    sums: str


@dataclass(frozen=True)
class Sum:
    """The variable in which successive updates of the same element of a result are summed.

    zero: the variable's initial value.
    first: C text of the value of the first update of a sum.
    """

    type: str
    name: str
    zero: str
    first: str


@dataclass(frozen=True)
class ByRun(ByUpdate):
    """The record that templates/kernels/scatter_by_run.j2 prints. A run is the sequence of rows of a work-item.

    run: number of rows of a run.
    positions: the variables of the positions at which an update changes the results; equal positions occur once.
    sums: the variable of the sum of updates, for each result.
    update: the lines that compute an update and its positions.
    combine: the lines that add the update to the sums.
    flush: the lines that combine the sums with the results.
    """

    run: int
    positions: List[Position]
    sums: List[Sum]
    update: Sequence[Statement]
    flush: Sequence[Statement]


@dataclass(frozen=True)
class DimensionLoop:
    """A loop over a dimension of the updates. owned: the condition that the loop's index is in the work-item's part; ""
    if the loop's bounds imply this.
    """

    name: str
    first: str
    end: str
    owned: str = ""


@dataclass(frozen=True)
class Picked:
    """The loop over rows that picks the rows that belong to the work-item, block after block.

    name: the variable that counts rows.
    size: number of all rows.
    block: number of rows of a block.
    end: C text of the end of a block.
    part: C text of the number of elements in the work-item's part.
    test: the condition that a row is in range and in the work-item's part. It has no branches, because a processor
        cannot predict the answer.
    """

    name: str
    size: int
    block: int
    end: str
    part: str
    test: str


@dataclass(frozen=True)
class InOrderCode(UpdateCode):
    """The record that templates/kernels/scatter_in_order.j2 prints.

    chunk: the size of a work-item's part of the shared dimension; 0 for a single work-item.
    rows, window: the loops over rows and over the updates of a row. `rows` begins with the loops over the window
        dimensions that the function `_outer` returns.
    owned: the condition that a whole row is in the work-item's part ("": no test).
    prefetch: the lines that prefetch data of a later row.
    picked: the innermost loop over rows, if rows are picked block by block (class Picked).
    """

    prefetch: Sequence[Statement]
    chunk: int
    rows: List[DimensionLoop]
    window: List[DimensionLoop]
    owned: str
    picked: Optional[Picked] = None


# ---- the choice of the kernel ----

class ScatterHero(Hero[Scatter, Updating]):
    """The emitter (hero) of scatter, with three kinds of kernels: updates are combined in order; each thread combines
    one update; or each thread combines a run of sorted rows.
    """

    name = "scatter"
    nest_class = Scatter

    def schedules(self, nest: Scatter, context: Context) -> "Iterable[Updating]":
        atomic, device = [_atomic(context.target, nest, k) for k in range(len(nest.targets))], context.device
        plain = nest.unique and not any(target.shape.dtype in dtypes.PACKED for target in nest.targets)
        if device.cpu or (not plain and None in atomic):
            return [_shared(context, nest)]
        differs = nest.instruction in varying(nest.partition.computation)
        how = (
            "unique indices"
            if plain
            else ", ".join(dict.fromkeys(str(word) for word in atomic))
            + (": may differ between runs in the order that updates of one element are taken" if differs else "")
            + (
                ", subnormals of f32 are zero"
                if any(
                    word == "atomicAdd" and of.shape.dtype in ("f32", "c64") for word, of in zip(atomic, nest.targets)
                )
                else ""
            )
        )
        run, why = (1, "") if plain else _run(device, nest)
        return [Updates(device.scatter.threads, how=how + why, plain=plain, run=run)]

    def index_types(self, schedule: Updating) -> "Sequence[str]":
        return tuple(schedule.index_types)

    def forms(self, nest: Scatter, schedule: Updating, context: Context) -> "Iterable[Form]":
        threads = [schedule.thread(nest), *_later(nest, schedule)]
        return [form for thread in threads for form in _forms(nest, thread)]

    def maps(self, nest: Scatter, schedule: Updating, context: Context) -> "Iterable[str]":
        return [form.mapped(compose(nest.place, memory_map(target.shape)))
                for form in self.forms(nest, schedule, context) for target in nest.targets]

    def accesses(self, nest: Scatter, schedule: Updating, context: Context) -> "List[Access]":
        """Return the memory accesses of an update, which is combined with one element of each result."""
        (flat, *_), read = self.maps(nest, schedule, context), super().accesses(nest, schedule, context)
        return [*read, *(Access("write", target.buffer, flat, 1) for target in nest.targets)]

    def grids(self, choice: Choice[Scatter, Updating], context: Context) -> "List[Grid]":
        nest, schedule = choice.nest, choice.schedule
        thread = schedule.thread(nest).map or identity(nest.shape.dims)
        return [Grid(nest.name, schedule, choice.index, schedule.groups(nest), thread)]

    def build(self, choice: Choice[Scatter, Updating], context: Context) -> "List[Kernel]":
        return [choice.schedule.kernel(context, choice.nest, choice.grids[0])]


HERO = ScatterHero()


def _run(device: Device, nest: Scatter) -> "Tuple[int, str]":
    """Return the number of rows of a thread, and the reason in words; (1, "") if indices are not sorted. The number of
    threads is about the number of positions that indices can select, or more if the device needs more threads.
    """
    numbers = device.scatter
    if not sorted_indices(nest.instruction):
        return 1, ""
    count, combiner = len(nest.targets), nest.instruction.attributes["to_apply"]
    for k, target in enumerate(nest.targets):
        if combined_by(combiner, k, count) in (None, "overwrite"):
            return 1, f"; sorted, but result {k} is not combined by one op that goes in any order"
        if target.shape.dtype in (*dtypes.PACKED, *TINY):
            return 1, f"; sorted, but sums of {target.shape.dtype} are not kept"
    rows, places = _rows(nest), math.prod(last + 1 for last in nest.lasts)
    if rows <= numbers.runs * device.units:
        return 1, f"; sorted, but {rows} rows are too few for runs"
    run = -(-rows // max(numbers.runs * device.units, places))
    if run == 1:
        return 1, f"; sorted, but {rows} rows for {places} places are no runs"
    run = min(run, max(2, nest.shape.elements // (numbers.unit_threads * device.units)))
    return run, f"; sorted: {run} rows a thread, one operation for those of one place"


def _rows(nest: Scatter) -> int:
    return math.prod(size for k, size in enumerate(nest.shape.dims)
                     if k not in nest.instruction.attributes["update_window_dims"])


def _atomic(d: Target, nest: Scatter, k: int) -> "Optional[str]":
    """Return the way in which a GPU combines an update: the name of a function, "plain store" or "compare and swap".
    Return None if none of them is correct.
    """
    shape, count = nest.targets[k].shape, len(nest.targets)
    dtype, part = shape.dtype, combined_by(nest.instruction.attributes["to_apply"], k, count)
    width = dtypes.TABLE[dtype].bits if dtype in dtypes.PACKED else bits(dtype)
    parts = [combined_by(nest.instruction.attributes["to_apply"], j, count) for j in range(count)]
    # all results at a position must get their values from the same update
    if count > 1 and (part is None or (part == "overwrite" and parts.count("overwrite") > 1 and not nest.unique)):
        return None
    # The real and the imaginary part are updated separately. Plain stores could leave parts of two different updates in
    # an element, so only sums are allowed.
    if dtypes.is_complex(dtype):
        sums = part == "add" and not {None, "overwrite"} & set(parts)
        return d.atomic("add", dtypes.TABLE[dtype].part, True) if sums else None
    if part == "overwrite" and width >= 8:
        return "plain store"
    if width > d.atomic_bits or (width < 32 and shape.bytes % 4):
        return None
    word = d.atomic(part, dtype,
                    not {None, "overwrite"} & set(parts)) if width >= 32 and part not in (None, "overwrite") else None
    return word or "compare and swap"


# ---- the code of updates ----

class ScatterWriter:
    """The writer of the pieces of a kernel: reads of indices, values of updates, combination."""

    def __init__(self, d: Target, helpers: Helpers, nest: Scatter, index_type: str, excess: bool,
                 thread: Thread) -> None:
        self.d, self.helpers, self.nest, self.index_type, self.t = d, helpers, nest, index_type, d.index[index_type]
        self.at, self.of = (Body(d, helpers, form, index_type, excess) for form in _forms(nest, thread))
        self.excess, self.thread = excess, thread.map
        self.named: List[Let] = []                       # definitions of the runtime variables in an update's position
        self.found: List[Value] = []                     # the indices that are read
        self.checks: List[List[str]] = []  # for each index, the conditions under which it is in range
        self.swaps: Dict[str, Swap] = {}  # the compare-and-swap functions, by name
        self.words: Dict[Buffer, int] = {}  # for each buffer, the bytes of the words that compare-and-swap replaces

    def rows(self) -> "Tuple[List[Statement], str]":
        """Return the lines that read the indices of an update, and the condition that all of them are in range."""
        lines = self.read()
        return lines, " && ".join(check for checks in self.checks for check in checks)

    def read(self) -> List[Statement]:
        body = self.at
        body.region(self.nest.indices.entry.body)
        for k, (root, last) in enumerate(zip(self.nest.indices.roots, self.nest.lasts)):
            value = body.read(self.nest.indices.root_read(root), self.nest.indices.entry.body)
            kind = dtypes.TABLE[value.dtype]
            checks = [f"{value.text} >= 0"] * (kind.kind == "sint")
            if last < (1 << (kind.bits - (kind.kind == "sint"))) - 1:
                checks.append(f"{value.text} <= {last if last < 1 << 31 else self.d.literal(last, value.dtype)}")
            self.named.append(Let(self.t, f"at{k}", f"({self.t}){value.text}"))
            self.checks.append(checks)
            self.found.append(value)
        return body.text.lines

    def variables(self, also: str = "") -> List[Statement]:
        """Return the definitions of the runtime variables that the position of an update uses, and of the variable
        named `also`.
        """
        return [let for let in self.named if let.name == also or self.of.uses(let.name)]

    def uses(self, variable: str, box: "Dict[str, Tuple[int, int]]") -> bool:
        """Return true if the C text of an update uses `variable`, the number of a work-item or of a work-group."""
        return self.at.uses(variable) or self.of.uses(variable) or variable in tested(self.thread, box)

    def inside(self, box: "Dict[str, Tuple[int, int]]") -> str:
        """Return the condition under which there is an update for a work-item."""
        return " && ".join(conditions(self.thread, box, self.index_type))

    def combined(self, how: "Sequence[Optional[str]]") -> List[Statement]:
        """Return the lines that combine an update with the results. how: for each result, the name of an atomic
        operation; None to load, combine and store.
        """
        nest, body = self.nest, self.of
        combiner = nest.instruction.attributes["to_apply"]
        new, at_of = self.update()
        if how[0] is not None:
            for k, (target, at) in enumerate(zip(nest.targets, at_of)):
                body.text.add(self.atomic(k, str(how[k]), target, at, new[k]))
            return body.text.lines
        used = parameters_used(combiner)
        old = [self.load(x, at) if k in used else Value("0", x.shape.dtype)
               for k, (x, at) in enumerate(zip(nest.targets, at_of))]
        results = [body.without_excess(v, "next") for v in body.scalar(combiner, [*old, *new])]
        for target, at, value in zip(nest.targets, at_of, results):
            self.store(target, at, value)
        return body.text.lines

    def update(self) -> "Tuple[List[Value], List[str]]":
        """Return an update's value for each result, and the variable of its position in each result."""
        nest, body = self.nest, self.of
        body.region(nest.partition.entry.body)
        new = [Value("0", target.shape.dtype) for target in nest.targets]
        for root in nest.partition.roots:
            new[root.result] = body.without_excess(body.read(nest.partition.root_read(root), nest.partition.entry.body),
                                                   "update")
        variables: Dict[str, str] = {}
        at_of = []
        for target in nest.targets:
            flat = body.mapped(compose(nest.place, memory_map(target.shape)))
            body.accessed("combine", target.buffer, flat)
            text = body.c(flat)[0]
            if text not in variables:
                variables[text] = body.name("at", "")
                body.text.add(Let(self.t, variables[text], text))
            at_of.append(variables[text])
        return new, at_of

    def summed(self, how: "Sequence[str]") -> "Dict[str, Any]":
        """Return the fields of ByRun that depend on the combiner."""
        nest, body = self.nest, self.of
        new, at_of = self.update()
        new = [body.real(value) for value in new]
        positions = [Position(at, body.name("last", "")) for at in dict.fromkeys(at_of)]
        totals = [Value(body.name("sum", ""), value.dtype) for value in new]
        sums = [Sum(body.type(total.dtype), total.text, self.d.literal(0, total.dtype), value.text)
                for total, value in zip(totals, new)]
        sums_of = {position.update: position.sums for position in positions}
        flush = [self.atomic(k, how[k], target, sums_of[at], totals[k])
                 for k, (target, at) in enumerate(zip(nest.targets, at_of))]
        update = body.text.take()
        for k, total in enumerate(totals):
            body.text.add(Assign(total.text, body.without_excess(self.component(body, [*totals, *new], k), 'next').text))
        return {"positions": positions, "sums": sums, "flush": flush, "update": update, "combine": body.text.lines}

    def load(self, target: Root, at: str) -> Value:
        dtype, body = target.shape.dtype, self.of
        text = f"{target.buffer.pointer}[{at}]" if dtype not in dtypes.PACKED else \
            f"{self.helpers.need('packed_load', dtype, self.index_type)}({target.buffer.pointer}, {at})"
        return body.declare("old", dtype, 1, text if dtype in dtypes.PACKED else body.from_memory(dtype, text),
                            dtype == "f16")

    def store(self, target: Root, at: str, value: Value) -> None:
        dtype, body, text = target.shape.dtype, self.of, self.of.to_memory(value)
        if dtype in dtypes.PACKED:
            u8, per, width = self.d.types["u8"], dtypes.per_byte(dtype), dtypes.TABLE[dtype].bits
            byte, shift, mask = f"{target.buffer.pointer}[{at} / {per}]", f"{at} % {per} * {width}", (1 << width) - 1
            body.text.add(Assign(byte, f"({u8})(({byte} & ~({mask} << {shift})) | (({u8}){text} & {mask}) << {shift})"))
        else:
            body.text.add(Assign(f"{target.buffer.pointer}[{at}]", text))

    def atomic(self, k: int, how: str, target: Root, at: str, new: Value) -> Statement:
        """Return the statement that combines an update with an element that other threads may update at the same time.
        """
        d, dtype, body = self.d, target.shape.dtype, self.of
        if how == "plain store":
            return Assign(f"{target.buffer.pointer}[{at}]", body.to_memory(new))
        if dtypes.is_complex(dtype):
            return ", ".join(f"{how}(&{target.buffer.pointer}[{at}].{half}, {new.text}.{half})" for half in ("re", "im")) + ";"
        if how != "compare and swap":
            kind = d.types["u64"] if dtype == "s64" and how in ("atomicAdd", "atomicAnd", "atomicOr",
                                                                "atomicXor") else d.types[dtype]
            pointer = f"({d.atomic_space}{kind} *)({target.buffer.pointer} + {at})"
            return Call(how, pointer, f"({kind}){new.text}")
        return Call(self.swap(k), target.buffer.pointer, at, (body.moved(new) if dtype == "f16" else new).text)

    def swap(self, k: int) -> str:
        """Add a C function that combines an update by compare-and-swap, and return the function's name."""
        d, nest, name = self.d, self.nest, f"{self.nest.name}_combine{k}"
        dtype, count = nest.targets[k].shape.dtype, len(nest.targets)
        width = dtypes.TABLE[dtype].bits if dtype in dtypes.PACKED else bits(dtype)
        word, per = d.types["u64" if width == 64 else "u32"], max(1, 32 // width)
        half = dtype == "f16"
        body = Body(d, self.helpers, Form(nest.partition, Function(name, ())), self.index_type, self.excess)
        mask = f"0x{(1 << width) - 1:x}u"
        if per > 1:
            self.words[nest.targets[k].buffer] = 4
        held = "was" if per == 1 else f"(was >> shift & {mask})"
        old = body.declare("old", dtype, 1, self.from_word(held, dtype), half)
        new = Value("update", dtype, 1, half)
        unused = Value("0", dtype)
        values = [old if j == k else unused for j in range(count)] + [new if j == k else unused for j in range(count)]
        result = body.without_excess(self.component(body, values, k), "next")
        text = body.to_memory(result)
        text = d.reinterpret(text, dtype, f"u{width}") if dtype in ("f32", "f64") else f"({word}){text}"
        self.swaps[name] = Swap(name, d.array(dtype, False), body.type(dtype, 1, half), word, per, width, mask,
                                body.text.lines, text)
        return name

    def component(self, body: Body, values: "List[Value]", k: int) -> Value:
        """Return component k of the combiner's result, which depends on component k of its arguments only."""
        combiner = self.nest.instruction.attributes["to_apply"]
        op = component(combiner, k)
        if len(values) == 2:
            return body.scalar(combiner, values)[0]
        if op.opcode == "parameter":
            return values[op.parameter_number or 0]
        x = [values[through(o).parameter_number or 0] for o in op.operands]
        return body.apply(op.opcode, op.attributes, op.shape.dtype, [v.dtype for v in x], x, "next")

    def from_word(self, text: str, dtype: str) -> str:
        """Return C text of the value of an element whose bits are in a word."""
        d = self.d
        if dtype in ("f32", "f64"):
            return d.reinterpret(text, f"u{bits(dtype)}", dtype)
        if dtype == "bf16" or dtype in TINY:
            return f"{self.helpers.need('value', dtype)}(({d.types['u16' if dtype == 'bf16' else 'u8']}){text})"
        if dtype in NARROW and dtype[0] == "s":
            half = 1 << (dtypes.TABLE[dtype].bits - 1)
            return f"({d.register(dtype)})((int)({text} ^ {half}u) - {half})"
        return f"({d.types['u16'] if dtype == 'f16' else d.register(dtype)}){text}"


def _kernel(d: Target, writer: ScatterWriter, grid: Grid, template: str, record: UpdateCode) -> Kernel:
    nest = writer.nest
    code = StepCode([*record.indices, *record.variables, *getattr(record, "update", [])], record.combine, [],
                    repeated="for each update")
    touched = [access._replace(word=writer.words.get(access.buffer, 0)) if access.verb == "combine" else access
               for access in writer.at.touched + writer.of.touched]
    return kernel_of(d, writer.helpers, writer.excess, grid, nest, [nest.indices, nest.partition],
                     Text(template, record, attribute=d.launch_bounds(grid.threads)), Report(touched, code),
                     writes=[target.buffer for target in nest.targets])


def _by_thread(d: Target, helpers: Helpers, nest: Scatter, form: Updates, grid: Grid, excess: bool) -> Kernel:
    thread = form.thread(nest)
    writer, box = ScatterWriter(d, helpers, nest, grid.index, excess, thread), thread.box
    indices, in_range = writer.rows()
    combine = writer.combined([None] * len(nest.targets) if form.plain
                              else [_atomic(d, nest, k) for k in range(len(nest.targets))])
    group, item = (writer.uses(name, box) for name in ("bl_x", "th_x"))
    record = ByUpdate(indices, in_range, writer.variables(), combine, group, item, writer.inside(box),
                      list(writer.swaps.values()))
    return _kernel(d, writer, grid, "kernels/scatter_by_update", record)


def _by_run(d: Target, helpers: Helpers, nest: Scatter, form: Updates, grid: Grid, excess: bool) -> Kernel:
    """Return the kernel in which a thread takes one element of the window in a run of successive rows. It sums
    successive updates of the same position before it changes the result.
    """
    thread = form.thread(nest)
    box = thread.box
    writer = ScatterWriter(d, helpers, nest, grid.index, excess, thread)
    indices, in_range = writer.rows()
    fields = writer.summed([str(_atomic(d, nest, k)) for k in range(len(nest.targets))])
    group, item = (writer.uses(name, box) for name in ("bl_x", "th_x"))
    record = ByRun(indices, in_range, writer.variables(), group=group, item=item, inside=writer.inside(box),
                   swaps=list(writer.swaps.values()), run=form.run, **fields)
    return _kernel(d, writer, grid, "kernels/scatter_by_run", record)


def _runs(nest: Scatter, form: Updates) -> int:
    """Return the number of threads. Each has several successive rows, for one element of the window."""
    rows = _rows(nest)
    return -(-rows // form.run) * (nest.shape.elements // rows)


def _of_run(nest: Scatter, form: Updates) -> Thread:
    """Return the updates of a thread: several successive rows, for one element of the window."""
    a, window, runs = nest.instruction.attributes, nest.shape.elements // _rows(nest), _runs(nest, form)
    # Updates are ordered by row, then by the window's order in memory, so that adjacent threads have adjacent elements
    # of the window.
    order = [k for k in nest.shape.minor_to_major if k in a["update_window_dims"]]
    order += [k for k in reversed(range(nest.shape.rank)) if k not in a["update_window_dims"]]
    ordered = algebra.call("shape", "unmap", array_shape(nest.shape.dtype, nest.shape.dims, tuple(order)).text)
    update = f"(p floordiv {window} * {form.run} + step) * {window} + p mod {window}"
    walk = algebra.simplify(f"(p)[step] -> ({update}), domain: p in [0, {runs - 1}], step in [0, {form.run - 1}], "
                            f"{update} in [0, {nest.shape.elements - 1}]")
    return Thread(compose(form.thread_map(runs), compose(walk, ordered)),
                  {**form.box(runs), "step": (0, form.run - 1)})


def _of_update(nest: Scatter, form: Updates) -> Thread:
    elements = nest.shape.elements
    return Thread(compose(form.thread_map(elements), algebra.call("shape", "unmap", nest.shape.text)),
                  form.box(elements))


def _forms(nest: Scatter, thread: Thread) -> "List[Form]":
    """Return the plans of the code for an update's indices and for its values."""
    return [Form(p, p.entry, thread.map, box=thread.box) for p in (nest.indices, nest.partition)]


def _shared(context: Context, nest: Scatter) -> InOrder:
    """Return the schedule in which each work-item has a part of the result, so that no two write the same element."""
    dims, a, device = nest.targets[0].shape.dims, nest.instruction.attributes, context.device
    if nest.shape.elements < device.scatter.shared_updates or any(target.shape.dtype in dtypes.PACKED
                                                                  for target in nest.targets):
        return InOrder()
    shape, indexed = nest.targets[0].shape, list(a["scatter_dims_to_operand_dims"])
    size_of = {d: dims[d] if d in indexed else _extent(nest, d) for d in range(len(dims)) if dims[d] > 1}

    def widest(among: "Sequence[int]", least: int) -> "Optional[int]":
        """Return the largest dimension of `among` that can be halved so that each half covers at least `least` bytes of
        memory; None if there is none.
        """
        wide = [d for d in among if size_of.get(d, 1) > 1 and -(-size_of[d] // 2) * _below(shape, d)
                * dtypes.storage_bytes(shape.dtype) >= least]
        return max(wide, key=lambda d: size_of[d], default=None)

    unindexed = [d for d in range(len(dims)) if d not in indexed and d not in a["inserted_window_dims"]]
    for among, items, least in (
        # preferred: parts so large that two work-items never write to the same cache line
        (unindexed, device.scatter.window_items, 2 * device.line),
        (indexed, device.scatter.indexed_items, 0),
        (unindexed, device.scatter.window_items, 0),
    ):
        dimension = widest(among, least)
        if dimension is not None:
            size, moved = size_of[dimension], among is indexed
            if moved and shape.bytes <= device.cache:
                break   # to read all indices again takes longer than to combine updates with elements in the cache
            chunk = -(-size // min(max(1, items * device.units), size))
            chunk = max(chunk, min(device.scatter.shared_neighbours, -(-size // 2)))
            chunk = -(-chunk // LANES) * LANES if chunk > LANES else chunk
            large = device.wide and not moved and shape.bytes > device.cache
            return InOrder(
                items=-(-size // chunk),
                chunk=chunk,
                dimension=dimension,
                moved=moved,
                picked=device.scatter.picked_rows * moved,
                updates_prefetch=device.scatter.prefetch * large,
                prefetch_bytes=device.loop_cpu.gathered_bytes,
                line=device.line,
            )
    return InOrder()


def _update_dim(nest: Scatter, d: int) -> "Optional[int]":
    """Return the dimension of the updates that corresponds to dimension d of the result; None if the updates have no
    such dimension, so that only an index selects along d.
    """
    a = nest.instruction.attributes
    if d in a["inserted_window_dims"]:
        return None
    batching = list(a.get("input_batching_dims", ()))
    if d in batching:
        row = a["scatter_indices_batching_dims"][batching.index(d)]
        row -= row > a["index_vector_dim"]
        return [k for k in range(nest.shape.rank) if k not in a["update_window_dims"]][row]
    return int(a["update_window_dims"][[k for k in range(len(nest.targets[0].shape.dims)) if k not in batching
                                        and k not in a["inserted_window_dims"]].index(d)])


def _extent(nest: Scatter, d: int) -> int:
    k = _update_dim(nest, d)
    return 1 if k is None else nest.shape.dims[k]


def _in_order(d: Target, helpers: Helpers, nest: Scatter, form: InOrder, grid: Grid, excess: bool) -> Kernel:
    index_type = grid.index
    writer = ScatterWriter(d, helpers, nest, index_type, excess, form.thread(nest))
    indices, in_range = writer.rows()
    combine = writer.combined([None] * len(nest.targets))
    a, dims = nest.instruction.attributes, nest.shape.dims
    window, (across, long) = list(a["update_window_dims"]), _order(nest, form)
    owned, named = "", ""
    if form.items > 1 and form.moved:
        named = f"at{list(a['scatter_dims_to_operand_dims']).index(form.dimension)}"
        coordinate = named + (f" + i{across}" if across is not None else "")
        owned = f"{coordinate} >= first && {coordinate} < first + {form.chunk}"

    def loop(k: int) -> DimensionLoop:
        if k == across and form.items > 1 and not form.moved:
            return DimensionLoop(f"i{k}", "first", piece_end("first", form.chunk, str(dims[k]),
                                                             dims[k] % form.chunk == 0))
        return DimensionLoop(f"i{k}", "0", str(dims[k]), owned if k == across else "")
    order = sorted(window, key=lambda k: -_stride(nest, k))
    later = _later(nest, form)
    prefetch = _prefetch(d, helpers, nest, form, index_type, excess, later[0],
                         loop(across)) if later and across is not None else []
    picked = _picked(writer, form, long[-1]) if form.picked and owned and across is None and long else None
    outer = [] if prefetch or picked else _outer(nest, order, long)
    record = InOrderCode(
        indices,
        in_range,
        writer.variables(named),
        combine,
        prefetch,
        form.chunk if form.items > 1 else 0,
        [loop(k) for k in (*outer, *(long[:-1] if picked else long))],
        [loop(k) for k in order if dims[k] != 1 and k not in outer],
        owned if across is None else "",
        picked,
    )
    return _kernel(d, writer, grid, "kernels/scatter_in_order", record)


def _outer(nest: Scatter, window: "List[int]", rows: "List[int]") -> "List[int]":
    """Return the window dimensions whose loops are outside the loops over rows. Their strides in the updates are longer
    than the strides of the rows, so updates are read in memory order. No index selects along these dimensions, so an
    element of the result is combined with its updates in the order of the rows.
    """
    indexed = {_update_dim(nest, d) for d in nest.instruction.attributes["scatter_dims_to_operand_dims"]}
    row = max((_below(nest.shape, k) for k in rows), default=nest.shape.elements)
    return [k for k in window if nest.shape.dims[k] != 1 and k not in indexed and _below(nest.shape, k) > row]


def _picked(writer: ScatterWriter, form: InOrder, row: int) -> Picked:
    """Return the loop over dimension `row` of the updates, in which a work-item picks the rows whose index is in its
    own part of the result.
    """
    d, nest = writer.d, writer.nest
    k = list(nest.instruction.attributes["scatter_dims_to_operand_dims"]).index(form.dimension)
    index, size = writer.found[k], nest.lasts[k] + 1
    unsigned = d.types["u64" if dtypes.TABLE[index.dtype].bits > 32 else "u32"]
    rest = size - (form.items - 1) * form.chunk  # number of elements of the last part
    part = str(form.chunk) if rest == form.chunk else \
        f"first + {form.chunk} <= {size} ? {form.chunk} : {size} - first"
    checks = [check for j, checks in enumerate(writer.checks) if j != k for check in checks]
    # one unsigned comparison tests that the index is not negative, in range, and in the part
    checks.append(f"({unsigned}){index.text} - ({unsigned})first < ({unsigned})part")
    test = checks[0] if len(checks) == 1 else " & ".join(f"({check})" for check in checks)
    rows = nest.shape.dims[row]
    block = min(form.picked, rows)
    return Picked(f"i{row}", rows, block, piece_end("block", block, str(rows), rows % block == 0), part, test)


def _order(nest: Scatter, form: InOrder) -> "Tuple[Optional[int], List[int]]":
    """Return two values. The first is the dimension of the updates along which work-items share the result; None if
    there is none, or if it has size 1. The second value lists the dimensions that number the rows of the updates.
    """
    dims, across = nest.shape.dims, _update_dim(nest, form.dimension) if form.items > 1 else None
    rows = [k for k in range(len(dims)) if k not in nest.instruction.attributes["update_window_dims"]]
    return None if across is not None and dims[across] == 1 else across, [k for k in rows if dims[k] != 1]


def _later(nest: Scatter, form: Schedule) -> "List[Thread]":
    """Return the map from an update to the update of a later row that is prefetched with it, as a list of one `Thread`.
    Return an empty list if nothing is prefetched.
    """
    if not isinstance(form, InOrder) or not form.updates_prefetch:
        return []
    dims, (across, rows) = nest.shape.dims, _order(nest, form)
    if across is None or not rows or dims[rows[-1]] <= form.updates_prefetch:
        return []
    names = [f"i{k}" for k in range(len(dims))]
    moved = [name + f" + {form.updates_prefetch}" * (k == rows[-1]) for k, name in enumerate(names)]
    domain = [f"{name} in [0, {size - 1 - form.updates_prefetch * (k == rows[-1])}]"
              for k, (name, size) in enumerate(zip(names, dims))]
    return [Thread(f"({', '.join(names)}) -> ({', '.join(moved)}), domain: {', '.join(domain)}",
                   {name: (0, size - 1) for name, size in zip(names, dims)})]


def _prefetch(d: Target, helpers: Helpers, nest: Scatter, form: InOrder, index_type: str, excess: bool,
              later: Thread, part: DimensionLoop) -> List[Statement]:
    """Return the lines that prefetch, for a later row, the work-item's part of the updates and the elements of the
    result that these updates change. Elements that are not contiguous are not prefetched.
    """
    out, box = Code(), later.box
    writer = ScatterWriter(d, helpers, nest, index_type, excess, later)
    indices, in_range = writer.rows()
    writer.update()
    inside = conditions(later.map, box, index_type)
    # only the beginning of a window is prefetched here; hardware prefetchers load the rest
    start = {f"i{k}": 0 for k in nest.instruction.attributes["update_window_dims"] if f"i{k}" != part.name}
    lines = []
    for _, buffer, flat, _ in writer.of.touched:
        variables = algebra.info(flat).variables
        size = dtypes.storage_bytes(buffer.shape.dtype)
        known = {**{v.name: (v.lo, v.hi) for v in variables if v.name in (let.name for let in writer.named)}, **box}
        always = {v.name for v in variables} <= set(known) and set(conditions(flat, known, index_type)) <= set(inside)
        if always and buffer.shape.dtype not in dtypes.PACKED and writer.of.stride(flat, part.name)[0] == 1:
            at = writer.of.address(buffer.pointer, flat, **start)
            lines += [d.prefetch("L2", at, line, size) for line in range(0, min(form.chunk * size, form.prefetch_bytes), form.line)]
    if lines:
        with out.nested(If(" && ".join(inside))):
            out.add(*indices)
            with out.nested(If(in_range) if in_range else Block()):
                out.add(*writer.variables(), Let(writer.t, part.name, part.first), *lines)
    return out.lines


def _below(shape: Shape, d: int) -> int:
    """Return the stride of dimension d of an array in its memory, in elements."""
    order = list(shape.minor_to_major)
    return math.prod(max(1, shape.dims[k]) for k in order[:order.index(d)])


def _stride(nest: Scatter, k: int) -> int:
    """Return the stride of window dimension k in the result's memory, in elements."""
    shape = nest.targets[0].shape
    return next((_below(shape, d) for d in shape.minor_to_major if _update_dim(nest, d) == k), math.prod(shape.dims))
