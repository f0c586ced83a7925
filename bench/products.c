/* Products and convolutions by a library, or the limits of the machine, for bench/products.py. One of the macros
 * OPENBLAS, ONEDNN, XSMM and LIMITS must be defined. */
#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <omp.h>

enum { F32, F64, BF16, S8, U8, S32 };

/* c[batch][m][n] = a[batch][m][k] b[batch][k][n], row-major. If `a_is_transposed`, a is stored as
 * [k][m]; if `b_is_transposed`, b is stored as [n][k]. */
typedef struct product {
  int64_t batch, m, n, k;
  int a_is_transposed, b_is_transposed, dtype, result;
  const void *a, *b;
  void *c;
} product;

/* A convolution of two dimensions. Sizes, and strides in elements, are in oneDNN's order: batch, channels, rows,
 * columns for images; groups, out, in, rows, columns for weights. Arrays have 12 elements, as in oneDNN. `kind`: forward,
 * gradient of the input, or gradient of the weights. */
typedef struct convolution {
  int kind;
  int64_t input[12], input_strides[12], weights[12], output[12], output_strides[12], strides[12], low[12], high[12];
  void *x, *w, *y;
} convolution;

static double now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

#ifdef LIMITS
#if defined __AVX512F__
#define BYTES 64
#elif defined __AVX__
#define BYTES 32
#else
#define BYTES 16
#endif
typedef float f32s __attribute__((vector_size(BYTES)));
typedef double f64s __attribute__((vector_size(BYTES)));
typedef float unaligned __attribute__((vector_size(BYTES), aligned(4)));

#define OPAQUE(x, y) __asm__ volatile("" : "+v"(x), "+v"(y));
/* Defines a loop of multiply-adds that do not depend on each other, because each has a latency of several cycles. */
#define PEAK(name, type, element)                                                                               \
  static void name(int64_t steps, element factor, element *to)                                                  \
  {                                                                                                             \
    type x0 = {0}, x1 = x0, x2 = x0, x3 = x0, x4 = x0, x5 = x0, x6 = x0, x7 = x0, x8 = x0, x9 = x0, xa = x0;       \
    type xb = x0, f = x0 + factor, g = x0 + (element)1;                                                         \
    OPAQUE(x0, x1) OPAQUE(x2, x3) OPAQUE(x4, x5) OPAQUE(x6, x7) OPAQUE(x8, x9) OPAQUE(xa, xb)                       \
    for (int64_t i = 0; i < steps; ++i) {                                                                       \
      OPAQUE(f, g)                                                                                              \
      x0 = x0 * f + g, x1 = x1 * f + g, x2 = x2 * f + g, x3 = x3 * f + g, x4 = x4 * f + g, x5 = x5 * f + g;      \
      x6 = x6 * f + g, x7 = x7 * f + g, x8 = x8 * f + g, x9 = x9 * f + g, xa = xa * f + g, xb = xb * f + g;      \
    }                                                                                                           \
    x0 += x1 + x2 + x3 + x4 + x5 + x6 + x7 + x8 + x9 + xa + xb;                                                 \
    *to = x0[0];                                                                                                \
  }
PEAK(peak_f32, f32s, float)
PEAK(peak_f64, f64s, double)

/* Return the maximum over several runs of the throughput of all threads, in operations per second. A multiply-add is
 * two operations. */
double peak(int is_f64, int threads)
{
  const int64_t steps = 2000000;
  double best = 0;
  for (int turn = 0; turn < 5; ++turn) {
    const double begin = now();
    #pragma omp parallel num_threads(threads)
    {
      float f = 0;
      double d = 0;
      if (is_f64) peak_f64(steps, 0.5, &d);
      else peak_f32(steps, 0.5f, &f);
      __asm__ volatile("" : : "x"(f), "x"(d));
    }
    const double rate = (double)(threads * steps * 12 * 2 * (BYTES / (is_f64 ? 8 : 4))) / (now() - begin);
    if (rate > best) best = rate;
  }
  return best;
}

/* Return the seconds that all threads together need to read `bytes` bytes `calls` times. */
double read_all(const void *from, int64_t bytes, int threads, int64_t calls)
{
  const double begin = now();
  for (int64_t i = 0; i < calls; ++i) {
    #pragma omp parallel num_threads(threads)
    {
      const int64_t part = bytes / threads / (4 * BYTES) * (4 * BYTES);
      const unaligned *at = (const unaligned *)((const char *)from + part * omp_get_thread_num());
      f32s s0 = {0}, s1 = s0, s2 = s0, s3 = s0;
      for (int64_t j = 0; j < part / BYTES; j += 4) s0 += at[j], s1 += at[j + 1], s2 += at[j + 2], s3 += at[j + 3];
      s0 += s1 + s2 + s3;
      __asm__ volatile("" : : "x"(s0));
    }
  }
  return now() - begin;
}
#endif

#ifdef OPENBLAS
#include <cblas.h>

double spend_product(const product *p, int64_t calls)
{
  const enum CBLAS_TRANSPOSE ta = p->a_is_transposed ? CblasTrans : CblasNoTrans, tb = p->b_is_transposed ? CblasTrans : CblasNoTrans;
  const int m = (int)p->m, n = (int)p->n, k = (int)p->k, lda = p->a_is_transposed ? m : k, ldb = p->b_is_transposed ? k : n;
  if (p->dtype != p->result || p->dtype > F64 || p->batch > 4096) return -1;
  const double begin = now();
  for (int64_t i = 0; i < calls; ++i) {
    for (int64_t b = 0; b < p->batch; ++b) {
      if (p->dtype == F32) {
        const float *x = (const float *)p->a + b * m * k, *y = (const float *)p->b + b * k * n;
        float *z = (float *)p->c + b * m * n;
        if (m == 1) cblas_sgemv(CblasRowMajor, p->b_is_transposed ? CblasNoTrans : CblasTrans, p->b_is_transposed ? n : k, p->b_is_transposed ? k : n, 1, y, ldb, x, 1, 0, z, 1);
        else cblas_sgemm(CblasRowMajor, ta, tb, m, n, k, 1, x, lda, y, ldb, 0, z, n);
      } else {
        const double *x = (const double *)p->a + b * m * k, *y = (const double *)p->b + b * k * n;
        cblas_dgemm(CblasRowMajor, ta, tb, m, n, k, 1, x, lda, y, ldb, 0, (double *)p->c + b * m * n, n);
      }
    }
  }
  return now() - begin;
}
#endif

#ifdef XSMM
#include <libxsmm.h>

double spend_product(const product *p, int64_t calls)
{
  /* LIBXSMM is column-major, so it computes the transposed product */
  if (p->dtype != p->result || p->dtype > F64 || p->a_is_transposed || p->b_is_transposed || p->m * p->n * p->k > 128 * 128 * 128) return -1;
  const int m = (int)p->m, n = (int)p->n, k = (int)p->k;
  const int threads = p->batch * m * n * k > 4000000 ? omp_get_max_threads() : 1;
  const libxsmm_smmfunction f = p->dtype == F32 ? libxsmm_smmdispatch(n, m, k, NULL, NULL, NULL, NULL, &(float){0}, NULL, NULL) : NULL;
  const libxsmm_dmmfunction g = p->dtype == F64 ? libxsmm_dmmdispatch(n, m, k, NULL, NULL, NULL, NULL, &(double){0}, NULL, NULL) : NULL;
  if (!f && !g) return -1;
  const double begin = now();
  for (int64_t i = 0; i < calls; ++i) {
    #pragma omp parallel for num_threads(threads) if (threads > 1)
    for (int64_t b = 0; b < p->batch; ++b) {
      if (f) f((const float *)p->b + b * k * n, (const float *)p->a + b * m * k, (float *)p->c + b * m * n);
      else g((const double *)p->b + b * k * n, (const double *)p->a + b * m * k, (double *)p->c + b * m * n);
    }
  }
  return now() - begin;
}
#endif

#ifdef ONEDNN
#include <dnnl.h>
#if DNNL_VERSION_MAJOR != 2
#error "oneDNN 2 is expected"
#endif

static const dnnl_data_type_t type_of[] = {dnnl_f32, dnnl_data_type_undef, dnnl_bf16, dnnl_s8, dnnl_u8, dnnl_s32};
static dnnl_engine_t engine;
static dnnl_stream_t stream;

static int begun(void)
{
  if (!engine && (dnnl_engine_create(&engine, dnnl_cpu, 0) || dnnl_stream_create(&stream, engine, dnnl_stream_default_flags))) return 0;
  return 1;
}

double spend_product(const product *p, int64_t calls)
{
  static struct { product of; dnnl_primitive_t made; dnnl_memory_t a, b, c; } last;
  if (!begun() || type_of[p->dtype] == dnnl_data_type_undef) return -1;
  if (memcmp(&last.of, p, sizeof *p)) {
    const dnnl_dims_t a = {p->batch, p->m, p->k}, b = {p->batch, p->k, p->n}, c = {p->batch, p->m, p->n};
    const dnnl_dims_t as = {p->m * p->k, p->a_is_transposed ? 1 : p->k, p->a_is_transposed ? p->m : 1};
    const dnnl_dims_t bs = {p->k * p->n, p->b_is_transposed ? 1 : p->n, p->b_is_transposed ? p->k : 1}, cs = {p->m * p->n, p->n, 1};
    dnnl_memory_desc_t ad, bd, cd;
    dnnl_matmul_desc_t d;
    dnnl_primitive_desc_t pd;
    memset(&last, 0, sizeof last);
    if (dnnl_memory_desc_init_by_strides(&ad, 3, a, type_of[p->dtype], as) || dnnl_memory_desc_init_by_strides(&bd, 3, b, type_of[p->dtype], bs) ||
        dnnl_memory_desc_init_by_strides(&cd, 3, c, type_of[p->result], cs) || dnnl_matmul_desc_init(&d, &ad, &bd, NULL, &cd) ||
        dnnl_primitive_desc_create(&pd, &d, NULL, engine, NULL) || dnnl_primitive_create(&last.made, pd) ||
        dnnl_memory_create(&last.a, &ad, engine, (void *)p->a) || dnnl_memory_create(&last.b, &bd, engine, (void *)p->b) ||
        dnnl_memory_create(&last.c, &cd, engine, p->c)) return -1;
    last.of = *p;
  }
  const dnnl_exec_arg_t given[] = {{DNNL_ARG_SRC, last.a}, {DNNL_ARG_WEIGHTS, last.b}, {DNNL_ARG_DST, last.c}};
  const double begin = now();
  for (int64_t i = 0; i < calls; ++i) dnnl_primitive_execute(last.made, stream, 3, given);
  dnnl_stream_wait(stream);
  return now() - begin;
}

/* The weights are in the layout that the library prefers, so the time includes no reordering. They are set to normal
 * numbers, because new memory may contain subnormal numbers, with which a layer took up to 60 times as long. */
double spend_convolution(const convolution *c, int64_t calls)
{
  static struct { convolution of; dnnl_primitive_t made; dnnl_memory_t x, w, y; } last;
  if (!begun()) return -1;
  if (memcmp(&last.of, c, sizeof *c)) {
    const int groups = c->weights[0] > 1;
    dnnl_memory_desc_t x, w, y;
    dnnl_convolution_desc_t d, forward;
    dnnl_primitive_desc_t pd, hint = NULL;
    memset(&last, 0, sizeof last);
    if (dnnl_memory_desc_init_by_strides(&x, 4, c->input, dnnl_f32, c->input_strides) ||
        dnnl_memory_desc_init_by_strides(&y, 4, c->output, dnnl_f32, c->output_strides) ||
        dnnl_memory_desc_init_by_tag(&w, groups ? 5 : 4, c->weights + !groups, dnnl_f32, dnnl_format_tag_any)) return -1;
    if (dnnl_convolution_forward_desc_init(&forward, c->kind ? dnnl_forward_training : dnnl_forward_inference, dnnl_convolution_direct, &x, &w, NULL, &y,
                                           c->strides, c->low, c->high)) return -1;
    if (c->kind == 0 ? dnnl_primitive_desc_create(&pd, &forward, NULL, engine, NULL)
        : dnnl_primitive_desc_create(&hint, &forward, NULL, engine, NULL)) return -1;
    if (c->kind == 1 && (dnnl_convolution_backward_data_desc_init(&d, dnnl_convolution_direct, &x, &w, &y, c->strides, c->low, c->high) ||
                         dnnl_primitive_desc_create(&pd, &d, NULL, engine, hint))) return -1;
    if (c->kind == 2 && (dnnl_convolution_backward_weights_desc_init(&d, dnnl_convolution_direct, &x, &w, NULL, &y, c->strides, c->low, c->high) ||
                         dnnl_primitive_desc_create(&pd, &d, NULL, engine, hint))) return -1;
    w = *dnnl_primitive_desc_query_md(pd, c->kind == 2 ? dnnl_query_diff_weights_md : dnnl_query_weights_md, 0);
    if (dnnl_primitive_create(&last.made, pd) || dnnl_memory_create(&last.x, &x, engine, c->x) ||
        dnnl_memory_create(&last.w, &w, engine, DNNL_MEMORY_ALLOCATE) || dnnl_memory_create(&last.y, &y, engine, c->y)) return -1;
    void *weights;
    if (dnnl_memory_get_data_handle(last.w, &weights)) return -1;
    for (size_t i = 0; i < dnnl_memory_desc_get_size(&w) / sizeof(float); ++i) ((float *)weights)[i] = (float)(i % 7) - 2.5f;
    last.of = *c;
  }
  static const int places[3][3] = {{DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST}, {DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST},
                                   {DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST}};
  const int *place = places[c->kind];
  const dnnl_exec_arg_t given[] = {{place[0], last.x}, {place[1], last.w}, {place[2], last.y}};
  const double begin = now();
  for (int64_t i = 0; i < calls; ++i) dnnl_primitive_execute(last.made, stream, 3, given);
  dnnl_stream_wait(stream);
  return now() - begin;
}
#endif
