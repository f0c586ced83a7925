/* Functions for bounds: intervals of floats and of integers. The C code of a bound contains this whole file, after the
 * functions of values.c, unless the bound is exact everywhere. A test checks that the file compiles alone, too. */

#include "../reference/values.c"

/* ---- Intervals of floats: the ends are doubles. `all` is [-inf, inf]; [NaN, NaN] is a certain NaN ---- */

typedef struct {
  double lo, hi;
} range;

static inline range range_of(double lo, double hi) {
  range r;
  r.lo = lo;
  r.hi = hi;
  return r;
}

static inline range range_all(void) { return range_of(-INFINITY, INFINITY); }

static inline bool range_is_all(range r) { return r.lo == -INFINITY && r.hi == INFINITY; }

static inline bool range_is_point(range r) {
  return (r.lo == r.hi && !signbit(r.lo) == !signbit(r.hi)) || (r.lo != r.lo && r.hi != r.hi);
}

static inline double lesser(double a, double b) {
  if (a < b) return a;
  return a == b && signbit(a) ? a : b;
}

static inline double greater(double a, double b) {
  if (a > b) return a;
  return a == b && !signbit(a) ? a : b;
}

static inline range range_between(double a, double b) {
  if (a != a && b != b) return range_of(a, b);
  if (a != a || b != b) return range_all();
  return range_of(lesser(a, b), greater(a, b));
}

static inline range range_hull(range a, range b) {
  if (a.lo != a.lo && b.lo != b.lo) return a;
  return range_of(range_between(a.lo, b.lo).lo, range_between(a.hi, b.hi).hi);
}

static inline range range_with(range r, double v) {
  if (r.lo <= v && v <= r.hi && v != 0.0) return r;
  return range_hull(range_between(r.lo, r.hi), range_of(v, v));
}

static inline double range_middle(range r) {
  if (range_is_point(r)) return r.lo;
  return r.lo > -INFINITY && r.hi < INFINITY ? 0.5 * r.lo + 0.5 * r.hi : 0.0;
}

static inline double range_most(range r) { return range_is_point(r) ? fabs(r.lo) : fmax(fabs(r.lo), fabs(r.hi)); }

static inline range range_either_zero(range r) { return range_of(r.lo == 0.0 ? -0.0 : r.lo, r.hi == 0.0 ? 0.0 : r.hi); }

static inline double range_bound(range r, double v) {
  if (v != v) return r.lo != r.lo ? 0.0 : INFINITY;
  if (r.lo == v && r.hi == v) return 0.0;
  return r.lo != r.lo ? INFINITY : fmax(r.hi - v, v - r.lo);
}

/* ---- Intervals of floats: ulps and rounding to a type ---- */

static inline double ulp_f32(double y) {
  uint64_t bits;
  double power;
  if (!(fabs(y) < INFINITY)) return 0.0;
  y *= 0x1.0000000000008p0; /* libm's result may be just below a power of two, and the exact value above it */
  memcpy(&bits, &y, sizeof bits);
  bits &= 0x7ff0000000000000u;
  memcpy(&power, &bits, sizeof power);
  return power > 0x1p-126 ? power * 0x1p-23 : 0x1p-149;
}

static inline double ulp_f64(double y) {
  uint64_t bits;
  double power;
  if (!(fabs(y) < INFINITY)) return 0.0;
  y *= 0x1.0000000000008p0; /* libm's result may be just below a power of two, and the exact value above it */
  memcpy(&bits, &y, sizeof bits);
  bits &= 0x7ff0000000000000u;
  memcpy(&power, &bits, sizeof power);
  return power > 0x1p-1022 ? power * 0x1p-52 : 0x1p-1074;
}

static inline range range_widen_f32(range r, double ulps) {
  return range_of(r.lo - ulps * ulp_f32(r.lo), r.hi + ulps * ulp_f32(r.hi));
}

static inline range range_widen_f64(range r, double ulps) {
  return range_of(r.lo - ulps * ulp_f64(r.lo), r.hi + ulps * ulp_f64(r.hi));
}

static inline range range_round_f16(range r) {
  return range_of((double)f16_to_float(f16_from_double(r.lo)), (double)f16_to_float(f16_from_double(r.hi)));
}

static inline range range_round_bf16(range r) {
  return range_of((double)bf16_to_float(bf16_from_double(r.lo)), (double)bf16_to_float(bf16_from_double(r.hi)));
}

static inline range range_round_f32(range r) { return range_of((double)(float)r.lo, (double)(float)r.hi); }

/* Returns the interval of a result of type f16 that a kernel may round to f16, or keep as a float. */
static inline range range_kept_f16(range r) {
  const range small = range_round_f16(r), single = range_round_f32(r);
  return range_of(lesser(small.lo, single.lo), greater(small.hi, single.hi));
}

/* Returns the interval of a result of type bf16 that a kernel may round to bf16, or keep as a float. */
static inline range range_kept_bf16(range r) {
  const range small = range_round_bf16(r), single = range_round_f32(r);
  return range_of(lesser(small.lo, single.lo), greater(small.hi, single.hi));
}

/* lo, hi: the ends of r after rounding to a type of at most 8 bits. */
static inline range range_of_small(range r, double lo, double hi) {
  if (range_is_point(r)) return range_of(lo, lo);
  return lo != lo || hi != hi ? range_all() : range_of(lo, hi);
}

static inline range range_round_small(range r, const float *values, const double *middles, int top, double beyond, int sign_bit,
                               int over, int nan, bool negative_zero) {
  return range_of_small(
      r, (double)values[small_from_double(r.lo, middles, top, beyond, sign_bit, over, nan, negative_zero)],
      (double)values[small_from_double(r.hi, middles, top, beyond, sign_bit, over, nan, negative_zero)]);
}

static inline range range_round_scale(range r, const float *values, const double *middles, int top, double beyond, int nan) {
  return range_of_small(r, (double)values[scale_from_double(r.lo, middles, top, beyond, nan)],
                        (double)values[scale_from_double(r.hi, middles, top, beyond, nan)]);
}

/* ---- Intervals of floats: ops, on the ends ---- */

static inline range range_add(range a, range b) {
  if (range_is_all(a) || range_is_all(b)) return range_all();
  return range_of(a.lo + b.lo, a.hi + b.hi);
}

static inline range range_subtract(range a, range b) {
  if (range_is_all(a) || range_is_all(b)) return range_all();
  return range_of(a.lo - b.hi, a.hi - b.lo);
}

static inline range range_corners(double a, double b, double c, double d) {
  return range_hull(range_between(a, b), range_between(c, d));
}

static inline range range_multiply(range a, range b) {
  if (range_is_all(a) || range_is_all(b)) return range_all();
  return range_corners(a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi);
}

static inline range range_square(range a) {
  range r = range_between(a.lo * a.lo, a.hi * a.hi);
  if (range_is_all(a)) return a;
  if (a.lo < 0.0 && a.hi > 0.0) r.lo = 0.0;
  return r;
}

static inline range range_divide(range a, range b) {
  if (range_is_all(a) || range_is_all(b)) return range_all();
  if (!range_is_point(b) && b.lo <= 0.0 && b.hi >= 0.0) return range_all();
  return range_corners(a.lo / b.lo, a.lo / b.hi, a.hi / b.lo, a.hi / b.hi);
}

static inline range range_remainder(range a, range b) {
  /* fmod(a, b) has the sign of a, and its magnitude is at most |a| and below |b|. It increases with a, except where it
   * jumps. */
  const double most = fmax(fabs(b.lo), fabs(b.hi));
  double lo, hi;
  if (range_is_point(a) && range_is_point(b)) return range_between(fmod(a.lo, b.lo), fmod(a.lo, b.lo));
  if (range_is_all(a) || range_is_all(b) || (b.lo <= 0.0 && b.hi >= 0.0) || b.lo != b.lo) return range_all();
  if (!(fabs(a.lo) < INFINITY) || !(fabs(a.hi) < INFINITY)) return range_all();
  lo = fmod(a.lo, b.lo);
  hi = fmod(a.hi, b.lo);
  if (range_is_point(b) && (a.lo >= 0.0 || a.hi <= 0.0) && a.hi - a.lo < most && lo <= hi) return range_between(lo, hi);
  return range_of(a.lo < 0.0 ? fmax(a.lo, -most) : 0.0, a.hi > 0.0 ? fmin(a.hi, most) : 0.0);
}

static inline range range_maximum(range a, range b) {
  if (range_is_all(a) || range_is_all(b)) return range_all();
  return range_of(f64_maximum(a.lo, b.lo), f64_maximum(a.hi, b.hi));
}

static inline range range_minimum(range a, range b) {
  if (range_is_all(a) || range_is_all(b)) return range_all();
  return range_of(f64_minimum(a.lo, b.lo), f64_minimum(a.hi, b.hi));
}

static inline range range_negate(range a) { return range_of(-a.hi, -a.lo); }

static inline range range_abs(range a) {
  range r = range_between(fabs(a.lo), fabs(a.hi));
  if (range_is_all(a)) return a;
  if (a.lo <= 0.0 && a.hi >= 0.0) r.lo = 0.0;
  return r;
}

static inline range range_sign(range r) { return range_is_all(r) ? r : range_of(f64_sign(r.lo), f64_sign(r.hi)); }

/* ---- Intervals of floats: functions ---- */

/* For a monotone function, the ends of the interval are enough. Functions with a restricted domain follow. */
static inline range range_monotone(range x, double (*function)(double)) {
  const double a = function(x.lo), b = range_is_point(x) ? a : function(x.hi);
  if (range_is_all(x)) return range_all();
  return range_between(a, b);
}

static inline range range_sin(range x) {
  const double a = sin(x.lo), b = sin(x.hi), reach = (x.hi - x.lo) * 0.5000001;
  if (range_is_all(x) || range_is_point(x)) return range_is_all(x) ? x : range_of(a, a);
  if (!(reach < INFINITY)) return range_all();
  return range_of(fmax(-1.0, fmin(a, b) - reach), fmin(1.0, fmax(a, b) + reach));
}

static inline range range_cos(range x) {
  const double a = cos(x.lo), b = cos(x.hi), reach = (x.hi - x.lo) * 0.5000001;
  if (range_is_all(x) || range_is_point(x)) return range_is_all(x) ? x : range_of(a, a);
  if (!(reach < INFINITY)) return range_all();
  return range_of(fmax(-1.0, fmin(a, b) - reach), fmin(1.0, fmax(a, b) + reach));
}

static inline range range_tan(range x) {
  const double a = tan(x.lo), b = tan(x.hi);
  if (range_is_point(x)) return range_of(a, a);
  return x.hi - x.lo < 1.5 && a <= b ? range_of(a, b) : range_all();
}

static inline range range_cosh(range x) {
  range r = range_between(cosh(x.lo), cosh(x.hi));
  if (range_is_all(x)) return x;
  if (x.lo < 0.0 && x.hi > 0.0) r.lo = 1.0;
  return r;
}

static inline range range_asin(range x) {
  const double a = asin(x.lo), b = range_is_point(x) ? a : asin(x.hi);
  if (x.lo < -1.0 && x.hi > 1.0) return range_all();
  return range_between(a, b);
}

static inline range range_acos(range x) {
  const double a = acos(x.lo), b = range_is_point(x) ? a : acos(x.hi);
  if (x.lo < -1.0 && x.hi > 1.0) return range_all();
  return range_between(a, b);
}

static inline range range_atanh(range x) {
  const double a = atanh(x.lo), b = range_is_point(x) ? a : atanh(x.hi);
  if (x.lo <= -1.0 && x.hi >= 1.0) return range_all();
  return range_between(a, b);
}

static inline range range_logistic(range x) {
  /* the kernel or `logistic` may return 0 in place of a subnormal number, because exp(-x) overflows */
  double a = logistic(x.lo), b = range_is_point(x) ? a : logistic(x.hi);
  if (range_is_all(x)) return range_all();
  if (a < 0x1p-125) a = 0.0;
  if (b < 0x1p-1021) b = 0x1p-1021;
  return range_between(a, b);
}

static inline range range_inverse_sqrt(range x) {
  const double a = inverse_sqrt(x.hi);
  if (range_is_point(x)) return range_of(a, a);
  return x.lo > 0.0 ? range_of(a, inverse_sqrt(x.lo)) : range_all();
}

static inline range range_power(range x, range y) {
  range r;
  if (range_is_point(x) && range_is_point(y)) return range_between(power(x.lo, y.lo), power(x.lo, y.lo));
  if (range_is_all(x) || range_is_all(y)) return range_all();
  r = range_corners(power(x.lo, y.lo), power(x.lo, y.hi), power(x.hi, y.lo), power(x.hi, y.hi));
  if (x.lo > 0.0 && x.hi < INFINITY) return r; /* for positive finite x, power is monotone in each argument */
  if (!range_is_point(y) || !(fabs(y.lo) < INFINITY)) return range_all();
  if (x.lo > 0.0 || (x.lo >= 0.0 && y.lo > 0.0)) return r;
  if (y.lo != floor(y.lo) || y.lo == 0.0 || (y.lo < 0.0 && x.hi >= 0.0)) return range_all();
  if (x.hi >= 0.0 && r.lo > 0.0) r.lo = 0.0;
  return r;
}

static inline range range_atan2(range y, range x) {
  const bool points = range_is_point(y) && range_is_point(x);
  if (points) return range_between(atan2(y.lo, x.lo), atan2(y.lo, x.lo));
  if (range_is_all(y) || range_is_all(x)) return range_all();
  if (y.lo != y.lo || x.lo != x.lo) return range_of(NAN, NAN);
  if (x.lo > 0.0 || y.lo > 0.0 || y.hi < 0.0)
    return range_corners(atan2(y.lo, x.lo), atan2(y.lo, x.hi), atan2(y.hi, x.lo), atan2(y.hi, x.hi));
  return range_of(-0x1.921fb54442d19p1, 0x1.921fb54442d19p1);
}

static inline range range_magnitude(range x, range y) {
  const range a = range_abs(x), b = range_abs(y);
  if (range_is_point(x) && range_is_point(y)) return range_between(magnitude(x.lo, y.lo), magnitude(x.lo, y.lo));
  if (range_is_all(x) || range_is_all(y) || x.lo != x.lo || y.lo != y.lo) return range_all();
  return range_of(magnitude(a.lo, b.lo), magnitude(a.hi, b.hi));
}

/* ---- Sums and products of floats in any order ---- */

typedef struct {
  double lo, hi, mass; /* finite terms: sums of lower ends, upper ends, magnitudes */
  bool plus, minus, nan, unknown;
  bool fraction; /* false if all terms are known to be whole numbers */
} range_sum;

static inline void range_sum_add(range_sum *s, range x) {
  if (x.lo != x.lo) {
    s->nan = true;
  } else if (fabs(x.lo) < INFINITY && fabs(x.hi) < INFINITY) {
    s->lo += x.lo;
    s->hi += x.hi;
    s->mass += fmax(fabs(x.lo), fabs(x.hi));
    s->fraction = s->fraction || x.lo != x.hi || x.lo != rint(x.lo);
  } else if (x.lo == INFINITY) {
    s->plus = true;
  } else if (x.hi == -INFINITY) {
    s->minus = true;
  } else {
    s->unknown = true;
  }
}

/* The interval of a sum of terms added in any order. Each addition has an error of at most `unit` (relative) plus
 * `lost`. No partial sum may exceed `largest`. Sums of small whole numbers are exact. */
static inline range range_sum_result(const range_sum *s, double additions, double unit, double largest, double lost) {
  const bool is_exact = !s->fraction && s->mass * unit <= 1.0;
  const double error = is_exact ? 0.0 : additions * ((unit + 0x1p-52) * s->mass + lost);
  if (s->nan || (s->plus && s->minus)) return range_of(NAN, NAN);
  if (s->unknown || !(s->mass + error <= largest)) return range_all();
  if (s->plus) return range_of(INFINITY, INFINITY);
  if (s->minus) return range_of(-INFINITY, -INFINITY);
  return range_of(s->lo - error, s->hi + error);
}

/* The error of a product if the kernel treats a factor below the smallest normal float as zero. middle, most: the
 * factor's midpoint and its largest magnitude. other: the largest magnitude of the other factor. */
static inline double range_flushed(double middle, double most, double other) {
  return most > 0.0 && 2.0 * fabs(middle) - most < 0x1p-126 ? fmin(most, 0x1p-126) * other : 0.0;
}

/* The interval of a sum of `terms` products, added in any order, fused or not. mass: the sum of the products'
 * magnitudes. slack: how much errors of the factors change the sum. flushed: how much it changes if factors are treated
 * as zeros; NaNs are not. whole: true if all products are whole numbers, so that small sums are exact. */
static inline range range_of_products(double sum, double mass, double slack, double flushed, bool whole, double terms, double unit,
                               double least, double largest) {
  const bool is_exact = whole && slack == 0.0 && flushed == 0.0 && mass * unit <= 1.0;
  const double error = is_exact ? 0.0 : slack + flushed + (terms + 2.0) * (unit * 1.01 + 0x1p-50) * mass + terms * least;
  /* No sum in double overflows if the type's largest number is below 0x1p1000. A NaN then comes from a factor or from
   * infinities. */
  const bool fits = largest < 0x1p1000;
  if (fits && slack == 0.0 && sum != sum) return range_of(NAN, NAN);
  if (!(slack + flushed < INFINITY) || !(mass + error <= largest)) return range_all();
  return sum != sum              ? range_of(NAN, NAN)
         : fabs(sum) == INFINITY ? range_of(sum, sum)
                                 : range_of(sum - error, sum + error);
}

typedef struct {
  range value;
  /* the product of all magnitudes above 1, and of all below 1; every partial product is between these two */
  double large, small;
  bool nan, infinite, zero, unknown;
} range_product;

static inline void range_product_multiply(range_product *p, range x) {
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
}

static inline range range_product_result(const range_product *p, double factors, double unit, double largest, double least) {
  const double relative = expm1(factors * (unit + 0x1p-51));
  const double grow = fmax(fabs(p->value.lo), fabs(p->value.hi)) * relative;
  if (p->nan || (p->infinite && p->zero)) return range_of(NAN, NAN);
  if (p->unknown || !(p->large * (1.0 + relative) <= largest)) return range_all();
  if (p->zero) return p->value;
  if (!(p->small * (1.0 - relative) >= least)) return range_all();
  return p->infinite ? p->value : range_of(p->value.lo - grow, p->value.hi + grow);
}

/* ---- Intervals of integers; u64 is shifted by 2^63, so that its order becomes that of int64_t ---- */

typedef struct {
  int64_t lo, hi;
} irange;

static inline irange irange_of(int64_t lo, int64_t hi) {
  irange r;
  r.lo = lo;
  r.hi = hi;
  return r;
}

static inline bool irange_is_point(irange r) { return r.lo == r.hi; }

static inline irange irange_hull(irange a, irange b) {
  return irange_of(a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi);
}

static inline irange irange_fit(irange r, int64_t least, int64_t most) {
  return r.lo < least || r.hi > most ? irange_of(least, most) : r;
}

static inline irange irange_maximum(irange a, irange b) {
  return irange_of(a.lo > b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi);
}

static inline irange irange_minimum(irange a, irange b) {
  return irange_of(a.lo < b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi);
}

static inline irange irange_multiply(irange a, irange b) {
  return irange_hull(irange_hull(irange_of(a.lo * b.lo, a.lo * b.lo), irange_of(a.lo * b.hi, a.lo * b.hi)),
                     irange_hull(irange_of(a.hi * b.lo, a.hi * b.lo), irange_of(a.hi * b.hi, a.hi * b.hi)));
}

static inline double irange_bound(irange r, int64_t v) {
  const double above = (double)((uint64_t)r.hi - (uint64_t)v), below = (double)((uint64_t)v - (uint64_t)r.lo);
  return above > below ? above : below;
}

static inline int64_t u64_key(uint64_t x) { return (int64_t)(x ^ 0x8000000000000000u); }

static inline uint64_t u64_of_key(int64_t x) { return (uint64_t)x ^ 0x8000000000000000u; }

/* ---- Intervals of preds: results of compare and select ---- */

static inline irange irange_less(irange a, irange b) { return irange_of(a.hi < b.lo, a.lo < b.hi); }

static inline irange irange_less_equal(irange a, irange b) { return irange_of(a.hi <= b.lo, a.lo <= b.hi); }

static inline irange irange_equal(irange a, irange b) {
  return irange_of(a.lo == a.hi && b.lo == b.hi && a.lo == b.lo, a.lo <= b.hi && b.lo <= a.hi);
}

static inline irange irange_not(irange a) { return irange_of(!a.hi, !a.lo); }

static inline irange irange_nonzero(irange a) { return irange_of(a.lo > 0 || a.hi < 0, a.lo != 0 || a.hi != 0); }

static inline irange range_less(range a, range b) {
  const bool unknown = range_is_all(a) || range_is_all(b);
  return irange_of(!unknown && a.hi < b.lo, unknown || a.lo < b.hi);
}

static inline irange range_less_equal(range a, range b) {
  const bool unknown = range_is_all(a) || range_is_all(b);
  return irange_of(!unknown && a.hi <= b.lo, unknown || a.lo <= b.hi);
}

static inline irange range_equal(range a, range b) {
  const bool unknown = range_is_all(a) || range_is_all(b);
  return irange_of(!unknown && a.lo == a.hi && b.lo == b.hi && a.lo == b.lo, unknown || (a.lo <= b.hi && b.lo <= a.hi));
}

static inline irange range_nonzero(range a) {
  return irange_of(a.lo != a.lo || (!range_is_all(a) && (a.lo > 0.0 || a.hi < 0.0)), a.lo != 0.0 || a.hi != 0.0);
}

static inline irange range_is_number(range a) { return irange_of(a.lo == a.lo && !range_is_all(a), a.lo == a.lo); }

static inline irange range_is_finite(range a) {
  return irange_of(fabs(a.lo) < INFINITY && fabs(a.hi) < INFINITY, a.lo < INFINITY && a.hi > -INFINITY);
}

static inline range range_select(irange p, range a, range b) { return p.lo == p.hi ? (p.lo != 0 ? a : b) : range_hull(a, b); }

static inline irange irange_select(irange p, irange a, irange b) {
  return p.lo == p.hi ? (p.lo != 0 ? a : b) : irange_hull(a, b);
}
