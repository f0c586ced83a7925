#include "data.h"
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const data_style_name[DATA_STYLES] = { "moderate", "special", "wide" };

/* ---- bits of an element ---- */

static uint64_t get_bits(const struct sett_buffer *type, const void *from, size_t i)
{
  const unsigned char *bytes = from;
  uint64_t bits = 0;
  if (type->bits < 8) {
    size_t at = i * (size_t)type->bits;
    return (uint64_t)(bytes[at / 8] >> (at % 8)) & ((1u << type->bits) - 1);
  }
  switch (type->bits) {
  case 8: return bytes[i];
  case 16: { uint16_t v; memcpy(&v, bytes + 2 * i, 2); return v; }
  case 32: { uint32_t v; memcpy(&v, bytes + 4 * i, 4); return v; }
  default: memcpy(&bits, bytes + 8 * i, 8); return bits;
  }
}

static void put_bits(const struct sett_buffer *type, void *to, size_t i, uint64_t bits)
{
  unsigned char *bytes = to;
  if (type->bits < 8) {
    size_t at = i * (size_t)type->bits;
    unsigned mask = ((1u << type->bits) - 1) << (at % 8);
    bytes[at / 8] = (unsigned char)((bytes[at / 8] & ~mask) | (((unsigned)bits << (at % 8)) & mask));
    return;
  }
  switch (type->bits) {
  case 8: bytes[i] = (unsigned char)bits; return;
  case 16: { uint16_t v = (uint16_t)bits; memcpy(bytes + 2 * i, &v, 2); return; }
  case 32: { uint32_t v = (uint32_t)bits; memcpy(bytes + 4 * i, &v, 4); return; }
  default: memcpy(bytes + 8 * i, &bits, 8);
  }
}

/* ---- floats: sign, exponent field, mantissa field ---- */

/* The special values of a format. IEEE: infinities and NaNs. FN: a NaN with either sign, whose other bits are all 1.
 * FNUZ: a single NaN, which has the bits of -0. FINITE: none. SCALE: a single NaN, all of whose bits are 1; there is no
 * sign bit. */
enum style { IEEE, FN, FNUZ, FINITE, SCALE };
struct format { int mantissa, exponent, bias; enum style style; };

static struct format format_of(const struct sett_buffer *type)
{
  static const struct format tiny[] = { { 2, 5, 15, IEEE }, { 3, 4, 7, IEEE }, { 4, 3, 3, IEEE }, { 3, 4, 7, FN }, { 2, 5, 16, FNUZ },
                                        { 3, 4, 8, FNUZ }, { 3, 4, 11, FNUZ }, { 0, 8, 127, SCALE }, { 1, 2, 1, FINITE } };
  struct format f = { 52, 11, 1023, IEEE };
  if (type->kind >= SETT_F8E5M2) return tiny[type->kind - SETT_F8E5M2];
  if (type->kind == SETT_BFLOAT) f.mantissa = 7, f.exponent = 8, f.bias = 127;
  else if (type->bits == 16) f.mantissa = 10, f.exponent = 5, f.bias = 15;
  else if (type->bits == 32) f.mantissa = 23, f.exponent = 8, f.bias = 127;
  return f;
}

static int is_float(const struct sett_buffer *type) { return type->kind >= SETT_FLOAT; }

/* Returns the bits of the largest finite value. */
static uint64_t largest(struct format f)
{
  uint64_t top = (1ull << (f.mantissa + f.exponent)) - 1;
  return f.style == IEEE ? top - (1ull << f.mantissa) : f.style == FN || f.style == SCALE ? top - 1 : top;
}

static double decode(struct format f, uint64_t bits)
{
  uint64_t mantissa = bits & ((1ull << f.mantissa) - 1);
  int top = (1 << f.exponent) - 1, bias = f.bias;
  int exponent = (int)(bits >> f.mantissa) & top;
  double value;
  if (f.style == SCALE) return bits == 255 ? NAN : ldexp(1, (int)bits - bias);
  if (f.style == FNUZ && bits == 128) return NAN;
  if (f.style == FN && (bits & 127) == 127) return NAN;
  if (f.mantissa == 52) {
    memcpy(&value, &bits, sizeof value);
    return value;
  }
  if (f.exponent == 8 && f.bias == 127) { /* f32, or bf16 as the upper half of an f32 */
    uint32_t word = (uint32_t)(bits << (23 - f.mantissa));
    float narrow;
    memcpy(&narrow, &word, sizeof narrow);
    return (double)narrow;
  }
  if (exponent == top && f.style == IEEE) value = mantissa ? NAN : INFINITY;
  else if (exponent == 0) value = ldexp((double)mantissa, 1 - bias - f.mantissa);
  else value = ldexp((double)(mantissa | 1ull << f.mantissa), exponent - bias - f.mantissa);
  return bits >> (f.mantissa + f.exponent) & 1 ? -value : value;
}

/* Returns the bits of a finite value, rounded towards zero; the value must not be near the type's limits. */
static uint64_t encode(struct format f, double value)
{
  uint64_t bits;
  int exponent;
  memcpy(&bits, &value, sizeof bits);
  if (f.mantissa == 52) return bits;
  exponent = (int)(bits >> 52 & 0x7ff) - 1023 + f.bias;
  if (exponent <= 0) return 0;
  if (f.style == SCALE) return (uint64_t)exponent;
  if (fabs(value) > decode(f, largest(f))) return largest(f) | (bits >> 63) << (f.mantissa + f.exponent);
  return (bits >> 63) << (f.mantissa + f.exponent) | (uint64_t)exponent << f.mantissa |
         (bits & 0xfffffffffffffull) >> (52 - f.mantissa);
}

/* ---- inputs ---- */

static uint64_t mix(uint64_t x)
{
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ x >> 27) * 0x94d049bb133111ebull;
  return x ^ x >> 31;
}

static uint64_t special_float(struct format f, uint64_t random)
{
  uint64_t sign = (random & 1) << (f.mantissa + f.exponent);
  uint64_t top = ((1ull << f.exponent) - 1) << f.mantissa, one = encode(f, 1.0), unit = 1ull << f.mantissa;
  uint64_t magnitude;
  /* Types with few values: a zero, the largest value, or random bits, of which about one in sixteen is a NaN. */
  if (f.style != IEEE || f.mantissa < 3) {
    uint64_t any = random >> 8 & ((2ull << (f.mantissa + f.exponent)) - 1);
    if (f.style == SCALE) return random & 1 ? 255 : any & 255;
    return random >> 1 & 3 ? any : sign | (random >> 3 & 1 ? largest(f) : 0);
  }
  switch (random >> 1 & 15) {
  case 0: case 1: magnitude = 0; break;
  case 2: case 3: magnitude = top; break;                 /* infinity */
  case 4: case 5: magnitude = top | unit >> 1; break;     /* quiet NaN */
  case 6: magnitude = top | unit >> 1 | 5; break;         /* NaN with a payload */
  case 7: magnitude = top | 1; break;                     /* signalling NaN */
  case 8: magnitude = 1; break;                           /* smallest subnormal */
  case 9: magnitude = unit - 1; break;                    /* largest subnormal */
  case 10: magnitude = unit; break;                       /* smallest normal */
  case 11: magnitude = top - 1; break;                    /* largest finite */
  case 12: magnitude = one; break;
  case 13: magnitude = one + 1; break;                    /* smallest value above 1 */
  case 14: magnitude = encode(f, 0.5); break;
  default: magnitude = encode(f, 2.5); break;
  }
  return sign | magnitude;
}

static uint64_t special_integer(const struct sett_buffer *type, uint64_t random)
{
  uint64_t ones = type->bits == 64 ? ~0ull : (1ull << type->bits) - 1, half = ones >> 1;
  switch (random & 15) {
  case 0: return 0;
  case 1: return 1;
  case 2: return ones;        /* all bits set: -1 if the type is signed, else the maximum */
  case 3: return half;        /* the maximum of a signed type */
  case 4: return half + 1;    /* the minimum of a signed type */
  case 5: return half + 2;
  case 6: return ones - 1;
  case 7: return half - 1;
  case 8: return (uint64_t)type->bits & ones; /* this and the next two: shift amounts near the width */
  case 9: return (uint64_t)(type->bits - 1) & ones;
  case 10: return (uint64_t)(type->bits + 1) & ones;
  case 11: return 2 & ones;
  default: return random >> 8 & ones;
  }
}

static uint64_t moderate(const struct sett_buffer *type, uint64_t random)
{
  uint64_t ones = type->bits == 64 ? ~0ull : (1ull << type->bits) - 1;
  if (is_float(type)) {
    double unit = (double)(random >> 11) * 0x1p-53 * 2 - 1; /* a number in [-1, 1) */
    static const double scale[8] = { 4, 4, 4, 4, 1, 1, 0.0625, 64 };
    return encode(format_of(type), unit * scale[random & 7]);
  }
  if (type->kind == SETT_UINT || type->bits < 8) return (random >> 32) % 200 & ones;
  return (uint64_t)((int64_t)((random >> 32) % 201) - 100) & ones;
}

/* Returns an approximately normal number, the sum of four uniform numbers. It is between -7 and 7, and its standard
 * deviation is 2. */
static double normal(uint64_t random)
{
  double sum = (double)((random & 0xffff) + (random >> 16 & 0xffff) + (random >> 32 & 0xffff) + (random >> 48));
  return (sum - 131070) / 18918.6;
}

/* Returns an index that is usually in range, and sometimes just outside. */
static uint64_t near_index(const struct sett_buffer *type, uint64_t random)
{
  uint64_t ones = type->bits == 64 ? ~0ull : (1ull << type->bits) - 1, value = (random >> 16) % (type->index + 5) - 2;
  return (type->kind == SETT_UINT && value >> 63 ? 0 : value) & ones;
}

/* Returns element i of an array of indices: one component of one index. No two indices of the array address
 * overlapping windows. When all windows that fit are used, the remaining indices are out of range. */
static uint64_t index_apart(const struct sett_buffer *type, size_t i, unsigned long long seed)
{
  const unsigned long long inner = type->apart[0], count = type->apart[1], *room = type->apart + 2;
  unsigned long long k = i / inner % count, row = i / inner / count * inner + i % inner, all = 1;
  for (unsigned long long c = 0; c < count; ++c) all *= room[2 * c];
  if (row >= all) return type->bits == 64 ? ~0ull : (1ull << type->bits) - 1;
  row = (row + seed % all) % all;
  for (unsigned long long c = count - 1; c > k; --c) row /= room[2 * c];
  return row % room[2 * k] * room[2 * k + 1];
}

/* Number of keys by which compare_rows compares two rows. A key is an index component; the sign bit of a signed one is
 * flipped, so that unsigned comparison gives the order. */
static size_t row_keys;

static int compare_rows(const void *a, const void *b)
{
  const uint64_t *x = a, *y = b;
  for (size_t c = 0; c < row_keys; ++c)
    if (x[c] != y[c]) return x[c] < y[c] ? -1 : 1;
  return 0;
}

static void sort_rows(const struct sett_buffer *type, void *data)
{
  const unsigned long long inner = type->sorted[0], count = type->sorted[1], *order = type->sorted + 2;
  const uint64_t top = type->kind == SETT_SINT ? 1ull << (type->bits - 1) : 0;
  size_t rows = type->elements / (size_t)count;
  uint64_t *keys = malloc((type->elements + 1) * sizeof *keys);
  if (!keys) return; /* kernels must be correct for unsorted indices too; sorted ones only allow faster kernels */
  for (int back = 0; back < 2; ++back) {
    for (size_t row = 0; row < rows; ++row)
      for (size_t c = 0; c < count; ++c) {
        size_t at = row / inner * inner * count + (size_t)order[c] * inner + row % inner;
        if (back) put_bits(type, data, at, keys[row * count + c] ^ top);
        else keys[row * count + c] = get_bits(type, data, at) ^ top;
      }
    row_keys = (size_t)count;
    if (!back) qsort(keys, rows, (size_t)count * sizeof *keys, compare_rows);
  }
  free(keys);
}

/* Makes symmetric matrices in which each diagonal element exceeds the sum of the other elements of its row. */
static void make_definite(const struct sett_buffer *type, void *data)
{
  const struct format f = format_of(type);
  const size_t n = (size_t)type->definite;
  for (size_t first = 0; first + n * n <= type->elements; first += n * n)
    for (size_t i = 0; i < n; ++i) {
      double sum = 1;
      for (size_t j = 0; j < n; ++j) {
        uint64_t bits = get_bits(type, data, first + (i > j ? i * n + j : j * n + i));
        put_bits(type, data, first + i * n + j, bits);
        if (i != j) sum += fabs(decode(f, bits));
      }
      put_bits(type, data, first + i * n + i, encode(f, sum));
    }
}

/* Reads a parameter's content from its file. */
static void read_whole(const struct sett_buffer *type, void *to)
{
  FILE *file = fopen(type->file, "rb");
  if (!file || fread(to, 1, type->bytes, file) != type->bytes) {
    fprintf(stderr, "error: %s cannot be read\n", type->file);
    exit(2);
  }
  fclose(file);
}

void data_fill(const struct sett_buffer *type, void *to, enum data_style style, unsigned long long seed)
{
  uint64_t ones = type->bits == 64 ? ~0ull : (1ull << type->bits) - 1;
  const int ordinary = style == DATA_MODERATE || style == DATA_WHOLE;
  memset(to, 0, type->bytes);
  if (type->file) {
    read_whole(type, to);
    return;
  }
  for (size_t i = 0; i < type->elements; ++i) {
    uint64_t random = mix(seed + 0x632be59bd9b4e019ull * (uint64_t)i), bits;
    if (type->kind == SETT_PRED) bits = random & 1;
    else if (type->apart[1]) bits = index_apart(type, i, seed);
    else if (type->index && (ordinary || style == DATA_NORMAL || (random & 7) < 5)) bits = near_index(type, mix(random));
    else if (style == DATA_WIDE || (style == DATA_SPECIAL && (random & 3) == 1)) {
      bits = mix(random) & ones;
      if (is_float(type) && !isfinite(decode(format_of(type), bits))) bits = moderate(type, random);
    }
    else if (style == DATA_SPECIAL && (random & 3) == 0) {
      uint64_t more = mix(random);
      bits = is_float(type) ? special_float(format_of(type), more) : special_integer(type, more);
    }
    else if (style == DATA_WHOLE && is_float(type)) bits = encode(format_of(type), (double)((random >> 32) % 7) - 3);
    else if (style == DATA_NORMAL && is_float(type)) bits = encode(format_of(type), normal(random));
    else bits = moderate(type, random);
    put_bits(type, to, i, bits);
  }
  if (type->sorted[1] && type->elements) sort_rows(type, to);
  if (type->definite && (style == DATA_NORMAL || (ordinary && mix(seed) % 4 != 0))) make_definite(type, to);
}

/* ---- comparison ---- */

/* Returns a float as a double. For an infinity, returns the smallest value that rounds to it, so that a bound may
 * include values on both sides of the overflow threshold. */
static double reach(struct format f, double value)
{
  double threshold;
  if (!isinf(value)) return value;
  if (f.mantissa == 52) return copysign(DBL_MAX, value);
  threshold = ldexp(2 - ldexp(1, -f.mantissa - 1), f.bias);
  return copysign(threshold, value);
}

static double ulp_of(struct format f, double value)
{
  int least = 1 - f.bias, exponent = least;
  if (value != 0) {
    frexp(value, &exponent);
    exponent -= 1;
  }
  return ldexp(1, (exponent > least ? exponent : least) - f.mantissa);
}

/* Returns the difference of two elements with different bits; 0 if they count as equal. */
static double difference(const struct sett_buffer *type, uint64_t a, uint64_t b, double *ulps)
{
  *ulps = 0;
  if (is_float(type)) {
    struct format f = format_of(type);
    double x = decode(f, a), y = decode(f, b);
    if (isnan(x) && isnan(y)) return 0;
    if (isnan(x) || isnan(y)) return INFINITY;
    if (x == y) return 0;
    if (isinf(x) && isinf(y)) return INFINITY;
    x = reach(f, x), y = reach(f, y);
    *ulps = fabs(x - y) / ulp_of(f, y);
    return fabs(x - y);
  }
  if (type->kind == SETT_SINT) {
    int shift = 64 - type->bits;
    int64_t x = (int64_t)(a << shift) >> shift, y = (int64_t)(b << shift) >> shift;
    return x > y ? (double)((uint64_t)x - (uint64_t)y) : (double)((uint64_t)y - (uint64_t)x);
  }
  return a > b ? (double)(a - b) : (double)(b - a);
}

/* Returns true if a bound allows every value of the type. */
static int allows_all(const struct sett_buffer *type, uint64_t wanted, double allowed)
{
  uint64_t top = type->kind == SETT_PRED ? 1 : type->bits == 64 ? ~0ull : (1ull << type->bits) - 1;
  uint64_t above_least = type->kind == SETT_SINT ? (wanted ^ 1ull << (type->bits - 1)) & top : wanted;
  if (is_float(type)) return isinf(allowed);
  return above_least <= top && allowed >= (double)above_least && allowed >= (double)(top - above_least);
}

void data_compare(const struct sett_buffer *type, const void *got, const void *wanted, const double *bound,
                  struct data_error *error)
{
  for (size_t i = 0; i < type->elements; ++i) {
    uint64_t a = get_bits(type, got, i), b = get_bits(type, wanted, i);
    double allowed = bound ? bound[i] : 0, off = 0, ulps = 0;
    int bad = 0, anything = allows_all(type, b, allowed);
    error->compared += 1;
    if (anything) {
      error->unbounded += 1;
      if (!is_float(type)) error->unbounded_integers += 1;
      else if (isnan(decode(format_of(type), b))) error->unbounded_nan += 1;
    }
    if (a != b) {
      off = type->exact ? INFINITY : difference(type, a, b, &ulps);
      bad = !(off <= allowed);
      /* a pred must be 0 or 1, even if the bound allows more */
      if (type->kind == SETT_PRED && a > 1) bad = 1;
    }
    if (isnan(allowed) || allowed < 0) bad = 1;
    if (bad) {
      if (error->failures == 0 || off > error->worst_abs || isnan(allowed))
        error->worst = i, error->worst_abs = off, error->worst_bound = allowed;
      error->failures += 1;
    }
    else if (!anything && isfinite(off) && off > 0) {
      if (off > error->max_abs) error->max_abs = off;
      if (ulps > error->max_ulp) error->max_ulp = ulps;
      if (off / allowed > error->max_share)
        error->max_share = off / allowed, error->nearest = i, error->nearest_abs = off, error->nearest_bound = allowed;
    }
  }
}

double data_value(const struct sett_buffer *type, const void *from, size_t element)
{
  return decode(format_of(type), get_bits(type, from, element));
}

double data_ulp(const struct sett_buffer *type, double value)
{
  return ulp_of(format_of(type), value);
}

void data_print(const struct sett_buffer *type, const void *from, size_t element, char *to, size_t capacity)
{
  uint64_t bits = get_bits(type, from, element);
  int digits = (type->bits + 3) / 4;
  if (is_float(type))
    snprintf(to, capacity, "%.9g (0x%0*llx)", decode(format_of(type), bits), digits, (unsigned long long)bits);
  else if (type->kind == SETT_SINT)
    snprintf(to, capacity, "%lld (0x%0*llx)", (long long)(int64_t)(bits << (64 - type->bits)) >> (64 - type->bits),
             digits, (unsigned long long)bits);
  else
    snprintf(to, capacity, "%llu (0x%0*llx)", (unsigned long long)bits, digits, (unsigned long long)bits);
}
