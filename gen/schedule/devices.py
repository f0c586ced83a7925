"""All numbers that depend on a device: one row for each class of devices, and a record of numbers for each hero, named
like the hero's module. Heroes and plans take all such numbers from here.

Numbers of CPUs are measured, unless a comment says they are not. bench/README.md ("What bounds each kernel" and the
sections after it) has the figures of the kernels and of alternatives that were tried, on two cores of an Intel Xeon
with AVX-512 and of an AMD EPYC. Numbers of GPUs are not timed (no GPU was at hand) unless a comment names one. They
follow the hardware's documentation, so most classes of GPUs differ only in their number of multiprocessors.

A "unit" of a device is a core or a multiprocessor. A comment gives the unit of a number if its name does not, and
compares measured times in parentheses.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Dict, Mapping, NamedTuple, Optional, Sequence, Tuple


@dataclass(frozen=True)
class SquareTile:
    """A square of elements that is transposed in registers.

    side: number of elements of its side.
    load_bytes: bytes of one load.
    tiles_down: number of tiles, one below the other, that are transposed together. This number is used only on
        Intel's processors, on which bursts of prefetches are faster than hardware prefetchers. Other processors
        transpose one tile at a time, because two took 1.24 times as long (f32[1023,4097] in C, AMD EPYC).
    """

    side: int
    load_bytes: int
    tiles_down: int


@dataclass(frozen=True)
class TileShape:
    """A register tile: `rows` rows of `registers_down` registers of `lanes` elements.

    load_bytes: bytes of one load.
    streamed: true if the tile is used only for arrays that are larger than the cache; their stores bypass the cache.
    pipelined: true if the tile's loads alternate with the stores of the tile before.
    """

    lanes: int
    rows: int
    registers_down: int
    load_bytes: int
    streamed: bool = False
    pipelined: bool = False


VECTOR_BITS = 512           # bits of a CPU's vectors: a register of AVX-512

# bytes of a part of a vector register; instructions of x86 and ARM interleave elements only within such parts
PIECE = 16
LINE = 64                   # bytes of a CPU's cache line
PIECES = LINE // PIECE
LANES = VECTOR_BITS // 32   # number of 32-bit elements of a CPU's vectors


# The following numbers describe graphs and plans. They are the same for all devices of a class, or for all devices.
# They are estimates, unless a comment has a measurement.

# maximum number of adjacent elements that shuffles spread over registers. Longer sequences are transposed in tiles.
SPREAD_ELEMENTS = 8
SPREAD_ROW = 128            # minimum length, in elements, of the rows over which shuffles spread adjacent elements
STRIDED_COST = 8            # cost of a byte of an access that is not contiguous; a byte of a contiguous access costs 1
LAUNCH_BYTES = 1 << 20      # bytes that could be moved in the time of a kernel's launch

# A value with several uses is stored, and not computed again, if computing one register of it takes at least this
# number of instructions. (A store and a load take two, and the value occupies cache.)
KEPT_COST = 12
# instructions for an element that is read alone: clamping its index, the address, the load, the insertion into a vector
SCATTERED_COST = 24
SIDES_COST = 2              # instructions that choose between the two sides of a pad or a concatenate
STEP_COST = 2               # instructions of one step of the sum of a product
# In a loop over single elements, an op on floats of at least this `Elementwise.cost` is a call of a function of math.h.
# C compilers compute cheaper ops inline, and often vectorise the loop.
CALLED_COST = 20
DIVISION_COST = 2           # instructions of one quotient or remainder in an index

# A value with several uses may be computed again for each use if its index has at most this number of divisions.
MOST_DIVISIONS = 4
# A result in tiles is cut into boxes of whole tiles and boxes of partial tiles (gen/lower/tiled_layouts.py) only if its
# whole tiles have at least this number of elements.
TILED_ELEMENTS = 1 << 16
# Minimum number of elements of the operand of a reduce-window that gen/lower/windows.py may split into two ops. The
# first op combines along the outer dimensions, the second along the contiguous dimension.
WINDOW_ELEMENTS = 1 << 16
# A reduce-window is split if the stride of its windows along the contiguous dimension is at least this number (32x32
# blocks of f32[1024,1024], 1 thread: 0.62 ms split, 2.1 ms not split).
WINDOW_STRIDE = 5
# A reduce-window with a smaller stride is split if a window has at least this number of elements and the split saves at
# least half of the combinations.
WINDOW_OVERLAP = 32

# Elements at most this many elements apart are picked from whole vectors; otherwise they are loaded one by one.
# (Slices with stride 2 to 4: picking is 1.1 to 1.8 times as fast for f32, 1.3 to 15 times for u8.)
PICKED_STRIDE = 4
# A guard whose condition differs between lanes allows vectors only if the guarded index keeps a constant stride over
# the lanes of at least this number of adjacent registers. (The stride changes, for example, at the end of a row.)
GUARD_REGISTERS = 2
# number of arithmetic operations that one vector instruction of a factorisation or a transform does
VECTOR_OPERATIONS = 4
SORT_COST = 20              # vector instructions for an element of a radix sort, or of a sort of a few short rows
SHORT_SORT_COST = 6  # vector instructions for an element of short rows that are sorted together, one in each lane
TOPK_COST = 0.5             # vector instructions for an element of topk's operand
TOPK_KEPT_COST = 64         # vector instructions for an element of topk's result
LOCAL_ARRAY = 4096          # not measured: maximum bytes of an array that is a local variable of a program's C function

# not measured: maximum number of work-groups of a kernel that is inlined into the program's function, if it accesses
# local arrays
LOCAL_GROUPS = 8
UNROLLED_STATEMENTS = 8     # the loop over rows is unrolled if a step has at most this number of statements


@dataclass(frozen=True)
class Costs:
    """The costs of a class of devices, in nanoseconds.

    instruction: time of an op of `Elementwise.cost` 1 for one element of 4 bytes, in vectors.
    sides: factor for ops inside the sides of a pad or a concatenate, because adjacent elements may need different
        sides.
    called: factor for ops in C functions that are not inlined.
    scalar: factor for calls of functions of math.h in loops over single elements, such as those of a scatter (one
        thread, 300,000 updates: the exp of each takes 3 ns longer in the scatter than in a vectorised kernel, the tanh
        25 ns).
    single: factor for a reduction whose adjacent operands may come from different sides of a pad or a concatenate,
        because its kernel has loops over single elements (sum of squares of a stencil of 128x128 elements padded with
        zeros: 38 us, with the padded array stored 9 us).
    byte: time to move a byte to or from memory.
    cached_byte: time to move a byte of a buffer that stays in a cache of `cache` bytes.
    kernel: time of one more kernel.
    rows: true if kernels of several passes over rows (gen/heroes/rows.py) are considered.
    """

    instruction: float
    sides: float
    called: float
    scalar: float
    single: float
    byte: float
    cached_byte: float
    cache: int
    kernel: float
    rows: bool = True


# Two cores with 512-bit vectors. Together they execute three instructions on 16 elements per nanosecond. The memory
# outside L2 has a throughput of 25 GB/s.
CPU_COSTS = Costs(instruction=0.02, sides=2, called=16, scalar=8, single=24, byte=0.04, cached_byte=0.01,
                  cache=2 << 20, kernel=200)
# Costs in a program's loop over few elements: the kernels of the loop's body are one C function, and their buffers are
# in registers or in L1.
SMALL_COSTS = Costs(instruction=0.3, sides=2, called=4, scalar=2, single=2, byte=0.1, cached_byte=0.1,
                    cache=2 << 20, kernel=1, rows=False)
SMALL_BYTES = 16384     # SMALL_COSTS apply up to this number of bytes of a call's parameters and results

# a GPU of some 10 TFLOP/s and 1.5 TB/s
GPU_COSTS = Costs(instruction=0.0001, sides=1, called=1, scalar=1, single=1, byte=0.0007, cached_byte=0.0002,
                  cache=16 << 20, kernel=3000)


# Minimum number of terms of a sum for the inner loop of a tile. In a convolution, these are the terms at one element of
# the window: the input features.
SHORT_SUM = 32
# If a convolution's result has fewer rows than this at each position of the window, the positions may become rows of a
# tile too.
FEW_ROWS = 16


class Panels(NamedTuple):
    """The thresholds for arranging a product for register tiles, and for first copying an operand to panels
    (gen/plan/products.py).

    An operand is read "in place" if it is not copied to panels. MxNxK stands for a product with M rows, N columns and K
    steps of the sum. A unit is 64 bytes of a row. Parentheses compare measured times with the alternative, in one or
    two threads (1T, 2T).

    least_steps: minimum number of multiplications of a product.
    filled_steps: minimum number of multiplications of a product whose operand is padded with zeros.
    vector_steps: minimum number of multiplications of a product by a vector (16x16: 0.03 us, as a loop 0.18 us; 8x8: as
        long as the loop, or 4 times as long).
    in_place_bytes: maximum bytes of a matrix that is read in place. many_rows, in_place_rows and dot_rows say in which
        cases a smaller matrix is copied or a larger matrix is read in place.
    many_rows: minimum number of rows of the other operand for which such a small matrix is copied too (f32 6272x64x256:
        1.05 ms copied, 1.15 ms in place).
    in_place_rows: maximum number of pixels of a convolution's result for which a larger matrix is read in place (3x3
        convolution, 98 pixels, 512 to 512 features, 1T: 3.9 ms in place, 4.3 ms in panels).
    dot_rows: maximum number of rows of a dot for which a larger matrix is read in place. Work-items may still copy
        columns to panels of their own. (f32 Mx3072x768, 1T, in place and in panels: M = 64 2.2 and 3.7 ms; 384 13.0 and
        13.3 ms; 512 18.0 and 17.3 ms.)
    in_place_columns: if the result has fewer columns than this, the operand with the result's rows is read in place.
        Otherwise, this operand is copied if it is larger than in_place_bytes and adjacent steps of the sum are more
        than near_bytes apart in memory (f32 A^T B, 2048x2048x2048: 121 ms copied, 189 ms in place; 64x256x6272: 0.73
        ms copied, 0.68 ms in place).
    few_rows: maximum number of rows of a product that reads a matrix in place, if the matrix is contiguous along the
        sum (f32 by 4096x4096, 1T, in place and in panels: 8 rows 4.1 and 13.5 ms; 16 rows 7.8 and 15.6 ms; 32 rows 18.3
        and 25.4 ms; 64 rows 35.8 and 36.2 ms).
    few_narrow_rows: as few_rows, for a matrix of narrow numbers, contiguous along any dimension (bf16 by 4096x4096, 2T,
        in place and in panels: 8 rows 1.8 and 5.6 ms; 17 rows 9.0 and 6.8 ms; 16 rows in place 3.6 ms).
    units: widths of a panel, in units, the best first; a width must divide the columns (copy of f32 1024x1024: 0.31 ms
        to these panels, 0.5 ms to panels of one unit).
    long_sum: minimum number of terms of a sum that is always divided into parts.
    sum_parts: maximum number of parts of a sum.
    parts_bytes: maximum bytes of the parts' results.
    part_steps: minimum number of steps in a part of a shorter sum. Such a sum is divided if there are at most
        few_results results and at least many_products multiplications (2T, in parts and in one part: f32 24x144x6272
        0.19 and 0.35 ms; 64x256x6272 0.72 and 1.1 ms).
    turned_result, whole_units: a product is computed transposed, so that more of its units are whole, if the operands
        together have at least turned_result times as many elements as the result, and the result has at least
        whole_units times as many units as the transposed result (f32 144x24x6272: 0.16 ms transposed, 0.20 ms
        otherwise).
    smaller_copies: a product is computed transposed if an operand that would have to be copied has at least this many
        times as many elements as the copies that this requires, of the result and perhaps of the other operand. (1T,
        f32 attention whose result is stored by columns, transposed and not: 197 queries of 3 heads and 4 images 3.0
        and 4.4 ms, 512 queries of 8 heads and 2 batches 26 and 31 ms.)
    images_bytes: a convolution that sums over images is divided into parts, each over some of the images, only if its
        operands have at least this many bytes.
    images_share: minimum ratio of the operands' bytes to those of the parts' results (gradient of 3x3 weights, two
        images of 56x56, 1T: 64 to 64 features 3.0 ms in two parts, 3.6 ms in one; 128 to 128 features with stride 2, a
        ratio of 3.4, are not faster in parts).
    longer_features: a convolution with a window of one element becomes a product. The product's rows are pixels if the
        ratio of features to pixels is at most this, else features. The weights are read in place. (Rows of pixels and
        of features, 1T: 512 to 2048 features of 49 pixels 2.49 and 1.85 ms; 960 to 160 features 0.23 and 0.24 ms. 2T:
        512 to 1024 features of two images of 196 pixels with stride 2 1.19 and 1.55 ms.)
    complex_least: a product of complex numbers becomes a product of real numbers with copied operands if its rows,
        columns and steps are each at least this many (c64, 2T, converted and not: 512x512x512 7.7 and 271 ms;
        8x1000x1000 5.4 and 10.1 ms; 4x1000x1000 7.6 and 5.8 ms). A smaller product becomes one that reads the larger
        operand in place (4x1000x1000: 0.29 ms, as loops 3.7 ms), unless it has fewer multiplications than least_steps
        (10000 products of 3x3: 1.5 ms, as loops 0.25 ms).
    small_rows: maximum number of rows of a small matrix whose product is code without loops.
    small_steps: maximum of rows times steps of such a product (f32, 2T, without loops and with: 3000 products of 8x8
        0.035 and 0.21 ms; 2000 of 12x12 0.036 and 1.4 ms; 2000 of 24 rows, 24 steps and 12 columns 0.20 and 5.1 ms).
    short_rows, least_short_rows: a product of many rows by a matrix of few columns is cut into such products of at most
        short_rows rows. If small_steps does not allow them least_short_rows rows, other forms are tried first. (AVX2,
        1T, with 4, 8, 12 and 16 rows: 100000x3x3 0.063, 0.066, 0.079 and 0.115 ms; 40960x5x64 0.98, 0.77, 0.90 and 1.30
        ms; 1000x6x100 0.032, 0.021, 0.021 and 0.020 ms. 40960x5x512, with 2 rows and in tiles: 17.0 and 10.3 ms.)
    least_small_steps: minimum number of multiplications of such a product (3000 products of 2x2: 0.0045 ms, as loops
        0.0027 ms; one product of 6x6: 10 ns, as loops 200 ns).
    groups: element types that tiles multiply in groups of adjacent elements, 32 bits each (256x256x256 in OpenCL, by a
        PoCL that compiles for AVX-512BW: s8 0.27 ms, as s32 0.59 ms; bf16 0.54 ms, as f32 0.26 ms).
    group_units: widths of a panel of groups, as in `units`. By AMX in two threads, 1024x1024x1024 of bf16 takes 1.58
        ms and of s8 0.73 ms; in panels of 16 units 1.67 and 0.80 ms.
    item_rows: maximum number of rows of a product of groups for which each work-item copies its columns to a panel of
        its own. Products with more rows use panels that all work-items share. (2T, with panels of their own and with
        shared panels: bf16 256x256x256 17 and 35 us; 512x512x512 0.143 and 0.163 ms; 1024x1024x1024 1.77 and 1.37 ms;
        64x4096x4096 2.3 and 4.3 ms; s8 512x512x512 0.054 and 0.073 ms; 64x4096x4096 1.4 and 2.4 ms.)
    turned_share: a product whose larger operand is contiguous along the sum is computed transposed, so that this
        operand is read in place, if it has at least this many times as many rows as the other operand (bf16 by
        4096x4096, 1T, transposed and not: 8 rows 1.5 and 3.15 ms; 64 rows 3.1 and 7.2 ms; 256 rows 10.6 and 15.9 ms).
    turned_rows: minimum number of rows of the smaller operand for such a product of bf16 (without matrix instructions,
        transposed and not: 8 rows 6.4 and 2.9 ms; 32 rows 11.8 and 17.6 ms; 8 rows of s8 1.8 and 9.8 ms; with AVX2 4
        rows 4.5 and 2.5 ms, 8 rows 4.5 and 4.1 ms).
    strip_rows: maximum number of rows of a product in a strip (gen/plan/strips.py); 0: no strips (attention of 8 heads,
        512 queries and keys, 64 elements: strips of 8 rows 4.80 ms, 16 rows 4.28 ms, 32 rows 4.27 ms, 64 rows 4.22 ms,
        without strips 5.63 ms; in OpenCL 64 rows 5.3 ms, without strips 7.7 ms; f32 1024x1024x64 with the maximum of
        each row, 1T: in strips 0.74 ms, without strips 0.99 ms, without the maximum 0.78 ms).
    least_strips: minimum number of strips, so that each thread gets some. The number is smaller if a strip would
        otherwise have fewer than least_strip_rows rows.
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
    smaller_copies: int = 2
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
    short_rows: int = 8
    least_short_rows: int = 4
    least_small_steps: int = 9
    groups: Tuple[str, ...] = ()
    group_units: Tuple[int, ...] = (4, 3)
    item_rows: int = 0
    turned_share: int = 2
    turned_rows: int = 8
    strip_rows: int = 64
    least_strips: int = 2
    least_strip_rows: int = 4
    strip_bytes: int = 128 << 10
    strip_operand_bytes: int = 2 << 20


class SharedTiles(NamedTuple):
    """The thresholds for arranging a product for tiles of a GPU's shared memory (gen/plan/products.py). They are
    chosen, not measured.

    least_steps: minimum number of multiplications of a product.
    vector_steps: minimum number of multiplications of a product by a vector, which becomes a reduce.
    few_bytes: maximum bytes of an element for which a convolution's input is stored with contiguous features.
    phases: maximum number of phases of a convolution whose input is dilated; each phase is a kernel. At all positions
        of a phase, the same elements of the window lie on elements of the input; the other ones lie on the holes
        between them.
    """

    least_steps: int = 4096
    vector_steps: int = 4096
    few_bytes: int = 2
    phases: int = 16


class PlanClass(NamedTuple):
    """The facts about a device that a plan depends on, so that devices with equal facts share a plan. panels,
    shared_tiles: None if products are not arranged for them.
    """

    cpu: bool = True
    panels: Optional[Panels] = None
    shared_tiles: Optional[SharedTiles] = None


class GpuTile(NamedTuple):
    """A tile of a product's result, which a block of threads computes.

    rows, columns: size of the tile.
    thread_rows, thread_columns: size of a thread's part of it.
    steps: number of steps of the sum for which both operands are in shared memory at once.
    speed: throughput relative to the largest tile, if there are enough tiles of both sizes.
    stages: number of buffers for steps in shared memory; one is multiplied while the others are filled.
    """

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
    """Numbers for products in tiles of shared memory. The tiles are measured on an NVIDIA H200. The other numbers are
    chosen, not measured.
    """

    # Tiles, by bytes of an accumulator (throughput of f32 4096x4096x4096: 41.8 TFLOP/s; with 16 steps at once 37.0;
    # with tiles of 64x64 and 8x4 sums for each thread 39.2, with 4x4 sums 31.7; with tiles of 32x32 26.7; of f64 with
    # tiles of 64x64: 19.8 TFLOP/s with 8x4 sums for each thread, 15.9 with 4x4 sums).
    tiles: Mapping[int, Tuple[GpuTile, ...]] = field(default_factory=lambda: {
        4: (GpuTile(128, 128, 8, 8, 8, 1), GpuTile(64, 64, 8, 4, 16, 0.9), GpuTile(32, 32, 4, 4, 16, 0.6),
            GpuTile(16, 128, 4, 4, 16, 0.5)),
        8: (GpuTile(64, 64, 8, 4, 8, 1), GpuTile(32, 32, 4, 4, 8, 0.7), GpuTile(16, 64, 4, 4, 8, 0.7))})
    # Tiles for matrix instructions, by bytes of an element; a warp has 8 threads down and 4 across (throughput of bf16
    # 4096x4096x4096: 381 TFLOP/s; with twice the number of warps 297; with tiles of 128x64 257, of 64x64 199, of 256x64
    # in two stages 289). Tiles of f64, and tiles of few rows or columns, are not timed. A product of few rows or
    # columns takes the time of reading the larger operand.
    matrix_tiles: Mapping[int, Tuple[GpuTile, ...]] = field(default_factory=lambda: {
        size: (*large, GpuTile(16, 128, 2, 8, 64 // size, 0.25, 5), GpuTile(128, 16, 4, 4, 64 // size, 0.25, 5))
        for size, large in (
            (1, (GpuTile(128, 128, 8, 16, 64, 1, 3), GpuTile(64, 64, 4, 8, 64, 0.55, 4))),
            (2, (GpuTile(128, 128, 8, 16, 32, 1, 3), GpuTile(64, 64, 4, 8, 32, 0.55, 4))),
            (8, (GpuTile(128, 128, 8, 8, 8, 1, 3), GpuTile(64, 64, 4, 8, 8, 0.8, 4))))})
    # Tiles for wgmma, on devices that have it; a thread has two rows. They are not timed.
    warpgroup_tiles: Tuple[GpuTile, ...] = ()
    warpgroup_sum_cost: int = 1000  # the value of `sum_cost` for wgmma

    # Tiles for MFMA, by bytes of an element: 4 wavefronts, each of whose threads has 4 rows of an instruction. They are
    # not timed.
    #
    # wave_types: the element types that the device multiplies by MFMA without flushing subnormals.
    wave_tiles: Mapping[int, Tuple[GpuTile, ...]] = field(default_factory=lambda: {
        size: (GpuTile(128, 128, 16, 4, 64 // size, 1), GpuTile(64, 64, 8, 2, 64 // size, 0.6),
               GpuTile(32, 32, 4, 1, 64 // size, 0.3)) for size in (1, 2, 4, 8)})
    wave_types: Tuple[str, ...] = ()
    padding: int = 4            # elements of padding after each step of a tile, which prevents bank conflicts
    run_bytes: int = 32  # bytes that adjacent threads read of one row of an operand that is contiguous along the sum
    part_steps: int = 128       # minimum number of steps in a part, if the sum is cut into parts
    most_parts: int = 32
    sum_threads: int = 128      # threads of a block of the kernel that adds up the parts

    # cost of writing a partial sum and reading it again: the number of multiplications that a multiprocessor does in
    # the same time (f32 on H100: 128 multiplications in the time of 25 bytes)
    sum_cost: int = 40
    # the value of `sum_cost` for matrix instructions, by bytes of an element
    matrix_sum_cost: Mapping[int, int] = field(default_factory=lambda: {1: 600, 2: 600, 8: 80})


@dataclass(frozen=True)
class ContractionCpuNumbers:
    """Numbers for products in register tiles of rows by units. A unit is 64 bytes of a row, one vector. At least 8
    accumulators hide the latency of a multiply-add.
    """

    # (rows, units) of a tile: by the macro of an instruction set ("": all other instruction sets), then by the number
    # of units of a block of columns
    tiles: Mapping[str, Mapping[int, Tuple[int, int]]] = field(default_factory=lambda: {
        "__AVX512F__": {1: (16, 1), 2: (12, 2), 3: (8, 3), 4: (6, 4), 5: (5, 5), 6: (3, 6), 7: (3, 7), 8: (2, 8)},
        "__AVX__": {n: (6, 1) for n in range(1, 9)},
        "__aarch64__": {n: (6, 1) for n in range(1, 9)},
        "": {n: (2, 1) for n in range(1, 9)}})
    # The same where it differs, by the name of a shape.
    #
    # FMA_TILE: the loop is assembler text (256 steps of 96 sums of f32 whose operands are in L1, in C with 6 rows by 1
    #     unit, and in assembler text with 6 rows by 1 and 3 rows by 2 units: 0.53, 0.51 and 0.48 us; on a busy machine
    #     0.66, 0.58 and 0.54 us).
    # PAIR_TILE: pairs of bf16. Without an instruction for pairs, the halves of a unit take twice as many registers (1
    #     thread, tiles of 4 rows and of 6: 512x512x512 3.8 and 4.3 ms; 8x4096x4096 by the transpose 8.2 and 9.1 ms).
    other_tiles: Mapping[str, Mapping[str, Mapping[int, Tuple[int, int]]]] = field(default_factory=lambda: {
        "FMA_TILE": {"FMA_LOOPS": {n: (6, 1) if n % 2 else (3, 2) for n in range(1, 9)}},
        "PAIR_TILE": {"__AVX__": {n: (4, 1) for n in range(1, 9)}}})
    # few_rows: units of a block of columns, by the number of rows of a product with few rows.
    # units: units of a block of columns for all other products.
    few_rows: Mapping[int, int] = field(default_factory=lambda: {1: 8, 2: 8, 3: 6, 4: 5, 5: 5, 6: 4, 7: 3, 8: 3})
    units: int = 4
    # A block has whole rows of the result if a row has at most this number of units (256 products of 64x64x64: 1.2 ms
    # with one block for a row, 1.5 ms with two).
    whole_units: int = 4
    # A product of few rows reads the operand with the columns in place, at memory throughput. A block does
    # `skinny_chunk` steps of up to `skinny_units` units each, then continues with the next units, which were
    # prefetched. This applies to the numbers of rows in few_rows and, if that operand is large, to those in `skinny`.
    #
    # skinny: units of a tile, by rows, chosen so that units are read once or twice. (f32 by 4096x4096, 1 thread: 9 rows
    #     5.8 ms, with 3 units 7.0 ms, as other products 19.8 ms; 16 rows 8.0 ms, with 2 units 10.5 ms, as other
    #     products 25 ms. 2 threads, with 2 units, with 3 units and in panels: 17 rows 2.5, 2.8 and 5.1 ms; 24 rows 3.1,
    #     3.3 and 5.2 ms; 32 rows 4.4, 4.3 and 5.9 ms; 48 rows 5.5, 5.7 and 7.3 ms; 64 rows 8.6, 7.5 and 8.8 ms; f32
    #     17x3072x768 0.35, 0.41 and 0.60 ms.)
    # skinny_places: maximum number of rows of a convolution, or of a product with two dimensions of rows, for which
    #     this applies.
    # skinny_blocks: maximum number of blocks of a row, which threads share.
    # skinny_units, skinny_chunk: chosen for f32 8x4096x4096 with 4 units in a tile, 2 threads (64 and 32: 2.1 ms; 32
    #     and 16: 2.7 ms; 64 and 8: 2.3 ms; 128 and 8 without prefetches: 3.1 ms).
    skinny: Mapping[int, int] = field(default_factory=lambda: {
        **dict.fromkeys(range(9, 13), 2), **dict.fromkeys(range(13, 17), 3), **dict.fromkeys(range(17, 49), 2),
        **dict.fromkeys(range(49, 65), 3)})
    skinny_places: int = 16
    skinny_units: int = 64
    skinny_blocks: int = 4
    skinny_chunk: int = 32
    # Numbers for instruction sets other than the widest.
    #
    # narrow_chunk: skinny_chunk for these. The units of a chunk stay in L1, although rows that are some KiB apart share
    #     its sets (f32 by 4096x4096, AVX2, 1 thread, with 8 steps and with 32: 2 rows 8.3 and 22.0 ms; 4 rows 9.4 and
    #     23.0 ms; 8 rows 12.8 and 27.6 ms; 12 rows 19.1 and 29.4 ms).
    # narrow_rows: maximum number of rows without panels. With more rows, groups of narrow_units units are copied to a
    #     panel of packed_chunk steps (with panels and without: 16 rows 21.7 and 22.2 ms; 32 rows 29.9 and 54.6 ms; 64
    #     rows 37.7 and 109 ms).
    # narrow_units: units of such a panel. In the panel, the steps of a unit are adjacent, and the tiles of a group
    #     prefetch the next panel. (2 threads, panels of 4 units with adjacent units, the same with prefetches by tiles,
    #     and panels of 8 units with adjacent steps: 16 rows 19.7, 18.4 and 13.3 ms; 64 rows 28.7, 21.5 and 21.2 ms.
    #     Panels of 16 units are as fast, of 32 units slower.)
    # dot_tile: rows and units of a tile if a unit has adjacent steps of one sum (a product of few rows by a transposed
    #     matrix). The tile's 12 sums and 3 rows are in registers.
    # dot_chunk: steps of a chunk of such a product (f32 by the transpose of 4096x4096, 2 threads, with this tile and
    #     with tiles of 4 by 3: 8 rows 5.2 and 7.6 ms, 17 rows 8.1 and 9.9 ms; in chunks of 32 and of 100 steps: 8 rows
    #     4.5 and 5.5 ms).
    # set_steps: maximum number of steps of a chunk if the steps of a tile with 2 units fall into all 64 sets of L1. If
    #     they fall into every n-th set, the maximum is an n-th of this (f32, AVX2, 1 thread, panels of 4 units, in
    #     chunks of 64 and of 128 steps: 512x512x512 3.57 and 3.78 ms, 1024x1024x1024 27.0 and 27.8 ms, 2048x2048x2048
    #     221 and 232 ms).
    # least_set_steps: if the maximum is smaller than this, chunks keep their length.
    narrow_chunk: int = 8
    narrow_rows: int = 12
    narrow_units: int = 8
    dot_tile: Tuple[int, int] = (3, 4)
    dot_chunk: int = 32
    set_steps: int = 256
    least_set_steps: int = 32
    rows: int = 96                      # rows of a work-item: a whole number of tiles for every instruction set

    # Successive work-items have the same rows and go from one block of columns to the next in two cases: if there are
    # few steps, or if the operand with the rows is larger than kept_bytes. A block of its rows then stays in L2 (f32
    # 1000x1000x1000, 2 threads: 9.0 ms; with successive work-items down a column 10.2 ms).
    #
    # A product of at most few_steps steps takes the time of storing its result. A block of several units then has
    # `least_rows` rows in two cases.
    #
    # First, if the rows of the result are a page apart, because the stores of a core reach few pages at once (AVX2, 2
    # threads, with 6 and with 24 rows: 4096x4096x16 7.3 and 18.5 ms, with 96 rows 19.0 ms; 2048x2048x32 2.7 and 4.7 ms;
    # 4096x4096x128 40 and 44 ms. AVX-512, where 6 rows are not measured, with 24 rows, with 96 rows, and with
    # work-items down a column: 4096x4096x16 2.7, 7.7 and 8.1 ms; 4096x4096x128 15.8, 17.8 and 17.7 ms; 4096x4096x256 is
    # as fast with 96 rows).
    #
    # Second, if an epilogue stores the rows, because its stores then overlap with the products of the next block
    # (1024x1024x64 with bias and maximum: AVX2, with 6 and with 24 rows: 1.21 and 1.58 ms; AVX-512, with 24 and with 96
    # rows: 0.55 and 0.73 ms; without epilogue 0.48 ms).
    few_steps: int = 128
    kept_bytes: int = 1 << 20
    # Numbers of a work-item that copies columns to a panel. Times are of f32 by 4096x4096 unless another size is named.
    #
    # packed_rows: rows of the work-item.
    # packed_units: maximum number of units of a work-item's block (2 threads, with 4 units and with 6: f32
    #     256x1024x1024 1.72 and 1.95 ms; f32 384x384x384 0.30 and 0.32 ms; f64 256x1024x1024 3.6 and 3.9 ms; 100 rows
    #     12.8 and 13.9 ms).
    # packed_chunk: steps of a panel (100 rows: 12.8 ms, with 256 steps 13.9 ms).
    # row_tile: units of a tile in a block of whole rows, if the number of units of a row is no multiple of `units`.
    # packed_least_rows: number of rows up to which panels are slower (f32 Mx3072x768, with panels and without: M = 16
    #     0.90 and 0.85 ms; M = 32 1.37 and 1.48 ms).
    # packed_ahead: prefetch distance in steps (64 rows, 1 thread: 22.5 ms, without prefetches 25.6 ms).
    packed_rows: int = 192
    packed_units: int = 4
    row_tile: int = 3
    packed_chunk: int = 128
    packed_least_rows: int = 16
    # used instead of packed_least_rows if the sums have at most `chunk` steps (f32 24x6272x144, 2 threads: 0.16 ms with
    # panels, 0.13 ms without)
    packed_short_rows: int = 32
    # minimum number of steps for panels (f32 144x6272x24: 0.14 ms with panels, 0.11 ms without)
    packed_least_steps: int = 32
    packed_ahead: int = 16
    # A block is a group of whole rows if a row has at most row_units units and the batch has at least row_items
    # products. Memory is then read in order (f32 24x144x6272 in 8 parts, 2 threads: 0.18 ms, with blocks of 3 units
    # 0.19 ms). Such blocks need no panels (0.15 ms without panels, 0.18 ms with panels). They do need panels if the
    # steps of a column fall into few of the 64 sets of L1: more than row_sets of 64 consecutive steps into the same
    # set.
    row_units: int = 16
    row_items: int = 4
    row_sets: int = 4
    # The work-items of a depthwise convolution compute whole rows if there are at least this many work-items (3x3,
    # 2x56x56 pixels of 144 features, 2 threads: 0.16 ms, with blocks of 3 units 0.19 ms).
    wide_items: int = 32
    chunk: int = 256  # number of products that are summed one after another before their sum is added to a total

    # Numbers for matrix instructions.
    #
    # matrix_chunk: steps of a chunk.
    # matrix_block: rows and units of a block, if its units have at most matrix_chunk steps. Its part of the operand
    #     with the columns then stays in L2 while blocks of rows pass (bf16 1024x1024x1024, 1 thread: 2.0 ms; blocks of
    #     8 units 2.25 ms, of 4 units 2.45 ms).
    # long_matrix_block: rows and units of a block for longer sums whose totals are in the result (512x4096x4096: 20.8
    #     ms; blocks of 192 rows 22.4 ms, of 96 rows and 8 units 27.0 ms).
    # long_matrix_array: rows and units of a block for longer sums whose totals are in an array.
    matrix_chunk: int = 512
    # not measured: a work-item has more than `rows` rows only if there are at least this many work-items
    matrix_items: int = 16
    matrix_block: Tuple[int, int] = (32, 16)
    long_matrix_block: Tuple[int, int] = (384, 16)
    long_matrix_array: Tuple[int, int] = (96, 8)
    # Sizes of the panels to which work-items copy groups of narrow numbers. `panel_of_groups` (units, steps) is for
    # products with at least `wide_groups` units in a row: these have many work-items although the panels are wide (bf16
    # 64x4096x4096, 2 threads: 2.3 ms; with 4 units and 256 steps 3.0 ms). Other panels have up to `line_steps` steps
    # and at most `panel_bytes`, so that they stay in L1. But they have at least one cache line of each row of the
    # operand (2 threads, with one cache line and with two: bf16 128x128x128 3.7 and 4.9 us, 256x256x256 22 and 20 us,
    # 512x512x512 144 and 161 us).
    panel_of_groups: Tuple[int, int] = (8, 128)
    panel_bytes: int = 32 << 10
    line_steps: int = 256
    wide_groups: int = 128
    groups_items: int = 4               # not measured: minimum number of work-items of a product
    # far_chunk: steps of a chunk if tiles prefetch the next chunk (3x3 convolutions, 1 thread, with prefetches and
    #     without: 98 pixels, 512 to 512 features 3.9 and 4.4 ms; 392 pixels, 256 to 256 features 3.6 and 4.1 ms).
    # far_rows: maximum number of rows for which tiles prefetch an operand of up to kept_bytes (gradient of 3x3 weights
    #     of 14x14 pixels, 256 to 256 features, 2 threads: 1.30 ms with prefetches, 1.22 ms without).
    # far_steps: maximum number of steps, a power of two, for one prefetch of a cache line. The tiles of a block share
    #     the lines of the next chunk, so each prefetches only some of them. (2 threads, with a line for each step of
    #     each tile, and with shared lines: f32 1024x1024x1024 6.1 and 5.3 ms, without prefetches 6.3 ms; f32
    #     64x64x65536 1.79 and 1.28 ms; f64 1024x1024x1024 12.4 and 11.3 ms. A number that is no power of two is slow:
    #     f32 512x512x512 takes 1.14 ms with three steps, otherwise 0.70 ms.)
    far_chunk: int = 128
    far_rows: int = 512
    far_steps: int = 4
    # number of steps of a chunk if a mask may set steps to zero (causal attention, 8x512x512x64, 2 threads: 1.50 ms;
    # with 128 steps 1.57 ms, without masks 1.91 ms)
    masked_chunk: int = 64
    straight: int = 2                   # number of unrolled steps of tiles that do not prefetch the next chunk

    def tile_rows(self, units: int) -> int:
        """Return the number of rows of a tile with the widest vectors. units: the units in a block of columns."""
        widest = next(iter(self.tiles.values()))
        return widest.get(units, widest[self.units])[0]

    def tiles_of(self, shape: str) -> "Mapping[str, Mapping[int, Tuple[int, int]]]":
        """Return the tiles of a shape: those in `other_tiles`, and `tiles` for all other macros."""
        widest, *others = self.tiles.items()
        own = self.other_tiles.get(shape, {})
        return dict([widest, *{**own, **dict(others), **own}.items()])

    def least_rows(self, units: int) -> int:
        """Return the smallest number of rows that is a whole number of tiles for every instruction set. units: the
        units in a block of columns.
        """
        return math.lcm(*(of[units][0] for of in self.tiles.values()))

    def whole_tiles(self, rows: int, shape: str) -> bool:
        """Return true if tiles of every instruction set divide this number of rows. shape: as in tiles_of."""
        of_many_rows = range(1, max(self.units, self.whole_units) + 1)
        return all(rows % of[units][0] == 0 for of in self.tiles_of(shape).values() for units in of_many_rows)

    def __post_init__(self) -> None:
        assert all(self.whole_tiles(rows, shape) for rows in (self.rows, self.packed_rows)
                   for shape in ("TILE", *self.other_tiles)), \
            "the last rows of a block are no whole tile"

    @property
    def largest(self) -> Tuple[int, int]:
        """Return the maximum number of rows and the maximum number of units of a tile."""
        rows, units = zip(*(tile for tiles in self.tiles.values() for tile in tiles.values()))
        return max(rows), max(units)

    @property
    def largest_tile(self) -> int:
        """Return the maximum of rows times units of a tile."""
        return max(rows * units for tiles in self.tiles.values() for rows, units in tiles.values())


@dataclass(frozen=True)
class ThreadsNumbers:
    """Numbers that decide how many CPU threads share a kernel (gen/threads.py)."""

    hand_over: int = 15000  # nanoseconds to start another thread's part of the work and to learn that it has ended
    core_bytes: float = 10              # bytes that a core moves per nanosecond
    vector_time: float = 0.5            # nanoseconds of a vector instruction

    # multiply-adds that register tiles do in the time of one vector instruction (f64 64x64x64, 1 thread: 5.8 us)
    tile_rate: float = 6
    # the same number for matrix instructions, by their macro (256x256x256, 1 thread: bf16 25 us, s8 14 us)
    matrix_rates: Mapping[str, float] = field(default_factory=lambda: {"TILES_BF16": 40, "TILES_INT8": 64})
    # The value of `core_bytes` for products by matrix instructions. One thread packs the panels; a second thread reads
    # the panels from the first one's cache, which takes some 20 us. Times in one and in two threads, with packing: bf16
    # 256x256x256 25 and 47 us, 320x320x320 54 and 50 us, 384x384x384 96 and 73 us; s8 256x256x256 16 and 25 us,
    # 320x320x320 40 and 38 us. If the panels are not packed again, bf16 256x256x256 takes 14 us in two threads.
    matrix_bytes: float = 30
    # the value of `hand_over` for products by matrix instructions (bf16 256x256x256: 25 us in one thread, 14 us in two)
    matrix_hand_over: int = 12000


@dataclass(frozen=True)
class LoopCpuNumbers:
    """Numbers for the loop hero on a CPU."""

    chunks: int = 64                    # maximum number of steps of a work-item
    scalar_chunks: int = 4096           # maximum number of steps of a work-item if a step is one element

    # not measured: vectors of fewer lanes than the device's may be used for at most this number of elements
    few_elements: int = 1024
    least_lanes: int = 4  # not measured: minimum number of lanes of vectors that have fewer lanes than the device's

    # not measured: minimum estimated speedup for vectors of fewer lanes. Later loads of full vectors wait for stores of
    # fewer lanes.
    least_gain: int = 2
    scalar_group: int = 64              # work-items of a group if a step is one element
    scalar_elements: int = 4096  # minimum number of elements for such groups; with fewer, a group is one work-item
    cut_row_steps: int = 8              # minimum number of steps of a row, if each row ends with a partial step
    streams: int = 4                    # equal parts of the memory that a work-item reads in turns
    pair_streams: int = 2               # as `streams`, for pairs of registers of 16-bit elements
    burst: int = 8                      # steps whose cache lines are prefetched together
    prefetch: int = 4096                # prefetch distance in bytes, into L2
    pair_prefetch: int = 1024           # prefetch distance in bytes, into L1, for pairs of registers of 16-bit elements
    row_order_prefetch: int = 2048      # prefetch distance in bytes, into L2, if fused steps read whole rows
    interleaved_elements: int = 2048    # number of elements that a work-item computes, if it interleaves rows

    # rows take turns, and in each turn this number of bytes is moved (this gains 0.03 to 0.05 of a copy's throughput)
    row_bytes: int = 512
    # prefetch distance in bytes, in the order in which interleaved rows are read. There are no such prefetches if a
    # block of rows is larger than twice this distance, because hardware prefetchers then load it.
    order_prefetch: int = 32 << 10
    # bytes of rows that are assembled in L1 before they are stored (1 KiB and 4 KiB are equally fast)
    staged_bytes: int = 2048
    # maximum bytes that one step copies if an index selects a whole row (a gather of rows)
    gathered_bytes: int = 1024

    # prefetch distance in bytes of rows that indices select (throughput relative to a copy, in C on Intel, for rows of
    # 512 bytes, 1 KiB and 2 KiB: 0.87, 0.88 and 0.80; with a distance of 8 KiB 0.66, 0.67 and 0.67)
    gathered_prefetch: int = 32 << 10
    # A `while` loop for each element: the maximum number of 64-byte vectors of elements that run one loop together, and
    # the maximum number of registers that the variables of this loop take.
    loop_rows: int = 4
    loop_registers: int = 24
    # Each element of a result has a loop of its own. If the number of steps of these loops is constant and at most
    # this, a work-item runs the loops of its elements one after another, because compilers unroll short loops (11
    # elements of 5 steps: one after another 8 ns, several at a time 27 ns; 5 elements of 4 steps, if the compiler does
    # not know the number of steps: one after another 13 ns, several at a time 4 ns).
    loop_steps: int = 8


@dataclass(frozen=True)
class SortCpuNumbers:
    """Numbers for sorts of rows, each by a work-item of a CPU. A word is an integer that contains one element of each
    operand. A range contains the words of a row between two bounds.
    """

    network: int = 128  # maximum number of elements of rows that a sorting network sorts together, one row in each lane
    side: int = 16              # number of rows that a sorting network sorts together
    inserted: int = 24          # maximum number of elements of a row that is sorted by insertion
    digit: int = 9              # maximum bits of a radix digit
    long_digit: int = 11        # maximum bits of a radix digit for long rows
    long_row: int = 4096        # minimum number of elements of a row for long digits
    held_bytes: int = 32 << 10  # maximum bytes of the words of a row or range that are on the stack
    parts: int = 2              # work-items that share a very long row; each of them reads all of it
    parted: int = 1 << 18       # minimum number of elements of a row that several work-items share
    words: int = 256            # number of words of a long row that are on the stack at once
    sampled: int = 4096         # number of elements of a long row that are sampled to choose its ranges
    range_digit: int = 8        # bits of the first radix digit; each of its values has a range of its own
    range_size: int = 4096      # approximate number of elements of a range
    long_range: int = 1024      # minimum number of elements of a range for long digits
    items: int = 16             # maximum number of work-items for each core
    item_elements: int = 4096   # minimum number of elements of a work-item
    few: int = 32               # maximum number of topk's results that are kept sorted; more are kept in a heap
    block: int = 64             # number of elements that topk compares at once with the last of its results so far

    # maximum number of elements at the beginning of a row from which topk gets a first bound of its results
    looked: int = 4096


@dataclass(frozen=True)
class SortGpuNumbers:
    """Numbers for sorts by a block of threads of a GPU, and for merges."""

    tile: int = 1024            # maximum number of elements that a block sorts
    threads: int = 256          # maximum number of threads of a block


@dataclass(frozen=True)
class TableNumbers:
    """Numbers for functions of 16-bit elements that are looked up in a table."""

    # From this number of instructions for 16 elements on, a table is faster. (Measured times with a table, relative to
    # those without: for a logarithm of 30 instructions 0.86 in C and 1.03 on PoCL; for six products and sums, 36
    # instructions, 0.43.)
    cost: int = 32
    elements: int = 1 << 20             # from this number of elements on, a table saves more time than filling it takes


@dataclass(frozen=True)
class TransposeCpuNumbers:
    """Numbers for transposes in register tiles on a CPU."""

    # register tiles for elements that are only moved, by bytes of an element, the best first
    moved_tiles: Mapping[int, Sequence[TileShape]] = field(default_factory=lambda: {
        1: (*(TileShape(64, 64, down, 64, streamed=True, pipelined=True) for down in (2, 1)),
            TileShape(64, 16, 1, 16), TileShape(32, 32, 1, 32), TileShape(16, 16, 1, 64), TileShape(8, 8, 1, 64)),
        2: (*(TileShape(32, 32, down, 64, streamed=True, pipelined=True) for down in (2, 1)),
            TileShape(32, 32, 1, 32), TileShape(32, 16, 1, 16), TileShape(16, 16, 1, 64), TileShape(8, 8, 1, 64)),
        4: (TileShape(16, 16, 2, 64), TileShape(16, 16, 1, 64), TileShape(8, 8, 1, 64)),
        8: (TileShape(8, 8, 2, 64), TileShape(8, 8, 1, 64))})
    # register tiles for elements that are computed, by bytes of the widest element
    computed_tiles: Mapping[int, Sequence[TileShape]] = field(default_factory=lambda: {
        bytes: tuple(TileShape(n, n, down, 64) for n in (16, 8) if n * bytes <= 64 for down in (2, 1))
        for bytes in (1, 2, 4, 8)})
    # The tile if no other tile fits. If its elements take more than least_tile_cost vector instructions, loops are
    # faster, because their vectors are longer (attention with a bias for each of 4 heads: 98 us, with tiles 246 us).
    least_tile: TileShape = TileShape(4, 4, 1, 64)
    least_tile_cost: int = 16
    # maximum number of elements that a tile loads one at a time, if all operands that it turns are read in branches
    # (two parts of f32 1024x16, computed and stored transposed: gcc takes 13 s for a tile of 16x32 with 2048 loads, and
    # the tile 76 us; rows that are not turned in tiles take 52 us)
    single_loads: int = 512

    # prefetch distance in bytes, in each row of a tile (with 256 bytes, the throughput is lower by 0.01 to 0.08 of a
    # copy's)
    prefetch: int = 512
    # elements along the source's contiguous dimension that a work-item moves, or a page of bytes if that is more
    run: int = 1024
    # minimum length of the dimension along which a tile has its rows or lanes; a shorter dimension is joined with the
    # next dimensions in memory
    joined: int = 64


@dataclass(frozen=True)
class TransposeLinesNumbers:
    """Numbers for transposes on a CPU that merge cache lines from successive tiles (gen/heroes/transpose_lines.py)."""

    # desired number of work-items per core. If there would be fewer, each work-item computes fewer rows and columns.
    # There should not be more, because each work-item begins with a partial cache line.
    items: int = 8
    # maximum number of columns of a work-item, which keeps an incomplete cache line for each: 16 KiB for 256 columns
    columns: int = 256
    sides: int = 4  # minimum number of tiles side by side in a work-item, if there are too few work-items
    strips: int = 8                     # minimum number of tiles in a part of the rows

    # maximum number of offsets in a cache line at which the matrices of a batch may begin; each offset has tile
    # functions of its own in the C text
    starts: int = 16
    tiles: Mapping[int, SquareTile] = field(default_factory=lambda: {       # tiles, by bytes of an element
        1: SquareTile(side=64, load_bytes=64, tiles_down=1), 2: SquareTile(side=32, load_bytes=64, tiles_down=1),
        4: SquareTile(side=16, load_bytes=32, tiles_down=2), 8: SquareTile(side=8, load_bytes=64, tiles_down=1)})


@dataclass(frozen=True)
class ReductionCpuNumbers:
    """Numbers for reductions on a CPU."""

    # equal parts of memory that a work-item reads in turns, so that their address translations overlap (throughput
    # relative to a copy: 0.89 to 0.98; with one part 0.90 to 0.94)
    streams: int = 4
    # Rows of at most this number of bytes are read in `streams` / 2 streams. Short rows end often. At each end the
    # accumulators are combined, which leaves the processor too few buffers for prefetched cache lines.
    short_row: int = 1024
    prefetch: int = 2048                # prefetch distance in bytes
    column_prefetch: int = 8 << 10      # prefetch distance in bytes, from row to row of a column
    row_vectors: int = 4                # maximum number of vectors of a row in a step
    # Rows of at most this number of elements for each accumulator are reduced by a loop whose vectors go across rows,
    # if each operand is the same in a row or in all rows. (|x[i] - t[k]|, as rows and as such a loop, 2 threads: sums
    # of 16 elements 1.4 and 0.6 ms, of 64 elements 0.72 and 0.56 ms, of 256 elements 0.27 and 1.5 ms; the index of the
    # minimum of 16 elements 5.8 and 1.9 ms, of 64 elements 4.7 and 1.2 ms, of 256 elements 1.5 and 1.5 ms.)
    outer_row: int = 64
    # Reduce ops with several results, such as argmax, have vectors across rows if the rows have fewer elements than
    # this and an element is wider than a byte. (Argmax of 100,000 elements of f32, AVX2, as rows and as such a loop:
    # rows of 16 elements 217 and 111 us, of 20 168 and 105 us, of 31 137 and 102 us. s8, rows of 20: 135 and 163 us.)
    index_row: int = 32

    # Rows are read in streams if there are at least this many groups of 16 rows for each stream of each core.
    stream_blocks: int = 4
    # Long rows that are not read in streams are cut into parts if the input has at least this many times part_bytes.
    flat_parts: int = 4
    # number of steps that a lane sums before it adds the sum to a total. (If n numbers are summed in groups of sqrt(n),
    # a term is rounded least often.)
    turn_steps: int = 64
    # not measured: maximum bytes of a buffer that is not prefetched, because it stays in L2
    kept_bytes: int = 64 << 10
    prefetch_burst: int = 4             # cache lines that are prefetched together
    # maximum number of accumulators of rows whose parts fit in the registers of AVX2 (one row by the transpose of
    # 4096x4096, 2 threads, with 4, 8 and 16: 2.8, 2.8 and 3.0 ms)
    part_registers: int = 8
    column_registers: int = 16          # accumulators of a block of columns that fit in registers (24 are no faster)

    # Maximum bytes of the accumulators of a block of columns. Accumulators that do not fit in registers are in L1, so
    # that rows are read whole. Blocks are at least a page wide, and wider if that leaves enough work-items (narrower
    # blocks: 1.2 times as long for rows of 4 KiB; 1.7 times for rows of 1 KiB).
    column_bytes: int = 16 << 10
    # number of rows that are folded into one group of registers before the next group (one row: 1.3 to 1.6 times as
    # long)
    column_rows: int = 8
    # minimum number of work-items for each core; if there are fewer, rows are divided into parts (a minimum of 16, with
    # four times as many parts to combine: 1.02 to 1.09 times as long)
    column_items: int = 4
    # for vectors that cover several rows of few columns: maximum number of vectors until a vector begins at the first
    # column again
    column_period: int = 25
    stream_vectors: int = 64            # not measured: minimum number of vectors of a row that is read in streams

    # not measured: vectors cover several rows of few columns only if there are at least this many vectors for each
    # accumulator
    period_vectors: int = 64
    part_rows: int = 16                 # not measured: minimum number of rows in a part of columns
    part_steps: int = 4                 # not measured: minimum number of steps in a part of a row
    # not measured: the kernel that combines the parts of results uses vectors if there are at least this many vectors
    # of results
    fold_vectors: int = 64


@dataclass(frozen=True)
class ScanCpuNumbers:
    """Numbers for scans on a CPU."""

    bytes: int = 8 << 10                # bytes of the carries of a block of columns
    least_bytes: int = 512  # minimum bytes of a block of columns if blocks are halved to get more work-items


@dataclass(frozen=True)
class RowsCpuNumbers:
    """Numbers for rows that pass through several stages on a CPU (gen/heroes/rows_cpu.py)."""

    # as `turn_steps` of ReductionCpuNumbers; it is smaller here, because rows that pass through several stages are
    # shorter
    turn_steps: int = 8
    held_bytes: int = 512 << 10         # maximum bytes of a row, so that it stays in L2 from one stage to the next

    # maximum bytes of 16 rows that pass through the stages together, so that they stay in L1
    block: int = 32 << 10
    # maximum bytes of the values that a work-item's stages keep for later stages, because these values are on its stack
    kept_bytes: int = 256 << 10
    # If rows pass through the stages one at a time, the functions of a row's totals are not computed in vectors. With
    # totals of columns, such rows are not computed together if these functions take more than totals_share of the
    # instructions for the row's elements. (1T, apart and together: a step of a logistic regression of 200 rows of 30
    # elements 6.4 and 8.1 us, of 126 10.8 and 15.2 us, of 510 66 and 40 us; gradient of a layer norm of 1000 rows of 64
    # elements 101 and 138 us, of 200 470 and 422 us.)
    totals_share: float = 0.45
    # A stage that writes no rows prefetches one cache line each time it executes `prefetch_cost` instructions on
    # registers. These instructions hide the time of the prefetch.
    prefetch_cost: int = 6


@dataclass(frozen=True)
class PadCpuNumbers:
    row: int = 4 << 10                  # minimum bytes of a row that consists of several dimensions


@dataclass(frozen=True)
class ScatterNumbers:
    """Numbers for scatters on CPUs and GPUs; 0: not used on this class of devices."""

    # number of work-items per core among which a dimension of the update windows is divided
    window_items: int = 0

    # An indexed dimension of a result that is larger than the cache is divided among this number of work-items per
    # core. Each of them reads all indices (single elements of f32, AMD EPYC with AVX2, 2 threads, one and two
    # work-items: 100,000 updates of 1000 elements 101 and 228 us, a million of a million 2.7 and 3.8 ms, a million of
    # ten million 15.9 and 12.0 ms; in one thread 71 and 221 us, 0.9 and 2.7 ms).
    indexed_items: int = 0
    # number of rows whose indices a work-item tests before it combines the rows in its part of the result (256 and 1024
    # are as fast)
    picked_rows: int = 0
    shared_updates: int = 4096          # CPU work-items share the result if there are at least this many updates

    # minimum number of adjacent elements of the result for each work-item, if CPU work-items share the result
    shared_neighbours: int = 128
    # prefetch distance in updates, if the result is larger than the cache and updates are combined in order
    prefetch: int = 0
    threads: int = 128                  # threads of a block
    # minimum number of runs for each multiprocessor of a GPU (a run: adjacent rows of sorted updates, for one thread)
    runs: int = 0
    unit_threads: int = 0               # threads that fill a multiprocessor of a GPU


@dataclass(frozen=True)
class FftNumbers:
    """Numbers for Fourier transforms of rows by work-items. The defaults are those of CPUs; `_GPU` has those of GPUs.
    """

    own_bytes: int = 32 << 10           # maximum bytes of buffers that are arrays of a work-item (CPU: the size of L1)
    own_length: int = 0                 # maximum length of a row that is never divided between two kernels
    items: int = 32                     # maximum number of work-items
    threads: int = 1                    # threads of a block
    scratch_bytes: int = 0              # maximum bytes of the buffers of all work-items together; 0: no limit

    # not measured: rows of at most this many elements are transformed together, one row in each lane
    short_row: int = 128
    # the value of `short_row` if adjacent elements in memory are in different rows
    short_column: int = 2048
    # maximum bytes of the table of the factors (roots of unity) between the two transforms of a row; beyond this size,
    # a factor is the product of entries of two small tables
    turn_bytes: int = 16 << 10
    # A complex transform of half the length computes a transform of real numbers only if the table of roots of unity
    # that this needs has at most this many bytes.
    fold_bytes: int = 32 << 10
    # maximum bytes of the transformed chirp for lengths that need a convolution (Bluestein); a larger chirp is computed
    # at run time
    kernel_bytes: int = 64 << 10


@dataclass(frozen=True)
class FftGpuNumbers:
    """Numbers for Fourier transforms by blocks of GPU threads. They are chosen, not measured."""

    threads: int = 512                  # maximum number of threads of a block
    elements: int = 8                   # complex numbers of a thread, if the block has fewer threads than the maximum
    block_elements: int = 1024          # minimum number of complex numbers of a block; shorter rows share a block
    rows_bytes: int = 32 << 10          # maximum bytes of shared memory of a block of several rows
    sector: int = 32                    # minimum bytes that adjacent threads should access together


@dataclass(frozen=True)
class MatricesNumbers:
    """Numbers for factorisations and solutions of matrices. They are chosen, not measured."""

    own_elements: int = 256  # maximum number of elements of a matrix that is in an array of the work-item
    unrolled: int = 8                   # maximum number of rows of a matrix whose loops are unrolled
    item_steps: int = 20000             # multiplications of a work-item on a CPU, if there are enough matrices
    block_bytes: int = 32 << 10  # bytes of the right-hand sides that a CPU solves for at once, in an array on the stack
    threads: int = 64                   # threads of a GPU's block, if each thread has a matrix

    # A block of GPU threads computes one matrix if the matrix has at least this many rows: in any batch (block_rows),
    # and in a batch with at most one matrix for each multiprocessor (few_block_rows).
    block_rows: int = 16
    few_block_rows: int = 5
    block_threads: int = 256            # maximum number of threads of a block that computes one matrix

    # number of matrix elements for each thread, in a block that has fewer threads than the maximum
    block_thread_elements: int = 4


@dataclass(frozen=True)
class BlockNumbers:
    """Numbers for a program's loops and branches that one block of GPU threads runs. They are chosen, not measured."""

    threads: int = 256                  # maximum number of threads of the block

    # one block of threads runs a loop only if each kernel in it has at most this number of blocks; the one block
    # does their work in sequence
    groups: int = 8


@dataclass(frozen=True)
class LoopGpuNumbers:
    """Numbers for the loop hero on a GPU."""

    threads: int = 128                  # threads of a block
    unit_threads: int = 512  # a thread gets several elements only if each multiprocessor has at least this many threads


@dataclass(frozen=True)
class ReductionGpuNumbers:
    """Numbers for reductions on a GPU."""

    unit_threads: int = 1024  # more threads share a result if a multiprocessor would have fewer threads than this
    threads: int = 256                  # threads of a block
    least_threads: int = 64             # threads of a block if shared memory is too small for more
    column_threads: int = 32            # threads that read adjacent columns of the input
    sector: int = 32                    # minimum bytes that adjacent threads should read together
    values: int = 32                    # maximum number of accumulators of a thread

    # more threads share a result if each thread would read more bytes of the input than this
    thread_bytes: int = 16
    loading_bytes: int = 64             # bytes of the input that a thread loads at once
    thread_steps: int = 4               # more threads share a result only if each has at least this number of steps
    thread_results: int = 4             # partial results (accumulators) of a thread that has one result
    unit_blocks: int = 2  # the input is cut into parts if there are fewer blocks for each multiprocessor than this
    part_blocks: int = 4                # number of blocks for each multiprocessor after the input is cut
    part_loads: int = 4                 # the input is cut into parts only if a thread has at least this many loads


@dataclass(frozen=True)
class RowsGpuNumbers:
    """Numbers for rows that pass through several stages on a GPU (gen/heroes/rows_gpu.py)."""

    threads: int = 1024                 # maximum number of threads of a block that shares one row

    # registers for a thread's elements of a row; twice this number if the row is too long for the threads of a block
    registers: int = 16
    # If there are more multiprocessors than this for each long row, each stage is a kernel of its own, in which several
    # blocks share a row.
    few_rows: int = 4


@dataclass(frozen=True)
class TransposeGpuNumbers:
    """Numbers for transposes on a GPU."""

    threads: int = 256                  # threads of a block

    # Elements of a side of a shared-memory tile; half this number if shared memory or the array is small. 32 threads
    # read a row of the tile (128 bytes of 4-byte elements), even on devices whose wavefronts have 64 threads.
    tile_side: int = 32
    tile_threads: int = 32              # the number of threads of a block is a multiple of this number
    run_lines: int = 8  # a mostly empty last tile is accepted only if a dimension has at least this number of tiles

    # 32 banks of 4 bytes: CUDA C++ Programming Guide, compute capability 5 and later
    banks: int = 32                     # banks of shared memory
    bank: int = 4                       # bytes of a bank's word


@dataclass(frozen=True)
class SmallProductsCpuNumbers:
    """Numbers for products of small matrices as code without loops.

    least_bytes: minimum bytes of a vector that contains a row.
    elements: maximum number of elements of a work-item's results, if several matrices are needed to fill vectors.
    unrolled: maximum of rows times steps for which the steps are unrolled.
    """

    least_bytes: int = 16
    elements: int = 4096
    unrolled: int = 256


@dataclass(frozen=True)
class Device:
    """A class of devices: first the numbers that several heroes read, then a record of numbers for each hero. The name
    of a number says what is counted; 0 stands for a number that does not apply.
    """

    name: str
    language: str               # language of the kernels
    cpu: bool
    units: int                  # cores or multiprocessors
    warp: int                   # threads that execute in lockstep
    line: int                   # CPU: bytes that one store should fill; GPU: the widest access of a thread, in bytes
    cache: int = 0              # bytes of the last-level cache; stores to larger arrays bypass it

    # The number that loops and transposes use instead of `cache` if other kernels read all results (copies of weights,
    # and the convolutions that read them, 2 threads: 9 MB, AVX-512, 1.73 ms, with streaming stores 2.16 ms; 5.3 MB,
    # AVX2, 3.5 and 5.5 ms. f32 1024x2048x2048, AVX2, 68 and 73 ms.)
    kept_cache: int = 64 << 20
    lanes: int = LANES          # number of elements of a CPU's vectors; 1: the language has no vectors
    group: int = 1              # work-items of a work-group on a CPU
    page: int = 4096            # bytes of a page of memory

    # maximum number of kernels that follow each other in one launch of OpenCL on a CPU. PoCL compiles a launch as one
    # function: of a program of 86 small kernels, one launch takes 90 s, launches of 32 kernels 25 s, of 16 or 8 kernels
    # 16 s
    chain_kernels: int = 16
    most_bytes: int = 0         # not measured: maximum bytes of a program's scratch and stack; 0: no limit

    unit_items: int = 0         # a work-item takes several steps only if each core has at least this many work-items
    least_groups: int = 0       # minimum number of groups; with fewer, each work-item is a group

    # minimum number of groups; with fewer, each work-item of tiles and reductions is a group of its own
    group_items: int = 0
    part_bytes: int = 0         # bytes of input of a work-item, if the input is large enough

    # GPUs: memory transactions have 32 bytes, cache lines four of them (CUDA C++ Programming Guide)
    step_bytes: int = 0         # maximum bytes of the elements of a step, in the widest type
    coalesced: int = 0          # bytes that adjacent threads should read together

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

    def streams(self, traffic: int, kept: bool) -> bool:
        """Return true if stores bypass the caches. traffic: the bytes that a kernel reads and writes. kept: true if
        other kernels read all its results.
        """
        return traffic > (self.kept_cache if kept else self.cache)

    def scalar(self) -> "Device":
        """Return this device for a language without vectors."""
        return replace(self, lanes=1)

    def alone(self) -> "Device":
        """Return the device for a small kernel: a CPU with a single core; a GPU unchanged."""
        return replace(self, units=1, unit_items=1) if self.cpu else self

    @property
    def is_alone(self) -> bool:
        """Return true if a single work-item of a CPU runs the whole kernel."""
        return self.cpu and self.units * self.unit_items == 1


# a core with 512-bit vectors, cache lines of 64 bytes and pages of 4096 bytes
_CPU = Device("cpu", "c", cpu=True, units=2, warp=1, line=LINE, cache=8 << 20, unit_items=16, least_groups=4,
              group_items=64, part_bytes=256 << 10,
              scatter=ScatterNumbers(window_items=8, indexed_items=1, picked_rows=64, prefetch=32))
_GPU = Device("", "", cpu=False, units=0, warp=32, line=16, step_bytes=32, coalesced=128,
              scatter=ScatterNumbers(runs=4, unit_threads=2048),
              fft=FftNumbers(own_bytes=1 << 10, own_length=64, items=4096, threads=64, scratch_bytes=64 << 20,
                             fold_bytes=64 << 10))
EMBEDDED = "embedded"
DEVICES: Dict[str, Device] = {device.name: device for device in (
    # OpenCL groups have 16 work-items, because starting a work-group takes some 4 ns
    replace(_CPU, name="pocl-cpu", language="opencl", group=16, panels=Panels(groups=("s8", "u8"))),
    replace(_GPU, shared_tiles=SharedTiles(), name="opencl-gpu", language="opencl", units=64),
    replace(_CPU, panels=Panels(groups=("bf16", "s8", "u8"), group_units=(4, 3, 2, 5, 7, 11, 13), item_rows=512)),
    replace(_CPU, name="cpu-scalar", lanes=1),
    # a small machine with one core and little memory; these numbers are chosen
    replace(_CPU, name=EMBEDDED, lanes=1, units=1, unit_items=1, most_bytes=1 << 20,
            fft=FftNumbers(own_bytes=2 << 10), sort_cpu=SortCpuNumbers(digit=4, long_digit=4, held_bytes=0),
            table=TableNumbers(elements=1 << 62)),
    replace(_GPU, shared_tiles=SharedTiles(), name="sm_80", language="cuda", units=108),            # A100
    replace(_GPU, shared_tiles=SharedTiles(), name="sm_90", language="cuda", units=132),            # H100 SXM

    # the same GPU as sm_90, with the instructions (wgmma) that only this architecture has
    replace(_GPU, shared_tiles=SharedTiles(), name="sm_90a", language="cuda", units=132,
            contraction_gpu=ContractionGpuNumbers(warpgroup_tiles=(
                GpuTile(128, 256, 2, 64, 64, 1, 4), GpuTile(128, 128, 2, 32, 64, 0.75, 4),
                GpuTile(64, 64, 2, 16, 64, 0.35, 4)))),
    # one of the two dies of an MI250
    replace(_GPU, shared_tiles=SharedTiles(), name="gfx90a", language="hip", warp=64, units=104,
            # MFMA instructions for 16-bit types flush subnormals on this device, so these types are left out
            contraction_gpu=ContractionGpuNumbers(wave_types=("f32", "f64", "s8"))),
    replace(_GPU, shared_tiles=SharedTiles(), name="gfx942", language="hip", warp=64, units=304,    # MI300X
            contraction_gpu=ContractionGpuNumbers(wave_types=("f32", "f64", "bf16", "f16", "s8"))),
    replace(_GPU, shared_tiles=SharedTiles(), name="gfx1100", language="hip", units=96),            # RX 7900 XTX
)}
DEFAULT = {"opencl": "pocl-cpu", "cuda": "sm_80", "hip": "gfx90a", "c": "cpu"}


def device_for(target: str, name: Optional[str]) -> Device:
    """Return the device class with this name if its kernels are in the target's language, else the target's default
    class. (A command may have several targets but only one device name. The name then applies to the target with the
    same language.)
    """
    if name and name in DEVICES and DEVICES[name].language == target:
        return DEVICES[name]
    return DEVICES[DEFAULT[target]]
