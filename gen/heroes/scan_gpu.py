"""The scan hero (kernel emitter) on GPUs: a block of threads scans each row, or a thread scans each column.

A position in memory is (outer * size + place) * below + column (gen/plan/scan.py), where `place` is the index along the
scanned dimension and `below` the number of columns. The kinds of kernels are:
- rows: there is one column (`below` is 1), and the combiner is free (elements may be combined in any grouping). In each
  step, a thread of the block scans some adjacent elements of a row. The totals of the threads are scanned by shuffles
  within a warp, then across warps in shared memory. A carry goes from step to step. Template:
  templates/kernels/scan_gpu_rows.j2.
- columns: a thread carries the values of one column from row to row or, if there are no columns, along a row. Template:
  templates/kernels/scan_columns.j2.

In the kind "rows", the threads of a block take the elements in reverse: the last thread has the elements that the scan
takes first. These are the elements at the lowest indices of a step or, in a reverse scan, at the highest indices. A
thread then needs totals of later threads only, which it gets by downward shuffles.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Callable, Iterable, List, Optional, Tuple

from gen.emit.body import Body
from gen.emit.form import Form, Given
from gen.statements import Assign, Block, Statement
from gen.emit.values import Value
from gen.heroes import scan
from gen.heroes.hero import Choice, Context, Hero
from gen.heroes.kernel import Grid, Kernel, Placing, StepCode
from gen.heroes.scan import At, Box, ScanSchedule, ScanRecord, free, whole_bytes
from gen.hlo import dtypes
from gen.plan.buffers import buffers_of, touches
from gen.plan.partition import Partition
from gen.plan.scan import Scan
from gen.schedule import Schedule
from gen.targets import COMPLEX, SMALL, TINY


class ScanGpuHero(Hero[Scan, ScanSchedule]):
    """The emitter (hero) that writes one kernel, for rows or for columns, as the memory order and the combiner allow.
    """

    name = "scan"
    nest_class = Scan

    def takes(self, nest: Scan, context: Context) -> bool:
        return not context.device.cpu and whole_bytes(nest)

    def schedules(self, nest: Scan, context: Context) -> "Iterable[ScanSchedule]":
        device, widths = context.device, scan.widths(nest)
        if nest.below == 1 and nest.size >= device.warp and free(nest) and not touches(nest, {*COMPLEX, *TINY}):
            vec = max(1, min(device.line // min(widths), device.step_bytes // max(widths)))
            while vec > 1 and nest.size < vec * device.warp:
                vec //= 2
            threads = device.warp
            while threads < device.reduction_gpu.threads and threads * vec < nest.size:
                threads *= 2
            while nest.size < vec * threads and vec > 1:
                vec //= 2
            yield ScanSchedule(threads, vec=vec, kind="rows")
        items = nest.outer * nest.below
        yield ScanSchedule(min(device.transpose_gpu.threads, -(-items // device.warp) * device.warp), kind="columns")

    def forms(self, nest: Scan, schedule: ScanSchedule, context: Context) -> "Iterable[Form]":
        return ScanGpuWriter(nest, schedule, "", context).forms()

    def maps(self, nest: Scan, schedule: ScanSchedule, context: Context) -> "Iterable[str]":
        writer = ScanGpuWriter(nest, schedule, "", context)
        return [writer.placement(*writer.counts())[0]]

    def grids(self, choice: Choice[Scan, ScanSchedule], context: Context) -> "List[Grid]":
        return [ScanGpuWriter(choice.nest, choice.schedule, choice.index, context).grid()]

    def build(self, choice: Choice[Scan, ScanSchedule], context: Context) -> "List[Kernel]":
        return [ScanGpuWriter(choice.nest, choice.schedule, choice.index, context).nest_kernel()]

    def describe(self, choice: Choice[Scan, ScanSchedule], grid: Grid, context: Context) -> "List[str]":
        nest = choice.nest
        reads = buffers_of(nest.partition, nest.partition.entry)
        moved = sum(buffer.shape.bytes for buffer in [*reads, *(root.buffer for root in nest.partition.roots)])
        lines = [f"memory: {moved / nest.shape.leaves()[0].elements:.3g} bytes an element"]
        if choice.schedule.kind == "rows":
            writer = ScanGpuWriter(nest, choice.schedule, choice.index, context)
            sizes = [4 if dtype in SMALL else dtypes.storage_bytes(dtype) for _, _, dtype in writer.components]
            vec = max(vec for _, vec, _, _ in filter(None, writer.parts()))
            width = context.device.warp if context.target.has_shuffles else 1
            registers = vec * sum(max(1, size // 4) for size in sizes)
            lines = [f"a block of threads for each row, {registers} registers hold a thread's elements", *lines,
                     f"shared: {grid.threads // width * sum(sizes)} bytes of a block"]
        return lines


HERO = ScanGpuHero()


# ---- the record for the template ----

@dataclass(frozen=True)
class BlockStep:
    """A step of the block, in which each thread has `vec` elements.

    loaded: code that loads an element into x{id}[vec].
    stored: code that computes and stores results. A result combines before{id}, the total of all elements before the
        thread's, with x{id}[vec], the prefix within the thread's elements.
    inside: the condition that the thread has elements; "" if it always has.
    """

    vec: int
    loaded: StepCode
    stored: StepCode
    inside: str


@dataclass(frozen=True)
class ScanGpuRecord(ScanRecord):
    """The record that templates/kernels/scan_gpu_rows.j2 prints.

    threads, width: number of threads of a block, and number of threads of a warp.
    shuffles: true if lanes of a warp can read each other's registers.
    count: number of steps of `vec` elements for each thread.
    rest_count: number of steps of single elements that follow; in the last step, some threads may have no element.
    identity: for each carry, the value from which parts start, an identity of the combiner.
    join: join(into, before, x) returns the C lines of into = f(before, x), for the combiner f. A {} in a name stands
        for the id of each carry.
    """

    threads: int
    width: int
    shuffles: bool
    count: int
    step: Optional[BlockStep]
    rest_count: int
    rest: Optional[BlockStep]
    identity: List[str]
    join: Callable[[str, str, str], List[Statement]]


# ---- the writer of the record ----

class ScanGpuWriter(scan.ScanWriter):
    """The writer of the kernel of one scan."""

    def nest_kernel(self) -> Kernel:
        if self.schedule.kind == "columns":
            record = self.columns()
            return self.kernel("kernels/scan_columns", record, record.step, self.nest.steps)
        rows = self.rows()
        part = rows.step or rows.rest
        assert part
        lines = [line for step in (part.loaded, part.stored) for line in (*step.before, *step.text, *step.after)]
        return self.kernel("kernels/scan_gpu_rows", rows,
                           StepCode([], lines, [], repeated="for each step of a thread: loads, then stores"),
                           self.nest.inputs, self.nest.epilogue)

    def grid(self) -> Grid:
        grid = super().grid()
        return replace(grid, blocks=self.nest.outer) if self.schedule.kind == "rows" else grid

    def rows(self) -> ScanGpuRecord:
        nest, schedule, device = self.nest, self.schedule, self.context.device
        threads, vec = schedule.threads, schedule.vec
        common = self.common(*self.counts(), 1)
        count, left = divmod(nest.size, threads * vec)
        rest_count, (step, rest) = -(-left // threads), [self.part(*part) if part else None for part in self.parts()]
        shuffles = self.d.has_shuffles
        identity = [self.identity(h, k) for h, k, _ in self.components]
        return ScanGpuRecord(**{**common, "placing": Placing(nest.outer > 1, True, [])}, threads=threads,
                             width=device.warp if shuffles else 1, shuffles=shuffles, count=count, step=step,
                             rest_count=rest_count, rest=rest, identity=identity, join=self.join)

    def counts(self) -> "Tuple[List[Tuple[str, int]], int]":
        return super().counts() if self.schedule.kind == "columns" else ([], 1)

    def steps_and_partitions(self) -> "List[Tuple[At, Partition]]":
        if self.schedule.kind == "columns":
            return super().steps_and_partitions()
        steps = [self.part_at(*part)[0] for part in self.parts() if part]
        return [(at, partition) for at in steps for partition in (self.nest.inputs, self.nest.epilogue)]

    def parts(self) -> "Tuple[Optional[Tuple[int, int, int, int]], ...]":
        """Return the arguments of `part` for steps of `vec` elements, and for the steps of single elements after them.
        """
        threads, vec = self.schedule.threads, self.schedule.vec
        count, left = divmod(self.nest.size, threads * vec)
        return ((count, vec, 0, 0) if count else None,
                (-(-left // threads), 1, count * threads * vec, left) if left else None)

    def part_at(self, count: int, vec: int, first: int, left: int) -> "Tuple[At, str]":
        """Return two values for the steps of `part`: their elements, and the C condition under which a thread has
        elements in a step.
        """
        threads = self.schedule.threads
        box: Box = {"th_x": (0, threads - 1), "bl_x": (0, self.nest.outer - 1), "step": (0, count - 1),
                    "vec": (0, vec - 1)}
        thread = "th_x" if self.nest.reverse else f"({threads - 1} - th_x)"
        place = f"{first} + step * {threads * vec} + {thread} * {vec} + vec"
        inside = f"step * {threads} + {thread} < {left}" if left % threads else ""
        where = f"{place} in [0, {first + left - 1}]" if inside else ""
        return At(self.thread(self.position("bl_x", place, "0"), box, ("vec",), where), box,
                  Schedule(threads, vec=vec)), inside

    def part(self, count: int, vec: int, first: int, left: int) -> BlockStep:
        """Return `count` steps of the block, which begin at element `first` of the row. left: the number of elements
        of all these steps; the end of the row may cut the last step.
        """
        at, inside = self.part_at(count, vec, first, left)
        loaded = self.body(*at, self.nest.inputs)
        loaded.region(self.nest.inputs.entry.body)
        for h in range(len(self.nest.heroes)):
            names = [f"x{self.id(h, k)}" for k in range(len(self.types_of(h)))]
            x = [v.text for v in self.elements(loaded, h, self.nest.inputs)]
            loaded.text.add(*(Assign(f"{name}[vec]", text) for name, text in zip(names, x)))
        stored = self.body(*at, self.nest.epilogue,
                           {hero: self.given(h) for h, hero in enumerate(self.nest.heroes)})
        stored.region(self.nest.epilogue.entry.body)
        for root in self.nest.partition.roots:
            stored.store(root)
        self.seen += [a for body in (loaded, stored) for a in body.touched if a not in self.seen]
        return BlockStep(vec, StepCode.of_body(loaded, vec), StepCode.of_body(stored, vec), inside)

    def given(self, h: int) -> Given:
        """Return a function that returns the results of scan op h, for the code that stores them. A result combines the
        total of all elements before the thread's with a prefix of the thread's elements.
        """
        def values(body: Body) -> List[Value]:
            ids = [self.id(h, k) for k in range(len(self.types_of(h)))]
            new = self.next_prefix(body, h, [f"before{suffix}" for suffix in ids], [f"x{suffix}[vec]" for suffix in ids])
            values = [Value(text, dtype, 1, rounded=dtype not in SMALL) for text, dtype in zip(new, self.types_of(h))]
            return [v if self.excess else body.without_excess(v, "scan") for v in values]
        return values

    def join(self, into: str, before: str, x: str) -> List[Statement]:
        """Return the C lines of into = f(before, x), for the combiner f. A {} in a name stands for the id of each
        carry.
        """
        lines: List[Statement] = []
        for h in range(len(self.nest.heroes)):
            partition, ids = self.nest.inits, [self.id(h, k) for k in range(len(self.types_of(h)))]
            body = Body(self.d, self.helpers, Form(partition, partition.entry), self.index_type, self.excess)
            old, elements = ([side.format(suffix) for suffix in ids] for side in (before, x))
            new = self.next_prefix(body, h, old, elements)
            body.text.add(*(Assign(into.format(suffix), text) for suffix, text in zip(ids, new)))
            lines.append(Block(body.text.lines))
        return lines
