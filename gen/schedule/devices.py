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
# A value is kept, not computed again, if that takes more instructions for a register than this. A store and a load
# take two, and the value occupies cache.
KEPT_COST = 12
# instructions for an element that is not read together with its neighbours: clamping its index, the address, the
# load, the insertion into a vector
SCATTERED_COST = 24
SIDES_COST = 2              # instructions that choose between two sides of a pad or a concatenate
STEP_COST = 2               # instructions of a step of a product
DIVISION_COST = 2           # instructions of a quotient or remainder of an index
MOST_DIVISIONS = 4  # maximum number of divisions in an index for a value to be computed at each of several indices
TILED_ELEMENTS = 1 << 16    # minimum number of elements of whole tiles for the rest to have kernels of its own
# minimum number of elements of an operand for which a second kernel for outer dimensions is faster
WINDOW_ELEMENTS = 1 << 16
# minimum stride of windows along the contiguous dimension for which that kernel is faster (32x32 blocks of
# f32[1024,1024] in one thread: 0.62 ms, without it 2.1 ms)
WINDOW_STRIDE = 5
WINDOW_OVERLAP = 32         # minimum number of elements of overlapping windows for that kernel to be faster
# maximum distance in memory between neighbours of a register for them to be picked from whole vectors (f32 slices are
# then 1.1 to 1.8 times as fast, u8 slices 1.3 to 15 times)
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


# minimum number of input features with which the products of one element of a convolution's window are a long enough
# sum for a tile
SHORT_SUM = 32
# minimum number of other rows of a convolution's result for which the places of its window do not become rows of a
# tile too
FEW_ROWS = 16


class Panels(NamedTuple):
    """The thresholds for arranging a product for register tiles, and for copying its operand to panels first
    (gen/plan/products.py).

    An operand is read "in place" if it is not copied to panels. MxNxK stands for the product with M rows, N columns
    and K steps.

    least_steps: minimum number of multiplications of a product.
    filled_steps: minimum number of multiplications of a product whose operand is padded with zeros.
    vector_steps: minimum number of multiplications of a product by a vector. 16x16 takes 0.03 us, as a loop 0.18 us.
        8x8 takes as long as a loop, or 4 times as long.
    in_place_bytes: maximum bytes of the operand's matrix that is read in place.
    many_rows: minimum number of rows of the other operand for which such a matrix is copied too. f32 6272x64x256
        takes 1.05 ms copied, 1.15 ms in place.
    in_place_rows: maximum number of pixels of a convolution's result for which a larger matrix is read in place. A
        3x3 convolution of 98 pixels, 512 to 512 features, takes 3.9 ms in one thread, in panels 4.3 ms.
    dot_rows: maximum number of rows of a dot for which a larger matrix is read in place. Its work-items may still
        copy columns to panels of their own. In one thread, f32 64x3072x768 takes 2.2 ms, in panels 3.7 ms. 384 rows
        take 13.0 ms, in panels 13.3 ms; 512 rows take 18.0 ms, in panels 17.3 ms.
    in_place_columns: number of the result's columns below which the other operand is read in place, even if
        neighbours along the sum are more than near_bytes apart. f32 A^T B of 2048x2048 takes 189 ms in place, 121 ms
        copied. 64x256x6272 takes 0.68 ms in place, 0.73 ms copied.
    few_rows: maximum number of rows of a product that reads a matrix in place whose neighbours are along the sum.
        Times of f32 by 4096x4096 in one thread, in place and in panels: 8 rows 4.1 and 13.5 ms, 16 rows 7.8 and 15.6
        ms, 32 rows 18.3 and 25.4 ms, 64 rows 35.8 and 36.2 ms.
    few_narrow_rows: maximum number of rows of a product that reads a matrix of narrow numbers in place, along any
        dimension. Times of bf16 by 4096x4096 in two threads, in place and in panels: 8 rows 1.8 and 5.6 ms, 17 rows
        9.0 and 6.8 ms; 16 rows in place 3.6 ms.
    units: widths of a panel, in units that divide the columns, the best first. f32 1024x1024 is copied in 0.31 ms, to
        panels of one unit in 0.5 ms.
    long_sum: minimum number of products in a sum that is divided into parts.
    sum_parts: maximum number of parts of a sum.
    parts_bytes: maximum bytes of the parts' results.
    part_steps: minimum number of steps in a part of a shorter sum. Such a sum is divided if there are at most
        few_results results and at least many_products multiplications. In two threads, f32 24x144x6272 takes 0.19 ms,
        in one part 0.35 ms; 64x256x6272 takes 0.72 ms, in one part 1.1 ms.
    turned_result: minimum ratio of the operands' elements to the result's for a product that is computed transposed,
        so that more of its units are whole. f32 144x24x6272 takes 0.16 ms, not transposed 0.20 ms.
    whole_units: minimum ratio of the units of the result to the units of the transposed result for such a product.
    images_bytes: minimum bytes of the operands of a convolution that sums over images, for it to be divided into
        parts of these images.
    images_share: minimum ratio of the operands' bytes to those of the parts' results. Gradient of 3x3 weights of two
        images of 56x56 in one thread: 64 to 64 features take 3.6 ms, in two parts 3.0 ms. 128 to 128 features with
        stride 2, whose ratio is 3.4, are not faster in parts.
    longer_features: maximum number of features in place, for each pixel of a row, of a convolution that becomes a
        product whose rows are pixels. Times by rows of pixels and by rows of features, in one thread: 512 to 2048
        features of 49 pixels 2.49 and 1.85 ms; 960 to 160 features 0.23 and 0.24 ms. In two threads: 512 to 1024
        features of two images of 196 pixels, every second pixel of a row, 1.19 and 1.55 ms.
    complex_least: minimum number of rows, of columns and of steps with which a product of complex numbers becomes a
        product of real numbers whose operands are copied. Times of c64 in two threads, so and otherwise: 512x512x512
        7.7 and 271 ms, 8x1000x1000 5.4 and 10.1 ms, 4x1000x1000 7.6 and 5.8 ms. A smaller product reads the larger
        operand in place (4x1000x1000: 0.29 ms, as loops 3.7 ms), unless it has fewer multiplications than least_steps
        (10000 products of 3x3: 1.5 ms, as loops 0.25 ms).
    small_rows: maximum number of rows of a small matrix whose product is code without loops.
    small_steps: maximum of rows times steps of such a product. Times of f32 in two threads, so and as loops: 3000
        products of 8x8 0.035 and 0.21 ms, 2000 of 12x12 0.036 and 1.4 ms, 2000 of 24 rows, 24 steps and 12 columns
        0.20 and 5.1 ms.
    least_small_steps: minimum number of multiplications of such a product. 3000 products of 2x2 take 0.0045 ms, as
        loops 0.0027 ms; one product of 6x6 takes 10 ns, as loops 200 ns.
    groups: types of numbers that tiles multiply in groups. 256x256x256 in OpenCL, by a PoCL that compiles for
        AVX-512BW: s8 takes 0.27 ms, as s32 0.59 ms; bf16 takes 0.54 ms, as f32 0.26 ms.
    group_units: widths of a panel of groups, as in `units`.
    turned_share: minimum ratio of the larger operand's rows to the other operand's rows for a product that is
        computed transposed: its larger operand is read in place, and has its neighbours along the sum. Times of bf16
        by 4096x4096 in one thread, so and otherwise: 8 rows 1.5 and 3.15 ms, 64 rows 3.1 and 7.2 ms, 256 rows 10.6
        and 15.9 ms.
    turned_rows: minimum number of the other operand's rows of bf16 for such a product. Times without matrix
        instructions, so and otherwise: 8 rows 6.4 and 2.9 ms, 32 rows 11.8 and 17.6 ms; 8 rows of s8 1.8 and 9.8 ms.
    strip_rows: maximum number of rows of a product in a strip (gen/plan/strips.py); 0: no strips. Times of attention
        of 8 heads, 512 queries and keys, 64 elements, by rows of a strip: 8 rows 4.80 ms, 16 rows 4.28 ms, 32 rows
        4.27 ms, 64 rows 4.22 ms; without strips 5.63 ms. In OpenCL, 64 rows take 5.3 ms; without strips 7.7 ms.
    least_strip_rows: minimum number of rows of a product in a strip.
    strip_bytes: maximum bytes of a strip, so that it stays in L2.
    strip_operand_bytes: maximum bytes of the operand that a strip's rows share, so that it stays in L2.
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

    # tiles by bytes of a sum. Throughput of f32 4096x4096x4096 is 41.8 TFLOP/s; with 16 steps at once 37.0; with
    # tiles of 64x64 and 8x4 sums for each thread 39.2, 4x4 sums 31.7; with tiles of 32x32 26.7. f64 with tiles of
    # 64x64 reaches 19.8 TFLOP/s with 8x4 sums for each thread, 15.9 with 4x4 sums.
    tiles: Mapping[int, Tuple[GpuTile, ...]] = field(default_factory=lambda: {
        4: (GpuTile(128, 128, 8, 8, 8, 1), GpuTile(64, 64, 8, 4, 16, 0.9), GpuTile(32, 32, 4, 4, 16, 0.6),
            GpuTile(16, 128, 4, 4, 16, 0.5)),
        8: (GpuTile(64, 64, 8, 4, 8, 1), GpuTile(32, 32, 4, 4, 8, 0.7), GpuTile(16, 64, 4, 4, 8, 0.7))})
    # tiles for matrix instructions, by bytes of an element; a warp has 8 threads down and 4 across. Throughput of
    # bf16 4096x4096x4096 is 381 TFLOP/s; with twice the warps 297; with tiles of 128x64 257, of 64x64 199, of 256x64
    # in two stages 289. Tiles of f64, and of few rows or columns, are not timed. The latter take the time of reading
    # the other operand.
    matrix_tiles: Mapping[int, Tuple[GpuTile, ...]] = field(default_factory=lambda: {
        size: (*large, GpuTile(16, 128, 2, 8, 64 // size, 0.25, 5), GpuTile(128, 16, 4, 4, 64 // size, 0.25, 5))
        for size, large in (
            (1, (GpuTile(128, 128, 8, 16, 64, 1, 3), GpuTile(64, 64, 4, 8, 64, 0.55, 4))),
            (2, (GpuTile(128, 128, 8, 16, 32, 1, 3), GpuTile(64, 64, 4, 8, 32, 0.55, 4))),
            (8, (GpuTile(128, 128, 8, 8, 8, 1, 3), GpuTile(64, 64, 4, 8, 8, 0.8, 4))))})
    # tiles for wgmma, on devices that have it; a thread has two rows. They are not timed.
    warpgroup_tiles: Tuple[GpuTile, ...] = ()
    warpgroup_sum_cost: int = 1000  # sum_cost for wgmma
    # tiles for MFMA, by bytes of an element: 4 wavefronts, each of whose threads has 4 rows of an instruction. They
    # are not timed.
    # wave_types: the element types that the device multiplies by MFMA without flushing subnormals.
    wave_tiles: Mapping[int, Tuple[GpuTile, ...]] = field(default_factory=lambda: {
        size: (GpuTile(128, 128, 16, 4, 64 // size, 1), GpuTile(64, 64, 8, 2, 64 // size, 0.6),
               GpuTile(32, 32, 4, 1, 64 // size, 0.3)) for size in (1, 2, 4, 8)})
    wave_types: Tuple[str, ...] = ()
    padding: int = 4            # elements of padding between the steps of a tile, so that no banks conflict
    run_bytes: int = 32         # bytes that neighbouring threads read of one line, along the steps
    part_steps: int = 128       # minimum number of steps in a part, if the sum is cut into parts
    most_parts: int = 32
    sum_threads: int = 128      # threads of a block that adds up the parts
    # multiplications that a unit does while an element of a part is written and read again (f32 on H100: a unit does
    # 128 multiplications, and moves 25 bytes of memory, at a time)
    sum_cost: int = 40
    # sum_cost for matrix instructions, by bytes of an element
    matrix_sum_cost: Mapping[int, int] = field(default_factory=lambda: {1: 600, 2: 600, 8: 80})


@dataclass(frozen=True)
class ContractionCpuNumbers:
    """Numbers of products in register tiles of rows by units; a unit is 64 bytes of a row. An accumulator is a vector;
    8 or more hide the latency of a multiply-add."""

    # rows and units of a tile, by the macro of an instruction set ("": all other instruction sets) and by the units
    # of a block of columns
    tiles: Mapping[str, Mapping[int, Tuple[int, int]]] = field(default_factory=lambda: {
        "__AVX512F__": {1: (16, 1), 2: (12, 2), 3: (8, 3), 4: (6, 4), 5: (5, 5), 6: (3, 6), 7: (3, 7), 8: (2, 8)},
        "__AVX__": {n: (6, 1) for n in range(1, 9)},
        "__aarch64__": {n: (6, 1) for n in range(1, 9)},
        "": {n: (2, 1) for n in range(1, 9)}})
    # units of a block of columns, by the number of rows of a product that has few rows
    # `units`: for all other products
    few_rows: Mapping[int, int] = field(default_factory=lambda: {1: 8, 2: 8, 3: 6, 4: 5, 5: 5, 6: 4, 7: 3, 8: 3})
    units: int = 4
    # A block has whole rows of the result if a row has at most this many units. (256 products of 64x64x64 take 1.2 ms
    # with one block for a row, and 1.5 ms with two.)
    whole_units: int = 4
    # A product of few rows reads the other operand in place, at the throughput of memory. A block goes through
    # `skinny_chunk` steps of up to `skinny_units` units each, then through the next units, which were prefetched.
    # This holds for the numbers of rows in few_rows, and for those in `skinny` if the other operand is large.
    # skinny: units of a tile, by rows, so that units are read once or twice. Times of f32 by 4096x4096 in one thread:
    #     9 rows 5.8 ms, with 3 units 7.0, as other products 19.8; 16 rows 8.0 ms, with 2 units 10.5, as other
    #     products 25. Times in two threads with 2 units, with 3 units, and with panels: 17 rows 2.5, 2.8 and 5.1 ms;
    #     24 rows 3.1, 3.3 and 5.2; 32 rows 4.4, 4.3 and 5.9; 48 rows 5.5, 5.7 and 7.3; 64 rows 8.6, 7.5 and 8.8; f32
    #     17x3072x768 0.35, 0.41 and 0.60.
    # skinny_places: maximum number of rows of a convolution, or of several lines, for which this holds.
    # skinny_blocks: maximum number of blocks of a row, which threads share.
    # skinny_units, skinny_chunk: chosen by f32 8x4096x4096 in two threads with 4 units in a tile: 2.1 ms; 32 units
    #     and 16 steps 2.7 ms; 64 and 8 2.3 ms; 128 and 8 without prefetches 3.1 ms.
    skinny: Mapping[int, int] = field(default_factory=lambda: {
        **dict.fromkeys(range(9, 13), 2), **dict.fromkeys(range(13, 17), 3), **dict.fromkeys(range(17, 49), 2),
        **dict.fromkeys(range(49, 65), 3)})
    skinny_places: int = 16
    skinny_units: int = 64
    skinny_blocks: int = 4
    skinny_chunk: int = 32
    rows: int = 96                      # rows of a work-item: whole tiles of all instruction sets
    # Work-items go along rows, block of columns after block of columns, in two cases: the steps are few, or the
    # operand with the rows is larger than kept_bytes. A block of its rows then stays in L2 (f32 1000x1000x1000 in two
    # threads: 9.0 ms, along columns 10.2 ms).
    # A product of at most few_steps steps takes the time of storing its result. A block of more than one unit then
    # has few_steps_rows rows in two cases.
    # First, if the rows are a page apart, because the stores of a core reach few pages at once. Times with
    # few_steps_rows, with 96 rows, and along columns: 4096x4096x16 2.7, 7.7 and 8.1 ms; 4096x4096x128 15.8, 17.8 and
    # 17.7 ms. 4096x4096x256 is as fast with 96 rows.
    # Second, if an epilogue stores them, because its stores then overlap with the products of the next block
    # (1024x1024x64, bias and maximum: 0.55 ms, with 96 rows 0.73 ms, without epilogue 0.48 ms).
    few_steps: int = 128
    few_steps_rows: int = 24
    kept_bytes: int = 1 << 20
    # Numbers of a work-item that copies columns to a panel. Times are of f32 by 4096x4096 unless another size is
    # named.
    # packed_rows: rows of the work-item.
    # packed_units: units of its block, if nearly all blocks then have that number of units. Times in two threads: 17
    #     rows 4.5 ms, 32 rows 6.0 ms, 64 rows 10.8 ms; with 3 units and 256 steps 4.8, 6.8 and 11.3 ms.
    # packed_tile: units of a tile; also the units of a block if packed_units do not divide the columns well.
    # packed_chunk: steps of a panel of packed_units.
    # packed_least_rows: number of rows up to which panels are slower. f32 16x3072x768 takes 0.85 ms without panels,
    #     0.90 ms with panels; 32 rows take 1.48 and 1.37 ms.
    # packed_ahead: prefetch distance in steps. 64 rows in one thread take 22.5 ms; without prefetches 25.6 ms.
    packed_rows: int = 192
    packed_units: int = 6
    packed_tile: int = 3
    packed_chunk: int = 128
    packed_least_rows: int = 16
    # number of rows up to which panels are slower if a sum is one chunk (f32 24x6272x144 in two threads: 0.13 ms,
    # with panels 0.16 ms)
    packed_short_rows: int = 32
    packed_least_steps: int = 32  # minimum number of steps for panels (f32 144x6272x24: 0.11 ms, with panels 0.14)
    packed_ahead: int = 16
    # Blocks are whole rows if a row has at most row_units units and at least row_items products share the work.
    # Memory is then read in its order (f32 24x144x6272 in 8 parts in two threads: 0.18 ms, with blocks of 3 units
    # 0.19 ms). Such rows stay in place, without a panel, unless many steps of a column fall into one set of L1: more
    # than row_sets of as many consecutive steps as L1 has sets (0.15 ms, with panels 0.18 ms).
    row_units: int = 16
    row_items: int = 4
    row_sets: int = 4
    # minimum number of work-items of a depthwise convolution for each to have whole rows (3x3, 2x56x56 pixels of 144
    # features in two threads: 0.16 ms, with blocks of 3 units 0.19 ms)
    wide_items: int = 32
    chunk: int = 256                    # products that are summed one after another, before the sum is added to a total
    # Numbers for matrix instructions.
    # matrix_chunk: steps of a chunk.
    # matrix_block: rows and units of a block whose operand in units has at most matrix_chunk steps for the block's
    #     units, so that it stays in L2 while blocks of rows pass. bf16 1024x1024x1024 in one thread takes 2.0 ms;
    #     blocks of 8 units 2.25 ms, of 4 units 2.45 ms.
    # long_matrix_block: rows and units of a block for longer sums whose totals are in the result. 512x4096x4096 takes
    #     20.8 ms; blocks of 192 rows 22.4 ms, of 96 rows and 8 units 27.0 ms.
    # long_matrix_array: rows and units of a block for longer sums whose totals are in an array.
    matrix_chunk: int = 512
    matrix_items: int = 16              # chosen: minimum number of work-items before one has more than `rows` rows
    matrix_block: Tuple[int, int] = (32, 16)
    long_matrix_block: Tuple[int, int] = (384, 16)
    long_matrix_array: Tuple[int, int] = (96, 8)
    # far_chunk: steps of a chunk if tiles prefetch the next chunk. Times of 3x3 convolutions in one thread, without
    #     and with prefetches: 98 pixels, 512 to 512 features, 4.4 and 3.9 ms; 392 pixels, 256 to 256 features, 4.1
    #     and 3.6 ms.
    # far_rows: maximum number of rows for which tiles prefetch an operand of up to kept_bytes. The gradient of 3x3
    #     weights of 14x14 pixels, 256 to 256 features, takes 1.22 ms in two threads, with prefetches 1.30 ms.
    # far_steps: maximum number of steps, a power of two, for one prefetch, because the tiles of a block share the
    #     lines of the next chunk. Times in two threads without prefetches, with a line per step of each tile, and
    #     shared: f32 1024x1024x1024 6.3, 6.1 and 5.3 ms. With a line per step and shared: f32 64x64x65536 1.79 and
    #     1.28 ms. f64 1024x1024x1024 takes 12.4 ms, shared 11.3 ms. A number of steps that is no power of two is
    #     slow: with three steps f32 512x512x512 takes 1.14 ms instead of 0.70 ms.
    far_chunk: int = 128
    far_rows: int = 512
    far_steps: int = 4
    straight: int = 2                   # unrolled steps of other tiles

    def tile_rows(self, units: int) -> int:
        """Return the rows of a tile of the widest vectors, in a block of `units` units."""
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
    # multiply-adds of a register tile in the time of a vector instruction (f64 64x64x64 in one thread: 5.8 us)
    tile_rate: float = 6
    # tile_rate for matrix instructions, by their macros (bf16 256x256x256 in one thread: 25 us; s8: 14 us)
    matrix_rates: Mapping[str, float] = field(default_factory=lambda: {"TILES_BF16": 40, "TILES_INT8": 64})


@dataclass(frozen=True)
class LoopCpuNumbers:
    """Numbers of walks over memory on a CPU."""

    chunks: int = 64                    # maximum number of steps of a work-item
    scalar_chunks: int = 4096           # maximum number of steps of a work-item if a step is one element
    few_elements: int = 1024  # chosen: maximum number of elements that may be walked in vectors of fewer lanes
    least_lanes: int = 4                # chosen: minimum lanes of such vectors
    # chosen: minimum speedup of a walk in fewer lanes over a walk in whole vectors. The latter's loads wait for
    # earlier stores of fewer lanes.
    least_gain: int = 2
    scalar_group: int = 64              # work-items of a group if a step is one element
    scalar_elements: int = 4096         # minimum number of elements with which such work-items form groups
    cut_row_steps: int = 8              # minimum number of steps in a row for each row to end in a partial step
    streams: int = 4                    # equal parts of the memory that a work-item goes through in turn
    pair_streams: int = 2               # `streams` if 16-bit elements are computed in pairs of registers
    burst: int = 8                      # steps whose lines are prefetched together
    prefetch: int = 4096                # prefetch distance in bytes, to L2
    pair_prefetch: int = 1024           # prefetch distance to L1, for pairs of registers of 16-bit elements
    row_order_prefetch: int = 2048      # prefetch distance to L2, if fused steps read whole rows
    interleaved_elements: int = 2048    # elements of a work-item if registers interleave rows
    # bytes of a row that are moved together before those of the next row (this gains 0.03 to 0.05 of the throughput
    # of a copy)
    row_bytes: int = 512
    # prefetch distance in bytes, in the order of interleaved rows; blocks of rows larger than twice this distance are
    # left to the hardware prefetchers
    order_prefetch: int = 32 << 10
    # bytes of rows that are gathered in L1 before they are stored (1 KiB, 4 KiB: within the noise)
    staged_bytes: int = 2048
    gathered_bytes: int = 1024          # maximum bytes of a step whose address one index gives
    # prefetch distance in bytes of rows that indices select. Throughput relative to the copy, in C on Intel, for rows
    # of 512 bytes, 1 KiB and 2 KiB: 0.87, 0.88 and 0.80; with 8 KiB 0.66, 0.67 and 0.67.
    gathered_prefetch: int = 32 << 10
    # loops of elements: the maximum number of 64-byte vectors that run together, then the maximum number of registers
    # of all their variables
    loop_rows: int = 4
    loop_registers: int = 24
    # maximum number of steps with which single elements run one after another, because compilers then unroll the
    # steps (5 steps of 11 elements: 8 ns instead of 27 ns; an unknown number of steps, here 4, of 5 elements: 13 ns
    # instead of 4 ns)
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

    # instructions for 16 elements above which a table is faster: with a table, a logarithm (30 instructions) takes
    # 0.86 of the time in C and 1.03 on PoCL, six products and sums (36 instructions) 0.43
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
    # minimum number of bytes read and written with which stores bypass the caches even if another kernel reads them
    # (a copy of 9 MB of weights and the convolution that reads the copy: 1.73 ms in two threads; with streamed stores
    # 2.16 ms)
    kept_bytes: int = 64 << 20


@dataclass(frozen=True)
class TransposeLinesNumbers:
    """Numbers of a CPU's transposes that carry parts of lines in registers."""

    # minimum number of work-items for each core before a work-item takes several steps: each work-item begins with a
    # partial line
    items: int = 8
    columns: int = 256                  # columns of a work-item: 16 KiB of registers' lines
    sides: int = 4                      # minimum width of a tile in its sides, if work-items are too few
    strips: int = 8                     # minimum number of tiles in a part of the rows
    # maximum number of places in a line at which the matrices of a batch may begin, because each place has its own
    # tile functions in the text
    starts: int = 16
    tiles: Mapping[int, SquareTile] = field(default_factory=lambda: {       # by bytes of an element
        1: SquareTile(side=64, load_bytes=64, tiles_down=1), 2: SquareTile(side=32, load_bytes=64, tiles_down=1),
        4: SquareTile(side=16, load_bytes=32, tiles_down=2), 8: SquareTile(side=8, load_bytes=64, tiles_down=1)})


@dataclass(frozen=True)
class ReductionCpuNumbers:
    """Numbers of reductions on a CPU."""

    # places in memory that a work-item reads in turn, so that their page translations overlap (throughput relative to
    # the copy: 0.89 to 0.98; one place 0.90 to 0.94)
    streams: int = 4
    # maximum bytes of rows that use half the streams, because frequent folds leave too few slots for prefetched lines
    short_row: int = 1024
    prefetch: int = 2048                # prefetch distance in bytes
    column_prefetch: int = 8 << 10      # prefetch distance in bytes down columns
    row_vectors: int = 4                # maximum number of vectors of a row in a step
    # minimum number of blocks of rows, for each stream of each core, with which rows are read in streams
    stream_blocks: int = 4
    # minimum number of parts of an input with which long rows are divided that are not read in streams
    flat_parts: int = 4
    # steps of a lane: a sum of n numbers in groups of sqrt(n) has the fewest consecutive roundings
    turn_steps: int = 64
    prefetch_burst: int = 4             # lines prefetched together
    column_registers: int = 16          # accumulators of a block of columns that are in registers (24: no faster)
    # maximum bytes of the accumulators of a block of columns. Accumulators that do not fit in registers are in L1, so
    # that rows are read whole. Blocks are at least a page wide, and wider if that leaves enough work-items (narrower
    # blocks: rows of 4 KiB take 1.2 times as long; rows of 1 KiB, a quarter of each page in turn, 1.7 times)
    column_bytes: int = 16 << 10
    # rows folded into one group of registers before the next group (one row: 1.3 to 1.6 times as long)
    column_rows: int = 8
    # minimum number of work-items for each core with which rows are not divided into parts (16, with four times the
    # parts to combine: 1.02 to 1.09 times as long)
    column_items: int = 4
    # maximum number of accumulators after which a vector begins at lane 0 of a row again, if vectors run over several
    # rows of few columns
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

    turn_steps: int = 8                 # turn_steps of reductions, for these shorter rows
    held_bytes: int = 512 << 10         # bytes of a row that stay in L2 from one stage to the next
    # maximum bytes of 16 rows that pass through the stages together, so that they stay in L1
    block: int = 32 << 10
    # maximum bytes of a work-item's values that stages keep for later stages, because these values are on its stack
    kept_bytes: int = 256 << 10
    # minimum number of instructions, for a register of a stage that writes no rows, for each line that the stage
    # prefetches
    prefetch_cost: int = 6


@dataclass(frozen=True)
class PadCpuNumbers:
    row: int = 4 << 10                  # minimum bytes of a row, if several dimensions are merged


@dataclass(frozen=True)
class ScatterNumbers:
    """Numbers of scatters on CPUs and GPUs; a number of the other class is 0."""

    window_items: int = 0               # work-items for each core that share the windows of a scatter
    # the same if each work-item goes through all indices (262144 elements of s32: two work-items take 1.0 ns for an
    # element, four 1.2 ns, one 1.25 ns)
    indexed_items: int = 0
    # rows whose owners are found together, before the rows of a work-item are combined (256 and 1024 rows are as
    # fast)
    picked_rows: int = 0
    shared_updates: int = 4096          # minimum number of updates for a CPU's work-items to share the result
    # minimum number of neighbours that each of these work-items takes
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
    block_bytes: int = 32 << 10         # bytes of the right-hand sides that a CPU solves for at once, on the stack
    threads: int = 64                   # threads of a block of a GPU whose threads have a matrix each
    # minimum number of rows of a matrix that has a block of a GPU: in any batch, then in a batch with at most one
    # matrix for each unit
    block_rows: int = 16
    few_block_rows: int = 5
    block_threads: int = 256            # maximum number of threads of such a block
    block_thread_elements: int = 4      # elements of a thread, if the block has fewer threads than the maximum


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
    part_blocks: int = 4                # blocks for each unit after the input is cut
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
    # elements of a side of a shared-memory tile; half of them if memory or the array is small. 32 threads read a row
    # of the tile, which is a line of four-byte elements, even if waves have 64 threads
    tile_side: int = 32
    tile_threads: int = 32              # the number of threads of a block is a multiple of this
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
    least_groups: int = 0       # minimum number of groups with which work-items form groups
    # minimum number of work-items, for each work-item of a group, with which the work-items of a tile or of a
    # reduction form groups
    group_items: int = 0
    part_bytes: int = 0         # bytes of input of a work-item, if the input is large enough

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
