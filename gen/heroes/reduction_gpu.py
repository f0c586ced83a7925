"""The reduction hero on GPUs: blocks of threads that read side by side, and fold what they have among them.

The input's position is split into digits, kept and reduced ones (gen/plan/digits.py). A block's threads are a box [rows][fold][across]:

  across  neighbouring columns, where the minor digit is kept (a thread takes a vector of them), or the lowest kept digit where
          what is reduced below it is too short to fill a line
  fold    shares of one reduction: neighbouring vectors of a row, or rows of a column. A thread takes each `fold`-th of them, so
          that in every step the threads of a block are neighbours in memory
  rows    results further apart, where the threads of a block are enough for several

A thread folds its own accumulators, then a warp its lanes by shuffles, then the block its warps through the memory that its threads
share (OpenCL 1.2 has no shuffles: threads fold in halves there), and the thread whose share is the first has the result. Where the
results are too few to keep all processors busy the reduced positions are cut into parts; partial results go to a scratch buffer
[part][result], and a second kernel, the same over that buffer, combines them. Every order is fixed, and there are no atomics: the
same input gives the same bits. Barriers and shuffles stand outside of all conditions; threads outside of the results hold the
start value. NaNs that a combiner minds the order of are looked for on the way, as on CPUs (gen/heroes/reduction_cpu.py).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple

from gen import algebra
from gen.emit.body import Body, Helpers, Text, conditions
from gen.heroes import reduction_cpu
from gen.heroes.hero import Context, Hero
from gen.heroes.kernel import Kernel
from gen.heroes.reduction_cpu import Digits
from gen.hlo import Shape, dtypes
from gen.plan.buffers import Buffer, buffer_of, buffers_of, memory_map, reads_of
from gen.plan.digits import Walk
from gen.plan.nest import Nest
from gen.plan.partition import Partition, compose
from gen.plan.plan import Reduction
from gen.schedule import Device, Schedule
from gen.targets import FLOATS, Target

THREADS = 256
LINE, SECTOR = 128, 32                           # bytes that neighbouring threads should read together; at least
SHARED = {"cuda": 48 << 10, "opencl": 32 << 10}  # bytes that any block may have
MOST_VALUES = 32                                 # accumulators of a thread
WORD, AHEAD = 16, 64                             # bytes of one input that a thread asks for together: at least, at most

Box = Dict[str, Tuple[int, int]]


@dataclass(frozen=True)
class Block(Schedule):
    """digit: the one that `across` goes along (None: none). slots: accumulators of a thread for each value; steps of `fold` units (a
    vector where the minor digit is reduced, else one row), cut into parts of `per_part`; unroll: steps whose loads may be together."""

    rows: int = 1
    fold: int = 1
    across: int = 1
    digit: Optional[int] = None
    slots: int = 1
    unroll: int = 1
    parts: int = 1
    per_part: int = 1

    @property
    def even(self) -> bool:
        """Whether the threads that fold are powers of two: a warp holds whole groups of them, or is part of one."""
        return all(n & (n - 1) == 0 for n in (self.fold, self.across))

    def text(self) -> str:
        words = [f"{super().text()}: {self.rows} rows x {self.fold} to fold x {self.across} across", f"vec {self.vec}"]
        return ", ".join(words + [f"{self.parts} parts, combined by a second kernel"] * (self.parts > 1))


# ---- numbers ----

def _over(digits: Digits, vec: int) -> "Dict[int, int]":
    """Units of the reduced digits."""
    return {k: digits.sizes[k] // (vec if k == digits.minor else 1) for k in digits.reduced()}


def _pow2(n: int) -> int:
    """The largest power of two that is at most n."""
    return 1 << (max(1, n).bit_length() - 1)


def _across(wide: int, most: int) -> int:
    """Threads along `wide` units, in equal parts: a power of two unless more than a quarter would be idle."""
    each = -(-wide // -(-wide // most))
    even = 1 << (each - 1).bit_length()
    return even if 4 * each >= 3 * even else each


def _block(device: Device, digits: Digits, widths: Sequence[int], values: int, most_vec: int, threads: int, first: bool) -> Block:
    """widths: bytes of the elements that neighbouring positions read or write side by side; values: accumulators for each result.
    first: the kernel that reads the inputs; the second finds what it reads in a cache, and there is little of it."""
    minor, sizes, kept = digits.minor, digits.sizes, digits.kept()
    column = bool(digits.out[minor])
    vec = min(most_vec, 16 // min(widths)) if widths else 1
    while vec > 1 and (vec * max(widths) > 32 or sizes[minor] % vec or (column and vec * values > MOST_VALUES)):
        vec //= 2
    width, over = max(widths, default=4), _over(digits, vec)
    units, digit = math.prod(over.values()), minor if column else None
    if not column and kept and len(over) > 1 and kept[-1] == minor - 1 and 4 * sizes[minor] * width <= LINE and 4 * over[minor] <= units:
        digit = minor - 1
    wide = 1 if digit is None else sizes[digit] // (vec if column else 1)
    rows = math.prod(sizes[k] for k in kept if k != digit)
    across = _across(wide, 32 if first else max(1, SECTOR // (vec * width)))
    most = _pow2(threads // across) if across & (across - 1) == 0 else threads // across
    fold = most if units // 4 >= most else _pow2(units // 4)
    if across == 1:
        fold = min(most, max(fold, min(max(1, LINE // (vec * width)), 1 << (-(-units * vec * width // WORD) - 1).bit_length())))
        while fold > 1 and 3 * -(-units // fold) * fold > 4 * units:   # at most a quarter is idle
            fold //= 2
    while 2 * fold <= min(most, units) and rows * wide * fold < 1024 * device.units:
        fold *= 2
    across = _across(wide, max(across, threads // fold)) if first else across
    columns, together = -(-wide // across), max(1, min(rows, threads // (fold * across)))
    used = -(-together * fold * across // device.warp) * device.warp
    blocks, steps, ahead, parts, per = -(-rows // together) * columns, units // fold, max(1, AHEAD // (vec * width)), 1, 1
    if first and blocks < 2 * device.units and steps >= 4 * ahead:   # fewer are done before a second kernel starts
        per = -(-steps // (ahead * -(-4 * device.units // blocks))) * ahead
        parts = -(-steps // per)
    slots = vec if column else min(vec, 4)
    return Block(used, vec=vec, rows=together, fold=fold, across=across, digit=digit, slots=slots, unroll=ahead, parts=parts, per_part=per)


def _widths(digits: Digits, found: Walk) -> List[int]:
    return [a.width for a in found.accesses if a.width and a.strides and a.strides[digits.minor] == 1]


def _as_read(nest: Reduction) -> Reduction:
    """The nest walked in the order in which most of what it reads and writes lies in memory: its results do not mind."""
    dims, partition = nest.space.dims, nest.inputs
    moved: Dict[Tuple[int, ...], int] = {}
    heroes = sum(len(hero.operands) // 2 for hero in nest.heroes)
    found = [(buffer.shape, read.map) for read, _ in reads_of(partition, partition.entry) for buffer in [buffer_of(partition, read)] if buffer]
    for shape, index in found + [(root.shape, root.map) for root in partition.roots[heroes:]]:
        strides = [algebra.access(compose(index, memory_map(shape)), f"i{k}")[0].stride for k in range(len(dims))] if shape.dims else []
        if strides and all(stride for stride, size in zip(strides, dims) if size > 1):
            own = list(nest.space.minor_to_major)
            order = tuple(sorted(own, key=lambda k: abs(strides[k] or 0) if dims[k] > 1 else 0))
            moved[order] = moved.get(order, 0) + shape.bytes
    order = max(moved, key=lambda o: moved[o], default=())
    if not order or [k for k in order if dims[k] > 1] == [k for k in nest.space.minor_to_major if dims[k] > 1]:
        return nest
    text = algebra.shape(f"{nest.space.dtype}[{','.join(map(str, dims))}]{{{','.join(map(str, order))}}}").split("\t")[0]
    return replace(nest, space=replace(nest.space, text=text, minor_to_major=order))


class _Hero(Hero):
    """A block's share of the results, and a second kernel that combines parts."""

    name, sides = "reduction", True

    def takes(self, nest: Nest, context: Context) -> bool:
        return not context.device.cpu and not nest.layout and reduction_cpu.plain(nest)

    def schedules(self, nest: Nest, context: Context) -> "Iterable[Any]":
        assert isinstance(nest, Reduction)
        nest = _as_read(nest)
        found = reduction_cpu.digits_of(nest)
        return [(nest, *found)] if found and found[0].reduced() else []

    def kernels(self, nest: Nest, schedule: Any, index_type: str, context: Context) -> "Optional[List[Kernel]]":
        as_read, digits, accesses = schedule
        return _Emitter(context.target, context.device, context.helpers, as_read, digits, _widths(digits, accesses), index_type, context.excess,
                        context.scratch).kernels()


HERO = _Hero()


def _needed(index: str, box: Box, index_type: str) -> str:
    """What a point of a box must satisfy to lie in a map's domain, without bounds of variables that follow from the rest."""
    info = algebra.info(index)
    bounds = ", ".join(f"{v.name} in [{box[v.name][0]}, {box[v.name][1]}]" for v in info.variables)
    rest = "".join(f", {c.text} in [{c.lo}, {c.hi}]" for c in info.constraints)
    again = algebra.info(algebra.simplify(f"({', '.join(v.name for v in info.variables)}) -> (), domain: {bounds}{rest}"))
    same = [(v.lo, v.hi) for v in again.variables] == [(v.lo, v.hi) for v in info.variables]
    return " && ".join(algebra.c_text(index, index_type).constraints if same else conditions(index, box, index_type))


def _says(lines: Sequence[str], name: str) -> bool:
    return any(re.search(rf"\b{name}\b", line) for line in lines)


# ---- text ----

class _Emitter(reduction_cpu.Emitter):
    """The text of one nest's kernels; `source`: the scratch buffers that the second one reads."""

    sweep: Block  # type: ignore[assignment]

    def __init__(self, d: Target, device: Device, helpers: Helpers, nest: Reduction, digits: Digits, widths: Sequence[int], index_type: str,
                 excess: bool, scratch: "List[Shape]") -> None:
        super().__init__(d, helpers, nest, digits, None, index_type, excess, scratch)  # type: ignore[arg-type]
        self.device, self.source = device, []  # type: Device, List[int]
        self.sweep = self.fitting(digits, widths, True)

    # ---- numbers ----

    def cells(self, block: Block) -> int:
        """Values of one slot that a block's threads leave for each other: 0, of every thread, or of the first lanes of every warp."""
        if block.fold == 1:
            return 0
        if self.d.name != "cuda" or not block.even:
            return block.threads
        return block.threads // 32 * min(32, block.across) if block.fold * block.across > 32 else 0

    def fitting(self, digits: Digits, widths: Sequence[int], first: bool) -> Block:
        """The largest block whose values fit into the shared memory."""
        sizes = [self.d.register_bits(dtype) // 8 for _, _, dtype in self.accumulators] + [4] * bool(self.watched)
        for vec in (16, 4, 2, 1):
            for threads in (THREADS, 64):
                block = _block(self.device, digits, widths, len(sizes), vec, threads, first)
                if self.cells(block) * (block.slots if digits.out[digits.minor] else 1) * sum(sizes) <= SHARED[self.d.name]:
                    return block
        raise AssertionError("64 threads fit")

    # ---- kernels ----

    def kernels(self) -> List[Kernel]:
        nest, parts = self.nest, self.sweep.parts
        reads, writes = buffers_of(nest.inputs, nest.inputs.entry), {r.pointer: r.shape for r in self.sides}
        results = {r.pointer: r.shape for r in nest.epilogue.roots}
        if parts == 1:
            both = {**reads, **self.read_for_results()}
            return [self.whole(nest.name, both, {**writes, **results}, [nest.inputs, *self.results_of()])]
        kinds = [self.kept_as(dtype) for _, _, dtype in self.accumulators] + ["s32"] * bool(self.watched)
        self.partial = list(range(len(self.scratch), len(self.scratch) + len(kinds)))
        between = {f"q{number}": reduction_cpu.array(dtype, (parts, self.results)) for number, dtype in zip(self.partial, kinds)}
        self.scratch += between.values()
        made = [self.whole(nest.name, reads, {**writes, **between}, [nest.inputs])]
        self.source, self.partial, self.seen = self.partial, [], []
        self.digits = Digits((parts, self.results), (self.results, 1), (0, 1)) if self.results > 1 else Digits((parts,), (1,), (0,))
        self.sweep = self.fitting(self.digits, [dtypes.storage_bytes(dtype) for dtype in kinds], False)
        return made + [self.whole(nest.name + "_parts", {**between, **self.read_for_results()}, results, self.results_of())]

    def whole(self, name: str, reads: "Dict[str, Shape]", writes: "Dict[str, Shape]", partitions: Sequence[Partition]) -> Kernel:
        """One kernel: the threads' own steps, the fold, the results."""
        block, digits = self.sweep, self.digits
        self.column = block.digit == digits.minor
        self.slots = block.slots if self.column else 1            # values that a thread has in the end
        self.slot = "vec" if self.slots > 1 else "0"
        place, guard, blocks = self.place()
        passes, seen = self.passes()
        finish = Text()
        self.gather(finish)
        self.finish(finish, *self.result_position(), Schedule(vec=self.slots), [
            [f"{self.name(h, k)}[{self.slot}]" for k in range(len(self.accumulators_of(h)))] for h in range(len(self.nest.heroes))],
            "odd >> vec & 1" if self.slots > 1 else "odd")
        fold, own, start = self.folds(bool(guard)), self.own(), self.started()
        made = self.kernel(name, blocks, block.threads, reduction_cpu.by_number(reads), writes, [], [], partitions)
        made.before, made.text, made.after = seen.before.lines, seen.text.lines, seen.after.lines
        made.template, made.thread = "reduction_gpu", seen.thread or ""
        lines = [*(line for one in passes for line in [one["head"], *one["lines"]]), *finish.lines, *fold, "f" if fold else ""]
        made.place = self.declared(place, lines + [guard])
        made.parts.update(
            walk=place, shared=self.shared(), start=start, passes=passes, own=own, fold=fold, finish=finish.lines,
            inside=guard if fold else "", guard="inside" if fold and guard else guard,
            leads=" && ".join(["inside"] * bool(fold and guard) + ["f == 0"] * bool(fold)))
        return made

    def shared(self) -> List[str]:
        """Arrays that a block's threads share."""
        size = self.cells(self.sweep) * self.slots
        arrays = [f"{self.d.register(dtype)} {self.name(h, k, 'shared')}[{size}];" for h, k, dtype in self.accumulators]
        odd = [f"int shared_odd[{self.cells(self.sweep)}];"] * bool(self.watched)
        return [self.d.shared + text for text in arrays + odd] if size else []

    def place(self) -> Tuple[str, str, int]:
        """The map from a thread to its part, its row's digits and its column; what it must satisfy to have a result; blocks."""
        block, digits = self.sweep, self.digits
        kept = [k for k in digits.kept() if k != block.digit]
        rows, wide = math.prod(digits.sizes[k] for k in kept), self.wide()
        across, down = -(-wide // block.across), -(-rows // block.rows)
        blocks, group = block.parts * down * across, block.fold * block.across
        row = f"(((bl_x floordiv {across}) mod {down}) * {block.rows} + th_x floordiv {group})"
        column = f"((bl_x mod {across}) * {block.across} + th_x mod {block.across})"
        texts, weight = {}, rows
        for k in kept:
            weight //= digits.sizes[k]
            texts[f"g{k}"] = f"({row} floordiv {weight}) mod {digits.sizes[k]}"
        if block.digit is not None:
            texts["column"] = column
        if block.parts > 1:
            texts["part"] = f"bl_x floordiv {down * across}"
        self.names = list(texts)
        box = {"th_x": (0, block.threads - 1), "bl_x": (0, blocks - 1)}
        domain = [f"{name} in [{low}, {high}]" for name, (low, high) in box.items()] + [
            f"{row} in [0, {rows - 1}]", f"{column} in [0, {wide - 1}]", f"th_x in [0, {block.rows * group - 1}]"]
        place = algebra.simplify(f"(th_x, bl_x) -> ({', '.join(texts.values())}), domain: {', '.join(domain)}")
        self.bounds: Box = {f"g{k}": (0, digits.sizes[k] - 1) for k in kept}
        if block.digit is not None:
            self.bounds["column"] = (0, wide - 1)
        if block.parts > 1:
            self.bounds["part"] = (0, block.parts - 1)
        return place, _needed(place, box, self.index_type), blocks

    def declared(self, place: str, lines: Sequence[str]) -> List[str]:
        """C lines for what a thread knows of its place, as far as it is asked for."""
        block = self.sweep
        share = algebra.simplify(f"(th_x) -> ((th_x floordiv {block.across}) mod {block.fold}), "
                                 f"domain: th_x in [0, {block.rows * block.fold * block.across - 1}]")
        texts = [*zip(self.names, algebra.c_text(place, self.index_type).results), ("f", algebra.c_text(share, self.index_type).results[0])]
        found = [f"const {self.t} {name} = {text};" for name, text in texts if _says(lines, name)]
        ids = [("bl_x", self.d.group), ("th_x", self.d.item)]
        return [f"const {self.t} {name} = {text};" for name, text in ids if _says([*lines, *found], name)] + found

    def wide(self) -> int:
        """Units along the digit that goes across."""
        digit = self.sweep.digit
        return 1 if digit is None else self.digits.sizes[digit] // (self.sweep.vec if digit == self.digits.minor else 1)

    def kept_at(self) -> "Dict[int, str]":
        """Texts of the coordinates of kept digits."""
        block, minor = self.sweep, self.digits.minor
        along = f"column * {block.vec} + vec" if block.digit == minor and block.vec > 1 else "column"
        return {k: along if k == block.digit else f"g{k}" for k in self.digits.kept()}

    # ---- a thread's own steps ----

    def started(self) -> List[str]:
        """Accumulators and their first values."""
        slots, out = self.sweep.slots, Text()
        for h, k, dtype in self.accumulators:
            out.add(f"{self.d.register(dtype)} {self.name(h, k)}[{slots}]{'' if slots > 1 else f' = {{{self.start(h, k)}}}'};")
        if slots > 1:
            out.add(self.d.unroll)
            with out.block(f"for ({self.t} vec = 0; vec < {slots}; ++vec)"):
                out.add(*(f"{self.name(h, k)}[vec] = {self.start(h, k)};" for h, k, _ in self.accumulators))
        out.add(*["int odd = 0;"] * bool(self.watched))
        return out.lines

    def passes(self) -> "Tuple[List[Dict[str, Any]], Body]":
        """Steps that all threads of a block take, then a last one that some do; the body of the first."""
        block, made, first = self.sweep, [], None
        units = math.prod(_over(self.digits, block.vec).values())
        steps, rest = units // block.fold, units % block.fold
        share = "f" if block.fold > 1 else "0"
        if steps:
            start, end = "0", str(steps)
            if block.parts > 1:
                start = f"part * {block.per_part}"
                end = f"{start} + {block.per_part}"
                end = end if steps % block.per_part == 0 else f"(part < {block.parts - 1} ? {end} : {steps})"
            body = first = self.stepped(f"step * {block.fold} + {share}", {"step": (0, steps - 1), "f": (0, block.fold - 1)})
            unroll = self.d.unroll + ("" if steps <= block.unroll else f" {block.unroll}")
            made.append({"head": f"for ({self.t} step = {start}; step < {end}; ++step)" if steps > 1 else "",
                         "unroll": unroll if steps > 1 and block.unroll > 1 else "", "lines": self.lines(body)})
        if rest:
            body = self.stepped(f"{steps * block.fold} + f", {"f": (0, rest - 1)})
            last = f"part == {block.parts - 1} && " if block.parts > 1 else ""
            made.append({"head": f"if ({last}f < {rest})", "unroll": "", "lines": self.lines(body)})
            first = first or body
        assert first is not None
        return made, first

    def lines(self, body: Body) -> List[str]:
        out = Text()
        self.put(out, body, self.sweep.vec)
        return out.lines

    def stepped(self, unit: str, more: Box) -> Body:
        """A step's body; unit: which one of the reduced units, as text of a map."""
        block, digits = self.sweep, self.digits
        box = {**self.bounds, **more, "vec": (0, block.vec - 1)}
        over, at = _over(digits, block.vec), self.kept_at()
        below = math.prod(over.values())
        for k, size in over.items():
            below //= size
            at[k] = f"((({unit}) floordiv {below}) mod {size})" + (f" * {block.vec} + vec" if k == digits.minor and block.vec > 1 else "")
        position = " + ".join(f"({at[k]}) * {digits.weights[k]}" for k in sorted(at))
        ranges = [name for name in ("step", "vec") if name in box]
        slot = "0" if block.slots == 1 else "vec" if block.slots == block.vec else f"vec % {block.slots}"
        if self.source:
            thread = self.map(position, box, ranges)
            body = self.plain(lanes=1)
            body.loop, body.box, body.thread = block, dict(box), thread
            values = [body._load(Buffer(f"q{number}", self.scratch[number], "x"), thread, body.function.body) for number in self.source]
            if self.watched:
                body.text.add(f"odd |= {self.in_slot(values.pop().text)};")
            self.seen += [a for a in body.flat if a not in self.seen]
        else:
            body = self.body(self.thread(position, box, ranges), box, block, True)
            values = self.values(body)
            for value, (h, _, dtype) in zip(values, self.accumulators):
                if h in self.watched and dtype in FLOATS:
                    body.text.add(f"odd |= {self.in_slot(f'({value.text} != {value.text})')};")
        self.merge(body, slot, [v.text for v in values])
        return body

    def in_slot(self, text: str) -> str:
        """A flag of what the thread's result number vec met."""
        return f"{text} << vec" if self.slots > 1 else text

    def merge(self, body: Body, slot: str, others: Sequence[str]) -> None:
        """a[slot] = f(a[slot], others)"""
        for h in range(len(self.nest.heroes)):
            mine = [n for n, (hero, _, _) in enumerate(self.accumulators) if hero == h]
            old = [f"{self.name(h, k)}[{slot}]" for k in range(len(mine))]
            new = self.combined(body, h, old, [others[n] for n in mine], 1)
            body.text.add(*(f"{a} = {b};" for a, b in zip(old, new)))

    # ---- folds ----

    def own(self) -> List[str]:
        """A row's slots into one."""
        out, body = Text(), self.plain(lanes=1)
        if self.sweep.slots > self.slots:
            self.merge(body, "0", [f"{self.name(h, k)}[slot]" for h, k, _ in self.accumulators])
            out.add(self.d.unroll)
            with out.block(f"for ({self.t} slot = 1; slot < {self.sweep.slots}; ++slot)"):
                out.add(*body.text.lines)
        return out.lines

    def folds(self, guarded: bool) -> List[str]:
        """What threads of a block do together, up to what `gather` does."""
        block, out = self.sweep, Text()
        if block.fold == 1:
            return []
        if self.d.name == "cuda" and block.even:
            self.shuffled(out)
            if self.cells(block):
                lanes = min(32, block.across)
                self.left(out, self.cell(f"th_x floordiv 32 * {lanes} + th_x mod 32", f", th_x mod 32 in [0, {lanes - 1}]"))
                out.add(self.d.barrier)
        else:
            self.halved(out, guarded)
        return out.lines

    def shuffled(self, out: Text) -> None:
        """The lanes of each warp that are of the same result."""
        block, body = self.sweep, self.plain(lanes=1)
        width = min(32, block.fold * block.across)

        def other(text: str, dtype: str) -> str:
            small = self.d.register_bits(dtype) < 32
            text = f"__shfl_down_sync(0xffffffffu, {'(int)' * small}{text}, distance, {width})"
            return f"({self.d.register(dtype)}){text}" if small else text
        if width <= block.across:
            return
        others = [body.declare("other", dtype, 1, other(f"{self.name(h, k)}[{self.slot}]", dtype)).text for h, k, dtype in self.accumulators]
        self.merge(body, self.slot, others)
        out.add(self.d.unroll)
        with out.block(f"for ({self.t} distance = {width // 2}; distance >= {block.across}; distance /= 2)"):
            self.put(out, body, self.slots)
            out.add(*["odd |= " + other("odd", "s32") + ";"] * bool(self.watched))

    def cell(self, text: str, domain: str = "", more: "Optional[Box]" = None) -> str:
        """A map from a thread and a slot to where the value is in shared memory."""
        block, cells = self.sweep, self.cells(self.sweep)
        box = {"th_x": (0, block.threads - 1), **(more or {}), "vec": (0, self.slots - 1)}
        bounds = ", ".join(f"{name} in [{low}, {high}]" for name, (low, high) in box.items())
        names = ", ".join(name for name in box if name != "vec")
        return algebra.simplify(f"({names})[vec] -> (vec * {cells} + {text}), domain: {bounds}{domain}")

    def at(self, cell: str) -> str:
        return algebra.c_text(cell, self.index_type).results[0]

    def left(self, out: Text, cell: str) -> None:
        """A thread's values to the shared memory."""
        box, body = {"th_x": (0, self.sweep.threads - 1), "vec": (0, self.slots - 1)}, self.plain(lanes=1)
        body.text.add(*(f"{self.name(h, k, 'shared')}[{self.at(cell)}] = {self.name(h, k)}[{self.slot}];" for h, k, _ in self.accumulators))
        first = self.at(algebra.substitute(cell, vec=0))
        guard = _needed(cell, box, self.index_type)
        with out.block(f"if ({guard})" if guard else ""):
            self.put(out, body, self.slots)
            out.add(*[f"shared_odd[{first}] = odd;"] * bool(self.watched))

    def taken(self, out: Text, cell: str) -> None:
        """Values of the shared memory into a thread's own."""
        body = self.plain(lanes=1)
        self.merge(body, self.slot, [f"{self.name(h, k, 'shared')}[{self.at(cell)}]" for h, k, _ in self.accumulators])
        self.put(out, body, self.slots)
        out.add(*[f"odd |= shared_odd[{self.at(algebra.substitute(cell, vec=0))}];"] * bool(self.watched))

    def halved(self, out: Text, guarded: bool) -> None:
        """Every thread's values through the shared memory, in halves. Threads of one result are inside or outside together."""
        block = self.sweep
        own = self.cell("th_x")
        other = self.cell(f"th_x + apart * {block.across}", "", {"apart": (0, block.fold // 2)})
        self.left(out, own)
        with out.block(f"for ({self.t} many = {block.fold}, apart; many > 1; many = apart)"):
            out.add(self.d.barrier, "apart = (many + 1) / 2;")
            with out.block(f"if ({'inside && ' * guarded}f + apart < many)"):
                self.taken(out, other)
                self.left(out, own)

    def gather(self, out: Text) -> None:
        """What the warps left, by the thread that has the result."""
        block = self.sweep
        if self.d.name != "cuda" or not block.even or not self.cells(block):
            return
        group = block.fold * block.across
        warps = group // max(32, block.across)
        cell = self.cell(f"((th_x floordiv {group}) * {warps} + warp) * {block.across} + th_x mod {group}",
                         f", th_x mod {group} in [0, {block.across - 1}]", {"warp": (0, warps - 1)})
        out.add(self.d.unroll)
        with out.block(f"for ({self.t} warp = 1; warp < {warps}; ++warp)"):
            self.taken(out, cell)

    # ---- results ----

    def result_position(self) -> Tuple[str, Box]:
        """Where the thread's result number vec is among all results."""
        box = {**self.bounds, **({"vec": (0, self.slots - 1)} if self.slots > 1 else {})}
        return self.out_position(self.kept_at()), box

    def again(self, out: Text, position: str, box: Box, sweep: Schedule, odd: str) -> None:
        """Results that met a NaN are computed once more, in the order of the elements."""
        partition = self.nest.partition
        thread = compose(self.map(position, box, ()), algebra.call("shape", "unmap", self.nest.shape.text))
        body = Body(self.d, self.helpers, partition, partition.entry, self.index_type, thread, Schedule(), self.excess, dict(box))
        body.region(partition.entry.body)
        for root in partition.roots:
            body.store(root)
        with out.block(f"for ({self.t} vec = 0; vec < {sweep.vec}; ++vec)" if sweep.vec > 1 else ""):
            with out.block(f"if ({odd})"):
                self.put(out, body, 1)
