"""The scalar reference of a fusion: C11 text, written from the graph, that says what each op means.

`reference(computation, name)` is plain loops, one nest an HLO op. It includes no sett header and uses none of the
project's index algebra: strides are computed here, from dims and minor_to_major, and positions in tiles by their
definition. It is to be compiled with -ffp-contract=off (and without -ffast-math); it has no undefined behaviour
(-fsanitize=undefined is clean).

    int NAME_ref(const void *const *params, void *const *results);    the results of right kernels, or near them

Parameters and results are flattened tuples, each in its own layout (minor_to_major, tiles, tail padding). Padding of
results is 0, that of parameters is not read. No buffer may overlap another. The answer is 0, or 1 when out of memory.
How near kernels must be is in gen/bounds.

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
  fft               by its definition, one dimension after another, in long double; rounded once. RFFT gives the first half
                    of the spectrum of its last dimension; IRFFT takes it, and what is its own conjugate counts as real.
                    IFFT and IRFFT divide by the number of elements.
  reduce-window     as reduce, over the window's elements that are inside: padding and holes of dilation are left out.
                    Where all windows end with a dimension, from there: combiner(element, result of the next place), as
                    HLO leaves the grouping open.
  select-and-scatter  from the init value; for each place of the window in row-major order the elements inside are
                      compared in that
                    order: select(best, next) keeps the best one; out[best] = scatter(source, out[best]).
  scatter           starts as the operands; rows of the indices in row-major order, then the window's elements: result =
                    combiner(result, update), each op rounding as elsewhere. An index is not clamped: a window that is
                    not all inside is left out whole.
  sort              stable: positions are merged in runs of 1, 2, 4, .., and of two elements the one that stood later goes
                    first only where the comparator says so. A comparator that is no order has this result too.
  topk              the first k of a row by value, the largest first, or the smallest; floats by TOTALORDER; of equal
                    elements the one with the lower index.
  pad               interior and negative amounts; pad value elsewhere. iota: the index, converted (integers wrap).
  dynamic-slice, dynamic-update-slice, gather
                    a start index, in its own type, is brought into 0 .. size of the dimension - size of the slice.
  bitcast           the same bytes: element k of memory stays element k (tiles: at its position). bitcast-convert: the
                    bits of each element. Between types of different widths: bit k of all elements in a row, the low
                    bits first, stays bit k. pred has the bits of a byte, 0 or 1; a byte that is not zero is true.
  reduce-precision  nearest even to the mantissa bits; too large: infinity; below the least normal: zero.
  Matrices are the last two dimensions; what stands before them counts them. Sums are in double for f32, in long double
  for f64, and rounded once. gen/hlo/custom_calls.py says what is of which routine of LAPACK.
  cholesky          A = L L^T, or U^T U, from the triangle that is read. The first pivot that is not above zero (a NaN
                    neither) makes the factor NaN; its number, from 1, is potrf's info. The other triangle is zero; that
                    of potrf is the operand's.
  triangular-solve  X of T X = B, or X T = B, where T is a triangle of A, transposed or not, its diagonal 1 or not.
                    ADJOINT is TRANSPOSE. x/0 is as elsewhere.
  lu                P A = L U: pivots are the rows, counted from 1, that are swapped with row 0, 1, ..: the first of the
                    largest. A pivot of zero is not divided by; info is the first one's number from 1.
  qr                Householder's reflectors I - tau v v^T, whose v[k] is 1: R's diagonal has the sign that the column
                    has not; a column of zeros below has a tau of 0 and keeps its sign.
  householder-product  the first columns of the product of the reflectors.
  tridiagonal-solve  row i is dl[i], d[i], du[i]. What is left of them is U's second, first diagonal and diagonal, as
                    gtsv leaves it (second in dl from 1 on). A pivot of zero makes X NaN; info is its number from 1.
  perturbed-tridiagonal-solve  the same matrices, as LAPACK's lagtf and lagts: neighbouring rows are swapped by their
                    pivots relative to the rows' sizes. A pivot below 1 whose row of X would overflow grows by the
                    machine epsilon times U's largest element, then by twice that, and so on, until it is large enough.
  eigh, svd         values ascend (eigh) or descend (svd). Of each vector (the left one of two) the component of largest
                    size is above zero, the first of several. Vectors that nothing decides complete an orthonormal
                    basis. An operand that is not finite gives NaN, and an info of 1. Without vectors their results are
                    the operand (eigh), zero (svd).
  lapack            what the routine of LAPACK gives on the same matrix.

  while             the condition, then the body, on the state before each iteration.
  conditional       of a pred the first computation is for true; of a number n the one at n, the last one where there is
                    none.

WHERE IT STANDS
  It shares the graph (gen.hlo) and the printing of C (gen.statements) with the rest of gen: no algebra, no planning, no
  targets, no bounds.
  files.py          the function above
  computation.py    a computation as steps, and which module knows which op: elementwise, moves, indexed, scatter,
                    select_and_scatter, reductions (with combiners), products, transforms; emitter.py: what they share
  complex_numbers.py, complex_functions.py    complex computations as real ones on the parts
  control.py        loops and branches: each computation that they call is a C function
  matrices.py, matrices.c    ops on matrices, as calls of C functions;  lapack.py: calls of the library
  elements.py       the value of an elementwise op
  types.py, loops.py, values.py    elements in C, loops and positions, the records of a reference under way
  values.c          the C functions that the text calls;  steps.c: statements of several lines;  library.py: notes which
  assembly.py       puts a file together, with head.c and, where it is long, parts.c
"""

from __future__ import annotations

from gen.reference.files import reference, reference_file

__all__ = ["reference", "reference_file"]
