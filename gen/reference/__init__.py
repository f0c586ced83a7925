"""The scalar reference of a fusion, and the bound that a right kernel keeps: both C11 text, written from the graph.

`reference(computation, name)` is plain loops, one nest an HLO op. It includes no sett header and uses none of the
project's index algebra: strides are computed here, from dims and minor_to_major, and positions in tiles by their
definition. `bound(computation, name)` runs the same ops on intervals. Both are to be compiled with -ffp-contract=off
(and without -ffast-math); neither has undefined behaviour (-fsanitize=undefined is clean).

    int NAME_ref(const void *const *params, void *const *results);    the results of right kernels, or near them
    int NAME_bound(const void *const *params, double *const *bounds);    how near
    bitwise(computation)                                              which results have no bit to spare

Parameters and results are flattened tuples, each in its own layout (minor_to_major, tiles, tail padding); bounds[k] has
an element for each element of results[k], at the same position. Padding of results is 0, that of parameters is not
read. No buffer may overlap another. The answer is 0, or 1 when out of memory.

WHAT EACH OP MEANS (kernels follow the same rules)
  every op          rounds to its own type before the next one reads it; a NaN stays a NaN, its payload is free
  f16, bf16         stored as 16 bits. + - * / sqrt and the like: in float, then to nearest even (the same as one
                    rounding); functions: in double, then one rounding. A float32 that is written keeps subnormals.
  f8.., f4e2m1fn    as f16: in float, then to the nearest value. Past the largest: infinity; NaN in fn and fnuz types;
                    the largest in f4e2m1fn, whose -0 stands for a NaN. fnuz: no -0. f8e8m0fnu: the nearest power of
                    two, up from the middle; NaN of what is not positive.
  s4 u4 s2 u2       as integers of their width. They and f4e2m1fn lie several to a byte in parameters and results, the
                    first in the low bits, with or without E(..) in the layout; what is left of the last byte is zero.
  c64, c128         by parts, each step rounded: (ac - bd, ad + bc); abs: hypot, infinite where a part is; / and functions,
                    with the special values of all: gen/reference/complex_functions.py.
  f32 functions     in double, rounded once. f64 functions: libm. rsqrt 1/sqrt(x), logistic 1/(1+exp(-x)).
  integers          wrap. x/0 is -1 (all ones), x rem 0 is x, MIN/-1 is MIN, MIN rem -1 is 0; / and rem truncate.
                    abs(MIN) and -MIN are MIN. sign is -1, 0, 1. Shifts by the width or more (the amount read as
                    unsigned) give 0, or the sign everywhere for shift-right-arithmetic; shift-right-logical is on the
                    bits, whatever the signedness. count-leading-zeros(0) is the width.
  integer power     by squaring, wrapping; x^-n is 1 for x = 1, +-1 for x = -1 (by n's parity), else 0 (0 too).
  pred              one byte, 0 or 1. add, maximum, or: or. multiply, minimum, and: and. subtract, xor: xor.
  maximum, minimum  a != a ? a : b != b ? b : a >= b ? a : b, and with <=. So of two zeros the first one wins.
  clamp             minimum(maximum(x, low), high), with the x first both times: clamp(1, x, 0) is 0.
  remainder         fmod: exact, with the sign of the dividend; x rem 0 is NaN.
  sign              NaN for NaN, the zero itself for a zero. floor, ceil, round-nearest-even: IEEE;
                    round-nearest-afz: halves away from zero. is-finite: neither infinite nor NaN.
  power             C pow: x^0 and 1^y are 1, for NaN too.
  compare           with NaN: NE is true, all others false; -0 equals +0. TOTALORDER: by the bits, -NaN lowest, -0 < +0.
  convert           float to integer truncates and saturates, NaN gives 0; to pred: x != 0 (NaN is true). Integer to
                    integer wraps; to pred: x != 0; pred gives 0 or 1. Integer to f32, f64: nearest even, once.
                    Integer to f16, bf16: to f32 first, then on. Float to float: nearest even, once (f64 to bf16 too).
  reduce            starts with the init value, then combiner(accumulator, element), elements in row-major order of the
                    reduced dims, every combiner op rounding as it would elsewhere.
  dot, convolution  operands converted to the accumulator's type (f64 where one is or the result is; f32 for other
                    floats; else the result's), products and sums rounded to it, the contracted (a window's, then input
                    features) in row-major order from 0; one conversion at the end. scaled-dot: each operand, converted,
                    times the element of its scale whose block it is in, rounded; then the dot. pred: or of ands.
                    Complex: by parts. Padding and holes add nothing.
  reduce-window     as reduce, over the window's elements that are inside: padding and holes of dilation are left out.
                    Where all windows end with a dimension, from there: combiner(element, result of the next place), as
                    HLO leaves the grouping open.
  select-and-scatter  from the init value; for each place of the window in row-major order the elements inside are
                      compared in that
                    order: select(best, next) keeps the best one; out[best] = scatter(source, out[best]).
  scatter           starts as the operands; rows of the indices in row-major order, then the window's elements: result =
                    combiner(result, update), each op rounding as elsewhere. An index is not clamped: a window that is
                    not all inside is left out whole.
  pad               interior and negative amounts; pad value elsewhere. iota: the index, converted (integers wrap).
  dynamic-slice, dynamic-update-slice, gather
                    a start index, in its own type, is brought into 0 .. size of the dimension - size of the slice.
  bitcast           the same bytes: element k of memory stays element k (tiles: at its position). bitcast-convert: the
                    bits of each element. Between types of different widths: bit k of all elements in a row, the low
                    bits first, stays bit k. pred has the bits of a byte, 0 or 1; a byte that is not zero is true.
  reduce-precision  nearest even to the mantissa bits; too large: infinity; below the least normal: zero.

THE BOUND: what a kernel may differ by
  Each value is an interval [lo, hi] that holds every value that a right kernel may have there, the reference's own
  among them. `all` = [-inf, inf] also says that NaN is possible; [NaN, NaN] says that it is certain.
  bound = max(hi - v, v - lo): 0 demands equality (of values: NaN equals NaN, -0 equals +0; `bitwise` says where the
  bits must agree), infinity accepts anything. For pred and integers it is the difference of the integers.
  * Parameters, constants, moves, integer ops, exact float ops, comparisons: no error of their own. An instruction which
    only such ops and correctly rounded ones (+ - * /, sqrt, conversions) lead to is exact, and this is decided
    statically.
  * A correctly rounded op on intervals: the op on the ends (all corners for * and /; NaN at some but not all: `all`;
    a divisor which may be zero: `all`), each end rounded to the type: rounding is monotone, so nothing is lost.
  * A function: its value at the ends (sin, cos: slope at most 1; tan, power, atan2: monotone pieces, else the whole
    image), widened by the ulps below, then rounded to the type. Ulps are those of float for f16, bf16, f32 (kernels
    compute the small types in float) and of double for f64, where libm's own error is added. So a bf16 result moves
    only where the float budget crosses a rounding boundary.
  * floor, ceil, round, sign, conversions to integer: monotone, so the ends decide. Compare and select: where the
    intervals do not decide, both outcomes.
  * reduce with add on floats: kernels may take any order, so n additions may move the sum by n * u * sum |x| (u half an
    ulp of 1; true for every order of summation and every n, Jeannerod and Rump 2013); where a partial sum might
    overflow, `all`. multiply: (1 + u)^n - 1 relative, if no partial product can leave the normal range. Bitwise ops,
    maximum, minimum, integer sums do not depend on order. Other combiners are taken in the reference's order, and so
    is everything with reassociate=False.
  * dot and convolution of floats: products may be rounded or fused into the sum, in any order: n of them may move it by
    (n + 2) * u * sum |a b| and n least subnormals; u of the accumulator's type. Complex ones: twice as many terms.
  * select-and-scatter: in the reference's order; where what is compared has an error of its own, each element that may
    be the best one may have been combined or not (of windows of more than 256 elements nothing is known).
  * scatter: kernels may take the updates of an element in any order. n of them that are added are bounded as a reduce's
    sum is; in CUDA's atomicAdd subnormals of f32 (there, added or coming out) count as zeros: 2 n of the least normal
    more. What no order changes has no error of its own. Of other combiners, and of unique indices that a check cannot
    draw so, nothing is known where two updates meet.
  * excess_precision: between ops on f16 and bf16 a kernel may or may not keep a float: both are in the interval.
  * dynamic-slice, dynamic-update-slice, gather: where a start index is not certain, any element may be anything.
  * bitcast-convert and TOTALORDER read the bits of a NaN; where arithmetic made it they are free, and so is the result.
  * A value used twice is two independent intervals, except in multiply(x, x) and compare(x, x).
  Not covered: kernels that flush subnormals (but for scatter's sums), contract to fused multiply-add, or round f64 ->
  f16 twice.

WHERE IT STANDS
  It shares nothing with the rest of gen but the graph (gen.hlo): no algebra, no planning, no targets.
  files.py          the two functions above and `bitwise`, `unknown`
  computation.py    a computation as steps, and which module knows which op: elementwise, moves, indexed, scatter,
                    select_and_scatter, reductions (with combiners), products; emitter.py: what they share
  complex_numbers.py, complex_functions.py    complex computations as real ones on the parts
  elements.py       the value of an elementwise op;  intervals.py: the interval of one;  ulps.py: the promised ulps
  types.py, loops.py, values.py    elements in C, loops and positions, the records of a reference under way
  library.c, typed.c    the C functions that the text calls;  library.py: cuts them;  assembly.py: puts a file together
"""

from __future__ import annotations

from gen.reference.files import bitwise, bound, reference, unknown
from gen.reference.ulps import LIBM_ULPS, ULPS

__all__ = ["reference", "bound", "bitwise", "unknown", "LIBM_ULPS", "ULPS"]
