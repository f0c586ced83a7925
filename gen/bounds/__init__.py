"""The bound of a fusion: C11 text that computes how far the result of a correct kernel may be from the reference's.

    int NAME_bound(const void *const *params, double *const *bounds);
    bound(computation, name)    the text of that function
    bitwise(computation)        for each result, true if it must agree with the reference bit by bit
    unknown(computation)        the reasons, in words, why some values have no bound

bounds[k] has one element for each element of result k, at the same position. The function is otherwise like that of
gen/reference. It runs the steps of the reference and uses their values. After each step that is not exact, it computes
the intervals of the values that the step has defined.

ALLOWED DIFFERENCES
  Each value has an interval [lo, hi]. It contains every value that a correct kernel may have there, and the
  reference's value v. `all` = [-inf, inf] also allows NaN; [NaN, NaN] allows only NaN. The bound is max(hi - v, v -
  lo); for pred and integers it is that difference as integers. A bound of 0 requires an equal value: NaN equals NaN,
  -0 equals +0 (`bitwise` says where the bits must agree too). A bound of infinity accepts anything.
  * Parameters, constants, moves, integer ops, exact float ops and comparisons add no error. So an instruction that
    depends only on these and on correctly rounded ops (+ - * /, sqrt, conversions) is exact. This is decided before
    anything runs.
  * A correctly rounded op on intervals is computed on their ends (* and /: on all four corners), and each end is
    rounded to the type. Rounding is monotone, so no value is lost. If a corner is NaN or a divisor may be zero, the
    result is `all`.
  * A function is computed at the ends of the interval (sin, cos: with a slope of at most 1; tan, power, atan2: on
    monotone pieces, else the whole image). The result is widened by its ulps (ulps.py), then rounded to the type. For
    f16, bf16 and f32 these are ulps of float, because kernels compute the small types in float; so a bf16 result
    differs only if the float error crosses a rounding boundary. For f64 they are ulps of double, and the error of the
    reference's libm is added.
  * floor, ceil, round, sign and conversions to integer are monotone, so the ends of the interval are enough. compare
    and select allow both outcomes if the intervals do not decide.
  * reduce on floats: kernels may add in any order. n additions may change a sum by n * u * sum |x|, where u is half an
    ulp of 1; this holds for every order and every n (Jeannerod and Rump 2013). If a partial sum might overflow, the
    result is `all`. A product may change by (1 + u)^n - 1, relatively, if no partial product can leave the normal
    range. Bitwise ops, maximum, minimum and integer sums do not depend on the order. Other combiners are applied in
    the reference's order; with reassociate=False, all are.
  * dot and convolution of floats: products may be rounded or fused into the sum, in any order. n of them may change
    the sum by (n + 2) * u * sum |a b|, plus n times the smallest subnormal; u is that of the accumulator's type.
    Complex sums have twice as many terms.
  * fft: the error of an element is at most the 2-norm of all errors, which is at most c * u * sqrt(n) * ||x||. c grows
    with log2(n), see transforms.py. The errors of the inputs are added. If an input is not finite, all outputs of its
    transform may have any value.
  * select-and-scatter is computed in the reference's order. If compared values have errors, several elements of a
    window may be the selected one, so each of them may or may not be updated. Windows of more than 256 elements allow
    any value.
  * scatter: kernels may combine the updates of an element in any order. A sum of n updates is bounded like the sum of a
    reduce. CUDA's atomicAdd flushes subnormals of f32 (the element, an update, the sum), which adds 2 n times the
    smallest normal number. A combiner that does not depend on the order adds no error. For other combiners, elements
    with several updates may have any value. This also holds if the text promises unique indices, because the random
    indices of a check may repeat.
  * sort, topk are exact if the operands are exact and the comparator adds no error; else every element may have any
    value.
  * excess_precision: between ops on f16 and bf16, a kernel may keep a float or round it; the interval has both.
  * dynamic-slice, dynamic-update-slice, gather allow any value if a start index is not certain.
  * Ops on matrices with exact operands: a backward error dA of the matrix is known; the bound is its effect on the
    result to first order, times 2 or more. u is half an ulp of 1. The matrix A has m rows, or n rows if it must be
    square; A[i,j] is an element, A[j] a column, and |..| is elementwise. Results may have any value if the first order
    is not enough (the matrix is nearly singular), or if products might overflow or be subnormal. Numbers of theorems
    are those of Higham, Accuracy and Stability of Numerical Algorithms, second edition.
      cholesky: |dA| <= 4 (n + 2) u d d^T, where d are the roots of the diagonal (10.1). So |dL[j,i]| <= g[i] times the
        sum of |L[j,k]| g[k] over i <= k <= j, where g = |L^-1| d. info is certain if no pivot is within 16 times the
        error of 0.
      triangular-solve: the error is at most 2 (n + 2) u |T^-1| |T| |x| (8.1).
      lu: |dA| <= 4 (s + 2) u |L| |U| (9.3), where s is the smaller of the numbers of rows and columns. This is at most
        an outer product e f^T. In step k, A11 is the block of the first k rows and columns, A12, A21 and A22 are the
        other blocks, and e1, e2, f1, f2 are the parts of e and f. The Schur complement A22 - A21 A11^-1 A12 changes by
        at most the outer product of e2 + |A21 A11^-1| e1 and f2 + |A11^-1 A12|^T f1. A pivot is certain if it is the
        largest by more than the errors.
      qr: R[i,j] changes by at most 8 m u k times the length of A[j]. k is the condition number, in Frobenius' norm, of
        columns 0 to i scaled to length 1 (19.9 has a product of sizes in place of m, but only the worst case needs it).
        Reflectors and tau change by 16 m u k, because up to signs they are the LU factors of Q, with pivots of at least
        1.
        From the first column with an uncertain sign on, results may have any value.
      householder-product: the reflector 1 - tau v v^T adds an error of 4 m u (1 + 2 |tau| |v|^2) times the length of a
        column (19.2).
      tridiagonal-solve: the error is at most 32 u |A^-1| |A| |x| in the maximum norm (128 u for complex numbers). The
        diagonals that it returns may have any value.
      eigh, svd: values change by at most 8 n u |A| in Frobenius' norm (Weyl); for svd, n is the larger of the numbers
        of rows and columns. Vectors change by at most 2 (svd: 4) times this over the gap to the next value (Davis and
        Kahan). A vector may have any value in three cases: a component of the opposite sign may be the largest one; its
        eigenvalue or singular value is too close to another; it only completes a basis. For all vectors,
        tests/kernels/test_matrices.py checks that they are orthonormal and that the product of the factors is right.
  * Calls of LAPACK's routines allow any value. A function `NAME_holds` in the same file tests instead, in wider
    precision, whether the results fulfil the routine's promise: residuals of at most 64 n u |A|, orthonormal vectors,
    zero triangles, the order of values. It cannot judge a matrix with a nonzero element outside [2^-24, 2^24].
  * while and conditional have the intervals of the computations that the reference calls, with sums in the reference's
    order (control.py). If the condition of a loop or the index of a branch may differ, any value is allowed. Kernels
    contain no other loops (gen/plan/element_loops.py).
  * bitcast-convert and TOTALORDER read the bits of a NaN. If arithmetic produced the NaN, its bits are not specified,
    and the result may have any value.
  * Two uses of a value count as independent intervals, except in multiply(x, x) and compare(x, x).
  The bound does not cover kernels that flush subnormals (except in scatter's sums), that contract multiplications and
  additions, or that round f64 -> f16 twice.

FILES
  The bound uses the graph (gen.hlo) and the reference; the reference does not use the bound.
  files.py          the three functions above, and the choice of a module for each op: moves, control, reductions (with
                    combiners), scatter, select_and_scatter, products, transforms, matrices (with matrices.c), lapack
                    (with lapack.c)
  following.py      what these modules share, and elementwise ops
  intervals.py      the interval of an elementwise op
  ulps.py           the ulps that kernels promise
  types.py          intervals in C text
  head.c, ranges.c  the C functions that the text calls
"""

from __future__ import annotations

from gen.bounds.files import bitwise, bound, bound_file, unknown
from gen.bounds.lapack import is_proved
from gen.bounds.types import Options
from gen.bounds.ulps import LIBM_ULPS, ULPS

__all__ = ["bound", "bound_file", "bitwise", "is_proved", "unknown", "LIBM_ULPS", "Options", "ULPS"]
