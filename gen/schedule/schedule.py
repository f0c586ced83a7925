"""The counts that the schedules of all heroes share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import List, Tuple

from gen.schedule.devices import VECTOR_BITS


@dataclass(frozen=True)
class Schedule:
    """The numbers of a schedule on which the code of a step depends, for every hero. By default a step is one element.

    threads: work-items of a group.
    chunks: steps of a work-item.
    page: bytes of a page of memory.
    vec, registers_down, lanes: a step has `vec` times `registers_down` registers of `lanes` elements. A register of one
        lane is a scalar.
    load_bytes: bytes of one load of a tile's row.
    stream: true if stores bypass the caches.
    moves: true if elements are only moved, as unsigned integers of their width.
    joined: number of adjacent elements that are moved as one wider element.
    tile: true if accesses that are not contiguous along the lanes are transposed in registers.
    turns: number of parts in which a tile is loaded. The load of each part alternates with the store of a part of the
        previous tile (1: a tile is loaded, then stored).
    interleaved_pairs: true if a step's first register has the even elements and its second register the odd elements
        (16-bit types held as f32).
    interleaved_rows: number of registers over which adjacent elements of one access are spread; in another access, each
        register is a piece of a row.
    streams: number of equal parts of the memory that a work-item visits in turns.
    fused_steps: number of steps fused into one, so that the data of each row moves together.

    The following fields are prefetch distances; 0: no prefetch.

    l2_prefetch, l1_prefetch: distance in bytes, into L2 and into L1.
    order_prefetch: distance in bytes from the last byte read, in the order in which interleaved rows are read. Only for
        rows that are read in blocks.
    row_prefetch: distance in bytes within each row of a tile, on processors where bursts are off. If a page holds
        several rows, the next tile's rows are prefetched instead.
    gathered_prefetch_steps: distance in steps, for the rows that indices select.
    """

    threads: int = 1
    chunks: int = 1
    vec: int = 1
    lanes: int = 1
    registers_down: int = 1
    load_bytes: int = VECTOR_BITS // 8
    stream: bool = False
    moves: bool = False
    joined: int = 1
    tile: bool = False
    turns: int = 1
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
        """Return the number of registers over which adjacent elements in memory are spread in turn; 1 if adjacent
        elements are lanes of one register.
        """
        return 2 if self.interleaved_pairs else self.interleaved_rows

    def prefetches(self) -> "List[Tuple[str, int]]":
        """Return (level, distance) for each cache level into which a step prefetches: the level's name in the prefetch
        macros, and the prefetch distance in bytes.
        """
        return [("L2", self.l2_prefetch), ("L1", self.l1_prefetch)]

    def text(self) -> str:
        """Return a line that describes the schedule, for `gen explain`."""
        return f"threads {self.threads}"
