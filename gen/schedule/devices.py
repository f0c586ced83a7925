"""All numbers that depend on a device: a row for each class of devices, and numbers of each hero, which are named like
its module. Heroes and plans take all such numbers from here.

Numbers of CPUs are measured, unless a comment calls them chosen. bench/README.md ("What bounds each kernel" and the
sections after it) has the figures of the kernels, on two cores of an Intel Xeon with AVX-512 and of an AMD EPYC, and of
alternatives that were tried. Numbers of GPUs are not timed (no GPU was at hand) unless a comment names one: they follow
the hardware's documentation, so most classes of GPUs differ only in their number of units.

A comment gives the unit of a number if its name does not, and in parentheses what else was tried.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Dict, Mapping, NamedTuple, Optional, Sequence, Tuple


@dataclass(frozen=True)
class SquareTile:
    """A square of elements that is transposed in registers. side: elements of its side. load_bytes: bytes of one load.
    tiles_down: the number of tiles, one below the other, that are transposed together on processors on which bursts of
    prefetches are faster (Intel's). Others transpose one tile: two were 1.24 times as slow (f32[1023,4097] in C, AMD
    EPYC)."""

    side: int
    load_bytes: int
    tiles_down: int


@dataclass(frozen=True)
class TileShape:
    """A register tile: `rows` rows of `registers_down` registers of `lanes` elements. load_bytes: bytes of one load.
    streamed: true if the tile is only for arrays larger than the cache, whose stores bypass it. pipelined: true if its
    loads alternate with the stores of the tile before."""

    lanes: int
    rows: int
    registers_down: int
    load_bytes: int
    streamed: bool = False
    pipelined: bool = False


VECTOR_BITS = 512           # bits of a CPU's vectors: a register of AVX-512
PIECE = 16                  # bytes of a vector register within which every x86 and ARM interleaves elements
LINE = 64                   # bytes of a line of a CPU's caches
PIECES = LINE // PIECE
LANES = VECTOR_BITS // 32   # 32-bit elements of a CPU's vectors


# These are numbers of graphs and plans, the same for all devices of a class, or for all devices. They are estimates,
# unless a comment has a measurement.

SPREAD_ELEMENTS = 8         # maximum number of neighbours that shuffles spread over registers; tiles transpose more
SPREAD_ROW = 128            # minimum length of a row, in elements, along which neighbours of another access are spread
STRIDED_COST = 8            # cost of a byte that is not contiguous with its neighbours; a contiguous byte costs 1
LAUNCH_BYTES = 1 << 20      # bytes that could be moved while a kernel is launched
# instructions for a register above which a value is kept instead of computed again: a store and a load are two, and it
# occupies cache
KEPT_COST = 12
# instructions of an element that is not read with its neighbours: clamping its index, the address, the load, the
# insertion into a vector
SCATTERED_COST = 24
SIDES_COST = 2              # instructions that choose between two sides of a pad or a concatenate
STEP_COST = 2               # instructions of a step of a product
DIVISION_COST = 2           # instructions of a quotient or remainder of an index
MOST_DIVISIONS = 4  # maximum number of divisions in an index for a value to be computed at each of several indices
TILED_ELEMENTS = 1 << 16    # minimum number of elements of whole tiles for the rest to have kernels of its own
# minimum number of elements of an operand for a second kernel for outer dimensions to be faster
WINDOW_ELEMENTS = 1 << 16
# minimum of the stride of windows along the contiguous dimension for that kernel to be faster (32x32 blocks of
# f32[1024,1024] on one thread: 0.62 ms instead of 2.1)
WINDOW_STRIDE = 5
WINDOW_OVERLAP = 32         # minimum number of elements of overlapping windows for that kernel to be faster
# maximum distance between neighbours of a register that are picked from whole vectors (f32 slices are 1.1 to 1.8 times
# as fast, u8 1.3 to 15 times)
PICKED_STRIDE = 4
GUARD_REGISTERS = 2  # minimum number of registers between two changes of a guard along the lanes for whole vectors
VECTOR_OPERATIONS = 4       # operations on numbers in a vector instruction of a factorisation or a transform
SORT_COST = 20              # vector instructions for an element of a sort by radix, or of a few short rows
SHORT_SORT_COST = 6         # vector instructions for an element of short rows that are sorted side by side
TOPK_COST = 0.5             # vector instructions for an element of topk's operand
TOPK_KEPT_COST = 64         # vector instructions for an element of topk's result
LOCAL_ARRAY = 4096          # chosen: maximum bytes of an array that is a variable of a program's function in C
LOCAL_GROUPS = 8            # chosen: maximum number of groups of a kernel on such arrays that are written one by one
UNROLLED_STATEMENTS = 8     # maximum number of statements in a step that are written for each of several rows


@dataclass(frozen=True)
class Costs:
    """The costs of a class of devices, in nanoseconds.

    instruction: one op of `Elementwise.cost` 1 for one element of 4 bytes, in vectors.
    sides: factor if the sides of a pad or a concatenate are computed, because neighbours differ in their work.
    called: factor in functions that are not inlined.
    byte: moving a byte to or from memory.
    cached_byte: moving a byte of a buffer that stays in a cache of `cache` bytes.
    kernel: one more kernel.
    rows: true if kernels of rows (gen/heroes/rows.py) are considered.
    """

    instruction: float
    sides: float
    called: float
    byte: float
    cached_byte: float
    cache: int
    kernel: float
    rows: bool = True


# These are two cores with 512-bit vectors: three instructions per nanosecond for 16 elements; 25 GB/s to and from
# memory that does not fit in L2.
CPU_COSTS = Costs(instruction=0.02, sides=2, called=16, byte=0.04, cached_byte=0.01, cache=2 << 20, kernel=200)
# These are the costs of few elements in a loop of a program: the kernels of its body are one function, and their
# buffers are in registers or L1.
SMALL_COSTS = Costs(instruction=0.3, sides=2, called=4, byte=0.1, cached_byte=0.1, cache=2 << 20, kernel=1, rows=False)
SMALL_BYTES = 16384     # bytes of a call's parameters and results
# This is a GPU of some 10 TFLOP/s and 1.5 TB/s.
GPU_COSTS = Costs(instruction=0.0001, sides=1, called=1, byte=0.0007, cached_byte=0.0002, cache=16 << 20, kernel=3000)


# minimum number of input features of a convolution for the products of one element of its window to be a long enough
# sum for a tile
SHORT_SUM = 32
# minimum number of rows that a convolution's result has beside the places of its window for these places not to be rows
# of a tile too
FEW_ROWS = 16


class Panels(NamedTuple):
    """The thresholds for arranging a product for register tiles, and for copying its operand to panels first
    (gen/plan/products.py).

    least_steps: minimum number of multiplications of a product.
    filled_steps: the same if the operand is padded with zeros.
    vector_steps: the same for a product by a vector (16x16: 0.03 us; as a loop 0.18; 8x8: as long, or 4 times).
    in_place_bytes: maximum bytes of the operand's matrix that is read in place.
    many_rows: minimum number of rows of the other operand for which such a matrix is copied too (f32 6272x64x256:
        1.05 ms, in place 1.15).
    in_place_rows: maximum number of pixels of a convolution's result for which a larger matrix is read in place (98
        pixels, 3x3, 512 to 512 features in one thread: 3.9 ms, in panels 4.3).
    dot_rows: maximum number of rows of a dot for which it is, whose work-items have panels of their own (f32
        64x3072x768 in one thread: 2.2 ms, in panels 3.7; 384: 13.0, 13.3; 512: 18.0, 17.3).
    in_place_columns: the number of the result's columns below which the other operand is read in place even if
        neighbours along the sum are more than near_bytes apart (f32 A^T B of 2048: 189 ms in place, 121 copied;
        64x256x6272: 0.68 ms in place, 0.73 copied).
    few_rows: maximum number of rows of a product that read a matrix in place whose neighbours are along the sum (f32
        by 4096x4096 in one thread: 8 rows 4.1 ms, in panels 13.5; 16 rows 7.8, 15.6; 32 rows 18.3, 25.4; 64 rows
        35.8, 36.2).
    few_narrow_rows: the same for narrow numbers, along any dimension (bf16 by 4096x4096 in two threads: 8 rows 1.8
        ms, in panels 5.6; 16 rows 3.6; 17 rows 9.0, 6.8).
    units: widths of a panel in units that divide the columns, the best first (f32 1024x1024: it is copied in 0.31 ms;
        in panels of one unit 0.5).
    long_sum: minimum number of products in a sum that is divided into parts.
    sum_parts: maximum of parts.
    parts_bytes: maximum bytes of their results.
    part_steps: minimum number of steps in a part of a shorter sum, if there are at most few_results results and at
        least many_products multiplications (f32 24x144x6272 in two threads: 0.19 ms, in one part 0.35; 64x256: 0.72,
        1.1).
    turned_result, whole_units: minimum ratios of the operands' elements to the result's, and of the units of a
        result's columns to those of its rows, for which a product is computed transposed, so that more units are
        whole (f32 144x24x6272: 0.16 ms, else 0.20).
    images_bytes: minimum bytes of the operands of a convolution that sums over images, for parts of these images.
    images_share: minimum ratio of the operands' bytes to those of the parts' results (gradient of 3x3 weights of two
        images of 56x56, 64 to 64 features, in one thread: 3.6 ms, in two parts 3.0; 128 to 128 features with stride
        2, ratio 3.4: no faster).
    longer_features: maximum number of features in place, for each pixel of a row, of a convolution that becomes a
        product whose rows are pixels (in one thread: 512 to 2048 features of 49 pixels 2.49 ms, by rows of features
        1.85; 960 to 160: 0.23, 0.24; in two, 512 to 1024 of two images of 196 pixels, every second pixel of a row:
        1.19 ms, 1.55).
    complex_least: minimum number of rows, of columns and of steps with which a product of complex numbers becomes one
        of real numbers whose operands are copied (c64 in two threads: 512x512x512 then takes 7.7 ms instead of 271,
        8x1000x1000 5.4 instead of 10.1, but 4x1000x1000 7.6 instead of 5.8). Smaller products read the larger operand
        in place (4x1000x1000: 0.29 ms, as loops 3.7), unless they have fewer multiplications than least_steps (10000
        of 3x3: 1.5 ms, as loops 0.25).
    small_rows, small_steps: maximum number of rows of a small matrix, and of rows times steps, whose product is code
        without loops (f32 in two threads: 3000 of 8x8 0.035 ms, as loops 0.21; 2000 of 12x12 0.036, 1.4; 2000 of 24
        rows, 24 steps, 12 columns 0.20, 5.1).
    least_small_steps: minimum number of multiplications of such a product (3000 of 2x2: 0.0045 ms, as loops 0.0027;
        one of 6x6: 10 ns, 200).
    groups: types of numbers that tiles multiply in groups (256x256 in OpenCL by a PoCL that compiles for AVX-512BW:
        s8 0.27 ms, as s32 0.59; bf16 0.54, as f32 0.26).
    group_units: as `units`, for groups.
    turned_share: minimum ratio of the larger operand's rows to the other's for which the larger one is read in place
        if its neighbours are along the sum, and the result is transposed (bf16 by 4096x4096 in one thread: 8 rows 1.5
        ms, else 3.15; 64 rows 3.1, 7.2; 256 rows 10.6, 15.9).
    turned_rows: minimum of its rows of bf16 (without matrix instructions 8 rows then take 6.4 ms, else 2.9; 32 rows
        11.8, 17.6; s8 8 rows 1.8, 9.8).
    strip_rows, least_strip_rows: maximum (0: no strips) and minimum number of rows of a product in a strip
        (gen/plan/strips.py; attention of 8 heads, 512 queries and keys, 64 elements: 8 rows 4.80 ms, 16: 4.28, 32:
        4.27, 64: 4.22; without strips 5.63; in OpenCL 64 rows 5.3, without strips 7.7).
    strip_bytes, strip_operand_bytes: maximum bytes of a strip and of the operand that its rows share, so that both
        stay in L2.
    """

    least_steps: int = 1024
    filled_steps: int = 8192
    vector_steps: int = 256
    in_place_bytes: int = 256 << 10
    in_place_rows: int = 128
    many_rows: int = 1024
    dot_rows: int = 384
    units: Tuple[int, ...] = (4, 3)
    in_place_columns: int = 256
    few_rows: int = 32
    few_narrow_rows: int = 16
    turned_result: int = 8
    whole_units: float = 1.15
    near_bytes: int = 512
    long_sum: int = 1 << 14
    part_steps: int = 768
    few_results: int = 1 << 15
    many_products: int = 1 << 24
    sum_parts: int = 32
    parts_bytes: int = 1 << 20
    images_bytes: int = 1 << 20
    images_share: int = 4
    longer_features: int = 6
    complex_least: int = 8
    small_rows: int = 24
    small_steps: int = 1024
    least_small_steps: int = 9
    groups: Tuple[str, ...] = ()
    group_units: Tuple[int, ...] = (4, 3)
    turned_share: int = 2
    turned_rows: int = 4
    strip_rows: int = 64
    least_strip_rows: int = 4
    strip_bytes: int = 128 << 10
    strip_operand_bytes: int = 2 << 20


class SharedTiles(NamedTuple):
    """The thresholds for arranging a product for tiles of a GPU's shared memory (gen/plan/products.py). They are
    chosen, not measured.

    least_steps: minimum number of multiplications of a product.
    vector_steps: the same for a product by a vector, which becomes a reduce.
    few_bytes: maximum bytes of an element for which a convolution's base is stored with contiguous features.
    phases: maximum number of phases of a convolution whose base has holes; each phase is a kernel.
    """

    least_steps: int = 4096
    vector_steps: int = 4096
    few_bytes: int = 2
    phases: int = 16


class PlanClass(NamedTuple):
    """The devices that share a plan. panels, shared_tiles: None if products are not arranged for them."""

    cpu: bool = True
    panels: Optional[Panels] = None
    shared_tiles: Optional[SharedTiles] = None


class GpuTile(NamedTuple):
    """A tile of a product's result, which a block of threads computes: its rows and columns, those of a thread, and
    the steps of the operands that are in shared memory at once. speed: relative to that of the largest tile, if
    there are enough tiles of both. stages: the number of stages in shared memory: one is multiplied while the others
    are copied."""

    rows: int
    columns: int
    thread_rows: int
    thread_columns: int
    steps: int
    speed: float
    stages: int = 2

    @property
    def threads(self) -> int:
        return self.rows // self.thread_rows * (self.columns // self.thread_columns)


@dataclass(frozen=True)
class ContractionGpuNumbers:
    """Numbers of products in tiles of shared memory. The tiles are measured on an NVIDIA H200; the other numbers are
    chosen."""

    # by bytes of a sum (f32 4096^3: 41.8 TFLOP/s; 16 steps at once 37.0; 64x64 with 8x4 a thread 39.2, with 4x4 31.7;
    # 32x32 26.7. f64: 64x64 with 8x4 a thread 19.8, with 4x4 15.9)
    tiles: Mapping[int, Tuple[GpuTile, ...]] = field(default_factory=lambda: {
        4: (GpuTile(128, 128, 8, 8, 8, 1), GpuTile(64, 64, 8, 4, 16, 0.9), GpuTile(32, 32, 4, 4, 16, 0.6),
            GpuTile(16, 128, 4, 4, 16, 0.5)),
        8: (GpuTile(64, 64, 8, 4, 8, 1), GpuTile(32, 32, 4, 4, 8, 0.7), GpuTile(16, 64, 4, 4, 8, 0.7))})
    # for matrix instructions, by bytes of an element; a warp has 8 threads down and 4 across (bf16 4096^3: 381 TFLOP/s;
    # with twice the warps 297; 128x64 257; 64x64 199; 256x64 in two stages 289). Tiles of f64, and of few rows or
    # columns, are not timed; the latter take the time of reading the other operand.
    matrix_tiles: Mapping[int, Tuple[GpuTile, ...]] = field(default_factory=lambda: {
        size: (*large, GpuTile(16, 128, 2, 8, 64 // size, 0.25, 5), GpuTile(128, 16, 4, 4, 64 // size, 0.25, 5))
        for size, large in (
            (1, (GpuTile(128, 128, 8, 16, 64, 1, 3), GpuTile(64, 64, 4, 8, 64, 0.55, 4))),
            (2, (GpuTile(128, 128, 8, 16, 32, 1, 3), GpuTile(64, 64, 4, 8, 32, 0.55, 4))),
            (8, (GpuTile(128, 128, 8, 8, 8, 1, 3), GpuTile(64, 64, 4, 8, 8, 0.8, 4))))})
    # for wgmma, on devices with it; a thread has two rows. Not timed.
    warpgroup_tiles: Tuple[GpuTile, ...] = ()
    warpgroup_sum_cost: int = 1000  # as sum_cost, for wgmma
    # for MFMA, by bytes of an element: 4 wavefronts, whose threads have 4 rows of each instruction. Not timed.
    # wave_types: the element types that the device multiplies by MFMA without flushing subnormals.
    wave_tiles: Mapping[int, Tuple[GpuTile, ...]] = field(default_factory=lambda: {
        size: (GpuTile(128, 128, 16, 4, 64 // size, 1), GpuTile(64, 64, 8, 2, 64 // size, 0.6),
               GpuTile(32, 32, 4, 1, 64 // size, 0.3)) for size in (1, 2, 4, 8)})
    wave_types: Tuple[str, ...] = ()
    padding: int = 4            # elements between the steps of a tile, so that no banks conflict
    run_bytes: int = 32         # bytes that neighbouring threads read of one line, along the steps
    part_steps: int = 128       # minimum number of steps in a part, if the sum is cut into parts
    most_parts: int = 32
    sum_threads: int = 128      # threads of a block that adds up the parts
    # multiplications that a unit does while an element of a part is written and read again (f32, H100: 128 at a time,
    # 25 bytes of memory at a time)
    sum_cost: int = 40
    # as sum_cost, for matrix instructions, by bytes of an element
    matrix_sum_cost: Mapping[int, int] = field(default_factory=lambda: {1: 600, 2: 600, 8: 80})


@dataclass(frozen=True)
class ContractionCpuNumbers:
    """Numbers of products in register tiles of rows by units; a unit is 64 bytes of a row. An accumulator is a vector;
    8 or more hide the latency of a multiply-add."""

    # rows and units of a tile, by the macro of an instruction set ("": others) and the units of a block of columns
    tiles: Mapping[str, Mapping[int, Tuple[int, int]]] = field(default_factory=lambda: {
        "__AVX512F__": {1: (16, 1), 2: (12, 2), 3: (8, 3), 4: (6, 4), 5: (5, 5), 6: (3, 6), 7: (3, 7), 8: (2, 8)},
        "__AVX__": {n: (6, 1) for n in range(1, 9)},
        "__aarch64__": {n: (6, 1) for n in range(1, 9)},
        "": {n: (2, 1) for n in range(1, 9)}})
    # units of a block of columns, by the rows of a product that has few; `units`: of other products
    few_rows: Mapping[int, int] = field(default_factory=lambda: {1: 8, 2: 8, 3: 6, 4: 5, 5: 5, 6: 4, 7: 3, 8: 3})
    units: int = 4
    # maximum number of units of a whole row that are one block (256 products of 64x64x64: 1.2 ms; in two blocks: 1.5)
    whole_units: int = 4
    # A product of few rows reads the other operand in place, at the throughput of memory: a block goes through `chunk`
    # steps of up to `units` units each, then through the next units, which were prefetched. This holds for the rows of
    # few_rows, and for those of `skinny` if the other operand is large. skinny: the units of a tile, by rows, so that
    # units are read once or twice (f32 9x4096x4096 in one thread: 5.8 ms, with 3 units 7.0; 16 rows: 8.0, with 2 units
    # 10.5; as other products 19.8 and 25; in two threads 17 rows 2.5 ms with 2 units, 2.8 with 3, with panels 5.1; 24:
    # 3.1, 3.3, 5.2; 32: 4.4, 4.3, 5.9; 48: 5.5, 5.7, 7.3; 64: 8.6, 7.5, 8.8; 17x3072x768: 0.35, 0.41, 0.60).
    # skinny_places: maximum number of rows of a convolution, or of several lines, for which this holds. skinny_blocks:
    # maximum number of blocks of a row, which threads share. skinny_units and skinny_chunk were chosen by f32
    # 8x4096x4096 on two threads, with 4 units in a tile: 2.1 ms; 32 and 16: 2.7; 64 and 8: 2.3; 128 and 8 without
    # prefetches: 3.1
    skinny: Mapping[int, int] = field(default_factory=lambda: {
        **dict.fromkeys(range(9, 13), 2), **dict.fromkeys(range(13, 17), 3), **dict.fromkeys(range(17, 49), 2),
        **dict.fromkeys(range(49, 65), 3)})
    skinny_places: int = 16
    skinny_units: int = 64
    skinny_blocks: int = 4
    skinny_chunk: int = 32
    rows: int = 96                      # rows of a work-item: whole tiles of all instruction sets
    # Work-items go along rows, block of columns after block of columns, if steps are few, or if the operand with the
    # rows is larger than kept_bytes: a block of its rows then stays in L2 (f32 1000x1000x1000 in two threads: 9.0 ms,
    # along columns 10.2). A product of at most few_steps steps takes the time of storing its result. A block of more
    # than one unit then has few_steps_rows rows in two cases: if these are a page apart, because the stores of a core
    # reach few pages at once (4096x4096x16: 2.7 ms, with 96 rows 7.7, along columns 8.1; 4096x4096x128: 15.8, 17.8,
    # 17.7; 4096x4096x256 is as fast with 96), and if an epilogue stores them, so that its stores overlap with the
    # products of the next block (1024x1024x64, bias and maximum: 0.55 ms, with 96 rows 0.73, without epilogue 0.48)
    few_steps: int = 128
    few_steps_rows: int = 24
    kept_bytes: int = 1 << 20
    # For a work-item that copies columns to a panel: rows; units, if nearly all blocks have as many; units of a tile,
    # and of other blocks; steps of a panel of packed_units (f32 by 4096x4096 in two threads: 17 rows 4.5 ms, 32 6.0, 64
    # 10.8; 3 units and 256 steps: 4.8, 6.8, 11.3); rows for which panels are slower (f32 16x3072x768: 0.85 ms without,
    # 0.90 with; 32: 1.48, 1.37); steps that it prefetches ahead (f32 64x4096x4096 in one thread: 22.5 ms; without 25.6)
    packed_rows: int = 192
    packed_units: int = 6
    packed_tile: int = 3
    packed_chunk: int = 128
    packed_least_rows: int = 16
    # rows for which panels are slower if sums are one chunk (f32 24x6272x144 in two threads: 0.13 ms, with panels 0.16)
    packed_short_rows: int = 32
    packed_least_steps: int = 32  # minimum number of steps for panels (f32 144x6272x24: 0.11 ms, with panels 0.14)
    packed_ahead: int = 16
    # Blocks are whole rows if these are at most row_units, and at least row_items products share the work: memory is
    # read in its order (f32 24x144x6272 in 8 parts, two threads: 0.18 ms, blocks of 3 units 0.19). Such rows stay in
    # place, without a panel, unless lines of one column have more than row_sets steps to a set of L1 (0.15 ms, with
    # panels 0.18).
    row_units: int = 16
    row_items: int = 4
    row_sets: int = 4
    # minimum number of work-items for those of a depthwise convolution to have whole rows (3x3, 2x56x56 pixels of 144
    # features in two threads: 0.16 ms, blocks of 3 units 0.19)
    wide_items: int = 32
    chunk: int = 256                    # products that are summed one after another, before the sum is added to a total
    # For matrix instructions: the steps of a chunk; rows and units of a block whose operand in units has at most a
    # chunk's steps for as many units, so that it stays in L2 while blocks of rows pass (bf16 1024x1024x1024 in one
    # thread: 2.0 ms; blocks of 8 units 2.25, of 4 2.45); the same for longer sums, whose totals are in the result or in
    # an array (512x4096x4096: 20.8 ms; blocks of 192 rows 22.4, of 96 rows and 8 units 27.0)
    matrix_chunk: int = 512
    matrix_items: int = 16              # chosen: minimum number of work-items before one has more than `rows` rows
    matrix_block: Tuple[int, int] = (32, 16)
    long_matrix_block: Tuple[int, int] = (384, 16)
    long_matrix_array: Tuple[int, int] = (96, 8)
    # The steps of a chunk if tiles prefetch the next one (in one thread: convolutions of 3x3 over 98 pixels, 512 to 512
    # features: 4.4 ms, with prefetches 3.9; 392 pixels, 256 to 256: 4.1, 3.6). far_rows: maximum number of rows for
    # which they prefetch an operand of up to kept_bytes (gradient of 3x3 weights of 14x14 pixels, 256 to 256 features,
    # in two threads: 1.22 ms, with prefetches 1.30). far_steps: maximum number of steps, a power of two, for one
    # prefetch: the tiles of a block share the lines of the next chunk (in two threads: f32 1024x1024x1024 without
    # prefetches 6.3 ms, with a line per step of each tile 6.1, shared 5.3; f64 12.4, shared 11.3; f32 64x64x65536, a
    # line per step of each tile 1.79 ms, shared 1.28; in three steps f32 512x512x512 takes 1.14 ms instead of 0.70)
    far_chunk: int = 128
    far_rows: int = 512
    far_steps: int = 4
    straight: int = 2                   # unrolled steps of other tiles

    def tile_rows(self, units: int) -> int:
        """Return the rows of a tile of the widest vectors, in a block of so many units."""
        widest = next(iter(self.tiles.values()))
        return widest.get(units, widest[self.units])[0]

    def whole_tiles(self, rows: int) -> bool:
        """Return true if rows of a block are whole tiles of all instruction sets."""
        of_many_rows = range(1, max(self.units, self.whole_units) + 1)
        return all(rows % of[units][0] == 0 for of in self.tiles.values() for units in of_many_rows)

    def __post_init__(self) -> None:
        wider = [of[units] for of in self.tiles.values() for units in range(2, max(self.units, self.whole_units) + 1)]
        assert self.whole_tiles(self.rows) and self.whole_tiles(self.packed_rows) \
            and all(self.few_steps_rows % of_tile == 0 for of_tile, _ in wider), \
            "the last rows of a block are no whole tile"

    @property
    def largest(self) -> Tuple[int, int]:
        """Return the maximum number of rows and the maximum number of units of a tile."""
        rows, units = zip(*(tile for tiles in self.tiles.values() for tile in tiles.values()))
        return max(rows), max(units)

    @property
    def largest_tile(self) -> int:
        """Return the maximum of the product of a tile's rows and units."""
        return max(rows * units for tiles in self.tiles.values() for rows, units in tiles.values())


@dataclass(frozen=True)
class ThreadsNumbers:
    """Numbers for the number of a CPU's threads that share a kernel (gen/threads.py)."""

    hand_over: int = 15000              # nanoseconds until another thread has begun its part, and its end is known
    core_bytes: float = 10              # bytes that a core moves in a nanosecond
    vector_time: float = 0.5            # nanoseconds of a vector instruction
    # multiply-adds of a register tile in that time (f64 64x64x64 in one thread: 5.8 us)
    tile_rate: float = 6
    # as tile_rate, for matrix instructions, by their macros (bf16 256x256x256 in one thread: 25 us; s8: 14)
    matrix_rates: Mapping[str, float] = field(default_factory=lambda: {"TILES_BF16": 40, "TILES_INT8": 64})


@dataclass(frozen=True)
class LoopCpuNumbers:
    """Numbers of walks over memory on a CPU."""

    chunks: int = 64                    # maximum number of steps of a work-item
    scalar_chunks: int = 4096           # maximum number of steps of a work-item if a step is one element
    few_elements: int = 1024  # chosen: maximum number of elements that may be walked in vectors of fewer lanes
    least_lanes: int = 4                # chosen: minimum lanes of such vectors
    # chosen: minimum speedup of fewer lanes over a walk of whole vectors, whose loads wait for narrower stores
    least_gain: int = 2
    scalar_group: int = 64              # work-items of a group if a step is one element
    scalar_elements: int = 4096         # minimum number of elements for these to form groups
    cut_row_steps: int = 8              # minimum number of steps in a row for each row to end in a partial step
    streams: int = 4                    # equal parts of the memory that a work-item goes through in turn
    pair_streams: int = 2               # the same if 16-bit elements are computed in pairs of registers
    burst: int = 8                      # steps whose lines are prefetched together
    prefetch: int = 4096                # prefetch distance in bytes, to L2
    pair_prefetch: int = 1024           # prefetch distance to L1, for pairs of registers of 16-bit elements
    row_order_prefetch: int = 2048      # prefetch distance to L2, if fused steps read whole rows
    interleaved_elements: int = 2048    # elements of a work-item if registers interleave rows
    # bytes of a row that are moved together before those of the next row (0.03 to 0.05 of the copy)
    row_bytes: int = 512
    # prefetch distance in bytes, in the order of interleaved rows; blocks of rows larger than twice that are left to
    # the hardware prefetchers
    order_prefetch: int = 32 << 10
    # bytes of rows that are gathered in L1 before they are stored (1 KiB, 4 KiB: within the noise)
    staged_bytes: int = 2048
    gathered_bytes: int = 1024          # maximum bytes of a step whose address one index gives
    # prefetch distance in bytes of rows that indices select (rows of 512 bytes, 1 and 2 KiB, C on Intel: 0.87, 0.88,
    # 0.80 of the copy; 8 KiB: 0.66, 0.67, 0.67)
    gathered_prefetch: int = 32 << 10
    # loops of elements: the maximum number of 64-byte vectors that run together, and of the registers of all their
    # variables
    loop_rows: int = 4
    loop_registers: int = 24
    # maximum number of steps for single elements to run one after another, as compilers unroll them (5 steps of 11
    # elements: 8 ns instead of 27; an unknown number of steps, here 4, of 5 elements: 13 instead of 4)
    loop_steps: int = 8


@dataclass(frozen=True)
class SortCpuNumbers:
    """Numbers of sorts of rows by a work-item of a CPU."""

    network: int = 128          # maximum number of elements of a row that is sorted beside others, each row in a lane
    side: int = 16              # rows that are sorted side by side
    inserted: int = 24          # maximum number of elements of a row that is sorted by insertion
    digit: int = 9              # maximum bits of a radix digit
    long_digit: int = 11        # maximum bits of a radix digit for long rows
    long_row: int = 4096        # minimum number of elements of a long row
    held_bytes: int = 32 << 10  # maximum bytes of words that a work-item has on the stack
    parts: int = 2              # parts of a long row that is sorted by several work-items; each reads all of it
    parted: int = 1 << 18       # minimum number of elements for such parts
    words: int = 256            # words of a long row that are made at once
    sampled: int = 4096         # sampled elements of a long row, by which the ranges of its words are chosen
    range_digit: int = 8        # bits of the first digit, whose values have separate ranges
    range_size: int = 4096      # elements of such a range, approximately
    long_range: int = 1024      # minimum number of elements of a range for long digits
    items: int = 16             # maximum number of work-items for each core
    item_elements: int = 4096   # minimum number of elements of a work-item
    few: int = 32               # maximum number of topk's results that are kept sorted; more are a heap
    block: int = 64             # elements whose keys topk compares with the last kept one at once
    looked: int = 4096          # maximum number of first elements of a row whose smallest keys bound topk's results


@dataclass(frozen=True)
class SortGpuNumbers:
    """Numbers of sorts by a block of threads of a GPU, and of merges."""

    tile: int = 1024            # maximum number of elements that a block sorts
    threads: int = 256          # maximum number of threads of a block


@dataclass(frozen=True)
class TableNumbers:
    """Numbers of functions of 16-bit elements that are looked up in a table."""

    # instructions for 16 elements above which a table is faster: a logarithm (30) takes 0.86 of the time in C and 1.03
    # on PoCL, six products and sums (36) 0.43
    cost: int = 32
    elements: int = 1 << 20             # minimum number of elements for a table to save more time than it takes to fill


@dataclass(frozen=True)
class TransposeCpuNumbers:
    """Numbers of transposes on a CPU in register tiles."""

    # register tiles by bytes of an element that is only moved, the best first
    moved_tiles: Mapping[int, Sequence[TileShape]] = field(default_factory=lambda: {
        1: (*(TileShape(64, 64, down, 64, streamed=True, pipelined=True) for down in (2, 1)),
            TileShape(64, 16, 1, 16), TileShape(32, 32, 1, 32), TileShape(16, 16, 1, 64), TileShape(8, 8, 1, 64)),
        2: (*(TileShape(32, 32, down, 64, streamed=True, pipelined=True) for down in (2, 1)),
            TileShape(32, 32, 1, 32), TileShape(32, 16, 1, 16), TileShape(16, 16, 1, 64), TileShape(8, 8, 1, 64)),
        4: (TileShape(16, 16, 2, 64), TileShape(16, 16, 1, 64), TileShape(8, 8, 1, 64)),
        8: (TileShape(8, 8, 2, 64), TileShape(8, 8, 1, 64))})
    # register tiles by bytes of the widest element, for elements that are computed
    computed_tiles: Mapping[int, Sequence[TileShape]] = field(default_factory=lambda: {
        bytes: tuple(TileShape(n, n, down, 64) for n in (16, 8) if n * bytes <= 64 for down in (2, 1))
        for bytes in (1, 2, 4, 8)})
    least_tile: TileShape = TileShape(4, 4, 1, 64)      # the tile if none of these fits
    # prefetch distance in bytes, in each row of a tile (256 bytes: 0.01 to 0.08 less of the copy)
    prefetch: int = 512
    # elements along the source's contiguous digit that a work-item moves (a page of bytes if that is more)
    run: int = 1024
    joined: int = 64                    # maximum number of elements of a digit that is joined with those that follow
    # minimum number of bytes read and written for stores to bypass the caches even if another kernel reads them (the
    # copy of 9 MB of weights and the convolution that reads them: 1.73 ms in two threads, streamed 2.16)
    kept_bytes: int = 64 << 20


@dataclass(frozen=True)
class TransposeLinesNumbers:
    """Numbers of a CPU's transposes that carry parts of lines in registers."""

    # minimum number of work-items for each core before one gets several steps: each begins with a partial line
    items: int = 8
    columns: int = 256                  # columns of a work-item: 16 KiB of registers' lines
    sides: int = 4                      # minimum width of a tile in its sides, if work-items are too few
    strips: int = 8                     # minimum number of tiles in a part of the rows
    # maximum number of places of a line at which matrices of a batch may begin: each has its own functions of a tile in
    # the text
    starts: int = 16
    tiles: Mapping[int, SquareTile] = field(default_factory=lambda: {       # by bytes of an element
        1: SquareTile(side=64, load_bytes=64, tiles_down=1), 2: SquareTile(side=32, load_bytes=64, tiles_down=1),
        4: SquareTile(side=16, load_bytes=32, tiles_down=2), 8: SquareTile(side=8, load_bytes=64, tiles_down=1)})


@dataclass(frozen=True)
class ReductionCpuNumbers:
    """Numbers of reductions on a CPU."""

    # places in memory that a work-item reads in turn: their page translations overlap (one place: 0.90 to 0.94 instead
    # of 0.89 to 0.98)
    streams: int = 4
    # maximum bytes of rows that use half the streams: frequent folds leave too few slots for prefetched lines
    short_row: int = 1024
    prefetch: int = 2048                # prefetch distance in bytes
    column_prefetch: int = 8 << 10      # prefetch distance in bytes down columns
    row_vectors: int = 4                # maximum number of vectors of a row in a step
    # minimum number of blocks of rows for each stream of each core for streams
    stream_blocks: int = 4
    flat_parts: int = 4  # minimum number of parts of an input before long rows that are not read in streams are divided
    # steps of a lane: a sum of n numbers in groups of sqrt(n) has the fewest consecutive roundings
    turn_steps: int = 64
    prefetch_burst: int = 4             # lines prefetched together
    column_registers: int = 16          # accumulators of a block of columns that are in registers (24: no faster)
    # maximum bytes of the accumulators of a block of columns: those that do not fit in registers are in L1, so that
    # rows are read whole. Blocks are a page wide at least, and wider if that leaves enough work-items (rows of 4 KiB:
    # 1.2 times as long; of 1 KiB, a quarter of each page in turn: 1.7 times)
    column_bytes: int = 16 << 10
    column_rows: int = 8                # rows folded into one of these before the next (one: 1.3 to 1.6 times as long)
    # minimum number of work-items for each core for rows not to be divided into parts (16, with four times the parts to
    # combine: 1.02 to 1.09 times as long)
    column_items: int = 4
    # maximum number of accumulators of vectors that run over rows of few columns until one begins at lane 0 again
    column_period: int = 25
    stream_vectors: int = 64            # chosen: minimum number of vectors of a row that is read in streams
    # chosen: minimum number of vectors per accumulator for vectors to run over rows of few columns
    period_vectors: int = 64
    part_rows: int = 16                 # chosen: minimum number of rows in a part of columns
    part_steps: int = 4                 # chosen: minimum number of steps in a part of a row
    fold_vectors: int = 64              # chosen: minimum number of vectors of results whose parts are folded in vectors


@dataclass(frozen=True)
class ScanCpuNumbers:
    """Numbers of scans on a CPU."""

    bytes: int = 8 << 10                # bytes of a block of columns that are carried down the rows
    least_bytes: int = 512              # minimum bytes of such a block that is halved for more work-items


@dataclass(frozen=True)
class RowsCpuNumbers:
    """Numbers of rows that pass through several stages."""

    turn_steps: int = 8                 # as those of reductions, for these rows, which are shorter
    held_bytes: int = 512 << 10         # bytes of a row that stay in L2 from one stage to the next
    # maximum bytes of 16 rows that pass through the stages together: they should stay in L1
    block: int = 32 << 10
    # maximum bytes of a work-item's values that stages keep for later ones: they are on its stack
    kept_bytes: int = 256 << 10
    # minimum of instructions, for a register of a stage that writes no rows, for each line that it prefetches
    prefetch_cost: int = 6


@dataclass(frozen=True)
class PadCpuNumbers:
    row: int = 4 << 10                  # minimum bytes of a row, if several dimensions are merged


@dataclass(frozen=True)
class ScatterNumbers:
    """Numbers of scatters on CPUs and GPUs; a number of the other class is 0."""

    window_items: int = 0               # work-items for each core that share the windows of a scatter
    # the same if each goes through all indices (262144 elements of s32: two work-items 1.0 ns an element, four 1.2; one
    # 1.25)
    indexed_items: int = 0
    # rows whose owner is found together, before those of a work-item are combined (256, 1024: the same)
    picked_rows: int = 0
    shared_updates: int = 4096          # minimum number of updates for a CPU's work-items to share the result
    # minimum number of neighbours that one of these takes
    shared_neighbours: int = 128
    # prefetch distance in updates that are combined in order with a result larger than the cache
    prefetch: int = 0
    threads: int = 128                  # threads of a block
    runs: int = 0                       # minimum number of runs of sorted rows for each unit of a GPU
    unit_threads: int = 0               # threads that fill a unit of a GPU


@dataclass(frozen=True)
class FftNumbers:
    """Numbers of rows of a Fourier transform on CPUs; `_GPU` has those of GPUs."""

    own_bytes: int = 32 << 10           # maximum bytes of buffers that are arrays of a work-item: the size of L1
    own_length: int = 0                 # maximum length of a row that is never divided between two kernels
    items: int = 32                     # maximum number of work-items
    threads: int = 1                    # threads of a block
    scratch_bytes: int = 0              # maximum bytes of the buffers of all work-items together; 0: no limit
    short_row: int = 128                # chosen: elements of a row below which rows are transformed beside each other
    # the same if neighbours in memory are in different rows
    short_column: int = 2048
    # maximum bytes of a table of all roots between n1 and n2; larger ones are products of two tables
    turn_bytes: int = 16 << 10
    fold_bytes: int = 32 << 10          # maximum bytes of the table of roots by which half a spectrum is folded
    # maximum bytes of the table of a convolution's kernel; a larger one is computed at run time
    kernel_bytes: int = 64 << 10


@dataclass(frozen=True)
class FftGpuNumbers:
    """Numbers of Fourier transforms by blocks of threads of a GPU. They are chosen, not measured."""

    threads: int = 512                  # maximum number of threads of a block
    elements: int = 8                   # complex numbers of a thread, if the block has fewer threads than the maximum
    block_elements: int = 1024          # complex numbers of the rows of a block, if a row has fewer
    rows_bytes: int = 32 << 10          # maximum bytes of shared memory that several rows take
    sector: int = 32                    # minimum bytes that neighbouring threads should access together


@dataclass(frozen=True)
class MatricesNumbers:
    """Numbers of factorisations and solutions with a work-item for each matrix. They are chosen, not measured."""

    own_elements: int = 256  # maximum number of elements of a matrix that is worked on in an array of the work-item
    unrolled: int = 8                   # maximum number of rows of a matrix whose loops are unrolled
    item_steps: int = 20000             # multiplications of a work-item on a CPU, if there are enough matrices
    block_bytes: int = 32 << 10         # bytes of the right sides that a CPU solves for at once, on the stack
    threads: int = 64                   # threads of a block of a GPU whose threads have a matrix each
    # minimum number of rows of a matrix that has a block of a GPU: in any batch, and in a batch with at most as many
    # matrices as units
    block_rows: int = 16
    few_block_rows: int = 5
    block_threads: int = 256            # maximum number of threads of such a block
    block_thread_elements: int = 4      # elements of such a thread, if the block has fewer threads than the maximum


@dataclass(frozen=True)
class BlockNumbers:
    """Numbers of a program's loops and branches that one block of a GPU runs. They are chosen, not measured."""

    threads: int = 256                  # maximum number of threads of the block
    groups: int = 8  # maximum number of groups of each kernel in the loop that the block runs in turn


@dataclass(frozen=True)
class LoopGpuNumbers:
    """Numbers of walks over memory on a GPU."""

    threads: int = 128                  # threads of a block
    unit_threads: int = 512             # minimum number of threads for each unit before a thread gets several elements


@dataclass(frozen=True)
class ReductionGpuNumbers:
    """Numbers of reductions on a GPU."""

    unit_threads: int = 1024            # minimum number of threads for each unit before more threads share a result
    threads: int = 256                  # threads of a block
    least_threads: int = 64             # threads of a block if shared memory does not suffice for more
    column_threads: int = 32            # threads that read neighbouring columns of the input
    sector: int = 32                    # minimum bytes that neighbouring threads should read together
    values: int = 32                    # accumulators of a thread
    # minimum bytes of an input for each thread before more threads share a result
    thread_bytes: int = 16
    loading_bytes: int = 64             # bytes of an input that a thread loads at once
    thread_steps: int = 4               # minimum number of steps of a thread before more threads share a result
    thread_results: int = 4             # partial results of a thread that has one result
    unit_blocks: int = 2                # blocks for each unit below which the input is cut into parts
    part_blocks: int = 4                # blocks for each unit that the parts then make
    part_loads: int = 4                 # minimum number of loads of a thread before its input is cut into parts


@dataclass(frozen=True)
class RowsGpuNumbers:
    """Numbers of rows that pass through several stages on a GPU."""

    threads: int = 1024                 # maximum number of threads of a block that shares one row
    # registers of a thread that hold its part of a row; twice as many if threads are too few
    registers: int = 16
    few_rows: int = 4                   # units for each row above which rows are too few for stages in one block


@dataclass(frozen=True)
class TransposeGpuNumbers:
    """Numbers of transposes on a GPU."""

    threads: int = 256                  # threads of a block
    # elements of a side of a shared-memory tile; half of it if memory or the array is small. A row of the tile is read
    # by 32 threads, a line of four-byte elements, even if waves have 64 threads
    tile_side: int = 32
    tile_threads: int = 32              # a block's threads are a multiple of it
    run_lines: int = 8  # minimum number of tiles along a digit for a mostly empty last tile to be accepted
    # 32 banks of 4 bytes: CUDA C++ Programming Guide, compute capability 5 and later
    banks: int = 32                     # banks of shared memory
    bank: int = 4                       # bytes of a bank's word


@dataclass(frozen=True)
class SmallProductsCpuNumbers:
    """Numbers of products of small matrices as code without loops. least_bytes: minimum bytes of a vector that holds a
    row. elements: maximum number of elements of a work-item's results, if there is more than a vector of matrices.
    unrolled: maximum of rows times steps without a loop over the steps."""

    least_bytes: int = 16
    elements: int = 4096
    unrolled: int = 256


@dataclass(frozen=True)
class Device:
    """A class of devices, with the numbers that several heroes read, then those of each. A number without a unit counts
    the things in its name; 0 means that it does not apply."""

    name: str
    language: str               # language of the kernels
    cpu: bool
    units: int                  # cores or multiprocessors
    warp: int                   # threads that run in step
    line: int                   # bytes that one store should fill; on a GPU the widest access of a thread
    cache: int = 0              # bytes of the last-level cache; stores to larger arrays bypass it
    lanes: int = LANES          # elements of a CPU's vectors; 1: the language has no vectors
    group: int = 1              # work-items of a work-group on a CPU
    page: int = 4096            # bytes; rows that are a page apart are prefetched separately
    most_bytes: int = 0         # chosen: maximum bytes of a program's scratch and stack; 0: no limit

    # CPUs
    unit_items: int = 0         # minimum number of work-items for each core before a work-item gets several steps
    least_groups: int = 0       # minimum number of groups before work-items form groups
    # minimum number of work-items for each of a group before those of a tile or of a reduction form groups
    group_items: int = 0
    part_bytes: int = 0         # bytes of input of a work-item, if there is enough

    # GPUs: transactions of 32 bytes, lines of four (CUDA C++ Programming Guide)
    step_bytes: int = 0         # maximum bytes of the widest element's access in a step
    coalesced: int = 0          # bytes that neighbouring threads should read together

    threads: ThreadsNumbers = ThreadsNumbers()
    panels: Optional[Panels] = None
    shared_tiles: Optional[SharedTiles] = None
    block: BlockNumbers = BlockNumbers()
    contraction_cpu: ContractionCpuNumbers = field(default_factory=ContractionCpuNumbers)
    contraction_gpu: ContractionGpuNumbers = field(default_factory=ContractionGpuNumbers)
    fft: FftNumbers = FftNumbers()
    fft_gpu: FftGpuNumbers = FftGpuNumbers()
    loop_cpu: LoopCpuNumbers = LoopCpuNumbers()
    loop_gpu: LoopGpuNumbers = LoopGpuNumbers()
    matrices: MatricesNumbers = MatricesNumbers()
    pad_cpu: PadCpuNumbers = PadCpuNumbers()
    reduction_cpu: ReductionCpuNumbers = ReductionCpuNumbers()
    reduction_gpu: ReductionGpuNumbers = ReductionGpuNumbers()
    rows_cpu: RowsCpuNumbers = RowsCpuNumbers()
    rows_gpu: RowsGpuNumbers = RowsGpuNumbers()
    scan_cpu: ScanCpuNumbers = ScanCpuNumbers()
    scatter: ScatterNumbers = ScatterNumbers()
    small_products_cpu: SmallProductsCpuNumbers = SmallProductsCpuNumbers()
    sort_cpu: SortCpuNumbers = SortCpuNumbers()
    sort_gpu: SortGpuNumbers = SortGpuNumbers()
    table: TableNumbers = TableNumbers()
    transpose_cpu: TransposeCpuNumbers = field(default_factory=TransposeCpuNumbers)
    transpose_gpu: TransposeGpuNumbers = TransposeGpuNumbers()
    transpose_lines: TransposeLinesNumbers = field(default_factory=TransposeLinesNumbers)

    @property
    def plan_class(self) -> PlanClass:
        return PlanClass(self.cpu, self.panels, self.shared_tiles)

    @property
    def wide(self) -> bool:
        """Return true for a CPU whose kernels use vectors."""
        return self.cpu and self.lanes > 1

    def scalar(self) -> "Device":
        """Return this device for a language without vectors."""
        return replace(self, lanes=1)

    def alone(self) -> "Device":
        """Return one of its cores, which gets all work of a small kernel at once."""
        return replace(self, units=1, unit_items=1) if self.cpu else self

    @property
    def is_alone(self) -> bool:
        """Return true if one work-item of a CPU runs the whole kernel."""
        return self.cpu and self.units * self.unit_items == 1


# This is a core with 512-bit vectors. line, page: the processor's.
_CPU = Device("cpu", "c", cpu=True, units=2, warp=1, line=LINE, cache=8 << 20, unit_items=16, least_groups=4,
              group_items=64, part_bytes=256 << 10,
              scatter=ScatterNumbers(window_items=8, indexed_items=1, picked_rows=64, prefetch=32))
_GPU = Device("", "", cpu=False, units=0, warp=32, line=16, step_bytes=32, coalesced=128,
              scatter=ScatterNumbers(runs=4, unit_threads=2048),
              fft=FftNumbers(own_bytes=1 << 10, own_length=64, items=4096, threads=64, scratch_bytes=64 << 20,
                             fold_bytes=64 << 10))
EMBEDDED = "embedded"
DEVICES: Dict[str, Device] = {device.name: device for device in (
    # a work-group costs some 4 ns
    replace(_CPU, name="pocl-cpu", language="opencl", group=16, panels=Panels(groups=("s8", "u8"))),
    replace(_GPU, shared_tiles=SharedTiles(), name="opencl-gpu", language="opencl", units=64),
    replace(_CPU, panels=Panels(groups=("bf16", "s8", "u8"), group_units=tuple(range(16, 1, -1)))),
    replace(_CPU, name="cpu-scalar", lanes=1),
    # This is a small machine: one core, few bytes. Its numbers are chosen.
    replace(_CPU, name=EMBEDDED, lanes=1, units=1, unit_items=1, most_bytes=1 << 20,
            fft=FftNumbers(own_bytes=2 << 10), sort_cpu=SortCpuNumbers(digit=4, long_digit=4, held_bytes=0),
            table=TableNumbers(elements=1 << 62)),
    replace(_GPU, shared_tiles=SharedTiles(), name="sm_80", language="cuda", units=108),            # A100
    replace(_GPU, shared_tiles=SharedTiles(), name="sm_90", language="cuda", units=132),            # H100 SXM
    # This is the same GPU with the instructions that no other device has.
    replace(_GPU, shared_tiles=SharedTiles(), name="sm_90a", language="cuda", units=132,
            contraction_gpu=ContractionGpuNumbers(warpgroup_tiles=(
                GpuTile(128, 256, 2, 64, 64, 1, 4), GpuTile(128, 128, 2, 32, 64, 0.75, 4),
                GpuTile(64, 64, 2, 16, 64, 0.35, 4)))),
    replace(_GPU, shared_tiles=SharedTiles(), name="gfx90a", language="hip", warp=64, units=104,    # a die of an MI250
            # its instructions of 16 bits flush subnormals
            contraction_gpu=ContractionGpuNumbers(wave_types=("f32", "f64", "s8"))),
    replace(_GPU, shared_tiles=SharedTiles(), name="gfx942", language="hip", warp=64, units=304,    # MI300X
            contraction_gpu=ContractionGpuNumbers(wave_types=("f32", "f64", "bf16", "f16", "s8"))),
    replace(_GPU, shared_tiles=SharedTiles(), name="gfx1100", language="hip", units=96),            # RX 7900 XTX
)}
DEFAULT = {"opencl": "pocl-cpu", "cuda": "sm_80", "hip": "gfx90a", "c": "cpu"}


def device_for(target: str, name: Optional[str]) -> Device:
    """Return the class with this name if its language is the target's, else the target's default: with several targets
    a name is meant for one."""
    if name and name in DEVICES and DEVICES[name].language == target:
        return DEVICES[name]
    return DEVICES[DEFAULT[target]]
