"""The reduction hero on CPUs: one pass over the input in the order of its memory, many partial accumulators.

The input's position is split into digits, kept and reduced ones (gen/plan/digits.py). Three sweeps:

  rows     the minor digit is reduced. A work-item takes rows of 16 neighbouring results one after another, each into a few vector
           accumulators, and folds the 16 vectors of the rows into one vector of 16 results; four such blocks of rows, far apart,
           go side by side, of short rows two. Rows of 2, 4 or 8 elements fill vectors together.
  columns  the minor digit is kept. A work-item takes a block of neighbouring columns, a vector accumulator for each 16.
  flat     few results: the minor reduced digit and what is kept below it (fewer than 16 columns) are one stream of vectors, whose
           lanes mean the same column again and again; lanes are folded one by one at the end.

Where there are too few results to keep all threads busy the reduced digit is cut into parts: partial results go to a scratch
buffer [part][result], and a second kernel combines them in the order of the parts. Every order is fixed, so the same input gives
the same bits. Where a combiner minds the order of NaNs only (most argmax) those are looked for on the way, and results that met one
are computed again in the order of the elements. Partial accumulators start from gen/plan/combiner.py's start values; f16 and bf16 sums are kept in f32 and rounded once.
"""

from __future__ import annotations

import math
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, ContextManager, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple

from gen import algebra
from gen.emit import register_tiles
from gen.emit.body import Body, Helpers, Text, Value
from gen.heroes import reduction
from gen.heroes.hero import Context, Hero
from gen.heroes.kernel import Kernel
from gen.heroes.reduction import Digits, array, by_number, digits_of, plain
from gen.hlo import Shape, dtypes
from gen.plan.buffers import Buffer, buffers_of
from gen.plan.digits import Walk, place as placed_at
from gen.plan.nest import Nest
from gen.plan.plan import Reduction
from gen.schedule import Device, Schedule
from gen.targets import FLOATS, SMALL, Target

LANES = 16
PART = 1 << 18        # bytes of input a work-item, where there is enough
MOST_REGISTERS = 16   # accumulators of a column block
BURST = 4             # lines asked for together
MOST_PERIOD = 25      # vectors until a row of columns starts at a lane 0 again, all held as accumulators
FAR = 2048            # bytes ahead
STREAMS = 4           # places in memory that a work-item walks at a time: their pages are looked up side by side
FEW = 1024            # bytes of a row up to which half of them are walked: between the many folds more lines are asked for than there is room for


@dataclass(frozen=True)
class Sweep(Schedule):
    """kind: rows, columns, flat, parts (the second kernel). rows: results a work-item folds together; per_part: steps of the digit that is cut into `parts`;
    streams: equal pieces of a part, or of all blocks of rows; chunks: blocks of rows that a work-item takes one after another."""

    lanes: int = LANES
    kind: str = "flat"
    rows: int = 1
    parts: int = 1
    per_part: int = 1

    @property
    def registers(self) -> int:
        """Accumulators."""
        return self.vec * self.streams

    @property
    def span(self) -> int:
        """Elements of a step of all streams."""
        return self.registers * self.lanes

    def text(self) -> str:
        words = [self.kind, super().text(), f"{self.registers} accumulators of {self.lanes}"]
        words += [f"{self.streams} streams"] if self.streams > 1 else []
        words += [f"{self.rows} rows folded together, {self.chunks} times"] if self.rows > 1 else []
        words += [f"{self.parts} parts, combined by a second kernel"] if self.parts > 1 else []
        return ", ".join(words + ["paired"] * self.paired)


class _Hero(Hero):
    """A sweep, and a second kernel that combines its parts."""

    name, sides = "reduction", True

    def takes(self, nest: Nest, context: Context) -> bool:
        return context.device.cpu and context.target.wide and plain(nest)

    def schedules(self, nest: Nest, context: Context) -> "Iterable[Any]":
        assert isinstance(nest, Reduction)
        found = digits_of(nest)
        sweep = _sweep(context.device, context.target, nest, *found) if found else None
        return [(found[0], sweep)] if found and sweep else []

    def kernels(self, nest: Nest, schedule: Any, index_type: str, context: Context) -> "Optional[List[Kernel]]":
        assert isinstance(nest, Reduction)
        digits, sweep = schedule
        return Emitter(context.target, context.helpers, nest, digits, sweep, index_type, context.excess, context.scratch,
                       context.device.group).kernels()


HERO = _Hero()


def _sweep(device: Device, d: Target, nest: Reduction, digits: Digits, found: Walk) -> Optional[Sweep]:
    sizes, out, minor = digits.sizes, digits.out, digits.minor
    reads = [a for a in found.accesses if not a.write and a.strides]
    width = max([dtypes.storage_bytes(hero.operands[0].shape.dtype) for hero in nest.heroes] + [a.width for a in reads])
    threads = device.group
    results = math.prod(sizes[k] for k in digits.kept())
    if not digits.reduced():
        return None
    paired = {a.width for a in found.accesses if a.name != "out"} == {2} and all(
        h.operands[k].shape.dtype == "bf16" for h in nest.heroes for k in range(len(h.operands) // 2))

    def parts(items: int, steps: int, bytes_a_step: int, least: int) -> Tuple[int, int]:
        """(parts, steps a part): enough items for all threads, each with enough to do."""
        wanted = max(1, min(-(-16 * device.units // items), steps * bytes_a_step // PART, steps // least))
        per = -(-steps // wanted)
        return -(-steps // per), per

    if not out[minor]:
        size = sizes[minor]
        row = next((k for k in digits.kept() if out[k] == 1), None)
        if row is not None and sizes[row] >= LANES:
            many = sum(len(hero.operands) // 2 for hero in nest.heroes) * max(1, width // 4)
            many += many > 1     # NaNs may be watched
            blocks, outer = sizes[row] // LANES, results // sizes[row]
            streams = STREAMS if size * width > FEW else STREAMS // 2
            streams = streams if size >= LANES and blocks * outer >= 4 * STREAMS * device.units and blocks >= STREAMS else 1
            if size >= LANES:
                paired = paired and size >= 2 * LANES
                vec = 2 if paired else min(4, size // LANES // 2 * 2 or 1)
                while vec > (2 if paired else 1) and vec * streams * many > MOST_REGISTERS:
                    vec //= 2
            elif size in (2, 4, 8) and digits.weights[row] == size:
                vec, paired = size, False
            else:
                return None
            data = LANES * width * math.prod(sizes[k] for k in digits.reduced())
            each = blocks // streams
            chunks = max(1, min(each, PART // data, each * outer // (16 * device.units)))
            if data * blocks * outer < 4 * PART or streams > 1 or size < LANES:
                items = -(-each // chunks) * outer
                return Sweep(threads if items >= 64 * threads else 1, chunks, vec, paired=paired, streams=streams, far=FAR, kind="rows", rows=LANES)
        lane = size
        below = 1
    elif sizes[minor] >= LANES and not _periodic(digits):
        size = sizes[minor]
        if out[minor] != 1:
            return None
        registers = size // LANES if size <= LANES * MOST_REGISTERS else min(
            range(MOST_REGISTERS // 2, MOST_REGISTERS + 1), key=lambda n: (-(-size // (n * LANES)) * n, -n))
        blocks = max(1, size // (registers * LANES))
        items = blocks * results // size
        cut = max(digits.reduced(), key=lambda k: sizes[k])
        inner = math.prod(sizes[k] for k in digits.reduced()) // sizes[cut]
        count, per = parts(items, sizes[cut], inner * registers * LANES * width, 16)
        return Sweep(threads if items * count >= 64 * threads else 1, vec=registers, kind="columns", parts=count, per_part=per,
                     far=digits.weights[cut] * width * max(1, 4 * FAR // (registers * LANES * width)))
    if out[minor]:
        below = sizes[minor]
        if minor == 0 or out[minor] != 1 or out[minor - 1]:
            return None
        lane = sizes[minor] * sizes[minor - 1]
    period = below // math.gcd(below, LANES)
    paired = paired and below == 1
    streams = STREAMS if period == 1 and lane >= 64 * LANES else 1
    vec = 2 if paired else period if streams > 1 else period * max(1, 4 // period)
    steps = lane // (vec * LANES * streams)
    if steps == 0:
        return None
    inner = math.prod(sizes[k] for k in digits.reduced()) * below // lane
    count, per = parts(results // below, steps, vec * LANES * streams * width * inner, 4)
    if streams > 1 and count * per != steps:   # all parts alike: what is left over goes with the rest
        per = steps // count
    return Sweep(vec=vec, paired=paired, streams=streams, far=FAR, parts=count, per_part=per)


def _periodic(digits: Digits) -> bool:
    """Whether few columns lie under so many rows that vectors, each always of the same columns, pay."""
    minor = digits.minor
    below = digits.sizes[minor]
    period = below // math.gcd(below, LANES)
    return below < LANES or (minor > 0 and not digits.out[minor - 1] and period <= MOST_PERIOD and
                             digits.sizes[minor - 1] * below >= 64 * LANES * max(4, period))


class Emitter(reduction.Emitter):
    """The text of one nest's kernels."""

    sweep: Sweep

    def __init__(self, d: Target, helpers: Helpers, nest: Reduction, digits: Digits, sweep: Sweep, index_type: str, excess: bool,
                 scratch: "List[Shape]", group: int) -> None:
        super().__init__(d, helpers, nest, digits, sweep, index_type, excess, scratch)
        self.group, self.text = group, Text()
        self.of_stream: List[str] = []                               # C lines in each block of a stream

    # ---- where things are ----

    def coordinates(self) -> "Tuple[List[Tuple[str, int]], Dict[int, str], Dict[str, Tuple[int, int]], List[str]]":
        """What a work-item's number counts; the text of each digit's coordinate; the bounds of its variables; C lines."""
        digits, sweep = self.digits, self.sweep
        counts: List[Tuple[str, int]] = []
        at: Dict[int, str] = {}
        box: Dict[str, Tuple[int, int]] = {}
        lines: List[str] = []
        special = self.special()
        for k in digits.kept():
            if k == special:
                continue
            if digits.sizes[k] > 1:
                counts.append((f"g{k}", digits.sizes[k]))
            at[k], box[f"g{k}"] = f"g{k}", (0, digits.sizes[k] - 1)
        if special is not None:
            size, width = digits.sizes[special], sweep.rows if sweep.kind == "rows" else sweep.step if sweep.kind == "columns" else 1
            streams, blocked = sweep.streams if sweep.kind == "rows" else 1, sweep.kind == "rows" or size > LANES * MOST_REGISTERS
            whole = max(1, size // width)
            each, moved = whole // streams, blocked and size % (width * streams) != 0
            self.turns, self.items, number = each + moved, -(-each // sweep.chunks), "block"
            if streams > 1:
                box["stream"] = (0, streams - 1)
                number = f"block + stream * {each}" if not moved else f"(block < {each} ? block + stream * {each} : {streams * each} + stream)"
            if blocked:
                counts.append(("chunk", self.items))
            if moved:   # a last turn for what is left: blocks moved back onto the one before, of the same work-item
                at[special], box["first"] = "first", (0, size - width)
                first = [f"const {self.t} number = {number};"] * (streams > 1)
                first.append("const {0} first = {1} < {2} ? {1} * {3} : {4};".format(self.t, "number" if streams > 1 else "block", whole, width, size - width))
                (self.of_stream if streams > 1 else lines).extend(first)
            elif blocked:
                at[special], box["block"] = f"({number}) * {width}", (0, each - 1)
            else:
                at[special] = "0"
        if sweep.parts > 1:
            counts.append(("part", sweep.parts))
            box["part"] = (0, sweep.parts - 1)
        return counts, at, box, lines

    def special(self) -> Optional[int]:
        """The kept digit that is walked in blocks."""
        digits, sweep = self.digits, self.sweep
        if sweep.kind == "rows":
            return next(k for k in digits.kept() if digits.out[k] == 1)
        return digits.minor if digits.out[digits.minor] else None

    # ---- the first kernel ----

    def kernels(self) -> List[Kernel]:
        sweep = self.sweep
        counts, at, box, lines = self.coordinates()
        self.at, self.box = at, box
        if sweep.parts > 1:
            for dtype in [self.kept_as(dtype) for _, _, dtype in self.accumulators] + ["s32"] * bool(self.watched):
                self.partial.append(len(self.scratch))
                self.scratch.append(array(dtype, (sweep.parts, self.results)))
        out = self.text
        getattr(self, sweep.kind)(lines)
        place, blocks = placed_at(counts, sweep.threads)
        c = algebra.c_text(place, self.index_type)
        head = [f"if (!({' && '.join(c.constraints)})) return;"] if c.constraints else []
        head += [f"const {self.t} {name} = {text};" for (name, _), text in zip(counts, c.results)]
        reads = buffers_of(self.nest.inputs, self.nest.inputs.entry)
        writes = {r.pointer: r.shape for r in self.sides}
        if sweep.parts == 1:
            reads = by_number({**reads, **self.read_for_results()})
            writes.update((r.pointer, r.shape) for r in self.nest.epilogue.roots)
        else:
            writes.update((f"q{n}", self.scratch[n]) for n in self.partial)
        partitions = [self.nest.inputs] + self.results_of() * (sweep.parts == 1)
        made = [self.kernel(self.nest.name, blocks, sweep.threads, reads, writes, head, out.lines, partitions)]
        if sweep.parts > 1:
            made.append(self.second())
        return made

    def declare(self, out: Text, count: int, lanes: int, of: str = "a") -> None:
        for h, k, dtype in self.accumulators:
            out.add(f"{self.d.register(dtype, lanes)} {self.name(h, k, of)}[{count}];")
        if self.watched:
            out.add(f"{self.d.register('s32', lanes)} nan_{of}[{count}];")
        out.add(*[self.d.unroll] * (lanes > 1))
        with out.block(f"for ({self.t} vec = 0; vec < {count}; ++vec)"):
            for h, k, dtype in self.accumulators:
                text = self.start(h, k)
                out.add(f"{self.name(h, k, of)}[vec] = {self.d.splat(dtype, lanes, text) if lanes > 1 else text};")
            if self.watched:
                out.add(f"nan_{of}[vec] = {self.d.splat('s32', lanes, '0') if lanes > 1 else '0'};")

    def accumulate(self, body: Body, slot: str, inside: str = "", of: str = "a") -> None:
        """a[slot] = f(a[slot], element), in the lanes that are inside."""
        values = self.values(body)
        lanes = body.lanes
        texts = [v.text if v.lanes == lanes else self.d.splat(v.dtype, lanes, v.text) for v in values]
        for text, (h, _, dtype) in zip(texts, self.accumulators):
            if h in self.watched and dtype in FLOATS:
                odd = f"{text} != {text}"
                wide = f"convert_{self.d.register('s32', lanes)}" if lanes > 1 and dtype == "f64" else ""
                body.text.add(f"nan_{of}[{slot}] |= {wide}({odd});")
        for h in range(len(self.nest.heroes)):
            mine = [n for n, (hero, _, _) in enumerate(self.accumulators) if hero == h]
            old = [f"{self.name(h, k, of)}[{slot}]" for k in range(len(mine))]
            new = self.combined(body, h, old, [texts[n] for n in mine], lanes)
            for target, text, dtype in zip(old, new, self.accumulators_of(h)):
                if inside:
                    chosen = body.apply("select", {}, "f32" if dtype in SMALL else dtype, ["pred", *["f32" if dtype in SMALL else dtype] * 2],
                                        [Value(inside, "pred", lanes), *(Value(x, "f32" if dtype in SMALL else dtype, lanes) for x in (text, target))],
                                        "kept")
                    text = chosen.text
                body.text.add(f"{target} = {text};")

    def put(self, out: Text, body: Body, count: int) -> None:
        """A step's text: loads of whole vectors, the registers, stores."""
        out.add(*body.before.lines)
        if count > 1:
            out.add(self.d.unroll)
            with out.block(f"for ({self.t} vec = 0; vec < {count}; ++vec)"):
                out.add(*body.text.lines)
        else:
            out.add(*body.text.lines)
        out.add(*body.after.lines)

    def loops(self, stack: ExitStack, skip: Sequence[int], cut: Optional[int] = None) -> None:
        """Loops over the reduced digits; the one that is cut goes over its part."""
        for k in self.digits.reduced():
            if k in skip:
                continue
            size = self.digits.sizes[k]
            first, last = ("0", str(size)) if k != cut or self.sweep.parts == 1 else self.part_of(size)
            stack.enter_context(self.text.block(f"for ({self.t} g{k} = {first}; g{k} < {last}; ++g{k})"))
            self.at[k], self.box[f"g{k}"] = f"g{k}", (0, size - 1)

    def part_of(self, size: int) -> Tuple[str, str]:
        per, parts = self.sweep.per_part, self.sweep.parts
        last = f"(part + 1) * {per}"
        return f"part * {per}", last if size % per == 0 else f"(part < {parts - 1} ? {last} : {size})"

    def position(self, inner: str) -> str:
        """A position in the input, as text of a map."""
        parts = [f"({text}) * {self.digits.weights[k]}" for k, text in self.at.items()]
        return " + ".join(parts + [inner])

    # ---- sweeps ----

    def rows(self, lines: List[str]) -> None:
        row, minor = self.special(), self.digits.minor
        assert row is not None
        with self.blocks(lines):
            if self.digits.sizes[minor] < LANES:
                self.short_rows(row)
                self.finish_wide("t", 1, f"({self.at[row]}) * 1 + lane", row)
            else:
                self.long_rows(row)

    @contextmanager
    def blocks(self, lines: List[str]) -> "Iterator[None]":
        """A work-item's blocks, one after another; the last work-item has the last turn too."""
        chunks = self.sweep.chunks
        last = f"chunk * {chunks} + {chunks}"
        if self.items * chunks != self.turns:
            last = f"(chunk < {self.items - 1} ? {last} : {self.turns})" if self.items > 1 else str(self.turns)
        with self.text.block(f"for ({self.t} block = chunk * {chunks}; block < {last}; ++block)"):
            self.text.add(*lines)
            yield

    def stream(self, unroll: bool = True) -> "ContextManager[None]":
        """A block for each stream."""
        if self.sweep.streams == 1:
            return self.text.block("")
        self.text.add(*[self.d.unroll] * unroll)
        return self.text.block(f"for ({self.t} stream = 0; stream < {self.sweep.streams}; ++stream)")

    def short_rows(self, row: int) -> None:
        """16 rows of 2, 4 or 8 elements are that many vectors; the neighbouring lanes of a row are folded together."""
        out, sweep, digits = self.text, self.sweep, self.digits
        self.declare(out, sweep.vec, LANES)
        with ExitStack() as stack:
            at = dict(self.at)
            self.loops(stack, [digits.minor])
            box = {**self.box, "vec": (0, sweep.vec - 1), "lane": (0, LANES - 1)}
            body = self.body(self.thread(self.position(f"vec * {LANES} + lane"), box, ("vec", "lane")), box, sweep, True)
            self.accumulate(body, "vec" if sweep.vec > 1 else "0")
            self.put(out, body, sweep.vec)
            self.at = at
        if self.watched:
            out.add(f"{self.d.register('s32', LANES)} nan_t[1];", f"nan_t[0] = nan_a[0]{''.join(f' | nan_a[{n}]' for n in range(1, sweep.vec))};")
        self.fold("a", sweep.vec)

    def long_rows(self, row: int) -> None:
        """Each of 16 rows into its accumulators, these into one vector; then the 16 vectors are folded."""
        out, sweep, digits = self.text, self.sweep, self.digits
        size, span, vec = digits.sizes[digits.minor], sweep.step, sweep.vec
        for h, k, dtype in self.accumulators:
            out.add(f"{self.d.register(dtype, LANES)} {self.name(h, k, 'b')}[{LANES * sweep.streams}];")
        if self.watched:
            self.zeros(out, "nan_b", sweep.streams)
        before = dict(self.at)
        with out.block(f"for ({self.t} row = 0; row < {LANES}; ++row)"):
            self.declare(out, sweep.registers, LANES)
            self.at[row] = f"{before[row]} + row"
            self.box["row"] = (0, LANES - 1)
            with ExitStack() as stack:
                self.loops(stack, [digits.minor])
                self.steps("0", str(size // span), size // span)
                self.rest(size - size // span * span, size)
            with self.stream():
                first, slot = (f"stream * {vec}", "stream") if sweep.streams > 1 else ("0", "0")
                if self.watched:
                    out.add(f"for ({self.t} vec = 0; vec < {vec}; ++vec) nan_b[{slot}] |= nan_a[{first} + vec];")
                for h in range(len(self.nest.heroes)):
                    body = self.plain(LANES)
                    names = [self.name(h, k) for k in range(len(self.accumulators_of(h)))]
                    if vec > 1:
                        body.text.add(self.d.unroll)
                        with body.text.block(f"for ({self.t} vec = 1; vec < {vec}; ++vec)"):
                            new = self.combined(body, h, [f"{n}[{first}]" for n in names], [f"{n}[{first} + vec]" for n in names], LANES)
                            body.text.add(*(f"{n}[{first}] = {text};" for n, text in zip(names, new)))
                    row_of = f"stream * {LANES} + row" if sweep.streams > 1 else "row"
                    body.text.add(*(f"{self.name(h, k, 'b')}[{row_of}] = {n}[{first}];" for k, n in enumerate(names)))
                    out.add(*body.text.lines)
        self.at = before
        with self.stream(False):
            out.add(*self.of_stream)
            of, slot = ("bs", "stream") if sweep.streams > 1 else ("b", "0")
            if sweep.streams > 1:
                out.add(*(f"const {self.d.register(dtype, LANES)} *{self.name(h, k, of)} = {self.name(h, k, 'b')} + stream * {LANES};"
                          for h, k, dtype in self.accumulators))
            if self.watched:
                out.add(f"{self.d.register('s32', LANES)} nan_t[1];", f"nan_t[0] = nan_b[{slot}];")
            self.fold(of, LANES)
            self.finish_wide("t", 1, f"({self.at[row]}) * 1 + lane", row)

    def zeros(self, out: Text, name: str, count: int) -> None:
        out.add(f"{self.d.register('s32', LANES)} {name}[{count}];",
                f"for ({self.t} vec = 0; vec < {count}; ++vec) {name}[vec] = {self.d.splat('s32', LANES, '0')};")

    def steps(self, first: str, last: str, count: int, base: str = "") -> None:
        """Whole steps along the minor positions; with streams of a part count is a stream's length."""
        sweep, out = self.sweep, self.text
        inner = "lane * 2 + vec" if sweep.paired else f"vec * {LANES} + lane"
        box = {**self.box, "step": (0, max(0, count - 1)), "vec": (0, sweep.vec - 1), "lane": (0, LANES - 1)}
        slot = "vec" if sweep.vec > 1 else "0"
        if sweep.streams > 1:
            box["stream"] = (0, sweep.streams - 1)
            inner += f" + stream * {count * sweep.step}" if sweep.kind == "flat" else ""
            slot = f"stream * {sweep.vec} + vec" if sweep.vec > 1 else "stream"
        body = self.body(self.thread(self.position(f"{base}step * {sweep.step} + {inner}"), box, ("vec", "lane")), box, sweep, True)
        self.accumulate(body, slot)
        lines = [line for key in sorted(body.ahead) for line in body.ahead[key]]
        burst = max(1, BURST // max(1, len(lines)))
        one_by_one = bool(lines) and burst == 1 and count > 1      # in one loop, so that accumulators stay in registers
        over = f"for ({self.t} step = {first}; step < {last}; ++step)"
        with ExitStack() as stack:
            if one_by_one:
                stack.enter_context(out.block(over))
            elif lines and count > burst:
                stack.enter_context(out.block(f"for ({self.t} burst = {first}; burst < {last}; burst += {burst})"))
                whole = count % burst == 0 and first == "0"
                end = f"burst + {burst}" if whole else f"(burst + {burst} < {last} ? burst + {burst} : {last})"
                over = f"for ({self.t} step = burst; step < {end}; ++step)"
            if sweep.streams > 1:
                stack.enter_context(self.stream())
                out.add(*self.of_stream)
            if lines:
                with nullcontext() if one_by_one else out.block(over):
                    out.add(*lines)
            with nullcontext() if one_by_one else out.block(over):
                self.put(out, body, sweep.vec)

    def rest(self, rest: int, size: int) -> None:
        """What is left of a row after its whole steps: vectors that end where the row ends, without what was taken before."""
        if not rest:
            return
        out, count = self.text, -(-rest // LANES)
        plain = Schedule(vec=count, lanes=LANES)
        box = {**self.box, "vec": (0, count - 1), "lane": (0, LANES - 1)}
        start = size - count * LANES
        body = self.body(self.thread(self.position(f"{start} + vec * {LANES} + lane"), box, ("vec", "lane")), box, plain, True)
        inside, skipped = "", count * LANES - rest
        with self.stream():
            out.add(*self.of_stream)
            if skipped:
                numbers = self.helpers.numbers(LANES)
                inside = "inside"
                more = self.d.splat("s32", LANES, f"(int)vec * {LANES}") if count > 1 else ""
                lane = f"{numbers}() + {more}" if more else f"{numbers}()"
                body.text.add(f"const {self.d.register('pred', LANES)} inside = convert_{self.d.register('pred', LANES)}"
                              f"(-({lane} >= {self.d.splat('s32', LANES, str(skipped))}));")
            slot = f"vec % {self.sweep.vec}" if count > self.sweep.vec else "vec" if count > 1 else "0"
            slot = f"stream * {self.sweep.vec} + {slot}" if self.sweep.streams > 1 else slot
            self.accumulate(body, slot, inside)
            self.put(out, body, count)

    def columns(self, lines: List[str]) -> None:
        """A vector for each 16 columns, and where all are one block, one that ends with them."""
        size = self.digits.sizes[self.digits.minor]
        if size > LANES * MOST_REGISTERS:
            with self.blocks(lines):
                self.column_block(0)
        else:
            self.column_block(size % LANES)

    def column_block(self, edge: int) -> None:
        out, sweep, digits = self.text, self.sweep, self.digits
        size = digits.sizes[digits.minor]
        self.declare(out, sweep.vec, LANES)
        if edge:
            self.declare(out, 1, LANES, "e")
        before = dict(self.at)
        with ExitStack() as stack:
            cut = max(digits.reduced(), key=lambda k: digits.sizes[k])
            self.loops(stack, [], cut)
            box = {**self.box, "vec": (0, sweep.vec - 1), "lane": (0, LANES - 1)}
            body = self.body(self.thread(self.position(f"vec * {LANES} + lane"), box, ("vec", "lane")), box, sweep, True)
            self.accumulate(body, "vec" if sweep.vec > 1 else "0")
            out.add(*(line for key in sorted(body.ahead) for line in body.ahead[key]))
            self.put(out, body, sweep.vec)
            if edge:
                box = {**self.box, "vec": (0, 0), "lane": (0, LANES - 1)}
                body = self.body(self.thread(self.position(f"{size - LANES} + vec + lane"), box, ("vec", "lane")), box, Schedule(lanes=LANES), True)
                self.accumulate(body, "0", of="e")
                with out.block(""):
                    self.put(out, body, 1)
        self.at = before
        minor = digits.minor
        self.finish_wide("a", sweep.vec, f"{self.at[minor]} + vec * {LANES} + lane", minor)
        if edge:
            self.finish_wide("e", 1, f"{size - LANES} + vec + lane", minor)

    def flat(self, lines: List[str]) -> None:
        """Few results: a stream of vectors, folded lane by lane at the end."""
        out, sweep, digits = self.text, self.sweep, self.digits
        minor, below = digits.minor, digits.sizes[digits.minor] if digits.out[digits.minor] else 1
        lane = minor - 1 if digits.out[minor] else minor
        size = digits.sizes[lane] * below
        many = sweep.span
        steps = sweep.parts * sweep.per_part if sweep.streams > 1 else size // many
        before = {k: text for k, text in self.at.items() if k != minor}
        self.at = dict(before)
        out.add(*lines)
        self.declare(out, sweep.registers, LANES)
        with ExitStack() as stack:
            self.loops(stack, [lane])
            if sweep.streams > 1:
                self.steps("0", str(sweep.per_part), sweep.per_part, f"part * {sweep.per_part * many} + " if sweep.parts > 1 else "")
            else:
                first, last = self.part_of(steps) if sweep.parts > 1 else ("0", str(steps))
                self.steps(first, last, steps)
        for h, k, dtype in self.accumulators:
            name = self.name(h, k, "x")
            out.add(f"{self.d.register(dtype)} {name}[{many}];")
            with out.block(f"for ({self.t} vec = 0; vec < {sweep.registers}; ++vec)"):
                out.add(self.d.scatter(dtype, LANES, f"{self.name(h, k)}[vec]", f"(x{self.name(h, k)[1:]} + vec * {LANES})"))
        if self.watched:
            out.add(f"int nan_x[{many}];")
            with out.block(f"for ({self.t} vec = 0; vec < {sweep.registers}; ++vec)"):
                out.add(self.d.scatter("s32", LANES, "nan_a[vec]", f"(nan_x + vec * {LANES})"))
        rest = size - steps * many
        if rest:
            with ExitStack() as stack:
                if sweep.parts > 1:
                    stack.enter_context(out.block(f"if (part == {sweep.parts - 1})"))
                self.loops(stack, [lane])
                stack.enter_context(out.block(f"for ({self.t} rest = 0; rest < {rest}; ++rest)"))
                box = {**self.box, "rest": (0, rest - 1)}
                body = self.body(self.thread(self.position(f"{steps * many} + rest"), box, ()), box, Schedule(), True)
                self.accumulate(body, "rest" if rest <= many else f"rest % {many}", of="x")
                self.put(out, body, 1)
        self.at = before
        with out.block(f"for ({self.t} column = 0; column < {below}; ++column)" if below > 1 else ""):
            column = "column" if below > 1 else "0"
            for h in range(len(self.nest.heroes)):
                kinds, body = self.accumulators_of(h), self.plain(1)
                names, sums = ([self.name(h, k, of) for k in range(len(kinds))] for of in ("x", "t"))
                body.text.add(*(f"{self.d.register(dtype)} {t} = {x}[{column}];" for dtype, t, x in zip(kinds, sums, names)))
                with body.text.block(f"for ({self.t} at = {column} + {below}; at < {many}; at += {below})"):
                    new = self.combined(body, h, sums, [f"{x}[at]" for x in names], 1)
                    body.text.add(*(f"{t} = {text};" for t, text in zip(sums, new)))
                out.add(*body.text.lines)
            if self.watched:
                out.add("int nan_t = 0;", f"for ({self.t} at = {column}; at < {many}; at += {below}) nan_t |= nan_x[at];")
            at = {k: text for k, text in self.at.items() if digits.out[k]}
            if below > 1:
                at[minor] = column
                self.box["column"] = (0, below - 1)
            elif digits.out[minor]:
                at[minor] = "0"
            box = {n: b for n, b in self.box.items() if n in at.values() or n == "part"}
            self.finish(out, self.out_position(at), box, Schedule(),
                        [[self.name(h, k, "t") for k in range(len(self.accumulators_of(h)))] for h in range(len(self.nest.heroes))], "nan_t")

    def shuffle(self, which: int, dtype: str) -> str:
        """A function of two vectors that gives their even (0) or odd (1) lanes, one after another."""
        word = ("even", "odd")[which]
        name, t, one = f"{word}_{self.kept_as(dtype)}", self.d.register(dtype, LANES), self.d.register(dtype)
        self.helpers.texts.setdefault("tiles", register_tiles.PRELUDE)
        picks = ", ".join(str(2 * n + which) for n in range(LANES))
        self.helpers.texts.setdefault(name, (
            f"{self.d.function} {t} {name}({t} a, {t} b)\n{{\n#ifdef SHUFFLES\n  return __builtin_shufflevector(a, b, {picks});\n#else\n"
            f"  {one} x[{2 * LANES}], y[{LANES}];\n  {self.d.scatter(dtype, LANES, 'a', 'x')}\n  {self.d.scatter(dtype, LANES, 'b', f'(x + {LANES})')}\n"
            f"  for (int i = 0; i < {LANES}; ++i) y[i] = x[2 * i + {which}];\n  return {self.d.gather(dtype, LANES, 'y')};\n#endif\n}}\n"))
        return name

    def fold(self, of: str, count: int) -> None:
        """Vectors whose neighbouring lanes belong together, pair by pair into half as many, down to one: t."""
        for h in range(len(self.nest.heroes)):
            kinds = self.accumulators_of(h)
            level, width = of, count
            body = self.plain(LANES)
            while width > 1:
                width //= 2
                after = f"{level}f"
                for k, dtype in enumerate(kinds):
                    body.text.add(f"{self.d.register(dtype, LANES)} {self.name(h, k, after)}[{width}];")
                body.text.add(self.d.unroll)
                with body.text.block(f"for ({self.t} vec = 0; vec < {width}; ++vec)"):
                    both = [[f"{self.shuffle(w, dtype)}({self.name(h, k, level)}[2 * vec], {self.name(h, k, level)}[2 * vec + 1])"
                             for k, dtype in enumerate(kinds)] for w in (0, 1)]
                    sides = [[body.declare(word, dtype, LANES, text).text for dtype, text in zip(kinds, texts)]
                             for word, texts in zip(("even", "odd"), both)]
                    new = self.combined(body, h, sides[0], sides[1], LANES)
                    body.text.add(*(f"{self.name(h, k, after)}[vec] = {text};" for k, text in enumerate(new)))
                level = after
            for k, dtype in enumerate(kinds):
                body.text.add(f"const {self.d.register(dtype, LANES)} *{self.name(h, k, 't')} = {self.name(h, k, level)};")
            self.text.add(*body.text.lines)

    # ---- results ----

    def finish_wide(self, of: str, count: int, inner: str, digit: int) -> None:
        """Vectors of results: to the scratch buffer, or through the epilogue to where they belong."""
        out = self.text
        at = {k: text for k, text in self.at.items() if self.digits.out[k] and k != digit}
        position = self.out_position({**at, digit: "0"}, f"({inner}) * {self.digits.out[digit]}")
        box = {**{n: b for n, b in self.box.items() if n in ("block", "first", "part", "stream") or n in at.values()},
               "vec": (0, count - 1), "lane": (0, LANES - 1)}
        self.finish(out, position, box, Schedule(vec=count, lanes=LANES), [[f"{self.name(h, k, of)}[{'vec' if count > 1 else '0'}]"
                                                                            for k in range(len(self.accumulators_of(h)))]
                                                                           for h in range(len(self.nest.heroes))],
                    f"nan_{of}[{'vec' if count > 1 else '0'}]")

    def finish(self, out: Text, position: str, box: "Dict[str, Tuple[int, int]]", sweep: Schedule, texts: "List[List[str]]", odd: str) -> None:
        """Totals to where they go; odd: the text of what is not 0 where a NaN was met that matters."""
        body = self.stored(position, box, sweep, texts, odd)
        if self.watched and not self.partial:
            self.again(body.after, position, box, sweep, odd)
        with out.block(""):
            self.put(out, body, sweep.vec)

    def again(self, out: Text, position: str, box: "Dict[str, Tuple[int, int]]", sweep: Schedule, odd: str) -> None:
        """Results that met a NaN are computed once more, in the order of the elements."""
        body = self.in_order(position, box, [name for name in ("vec", "lane") if sweep.lanes > 1])
        with ExitStack() as stack:
            if sweep.lanes > 1:
                if sweep.vec > 1:
                    stack.enter_context(out.block(f"for ({self.t} vec = 0; vec < {sweep.vec}; ++vec)"))
                odds = body.name("odd", "")
                out.add(f"int {odds}[{LANES}];", self.d.scatter("s32", LANES, odd, odds))
                stack.enter_context(out.block(f"for ({self.t} lane = 0; lane < {LANES}; ++lane)"))
                odd = f"{odds}[lane]" if self.sweep.kind != "rows" else self.anywhere(odds)
            stack.enter_context(out.block(f"if ({odd})"))
            self.put(out, body, 1)

    @staticmethod
    def anywhere(odds: str) -> str:
        """Whether one of the lanes is not 0: in rows a lane of the input is not one of the results."""
        return " | ".join(f"{odds}[{n}]" for n in range(LANES))

    # ---- the second kernel ----

    def second(self) -> Kernel:
        """Combines the parts of every result in their order."""
        lanes = LANES if self.results % LANES == 0 and self.results >= 64 * LANES else 1
        steps, threads = self.results // lanes, self.group if self.results // lanes >= 64 else 1
        self.text, parts, self.partial = Text(), self.partial, []
        place, blocks = placed_at([("item", steps)], threads)
        c = algebra.c_text(place, self.index_type)
        head = [f"if (!({' && '.join(c.constraints)})) return;"] if c.constraints else []
        head += [f"const {self.t} item = {c.results[0]};"] if steps > 1 else []
        box = {"item": (0, steps - 1), "part": (0, self.sweep.parts - 1), **({"vec": (0, 0), "lane": (0, lanes - 1)} if lanes > 1 else {})}
        inner, ranges = (f"item * {lanes} + vec + lane", ("vec", "lane")) if lanes > 1 else ("item", ())
        sweep = Sweep(threads, lanes=lanes, kind="parts")
        flat = self.map(f"part * {self.results} + {inner}", box, ranges)
        self.seen = []
        self.declare(self.text, 1, lanes, "t")
        body = self.plain(lanes)
        body.loop, body.box, body.thread = sweep, dict(box), flat
        with body.text.block(f"for ({self.t} part = 0; part < {self.sweep.parts}; ++part)"):
            region = body.function.body
            values = [body.load_flat(Buffer(f"q{number}", self.scratch[number], "x"), flat, region)
                      for number in parts]
            if self.watched:
                body.text.add(f"nan_t[0] |= {values[-1].text};")
            for h in range(len(self.nest.heroes)):
                mine = [n for n, (hero, _, _) in enumerate(self.accumulators) if hero == h]
                old = [f"{self.name(h, k, 't')}[0]" for k in range(len(mine))]
                new = self.combined(body, h, old, [values[n].text for n in mine], lanes)
                body.text.add(*(f"{a} = {b};" for a, b in zip(old, new)))
        self.text.add(*body.text.lines)
        del box["part"]
        totals = [[f"{self.name(h, k, 't')}[0]" for k in range(len(self.accumulators_of(h)))] for h in range(len(self.nest.heroes))]
        self.finish(self.text, inner, box, sweep, totals, "nan_t[0]")
        reads = by_number({**{f"q{n}": self.scratch[n] for n in parts}, **self.read_for_results()})
        writes = {r.pointer: r.shape for r in self.nest.epilogue.roots}
        made = self.kernel(self.nest.name + "_parts", blocks, threads, reads, writes, head, self.text.lines, self.results_of())
        made.loop = sweep
        return made

