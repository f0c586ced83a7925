"""What depends on a device: a row for each class of devices. Heroes' schedules count with these numbers and have none
of their own.

A number stays because it was measured: bench/README.md ("What bounds each kernel" and what follows) has the figures of
the kernels as they are, on two cores of an Intel Xeon with AVX-512 and of an AMD EPYC, and what was tried beside them.
GPUs' rows are not timed (no GPU was at hand): they say what is known of the hardware, and so the classes of GPUs differ
in their units alone. """

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Dict, Mapping, Optional, Sequence


@dataclass(frozen=True)
class SquareTile:
    """A square of elements that is transposed in registers. side: elements of its side. load_bytes: bytes of one load.
    tiles_down: tiles, one below the other, that are transposed together on processors where bursts of prefetches pay
    (Intel's); one on others: there two were 1.24 times as slow (f32[1023,4097] in C, AMD EPYC)."""

    side: int
    load_bytes: int
    tiles_down: int


@dataclass(frozen=True)
class TileShape:
    """A register tile: `rows` rows of `registers_down` registers of `lanes` elements. load_bytes: bytes of one load.
    streamed: only for arrays above the size of the cache, whose stores bypass it. pipelined: loaded in turn with the
    storing of the tile before."""

    lanes: int
    rows: int
    registers_down: int
    load_bytes: int
    streamed: bool = False
    pipelined: bool = False


VECTOR_BITS = 512           # of a CPU's vectors: a register of AVX-512
PIECE = 16                  # bytes of a vector register within which every x86 and ARM interleaves elements
LINE = 64                   # bytes of a line of a CPU's caches
PIECES = LINE // PIECE
LANES = VECTOR_BITS // 32   # 32-bit elements of a CPU's vectors


@dataclass(frozen=True)
class Device:
    """A class of devices. A number whose unit is not said counts what its name says; 0 where it has no meaning."""

    name: str
    language: str               # of the kernels
    cpu: bool
    units: int                  # cores or multiprocessors
    warp: int                   # threads that run in step
    line: int                   # bytes that one store should fill; on a GPU the widest access of a thread
    cache: int                  # bytes of the last level, above which stores bypass it
    lanes: int = LANES          # elements of a CPU's vectors; 1: the language has no vectors
    group: int = 1              # work-items of a work-group on a CPU
    page: int = 4096            # bytes; rows that are a page apart are prefetched each for itself

    # What decides how many threads of a CPU a stage is worth
    hand_over: int = 0                  # nanoseconds until another thread has begun its part, and its end is known
    core_bytes: float = 0               # bytes that a core moves in a nanosecond
    vector_time: float = 0              # nanoseconds of a vector instruction

    # How much each work-item of a CPU has
    unit_items: int = 0                 # work-items for each core, at least, before a work-item gets several steps
    # the same for transposes that carry lines, whose work-items begin with a line cut in two
    carried_items: int = 0
    least_groups: int = 0               # groups, at least, before work-items form groups
    # work-items for each of a group, at least, before those of a tile or of a reduction form groups
    group_items: int = 0

    # Walks over memory of a CPU
    walk_chunks: int = 0                # steps of a work-item, at most
    scalar_chunks: int = 0              # the same where a step is one element
    scalar_group: int = 0               # work-items of a group where a step is one element
    scalar_elements: int = 0            # elements from which on these form groups
    cut_row_steps: int = 0              # steps of a row, at least, before each row ends in a step that is cut
    walk_streams: int = 0               # equal parts of the memory that a work-item goes through in turn
    pair_streams: int = 0               # the same where 16-bit elements are computed in pairs of registers
    walk_burst: int = 0                 # steps whose lines are prefetched together
    walk_prefetch: int = 0              # prefetch distance in bytes, into the second level
    # the same into the first level, where 16-bit elements are computed in pairs of registers
    pair_prefetch: int = 0
    # prefetch distance in bytes, into the second level, where fused steps read whole rows
    row_order_prefetch: int = 0
    interleaved_elements: int = 0       # elements of a work-item where registers interleave rows
    row_bytes: int = 0                  # bytes of a row that are moved together before those of the next row
    # prefetch distance in bytes, in the order in which interleaved rows lie; rows in blocks of more than twice that are
    # left to the prefetchers of the processor
    order_prefetch: int = 0
    staged_bytes: int = 0               # bytes of rows that are put together in the first level before they are stored
    gathered_bytes: int = 0             # bytes of a step, at most, whose address one index gives
    gathered_prefetch: int = 0          # prefetch distance in bytes of rows that indices select

    # Functions of 16-bit elements that are looked up in a table
    table_cost: int = 0                 # instructions for 16 elements above which looking up takes less time
    table_elements: int = 0             # elements from which on a table is worth its making

    # Transposes of a CPU
    # by bytes of an element that is only moved, the best first
    moved_tiles: Mapping[int, Sequence[TileShape]] = field(default_factory=dict)
    # by bytes of the widest element, where elements are computed
    computed_tiles: Mapping[int, Sequence[TileShape]] = field(default_factory=dict)
    tile_prefetch: int = 0              # prefetch distance in bytes, in each row of a tile
    # elements along the source's contiguous digit that a work-item moves (a page of bytes where that is more)
    tile_run: int = 0
    tile_joined: int = 0                # elements up to which a digit is joined with those that follow
    carried_columns: int = 0            # columns of a work-item that carries parts of lines in registers
    carried_sides: int = 0              # sides of a tile across, at least, where work-items are too few
    carried_strips: int = 0             # tiles of a part of the rows, at least
    # places of a line at which matrices of a batch may begin: the text has the functions of a tile for each
    carried_starts: int = 1
    carried_tiles: Mapping[int, SquareTile] = field(default_factory=dict)   # by bytes of an element

    # Reductions of a CPU
    part_bytes: int = 0                 # bytes of input of a work-item, where there is enough
    # places in memory that a work-item reads in turn: their pages are looked up together
    reduction_streams: int = 0
    # bytes; rows up to this size use half the streams: frequent folds leave too few slots for prefetched lines
    short_row: int = 0
    reduction_prefetch: int = 0         # prefetch distance in bytes
    column_prefetch: int = 0            # the same down columns
    row_vectors: int = 0                # vectors of a row in a step, at most
    # blocks of rows for each stream of each core, at least, before there are streams
    stream_blocks: int = 0
    # parts of an input, at least, before long rows that are not read in streams are divided
    flat_parts: int = 0
    # steps of a lane: sums of n numbers in turns of sqrt(n) have the fewest roundings one after another
    turn_steps: int = 0
    row_turn_steps: int = 0             # the same for rows that go through several stages, which are shorter
    prefetch_burst: int = 0             # lines prefetched together
    column_registers: int = 0           # accumulators of a block of columns that are in registers
    # bytes of the accumulators of a block of columns, at most: more than registers lie in the first level, so that rows
    # are read whole; blocks are a page wide at least, and wider where that leaves enough work-items
    column_bytes: int = 0
    column_rows: int = 0                # rows that are folded into one of these before the next
    column_items: int = 0               # work-items for each core from which on rows are not divided into parts
    stream_vectors: int = 0             # vectors of a row, at least, before it is read in streams
    period_vectors: int = 0             # the same before vectors run over rows of few columns, for each accumulator
    part_rows: int = 0                  # rows of a part of columns, at least
    part_steps: int = 0                 # steps of a part of a row, at least
    fold_vectors: int = 0               # vectors of results, at least, whose parts are folded in vectors
    # accumulators, at most, of vectors that run over rows of few columns until one begins at lane 0 again
    column_period: int = 0

    # Scans of a CPU
    scan_bytes: int = 0                 # bytes of a block of columns that are carried down the rows
    scan_least_bytes: int = 0           # bytes of such a block that are not halved for more work-items

    # Rows of a CPU, which go through several stages
    held_bytes: int = 0                 # bytes of a row that stay in the second level from one stage to the next
    # bytes, at most, of 16 rows that go through the stages together: they should stay in the first level
    row_block: int = 0
    # bytes of values that stages keep for later ones, of a work-item, at most: they are on its stack
    kept_bytes: int = 0
    # instructions for a register of a stage that writes no rows, at least, for each line that it prefetches
    prefetch_cost: int = 0

    # Pads of a CPU
    padded_row: int = 0                 # bytes of a row, at least, where several dimensions are one

    # Scatters
    window_items: int = 0               # work-items for each core that share the windows of a scatter
    indexed_items: int = 0              # the same where each goes through all indices
    # rows whose owner is found together, before those of a work-item are combined
    picked_rows: int = 0
    shared_updates: int = 0             # updates from which on a CPU's work-items share the result
    # neighbours that one of these takes at least, where more work-items would have fewer
    shared_neighbours: int = 0
    # updates, prefetch distance where they are combined in order with a result above the size of the cache
    updates_prefetch: int = 0
    scatter_threads: int = 0            # of a block
    runs: int = 0                       # runs of sorted rows for each unit of a GPU, at least
    unit_threads: int = 0               # threads that fill a unit of a GPU

    # Walks over memory of a GPU
    walk_threads: int = 0               # of a block
    walk_unit_threads: int = 0          # threads for each unit, at least, before a thread gets several elements
    step_bytes: int = 0                 # bytes of the widest element's access in a step, at most

    # Reductions of a GPU
    reduction_unit_threads: int = 0     # threads for each unit, at least, before more threads share a result
    reduction_threads: int = 0          # of a block
    least_threads: int = 0              # of a block, where shared memory does not suffice for more
    column_threads: int = 0             # threads that read neighbouring columns, where the input is read
    coalesced: int = 0                  # bytes that neighbouring threads should read together
    sector: int = 0                     # bytes that they should read together at least
    reduction_values: int = 0           # accumulators of a thread
    row_threads: int = 0                # of a block that shares one row, at most
    # registers of a thread that hold its part of a row; twice as many where threads are too few
    row_registers: int = 0
    # bytes of an input that a thread has for itself at least, before more threads share a result
    thread_bytes: int = 0
    loading_bytes: int = 0              # bytes of an input that a thread loads at once
    thread_steps: int = 0               # steps of a thread, at least, before more threads share a result
    thread_results: int = 0             # partial results of a thread that has one result
    # blocks for each unit below which the input is cut in parts, and blocks that the parts then make
    unit_blocks: int = 0
    part_blocks: int = 0
    part_loads: int = 0                 # times that a thread loads, at least, before its input is cut in parts
    few_rows: int = 0                   # units for each row above which rows are too few for stages in one block

    # Transposes of a GPU
    transpose_threads: int = 0          # of a block
    # elements of a side of a shared-memory tile; half of it where memory or the array is small
    tile_side: int = 0
    tile_threads: int = 0               # a block's threads are a multiple of it
    run_lines: int = 0                  # tiles of a digit from which on a last one that is mostly empty does not matter
    banks: int = 0                      # of shared memory
    bank: int = 0                       # bytes of a bank's word

    @property
    def wide(self) -> bool:
        """Whether it is a CPU whose kernels are written in vectors."""
        return self.cpu and self.lanes > 1

    def scalar(self) -> "Device":
        """The same device where the language has no vectors."""
        return replace(self, lanes=1)


# A core with 512-bit vectors. line, page: the processor's. Measured on both machines of bench/README.md.
_CPU = Device(
    name="cpu",
    language="c",
    cpu=True,
    units=2,
    warp=1,
    line=LINE,
    cache=8 << 20,
    hand_over=15000,
    core_bytes=10,
    vector_time=0.5,
    unit_items=16,
    carried_items=8,
    least_groups=4,
    group_items=64,
    walk_chunks=64,
    scalar_chunks=4096,
    scalar_group=64,
    scalar_elements=4096,
    cut_row_steps=8,
    walk_streams=4,
    pair_streams=2,
    walk_burst=8,
    walk_prefetch=4096,
    pair_prefetch=1024,
    row_order_prefetch=2048,
    interleaved_elements=2048,
    # "of 512 bytes of a zip all that belongs to one row is read or written, then the next row": 0.03 to 0.05
    row_bytes=512,
    order_prefetch=32 << 10,
    staged_bytes=2048,  # 1 KiB and 4 KiB are within the noise
    gathered_bytes=1024,
    # rows of 512 bytes, 1 and 2 KiB, C on Intel: 0.87, 0.88, 0.80 of the copy; 8 KiB at once 0.66, 0.67, 0.67
    gathered_prefetch=32 << 10,
    table_cost=32,  # a logarithm (30) takes 0.86 of the time in C and 1.03 on PoCL, six products and sums (36) 0.43
    table_elements=1 << 20,
    part_bytes=256 << 10,
    reduction_streams=4,  # one: 0.90 to 0.94 for 0.89 to 0.98
    short_row=1024,
    reduction_prefetch=2048,
    column_prefetch=8 << 10,
    row_vectors=4,
    stream_blocks=4,
    flat_parts=4,
    turn_steps=64,
    row_turn_steps=8,
    prefetch_burst=4,
    column_registers=16,  # 24 are no faster
    column_bytes=16 << 10,  # rows of 4 KiB: 1.2 times as long; of 1 KiB, a quarter of each page in turn: 1.7 times
    column_rows=8,  # one: 1.3 to 1.6 times as long
    column_items=4,  # 16, with four times the parts to combine: 1.02 to 1.09 times as long
    column_period=25,
    # chosen, not measured one by one
    stream_vectors=64,
    period_vectors=64,
    part_rows=16,
    part_steps=4,
    fold_vectors=64,
    scan_bytes=8 << 10,
    scan_least_bytes=512,
    held_bytes=512 << 10,
    row_block=32 << 10,
    kept_bytes=256 << 10,
    prefetch_cost=6,
    padded_row=4 << 10,
    window_items=8,
    # 262144 elements of s32: two work-items that read all indices take 1.0 ns for each, four 1.2; one 1.25
    indexed_items=1,
    picked_rows=64,  # 256, 1024: the same
    shared_updates=4096,
    shared_neighbours=128,
    updates_prefetch=32,
    scatter_threads=128,
    moved_tiles={
        1: (
            *(TileShape(64, 64, down, 64, streamed=True, pipelined=True) for down in (2, 1)),
            TileShape(64, 16, 1, 16),
            TileShape(32, 32, 1, 32),
            TileShape(16, 16, 1, 64),
            TileShape(8, 8, 1, 64),
        ),
        2: (
            *(TileShape(32, 32, down, 64, streamed=True, pipelined=True) for down in (2, 1)),
            TileShape(32, 32, 1, 32),
            TileShape(32, 16, 1, 16),
            TileShape(16, 16, 1, 64),
            TileShape(8, 8, 1, 64),
        ),
        4: (TileShape(16, 16, 2, 64), TileShape(16, 16, 1, 64), TileShape(8, 8, 1, 64)),
        8: (TileShape(8, 8, 2, 64), TileShape(8, 8, 1, 64)),
    },
    computed_tiles={
        bytes: tuple(TileShape(n, n, down, 64) for n in (16, 8) if n * bytes <= 64 for down in (2, 1))
        for bytes in (1, 2, 4, 8)
    },
    tile_prefetch=512,  # 256 bytes: 0.01 to 0.08 less
    tile_run=1024,
    tile_joined=64,
    carried_columns=256,  # 16 KiB of registers' lines
    carried_sides=4,
    carried_strips=8,
    carried_starts=16,
    carried_tiles={
        1: SquareTile(side=64, load_bytes=64, tiles_down=1),
        2: SquareTile(side=32, load_bytes=64, tiles_down=1),
        4: SquareTile(side=16, load_bytes=32, tiles_down=2),
        8: SquareTile(side=8, load_bytes=64, tiles_down=1),
    },
)
# Transactions of 32 bytes, lines of four; 32 banks of 4 bytes: CUDA C++ Programming Guide, compute capability 5 and
# later.
_GPU = Device(
    name="", language="", cpu=False, units=0, warp=32, line=16, cache=0,
    walk_threads=128, walk_unit_threads=512, step_bytes=32,
    reduction_unit_threads=1024, reduction_threads=256, least_threads=64, column_threads=32,
    coalesced=128, sector=32, reduction_values=32, row_threads=1024, row_registers=16, thread_bytes=16,
    loading_bytes=64, thread_steps=4, thread_results=4, unit_blocks=2, part_blocks=4, part_loads=4, few_rows=4,
    shared_updates=4096, shared_neighbours=128, scatter_threads=128, runs=4, unit_threads=2048,
    transpose_threads=256, banks=32, bank=4,
    # a row of the tile is read by 32 threads: a line of four-byte elements; also where waves are 64
    tile_side=32, tile_threads=32, run_lines=8,
)
DEVICES: Dict[str, Device] = {device.name: device for device in (
    replace(_CPU, name="pocl-cpu", language="opencl", group=16),        # a work-group costs some 4 ns
    replace(_GPU, name="opencl-gpu", language="opencl", units=64),
    _CPU,
    replace(_CPU, name="cpu-scalar", lanes=1),
    replace(_GPU, name="sm_80", language="cuda", units=108),            # A100
    replace(_GPU, name="sm_90", language="cuda", units=132),            # H100 SXM
    replace(_GPU, name="gfx90a", language="hip", warp=64, units=104),   # a die of an MI250
    replace(_GPU, name="gfx942", language="hip", warp=64, units=304),   # MI300X
    replace(_GPU, name="gfx1100", language="hip", units=96),            # RX 7900 XTX
)}
DEFAULT = {"opencl": "pocl-cpu", "cuda": "sm_80", "hip": "gfx90a", "c": "cpu"}


def device_for(target: str, name: Optional[str]) -> Device:
    """The class that is named where it speaks the target's language, else the target's default: of several targets a
    name is meant for one."""
    if name and name in DEVICES and DEVICES[name].language == target:
        return DEVICES[name]
    return DEVICES[DEFAULT[target]]
