/* The C functions that references of ops on matrices call. `real` stands for the type of elements, and `wide` for the
   type of the computation; gen/reference/matrices.py replaces both words. Matrices are row-major, and work arrays
   belong to the caller. Each function follows the definition of its op, in another order of operations than the
   kernels. */

#include <math.h>
#include <stdint.h>

typedef float real;
typedef double wide;
#define ROOT sqrt
#define SIZE fabs
#define WIDE_EPSILON 0x1p-52
#define EPSILON 0x1p-23
#define LEAST 0x1p-126

/* ---- Matrices ---- */

/* Compute L row by row; each element is a sum. Return 0, or the number of the first pivot that is not above zero,
   counted from 1. */
static inline int32_t cholesky_real(const real *a, real *out, wide *l, int64_t n, int lower, int keep) {
  int32_t info = 0;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j <= i; ++j) {
      wide sum = (wide)a[lower ? i * n + j : j * n + i];
      for (int64_t k = 0; k < j; ++k) sum -= l[i * n + k] * l[j * n + k];
      if (i == j && !(sum > 0) && info == 0) info = (int32_t)i + 1;
      l[i * n + j] = i == j ? ROOT(sum) : sum / l[j * n + j];
    }
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j <= i; ++j) {
      const int64_t at = lower ? i * n + j : j * n + i, other = lower ? j * n + i : i * n + j;
      out[other] = keep ? a[other] : 0;
      out[at] = info != 0 ? (real)NAN : (real)l[i * n + j];
    }
  return info;
}

/* Solve for each right-hand side. Each unknown follows from its equation and the unknowns before it. as0, as1: the
   strides of the rows and columns of T. bs0, bs1: those of the right-hand sides. */
static inline void triangular_solve_real(const real *a, const real *b, real *x, wide *w, int64_t n, int64_t sides, int64_t as0,
                                  int64_t as1, int64_t bs0, int64_t bs1, int forward, int unit) {
  for (int64_t s = 0; s < sides; ++s)
    for (int64_t step = 0; step < n; ++step) {
      const int64_t i = forward ? step : n - 1 - step;
      wide sum = (wide)b[i * bs0 + s * bs1];
      for (int64_t k = forward ? 0 : i + 1; k < (forward ? i : n); ++k) sum -= (wide)a[i * as0 + k * as1] * w[k];
      w[i] = unit ? sum : sum / (wide)a[i * as0 + i * as1];
      x[i * bs0 + s * bs1] = (real)w[i];
    }
}

/* compute one column after another; each element is a sum (Crout's order) */
static inline int32_t lu_real(const real *a, real *out, int32_t *pivots, wide *w, int64_t m, int64_t n) {
  int32_t info = 0;
  for (int64_t i = 0; i < m * n; ++i) w[i] = (wide)a[i];
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = 0; i < m; ++i)
      for (int64_t k = 0; k < (i < j ? i : j); ++k) w[i * n + j] -= w[i * n + k] * w[k * n + j];
    if (j < m) {
      int64_t row = j;
      for (int64_t i = j + 1; i < m; ++i)
        if (SIZE(w[i * n + j]) > SIZE(w[row * n + j])) row = i;
      pivots[j] = (int32_t)row + 1;
      for (int64_t k = 0; k < n; ++k) {
        const wide x = w[j * n + k];
        w[j * n + k] = w[row * n + k];
        w[row * n + k] = x;
      }
      if (w[j * n + j] == 0 && info == 0) info = (int32_t)j + 1;
      for (int64_t i = j + 1; i < m && w[j * n + j] != 0; ++i) w[i * n + j] /= w[j * n + j];
    }
  }
  for (int64_t i = 0; i < m * n; ++i) out[i] = (real)w[i];
  return info;
}

/* Householder's reflectors, as in LAPACK. Reflector k, I - tau[k] v v^T with v[k] = 1, makes column k zero below
   element k. Element k becomes beta, whose sign is opposite to that of the old element. If the column is already zero
   below element k, tau[k] is 0. */
static inline void qr_real(const real *a, real *out, real *tau, wide *w, int64_t m, int64_t n) {
  for (int64_t i = 0; i < m * n; ++i) w[i] = (wide)a[i];
  for (int64_t k = 0; k < (m < n ? m : n); ++k) {
    wide most = 0, rest = 0, sum = 0, beta, factor;
    const wide alpha = w[k * n + k];
    for (int64_t i = k + 1; i < m; ++i) rest = !(SIZE(w[i * n + k]) <= rest) ? SIZE(w[i * n + k]) : rest;
    tau[k] = 0;
    if (rest == 0) continue;
    most = SIZE(alpha) > rest ? SIZE(alpha) : rest;
    for (int64_t i = k; i < m; ++i) sum += w[i * n + k] / most * (w[i * n + k] / most);
    beta = alpha > 0 ? -most * ROOT(sum) : most * ROOT(sum);
    if (alpha == 0 && !signbit(alpha)) beta = -beta;
    factor = (beta - alpha) / beta;
    tau[k] = (real)factor;
    for (int64_t i = k + 1; i < m; ++i) w[i * n + k] /= alpha - beta;
    w[k * n + k] = beta;
    for (int64_t j = k + 1; j < n; ++j) {
      wide dot = w[k * n + j];
      for (int64_t i = k + 1; i < m; ++i) dot += w[i * n + k] * w[i * n + j];
      w[k * n + j] -= factor * dot;
      for (int64_t i = k + 1; i < m; ++i) w[i * n + j] -= factor * dot * w[i * n + k];
    }
  }
  for (int64_t i = 0; i < m * n; ++i) out[i] = (real)w[i];
}

/* apply all reflectors to each column of the identity, the last reflector first */
static inline void householder_product_real(const real *a, const real *tau, real *out, wide *w, int64_t m, int64_t n, int64_t count) {
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = 0; i < m; ++i) w[i] = i == j;
    for (int64_t k = count - 1; k >= 0; --k) {
      wide dot = w[k];
      for (int64_t i = k + 1; i < m; ++i) dot += (wide)a[i * n + k] * w[i];
      w[k] -= (wide)tau[k] * dot;
      for (int64_t i = k + 1; i < m; ++i) w[i] -= (wide)tau[k] * dot * (wide)a[i * n + k];
    }
    for (int64_t i = 0; i < m; ++i) out[i * n + j] = (real)w[i];
  }
}

/* out = a b; a complex number is a real and an imaginary part */
static inline void times_real(const wide *a, const wide *b, wide *out) {
  const wide re = a[0] * b[0] - a[1] * b[1], im = a[0] * b[1] + a[1] * b[0];
  out[0] = re, out[1] = im;
}

/* out = a / b for complex numbers; it divides by the larger part of b, so that nothing overflows */
static inline void over_real(const wide *a, const wide *b, wide *out) {
  const int turned = SIZE(b[0]) < SIZE(b[1]);
  const wide large = turned ? b[1] : b[0], ratio = (turned ? b[0] : b[1]) / large;
  const wide below = large + (turned ? b[0] : b[1]) * ratio;
  const wide re = (turned ? a[0] * ratio + a[1] : a[0] + a[1] * ratio) / below;
  const wide im = (turned ? a[1] * ratio - a[0] : a[1] - a[0] * ratio) / below;
  out[0] = re, out[1] = im;
}

/* out -= a b for complex numbers */
static inline void less_real(wide *out, const wide *a, const wide *b) {
  wide product[2];
  times_real(a, b, product);
  out[0] -= product[0], out[1] -= product[1];
}

static inline wide length_real(const wide *a) { return a[1] == 0 ? SIZE(a[0]) : ROOT(a[0] * a[0] + a[1] * a[1]); }

/* Solve tridiagonal systems by elimination with pivoting between neighbouring rows. A row has three elements of the
   matrix and one of each right-hand side.
   in: dl, d, du and the right-hand sides, each as real parts and imaginary parts; the latter are NULL for real numbers.
   out: the same arrays after the elimination, as LAPACK's gtsv leaves them, and the solution. The perturbed form
       returns only the solution.
   w: room for 6 n + 2 n * sides numbers */
static inline int32_t tridiagonal_solve_real(const real *const *in, real *const *out, wide *w, int64_t n, int64_t sides, int perturbed) {
  int32_t info = 0;
  wide *const rows = w, *const right = w + 6 * n; /* rows[6 i + 2 k]: real part of element i + k of row i */
  const wide one[2] = {1, 0};
  wide scale = 0, largest = 0;
  for (int64_t i = 0; i < n; ++i)
    for (int part = 0; part < 2; ++part) {
      rows[6 * i + part] = in[2 + part] ? (wide)in[2 + part][i] : 0;
      rows[6 * i + 2 + part] = in[4 + part] && i + 1 < n ? (wide)in[4 + part][i] : 0;
      rows[6 * i + 4 + part] = 0;
      for (int64_t s = 0; s < sides; ++s) right[2 * (i * sides + s) + part] = in[6 + part] ? (wide)in[6 + part][i * sides + s] : 0;
    }
  scale = length_real(rows) + length_real(rows + 2);
  largest = length_real(rows) > length_real(rows + 2) ? length_real(rows) : length_real(rows + 2);
  for (int64_t i = 0; i + 1 < n && info == 0; ++i) {
    wide *const row = rows + 6 * i, *const next = row + 6;
    wide factor[2] = {0, 0};
    const wide below[2] = {(wide)in[0][i + 1], in[1] ? (wide)in[1][i + 1] : 0};
    const wide other = length_real(below) + length_real(next) + length_real(next + 2);
    const int first = row[0] == 0 && row[1] == 0, none = below[0] == 0 && below[1] == 0;
    const int stays = perturbed ? none || length_real(below) / other <= (first ? 0 : length_real(row) / scale)
                                : SIZE(row[0]) + SIZE(row[1]) >= SIZE(below[0]) + SIZE(below[1]);
    if (stays && first && !perturbed) info = (int32_t)i + 1;
    if (stays && !none && info == 0) {
      over_real(below, row, factor);
      less_real(next, factor, row + 2);
      for (int64_t s = 0; s < sides; ++s) less_real(right + 2 * ((i + 1) * sides + s), factor, right + 2 * (i * sides + s));
    }
    if (stays) scale = other;
    if (stays) continue;
    over_real(row, below, factor);
    for (int part = 0; part < 2; ++part) {
      const wide old = row[2 + part];
      row[part] = below[part], row[2 + part] = next[part], row[4 + part] = next[2 + part];
      next[part] = old, next[2 + part] = 0;
    }
    less_real(next, factor, row + 2);
    less_real(next + 2, factor, row + 4);
    for (int64_t s = 0; s < sides; ++s) {
      wide *const x0 = right + 2 * (i * sides + s), *const x1 = right + 2 * ((i + 1) * sides + s);
      const wide y[2] = {x0[0], x0[1]};
      x0[0] = x1[0], x0[1] = x1[1], x1[0] = y[0], x1[1] = y[1];
      less_real(x1, factor, x0);
    }
    scale = length_real(next) + length_real(next + 2);
  }
  if (info == 0 && !perturbed && rows[6 * n - 6] == 0 && rows[6 * n - 5] == 0) info = (int32_t)n;
  for (int64_t i = 0; i < n; ++i) {
    if (i + 2 < n || i + 1 == n)
      for (int k = 0; k < (i + 1 == n ? 1 : 3); ++k)
        if (length_real(rows + 6 * i + 2 * k) > largest) largest = length_real(rows + 6 * i + 2 * k);
    for (int part = 0; part < 2 && out[part]; ++part) {
      out[2 + part][i] = (real)rows[6 * i + part];
      out[4 + part][i] = i + 1 < n ? (real)rows[6 * i + 2 + part] : in[4 + part][i];
      if (i < 1 || i + 1 == n) out[part][i] = in[part][i];
      if (i + 2 < n) out[part][i + 1] = info != 0 && i + 1 >= info ? in[part][i + 1] : (real)rows[6 * i + 4 + part];
    }
  }
  for (int64_t i = n - 1; i >= 0; --i) {
    wide pivot[2] = {rows[6 * i], rows[6 * i + 1]}, most = 0, length = length_real(pivot), step = EPSILON * largest, up = 1, inverse[2];
    for (int64_t s = 0; s < sides; ++s) {
      wide *const x = right + 2 * (i * sides + s);
      if (i + 1 < n) less_real(x, rows + 6 * i + 2, x + 2 * sides);
      if (i + 2 < n) less_real(x, rows + 6 * i + 4, x + 4 * sides);
      if (length_real(x) > most) most = length_real(x);
    }
    step = step < LEAST ? LEAST : step;
    while (perturbed && length < 1 && (length < LEAST ? length == 0 || most * LEAST > length : most > length / LEAST)) {
      pivot[0] += rows[6 * i] < 0 ? -step : step;
      step *= 2;
      length = length_real(pivot);
    }
    if (perturbed && length < LEAST) up = 1 / LEAST;
    pivot[0] *= up, pivot[1] *= up;
    over_real(one, pivot, inverse);
    for (int64_t s = 0; s < sides; ++s) {
      wide *const x = right + 2 * (i * sides + s);
      if (perturbed) x[0] *= up, x[1] *= up, times_real(x, inverse, x);
      if (!perturbed) over_real(x, pivot, x);
      for (int part = 0; part < 2; ++part)
        if (out[6 + part]) out[6 + part][i * sides + s] = info != 0 ? (real)NAN : (real)x[part];
    }
  }
  return info;
}

/* Jacobi's method, column by column. The eigenvectors are the columns of `out`, and the largest component of each is
   positive. w: room for 2 n^2 numbers. */
static inline int32_t eigh_real(const real *a, real *out, real *values, wide *w, int64_t n, int lower, int vectors) {
  wide *const m = w, *const v = w + n * n;
  wide all = 0;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) {
      m[i * n + j] = (wide)a[(lower ? i >= j : i <= j) ? i * n + j : j * n + i];
      v[i * n + j] = i == j;
      all += SIZE(m[i * n + j]);
    }
  if (!(all - all == 0)) {
    for (int64_t i = 0; i < n * n; ++i) out[i] = vectors ? (real)NAN : a[i];
    for (int64_t i = 0; i < n; ++i) values[i] = (real)NAN;
    return 1;
  }
  for (int sweep = 0, turned = 1; sweep < 60 && turned; ++sweep) {
    turned = 0;
    for (int64_t q = 1; q < n; ++q)
      for (int64_t p = 0; p < q; ++p) {
        const wide off = m[p * n + q];
        wide angle, tangent, c, s;
        if (all + SIZE(off) / (wide)(4 * n) == all || off == 0) continue;
        turned = 1;
        angle = (m[q * n + q] - m[p * n + p]) / (2 * off);
        tangent = (angle >= 0 ? 1 : -1) / (SIZE(angle) + ROOT(angle * angle + 1));
        c = 1 / ROOT(tangent * tangent + 1), s = tangent * c;
        for (int64_t k = 0; k < n; ++k) {
          const wide x = m[k * n + p], y = m[k * n + q];
          m[k * n + p] = c * x - s * y, m[k * n + q] = s * x + c * y;
        }
        for (int64_t k = 0; k < n; ++k) {
          const wide x = m[p * n + k], y = m[q * n + k];
          m[p * n + k] = c * x - s * y, m[q * n + k] = s * x + c * y;
        }
        for (int64_t k = 0; k < n; ++k) {
          const wide x = v[k * n + p], y = v[k * n + q];
          v[k * n + p] = c * x - s * y, v[k * n + q] = s * x + c * y;
        }
      }
  }
  for (int64_t to = 0; to < n; ++to) {
    int64_t least = to, largest = 0;
    for (int64_t k = to + 1; k < n; ++k)
      if (m[k * n + k] < m[least * n + least]) least = k;
    values[to] = (real)m[least * n + least];
    m[least * n + least] = m[to * n + to];
    for (int64_t i = 0; i < n; ++i) {
      const wide x = v[i * n + least];
      v[i * n + least] = v[i * n + to];
      v[i * n + to] = x;
    }
    for (int64_t i = 1; i < n; ++i)
      if (SIZE(v[i * n + to]) > SIZE(v[largest * n + to])) largest = i;
    for (int64_t i = 0; i < n; ++i)
      out[i * n + to] = !vectors ? a[i * n + to] : v[largest * n + to] < 0 ? (real)-v[i * n + to] : (real)v[i * n + to];
  }
  return 0;
}

/* The one-sided Jacobi method. Pairs of columns of A are rotated until all columns are orthogonal; their lengths are
   then the singular values. If A has more columns than rows, A^T is used. The largest component of each left vector
   is positive.
   u: m x uk elements; its columns are the left vectors. vt: vk x n elements; its rows are the right vectors.
       If A does not determine a vector of length max(m, n), because its number is min(m, n) or above, or its singular
       value is 0, the vector is computed from the unit vector that is farthest from the span of the vectors before it.
   vectors: 0 if u and vt are to be zero.
   w: room for p k + k^2 + p^2 numbers, where p = max(m, n) and k = min(m, n) */
static inline int32_t svd_real(const real *a, real *values, real *u, real *vt, wide *w, int64_t m, int64_t n, int64_t uk, int64_t vk,
                        int vectors) {
  const int64_t rows = m < n ? n : m, k = m < n ? m : n, many = m < n ? vk : uk;
  wide *const x = w, *const v = w + rows * k, *const basis = v + k * k; /* columns of A are stored as rows */
  wide most = 0;
  for (int64_t i = 0; i < m * uk; ++i) u[i] = 0;
  for (int64_t i = 0; i < vk * n; ++i) vt[i] = 0;
  for (int64_t i = 0; i < m * n; ++i) most = !(SIZE((wide)a[i]) <= most) ? SIZE((wide)a[i]) : most;
  if (!(most - most == 0)) {
    for (int64_t i = 0; i < k; ++i) values[i] = (real)NAN;
    for (int64_t i = 0; i < m * uk && vectors; ++i) u[i] = (real)NAN;
    for (int64_t i = 0; i < vk * n && vectors; ++i) vt[i] = (real)NAN;
    return 1;
  }
  if (most == 0) most = 1;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) x[m < n ? i * rows + j : j * rows + i] = (wide)a[i * n + j] / most;
  for (int64_t i = 0; i < k * k; ++i) v[i] = i % (k + 1) == 0;
  for (int sweep = 0, turned = 1; sweep < 60 && turned; ++sweep) {
    turned = 0;
    for (int64_t q = 1; q < k; ++q)
      for (int64_t p = 0; p < q; ++p) {
        wide pp = 0, qq = 0, pq = 0, angle, tangent, c, s;
        for (int64_t i = 0; i < rows; ++i)
          pp += x[p * rows + i] * x[p * rows + i], qq += x[q * rows + i] * x[q * rows + i], pq += x[p * rows + i] * x[q * rows + i];
        if (pq == 0 || SIZE(pq) <= WIDE_EPSILON * ROOT(pp) * ROOT(qq)) continue;
        turned = 1;
        angle = (qq - pp) / (2 * pq);
        tangent = (angle >= 0 ? 1 : -1) / (SIZE(angle) + ROOT(angle * angle + 1));
        c = 1 / ROOT(tangent * tangent + 1), s = tangent * c;
        for (int64_t i = 0; i < rows; ++i) {
          const wide y = x[p * rows + i], z = x[q * rows + i];
          x[p * rows + i] = c * y - s * z, x[q * rows + i] = s * y + c * z;
        }
        for (int64_t i = 0; i < k; ++i) {
          const wide y = v[p * k + i], z = v[q * k + i];
          v[p * k + i] = c * y - s * z, v[q * k + i] = s * y + c * z;
        }
      }
  }
  for (int64_t to = 0; to < k; ++to) { /* sort by length, the longest first */
    int64_t longest = to;
    wide length = -1;
    for (int64_t j = to; j < k; ++j) {
      wide sum = 0;
      for (int64_t i = 0; i < rows; ++i) sum += x[j * rows + i] * x[j * rows + i];
      if (sum > length) length = sum, longest = j;
    }
    length = ROOT(length);
    for (int64_t i = 0; i < rows; ++i) {
      const wide y = x[longest * rows + i];
      x[longest * rows + i] = x[to * rows + i], x[to * rows + i] = y;
      basis[to * rows + i] = length > 0 ? y / length : 0;
    }
    for (int64_t i = 0; i < k; ++i) {
      const wide y = v[longest * k + i];
      v[longest * k + i] = v[to * k + i], v[to * k + i] = y;
    }
    values[to] = (real)(length * most);
  }
  if (!vectors) return 0;
  for (int64_t to = 0; to < many; ++to) {
    if (to >= k || values[to] == 0) {
      int64_t best = 0;
      wide left = -1;
      for (int64_t e = 0; e < rows; ++e) { /* take the unit vector whose part outside of the basis is largest */
        wide outside = 1;
        for (int64_t j = 0; j < to; ++j) outside -= basis[j * rows + e] * basis[j * rows + e];
        if (outside > left) left = outside, best = e;
      }
      for (int64_t i = 0; i < rows; ++i) basis[to * rows + i] = i == best;
      for (int turn = 0; turn < 2; ++turn) {
        wide sum = 0;
        for (int64_t j = 0; j < to; ++j) {
          wide dot = 0;
          for (int64_t i = 0; i < rows; ++i) dot += basis[j * rows + i] * basis[to * rows + i];
          for (int64_t i = 0; i < rows; ++i) basis[to * rows + i] -= dot * basis[j * rows + i];
        }
        for (int64_t i = 0; i < rows; ++i) sum += basis[to * rows + i] * basis[to * rows + i];
        for (int64_t i = 0; i < rows; ++i) basis[to * rows + i] /= ROOT(sum);
      }
    }
    const wide *const left = m < n && to < k ? v + to * k : basis + to * rows;
    const int64_t length = m < n && to < k ? k : rows;
    int64_t largest = 0;
    for (int64_t i = 1; i < length; ++i)
      if (SIZE(left[i]) > SIZE(left[largest])) largest = i;
    const wide sign = left[largest] < 0 ? -1 : 1;
    for (int64_t i = 0; i < rows; ++i) {
      if (m < n) vt[to * n + i] = (real)(sign * basis[to * rows + i]);
      else u[i * uk + to] = (real)(sign * basis[to * rows + i]);
    }
    for (int64_t i = 0; i < k && to < k; ++i) {
      if (m < n) u[i * uk + to] = (real)(sign * v[to * k + i]);
      else vt[to * n + i] = (real)(sign * v[to * k + i]);
    }
  }
  return 0;
}
