"""The hero of sort and topk on CPUs: a work-item sorts rows, one after another (templates/kernels/sort_cpu.j2), or
keeps the first k elements of each (templates/kernels/topk_cpu.j2). Equal elements keep their order in all of these ways.

  insertion  short rows, by keys
  words      all operands of an element fit in a word of 64 bits: words are sorted by radix, and their keys computed
             again for each digit
  indices    a word is the key, of 32 bits or less, and the place of the element in its row; sorted by radix, then the
             operands are gathered
  keys       the same with keys and places in arrays of their own; several groups of keys are sorted one after another,
             the least significant first
  merge      where the comparator's graph does not prove that it is an order (gen/hlo/order.py): places are merged in
             runs of 1, 2, 4, .. as in gen/reference, so that the result is the same for any comparator at all
  heap       topk: the first k elements so far; the one that would leave first is on top
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Iterable, List, Optional, Sequence, Tuple

from gen.emit.maps import INDEX_TYPES
from gen.heroes.hero import Choice, Context, Hero
from gen.heroes.kernel import CFunction, Kernel, Step, arguments
from gen.heroes.sort import Lane, Rows, Word, Writer, order_of, scratch
from gen.hlo import Shape
from gen.plan.nest import Nest
from gen.plan.whole import Whole
from gen.schedule import Schedule


@dataclass(frozen=True)
class SortRows(Schedule):
    """items: work-items, with `rows` rows each. how: as the module's first lines say. digit: bits of a radix digit."""

    items: int = 1
    rows: int = 1
    how: str = ""
    digit: int = 0

    def text(self) -> str:
        way = f"{self.how}, digits of {self.digit} bits" if self.digit else self.how
        return f"{self.items} item{'s' * (self.items > 1)} of {self.rows} row{'s' * (self.rows > 1)}, {way}"


@dataclass(frozen=True)
class Group:
    """Keys of at most 64 bits in all. key: the text of the key, of the elements at a place (`words`: of a word). type:
    of the key. passes: digits."""

    key: Callable[[str], str]
    type: str
    passes: int


@dataclass(frozen=True)
class SortRecord:
    """What the templates print. size: elements of a row; kept: of a result's row. count: rows. merges: passes of a
    merge. lanes: arrays, operands then results. word: of all operands' elements, or None. groups: of keys, the least
    significant first. less: the comparator of the elements at two places."""

    how: str
    size: int
    kept: int
    count: int
    items: int
    rows: int
    digit: int
    merges: int
    block: int
    lanes: List[Lane]
    operands: int
    word: Optional[Word]
    word_type: str
    groups: List[Group]
    less: Callable[[str, str], str]
    scratch: List[str]

    def bases(self) -> "List[Tuple[str, str]]":
        """The positions of the row's first elements that are variables, with their values."""
        return [(f"at{n}", lane.base) for n, lane in enumerate(self.lanes) if lane.base != "0"]

    def operand(self, k: int, place: str) -> str:
        return self.lanes[k].at(place, "0" if self.lanes[k].base == "0" else f"at{k}")

    def result(self, k: int, place: str) -> str:
        n = self.operands + k
        return self.lanes[n].at(place, "0" if self.lanes[n].base == "0" else f"at{n}")

    def load(self, place: str) -> str:
        """The word of the elements at a place."""
        assert self.word is not None
        return self.word.of_parts([self.operand(k, place) for k in range(self.operands)])


class SortCpuHero(Hero):
    name = "sort"

    def takes(self, nest: Nest, context: Context) -> bool:
        return isinstance(nest, Whole) and nest.op.opcode in ("sort", "topk") and context.device.cpu

    def schedules(self, nest: Nest, context: Context) -> "Iterable[Any]":
        assert isinstance(nest, Whole)
        rows, order, numbers = Rows(nest), order_of(nest.op), context.device.sort_cpu
        word = Word.of(context.target, nest)
        digit = numbers.long_digit if rows.size >= numbers.long_row else numbers.digit
        if nest.op.opcode == "topk":
            how = "heap"
        elif order.keys is None:
            how = "merge"
        elif rows.size <= numbers.inserted and len(order.groups()) == 1:
            how = "insertion"
        else:
            how = "words" if word and len(order.groups()) == 1 else "indices" if order.bits <= 32 else "keys"
        if how not in ("words", "indices", "keys"):
            digit = 0
        if how == "words" and order.bits % numbers.long_digit and order.bits <= 16:
            digit = numbers.digit
        most = max(1, numbers.items * context.device.units)
        each = max(-(-rows.count // most), min(rows.count, -(-numbers.item_elements // max(1, rows.size))), 1)
        yield SortRows(items=max(1, -(-rows.count // each)), rows=each, how=how, digit=digit)

    def index_types(self, schedule: Any) -> "Sequence[str]":
        return INDEX_TYPES[1:]

    def forms(self, nest: Nest, schedule: Any, context: Context) -> "Iterable[Any]":
        return ()

    def maps(self, nest: Nest, schedule: Any, context: Context) -> "Iterable[str]":
        assert isinstance(nest, Whole)
        rows = Rows(nest)
        return [rows.maps(buffer.shape) for buffer in rows.buffers if buffer.shape.elements]

    def between(self, nest: Nest, schedule: Any, context: Context) -> "List[Shape]":
        assert isinstance(nest, Whole)
        count = schedule.items * Rows(nest).size
        if schedule.how == "words":
            word = Word.of(context.target, nest)
            assert word is not None
            return [scratch(word.dtype, count)] * 2
        if schedule.how == "heap":
            group = order_of(nest.op).groups()[0]
            count = schedule.items * Rows(nest).kept
            return [scratch("u64" if group[0].bits > 32 else "u32", count), scratch("s32", count)]
        types = {"indices": ["u64"], "keys": ["u64", "u32"], "merge": ["u32"]}.get(schedule.how, [])
        return [scratch(dtype, count) for dtype in types for _ in (0, 1)]

    def build(self, choice: Choice, context: Context) -> "List[Kernel]":
        nest, schedule, d = choice.nest, choice.schedule, context.target
        assert isinstance(nest, Whole)
        rows, writer = Rows(nest), Writer(nest, context, choice.index)
        functions: List[CFunction] = []
        how, size = schedule.how, rows.size
        word = Word.of(d, nest) if how in ("insertion", "words") else None
        lanes = [rows.lane(buffer, choice.index) for buffer in rows.buffers]
        operands = len(nest.operands)

        def at(k: int, place: str) -> str:
            return record.operand(k, place)

        def group(n: int, keys: Any) -> Group:
            function, used = writer.key_function(f"{nest.name}_key{n or ''}", keys, word)
            functions.append(function)
            total = sum(key.bits for key in keys)

            def key(of: str) -> str:
                given = [of] if word else [at(k, of) for k in used]
                return f"{function.name}({', '.join(given)})"
            return Group(key, function.type, -(-total // schedule.digit) if schedule.digit else 0)

        def less() -> "Callable[[str, str], str]":
            function, used = writer.less_function(f"{nest.name}_less")
            functions.append(function)
            return lambda x, y: f"{function.name}({', '.join(at(k, of) for of in (x, y) for k in used)})"
        groups = [group(n, keys) for n, keys in enumerate(reversed(writer.order.groups()))] if how != "merge" else []
        types = {"indices": d.types["u64"]}
        record = SortRecord(
            how, size, rows.kept, rows.count, schedule.items, schedule.rows, schedule.digit,
            max(0, size - 1).bit_length(), context.device.sort_cpu.block, lanes, operands, word,
            word.type if word else types.get(how, d.types["u32"]), groups,
            less() if how == "merge" else lambda x, y: "", [buffer.pointer for buffer in choice.scratch])
        kernel = Kernel(nest.name, nest, schedule, choice.index, schedule.items,
                        arguments(d, nest.operands, [*nest.results, *choice.scratch]), functions,
                        d.launch_bounds(1), "", accesses=rows.accesses(), record=record,
                        template="kernels/topk_cpu" if how == "heap" else "kernels/sort_cpu",
                        code=Step([], [], []))
        return [kernel]


HERO = SortCpuHero()
