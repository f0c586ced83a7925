"""The scalar reference of a fusion, and the bound that a right kernel keeps: both C11 text, written from the graph.

`reference(computation, name)` is plain loops, one nest an HLO op. It includes no sett header and uses none of the
project's index algebra: strides are computed here, from dims and minor_to_major, and positions in tiles by their definition. `bound(computation, name)` runs
the same ops on intervals. Both are to be compiled with -ffp-contract=off (and without -ffast-math); neither has
undefined behaviour (-fsanitize=undefined is clean).

    int NAME_ref(const void *const *params, void *const *results);    the results of right kernels, or near them
    int NAME_bound(const void *const *params, double *const *bounds);    how near
    bitwise(computation)                                              which results have no bit to spare

Parameters and results are flattened tuples, each in its own layout (minor_to_major, tiles, tail padding); bounds[k] has an element for
each element of results[k], at the same position. Padding of results is 0, that of parameters is not read. No buffer may overlap another. The answer is 0, or 1 when out of memory.

WHAT EACH OP MEANS (kernels follow the same rules)
  every op          rounds to its own type before the next one reads it; a NaN stays a NaN, its payload is free
  f16, bf16         stored as 16 bits. + - * / sqrt and the like: in float, then to nearest even (the same as one
                    rounding); functions: in double, then one rounding. A float32 that is written keeps subnormals.
  f8.., f4e2m1fn    as f16: in float, then to the nearest value. Past the largest: infinity; NaN in fn and fnuz types; the
                    largest in f4e2m1fn, whose -0 stands for a NaN. fnuz: no -0. f8e8m0fnu: the nearest power of two, up
                    from the middle; NaN of what is not positive.
  s4 u4 s2 u2       as integers of their width. They and f4e2m1fn lie several to a byte in parameters and results, the first
                    in the low bits, with or without E(..) in the layout; what is left of the last byte is zero.
  c64, c128         by parts, each step rounded: (ac - bd, ad + bc); / by Smith's way, the larger part of the divisor first;
                    abs: hypot, infinite where a part is; functions: gen/reference/complex_functions.py. x / 0 is NaN.
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
  dot, convolution  operands converted to the accumulator's type (f64 where one is or the result is; f32 for other floats; else the
                    result's), products and sums rounded to it, the contracted (a window's, then input features) in row-major
                    order from 0; one conversion at the end. scaled-dot: each operand, converted, times the element of its scale whose block
                    it is in, rounded; then the dot. pred: or of ands. Complex: by parts. Padding and holes add nothing.
  reduce-window     as reduce, over the window's elements that are inside: padding and holes of dilation are left out.
  select-and-scatter  from the init value; for each place of the window in row-major order the elements inside are compared in that
                    order: select(best, next) keeps the best one; out[best] = scatter(source, out[best]).
  scatter           starts as the operands; rows of the indices in row-major order, then the window's elements: result = combiner(result,
                    update), each op rounding as elsewhere. An index is not clamped: a window that is not all inside is left out whole.
  pad               interior and negative amounts; pad value elsewhere. iota: the index, converted (integers wrap).
  dynamic-slice, dynamic-update-slice, gather
                    a start index, in its own type, is brought into 0 .. size of the dimension - size of the slice.
  bitcast           the same bytes: element k of memory stays element k (tiles: at its position). bitcast-convert: the bits of each element.
                    Between types of different widths: bit k of all elements in a row, the low bits first, stays bit k.
  reduce-precision  nearest even to the mantissa bits; too large: infinity; below the least normal: zero.

THE BOUND: what a kernel may differ by
  Each value is an interval [lo, hi] that holds every value that a right kernel may have there, the reference's own
  among them. `all` = [-inf, inf] also says that NaN is possible; [NaN, NaN] says that it is certain.
  bound = max(hi - v, v - lo): 0 demands equality (of values: NaN equals NaN, -0 equals +0; `bitwise` says where the
  bits must agree), infinity accepts anything. For pred and integers it is the difference of the integers.
  * Parameters, constants, moves, integer ops, exact float ops, comparisons: no error of their own. An instruction which only
    such ops and correctly rounded ones (+ - * /, sqrt, conversions) lead to is exact, and this is decided statically.
  * A correctly rounded op on intervals: the op on the ends (all corners for * and /; NaN at some but not all: `all`;
    a divisor which may be zero: `all`), each end rounded to the type: rounding is monotone, so nothing is lost.
  * A function: its value at the ends (sin, cos: slope at most 1; tan, power, atan2: monotone pieces, else the whole
    image), widened by the ulps below, then rounded to the type. Ulps are those of float for f16, bf16, f32 (kernels compute
    the small types in float) and of double for f64, where libm's own error is added. So a bf16 result moves only
    where the float budget crosses a rounding boundary.
  * floor, ceil, round, sign, conversions to integer: monotone, so the ends decide. Compare and select: where the intervals
    do not decide, both outcomes.
  * reduce with add on floats: kernels may take any order, so n additions may move the sum by n * u * sum |x| (u half an
    ulp of 1; true for every order of summation and every n, Jeannerod and Rump 2013); where a partial sum might
    overflow, `all`. multiply: (1 + u)^n - 1 relative, if no partial product can leave the normal range. Bitwise ops,
    maximum, minimum, integer sums do not depend on order. Other combiners are taken in the reference's order, and so
    is everything with reassociate=False.
  * dot and convolution of floats: products may be rounded or fused into the sum, in any order: n of them may move it by
    (n + 2) * u * sum |a b| and n least subnormals; u of the accumulator's type. Complex ones: twice as many terms.
  * select-and-scatter: in the reference's order; where what is compared has an error of its own, each element that may be the best one
    may have been combined or not (of windows of more than 256 elements nothing is known).
  * scatter: kernels may take the updates of an element in any order. n of them that are added are bounded as a reduce's sum is; in CUDA's
    atomicAdd subnormals of f32 (there, added or coming out) count as zeros: 2 n of the least normal more. What no order changes has no
    error of its own. Of other combiners, and of unique indices that a check cannot draw so, nothing is known where two updates meet.
  * excess_precision: between ops on f16 and bf16 a kernel may or may not keep a float: both are in the interval.
  * dynamic-slice, dynamic-update-slice, gather: where a start index is not certain, any element may be anything.
  * bitcast-convert and TOTALORDER read the bits of a NaN; where arithmetic made it they are free, and so is the result.
  * A value used twice is two independent intervals, except in multiply(x, x) and compare(x, x).
  Not covered: kernels that flush subnormals (but for scatter's sums), contract to fused multiply-add, or round f64 -> f16 twice.
"""

from __future__ import annotations

import math
import re
import struct
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Callable, Dict, List, Mapping, Optional, Sequence, Set, Tuple, Union

from gen.hlo import dtypes as table
from gen.hlo.opcodes import ELEMENTWISE
from gen.reference import complex_functions

if TYPE_CHECKING:
    from gen.hlo import Computation, Instruction, Shape

__all__ = ["reference", "bound", "bitwise", "unknown", "ULPS"]

# Ulps that a kernel's op may be wrong by; _monotone says what logistic's underflow does. hypot, |z| of complex numbers, is a step of complex functions.
ULPS: Dict[str, float] = {**{opcode: row.ulps for opcode, row in ELEMENTWISE.items() if row.ulps is not None}, "hypot": 4}
MOST_COMPARED = 256     # elements of a window of select-and-scatter whose choice is followed
LIBM_ULPS = 4.0  # glibc's worst of these in double (cbrt); 2 or less for most

_OWN = {"logistic": "logistic", "rsqrt": "inverse_sqrt", "power": "power", "hypot": "magnitude"}     # in the C library below
FUNCTIONS = {opcode: _OWN.get(opcode) or ELEMENTWISE[opcode].function for opcode, ulps in ULPS.items() if ulps > 0.5}   # opcode -> C function on double

STORAGE = {"pred": "uint8_t", "s8": "int8_t", "u8": "uint8_t", "s16": "int16_t", "u16": "uint16_t", "s32": "int32_t",
           "u32": "uint32_t", "s64": "int64_t", "u64": "uint64_t", "f16": "uint16_t", "bf16": "uint16_t", "f32": "float",
           "f64": "double", "s2": "int8_t", "u2": "uint8_t", "s4": "int8_t", "u4": "uint8_t"}
TINY = ("f8e5m2", "f8e4m3", "f8e3m4", "f8e4m3fn", "f8e5m2fnuz", "f8e4m3fnuz", "f8e4m3b11fnuz", "f8e8m0fnu", "f4e2m1fn")
STORAGE.update((dtype, "uint8_t") for dtype in TINY)
NARROW = ("s2", "u2", "s4", "u4")   # an element a byte here, packed in parameters and results only
PACKED = NARROW + ("f4e2m1fn",)
FLOATS = ("f16", "bf16", "f32", "f64") + TINY
SMALL = ("f16", "bf16")
STORAGE["range_sum"] = "range_sum"    # what a bound keeps of each element of a scatter
UNIT = {"f16": 11, "bf16": 8, "f32": 24, "f64": 53}       # significant bits
LARGEST = {"f16": "65504.0", "bf16": "0x1.fep127", "f32": "0x1.fffffep127", "f64": "0x1.fffffffffffffp1023"}
LEAST = {"f32": "0x1p-149", "f64": "0x1p-1074"}
LEAST_NORMAL = {"f16": "0x1p-14", "bf16": "0x1p-126", "f32": "0x1p-126", "f64": "0x1p-1022"}
INTEGER_FORMAT = re.compile(r"([su])(8|16|32|64)$")


def _bits(dtype: str) -> int:
    return 8 if dtype == "pred" else int(re.search(r"\d+", dtype).group())  # type: ignore[union-attr]


def _signed(dtype: str) -> bool:
    return dtype[0] == "s"


def _wide(dtype: str) -> str:
    """The unsigned type in which arithmetic of an integer type wraps without undefined behaviour."""
    return "uint64_t" if _bits(dtype) == 64 else "uint32_t"


# ---------------------------------------------------------------------------------------------------------------------
# The C helpers. A file carries those it uses, each after what it needs.

_FIXED: Dict[str, str] = {
    "f16_to_float": """
static float f16_to_float(uint16_t h) {
  const uint32_t sign = (uint32_t)(h & 0x8000u) << 16, exponent = (h >> 10) & 0x1fu, fraction = h & 0x3ffu;
  uint32_t bits;
  float value;
  if (exponent == 0) {
    value = (float)fraction * 0x1p-24f;
    return sign != 0 ? -value : value;
  }
  bits = sign | (exponent == 31 ? 0x7f800000u : (exponent + 112) << 23) | fraction << 13;
  memcpy(&value, &bits, sizeof value);
  return value;
}""",
    "f16_from_double": """
static uint16_t f16_from_double(double x) {
  const double a = fabs(x);
  uint64_t bits;
  uint32_t sign;
  memcpy(&bits, &x, sizeof bits);
  sign = (uint32_t)(bits >> 48) & 0x8000u;
  if (x != x) return (uint16_t)(sign | 0x7e00u | ((uint32_t)(bits >> 42) & 0x3ffu));
  if (a >= 65520.0) return (uint16_t)(sign | 0x7c00u);
  if (a < 0x1p-14) return (uint16_t)(sign | (uint32_t)rint(a * 0x1p24));
  bits &= 0x7fffffffffffffffu;
  bits += 0x1ffffffffffu + (bits >> 42 & 1u);
  return (uint16_t)(sign | ((uint32_t)(bits >> 42) - (1008u << 10)));
}""",
    "bf16_to_float": """
static float bf16_to_float(uint16_t h) {
  const uint32_t bits = (uint32_t)h << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}""",
    "bf16_from_float": """
static uint16_t bf16_from_float(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  if (x != x) return (uint16_t)(bits >> 16 | 0x40u);
  return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}""",
    "bf16_from_double": """
static uint16_t bf16_from_double(double x) {
  /* to float with the last bit set where that is not exact, so that the second rounding is the only one */
  float f = (float)x;
  if ((double)f != x && x == x) {
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    if (fabs((double)f) > fabs(x)) bits -= 1;
    bits |= 1u;
    memcpy(&f, &bits, sizeof f);
  }
  return bf16_from_float(f);
}""",
    "logistic": """
static double logistic(double x) { return 1.0 / (1.0 + exp(-x)); }""",
    "inverse_sqrt": """
static double inverse_sqrt(double x) { return 1.0 / sqrt(x); }""",
    "power": """
/* pow, which may answer with a NaN for a signalling one where it says 1 for all others */
static double power(double x, double y) { return y == 0.0 || x == 1.0 ? 1.0 : pow(x, y); }""",
    # Intervals of floats: every value is a double, whatever the type.
    "range": """
typedef struct {
  double lo, hi;
} range;""",
    "range_of": """
static range range_of(double lo, double hi) {
  range r;
  r.lo = lo;
  r.hi = hi;
  return r;
}""",
    "s64_index": """
static int64_t s64_index(int64_t x, int64_t last) { return x < 0 ? 0 : x > last ? last : x; }""",
    "u64_index": """
static int64_t u64_index(uint64_t x, int64_t last) { return x > (uint64_t)last ? last : (int64_t)x; }""",
    "range_all": """
static range range_all(void) { return range_of(-INFINITY, INFINITY); }""",
    "range_is_all": """
static bool range_is_all(range r) { return r.lo == -INFINITY && r.hi == INFINITY; }""",
    "range_is_point": """
static bool range_is_point(range r) {
  return (r.lo == r.hi && !signbit(r.lo) == !signbit(r.hi)) || (r.lo != r.lo && r.hi != r.hi);
}""",
    "lesser": """
static double lesser(double a, double b) {
  if (a < b) return a;
  return a == b && signbit(a) ? a : b;
}""",
    "greater": """
static double greater(double a, double b) {
  if (a > b) return a;
  return a == b && !signbit(a) ? a : b;
}""",
    "range_between": """
static range range_between(double a, double b) {
  if (a != a && b != b) return range_of(a, b);
  if (a != a || b != b) return range_all();
  return range_of(lesser(a, b), greater(a, b));
}""",
    "range_hull": """
static range range_hull(range a, range b) {
  if (a.lo != a.lo && b.lo != b.lo) return a;
  return range_of(range_between(a.lo, b.lo).lo, range_between(a.hi, b.hi).hi);
}""",
    "range_with": """
static range range_with(range r, double v) {
  if (r.lo <= v && v <= r.hi && v != 0.0) return r;
  return range_hull(range_between(r.lo, r.hi), range_of(v, v));
}""",
    "ulp_f32": """
static double ulp_f32(double y) {
  uint64_t bits;
  double power;
  if (!(fabs(y) < INFINITY)) return 0.0;
  y *= 0x1.0000000000008p0; /* the libm's y may be just below a power of two where the true one is not */
  memcpy(&bits, &y, sizeof bits);
  bits &= 0x7ff0000000000000u;
  memcpy(&power, &bits, sizeof power);
  return power > 0x1p-126 ? power * 0x1p-23 : 0x1p-149;
}""",
    "ulp_f64": """
static double ulp_f64(double y) {
  uint64_t bits;
  double power;
  if (!(fabs(y) < INFINITY)) return 0.0;
  y *= 0x1.0000000000008p0; /* the libm's y may be just below a power of two where the true one is not */
  memcpy(&bits, &y, sizeof bits);
  bits &= 0x7ff0000000000000u;
  memcpy(&power, &bits, sizeof power);
  return power > 0x1p-1022 ? power * 0x1p-52 : 0x1p-1074;
}""",
    "range_widen_f32": """
static range range_widen_f32(range r, double ulps) {
  return range_of(r.lo - ulps * ulp_f32(r.lo), r.hi + ulps * ulp_f32(r.hi));
}""",
    "range_widen_f64": """
static range range_widen_f64(range r, double ulps) {
  return range_of(r.lo - ulps * ulp_f64(r.lo), r.hi + ulps * ulp_f64(r.hi));
}""",
    "range_round_f16": """
static range range_round_f16(range r) {
  return range_of((double)f16_to_float(f16_from_double(r.lo)), (double)f16_to_float(f16_from_double(r.hi)));
}""",
    "range_round_bf16": """
static range range_round_bf16(range r) {
  return range_of((double)bf16_to_float(bf16_from_double(r.lo)), (double)bf16_to_float(bf16_from_double(r.hi)));
}""",
    "range_kept_f16": """
/* rounded to f16, or to float only */
static range range_kept_f16(range r) {
  const range small = range_round_f16(r), single = range_round_f32(r);
  return range_of(lesser(small.lo, single.lo), greater(small.hi, single.hi));
}""",
    "range_kept_bf16": """
/* rounded to bf16, or to float only */
static range range_kept_bf16(range r) {
  const range small = range_round_bf16(r), single = range_round_f32(r);
  return range_of(lesser(small.lo, single.lo), greater(small.hi, single.hi));
}""",
    "range_sign": """
static range range_sign(range r) { return range_is_all(r) ? r : range_of(f64_sign(r.lo), f64_sign(r.hi)); }""",
    "range_round_f32": """
static range range_round_f32(range r) { return range_of((double)(float)r.lo, (double)(float)r.hi); }""",
    "range_add": """
static range range_add(range a, range b) {
  if (range_is_all(a) || range_is_all(b)) return range_all();
  return range_of(a.lo + b.lo, a.hi + b.hi);
}""",
    "range_subtract": """
static range range_subtract(range a, range b) {
  if (range_is_all(a) || range_is_all(b)) return range_all();
  return range_of(a.lo - b.hi, a.hi - b.lo);
}""",
    "range_corners": """
static range range_corners(double a, double b, double c, double d) {
  return range_hull(range_between(a, b), range_between(c, d));
}""",
    "range_multiply": """
static range range_multiply(range a, range b) {
  if (range_is_all(a) || range_is_all(b)) return range_all();
  return range_corners(a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi);
}""",
    "range_square": """
static range range_square(range a) {
  range r = range_between(a.lo * a.lo, a.hi * a.hi);
  if (range_is_all(a)) return a;
  if (a.lo < 0.0 && a.hi > 0.0) r.lo = 0.0;
  return r;
}""",
    "range_divide": """
static range range_divide(range a, range b) {
  if (range_is_all(a) || range_is_all(b)) return range_all();
  if (!range_is_point(b) && b.lo <= 0.0 && b.hi >= 0.0) return range_all();
  return range_corners(a.lo / b.lo, a.lo / b.hi, a.hi / b.lo, a.hi / b.hi);
}""",
    "range_remainder": """
static range range_remainder(range a, range b) {
  /* |result| <= |a| and < |b|, with a's sign; on one branch of fmod it grows with a */
  const double most = fmax(fabs(b.lo), fabs(b.hi));
  double lo, hi;
  if (range_is_point(a) && range_is_point(b)) return range_between(fmod(a.lo, b.lo), fmod(a.lo, b.lo));
  if (range_is_all(a) || range_is_all(b) || (b.lo <= 0.0 && b.hi >= 0.0) || b.lo != b.lo) return range_all();
  if (!(fabs(a.lo) < INFINITY) || !(fabs(a.hi) < INFINITY)) return range_all();
  lo = fmod(a.lo, b.lo);
  hi = fmod(a.hi, b.lo);
  if (range_is_point(b) && (a.lo >= 0.0 || a.hi <= 0.0) && a.hi - a.lo < most && lo <= hi) return range_between(lo, hi);
  return range_of(a.lo < 0.0 ? fmax(a.lo, -most) : 0.0, a.hi > 0.0 ? fmin(a.hi, most) : 0.0);
}""",
    "range_maximum": """
static range range_maximum(range a, range b) {
  if (range_is_all(a) || range_is_all(b)) return range_all();
  return range_of(f64_maximum(a.lo, b.lo), f64_maximum(a.hi, b.hi));
}""",
    "range_minimum": """
static range range_minimum(range a, range b) {
  if (range_is_all(a) || range_is_all(b)) return range_all();
  return range_of(f64_minimum(a.lo, b.lo), f64_minimum(a.hi, b.hi));
}""",
    "range_negate": """
static range range_negate(range a) { return range_of(-a.hi, -a.lo); }""",
    "range_abs": """
static range range_abs(range a) {
  range r = range_between(fabs(a.lo), fabs(a.hi));
  if (range_is_all(a)) return a;
  if (a.lo <= 0.0 && a.hi >= 0.0) r.lo = 0.0;
  return r;
}""",
    "range_sine": """
static range range_sine(range x) {
  const double a = sin(x.lo), b = sin(x.hi), reach = (x.hi - x.lo) * 0.5000001;
  if (range_is_all(x) || range_is_point(x)) return range_is_all(x) ? x : range_of(a, a);
  if (!(reach < INFINITY)) return range_all();
  return range_of(fmax(-1.0, fmin(a, b) - reach), fmin(1.0, fmax(a, b) + reach));
}""",
    "range_cosine": """
static range range_cosine(range x) {
  const double a = cos(x.lo), b = cos(x.hi), reach = (x.hi - x.lo) * 0.5000001;
  if (range_is_all(x) || range_is_point(x)) return range_is_all(x) ? x : range_of(a, a);
  if (!(reach < INFINITY)) return range_all();
  return range_of(fmax(-1.0, fmin(a, b) - reach), fmin(1.0, fmax(a, b) + reach));
}""",
    "range_tan": """
static range range_tan(range x) {
  const double a = tan(x.lo), b = tan(x.hi);
  if (range_is_point(x)) return range_of(a, a);
  return x.hi - x.lo < 1.5 && a <= b ? range_of(a, b) : range_all();
}""",
    "range_cosh": """
static range range_cosh(range x) {
  range r = range_between(cosh(x.lo), cosh(x.hi));
  if (range_is_all(x)) return x;
  if (x.lo < 0.0 && x.hi > 0.0) r.lo = 1.0;
  return r;
}""",
    "range_inverse_sqrt": """
static range range_inverse_sqrt(range x) {
  const double a = inverse_sqrt(x.hi);
  if (range_is_point(x)) return range_of(a, a);
  return x.lo > 0.0 ? range_of(a, inverse_sqrt(x.lo)) : range_all();
}""",
    "range_power": """
static range range_power(range x, range y) {
  range r;
  if (range_is_point(x) && range_is_point(y)) return range_between(power(x.lo, y.lo), power(x.lo, y.lo));
  if (range_is_all(x) || range_is_all(y)) return range_all();
  r = range_corners(power(x.lo, y.lo), power(x.lo, y.hi), power(x.hi, y.lo), power(x.hi, y.hi));
  if (x.lo > 0.0 && x.hi < INFINITY) return r; /* monotone in each */
  if (!range_is_point(y) || !(fabs(y.lo) < INFINITY)) return range_all();
  if (x.lo > 0.0 || (x.lo >= 0.0 && y.lo > 0.0)) return r;
  if (y.lo != floor(y.lo) || y.lo == 0.0 || (y.lo < 0.0 && x.hi >= 0.0)) return range_all();
  if (x.hi >= 0.0 && r.lo > 0.0) r.lo = 0.0;
  return r;
}""",
    "range_atan2": """
static range range_atan2(range y, range x) {
  const bool points = range_is_point(y) && range_is_point(x);
  if (points) return range_between(atan2(y.lo, x.lo), atan2(y.lo, x.lo));
  if (range_is_all(y) || range_is_all(x)) return range_all();
  if (y.lo != y.lo || x.lo != x.lo) return range_of(NAN, NAN);
  if (x.lo > 0.0 || y.lo > 0.0 || y.hi < 0.0)
    return range_corners(atan2(y.lo, x.lo), atan2(y.lo, x.hi), atan2(y.hi, x.lo), atan2(y.hi, x.hi));
  return range_of(-0x1.921fb54442d19p1, 0x1.921fb54442d19p1);
}""",
    "magnitude": """
/* hypot, infinite where a part is, also beside a signalling NaN */
static double magnitude(double x, double y) { return fabs(x) == INFINITY || fabs(y) == INFINITY ? INFINITY : hypot(x, y); }""",
    "range_magnitude": """
static range range_magnitude(range x, range y) {
  const range a = range_abs(x), b = range_abs(y);
  if (range_is_point(x) && range_is_point(y)) return range_between(magnitude(x.lo, y.lo), magnitude(x.lo, y.lo));
  if (range_is_all(x) || range_is_all(y) || x.lo != x.lo || y.lo != y.lo) return range_all();
  return range_of(magnitude(a.lo, b.lo), magnitude(a.hi, b.hi));
}""",
    "range_sum": """
typedef struct {
  double lo, hi, mass; /* of the finite terms; mass: the sum of the magnitudes */
  bool plus, minus, nan, unknown;
} range_sum;""",
    "range_sum_add": """
static void range_sum_add(range_sum *s, range x) {
  if (x.lo != x.lo) {
    s->nan = true;
  } else if (fabs(x.lo) < INFINITY && fabs(x.hi) < INFINITY) {
    s->lo += x.lo;
    s->hi += x.hi;
    s->mass += fmax(fabs(x.lo), fabs(x.hi));
  } else if (x.lo == INFINITY) {
    s->plus = true;
  } else if (x.hi == -INFINITY) {
    s->minus = true;
  } else {
    s->unknown = true;
  }
}""",
    "range_sum_result": """
/* additions in any order, each off by at most unit (relative) and lost; no partial sum may pass largest */
static range range_sum_result(const range_sum *s, double additions, double unit, double largest, double lost) {
  const double error = additions * ((unit + 0x1p-52) * s->mass + lost);
  if (s->nan || (s->plus && s->minus)) return range_of(NAN, NAN);
  if (s->unknown || !(s->mass + error <= largest)) return range_all();
  if (s->plus) return range_of(INFINITY, INFINITY);
  if (s->minus) return range_of(-INFINITY, -INFINITY);
  return range_of(s->lo - error, s->hi + error);
}""",
    "range_middle": """
static double range_middle(range r) {
  if (range_is_point(r)) return r.lo;
  return r.lo > -INFINITY && r.hi < INFINITY ? 0.5 * r.lo + 0.5 * r.hi : 0.0;
}""",
    "range_most": """
static double range_most(range r) { return range_is_point(r) ? fabs(r.lo) : fmax(fabs(r.lo), fabs(r.hi)); }""",
    "range_of_products": """
/* a sum of `terms` products of magnitude mass in any order, fused or not; slack: what the factors' errors may move it by */
static range range_of_products(double sum, double mass, double slack, double terms, double unit, double least, double largest) {
  const double error = slack + (terms + 2.0) * (unit * 1.01 + 0x1p-50) * mass + terms * least;
  const bool fits = largest < 0x1p1000; /* then no sum in double overflows, and a NaN is one of a factor or of infinities */
  if (fits && slack == 0.0 && sum != sum) return range_of(NAN, NAN);
  if (!(slack < INFINITY) || !(mass + error <= largest)) return range_all();
  return sum != sum ? range_of(NAN, NAN) : fabs(sum) == INFINITY ? range_of(sum, sum) : range_of(sum - error, sum + error);
}""",
    "range_product": """
typedef struct {
  range value;
  double large, small; /* products of the magnitudes above and below 1: no partial product is outside */
  bool nan, infinite, zero, unknown;
} range_product;""",
    "range_product_multiply": """
static void range_product_multiply(range_product *p, range x) {
  const double a = fabs(x.lo), b = fabs(x.hi);
  if (x.lo != x.lo) {
    p->nan = true;
  } else if (x.lo == x.hi && !(a > 0.0 && a < INFINITY)) {
    if (a > 0.0) p->infinite = true;
    else p->zero = true;
  } else if (!(fmax(a, b) < INFINITY) || (x.lo <= 0.0 && x.hi >= 0.0)) {
    p->unknown = true;
  } else {
    p->large *= fmax(1.0, fmax(a, b));
    p->small *= fmin(1.0, fmin(a, b));
  }
  p->value = range_multiply(p->value, x);
}""",
    "range_product_result": """
static range range_product_result(const range_product *p, double factors, double unit, double largest, double least) {
  const double relative = expm1(factors * (unit + 0x1p-51));
  const double grow = fmax(fabs(p->value.lo), fabs(p->value.hi)) * relative;
  if (p->nan || (p->infinite && p->zero)) return range_of(NAN, NAN);
  if (p->unknown || !(p->large * (1.0 + relative) <= largest)) return range_all();
  if (p->zero) return p->value;
  if (!(p->small * (1.0 - relative) >= least)) return range_all();
  return p->infinite ? p->value : range_of(p->value.lo - grow, p->value.hi + grow);
}""",
    "range_either_zero": """
static range range_either_zero(range r) { return range_of(r.lo == 0.0 ? -0.0 : r.lo, r.hi == 0.0 ? 0.0 : r.hi); }""",
    "range_bound": """
static double range_bound(range r, double v) {
  if (v != v) return r.lo != r.lo ? 0.0 : INFINITY;
  if (r.lo == v && r.hi == v) return 0.0;
  return r.lo != r.lo ? INFINITY : fmax(r.hi - v, v - r.lo);
}""",
    # Intervals of integers; u64 is shifted by 2^63 so that its order is int64_t's.
    "irange": """
typedef struct {
  int64_t lo, hi;
} irange;""",
    "irange_of": """
static irange irange_of(int64_t lo, int64_t hi) {
  irange r;
  r.lo = lo;
  r.hi = hi;
  return r;
}""",
    "irange_is_point": """
static bool irange_is_point(irange r) { return r.lo == r.hi; }""",
    "irange_hull": """
static irange irange_hull(irange a, irange b) {
  return irange_of(a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi);
}""",
    "irange_fit": """
static irange irange_fit(irange r, int64_t least, int64_t most) {
  return r.lo < least || r.hi > most ? irange_of(least, most) : r;
}""",
    "irange_maximum": """
static irange irange_maximum(irange a, irange b) {
  return irange_of(a.lo > b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi);
}""",
    "irange_minimum": """
static irange irange_minimum(irange a, irange b) {
  return irange_of(a.lo < b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi);
}""",
    "irange_multiply": """
static irange irange_multiply(irange a, irange b) {
  return irange_hull(irange_hull(irange_of(a.lo * b.lo, a.lo * b.lo), irange_of(a.lo * b.hi, a.lo * b.hi)),
                     irange_hull(irange_of(a.hi * b.lo, a.hi * b.lo), irange_of(a.hi * b.hi, a.hi * b.hi)));
}""",
    "irange_less": """
static irange irange_less(irange a, irange b) { return irange_of(a.hi < b.lo, a.lo < b.hi); }""",
    "irange_less_equal": """
static irange irange_less_equal(irange a, irange b) { return irange_of(a.hi <= b.lo, a.lo <= b.hi); }""",
    "irange_equal": """
static irange irange_equal(irange a, irange b) {
  return irange_of(a.lo == a.hi && b.lo == b.hi && a.lo == b.lo, a.lo <= b.hi && b.lo <= a.hi);
}""",
    "irange_not": """
static irange irange_not(irange a) { return irange_of(!a.hi, !a.lo); }""",
    "irange_nonzero": """
static irange irange_nonzero(irange a) { return irange_of(a.lo > 0 || a.hi < 0, a.lo != 0 || a.hi != 0); }""",
    "irange_bound": """
static double irange_bound(irange r, int64_t v) {
  const double above = (double)((uint64_t)r.hi - (uint64_t)v), below = (double)((uint64_t)v - (uint64_t)r.lo);
  return above > below ? above : below;
}""",
    "range_less": """
static irange range_less(range a, range b) {
  const bool unknown = range_is_all(a) || range_is_all(b);
  return irange_of(!unknown && a.hi < b.lo, unknown || a.lo < b.hi);
}""",
    "range_less_equal": """
static irange range_less_equal(range a, range b) {
  const bool unknown = range_is_all(a) || range_is_all(b);
  return irange_of(!unknown && a.hi <= b.lo, unknown || a.lo <= b.hi);
}""",
    "range_equal": """
static irange range_equal(range a, range b) {
  const bool unknown = range_is_all(a) || range_is_all(b);
  return irange_of(!unknown && a.lo == a.hi && b.lo == b.hi && a.lo == b.lo, unknown || (a.lo <= b.hi && b.lo <= a.hi));
}""",
    "range_nonzero": """
static irange range_nonzero(range a) {
  return irange_of(a.lo != a.lo || (!range_is_all(a) && (a.lo > 0.0 || a.hi < 0.0)), a.lo != 0.0 || a.hi != 0.0);
}""",
    "range_is_number": """
static irange range_is_number(range a) { return irange_of(a.lo == a.lo && !range_is_all(a), a.lo == a.lo); }""",
    "range_is_finite": """
static irange range_is_finite(range a) {
  return irange_of(fabs(a.lo) < INFINITY && fabs(a.hi) < INFINITY, a.lo < INFINITY && a.hi > -INFINITY);
}""",
    "range_select": """
static range range_select(irange p, range a, range b) {
  return p.lo == p.hi ? (p.lo != 0 ? a : b) : range_hull(a, b);
}""",
    "irange_select": """
static irange irange_select(irange p, irange a, irange b) {
  return p.lo == p.hi ? (p.lo != 0 ? a : b) : irange_hull(a, b);
}""",
    "u64_key": """
static int64_t u64_key(uint64_t x) { return (int64_t)(x ^ 0x8000000000000000u); }""",
    "u64_of_key": """
static uint64_t u64_of_key(int64_t x) { return (uint64_t)x ^ 0x8000000000000000u; }""",
}


_MONOTONE = frozenset(FUNCTIONS.get(opcode, row.function) for opcode, row in ELEMENTWISE.items() if row.monotone)


def _family(name: str) -> str:
    """A helper named DTYPE_VERB or range_FUNCTION, made for the type or function that its name says."""
    if name.startswith("range_") and name[6:] in _MONOTONE:
        return _monotone(name[6:])
    match = re.match(r"range_(reduce_precision)_(f16|bf16|f32|f64)$", name)
    if match:
        return _range_precision(match.group(2))
    match = re.match(r"(range_round_)?([fsu]\w+?)_?(to_float|from_double|wrap|unpack|pack)?$", name)
    if match and (match.group(1) or match.group(3)) and (match.group(2) in TINY or (match.group(2) in NARROW and match.group(3) != "from_double")):
        return _tiny(match.group(2), match.group(3) or "range_round")
    match = re.match(rf"(pred|[su]\d+|b?f\d+|{'|'.join(TINY)})_(\w+)$", name)
    if not match:
        raise KeyError(name)
    dtype, verb = match.groups()
    kind = STORAGE[dtype]
    bits, wide = _bits(dtype), _wide(dtype) if dtype not in FLOATS else ""
    if verb in ("maximum", "minimum"):
        sign = ">=" if verb == "maximum" else "<="
        rule = f"a {sign} b ? a : b" if dtype not in FLOATS else f"a != a ? a : b != b ? b : a {sign} b ? a : b"
        cast = f"({kind})({rule})" if bits < 32 else rule
        return f"\nstatic {kind} {name}({kind} a, {kind} b) {{ return {cast}; }}"
    if verb == "sign":
        one = "1.0f" if dtype == "f32" else "1.0"
        return f"\nstatic {kind} {name}({kind} x) {{ return x > 0 ? {one} : x < 0 ? -{one} : x; }}"
    if verb == "reduce_precision":
        return _reduce_precision(dtype)
    if verb == "total_order":
        return _total_order(dtype)
    if verb == "from_double":
        least, most = _integer_limits(dtype)
        low = f"  if (x <= -0x1p{bits - 1}) return {least};\n" if _signed(dtype) else ""
        return f"""
static {kind} {name}(double x) {{
  if ({"x != x" if _signed(dtype) else "!(x > 0.0)"}) return 0;
  if (x >= 0x1p{bits - 1 if _signed(dtype) else bits}) return {most};
{low}  return ({kind})x;
}}"""
    if verb in ("divide", "remainder"):
        zero = f"({kind})-1" if verb == "divide" else "a"
        special = ""
        if _signed(dtype):
            special = "\n  if (b == -1) return " + (f"({kind})(0 - ({wide})a)" if verb == "divide" else "0") + ";"
        return f"""
static {kind} {name}({kind} a, {kind} b) {{
  if (b == 0) return {zero};{special}
  return ({kind})(a {'/' if verb == 'divide' else '%'} b);
}}"""
    if verb == "power":
        negative = ""
        if _signed(dtype):
            negative = "\n  if (n < 0) return x == 1 ? 1 : x == -1 ? (n % 2 == 0 ? 1 : -1) : 0;"
        return f"""
static {kind} {name}({kind} x, {kind} n) {{
  {wide} base = ({wide})x, result = 1;{negative}
  for (; n > 0; n = ({kind})(n / 2)) {{
    if (n % 2 != 0) result *= base;
    base *= base;
  }}
  return ({kind})result;
}}"""
    unsigned = f"uint{max(8, bits)}_t"
    low = f" & {(1 << bits) - 1}" if bits < 8 else ""
    if verb == "shift_left":
        return f"""
static {kind} {name}({kind} x, {kind} n) {{
  if (({unsigned})n >= {bits}) return 0;
  return ({kind})(({wide})x << ({unsigned})n);
}}"""
    if verb == "shift_right_logical":
        return f"""
static {kind} {name}({kind} x, {kind} n) {{
  if (({unsigned})n >= {bits}) return 0;
  return ({kind})((({wide})({unsigned})x{low}) >> ({unsigned})n);
}}"""
    if verb == "shift_right_arithmetic":
        return f"""
static {kind} {name}({kind} x, {kind} n) {{
  /* ~(~x >> n) for negative x: >> of a negative number is left to the compiler by C */
  const bool negative = ((({wide})x >> {bits - 1}) & 1u) != 0;
  const {wide} bits = ({unsigned})((negative ? ~({wide})x : ({wide})x){low});
  const {wide} shifted = ({unsigned})n >= {bits} ? 0 : bits >> ({unsigned})n;
  return ({kind})(negative ? ~shifted : shifted);
}}"""
    if verb in ("popcnt", "clz"):
        start, step = ("0", "count += (int)(bits & 1u)") if verb == "popcnt" else (str(bits), "--count")
        return f"""
static {kind} {name}({kind} x) {{
  {wide} bits = ({unsigned})x{low};
  int count = {start};
  for (; bits != 0; bits >>= 1) {step};
  return ({kind})count;
}}"""
    raise KeyError(name)


def _integer_limits(dtype: str) -> Tuple[str, str]:
    bits = _bits(dtype)
    if dtype == "pred":
        return "0", "1"
    if bits < 8:
        low, high = table.integer_range(dtype)
        return f"({low})", str(high)
    return (f"INT{bits}_MIN", f"INT{bits}_MAX") if _signed(dtype) else ("0", f"UINT{bits}_MAX")


def _key_limits(dtype: str) -> Tuple[str, str]:
    """The ends of an integer type as keys of an irange."""
    return ("INT64_MIN", "INT64_MAX") if _bits(dtype) == 64 else _integer_limits(dtype)


def _tiny(dtype: str, verb: str) -> str:
    """Floats of 8 bits and less by the table of their values, which is searched; narrow integers, packed and not."""
    bits, kind = _bits(dtype), STORAGE[dtype]
    mask, per = (1 << bits) - 1, 8 // bits
    if verb == "unpack":
        value = f"{dtype}_wrap(byte)" if dtype in NARROW else f"byte & {mask}u"
        return f"""
static {kind} {dtype}_unpack(const void *from, int64_t i) {{
  const unsigned byte = (unsigned)((const uint8_t *)from)[i / {per}] >> i % {per} * {bits};
  return ({kind})({value});
}}"""
    if verb == "pack":
        return f"""
static void {dtype}_pack(void *to, int64_t i, {kind} x) {{
  uint8_t *byte = (uint8_t *)to + i / {per};
  const unsigned place = (unsigned)(i % {per}) * {bits}u;
  *byte = (uint8_t)((i % {per} == 0 ? 0u : *byte) | ((unsigned)x & {mask}u) << place);
}}"""
    if verb == "wrap":
        signed = f"x > {mask >> 1}u ? (int)x - {mask + 1} : (int)x" if _signed(dtype) else "x"
        return f"""
static {kind} {dtype}_wrap(uint64_t x) {{
  x &= {mask}u;
  return ({kind})({signed});
}}"""
    if verb == "to_float":
        values = [_exactly(table.decode(b, dtype)) for b in range(1 << bits)]
        return _wrapped_table(f"static float {dtype}_to_float(uint8_t h)", "float", values, "return values[h];")
    if verb == "range_round":
        ends = [f"(double){dtype}_to_float({dtype}_from_double(r.{end}))" for end in ("lo", "hi")]
        return f"""
static range range_round_{dtype}(range r) {{
  const double lo = {ends[0]}, hi = {ends[1]};
  if (range_is_point(r)) return range_of(lo, lo);
  return lo != lo || hi != hi ? range_all() : range_of(lo, hi);
}}"""
    about = table.TABLE[dtype]
    top, sign = table.largest_finite(dtype), 0 if about.style == "scale" else 1 << (bits - 1)
    finite = [Fraction(table.decode(b, dtype)) for b in range(top + 1)]
    middles = [(a + b) / 2 for a, b in zip(finite, finite[1:])]
    beyond = finite[-1] + (finite[-1] - finite[-2]) / 2 if about.style != "scale" else finite[-1] * Fraction(3, 2)
    over = {"ieee": top + 1, "fn": top + 1, "scale": top + 1, "fnuz": sign, "finite": top}[about.style]
    nan = {"ieee": f"sign | {table.quiet_nan(dtype) if about.style == 'ieee' else 0}", "fn": f"sign | {top + 1}", "scale": str(top + 1),
           "fnuz": str(sign), "finite": str(sign)}[about.style]
    nan = f"(uint8_t)({nan})"
    up = "x >= middles[k]" if about.style == "scale" else "a > middles[k] || (a == middles[k] && k % 2 != 0)"
    tie = ">=" if about.style == "scale" or top % 2 else ">"   # beyond the largest the next even pattern would come
    if about.style == "scale":
        body = f"""  int k = 0;
  if (!(x > 0.0) || x {tie} {_exactly(beyond, '')}) return {nan};
  while (k < {top} && {up}) ++k;
  return (uint8_t)k;"""
    else:
        zero = "\n  if (k == 0) return 0;" if about.style == "fnuz" else ""
        many = f"  if (a {tie} {_exactly(beyond, '')}) return " + (f"{nan};" if about.style == "fnuz" else f"(uint8_t)(sign | {over});")
        body = f"""  const double a = fabs(x);
  const int sign = signbit(x) ? {sign} : 0;
  int k = 0;
  if (x != x) return {nan};
{many}
  while (k < {top} && ({up})) ++k;{zero}
  return (uint8_t)(sign | k);"""
    return _wrapped_table(f"/* to the nearest by the table of middles */\nstatic uint8_t {dtype}_from_double(double x)", "double",
                          [_exactly(m, "") for m in middles], body, "middles")


def _exactly(value: object, suffix: str = "f") -> str:
    """A float's value as C text."""
    number = float(value)  # type: ignore[arg-type]
    if number != number:
        return "NAN"
    return ("-" if number < 0 else "") + "INFINITY" if number in (float("inf"), float("-inf")) else number.hex() + suffix


def _wrapped_table(head: str, kind: str, values: Sequence[str], body: str, name: str = "values") -> str:
    lines = _wrapped_list(f"  static const {kind} {name}[{len(values)}] =", values, "{", "}")
    return "\n".join(["", head + " {", *(line if n == 0 else "  " + line for n, line in enumerate(lines)), body if body.startswith("  ") else "  " + body, "}"])


def _monotone(function: str) -> str:
    domain = "range_is_all(x)"
    if function in ("asin", "acos"):
        domain = "x.lo < -1.0 && x.hi > 1.0"
    if function == "atanh":
        domain = "x.lo <= -1.0 && x.hi >= 1.0"
    guard = f"  if ({domain}) return range_all();\n"
    tail = "  return range_between(a, b);\n"
    if function == "logistic":  # where exp(-x) overflows, here or in the kernel, 0 stands for a subnormal
        tail = "  if (a < 0x1p-125) a = 0.0;\n  if (b < 0x1p-1021) b = 0x1p-1021;\n" + tail
        return f"""
static range range_{function}(range x) {{
  double a = {function}(x.lo), b = range_is_point(x) ? a : {function}(x.hi);
{guard}{tail}}}"""
    return f"""
static range range_{function}(range x) {{
  const double a = {function}(x.lo), b = range_is_point(x) ? a : {function}(x.hi);
{guard}{tail}}}"""


def _reduce_precision(dtype: str) -> str:
    """Nearest even to fewer mantissa bits, then fewer exponent bits, on the bit pattern of the type."""
    kind, bits = STORAGE[dtype], _bits(dtype)
    unsigned = f"uint{bits}_t"
    wide = "uint64_t" if bits == 64 else "uint32_t"
    mantissa = UNIT[dtype] - 1
    exponent = bits - 1 - mantissa
    bias = (1 << (exponent - 1)) - 1
    copy_in = f"  {wide} sign, a;\n" + (
        f"  {unsigned} x = value;\n" if dtype in SMALL else f"  {unsigned} x;\n  memcpy(&x, &value, sizeof x);\n")
    copy_out = "  return x;\n" if dtype in SMALL else "  memcpy(&value, &x, sizeof x);\n  return value;\n"
    infinity = f"(({wide}){(1 << exponent) - 1} << {mantissa})"
    return f"""
static {kind} {dtype}_reduce_precision({kind} value, int exponent_bits, int mantissa_bits) {{
{copy_in}  sign = ({wide})x >> {bits - 1} << {bits - 1};
  a = ({wide})x ^ sign;
  if (a > {infinity}) return value;
  if (mantissa_bits < {mantissa}) {{
    const int dropped = {mantissa} - mantissa_bits;
    const {wide} last = ({wide})1 << dropped;
    a += last / 2 - 1 + (a >> dropped & 1u);
    a &= ~(last - 1);
  }}
  if (exponent_bits < {exponent} && a != 0) {{
    const {wide} bias = (({wide})1 << (exponent_bits - 1)) - 1;
    if (a >> {mantissa} > {bias} + bias) a = {infinity};
    else if (a >> {mantissa} <= {bias} - bias) a = 0;
  }}
  x = ({unsigned})(sign | a);
{copy_out}}}"""


def _range_precision(dtype: str) -> str:
    lo, hi = (_to_double(dtype, f"{dtype}_reduce_precision({_from_double(dtype, end)}, exponent_bits, mantissa_bits)")
              for end in ("r.lo", "r.hi"))
    return f"""
static range range_reduce_precision_{dtype}(range r, int exponent_bits, int mantissa_bits) {{
  return range_of({lo},
                  {hi});
}}"""


def _total_order(dtype: str) -> str:
    kind, bits = STORAGE[dtype], _bits(dtype)
    if dtype in TINY:
        body, bits = f"const int8_t s = (int8_t)(x << {8 - bits});", 8
    else:
        body = f"const int{bits}_t s = (int{bits}_t)x;" if dtype in SMALL else f"int{bits}_t s;\n  memcpy(&s, &x, sizeof s);"
    return f"""
static int64_t {dtype}_total_order({kind} x) {{
  {body}
  return s < 0 ? (int64_t)(s ^ INT{bits}_MAX) : (int64_t)s;
}}"""


def _to_double(dtype: str, text: str) -> str:
    return {"f64": text, "f32": f"(double){text}"}.get(dtype, f"(double){dtype}_to_float({text})")


def _from_double(dtype: str, text: str) -> str:
    return {"f64": text, "f32": f"(float)({text})"}.get(dtype, f"{dtype}_from_double({text})")


_POINTER = re.compile(r"\b(?:v|lo|hi)_\w+")
_CALL = re.compile(r"\b([a-z]\w*)\(|\b(i?range(?:_sum|_product)?)\b")


class _Library:
    """The helpers that a file uses, found by their names in its text, each with all that it calls before it."""

    def __init__(self) -> None:
        self.texts: Dict[str, str] = {}
        self.seen: Set[str] = set()

    def scan(self, text: str) -> None:
        for match in _CALL.finditer(text):
            name = match.group(1) or match.group(2)
            if name in self.seen:
                continue
            self.seen.add(name)
            try:
                helper = _FIXED[name] if name in _FIXED else _family(name)
            except KeyError:
                continue  # libc, a keyword
            self.scan(re.sub(r"/\*.*?\*/", "", helper))
            self.texts[name] = helper.strip("\n")


# ---------------------------------------------------------------------------------------------------------------------
# Loops and indices: strides from dims and minor_to_major, positions in tiles from the layout's text.


def _strides(dims: Sequence[int], minor_to_major: Optional[Sequence[int]] = None) -> List[int]:
    """How far apart in memory neighbours in each dimension are, in elements; row-major without a layout."""
    result, step = [0] * len(dims), 1
    for d in (range(len(dims) - 1, -1, -1) if minor_to_major is None else minor_to_major):
        result[d] = step
        step *= max(1, dims[d])
    return result


def _count(dims: Sequence[int]) -> int:
    total = 1
    for size in dims:
        total *= size
    return total


def _row_major(shape: "Shape") -> bool:
    """Whether the layout stores the elements in row-major order (dimensions of size 1 may stand anywhere)."""
    kept = [d for d in shape.minor_to_major if shape.dims[d] != 1]
    return not shape.tiled and (kept == sorted(kept, reverse=True) or shape.elements == 0)


def _tiles(shape: "Shape") -> List[List[int]]:
    """The tiles of a layout, as its text has them; 0 for *."""
    found = re.search(r":[^}]*?T((?:\([^()]*\))+)", shape.text)
    return [[0 if n == "*" else int(n) for n in tile.split(",")] for tile in re.findall(r"\(([^()]*)\)", found[1])] if found else []


def _place(shape: "Shape", indices: Sequence[str]) -> Tuple[str, List[int]]:
    """Where an index lies in memory, as C text, and the sizes of the physical dims: each tile divides the last of these, the major
    first, by its own, and puts the remainders behind the quotients; * takes a dimension together with the next one."""
    order = list(reversed(shape.minor_to_major))
    sizes, digits = [shape.dims[d] for d in order], [indices[d] for d in order]
    for tile in _tiles(shape):
        front = [1] * (len(tile) - len(sizes))
        sizes, digits = front + sizes, ["0"] * len(front) + digits
        first = len(sizes) - len(tile)
        outer: List[Tuple[int, str]] = []
        inner: List[Tuple[int, str]] = []
        size, digit = 1, "0"
        for by, s, x in zip(tile, sizes[first:], digits[first:]):
            size, digit = size * s, _at([digit, x], [s, 1])
            if by:
                outer.append((-(-size // by), "0" if size <= by else f"({digit}) / {by}"))
                inner.append((by, "0" if by == 1 else digit if size <= by else f"({digit}) % {by}"))
                size, digit = 1, "0"
        sizes, digits = ([*kept, *(pair[n] for pair in outer + inner)] for n, kept in ((0, sizes[:first]), (1, digits[:first])))  # type: ignore
    return _at(digits, _strides(sizes)), sizes


def _where(shape: "Shape", indices: Sequence[str]) -> str:
    """Where an index lies in memory."""
    return _place(shape, indices)[0] if shape.tiled else _at(indices, _strides(shape.dims, shape.minor_to_major))


def _room(shape: "Shape") -> int:
    """Elements that the memory of an array has room for."""
    tail = re.search(r"L\((\d+)\)", shape.text)
    count = _count(_place(shape, _indices(shape.dims))[1])
    return -(-count // int(tail[1])) * int(tail[1]) if tail else count


def _at(indices: Sequence[str], strides: Sequence[int]) -> str:
    """The linear position of an index."""
    terms = []
    for index, stride in zip(indices, strides):
        if index != "0" and stride != 0:
            factor = f"({index})" if " " in index and stride != 1 else index
            terms.append(factor if stride == 1 else f"{factor} * {stride}")
    return " + ".join(terms) or "0"


def _indices(dims: Sequence[int], prefix: str = "i") -> List[str]:
    if len(dims) == 1 and prefix == "i":
        return ["0" if dims[0] == 1 else "i"]
    return ["0" if size == 1 else f"{prefix}{d}" for d, size in enumerate(dims)]


def _nest(dims: Sequence[int], body: Sequence[str], prefix: str = "i") -> List[str]:
    """The body in one loop for each dimension that has more than one index, by the names that _indices gives."""
    lines: List[str] = []
    depth = 0
    for index, size in zip(_indices(dims, prefix), dims):
        if size != 1:
            lines.append("  " * depth + f"for (int64_t {index} = 0; {index} < {size}; ++{index}) {{")
            depth += 1
    if depth == 0:
        return ["{"] + ["  " + line for line in body] + ["}"] if len(body) > 1 else list(body)
    if len(body) == 1 and depth == 1:
        return [lines[0][:-2], "  " + body[0]]
    lines += ["  " * depth + line for line in body]
    return lines + ["  " * level + "}" for level in range(depth - 1, -1, -1)]


def _nest_ordered(dims: Sequence[int], order: Sequence[int], body: Sequence[str]) -> List[str]:
    """_nest with the dimensions' loops in an order, major first."""
    lines, names = list(body), _indices(dims)
    for d in reversed(order):
        if dims[d] != 1:
            lines = [f"for (int64_t {names[d]} = 0; {names[d]} < {dims[d]}; ++{names[d]}) {{", *("  " + line for line in lines), "}"]
    return lines


# ---------------------------------------------------------------------------------------------------------------------
# Values


@dataclass
class _Array:
    """An array of the emitted C: v_NAME row-major in the storage type; lo_NAME and hi_NAME beside it where not exact."""

    name: str
    dtype: str
    dims: Tuple[int, ...]
    exact: bool
    home: str = "heap"  # or "given": a parameter, a result or a constant
    bits: bool = True  # False where a NaN may have any payload and sign: after float arithmetic
    count: int = field(init=False)

    def __post_init__(self) -> None:
        self.count = _count(self.dims)


@dataclass(frozen=True)
class _Scalar:
    """One value in a loop body: C text of its storage type and, unless it is exact, C text of its interval."""

    v: str
    dtype: str
    interval: Optional[str] = None
    bits: bool = True


_Value = Union[_Array, List["_Value"]]  # a tuple is a list


def _leaves(value: "_Value") -> List[_Array]:
    if isinstance(value, _Array):
        return [value]
    return [leaf for child in value for leaf in _leaves(child)]


@dataclass
class _Step:
    title: str
    lines: List[str]
    defines: List[_Array]
    uses: List[_Array]


@dataclass(frozen=True)
class _Options:
    """What a kernel may do; `intervals` is False for the reference itself."""

    intervals: bool = False
    excess_precision: bool = False
    reassociate: bool = True
    flushes: bool = False
    ulps: Mapping[str, float] = field(default_factory=dict)

    def budget(self, opcode: str) -> float:
        return float(self.ulps.get(opcode, ULPS[opcode]))


_BINARY = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "and": "&", "or": "|", "xor": "^"}
_COMPARE = {"EQ": "==", "NE": "!=", "LT": "<", "LE": "<=", "GT": ">", "GE": ">="}
_ROUND = {"floor": "floor", "ceil": "ceil", "round-nearest-afz": "round", "round-nearest-even": "rint"}
_PRED = {"add": "|", "maximum": "|", "or": "|", "multiply": "&", "minimum": "&", "and": "&", "subtract": "^", "xor": "^"}


# ---------------------------------------------------------------------------------------------------------------------
# One element of an elementwise op: the reference's value


def _load(dtype: str, text: str) -> str:
    """Storage to the type that arithmetic is done in."""
    return f"{dtype}_to_float({text})" if dtype in SMALL + TINY else text


def _store(dtype: str, text: str) -> str:
    """The arithmetic type to storage."""
    if dtype in TINY:
        return f"{dtype}_from_double((double)({text}))"
    return {"f16": f"f16_from_double((double)({text}))", "bf16": f"bf16_from_float({text})"}.get(dtype, text)


def _value(opcode: str, attributes: Mapping[str, object], to: str, x: Sequence[_Scalar]) -> str:
    """C text of the op on storage values, in the storage type of `to`."""
    v, dtype = [s.v for s in x], x[-1].dtype
    kind = STORAGE[dtype]
    if opcode == "compare":
        return _compare_value(attributes, x)
    if opcode == "select":
        return f"{v[0]} ? {v[1]} : {v[2]}" if not kind.startswith(("int8", "uint8", "int16", "uint16")) else \
            f"({kind})({v[0]} ? {v[1]} : {v[2]})"
    if opcode == "convert":
        return _convert_value(dtype, to, v[0])
    if opcode in ("copy", "bitcast"):
        return v[0]
    if opcode == "is-finite":
        return f"(uint8_t)(isfinite({_load(dtype, v[0])}) != 0)"
    if opcode == "reduce-precision":
        return f"{dtype}_reduce_precision({v[0]}, {attributes['exponent_bits']}, {attributes['mantissa_bits']})"
    if opcode == "clamp":
        v = [v[1], v[0], v[2]]
    if dtype in FLOATS:
        return _float_value(opcode, dtype, v)
    return _integer_value(opcode, dtype, v)


def _compare_value(attributes: Mapping[str, object], x: Sequence[_Scalar]) -> str:
    dtype, sign = x[0].dtype, _COMPARE[str(attributes["direction"])]
    if attributes.get("type") == "TOTALORDER" and dtype in FLOATS:
        sides = [f"{dtype}_total_order({s.v})" for s in x]
    else:
        sides = [_load(dtype, s.v) for s in x]
    return f"(uint8_t)({sides[0]} {sign} {sides[1]})"


def _convert_value(dtype: str, to: str, v: str) -> str:
    if dtype == to:
        return v
    if to == "pred":
        return f"(uint8_t)({_load(dtype, v)} != 0)"
    if dtype in FLOATS and to in FLOATS:
        return _from_double(to, _to_double(dtype, v)) if dtype == "f64" else \
            {"f64": f"(double){_load(dtype, v)}"}.get(to, _store(to, _load(dtype, v)))
    if dtype in FLOATS:
        return f"{to}_from_double({_to_double(dtype, v)})"
    if to in FLOATS:
        return _store(to, f"({'double' if to == 'f64' else 'float'}){v}")
    return f"{to}_wrap((uint64_t){v})" if to in NARROW else f"({STORAGE[to]}){v}"


def _float_value(opcode: str, dtype: str, v: Sequence[str]) -> str:
    a = [_load(dtype, text) for text in v]
    suffix, arithmetic = ("", "f64") if dtype == "f64" else ("f", "f32")
    if opcode in ("add", "subtract", "multiply", "divide"):
        return _store(dtype, f"{a[0]} {_BINARY[opcode]} {a[1]}")
    if opcode in ("maximum", "minimum"):
        return _store(dtype, f"{arithmetic}_{opcode}({a[0]}, {a[1]})")
    if opcode == "clamp":
        return _store(dtype, f"{arithmetic}_minimum({arithmetic}_maximum({a[0]}, {a[1]}), {a[2]})")
    if opcode == "remainder":
        return _store(dtype, f"fmod{suffix}({a[0]}, {a[1]})")
    if opcode in ("negate", "abs") and dtype in TINY:
        return _store(dtype, f"-{a[0]}" if opcode == "negate" else f"fabsf({a[0]})")
    if opcode == "negate":
        return f"(uint16_t)({v[0]} ^ 0x8000u)" if dtype in SMALL else f"-{v[0]}"
    if opcode == "abs":
        return f"(uint16_t)({v[0]} & 0x7fffu)" if dtype in SMALL else f"fabs{suffix}({v[0]})"
    if opcode == "sign":
        return _store(dtype, f"{arithmetic}_sign({a[0]})")
    if opcode == "sqrt" or opcode in _ROUND:
        return _store(dtype, f"{_ROUND.get(opcode, 'sqrt')}{suffix}({a[0]})")
    if opcode in FUNCTIONS:
        arguments = ", ".join(_to_double(dtype, text) for text in v)
        return _from_double(dtype, f"{FUNCTIONS[opcode]}({arguments})")
    raise ValueError(f"'{opcode}' of {dtype} has no reference")


def _integer_value(opcode: str, dtype: str, v: Sequence[str]) -> str:
    if dtype == "pred":
        if opcode == "not":
            return f"(uint8_t)!{v[0]}"
        if opcode == "clamp":
            return f"(uint8_t)(({v[0]} | {v[1]}) & {v[2]})"
        if opcode in _PRED:
            return f"(uint8_t)({v[0]} {_PRED[opcode]} {v[1]})"
        raise ValueError(f"'{opcode}' of pred has no reference")
    if dtype in NARROW:
        return f"{dtype}_wrap((uint64_t)({_byte_value(opcode, dtype, v)}))"
    return _byte_value(opcode, dtype, v)


def _byte_value(opcode: str, dtype: str, v: Sequence[str]) -> str:
    """An integer op; of the narrow types, in a byte whose low bits are the answer's."""
    kind = STORAGE[dtype]
    wide = _wide(dtype)
    if opcode in ("add", "subtract", "multiply"):
        return f"({kind})(({wide}){v[0]} {_BINARY[opcode]} ({wide}){v[1]})"
    if opcode in ("and", "or", "xor"):
        return f"({kind})({v[0]} {_BINARY[opcode]} {v[1]})"
    if opcode == "not":
        return f"({kind})~{v[0]}"
    if opcode == "negate":
        return f"({kind})(0 - ({wide}){v[0]})"
    if opcode == "abs":
        return f"({kind})({v[0]} < 0 ? 0 - ({wide}){v[0]} : ({wide}){v[0]})" if _signed(dtype) else v[0]
    if opcode == "sign":
        return f"({kind})(({v[0]} > 0) - ({v[0]} < 0))" if _signed(dtype) else f"({kind})({v[0]} != 0)"
    if opcode == "clamp":
        return f"{dtype}_minimum({dtype}_maximum({v[0]}, {v[1]}), {v[2]})"
    if opcode in ("count-leading-zeros", "popcnt"):
        return f"{dtype}_{'popcnt' if opcode == 'popcnt' else 'clz'}({v[0]})"
    if opcode in ("maximum", "minimum", "divide", "remainder", "power", "shift-left", "shift-right-logical",
                  "shift-right-arithmetic"):
        return f"{dtype}_{opcode.replace('-', '_')}({v[0]}, {v[1]})"
    raise ValueError(f"'{opcode}' of {dtype} has no reference")


# ---------------------------------------------------------------------------------------------------------------------
# One element of an elementwise op: the interval of what kernels may have there


def _as_double(dtype: str, text: str) -> str:
    return _to_double(dtype, text) if dtype in FLOATS else f"(double){text}"


def _key(dtype: str, text: str) -> str:
    return f"u64_key({text})" if dtype == "u64" else f"(int64_t){text}"


def _unkey(dtype: str, text: str) -> str:
    return f"u64_of_key({text})" if dtype == "u64" else f"({STORAGE[dtype]}){text}"


def _interval(x: _Scalar) -> str:
    """The interval of a value; of an exact one, the point."""
    if x.interval is not None:
        return x.interval
    if x.dtype in FLOATS:
        return f"range_of({_as_double(x.dtype, x.v)}, {_as_double(x.dtype, x.v)})"
    return f"irange_of({_key(x.dtype, x.v)}, {_key(x.dtype, x.v)})"


def _own_error(opcode: str, attributes: Mapping[str, object], to: str, dtypes: Sequence[str], options: _Options) -> bool:
    """Whether a right kernel may differ in this op though its operands are exact."""
    if to not in FLOATS:
        return False
    if opcode in FUNCTIONS:
        return True
    if opcode in ("divide", "sqrt") and options.budget(opcode) > 0.5:
        return True
    if not options.excess_precision or to not in SMALL:
        return False
    if opcode == "convert":
        return dtypes[0] != to and not (dtypes[0] not in FLOATS and _bits(dtypes[0]) <= 8)
    return opcode in ("add", "subtract", "multiply", "divide", "sqrt")


def _rounded(text: str, to: str, v: str, options: _Options, ulps: float = 0.5) -> str:
    """The interval after rounding to a type (and widening before it), with the reference's value put in."""
    if ulps > 0.5:
        if to == "f64":
            text = f"range_widen_f64({text}, {ulps + LIBM_ULPS + 1:.10g})"
        else:
            text = f"range_widen_f32({text}, {ulps:.10g} + 0x1p-20)"
    if to in SMALL and options.excess_precision:
        text = f"range_kept_{to}({text})"
    elif to != "f64":
        text = f"range_round_{to}({text})"
    return _kept(text, to, v)


def _kept(text: str, to: str, v: str) -> str:
    """An interval that needs no rounding, with the reference's value put in."""
    return f"range_with({text}, {_as_double(to, v)})"


def _range(opcode: str, attributes: Mapping[str, object], to: str, x: Sequence[_Scalar], v: str, same: bool,
           options: _Options) -> str:
    """C text of the interval of an op; v is the reference's value, `same` says that both operands are one instruction."""
    dtype = x[-1].dtype
    r = [_interval(s) for s in x]
    if opcode == "select":
        choose = "range_select" if to in FLOATS else "irange_select"
        return f"{x[0].v} ? {r[1]} : {r[2]}" if x[0].interval is None else f"{choose}({r[0]}, {r[1]}, {r[2]})"
    if opcode == "compare":
        return _compare_range(attributes, dtype, r, x, v, same)
    if opcode == "convert":
        return _convert_range(dtype, to, r[0], v, options)
    if opcode in ("copy", "bitcast"):
        return r[0]
    if opcode == "is-finite":
        return f"range_is_finite({r[0]})"
    if opcode == "clamp":
        r = [r[1], r[0], r[2]]
    return _float_range(opcode, attributes, to, r, v, same, options) if dtype in FLOATS else \
        _integer_range(opcode, to, r, v)


def _float_range(opcode: str, attributes: Mapping[str, object], to: str, r: Sequence[str], v: str, same: bool,
                 options: _Options) -> str:
    if opcode == "multiply" and same:
        return _rounded(f"range_square({r[0]})", to, v, options)
    if opcode in ("add", "subtract", "multiply"):
        return _rounded(f"range_{opcode}({r[0]}, {r[1]})", to, v, options)
    if opcode == "divide":
        return _rounded(f"range_divide({r[0]}, {r[1]})", to, v, options, options.budget(opcode))
    if opcode == "sqrt":
        return _rounded(f"range_sqrt({r[0]})", to, v, options, options.budget(opcode))
    if opcode in ("maximum", "minimum", "remainder"):
        return _kept(f"range_{opcode}({r[0]}, {r[1]})", to, v)
    if opcode == "clamp":
        return _kept(f"range_minimum(range_maximum({r[0]}, {r[1]}), {r[2]})", to, v)
    if opcode in ("negate", "abs"):
        return _kept(f"range_{opcode}({r[0]})", to, v)
    if opcode == "sign" or opcode in _ROUND:
        return _kept(f"range_{_ROUND.get(opcode, 'sign')}({r[0]})", to, v)
    if opcode == "reduce-precision":
        widths = f"{attributes['exponent_bits']}, {attributes['mantissa_bits']}"
        return _kept(f"range_reduce_precision_{to}({r[0]}, {widths})", to, v)
    name = opcode if opcode in ("sine", "cosine") else FUNCTIONS[opcode]
    return _rounded(f"range_{name}({', '.join(r)})", to, v, options, max(0.6, options.budget(opcode)))


def _points(r: Sequence[str]) -> str:
    return " && ".join(f"irange_is_point({text})" for text in r)


def _integer_range(opcode: str, to: str, r: Sequence[str], v: str) -> str:
    least, most = _key_limits(to)
    point, every = f"irange_of({_key(to, v)}, {_key(to, v)})", f"irange_of({least}, {most})"
    if opcode in ("maximum", "minimum"):
        return f"irange_{opcode}({r[0]}, {r[1]})"
    if opcode == "clamp":
        return f"irange_minimum(irange_maximum({r[0]}, {r[1]}), {r[2]})"
    if to == "pred" and opcode != "xor" and opcode != "subtract":
        if opcode == "not":
            return f"irange_not({r[0]})"
        return f"irange_{'maximum' if _PRED[opcode] == '|' else 'minimum'}({r[0]}, {r[1]})"
    if _bits(to) <= 32 and (to, opcode) != ("u32", "multiply"):
        sums = {"add": "irange_of({0}.lo + {1}.lo, {0}.hi + {1}.hi)",
                "subtract": "irange_of({0}.lo - {1}.hi, {0}.hi - {1}.lo)",
                "negate": "irange_of(-{0}.hi, -{0}.lo)", "multiply": "irange_multiply({0}, {1})"}
        if opcode in sums:  # exact in 64 bits; where the type would wrap, everything is possible
            return f"{_points(r)} ? {point} : irange_fit({sums[opcode].format(*r)}, {least}, {most})"
    return f"{_points(r)} ? {point} : {every}"


def _compare_range(attributes: Mapping[str, object], dtype: str, r: Sequence[str], x: Sequence[_Scalar], v: str,
                   same: bool) -> str:
    direction = str(attributes["direction"])
    ordered = dtype in FLOATS and attributes.get("type") != "TOTALORDER"
    if dtype in FLOATS and not ordered:
        if same:
            return f"irange_of((int64_t){v}, (int64_t){v})"
        known = [f"range_is_point({text})" for text in r]
        known += [f"{_load(dtype, s.v)} == {_load(dtype, s.v)}" for s in x if not s.bits]  # the sign of its NaN is free
        return f"{' && '.join(known)} ? irange_of((int64_t){v}, (int64_t){v}) : irange_of(0, 1)"
    if same and dtype in FLOATS:  # only NaN differs from itself
        number = f"range_is_number({r[0]})"
        return {"EQ": number, "LE": number, "GE": number, "NE": f"irange_not({number})"}.get(direction, "irange_of(0, 0)")
    if same:
        return f"irange_of((int64_t){v}, (int64_t){v})"
    prefix = "range" if dtype in FLOATS else "irange"
    return {"EQ": f"{prefix}_equal({r[0]}, {r[1]})", "NE": f"irange_not({prefix}_equal({r[0]}, {r[1]}))",
            "LT": f"{prefix}_less({r[0]}, {r[1]})", "GT": f"{prefix}_less({r[1]}, {r[0]})",
            "LE": f"{prefix}_less_equal({r[0]}, {r[1]})", "GE": f"{prefix}_less_equal({r[1]}, {r[0]})"}[direction]


def _convert_range(dtype: str, to: str, r: str, v: str, options: _Options) -> str:
    if dtype == to:
        return r
    if to == "pred":
        return f"{'range' if dtype in FLOATS else 'irange'}_nonzero({r})" if dtype != "u64" else \
            f"irange_is_point({r}) ? irange_of((int64_t){v}, (int64_t){v}) : irange_of(0, 1)"
    if dtype in FLOATS and to in FLOATS:
        exact = to in ("f32", "f64") if dtype in TINY or to in TINY else UNIT[dtype] <= UNIT[to] and (dtype, to) != ("bf16", "f16")
        return _kept(r, to, v) if exact else _rounded(r, to, v, options)
    if dtype in FLOATS:
        ends = [_key(to, f"{to}_from_double({r}.{end})") for end in ("lo", "hi")]
        return f"irange_of({ends[0]}, {ends[1]})"
    if to in FLOATS:
        ends = [f"(double){_unkey(dtype, f'{r}.{end}')}" for end in ("lo", "hi")]
        slack = 2.0 if _bits(dtype) == 64 or to in SMALL + TINY else 0.5  # integers are rounded twice: a step for that
        return _rounded(f"range_of({ends[0]}, {ends[1]})", to, v, options, slack)
    least, most = _key_limits(to)
    point = f"irange_of({_key(to, v)}, {_key(to, v)})"
    if _bits(dtype) == 64 or _bits(to) == 64:
        widens = _bits(dtype) < 64 and (to == "s64" or not _signed(dtype)) and to != "u64"
        return r if widens else f"irange_is_point({r}) ? {point} : irange_of({least}, {most})"
    return f"irange_is_point({r}) ? {point} : irange_fit({r}, {least}, {most})"


# ---------------------------------------------------------------------------------------------------------------------
# The emitter


class _Emitter:
    """Turns a computation into steps, each an HLO op; then into a C function."""

    def __init__(self, options: _Options) -> None:
        self.options = options
        self.steps: List[_Step] = []
        self.names: Set[str] = set()
        self.constants: Dict[str, List[str]] = {}
        self.parameters: Dict[str, str] = {}
        self.touched: List[_Array] = []  # constants that inlined computations read
        self.unknown: List[str] = []  # where any value is allowed, in words

    # names and arrays

    def unique(self, name: str) -> str:
        base = re.sub(r"\W", "_", name, flags=re.ASCII)
        name, n = base, 1
        while name in self.names:
            n += 1
            name = f"{base}_{n}"
        self.names.add(name)
        return name

    def array(self, name: str, shape: "Shape", exact: bool) -> _Array:
        if shape.dtype not in STORAGE:
            raise ValueError(f"the type {shape.dtype} has no reference")
        return _Array(self.unique(name), shape.dtype, tuple(shape.dims), exact or not self.options.intervals)

    def interval_type(self, dtype: str) -> str:
        return "float" if (dtype in SMALL and self.options.excess_precision) or dtype in TINY else STORAGE[dtype]

    def step(self, title: str, lines: Sequence[str], defines: Sequence[_Array], uses: Sequence[_Array]) -> None:
        self.steps.append(_Step(title, list(lines), list(defines), list(uses) + self.touched))
        self.touched = []

    def element(self, array: _Array, position: str) -> _Scalar:
        """An array's element as a value for an op."""
        v = f"v_{array.name}[{position}]"
        if array.exact:
            return _Scalar(v, array.dtype, None, array.bits)
        ends = [f"{end}_{array.name}[{position}]" for end in ("lo", "hi")]
        if array.dtype not in FLOATS:
            return _Scalar(v, array.dtype, f"irange_of({_key(array.dtype, ends[0])}, {_key(array.dtype, ends[1])})")
        kept = (array.dtype in SMALL and self.options.excess_precision) or array.dtype in TINY
        ends = [f"(double){end}" if kept else _as_double(array.dtype, end) for end in ends]
        return _Scalar(v, array.dtype, f"range_of({ends[0]}, {ends[1]})", array.bits)

    def put_interval(self, array: _Array, position: str, r: str) -> List[str]:
        lines = []
        for end in ("lo", "hi"):
            value = f"{r}.{end}"
            if array.dtype not in FLOATS:
                value = _unkey(array.dtype, value)
            elif (array.dtype in SMALL and self.options.excess_precision) or array.dtype in TINY:
                value = f"(float){value}"
            else:
                value = _from_double(array.dtype, value)
            lines.append(f"{end}_{array.name}[{position}] = {value};")
        return lines

    def move(self, to: _Array, to_position: str, of: _Array, of_position: str) -> List[str]:
        """Statements that copy one element, with its interval."""
        lines = [f"v_{to.name}[{to_position}] = v_{of.name}[{of_position}];"]
        if to.exact:
            return lines
        for end in ("lo", "hi"):
            value = f"{end}_{of.name}[{of_position}]"
            if of.exact:
                value = f"v_{of.name}[{of_position}]"
                if (to.dtype in SMALL and self.options.excess_precision) or to.dtype in TINY:
                    value = _load(to.dtype, value)
            lines.append(f"{end}_{to.name}[{to_position}] = {value};")
        return lines

    def copy_all(self, to: _Array, of: _Array) -> List[str]:
        """Statements that copy a whole array whose bytes stay what they are."""
        if to.count == 0:
            return [f"(void)v_{to.name}, (void)v_{of.name};"]
        prefixes = ["v"] + ([] if to.exact else ["lo", "hi"])
        return [f"memcpy({p}_{to.name}, {p}_{of.name}, {self.size(to, p)});" for p in prefixes]

    def size(self, array: _Array, prefix: str) -> str:
        kind = STORAGE[array.dtype] if prefix == "v" else self.interval_type(array.dtype)
        return f"{array.count} * sizeof({kind})"

    # a computation

    def run(self, computation: "Computation", arguments: Sequence[_Value]) -> _Value:
        live = _reachable(computation)
        known: Dict[int, _Value] = {}
        for instruction in computation.instructions:
            if id(instruction) in live:
                known[id(instruction)] = self.emit(instruction, [known[id(o)] for o in instruction.operands], arguments)
        return known[id(computation.root)]

    def emit(self, i: "Instruction", x: List[_Value], arguments: Sequence[_Value]) -> _Value:
        opcode = i.opcode
        if opcode == "parameter":
            return arguments[i.parameter_number]
        if opcode == "scatter":
            return self.scatter(i, [leaf for value in x for leaf in _leaves(value)])
        if opcode == "tuple":
            return list(x)
        if opcode == "get-tuple-element":
            return x[0][i.attributes["index"]]
        if opcode in ("fusion", "call"):
            return self.run(i.attributes["calls" if opcode == "fusion" else "to_apply"], x)
        if opcode == "copy" and not isinstance(x[0], _Array):
            return x[0]
        if opcode in ("reduce", "reduce-window"):
            return self.reduce(i, _leaves(x))
        if opcode == "map":
            return self.map(i, _leaves(x))
        moves: Dict[str, Callable[["Instruction", List[_Array]], _Array]] = {
            "constant": self.constant, "iota": self.iota, "broadcast": self.broadcast, "transpose": self.transpose,
            "reshape": self.reshape, "copy": self.reshape, "bitcast": self.bitcast, "bitcast-convert": self.bitcast,
            "slice": self.slice, "reverse": self.reverse, "pad": self.pad, "concatenate": self.concatenate,
            "dynamic-slice": self.dynamic_slice, "dynamic-update-slice": self.dynamic_update_slice, "gather": self.gather,
            "dot": self.dot, "scaled-dot": self.scaled_dot, "convolution": self.convolution, "select-and-scatter": self.select_and_scatter}
        return moves.get(opcode, self.elementwise)(i, _leaves(x))

    def title(self, i: "Instruction") -> str:
        operands = ", ".join(o.name for o in i.operands)
        if i.opcode == "constant":
            operands = "..." if i.shape.elements > 1 else ""
        words = [f"{i.name} = {i.shape.text} {i.opcode}({operands})"]
        for key in ("dimensions", "slice", "padding", "direction", "iota_dimension", "dynamic_slice_sizes", "offset_dims", "collapsed_slice_dims",
                    "start_index_map", "operand_batching_dims", "start_indices_batching_dims", "index_vector_dim", "slice_sizes", "lhs_batch_dims",
                    "lhs_contracting_dims", "rhs_batch_dims", "rhs_contracting_dims", "update_window_dims",
                    "inserted_window_dims", "scatter_dims_to_operand_dims", "input_batching_dims", "scatter_indices_batching_dims"):
            if key in i.attributes:
                words.append(f"{key}={_plain(i.attributes[key])}")
        words += [f"window={{{i.attributes['window'].text}}}"] if "window" in i.attributes else []
        words += [f"dim_labels={i.attributes['dim_labels'].text}"] if "dim_labels" in i.attributes else []
        if "to_apply" in i.attributes:
            words.append(f"to_apply={i.attributes['to_apply'].name}")
        return ", ".join(words)

    def moved(self, i: "Instruction", x: Sequence[_Array]) -> _Array:
        out = self.array(i.name, i.shape, all(a.exact for a in x))
        out.bits = all(a.bits for a in x)
        return out

    # moves

    def constant(self, i: "Instruction", x: List[_Array]) -> _Array:
        out = self.array(i.name, i.shape, True)
        out.home = "given"
        values = [_literal(out.dtype, bits) for bits in i.literal]
        raw = any(value is None for value in values)
        kind, bits = STORAGE[out.dtype], _bits(out.dtype)
        if raw:  # NaNs keep their payload
            values = [f"0x{b:0{bits // 4}x}u" for b in i.literal]
            size = max(1, out.count)
            head = f"static const union {{ uint{bits}_t bits[{size}]; {kind} value[{size}]; }} bits_{out.name} ="
        else:
            head = f"static const {kind} v_{out.name}[{max(1, out.count)}] ="
        lines = _wrapped_list(head, [str(v) for v in values] or ["0"], "{{" if raw else "{", "}}" if raw else "}")
        if raw:
            lines.append(f"const {kind} *const v_{out.name} = bits_{out.name}.value;")
        self.constants[out.name] = lines
        return out

    def iota(self, i: "Instruction", x: List[_Array]) -> _Array:
        d = i.attributes["iota_dimension"]
        small = {"f16": 2048, "bf16": 256}.get(i.shape.dtype, 0)
        excess = self.options.excess_precision and 0 < small < i.shape.dims[d]
        out = self.array(i.name, i.shape, not excess)
        indices = _indices(out.dims)
        at = _at(indices, _strides(out.dims))
        v = _convert_value("s64", out.dtype, indices[d])
        lines = [f"v_{out.name}[{at}] = {v};"]
        if not out.exact:
            index = f"(double)(float){indices[d]}"
            lines += ["{", f"  const range r = {_kept(f'range_of({index}, {index})', out.dtype, f'v_{out.name}[{at}]')};"]
            lines += ["  " + line for line in self.put_interval(out, at, "r")] + ["}"]
        self.step(self.title(i), _nest(out.dims, lines), [out], [])
        return out

    def broadcast(self, i: "Instruction", x: List[_Array]) -> _Array:
        out = self.moved(i, x)
        indices = _indices(out.dims)
        of = [indices[d] for d in i.attributes.get("dimensions", ())]
        lines = self.move(out, _at(indices, _strides(out.dims)), x[0], _at(of, _strides(x[0].dims)))
        self.step(self.title(i), _nest(out.dims, lines), [out], x)
        return out

    def transpose(self, i: "Instruction", x: List[_Array]) -> _Array:
        out = self.moved(i, x)
        indices = _indices(out.dims)
        of = ["0"] * len(out.dims)
        for d, source in enumerate(i.attributes["dimensions"]):
            of[source] = indices[d]
        lines = self.move(out, _at(indices, _strides(out.dims)), x[0], _at(of, _strides(x[0].dims)))
        self.step(self.title(i), _nest(out.dims, lines), [out], x)
        return out

    def reshape(self, i: "Instruction", x: List[_Array]) -> _Array:
        out = self.moved(i, x)  # both are row-major here
        self.step(self.title(i), self.copy_all(out, x[0]), [out], x)
        return out

    def bitcast(self, i: "Instruction", x: List[_Array]) -> _Array:
        out, of, shape = self.moved(i, x), x[0], i.operands[0].shape
        if not of.bits and out.dtype != of.dtype:
            out.exact, out.bits = not self.options.intervals, True
        in_order = i.opcode == "bitcast-convert" or (_row_major(i.shape) and _row_major(shape))
        if _bits(out.dtype) != _bits(of.dtype):
            return self.same_stream(i, out, of)
        if in_order and (out.exact or out.dtype == of.dtype) and (out.dtype == of.dtype or _bits(out.dtype) >= 8):
            lines = self.copy_all(out, of)
        elif shape.tiled or i.shape.tiled:
            memory, indices, to = _Array(self.unique(i.name), of.dtype, (_room(shape),), of.exact), _indices(of.dims), _indices(out.dims)
            memory.bits = of.bits
            lines = _nest(of.dims, self.move(memory, _where(shape, indices), of, _at(indices, _strides(of.dims))))
            self.step(f"{i.operands[0].name} as {shape.text} has it in memory", lines, [memory], x)
            lines, x = _nest(out.dims, self.same_bits(out, _at(to, _strides(out.dims)), memory, _where(i.shape, to))), [memory]
        else:
            to_at, of_at = ["i"] * 2
            if not in_order:
                to_at, of_at = _memory_order(i.shape), _memory_order(shape)
            lines = _nest((out.count,), self.same_bits(out, to_at, of, of_at))
        self.step(self.title(i), lines, [out], x)
        return out

    def same_stream(self, i: "Instruction", out: _Array, of: _Array) -> _Array:
        """Between types of different widths: bit k of all elements, the first one's low bits first, in row-major order (a bitcast: in that of
        memory), stays bit k."""
        shapes, source, target = (i.operands[0].shape, i.shape), of, out
        rows = [i.opcode == "bitcast-convert" or _row_major(shape) for shape in shapes]
        if not rows[0]:
            source = _Array(self.unique(i.name), of.dtype, (of.count,), of.exact, bits=of.bits)
            lines = _nest(of.dims, self.move(source, _where(shapes[0], _indices(of.dims)), of, _at(_indices(of.dims), _strides(of.dims))))
            self.step(f"{i.operands[0].name} as {shapes[0].text} has it in memory", lines, [source], [of])
        if not rows[1]:
            target = _Array(self.unique(i.name), out.dtype, (out.count,), out.exact, bits=out.bits)
        have, want = _bits(of.dtype), _bits(out.dtype)
        lines = ["uint64_t bits = 0;"]
        x = self.element(source, "k")
        known = f"{'range' if of.dtype in FLOATS else 'irange'}_is_point({_interval(x)})"
        if not of.bits:
            known += f" && {_load(of.dtype, x.v)} == {_load(of.dtype, x.v)}"
        lines += [] if out.exact else [f"int known = 1;\nfor (int64_t k = i * {want} / {have}; k <= (i * {want} + {want - 1}) / {have}; ++k) known &= {known};"]
        lines += [f"for (int b = 0; b < {want}; ++b) {{", "  uint64_t from = 0;",
                  f"  memcpy(&from, &v_{source.name}[(i * {want} + b) / {have}], sizeof v_{source.name}[0]);",
                  f"  bits |= (from >> (i * {want} + b) % {have} & 1) << b;", "}"]
        lines += [f"v_{target.name}[i] = {target.dtype}_wrap(bits);"] if target.dtype in NARROW else \
            [f"memcpy(&v_{target.name}[i], &bits, sizeof v_{target.name}[0]);"]
        if not out.exact:
            point = _interval(_Scalar(f"v_{target.name}[i]", out.dtype))
            every, kind = ("range_all()", "range") if out.dtype in FLOATS else (f"irange_of({', '.join(_key_limits(out.dtype))})", "irange")
            lines += [f"const {kind} r = known ? {point} : {every};", *self.put_interval(target, "i", "r")]
        body = [part for line in lines for part in line.split("\n")]
        self.step(self.title(i), [f"for (int64_t i = 0; i < {out.count}; ++i) {{", *("  " + line for line in body), "}"], [target], [source])
        if target is not out:
            to = _indices(out.dims)
            self.step(f"{i.name} out of memory", _nest(out.dims, self.move(out, _at(to, _strides(out.dims)), target, _where(i.shape, to))), [out], [target])
        return out

    def same_bits(self, out: _Array, to_at: str, of: _Array, of_at: str) -> List[str]:
        if out.count == 1:
            to_at = of_at = "0"
        if out.dtype == of.dtype:
            return self.move(out, to_at, of, of_at)
        lines = [f"memcpy(&v_{out.name}[{to_at}], &v_{of.name}[{of_at}], sizeof v_{out.name}[0]);"]
        if _bits(out.dtype) < 8:
            low = f"v_{of.name}[{of_at}] & {(1 << _bits(out.dtype)) - 1}"
            lines = [f"v_{out.name}[{to_at}] = {f'{out.dtype}_wrap((uint64_t)({low}))' if out.dtype in NARROW else f'(uint8_t)({low})'};"]
        if out.exact:
            return lines
        x = self.element(of, of_at)
        known = f"{'range' if of.dtype in FLOATS else 'irange'}_is_point({_interval(x)})"
        if not of.bits:
            known += f" && {_load(of.dtype, x.v)} == {_load(of.dtype, x.v)}"
        v = f"v_{out.name}[{to_at}]"
        point = _interval(_Scalar(v, out.dtype))
        every = "range_all()" if out.dtype in FLOATS else f"irange_of({', '.join(_key_limits(out.dtype))})"
        kind = "range" if out.dtype in FLOATS else "irange"
        return lines + ["{", f"  const {kind} r = {known} ? {point} : {every};"] + \
            ["  " + line for line in self.put_interval(out, to_at, "r")] + ["}"]

    def slice(self, i: "Instruction", x: List[_Array]) -> _Array:
        out = self.moved(i, x)
        indices = _indices(out.dims)
        of = [_affine(index, stride, start) for index, (start, _, stride) in zip(indices, i.attributes["slice"])]
        lines = self.move(out, _at(indices, _strides(out.dims)), x[0], _at(of, _strides(x[0].dims)))
        self.step(self.title(i), _nest(out.dims, lines), [out], x)
        return out

    def reverse(self, i: "Instruction", x: List[_Array]) -> _Array:
        out = self.moved(i, x)
        indices = _indices(out.dims)
        of = [_affine(index, -1, out.dims[d] - 1) if d in i.attributes["dimensions"] else index
              for d, index in enumerate(indices)]
        lines = self.move(out, _at(indices, _strides(out.dims)), x[0], _at(of, _strides(x[0].dims)))
        self.step(self.title(i), _nest(out.dims, lines), [out], x)
        return out

    def pad(self, i: "Instruction", x: List[_Array]) -> _Array:
        out, of = self.moved(i, x), x[0]
        lines = _nest((out.count,), self.move(out, "0" if out.count == 1 else "i", x[1], "0"))
        indices = _indices(of.dims)
        to, tests = [], []
        for d, (low, high, interior) in enumerate(i.attributes["padding"]):
            last = low + (of.dims[d] - 1) * (interior + 1)
            to.append(_affine(indices[d], interior + 1, low))
            tests += [f"{to[d]} >= 0"] if low < 0 else []
            tests += [f"{to[d]} < {out.dims[d]}"] if last >= out.dims[d] else []
        body = self.move(out, _at(to, _strides(out.dims)), of, _at(indices, _strides(of.dims)))
        if tests:
            body = [f"if ({' && '.join(tests)}) {{"] + ["  " + line for line in body] + ["}"]
        self.step(self.title(i), lines + _nest(of.dims, body), [out], x)
        return out

    def concatenate(self, i: "Instruction", x: List[_Array]) -> _Array:
        out, d, lines, offset = self.moved(i, x), i.attributes["dimensions"][0], [], 0
        for of in x:
            indices = _indices(of.dims)
            to = list(indices)
            to[d] = _affine(to[d], 1, offset)
            lines += _nest(of.dims, self.move(out, _at(to, _strides(out.dims)), of, _at(indices, _strides(of.dims))))
            offset += of.dims[d]
        self.step(self.title(i), lines, [out], x)
        return out

    # at an index that is read

    def clamped(self, of: _Array, position: str, last: int) -> str:
        """An index as the op takes it: from 0 to last, whatever its type."""
        return f"{'s' if _signed(of.dtype) else 'u'}64_index(v_{of.name}[{position}], {last})"

    def unsure(self, indices: Sequence[Tuple[_Array, str]]) -> str:
        """C text: whether another index may be right too; "" where none may."""
        return " || ".join(f"lo_{of.name}[{at}] != hi_{of.name}[{at}]" for of, at in indices if not of.exact)

    def anything(self, out: _Array, position: str) -> List[str]:
        """Statements that let an element be any value."""
        if out.dtype in FLOATS:
            return self.put_interval(out, position, "range_all()")
        low, high = ("0", "1") if out.dtype == "pred" else _key_limits(out.dtype)
        return self.put_interval(out, position, f"irange_of({low}, {high})")

    def element_at(self, to: _Array, to_position: str, of: _Array, of_position: str, indices: Sequence[Tuple[_Array, str]]) -> List[str]:
        """Statements that copy an element which lies at an index that was read."""
        lines, unsure = self.move(to, to_position, of, of_position), self.unsure(indices)
        if unsure:
            self.unknown.append(f"rounding decides an index of {to.name}")
            lines += [f"if ({unsure}) {{", *("  " + line for line in self.anything(to, to_position)), "}"]
        return lines

    def dynamic_slice(self, i: "Instruction", x: List[_Array]) -> _Array:
        out, of, starts = self.moved(i, x), x[0], x[1:]
        lines = [f"const int64_t start{d} = {self.clamped(start, '0', of.dims[d] - out.dims[d])};" for d, start in enumerate(starts)]
        indices = _indices(out.dims)
        from_ = [f"start{d}" if index == "0" else f"start{d} + {index}" for d, index in enumerate(indices)]
        body = self.element_at(out, _at(indices, _strides(out.dims)), of, _at(from_, _strides(of.dims)), [(s, "0") for s in starts])
        self.step(self.title(i), self.scoped(lines, out.dims, body), [out], x)
        return out

    def dynamic_update_slice(self, i: "Instruction", x: List[_Array]) -> _Array:
        out, update, starts = self.moved(i, x), x[1], x[2:]
        lines = self.copy_elements(out, x[0])
        head = [f"const int64_t start{d} = {self.clamped(start, '0', out.dims[d] - update.dims[d])};" for d, start in enumerate(starts)]
        indices = _indices(update.dims)
        to = [f"start{d}" if index == "0" else f"start{d} + {index}" for d, index in enumerate(indices)]
        lines += self.scoped(head, update.dims, self.move(out, _at(to, _strides(out.dims)), update, _at(indices, _strides(update.dims))))
        unsure = self.unsure([(s, "0") for s in starts])
        if unsure:
            self.unknown.append(f"rounding decides an index of {i.name}")
            at = "0" if out.count == 1 else "i"
            lines += [f"if ({unsure}) {{", *("  " + line for line in _nest((out.count,), self.anything(out, at))), "}"]
        self.step(self.title(i), lines, [out], x)
        return out

    def copy_elements(self, to: _Array, of: _Array) -> List[str]:
        at = "0" if to.count == 1 else "i"
        return _nest((to.count,), self.move(to, at, of, at))

    def scoped(self, head: Sequence[str], dims: Sequence[int], body: Sequence[str]) -> List[str]:
        """Definitions and a nest of loops that uses them, in a block of their own."""
        return ["{", *("  " + line for line in [*head, *_nest(dims, body)]), "}"]

    def gather(self, i: "Instruction", x: List[_Array]) -> _Array:
        out, of, table_, a = self.moved(i, x), x[0], x[1], i.attributes
        vector, sizes = a["index_vector_dim"], a["slice_sizes"]
        indices = _indices(out.dims)
        row = iter(index for d, index in enumerate(indices) if d not in a["offset_dims"])
        rows = ["" if d == vector else next(row) for d in range(len(table_.dims))]
        window = iter(indices[d] for d in a["offset_dims"])
        batching = dict(zip(a.get("operand_batching_dims", ()), a.get("start_indices_batching_dims", ())))
        head, from_, read = [], [], []
        for d, size in enumerate(of.dims):
            terms = []
            if d in a["start_index_map"]:
                at = _at([str(a["start_index_map"].index(d)) if k == vector else index for k, index in enumerate(rows)], _strides(table_.dims))
                head.append(f"const int64_t start{d} = {self.clamped(table_, at, size - sizes[d])};")
                terms.append(f"start{d}")
                read.append((table_, at))
            if d in batching:
                terms.append(rows[batching[d]])
            elif d not in a["collapsed_slice_dims"]:
                terms.append(next(window))
            from_.append(" + ".join(term for term in terms if term != "0") or "0")
        body = head + self.element_at(out, _at(indices, _strides(out.dims)), of, _at(from_, _strides(of.dims)), read)
        self.step(self.title(i), _nest(out.dims, body), [out], x)
        return out

    def scatter(self, i: "Instruction", x: List[_Array]) -> _Value:
        """Rows of the indices one after another, whole windows of the updates. Kernels may take updates of an element in any order: a sum is
        bounded as a reduction's, what no order changes is exact, and anything may be where other updates meet."""
        a, half = i.attributes, len(x) // 2
        operands, table_, updates, parts = x[:half], x[half], x[half + 1:], _parts(i.attributes["to_apply"], half)
        dims, of, vector = updates[0].dims, operands[0].dims, a["index_vector_dim"]
        names = [i.name if half == 1 else f"{i.name}_{k}" for k in range(half)]
        ways = [self.scatter_way(i, parts[k] if parts else None, [operands[k], updates[k]] if parts else [*operands, *updates]) for k in range(half)]
        outs = [self.array(name, shape, way == "exact") for name, shape, way in zip(names, i.shape.leaves(), ways)]
        takes = a["to_apply"].root.opcode == "parameter" or _through(a["to_apply"].root).opcode == "parameter"
        for k, out in enumerate(outs):
            out.bits = out.dtype not in FLOATS or (takes and operands[k].bits and updates[k].bits)
        met = self.array(f"{i.name}_updates", _of_type(i.shape.leaves()[0], "s32"), True)
        masses = [self.array(f"{name}_mass", _of_type(shape, "f64"), True) if way == "sum" else None for name, shape, way in zip(names, i.shape.leaves(), ways)]
        lines, counted = [], any(way in ("sum", "met") for way in ways)
        for k, (out, mass) in enumerate(zip(outs, masses)):
            copied = self.move(out, "0" if out.count == 1 else "i", operands[k], "0" if out.count == 1 else "i")
            at = "0" if out.count == 1 else "i"
            if mass:
                mass.dtype = "range_sum"
                copied = copied[:1] + [f"v_{mass.name}[{at}] = (range_sum){{0.0, 0.0, 0.0, false, false, false, false}};",
                                       f"range_sum_add(&v_{mass.name}[{at}], {_interval(self.element(operands[k], at))});"]
            lines += _nest((out.count,), copied)
        if counted:
            lines += _nest((met.count,), [f"v_{met.name}[{'0' if met.count == 1 else 'i'}] = 0;"])
        indices = _indices(dims)
        window = iter(indices[d] for d in a["update_window_dims"])
        sizes = iter(dims[d] for d in a["update_window_dims"])
        row = iter(index for d, index in enumerate(indices) if d not in a["update_window_dims"])
        rows = ["" if d == vector else next(row) for d in range(len(table_.dims))]
        batching = dict(zip(a.get("input_batching_dims", ()), a.get("scatter_indices_batching_dims", ())))
        head, inside, to, read = [], [], [], []
        for d, size in enumerate(of):
            terms, width = [], 1
            if d in batching:
                terms.append(rows[batching[d]])
            elif d not in a["inserted_window_dims"]:
                terms.append(next(window))
                width = next(sizes)
            if d in a["scatter_dims_to_operand_dims"]:
                component = str(a["scatter_dims_to_operand_dims"].index(d))
                at = _at([component if k == vector else index for k, index in enumerate(rows)], _strides(table_.dims))
                head.append(f"const int64_t start{d} = (int64_t)v_{table_.name}[{at}];")
                inside.append(f"start{d} >= 0 && start{d} <= {size - width}")
                terms.append(f"start{d}")
                read.append((table_, at))
            to.append(" + ".join(term for term in terms if term != "0") or "0")
        body = [f"const int64_t at = {_at(to, _strides(of))};"]
        from_, sums, elements = _at(indices, _strides(dims)), [], []
        for k, (out, way) in enumerate(zip(outs, ways)):
            element = self.element(updates[k], from_)
            kind, ranged = "range" if out.dtype in FLOATS else "irange", way in ("ends", "met") and not out.exact
            if ranged:
                body.append(f"{kind} ra{k} = {_interval(self.element(out, 'at'))};")
            if way == "sum" and not out.exact:
                body.append(f"range_sum_add(&v_{masses[k].name}[at], {_interval(element)});")   # type: ignore[union-attr]
            sums.append(_Scalar(f"v_{out.name}[at]", out.dtype, f"ra{k}" if ranged else None))
            elements.append(element if ranged else _Scalar(element.v, element.dtype))
        if counted:
            body.append(f"++v_{met.name}[at];")
        if parts:
            for k, part in enumerate(parts):
                body += self.combine_simple(part, sums[k], elements[k], k)
        else:
            body += self.combine(a["to_apply"], sums, elements)
        for k, (out, way) in enumerate(zip(outs, ways)):
            if sums[k].interval is not None:
                put = self.put_interval(out, "at", f"ra{k}")
                body += [f"if (v_{met.name}[at] > 1) {{", *("  " + line for line in self.anything(out, "at")), "} else {", *("  " + line for line in put), "}"] \
                    if way == "met" else put
        if not any("[at]" in line for line in body[1:]):
            body = ["(void)0;"]
        body = [*head, f"if ({' && '.join(inside)}) {{", *("  " + line for line in body), "}"] if inside else [*head, *body]
        in_order = [d for d in range(len(dims)) if d not in a["update_window_dims"]] + list(a["update_window_dims"])
        if all(" <= -" not in one for one in inside):     # else no window fits
            lines += ["{", *("  " + line for line in _nest_ordered(dims, in_order, body)), "}"]
        for k, (out, mass) in enumerate(zip(outs, masses)):
            if mass and not out.exact:
                at = "0" if out.count == 1 else "i"
                lost = f"2 * {LEAST_NORMAL['f32']}" if out.dtype == "f32" and self.options.flushes else "0.0"     # of what is there and what is added
                total = f"range_sum_result(&v_{mass.name}[{at}], v_{met.name}[{at}], 0x1p-{UNIT[out.dtype]}, {LARGEST[out.dtype]}, {lost})"
                lines += _nest((out.count,), [f"const range r = {_rounded(total, out.dtype, f'v_{out.name}[{at}]', self.options)};",
                                              *self.put_interval(out, at, "r")])
        if "met" in ways:
            self.unknown.append(f"updates of one element meet in {i.name}")
        if self.options.intervals and not table_.exact:
            self.unknown.append(f"rounding decides an index of {i.name}")
            lines += ["{", "  bool unsure = false;", *("  " + line for line in _nest((table_.count,), [
                f"unsure = unsure || {self.unsure([(table_, '0' if table_.count == 1 else 'i')])};"]))]
            for out in outs:
                lines += ["  if (unsure) {", *("    " + line for line in _nest((out.count,), self.anything(out, "0" if out.count == 1 else "i"))), "  }"]
            lines.append("}")
        lines += [f"(void)v_{one.name};" for one in x if not any(f"v_{one.name}[" in line for line in lines)]
        self.step(self.title(i), lines, [*outs, *([met] if counted else []), *(mass for mass in masses if mass)], x)
        return outs[0] if i.shape.kind == "array" else list(outs)

    def scatter_way(self, i: "Instruction", part: "Optional[Instruction]", of: "Sequence[_Array]") -> str:
        """How intervals go through a scatter: exact, by their ends, as a sum in any order, or met (anything where two updates meet)."""
        if not self.options.intervals:
            return "exact"
        from gen.hlo import apart, unique_indices
        exact, once = all(one.exact for one in of), apart(i) is not None
        if unique_indices(i) and not once:      # what is drawn may break the promise that kernels rely on
            return "met"
        if part is not None:
            dtype = part.shape.dtype
            if dtype not in FLOATS:
                return "exact" if exact else "ends"
            if part.opcode == "add" and dtype not in TINY:
                return "sum"
            if part.opcode in ("maximum", "minimum") and not zero_sign_matters(i):
                return "exact" if exact else "ends"
            return "met"
        err = self.introduces(i.attributes["to_apply"], [p.shape.dtype for p in i.attributes["to_apply"].parameters])
        return "exact" if once and exact and not err else "met"

    # elementwise ops

    def op(self, i: "Instruction", x: Sequence[_Scalar], v: str) -> Tuple[str, Optional[str]]:
        """C text of an op's value, and of its interval (which may name the value v), None where it is exact."""
        opcode, to = i.opcode, i.shape.dtype
        value = _value(opcode, i.attributes, to, x)
        if not self.options.intervals:
            return value, None
        own = _own_error(opcode, i.attributes, to, [s.dtype for s in x], self.options)
        by_bits = i.attributes.get("type") == "TOTALORDER" and not all(s.bits for s in x)
        if not own and not by_bits and all(s.interval is None for s in x):
            return value, None
        same = len(i.operands) == 2 and i.operands[0] is i.operands[1]
        return value, _range(opcode, i.attributes, to, x, v, same, self.options)

    def elementwise(self, i: "Instruction", x: List[_Array]) -> _Array:
        count = _count(i.shape.dims)
        positions = ["0" if count == 1 or a.count == 1 else "i" for a in x]  # a scalar choice or clamp bound stands for all
        value, interval = self.op(i, [self.element(a, p) for a, p in zip(x, positions)], "v")
        out = self.array(i.name, i.shape, interval is None)
        out.bits = _keeps_bits(i, x)
        at = "0" if count == 1 else "i"
        if interval is None:
            lines = [f"v_{out.name}[{at}] = {value};"]
        else:
            kind = "range" if out.dtype in FLOATS else "irange"
            lines = [f"const {STORAGE[out.dtype]} v = {value};", f"const {kind} r = {interval};", f"v_{out.name}[{at}] = v;"]
            lines += self.put_interval(out, at, "r")
        self.step(self.title(i), _nest((count,), lines), [out], x)
        return out

    def inline(self, computation: "Computation", arguments: Sequence[_Scalar], lines: List[str]) -> List[_Scalar]:
        """A computation on scalars as statements, appended to lines; its results."""
        live = _reachable(computation)
        known: Dict[int, List[_Scalar]] = {}
        for i in computation.instructions:
            if id(i) not in live:
                continue
            x = [known[id(o)] for o in i.operands]
            if i.opcode == "parameter":
                known[id(i)] = [arguments[i.parameter_number]]
            elif i.opcode == "tuple":
                known[id(i)] = [s for group in x for s in group]
            elif i.opcode == "get-tuple-element":
                known[id(i)] = [x[0][i.attributes["index"]]]
            elif i.opcode in ("fusion", "call", "map"):
                key = "calls" if i.opcode == "fusion" else "to_apply"
                known[id(i)] = self.inline(i.attributes[key], [s for group in x for s in group], lines)
            elif i.opcode in ("copy", "broadcast", "reshape", "bitcast", "transpose") and i.operands[0].shape.dtype == i.shape.dtype:
                known[id(i)] = x[0]
            else:
                known[id(i)] = [self.local(i, [group[0] for group in x], lines)]
        return known[id(computation.root)]

    def local(self, i: "Instruction", x: Sequence[_Scalar], lines: List[str]) -> _Scalar:
        if i.shape.dims:
            raise ValueError(f"'{i.name}' in a scalar computation is {i.shape.text}")
        if i.opcode == "constant":
            array = self.constant(i, [])
            self.touched.append(array)
            return _Scalar(f"v_{array.name}[0]", array.dtype)
        name = self.unique(i.name)
        value, interval = self.op(i, x, f"s_{name}")
        lines.append(f"const {STORAGE[i.shape.dtype]} s_{name} = {value};")
        if interval is None:
            return _Scalar(f"s_{name}", i.shape.dtype, None, _keeps_bits(i, x))
        lines.append(f"const {'range' if i.shape.dtype in FLOATS else 'irange'} r_{name} = {interval};")
        return _Scalar(f"s_{name}", i.shape.dtype, f"r_{name}", _keeps_bits(i, x))

    def map(self, i: "Instruction", x: List[_Array]) -> _Value:
        lines: List[str] = []
        at = "0" if x[0].count == 1 else "i"
        results = self.inline(i.attributes["to_apply"], [self.element(a, at) for a in x], lines)
        outs = []
        for k, (result, shape) in enumerate(zip(results, i.shape.leaves())):
            out = self.array(i.name if len(results) == 1 else f"{i.name}_{k}", shape, result.interval is None)
            out.bits = result.bits
            lines.append(f"v_{out.name}[{at}] = {result.v};")
            if result.interval is not None:
                lines.append(f"const {'range' if out.dtype in FLOATS else 'irange'} r{k} = {result.interval};")
                lines += self.put_interval(out, at, f"r{k}")
            outs.append(out)
        self.step(self.title(i), _nest((outs[0].count,), lines), outs, x)
        return outs[0] if i.shape.kind == "array" else list(outs)

    # reduce

    def reduce(self, i: "Instruction", x: List[_Array]) -> _Value:
        half = len(x) // 2
        inputs, inits, computation = x[:half], x[half:], i.attributes["to_apply"]
        dims = inputs[0].dims
        if i.opcode == "reduce-window":
            window = i.attributes["window"]
            kept_dims, gone_dims = list(i.shape.leaves()[0].dims), list(window.size)
            out_indices = _indices(kept_dims)
            at_element, tests, position = _window(window, out_indices, _indices(gone_dims, "r"), dims)
        else:
            gone = set(i.attributes["dimensions"])
            kept = [d for d in range(len(dims)) if d not in gone]
            kept_dims, gone_dims = [dims[d] for d in kept], [dims[d] for d in sorted(gone)]
            out_indices, in_indices = _indices(kept_dims), _indices(gone_dims, "r")
            position = ["0"] * len(dims)
            for d, index in list(zip(kept, out_indices)) + list(zip(sorted(gone), in_indices)):
                position[d] = index
        elements = [self.element(a, _at(position, _strides(dims))) for a in inputs]
        parts = _parts(computation, half) or [None] * half
        simple = None not in parts
        ways = [self.way(i, parts[k], inputs[k], inits[k], _count(gone_dims)) for k in range(half)]
        if not simple and self.options.intervals:
            inexact = any(not a.exact for a in x) or self.introduces(computation, [a.dtype for a in inits + inputs])
            ways = ["ends" if inexact else "exact"] * half
        shapes = i.shape.leaves()
        names = [i.name if half == 1 else f"{i.name}_{k}" for k in range(half)]
        outs = [self.array(names[k], shapes[k], ways[k] == "exact") for k in range(half)]
        for out in outs:
            out.bits = out.dtype not in FLOATS
        before, inner, after = self.reduce_body(i, parts if simple else None, ways, inits, elements, outs,
                                                _at(out_indices, _strides(kept_dims)), _count(gone_dims))
        if i.opcode == "reduce-window":
            inner = _guarded(at_element, tests, inner)
        body = before + _nest(gone_dims, inner, "r") + after
        if not any(size != 1 for size in kept_dims):
            lines = ["{"] + ["  " + line for line in body] + ["}"]
        else:
            lines = _nest(kept_dims, body)
        self.step(self.title(i), lines, outs, x)
        return outs[0] if i.shape.kind == "array" else list(outs)

    def way(self, i: "Instruction", part: "Optional[Instruction]", of: _Array, init: _Array, count: int) -> str:
        """How intervals go through a simple reduction: exact, by its ends, as a sum or product in any order."""
        if not self.options.intervals or part is None:
            return "exact"
        if part.shape.dtype in FLOATS and part.shape.dtype not in TINY and self.options.reassociate and count > 1:
            if part.opcode in ("add", "multiply"):
                return "sum" if part.opcode == "add" else "product"
            if part.opcode in ("maximum", "minimum") and zero_sign_matters(i):
                return "ends"
        own = _own_error(part.opcode, {}, part.shape.dtype, [part.shape.dtype] * 2, self.options) and count > 0
        return "ends" if own or not of.exact or not init.exact else "exact"

    def introduces(self, computation: "Computation", dtypes: Sequence[str]) -> bool:
        """Whether a combiner may err though its arguments are exact."""
        trial = _Emitter(self.options)  # its text is thrown away
        return any(s.interval is not None for s in trial.inline(computation, [_Scalar("x", d) for d in dtypes], []))

    def reduce_body(self, i: "Instruction", parts: "Optional[List[Instruction]]", ways: List[str], inits: List[_Array],
                    elements: List[_Scalar], outs: List[_Array], at: str, count: int) -> Tuple[List[str], List[str], List[str]]:
        """Statements before, in and after the loops over the reduced dimensions."""
        before: List[str] = []
        inner: List[str] = []
        after: List[str] = []
        sums: List[_Scalar] = []
        for k, out in enumerate(outs):
            start = self.element(inits[k], "0")
            before.append(f"{STORAGE[out.dtype]} a{k} = {start.v};")
            if ways[k] == "ends":
                before.append(f"{'range' if out.dtype in FLOATS else 'irange'} ra{k} = {_interval(start)};")
            if ways[k] in ("sum", "product"):
                state = "{0.0, 0.0, 0.0, false, false, false, false}" if ways[k] == "sum" else \
                    "{{1.0, 1.0}, 1.0, 1.0, false, false, false, false}"
                before += [f"range_{ways[k]} ra{k} = {state};"]
                verb = "add" if ways[k] == "sum" else "multiply"
                before.append(f"range_{ways[k]}_{verb}(&ra{k}, {_interval(start)});")
                inner.append(f"range_{ways[k]}_{verb}(&ra{k}, {_interval(elements[k])});")
            sums.append(_Scalar(f"a{k}", out.dtype, f"ra{k}" if ways[k] == "ends" else None))
        if parts is None:
            inner += self.combine(i.attributes["to_apply"], sums, elements)
        else:
            for k, part in enumerate(parts):
                inner += self.combine_simple(part, sums[k], elements[k], k)
        for k, out in enumerate(outs):
            after.append(f"v_{out.name}[{at}] = a{k};")
            if ways[k] == "exact":
                continue
            r = f"ra{k}"
            if ways[k] in ("sum", "product"):
                r = f"r{k}"
                limits = f"0x1p-{UNIT[out.dtype]}, {LARGEST[out.dtype]}" + \
                    (f", {LEAST_NORMAL[out.dtype]}" if ways[k] == "product" else ", 0.0")
                total = f"range_{ways[k]}_result(&ra{k}, {count}.0, {limits})"
                after.append(f"const range {r} = {_rounded(total, out.dtype, f'a{k}', self.options)};")
            elif out.dtype in FLOATS and parts is not None and zero_sign_matters(i):
                after.append(f"ra{k} = range_either_zero(ra{k});")
            after += self.put_interval(out, at, r)
        return before, inner, after

    def combine_simple(self, part: "Instruction", total: _Scalar, element: _Scalar, k: int) -> List[str]:
        """The combiner is one op on the total and the element, whichever way round it names them."""
        dtype = part.shape.dtype
        first = _through(part.operands[0]).parameter_number == k
        x = [total, element] if first else [element, total]
        value = _value(part.opcode, {}, dtype, x)
        if total.interval is None:
            return [f"{total.v} = {value};"]
        kind = "range" if dtype in FLOATS else "irange"
        text = _range(part.opcode, {}, dtype, x, f"next{k}", False, self.options)
        return [f"const {STORAGE[dtype]} next{k} = {value};", f"const {kind} rnext{k} = {text};", f"{total.v} = next{k};",
                f"{total.interval} = rnext{k};"]

    def combine(self, computation: "Computation", sums: List[_Scalar], elements: List[_Scalar]) -> List[str]:
        lines: List[str] = []
        result = self.inline(computation, sums + elements, lines)
        stores: List[str] = []
        for k, (total, new) in enumerate(zip(sums, result)):
            if new.v != total.v:  # through a local: a later one may still read the old total
                lines.append(f"const {STORAGE[total.dtype]} next{k} = {new.v};")
                stores.append(f"{total.v} = next{k};")
                if total.interval is not None:
                    lines.append(f"const {'range' if total.dtype in FLOATS else 'irange'} rnext{k} = {_interval(new)};")
                    stores.append(f"{total.interval} = rnext{k};")
        return lines + stores


    # loop nests

    def factor(self, i: "Instruction", k: int, x: _Array, kind: str, source: str, at: str, nest: "Callable[[List[str]], List[str]]",
               size: int) -> "List[_Array]":
        """An operand of a product as its factors are wanted: converted to the accumulator's type and, where it has an error of its own, its
        middles and the most of its magnitudes."""
        element, inexact = self.element(x, source), kind in FLOATS and not x.exact
        made = [_Array(self.unique(f"{i.name}_{name}{k}"), dtype, (size,), True) for name, dtype in [("factor", kind)] + [("middle", "f64"), ("most", "f64")] * inexact]
        value = _value("convert", {}, kind, [element])
        lines = [f"v_{made[0].name}[{at}] = {value};"]
        if inexact:
            r = _range("convert", {}, kind, [element], value, False, self.options) if x.dtype != kind else _interval(element)
            lines = [f"const range r = {r};", *lines, f"v_{made[1].name}[{at}] = range_middle(r);", f"v_{made[2].name}[{at}] = range_most(r);"]
        clear = [f"memset(v_{a.name}, 0, {max(1, size)} * sizeof v_{a.name}[0]);" for a in made]
        self.step(f"operand {k} of {i.name} as {kind}", clear + nest(lines), made, [x])
        return made

    def dot(self, i: "Instruction", x: List[_Array]) -> _Array:
        a, b = x
        kind = _accumulator(i.shape.dtype, [a.dtype, b.dtype])
        if kind not in FLOATS and not (a.exact and b.exact):
            return self.contract(i, x, kind)
        batch, contracted = ([i.attributes[f"{side}_{what}_dims"] for side in ("lhs", "rhs")] for what in ("batch", "contracting"))
        free = [[d for d in range(len(o.dims)) if d not in (*batch[k], *contracted[k])] for k, o in enumerate(x)]
        sizes = {"b": [a.dims[d] for d in batch[0]], "k": [a.dims[d] for d in contracted[0]], "m": [a.dims[d] for d in free[0]], "n": [b.dims[d] for d in free[1]]}
        count = {name: _count(dims) for name, dims in sizes.items()}
        wide = max(1, min(16, count["n"]))
        blocks = -(-count["n"] // wide)
        factors = []
        for k, (order, room) in enumerate((("bmk", count["b"] * count["m"] * count["k"]), ("bkn", count["b"] * blocks * count["k"] * wide))):
            index = [""] * len(x[k].dims)
            for name, dims in (("b", batch[k]), ("k", contracted[k]), ("mn"[k], free[k])):
                for d, text in zip(dims, _indices(sizes[name], name)):
                    index[d] = text
            number = {name: _at(_indices(sizes[name], name), _strides(sizes[name])) for name in order}
            at = f"(({number['b']}) * {count['m']} + {number['m']}) * {count['k']} + {number['k']}" if k == 0 else \
                f"((({number['b']}) * {blocks} + ({number['n']}) / {wide}) * {count['k']} + {number['k']}) * {wide} + ({number['n']}) % {wide}"

            def nest(lines: List[str], order: str = order) -> List[str]:
                for name in reversed(order):
                    lines = _nest(sizes[name], lines, name)
                return ["{", *("  " + line for line in lines), "}"]
            factors.append(self.factor(i, k, x[k], kind, _at(index, _strides(x[k].dims)), at, nest, room))
        intervals = self.options.intervals and kind in FLOATS and count["k"] > 0
        out = self.array(i.name, i.shape, not intervals)
        out.bits = out.dtype not in FLOATS
        pointers = [(f.dtype, f"{'ab'[k]}{n}", f"v_{f.name} + {('(g * %d + m) * %d' % (count['m'], count['k']), '(g * %d + n) * %d' % (blocks, count['k'] * wide))[k]}")
                    for k, group in enumerate(factors) for n, f in enumerate(group)]
        total, left, right = (_Scalar(text, kind) for text in ("t[j]", "a0[k]", f"b0[k * {wide} + j]"))
        sums = _Sums(kind, [[f"a{n}[k]" for n in range(len(factors[0]))], [f"b{n}[k * {wide} + j]" for n in range(len(factors[1]))]]) if intervals else None
        body = [f"const {STORAGE[dtype]} *const {name} = {text};" for dtype, name, text in pointers]
        body.append(f"{STORAGE[kind]} t[{wide}] = {{0}};")
        body += [f"double {name}[{wide}] = {{0}};" for name in sums.names] if sums else []
        body.append(f"for (int64_t k = 0; k < {count['k']}; ++k) {{")
        body.append(f"  for (int64_t j = 0; j < {wide}; ++j) t[j] = {_value('add', {}, kind, [total, _Scalar(_value('multiply', {}, kind, [left, right]), kind)])};")
        if sums:
            body += [f"  for (int64_t j = 0; j < {wide}; ++j) {{", *("    " + line for line in sums.add("[j]")), "  }"]
        body.append("}")
        result = [f"const int64_t at = (g * {count['m']} + m) * {count['n']} + n * {wide} + j;", *self.rounded(i, out, total, sums, "[j]", count["k"], "at")]
        body += [f"for (int64_t j = 0; j < {wide} && n * {wide} + j < {count['n']}; ++j) {{", *("  " + line for line in result), "}"]
        lines = body
        for name, size in (("m", count["m"]), ("n", blocks), ("g", count["b"])):
            lines = [f"for (int64_t {name} = 0; {name} < {size}; ++{name}) {{", *("  " + line for line in lines), "}"]
        self.step(self.title(i), lines, [out], [f for group in factors for f in group])
        return out

    def scaled_dot(self, i: "Instruction", x: List[_Array]) -> _Array:
        """A dot of what its scales make of the operands."""
        kind = _accumulator(i.shape.dtype, [a.dtype for a in x])
        return self.dot(i, [self.scaled(i, k, of, scale, kind) for k, (of, scale) in enumerate(zip(x, x[2:]))])

    def scaled(self, i: "Instruction", k: int, x: _Array, scale: _Array, kind: str) -> _Array:
        """An operand in the accumulator's type, each element times that of the scale in whose block it is."""
        index, lines, sides = _indices(x.dims), [], []
        blocks = [f"{at} / {size // each}" if 0 < each < size else at for at, size, each in zip(index, x.dims, scale.dims)]
        for name, array, where in (("x", x, index), ("scale", scale, blocks)):
            element = self.element(array, _at(where, _strides(array.dims)))
            value, interval = (element.v, element.interval) if array.dtype == kind else (_value("convert", {}, kind, [element]), None)
            if element.interval is not None and interval is None:
                interval = _range("convert", {}, kind, [element], name, False, self.options)
            lines.append(f"const {STORAGE[kind]} {name} = {value};")
            sides.append(_Scalar(name, kind, interval))
        vague = any(side.interval is not None for side in sides)
        out = _Array(self.unique(f"{i.name}_scaled{k}"), kind, x.dims, not vague, bits=kind not in FLOATS)
        at = _at(index, _strides(x.dims))
        lines += [f"const {STORAGE[kind]} v = {_value('multiply', {}, kind, sides)};", f"v_{out.name}[{at}] = v;"]
        if vague:
            r = _range("multiply", {}, kind, sides, "v", False, self.options)
            lines += [f"const {'range' if kind in FLOATS else 'irange'} r = {r};", *self.put_interval(out, at, "r")]
        self.step(f"operand {k} of {i.name} times its scale", _nest(x.dims, lines), [out], [x, scale])
        return out

    def rounded(self, i: "Instruction", out: _Array, total: _Scalar, sums: "Optional[_Sums]", each: str, count: int, at: str) -> List[str]:
        """Statements that convert a sum of products to the result, with its interval."""
        lines = [f"const {STORAGE[out.dtype]} v = {_value('convert', {}, out.dtype, [total])};", f"v_{out.name}[{at}] = v;"]
        if out.exact:
            return lines
        if sums:
            r = _rounded(sums.result(each, count * int(i.attributes.get("sums", 1))), out.dtype, "v", self.options)
        else:
            r = _range("convert", {}, out.dtype, [total], "v", False, self.options) if out.dtype != total.dtype else str(total.interval)
        return lines + [f"const {'range' if out.dtype in FLOATS else 'irange'} r = {r};", *self.put_interval(out, at, "r")]

    def convolution(self, i: "Instruction", x: List[_Array]) -> _Array:
        return self.contract(i, x, _accumulator(i.shape.dtype, [a.dtype for a in x]))

    def contract(self, i: "Instruction", x: List[_Array], kind: str) -> _Array:
        """A dot or convolution, element by element of the result."""
        dims = tuple(i.shape.dims)
        index = [f"i{d}" for d in range(len(dims))]
        before, tests, loops, at = (self.convolution_indices if i.opcode == "convolution" else self.dot_indices)(i, x, index)
        intervals = self.options.intervals and (kind in FLOATS or not (x[0].exact and x[1].exact)) and _count(loops) > 0
        factors = [self.factor(i, k, a, kind, "i", "i", lambda lines, n=a.count: [f"for (int64_t i = 0; i < {n}; ++i) {{", *("  " + line for line in lines), "}"], a.count)
                   for k, a in enumerate(x)]
        out = self.array(i.name, i.shape, not intervals)
        out.bits = out.dtype not in FLOATS
        sums = _Sums(kind, [[f"v_{f.name}[{p}]" for f in group] for group, p in zip(factors, at)]) if intervals and kind in FLOATS else None
        total = _Scalar("t", kind, "rt" if intervals and not sums else None)
        product = _Scalar(_value("multiply", {}, kind, [_Scalar(f"v_{group[0].name}[{p}]", kind) for group, p in zip(factors, at)]), kind)
        inner = [f"t = {_value('add', {}, kind, [total, product])};"]
        start = [f"{STORAGE[kind]} t = 0;"]
        if sums:
            start += [f"double {name} = 0.0;" for name in sums.names]
            inner += sums.add("")
        elif intervals:
            start.append("irange rt = irange_of(0, 0);")
            sides = [_range("convert", {}, kind, [self.element(a, p)], "", False, self.options) if a.dtype != kind else _interval(self.element(a, p)) for a, p in zip(x, at)]
            inner += [f"const irange rp = {_range('multiply', {}, kind, [_Scalar('', kind, r) for r in sides], '', False, self.options)};",
                      f"rt = {_range('add', {}, kind, [total, _Scalar('', kind, 'rp')], '', False, self.options)};"]
        body = start + _nest_all(loops, "r", before, tests, inner) + self.rounded(i, out, total, sums, "", _count(loops), _at(index, _strides(dims)))
        lines = ["{", *("  " + line for line in body), "}"]
        for d in reversed(range(len(dims))):
            lines = [f"for (int64_t i{d} = 0; i{d} < {dims[d]}; ++i{d}) {{", *("  " + line for line in lines), "}"]
        self.step(self.title(i), lines, [out], [f for group in factors for f in group] + (list(x) if intervals and not sums else []))
        return out

    def dot_indices(self, i: "Instruction", x: List[_Array], index: List[str]) -> "Tuple[List[str], List[str], List[int], List[str]]":
        """Statements and tests in the loops, how often those run, and the operands' positions in them."""
        free, at = len(i.attributes["lhs_batch_dims"]), []
        for side, a in zip(("lhs", "rhs"), x):
            position = [""] * len(a.dims)
            for d, text in zip(i.attributes[f"{side}_batch_dims"], index):
                position[d] = text
            for k, d in enumerate(i.attributes[f"{side}_contracting_dims"]):
                position[d] = f"r{k}"
            for d, text in enumerate(position):
                if not text:
                    position[d], free = index[free], free + 1
            at.append(_at(position, _strides(a.dims)))
        return [], [], [x[0].dims[d] for d in i.attributes["lhs_contracting_dims"]], at

    def convolution_indices(self, i: "Instruction", x: List[_Array], index: List[str]) -> "Tuple[List[str], List[str], List[int], List[str]]":
        window, labels = i.attributes["window"], i.attributes["dim_labels"]
        n, outputs, batches = len(window.size), i.shape.dims[labels.out[1]], i.shape.dims[labels.out[0]]
        by_feature, by_batch = i.attributes["feature_group_count"], i.attributes["batch_group_count"]
        inputs = x[1].dims[labels.rhs[0]]
        left, right = [""] * (n + 2), [""] * (n + 2)
        left[labels.lhs[0]] = f"{index[labels.out[1]]} / {max(1, outputs // by_batch)} * {batches} + {index[labels.out[0]]}" if by_batch > 1 else index[labels.out[0]]
        left[labels.lhs[1]] = f"{index[labels.out[1]]} / {max(1, outputs // by_feature)} * {inputs} + r{n}" if by_feature > 1 else f"r{n}"
        right[labels.rhs[0]], right[labels.rhs[1]] = f"r{n}", index[labels.out[1]]
        base = [x[0].dims[labels.lhs[2 + k]] for k in range(n)]
        before, tests, at = _window(window, [index[labels.out[2 + k]] for k in range(n)], [f"r{k}" for k in range(n)], base)
        for k in range(n):
            left[labels.lhs[2 + k]] = at[k]
            right[labels.rhs[2 + k]] = f"{window.size[k] - 1} - r{k}" if window.reversal[k] else f"r{k}"
        return before, tests, [*window.size, inputs], [_at(side, _strides(a.dims)) for side, a in zip((left, right), x)]

    def select_and_scatter(self, i: "Instruction", x: List[_Array]) -> _Array:
        of, source, init = x
        window, select, scatter = (i.attributes[key] for key in ("window", "select", "scatter"))
        size = math.prod(window.size)
        vague = self.options.intervals and (not of.exact or self.introduces(select, [of.dtype] * 2))
        unknown = vague and size > MOST_COMPARED
        exact = not self.options.intervals or (not vague and source.exact and init.exact and not self.introduces(scatter, [of.dtype] * 2))
        out = self.array(i.name, i.shape, exact)
        out.bits = out.dtype not in FLOATS
        kind = "range" if out.dtype in FLOATS else "irange"
        every = "range_all()" if out.dtype in FLOATS else f"irange_of({', '.join(_key_limits(out.dtype))})"
        first = self.move(out, "i", init, "0")
        if unknown:
            self.unknown.append(f"{i.name} compares more than {MOST_COMPARED} elements")
            first = [f"const {kind} r = {every};", f"v_{out.name}[i] = v_{init.name}[0];", *self.put_interval(out, "i", "r")]
        lines = [f"for (int64_t i = 0; i < {out.count}; ++i) {{", *("  " + line for line in first), "}"]
        places, element = [f"i{d}" for d in range(len(of.dims))], [f"r{d}" for d in range(len(of.dims))]
        before, tests, at = _window(window, places, element, of.dims)
        inner = [f"const int64_t at = {_at(at, _strides(of.dims))};", f"const {STORAGE[of.dtype]} next = v_{of.name}[at];"]
        choice = self.inline(select, [_Scalar("chosen", of.dtype), _Scalar("next", of.dtype)], inner)[0]
        inner += [f"if (best < 0 || !{choice.v}) {{", "  best = at;", "  chosen = next;", "}"]
        body = ["int64_t best = -1;", f"{STORAGE[of.dtype]} chosen = 0;"]
        of_source = self.element(source, _at(places, _strides(source.dims)))
        if vague and not unknown:   # beside the best one all that may be
            body += [f"int64_t may[{size}], some = 0;"]
            choosing: List[str] = []
            choice = self.inline(select, [self.element(of, "may[k]"), self.element(of, "at")], choosing)[0]
            inner += ["int64_t left = 0;", "int takes = some == 0;", "for (int64_t k = 0; k < some; ++k) {", *("  " + line for line in choosing),
                      f"  const irange kept = {_interval(choice)};", f"  (void){choice.v};", "  if (kept.hi != 0) may[left++] = may[k];", "  takes |= kept.lo == 0;", "}",
                      "some = left;", "if (takes) may[some++] = at;"]
        body += _nest_all(window.size, "r", before, tests, inner)
        put: List[str] = []
        there = self.element(out, "best")
        made = self.inline(scatter, [_Scalar(x.v, x.dtype) for x in (of_source, there)] if vague else [of_source, there], put)[0]
        put += [f"const {STORAGE[out.dtype]} v = {made.v};", *([f"(void){made.interval};"] if vague and made.interval else [])]
        if vague and not unknown:
            maybe: List[str] = []
            there = self.element(out, "may[k]")
            made = self.inline(scatter, [of_source, there], maybe)[0]
            maybe += [f"const {kind} now = {_interval(made)};", f"(void){made.v};", f"const {kind} r = some == 1 ? now : {kind}_hull({_interval(there)}, now);"]
            put += ["for (int64_t k = 0; k < some; ++k) {", *("  " + line for line in maybe + self.put_interval(out, "may[k]", "r")), "}"]
        elif not exact:
            put += [f"const {kind} r = {every if unknown else _interval(made)};", *self.put_interval(out, "best", "r")]
        body += ["if (best >= 0) {", *("  " + line for line in [*put, f"v_{out.name}[best] = v;"]), "}"]
        loop = ["{", *("  " + line for line in body), "}"]
        for d in reversed(range(len(of.dims))):
            loop = [f"for (int64_t i{d} = 0; i{d} < {source.dims[d]}; ++i{d}) {{", *("  " + line for line in loop), "}"]
        self.step(self.title(i), lines + loop, [out], x)
        return out


class _Sums:
    """The sums in double beside a sum of products, for its interval. factors: of each side the text of the factor and, where it has an error
    of its own, of its middle and the most of its magnitude."""

    def __init__(self, kind: str, factors: "List[List[str]]") -> None:
        self.kind, self.factors = kind, factors
        self.exact = all(len(side) == 1 for side in factors)
        self.names = ["sum", "mass"] if self.exact else ["sum", "mass", "core"]

    def add(self, each: str) -> List[str]:
        middles = [side[1] if len(side) > 1 else f"(double){side[0]}" for side in self.factors]
        most = [side[2] if len(side) > 1 else f"fabs((double){side[0]})" for side in self.factors]
        lines = [f"const double p = {middles[0]} * {middles[1]};", f"sum{each} += p;"]
        if self.exact:      # of finite products: NaN and infinities are certain
            return lines + [f"mass{each} += fabs(p) < INFINITY ? fabs(p) : 0.0;"]
        return lines + [f"mass{each} += {most[0]} * {most[1]};", f"core{each} += fabs(p);"]

    def result(self, each: str, terms: int) -> str:
        slack = "0.0" if self.exact else f"mass{each} - core{each}"
        return f"range_of_products(sum{each}, mass{each}, {slack}, {terms}.0, 0x1p-{UNIT[self.kind]}, {LEAST[self.kind]}, {LARGEST[self.kind]})"


def _accumulator(to: str, kinds: Sequence[str]) -> str:
    if to not in FLOATS:
        return to
    return "f64" if "f64" in (to, *kinds) else "f32"


def _window(window: object, places: Sequence[str], within: Sequence[str], base: Sequence[int]) -> "Tuple[List[str], List[str], List[str]]":
    """Where a window at a place looks: statements, tests of being inside of the base, the index there."""
    before, tests, at = [], [], []
    lists = (getattr(window, name) for name in ("stride", "dilation", "low", "base_dilation"))
    for k, (stride, dilation, low, holes) in enumerate(zip(*lists)):
        before.append(f"const int64_t p{k} = {places[k]} * {stride} + {within[k]} * {dilation} - ({low});")
        tests += [f"p{k} >= 0"] + [f"p{k} % {holes} == 0"] * (holes > 1) + [f"p{k} / {holes} < {base[k]}"]
        at.append(f"p{k} / {holes}" if holes > 1 else f"p{k}")
    return before, tests, at


def _guarded(before: Sequence[str], tests: Sequence[str], body: Sequence[str]) -> List[str]:
    return [*before, f"if ({' && '.join(tests)}) {{", *("  " + line for line in body), "}"] if tests else list(body)


def _nest_all(loops: Sequence[int], prefix: str, before: Sequence[str], tests: Sequence[str], body: Sequence[str]) -> List[str]:
    """The body in loops, the first `tests` of which (as many as there are statements before them) decide whether it runs."""
    lines = list(body)
    for d in reversed(range(len(before), len(loops))):
        lines = [f"for (int64_t {prefix}{d} = 0; {prefix}{d} < {loops[d]}; ++{prefix}{d}) {{", *("  " + line for line in lines), "}"]
    lines = _guarded(before, tests, lines)
    for d in reversed(range(len(before))):
        lines = [f"for (int64_t {prefix}{d} = 0; {prefix}{d} < {loops[d]}; ++{prefix}{d}) {{", *("  " + line for line in lines), "}"]
    return lines if loops else ["{", *("  " + line for line in lines), "}"]


# ---------------------------------------------------------------------------------------------------------------------
# Small helpers of the emitter


def _of_type(shape: "Shape", dtype: str) -> "Shape":
    from gen.hlo import array_shape
    return array_shape(dtype, tuple(shape.dims))


def _keeps_bits(i: "Instruction", x: "Sequence[_Array | _Scalar]") -> bool:
    """Whether an elementwise op's result has no NaN of its own making."""
    return i.shape.dtype not in FLOATS or (i.opcode in ("select", "copy") and all(a.bits for a in x[-2:]))


def _reachable(computation: "Computation") -> Set[int]:
    """The instructions that the root needs, by id."""
    seen: Set[int] = set()
    waiting = [computation.root]
    while waiting:
        instruction = waiting.pop()
        if id(instruction) not in seen:
            seen.add(id(instruction))
            waiting.extend(instruction.operands)
    return seen


def _through(i: "Instruction") -> "Instruction":
    """The value itself, behind copies and tuples that are taken apart again."""
    while i.opcode == "copy" or (i.opcode == "get-tuple-element" and _through(i.operands[0]).opcode == "tuple"):
        i = i.operands[0] if i.opcode == "copy" else _through(i.operands[0]).operands[int(i.attributes["index"])]
    return i


def _parts(computation: "Computation", count: int) -> "Optional[List[Instruction]]":
    """The ops of a combiner whose component k is one op of total k and element k alone; None for any other."""
    root = _through(computation.root)
    parts = [_through(o) for o in root.operands] if root.opcode == "tuple" else [root]
    if len(parts) != count:
        return None
    for k, part in enumerate(parts):
        numbers = sorted(-1 if o.opcode != "parameter" else o.parameter_number for o in map(_through, part.operands))
        if part.opcode not in ("add", "multiply", "maximum", "minimum", "and", "or", "xor") or numbers != [k, count + k]:
            return None
    return parts


_ZERO_SIGN = frozenset(["divide", "atan2", "rsqrt", "power", "bitcast-convert", "bitcast", "fusion", "call", "map"])


def zero_sign_matters(instruction: "Instruction") -> bool:
    """Whether an op after this one can tell -0 from +0 by more than a zero."""
    seen: Set[int] = set()
    waiting = list(instruction.users)
    while waiting:
        user = waiting.pop()
        if id(user) in seen:
            continue
        seen.add(id(user))
        if user.opcode in _ZERO_SIGN or user.attributes.get("type") == "TOTALORDER":
            return True
        waiting.extend(user.users)
    return False


def _plain(value: object) -> str:
    if isinstance(value, tuple):
        return "{" + ",".join(_plain(v) for v in value) + "}"
    return str(value)


def _affine(index: str, factor: int, offset: int) -> str:
    """factor * index + offset; index is a loop variable or 0."""
    if index == "0":
        return str(offset)
    if factor == -1:
        return f"{offset} - {index}"
    text = index if factor == 1 else f"{index} * {factor}"
    return text if offset == 0 else f"{text} {'+' if offset > 0 else '-'} {abs(offset)}"


def _memory_order(shape: "Shape") -> str:
    """The row-major position of the element which is at i in memory."""
    memory, logical = _strides(shape.dims, shape.minor_to_major), _strides(shape.dims)
    terms = []
    for d, size in enumerate(shape.dims):
        if size > 1:
            index = "i" if memory[d] == 1 else f"i / {memory[d]}"
            index += f" % {size}"
            terms.append(f"{index} * {logical[d]}" if logical[d] != 1 else index)
    return " + ".join(terms) or "0"


def _literal(dtype: str, bits: int) -> Optional[str]:
    """A constant of the storage type; None for a NaN of f32 or f64."""
    if dtype in SMALL + TINY:
        return f"0x{bits:0{_bits(dtype) // 4}x}"
    if dtype in FLOATS:
        code, integer = ("<f", "<I") if dtype == "f32" else ("<d", "<Q")
        value = struct.unpack(code, struct.pack(integer, bits))[0]
        if value != value:
            return None
        if value in (float("inf"), float("-inf")):
            return "INFINITY" if value > 0 else "-INFINITY"
        return re.sub(r"\.0(?=p)|(?<=[1-9a-f])0+(?=p)", "", value.hex()) + ("f" if dtype == "f32" else "")
    width = _bits(dtype)
    if dtype == "pred":
        return str(bits & 1)
    if dtype in NARROW:
        return str(table.decode(bits, dtype))
    if not _signed(dtype):
        return f"{bits}u"
    value = bits - (1 << width) if bits >> (width - 1) & 1 else bits
    if value == -(1 << (width - 1)):
        return f"INT{width}_MIN"
    return f"INT64_C({value})" if width == 64 else str(value)


def _wrapped_list(head: str, values: Sequence[str], opening: str, closing: str) -> List[str]:
    text = f"{head} {opening}{', '.join(values)}{closing};"
    if len(text) <= 108:
        return [text]
    lines, line = [f"{head} {opening}"], " "
    for value in values:
        if len(line) + len(value) + 2 > 108:
            lines.append(line)
            line = " "
        line += f" {value},"
    return lines + [line, f"{closing};"]


# ---------------------------------------------------------------------------------------------------------------------
# Files


def _emit(computation: "Computation", options: _Options) -> "Tuple[_Emitter, List[Tuple[int, Shape, Optional[int]]], List[_Array]]":
    """All steps of a computation; of each array of its results: the result's number, its shape, and which part of a complex one it is."""
    emitter = _Emitter(options)
    arguments: List[_Value] = []
    number = 0
    for parameter in computation.parameters:
        leaves: List[_Value] = []
        for shape in parameter.shape.leaves():
            if table.is_complex(shape.dtype):
                for k, name in enumerate(("re", "im")):
                    array = _Array(emitter.unique(f"{parameter.name}_{name}"), table.TABLE[shape.dtype].part, tuple(shape.dims), True)
                    kind, indices = STORAGE[array.dtype], _indices(array.dims)
                    at, source = _at(indices, _strides(array.dims)), _at(indices, _strides(array.dims, shape.minor_to_major))
                    line = f"v_{array.name}[{at}] = ((const {kind} *)params[{number}])[({source}) * 2 + {k}];"
                    emitter.step(f"{array.name} of {parameter.name} = {shape.text} parameter({parameter.parameter_number})", _nest(array.dims, [line]), [array], [])
                    arguments.append(array)
                number += 1
                continue
            array = emitter.array(parameter.name, shape, True)
            array.home = "given"
            kind = STORAGE[array.dtype]
            if array.dtype in PACKED:
                array.home = "heap"
                indices = _indices(array.dims)
                source = f"{array.dtype}_unpack(params[{number}], {_at(indices, _strides(array.dims, shape.minor_to_major))})"
                title = f"{parameter.name} = {shape.text} parameter({parameter.parameter_number}), to row-major, an element a byte"
                emitter.step(title, _nest(array.dims, [f"v_{array.name}[{_at(indices, _strides(array.dims))}] = {source};"]), [array], [])
            elif _row_major(shape):
                emitter.parameters[array.name] = f"const {kind} *const v_{array.name} = params[{number}];"
            else:
                array.home = "heap"
                indices = _indices(array.dims)
                source = _where(shape, indices)
                line = f"v_{array.name}[{_at(indices, _strides(array.dims))}] = ((const {kind} *)params[{number}])[{source}];"
                title = f"{parameter.name} = {shape.text} parameter({parameter.parameter_number}), to row-major"
                emitter.step(title, _nest(array.dims, [line]), [array], [])
            leaves.append(array)
            number += 1
        if leaves or parameter.shape.kind == "tuple":
            arguments.append(_regroup(parameter.shape, leaves))
    result = emitter.run(_real_computation(computation), arguments)
    shapes = [(number, shape, k) for number, shape in enumerate(computation.root.shape.leaves())
              for k in ((0, 1) if table.is_complex(shape.dtype) else (None,))]
    return emitter, shapes, _leaves(result)


# ---------------------------------------------------------------------------------------------------------------------
# Complex numbers: a computation with them becomes one on their parts, two arrays for each

_Parts = Union["Instruction", Tuple["Instruction", "Instruction"], List["_Parts"]]


def _real_computation(computation: "Computation") -> "Computation":
    """The same on real numbers: a complex parameter is two, what is in tuples is flat."""
    if not any(table.is_complex(leaf.dtype) for i in computation.instructions for leaf in i.shape.leaves()):
        return computation
    made = type(computation)(computation.name)
    known: Dict[int, _Parts] = {}

    def part(shape: "Shape") -> "Shape":
        return replace(shape, dtype=table.TABLE[shape.dtype].part, text=shape.text.replace(shape.dtype, table.TABLE[shape.dtype].part, 1))

    def op(opcode: str, shape: "Shape", *operands: "Instruction", **more: object) -> "Instruction":
        attributes = {**(like.attributes if more.pop("keep", False) else {}), **more}
        i = type(like)(like.name, opcode, shape, list(operands), attributes, called=list(like.called), literal=None, computation=made)
        for operand in operands:
            operand.users.append(i)
        made.instructions.append(i)
        return i

    def flat(value: _Parts) -> "List[Instruction]":
        return [value] if isinstance(value, type(like)) else [leaf for child in value for leaf in flat(child)]  # type: ignore[union-attr]

    def parameter(shape: "Shape") -> "Instruction":
        i = op("parameter", shape)
        i.parameter_number = len(made.parameters)
        made.parameters.append(i)
        return i

    def function(opcode: str, real: "Shape", x: "List[Instruction]") -> _Parts:
        """The parts of a function's value: a map of all its steps, so that they are one loop."""
        scalar = replace(real, dims=(), minor_to_major=(), elements=1)
        inner = type(computation)(opcode)
        numbers: "Dict[str, Instruction]" = {}

        def step(name: str, *operands: "Instruction", dtype: str = scalar.dtype, **attributes: object) -> "Instruction":
            i = type(like)(like.name, name, replace(scalar, dtype=dtype, text=dtype), list(operands), attributes, computation=inner)
            inner.instructions.append(i)
            return i

        def number(value: float) -> "Instruction":
            if str(value) not in numbers:
                numbers[str(value)] = step("constant")
                numbers[str(value)].literal = [table.encode(value, scalar.dtype)]
            return numbers[str(value)]
        for k in range(len(x)):
            inner.parameters.append(step("parameter"))
            inner.parameters[-1].parameter_number = k
        pairs = list(zip(inner.parameters[::2], inner.parameters[1::2]))
        steps = complex_functions.Real(step, lambda name, *v, **more: step(name, *v, dtype="pred", **more), number)
        inner.root = step("tuple", *complex_functions.function(opcode, steps, *pairs))
        whole = op("map", replace(real, kind="tuple", dtype="", dims=(), text=like.shape.text, children=(real, real)), *x, to_apply=inner)
        return tuple(op("get-tuple-element", real, whole, index=k) for k in (0, 1))  # type: ignore[return-value]

    def elementwise(opcode: str, shape: "Shape", x: "Sequence[_Parts]") -> _Parts:
        """The parts of an op on complex numbers, by real ops that each round."""
        real = part(shape) if table.is_complex(shape.dtype) else shape
        is_pair = isinstance(x[-1], tuple)
        do = lambda name, *operands, **more: op(name, more.pop("shape", real), *operands, **more)  # noqa: E731
        if opcode == "complex":
            return (x[0], x[1])  # type: ignore[return-value]
        if opcode in ("real", "imag"):
            return x[0][opcode == "imag"]  # type: ignore[index]
        if opcode == "select":
            return tuple(do("select", x[0], *(side[k] for side in x[1:])) for k in (0, 1))  # type: ignore[index,return-value]
        if opcode == "convert":
            if is_pair:
                return tuple(do("convert", side) for side in x[0])  # type: ignore[union-attr,return-value]
            zero = op("constant", replace(real, dims=(), minor_to_major=(), elements=1))
            zero.literal = [0]
            return (do("convert", x[0]), do("broadcast", zero, dimensions=()))
        a, b = x[0]  # type: ignore[misc]
        if opcode == "compare":
            c, d = x[1]  # type: ignore[misc]
            same = [op("compare", shape, p, q, direction=like.attributes["direction"]) for p, q in ((a, c), (b, d))]
            return op("and" if like.attributes["direction"] == "EQ" else "or", shape, *same)
        if opcode in ("add", "subtract"):
            return tuple(do(opcode, p, q) for p, q in zip(x[0], x[1]))  # type: ignore[arg-type,return-value]
        if opcode == "negate":
            return (do("negate", a), do("negate", b))
        if opcode == "abs":
            return op("hypot", shape, a, b)
        if opcode == "multiply":
            c, d = x[1]  # type: ignore[misc]
            return (do("subtract", do("multiply", a, c), do("multiply", b, d)), do("add", do("multiply", a, d), do("multiply", b, c)))
        if opcode == "divide":
            c, d = x[1]  # type: ignore[misc]
            pred = replace(real, dtype="pred", text="pred")
            steep = op("compare", pred, do("abs", c), do("abs", d), direction="LT")
            p, q, large, small = (do("select", steep, u, v) for u, v in ((b, a), (a, b), (d, c), (c, d)))
            ratio = do("divide", small, large)
            below = do("add", large, do("multiply", small, ratio))
            real_part = do("divide", do("add", p, do("multiply", q, ratio)), below)
            imaginary = do("divide", do("subtract", q, do("multiply", p, ratio)), below)
            return (real_part, do("select", steep, do("negate", imaginary), imaginary))
        if opcode in complex_functions.NAMES:
            return function(opcode, real, [half for side in x for half in side])  # type: ignore[union-attr]
        raise ValueError(f"'{opcode}' of complex numbers has no reference")

    def lowered(shape: "Shape", x: "List[_Parts]") -> _Parts:
        opcode = like.opcode
        if opcode == "tuple":
            return list(x)
        if opcode == "get-tuple-element" and isinstance(x[0], list):
            return x[0][like.attributes["index"]]
        inner = {key: _real_computation(like.attributes[key]) for key in ("calls", "to_apply") if key in like.attributes}
        if opcode == "parameter":
            if shape.kind == "tuple":
                raise ValueError("a tuple with complex numbers as a parameter has no reference")
            return (parameter(part(shape)), parameter(part(shape))) if table.is_complex(shape.dtype) else parameter(shape)
        touched = any(table.is_complex(leaf.dtype) for leaf in shape.leaves()) or not all(isinstance(v, type(like)) for v in x)
        if not touched:
            i = op(opcode, shape, *x, keep=True, **inner)  # type: ignore[arg-type]
            i.literal = like.literal
            return i
        if opcode in ("dot", "convolution"):
            (a, b), (c, d) = x  # type: ignore[misc]
            ac, bd, ad, bc = (op(opcode, part(shape), p, q, keep=True, sums=2) for p, q in ((a, c), (b, d), (a, d), (b, c)))
            return (op("subtract", part(shape), ac, bd), op("add", part(shape), ad, bc))
        if opcode in ("fusion", "call", "map", "reduce", "reduce-window", "scatter"):
            leaves = [(part(leaf), 2) if table.is_complex(leaf.dtype) else (leaf, 1) for leaf in shape.leaves()]
            kinds = [one for one, count in leaves for _ in range(count)]
            sides = [v for value in x for v in flat(value)]
            if len(kinds) == 1:
                return op(opcode, kinds[0], *sides, keep=True, **inner)
            several = replace(shape, kind="tuple", dtype="", dims=(), text="(..)", children=tuple(kinds))
            whole = op(opcode, several, *sides, keep=True, **inner)
            each = iter([op("get-tuple-element", kind, whole, index=k) for k, kind in enumerate(kinds)])
            found: "List[_Parts]" = [(next(each), next(each)) if count == 2 else next(each) for _, count in leaves]
            return found if shape.kind == "tuple" else found[0]
        if opcode == "copy" and not isinstance(x[0], tuple):
            return x[0]
        if opcode == "constant":
            both = []
            for k in (0, 1):
                both.append(op("constant", part(shape)))
                both[-1].literal = [table.parts(bits, shape.dtype)[k] for bits in like.literal]
            return (both[0], both[1])
        if opcode == "iota":
            index = op("iota", part(shape), keep=True)
            zero = op("constant", replace(part(shape), dims=(), minor_to_major=(), elements=1))
            zero.literal = [0]
            return (index, op("broadcast", part(shape), zero, dimensions=()))
        if opcode in ("broadcast", "transpose", "reshape", "bitcast", "bitcast-convert", "slice", "reverse", "pad", "concatenate", "copy"):
            return tuple(op(opcode, part(shape), *(v[k] for v in x), keep=True) for k in (0, 1))  # type: ignore[index,return-value]
        if opcode in ("dynamic-slice", "dynamic-update-slice", "gather"):      # indices are real
            return tuple(op(opcode, part(shape), *(v[k] if isinstance(v, tuple) else v for v in x), keep=True) for k in (0, 1))  # type: ignore[return-value]
        return elementwise(opcode, shape, x)

    for like in computation.instructions:
        known[id(like)] = lowered(like.shape, [known[id(o)] for o in like.operands])
        if like is computation.root:
            root = known[id(like)]
    leaves = flat(root)
    like = computation.root
    made.root = leaves[0] if len(leaves) == 1 else op("tuple", replace(like.shape, kind="tuple", dtype="", text="(..)", children=tuple(i.shape for i in leaves)), *leaves)
    return made


def _regroup(shape: "Shape", leaves: List[_Value]) -> _Value:
    if shape.kind == "array":
        return leaves.pop(0)
    return [_regroup(child, leaves) for child in shape.children]


def _needed(steps: List[_Step], results: Sequence[_Array]) -> List[_Step]:
    """The steps that the results depend on."""
    needed = {a.name for a in results}
    kept = []
    for step in reversed(steps):
        if any(a.name in needed for a in step.defines):
            needed.update(a.name for a in step.uses)
            kept.append(step)
    return kept[::-1]


def _pointers(emitter: _Emitter, array: _Array) -> List[Tuple[str, str]]:
    """The C pointers of an array, each with its type."""
    ends = [] if array.exact else [(f"{end}_{array.name}", emitter.interval_type(array.dtype)) for end in ("lo", "hi")]
    return [(f"v_{array.name}", STORAGE[array.dtype]), *ends]


MOST_STEPS = 64     # in one function of a reference: optimising a function takes longer than in proportion to its length


class _Loops:
    """Functions of steps: one for all steps that differ in their arrays alone, so that a long reference has few loops to compile."""

    def __init__(self, emitter: _Emitter) -> None:
        self.emitter = emitter
        self.names: Dict[str, str] = {}     # by what follows the name

    def call(self, step: _Step, place: Callable[[str], str]) -> str:
        """The call of a step's function; place: the C text of a pointer."""
        kinds = {pointer: kind for array in (*step.uses, *step.defines) for pointer, kind in _pointers(self.emitter, array)}
        written = {pointer for array in step.defines for pointer, _ in _pointers(self.emitter, array)}
        known: Dict[str, str] = {}
        lines = [_POINTER.sub(lambda found: known.setdefault(found[0], f"array_{len(known)}") if found[0] in kinds else found[0], line)
                 for line in step.lines]
        body = "\n".join(f"  {line}" for line in lines)
        given = [(name, f"{kind}{name}") for name, kind in (("params", "const void *const *"), ("results", "void *const *"), ("bounds", "double *const *"))
                 if re.search(rf"\b{name}\[", body)]
        arguments = [f"{'' if pointer in written else 'const '}{kinds[pointer]} *restrict {name}" for pointer, name in known.items()]
        text = f"({', '.join([*arguments, *(argument for _, argument in given)]) or 'void'}) {{\n{body}\n}}"
        name = self.names.setdefault(text, f"loop_{len(self.names)}")
        return f"{name}({', '.join([*map(place, known), *(one for one, _ in given)])});"

    def texts(self) -> List[str]:
        return [f"static APART void {name}{text}" for text, name in self.names.items()]


def _in_parts(emitter: _Emitter, signature: str, steps: List[_Step], given: Mapping[str, str]) -> List[str]:
    """The functions of a long reference: its loops, then MOST_STEPS steps in each, then the one that calls these. Arrays are at x[..], and
    what is still there in the end is freed then."""
    last = {array.name: step for step in steps for array in (*step.uses, *step.defines)}
    head = re.fullmatch(r"int (\w+)\((.*)\)", signature)
    assert head is not None
    name, parameters = head.groups()
    words = re.findall(r"\w+(?=,|$)", parameters)
    loops, parts = _Loops(emitter), []
    at: Dict[str, int] = {}
    free: List[int] = []
    size = 0

    def place(pointer: str) -> str:
        return f"x[{at[pointer]}]" if pointer in at else pointer

    for first in range(0, len(steps), MOST_STEPS):
        part = steps[first:first + MOST_STEPS]
        here = {array.name for step in part for array in (*step.uses, *step.defines)}
        lines = [f"(void){word};" for word in (*words, "x")]
        lines += [line for array, line in (*emitter.parameters.items(), *given.items()) if array in here]
        for step in part:
            lines += ["", f"/* {step.title.replace('*/', '* /')} */"]
            for pointer, kind, count in ((*about, array.count) for array in step.defines if array.home == "heap" for about in _pointers(emitter, array)):
                if not free:
                    free.append(size)
                    size += 1
                at[pointer] = free.pop()
                lines.append(f"if (take(&x[{at[pointer]}], {max(1, count)} * sizeof({kind}))) return 1;")
            lines.append(loops.call(step, place))
            for array in {array.name: array for array in (*step.uses, *step.defines)}.values():
                for pointer, _ in _pointers(emitter, array) if array.home == "heap" and last[array.name] is step else []:
                    free.append(at.pop(pointer))
                    lines.append(f"drop(&x[{free[-1]}]);")
        parts.append(_function(f"static int {name}_{len(parts)}({parameters}, void **x)", [*lines, "return 0;"]))
    constants = [f"static {line}" if line.startswith("const ") else line for array, lines in emitter.constants.items() if array in last for line in lines]
    calls = [f"{name}_{k}({', '.join([*words, 'x'])})" for k in range(len(parts))]
    whole = [f"void *x[{max(1, size)}] = {{NULL}};", "const int status =", *(f"  {call} ||" for call in calls[:-1]), f"  {calls[-1]};",
             f"for (size_t k = 0; k < {size}; ++k) free(x[k]);", "return status;"]
    return ["/* not inlined: there are few loops and many calls */\n#ifdef __GNUC__\n#define APART __attribute__((noinline))\n#else\n#define APART\n#endif",
            "static APART int take(void **at, size_t bytes) { return (*at = malloc(bytes)) == NULL; }\n\n"
            "static APART void drop(void **at) {\n  free(*at);\n  *at = NULL;\n}",
            *(["\n".join(constants)] if constants else []), *loops.texts(), *parts, f"{signature};\n{_function(signature, whole)}"]


def _function(head: str, body: Sequence[str]) -> str:
    return f"{head} {{\n" + "\n".join(line if line.endswith("done:") or not line else "  " + line for line in body) + "\n}"


def _assemble(title: str, signature: str, emitter: _Emitter, steps: List[_Step], given: Mapping[str, str],
              unused: Sequence[str]) -> str:
    """The C file: helpers, then the function."""
    functions = [_in_one(emitter, signature, steps, given, unused)] if len(steps) <= MOST_STEPS else _in_parts(emitter, signature, steps, given)
    library = _Library()
    library.scan("\n".join(re.sub(r"/\*.*?\*/", "", line) for text in functions for line in text.splitlines()))
    parts = [f"/* {title}\n   Generated from HLO by sett (gen/reference): do not edit. Compile with -ffp-contract=off. */",
             "#include <math.h>\n#include <stdbool.h>\n#include <stdint.h>\n#include <stdlib.h>\n#include <string.h>",
             "#ifdef __clang__\n#pragma STDC FP_CONTRACT OFF\n#endif"]
    return "\n\n".join([*parts, *library.texts.values(), *functions]) + "\n"


def _in_one(emitter: _Emitter, signature: str, steps: List[_Step], given: Mapping[str, str], unused: Sequence[str]) -> str:
    """A reference as one function, with each array allocated before its step and freed after its last use."""
    heap = [a for step in steps for a in step.defines if a.home == "heap"]
    last = {a.name: n for n, step in enumerate(steps) for a in list(step.uses) + list(step.defines)}
    body: List[str] = []
    used = {a.name for step in steps for a in step.uses} | set(given)
    for name, line in emitter.parameters.items():
        if name in used:
            body.append(line)
    for name, lines in emitter.constants.items():
        if name in used:
            body += lines
    body += list(given.values())

    for array in heap:
        body += [f"{kind} *{pointer} = NULL;" for pointer, kind in _pointers(emitter, array)]
    if heap:
        body.append("int status = 1;")
    body += [f"(void){name};" for name in unused]
    for n, step in enumerate(steps):
        body += ["", f"/* {step.title.replace('*/', '* /')} */"]
        for array in step.defines:
            if array.home == "heap":
                for pointer, kind in _pointers(emitter, array):
                    body.append(f"{pointer} = malloc({max(1, array.count)} * sizeof({kind}));")
                    body.append(f"if ({pointer} == NULL) goto done;")
        body += step.lines
        for array in heap:
            if last[array.name] == n:
                for pointer, _ in _pointers(emitter, array):
                    body += [f"free({pointer});", f"{pointer} = NULL;"]
    if heap:
        body += ["", "status = 0;"]
        body.append("done:")
        body += [f"free({pointer});" for array in reversed(heap) for pointer, _ in _pointers(emitter, array)]
        body.append("return status;")
    else:
        body += ["return 0;"]
    return f"{signature};\n{_function(signature, body)}"


def reference(computation: "Computation", name: str) -> str:
    """C11 text of `int NAME_ref(const void *const *params, void *const *results)`; ValueError for what it has no loop for."""
    emitter, shapes, arrays = _emit(computation, _Options())
    given: Dict[str, str] = {}
    for at_array, ((number, shape, half), array) in enumerate(zip(shapes, arrays)):
        kind = STORAGE[array.dtype]
        if array.dtype in PACKED:
            out = _Array(emitter.unique(f"result_{number}"), array.dtype, array.dims, True, "given")
            given[out.name] = f"void *const v_{out.name} = results[{number}];"
            order = [d for d in range(len(array.dims))] if not shape.minor_to_major else list(reversed(shape.minor_to_major))
            indices = _indices(array.dims)
            to, of = _at(indices, _strides(array.dims, shape.minor_to_major)), _at(indices, _strides(array.dims))
            line = f"{array.dtype}_pack(v_{out.name}, {to}, v_{array.name}[{of}]);"   # in memory order: a byte's first element clears it
            emitter.step(f"result {number}: {shape.text}, packed", _nest_ordered(array.dims, order, [line]), [out], [array])
            arrays[at_array] = out
            continue
        if array.home == "heap" and _row_major(shape) and half is None:
            array.home = "result"  # written in place
            given[array.name] = f"{kind} *const v_{array.name} = results[{number}];"
            continue
        out = _Array(emitter.unique(f"result_{number}"), array.dtype, array.dims, True, "given")
        given[out.name] = f"{kind} *const v_{out.name} = results[{number}];"
        indices = _indices(array.dims)
        to = _where(shape, indices) if half is None else f"({_where(shape, indices)}) * 2 + {half}"
        line = f"v_{out.name}[{to}] = v_{array.name}[{_at(indices, _strides(array.dims))}];"
        clear = [f"memset(v_{out.name}, 0, {_room(shape)} * sizeof v_{out.name}[0]);"] if shape.tiled else []
        title = f"result {number}: {shape.text}" + ", its padding 0" * shape.tiled
        emitter.step(title, clear + _nest(array.dims, [line]), [out], [array])
        arrays[at_array] = out
    steps = _needed(emitter.steps, arrays)
    text = "\n".join(line for step in steps for line in step.lines)
    unused = ([] if _uses_params(emitter, steps, text) else ["params"]) + ([] if arrays else ["results"])
    signature = f"int {name}_ref(const void *const *params, void *const *results)"
    return _assemble(f"{name}_ref: the scalar reference, one loop nest an HLO op.", signature, emitter, steps, given, unused)


def bitwise(computation: "Computation", excess_precision: bool = False) -> List[bool]:
    """For each flattened result, whether kernels must give the reference's very bits, those of NaNs and zeros too: integers
    and pred, and floats that are only moved."""
    _, shapes, arrays = _emit(computation, _Options(True, excess_precision))
    return [all(a.bits and a.exact for (k, _, _), a in zip(shapes, arrays) if k == number) for number in range(len({k for k, _, _ in shapes}))]


def unknown(computation: "Computation", excess_precision: bool = False) -> List[str]:
    """Where `bound` allows any value, as clauses of a sentence: an order, an index or a choice that is not followed."""
    return list(dict.fromkeys(_emit(computation, _Options(True, excess_precision))[0].unknown))


def _uses_params(emitter: _Emitter, steps: List[_Step], text: str) -> bool:
    used = {a.name for step in steps for a in step.uses}
    return "params[" in text or any(name in used for name in emitter.parameters)


def bound(computation: "Computation", name: str, *, excess_precision: bool = False, reassociate: bool = True, flushes: bool = False,
          ulps: Optional[Mapping[str, float]] = None) -> str:
    """C11 text of `int NAME_bound(const void *const *params, double *const *bounds)`.

    excess_precision: kernels may keep a float between ops on f16 and bf16. reassociate: they may add and multiply the
    elements of a reduce in any order. ulps: other budgets than ULPS, by opcode (divide 2.5 and sqrt 3 for OpenCL devices
    that do not promise correct rounding; for f16 and bf16 in ulps of float). flushes: sums of f32 of a scatter may lose subnormals.
    """
    options = _Options(True, excess_precision, reassociate, flushes, dict(ulps or {}))
    emitter, shapes, arrays = _emit(computation, options)
    outs: List[_Array] = []
    given: Dict[str, str] = {}
    for (number, shape, half), array in zip(shapes, arrays):
        out = _Array(emitter.unique(f"bounds_{number}"), "f64", array.dims, True, "given")
        given[out.name] = f"double *const v_{out.name} = bounds[{number}];"
        indices = _indices(array.dims)
        uses: List[_Array] = []
        if array.exact:
            title = f"result {number}: {shape.text}, exact"
            count = _room(shape) if shape.tiled else array.count
            place = "0" if count == 1 else "i"
            place = place if half is None else f"{place} * 2 + {half}"
            lines = _nest((count,), [f"v_{out.name}[{place}] = 0.0;"])
        else:
            title, uses = f"result {number}: {shape.text}", [array]
            x = emitter.element(array, _at(indices, _strides(array.dims)))
            interval = _interval(x)
            if array.dtype in SMALL and excess_precision:  # a result is stored rounded
                interval = f"range_round_{array.dtype}({interval})"
            text = f"range_bound({interval}, {_as_double(array.dtype, x.v)})" if array.dtype in FLOATS else \
                f"irange_bound({interval}, {_key(array.dtype, x.v)})"
            lines = [f"for (int64_t i = 0; i < {_room(shape)}; ++i) v_{out.name}[i] = 0.0;"] if shape.tiled else []
            place = _where(shape, indices) if half is None else f"({_where(shape, indices)}) * 2 + {half}"
            lines += _nest(array.dims, [f"v_{out.name}[{place}] = {text};"])
        emitter.step(title, lines, [out], uses)
        outs.append(out)
    steps = _needed(emitter.steps, outs)
    text = "\n".join(line for step in steps for line in step.lines)
    unused = ([] if _uses_params(emitter, steps, text) else ["params"]) + ([] if outs else ["bounds"])
    what = "exact everywhere" if all(a.exact for a in arrays) else "what a right kernel may differ by"
    signature = f"int {name}_bound(const void *const *params, double *const *bounds)"
    return _assemble(f"{name}_bound: {what}.", signature, emitter, steps, given, unused)
