"""The hero of sort and topk on CPUs: a work-item sorts rows, one after another (templates/kernels/sort_cpu.j2), or
keeps the first k elements of each (templates/kernels/topk_cpu.j2). All of these ways are stable.

  network    many short rows side by side, by words from which all operands of an element can be had again, or by words
             of a key and a place
  insertion  short rows, by keys
  indices    by radix: of words of a key, of 32 bits or less, and the place of its element; then the operands are
             gathered
  keys       the same with keys and places in arrays of their own; several groups of keys are sorted one after another,
             the least significant first
  words      by radix: of words from which all operands of an element can be had again; a row with an element of which
             that is not so is sorted by indices, or keys
             (a long row: in ranges of words, which a first pass makes from parts of the row)
  merge      where the comparator's graph does not prove that it is an order (gen/hlo/order.py): places are merged in
             runs of 1, 2, 4, .. as in gen/reference, so that the result is the same for any comparator at all
  few        topk: the first k elements so far, sorted
  heap       topk of many: the one that would leave first is on top
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Callable, Iterable, List, Optional, Sequence, Tuple

from gen.emit.form import Form
from gen.emit.maps import INDEX_TYPES
from gen.heroes.hero import Choice, Context, Hero
from gen.heroes.kernel import CFunction, Grid, Kernel, Report, StepCode, Text, arguments
from gen.heroes.sort import Lane, SortedRows, Word, SortWriter, order_of, scratch
from gen.hlo import Shape
from gen.hlo.order import Key
from gen.plan.whole import Whole
from gen.schedule import Schedule


@dataclass(frozen=True)
class SortRowsSchedule(Schedule):
    """items: work-items, with `rows` rows each. how: as the module's first lines say. digit: bits of a radix digit.
    words: whether rows are sorted by words where that can be. parts: of a row, each a work-item's; 1: rows are whole."""

    items: int = 1
    rows: int = 1
    how: str = ""
    digit: int = 0
    words: bool = False
    parts: int = 1

    def text(self) -> str:
        way = f"{'words, else ' * self.words}{self.how}, digits of {self.digit} bits" if self.digit else self.how
        if self.parts > 1:
            return f"1 row in {self.parts} parts, {way}"
        return f"{self.items} item{'s' * (self.items > 1)} of {self.rows} row{'s' * (self.rows > 1)}, {way}"


@dataclass(frozen=True)
class Group:
    """Keys of `bits` in all, at most 64. key: the text of the key of the elements at a place. type: of the key. passes:
    digits. reads: the numbers of the operands that it is made of."""

    key: Callable[[str], str]
    type: str
    bits: int
    passes: int
    reads: List[int]


@dataclass(frozen=True)
class Words:
    """of: the word of the elements at a place. parts: for each operand, the text of its element of a word. sure: every
    row can be sorted by words. rest: bits below the key. passes: digits."""

    type: str
    of: Callable[[str], str]
    parts: List[Callable[[str], str]]
    sure: bool
    rest: int
    passes: int


@dataclass(frozen=True)
class SortRecord:
    """The values that the templates print. how: as SortRows has it, for what is not sorted by `words`. size: elements
    of a row; kept: of a result's row. count: rows. merges: passes of a merge. side: rows that lie side by side. placed,
    place_bits: of words of a key and a place, "" where these are not used. block: elements that topk compares at once.
    looked: elements that it looks at for a limit of keys. lanes: arrays, operands then results. groups: of keys, the
    least significant first. less: the comparator of the elements at two places. parts: of a row, each a work-item's.
    stage: the number of the kernel of a row in parts. counts, differs: the scratch of these kernels that is no
    element's."""

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
    lanes: List[Lane]
    operands: int
    words: Optional[Words]
    groups: List[Group]
    less: Callable[[str, str], str]
    scratch: List[str]
    parts: int
    stage: Optional[int] = None
    counts: str = ""
    differs: str = ""

    @property
    def part(self) -> int:
        """Elements of a part."""
        return -(-self.size // self.parts)

    def bases(self, lanes: "Optional[Sequence[int]]" = None) -> "List[Tuple[str, str]]":
        """The positions of the row's first elements in arrays (None: in all) that are variables, with their values."""
        return [(f"at{n}", lane.base) for n, lane in enumerate(self.lanes)
                if lane.base and (lanes is None or n in lanes)]

    def operand(self, k: int, place: str) -> str:
        return self.lanes[k].at(place, f"at{k}")

    def result(self, k: int, place: str) -> str:
        n = self.operands + k
        return self.lanes[n].at(place, f"at{n}")


def _placed(rows: SortedRows) -> int:
    """The bits of a word of a key and a place, or 0 where there is none."""
    order = order_of(rows.op)
    bits = order.bits + (rows.size - 1).bit_length()
    return 0 if order.keys is None or bits > 64 else 64 if bits > 32 else 32


class SortCpuHero(Hero[Whole, SortRowsSchedule]):
    name = "sort"
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
        else:
            how = "indices" if order.bits <= 32 else "keys"
        radix = how in ("indices", "keys")
        if order.bits <= 16:
            digit = numbers.digit
        most = max(1, numbers.items * context.device.units)
        rows_per_item = max(-(-rows.count // most), min(rows.count, -(-numbers.item_elements // max(1, rows.size))), 1)
        if how == "network":
            rows_per_item += -rows_per_item % numbers.side
        parted = radix and word is not None and context.device.wide and rows.count == 1 and rows.size >= numbers.parted
        words = word is not None and (radix or how == "network" and word.rest == 0)
        yield SortRowsSchedule(items=max(1, -(-rows.count // rows_per_item)), rows=rows_per_item, how=how,
                               digit=digit * radix, words=words, parts=numbers.parts if parted else 1)

    def _side_by_side(self, rows: SortedRows, word: "Optional[Word]", context: Context) -> bool:
        """True if rows are sorted by a network, in lanes."""
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
        word = Word.of(context.target, nest) if schedule.words else None
        parted = [scratch("u32", schedule.parts << schedule.digit)] * (schedule.parts > 1)
        if schedule.how != "network" and word is not None and word.sure:
            return [scratch(word.dtype, count)] * 2 + parted
        parted += [scratch("u32", schedule.parts)] * (schedule.parts > 1)
        types = {"indices": ["u64"], "keys": ["u64", "u32"], "merge": ["u32"]}.get(schedule.how, [])
        return [scratch(dtype, count) for dtype in types for _ in (0, 1)] + parted

    def grids(self, choice: Choice[Whole, SortRowsSchedule], context: Context) -> "List[Grid]":
        nest, schedule = choice.nest, choice.schedule
        stages = 3 if schedule.parts > 1 else 1
        return [Grid(nest.name + (f"_{stage}" if stage else ""), schedule, choice.index,
                     schedule.parts if stages > 1 else schedule.items, nest.partition.entry.index)
                for stage in range(stages)]

    def build(self, choice: Choice[Whole, SortRowsSchedule], context: Context) -> "List[Kernel]":
        nest, schedule, d = choice.nest, choice.schedule, context.target
        rows, writer = SortedRows(nest), SortWriter(nest, context, choice.index)
        functions: List[CFunction] = []
        how, size = schedule.how, rows.size
        lanes = [rows.lane(buffer, choice.index) for buffer in rows.buffers]
        operands = len(nest.operands)

        def elements(used: "Iterable[int]", *places: str) -> str:
            return ", ".join(record.operand(k, place) for place in places for k in used)

        def group(n: int, keys: "Sequence[Key]") -> Group:
            function, used = writer.key_function(f"{nest.name}_key{n or ''}", keys)
            functions.append(function)
            total = sum(key.bits for key in keys)
            return Group(lambda place: f"{function.name}({elements(used, place)})", function.type, total,
                         -(-total // schedule.digit) if schedule.digit else 0, list(used))

        def less() -> "Callable[[str, str], str]":
            function, used = writer.less_function(f"{nest.name}_less")
            functions.append(function)
            return lambda x, y: f"{function.name}({elements(used, x, y)})"

        def words() -> "Optional[Words]":
            word = Word.of(d, nest) if schedule.words else None
            if word is None:
                return None
            memory = [writer.memory(k) for k in range(operands)]
            whole = word.function(f"{nest.name}_word", memory)
            parts = [word.part(f"{nest.name}_part{field.operand}", field, memory[field.operand])
                     for field in sorted(word.fields, key=lambda field: field.operand)]
            functions.extend([whole, *parts])
            return Words(word.type, lambda place: f"{whole.name}({elements(range(operands), place)})",
                         [partial("{}({})".format, part.name) for part in parts], word.sure, word.rest,
                         groups[0].passes)
        groups = [group(n, keys) for n, keys in enumerate(reversed(writer.order.groups()))] if how != "merge" else []
        by_words = words()
        placed = _placed(rows) if how == "network" and not (by_words and by_words.sure) else 0
        record = SortRecord(
            how, size, rows.kept, rows.count, schedule.items, schedule.rows, schedule.digit,
            max(0, size - 1).bit_length(), context.device.sort_cpu.side, d.types[f"u{placed}"] if placed else "",
            max(0, size - 1).bit_length(), context.device.sort_cpu.block,
            context.device.sort_cpu.looked, lanes, operands, by_words, groups,
            less() if how == "merge" else lambda x, y: "", [buffer.pointer for buffer in choice.scratch],
            schedule.parts)
        if schedule.parts == 1:
            text = Text("kernels/topk_cpu" if how in ("few", "heap") else "kernels/sort_cpu", record, functions,
                        d.launch_bounds(1))
            return [Kernel(choice.grids[0], nest, arguments(d, nest.operands, [*nest.results, *choice.scratch]), text,
                           Report(rows.touched(), StepCode([], [], [])))]
        sure = by_words is not None and by_words.sure
        words_from, words_to, *others = choice.scratch
        counts, between = others[len(others) - 2 + sure:], others[:len(others) - 2 + sure]
        record = replace(record, counts=counts[0].pointer, differs="" if sure else counts[1].pointer)
        stages = [(nest.operands, [words_from, *counts]), ([words_from, *counts], [words_to]),
                  ([*([] if sure else nest.operands), *counts], [*nest.results, words_from, words_to, *between])]
        return [Kernel(grid, nest, arguments(d, reads, writes),
                       Text("kernels/sort_cpu", replace(record, stage=stage), [] if stage else functions,
                            d.launch_bounds(1)), Report(rows.touched(), StepCode([], [], [])))
                for stage, (grid, (reads, writes)) in enumerate(zip(choice.grids, stages))]


HERO = SortCpuHero()
