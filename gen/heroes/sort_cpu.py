"""The hero (kernel emitter) of sort and topk on CPUs. A work-item sorts rows, one after another
(templates/kernels/sort_cpu.j2), or selects the first k elements of each row (templates/kernels/topk_cpu.j2). All
methods are stable. A "word" is an integer from which the elements of all operands can be recovered (gen/heroes/sort.py,
Word).

The methods are:
- network: a sorting network sorts many short rows at the same time, one in each vector lane. It sorts words, or
  integers that consist of a key and an index in the row.
- insertion: insertion sort of short rows, by keys.
- words: radix sort of words. Each pass moves words between a scratch array and the results. Elements whose keys are
  constants are read again at the end.
- ranges: for long rows; several work-items may share a row. A first pass distributes words to ranges of values;
  each range is then sorted as by the method "words". If there is one operand, the ranges are in the result, and no more
  memory is needed.
- indices: radix sort of integers that consist of a key, of at most 32 bits, and of an index in the row; then the
  operands are gathered by these indices.
- keys: like "indices", but with keys and indices in separate arrays. If there are several groups of keys, one is sorted
  after the other, the least significant group first.
- merge: for comparators that are not proven to be an order (gen/hlo/order.py). Indices are merged in runs of 1, 2, 4,
  .., exactly as in gen/reference, so that the result is the same for any comparator.
- few: topk with small k. The first k elements so far are kept sorted.
- heap: topk with large k. The element on top of the heap is the one that will be replaced next.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Callable, Iterable, List, Optional, Sequence, Tuple, Union

from gen.emit.form import Form
from gen.emit.maps import INDEX_TYPES
from gen.heroes.hero import Choice, Context, Hero
from gen.heroes.kernel import CFunction, Grid, Kernel, Report, StepCode, Text, arguments
from gen.heroes.sort import Lane, Places, SortedRows, Word, SortWriter, order_of, scratch
from gen.hlo import Shape
from gen.hlo.order import Key
from gen.plan.whole import Whole
from gen.schedule import Schedule
from gen.schedule.devices import SortCpuNumbers


@dataclass(frozen=True)
class SortRowsSchedule(Schedule):
    """The schedule: `items` work-items, with `rows` rows each.

    how: the method, such as "network" or "words".
    digit: maximum number of bits of a radix digit.
    parts: number of work-items that share a row; 1: each row has one work-item.
    """

    items: int = 1
    rows: int = 1
    how: str = ""
    digit: int = 0
    parts: int = 1

    def text(self) -> str:
        way = f"{self.how}, digits of {self.digit} bits" if self.digit else self.how
        if self.parts > 1:
            return f"1 row in {self.parts} parts, {way}"
        return f"{self.items} item{'s' * (self.items > 1)} of {self.rows} row{'s' * (self.rows > 1)}, {way}"


@dataclass(frozen=True)
class Group:
    """A group of keys, which are sorted as one key of `bits` bits, at most 64.

    key: function that returns C text of the key at an index of the row.
    type: C type of the key.
    passes: number of radix passes, of `digit` bits each.
    reads: the indices of the operands from which the key is computed.
    """

    key: Callable[[str], str]
    type: str
    bits: int
    passes: int
    digit: int
    reads: List[int]


@dataclass(frozen=True)
class Words:
    """The words of rows: integers from which the elements of all operands can be recovered. The functions return C
    text.

    of: returns the word of the operands' elements at an index.
    plain: as `of`, but every element is its own key; no constant replaces it.
    sorted: as `of`, for the results' elements.
    parts: for each operand, the function that extracts its element from a word.
    again, kept: functions that replace `sorted` and `parts` until the sort is complete. If there is only one operand,
        its result's array contains words during the sort, and elements only afterwards.
    sure: true if `plain` gives the correct order for every row.
    constants: C texts of the constants that replace some elements as keys (gen/heroes/sort.py, Word).
    keyed: the index of the operand whose elements the constants may replace.
    element: the C type of the elements of operand `keyed` in memory.
    key: returns the key of such an element.
    rest: number of bits of a word below the key.
    bits: number of bits of a word's type.
    """

    type: str
    of: Callable[[str], str]
    plain: Callable[[str], str]
    sorted: Callable[[str], str]
    parts: List[Callable[[str], str]]
    again: Callable[[str], str]
    kept: List[Callable[[str], str]]
    sure: bool
    constants: List[str]
    keyed: int
    element: str
    key: Callable[[str], str]
    rest: int
    bits: int


@dataclass(frozen=True)
class SortRecord:
    """The values that templates/kernels/sort_cpu.j2 and topk_cpu.j2 print.

    how: the method, such as "network" or "words".
    size: number of elements of a row.
    kept: number of elements of a row in the results.
    count: number of rows.
    merges: number of passes of a merge.
    side: number of rows that a sorting network sorts at once, one in each lane.
    placed: C type of the integers that combine a key and an index; "" if they are not used.
    place_bits: number of bits of the index in such an integer.
    block: number of elements that topk compares at once.
    looked: maximum number of elements at the beginning of a row that topk reads in advance, to bound the keys of its
        results.
    lanes: how the code accesses the row of each array, operands then results.
    groups: groups of keys, the least significant first.
    less: function that returns C text of the comparator at two indices.
    held: number of words for which a work-item has an array on the stack; 0: they are in `scratch`.
    wide: true if kernels use a CPU's vectors.
    line: bytes of a cache line.
    numbers: the device's parameters for sorts (gen/schedule/devices.py).
    parts: number of work-items that share a row.
    """

    how: str
    size: int
    kept: int
    count: int
    items: int
    rows: int
    digit: int
    merges: int
    side: int
    placed: str
    place_bits: int
    block: int
    looked: int
    lanes: List[Union[Lane, Places]]
    operands: int
    words: Optional[Words]
    groups: List[Group]
    less: Callable[[str, str], str]
    scratch: List[str]
    held: int
    wide: bool
    line: int
    numbers: SortCpuNumbers
    parts: int

    @property
    def ranges(self) -> int:
        """Return the maximum number of ranges of a row: one for each value of the first radix digit, and two for each
        `range_size` words of the row.
        """
        return (1 << self.numbers.range_digit) + 2 * self.size // self.range_size

    @property
    def range_size(self) -> int:
        """Return the approximate number of elements of a range."""
        return max(self.numbers.range_size, self.size >> self.numbers.range_digit + 1)

    def bases(self, lanes: "Optional[Sequence[int]]" = None) -> "List[Tuple[str, str]]":
        """Return the position at which the row begins in each array, as a C variable and its value. lanes: the indices
        of the arrays; None: all arrays.
        """
        return [(f"at{n}", lane.base) for n, lane in enumerate(self.lanes)
                if lane.base and (lanes is None or n in lanes)]

    def operand(self, k: int, place: str) -> str:
        return self.lanes[k].at(place, f"at{k}")

    def result(self, k: int, place: str) -> str:
        n = self.operands + k
        return self.lanes[n].at(place, f"at{n}")


def _placed(rows: SortedRows) -> int:
    """Return the bits, 32 or 64, of the integer that holds a key and an index; 0 if 64 bits are not enough."""
    order = order_of(rows.op)
    bits = order.bits + (rows.size - 1).bit_length()
    return 0 if order.keys is None or bits > 64 else 64 if bits > 32 else 32


class SortCpuHero(Hero[Whole, SortRowsSchedule]):
    name, overwrites = "sort", True
    nest_class = Whole

    def takes(self, nest: Whole, context: Context) -> bool:
        return nest.op.opcode in ("sort", "topk") and context.device.cpu

    def schedules(self, nest: Whole, context: Context) -> "Iterable[SortRowsSchedule]":
        rows, order, numbers = SortedRows(nest), order_of(nest.op), context.device.sort_cpu
        word = Word.of(context.target, nest)
        digit = numbers.long_digit if rows.size >= numbers.long_row else numbers.digit
        if nest.op.opcode == "topk":
            how = "few" if rows.kept <= numbers.few else "heap"
        elif order.keys is None:
            how = "merge"
        elif self._side_by_side(rows, word, context):
            how = "network"
        elif rows.size <= numbers.inserted and len(order.groups()) == 1:
            how = "insertion"
        elif word is not None and word.constants is not None:
            how = "words"
        else:
            how = "indices" if order.bits <= 32 else "keys"
        parted = how == "words" and context.device.wide and rows.count == 1 and rows.size >= max(
            numbers.parted, numbers.parts * numbers.sampled + 1)  # the samples must reach the last part of the row
        long = word is not None and word.one and word.bytes * rows.size > numbers.held_bytes > 0
        if parted or how == "words" and long:
            how = "ranges"
        most = max(1, numbers.items * context.device.units)
        rows_per_item = max(-(-rows.count // most), min(rows.count, -(-numbers.item_elements // max(1, rows.size))), 1)
        if how == "network":
            rows_per_item += -rows_per_item % numbers.side
        yield SortRowsSchedule(items=max(1, -(-rows.count // rows_per_item)), rows=rows_per_item, how=how,
                               digit=digit if how in ("words", "ranges", "indices", "keys") else 0,
                               parts=numbers.parts if parted else 1)

    def _side_by_side(self, rows: SortedRows, word: "Optional[Word]", context: Context) -> bool:
        """Return true if a sorting network sorts many rows at the same time, one in each vector lane."""
        numbers = context.device.sort_cpu
        return context.device.wide and rows.count >= numbers.side and 1 < rows.size <= numbers.network and (
            _placed(rows) > 0 or word is not None and word.rest == 0)

    def index_types(self, schedule: SortRowsSchedule) -> "Sequence[str]":
        return INDEX_TYPES[1:]

    def forms(self, nest: Whole, schedule: SortRowsSchedule, context: Context) -> "Iterable[Form]":
        return ()

    def maps(self, nest: Whole, schedule: SortRowsSchedule, context: Context) -> "Iterable[str]":
        return SortedRows(nest).all_maps()

    def scratch_shapes(self, nest: Whole, schedule: SortRowsSchedule, context: Context) -> "List[Shape]":
        count = schedule.items * SortedRows(nest).size
        if schedule.how == "heap":
            group = order_of(nest.op).groups()[0]
            count = schedule.items * SortedRows(nest).kept
            return [scratch("u64" if group[0].bits > 32 else "u32", count), scratch("s32", count)]
        if self._held(nest, schedule, context):
            return []
        word = Word.of(context.target, nest)
        types = {"words": [word.dtype] if word else [], "ranges": [word.dtype] if word else [],
                 "indices": ["u64"] * 2, "keys": ["u64", "u64", "u32", "u32"], "merge": ["u32"] * 2}
        return [scratch(dtype, count) for dtype in types.get(schedule.how, [])]

    def _held(self, nest: Whole, schedule: SortRowsSchedule, context: Context) -> int:
        """Return the number of words that a work-item has in an array on the stack, for a row or for a range of a row;
        0: the words are in scratch.
        """
        word, size = Word.of(context.target, nest), SortedRows(nest).size
        room = context.device.sort_cpu.held_bytes if context.device.cpu else 0
        if schedule.how == "ranges" and word and word.one:
            return room // word.bytes
        bytes_of = {"words": word.bytes + word.saved if word else 0, "indices": 16, "keys": 24, "merge": 8}.get(schedule.how, 0)
        return size if 0 < bytes_of * size <= room else 0

    def reads_first(self, choice: Choice[Whole, SortRowsSchedule], context: Context) -> bool:
        word = Word.of(context.target, choice.nest)
        return choice.schedule.how == "words" and word is not None and (
            word.sure or self._held(choice.nest, choice.schedule, context) > 0)

    def grids(self, choice: Choice[Whole, SortRowsSchedule], context: Context) -> "List[Grid]":
        nest, schedule = choice.nest, choice.schedule
        items = max(schedule.parts, schedule.items)
        return [Grid(nest.name, schedule, choice.index, items, nest.partition.entry.index)]

    def build(self, choice: Choice[Whole, SortRowsSchedule], context: Context) -> "List[Kernel]":
        nest, schedule, d = choice.nest, choice.schedule, context.target
        rows, writer = SortedRows(nest), SortWriter(nest, context, choice.index)
        functions: List[CFunction] = []
        how, size = schedule.how, rows.size
        lanes = rows.lanes(d, choice.index)
        operands = len(nest.op.operands)

        def elements(used: "Iterable[int]", *places: str) -> str:
            return ", ".join(record.operand(k, place) for place in places for k in used)

        def group(n: int, keys: "Sequence[Key]") -> Group:
            function, used = writer.key_function(f"{nest.name}_key{n or ''}", keys)
            functions.append(function)
            total = sum(key.bits for key in keys)
            passes = -(-total // schedule.digit) if schedule.digit else 1
            return Group(lambda place: f"{function.name}({elements(used, place)})", function.type, total, passes,
                         -(-total // passes), list(used))

        def less() -> "Callable[[str, str], str]":
            function, used = writer.less_function(f"{nest.name}_less")
            functions.append(function)
            return lambda x, y: f"{function.name}({elements(used, x, y)})"

        def words() -> "Optional[Words]":
            word = Word.of(d, nest)
            if word is None or how not in ("words", "ranges") and not (how == "network" and word.rest == 0):
                return None
            memory = [writer.memory(k) for k in range(operands)]
            plain = word.function(f"{nest.name}_word", memory)
            parts = [word.part(f"{nest.name}_part{field.operand}", field, memory[field.operand])
                     for field in sorted(word.fields, key=lambda field: field.operand)]
            functions.extend([plain, *parts])
            of, constants = plain, []
            if how != "network" and word.constants:
                made = [writer.key_function(f"{nest.name}_constant{n}", [key])[0]
                        for n, key in enumerate(word.constants)]
                constants = [f"{function.name}()" for function in made]
                of = word.function(f"{nest.name}_own", memory, f"{nest.name}_key", constants)
                functions.extend([*made, of])
            again, kept = plain, parts
            if how != "network" and word.one:
                bits = replace(word, fields=(replace(word.fields[0], key=None),))
                again, kept = bits.function(f"{nest.name}_bits", memory), [
                    bits.part(f"{nest.name}_kept", bits.fields[0], memory[0])]
                functions.extend([again, *kept])

            def of_results(function: CFunction, place: str) -> str:
                return f"{function.name}({', '.join(record.result(k, place) for k in range(operands))})"
            return Words(word.type, lambda place: f"{of.name}({elements(range(operands), place)})",
                         lambda place: f"{plain.name}({elements(range(operands), place)})",
                         partial(of_results, plain), [partial("{}({})".format, part.name) for part in parts],
                         partial(of_results, again), [partial("{}({})".format, part.name) for part in kept], word.sure,
                         constants, word.fields[0].operand, memory[word.fields[0].operand],
                         partial("{}({})".format, f"{nest.name}_key"), word.rest, 8 * word.bytes)
        groups = [group(n, keys) for n, keys in enumerate(reversed(writer.order.groups()))] if how != "merge" else []
        by_words = words()
        placed = _placed(rows) if how == "network" and not (by_words and by_words.sure) else 0
        numbers = context.device.sort_cpu
        record = SortRecord(
            how, size, rows.kept, rows.count, schedule.items, schedule.rows, schedule.digit,
            max(0, size - 1).bit_length(), numbers.side, d.types[f"u{placed}"] if placed else "",
            max(0, size - 1).bit_length(), numbers.block, numbers.looked, lanes, operands, by_words, groups,
            less() if how == "merge" else lambda x, y: "", [buffer.pointer for buffer in choice.scratch],
            self._held(nest, schedule, context), context.device.wide, context.device.line, numbers, schedule.parts)
        text = Text("kernels/topk_cpu" if how in ("few", "heap") else "kernels/sort_cpu", record, functions,
                    d.launch_bounds(1))
        return [Kernel(choice.grids[0], nest, arguments(d, nest.operands, [*nest.results, *choice.scratch]), text,
                       Report(rows.touched(), StepCode([], [], [])))]


HERO = SortCpuHero()
