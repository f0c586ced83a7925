/* Functions that bound the results of ops on matrices. gen/bounds/matrices.py prints them with `real` replaced by the
 * type of the elements. They fill `e` with the allowed distance of each element of a result from the reference's;
 * INFINITY allows any value. A function returns true if the values that comparisons decide (info, pivots) are certain.
 * u is half the distance from 1 to the next number of the type. gen/bounds/__init__.py has the formulas. */

#include <math.h>
#include <stdint.h>

typedef float real;

/* ---- Errors of matrices ---- */

/* Returns true if products of a few of these numbers stay in the range of normal numbers. */
static inline int tame_real(const real *a, int64_t count, double u) {
  const double most = u < 0x1p-40 ? 0x1p250 : 0x1p30;
  for (int64_t i = 0; i < count; ++i)
    if (!(a[i] == 0 || (fabs((double)a[i]) <= most && fabs((double)a[i]) >= 1 / most))) return 0;
  return 1;
}

/* Bounds the errors of the factor `out` of `a`. w: work array of 2 n^2 + n elements. */
static inline int cholesky_error_real(const real *a, const real *out, double *e, double *w, int64_t n, int lower, double u) {
  const double gamma = 4 * ((double)n + 2) * u;
  double *const l = w, *const inverse = w + n * n, *const g = inverse + n * n;
  int sure = tame_real(a, n * n, u), failed = 0;
  for (int64_t k = 0; k < n && sure && !failed; ++k) {
    double pivot = (double)a[k * n + k], weight = 0, h;
    for (int64_t j = 0; j < k; ++j) {
      double sum = (double)a[lower ? k * n + j : j * n + k];
      for (int64_t i = 0; i < j; ++i) sum -= l[k * n + i] * l[j * n + i];
      l[k * n + j] = sum / l[j * n + j];
      pivot -= l[k * n + j] * l[k * n + j];
    }
    for (int64_t j = 0; j < k; ++j) {
      double sum = 0;
      for (int64_t i = j; i < k; ++i) sum += l[k * n + i] * inverse[i * n + j];
      inverse[k * n + j] = -sum;
      weight += fabs(sum) * sqrt(fabs((double)a[j * n + j]));
    }
    h = weight + sqrt(fabs((double)a[k * n + k]) + (pivot < 0 ? -pivot : 0));
    sure = fabs(pivot) > 16 * gamma * h * h;
    failed = sure && pivot < 0;
    if (!sure || failed) break;
    l[k * n + k] = sqrt(pivot);
    for (int64_t j = 0; j < k; ++j) inverse[k * n + j] /= l[k * n + k];
    inverse[k * n + k] = 1 / l[k * n + k];
    g[k] = h / l[k * n + k];
  }
  for (int64_t j = 0; j < n; ++j)
    for (int64_t i = 0; i <= j; ++i) {
      const int64_t at = lower ? j * n + i : i * n + j, other = lower ? i * n + j : j * n + i;
      double sum = 0;
      e[other] = 0;
      if (sure && !failed)
        for (int64_t k = i; k <= j; ++k) sum += g[k] * fabs(l[j * n + k]);
      e[at] = failed ? 0 : sure ? 4 * gamma * g[i] * sum + 4 * u * fabs((double)out[at]) : INFINITY;
    }
  return sure;
}

/* Bounds the errors of the solution x of a x = b. as0, as1: the distances between rows and between columns of `a`; bs0,
 * bs1: those of `b` and `x`. w: work array of n^2 + 2 n elements. */
static inline int triangular_solve_error_real(const real *a, const real *b, const real *x, double *e, double *w, int64_t n,
                                       int64_t sides, int64_t as0, int64_t as1, int64_t bs0, int64_t bs1, int forward,
                                       int unit, double u) {
  const double gamma = 2 * ((double)n + 2) * u;
  double *const inverse = w, *const first = w + n * n, *const second = first + n;
  const int sure = tame_real(a, n * n, u) && tame_real(b, n * sides, u) && tame_real(x, n * sides, u);
  /* rows and columns are visited in the order of the solve: backwards for backward substitution */
  for (int64_t j = 0; j < n; ++j)
    for (int64_t i = 0; i < n; ++i) {
      const int64_t row = forward ? i : n - 1 - i;
      double sum = i == j;
      for (int64_t k = j; k < i; ++k) sum -= (double)a[row * as0 + (forward ? k : n - 1 - k) * as1] * inverse[k * n + j];
      inverse[i * n + j] = i < j ? 0 : unit ? sum : sum / (double)a[row * as0 + row * as1];
    }
  for (int64_t s = 0; s < sides; ++s) {
    double most = 0, more = 0;
    /* turn 0: the error of x; turn 1: its second-order error, computed from the result of turn 0 */
    for (int turn = 0; turn < 2; ++turn)
      for (int64_t i = 0; i < n; ++i) {
        double sum = 0;
        for (int64_t j = 0; j <= i; ++j) {
          double row = 0;
          for (int64_t k = 0; k <= j; ++k) {
            const int64_t at0 = forward ? j : n - 1 - j, at1 = forward ? k : n - 1 - k;
            const double t = unit && k == j ? 1 : fabs((double)a[at0 * as0 + at1 * as1]);
            row += t * (turn ? first[k] : fabs((double)x[at1 * bs0 + s * bs1]));
          }
          sum += fabs(inverse[i * n + j]) * row;
        }
        (turn ? second : first)[i] = gamma * sum;
        if (turn ? gamma * sum > more : gamma * sum > most) turn ? (more = gamma * sum) : (most = gamma * sum);
      }
    for (int64_t i = 0; i < n; ++i) {
      const int64_t at = (forward ? i : n - 1 - i) * bs0 + s * bs1;
      e[at] = sure && more <= most / 2 ? first[i] + 2 * second[i] + 2 * u * fabs((double)x[at]) : INFINITY;
    }
  }
  return sure;
}

/* Bounds the errors of the factors L and U in `out`. `pe`: the errors of the pivots. `w`: work array of 2 m n + m + n
 * elements. */
static inline int lu_error_real(const real *a, const real *out, const int32_t *pivots, double *e, double *pe, double *w, int64_t m,
                         int64_t n, double u) {
  const int64_t steps = m < n ? m : n;
  const double gamma = 4 * ((double)steps + 2) * u;
  double *const x = w, *const product = w + m * n, *const f = product + m * n, *const g = f + n;
  int64_t sure = tame_real(a, m * n, u) ? steps : 0;
  for (int64_t i = 0; i < m * n; ++i) x[i] = (double)a[i];
  for (int64_t k = 0; k < steps; ++k)
    for (int64_t j = 0; j < n; ++j) {
      const double y = x[k * n + j];
      x[k * n + j] = x[(pivots[k] - 1) * n + j];
      x[(pivots[k] - 1) * n + j] = y;
    }
  for (int64_t j = 0; j < n; ++j) f[j] = 0;
  for (int64_t i = 0; i < m; ++i) {
    g[i] = 0;
    for (int64_t j = 0; j < n; ++j) {
      double sum = i <= j ? fabs((double)out[i * n + j]) : 0;
      for (int64_t k = 0; k < steps && k < i && k <= j; ++k) sum += fabs((double)out[i * n + k] * (double)out[k * n + j]);
      product[i * n + j] = sum;
      if (sum > f[j]) f[j] = sum;
    }
  }
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j)
      if (f[j] > 0 && product[i * n + j] / f[j] > g[i]) g[i] = product[i * n + j] / f[j];
  for (int64_t k = 0; k < steps && k < sure; ++k) {
    const double pivot = x[k * n + k];
    double row = g[k], column = f[k], own;
    for (int64_t p = 0; p < k; ++p) row += fabs(x[k * n + p]) * g[p], column += fabs(x[p * n + k]) * f[p];
    own = gamma * row * column;
    if (pivot == 0 ? own > 0 : !(16 * own < fabs(pivot))) sure = k;
    for (int64_t i = k + 1; i < m; ++i) {
      double other = g[i];
      for (int64_t p = 0; p < k; ++p) other += fabs(x[i * n + p]) * g[p];
      other *= gamma * column;
      if (pivot != 0 && !(fabs(x[i * n + k]) + other + own < fabs(pivot))) sure = k;
      e[i * n + k] = pivot == 0 ? other : (other + fabs(x[i * n + k] / pivot) * own) / fabs(pivot) + 4 * u * fabs((double)out[i * n + k]);
    }
    for (int64_t j = k; j < n; ++j) {
      double other = f[j];
      for (int64_t p = 0; p < k; ++p) other += fabs(x[p * n + j]) * f[p];
      e[k * n + j] = gamma * row * other + 4 * u * fabs((double)out[k * n + j]);
    }
    if (pivot == 0) continue;
    /* the blocks of x become A11^-1, A11^-1 A12, -A21 A11^-1 and the Schur complement, for A11 of size k + 1 */
    for (int64_t j = 0; j < n; ++j)
      if (j != k) x[k * n + j] /= pivot;
    for (int64_t i = 0; i < m; ++i)
      if (i != k) {
        const double y = x[i * n + k];
        for (int64_t j = 0; j < n; ++j)
          if (j != k) x[i * n + j] -= y * x[k * n + j];
        x[i * n + k] = -y / pivot;
      }
    x[k * n + k] = 1 / pivot;
  }
  for (int64_t i = sure; i < m && sure < steps; ++i)
    for (int64_t j = 0; j < n; ++j) e[i * n + j] = INFINITY;
  for (int64_t k = 0; k < steps; ++k) pe[k] = k < sure ? 0 : INFINITY;
  return sure == steps;
}

/* Bounds the errors of R and of the reflectors, both in `out`. `te`: the errors of `tau`. `w`: work array of k^2 + n
 * elements, where k is the smaller of m and n. */
static inline int qr_error_real(const real *a, const real *out, const real *tau, double *e, double *te, double *w, int64_t m, int64_t n,
                         double u) {
  const int64_t k = m < n ? m : n;
  double *const inverse = w, *const norm = w + k * k;
  double total = 0;
  int64_t sure = tame_real(a, m * n, u) ? k : 0;
  for (int64_t j = 0; j < n; ++j) {
    double sum = 0;
    for (int64_t i = 0; i < m; ++i) sum += (double)a[i * n + j] * (double)a[i * n + j];
    norm[j] = sqrt(sum);
  }
  /* Until the end of the function, te[j] bounds the change of each element in row j of R, divided by the length of the
   * element's column. */
  for (int64_t j = 0; j < k; ++j) {
    for (int64_t i = j; i >= 0; --i) {
      double sum = i == j;
      for (int64_t p = i + 1; p <= j; ++p) sum -= (double)out[i * n + p] * inverse[p * k + j];
      inverse[i * k + j] = sum / (double)out[i * n + i];
      total += norm[i] * inverse[i * k + j] * norm[i] * inverse[i * k + j];
    }
    te[j] = 8 * (double)m * u * sqrt((double)(j + 1) * total);
  }
  for (int64_t p = 0; p < sure; ++p) {
    double sum = 0;
    for (int64_t i = p + 1; i < m; ++i) sum += (double)out[i * n + p] * (double)out[i * n + p];
    if (!(te[p] < 0.5) || (p < m - 1 && (fabs(1 - (double)tau[p]) <= 2 * te[p] || !(sqrt(sum) > 2 * te[p])))) sure = p;
  }
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      const double share = (i < j ? i : j) < sure ? te[i < j ? i : j] : INFINITY;
      e[i * n + j] = (i <= j ? share * norm[j] : 2 * share) + 2 * u * fabs((double)out[i * n + j]);
    }
  for (int64_t p = 0; p < k; ++p) te[p] = p < sure ? 2 * te[p] + 2 * u : INFINITY;
  return 1;
}

static inline int householder_product_error_real(const real *a, const real *tau, double *e, int64_t m, int64_t n, int64_t count,
                                          double u) {
  const double most = u < 0x1p-40 ? 0x1p900 : 0x1p100;
  double size = 1, error = 2 * u;
  int sure = tame_real(a, m * n, u) && tame_real(tau, count, u);
  for (int64_t k = count - 1; k >= 0; --k) {
    double norm = 1, grows;
    for (int64_t i = k + 1; i < m; ++i) norm += (double)a[i * n + k] * (double)a[i * n + k];
    norm *= fabs((double)tau[k]);
    grows = tau[k] > 0 ? fabs(1 - norm) : 1 + norm;
    if (grows < 1) grows = 1;
    error = error * grows + 4 * (double)m * u * (1 + 2 * norm) * size;
    size *= grows;
    sure = sure && (1 + norm) * size < most;
  }
  for (int64_t i = 0; i < m * n; ++i) e[i] = sure ? error + 2 * u * size : INFINITY;
  return sure;
}

/* Returns |re| + |im|, which is at least a number's absolute value and at most sqrt(2) times that. im: NULL if numbers
 * are not complex. */
static inline double size_real(const real *re, const real *im, int64_t at) { return fabs((double)re[at]) + (im ? fabs((double)im[at]) : 0); }

/* `in`, `x`, `e`: pairs of arrays, Re and Im; Im is NULL if numbers are not complex. `inverse`: the inverse matrix; if
 * numbers are complex, all its Re, then all its Im. */
static inline int tridiagonal_solve_error_real(const real *const *in, const real *const *x, double *const *e, const real *inverse,
                                        int64_t n, int64_t sides, double u) {
  const real *const turned = in[1] ? inverse + n * n : NULL;
  /* complex products have larger errors: each consists of four products of parts, which are added in pairs */
  const double unit = in[1] ? 128 * u : 32 * u;
  double norm = 0, most = 0;
  int sure = 1;
  for (int k = 0; k < 6; ++k) sure = sure && (!in[k] || tame_real(in[k], n, u));
  for (int64_t i = 0; i < n; ++i) {
    double sum = size_real(in[2], in[3], i) + (i > 0 ? size_real(in[0], in[1], i) : 0) + (i + 1 < n ? size_real(in[4], in[5], i) : 0);
    if (sum > norm) norm = sum;
    sum = 0;
    for (int64_t j = 0; j < n; ++j) sum += size_real(inverse, turned, i * n + j);
    if (!(sum <= most)) most = sum;
  }
  sure = sure && unit * norm * most < 0.125;
  for (int64_t s = 0; s < sides; ++s) {
    double size = 0;
    for (int64_t i = 0; i < n; ++i) size = size_real(x[0], x[1], i * sides + s) > size ? size_real(x[0], x[1], i * sides + s) : size;
    for (int64_t i = 0; i < n; ++i) {
      double sum = 0;
      for (int64_t j = 0; j < n; ++j) sum += size_real(inverse, turned, i * n + j);
      for (int part = 0; part < 2 && e[part]; ++part)
        e[part][i * sides + s] = sure && tame_real(x[part] + i * sides + s, 1, u) ? unit * norm * size * sum + unit * size / 16 : INFINITY;
    }
  }
  return sure;
}

/* `e`: the errors of the eigenvalues. `ve`: the errors of the eigenvectors, which are columns. */
static inline int eigh_error_real(const real *a, const real *vectors, const real *values, double *ve, double *e, int64_t n,
                           int with_vectors, double u) {
  const int sure = tame_real(a, n * n, u);
  double norm = 0;
  for (int64_t i = 0; i < n * n; ++i) norm += (double)a[i] * (double)a[i];
  norm = 8 * (double)n * u * sqrt(2 * norm);
  for (int64_t k = 0; k < n; ++k) {
    double gap = INFINITY, off, most = 0;
    int64_t at = 0;
    if (k > 0) gap = (double)values[k] - (double)values[k - 1];
    if (k + 1 < n && (double)values[k + 1] - (double)values[k] < gap) gap = (double)values[k + 1] - (double)values[k];
    off = 2 * norm / gap;
    if (n == 1) off = 0;
    if (!(off < 0.25)) off = INFINITY;
    for (int64_t i = 0; i < n; ++i)
      if (fabs((double)vectors[i * n + k]) > most) most = fabs((double)vectors[i * n + k]), at = i;
    /* if another component of opposite sign may be the largest, the vector's sign is uncertain */
    for (int64_t i = 0; i < n; ++i)
      if ((double)vectors[i * n + k] * (double)vectors[at * n + k] < 0 && fabs((double)vectors[i * n + k]) + 2 * off + 4 * u >= most)
        off = INFINITY;
    for (int64_t i = 0; i < n; ++i) ve[i * n + k] = !with_vectors ? 0 : sure ? off + 4 * u : INFINITY;
    e[k] = sure ? norm + 2 * u * fabs((double)values[k]) : INFINITY;
  }
  return sure;
}

/* `left`: the left singular vectors; component i of vector p is left[i * uk + p]. `e`, `ue`, `ve`: the errors of the
 * singular values, of the left vectors, and of the right vectors, which are rows of length n. */
static inline int svd_error_real(const real *a, const real *values, const real *left, double *e, double *ue, double *ve, int64_t m,
                          int64_t n, int64_t uk, int64_t vk, int vectors, double u) {
  const int64_t k = m < n ? m : n;
  const int sure = tame_real(a, m * n, u);
  double norm = 0;
  for (int64_t i = 0; i < m * n; ++i) norm += (double)a[i] * (double)a[i];
  norm = 8 * (double)(m > n ? m : n) * u * sqrt(norm);
  for (int64_t i = 0; i < m * uk; ++i) ue[i] = vectors ? INFINITY : 0;
  for (int64_t i = 0; i < vk * n; ++i) ve[i] = vectors ? INFINITY : 0;
  for (int64_t p = 0; p < k; ++p) {
    double gap = (double)values[p], off, most = 0;
    int64_t at = 0;
    e[p] = sure ? norm + 2 * u * (double)values[p] : INFINITY;
    if (p > 0 && (double)values[p - 1] - (double)values[p] < gap) gap = (double)values[p - 1] - (double)values[p];
    if (p + 1 < k && (double)values[p] - (double)values[p + 1] < gap) gap = (double)values[p] - (double)values[p + 1];
    off = 4 * norm / gap + 4 * u;
    if (!vectors || !sure || !(off < 0.25)) continue;
    for (int64_t i = 0; i < m; ++i)
      if (fabs((double)left[i * uk + p]) > most) most = fabs((double)left[i * uk + p]), at = i;
    for (int64_t i = 0; i < m; ++i)
      if ((double)left[i * uk + p] * (double)left[at * uk + p] < 0 && fabs((double)left[i * uk + p]) + 2 * off >= most) off = INFINITY;
    for (int64_t i = 0; i < m; ++i) ue[i * uk + p] = off;
    for (int64_t i = 0; i < n; ++i) ve[p * n + i] = off;
  }
  return sure;
}

/* Returns the interval around a value; `all` if the value or the error is not finite, [NaN, NaN] for a NaN without
 * error. */
static inline range matrix_range(double value, double error) {
  if (error == 0) return range_of(value, value);
  return value - value == 0 && error - error == 0 ? range_of(value - error, value + error) : range_all();
}
