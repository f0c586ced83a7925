/* Functions that test whether the results of a LAPACK routine fulfil its promise. gen/bounds/lapack.py prints this
 * whole file. `number` is a complex number of type `wide`; real numbers have imaginary part zero. Matrices are
 * row-major. A function returns NULL if the results are correct, "" if it cannot judge them, else the fault. u is half
 * the distance from 1 to the next number of the type. OF_DOUBLES is defined if the routine's numbers are doubles. */

#include <complex.h>
#include <math.h>
#include <stdint.h>

#ifdef OF_DOUBLES
typedef long double wide;
typedef long double _Complex number;
#define SIZE cabsl
#define RE creall
#define IM cimagl
#define CONJ conjl
#define ROOT sqrtl
#define BOTH CMPLXL
#else
typedef double wide;
typedef double _Complex number;
#define SIZE cabs
#define RE creal
#define IM cimag
#define CONJ conj
#define ROOT sqrt
#define BOTH CMPLX
#endif

/* ---- Results of LAPACK's routines ---- */

/* A call on one matrix. x, r: operands and results. m, n: rows and columns of the matrix (ormqr: of the matrix that is
 * multiplied). k: number of reflectors. p: columns of the left singular vectors, or of ormqr's reflectors. q: rows of
 * the right singular vectors. letters: the routine's character arguments, such as UPLO. w: work array of 8 matrices of
 * the largest size. */
struct call {
  const number *x[4], *r[6];
  int64_t m, n, k, p, q;
  const char *letters;
  int real;
  wide u;
  number *w;
};

#define FAILED "info says that the routine failed"

static inline wide norm(const number *a, int64_t count) {
  wide sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += RE(a[i]) * RE(a[i]) + IM(a[i]) * IM(a[i]);
  return ROOT(sum);
}

/* Returns true if all elements are 0 or between 2^-24 and 2^24 in size. Then rounding errors are small relative to the
 * whole matrix. Other matrices may be scaled by the routine first. */
static inline int tame(const number *a, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    for (int part = 0; part < 2; ++part) {
      const wide x = part ? IM(a[i]) : RE(a[i]), size = x < 0 ? -x : x;
      if (!(size == 0 || (size >= 0x1p-24 && size <= 0x1p24))) return 0;
    }
  return 1;
}

static inline int finite(const number *a, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    if (!isfinite(RE(a[i])) || !isfinite(IM(a[i]))) return 0;
  return 1;
}

/* Returns true if all numbers are NaNs. */
static inline int unfinished(const number *a, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    if (!isnan(RE(a[i]))) return 0;
  return 1;
}

static inline int same(number a, number b) {
  return (RE(a) == RE(b) || (isnan(RE(a)) && isnan(RE(b)))) && (IM(a) == IM(b) || (isnan(IM(a)) && isnan(IM(b))));
}

/* Sets `to` to the product of `a` (m x k) and `b` (k x n). */
static inline void product(number *to, const number *a, const number *b, int64_t m, int64_t k, int64_t n) {
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      number sum = 0;
      for (int64_t l = 0; l < k; ++l) sum += a[i * k + l] * b[l * n + j];
      to[i * n + j] = sum;
    }
}

static inline void adjoint(number *to, const number *a, int64_t m, int64_t n) {
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) to[j * m + i] = CONJ(a[i * n + j]);
}

static inline wide distance(const number *a, const number *b, int64_t count) {
  wide sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += RE((a[i] - b[i]) * CONJ(a[i] - b[i]));
  return ROOT(sum);
}

static inline void identity(number *to, int64_t m, int64_t n) {
  for (int64_t i = 0; i < m * n; ++i) to[i] = i / n == i % n;
}

/* Returns true if the columns are orthonormal. w: m n + n n elements. */
static inline int orthonormal(const number *q, int64_t m, int64_t n, wide u, number *w) {
  number *const of = w + m * n, *const square = w;
  adjoint(of, q, m, n);
  product(square, of, q, n, m, n);
  for (int64_t i = 0; i < n; ++i) square[i * n + i] -= 1;
  return norm(square, n * n) <= 64 * (wide)m * u * ROOT((wide)n);
}

/* Expands a triangle to the Hermitian matrix that it represents. */
static inline void hermitian(number *to, const number *a, int64_t n, int lower) {
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j)
      to[i * n + j] = i == j ? RE(a[i * n + i]) : (lower ? i > j : i < j) ? a[i * n + j] : CONJ(a[j * n + i]);
}

/* Sets `a`, which has m rows, to (1 - tau v v^H) a. */
static inline void reflected(number *a, int64_t m, int64_t n, const number *v, number tau) {
  for (int64_t j = 0; j < n; ++j) {
    number sum = 0;
    for (int64_t i = 0; i < m; ++i) sum += CONJ(v[i]) * a[i * n + j];
    for (int64_t i = 0; i < m; ++i) a[i * n + j] -= tau * sum * v[i];
  }
}

/* Copies the vector of reflector k from column k of a matrix whose rows are `stride` apart. The first nonzero element
 * is the 1 in row k + `below`. */
static inline void reflector(number *v, const number *a, int64_t m, int64_t stride, int64_t k, int64_t below) {
  for (int64_t i = 0; i < m; ++i) v[i] = i < k + below ? 0 : i == k + below ? 1 : a[i * stride + k];
}

/* Returns true if `a` minus `value` times the identity is singular up to rounding errors. w: 2 n n elements. */
static inline int singular(const number *a, number value, int64_t n, wide error, number *w) {
  number *const x = w, *const inverse = w + n * n;
  for (int64_t i = 0; i < n * n; ++i) x[i] = a[i];
  for (int64_t i = 0; i < n; ++i) x[i * n + i] -= value;
  identity(inverse, n, n);
  for (int64_t k = 0; k < n; ++k) {
    int64_t row = k;
    for (int64_t i = k + 1; i < n; ++i)
      if (SIZE(x[i * n + k]) > SIZE(x[row * n + k])) row = i;
    if (SIZE(x[row * n + k]) == 0) return 1;
    for (int64_t j = 0; j < n; ++j) {
      const number y = x[row * n + j], z = inverse[row * n + j];
      x[row * n + j] = x[k * n + j], inverse[row * n + j] = inverse[k * n + j];
      x[k * n + j] = y, inverse[k * n + j] = z;
    }
    const number pivot = x[k * n + k];
    for (int64_t j = 0; j < n; ++j) x[k * n + j] /= pivot, inverse[k * n + j] /= pivot;
    for (int64_t i = 0; i < n; ++i) {
      const number y = x[i * n + k];
      for (int64_t j = 0; j < n && i != k; ++j) x[i * n + j] -= y * x[k * n + j], inverse[i * n + j] -= y * inverse[k * n + j];
    }
  }
  return !(norm(inverse, n * n) * error < 1);
}

/* Tests whether numbers can be the eigenvalues of a matrix: their sum and the sum of their squares must be right. If
 * the matrix is small, each number must also be an eigenvalue. w: 2 n n elements. */
static inline const char *eigenvalues(const number *a, const number *values, int64_t n, wide u, number *w) {
  const wide size = norm(a, n * n), error = 64 * (wide)n * u * size;
  number sum = 0, squares = 0;
  for (int64_t i = 0; i < n; ++i) {
    sum += a[i * n + i] - values[i];
    squares -= values[i] * values[i];
    for (int64_t j = 0; j < n; ++j) squares += a[i * n + j] * a[j * n + i];
  }
  if (!(SIZE(sum) <= error * (wide)n)) return "the sum of the eigenvalues is not the trace";
  if (!(SIZE(squares) <= 2 * error * size * (wide)n)) return "the sum of the squares of the eigenvalues is not the trace of the square";
  for (int64_t k = 0; k < n && n <= 24; ++k)
    if (!singular(a, values[k], n, error, w)) return "a number is no eigenvalue";
  return 0;
}

/* Tests eigenvectors: columns of length 1 whose largest component is real. */
static inline const char *eigenvectors(const number *a, const number *values, const number *vectors, int64_t n, int left, wide u) {
  const wide error = 64 * (wide)n * u * norm(a, n * n);
  for (int64_t k = 0; k < n; ++k) {
    wide most = 0, real = 0, length = 0, rest = 0;
    for (int64_t i = 0; i < n; ++i) {
      const number v = vectors[i * n + k];
      number sum = left ? -values[k] * CONJ(v) : -values[k] * v;
      for (int64_t j = 0; j < n; ++j) {
        const number other = vectors[j * n + k];
        sum += left ? CONJ(other) * a[j * n + i] : a[i * n + j] * other;
      }
      rest += RE(sum * CONJ(sum)), length += RE(v * CONJ(v));
      if (SIZE(v) > most) most = SIZE(v);
      if (IM(v) == 0 && SIZE(v) > real) real = SIZE(v);
    }
    if (!(ROOT(rest) <= error)) return left ? "u^H A is not w u^H" : "A v is not w v";
    if (!(length - 1 <= 64 * (wide)n * u && 1 - length <= 64 * (wide)n * u)) return "an eigenvector is not of length 1";
    if (!(real >= most * (1 - 64 * (wide)n * u))) return "the largest component of an eigenvector is not real";
  }
  return 0;
}

/* Results of geev. For a real matrix, the two eigenvectors of a conjugate pair are in adjacent columns. */
static inline const char *holds_geev(const struct call *c) {
  const int64_t n = c->n, first = c->real ? 2 : 1;
  number *const values = c->w, *const vectors = values + n, *const w = vectors + n * n;
  if (!tame(c->x[0], n * n)) return "";
  if (c->r[first + 2][0] != 0) return FAILED;
  for (int64_t k = 0; k < n; ++k) values[k] = c->real ? BOTH(RE(c->r[0][k]), RE(c->r[1][k])) : c->r[0][k];
  for (int64_t k = 0; k < n && c->real; ++k)
    if (IM(values[k]) > 0 ? k + 1 == n || values[k + 1] != CONJ(values[k])
                          : IM(values[k]) < 0 && (k == 0 || values[k - 1] != CONJ(values[k])))
      return "eigenvalues of a real matrix are no pairs";
  const char *wrong = eigenvalues(c->x[0], values, n, c->u, w);
  for (int side = 0; side < 2 && !wrong; ++side) {
    const number *const given = c->r[first + side];
    if (c->letters[side] != 'V') continue;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t k = 0; k < n; ++k)
        vectors[i * n + k] = !c->real || IM(values[k]) == 0 ? given[i * n + k]
                             : IM(values[k]) > 0            ? BOTH(RE(given[i * n + k]), RE(given[i * n + k + 1]))
                                                            : BOTH(RE(given[i * n + k - 1]), -RE(given[i * n + k]));
    wrong = eigenvectors(c->x[0], values, vectors, n, side == 0, c->u);
  }
  return wrong;
}

static inline const char *holds_gees(const struct call *c) {
  const int64_t n = c->n, first = 2;
  const number *const t = c->r[0], *const z = c->r[1];
  number *const back = c->w, *const other = back + n * n, *const values = other + n * n, *const w = values + n;
  if (!tame(c->x[0], n * n)) return "";
  if (c->r[first + 1 + c->real][0] != 0 || c->r[first + 2 + c->real][0] != 0) return FAILED;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < i; ++j)
      if (t[i * n + j] != 0) {
        const number *const block = t + j * n + j;
        if (!c->real || i > j + 1 || (i + 1 < n && t[(i + 1) * n + i] != 0)) return "T is not triangular";
        if (block[0] != block[n + 1] || !(RE(block[1]) * RE(block[n]) < 0)) return "a block of T has not its normal form";
      }
  for (int64_t k = 0; k < n; ++k) {
    values[k] = c->real ? BOTH(RE(c->r[first][k]), RE(c->r[first + 1][k])) : c->r[first][k];
    if (RE(values[k]) != RE(t[k * n + k]) || (!c->real && IM(values[k]) != IM(t[k * n + k]))) return "w is not the diagonal of T";
  }
  if (c->letters[0] != 'V') return eigenvalues(c->x[0], values, n, c->u, w);
  if (!orthonormal(z, n, n, c->u, w)) return "Z is not unitary";
  product(other, z, t, n, n, n);
  adjoint(w, z, n, n);
  product(back, other, w, n, n, n);
  if (!(distance(back, c->x[0], n * n) <= 64 * (wide)n * c->u * norm(c->x[0], n * n))) return "Z T Z^H is not A";
  return eigenvalues(c->x[0], values, n, c->u, w);
}

/* Tests that Q T Q^H is A. w: 2 n n elements. */
static inline const char *similar(const number *a, const number *t, const number *q, int64_t n, wide u, number *w) {
  number *const other = w + n * n;
  product(w, q, t, n, n, n);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) {
      other[i * n + j] = 0;
      for (int64_t k = 0; k < n; ++k) other[i * n + j] += w[i * n + k] * CONJ(q[j * n + k]);
    }
  return distance(other, a, n * n) <= 64 * (wide)n * u * norm(a, n * n) ? 0 : "Q T Q^H is not A";
}

static inline const char *holds_gehrd(const struct call *c) {
  const int64_t n = c->n;
  number *const q = c->w, *const t = q + n * n, *const v = t + n * n, *const w = v + n;
  if (!tame(c->x[0], n * n)) return "";
  if (c->r[2][0] != 0) return FAILED;
  identity(q, n, n);
  for (int64_t k = n - 2; k >= 0; --k) {
    reflector(v, c->r[0], n, n, k, 1);
    reflected(q, n, n, v, c->r[1][k]);
  }
  if (!orthonormal(q, n, n, c->u, w)) return "Q is not unitary";
  for (int64_t i = 0; i < n * n; ++i) t[i] = i / n > i % n + 1 ? 0 : c->r[0][i];
  return similar(c->x[0], t, q, n, c->u, w);
}

static inline const char *holds_sytrd(const struct call *c) {
  const int64_t n = c->n;
  const int lower = c->letters[0] == 'L';
  const number *const out = c->r[0];
  number *const q = c->w, *const t = q + n * n, *const a = t + n * n, *const v = a + n * n, *const w = v + n;
  hermitian(a, c->x[0], n, lower);
  if (!tame(a, n * n)) return "";
  if (c->r[4][0] != 0) return FAILED;
  identity(q, n, n);
  for (int64_t step = 0; step < n - 1; ++step) {
    const int64_t k = lower ? n - 2 - step : step;
    if (lower) reflector(v, out, n, n, k, 1);
    else
      for (int64_t i = 0; i < n; ++i) v[i] = i > k ? 0 : i == k ? 1 : out[i * n + k + 1];
    reflected(q, n, n, v, c->r[3][k]);
  }
  if (!orthonormal(q, n, n, c->u, w)) return "Q is not unitary";
  for (int64_t i = 0; i < n * n; ++i) {
    const int64_t row = i / n, column = i % n;
    const int64_t above = row < column ? row : column;
    t[i] = row == column ? c->r[1][row] : row - column == 1 || column - row == 1 ? c->r[2][above] : 0;
    if ((lower ? row < column : row > column) && !same(out[i], c->x[0][i])) return "the other triangle has changed";
    if ((row == column || row - column == (lower ? 1 : -1)) && out[i] != t[i]) return "A has not the diagonals of T";
  }
  return similar(a, t, q, n, c->u, w);
}

static inline const char *holds_heevd(const struct call *c) {
  const int64_t n = c->n;
  const number *const values = c->r[1];
  number *const a = c->w, *const t = a + n * n, *const w = t + n * n;
  hermitian(a, c->x[0], n, c->letters[1] == 'L');
  if (!tame(a, n * n)) return "";
  if (c->r[2][0] != 0) return FAILED;
  for (int64_t k = 0; k + 1 < n; ++k)
    if (!(RE(values[k]) <= RE(values[k + 1]))) return "the eigenvalues do not ascend";
  if (c->letters[0] != 'V') return eigenvalues(a, values, n, c->u, w);
  if (!orthonormal(c->r[0], n, n, c->u, w)) return "the eigenvectors are not orthonormal";
  for (int64_t i = 0; i < n * n; ++i) t[i] = i / n == i % n ? values[i / n] : 0;
  return similar(a, t, c->r[0], n, c->u, w);
}

static inline const char *holds_gesdd(const struct call *c) {
  const int64_t m = c->m, n = c->n, k = m < n ? m : n, most = m < n ? n : m;
  const number *const values = c->r[1], *const left = c->r[2], *const right = c->r[3];
  number *const back = c->w, *const other = back + most * most, *const w = other + most * most;
  const wide size = norm(c->x[0], m * n), error = 64 * (wide)most * c->u * size;
  wide squares = 0, fourths = 0;
  if (!tame(c->x[0], m * n)) return "";
  if (c->r[4][0] != 0) return FAILED;
  for (int64_t i = 0; i < k; ++i) {
    const wide s = RE(values[i]);
    if (!(s >= 0 && (i == 0 || s <= RE(values[i - 1])))) return "the singular values do not descend to 0 or more";
    squares += s * s, fourths += s * s * s * s;
  }
  adjoint(other, c->x[0], m, n);
  product(w, other, c->x[0], n, m, n);
  const wide again = norm(w, n * n);
  const wide more = squares - size * size;
  if (!(more <= 4 * error * size * (wide)k && -more <= 4 * error * size * (wide)k)) return "the squares of the singular values are not those of the elements";
  const wide rest = fourths - again * again, most_rest = 8 * error * size * size * size * (wide)k;
  if (!(rest <= most_rest && -rest <= most_rest))
    return "the fourth powers of the singular values are not the squares of A^H A";
  if (c->letters[0] == 'N') return 0;
  adjoint(other, right, c->q, n);
  if (!orthonormal(left, m, c->p, c->u, w) || !orthonormal(other, n, c->q, c->u, w)) return "the singular vectors are not orthonormal";
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      back[i * n + j] = 0;
      for (int64_t l = 0; l < k; ++l) back[i * n + j] += left[i * c->p + l] * values[l] * right[l * n + j];
    }
  return distance(back, c->x[0], m * n) <= error ? 0 : "U S V^H is not A";
}

/* Tests that Q R is A. If `order` is not NULL, it has column numbers of A, counted from 1, and Q R must be A with its
   columns in this order. */
static inline const char *holds_geqrf_in(const struct call *c, const number *order) {
  const int64_t m = c->m, n = c->n, k = m < n ? m : n;
  number *const back = c->w, *const a = back + m * n, *const v = a + m * n;
  if (!tame(c->x[0], m * n)) return "";
  for (int64_t i = 0; i < m * n; ++i) {
    const int64_t column = order ? (int64_t)RE(order[i % n]) - 1 : i % n;
    if (column < 0 || column >= n) return "a column's number is none";
    back[i] = i / n <= i % n ? c->r[0][i] : 0;
    a[i] = c->x[0][i / n * n + column];
  }
  for (int64_t step = k - 1; step >= 0; --step) {
    const number tau = c->r[order ? 2 : 1][step];
    reflector(v, c->r[0], m, n, step, 0);
    const wide square = norm(v, m) * norm(v, m);
    if (!(SIZE(tau * CONJ(tau) * square - tau - CONJ(tau)) <= 64 * (wide)m * c->u)) return "a reflector is not unitary";
    reflected(back, m, n, v, tau);
  }
  return distance(back, a, m * n) <= 64 * (wide)(m + n) * c->u * norm(a, m * n) ? 0 : "Q R is not A";
}

static inline const char *holds_geqrf(const struct call *c) { return holds_geqrf_in(c, 0); }

/* Results of geqp3. The second operand (LAPACK's jpvt) is 0 for the columns that the routine may reorder. The routine
   puts these columns last, in an order in which the diagonal of R descends. */
static inline const char *holds_geqp3(const struct call *c) {
  const int64_t n = c->n, k = c->m < n ? c->m : n;
  const char *const wrong = holds_geqrf_in(c, c->r[1]);
  int64_t fixed = 0;
  if (wrong) return wrong;
  for (int64_t i = 0; i < n; ++i) {
    fixed += c->x[1][i] != 0;
    for (int64_t j = 0; j < i; ++j)
      if (c->r[1][i] == c->r[1][j]) return "a column stands twice";
  }
  for (int64_t i = fixed; i + 1 < k; ++i)
    if (!(SIZE(c->r[0][(i + 1) * n + i + 1]) <= SIZE(c->r[0][i * n + i]) * (1 + 64 * ROOT(c->u)) + 64 * (wide)c->m * c->u * norm(c->x[0], c->m * n)))
      return "the diagonal of R does not descend";
  return 0;
}

/* Returns the maximum error of the product of k reflectors and a matrix of norm `size`. Returns 0 if the product may
 * overflow. */
static inline wide grown(wide size, const number *tau, const number *a, int64_t m, int64_t stride, int64_t k, wide u, number *v) {
  wide error = 0;
  for (int64_t step = 0; step < k; ++step) {
    reflector(v, a, m, stride, step, 0);
    const wide square = norm(v, m) * norm(v, m), other = SIZE(1 - tau[step] * square), grows = other > 1 ? other : 1;
    error = error * grows + 16 * (wide)(m + 1) * u * (1 + 2 * SIZE(tau[step]) * square) * size;
    size *= grows;
  }
  return size < 0x1p90 ? error + u * size : 0;
}

static inline const char *holds_ungqr(const struct call *c) {
  const int64_t m = c->m, n = c->n;
  number *const q = c->w, *const v = q + m * n;
  const int good = tame(c->x[0], m * n) && tame(c->x[1], c->k);
  const wide error = good ? grown(ROOT((wide)n), c->x[1], c->x[0], m, n, c->k, c->u, v) : 0;
  if (error == 0) return "";
  identity(q, m, n);
  for (int64_t step = c->k - 1; step >= 0; --step) {
    reflector(v, c->x[0], m, n, step, 0);
    reflected(q, m, n, v, c->x[1][step]);
  }
  return distance(q, c->r[0], m * n) <= error ? 0 : "Q is not the product of the reflectors";
}

/* Results of ormqr. m, n: rows and columns of the matrix that is multiplied; p: columns of the reflectors. */
static inline const char *holds_ormqr(const struct call *c) {
  const int left = c->letters[0] == 'L', forward = (c->letters[1] != 'N') == left;
  const int64_t m = left ? c->m : c->n, n = left ? c->n : c->m;
  number *const back = c->w, *const v = back + m * n, *const other = v + m;
  const int good = tame(c->x[0], m * c->p) && tame(c->x[1], c->k) && tame(c->x[2], m * n);
  const wide error = good ? grown(norm(c->x[2], m * n), c->x[1], c->x[0], m, c->p, c->k, c->u, v) : 0;
  if (error == 0) return "";
  if (!left) adjoint(back, c->x[2], c->m, c->n);
  for (int64_t i = 0; i < m * n && left; ++i) back[i] = c->x[2][i];
  for (int64_t step = 0; step < c->k; ++step) { /* for a product from the right, compute the product's adjoint */
    const int64_t k = forward ? step : c->k - 1 - step;
    reflector(v, c->x[0], m, c->p, k, 0);
    reflected(back, m, n, v, forward ? CONJ(c->x[1][k]) : c->x[1][k]);
  }
  if (left)
    for (int64_t i = 0; i < m * n; ++i) other[i] = back[i];
  else adjoint(other, back, m, n);
  return distance(other, c->r[0], m * n) <= error ? 0 : "the product with Q is another";
}

static inline const char *holds_getrf(const struct call *c) {
  const int64_t m = c->m, n = c->n, k = m < n ? m : n;
  number *const a = c->w, *const back = a + m * n;
  int64_t zero = 0;
  if (!tame(c->x[0], m * n)) return "";
  for (int64_t i = 0; i < m * n; ++i) a[i] = c->x[0][i];
  for (int64_t i = 0; i < k; ++i) {
    const int64_t row = (int64_t)RE(c->r[1][i]) - 1;
    if (row < i || row >= m) return "a pivot's row is none";
    for (int64_t j = 0; j < n; ++j) {
      const number x = a[i * n + j];
      a[i * n + j] = a[row * n + j], a[row * n + j] = x;
    }
    if (c->r[0][i * n + i] == 0 && zero == 0) zero = i + 1;
  }
  if (RE(c->r[2][0]) != (wide)zero) return "info is not the first pivot that is 0";
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      number sum = i <= j ? c->r[0][i * n + j] : 0;
      for (int64_t l = 0; l < k && l < i && l <= j; ++l) sum += c->r[0][i * n + l] * c->r[0][l * n + j];
      back[i * n + j] = sum;
      if (i > j && j < k && !(SIZE(c->r[0][i * n + j]) <= 1.5)) return "a factor below the diagonal is above 1";
    }
  return distance(a, back, m * n) <= 64 * (wide)k * c->u * (norm(a, m * n) + norm(c->r[0], m * n)) * (wide)k ? 0 : "L U is not P A";
}

static inline const char *holds_potrf(const struct call *c) {
  const int64_t n = c->n, info = (int64_t)RE(c->r[1][0]), whole = info ? info - 1 : n;
  const int lower = c->letters[0] == 'L';
  number *const a = c->w, *const l = a + n * n;
  hermitian(a, c->x[0], n, lower);
  if (!tame(a, n * n)) return "";
  const wide error = 64 * (wide)n * c->u * norm(a, n * n);
  for (int64_t i = 0; i < n * n; ++i)
    if ((lower ? i / n < i % n : i / n > i % n) && !same(c->r[0][i], c->x[0][i])) return "the other triangle has changed";
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j <= i; ++j) l[i * n + j] = lower ? c->r[0][i * n + j] : CONJ(c->r[0][j * n + i]);
  for (int64_t i = 0; i < whole; ++i)
    for (int64_t j = 0; j <= i; ++j) {
      number sum = 0;
      for (int64_t k = 0; k <= j; ++k) sum += l[i * n + k] * CONJ(l[j * n + k]);
      if (!(SIZE(sum - a[i * n + j]) <= error)) return "L L^H is not A";
    }
  if (!info) return 0;
  /* `row`: the row of L in which the factorisation stopped. The norm of `y` tells how much errors grow there */
  number *const row = l + n * n, *const y = row + n;
  wide pivot = RE(a[whole * n + whole]);
  for (int64_t j = 0; j < whole; ++j) {
    number sum = a[whole * n + j];
    for (int64_t k = 0; k < j; ++k) sum -= row[k] * CONJ(l[j * n + k]);
    row[j] = sum / CONJ(l[j * n + j]);
    pivot -= RE(row[j] * CONJ(row[j]));
  }
  for (int64_t j = whole - 1; j >= 0; --j) {
    number sum = row[j];
    for (int64_t k = j + 1; k < whole; ++k) sum -= y[k] * l[k * n + j];
    y[j] = sum / l[j * n + j];
  }
  const wide grows = 1 + norm(y, whole);
  return pivot <= error * grows * grows ? 0 : "info names a pivot above 0";
}
