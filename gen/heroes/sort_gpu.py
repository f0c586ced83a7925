"""The hero (kernel emitter) of sort and topk on GPUs. Elements are ordered by key, then by index in the row, so that
the sort is stable.

The first kernel sorts tiles of each row: a block of threads sorts a tile by a bitonic network in shared memory. Each
further kernel merges pairs of adjacent sorted runs: a thread has one element, and finds by bisection how many elements
of the other run come before it. For topk, a run has at most k elements. The last kernel writes the results.

If it cannot be proven that the comparator is an order (gen/hlo/order.py), each row is sorted by one thread with the
CPU's method "merge", which is slow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Iterable, List, Sequence, Tuple, Union

from gen.emit.form import Form
from gen.emit.maps import INDEX_TYPES
from gen.heroes import sort_cpu
from gen.heroes.hero import Choice, Context, Hero
from gen.heroes.kernel import CFunction, Grid, Kernel, Report, StepCode, Text, arguments
from gen.heroes.sort import Lane, Order, Places, SortedRows, SortWriter, order_of, scratch
from gen.heroes.sort_cpu import SortRowsSchedule
from gen.hlo import Shape
from gen.plan.buffer import Buffer
from gen.plan.whole import Whole
from gen.schedule import Schedule


@dataclass(frozen=True)
class SortTilesSchedule(Schedule):
    """The schedule of a sort. elements: the number of elements that a block sorts, a power of two."""

    elements: int = 2

    def text(self) -> str:
        return f"tiles of {self.elements}, {self.threads} threads"


@dataclass(frozen=True)
class SortedRuns:
    """Sorted runs of a row: `count` runs of `length` elements; the last run may be shorter. total: the number of all
    elements.
    """

    count: int
    length: int
    total: int

    def merged(self, kept: int) -> "SortedRuns":
        """Return the runs after adjacent pairs are merged and cut to at most `kept` elements."""
        count, length = (self.count + 1) // 2, min(2 * self.length, kept)
        last = self.total - self.length * (self.count - 1)
        end = min(kept, last if self.count % 2 else self.length + last)
        return SortedRuns(count, length, (count - 1) * length + end)


def runs(size: int, tile: int, kept: int) -> List[SortedRuns]:
    """Return the sorted runs of a row of `size` elements after each kernel. The first kernel sorts tiles of `tile`
    elements. Each further kernel merges pairs of runs. Runs are cut to `kept` elements.
    """
    tiles = -(-size // tile)
    length = min(tile, kept)
    found = [SortedRuns(tiles, length, (tiles - 1) * length + min(kept, size - tile * (tiles - 1)))]
    while found[-1].count > 1:
        found.append(found[-1].merged(kept))
    return found


@dataclass(frozen=True)
class SortGpuRecord:
    """The values that templates/kernels/sort_gpu.j2 prints.

    lanes: the positions of the rows in each array: first the operands, then the results.
    indices: true if the second result is the indices of the elements in the row.
    keys: for each key, its C type and a function that returns C text of the key at an index. The most significant key
        comes first.
    before: the runs that the kernel merges (None: it sorts tiles).
    after: the runs that the kernel writes.
    source, target: the pointers of the arrays that the kernel reads and writes. The arrays of the keys come first, then
        the array of the indices. If `target` is empty, the kernel writes the results.
    """

    size: int
    count: int
    tile: int
    threads: int
    lanes: List[Union[Lane, Places]]
    operands: int
    indices: bool
    keys: List[Tuple[str, Callable[[str], str]]]
    before: Any
    after: SortedRuns
    source: List[str]
    target: List[str]

    def bases(self) -> "List[Tuple[str, str]]":
        return [(f"at{n}", lane.base) for n, lane in enumerate(self.lanes) if lane.base
                and (self.before is None or not self.target) and (n < self.operands or not self.target)]

    def at(self, n: int, place: str) -> str:
        return self.lanes[n].at(place, f"at{n}")


class SortRowsHero(sort_cpu.SortCpuHero):
    """The emitter (hero) for comparators without known keys: a thread sorts each row, as on a CPU."""

    def takes(self, nest: Whole, context: Context) -> bool:
        return nest.op.opcode in ("sort", "topk") and not context.device.cpu and order_of(nest.op).keys is None

    def schedules(self, nest: Whole, context: Context) -> "Iterable[SortRowsSchedule]":
        return [SortRowsSchedule(items=max(1, SortedRows(nest).count), rows=1, how="merge")]


class SortGpuHero(Hero[Whole, SortTilesSchedule]):
    name = "sort"
    nest_class = Whole

    def takes(self, nest: Whole, context: Context) -> bool:
        return nest.op.opcode in ("sort", "topk") and not context.device.cpu and order_of(nest.op).keys is not None

    def schedules(self, nest: Whole, context: Context) -> "Iterable[SortTilesSchedule]":
        rows, order, tile = SortedRows(nest), order_of(nest.op), 2
        while tile < min(rows.size, context.device.sort_gpu.tile) \
                and 2 * tile * _held(order) <= context.target.shared_bytes:
            tile *= 2
        yield SortTilesSchedule(threads=max(1, min(tile // 2, context.device.sort_gpu.threads)), elements=tile)

    def index_types(self, schedule: SortTilesSchedule) -> "Sequence[str]":
        return INDEX_TYPES[1:]

    def forms(self, nest: Whole, schedule: SortTilesSchedule, context: Context) -> "Iterable[Form]":
        return ()

    def maps(self, nest: Whole, schedule: SortTilesSchedule, context: Context) -> "Iterable[str]":
        return SortedRows(nest).all_maps()

    def scratch_shapes(self, nest: Whole, schedule: SortTilesSchedule, context: Context) -> "List[Shape]":
        rows = SortedRows(nest)
        found = runs(rows.size, schedule.elements, rows.kept)
        types = [*(_key_type(group) for group in order_of(nest.op).groups()), "s32"]
        return [scratch(dtype, rows.count * left.total) for left in found[:-1][:2] for dtype in types]

    def grids(self, choice: Choice[Whole, SortTilesSchedule], context: Context) -> "List[Grid]":
        nest, schedule = choice.nest, choice.schedule
        rows, grids, threads = SortedRows(nest), [], schedule.threads
        left = runs(rows.size, schedule.elements, rows.kept)
        for number, after in enumerate(left):
            blocks = -(-rows.count * left[number - 1].total // threads) if number else rows.count * after.count
            grids.append(Grid(nest.name + (f"_merge{number}" if number else ""),
                              Schedule(threads=threads) if number else schedule, choice.index, max(1, blocks),
                              nest.partition.entry.index))
        return grids

    def build(self, choice: Choice[Whole, SortTilesSchedule], context: Context) -> "List[Kernel]":
        nest, schedule, d = choice.nest, choice.schedule, context.target
        rows, writer = SortedRows(nest), SortWriter(nest, context, choice.index)
        groups = writer.order.groups()
        found = [writer.key_function(f"{nest.name}_key{n}", group) for n, group in enumerate(groups)]
        functions = [function for function, _ in found]
        lanes = rows.lanes(d, choice.index)

        def element(k: int, place: str) -> str:
            return lanes[k].at(place, f"at{k}")

        def key(function: CFunction, used: "List[int]") -> "Tuple[str, Callable[[str], str]]":
            return function.type, lambda place: f"{function.name}({', '.join(element(k, place) for k in used)})"
        left, kernels = runs(rows.size, schedule.elements, rows.kept), []
        arrays_per_run, threads = len(groups) + 1, schedule.threads
        buffers = [choice.scratch[:arrays_per_run], choice.scratch[arrays_per_run:]]
        for number, after in enumerate(left):
            before, last = left[number - 1] if number else None, number == len(left) - 1
            source: List[Buffer] = buffers[(number - 1) % 2] if number else []
            target: List[Buffer] = [] if last else buffers[number % 2]
            record = SortGpuRecord(
                rows.size, rows.count, schedule.elements, threads, lanes, len(nest.op.operands), nest.op.opcode == "topk",
                [key(function, used) for function, used in found], before, after,
                [buffer.pointer for buffer in source], [buffer.pointer for buffer in target])
            reads = [*(nest.operands if before is None or last else []), *source]
            writes = target or nest.results
            text = Text("kernels/sort_gpu", record, functions if before is None else [], d.launch_bounds(threads))
            kernels.append(Kernel(choice.grids[number], nest, arguments(d, reads, writes), text,
                                  Report(rows.touched(), StepCode([], [], []))))
        return kernels


HERO = SortGpuHero()
ROWS = SortRowsHero()


def _key_type(group: "Sequence[Any]") -> str:
    return "u64" if sum(key.bits for key in group) > 32 else "u32"


def _held(order: Order) -> int:
    """Return the bytes of shared memory for an element: its keys and its index."""
    return 4 + sum(8 if _key_type(group) == "u64" else 4 for group in order.groups())
