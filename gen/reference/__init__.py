"""The scalar reference of a fusion: C11 text, made from the graph, that defines what each op means.

`reference(computation, name)` returns plain loops, one loop nest for each HLO op. The text includes no header of sett
and does not use the project's index algebra. Strides are computed here from dims and minor_to_major, and positions in
tiles follow the definition of tiles. The text must be compiled with -ffp-contract=off and without -ffast-math. It has
no undefined behaviour: -fsanitize=undefined finds none.

    int NAME_ref(const void *const *params, void *const *results);

The arrays are those of the parameters and results, with tuples flattened. Each has its own layout (minor_to_major,
tiles, tail padding). The padding of results is written as 0, and the padding of parameters is not read. Buffers must
not overlap. The function returns 0, or 1 if there is not enough memory. gen/bounds defines how close the results of a
kernel must be to the results of the reference.

THE MEANING OF EACH OP (kernels follow the same rules)
  every op          The result is rounded to its type before the next op reads it. A NaN remains a NaN, but may have
                    another payload.
  f16, bf16         A value is stored as 16 bits. + - * / sqrt and similar ops are computed in float, and rounded to
                    the nearest value, ties to even; that equals a single rounding. Functions are computed in double,
                    and rounded once. If the result has type f32, subnormal results are kept.
  f8.., f4e2m1fn    Ops are computed in float, as for f16, and rounded to the nearest value. Above the largest value,
                    the result is infinity; in fn and fnuz types it is NaN, and in f4e2m1fn the largest value.
                    f4e2m1fn has no NaN, so -0 stands for it. fnuz types have no -0. In f8e8m0fnu, the result is the
                    nearest power of two, where a midpoint is rounded up; it is NaN if the value is not positive.
  s4 u4 s2 u2       These are integers of their width. In parameters and results, they and f4e2m1fn are packed, with or
                    without E(..) in the layout. The first element is in the low bits of a byte, and unused bits of the
                    last byte are zero.
  c64, c128         Ops are computed on the real and imaginary parts, and each step rounds: the product of a + ib and
                    c + id is (ac - bd, ad + bc). abs is hypot, and is infinite if a part is.
                    gen/reference/complex_functions.py defines division, functions, and all special values.
  f32 functions     They are computed in double, and rounded once. f64 functions are those of libm. rsqrt is 1/sqrt(x),
                    and logistic is 1/(1+exp(-x)).
  integers          Results wrap. x/0 is -1 (all bits set), x rem 0 is x, MIN/-1 is MIN, and MIN rem -1 is 0; / and rem
                    truncate. abs(MIN) and -MIN are MIN. sign is -1, 0 or 1. The amount of a shift is read as unsigned.
                    A shift by at least the width gives 0; shift-right-arithmetic gives the sign in all bits.
                    shift-right-logical shifts the bits, even if the type is signed. count-leading-zeros(0) is the
                    width.
  integer power     It is computed by squaring, and wraps. x^-n is 1 if x is 1, +-1 if x is -1 (by the parity of n), and
                    otherwise 0, even for x = 0.
  pred              A value is a byte, 0 or 1. add and maximum are or; multiply and minimum are and; subtract is xor.
  maximum, minimum  The maximum of a and b is a != a ? a : b != b ? b : a >= b ? a : b, and the minimum is the same with
                    <=. So the result is the first NaN, if there is one, and of two zeros it is the first.
  clamp             It is minimum(maximum(x, low), high), where x is the first operand both times: clamp(1, x, 0) is 0.
  remainder         It is fmod: exact, with the sign of the dividend. x rem 0 is NaN.
  sign              The sign of a NaN is NaN, and the sign of a zero is the same zero. floor, ceil and
                    round-nearest-even follow IEEE. round-nearest-afz rounds halves away from zero. is-finite is false
                    for infinities and NaN.
  power             It is pow of C: x^0 and 1^y are 1, even if the other operand is NaN.
  compare           With a NaN, NE is true and all others are false. -0 equals +0. TOTALORDER compares the bits: -NaN is
                    the lowest, and -0 < +0. The NaN of a type without -0 is -NaN; f8e8m0fnu has no signs.
  convert           Float to integer truncates and saturates, and NaN becomes 0. Integer to integer wraps. Float or
                    integer to pred is x != 0, which is true for NaN. pred to another type is 0 or 1. Integer to f32 or
                    f64 rounds once, to the nearest value, ties to even. Integer to f16 or bf16 is converted to f32
                    first. Float to float rounds once, to the nearest value, ties to even, also from f64 to bf16.
  reduce            The accumulator starts with the init value. It becomes combiner(accumulator, element) for each
                    element, in row-major order of the reduced dims. Each op of the combiner rounds.
  dot, convolution  Operands are converted to the accumulator's type. It is f64 if an operand or the result is f64, f32
                    for other floats, and otherwise the result's type. Products and sums are rounded to this type. The
                    sum starts at 0 and goes through the contracted dimensions in row-major order; for a convolution,
                    these are the window's dimensions and then the input features. The sum is converted to the result's
                    type at the end. In scaled-dot, each converted element is first multiplied by the scale of its block
                    of elements, and rounded. For pred, the result is an or of ands. Complex numbers are multiplied by
                    parts. Padding and holes add nothing.
  fft               It is computed by its definition in long double, along one dimension after another, and rounded
                    once. RFFT returns the first half of the spectrum of its last dimension. IRFFT takes that half; an
                    element that is its own conjugate counts as real. IFFT and IRFFT divide by the number of elements.
  reduce-window     It is a reduce over the elements of the window that are inside the operand; padding and holes of
                    dilation are skipped. If every window extends to the end of a dimension, the window at an element
                    contains the window at the next element; its result is combiner(element, result of the next window).
                    HLO allows this, because it leaves the grouping open.
  select-and-scatter  The result starts with the init value. The window goes through its places in row-major order. At
                    each place, the elements inside the operand are compared, also in row-major order: the best element
                    is kept if select(best, next) is true. Then out[best] becomes scatter(source, out[best]).
  scatter           The result starts with the operands. It goes through the rows of the indices in row-major order, and
                    in each row through the window's elements: result becomes combiner(result, update), and each op
                    rounds. Indices are not clamped; a window that is not completely inside is dropped.
  sort              It is a stable merge sort, with runs of 1, 2, 4, .. elements. Of two elements, the later one comes
                    first only if the comparator says so. This also defines the result of a comparator that is not an
                    order.
  topk              The result is the first k elements of a row, sorted by value from the largest or from the smallest.
                    Floats are compared by TOTALORDER. Of equal elements, the one with the lower index comes first.
  pad               Interior and negative amounts are allowed. All other elements are the pad value.
  iota              An element is its index, converted to the type; integers wrap.
  dynamic-slice, dynamic-update-slice, gather
                    A start index is clamped in its own type to 0 .. (size of the dimension - size of the slice).
  bitcast           The bytes are the same: element k of memory remains element k, also in tiles.
  bitcast-convert   The bits of each element are the same. If the types have different widths, bit k of the sequence of
                    all elements remains bit k, where low bits come first. pred has the bits of a byte, 0 or 1; any
                    other byte than 0 is true.
  reduce-precision  The mantissa is rounded to fewer bits, ties to even. A value that is too large for the exponent
                    becomes infinity, and a value below the smallest normal number becomes zero.
  Matrices are the last two dimensions; the dimensions before them form a batch of matrices. Sums are computed in double
  for f32 and in long double for f64, and rounded once. gen/hlo/custom_calls.py names the routines of LAPACK.
  cholesky          A = L L^T, or U^T U, is computed from the triangle that is read. If a pivot is not above zero (NaN
                    included), the factor is NaN, and the number of the first such pivot, from 1, is info of potrf. The
                    other triangle is zero; for potrf, it is that of the operand.
  triangular-solve  The result is X of T X = B, or of X T = B. T is a triangle of A, transposed or not, with its own
                    diagonal or a diagonal of ones. ADJOINT means TRANSPOSE. Division by zero is as for other ops.
  lu                P A = L U. pivots[k], counted from 1, is the row that is swapped with row k, counted from 0. Each
                    pivot is the first element of the largest magnitude in its column, from the diagonal on. Nothing is
                    divided by a zero pivot; info is the number of the first zero pivot, from 1.
  qr                Reflector k is Householder's, I - tau[k] v v^T with v[k] = 1. An element of R's diagonal has the
                    sign opposite to that of the element which it replaces. If a column is zero below the diagonal, tau
                    is 0, and the sign is unchanged.
  householder-product  The result is the first columns of the product of the reflectors.
  tridiagonal-solve  Row i of the matrix is dl[i], d[i], du[i]. Elimination makes it an upper triangular matrix U.
                    The results in place of dl, d and du are the second superdiagonal of U (from dl[1] on), its diagonal
                    and its first superdiagonal, as gtsv leaves them. If a pivot is zero, X is NaN, and info is its
                    number, from 1.
  perturbed-tridiagonal-solve  The matrices are those of tridiagonal-solve. The method is that of lagtf and lagts of
                    LAPACK: neighbouring rows are swapped by their pivots, compared with the sizes of the rows. If a
                    pivot below 1 would let its row of X overflow, the machine epsilon times the largest element of U
                    is added to the pivot, then twice that, and so on, until the pivot is large enough.
  eigh, svd         Values are in ascending order (eigh) or descending order (svd). In each vector (for svd, in the left
                    one of a pair), the first of the largest components is positive. Vectors that the matrix does not
                    determine complete an orthonormal basis. If the operand is not finite, the results are NaN, and
                    info is 1. If no vectors are requested, the result in their place is the operand (eigh) or
                    zero (svd).
  lapack            The result is that of the LAPACK routine on the same matrix.

  while             Each iteration computes the condition and then the body, on the state before the iteration.
  conditional       For a pred, the first computation is for true. For a number n, computation n is called, or the last
                    one if n is out of range.

FILES
  The reference shares the graph (gen.hlo) and the printing of C (gen.statements) with the rest of gen. It does not use
  gen's algebra, planning, targets or bounds.
  files.py          the function `reference`
  computation.py    turns a computation into steps. Modules for the ops: elementwise, moves, indexed, scatter,
                    select_and_scatter, reductions (with combiners), products, transforms. emitter.py: what these share
  complex_numbers.py, complex_functions.py    complex computations as computations on real and imaginary parts
  control.py        loops and branches: each computation that they call is a C function
  matrices.py, matrices.c    ops on matrices, as calls of C functions;  lapack.py: calls of LAPACK
  elements.py       the value of an elementwise op
  types.py, loops.py, values.py    elements in C; loops and positions; arrays and steps of a reference
  values.c          the C functions that the text calls;  steps.c: statements of several lines;  library.py: records
                    the functions and statements that are used
  assembly.py       assembles a file, with head.c and, if the file is long, parts.c
"""

from __future__ import annotations

from gen.reference.files import reference, reference_file

__all__ = ["reference", "reference_file"]
