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
    """What a body's code asks of any hero's schedule; by itself one element at a time.

    threads work-items a group, chunks steps a work-item; a step covers `vec` times `down` registers of `lanes` elements each (lanes 1: scalars).
    piece: bytes that one load takes of a tile's row. stream: stores bypass the caches. moves: elements are only moved, as unsigned integers
    of their width; unit: so many neighbours as one, of all their bits. tile: what is not contiguous along the lanes is turned in registers.
    paired: a step's even elements are its first register, the odd ones its second (16-bit types held as f32).
    weave: the same with so many registers: neighbours in a 32-bit word are in as many.
    streams: equal parts that a work-item walks side by side. far, near: bytes ahead that lines are asked for, into the second level and the first.
    lead: bytes ahead of as many as the walk has read, where rows are read side by side, a block of rows after the other.
    soon: bytes ahead in each row of a tile that lines are asked for where there are no bursts; rows of one page (bytes) ask for the next tile's.
    later: steps ahead of which what indices find is asked for.
    abreast: so many such steps are one, in which what belongs to a row is moved together.
    """

    threads: int = 1
    chunks: int = 1
    vec: int = 1
    lanes: int = 1
    down: int = 1
    piece: int = 64
    stream: bool = False
    moves: bool = False
    unit: int = 1
    tile: bool = False
    paired: bool = False
    weave: int = 1
    streams: int = 1
    far: int = 0
    near: int = 0
    lead: int = 0
    soon: int = 0
    page: int = 0
    later: int = 0
    abreast: int = 1

    @property
    def step(self) -> int:
        return self.vec * self.lanes * self.down * self.abreast

    @property
    def woven(self) -> int:
        """Registers among which neighbours go round; 1: a register's lanes are neighbours."""
        return 2 if self.paired else self.weave

    def asks(self) -> "List[Tuple[str, int]]":
        """What to ask for ahead: the level, by the name of the macro that does, and bytes."""
        return [("FAR", self.far), ("NEAR", self.near)]

    def text(self) -> str:
        """A line for people."""
        return f"threads {self.threads}"


@dataclass(frozen=True)
class Loop(Schedule):
    """The loop hero's schedule.

    blocked: a work-item's steps are neighbours (CPU), else they are a whole group apart (GPU: neighbouring work-items coalesce).
    table: the whole body is looked up by its 16-bit input.
    burst: steps whose loads are asked for together; of each of the streams in turn, so that more memory is in flight.
    row: elements after which a step ends (0: of all), where neighbours of the next row are elsewhere.
    other: the same launch's walk for processors that fetch ahead by themselves what this one asks for in bursts.
    """

    blocked: bool = False
    burst: int = 0
    table: bool = False
    row: int = 0
    other: "Optional[Loop]" = None
    index = ""      # the map to the result's index, where it is not that of the position in memory

    def asks(self) -> "List[Tuple[str, int]]":
        return [("BURST_" + level, distance) for level, distance in super().asks()]

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
        words += [word for word, on in (("paired", self.paired), (f"{self.weave} woven", self.weave > 1), ("streamed", self.stream), ("table", self.table)) if on]
        words += [f"prefetch {self.far}/{self.near} in bursts of {self.burst}"] if self.burst else []
        words += [f"prefetch {self.lead} after what is read"] if self.lead else []
        words += [f"prefetch what indices find {self.later} steps on"] if self.later else []
        words += [f"{self.abreast} abreast"] if self.abreast > 1 else []
        words += [f"else ({self.other.text()})"] if self.other else []
        return ", ".join(words)

    def scalar(self) -> "Loop":
        """The same walk, one element at a time: the tail of a step."""
        return replace(self, vec=self.step, lanes=1, down=1, abreast=1, paired=False, weave=1)

    def box(self, elements: int) -> "Dict[str, Tuple[int, int]]":
        """The bounds of the walk's variables, as launched."""
        found = {"th_x": self.threads, "bl_x": self.blocks(elements), "stream": self.streams, "chunk": self.chunks, "vec": self.vec,
                 "down": self.down, "abreast": self.abreast, "lane": self.lanes}
        return {name: (0, size - 1) for name, size in found.items() if size > 1 or name not in ("stream", "chunk", "down", "abreast", "lane")}

    def thread_map(self, elements: int) -> str:
        """(th_x, bl_x)[(stream, chunk,) vec(, lane)] -> (position in the output's memory), as notation; the algebra simplifies it."""
        step, span, box = self.step, self.step * self.threads, self.box(elements)
        inner = f"lane * {self.woven} + vec" if self.woven > 1 and self.lanes > 1 else f"vec * {self.lanes} + lane" if self.lanes > 1 else "vec"
        inner += f" + down * {self.vec * self.lanes}" if self.down > 1 else ""
        inner += f" + abreast * {self.step // self.abreast}" if self.abreast > 1 else ""
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
    weave, down, block = apart.registers, apart.down, apart.block
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
                one = Loop(threads, chunks, weave, 16, registers, blocked=True, weave=weave, stream=stream, moves=moved, streams=streams,
                           burst=burst, far=4096 if burst else 0, lead=device.order_prefetch if moved and stream and 0 < block <= 2 * device.order_prefetch else 0)
                abreast = max(1, device.row_bytes // (step * min(widths)))
                most = chunks * streams // (4 * abreast)       # four streams, as much a work-item
                if moved and stream and most and elements % (4 * abreast * step * most * threads) == 0 and 4 * abreast * most == chunks * streams:
                    found.append(replace(one, chunks=most, abreast=abreast, streams=4, burst=1, far=4096 if down > 1 else 2048, lead=0, other=one))
                found.append(one)
        for lanes, vec, paired in _wide_forms(widths) if device.lanes > 1 else ():
            step = lanes * vec
            chunks = _chunks(device, -(-elements // step), 64, 16 * device.units)
            threads = device.group if elements >= step * chunks * device.group * 4 else 1
            if row >= 8 * step and row % step:
                found.append(Loop(threads, chunks, vec, lanes, blocked=True, paired=paired, row=row))
            if elements >= step:
                burst = 8 if chunks >= 16 else 0
                side = 2 if paired else 4
                streams = side if burst and stream and elements % (side * step * chunks * threads) == 0 else 1
                found.append(Loop(threads, chunks, vec, lanes, blocked=True, paired=paired, stream=stream, streams=streams, burst=burst,
                                  far=4096 if burst else 0, near=1024 if burst and paired else 0))
        if device.group == 1:
            return found + [Loop(chunks=_chunks(device, elements, 4096, 16 * device.units), blocked=True)]
        threads = 64 if elements >= 4096 else 1
        return found + [Loop(threads)]
    if weave > 1:      # 16 bytes of each row
        vec = weave * 16 // min(widths)
        threads = min(128, -(-elements // (vec * device.warp)) * device.warp)
        return [Loop(threads, vec=vec, weave=weave), Loop(threads)]
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
