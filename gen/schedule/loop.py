"""The schedules of the loop hero."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Dict, List, Optional, Sequence, Tuple

from gen import algebra
from gen.schedule.devices import Device
from gen.schedule.schedule import Schedule


@dataclass(frozen=True)
class Interleaving:
    """The distribution over registers of elements that are adjacent in one access, but far apart in another access.

    registers: number of registers over which adjacent elements are spread (1: elements are adjacent in all accesses).
    registers_down: each of these registers is replaced by this number of consecutive registers, so that whole cache
        lines are written.
    moves: true if elements are only moved, in whole cache lines.
    block: bytes of a block of rows, if rows are read block after block; else 0.
    words: true if adjacent elements fill a 32-bit word, and each row fills whole registers. If false, shuffles spread
        the elements over the registers.
    row: number of elements of all rows together.
    width: bytes of the narrowest element that is written.
    """

    registers: int = 1
    registers_down: int = 1
    moves: bool = False
    block: int = 0
    words: bool = True
    row: int = 0
    width: int = 4


@dataclass(frozen=True)
class LoopSchedule(Schedule):
    """The loop hero's schedule.

    blocked: true if the steps of a work-item are adjacent (CPU). If false, they are a whole group apart, so that the
        accesses of adjacent work-items are coalesced (GPU).
    table: true if a step looks up values in a table of its 16-bit input.
    burst: number of steps whose cache lines are prefetched together, one stream after the other, so that more loads are
        in flight.
    row: number of elements of a row if rows are not contiguous; a step then ends at the end of its row (0: all elements
        are one row).
    without_bursts: schedule of the same launch for processors whose hardware prefetchers are faster than bursts.
    backwards: number of steps of a run; each run is computed from its end to its start in memory (0: no runs).
    signed: true if a signed index is preferred. Signed sums do not wrap, so a C compiler sees that accesses are
        contiguous, and can vectorise a loop over single elements.
    """

    blocked: bool = False
    burst: int = 0
    table: bool = False
    row: int = 0
    without_bursts: "Optional[LoopSchedule]" = None
    backwards: int = 0
    signed: bool = False
    index = ""      # the map to the result's index, if it does not follow from the position in memory

    def prefetches(self) -> "List[Tuple[str, int]]":
        return [("BURST_" + level, distance) for level, distance in super().prefetches()]

    def blocks(self, elements: int) -> int:
        return -(-self.padded(elements) // (self.step * self.chunks * self.threads * self.streams))

    def cut(self, elements: int) -> bool:
        """Return true if the end of the array, or the end of a row, may cut a step."""
        return (self.row or elements) % self.step != 0

    def padded(self, elements: int) -> int:
        """Return the number of elements after each row is rounded up to whole steps."""
        return elements // self.row * -(-self.row // self.step) * self.step if self.row else elements

    def text(self) -> str:
        words = [super().text(), f"chunks {self.chunks}", f"vec {self.vec}"]
        words += [f"lanes {self.lanes}"] if self.lanes > 1 else []
        words += [f"rows of {self.row}"] if self.row else []
        words += [f"streams {self.streams}"] if self.streams > 1 else []
        words += ["pairs interleaved"] * self.interleaved_pairs
        words += [f"{self.interleaved_rows} rows interleaved"] * (self.interleaved_rows > 1)
        words += ["streamed"] * self.stream + ["table"] * self.table
        words += [f"prefetch {self.l2_prefetch}/{self.l1_prefetch} in bursts of {self.burst}"] if self.burst else []
        words += [f"prefetch {self.order_prefetch} beyond the bytes read"] if self.order_prefetch else []
        words += ([f"prefetch rows that indices select {self.gathered_prefetch_steps} steps ahead"]
                  if self.gathered_prefetch_steps else [])
        words += [f"{self.fused_steps} steps fused"] if self.fused_steps > 1 else []
        words += [f"runs of {self.backwards} steps backwards"] if self.backwards else []
        words += [f"else ({self.without_bursts.text()})"] if self.without_bursts else []
        return ", ".join(words)

    def variants(self) -> "List[LoopSchedule]":
        """Return the schedules of the launch: this schedule and, if there is one, the schedule without bursts."""
        return [self, *([self.without_bursts] if self.without_bursts else [])]

    def scalar(self) -> "LoopSchedule":
        """Return the schedule that computes a step one element at a time, for a step that the end of the array cuts."""
        return replace(self, vec=self.step, lanes=1, registers_down=1, fused_steps=1, interleaved_pairs=False,
                       interleaved_rows=1)

    def box(self, elements: int) -> "Dict[str, Tuple[int, int]]":
        """Return the bounds of the variables of `thread_map`."""
        sizes = {"th_x": self.threads, "bl_x": self.blocks(elements), "stream": self.streams, "chunk": self.chunks,
                 "vec": self.vec, "down": self.registers_down, "fused": self.fused_steps, "lane": self.lanes}
        return {name: (0, size - 1) for name, size in sizes.items() if size > 1
                or name not in ("stream", "chunk", "down", "fused", "lane")}

    def thread_map(self, elements: int) -> str:
        """Return the map (th_x, bl_x)[(stream, chunk,) vec(, lane)] -> (position in the output's memory), simplified.
        """
        step, span, box = self.step, self.step * self.threads, self.box(elements)
        inner = "vec"
        if self.lanes > 1:
            inner = f"lane * {self.interleaved} + vec" if self.interleaved > 1 else f"vec * {self.lanes} + lane"
        inner += f" + down * {self.vec * self.lanes}" if self.registers_down > 1 else ""
        inner += f" + fused * {self.step // self.fused_steps}" if self.fused_steps > 1 else ""
        th, chunk = (step * self.chunks, step) if self.blocked else (step, span)
        position = f"th_x * {th} + bl_x * {span * self.chunks}" + f" + chunk * {chunk}" * (self.chunks > 1)
        if self.backwards:
            run = self.backwards * step
            position = f"(({position}) floordiv {run}) * {run} + {run - step} - ({position}) mod {run}"
        position += f" + {inner}"
        position += f" + stream * {elements // self.streams}" if self.streams > 1 else ""
        domain = [f"{name} in [{low}, {high}]" for name, (low, high) in box.items()]
        domain.append(f"{position} in [0, {self.padded(elements) - 1}]")
        if self.row:
            pitch = -(-self.row // self.step) * self.step
            domain.append(f"({position}) mod {pitch} in [0, {self.row - 1}]")
            position = f"(({position}) floordiv {pitch}) * {self.row} + ({position}) mod {pitch}"
        names = ", ".join(name for name in box if name not in ("th_x", "bl_x"))
        return algebra.simplify(f"(th_x, bl_x)[{names}] -> ({position}), domain: {', '.join(domain)}")


def chunks_of(device: Device, steps: int, most: int) -> int:
    """Return the number of steps of a work-item: `most`, halved until every core has its minimum number of work-items.
    """
    chunks = most
    while chunks > 1 and steps < chunks * device.unit_items * device.units:
        chunks //= 2
    return chunks


def candidates(device: Device, elements: int, widths: Sequence[int], stream: bool, spread: Interleaving,
               row: int = 0) -> "List[LoopSchedule]":
    """Return the schedules of the loop hero in order of preference. The caller takes the first schedule that the maps
    of the nest allow; the last schedule always works.

    widths: the bytes of each element that is contiguous in loop order.
    stream: true if stores bypass the caches.
    spread: the interleaving of elements that are adjacent in some accesses but not in others.
    row: number of elements of a row, if rows are not contiguous (0: all elements are one row).
    """
    numbers = device.loop_cpu
    widths = [w for w in widths if w] or [4]
    if not device.cpu:
        return _of_gpu(device, elements, widths, spread)
    loops: List[LoopSchedule] = []
    if device.lanes > 1:
        if spread.registers > 1:
            of_spread = _interleaved if spread.words else _spread
            loops += of_spread(device, elements, widths, stream, spread)
        loops += _wide(device, elements, widths, stream, row)
    if device.group == 1:
        return loops + [LoopSchedule(chunks=chunks_of(device, elements, numbers.scalar_chunks), blocked=True)]
    return loops + [LoopSchedule(numbers.scalar_group if elements >= numbers.scalar_elements else 1)]


def narrowed_walk(device: Device, elements: int, lanes: int) -> LoopSchedule:
    """Return the schedule in vectors of fewer lanes than the device's."""
    return LoopSchedule(chunks=chunks_of(device, elements // lanes, device.loop_cpu.chunks), lanes=lanes, blocked=True)


def reversed_walk(loop: LoopSchedule, elements: int, run: int) -> "Optional[LoopSchedule]":
    """Return the schedule in which each run of `run` elements is computed from its end to its start. Return None if a
    run is not several whole steps.
    """
    steps = -(-run // loop.step)
    if not loop.blocked or loop.lanes == 1 or loop.row or steps < 2 or (run % loop.step and run != elements):
        return None
    return replace(loop, backwards=steps, streams=1, burst=0, l2_prefetch=0, l1_prefetch=0, without_bursts=None)


def _group(device: Device, elements: int, item: int) -> int:
    """Return the number of work-items of a group, if each work-item has `item` elements."""
    return device.group if elements >= item * device.group * device.least_groups else 1


def _interleaved(device: Device, elements: int, widths: Sequence[int], stream: bool,
                 spread: Interleaving) -> "List[LoopSchedule]":
    """Return the CPU schedules in which registers interleave rows. Schedules that move whole cache lines, with several
    steps of each row fused, come first.
    """
    numbers = device.loop_cpu
    loops = []
    rows, into_words, block = spread.registers, spread.registers_down > 1, spread.block
    for down, moved in [(rows, True)] * spread.moves + [(spread.registers_down, False)]:
        step = device.lanes * rows * down
        chunks = chunks_of(device, -(-elements // step), max(1, numbers.interleaved_elements // step))
        threads = _group(device, elements, step * chunks)
        # reads into interleaved words are sequential, so bursts of prefetches help
        burst = min(numbers.burst, chunks) if into_words and stream else 0
        whole = elements % (numbers.streams * step * chunks * threads) == 0
        in_order = moved and stream and 0 < block <= 2 * numbers.order_prefetch
        plain = LoopSchedule(threads, chunks, rows, device.lanes, down, blocked=True, interleaved_rows=rows,
                             stream=stream, moves=moved, streams=numbers.streams if burst and whole else 1, burst=burst,
                             l2_prefetch=numbers.prefetch if burst else 0,
                             order_prefetch=numbers.order_prefetch if in_order else 0)
        # if elements are moved in whole cache lines, also try several streams of fused steps
        fused = max(1, numbers.row_bytes // (step * min(widths)))
        side = numbers.streams * fused
        most = chunks * plain.streams // side
        if moved and stream and most and elements % (
                side * step * most * threads) == 0 and side * most == chunks * plain.streams:
            distance = numbers.prefetch if into_words else numbers.row_order_prefetch
            loops.append(replace(plain, chunks=most, fused_steps=fused, streams=numbers.streams, burst=1,
                                 l2_prefetch=distance, order_prefetch=0, without_bursts=plain))
        loops.append(plain)
    return loops


def _spread(device: Device, elements: int, widths: Sequence[int], stream: bool, spread: Interleaving) -> "List[LoopSchedule]":
    """Return the CPU schedules in which shuffles spread a few adjacent elements over registers. Schedules with whole
    cache lines come first.
    """
    numbers = device.loop_cpu
    full = device.line // spread.width
    lanes, down = (full, 1) if spread.moves else (device.lanes, max(1, full // device.lanes))
    loops = []
    for lanes, down in dict.fromkeys([(lanes, down), (device.lanes, 1)]):
        step = spread.registers * lanes * down
        cut = spread.row % step
        if spread.row < (numbers.cut_row_steps if cut else 1) * step:
            continue
        chunks = chunks_of(device, -(-elements // step), numbers.chunks)
        threads = _group(device, elements, step * chunks)
        burst = numbers.burst if stream and chunks >= 2 * numbers.burst else 0
        loops.append(
            LoopSchedule(threads, chunks, spread.registers, lanes, down, blocked=True,
                         interleaved_rows=spread.registers, stream=stream, moves=spread.moves, burst=burst,
                         l2_prefetch=numbers.prefetch if burst else 0, row=spread.row if cut else 0))
    return loops


def _wide(device: Device, elements: int, widths: Sequence[int], stream: bool, row: int) -> "List[LoopSchedule]":
    """Return the CPU schedules with contiguous vectors. In most of them, a step has as many registers as fill a cache
    line. If all elements have 16 bits, schedules whose steps have a pair of registers come first.
    """
    numbers = device.loop_cpu
    loops = []
    registers = max(1, device.line // (device.lanes * min(widths)))
    for vec, pairs in [(2, True)] * (set(widths) == {2}) + [(registers, False)]:
        step = device.lanes * vec
        chunks = chunks_of(device, -(-elements // step), numbers.chunks)
        threads = _group(device, elements, step * chunks)
        if row >= numbers.cut_row_steps * step and row % step:
            loops.append(LoopSchedule(threads, chunks, vec, device.lanes, blocked=True, interleaved_pairs=pairs,
                                      row=row))
        if elements >= step:
            burst = numbers.burst if chunks >= 2 * numbers.burst and not device.is_alone else 0
            streams = numbers.pair_streams if pairs else numbers.streams
            streams = streams if burst and stream and elements % (streams * step * chunks * threads) == 0 else 1
            loops.append(LoopSchedule(threads, chunks, vec, device.lanes, blocked=True, interleaved_pairs=pairs,
                                      stream=stream, streams=streams, burst=burst,
                                      l2_prefetch=numbers.prefetch if burst else 0,
                                      l1_prefetch=numbers.pair_prefetch if burst and pairs else 0))
    return loops


def _of_gpu(device: Device, elements: int, widths: Sequence[int], spread: Interleaving) -> "List[LoopSchedule]":
    """Return the GPU schedules. Each access of a thread has the maximum width if there are enough elements for all
    threads.
    """
    numbers = device.loop_gpu
    vec = device.line // min(widths)
    if spread.registers > 1:      # one access for each row
        vec *= spread.registers
        threads = min(numbers.threads, -(-elements // (vec * device.warp)) * device.warp)
        return [LoopSchedule(threads, vec=vec, interleaved_rows=spread.registers), LoopSchedule(threads)]
    vec = max(1, vec)
    while vec > 1 and (vec * max(widths) > device.step_bytes
                       or elements < vec * max(1, device.units * numbers.unit_threads)):
        vec //= 2
    threads = min(numbers.threads, max(1, -(-elements // vec)))
    threads = -(-threads // device.warp) * device.warp
    plain = LoopSchedule(threads, vec=vec)
    return [plain] if vec == 1 else [plain, replace(plain, vec=1)]
