"""The scalar reference of a fusion: C11 text, written from the graph, that defines the meaning of each op.

`reference(computation, name)` returns plain loops, one nest for each HLO op. It includes no sett header and does not
use the project's index algebra: strides are computed here from dims and minor_to_major, positions in tiles by their
definition. It must be compiled with -ffp-contract=off (and without -ffast-math); it has no undefined behaviour
(-fsanitize=undefined is clean).

    int NAME_ref(const void *const *params, void *const *results);

Parameters and results are flattened tuples, each in its own layout (minor_to_major, tiles, tail padding). Padding of
results is 0, padding of parameters is not read. Buffers must not overlap. The function returns 0, or 1 when out of
memory. gen/bounds defines how close a kernel's results must be to these.

THE MEANING OF EACH OP (kernels follow the same rules)
  every op          rounds to its own type before the next op reads its result; a NaN stays a NaN, with any payload
  f16, bf16         stored as 16 bits. + - * / sqrt and similar ops: in float, then to nearest even (which equals one
                    rounding); functions: in double, then one rounding. Results of type f32 keep subnormals.
  f8.., f4e2m1fn    as f16: in float, then to the nearest value. Beyond the largest value: infinity; NaN in fn and fnuz
                    types; the largest value in f4e2m1fn, which has -0 in place of NaN. fnuz types have no -0.
                    f8e8m0fnu: the nearest power of two, upwards from the midpoint; NaN for values that are not
                    positive.
  s4 u4 s2 u2       integers of their width. They and f4e2m1fn are packed in parameters and results, first element in
                    the low bits, with or without E(..) in the layout; unused bits of the last byte are zero.
  c64, c128         by parts, each step rounded: (ac - bd, ad + bc). abs: hypot, infinite if a part is. Division,
                    functions, and all special values: see gen/reference/complex_functions.py.
  f32 functions     in double, rounded once. f64 functions: libm. rsqrt is 1/sqrt(x), logistic 1/(1+exp(-x)).
  integers          wrap. x/0 is -1 (all ones), x rem 0 is x, MIN/-1 is MIN, MIN rem -1 is 0; / and rem truncate.
                    abs(MIN) and -MIN are MIN. sign is -1, 0, 1. A shift by at least the width (the amount read as
                    unsigned) gives 0, or the sign in all bits for shift-right-arithmetic; shift-right-logical works on
                    the bits, whatever the signedness. count-leading-zeros(0) is the width.
  integer power     by squaring, wrapping; x^-n is 1 for x = 1, +-1 for x = -1 (by n's parity), else 0 (also for x = 0).
  pred              one byte, 0 or 1. add, maximum, or: or. multiply, minimum, and: and. subtract, xor: xor.
  maximum, minimum  a != a ? a : b != b ? b : a >= b ? a : b; for minimum with <=. Of two zeros, the first one wins.
  clamp             minimum(maximum(x, low), high), with x first both times: clamp(1, x, 0) is 0.
  remainder         fmod: exact, with the sign of the dividend; x rem 0 is NaN.
  sign              NaN for NaN, a zero for the same zero. floor, ceil, round-nearest-even: IEEE. round-nearest-afz:
                    halves away from zero. is-finite: neither infinite nor NaN.
  power             C pow: x^0 and 1^y are 1, even for NaN.
  compare           with NaN: NE is true, all others are false; -0 equals +0. TOTALORDER: by the bits, -NaN lowest,
                    -0 < +0.
  convert           float to integer truncates and saturates, NaN gives 0. Integer to integer wraps. Float and integer
                    to pred: x != 0 (true for NaN); pred to others: 0 or 1. Integer to f32, f64: to nearest even, once.
                    Integer to f16, bf16: to f32 first. Float to float: to nearest even, once (f64 to bf16 too).
  reduce            starts with the init value, then combiner(accumulator, element) for the elements in row-major order
                    of the reduced dims; each op of the combiner rounds as elsewhere.
  dot, convolution  operands are converted to the accumulator's type (f64 if an operand or the result is f64; f32 for
                    other floats; else the result's type). Products and sums are rounded to it; the sum starts at 0 and
                    goes through the contracted dimensions (a window's, then input features) in row-major order; the
                    result is converted once at the end. scaled-dot: each operand, converted, is first multiplied by the
                    element of its scale whose block contains it, and rounded. pred: or of ands. Complex: by parts.
                    Padding and holes add nothing.
  fft               by its definition, one dimension after another, in long double; rounded once. RFFT returns the first
                    half of the spectrum of its last dimension. IRFFT takes that half; elements that are their own
                    conjugates count as real. IFFT and IRFFT divide by the number of elements.
  reduce-window     as reduce, over the window's elements that are inside: padding and holes of dilation are skipped. If
                    all windows end at the end of a dimension, it is combiner(element, result of the next place), which
                    is allowed because HLO leaves the grouping open.
  select-and-scatter  starts with the init value. For each place of the window in row-major order, the elements inside
                    are compared in that order, and select(best, next) keeps the best one; then
                    out[best] = scatter(source, out[best]).
  scatter           starts with the operands; goes through the rows of the indices in row-major order, then through the
                    window's elements: result = combiner(result, update), each op rounding as elsewhere. An index is not
                    clamped: a window that is not completely inside is dropped.
  sort              stable: positions are merged in runs of 1, 2, 4, ..; of two elements, the later one goes first only
                    if the comparator says so. This also defines the result for a comparator that is not an order.
  topk              the first k of a row by value, the largest or the smallest first; floats by TOTALORDER; of equal
                    elements, the one with the lower index.
  pad               interior and negative amounts; the pad value elsewhere. iota: the index, converted (integers wrap).
  dynamic-slice, dynamic-update-slice, gather
                    a start index, in its own type, is clamped to 0 .. size of the dimension - size of the slice.
  bitcast           the same bytes: element k of memory stays element k (tiles: at its position). bitcast-convert: the
                    bits of each element. Between types of different widths: bit k of the sequence of all elements, low
                    bits first, stays bit k. pred has the bits of a byte, 0 or 1; any byte but 0 is true.
  reduce-precision  to nearest even with the mantissa bits; too large: infinity; below the smallest normal number: zero.
  Matrices are the last two dimensions; the dimensions before them count the matrices. Sums are in double for f32, in
  long double for f64, and rounded once. gen/hlo/custom_calls.py names the routines of LAPACK.
  cholesky          A = L L^T, or U^T U, from the triangle that is read. The first pivot that is not above zero (NaN
                    included) makes the factor NaN; its number, from 1, is potrf's info. The other triangle is zero; for
                    potrf it is the operand's.
  triangular-solve  X of T X = B, or of X T = B; T is a triangle of A, transposed or not, with its own diagonal or ones.
                    ADJOINT means TRANSPOSE. x/0 is as elsewhere.
  lu                P A = L U: pivots are the rows, counted from 1, that are swapped with row 0, 1, ..: the first of the
                    largest. A zero pivot is not divided by; info is the number of the first one, from 1.
  qr                Householder's reflectors I - tau v v^T with v[k] = 1. R's diagonal has the sign opposite to the
                    column's; if a column is zero below the diagonal, tau is 0 and the sign stays.
  householder-product  the first columns of the product of the reflectors.
  tridiagonal-solve  row i is dl[i], d[i], du[i]. Afterwards they contain U's second superdiagonal, diagonal and first
                    superdiagonal, as gtsv leaves them (the second superdiagonal in dl from 1 on). A zero pivot makes X
                    NaN; info is its number from 1.
  perturbed-tridiagonal-solve  the same matrices, by the method of LAPACK's lagtf and lagts: neighbouring rows are
                    swapped by their pivots relative to the rows' sizes. If a pivot below 1 would let its row of X
                    overflow, it grows by the machine epsilon times U's largest element, then by twice that, and so on,
                    until it is large enough.
  eigh, svd         values ascend (eigh) or descend (svd). In each vector (for svd, in the left one of a pair) the first
                    component of largest size is positive. Vectors that the matrix does not determine complete an
                    orthonormal basis. An operand that is not finite gives NaN, and info 1. If no vectors are requested,
                    their results are the operand (eigh) or zero (svd).
  lapack            the result of the LAPACK routine on the same matrix.

  while             the condition, then the body, on the state before each iteration.
  conditional       of a pred: the first computation is for true. Of a number n: computation n; the last one if n is out
                    of range.

FILES
  The reference shares the graph (gen.hlo) and the printing of C (gen.statements) with the rest of gen, but no algebra,
  planning, targets or bounds.
  files.py          the function above
  computation.py    a computation as steps, and the module for each op: elementwise, moves, indexed, scatter,
                    select_and_scatter, reductions (with combiners), products, transforms; emitter.py: their common part
  complex_numbers.py, complex_functions.py    complex computations as real ones on the parts
  control.py        loops and branches: each computation that they call is a C function
  matrices.py, matrices.c    ops on matrices, as calls of C functions;  lapack.py: calls of the library
  elements.py       the value of an elementwise op
  types.py, loops.py, values.py    elements in C, loops and positions, the records of a reference
  values.c          the C functions that the text calls;  steps.c: statements of several lines;  library.py: records
                    the functions and statements that are used
  assembly.py       assembles a file, with head.c and, if it is long, parts.c
"""

from __future__ import annotations

from gen.reference.files import reference, reference_file

__all__ = ["reference", "reference_file"]
