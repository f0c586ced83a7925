"""The bound of a fusion: C11 text that says how far a right kernel may be from the reference.

    int NAME_bound(const void *const *params, double *const *bounds);    bound(computation, name): how near
    bitwise(computation)                                                 which results have no bit to spare
    unknown(computation)                                                 where any value is allowed, in words

bounds[k] has an element for each element of result k, at the same position. Otherwise all is as in gen/reference, whose
steps are the values of a bound; each is followed by a step that finds the intervals of what it defined, unless that is
exact.

WHAT A KERNEL MAY DIFFER BY
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
  * fft: the error of an element is at most the 2-norm of all errors, which is at most c * u * sqrt(n) * ||x||; c grows
    with log2(n), and transforms.py says how and why. Inputs' own errors add up. Where one is not finite, all outputs of
    its transform are unknown.
  * select-and-scatter: in the reference's order; where what is compared has an error of its own, each element that may
    be the best one may have been combined or not (of windows of more than 256 elements nothing is known).
  * scatter: kernels may take the updates of an element in any order. n of them that are added are bounded as a reduce's
    sum is; in CUDA's atomicAdd subnormals of f32 (there, added or coming out) count as zeros: 2 n of the least normal
    more. What no order changes has no error of its own. Of other combiners, and of unique indices that a check cannot
    draw so, nothing is known where two updates meet.
  * sort, topk: exact where the operands are and the comparator makes no error of its own; else any element may be
    anywhere.
  * excess_precision: between ops on f16 and bf16 a kernel may or may not keep a float: both are in the interval.
  * dynamic-slice, dynamic-update-slice, gather: where a start index is not certain, any element may be anything.
  * Ops on matrices of exact operands: the first order of the effect of a backward error, times 2 or more; u is half an
    ulp of 1, n the number of rows, |..| by elements. Where the first order does not hold (the matrix is nearly
    singular), or products might overflow or be subnormal, any value is right. Chapters are Higham's, Accuracy and
    Stability of Numerical Algorithms, second edition.
      cholesky: |dA| <= 4 (n + 2) u d d^T, d the roots of the diagonal (10.1); so |dL[j,i]| <= g[i] sum |L[j,k]| g[k]
        over i <= k <= j, g = |L^-1| d. info is certain where no pivot is within 16 times the error of 0.
      triangular-solve: 2 (n + 2) u |T^-1| |T| |x| (8.1).
      lu: |dA| <= 4 (n + 2) u |L| |U| (9.3), at most e f^T; what this does to a Schur complement is the product of
        e2 + |A21 A11^-1| e1 and f2 + |A11^-1 A12|^T f1. Pivots are certain where the largest is larger by the errors.
      qr: R[i,j] moves by 8 m u k |a[j]|, k the condition of columns 0 to i, in Frobenius' norm, of length 1 (19.9,
        with m in place of a product of sizes that only the worst case needs); reflectors and tau by 16 m u k, as they
        are the LU factors of Q less signs, whose pivots are at least 1. From a column on whose sign is not certain, by
        anything.
      householder-product: each reflector adds 4 m u (1 + 2 |tau| |v|^2) of a column's length (19.2).
      tridiagonal-solve: 32 u |A^-1| |A| |x| in the largest norm; what is left of the diagonals may be anything.
      eigh, svd: values move by 8 n u |A|, in Frobenius' norm (Weyl); vectors by 2 (svd: 4) times this over the gap to
        the next value (Davis and Kahan). A component that may be the largest one with another sign, a value that
        another one is too near to, and what completes a basis: any value. tests/kernels/test_matrices.py holds all
        vectors to the factors' product and to being orthonormal.
  * Calls of LAPACK's routines: any value. A function `NAME_holds` in the same file says instead, in wider numbers, whether
    the results are what the routine is for: residuals of 64 n u |A|, orthonormal vectors, triangles that are zero, the
    order of values. Of a matrix with an element other than 0 outside [2^-24, 2^24] it knows nothing.
  * while: exact where its operands and each step are, sums in the reference's order; else any value is right. A kernel
    holds no other loop (gen/plan/element_loops.py).
  * bitcast-convert and TOTALORDER read the bits of a NaN; where arithmetic made it they are free, and so is the result.
  * A value used twice is two independent intervals, except in multiply(x, x) and compare(x, x).
  Not covered: kernels that flush subnormals (but for scatter's sums), contract to fused multiply-add, or round f64 ->
  f16 twice.

WHERE IT STANDS
  It knows the graph (gen.hlo) and the reference, which does not know it.
  files.py          the three functions above, and which module knows which op: moves, control, reductions (with combiners),
                    scatter, select_and_scatter, products, transforms, matrices (with matrices.c), lapack (with lapack.c); following.py: what
                    they share, elementwise ops
  intervals.py      the interval of an elementwise op;  ulps.py: the promised ulps;  types.py: intervals in C
  ranges.c          the C functions that the text calls, below head.c
"""

from __future__ import annotations

from gen.bounds.files import bitwise, bound, bound_file, unknown
from gen.bounds.lapack import is_proved
from gen.bounds.types import Options
from gen.bounds.ulps import LIBM_ULPS, ULPS

__all__ = ["bound", "bound_file", "bitwise", "is_proved", "unknown", "LIBM_ULPS", "Options", "ULPS"]
