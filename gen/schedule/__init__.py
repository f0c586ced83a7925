"""What all heroes' schedules have, and how the loop hero walks its output. Maps say where, templates say how; a schedule only counts, with the
numbers of a device (devices.py)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Dict, List, Optional, Sequence, Tuple

from gen import algebra
from gen.plan.digits import Interleaving
from gen.schedule.devices import DEFAULT, DEVICES, Device, device_for

__all__ = ["DEFAULT", "DEVICES", "Device", "Loop", "Schedule", "candidates", "device_for"]


@dataclass(frozen=True)
class Schedule:
    """The counts of any hero's schedule that the code of a step depends on; by default a step is one element.

    threads: work-items of a group. chunks: steps of a work-item. page: bytes of a page of memory.
    vec, registers_down, lanes: a step has `vec` times `registers_down` registers of `lanes` elements; with one lane a register is a scalar.
    load_bytes: bytes that one load reads of a tile's row. stream: stores bypass the caches.
    moves: elements are only moved, as unsigned integers of their width. joined: neighbouring elements that are moved as one element of all their bits.
    tile: accesses that are not contiguous along the lanes are transposed in registers.
    interleaved_pairs: a step's even elements are its first register, the odd ones its second (16-bit types held as f32).
    interleaved_rows: number of registers that the elements of one 32-bit word are spread over, each a row of another access.
    streams: equal parts of the memory that a work-item goes through in turn.
    fused_steps: number of steps fused into one, so that each row's data moves together.

    Prefetch distances, 0 where nothing is prefetched:
    l2_prefetch, l1_prefetch: bytes, into the second and into the first level of the caches.
    order_prefetch: bytes beyond those read so far, in the order of interleaved rows, where rows are read in blocks.
    row_prefetch: bytes in each row of a tile, where bursts are off. Where a page holds several rows, the next tile's rows are prefetched instead.
    gathered_prefetch_steps: steps, of the rows that indices select.
    """

    threads: int = 1
    chunks: int = 1
    vec: int = 1
    lanes: int = 1
    registers_down: int = 1
    load_bytes: int = 64
    stream: bool = False
    moves: bool = False
    joined: int = 1
    tile: bool = False
    interleaved_pairs: bool = False
    interleaved_rows: int = 1
    streams: int = 1
    l2_prefetch: int = 0
    l1_prefetch: int = 0
    order_prefetch: int = 0
    row_prefetch: int = 0
    page: int = 0
    gathered_prefetch_steps: int = 0
    fused_steps: int = 1

    @property
    def step(self) -> int:
        return self.vec * self.lanes * self.registers_down * self.fused_steps

    @property
    def interleaved(self) -> int:
        """The registers that neighbours in memory are spread over in turn; 1 where the lanes of a register are neighbours."""
        return 2 if self.interleaved_pairs else self.interleaved_rows

    def prefetches(self) -> "List[Tuple[str, int]]":
        """The levels of the caches that a step prefetches into, as in the macros' names, each with its prefetch distance in bytes."""
        return [("L2", self.l2_prefetch), ("L1", self.l1_prefetch)]

    def text(self) -> str:
        """A line for people."""
        return f"threads {self.threads}"


@dataclass(frozen=True)
class Loop(Schedule):
    """The loop hero's schedule.

    blocked: a work-item's steps are neighbours (CPU), else they are a whole group apart (GPU: neighbouring work-items coalesce).
    table: the whole body is looked up by its 16-bit input.
    burst: steps whose lines are prefetched together, for each of the streams in turn, so that more loads are under way.
    row: elements of a row, at whose end a step ends, where the rows are not one after the other (0: all elements are one row).
    other: the schedule of the same launch on processors whose own prefetchers do better than bursts.
    """

    blocked: bool = False
    burst: int = 0
    table: bool = False
    row: int = 0
    other: "Optional[Loop]" = None
    index = ""      # the map to the result's index, where it is not that of the position in memory

    def prefetches(self) -> "List[Tuple[str, int]]":
        return [("BURST_" + level, distance) for level, distance in super().prefetches()]

    def blocks(self, elements: int) -> int:
        return -(-self.padded(elements) // (self.step * self.chunks * self.threads * self.streams))

    def cut(self, elements: int) -> bool:
        """Whether the end, or that of a row, may be inside of a step."""
        return (self.row or elements) % self.step != 0

    def padded(self, elements: int) -> int:
        """Elements if rows were whole steps."""
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
        words += [f"prefetch rows that indices select {self.gathered_prefetch_steps} steps ahead"] if self.gathered_prefetch_steps else []
        words += [f"{self.fused_steps} steps fused"] if self.fused_steps > 1 else []
        words += [f"else ({self.other.text()})"] if self.other else []
        return ", ".join(words)

    def scalar(self) -> "Loop":
        """The same walk, one element at a time: the tail of a step."""
        return replace(self, vec=self.step, lanes=1, registers_down=1, fused_steps=1, interleaved_pairs=False, interleaved_rows=1)

    def box(self, elements: int) -> "Dict[str, Tuple[int, int]]":
        """The bounds of the walk's variables, as launched."""
        found = {"th_x": self.threads, "bl_x": self.blocks(elements), "stream": self.streams, "chunk": self.chunks, "vec": self.vec,
                 "down": self.registers_down, "fused": self.fused_steps, "lane": self.lanes}
        return {name: (0, size - 1) for name, size in found.items() if size > 1 or name not in ("stream", "chunk", "down", "fused", "lane")}

    def thread_map(self, elements: int) -> str:
        """(th_x, bl_x)[(stream, chunk,) vec(, lane)] -> (position in the output's memory), as notation; the algebra simplifies it."""
        step, span, box = self.step, self.step * self.threads, self.box(elements)
        inner = f"lane * {self.interleaved} + vec" if self.interleaved > 1 and self.lanes > 1 else f"vec * {self.lanes} + lane" if self.lanes > 1 else "vec"
        inner += f" + down * {self.vec * self.lanes}" if self.registers_down > 1 else ""
        inner += f" + fused * {self.step // self.fused_steps}" if self.fused_steps > 1 else ""
        th, chunk = (step * self.chunks, step) if self.blocked else (step, span)
        position = f"th_x * {th} + bl_x * {span * self.chunks} + {inner}" + (f" + chunk * {chunk}" if self.chunks > 1 else "")
        position += f" + stream * {elements // self.streams}" if self.streams > 1 else ""
        domain = [f"{name} in [{low}, {high}]" for name, (low, high) in box.items()]
        domain.append(f"{position} in [0, {self.padded(elements) - 1}]")
        if self.row:
            pitch = -(-self.row // self.step) * self.step
            domain.append(f"({position}) mod {pitch} in [0, {self.row - 1}]")
            position = f"(({position}) floordiv {pitch}) * {self.row} + ({position}) mod {pitch}"
        names = ", ".join(name for name in box if name not in ("th_x", "bl_x"))
        return algebra.simplify(f"(th_x, bl_x)[{names}] -> ({position}), domain: {', '.join(domain)}")


def _chunks(device: Device, steps: int, most: int, items: int) -> int:
    """As many steps a work-item as leave enough work-items."""
    chunks = most
    while chunks > 1 and steps < chunks * items:
        chunks //= 2
    return chunks


def candidates(device: Device, elements: int, widths: Sequence[int], traffic: int, apart: Interleaving, row: int = 0) -> "List[Loop]":
    """Schedules in order of preference; widths: bytes of the elements that are read or written side by side; apart: neighbours that the maps want
    apart; row: elements that are side by side (0: all). The caller takes the first that its maps allow; the last one always works."""
    weave, down, block = apart.registers, apart.registers_down, apart.block
    widths = [w for w in widths if w] or [4]
    if device.cpu:
        stream, found = traffic > device.cache, []
        if weave > 1 and device.lanes > 1:
            for registers, moved in [(weave, True)] * apart.moves + [(down, False)]:
                step = 16 * weave * registers
                chunks = _chunks(device, -(-elements // step), max(1, device.interleaved_elements // step), 16 * device.units)
                threads = device.group if elements >= step * chunks * device.group * 4 else 1
                burst = min(8, chunks) if down > 1 and stream else 0      # words are read in order
                streams = 4 if burst and elements % (4 * step * chunks * threads) == 0 else 1
                one = Loop(threads, chunks, weave, 16, registers, blocked=True, interleaved_rows=weave, stream=stream, moves=moved, streams=streams,
                           burst=burst, l2_prefetch=4096 if burst else 0, order_prefetch=device.order_prefetch if moved and stream and 0 < block <= 2 * device.order_prefetch else 0)
                fused = max(1, device.row_bytes // (step * min(widths)))
                most = chunks * streams // (4 * fused)       # four streams, as much a work-item
                if moved and stream and most and elements % (4 * fused * step * most * threads) == 0 and 4 * fused * most == chunks * streams:
                    found.append(replace(one, chunks=most, fused_steps=fused, streams=4, burst=1, l2_prefetch=4096 if down > 1 else 2048, order_prefetch=0, other=one))
                found.append(one)
        for lanes, vec, paired in _wide_forms(widths) if device.lanes > 1 else ():
            step = lanes * vec
            chunks = _chunks(device, -(-elements // step), 64, 16 * device.units)
            threads = device.group if elements >= step * chunks * device.group * 4 else 1
            if row >= 8 * step and row % step:
                found.append(Loop(threads, chunks, vec, lanes, blocked=True, interleaved_pairs=paired, row=row))
            if elements >= step:
                burst = 8 if chunks >= 16 else 0
                side = 2 if paired else 4
                streams = side if burst and stream and elements % (side * step * chunks * threads) == 0 else 1
                found.append(Loop(threads, chunks, vec, lanes, blocked=True, interleaved_pairs=paired, stream=stream, streams=streams, burst=burst,
                                  l2_prefetch=4096 if burst else 0, l1_prefetch=1024 if burst and paired else 0))
        if device.group == 1:
            return found + [Loop(chunks=_chunks(device, elements, 4096, 16 * device.units), blocked=True)]
        threads = 64 if elements >= 4096 else 1
        return found + [Loop(threads)]
    if weave > 1:      # 16 bytes of each row
        vec = weave * 16 // min(widths)
        threads = min(128, -(-elements // (vec * device.warp)) * device.warp)
        return [Loop(threads, vec=vec, interleaved_rows=weave), Loop(threads)]
    vec = max(1, 16 // min(widths))
    while vec > 1 and (vec * max(widths) > 32 or elements < vec * max(1, device.units * 512)):
        vec //= 2
    threads = min(128, max(1, -(-elements // vec)))
    threads = -(-threads // device.warp) * device.warp
    plain = Loop(threads, vec=vec)
    return [plain] if vec == 1 else [plain, replace(plain, vec=1)]


def _wide_forms(widths: "Sequence[int]") -> "List[Tuple[int, int, bool]]":
    """(lanes, registers, paired) of a CPU step: the narrowest elements fill a line."""
    lanes = 16
    vec = max(1, 64 // (lanes * min(widths)))
    return ([(16, 2, True)] if set(widths) == {2} else []) + [(lanes, vec, False)]
