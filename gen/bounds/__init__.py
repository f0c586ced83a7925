"""The bound of a fusion: C11 text that computes how far a correct kernel may be from the reference.

    int NAME_bound(const void *const *params, double *const *bounds);
    bound(computation, name)    the text of that function
    bitwise(computation)        the results that must agree with the reference bit by bit
    unknown(computation)        the reasons, in words, why some values are not bounded

bounds[k] has an element for each element of result k, at the same position. Otherwise the function is like that of
gen/reference. The bound runs the steps of the reference, whose values it uses; after each of them, a further step
computes the intervals of the values that it defined, unless they are exact.

ALLOWED DIFFERENCES
  Each value has an interval [lo, hi] that contains every value that a correct kernel may have there, including the
  reference's value v. `all` = [-inf, inf] also allows NaN; [NaN, NaN] means certainly NaN. The bound is
  max(hi - v, v - lo). A bound of 0 requires equality (of values: NaN equals NaN, -0 equals +0; `bitwise` says where
  bits must agree); infinity accepts anything. For pred and integers it is the difference of the integers.
  * Parameters, constants, moves, integer ops, exact float ops, comparisons: no error of their own. An instruction that
    depends only on such ops and on correctly rounded ones (+ - * /, sqrt, conversions) is exact; this is decided
    statically.
  * A correctly rounded op on intervals: the op on the ends (all corners for * and /; if some corners are NaN, or a
    divisor may be zero: `all`), each end rounded to the type. Rounding is monotone, so nothing is lost.
  * A function: its value at the ends (sin, cos: slope at most 1; tan, power, atan2: monotone pieces, else the whole
    image), widened by the ulps below, then rounded to the type. Ulps are those of float for f16, bf16, f32 (kernels
    compute the small types in float) and of double for f64, where libm's own error is added. A bf16 result therefore
    differs only if the float error crosses a rounding boundary.
  * floor, ceil, round, sign, conversions to integer: monotone, so the ends decide. Compare and select: both outcomes,
    if the intervals do not decide.
  * reduce with add on floats: kernels may add in any order, so n additions may change the sum by n * u * sum |x| (u is
    half an ulp of 1; this holds for every order of summation and every n, Jeannerod and Rump 2013); if a partial sum
    might overflow, `all`. multiply: (1 + u)^n - 1 relative, if no partial product can leave the normal range. Bitwise
    ops, maximum, minimum and integer sums do not depend on the order. Other combiners are taken in the reference's
    order, and so is everything with reassociate=False.
  * dot and convolution of floats: products may be rounded or fused into the sum, in any order: n of them may change the
    sum by (n + 2) * u * sum |a b| and n times the smallest subnormal; u is that of the accumulator's type. Complex
    sums have twice as many terms.
  * fft: the error of an element is at most the 2-norm of all errors, which is at most c * u * sqrt(n) * ||x||; c grows
    with log2(n), see transforms.py. Errors of the inputs are added. If an input is not finite, all outputs of its
    transform are unbounded.
  * select-and-scatter: in the reference's order. If the compared values have errors, each element that may be selected
    may have been combined or not (windows of more than 256 elements are unbounded).
  * scatter: kernels may combine the updates of an element in any order. A sum of n updates is bounded like a reduce's
    sum; CUDA's atomicAdd flushes subnormals of f32 (of the element, of an update, of the sum), which adds 2 n times the
    smallest normal number. Combiners that do not depend on the order have no error of their own. Elements with several
    updates are unbounded for other combiners, and for unique indices that a check cannot draw unique.
  * sort, topk: exact if the operands are exact and the comparator has no error of its own; else any element may be
    anywhere.
  * excess_precision: between ops on f16 and bf16 a kernel may or may not keep a float: both are in the interval.
  * dynamic-slice, dynamic-update-slice, gather: unbounded if a start index is not certain.
  * Ops on matrices with exact operands: the first-order effect of a backward error, times 2 or more. u is half an ulp
    of 1, n the number of rows, |..| is taken by elements. If the first order is not enough (the matrix is nearly
    singular), or if products might overflow or be subnormal, results are unbounded. The numbers of theorems are
    those of Higham, Accuracy and Stability of Numerical Algorithms, second edition.
      cholesky: |dA| <= 4 (n + 2) u d d^T, d the roots of the diagonal (10.1); so |dL[j,i]| <= g[i] sum |L[j,k]| g[k]
        over i <= k <= j, with g = |L^-1| d. info is certain if no pivot is within 16 times the error of 0.
      triangular-solve: 2 (n + 2) u |T^-1| |T| |x| (8.1).
      lu: |dA| <= 4 (n + 2) u |L| |U| (9.3), at most e f^T; its effect on a Schur complement is the product of
        e2 + |A21 A11^-1| e1 and f2 + |A11^-1 A12|^T f1. A pivot is certain if it is the largest by more than the
        errors.
      qr: R[i,j] changes by at most 8 m u k |a[j]|, with k the condition number in Frobenius' norm of columns 0 to i,
        scaled to length 1 (19.9, with m in place of a product of sizes that only the worst case needs); reflectors and
        tau by 16 m u k, because up to signs they are the LU factors of Q, whose pivots are at least 1. From the first
        column with an uncertain sign on, results are unbounded.
      householder-product: each reflector adds 4 m u (1 + 2 |tau| |v|^2) of a column's length (19.2).
      tridiagonal-solve: 32 u |A^-1| |A| |x| in the maximum norm; the diagonals afterwards are unbounded.
      eigh, svd: values change by at most 8 n u |A|, in Frobenius' norm (Weyl); vectors by 2 (svd: 4) times this over
        the gap to the next value (Davis and Kahan). Unbounded are vectors whose largest component may be another one
        of the other sign, vectors of values too close to others, and vectors that complete a basis; for all vectors,
        tests/kernels/test_matrices.py checks the product of the factors and orthonormality.
  * Calls of LAPACK's routines: unbounded. Instead, a function `NAME_holds` in the same file tests, in wider precision,
    whether the results fulfil the routine's promise: residuals of 64 n u |A|, orthonormal vectors, zero triangles,
    the order of values. It makes no statement about a matrix with a nonzero element outside [2^-24, 2^24].
  * while: exact if its operands and each step are exact, sums in the reference's order; else unbounded. Kernels contain
    no other loops (gen/plan/element_loops.py).
  * bitcast-convert and TOTALORDER read the bits of a NaN; if arithmetic produced the NaN, its bits are free, and so is
    the result.
  * A value used twice counts as two independent intervals, except in multiply(x, x) and compare(x, x).
  Not covered: kernels that flush subnormals (except in scatter's sums), contract to fused multiply-add, or round
  f64 -> f16 twice.

FILES
  The bound uses the graph (gen.hlo) and the reference; the reference does not use the bound.
  files.py          the three functions above, and the module for each op: moves, control, reductions (with combiners),
                    scatter, select_and_scatter, products, transforms, matrices (with matrices.c), lapack (with
                    lapack.c); following.py: their common part, and elementwise ops
  intervals.py      the interval of an elementwise op;  ulps.py: the promised ulps;  types.py: intervals in C
  ranges.c          the C functions that the text calls, below head.c
"""

from __future__ import annotations

from gen.bounds.files import bitwise, bound, bound_file, unknown
from gen.bounds.lapack import is_proved
from gen.bounds.types import Options
from gen.bounds.ulps import LIBM_ULPS, ULPS

__all__ = ["bound", "bound_file", "bitwise", "is_proved", "unknown", "LIBM_ULPS", "Options", "ULPS"]
